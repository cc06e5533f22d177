/* shared.h - the layer below the commands: options, messages, output, ticks, selection, sampling.
 * SPDX-License-Identifier: MIT */
#ifndef SHARED_H
#define SHARED_H

#include "perfstream.h"
#include "counters.h"
#include "views/views.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sources/oa/oa.h"

#include <signal.h>
#include <termios.h>

#ifndef VERSION /* the Makefile has it */
#define VERSION "unknown"
#endif

/* --- options, messages and output, shared by the commands ------------------------------------- */

enum exit_code {
	EX_OK, EX_FAIL, EX_USAGE, EX_NODEVICE, EX_DENIED,
	EX_UNKNOWN = EX_NODEVICE, /* of monitoring plugins */
};

enum { MAX_PIDS = 64, MAX_SELECTORS = 16, MAX_LISTS = 64, MAX_METRICS = 64, OUT_BYTES = 1 << 19 };

/* The commands that an option is for. */
enum {
	WITH_LIVE = 1, WITH_LIST = 2, WITH_FDINFO = 4, WITH_EVENTS = 8, WITH_STAT = 16,
	WITH_SAMPLE = 32, WITH_OA = 64, WITH_COUNTERS = 128, WITH_HOST = 256, WITH_TOP = 512,
	WITH_CHECK = 1024, WITH_MUNIN = 2048, WITH_DOCTOR = 4096, WITH_PLOT = 8192,
	WITH_RUN = 16384, WITH_CAPTURE = 32768, WITH_STALLS = 65536,
	OVERVIEW = 1 << 23, /* gpustat --help shows the option */
	WITH_NAMED = WITH_COUNTERS | WITH_HOST,
	WITH_PERF = WITH_STAT | WITH_SAMPLE,
	WITH_COMMAND = WITH_PERF | WITH_RUN, /* start a command */
	WITH_GPUS = WITH_LIVE | WITH_LIST | WITH_FDINFO,
	WITH_STREAM = WITH_OA | WITH_STALLS,
	WITH_RECORDS = WITH_GPUS | WITH_COMMAND | WITH_STREAM | WITH_NAMED | WITH_DOCTOR,
	/* commands that sample devices and their clients */
	WITH_DEVICES = WITH_LIVE | WITH_TOP | WITH_CHECK | WITH_MUNIN,
	/* commands that work, at least in part, without /proc or /sys */
	WITH_ROOTLESS = WITH_COMMAND | WITH_EVENTS | WITH_NAMED | WITH_DOCTOR,
	/* commands that read no other process */
	WITH_CLOSED = WITH_FDINFO | WITH_EVENTS | WITH_STREAM | WITH_PLOT,
	WITH_ALL = WITH_RECORDS | WITH_EVENTS | WITH_DEVICES | WITH_PLOT | WITH_CAPTURE,
};

struct cmd {
	const char *name, *args, *help; /* help: one of two columns of --help, 30 and 31 wide */
	u32 kind : 8;  /* enum kind of its records */
	u32 with : 24; /* WITH_*: selects its options */
	u8 privileges; /* MAY_*: privileges that it needs */
	u16 calls; /* CALLS_*: system calls that it needs after its start */
	int (*run)(void);
};

/* The sums of --summary without a value. */
enum { ALL_SUMS = 1 << PROF_COMM | 1 << PROF_SYMBOL | 1 << PROF_IP };

/* Options of oa. */
struct oaopts {
	struct str set;                   /* -m */
	const char *metrics[MAX_METRICS]; /* files */
	size_t nmetrics;
	const char *record, *replay; /* replay: also of top */
	const struct oaplatform *platform;
	struct oaprops props;
	bool reports, totals, contexts;
	struct stallprops stalls;
	bool sums;                   /* stalls: without addresses */
};

/* Options of check. */
struct checkopts {
	struct str warning, critical; /* ranges of monitoring plugins; empty: none */
	struct str metric;            /* a field, as in -f */
	i64 timeout;                  /* ns */
	bool json;                    /* a record instead of the line */
};

enum unwind { UNWIND_FP, UNWIND_DWARF, UNWIND_LBR, UNWINDS };

struct opts {
	const struct cmd *cmds, *cmd; /* all commands, the first without a name; the current one */
	size_t ncmds;
	struct out out;
	struct str patterns[MAX_PATTERNS], devices[MAX_SELECTORS], not[MAX_SELECTORS];
	struct str comm, cgroup, sort;
	u32 pids[MAX_PIDS];
	size_t ndevices, nnot, npids, nwords;
	char **words; /* arguments that are neither an option nor a command */
	i64 interval, window;
	u64 count, top; /* 0: no limit */
	const char *proc, *sys, *ids;
	bool raw, quiet, verbose, no_sandbox, summary, fields_help, resolve, map, perfmon, every;
	bool children;
	const char *output, *state;
	bool plain_names;  /* capture */
	i64 inner;              /* ns between the readings of one record; 0: one reading */
	bool align, on_stdin, http, profiling, ascii;
	struct checkopts check; /* check */
	/* stat and sample */
	struct target target;
	struct str events[MAX_LISTS], filters[MAX_LISTS], sets[MAX_SETS];
	size_t nevents, nsets;
	char **argv, **command;
	int command_exit; /* exit code of the command after its end, as in a shell */
	const char *control, *pmu_file;
	u64 repeat;       /* 0: forever */
	const char *before, *after; /* shell commands around each run, or NULL */
	i64 delay;        /* ns; negative: until --control enables counting */
	i64 timeout;      /* ns; 0: none */
	u8 detail;
	u8 call_graph;    /* enum unwind: how callers are found */
	bool windowed, out_chosen, null_run, totals, no_scale, reset_on_overflow, usage_said;
	u16 calls;        /* CALLS_*: in addition to those of the command */
	bool latency, syscalls;
	bool live;        /* sample: sums on a screen */
	u8 profile;       /* enum proftable: 1 << each table of --summary */
	u32 pages;        /* of each ring */
	u64 random_mask, seed, long_period, short_period;
	struct oaopts oa;
};

extern struct opts opt;
extern struct record rec; /* the current one */
extern struct buf out;    /* output not yet written */
extern int out_fd;
extern bool lost_record;                /* a record did not fit into out: exit code 1 */
extern volatile sig_atomic_t stopped;   /* by a signal, which is not an error */
extern char last_message[512];          /* check: its line on stdout */

void say(const char *a, const char *b, const char *c);
void say_as(const char *who, const char *a, const char *b, const char *c);
void say_z(const char *z);
void say_number(u64 n, const char *what);
u64 without_room(void);
void say_unread_files(void);
void say_error(const char *who, long err);
int command_code(long failure, int status);
bool say_full(void);
void say_dropped(void);
void say_implausible(void);
int usage(const char *a, const char *b, const char *c);
int usage_z(const char *z);
const char *error_text(long err);
bool flush(void);
int finish(void);
bool append_record(void);
bool flush_record(void);
int finish_sample(void);
bool split(struct str list, struct str *to, size_t max, size_t *n);
int parse_times(char **words, size_t n);
i64 sample_time(void);
bool sleep_until(i64 t);
void update_offset(void);
bool open_roots(bool needed);
void say_at(const char *file, u64 at, const char *what);
bool show_record(const struct entity *e, const struct recopts *ro);
bool is_check(void);
bool is_oa_list(void);
bool is_oa_list_or_pack(void);
int no_field(struct str p);
int parse_args(const struct cmd *cmds, size_t ncmds, char **argv); /* exit code, or -1 to run */
void output_begin(void);
int finish_run(int code);
bool drop_privileges(void);
void signals_begin(void);
void signals_handle(void);
void confine(i32 child);
void keep_privileges(u8 may);
void confine_to_opened(void);
void close_files(void);

/* --- commands/shared/sink.c: destinations of the output --------------------------------------- */

int sink_open(void);
bool sink_is_kmsg(void);
bool sink_gathers(void);
i32 sink_folder(void); /* folder of the file that is replaced; -1: none */
long sink_write(const char *p, size_t n);
bool sink_end(void);

/* --- commands/shared/fields.c: checks of the fields of -f ------------------------------------- */

void fields_note(struct out *o, const struct record *r);
const char *fields_nearest(size_t i);
void fields_say(void);
bool fields_wrong(void);
void append_begin(void);
void append_line(void);

/* --- commands/shared/http.c: one request on a socket of inetd or systemd ---------------------- */

bool http_takes_format(void);
int http_request(void); /* exit code, or -1: out has the head of the answer, a sample follows */
long http_write(const char *p, size_t n);
int http_end(int code);

/* --- commands/shared/ticks.c: the times of samples -------------------------------------------- */

struct ticks {
	i64 interval, step; /* ns: between samples; between readings */
	i64 start, end;     /* start of the run, end of the interval; ns on CLOCK_REALTIME (--align)
			     * or _MONOTONIC */
	i64 first, begun;   /* first reading; last sample: ns on CLOCK_MONOTONIC */
	u64 left;           /* samples; 0: no limit */
	u64 lines;          /* --on-stdin: lines read and not yet answered */
	bool repeat;        /* several samples: scan for new clients */
	bool ends;          /* the current reading ends a sample */
	bool failed;        /* standard input could not be read: a message was printed */
	/* Called while the next reading is not due yet. Returns when to call it again, ns on
	 * CLOCK_MONOTONIC; -1: never. Set after ticks_begin(); NULL: none. */
	i64 (*drain)(void);
};

void ticks_begin(struct ticks *t);
void ticks_start(struct ticks *t);
bool ticks_next(struct ticks *t);
void ticks_stamp(struct ticks *t, struct recopts *ro);

/* --- commands/shared/select.c: selection and order of records -------------------- */

extern u32 *order; /* records of this sample: indices of devices, clients or groups */
extern size_t norder;

struct entity *entity_at(u8 kind, u32 n);
void records_alloc(void);
void choose_devices(void);
void hide_clients(void);
void choose_entities(u8 kind);
void sort_by_field(u8 kind, const struct recopts *ro);
/* NULL, or makes the records of sort_by_field() instead of record_make(). */
extern void (*record_source)(struct record *r, u32 n);
void order_add(size_t *n, u32 i);
bool in_cgroup(struct str path);
void make_record(u8 kind, u32 n, const struct recopts *ro);
bool device_wanted(u32 device, u32 place);
u8 device_choice(u32 device);
bool say_missing_devices(void);
u32 device_chosen(bool (*fits)(const struct device *d));
int no_device(void);

/* --- commands/shared/naming.c: names of devices, an optional feature -------------------------- */

void names_prepare(void);
typedef bool device_test(const struct device *d, u64 index, struct str sel);
bool named_so(u32 device, struct str sel, device_test *is);
void put_hint(struct buf *b);

/* --- commands/shared/sampling.c: readings of devices and their clients ------------------------ */

void sources_start(void);
void sources_sample(bool scan);
int live_measure(struct recopts *ro);
bool live_save(void);
i64 since_last_run(void); /* ns; -1: no --state, or no earlier run */
void say_unreadable(void);
void say_unread(void);

/* --- commands/shared/runfile.c: a recorded run: the output of -o json or -o csv --------------- */

struct runfile {
	const char *name;
	int fd;
	u64 line, bad;  /* number of the line; malformed rows */
	u64 at, bad_at; /* place in the file of the buffer; after the last malformed row */
	size_t from, n; /* bytes of the buffer: those that are done; all */
	u64 row_at;     /* place of the row in the file */
	bool is_json;   /* known if begun */
	bool begun, ended, in_array;
	bool skipping;  /* within a line that is too long or malformed */
	bool loose;     /* commas may be anywhere between records */
	bool silent;    /* malformed rows are counted without a message */
};

/* A record of JSON: the texts that identify it, and its times in microseconds; -1: unknown. */
struct runrec {
	struct plotids id;
	i64 time, dt;
	struct str summary;
	bool all;
	void (*put)(struct runrec *j, const struct column *c, struct str inst,
		    const struct val *v);
};
typedef void run_value(struct runrec *j, const struct column *c, struct str inst,
		       const struct val *v);

long runfile_next(struct runfile *f, char **p, char **e);
long runfile_seek(struct runfile *f, u64 at);
void runfile_bad(struct runfile *f, const char *what);
void runfile_end(const struct runfile *f);
bool runrec_read(struct runrec *j, struct str s);
void runrec_values(struct runrec *j, struct str s, bool all, run_value *put);
bool scan_value(struct str s, struct val *v);
i64 time_parse(struct str s);
const struct column *column_find(struct str group, struct str member, u16 kinds);

/* --- commands/shared/terminal.c: a terminal that shows a screen ------------------------------- */

enum { TERMINAL_TIMEOUT = 100000000 /* ns; bytes after an Esc come sooner, also on slow lines */ };

extern struct terminal {
	struct screen screen;
	struct keys keys;
	volatile sig_atomic_t resized, suspended, resumed; /* signals that came */
	struct termios termios_was;
	bool keeps_stops;  /* the signals that end the run have handlers already */
	bool entered;      /* termios_was and has_keys are known */
	bool has_keys;     /* standard input is a terminal */
	long write_error;
} terminal;

void terminal_catch(void);
bool terminal_show(const char *p, size_t n);
bool terminal_enter(void);
void terminal_leave(void);
void terminal_measure(unsigned *rows, unsigned *cols);
void terminal_suspend(void);
bool terminal_is_utf8(void);
bool terminal_is_dumb(void);
long terminal_wait(i64 t);

/* --- commands/shared/perfrun.c: parts common to stat and sample ----------------- */

bool add_events(struct str list, u16 set);
bool add_lists(void);
void say_user_only(void);
bool read_events_file(void);
int find_target(struct target *t);
int open_control(struct measure *m);
int command_result(const struct measure *m, int code);

#endif
