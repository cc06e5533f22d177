/* t_named.c - `counters` and `host`: which counters names and patterns select, the limit on
 * tracepoints, words that are times, columns, counters that are refused. The catalogue is
 * simulated. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/named.c"
#undef replay
#include "said.h"
#include "child.h"

struct opts opt;
struct record rec;
struct buf out;
volatile sig_atomic_t stopped;
bool lost_record;
struct roots roots;
u32 nnamed;

static char bytes[OUT_BYTES], step_bytes[512];
static struct buf steps;

static struct {
	struct named rows[400];
	bool roots, full;
	long refresh;      /* result of catalog_refresh() */
	u32 asked;         /* the last providers that it got */
	u32 added_on;      /* if it is asked for these, the rows after nnamed appear */
	u32 added;
	u32 opened, samples, ticks, finished, flushed;
	u32 fails_at;      /* flush() fails the n-th time; 0: never */
	bool ticks_fail, stops;
	size_t ntimes;     /* words that parse_times() got */
	int times_code;
} fake;

bool open_roots(bool needed) { return !needed && fake.roots; }
bool say_full(void) { return fake.full; }
void say_dropped(void) { put_z(&steps, "dropped "); }
void confine(i32 child) { put_z(&steps, child ? "child " : "confine "); }
void update_offset(void) { }
i64 virtual_due(void) { return -1; }
void virtual_drain(void) { }
bool gpu_counter_exclusive(u32 at) { return at == 999; }
i64 sample_time(void) { return 5; }
bool flush(void) { out.n = 0; return ++fake.flushed != fake.fails_at; }
bool flush_record(void) { return out.n <= OUT_BYTES / 2 || flush(); }

bool append_record(void)
{
	out_record(&opt.out, &out, &rec);
	return flush_record();
}
int finish_sample(void) { fake.finished++; return EX_OK; }
void catalog_start(void) { put_z(&steps, "start "); }
void catalog_sample(void) { fake.samples++; }
const struct named *catalog_at(u32 i) { return &fake.rows[i]; }
void ticks_start(struct ticks *t) { put_z(&steps, "ticks "); t->failed = fake.ticks_fail; }
void ticks_stamp(struct ticks *t, struct recopts *ro) { (void)t; ro->time_us = 1; }

void ticks_begin(struct ticks *t)
{
	*t = (struct ticks){ .left = opt.count };
	put_z(&steps, "begin ");
}

bool ticks_next(struct ticks *t) { (void)t; return fake.ticks > 0 && fake.ticks--; }

long catalog_refresh(u32 providers)
{
	fake.asked = providers;
	if (fake.added_on && providers == fake.added_on) {
		nnamed += fake.added;
		fake.added = 0;
	}
	return fake.refresh;
}

u32 catalog_providers_for(struct str word)
{
	return str_skip_z(&word, "drm/") ? 1 << PROVIDER_GPU : 1 << PROVIDER_EVENT;
}

bool catalog_find(struct str name, u32 *i)
{
	for (*i = 0; *i < nnamed; ++*i)
		if (str_is(name, fake.rows[*i].name))
			return true;
	return false;
}

/* Counters whose unit is "no" are refused. */
long catalog_activate(const u32 *is, size_t n)
{
	fake.opened += n == 1;
	stopped |= fake.stops;
	return str_is(str_z(fake.rows[*is].unit), "no") ? -EACCES : 0;
}

/* Counters whose unit is "busy" have no value. A refused event has a reason, a counter of the host has none. */
const char *catalog_reason(u32 i)
{
	return str_is(str_z(fake.rows[i].unit), "busy") ? "another program counts" :
	       str_is(str_z(fake.rows[i].unit), "no") && i == 5 ? "denied: the provider's reason" : NULL;
}

int parse_times(char **words, size_t n)
{
	fake.ntimes = n;
	if (n && !parse_interval(str_z(words[0]), &opt.interval))
		return EX_FAIL;
	return fake.times_code;
}

static const char *const names[] = {
	"drm/card0/render/busy", "host/cpu/all/util", "host/cpu/all/user", "host/file/open/x",
	"host/load/-/1", "perf/cycles", "10", "drm/card1/render/busy",
};
enum { BASE = 7 }; /* the last is added by a later refresh */

static void clear(void)
{
	memset(&opt, 0, sizeof(opt));
	opt.out.fmt = format_find((struct str)STR("json"));
	opt.out.kind = K_COUNTER;
	opt.out.patterns = opt.patterns;
	memset(&fake, 0, sizeof(fake));
	fake.roots = true;
	fake.times_code = -1;
	fake.ticks = 1;
	for (size_t i = 0; i < LEN(fake.rows); i++)
		fake.rows[i] = (struct named){ .vendor = "v", .unit = "", .what = "w", .at = (u32)i,
			.name = i < LEN(names) ? names[i] : "perf/tracepoint/a/b" };
	for (size_t i = 0; i < LEN(names); i++)
		fake.rows[i].provider = strncmp(names[i], "drm", 3) == 0 ? PROVIDER_GPU :
			strncmp(names[i], "host", 4) == 0 ? PROVIDER_HOST : PROVIDER_EVENT;
	nnamed = BASE;
	memset(&pick, 0, sizeof(pick));
	roots.proc = roots.sys = 3;
	stopped = 0;
	lost_record = false;
	said.n = 0;
	out = buf_on(bytes, sizeof(bytes));
	steps = BUF(step_bytes);
}

/* The titles of the selected counters. */
static struct str titles(void)
{
	static char text[4096];
	struct buf b = BUF(text);

	for (size_t i = 0; i < pick.npicked; i++) {
		put_c(&b, ' ');
		put_str(&b, picked.rows[i].title);
		put_z(&b, picked.rows[i].counter ? "" : "?");
	}
	return str_of(b.p, b.n);
}

/* --- runs ------------------------------------------------------------------------------------- */

/* The run that is checked. A counter is selected only once: each run is a process of its own. */
static const char *arguments; /* NULL: of host */
static void (*prepare)(void);

static void words_set(const char *text)
{
	static char copy[256];
	static char *list[16];

	str_copy(copy, sizeof(copy), str_z(text));
	opt.nwords = 0;
	for (char *w = strtok(copy, " "); w; w = strtok(NULL, " "))
		list[opt.nwords++] = w;
	opt.words = list;
}

static int in_child(void)
{
	struct str all;
	int code;

	clear();
	if (arguments)
		words_set(arguments);
	if (prepare)
		prepare();
	code = arguments ? cmd_counters() : cmd_host();
	all = titles();
	fwrite(said.p, 1, said.n, stderr);
	printf("%.*s\nsteps %.*s\n", (int)str_len(all), all.p, (int)steps.n, steps.p);
	printf("%zu words of times, %u opened, %u samples, %u records\n", fake.ntimes, fake.opened,
	       fake.samples, fake.finished);
	printf(pick.one_record ? "one record:" : "records:");
	for (size_t i = 0; i < opt.out.npatterns; i++)
		printf(" %.*s", (int)str_len(opt.patterns[i]), opt.patterns[i].p);
	putchar('\n');
	fflush(stdout);
	fflush(stderr);
	return code;
}

static void counters(const char *text, void (*before)(void), int code, const char *output,
		     const char *errors, const char *name)
{
	arguments = text;
	prepare = before;
	child_check(in_child, code, output, errors, name);
}

static void host(void (*before)(void), int code, const char *output, const char *errors,
		 const char *name)
{
	counters(NULL, before, code, output, errors, name);
}

#define NOTHING "\nsteps \n0 words of times, 0 opened, 0 samples, 0 records\n"
#define STEPS "\nsteps begin start confine ticks dropped \n"

/* --- counters --------------------------------------------------------------------------------- */

static void no_roots(void) { fake.roots = false; }
static void neither(void) { roots.proc = roots.sys = -1; }
static void only_sys(void) { roots.proc = -1; }
static void unreadable(void) { fake.refresh = -EACCES; }
static void full(void) { fake.full = true; }
static void interval(void) { opt.interval = 1; }
static void count(void) { opt.count = 1; }
static void window(void) { opt.windowed = true; }
static void bad_times(void) { fake.times_code = EX_USAGE; }

static void gpu_and_file(void)
{
	fake.added_on = 1 << PROVIDER_GPU | 1 << PROVIDER_FILE;
	fake.added = 1;
}

static void all_providers(void)
{
	fake.added_on = ALL_PROVIDERS;
	fake.added = 1;
}

static void verbose(void) { all_providers(); opt.verbose = true; }

static void recommended(void)
{
	all_providers();
	fake.rows[3].recommended = true;
}

static void t_counters(void)
{
	counters("drm/*", no_roots, EX_FAIL, NOTHING, NULL, "no root could be opened");
	counters("drm/*", neither, EX_FAIL, NOTHING, NULL, "neither /proc nor /sys");
	counters("drm/*", only_sys, EX_OK, " drm/card0/render/busy" STEPS, NULL, "only /sys");
	counters("drm/*", unreadable, EX_DENIED, NOTHING, "cannot read /proc and /sys; run as root",
		 "without permission to read /proc and /sys: exit code 4");
	counters("", verbose, EX_OK, " drm/card0/render/busy host/cpu/all/util host/cpu/all/user"
		 " host/file/open/x host/load/-/1 perf/cycles 10 drm/card1/render/busy\n"
		 "steps dropped \n0 words of times, 0 opened, 0 samples, 1 records\n", NULL,
		 "the list has the counters of all providers with -v");
	counters("", recommended, EX_OK, " drm/card0/render/busy host/file/open/x drm/card1/render/busy\n"
		 "steps dropped \n", NULL,
		 "the list without -v has the counters of GPUs and the recommended ones");
	counters("USER", all_providers, EX_OK, " host/cpu/all/user\nsteps dropped \n", NULL,
		 "a word lists the counters whose names contain it, in upper or lower case");
	counters("USER 5", all_providers, EX_FAIL, NOTHING, "no such counter: USER",
		 "a word before a time is a name");
	counters("drm/* 10", gpu_and_file, EX_OK, " drm/card0/render/busy drm/card1/render/busy"
		 STEPS "1 words of times, 2 opened, 1 samples, 1 records\nrecords:\n", NULL,
		 "a pattern and an interval: only its provider and that of files are refreshed");
	counters("host/load/-/1 drm/*", NULL, EX_OK, " host/load/-/1 drm/card0/render/busy" STEPS,
		 NULL, "counters are printed in the order of the words");
	counters("host/cpu/* *cpu*util host/cpu/all/user", NULL, EX_OK,
		 " host/cpu/all/util host/cpu/all/user" STEPS, NULL,
		 "each counter is printed once");
	counters("perf/cycles 5 3", NULL, EX_OK, " perf/cycles" STEPS "2 words of times,", NULL,
		 "two words after a name are times");
	counters("10 5", NULL, EX_OK, " 10" STEPS "1 words of times,", NULL,
		 "the first word is a name, also if it looks like a time");
	counters("perf/cycles 10", NULL, EX_OK, " perf/cycles" STEPS "1 words of times,", NULL,
		 "the second word is a time, also if a counter has this name");
	counters("5", NULL, EX_USAGE, NOTHING, "counters: NAME is missing",
		 "only a time: an error of usage");
	counters("", interval, EX_USAGE, NOTHING, "counters: NAME is missing",
		 "only -i: an error of usage");
	counters("", count, EX_USAGE, NOTHING, "counters: NAME is missing",
		 "only -n: an error of usage");
	counters("", window, EX_USAGE, NOTHING, "counters: NAME is missing",
		 "only -w: an error of usage");
	counters("perf/cycles nosuch", NULL, EX_FAIL, "0 samples, 0 records",
		 "no such counter: nosuch; gpustat counters -v lists them\n",
		 "an unknown name is reported");
	counters("nosuch", full, EX_FAIL, NOTHING, NULL,
		 "an unknown name may be a counter without room: exit code 1");
	counters("perf/cycles x", bad_times, EX_FAIL, "0 samples", "no such counter: x",
		 "a word after a name that is no time is an unknown counter");
	counters("perf/cycles 5", bad_times, EX_USAGE, "0 opened, 0 samples", NULL,
		 "an invalid time is an error of usage");
}

/* --- tracepoints ------------------------------------------------------------------------------ */

static void points(void)
{
	static char text[100][32];

	for (size_t i = 0; i < LEN(text); i++) {
		snprintf(text[i], sizeof(text[0]), "perf/tracepoint/p/%zu", i);
		fake.rows[BASE + i].name = text[i];
		fake.rows[BASE + i].provider = PROVIDER_EVENT;
	}
	nnamed = BASE + LEN(text);
}

static void every_listed(void) { points(); opt.verbose = true; }
static void every_point(void) { points(); opt.every = true; }
static void points_full(void) { points(); fake.full = true; }

static void t_points(void)
{
	counters("perf/*", points, EX_OK, " perf/cycles" STEPS "0 words of times, 1 opened",
		 "100 kernel tracepoints were left out: a pattern opens at most 64, --all opens all\n",
		 "a pattern without the prefix of tracepoints selects no tracepoint");
	counters("perf/tracepoint/*", points, EX_OK, "64 opened", "36 kernel tracepoints were left",
		 "a pattern with the prefix of tracepoints selects 64");
	counters("perf/tracepoint/*1 perf/tracepoint/*", points, EX_OK, "64 opened", "36 kernel",
		 "two patterns of tracepoints together select 64");
	counters("perf/tracepoint/p/7 perf/tracepoint/p/99", points, EX_OK,
		 " perf/tracepoint/p/7 perf/tracepoint/p/99" STEPS, NULL, "names");
	counters("perf/tracepoint/* perf/tracepoint/p/98", points, EX_OK, "65 opened",
		 "36 kernel tracepoints",
		 "a tracepoint by name after a pattern is selected in addition");
	counters("perf/*", every_point, EX_OK, "101 opened", NULL, "--all");
	counters("", every_listed, EX_OK, " perf/tracepoint/p/99\nsteps dropped ", NULL, "the list");
	counters("perf/trace*", points, EX_USAGE, NOTHING, "100 kernel tracepoints",
		 "a pattern that matches only tracepoints is an error of usage");
	counters("perf/trace*", points_full, EX_FAIL, NOTHING, "100 kernel tracepoints",
		 "a pattern that matches only tracepoints, with full tables: exit code 1");
}

/* --- samples ---------------------------------------------------------------------------------- */

static void busy_two(void) { fake.rows[1].unit = fake.rows[2].unit = "busy"; }
static void busy_event(void) { fake.rows[5].unit = "busy"; }
static void refuse(u32 i) { fake.rows[i].unit = "no"; }
static void refuse_event(void) { refuse(5); }
static void refuse_host(void) { refuse(1); }
static void refuse_two(void) { refuse(1); refuse(2); }
static void refuse_three(void) { refuse(1); refuse(2); refuse(5); }
static void three_ticks(void) { fake.ticks = 3; }
static void two_of_three(void) { fake.ticks = 3; opt.count = 2; }
static void ticks_fail(void) { fake.ticks_fail = true; }
static void lost(void) { lost_record = true; }
static void stop(void) { fake.stops = true; fake.ticks = 0; }
static void writes_fail(void) { every_point(); fake.fails_at = 1; }
static void fails_when_half_full(void)
{
	writes_fail();
	out.n = OUT_BYTES / 2;
}

static void t_samples(void)
{
	counters("perf/cycles drm/*", refuse_event, EX_OK, "2 opened, 1 samples",
		 "perf/cycles: denied: the provider's reason\n",
		 "one refused counter: the message has the reason of its provider");
	counters("host/cpu/all/util drm/*", refuse_host, EX_OK, "1 samples",
		 "host/cpu/all/util: access to this counter is denied; run as root\n",
		 "one refused counter of the host: the message has no remedy of events");
	counters("host/cpu/* drm/*", refuse_two, EX_OK, "1 samples",
		 "2 selected counters cannot be read: access is denied\n", "two refused counters: one message");
	counters("host/cpu/* perf/cycles", refuse_three, EX_DENIED,
		 "\nsteps \n0 words of times, 3 opened, 0 samples",
		 "host/cpu/all/util: access to this counter is denied; run as root\n3 selected counters cannot be read: access is denied\n",
		 "all counters are refused: exit code 4");
	counters("perf/cycles drm/*", busy_event, EX_OK, "1 samples",
		 "perf/cycles: another program counts\n",
		 "one counter without a value: the message has the reason");
	counters("host/cpu/*", busy_two, EX_OK, "1 samples",
		 "host/cpu/all/util: another program counts\n2 of the selected counters have no value\n",
		 "two counters without a value: one message");
	counters("perf/cycles", three_ticks, EX_OK, "3 samples, 3 records", NULL, "no COUNT");
	counters("perf/cycles", two_of_three, EX_OK, "2 samples, 2 records", NULL, "COUNT");
	counters("perf/cycles", ticks_fail, EX_FAIL, STEPS, NULL, "standard input cannot be read");
	counters("perf/cycles", lost, EX_FAIL, STEPS, NULL, "a record without room");
	counters("host/*", stop, EX_OK, " 1 opened, 0 samples", NULL,
		 "after a signal, no other counter is opened");
	counters("*", fails_when_half_full, EX_FAIL, "1 samples, 0 records", NULL,
		 "a write that fails");
	counters("*", writes_fail, EX_OK, "1 samples, 1 records", NULL,
		 "records are written together");
}

/* --- host ------------------------------------------------------------------------------------- */

static void format(const char *name, const char *fields)
{
	struct str list = str_z(fields), s;

	opt.out.fmt = format_find(str_z(name));
	while (str_cut(&list, ',', &s))
		opt.patterns[opt.out.npatterns++] = s;
}

static void line(void) { format("line", ""); opt.out.npatterns = 0; }
static void json_fields(void) { format("json", "value"); }
static void json_names(void) { format("json", "cpu/*"); }
static void csv_names(void) { format("csv", "load/-/1,cpu/*"); }
static void csv_both(void) { format("csv", "time,cpu/all/user"); }
static void csv_field(void) { format("csv", "vendor,cpu/*"); }
static void csv_time(void) { format("csv", "time"); }
static void expensive_name(void) { format("json", "file/*"); }
static void unknown(void) { format("json", "cpu/*,nosuch"); }

static void others(void)
{
	format("json", "drm/*");
	fake.added_on = 1 << PROVIDER_GPU;
	fake.added = 1;
}

static void t_host(void)
{
	host(no_roots, EX_FAIL, NOTHING, NULL, "host: no root could be opened");
	host(NULL, EX_OK, " cpu/all/util cpu/all/user load/-/1" STEPS
	     "0 words of times, 3 opened, 1 samples, 1 records\nrecords:\n", NULL,
	     "the host's counters, without its prefix, but for those that read each process");
	host(line, EX_OK, " CPU USER SYS? IOWT? MEM? SWAP? FAULTS? READ? WRITE? PROCS? CTXSW? LOAD"
	     STEPS "0 words of times, 3 opened, 1 samples, 1 records\none record:\n", NULL,
	     "the columns of a line; unknown counters are not opened");
	host(json_fields, EX_OK, " cpu/all/util cpu/all/user load/-/1" STEPS
	     "0 words of times, 3 opened, 1 samples, 1 records\nrecords: value\n", NULL,
	     "-f with a field: all counters");
	host(json_names, EX_OK, " cpu/all/util cpu/all/user" STEPS
	     "0 words of times, 2 opened, 1 samples, 1 records\nrecords:\n", NULL,
	     "-f with counters: a record each");
	host(csv_names, EX_OK, " load/-/1 cpu/all/util cpu/all/user" STEPS
	     "0 words of times, 3 opened, 1 samples, 1 records\n"
	     "one record: load/-/1 cpu/all/util cpu/all/user\n", NULL, "CSV: a column each");
	host(csv_both, EX_OK, "\none record: time cpu/all/user\n", NULL, "CSV: a field of all records");
	host(csv_field, EX_OK, "\nrecords: vendor\n", NULL, "CSV: a field of one counter");
	host(csv_time, EX_OK, " cpu/all/util cpu/all/user load/-/1" STEPS
	     "0 words of times, 3 opened, 1 samples, 1 records\nrecords: time\n", NULL,
	     "CSV: only fields");
	host(expensive_name, EX_OK, " file/open/x" STEPS, NULL, "-f names an expensive counter");
	host(others, EX_OK, " drm/card0/render/busy drm/card1/render/busy" STEPS, NULL,
	     "-f with counters of another provider");
	host(unknown, EX_USAGE, "0 samples", "no such counter: nosuch", "-f with an unknown name");
}

/* --- columns ---------------------------------------------------------------------------------- */

static void t_columns(void)
{
	struct recopts ro = { .dt_us = -1, .time_us = -1 };

	clear();
	opt.out.fmt = format_find((struct str)STR("csv"));
	pick.one_record = true;
	fake.rows[1] = fake.rows[2] = (struct named){ .name = "x", .provider = PROVIDER_FILE };
	counter_pick(1, str_z("x"));
	counter_pick(2, str_z("x"));
	check(pick.npicked == 1 && opt.out.lost == 1, "the titles of columns are unique");
	pick.one_record = false;
	fake.rows[3] = fake.rows[1];
	counter_pick(3, str_z("x"));
	check(pick.npicked == 2, "titles in records need not be unique");
	for (int one = 0; one < 2; one++) {
		clear();
		opt.out.fmt = format_find((struct str)STR("logfmt"));
		picked.rows[0] = (struct picked){ .counter = &fake.rows[5], .title = LIT("a") };
		picked.rows[1] = (struct picked){ .counter = &fake.rows[0], .title = LIT("b") };
		pick.npicked = 2;
		pick.one_record = one;
		print_picked(&ro);
		check((memchr(out.p, '\n', out.n) == out.p + out.n - 1) == one, "%s",
		      one ? "a record has all counters" : "each counter has a record");
	}
	clear();
	opt.out.fmt = format_find((struct str)STR("table"));
	picked.rows[0] = (struct picked){ .counter = &fake.rows[5], .title = LIT("a") };
	picked.rows[1] = (struct picked){ .counter = &fake.rows[0], .title = LIT("b") };
	pick.npicked = 2;
	check(print_picked(&ro) == EX_OK &&
	      str_find(str_of(out.p, out.n), LIT("perf/cycles           ")),
	      "a table: the first line has room for the longest name");
}

int main(void)
{
	table_has(&picked.t, 8);
	t_counters();
	t_points();
	t_samples();
	t_host();
	t_columns();
	return unit_end();
}
