/* t_devices.c - devices, clients and cgroups sample by sample, and `list`: when readings are printed,
 * saved and summed up, the order and number of records, messages and exit codes. Readings are
 * simulated. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static i64 clock_now;
static i64 fake_now(void) { return clock_now; }
#define sys_now(clock) fake_now()
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/devices.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
volatile sig_atomic_t stopped;
struct failed sysfs_failed;
bool lost_record;
struct fdinfo_scope fdinfo_scope;
struct sensing sensing;
u32 row_list[8], *order = row_list;
size_t norder;

enum { S = 1000000000 };

static char bytes[OUT_BYTES], step_bytes[2048];
static struct buf steps;

static struct {
	bool no_roots, stops, ticks_fail, folder_denied, no_counts;
	u32 devices, gone_after; /* devices that choose_devices() finds, at most so many times */
	u32 chosen, finished, fails_at, ticks, ends_every;
	i64 age, tick;           /* since_last_run(); ns of a tick */
	i64 dt;                  /* of the last record, us */
	u32 loaded;              /* calls of since_last_run() */
	bool save_fails, flush_fails;
	struct rescan_facts facts;
} fake;

static void step(const char *name) { put_z(&steps, name); put_c(&steps, ' '); }

bool open_roots(bool needed) { return needed && !fake.no_roots; }
void sources_start(void) { step("start"); }
void sources_sample(bool scan) { step(scan ? "scan" : "read"); }
void state_sample(void) { step("state"); }
bool live_save(void) { step("save"); return !fake.save_fails; }
i64 since_last_run(void) { fake.loaded++; return fake.age; }
void hide_clients(void) { }
void update_offset(void) { }
i64 sample_time(void) { return 5; }
int no_device(void) { say_z("no device"); return EX_NODEVICE; }
void say_dropped(void) { step("dropped"); }
void say_unreadable(void) { say_z("unreadable"); }
void say_unread(void) { say_z("unread"); }
struct rescan_facts rescan_facts(void) { return fake.facts; }
u32 processes_known(void) { return 40; }
bool kernel_counts_fds(void) { return !fake.no_counts; }
void summary_reset(void) { step("reset"); }
void summary_add(const struct record *r) { put_c(&steps, '+'); put_u64(&steps, r->kind); step(""); }

bool append_record(void)
{
	out_record(&opt.out, &out, &rec);
	return !fake.flush_fails;
}


bool device_wanted(u32 device, u32 place) { return device && place; }

const char *nodes_folder(long *why)
{
	*why = fake.folder_denied ? -EIO : 0;
	return "/dev";
}

void choose_devices(void)
{
	norder = fake.gone_after && fake.chosen >= fake.gone_after ? 0 : fake.devices;
	fake.chosen++;
	for (u32 i = 0; i < norder; i++)
		order[i] = i + 1;
}

void choose_entities(u8 kind) { step(kind == K_CLIENT ? "clients" : "groups"); }

/* Sorts the largest row number first. */
void sort_by_field(u8 kind, const struct recopts *ro)
{
	step(ro->summary ? "sort-summary" : kind == K_DEVICE ? "sort" : "sort-others");
	for (size_t i = 0; i < norder / 2; i++) {
		u32 swap = order[i];

		order[i] = order[norder - 1 - i];
		order[norder - 1 - i] = swap;
	}
}

/* Steps: the record's number, its summary, what it is about. */
void make_record(u8 kind, u32 n, const struct recopts *ro)
{
	struct recopts plain = *ro;

	fake.dt = ro->dt_us;
	put_u64(&steps, n);
	put_z(&steps, ro->summary ? ro->summary : ro->raw ? "raw" : ro->list ? "list" : "");
	put_z(&steps, ro->both ? "both" : "");
	step(kind == K_DEVICE ? "" : "of-others");
	record_make(&rec, &devices[n].e, &plain);
}

int finish_sample(void)
{
	step("end");
	return ++fake.finished == fake.fails_at ? EX_FAIL : EX_OK;
}

void ticks_begin(struct ticks *t)
{
	*t = (struct ticks){ .left = opt.count, .repeat = opt.interval, .step = 1 };
	stopped |= fake.stops;
}

void ticks_start(struct ticks *t) { t->failed = false; step("ticks"); }

bool ticks_next(struct ticks *t)
{
	if (fake.ticks == 0) {
		t->failed = fake.ticks_fail;
		return false;
	}
	fake.ticks--;
	clock_now += fake.tick;
	t->ends = !fake.ends_every || fake.ticks % fake.ends_every == 0;
	return true;
}

void ticks_stamp(struct ticks *t, struct recopts *ro)
{
	(void)t;
	ro->dt_us = 1000;
}

static struct cmd device_cmd = { .kind = K_DEVICE }, client_cmd = { .kind = K_CLIENT },
	cgroup_cmd = { .kind = K_CGROUP };

static void clear(void)
{
	memset(&opt, 0, sizeof(opt));
	opt.out.fmt = format_find((struct str)STR("json"));
	opt.cmd = &device_cmd;
	memset(&fake, 0, sizeof(fake));
	fake.devices = fake.ticks = 1;
	fake.age = -1;
	memset(&live, 0, sizeof(live));
	devices_clear(3);
	for (nrows.devices = 0; nrows.devices < 3; nrows.devices++)
		devices[nrows.devices + 1].e = (struct entity){ .used = true, .kind = K_DEVICE };
	registry.unreadable = registry.dropped = 0;
	registry.repeats = registry.saw_others = false;
	sensing.listing = fdinfo_scope.others = lost_record = false;
	stopped = 0;
	clock_now += 100 * (i64)S;
	said.n = 0;
	out = buf_on(bytes, sizeof(bytes));
	steps = BUF(step_bytes);
}

/* Runs the command; checks its exit code and steps. */
static void run(int code, const char *want, const char *name)
{
	int got = cmd_live();

	if (!check(got == code, "%s: exit code", name))
		note("got %d", got);
	check_str(str_of(steps.p, steps.n), want, "%s", name);
}

/* --- samples ---------------------------------------------------------------------------------- */

static void t_samples(void)
{
	clear();
	run(EX_OK, "start ticks read 1 end dropped ", "one sample: a reading after a window");
	check(!fdinfo_scope.others && sensing.filter == record_shows,
	      "one sample: only sources of displayed fields are read");
	clear();
	opt.raw = true;
	opt.count = 1;
	run(EX_OK, "start ticks 1raw end dropped ", "--raw: one reading without a window");
	clear();
	fake.ticks = 2;
	opt.interval = 2;
	opt.count = 2;
	run(EX_OK, "start ticks scan 1 end scan 1 end dropped ", "COUNT samples");
	check(registry.repeats, "with an interval, devices are remembered");
	clear();
	fake.ticks = 5;
	opt.interval = 2;
	opt.count = 2;
	run(EX_OK, "start ticks scan 1 end scan 1 end dropped ",
	    "with an interval, no reading follows the last sample");
	clear();
	opt.raw = true;
	opt.interval = 1;
	fake.ticks = 1;
	run(EX_OK, "start ticks 1raw end scan 1raw end dropped ",
	    "--raw with an interval: the first sample is at once");
	clear();
	opt.raw = opt.on_stdin = true;
	run(EX_OK, "start ticks read 1raw end dropped ",
	    "--raw --on-stdin: the first sample follows the first line");
	clear();
	fake.stops = true;
	run(EX_OK, "", "a signal before the start: no sample");
	clear();
	fake.ticks_fail = true;
	run(EX_FAIL, "start ticks read 1 end ", "standard input that cannot be read is an error");
	clear();
	fake.no_roots = true;
	run(EX_FAIL, "", "no /sys");
	clear();
	fake.fails_at = 1;
	fake.ticks = 2;
	run(EX_FAIL, "start ticks read 1 end ", "a write that fails ends the run");
	clear();
	fake.flush_fails = true;
	fake.devices = 2;
	run(EX_FAIL, "start ticks read 1 ", "a write that fails between two records ends the run");
	clear();
	lost_record = true;
	run(EX_FAIL, "start ticks read 1 end dropped ", "a record without room is an error");
	clear();
	opt.out.lost = 3;
	cmd_live();
	check(registry.dropped == 3, "fields without room are counted");
	clear();
	opt.out.fmt = format_find((struct str)STR("prom"));
	run(EX_OK, "start ticks read 1both end dropped ", "prom: records have rates and totals");
}

static void t_kinds(void)
{
	clear();
	opt.cmd = &client_cmd;
	run(EX_OK, "start ticks read clients 1of-others end dropped ", "clients");
	check(fdinfo_scope.others, "clients: vendors' keys are read");
	clear();
	opt.cmd = &cgroup_cmd;
	run(EX_OK, "start ticks read groups 1of-others end dropped ", "cgroups");
	check(!fdinfo_scope.others, "cgroups: vendors' keys are not read");
	check(is_grouped(K_PROCESS) && is_grouped(K_CGROUP) && !is_grouped(K_CLIENT),
	      "processes and cgroups are groups");
}

static void t_order(void)
{
	clear();
	fake.devices = 3;
	opt.sort = LIT("busy");
	opt.top = 2;
	run(EX_OK, "start ticks read sort 3 2 end dropped ", "--sort before --top");
	clear();
	fake.devices = 3;
	opt.top = 9;
	run(EX_OK, "start ticks read 1 2 3 end dropped ", "--top of more clients than there are");
	clear();
	fake.devices = 2;
	opt.out.fmt = format_find((struct str)STR("table"));
	run(EX_OK, "start ticks read 1 2 1 2 end dropped ",
	    "table: all records are measured before the first one is printed");
}

/* --- devices that are not there --------------------------------------------------------------- */

static void t_none(void)
{
	clear();
	fake.devices = 0;
	run(EX_NODEVICE, "start ticks ", "no device");
	check(is_said("no device"), "without a device: a message");
	clear();
	fake.devices = 0;
	fake.age = S;
	run(EX_NODEVICE, "start ticks ", "no device: exit code 3, also with --state");
	check(fake.loaded == 0, "without a device, the state file is not read");
	clear();
	fake.devices = 0;
	opt.http = true;
	run(EX_OK, "start ticks read end dropped ", "--http answers without a device");
	clear();
	fake.gone_after = 1;
	opt.interval = 1;
	run(EX_OK, "start ticks scan end dropped ",
	    "with an interval, a removed device may return");
	clear();
	fake.gone_after = 1;
	run(EX_NODEVICE, "start ticks read ",
	    "with a single sample, a removed device is exit code 3");
}

static void t_denied(void)
{
	clear();
	opt.cmd = &client_cmd;
	fake.gone_after = 1;
	opt.interval = 1;
	registry.unreadable = 4;
	check(cmd_live() == EX_DENIED && is_said("unreadable"),
	      "no record, and processes may not be read: exit code 4");
	clear();
	registry.unreadable = 4;
	check(cmd_live() == EX_OK && is_said(NULL),
	      "a record, and processes may not be read: exit code 0");
	for (int i = 0; i < 3; i++) {
		clear();
		fake.gone_after = 1;
		opt.interval = 1;
		registry.unreadable = i != 0;
		registry.saw_others = i == 1;
		opt.http = i == 2;
		check(cmd_live() == EX_OK && is_said(NULL), "no record, but %s: exit code 0",
		      i == 0 ?
		      "no process is denied" : i == 1 ? "other users' processes could be read" :
		      "a request is answered");
	}
}

/* --- --state ---------------------------------------------------------------------------------- */

static void t_state(void)
{
	clear();
	opt.state = "f";
	opt.count = 1;
	fake.age = 60 * (i64)S;
	run(EX_OK, "start ticks 1 end save dropped ",
	    "--state: a sample since the last run needs no window");
	check(fake.dt == 60000000, "--state: the interval is the time since the last run");
	clear();
	opt.state = "f";
	opt.raw = true;
	opt.count = 1;
	fake.age = 60 * (i64)S;
	run(EX_OK, "start ticks 1raw end save dropped ", "--state --raw");
	check(fake.dt == -1, "--state --raw: the sample has no interval");
	clear();
	opt.state = "f";
	run(EX_OK, "start ticks read state 1 end save dropped ",
	    "--state: without a last run, the sample is over a window");
	clear();
	opt.state = "f";
	opt.interval = 1;
	fake.tick = S / 4;
	fake.ticks = 4;
	run(EX_OK, "start ticks scan state 1 end save scan state 1 end scan state 1 end "
	    "scan state 1 end save dropped ",
	    "--state: the state is saved once per second, and at the end");
	clear();
	opt.state = "f";
	opt.interval = 1;
	fake.tick = S;
	fake.ticks = 2;
	run(EX_OK, "start ticks scan state 1 end save scan state 1 end save dropped ",
	    "--state: the state is not saved twice at the end");
	clear();
	opt.state = "f";
	fake.save_fails = true;
	run(EX_FAIL, "start ticks read state 1 end save dropped ",
	    "--state: a state that cannot be saved is an error");
	clear();
	opt.state = "f";
	opt.inner = opt.interval = 1;
	fake.age = S;
	run(EX_OK, "start ticks scan state 1 +0 1min end 1avg end 1max end reset save dropped ",
	    "--state --inner: readings begin in this run");
}

/* The devices are chosen anew for the summary: they are sorted by their averages, not as the last sample was. */
static void t_summary_order(void)
{
	clear();
	opt.summary = true;
	opt.sort = LIT("busy");
	opt.interval = 1;
	fake.devices = 2;
	cmd_live();
	check(str_find(str_of(steps.p, steps.n), LIT("sort 2 1 ")) &&
	      str_find(str_of(steps.p, steps.n), LIT("sort-summary 2min 1min ")),
	      "--summary: order of the records: %.*s", (int)steps.n, steps.p);
}

/* --- --summary and --inner -------------------------------------------------------------------- */

static void t_summary(void)
{
	clear();
	opt.summary = true;
	opt.interval = 1;
	opt.sort = LIT("busy");
	fake.ticks = 2;
	run(EX_OK, "start ticks scan 1 +0 sort 1 end scan 1 +0 sort 1 end sort-summary 1min end "
	    "1avg end 1max end dropped ", "--summary prints three samples at the end");
	clear();
	opt.summary = true;
	opt.interval = 1;
	opt.out.fmt = format_find((struct str)STR("prom"));
	run(EX_OK, "start ticks scan 1both +0 1both end 1min 1avg 1max end dropped ",
	    "--summary: the three samples are one document");
	clear();
	opt.summary = true;
	opt.interval = 1;
	fake.fails_at = 3;
	run(EX_FAIL, "start ticks scan 1 +0 1 end 1min end 1avg end ",
	    "--summary: a write that fails ends the run");
	clear();
	opt.summary = true;
	opt.interval = 1;
	fake.ticks = 0;
	run(EX_OK, "start ticks dropped ", "--summary: without a record there is no summary");
	clear();
	opt.cmd = &client_cmd;
	opt.summary = true;
	opt.interval = 1;
	run(EX_OK, "start ticks scan clients 1of-others +0 1of-others end clients 1minof-others end "
	    "1avgof-others end 1maxof-others end dropped ", "of clients");
}

static void t_inner(void)
{
	clear();
	opt.inner = 1;
	opt.count = 1;
	fake.ticks = 5;
	fake.ends_every = 3;
	fake.gone_after = 9;
	run(EX_OK, "start ticks scan 1 +0 scan 1 +0 1min end 1avg end 1max end reset dropped ",
	    "--inner: a sample has the readings until the end of the interval");
	check(registry.repeats, "--inner: devices are remembered");
	clear();
	opt.inner = 1;
	opt.raw = true;
	opt.count = 1;
	run(EX_OK, "start ticks scan 1raw +0 1min end 1avg end 1max end reset dropped ",
	    "--inner --raw: no sample at the start");
	clear();
	opt.inner = 1;
	opt.state = "f";
	opt.count = 1;
	run(EX_OK, "start ticks scan state 1 +0 1min end 1avg end 1max end reset save dropped ",
	    "--inner --state");
	clear();
	opt.inner = 1;
	fake.fails_at = 1;
	run(EX_FAIL, "start ticks scan 1 +0 1min end reset ",
	    "--inner: a write that fails ends the run");
}

/* --- messages --------------------------------------------------------------------------------- */

static void t_times(void)
{
	static const struct { u64 s; const char *text; } rows[] = {
		{ 0, "0 s" }, { 1, "1 s" }, { 59, "59 s" }, { 60, "1 min" }, { 175, "2 min 55 s" },
		{ 3600, "1 h" }, { 3659, "1 h" }, { 3660, "1 h 1 min" }, { 86399, "23 h 59 min" },
		{ 86400, "1 d" }, { 90000, "1 d 1 h" }, { 89999, "1 d" }, { 864000000, "10000 d" },
	};
	char text[64];

	for (size_t i = 0; i < LEN(rows); i++) {
		struct buf b = BUF(text);

		put_time(&b, rows[i].s);
		check_str(str_of(b.p, b.n), rows[i].text, "%" PRIu64 " s", rows[i].s);
	}
}

static void t_discovery(void)
{
	clear();
	opt.verbose = true;
	cmd_live();
	check(said.n == 7 && is_said("unread\n"),
	      "-v without an interval: no message about the rescan");
	clear();
	opt.verbose = true;
	opt.interval = 1;
	cmd_live();
	check(is_said("GPU clients are not searched for: /sys lists no GPU\n"),
	      "-v: new clients are not searched for without a device");
	clear();
	opt.interval = 2 * (i64)S;
	fake.facts = (struct rescan_facts){ .scanned = true };
	say_discovery();
	check(is_said("new clients: watching opens of /dev/dri, descriptor counts; no rescan\n"),
	      "-v: opens are watched, and there is no rescan");
	fake.folder_denied = fake.no_counts = true;
	say_discovery();
	check(is_said("watching opens of /dev/dri failed (EIO), no descriptor counts "
		      "(requires Linux 6.2); no rescan\n"), "-v: on an old kernel without inotify");
	fake.facts = (struct rescan_facts){ .scanned = true, .samples = 30, .descriptors = 900 };
	say_discovery();
	check(is_said("; rescan (--sweep): 40 processes with 900 descriptors in at most 30 samples "
		      "(1 min)\n"), "-v: the time of a rescan cycle");
	opt.inner = S / 2 + 1;
	fake.facts.samples = 1;
	fake.facts.measured_pace = true;
	say_discovery();
	check(is_said(" in at most 1 sample at the present pace (1 s)\n"),
	      "-v: the time of a rescan cycle with --inner, rounded up to seconds");
	opt.on_stdin = true;
	say_discovery();
	check(is_said(" in at most 1 sample at the present pace\n"),
	      "-v: the number of samples of a rescan cycle with --on-stdin");
}

static void t_list(void)
{
	clear();
	fake.devices = 2;
	check(cmd_list() == EX_OK && opt.out.list && sensing.listing, "list");
	check_str(str_of(steps.p, steps.n), "start 1list 2list end dropped ",
	          "list: one sample without a wait");
	clear();
	fake.no_roots = true;
	check(cmd_list() == EX_FAIL && steps.n == 0, "list: no /sys");
	clear();
	fake.devices = 0;
	check(cmd_list() == EX_NODEVICE && is_said("no device"), "list: no device");
}

int main(void)
{
	t_samples();
	t_kinds();
	t_order();
	t_none();
	t_denied();
	t_state();
	t_summary();
	t_summary_order();
	t_inner();
	t_times();
	t_discovery();
	t_list();
	return unit_end();
}
