/* t_munin.c - `munin`: names of fields, the graphs with their values and their configuration,
 * autoconf. SPDX-License-Identifier: MIT */
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/munin.c"
#undef replay
#include "child.h"

struct opts opt;
struct record rec;
struct buf out;

static char output[256 << 10];
static int measured = -1; /* result of live_measure() */
static bool has_roots = true, saves = true;
static void (*fill)(void); /* makes the devices */
static i64 window;

void sources_start(void) { fill(); }
bool open_roots(bool needed) { return needed && has_roots; }
bool live_save(void) { return saves; }

int live_measure(struct recopts *ro)
{
	window = opt.window;
	fill();
	choose_devices();
	reg_sum_clients(false, true);
	ro->dt_us = 1000000;
	return measured;
}

int finish(void)
{
	return out.full || write_all(1, out.p, out.n) < 0 ? EX_FAIL : EX_OK;
}

/* --- names ------------------------------------------------------------------------------------ */

static void t_names(void)
{
	static const struct { const char *name, *field; } rows[] = {
		{ "card0 render", "card0_render" }, { "card0 render", "card0_render_2" },
		{ "card0.render", "card0_render_3" }, { "card0 render_2", "card0_render_2_2" },
		{ "0000:03:00.0", "_0000_03_00_0" }, { "9", "_9" }, { "a9", "a9" },
		{ "Caf\xc3\xa9", "Caf__" }, { "[]@`{z}", "_____z_" }, { "A-Z \n|", "A_Z___" },
	};
	char a[SERIES_BYTES + 8];
	const char *first, *second;

	graph.nseries = 0;
	for (size_t i = 0; i < LEN(rows); i++)
		check_str(str_z(series_name(str_z(rows[i].name))), rows[i].field,
		          "series name %zu: %s", i,
			  rows[i].field);
	memset(a, 'x', sizeof(a));
	first = series_name(str_of(a, sizeof(a)));
	second = series_name(str_of(a, sizeof(a) - 1));
	check(strlen(first) == SERIES_BYTES - 5, "series name: a long name is cut");
	check(strlen(second) == SERIES_BYTES - 3 && strncmp(first, second, strlen(first)) == 0 &&
	      strcmp(second + strlen(first), "_2") == 0,
	      "series name: two equal cut names have different numbers");
	for (int i = 3; i < 999; i++) { /* as series_name() makes them, but faster */
		table_has(&graph.table, graph.nseries);
		snprintf(graph.series[graph.nseries++], SERIES_BYTES, "%.*s_%d", SERIES_BYTES - 5, a, i);
	}
	check(strcmp(series_name(str_of(a, sizeof(a))) + SERIES_BYTES - 5, "_999") == 0,
	      "series name: 999 equal cut names have numbers");
	check(!series_name(str_of(a, sizeof(a))),
	      "series name: a cut name without room for a number is left out");
	while (graph.nseries < MAX_SERIES)
		series_name(LIT("y"));
	check(!series_name(LIT("y")), "series name: a name without room in the table is left out");
}

/* Returns whether a field of hostile bytes has a valid name. */
static bool name_fed(struct str s)
{
	const char *to;
	size_t n;

	graph.nseries = 0;
	if (!str_len(s)) /* a name begins with the device */
		return true;
	to = series_name(s);
	n = strspn(to, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_");
	return n > 0 && !to[n] && !(to[0] >= '0' && to[0] <= '9');
}

/* --- graphs ----------------------------------------------------------------------------------- */

static struct device *add_device(const char *name)
{
	u32 n = device_add();
	struct device *d = &devices[n];

	str_copy(d->dev, sizeof(d->dev), str_z(name));
	d->card = (i32)nrows.devices - 1;
	d->awake = true;
	reg_begin(&d->e, 1);
	return d;
}

static void fill_none(void) { }

static void fill_two(void)
{
	struct device *d = add_device("card0");

	reg_put(&d->e, D_GPU_BUSY, str_z(""), 45500, 1);
	reg_put(&d->e, D_TEMP, str_z("edge"), (u64)-5500, 1);
	reg_put(&d->e, D_TEMP, str_z("a b"), 61000, 1);
	reg_put(&d->e, D_POWER, str_z("card"), 4200000, 1);
	reg_put(&d->e, D_VRAM_USED, str_z(""), 1 << 30, 1);
	reg_put(&d->e, D_FREQ_CUR, str_z("gt0"), 1300000000, 1);
	add_device("card1")->awake = false;
}

static void fill_dropped(void)
{
	fill_two();
	devices[1].e.dropped = 2;
}

static int run_munin(void)
{
	static const struct cmd command = { .name = "munin", .with = WITH_MUNIN };

	opt.cmd = &command;
	out = BUF(output);
	return cmd_munin();
}

static int run_state(void)
{
	setenv("MUNIN_PLUGSTATE", "/var/lib/munin", 1);
	run_munin();
	return opt.state && strcmp(opt.state, "/var/lib/munin/gpustat.state") == 0 ? 0 : 1;
}

static int run_own_state(void)
{
	opt.state = "mine";
	setenv("MUNIN_PLUGSTATE", "/var/lib/munin", 1);
	run_munin();
	return strcmp(opt.state, "mine");
}

static int run_config(void)
{
	setenv("MUNIN_PLUGSTATE", "/var/lib/munin", 1);
	run_munin();
	return opt.state || window != 1;
}

static const char values[] =
	"multigraph gpustat_busy\ncard0_busy.value 45.5\ncard1_busy.value U\n"
	"multigraph gpustat_memory\ncard0_vram_used.value 1073741824\ncard1_vram_used.value U\n"
	"multigraph gpustat_clock\ncard0_freq_gt0_cur.value 1300000000\n"
	"multigraph gpustat_power\ncard0_power_card.value 4.2\n"
	"multigraph gpustat_temp\ncard0_temp_edge.value -5.5\ncard0_temp_a_b.value 61.0\n"
	"multigraph gpustat_clients\ncard0_clients.value 0\ncard1_clients.value 0\n";

static void t_graphs(void)
{
	const struct child *c;

	fill = fill_two;
	c = child_run(run_munin);
	check(c->code == 0 && !c->err[0], "munin without an argument: exit code 0, no message");
	check_str(str_z(c->out), values,
	          "munin without an argument prints the graphs with their values; U is unknown");
	opt.words = (char *[]){ (char[]){ "config" }, NULL };
	opt.nwords = 1;
	c = child_run(run_config);
	check(c->code == 0,
	      "munin config uses no state file, and the shortest possible window");
	check(strncmp(c->out, "multigraph gpustat_busy\ngraph_title GPU engines busy\n"
		      "graph_vlabel %\ngraph_args --base 1000 -l 0 -u 100\ngraph_category gpu\n"
		      "card0_busy.label card0 busy\ncard0_busy.type GAUGE\ncard0_busy.min 0\n"
		      "card1_busy.label card1 busy\n", 213) == 0,
	      "munin config prints the first graph");
	check(strstr(c->out, "card0_temp_edge.type GAUGE\ncard0_temp_a_b.label card0 temp a b\n") &&
	      !strstr(c->out, "card0_temp_edge.min"), "munin config: a temperature has no minimum");
	check(strstr(c->out, "graph_args --base 1024 -l 0\n") && !strstr(c->out, ".value "),
	      "munin config prints no values");
	opt.nwords = 0;
	child_check(run_state, 0, values, NULL,
	            "munin: the state file is in the folder of $MUNIN_PLUGSTATE");
	child_check(run_own_state, 0, values, NULL, "munin: --state replaces the state file");
}

static void t_ends(void)
{
	static char *words[] = { NULL, NULL, NULL };
	static char autoconf_word[] = "autoconf", other_word[] = "other";

	fill = fill_two;
	opt.words = words;
	words[0] = autoconf_word;
	opt.nwords = 1;
	child_check(run_munin, 0, "yes\n", NULL, "munin autoconf: yes");
	fill = fill_none;
	child_check(run_munin, 0, "no (no DRM or accel device here)\n", NULL,
		    "munin autoconf: no device");
	has_roots = false;
	child_check(run_munin, 0, "no (", NULL, "munin autoconf without /proc and /sys: no");
	words[0] = other_word;
	child_check(run_munin, 2, NULL, "use config, autoconf or no argument\n",
		    "munin with an unknown word: exit code 2");
	words[0] = words[1] = autoconf_word;
	opt.nwords = 2;
	child_check(run_munin, 2, NULL, "use config, autoconf or no argument\n",
		    "munin with two words: exit code 2");
	opt.nwords = 0;
	measured = EX_NODEVICE;
	child_check(run_munin, 3, NULL, "no GPU was found\n",
	            "munin without a device: exit code 3");
	measured = EX_FAIL;
	child_check(run_munin, 1, NULL, NULL, "munin after a failed reading: exit code 1");
	measured = -1;
	fill = fill_dropped;
	child_check(run_munin, 0, values, "gpustat: 2 values were left out: gpustat's tables are full\n",
		    "munin reports lost values");
	saves = false;
	child_check(run_munin, 1, values, "2 values",
	            "munin whose state cannot be written: exit code 1");
}

int main(void)
{
	t_graphs();
	t_ends();
	check(replay(LIT("9card0 a\xff|_."), name_fed), "hostile names are valid field names");
	t_names(); /* last: it fills the table */
	return unit_end();
}
