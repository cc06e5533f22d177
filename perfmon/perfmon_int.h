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

/* Capacities of the tables (struct table) that have all objects of this library; malloc(3) is not
 * used. There is room for two event sets per context, and for four PMDs per event set. A context
 * needs two descriptors, so that the limit of descriptors (RLIMIT_NOFILE) is reached first, unless
 * it is above 131072. On machines with addresses of 32 bits, there is room for 4096 contexts. */
enum {
	MAX_CTXS = sizeof(void *) > 4 ? 65536 : 4096,
	MAX_EVTSETS = 2 * MAX_CTXS,
	MAX_PMDS_USED = 8 * MAX_CTXS,
	MAX_VECTOR = 4096, /* largest number of array elements in one call of a pfm_ function */
	MAX_BUFFER = 256 << 20,   /* largest size in bytes of a sampling buffer */
	/* number of data pages of a perf ring buffer. With pages of 4 KiB, they have room for 1 700
	 * overflow records of 152 bytes (with five PMDs each), until the service thread reads the
	 * records. If the kernel refuses this size, ring_open() tries fewer pages. */
	RING_PAGES = 64
};

/* --- registers -------------------------------------------------------------------------------- */

struct pmd {
	struct pmd *next;      /* next PMD of the same set; the list is in ascending order of num */
	u16 num;
	u8 kind;               /* enum pmureg_kind: REG_COUNTER or REG_VIRTUAL */
	bool used;             /* this row of the table of PMDs is in use */
	/* descriptor of the PMD's perf event; -1 if it is not open, for example because the PMC
	 * disables the PMD */
	int fd;
	/* for REG_VIRTUAL: index of the KHR_perfcounter counter that has the value of the PMD;
	 * negative if virtual_open() could not activate the counter */
	int khr;
	u64 id; /* id of the perf event in the kernel, which samples and group reads contain */
	bool member;           /* the PMD's event is in the group of the set's leader */
	bool samples;          /* the PMD's event has a sampling period */

	/* The value of the PMD is value + (seen - at): `value`, plus the kernel's counts since
	 * then. While hold is true, the value of the PMD is `value` alone, no matter what the
	 * kernel counts. */
	/* at: the kernel's count of the PMD's event at the moment when the PMD's value was
	 * `value` */
	u64 value, at;
	/* the kernel's count of the PMD's event at the last reading, or at the overflow that is
	 * being handled */
	u64 seen;
	bool hold;

	u64 armed; /* sampling period of the PMD's event in the kernel; 0: it has none */
	/* the ring buffer has lost records, some of which may be overflows of this PMD */
	bool lost;
	/* the PMD's value is incomplete, because its event had no hardware counter for some time */
	bool missed;
	/* the PMD's event has another sampling period in the kernel than the PMD requires;
	 * set_run() will correct it */
	bool rearm;
	/* the PMD's event is enabled; an event in the group counts only if the leader's event is
	 * enabled, too */
	bool on;
	bool limit;            /* the kernel will disable the PMD's event at its next overflow */
	/* if limit is true: the kernel's count of the event at the overflow that disables it */
	u64 stop;

	u32 flags;
	u64 long_reset, short_reset, last_reset;
	u64 random_mask;
	u32 seed;
	u64 eventid;
	u64 switch_cnt, switch_left;
	u64 reset_pmds[PFM_PMD_BV], smpl_pmds[PFM_PMD_BV];
};

/* Returns bit n of a bit vector of registers: true if register n is in it. */
static inline bool bv_has(const u64 *bv, unsigned n)
{
	return bv[n / 64] >> n % 64 & 1;
}

static inline void bv_add(u64 *bv, unsigned n)
{
	bv[n / 64] |= (u64)1 << n % 64;
}

/* The longest sampling period: perf_event_open(2) refuses a period that needs more than 63 bits. */
#define PERIOD_MAX ((u64)INT64_MAX)
/* Returns the sampling period for a PMD with this value: the number of counts up to the overflow at
 * 2^64. Returns PERIOD_MAX if this number needs more than 63 bits. */
u64 pmd_period(u64 value);
/* Returns the value to which a PMD must be reset: its long or its short reset value, less a random
 * number if the PMD has PFM_REGFL_RANDOM. Also stores it in p->last_reset. */
u64 pmd_reset(struct pmd *p, bool is_long);
/* Returns the random number that follows seed, 1 to 2^31 - 2: the generator of Park and Miller,
 * calculated with Carta's method. */
u32 random_next(u32 seed);

/* --- event sets ------------------------------------------------------------------------------- */

struct set {
	struct set *next; /* next set of the same context; the list is in ascending order of id */
	bool used;              /* this row of the table of sets is in use */
	u16 id, id_next;
	u32 flags;
	u64 timeout;            /* time in ns after which the next set becomes active */
	/* runs: number of times that the set became active; duration: time in ns for which the set
	 * counted */
	u64 runs, duration;
	/* while the set counts: time of CLOCK_MONOTONIC in ns at which the set began to count */
	i64 since;
	struct pmd *pmds, *leader;
	struct gp_ring ring;
	bool running;
	/* registers of the set were written, so that its perf events must be opened again */
	bool changed;
	/* the kernel had no hardware counter for the set when the set was started */
	bool failed;
	bool switches;          /* pfm_restart() must make the next set the active one */
	/* bit vector of the PMDs of the set that overflowed at the last overflow of the set */
	u64 ovfl_pmds[PFM_PMD_BV];
	u64 reset_pmds[PFM_PMD_BV];   /* bit vector of the PMDs that pfm_restart() will reset */
	u64 pmcs[PMU_REGS];
};

enum state { ST_FREE, ST_UNLOADED, ST_LOADED, ST_MASKED };

struct ctx {
	enum state state;
	/* indexes in server.fds[], the descriptors that the service thread polls. at_end: of the
	 * descriptor `end`; at_ring: of the ring of the active set; 0: not polled */
	u32 at_end, at_ring;
	u32 flags;
	bool v23, started;
	/* the monitored thread is not the thread that loaded the context; PFM_MSG_END reports when
	 * the monitored thread ends */
	bool other;
	int end;                 /* descriptor of the library's end of the context's socket pair */
	/* program's end of the socket pair: the descriptor that the program used in its last
	 * call */
	int fd;
	/* inode number of the program's end of the socket pair; a duplicate of the descriptor has
	 * the same inode */
	u64 ino;
	int pid, cpu; /* thread and CPU on which the context counts, as arguments for gp_open() */
	struct set *sets, *active;
	/* time of CLOCK_MONOTONIC in ns at which the timeout of the active set ends; -1: it has
	 * none */
	i64 deadline;
	/* while the context is stopped or masked: time in ns that is left of the active set's
	 * timeout; 0: the whole timeout */
	i64 left;
	/* an overflow has requested that the next set becomes the active one */
	bool switches;
	const struct pfm_smpl_fmt *fmt;
	int memfd;
	void *buf;
	/* size in bytes of the sampling buffer buf, a multiple of the page size */
	size_t size;
};

/* The table of all contexts: n rows that are or were in use. A row with ST_FREE can be used for a
 * new context. */
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
/* ctx_add_set() returns the event set id of a context, set_add_pmd() the PMD num of a set. They
 * insert the set or the PMD if it does not exist yet, and return NULL if the table of sets or PMDs
 * is full. */
struct set *ctx_add_set(struct ctx *c, u16 id);
struct pmd *set_add_pmd(struct set *s, u16 num);
void ctx_del_set(struct ctx *c, struct set *s);

/* read_format of all perf events that the library opens. Their samples contain counts in this
 * format, too. */
#define READ_FORMAT \
	(PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID | \
	 PERF_FORMAT_GROUP)

/* Opens the perf events of a set, in the disabled state. Returns 0, or the -errno of the call that
 * failed; after a failure no event of the set is open. */
int set_open(struct ctx *c, struct set *s);
void set_close(struct set *s);
/* Returns true if new values of a PMD require that all perf events of its set are opened again. If
 * false, the PMD's event gets its new period when the set continues: then gp_parse() is not called,
 * which a signal handler must not call. */
bool pmd_reopens(const struct set *s, const struct pmd *p);
/* Makes the set count, after setting the sampling period of each PMD whose member rearm is true.
 * has_fmt: the context has a sampling format. */
void set_run(struct set *s, bool has_fmt);
/* Stops the set, and handles all overflows that occurred until then. */
void set_halt(struct ctx *c, struct set *s);
/* Stores the kernel's present count of each PMD of the set in the member `seen` of the PMD. If the
 * count of a PMD cannot be read, its member `missed` becomes true. */
void set_read(struct set *s);
u64 pmd_value(const struct pmd *p);

/* Makes the active set count, if the context is started and not masked. */
void ctx_run(struct ctx *c);
/* Stops the active set, and stores the time in ns that is left of its timeout in c->left. */
void ctx_halt(struct ctx *c);
void ctx_switch(struct ctx *c, struct set *to);
struct set *set_next(const struct ctx *c, const struct set *s);
/* Stops a context and closes the perf events of all its sets; the PMDs keep their values. */
void ctx_unload(struct ctx *c);

/* Arguments of the functions for event sets (pfm_create_evtsets() and others), in a form that is
 * common to perfmon v2.2 and v2.3. */
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

/* Handles the overflow records in the ring buffer of the active set; then corrects periods, masks
 * the context or makes the next set active, if the overflows require it. */
void ctx_update(struct ctx *c);
/* Handles all overflow records that are in the ring buffer of the set at the time of the call. */
void set_drain(struct ctx *c, struct set *s);
/* Implements pfm_restart() for the context. Returns 0 or -errno. */
int ctx_restart(struct ctx *c);
/* Starts the service thread if it does not run yet. The thread waits for overflows, for timeouts,
 * and for the end of threads and contexts. Returns 0 or -errno. */
int service_start(void);
/* Makes room in the service thread's array for the polled descriptors of n contexts. Returns false
 * if there is no memory. */
bool service_reserve(u32 n);
/* Wakes the service thread, so that it takes changed contexts and deadlines into account. */
void service_wake(void);
/* Closes the descriptor that wakes the service thread. It is called in a child of fork(), which has
 * no service thread. */
void service_forget(void);
/* Stores the current value of the virtual PMD p in *value. Returns false if the value is
 * unknown. */
bool virtual_value(const struct pmd *p, u64 *value);
/* Activates the KHR_perfcounter counter of this name, so that a virtual PMD can have its value.
 * Returns the index of the counter, or -errno. */
int virtual_open(const char *name);

/* --- contexts and formats --------------------------------------------------------------------- */

struct msg {
	u32 type, pid, tid;
	u16 set, cpu;
	u64 ip, pmds[PFM_PMD_BV];
};
/* msg_v22() and msg_v23() write the message m to b, which has MSG_SIZE bytes, as the structure that
 * perfmon v2.2 or v2.3 defines for messages. They return the size of that structure in bytes. */
size_t msg_v22(const struct msg *m, void *b);
size_t msg_v23(const struct msg *m, void *b);
enum { MSG_SIZE = 128 };

/* Creates a context. arg, of narg bytes, is the argument for the sampling format fmt (NULL: no
 * format). Stores the size of the sampling buffer in bytes in *size. Returns the descriptor of the
 * context, or -errno. */
int ctx_create(u32 flags, bool v23, const struct pfm_smpl_fmt *fmt, const void *arg, size_t narg,
	       size_t *size);
void ctx_free(struct ctx *c);
/* Frees all contexts whose descriptor the program has closed. */
void ctxs_reap(void);
/* Takes the library's lock, and returns the context with the descriptor fd. Returns NULL and sets
 * *error if fd is no context (-EBADF), count is out of range (-EINVAL) or args is NULL (-EFAULT).
 * After success and after an error, the caller must release the lock with ctx_leave(). */
struct ctx *ctx_enter(int fd, const void *args, int count, int *error);
/* Releases the library's lock. Returns error, the result of a pfm_ function, if it is 0 or more.
 * Otherwise error is a -errno: stores it in errno, and returns -1. */
int ctx_leave(int error);
/* Takes the library's lock, and blocks all signals; ctx_leave() undoes both. */
void lib_enter(void);

/* Returns the result r of a callback of a sampling format that the program has registered: r itself
 * if it is 0 or -1 to -4095, else -EINVAL. */
int fmt_error(int r);
const struct pfm_smpl_fmt *fmt_by_uuid(const u8 *uuid);
const struct pfm_smpl_fmt *fmt_by_name(const char *name);

#endif
