/* t_metrics.c - metric names of every column and kind; duplicate series, full tables, expositions
 * in pieces, names with arbitrary bytes.
 * SPDX-License-Identifier: MIT */
#include "../../views/metrics.c" /* for its static functions */
#include "child.h"

#define S(lit) ((struct str)STR(lit))

static char big[4 << 20];
static struct field fields[MAX_FIELDS];
static char rec_text[REC_TEXT];
static struct record rec = { .f = fields, .text = rec_text };
static struct out o;

static struct str made(const struct buf *b)
{
	return (struct str){ b->p, b->p + b->n };
}

static struct buf fresh(void)
{
	return (struct buf){ .p = big, .cap = sizeof(big) };
}

static const struct column *column_of(u8 kind, const char *group, const char *member)
{
	for (const struct column *c = columns; c < columns + ncolumns; c++)
		if (c->when & 1u << kind && !c->group == !group && !c->member == !member && (!group || strcmp(group, c->group) == 0) &&
		    (!member || strcmp(member, c->member) == 0))
			return c;
	return NULL;
}

static void begin(u8 kind)
{
	rec.kind = kind;
	rec.n = 0;
}

static struct field *put(const char *group, const char *member, const char *inst, struct val v)
{
	struct field *f = &rec.f[rec.n++];

	*f = (struct field){ .col = column_of(rec.kind, group, member), .inst = str_z(inst), .v = v };
	f->v.unit = f->col->unit;
	return f;
}

static struct val text(const char *z)
{
	return (struct val){ .type = V_TEXT, .s = str_z(z) };
}

static struct val number(u64 n)
{
	return (struct val){ .type = V_INT, .n = n };
}

static size_t count(struct str all, const char *what)
{
	size_t n = 0, len = strlen(what);

	for (; all.p + len <= all.e; all.p++)
		n += memcmp(all.p, what, len) == 0;
	return n;
}

/* --- names ------------------------------------------------------------------------------------ */

static void t_names(void)
{
	static const struct {
		u8 kind;
		const char *group, *member, *name;
	} rows[] = {
		{ K_DEVICE, NULL, "busy", "gpustat_busy_ratio" },
		{ K_DEVICE, NULL, "idle", "gpustat_idle_ratio" },
		{ K_DEVICE, NULL, "used", "gpustat_used_bytes" },
		{ K_DEVICE, NULL, "clients", "gpustat_clients" },
		{ K_DEVICE, "engine", "busy", "gpustat_engine_busy_ratio" },
		{ K_DEVICE, "engine", "busy_ns", "gpustat_engine_busy_seconds_total" },
		{ K_DEVICE, "engine", "cycles", "gpustat_engine_cycles_total" },
		{ K_DEVICE, "engine", "total_cycles", "gpustat_engine_total_cycles_total" },
		{ K_DEVICE, "engine", "capacity", "gpustat_engine_capacity" },
		{ K_DEVICE, "memory", "resident", "gpustat_memory_resident_bytes" },
		{ K_DEVICE, "vram", "total", "gpustat_vram_total_bytes" },
		{ K_DEVICE, "freq", "cur", "gpustat_freq_cur_hertz" },
		{ K_DEVICE, "temp", NULL, "gpustat_temp_celsius" },
		{ K_DEVICE, "power", NULL, "gpustat_power_watts" },
		{ K_DEVICE, "energy", NULL, "gpustat_energy_joules_total" },
		{ K_DEVICE, "fan", NULL, "gpustat_fan_rpm" },
		{ K_DEVICE, "volt", NULL, "gpustat_volt_volts" },
		{ K_DEVICE, "current", NULL, "gpustat_current_amperes" },
		{ K_DEVICE, "pwm", NULL, "gpustat_pwm" },
		{ K_DEVICE, "throttle", NULL, "gpustat_throttle" },
		{ K_DEVICE, "link", "speed", "gpustat_link_speed_transfers_per_second" },
		{ K_DEVICE, "runtime", "active", "gpustat_runtime_active_seconds" },
		{ K_CLIENT, "engine", "busy", "gpustat_client_engine_busy_ratio" },
		{ K_CGROUP, "engine", "busy", "gpustat_cgroup_engine_busy_ratio" },
		{ K_FDINFO, "engine", "busy_ns", "gpustat_fdinfo_engine_busy_seconds_total" },
		{ K_EVENT, NULL, "value", "gpustat_event_value" },
		{ K_EVENT, NULL, "running", "gpustat_event_running_ratio" },
		{ K_EVENT, NULL, "count", "gpustat_event_counted" },
		{ K_SAMPLE, NULL, "period", "gpustat_sample_period_total" },
		{ K_PROFILE, NULL, "percent", "gpustat_profile_ratio" },
		{ K_OA, "counter", NULL, "gpustat_oa_value" },
		{ K_OA, NULL, "cpu_time", "gpustat_oa_cpu_time_seconds" },
		{ K_COUNTER, NULL, "value", "gpustat_value" },
		{ K_SOURCE, NULL, "ok", "gpustat_source_ok" },
	};
	static const char *const ends[] = { "_count", "_sum", "_bucket", "_info", "_created", "_counter", "_gauge", "_histogram",
					    "_summary" };

	for (size_t i = 0; i < LEN(rows); i++) {
		struct buf b = fresh();

		put_family(&b, rows[i].kind, column_of(rows[i].kind, rows[i].group, rows[i].member));
		check_str(made(&b), rows[i].name, "metric name: %s", rows[i].name);
	}
	for (u8 kind = 0; kind < K_COUNT; kind++) {
		char names[256][96];
		size_t bad = 0, twice = 0;

		for (size_t i = 0; i < ncolumns; i++) {
			const struct column *c = &columns[i];
			struct buf b = { .p = names[i], .cap = sizeof(names[i]) - 1 };

			names[i][0] = '\0';
			if (!(c->when & 1u << kind) || c->when & (W_LABEL | W_META))
				continue;
			put_family(&b, kind, c);
			names[i][b.n] = '\0';
			bad += b.full || (b.n > 6 && memcmp(b.p + b.n - 6, "_total", 6) == 0) != !!(c->when & W_TOTAL);
			for (size_t k = 0; k < b.n; k++)
				bad += !((b.p[k] >= 'a' && b.p[k] <= 'z') || (b.p[k] >= '0' && b.p[k] <= '9' && k) || (b.p[k] == '_' && k));
			bad += count(made(&b), "__") > 0;
			for (size_t k = 0; k < LEN(ends); k++) {
				size_t n = strlen(ends[k]);

				bad += b.n >= n && memcmp(b.p + b.n - n, ends[k], n) == 0;
			}
			/* within one record: columns of different modes, such as -r, never occur
			 * together */
			for (size_t k = 0; k < i; k++)
				twice += strcmp(names[k], names[i]) == 0 && c->when & columns[k].when & (W_LIVE | W_RAW | W_LIST);
		}
		check_u64(bad, 0, "the metric names of kind %u are valid", kind);
		check_u64(twice, 0, "the metric names of kind %u are different", kind);
	}
}

/* --- single values ---------------------------------------------------------------------------- */

static void t_values(void)
{
	static const struct {
		u8 unit, point;
		bool neg;
		u64 n;
		const char *want;
	} rows[] = {
		{ U_PERCENT, 0, false, 12500, "0.125" },       { U_PERCENT, 0, false, 100000, "1.0" },
		{ U_PERCENT, 0, false, 1, "0.00001" },         { U_NS, 0, false, 1500000000, "1.5" },
		{ U_NS, 0, false, UINT64_MAX, "18446744073.709551615" }, { U_BYTES, 0, false, UINT64_MAX, "18446744073709551615" },
		{ U_CELSIUS, 0, true, 5500, "-5.5" },          { U_GTS, 0, false, 25, "2500000000" },
		{ U_GTS, 0, false, 0, "0" },                   { U_NONE, 2, true, 125, "-1.25" },
		{ U_MICRO, 0, false, 1500000, "1.5" },         { U_NANO, 0, false, 1, "0.000000001" },
		{ U_JOULE, 0, false, 1, "0.000001" },          { U_GTS, 0, false, UINT64_MAX, "1844674407370955161500000000" },
	};
	static const struct {
		const char *from, *label, *help;
	} texts_of[] = {
		{ "plain", "plain", "plain" },   { "a\"b", "a\\\"b", "a\"b" }, { "a\\", "a\\\\", "a\\\\" },
		{ "a\nb\tc", "a?b?c", "a?b?c" }, { "\xff\xfe", "??", "??" },   { "\xc3\xa9", "\xc3\xa9", "\xc3\xa9" },
		{ "\x7f\xc2\x85", "??", "??" },  { "\xed\xa0\x80", "???", "???" }, { "", "", "" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct val v = { .type = V_INT, .unit = rows[i].unit, .point = rows[i].point, .neg = rows[i].neg, .n = rows[i].n };
		struct buf b = fresh();

		put_value(&b, &v);
		check_str(made(&b), rows[i].want, "value: %s", rows[i].want);
	}
	for (size_t i = 0; i < LEN(texts_of); i++) {
		struct buf b = fresh();

		put_escaped(&b, str_z(texts_of[i].from), "\\\"");
		check_str(made(&b), texts_of[i].label, "label %zu is escaped", i);
		b = fresh();
		put_escaped(&b, str_z(texts_of[i].from), "\\");
		check_str(made(&b), texts_of[i].help, "help text %zu is escaped", i);
	}
}

static void t_nodes(void)
{
	char long_name[400], other[400];
	struct buf b = fresh();

	put_node(&b, S("a b"));
	put_node(&b, S("0000:00:02.0"));
	put_node(&b, S(""));
	put_node(&b, S("x/\xc3\xa9;~\n"));
	check_str(made(&b), "a_b.0000_00_02_0._.x______", "nodes of a Graphite path");
	memset(long_name, 'a', sizeof(long_name));
	memcpy(other, long_name, sizeof(other));
	other[399] = 'b';
	b = fresh();
	put_node(&b, (struct str){ long_name, long_name + 255 });
	check_u64(b.n, 255, "the longest node is kept");
	b = fresh();
	put_node(&b, (struct str){ long_name, long_name + 400 });
	check(b.n <= 255 && b.n > 240, "a longer node is cut: %zu bytes", b.n);
	memcpy(long_name, b.p, b.n);
	other[0] = 'a';
	{
		size_t n = b.n;

		b = fresh();
		put_node(&b, (struct str){ other, other + 400 });
		check(b.n <= 255 && (b.n != n || memcmp(b.p, long_name, n) != 0),
		      "a node that is cut differs from another one");
	}
}

/* --- expositions ------------------------------------------------------------------------------ */

static struct str exposition(bool open)
{
	struct buf b = fresh();

	check(!(open ? openmetrics_end(&o, &b) : prom_end(&o, &b)), "the exposition fits in one piece");
	return made(&b);
}

static void t_twice(void)
{
	struct buf b = fresh();

	o = (struct out){ .kind = K_OA };
	for (u64 i = 1; i <= 3; i++) {
		begin(K_OA);
		put(NULL, "dev", NULL, text("card0"));
		put("counter", NULL, "A", number(i));
		put("counter", NULL, "B", number(100 - i * 40));
		if (i == 1)
			put("counter", NULL, "c\"\n", number(7));
		prom_record(&o, &b, &rec);
	}
	check_str(exposition(false), "# HELP gpustat_oa_value value of each counter; with --raw: the report's counters\n# TYPE gpustat_oa_value gauge\n"
		  "gpustat_oa_value{dev=\"card0\",counter=\"A\"} 3\ngpustat_oa_value{dev=\"card0\",counter=\"B\"} 18446744073709551596\n"
		  "gpustat_oa_value{dev=\"card0\",counter=\"c\\\"?\"} 7\n", "the last value of a series is written");
	check_str(exposition(false), "", "the table is empty after an exposition");
	o.kind = K_SAMPLE;
	for (u64 i = 0; i < 5; i++) {
		begin(K_SAMPLE);
		put(NULL, "event", NULL, text("cycles"));
		put(NULL, "symbol", NULL, text(i == 4 ? "g" : i % 2 ? "f+0x1f" : "f"));
		put(NULL, "ip", NULL, text("0x1"));
		put(NULL, "period", NULL, number(10 + i));
		prom_record(&o, &b, &rec);
	}
	check_str(exposition(true),
		  "# HELP gpustat_sample_period number of counts represented\n# TYPE gpustat_sample_period counter\n"
		  "gpustat_sample_period_total{event=\"cycles\",symbol=\"f\"} 46\n"
		  "gpustat_sample_period_total{event=\"cycles\",symbol=\"g\"} 14\n"
		  "# HELP gpustat_sample_samples number of samples\n# TYPE gpustat_sample_samples counter\n"
		  "gpustat_sample_samples_total{event=\"cycles\",symbol=\"f\"} 4\n"
		  "gpustat_sample_samples_total{event=\"cycles\",symbol=\"g\"} 1\n# EOF\n",
		  "samples are summed by function");
}

/* A number of a list is a label. */
static void t_listed(void)
{
	static const struct str pids = STR("pids");
	struct buf b = fresh();
	struct str shown;

	begin(K_CLIENT);
	o = (struct out){ .kind = K_CLIENT, .patterns = &pids, .npatterns = 1 };
	put(NULL, "dev", NULL, text("card0"));
	put("pids", NULL, NULL, number(77));
	put("pids", NULL, NULL, number(78));
	prom_record(&o, &b, &rec);
	shown = exposition(false);
	check_u64(count(shown, "=\"77\"} 1\n") + 2 * count(shown, "=\"78\"} 1\n"), 3, "the labels of two PIDs");
}

/* Labels that do not fit are dropped and counted; later series are complete. */
static void t_too_long(void)
{
	static char name[1 << 20];
	struct buf b = fresh();

	memset(name, 'n', sizeof(name) - 1);
	o = (struct out){ .kind = K_OA };
	for (u64 i = 0; i < 3; i++) {
		begin(K_OA);
		put(NULL, "dev", NULL, text(i == 1 ? name : "card0"));
		put("counter", NULL, "A", number(i));
		put("counter", NULL, name, number(7));
		put("counter", NULL, "B", number(8));
		prom_record(&o, &b, &rec);
	}
	check_u64(o.lost, 3, "two labels of 1 MB, and a record that begins with one, are counted");
	check_str(exposition(false), "# HELP gpustat_oa_value value of each counter; with --raw: the report's counters\n# TYPE gpustat_oa_value gauge\n"
		  "gpustat_oa_value{dev=\"card0\",counter=\"A\"} 2\ngpustat_oa_value{dev=\"card0\",counter=\"B\"} 8\n",
		  "series beside labels that are too long are complete");
}

/* Formats with one value a second write samples as growing totals by function. */
static void t_sample_totals(void)
{
	static void (*const records[])(struct out *, struct buf *, const struct record *) = { graphite_record, collectd_record };
	static const char *const expects[] = {
		"gpustat.h.sample.f.period_total 10 0\ngpustat.h.sample.g.period_total 11 0\ngpustat.h.sample.f.period_total 22 0\n",
		"PUTVAL \"h/gpustat-sample-f/derive-period\" N:10\nPUTVAL \"h/gpustat-sample-g/derive-period\" N:11\n"
		"PUTVAL \"h/gpustat-sample-f/derive-period\" N:22\n",
	};

	for (size_t k = 0; k < LEN(records); k++) {
		struct buf b = fresh(), none = fresh();

		o = (struct out){ .kind = K_SAMPLE, .host = "h" };
		for (u64 i = 0; i < 3; i++) {
			begin(K_SAMPLE);
			put(NULL, "symbol", NULL, text(i == 1 ? "g" : i ? "f+0x1f" : "f"));
			put(NULL, "period", NULL, number(10 + i));
			records[k](&o, &b, &rec);
		}
		check_str(made(&b), expects[k], "format %zu: samples are summed", k);
		prom_end(&o, &none); /* empties the table for the next format */
	}
}

/* Builds a record with every field of its kind, with arbitrary bytes in texts and instances. */
static void make_full(u8 kind, bool numbers)
{
	static const char *const odd[] = { "a\"b\\", "\xff\n", " ,=;", "\xe2\x82\xac", "\\" };
	size_t k = 0;

	begin(kind);
	for (const struct column *c = columns; c < columns + ncolumns; c++) {
		struct field *f = &rec.f[rec.n];
		bool is_text = c->when & W_LABEL || (!numbers && c->unit == U_NONE);

		if (!(c->when & 1u << kind))
			continue;
		rec.n++;
		*f = (struct field){ .col = c, .v = { .type = is_text ? V_TEXT : V_INT, .unit = c->unit, .n = 12, .neg = c->unit == U_CELSIUS } };
		if (is_text)
			f->v.s = str_z(odd[k++ % LEN(odd)]);
		if (c->shape == S_INST || c->shape == S_BOTH)
			f->inst = str_z(odd[2]);
		if (!c->group && (strcmp(c->member, "time") == 0 || strcmp(c->member, "dt") == 0))
			f->v = (struct val){ .type = V_TIME, .unit = U_SECONDS, .n = 1763611200123456 };
	}
}

static bool is_text_of_lines(struct str s)
{
	if (s.p < s.e && s.e[-1] != '\n')
		return false;
	for (size_t n; s.p < s.e; s.p += n) {
		n = utf8_len(s.p, s.e);
		if (n == 0 || (is_control(s.p, n) && *s.p != '\n') || (*s.p == '\n' && s.p + 1 < s.e && s.p[1] == '\n'))
			return false;
	}
	return true;
}

static void t_every_kind(void)
{
	static void (*const records[])(struct out *, struct buf *, const struct record *) = {
		prom_record, influx_record, graphite_record, statsd_record, collectd_record, kmsg_record,
	};
	static const struct str all[] = { STR("engine"), STR("time"), STR("dt"), STR("pids"), STR("ip"), STR("callchain") };

	for (u8 kind = 0; kind < K_COUNT; kind++)
		for (size_t i = 0; i < LEN(records) * 4; i++) {
			struct buf b = fresh();

			o = (struct out){ .kind = kind, .now = 1763611200123456789, .interval = 1000000000,
					  .patterns = all, .npatterns = i & 1 ? LEN(all) : 0 };
			make_full(kind, i & 2);
			records[i / 4](&o, &b, &rec);
			if (i / 4 == 0)
				check(!prom_end(&o, &b), "prom_end finishes the exposition");
			if (i / 4 == LEN(records) - 1)
				kmsg_end(&o, &b);
			if (!check(!b.full && is_text_of_lines(made(&b)),
			           "kind %u, format %zu: the output is lines of text", kind, i / 4))
				printf("# %.*s\n", (int)(b.n < 3000 ? b.n : 3000), b.p);
		}
}

static void fill(u32 n)
{
	struct buf none = { .cap = 0 };
	char name[32];

	for (u32 i = 0; i < n; i++) {
		begin(K_CLIENT);
		put(NULL, "dev", NULL, text("card0"));
		put(NULL, "client", NULL, number(i));
		put(NULL, "skipped", NULL, number(i));
		snprintf(name, sizeof(name), "e%u", i % 7);
		put("engine", "capacity", name, number(1));
		prom_record(&o, &none, &rec);
	}
}

/* Pieces must add up to the whole exposition, whatever the size of the buffer. */
static void t_pieces(void)
{
	static char all[1 << 20];
	size_t n, pieces = 0;
	bool more = true;
	struct str whole;

	o = (struct out){ .kind = K_CLIENT };
	fill(2000);
	whole = exposition(false);
	n = str_len(whole);
	memcpy(all, whole.p, n);
	fill(2000);
	for (size_t at = 0; more; pieces++) {
		struct buf b = { .p = big, .cap = 8192 };

		more = prom_end(&o, &b);
		if (b.full || at + b.n > n || memcmp(all + at, big, b.n) != 0 || (more && big[b.n - 1] != '\n'))
			break;
		at += b.n;
		if (!more)
			check_u64(at, n, "the pieces add up to the whole");
	}
	check(!more && pieces > n / 8192, "%zu bytes in %zu pieces", n, pieces);
	check_u64(count(exposition(false), "{dev="), 0, "the table is empty after the last piece");
}

static void t_full(void)
{
	static char none[160 << 20];
	struct buf b = { .p = none, .cap = sizeof(none) };
	u64 lost;

	o = (struct out){ .kind = K_CLIENT };
	fill(MAX_SERIES);
	lost = o.lost;
	check_u64(lost, MAX_SERIES + 1, "series that do not fit are counted");
	while (prom_end(&o, &b))
		;
	check_u64(count(made(&b), "{dev="), MAX_SERIES - 1, "series that fit are written");
	check_u64(count(made(&b), "# TYPE"), 4, "each metric family has one header");
	fill(10);
	check_u64(count(exposition(false), "{dev="), 20, "the next exposition has room again");
	check_u64(o.lost, lost, "the next exposition drops no series");
}

/* A small table of the texts of series, in a process of its own: each of the records, which have
 * two series, is counted if it has no room, the others are written, and the message can name the
 * table. */
static int run_full_texts(void)
{
	struct buf b = fresh();
	const struct table *full;
	size_t written;
	u32 lost = 0;

	expo_tables.series_text.most = 3 * ROOM;
	o = (struct out){ .kind = K_CLIENT };
	fill(2000);
	while (prom_end(&o, &b))
		;
	written = count(made(&b), "{dev=");
	full = table_full(&lost);
	printf("%s; %zu written, %llu lost\n", full ? full->name : "no table", written,
	       (unsigned long long)o.lost);
	fflush(stdout);
	return written > 100 && o.lost >= (4000 - written) / 2 && lost > 0 && !b.full ? 0 : 1;
}

static void t_full_texts(void)
{
	child_check(run_full_texts, 0, "bytes of series; ", NULL,
		    "records without room for the texts of their series are counted; the others are written");
}

/* --- the kernel's log ------------------------------------------------------------------------- */

static void t_kmsg(void)
{
	struct buf b = fresh();

	o = (struct out){ .kind = K_DEVICE };
	kmsg_end(&o, &b);
	check_u64(b.n, 0, "an empty sample has no line");
	for (int i = 0; i < 3; i++) {
		begin(K_DEVICE);
		put(NULL, "dev", NULL, text("card0"));
		put("temp", NULL, "e\xc3\xa9", number(45000));
		kmsg_record(&o, &b, &rec);
	}
	check_u64(b.n, 0, "no line is written before the end of the sample");
	kmsg_end(&o, &b);
	check_str(made(&b), "<6>gpustat: dev=card0 temp.e__=45.0 | dev=card0 temp.e__=45.0 | dev=card0 temp.e__=45.0\n",
	          "one line for the whole sample");
	b = fresh();
	for (int i = 0; i < 40; i++)
		kmsg_record(&o, &b, &rec);
	kmsg_end(&o, &b);
	check(b.n <= KMSG_BYTES && b.n > 900, "a long line is cut: %zu bytes", b.n);
	check(b.n > 12 && memcmp(b.p + b.n - 10, "=45.0 ...\n", 10) == 0,
	      "the line is cut at the end of a field and ends with ...");
}

int main(void)
{
	t_full_texts(); /* before any other test uses the table */
	t_names();
	t_values();
	t_nodes();
	t_twice();
	t_too_long();
	t_listed();
	t_sample_totals();
	t_every_kind();
	t_pieces();
	t_full();
	t_kmsg();
	return unit_end();
}
