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
	      "events --map --resolve is an error of usage");
	for (int map = 0; map < 2; map++) {
		clear();
		opt.map = map;
		opt.resolve = !map;
		opt.out.fmt = format_find((struct str)STR("json"));
		check(run("a", NULL) == EX_USAGE &&
		      is_said("--map and --resolve exclude -o json") && steps.n == 0,
		      "events -o json with --%s is an error of usage", map ? "map" : "resolve");
	}
	clear();
	check(run("a", "b") == EX_USAGE && is_said("'b': unexpected argument"),
	      "a second pattern is an error of usage");
	clear();
	opt.map = true;
	check(run("a", NULL) == EX_USAGE && is_said("'a': unexpected argument"),
	      "events --map with a pattern is an error of usage");
	clear();
	fake.no_roots = true;
	check(run(NULL, NULL) == EX_FAIL && steps.n == 0,
	      "without /proc and /sys, the command fails");
	clear();
	fake.bad_file = true;
	check(run(NULL, NULL) == EX_USAGE, "a bad file of --pmu-file is an error of usage");
	check_str(said_steps(), "file ", "after a bad file of --pmu-file, no other file is read");
}

/* --- the list --------------------------------------------------------------------------------- */

static void t_list(void)
{
	clear();
	check(run(NULL, NULL) == EX_OK && fake.finished == 1,
	      "without a pattern, all events are listed");
	check_str(printed(),
		  "cpu/cache-misses/                                   PMU event\n"
		  "page-faults                                         software event\n"
		  "sched:sched_switch\n"
		  "power/energy-pkg/                           Joules\n",
	          "a list has the columns event and kind");
	check_str(said_steps(), "file gpus close 10 11 confine list ",
		  "descriptors of processes are read before the privileges are dropped");
	clear();
	opt.proc = "/dump";
	check(run("page*", NULL) == EX_OK && fake.finished == 1,
	      "with a pattern, events are listed");
	check_str(printed(), "page-faults                                         software event\n",
		  "with a pattern, only the matching event is listed");
	check_str(said_steps(), "file gpus close 10 11 99 confine list ",
		  "with --proc, links that lead to /proc are allowed");
	clear();
	check(run("page-fault", NULL) == EX_FAIL &&
	      is_said("no event matches 'page-fault'; did you mean 'page-faults'?\n"),
	      "an unknown event: the message has the nearest name");
	clear();
	check(run("zzzzzz", NULL) == EX_FAIL && is_said("no event matches 'zzzzzz'\n"),
	      "an unknown event: the message has no name if none is near");
	check(fake.finished == 0, "an unknown event: nothing is written");
}

static void t_room(void)
{
	clear();
	out.n = OUT_BYTES / 2;
	check(run("page*", NULL) == EX_OK && fake.flushed == 0 && out.n > OUT_BYTES / 2,
	      "an event is added if half of the buffer is free");
	clear();
	out.n = OUT_BYTES / 2 + 1;
	check(run("page*", NULL) == EX_OK && fake.flushed == 1 && out.n == 67,
	      "the buffer is written first if less than half of it is free");
	clear();
	out.n = OUT_BYTES / 2 + 1;
	fake.flush_fails = true;
	check(run("page*", NULL) == EX_OK && out.n == 0,
	      "after a write that failed, no event is added");
	clear();
	fake.stops = true;
	check(run(NULL, NULL) == EX_OK && fake.finished == 1 && said.n == 0,
	      "a signal ends the list without a message");
	check_str(printed(),
		  "cpu/cache-misses/                                   PMU event\n",
		  "after a signal, no event is listed");
	clear();
	fake.stops = true;
	stopped = 1;
	check(run("zzz", NULL) == EX_OK && is_said(NULL),
	      "after a signal, there is no message about an unknown event");
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
		check_str(printed(), want, "JSON of the event %s", show(str_z(rows[i].name)));
		check(json_ok(printed(), NULL), "JSON of the event is valid");
	}
	clear();
	opt.out.fmt = format_find((struct str)STR("json"));
	check(run("page*", NULL) == EX_OK && out.p[0] == '{', "events -o json prints an object");
}

/* --- --resolve and --map ---------------------------------------------------------------------- */

static void t_resolve(void)
{
	clear();
	opt.resolve = true;
	check(run(NULL, NULL) == EX_USAGE && is_said("events: --resolve requires an EVENT"),
	      "events --resolve without an event is an error of usage");
	clear();
	opt.resolve = true;
	check(run("a", "b") == EX_OK && fake.added == 2 && fake.finished == 1,
	      "events --resolve with two events adds both");
	check_str(printed(), "resolved\n", "events --resolve prints the attributes");
	check_str(said_steps(), "close 10 11 confine resolve ",
	          "events --resolve prints after confine()");
	clear();
	opt.resolve = true;
	fake.bad = "b";
	check(run("a", "b") == EX_USAGE && steps.n == 0,
	      "events --resolve with an unknown second event is an error of usage");
	clear();
	opt.resolve = fake.denied = true;
	check(run("a", NULL) == EX_DENIED && is_said("only root can read tracefs") && steps.n == 0,
	      "events --resolve with a tracepoint that only root may read: permission denied");
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
	check(map_run(NULL, 0) == EX_OK && !fake.fits, "events --map succeeds");
	check_str(printed(), "pmu\n", "events --map prints the map");
	check_str(said_steps(), "close 10 11 /my map confine ",
	          "events --map: the file of the map stays readable in the sandbox");
	check(map_run("no such event", 12) == EX_USAGE && is_said("/my map: line 12: no such event\n"),
	      "events --map: a malformed line is an error with its number");
	check(map_run("cannot be read", 0) == EX_USAGE && is_said("/my map: cannot be read\n"),
	      "events --map: a file that cannot be read is an error");
	check(out.n == 0 && fake.finished == 0, "events --map: a malformed map is not printed");
	clear();
	opt.map = opt.verbose = true;
	fake.map = &(struct pmumap){ .name = "x" };
	check(run(NULL, NULL) == EX_OK && fake.fits,
	      "events --map -v prints the machines that the map fits");
	clear();
	opt.map = opt.perfmon = true;
	fake.map = &(struct pmumap){ .name = "x\n" };
	check(run(NULL, NULL) == EX_OK, "events --map --perfmon succeeds");
	check_str(printed(), "registers of x\n",
	          "events --map --perfmon prints the map in the form of perfmon2");
	clear();
	opt.perfmon = true;
	check(run(NULL, NULL) == EX_USAGE, "events --perfmon without --map is an error of usage");
	clear();
	opt.map = true;
	check(run(NULL, NULL) == EX_FAIL && is_said("no memory for the map of perfmon2 registers"),
	      "events --map --perfmon without memory fails");
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
