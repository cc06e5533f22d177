/* gpustat.c - the front door: arguments, help, every message and exit code.
 * SPDX-License-Identifier: MIT */
#include "commands.h"
#include "built.h"
#include "sys.h"

#include <limits.h>
#include <stdlib.h>

#ifndef VERSION
#define VERSION "unknown"
#endif

/* Parts of features: NULL where the feature is left out, and then nothing calls them. */
#pragma weak check_unknown
#pragma weak http_takes_format
#pragma weak http_request
#pragma weak http_end
#pragma weak oaformat_named

struct opts opt;
struct record rec;
struct buf out;
static char *out_bytes;
static TABLE(out_bytes, OUT_BYTES, 64 << 10, "bytes of output");
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
	write_hurries = true;
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

enum {
	BEGIN_BYTES = 48,                 /* of a part that is shown by how it begins */
	PART_BYTES = 4 * BEGIN_BYTES + 3, /* as many, as \xNN, and the dots */
};

/* A part of a message: how it begins, where there is no room. */
static void put_part(struct buf *b, struct str s)
{
	size_t n = b->n;

	put_text(b, s);
	if (!b->full || str_len(s) <= BEGIN_BYTES)
		return;
	b->n = n;
	b->full = false;
	for (s.e = s.p + BEGIN_BYTES; ((u8)*s.e & 0xc0) == 0x80 && s.e > s.p; s.e--)
		; /* to where a character begins */
	put_text(b, s);
	put_z(b, "...");
}

/* "who: abc" on stderr; NULLs are left out. */
void say_as(const char *who, const char *a, const char *b, const char *c)
{
	const char *const parts[] = { who, ": ", a, b, c };
	char text[1024];
	bool kept = is_check();
	size_t cap = kept ? sizeof(said) - 1 : sizeof(text) - 1;
	struct buf m = { .p = kept ? said : text };

	if (opt.quiet && !kept)
		return;
	for (size_t i = kept ? 2 : 0; i < LEN(parts); i++) {
		m.cap = cap;
		for (size_t behind = i + 1; behind < LEN(parts); behind++) {
			size_t most = 4 * str_len(str_z(parts[behind]));

			m.cap -= most < PART_BYTES ? most : PART_BYTES;
		}
		put_part(&m, str_z(parts[i]));
	}
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

void say_z(const char *z)
{
	say(z, NULL, NULL);
}

void say_number(u64 n, const char *what)
{
	char text[24];
	struct buf b = BUF_Z(text);

	put_u64(&b, n);
	say(buf_z(&b), what, NULL);
}

/* How many things found no room: without those that could not be read, which have a message with the reason. */
u64 no_room(void)
{
	return reg_dropped > files_unread ? reg_dropped - files_unread : 0;
}

/* Says which tables were full. False: none. */
bool say_full(void)
{
	bool said_it = false;
	u32 dropped;

	for (const struct table *t; (t = table_full(&dropped)); said_it = true) {
		char text[96];
		struct buf b = BUF_Z(text);

		put_z(&b, ": room for ");
		put_u64(&b, t->ready);
		put_z(&b, " only, ");
		put_u64(&b, dropped);
		put_z(&b, " left out");
		say(t->name, buf_z(&b), NULL);
	}
	return said_it;
}

/* The same; where no table was full, how many values found no room elsewhere. */
void say_dropped(void)
{
	if (!say_full() && no_room())
		say_number(no_room(), " values had no room and were left out");
}

void say_unread_files(void)
{
	say("not all files could be read", files_what, error_text(files_error));
}

/* Of a file's byte. */
void say_at(const char *file, u64 at, const char *what)
{
	char text[64];
	struct buf b = BUF_Z(text);

	put_z(&b, ": at byte ");
	put_u64(&b, at);
	put_z(&b, ": ");
	say(file, buf_z(&b), what);
}

int usage(const char *a, const char *b, const char *c)
{
	opt.quiet = false;
	opt.usage_said = true;
	say(a, b, c);
	return EX_USAGE;
}

int usage_z(const char *z)
{
	return usage(z, NULL, NULL);
}

/* libc's words for what is common, and the names of the others that a call, a driver or a file system of Linux may return. The
 * numbers are the architecture's own. */
#define ERRORS(E) \
	E(ENOEXEC, "Exec format error") E(ESRCH, "No such process") \
	E(EPERM, "Operation not permitted") E(ENOENT, "No such file or directory") \
	E(EIO, "Input/output error") E(EBADF, "Bad file descriptor") \
	E(ENOMEM, "Cannot allocate memory") E(EACCES, "Permission denied") \
	E(ENOTDIR, "Not a directory") E(EISDIR, "Is a directory") \
	E(EINVAL, "Invalid argument") E(ENFILE, "Too many open files in system") \
	E(EMFILE, "Too many open files (RLIMIT_NOFILE)") E(EFBIG, "File too large") \
	E(ENOSPC, "No space left on device") E(EROFS, "Read-only file system") \
	E(EPIPE, "Broken pipe") E(ELOOP, "Too many levels of symbolic links") \
	E(ENAMETOOLONG, "File name too long") E(ENXIO, "No such device or address") \
	E(ENODEV, "No such device") E(EDQUOT, "Disk quota exceeded") \
	E(ETXTBSY, "Text file busy") E(ESPIPE, "Illegal seek") \
	E(ENETUNREACH, "Network unreachable") E(ECONNRESET, "Connection reset by peer") \
	E(ETIMEDOUT, "Operation timed out") E(ENOSYS, "Function not implemented (ENOSYS)") \
	E(EOPNOTSUPP, "Operation not supported") E(EAGAIN, "Resource temporarily unavailable") E(EBUSY, "Device or resource busy")
#define ERROR_NAMES(E) \
	E(EINTR) E(E2BIG) E(ECHILD) E(EFAULT) E(EEXIST) E(EXDEV) E(ENOTTY) E(EDOM) E(ERANGE) E(EDEADLK) E(ENOLCK) \
	E(ENOTEMPTY) E(ENOMSG) E(EIDRM) E(ENODATA) E(ETIME) E(ENOLINK) E(ECOMM) E(EPROTO) E(EBADMSG) \
	E(EOVERFLOW) E(EBADFD) E(EILSEQ) E(EUSERS) E(ENOTSOCK) E(EDESTADDRREQ) E(EMSGSIZE) \
	E(EPROTOTYPE) E(ENOPROTOOPT) E(EPROTONOSUPPORT) E(ESOCKTNOSUPPORT) E(EPFNOSUPPORT) E(EAFNOSUPPORT) E(EADDRINUSE) \
	E(EADDRNOTAVAIL) E(ENETDOWN) E(ENETRESET) E(ECONNABORTED) E(ENOBUFS) E(ENOTCONN) E(ESHUTDOWN) \
	E(ECONNREFUSED) E(EHOSTDOWN) E(EHOSTUNREACH) E(EALREADY) E(EINPROGRESS) E(ESTALE) E(EUCLEAN) E(EREMOTEIO) E(ENOMEDIUM) \
	E(EMEDIUMTYPE) E(ECANCELED) E(ENOKEY) E(EKEYEXPIRED) E(EKEYREVOKED) E(EKEYREJECTED) E(EOWNERDEAD) E(ENOTRECOVERABLE) \
	E(ERFKILL) E(EHWPOISON) E(ENOTSUPP)

const char *error_text(long err)
{
#define NUMBER(number, text) number,
#define TEXT(number, text) text "\0"
#define OTHER_NUMBER(number) number,
#define OTHER_TEXT(number) #number "\0"
	static const u16 numbers[] = { ERRORS(NUMBER) ERROR_NAMES(OTHER_NUMBER) };
	static const char texts[] = ERRORS(TEXT) ERROR_NAMES(OTHER_TEXT);
	static char other[32];
	struct buf b = BUF_Z(other);
	const char *text = texts;

	for (size_t i = 0; i < LEN(numbers); i++, text += strlen(text) + 1)
		if (numbers[i] == -err)
			return text;
	put_z(&b, "error ");
	put_u64(&b, (u64)-err);
	put_z(&b, " (unknown)");
	return buf_z(&b);
}

void say_error(const char *who, long err)
{
	say(who, ": ", error_text(err));
}

/* Everything put together so far, in one write where the kernel takes it whole. False: it did not. */
bool flush(void)
{
	long r;

	if (out.full) {
		say_z(out.cap ? "a record is too long for its buffer: left out" : "no memory for what is to be printed");
		reg_dropped++;
		lost_record = true;
		out.n = 0;
		out.full = false;
		return out.cap > 0;
	}
	r = sink_write(out.p, out.n);
	if (r < 0)
		say_error(opt.output ? opt.output : opt.http ? "the socket" : out_fd == 2 ? "standard error" : "standard output", r);
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
	struct buf p = BUF_Z(path);
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
	n = tz && !tz[0] ? 0 : file_slurp(path, b, sizeof(b));
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

static bool set_window(struct str s) { return opt.windowed = parse_interval(s, &opt.window); }

static bool set_sweep(struct str s)
{
	u64 n = SWEEP_ALL;

	watch_sweep_timed = false;
	if (!str_is(s, "all") && (scan_u64(s, &n) != s.e || n >= SWEEP_ALL))
		return false;
	watch_sweep = (u32)n;
	return true;
}

/* Of the output; in oa also of reports, which have other names. */
static bool set_format(struct str s)
{
	const struct format *f = format_find(s);

	if (f)
		opt.out.fmt = f;
	else if (oaformat_named)
		opt.oa.props.format = oaformat_named(s);
	return f || opt.oa.props.format;
}

static bool set_device(struct str s) { return split(s, opt.devices, MAX_SELECTORS, &opt.ndevices) && opt.ndevices; }

static bool set_fields(struct str s)
{
	if (str_is(s, "help"))
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
	u64 n;

	if (scan_dec(s, 6, &n) != s.e)
		return parse_interval(s, ns);
	*ns = (i64)n;
	return n > 0 && n < INT32_MAX * 1000000000ull;
}

/* One or more. */
static bool parse_count(struct str s, u64 *n)
{
	u64 v;

	if (scan_u64(s, &v) != s.e || !v)
		return false;
	*n = v;
	return true;
}

static bool parse_count32(struct str s, u32 *v)
{
	u64 n;

	if (!parse_count(s, &n) || n > INT32_MAX)
		return false;
	*v = (u32)n;
	return true;
}

FEATURED static bool set_detail(struct str s) { (void)s; return ++opt.detail; }
FEATURED static bool set_append(struct str s) { (void)s; return true; }
FEATURED static bool set_per_cpu(struct str s) { (void)s; return (opt.target.split = SPLIT_CPU); }
FEATURED static bool set_per_core(struct str s) { (void)s; return (opt.target.split = SPLIT_CORE); }
FEATURED static bool set_per_socket(struct str s) { (void)s; return (opt.target.split = SPLIT_SOCKET); }
FEATURED static bool set_per_thread(struct str s) { (void)s; return (opt.target.split = SPLIT_THREAD); }

FEATURED static bool set_event(struct str s)
{
	if (opt.nevents == MAX_LISTS)
		return false;
	opt.events[opt.nevents++] = s;
	return true;
}

FEATURED static bool set_filter(struct str s)
{
	if (opt.nevents)
		opt.filters[opt.nevents - 1] = s;
	return opt.nevents && s.p < s.e;
}

FEATURED static bool set_set(struct str s)
{
	if (opt.nsets == MAX_SETS - 1)
		return false;
	opt.sets[opt.nsets++] = s;
	return true;
}

FEATURED static bool set_cpus(struct str s)
{
	return opt.target.has_cpus = s.p < s.e && parse_cpulist(s, &opt.target.cpus);
}

/* Threads are found once /proc is open: so far only their numbers. */
FEATURED static bool set_tasks(struct str s, bool *kind)
{
	size_t had = opt.npids;
	bool good = set_pid(s);

	for (*kind = true; had < opt.npids; had++)
		good &= opt.pids[had] != 0;
	return good;
}

FEATURED static bool set_tid(struct str s) { return set_tasks(s, &opt.target.threads); }
FEATURED static bool set_target_pid(struct str s) { return set_tasks(s, &opt.target.whole); }

FEATURED static bool set_cgroups(struct str s)
{
	struct str piece;

	while (str_cut(&s, ',', &piece)) {
		if (piece.p == piece.e || opt.target.ncgroups == LEN(opt.target.cgroups))
			return false;
		opt.target.cgroups[opt.target.ncgroups++] = text_put(NONE, piece);
	}
	return opt.target.ncgroups;
}

FEATURED static bool set_repeat(struct str s)
{
	return scan_u64(s, &opt.repeat) == s.e;
}

FEATURED static bool set_delay(struct str s)
{
	opt.delay = -1;
	return str_is(s, "-1") || parse_ms(s, &opt.delay);
}

FEATURED static bool set_separator(struct str s)
{
	bool tab = str_is(s, "\\t");

	opt.out.fmt = format_find((struct str)STR("perf-csv"));
	opt.out.separator = (char)(tab ? '\t' : *s.p);
	return str_len(s) == 1 || tab;
}

FEATURED static bool set_json(struct str s)
{
	(void)s;
	return (opt.out.fmt = format_find((struct str)STR("json")));
}

FEATURED static bool set_pages(struct str s) { return parse_count32(s, &opt.pages) && (opt.pages & (opt.pages - 1)) == 0; }

FEATURED static bool set_wakeup(struct str s)
{
	opt.target.watermark = false;
	return parse_count32(s, &opt.target.wakeup);
}

FEATURED static bool set_watermark(struct str s)
{
	bool good = set_wakeup(s);

	opt.target.watermark = true;
	return good;
}

/* MASK,SEED: numbers as C has them. */
FEATURED static bool set_random(struct str s)
{
	struct str mask;

	str_cut(&s, ',', &mask);
	return mask.p < mask.e && scan_num(mask, &opt.random_mask) == mask.e && scan_num(s, &opt.seed) == s.e;
}

/* --summary, --summary=comm,symbol,ip */
FEATURED static bool set_profile(struct str s)
{
	struct str piece;

	if (!s.p)
		return (opt.profile = ALL_SUMS);
	while (str_cut(&s, ',', &piece)) {
		size_t i = str_among(piece, "comm symbol ip"); /* enum proftable */

		if (i > PROF_IP)
			return false;
		opt.profile |= (u8)(1 << i);
	}
	return opt.profile;
}

FEATURED static bool set_platform(struct str s) { return (opt.oa.platform = oaplatform_named(s)); }
FEATURED static bool set_ctx(struct str s) { return opt.oa.props.has_ctx = scan_num(s, &opt.oa.props.ctx) == s.e; }
FEATURED static bool set_unit(struct str s) { return opt.oa.props.has_unit = scan_num(s, &opt.oa.props.unit) == s.e; }
FEATURED static bool set_buffer(struct str s) { return scan_num(s, &opt.oa.props.buffer) == s.e && opt.oa.props.buffer; }

FEATURED static bool set_metrics(struct str s)
{
	if (opt.oa.nmetrics == MAX_METRICS || s.p == s.e)
		return false;
	opt.oa.metrics[opt.oa.nmetrics++] = s.p;
	return true;
}

/* CLASS[:INSTANCE]: enum drm_i915_gem_engine_class */
FEATURED static bool set_engine(struct str s)
{
	enum { CLASSES = 5 };
	struct str name;
	u64 n, instance = 0;

	str_cut(&s, ':', &name);
	n = str_among(name, "render copy video video-enhance compute");
	if ((n == CLASSES && scan_u64(name, &n) != name.e) || (s.p < s.e && scan_u64(s, &instance) != s.e))
		return false;
	opt.oa.props.engine_class = (u16)n;
	opt.oa.props.engine_instance = (u16)instance;
	return opt.oa.props.has_engine = n <= UINT16_MAX && instance <= UINT16_MAX;
}

/* SLICES:SUBSLICES:MIN:MAX: masks, and EUs of a subslice. */
FEATURED static bool set_sseu(struct str s)
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

FEATURED static bool set_log_fd(struct str s)
{
	u64 fd;

	if (scan_u64(s, &fd) != s.e || fd > INT32_MAX)
		return false;
	out_fd = (int)fd;
	return opt.out_chosen = true;
}

static bool set_time(struct str s)
{
	opt.out.time = (u8)(T_NONE + str_among(s, "none epoch iso mono"));
	return opt.out.time <= T_MONO;
}

/* What an option does with its value. */
enum optkind { OPT_OWN, OPT_MAYBE /* the same, with a value or without */, OPT_FLAG, OPT_Z, OPT_STR, OPT_TIME, OPT_MS, OPT_COUNT,
	       OPT_COUNT32, OPT_LEFT_OUT };

/* A letter means what its row says in the commands of that row: stat and sample have perf's. */
static const struct option {
	char letter;
	u16 with; /* the commands that take it */
	u8 kind;
	union {
		void *to; /* a member of opt */
		bool (*set)(struct str value); /* OPT_OWN; without an argument: {0} */
		const char *feature; /* OPT_LEFT_OUT: of which it is */
	};
	const char *text; /* its name, what stands for its value, behind a tab its help; see option_help */
} options[] = {
#define TO(what, member) OPT_##what, { .to = &opt.member }
#define BY(setter) OPT_OWN, { .set = setter }
#define OPTION(feature, ...) ROW(OPTION, feature)(feature, __VA_ARGS__)
#define OPTION1(of, letter, with, kind, to, name, help) { letter, with, kind, to, name help }
#if !WHOLE
#define OPTION0(of, letter, with, kind, to, name, help) { letter, with, OPT_LEFT_OUT, { .feature = #of }, name }
#endif
	{ 'i', WITH_LIVE | WITH_TOP | WITH_STAT | WITH_OA | WITH_NAMED, TO(TIME, interval), "interval T\tsample every T: 100ms, 1, 1.5s, 1m" },
	{ 'c', WITH_LIVE | WITH_TOP | WITH_PERF | WITH_OA | WITH_NAMED, TO(COUNT, count), "count N\tstop after N samples (-n too; not of stat, sample)" },
	{ 'n', WITH_LIVE | WITH_TOP | WITH_OA | WITH_NAMED, TO(COUNT, count), "count N" },
	{ 'w', WITH_LIVE | WITH_PERF | WITH_NAMED, BY(set_window), "window T\ttime between the two reads without an interval (0.5s)" },
	{ '\0', WITH_CHECK | WITH_MUNIN, BY(set_window), "window T" },
	{ 'r', WITH_LIVE | WITH_FDINFO, TO(FLAG, raw), "raw\tthe kernel's own numbers, not rates: one read" },
	OPTION(state, '\0', WITH_LIVE | WITH_CHECK | WITH_MUNIN, TO(Z, state), "state FILE", "\trates since the run that left FILE, without waiting; then leave it anew"),
	OPTION(summary, '\0', WITH_LIVE, TO(TIME, inner), "inner T", "\tread every T; min, avg and max of these are a record each"),
	{ '\0', WITH_LIVE | WITH_NAMED, TO(FLAG, align), "align\tsamples on multiples of the interval, by the wall clock" },
	{ '\0', WITH_LIVE | WITH_NAMED, TO(FLAG, on_stdin), "on-stdin\ta sample for each line read from standard input" },
	OPTION(http, '\0', WITH_LIVE | WITH_NAMED, TO(FLAG, http), "http", "\tanswer one HTTP request on the socket that inetd or systemd handed over"),
	OPTION(counters, '\0', WITH_NAMED, TO(FLAG, every), "all", "\tkernel tracepoints without limit, in patterns too"),
	{ 'd', WITH_DEVICES | WITH_LIST | WITH_OA, BY(set_device), "device SEL\tcard1, renderD128, 0000:03:00.0, driver:xe or 0" },
	{ 'p', WITH_LIVE | WITH_LIST | WITH_TOP, BY(set_pid), "pid PID\tonly clients of these processes" },
	{ 'C', WITH_LIVE | WITH_LIST | WITH_TOP, TO(STR, comm), "comm NAME\tonly clients of processes so named; * and ? match" },
	{ 'g', WITH_LIVE | WITH_LIST | WITH_TOP, TO(STR, cgroup), "cgroup PATH\tonly clients in or below this cgroup, or of a container id" },
	{ 'k', WITH_LIVE | WITH_LIST | WITH_SAMPLE, TO(COUNT, top), "top N\tthe first N records of each sample, or of each sum" },
	{ 's', WITH_LIVE | WITH_LIST | WITH_TOP, TO(STR, sort), "sort FIELD\tnumbers from the highest, texts from A" },
	{ 'f', WITH_RECORDS | WITH_PLOT, BY(set_fields), "fields A,B\tonly these fields; -f help lists them" },
	{ 'o', WITH_RECORDS, BY(set_format), "format F" },
	{ 'O', WITH_RECORDS | WITH_PLOT, TO(Z, output), "output FILE\tappend; prom, openmetrics, svg, perfdata and pack replace it; udp:HOST:PORT" },
	{ '1', WITH_RECORDS, TO(FLAG, out.one_line), "one-line\tall records of a sample on one line (line, json)" },
	{ 'H', WITH_RECORDS, TO(FLAG, out.no_header), "no-header\tno header (line, table, csv)" },
	{ 't', WITH_GPUS | WITH_OA | WITH_NAMED, BY(set_time), "time HOW\tnone, epoch, iso or mono" },
	OPTION(summary, 'S', WITH_LIVE, TO(FLAG, summary), "summary", "\tmin, avg and max at the end"),
	{ '\0', WITH_LIVE | WITH_TOP, BY(set_sweep), "sweep N\tcalls per sample to look for clients that nothing announced (80); 0; all" },
	{ '\0', WITH_DEVICES, TO(FLAG, profiling), "enable-profiling\tpanfrost, panthor: let the kernel count while this runs" },
	OPTION(top, '\0', WITH_TOP, TO(FLAG, ascii), "ascii", "\tno characters beyond ASCII on the screen"),
	{ 'q', WITH_ALL, TO(FLAG, quiet), "quiet\tno messages" },
	{ 'v', WITH_ALL, TO(FLAG, verbose), "verbose\tsay what could not be read, and what would mend it" },
	OPTION(perf, '\0', WITH_PERF | WITH_EVENTS, TO(Z, pmu_file), "pmu-file FILE", "\tmore events: a line NAME EVENT each (events, stat, sample)"),
	OPTION(events, '\0', WITH_EVENTS, TO(FLAG, resolve), "resolve", "\twhat perf_event_open(2) would be asked for (events)"),
	OPTION(events, '\0', WITH_EVENTS, TO(FLAG, map), "map", "\twhich events perfmon2's registers are (events; -v: and when)"),
	{ '\0', WITH_ALL, TO(Z, proc), "proc DIR\tread DIR instead of /proc" },
	{ '\0', WITH_ALL, TO(Z, sys), "sys DIR\tread DIR instead of /sys" },
	{ '\0', WITH_ALL, TO(FLAG, no_sandbox), "no-sandbox\tdo without the filter of system calls and without Landlock" },
	{ 'h', WITH_ALL, BY(NULL), "help\tthis text" },
	{ 'V', WITH_ALL, BY(NULL), "version\tthe version" },

	OPTION(check, 'w', WITH_CHECK, TO(STR, check.warning), "warning RANGE", "\tWARNING outside of it: 80, 10:, @10:20"),
	OPTION(check, 'c', WITH_CHECK, TO(STR, check.critical), "critical RANGE", "\tCRITICAL outside of it"),
	OPTION(check, 'm', WITH_CHECK, TO(STR, check.metric), "metric FIELD", "\twhat is checked (engine.busy), as -f names it"),
	OPTION(check, 't', WITH_CHECK, TO(TIME, check.timeout), "timeout T", "\tUNKNOWN after that time (10s)"),

	OPTION(perf, 'e', WITH_PERF, BY(set_event), "event LIST", "\twhat to count: names, {groups}, pmu/terms/; gpustat events has them"),
	OPTION(perf, 'a', WITH_PERF, TO(FLAG, target.all), "all-cpus", "\tevery CPU, whoever runs there"),
	OPTION(perf, 'C', WITH_PERF, BY(set_cpus), "cpu LIST", "\tonly these CPUs: 0,2-3"),
	OPTION(perf, 'p', WITH_PERF, BY(set_target_pid), "pid PIDS", "\tthese processes, with all their threads"),
	OPTION(perf, 't', WITH_PERF, BY(set_tid), "tid TIDS", "\tthese threads"),
	OPTION(perf, 'G', WITH_PERF, BY(set_cgroups), "cgroup PATHS", "\teach of these cgroups"),
	OPTION(perf, '\0', WITH_PERF, BY(set_filter), "filter EXPR", "\tonly such hits of the tracepoints of the -e before it"),
	OPTION(perf, '\0', WITH_PERF, BY(set_log_fd), "log-fd N", "\twrite to this descriptor"),
	OPTION(perf, '\0', WITH_PERF, TO(FLAG, target.no_inherit), "no-inherit", "\tnot what the tasks start"),
	OPTION(perf, '\0', WITH_PERF, TO(MS, timeout), "timeout MS", "\tstop after this time"),
	OPTION(perf, 'D', WITH_PERF, BY(set_delay), "delay MS", "\tcount from then on; -1: once --control enables"),
	OPTION(perf, '\0', WITH_PERF, TO(Z, control), "control HOW", "\tfd:N[,M] or fifo:PATH: enable, disable, stop"),
	OPTION(perf, '\0', WITH_PERF, TO(FLAG, target.user_only), "all-user", "\tonly in user space"),
	OPTION(perf, '\0', WITH_PERF, TO(FLAG, target.kernel_only), "all-kernel", "\tonly in the kernel"),
	OPTION(perf, 'j', WITH_PERF, BY(set_json), "json", "\t-o json"),
	OPTION(perf, '\0', WITH_PERF, BY(set_device), "device SEL", "\tgpu0, gpu1, ... are these devices"),
	OPTION(perf, '\0', WITH_PERF, BY(set_time), "time HOW", ""),

	OPTION(stat, 'I', WITH_STAT, TO(MS, interval), "interval-print MS", "\tas --interval, in milliseconds"),
	OPTION(stat, 'r', WITH_STAT, BY(set_repeat), "repeat N", "\trun the command N times: mean and deviation; 0: for ever"),
	OPTION(stat, 'n', WITH_STAT, TO(FLAG, null_run), "null", "\tcount nothing but time"),
	OPTION(stat, 'd', WITH_STAT, BY(set_detail), "detailed", "\tmore events by default; twice: still more"),
	OPTION(stat, 'A', WITH_STAT, BY(set_per_cpu), "per-cpu", "\teach CPU and PMU instance for itself"),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_core), "per-core", "\teach core for itself"),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_socket), "per-socket", "\teach package for itself"),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_thread), "per-thread", "\teach thread for itself"),
	OPTION(stat, '\0', WITH_STAT, BY(set_set), "set SET", "\t[ID:]NAME=EVENTS@10ms or @overflow:EVENT:N: sets in turn"),
	OPTION(stat, '\0', WITH_STAT, TO(FLAG, no_scale), "no-scale", "\tcounts as they are, though counters were shared"),
	OPTION(stat, '\0', WITH_STAT, TO(FLAG, raw), "raw", "\tthe unscaled counts and their times too"),
	OPTION(stat, 'x', WITH_STAT, BY(set_separator), "field-separator C", "\t-o perf-csv with C between the fields"),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_cpu), "no-aggr", ""),
	OPTION(stat, 'g', WITH_STAT, BY(set_cgroups), "cgroup PATHS", ""),
	OPTION(stat, '\0', WITH_STAT, BY(set_append), "append", ""),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_cpu), "no-merge", ""),
	OPTION(stat, '\0', WITH_STAT, TO(COUNT, count), "interval-count N", ""),

	OPTION(sample, '\0', WITH_SAMPLE, TO(FLAG, reset_on_overflow), "reset-on-overflow", "\tcounts of a group since its last sample (:S)"),
	OPTION(sample, 'F', WITH_SAMPLE, TO(COUNT, target.freq), "freq HZ", "\tsamples a second (4000)"),
	OPTION(sample, '\0', WITH_SAMPLE, TO(COUNT, target.period), "sample-period N", "\ta sample every N counts"),
	OPTION(sample, 'g', WITH_SAMPLE, TO(FLAG, target.callchain), "call-graph", "\twith who called"),
	OPTION(sample, '\0', WITH_SAMPLE, OPT_MAYBE, { .set = set_profile }, "summary", "\tsums at the end; =comm, =symbol, =ip or several"),
	OPTION(sample, '\0', WITH_SAMPLE, TO(COUNT32, target.limit), "limit N", "\tso many samples of each event, CPU and task"),
	OPTION(sample, '\0', WITH_SAMPLE, BY(set_random), "period-random MASK,SEED", "\tadds random bits of MASK to the period"),
	OPTION(sample, '\0', WITH_SAMPLE, TO(COUNT, long_period), "long-period N", "\tthe period after a ring was full and was drained"),
	OPTION(sample, '\0', WITH_SAMPLE, TO(COUNT, short_period), "short-period N", "\tthe period otherwise"),
	OPTION(sample, 'm', WITH_SAMPLE, BY(set_pages), "mmap-pages N", "\tpages of each ring: 2^n (128)"),
	OPTION(sample, '\0', WITH_SAMPLE, BY(set_wakeup), "wakeup N", "\tlook after N samples"),
	OPTION(sample, '\0', WITH_SAMPLE, BY(set_watermark), "watermark BYTES", "\tlook after so many bytes (half a ring)"),

	OPTION(oa, 'm', WITH_OA, TO(STR, oa.set), "metric-set NAME", "\tby name or guid (RenderBasic, else Basic; replay: the recording's)"),
	OPTION(oa, '\0', WITH_OA, BY(set_metrics), "metrics FILE", "\tsets: XML, or a pack of them; may be repeated"),
	OPTION(oa, 'r', WITH_OA, TO(FLAG, raw), "raw", "\tthe report's own counters A0.., B0.., C0..: needs no set"),
	OPTION(oa, '\0', WITH_OA, TO(FLAG, oa.reports), "reports", "\ta record per report, as replay has them"),
	OPTION(oa, '\0', WITH_OA, TO(FLAG, oa.totals), "totals", "\tone record: the sum of all"),
	OPTION(oa, '\0', WITH_OA, TO(FLAG, oa.contexts), "contexts", "\ta record per run of reports of one context"),
	OPTION(oa, '\0', WITH_OA, TO(TIME, oa.props.period), "period T", "\ttime between reports: the longest that the timer has, not above T"),
	OPTION(oa, '\0', WITH_OA, BY(set_ctx), "ctx N", "\tonly this context; of a recording, by the hardware's number"),
	OPTION(oa, '\0', WITH_OA, BY(set_engine), "engine CLASS[:N]", "\twhose OA unit: render, copy, video, video-enhance, compute"),
	OPTION(oa, '\0', WITH_OA, TO(FLAG, oa.props.hold), "hold-preemption", "\tthe context of --ctx is not preempted"),
	OPTION(oa, '\0', WITH_OA, BY(set_sseu), "sseu S:SS:MIN:MAX", "\ti915: these slices, subslices (masks) and EUs while it runs"),
	OPTION(oa, '\0', WITH_OA, TO(TIME, oa.props.poll_ns), "poll-period T", "\ti915: the kernel looks for reports so often (5ms)"),
	OPTION(oa, '\0', WITH_OA, BY(set_unit), "oa-unit N", "\txe: which OA unit"),
	OPTION(oa, '\0', WITH_OA, BY(set_buffer), "buffer-size BYTES", "\txe: of the OA buffer"),
	OPTION(oa, '\0', WITH_OA, TO(COUNT32, oa.props.wait_reports), "wait-reports N", "\txe: wake for so many reports"),
	OPTION(oa, '\0', WITH_OA, TO(Z, oa.record), "record FILE", "\twrite a recording, too"),
	OPTION(oa, '\0', WITH_OA, TO(Z, oa.replay), "replay FILE", "\tof a recording or a raw stream; - is standard input"),
	OPTION(oa, '\0', WITH_OA, BY(set_platform), "platform NAME", "\twhat a raw stream is of: sklgt2, tglgt2, lnl, ..."),
};

#undef TO
#undef BY

static bool chosen_options[LEN(options)]; /* by the command line */

/* What commands need of what their user may not do. */
enum { WATCHES = MAY_READ | MAY_LOOK, COUNTS = WATCHES | MAY_PERF };

static const struct cmd cmds[] = {
#define COMMAND(feature, ...) ROW(COMMAND, feature)(feature, __VA_ARGS__)
#define COMMAND1(of, ...) { #of, __VA_ARGS__ }
#if !WHOLE
#define COMMAND0(of, ...) { .name = #of }
#endif
	{ "", "[INTERVAL [COUNT]]", "a record per device and sample", K_DEVICE, WITH_LIVE, WATCHES, CALLS_FILES | CALLS_WATCH, cmd_live },
	{ "procs", "[INTERVAL [COUNT]]", "a record per DRM client", K_CLIENT, WITH_LIVE, WATCHES, CALLS_FILES | CALLS_WATCH, cmd_live },
	{ "cgroups", "[INTERVAL [COUNT]]", "clients summed per cgroup", K_CGROUP, WITH_LIVE, WATCHES, CALLS_FILES | CALLS_WATCH, cmd_live },
	{ "list", "", "devices, engines, memory, and what cannot be told", K_DEVICE, WITH_LIST, WATCHES, CALLS_FILES | CALLS_WATCH, cmd_list },
	{ "fdinfo", "FILE...|-", "decode dumps of /proc/PID/fdinfo/FD", K_FDINFO, WITH_FDINFO, 0, CALLS_FILES, cmd_fdinfo },
	COMMAND(counters, "[NAME... [INTERVAL [COUNT]]]", "all counters, or values by name", K_COUNTER, WITH_COUNTERS, COUNTS, CALLS_FILES | CALLS_WATCH | CALLS_PERF | CALLS_OPEN_PERF | CALLS_DRM, cmd_counters),
	COMMAND(host, "[INTERVAL [COUNT]]", "a line of CPU, memory, disks and processes", K_COUNTER, WITH_HOST, COUNTS, CALLS_FILES | CALLS_WATCH | CALLS_PERF | CALLS_DRM, cmd_host),
	COMMAND(doctor, "", "what can be read here, and what would mend the rest", K_SOURCE, WITH_DOCTOR, COUNTS, CALLS_FILES | CALLS_WATCH | CALLS_OPEN_PERF, cmd_doctor),
	COMMAND(top, "[INTERVAL [COUNT]]", "the live screen", K_CLIENT, WITH_TOP, WATCHES, CALLS_FILES | CALLS_WATCH | CALLS_SCREEN, cmd_top),
	COMMAND(events, "[GLOB|EVENT...]", "perf events and other counters on offer", K_COUNT, WITH_EVENTS, MAY_READ, CALLS_FILES, cmd_events),
	COMMAND(stat, "[INTERVAL [COUNT]] [-- COMMAND]", "count perf events", K_EVENT, WITH_STAT, COUNTS, CALLS_FILES | CALLS_WATCH | CALLS_PERF | CALLS_CHILD, cmd_stat),
	COMMAND(sample, "[-- COMMAND]", "a record per overflow of perf events, or sums", K_SAMPLE, WITH_SAMPLE, COUNTS | MAY_SYMBOLS, CALLS_FILES | CALLS_PERF | CALLS_CHILD, cmd_sample),
	COMMAND(oa, "[INTERVAL [COUNT]]|list|pack", "the GPU's own counters, live or from a recording", K_OA, WITH_OA, MAY_PERF, CALLS_FILES | CALLS_DRM, cmd_oa),
	COMMAND(check, "", "a monitoring plugin: -w RANGE -c RANGE [-m FIELD]", K_DEVICE, WITH_CHECK, WATCHES, CALLS_FILES | CALLS_WATCH, cmd_check),
	COMMAND(munin, "[config|autoconf]", "a munin plugin", K_DEVICE, WITH_MUNIN, WATCHES, CALLS_FILES | CALLS_WATCH | CALLS_REPLACE, cmd_munin),
	COMMAND(plot, "FILE.csv|FILE.json", "a recorded run as an SVG timeline", K_DEVICE, WITH_PLOT, 0, CALLS_FILES, cmd_plot),
};

/* As it is written: its name, and after a blank what stands for its value. */
static struct str option_spelling(const struct option *o)
{
	struct str text = str_z(o->text), spelling;

	str_cut(&text, '\t', &spelling);
	return spelling;
}

static bool is_built_in(const struct cmd *c)
{
	return WHOLE || c->run;
}

static bool is_option(const struct option *o)
{
	return WHOLE || o->kind != OPT_LEFT_OUT;
}

static int not_built_in(const char *feature)
{
	return usage("not built in: ", feature, NULL);
}

static struct str option_name(const struct option *o)
{
	struct str spelling = option_spelling(o), name;

	str_cut(&spelling, ' ', &name);
	return name;
}

static bool takes_value(const struct option *o)
{
	return option_name(o).e < option_spelling(o).e;
}

static struct str own_help(const struct option *o)
{
	struct str text = str_z(o->text), spelling;

	str_cut(&text, '\t', &spelling);
	return text;
}

/* What it does: an alias has the words of the option that it is another spelling of. Empty: nothing that help shows. */
static struct str option_help(const struct option *o)
{
	struct str help = own_help(o);

	for (size_t i = 0; !str_len(help) && opt.cmd && i < LEN(options); i++)
		if (options[i].to == o->to)
			help = own_help(&options[i]);
	return help;
}

enum { HELP_COLUMN = 24 };

static void put_option(struct buf *b, const struct option *o)
{
	struct str help = option_help(o);
	size_t from = b->n;

	if (!str_len(help) && o->letter != 'o')
		return;
	put_z(b, o->letter ? "-" : "   ");
	if (o->letter) {
		put_c(b, o->letter);
		put_c(b, ',');
	}
	put_z(b, " --");
	put_str(b, option_spelling(o));
	put_columns(b, from, HELP_COLUMN);
	put_str(b, help);
	if (o->letter == 'o')
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

static void put_features(struct buf *b, const char *more)
{
	put_z(b, "gpustat " VERSION);
	put_z(b, more);
	put_z(b, FEATURES_TEXT);
}

/* Of the command in hand, or of all. */
static void put_help(struct buf *b)
{
	put_features(b, " - what GPUs and performance counters are doing\n");
	put_c(b, '\n');
	for (size_t i = 0; i < LEN(cmds); i++)
		if (is_built_in(&cmds[i]) && (!opt.cmd || opt.cmd == &cmds[i]))
			put_cmd(b, &cmds[i]);
	put_c(b, '\n');
	for (size_t i = 0; i < LEN(options); i++) {
		if (!is_option(&options[i]) || (opt.cmd && !(options[i].with & opt.cmd->with)))
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

/* What is wrong with an option. */
static int usage_of(const struct option *o, const char *why, const char *which)
{
	char text[128];
	struct buf b = BUF_Z(text);

	put_str(&b, option_name(o));
	put_z(&b, why);
	return usage("--", buf_z(&b), which);
}

static int bad_value(const struct option *o, const char *value)
{
	char names[256];
	struct buf b = BUF_Z(names);
	struct str help = own_help(o);

	if (!WHOLE && o->letter == 'o' && format_left_out(str_z(value)))
		return not_built_in(format_left_out(str_z(value)));
	if (o->letter == 'o') {
		put_z(&b, "': no such format; there are ");
		format_names(&b, opt.cmd ? opt.cmd->kind : -1, 0);
	} else {
		put_z(&b, "': wrong value for --");
		put_str(&b, option_name(o));
		put_z(&b, str_len(help) ? ": " : "");
		put_str(&b, help);
	}
	return usage("'", value, buf_z(&b));
}

/* False: it is none that the option takes. */
static bool set_value(const struct option *o, struct str s)
{
	switch (o->kind) {
	case OPT_FLAG:
		return *(bool *)o->to = true;
	case OPT_Z:
		*(const char **)o->to = s.p;
		return s.p < s.e;
	case OPT_STR:
		*(struct str *)o->to = s;
		return s.p < s.e;
	case OPT_TIME:
		return parse_interval(s, o->to);
	case OPT_MS:
		return parse_ms(s, o->to);
	case OPT_COUNT:
		return parse_count(s, o->to);
	case OPT_COUNT32:
		return parse_count32(s, o->to);
	default:
		return o->set(s);
	}
}

/* One option that has been found; *at is its word, rest what follows the letter or '=' in it. Exit code
 * or -1 to go on. */
static int take_option(const struct option *o, char **argv, int *at, const char *rest)
{
	if (!o->to) {
		if (o->letter == 'h')
			put_help(&out);
		else
			put_features(&out, "\n");
		return finish() == EX_OK ? is_check() ? EX_UNKNOWN : EX_OK : EX_FAIL;
	}
	if (!is_option(o))
		return not_built_in(o->feature);
	chosen_options[o - options] = true;
	if (takes_value(o) && !rest) { /* of the others only --summary has one, and need not have it */
		if (!argv[*at + 1])
			return usage_of(o, " wants a value", NULL);
		rest = argv[++*at];
	}
	return set_value(o, str_z(rest)) ? -1 : bad_value(o, rest);
}

/* The row of a letter or of a name: that of the command in hand, else any, to say that it does not go with it. */
static const struct option *find_option(char letter, struct str name)
{
	const struct option *other = NULL;

	for (size_t i = 0; i < LEN(options); i++) {
		if (letter ? options[i].letter != letter : !str_eq(name, option_name(&options[i])))
			continue;
		if (!opt.cmd || options[i].with & opt.cmd->with)
			return &options[i];
		other = other ? other : &options[i];
	}
	return other;
}

static int long_option(char **argv, int *at)
{
	struct str name = str_z(argv[*at] + 2), whole = name, key;
	const struct option *o;
	const char *rest;

	str_cut(&name, '=', &key);
	o = find_option('\0', key);
	rest = key.e < whole.e ? key.e + 1 : NULL;
	if (!o)
		return usage("no option '", argv[*at], "'; see gpustat --help");
	if (rest && !takes_value(o) && o->kind != OPT_MAYBE)
		return usage_of(o, " takes no value", NULL);
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
		r = take_option(o, argv, at, takes_value(o) && p[1] ? p + 1 : NULL);
		if (r >= 0 || takes_value(o))
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
	struct buf b = BUF_Z(names);

	put_z(&b, "': neither a command nor an interval; there are");
	for (size_t i = 1; i < LEN(cmds); i++) {
		put_z(&b, is_built_in(&cmds[i]) ? " " : "");
		put_z(&b, is_built_in(&cmds[i]) ? cmds[i].name : "");
	}
	return usage("'", word, buf_z(&b));
}

/* What oa does beside measuring. */
static bool is_oa_word(void)
{
	return opt.cmd->with & WITH_OA && opt.nwords && str_among(str_z(opt.words[0]), "list pack") < 2;
}

/* The kernel takes 10 records in 5 s; --inner makes three of an interval. */
static bool too_fast(void)
{
	return sink_is_kmsg() && opt.interval && opt.interval < (opt.inner ? 1500000000 : 500000000);
}

static int say_too_fast(void)
{
	return usage_z("/dev/kmsg takes 10 records in 5 s: an interval of 0.5s or more, with --inner 1.5s");
}

/* INTERVAL and COUNT: exit code, or -1 to go on. */
int take_times(char **words, size_t n)
{
	if (n > 0 && (opt.on_stdin || opt.http))
		return usage(opt.http ? "--http" : "--on-stdin", " takes no INTERVAL: what asks is who waits for the answer", NULL);
	if (n > 2)
		return usage("'", words[n - 1], "': one word too many");
	if (n > 0 && !parse_interval(str_z(words[0]), &opt.interval))
		return usage("'", words[0], "': no interval; 100ms, 1, 1.5s, 1m");
	if (n > 1 && !parse_count(str_z(words[1]), &opt.count))
		return usage("'", words[1], "': no count; 1 or more");
	return too_fast() ? say_too_fast() : -1;
}

/* For the commands that take them. */
static int take_words(void)
{
	const char *word = opt.words[0];

	if (opt.cmd->kind == K_FDINFO || opt.cmd->with & (WITH_PERF | WITH_EVENTS | WITH_COUNTERS | WITH_MUNIN | WITH_PLOT) || is_oa_word())
		return -1;
	if (opt.nwords > 0 && opt.cmd->with & (WITH_LIST | WITH_CHECK | WITH_DOCTOR))
		return usage("'", opt.words[opt.nwords - 1], "': one word too many");
	if ((opt.nwords == 1 || opt.nwords == 2) && opt.cmd == cmds && (u8)(word[0] - '0') > 9 && word[0] != '.')
		return no_command(word);
	return take_times(opt.words, opt.nwords);
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
	if (opt.inner && opt.inner >= (opt.interval ? opt.interval : opt.window))
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

	if (str_skip_z(&to, "udp:") && !format_sends(opt.out.fmt))
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
			return usage_of(&options[i], " does not go with ", opt.cmd->name[0] ? opt.cmd->name : "the devices");
	if ((why = conflict()) || (why = wrong_output()))
		return usage_z(why);
	if (too_fast())
		return say_too_fast();
	if (!format_shows(opt.out.fmt, opt.cmd->kind) || (is_oa_word() && opt.out.fmt != format_find((struct str)STR("line"))) ||
	    (format_is_of_run(opt.out.fmt) && /* nothing is over time there */
	     (opt.cmd->run == cmd_list || opt.profile || (!opt.nwords && opt.cmd->with == WITH_COUNTERS))))
		return usage_z("that format does not show such records");
	if (opt.oa.props.format && !(opt.cmd->with & WITH_OA))
		return usage_z("that is a format of OA reports");
	if (opt.out.one_line && !format_joins(opt.out.fmt))
		return usage_z("-1 goes with the formats line and json");
	return -1;
}

/* -f and -s; what -S adds says itself which it is. */
static int check_patterns(void)
{
	bool has = !opt.out.summary || opt.out.npatterns == 0 || opt.out.npatterns == MAX_PATTERNS;

	for (size_t i = 0; i < opt.out.npatterns; i++)
		has |= str_is(opt.patterns[i], "summary");
	if (!has) {
		memmove(opt.patterns + 1, opt.patterns, opt.out.npatterns++ * sizeof(opt.patterns[0]));
		opt.patterns[0] = (struct str)STR("summary");
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

	if (opt.cmd->with != WITH_STAT || !(opt.nwords == 0 ? parse_interval(s, &opt.interval) : opt.nwords == 1 && parse_count(s, &opt.count)))
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
	const struct format *kmsg;
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
		else if (!opt.cmd && opt.nwords == 0 && find_cmd(a)) {
			opt.cmd = find_cmd(a);
			r = is_built_in(opt.cmd) ? -1 : not_built_in(a);
		} else if (takes_command()) {
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
	if (opt.count && !opt.interval && !opt.on_stdin && !opt.http)
		opt.interval = 1000000000;
	if (opt.fields_help && opt.cmd->with & (WITH_RECORDS | WITH_PLOT)) {
		out_fields(&out, opt.cmd->kind);
		return finish();
	}
	kmsg = format_find((struct str)STR("kmsg"));
	if (kmsg && sink_is_kmsg() && !is_chosen('o') && opt.out.fmt == format_find((struct str)STR("line")))
		opt.out.fmt = kmsg;
	opt.out.kind = opt.cmd->kind;
	opt.out.summary = opt.summary || opt.inner;
	opt.out.inner = opt.inner;
	if (take_words() >= 0 || check_options() >= 0)
		return EX_USAGE;
	return check_patterns();
}

/* --- roots ------------------------------------------------------------------------------------------------- */

enum { NO_PROC = 1, NO_SYS = 2, NO_NAMED = 4, REFUSED = 8 };

/* Opens a root. Returns 0, `missing` if it is not mounted there, or NO_NAMED or REFUSED with the error printed. */
static int open_root(int *fd, const char *dir, const char *given, u32 magic, int missing)
{
	struct statfs fs;
	long r = given ? file_open(given, O_RDONLY | O_DIRECTORY) : sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY);

	*fd = (int)r;
	if (r < 0 && (given || r != -ENOENT)) {
		say_error(given ? given : dir, files_tell(r));
		return given ? NO_NAMED : REFUSED;
	}
	if (given || (r >= 0 && sys_fstatfs(*fd, &fs) == 0 && (u32)fs.f_type == magic))
		return 0;
	if (r >= 0)
		sys_close(*fd);
	*fd = -1;
	files_error = -ENOENT; /* what is not found may be there */
	return missing;
}

/* Tells whether the kernel was built with sysfs (CONFIG_SYSFS): /proc/filesystems lists it, mounted or not. */
static bool has_sysfs(void)
{
	char text[4096];
	long n = slurp(root_proc, "filesystems", text, sizeof(text));

	return n <= 0 || str_find(str_got(text, n), (struct str)STR("\tsysfs\n"));
}

static void say_rootless(void)
{
	char names[96];
	struct buf b = BUF_Z(names);

	for (size_t i = 0; i < LEN(cmds); i++)
		if (cmds[i].with & WITH_ROOTLESS) {
			put_z(&b, b.n ? ", " : "these work without it: ");
			put_z(&b, cmds[i].name);
		}
	if (b.n)
		say_z(buf_z(&b));
}

/* /proc and /sys. False: one is missing that the command cannot do without; what is missing is told in any case. */
bool open_roots(bool needed)
{
	int lacks = open_root(&root_sys, "/sys", opt.sys, SYSFS_MAGIC, NO_SYS) |
		    open_root(&root_proc, "/proc", opt.proc, PROC_SUPER_MAGIC, NO_PROC);
	bool both = (lacks & (NO_PROC | NO_SYS)) == (NO_PROC | NO_SYS);

	root_proc_given = opt.proc;
	root_proc_name = opt.proc;
	root_sys_given = opt.sys;
	if (lacks & NO_SYS && !both && !has_sysfs())
		say_z("/sys: this kernel has no sysfs (CONFIG_SYSFS)");
	else if (lacks & (NO_PROC | NO_SYS))
		say(both ? "/proc and /sys are" : lacks & NO_SYS ? "/sys is" : "/proc is", " not mounted; as root: ",
		    both ? "mount -t proc proc /proc; mount -t sysfs sys /sys" :
		    lacks & NO_SYS ? "mount -t sysfs sys /sys" : "mount -t proc proc /proc");
	if (lacks && needed && !(lacks & NO_NAMED) && !is_check()) /* which has one line */
		say_rootless();
	return !(lacks & NO_NAMED) && (!lacks || !needed);
}

/* A stream that is closed must not become something that we open: it is used as one that is closed, all the same. The first
 * process of an image may have no stream, and no /dev. */
static void fill_streams(void)
{
	long fd;

	do
		fd = sys_openat(AT_FDCWD, "/", O_PATH);
	while (fd >= 0 && fd < 3);
	if (fd >= 0)
		sys_close((int)fd);
}

/* --- the sandbox ------------------------------------------------------------------------------------------------ */

/* Of a command that reads no other process, nor what it has not named before confine(): what replaces -O is beside it. */
void close_files(void)
{
	if (opt.no_sandbox)
		return;
	sandbox_close_files();
	sandbox_folder(sink_folder(), true);
}

static void say_without(const char *what, long r)
{
	if (opt.verbose && r < 0 && r != -ECANCELED)
		say(what, error_text(r), NULL);
}

/* What a command does from here on is known: the rest is refused. child: its command, which has been forked, or 0. */
void confine(i32 child)
{
	static bool done;
	u16 calls = opt.cmd->calls | opt.calls;

	if (opt.no_sandbox || done)
		return;
	done = true;
	if (opt.state || sink_folder() >= 0)
		calls |= CALLS_REPLACE;
	if (opt.profiling || (opt.nwords && opt.cmd->with & WITH_OA)) /* oa pack */
		calls |= CALLS_WRITE;
	if (calls & CALLS_WATCH && !privilege_has(MAY_READ))
		calls |= CALLS_BLIND;
	if (opt.http) /* which is confined before it reads the request: counters are opened later */
		calls |= opt.cmd->with & WITH_NAMED ? CALLS_NET | CALLS_OPEN_PERF | CALLS_WRITE : CALLS_NET;
	sandbox_enter(calls, child);
	say_without("no filter of system calls: ", sandbox.filter);
	say_without("no Landlock: ", sandbox.landlock);
}

/* Once all is open: what goes on needs these, and a file that is replaced, or a command that is stopped, what they need. */
void keep_privileges(u8 may)
{
	privilege_keep(may | (opt.output && sink_gathers() ? MAY_WRITE : 0) | (opt.command ? MAY_KILL : 0));
}

/* Of a command that has opened all that it reads. */
void confine_to_opened(void)
{
	close_files();
	confine(0);
	keep_privileges(0);
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
	const char *host, *interval;

	opt.out.now = sys_now(CLOCK_REALTIME);
	opt.out.interval = opt.interval;
	if ((collectd || format_sends(opt.out.fmt)) && sys_uname(&name) == 0)
		opt.out.host = name.nodename;
	if (!collectd)
		return;
	host = getenv("COLLECTD_HOSTNAME");
	interval = getenv("COLLECTD_INTERVAL");
	if (host && host[0])
		opt.out.host = host;
	if (!interval || !parse_interval(str_z(interval), &step))
		return;
	opt.out.interval = step;
	if (may_repeat())
		opt.interval = step;
}

/* What no file that was named, and nothing that the command does, has need of is given up. Below roots that the user chose
 * nothing is the kernel's. */
static bool drop_privileges(void)
{
	u8 files = opt.output || opt.state || opt.oa.record || opt.control || opt.cmd->with & WITH_MUNIN ? MAY_READ | MAY_WRITE : MAY_READ;
	bool reads = opt.cmd->with & WITH_OA && (opt.oa.replay || is_oa_word());
	u8 may = reads ? 0 : opt.cmd->may;
	long r = privilege_begin(opt.proc || opt.sys ? 0 : may, files | may, opt.command);

	if (r < 0)
		say_error("capabilities", r);
	return r >= 0;
}

static int run_cmd(void)
{
	int code = opt.cmd->run();
	bool unread;

	say_full();
	if (opt.out.lost && opt.cmd->with & (WITH_PERF | WITH_OA | WITH_FDINFO))
		say_number(opt.out.lost, " series or columns had no room and were left out");
	if (tables_short && !opt.command_exit && (code == EX_USAGE || code == EX_NODEVICE || code == EX_DENIED))
		code = EX_FAIL; /* the device, event or counter may be one of those that had no room */
	code = finish_run(code);
	if (is_check())
		return code;
	/* A device or counter that was not found may be in a file that could not be read. A run that RLIMIT_NOFILE cut short has failed. */
	unread = files_error && !opt.command && !(opt.cmd->with & WITH_DOCTOR) &&
		 (code == EX_USAGE || code == EX_NODEVICE || (files_untold && files_error == -EMFILE));
	if (unread || files_unread)
		say_unread_files();
	return unread ? EX_FAIL : code;
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
	int r;
	long columns_of_tty, limit;

	sys_double();
	fill_streams();
	out = table_buf(&out_bytes_table);
	if (sys_signal_stays(SIGXFSZ, on_too_large))
		sys_ignore(SIGXFSZ); /* for the command, too */
	r = argc > 0 ? parse_args(argv) : usage_z("no arguments at all");

	if (r >= 0)
		return r == EX_USAGE && is_check() ? check_unknown(said) : r;
	if (!drop_privileges())
		return EX_FAIL;
	columns_of_tty = sys_columns(1);
	opt.out.width = (u16)(columns_of_tty > 80 && columns_of_tty < 4096 ? columns_of_tty : 80);
	opt.out.colour = columns_of_tty >= 0 && !getenv("NO_COLOR");
	know_host();
	if (opt.cmd->with & WITH_PERF)
		return run_cmd(); /* has its own way with signals, and raises limits only for many events */
	if (opt.cmd->with & WITH_RECORDS && !(opt.cmd->with & WITH_OA) && (r = sink_open()) >= 0)
		return r;
	if ((limit = sys_raise_nofile(&(struct sys_limit){ 0 })) > 0)
		files_limit = limit;
	if (opt.profiling)
		put_back_at_end();
	for (size_t i = 0; i < LEN(stop_signals); i++)
		sys_signal(stop_signals[i], on_signal);
	if (opt.http || !(opt.cmd->with & (WITH_CLOSED | WITH_NAMED | WITH_DOCTOR | WITH_CHECK))) /* these have more to do first */
		confine(0);
	if (opt.http && (r = http_request()) >= 0)
		return r;
	r = run_cmd();
	profiling_restore();
	return opt.http ? http_end(r) : r;
}
