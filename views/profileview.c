/* profileview.c - the screen of `sample --live`: the sums of the samples so far. Pure: no system
 * calls. SPDX-License-Identifier: MIT */
#include "views/views.h"

/* SHARE_AT, SAMPLES_AT, NAME_AT: screen columns at which the share, the number of samples and the
 * name start; SHARE_WIDTH, SAMPLES_WIDTH: widths of the two numbers in screen columns. WIDE:
 * minimum width of a screen on which the module is shown, too. */
enum { SHARE_AT = 0, SHARE_WIDTH = 7, SAMPLES_AT = 8, SAMPLES_WIDTH = 10, NAME_AT = 20, WIDE = 60 };

static void put_right(struct screen *s, int row, int at, int width, struct str number)
{
	int blanks = width - (int)str_len(number);

	screen_put(s, row, at + (blanks > 0 ? blanks : 0), width, 0, number);
}

static void draw_row(struct screen *s, int row, u8 table, const struct profrow *r)
{
	int module = s->cols >= WIDE && table != PROF_COMM ? s->cols / 3 : 0;
	char text[32];
	struct buf b = BUF(text);
	u64 all = profile_sums.period[table];

	put_dec(&b, all ? muldiv(r->period, 10000, all) : 0, 2, 2);
	put_c(&b, '%');
	put_right(s, row, SHARE_AT, SHARE_WIDTH, str_of(b.p, b.n));
	b.n = 0;
	put_u64(&b, r->samples);
	put_right(s, row, SAMPLES_AT, SAMPLES_WIDTH, str_of(b.p, b.n));
	b.n = 0;
	if (table == PROF_IP)
		put_hex64(&b, r->ip);
	else if (!str_len(r->name))
		put_z(&b, "[unknown]");
	screen_put(s, row, NAME_AT, s->cols - NAME_AT - module - (module > 0),
		   table == PROF_IP ? CYAN : 0, b.n ? str_of(b.p, b.n) : r->name);
	if (module)
		screen_put(s, row, s->cols - module, module, GREY, str_base(r->module));
}

/* Draws a table of the profile into `high` rows of the screen, starting at row `row`, which gets
 * the titles of the columns. */
static void draw_table(struct screen *s, int row, int high, u8 table, u64 top)
{
	static const char *const titles[] = {
		[PROF_COMM] = "  SHARE    SAMPLES  COMM",
		[PROF_SYMBOL] = "  SHARE    SAMPLES  SYMBOL",
		[PROF_IP] = "  SHARE    SAMPLES  ADDRESS",
	};
	size_t n = profile_sort(table);

	screen_put(s, row, 0, s->cols, BOLD, str_z(titles[table]));
	n = top && n > top ? (size_t)top : n;
	for (size_t i = 0; i < n && (int)i < high - 1; i++)
		draw_row(s, row + 1 + (int)i, table, profile_row(table, i));
}

static void draw_head(struct screen *s, const struct profhead *h)
{
	char text[160];
	struct buf b = BUF(text);

	for (int x = 0; x < s->cols; x++)
		screen_char(s, 0, x, REVERSE, ' ');
	put_u64(&b, h->samples);
	put_z(&b, " samples of ");
	put_text(&b, str_of(h->event.p, str_len(h->event) < 60 ? str_len(h->event) : 60));
	if (h->lost) {
		put_z(&b, ", ");
		put_u64(&b, h->lost);
		put_z(&b, " lost");
	}
	put_z(&b, ", ");
	put_u64(&b, h->seconds);
	put_z(&b, " s   q: quit");
	screen_put(s, 0, 0, s->cols, REVERSE, str_of(b.p, b.n));
}

/* Draws a frame of the screen: the title and the profile tables in the mask `tables` (1 << enum
 * proftable), all with the same number of screen rows. top: maximum number of rows shown of each
 * table; 0: no limit. */
void profile_draw(struct screen *s, const struct profhead *h, u8 tables, u64 top)
{
	int n = 0, row = 1, high;

	screen_clear(s);
	draw_head(s, h);
	for (int t = 0; t < PROF_STACK; t++)
		n += tables >> t & 1;
	high = n ? (s->rows - 1) / n : 0;
	for (int t = 0; high > 1 && t < PROF_STACK; t++)
		if (tables >> t & 1) {
			draw_table(s, row, high, (u8)t, top);
			row += high;
		}
}
