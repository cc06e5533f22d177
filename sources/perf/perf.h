/* perf.h - the header of sources/perf: PMUs, opening, rings, symbols, measuring, virtual counters.
 * Functions that are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef ROOM_PERF_H
#define ROOM_PERF_H

#include "base.h"
#include "parse.h"
#include "perfstream.h"
#include "counters.h"

/* --- sources/perf/pmu.c: perf events by name -------------------------------------------------- */

/* Settings from the command's options: the aliases that event lists can contain, and the program in
 * which the symbols of breakpoints are looked up. */
extern struct events_given {
	struct str aliases; /* text of --pmu-file: one alias per line, "NAME EVENT" */
	/* The program in which the SYMBOL of a breakpoint mem:SYMBOL is looked up. */
	u32 pid;          /* PID of the running process whose symbols are looked up; 0: none */
	const char *file; /* path of the program file whose symbols are looked up; NULL: none */
} events_given;

struct gp_event;

bool events_add(struct str list, u16 set, struct buf *why);
void event_attr(const struct event *ev, bool leader, struct gp_event *e);
/* Parses an event list into to[cap], as gp_parse() of gpustat/perf.h does. The caller must hold
 * lib_lock and must have opened the roots (the folders /proc and /sys). */
long events_attr(struct str list, struct gp_event *to, size_t cap, struct buf *why);
void events_resolve(struct buf *b);
long events_tracefs(void);
bool perf_hardened(void);
const char *trace_root(long *r);
void events_suggest(struct buf *b);
/* Calls show() for each available event whose name matches glob. */
void events_list(struct str glob, void (*show)(struct str name, struct str unit, struct str what));
void events_named(void (*show)(struct str name, struct str unit, struct str what));
bool cpus_online(struct cpuset *cpus);

/* --- sources/perf/perfapi.c: the functions of gpustat/perf.h ---------------------------------- */

u64 ring_head(void *page, u64 was);
void ring_release(void *page, u64 tail);

/* --- sources/perf/perfevent.c: perf_event_open(2) --------------------------------------------- */

struct pollfd;

/* How the counts of an event are divided into result rows: one row per CPU, thread, core and so on;
 * SPLIT_NONE: a single row. With SPLIT_CORE and all values after it, a row sums several CPUs. */
enum split { SPLIT_NONE, SPLIT_CPU, SPLIT_THREAD, SPLIT_CORE, SPLIT_SOCKET, SPLIT_DIE,
	     SPLIT_CLUSTER, SPLIT_CACHE, SPLIT_NODE };

struct member {
	u32 tid, leader; /* tid: TID of a thread to count; leader: PID of its process */
};

/* The tasks, CPUs or cgroups whose events are counted or sampled, and the options for counting and
 * sampling. */
struct target {
	bool all;                     /* true: all tasks are counted, on all CPUs */
	bool has_cpus;                /* true: events are counted only on the CPUs in `cpus` */
	bool on_exec;                 /* true: counting starts when the command calls exec(2) */
	bool no_inherit;              /* true: child tasks of the counted tasks are not counted */
	bool user_only, kernel_only;
	bool sampling;
	/* The threads to count. All targets share one table of threads: only one target at a time
	 * can have threads. */
	const struct member *tasks;
	u32 ntasks;
	/* whole: option -p selected processes, and all threads of these are counted; threads:
	 * option -t selected single threads */
	bool whole, threads;
	bool every; /* true: every thread of the machine is counted, in its own row */
	struct cpuset cpus;
	u32 cgroups[16]; /* names of the cgroups to count: numbers of strings, see text_put() */
	u32 ncgroups;
	u8 split;                     /* enum split */
	u8 level; /* with SPLIT_CACHE: level of the caches that have rows; 0: the highest level */
	/* period: sampling period, freq: sampling frequency in Hz, of events that have neither of
	 * their own; period is not used if freq is not 0 */
	u64 period, freq;
	bool period_varies; /* true: perf_period() changes the sampling period during the run */
	/* number of samples in a ring at which poll(2) reports the ring; if watermark is set,
	 * number of bytes */
	u32 wakeup;
	bool watermark, callchain;
	bool build_ids;               /* true: the kernel is asked for build IDs in MMAP2 records */
	/* PERF_SAMPLE_* bits that the samples of all events have; the samples of some events have
	 * more */
	u32 fields;
	bool raw; /* true: samples of tracepoints include the tracepoint's fields */
	u32 limit; /* maximum number of samples of an event per CPU or task; 0: no limit */
};

/* Rights and features that the kernel granted or denied to the events that were opened. */
extern struct perf_opened {
	/* true: an event counts only user space, because the user may not count the kernel */
	bool user_only;
	bool build_ids; /* true: the kernel accepted the request for build IDs in MMAP2 records */
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

/* gpus_start() takes the first reading of all GPUs and their DRM clients; later calls do nothing.
 * gpus_sample() takes a further reading. */
void gpus_start(void);
void gpus_sample(void);
/* Starts the virtual counters. Must be called after all event names were looked up, and before the
 * process enters its sandbox. */
void virtual_start(void);
/* Returns when virtual_sample() or virtual_drain() has to be called again, so that no count is
 * lost: ns of CLOCK_MONOTONIC; -1: never. */
i64 virtual_due(void);
void virtual_drain(void);
/* reads the sources of all virtual counters: must be called before each series of virtual_read() */
void virtual_sample(void);
/* Callback that returns true if --device chose a GPU. device: index in devices[]; place: position
 * in gpustat's list of devices, from 0. If the callback is NULL, all GPUs are chosen. */
extern bool (*virtual_filter)(u32 device, u32 place);

/* true if all events SOURCE/NAME/ of this source are virtual counters */
bool virtual_source(struct str source);
bool virtual_find(struct str source, struct str name, struct event *ev);
u8 virtual_state(const struct event *ev);
bool virtual_read(const struct event *ev, u64 *v);
/* Opens the files and devices that virtual_list() reads. Must be called before the process enters
 * its sandbox. */
void virtual_prepare(void);
void virtual_list(void (*show)(struct str name, struct str unit, struct str what));
void virtual_engines(void (*found)(void *arg, struct str event), void *arg);
bool virtual_gpu_energy(struct buf *event);

/* --- sources/perf/gpuevents.c: events that GPU drivers count for all programs ----------------- */

/* Finds the event SOURCE/NAME/ of a GPU driver, and stores the unit of the event in *unit (empty if
 * it has none). The caller uses the event until gpuevent_release(). Returns the number of the
 * event, or -1 if there is no such event or the table of events is full. */
long gpuevent_find(struct str source, struct str name, struct str *unit);
/* Opens the GPUs whose events gpuevents_list() lists. Must be called before the process enters its
 * sandbox. */
void gpuevents_prepare(void);
/* Calls show() for each event of a GPU driver. source: "v3d" or "msm"; empty: both drivers. */
void gpuevents_list(struct str source,
		    void (*show)(struct str event, struct str unit, struct str what));
/* Starts to count all events that gpuevent_find() has found. */
void gpuevents_start(void);
void gpuevent_release(u32 number);
/* returns an enum cstate: CS_COUNTED, or the reason why the event is not counted */
u8 gpuevent_state(u32 number);
void gpuevents_read(void);
/* time (ns of CLOCK_MONOTONIC) at which gpuevents_read() must be called again, so that no counter
 * wraps; -1: never */
extern i64 gpuevents_due;
/* Stores in *v the event's count from its start to the last gpuevents_read(). False if the event
 * is not counted. */
bool gpuevent_value(u32 number, u64 *v);

/* --- sources/perf/ring.c: the ring buffers of perf events ------------------------------------- */

enum { MAX_RINGS = MAX_CPUS }; /* maximum number of rings: one per CPU */

/* number of samples and records that the kernel lost because a ring was full */
extern u64 rings_lost;
/* number of invalid records, plus number of times that the rest of a ring was skipped because of an
 * invalid record */
extern u64 rings_corrupt;

long rings_add(int fd, u32 pages);

/* The callbacks to which rings_drain() and rings_copy() pass the records of all rings. */
struct ring_reader {
	/* Returns the record format of the event with this kernel ID; id 0: the format that all
	 * events have in common. */
	const struct pformat *(*format)(u64 id);
	/* Called with each sample before the sample is decoded. Returns true if this callback has
	 * handled the sample, which then is not decoded. May be NULL. */
	bool (*again)(struct str sample);
	void (*handle)(const struct prec *r);
	/* is called with undecoded records, only by rings_copy() */
	void (*copy)(struct str records);
	/* Times (ns) that only rings_copy() sets. first: of the earliest record in this call;
	 * first_sample, last_sample: of the first and the last sample in all calls; 0: there was no
	 * such record. */
	u64 first, first_sample, last_sample;
};

u64 rings_drain(u64 until, const struct ring_reader *to);
u64 rings_copy(struct ring_reader *to);
void rings_close(void);

/* --- sources/perf/tpfields.c: the fields of a tracepoint ----------------------------------------
 */

/* The location of the bytes of a tracepoint's field in a sample. TP_HERE: the bytes are at the
 * field's offset. TP_DATA_LOC: the field is a 32-bit word with the offset and the size of the
 * bytes. TP_REL_LOC, since Linux 5.17: like TP_DATA_LOC, but the offset counts from the end of the
 * word. */
enum tpplace { TP_HERE, TP_DATA_LOC, TP_REL_LOC };
enum tpform { TP_NUMBER, TP_POINTER, TP_TEXT, TP_ARRAY };

struct tpfield {
	struct str name;
	u32 at, size;   /* offset and size of the field in the sample's payload, in bytes */
	/* size in bytes of the field if it is a number, or of one element if the field is an array;
	 * 0: unknown */
	u8 each;
	u8 place, form; /* place: a value of enum tpplace; form: a value of enum tpform */
	bool is_signed;
	bool common;    /* true: all tracepoints have this field; its name begins with common_ */
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
	/* number of tasks, memory maps, files and symbols that did not fit into the tables of
	 * symbols.c */
	u32 dropped;
	/* number of files whose symbols were not read, because the file server (network, FUSE) may
	 * not answer */
	u32 remote;
	bool hidden; /* true: the kernel hides the addresses of its symbols (kptr_restrict) */
	/* Callback for each task name and each memory map that was read from /proc, because the
	 * task started before the measurement. r: the record that the kernel would have written,
	 * with the time of the record that symbols_feed() got last. May be NULL. */
	void (*found)(const struct prec *r);
	/* true: memory map records passed to found() have the build IDs of their files */
	bool build_ids;
} symbols;

void symbols_preload(void);
enum { ALL_MODES = (1 << PM_MODES) - 1 };
void symbols_restrict(const struct target *t, i32 child);
bool symbols_restricted(void); /* true if the user may not see some of the recorded addresses */
u32 symbols_feed(const struct prec *r);
void symbols_task(u32 pid, u32 tid);
struct str symbols_comm(u32 pid, u32 tid);
bool symbols_in_pid_namespace(void);
bool symbols_kernel(struct prec *r);
void symbols_modules(void (*show)(const struct prec *r));
void symbols_file(const struct prec *r);
void symbols_ids(void (*show)(struct str id, struct str path));
bool symbol_find(u32 pid, u64 ip, u8 mode, struct str *symbol, struct str *module, u64 *offset);

/* The location of a symbol in a program: the result of symbol_place(). */
struct elf_place {
	/* address: in the process's memory or, without a process, as the file was linked; offset:
	 * byte offset of the symbol in the file */
	u64 address, offset;
	bool code;           /* true: the symbol is in an executable segment, and offset is valid */
	/* true: `address` is valid in the running program; false: the program is
	 * position-independent, and it is unknown where in memory it will be loaded */
	bool fixed;
};

long symbol_place(u32 pid, const char *file, struct str name, struct elf_place *to);
long symbol_kernel(struct str name, u64 *address);

/* --- sources/perf/measure.c: a measurement from its start to its end -------------------------- */

struct measure {
	struct target *target;
	char **argv;           /* the command, or NULL */
	bool repeats;          /* true: the command will be started again after this measurement */
	/* interval: ns between two readings of the counts; timeout: ns until the end of the
	 * measurement; 0: none */
	i64 interval, timeout;
	i64 first; /* length of the first interval in ns; 0: the same as `interval` */
	/* delay of the start of counting in ns; negative: counting starts at the command `enable`
	 * of --control */
	i64 delay;
	/* descriptors of --control: to read commands, to write answers; -1: none */
	int control, ack;
	bool keys;             /* true: measure_next() also returns if standard input is readable */
	bool scale;            /* true: counts are scaled by time_enabled / time_running */
	bool sampling; /* true: measure_next() also returns if a ring has reached its wakeup mark */
	u32 pages;             /* size of each ring in pages, a power of two */
	long rings; /* result of mapping the rings: 0, or the -errno of the failure */
	u64 limit;             /* maximum number of samples of all events together; 0: no limit */
	bool typed;            /* result of measure_next(): standard input is readable */
	bool woken;            /* result of measure_next(): a ring has reached its wakeup mark */
	/* Callback, or NULL: called when all events are open and the command waits before its
	 * exec(2). */
	void (*ready)(i32 child, bool repeats);
	/* State of the measurement. Times are in ns of CLOCK_MONOTONIC; 0: not reached yet. */
	i64 begun, start, last, dt, due, set_since, set_due, stopped;
	u32 set;
	bool on, stop;
	int status; /* exit status of the command as wait(2) returns it; negative: -errno */
	long failure;          /* reason why the command could not be run, as -errno; 0: none */
};

long measure_start(struct measure *m);
bool measure_next(struct measure *m);
void measure_whole(struct measure *m);

#endif
