/* commands.h - the top layer: what gpustat.c and commands/ share; no other file includes it.
 * SPDX-License-Identifier: MIT */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "gpustat.h"

#include <signal.h>

/* --- gpustat.c: what the commands of commands/ share ------------------------------------------------------ */

enum exit_code { EX_OK, EX_FAIL, EX_USAGE, EX_NODEVICE, EX_DENIED, EX_UNKNOWN = EX_NODEVICE /* of monitoring plugins */ };

enum { MAX_PIDS = 64, MAX_SELECTORS = 16, MAX_LISTS = 64, MAX_METRICS = 64, OUT_BYTES = 1 << 20 };

/* Which commands take an option. */
enum { WITH_LIVE = 1, WITH_LIST = 2, WITH_FDINFO = 4, WITH_EVENTS = 8, WITH_STAT = 16, WITH_SAMPLE = 32, WITH_OA = 64,
       WITH_COUNTERS = 128, WITH_HOST = 256, WITH_TOP = 512, WITH_CHECK = 1024, WITH_MUNIN = 2048, WITH_DOCTOR = 4096,
       WITH_PLOT = 8192, WITH_NAMED = WITH_COUNTERS | WITH_HOST, WITH_PERF = WITH_STAT | WITH_SAMPLE,
       WITH_GPUS = WITH_LIVE | WITH_LIST | WITH_FDINFO, WITH_RECORDS = WITH_GPUS | WITH_PERF | WITH_OA | WITH_NAMED | WITH_DOCTOR,
       WITH_DEVICES = WITH_LIVE | WITH_TOP | WITH_CHECK | WITH_MUNIN, /* that sample devices and their clients */
       WITH_ROOTLESS = WITH_PERF | WITH_EVENTS | WITH_NAMED | WITH_DOCTOR, /* that can do something without /proc or /sys */
       WITH_CLOSED = WITH_FDINFO | WITH_EVENTS | WITH_OA | WITH_PLOT, /* that read no other process */
       WITH_ALL = WITH_RECORDS | WITH_EVENTS | WITH_DEVICES | WITH_PLOT };

struct cmd {
	const char *name, *args, *help;
	u8 kind;  /* of its records */
	u16 with; /* WITH_*: which options are its own */
	u8 may;   /* MAY_*: what it needs of what its user may not do */
	u16 calls; /* CALLS_*: what it asks of the kernel once it has begun */
	int (*run)(void);
};

/* What --summary sums by where nothing is named. */
enum { ALL_SUMS = 1 << PROF_COMM | 1 << PROF_SYMBOL | 1 << PROF_IP };

/* Of oa alone. */
struct oaopts {
	struct str set;                   /* -m */
	const char *metrics[MAX_METRICS]; /* files */
	size_t nmetrics;
	const char *record, *replay;
	const struct oaplatform *platform;
	struct oaprops props;
	bool reports, totals, contexts;
};

/* Of check alone. */
struct checkopts {
	struct str warning, critical; /* ranges of monitoring plugins; empty: none */
	struct str metric;            /* a field, as -f has it */
	i64 timeout;                  /* ns */
};

struct opts {
	const struct cmd *cmd;
	struct out out;
	struct str patterns[MAX_PATTERNS], devices[MAX_SELECTORS], comm, cgroup, sort;
	u32 pids[MAX_PIDS];
	size_t ndevices, npids, nwords;
	char **words; /* what is neither option nor command */
	i64 interval, window;
	u64 count, top; /* 0: no limit */
	const char *proc, *sys;
	bool raw, quiet, verbose, no_sandbox, summary, fields_help, resolve, map, every;
	const char *output, *state;
	i64 inner;              /* ns between the readings that a record sums up; 0: it is one */
	bool align, on_stdin, http, profiling, ascii;
	struct checkopts check; /* check */
	/* stat and sample */
	struct target target;
	struct str events[MAX_LISTS], filters[MAX_LISTS], sets[MAX_SETS];
	size_t nevents, nsets;
	char **argv, **command;
	int command_exit; /* of the command, once it ended, as a shell says it */
	const char *control, *pmu_file;
	u64 repeat;       /* 0: for ever */
	i64 delay;        /* ns; negative: until --control says so */
	i64 timeout;      /* ns; 0: none */
	u8 detail;
	bool windowed, out_chosen, null_run, no_scale, reset_on_overflow, usage_said;
	u16 calls;        /* CALLS_*: beside the command's */
	u8 profile;       /* enum proftable: 1 << each that --summary wants */
	u32 pages;        /* of each ring */
	u64 random_mask, seed, long_period, short_period;
	struct oaopts oa;
};

extern struct opts opt;
extern struct record rec; /* the one in hand */
extern struct buf out;    /* what is to be written */
extern int out_fd;
extern bool lost_record;                /* one did not fit out: exit 1 in the end */
extern volatile sig_atomic_t stopped;   /* by a signal, which is no error */
extern char said[512];                  /* check: the last message, which is its line on stdout */

void say(const char *a, const char *b, const char *c);
void say_as(const char *who, const char *a, const char *b, const char *c);
void say_z(const char *z);
void say_number(u64 n, const char *what);
u64 no_room(void);
void say_unread_files(void);
void say_error(const char *who, long err);
bool say_full(void);
void say_dropped(void);
int usage(const char *a, const char *b, const char *c);
int usage_z(const char *z);
const char *error_text(long err);
bool flush(void);
int finish(void);
bool flush_record(void);
int finish_sample(void);
bool split(struct str list, struct str *to, size_t max, size_t *n);
int take_times(char **words, size_t n);
i64 sample_time(void);
bool sleep_until(i64 t);
void update_offset(void);
bool open_roots(bool needed);
void say_at(const char *file, u64 at, const char *what);
bool show_record(const struct entity *e, const struct recopts *ro);
void confine(i32 child);
void keep_privileges(u8 may);
void confine_to_opened(void);
void close_files(void);

/* --- commands/sink.c: where what is printed goes ------------------------------------------------------------ */

int sink_open(void);
bool sink_is_kmsg(void);
bool sink_gathers(void);
i32 sink_folder(void); /* of the file that is replaced; -1: of none */
long sink_write(const char *p, size_t n);
bool sink_end(void);

/* --- commands/http.c: one request on the descriptor that inetd or systemd handed over ------------------------- */

bool http_takes_format(void);
int http_request(void); /* exit code, or -1: the answer's head is in out, and a sample is to follow */
long http_write(const char *p, size_t n);
int http_end(int code);

/* --- commands/ticks.c: when samples are taken ------------------------------------------------------------------- */

struct ticks {
	i64 interval, step; /* ns: between samples; between readings */
	i64 start, end;     /* of all, and of the interval in hand: ns on CLOCK_REALTIME (--align) or _MONOTONIC */
	i64 first, begun;   /* the first reading, and that of the sample before: ns on CLOCK_MONOTONIC */
	u64 left;           /* samples; 0: no limit */
	u64 lines;          /* --on-stdin: read, and not yet answered */
	bool repeat;        /* several samples: look for what is new */
	bool ends;          /* the reading in hand is a sample's */
	bool failed;        /* standard input could not be read, which has been said */
};

void ticks_begin(struct ticks *t);
void ticks_start(struct ticks *t);
bool ticks_next(struct ticks *t);
void ticks_stamp(struct ticks *t, struct recopts *ro);

/* --- commands/select.c: which devices, clients or groups a sample shows, and in which order -------------------- */

extern u32 *order; /* this sample's records: indices of devices, clients or groups */
extern size_t norder;

struct entity *entity_at(u8 kind, u32 n);
void records_room(void);
void choose_devices(void);
void hide_clients(void);
void choose_entities(u8 kind);
void sort_by_field(u8 kind, const struct recopts *ro);
void make_record(u8 kind, u32 n, const struct recopts *ro);
bool device_wanted(u32 device, u32 place);
u32 device_chosen(bool (*fits)(const struct device *d));
int no_device(void);

/* --- commands/live.c: devices and their clients, sample by sample ------------------------------------------------ */

void sources_start(void);
void sources_sample(bool scan);
int live_measure(struct recopts *ro);
bool live_keep(void);
void say_unread(void);
int cmd_live(void);
int cmd_list(void);

/* --- commands/: one each ------------------------------------------------------------------------------------------ */

int cmd_fdinfo(void);
int cmd_events(void);
int cmd_check(void);
int check_unknown(const char *why);
int cmd_munin(void);
int cmd_doctor(void);
int cmd_top(void);
int cmd_plot(void);

/* --- commands/: what those of perf events do, from the options to the exit code --------------------------- */

bool add_events(struct str list, u16 set);
bool add_lists(void);
void say_lowered(void);
bool read_events_file(void);
int find_target(struct target *t);
int open_control(struct measure *m);
int command_result(const struct measure *m, int code);
int cmd_stat(void);
int cmd_sample(void);

/* --- commands/oastream.c: OA reports to records, of a stream that runs or of a recording ---------------------- */

struct oastream {
	struct oadevice dev;
	const struct oaplatform *platform; /* NULL: unknown */
	const struct oaformat *format;
	struct oaset set;                  /* with has_set */
	const char *dev_name;              /* NULL: unknown */
	u64 ts_hz;
	i32 exponent;                      /* of the timer; -1: unknown */
	bool live, has_set, filtered;
	struct oafilter filter;
	u64 cpu_ns, gpu_ts, correlations;  /* the last one, and how many there were */
	u64 seen, deltas, lost;            /* reports so far; in the sum in hand */
	bool failed;                       /* to write */
};

extern struct oastream stream;
extern struct oaprog *equations; /* of the set in hand */
extern struct table equations_table;

int stream_ready(void);
bool stream_report(struct str body); /* false: too small for its format */
void stream_lost(bool buffer);
void stream_sum(void);
int stream_finish(bool failed); /* exit code */
void stream_keep(void);

/* --- commands/oa.c, commands/replay.c ----------------------------------------------------------------------- */

bool set_find(struct str name, bool by_guid, const struct oaplatform *p, struct oaset *s);
int replay(void);
int cmd_oa(void);

/* --- commands/counters.c --------------------------------------------------------------------------------------- */

int cmd_counters(void);
int cmd_host(void);

#endif
