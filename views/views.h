/* views.h - interface of views/: records, formats, metrics, the live screen, pictures.
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_H
#define VIEWS_H

#include "base.h"
#include "perfstream.h"
#include "counters.h"

struct tpfield; /* defined in sources/perf/perf.h */
struct oaprog;  /* defined in sources/oa/oa.h */
union oaval;    /* defined in sources/oa/oa.h */
struct named;   /* defined in sources/catalog/catalog.h */

/* --- views/profile.c: perf samples summed by comm, symbol, address or stack ------------------- */

enum proftable { PROF_COMM, PROF_SYMBOL, PROF_IP, PROF_STACK, PROF_TABLES };

struct profrow {
	struct str name;   /* task name (comm), function or folded stack */
	struct str module; /* file that contains the function or the address */
	u64 ip;
	u64 samples, period;
};

/* Sums over all samples of each profile table, including samples that did not fit in the table. */
extern struct profile_sums {
	u64 samples[PROF_TABLES], period[PROF_TABLES];
	u64 dropped; /* number of samples that did not fit in a profile table */
} profile_sums;
/* Allocates the first rows of the profile tables. sums: mask of the tables to use, bits 1 << enum
 * proftable. */
void profile_begin(u8 sums);

struct profrow *profile_add(u8 table, const struct profrow *r);
void profile_more(u8 table, struct profrow *row, u64 period);
size_t profile_sort(u8 table);
const struct profrow *profile_row(u8 table, size_t i);
void folded_frame(struct buf *b, struct str symbol, struct str module, u8 mode);
void folded_comm(struct buf *b, struct str comm);
void folded_row(struct buf *b, const struct profrow *r);

/* --- views/intervals.c: sums of the times that tasks wait for a CPU or are in system calls ---- */

struct interval {
	u64 key;       /* TID of the waiting task, or number of the system call */
	char comm[16]; /* name of the waiting task; "" if unknown or for a system call */
	u64 count, errors;
	u64 total, max; /* total: sum of all intervals; max: the longest interval; both in ns */
};

void intervals_begin(bool calls);
void intervals_lost(void);
void waits_want(u32 tid);
void waits_fork(u32 parent, u32 tid);
void waits_wakeup(u32 tid, struct str comm, u64 time);
void waits_out(u32 tid, struct str comm, bool ready, u64 time);
void waits_in(u32 tid, struct str comm, u64 time);
void calls_enter(u32 tid, u64 number, u64 time);
void calls_exit(u32 tid, u64 number, bool failed, u64 time);
void calls_end(u32 tid);
u64 intervals_dropped(void); /* number of intervals not summed because a table was full */
size_t intervals_sort(void);
const struct interval *intervals_row(size_t i);

/* --- views/syscalls.c: the names of system calls ---------------------------------------------- */

struct str syscall_name(u64 number);

/* --- views/repeat.c: reuses the text or sums of an earlier sample with the same content ------- */

struct repeat;

void repeats_ignore(u8 word);
struct repeat *repeat_of(struct str rec);
void repeats_forget(void);
void repeat_fill_text(struct repeat *to, struct str text, i64 time);
bool repeat_put_text(const struct repeat *from, struct buf *b, i64 time);
void repeat_fill_row(struct repeat *to, u8 table, struct profrow *row, u64 period);
bool repeat_sum(const struct repeat *from, u64 period);

/* --- views/perfdata.c: perf.data files, which `perf report` reads ----------------------------- */

struct pdevent {
	/* struct perf_event_attr as it was passed to the kernel; its size is the same for all
	 * events */
	struct str attr;
	struct str name;
	const u64 *ids;
	u32 nids;
	/* number of the event group; consecutive events with the same number belong to it; 0: no
	 * group */
	u16 group;
};

/* Numbers of the features of perf.data: sections that describe the machine and the events (HEADER_*
 * of perf's tools/perf/util/header.h). */
enum {
	PD_TRACING_DATA = 1, PD_BUILD_ID, PD_HOSTNAME, PD_OSRELEASE, PD_VERSION, PD_ARCH,
	PD_NRCPUS, PD_CPUDESC, PD_CPUID, PD_TOTAL_MEM, PD_CMDLINE, PD_EVENT_DESC,
	PD_CPU_TOPOLOGY, PD_NUMA_TOPOLOGY, PD_PMU_MAPPINGS = 16, PD_GROUP_DESC,
	PD_SAMPLE_TIME = 21, PD_CLOCKID = 23, PD_CPU_PMU_CAPS = 28, PD_CLOCK_DATA,
	PD_PMU_CAPS = 31, PD_FEATURES,
};

struct pdfeature {
	u8 number;
	struct str bytes; /* content of the feature's section; unused for PD_EVENT_DESC */
};

struct perfdata {
	struct buf b; /* buffer of the caller, 128 KiB or more: enough for two perf records */
	/* caller's function that appends n bytes to the file; returns 0 or -errno */
	long (*write)(const char *p, size_t n);
	/* caller's function that overwrites n bytes of the file from offset `at` on; returns 0 or
	 * -errno */
	long (*patch)(u64 at, const char *p, size_t n);
	const struct pdevent *events;
	u32 nevents;
	/* sample format of all events; it also determines the sample_id fields at the end of
	 * records that gpustat itself makes */
	struct pformat format;
	u64 attrs_at, data_at, written, features;
	long error; /* first error of write() or patch() as -errno; 0 if none */
};

void perfdata_begin(struct perfdata *d);
void perfdata_record(struct perfdata *d, const struct prec *r, u32 hidden);
void perfdata_records(struct perfdata *d, struct str records);
void perfdata_synthesize(struct perfdata *d, const struct prec *r);
void perfdata_finish_round(struct perfdata *d);
long perfdata_end(struct perfdata *d, const struct pdfeature *f, size_t n);
void perfdata_u32(struct buf *b, u32 v);
void perfdata_u64(struct buf *b, u64 v);
void perfdata_string(struct buf *b, struct str s);
bool perfdata_build_id(struct buf *b, u8 mode, struct str id, struct str name);

/* --- views/record.c: entities of records, besides those of counters.h ------------------------- */

/* An address in the code of a task or the kernel, with the function and file that contain it. */
struct frame {
	u64 ip, offset;
	u8 mode;                  /* mode of the CPU, enum pmode */
	/* name of the function and of the file that contains it; empty if unknown */
	struct str symbol, module;
};

enum { MAX_FRAMES = 512 }; /* maximum length of a call chain; 127 is the kernel's default */

/* One sample of a perf event, with the task and the code address at which the event overflowed. */
struct sample {
	struct entity e; /* entity of kind K_SAMPLE */
	const struct prec *r;
	/* index of the perf event in events[]; NONE if unknown, or if the record reports lost
	 * samples */
	u32 event;
	u64 period; /* number of counts that the sample stands for; 0 if unknown */
	struct str comm;
	struct frame at;
	struct frame chain[MAX_FRAMES];
	u32 nchain;
	struct {
		u32 event;
		u64 count;
	} group[MAX_GROUP]; /* counts of all events of the group (modifier :S) */
	u32 ngroup;
	/* fields of the event's tracepoint: array with nfields elements */
	const struct tpfield *fields;
	u32 nfields;
	bool common; /* true: also show the fields that all tracepoints have, such as common_pid */
};

/* One row of a profile: all samples with the same comm, function, address or stack. */
struct profile {
	struct entity e; /* entity of kind K_PROFILE */
	u8 table;        /* profile table of the row, enum proftable */
	const struct profrow *row;
};

/* Summed times of one task's waits for a CPU, or of all calls of one system call. */
struct timesum {
	struct entity e; /* entity of kind K_LATENCY (a task) or K_SYSCALL (a system call) */
	const struct interval *sum;
};

/* Counts of an OA unit: those between two consecutive reports, or their sums over several
 * reports. */
struct oarow {
	struct entity e;              /* entity of kind K_OA */
	struct str dev, set;          /* names of device and metric set; empty if unknown */
	u64 index; /* number of the report or sum, counted from the start of the stream */
	u64 reports; /* number of differences between two reports that this row sums up */
	/* how often the OA stream reported that reports were lost, since the previous row */
	u64 lost;
	/* header of the report; for a sum of reports only its timestamp is valid */
	const struct oareport *head;
	bool sum, has_cpu_time, has_ctx;
	u64 cpu_time, ctx;
	u64 ts_hz;                    /* frequency of the OA timestamp, Hz; 0 if unknown */
	const u64 *slots; /* raw counters, OA_SLOTS elements; NULL if nothing was counted */
	bool stored; /* true: slots[] has the raw values of one report, not differences */
	const struct oaprog *prog;
	/* values of the metric set's counters, computed by the equations in prog */
	const union oaval *values;
	/* option --raw: the raw counters in slots[] that are shown instead of the counters of prog;
	 * NULL without --raw */
	const struct oaplan *raw;
};

/* Samples of EU stalls at one instruction, or at all instructions together. */
struct stallrow {
	struct entity e;     /* entity of kind K_STALL */
	struct str dev;      /* name of the device; empty if unknown */
	bool has_ip;         /* false: the row is the sum over all instructions */
	u64 ip, sum; /* ip: address of the instruction; sum: sum of all elements of counts[] */
	u64 lost;            /* how often the GPU dropped samples since the previous row */
	const struct stallformat *format;
	const u64 *counts;   /* number of samples by stall reason, STALL_REASONS elements */
};

/* A selected named counter, its index in the list of all named counters, and the title of its
 * output column. */
struct picked {
	const struct named *counter;
	u32 index;
	struct str title;
};

/* The entity of a record with one named counter (K_COUNTER), or with all selected named counters
 * (K_COUNTERS). */
struct reading {
	struct entity e;
	const struct picked *picked;
	size_t n;
};

/* Indexes in run.facts[]: facts about the command that `gpustat run` has started, such as its exit
 * status. The command's use of one device is in the other members of struct run. */
enum runfact { RUN_STATUS, RUN_USER, RUN_SYSTEM, RUN_PROCESSES, RUN_RUNNING, RUN_READINGS,
	       RUN_OPENS, RUN_CLIENTS, RUN_ENDED, RUN_UNREAD, RUN_FACTS };

struct run {
	/* entity of kind K_RUN: its counters are the command's use of the device since its start,
	 * the maximum of its memory, and the energy of the device */
	struct entity e;
	/* readings from which commands/run.c computes the counters of e. first: values at the start
	 * of the command; level: memory at the last reading of the device */
	struct entity first, level;
	u32 device;      /* index in devices[]; NONE if the command used no device */
	struct str command;
	u64 used;        /* maximum of the device memory that the command has used, bytes */
	bool has_used;
	/* true: a part of the energy was not counted, but computed from power readings and time */
	bool estimated;
	/* busy: busy time of the whole device in ns; measured: total length in ns of the intervals
	 * in which the busy time of the device was known */
	u64 busy, measured;
	/* facts about the command, indexed by enum runfact; UINT64_MAX if unknown; times in ns */
	u64 facts[RUN_FACTS];
};

/* Returns how busy the whole device was, in 1/1000 %. The caller has checked that x->measured is
 * not 0. The result is rounded, because each interval may lose 1 ns of busy time. */
static inline u64 run_busy(const struct run *x)
{
	return muldiv(x->busy + x->measured / 200000, 100000, x->measured);
}

/* --- views/record.c: the schema: which fields the record of an entity has --------------------- */

extern const struct unitinfo {
	char name[8];
	/* values are stored as whole numbers of 10^-point of the unit, as the kernel reports
	 * them */
	u8 point;
} units[UNITS];

/* Types of values. V_DIGITS is a number that is too large for V_INT, stored as text. */
enum vtype { V_NULL, V_INT, V_TEXT, V_TIME, V_DIGITS };

struct val {
	u8 type;  /* type of the value, enum vtype */
	u8 unit;  /* unit of the value, enum unit */
	bool neg; /* V_INT: the value is negative, -n */
	u8 point; /* V_INT: number of decimal places in addition to units[unit].point */
	/* V_INT: the value as a whole number, without its decimal point; V_TIME: microseconds */
	u64 n;
	struct str s;
};

/* Places of a column's value in the JSON object of a record. */
enum shape {
	S_SCALAR, /* a record in JSON has "member": value */
	S_MEMBER, /* a record in JSON has "group": { "member": value } */
	S_INST,   /* a record in JSON has "group": { "instance": value } */
	S_BOTH,   /* a record in JSON has "group": { "instance": { "member": value } } */
	S_LIST,   /* a record in JSON has "group": [ value, ... ] */
};

/* Bits of column.when: the kinds of records that have the column, and properties of the column. */
enum {
	W_DEVICE = 1 << K_DEVICE, W_CLIENT = 1 << K_CLIENT, W_CGROUP = 1 << K_CGROUP,
	W_PROCESS = 1 << K_PROCESS, W_FDINFO = 1 << K_FDINFO, W_EVENT = 1 << K_EVENT,
	W_SAMPLE = 1 << K_SAMPLE,
	W_PROFILE = 1 << K_PROFILE, W_OA = 1 << K_OA, W_COUNTER = 1 << K_COUNTER,
	W_COUNTERS = 1 << K_COUNTERS, W_SOURCE = 1 << K_SOURCE, W_COMMAND = 1 << K_RUN,
	W_STALL = 1 << K_STALL, W_LATENCY = 1 << K_LATENCY, W_SYSCALL = 1 << K_SYSCALL,
	W_LIVE = 1 << 16,   /* records have the column if option -r is not used */
	W_RAW = 1 << 17, /* records have the column if option -r is used; so have fdinfo records */
	W_LIST = 1 << 18,   /* only records of the command `list` have the column */
	W_SPARSE = 1 << 19, /* the field is left out of a record if its value is unknown */
	W_TABLE = 1 << 20,  /* format table shows the column without -f */
	/* the value identifies the entity: each row of long CSV (csv without -f) has it, in a
	 * column or as a part of `instance` */
	W_ID = 1 << 21,
	/* the column describes the record itself and not the entity; it has no row in long CSV */
	W_META = 1 << 22,
	/* the value is a total since a start: it does not decrease during a run */
	W_TOTAL = 1 << 23,
	/* formats of metrics.c: the value becomes a label of the metrics of the record */
	W_LABEL = 1 << 24,
	/* formats of metrics.c, perfetto and chrome show the column only if -f names it */
	W_EXPLICIT = 1 << 25,
	/* the value is about the whole run, not about one entity: prom and openmetrics write it
	 * once per sample, not per record */
	W_RUN = 1 << 26,
};

struct column {
	const char *group, *member;
	u8 shape, unit;
	u8 id;    /* source of the value: a quantity (enum desc), or enum label of record.c */
	/* bits W_*: the kinds of records that have the column, and properties of the column */
	u32 when;
	const char *help;
};

extern const struct column columns[];
extern const size_t ncolumns;

struct field {
	const struct column *col;
	struct str inst;
	struct val v;
	/* true: the group or list has no values, and this field stands for it, without instance and
	 * value */
	bool empty;
};

enum {
	/* maximum number of fields in a record: scalars, and all counters of an entity, each in
	 * several columns */
	MAX_FIELDS = 8192,
	MAX_PIDS_SHOWN = MAX_FIELDS / 2,
	REC_TEXT = 64 << 10,
};

struct record {
	u8 kind;
	/* has_ratio: record_ratio() returns a ratio for the record's event; has_stalls:
	 * record_stall_ratio() does */
	bool has_ratio, has_stalls;
	/* true: all records of this kind have the same fields, in the same order, during the run */
	bool steady;
	const struct entity *e;
	const struct task *owner; /* owner of the client, or task of the process; or NULL */
	/* path of the entity's cgroup, or of its owner's cgroup; copied when it is first needed */
	struct str cgroup;
	/* path of the cgroup from which the member `container` was parsed */
	const char *container_path;
	struct container container;
	u32 lost; /* number of fields that did not fit in the record */
	u64 memory_size; /* size in bytes of the memory whose use is the field "used"; 0: unknown */
	size_t n, text_n;
	/* fields of the record, in memory that all records share: only one record is valid at a
	 * time */
	struct field *f;
	/* texts formatted for this record: REC_TEXT bytes that all records share */
	char *text;
};

/* Options for making records, the same for all records of a sample. */
struct recopts {
	bool raw, list;
	bool both;    /* show rates and, in addition, the totals that option -r shows */
	i64 time_us;  /* time of the sample on the clock of -t, us; negative if it has none */
	i64 dt_us;    /* interval of the sample, us; negative if it has none */
	const char *file;    /* fdinfo records: name of the file that was parsed */
	/* value of the field "summary": "min", "avg", "max" or "total"; NULL for other records */
	const char *summary;
};

/* Names of the kinds of records, by enum kind. Small builds have none for the last kinds. */
extern const char *const kind_names[];

/* Allocates the memory that all records share, if it is not allocated yet. Returns false if there
 * is no memory. */
bool record_alloc(void);
void record_clear(struct record *r, const struct entity *e);
void record_put(struct record *r, const struct column *c, struct str inst, const struct val *v);
void record_make(struct record *r, const struct entity *e, const struct recopts *o);
const struct ratio *record_ratio(const struct record *r);
const struct ratio *record_stall_ratio(const struct record *r);
void record_select(u8 kind, const struct str *patterns, size_t n, u32 when);
bool record_shows(u8 desc);
void record_site(struct buf *b, const struct entity *e, bool cgroup);
struct str symbol_name(struct str s);
bool record_descriptor(const struct record *r, u64 *fd);
const struct val *record_get(const struct record *r, const char *group, const char *member);
bool record_busy(const struct record *r, u64 *busy);
/* Values of an engine that a column can have: busy in per cent, busy time, cycles. Format line
 * shows one of them for each engine. */
enum engine_field { ENGINE_NONE, ENGINE_BUSY, ENGINE_TIME, ENGINE_CYCLES };
enum engine_field engine_field_of(const struct column *c);
bool field_match(const struct field *f, struct str pattern);
void field_name(struct buf *b, const char *dev, const struct field *f);
bool pattern_known(struct str pattern, u8 kind);
void pattern_nearest(struct nearest *n, u8 kind);

/* Indexes in plotids.text[]: the texts that identify the entity of a value in a recording. Two
 * values that differ in one of the texts from ID_CLIENT on belong to different entities. */
enum plotid {
	ID_KIND, ID_DEV, ID_EVENT, ID_COMM, ID_NAME, ID_UNIT, ID_CLIENT, ID_PID, ID_CGROUP, ID_SET,
	ID_CPU, ID_CORE,
	ID_SOCKET, ID_TID, ID_DIE, ID_CLUSTER, ID_CACHE, ID_NODE, ID_COUNT
};

struct plotids {
	struct str text[ID_COUNT];
};

size_t plot_id(struct str name);
u16 plot_kind(const struct plotids *id);

/* --- views/ratios.c: the ratio of a perf event's count to another one, as in perf stat -------- */

bool ratio_find(const struct entity *e, struct ratio *x);
bool ratio_stalls(const struct entity *e, struct ratio *x);
void put_ratio(struct buf *b, const struct ratio *x, const char *between);
void put_times(struct buf *b);

/* --- views/summary.c: min, avg and max of each value over a run or interval (-S, --inner) ----- */

void summary_add(const struct record *r);
void summary_reset(void);
void summary_apply(struct record *r, const char *which);

/* --- views/out.c: output formats (-o) --------------------------------------------------------- */

enum timefmt { T_DEFAULT, T_NONE, T_EPOCH, T_ISO, T_MONO };

/* Maximum number of patterns of -f, and of output columns: enough for all counters of a metric set
 * and all other fields. */
enum { MAX_PATTERNS = MAX_OA_COUNTERS + 64, MAX_CELLS = MAX_PATTERNS };

/* A column of the output, in formats line, table, plain and csv. */
struct cell {
	struct str title;
	/* the output column shows fields of this schema column with instance `inst` */
	const struct column *col;
	char *inst; /* name of the instance: inst_n bytes in one row of out.insts */
	u8 inst_n;
	/* pattern of -f, which is the title if `title` is empty, and selects the field if `col` is
	 * NULL; NULL: the column has no pattern */
	const struct str *pattern;
	u16 order;          /* index in out.patterns of the pattern that selects this column */
	/* index in record.f[], plus 1, at which the field of this column was found in the last
	 * record, or record.n + 1 if it was not found; 0 if no record was searched yet */
	u16 place;
	/* format line: predefined column whose function put() writes the cell; NULL if the cell has
	 * only the value of a field */
	const struct line_column *predefined;
	/* Widths of the column in characters. width: used for output; needed: of the widest value;
	 * least: that ENGINES needs if idle engines are not shown. */
	u16 width, needed, least;
	bool right;
	bool known;  /* a value was known in the sample from which the widths were chosen */
	/* true: the column is not shown, because the line is too wide for the terminal */
	bool hidden;
	bool leaf; /* true: the title is the full name of the field, GROUP.INSTANCE.MEMBER */
};

struct out {
	const struct format *fmt;
	const struct str *patterns; /* array with npatterns patterns of -f, which select fields */
	size_t npatterns;
	/* function that is called for each record before it is written; may be NULL */
	void (*note)(struct out *o, const struct record *r);
	/* format csv: true to write no ' before a text that a spreadsheet would interpret as a
	 * formula */
	bool csv_exact;
	bool no_header, one_line, colour, list, summary;
	bool once;     /* the run has only one sample: its time is not shown */
	bool inner;    /* --inner: records sum up several readings and have a time of their own */
	/* The event records of this run have fields that say: where the event was counted (sites);
	 * how many counts were summed (summed); the deviation of repetitions (repeats); the event
	 * set (sets). */
	bool sites, summed, repeats, sets;
	/* OA records. reports: there is one record per OA report; contexts: one per OA context. */
	bool reports, contexts;
	const char *separator; /* format perf-csv: text between two fields; NULL for a comma */
	bool unmarked;  /* format perf-csv: lines about the whole run do not begin with "summary" */
	u16 width;  /* width of the terminal, characters; 0 if lines may have any width */
	u16 height; /* height of the terminal, lines; 0 if the header is not repeated */
	u8 time;   /* format of times (-t), enum timefmt */
	bool grouped; /* format line: counts have commas between the thousands, as 1,234,567 */
	i32 offset; /* offset of local time from UTC, in seconds east */
	/* The members of struct out from `host` to `self_bytes` are for the formats of metrics.c;
	 * the formats of timeline.c use `now`, too. */
	const char *host; /* graphite, statsd, collectd: name of this machine; NULL: localhost */
	i64 now;          /* time of this sample: ns on CLOCK_REALTIME */
	i64 interval;     /* format collectd: time between two samples, ns; 0 if unknown */
	u64 self_ns, self_bytes; /* CPU time and resident memory of this process; 0: unknown */
	/* Formats perfetto and chrome. run: a number that no other run has; monotonic, boottime:
	 * time of this sample on CLOCK_MONOTONIC and CLOCK_BOOTTIME in ns, 0 if unknown. */
	u32 run;
	i64 monotonic, boottime;
	/* The members of struct out from `headed` on are the state of the output between two
	 * records. */
	bool headed;     /* true after the header was written; format svg: after the first record */
	bool ran;        /* format table: true after the first sample */
	/* option -1: 0 if the current line has no record yet, 1 if it has at least one; format
	 * line: 2 if it has two or more */
	u8 line_records;
	/* lines: number of lines since the last header, including the header; sample_lines: number
	 * of lines of the current sample */
	size_t lines, sample_lines;
	u8 kind;
	/* ncells: number of elements used in cells[]; lost: number of columns or metric series that
	 * did not fit */
	size_t ncells, lost;
	u16 shown[MAX_CELLS];    /* indexes in cells[] of the output columns, from left to right */
	struct cell cells[MAX_CELLS];
	char insts[MAX_CELLS][MAX_NAME];
};

const struct format *format_find(struct str name);
const char *format_left_out(struct str name);
const struct format *format_next(const struct format *f);
void put_quoted(struct buf *b, struct str s);
void put_text_member(struct buf *b, const char *key, struct str text);
struct str format_name(const struct format *f);
void put_iso(struct buf *b, u64 us);
bool format_shows(const struct format *f, u8 kind);
bool format_raw(const struct format *f);
bool format_is_folded(const struct format *f);
bool format_is_perfdata(const struct format *f);
bool format_is_stateless(const struct format *f);
bool format_has_all_fields(const struct format *f);
bool format_has_one_line(const struct format *f);
bool format_has_field_columns(const struct format *f);
bool format_replaces_file(const struct format *f);
bool format_has_totals(const struct format *f);
bool format_writes_lines(const struct format *f);
bool format_has_file_header(const struct format *f);
bool format_covers_run(const struct format *f);
bool format_has_time_axis(const struct format *f);
bool format_is_monotonic(const struct format *f);
bool format_is_binary(const struct format *f);
bool format_has_names(const struct format *f);
bool format_has_udp(const struct format *f);
bool format_is_document(const struct format *f);
void put_number(struct buf *b, const struct val *v);
bool put_logfmt(struct buf *b, const struct out *o, const struct record *r, size_t i, bool first);
bool out_selects(const struct out *o, const struct field *f);
enum { MAX_WORDS = 16 /* maximum number of fields of a GPU in format line */ };
size_t out_default_fields(const struct out *o, struct str words[MAX_WORDS], u32 *when);
void put_field_name(struct buf *b, const struct column *c, struct str inst,
		    void (*put)(struct buf *, struct str));
void put_leaf(struct buf *b, const struct column *c, struct str inst);
struct str csv_unguarded(struct str cell);
void out_add_title(struct out *o, struct str title);
bool out_lacks(const struct out *o, const struct field *f);
bool out_has_footer(const struct out *o);
bool out_measures(const struct out *o);
void out_measure(struct out *o, const struct record *r);
void out_record(struct out *o, struct buf *b, const struct record *r);
bool out_end(struct out *o, struct buf *b);
void out_fields(struct buf *b, u8 kind);
void put_human(struct buf *b, struct val v);

/* --- views/metrics.c: fields as metric families, for time series databases -------------------- */

/* Formats prom and openmetrics: a sample is a document of metric families, in which each series
 * occurs once. */
void prom_record(struct out *o, struct buf *b, const struct record *r);
bool prom_end(struct out *o, struct buf *b);
bool openmetrics_end(struct out *o, struct buf *b);
/* Formats that write one line for each value; influx writes one line for each group of values. */
void influx_record(struct out *o, struct buf *b, const struct record *r);
void graphite_record(struct out *o, struct buf *b, const struct record *r);
void statsd_record(struct out *o, struct buf *b, const struct record *r);
void collectd_record(struct out *o, struct buf *b, const struct record *r);
/* Format kmsg: one line of the kernel log for each sample. */
void kmsg_record(struct out *o, struct buf *b, const struct record *r);
bool kmsg_end(struct out *o, struct buf *b);

/* --- views/timeline.c: traces for Perfetto and for Chrome, an optional feature ---------------- */

void perfetto_record(struct out *o, struct buf *b, const struct record *r);
void chrome_record(struct out *o, struct buf *b, const struct record *r);

/* --- views/screen.c: cells that are drawn on a terminal, and keys that are pressed ------------ */

/* Maximum size of the grid of cells that is drawn; a terminal with more cells would not be
 * readable. */
enum { SCREEN_ROWS = 200, SCREEN_COLS = 500 };

/* Style of a cell: one of 7 colours or none, and attributes. */
enum style { RED = 1, GREEN, YELLOW, BLUE, MAGENTA, CYAN, GREY, BOLD = 8, REVERSE = 16 };
enum { COLOUR = 7 /* mask of the colour bits in a style, RED to GREY; 0: no colour */ };

struct screen {
	u16 rows, cols;
	bool ascii, plain; /* ascii: only ASCII characters are drawn; plain: no colours */
	/* true: the terminal shows the cells in `was`; false: its content is unknown, so that the
	 * next frame writes all cells */
	bool known;
	struct screen_row {
		u32 now[SCREEN_COLS], was[SCREEN_COLS];
	} *grid; /* array with at least `rows` elements, which the caller provides */
};

void screen_size(struct screen *s, size_t rows, size_t cols);
void screen_clear(struct screen *s);
void screen_char(struct screen *s, int row, int col, u8 style, u32 c);
int screen_put(struct screen *s, int row, int col, int width, u8 style, struct str text);
void screen_frame(struct screen *s, struct buf *b);

/* Codes of keys that are not characters. The code of a character key is the character. KEY_F1 to
 * KEY_F10 are consecutive. */
enum key {
	KEY_ESC = 033, KEY_FIRST = 0x100, KEY_UP = KEY_FIRST, KEY_DOWN, KEY_RIGHT, KEY_LEFT,
	KEY_HOME, KEY_END, KEY_PGUP,
	KEY_PGDN, KEY_F1, KEY_F2, KEY_F3, KEY_F4, KEY_F5, KEY_F6, KEY_F7, KEY_F8, KEY_F9, KEY_F10,
};

struct keys {
	/* state of the parser, KS_* of screen.c; first number of the current escape sequence */
	u8 state, n;
	bool more;   /* true: the current escape sequence has more than one number */
};

u16 key_feed(struct keys *k, u8 c);
u16 key_timeout(struct keys *k);

/* --- views/profileview.c: drawing of the live screen of `gpustat sample --live` --------------- */

struct profhead {
	struct str event;
	u64 samples, lost, seconds;
};

void profile_draw(struct screen *s, const struct profhead *h, u8 tables, u64 top);

/* --- views/topview.c: drawing of the live screen of `gpustat top` ----------------------------- */

/* HISTORY: number of samples that are kept for a graph, more than the widest graph shows. */
enum { HISTORY = 512, FILTER_BYTES = 64 };
enum topmode { TOP_LIST, TOP_FILTER, TOP_SORT, TOP_HELP,
	       /* not a mode: index in hints[] of the hints about keys for TOP_LIST while a recorded
	        * run is replayed */
	       TOP_REPLAY };

struct top {
	/* The members of struct top from `devs` to `high` are the data that the screen shows. */
	/* indexes of devices and clients, filtered and sorted by the caller */
	const u32 *devs, *rows;
	size_t ndevs, nrows, nall; /* nall: number of clients before filtering */
	i64 interval;
	/* columns (wide) and lines (high) of the terminal if it is larger than the grid that is
	 * drawn (struct screen); otherwise wide is 0 */
	size_t wide, high;
	/* The members of struct top from `mode` to `on_devices` are chosen by the user. */
	/* mode: enum topmode; sort: column by which clients are sorted; choice: column under the
	 * cursor of the sort menu */
	u8 mode, sort, choice;
	bool inverted, frozen, on_devices;
	/* Callback that makes the record of a client or process in *r. row: an element of
	 * rows[]. */
	void (*row_make)(struct record *r, u32 row);
	/* Replay of a recorded run. replay: true if there is one; ended: true after its last
	 * sample; percent: position in the file; speed: the replay is 2^speed times as fast as the
	 * run was; time: time of the current sample in us, or -1 if unknown; malformed: number of
	 * malformed lines. */
	bool replay, ended;
	u8 percent;
	int speed;
	i64 time;
	u64 malformed;
	/* at: index in rows[] of the row under the cursor; first: index in rows[] of the first
	 * client shown; left: number of columns scrolled out at the left; dev_first: index in
	 * devs[] of the first device shown; help_first: first line of the help shown */
	size_t at, first, left, dev_first, help_first;
	char filter[FILTER_BYTES];
	u8 filter_n;
	/* number of clients (page), devices (dev_page) and lines of help (help_page) that fitted on
	 * the last drawn screen */
	size_t page, dev_page, help_page;
};

extern const u8 top_ncolumns;

bool top_device(const struct record *r, bool first);
bool top_match(const struct top *t, const struct record *r);
void top_forget(void);
struct str top_field(u8 column);
u8 top_column(struct str field);
u8 top_column_of_key(u16 key);
void top_draw(struct screen *s, struct top *t, struct record *r);

/* --- views/svg.c: the values of a run as an SVG picture --------------------------------------- */

void svg_begin(i64 time_us, i64 dt_us);
void svg_put(const struct plotids *id, const struct column *c, struct str inst, const struct val *v,
	     bool chosen);
void svg_unit(struct str unit);
void svg_record(struct out *o, struct buf *b, const struct record *r);
bool svg_end(struct out *o, struct buf *b);

/* --- views/tar.c: headers of the members of a tar file, an optional feature ------------------- */

/* TAR_HEAD: maximum size in bytes of the header of a member of a tar file: that of a symbolic link
 * with a target of 1023 bytes. */
enum { TAR_BLOCK = 512, TAR_HEAD = 5 * TAR_BLOCK };
enum { TAR_FILE = '0', TAR_LINK = '2', TAR_FOLDER = '5' };

struct tarhead {
	struct str name, link;
	/* size: size in bytes; mtime: time of the last change in seconds since 1970 */
	u64 size, mtime;
	u16 mode;
	char type;
};

/* Appends the header of a member of a tar file. The caller appends the member's content after it
 * and calls tar_pad(). Returns false if the name is too long. */
bool tar_put(struct buf *b, const struct tarhead *m);
/* pads a member of `size` bytes with zeros to a full block */
void tar_pad(struct buf *b, u64 size);

#endif
