/* oa.c - gpustat oa: lists metric sets, and runs the stream of an OA unit.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

/* the GPU whose metric sets are listed, or whose stream of reports is read */
static struct oalive gpu;

/* --- the command `oa list` -------------------------------------------------------------------- */

static struct {
	/* only metric sets of this platform are listed; NULL: all sets */
	const struct oaplatform *platform;
	/* the GPU whose registered metric sets are marked in the list; NULL if there is none */
	const struct device *device;
} listing;

/* True if the output format is json. */
static bool is_json(void)
{
	return opt.out.fmt == format_find((struct str)STR("json"));
}

/* Appends a member of a JSON object: key, then the number n; null if n is 0, which means
 * unknown. */
static void put_count(const char *key, u64 n)
{
	put_z(&out, key);
	if (n)
		put_u64(&out, n);
	else
		put_z(&out, "null");
}

/* Appends the text s to the output, then blanks up to the column `column` of the line. from: offset
 * in the output at which the line begins. */
static void put_cell(size_t from, size_t column, struct str s)
{
	put_text(&out, s);
	put_columns(&out, from, column);
}

static struct str or_dash(struct str s)
{
	return str_len(s) ? s : (struct str)STR("-");
}

/* Prints one metric set of the list. An empty text means unknown and is printed as "-". */
static void put_set(struct str name, struct str chipset, u64 counters, struct str format,
		    struct str guid, const char *where)
{
	size_t from = out.n;
	u64 id = 0;
	bool in_kernel = listing.device && oa_has_set(listing.device, guid, &id);

	if (is_json()) {
		put_z(&out, "{\"schema\":1,\"kind\":\"oa_set\"");
		put_text_member(&out, "name", name);
		put_text_member(&out, "chipset", chipset);
		put_count(",\"counters\":", counters);
		put_text_member(&out, "format", format);
		put_text_member(&out, "guid", guid);
		put_count(",\"kernel_id\":", id);
		put_text_member(&out, "source", str_z(where));
		put_z(&out, "}");
	} else {
		put_cell(from, 32, or_dash(name));
		put_cell(from, 40, or_dash(chipset));
		put_u64(&out, counters);
		put_columns(&out, from, 45);
		put_cell(from, 65, or_dash(format));
		put_cell(from, 102, guid);
		if (in_kernel) {
			put_z(&out, "kernel ");
			put_u64(&out, id);
			put_z(&out, where[0] ? ", " : "");
		}
		put_text(&out, str_z(where));
	}
	put_c(&out, '\n');
	if (out.n > OUT_BYTES / 2 && !lost_record)
		flush();
}

/* Compiles the equations of a metric set for a device that has all hardware, so that no counter is
 * left out because its hardware is missing. Returns false if there is no memory, or if the set has
 * too many counters. */
static bool set_compile(const struct oaset *s)
{
	static struct oadevice d;
	struct buf why = { .cap = 0 };

	oadevice_init(&d, 0, listing.platform);
	d.slices = d.cores = d.cores_all = UINT64_MAX;
	d.var[OV_SLICE_MASK] = d.var[OV_SUBSLICE_MASK] = d.var[OV_XECORE_MASK] = UINT64_MAX;
	return table_has(&equations_table, 0) && oaprog_compile(equations, s, &d, &why);
}

/* Lists a metric set that is registered in the kernel, unless a file or a built-in pack has it,
 * too. */
static void list_kernel_set(struct str guid, u64 id)
{
	struct oaset s;

	(void)id;
	if (!set_find(guid, true, NULL, &s))
		put_set((struct str){ 0 }, (struct str){ 0 }, 0, (struct str){ 0 }, guid, "");
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
				put_set(s.name, s.chipset, set_compile(&s) ? equations->n : 0,
					s.format, str_z(s.guid), where);
	}
	if (listing.device)
		oa_each_registered(listing.device, list_kernel_set);
}

/* Returns the maximum of a counter of the metric set; 0 if it is unknown. */
static u64 counter_max(u32 i)
{
	/* The variable is not const, so that it is in .bss and needs no bytes in the program's
	 * file. */
	static u64 nothing[OA_SLOTS];
	static union oaval zeros[MAX_OA_COUNTERS];
	union oaval max;
	u64 n = 0;

	if (oaprog_max(equations, i, nothing, zeros, &max)) {
		if (!equations->counters[i].is_float)
			n = max.u;
		else if (max.f > 0 && max.f < 18446744073709551616.0)
			n = (u64)max.f;
	}
	return n;
}

static void put_counter_json(const struct oacounter *c, u64 max)
{
	put_z(&out, "{\"schema\":1,\"kind\":\"oa_counter\"");
	put_text_member(&out, "name", c->name);
	put_text_member(&out, "type", str_z(c->is_float ? "float" : "uint64"));
	put_count(",\"max\":", max);
	put_text_member(&out, "unit", c->units);
	put_text_member(&out, "description", c->description);
	put_z(&out, "}\n");
}

static void put_counter_line(const struct oacounter *c, u64 max)
{
	size_t from = out.n;

	put_cell(from, 44, c->name);
	put_cell(from, 52, str_z(c->is_float ? "float" : "uint64"));
	if (max)
		put_u64(&out, max);
	else
		put_c(&out, '-');
	put_columns(&out, from, 66);
	put_text(&out, c->units);
	if (str_len(c->description)) {
		put_columns(&out, from, 78);
		put_text(&out, c->description);
	}
	put_c(&out, '\n');
}

static int list_counters(struct str name)
{
	struct oaset s;

	if (!set_find(name, false, listing.platform, &s) && !set_find(name, true, NULL, &s))
		return set_unknown(name);
	if (!set_compile(&s))
		return usage("'", opt.words[1], "': its counters are invalid");
	for (u32 i = 0; i < equations->n; i++) {
		(is_json() ? put_counter_json : put_counter_line)(&equations->counters[i],
								  counter_max(i));
		if (!flush_record())
			return EX_FAIL;
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
		return usage("'", opt.words[2], "': unexpected argument");
	if (!load_metrics() || !open_roots(true))
		return EX_FAIL;
	src_sysfs.start();
	device = device_chosen(is_intel);
	if (!device && opt.ndevices)
		return no_device();
	listing.platform = opt.oa.platform;
	listing.device = device ? &devices[device] : NULL;
	if (device && !listing.platform) {
		/* oa_attach() may find the platform even if the GPU has no OA */
		oa_attach(&gpu, device);
		listing.platform = gpu.dev.platform;
		oa_stop(&gpu);
	}
	close_files();
	sandbox_folder(roots.sys, false);
	confine(0);
	if (opt.nwords == 2)
		return list_counters(str_z(opt.words[1]));
	list_sets();
	return finish();
}

/* --- writing a recording ---------------------------------------------------------------------- */

static int record_fd = -1;

bool record_bytes(const char *p, size_t n)
{
	long r = record_fd < 0 ? 0 : write_all(record_fd, p, n);

	if (r < 0)
		say_error(opt.oa.record, r);
	return r >= 0;
}

/* Reads the clocks of the CPU and the GPU, so that timestamps can be converted, and writes both
 * times to the recording. Returns false if the recording cannot be written. */
static bool correlate(const struct oalive *l)
{
	char text[64];
	struct buf b = BUF(text);
	u64 now[2];

	if (!oa_correlate(l, &now[0], &now[1]))
		return true;
	stream_correlate(now[0], now[1]);
	put_oarec(&b, l->dev.xe, OT_CORRELATION,
		  (struct str){ (const char *)now, (const char *)(now + 2) });
	return record_bytes(b.p, b.n);
}

/* Opens the recording, if one is requested, and writes the records that precede the reports.
 * Returns false after an error message. */
bool record_open(const struct oalive *l, const struct oainfo *i)
{
	static char text[TOPOLOGY_BYTES + 2048], about[512], numbers[NUMBERS_BYTES];
	struct buf b = BUF(text), body = BUF(about), more = BUF(numbers);
	const u32 version[2] = { 1, 0 };
	long fd;

	if (!opt.oa.record)
		return true;
	fd = file_open(opt.oa.record, O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0) {
		say_error(opt.oa.record, fd);
		return false;
	}
	record_fd = (int)fd;
	/* IGT's programs that read recordings crash if they do not know the metric set */
	if (stream.set.file == &oabasic)
		say(opt.oa.record, l->dev.xe ? ": xe-perf-reader" : ": i915-perf-reader",
		    " cannot read this recording: that program has no metric set Basic");
	put_oarec(&b, l->dev.xe, OT_VERSION,
		  (struct str){ (const char *)version, (const char *)(version + 2) });
	put_oainfo(&body, i);
	put_oarec(&b, l->dev.xe, OT_INFO, (struct str){ body.p, body.p + body.n });
	put_oarec(&b, l->dev.xe, OT_TOPOLOGY,
		  (struct str){ l->topology, l->topology + l->topology_n });
	put_oadevice(&more, &l->dev);
	put_oarec(&b, l->dev.xe, OT_NUMBERS, str_of(more.p, more.n));
	return record_bytes(b.p, b.n);
}

static bool record_begin(const struct oalive *l, const struct oaprops *p)
{
	struct oainfo i = {
		.ts_hz = stream.ts_hz, .pci = l->dev.pci, .revision = (u32)l->dev.var[OV_REVISION],
		.min_hz = (u32)l->min_hz, .max_hz = (u32)l->max_hz, .engine_class = p->engine_class,
		.engine_instance = p->engine_instance,
		.format = l->dev.xe ? l->format->recorded : l->format->i915, .set = stream.set.name,
		.guid = str_z(stream.set.guid),
	};

	return record_open(l, &i);
}

/* --- functions that read the live stream of a GPU --------------------------------------------- */

int say_failure(const struct oalive *l, long r)
{
	say(l->what ? l->what : error_text(r), l->remedy ? "; " : NULL, l->remedy);
	return r == -EACCES || r == -EPERM ? EX_DENIED :
	       r == -ENODEV || r == -ENOTSUPP ? EX_NODEVICE : EX_FAIL;
}

static void choose_registered(struct str guid, u64 id)
{
	(void)id;
	if (str_len(guid) < sizeof(stream.set.guid))
		memcpy(stream.set.guid, guid.p, str_len(guid));
}

/* Finds a default metric set for the platform: RenderBasic, else ComputeBasic, else Basic. Ponte
 * Vecchio has no RenderBasic, and a program without the feature oasets has only Basic. */
static bool usual_set_find(const struct oaplatform *p, struct oaset *s)
{
	static const struct str usual[] = { STR("RenderBasic"), STR("ComputeBasic"), STR("Basic") };

	for (size_t i = 0; p && i < LEN(usual); i++)
		if (set_find(usual[i], false, p, s))
			return true;
	return false;
}

/* Chooses the metric set of -m, else a default one. An unknown GPU gets no built-in set, which
 * would be that of another GPU. --raw needs a set, too, because its registers program the OA unit;
 * any set that is registered in the kernel is enough. Returns an exit code, or -1 on success. */
static int choose_set(const struct oalive *l)
{
	const struct oaplatform *p = l->dev.platform;
	struct oaset *s = &stream.set;
	u64 id;

	stream.has_set = true;
	if (!opt.oa.set.p && usual_set_find(p, s))
		return -1;
	if (opt.oa.set.p &&
	    (set_find(opt.oa.set, false, p, s) || set_find(opt.oa.set, true, NULL, s)) &&
	    (p || s->file->origin != OM_BASIC))
		return -1;
	*s = (struct oaset){ .name = opt.oa.set };
	if (opt.raw && opt.oa.set.p && str_len(opt.oa.set) < sizeof(s->guid) &&
	    oa_has_set(&devices[l->device], opt.oa.set, &id)) {
		memcpy(s->guid, opt.oa.set.p, str_len(opt.oa.set));
		return -1;
	}
	if (opt.raw && !opt.oa.set.p)
		oa_each_registered(&devices[l->device], choose_registered);
	if (s->guid[0])
		return -1;
	if (!opt.oa.set.p)
		return usage("no metric set is known for this GPU", "; " METRICS_REMEDY, NULL);
	return set_unknown(opt.oa.set);
}

/* Processes a report of the live stream. Only the first invalid report causes a message. */
static void report_read(struct str body)
{
	static bool said;
	const char *fault = stream_report(body);

	if (fault && !said)
		say("the kernel sent an invalid OA report: ", fault, NULL);
	said |= fault != NULL;
}

/* Reads the reports that are available now, but at most as many as the OA buffer holds: reports may
 * come faster than they can be read. Returns the result of the last oa_read(). */
static long drain(struct oalive *l)
{
	u64 taken = 0;
	long n = 0;

	for (; !stopped && !stream.failed && taken < l->buffer &&
	       (n = oa_read(l, oa_bytes, oa_bytes_table.ready)) > 0; taken += (u64)n) {
		struct str rest = str_of(oa_bytes, (size_t)n);
		struct oarec r;

		stream.failed |= !record_bytes(oa_bytes, (size_t)n);
		while (oarec_next(&rest, false, &r) && r.type != OT_CORRUPT) {
			if (r.type == OT_REPORT_LOST || r.type == OT_BUFFER_LOST)
				stream_lost(r.type == OT_BUFFER_LOST);
			else if (r.type == OT_SAMPLE)
				report_read(r.body);
		}
		stream_keep_last();
	}
	return n;
}

/* Prints the metric set, the report format and the actual period, if -v was given or a period was
 * requested. With -v also prints how an open stream affects the GPU and other programs. */
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
		say("while gpustat runs, the GPU does not enter RC6, and no other program can ",
		    "use this OA unit", NULL);
}

/* Waits until the next record is due, or until a quarter of the OA buffer may be full; at most 1
 * s. */
static void wait_stream(const struct oalive *l, i64 due, i64 now)
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

/* Runs the stream until COUNT intervals have passed, or until a signal or an error. Returns an exit
 * code. */
static int run_stream(struct oalive *l)
{
	bool sums = !opt.oa.reports && !opt.oa.contexts && !opt.oa.totals;
	i64 start = sys_now(CLOCK_MONOTONIC), due = next_due(start, start, opt.interval);
	i64 next = start, now = start;
	u64 left = opt.count;
	long r = 0;

	while (!stopped && !stream.failed && r >= 0) {
		if (now >= next) {
			stream.failed |= !correlate(l);
			next = now + 1000000000;
		}
		wait_stream(l, sums || opt.count ? due : -1, now);
		r = drain(l);
		now = sys_now(CLOCK_MONOTONIC);
		if (now >= due) {
			due = next_due(start, due, opt.interval);
			if (sums)
				stream_emit_sum();
			if (opt.count && --left == 0)
				break;
		}
		stream.failed |= !flush();
	}
	stream.failed |= !correlate(l);
	if (record_fd >= 0 && !stream.correlations)
		say(opt.oa.record, ": the driver cannot convert GPU times: "
		    "the recording has no CPU times", NULL);
	if (!sums && stream.deltas && !opt.oa.reports)
		stream_emit_sum();
	if (stream_finish(r < 0) != EX_OK || stream.failed)
		return EX_FAIL;
	return r < 0 ? say_failure(l, r) : lost_record ? EX_FAIL : EX_OK;
}

int stream_device(bool (*fits)(const struct device *d), const char *none, u32 *device)
{
	if (!open_roots(true))
		return EX_FAIL;
	src_sysfs.start();
	*device = device_chosen(fits);
	if (!*device && opt.ndevices)
		return no_device();
	if (!*device) {
		say_z(none);
		return EX_NODEVICE;
	}
	if (!opt.interval) {
		opt.count = 1;
		opt.interval = 1000000000;
	}
	stream.live = true;
	stream.dev_name = devices[*device].dev;
	return -1;
}

static int live(void)
{
	struct oaprops *p = &opt.oa.props;
	u32 device = NONE;
	long r;
	int code = load_metrics() ? -1 : EX_FAIL;

	if (code < 0)
		code = stream_device(is_intel, "no GPU with the i915 or xe driver here", &device);
	if (code >= 0)
		return code;
	p->interval = opt.interval;
	r = oa_attach(&gpu, device);
	code = r < 0 ? say_failure(&gpu, r) : choose_set(&gpu);
	if (code < 0 && (r = oa_start(&gpu, &stream.set, p)) < 0)
		code = say_failure(&gpu, r);
	keep_privileges(opt.oa.record ? MAY_WRITE : 0);
	if (code < 0) {
		stream.dev = gpu.dev;
		stream.platform = gpu.dev.platform;
		stream.format = gpu.format;
		stream.exponent = gpu.exponent;
		stream.ts_hz = gpu.dev.var[OV_TS_HZ];
		/* From gen12 on, the OA unit itself counts only the context that the user has
		 * selected: its reports need no filter. */
		stream.filtered = p->has_ctx && stream.platform && stream.platform->gen >= 800 &&
				  stream.platform->gen < 1200;
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

int check_oa(void)
{
	const struct oaopts *o = &opt.oa;

	if (o->reports + o->totals + o->contexts > 1)
		return usage("--reports, --totals and --contexts", " exclude each other", NULL);
	if (o->replay && o->record)
		return usage("--record and --replay", " exclude each other", NULL);
	if (o->replay && opt.count)
		return usage_z("--replay takes no COUNT");
	if (o->replay && opt.interval && (o->reports || o->totals || o->contexts))
		return usage_z("--replay with --reports, --totals or --contexts takes no interval");
	if (o->platform && !o->replay)
		return usage_z(opt.out.kind == K_STALL ? "--platform requires --replay" :
							 "--platform requires --replay or list");
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
