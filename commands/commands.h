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

/* --- commands/sampleheader.c: what a perf.data file says about the machine and the run -------- */

struct pdrun {
	const struct perfdata *file;
	u64 first, last; /* ns: the times of the first and the last sample; 0: there is none */
};

enum { PD_MACHINE_BYTES = 256 << 10 }; /* for a thousand CPUs: 70 KB of lists of siblings */
size_t sample_features(const struct pdrun *of, struct buf *b, struct pdfeature to[PD_FEATURES]);

/* --- commands/oarecords.c: OA reports of a live stream or a recording to records -------------- */

struct oastream {
	struct oadevice dev;
	const struct oaplatform *platform; /* NULL: unknown */
	const struct oaformat *format;
	struct oaset set;                  /* with has_set */
	const char *dev_name;              /* NULL: unknown */
	u64 ts_hz;
	i32 exponent;                      /* of the timer period; -1: unknown */
	bool live, has_set, filtered;
	struct oafilter filter;
	u64 cpu_ns, gpu_ts, correlations;  /* last correlation of clocks, and their number */
	u64 seen, deltas, lost;            /* reports so far; reports in the current sum */
	bool failed;                       /* a write failed */
};

extern struct oastream stream;
extern struct oaprog *equations; /* of the current metric set */
extern struct table equations_table;

int stream_ready(void);
const char *stream_report(struct str body); /* what is wrong with the report; NULL: nothing */
void stream_lost(bool buffer);
void stream_correlate(u64 cpu_ns, u64 gpu_ts);
void stream_emit_sum(void);
int stream_finish(bool failed); /* exit code */
void stream_keep_last(void);

/* --- commands/stalls.c: samples of EU stalls, of a live stream or a recording ----------------- */

void stalls_begin(const struct stallformat *f);
bool stalls_add(u64 ns, struct str samples);
void stalls_lost(u64 ns);
int stalls_finish(void);
int cmd_stalls(void);

/* --- commands/oasets.c, commands/oa.c, commands/replay.c -------------------------------------- */

enum { NUMBERS_BYTES = 1024 /* the 11 names and numbers of put_oadevice() */ };
/* Ends a message about a set that is not known. */
#define METRICS_REMEDY \
	"other sets are in the files oa-*.xml of IGT GPU Tools and Mesa: use --metrics FILE"
const struct oafile *file_at(size_t i, const char **name);
bool load_metrics(void);
int set_unknown(struct str name); /* reports it; exit code */
int pack(void);
bool set_find(struct str name, bool by_guid, const struct oaplatform *p, struct oaset *s);
int replay(void);
int check_oa(void); /* exit code, or -1: the options suit each other */
/* Chooses the device of a stream. Returns an exit code, or -1 on success. none: there is none. */
int stream_device(bool (*fits)(const struct device *d), const char *none, u32 *device);
int say_failure(const struct oalive *l, long r); /* exit code */
/* The recording of --record, if it is requested. False: an error was reported. */
bool record_open(const struct oalive *l, const struct oainfo *i);
bool record_bytes(const char *p, size_t n);
int cmd_oa(void);

/* --- commands/playback.c: top --replay -------------------------------------------------------- */

/* The sample that is shown. */
extern struct playback {
	u64 at;        /* its place in the file */
	i64 time;      /* us; -1: unknown */
	i64 wait;      /* ns until the next one; -1: there is none */
	u64 malformed; /* lines so far */
} playback;

int playback_open(const char *name); /* exit code, or -1: the first sample is shown */
bool playback_close(void);
bool playback_next(void);
void playback_back(void);
void playback_begin(void);
void playback_end(void);
u8 playback_percent(void);
u32 playback_rows(void);
u32 playback_id(u32 row);
void playback_record(struct record *r, u32 row);

/* --- commands/placeholders.c: names in the files of a captured machine are replaced ----------- */

enum placeholder {
	HIDDEN_COMMAND, HIDDEN_GROUP, HIDDEN_PATH, HIDDEN_CLIENT, HIDDEN_SERIAL, PLACEHOLDER_KINDS
};

extern u32 placeholders[PLACEHOLDER_KINDS]; /* names of each kind so far */

/* path: as of struct tracer. placeholders_apply(): its file may contain names. */
bool placeholders_apply(struct str path);
/* Replace the names in the text of a file or link. Return its new length, at most cap. */
size_t placeholders_put(struct str path, char *b, size_t n, size_t cap);
size_t placeholders_put_link(struct str path, char *b, size_t n, size_t cap);

/* --- commands/named.c ------------------------------------------------------------------------- */

int cmd_counters(void);
int cmd_host(void);

#endif
