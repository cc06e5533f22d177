/* counters.h - counters.c: the registry of devices, clients, processes, cgroups and perf events.
 * Names that are not in this file are static. SPDX-License-Identifier: MIT */
#ifndef ROOM_COUNTERS_H
#define ROOM_COUNTERS_H

#include "base.h"
#include "parse.h"

struct table; /* defined in sources/os/os.h */

/* --- counters.c: the registry ----------------------------------------------------------------- */

/* Units of values. units[] in views/record.c has their names and decimal places. */
enum unit {
	U_NONE, U_PERCENT, U_BYTES, U_HZ, U_NS, U_CELSIUS, U_WATT, U_JOULE, U_VOLT, U_AMPERE, U_RPM,
	U_GTS, U_SECONDS, U_MS, U_NANO, U_MICRO,
	/* units of named counters (KD/KHR_perfcounter.h), whose values are integers */
	U_SHARE, U_CENTI, U_RATE, U_MILLIC, U_MICROJ, U_MICROW, U_MILLIV, U_MILLIA,
	UNITS
};

/* Quantities: what a counter measures. A counter holds the value of one quantity for one instance
 * (an engine, a memory region or a sensor). */
enum desc {
#define STORED(id, ...) D_##id,
#include "quantities.h"
	/* D_SUM_*: sums over the clients of a device or of a cgroup that no filter of the command
	 * line hides */
	/* D_SUM_BUSY, D_SUM_UTIL: busy time and work of an engine in 10^-9 of its capacity */
	D_SUM_BUSY, D_SUM_UTIL,
	/* D_SUM_DCYCLES, D_SUM_DNS: busy cycles and busy ns of an engine since the previous
	 * reading */
	D_SUM_DCYCLES, D_SUM_DNS,
	/* D_SUM_NS, D_SUM_CYCLES: busy ns and busy cycles of all clients so far, including clients
	 * that have ended; D_SUM_TOTAL_CYCLES: largest drm-total-cycles of any client. None of
	 * these ever decreases. */
	D_SUM_NS, D_SUM_CYCLES, D_SUM_TOTAL_CYCLES,
	D_SUM_TOTAL, D_SUM_SHARED, D_SUM_RESIDENT, D_SUM_PURGEABLE, D_SUM_ACTIVE,
	/* D_ALL_*: like D_SUM_NS, D_SUM_CYCLES and D_SUM_TOTAL_CYCLES, but for all clients of a
	 * device or group, including those that a filter of the command line hides */
	D_ALL_NS, D_ALL_CYCLES, D_ALL_TOTAL_CYCLES,
	D_COUNT
};
/* Some functions compare enumerators with < and >, so they depend on this order. A new row of
 * quantities.h between two enumerators that a function compares must suit this function. */
_Static_assert(D_BUSY_PCT == 0 && D_CURFREQ == 6, "is_engine(): engines come first");
_Static_assert(D_CYCLES == D_BUSY_NS + 1 && D_TOTAL_CYCLES == D_BUSY_NS + 2 &&
	       D_ALL_CYCLES == D_ALL_NS + 1 && D_SUM_CYCLES == D_SUM_NS + 1,
	       "sums of counters: D_*, D_SUM_* and D_ALL_* have the same order");
_Static_assert(D_ACTIVE - D_TOTAL == D_SUM_ACTIVE - D_SUM_TOTAL, "sum_of_region()");
_Static_assert(D_SUM_NS - D_SUM_BUSY == 4, "sums_begin()");
_Static_assert(D_FREQ_RPN - D_FREQ_CUR == 10 && D_LINK_WIDTH - D_FAN == 6,
	       "display_only() in sources/device/sysfs.c");

/* Rules: how two readings become the value of a perf event, a named counter or a counter of the
 * host. */
enum rule {
	/* the increase since the start of the measurement or interval; for a perf event, scaled to
	 * the time enabled */
	R_COUNT,
	R_LEVEL, /* the value of the last reading; signed (i64) if the quantity is signed */
	R_RATE,  /* the increase per second since the previous reading */
	/* the increase in percent (0 to 100) of the increase of a second counter: for a counter of
	 * the host, the total that its source stores with it; for a perf event, the next event of
	 * its group (the ticks of xe) */
	R_SHARE,
	/* the value of the last reading, which is a percentage in 1/1000 %: a share of the time
	 * since the previous reading */
	R_PERCENT,
	/* frequencies of xe: each read adds the current frequency to the count, so the value is the
	 * increase since the previous read */
	R_PER_READ,
};

/* Number that means "no row": no counter, no text, no device and so on. Rows of all tables with
 * this convention are numbered from 1. */
#define NONE 0u

/* Properties of a quantity: how it changes with time and how it is summed over clients.
 * quantities[] has one row for each enumerator of enum desc; an enumerator without a row in
 * quantities.h, such as D_SUM_BUSY, may increase or decrease (CO_LEVEL). */
struct quantity {
	u8 course; /* CO_* of enum course (parse.h): how the quantity changes with time */
	bool is_signed;
	u8 range; /* RG_* of enum sensor_range (parse.h): range of plausible readings */
	/* D_SUM_* quantity that is the sum of this quantity over clients; NONE if it is not
	 * summed */
	u8 sum;
};
extern const struct quantity quantities[D_COUNT];

/* A copy of one counter of an entity, made by reg_first(), reg_next() or reg_find(). It is valid
 * until another counter is added to that entity. */
struct counter {
	/* index of the line that holds the counter (struct line in counters.c); `slot` is the
	 * counter's place in this line */
	u32 line;
	u16 inst;
	u8 desc, flags, slot;
};
enum {
	CF_SEEN = 1, /* the counter has a value in the last reading of its entity */
	/* the counter has a baseline: a value from which its next increase is computed */
	CF_BASE = 2,
	CF_RATE = 4, /* a rate is computed for the counter, so it has a struct history */
	/* the counter had a value in an earlier reading; that value may be no valid baseline now */
	CF_OLD = 8,
	/* the value is stored in the member `now` of a struct history, because it exceeds 32 bits
	 * or is a sum */
	CF_HISTORY = 16,
	CF_KIB = 32, /* the value of the counter is stored in KiB, not in bytes */
	/* the value was stored with PUT_WEAK: another PUT_WEAK of the same reading replaces it */
	CF_WEAK = 64,
	/* the last reading has a value of the counter, but that is not plausible; in a counter of a
	 * sum: the value of a client is not plausible */
	CF_UNKNOWN = 128,
};

/* An entity: an object that has counters, for example a device or a client. A struct entity is the
 * first member of each row of the tables of such objects. */
struct entity {
	/* first: index of the line (struct line in counters.c) that holds the entity's first
	 * counters, 0 if it has none; at: line and slot of the counter stored last, 0 if none was
	 * stored */
	u32 first, at;
	u16 count;
	/* number of the entity's values that the last reading left out because a table was full */
	u16 dropped;
	u8 kind;       /* enum kind: the type of the structure that contains this struct entity */
	bool used;
	bool fresh;    /* the entity was read in this sample */
	/* a counter of the entity that must not decrease has decreased in this reading */
	bool went_backwards;
	/* times in ns of the entity's last reading and of the reading before; 0 if there was no
	 * such reading */
	i64 t, t_was;
	/* Bit n is set if the entity may have a counter of a quantity whose number modulo 32 is n.
	 * A clear bit means that it has no counter of these quantities. */
	u32 has;
	u32 serial;    /* serial number of the entity, never used for another one */
};

enum kind {
	K_DEVICE, K_CLIENT, K_CGROUP, K_PROCESS, K_FDINFO, K_EVENT, K_SAMPLE, K_PROFILE, K_OA,
	K_COUNTER, K_COUNTERS, K_SOURCE, K_RUN, K_STALL, K_LATENCY, K_SYSCALL, K_COUNT
};

/* Parts of a chip that a driver without DRM describes in files of its vendor
 * (sources/device/boards.c). PART_GPU: the only GPU of the chip; PART_NPU: its only NPU; PART_CARD:
 * an NPU on a card of its own; PART_NONE: any other device. */
enum chip_part { PART_NONE, PART_GPU, PART_NPU, PART_CARD };

/* A GPU or NPU. */
struct device {
	struct entity e;
	/* inode number and device number of the device's sysfs folder, as its identity; 0: it has
	 * no folder */
	u64 ino, ino_dev;
	char dev[32], driver[64], pdev[32], state[16], name[96]; /* texts; empty if unknown */
	/* numbers N in the names of the device's nodes: cardN, renderDN, accelN; -1: it has no such
	 * node */
	i32 card, render, accel;
	/* clients: number of the device's clients in this sample; waiting: number of them for which
	 * no process is known that holds them */
	u32 clients, waiting;
	/* number of readings of this device's sensors in this sample that were not plausible */
	u32 implausible;
	/* approximate number of open descriptors of the device that have no client id in fdinfo */
	u32 anonymous;
	u8 part;                 /* enum chip_part: the part of the chip that this device is */
	/* false: the device is suspended; files whose reading could resume it are not read */
	bool awake;
	bool apu;                /* the device is an APU: its video memory is part of main memory */
	bool gone; /* the device was removed from the machine, but a process still has it open */
	/* the device is not listed in /sys, and is known only because a process has it open */
	bool unlisted;
	bool left_out; /* the option --not excludes the device: nothing of it is read or shown */
	/* fdinfo of the device's clients is not read, because reading it can crash the kernel with
	 * this driver (member `crashes` of struct driver) */
	bool no_fdinfo;
	bool named; /* the device's name was searched for already, whether it was found or not */
	/* clients of the device cannot be listed, because its driver is a vendor's driver without
	 * DRM */
	bool clientless;
	/* text: properties of the device that do not change, one "name:value" per line */
	u32 facts;
	/* reasons, as text, why the device reports no engines, no memory or no sensors; NULL if it
	 * may report them */
	const char *no_engines, *no_memory, *no_sensors;
};

/* A process that has a device node open and so holds a DRM client. */
struct task {
	u32 pid, refs, cgroup;
	u16 next;      /* next row of tasks[] in the same chain of the hash table */
	/* number of the last scan that found that the pid still belongs to this process */
	u32 checked;
	u64 start; /* start time of the process in clock ticks since boot; UINT64_MAX if unknown */
	i64 read;      /* time in ns at which comm and the members after it were read from /proc */
	/* name of the process, at most 16 bytes (TASK_COMM_LEN); any byte but NUL may occur */
	char comm[16];
	u8 comm_len;
	bool has_comm;
	/* enum lineage: whether the process descends from a process of the option -p --children */
	u8 lineage;
};
/* NO_LINEAGE: not determined yet; OTHER_TREE: the process is no descendant of a process that the
 * option -p names; IN_TREE: it is one of these processes or a descendant */
enum lineage { NO_LINEAGE, OTHER_TREE, IN_TREE };

/* A holder: one file descriptor through which a process holds a DRM client. */
struct holder {
	u32 pid, fd, task, client;
	u32 next_client;       /* row of the next holder of the same client in holders[] */
	u16 next;              /* next row of holders[] in the same chain of the hash table */
	u32 seen; /* number of the last scan of the process that found this file descriptor in it */
	u32 first_sample;      /* number of the first sample in which this descriptor was found */
	int io; /* descriptor of the opened fdinfo file; -1 if it is not open */
};

/* Kinds of keys that identify a client: KEY_ID is drm-client-id; KEY_PASID the pasid; KEY_PID the
 * PID, with NVIDIA's driver; KEY_KFD the PID, with AMD's compute driver; KEY_FILE the PID and the
 * descriptor, if fdinfo has no id.
 *
 * NVIDIA's driver reports values per process and not per descriptor. So with KEY_PID a process is
 * one client of a device, no matter whether it was found by a descriptor of /dev/nvidiaN, by a
 * descriptor of a DRM node or in the driver's list. AMD's compute driver needs KEY_KFD, because its
 * processes are clients of DRM, too. */
enum keykind { KEY_ID, KEY_PASID, KEY_PID, KEY_KFD, KEY_FILE, KEY_KINDS };

struct client {
	struct entity e;
	u64 key;
	u64 text_hash; /* hash of the client's fdinfo text that was read last; 0: none was read */
	u32 device, holders;
	/* texts: name is drm-client-name; other has the unknown fdinfo keys, one "name:value" per
	 * line */
	u32 name, other;
	u32 skipped;               /* number of malformed lines in the client's fdinfo */
	u32 read_sample;           /* number of the last sample in which the client was read */
	u16 next;    /* row in clients[] of the next client with the same hash of its key */
	/* row in clients[] of the next shown client of the same process; the list starts at the
	 * member first_shown of struct group */
	u16 next_shown;
	u8 keykind;
	bool hidden; /* a filter of the command line excludes the client */
	/* true if the sums D_SUM_* (in_sums) and D_ALL_* (in_all_sums) include the values that this
	 * client had at its previous reading */
	bool in_sums, in_all_sums;
};

struct cgroup {
	u32 path; /* text: path of the cgroup */
	u32 hash, refs, next;
};

/* A group: all clients on one device that belong to one cgroup, or to one process. A client belongs
 * to the cgroup or process of its owner. */
struct group {
	/* e.kind is K_CGROUP for the clients of a cgroup, K_PROCESS for those of a process */
	struct entity e;
	u32 device, cgroup, next;
	/* clients: number of clients of the group in this sample that no filter of the command line
	 * hides; members: number of all its clients */
	u32 clients, members;
	/* pid, start, first_shown and keep are set only if e.kind is K_PROCESS; cgroup is NONE
	 * then */
	u32 pid;
	/* start time of the process as in struct task; it distinguishes the process from a later
	 * one with the same pid */
	u64 start;
	u16 first_shown; /* row in clients[] of the first shown client of the process */
	/* the process still runs: the row of its group is kept even without clients, so that the
	 * totals of the group continue when the process opens another client */
	bool keep;
};

/* Facts from /proc about a process that owns clients. Row n of taskinfos[] belongs to row n of
 * tasks[]. */
struct taskinfo {
	/* read_no: number of the last reading of all clients in which this row was updated */
	u32 pid, read_no;
	u64 start;
	u32 user, cmdline;  /* texts: name of the user, and command line of the process */
	u32 uid;
	bool has_uid, has_user, has_rss;
	u64 rss;            /* resident memory in bytes */
	/* CPU time of the process in 1/100 s, at the last reading and at the one before */
	u64 ticks, ticks_was;
	i64 t, t_was;       /* times in ns of the last two readings of the CPU time; 0: none */
	/* value that the member `read` of struct task had when cmdline was read: cmdline is read
	 * again after it changes */
	i64 described;
};

enum {
	/* Eight accelerators with eight partitions each are 64 devices; servers have up to 16
	 * accelerators, and SR-IOV multiplies their number. */
	MAX_DEVICES = 513,
	/* enough for 10 000 clients; the row numbers of clients, holders and tasks have 16 bits */
	MAX_CLIENTS = 16385,
	MAX_HOLDERS = 32769,
	MAX_TASKS = 16385,
	MAX_CGROUPS = 4097,
	MAX_GROUPS = 10241,    /* enough groups for 10 000 processes */
	/* limit of the counters of one entity: enough for 200 engines with all their fdinfo keys */
	MAX_COUNTERS = 1024,
	MAX_INSTANCES = 4096,  /* limit of the different names of engines, regions and channels */
	/* limit in bytes of the name of an engine, region or channel; the longest one in any kernel
	 * has 20 bytes */
	MAX_NAME = 128,
};

/* Tables that grow while the program runs. In each table, code may access only the rows up to the
 * number in nrows, and in devices[] also row NONE: the memory after them may not exist. */
extern struct device *devices;
extern struct client *clients;
extern struct holder *holders;
extern struct task *tasks;
extern struct cgroup *cgroups;
extern struct group *groups;
extern struct taskinfo *taskinfos;
extern struct table taskinfos_table;
/* Number of rows of each table that were ever used, including rows that were freed since. As rows
 * are numbered from 1, this is also the highest row number; only sites and evsets are numbered from
 * 0. */
extern struct row_counts {
	u32 devices, clients, holders, tasks, cgroups, groups;
	u32 pmus, events, counts, evrows, sites, evsets;
} nrows;
/* Readings of sensors that were not plausible: their number, and a description of the last one for
 * --verbose. */
struct implausible {
	u32 total; /* number of readings that were not plausible since the start */
	u8 range;
	i64 v;           /* the reading, in the unit of the file that was read */
	char where[80];  /* device and sensor of the reading, or the file that was read */
};
extern struct registry {
	struct implausible implausible;
	/* number of rows, texts and values that were not stored since the start, for example
	 * because a table was full */
	u32 dropped;
	/* number of transient errors: files that could not be read, but may be readable in a later
	 * scan */
	u32 transient;
	u32 unreadable;  /* number of processes that the last scan had no permission to read */
	/* more than one sample will be taken, so a scan keeps what it found for the next scan */
	bool repeats;
	bool saw_others; /* at least one process of another user could be read */
	/* D_ALL_* (sums that include hidden clients) are computed for devices and groups */
	bool all_sums;
	/* Returns the group to whose sums the values of the client c are added. If group_of is
	 * NULL, this is the group of the cgroup of the client's owner. */
	struct group *(*group_of)(struct client *c);
} registry;

void reg_begin(struct entity *e, i64 t);
void reg_put_same(struct entity *e, i64 t);
/* How reg_put_as() treats a value if the counter already has one in this reading. PUT_FIRST keeps
 * the first value; PUT_LAST replaces it; PUT_WEAK replaces it only if it was stored with PUT_WEAK,
 * too. */
enum { PUT_FIRST, PUT_LAST, PUT_WEAK };
bool reg_put_as(struct entity *e, u8 desc, struct str inst, u64 v, i64 t, u8 stays);
/* Like reg_put_as() with PUT_FIRST: the first value in a reading is kept. */
bool reg_put(struct entity *e, u8 desc, struct str inst, u64 v, i64 t);
void count_implausible(const char *where, struct str sensor, u8 range, u64 v);
/* Like reg_put(), for a sensor whose driver reports a highest value `limit`: a reading far above it
 * is not stored, see is_plausible(). limit 0: the driver reports none. */
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
/* Like reg_first() and reg_next(), but skip the counters whose quantity does not belong to
 * `class`. */
struct counter *counter_first_of(const struct entity *e, struct counter *c, enum desc_class class);
struct counter *reg_next_of(struct counter *c, enum desc_class class);
/* reg_first(), reg_first_of() and reg_find() return NULL if the entity has no such counter. The
 * returned pointer is valid until the end of the enclosing block, because it points to a compound
 * literal. */
#define reg_first(e) reg_first_of((e), DESC_ANY)
#define reg_first_of(e, class) counter_first_of((e), &(struct counter){ 0 }, (class))
#define reg_find(e, desc, inst) counter_find((e), (desc), (inst), &(struct counter){ 0 })
bool reg_get(const struct entity *e, u8 desc, u16 inst, u64 *v);
bool reg_get_or_sum(const struct entity *e, u8 desc, u16 inst, u64 *v);
bool reg_get_near(const struct entity *e, struct counter *near, u8 desc, u16 inst, u64 *v);
bool reg_rate(const struct entity *e, u8 desc, u16 inst, u64 *d, u64 *dt);
bool reg_per_second(const struct entity *e, u8 desc, u16 inst, u64 *v);
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

/* Perf events have tables of their own, because they differ from counters of entities. A count is
 * read together with its group, is scaled by the times for which it was enabled and running, and
 * belongs to a CPU and a task. Only a row of the result (struct evrow) is an entity, so that it can
 * be output as a record. */

/* A PMU: a folder of /sys/bus/event_source/devices. */
struct pmu {
	char name[64];
	u32 type;
	/* the PMU has a file cpumask: it counts for whole CPUs or packages, never for single
	 * tasks */
	bool wide;
	/* PMU of CPU cores, such as cpu, cpu_core or armv8_*: its name is cpu, or it has a file
	 * `cpus` */
	bool core;
	/* cpus holds the list in the PMU's file cpumask or cpus; if false, the PMU counts on all
	 * online CPUs */
	bool has_cpus;
	struct cpuset cpus;
};

/* A perf event to open, with the values of its perf_event_attr, or a virtual counter. */
struct event {
	u32 name;      /* text: name of the event, as records show it */
	u32 unit;      /* text: unit of the event's value, or NONE if it has no unit */
	u32 type;      /* member type of perf_event_attr */
	/* index in pmus[]; NONE if no PMU restricts the CPUs on which the event can be opened */
	u32 pmu;
	u64 config[MAX_CONFIGS];
	/* sampling period as a number of counts, or sampling frequency in Hz if freq is set; 0: the
	 * default of the command line applies */
	u64 period;
	/* a count is worth scale / 10^scale_point units; scale 0: the count is not scaled */
	u64 scale;
	u8 scale_point;
	u8 rule;       /* enum rule: R_COUNT, R_RATE, R_PER_READ, R_LEVEL or R_SHARE */
	u8 precise;    /* member precise_ip of perf_event_attr, 0 to 3 */
	bool denied;   /* the event is a tracepoint whose number in tracefs only root may read */
	/* hidden: the event is counted because another event needs it, but is not shown */
	bool freq, per_pkg, no_inherit, hidden;
	bool elsewhere; /* the event's PMU counts only on CPUs that the option --cpu excludes */
	/* the event is one of xe's engine events that were guessed because /sys lists no engine:
	 * ENOENT from perf_event_open(2) is not an error */
	bool guess;
	u8 bp;         /* for a breakpoint: member bp_type of perf_event_attr */
	u16 mods;      /* EM_* bits of enum evmod: modifiers of the event */
	/* number of the group to which the event belongs, 0 if to none; the events of a group are
	 * consecutive, with the leader first */
	u16 group;
	u16 set;       /* index in evsets[] of the event's set; this is not the id of the set */
	/* events with the same number are one event on several PMUs, and their counts are summed;
	 * 0: no other event has the number */
	u16 row;
	/* the row of the event at site s is evrows[1 + sum * nrows.sites + s]; events with the same
	 * `sum` are added up in one row (sources/perf/perfevent.c) */
	u16 sum;
	/* number of counts of this event after which the next event set becomes active; 0: no
	 * limit */
	u64 trigger;
	/* number of the virtual counter in sources/perf/virtual.c; 0 if this is a perf event */
	u16 virt;
	/* text to which config1 of perf_event_attr points, for example the file of a uprobe; NONE
	 * if there is none */
	u32 path;
	bool kernel;   /* the event is a kprobe, and `path` is the name of a kernel function */
	u32 filter;    /* text: filter of a tracepoint event, or NONE */
};

enum {
	MAX_PMUS = 513,    /* limit of the number of PMUs; the largest servers have about 250 */
	MAX_EVENTS = 4097, /* limit of the number of events; a kernel has about 2500 tracepoints */
};

extern struct table pmus_table, events_table, counts_table, evrows_table, sites_table;
extern struct pmu *pmus;
extern struct event *events;

/* A reading of one perf event: its count, and the times in ns for which it was enabled and
 * running. */
struct tally {
	u64 value, enabled, running;
};

/* Reasons why a row in the output of stat has no value; CS_COUNTED: the row has a value. A row can
 * be the sum of several counts: if they have different reasons, the reason that is last in this
 * list is shown, because it explains more. */
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

/* A count: one event on one CPU or of one task. It has an open descriptor, or its member `state` is
 * the reason why it has none. */
struct count {
	u32 event, row;
	i32 fd;          /* file descriptor of the perf event; -1 if it is not open */
	/* number of the CPU on which the event is counted; -1: all CPUs on which the task runs */
	i32 cpu;
	u32 pid;         /* pid of the task whose events are counted; 0: all tasks */
	/* index in counts[] of the group leader whose read returns this count; the count's own
	 * index if it is read alone */
	u32 leader;
	u32 site;
	/* true if this count is a group leader: one read of it returns the counts of its group */
	bool members;
	bool virt;       /* this is a virtual counter, which has no perf event */
	/* for an event whose overflow makes the next event set active: it was enabled for this, and
	 * has not overflowed since */
	bool armed;
	/* the ring buffer of this count also receives records of mappings and process names (MMAP,
	 * COMM) */
	bool tracks;
	bool live; /* for a virtual counter: it is enabled, and was read at least once since then */
	bool off;        /* the count is disabled at present */
	u64 last;        /* for a virtual counter: its value at the last reading */
	i64 read_at;     /* for a virtual counter: time in ns of the last reading, or of enabling */
	/* the ring buffer of this count is mapped; other counts of the same CPU or task write to
	 * it, too */
	bool ring;
	u64 id;          /* id of the event in the kernel, which samples contain */
	u32 next_id;
	u8 state;        /* enum cstate: CS_COUNTED, or the reason why there is no count */
	struct tally now, was;
};

/* A site: the CPU, core, socket, process, task or cgroup for which stat prints a row. Each event
 * has one row per site. */
struct site {
	/* numbers of the CPU, core and so on in the topology; level: level of the cache; -1: all of
	 * them */
	i32 cpu, core, die, socket, node, cluster, cache, level;
	u32 pid, tid;          /* pid of the process and tid of the task that is counted; 0: all */
	/* texts: name of the process, and path of the cgroup; NONE if the site is no process or
	 * cgroup */
	u32 comm, cgroup;
};

#define SITE_ALL .cpu = -1, .core = -1, .die = -1, .socket = -1, .node = -1, .cluster = -1, \
		 .cache = -1, .level = -1

/* A row of the output of stat: the value of one event at one site (CPU, core, socket, process, task
 * or cgroup), which is the sum of the event's counts there. */
struct evrow {
	struct entity e; /* the row of stat as an entity; e.kind is K_EVENT */
	u32 event, site;
	u32 places;      /* number of counts with a value that are summed in the row of stat */
	u8 state; /* enum cstate: CS_COUNTED, or the reason why the row of stat has no value */
	/* number of decimal places of `value`: the value of the row of stat is value / 10^point in
	 * the event's unit */
	u8 point;
	/* true if the value of the row of stat is negative; the member `value` is its absolute
	 * value */
	bool neg;
	/* some counts of the row of stat were not opened, because the process has too many open
	 * files: the row has no value */
	bool cut;
	u64 value;
	u64 share; /* share of the time enabled in which the event was counted, in 1/1000 % */
	/* sum of the unscaled counts and of their times in this interval; after repetitions, the
	 * mean of these sums */
	struct tally sum;
	struct tally all; /* total over all repetitions of the member `sum` */
	/* mean of `value` over the repetitions (mean), and the sum of squared deviations from this
	 * mean (m2) */
	double mean, m2;
	/* exact sum of `value` over the repetitions; UINT64_MAX if a value was negative or the sum
	 * exceeds 64 bits */
	u64 total;
	u32 repeats;
};

/* An event set, as in perfmon2: events that are counted together while other sets wait. Set 0
 * always exists. */
struct evset {
	u32 name;       /* text: name of the set; NONE if the user requested no sets */
	u16 id;
	/* time in ns after which the next set becomes active; 0: only an overflow makes the next
	 * set active */
	i64 timeout;
	u64 turns, turns_was;
	/* time in ns for which the set was active since the start of counting: until now (active),
	 * and until the start of this interval (active_was) */
	i64 active, active_was;
	bool failed;    /* none of the set's events can be counted: the set is skipped */
};

enum {
	MAX_COUNTS = 1 << 15, /* limit of open counts: enough for 128 events on 256 CPUs */
	/* limit of rows of stat: enough for 64 events with the option -A on 256 CPUs */
	MAX_ROWS = 1 << 14,
	MAX_SITES = MAX_CPUS + 1,
	MAX_SETS = 65,
	/* limit of the counts that one read of a group leader returns: no PMU has so many
	 * counters */
	MAX_GROUP = 64,
};

extern struct count *counts;
extern struct evrow *evrows;
extern struct site *sites;
extern struct evset evsets[MAX_SETS];

/* The ratio of two counts, as perf stat shows it, for example instructions per cycle. */
struct ratio {
	u64 micros;         /* the ratio in units of 10^-6 */
	u8 decimals;        /* number of decimals in output for people, 0 to 6 */
	/* percent: the ratio is shown in percent; rate: the ratio is a count per second, shown with
	 * the prefix K, M or G */
	bool percent, rate;
	const char *words;
};

/* Times of a measurement of stat: the elapsed time, and the CPU times of the command that stat
 * started. */
struct runtimes {
	/* elapsed time in ns; with repetitions, also its mean and deviation */
	struct evrow elapsed;
	bool has_cpu;
	u64 user, system;     /* CPU times of the command in user and system mode, in ns */
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

/* sources/: each source reads one interface of the kernel and stores the values as counters */

struct source {
	const char *name;
	/* finds the devices or other entities of the source, and takes their first reading */
	void (*start)(void);
	void (*sample)(void); /* takes one reading of all entities of the source */
	/* finds entities that appeared after the start; NULL if the source never has new ones */
	void (*scan)(void);
	/* closes the files that are kept open between readings; sample() opens them again */
	void (*rest)(void);
};

#endif
