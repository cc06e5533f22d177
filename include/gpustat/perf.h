/* gpustat/perf.h - Performance Counters for Linux, as perf_event_open(2) offers them today: the
 * thin layer below gpustat's own `stat` and `sample`. Link with libgpustat.a; no initialisation is
 * needed.
 *
 * A counter is a descriptor that the caller owns: close(2) ends it, poll(2) waits for its ring,
 * fcntl(2) works as with any descriptor. Functions return 0 or the value that their comment names,
 * and -errno on failure, -EFAULT for a null pointer; errno itself is undefined then. No function
 * allocates memory. gp_parse() may run in one thread at a time. All other functions use only their
 * arguments: any thread may call them, but one descriptor or ring may be used by one thread at a
 * time.
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
	GP_MAX_GROUP = 64   /* most counts that one read of a group leader returns */
};

/* A 64-bit word of a struct perf_event_attr. A caller that includes linux/perf_event.h accesses the
 * same memory as a struct perf_event_attr: may_alias tells the compiler that the two types may
 * overlap. */
typedef uint64_t __attribute__((__may_alias__)) gp_word;

/* An event to open. attr is a struct perf_event_attr; its unused fields are zero. A caller that
 * includes linux/perf_event.h can set what gp_parse() does not set, for example
 * ((struct perf_event_attr *)e->attr)->pinned = 1. gp_open() sets attr's size field. */
struct gp_event {
	gp_word attr[GP_ATTR_WORDS];
	uint16_t group;        /* number of the {group} of the event, from 1; 0: no group */
	/* events with the same number are one event on several PMUs: add their counts */
	uint16_t same;
	/* 1 if the event counts whole CPUs: gp_open() requires pid -1 for it */
	uint8_t wide;
	/* 1: the pid of gp_open() is the descriptor of a cgroup's folder; cpu must not be -1 */
	uint8_t cgroup;
	uint8_t precise;       /* 1: gp_open() may lower attr's precise_ip to what the CPU has */
	/* one count is scale / 10^scale_point units; if scale is 0, one unit */
	uint8_t scale_point;
	uint64_t scale;
	char unit[GP_UNIT];    /* unit of the scaled count; "" if it has none */
	int32_t cpus[64];      /* if wide: CPUs on which to open the event, -1 after the last */
};

/* Parses a list of events in the syntax of `stat -e`: "cycles:u", "{cycles,instructions}",
 * "cpu/event=0x3c/", "r11", "sched:sched_switch", "mem:0x1000/4:w". Returns the number of events,
 * at most cap. -EINVAL: invalid syntax; -ENOENT: no such event; -EACCES: only root may read the
 * number of the tracepoint in tracefs; -ENOSPC: more than cap events; -EOPNOTSUPP: not a perf event
 * of the kernel (gpu0/render/). If why is not NULL, it receives a message of at most nwhy bytes
 * that names the cause. Leaders are disabled at first (attr.disabled), and therefore their members
 * too; see gp_read() for their read_format. */
GP_API int gp_parse(const char *list, struct gp_event *events, int cap, char *why, size_t nwhy);

/* Opens an event and returns its descriptor. pid 0: the calling task; -1: all tasks on that cpu.
 * cpu -1: all CPUs that the task runs on. group: the descriptor of the group leader; -1: the event
 * is a leader. execve closes the descriptor, and read(2) never blocks. gp_open() clears settings in
 * *e for which this kernel is too old: PERF_FORMAT_LOST, attr.ksymbol, inherit together with
 * PERF_SAMPLE_READ. It also lowers a precision that the CPU does not have. -EACCES: see
 * perf_event_paranoid; -ENOENT, -EOPNOTSUPP, -EINVAL: this CPU cannot count it; -E2BIG: a word of
 * attr is set that this kernel does not know; -ESRCH: no such task; -EMFILE. */
GP_API int gp_open(struct gp_event *e, int pid, int cpu, int group);
/* Opens n events of gp_parse(), members after their leaders, and stores the descriptors in fds[n].
 * If one event cannot be opened, the others are closed again. -EINVAL: n is below 1. */
GP_API int gp_open_all(struct gp_event *events, int n, int pid, int cpu, int *fds);

/* Enable or disable one event. A group counts only while its leader is enabled, so on a leader
 * these functions affect the whole group; on a member they affect that member alone. */
GP_API int gp_enable(int fd);
GP_API int gp_disable(int fd);
/* Enable or disable every event of a group. fd is the descriptor of any of its events
 * (PERF_IOC_FLAG_GROUP). */
GP_API int gp_enable_group(int fd);
GP_API int gp_disable_group(int fd);
/* Enables the event for n more overflows; then the kernel disables it. -EINVAL: the event is
 * inherited or does not sample, or n is below 1 (the kernel would set no limit then). */
GP_API int gp_refresh(int fd, int n);
/* Sets the count of the event, or of each event of its group, to 0; time_enabled and time_running
 * are kept. */
GP_API int gp_reset(int fd);
GP_API int gp_reset_group(int fd);
/* Sets sample_period, or the rate in Hz if attr.freq is set, from now on. */
GP_API int gp_period(int fd, uint64_t period);
/* Enables or disables all counters that the calling thread has opened, members and counters of
 * other tasks as well: prctl(2), PR_TASK_PERF_EVENTS_ENABLE. */
GP_API int gp_task_enable(void);
GP_API int gp_task_disable(void);
/* Sets the filter of a tracepoint: only hits that match it count. */
GP_API int gp_filter(int fd, const char *filter);
/* Writes the samples of fd to the ring of ring_fd, which must be of the same CPU or task. If
 * ring_fd is -1, the samples of fd are written nowhere. */
GP_API int gp_output(int fd, int ring_fd);
/* Stores the kernel's number of the event in *id, as samples and reads of groups contain it. */
GP_API int gp_id(int fd, uint64_t *id);

/* The count of one event, as gp_read() stores it. The read_format of events from gp_parse() is
 * TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING | ID, and GROUP for events of a group. */
struct gp_count {
	uint64_t value, id, lost;
	/* time_enabled and time_running in ns, the same for the whole group */
	uint64_t enabled, running;
};

/* Reads the count of an event, or the counts of its group in the order in which the events were
 * opened. Returns the number of counts; 0: the event is pinned and got no hardware counter, see
 * gp_recover(). read_format must be that of the event. -ENOSPC: the group has more than cap
 * counts. */
GP_API int gp_read(int fd, uint64_t read_format, struct gp_count *counts, int cap);
/* Returns value * enabled / running, calculated in 128 bits; 0 if the event never ran or c is
 * NULL. */
GP_API uint64_t gp_scaled(const struct gp_count *c);
/* Ends the error state of a pinned event by enabling it again. The event continues to count if a
 * hardware counter is free. */
GP_API int gp_recover(int fd);

/* Sets or clears O_NONBLOCK. poll(2) reports POLLIN if the ring has records, POLLHUP if the task
 * has ended or there is no ring, POLLERR in the error state of a pinned event. Reading never
 * blocks, with or without O_NONBLOCK. */
GP_API int gp_nonblock(int fd, int on);
/* Makes the kernel send sig to thread tid (0: the calling one) at each overflow, with fd in si_fd
 * and si_code POLL_IN, or POLL_HUP at the last overflow that gp_refresh() allows.
 * attr.wakeup_events has no effect on it. sig 0 ends the signals. Real-time signals are queued. */
GP_API int gp_notify(int fd, int sig, int tid);

/* A mapped ring buffer. With pages 0 only its control page is mapped, from which a task can read
 * its own counters without a system call. */
struct gp_ring {
	void *page;         /* struct perf_event_mmap_page */
	const char *data;
	size_t bytes, size; /* bytes of the whole mapping; bytes of data */
	uint64_t head, tail;
	int fd;
};

/* Maps the ring of fd. pages: a power of two, or 0. -ENOTSUP: unknown compat_version in the control
 * page. -EPERM: the ring is larger than perf_event_mlock_kb allows. */
GP_API int gp_map(struct gp_ring *r, int fd, uint32_t pages);
GP_API int gp_unmap(struct gp_ring *r);
/* Copies the next complete record to b (struct perf_event_header and the data after it) and
 * releases its space to the kernel. Returns its size in bytes; 0: no record. -EFBIG: the record is
 * longer than cap (64 KiB are enough for any record) and stays in the ring; -EBADMSG: the record is
 * invalid, and the ring was emptied; -EINVAL: r is not mapped. */
GP_API long gp_next(struct gp_ring *r, void *b, size_t cap);
/* Reads the count and the times of a counter of the calling task. If the control page allows it and
 * describes a clock for the times, an instruction of the CPU reads the counter, under the page's
 * seqlock: gp_read_self() returns 1, and does not set id and lost. Otherwise it uses read(2) with
 * the given read_format and returns 0. -ENODATA: the event is pinned and got no hardware counter;
 * -EINVAL: r is not mapped, or the event is in a group and read_format has no ID. */
GP_API int gp_read_self(const struct gp_ring *r, uint64_t read_format, struct gp_count *c);

#ifdef __cplusplus
}
#endif

#endif
