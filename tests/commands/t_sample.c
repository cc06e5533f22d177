/* t_sample.c - `sample`: options, periods, handling of each record of a ring, losses, the order of
 * a profile, the end of a measurement, messages and exit codes. Events, rings and symbols are
 * simulated. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static i64 clock_now = 5000000000, clock_real = 7000000000; /* ns */
static i64 fake_now(int clock) { return clock == CLOCK_MONOTONIC ? clock_now : clock_real; }
static long fake_pwrite(const char *p, size_t n, u64 at);
static int is_regular_file = 1;
static int fake_is_regular(int fd) { return fd >= 0 && is_regular_file; }
#define sys_now(clock) fake_now(clock)
#define sys_pwrite(fd, p, n, at) fake_pwrite(p, n, at)
static long fake_read(char *b);
#define sys_read(fd, b, n) fake_read(b)
#define sys_is_regular(fd) fake_is_regular(fd)
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/sample.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
int out_fd = 1;
struct roots roots = { .proc = 10 };
volatile sig_atomic_t stopped;
struct perf_opened perf_opened;
struct symbols symbols;
u64 rings_lost, rings_corrupt;

static char bytes[OUT_BYTES], shown_bytes[8192], step_bytes[512], patched[64];
static struct buf shown, steps;

static struct {
	bool pmu, breakpoint, show_fails, flush_fails, no_events, no_roots;
	struct pformat format;
	u64 until, lost, period;  /* rings_drain(until), perf_lost(), perf_period() */
	u32 periods, drains, whole, ticks, woken_at, preloads, adds_per_drain, lost_per_drain;
	long start, rings, failure;
	i64 ended;                /* timeout of the measurement */
	u32 finished;
	long pwrites[4];          /* results; 0 at the end: all bytes */
	u32 npwrites;
	const char *rate;         /* perf_event_max_sample_rate */
	i32 confined, restricted;
	u32 hidden;               /* modes whose addresses the user may not see */
	u8 kept;
	u32 cpus; /* online */
	u64 time_step; /* ns between the samples of a drain */
	u32 decoded;
	bool finish_fails, dumb, screen_fails, two_tracepoints;
	long formats; /* result of tracepoints_read() */
} fake;

struct terminal terminal;
static struct screen_row grid[24];
static const char *typed; /* what is read from the keys */
static u32 frames;
void terminal_catch(void) { }
void terminal_leave(void) { }
void terminal_suspend(void) { terminal.suspended = 0; }
bool terminal_enter(void) { return true; }
bool terminal_is_utf8(void) { return true; }
bool terminal_is_dumb(void) { return fake.dumb; }
bool terminal_show(const char *p, size_t n) { frames += p && n; return !fake.screen_fails; }

void terminal_measure(unsigned *rows, unsigned *cols)
{
	*rows = 24;
	*cols = 80;
	terminal.screen.grid = grid;
	screen_size(&terminal.screen, *rows, *cols);
}

static long fake_read(char *b)
{
	strcpy(b, typed ? typed : "");
	return typed ? (long)strlen(typed) : -EAGAIN;
}

static void step(const char *name) { put_z(&steps, name); put_c(&steps, ' '); }

bool perf_has_pmu(void) { return fake.pmu; }
u32 perf_event_of(const struct prec *r) { return counts[count_find(r->id)].event; }
static u64 format_asked; /* the ID in the last call */
const struct pformat *perf_format(u64 id) { format_asked = id; return &fake.format; }
struct str perf_attr(u32 event) { (void)event; return LIT(""); }
void perf_period(u64 period) { fake.period = period; fake.periods++; }
u64 perf_lost(void) { return fake.lost; }
void rings_close(void) { step("close"); }
size_t sample_features(const struct pdrun *of, struct buf *b, struct pdfeature to[PD_FEATURES]) { (void)of; (void)b; (void)to; return 0; }
bool cpus_online(struct cpuset *c) { (void)c; return fake.cpus > 0; }
bool cpu_has(const struct cpuset *s, u32 cpu) { return s == &opt.target.cpus ? cpu == 0 : cpu < fake.cpus; }
void symbols_preload(void) { fake.preloads++; }
u32 symbols_feed(const struct prec *r) { (void)r; return fake.hidden; }
void symbols_restrict(const struct target *t, i32 child) { (void)t; fake.restricted = child; }
bool symbols_restricted(void) { return fake.hidden != 0; }
bool may_see(u8 what) { return what != SEE_TRACEPOINT_FIELDS || !fake.hidden; }
void symbols_task(u32 pid, u32 tid) { (void)pid, (void)tid; }
struct str symbols_comm(u32 pid, u32 tid) { return pid && tid ? LIT("comm") : LIT(""); }
bool symbols_kernel(struct prec *r) { (void)r; return false; }

static const struct tpfield fake_fields[] = { { .name = STR("x"), .size = 4 }, { .name = STR("y"), .size = 4 } };
const struct tpfield *tracepoint_fields(u32 event, u32 *n) { *n = event == 1 || fake.two_tracepoints; return &fake_fields[event - 1]; }
struct str tracepoints_data(void) { return LIT("formats"); }
long tracepoints_read(void) { step("formats"); return fake.formats; }

/* t_timing.c tests --latency and --syscalls; here opt.syscalls stands for both. */
bool timing_is_on(void) { return opt.syscalls; }
int timing_options(struct target *t) { t->period = 1; t->raw = true; return opt.latency ? EX_USAGE : -1; }
const char *timing_events(void) { return "timed"; }
void timing_target(struct target *t) { t->all = true; step("target"); }
bool timing_fields(void) { step("fields"); return !fake.formats; }
void timing_begin(i32 child) { step(child == 9 ? "begin" : "child"); }
void timing_handle(const struct prec *r) { step(r->type == PR_SAMPLE ? "timed" : "other"); }
bool timing_print(void) { step("print"); return !fake.show_fails; }
void symbols_modules(void (*found)(const struct prec *r)) { (void)found; }
bool symbols_in_pid_namespace(void) { return false; }
void symbols_file(const struct prec *r) { step(r->name.p); }
bool open_roots(bool needed) { return !needed && !fake.no_roots; }
int open_control(struct measure *m) { return m->control == -1 ? -1 : EX_FAIL; }
int find_target(struct target *t) { return t == &opt.target ? -1 : EX_FAIL; }
int sink_open(void) { step("sink"); return -1; }
void tasks_catch(bool command) { step(command ? "catch-child" : "catch"); }
void confine(i32 child) { fake.confined = child; }
void keep_privileges(u8 may) { fake.kept = may; }
void update_offset(void) { }
void say_dropped(void) { step("dropped"); }
void say_user_only(void) { say_z("user only"); }
bool flush(void) { out.n = 0; return !fake.flush_fails; }
bool flush_record(void) { return out.n <= OUT_BYTES / 2 || flush(); }
int finish_sample(void) { fake.finished++; return fake.finish_fails ? EX_FAIL : EX_OK; }
int command_result(const struct measure *m, int code) { return m->failure ? 127 : code; }
long write_all(int fd, const char *p, size_t n) { (void)fd, (void)p, (void)n; return 0; }

bool symbol_find(u32 pid, u64 ip, u8 mode, struct str *symbol, struct str *module, u64 *offset)
{
	*symbol = ip == 0x10 ? LIT("main") : ip == 0x20 ? LIT("call") : LIT("");
	*module = mode == PM_KERNEL ? LIT("[kernel]") : LIT("prog");
	*offset = ip + pid;
	return true;
}

bool slurp_line(int dir, const char *path, char *b, size_t cap, struct str *line)
{
	if (!fake.rate || dir != 10 || strcmp(path, "sys/kernel/perf_event_max_sample_rate") != 0)
		return false;
	str_copy(b, cap, str_z(fake.rate));
	*line = str_z(b);
	return true;
}

static long fake_pwrite(const char *p, size_t n, u64 at)
{
	long r = fake.pwrites[fake.npwrites];

	fake.npwrites += r != 0;
	r = r == 1000 ? 0 : r ? r : (long)n;
	if (r > 0)
		memcpy(patched + at, p, (size_t)r);
	return r;
}

bool add_events(struct str list, u16 set)
{
	if (fake.no_events || set)
		return false;
	table_has(&events_table, nrows.events + 1);
	events[++nrows.events] = (struct event){ .name = text_put(NONE, list),
						 .type = fake.breakpoint ? PT_BREAKPOINT : 0 };
	return true;
}

bool add_lists(void)
{
	for (size_t i = 0; i < opt.nevents; i++)
		if (!add_events(opt.events[i], 0))
			return false;
	return true;
}

void measure_record(const struct entity *e, const struct recopts *ro)
{
	record_make(&rec, e, ro);
	if (out_measures(&opt.out))
		out_measure(&opt.out, &rec);
}

/* Returns the fields of a sample that are checked, in one line. */
bool show_record(const struct entity *e, const struct recopts *ro)
{
	if (e->kind == K_PROFILE) {
		put_str(&shown, ((const struct profile *)(const void *)e)->row->name);
		put_c(&shown, '\n');
	} else {
		const struct sample *s = (const void *)e;
		char text[256];

		if (s->r->type == PR_LOST_SAMPLES) {
			put_z(&shown, "lost ");
			put_u64(&shown, s->r->lost);
			put_c(&shown, '\n');
		}
		snprintf(text, sizeof(text), "%u period %" PRIu64 " %.*s at %.*s+%" PRIu64
			 " chain %u group %u%s time %" PRId64 "\n", s->event, s->period,
			 (int)str_len(s->comm), s->comm.p ? s->comm.p : "", (int)str_len(s->at.symbol),
			 s->at.symbol.p ? s->at.symbol.p : "", s->at.offset, s->nchain, s->ngroup,
			 s->nfields ? " fields" : "",
			 ro->time_us);
		put_z(&shown, text);
		for (u32 i = 0; i < s->nchain; i++) {
			snprintf(text, sizeof(text), " %.*s %u\n", (int)str_len(s->chain[i].symbol),
				 s->chain[i].symbol.p, s->chain[i].mode);
			put_z(&shown, text);
		}
		for (u32 i = 0; i < s->ngroup; i++) {
			snprintf(text, sizeof(text), " %u=%" PRIu64 "\n", s->group[i].event,
				 s->group[i].count);
			put_z(&shown, text);
		}
	}
	return !fake.show_fails;
}

static const struct prec tick = { .type = PR_SAMPLE, .have = PS_IP | PS_TIME, .pid = 3, .tid = 4,
				  .ip = 0x10, .time = 5000, .id = 71 };

/* The record `tick` as the kernel writes it: 64-bit words; the fourth one is the time. */
static u64 tick_words[8];

static struct str tick_raw(u64 time, u64 period)
{
	const u64 words[] = { PR_SAMPLE, 0x10, 3 | (u64)4 << 32, time, period };

	memcpy(tick_words, words, sizeof(words));
	return str_of((const char *)tick_words, sizeof(words));
}

u64 rings_drain(u64 until, const struct ring_reader *to)
{
	fake.until = until;
	fake.whole += until == (u64)clock_now;
	fake.drains++;
	rings_lost += fake.lost_per_drain;
	for (u32 i = 0; i < fake.adds_per_drain && to->format(71); i++) {
		struct prec r = tick;

		r.time += fake.time_step * i;
		r.period = 10 + i;
		r.raw = tick_raw(r.time, r.period);
		if (to->again && to->again(r.raw))
			continue;
		fake.decoded++;
		to->handle(&r);
	}
	return 0;
}

/* Returns the number of samples, adds_per_drain; handles one, and copies the text "samples". */
u64 rings_copy(struct ring_reader *to)
{
	fake.drains++;
	to->first = 4000;
	if (fake.adds_per_drain && to->format(71)) {
		to->handle(&tick);
		to->copy(LIT("samples"));
	}
	return fake.adds_per_drain;
}

long measure_start(struct measure *m)
{
	m->failure = fake.failure;
	m->rings = fake.rings;
	fake.ended = m->timeout;
	if (m->ready)
		m->ready(9, false);
	return fake.start;
}

bool measure_next(struct measure *m)
{
	if (m->stop || fake.ticks == 0)
		return false;
	m->woken = --fake.ticks == fake.woken_at;
	return true;
}

static void clear(void)
{
	table_has(&counts_table, 4);
	memset(counts, 0, 5 * sizeof(*counts));
	nrows.events = nrows.counts = 0;
	memset(&opt, 0, sizeof(opt));
	opt.out.fmt = format_find((struct str)STR("json"));
	memset(&fake, 0, sizeof(fake));
	memset(&sampling, 0, sizeof(sampling));
	sampling.reader = (struct ring_reader){ .format = perf_format, .handle = record_handle };
	rings_lost = rings_corrupt = profile_sums.dropped = 0;
	symbols.dropped = symbols.remote = 0;
	perf_opened.user_only = symbols.hidden = false;
	is_regular_file = 1;
	said.n = 0;
	out = buf_on(bytes, sizeof(bytes));
	shown = BUF(shown_bytes);
	steps = BUF(step_bytes);
}

/* Two events, with a count each: ids 71 and 72. */
static void add_two(void)
{
	add_events(LIT("a"), 0);
	add_events(LIT("b"), 0);
	for (nrows.counts = 1; nrows.counts <= 2; nrows.counts++) {
		counts[nrows.counts] = (struct count){ .event = nrows.counts, .fd = 5, .cpu = (i32)nrows.counts };
		count_set_id(nrows.counts, 70 + nrows.counts);
	}
	nrows.counts = 2;
}

static struct str lines(void) { return str_of(shown.p, shown.n); }

static void format(const char *name) { opt.out.fmt = format_find(str_z(name)); }

/* --- fields of tracepoints -------------------------------------------------------------------- */

/* -f field makes columns for the fields of all tracepoints, before the first sample. */
static void t_columns(void)
{
	static const struct str pattern = STR("field");

	clear();
	format("csv");
	add_two();
	fake.two_tracepoints = true;
	opt.out.kind = K_SAMPLE;
	opt.out.patterns = &pattern;
	opt.out.npatterns = 1;
	record_select(K_SAMPLE, &pattern, 1, 0);
	record_alloc();
	columns_prepare();
	check(opt.out.ncells == 2 && str_eq(str_of(opt.out.cells[0].inst, opt.out.cells[0].inst_n), LIT("x")) &&
	      str_eq(str_of(opt.out.cells[1].inst, opt.out.cells[1].inst_n), LIT("y")),
	      "CSV: a column for the field of each tracepoint");
	opt.out.headed = true;
	opt.out.ncells = 0;
	columns_prepare();
	check(opt.out.ncells == 0, "CSV: a header that was read from a file is kept");
}

/* The format files are read, and samples have the fields, only if the output shows them. */
static void t_fields(void)
{
	static const struct {
		const char *format, *patterns[2];
		u8 profile;
		bool point, raw, common;
	} rows[] = {
		{ "json", { NULL }, 0, true, true, false },  { "csv", { NULL }, 0, true, true, false },
		{ "logfmt", { NULL }, 0, true, true, false }, { "perfdata", { NULL }, 0, true, true, false },
		{ "line", { NULL }, 0, true, false, false }, { "table", { NULL }, 0, true, false, false },
		{ "influx", { NULL }, 0, true, false, false }, { "json", { NULL }, 0, false, false, false },
		{ "perfdata", { NULL }, 0, false, false, false },
		{ "json", { NULL }, ALL_SUMS, true, false, false },
		{ "json", { "comm" }, 0, true, false, false }, { "json", { "fields" }, 0, true, false, false },
		{ "line", { "comm", "field" }, 0, true, true, false },
		{ "line", { "field.next_pid", "comm" }, 0, true, true, false },
		{ "csv", { "field.common_pid" }, 0, true, true, true },
		{ "csv", { "common_pid" }, 0, true, false, true },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str patterns[2] = { str_z(rows[i].patterns[0]), str_z(rows[i].patterns[1]) };

		clear();
		format(rows[i].format);
		add_two();
		events[2].type = rows[i].point ? PT_TRACEPOINT : 0;
		opt.profile = rows[i].profile;
		opt.out.patterns = patterns;
		opt.out.npatterns = !!rows[i].patterns[0] + (size_t)!!rows[i].patterns[1];
		fields_prepare(&opt.target);
		check(opt.target.raw == rows[i].raw && (steps.n > 0) == rows[i].raw &&
		      (!rows[i].raw || sampling.common == rows[i].common) &&
		      (str_len(sampling.tracing) > 0) == (rows[i].raw && makes_perfdata()),
		      "tracepoint fields, row %zu: %s, %s", i, rows[i].format,
		      rows[i].patterns[0] ? rows[i].patterns[0] : "no -f");
	}
	clear();
	add_two();
	events[1].type = PT_TRACEPOINT;
	fake.formats = -EACCES;
	fields_prepare(&opt.target);
	check(is_said("cannot read the fields of tracepoints: error"),
	      "a format file that cannot be read is reported");
	fake.formats = 0;
	fake.hidden = 1;
	steps.n = 0;
	fields_prepare(&opt.target);
	check(!opt.target.raw && !steps.n && is_said("fields of tracepoints are shown only to root"),
	      "fields of tracepoints are left out, with a message, if the user may not see them");
	fake.hidden = 0;
}

/* --- --latency, --syscalls -------------------------------------------------------------------- */

static void t_timing(void)
{
	clear();
	opt.syscalls = opt.latency = true;
	check(sample_options(&opt.target) == EX_USAGE,
	      "--syscalls and --latency exclude each other");
	clear();
	opt.syscalls = true;
	opt.top = 3;
	check(sample_options(&opt.target) == -1 && opt.out.once && opt.target.period == 1,
	      "--syscalls: --top is allowed, the period is 1");
	clear();
	opt.syscalls = true;
	fake.ticks = 1;
	fake.adds_per_drain = 1;
	check(cmd_sample() == EX_DENIED, "--syscalls: no event can be opened");
	check_str(str_of(steps.p, steps.n), "target formats fields sink catch begin timed timed dropped close ",
	          "--syscalls: fields are found, records are handled, no sums are printed");
	check(opt.target.fields == (PS_TID | PS_TIME) && fake.preloads == 0,
	      "--syscalls: samples have a thread and a time, no symbols are read");
	clear();
	opt.syscalls = true;
	fake.formats = -2;
	check(cmd_sample() == EX_FAIL && is_said("cannot read the fields of tracepoints: error"),
	      "--syscalls: a missing field is an error");
	clear();
	opt.syscalls = true;
	opt.count = 2;
	timing_record(&tick);
	timing_record(&tick);
	timing_record(&tick);
	timing_record(&(struct prec){ .type = PR_FORK });
	check_str(str_of(steps.p, steps.n), "timed timed other ",
		  "--syscalls: --count limits samples, not other records");
}

/* --- options ---------------------------------------------------------------------------------- */

static void t_options(void)
{
	static const struct {
		const char *format;
		u64 period, freq, random, longer, shorter, top;
		u8 sums;
		bool output;
		const char *message;
		u8 profile; /* expected value if the options are valid */
	} rows[] = {
		{ "json", 5, 5, 0, 0, 0, 0, 0, false, "--freq and --sample-period exclude each other", 0 },
		{ "json", 0, 0, 7, 0, 0, 0, 0, false, "require --sample-period", 0 },
		{ "json", 0, 0, 0, 7, 0, 0, 0, false, "require --sample-period", 0 },
		{ "json", 0, 5, 0, 0, 7, 0, 0, false, "require --sample-period", 0 },
		{ "json", 5, 0, 7, 7, 7, 0, 0, false, NULL, 0 },
		{ "folded", 0, 0, 0, 0, 0, 0, ALL_SUMS, false, NULL, 1 << PROF_STACK },
		{ "folded", 0, 0, 0, 0, 0, 5, 0, false, NULL, 1 << PROF_STACK },
		{ "folded", 0, 0, 0, 0, 0, 0, 1 << PROF_COMM, false,
		  "--summary does not support -o folded and -o perfdata", 0 },
		{ "perfdata", 0, 0, 0, 0, 0, 0, ALL_SUMS, true,
		  "--summary does not support -o folded and -o perfdata", 0 },
		{ "perfdata", 0, 0, 0, 0, 0, 0, 0, false, "-o perfdata requires -O FILE", 0 },
		{ "perfdata", 0, 0, 0, 0, 0, 0, 0, true, NULL, 0 },
		{ "json", 0, 0, 0, 0, 0, 5, 0, false, "--top requires --summary", 0 },
		{ "json", 0, 0, 0, 0, 0, 5, ALL_SUMS, false, NULL, ALL_SUMS },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		int code;

		clear();
		format(rows[i].format);
		opt.target.period = rows[i].period;
		opt.target.freq = rows[i].freq;
		opt.random_mask = rows[i].random;
		opt.long_period = rows[i].longer;
		opt.short_period = rows[i].shorter;
		opt.top = rows[i].top;
		opt.profile = rows[i].sums;
		opt.output = rows[i].output ? "f" : NULL;
		code = sample_options(&opt.target);
		check(code == (rows[i].message ? EX_USAGE : -1) && is_said(rows[i].message) &&
		      (code >= 0 || (opt.profile == rows[i].profile && opt.target.sampling &&
				     opt.out.once == (rows[i].profile != 0) &&
				     (opt.out.kind == K_PROFILE) == (rows[i].profile != 0))),
		      "options %zu: %s", i, rows[i].message ? rows[i].message : "allowed");
	}
}

static void t_defaults(void)
{
	clear();
	sample_options(&opt.target);
	check(opt.target.freq == 4000 && pages_default(&opt.target) == 128 && !opt.target.watermark &&
	      opt.target.wakeup == 0, "defaults: 4000 Hz, 128 pages, a wakeup at half of a ring");
	clear();
	opt.target.freq = 9;
	opt.pages = 2;
	opt.target.wakeup = 3;
	sample_options(&opt.target);
	check(opt.target.freq == 9 && opt.pages == 2 && opt.target.wakeup == 3 &&
	      !opt.target.watermark, "values of options replace the defaults");
	clear();
	opt.target.period = 500;
	sample_options(&opt.target);
	check(opt.target.freq == 0 && sampling.period_now == 500,
	      "with a period there is no frequency");
	for (int limit = 0; limit < 2; limit++) {
		clear();
		opt.target.period = 5;
		opt.target.limit = limit ? 1 : 0;
		opt.random_mask = !limit;
		sample_options(&opt.target);
		check(opt.target.wakeup == 1 && !opt.target.watermark &&
		      opt.target.period_varies == !limit, "%s: a wakeup per sample",
		      limit ? "a limit" : "random periods");
	}
	for (int reset = 0; reset < 2; reset++) {
		clear();
		opt.reset_on_overflow = reset;
		sample_options(&opt.target);
		check(opt.target.no_inherit == reset, "tasks %s",
		      reset ? "have counts of their own" : "are inherited");
	}
}

static void t_events(void)
{
	clear();
	add_two();
	check(check_events() == -1, "perf events can be sampled");
	events[2].virt = 3;
	check(check_events() == EX_USAGE && is_said("only perf events can be sampled"),
	      "a virtual counter cannot be sampled");
	clear();
	add_two();
	events[2].type = PT_TRACEPOINT;
	check(check_events() == -1, "a tracepoint can be sampled");
	format("perfdata");
	check(check_events() == -1, "a tracepoint can be sampled into perf.data");
	nrows.events = 1025;
	check(check_events() == EX_USAGE && is_said("at most 1024 events"),
	      "perf.data: 1025 events are too many");
	clear();
	add_two();
	check(has_kernel(), "has_kernel: events include the kernel by default");
	events[1].mods = events[2].mods = EM_USER;
	check(!has_kernel(), "has_kernel: not with :u");
	events[2].mods = EM_USER | EM_KERNEL;
	check(has_kernel(), "has_kernel: an event with :uk");
	opt.target.user_only = true;
	check(!has_kernel(), "has_kernel: not with --all-user");
	clear();
	check_str(str_z(sample_default()), "cpu-clock", "default event without a PMU: cpu-clock");
	fake.pmu = true;
	check_str(str_z(sample_default()), "cycles", "default event with a PMU: cycles");
}

static void t_periods_default(void)
{
	clear();
	add_two();
	add_events(LIT("c"), 0);
	add_events(LIT("d"), 0);
	events[1].type = PT_TRACEPOINT;
	events[2].type = PT_BREAKPOINT;
	events[2].period = 9;
	events[3].path = 1;
	periods_default();
	check(events[1].period == 1 && events[2].period == 9 && events[3].period == 1 &&
	      events[4].period == 0,
	      "tracepoints, breakpoints and uprobes have period 1, unless a period is given");
	for (int given = 0; given < 2; given++) {
		clear();
		opt.events[opt.nevents++] = LIT("e");
		fake.breakpoint = true;
		opt.target.freq = given ? 50 : 0;
		cmd_sample();
		check(events[1].period == !given, given ? "-F: a breakpoint has no period" :
		      "a breakpoint without -F and -c: period 1");
	}
}

static void t_pages(void)
{
	static const struct {
		u32 cpus, period, freq, pages, limit;
	} rows[] = {
		{ 0, 1, 0, 1024, 0 }, { 1, 1, 0, 1024, 0 }, { 2, 99, 0, 1024, 0 },
		{ 3, 1, 0, 512, 0 }, { 16, 1, 0, 128, 0 }, { 500, 1, 0, 128, 0 },
		{ 2, 100, 0, 128, 0 }, { 2, 0, 4000, 128, 0 }, { 2, 1, 0, 128, 9 },
	};

	for (size_t i = 0; i < LEN(rows) && sys_page_size() == 4096; i++) {
		clear();
		add_two();
		fake.cpus = rows[i].cpus;
		opt.target.period = rows[i].period;
		opt.target.freq = rows[i].freq;
		opt.target.limit = rows[i].limit;
		check_u64(pages_default(&opt.target), rows[i].pages, "pages of a ring: %u CPUs, period %u", rows[i].cpus, rows[i].period);
		events[1].period = 1;
		opt.target.limit = 0;
		check(pages_default(&opt.target) >= rows[i].pages,
		      "a period of an event: at least as many pages");
	}
}

/* --- periods ---------------------------------------------------------------------------------- */

static void t_periods(void)
{
	struct measure m = { 0 };

	clear();
	opt.target.period = 100;
	vary_period(&m);
	check(fake.periods == 0, "a constant period is never set again");
	/* Carta's generator: 16807^n modulo 2^31 - 1, from seed 1 */
	opt.random_mask = 0xff;
	vary_period(&m);
	check(fake.period == 100 + (16807 & 0xff), "--period-random: the first period");
	vary_period(&m);
	check(fake.period == 100 + (282475249 & 0xff) && fake.periods == 2,
	      "--period-random: the second period");
	opt.random_mask = 0;
	opt.short_period = 50;
	vary_period(&m);
	check(fake.period == 50 && sampling.period_now == 50, "--short-period: it is set");
	vary_period(&m);
	check(fake.periods == 3, "--short-period: it is set once");
	opt.long_period = 900;
	m.woken = true;
	vary_period(&m);
	check(fake.period == 900, "--long-period: it is set after a wakeup");
	m.woken = false;
	opt.short_period = 0;
	vary_period(&m);
	check(fake.period == 100, "without a short period, the one of --sample-period is set");
	opt.seed = 0x7fffffff;
	vary_period(&m);
	check(opt.seed == 16807, "--period-random: seed 0 modulo 2^31 - 1 is replaced by 1");
}

/* --- records ---------------------------------------------------------------------------------- */

static void t_records(void)
{
	struct prec r = tick;

	clear();
	add_two();
	opt.out.time = T_MONO;
	record_handle(&r);
	check_str(lines(), "1 period 0 comm at main+19 chain 0 group 0 time 5\n",
		  "a sample: event, command, function and time");
	check(sampling.nsamples == 1, "a sample is counted");
	clear();
	add_two();
	opt.out.time = T_NONE;
	sampling.period_now = 8;
	r.have = PS_TIME;
	record_handle(&r);
	events[1].period = 30;
	record_handle(&r);
	events[1].freq = true;
	record_handle(&r);
	r.have |= PS_PERIOD;
	r.period = 77;
	record_handle(&r);
	check_str(lines(), "1 period 8 comm at +0 chain 0 group 0 time -1\n"
		  "1 period 30 comm at +0 chain 0 group 0 time -1\n"
		  "1 period 8 comm at +0 chain 0 group 0 time -1\n"
		  "1 period 77 comm at +0 chain 0 group 0 time -1\n",
		  "period of a sample: of all events, of its event, no frequency, of the record");
	clear();
	add_two();
	sampling.clock_offset = 3000000;
	r.type = PR_LOST;
	r.lost = 4;
	r.have = PS_TIME;
	opt.out.time = T_EPOCH;
	record_handle(&r);
	check_str(lines(), "0 period 0  at +0 chain 0 group 0 time 3005\n",
		  "a record of lost samples is shown");
	check(sampling.nsamples == 0, "a record of lost samples is not counted as a sample");
	r.type = PR_COMM;
	r.lost = 0;
	record_handle(&r);
	r = tick;
	r.id = 999;
	record_handle(&r);
	check_str(lines(), "0 period 0  at +0 chain 0 group 0 time 3005\n"
		  "0 period 0  at +0 chain 0 group 0 time 3005\n",
		  "other records are not shown; a sample of an unknown event has no fields");
	clear();
	add_two();
	opt.count = 2;
	for (int i = 0; i < 3; i++)
		record_handle(&tick);
	check(sampling.nsamples == 2, "COUNT limits the samples");
	clear();
	add_two();
	fake.show_fails = true;
	record_handle(&tick);
	record_handle(&tick);
	check(sampling.sample_failed && sampling.nsamples == 1,
	      "after a write error no sample is shown");
}

static void t_chains(void)
{
	const u64 chain[] = { (u64)-128, 0x20, 0x20, (u64)-512, 0x10, 0x30 };
	struct prec r = tick;

	clear();
	add_two();
	r.chain = str_of((const char *)chain, sizeof(chain));
	record_handle(&r);
	check_str(lines(), "1 period 0 comm at main+19 chain 3 group 0 time 5\n"
		  " call 1\n main 2\n  2\n",
		  "call chain: all frames except the first, each with its mode");
	shown.n = 0;
	r = (struct prec){ .type = PR_LOST, .lost = 1 };
	record_handle(&r);
	check_str(lines(), "0 period 0  at +0 chain 0 group 0 time -1\n",
		  "call chain: a record of lost samples has none");
}

static void t_hidden(void)
{
	const u64 chain[] = { (u64)-128, 0x20, 0x20, (u64)-512, 0x10, 0x30 };
	struct prec r = tick;

	clear();
	add_two();
	r.chain = str_of((const char *)chain, sizeof(chain));
	r.mode = PM_USER;
	fake.hidden = 1 << PM_KERNEL;
	record_handle(&r);
	check_str(lines(), "1 period 0 comm at main+19 chain 2 group 0 time 5\n main 2\n  2\n",
		  "hidden kernel: its frames are left out");
	check(sampling.nhidden == 0,
	      "hidden kernel: a sample of user code is not counted as hidden");
	r.mode = PM_KERNEL;
	shown.n = 0;
	record_handle(&r);
	check_str(lines(), "1 period 0 comm at +0 chain 2 group 0 time 5\n main 2\n  2\n",
		  "hidden kernel: a sample of the kernel has no symbol");
	shown.n = 0;
	r.have |= PS_RAW;
	record_handle(&r);
	check_str(lines(), "1 period 0 comm at +0 chain 2 group 0 time 5\n main 2\n  2\n",
		  "hidden kernel: a sample of the kernel has no fields of a tracepoint");
	shown.n = 0;
	r.mode = PM_USER;
	record_handle(&r);
	check_str(lines(), "1 period 0 comm at main+19 chain 2 group 0 fields time 5\n main 2\n  2\n",
		  "hidden kernel: a sample of user code has fields of a tracepoint");
	r.have &= ~(u64)PS_RAW;
	sampling.nhidden = 1;
	fake.hidden = UINT32_MAX;
	shown.n = 0;
	record_handle(&r);
	check_str(lines(), "1 period 0 comm at +0 chain 0 group 0 time 5\n",
		  "a sample of another user's task has no symbol");
	check(sampling.nhidden == 2, "samples without an address are counted as hidden");
	opt.count = 3;
	record_handle(&r);
	check(sampling.nhidden == 2, "samples without an address count only if they are shown");
}

static void t_groups(void)
{
	/* number of counts, then value and id of each */
	const u64 first[] = { 3, 100, 71, 10, 72, 5, 999 }, second[] = { 2, 150, 71, 30, 72 };
	struct prec r = tick;

	for (int reset = 0; reset < 2; reset++) {
		clear();
		add_two();
		opt.out.time = T_NONE;
		fake.format.read_format = PF_GROUP | PF_ID;
		opt.reset_on_overflow = reset;
		r.values = str_of((const char *)first, sizeof(first));
		record_handle(&r);
		r.values = str_of((const char *)second, sizeof(second));
		record_handle(&r);
		check_str(lines(), reset ?
			  "1 period 0 comm at main+19 chain 0 group 2 time -1\n 1=100\n 2=10\n"
			  "1 period 0 comm at main+19 chain 0 group 2 time -1\n 1=50\n 2=20\n" :
			  "1 period 0 comm at main+19 chain 0 group 2 time -1\n 1=100\n 2=10\n"
			  "1 period 0 comm at main+19 chain 0 group 2 time -1\n 1=150\n 2=30\n",
			  "%s", reset ? "--reset-on-overflow: the increase of each count" :
			  "counts of the group; counts of unknown events are left out");
	}
}

static void t_losses(void)
{
	clear();
	add_two();
	opt.out.time = T_NONE;
	rings_lost = 3;
	losses_report(3);
	check(shown.n == 0, "losses_report: no record if all losses are known");
	losses_report(8);
	check_str(lines(), "lost 5\n0 period 0  at +0 chain 0 group 0 time -1\n",
		  "losses_report: losses that no record has reported");
	losses_report(2);
	check(rings_lost == 8, "losses_report: the number of losses never decreases");
	clear();
	clock_now = 5000000000;
	drain(false);
	check(fake.until == 4999000000, "drain: records of the last millisecond are not read yet");
	check(sampling.clock_offset == 2000000000, "drain: the offset of the clock of -t is set");
	drain(true);
	check(fake.until == 5000000000, "drain: at the end all records are read");
	opt.out.time = T_MONO;
	drain(true);
	check(sampling.clock_offset == 0, "drain: with -t mono the offset is 0");
	fake.flush_fails = true;
	drain(true);
	check(sampling.sample_failed, "drain: a write error is stored");
}

static void t_again(void)
{
	struct measure m = { 0 };

	for (int period = 0; period < 2; period++) {
		clear();
		add_two();
		nrows.events = 1;
		opt.profile = 1 << PROF_SYMBOL | 1 << PROF_IP;
		profile_begin(opt.profile);
		fake.format.sample_type = PS_IP | PS_TID | PS_TIME | (period ? PS_PERIOD : 0);
		repeats_begin();
		repeats_forget();
		fake.ticks = 1;
		fake.adds_per_drain = 10;
		fake.time_step = 1000;
		sampling.period_now = 7;
		sample_loop(&m);
		check_u64(sampling.nsamples, 20, "repeated samples are counted");
		check(fake.decoded <= (period ? 2 : 20),
		      "repeated samples: %u are decoded", fake.decoded);
	}
	clear();
	sampling.time_word = 3;
	check(!sample_again(str_of((const char *)tick_words, 8)) && sample_word(tick_raw(9, 7), 4) == 7 &&
	      sample_word(str_of((const char *)tick_words, 32), 4) == 0,
	      "a truncated sample is not a repeated one");
	for (int i = 0; i < 4; i++) {
		clear();
		add_two();
		format(i == 1 ? "line" : i == 2 ? "folded" : "csv");
		opt.profile = i == 2 ? 1 << PROF_STACK : 0;
		fake.format.sample_type = PS_IP | PS_TID | PS_TIME | (i == 3 ? PS_READ : 0);
		format_asked = 9;
		repeats_begin();
		check(format_asked == 0,
		      "repeats_begin: asks for the format that all events share");
		check(!sampling.reader.again == (i == 1 || i == 3),
		      "%s", i == 0 ? "CSV: repeats are used" :
		      i == 1 ? "lines: no repeats" : i == 2 ? "folded stacks: repeats are used" :
		      "samples with counts: no repeats");
	}
}

static void t_perfdata(void)
{
	struct measure m = { 0 };
	static char file[4096];

	clear();
	add_two();
	format("perfdata");
	sampling.pdata = (struct perfdata){ .b = BUF(file), .write = pdata_write };
	sampling.reader = (struct ring_reader){ .format = perf_format, .handle = pdata_handle,
						.copy = pdata_copy };
	fake.ticks = 3;
	fake.adds_per_drain = 5;
	opt.count = 12;
	sample_loop(&m);
	check(sampling.nsamples == 20 && shown.n == 0,
	      "perf.data: COUNT ends it after a whole ring");
	check(memcmp(file, "samples", 7) == 0, "perf.data: records are copied");
	for (int copied = 0; copied < 2; copied++) {
		struct prec comm = { .type = PR_COMM, .time = 6000, .name = LIT("name") };
		u64 time;

		clear();
		sampling.pdata = (struct perfdata){ .b = BUF(file), .write = pdata_write,
						    .format = { .sample_type = PS_TIME, .id_all = true } };
		sampling.reader.first = copied ? 4000 : 0;
		pdata_found(&comm);
		memcpy(&time, file + 24, 8);
		check_u64(time, copied ? 4000 : 6000,
			  copied ? "perf.data: a found task is before all copied records" :
			  "perf.data: a found task has the time of its record");
	}
	for (int old = 0; old < 2; old++) {
		static const struct prec kinds[] = {
			{ .type = PR_MMAP2, .misc = PM_USER | PM_BUILD_ID, .mode = PM_USER, .prot = 5, .name = STR("a"),
			  .build_id = STR("id") },
			{ .type = PR_MMAP2, .misc = PM_KERNEL | PM_BUILD_ID, .mode = PM_KERNEL, .name = STR("b"),
			  .build_id = STR("id") },
			{ .type = PR_MMAP2, .misc = PM_USER, .mode = PM_USER, .prot = 3, .name = STR("data") },
			{ .type = PR_MMAP, .misc = PM_USER, .mode = PM_USER, .name = STR("one") },
		};
		u32 types[LEN(kinds)];
		u16 misc[LEN(kinds)];

		clear();
		perf_opened.build_ids = !old;
		for (size_t i = 0; i < LEN(kinds); i++) {
			sampling.pdata = (struct perfdata){ .b = BUF(file), .write = pdata_write };
			pdata_file(&kinds[i]);
			pdata_map(&kinds[i]);
			memcpy(&types[i], file, 4);
			memcpy(&misc[i], file + 4, 2);
		}
		check_str(str_of(steps.p, steps.n), old ? "a " : "",
			  old ? "perf.data before Linux 5.12: build IDs are read from files" :
			    "perf.data: no file is read if the kernel writes build IDs");
		check(types[0] == PR_MMAP2 && types[1] == (old ? PR_MMAP : PR_MMAP2) && types[2] == PR_MMAP2 &&
		      types[3] == PR_MMAP && misc[0] == (old ? PM_USER : PM_USER | PM_BUILD_ID) &&
		      misc[1] == (old ? PM_KERNEL : PM_KERNEL | PM_BUILD_ID) && misc[2] == PM_USER, "%s",
		      old ? "before Linux 5.12 records have no build IDs" :
		      "perf.data: records of found tasks have build IDs");
	}
	clear();
	check(read_interval(&opt.target) == 1000000000,
	      "a regular file: the rings are read each second");
	for (int kind = 0; kind < 3; kind++) {
		clear();
		is_regular_file = 0;
		format(kind == 2 ? "json" : "perfdata");
		opt.target.all = kind == 1;
		opt.profile = 0;
		check(sample_fields(&opt.target) == (PS_IP | PS_TID | PS_TIME | (kind ? PS_CPU : 0u)) &&
		      read_interval(&opt.target) == (kind == 2 ? 100000000 : kind ? 1000000000 : 0),
		      "%s", kind == 2 ? "JSON into a pipe: the rings are read each 0.1 s" :
		      kind ? "perf.data of all tasks: the rings are read each second" :
		      "perf.data of known tasks: no timer");
		opt.count = 1;
		check(read_interval(&opt.target) == 100000000,
		      "with COUNT the rings are read each 0.1 s");
		opt.count = 0;
		opt.profile = 1;
		check(kind < 2 || read_interval(&opt.target) == 1000000000,
		      "sums: the rings are read each second");
	}
}

static void t_addresses(void)
{
	static const struct {
		u32 type;
		u64 config;
		bool has;
	} rows[] = {
		{ PT_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, false }, { PT_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, false },
		{ PT_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, true }, { PT_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, true },
		{ PT_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, true }, { PERF_TYPE_BREAKPOINT, 0, true },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		for (size_t k = 0; k < LEN(rows); k++) {
			clear();
			add_two();
			events[1].type = rows[i].type;
			events[1].config[0] = rows[i].config;
			events[2].type = rows[k].type;
			events[2].config[0] = rows[k].config;
			check(sample_fields(&opt.target) ==
			      (PS_IP | PS_TID | PS_TIME | PS_CPU | (rows[i].has || rows[k].has ? PS_ADDR : 0u)),
			      "events %zu and %zu: samples have an address unless both are clocks", i, k);
		}
}

static void t_first(void)
{
	struct measure m = { 0 };

	clear();
	opt.profile = 1;
	set_intervals(&m);
	check(m.interval == 1000000000 && m.first == 100000000,
	      "sums: the first reading is after 0.1 s, so that short tasks have a name");
	opt.profile = 0;
	format("perfdata");
	set_intervals(&m);
	check(!m.interval && !m.first, "perf.data of known tasks: no first reading");
}

static void t_live(void)
{
	static char name[] = "true";
	struct measure m = { 0 };

	clear();
	format("line");
	opt.live = true;
	check(!live_conflict() && sample_options(&opt.target) == -1 && opt.profile == 1 << PROF_SYMBOL,
	      "--live is --summary=symbol on a screen");
	opt.command = (char *[]){ name, NULL };
	check(sample_options(&opt.target) == EX_USAGE &&
	      is_said("--live excludes a command, -o and -O"), "--live excludes a command");
	opt.command = NULL;
	fake.dumb = true;
	check(sample_options(&opt.target) == EX_USAGE && is_said("--live requires a full-screen terminal"),
	      "--live requires a terminal");
	add_events(str_z("e"), 0);
	profile_begin(opt.profile);
	frames = 0;
	check(live_begin(&m) && frames == 1 && out.n == 0 && terminal.keeps_stops,
	      "--live: the first frame is drawn");
	sampling.nsamples++;
	check(live_update(&m) && frames == 2, "--live: a frame is drawn after each interval");
	m.woken = true;
	check(live_update(&m) && frames == 2, "--live: no frame when a ring has a wakeup");
	terminal.resized = terminal.resumed = 1;
	check(live_update(&m) && !terminal.resized && !terminal.resumed && !terminal.screen.known,
	      "--live: the whole screen is drawn after ^Z or a new size");
	m.woken = false;
	m.typed = true;
	typed = "x\f";
	sampling.nsamples++;
	check(live_update(&m) && frames == 3, "--live: another key draws a frame");
	typed = NULL;
	check(live_update(&m), "--live: no key was read");
	typed = "";
	check(!live_update(&m), "--live: a closed terminal ends it");
	typed = "q";
	check(!live_update(&m), "--live: q ends it");
	m.typed = false;
	stopped = 1;
	check(!live_update(&m), "--live: a signal ends it");
	stopped = 0;
	fake.screen_fails = true;
	check(!live_update(&m), "--live: a write error ends it");
	clear();
}

static void t_unwind(void)
{
	clear();
	check(sample_options(&opt.target) == -1, "callers by frame pointers are the default");
	clear();
	for (opt.call_graph = UNWIND_DWARF; opt.call_graph < UNWINDS; opt.call_graph++) {
		bool lbr = opt.call_graph == UNWIND_LBR;

		check(sample_options(&opt.target) == EX_USAGE &&
		      is_said("--call-graph dwarf and lbr are not supported: "),
		      "--call-graph %s: the message has the reason why it is not supported",
		      lbr ? "lbr" : "dwarf");
	}
	opt.call_graph = UNWIND_FP;
}

static void t_loop(void)
{
	struct measure m = { 0 };

	clear();
	add_two();
	fake.ticks = 5;
	sample_loop(&m);
	check(fake.drains == 6, "loop: the rings are read after each wait and at the end");
	clear();
	add_two();
	fake.ticks = 9;
	fake.adds_per_drain = 2;
	opt.count = 4;
	sample_loop(&m);
	check(fake.drains == 3 && sampling.nsamples == 4, "loop: COUNT ends it");
	for (int command = 0; command < 2; command++) {
		static char word[] = "true", *words[] = { word, NULL };

		clear();
		add_two();
		fake.ticks = 9;
		fake.adds_per_drain = 1;
		fake.lost_per_drain = 1;
		m = (struct measure){ .limit = 4, .argv = command ? words : NULL };
		sample_loop(&m);
		check(fake.drains == (command ? 10 : 3), "loop: --limit %s",
		      command ? "waits for the end of the command" : "counts lost samples, too");
	}
	clear();
	add_two();
	m = (struct measure){ 0 };
	fake.ticks = 9;
	fake.adds_per_drain = 1;
	fake.show_fails = true;
	sample_loop(&m);
	check(fake.drains == 2 && sampling.sample_failed, "loop: a write error ends it");
	clear();
	add_two();
	m = (struct measure){ 0 };
	fake.ticks = 3;
	fake.woken_at = 1;
	sample_loop(&m);
	check(fake.drains == 4 && fake.whole == 2, "loop: after a wakeup all records are read");
	clear();
	add_two();
	m = (struct measure){ 0 };
	fake.lost = 6;
	sample_loop(&m);
	check(rings_lost == 6 && shown.n > 0, "loop: losses are reported at the end");
}

/* --- profiles --------------------------------------------------------------------------------- */

static void profile_run(const char *name, u8 sums, u64 top)
{
	struct prec r = tick;

	clear();
	format(name);
	opt.profile = sums;
	opt.top = top;
	profile_begin(ALL_SUMS | 1 << PROF_STACK);
	add_two();
	record_handle(&r);
	r.ip = 0x20;
	r.have |= PS_PERIOD;
	r.period = 5;
	record_handle(&r);
	print_profile();
}

static void t_profile(void)
{
	static const u64 chain[] = { 0x10, 0x20 };
	struct prec r = tick;

	profile_run("json", 1 << PROF_SYMBOL, 0);
	check_str(lines(), "call\nmain\n",
		  "profile: the largest period first; an unknown period is 1");
	check(profile_sums.samples[PROF_SYMBOL] == 2 && profile_sums.period[PROF_SYMBOL] == 6 &&
	      profile_sums.samples[PROF_COMM] == 0, "profile: only selected sums are made");
	profile_run("json", 1 << PROF_SYMBOL | 1 << PROF_COMM, 1);
	check_str(lines(), "comm\ncall\n", "profile: --top limits each table");
	fake.show_fails = true;
	check(!print_profile(), "profile: a write error");
	profile_run("json", 1 << PROF_IP, 0);
	check(profile_sums.samples[PROF_IP] > 0 && shown.n > 0, "profile: sums of addresses");
	clear();
	add_two();
	format("folded");
	opt.profile = 1 << PROF_STACK;
	r.chain = str_of((const char *)chain, sizeof(chain));
	record_handle(&r);
	fake.flush_fails = true;
	check(!print_profile(), "folded stacks: a write error");
	for (size_t i = 0; i < profile_sort(PROF_STACK); i++)
		put_str(&shown, profile_row(PROF_STACK, i)->name);
	check_str(lines(), "comm;call;main", "folded stacks: callers are first");
}

/* Linux 7.3 writes address 0 if an event without the kernel overflows and the CPU enters the kernel
 * before the sample is taken. */
static void t_skid(void)
{
	struct prec r = tick;

	r.ip = 0;
	clear();
	add_two();
	record_handle(&r);
	check_str(lines(), "1 period 0 comm at +3 chain 0 group 0 time 5\n",
		  "skid: address 0 of an event with the kernel is an unknown function");
	check(sampling.nskid == 0, "skid: a sample of an event with the kernel is not counted");
	for (u32 i = 0; i < 4; i++) {
		events[1].mods = i == 0 ? EM_USER : 0;
		opt.target.user_only = i == 1;
		perf_opened.user_only = i > 1;
		shown.n = 0;
		record_handle(&r);
		check_str(lines(), "1 period 0 comm at [skid]+0 chain 0 group 0 time 5\n",
			  "skid: address 0 of an event without the kernel is [skid]");
		check(sampling.nskid == i + 1 && !sampling.repeat, "skid: samples are counted");
	}
	perf_opened.user_only = false;
	say_sample_end();
	check(is_said("4 samples skidded into the kernel and have no address"),
	      "skid: the message at the end has the number of samples");
	clear();
	add_two();
	events[1].mods = EM_USER;
	opt.profile = 1 << PROF_SYMBOL;
	profile_sums.samples[PROF_SYMBOL] = 0;
	for (u32 i = 0; i < 3; i++)
		record_handle(&r);
	for (size_t i = 0; i < profile_sort(PROF_SYMBOL); i++) {
		const struct profrow *row = profile_row(PROF_SYMBOL, i);

		if (str_eq(row->name, LIT("[skid]")))
			check(row->samples == 3 && !str_len(row->module),
			      "skid: one row in a profile");
	}
	check(sampling.nskid == 3 && profile_sums.samples[PROF_SYMBOL] == 3,
	      "skid: the profile has all samples");
}

/* --- messages --------------------------------------------------------------------------------- */

static void t_refused(void)
{
	clear();
	add_two();
	check(say_events() && is_said(NULL), "say_events: no message if all events are open");
	counts[2].fd = -1;
	counts[2].state = CS_DENIED;
	check(say_events() && is_said("b: denied"), "say_events: a denied event");
	counts[1].event = 2;
	say_events();
	check(is_said("b: on some CPUs or tasks "),
	      "say_events: an event that failed on one of two CPUs");
	counts[2].state = CS_OFFLINE;
	say_events();
	check(is_said("b on CPU 2: on some CPUs or tasks "), "say_events: an offline CPU is named");
	counts[1].fd = -1;
	for (int i = 1; i <= 2; i++) {
		counts[i].state = CS_DENIED;
		counts[3 - i].state = CS_PINNED;
		said.n = 0;
		say_events();
		check(is_said("b: denied"),
		      "say_events: the most important reason, at count %d", i);
	}
	counts[1].fd = 5;
	counts[2].state = CS_GONE;
	say_events();
	check(str_find(str_of(said.p, said.n), LIT("b:")) == false,
	      "say_events: a task that ended is no error");
	said.n = 0;
	counts[1].fd = -1;
	counts[1].state = CS_GONE;
	check(!say_events() && is_said("b: "), "say_events: all tasks that ended are an error");
	counts[1].state = CS_REFUSED;
	say_events();
	check(is_said("b: the kernel cannot sample this event with these settings; gpustat stat may count it\n"),
	      "say_events: settings that the kernel refuses");
	opt.target.freq = 5000;
	fake.rate = "4000";
	say_events();
	check(is_said("--freq exceeds kernel.perf_event_max_sample_rate: 4000\n"),
	      "say_events: a frequency above the limit of the kernel");
	fake.rate = "5000";
	check(!say_rate(), "say_rate: the highest frequency is accepted");
	fake.rate = "x";
	check(!say_rate(), "say_rate: no message if the limit is invalid");
}

static void t_end(void)
{
	struct measure m = { 0 };

	clear();
	say_sample_end();
	check(is_said(NULL), "end: no message without a problem");
	rings_lost = 2;
	rings_corrupt = 3;
	symbols.remote = 4;
	symbols.dropped = 5;
	profile_sums.dropped = 6;
	symbols.hidden = perf_opened.user_only = true;
	say_sample_end();
	check_str(str_of(said.p, said.n), "user only\n2 samples were lost: the ring buffers were full; "
		  "--mmap-pages makes them larger\n3 invalid records from the kernel were skipped\n"
		  "4 files on FUSE or network mounts were not read "
		  "for symbols\n11 function names or profile rows were left out: gpustat's tables are full\n",
		  "end: all messages");
	said.n = 0;
	opt.verbose = true;
	say_sample_end();
	check(is_said("kernel.kptr_restrict"), "end: -v has the reason for missing kernel symbols");
	clear();
	check(sample_finish(&m, true) == EX_OK && fake.finished == 1,
	      "end: exit code 0, the output is finished");
	check(sample_finish(&m, false) == EX_DENIED, "end: no event could be opened");
	sampling.sample_failed = true;
	check(sample_finish(&m, true) == EX_FAIL, "end: an earlier write error");
	clear();
	fake.finish_fails = true;
	check(sample_finish(&m, true) == EX_FAIL, "end: a write error of the last output");
	clear();
	m.failure = -ENOENT;
	check(sample_finish(&m, true) == 127 && fake.finished == 0,
	      "end: the command was not executed: the output is not finished");
}

static void t_patch(void)
{
	clear();
	fake.pwrites[0] = 2;
	fake.pwrites[1] = -EINTR;
	fake.pwrites[2] = 3;
	check(pdata_patch(4, "abcdefgh", 8) == 0 && memcmp(patched + 4, "abcdefgh", 8) == 0,
	      "pdata_patch: the header is written in pieces");
	clear();
	fake.pwrites[0] = 1000; /* 0 bytes */
	check(pdata_patch(4, "ab", 2) == -EIO, "pdata_patch: a write of no bytes is an error");
	clear();
	fake.pwrites[0] = -ENOSPC;
	check(pdata_patch(4, "ab", 2) == -ENOSPC, "pdata_patch: a full disk is an error");
}

/* --- the command ------------------------------------------------------------------------------ */

static void t_command(void)
{
	clear();
	check(cmd_sample() == EX_DENIED && nrows.events == 1 && text_eq(events[1].name, LIT("cpu-clock")),
	      "command: the default event; it cannot be opened");
	check(fake.confined == 9 && fake.preloads == 1 && fake.restricted == 9 &&
	      fake.kept == (MAY_READ | MAY_PTRACE | MAY_SYMBOLS),
	      "command: privileges, and symbols of the kernel");
	check_str(str_of(steps.p, steps.n), "sink catch dropped close ",
		  "command: the order of its steps");
	clear();
	opt.events[opt.nevents++] = LIT("e");
	cmd_sample();
	check(nrows.events == 1 && text_eq(events[1].name, LIT("e")),
	      "command: -e replaces the default event");
	for (u32 cpus = 0; cpus < 3; cpus++) {
		clear();
		opt.target.has_cpus = true;
		fake.cpus = cpus;
		cmd_sample();
		check(nrows.events == (cpus > 1 ? 2 : 1) && events_shown() == 1 &&
		      (cpus < 2 || (text_eq(events[2].name, LIT("dummy")) && events[2].hidden && events[2].elsewhere)),
		      "command: --cpu 0 of %u: a hidden event for tasks on other CPUs", cpus);
		opt.target.has_cpus = false;
	}
	clear();
	opt.windowed = true;
	opt.window = 88;
	cmd_sample();
	check(fake.ended == 88, "command: -w is a timeout");
	clear();
	opt.windowed = true;
	opt.window = 88;
	opt.timeout = 99;
	cmd_sample();
	check(fake.ended == 99, "command: --timeout has priority over -w");
	clear();
	opt.target.user_only = true;
	cmd_sample();
	check(fake.preloads == 0, "command: --all-user reads no symbols of the kernel");
	clear();
	fake.no_events = true;
	check(cmd_sample() == EX_USAGE && steps.n == 0,
	      "command: an unknown event is a usage error");
	clear();
	fake.no_roots = true;
	check(cmd_sample() == EX_FAIL && steps.n == 0, "command: without /proc: exit code 1");
	clear();
	opt.top = 1;
	check(cmd_sample() == EX_USAGE, "command: invalid options: exit code 2");
	clear();
	fake.start = fake.rings = -ENOMEM;
	check(cmd_sample() == EX_FAIL && is_said("cannot map a ring buffer: ENOMEM; use a smaller"),
	      "command: a ring buffer cannot be mapped");
	clear();
	fake.start = -EIO;
	check(cmd_sample() == EX_FAIL && is_said("cannot start a process: EIO\n"),
	      "command: the process cannot be started");
	clear();
	format("perfdata");
	opt.output = "f";
	is_regular_file = 0;
	check(cmd_sample() == EX_USAGE && is_said("-o perfdata requires a regular file"),
	      "command: perf.data into a pipe is a usage error");
}

int main(void)
{
	t_columns();
	t_fields();
	t_timing();
	t_options();
	t_defaults();
	t_events();
	t_periods_default();
	t_pages();
	t_periods();
	t_records();
	t_chains();
	t_hidden();
	t_groups();
	t_losses();
	t_loop();
	t_addresses();
	t_first();
	t_unwind();
	t_live();
	t_perfdata();
	t_profile();
	t_skid();
	t_again();
	t_refused();
	t_end();
	t_patch();
	t_command();
	return unit_end();
}
