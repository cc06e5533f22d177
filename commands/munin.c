/* munin.c - gpustat munin: a munin plugin with several graphs. Values are gauges: averages since
 * the last call by munin, which the file of --state makes possible. SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"

#include <stdlib.h>

enum { MAX_SERIES = 1024, SERIES_BYTES = 64 };

static const struct graph {
	const char *name, *title, *label, *args, *fields;
} graphs[] = {
	{ "busy", "GPU engines busy", "%", "--base 1000 -l 0 -u 100", "busy,engine.busy,load" },
	{ "memory", "GPU memory in use", "bytes", "--base 1024 -l 0",
	  "vram.used,gtt.used,memory.resident" },
	{ "clock", "GPU clocks", "Hz", "--base 1000 -l 0", "freq.cur,freq.act" },
	{ "power", "GPU power", "W", "--base 1000 -l 0", "power" },
	{ "temp", "GPU temperature", "degrees Celsius", "--base 1000", "temp" },
	{ "clients", "GPU clients", "clients", "--base 1000 -l 0", "clients" },
};

/* The munin field names of the graph that is being printed. */
static struct {
	char (*series)[SERIES_BYTES];
	size_t nseries;
	struct table table;
} graph = {
	.table = TABLE_ROW(graph.series, MAX_SERIES, 64, "values of a graph"),
};

static bool is_name_used(const char *name)
{
	for (size_t i = 0; i < graph.nseries; i++)
		if (strcmp(graph.series[i], name) == 0)
			return true;
	return false;
}

/* Converts a name to a field name of munin: letters, digits and '_', not beginning with a digit. If
 * an earlier field of the graph has the same name, a number is appended. Returns NULL if there is
 * no room for the name. */
static const char *series_name(struct str name)
{
	char *to;
	struct buf b;
	size_t n;

	if (!table_has(&graph.table, graph.nseries))
		return NULL;
	to = graph.series[graph.nseries];
	b = buf_on(to, SERIES_BYTES - 5);
	if (*name.p >= '0' && *name.p <= '9')
		put_c(&b, '_');
	for (const char *p = name.p; p < name.e; p++) {
		char low = (char)(*p | 32);

		put_c(&b, (char)((low >= 'a' && low <= 'z') ||
				 (*p >= '0' && *p <= '9') ? *p : '_'));
	}
	to[b.n] = '\0';
	n = b.n;
	b.cap = SERIES_BYTES - 1;
	b.full = false; /* a long name was cut: this is not an error */
	for (u64 i = 2; is_name_used(to); i++) {
		b.n = n;
		put_c(&b, '_');
		put_u64(&b, i);
		if (b.full)
			return NULL;
		to[b.n] = '\0';
	}
	graph.nseries++;
	return to;
}

static void put_line(const char *field, const char *key, struct str value)
{
	put_z(&out, field);
	put_c(&out, '.');
	put_z(&out, key);
	put_c(&out, ' ');
	put_text(&out, value);
	put_c(&out, '\n');
}

static void put_series(const struct graph *g, struct str name, const struct val *v, bool config)
{
	const char *field = series_name(name);
	char text[DIGITS + 2];
	struct buf b = BUF(text);

	if (!field) {
		registry.dropped++;
		return;
	}
	if (config) {
		put_line(field, "label", name);
		put_line(field, "type", (struct str)STR("GAUGE"));
		if (strcmp(g->name, "temp") != 0)
			put_line(field, "min", (struct str)STR("0"));
		return;
	}
	if (v->type == V_INT) {
		put_z(&b, v->neg ? "-" : "");
		put_dec(&b, v->n, (u8)(units[v->unit].point + v->point), 1);
	}
	put_line(field, "value", v->type == V_INT ? (struct str){ text, text + b.n } :
		 (struct str)STR("U"));
}

/* Returns whether a field belongs to a graph. A field of the whole device without a value, while
 * the device is awake, is left out: the device never has a value for it. */
static bool in_graph(const struct graph *g, const struct field *f, const struct device *d)
{
	struct str fields = str_z(g->fields), one;

	if (f->v.type == V_NULL && !str_len(f->inst) && d->awake)
		return false;
	while (str_cut(&fields, ',', &one))
		if (field_match(f, one))
			return !f->empty;
	return false;
}

static void put_head(const struct graph *g, bool config)
{
	put_z(&out, "multigraph gpustat_");
	put_z(&out, g->name);
	if (config) {
		put_z(&out, "\ngraph_title ");
		put_z(&out, g->title);
		put_z(&out, "\ngraph_vlabel ");
		put_z(&out, g->label);
		put_z(&out, "\ngraph_args ");
		put_z(&out, g->args);
		put_z(&out, "\ngraph_category gpu");
	}
	put_c(&out, '\n');
}

/* Prints one graph with the fields of all devices. */
static void put_graph(const struct graph *g, const struct recopts *ro, bool config)
{
	graph.nseries = 0;
	for (size_t d = 0; d < norder; d++) {
		record_make(&rec, entity_at(K_DEVICE, order[d]), ro);
		for (size_t i = 0; i < rec.n; i++) {
			char name[MAX_NAME + 96];
			struct buf b = BUF(name);

			if (!in_graph(g, &rec.f[i], &devices[order[d]]))
				continue;
			if (graph.nseries == 0)
				put_head(g, config);
			field_name(&b, devices[order[d]].dev, &rec.f[i]);
			put_series(g, (struct str){ name, name + b.n }, &rec.f[i].v, config);
		}
	}
}

/* Reports to munin whether this plugin can be used. The exit code is the same for "yes" and
 * "no". */
static int autoconf(void)
{
	opt.quiet = true;
	if (open_roots(true)) {
		sources_start();
		choose_devices();
	}
	put_z(&out, norder ? "yes\n" : "no (no DRM or accel device here)\n");
	return finish();
}

/* Without --state, the state file is $MUNIN_PLUGSTATE/gpustat.state. */
static void default_state(void)
{
	static char path[4096];
	const char *dir = getenv("MUNIN_PLUGSTATE");
	struct buf b = BUF_Z(path);

	if (opt.state || !dir)
		return;
	put_z(&b, dir);
	put_z(&b, "/gpustat.state");
	path[b.n] = '\0';
	if (!b.full)
		opt.state = path;
}

int cmd_munin(void)
{
	struct recopts ro = { .dt_us = -1 };
	const char *word = opt.nwords ? opt.words[0] : "";
	bool config = strcmp(word, "config") == 0;
	int code;

	if (opt.nwords > 1 || (word[0] && !config && strcmp(word, "autoconf") != 0))
		return usage_z("munin: use config, autoconf or no argument");
	if (word[0] && !config)
		return autoconf();
	default_state();
	if (config) {
		/* `munin config` must not change the state file: the values that munin reads next
		 * are rates since the time that is stored in the state file */
		opt.state = NULL;
		opt.window = 1;
	}
	code = live_measure(&ro);
	if (code >= 0)
		return code == EX_NODEVICE ? no_device() : code;
	for (size_t i = 0; i < LEN(graphs); i++)
		put_graph(&graphs[i], &ro, config);
	code = finish();
	for (size_t i = 0; i < norder; i++)
		registry.dropped += devices[order[i]].e.dropped;
	say_dropped();
	return live_save() ? code : EX_FAIL;
}
