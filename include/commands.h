/* commands.h - the top layer: what gpustat.c and commands/ share; no other file includes it.
 * SPDX-License-Identifier: MIT */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "gpustat.h"

/* --- gpustat.c: what the commands of commands/ share ------------------------------------------------------ */

enum exit_code { EX_OK, EX_FAIL, EX_USAGE, EX_NODEVICE, EX_DENIED };

enum { MAX_PIDS = 64, MAX_SELECTORS = 16, MAX_LISTS = 64, OUT_BYTES = 1 << 20 };

/* What --summary sums by where nothing is named. */
enum { ALL_SUMS = 1 << PROF_COMM | 1 << PROF_SYMBOL | 1 << PROF_IP };

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
	bool raw, quiet, verbose, summary, fields_help, resolve;
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
};

extern struct opts opt;
extern struct record rec; /* the one in hand */
extern struct buf out;    /* what is to be written */
extern int out_fd;

void say(const char *a, const char *b, const char *c);
void say_number(u64 n, const char *what);
int usage(const char *a, const char *b, const char *c);
const char *error_text(long err);
bool flush(void);
int finish(void);
bool split(struct str list, struct str *to, size_t max, size_t *n);
i64 sample_time(void);
void update_offset(void);
bool open_roots(void);
bool device_wanted(u32 device, u32 place);

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

#endif
