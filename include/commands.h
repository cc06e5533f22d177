/* commands.h - the top layer: what gpustat.c and commands/ share; no other file includes it.
 * SPDX-License-Identifier: MIT */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "gpustat.h"

#include <signal.h>

/* --- gpustat.c: what the commands of commands/ share ------------------------------------------------------ */

enum exit_code { EX_OK, EX_FAIL, EX_USAGE, EX_NODEVICE, EX_DENIED };

enum { MAX_PIDS = 64, MAX_SELECTORS = 16, MAX_LISTS = 64, MAX_METRICS = 64, OUT_BYTES = 1 << 20 };

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
	bool raw, quiet, verbose, summary, fields_help, resolve, map;
	/* stat and sample */
	struct target target;
	struct str events[MAX_LISTS], filters[MAX_LISTS], sets[MAX_SETS];
	size_t nevents, nsets;
	char **argv, **command;
	const char *output, *control, *pmu_file;
	u64 repeat;       /* 0: for ever */
	i64 delay;        /* ns; negative: until --control says so */
	i64 timeout;      /* ns; 0: none */
	u8 detail;
	bool windowed, out_chosen, null_run, no_scale, reset_on_overflow, usage_said;
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

void say(const char *a, const char *b, const char *c);
void say_number(u64 n, const char *what);
int usage(const char *a, const char *b, const char *c);
const char *error_text(long err);
bool flush(void);
int finish(void);
bool split(struct str list, struct str *to, size_t max, size_t *n);
int take_times(char **words, size_t n);
i64 sample_time(void);
void update_offset(void);
bool open_roots(void);
bool device_wanted(u32 device, u32 place);
u32 device_chosen(bool (*fits)(const struct device *d));
int no_device(void);
long write_all(int fd, const char *p, size_t n);
void say_at(const char *file, u64 at, const char *what);
void put_columns(struct buf *b, size_t from, size_t to);
bool show_record(const struct entity *e, const struct recopts *ro);

/* --- commands/: what those of perf events do, from the options to the exit code --------------------------- */

bool add_events(struct str list, u16 set);
bool add_lists(void);
void say_lowered(void);
bool read_events_file(void);
int find_target(struct target *t);
int open_control(struct measure *m);
int open_output(int flags);
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

int stream_ready(void);
bool stream_report(struct str body); /* false: too small for its format */
void stream_lost(bool buffer);
void stream_sum(void);
void stream_keep(void);

/* --- commands/oa.c, commands/replay.c ----------------------------------------------------------------------- */

bool set_find(struct str name, bool by_guid, const struct oaplatform *p, struct oaset *s);
int replay(void);
int cmd_oa(void);

/* --- commands/counters.c --------------------------------------------------------------------------------------- */

int cmd_counters(void);
int cmd_host(void);

#endif
