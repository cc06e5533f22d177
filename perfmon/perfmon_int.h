/* perfmon_int.h - internal interface of libperfmon2.a: contexts, event sets, registers and
 * overflows. One lock protects all data of the library.
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

/* Capacities. All objects are in tables that grow: nothing is allocated. There is room for one
 * context for each CPU or thread, two event sets in each context, and four PMDs in each set. */
enum {
	MAX_CTXS = 4096,
	MAX_EVTSETS = 2 * MAX_CTXS,
	MAX_PMDS_USED = 8 * MAX_CTXS,
	MAX_VECTOR = 4096,        /* most array elements in one call of a pfm_ function */
	MAX_BUFFER = 256 << 20,   /* bytes of a sampling buffer */
	/* pages of a ring buffer: 256 KiB have room for 1 700 overflows until the service thread
	 * runs; ring_open() tries fewer pages if the kernel refuses so many */
	RING_PAGES = 64
};

/* --- registers -------------------------------------------------------------------------------- */

struct pmd {
	struct pmd *next;      /* next PMD of the set, in ascending order of num */
	u16 num;
	u8 kind;               /* enum pmureg_kind */
	bool used;             /* this row of the table is in use */
	/* descriptor of the perf event; -1 if it is not open, or if the PMC disables it */
	int fd;
	int khr;               /* REG_VIRTUAL: index of the named counter; negative if unknown */
	u64 id;                /* the kernel's id of the event, as in samples and group reads */
	bool member;           /* the event is in the group of the set's leader */
	bool samples;          /* the event has a sampling period */

	/* The PMD's value is value + (seen - at). While hold is set it is value alone, and the
	 * kernel's count does not matter. */
	u64 value, at;         /* at: the kernel's count at which the PMD had this value */
	/* the kernel's count at the last reading, or at the current overflow */
	u64 seen;
	bool hold;

	u64 armed;             /* the period that is set in the kernel */
	/* the ring lost records, of which some may be overflows of this PMD */
	bool lost;
	/* the event had no hardware counter for some time: the value is incomplete */
	bool missed;
	bool rearm;            /* the period in the kernel is wrong; set_run() corrects it */
	/* the event is enabled; a member of the group counts only if the leader is enabled, too */
	bool on;
	bool limit;            /* the kernel will disable the event at its next overflow */
	u64 stop;              /* if limit: the kernel's count at that overflow */

	u32 flags;
	u64 long_reset, short_reset, last_reset;
	u64 random_mask;
	u32 seed;
	u64 eventid;
	u64 switch_cnt, switch_left;
	u64 reset_pmds[PFM_PMD_BV], smpl_pmds[PFM_PMD_BV];
};

/* Returns the bit of register n in a bit vector of registers. */
static inline bool bv_has(const u64 *bv, unsigned n)
{
	return bv[n / 64] >> n % 64 & 1;
}

static inline void bv_add(u64 *bv, unsigned n)
{
	bv[n / 64] |= (u64)1 << n % 64;
}

/* The longest sampling period: perf_event_open(2) refuses periods of more than 63 bits. */
#define PERIOD_MAX ((u64)INT64_MAX)
/* Returns the distance from value to the overflow at 2^64, as a period for the kernel. PERIOD_MAX
 * if the kernel cannot have so long a period (63 bits). */
u64 pmd_period(u64 value);
/* Returns the value that a PMD gets at a long or short reset, randomised if PFM_REGFL_RANDOM is
 * set, and stores it in p->last_reset. */
u64 pmd_reset(struct pmd *p, bool is_long);
/* Returns the random number after seed, 1 to 2^31 - 2 (generator of Park and Miller, calculated as
 * Carta does). */
u32 random_next(u32 seed);

/* --- event sets ------------------------------------------------------------------------------- */

struct set {
	struct set *next;       /* next set of the context, in ascending order of id */
	bool used;              /* this row of the table is in use */
	u16 id, id_next;
	u32 flags;
	u64 timeout;            /* ns until the next set becomes active */
	/* number of times the set became active; ns that it was running */
	u64 runs, duration;
	/* ns of CLOCK_MONOTONIC at which the set was started, while running */
	i64 since;
	struct pmd *pmds, *leader;
	struct gp_ring ring;
	bool running;
	bool changed;           /* registers were written: the perf events must be opened again */
	/* the kernel had no hardware counter for the set when it was started */
	bool failed;
	bool switches;          /* pfm_restart() must switch to the next set */
	u64 ovfl_pmds[PFM_PMD_BV];    /* PMDs that overflowed last */
	u64 reset_pmds[PFM_PMD_BV];   /* PMDs that pfm_restart() will reset */
	u64 pmcs[PMU_REGS];
};

enum state { ST_FREE, ST_UNLOADED, ST_LOADED, ST_MASKED };

struct ctx {
	enum state state;
	/* indexes in server.fds[], which the service thread polls: of end, and of the ring of the
	 * active set; 0 if not polled */
	u16 at_end, at_ring;
	u32 flags;
	bool v23, started;
	/* the context monitors a thread other than the one that loaded it; PFM_MSG_END reports the
	 * end of that thread */
	bool other;
	int end;                 /* the library's end of the context's socket pair */
	/* the program's end of the socket pair: the descriptor in its last call */
	int fd;
	/* inode of the program's end, which identifies duplicated descriptors */
	u64 ino;
	int pid, cpu;            /* thread and CPU to count on: arguments of gp_open() */
	struct set *sets, *active;
	/* ns of CLOCK_MONOTONIC at which the active set's timeout ends; -1 if it has none */
	i64 deadline;
	/* ns left of the active set's timeout while stopped or masked; 0 for the whole timeout */
	i64 left;
	/* an overflow requires a switch from the active set to the next one */
	bool switches;
	const struct pfm_smpl_fmt *fmt;
	int memfd;
	void *buf;
	size_t size;             /* bytes of buf, in whole pages */
};

/* All contexts: the n rows that are or were in use. Rows with ST_FREE can be used again. */
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
/* Return the set or PMD with this number. If there is none, a new one is inserted in the list. NULL
 * if the table of sets or PMDs is full. */
struct set *ctx_add_set(struct ctx *c, u16 id);
struct pmd *set_add_pmd(struct set *s, u16 num);
void ctx_del_set(struct ctx *c, struct set *s);

/* read_format of all perf events of the library; the counts in samples have this format, too. */
#define READ_FORMAT \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | \
	 PERF_FORMAT_GROUP)

/* Opens the perf events of a set, disabled. Returns 0, or the -errno of the call that failed: then
 * no event of the set is open. */
int set_open(struct ctx *c, struct set *s);
void set_close(struct set *s);
/* Returns true if new values of a PMD require that all perf events of its set are opened again. If
 * not, the event gets its new period when the set continues. No event text is parsed then, because
 * a signal handler must not do that. */
bool pmd_reopens(const struct set *s, const struct pmd *p);
/* Makes a set count, after it has corrected the periods of PMDs with rearm. has_fmt: the context
 * has a sampling format. */
void set_run(struct set *s, bool has_fmt);
/* Makes a set stop counting, and handles all overflows that occurred until then. */
void set_halt(struct ctx *c, struct set *s);
/* Stores the kernel's current count of each PMD in its member seen. A PMD whose count cannot be
 * read is marked as missed. */
void set_read(struct set *s);
u64 pmd_value(const struct pmd *p);

/* Makes the active set count, if the context is started and not masked. */
void ctx_run(struct ctx *c);
/* Stops the active set, and keeps the rest of its timeout in c->left. */
void ctx_halt(struct ctx *c);
void ctx_switch(struct ctx *c, struct set *to);
struct set *set_next(const struct ctx *c, const struct set *s);
/* Stops a context and closes the perf events of all its sets; the PMDs keep their values. */
void ctx_unload(struct ctx *c);

/* Arguments of the calls for event sets, in a form common to perfmon v2.2 and v2.3. */
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

/* Handles the overflow records in the ring of the active set. If they require it, then corrects
 * periods, masks the context or switches to the next set. */
void ctx_update(struct ctx *c);
/* Handles the overflow records that are in the ring of the set now. */
void set_drain(struct ctx *c, struct set *s);
/* Does the work of pfm_restart(). Returns 0 or -errno. */
int ctx_restart(struct ctx *c);
/* Starts the service thread, unless it runs: it waits for overflows, timeouts, and the end of
 * threads and contexts. Returns 0 or -errno. */
int service_start(void);
/* Makes room for the polled descriptors of n contexts. Returns false if there is none. */
bool service_reserve(u32 n);
/* Makes the service thread see changed contexts and deadlines. */
void service_wake(void);
/* Closes the descriptor of the service thread, in a child of fork(): only its parent has the
 * thread. */
void service_forget(void);
/* Stores the value of a virtual PMD in *value. Returns false if the value is unknown. */
bool virtual_value(const struct pmd *p, u64 *value);
/* Activates the named counter (KHR_perfcounter) with this name, for a virtual PMD. Returns its
 * index, or -errno. */
int virtual_open(const char *name);

/* --- contexts and formats --------------------------------------------------------------------- */

struct msg {
	u32 type, pid, tid;
	u16 set, cpu;
	u64 ip, pmds[PFM_PMD_BV];
};
/* Write message m to b, which has MSG_SIZE bytes, as the structure that perfmon v2.2 or v2.3
 * defines for it. Return the size of that structure. */
size_t msg_v22(const struct msg *m, void *b);
size_t msg_v23(const struct msg *m, void *b);
enum { MSG_SIZE = 128 };

/* Creates a context. arg, of narg bytes, is the argument of the sampling format. Stores the bytes
 * of the sampling buffer in *size. Returns the context's descriptor, or -errno. */
int ctx_create(u32 flags, bool v23, const struct pfm_smpl_fmt *fmt, const void *arg, size_t narg,
	       size_t *size);
void ctx_free(struct ctx *c);
/* Frees the contexts whose descriptor the program has closed. */
void ctxs_reap(void);
/* Takes the lock and returns the context of fd. Returns NULL and sets *error if fd is no context
 * (-EBADF), count is out of range (-EINVAL) or args is NULL (-EFAULT). The caller must end with
 * ctx_leave() in either case. */
struct ctx *ctx_enter(int fd, const void *args, int count, int *error);
/* Releases the lock. Returns the result of the pfm_ call: error, or, if that is a -errno, -1 with
 * errno set. */
int ctx_leave(int error);
/* Takes the lock, with all signals blocked; ctx_leave() releases it. */
void lib_enter(void);

/* Returns r, the result of a program's callback, if it is 0 or a possible -errno; else -EINVAL. */
int fmt_error(int r);
const struct pfm_smpl_fmt *fmt_by_uuid(const u8 *uuid);
const struct pfm_smpl_fmt *fmt_by_name(const char *name);

#endif
