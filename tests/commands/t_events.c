/* t_events.c - `events`: options that exclude each other, an event as text and as JSON, the nearest
 * name, what is read before the program may open no more files. The events are simulated.
 * SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
static long fake_openat(const char *path) { return strcmp(path, "/proc") == 0 ? 99 : -1; }
#define sys_openat(dir, path, flags) fake_openat(path)
#include "../../commands/events.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
volatile sig_atomic_t stopped;
struct roots roots = { .proc = 10, .sys = 11 };

static char bytes[OUT_BYTES], step_bytes[256];
static struct buf steps;

static struct {
	bool no_roots, bad_file, flush_fails, denied, stops;
	const char *bad;      /* add_events() refuses this name */
	u32 added, flushed, finished, shown;
	const struct pmumap *map;
	bool fits;            /* the argument of pmumap_put() */
} fake;

static void step(const char *name) { put_z(&steps, name); }

bool open_roots(bool needed) { return !needed && !fake.no_roots; }
void close_files(void) { step("close "); }
void confine(i32 child) { step(child ? "child " : "confine "); }
bool (*virtual_filter)(u32 device, u32 place);
bool device_wanted(u32 device, u32 place) { return device == place; }
void virtual_prepare(void) { step("gpus "); }
bool flush(void) { out.n = 0; fake.flushed++; return !fake.flush_fails; }
bool flush_record(void) { return out.n <= OUT_BYTES / 2 || flush(); }
int finish(void) { fake.finished++; return EX_OK; }
bool read_events_file(void) { step("file "); return !fake.bad_file; }
void events_resolve(struct buf *b) { step("resolve "); put_z(b, "resolved\n"); }

void sandbox_folder(i32 fd, bool write)
{
	step(write ? "write " : "");
	put_u64(&steps, (u64)fd);
	step(" ");
}

bool sandbox_file(const char *path, bool write)
{
	step(write ? "write " : "");
	step(path);
	step(" ");
	return true;
}

bool add_events(struct str list, u16 set)
{
	if (set || (fake.bad && str_is(list, fake.bad)))
		return false;
	table_has(&events_table, nrows.events + 1);
	events[++nrows.events] = (struct event){ .denied = fake.denied };
	fake.added++;
	return true;
}

static const struct { const char *name, *unit, *what; } known[] = {
	{ "cpu/cache-misses/", "", "PMU event" }, { "page-faults", "", "software event" },
	{ "sched:sched_switch", "", "" }, { "power/energy-pkg/", "Joules", "" },
};

/* The name is overwritten after each call, as with the program's own lists. */
void events_list(struct str glob, void (*each)(struct str name, struct str unit, struct str what))
{
	char name[64];

	step("list ");
	for (size_t i = 0; i < LEN(known); i++) {
		str_copy(name, sizeof(name), str_z(known[i].name));
		if (!glob_match(glob, str_z(name), NULL))
			continue;
		each(str_z(name), str_z(known[i].unit), str_z(known[i].what));
		stopped = fake.stops;
		memset(name, 'z', sizeof(name) - 1);
	}
}

const struct pmumap *pmumap(void) { return fake.map; }

void pmumap_put(const struct pmumap *map, bool fits, struct buf *b)
{
	fake.fits = fits;
	put_z(b, map->name);
}

void pmumap_put_perfmon(const struct pmumap *map, struct buf *b)
{
	put_z(b, "registers of ");
	put_z(b, map->name);
}

static void clear(void)
{
	memset(&opt, 0, sizeof(opt));
	opt.out.fmt = format_find((struct str)STR("line"));
	memset(&fake, 0, sizeof(fake));
	memset(&names, 0, sizeof(names));
	stopped = 0;
	nrows.events = 0;
	out = buf_on(bytes, sizeof(bytes));
	steps = BUF(step_bytes);
	said.n = 0;
}

static int run(const char *a, const char *b)
{
	static char words[2][64], *list[3];
	const char *const from[] = { a, b };

	for (opt.nwords = 0; opt.nwords < 2 && from[opt.nwords]; opt.nwords++) {
		str_copy(words[opt.nwords], sizeof(words[0]), str_z(from[opt.nwords]));
		list[opt.nwords] = words[opt.nwords];
	}
	opt.words = list;
	return cmd_events();
}

static struct str said_steps(void) { return str_of(steps.p, steps.n); }
static struct str printed(void) { return str_of(out.p, out.n); }

/* --- options ---------------------------------------------------------------------------------- */

static void t_options(void)
{
	clear();
	opt.map = opt.resolve = true;
	check(run(NULL, NULL) == EX_USAGE && is_said("--map and --resolve exclude each other"),
	      "--map --resolve");
	for (int map = 0; map < 2; map++) {
		clear();
		opt.map = map;
		opt.resolve = !map;
		opt.out.fmt = format_find((struct str)STR("json"));
		check(run("a", NULL) == EX_USAGE &&
		      is_said("--map and --resolve exclude -o json") && steps.n == 0,
		      "-o json and --%s", map ? "map" : "resolve");
	}
	clear();
	check(run("a", "b") == EX_USAGE && is_said("'b': unexpected argument"), "a second pattern");
	clear();
	opt.map = true;
	check(run("a", NULL) == EX_USAGE && is_said("'a': unexpected argument"), "--map takes none");
	clear();
	fake.no_roots = true;
	check(run(NULL, NULL) == EX_FAIL && steps.n == 0, "no /proc and /sys");
	clear();
	fake.bad_file = true;
	check(run(NULL, NULL) == EX_USAGE, "a bad file of --pmu-file");
	check_str(said_steps(), "file ", "nothing is read after it");
}

/* --- the list --------------------------------------------------------------------------------- */

static void t_list(void)
{
	clear();
	check(run(NULL, NULL) == EX_OK && fake.finished == 1, "all events");
	check_str(printed(),
		  "cpu/cache-misses/                                   PMU event\n"
		  "page-faults                                         software event\n"
		  "sched:sched_switch\n"
		  "power/energy-pkg/                           Joules\n", "their columns");
	check_str(said_steps(), "file gpus close 10 11 confine list ",
		  "descriptors of processes are read before the rights are dropped");
	clear();
	opt.proc = "/dump";
	check(run("page*", NULL) == EX_OK && fake.finished == 1, "a pattern");
	check_str(printed(), "page-faults                                         software event\n",
		  "the event that matches");
	check_str(said_steps(), "file gpus close 10 11 99 confine list ",
		  "links of --proc may lead to /proc");
	clear();
	check(run("page-fault", NULL) == EX_FAIL &&
	      is_said("no event matches 'page-fault'; did you mean 'page-faults'?\n"),
	      "the nearest name");
	clear();
	check(run("zzzzzz", NULL) == EX_FAIL && is_said("no event matches 'zzzzzz'\n"),
	      "no near name");
	check(fake.finished == 0, "nothing is written");
}

static void t_room(void)
{
	clear();
	out.n = OUT_BYTES / 2;
	check(run("page*", NULL) == EX_OK && fake.flushed == 0 && out.n > OUT_BYTES / 2,
	      "half of the buffer is free");
	clear();
	out.n = OUT_BYTES / 2 + 1;
	check(run("page*", NULL) == EX_OK && fake.flushed == 1 && out.n == 67,
	      "less than half: what is there is written first");
	clear();
	out.n = OUT_BYTES / 2 + 1;
	fake.flush_fails = true;
	check(run("page*", NULL) == EX_OK && out.n == 0, "a write that fails: no event is added");
	clear();
	fake.stops = true;
	check(run(NULL, NULL) == EX_OK && fake.finished == 1 && said.n == 0, "a signal");
	check_str(printed(),
		  "cpu/cache-misses/                                   PMU event\n",
		  "no event after a signal");
	clear();
	fake.stops = true;
	stopped = 1;
	check(run("zzz", NULL) == EX_OK && is_said(NULL), "no message after a signal");
}

static void t_json(void)
{
	static const struct { const char *name, *unit, *what, *json; } rows[] = {
		{ "cpu/a/", "Joules", "b", "\"name\":\"cpu/a/\",\"unit\":\"Joules\","
		  "\"description\":\"b\",\"pmu\":\"cpu\"" },
		{ "sched:sched_switch", "", "", "\"name\":\"sched:sched_switch\",\"unit\":null,"
		  "\"description\":null,\"pmu\":\"tracepoint\"" },
		{ "sched:x", "", "b", "\"name\":\"sched:x\",\"unit\":null,"
		  "\"description\":\"b\",\"pmu\":null" },
		{ "faults", "", "software event", "\"name\":\"faults\",\"unit\":null,"
		  "\"description\":\"software event\",\"pmu\":\"software\"" },
		{ "cycles", "", "hardware event", "\"name\":\"cycles\",\"unit\":null,"
		  "\"description\":\"hardware event\",\"pmu\":null" },
		{ "p/\"\\/", "\n", "", "\"name\":\"p/\\\"\\\\/\",\"unit\":\"\\u000a\","
		  "\"description\":null,\"pmu\":\"p\"" },
	};
	char want[256];

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		show_json(str_z(rows[i].name), str_z(rows[i].unit), str_z(rows[i].what));
		snprintf(want, sizeof(want), "{\"schema\":1,\"kind\":\"event_name\",%s}\n",
			 rows[i].json);
		check_str(printed(), want, "JSON: %s", show(str_z(rows[i].name)));
		check(json_ok(printed(), NULL), "it is valid");
	}
	clear();
	opt.out.fmt = format_find((struct str)STR("json"));
	check(run("page*", NULL) == EX_OK && out.p[0] == '{', "-o json");
}

/* --- --resolve and --map ---------------------------------------------------------------------- */

static void t_resolve(void)
{
	clear();
	opt.resolve = true;
	check(run(NULL, NULL) == EX_USAGE && is_said("events: --resolve requires an EVENT"),
	      "--resolve without an event");
	clear();
	opt.resolve = true;
	check(run("a", "b") == EX_OK && fake.added == 2 && fake.finished == 1, "two events");
	check_str(printed(), "resolved\n", "they are printed");
	check_str(said_steps(), "close 10 11 confine resolve ", "after the rights were dropped");
	clear();
	opt.resolve = true;
	fake.bad = "b";
	check(run("a", "b") == EX_USAGE && steps.n == 0, "the second event is unknown");
	clear();
	opt.resolve = fake.denied = true;
	check(run("a", NULL) == EX_DENIED && is_said("only root can read tracefs") && steps.n == 0,
	      "a tracepoint that only root may read");
}

static int map_run(const char *why, u32 line)
{
	static struct pmumap map;

	clear();
	map = (struct pmumap){ .name = "pmu\n", .why = why, .line = line };
	opt.map = true;
	fake.map = &map;
	return run(NULL, NULL);
}

static void t_map(void)
{
	setenv("GPUSTAT_PMU_MAP", "/my map", 1);
	check(map_run(NULL, 0) == EX_OK && !fake.fits, "--map");
	check_str(printed(), "pmu\n", "the map is printed");
	check_str(said_steps(), "close 10 11 /my map confine ", "its file stays readable");
	check(map_run("no such event", 12) == EX_USAGE && is_said("/my map: line 12: no such event\n"),
	      "a line of the map is wrong");
	check(map_run("cannot be read", 0) == EX_USAGE && is_said("/my map: cannot be read\n"),
	      "the whole map is wrong");
	check(out.n == 0 && fake.finished == 0, "it is not printed");
	clear();
	opt.map = opt.verbose = true;
	fake.map = &(struct pmumap){ .name = "x" };
	check(run(NULL, NULL) == EX_OK && fake.fits, "--map -v: with the machines that it fits");
	clear();
	opt.map = opt.perfmon = true;
	fake.map = &(struct pmumap){ .name = "x\n" };
	check(run(NULL, NULL) == EX_OK, "--map --perfmon");
	check_str(printed(), "registers of x\n", "the map is printed as perfmon2's file");
	clear();
	opt.perfmon = true;
	check(run(NULL, NULL) == EX_USAGE, "--perfmon without --map");
	clear();
	opt.map = true;
	check(run(NULL, NULL) == EX_FAIL && is_said("no memory for the map of perfmon2 registers"),
	      "no memory");
}

int main(void)
{
	t_options();
	t_list();
	t_room();
	t_json();
	t_resolve();
	t_map();
	return unit_end();
}
