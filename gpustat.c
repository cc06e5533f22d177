/* gpustat.c - the front door: arguments, help, every message and exit code.
 * SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

#include <limits.h>
#include <stdlib.h>

#ifndef VERSION
#define VERSION "unknown"
#endif

struct opts opt;
struct record rec;
static char out_bytes[OUT_BYTES];
struct buf out = { .p = out_bytes, .cap = OUT_BYTES };
int out_fd = 1;
bool lost_record;
volatile sig_atomic_t stopped;

char said[512];

/* What ends us otherwise: what was changed is put back, and the signal does what it does. */
static void on_fatal(int sig)
{
	profiling_restore();
	sys_default(sig);
	sys_kill((int)sys_pid(), sig);
}

static struct timespec volatile wake; /* when the sleep in hand ends */

/* Until t on CLOCK_MONOTONIC. False: a signal ends the run, which one that comes just before the kernel is entered
 * does, too. */
bool sleep_until(i64 t)
{
	wake.tv_sec = (time_t)(t / 1000000000);
	wake.tv_nsec = (long)(t % 1000000000);
	if (!stopped)
		sys_sleep_at(&wake);
	return !stopped;
}

static void on_signal(int sig)
{
	stopped = 1;
	wake.tv_sec = 0;
	if (opt.profiling)
		sys_signal(sig, on_fatal);
}

static void on_too_large(int sig)
{
	(void)sig; /* write(2) says it: EFBIG */
}

static bool is_check(void)
{
	return opt.cmd && opt.cmd->with & WITH_CHECK;
}

/* --- messages --------------------------------------------------------------------------------------- */

/* "who: abc" on stderr; NULLs are left out. */
void say_as(const char *who, const char *a, const char *b, const char *c)
{
	const char *const parts[] = { who, ": ", a, b, c };
	char text[1024];
	bool kept = is_check();
	struct buf m = { .p = kept ? said : text, .cap = kept ? sizeof(said) - 1 : sizeof(text) - 1 };

	if (opt.quiet && !kept)
		return;
	for (size_t i = kept ? 2 : 0; i < LEN(parts); i++)
		put_text(&m, str_z(parts[i]));
	if (kept) {
		said[m.n] = '\0';
		return;
	}
	text[m.n++] = '\n';
	sys_write(2, text, m.n);
}

void say(const char *a, const char *b, const char *c)
{
	say_as("gpustat", a, b, c);
}

void say_number(u64 n, const char *what)
{
	char text[24];
	struct buf b = { .p = text, .cap = sizeof(text) - 1 };

	put_u64(&b, n);
	text[b.n] = '\0';
	say(text, what, NULL);
}

/* Of a file's byte. */
void say_at(const char *file, u64 at, const char *what)
{
	char text[64];
	struct buf b = { .p = text, .cap = sizeof(text) - 1 };

	put_z(&b, ": at byte ");
	put_u64(&b, at);
	put_z(&b, ": ");
	text[b.n] = '\0';
	say(file, text, what);
}

int usage(const char *a, const char *b, const char *c)
{
	opt.quiet = false;
	opt.usage_said = true;
	say(a, b, c);
	return EX_USAGE;
}

/* libc's words; its table has 1.9 KB more for errors that none of our calls can give. */
static const struct {
	u8 err;
	const char *text;
} errors[] = {
	{ ENOEXEC, "Exec format error" },     { ESRCH, "No such process" },
	{ EPERM, "Operation not permitted" }, { ENOENT, "No such file or directory" },
	{ EIO, "Input/output error" },        { EBADF, "Bad file descriptor" },
	{ ENOMEM, "Cannot allocate memory" },         { EACCES, "Permission denied" },
	{ ENOTDIR, "Not a directory" },       { EISDIR, "Is a directory" },
	{ EINVAL, "Invalid argument" },       { ENFILE, "Too many open files in system" },
	{ EMFILE, "Too many open files" },    { EFBIG, "File too large" },
	{ ENOSPC, "No space left on device" },          { EROFS, "Read-only file system" },
	{ EPIPE, "Broken pipe" },             { ELOOP, "Too many levels of symbolic links" },
	{ ENAMETOOLONG, "File name too long" },    { ENXIO, "No such device or address" },
	{ ENODEV, "No such device" },         { EDQUOT, "Disk quota exceeded" },
	{ ETXTBSY, "Text file busy" },        { ESPIPE, "Illegal seek" },
	{ ENETUNREACH, "Network unreachable" }, { ECONNRESET, "Connection reset by peer" },
	{ ETIMEDOUT, "Operation timed out" },
};

const char *error_text(long err)
{
	static char other[32] = "error ";
	struct buf b = { .p = other, .n = 6, .cap = sizeof(other) - 1 };

	for (size_t i = 0; i < LEN(errors); i++)
		if (errors[i].err == -err)
			return errors[i].text;
	put_u64(&b, (u64)-err);
	other[b.n] = '\0';
	return other;
}

/* Everything put together so far, in one write where the kernel takes it whole. False: it did not. */
bool flush(void)
{
	long r;

	if (out.full) {
		say("a record is too long for its buffer: left out", NULL, NULL);
		reg_dropped++;
		lost_record = true;
		out.n = 0;
		out.full = false;
		return true;
	}
	r = sink_write(out.p, out.n);
	if (r < 0)
		say(opt.output ? opt.output : opt.http ? "the socket" : out_fd == 2 ? "standard error" : "standard output", ": ", error_text(r));
	else
		out.n = 0;
	return r >= 0;
}

/* Records are whole: each is written at once, unless the sample goes out in one piece. */
bool flush_record(void)
{
	return ((opt.out.one_line || sink_gathers()) && out.n <= OUT_BYTES / 2) || flush();
}

/* The record of an entity, to be written with others or at once. False: it could not be. */
bool show_record(const struct entity *e, const struct recopts *ro)
{
	record_make(&rec, e, ro);
	if (out_measures(&opt.out))
		out_measure(&opt.out, &rec);
	out_record(&opt.out, &out, &rec);
	return out.n <= OUT_BYTES / 2 || flush();
}

/* --- clock --------------------------------------------------------------------------------------------- */

i64 sample_time(void)
{
	if (opt.out.time == T_NONE)
		return -1;
	return sys_now(opt.out.time == T_MONO ? CLOCK_MONOTONIC : CLOCK_REALTIME) / 1000;
}

/* Seconds east of Greenwich, for the clock of `line` and `table`: of $TZ's zone, else the machine's. */
static i32 local_offset(i64 now)
{
	static char b[64 << 10];
	const char *tz = getenv("TZ");
	char path[PATH_MAX] = "/etc/localtime";
	struct buf p = { .p = path, .cap = sizeof(path) - 1 };
	i32 offset;
	long n;

	if (tz && tz[0] == ':')
		tz++;
	if (tz) {
		if (tz[0] != '/')
			put_z(&p, "/usr/share/zoneinfo/");
		put_z(&p, tz);
		path[p.n] = '\0';
	}
	n = tz && !tz[0] ? 0 : slurp(AT_FDCWD, path, b, sizeof(b));
	if (parse_tzif((struct str){ b, b + (n > 0 ? n : 0) }, now, &offset))
		return offset;
	return tz ? parse_tz(str_z(tz), now) : 0;
}

/* Before each sample: what formats ask of the clock. Zones change their offset on a quarter of an hour. */
void update_offset(void)
{
	static i64 quarter = -1;
	i64 now;

	opt.out.now = sys_now(CLOCK_REALTIME);
	now = opt.out.now / 1000000000;
	if (opt.out.time != T_DEFAULT || opt.out.once || now / 900 == quarter)
		return;
	quarter = now / 900;
	opt.out.offset = local_offset(now);
}

/* --- options ------------------------------------------------------------------------------------------ */

bool split(struct str list, struct str *to, size_t max, size_t *n)
{
	struct str piece;

	while (str_cut(&list, ',', &piece)) {
		if (piece.p == piece.e || *n == max)
			return false;
		to[(*n)++] = piece;
	}
	return true;
}

static bool set_interval(struct str s) { return parse_interval(s, &opt.interval); }
static bool set_window(struct str s) { return opt.windowed = parse_interval(s, &opt.window); }
static bool set_count(struct str s) { return scan_u64(s, &opt.count) == s.e && opt.count; }
static bool set_top(struct str s) { return scan_u64(s, &opt.top) == s.e && opt.top; }
static bool set_raw(struct str s) { return opt.raw = !s.p; }
static bool set_state(struct str s) { opt.state = s.p; return s.p < s.e; }
static bool set_inner(struct str s) { return parse_interval(s, &opt.inner); }
static bool set_align(struct str s) { return opt.align = !s.p; }
static bool set_on_stdin(struct str s) { return opt.on_stdin = !s.p; }
static bool set_http(struct str s) { return opt.http = !s.p; }
static bool set_profiling(struct str s) { return opt.profiling = !s.p; }

static bool set_sweep(struct str s)
{
	u64 n = SWEEP_ALL;

	watch_sweep_timed = false;
	if (!str_eq(s, (struct str)STR("all")) && (scan_u64(s, &n) != s.e || n >= SWEEP_ALL))
		return false;
	watch_sweep = (u32)n;
	return true;
}

static bool set_ascii(struct str s) { return opt.ascii = !s.p; }
static bool set_warning(struct str s) { opt.check.warning = s; return s.p < s.e; }
static bool set_critical(struct str s) { opt.check.critical = s; return s.p < s.e; }
static bool set_metric(struct str s) { opt.check.metric = s; return s.p < s.e; }
static bool set_check_timeout(struct str s) { return parse_interval(s, &opt.check.timeout); }
static bool set_quiet(struct str s) { return opt.quiet = !s.p; }
static bool set_verbose(struct str s) { return opt.verbose = !s.p; }
static bool set_summary(struct str s) { return opt.summary = !s.p; }
static bool set_resolve(struct str s) { return opt.resolve = !s.p; }
static bool set_map(struct str s) { return opt.map = !s.p; }
static bool set_one_line(struct str s) { return opt.out.one_line = !s.p; }
static bool set_no_header(struct str s) { return opt.out.no_header = !s.p; }
static bool set_comm(struct str s) { opt.comm = s; return s.p < s.e; }
static bool set_cgroup(struct str s) { opt.cgroup = s; return s.p < s.e; }
static bool set_sort(struct str s) { opt.sort = s; return s.p < s.e; }
static bool set_proc(struct str s) { opt.proc = s.p; return s.p < s.e; }
static bool set_sys(struct str s) { opt.sys = s.p; return s.p < s.e; }

/* Of the output; in oa also of reports, which have other names. */
static bool set_format(struct str s)
{
	const struct format *f = format_find(s);

	if (f)
		opt.out.fmt = f;
	else
		opt.oa.props.format = oaformat_named(s);
	return f || opt.oa.props.format;
}

static bool set_device(struct str s) { return split(s, opt.devices, MAX_SELECTORS, &opt.ndevices) && opt.ndevices; }

static bool set_fields(struct str s)
{
	if (str_eq(s, (struct str)STR("help")))
		return opt.fields_help = true;
	return split(s, opt.patterns, MAX_PATTERNS, &opt.out.npatterns) && opt.out.npatterns;
}

static bool set_pid(struct str s)
{
	struct str piece;

	while (str_cut(&s, ',', &piece)) {
		u64 pid;

		if (scan_u64(piece, &pid) != piece.e || pid > INT32_MAX || opt.npids == MAX_PIDS)
			return false;
		opt.pids[opt.npids++] = (u32)pid;
	}
	return opt.npids;
}

/* perf's times: milliseconds where no unit stands behind them. */
static bool parse_ms(struct str s, i64 *ns)
{
	u64 ms;

	if (scan_u64(s, &ms) != s.e)
		return parse_interval(s, ns);
	*ns = (i64)(ms * 1000000);
	return ms > 0 && ms < INT32_MAX * 1000ull;
}

static bool set_interval_ms(struct str s) { return parse_ms(s, &opt.interval); }
static bool set_timeout(struct str s) { return parse_ms(s, &opt.timeout); }
static bool set_all_cpus(struct str s) { return opt.target.all = !s.p; }
static bool set_no_inherit(struct str s) { return opt.target.no_inherit = !s.p; }
static bool set_no_scale(struct str s) { return opt.no_scale = !s.p; }
static bool set_null(struct str s) { return opt.null_run = !s.p; }
static bool set_detail(struct str s) { return !s.p && ++opt.detail; }
static bool set_output(struct str s) { opt.output = s.p; return s.p < s.e; }
static bool set_pmu_file(struct str s) { opt.pmu_file = s.p; return s.p < s.e; }
static bool set_append(struct str s) { return !s.p; }
static bool set_reset(struct str s) { return opt.reset_on_overflow = !s.p; }
static bool set_control(struct str s) { opt.control = s.p; return s.p < s.e; }
static bool set_per_cpu(struct str s) { opt.target.split = SPLIT_CPU; return !s.p; }
static bool set_per_core(struct str s) { opt.target.split = SPLIT_CORE; return !s.p; }
static bool set_per_socket(struct str s) { opt.target.split = SPLIT_SOCKET; return !s.p; }
static bool set_per_thread(struct str s) { opt.target.split = SPLIT_THREAD; return !s.p; }
static bool set_all_user(struct str s) { return opt.target.user_only = !s.p; }
static bool set_all_kernel(struct str s) { return opt.target.kernel_only = !s.p; }

static bool set_event(struct str s)
{
	if (opt.nevents == MAX_LISTS)
		return false;
	opt.events[opt.nevents++] = s;
	return true;
}

static bool set_filter(struct str s)
{
	if (opt.nevents)
		opt.filters[opt.nevents - 1] = s;
	return opt.nevents && s.p < s.e;
}

static bool set_set(struct str s)
{
	if (opt.nsets == MAX_SETS - 1)
		return false;
	opt.sets[opt.nsets++] = s;
	return true;
}

static bool set_cpus(struct str s)
{
	return opt.target.has_cpus = s.p < s.e && parse_cpulist(s, &opt.target.cpus);
}

/* Threads are found once /proc is open: so far only their numbers. */
static bool set_tid(struct str s)
{
	size_t had = opt.npids;
	bool good = set_pid(s);

	for (opt.target.whole = false; had < opt.npids; had++)
		good &= opt.pids[had] != 0;
	return good;
}

static bool set_target_pid(struct str s)
{
	bool good = set_tid(s);

	opt.target.whole = true;
	return good;
}

static bool set_cgroups(struct str s)
{
	struct str piece;

	while (str_cut(&s, ',', &piece)) {
		if (piece.p == piece.e || opt.target.ncgroups == LEN(opt.target.cgroups))
			return false;
		opt.target.cgroups[opt.target.ncgroups++] = text_put(NONE, piece);
	}
	return opt.target.ncgroups;
}

static bool set_repeat(struct str s)
{
	return scan_u64(s, &opt.repeat) == s.e;
}

static bool set_delay(struct str s)
{
	static const struct str never = STR("-1");

	opt.delay = -1;
	return str_eq(s, never) || parse_ms(s, &opt.delay);
}

static bool set_separator(struct str s)
{
	static const struct str tab = STR("\\t");

	opt.out.fmt = format_find((struct str)STR("perf-csv"));
	opt.out.separator = str_eq(s, tab) ? '\t' : *s.p;
	return str_len(s) == 1 || str_eq(s, tab);
}

static bool set_json(struct str s)
{
	opt.out.fmt = format_find((struct str)STR("json"));
	return !s.p;
}

static bool set_frequency(struct str s) { return scan_u64(s, &opt.target.freq) == s.e && opt.target.freq; }
static bool set_period(struct str s) { return scan_u64(s, &opt.target.period) == s.e && opt.target.period; }
static bool set_long_period(struct str s) { return scan_u64(s, &opt.long_period) == s.e && opt.long_period; }
static bool set_short_period(struct str s) { return scan_u64(s, &opt.short_period) == s.e && opt.short_period; }
static bool set_callchain(struct str s) { return opt.target.callchain = !s.p; }

static bool scan_u32(struct str s, u32 *v)
{
	u64 n;

	if (scan_u64(s, &n) != s.e || n == 0 || n > INT32_MAX)
		return false;
	*v = (u32)n;
	return true;
}

static bool set_limit(struct str s) { return scan_u32(s, &opt.target.limit); }
static bool set_wakeup(struct str s) { return scan_u32(s, &opt.target.wakeup); }
static bool set_pages(struct str s) { return scan_u32(s, &opt.pages) && (opt.pages & (opt.pages - 1)) == 0; }

static bool set_watermark(struct str s)
{
	opt.target.watermark = true;
	return scan_u32(s, &opt.target.wakeup);
}

/* MASK,SEED: numbers as C has them. */
static bool set_random(struct str s)
{
	struct str mask;

	str_cut(&s, ',', &mask);
	return mask.p < mask.e && scan_num(mask, &opt.random_mask) == mask.e && scan_num(s, &opt.seed) == s.e;
}

/* --summary, --summary=comm,symbol,ip */
static bool set_profile(struct str s)
{
	static const struct str names[] = { [PROF_COMM] = STR("comm"), [PROF_SYMBOL] = STR("symbol"), [PROF_IP] = STR("ip") };
	struct str piece;

	if (!s.p)
		return (opt.profile = ALL_SUMS);
	while (str_cut(&s, ',', &piece)) {
		size_t i = 0;

		while (i < LEN(names) && !str_eq(names[i], piece))
			i++;
		if (i == LEN(names))
			return false;
		opt.profile |= (u8)(1 << i);
	}
	return opt.profile;
}

static bool set_metric_set(struct str s) { opt.oa.set = s; return s.p < s.e; }
static bool set_record(struct str s) { opt.oa.record = s.p; return s.p < s.e; }
static bool set_replay(struct str s) { opt.oa.replay = s.p; return s.p < s.e; }
static bool set_platform(struct str s) { return (opt.oa.platform = oaplatform_named(s)); }
static bool set_reports(struct str s) { return opt.oa.reports = !s.p; }
static bool set_totals(struct str s) { return opt.oa.totals = !s.p; }
static bool set_contexts(struct str s) { return opt.oa.contexts = !s.p; }
static bool set_hold(struct str s) { return opt.oa.props.hold = !s.p; }
static bool set_ctx(struct str s) { return opt.oa.props.has_ctx = scan_num(s, &opt.oa.props.ctx) == s.e; }
static bool set_unit(struct str s) { return opt.oa.props.has_unit = scan_num(s, &opt.oa.props.unit) == s.e; }
static bool set_buffer(struct str s) { return scan_num(s, &opt.oa.props.buffer) == s.e && opt.oa.props.buffer; }
static bool set_wait_reports(struct str s) { return scan_u32(s, &opt.oa.props.wait_reports); }

static bool set_metrics(struct str s)
{
	if (opt.oa.nmetrics == MAX_METRICS || s.p == s.e)
		return false;
	opt.oa.metrics[opt.oa.nmetrics++] = s.p;
	return true;
}

/* A time that becomes a property: at least 1 ns. */
static bool set_ns(struct str s, u64 *ns)
{
	i64 t;

	if (!parse_interval(s, &t))
		return false;
	*ns = (u64)t;
	return true;
}

static bool set_oa_period(struct str s) { return set_ns(s, &opt.oa.props.period); }
static bool set_poll_period(struct str s) { return set_ns(s, &opt.oa.props.poll_ns); }

/* CLASS[:INSTANCE]: enum drm_i915_gem_engine_class */
static bool set_engine(struct str s)
{
	static const struct str names[] = { STR("render"), STR("copy"), STR("video"), STR("video-enhance"), STR("compute") };
	struct str name;
	u64 n = 0, instance = 0;

	str_cut(&s, ':', &name);
	while (n < LEN(names) && !str_eq(name, names[n]))
		n++;
	if ((n == LEN(names) && scan_u64(name, &n) != name.e) || (s.p < s.e && scan_u64(s, &instance) != s.e))
		return false;
	opt.oa.props.engine_class = (u16)n;
	opt.oa.props.engine_instance = (u16)instance;
	return opt.oa.props.has_engine = n <= UINT16_MAX && instance <= UINT16_MAX;
}

/* SLICES:SUBSLICES:MIN:MAX: masks, and EUs of a subslice. */
static bool set_sseu(struct str s)
{
	u64 v[4] = { 0 };
	struct str piece;
	size_t n = 0;

	while (n < LEN(v) && str_cut(&s, ':', &piece))
		if (scan_num(piece, &v[n++]) != piece.e)
			return false;
	opt.oa.props.slices = v[0];
	opt.oa.props.subslices = v[1];
	opt.oa.props.min_eus = (u16)v[2];
	opt.oa.props.max_eus = (u16)v[3];
	return opt.oa.props.has_sseu = n == LEN(v) && s.p == s.e && v[2] <= UINT16_MAX && v[3] <= UINT16_MAX;
}

static bool set_log_fd(struct str s)
{
	u64 fd;

	if (scan_u64(s, &fd) != s.e || fd > INT32_MAX)
		return false;
	out_fd = (int)fd;
	return opt.out_chosen = true;
}

static bool set_time(struct str s)
{
	static const struct str names[] = { [T_NONE] = STR("none"), [T_EPOCH] = STR("epoch"),
					    [T_ISO] = STR("iso"), [T_MONO] = STR("mono") };

	for (u8 i = T_NONE; i < LEN(names); i++)
		if (str_eq(s, names[i])) {
			opt.out.time = i;
			return true;
		}
	return false;
}

/* A letter means what its row says in the commands of that row: stat and sample have perf's. */
static const struct option {
	char letter;
	const char *name, *arg, *help;
	bool (*set)(struct str value); /* without an argument: {0} */
	u16 with; /* the commands that take it */
} options[] = {
	{ 'i', "interval", "T", "sample every T: 100ms, 1, 1.5s, 1m", set_interval, WITH_LIVE | WITH_TOP | WITH_STAT | WITH_OA | WITH_NAMED },
	{ 'c', "count", "N", "stop after N samples (-n is the same)", set_count, WITH_LIVE | WITH_TOP | WITH_PERF | WITH_OA | WITH_NAMED },
	{ 'n', "count", "N", NULL, set_count, WITH_LIVE | WITH_TOP | WITH_OA | WITH_NAMED },
	{ 'w', "window", "T", "time between the two reads without an interval (0.5s)", set_window, WITH_LIVE | WITH_PERF | WITH_NAMED },
	{ '\0', "window", "T", NULL, set_window, WITH_CHECK | WITH_MUNIN },
	{ 'r', "raw", NULL, "the kernel's own numbers, not rates: one read", set_raw, WITH_LIVE | WITH_FDINFO },
	{ '\0', "state", "FILE", "rates since the run that left FILE, without waiting; then leave it anew", set_state, WITH_LIVE | WITH_CHECK | WITH_MUNIN },
	{ '\0', "inner", "T", "read every T; min, avg and max of these are a record each", set_inner, WITH_LIVE },
	{ '\0', "align", NULL, "samples on multiples of the interval, by the wall clock", set_align, WITH_LIVE | WITH_NAMED },
	{ '\0', "on-stdin", NULL, "a sample for each line read from standard input", set_on_stdin, WITH_LIVE | WITH_NAMED },
	{ '\0', "http", NULL, "answer one HTTP request on the socket that inetd or systemd handed over", set_http, WITH_LIVE | WITH_NAMED },
	{ 'd', "device", "SEL", "card1, renderD128, 0000:03:00.0, driver:xe or 0", set_device, WITH_DEVICES | WITH_LIST | WITH_OA },
	{ 'p', "pid", "PID", "only clients of these processes", set_pid, WITH_LIVE | WITH_LIST | WITH_TOP },
	{ 'C', "comm", "NAME", "only clients of processes so named; * and ? match", set_comm, WITH_LIVE | WITH_LIST | WITH_TOP },
	{ 'g', "cgroup", "PATH", "only clients in or below this cgroup, or of a container id", set_cgroup, WITH_LIVE | WITH_LIST | WITH_TOP },
	{ 'k', "top", "N", "the first N records of each sample, or of each sum", set_top, WITH_LIVE | WITH_LIST | WITH_SAMPLE },
	{ 's', "sort", "FIELD", "numbers from the highest, texts from A", set_sort, WITH_LIVE | WITH_LIST | WITH_TOP },
	{ 'f', "fields", "A,B", "only these fields; -f help lists them", set_fields, WITH_RECORDS | WITH_PLOT },
	{ 'o', "format", "F", NULL, set_format, WITH_RECORDS },
	{ 'O', "output", "FILE", "append; prom, openmetrics, svg, perfdata and pack replace it; udp:HOST:PORT", set_output, WITH_RECORDS | WITH_PLOT },
	{ '1', "one-line", NULL, "all records of a sample on one line (line, json)", set_one_line, WITH_RECORDS },
	{ 'H', "no-header", NULL, "no header (line, table, csv)", set_no_header, WITH_RECORDS },
	{ 't', "time", "HOW", "none, epoch, iso or mono", set_time, WITH_GPUS | WITH_OA | WITH_NAMED },
	{ 'S', "summary", NULL, "min, avg and max at the end", set_summary, WITH_LIVE },
	{ '\0', "sweep", "N", "calls per sample to look for clients that nothing announced (80); 0; all", set_sweep, WITH_LIVE | WITH_TOP },
	{ '\0', "enable-profiling", NULL, "panfrost, panthor: let the kernel count while this runs", set_profiling, WITH_DEVICES },
	{ '\0', "ascii", NULL, "no characters beyond ASCII on the screen", set_ascii, WITH_TOP },
	{ 'q', "quiet", NULL, "no messages", set_quiet, WITH_ALL },
	{ 'v', "verbose", NULL, "say what could not be read, and what would mend it", set_verbose, WITH_ALL },
	{ '\0', "pmu-file", "FILE", "more events: a line NAME EVENT each (events, stat, sample)", set_pmu_file, WITH_PERF | WITH_EVENTS },
	{ '\0', "resolve", NULL, "what perf_event_open(2) would be asked for (events)", set_resolve, WITH_EVENTS },
	{ '\0', "map", NULL, "which events perfmon2's registers are (events; -v: and when)", set_map, WITH_EVENTS },
	{ '\0', "proc", "DIR", "read DIR instead of /proc", set_proc, WITH_ALL },
	{ '\0', "sys", "DIR", "read DIR instead of /sys", set_sys, WITH_ALL },
	{ 'h', "help", NULL, "this text", NULL, WITH_ALL },
	{ 'V', "version", NULL, "the version", NULL, WITH_ALL },

	{ 'w', "warning", "RANGE", "WARNING outside of it: 80, 10:, @10:20", set_warning, WITH_CHECK },
	{ 'c', "critical", "RANGE", "CRITICAL outside of it", set_critical, WITH_CHECK },
	{ 'm', "metric", "FIELD", "what is checked (engine.busy), as -f names it", set_metric, WITH_CHECK },
	{ 't', "timeout", "T", "UNKNOWN after that time (10s)", set_check_timeout, WITH_CHECK },

	{ 'e', "event", "LIST", "what to count: names, {groups}, pmu/terms/; gpustat events has them", set_event, WITH_PERF },
	{ 'a', "all-cpus", NULL, "every CPU, whoever runs there", set_all_cpus, WITH_PERF },
	{ 'C', "cpu", "LIST", "only these CPUs: 0,2-3", set_cpus, WITH_PERF },
	{ 'p', "pid", "PIDS", "these processes, with all their threads", set_target_pid, WITH_PERF },
	{ 't', "tid", "TIDS", "these threads", set_tid, WITH_PERF },
	{ 'G', "cgroup", "PATHS", "each of these cgroups", set_cgroups, WITH_PERF },
	{ '\0', "filter", "EXPR", "only such hits of the tracepoints of the -e before it", set_filter, WITH_PERF },
	{ '\0', "log-fd", "N", "write to this descriptor", set_log_fd, WITH_PERF },
	{ '\0', "no-inherit", NULL, "not what the tasks start", set_no_inherit, WITH_PERF },
	{ '\0', "timeout", "MS", "stop after this time", set_timeout, WITH_PERF },
	{ 'D', "delay", "MS", "count from then on; -1: once --control enables", set_delay, WITH_PERF },
	{ '\0', "control", "HOW", "fd:N[,M] or fifo:PATH: enable, disable, stop", set_control, WITH_PERF },
	{ '\0', "all-user", NULL, "only in user space", set_all_user, WITH_PERF },
	{ '\0', "all-kernel", NULL, "only in the kernel", set_all_kernel, WITH_PERF },
	{ 'j', "json", NULL, "-o json", set_json, WITH_PERF },
	{ '\0', "device", "SEL", "gpu0, gpu1, ... are these devices", set_device, WITH_PERF },
	{ '\0', "time", "HOW", NULL, set_time, WITH_PERF },

	{ 'I', "interval-print", "MS", "as --interval, in milliseconds", set_interval_ms, WITH_STAT },
	{ 'r', "repeat", "N", "run the command N times: mean and deviation; 0: for ever", set_repeat, WITH_STAT },
	{ 'n', "null", NULL, "count nothing but time", set_null, WITH_STAT },
	{ 'd', "detailed", NULL, "more events by default; twice: still more", set_detail, WITH_STAT },
	{ 'A', "per-cpu", NULL, "each CPU and PMU instance for itself", set_per_cpu, WITH_STAT },
	{ '\0', "per-core", NULL, "each core for itself", set_per_core, WITH_STAT },
	{ '\0', "per-socket", NULL, "each package for itself", set_per_socket, WITH_STAT },
	{ '\0', "per-thread", NULL, "each thread for itself", set_per_thread, WITH_STAT },
	{ '\0', "set", "SET", "[ID:]NAME=EVENTS@10ms or @overflow:EVENT:N: sets in turn", set_set, WITH_STAT },
	{ '\0', "no-scale", NULL, "counts as they are, though counters were shared", set_no_scale, WITH_STAT },
	{ '\0', "raw", NULL, "the unscaled counts and their times too", set_raw, WITH_STAT },
	{ 'x', "field-separator", "C", "-o perf-csv with C between the fields", set_separator, WITH_STAT },
	{ '\0', "no-aggr", NULL, NULL, set_per_cpu, WITH_STAT },
	{ 'g', "cgroup", "PATHS", NULL, set_cgroups, WITH_STAT },
	{ '\0', "append", NULL, NULL, set_append, WITH_STAT },
	{ '\0', "no-merge", NULL, NULL, set_per_cpu, WITH_STAT },
	{ '\0', "interval-count", "N", NULL, set_count, WITH_STAT },

	{ '\0', "reset-on-overflow", NULL, "counts of a group since its last sample (:S)", set_reset, WITH_SAMPLE },
	{ 'F', "freq", "HZ", "samples a second (4000)", set_frequency, WITH_SAMPLE },
	{ '\0', "sample-period", "N", "a sample every N counts", set_period, WITH_SAMPLE },
	{ 'g', "call-graph", NULL, "with who called", set_callchain, WITH_SAMPLE },
	{ '\0', "summary", NULL, "sums at the end; =comm, =symbol, =ip or several", set_profile, WITH_SAMPLE },
	{ '\0', "limit", "N", "so many samples of each event, CPU and task", set_limit, WITH_SAMPLE },
	{ '\0', "period-random", "MASK,SEED", "adds random bits of MASK to the period", set_random, WITH_SAMPLE },
	{ '\0', "long-period", "N", "the period after a ring was full and was drained", set_long_period, WITH_SAMPLE },
	{ '\0', "short-period", "N", "the period otherwise", set_short_period, WITH_SAMPLE },
	{ 'm', "mmap-pages", "N", "pages of each ring: 2^n (128)", set_pages, WITH_SAMPLE },
	{ '\0', "wakeup", "N", "look after N samples", set_wakeup, WITH_SAMPLE },
	{ '\0', "watermark", "BYTES", "look after so many bytes (half a ring)", set_watermark, WITH_SAMPLE },

	{ 'm', "metric-set", "NAME", "by name or guid (RenderBasic, else Basic; replay: the recording's)", set_metric_set, WITH_OA },
	{ '\0', "metrics", "FILE", "sets: XML, or a pack of them; may be repeated", set_metrics, WITH_OA },
	{ 'r', "raw", NULL, "the report's own counters A0.., B0.., C0..: needs no set", set_raw, WITH_OA },
	{ '\0', "reports", NULL, "a record per report, as replay has them", set_reports, WITH_OA },
	{ '\0', "totals", NULL, "one record: the sum of all", set_totals, WITH_OA },
	{ '\0', "contexts", NULL, "a record per run of reports of one context", set_contexts, WITH_OA },
	{ '\0', "period", "T", "time between reports: the longest that the timer has, not above T", set_oa_period, WITH_OA },
	{ '\0', "ctx", "N", "only this context; of a recording, by the hardware's number", set_ctx, WITH_OA },
	{ '\0', "engine", "CLASS[:N]", "whose OA unit: render, copy, video, video-enhance, compute", set_engine, WITH_OA },
	{ '\0', "hold-preemption", NULL, "the context of --ctx is not preempted", set_hold, WITH_OA },
	{ '\0', "sseu", "S:SS:MIN:MAX", "i915: these slices, subslices (masks) and EUs while it runs", set_sseu, WITH_OA },
	{ '\0', "poll-period", "T", "i915: the kernel looks for reports so often (5ms)", set_poll_period, WITH_OA },
	{ '\0', "oa-unit", "N", "xe: which OA unit", set_unit, WITH_OA },
	{ '\0', "buffer-size", "BYTES", "xe: of the OA buffer", set_buffer, WITH_OA },
	{ '\0', "wait-reports", "N", "xe: wake for so many reports", set_wait_reports, WITH_OA },
	{ '\0', "record", "FILE", "write a recording, too", set_record, WITH_OA },
	{ '\0', "replay", "FILE", "of a recording or a raw stream; - is standard input", set_replay, WITH_OA },
	{ '\0', "platform", "NAME", "what a raw stream is of: sklgt2, tglgt2, lnl, ...", set_platform, WITH_OA },
};

static bool chosen_options[LEN(options)]; /* by the command line */

static const struct cmd cmds[] = {
	{ "", "[INTERVAL [COUNT]]", "a record per device and sample", K_DEVICE, WITH_LIVE, cmd_live },
	{ "procs", "[INTERVAL [COUNT]]", "a record per DRM client", K_CLIENT, WITH_LIVE, cmd_live },
	{ "cgroups", "[INTERVAL [COUNT]]", "clients summed per cgroup", K_CGROUP, WITH_LIVE, cmd_live },
	{ "list", "", "devices, engines, memory, and what cannot be told", K_DEVICE, WITH_LIST, cmd_list },
	{ "fdinfo", "FILE...|-", "decode dumps of /proc/PID/fdinfo/FD", K_FDINFO, WITH_FDINFO, cmd_fdinfo },
	{ "counters", "[NAME... [INTERVAL [COUNT]]]", "all counters, or values by name", K_COUNTER, WITH_COUNTERS, cmd_counters },
	{ "host", "[INTERVAL [COUNT]]", "a line of CPU, memory, disks and processes", K_COUNTER, WITH_HOST, cmd_host },
	{ "doctor", "", "what can be read here, and what would mend the rest", K_SOURCE, WITH_DOCTOR, cmd_doctor },
	{ "top", "[INTERVAL [COUNT]]", "the live screen", K_CLIENT, WITH_TOP, cmd_top },
	{ "events", "[GLOB|EVENT...]", "perf events and other counters on offer", K_COUNT, WITH_EVENTS, cmd_events },
	{ "stat", "[INTERVAL [COUNT]] [-- COMMAND]", "count perf events", K_EVENT, WITH_STAT, cmd_stat },
	{ "sample", "[-- COMMAND]", "a record per overflow of perf events, or sums", K_SAMPLE, WITH_SAMPLE, cmd_sample },
	{ "oa", "[INTERVAL [COUNT]]|list|pack", "the GPU's own counters, live or from a recording", K_OA, WITH_OA, cmd_oa },
	{ "check", "", "a monitoring plugin: -w RANGE -c RANGE [-m FIELD]", K_DEVICE, WITH_CHECK, cmd_check },
	{ "munin", "[config|autoconf]", "a munin plugin", K_DEVICE, WITH_MUNIN, cmd_munin },
	{ "plot", "FILE.csv|FILE.json", "a recorded run as an SVG timeline", K_DEVICE, WITH_PLOT, cmd_plot },
};

/* What it does: an alias has the words of the option that it is another spelling of. NULL: nothing that help shows. */
static const char *option_help(const struct option *o)
{
	for (size_t i = 0; !o->help && opt.cmd && i < LEN(options); i++)
		if (options[i].help && options[i].set == o->set)
			return options[i].help;
	return o->help;
}

enum { HELP_COLUMN = 24 };

static void put_option(struct buf *b, const struct option *o)
{
	const char *help = option_help(o);
	size_t from = b->n;

	if (!help && o->letter != 'o')
		return;
	put_z(b, o->letter ? "-" : "   ");
	if (o->letter) {
		put_c(b, o->letter);
		put_c(b, ',');
	}
	put_z(b, " --");
	put_z(b, o->name);
	if (o->arg) {
		put_c(b, ' ');
		put_z(b, o->arg);
	}
	put_columns(b, from, HELP_COLUMN);
	if (help)
		put_z(b, help);
	else
		format_names(b, opt.cmd ? opt.cmd->kind : -1, HELP_COLUMN);
	put_c(b, '\n');
}

static void put_cmd(struct buf *b, const struct cmd *c)
{
	size_t from = b->n;

	put_z(b, "gpustat");
	put_z(b, c->name[0] ? " " : "");
	put_z(b, c->name);
	put_z(b, c->args[0] ? " [OPTIONS] " : " [OPTIONS]");
	put_z(b, c->args);
	put_columns(b, from, 47);
	put_z(b, c->help);
	put_c(b, '\n');
}

/* Of the command in hand, or of all. */
static void put_help(struct buf *b)
{
	put_z(b, "gpustat " VERSION " - what GPUs and performance counters are doing\n\n");
	for (size_t i = 0; i < LEN(cmds); i++)
		if (!opt.cmd || opt.cmd == &cmds[i])
			put_cmd(b, &cmds[i]);
	put_c(b, '\n');
	for (size_t i = 0; i < LEN(options); i++) {
		if (opt.cmd && !(options[i].with & opt.cmd->with))
			continue;
		if (!opt.cmd && i && options[i].with != options[i - 1].with)
			put_z(b, options[i].with == WITH_PERF ? "\nstat and sample, where letters are perf's:\n" :
				 options[i].with == WITH_STAT ? "\nstat:\n" : options[i].with == WITH_SAMPLE ? "\nsample:\n" :
				 options[i].with == WITH_OA ? "\noa:\n" :
				 options[i].with == WITH_CHECK ? "\ncheck:\n" : "");
		put_option(b, &options[i]);
	}
	if (!opt.cmd || opt.cmd->with & (WITH_LIVE | WITH_NAMED))
		put_z(b, "\nWithout an interval: two reads, one window apart.");
	put_z(b, is_check() ? "\nExit: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.\n" :
		 "\nExit: 0 ok, 1 read or write failure, 2 usage, 3 no device, 4 everything asked for was denied.\n");
}

int finish(void)
{
	return flush() ? EX_OK : EX_FAIL;
}

/* What this program itself has come to; its memory where /proc is the one that it is in. */
static void measure_self(void)
{
	char text[64];
	struct str line, word;
	u64 pages;

	opt.out.self_ns = (u64)sys_now(CLOCK_PROCESS_CPUTIME_ID);
	opt.out.self_bytes = 0;
	if (slurp_line(root_proc, "self/statm", text, sizeof(text), &line) && str_word(&line, &word) && str_word(&line, &word) &&
	    scan_u64(word, &pages) == word.e)
		opt.out.self_bytes = pages * sys_page();
}

/* What the format puts behind its records, and all of it to where it goes. Exit code. */
static int finish_all(void)
{
	if (format_is_whole(opt.out.fmt))
		measure_self();
	while (out_end(&opt.out, &out))
		if (!flush())
			return EX_FAIL;
	return flush() && sink_end() ? EX_OK : EX_FAIL;
}

/* A sample is complete. Exit code. */
int finish_sample(void)
{
	return format_is_of_run(opt.out.fmt) ? EX_OK : finish_all();
}

/* The run is over, with that exit code: formats of the whole run are written now, of as much as there is. */
static int finish_run(int code)
{
	int r = EX_OK;

	if (format_is_of_run(opt.out.fmt) && (opt.out.headed || code == EX_OK))
		r = finish_all();
	return code == EX_OK ? r : code;
}

static int bad_value(const struct option *o, const char *value)
{
	char names[256];
	struct buf b = { .p = names, .cap = sizeof(names) - 1 };

	if (o->letter == 'o') {
		put_z(&b, "': no such format; there are ");
		format_names(&b, opt.cmd ? opt.cmd->kind : -1, 0);
	} else {
		put_z(&b, "': wrong value for --");
		put_z(&b, o->name);
		put_z(&b, o->help ? ": " : "");
		put_z(&b, o->help ? o->help : "");
	}
	names[b.n] = '\0';
	return usage("'", value, names);
}

/* One option that has been found; *at is its word, rest what follows the letter or '=' in it. Exit code
 * or -1 to go on. */
static int take_option(const struct option *o, char **argv, int *at, const char *rest)
{
	if (!o->set) {
		if (o->letter == 'h')
			put_help(&out);
		else
			put_z(&out, "gpustat " VERSION "\n");
		return finish() == EX_OK ? is_check() ? EX_UNKNOWN : EX_OK : EX_FAIL;
	}
	chosen_options[o - options] = true;
	if (!o->arg) {
		struct str value = str_z(rest); /* only --summary takes one, and need not have it */

		return o->set(value) ? -1 : bad_value(o, rest);
	}
	if (!rest) {
		if (!argv[*at + 1])
			return usage("--", o->name, " wants a value");
		rest = argv[++*at];
	}
	return o->set(str_z(rest)) ? -1 : bad_value(o, rest);
}

/* The row of a letter or of a name: that of the command in hand, else any, to say that it does not go with it. */
static const struct option *find_option(char letter, struct str name)
{
	const struct option *other = NULL;

	for (size_t i = 0; i < LEN(options); i++) {
		if (letter ? options[i].letter != letter : !str_eq(name, str_z(options[i].name)))
			continue;
		if (!opt.cmd || options[i].with & opt.cmd->with)
			return &options[i];
		other = other ? other : &options[i];
	}
	return other;
}

static int long_option(char **argv, int *at)
{
	struct str name = str_z(argv[*at] + 2), whole = name, key = name;
	const struct option *o;
	const char *rest;

	str_cut(&name, '=', &key);
	o = find_option('\0', key);
	rest = key.e < whole.e ? key.e + 1 : NULL;
	if (!o)
		return usage("no option '", argv[*at], "'; see gpustat --help");
	if (rest && !o->arg && o->set != set_profile)
		return usage("--", o->name, " takes no value");
	return take_option(o, argv, at, rest);
}

static int short_options(char **argv, int *at)
{
	const char *word = argv[*at];

	for (const char *p = word + 1; *p; p++) {
		const struct option *o = find_option(*p, (struct str){ 0 });
		int r;

		if (!o)
			return usage("no option '", word, "'; see gpustat --help");
		r = take_option(o, argv, at, o->arg && p[1] ? p + 1 : NULL);
		if (r >= 0 || o->arg)
			return r;
	}
	return -1;
}

static const struct cmd *find_cmd(const char *word)
{
	for (size_t i = 1; i < LEN(cmds); i++)
		if (strcmp(word, cmds[i].name) == 0)
			return &cmds[i];
	return NULL;
}

static int no_command(const char *word)
{
	char names[256];
	struct buf b = { .p = names, .cap = sizeof(names) - 1 };

	put_z(&b, "': neither a command nor an interval; there are");
	for (size_t i = 1; i < LEN(cmds); i++) {
		put_c(&b, ' ');
		put_z(&b, cmds[i].name);
	}
	names[b.n] = '\0';
	return usage("'", word, names);
}

/* What oa does beside measuring. */
static bool is_oa_word(const char *word)
{
	return opt.cmd->with & WITH_OA && (strcmp(word, "list") == 0 || strcmp(word, "pack") == 0);
}

/* Between samples; 0: there is one. */
static i64 interval_asked(void)
{
	return opt.interval ? opt.interval : opt.count ? 1000000000 : 0;
}

/* The kernel takes 10 records in 5 s; --inner makes three of an interval. */
static bool too_fast(void)
{
	i64 each = interval_asked();

	return sink_is_kmsg() && each && each < (opt.inner ? 1500000000 : 500000000);
}

static int say_too_fast(void)
{
	return usage("/dev/kmsg takes 10 records in 5 s: an interval of 0.5s or more, with --inner 1.5s", NULL, NULL);
}

/* INTERVAL and COUNT: exit code, or -1 to go on. */
int take_times(char **words, size_t n)
{
	if (n > 0 && (opt.on_stdin || opt.http))
		return usage(opt.http ? "--http" : "--on-stdin", " takes no INTERVAL: what asks is who waits for the answer", NULL);
	if (n > 2)
		return usage("'", words[n - 1], "': one word too many");
	if (n > 0 && !set_interval(str_z(words[0])))
		return usage("'", words[0], "': no interval; 100ms, 1, 1.5s, 1m");
	if (n > 1 && !set_count(str_z(words[1])))
		return usage("'", words[1], "': no count; 1 or more");
	return too_fast() ? say_too_fast() : -1;
}

/* For the commands that take them. */
static int take_words(void)
{
	const char *word = opt.words[0];

	if (opt.cmd->kind == K_FDINFO || opt.cmd->with & (WITH_PERF | WITH_EVENTS | WITH_COUNTERS | WITH_MUNIN | WITH_PLOT) || (opt.nwords && is_oa_word(word)))
		return -1;
	if (opt.nwords > 0 && opt.cmd->with & (WITH_LIST | WITH_CHECK | WITH_DOCTOR))
		return usage("'", opt.words[opt.nwords - 1], "': one word too many");
	if ((opt.nwords == 1 || opt.nwords == 2) && opt.cmd == cmds && (u8)(word[0] - '0') > 9 && word[0] != '.')
		return no_command(word);
	return take_times(opt.words, opt.nwords);
}

static int wrong_option(const struct option *o)
{
	char text[64];
	struct buf b = { .p = text, .cap = sizeof(text) - 1 };

	put_z(&b, " does not go with ");
	put_z(&b, opt.cmd->name[0] ? opt.cmd->name : "the devices");
	text[b.n] = '\0';
	return usage("--", o->name, text);
}

/* What has no meaning together: why, or NULL. */
static const char *conflict(void)
{
	const struct format *f = opt.out.fmt;
	bool sums = opt.summary || opt.inner;

	if (sums && opt.raw)
		return opt.inner ? "--inner goes with rates, not with --raw" : "--summary goes with rates, not with --raw";
	if (opt.summary && opt.inner)
		return "--inner sums up each interval, --summary the run: one of them";
	if (sums && format_is_of_run(f))
		return "a picture shows every sample: neither --summary nor --inner";
	if (opt.state && opt.output && strcmp(opt.state, opt.output) == 0)
		return "--state and --output want a file each";
	if (opt.inner && opt.inner >= (interval_asked() ? interval_asked() : opt.window))
		return "--inner is less than the interval";
	if ((opt.on_stdin || opt.http) && (opt.align || opt.inner || opt.interval))
		return "--on-stdin and --http go with neither an interval, --inner nor --align";
	if (opt.http && (opt.on_stdin || opt.count || opt.summary || opt.output))
		return "--http is one sample for one request: neither --on-stdin, --count, --summary nor --output";
	if (opt.http && !http_takes_format())
		return "--http goes with -o prom or -o openmetrics";
	return NULL;
}

/* What goes to a file of its kind only. */
static const char *wrong_output(void)
{
	struct str to = str_z(opt.output);
	bool kmsg = opt.out.fmt == format_find((struct str)STR("kmsg"));

	if (str_skip(&to, (struct str)STR("udp:")) && !format_sends(opt.out.fmt))
		return "-O udp:HOST:PORT goes with -o statsd or -o graphite";
	if (sink_is_kmsg() && !kmsg)
		return "-O /dev/kmsg goes with -o kmsg: a record there is a line of 976 bytes at most";
	return NULL;
}

static int check_options(void)
{
	const char *why;

	for (size_t i = 0; i < LEN(options); i++)
		if (chosen_options[i] && !(options[i].with & opt.cmd->with))
			return wrong_option(&options[i]);
	if ((why = conflict()) || (why = wrong_output()))
		return usage(why, NULL, NULL);
	if (too_fast())
		return say_too_fast();
	if (!format_shows(opt.out.fmt, opt.cmd->kind))
		return usage("that format does not show such records", NULL, NULL);
	if (format_is_of_run(opt.out.fmt) &&
	    (opt.cmd->run == cmd_list || opt.profile || (opt.nwords ? is_oa_word(opt.words[0]) : opt.cmd->with == WITH_COUNTERS)))
		return usage("that format shows values over time: there are none", NULL, NULL);
	if (opt.oa.props.format && !(opt.cmd->with & WITH_OA))
		return usage("that is a format of OA reports", NULL, NULL);
	if (opt.out.one_line && !format_joins(opt.out.fmt))
		return usage("-1 goes with the formats line and json", NULL, NULL);
	return -1;
}

/* -f and -s; what -S adds says itself which it is. */
static int check_patterns(void)
{
	static const struct str summary = STR("summary");
	bool has = !opt.out.summary || opt.out.npatterns == 0 || opt.out.npatterns == MAX_PATTERNS;

	for (size_t i = 0; i < opt.out.npatterns; i++)
		has |= str_eq(opt.patterns[i], summary);
	if (!has) {
		memmove(opt.patterns + 1, opt.patterns, opt.out.npatterns++ * sizeof(opt.patterns[0]));
		opt.patterns[0] = summary;
	}
	for (size_t i = 0; i <= opt.out.npatterns; i++) {
		struct str p = i < opt.out.npatterns ? opt.patterns[i] : opt.sort;
		char name[128];

		if (!p.p || pattern_known(p, opt.cmd->kind) || opt.cmd->with & (WITH_OA | WITH_HOST | WITH_PLOT)) /* a counter, perhaps */
			continue;
		device_set(name, sizeof(name), p);
		return usage("'", name, "': these records have no such field; -f help lists them");
	}
	return -1;
}

static bool takes_command(void)
{
	return opt.cmd && opt.cmd->with & WITH_PERF;
}

/* A word of stat's: INTERVAL and COUNT in front; what else there is begins the command. */
static bool begins_command(const char *word)
{
	struct str s = str_z(word);

	if (opt.cmd->with != WITH_STAT || !(opt.nwords == 0 ? set_interval(s) : opt.nwords == 1 && set_count(s)))
		return true;
	opt.nwords++;
	return false;
}

static bool is_chosen(char letter)
{
	bool is = false;

	for (size_t i = 0; i < LEN(options); i++)
		is |= options[i].letter == letter && chosen_options[i];
	return is;
}

/* Exit code, or -1 to run. */
static int parse_args(char **argv)
{
	bool options_end = false;

	opt.words = argv + 1; /* words move to the front of the arguments that were read before them */
	opt.argv = argv;
	opt.window = 500000000;
	opt.repeat = 1;
	opt.out.fmt = format_find((struct str)STR("line"));
	opt.out.patterns = opt.patterns;
	for (int i = 1; argv[i]; i++) {
		const char *a = argv[i];
		int r = -1;

		if (!options_end && strcmp(a, "--") == 0) {
			options_end = true;
			if (takes_command()) {
				opt.command = argv + i + 1;
				break;
			}
		}
		else if (!options_end && a[0] == '-' && a[1] == '-')
			r = long_option(argv, &i);
		else if (!options_end && a[0] == '-' && a[1])
			r = short_options(argv, &i);
		else if (!opt.cmd && opt.nwords == 0 && find_cmd(a))
			opt.cmd = find_cmd(a);
		else if (takes_command()) {
			if (!begins_command(a))
				continue;
			opt.command = argv + i;
			break;
		} else
			opt.words[opt.nwords++] = argv[i];
		if (r >= 0)
			return r;
	}
	if (!opt.cmd)
		opt.cmd = cmds;
	if (opt.fields_help && opt.cmd->with & (WITH_RECORDS | WITH_PLOT)) {
		out_fields(&out, opt.cmd->kind);
		return finish();
	}
	if (sink_is_kmsg() && !is_chosen('o'))
		opt.out.fmt = format_find((struct str)STR("kmsg"));
	opt.out.kind = opt.cmd->kind;
	opt.out.summary = opt.summary || opt.inner;
	opt.out.inner = opt.inner;
	if (take_words() >= 0 || check_options() >= 0)
		return EX_USAGE;
	return check_patterns();
}

/* --- roots ------------------------------------------------------------------------------------------------- */

static bool open_root(int *fd, const char *dir, const char *given, u32 magic, const char *mount)
{
	struct statfs fs;
	long r = sys_openat(AT_FDCWD, given ? given : dir, O_RDONLY | O_DIRECTORY);

	*fd = (int)r;
	if (r < 0) {
		say(given ? given : dir, ": ", error_text(r));
		return false;
	}
	if (!given && (sys_fstatfs(*fd, &fs) < 0 || (u32)fs.f_type != magic)) {
		say(dir, " is not mounted; as root: ", mount);
		return false;
	}
	return true;
}

bool open_roots(void)
{
	root_proc_given = opt.proc;
	root_proc_name = opt.proc;
	root_sys_given = opt.sys;
	return open_root(&root_sys, "/sys", opt.sys, SYSFS_MAGIC, "mount -t sysfs sys /sys") &&
	       open_root(&root_proc, "/proc", opt.proc, PROC_SUPER_MAGIC, "mount -t proc proc /proc");
}

/* A stream that is closed must not become something that we open: what is written there fails. */
static void fill_streams(void)
{
	long fd;

	do
		fd = sys_openat(AT_FDCWD, "/dev/null", O_RDONLY);
	while (fd >= 0 && fd < 3);
	if (fd >= 0)
		sys_close((int)fd);
}

/* Whether it goes on where it is told how often, and was not told how long. */
static bool may_repeat(void)
{
	u16 with = opt.cmd->with;

	return !opt.interval && !opt.count && !opt.windowed && !opt.raw &&
	       (with & (WITH_LIVE | WITH_HOST) || (with & WITH_COUNTERS && opt.nwords));
}

/* What metrics say of this machine, and how often they come; collectd tells both to what it runs, which is to keep on. */
static void know_host(void)
{
	static struct utsname name;
	i64 step;
	bool collectd = opt.out.fmt == format_find((struct str)STR("collectd"));
	const char *host = collectd ? getenv("COLLECTD_HOSTNAME") : NULL, *interval = collectd ? getenv("COLLECTD_INTERVAL") : NULL;

	opt.out.now = sys_now(CLOCK_REALTIME);
	if (sys_uname(&name) == 0)
		opt.out.host = name.nodename;
	if (host && host[0])
		opt.out.host = host;
	opt.out.interval = interval_asked();
	if (!interval || !parse_interval(str_z(interval), &step))
		return;
	opt.out.interval = step;
	if (may_repeat())
		opt.interval = step;
}

/* live.c and counters.c say it with what else found no room. */
static int run_cmd(void)
{
	int code = opt.cmd->run();

	if (opt.out.lost && opt.cmd->with & (WITH_PERF | WITH_OA | WITH_FDINFO))
		say_number(opt.out.lost, " series or columns had no room and were left out");
	return finish_run(code);
}

/* libc's own would run the handlers that nobody registered, and brings stdio's in. */
_Noreturn void exit(int code)
{
	_exit(code);
}

/* signal(7): those that do not end a process, that cannot be caught, or that have a handler here. */
#define BIT(sig) (UINT64_C(1) << (sig))
static const u64 HARMLESS = BIT(SIGKILL) | BIT(SIGSTOP) | BIT(SIGCHLD) | BIT(SIGCONT) | BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) |
	BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGXFSZ);

static void put_back_at_end(void)
{
	for (int sig = 1; sig < 64; sig++)
		if (!(HARMLESS >> sig & 1))
			sys_signal(sig, on_fatal);
}

int main(int argc, char **argv)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	int r;
	long columns_of_tty;

	fill_streams();
	sys_signal_stays(SIGXFSZ, on_too_large);
	r = argc > 0 ? parse_args(argv) : usage("no arguments at all", NULL, NULL);

	if (r >= 0)
		return r == EX_USAGE && is_check() ? check_unknown(said) : r;
	columns_of_tty = sys_columns(1);
	opt.out.width = (u16)(columns_of_tty > 80 && columns_of_tty < 4096 ? columns_of_tty : 80);
	opt.out.colour = columns_of_tty >= 0 && !getenv("NO_COLOR");
	know_host();
	if (opt.cmd->with & WITH_PERF)
		return run_cmd(); /* has its own way with signals, and raises limits only for many events */
	if (opt.cmd->with & WITH_RECORDS && !(opt.cmd->with & WITH_OA) && (r = sink_open()) >= 0)
		return r;
	files_limit = sys_raise_nofile();
	if (opt.profiling)
		put_back_at_end();
	for (size_t i = 0; i < LEN(ends); i++)
		sys_signal(ends[i], on_signal);
	if (opt.http && (r = http_request()) >= 0)
		return r;
	r = run_cmd();
	profiling_restore();
	return opt.http ? http_end(r) : r;
}
