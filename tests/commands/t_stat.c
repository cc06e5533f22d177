/* t_stat.c - `stat`: the syntax and order of event sets, triggers, the default events, the order of
 * rows, the end of intervals and repetitions. Events and measurements are simulated.
 * SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static i64 resolution = 1;
static i64 fake_resolution(void) { return resolution; }
#define sys_clock_resolution(clock) fake_resolution()
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/stat.c"
#undef replay
#include "said.h"
#include "folder.h"

struct opts opt;
struct record rec;
struct roots roots = { .proc = -1, .sys = -1 };
struct buf out;
volatile sig_atomic_t stopped;
bool child_forker;
struct perf_opened perf_opened;

/* The simulated machine. */
static struct {
	bool pmu, countable, again;
	int measured; /* intervals that a measurement has */
	u32 started, repeated, closed, finished, dropped, whole;
	int fails_at;    /* finish_sample() fails the n-th time; 0: never */
	long start_error, failure;
	i32 confined;
	u8 kept;
	int hooked[2], hook_fails_at; /* calls of child_hook(); the one that returns 3 */
} fake;

/* Adds an event for each name; "bad" is unknown. */
bool add_events(struct str list, u16 set)
{
	struct str piece;

	while (str_cut(&list, ',', &piece)) {
		if (str_is(piece, "bad")) {
			usage_z("unknown event");
			return false;
		}
		table_has(&events_table, nrows.events + 1);
		events[++nrows.events] = (struct event){ .name = text_put(NONE, piece), .set = set,
						    .row = (u16)nrows.events };
	}
	return true;
}

bool add_lists(void)
{
	bool good = true;

	for (size_t i = 0; i < opt.nevents; i++)
		good &= add_events(opt.events[i], 0);
	return good;
}

bool perf_has_pmu(void) { return fake.pmu; }
bool perf_countable(void) { return fake.countable; }
void perf_close(void) { fake.closed++; }
bool open_roots(bool needed) { return !needed; }
int open_control(struct measure *m) { return m->control == -1 ? -1 : EX_FAIL; }
int find_target(struct target *t) { return t == &opt.target ? -1 : EX_FAIL; }
int sink_open(void) { return -1; }
void tasks_catch(bool command) { fake.again |= command; }
int tasks_signal(void) { return 0; }
void measure_whole(struct measure *m) { fake.whole += m != NULL; }
void child_hooks(char **argv, const char *before, const char *after) { (void)argv, (void)before, (void)after; }

int child_hook(bool after)
{
	if (!(after ? opt.after : opt.before))
		return 0;
	fake.hooked[after]++;
	return fake.hooked[0] + fake.hooked[1] == fake.hook_fails_at ? 3 : 0;
}

void child_times(u64 *user, u64 *system) { *user = 2 * 1000000000ull; *system = 1000000; }
void confine(i32 child) { fake.confined = child; }
void keep_privileges(u8 may) { fake.kept = may; }
void update_offset(void) { }
i64 sample_time(void) { return 7; }
void say_dropped(void) { fake.dropped++; }
void say_user_only(void) { say_z("user only"); }
bool flush(void) { return true; }

static u32 order_bytes[1000];
u32 *order = order_bytes;
void order_add(size_t *n, u32 i) { order[(*n)++] = i; }

bool append_record(void)
{
	out_record(&opt.out, &out, &rec);
	return true;
}

int command_result(const struct measure *m, int code)
{
	return m->failure ? 127 : code;
}

long measure_start(struct measure *m)
{
	fake.started++;
	fake.repeated += m->repeats;
	m->failure = fake.failure;
	fake.measured = fake.measured > 0 ? fake.measured : 0;
	return fake.start_error;
}

bool measure_next(struct measure *m)
{
	return !m->failure && !m->stop && m->interval && fake.measured-- > 0;
}

int finish_sample(void)
{
	fake.finished++;
	return (int)fake.finished == fake.fails_at ? EX_FAIL : EX_OK;
}

static void clear(void)
{
	nrows.events = nrows.evsets = nrows.evrows = nrows.sites = 0;
	memset(evsets, 0, sizeof(evsets));
	memset(&opt, 0, sizeof(opt));
	opt.out.fmt = format_find((struct str)STR("json"));
	opt.repeat = 1;
	memset(&fake, 0, sizeof(fake));
	fake.countable = true;
	fake.confined = -7;
	resolution = 1;
	said.n = out.n = 0;
}

/* The names of the events, each with the number of its set. */
static struct str names(void)
{
	static char text[2048];
	struct buf b = BUF(text);

	for (u32 i = 1; i <= nrows.events; i++) {
		if (i > 1)
			put_c(&b, ' ');
		b.n += text_copy(events[i].name, b.p + b.n, b.cap - b.n);
		put_c(&b, '/');
		put_u64(&b, events[i].set);
	}
	return str_of(b.p, b.n);
}

/* --- sets ------------------------------------------------------------------------------------- */

static void t_syntax(void)
{
	static const struct {
		const char *text;
		bool good;
		const char *name, *events, *switching;
		u64 id;
		bool has_id;
	} rows[] = {
		{ "a=x", true, "a", "x", "", 0, false },
		{ "3:a=x,y@10ms", true, "a", "x,y", "10ms", 3, true },
		{ "0:a=x", true, "a", "x", "", 0, true },
		{ "65535:a=x", true, "a", "x", "", 65535, true },
		{ "65536:a=x", false, "", "", "", 0, false },
		{ "1:b:c=x", true, "b:c", "x", "", 1, true },
		{ "a=x=y", true, "a", "x=y", "", 0, false },
		{ "a=x@1ms@overflow:x:5", true, "a", "x", "1ms@overflow:x:5", 0, false },
		{ "a=x@", true, "a", "x", "", 0, false },
		{ "", false, "", "", "", 0, false }, { "a", false, "", "", "", 0, false },
		{ "a=", false, "", "", "", 0, false }, { "=x", false, "", "", "", 0, false },
		{ ":a=x", false, "", "", "", 0, false }, { "1:=x", false, "", "", "", 0, false },
		{ "x:a=x", false, "", "", "", 0, false }, { "-1:a=x", false, "", "", "", 0, false },
		{ "1 :a=x", false, "", "", "", 0, false }, { "a=@1ms", false, "", "", "", 0, false },
		{ "99999999999999999999:a=x", false, "", "", "", 0, false },
	};
	struct setspec x;

	for (size_t i = 0; i < LEN(rows); i++) {
		bool good = parse_set(str_z(rows[i].text), &x);

		check(good == rows[i].good &&
		      (!good || (str_is(x.name, rows[i].name) && str_is(x.events, rows[i].events) &&
				 str_is(x.switching, rows[i].switching) && x.id == rows[i].id &&
				 x.has_id == rows[i].has_id)),
		      "--set '%s' is parsed", rows[i].text);
	}
}

/* Returns whether what is parsed of hostile bytes is within them. */
static bool set_fed(struct str s)
{
	struct setspec x;
	struct str rest = s, piece;
	size_t n = 0;

	if (parse_set(s, &x) &&
	    (!within(x.name, s) || !within(x.events, s) || !within(x.switching, s) ||
	     !str_len(x.name) || !str_len(x.events) || x.id > UINT16_MAX))
		return false;
	while (cut_event(&rest, &piece) && n <= str_len(s))
		if (n++, !within(piece, s))
			return false;
	return n <= str_len(s) && rest.p == s.e;
}

static void t_pieces(void)
{
	struct str list = LIT("cpu/a=1,b=2/:3,c:4,,d"), piece;
	static const char *const want[] = { "cpu/a=1,b=2/:3", "c:4", "", "d" };

	for (size_t i = 0; i < LEN(want); i++)
		check(cut_event(&list, &piece) && str_is(piece, want[i]),
		      "--set: piece %zu is '%s'", i, want[i]);
	check(!cut_event(&list, &piece), "--set: there are no more pieces");
	check(replay(LIT("12:name=cpu/a,b/,c@overflow:cpu/a,b/:3@10ms"), set_fed),
	      "--set: hostile texts are parsed safely");
}

static void t_switching(void)
{
	static const struct { const char *rules; bool asked, good; i64 timeout; } rows[] = {
		{ "10ms", true, true, 10000000 }, { "1us", true, true, 100000 },
		{ "", false, true, 0 }, { "", true, false, 0 }, { "10ms@", true, false, 0 },
		{ "0", true, false, 0 }, { "x", true, false, 0 }, { "-1", true, false, 0 },
		{ "overflow:", true, true, 0 }, { "overflow:a", true, false, 0 },
		{ "overflow:a:", true, false, 0 }, { "overflow:a:0", true, false, 0 },
		{ "overflow:a:1x", true, false, 0 }, { "overflow:a:7,bad:1", true, false, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		add_events(str_z("a"), 1);
		check(add_switching(1, str_z(rows[i].rules), rows[i].asked) == rows[i].good &&
		      (!rows[i].good || evsets[1].timeout == rows[i].timeout), "--set: rule '%s'%s",
		      rows[i].rules, rows[i].asked ? "" : ", without one");
	}
	clear();
	resolution = 4000000;
	check(add_switching(1, str_z("10ms"), true) && evsets[1].timeout == 12000000,
	      "--set: a time is rounded up to the clock");
	clear();
	add_events(str_z("a,b,c"), 1);
	events[1].group = events[2].group = 9;
	events[2].period = 100;
	check(add_switching(1, str_z("overflow:b:3,a:2@2ms"), true) && events[2].trigger == 300 &&
	      events[1].trigger == 2 && evsets[1].timeout == 2000000,
	      "--set: two triggers and a time");
	check(events[1].no_inherit && events[2].no_inherit && !events[3].no_inherit,
	      "--set: the group of a trigger is not inherited");
	events[3].period = 100;
	events[3].freq = true;
	check(add_switching(1, str_z("overflow:c:5"), true) && events[3].trigger == 5,
	      "--set: a frequency is not a period of a trigger");
	check(add_switching(1, str_z("overflow:new:6"), true) && nrows.events == 4 &&
	      events[4].trigger == 6 && events[4].set == 1,
	      "--set: a trigger that the set does not have is added");
	check(add_switching(2, str_z("overflow:a:1"), true) && nrows.events == 5 && events[5].set == 2,
	      "--set: the event of another set is not the trigger");
}

static bool sets(const char *a, const char *b, const char *c)
{
	const char *const texts[] = { a, b, c };

	for (opt.nsets = 0; opt.nsets < LEN(texts) && texts[opt.nsets]; opt.nsets++)
		opt.sets[opt.nsets] = str_z(texts[opt.nsets]);
	return add_all_events();
}

static void t_sets(void)
{
	clear();
	check(sets("9:late=x", "2:early=y@1ms", "mid=z") && nrows.evsets == 3 && evsets[0].id == 2 &&
	      evsets[1].id == 3 && evsets[2].id == 9, "--set: sets are in the order of their ids");
	check_str(names(), "y/0 z/1 x/2", "--set: each set has its events");
	check(evsets[0].timeout == 1000000 && evsets[1].timeout == 10000000,
	      "--set: a set without a rule has 10 ms");
	clear();
	opt.events[opt.nevents++] = str_z("e");
	check(sets("a=x", NULL, NULL) && nrows.evsets == 2 && evsets[0].id == 0 && evsets[1].id == 1,
	      "--set: the events of -e are set 0");
	check_str(names(), "e/0 x/1", "--set: set 0 has the events of -e");
	clear();
	opt.events[opt.nevents++] = str_z("e");
	check(sets("0:a=x", NULL, NULL) && nrows.evsets == 1 && text_eq(evsets[0].name, LIT("a")),
	      "--set: a set with id 0 has the events of -e, too");
	clear();
	check(!sets("1:a=x", "1:b=y", NULL) && is_said("--set 1:b=y: use [ID:]"),
	      "--set: an id that occurs twice is an error of usage");
	clear();
	check(!sets("65535:a=x", "b=y", NULL) && is_said("--set b=y: use"),
	      "--set: an id after the last possible one is an error of usage");
	clear();
	check(sets("a=bad", "b=y", NULL) && nrows.evsets == 2 && is_said("unknown event"),
	      "--set: a set without events does not prevent the others");
	clear();
	check(!sets("a=bad", NULL, NULL) && is_said("unknown event"),
	      "--set: an error if no set has an event");
	clear();
	check(!sets("a=x@overflow:bad:1", NULL, NULL) && is_said("unknown event\n"),
	      "--set: one message about an unknown trigger");
	clear();
	check(!sets("a=x@soon", NULL, NULL) && is_said("--set a=x@soon: use"),
	      "--set: an unknown rule is an error of usage");
}

/* --- events and rows -------------------------------------------------------------------------- */

static void t_defaults(void)
{
	static const struct { u8 detail; bool pmu; u32 n; const char *last; } rows[] = {
		{ 0, false, 4, "page-faults" }, { 1, false, 7, "major-faults" },
		{ 2, false, 10, "cgroup-switches" }, { 200, false, 10, "cgroup-switches" },
		{ 0, true, 8, "branch-misses" }, { 1, true, 12, "LLC-load-misses" },
		{ 2, true, 18, "iTLB-load-misses" }, { 3, true, 20, "L1-dcache-prefetch-misses" },
		{ 200, true, 20, "L1-dcache-prefetch-misses" },
	};
	long fd;

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		fake.pmu = rows[i].pmu;
		opt.detail = rows[i].detail;
		check(add_all_events() && nrows.events == rows[i].n &&
		      text_eq(events[nrows.events].name, str_z(rows[i].last)),
		      "default events: -d %u times, %s", rows[i].detail, rows[i].pmu ?
		      "with a PMU" :
		      "without a PMU");
	}
	folder_begin("t_stat");
	put_file(in_folder("bus/event_source/devices/cpu/events/stalled-cycles-backend"), "event=1\n", 8);
	fd = sys_openat(AT_FDCWD, tmp_folder, O_PATH);
	clear();
	fake.pmu = true;
	roots.sys = (int)fd;
	check(add_all_events() && nrows.events == 9 &&
	      text_eq(events[9].name, LIT("stalled-cycles-backend")),
	      "default events: stalls if the PMU lists them");
	fake.pmu = false;
	roots.sys = -1;
	sys_close((int)fd);
	shell("rm -r $D");
	clear();
	opt.null_run = true;
	check(add_all_events(), "--null");
	check_str(names(), "duration_time/0", "--null counts only time");
}

static void add_rows(u32 nnames, u32 at)
{
	nrows.sites = at;
	nrows.evrows = nnames * at;
	table_has(&evrows_table, nrows.evrows);
	table_has(&sites_table, at);
	for (u32 i = 0; i < at; i++)
		sites[i] = (struct site){ SITE_ALL, .tid = i + 1 };
	for (u32 i = 1; i <= nrows.evrows; i++)
		evrows[i] = (struct evrow){ .e = { .kind = K_EVENT, .used = true },
					    .event = 1 + (i - 1) / at, .site = (i - 1) % at };
}

static void t_rows(void)
{
	bool by_event = true, by_site = true;

	clear();
	add_events(str_z("a,b,c"), 0);
	add_rows(3, 2);
	for (u32 i = 1; i <= 6; i++)
		by_event &= row_entity(i) == &evrows[i].e;
	opt.out.summed = true;
	for (u32 i = 1; i <= 6; i++)
		by_site &= row_entity(i) == &evrows[1 + (i - 1) % 3 * 2 + (i - 1) / 3].e;
	check(by_event, "order of rows: by event");
	check(by_site, "order of rows: by core with --per-core");
	nrows.evrows = 5; /* the last event has no row at the second site */
	check_u64(rows_shown(), 6, "number of rows if the last event has no row at one site");
	check(!row_entity(6), "a missing row is not shown");
	opt.out.summed = false;
	events[2].hidden = true;
	check(row_entity(1) && !row_entity(3) && row_entity(5), "hidden rows: hidden events");
	events[1].guess = true;
	evrows[1].state = CS_UNSUPPORTED;
	check(!row_entity(1) && row_entity(2), "hidden rows: an engine that may not exist");
	fake.countable = false;
	check(row_entity(1), "shown rows: an engine that may not exist, if nothing can be counted");
}

/* The rows of -a --per-thread: the i-th thread has the i-th state. */
static void t_threads(void)
{
	static const u8 denied[] = { CS_DENIED, CS_HARDENED, CS_TRACEFS, CS_UPROBE, CS_KPROBE,
					CS_LOCKDOWN, CS_OTHERS };
	static const u8 shown[] = { CS_COUNTED, CS_NO_FILES, CS_UNSUPPORTED, CS_NO_FILE };

	clear();
	opt.target.every = true;
	add_events(str_z("a"), 0);
	add_rows(1, LEN(denied));
	for (u32 i = 1; i <= nrows.evrows; i++) {
		evrows[i].state = denied[i - 1];
		fake.countable = true;
		check(!row_entity(i), "hidden rows: a thread whose count is denied");
		fake.countable = false;
		check(row_entity(i),
		      "shown rows: a thread whose count is denied, if nothing can be counted");
		evrows[i].state = shown[(i - 1) % LEN(shown)];
		evrows[i].value = 7;
		fake.countable = true;
		check(row_entity(i), "shown rows: a count, or a reason of another kind");
		evrows[i].value = 0;
		check(!row_entity(i) == (evrows[i].state == CS_COUNTED),
		      "hidden rows: a thread without a count");
	}
	table_has(&counts_table, LEN(denied));
	nrows.counts = LEN(denied);
	for (u32 i = 0; i < LEN(denied); i++)
		counts[i + 1] = (struct count){ .event = 1, .state = denied[i] };
	say_denied();
	check(is_said("7 counts of threads: denied: it is a process of another user; as root, or: setcap cap_perfmon+ep gpustat"),
	      "message with the number of hidden threads, and the reason of most of them");
	opt.target.every = false;
	check(row_entity(2), "shown rows: all without -a --per-thread");
}

/* --- a measurement ---------------------------------------------------------------------------- */

static char word[] = "true", *words[] = { word, NULL };

static int run(int measured, i64 interval, u64 count, bool command)
{
	struct measure m = { .interval = interval, .argv = command ? words : NULL };
	bool counted = false;
	int code;

	add_events(str_z("a"), 0);
	add_rows(1, 1);
	opt.interval = interval;
	opt.count = count;
	fake.measured = measured;
	code = stat_once(&m, &counted);
	return code == EX_OK && !counted ? EX_DENIED : code;
}

static void t_intervals(void)
{
	clear();
	check(run(3, 5, 0, false) == EX_OK && fake.finished == 4,
	      "records: of each interval, and of the rest at the end");
	clear();
	check(run(9, 5, 2, false) == EX_OK && fake.finished == 2 && fake.measured == 7,
	      "records: COUNT ends a measurement");
	clear();
	check(run(9, 5, 2, true) == EX_OK && fake.finished == 2, "records: COUNT with a command");
	clear();
	opt.totals = true;
	check(run(3, 5, 0, false) == EX_OK && fake.finished == 5 && fake.whole == 1 &&
	      str_find(str_of(out.p, out.n), LIT("\"summary\":\"total\"")),
	      "records: --summary prints the whole run at the end");
	clear();
	opt.totals = true;
	check(run(1, 0, 0, true) == EX_OK && fake.finished == 1 && fake.whole == 0,
	      "records: --summary without intervals prints once");
	clear();
	fake.fails_at = 2;
	check(run(9, 5, 0, false) == EX_FAIL && fake.finished == 2,
	      "records: a write that fails ends the measurement");
	clear();
	fake.start_error = -EIO;
	check(run(1, 5, 0, false) == EX_FAIL && is_said("cannot start a process: EIO"),
	      "exit code if no process can be started");
	clear();
	fake.countable = false;
	check(run(1, 5, 0, false) == EX_DENIED, "exit code if nothing could be counted");
	clear();
	add_events(str_z("a"), 0);
	nrows.evsets = 2;
	evsets[1] = (struct evset){ .name = text_put(NONE, LIT("s")), .failed = true };
	say_failed_sets();
	check(is_said("set s: none of its events can be counted"),
	      "exit code if a set cannot be counted");
}

static void t_thread_order(void)
{
	static const u64 values[] = { 5, 9, 0, 7, 1, 2, 3, 4 }; /* of two events, four threads each */
	static const u32 want[] = { 2, 4, 1, 3, 8, 7, 6, 5 };
	size_t wrong = 0;

	clear();
	add_events(str_z("a,b"), 0);
	add_rows(2, 4);
	for (u32 i = 1; i <= 8; i++) {
		evrows[i].state = i == 3 ? CS_GONE : CS_COUNTED;
		evrows[i].value = values[i - 1];
	}
	opt.target.split = SPLIT_THREAD;
	check(order_rows(rows_shown()) == 8, "--per-thread: all threads have rows");
	for (size_t i = 0; i < 8; i++)
		wrong += order[i] != want[i];
	check_u64(wrong, 0,
	          "--per-thread: the highest count of each event is first, unknown counts are "
	          "last");
}

static void t_hooks(void)
{
	static const struct {
		int fails_at, before, after, code;
		u32 runs;
	} rows[] = { { 0, 3, 3, EX_OK, 3 }, { 1, 1, 0, 3, 0 }, { 3, 2, 1, 3, 1 }, { 6, 3, 3, 3, 3 } };

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		opt.command = words;
		opt.repeat = 3;
		opt.before = opt.after = "true";
		fake.measured = 0;
		fake.hook_fails_at = rows[i].fails_at;
		check(cmd_stat() == rows[i].code && fake.hooked[0] == rows[i].before &&
		      fake.hooked[1] == rows[i].after && fake.started == rows[i].runs,
		      "--pre and --post, which fail %d: each run has both", rows[i].fails_at);
		check(is_said(rows[i].fails_at == 6 ? "--post COMMAND failed: exit code 3\n" :
			      rows[i].fails_at ? "--pre COMMAND failed: exit code 3\n" : NULL),
		      "--pre and --post: a message if one of them failed");
	}
	clear();
	opt.after = "true";
	check(cmd_stat() == EX_USAGE && is_said("--pre and --post require a command"),
	      "--pre and --post without a command are an error of usage");
}

static void t_rights(void)
{
	clear();
	ready(5, false);
	check(fake.confined == 5 && fake.kept == 0 && opt.calls == 0,
	      "privileges: the last run keeps none");
	add_events(str_z("a,b"), 0);
	events[2].virt = 3;
	ready(5, false);
	check(fake.kept == (MAY_READ | MAY_PTRACE),
	      "privileges: virtual counters keep those to read other processes");
	clear();
	ready(5, true);
	check(fake.confined == -7,
	      "privileges: without a helper process, the next run inherits them");
	child_forker = true;
	ready(5, true);
	check(fake.confined == 0 && fake.kept == (MAY_PERF | MAY_PTRACE) &&
	      opt.calls == CALLS_OPEN_PERF,
	      "privileges: with a helper process, only those to count are kept");
	child_forker = false;
}

static void t_command(void)
{

	clear();
	opt.repeat = 3;
	check(cmd_stat() == EX_USAGE && is_said("--repeat requires a command"),
	      "-r without a command is an error of usage");
	clear();
	opt.repeat = 3;
	opt.command = words;
	opt.interval = 5;
	check(cmd_stat() == EX_USAGE && is_said("and no interval"),
	      "-r with an interval is an error of usage");
	clear();
	opt.repeat = 3;
	opt.command = words;
	opt.target.split = SPLIT_THREAD;
	check(cmd_stat() == EX_OK && fake.started == 3 && fake.closed == 2 && fake.repeated == 2 &&
	      opt.target.split == SPLIT_NONE,
	      "-r 3 runs the command three times, each in another thread");
	check(fake.finished == 1 && fake.dropped == 1, "-r 3 prints once");
	clear();
	opt.command = words;
	fake.failure = -ENOENT;
	check(cmd_stat() == 127 && fake.finished == 0, "-r of a command that cannot be executed");
	clear();
	opt.events[opt.nevents++] = str_z("bad");
	check(cmd_stat() == EX_USAGE && fake.started == 0, "an unknown event is an error of usage");
	clear();
	fake.countable = false;
	check(cmd_stat() == EX_DENIED, "exit code if no event can be counted");
}

int main(void)
{
	static char bytes[OUT_BYTES];

	out = buf_on(bytes, sizeof(bytes));
	t_syntax();
	t_pieces();
	t_switching();
	t_sets();
	t_defaults();
	t_rows();
	t_threads();
	t_intervals();
	t_thread_order();
	t_hooks();
	t_rights();
	t_command();
	return unit_end();
}
