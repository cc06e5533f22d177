/* events.c - which perf events there are, what they resolve to, and how perfmon2 maps them.
 * SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

#include "../perfmon/pmumap.h"
#include <stdlib.h>

static void show_event(struct str name, struct str unit, struct str what)
{
	size_t from = out.n;

	if (stopped || (OUT_BYTES - out.n < OUT_BYTES / 2 && !flush()))
		return;
	put_text(&out, name);
	put_columns(&out, from, 44);
	put_text(&out, unit);
	put_columns(&out, from, 52);
	put_text(&out, what);
	while (out.n > from && out.p[out.n - 1] == ' ')
		out.n--;
	put_c(&out, '\n');
}

/* No other files from here on than those of /proc and /sys, and the map. */
static void shut(void)
{
	close_files();
	sandbox_folder(root_proc, false);
	sandbox_folder(root_sys, false);
	if (opt.proc) /* whose files may be links to those of /proc */
		sandbox_folder((i32)sys_openat(AT_FDCWD, "/proc", O_PATH), false);
	if (opt.map)
		sandbox_file(secure_getenv("GPUSTAT_PMU_MAP"), false);
	confine(0);
}

static int resolve_events(void)
{
	if (opt.nwords == 0)
		return usage_z("events: which EVENT?");
	for (size_t i = 0; i < opt.nwords; i++)
		if (!add_events(str_z(opt.words[i]), 0))
			return EX_USAGE;
	for (u32 i = 1; i <= nevents; i++)
		if (events[i].denied) {
			say_z("tracefs may be read by root only");
			return EX_DENIED;
		}
	shut();
	events_resolve(&out);
	return finish();
}

static int show_map(void)
{
	const struct pmumap *m;
	char text[32];
	struct buf b = BUF_Z(text);

	shut();
	m = pmumap();
	if (!m) {
		say_z("no memory for the table of registers");
		return EX_FAIL;
	}
	if (m->why) {
		put_z(&b, m->line ? ": line " : "");
		if (m->line)
			put_u64(&b, m->line);
		put_z(&b, ": ");
		return usage(getenv("GPUSTAT_PMU_MAP"), buf_z(&b), m->why);
	}
	pmumap_put(m, opt.verbose, &out);
	return finish();
}

int cmd_events(void)
{
	size_t most = opt.map ? 0 : 1;

	if (opt.map && opt.resolve)
		return usage_z("events: --map or --resolve");
	if (opt.nwords > most && !opt.resolve)
		return usage("'", opt.words[most], "': one word too many");
	if (!open_roots(false))
		return EX_FAIL;
	if (opt.resolve)
		return resolve_events();
	if (opt.map)
		return show_map();
	if (!read_events_file())
		return EX_USAGE;
	gpus_start(); /* reads what others have open, which Landlock would hide */
	shut();
	events_list(opt.nwords ? str_z(opt.words[0]) : (struct str)STR("*"), show_event);
	return finish();
}
