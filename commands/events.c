/* events.c - gpustat events: lists the available perf events, resolves names, and shows perfmon2's
 * register map.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sys.h"

#include "perfmon/pmumap.h"
#include <stdlib.h>

static struct {
	bool listed;         /* at least one event of the list was printed */
	struct nearest near; /* the event name that is most similar to a pattern without a match */
	char near_name[MAX_NEAR + 1];
} names;

static bool has_room(void)
{
	names.listed = true;
	return !stopped && flush_record();
}

static void show_event(struct str name, struct str unit, struct str what)
{
	size_t from;

	if (!has_room())
		return;
	/* offset in `out` at which this line begins; has_room() may have emptied `out` */
	from = out.n;
	put_text(&out, name);
	put_columns(&out, from, 44);
	put_text(&out, unit);
	put_columns(&out, from, 52);
	put_text(&out, what);
	while (out.n > from && out.p[out.n - 1] == ' ')
		out.n--;
	put_c(&out, '\n');
}

/* Prints an event as a JSON object. The name of its PMU is the part of its name before the first
 * slash. The name of a tracepoint has a colon, and the list of tracepoints has no descriptions. */
static void show_json(struct str name, struct str unit, struct str what)
{
	struct str rest = name, pmu;

	if (!has_room())
		return;
	str_cut(&rest, '/', &pmu);
	if (pmu.e == name.e)
		pmu = str_z(!str_len(what) && str_find(name, LIT(":")) ? "tracepoint" :
			    str_is(what, "software event") ? "software" : NULL);
	put_z(&out, "{\"schema\":1,\"kind\":\"event_name\"");
	put_text_member(&out, "name", name);
	put_text_member(&out, "unit", unit);
	put_text_member(&out, "description", what);
	put_text_member(&out, "pmu", pmu);
	put_z(&out, "}\n");
}

static void try_name(struct str name, struct str unit, struct str what)
{
	(void)unit;
	(void)what;
	nearest_try(&names.near, name);
	if (names.near.name.p && names.near.name.p != names.near_name) {
		str_copy(names.near_name, sizeof(names.near_name), names.near.name);
		names.near.name = str_z(names.near_name);
	}
}

/* Lists the events whose names match a pattern. If there are none, the error message has the most
 * similar name. Returns the exit code. */
static int list_events(const char *glob)
{
	char text[64];
	struct buf b = BUF_Z(text);
	bool json = opt.out.fmt != format_find((struct str)STR("line"));

	events_list(str_z(glob), json ? show_json : show_event);
	if (names.listed || stopped)
		return finish();
	names.near.text = str_z(glob);
	events_list((struct str)STR("*"), try_name);
	put_z(&b, "'");
	put_nearest(&b, "", &names.near);
	say("no event matches '", glob, buf_z(&b));
	return EX_FAIL;
}

/* From here on, allows access only to the files of /proc and /sys, and to the register map in
 * $GPUSTAT_PMU_MAP. */
static void confine_to_roots(void)
{
	close_files();
	sandbox_folder(roots.proc, false);
	sandbox_folder(roots.sys, false);
	/* The folder of --proc may contain symbolic links to files of the real /proc: reading /proc
	 * must be allowed, too. */
	if (opt.proc)
		sandbox_folder((i32)sys_openat(AT_FDCWD, "/proc", O_PATH), false);
	if (opt.map)
		sandbox_file(secure_getenv("GPUSTAT_PMU_MAP"), false);
	confine(0);
}

static int resolve_events(void)
{
	if (opt.nwords == 0)
		return usage_z("events: --resolve requires an EVENT");
	for (size_t i = 0; i < opt.nwords; i++)
		if (!add_events(str_z(opt.words[i]), 0))
			return EX_USAGE;
	for (u32 i = 1; i <= nrows.events; i++)
		if (events[i].denied) {
			say_z("only root can read tracefs; run as root");
			return EX_DENIED;
		}
	confine_to_roots();
	events_resolve(&out);
	return finish();
}

static int show_map(void)
{
	const struct pmumap *m;
	char text[32];
	struct buf b = BUF_Z(text);

	confine_to_roots();
	m = pmumap();
	if (!m) {
		say_z("no memory for the map of perfmon2 registers");
		return EX_FAIL;
	}
	if (m->why) {
		put_z(&b, m->line ? ": line " : "");
		if (m->line)
			put_u64(&b, m->line);
		put_z(&b, ": ");
		return usage(getenv("GPUSTAT_PMU_MAP"), buf_z(&b), m->why);
	}
	if (opt.perfmon)
		pmumap_put_perfmon(m, &out);
	else
		pmumap_put(m, opt.verbose, &out);
	return finish();
}

int cmd_events(void)
{
	size_t most = opt.map ? 0 : 1;

	if (opt.perfmon && !opt.map)
		return usage_z("--perfmon requires --map");
	if (opt.map && opt.resolve)
		return usage("--map and --resolve", " exclude each other", NULL);
	if ((opt.map || opt.resolve) && opt.out.fmt != format_find((struct str)STR("line")))
		return usage_z("--map and --resolve exclude -o json");
	if (opt.nwords > most && !opt.resolve)
		return usage("'", opt.words[most], "': unexpected argument");
	if (!open_roots(false))
		return EX_FAIL;
	if (opt.resolve)
		return resolve_events();
	if (opt.map)
		return show_map();
	if (!read_events_file())
		return EX_USAGE;
	virtual_filter = device_wanted;
	/* virtual_prepare() reads the descriptors of other processes, to which Landlock denies
	 * access after confine_to_roots(). */
	virtual_prepare();
	confine_to_roots();
	return list_events(opt.nwords ? opt.words[0] : "*");
}
