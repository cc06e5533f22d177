/* gpustat.c - the front door: arguments, the sample loop, every message and exit code.
 * SPDX-License-Identifier: MIT */
#include "commands.h"
#include "perfmon/pmumap.h"
#include "sys.h"

#include <limits.h>
#include <stdlib.h>

#ifndef VERSION
#define VERSION "unknown"
#endif

enum { DUMP_BYTES = 1 << 20, SORT_BYTES = 4 << 20 /* a path of 250 bytes for each client */ };

struct opts opt;
struct record rec;
static char out_bytes[OUT_BYTES];
struct buf out = { .p = out_bytes, .cap = OUT_BYTES };
int out_fd = 1;
bool lost_record;
volatile sig_atomic_t stopped;

static void on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

/* --- messages --------------------------------------------------------------------------------------- */

/* "who: abc" on stderr; NULLs are left out. */
static void message(const char *who, const char *a, const char *b, const char *c)
{
	const char *const parts[] = { who, ": ", a, b, c };
	char text[1024];
	struct buf m = { .p = text, .cap = sizeof(text) - 1 };

	if (opt.quiet)
		return;
	for (size_t i = 0; i < LEN(parts); i++)
		put_text(&m, str_z(parts[i]));
	text[m.n++] = '\n';
	sys_write(2, text, m.n);
}

void say(const char *a, const char *b, const char *c)
{
	message("gpustat", a, b, c);
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

/* All of it, in one write where the kernel takes it whole: 0, or -errno. */
long write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		long r = sys_write(fd, p, n);

		if (r == -EINTR)
			continue;
		if (r <= 0)
			return r < 0 ? r : -EIO;
		p += r;
		n -= (size_t)r;
	}
	return 0;
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
	r = write_all(out_fd, out.p, out.n);
	if (r < 0)
		say(opt.output ? opt.output : out_fd == 2 ? "standard error" : "standard output", ": ", error_text(r));
	else
		out.n = 0;
	return r >= 0;
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

enum { WITH_LIVE = 1, WITH_LIST = 2, WITH_FDINFO = 4, WITH_EVENTS = 8, WITH_STAT = 16, WITH_SAMPLE = 32, WITH_OA = 64,
       WITH_COUNTERS = 128, WITH_HOST = 256, WITH_NAMED = WITH_COUNTERS | WITH_HOST,
       WITH_GPUS = WITH_LIVE | WITH_LIST | WITH_FDINFO, WITH_PERF = WITH_STAT | WITH_SAMPLE,
       WITH_RECORDS = WITH_GPUS | WITH_PERF | WITH_OA | WITH_NAMED, WITH_ALL = WITH_RECORDS | WITH_EVENTS };

/* A letter means what its row says in the commands of that row: stat and sample have perf's. */
static const struct option {
	char letter;
	const char *name, *arg, *help;
	bool (*set)(struct str value); /* without an argument: {0} */
	u16 with; /* the commands that take it */
} options[] = {
	{ 'i', "interval", "T", "sample every T: 100ms, 1, 1.5s, 1m", set_interval, WITH_LIVE | WITH_STAT | WITH_OA | WITH_NAMED },
	{ 'c', "count", "N", "stop after N samples (-n is the same)", set_count, WITH_LIVE | WITH_PERF | WITH_OA | WITH_NAMED },
	{ 'n', "count", "N", NULL, set_count, WITH_LIVE | WITH_OA | WITH_NAMED },
	{ 'w', "window", "T", "time between the two reads without an interval (0.5s)", set_window, WITH_LIVE | WITH_PERF | WITH_NAMED },
	{ 'r', "raw", NULL, "the kernel's own numbers, not rates: one read", set_raw, WITH_LIVE | WITH_FDINFO },
	{ 'd', "device", "SEL", "card1, renderD128, 0000:03:00.0, driver:xe or 0", set_device, WITH_LIVE | WITH_LIST | WITH_OA },
	{ 'p', "pid", "PID", "only clients of these processes", set_pid, WITH_LIVE | WITH_LIST },
	{ 'C', "comm", "NAME", "only clients of processes so named; * and ? match", set_comm, WITH_LIVE | WITH_LIST },
	{ 'g', "cgroup", "PATH", "only clients in or below this cgroup, or of a container id", set_cgroup, WITH_LIVE | WITH_LIST },
	{ 'k', "top", "N", "the first N records of each sample, or of each sum", set_top, WITH_LIVE | WITH_LIST | WITH_SAMPLE },
	{ 's', "sort", "FIELD", "numbers from the highest, texts from A", set_sort, WITH_LIVE | WITH_LIST },
	{ 'f', "fields", "A,B", "only these fields; -f help lists them", set_fields, WITH_RECORDS },
	{ 'o', "format", "F", NULL, set_format, WITH_RECORDS },
	{ '1', "one-line", NULL, "all records of a sample on one line (line, json)", set_one_line, WITH_RECORDS },
	{ 'H', "no-header", NULL, "no header (line, table, csv)", set_no_header, WITH_RECORDS },
	{ 't', "time", "HOW", "none, epoch, iso or mono", set_time, WITH_GPUS | WITH_OA | WITH_NAMED },
	{ 'S', "summary", NULL, "min, avg and max at the end", set_summary, WITH_LIVE },
	{ 'q', "quiet", NULL, "no messages", set_quiet, WITH_ALL },
	{ 'v', "verbose", NULL, "say what could not be read, and what would mend it", set_verbose, WITH_ALL },
	{ '\0', "pmu-file", "FILE", "more events: a line NAME EVENT each (events, stat, sample)", set_pmu_file, WITH_PERF | WITH_EVENTS },
	{ '\0', "resolve", NULL, "what perf_event_open(2) would be asked for (events)", set_resolve, WITH_EVENTS },
	{ '\0', "map", NULL, "which events perfmon2's registers are (events; -v: and when)", set_map, WITH_EVENTS },
	{ '\0', "proc", "DIR", "read DIR instead of /proc", set_proc, WITH_ALL },
	{ '\0', "sys", "DIR", "read DIR instead of /sys", set_sys, WITH_ALL },
	{ 'h', "help", NULL, "this text", NULL, WITH_ALL },
	{ 'V', "version", NULL, "the version", NULL, WITH_ALL },

	{ 'e', "event", "LIST", "what to count: names, {groups}, pmu/terms/; gpustat events has them", set_event, WITH_PERF },
	{ 'a', "all-cpus", NULL, "every CPU, whoever runs there", set_all_cpus, WITH_PERF },
	{ 'C', "cpu", "LIST", "only these CPUs: 0,2-3", set_cpus, WITH_PERF },
	{ 'p', "pid", "PIDS", "these processes, with all their threads", set_target_pid, WITH_PERF },
	{ 't', "tid", "TIDS", "these threads", set_tid, WITH_PERF },
	{ 'G', "cgroup", "PATHS", "each of these cgroups", set_cgroups, WITH_PERF },
	{ 'O', "output", "FILE", "append to FILE (perfdata: write it)", set_output, WITH_PERF },
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
	{ 'O', "output", "FILE", "append to FILE (pack: write it)", set_output, WITH_OA },
	{ '\0', "record", "FILE", "write a recording, too", set_record, WITH_OA },
	{ '\0', "replay", "FILE", "of a recording or a raw stream; - is standard input", set_replay, WITH_OA },
	{ '\0', "platform", "NAME", "what a raw stream is of: sklgt2, tglgt2, lnl, ...", set_platform, WITH_OA },
};

static bool chosen_options[LEN(options)]; /* by the command line */

static int cmd_live(void);
static int cmd_list(void);
static int cmd_fdinfo(void);
static int cmd_events(void);

static const struct cmd {
	const char *name, *args, *help;
	u8 kind;
	u16 with;
	int (*run)(void);
} cmds[] = {
	{ "", "[INTERVAL [COUNT]]", "a record per device and sample", K_DEVICE, WITH_LIVE, cmd_live },
	{ "procs", "[INTERVAL [COUNT]]", "a record per DRM client", K_CLIENT, WITH_LIVE, cmd_live },
	{ "cgroups", "[INTERVAL [COUNT]]", "clients summed per cgroup", K_CGROUP, WITH_LIVE, cmd_live },
	{ "list", "", "devices, engines, memory, and what cannot be told", K_DEVICE, WITH_LIST, cmd_list },
	{ "fdinfo", "FILE...|-", "decode dumps of /proc/PID/fdinfo/FD", K_FDINFO, WITH_FDINFO, cmd_fdinfo },
	{ "events", "[GLOB|EVENT...]", "perf events and other counters on offer", K_COUNT, WITH_EVENTS, cmd_events },
	{ "stat", "[INTERVAL [COUNT]] [-- COMMAND]", "count perf events", K_EVENT, WITH_STAT, cmd_stat },
	{ "sample", "[-- COMMAND]", "a record per overflow of perf events, or sums", K_SAMPLE, WITH_SAMPLE, cmd_sample },
	{ "oa", "[INTERVAL [COUNT]]|list|pack", "the GPU's own counters, live or from a recording", K_OA, WITH_OA, cmd_oa },
	{ "counters", "[NAME... [INTERVAL [COUNT]]]", "all counters, or values by name", K_COUNTER, WITH_COUNTERS, cmd_counters },
	{ "host", "[INTERVAL [COUNT]]", "a line of CPU, memory, disks and processes", K_COUNTER, WITH_HOST, cmd_host },
};

/* Blanks up to column `to` of what begins at `from`: one at least. */
void put_columns(struct buf *b, size_t from, size_t to)
{
	do
		put_c(b, ' ');
	while (b->n - from < to);
}

static void put_option(struct buf *b, const struct option *o)
{
	size_t from = b->n;

	if (!o->help && o->letter != 'o')
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
	put_columns(b, from, 24);
	if (o->help)
		put_z(b, o->help);
	else
		format_names(b);
	put_c(b, '\n');
}

static void put_help(struct buf *b)
{
	put_z(b, "gpustat " VERSION " - what GPUs and performance counters are doing\n\n");
	for (size_t i = 0; i < LEN(cmds); i++) {
		size_t from = b->n;

		put_z(b, "gpustat");
		put_z(b, cmds[i].name[0] ? " " : "");
		put_z(b, cmds[i].name);
		put_z(b, cmds[i].args[0] ? " [OPTIONS] " : " [OPTIONS]");
		put_z(b, cmds[i].args);
		put_columns(b, from, 47);
		put_z(b, cmds[i].help);
		put_c(b, '\n');
	}
	put_c(b, '\n');
	for (size_t i = 0; i < LEN(options); i++) {
		if (i && options[i].with != options[i - 1].with)
			put_z(b, options[i].with == WITH_PERF ? "\nstat and sample, where letters are perf's:\n" :
				 options[i].with == WITH_STAT ? "\nstat:\n" : options[i].with == WITH_SAMPLE ? "\nsample:\n" :
				 options[i].with == WITH_OA ? "\noa:\n" : "");
		put_option(b, &options[i]);
	}
	put_z(b, "\nWithout an interval: two reads, one window apart. Exit: 0 ok, 1 read or write failure,\n"
		 "2 usage, 3 no device, 4 everything asked for was denied.\n");
}

int finish(void)
{
	return flush() ? EX_OK : EX_FAIL;
}

static int bad_value(const struct option *o, const char *value)
{
	char names[256];
	struct buf b = { .p = names, .cap = sizeof(names) - 1 };

	if (o->letter == 'o') {
		put_z(&b, "': no such format; there are ");
		format_names(&b);
	} else {
		put_z(&b, "': wrong value for --");
		put_z(&b, o->name);
		put_z(&b, ": ");
		put_z(&b, o->help);
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
		return finish();
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

/* INTERVAL and COUNT: exit code, or -1 to go on. */
int take_times(char **words, size_t n)
{
	if (n > 2)
		return usage("'", words[n - 1], "': one word too many");
	if (n > 0 && !set_interval(str_z(words[0])))
		return usage("'", words[0], "': no interval; 100ms, 1, 1.5s, 1m");
	if (n > 1 && !set_count(str_z(words[1])))
		return usage("'", words[1], "': no count; 1 or more");
	return -1;
}

/* For the commands that take them. */
static int take_words(void)
{
	const char *word = opt.words[0];

	if (opt.cmd->kind == K_FDINFO || opt.cmd->with & (WITH_PERF | WITH_EVENTS | WITH_COUNTERS) || (opt.nwords && is_oa_word(word)))
		return -1;
	if (opt.nwords > 0 && opt.cmd->run == cmd_list)
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

static int check_options(void)
{
	for (size_t i = 0; i < LEN(options); i++)
		if (chosen_options[i] && !(options[i].with & opt.cmd->with))
			return wrong_option(&options[i]);
	if (opt.summary && opt.raw)
		return usage("--summary goes with rates, not with --raw", NULL, NULL);
	if (!format_shows(opt.out.fmt, opt.cmd->kind))
		return usage("that format is for stat or sample alone", NULL, NULL);
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
	bool has = !opt.summary || opt.out.npatterns == 0 || opt.out.npatterns == MAX_PATTERNS;

	for (size_t i = 0; i < opt.out.npatterns; i++)
		has |= str_eq(opt.patterns[i], summary);
	if (!has) {
		memmove(opt.patterns + 1, opt.patterns, opt.out.npatterns++ * sizeof(opt.patterns[0]));
		opt.patterns[0] = summary;
	}
	for (size_t i = 0; i <= opt.out.npatterns; i++) {
		struct str p = i < opt.out.npatterns ? opt.patterns[i] : opt.sort;
		char name[128];

		if (!p.p || pattern_known(p, opt.cmd->kind) || opt.cmd->with & (WITH_OA | WITH_HOST)) /* a counter, perhaps */
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
	if (opt.fields_help && opt.cmd->with & WITH_RECORDS) {
		out_fields(&out, opt.cmd->kind);
		return finish();
	}
	opt.out.kind = opt.cmd->kind;
	opt.out.summary = opt.summary;
	if (take_words() >= 0 || check_options() >= 0)
		return EX_USAGE;
	return check_patterns();
}

/* --- which records ------------------------------------------------------------------------------------ */

static u32 order[MAX_CLIENTS]; /* of devices, clients or groups: this sample's records */
static size_t norder;
static bool chosen[MAX_DEVICES]; /* by -d */

static struct entity *entity_at(u8 kind, u32 n)
{
	return kind == K_DEVICE ? &devices[n].e : kind == K_CLIENT ? &clients[n].e : &groups[n].e;
}

typedef int order_fn(u32 a, u32 b);

static int by_device(u32 a, u32 b)
{
	return device_order(&devices[a], &devices[b]);
}

static int by_client(u32 a, u32 b)
{
	const struct client *x = &clients[a], *y = &clients[b];
	int d = x->device == y->device ? 0 : by_device(x->device, y->device);

	return d ? d : x->key < y->key ? -1 : x->key > y->key;
}

static int by_group(u32 a, u32 b)
{
	static char x[4096], y[4096];
	size_t n, m;
	int d = groups[a].device == groups[b].device ? 0 : by_device(groups[a].device, groups[b].device);

	if (d)
		return d;
	n = text_copy(cgroups[groups[a].cgroup].path, x, sizeof(x));
	m = text_copy(cgroups[groups[b].cgroup].path, y, sizeof(y));
	d = memcmp(x, y, n < m ? n : m);
	return d ? d : n < m ? -1 : n > m;
}

static struct val sort_keys[MAX_CLIENTS];

/* Numbers from the highest, then texts from A, then what is unknown. */
static int by_field(u32 a, u32 b)
{
	const struct val *x = &sort_keys[a], *y = &sort_keys[b];

	if (x->type != y->type)
		return x->type == V_NULL ? 1 : y->type == V_NULL ? -1 : x->type == V_TEXT ? 1 : -1;
	if (x->type == V_TEXT) {
		size_t n = str_len(x->s), m = str_len(y->s);
		int d = memcmp(x->s.p, y->s.p, n < m ? n : m);

		return d ? d : n < m ? -1 : n > m;
	}
	if (x->neg != y->neg)
		return x->neg ? 1 : -1;
	return x->n == y->n ? 0 : (x->n < y->n) == !x->neg ? 1 : -1;
}

/* Merge sort, so that equals keep their order. */
static void sort(u32 *v, size_t n, order_fn *cmp)
{
	static u32 half[MAX_CLIENTS];
	size_t k = n / 2, i = 0, j = k, at = 0;

	if (n < 2)
		return;
	sort(v, k, cmp);
	sort(v + k, n - k, cmp);
	memcpy(half, v, k * sizeof(*v));
	while (i < k)
		v[at++] = j < n && cmp(half[i], v[j]) > 0 ? v[j++] : half[i++];
}

static bool node_is(const struct device *d, struct str sel)
{
	static const struct str names[] = { STR("card"), STR("renderD"), STR("accel") };
	const i32 numbers[] = { d->card, d->render, d->accel };

	for (size_t i = 0; i < LEN(names); i++) {
		struct str s = sel;
		u64 n;

		if (numbers[i] >= 0 && str_skip(&s, names[i]) && scan_u64(s, &n) == s.e && n == (u64)numbers[i])
			return true;
	}
	return str_eq(sel, str_z(d->dev));
}

static bool selected(const struct device *d, u64 index, struct str sel)
{
	u64 n;

	if (scan_u64(sel, &n) == sel.e)
		return n == index;
	str_skip(&sel, (struct str)STR("/dev/dri/"));
	str_skip(&sel, (struct str)STR("/dev/accel/"));
	if (node_is(d, sel) || (d->pdev[0] && str_eq(sel, str_z(d->pdev))))
		return true;
	return str_skip(&sel, (struct str)STR("driver:")) && str_eq(sel, str_z(d->driver));
}

/* By -d; place is that in the order of devices. */
bool device_wanted(u32 device, u32 place)
{
	bool is = opt.ndevices == 0;

	for (size_t k = 0; k < opt.ndevices; k++)
		is |= selected(&devices[device], place, opt.devices[k]);
	return is;
}

/* All devices, in their order, and which of them -d wants. */
static void choose_devices(void)
{
	size_t n = 0;

	norder = 0;
	memset(chosen, 0, sizeof(chosen));
	for (u32 i = 1; i <= ndevices; i++)
		if (devices[i].e.used && !devices[i].gone && devices[i].dev[0])
			order[n++] = i;
	sort(order, n, by_device);
	for (size_t i = 0; i < n; i++) {
		chosen[order[i]] = device_wanted(order[i], (u32)i);
		if (chosen[order[i]])
			order[norder++] = order[i];
	}
}

/* The first one that -d wants and that is fit; NONE: there is none. */
u32 device_chosen(bool (*fits)(const struct device *d))
{
	choose_devices();
	for (size_t i = 0; i < norder; i++)
		if (fits(&devices[order[i]]))
			return order[i];
	return NONE;
}

static bool in_cgroup(u32 text)
{
	static char b[4096];
	struct str path = { b, b + text_copy(text, b, sizeof(b)) }, rest = path, id = parse_container(path);
	struct str top = opt.cgroup;

	while (top.p < top.e && top.e[-1] == '/')
		top.e--;
	if (glob_match(opt.cgroup, path, NULL))
		return true;
	if (str_skip(&rest, top) && (rest.p == rest.e || *rest.p == '/'))
		return true;
	return str_len(opt.cgroup) >= 12 && str_skip(&id, opt.cgroup);
}

/* -p, -C and -g, all of them of one process. */
static bool task_wanted(const struct task *t)
{
	bool pid = opt.npids == 0;

	for (size_t i = 0; i < opt.npids; i++)
		pid |= opt.pids[i] == t->pid;
	return pid && (!opt.comm.p || glob_match(opt.comm, (struct str){ t->comm, t->comm + t->comm_len }, NULL)) &&
	       (!opt.cgroup.p || (t->cgroup && in_cgroup(cgroups[t->cgroup].path)));
}

static bool client_wanted(const struct client *c)
{
	if (!chosen[c->device])
		return false;
	if (!opt.npids && !opt.comm.p && !opt.cgroup.p)
		return true;
	for (u32 h = c->holders; h; h = holders[h].next_client)
		if (task_wanted(&tasks[holders[h].task]))
			return true;
	return false;
}

static void collect(u8 kind)
{
	u32 n = kind == K_CLIENT ? nclients : ngroups;

	norder = 0;
	for (u32 i = 1; i <= n; i++)
		if (entity_at(kind, i)->used && (kind != K_CLIENT || !clients[i].hidden))
			order[norder++] = i;
	sort(order, norder, kind == K_CLIENT ? by_client : by_group);
}

static void sort_by_field(u8 kind, const struct recopts *ro)
{
	static char text[SORT_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < norder; i++) {
		struct val *key = &sort_keys[order[i]];

		*key = (struct val){ 0 };
		record_make(&rec, entity_at(kind, order[i]), ro);
		for (size_t k = 0; k < rec.n && key->type == V_NULL; k++)
			if (field_match(&rec.f[k], opt.sort))
				*key = rec.f[k].v;
		if (key->type == V_TEXT) {
			size_t n = str_len(key->s) < sizeof(text) - used ? str_len(key->s) : sizeof(text) - used;

			memcpy(text + used, key->s.p, n);
			key->s = (struct str){ text + used, text + used + n };
			used += n;
		}
	}
	sort(order, norder, by_field);
}

/* --- -S ------------------------------------------------------------------------------------------------- */

enum { MAX_STATS = 1 << 16 };

static struct stat_row {
	u32 serial; /* of its entity; 0: a free row */
	const struct column *col;
	const char *inst;
	i64 min, max, sum, n;
} stats[MAX_STATS];

static size_t nstats;

/* What has a mean: figures of now, not totals, of which a million can be added up. */
static bool has_mean(const struct column *c)
{
	return c->unit != U_JOULE && (c->unit != U_NONE || c->when & W_TABLE) && !(c->when & W_ID);
}

static bool is_measured(const struct field *f)
{
	return f->v.type == V_INT && f->v.n <= INT64_MAX / (1 << 20) && has_mean(f->col);
}

/* The row of a field's run; a free one where there is none. */
static struct stat_row *stat_find(const struct entity *e, const struct field *f)
{
	size_t h = e->serial * 2654435761u + (size_t)(f->col - columns) * 131 + (size_t)(uintptr_t)f->inst.p;
	struct stat_row *s;

	for (;; h++) {
		s = &stats[h % MAX_STATS];
		if (!s->serial || (s->serial == e->serial && s->col == f->col && s->inst == f->inst.p))
			return s;
	}
}

static void stats_add(const struct entity *e)
{
	for (size_t i = 0; i < rec.n; i++) {
		const struct field *f = &rec.f[i];
		struct stat_row *s;
		i64 v;

		if (!is_measured(f))
			continue;
		s = stat_find(e, f);
		v = f->v.neg ? -(i64)f->v.n : (i64)f->v.n;
		if (!s->serial) {
			if (nstats > MAX_STATS / 4 * 3) { /* a fuller table is slow, a full one has no end */
				reg_dropped++;
				continue;
			}
			nstats++;
			*s = (struct stat_row){ .serial = e->serial, .col = f->col, .inst = f->inst.p, .min = v, .max = v };
		}
		s->min = v < s->min ? v : s->min;
		s->max = v > s->max ? v : s->max;
		s->sum += v;
		s->n++;
	}
}

static void stats_apply(const struct entity *e, const char *which)
{
	for (size_t i = 0; i < rec.n; i++) {
		struct field *f = &rec.f[i];
		const struct stat_row *s = stat_find(e, f);
		i64 v;

		if (!s->serial) {
			/* A total has no mean, and the last value is none either. */
			if (f->v.type == V_INT && (has_mean(f->col) || f->v.unit == U_JOULE))
				f->v = (struct val){ 0 };
			continue;
		}
		v = strcmp(which, "min") == 0 ? s->min : strcmp(which, "max") == 0 ? s->max : s->sum / s->n;
		f->v = (struct val){ .type = V_INT, .unit = f->col->unit, .neg = v < 0, .n = (u64)(v < 0 ? -v : v) };
	}
}

static void summary_make(const struct entity *e, const struct recopts *ro)
{
	record_make(&rec, e, ro);
	stats_apply(e, ro->summary);
}

/* Of those that are still there. */
static bool print_summary(struct recopts ro)
{
	static const char *const which[] = { "min", "avg", "max" };

	for (size_t w = 0; w < LEN(which); w++) {
		ro.summary = which[w];
		for (size_t i = 0; i < norder && out_measures(&opt.out); i++) {
			summary_make(entity_at(opt.cmd->kind, order[i]), &ro);
			out_measure(&opt.out, &rec);
		}
		for (size_t i = 0; i < norder; i++) {
			summary_make(entity_at(opt.cmd->kind, order[i]), &ro);
			out_record(&opt.out, &out, &rec);
			if (!flush())
				return false;
		}
		out_end(&opt.out, &out);
		if (!flush())
			return false;
	}
	return true;
}

/* --- samples ---------------------------------------------------------------------------------------------- */

static bool printed; /* any record */

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

/* Zones change their offset on a quarter of an hour. */
void update_offset(void)
{
	static i64 quarter = -1;
	i64 now = sys_now(CLOCK_REALTIME) / 1000000000;

	if (opt.out.time != T_DEFAULT || opt.out.once || now / 900 == quarter)
		return;
	quarter = now / 900;
	opt.out.offset = local_offset(now);
}

/* Exit code. */
static int print_sample(const struct recopts *ro)
{
	u8 kind = opt.cmd->kind;

	update_offset();
	choose_devices();
	if (norder == 0 && !printed)
		return EX_NODEVICE;
	for (u32 i = 1; i <= nclients; i++)
		clients[i].hidden = clients[i].e.used && !client_wanted(&clients[i]);
	reg_roll(kind == K_CGROUP, !ro->raw && !ro->list);
	if (kind != K_DEVICE)
		collect(kind);
	for (size_t i = 0; i < norder && opt.summary; i++) {
		record_make(&rec, entity_at(kind, order[i]), ro);
		stats_add(entity_at(kind, order[i]));
	}
	if (opt.sort.p)
		sort_by_field(kind, ro);
	if (opt.top && norder > opt.top)
		norder = (size_t)opt.top;
	for (size_t i = 0; i < norder && out_measures(&opt.out); i++) {
		record_make(&rec, entity_at(kind, order[i]), ro);
		out_measure(&opt.out, &rec);
	}
	for (size_t i = 0; i < norder; i++) {
		bool headed = opt.out.headed;

		record_make(&rec, entity_at(kind, order[i]), ro);
		out_record(&opt.out, &out, &rec);
		if (out.full)
			opt.out.headed = headed; /* the header went with it */
		printed = true;
		/* Records are whole; a line of all of them may be longer than the buffer. */
		if ((!opt.out.one_line || out.n > OUT_BYTES / 2) && !flush())
			return EX_FAIL;
	}
	out_end(&opt.out, &out);
	return finish();
}

static const struct source *const sources[] = { &src_sysfs, &src_fdinfo };

static void start_sources(void)
{
	for (size_t i = 0; i < LEN(sources); i++)
		sources[i]->start();
}

/* One reading more; in a run of several with a look for what is new. */
static void sample_sources(bool scan)
{
	reg_dropped = scan ? 0 : reg_dropped;
	for (size_t i = 0; i < LEN(sources); i++) {
		if (scan)
			sources[i]->scan();
		sources[i]->sample();
	}
}

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
	return open_root(&root_sys, "/sys", opt.sys, SYSFS_MAGIC, "mount -t sysfs sys /sys") &&
	       open_root(&root_proc, "/proc", opt.proc, PROC_SUPER_MAGIC, "mount -t proc proc /proc");
}

void say_number(u64 n, const char *what)
{
	char text[24];
	struct buf b = { .p = text, .cap = sizeof(text) - 1 };

	put_u64(&b, n);
	text[b.n] = '\0';
	say(text, what, NULL);
}

static void say_unreadable(void)
{
	if (reg_unreadable)
		say_number(reg_unreadable, " processes may not be read; as root, or: setcap cap_sys_ptrace+ep gpustat");
}

/* PROC_PID_INIT_INO of linux/proc_ns.h: the namespace that holds all processes. Pid 1 of this /proc tells
 * which one it shows. */
static void say_namespace(void)
{
	char b[32];
	long n = sys_readlinkat(root_proc, "1/ns/pid", b, sizeof(b));

	if (n < 0 && !opt.proc)
		n = sys_readlinkat(root_proc, "self/ns/pid", b, sizeof(b));
	if (n > 0 && !str_eq((struct str){ b, b + n }, (struct str)STR("pid:[4026531836]")))
		say("in a pid namespace: processes outside of it are not seen; --proc reads another /proc", NULL, NULL);
}

int no_device(void)
{
	char names[512];
	struct buf b = { .p = names, .cap = sizeof(names) - 1 };

	if (opt.ndevices == 0) {
		say("no DRM or accel device here", NULL, NULL);
		return EX_NODEVICE;
	}
	for (u32 i = 1; i <= ndevices; i++)
		if (devices[i].e.used && devices[i].dev[0]) {
			put_c(&b, ' ');
			put_z(&b, devices[i].dev);
		}
	names[b.n] = '\0';
	say("no such device; there are:", b.n ? names : " none", NULL);
	return EX_NODEVICE;
}

/* What the run came to, when all went well. */
static int conclude(int code)
{
	if (code == EX_NODEVICE)
		return no_device();
	if (code != EX_OK)
		return code;
	reg_dropped += (u32)opt.out.lost;
	if (reg_dropped)
		say_number(reg_dropped, " clients, names or columns had no room and were left out");
	if (!printed && reg_unreadable && !reg_saw_others && !stopped) {
		say_unreadable();
		return EX_DENIED;
	}
	if (opt.verbose) {
		say_unreadable();
		say_namespace();
	}
	return lost_record ? EX_FAIL : EX_OK;
}

static int run_samples(bool repeat)
{
	struct recopts ro = { .raw = opt.raw, .dt_us = -1 };
	i64 step = repeat ? opt.interval : opt.window, start, due, was;
	u64 left = repeat ? opt.count : 1;
	int code = EX_OK;

	start_sources();
	choose_devices();
	start = due = was = sys_now(CLOCK_MONOTONIC);
	if (opt.raw) {
		ro.time_us = sample_time();
		code = print_sample(&ro);
		if (code != EX_OK || --left == 0)
			return conclude(code);
	} else if (norder == 0) {
		return conclude(EX_NODEVICE); /* nothing to wait for */
	}
	while (!stopped) {
		i64 now;

		due = next_due(start, due, step);
		if (sys_sleep_until(due) == -EINTR && stopped)
			break;
		sample_sources(repeat);
		now = sys_now(CLOCK_MONOTONIC);
		ro.time_us = sample_time();
		ro.dt_us = (now - was) / 1000;
		was = now;
		code = print_sample(&ro);
		if (code != EX_OK || --left == 0)
			break;
	}
	if (opt.summary && printed && code == EX_OK && !print_summary(ro))
		return EX_FAIL;
	return conclude(code);
}

static int cmd_live(void)
{
	bool repeat = opt.interval || opt.count;

	if (!open_roots())
		return EX_FAIL;
	if (!opt.interval)
		opt.interval = 1000000000;
	fdinfo_others = opt.cmd->kind == K_CLIENT;
	return run_samples(repeat);
}

static int cmd_list(void)
{
	struct recopts ro = { .list = true, .dt_us = -1, .time_us = sample_time() };

	if (!open_roots())
		return EX_FAIL;
	opt.out.list = sysfs_listing = true;
	start_sources();
	return conclude(print_sample(&ro));
}

/* --- fdinfo --------------------------------------------------------------------------------------------------- */

static char dump[DUMP_BYTES];

static long read_dump(const char *name)
{
	bool is_stdin = strcmp(name, "-") == 0;
	long fd = is_stdin ? 0 : sys_openat(AT_FDCWD, name, O_RDONLY), r;
	size_t n = 0;

	if (fd < 0)
		return fd;
	while ((r = sys_read((int)fd, dump + n, sizeof(dump) - n)) > 0 || (r == -EINTR && !stopped))
		if (r > 0 && (n += (size_t)r) == sizeof(dump))
			break;
	if (!is_stdin)
		sys_close((int)fd);
	return r < 0 && r != -EINTR ? r : (long)n;
}

static void say_dump(const char *name, const char *what)
{
	message("fdinfo", name, ": ", what);
}

/* Decodes one dump; to be shown, or only so that the columns of all become wide enough. */
static int decode(const char *name, bool show)
{
	static struct client client = { .e = { .used = true, .kind = K_FDINFO } };
	struct recopts ro = { .raw = true, .dt_us = -1, .time_us = -1, .file = name };
	struct device *d = &devices[NONE]; /* a dump's labels stand where no device is */
	struct fdhead h;
	struct str text;
	long n = read_dump(name);

	text = (struct str){ dump, dump + (n > 0 ? n : 0) };
	if (stopped)
		return EX_OK;
	if (!fdinfo_head(text, &h)) {
		if (show)
			say_dump(name, n < 0 ? error_text(n) : "not a DRM file");
		return EX_FAIL;
	}
	if (n == DUMP_BYTES && show)
		say_dump(name, "longer than 1 MiB: the rest is not read");
	reg_clear(&client.e);
	text_free(client.name);
	text_free(client.other);
	client.name = client.other = NONE;
	client.key = h.client;
	client.keykind = h.has_client ? KEY_ID : KEY_PASID;
	device_set(d->driver, sizeof(d->driver), h.driver);
	device_set(d->pdev, sizeof(d->pdev), h.pdev);
	fdinfo_take(&client, text, &h, 1);
	record_make(&rec, &client.e, &ro);
	if (out_measures(&opt.out))
		out_measure(&opt.out, &rec);
	if (!show)
		return EX_OK;
	out_record(&opt.out, &out, &rec);
	return finish();
}

static bool is_regular(const char *name)
{
	struct stat st;

	return sys_fstatat(AT_FDCWD, name, &st) == 0 && S_ISREG(st.st_mode);
}

static int cmd_fdinfo(void)
{
	int code = EX_OK;

	if (opt.nwords == 0)
		return usage("fdinfo: which FILE? - is standard input", NULL, NULL);
	fdinfo_others = true;
	for (size_t i = 0; i < opt.nwords && out_measures(&opt.out); i++)
		if (is_regular(opt.words[i])) /* what else there is may be read only once */
			decode(opt.words[i], false);
	for (size_t i = 0; i < opt.nwords; i++) {
		int r = decode(opt.words[i], true);

		code = r != EX_OK ? r : code;
	}
	out_end(&opt.out, &out);
	return flush() ? code : EX_FAIL;
}

/* --- events --------------------------------------------------------------------------------------------------- */

static void show_event(struct str name, struct str unit, struct str what)
{
	size_t from = out.n;

	if (stopped || (OUT_BYTES - out.n < OUT_BYTES / 2 && !flush()))
		return;
	put_text(&out, name);
	put_columns(&out, from, 44);
	put_text(&out, unit);
	put_columns(&out, from, 52);
	put_text(&out, what);
	while (out.n > from && out.p[out.n - 1] == ' ')
		out.n--;
	put_c(&out, '\n');
}

static int resolve_events(void)
{
	if (opt.nwords == 0)
		return usage("events: which EVENT?", NULL, NULL);
	for (size_t i = 0; i < opt.nwords; i++)
		if (!add_events(str_z(opt.words[i]), 0))
			return EX_USAGE;
	for (u32 i = 1; i <= nevents; i++)
		if (events[i].denied) {
			say("tracefs may be read by root only", NULL, NULL);
			return EX_DENIED;
		}
	events_resolve(&out);
	return finish();
}

static int show_map(void)
{
	const struct pmumap *m = pmumap();

	char text[32];
	struct buf b = { .p = text, .cap = sizeof(text) - 1 };

	if (m->why) {
		put_z(&b, m->line ? ": line " : "");
		if (m->line)
			put_u64(&b, m->line);
		put_z(&b, ": ");
		text[b.n] = '\0';
		return usage(getenv("GPUSTAT_PMU_MAP"), text, m->why);
	}
	pmumap_put(m, opt.verbose, &out);
	return finish();
}

static int cmd_events(void)
{
	size_t most = opt.map ? 0 : 1;

	if (opt.map && opt.resolve)
		return usage("events: --map or --resolve", NULL, NULL);
	if (opt.nwords > most && !opt.resolve)
		return usage("'", opt.words[most], "': one word too many");
	if (!open_roots())
		return EX_FAIL;
	if (opt.resolve)
		return resolve_events();
	if (opt.map)
		return show_map();
	if (!read_events_file())
		return EX_USAGE;
	events_list(opt.nwords ? str_z(opt.words[0]) : (struct str)STR("*"), show_event);
	return finish();
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

/* libc's own would run the handlers that nobody registered, and brings stdio's in. */
_Noreturn void exit(int code)
{
	_exit(code);
}

int main(int argc, char **argv)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	int r;
	long columns_of_tty;

	fill_streams();
	r = argc > 0 ? parse_args(argv) : usage("no arguments at all", NULL, NULL);

	if (r >= 0)
		return r;
	columns_of_tty = sys_columns(1);
	opt.out.width = (u16)(columns_of_tty > 80 && columns_of_tty < 4096 ? columns_of_tty : 80);
	opt.out.colour = columns_of_tty >= 0 && !getenv("NO_COLOR");
	if (opt.cmd->with & WITH_PERF)
		return opt.cmd->run(); /* has its own way with signals, and raises limits only for many events */
	files_limit = sys_raise_nofile();
	for (size_t i = 0; i < LEN(ends); i++)
		sys_signal(ends[i], on_signal);
	return opt.cmd->run();
}
