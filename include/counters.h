/* counters.h - counters.c: the registry of devices, clients, processes, cgroups and perf events.
 * Names that are not in this file are static. SPDX-License-Identifier: MIT */
#ifndef ROOM_COUNTERS_H
#define ROOM_COUNTERS_H

#include "base.h"
#include "parse.h"

struct table; /* defined in sources/os/os.h */

/* --- counters.c: the registry ----------------------------------------------------------------- */

/* Units of values, see units[] of views/record.c. */
enum unit {
	U_NONE, U_PERCENT, U_BYTES, U_HZ, U_NS, U_CELSIUS, U_WATT, U_JOULE, U_VOLT, U_AMPERE, U_RPM,
	U_GTS, U_SECONDS, U_MS, U_NANO, U_MICRO,
	/* units of named counters, whose values are whole numbers (KD/KHR_perfcounter.h) */
	U_SHARE, U_CENTI, U_RATE, U_MILLIC, U_MICROJ, U_MICROW, U_MILLIV, U_MILLIA,
	UNITS
};

/* Quantities. A counter has the value of one quantity for the instance that it names (an engine, a
 * region, a sensor). */
enum desc {
#define STORED(id, ...) D_##id,
#include "quantities.h"
	/* sums over the clients of a device or of a cgroup */
	D_SUM_BUSY, D_SUM_UTIL,       /* busy time and work done, in 10^-9 of the capacity */
	D_SUM_DCYCLES, D_SUM_DNS,     /* busy cycles and busy ns in this interval */
	/* sums since the first reading, which never decrease */
	D_SUM_NS, D_SUM_CYCLES, D_SUM_TOTAL_CYCLES,
	D_SUM_TOTAL, D_SUM_SHARED, D_SUM_RESIDENT, D_SUM_PURGEABLE, D_SUM_ACTIVE,
	/* as D_SUM_NS, D_SUM_CYCLES and D_SUM_TOTAL_CYCLES, including the clients that a filter
	 * hides */
	D_ALL_NS, D_ALL_CYCLES, D_ALL_TOTAL_CYCLES,
	D_COUNT
};

/* How readings become the value of a perf event, a named counter or a counter of the host. */
enum rule {
	R_COUNT, /* increase since the start; counts of events are scaled to the time enabled */
	R_LEVEL, /* the value as it was read; an i64 if the quantity is signed */
	R_RATE,  /* the increase per second since the previous reading */
	/* increase in percent of another increase, 0 to 100: for a counter of the host, that of the
	 * total which its source stores with it; for an event, that of the next event of the group
	 * (the ticks of xe) */
	R_SHARE,
	/* the value as it was read, in 1/1000 % of the time since the previous reading */
	R_PERCENT,
	R_PER_READ, /* for frequencies of xe: each read adds the current value to the count */
};

/* number that stands for no counter, no text, no device, ...: rows are numbered from 1 */
#define NONE 0u

/* How a quantity changes with time and is summed; quantities[] has one for each enum desc. An
 * enumerator without a row in quantities.h, as D_SUM_BUSY, is a level. */
struct quantity {
	u8 course; /* enum course (parse.h): CO_* */
	bool is_signed;
	u8 range; /* RG_*, the plausible readings */
	/* quantity (D_SUM_*) that is the sum of this one over clients; NONE if it is not summed */
	u8 sum;
};
extern const struct quantity quantities[D_COUNT];

/* One counter of an entity, copied by reg_first(), reg_next() or reg_find(). Valid until another
 * counter is added to that entity. */
struct counter {
	u32 line; /* number of the counter's line in the registry; `slot`: slot in the line */
	u16 inst;
	u8 desc, flags, slot;
};
enum {
	CF_SEEN = 1, /* the counter has a value in this reading */
	CF_BASE = 2, /* the counter has a baseline: a value from which an increase is computed */
	CF_RATE = 4, /* the counter has a rate, and therefore a struct history */
	/* the counter had a value in an earlier reading, which need not be a baseline now */
	CF_OLD = 8,
	/* the value is in the member `now` of a struct history: it exceeds 32 bits, or is a sum */
	CF_BIG = 16,
	CF_KIB = 32, /* the value is stored in KiB */
	CF_WEAK = 64, /* the value was stored with PUT_WEAK */
};

/* An entity: the object to which counters belong, for example a device or a client. It is the first
 * member of the rows of the tables below. */
struct entity {
	/* number of the first line of the counters; line and slot of the value stored last, 0:
	 * none */
	u32 first, at;
	u16 count;
	/* number of values of the last reading that were left out because a table was full */
	u16 dropped;
	u8 kind;       /* enum kind */
	bool used;
	bool fresh;    /* the entity was read in this sample */
	bool went_backwards; /* a counter that must not decrease has decreased in this reading */
	/* times in ns of the last reading and of the one before; 0: there was none */
	i64 t, t_was;
	/* one bit per quantity modulo 32; 0 if the entity has no counter of the quantity */
	u32 has;
	u32 serial;    /* number that no other entity has */
};

enum kind {
	K_DEVICE, K_CLIENT, K_CGROUP, K_PROCESS, K_FDINFO, K_EVENT, K_SAMPLE, K_PROFILE, K_OA,
	K_COUNTER, K_COUNTERS, K_SOURCE, K_RUN, K_STALL, K_LATENCY, K_SYSCALL, K_COUNT
};

/* Kinds of devices that vendors' files outside of DRM describe (sources/device/boards.c): PART_GPU
 * and PART_NPU, the only GPU and the only NPU of a chip; PART_CARD, an NPU that is a card.
 * PART_NONE: any other device. */
enum chip_part { PART_NONE, PART_GPU, PART_NPU, PART_CARD };

/* A GPU or NPU. */
struct device {
	struct entity e;
	u64 ino, ino_dev; /* identity of the device's sysfs folder; 0: it has no folder */
	char dev[32], driver[64], pdev[32], state[16], name[96]; /* texts; "" if unknown */
	i32 card, render, accel; /* numbers in the names of the device's nodes, or -1 */
	/* number of clients in this sample; number of those without a known holder */
	u32 clients, waiting;
	u32 implausible;         /* number of readings of this sample that were not plausible */
	u32 anonymous;           /* approximate number of descriptors of clients without an id */
	u8 part;                 /* enum chip_part */
	/* false: the device sleeps, and files that could wake it are not read */
	bool awake;
	bool apu;                /* the device's video memory is part of main memory */
	bool gone;               /* the device was unplugged, but a process still holds it open */
	/* the device is not in /sys; it is known from a descriptor that a process has open */
	bool unlisted;
	bool left_out;           /* excluded by --not: nothing of the device is read or shown */
	/* fdinfo of its clients is not read: see `crashes` of struct driver */
	bool no_fdinfo;
	bool named;              /* the name of the device has been searched for */
	/* clients of the device cannot be seen: the driver is a vendor's, without DRM */
	bool clientless;
	u32 facts;               /* text: properties that do not change, one name:value per line */
	/* reasons why the device has no values of engines, memory or sensors; NULL if it can have
	 * values */
	const char *no_engines, *no_memory, *no_sensors;
};

/* A process that holds a client. */
struct task {
	u32 pid, refs, cgroup;
	u16 next;      /* next row in the same hash chain */
	u32 checked;   /* number of the scan that last found the pid to be the same process */
	u64 start;     /* clock ticks since boot; UINT64_MAX: unknown */
	i64 read;      /* time in ns at which the members after this one were read */
	char comm[16]; /* TASK_COMM_LEN: any bytes but NUL */
	u8 comm_len;
	bool has_comm;
	/* enum lineage: whether the process descends from a process of -p --children */
	u8 lineage;
};
enum lineage { NO_LINEAGE, OTHER_TREE, IN_TREE }; /* not known yet; does not descend; descends */

/* One descriptor through which a process holds a client. */
struct holder {
	u32 pid, fd, task, client;
	u32 next_client;       /* number of the next holder of the same client */
	u16 next;              /* next row in the same hash chain */
	u32 seen;              /* number of the last scan that found the descriptor */
	u32 first_sample;      /* number of the first sample in which the descriptor was found */
	int io; /* the open descriptor of the fdinfo file; -1: not open */
};

/* The key of a client: drm-client-id; pasid; the PID, with NVIDIA's driver; the PID, with AMD's
 * compute driver; the PID and the descriptor, where fdinfo has no id.
 *
 * KEY_PID is used for NVIDIA's driver only, which reports values per process and not per
 * descriptor. A process is one client of a device, no matter whether it was found by a descriptor
 * of /dev/nvidiaN, by one of a DRM node or in the driver's list. AMD's compute driver needs a kind
 * of its own, KEY_KFD, because its processes are clients of DRM, too. */
enum keykind { KEY_ID, KEY_PASID, KEY_PID, KEY_KFD, KEY_FILE, KEY_KINDS };

struct client {
	struct entity e;
	u64 key;
	u64 text_hash; /* hash of the fdinfo text that was read last; 0: none */
	u32 device, holders;
	/* texts: drm-client-name; other keys, one name:value per line */
	u32 name, other;
	u32 skipped;               /* number of malformed lines in fdinfo */
	u32 read_sample;           /* last sample in which the client was read */
	u16 next;    /* next row in the same hash chain */
	u16 next_shown; /* next in the list of group.first_shown */
	u8 keykind;
	bool hidden; /* the client is excluded by a filter */
	bool in_sums, in_all_sums; /* values so far were added to D_SUM_*; to D_ALL_* */
};

struct cgroup {
	u32 path; /* text: path of the cgroup */
	u32 hash, refs, next;
};

/* A group: the clients on one device that belong to one cgroup or to one process. The process that
 * owns a client decides to which. */
struct group {
	struct entity e;      /* e.kind is K_CGROUP or K_PROCESS */
	u32 device, cgroup, next;
	u32 clients, members; /* numbers of clients in this sample: shown ones; all */
	/* the members below are only for K_PROCESS, in which cgroup is NONE */
	u32 pid;
	/* as in struct task; tells the process from a later one with the same pid */
	u64 start;
	u16 first_shown; /* number of the first shown client of the process */
	/* the process has not ended: the row stays without clients, so that the totals continue
	 * when the process opens the next one */
	bool keep;
};

/* Facts of a process that owns clients, from /proc. Rows have the numbers of tasks[]. */
struct taskinfo {
	u32 pid, read_no;   /* read_no: number of the reading in which the row was read last */
	u64 start;
	u32 user, cmdline;  /* texts: name of the user; command line */
	u32 uid;
	bool has_uid, has_user, has_rss;
	u64 rss;            /* resident memory in bytes */
	u64 ticks, ticks_was; /* CPU time in 1/100 s, of this reading and of the one before */
	i64 t, t_was;       /* times in ns at which the ticks were read; 0: not read */
	i64 described;      /* value of the task's member `read` when cmdline was read */
};

enum {
	/* 8 accelerators in 8 partitions are 64 devices; servers have up to 16 accelerators, and
	 * SR-IOV multiplies them */
	MAX_DEVICES = 513,
	/* 10 000 clients and some more; rows of clients, holders and tasks have 16-bit numbers */
	MAX_CLIENTS = 16385,
	MAX_HOLDERS = 32769,
	MAX_TASKS = 16385,
	MAX_CGROUPS = 4097,
	MAX_GROUPS = 10241,    /* enough for 10 000 processes */
	MAX_COUNTERS = 1024,   /* counters of one entity: enough for 200 engines with all keys */
	MAX_INSTANCES = 4096,  /* different names of engines, regions and channels */
	/* bytes of the name of an instance; the longest one in any kernel has 20 */
	MAX_NAME = 128,
};

/* Tables, which grow: only the rows that struct row_counts counts, and row NONE of devices[], may
 * be accessed. */
extern struct device *devices;
extern struct client *clients;
extern struct holder *holders;
extern struct task *tasks;
extern struct cgroup *cgroups;
extern struct group *groups;
extern struct taskinfo *taskinfos;
extern struct table taskinfos_table;
/* Number of rows of each table that were used so far, including rows that were freed since. Rows
 * are numbered from 1, so that it is also the highest number of a row; sites and evsets are
 * numbered from 0. */
extern struct row_counts {
	u32 devices, clients, holders, tasks, cgroups, groups;
	u32 pmus, events, counts, evrows, sites, evsets;
} nrows;
/* Readings that were not plausible: their number, and the last of them, for --verbose. */
struct implausible {
	u32 total; /* since the start */
	u8 range;
	i64 v;           /* in the unit of the file */
	char where[80];  /* device and sensor, or the file */
};
extern struct registry {
	struct implausible implausible;
	/* number of rows, texts and values that were left out since the start, for example because
	 * a table was full */
	u32 dropped;
	/* number of transient errors: a later scan may be able to read these files */
	u32 transient;
	u32 unreadable;  /* number of processes that the last scan had no permission to read */
	bool repeats;    /* several samples follow: what a scan finds is remembered */
	bool saw_others; /* a process of another user could be read */
	bool all_sums;   /* D_ALL_* are computed for devices and groups */
	/* Returns the group of a client, for sums by group. If group_of is NULL, the group is that
	 * of the owner's cgroup. */
	struct group *(*group_of)(struct client *c);
} registry;

void reg_begin(struct entity *e, i64 t);
void reg_put_same(struct entity *e, i64 t);
/* The rule of reg_put_as() for a counter that already has a value in this reading. PUT_FIRST keeps
 * that value; PUT_LAST replaces it; PUT_WEAK replaces it only if it was stored with PUT_WEAK,
 * too. */
enum { PUT_FIRST, PUT_LAST, PUT_WEAK };
bool reg_put_as(struct entity *e, u8 desc, struct str inst, u64 v, i64 t, u8 stays);
/* as reg_put_as() with PUT_FIRST */
bool reg_put(struct entity *e, u8 desc, struct str inst, u64 v, i64 t);
void count_implausible(const char *where, struct str sensor, u8 range, u64 v);
/* as reg_put(), for a sensor with a limit: see is_plausible() */
void reg_put_limited(struct entity *e, u8 desc, struct str inst, u64 v, i64 t, u64 limit);
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
/* As reg_first() and reg_next(), but return only counters whose quantity belongs to the class. */
struct counter *counter_first_of(const struct entity *e, struct counter *c, enum desc_class class);
struct counter *reg_next_of(struct counter *c, enum desc_class class);
/* These macros return NULL if there is no such counter. The result is valid until the end of the
 * enclosing block. */
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
void device_lost(void);
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
	/* the PMU has a cpumask: it counts whole CPUs or packages, never tasks */
	bool wide;
	/* PMU of CPU cores, as cpu, cpu_core, armv8_*: named cpu, or with a file `cpus` */
	bool core;
	/* `cpus` was read from the PMU's file cpumask or cpus; if false, all online CPUs count */
	bool has_cpus;
	struct cpuset cpus;
};

/* One event to open: the values of a perf_event_attr, or a virtual counter. */
struct event {
	u32 name;      /* text: name of the event, as records show it */
	u32 unit;      /* text: unit of the value, or NONE */
	u32 type;      /* type of perf_event_attr */
	/* index in pmus[]; NONE if no PMU restricts the CPUs on which the event can be opened */
	u32 pmu;
	u64 config[MAX_CONFIGS];
	/* sample_period, or samples per second if freq is set; 0: those of the command line */
	u64 period;
	u64 scale;     /* one count is scale x 10^-scale_point units; if 0, one unit */
	u8 scale_point;
	u8 rule;       /* enum rule: R_COUNT, R_RATE, R_PER_READ, R_LEVEL or R_SHARE */
	u8 precise;    /* precise_ip, 0 to 3 */
	bool denied;   /* only root may read the number of the event in tracefs */
	/* hidden: counted because another event needs it, but not shown */
	bool freq, per_pkg, no_inherit, hidden;
	bool elsewhere; /* the event can be counted only on CPUs that --cpu did not choose */
	bool guess;    /* from an alias, whose engine may not exist: ENOENT is not an error */
	u8 bp;         /* breakpoint: attr.bp_type */
	u16 mods;      /* enum evmod */
	/* number of the event's group; events of a group are consecutive, leader first; 0: no
	 * group */
	u16 group;
	u16 set;       /* index of its event set in evsets[], not the id of the set */
	u16 row;       /* events with the same row are one event on several PMUs: they are summed */
	/* number, from 0, of the sum to which the event's counts are added:
	 * sources/perf/perfevent.c */
	u16 sum;
	/* number of counts after which the next event set becomes active; 0: no limit */
	u64 trigger;
	/* number of the virtual counter in sources/perf/virtual.c; 0: a perf event */
	u16 virt;
	u32 path;      /* text that config1 points to (the file of a uprobe), or NONE */
	bool kernel;   /* the event is a kprobe: `path` is the name of a function */
	u32 filter;    /* text: filter of a tracepoint, or NONE */
};

enum {
	MAX_PMUS = 513,    /* the largest servers have about 250 */
	MAX_EVENTS = 4097, /* a kernel has about 2500 tracepoints */
};

extern struct table pmus_table, events_table, counts_table, evrows_table, sites_table;
extern struct pmu *pmus;
extern struct event *events;

/* A reading of one counter: the count, and the times in ns for which it was enabled and running. */
struct tally {
	u64 value, enabled, running;
};

/* Reasons why a row has no value; CS_COUNTED: it has one. If the counts of a row have different
 * reasons, the last one in this list is shown, because it explains more. */
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
	i32 fd;          /* descriptor of the event; -1: none */
	i32 cpu;         /* number of the CPU; -1: every CPU on which the task runs */
	u32 pid;         /* pid of the task; 0: all tasks */
	/* number of the count of the group leader whose read returns this count; the own number if
	 * it is read alone */
	u32 leader;
	u32 site;
	bool members;    /* a read of this count returns all counts of its group */
	bool virt;       /* the count is of a virtual counter, not of a perf event */
	bool armed;      /* the event's trigger has been set, and has not fired since */
	bool tracks;     /* the count's ring receives records of maps and names, too */
	bool live;       /* virtual counter: it is enabled, and has been read since then */
	bool off;        /* the count is not enabled */
	u64 last;        /* virtual counter: value of the last reading */
	i64 on_since;    /* virtual counter: time in ns of the last reading */
	/* the ring of the count is mapped; other counts of this CPU write to it, too */
	bool ring;
	u64 id;          /* the kernel's id of the event, as in samples */
	u32 next_id;
	u8 state;        /* enum cstate */
	struct tally now, was;
};

/* A site: the CPU, core, ..., process, task or cgroup for which a row counts. The rows of one event
 * have different sites. */
struct site {
	/* numbers in the topology; level: of the cache; -1: all */
	i32 cpu, core, die, socket, node, cluster, cache, level;
	u32 pid, tid;          /* process and task; 0: all */
	u32 comm, cgroup;      /* texts: name of the process; path of the cgroup; or NONE */
};

#define SITE_ALL .cpu = -1, .core = -1, .die = -1, .socket = -1, .node = -1, .cluster = -1, \
		 .cache = -1, .level = -1

/* The value of one event at one site: the sum of its counts there. */
struct evrow {
	struct entity e; /* e.kind is K_EVENT */
	u32 event, site;
	u32 places;      /* number of counts with a value */
	u8 state;        /* enum cstate */
	u8 point;        /* value is in 10^-point of the unit */
	bool neg;        /* the value is negative: -value */
	/* some counts of the row have no descriptor, because too many files are open */
	bool cut;
	u64 value;
	u64 share;       /* share of the time in which the event was counted, in 1/1000 % */
	/* unscaled count and times of this interval; after repetitions, their means */
	struct tally sum;
	struct tally all; /* total of `sum` over all repetitions */
	/* over repetitions: mean of `value`, and sum of squared deviations from it */
	double mean, m2;
	/* over repetitions: exact sum of `value`; UINT64_MAX: a value was negative, or it does not
	 * fit */
	u64 total;
	u32 repeats;
};

/* An event set, as in perfmon2. Set 0 always exists. */
struct evset {
	u32 name;       /* text: name of the set; NONE if no sets were requested */
	u16 id;
	/* ns after which the next set becomes active; 0: only an overflow causes that */
	i64 timeout;
	u64 turns, turns_was;
	/* ns for which the set was active: until now; until the interval began */
	i64 active, active_was;
	bool failed;    /* none of the set's events can be counted: it never becomes active */
};

enum {
	MAX_COUNTS = 1 << 15, /* enough for 128 events on 256 CPUs */
	MAX_ROWS = 1 << 14,   /* enough for 64 events with -A on 256 CPUs */
	MAX_SITES = MAX_CPUS + 1,
	MAX_SETS = 65,
	MAX_GROUP = 64, /* counts that one read returns: no PMU has so many counters */
};

extern struct count *counts;
extern struct evrow *evrows;
extern struct site *sites;
extern struct evset evsets[MAX_SETS];

/* The ratio of a count to another count, as perf stat shows it: instructions per cycle. */
struct ratio {
	u64 micros;         /* the ratio in 10^-6 */
	u8 decimals;        /* number of decimals in output for people, 0 to 6 */
	bool percent, rate; /* rate: a count per second, shown with K, M or G */
	const char *words;
};

/* The times of a measurement. user and system are the CPU times of the command that the measurement
 * started. */
struct runtimes {
	struct evrow elapsed; /* elapsed time in ns, with its mean and deviation over repetitions */
	bool has_cpu;
	u64 user, system;     /* CPU times in ns */
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
