/* live.c - devices, their clients and cgroups, sample by sample; what other commands that sample devices share.
 * SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

/* Parts of features: NULL where the feature is left out, and then nothing calls them. */
#pragma weak state_load
#pragma weak state_sample
#pragma weak state_save
#pragma weak summary_add
#pragma weak summary_reset

static bool printed; /* any record */
static bool unkept;  /* the last sample is not in the file of --state */
static bool lasts;   /* a run of several samples, which had a device in its beginning */

/* --state: leaves what was read last to the next run. False: it could not, which has been said once. */
bool live_keep(void)
{
	static long said_of;
	long r;

	if (!opt.state)
		return true;
	r = state_save(opt.state);
	if (r < 0 && r != said_of)
		say(opt.state, ": left as it was: ", r == -EINVAL ? "not a regular file" : error_text(r));
	said_of = r;
	return r == 0;
}

/* Of what was printed, lest it be lost to those who print next: every second, so that a kill does little harm. */
static void keep_sample(void)
{
	static i64 last;
	i64 now = sys_now(CLOCK_MONOTONIC);

	unkept = now - last < 1000000000;
	if (unkept)
		return;
	last = now;
	lost_record |= !live_keep();
}

/* All that are there now, as the filters have it. False: no device is, and never was; one that goes may come back. */
static bool take_reading(const struct recopts *ro)
{
	u8 kind = opt.cmd->kind;

	choose_devices();
	if (norder == 0 && !lasts && !opt.http)
		return false;
	hide_clients();
	reg_roll(kind == K_CGROUP, !ro->raw && !ro->list);
	if (kind != K_DEVICE)
		choose_entities(kind);
	for (size_t i = 0; i < norder && (opt.summary || opt.inner); i++) {
		make_record(kind, order[i], ro);
		summary_add(&rec);
	}
	return true;
}

/* In which order, and which of them are shown. */
static void arrange(const struct recopts *ro)
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
		bool headed = opt.out.headed;

		make_record(kind, order[i], ro);
		out_record(&opt.out, &out, &rec);
		if (out.full)
			opt.out.headed = headed; /* the header went with it */
		printed = true;
		if (!flush_record())
			return false;
	}
	return true;
}

/* min, avg and max of the readings so far, of those that are still there: three samples, but in one where that takes the
 * place of the one before. */
static int print_summary(struct recopts ro)
{
	static const char *const which[] = { "min", "avg", "max" };

	ro.both = false;
	ro.summary = "avg"; /* by which they are sorted */
	choose_devices();
	if (opt.cmd->kind != K_DEVICE)
		choose_entities(opt.cmd->kind);
	arrange(&ro);
	for (size_t w = 0; w < LEN(which); w++) {
		ro.summary = which[w];
		if (!show_records(&ro) || (!format_is_whole(opt.out.fmt) && finish_sample() != EX_OK))
			return EX_FAIL;
	}
	return format_is_whole(opt.out.fmt) ? finish_sample() : EX_OK;
}

/* Exit code. */
static int print_sample(const struct recopts *ro)
{
	update_offset();
	if (!take_reading(ro))
		return EX_NODEVICE;
	arrange(ro);
	if (!show_records(ro) || finish_sample() != EX_OK)
		return EX_FAIL;
	if (opt.state)
		keep_sample();
	return EX_OK;
}

/* --inner: the readings of an interval are one sample. Exit code. */
static int print_inner(const struct recopts *ro, bool ends)
{
	int code;

	update_offset();
	if (!take_reading(ro))
		return EX_NODEVICE;
	if (!ends)
		return EX_OK;
	code = print_summary(*ro);
	summary_reset();
	if (code == EX_OK && opt.state)
		keep_sample();
	return code;
}

static const struct source *const sources[] = { &src_sysfs, &src_fdinfo };

static void profiling_denied(const char *dev, long err)
{
	say(dev, ": --enable-profiling: ", error_text(err));
}

void sources_start(void)
{
	u8 was = privilege_raise(MAY_READ | MAY_LOOK);

	records_room();
	fdinfo_tasks = opt.cmd->kind != K_DEVICE || opt.state || opt.npids || opt.comm.p || opt.cgroup.p;
	for (size_t i = 0; i < LEN(sources); i++) {
		sources[i]->start();
		if (opt.profiling && sources[i] == &src_sysfs)
			profiling_start(profiling_denied);
	}
	privilege_lower(was);
}

/* One reading more; in a run of several with a look for what is new. */
void sources_sample(bool scan)
{
	u8 was = privilege_raise(MAY_READ | MAY_LOOK);

	if (scan)
		reg_dropped = reg_untold = 0;
	for (size_t i = 0; i < LEN(sources); i++) {
		if (scan)
			sources[i]->scan();
		if (scan && opt.profiling && sources[i] == &src_sysfs)
			profiling_start(profiling_denied); /* of devices that came */
		sources[i]->sample();
	}
	privilege_lower(was);
}

/* --state: ns since the last run's reading, which is now the one before the first; -1: there is none. */
static i64 since_last_run(void)
{
	const char *why;
	i64 age;

	if (!opt.state)
		return -1;
	why = state_load(opt.state, opt.npids || opt.comm.p || opt.cgroup.p, &age);
	if (why)
		say(opt.state, ": not used: ", why);
	return why ? -1 : age;
}

/* All of it for a command that shows one sample: rates since the last run, or over a window. Exit code, or -1 where
 * devices are in order and their sums are made. */
int live_measure(struct recopts *ro)
{
	i64 was, now;

	if (!open_roots(true))
		return EX_FAIL;
	sources_start();
	was = sys_now(CLOCK_MONOTONIC);
	choose_devices();
	if (norder == 0)
		return EX_NODEVICE;
	ro->dt_us = since_last_run();
	if (ro->dt_us < 0) {
		if (!sleep_until(was + opt.window))
			return EX_OK;
		sources_sample(false);
		if (opt.state)
			state_sample();
		now = sys_now(CLOCK_MONOTONIC);
		ro->dt_us = now - was;
	}
	ro->dt_us /= 1000;
	ro->time_us = sample_time();
	choose_devices();
	hide_clients();
	reg_roll(false, true);
	return -1;
}

static void say_unreadable(void)
{
	if (reg_unreadable)
		say_number(reg_unreadable, " processes may not be read; as root, or: setcap cap_sys_ptrace+ep gpustat");
}

/* What of other processes is not known, with what would mend it. */
void say_unread(void)
{
	say_unreadable();
	if (look_unseen())
		say_z(look_unseen());
}

/* In the largest unit that it fills, and what is left in the next one: "2 min 55 s". */
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

static void put_sweep(struct buf *b, const struct watch_facts *f)
{
	struct round_facts r = round_facts();
	i64 step = opt.inner ? opt.inner : opt.interval;

	put_z(b, r.samples ? "; sweep: " : "; no sweep");
	if (r.samples == 0)
		return;
	put_u64(b, f->processes);
	put_z(b, " processes with ");
	put_u64(b, r.descriptors);
	put_z(b, " descriptors in at most ");
	put_u64(b, r.samples);
	put_z(b, r.samples == 1 ? " sample" : " samples");
	put_z(b, r.paced ? " at the pace so far" : "");
	if (opt.on_stdin)
		return;
	put_z(b, " (");
	put_time(b, (r.samples * (u64)step + 999999999) / 1000000000);
	put_c(b, ')');
}

/* How clients that come are found: of a run of several samples. */
static void say_watch(void)
{
	char text[512];
	struct buf b = BUF_Z(text);
	struct watch_facts f;

	if (!round_facts().looked) {
		say_z("new clients: none is looked for, since /sys lists no device");
		return;
	}
	watch_facts(&f);
	put_z(&b, "new clients: opens of ");
	put_z(&b, f.where);
	put_z(&b, "/dri");
	if (f.error) {
		put_z(&b, " are not told (");
		put_z(&b, error_text(f.error));
		put_c(&b, ')');
	}
	put_z(&b, f.counts ? ", descriptor counts" : ", no descriptor counts (they need Linux 6.2)");
	put_sweep(&b, &f);
	say_z(buf_z(&b));
}

/* What the run came to, when all went well. */
static int conclude(int code)
{
	if (code == EX_NODEVICE)
		return no_device();
	if (code != EX_OK)
		return code;
	if (unkept)
		lost_record |= !live_keep();
	reg_dropped += (u32)opt.out.lost;
	say_dropped();
	if (!printed && reg_unreadable && !reg_saw_others && !stopped && !opt.http) {
		say_unreadable();
		return EX_DENIED;
	}
	if (opt.verbose)
		say_unread();
	if (opt.verbose && fdinfo_repeats)
		say_watch();
	return lost_record ? EX_FAIL : EX_OK;
}

static int run_samples(void)
{
	struct recopts ro = { .raw = opt.raw, .both = format_measures_totals(opt.out.fmt), .dt_us = -1 };
	struct ticks t;
	i64 age;
	int code = EX_OK;

	ticks_begin(&t);
	if (stopped) /* while it waited for a tick */
		return EX_OK;
	fdinfo_repeats = t.repeat || opt.inner;
	sources_start();
	choose_devices();
	lasts = norder && fdinfo_repeats;
	ticks_start(&t);
	age = norder || opt.http ? since_last_run() : -1;
	if ((opt.raw || age >= 0) && !opt.on_stdin && !opt.inner) {
		ro.time_us = sample_time();
		ro.dt_us = opt.raw ? -1 : age / 1000;
		code = print_sample(&ro);
		if (code != EX_OK || --t.left == 0)
			return conclude(code);
	} else if (norder == 0 && !opt.http) {
		return conclude(EX_NODEVICE); /* nothing to wait for */
	} else if (age >= 0) {
		hide_clients();
		reg_roll(opt.cmd->kind == K_CGROUP, false); /* no sample shows it, but totals hold it */
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
	if (opt.summary && printed && code == EX_OK)
		code = print_summary(ro);
	return conclude(code == EX_OK && t.failed ? EX_FAIL : code);
}

/* Records are made of what lines show, and of what these are sorted by. */
static void choose_fields(void)
{
	static struct str words[MAX_WORDS + 1];
	size_t n = out_words(&opt.out, words);

	if (n && opt.sort.p)
		words[n++] = opt.sort;
	record_choose(opt.cmd->kind, words, n);
	sysfs_shows = record_shows;
}

int cmd_live(void)
{
	if (!open_roots(true))
		return EX_FAIL;
	choose_fields();
	fdinfo_others = opt.cmd->kind == K_CLIENT;
	return run_samples();
}

int cmd_list(void)
{
	struct recopts ro = { .list = true, .dt_us = -1, .time_us = sample_time() };

	if (!open_roots(true))
		return EX_FAIL;
	opt.out.list = sysfs_listing = true;
	sources_start();
	return conclude(print_sample(&ro));
}
