/* views.h - interface of views/: records, formats, metrics, the live screen, pictures.
 * SPDX-License-Identifier: MIT */
#ifndef VIEWS_H
#define VIEWS_H

#include "base.h"
#include "perfstream.h"
#include "counters.h"
#include "sources/perf/perf.h"
#include "sources/oa/oa.h"
#include "sources/catalog/catalog.h"

/* --- views/profile.c: sums of samples --------------------------------------------------------- */

enum proftable { PROF_COMM, PROF_SYMBOL, PROF_IP, PROF_STACK, PROF_TABLES };

struct profrow {
	struct str name;   /* comm, symbol or folded stack */
	struct str module; /* of symbols and ips */
	u64 ip;
	u64 samples, period;
};

/* Sums over all samples, with those that had no room in the table. */
extern struct profile_sums {
	u64 samples[PROF_TABLES], period[PROF_TABLES];
	u64 dropped; /* samples that had no room */
} profile_sums;
/* Allocates the first rows of the tables in `sums`, a mask of 1 << enum proftable. */
void profile_begin(u8 sums);

struct profrow *profile_add(u8 table, const struct profrow *r);
void profile_more(u8 table, struct profrow *row, u64 period);
size_t profile_sort(u8 table);
const struct profrow *profile_row(u8 table, size_t i);
void folded_frame(struct buf *b, struct str symbol, struct str module, u8 mode);
void folded_comm(struct buf *b, struct str comm);
void folded_row(struct buf *b, const struct profrow *r);

/* --- views/intervals.c: the times that tasks wait for a CPU or are in system calls ------------ */

struct interval {
	u64 key;       /* of waits the TID; the number of the system call */
	char comm[16]; /* of waits; "": unknown */
	u64 count, errors;
	u64 total, max; /* ns */
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
u64 intervals_dropped(void); /* intervals that had no room */
size_t intervals_sort(void);
const struct interval *intervals_row(size_t i);

/* --- views/syscalls.c: the names of system calls ---------------------------------------------- */

struct str syscall_name(u64 number);

/* --- views/repeat.c: samples that equal an earlier one but for their time --------------------- */

struct repeat;

struct repeat *repeat_of(struct str rec, u64 ignored);
void repeats_forget(void);
void repeat_fill_text(struct repeat *to, struct str text, i64 time_us);
bool repeat_put_text(const struct repeat *from, struct buf *b, i64 time_us);
void repeat_fill_row(struct repeat *to, u8 table, struct profrow *row, u64 period);
bool repeat_sum(const struct repeat *from, u64 period);

/* --- views/perfdata.c: the file that `perf report` reads -------------------------------------- */

struct pdevent {
	struct str attr; /* struct perf_event_attr as passed to the kernel; all of the same size */
	struct str name;
	const u64 *ids;
	u32 nids;
	u16 group; /* consecutive events of one number are a group; 0: none */
};

/* The numbers of features: parts of the file that describe the machine and the events. */
enum {
	PD_TRACING_DATA = 1, PD_BUILD_ID, PD_HOSTNAME, PD_OSRELEASE, PD_VERSION, PD_ARCH,
	PD_NRCPUS, PD_CPUDESC, PD_CPUID, PD_TOTAL_MEM, PD_CMDLINE, PD_EVENT_DESC,
	PD_CPU_TOPOLOGY, PD_NUMA_TOPOLOGY, PD_PMU_MAPPINGS = 16, PD_GROUP_DESC,
	PD_SAMPLE_TIME = 21, PD_CLOCKID = 23, PD_CLOCK_DATA = 29, PD_FEATURES = 32,
};

struct pdfeature {
	u8 number;
	struct str bytes; /* PD_EVENT_DESC needs none */
};

struct perfdata {
	struct buf b; /* the caller's buffer, 128 KiB or more: two records */
	long (*write)(const char *p, size_t n);         /* writes all n bytes: 0, or -errno */
	long (*patch)(u64 at, const char *p, size_t n); /* the same, overwriting at this offset */
	const struct pdevent *events;
	u32 nevents;
	struct pformat format; /* of the first event: sample_id fields of synthesized records */
	u64 attrs_at, data_at, written, features;
	long error; /* the first -errno */
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

/* --- views/record.c: samples ------------------------------------------------------------------ */

/* An address in the code, resolved. */
struct frame {
	u64 ip, offset;
	u8 mode;                  /* enum pmode */
	struct str symbol, module; /* empty: unknown */
};

enum { MAX_FRAMES = 512 }; /* kernel.perf_event_max_stack is 127 by default */

/* One overflow of an event, with its task and its place in the code. */
struct sample {
	struct entity e; /* K_SAMPLE */
	const struct prec *r;
	u32 event; /* NONE: unknown, or a record of lost samples */
	u64 period; /* 0: unknown */
	struct str comm;
	struct frame at;
	struct frame chain[MAX_FRAMES];
	u32 nchain;
	struct {
		u32 event;
		u64 count;
	} group[MAX_GROUP]; /* :S */
	u32 ngroup;
	const struct tpfield *fields; /* of a tracepoint */
	u32 nfields;
	bool common; /* the fields that all tracepoints have are shown, too */
};

/* One row of a profile. */
struct profile {
	struct entity e; /* K_PROFILE */
	u8 table;        /* enum proftable */
	const struct profrow *row;
};

/* The waits of a task, or the calls of a system call, in sum. */
struct timesum {
	struct entity e; /* K_LATENCY, K_SYSCALL */
	const struct interval *sum;
};

/* The counts of an OA unit between two consecutive reports, or summed over several. */
struct oarow {
	struct entity e;              /* K_OA */
	struct str dev, set;          /* empty: unknown */
	u64 index;                    /* of the report, or of the sum */
	u64 reports;                  /* deltas that are summed */
	u64 lost;                     /* records of losses since the row before */
	const struct oareport *head;  /* of the report; for a sum only its timestamp is valid */
	bool sum, has_cpu_time, has_ctx;
	u64 cpu_time, ctx;
	u64 ts_hz;                    /* 0: unknown */
	const u64 *slots;             /* OA_SLOTS; NULL: nothing was counted */
	bool stored;                  /* slots are the report's values, not deltas */
	const struct oaprog *prog;
	const union oaval *values;    /* of prog's counters */
	const struct oaplan *raw;     /* --raw: the plan whose slots are shown; prog is not used */
};

/* Samples of EU stalls at one instruction, or at all of them. */
struct stallrow {
	struct entity e;     /* K_STALL */
	struct str dev;      /* empty: unknown */
	bool has_ip;
	u64 ip, sum;         /* sum: of counts[] */
	u64 lost;            /* times that the GPU dropped samples, since the row before */
	const struct stallformat *format;
	const u64 *counts;   /* STALL_REASONS */
};

/* A selected counter of the catalogue and its index; title: of its column. */
struct picked {
	const struct named *counter;
	u32 index;
	struct str title;
};

/* One counter (K_COUNTER), or all counters of a sample in one record (K_COUNTERS). */
struct reading {
	struct entity e;
	const struct picked *picked;
	size_t n;
};

/* The use of one device by a command, in total (gpustat run). */
enum runfact { RUN_STATUS, RUN_USER, RUN_SYSTEM, RUN_PROCESSES, RUN_RUNNING, RUN_READINGS,
	       RUN_OPENS, RUN_CLIENTS, RUN_ENDED, RUN_UNREAD, RUN_FACTS };

struct run {
	struct entity e; /* K_RUN: use since the start; the most memory; energy of the device */
	struct entity first, level; /* readings from which e is computed, see commands/run.c */
	u32 device;      /* NONE: there is none */
	struct str command;
	u64 used;        /* the most memory, bytes */
	bool has_used;
	bool estimated;  /* energy: the sum of power readings */
	u64 facts[RUN_FACTS]; /* UINT64_MAX: unknown; times in ns */
};

/* --- views/record.c: the schema: from an entity to the fields of its record ------------------- */

extern const struct unitinfo {
	char name[8];
	u8 point; /* the kernel's unit is 10^-point of this one */
} units[UNITS];

enum vtype { V_NULL, V_INT, V_TEXT, V_TIME, V_DIGITS /* a number too large for V_INT, as text */ };

struct val {
	u8 type;  /* enum vtype */
	u8 unit;  /* enum unit */
	bool neg; /* V_INT: minus n */
	u8 point; /* V_INT: decimals in addition to those of the unit */
	u64 n;    /* V_INT: in 10^-point of the unit; V_TIME: microseconds */
	struct str s;
};

enum shape {
	S_SCALAR, /* "member": value */
	S_MEMBER, /* "group": { "member": value } */
	S_INST,   /* "group": { "instance": value } */
	S_BOTH,   /* "group": { "instance": { "member": value } } */
	S_LIST,   /* "group": [ value, ... ] */
};

/* The kinds of records that have a column, and its properties. */
enum {
	W_DEVICE = 1 << K_DEVICE, W_CLIENT = 1 << K_CLIENT, W_CGROUP = 1 << K_CGROUP,
	W_PROCESS = 1 << K_PROCESS, W_FDINFO = 1 << K_FDINFO, W_EVENT = 1 << K_EVENT,
	W_SAMPLE = 1 << K_SAMPLE,
	W_PROFILE = 1 << K_PROFILE, W_OA = 1 << K_OA, W_COUNTER = 1 << K_COUNTER,
	W_COUNTERS = 1 << K_COUNTERS, W_SOURCE = 1 << K_SOURCE, W_COMMAND = 1 << K_RUN,
	W_STALL = 1 << K_STALL, W_LATENCY = 1 << K_LATENCY, W_SYSCALL = 1 << K_SYSCALL,
	W_LIVE = 1 << 16,   /* without -r */
	W_RAW = 1 << 17,    /* with -r, and in fdinfo records */
	W_LIST = 1 << 18,   /* only for `list` */
	W_SPARSE = 1 << 19, /* left out if null */
	W_TABLE = 1 << 20,  /* shown by `table` without -f */
	W_ID = 1 << 21,     /* long CSV: a column of its own, or part of the instance column */
	W_META = 1 << 22,   /* about the record; has no row in long CSV */
	W_TOTAL = 1 << 23,  /* counted since the start: does not decrease during a run */
	W_LABEL = 1 << 24,  /* metrics: a label */
	W_EXPLICIT = 1 << 25, /* metrics: only if -f names it */
	W_RUN = 1 << 26,    /* metrics: about the run, not the record: once in an exposition */
};

struct column {
	const char *group, *member;
	u8 shape, unit;
	u8 id;    /* source of the value: enum desc, or enum label of record.c */
	u32 when; /* W_* */
	const char *help;
};

extern const struct column columns[];
extern const size_t ncolumns;

struct field {
	const struct column *col;
	struct str inst;
	struct val v;
	bool empty; /* placeholder for a group or list without values */
};

enum {
	MAX_FIELDS = 8192, /* all counters of an entity, each in several columns, and the scalars */
	MAX_PIDS_SHOWN = MAX_FIELDS / 2,
	REC_TEXT = 64 << 10,
};

struct record {
	u8 kind;
	bool has_ratio, has_stalls; /* of an event to another one: see record_ratio() */
	bool steady; /* all such records of this run have the same fields, in the same order */
	const struct entity *e;
	const struct task *owner; /* of a client, or NULL */
	struct str cgroup;        /* of a cgroup, or of a client's owner, once it was needed */
	const char *container_path; /* the path that `container` was parsed from */
	struct container container;
	u32 lost; /* fields that had no room */
	u64 memory_size; /* bytes of the memory that the field "used" is about; 0: unknown */
	size_t n, text_n;
	/* in record.c's table, which all records share: only one is valid at a time */
	struct field *f;
	/* REC_TEXT bytes of the same table, for texts that are formatted for the record */
	char *text;
};

/* Options of record_make(), the same for all records of a sample. */
struct recopts {
	bool raw, list;
	bool both;    /* rates and, beside them, the totals of -r */
	i64 time_us;  /* on the clock of -t; negative: none */
	i64 dt_us;    /* since the sample before; negative: none */
	const char *file;    /* fdinfo */
	const char *summary; /* "min", "avg", "max" of -S, or NULL */
};

extern const char *const kind_names[]; /* by enum kind, up to the last one of the build */

bool record_alloc(void); /* allocates the first record, as record_make() does; false: no memory */
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
/* The values of an engine that a line can show. */
enum engine_field { ENGINE_NONE, ENGINE_BUSY, ENGINE_TIME, ENGINE_CYCLES };
enum engine_field engine_field_of(const struct column *c);
bool field_match(const struct field *f, struct str pattern);
void field_name(struct buf *b, const char *dev, const struct field *f);
bool pattern_known(struct str pattern, u8 kind);
void pattern_nearest(struct nearest *n, u8 kind);

/* Texts of a record that identify the entity of a value, as they were written. From ID_CLIENT on: a
 * different text means a different entity. */
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

/* --- views/summary.c: min, avg and max -------------------------------------------------------- */

void summary_add(const struct record *r);
void summary_reset(void);
void summary_apply(struct record *r, const char *which);

/* --- views/out.c: formats ---------------------------------------------------------- */

enum timefmt { T_DEFAULT, T_NONE, T_EPOCH, T_ISO, T_MONO };

/* all counters of a metric set, and all other fields */
enum { MAX_PATTERNS = MAX_OA_COUNTERS + 64, MAX_CELLS = MAX_PATTERNS };

/* A column of `line` or `table`. */
struct cell {
	struct str title;
	const struct column *col; /* table: shows the fields of col with this inst */
	char *inst; /* one of out.insts */
	u8 inst_n;
	const struct str *pattern; /* -f: the title, if it is not the name of col */
	u16 order;          /* index of the pattern */
	u16 place;          /* index of the field in the last record, plus 1; 0: unknown */
	const struct layout *layout; /* line */
	/* in characters; needed: by the values; least: ENGINES without idle ones */
	u16 width, needed, least;
	bool right;
	bool known;  /* a record of the measured sample has a value */
	bool hidden; /* there is no room */
	bool leaf;          /* the title is the whole name of the field */
};

struct out {
	const struct format *fmt;
	const struct str *patterns; /* -f */
	size_t npatterns;
	/* called for each record before it is written; NULL: nothing */
	void (*note)(struct out *o, const struct record *r);
	bool csv_exact; /* csv: no ' in front of text that a spreadsheet takes for a formula */
	bool no_header, one_line, colour, list, summary;
	bool once;     /* a single sample: the time is not shown */
	bool inner;    /* --inner: each sample is a summary, with its own time */
	bool sites, summed, repeats, sets; /* event records: the columns that distinguish them */
	bool reports, contexts; /* oa records: one for each report; for each context */
	const char *separator; /* perf-csv; NULL: a comma */
	bool unmarked;  /* perf-csv: records of the whole run are not named as such */
	u16 width;  /* of the terminal, in characters; 0: lines may have any width */
	u16 height; /* of the terminal, in lines: the header is repeated; 0: it is not */
	u8 time;   /* enum timefmt */
	bool grouped; /* line: a comma between the thousands of a count */
	i32 offset; /* of local time, in seconds east */
	/* metrics */
	const char *host; /* graphite, statsd, collectd: name of this machine; NULL: unknown */
	i64 now;          /* time of this sample: ns on CLOCK_REALTIME */
	i64 interval;     /* ns, collectd; 0: unknown */
	u64 self_ns, self_bytes; /* CPU time and resident memory of this process; 0: unknown */
	/* timelines: a number that other runs do not have; `now` on two other clocks, 0: unknown */
	u32 run;
	i64 monotonic, boottime;
	/* kept between records */
	bool headed;     /* the header is written (svg: there was a record) */
	bool ran;        /* table: a sample is written */
	u8 line_records; /* records on this line so far, at most 2 */
	size_t lines, sample_lines; /* since the last header, which counts; of this sample */
	u8 kind;
	size_t ncells, lost; /* columns in the table; columns that had no room in it */
	u16 shown[MAX_CELLS];    /* indexes of cells, from left to right */
	struct cell cells[MAX_CELLS];
	char insts[MAX_CELLS][MAX_NAME];
};

const struct format *format_find(struct str name);
const char *format_left_out(struct str name);
const struct format *format_next(const struct format *f);
void put_quoted(struct buf *b, struct str s);
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
enum { MAX_WORDS = 16 /* fields of a line, which has ten columns */ };
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

/* Formats where a sample is a complete document: metric families in order, each series once. */
void prom_record(struct out *o, struct buf *b, const struct record *r);
bool prom_end(struct out *o, struct buf *b);
bool openmetrics_end(struct out *o, struct buf *b);
/* Formats with one line for each value. */
void influx_record(struct out *o, struct buf *b, const struct record *r);
void graphite_record(struct out *o, struct buf *b, const struct record *r);
void statsd_record(struct out *o, struct buf *b, const struct record *r);
void collectd_record(struct out *o, struct buf *b, const struct record *r);
/* One line of the kernel log for each sample. */
void kmsg_record(struct out *o, struct buf *b, const struct record *r);
bool kmsg_end(struct out *o, struct buf *b);

/* --- views/timeline.c: traces for Perfetto and for Chrome, an optional feature ---------------- */

void perfetto_record(struct out *o, struct buf *b, const struct record *r);
void chrome_record(struct out *o, struct buf *b, const struct record *r);

/* --- views/screen.c: a terminal: its cells and its keys --------------------------------------- */

enum { SCREEN_ROWS = 200, SCREEN_COLS = 500 /* more than any readable terminal has */ };

/* Style of a cell: one of 8 colours, and attributes. */
enum style { RED = 1, GREEN, YELLOW, BLUE, MAGENTA, CYAN, GREY, BOLD = 8, REVERSE = 16 };
enum { COLOUR = 7 /* mask of the first seven */ };

struct screen {
	u16 rows, cols;
	bool ascii, plain; /* ASCII characters only; no colours */
	bool known;        /* the terminal shows `was` */
	struct screen_row {
		u32 now[SCREEN_COLS], was[SCREEN_COLS];
	} *grid; /* the caller's array of `rows` rows */
};

void screen_size(struct screen *s, size_t rows, size_t cols);
void screen_clear(struct screen *s);
void screen_char(struct screen *s, int row, int col, u8 style, u32 c);
int screen_put(struct screen *s, int row, int col, int width, u8 style, struct str text);
void screen_frame(struct screen *s, struct buf *b);

/* Keys that are not characters; a character is its own code. F1 to F10 are consecutive. */
enum key {
	KEY_ESC = 033, KEY_FIRST = 0x100, KEY_UP = KEY_FIRST, KEY_DOWN, KEY_RIGHT, KEY_LEFT,
	KEY_HOME, KEY_END, KEY_PGUP,
	KEY_PGDN, KEY_F1, KEY_F2, KEY_F3, KEY_F4, KEY_F5, KEY_F6, KEY_F7, KEY_F8, KEY_F9, KEY_F10,
};

struct keys {
	u8 state, n; /* n: first number of the current escape sequence */
	bool more;   /* the sequence has more numbers */
};

u16 key_feed(struct keys *k, u8 c);
u16 key_timeout(struct keys *k);

/* --- views/profileview.c: the screen of sample --live ----------------------------------------- */

struct profhead {
	struct str event;
	u64 samples, lost, seconds;
};

void profile_draw(struct screen *s, const struct profhead *h, u8 tables, u64 top);

/* --- views/topview.c: drawing of the live screen ---------------------------------------------- */

enum { HISTORY = 512 /* samples: more than the widest graph shows */, FILTER_BYTES = 64 };
enum topmode { TOP_LIST, TOP_FILTER, TOP_SORT, TOP_HELP,
	       TOP_REPLAY /* only for hints: TOP_LIST of a recorded run */ };

struct top {
	/* content */
	const u32 *devs, *rows; /* devices and clients, filtered and sorted by the caller */
	size_t ndevs, nrows, nall; /* nall: clients before the filter */
	i64 interval;
	size_t wide, high;      /* size of the terminal, if the grid is smaller */
	/* choices of the user */
	/* enum topmode; column to sort by; column under the menu's cursor */
	u8 mode, sort, choice;
	bool inverted, frozen, on_devices;
	/* Makes the record of a client or process of `rows`. */
	void (*row_make)(struct record *r, u32 row);
	/* a recorded run: the time of the sample in us, or -1; its place in the file, in per cent;
	 * its pace is 2^speed times the recorded one */
	bool replay, ended;
	u8 percent;
	int speed;
	i64 time;
	u64 malformed;
	/* row under the cursor; first client shown; columns scrolled away; first device, line
	 * shown */
	size_t at, first, left, dev_first, help_first;
	char filter[FILTER_BYTES];
	u8 filter_n;
	/* rows that the last frame had room for */
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

/* --- views/svg.c: a run as a picture ---------------------------------------------------------- */

void svg_begin(i64 time_us, i64 dt_us);
void svg_put(const struct plotids *id, const struct column *c, struct str inst, const struct val *v,
	     bool chosen);
void svg_unit(struct str unit);
void svg_record(struct out *o, struct buf *b, const struct record *r);
bool svg_end(struct out *o, struct buf *b);

/* --- views/tar.c: headers of the members of a tar file, an optional feature ------------------- */

enum { TAR_BLOCK = 512, TAR_HEAD = 5 * TAR_BLOCK /* at most, with a link of 1023 bytes */ };
enum { TAR_FILE = '0', TAR_LINK = '2', TAR_FOLDER = '5' };

struct tarhead {
	struct str name, link;
	u64 size, mtime; /* bytes; seconds since 1970 */
	u16 mode;
	char type;
};

/* Appends the header of a member. Its bytes and tar_pad() follow. False: the name is too long. */
bool tar_put(struct buf *b, const struct tarhead *m);
void tar_pad(struct buf *b, u64 size); /* appends zeros up to the next block */

#endif
