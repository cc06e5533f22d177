/* t_topview.c - unit test of views/topview.c: the parts of a screen of any width, the columns of the
 * table, the filter, and what identifies a device. t_top.py tests whole screens.
 * SPDX-License-Identifier: MIT */
#include "../../views/topview.c"

#include "tests/unit.h"

static struct screen_row grid[30];
static struct screen scr = { .grid = grid, .ascii = true, .plain = true };

static void screen_new(u16 rows, u16 cols)
{
	memset(grid, 0, sizeof(grid));
	scr.rows = rows;
	scr.cols = cols;
	screen_clear(&scr);
}

/* Returns the text of a row of an ASCII screen, without the blanks at its end. */
static struct str row_text(int row)
{
	static char text[SCREEN_COLS];
	struct str s = { text, text };

	for (int i = 0; i < scr.cols; i++)
		text[i] = (char)(grid[row].now[i] & 0x7f);
	for (s.e += scr.cols; s.e > s.p && s.e[-1] == ' '; s.e--)
		;
	return s;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* In ASCII, a bar of width 12 has 10 cells between brackets. A cell is drawn if at least half of
 * it is filled. */
static void t_bars(void)
{
	static const struct {
		int width;
		u64 n, max;
		const char *bar;
	} rows[] = {
		{ 12, 0, 100, "[          ]" }, { 12, 100, 100, "[||||||||||]" },
		{ 12, 50, 100, "[|||||     ]" }, { 12, 4, 100, "[|         ]" },
		{ 12, 5, 100, "[|         ]" }, { 12, 99, 100, "[||||||||||]" },
		{ 12, 94, 100, "[||||||||| ]" }, { 12, 500, 100, "[||||||||||]" },
		{ 12, 49, 100000, "[          ]" }, { 12, 50, 100000, "[|         ]" },
		{ 12, UINT64_MAX, UINT64_MAX, "[||||||||||]" }, { 12, 5, 0, "[          ]" },
		{ 3, 1, 1, "[|]" }, { 2, 1, 1, "[]" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		screen_new(1, 20);
		put_bar(&scr, 0, 0, rows[i].width, rows[i].n, rows[i].max, 0);
		check_str(row_text(0), rows[i].bar, "bar %zu: number of filled cells", i);
	}
}

static void t_graph(void)
{
	static struct devview p = { .n = HISTORY + 3, .known = true };

	p.busy[(p.n - 1) % HISTORY] = 100;
	p.busy[(p.n - 2) % HISTORY] = 1;
	p.busy[(p.n - 3) % HISTORY] = UNKNOWN_BUSY;
	p.busy[(p.n - 4) % HISTORY] = 50;
	screen_new(2, 6);
	put_graph(&scr, 0, 0, 5, 2, &p);
	check_str(row_text(0), "    @", "graph, upper row: only the highest sample, at the right");
	check_str(row_text(1), "_@ .@", "graph, lower row: 0, 50 %%, unknown, 1 %%, 100 %%");
	p.n = 2;
	p.busy[0] = 0;
	p.busy[1] = 100;
	screen_new(1, 6);
	put_graph(&scr, 0, 0, 5, 1, &p);
	check_str(row_text(0), "   _@", "graph: no more samples than there were");
}

static void t_texts(void)
{
	static const struct {
		i64 ns;
		const char *text;
	} intervals[] = {
		{ 1000000000, "1s" }, { 100000000, "0.1s" }, { 1500000000, "1.5s" },
		{ INT64_C(3600000000000), "3600s" },
	};
	static const struct {
		i64 us;
		const char *text;
	} times[] = {
		{ -1, "" }, { 0, "0.000s" }, { 1500, "0.001s" },
		{ INT64_C(999999999999999), "999999999.999s" },
		{ INT64_C(1000000000000000), "2001-09-09 01:46:40.0" },
		{ INT64_C(1763611200123456), "2025-11-20 04:00:00.1" },
	};
	char text[64];

	for (size_t i = 0; i < LEN(intervals); i++) {
		struct buf b = BUF(text);

		put_interval(&b, intervals[i].ns);
		check_str(str_of(b.p, b.n), intervals[i].text, "interval %s", intervals[i].text);
	}
	for (size_t i = 0; i < LEN(times); i++) {
		struct buf b = BUF(text);

		put_time(&b, times[i].us);
		check_str(str_of(b.p, b.n), times[i].text, "time %s", times[i].text);
	}
}

static void t_counts(void)
{
	char text[64];
	struct buf b = BUF(text);

	put_count(&b, 60, 1, "  # devices");
	put_count(&b, 60, 2, "  # clients");
	put_count(&b, 21, 0, "  # shown");
	check_str(str_of(b.p, b.n), "  1 device  2 clients",
	          "title: one device, several clients, and a text without room");
	put_count(&b, 30, 0, "  # shown");
	check_str(str_of(b.p, b.n), "  1 device  2 clients  0 shown",
	          "title: a text that just fits");
	check(level_style(0) == GREEN && level_style(49) == GREEN && level_style(50) == YELLOW &&
	      level_style(79) == YELLOW && level_style(80) == RED,
	      "colours of the levels of a value");
}

/* --- devices ---------------------------------------------------------------------------------- */

static void device_new(const char *name, const char *pdev)
{
	u32 n = device_add();

	str_copy(devices[n].name, sizeof(devices[n].name), str_z(name));
	str_copy(devices[n].pdev, sizeof(devices[n].pdev), str_z(pdev));
}

static void t_identity(void)
{
	static const struct {
		int room;
		const char *slot, *name; /* a slot; a name */
	} rows[] = {
		{ 12, "0000:03:00.0", "Arc A770 G" }, { 11, "03:00.0", "Arc A770 G" },
		{ 7, "03:00.0", "Arc A77" }, { 6, "", "" }, { 0, "", "" },
	};
	struct device *d;

	device_new("Arc A770 G", "0000:03:00.0");
	device_new("8086:56a0", "0000:04:00.0");
	device_new("Same", "0000:05:00.0");
	device_new("Same", "0001:06:00.0");
	device_new("8086:56a1", "");
	d = devices + 1;
	check_str(identity(&d[0]), "Arc A770 G", "label of a device: its name");
	check_str(identity(&d[1]), "0000:04:00.0",
	          "label of a device: its slot instead of VENDOR:DEVICE");
	check_str(identity(&d[2]), "0000:05:00.0",
	          "label of a device: its slot if two devices have the same name");
	check_str(identity(&d[4]), "8086:56a1",
	          "label of a device: VENDOR:DEVICE if it has no slot");
	d[2].e.used = false;
	check_str(identity(&d[3]), "Same",
	          "label of a device: a removed device with the same name does not count");
	for (size_t i = 0; i < LEN(rows); i++) {
		check_str(identity_cut(&d[0], str_z(d[0].pdev), rows[i].room), rows[i].slot,
			  "label of a device in %d cells: its slot", rows[i].room);
		check_str(identity_cut(&d[0], str_z(d[0].name), rows[i].room), rows[i].name,
			  "label of a device in %d cells: its name", rows[i].room);
	}
	check_str(identity_cut(&d[3], str_z(d[3].pdev), 11), "",
	          "label of a device: no part of a slot of another domain");
	check_str(identity_cut(&d[0], LIT("abcdef\xc3\xa9"), 7), "abcdef",
	          "label of a device: no part of a character");
}

static void t_layout(void)
{
	struct devview p = { .ngauges = 5 };

	check(device_rows(&p, 1, 16) == 5 && device_rows(&p, 2, 16) == 3,
	      "device block: rows of five gauges");
	check(device_rows(&p, 1, 4) == 4,
	      "device block: at most as many rows as there is room for");
	p.ngauges = 1;
	check(device_rows(&p, 1, 16) == 1,
	      "device block: no graph for a device without busy values");
	p.known = true;
	check(device_rows(&p, 1, 16) == GRAPH_ROWS && device_rows(&p, 1, 15) == 1,
	      "device block: a lower graph on a short screen");
	screen_new(1, 80);
	check(gauge_layout_get(&scr).graph == 39 && gauge_layout_get(&scr).across == 1 &&
	      gauge_layout_get(&scr).width == 40,
	      "device block, 80 columns: a graph and one gauge");
	screen_new(1, 200);
	check(gauge_layout_get(&scr).graph == 99 && gauge_layout_get(&scr).across == 2 &&
	      gauge_layout_get(&scr).width == 49, "device block, 200 columns: two gauges");
	screen_new(1, 8);
	check(gauge_layout_get(&scr).graph == 3 && gauge_layout_get(&scr).across == 1,
	      "device block, 8 columns: no gauge");
}

/* More gauges than a device has room for: the screen shows how many it left out. */
static void t_full(void)
{
	const struct gauge_layout layout = { .graph = 9, .from = 10, .across = 1, .width = 60 };
	struct devview *p;

	check(table_has(&devviews.t, 0), "a device on the screen");
	p = &devviews.rows[0];
	for (u32 i = 0; i <= MAX_GAUGES + 44; i++)
		add_gauge(p, LIT("vcn"), &(struct val){ .type = V_INT, .n = i }, NULL);
	check(p->ngauges == 300 && p->gauges[MAX_GAUGES - 1].now.n == MAX_GAUGES - 1 && p->nfacts == 0,
	      "300 gauges: those before the limit are right, the others are counted");
	screen_new(17, 80);
	put_device(&scr, 0, 16, 0, &layout);
	check(str_find(row_text(16), LIT("+285 more")), "300 gauges: 15 are shown, and the number of the others");
	memset(p, 0, sizeof(*p));
	check(device_rows(&(struct devview){ .ngauges = 300 }, 1, 16) == 16, "300 gauges: their rows");
}

/* --- clients ---------------------------------------------------------------------------------- */

static void t_columns(void)
{
	check_u64(top_ncolumns, 10, "the table has ten columns");
	for (u8 i = 0; i < top_ncolumns; i++)
		check(!str_len(top_field(i)) || top_column(top_field(i)) == i,
		      "column_find: column %u by its field", i);
	check(top_column(LIT("none")) == top_ncolumns, "column_find: an unknown field");
	check_str(top_field(top_ncolumns), "", "column_find: a field without a column");
	check(top_column_of_key('P') == 2 && top_column_of_key('M') == 3,
	      "column_key: columns by their keys");
	check(top_column_of_key(0) == top_ncolumns && top_column_of_key('Z') == top_ncolumns &&
	      top_column_of_key('P' + 256) == top_ncolumns, "column_key: other keys");
}

/* Columns have 7, 7, 6, 6, 16, 24, 40, ... cells; the last one that fits gets the rest. */
static void t_widths(void)
{
	static const struct {
		u16 cols;
		size_t i;
		int x, width;
	} rows[] = {
		{ 80, 0, 0, 7 }, { 6, 0, 0, 0 }, { 7, 0, 0, 7 }, { 80, 1, 8, 7 },
		{ 80, 4, 30, 16 }, { 58, 4, 30, 28 }, { 59, 4, 30, 16 }, { 40, 4, 30, 10 },
		{ 80, 5, 47, 33 }, { 84, 5, 47, 24 }, { 83, 5, 47, 36 }, { 300, 9, 100, 200 },
		{ 80, 3, 75, 0 }, { 80, 3, 74, 6 }, { 80, 5, 80, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		screen_new(1, rows[i].cols);
		check(width_at(&scr, rows[i].i, rows[i].x) == rows[i].width,
		      "width of the table: column %zu at %d of %u has %d cells, not %d",
		      rows[i].i, rows[i].x,
		      rows[i].cols, rows[i].width, width_at(&scr, rows[i].i, rows[i].x));
	}
}

static void t_filter(void)
{
	static const struct column comm = { NULL, "comm", S_SCALAR, U_NONE, 0, 0, "" },
				   pid = { NULL, "pid", S_SCALAR, U_NONE, 0, 0, "" };
	static const struct {
		const char *filter;
		bool is;
	} rows[] = {
		{ "", true }, { "glx", true }, { "GLX", true }, { "gears", true }, { "xgears ", false },
		{ "glxgears!", false }, { "424", true }, { "42427", false }, { "[", false },
		{ "{", true },
	};
	struct field f[] = {
		{ .col = &comm, .v = { .type = V_TEXT, .s = LIT("GLXgears{") } },
		{ .col = &pid, .v = { .type = V_INT, .n = 4242 } },
	};
	struct record r = { .f = f, .n = LEN(f) };

	for (size_t i = 0; i < LEN(rows); i++) {
		struct top t = { .filter_n = (u8)strlen(rows[i].filter) };

		memcpy(t.filter, rows[i].filter, t.filter_n);
		check(top_match(&t, &r) == rows[i].is,
		      "rows that match the filter '%s'", rows[i].filter);
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Draws screens of any size. All cells that are drawn must be inside the screen. */
static void t_sizes(void)
{
	struct top t = { .interval = 1000000000, .time = -1 };
	struct record r = { .n = 0 };
	size_t outside = 0;

	for (u16 rows = 1; rows < 30; rows++)
		for (u16 cols = 1; cols < 90; cols = (u16)(cols + 7))
			for (t.mode = TOP_LIST; t.mode <= TOP_HELP; t.mode++) {
				screen_new(rows, cols);
				top_draw(&scr, &t, &r);
				outside += grid[0].now[cols] != 0 || (rows < 29 && grid[rows].now[0]);
			}
	check_u64(outside, 0, "no cell outside of the screen is drawn");
	screen_new(3, 80);
	t.mode = TOP_LIST;
	top_draw(&scr, &t, &r);
	check_str(row_text(0), "gpustat  0 devices  0 clients" "                                "
		  "                 1s", "title of the screen, with the interval at the right end");
	check_str(row_text(1), " no DRM or accel device here; still looking",
	          "message of a screen without devices");
}

/* The state of a replay, or its speed, is at the right end of the title. */
static void t_replay(void)
{
	static const struct {
		struct top t;
		const char *text;
	} rows[] = {
		{ { .time = 1500, .percent = 7, .speed = 2 }, "       0.001s  7% x4" },
		{ { .time = 1500, .percent = 7, .speed = -3 }, "     0.001s  7% x1/8" },
		{ { .time = 1500, .percent = 7, .frozen = true }, " 0.001s  7%  PAUSED" },
		{ { .time = 1500, .percent = 7, .ended = true }, "    0.001s  7%  END" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		screen_new(1, 20);
		put_replay(&scr, &rows[i].t, 0);
		check_str(row_text(0), rows[i].text, "the title of a replay: %s", rows[i].text);
	}
}

/* A cursor follows the filter while it is written. */
static void t_footer(void)
{
	struct top t = { .mode = TOP_FILTER, .filter = "ab", .filter_n = 2 };

	screen_new(1, 40);
	put_footer(&scr, &t);
	check_str(row_text(0), "Filter: ab  EnterDone EscClear", "line of the filter");
	check(grid[0].now[10] != grid[0].now[11], "the cursor is shown at the end of the filter");
	t.mode = TOP_LIST;
	screen_new(1, 40);
	put_footer(&scr, &t);
	check(grid[0].now[10] == grid[0].now[11],
	      "the cursor is hidden after the filter was entered");
}

/* The help cannot be scrolled beyond its last line. */
static void t_help(void)
{
	struct top t = { .mode = TOP_HELP, .help_first = 99 };

	screen_new(10, 80);
	put_help(&scr, &t);
	check_u64(t.help_page, 8, "number of lines of the help on a screen of 10 rows");
	check_u64(t.help_first, HELP_LINES - 8,
	          "first line of the help when it is scrolled to its end");
	check(str_len(row_text(8)) > 0 && str_len(row_text(9)) == 0,
	      "the last line of the help is above the footer");
	t.replay = true;
	t.help_first = 99;
	put_help(&scr, &t);
	check_u64(t.help_first, HELP_LINES + REPLAY_LINES - 8,
	          "the help of a replay has more lines");
}

/* The first field of a record is also shown as a fact. */
static void t_facts(void)
{
	static const struct column power = { NULL, "power", S_SCALAR, U_NONE, 0, 0, "" };
	static const struct fact fact = { "at ", "power", FIRST };
	struct field f[] = {
		{ .col = &power, .v = { .type = V_INT, .n = 42 } },
		{ .col = &power, .v = { .type = V_INT, .n = 43 } },
	};
	char text[64];
	struct buf b = BUF(text);

	put_fact(&b, &(struct record){ .f = f, .n = LEN(f) }, &fact);
	check(b.n == 6 && memcmp(text, "at 42", 6) == 0, "a fact of the first field is shown");
}

int main(void)
{
	t_bars();
	t_graph();
	t_texts();
	t_counts();
	t_layout();
	t_full();
	t_identity();
	t_columns();
	t_widths();
	t_filter();
	t_sizes();
	t_replay();
	t_footer();
	t_help();
	t_facts();
	return unit_end();
}
