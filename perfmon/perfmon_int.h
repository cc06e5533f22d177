/* perfmon_int.h - internal interface of libperfmon2.a: contexts, event sets, registers and
 * overflows. One lock protects all of it.
 * SPDX-License-Identifier: MIT */
#ifndef PERFMON_INT_H
#define PERFMON_INT_H

#define PFM_NO_MMAP
#include <perfmon/perfmon_fmt.h>

#include "pmumap.h"
#include "sources/os/os.h"
#include "sys.h"

#include <stdbool.h>
#include <string.h>

/* All memory is in tables that grow: nothing is allocated. One context for each CPU or thread, two
 * event sets in each context, four PMDs in each set. */
enum {
	MAX_CTXS = 4096,
	MAX_EVTSETS = 2 * MAX_CTXS,
	MAX_PMDS_USED = 8 * MAX_CTXS,
	MAX_VECTOR = 4096,        /* entries in one call */
	MAX_BUFFER = 256 << 20,   /* bytes of a sampling buffer */
	/* 256 KiB: room for 1 700 overflows until the service thread runs; ring_open() tries fewer
	 * pages if the kernel refuses these */
	RING_PAGES = 64
};

/* --- registers -------------------------------------------------------------------------------- */

struct pmd {
	struct pmd *next;      /* in ascending order of num */
	u16 num;
	u8 kind;               /* enum pmureg_kind */
	bool used;             /* this entry of the pool is in use */
	int fd;                /* -1: not open, or its PMC has it disabled */
	int khr;               /* REG_VIRTUAL: index of the counter */
	u64 id;                /* the kernel's number, in samples and group reads */
	bool member;           /* in the leader's group */
	bool samples;          /* it has a period */

	/* The value of the PMD is value + (seen - at), or value alone while hold is set: the count
	 * does not matter then. */
	u64 value, at;         /* at: the count that belongs to value */
	u64 seen;              /* the count at the last reading, or at the overflow in hand */
	bool hold;

	u64 armed;             /* the period that the kernel has */
	bool lost;             /* records were lost; some of them may belong to this PMD */
	bool missed;           /* it had no counter for some time: its value is incomplete */
	bool rearm;            /* the kernel has a wrong period */
	bool on;               /* its event is enabled; a member also needs an enabled leader */
	bool limit;            /* the kernel will stop it at its overflow */
	u64 stop;              /* if limit: the count at that overflow */

	u32 flags;
	u64 long_reset, short_reset, last_reset;
	u64 random_mask;
	u32 seed;
	u64 eventid;
	u64 switch_cnt, switch_left;
	u64 reset_pmds[PFM_PMD_BV], smpl_pmds[PFM_PMD_BV];
};

/* Returns bit n of a vector. */
static inline bool bv_has(const u64 *bv, unsigned n)
{
	return bv[n / 64] >> n % 64 & 1;
}

static inline void bv_add(u64 *bv, unsigned n)
{
	bv[n / 64] |= (u64)1 << n % 64;
}

/* perf_event_open(2) refuses periods of more than 63 bits. */
#define PERIOD_MAX ((u64)INT64_MAX)
/* Returns the distance from value to the overflow at 2^64, as a period for the kernel. PERIOD_MAX
 * if the kernel cannot have so long a period (63 bits). */
u64 pmd_period(u64 value);
/* Returns the value after a long or short reset, randomised if PFM_REGFL_RANDOM is set, and stores
 * it in last_reset. */
u64 pmd_reset(struct pmd *p, bool is_long);
/* Returns the random number after seed, 1 to 2^31 - 2 (generator of Park and Miller, calculated as
 * Carta does). */
u32 random_next(u32 seed);

/* --- event sets ------------------------------------------------------------------------------- */

struct set {
	struct set *next;       /* in ascending order of id */
	bool used;              /* this entry of the pool is in use */
	u16 id, id_next;
	u32 flags;
	u64 timeout;            /* ns */
	u64 runs, duration;     /* ns */
	i64 since;              /* CLOCK_MONOTONIC: start time, while running */
	struct pmd *pmds, *leader;
	struct gp_ring ring;
	bool running;
	bool changed;           /* what was written to it requires new counters */
	bool failed;            /* there was no hardware counter when it was started */
	bool switches;          /* pfm_restart() switches to the next set */
	u64 ovfl_pmds[PFM_PMD_BV];    /* PMDs that overflowed last */
	u64 reset_pmds[PFM_PMD_BV];   /* PMDs that pfm_restart() will reset */
	u64 pmcs[PMU_REGS];
};

enum state { ST_FREE, ST_UNLOADED, ST_LOADED, ST_MASKED };

struct ctx {
	enum state state;
	/* indexes of end and of the ring among the descriptors that the service thread polls; 0:
	 * not polled */
	u16 at_end, at_ring;
	u32 flags;
	bool v23, started;
	/* loaded on a thread other than the calling one: PFM_MSG_END reports the end of that
	 * thread */
	bool other;
	int end;                 /* the library's end of the socket pair */
	int fd;                  /* the program's end: the descriptor of the last call */
	u64 ino;                 /* inode of the program's end; its descriptor may be duplicated */
	int pid, cpu;            /* arguments of gp_open() */
	struct set *sets, *active;
	i64 deadline;            /* CLOCK_MONOTONIC; timeout of the active set; -1: none */
	i64 left;                /* ns until the timeout, while stopped or masked; 0: all of it */
	bool switches;           /* an overflow requires a switch to the next set */
	const struct pfm_smpl_fmt *fmt;
	int memfd;
	void *buf;
	size_t size;             /* bytes of buf, in whole pages */
};

/* All contexts that were ever in use: some are free. */
extern struct ctxs {
	struct ctx *rows;
	u32 n;
	struct table table;
} ctxs;
extern int lock;

static inline struct ctx *ctxs_end(void)
{
	return ctxs.rows + ctxs.n;
}

struct pmd *set_pmd(const struct set *s, unsigned num);
struct set *ctx_set(const struct ctx *c, unsigned id);
/* Return the set or PMD of that number; if there is none, a new one at its place in the list. NULL:
 * the pool has no free entry. */
struct set *ctx_add_set(struct ctx *c, u16 id);
struct pmd *set_add_pmd(struct set *s, u16 num);
void ctx_del_set(struct ctx *c, struct set *s);

/* read_format of the counters, which also applies to the counts in samples. */
#define READ_FORMAT \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | \
	 PERF_FORMAT_GROUP)

/* Opens the counters of a set; none of them counts yet. Returns 0 or the -errno of the call that
 * failed: then none is open. */
int set_open(struct ctx *c, struct set *s);
void set_close(struct set *s);
/* Returns whether the new values of a PMD require that its set is opened again. If not, its counter
 * gets the new period when it continues: no event is parsed, as a signal handler requires. */
bool pmd_reopens(const struct set *s, const struct pmd *p);
/* Starts counting; a wrong period is corrected first. */
void set_run(struct set *s, bool has_fmt);
/* Stops counting, and handles all overflows until then. */
void set_halt(struct ctx *c, struct set *s);
/* Stores the current counts in the PMDs' seen; a PMD that has no count is marked as missed. */
void set_read(struct set *s);
u64 pmd_value(const struct pmd *p);

/* Starts the active set, if the context is started and not masked. */
void ctx_run(struct ctx *c);
/* Stops it and keeps the rest of its timeout. */
void ctx_halt(struct ctx *c);
void ctx_switch(struct ctx *c, struct set *to);
struct set *set_next(const struct ctx *c, const struct set *s);
/* Stops counting and closes all counters; the PMDs keep their values. */
void ctx_unload(struct ctx *c);

/* Descriptions of a set, common to v2.2 and v2.3. */
struct setdesc {
	u16 id, id_next;
	u32 flags;
	u64 timeout;
};
struct setinfo {
	struct setdesc d;
	u64 ovfl_pmds[PFM_PMD_BV], runs, duration;
	u64 pmcs[PFM_PMC_BV], pmds[PFM_PMD_BV];
};
int ctx_create_set(struct ctx *c, struct setdesc *d);
int ctx_delete_set(struct ctx *c, struct setdesc *d);
int ctx_info_set(struct ctx *c, struct setinfo *i);

/* --- overflows -------------------------------------------------------------------------------- */

/* Handles the records in the ring. If they require it, it then corrects periods, masks the context
 * or switches to the next set. */
void ctx_update(struct ctx *c);
/* Handles the records that are in the ring at the moment. */
void set_drain(struct ctx *c, struct set *s);
/* Does pfm_restart(); 0 or -errno. */
int ctx_restart(struct ctx *c);
/* Starts the service thread, which waits for overflows, timeouts, and the end of threads and
 * contexts; 0 or -errno. */
int service_start(void);
/* Makes room for the descriptors of so many contexts. False: there is none. */
bool service_reserve(u32 n);
/* Makes the service thread see changed contexts and deadlines. */
void service_wake(void);
/* In a child of fork(), which has no service thread. */
void service_forget(void);
/* Reads the value of a virtual PMD; false: it is unknown. */
bool virtual_value(const struct pmd *p, u64 *value);
/* Activates the counter of that name and returns its index, or -errno. */
int virtual_open(const char *name);

/* --- contexts and formats --------------------------------------------------------------------- */

struct msg {
	u32 type, pid, tid;
	u16 set, cpu;
	u64 ip, pmds[PFM_PMD_BV];
};
/* Write the message in the form of v2.2 or v2.3 to b, which has MSG_SIZE bytes. Return its size. */
size_t msg_v22(const struct msg *m, void *b);
size_t msg_v23(const struct msg *m, void *b);
enum { MSG_SIZE = 128 };

/* Creates a context. Returns its descriptor or -errno; *size: bytes of the sampling buffer. */
int ctx_create(u32 flags, bool v23, const struct pfm_smpl_fmt *fmt, const void *arg, size_t narg,
	       size_t *size);
void ctx_free(struct ctx *c);
/* Frees the contexts whose descriptor the program has closed. */
void ctxs_reap(void);
/* Takes the lock and returns the context of fd. NULL: *error is -EBADF (not a context), -EINVAL
 * (count) or -EFAULT (args). The caller ends with ctx_leave() in either case. */
struct ctx *ctx_enter(int fd, const void *args, int count, int *error);
/* Releases the lock. Returns error, or -1 with errno set if it is negative: the result of the
 * call. */
int ctx_leave(int error);
/* Takes the lock; ctx_leave() releases it. */
void lib_enter(void);

/* Returns r, the result of a program's callback, if it is 0 or a possible -errno; else -EINVAL. */
int fmt_error(int r);
const struct pfm_smpl_fmt *fmt_by_uuid(const u8 *uuid);
const struct pfm_smpl_fmt *fmt_by_name(const char *name);

#endif
