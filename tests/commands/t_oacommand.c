/* t_oacommand.c - `oa`: options that exclude each other, the choice of a metric set, recordings, how
 * a stream is read, its waits, COUNT and errors, the list of sets, packs. The driver and the records
 * are simulated. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static i64 clock_now; /* ns */
static i64 fake_now(void) { return clock_now; }
static i64 polled;    /* time until which the stream was polled; -1: not polled */
static long fake_poll(const void *fds, i64 until)
{
	polled = clock_now = until;
	return fds ? 0 : -1;
}

#define sys_now(clock) fake_now()
#define sys_poll_until(fds, n, until, signals) fake_poll(fds, until)
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/oasets.c"
#include "../../commands/oa.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
volatile sig_atomic_t stopped;
bool lost_record;
struct roots roots = { .sys = 11 };
struct oastream stream;
struct oaprog *equations;
struct table equations_table = TABLE_ROW(equations, 1, 1, "OA equations");
char *oa_bytes;
struct table oa_bytes_table = TABLE_ROW(oa_bytes, 320 << 10, 1, "bytes");

static char bytes[OUT_BYTES], step_bytes[1024], file_bytes[1 << 16];
static struct buf steps, file; /* file: what is written to descriptor 9 */
static i64 slept;              /* time until which the program slept; -1: not */

static struct {
	u32 device, sums, reports, lost, buffers_lost, reads;
	bool no_roots, no_clocks, flush_fails, set_registered;
	u32 correlations, correlations_fail_at;
	long attach, start, open, write;
	struct { const char *p; long n; } queue[8]; /* results of the next calls of oa_read() */
	u32 first, last;
	int finish;
	bool failed;          /* argument of stream_finish() */
	u8 kept;              /* argument of keep_privileges() */
	struct oaset started; /* argument of oa_start() */
} fake;

static void step(const char *name) { put_z(&steps, name); put_c(&steps, ' '); }

bool open_roots(bool needed) { return needed && !fake.no_roots; }
void close_files(void) { step("close"); }
void confine(i32 child) { step(child ? "child" : "confine"); }
void keep_privileges(u8 may) { fake.kept = may; step("keep"); }
int sink_open(void) { step("sink"); return -1; }
int no_device(void) { say_z("no such device"); return EX_NODEVICE; }
bool flush(void) { return !fake.flush_fails; }
bool flush_record(void) { return out.n <= OUT_BYTES / 2 || flush(); }
int finish(void) { step("finish"); return EX_OK; }
bool sleep_until(i64 t) { slept = clock_now = t; return true; }
i64 next_due(i64 start, i64 due, i64 step_ns) { (void)start; return due + step_ns; }
int replay_command(void) { step("replay"); return EX_OK; }
static void devices_start(void) { step("devices"); }
const struct source src_sysfs = { .start = devices_start };

void sandbox_folder(i32 fd, bool write)
{
	step(write ? "folder-to-write" : fd == roots.sys ? "sys" : "folder");
}

bool sandbox_file(const char *path, bool write) { step(path); return write && *path != 'n'; }

long replace_begin(struct replacement *f, const char *path)
{
	f->dir = 1;
	step(path);
	return 0;
}

u32 device_chosen(bool (*fits)(const struct device *d))
{
	return fake.device && fits(&devices[fake.device]) ? fake.device : NONE;
}

long file_open(const char *path, int flags)
{
	if (strstr(path, "/gpu.pack"))
		return -ENOENT;
	step(path);
	return flags == O_RDONLY ? -ENOENT : fake.open ? fake.open : 9;
}

long write_all(int fd, const char *p, size_t n)
{
	if (fd == 9)
		put_str(&file, str_of(p, n));
	return fd < 0 ? -EBADF : fake.write;
}

/* --- the simulated stream --------------------------------------------------------------------- */

int stream_ready(void) { step("ready"); return -1; }
void stream_correlate(u64 cpu_ns, u64 gpu_ts) { stream.cpu_ns = cpu_ns; stream.gpu_ts = gpu_ts; stream.correlations++; }

const char *stream_report(struct str body)
{
	fake.reports++;
	stream.deltas++;
	return str_len(body) < 8 ? "a sample too small for its format" : NULL;
}

void stream_keep_last(void) { }
void stream_emit_sum(void) { fake.sums++; stream.deltas = 0; }

void stream_lost(bool buffer)
{
	fake.lost += !buffer;
	fake.buffers_lost += buffer;
}

int stream_finish(bool failed)
{
	fake.failed = failed;
	return fake.finish;
}

long oa_attach(struct oalive *l, u32 device)
{
	step("attach");
	l->device = device;
	return fake.attach;
}

long oa_start(struct oalive *l, const struct oaset *s, const struct oaprops *p)
{
	step("open");
	(void)l, (void)p;
	fake.started = *s;
	return fake.start;
}

void oa_stop(struct oalive *l) { (void)l; step("stop"); }

long oa_read(struct oalive *l, char *b, size_t cap)
{
	long n = 0;

	(void)l;
	fake.reads++;
	if (fake.first < fake.last) {
		n = fake.queue[fake.first].n;
		if (n > 0 && (size_t)n <= cap)
			memcpy(b, fake.queue[fake.first].p, (size_t)n);
		fake.first++;
	}
	return n;
}

bool oa_correlate(const struct oalive *l, u64 *cpu_ns, u64 *gpu_ts)
{
	(void)l;
	*cpu_ns = 100 + ++fake.correlations;
	*gpu_ts = fake.correlations;
	return !fake.no_clocks;
}

bool oa_has_set(const struct device *d, struct str guid, u64 *id)
{
	(void)d;
	*id = 42;
	return fake.set_registered && str_is(guid, "registered");
}

void oa_each_registered(const struct device *d, void (*found)(struct str guid, u64 id))
{
	(void)d;
	if (fake.set_registered)
		found(LIT("registered"), 42);
}

static const struct oaplatform *platform(const char *name)
{
	return name ? oaplatform_by_name(str_z(name)) : NULL;
}

static void clear(void)
{
	memset(&opt, 0, sizeof(opt));
	opt.out.fmt = format_find((struct str)STR("line"));
	memset(&fake, 0, sizeof(fake));
	memset(&stream, 0, sizeof(stream));
	memset(&gpu, 0, sizeof(gpu));
	memset(&listing, 0, sizeof(listing));
	devices_clear(1);
	str_copy(devices[1].driver, sizeof(devices[1].driver), LIT("i915"));
	str_copy(devices[1].dev, sizeof(devices[1].dev), LIT("card0"));
	oadevice_init(&gpu.dev, 0x1912, platform("sklgt2"));
	gpu.format = oaformat_by_name(LIT("A32u40_A4u32_B8_C8"));
	gpu.buffer = 16 << 20;
	gpu.period = 81966;
	gpu.exponent = 9;
	record_fd = -1;
	packs.nfiles = 0;
	table_all(&oa_bytes_table);
	stopped = 0;
	lost_record = false;
	slept = polled = -1;
	said.n = 0;
	out = buf_on(bytes, sizeof(bytes));
	steps = BUF(step_bytes);
	file = BUF(file_bytes);
}

static void check_steps(const char *want, const char *name)
{
	check_str(str_of(steps.p, steps.n), want, "%s", name);
}

static int run(const char *a, const char *b, const char *c)
{
	static char copies[3][64], *words[4];
	const char *const texts[] = { a, b, c };

	for (opt.nwords = 0; opt.nwords < 3 && texts[opt.nwords]; opt.nwords++) {
		str_copy(copies[opt.nwords], sizeof(copies[0]), str_z(texts[opt.nwords]));
		words[opt.nwords] = copies[opt.nwords];
	}
	opt.words = words;
	return cmd_oa();
}

/* --- options ---------------------------------------------------------------------------------- */

static void t_options(void)
{
	static const struct {
		bool reports, totals, contexts, replay, record, count, interval, platform;
		const char *message;
	} rows[] = {
		{ 1, 1, 0, 0, 0, 0, 0, 0, "--reports, --totals and --contexts exclude each other" },
		{ 1, 0, 1, 0, 0, 0, 0, 0, "--reports, --totals and --contexts exclude each other" },
		{ 0, 1, 1, 0, 0, 0, 0, 0, "--reports, --totals and --contexts exclude each other" },
		{ 0, 0, 0, 1, 1, 0, 0, 0, "--record and --replay exclude each other" },
		{ 0, 0, 0, 1, 0, 1, 0, 0, "--replay takes no COUNT" },
		{ 1, 0, 0, 1, 0, 0, 1, 0, "--contexts takes no interval" },
		{ 0, 1, 0, 1, 0, 0, 1, 0, "--contexts takes no interval" },
		{ 0, 0, 1, 1, 0, 0, 1, 0, "--contexts takes no interval" },
		{ 0, 0, 0, 0, 0, 0, 0, 1, "--platform requires --replay or list" },
		{ 0, 0, 0, 1, 0, 0, 1, 1, NULL }, { 1, 0, 0, 1, 0, 0, 0, 0, NULL },
		{ 1, 0, 0, 0, 1, 1, 1, 0, NULL },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		opt.oa.reports = rows[i].reports;
		opt.oa.totals = rows[i].totals;
		opt.oa.contexts = rows[i].contexts;
		opt.oa.replay = rows[i].replay ? "f" : NULL;
		opt.oa.record = rows[i].record ? "g" : NULL;
		opt.count = rows[i].count;
		opt.interval = rows[i].interval;
		opt.oa.platform = rows[i].platform ? platform("sklgt2") : NULL;
		check(check_oa() == (rows[i].message ? EX_USAGE : -1) && is_said(rows[i].message),
		      "options %zu: %s", i, rows[i].message ? rows[i].message : "allowed");
	}
	clear();
	opt.oa.replay = "f";
	opt.interval = 1;
	check(run(NULL, NULL, NULL) == EX_OK && opt.out.once,
	      "--replay: the recording is replayed");
	check_steps("sink replay ", "--replay: the output is opened before the recording");
	clear();
	opt.oa.replay = "f";
	opt.count = 1;
	check(run(NULL, NULL, NULL) == EX_USAGE && steps.n == 0,
	      "--replay with COUNT: nothing is opened after the usage error");
	clear();
	opt.oa.replay = opt.oa.metrics[0] = "nosuch";
	opt.oa.nmetrics = 1;
	check(run(NULL, NULL, NULL) == EX_FAIL && is_said("nosuch: error\n"),
	      "--metrics: the file does not exist");
}

/* --- the metric set --------------------------------------------------------------------------- */

static void t_sets(void)
{
	static const struct {
		const char *platform, *set;
		bool raw, registered;
		int code;
		const char *name, *guid; /* guid NULL: any */
	} rows[] = {
		{ "sklgt2", NULL, false, false, -1, "RenderBasic", "07b25942-d9fd-4fce-bd58-e29abd66b7de" },
		{ "pvc", NULL, false, false, -1, "ComputeBasic", NULL },
		{ "sklgt2", "Basic", false, false, -1, "Basic", NULL },
		{ NULL, "Basic", false, false, EX_USAGE, NULL, NULL },
		{ NULL, NULL, false, false, EX_USAGE, NULL, NULL },
		{ NULL, NULL, true, false, EX_USAGE, NULL, NULL },
		{ NULL, NULL, false, true, EX_USAGE, NULL, NULL },
		{ NULL, NULL, true, true, -1, "", "registered" },
		{ "sklgt2", "registered", true, true, -1, "registered", "registered" },
		{ "sklgt2", "registered", false, true, EX_USAGE, NULL, NULL },
		{ "sklgt2", "registered", true, false, EX_USAGE, NULL, NULL },
		{ "sklgt2", "nosuch", true, true, EX_USAGE, NULL, NULL },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		int code;

		clear();
		gpu.dev.platform = platform(rows[i].platform);
		opt.oa.set = rows[i].set ? str_z(rows[i].set) : (struct str){ 0 };
		opt.raw = rows[i].raw;
		fake.set_registered = rows[i].registered;
		code = choose_set(&gpu);
		check(code == rows[i].code &&
		      (code >= 0 || (str_is(stream.set.name, rows[i].name) &&
				     (!rows[i].guid || !strcmp(stream.set.guid, rows[i].guid)))),
		      "set for %s, -m %s%s%s",
		      rows[i].platform ? rows[i].platform : "an unknown GPU",
		      rows[i].set ? rows[i].set : "not given", rows[i].raw ? ", --raw" : "",
		      rows[i].registered ? ", registered" : "");
		check(is_said(code < 0 ? NULL : rows[i].set ? "unknown metric set '" :
			      "no metric set is known for this GPU"),
			      "a message only if no metric set is found");
	}
}

static void t_find(void)
{
	const char *guid = oafamilies[OF_GEN9].guid;
	struct oaset s;

	clear();
	check(set_find(LIT("Basic"), false, platform("sklgt2"), &s) && !strcmp(s.guid, guid),
	      "set_find: by name, for a platform");
	check(set_find(str_z(guid), true, NULL, &s) && !strcmp(s.guid, guid), "set_find: by GUID");
	check(!set_find(LIT("Basic"), true, NULL, &s) && !set_find(str_z(guid), false, NULL, &s),
	      "set_find: a name is not a GUID");
	check(!set_find(str_z(guid), true, platform("tglgt2"), &s),
	      "set_find: no set with this GUID for another platform");
	check(!set_find(LIT(""), false, NULL, &s) && !set_find(LIT(""), true, NULL, &s),
	      "set_find: an empty name or GUID matches no set");
}

/* --- records of a stream ---------------------------------------------------------------------- */

static char reads[8][256];

/* Adds a read of the stream with these records: 's' a sample, 't' a short one, 'r' a lost report,
 * 'b' a lost buffer. */
static void add_read(const char *types)
{
	struct buf b = BUF(reads[fake.last]);

	for (; *types; types++)
		put_oarec(&b, false, *types == 'r' ? OT_REPORT_LOST : *types == 'b' ? OT_BUFFER_LOST :
			  OT_SAMPLE, str_of("12345678", *types == 's' ? 8 : *types == 't' ? 4 : 0));
	fake.queue[fake.last].p = b.p;
	fake.queue[fake.last++].n = (long)b.n;
}

static void t_drain(void)
{
	clear();
	add_read("ss");
	add_read("srb");
	check(drain(&gpu) == 0 && fake.reports == 3 && fake.lost == 1 && fake.buffers_lost == 1 &&
	      fake.reads == 3, "reports and losses of all available reads are added");
	clear();
	add_read("st");
	check(drain(&gpu) == 0 && is_said("the kernel sent an invalid OA report: a sample too small for its format"),
	      "a sample that is too short: a message");
	clear();
	gpu.buffer = 20;
	add_read("s");
	add_read("s");
	add_read("s");
	check(drain(&gpu) == 16 && fake.reports == 2,
	      "at most the size of the OA buffer is read at once");
	clear();
	add_read("s");
	fake.queue[fake.last++].n = -EIO;
	check(drain(&gpu) == -EIO && fake.reports == 1,
	      "a read error after reports: it is returned, the reports are kept");
	clear();
	stopped = 1;
	add_read("s");
	check(drain(&gpu) == 0 && fake.reads == 0, "after a signal nothing is read");
	clear();
	record_fd = 9;
	add_read("sb");
	drain(&gpu);
	check(file.n == 24, "a recording has all records of the stream");
	clear();
	record_fd = 9;
	fake.write = -EIO;
	opt.oa.record = "g";
	add_read("s");
	add_read("s");
	check(drain(&gpu) == 16 && stream.failed && is_said("g: EIO\n") && fake.reads == 1,
	      "a write error of the recording ends the stream");
}

static void t_recording(void)
{
	const struct oaprops p = { .engine_class = 3, .engine_instance = 4 };
	static const u8 want[] = { OT_VERSION, OT_INFO, OT_TOPOLOGY, OT_NUMBERS, OT_CORRELATION };
	struct oarec r[5];
	struct oainfo info;
	struct str rest;
	u64 ns, ts;
	u32 version;
	bool good = true;

	for (int xe = 0; xe < 2; xe++) {
		clear();
		gpu.dev.xe = xe;
		gpu.dev.pci = 0x1912;
		gpu.dev.var[OV_REVISION] = 6;
		gpu.dev.var[OV_L3_BANK] = 12;
		gpu.min_hz = 300;
		gpu.max_hz = 1150;
		memcpy(gpu.topology, "topology", gpu.topology_n = 8);
		stream.ts_hz = 12000000;
		stream.set.name = LIT("Basic");
		str_copy(stream.set.guid, sizeof(stream.set.guid), LIT("a-guid"));
		opt.oa.record = "g";
		stream.set.file = &oabasic;
		check(record_begin(&gpu, &p) && correlate(&gpu), "%s: a recording is started",
		      xe ? "xe" : "i915");
		check(is_said(xe ? "g: xe-perf-reader cannot read this recording: that program has "
			      "no metric set Basic\n" : "g: i915-perf-reader cannot read this recording: "
			      "that program has no metric set Basic\n"),
			      "a message about the reader of IGT");
		rest = str_of(file.p, file.n);
		for (size_t i = 0; i < LEN(want); i++)
			good &= oarec_next(&rest, xe, &r[i]) && r[i].type == want[i];
		check(good && rest.p == rest.e && oarec_version(r[0].body, &version) && version == 1,
		      "records of a recording: version, device, topology, numbers, clocks");
		check(oarec_info(r[1].body, &info) && info.ts_hz == 12000000 && info.pci == 0x1912 &&
		      info.revision == 6 && info.min_hz == 300 && info.max_hz == 1150 &&
		      info.engine_class == 3 && info.engine_instance == 4 &&
		      info.format == (xe ? 4 : 10) && str_is(info.set, "Basic") &&
		      str_is(info.guid, "a-guid"),
		      "the device record has the properties of the GPU and the metric set");
		check(str_is(r[2].body, "topology") && oarec_correlation(r[4].body, &ns, &ts) &&
		      ns == 101 && ts == 1 && stream.cpu_ns == 101 && stream.gpu_ts == 1 &&
		      stream.correlations == 1,
		      "the records of the topology and of the clocks have their values");
		check(str_find(r[3].body, (struct str)STR("L3BankTotalCount 12\n")) &&
		      str_len(r[3].body) % 8 == 0,
		      "the record of the numbers of the GPU is padded to 8 bytes");
	}
	clear();
	check(record_begin(&gpu, &p) && steps.n == 0 && correlate(&gpu) && file.n == 0,
	      "without --record only the clocks are read");
	clear();
	fake.no_clocks = true;
	record_fd = 9;
	check(correlate(&gpu) && file.n == 0 && stream.correlations == 0,
	      "the driver has no clocks: no clock record is written");
	clear();
	opt.oa.record = "g";
	fake.open = -EIO;
	check(!record_begin(&gpu, &p) && is_said("g: EIO\n"),
	      "--record: the file cannot be created");
	clear();
	opt.oa.record = "g";
	fake.write = -EIO;
	check(!record_begin(&gpu, &p) && is_said("g: EIO\n"),
	      "--record: the file cannot be written");
}

/* --- waits and intervals ---------------------------------------------------------------------- */

enum { S = 1000000000 };

static void t_waits(void)
{
	clear();
	clock_now = 7;
	wait_stream(&gpu, -1, 7);
	check(slept == 7 + S && polled < 0, "wait_stream: one second for a large buffer");
	clear();
	gpu.buffer = 256 * 400;
	wait_stream(&gpu, -1, 7);
	check_u64((u64)slept, 7 + 100 * gpu.period,
		  "wait_stream: until a quarter of a small buffer is full");
	clear();
	wait_stream(&gpu, 50, 7);
	check(slept == 50, "wait_stream: until the next sum is due");
	wait_stream(&gpu, 7 + 2 * (i64)S, 7);
	check(slept == 7 + S, "wait_stream: at most one second if the sum is due later");
	for (int reports = 0; reports < 2; reports++) {
		clear();
		opt.oa.reports = reports;
		opt.oa.contexts = !reports;
		wait_stream(&gpu, 50, 7);
		check(polled == 50 && slept < 0,
		      "--%s: wait_stream returns when reports are available",
		      reports ? "reports" : "contexts");
	}
}

static void t_intervals(void)
{
	clear();
	opt.interval = S / 4;
	opt.count = 6;
	check(run_stream(&gpu) == EX_OK && fake.sums == 6 && fake.reads == 6,
	      "one sum per interval");
	check_u64(fake.correlations, 3,
		  "clocks are read at the start, after a second and at the end");
	clear();
	opt.interval = S;
	opt.count = 3;
	opt.oa.totals = true;
	add_read("s");
	check(run_stream(&gpu) == EX_OK && fake.sums == 1 && fake.reads == 4,
	      "--totals: one sum at the end");
	clear();
	opt.interval = S;
	opt.count = 3;
	opt.oa.totals = true;
	check(run_stream(&gpu) == EX_OK && fake.sums == 0, "--totals without a report: no sum");
	clear();
	opt.interval = S;
	opt.count = 2;
	opt.oa.reports = true;
	add_read("s");
	check(run_stream(&gpu) == EX_OK && fake.sums == 0, "--reports: no sum");
	clear();
	opt.interval = S;
	opt.count = 1;
	fake.no_clocks = true;
	opt.oa.record = "g";
	record_fd = 9;
	check(run_stream(&gpu) == EX_OK && is_said("g: the driver cannot convert GPU times"),
	      "--record: a message if the driver has no clocks");
}

static void t_errors(void)
{
	static const struct { long error; int code; } rows[] = {
		{ -EIO, EX_FAIL }, { -ENODEV, EX_NODEVICE }, { -EACCES, EX_DENIED },
		{ -EPERM, EX_DENIED }, { -ENOTSUPP, EX_NODEVICE },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		opt.interval = S;
		fake.queue[fake.last++].n = rows[i].error;
		check(run_stream(&gpu) == rows[i].code && fake.failed && said.n > 0,
		      "read error %zu: its exit code and a message", i);
	}
	clear();
	gpu.what = "the OA unit is in use";
	gpu.remedy = "end the other program";
	check(say_failure(&gpu, -EBUSY) == EX_FAIL &&
	      is_said("the OA unit is in use; end the other program\n"),
	      "the message of an error has its remedy");
	clear();
	opt.interval = S;
	fake.flush_fails = true;
	check(run_stream(&gpu) == EX_FAIL, "a write error of the output: exit code 1");
	clear();
	opt.interval = S;
	opt.count = 1;
	lost_record = true;
	check(run_stream(&gpu) == EX_FAIL, "a record that did not fit: exit code 1");
	clear();
	opt.interval = S;
	opt.count = 1;
	fake.finish = EX_FAIL;
	check(run_stream(&gpu) == EX_FAIL, "a write error at the end: exit code 1");
}

static void t_say(void)
{
	clear();
	stream.set.name = LIT("Basic");
	say_stream(&gpu);
	check(is_said(NULL), "the period is not printed by default");
	opt.oa.props.period = 5;
	say_stream(&gpu);
	check(is_said("Basic, A32u40_A4u32_B8_C8, a report every 81.9 us (exponent 9)\n"),
	      "--period: the period is printed");
	opt.verbose = true;
	opt.oa.props.period = 0;
	say_stream(&gpu);
	check(is_said("(exponent 9)\nwhile gpustat runs, the GPU does not enter RC6"),
	      "-v: the effect on RC6 is printed");
}

/* --- live ------------------------------------------------------------------------------------- */

static void t_live(void)
{
	clear();
	fake.device = 1;
	check(run(NULL, NULL, NULL) == EX_OK && opt.count == 1 && opt.interval == S &&
	      opt.oa.props.interval == S && opt.out.once, "without COUNT: one sum of one second");
	check_steps("sink devices attach open keep ready confine stop ",
		    "without --record: the stream is opened before the privileges are dropped");
	check(fake.kept == 0 && stream.live && !strcmp(stream.dev_name, "card0") &&
	      stream.ts_hz == 12000000 && stream.exponent == 9 && !stream.filtered &&
	      str_is(fake.started.name, "RenderBasic"),
	      "the stream has the device, the clock and the metric set");
	clear();
	fake.device = 1;
	opt.interval = 2 * (i64)S;
	opt.oa.record = "g";
	opt.count = 1;
	check(run(NULL, NULL, NULL) == EX_OK && !opt.out.once && fake.kept == MAY_WRITE &&
	      opt.oa.props.interval == 2 * (i64)S,
	      "--record with an interval: the right to write is kept");
	check_steps("sink devices attach open keep g ready confine stop ",
		    "--record: the file is created after the privileges are dropped");
	clear();
	check(run(NULL, NULL, NULL) == EX_NODEVICE && is_said("no GPU with the i915 or xe driver here"),
	      "no GPU with i915 or xe: exit code of a missing device");
	clear();
	opt.ndevices = 1;
	check(run(NULL, NULL, NULL) == EX_NODEVICE && is_said("no such device"), "-d: no such GPU");
	clear();
	fake.device = 1;
	str_copy(devices[1].driver, sizeof(devices[1].driver), LIT("amdgpu"));
	check(run(NULL, NULL, NULL) == EX_NODEVICE, "a GPU of AMD is not used");
	str_copy(devices[1].driver, sizeof(devices[1].driver), LIT("xe"));
	check(run(NULL, NULL, NULL) == EX_OK, "a GPU with the driver xe is used");
	clear();
	fake.device = 1;
	fake.attach = -EACCES;
	check(run(NULL, NULL, NULL) == EX_DENIED && said.n > 0,
	      "no permission for the device: an error");
	check_steps("sink devices attach keep stop ",
		    "no permission for the device: no stream is opened");
	clear();
	fake.device = 1;
	fake.start = -ENODEV;
	check(run(NULL, NULL, NULL) == EX_NODEVICE && fake.reads == 0,
	      "the driver refuses the stream: an error, no read");
	clear();
	fake.device = 1;
	opt.oa.record = "g";
	fake.open = -EIO;
	check(run(NULL, NULL, NULL) == EX_FAIL && fake.reads == 0,
	      "the recording cannot be created: an error, no read");
}

static void t_filter(void)
{
	static const struct { const char *platform; bool filtered; } rows[] = {
		{ "hsw", false }, { "bdw", true }, { "icl", true }, { "tglgt1", false }, { NULL, false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		fake.device = 1;
		gpu.dev.platform = platform(rows[i].platform);
		opt.oa.props.has_ctx = true;
		opt.raw = fake.set_registered = true;
		run(NULL, NULL, NULL);
		check(stream.filtered == rows[i].filtered && stream.filter.any, "--ctx on %s: %s",
		      rows[i].platform ? rows[i].platform : "an unknown GPU",
		      rows[i].filtered ? "gpustat filters reports" : "the OA unit filters reports");
	}
}

/* --- list and pack ---------------------------------------------------------------------------- */

static bool printed(const char *text) { return str_find(str_of(out.p, out.n), str_z(text)); }

static void t_list(void)
{
	clear();
	check(run("list", NULL, NULL) == EX_OK && printed("Basic") && printed("built-in\n"),
	      "list: metric sets of all platforms");
	check_steps("sink devices close sys confine finish ",
		    "list: only /sys can be opened after the confinement");
	clear();
	fake.device = 1;
	fake.set_registered = true;
	check(run("list", NULL, NULL) == EX_OK && gpu.dev.platform == listing.platform &&
	      printed("-                               -       0    -                   registered"
		      "                           kernel 42\n"),
		      "list: metric sets that only the kernel has");
	check_steps("sink devices attach stop close sys confine finish ",
		    "list: the GPU is attached before the confinement");
	clear();
	fake.device = 1;
	opt.oa.platform = platform("tglgt2");
	check(run("list", NULL, NULL) == EX_OK && listing.platform == platform("tglgt2"),
	      "list --platform: this platform and not the one of the GPU");
	check_steps("sink devices close sys confine finish ",
		    "list --platform: the GPU is not attached");
	clear();
	opt.oa.platform = platform("sklgt2");
	check(run("list", "Basic", NULL) == EX_OK &&
	      printed("GpuTime                                     uint64  -             ns\n"),
	      "list SET: the counters of the metric set");
	clear();
	check(run("list", "Nosuch", NULL) == EX_USAGE && is_said("unknown metric set 'Nosuch'; gpustat oa list "
	      "shows the known ones; others are in oa-*.xml of IGT GPU Tools and Mesa: use "
	      "--metrics FILE\n"),
	      "list SET: an unknown metric set: the message names files with more sets");
	clear();
	check(run("list", "a", "b") == EX_USAGE && is_said("'b': unexpected argument"),
	      "list: an unexpected argument is an error");
	clear();
	fake.no_roots = true;
	check(run("list", NULL, NULL) == EX_FAIL, "list: an error without /sys");
	clear();
	put_z(&out, "from");
	put_cell(out.n, 6, LIT("ab"));
	put_cell(out.n - 6, 12, LIT("\n"));
	check_str(str_of(out.p, out.n), "fromab    \\x0a  ",
		  "put_cell: cells are padded, control characters are escaped");
}

static void t_pack(void)
{
	static char word[] = "nosuch", *words[MAX_METRICS + 2];

	clear();
	check(run("pack", "a", NULL) == EX_USAGE && is_said("usage: oa pack XML... -O FILE"),
	      "pack without -O: a usage error");
	clear();
	opt.output = "p";
	check(run("pack", NULL, NULL) == EX_USAGE && is_said("usage: oa pack"),
	      "pack without an XML file: a usage error");
	clear();
	opt.output = "p";
	check(run("pack", "nosuch", NULL) == EX_FAIL && is_said("nosuch: error\n"),
	      "pack: the XML file does not exist");
	clear();
	opt.output = "p";
	opt.words = words;
	for (size_t i = 0; i < LEN(words); i++)
		words[i] = word;
	opt.nwords = LEN(words);
	check(pack() == EX_USAGE && is_said("too many files"), "pack: 65 files are too many");
	opt.nwords = LEN(words) - 1;
	check(pack() == EX_FAIL && is_said("nosuch: "), "pack: 64 files are accepted");
}

int main(void)
{
	t_options();
	t_sets();
	t_find();
	t_drain();
	t_recording();
	t_waits();
	t_intervals();
	t_errors();
	t_say();
	t_live();
	t_filter();
	t_list();
	t_pack();
	return unit_end();
}
