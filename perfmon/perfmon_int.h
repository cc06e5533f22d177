/* perfmon_int.h - the inside of libperfmon2.a: contexts, their sets and registers, and what happens at an overflow. All of it
 * under one lock. SPDX-License-Identifier: MIT */
#ifndef PERFMON_INT_H
#define PERFMON_INT_H

#define PFM_NO_MMAP
#include <perfmon/perfmon_fmt.h>
#include "gpustat.h"
#include "pmumap.h"
#include "sys.h"

#include <stdbool.h>
#include <string.h>

/* Memory of tables: nothing is allocated. A context for each CPU of a board, four sets each, eight PMDs in each of these. */
enum {
	MAX_CTXS = 64,
	MAX_EVTSETS = 256,
	MAX_PMDS_USED = 2048,
	MAX_VECTOR = 4096,        /* entries of one call */
	MAX_BUFFER = 256 << 20,   /* bytes of a sampling buffer */
	RING_PAGES = 64           /* 256 KiB: 1 700 overflows until the thread comes; less where that is refused */
};

/* --- registers ----------------------------------------------------------------------------------------- */

struct pmd {
	struct pmd *next;      /* by number */
	u16 num;
	u8 kind;               /* REG_ */
	bool used;             /* of the pool */
	int fd;                /* -1: not open, or its PMC has it off */
	int khr;               /* REG_VIRTUAL: index of the counter */
	u64 id;                /* the kernel's, in samples and group reads */
	bool member;           /* of the leader's group */
	bool samples;          /* it has a period */

	/* The value is value + (count - at), or value alone while it is held: the count then does not matter. */
	u64 value, at, seen;   /* seen: the count of the overflow that is being handled */
	bool hold;

	u64 armed;             /* the period that the kernel has */
	bool lost;             /* records, of which some may have been its own */
	bool missed;           /* it had no counter for some time: what it has is not what there was */
	bool rearm;            /* it has a wrong one */
	bool on, limit;        /* enabled beside the leader; the kernel will stop it at its overflow */
	u64 stop;              /* limit: the count of that */

	u32 flags;
	u64 long_reset, short_reset, last_reset;
	u64 random_mask;
	u32 seed;
	u64 eventid;
	u64 switch_cnt, switch_left;
	u64 reset_pmds[PFM_PMD_BV], smpl_pmds[PFM_PMD_BV];
};

/* Bit n of a vector. */
static inline bool bv_has(const u64 *bv, unsigned n)
{
	return bv[n / 64] >> n % 64 & 1;
}

static inline void bv_add(u64 *bv, unsigned n)
{
	bv[n / 64] |= (u64)1 << n % 64;
}

/* perf_event_open(2) refuses periods of more bits. */
#define PERIOD_MAX ((u64)INT64_MAX)
/* The period of a value that is so far below the overflow; beyond what the kernel takes (63 bits): as long as can be. */
u64 pmd_period(u64 value);
/* The value behind a reset: randomised, where it is. */
u64 pmd_reset(struct pmd *p, bool is_long);
/* Park and Miller, Carta: the next of 1 to 2^31 - 2. */
u32 random_next(u32 seed);

/* --- sets ----------------------------------------------------------------------------------------------- */

struct set {
	struct set *next;       /* by id */
	bool used;              /* of the pool */
	u16 id, id_next;
	u32 flags;
	u64 timeout;            /* ns */
	u64 runs, duration;     /* ns */
	i64 since;              /* CLOCK_MONOTONIC; since it runs */
	struct pmd *pmds, *leader;
	struct gp_ring ring;
	bool running, failed;   /* failed: it had no counter when it was to run */
	bool switches;          /* to the next set, at pfm_restart() */
	u64 ovfl_pmds[PFM_PMD_BV];    /* that overflowed last */
	u64 reset_pmds[PFM_PMD_BV];   /* to be reset by pfm_restart() */
	u64 pmcs[PMU_REGS];
};

enum state { ST_FREE, ST_UNLOADED, ST_LOADED, ST_MASKED };

struct ctx {
	enum state state;
	u16 at_end, at_ring;     /* what the service thread waits for: which of its descriptors; 0: not */
	u32 flags;
	bool v23, started;
	bool other;              /* it is loaded on a thread that was not the calling one: its end is to be told */
	int end;                 /* our end of the socket */
	u64 ino;                 /* of the program's end, whatever its descriptor */
	int pid, cpu;            /* as gp_open() wants them */
	struct set *sets, *active;
	i64 deadline;            /* CLOCK_MONOTONIC; of the active set; -1: none */
	i64 left;                /* ns of its time, while it is stopped or masked; 0: all */
	bool switches;           /* an overflow wants the next set */
	const struct pfm_smpl_fmt *fmt;
	int memfd;
	void *buf;
	size_t size;             /* of buf, whole pages */
};

extern struct ctx ctxs[MAX_CTXS];
extern int lock;

struct pmd *set_pmd(const struct set *s, unsigned num);
struct set *ctx_set(const struct ctx *c, unsigned id);
/* A new set, or PMD, at its place in the list; NULL: the pool is empty. */
struct set *ctx_add_set(struct ctx *c, u16 id);
struct pmd *set_add_pmd(struct set *s, u16 num);
void ctx_del_set(struct ctx *c, struct set *s);

/* What counters are read with, and samples hold of them. */
#define READ_FORMAT \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | PERF_FORMAT_GROUP)

/* Opens the counters of a set, none of them counting; what gp_open() says. */
int set_open(struct ctx *c, struct set *s);
void set_close(struct set *s);
/* It counts; a wrong period is put right first. */
void set_run(struct set *s, bool has_fmt);
/* It does not, and no overflow is left that was not handled. */
void set_halt(struct ctx *c, struct set *s);
/* The counts of now into seen; what has none is missed. */
void set_look(struct set *s);
u64 pmd_value(const struct pmd *p);

/* Starts and stops whatever is active. */
void ctx_run(struct ctx *c);
void ctx_halt(struct ctx *c);
void ctx_switch(struct ctx *c, struct set *to);
struct set *set_next(const struct ctx *c, const struct set *s);
/* Saves what was counted, and lets the thread or CPU go. */
void ctx_unload(struct ctx *c);

/* The versions' set descriptions, in common. */
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

/* --- overflows ------------------------------------------------------------------------------------------ */

/* What is in the ring is handled; then, where that asks for it, periods are put right, all is masked or a set switched. */
void ctx_update(struct ctx *c);
void set_drain(struct ctx *c, struct set *s);
/* What pfm_restart() is. */
int ctx_restart(struct ctx *c);
/* The thread that waits for overflows, timeouts, and the end of threads and contexts; 0 or -errno. */
int service_start(void);
void service_wake(void);
/* In a child of fork(): there is none. */
void service_forget(void);
/* The value of a virtual PMD; false: it is not to be had. */
bool virtual_value(const struct pmd *p, u64 *value);
/* Its counter, active; -errno. */
int virtual_open(const char *name);

/* --- contexts and formats ------------------------------------------------------------------------------- */

struct msg {
	u32 type, pid, tid;
	u16 set, cpu;
	u64 ip, pmds[PFM_PMD_BV];
};
size_t msg_v22(const struct msg *m, void *b);
size_t msg_v23(const struct msg *m, void *b);
enum { MSG_SIZE = 128 };

/* The descriptor; *size: of the buffer. */
int ctx_create(u32 flags, bool v23, const struct pfm_smpl_fmt *fmt, const void *arg, size_t narg, size_t *size);
void ctx_free(struct ctx *c);
/* Those whose descriptor the program has closed are free. */
void ctxs_reap(void);
/* Locked: the context, or NULL with *error: EBADF, EINVAL, EFAULT. */
struct ctx *ctx_enter(int fd, const void *args, int count, int *error);
/* Unlocks; what a call returns. */
int ctx_leave(int error);
void lib_enter(void);

/* What a callback returned, as -errno: the program's own, and perhaps not what it should be. */
int fmt_error(int r);
const struct pfm_smpl_fmt *fmt_by_uuid(const u8 *uuid);
const struct pfm_smpl_fmt *fmt_by_name(const char *name);

#endif
