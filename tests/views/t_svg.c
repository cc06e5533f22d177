/* t_svg.c - SVG pictures: the table of values over time, and the picture that is drawn from it.
 * SPDX-License-Identifier: MIT */
#include "../../views/svg.c" /* for its static tables */
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
	table_all(&drawing_tables.series);
	memset(drawing.series, 0, MAX_SERIES * sizeof(*drawing.series));
	table_all(&drawing_tables.panels);
	memset(drawing.panels, 0, MAX_PANELS * sizeof(*drawing.panels));
	memset(&axis, 0, sizeof(axis));
	memset(drawing.placed, 0, sizeof(drawing.placed));
	drawing.nseries = drawing.npanels = drawing.next_panel = 0;
	drawing.last_series = drawing.series;
	drawing.last_panel = NULL;
}

static struct plotids card(const char *kind)
{
	struct plotids id = { 0 };

	id.text[ID_KIND] = str_z(kind);
	id.text[ID_DEV] = S("card0");
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

/* Draws and ends the picture. */
static const char *picture(void)
{
	struct out o = { 0 };
	struct buf b = { .p = big, .cap = sizeof(big) - 1 };

	while (svg_end(&o, &b))
		;
	b.p[b.n] = '\0';
	check(!b.full, "the picture fits in the buffer");
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
	check(strstr(p, ">no samples<") && count(p, "</svg>") == 1,
	      "no samples: the picture has this text");
	clear();
	svg_begin(5, 1);
	p = picture();
	check(strstr(p, "1 sample; none of them can be drawn") != NULL,
	      "a sample without values: the picture says so");
}

static void t_one(void)
{
	const char *p;

	clear();
	put_busy(1763611200000000, 500000, S("render"), 12);
	p = picture();
	check(strstr(p, "2025-11-20 04:00:00 UTC, 1 sample<") != NULL,
	      "the picture has a date and the number of samples");
	check(strstr(p, "h140M3200,739l-20,0h40\"") != NULL, "one sample is a dot in the middle, at the right height");
	check(count(p, ">12<") == 3, "one sample is minimum, average and maximum");
}

static void t_extremes(void)
{
	i32 peak = 0, low = 100000;
	i64 widest = 0;

	clear();
	for (i64 i = 0; i < 100000; i++)
		put_busy(i * 1000000, 1000000, S("render"), i == 54321 ? 99 : i == 65432 ? 1 : 50);
	check(axis.n <= SLOTS && axis.n >= PLOT_W, "the number of columns: %zu", axis.n);
	for (size_t i = 0; i < axis.n; i++) {
		peak = drawing.series[0].hi[i] > peak ? drawing.series[0].hi[i] : peak;
		low = drawing.series[0].lo[i] < low ? drawing.series[0].lo[i] : low;
	}
	check(peak == 99000 && low == 1000, "a peak and a dip of one sample in 100 000 are kept");
	check(drawing.series[0].min == 1000 && drawing.series[0].max == 99000, "the legend has the same extremes");
	check_u64((u64)drawing.series[0].n, 100000, "the mean includes every sample");
	check(drawing.slots[axis.n - 1].to == 99999000000, "the time of the last sample is kept");
	for (size_t i = 0; i < axis.n; i++)
		widest = drawing.slots[i].to - drawing.slots[i].from > widest ? drawing.slots[i].to - drawing.slots[i].from : widest;
	check(widest <= 99999000000 / PLOT_W, "no column is wider than a pixel: %lld", (long long)widest);
	check(strlen(picture()) < 40000, "the picture is smaller than 40 000 bytes");
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
	check(!is_known(&drawing.series[0], 4) && is_known(&drawing.series[0], 5), "a missing value is unknown");
	p = picture();
	/* one M of the legend, two of the line */
	check(count(strstr(p, "scale(.1)"), "M") == 1 + 2, "an unknown value is a gap in the line");

	clear();
	for (i64 i = 0; i < 10; i++)
		put_busy((i < 5 ? i : i + 1000) * 1000000, 1000000, S("render"), 50);
	check(drawing.slots[5].broken && !drawing.slots[6].broken, "a jump of the clock is a gap");
	clear();
	for (i64 i = 0; i < 10; i++)
		put_busy((i < 5 ? i + 1000 : i) * 1000000, 1000000, S("render"), 50);
	check(axis.went_back == 1 && drawing.slots[5].broken && axis.n == 10, "a clock that goes backwards is a gap");
	check(axis.end == 9000000, "time continues after the clock went backwards");
	check(strstr(picture(), "the clock went back 1 time<") != NULL,
	      "the picture says that the clock went backwards");
	clear();
	for (i64 i = 0; i < 5000; i++)
		put_busy(i * 300000000, 1000000, S("render"), 50);
	check(!drawing.slots[axis.n - 1].broken, "one second in every five minutes is drawn as a line");
	clear();
	for (i64 i = 0; i < 50000; i++)
		put_busy((i / 2 * 1000 + i % 2) * 1000000, 1000000, S("render"), i & 1);
	check(axis.n <= SLOTS, "a gap in every column does not overflow the table");
	clear();
	put_busy(INT64_MAX, 1, S("render"), 1);
	for (i64 i = 0; i < 3000; i++)
		put_busy(i & 1 ? 0 : INT64_MAX / 9, INT64_MAX / 9, S("render"), 1);
	check(strlen(picture()) > 1000, "extreme times result in a picture");
}

static void t_untimed(void)
{
	const char *p;

	clear();
	for (i64 i = 0; i < 12; i++) {
		put_busy(-1, -1, S("render"), 10);
		put_busy(-1, -1, S("copy"), 20);
	}
	check_u64(axis.n, 12, "without times, a repeated series begins the next sample");
	p = picture();
	check(strstr(p, ">12 samples<") != NULL, "samples without times are counted, and have no duration");
}

static void t_names(void)
{
	struct plotids id = card("client");
	const char *p;

	clear();
	id.text[ID_PID] = S("7");
	id.text[ID_CLIENT] = S("1");
	id.text[ID_COMM] = S("<&>\x01\xff]]>");
	svg_begin(0, 1);
	svg_put(&id, column_of(NULL, "used"), (struct str){ 0 }, whole(5), false);
	p = picture();
	check(strstr(p, "&lt;&amp;&gt;\xef\xbf\xbd\xef\xbf\xbd]]&gt; 7<") != NULL,
	      "names: XML characters are escaped, invalid ones replaced");
	clear();
	id.text[ID_COMM] = S("\xef\xbf\xbe\xef\xbf\xbf\xed\xa0\x80");
	svg_begin(0, 1);
	svg_put(&id, column_of(NULL, "used"), (struct str){ 0 }, whole(5), false);
	p = picture();
	check(!strstr(p, "\xef\xbf\xbe") && !strstr(p, "\xef\xbf\xbf") && !strstr(p, "\xed\xa0"),
	      "names: noncharacters and surrogates are replaced");
	check(!strstr(p, "<script") && !strstr(p, "href") && !strstr(p, "url(h"),
	      "the picture refers to nothing outside of itself");
}

static void t_parts(void)
{
	static const struct {
		enum plotid id;
		const char *name;
	} rows[] = {
		{ ID_NODE, ">N1<" }, { ID_SOCKET, ">S1<" }, { ID_DIE, ">D1<" }, { ID_CLUSTER, ">CLS1<" },
		{ ID_CACHE, ">cache 1<" }, { ID_CORE, ">C1<" }, { ID_CPU, ">CPU1<" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct plotids id = { 0 };
		const char *p;

		id.text[ID_KIND] = S("event");
		id.text[ID_EVENT] = S("cycles");
		clear();
		svg_begin(0, 1);
		for (int part = 0; part < 2; part++) {
			id.text[rows[i].id] = part ? S("1") : S("0");
			svg_put(&id, column_of(NULL, "value"), (struct str){ 0 }, whole(5), false);
		}
		check_u64(drawing.nseries, 2, "parts of the machine: two series beside %s", rows[i].name);
		p = picture();
		check(strstr(p, rows[i].name) != NULL, "parts of the machine: one is named %s", rows[i].name);
	}
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
			id.text[ID_CLIENT] = id.text[ID_PID] = str_z(pid);
			id.text[ID_COMM] = S("proc");
			svg_begin(t * 1000000, 1000000);
			svg_put(&id, column_of("engine", "busy"), S("render"), whole(i == 1999 ? 90 : i == 3 ? 50 : 0), false);
		}
	p = picture();
	check_u64(drawing.nseries, MAX_SERIES, "the table of series is full");
	check(strstr(p, "proc 1999 render") && strstr(p, "proc 3 render"),
	      "the busiest series are drawn although they came late");
	check(strstr(p, "values had no room") != NULL, "series without room are counted");
}

/* One panel more than a picture can have. */
static void t_full_panels(void)
{
	struct plotids id = card("device");
	const struct table *full;
	char dev[16];
	const char *p;
	u32 n;

	clear();
	while (table_full(&n))
		;
	svg_begin(0, 1000000);
	for (int i = 0; i <= MAX_PANELS; i++) {
		snprintf(dev, sizeof(dev), "card%d", i);
		id.text[ID_DEV] = str_z(dev);
		svg_put(&id, column_of("engine", "busy"), S("render"), whole(50), false);
	}
	check(drawing.npanels == MAX_PANELS && strncmp(drawing.panels[MAX_PANELS - 1].title, "card95", 6) == 0,
	      "full table of panels: the last panel is drawn");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "panels") == 0, "full table of panels: one more is reported");
	p = picture();
	check(strstr(p, ">card0") && strstr(p, ">card95") && !strstr(p, "card96"),
	      "full table of panels: the panels before the limit are drawn");
	check(strstr(p, "1 value") != NULL,
	      "full table of panels: the picture has the number of values without one");
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
	for (i64 v = 0; v >= 0; v = v == (i64)MAX_FIXED ? -1 : v ? v * 10 : 1)
		for (unsigned u = 0; u < UNITS * 4; u++) {
			struct scale s = scale_of(u & 1 ? -v : v / 3, u & 2 ? v : v / 2, (u8)(u / 4), units[u / 4].point, v & 1);

			if (!(s.top > s.bottom && s.step > 0 && (s.top - s.bottom) / s.step < 12 && s.div > 0)) {
				check(false, "scale of %lld, unit %u", (long long)v, u / 4);
				return;
			}
		}
	check(true, "every range has a scale");
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

/* Values of any size, with any number of decimals. */
static void t_values(void)
{
	struct plotids id = card("counter");
	struct val v = { .type = V_INT, .n = 123456789, .point = 9 };
	const struct column *c = column_of(NULL, "value");
	const char *p;

	clear();
	id.text[ID_NAME] = S("a/b/c");
	/* 0.123, 1.23, ... 10^18: first the decimals are dropped, then the lowest bits */
	for (i64 t = 0; t < 40; t++) {
		svg_begin(t * 1000000, 1000000);
		svg_put(&id, c, (struct str){ 0 }, &v, false);
		if (v.point)
			v.point--;
		else if (v.n < 100000000000000000)
			v.n *= 10;
	}
	check(drawing.panels[0].point == 0 && drawing.panels[0].shift == 26, "decimals %u, shift %u", drawing.panels[0].point, drawing.panels[0].shift);
	p = picture();
	check(axis.dropped == 0 && strstr(p, "10\xc2\xb9\xe2\x81\xb5 ") != NULL && strstr(p, ">123<") != NULL,
	      "values of all sizes are drawn");
	v.n = UINT64_MAX;
	svg_put(&id, c, (struct str){ 0 }, &v, false);
	v.n = 1000000000000000001;
	svg_put(&id, c, (struct str){ 0 }, &v, false);
	check_u64(axis.dropped, 2, "values beyond 10^18 are counted as dropped");
	clear();
	svg_begin(0, 1);
	v = (struct val){ .type = V_INT, .neg = true, .n = 1000000000000000000 };
	svg_put(&id, c, (struct str){ 0 }, &v, false);
	v.neg = false;
	svg_put(&id, c, (struct str){ 0 }, &v, false);
	p = picture();
	check(strstr(p, "l0,840") != NULL, "a line from the lowest to the highest value: %s", strstr(p, "scale(.1)"));
}

/* The lines of a client have one colour in all panels, and different colours within a panel. */
static void t_colours(void)
{
	struct plotids id = card("client");
	static const char *const pids[] = { "7", "8", "9" };

	clear();
	svg_begin(0, 1);
	for (int i = 0; i < 3; i++) {
		id.text[ID_CLIENT] = str_z(pids[i]);
		svg_put(&id, column_of("engine", "busy"), S("render"), whole(5), false);
		if (i == 0)
			svg_put(&id, column_of("engine", "busy"), S("video"), whole(5), false);
	}
	for (int i = 3; i-- > 0;) {
		id.text[ID_CLIENT] = str_z(pids[i]);
		svg_put(&id, column_of(NULL, "used"), (struct str){ 0 }, whole(5), false);
	}
	picture();
	check(drawing.nseries == 7 && drawing.series[0].colour == drawing.series[6].colour && drawing.series[2].colour == drawing.series[5].colour &&
	      drawing.series[3].colour == drawing.series[4].colour && drawing.series[0].colour != drawing.series[1].colour,
	      "each client has one colour");
}

/* The ticks of the time axis, and the numbers of the scale. */
static void t_ticks(void)
{
	char text[64];
	struct buf b = BUF(text);
	struct val v = { .type = V_INT, .n = 1250, .point = 3 };
	i64 fixed = 0;

	clear();
	check(time_step(99999990) == 10000000 && time_step(99999999) == 10000000 && time_step(100000000) == 20000000,
	      "steps of 10 s, until there are ten of them");
	put_time(&b, 172800000000, 86400000000);
	check_str(str_of(b.p, b.n), "2 d", "a time in days");
	check(to_fixed(&v, 2, &fixed) && fixed == 125, "a decimal is dropped");
}

int main(void)
{
	t_nothing();
	t_one();
	t_extremes();
	t_gaps();
	t_untimed();
	t_names();
	t_parts();
	t_many();
	t_full_panels();
	t_scales();
	t_numbers();
	t_values();
	t_colours();
	t_ticks();
	return unit_end();
}
