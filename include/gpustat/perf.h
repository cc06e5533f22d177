/* gpustat/perf.h - Performance Counters for Linux, as perf_event_open(2) has them today: the thin layer that gpustat's own
 * `stat` and `sample` stand on. Link with libgpustat.a; there is nothing to initialise.
 *
 * A counter is a descriptor, the caller's own: close(2) ends it, poll(2) waits for its ring, fcntl(2) works as with any.
 * Functions return 0 or what they say, and -errno where they fail, -EFAULT for a null pointer; errno itself means nothing
 * then. None allocates. All but
 * gp_parse(), which one thread runs at a time, work on what they are given alone: any threads may call them, on one
 * descriptor or ring one at a time.
 *
 * What each sentence of the 2009 document has become is told in gpustat-perf(3).
 * SPDX-License-Identifier: MIT */
#ifndef GPUSTAT_PERF_H
#define GPUSTAT_PERF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GP_API __attribute__((__visibility__("default")))

enum {
	GP_ATTR_WORDS = 18, /* struct perf_event_attr as wide as any kernel's: linux/perf_event.h, PERF_ATTR_SIZE_VER9 */
	GP_UNIT = 16,
	GP_MAX_GROUP = 64   /* counts that one read gives */
};

/* A word of what has other types to whoever has linux/perf_event.h: compilers must not take them for different memory. */
typedef uint64_t __attribute__((__may_alias__)) gp_word;

/* An event, as it is asked for. attr is a struct perf_event_attr, zero where nothing is wanted: where that header is at
 * hand, ((struct perf_event_attr *)e->attr)->pinned = 1 sets what gp_parse() does not. Its size is gp_open()'s. */
struct gp_event {
	gp_word attr[GP_ATTR_WORDS];
	uint16_t group;        /* events of one {group} have one number, from 1; 0: of none */
	uint16_t same;         /* events with one number are one event on several PMUs: to be summed */
	uint8_t wide;          /* counts whole CPUs: only with pid -1 */
	uint8_t cgroup;        /* pid is the descriptor of a cgroup's folder; cpu must be one */
	uint8_t precise;       /* attr's precise_ip is the most that is wanted: less will do */
	uint8_t scale_point;   /* a count is scale / 10^scale_point of the unit; scale 0: just one */
	uint64_t scale;
	char unit[GP_UNIT];    /* "": a count */
	int32_t cpus[64];      /* of a wide event: where it is to be opened, -1 behind the last */
};

/* The events of a list as `stat -e` takes it: "cycles:u", "{cycles,instructions}", "cpu/event=0x3c/", "r11",
 * "sched:sched_switch", "mem:0x1000/4:w". How many they are, at most cap; -EINVAL: no such syntax, -ENOENT: no such event,
 * -EACCES: only root may know its number, -ENOSPC: more than cap, -EOPNOTSUPP: none of the kernel's (gpu0/render/). why,
 * where it is not NULL, gets a text of at most nwhy bytes that says which. Leaders are disabled at first (attr.disabled), and
 * so their members; see gp_read() for their read_format. */
GP_API int gp_parse(const char *list, struct gp_event *events, int cap, char *why, size_t nwhy);

/* Opens it: pid 0 is the calling task, -1 all on that cpu; cpu -1: wherever the task runs; group: the leader's descriptor,
 * -1: its own. The descriptor is closed by execve, and read(2) never waits. What this kernel is too old for is left out, in
 * e too: PERF_FORMAT_LOST, attr.ksymbol, inherit beside PERF_SAMPLE_READ, precision beyond the CPU's. -EACCES: see
 * perf_event_paranoid; -ENOENT, -EOPNOTSUPP, -EINVAL: this CPU cannot count it; -E2BIG: this kernel does not know some word
 * of attr that is set; -ESRCH: no such task; -EMFILE. */
GP_API int gp_open(struct gp_event *e, int pid, int cpu, int group);
/* Events of gp_parse(), members behind their leaders: fds[n]; all or none. -EINVAL: n is below 1. */
GP_API int gp_open_all(struct gp_event *events, int n, int pid, int cpu, int *fds);

/* A leader stands for its group: while it is off, none of it counts. A member's concern that member alone. */
GP_API int gp_enable(int fd);
GP_API int gp_disable(int fd);
/* Each member for itself, whichever of them fd is (PERF_IOC_FLAG_GROUP). */
GP_API int gp_enable_group(int fd);
GP_API int gp_disable_group(int fd);
/* For n overflows more, then it is disabled; -EINVAL: it is inherited, does not sample, or n is below 1 (which the kernel
 * takes for no end). */
GP_API int gp_refresh(int fd, int n);
/* The count becomes 0; times go on. */
GP_API int gp_reset(int fd);
GP_API int gp_reset_group(int fd);
/* sample_period, or Hz where attr.freq is set: from now on. */
GP_API int gp_period(int fd, uint64_t period);
/* All counters that the calling thread has opened, members and those of other tasks as well: prctl(2),
 * PR_TASK_PERF_EVENTS_ENABLE. */
GP_API int gp_task_enable(void);
GP_API int gp_task_disable(void);
/* Which hits of a tracepoint count. */
GP_API int gp_filter(int fd, const char *filter);
/* What it samples goes into the ring of another: of one CPU or one task. -1: nowhere. */
GP_API int gp_output(int fd, int ring_fd);
/* The kernel's number for it, in samples and group reads. */
GP_API int gp_id(int fd, uint64_t *id);

/* read_format of what gp_parse() makes: TOTAL_TIME_ENABLED | TOTAL_TIME_RUNNING | ID, and GROUP for those of a group. */
struct gp_count {
	uint64_t value, id, lost;
	uint64_t enabled, running; /* ns; one for the whole group */
};

/* The count, or those of the group in the order in which they were opened: how many. 0: it is pinned and found no counter:
 * see gp_recover(). read_format: as it was opened. -ENOSPC: they are more than cap. */
GP_API int gp_read(int fd, uint64_t read_format, struct gp_count *counts, int cap);
/* value * enabled / running, in 128 bits; 0 where it never ran, or c is NULL. */
GP_API uint64_t gp_scaled(const struct gp_count *c);
/* Out of the error state of a pinned counter: it is enabled again, and counts on where a counter is free. */
GP_API int gp_recover(int fd);

/* poll(2) says POLLIN when the ring has something, POLLHUP when the task has ended or there is no ring, POLLERR in the
 * error state of a pinned counter. Reading never waits, whatever O_NONBLOCK says. */
GP_API int gp_nonblock(int fd, int on);
/* Sends sig to thread tid (0: the calling one), with fd in si_fd, at each overflow (si_code POLL_IN; POLL_HUP at the last
 * that gp_refresh() allows), whatever attr.wakeup_events says; sig 0: no more. A real-time signal queues. */
GP_API int gp_notify(int fd, int sig, int tid);

/* A ring, or with pages 0 only its control page, by which a task reads its own counters without a system call. */
struct gp_ring {
	void *page;         /* struct perf_event_mmap_page */
	const char *data;
	size_t bytes, size; /* mapped; of the data */
	uint64_t head, tail;
	int fd;
};

/* pages: a power of two, or 0. -ENOTSUP: the page's compat_version is one that we do not know. -EPERM: beyond
 * perf_event_mlock_kb. */
GP_API int gp_map(struct gp_ring *r, int fd, uint32_t pages);
GP_API int gp_unmap(struct gp_ring *r);
/* The next record, whole, into b: its bytes (struct perf_event_header and what follows); 0: there is none; -EFBIG: it has
 * more than cap (64 KiB hold any) and is left there; -EBADMSG: what is there makes no sense, and the ring was emptied;
 * -EINVAL: r is not mapped. What was copied is given back to the kernel. */
GP_API long gp_next(struct gp_ring *r, void *b, size_t cap);
/* The count of the calling task's own counter, and its times: by the CPU's instruction under the page's seqlock where the
 * page allows that, and tells of a clock to reckon the times with; else by read(2), with that read_format. 1: without a
 * system call, and then without id and lost; 0: with one. -ENODATA: it is pinned and found no counter; -EINVAL: r is not
 * mapped, or it is of a group and read_format has no ID. */
GP_API int gp_read_self(const struct gp_ring *r, uint64_t read_format, struct gp_count *c);

#ifdef __cplusplus
}
#endif

#endif
