/* gpustat/perf.h - Performance Counters for Linux, as perf_event_open(2) offers them today: the
 * thin layer below gpustat's own `stat` and `sample`. Link with libgpustat.a; no initialisation is
 * needed.
 *
 * A counter is a descriptor that the caller owns: close(2) ends it, poll(2) waits for its ring,
 * fcntl(2) works as with any descriptor. Functions return 0 or the value that their comment names,
 * and -errno on failure, -EFAULT for a null pointer; errno itself is undefined then. No function
 * allocates memory. Any thread may call any function; gp_parse() takes a lock, because all calls of
 * it use the same tables. One descriptor or ring may be used by one thread at a time.
 *
 * gpustat-perf(3) lists what has changed since the document of 2009 that described this interface.
 * SPDX-License-Identifier: MIT */
#ifndef GPUSTAT_PERF_H
#define GPUSTAT_PERF_H

#include <stddef.h>
#include <gpustat/version.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GP_API __attribute__((__visibility__("default")))

enum {
	/* size of the longest struct perf_event_attr in 64-bit words: PERF_ATTR_SIZE_VER9 of
	 * linux/perf_event.h */
	GP_ATTR_WORDS = 18,
	GP_UNIT = 16,
	GP_MAX_GROUP = 64   /* most counts that one gp_read() of a group leader returns */
};

/* A 64-bit word of a struct perf_event_attr. A caller that includes linux/perf_event.h accesses the
 * same memory as a struct perf_event_attr: may_alias tells the compiler that the two types may
 * overlap. */
typedef uint64_t __attribute__((__may_alias__)) gp_word;

/* A perf event to open. attr holds a struct perf_event_attr whose unused fields are zero. A caller
 * that includes linux/perf_event.h can set fields that gp_parse() does not set, for example
 * ((struct perf_event_attr *)e->attr)->pinned = 1. gp_open() sets the size field of attr. */
struct gp_event {
	gp_word attr[GP_ATTR_WORDS];
	uint16_t group; /* number (from 1) of the {group} to which the event belongs; 0: no group */
	/* Events with the same number are one event on several PMUs: the caller adds their
	 * counts. */
	uint16_t same;
	/* 1 if the event counts for whole CPUs, not for single tasks: gp_open() requires pid -1
	 * then */
	uint8_t wide;
	/* set to 1 to count the tasks of a cgroup: then the argument pid of gp_open() is a
	 * descriptor of the cgroup's folder, and cpu must not be -1 */
	uint8_t cgroup;
	/* 1 if gp_open() may lower the field precise_ip of attr to the highest value that the CPU
	 * supports */
	uint8_t precise;
	/* scale and scale_point: a count is worth scale / 10^scale_point units; scale 0: the count
	 * is not scaled */
	uint8_t scale_point;
	uint64_t scale;
	char unit[GP_UNIT];    /* unit of the scaled count, as text; "" if it has no unit */
	int32_t cpus[64]; /* if wide is 1: the CPUs on which to open the event; -1 ends the list */
};

/* Parses a list of events in the syntax of `gpustat stat -e`, for example "cycles:u",
 * "{cycles,instructions}", "cpu/event=0x3c/", "r11", "sched:sched_switch" or "mem:0x1000/4:w".
 * Stores the events in events[], and returns their number, at most cap. Errors: -EINVAL, invalid
 * syntax; -ENOENT, no such event; -EACCES, only root may read the number of the tracepoint in
 * tracefs; -ENOSPC, more than cap events; -EOPNOTSUPP, the name is not that of a perf event of the
 * kernel (for example gpu0/render/). If why is not NULL, gp_parse() stores a message of at most
 * nwhy bytes in it, which names the cause of an error. The leaders of groups and events without a
 * group have attr.disabled set; a group counts only while its leader is enabled. The comment of
 * struct gp_count has their read_format. */
GP_API int gp_parse(const char *list, struct gp_event *events, int cap, char *why, size_t nwhy);

/* Opens a perf event and returns its descriptor, which the caller closes. pid 0: the event counts
 * the calling task; -1: all tasks on the CPU cpu. cpu -1: all CPUs on which the task runs. group:
 * descriptor of the group leader; -1: the event leads a group or has none. The descriptor has
 * FD_CLOEXEC, and read(2) of it never blocks. gp_open() clears settings in *e that this kernel does
 * not know: PERF_FORMAT_LOST, attr.ksymbol, inherit together with PERF_SAMPLE_READ; it also lowers
 * a precise_ip that the CPU does not support. Errors: -EACCES, /proc/sys/kernel/perf_event_paranoid
 * does not allow it; -ENOENT, -EOPNOTSUPP or -EINVAL, this CPU cannot count the event; -E2BIG, a
 * word of attr is set that this kernel does not know; -ESRCH, no such task; -EMFILE, too many open
 * files. */
GP_API int gp_open(struct gp_event *e, int pid, int cpu, int group);
/* Opens n events that gp_parse() stored, each leader before the members of its group, and stores
 * their descriptors in fds[0] to fds[n - 1]. If one event cannot be opened, all are closed again,
 * and the error of gp_open() is returned. -EINVAL: n is less than 1. */
GP_API int gp_open_all(struct gp_event *events, int n, int pid, int cpu, int *fds);

/* gp_enable() and gp_disable() enable or disable the event of the descriptor fd. A group counts
 * only while its leader is enabled: for a leader these functions affect the whole group, for
 * another member only that member. */
GP_API int gp_enable(int fd);
GP_API int gp_disable(int fd);
/* gp_enable_group() and gp_disable_group() enable or disable each event of a group. fd is the
 * descriptor of any event of the group. (ioctl(2) with PERF_IOC_FLAG_GROUP) */
GP_API int gp_enable_group(int fd);
GP_API int gp_disable_group(int fd);
/* Enables the event until n more overflows have occurred; then the kernel disables it. -EINVAL: the
 * event is inherited or has no sampling period, or n is less than 1 (for which the kernel would set
 * no limit). */
GP_API int gp_refresh(int fd, int n);
/* Set the count of one event (gp_reset()) or of all events of its group (gp_reset_group()) to 0.
 * time_enabled and time_running do not change. */
GP_API int gp_reset(int fd);
GP_API int gp_reset_group(int fd);
/* Sets the sample_period of the event from now on, or its sampling frequency in Hz if attr.freq is
 * set. */
GP_API int gp_period(int fd, uint64_t period);
/* gp_task_enable() and gp_task_disable() enable or disable all perf events that the calling thread
 * has opened, including members of groups and events that count other tasks: prctl(2) with
 * PR_TASK_PERF_EVENTS_ENABLE or PR_TASK_PERF_EVENTS_DISABLE. */
GP_API int gp_task_enable(void);
GP_API int gp_task_disable(void);
/* Sets the filter of a tracepoint event: only occurrences that match the expression in filter are
 * counted. */
GP_API int gp_filter(int fd, const char *filter);
/* Makes the kernel write the samples of fd to the ring buffer of ring_fd, which must be an event of
 * the same CPU or task. If ring_fd is -1, the samples of fd are discarded. */
GP_API int gp_output(int fd, int ring_fd);
/* Stores the kernel's id of the event in *id. Samples and reads of groups contain this id. */
GP_API int gp_id(int fd, uint64_t *id);

/* The count of one event, as gp_read() stores it. gp_parse() sets this read_format:
 * TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING | ID, and GROUP in addition for events of a group. */
struct gp_count {
	uint64_t value, id, lost;
	/* time_enabled and time_running in ns, equal for all events of a group */
	uint64_t enabled, running;
};

/* Reads the count of an event or, with GROUP in read_format, the counts of its group, in the order
 * in which the events were opened. Stores them in counts[cap], and returns their number. Returns 0
 * if the event is pinned but has no hardware counter: see gp_recover(). read_format must be equal
 * to the read_format in the event's attr. -ENOSPC: the group has more than cap counts. */
GP_API int gp_read(int fd, uint64_t read_format, struct gp_count *counts, int cap);
/* Returns the count scaled to the whole time, c->value * c->enabled / c->running, calculated in 128
 * bits. Returns 0 if the event never ran or c is NULL. */
GP_API uint64_t gp_scaled(const struct gp_count *c);
/* Ends the error state of a pinned event, which has no hardware counter, by enabling it again. The
 * event continues to count if a hardware counter is free. */
GP_API int gp_recover(int fd);

/* Sets or clears the flag O_NONBLOCK of fd. poll(2) of fd reports POLLIN if the ring has records,
 * POLLHUP if the task has ended or fd has no ring, POLLERR if a pinned event is in the error state.
 * A read never blocks, with or without the flag. */
GP_API int gp_nonblock(int fd, int on);
/* Makes the kernel send the signal sig to the thread tid (0: the calling thread) at each overflow
 * of the event. si_fd is fd; si_code is POLL_IN, or POLL_HUP at the last overflow that gp_refresh()
 * allows. attr.wakeup_events does not affect the signals. With sig 0, no signals are sent any more.
 * Real-time signals are queued. */
GP_API int gp_notify(int fd, int sig, int tid);

/* A mapped ring buffer of perf. If gp_map() was called with pages 0, only the control page is
 * mapped; with it a task can read its own counters without a system call. */
struct gp_ring {
	void *page;         /* control page: a struct perf_event_mmap_page */
	const char *data;
	/* bytes: size of the whole mapping; size: size of data; both in bytes */
	size_t bytes, size;
	uint64_t head, tail;
	int fd;
};

/* Maps the ring buffer of fd into *r; gp_unmap() ends the mapping. pages: number of data pages, a
 * power of two, or 0. -ENOTSUP: compat_version in the control page is unknown. -EPERM: the ring is
 * larger than /proc/sys/kernel/perf_event_mlock_kb allows. */
GP_API int gp_map(struct gp_ring *r, int fd, uint32_t pages);
GP_API int gp_unmap(struct gp_ring *r);
/* Copies the next complete record of the ring to b: a struct perf_event_header and the data after
 * it. Then releases the record's space to the kernel. Returns the size of the record in bytes; 0:
 * the ring has no record. -EFBIG: the record is longer than cap and stays in the ring (64 KiB are
 * enough for any record); -EBADMSG: the record is invalid, and the ring was emptied; -EINVAL: r is
 * not mapped. */
GP_API long gp_next(struct gp_ring *r, void *b, size_t cap);
/* Reads the count and times of an event of the calling task into *c. If the kernel allows it, and
 * the control page describes a clock for the times, an instruction of the CPU reads the counter,
 * under the seqlock of the control page; then gp_read_self() returns 1 and does not set c->id and
 * c->lost. Otherwise it calls read(2), with the given read_format of the event, and returns 0.
 * -ENODATA: the event is pinned but has no hardware counter; -EINVAL: r is not mapped, or the event
 * is in a group and read_format has no ID. */
GP_API int gp_read_self(const struct gp_ring *r, uint64_t read_format, struct gp_count *c);

#ifdef __cplusplus
}
#endif

#endif
