/* replay.c - gpustat oa --replay: a recording, or what a stream's read(2) gave. SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

enum { CARRY_BYTES = 1 << 16 /* the longest record */ };
enum { MAX_COMPLAINTS = 8, LOOK_BYTES = 16, PATIENCE = 500000000 /* ns */ };

/* The bytes of the last read, in oa_bytes: they stand behind the rest of a record, and at a page, where copies are faster. */
static char *chunk;
static u64 chunk_at;             /* where it lies in the file */
static bool is_recording, is_xe; /* else a raw stream */
static bool bare;                /* reports without headers: what xe gives */
static bool ready, broken;
static u64 complaints;
static int verdict = -1; /* an exit code: go no further */

static struct oainfo info;
static u64 info_at;
static bool has_info;
static char set_name[256], set_guid[40];
static char topology[TOPOLOGY_BYTES];
static size_t topology_n;

/* --- what is wrong ------------------------------------------------------------------------------------------ */

static void complain(u64 at, const char *what)
{
	broken = true;
	if (complaints++ < MAX_COMPLAINTS)
		say_at(opt.oa.replay, at, what);
}

static void note(const char *a, struct str name, const char *b)
{
	char text[300];

	device_set(text, sizeof(text), name);
	say(a, text, b);
}

/* --- the set and the device ----------------------------------------------------------------------------------- */

/* Of that name for this platform; by its guid, which says more than a name that all platforms have; of that name for
 * another one. */
static bool find_anywhere(struct str name, struct str guid)
{
	const struct oaplatform *p = stream.platform;
	struct oaset *s = &stream.set;

	if ((p && set_find(name, false, p, s)) || set_find(name, true, NULL, s))
		return true;
	if (set_find(guid, true, NULL, s)) {
		if (p || !str_eq(name, s->name))
			note("metric set ", name, " was found by its guid only");
		return true;
	}
	if (!set_find(name, false, NULL, s))
		return false;
	note("metric set ", name, p ? " is that of another GPU" : " was found by its name only");
	return true;
}

static void choose_set(u64 at)
{
	static const struct str basic = STR("Basic"), none = { 0 };
	struct str name = opt.oa.set.p ? opt.oa.set : str_z(set_name);

	if (opt.raw)
		return;
	stream.has_set = name.p < name.e && find_anywhere(name, opt.oa.set.p ? none : str_z(set_guid));
	if (stream.has_set) {
		if (!stream.platform)
			stream.platform = oaplatform_named(stream.set.chipset);
		return;
	}
	stream.has_set = stream.platform && set_find(basic, false, stream.platform, &stream.set);
	if (name.p < name.e) {
		note("metric set ", name, stream.has_set ? " is not known: Basic instead; --metrics FILE would tell" :
							   " is not known: the report's own counters; --metrics FILE would tell");
		complain(has_info ? info_at : at, "unknown metric set");
	}
	opt.raw |= !stream.has_set;
}

/* Before the first report, which is at `at`: everything that could be said of it has been said. */
static void make_ready(u64 at)
{
	const struct oaformat *f = opt.oa.props.format;

	ready = true;
	stream.platform = opt.oa.platform ? opt.oa.platform : has_info ? oaplatform_of(info.pci) : NULL;
	if (!f && has_info)
		f = oaformat_recorded(is_xe, info.format);
	if (has_info && !f)
		complain(info_at, "unknown report format");
	if (has_info && !stream.platform)
		complain(info_at, "the device's PCI id is not known: --platform says which GPU it is");
	if (!f && stream.platform)
		f = oaformat_named(str_z(oafamilies[stream.platform->family].format));
	if (is_recording && !has_info)
		complain(at, "a report, but no device info before it");
	stream.format = f;
	if (!f) {
		if (!has_info)
			complain(at, "not said of which GPU: --platform NAME");
		verdict = EX_FAIL;
		return;
	}
	choose_set(at);
	oadevice_init(&stream.dev, has_info ? info.pci : 0, stream.platform);
	stream.dev.xe = is_xe || (stream.platform && stream.platform->xe);
	if (topology_n && !oadevice_topology(&stream.dev, (struct str){ topology, topology + topology_n }))
		complain(at, "the topology makes no sense");
	if (has_info) {
		stream.dev.var[OV_REVISION] = info.revision;
		stream.dev.var[OV_MAX_HZ] = info.max_hz;
		if (info.ts_hz)
			stream.dev.var[OV_TS_HZ] = info.ts_hz;
	}
	stream.ts_hz = stream.dev.var[OV_TS_HZ];
	if (!stream.ts_hz && opt.interval)
		complain(has_info ? info_at : at, "not said how fast the clock is: no intervals, but the sum of all");
	stream.filtered = opt.oa.props.has_ctx;
	stream.filter.ctx = opt.oa.props.ctx;
	if (stream.filtered && stream.format->head == OH_GEN7)
		verdict = usage_z("--ctx: the reports of this GPU do not say which context ran");
	else
		verdict = stream_ready();
}

/* --- records -------------------------------------------------------------------------------------------------- */

static void take_sample(struct str body, u64 at)
{
	if (!ready)
		make_ready(at);
	if (verdict >= 0)
		return;
	if (!stream_report(body))
		complain(at, "a sample too small for its format");
}

static void take_info(struct str body, u64 at)
{
	if (ready) {
		complain(at, "device info behind the first report");
		return;
	}
	has_info = oarec_info(body, &info);
	info_at = at;
	if (!has_info) {
		complain(at, "the device info is too small");
		return;
	}
	device_set(set_name, sizeof(set_name), info.set);
	device_set(set_guid, sizeof(set_guid), info.guid);
}

static void take_record(const struct oarec *r, u64 at)
{
	u32 version;

	switch (r->type) {
	case OT_SAMPLE:
		take_sample(r->body, at);
		break;
	case OT_REPORT_LOST:
	case OT_BUFFER_LOST:
		stream_lost(r->type == OT_BUFFER_LOST);
		break;
	case OT_VERSION:
		if (!oarec_version(r->body, &version) || version != 1)
			complain(at, "unknown version of recordings: read as version 1");
		break;
	case OT_INFO:
		take_info(r->body, at);
		break;
	case OT_TOPOLOGY:
		topology_n = str_len(r->body) < sizeof(topology) ? str_len(r->body) : sizeof(topology);
		memcpy(topology, r->body.p, topology_n);
		break;
	case OT_CORRELATION:
		if (oarec_correlation(r->body, &stream.cpu_ns, &stream.gpu_ts))
			stream.correlations++;
		else
			complain(at, "a correlation that is too small");
		break;
	default:
		break;
	}
}

/* All records that are there whole; what is behind them. */
static struct str feed(struct str bytes)
{
	struct oarec r;

	while (verdict < 0 && !stream.failed && !stopped) {
		u64 at = chunk_at + (u64)(bytes.p - chunk);

		if (bare) {
			if (str_len(bytes) < stream.format->size)
				break;
			stream_report((struct str){ bytes.p, bytes.p + stream.format->size });
			bytes.p += stream.format->size;
			continue;
		}
		if (!oarec_next(&bytes, is_xe, &r))
			break;
		if (r.type == OT_CORRUPT) {
			complain(at, "a record whose size cannot be; nothing behind it can be read");
			verdict = EX_FAIL;
			break;
		}
		take_record(&r, at);
	}
	return bytes;
}

/* What kind of file it is, from its first bytes. */
static void look(struct str bytes)
{
	u32 type = 0;

	is_recording = oarec_begins(bytes, &is_xe);
	if (is_recording || !opt.oa.platform || !opt.oa.platform->xe)
		return;
	/* Not oarec_next(): of a pipe there may be no more than the header yet. */
	if (str_len(bytes) >= sizeof(type))
		memcpy(&type, bytes.p, sizeof(type));
	if (type >= 1 && type <= OT_BUFFER_LOST + 1)
		return;
	make_ready(0);
	bare = verdict < 0;
}

/* --- the file ------------------------------------------------------------------------------------------------- */

/* How far it is, where somebody watches and nothing else is to be seen there. */
static void show_progress(u64 done, u64 size, bool end)
{
	static i64 begun, shown;
	static bool any;
	char text[64];
	struct buf b = BUF(text);
	i64 now = sys_now(CLOCK_MONOTONIC);

	begun = begun ? begun : now;
	if (opt.quiet || sys_columns(2) < 0 || sys_columns(out_fd) >= 0 || (end ? !any : now < begun + PATIENCE || now < shown + PATIENCE / 5))
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

/* What a recording should have had, at its end. */
static void judge(struct str rest, u64 size)
{
	u64 at = chunk_at + (u64)(rest.p - chunk);

	if (rest.p < rest.e && verdict < 0)
		complain(at, bare ? "a report that is cut" : str_len(rest) < 8 ? "a record's header that is cut" :
									       "a record that is cut, or whose size is wrong");
	if (size == 0)
		complain(0, "empty");
	else if (verdict < 0 && stream.seen == 0)
		complain(size, "no report");
	else if (verdict < 0 && stream.seen == 1)
		complain(size, "a single report, from which nothing can be counted");
	if (size && is_recording && stream.correlations < 2 && verdict < 0)
		complain(size, stream.correlations ? "a single correlation of the clocks" : "no correlation of the clocks: no CPU times");
	if (complaints > MAX_COMPLAINTS)
		say_number(complaints - MAX_COMPLAINTS, " more faults of that file are not shown");
}

static long open_replay(u64 *size)
{
	struct stat st;
	long fd = strcmp(opt.oa.replay, "-") == 0 ? 0 : file_open(opt.oa.replay, O_RDONLY);

	*size = fd >= 0 && sys_fstat((int)fd, &st) == 0 && S_ISREG(st.st_mode) ? (u64)st.st_size : 0;
	return fd;
}

int replay(void)
{
	struct str rest;
	u64 size, done = 0;
	long fd = open_replay(&size), n = 0;
	bool looked = false;

	if (fd >= 0 && table_all(&oa_bytes_table) <= CARRY_BYTES)
		fd = -ENOMEM;
	if (fd < 0) {
		if (!stopped)
			say_error(opt.oa.replay, fd);
		return stopped ? EX_OK : EX_FAIL;
	}
	chunk = oa_bytes + CARRY_BYTES;
	rest = str_of(chunk, 0);
	confine_to_opened();
	stream.exponent = -1;
	opt.oa.reports |= !opt.oa.totals && !opt.oa.contexts && !opt.interval;
	while (verdict < 0 && !stream.failed && !stopped) {
		size_t had = str_len(rest);

		stream_keep();
		memmove(chunk - had, rest.p, had);
		chunk_at = done;
		n = sys_read((int)fd, chunk, oa_bytes_table.ready - CARRY_BYTES);
		rest = (struct str){ chunk - had, chunk + (n > 0 ? n : 0) };
		if (n == -EINTR)
			continue;
		if (n < 0 || (n == 0 && (looked || !had)))
			break;
		done += (u64)n;
		if (n > 0 && !looked && str_len(rest) < LOOK_BYTES)
			continue;
		if (!looked)
			look(rest);
		looked = true;
		rest = feed(rest);
		if (!size) /* a pipe: who knows when there will be more */
			stream.failed |= !flush();
		show_progress(done, size, false);
	}
	if (!looked)
		rest = feed(rest);
	show_progress(done, size, true);
	if (verdict == EX_USAGE)
		return verdict;
	if (stream.deltas > 0)
		stream_sum();
	if (n < 0 && n != -EINTR) {
		broken = true;
		say_error(opt.oa.replay, n);
	} else if (!stopped && !stream.failed) {
		judge(rest, done);
	}
	return stream_finish(broken) != EX_OK || stream.failed || broken || lost_record ? EX_FAIL : EX_OK;
}
