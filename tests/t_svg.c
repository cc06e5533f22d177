/* t_svg.c - pictures: the store of values over time, and what is made of it. SPDX-License-Identifier: MIT */
#include "../views/svg.c" /* its store is static */
#include "unit.h"

#define S(lit) ((struct str)STR(lit))

static char big[1 << 20];

static const struct column *column_of(const char *group, const char *member)
{
	for (size_t i = 0; i < ncolumns; i++)
		if (str_eq(str_z(columns[i].group), str_z(group)) && str_eq(str_z(columns[i].member), str_z(member)))
			return &columns[i];
	return NULL;
}

static void clear(void)
{
	table_all(&series_table);
	memset(series, 0, MAX_SERIES * sizeof(*series));
	table_all(&panels_table);
	memset(panels, 0, MAX_PANELS * sizeof(*panels));
	memset(&axis, 0, sizeof(axis));
	memset(placed, 0, sizeof(placed));
	nseries = npanels = next_panel = 0;
	last_series = series;
	last_panel = NULL;
}

static struct plotids card(const char *kind)
{
	struct plotids id = { 0 };

	id.of[ID_KIND] = str_z(kind);
	id.of[ID_DEV] = S("card0");
	return id;
}

static const struct val *whole(i64 n)
{
	static struct val v;

	v = (struct val){ .type = V_INT, .neg = n < 0, .n = (u64)(n < 0 ? -n : n) };
	return &v;
}

static void put_busy(i64 time, i64 dt, struct str engine, i64 v)
{
	struct plotids id = card("device");

	svg_begin(time, dt);
	svg_put(&id, column_of("engine", "busy"), engine, whole(v), false);
}

/* All of it, with an end. */
static const char *picture(void)
{
	struct out o = { 0 };
	struct buf b = { .p = big, .cap = sizeof(big) - 1 };

	while (svg_end(&o, &b))
		;
	b.p[b.n] = '\0';
	check(!b.full, "the picture has room");
	return b.p;
}

static size_t count(const char *text, const char *what)
{
	size_t n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

static void t_nothing(void)
{
	const char *p;

	clear();
	p = picture();
	check(strstr(p, ">no samples<") && count(p, "</svg>") == 1, "no sample at all: a picture that says so");
	clear();
	svg_begin(5, 1);
	p = picture();
	check(strstr(p, "1 sample; nothing in them can be drawn") != NULL, "nothing measured: a picture that says so");
}

static void t_one(void)
{
	const char *p;

	clear();
	put_busy(1763611200000000, 500000, S("render"), 12);
	p = picture();
	check(strstr(p, "2025-11-20 04:00:00 UTC, 1 sample<") != NULL, "its date, and how many");
	check(strstr(p, "h140M3200,739l-20,0h40\"") != NULL, "one sample is a dot in the middle, at its height");
	check(count(p, ">12<") == 3, "and is min, avg and max");
}

static void t_extremes(void)
{
	i32 peak = 0, low = 100000;
	i64 widest = 0;

	clear();
	for (i64 i = 0; i < 100000; i++)
		put_busy(i * 1000000, 1000000, S("render"), i == 54321 ? 99 : i == 65432 ? 1 : 50);
	check(axis.n <= SLOTS && axis.n >= PLOT_W, "columns: %zu", axis.n);
	for (size_t i = 0; i < axis.n; i++) {
		peak = series[0].hi[i] > peak ? series[0].hi[i] : peak;
		low = series[0].lo[i] < low ? series[0].lo[i] : low;
	}
	check(peak == 99000 && low == 1000, "a spike and a dip of one sample in 100000 stay");
	check(series[0].min == 1000 && series[0].max == 99000, "in the legend too");
	check_u64((u64)series[0].n, 100000, "every sample is in the mean");
	check(slots[axis.n - 1].to == 99999000000, "the last moment is kept");
	for (size_t i = 0; i < axis.n; i++)
		widest = slots[i].to - slots[i].from > widest ? slots[i].to - slots[i].from : widest;
	check(widest <= 99999000000 / PLOT_W, "no column is wider than a pixel: %lld", (long long)widest);
	check(strlen(picture()) < 40000, "the picture stays small");
}

static void t_gaps(void)
{
	struct plotids id = card("device");
	const char *p;

	clear();
	for (i64 i = 0; i < 10; i++) {
		svg_begin(i * 1000000, 1000000);
		if (i != 4)
			svg_put(&id, column_of("engine", "busy"), S("render"), whole(50), false);
	}
	check(!is_known(&series[0], 4) && is_known(&series[0], 5), "what is not told is unknown");
	p = picture();
	check(count(strstr(p, "scale(.1)"), "M") == 1 /* the legend's */ + 2, "unknown is a gap in the line");

	clear();
	for (i64 i = 0; i < 10; i++)
		put_busy((i < 5 ? i : i + 1000) * 1000000, 1000000, S("render"), 50);
	check(slots[5].broken && !slots[6].broken, "a leap of the clock is a gap");
	clear();
	for (i64 i = 0; i < 10; i++)
		put_busy((i < 5 ? i + 1000 : i) * 1000000, 1000000, S("render"), 50);
	check(axis.back == 1 && slots[5].broken && axis.n == 10, "a clock that goes back is a gap");
	check(axis.end == 9000000, "and time goes on all the same");
	check(strstr(picture(), "the clock went back 1 time<") != NULL, "which is said");
	clear();
	for (i64 i = 0; i < 5000; i++)
		put_busy(i * 300000000, 1000000, S("render"), 50);
	check(!slots[axis.n - 1].broken, "one second in every five minutes is a line all the same");
	clear();
	for (i64 i = 0; i < 50000; i++)
		put_busy((i / 2 * 1000 + i % 2) * 1000000, 1000000, S("render"), i & 1);
	check(axis.n <= SLOTS, "gaps in every column do not overflow");
	clear();
	put_busy(INT64_MAX, 1, S("render"), 1);
	for (i64 i = 0; i < 3000; i++)
		put_busy(i & 1 ? 0 : INT64_MAX / 9, INT64_MAX / 9, S("render"), 1);
	check(strlen(picture()) > 1000, "hostile times make a picture");
}

static void t_untimed(void)
{
	const char *p;

	clear();
	for (i64 i = 0; i < 12; i++) {
		put_busy(-1, -1, S("render"), 10);
		put_busy(-1, -1, S("copy"), 20);
	}
	check_u64(axis.n, 12, "without times, the same again is the next sample");
	p = picture();
	check(strstr(p, ">12 samples<") != NULL, "which are counted, and last nothing");
}

static void t_names(void)
{
	struct plotids id = card("client");
	const char *p;

	clear();
	id.of[ID_PID] = S("7");
	id.of[ID_CLIENT] = S("1");
	id.of[ID_COMM] = S("<&>\x01\xff]]>");
	svg_begin(0, 1);
	svg_put(&id, column_of(NULL, "used"), (struct str){ 0 }, whole(5), false);
	p = picture();
	check(strstr(p, "&lt;&amp;&gt;\xef\xbf\xbd\xef\xbf\xbd]]&gt; 7<") != NULL, "names: escaped, and without what XML may not hold");
	clear();
	id.of[ID_COMM] = S("\xef\xbf\xbe\xef\xbf\xbf\xed\xa0\x80");
	svg_begin(0, 1);
	svg_put(&id, column_of(NULL, "used"), (struct str){ 0 }, whole(5), false);
	p = picture();
	check(!strstr(p, "\xef\xbf\xbe") && !strstr(p, "\xef\xbf\xbf") && !strstr(p, "\xed\xa0"), "no noncharacter, no surrogate");
	check(!strstr(p, "<script") && !strstr(p, "href") && !strstr(p, "url(h"), "nothing that is elsewhere");
}

static void t_many(void)
{
	struct plotids id = card("client");
	char pid[16];
	const char *p;

	clear();
	for (i64 t = 0; t < 3; t++)
		for (int i = 0; i < 2000; i++) {
			snprintf(pid, sizeof(pid), "%d", i);
			id.of[ID_CLIENT] = id.of[ID_PID] = str_z(pid);
			id.of[ID_COMM] = S("proc");
			svg_begin(t * 1000000, 1000000);
			svg_put(&id, column_of("engine", "busy"), S("render"), whole(i == 1999 ? 90 : i == 3 ? 50 : 0), false);
		}
	p = picture();
	check_u64(nseries, MAX_SERIES, "the table is full");
	check(strstr(p, "proc 1999 render") && strstr(p, "proc 3 render"), "the busiest are drawn though they came late");
	check(strstr(p, "values had no room") != NULL, "and the rest is counted");
}

static void t_scales(void)
{
	static const struct { i64 min, max; u8 unit, point; bool fine; i64 bottom, top, step; const char *lead; } rows[] = {
		{ 3000, 40000, U_PERCENT, 3, true, 0, 100000, 25000, "" },
		{ 0, 0, U_NONE, 2, true, 0, 100, 25, "" },
		{ 0, 0, U_NONE, 2, false, 0, 100, 100, "" }, /* no quarter of a client */
		{ 3, 7, U_NONE, 0, false, 0, 8, 2, "" },
		{ 3000000, 7000000, U_NONE, 6, true, 0, 8000000, 2000000, "" },
		{ 44000, 47000, U_CELSIUS, 3, true, 35000, 55000, 5000, "" },
		{ -5000, 5000, U_WATT, 3, true, -5000, 5000, 2500, "" },
		{ 0, 1300000000, U_HZ, 0, false, 0, 1500000000, 500000000, "G" },
		{ 0, 3ll << 30, U_BYTES, 0, false, 0, 3ll << 30, 1 << 30, "Gi" },
		{ 0, 2000000000, U_NONE, 0, false, 0, 2000000000, 500000000, "billion " },
		{ -2000000000, -5, U_NONE, 0, false, -2000000000, 0, 500000000, "billion " },
		{ 0, 25000, U_NONE, 0, false, 0, 30000, 10000, "" },
		{ 0, 1500000, U_NS, 0, false, 0, 1500000, 500000, "m" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct scale s = scale_of(rows[i].min, rows[i].max, rows[i].unit, rows[i].point, rows[i].fine);

		check(s.bottom == rows[i].bottom && s.top == rows[i].top && s.step == rows[i].step && !strcmp(s.lead, rows[i].lead),
		      "scale %zu: %lld to %lld by %lld %s", i, (long long)s.bottom, (long long)s.top, (long long)s.step, s.lead);
	}
	for (i64 v = 0; v >= 0; v = v == (i64)MOST ? -1 : v ? v * 10 : 1)
		for (unsigned u = 0; u < UNITS * 4; u++) {
			struct scale s = scale_of(u & 1 ? -v : v / 3, u & 2 ? v : v / 2, (u8)(u / 4), units[u / 4].point, v & 1);

			if (!(s.top > s.bottom && s.step > 0 && (s.top - s.bottom) / s.step < 12 && s.div > 0)) {
				check(false, "scale of %lld, unit %u", (long long)v, u / 4);
				return;
			}
		}
	check(true, "every size has a scale");
}

static const char *shown(i64 v, u64 div)
{
	static char text[DIGITS];
	struct buf b = { .p = text, .cap = sizeof(text) - 1 };

	put_short(&b, v, div);
	text[b.n] = '\0';
	return text;
}

static void t_numbers(void)
{
	static const struct { i64 v; u64 div; const char *text; } rows[] = {
		{ 0, 1, "0" }, { 25001, 1, "25001" }, { 12500, 1000, "12.5" }, { 9999, 1000, "10.0" }, { 99950, 1000, "100" },
		{ -12345, 1000, "-12.3" }, { 1234, 1000, "1.23" }, { 99, 1000, "0.099" }, { 100, 1000, "0.10" },
		{ 400, 1000000, "0" }, { -400, 1000000, "0" }, { 1000000000000000000, 1000000000000000000, "1" },
		{ 1000000000000000000, 1, "1000000000000000000" }, { 3 * 512, 1024, "1.50" },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check(!strcmp(shown(rows[i].v, rows[i].div), rows[i].text), "%lld / %llu is %s", (long long)rows[i].v,
		      (unsigned long long)rows[i].div, shown(rows[i].v, rows[i].div));
}

/* Of any size, and of any number of decimals. */
static void t_values(void)
{
	struct plotids id = card("counter");
	struct val v = { .type = V_INT, .n = 123456789, .point = 9 };
	const struct column *c = column_of(NULL, "value");
	const char *p;

	clear();
	id.of[ID_NAME] = S("a/b/c");
	for (i64 t = 0; t < 40; t++) { /* 0.123, 1.23, ... 10^18: the point gives way, then whole bits */
		svg_begin(t * 1000000, 1000000);
		svg_put(&id, c, (struct str){ 0 }, &v, false);
		if (v.point)
			v.point--;
		else if (v.n < 100000000000000000)
			v.n *= 10;
	}
	check(panels[0].point == 0 && panels[0].shift == 26, "point %u, shift %u", panels[0].point, panels[0].shift);
	p = picture();
	check(axis.left == 0 && strstr(p, "10\xc2\xb9\xe2\x81\xb5 ") != NULL && strstr(p, ">123<") != NULL, "all of them are drawn");
	v.n = UINT64_MAX;
	svg_put(&id, c, (struct str){ 0 }, &v, false);
	v.n = 1000000000000000001;
	svg_put(&id, c, (struct str){ 0 }, &v, false);
	check_u64(axis.left, 2, "what is beyond is counted");
	clear();
	svg_begin(0, 1);
	v = (struct val){ .type = V_INT, .neg = true, .n = 1000000000000000000 };
	svg_put(&id, c, (struct str){ 0 }, &v, false);
	v.neg = false;
	svg_put(&id, c, (struct str){ 0 }, &v, false);
	p = picture();
	check(strstr(p, "l0,840") != NULL, "from one end to the other: %s", strstr(p, "scale(.1)"));
}

/* A client's lines have one colour in all panels, but no two in a panel. */
static void t_colours(void)
{
	struct plotids id = card("client");
	static const char *const pids[] = { "7", "8", "9" };

	clear();
	svg_begin(0, 1);
	for (int i = 0; i < 3; i++) {
		id.of[ID_CLIENT] = str_z(pids[i]);
		svg_put(&id, column_of("engine", "busy"), S("render"), whole(5), false);
		if (i == 0)
			svg_put(&id, column_of("engine", "busy"), S("video"), whole(5), false);
	}
	for (int i = 3; i-- > 0;) {
		id.of[ID_CLIENT] = str_z(pids[i]);
		svg_put(&id, column_of(NULL, "used"), (struct str){ 0 }, whole(5), false);
	}
	picture();
	check(nseries == 7 && series[0].colour == series[6].colour && series[2].colour == series[5].colour &&
	      series[3].colour == series[4].colour && series[0].colour != series[1].colour, "one colour each");
}

int main(void)
{
	t_nothing();
	t_one();
	t_extremes();
	t_gaps();
	t_untimed();
	t_names();
	t_many();
	t_scales();
	t_numbers();
	t_values();
	t_colours();
	return unit_end();
}
