/* counters.h - counters.c: the registry of devices, clients, processes, cgroups and perf events.
 * Names that are not in this file are static. SPDX-License-Identifier: MIT */
#ifndef ROOM_COUNTERS_H
#define ROOM_COUNTERS_H

#include "base.h"
#include "parse.h"

struct table; /* sources/os/os.h */

/* --- counters.c: the registry ----------------------------------------------------------------- */

/* Units of values, see units[] of views/record.c. */
enum unit {
	U_NONE, U_PERCENT, U_BYTES, U_HZ, U_NS, U_CELSIUS, U_WATT, U_JOULE, U_VOLT, U_AMPERE, U_RPM,
	U_GTS, U_SECONDS, U_MS, U_NANO, U_MICRO,
	/* whole numbers, as the C interface of counters has them */
	U_SHARE, U_CENTI, U_RATE, U_MILLIC, U_MICROJ, U_MICROW, U_MILLIV, U_MILLIA,
	UNITS
};

/* Quantities. A counter has the value of one quantity for the instance that it names (an engine, a
 * region, a sensor). */
enum desc {
#define STORED(id, ...) D_##id,
#include "quantities.h"
	/* sums over the clients of a device or of a cgroup */
	D_SUM_BUSY, D_SUM_UTIL,       /* 10^-9 of the capacity */
	D_SUM_DCYCLES, D_SUM_DNS,     /* in this interval */
	D_SUM_NS, D_SUM_CYCLES, D_SUM_TOTAL_CYCLES, /* since the first reading; never decrease */
	D_SUM_TOTAL, D_SUM_SHARED, D_SUM_RESIDENT, D_SUM_PURGEABLE, D_SUM_ACTIVE,
	/* as D_SUM_NS and so on, with the clients that a filter hides */
	D_ALL_NS, D_ALL_CYCLES, D_ALL_TOTAL_CYCLES,
	D_COUNT
};

/* How readings become the value of a perf event, a named counter or a counter of the host. */
enum rule {
	R_COUNT, /* the increase since the start; of an event scaled to the time it was enabled */
	R_LEVEL, /* as read; signed: an i64 */
	R_RATE,  /* the increase per second since the previous reading */
	/* the increase in percent of another one: of the row's total, or of the next event of the
	 * group (xe's ticks); 0 to 100 */
	R_SHARE,
	R_PERCENT,  /* as read, in 1/1000 %: a share of the time since the previous reading */
	R_PER_READ, /* xe's frequencies: each read adds the current value to the count */
};

#define NONE 0u /* no counter, text, device, ...: the first row of every table is 1 */

/* The rules of a quantity. A value of an enumerator that no row of quantities.h has is a level. */
struct quantity {
	u8 course; /* CO_* */
	bool is_signed;
	u8 sum;    /* the quantity that is its sum over clients; NONE: not summed so */
};
extern const struct quantity quantities[D_COUNT];

/* One counter of an entity, copied by reg_first(), reg_next() or reg_find(). Valid until another
 * counter is added to that entity. */
struct counter {
	u32 line; /* line and slot: its place in the registry */
	u16 inst;
	u8 desc, flags, slot;
};
enum {
	CF_SEEN = 1, /* in this reading */
	CF_BASE = 2, /* has a baseline */
	CF_RATE = 4, /* has a rate, and so a history */
	CF_OLD = 8,  /* was in an earlier reading, with or without a baseline now */
	CF_BIG = 16, /* larger than 32 bits: has a history, of which only `now` is used */
	CF_KIB = 32, /* stored in KiB */
	CF_WEAK = 64, /* stored by PUT_WEAK */
};

struct history {
	u64 now, was;
	i64 t, t_was; /* ns, when `now` and `was` were read */
	/* of a counter that must not decrease: the reading since which it is lower than `was`, ns;
	 * 0: it is not */
	i64 below;
};

/* An entity: what counters are about. A member of the rows of the tables below. */
struct entity {
	u32 first, at; /* first line of its counters; place of the last put, 0: none */
	u16 count;
	u16 dropped;   /* values of the last reading for which there was no room */
	u8 kind;       /* enum kind */
	bool used;
	bool fresh;    /* read in this sample */
	bool went_backwards; /* a counter that must not decrease did so in this reading */
	i64 t, t_was;  /* ns, last reading and the one before; 0: none */
	u32 has;       /* a bit for each quantity modulo 32; not set: there is no such counter */
	u32 serial;    /* unique */
};

enum kind {
	K_DEVICE, K_CLIENT, K_CGROUP, K_PROCESS, K_FDINFO, K_EVENT, K_SAMPLE, K_PROFILE, K_OA,
	K_COUNTER, K_COUNTERS, K_SOURCE, K_RUN, K_STALL, K_LATENCY, K_SYSCALL, K_COUNT
};

/* A device is unknown, the only GPU or NPU of the chip, or an NPU that is a card. */
enum chip_part { PART_NONE, PART_GPU, PART_NPU, PART_CARD };

/* A GPU or NPU. */
struct device {
	struct entity e;
	u64 ino, ino_dev; /* identity of its sysfs folder; 0: it has none */
	char dev[32], driver[64], pdev[32], state[16], name[96]; /* "": unknown */
	i32 card, render, accel; /* numbers in its nodes' names, or -1 */
	u32 clients, waiting;    /* in this sample; those of them without a known holder */
	u32 anonymous;           /* about the number of descriptors of clients without an id */
	u8 part;                 /* enum chip_part */
	bool awake;              /* false: files that could wake it are not read */
	bool apu;                /* its video memory is part of main memory */
	bool gone;               /* unplugged, but still held open */
	bool unlisted;           /* not in /sys: a descriptor names it */
	bool left_out;           /* by --not: nothing of it is read or shown */
	bool no_fdinfo;          /* that of its clients is not read: see struct driver's crashes */
	bool named;              /* its name has been searched for */
	bool clientless;         /* its clients cannot be seen: a vendor's driver without DRM */
	u32 facts;               /* text: lines name:value of properties that do not change */
	/* why it has no values of these; NULL: it can have some */
	const char *no_engines, *no_memory, *no_sensors;
};

/* A process that holds a client. */
struct task {
	u32 pid, refs, cgroup;
	u16 next;      /* in its hash chain */
	u32 checked;   /* scan in which it was last found to be the same process */
	u64 start;     /* clock ticks since boot; UINT64_MAX: unknown */
	i64 read;      /* ns, when the following members were read */
	char comm[16]; /* TASK_COMM_LEN: any bytes but NUL */
	u8 comm_len;
	bool has_comm;
	u8 lineage;    /* enum lineage: whether it descends from a process of -p --children */
};
enum lineage { NO_LINEAGE, OTHER_TREE, IN_TREE }; /* unknown; no; yes */

/* One descriptor through which a process holds a client. */
struct holder {
	u32 pid, fd, task, client;
	u32 next_client;       /* next holder of the same client */
	u16 next;              /* in its hash chain */
	u32 seen;              /* last scan in which it was seen */
	u32 first_sample;      /* first sample in which it was seen */
	int io; /* its fdinfo file, kept open, or -1 */
};

/* The key of a client: drm-client-id; pasid; the PID, with NVIDIA's driver; the PID, with
 * AMD's compute driver; the PID and the descriptor, where fdinfo has no id.
 *
 * KEY_PID is of NVIDIA's driver alone, which tells what a process does, not what a descriptor does:
 * a process is one client of a device, whatever names it: a descriptor of /dev/nvidiaN or of a DRM
 * node, or the driver's list. AMD's compute driver needs a kind of its own, because its processes
 * are clients of DRM, too. */
enum keykind { KEY_ID, KEY_PASID, KEY_PID, KEY_KFD, KEY_FILE, KEY_KINDS };

struct client {
	struct entity e;
	u64 key;
	u64 text_hash; /* of the text that was read last; 0: none */
	u32 device, holders;
	u32 name, other;           /* texts */
	u32 skipped;               /* malformed lines */
	u32 read_sample;           /* last sample in which it was read */
	u16 next;    /* in its hash chain */
	u16 next_shown; /* the next client of its process on its device, see struct group */
	u8 keykind;
	bool hidden; /* excluded by a filter */
	bool in_sums, in_all_sums; /* its values so far are part of D_SUM_*; of D_ALL_* */
};

struct cgroup {
	u32 path; /* text */
	u32 hash, refs, next;
};

/* The clients of one cgroup or of one process on one device: the processes that own them. */
struct group {
	struct entity e;      /* K_CGROUP or K_PROCESS */
	u32 device, cgroup, next;
	u32 clients, members; /* in this sample: shown clients; all clients */
	/* K_PROCESS; cgroup is NONE */
	u32 pid;
	u64 start;       /* as in struct task: the process, though its pid may be used again */
	u16 first_shown; /* of its shown clients */
	bool keep;       /* it has not ended: its totals continue with its next client */
};

/* Facts of a process that owns clients, from /proc. Rows have the numbers of tasks[]. */
struct taskinfo {
	u32 pid, read_no;   /* read_no: number of the last reading */
	u64 start;
	u32 user, cmdline;  /* texts */
	u32 uid;
	bool has_uid, has_user, has_rss;
	u64 rss;            /* bytes */
	u64 ticks, ticks_was; /* CPU time in 1/100 s, of this reading and of the one before */
	i64 t, t_was;       /* ns, when they were read; 0: there is none */
	i64 described;      /* the task's `read`, when cmdline was read */
};

enum {
	MAX_DEVICES = 65,      /* for decades, DRM had 64 minors of each type */
	/* 10 000 clients and some more; rows of clients, holders and tasks have 16-bit numbers */
	MAX_CLIENTS = 16385,
	MAX_HOLDERS = 32769,
	MAX_TASKS = 16385,
	MAX_CGROUPS = 4097,
	MAX_GROUPS = 10241,    /* 10 000 processes */
	MAX_COUNTERS = 1024,   /* of one entity: 200 engines with all keys */
	MAX_INSTANCES = 4096,  /* different engine, region and channel names */
	MAX_NAME = 128,        /* bytes of such a name; the longest one in any kernel has 20 */
};

extern struct device devices[MAX_DEVICES];
/* Tables; only rows in use may be accessed. */
extern struct client *clients;
extern struct holder *holders;
extern struct task *tasks;
extern struct cgroup *cgroups;
extern struct group *groups;
extern struct taskinfo *taskinfos;
extern struct table taskinfos_table;
/* Rows in use. Rows are numbered from 1, so that this is also the highest number; sites and evsets
 * are numbered from 0. */
extern struct row_counts {
	u32 devices, clients, holders, tasks, cgroups, groups;
	u32 pmus, events, counts, evrows, sites, evsets;
} nrows;
extern struct registry {
	u32 dropped;     /* things without room, or that could not be read, since the start */
	u32 transient;   /* transient errors: a later scan may read these files */
	u32 unreadable;  /* processes that the last scan had no permission to read */
	bool repeats;    /* several samples follow: what a scan finds is remembered */
	bool saw_others; /* a process of another user could be read */
	bool all_sums;   /* D_ALL_* are computed for devices and groups */
	/* The group of a client, for sums by group; NULL: that of its cgroup. */
	struct group *(*group_of)(struct client *c);
} registry;

void reg_begin(struct entity *e, i64 t);
void reg_put_same(struct entity *e, i64 t);
/* Says which of several values in one reading stays: the first; the last; a weak one only until
 * another one is put. */
enum { PUT_FIRST, PUT_LAST, PUT_WEAK };
bool reg_put_as(struct entity *e, u8 desc, struct str inst, u64 v, i64 t, u8 stays);
bool reg_put(struct entity *e, u8 desc, struct str inst, u64 v, i64 t); /* the first one stays */
void reg_add(struct entity *e, u8 desc, struct str inst, u64 v);
void reg_put_previous(struct entity *e, u8 desc, struct str inst, u64 v, i64 t, i64 below);
void reg_compare(struct entity *e);
void reg_forget(struct entity *e);
u64 reg_now(const struct counter *c);
u64 reg_base(const struct counter *c);
struct history *reg_history(const struct counter *c);
void reg_clear(struct entity *e);
void reg_baseline(const struct counter *c, u64 v, i64 t);
struct counter *counter_find(const struct entity *e, u8 desc, u16 inst, struct counter *c);
struct counter *reg_next(struct counter *c);
enum desc_class { DESC_ANY, DESC_ENGINE, DESC_REGION, DESC_RESIDENT, DESC_CLASSES };
/* The same as reg_first() and reg_next(), of a class of quantities only. */
struct counter *counter_first_of(const struct entity *e, struct counter *c, enum desc_class class);
struct counter *reg_next_of(struct counter *c, enum desc_class class);
/* NULL: there is none. The result is valid until the end of the enclosing block. */
#define reg_first(e) reg_first_of((e), DESC_ANY)
#define reg_first_of(e, class) counter_first_of((e), &(struct counter){ 0 }, (class))
#define reg_find(e, desc, inst) counter_find((e), (desc), (inst), &(struct counter){ 0 })
bool reg_get(const struct entity *e, u8 desc, u16 inst, u64 *v);
bool reg_get_or_sum(const struct entity *e, u8 desc, u16 inst, u64 *v);
bool reg_get_near(const struct entity *e, struct counter *near, u8 desc, u16 inst, u64 *v);
bool reg_rate(const struct entity *e, u8 desc, u16 inst, u64 *d, u64 *dt);
struct str inst_name(u16 inst);
struct str inst_keep(struct str s);
bool is_engine(u8 desc);
bool is_region(u8 desc);
bool is_signed(u8 desc);

bool engine_busy(const struct entity *e, u16 inst, u64 *v);
bool engine_util(const struct entity *e, u16 inst, u64 *v);
bool engine_freq(const struct entity *e, u16 inst, u64 *v);
bool device_busy(const struct device *d, u64 *v);
bool device_idle(const struct device *d, u64 *v);
bool device_clients(const struct device *d, u64 *v);
bool process_cpu(const struct taskinfo *i, u64 *v);
bool entity_used(const struct entity *e, bool apu, u64 *v);
u64 device_memory_size(const struct device *d);
void reg_sum_clients(bool by_group, bool rates);

u32 text_put(u32 old, struct str s);
void text_free(u32 text);
size_t text_copy(u32 text, char *b, size_t cap);
bool text_eq(u32 text, struct str s);

u32 client_find(u32 device, u8 keykind, u64 key);
u32 client_add(u32 device, u8 keykind, u64 key);
void client_remove(u32 client);
const struct task *client_owner(const struct client *c);
u32 holder_find(u32 pid, u32 fd);
u32 holder_add(u32 pid, u32 fd, u32 task, u32 client);
void holder_remove(u32 holder);
u32 task_find(u32 pid);
u32 task_add(u32 pid);
void task_prune(u32 task);
u32 cgroup_add(struct str path);
void cgroup_unref(u32 cgroup);
struct group *group_add(u32 device, u32 cgroup, const struct task *t);
const struct task *group_task(const struct group *g);
const struct taskinfo *taskinfo_of(const struct group *g);
void str_copy(char *field, size_t cap, struct str s);
u32 device_add(void);
u32 device_next(u32 i, bool gone);
int device_order(const struct device *a, const struct device *b);

/* --- counters.c: perf events ------------------------------------------------------------------ */

/* Perf events have tables of their own: a count is read together with its group, is scaled by the
 * times that it was enabled and running, and belongs to a CPU and a task, not to an entity with
 * named instances. A row of the result (struct evrow) is an entity for records. */

/* A PMU of /sys/bus/event_source/devices. */
struct pmu {
	char name[64];
	u32 type;
	bool wide;         /* has a cpumask: counts whole CPUs or packages, never tasks */
	bool core;         /* PMU of CPUs: cpu, cpu_core, armv8_*; with `cpus` if not on all CPUs */
	bool has_cpus;     /* cpus is from its file cpumask or cpus; otherwise all online CPUs */
	struct cpuset cpus;
};

/* One event to open: the values of a perf_event_attr, or a virtual counter. */
struct event {
	u32 name;      /* text, as in records */
	u32 unit;      /* text, or NONE */
	u32 type;      /* perf_event_attr: type */
	u32 pmu;       /* in pmus[]: where it can be opened; NONE: not limited by a PMU */
	u64 config[MAX_CONFIGS];
	u64 period;    /* sample_period, or Hz if freq is set; 0: that of the command */
	u64 scale;     /* one count is scale x 10^-scale_point units; 0: one unit */
	u8 scale_point;
	u8 rule;       /* enum rule: R_COUNT, R_RATE, R_PER_READ, R_LEVEL or R_SHARE */
	u8 precise;    /* 0..3 */
	bool denied;   /* only root may read its number */
	bool freq, per_pkg, no_inherit, hidden; /* hidden: needed for another event, not shown */
	bool elsewhere; /* only on CPUs that --cpu did not choose */
	bool guess;    /* from an alias; the engine may not exist: ENOENT is not an error */
	u8 bp;         /* breakpoint: attr.bp_type */
	u16 mods;      /* enum evmod */
	u16 group;     /* events of one group are consecutive, leader first; 0: no group */
	u16 set;       /* event set: index, not id */
	u16 row;       /* events with the same row are one event on several PMUs: they are summed */
	u16 sum;       /* sources/perf/perfevent.c: number of the row of the sum */
	u64 trigger;   /* counts after which the next set is switched to; 0: never */
	u16 virt;      /* sources/perf/virtual.c: number of the counter; 0: a perf event */
	u32 path;      /* text that config1 points to (the file of a uprobe), or NONE */
	bool kernel;   /* a kprobe: path is the name of a function */
	u32 filter;    /* text: filter of a tracepoint, or NONE */
};

enum {
	MAX_PMUS = 513,    /* the largest servers have about 250 */
	MAX_EVENTS = 4097, /* a kernel has about 2500 tracepoints */
};

extern struct table pmus_table, events_table, counts_table, evrows_table, sites_table;
extern struct pmu *pmus;
extern struct event *events;

/* A reading of one counter: the count, and how long (ns) it was enabled and running. */
struct tally {
	u64 value, enabled, running;
};

/* Why there is no value; a later one explains more. */
enum cstate {
	CS_COUNTED, CS_NEVER_RAN, CS_NO_ROOM, CS_NOT_ENABLED, CS_PINNED, CS_GONE, CS_OFFLINE,
	CS_RETURNED, CS_NO_LEADER, CS_NO_SLOT, CS_NO_FILES, CS_NO_GROUP, CS_UNREADABLE,
	CS_BACKWARDS, CS_ELSEWHERE, CS_FILTER, CS_BREAKPOINT, CS_NO_FILE, CS_NO_FUNCTION,
	CS_NO_SOFTWARE,
	CS_DENIED, CS_HARDENED, CS_TRACEFS, CS_UPROBE, CS_KPROBE, CS_LOCKDOWN, CS_OTHERS,
	CS_NO_MEMORY, CS_REFUSED, CS_NO_PERF, CS_UNSUPPORTED,
	CS_GPU_DENIED, CS_GPU_NODE, CS_GPU_BUSY, CS_GPU_OLD, CS_GPU_FULL, CS_GPU_REFUSED,
	CS_STATES
};

/* One event on one CPU or of one task: an open descriptor, or the reason why there is none. */
struct count {
	u32 event, row;
	i32 fd;          /* -1: none */
	i32 cpu;         /* -1: on every CPU where the task runs */
	u32 pid;         /* the task; 0: all */
	u32 leader;      /* the count whose group it is read with */
	u32 site;
	bool members;    /* one read returns the counts of its group too */
	bool virt;       /* a virtual counter, not a perf event */
	bool armed;      /* its trigger has not fired yet */
	bool tracks;     /* its ring receives records of maps and names, too */
	bool live;       /* virtual: enabled, and read since then */
	bool off;        /* not enabled */
	u64 last;        /* virtual: last reading */
	i64 on_since;    /* virtual: ns */
	bool ring;       /* its ring is mapped; other counts of this CPU write to it, too */
	u64 id;          /* of the kernel, in samples */
	u32 next_id;
	u8 state;        /* enum cstate */
	struct tally now, was;
};

/* A site: what distinguishes the rows of one event. */
struct site {
	i32 cpu, core, die, socket, node, cluster, cache, level; /* level: of the cache; -1: all */
	u32 pid, tid;          /* 0: all */
	u32 comm, cgroup;      /* texts, or NONE */
};

#define SITE_ALL .cpu = -1, .core = -1, .die = -1, .socket = -1, .node = -1, .cluster = -1, \
		 .cache = -1, .level = -1

/* The value of one event at one site: the sum of its counts there. */
struct evrow {
	struct entity e; /* K_EVENT */
	u32 event, site;
	u32 places;      /* counts with a value */
	u8 state;        /* enum cstate */
	u8 point;        /* value is in 10^-point of the unit */
	bool neg;        /* minus value */
	bool cut;        /* some of its counts have no descriptor */
	u64 value;
	u64 share;       /* 1/1000 %: share of the time in which it was counted */
	struct tally sum; /* of this interval, or of a repetition the mean; value is unscaled */
	struct tally all; /* over repetitions, the sum of sum */
	double mean, m2;  /* over repetitions, of value */
	u64 total;        /* their exact sum; UINT64_MAX: it does not fit */
	u32 repeats;
};

/* An event set, as in perfmon2. Set 0 always exists. */
struct evset {
	u32 name;       /* text, or NONE: no sets were requested */
	u16 id;
	i64 timeout;    /* ns; 0: switched only by overflow */
	u64 turns, turns_was;
	i64 active, active_was; /* ns */
	bool failed;    /* nothing of it can be counted: it is never switched to */
};

enum {
	MAX_COUNTS = 1 << 15, /* 128 events on 256 CPUs */
	MAX_ROWS = 1 << 14,   /* 64 events with -A on 256 CPUs */
	MAX_SITES = MAX_CPUS + 1,
	MAX_SETS = 65,
	MAX_GROUP = 64, /* counts of one read: no PMU has so many counters */
};

extern struct count *counts;
extern struct evrow *evrows;
extern struct site *sites;
extern struct evset evsets[MAX_SETS];

/* The ratio of a count to another one. */
struct ratio {
	u64 micros;         /* 10^-6 */
	u8 decimals;        /* that people are shown, 0 to 6 */
	bool percent, rate; /* rate: per second, shown with K, M or G */
	const char *words;
};

/* The times of a measurement; those of the CPU are of the command that it started. */
struct runtimes {
	struct evrow elapsed; /* ns, with the mean and the deviation of repetitions */
	bool has_cpu;
	u64 user, system;     /* ns */
};

struct runtimes *rows_times(void);
void rows_begin(void);
void rows_begin_whole(void);
void rows_sum(i64 dt, bool scale);
void rows_repeat(void);
double row_deviation(const struct evrow *r);
const char *state_text(u8 state);
void count_set_id(u32 count, u64 id);
u32 count_find(u64 id);

/* --- sources/: each converts one kernel interface to counters -------------------------------- */

struct source {
	const char *name;
	void (*start)(void);  /* finds the entities and takes the first reading */
	void (*sample)(void); /* takes one reading */
	void (*scan)(void);   /* finds new entities; NULL: there are never any */
	void (*rest)(void);   /* closes files kept open between readings; sample() reopens them */
};

#endif
