/* devices.c - prints devices, their clients or cgroups, sample by sample; gpustat list.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"
#include "sys.h"

/* Weak references to functions of optional features. If a feature is not built in, its functions
 * are NULL and are never called. */
#pragma weak state_sample
#pragma weak summary_add
#pragma weak summary_reset
#pragma weak cgroups_read

static struct {
	bool printed;   /* at least one record was printed */
	bool unsaved;   /* the last printed sample was not written to the file of --state yet */
	/* true if the run has several samples and its first one had a device: a later sample
	 * without any device does not end the run */
	bool continues;
} live;

/* Writes the sample that was printed to the file of --state: the rates of the next run are since
 * that sample. The file is written at most once per second, so that a run that is killed loses
 * little. */
static void save_sample(void)
{
	static i64 last;
	i64 now = sys_now(CLOCK_MONOTONIC);

	live.unsaved = now - last < 1000000000;
	if (live.unsaved)
		return;
	last = now;
	lost_record |= !live_save();
}

static bool is_grouped(u8 kind)
{
	return kind >= K_CGROUP;
}

/* Stores in order[] the devices, clients or groups of clients (cgroups or processes) that exist now
 * and match the options. Computes the sums over the clients of each device and group. With
 * --summary or --inner, adds all values to the summary. Returns false if there is no device now and
 * there was none at the start of the run; otherwise an unplugged device may come back. */
static bool choose_and_sum(const struct recopts *ro)
{
	u8 kind = opt.cmd->kind;

	choose_devices();
	if (norder == 0 && !live.continues && !opt.http)
		return false;
	hide_clients();
	reg_sum_clients(is_grouped(kind), !ro->raw && !ro->list);
	if (cgroups_read && kind == K_CGROUP)
		cgroups_read(opt.out.npatterns, record_shows);
	if (kind != K_DEVICE)
		choose_entities(kind);
	for (size_t i = 0; i < norder && (opt.summary || opt.inner); i++) {
		make_record(kind, order[i], ro);
		summary_add(&rec);
	}
	return true;
}

/* Sorts the records by the field of --sort, and limits their number to that of --top. */
static void sort_records(const struct recopts *ro)
{
	if (opt.sort.p)
		sort_by_field(opt.cmd->kind, ro);
	if (opt.top && norder > opt.top)
		norder = (size_t)opt.top;
}

static bool show_records(const struct recopts *ro)
{
	u8 kind = opt.cmd->kind;

	for (size_t i = 0; i < norder && out_measures(&opt.out); i++) {
		make_record(kind, order[i], ro);
		out_measure(&opt.out, &rec);
	}
	for (size_t i = 0; i < norder; i++) {
		make_record(kind, order[i], ro);
		live.printed = true;
		if (!append_record())
			return false;
	}
	return true;
}

/* Prints the minimum, average and maximum of each entity that still exists, over all readings: as
 * three samples, or as one sample in a format in which each sample is a whole document. Returns the
 * exit code. */
static int print_summary(struct recopts ro)
{
	static const char *const which[] = { "min", "avg", "max" };

	ro.both = false;
	/* the records of the minimum and the maximum are printed in the order of the averages,
	 * too */
	ro.summary = "avg";
	choose_devices();
	if (opt.cmd->kind != K_DEVICE)
		choose_entities(opt.cmd->kind);
	sort_records(&ro);
	for (size_t w = 0; w < LEN(which); w++) {
		ro.summary = which[w];
		if (!show_records(&ro) ||
		    (!format_is_document(opt.out.fmt) && finish_sample() != EX_OK))
			return EX_FAIL;
	}
	return format_is_document(opt.out.fmt) ? finish_sample() : EX_OK;
}

/* Prints one sample. Returns the exit code. */
static int print_sample(const struct recopts *ro)
{
	update_offset();
	if (!choose_and_sum(ro))
		return EX_NODEVICE;
	sort_records(ro);
	if (!show_records(ro) || finish_sample() != EX_OK)
		return EX_FAIL;
	if (opt.state)
		save_sample();
	return EX_OK;
}

/* Handles one of the readings of --inner. ends: the reading is the last one of the interval; then
 * the minimum, average and maximum of all readings in the interval are printed. Returns the exit
 * code. */
static int print_inner(const struct recopts *ro, bool ends)
{
	int code;

	update_offset();
	if (!choose_and_sum(ro))
		return EX_NODEVICE;
	if (!ends)
		return EX_OK;
	code = print_summary(*ro);
	summary_reset();
	if (code == EX_OK && opt.state)
		save_sample();
	return code;
}

/* Appends a time of s seconds in its largest unit and the next smaller one: "2 min 55 s". */
static void put_time(struct buf *b, u64 s)
{
	static const struct {
		u32 s;
		const char *name;
	} spans[] = { { 86400, " d" }, { 3600, " h" }, { 60, " min" }, { 1, " s" } };
	size_t i = 0;

	while (i + 1 < LEN(spans) && s < spans[i].s)
		i++;
	put_u64(b, s / spans[i].s);
	put_z(b, spans[i].name);
	s %= spans[i].s;
	if (s == 0 || s < spans[++i].s)
		return;
	put_c(b, ' ');
	put_u64(b, s / spans[i].s);
	put_z(b, spans[i].name);
}

static void put_rescan(struct buf *b)
{
	struct rescan_facts r = rescan_facts();
	i64 step = opt.inner ? opt.inner : opt.interval;

	put_z(b, r.samples ? "; rescan (--sweep): " : "; no rescan");
	if (r.samples == 0)
		return;
	put_u64(b, processes_known());
	put_z(b, " processes with ");
	put_u64(b, r.descriptors);
	put_z(b, " descriptors in at most ");
	put_u64(b, r.samples);
	put_z(b, r.samples == 1 ? " sample" : " samples");
	put_z(b, r.measured_pace ? " at the present pace" : "");
	if (opt.on_stdin)
		return;
	put_z(b, " (");
	put_time(b, (r.samples * (u64)step + 999999999) / 1000000000);
	put_c(b, ')');
}

/* Prints how new clients are found, if --verbose was given and the run has several samples. */
static void say_discovery(void)
{
	char text[512];
	struct buf b = BUF_Z(text);
	const char *where;
	long error;

	if (!rescan_facts().scanned) {
		say_z("GPU clients are not searched for: /sys lists no GPU");
		return;
	}
	where = nodes_folder(&error);
	put_z(&b, "new clients: watching opens of ");
	put_z(&b, where);
	put_z(&b, "/dri");
	if (error) {
		put_z(&b, " failed (");
		put_z(&b, error_text(error));
		put_c(&b, ')');
	}
	put_z(&b, kernel_counts_fds() ? ", descriptor counts" :
	      ", no descriptor counts (requires Linux 6.2)");
	put_rescan(&b);
	say_z(buf_z(&b));
}

/* Prints, if --verbose was given, the last file of a device that had no valid value, and the
 * reason. */
static void say_failed(void)
{
	const struct failed *f = &sysfs_failed;
	char text[96];
	struct buf b = BUF_Z(text);

	if (!f->leaf)
		return;
	put_z(&b, f->dev);
	put_z(&b, ": ");
	put_z(&b, f->leaf);
	say(buf_z(&b), ": ",
	    f->error ? error_text(f->error) : "this sysfs file has no valid value");
}

/* Prints the messages at the end of a run. Returns the exit code of the run: `code`, or another one
 * if records are missing. */
static int run_end(int code)
{
	if (code == EX_NODEVICE)
		return no_device();
	if (code != EX_OK)
		return code;
	if (live.unsaved)
		lost_record |= !live_save();
	registry.dropped += (u32)opt.out.lost;
	say_dropped();
	if (!live.printed && registry.unreadable && !registry.saw_others && !stopped && !opt.http) {
		say_unreadable();
		return EX_DENIED;
	}
	if (opt.verbose) {
		say_unread();
		say_failed();
	}
	if (opt.verbose && registry.repeats)
		say_discovery();
	return lost_record ? EX_FAIL : EX_OK;
}

static int run_samples(void)
{
	struct recopts ro = { .raw = opt.raw, .both = format_has_totals(opt.out.fmt), .dt_us = -1 };
	struct ticks t;
	i64 age;
	int code = EX_OK;

	ticks_begin(&t);
	if (stopped) /* a signal came while ticks_begin() waited for the start time */
		return EX_OK;
	registry.repeats = t.repeat || opt.inner;
	sources_start();
	choose_devices();
	live.continues = norder && registry.repeats;
	ticks_start(&t);
	age = norder || opt.http ? since_last_run() : -1;
	if ((opt.raw || age >= 0) && !opt.on_stdin && !opt.inner) {
		ro.time_us = sample_time();
		ro.dt_us = opt.raw ? -1 : age / 1000;
		code = print_sample(&ro);
		if (code != EX_OK || --t.left == 0)
			return run_end(code);
	} else if (norder == 0 && !opt.http) {
		return run_end(EX_NODEVICE); /* without a device there is no sample to wait for */
	} else if (age >= 0) {
		hide_clients();
		/* With --on-stdin or --inner, the reading at the start of the run is not printed,
		 * but the totals (-r) contain it. */
		reg_sum_clients(is_grouped(opt.cmd->kind), false);
	}
	while (ticks_next(&t)) {
		sources_sample(t.repeat || opt.inner);
		if (opt.state)
			state_sample();
		ticks_stamp(&t, &ro);
		code = opt.inner ? print_inner(&ro, t.ends) : print_sample(&ro);
		if (code != EX_OK || (t.ends && --t.left == 0))
			break;
	}
	if (opt.summary && live.printed && code == EX_OK)
		code = print_summary(ro);
	return run_end(code == EX_OK && t.failed ? EX_FAIL : code);
}

/* Limits the fields that are read and stored in records to the printed fields and the field of
 * --sort. */
static void choose_fields(void)
{
	static struct str words[MAX_WORDS + 1];
	u32 when;
	size_t n = out_default_fields(&opt.out, words, &when);

	if ((n || when) && opt.sort.p)
		words[n++] = opt.sort;
	record_select(opt.cmd->kind, words, n, when);
	sensing.filter = record_shows;
}

int cmd_live(void)
{
	if (!open_roots(true))
		return EX_FAIL;
	choose_fields();
	fdinfo_scope.others = opt.cmd->kind == K_CLIENT;
	return run_samples();
}

int cmd_list(void)
{
	struct recopts ro = { .list = true, .dt_us = -1, .time_us = sample_time() };

	if (!open_roots(true))
		return EX_FAIL;
	opt.out.list = sensing.listing = true;
	sources_start();
	return run_end(print_sample(&ro));
}
