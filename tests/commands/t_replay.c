/* t_replay.c - `oa --replay`: recordings and raw streams in pieces of any size, the metric set and
 * the device of the stream, messages with file positions, the end of a file. Reports are not
 * decoded: tests use only their number and first byte. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static long fake_read(int fd, char *b, size_t n);
static int fake_stat(struct stat *st);
static i64 fake_now(void);
static long fake_columns(int fd);
static long fake_write(int fd, const char *p, size_t n);
#define sys_read(fd, b, n) fake_read(fd, b, n)
#define sys_fstat(fd, st) fake_stat(st)
#define sys_now(clock) fake_now()
#define sys_columns(fd) fake_columns(fd)
#define sys_write(fd, p, n) fake_write(fd, p, n)
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/replay.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
int out_fd = 1;
volatile sig_atomic_t stopped;
bool lost_record;
struct oastream stream;
char *oa_bytes;
struct table oa_bytes_table = TABLE_ROW(oa_bytes, 320 << 10, 1, "bytes");

static char seen_bytes[1 << 12], progress_bytes[1 << 10], file_bytes[1 << 17];
static struct buf seen, progress, file;
static i64 time_now = 1; /* ns */

static struct {
	size_t at, piece;        /* bytes read so far; a read returns at most so many */
	long open_error, read_error;
	bool regular, interrupts, interrupted, flush_fails, terminal;
	u32 flushed, stops_at;   /* a signal comes with the n-th read; 0: never */
	u32 reads, sums, lost, buffers_lost;
	int ready;               /* result of stream_ready() */
	bool bad;                /* argument of stream_finish(): the file has errors */
	int finish;
	struct str unknown;      /* argument of set_unknown() */
} fake;

static long fake_read(int fd, char *b, size_t n)
{
	size_t left = file.n - fake.at;

	if (fd < 0)
		return -EBADF;
	fake.interrupted = !fake.interrupted;
	if (++fake.reads == fake.stops_at)
		stopped = 1;
	if (fake.interrupts && fake.interrupted)
		return -EINTR;
	n = n < left ? n : left;
	n = n < fake.piece ? n : fake.piece;
	if (n == 0)
		return fake.read_error;
	memcpy(b, file.p + fake.at, n);
	fake.at += n;
	time_now += 400000000;
	return (long)n;
}

static int fake_stat(struct stat *st)
{
	st->st_mode = fake.regular ? S_IFREG : S_IFIFO;
	st->st_size = (off_t)file.n;
	return 0;
}

static i64 fake_now(void) { return time_now; }
static long fake_columns(int fd) { return fd == 2 && fake.terminal ? 80 : -1; }

static long fake_write(int fd, const char *p, size_t n)
{
	if (fd == 2)
		put_str(&progress, str_of(p, n));
	return (long)n;
}

long file_open(const char *path, int flags)
{
	return flags == O_RDONLY && *path == 'f' ? fake.open_error ? fake.open_error : 9 : -EINVAL;
}

void confine_to_opened(void) { }
bool flush(void) { fake.flushed++; return !fake.flush_fails; }

void say_at(const char *name, u64 at, const char *what)
{
	put_z(&said, name);
	put_c(&said, ' ');
	put_u64(&said, at);
	say(": ", what, NULL);
}

/* --- the simulated stream --------------------------------------------------------------------- */

const char *stream_report(struct str body)
{
	if (str_len(body) < 8)
		return "a sample too small for its format";
	put_str(&seen, str_of(body.p, 1));
	stream.seen++;
	stream.deltas += stream.seen > 1;
	return NULL;
}

void stream_correlate(u64 cpu_ns, u64 gpu_ts)
{
	stream.cpu_ns = cpu_ns;
	stream.gpu_ts = gpu_ts;
	stream.correlations++;
}

void stream_lost(bool buffer) { put_c(&seen, buffer ? '!' : '?'); }
void stream_emit_sum(void) { fake.sums++; }
void stream_keep_last(void) { }
int stream_ready(void) { return fake.ready; }
int stream_finish(bool failed) { fake.bad = failed; return fake.finish; }

/* Samples of EU stalls: the version of their layout, then a letter for each sample. */
void stalls_begin(const struct stallformat *f) { put_u64(&seen, f->version); }
void stalls_lost(u64 ns) { put_c(&seen, ns == 1000 ? '?' : 'x'); }
int stalls_finish(void) { return fake.finish; }

bool stalls_add(u64 ns, struct str samples)
{
	stream.seen++;
	put_c(&seen, ns ? '+' : '-');
	for (; str_len(samples) >= STALL_BYTES; samples.p += STALL_BYTES)
		put_c(&seen, *samples.p);
	return samples.p == samples.e;
}

static const struct { const char *name, *guid, *chipset; } sets[] = {
	{ "Basic", "guid-b", "sklgt2" }, { "Render", "guid-r", "sklgt2" },
	{ "Render", "guid-t", "tglgt2" }, { "Copy", "guid-c", "tglgt2" },
};

bool set_find(struct str name, bool by_guid, const struct oaplatform *p, struct oaset *s)
{
	for (size_t i = 0; i < LEN(sets); i++)
		if (str_is(name, by_guid ? sets[i].guid : sets[i].name) &&
		    (!p || strcmp(p->name, sets[i].chipset) == 0)) {
			*s = (struct oaset){ .name = str_z(sets[i].name),
					     .chipset = str_z(sets[i].chipset) };
			str_copy(s->guid, sizeof(s->guid), str_z(sets[i].guid));
			return true;
		}
	return false;
}

int set_unknown(struct str name)
{
	fake.unknown = name;
	return EX_USAGE;
}

/* --- recordings ------------------------------------------------------------------------------- */

static void clear(void)
{
	static char name[] = "f";

	memset(&opt, 0, sizeof(opt));
	opt.oa.replay = name;
	memset(&fake, 0, sizeof(fake));
	fake.piece = SIZE_MAX;
	fake.regular = true;
	fake.ready = -1;
	memset(&recording, 0, sizeof(recording));
	recording.exit_code = -1;
	memset(&stream, 0, sizeof(stream));
	stopped = 0;
	lost_record = false;
	said.n = 0;
	seen = BUF(seen_bytes);
	progress = BUF(progress_bytes);
	file = BUF(file_bytes);
}

enum { SKL = 0x1912, TGL = 0x9a49 }; /* PCI ids of a Skylake GT2 and a Tiger Lake GT2 */

static void add(u8 type, const void *p, size_t n)
{
	put_oarec(&file, false, type, str_of(p, n));
}

static void add_version(u32 version)
{
	const u32 v[2] = { version, 0 };

	add(OT_VERSION, v, sizeof(v));
}

static void add_info(u32 pci, u32 format, const char *name, const char *guid)
{
	char text[1024];
	struct buf b = BUF(text);
	struct oainfo i = { .ts_hz = 77, .pci = pci, .revision = 5, .max_hz = 1000,
			    .format = format, .set = str_z(name), .guid = str_z(guid) };

	put_oainfo(&b, &i);
	add(OT_INFO, b.p, b.n);
}

static void add_sample(char c)
{
	char body[16];

	memset(body, c, sizeof(body));
	add(OT_SAMPLE, body, sizeof(body));
}

static void add_clocks(u32 n)
{
	for (u64 i = 1; i <= n; i++) {
		const u64 v[2] = { 1000 * i, i };

		add(OT_CORRELATION, v, sizeof(v));
	}
}

/* A recording without faults: reports a to e. */
static void add_all(void)
{
	add_version(1);
	add_info(SKL, 10, "Render", "guid-r");
	add_clocks(1);
	for (char c = 'a'; c <= 'e'; c++)
		add_sample(c);
	add_clocks(1);
}

/* Replays the file; checks the exit code, the reports and the only message (NULL: none). */
static void run(int code, const char *reports, const char *message, const char *name)
{
	int got = replay_command();
	bool good = got == code && str_is(str_of(seen.p, seen.n), reports) &&
		    (message ? str_is(str_of(said.p, said.n), message) : said.n == 0);

	if (!check(good, "%s", name)) {
		note("exit code %d, want %d; reports %s, want %s", got, code,
		     show(str_of(seen.p, seen.n)), reports);
		note("said %s", show(str_of(said.p, said.n)));
	}
}

/* --- the file --------------------------------------------------------------------------------- */

static void t_pieces(void)
{
	for (size_t piece = 1; piece < 300; piece = piece * 2 + 1) {
		clear();
		add_all();
		fake.piece = piece;
		fake.interrupts = piece & 2;
		fake.regular = piece < 20;
		replay_command();
		check(str_is(str_of(seen.p, seen.n), "abcde") && said.n == 0 && !fake.bad &&
		      fake.sums == 1, "a recording in pieces of %zu bytes%s", piece,
		      fake.interrupts ? ", interrupted" : "");
		check(fake.regular ? fake.flushed == 0 : fake.flushed > 0, "%s",
		      fake.regular ? "a file: output is written when it fills the buffer" :
		      "a pipe: output is written at once");
	}
	clear();
	opt.oa.platform = oaplatform_by_name(LIT("sklgt2"));
	opt.oa.set = LIT("Render");
	add_sample('a');
	add_sample('b');
	run(EX_OK, "ab", NULL, "a raw stream: the options describe it");
	clear();
	opt.oa.platform = oaplatform_by_name(LIT("lnl"));
	opt.raw = true;
	memset(file.p, 'x', 3 * 576);
	file.n = 2 * oaformat_by_name(str_z(oafamilies[OF_XE2].format))->size;
	fake.piece = 100;
	run(EX_OK, "xx", NULL, "xe: reports without headers");
	clear();
	opt.oa.platform = oaplatform_by_name(LIT("lnl"));
	opt.raw = true;
	add_sample('a');
	add_sample('b');
	run(EX_OK, "ab", NULL, "xe: a raw stream with headers");
	clear();
	opt.oa.platform = oaplatform_by_name(LIT("lnl"));
	opt.raw = true;
	memset(file.p, 'x', 3 * 576);
	file.n = 3u + 2 * oaformat_by_name(str_z(oafamilies[OF_XE2].format))->size;
	replay_command();
	check(recording.headerless && is_said(": a truncated report\n"),
	      "xe: a truncated report is an error");
}

static void t_errors(void)
{
	clear();
	fake.open_error = -EIO;
	run(EX_FAIL, "", "f: EIO\n", "the file cannot be opened: exit code 1");
	clear();
	fake.open_error = -EINTR;
	stopped = 1;
	run(EX_OK, "", NULL, "a signal while the file is opened: no message");
	clear();
	add_all();
	fake.read_error = -EIO;
	run(EX_FAIL, "abcde", "f: EIO\n", "a read error: exit code 1");
	check(fake.bad && fake.sums == 1,
	      "a read error: the sum of the reports before it is shown");
	clear();
	add_all();
	fake.piece = 440;
	fake.stops_at = 1;
	replay_command();
	check(said.n == 0 && seen.n == 0 && !fake.bad, "a signal: no fault is reported");
	clear();
	add_all();
	fake.flush_fails = true;
	fake.regular = false;
	run(EX_FAIL, "abcde", NULL, "a write error at the end of the file: exit code 1");
	clear();
	add_all();
	fake.flush_fails = true;
	fake.regular = false;
	fake.piece = file.n - 60;
	run(EX_FAIL, "abc", NULL,
	    "a write error in the middle of the file: its end is not checked");
	clear();
	add_all();
	lost_record = true;
	run(EX_FAIL, "abcde", NULL, "a record that did not fit into the output: exit code 1");
	clear();
	add_all();
	fake.finish = EX_FAIL;
	run(EX_FAIL, "abcde", NULL, "a write error when the output is finished: exit code 1");
	clear();
	add_all();
	fake.ready = EX_USAGE;
	run(EX_USAGE, "", NULL, "options that the stream does not allow: exit code 2");
	check(fake.sums == 0, "options that the stream does not allow: nothing is shown");
}

static void t_ends(void)
{
	static const struct { size_t cut; const char *what; } rows[] = {
		{ 3, "a truncated record header" }, { 20, "a truncated record, or a wrong size" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		add_all();
		file.n += rows[i].cut < 8 ? rows[i].cut : 0;
		memset(file.p + file.n - 3, 0, 3);
		if (rows[i].cut > 8)
			file.n -= 1;
		replay_command();
		check(str_find(str_of(said.p, said.n), str_z(rows[i].what)) && fake.bad, "%s",
		      rows[i].what);
	}
	clear();
	run(EX_FAIL, "", "f 0: empty\n", "an empty file is an error");
	clear();
	add_version(1);
	add_info(SKL, 10, "Render", "guid-r");
	add_clocks(2);
	replay_command();
	check(is_said(": no report\n"), "a recording without reports is an error");
	clear();
	add_version(1);
	add_info(SKL, 10, "Render", "guid-r");
	add_clocks(2);
	add_sample('a');
	replay_command();
	check(fake.sums == 0 && is_said(": only one report: two are required to count\n"),
	      "a recording with one report is an error");
	for (u32 n = 0; n < 3; n++) {
		clear();
		add_version(1);
		add_info(SKL, 10, "Render", "guid-r");
		add_clocks(n);
		add_sample('a');
		add_sample('b');
		replay_command();
		check(n == 2 ? is_said(NULL) : is_said(n ? ": only one correlation of the clocks\n" :
		      ": no correlation of the clocks: no CPU times\n"),
		      "%u clock correlations: two are required", n);
	}
}

static void t_records(void)
{
	char text[100];
	size_t lines = 0;

	clear();
	add_all();
	add(OT_REPORT_LOST, "", 0);
	add(OT_BUFFER_LOST, "", 0);
	run(EX_OK, "abcde?!", NULL, "lost reports and lost buffers are passed on");
	check(stream.cpu_ns == 1000 && stream.gpu_ts == 1 && stream.correlations == 2,
	      "both clock correlations are passed on");
	clear();
	add_version(2);
	add_info(SKL, 10, "Render", "guid-r");
	add_clocks(2);
	add_sample('a');
	add_sample('b');
	run(EX_FAIL, "ab", "f 0: unknown recording version: read as version 1\n",
	    "version 2: read as version 1, with a message");
	clear();
	add_all();
	snprintf(text, sizeof(text), "f %zu: device info after the first report\n", file.n);
	add_info(TGL, 10, "", "");
	run(EX_FAIL, "abcde", text, "a second device record: a message with its file position");
	clear();
	add_all();
	add(OT_CORRELATION, "abc", 3);
	replay_command();
	check(is_said(": a clock correlation is too small\n"),
	      "a clock correlation that is too short: a message");
	clear();
	add_all();
	add(OT_SAMPLE, "abc", 3);
	snprintf(text, sizeof(text), "f %zu: a sample too small for its format\n", file.n - 11);
	fake.piece = 300;
	run(EX_FAIL, "abcde", text,
	    "a sample that is too short: its file position is right in a later read");
	clear();
	add_version(1);
	add(OT_INFO, "abc", 3);
	add_clocks(2);
	replay_command();
	check(is_said("f 16: the device info is too small\n"),
	      "a device record that is too short: a message");
	clear();
	add_all();
	memset(file.p + file.n, 0, 8);
	file.n += 8;
	add_sample('z');
	replay_command();
	check(is_said(": a record has an impossible size; the rest is not read\n") && seen.n == 5,
	      "a record with an impossible size ends the reading");
	clear();
	add_all();
	for (u32 i = 0; i < 10; i++)
		add(OT_SAMPLE, "abc", 3);
	replay_command();
	for (size_t i = 0; i < said.n; i++)
		lines += said.p[i] == '\n';
	check(recording.nfaults == 10 && lines == 9 &&
	      is_said("2 more errors in this file are not shown\n"),
	      "ten errors: eight are shown, two are counted");
}

/* --- the set and the device ------------------------------------------------------------------- */

static void prepare(bool with_info, u32 pci, u32 format, const char *name, const char *guid)
{
	clear();
	add_version(1);
	if (with_info)
		add_info(pci, format, name, guid);
	add_clocks(2);
	add_sample('a');
	add_sample('b');
}

/* Replays the file; checks the metric set and the platform of the stream, and the message. */
static void got(const char *guid, const char *platform, const char *message, const char *name)
{
	replay_command();
	if (!check(strcmp(stream.has_set ? stream.set.guid : "", guid) == 0 &&
		   strcmp(stream.platform ? stream.platform->name : "", platform) == 0, "%s", name))
		note("got %s for %s", stream.has_set ? stream.set.guid : "no set",
		     stream.platform ? stream.platform->name : "no platform");
	check(is_said(message), "%s: message", name);
}

static void t_sets(void)
{
	prepare(true, SKL, 10, "Render", "guid-r");
	got("guid-r", "sklgt2", NULL, "the recorded name: the metric set of this platform");
	prepare(true, TGL, 10, "Render", "guid-r");
	got("guid-t", "tglgt2", NULL,
	    "the recorded name: the metric set of this platform, not that of the GUID");
	prepare(true, TGL, 10, "Other", "guid-r");
	got("guid-r", "tglgt2", "no metric set has the name Other: the set with the recorded GUID is used\n",
	    "an unknown name: the metric set with the recorded GUID");
	prepare(true, SKL, 10, "Copy", "guid-x");
	got("guid-c", "sklgt2", "metric set Copy is used although it is for another GPU\n",
	    "an unknown GUID: the metric set of another platform with this name");
	prepare(true, 0xffff, 10, "Copy", "guid-c");
	got("guid-c", "tglgt2", "f 16: the device's PCI id is unknown: use --platform NAME\n",
	    "an unknown device: the platform of its metric set");
	prepare(true, 0xffff, 10, "Copy", "guid-x");
	got("guid-c", "tglgt2", "metric set Copy is used although the GPU is unknown\n",
	    "an unknown device and GUID: the metric set with the recorded name");
	prepare(true, SKL, 10, "Other", "guid-x");
	got("guid-b", "sklgt2", "Basic is used instead of the unknown metric set Other; others are in "
	    "oa-*.xml of IGT GPU Tools and Mesa: use --metrics FILE\nf 16: unknown metric set\n",
	    "an unknown metric set: Basic is used");
	check(!opt.raw, "an unknown metric set: Basic can be evaluated");
	prepare(true, TGL, 10, "Other", "guid-x");
	got("", "tglgt2", "raw counters are used instead of the unknown metric set Other; others are in "
	    "oa-*.xml of IGT GPU Tools and Mesa: use --metrics FILE\nf 16: unknown metric set\n",
	    "an unknown metric set, and no Basic for the platform");
	check(opt.raw, "no metric set: raw counters are shown");
	prepare(true, 0xffff, 10, "Other", "guid-x");
	got("", "", "raw counters are used instead of the unknown metric set Other",
	    "an unknown device and metric set: raw counters");
	prepare(true, SKL, 10, "Render", "guid-r");
	opt.oa.set = LIT("guid-c");
	got("guid-c", "sklgt2", NULL, "-m GUID: the metric set with this GUID");
	prepare(true, SKL, 10, "Other", "guid-r");
	opt.oa.set = LIT("Nothing");
	got("", "sklgt2", NULL,
	    "-m with an unknown name: neither the recorded GUID nor Basic is used");
	check(str_is(fake.unknown, "Nothing") && recording.exit_code == EX_USAGE && !fake.sums,
	      "-m with an unknown name: a usage error");
	prepare(true, SKL, 10, "Render", "guid-r");
	opt.raw = true;
	got("", "sklgt2", NULL, "--raw requires no metric set");
	prepare(true, SKL, 10, "Render", "guid-r");
	opt.oa.platform = oaplatform_by_name(LIT("tglgt2"));
	got("guid-t", "tglgt2", NULL, "--platform: the metric set of this platform");
	prepare(true, SKL, 10, "", "");
	got("guid-b", "sklgt2", NULL, "no recorded metric set: Basic is used");
}

static void t_devices(void)
{
	static const char numbers[] = "GraphicsVersion 3003\nSqidiTotalCount 4\nEuThreadsCount 10\n\0\0";

	prepare(true, SKL, 10, "Render", "guid-r");
	replay_command();
	check(stream.ts_hz == 77 && stream.dev.var[OV_REVISION] == 5 &&
	      stream.dev.var[OV_MAX_HZ] == 1000 && stream.format == oaformat_by_number(false, 10) &&
	      stream.exponent == -1 && !stream.dev.xe,
	      "the stream has the properties of the recorded device");
	prepare(true, SKL, 99, "Render", "guid-r");
	replay_command();
	check(stream.format == oaformat_by_name(str_z(oafamilies[OF_GEN9].format)) &&
	      is_said("f 16: unknown report format\n"),
	      "an unknown report format: the format of the platform");
	prepare(true, SKL, 10, "Render", "guid-r");
	opt.oa.props.format = oaformat_by_name(LIT("A12"));
	replay_command();
	check(stream.format == opt.oa.props.format, "-o with a report format: this format is used");
	prepare(true, 0xffff, 99, "Render", "guid-r");
	run(EX_FAIL, "", "f 16: unknown report format\n"
	    "f 16: the device's PCI id is unknown: use --platform NAME\n",
	    "an unknown device and report format: an error");
	prepare(true, SKL, 10, "Render", "guid-r");
	memset(file.p + 16 + 8, 0, 8); /* ts_hz */
	replay_command();
	check(stream.ts_hz == 12000000, "no recorded clock frequency: that of the platform");
	prepare(false, 0, 0, "", "");
	run(EX_FAIL, "", "f 64: no device info before the first report\n"
	    "f 64: the GPU is unknown: use --platform NAME\n", "no device record: an error");
	prepare(false, 0, 0, "", "");
	opt.oa.platform = oaplatform_by_name(LIT("sklgt2"));
	run(EX_FAIL, "ab", "f 64: no device info before the first report\n",
	    "no device record, but --platform: the reports are read");
	check(stream.ts_hz == 12000000,
	      "no device record, but --platform: the clock frequency of the platform");
	prepare(true, SKL, 10, "Render", "guid-r");
	opt.oa.props.has_ctx = true;
	opt.oa.props.ctx = 6;
	run(EX_OK, "ab", NULL, "--ctx: all reports are read");
	check(stream.filtered && stream.filter.ctx == 6, "--ctx: the reports are filtered");
	prepare(true, SKL, 10, "Render", "guid-r");
	opt.oa.props.has_ctx = true;
	opt.oa.props.format = oaformat_by_name(LIT("A13"));
	run(EX_USAGE, "", "--ctx: the reports of this GPU do not say which context ran\n",
	    "--ctx with reports of Haswell: an error");
	prepare(true, 0xffff, 10, "Copy", "guid-x");
	memset(file.p + 16 + 8, 0, 8); /* ts_hz */
	opt.interval = 1;
	opt.raw = true;
	replay_command();
	check(is_said("f 16: the clock frequency is unknown: one sum of all, no intervals\n"),
	      "an interval without a clock frequency: one sum, with a message");
	prepare(true, SKL, 10, "Render", "guid-r");
	file.n = 16;
	add_info(SKL, 10, "Render", "guid-r");
	add(OT_TOPOLOGY, "\1\2\3", 3);
	add_clocks(2);
	add_sample('a');
	add_sample('b');
	replay_command();
	check(is_said(": the topology is invalid\n"), "an invalid topology: a message");
	prepare(true, 0xffff, 10, "Render", "guid-r");
	file.n = 16;
	add_info(0xffff, 10, "Render", "guid-r");
	add(OT_NUMBERS, numbers, sizeof(numbers));
	add_clocks(2);
	add_sample('a');
	add_sample('b');
	opt.raw = true;
	replay_command();
	check(is_said(NULL) && stream.platform && stream.platform->family == OF_XE2 &&
	      stream.dev.var[OV_SQIDI] == 4 && stream.dev.var[OV_THREADS] == 10 && stream.dev.var[OV_TS_HZ] == 77,
	      "an unknown PCI id: the platform of the recorded IP version");
}

static void t_modes(void)
{
	static const struct { bool totals, contexts; i64 interval; bool reports; } rows[] = {
		{ false, false, 0, true }, { true, false, 0, false }, { false, true, 0, false },
		{ false, false, 5, false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		add_all();
		opt.oa.totals = rows[i].totals;
		opt.oa.contexts = rows[i].contexts;
		opt.interval = rows[i].interval;
		replay_command();
		check(opt.oa.reports == rows[i].reports, "mode %zu: reports %s", i,
		      rows[i].reports ? "are shown" : "are summed");
	}
}

/* Runs first: the delay of the progress is counted from the start of the program. */
static void t_progress(void)
{
	clear();
	fake.terminal = true;
	add_all();
	replay_command();
	check(progress.n == 0, "a short run shows no progress");
	clear();
	fake.terminal = true;
	add_all();
	fake.piece = file.n / 4 + 1;
	replay_command();
	check_str(str_of(progress.p, progress.n), "\r\033[K50 %\r\033[K75 %\r\033[K100 %\r\033[K",
		  "a file: progress in percent after half a second");
	clear();
	fake.terminal = true;
	fake.regular = false;
	add_all();
	fake.piece = file.n / 2 + 1;
	replay_command();
	check_str(str_of(progress.p, progress.n), "\r\033[K0 MiB\r\033[K0 MiB\r\033[K",
		  "a pipe: progress in MiB");
	clear();
	fake.terminal = opt.quiet = true;
	add_all();
	replay_command();
	check(progress.n == 0, "-q shows no progress");
	clear();
	add_all();
	replay_command();
	check(progress.n == 0, "without a terminal there is no progress");
}

/* --- EU stalls -------------------------------------------------------------------------------- */

static void add_stalls(u8 type, const char *letters, size_t rest)
{
	char body[8 + 4 * STALL_BYTES + 8] = { 0 };
	const u64 ns = 1000;
	size_t n = sizeof(ns);

	memcpy(body, &ns, sizeof(ns));
	for (; *letters; letters++, n += STALL_BYTES)
		memset(body + n, *letters, STALL_BYTES);
	add(type, body, n + rest);
}

static void begin_stalls(u32 version)
{
	clear();
	opt.out.kind = K_STALL;
	add_version(1);
	add_info(SKL, version, "", "");
}

static void t_stalls(void)
{
	static const u32 versions[][2] = { { 12, 0 }, { 30, 20 }, { 35, 35 } };

	for (size_t i = 0; i < LEN(versions); i++) {
		char want[32];

		begin_stalls(versions[i][0]);
		add_stalls(OT_STALLS, "", 0);
		add_stalls(OT_STALLS, "ab", 0);
		add_stalls(OT_STALLS_LOST, "", 0);
		add_stalls(OT_STALLS, "c", 0);
		snprintf(want, sizeof(want), "%u++ab?+c", versions[i][1]);
		run(EX_OK, want, NULL, "stalls: samples and losses, in the layout of the recorded GPU");
	}
	begin_stalls(20);
	add_stalls(OT_STALLS, "a", 5);
	run(EX_FAIL, "20+a", "f 360: an incomplete sample\n", "stalls: an incomplete sample is a fault");
	begin_stalls(20);
	add_sample('a');
	add_stalls(OT_STALLS, "b", 0);
	run(EX_FAIL, "20+b", "f 360: an OA report: use gpustat oa\n", "stalls: a report of the OA unit is a fault");
	clear();
	opt.out.kind = K_STALL;
	opt.oa.platform = oaplatform_by_name((struct str)STR("pvc"));
	for (char c = 'a'; c <= 'c'; c++) {
		char sample[STALL_BYTES];

		memset(sample, c, sizeof(sample));
		put_str(&file, str_of(sample, sizeof(sample)));
	}
	run(EX_OK, "0-a-b-c", NULL, "stalls: samples without headers, with --platform");
	clear();
	add_all();
	add_stalls(OT_STALLS, "f", 0);
	run(EX_FAIL, "abcde", "f 528: samples of EU stalls: use gpustat oa stalls\n", "oa: samples of EU stalls are a fault");
	opt.out.kind = K_OA;
	opt.oa.platform = NULL;
}

int main(void)
{
	t_progress();
	t_pieces();
	t_errors();
	t_ends();
	t_records();
	t_sets();
	t_devices();
	t_modes();
	t_stalls();
	return unit_end();
}
