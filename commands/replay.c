/* replay.c - gpustat oa --replay, oa stalls --replay: reads a recording, or the bytes that read(2)
 * of a stream returned.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sys.h"

enum { CARRY_BYTES = 1 << 16 /* bytes of the longest record */ };
enum { MAX_FAULTS = 8, DETECT_BYTES = 16, PROGRESS_DELAY = 500000000 /* ns */ };

/* --- errors in the file ----------------------------------------------------------------------- */

static struct recording {
	/* The bytes of the last read(2), in oa_bytes. If the read before ended with an incomplete
	 * record, that part is copied in front of them. read(2) stores at the start of a page,
	 * where copying is faster. */
	char *chunk;
	u64 chunk_at;             /* offset in the replayed file of the first byte in `chunk` */
	/* is_recording: true if the file is a recording (--record), false if it has the bytes that
	 * a program read from the kernel's stream */
	bool is_recording, is_xe;
	/* the replayed file has no record headers, only the reports or samples that the xe driver
	 * returned */
	bool headerless;
	bool ready, faulty;
	u64 nfaults;
	/* exit code with which reading of the file must end; -1 while reading continues */
	int exit_code;
	struct oainfo info;
	u64 info_at;
	bool has_info;
	size_t topology_n, numbers_n;
} recording = { .exit_code = -1 };

/* Copies of parts of the recording that are used after the next read(2) has overwritten `chunk`. */
static struct copies {
	char topology[TOPOLOGY_BYTES], numbers[NUMBERS_BYTES], set[256], guid[40];
} copies;

static void fault_add(u64 at, const char *what)
{
	recording.faulty = true;
	if (recording.nfaults++ < MAX_FAULTS)
		say_at(opt.oa.replay, at, what);
}

static void say_set(const char *a, struct str name, const char *b)
{
	char text[300];

	str_copy(text, sizeof(text), name);
	say(a, text, b);
}

/* --- functions that find the metric set and the device of a recording ------------------------- */

/* Finds the metric set of a recording by name for its platform; else by guid, which identifies it
 * better than a name that all platforms have; else by name for another platform. Returns false if
 * no source has the set. */
static bool set_find_recorded(struct str name, struct str guid)
{
	const struct oaplatform *p = stream.platform;
	struct oaset *s = &stream.set;

	if ((p && set_find(name, false, p, s)) || set_find(name, true, NULL, s))
		return true;
	if (set_find(guid, true, NULL, s)) {
		if (p || !str_eq(name, s->name))
			say_set("no metric set has the name ", name,
				": the set with the recorded GUID is used");
		return true;
	}
	if (!set_find(name, false, NULL, s))
		return false;
	say_set("metric set ", name, p ?
		" is used although it is for another GPU" :
		" is used although the GPU is unknown");
	return true;
}

/* Chooses the metric set of -m, else the one that the recording names, else Basic: most counters of
 * Basic have fixed events, whatever set was recorded. at: offset of the first report. Returns an
 * exit code, or -1 on success. */
static int choose_set(u64 at)
{
	static const struct str basic = STR("Basic"), none = { 0 };
	struct str name = opt.oa.set.p ? opt.oa.set : str_z(copies.set);

	if (opt.raw && !opt.oa.set.p)
		return -1;
	stream.has_set = name.p < name.e &&
		set_find_recorded(name, opt.oa.set.p ? none : str_z(copies.guid));
	if (opt.raw && stream.has_set) {
		/* With --raw only raw counters are printed: the equations of the metric set are not
		 * used. */
		stream.has_set = false;
		return -1;
	}
	if (stream.has_set) {
		if (!stream.platform)
			stream.platform = oaplatform_by_name(stream.set.chipset);
		return -1;
	}
	if (opt.oa.set.p)
		return set_unknown(opt.oa.set);
	stream.has_set = stream.platform && set_find(basic, false, stream.platform, &stream.set);
	if (name.p < name.e) {
		say_set(stream.has_set ? "Basic is used instead of the unknown metric set " :
			"raw counters are used instead of the unknown metric set ", name,
			"; " METRICS_REMEDY);
		fault_add(recording.has_info ? recording.info_at : at, "unknown metric set");
	}
	opt.raw |= !stream.has_set;
	return -1;
}

/* Initializes the description of the recorded device. p: its platform; if it is unknown (NULL), the
 * platform is found by the numbers of the GPU in the recording. */
static void device_begin(const struct oaplatform *p)
{
	oadevice_init(&stream.dev, recording.has_info ? recording.info.pci : 0, p);
	oadevice_read(&stream.dev, str_of(copies.numbers, recording.numbers_n));
	stream.platform = stream.dev.platform;
}

/* Prepares the stream for the first report, which is at the offset `at` of the replayed file. The
 * records that describe the stream come before this report. */
static void replay_prepare(u64 at)
{
	const struct oaformat *f = opt.oa.props.format;

	recording.ready = true;
	device_begin(opt.oa.platform ? opt.oa.platform :
		     recording.has_info ? oaplatform_by_pci(recording.info.pci) : NULL);
	if (!f && recording.has_info)
		f = oaformat_by_number(recording.is_xe, recording.info.format);
	if (recording.has_info && !f)
		fault_add(recording.info_at, "unknown report format");
	if (recording.has_info && !stream.platform)
		fault_add(recording.info_at,
			  "the device's PCI id is unknown: use --platform NAME");
	if (!f && stream.platform)
		f = oaformat_by_name(str_z(oafamilies[stream.platform->family].format));
	if (recording.is_recording && !recording.has_info)
		fault_add(at, "no device info before the first report");
	stream.format = f;
	if (!f) {
		if (!recording.has_info)
			fault_add(at, "the GPU is unknown: use --platform NAME");
		recording.exit_code = EX_FAIL;
		return;
	}
	recording.exit_code = choose_set(at);
	if (recording.exit_code >= 0)
		return;
	device_begin(stream.platform);
	stream.dev.xe = recording.is_xe || (stream.platform && stream.platform->xe);
	if (recording.topology_n &&
	    !oadevice_topology(&stream.dev,
			       str_of(copies.topology, recording.topology_n)))
		fault_add(at, "the topology is invalid");
	if (recording.has_info) {
		stream.dev.var[OV_REVISION] = recording.info.revision;
		stream.dev.var[OV_MAX_HZ] = recording.info.max_hz;
		if (recording.info.ts_hz)
			stream.dev.var[OV_TS_HZ] = recording.info.ts_hz;
	}
	stream.ts_hz = stream.dev.var[OV_TS_HZ];
	if (!stream.ts_hz && opt.interval)
		fault_add(recording.has_info ? recording.info_at : at,
			  "the clock frequency is unknown: one sum of all, no intervals");
	stream.filtered = opt.oa.props.has_ctx;
	stream.filter.ctx = opt.oa.props.ctx;
	if (stream.filtered && stream.format->head == OH_GEN7)
		recording.exit_code =
			usage_z("--ctx: the reports of this GPU do not say which context ran");
	else
		recording.exit_code = stream_ready();
}

/* --- records of a recording ------------------------------------------------------------------- */

static void report_read(struct str body, u64 at)
{
	const char *fault = stream_report(body);

	if (fault)
		fault_add(at, fault);
}

static bool is_stalls(void)
{
	return opt.out.kind == K_STALL;
}

/* Prepares for the first samples of EU stalls. Their layout is found by the GPU's version: that of
 * --platform, else the number of the format in a recording. */
static void stalls_prepare(u64 at)
{
	recording.ready = true;
	if (opt.oa.platform)
		stalls_begin(stallformat_of(opt.oa.platform->gen / 100));
	else if (recording.has_info)
		stalls_begin(stallformat_of(recording.info.format));
	else
		fault_add(at, "the GPU is unknown: use --platform NAME");
	if (!opt.oa.platform && !recording.has_info)
		recording.exit_code = EX_FAIL;
}

/* Processes one record of a recording: samples of EU stalls, or the loss of such samples. */
static void stalls_read_record(const struct oarec *r, u64 at)
{
	struct str samples;
	u64 ns;

	if (!is_stalls()) {
		fault_add(at, "samples of EU stalls: use gpustat oa stalls");
		return;
	}
	if (!recording.ready)
		stalls_prepare(at);
	if (recording.exit_code >= 0)
		return;
	if (!oarec_stalls(r->body, &ns, &samples))
		fault_add(at, "samples without their time");
	else if (r->type == OT_STALLS_LOST)
		stalls_lost(ns);
	else if (!stalls_add(ns, samples))
		fault_add(at, "an incomplete sample");
}

static void sample_read(struct str body, u64 at)
{
	if (is_stalls()) {
		fault_add(at, "an OA report: use gpustat oa");
		return;
	}
	if (!recording.ready)
		replay_prepare(at);
	if (recording.exit_code >= 0)
		return;
	report_read(body, at);
}

static void info_read(struct str body, u64 at)
{
	if (recording.ready) {
		fault_add(at, "device info after the first report");
		return;
	}
	recording.has_info = oarec_info(body, &recording.info);
	recording.info_at = at;
	if (!recording.has_info) {
		fault_add(at, "the device info is too small");
		return;
	}
	str_copy(copies.set, sizeof(copies.set), recording.info.set);
	str_copy(copies.guid, sizeof(copies.guid), recording.info.guid);
}

/* Copies the body of a record (its bytes after the header), at most cap bytes. Returns the number
 * of copied bytes. */
static size_t body_copy(char *to, size_t cap, struct str body)
{
	size_t n = str_len(body) < cap ? str_len(body) : cap;

	memcpy(to, body.p, n);
	return n;
}

static void record_read(const struct oarec *r, u64 at)
{
	u32 version;
	u64 cpu_ns, gpu_ts;

	switch (r->type) {
	case OT_SAMPLE:
		sample_read(r->body, at);
		break;
	case OT_REPORT_LOST:
	case OT_BUFFER_LOST:
		if (is_stalls())
			fault_add(at, "a record of OA reports: use gpustat oa");
		else
			stream_lost(r->type == OT_BUFFER_LOST);
		break;
	case OT_STALLS:
	case OT_STALLS_LOST:
		stalls_read_record(r, at);
		break;
	case OT_VERSION:
		if (!oarec_version(r->body, &version) || version != 1)
			fault_add(at, "unknown recording version: read as version 1");
		break;
	case OT_INFO:
		info_read(r->body, at);
		break;
	case OT_TOPOLOGY:
		recording.topology_n = body_copy(copies.topology, TOPOLOGY_BYTES, r->body);
		break;
	case OT_NUMBERS:
		recording.numbers_n = body_copy(copies.numbers, NUMBERS_BYTES, r->body);
		break;
	case OT_CORRELATION:
		if (oarec_correlation(r->body, &cpu_ns, &gpu_ts))
			stream_correlate(cpu_ns, gpu_ts);
		else
			fault_add(at, "a clock correlation is too small");
		break;
	default:
		break;
	}
}

/* Processes all complete reports, or samples of EU stalls, of a stream without record headers.
 * Returns the incomplete rest at the end of `bytes`. */
static struct str headerless_read(struct str bytes)
{
	size_t size = is_stalls() ? STALL_BYTES : stream.format->size;

	for (; str_len(bytes) >= size && !stream.failed && !stopped; bytes.p += size)
		if (is_stalls())
			stalls_add(0, str_of(bytes.p, size));
		else
			report_read(str_of(bytes.p, size),
				    recording.chunk_at + (u64)(bytes.p - recording.chunk));
	return bytes;
}

/* Processes all complete records in `bytes`. Returns the incomplete rest at the end. */
static struct str records_read(struct str bytes)
{
	struct oarec r;

	if (recording.headerless)
		return headerless_read(bytes);
	while (recording.exit_code < 0 && !stream.failed && !stopped) {
		u64 at = recording.chunk_at + (u64)(bytes.p - recording.chunk);

		if (!oarec_next(&bytes, recording.is_xe, &r))
			break;
		if (r.type == OT_CORRUPT) {
			fault_add(at,
				  "a record has an impossible size; the rest is not read");
			recording.exit_code = EX_FAIL;
			break;
		}
		record_read(&r, at);
	}
	return bytes;
}

/* Finds from its first bytes whether the file is a recording, or a stream with or without record
 * headers. */
static void detect_type(struct str bytes)
{
	u32 type = 0;

	recording.is_recording = oarec_is_recording(bytes, &recording.is_xe);
	if (is_stalls() && !recording.is_recording) {
		stalls_prepare(0);
		recording.headerless = recording.exit_code < 0;
		if (recording.headerless && opt.interval)
			fault_add(0, "a stream without headers has no times: one sum of all");
		return;
	}
	if (recording.is_recording || !opt.oa.platform || !opt.oa.platform->xe)
		return;
	/* oarec_next() requires a complete record; a pipe may have delivered only the header. */
	if (str_len(bytes) >= sizeof(type))
		memcpy(&type, bytes.p, sizeof(type));
	if (type >= 1 && type <= OT_BUFFER_LOST + 1)
		return;
	replay_prepare(0);
	recording.headerless = recording.exit_code < 0;
}

/* --- reading of the file ---------------------------------------------------------------------- */

/* Shows on standard error how much of the file was read, if standard error is a terminal and the
 * output is not. */
static void show_progress(u64 done, u64 size, bool end)
{
	static i64 begun, shown;
	static bool any;
	char text[64];
	struct buf b = BUF(text);
	i64 now = sys_now(CLOCK_MONOTONIC);

	begun = begun ? begun : now;
	if (opt.quiet || sys_columns(2) < 0 || sys_columns(out_fd) >= 0 ||
	    (end ? !any : now < begun + PROGRESS_DELAY || now < shown + PROGRESS_DELAY / 5))
		return;
	shown = now;
	any = true;
	put_z(&b, "\r\033[K");
	if (!end) {
		put_u64(&b, size ? muldiv(done, 100, size) : done >> 20);
		put_z(&b, size ? " %" : " MiB");
	}
	sys_write(2, b.p, b.n);
}

/* Prints the errors in the replayed file that are known only at its end. rest: the bytes after the
 * last complete record. size: size of the file in bytes. */
static void check_end(struct str rest, u64 size)
{
	u64 at = recording.chunk_at + (u64)(rest.p - recording.chunk);

	if (rest.p < rest.e && recording.exit_code < 0)
		fault_add(at, recording.headerless ? is_stalls() ? "an incomplete sample" :
						     "a truncated report" :
			      str_len(rest) < 8 ? "a truncated record header" :
						  "a truncated record, or a wrong size");
	if (size == 0)
		fault_add(0, "empty");
	else if (recording.exit_code < 0 && stream.seen == 0)
		fault_add(size, is_stalls() ? "no samples of EU stalls" : "no report");
	else if (recording.exit_code < 0 && stream.seen == 1 && !is_stalls())
		fault_add(size, "only one report: two are required to count");
	if (size && recording.is_recording && stream.correlations < 2 && recording.exit_code < 0 &&
	    !is_stalls())
		fault_add(size, stream.correlations ?
			  "only one correlation of the clocks" :
			  "no correlation of the clocks: no CPU times");
	if (recording.nfaults > MAX_FAULTS)
		say_number(recording.nfaults - MAX_FAULTS,
			   " more errors in this file are not shown");
}

static long open_replay(u64 *size)
{
	struct stat st;
	long fd = strcmp(opt.oa.replay, "-") == 0 ? 0 : file_open(opt.oa.replay, O_RDONLY);

	*size = fd >= 0 && sys_fstat((int)fd, &st) == 0 && S_ISREG(st.st_mode) ?
		(u64)st.st_size : 0;
	return fd;
}

int replay(void)
{
	struct str rest;
	u64 size, done = 0;
	long fd = open_replay(&size), n = 0;
	bool detected = false;
	int code;

	if (fd >= 0 && table_all(&oa_bytes_table) <= CARRY_BYTES)
		fd = -ENOMEM;
	if (fd < 0) {
		if (!stopped)
			say_error(opt.oa.replay, fd);
		return stopped ? EX_OK : EX_FAIL;
	}
	recording.chunk = oa_bytes + CARRY_BYTES;
	rest = str_of(recording.chunk, 0);
	confine_to_opened();
	stream.exponent = -1;
	opt.oa.reports |= !opt.oa.totals && !opt.oa.contexts && !opt.interval;
	while (recording.exit_code < 0 && !stream.failed && !stopped) {
		size_t had = str_len(rest);

		stream_keep_last();
		memmove(recording.chunk - had, rest.p, had);
		recording.chunk_at = done;
		n = sys_read((int)fd, recording.chunk, oa_bytes_table.ready - CARRY_BYTES);
		rest = (struct str){ recording.chunk - had, recording.chunk + (n > 0 ? n : 0) };
		if (n == -EINTR)
			continue;
		if (n < 0 || (n == 0 && (detected || !had)))
			break;
		done += (u64)n;
		if (n > 0 && !detected && str_len(rest) < DETECT_BYTES)
			continue;
		if (!detected)
			detect_type(rest);
		detected = true;
		rest = records_read(rest);
		/* the size of a pipe is 0: write now, because more data may come much later */
		if (!size)
			stream.failed |= !flush();
		show_progress(done, size, false);
	}
	if (!detected)
		rest = records_read(rest);
	show_progress(done, size, true);
	if (recording.exit_code == EX_USAGE)
		return recording.exit_code;
	if (stream.deltas > 0)
		stream_emit_sum();
	if (n < 0 && n != -EINTR) {
		recording.faulty = true;
		say_error(opt.oa.replay, n);
	} else if (!stopped && !stream.failed) {
		check_end(rest, done);
	}
	code = is_stalls() ? stalls_finish() : stream_finish(recording.faulty);
	return code != EX_OK || stream.failed || recording.faulty || lost_record ? EX_FAIL : EX_OK;
}
