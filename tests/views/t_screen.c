/* t_screen.c - the screen as a grid: a terminal that gets only the differences shows the same as
 * one that is redrawn, whatever bytes names contain; and keys, in whatever pieces their bytes
 * arrive.
 * SPDX-License-Identifier: MIT */
#include "../../views/screen.c" /* for its static functions */
#include "unit.h"

/* --- a simulated terminal with only the functions that a screen may use ----------------------- */

struct term {
	int rows, cols, row, col;
	u8 style;
	u32 cells[SCREEN_ROWS * SCREEN_COLS];
	const char *fault; /* the first forbidden sequence or character that the terminal got */
	size_t moves;
};

static void term_erase(struct term *t, int row, int col)
{
	for (; col < t->cols; col++)
		t->cells[row * SCREEN_COLS + col] = ' ';
}

static void term_char(struct term *t, u32 c)
{
	u8 w = char_width(c);
	u32 *cell = &t->cells[t->row * SCREEN_COLS + t->col];

	if (w == W_ZERO || w == W_UNSURE || c < ' ' || (c >= 0x7f && c < 0xa0))
		t->fault = "a character of unknown width";
	else if (t->col + w > t->cols)
		t->fault = "a character beyond the last column";
	if (t->fault)
		return;
	if ((*cell & CELL_CHAR) == TAIL)
		cell[-1] = ' ';
	if (t->col + w < t->cols && (cell[w] & CELL_CHAR) == TAIL)
		cell[w] = ' ';
	cell[0] = c | (u32)t->style << CELL_STYLE;
	if (w == W_TWO)
		cell[1] = TAIL | (u32)t->style << CELL_STYLE;
	t->col = t->col + w < t->cols ? t->col + w : t->cols - 1; /* no wrapping: ?7l */
}

static void term_sgr(struct term *t, int n)
{
	if (n == 0)
		t->style = 0;
	else if (n == 1)
		t->style |= BOLD;
	else if (n == 7)
		t->style |= REVERSE;
	else if (n == 30 || (n > 40 && n < 47)) /* black on a colour */
		t->style = (u8)(n == 30 ? t->style | REVERSE : (t->style & ~COLOUR) | (n - 40));
	else if (t->style & REVERSE)
		t->fault = "a reversed colour: it may be unreadable";
	else if (n == 90 || (n > 30 && n < 37))
		t->style = (u8)((t->style & ~COLOUR) | (n == 90 ? GREY : n - 30));
	else
		t->fault = "an attribute other than 8 colours, bold and reverse";
}

static const char *term_csi(struct term *t, const char *p, const char *e)
{
	int n[8] = { 0 }, k = 0;

	for (; p < e && (*p == ';' || (*p >= '0' && *p <= '9')) && k < 7; p++)
		if (*p == ';')
			k++;
		else
			n[k] = 10 * n[k] + *p - '0';
	t->moves++;
	switch (p < e ? *p : 0) {
	case 'H':
		t->row = n[0] ? n[0] - 1 : 0;
		t->col = n[1] ? n[1] - 1 : 0;
		break;
	case 'C':
		t->col += n[0] ? n[0] : 1;
		break;
	case 'K':
		if (t->style)
			t->fault = "an erase with a style";
		term_erase(t, t->row, t->col);
		break;
	case 'J':
		for (int y = 0; y < t->rows && n[0] == 2; y++)
			term_erase(t, y, 0);
		break;
	case 'm':
		for (int i = 0; i <= k; i++)
			term_sgr(t, n[i]);
		break;
	default:
		t->fault = "an unexpected sequence";
	}
	if (t->row >= t->rows || t->col >= t->cols)
		t->fault = "a move off the screen";
	return p + 1;
}

static void term_feed(struct term *t, struct str s)
{
	while (s.p < s.e && !t->fault) {
		size_t n = utf8_plain(s.p, s.e);

		if (*s.p == '\033' && s.e - s.p > 1 && s.p[1] == '[') {
			s.p = term_csi(t, s.p + 2, s.e);
			continue;
		}
		if (*s.p == '\r')
			t->col = 0;
		else if (*s.p == '\n' && t->row + 1 < t->rows)
			t->row++;
		else if (n == 0 || *s.p == '\n')
			t->fault = "invalid UTF-8, or a scroll";
		else
			term_char(t, utf8_value((struct str){ s.p, s.p + n }));
		s.p += n ? n : 1;
	}
}

/* --- frames ----------------------------------------------------------------------------------- */

static struct screen_row grid[SCREEN_ROWS], grid_copy[SCREEN_ROWS];
static struct screen scr = { .grid = grid };
static struct term diffed, drawn;
static char bytes[4 << 20];

static const char *const hostile[] = {
	"plain", "\033[2J\033[31mred\033]0;title\007", "bad\xff\xfe\xc3", "\xe2\x80\xae" "evil", "caf\xc3\xa9", "cafe\xcc\x81\xcc\x81",
	"\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e", "\xed\x95\x9c\xea\xb8\x80 x", "\xf0\x9f\x94\xa5" "fire", "\xc2\x9b" "31m", "\x7f\b\t\r\n",
	"\xe0\xa4\xa8\xe0\xa4\xae\xe0\xa4\xb8\xe0\xa5\x8d\xe0\xa4\xa4\xe0\xa5\x87", "\xf3\xa0\x81\x81\xef\xb8\x8f", "", "   ", "\xe6", "\xef\xbf\xbf",
	"\xf4\x8f\xbf\xbf", "\xe2\x98\x95", "a very long name that does not fit where it is put, whatever the width of the screen may be ..........",
};

static void scribble(size_t times)
{
	static const u8 styles[] = { 0, 0, RED, GREY, BOLD, BOLD | CYAN, REVERSE | GREEN, REVERSE };

	for (size_t i = 0; i < times; i++) {
		int row = (int)(rnd() % (scr.rows + 2u)) - 1, col = (int)(rnd() % (scr.cols + 6u)) - 3;
		u8 style = styles[rnd() % LEN(styles)];

		if (rnd() % 3 == 0)
			screen_char(&scr, row, col, style, 0x2580 + (u32)(rnd() % 20));
		else if (row >= 0 && row < scr.rows)
			screen_put(&scr, row, col, (int)(rnd() % 30), style, str_z(hostile[rnd() % LEN(hostile)]));
	}
}

static bool same(const struct term *t)
{
	for (int y = 0; y < scr.rows; y++)
		if (memcmp(&t->cells[y * SCREEN_COLS], scr.grid[y].now, scr.cols * sizeof(u32)) != 0)
			return false;
	return true;
}

static size_t feed(struct term *t)
{
	struct buf b = { .p = bytes, .cap = sizeof(bytes) };

	t->rows = scr.rows;
	t->cols = scr.cols;
	screen_frame(&scr, &b);
	if (b.full)
		t->fault = "too many bytes";
	term_feed(t, (struct str){ bytes, bytes + b.n });
	return b.n;
}

/* Changes a grid of a size many times; after each frame the terminal must show the grid. */
static void round_trip(size_t rows, size_t cols, size_t frames)
{
	bool good = true;

	screen_size(&scr, rows, cols);
	screen_clear(&scr);
	memset(&diffed, 0, sizeof(diffed));
	for (size_t i = 0; i < frames && good; i++) {
		static struct screen copy;

		if (rnd() % 4 == 0)
			screen_clear(&scr);
		scribble(rnd_of(2 + rows * cols / 20));
		feed(&diffed);
		good = !diffed.fault && diffed.style == 0 && same(&diffed);
		if (!good)
			note("frame %zu: %s", i, diffed.fault ? diffed.fault : "a different picture");
		copy = scr;
		memcpy(grid_copy, grid, sizeof(grid));
		scr.known = false;
		memset(&drawn, 0xff, sizeof(drawn));
		drawn = (struct term){ .rows = scr.rows, .cols = scr.cols };
		feed(&drawn);
		good &= !drawn.fault && same(&drawn);
		scr = copy;
		memcpy(grid, grid_copy, sizeof(grid));
	}
	check(good, "%zux%zu: differences show the same as a whole frame", cols, rows);
}

static void frames(void)
{
	static const struct { size_t rows, cols; } sizes[] = { { 24, 80 }, { 1, 1 }, { 3, 5 }, { 10, 40 }, { 60, 200 }, { 2, 2 }, { 1, 500 } };

	for (size_t i = 0; i < LEN(sizes); i++)
		round_trip(sizes[i].rows, sizes[i].cols, sizes[i].cols > 100 ? 60 : 1500);
	screen_size(&scr, 1000, 9999);
	check(scr.rows == SCREEN_ROWS && scr.cols == SCREEN_COLS, "the screen is limited to the size of the grid");
	screen_size(&scr, 0, 0);
	screen_clear(&scr);
	check(feed(&diffed) <= 8, "a terminal without cells gets at most 8 bytes");
	memset(&diffed, 0, sizeof(diffed)); /* such a terminal also has no place for its cursor */
}

/* Returns the number of bytes for two changed cells in a line with a gap between them. */
static size_t bytes_of_gap(int gap)
{
	screen_size(&scr, 24, 80);
	screen_clear(&scr);
	for (int x = 0; x < 80; x++)
		screen_char(&scr, 5, x, 0, 'x');
	feed(&diffed);
	screen_char(&scr, 5, 10, 0, 'a');
	screen_char(&scr, 5, 11 + gap, 0, 'b');
	return feed(&diffed);
}

static void costs(void)
{
	size_t n;

	check(bytes_of_gap(0) == 9, "adjacent cells: one move and two characters");
	check(bytes_of_gap(2) == 11, "a short gap is written again");
	check(bytes_of_gap(20) == 14, "a long gap is skipped by a move");
	screen_size(&scr, 24, 80);
	screen_clear(&scr);
	feed(&diffed);
	check(feed(&diffed) == 0, "no change: no bytes");
	screen_put(&scr, 3, 0, 80, BOLD, (struct str)STR("bold"));
	feed(&diffed);
	screen_clear(&scr);
	n = feed(&diffed);
	check(n == 7, "a row is erased by one sequence (%zu bytes)", n);
	scr.plain = true;
	screen_put(&scr, 3, 0, 80, REVERSE | GREEN, (struct str)STR("green"));
	feed(&diffed);
	check(diffed.cells[3 * SCREEN_COLS] >> CELL_STYLE == REVERSE,
	      "without colours there are only bold and reverse");
	scr.plain = false;
}

static void texts(void)
{
	static const struct { const char *text; int width, used; const char *shows; } rows[] = {
		{ "caf\xc3\xa9", 10, 4, NULL }, { "\xe6\x97\xa5\xe6\x9c\xac", 10, 4, NULL }, { "\xe6\x97\xa5\xe6\x9c\xac", 3, 2, NULL },
		{ "e\xcc\x81", 10, 1, "e" }, { "\033[31m", 10, 8, "\\x1b[31m" }, { "\xff", 10, 4, "\\xff" }, { "abc", 2, 2, "ab" },
		{ "abc", 0, 0, "" }, { "abc", -4, 0, "" }, { "\xe2\x80\xae" "abc", 14, 14, "\\xe2\\x80\\xaeab" }, { "\xc2\x85", 10, 8, "\\xc2\\x85" },
		{ "\xe2\x98\x95", 10, 1, "?" }, { "\xe0\xa4\xa8", 10, 1, "?" },
	};

	screen_size(&scr, 1, 20);
	for (size_t i = 0; i < LEN(rows); i++) {
		char got[32];
		size_t n = 0;
		int used;

		screen_clear(&scr);
		used = screen_put(&scr, 0, 0, rows[i].width, 0, str_z(rows[i].text));
		check(used == rows[i].used, "%s takes %d cells (%d)", show(str_z(rows[i].text)), rows[i].used, used);
		for (int x = 0; x < used && rows[i].shows; x++)
			got[n++] = (char)scr.grid[0].now[x];
		if (rows[i].shows)
			check_str((struct str){ got, got + n }, rows[i].shows, "%s is shown", show(str_z(rows[i].text)));
	}
	scr.ascii = true;
	screen_clear(&scr);
	check(screen_put(&scr, 0, 0, 10, 0, (struct str)STR("caf\xc3\xa9 \xe6\x97\xa5")) == 6 && scr.grid[0].now[3] == '?' && scr.grid[0].now[5] == '?',
	      "ASCII: other characters are shown as one question mark each");
	scr.ascii = false;
	screen_clear(&scr);
	screen_put(&scr, 0, 4, 4, 0, (struct str)STR("\xe6\x97\xa5\xe6\x9c\xac"));
	scr.known = false;
	memset(&drawn, 0, sizeof(drawn));
	feed(&drawn);
	check(!drawn.fault && same(&drawn), "a whole frame with two wide characters");
	screen_char(&scr, 0, 5, 0, 'x');
	feed(&drawn);
	check(!drawn.fault && same(&drawn) && scr.grid[0].now[4] == ' ' && scr.grid[0].now[5] == 'x' && (scr.grid[0].now[7] & CELL_CHAR) == TAIL,
	      "overwriting half of a wide character removes its other half");
}

/* --- keys ------------------------------------------------------------------------------------- */

static const struct { const char *bytes; u16 keys[4]; } typed[] = {
	{ "q", { 'q' } }, { "\033[A", { KEY_UP } }, { "\033OA", { KEY_UP } }, { "\033[B\033[C\033[D", { KEY_DOWN, KEY_RIGHT, KEY_LEFT } },
	{ "\033[5~", { KEY_PGUP } }, { "\033[6~", { KEY_PGDN } }, { "\033[1~", { KEY_HOME } }, { "\033[7~", { KEY_HOME } }, { "\033[H", { KEY_HOME } },
	{ "\033[4~", { KEY_END } }, { "\033[8~", { KEY_END } }, { "\033OF", { KEY_END } }, { "\033OP", { KEY_F1 } }, { "\033[11~", { KEY_F1 } },
	{ "\033[[A", { KEY_F1 } }, { "\033[[D", { KEY_F4 } }, { "\033OS", { KEY_F4 } }, { "\033[17~", { KEY_F6 } }, { "\033[21~", { KEY_F10 } },
	{ "\033[1;5A", { KEY_UP } }, { "\033[17;2~", { KEY_F6 } }, { "\033[1;2P", { KEY_F1 } },
	/* unknown sequences */
	{ "\033[99~q", { 'q' } }, { "\033[2~q", { 'q' } }, { "\033[<0;10;20Mq", { 'q' } }, { "\033[?62;1cq", { 'q' } }, { "\033[200~q", { 'q' } },
	{ "\033[9999999999999999~q", { 'q' } }, { "\033[Zq", { 'q' } }, { "\033xq", { 'q' } }, { "\033OZq", { 'q' } }, { "\033[[Zq", { 'q' } },
	{ "\033[1\033[A", { KEY_UP } }, { "\033\033[A", { KEY_ESC, KEY_UP } }, { "\033[261~q", { 'q' } }, { "\xc3\xa9", { 0xc3, 0xa9 } },
};

static void all_keys(void)
{
	for (size_t i = 0; i < LEN(typed); i++) {
		struct keys k = { 0 };
		size_t n = 0;
		bool good = true;

		for (const char *p = typed[i].bytes; *p; p++) {
			u16 key = key_feed(&k, (u8)*p);

			if (key)
				good &= n < 4 && typed[i].keys[n++] == key;
		}
		good &= (n == 4 || typed[i].keys[n] == 0) && key_timeout(&k) == 0;
		check(good, "keys of %s", show(str_z(typed[i].bytes)));
	}
}

static void pauses(void)
{
	struct keys k = { 0 };
	size_t bad = 0;

	check(key_feed(&k, 033) == 0 && key_timeout(&k) == KEY_ESC && key_timeout(&k) == 0,
	      "Esc without more bytes is the Esc key");
	check(key_feed(&k, 033) == 0 && key_feed(&k, '[') == 0 && key_timeout(&k) == 0 && key_feed(&k, 'A') == 'A',
	      "keys of a sequence that ends early");
	for (size_t i = 0; i < 1000000; i++)
		bad += key_feed(&k, (u8)rnd()) > KEY_F10;
	check(bad == 0, "random bytes result in known keys only");
}

int main(void)
{
	frames();
	costs();
	texts();
	all_keys();
	pauses();
	return unit_end();
}
