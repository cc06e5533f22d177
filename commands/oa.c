/* oa.c - gpustat oa: metric sets; the stream of an OA unit, as it runs. SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

/* --- metric sets -------------------------------------------------------------------------------------------- */

static struct oafile files[MAX_METRICS]; /* of --metrics */
static size_t nfiles;
static struct oalive gpu; /* whose sets are listed, or whose stream runs */

/* What sets are looked for in, in this order; *name: where that is. NULL: that was all. */
static const struct oafile *file_at(size_t i, const char **name)
{
	*name = i < nfiles ? opt.oa.metrics[i] : "built-in";
	if (i < nfiles)
		return &files[i];
	i -= nfiles;
	if (i < noapacks)
		return &oapacks[i];
	return i == noapacks ? &oabasic : NULL;
}

static bool load_file(const char *name, struct oafile *f)
{
	struct str text = { 0 };
	long r = file_open(name, O_RDONLY);

	if (r >= 0)
		r = sys_map((int)r, &text.p, &text.e);
	if (r < 0)
		say_error(name, r);
	else if (!oafile_is(f, text))
		say(name, ": neither metric sets in XML nor a pack of them", NULL);
	else
		return true;
	return false;
}

static bool load_metrics(void)
{
	for (; nfiles < opt.oa.nmetrics; nfiles++)
		if (!load_file(opt.oa.metrics[nfiles], &files[nfiles]))
			return false;
	return true;
}

/* The first one so named, or of that guid, that is of this platform; NULL: of any. */
bool set_find(struct str name, bool by_guid, const struct oaplatform *p, struct oaset *s)
{
	const struct oafile *f;
	const char *where;

	/* A set that lacks a guid, or a name, is not what is meant by none. */
	for (size_t i = 0; name.p < name.e && (f = file_at(i, &where)); i++) {
		struct str at = { 0 };

		while (oaset_next(f, &at, s))
			if (str_eq(name, by_guid ? str_z(s->guid) : s->name) && (!p || oaset_fits(s, p)))
				return true;
	}
	return false;
}

/* --- list --------------------------------------------------------------------------------------------------- */

static struct {
	const struct oaplatform *platform; /* whose sets are listed; NULL: all */
	const struct device *device;       /* NULL: none here */
} listing;

/* Up to a column of the line that begins at from. */
static void put_cell(size_t from, size_t column, struct str s)
{
	put_text(&out, s);
	put_columns(&out, from, column);
}

static void put_set(struct str name, struct str chipset, u64 counters, struct str format, struct str guid, const char *where)
{
	size_t from = out.n;
	u64 id;

	put_cell(from, 32, name);
	put_cell(from, 40, chipset);
	put_u64(&out, counters);
	put_columns(&out, from, 45);
	put_cell(from, 65, format);
	put_cell(from, 102, guid);
	if (listing.device && oa_has_set(listing.device, guid, &id)) {
		put_z(&out, "kernel ");
		put_u64(&out, id);
		put_z(&out, where[0] ? ", " : "");
	}
	put_text(&out, str_z(where));
	put_c(&out, '\n');
	if (out.n > OUT_BYTES / 2)
		flush();
}

/* The set's counters, for a device that has everything: none of them is left out for want of hardware. */
static bool make_listed(const struct oaset *s)
{
	static struct oadevice d;
	struct buf why = { .cap = 0 };

	oadevice_init(&d, 0, listing.platform);
	d.slices = d.cores = d.cores_all = UINT64_MAX;
	d.var[OV_SLICE_MASK] = d.var[OV_SUBSLICE_MASK] = d.var[OV_XECORE_MASK] = UINT64_MAX;
	return table_has(&equations_table, 0) && oaprog_make(equations, s, &d, &why);
}

/* Sets that the kernel has and nobody else knows. */
static void list_unknown(struct str guid, u64 id)
{
	struct oaset s;

	(void)id;
	if (!set_find(guid, true, NULL, &s))
		put_set((struct str)STR("-"), (struct str)STR("-"), 0, (struct str)STR("-"), guid, "");
}

static void list_sets(void)
{
	const struct oafile *f;
	const char *where;

	for (size_t i = 0; (f = file_at(i, &where)); i++) {
		struct str at = { 0 };
		struct oaset s;

		while (oaset_next(f, &at, &s))
			if (!listing.platform || oaset_fits(&s, listing.platform))
				put_set(s.name, s.chipset, make_listed(&s) ? equations->n : 0,
					s.format.p < s.format.e ? s.format : (struct str)STR("-"), str_z(s.guid), where);
	}
	if (listing.device)
		oa_registered(listing.device, list_unknown);
}

static void put_max(u32 i)
{
	static u64 nothing[OA_SLOTS]; /* not const, which would be bytes of the program */
	static union oaval zeros[MAX_OA_COUNTERS];
	union oaval max;
	u64 n = 0;

	if (oaprog_max(equations, i, nothing, zeros, &max)) {
		if (!equations->counters[i].is_float)
			n = max.u;
		else if (max.f > 0 && max.f < 18446744073709551616.0)
			n = (u64)max.f;
	}
	if (n)
		put_u64(&out, n);
	else
		put_c(&out, '-');
}

static int list_counters(struct str name)
{
	struct oaset s;

	if (!set_find(name, false, listing.platform, &s) && !set_find(name, true, NULL, &s))
		return usage("no set '", opt.words[1], "' is known here; gpustat oa list has them");
	if (!make_listed(&s))
		return usage("'", opt.words[1], "': its counters make no sense");
	for (u32 i = 0; i < equations->n; i++) {
		size_t from = out.n;

		put_cell(from, 44, equations->counters[i].name);
		put_cell(from, 52, str_z(equations->counters[i].is_float ? "float" : "uint64"));
		put_max(i);
		put_columns(&out, from, 66);
		put_text(&out, equations->counters[i].units);
		put_c(&out, '\n');
	}
	return finish();
}

static bool is_intel(const struct device *d)
{
	return strcmp(d->driver, "i915") == 0 || strcmp(d->driver, "xe") == 0;
}

static int list(void)
{
	u32 device;

	if (opt.nwords > 2)
		return usage("'", opt.words[2], "': one word too many");
	if (!load_metrics() || !open_roots(true))
		return EX_FAIL;
	src_sysfs.start();
	device = device_chosen(is_intel);
	listing.platform = opt.oa.platform;
	listing.device = device ? &devices[device] : NULL;
	if (device && !listing.platform) {
		oa_attach(&gpu, device); /* what it is may be known even where it has no OA */
		listing.platform = gpu.dev.platform;
		oa_stop(&gpu);
	}
	close_files();
	sandbox_folder(root_sys, false);
	confine(0);
	if (opt.nwords == 2)
		return list_counters(str_z(opt.words[1]));
	list_sets();
	return finish();
}

/* --- pack --------------------------------------------------------------------------------------------------- */

static struct oapacker *packer;
static char *heap;
static TABLE(packer, 1, 1, "packs of metric sets");
static TABLE(heap, 2 << 20, 1, "bytes of a pack"); /* all metric files that are public: 390 KB */

static long write_pack(void)
{
	const struct buf *parts[] = { &packer->list, &packer->heap, &packer->sets };
	long fd = file_open(opt.output, O_WRONLY | O_CREAT | O_TRUNC), r = fd;

	for (size_t i = 0; i < LEN(parts) && r >= 0; i++)
		r = write_all((int)fd, parts[i]->p, parts[i]->n);
	return r;
}

static int pack(void)
{
	char text[256];
	struct buf why = BUF_Z(text);
	long r;

	if (opt.nwords < 2 || !opt.output)
		return usage_z("oa pack XML... -O FILE");
	if (opt.nwords - 1 > MAX_METRICS)
		return usage_z("too many files");
	for (size_t i = 1; i < opt.nwords; i++, nfiles++)
		if (!load_file(opt.words[i], &files[nfiles]))
			return EX_FAIL;
	close_files();
	if (!sandbox_file(opt.output, true)) { /* it is to be made */
		struct replacing to;

		replace_begin(&to, opt.output);
		sandbox_folder(to.dir, true);
	}
	confine(0);
	if (!table_has(&packer_table, 0) || !oapack_make(packer, table_buf(&heap_table), files, nfiles, &why)) {
		say("cannot pack: ", buf_z(&why), NULL);
		return EX_FAIL;
	}
	r = write_pack();
	if (r < 0)
		say_error(opt.output, r);
	return r < 0 ? EX_FAIL : EX_OK;
}

/* --- a recording, as it runs ---------------------------------------------------------------------------------- */

static int record_fd = -1;

static bool record_bytes(const char *p, size_t n)
{
	long r = record_fd < 0 ? 0 : write_all(record_fd, p, n);

	if (r < 0)
		say_error(opt.oa.record, r);
	return r >= 0;
}

/* When it was, by both clocks: of the file once a second, of the records as often. */
static bool correlate(const struct oalive *l)
{
	char text[64];
	struct buf b = BUF(text);
	u64 now[2];

	if (!oa_correlate(l, &now[0], &now[1]))
		return true;
	stream.cpu_ns = now[0];
	stream.gpu_ts = now[1];
	stream.correlations++;
	put_oarec(&b, l->dev.xe, OT_CORRELATION, (struct str){ (const char *)now, (const char *)(now + 2) });
	return record_bytes(b.p, b.n);
}

/* What stands in front of the reports. */
static bool record_begin(const struct oalive *l, const struct oaprops *p)
{
	static char text[TOPOLOGY_BYTES + 1024], about[512];
	struct buf b = BUF(text), body = BUF(about);
	const u32 version[2] = { 1, 0 };
	struct oainfo i = {
		.ts_hz = stream.ts_hz, .pci = l->dev.pci, .revision = (u32)l->dev.var[OV_REVISION], .min_hz = (u32)l->min_hz,
		.max_hz = (u32)l->max_hz, .engine_class = p->engine_class, .engine_instance = p->engine_instance,
		.format = l->dev.xe ? l->format->recorded : l->format->i915, .set = stream.set.name, .guid = str_z(stream.set.guid),
	};
	long fd;

	if (!opt.oa.record)
		return true;
	fd = file_open(opt.oa.record, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0) {
		say_error(opt.oa.record, fd);
		return false;
	}
	record_fd = (int)fd;
	put_oarec(&b, l->dev.xe, OT_VERSION, (struct str){ (const char *)version, (const char *)(version + 2) });
	put_oainfo(&body, &i);
	put_oarec(&b, l->dev.xe, OT_INFO, (struct str){ body.p, body.p + body.n });
	put_oarec(&b, l->dev.xe, OT_TOPOLOGY, (struct str){ l->topology, l->topology + l->topology_n });
	return record_bytes(b.p, b.n);
}

/* --- live --------------------------------------------------------------------------------------------------- */

static int failed_call(const struct oalive *l, long r)
{
	say(l->what ? l->what : error_text(r), l->remedy ? "; " : NULL, l->remedy);
	return r == -EACCES || r == -EPERM ? EX_DENIED : r == -ENODEV || r == -ENOTSUPP ? EX_NODEVICE : EX_FAIL;
}

static void take_registered(struct str guid, u64 id)
{
	(void)id;
	if (str_len(guid) < sizeof(stream.set.guid))
		memcpy(stream.set.guid, guid.p, str_len(guid));
}

/* -m; else RenderBasic where somebody knows it, else what is built in; a GPU that is not known gets none that is another's.
 * --raw needs a set that programs the unit, but whatever the kernel has will do. Exit code or -1. */
static int choose_set(const struct oalive *l)
{
	static const struct str usual = STR("RenderBasic"), basic = STR("Basic");
	const struct oaplatform *p = l->dev.platform;
	struct oaset *s = &stream.set;
	u64 id;

	stream.has_set = true;
	if (!opt.oa.set.p && p && (set_find(usual, false, p, s) || set_find(basic, false, p, s)))
		return -1;
	if (opt.oa.set.p && (set_find(opt.oa.set, false, p, s) || set_find(opt.oa.set, true, NULL, s)) &&
	    (p || s->file->origin != OM_BASIC))
		return -1;
	*s = (struct oaset){ .name = opt.oa.set };
	if (opt.raw && opt.oa.set.p && str_len(opt.oa.set) < sizeof(s->guid) &&
	    oa_has_set(&devices[l->device], opt.oa.set, &id)) {
		memcpy(s->guid, opt.oa.set.p, str_len(opt.oa.set));
		return -1;
	}
	if (opt.raw && !opt.oa.set.p)
		oa_registered(&devices[l->device], take_registered);
	if (s->guid[0])
		return -1;
	if (!opt.oa.set.p)
		return usage_z("no metric set is known for this GPU; -m NAME --metrics FILE");
	return usage("no metric set of this GPU is called '", opt.oa.set.p, "'; gpustat oa list has those that are known");
}

/* What is there now, but no more than the OA buffer has room for: reports may come faster than they can be read. */
static long drain(struct oalive *l)
{
	u64 taken = 0;
	long n = 0;

	for (; !stopped && !stream.failed && taken < l->buffer && (n = oa_read(l, oa_bytes, oa_bytes_table.ready)) > 0; taken += (u64)n) {
		struct str rest = str_of(oa_bytes, (size_t)n);
		struct oarec r;

		stream.failed |= !record_bytes(oa_bytes, (size_t)n);
		while (oarec_next(&rest, false, &r) && r.type != OT_CORRUPT) {
			if (r.type == OT_REPORT_LOST || r.type == OT_BUFFER_LOST)
				stream_lost(r.type == OT_BUFFER_LOST);
			else if (r.type == OT_SAMPLE && !stream_report(r.body))
				say_z("the kernel gave a sample too small for its format");
		}
		stream_keep();
	}
	return n;
}

/* Which period it became, where one was asked for; and with -v what a stream costs. */
static void say_stream(const struct oalive *l)
{
	char text[200];
	struct buf b = BUF_Z(text);

	put_str(&b, stream.set.name);
	put_z(&b, ", ");
	put_z(&b, l->format->name);
	put_z(&b, ", a report every ");
	put_u64(&b, l->period / 1000);
	put_c(&b, '.');
	put_u64(&b, l->period / 100 % 10);
	put_z(&b, " us (exponent ");
	put_u64(&b, (u64)l->exponent);
	put_c(&b, ')');
	if (opt.verbose || opt.oa.props.period)
		say_z(buf_z(&b));
	if (opt.verbose)
		say_z("while it runs, the GPU does not enter RC6, the OA buffer is pinned, and nobody else can use this OA unit");
}

/* Until the next record is due, or the buffer has a quarter more. */
static void wait_for(const struct oalive *l, i64 due, i64 now)
{
	u64 fill = l->period * (l->buffer / l->format->size) / 4;
	i64 wake = now + (fill < 1000000000 ? (i64)fill : 1000000000);
	struct pollfd p = { .fd = l->fd, .events = POLLIN };

	wake = due >= 0 && due < wake ? due : wake;
	if (opt.oa.reports || opt.oa.contexts)
		sys_poll_until(&p, 1, wake, NULL);
	else
		sleep_until(wake);
}

/* Exit code. */
static int run_stream(struct oalive *l)
{
	bool sums = !opt.oa.reports && !opt.oa.contexts && !opt.oa.totals;
	i64 start = sys_now(CLOCK_MONOTONIC), due = next_due(start, start, opt.interval), next = start, now = start;
	u64 left = opt.count;
	long r = 0;

	while (!stopped && !stream.failed && r >= 0) {
		if (now >= next) {
			stream.failed |= !correlate(l);
			next = now + 1000000000;
		}
		wait_for(l, sums || opt.count ? due : -1, now);
		r = drain(l);
		now = sys_now(CLOCK_MONOTONIC);
		if (now >= due) {
			due = next_due(start, due, opt.interval);
			if (sums)
				stream_sum();
			if (opt.count && --left == 0)
				break;
		}
		stream.failed |= !flush();
	}
	stream.failed |= !correlate(l);
	if (record_fd >= 0 && !stream.correlations)
		say(opt.oa.record, ": the driver gives no correlation of the clocks: the recording has no CPU times", NULL);
	if (!sums && stream.deltas && !opt.oa.reports)
		stream_sum();
	if (stream_finish(r < 0) != EX_OK || stream.failed)
		return EX_FAIL;
	return r < 0 ? failed_call(l, r) : lost_record ? EX_FAIL : EX_OK;
}

static int live(void)
{
	struct oaprops *p = &opt.oa.props;
	u32 device;
	long r;
	int code;

	if (!load_metrics() || !open_roots(true))
		return EX_FAIL;
	src_sysfs.start();
	device = device_chosen(is_intel);
	if (!device && opt.ndevices)
		return no_device();
	if (!device) {
		say_z("no GPU here that i915 or xe drives");
		return EX_NODEVICE;
	}
	if (!opt.interval) {
		opt.count = 1;
		opt.interval = 1000000000;
	}
	p->interval = opt.interval;
	stream.live = true;
	stream.dev_name = devices[device].dev;
	r = oa_attach(&gpu, device);
	code = r < 0 ? failed_call(&gpu, r) : choose_set(&gpu);
	if (code < 0 && (r = oa_start(&gpu, &stream.set, p)) < 0)
		code = failed_call(&gpu, r);
	keep_privileges(opt.oa.record ? MAY_WRITE : 0);
	if (code < 0) {
		stream.dev = gpu.dev;
		stream.platform = gpu.dev.platform;
		stream.format = gpu.format;
		stream.exponent = gpu.exponent;
		stream.ts_hz = gpu.dev.var[OV_TS_HZ];
		/* From gen12 on the unit itself counts the context only. */
		stream.filtered = p->has_ctx && stream.platform && stream.platform->gen >= 800 && stream.platform->gen < 1200;
		stream.filter.any = true;
		say_stream(&gpu);
		code = record_begin(&gpu, p) ? stream_ready() : EX_FAIL;
	}
	if (code < 0) {
		confine(0);
		code = run_stream(&gpu);
	}
	oa_stop(&gpu);
	return code;
}

static int check_oa(void)
{
	const struct oaopts *o = &opt.oa;

	if (o->reports + o->totals + o->contexts > 1)
		return usage_z("--reports, --totals and --contexts exclude each other");
	if (o->replay && o->record)
		return usage_z("--record is of what runs, --replay of what was recorded");
	if (o->replay && opt.count)
		return usage_z("a replay has no COUNT");
	if (o->replay && opt.interval && (o->reports || o->totals || o->contexts))
		return usage_z("an interval goes with neither --reports, --totals nor --contexts in a replay");
	if (o->platform && !o->replay)
		return usage_z("--platform goes with --replay and list");
	return -1;
}

int cmd_oa(void)
{
	int code;

	opt.out.once = !opt.interval || opt.oa.replay;
	if (opt.nwords && strcmp(opt.words[0], "pack") == 0)
		return pack();
	if (opt.nwords && strcmp(opt.words[0], "list") == 0) {
		code = sink_open();
		return code >= 0 ? code : list();
	}
	if ((code = check_oa()) >= 0 || (code = sink_open()) >= 0)
		return code;
	if (!opt.oa.replay)
		return live();
	return load_metrics() ? replay() : EX_FAIL;
}
