/* commands.h - the commands, and declarations that the files of one command share.
 * SPDX-License-Identifier: MIT */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "commands/shared/shared.h"

/* --- commands/: one function per command ------------------------------------------------------ */

int cmd_fdinfo(void);
int cmd_events(void);
int cmd_check(void);
int check_unknown(const char *why);
int cmd_munin(void);
int cmd_doctor(void);
int cmd_top(void);
int cmd_plot(void);
int cmd_stat(void);
int cmd_sample(void);
int cmd_run(void);
int cmd_live(void);
int cmd_list(void);
int cmd_capture(void);

/* --- commands/timing.c: sample --latency and --syscalls --------------------------------------- */

bool timing_is_on(void);
int timing_options(struct target *t);
const char *timing_events(void);
void timing_target(struct target *t);
bool timing_fields(void);
void timing_begin(i32 child);
void timing_handle(const struct prec *r);
bool timing_print(void);

/* --- commands/sampleheader.c: facts in a perf.data header about the machine and the run ------- */

struct pdrun {
	const struct perfdata *file;
	/* times of the first and the last sample, in ns; 0 if there was no sample */
	u64 first, last;
};

/* room for the features of a perf.data header: a thousand CPUs have 70 KB of lists of sibling
 * CPUs */
enum { PD_MACHINE_BYTES = 256 << 10 };
size_t sample_features(const struct pdrun *run, struct buf *b, struct pdfeature to[PD_FEATURES]);

/* --- commands/oarecords.c: makes records of the OA reports of a stream or a recording --------- */

struct oastream {
	struct oadevice dev;
	const struct oaplatform *platform; /* the GPU's platform; NULL if unknown */
	const struct oaformat *format;
	struct oaset set;                  /* metric set of the stream; valid if has_set is true */
	const char *dev_name;              /* name of the GPU's device node; NULL if unknown */
	u64 ts_hz;
	i32 exponent; /* OA exponent that sets the period of reports; -1 if unknown */
	bool live, has_set, filtered;
	struct oafilter filter;
	/* The last correlation: the last moment at which the clocks of the CPU and the GPU were
	 * read together. cpu_ns: time on the CPU's clock, in ns. gpu_ts: timestamp of the GPU at
	 * the same moment. correlations: number of correlations so far. */
	u64 cpu_ns, gpu_ts, correlations;
	/* seen: number of reports so far. deltas: number of differences between two reports that
	 * the current sum contains. lost: number of times that reports or samples were lost since
	 * the last record was written. */
	u64 seen, deltas, lost;
	bool failed;                       /* the output or the recording could not be written */
};

extern struct oastream stream;
extern struct oaprog *equations; /* compiled equations of the current metric set */
extern struct table equations_table;

int stream_ready(void);
/* Processes a report of the OA unit. Returns the text of the error if the report is invalid, else
 * NULL. */
const char *stream_report(struct str body);
void stream_lost(bool buffer);
void stream_correlate(u64 cpu_ns, u64 gpu_ts);
void stream_emit_sum(void);
int stream_finish(bool failed); /* returns an exit code */
void stream_keep_last(void);

/* --- commands/stalls.c: sums of EU stalls, from a live stream or a recording ------------------ */

void stalls_begin(const struct stallformat *f);
bool stalls_add(u64 ns, struct str samples);
void stalls_lost(u64 ns);
int stalls_finish(void);
int cmd_stalls(void);

/* --- commands/oasets.c, commands/oa.c, commands/replay.c -------------------------------------- */

enum { NUMBERS_BYTES = 1024 /* room for the 11 names and numbers that put_oadevice() writes */ };
/* The end of each message about an unknown metric set: the files that have other metric sets. */
#define METRICS_REMEDY \
	"others are in oa-*.xml of IGT GPU Tools and Mesa: use --metrics FILE"
const struct oafile *file_at(size_t i, const char **name);
bool load_metrics(void);
/* prints that no metric set has this name; returns an exit code */
int set_unknown(struct str name);
int pack(void);
bool set_find(struct str name, bool by_guid, const struct oaplatform *p, struct oaset *s);
int replay(void);
/* Checks the options of oa. Returns an exit code after a usage error, or -1 to continue. */
int check_oa(void);
/* Chooses the device of a stream: one for which fits() returns true. Stores the device's index in
 * devices[] in *device. none: text of the error message if there is no such device. Returns an exit
 * code, or -1 on success. */
int stream_device(bool (*fits)(const struct device *d), const char *none, u32 *device);
/* Prints the error r (-errno) of a system call for the stream l, and how to fix it. Returns an exit
 * code. */
int say_failure(const struct oalive *l, long r);
/* Opens the recording of --record, if it was requested, and writes the records that describe the
 * stream. Returns false after an error message. */
bool record_open(const struct oalive *l, const struct oainfo *i);
bool record_bytes(const char *p, size_t n);
int cmd_oa(void);

/* --- commands/playback.c: top --replay -------------------------------------------------------- */

/* The sample of a recorded run that top --replay shows now. */
extern struct playback {
	u64 at;        /* offset of the sample in the file of --replay, in bytes */
	i64 time;      /* time of the sample, in us; -1 if unknown */
	i64 wait;      /* ns until the next sample; -1 if there is none */
	u64 malformed; /* number of malformed lines that were read so far */
} playback;

/* opens a recorded run; returns an exit code, or -1 if its first sample was read */
int playback_open(const char *name);
bool playback_close(void);
bool playback_next(void);
void playback_back(void);
void playback_begin(void);
void playback_end(void);
u8 playback_percent(void);
u32 playback_rows(void);
u32 playback_id(u32 row);
void playback_record(struct record *r, u32 row);

/* --- commands/placeholders.c: replaces names in the files of a captured machine --------------- */

enum placeholder {
	HIDDEN_COMMAND, HIDDEN_GROUP, HIDDEN_PATH, HIDDEN_CLIENT, HIDDEN_SERIAL, PLACEHOLDER_KINDS
};

/* number of different names of each kind that were replaced so far */
extern u32 placeholders[PLACEHOLDER_KINDS];

/* Returns true if the file of this path can contain names to replace. Paths begin with proc/ or
 * sys/, as in struct tracer. */
bool placeholders_apply(struct str path);
/* Replace the names in b, the n bytes of a file or of a link's text. Return the new length, which
 * is at most cap. */
size_t placeholders_put(struct str path, char *b, size_t n, size_t cap);
size_t placeholders_put_link(struct str path, char *b, size_t n, size_t cap);

/* --- commands/named.c ------------------------------------------------------------------------- */

int cmd_counters(void);
int cmd_host(void);

#endif
