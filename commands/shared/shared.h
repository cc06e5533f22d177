/* shared.h - the layer below the commands: options, messages, output, ticks, selection, sampling.
 * SPDX-License-Identifier: MIT */
#ifndef SHARED_H
#define SHARED_H

#include "perfstream.h"
#include "counters.h"
#include "views/views.h"
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
	/* exit code of the command check for the state UNKNOWN of monitoring plugins */
	EX_UNKNOWN = EX_NODEVICE,
};

enum { MAX_PIDS = 64, MAX_SELECTORS = 16, MAX_LISTS = 64, MAX_METRICS = 64, OUT_BYTES = 1 << 19 };

/* Bits for commands and groups of commands. Each command has its own bit in cmd.with; an option has
 * the bits of all commands that accept it. */
enum {
	WITH_LIVE = 1, WITH_LIST = 2, WITH_FDINFO = 4, WITH_EVENTS = 8, WITH_STAT = 16,
	WITH_SAMPLE = 32, WITH_OA = 64, WITH_COUNTERS = 128, WITH_HOST = 256, WITH_TOP = 512,
	WITH_CHECK = 1024, WITH_MUNIN = 2048, WITH_DOCTOR = 4096, WITH_PLOT = 8192,
	WITH_RUN = 16384, WITH_CAPTURE = 32768, WITH_STALLS = 65536,
	OVERVIEW = 1 << 23, /* gpustat --help shows the option */
	WITH_NAMED = WITH_COUNTERS | WITH_HOST,
	WITH_PERF = WITH_STAT | WITH_SAMPLE,
	/* commands of gpustat that start a command of the user */
	WITH_COMMAND = WITH_PERF | WITH_RUN,
	WITH_GPUS = WITH_LIVE | WITH_LIST | WITH_FDINFO,
	WITH_STREAM = WITH_OA | WITH_STALLS,
	WITH_RECORDS = WITH_GPUS | WITH_COMMAND | WITH_STREAM | WITH_NAMED | WITH_DOCTOR,
	/* commands that sample devices and their clients */
	WITH_DEVICES = WITH_LIVE | WITH_TOP | WITH_CHECK | WITH_MUNIN,
	/* commands that work, at least in part, without /proc or /sys */
	WITH_ROOTLESS = WITH_COMMAND | WITH_EVENTS | WITH_NAMED | WITH_DOCTOR,
	/* commands that do not read other processes */
	WITH_CLOSED = WITH_FDINFO | WITH_EVENTS | WITH_STREAM | WITH_PLOT,
	WITH_ALL = WITH_RECORDS | WITH_EVENTS | WITH_DEVICES | WITH_PLOT | WITH_CAPTURE,
};

struct cmd {
	/* help: text in gpustat --help, which shows two commands side by side: at most 30 columns
	 * for the first one, 31 for the second */
	const char *name, *args, *help;
	u32 kind : 8;  /* enum kind: kind of the records that the command prints */
	u32 with : 24; /* WITH_*: the command accepts the options that have one of these bits */
	u8 privileges; /* privileges that the command needs: bits MAY_* */
	u16 calls; /* system calls that the command needs after its start: bits CALLS_* */
	int (*run)(void);
};

/* Tables of sums that `sample --summary` prints if the option has no value: bits 1 << enum
 * proftable. */
enum { ALL_SUMS = 1 << PROF_COMM | 1 << PROF_SYMBOL | 1 << PROF_IP };

/* Options of the commands oa and stalls. */
struct oaopts {
	struct str set;                   /* option -m: name or GUID of the metric set */
	const char *metrics[MAX_METRICS]; /* option --metrics: names of files with metric sets */
	size_t nmetrics;
	/* names of the files of --record and --replay; top has --replay, too */
	const char *record, *replay;
	const struct oaplatform *platform;
	struct oaprops props;
	bool reports, totals, contexts;
	struct stallprops stalls;
	bool sums;                   /* option of stalls: print sums by reason, without addresses */
};

/* Options of the command check. */
struct checkopts {
	/* ranges of -w and -c, see struct range in check.c; empty if not given */
	struct str warning, critical;
	struct str metric;            /* name of the field that is checked, as in -f */
	i64 timeout;                  /* ns */
	bool json;                    /* print a JSON record instead of the plugin's line */
};

enum unwind { UNWIND_FP, UNWIND_DWARF, UNWIND_LBR, UNWINDS };

struct opts {
	/* cmds: all commands; the name of the first one is empty. cmd: the current command */
	const struct cmd *cmds, *cmd;
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
	bool plain_names;  /* option of capture: keep names and serial numbers in the output */
	/* option --inner: ns from one reading to the next within a sample; 0: one reading per
	 * sample */
	i64 inner;
	bool align, on_stdin, http, profiling, ascii;
	struct checkopts check;
	/* The members from here to random_mask are options of stat and sample; run has some of
	 * them, too. */
	struct target target;
	struct str events[MAX_LISTS], filters[MAX_LISTS], sets[MAX_SETS];
	size_t nevents, nsets;
	char **argv, **command;
	int command_exit; /* exit code of the user's command after its end, as a shell reports it */
	const char *control, *pmu_file;
	/* option -r of stat: number of runs of the user's command; 0: run it again and again */
	u64 repeat;
	/* shell commands of --pre and --post, executed around each run; or NULL */
	const char *before, *after;
	/* ns until counting starts; negative: it starts when --control gets the command `enable` */
	i64 delay;
	i64 timeout;      /* ns until counting ends; 0: no limit of time */
	u8 detail;
	u8 call_graph;    /* enum unwind: method of finding the callers */
	bool windowed, out_chosen, null_run, totals, no_scale, reset_on_overflow, usage_said;
	u16 calls;        /* system calls needed in addition to cmd->calls: bits CALLS_* */
	bool latency, syscalls;
	bool live;        /* option of sample: show sums on a screen while samples come */
	u8 profile;       /* tables of sums that --summary prints: bits 1 << enum proftable */
	u32 pages;        /* number of pages of each ring buffer */
	u64 random_mask, seed, long_period, short_period;
	struct oaopts oa;
};

extern struct opts opt;
extern struct record rec; /* the current record */
extern struct buf out;    /* output that has not been written yet */
extern int out_fd;
/* true if a record was left out, because it was larger than the buffer `out`, or if the file of
 * --state could not be written: the exit code is 1 */
extern bool lost_record;
extern volatile sig_atomic_t stopped;   /* set by a signal that ends the run; not an error */
/* last message of check, which is printed in the plugin's line on standard output */
extern char last_message[512];

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
void measure_record(const struct entity *e, const struct recopts *ro);
bool show_record(const struct entity *e, const struct recopts *ro);
bool is_check(void);
bool is_oa_list(void);
bool is_oa_list_or_pack(void);
int no_field(struct str p);
/* parses the command line; returns an exit code, or -1 if the command can run */
int parse_args(const struct cmd *cmds, size_t ncmds, char **argv);
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
i32 sink_folder(void); /* descriptor of the folder of the file that -O replaces; -1 if none */
long sink_write(const char *p, size_t n);
bool sink_end(void);

/* --- commands/shared/fields.c: checks of the option -f ---------------------------------------- */

void fields_note(struct out *o, const struct record *r);
const char *fields_nearest(size_t i);
bool fields_say(void);
void append_begin(void);
void append_line(void);

/* --- commands/shared/http.c: one request on a socket of inetd or systemd ---------------------- */

bool http_takes_format(void);
/* Reads and checks the request. Returns the exit code if the request was answered or failed; -1 if
 * `out` has the head of the answer and the caller adds a sample. */
int http_request(void);
long http_write(const char *p, size_t n);
int http_end(int code);

/* --- commands/shared/ticks.c: the times of samples -------------------------------------------- */

struct ticks {
	i64 interval, step; /* interval: ns between two samples. step: ns between two readings */
	i64 start, end;     /* times of the start of the run and of the end of the current interval,
			     * in ns on CLOCK_REALTIME with --align, else on CLOCK_MONOTONIC */
	i64 first, begun;   /* times of the first reading and of the last sample: ns on
			     * CLOCK_MONOTONIC */
	u64 left;           /* number of samples still to print; 0: no limit */
	/* number of lines read from standard input (--on-stdin) that got no sample yet */
	u64 lines;
	bool repeat;        /* the run has several samples: each sample also finds new clients */
	bool ends;          /* the current reading is the last one of a sample */
	bool failed;        /* standard input could not be read: a message was printed */
	/* Function that ticks_next() calls while it waits for the next reading; NULL if there is
	 * none. It returns the time of its next call, in ns on CLOCK_MONOTONIC, or -1 if no call is
	 * needed before that reading. It is set after ticks_begin(). */
	i64 (*drain)(void);
};

void ticks_begin(struct ticks *t);
void ticks_start(struct ticks *t);
bool ticks_next(struct ticks *t);
void ticks_stamp(struct ticks *t, struct recopts *ro);

/* --- commands/shared/select.c: selection and order of records -------------------- */

/* Entities of this sample in the order of their records: indices in devices[], clients[] or
 * groups[]. */
extern u32 *order;
extern size_t norder;

struct entity *entity_at(u8 kind, u32 n);
void records_alloc(void);
void choose_devices(void);
void hide_clients(void);
void choose_entities(u8 kind);
void sort_by_field(u8 kind, const struct recopts *ro);
/* Function that sort_by_field() and make_record() call instead of record_make(), if it is not
 * NULL. */
extern void (*record_source)(struct record *r, u32 n);
void order_add(size_t *n, u32 i);
bool in_cgroup(struct str path);
void make_record(u8 kind, u32 n, const struct recopts *ro);
bool device_wanted(u32 device, u32 place);
u8 device_choice(u32 device);
bool say_missing_devices(void);
u32 device_chosen(bool (*fits)(const struct device *d));
int no_device(void);

/* --- commands/shared/naming.c: product names of devices; WITHOUT=names leaves the file out ---- */

void names_prepare(void);
typedef bool device_test(const struct device *d, u64 index, struct str sel);
bool named_so(u32 device, struct str sel, device_test *is);
void put_hint(struct buf *b);

/* --- commands/shared/sampling.c: readings of devices and their clients ------------------------ */

void sources_start(void);
void sources_sample(bool scan);
int live_measure(struct recopts *ro);
bool live_save(void);
/* with --state: ns since the last run; -1 if there is no --state or no earlier run */
i64 since_last_run(void);
void say_unreadable(void);
void say_unread(void);

/* --- commands/shared/runfile.c: a recorded run: the output of -o json or -o csv --------------- */

struct runfile {
	const char *name;
	int fd;
	u64 line, bad;  /* line: number of the current line. bad: number of malformed rows */
	/* Offsets in the file of the recorded run. at: of the first byte in the buffer. bad_at: of
	 * the last malformed row, plus 1; 0 if no row was malformed */
	u64 at, bad_at;
	/* from: bytes of the buffer that have been parsed. n: bytes in the buffer */
	size_t from, n;
	u64 row_at;     /* offset of the current row in the file of the recorded run */
	bool is_json;   /* the file is JSON, not CSV; valid if begun is set */
	/* begun: the format was detected. ended: the whole file was read. in_array: the JSON text
	 * began an array of records with '['. */
	bool begun, ended, in_array;
	bool skipping;  /* the parser skips the rest of a line that is too long or malformed */
	/* true: a comma between two JSON records is valid even if no '[' was read before, because
	 * reading may have begun in the middle of an array */
	bool loose;
	bool silent;    /* malformed rows are counted without a message */
};

/* A record that is read from JSON: the texts that identify its entity, and its times. time and dt
 * are in us; -1: unknown. all, put: the arguments of runrec_values(). */
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

/* Longest wait for the terminal, in ns: for the rest of an escape sequence after an Esc (also slow
 * lines send it sooner), and until a terminal accepts output. */
enum { TERMINAL_TIMEOUT = 100000000 };

extern struct terminal {
	struct screen screen;
	struct keys keys;
	/* flags set by signal handlers: resized by SIGWINCH, suspended by SIGTSTP, resumed by
	 * SIGCONT */
	volatile sig_atomic_t resized, suspended, resumed;
	struct termios termios_was; /* the modes of the terminal before the run */
	/* true if the caller has installed handlers for the signals that end the run */
	bool keeps_stops;
	bool entered;      /* terminal_enter() was called: termios_was and has_keys are valid */
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
