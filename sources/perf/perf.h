/* perf.h - the header of sources/perf: PMUs, opening, rings, symbols, measuring, virtual counters.
 * Functions that are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef ROOM_PERF_H
#define ROOM_PERF_H

#include "base.h"
#include "parse.h"
#include "perfstream.h"
#include "counters.h"

/* --- sources/perf/pmu.c: perf events by name -------------------------------------------------- */

/* Names of events refer to these. */
extern struct events_given {
	struct str aliases; /* the text of --pmu-file: a line "NAME EVENT" each */
	/* the program whose symbols mem:SYMBOL names: a process, or the file of a command */
	u32 pid;          /* 0: none */
	const char *file; /* NULL: none */
} events_given;

struct gp_event;

bool events_add(struct str list, u16 set, struct buf *why);
void event_attr(const struct event *ev, bool leader, struct gp_event *e);
/* gp_parse() of gpustat/perf.h, for a caller that holds lib_lock and has opened the roots. */
long events_attr(struct str list, struct gp_event *to, size_t cap, struct buf *why);
void events_resolve(struct buf *b);
long events_tracefs(void);
const char *trace_root(long *r);
/* Calls show() for each available event whose name matches glob. */
void events_suggest(struct buf *b);
void events_list(struct str glob, void (*show)(struct str name, struct str unit, struct str what));
void events_named(void (*show)(struct str name, struct str unit, struct str what));
bool cpus_online(struct cpuset *cpus);

/* --- sources/perf/perfapi.c: the functions of gpustat/perf.h ---------------------------------- */

u64 ring_head(void *page, u64 was);
void ring_release(void *page, u64 tail);

/* --- sources/perf/perfevent.c: perf_event_open(2) --------------------------------------------- */

struct pollfd;

/* Counts are summed in one row per CPU, thread, core and so on; SPLIT_NONE: in one row. From
 * SPLIT_CORE on a row has several CPUs. */
enum split { SPLIT_NONE, SPLIT_CPU, SPLIT_THREAD, SPLIT_CORE, SPLIT_SOCKET, SPLIT_DIE,
	     SPLIT_CLUSTER, SPLIT_CACHE, SPLIT_NODE };

struct member {
	u32 tid, leader; /* a thread; the PID of its process */
};

/* The tasks, CPUs or cgroups whose events are counted, and how. */
struct target {
	bool all;                     /* all CPUs, all tasks */
	bool has_cpus;                /* only on `cpus` */
	bool on_exec;                 /* counting starts at the task's exec */
	bool no_inherit;              /* tasks that a task starts are not counted */
	bool user_only, kernel_only;
	bool sampling;
	const struct member *tasks;   /* in a table that all targets share: one target at a time */
	u32 ntasks;
	bool whole, threads;          /* -p: all threads of processes; -t: single threads */
	bool every;                   /* all threads of the machine, a row each */
	struct cpuset cpus;
	u32 cgroups[16];              /* texts: names */
	u32 ncgroups;
	u8 split;                     /* enum split */
	u8 level;                     /* of the caches of SPLIT_CACHE; 0: the highest */
	u64 period, freq;             /* sampling, for events without a period of their own */
	bool period_varies;           /* the period is changed during the run */
	u32 wakeup;                   /* samples, or bytes if watermark is set */
	bool watermark, callchain;
	bool build_ids;               /* records of maps shall have build IDs */
	u32 fields;                   /* PS_ bits of each sample, besides those that events need */
	bool raw;                     /* samples of tracepoints have their fields */
	u32 limit;                    /* samples of each count; 0: no limit */
};

/* The kernel did not grant, or grants, these to the events that were opened. */
extern struct perf_opened {
	bool user_only; /* an event counts user space only: no right to count the kernel */
	bool build_ids; /* the kernel writes build IDs */
} perf_opened;

bool cpu_has(const struct cpuset *s, u32 cpu);
bool perf_cgroups(const struct target *t, const char **missing);
void perf_open(const struct target *t);
void perf_close(void);
bool perf_countable(void);
void perf_enable(u32 set, bool on, bool exec);
i32 perf_ring_mate(i32 fd);
void perf_baseline(void);
void perf_read(i64 t);
const struct count *perf_fired(i32 fd);
bool perf_has_pmu(void);
long perf_rings(u32 pages);
u32 perf_event_of(const struct prec *r);
const struct pformat *perf_format(u64 id);
struct str perf_attr(u32 event);
size_t perf_pollfds(struct pollfd *fds, size_t cap);
void perf_period(u64 period);
u64 perf_lost(void);
u64 perf_limit(u32 n, bool exec);

/* --- sources/perf/target.c: the processes and threads to measure ------------------------------ */

bool target_ended(const struct target *t);
u32 task_comm(u32 tid);
bool target_thread(struct target *t, u32 tid);
bool target_process(struct target *t, u32 pid);
bool target_machine(struct target *t);

/* --- sources/perf/virtual.c: virtual counters: gpustat's own, listed like perf events --------- */

/* gpus_start() takes the first reading of the GPUs and their clients, once; gpus_sample() takes
 * another one. */
void gpus_start(void);
void gpus_sample(void);
void virtual_start(void);  /* when all events were found, before the process is confined */
/* Returns when virtual_sample() or virtual_drain() has to be called again, so that no count is
 * lost: ns of CLOCK_MONOTONIC; -1: never. */
i64 virtual_due(void);
void virtual_drain(void);
void virtual_sample(void); /* once per reading, before virtual_read() */
/* Returns whether --device chose the device at this place of gpustat's order. NULL: all GPUs. */
extern bool (*virtual_filter)(u32 device, u32 place);

bool virtual_source(struct str source); /* whether events of this source are virtual counters */
bool virtual_find(struct str source, struct str name, struct event *ev);
u8 virtual_state(const struct event *ev);
bool virtual_read(const struct event *ev, u64 *v);
void virtual_prepare(void); /* before virtual_list() in a process that will be confined */
void virtual_list(void (*show)(struct str name, struct str unit, struct str what));
void virtual_engines(void (*found)(void *arg, struct str event), void *arg);
bool virtual_gpu_energy(struct buf *event);

/* --- sources/perf/gpuevents.c: events that GPU drivers count for all programs ----------------- */

/* Finds the event SOURCE/NAME/. Returns its number, or -1: there is no such event. */
long gpuevent_find(struct str source, struct str name, struct str *unit);
void gpuevents_prepare(void); /* before gpuevents_list() in a process that will be confined */
/* source: "v3d" or "msm"; empty: both. */
void gpuevents_list(struct str source,
		    void (*show)(struct str event, struct str unit, struct str what));
/* Begins to count all events that were found. */
void gpuevents_start(void);
void gpuevent_release(u32 number);
u8 gpuevent_state(u32 number); /* enum cstate: CS_COUNTED, or why the event is not counted */
void gpuevents_read(void);
extern i64 gpuevents_due; /* ns: when gpuevents_read() has to be called again; -1: never */
bool gpuevent_value(u32 number, u64 *v); /* the count since the start, in the last reading */

/* --- sources/perf/ring.c: the ring buffers of perf events ------------------------------------- */

enum { MAX_RINGS = MAX_CPUS }; /* one per CPU */

extern u64 rings_lost;    /* samples and records that the kernel lost: the ring was full */
extern u64 rings_corrupt; /* invalid records, and rings of which an invalid record hid the rest */

long rings_add(int fd, u32 pages);

/* The functions that get the records of rings_drain() and rings_copy(). */
struct ring_reader {
	/* Returns the format of an event's records; id 0: what all events have in common. */
	const struct pformat *(*format)(u64 id);
	bool (*again)(struct str sample); /* or NULL; see rings_drain() */
	void (*handle)(const struct prec *r);
	void (*copy)(struct str records); /* only rings_copy() */
	/* Only rings_copy() sets them: the time of the earliest record of this call, and those of
	 * the first and the last sample of all calls; 0: none. */
	u64 first, first_sample, last_sample;
};

u64 rings_drain(u64 until, const struct ring_reader *to);
u64 rings_copy(struct ring_reader *to);
void rings_close(void);

/* --- sources/perf/tpfields.c: the fields of a tracepoint ----------------------------------------
 */

/* The place of a field's bytes: at its offset, or at a place that is there: offset and size,
 * since Linux 5.17 also an offset from the end of the field. */
enum tpplace { TP_HERE, TP_DATA_LOC, TP_REL_LOC };
enum tpform { TP_NUMBER, TP_POINTER, TP_TEXT, TP_ARRAY };

struct tpfield {
	struct str name;
	u32 at, size;   /* bytes in the sample's payload */
	u8 each;        /* bytes of an element; 0: unknown */
	u8 place, form; /* enum tpplace, enum tpform */
	bool is_signed;
	bool common;    /* all tracepoints have it */
};

bool tpfield_next(struct str *format, struct tpfield *f);
struct str tpfield_bytes(const struct tpfield *f, struct str payload);
bool tpfield_number(const struct tpfield *f, struct str payload, i64 *v);
struct str tpfield_text(const struct tpfield *f, struct str payload);
void tpfield_array(struct buf *b, const struct tpfield *f, struct str bytes);

/* --- sources/perf/tracepoint.c: the format files of tracepoints ------------------------------- */

long tracepoints_read(void);
const struct tpfield *tracepoint_fields(u32 event, u32 *n);
const struct tpfield *tracepoint_find(u32 event, const char *name);
struct str tracepoints_data(void);

/* --- sources/perf/symbols.c: addresses to functions ------------------------------------------- */

extern struct symbols {
	u32 dropped; /* tasks, maps, files and symbols that did not fit the tables */
	u32 remote;  /* files that were not read: on a server that may not answer */
	bool hidden; /* the kernel hides the addresses of its symbols: kptr_restrict */
	/* Called for each name and map that was read from /proc, of a task that started before the
	 * measurement: r is the record that the kernel would have written, with the time of the
	 * last record that symbols_feed() got. NULL: not called. */
	void (*found)(const struct prec *r);
	bool build_ids; /* maps that are found shall have the build IDs of their files */
} symbols;

void symbols_preload(void);
enum { ALL_MODES = (1 << PM_MODES) - 1 };
void symbols_restrict(const struct target *t, i32 child);
bool symbols_restricted(void); /* whether addresses may have to be hidden */
u32 symbols_feed(const struct prec *r);
void symbols_task(u32 pid, u32 tid);
struct str symbols_comm(u32 pid, u32 tid);
bool symbols_nested(void);
bool symbols_kernel(struct prec *r);
void symbols_modules(void (*show)(const struct prec *r));
void symbols_file(const struct prec *r);
void symbols_ids(void (*show)(struct str id, struct str path));
bool symbol_find(u32 pid, u64 ip, u8 mode, struct str *symbol, struct str *module, u64 *offset);

/* The place of a symbol in a program. */
struct elf_place {
	u64 address, offset; /* of the process, or as the file was linked; in the file */
	bool code;           /* offset is known: the symbol is in an executable segment */
	bool fixed;          /* the program has it at this address when it runs */
};

long symbol_place(u32 pid, const char *file, struct str name, struct elf_place *to);
long symbol_kernel(struct str name, u64 *address);

/* --- sources/perf/measure.c: a measurement from its start to its end -------------------------- */

struct measure {
	struct target *target;
	char **argv;           /* the command, or NULL */
	bool repeats;          /* argv will be started again after this measurement */
	i64 interval, timeout; /* ns; 0: none */
	i64 first;             /* ns: the length of the first interval; 0: as the others */
	i64 delay;             /* ns; negative: until `enable` comes from control */
	int control, ack;      /* descriptors of --control, or -1 */
	bool keys;             /* measure_next() returns if standard input is readable: typed */
	bool scale;            /* scale counts by time_enabled / time_running */
	bool sampling;         /* measure_next() returns if a ring is filled, or after interval */
	u32 pages;             /* of each ring */
	long rings;            /* -errno: the rings could not be mapped */
	u64 limit;             /* samples of all counts together; 0: no limit */
	bool typed;            /* standard input is readable */
	bool woken;            /* a ring has reached its wakeup mark */
	/* called when all is open and the command waits before its exec; or NULL */
	void (*ready)(i32 child, bool repeats);
	/* state: times are ns of CLOCK_MONOTONIC; 0: not yet */
	i64 begun, start, last, dt, due, set_since, set_due, stopped;
	u32 set;
	bool on, stop;
	int status;            /* of the command, as wait(2) returns it; negative: -errno */
	long failure;          /* -errno: the command could not be run */
};

long measure_start(struct measure *m);
bool measure_next(struct measure *m);
void measure_whole(struct measure *m);

#endif
