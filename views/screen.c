/* screen.c - a terminal as a grid of cells: writes the changes between frames as escape
 * sequences, and parses keys. Pure: no system calls. SPDX-License-Identifier: MIT */
#include "views/views.h"

/* A cell of the grid is a number: the character in the low bits (CELL_CHAR), the style from bit
 * CELL_STYLE on. TAIL is the character of the second cell of a wide character. UNKNOWN: the row or
 * column of the terminal's cursor is not known. */
enum { CELL_CHAR = 0x1fffff, CELL_STYLE = 21, TAIL = CELL_CHAR, UNKNOWN = -1 };

/* --- width of a character on the screen ------------------------------------------------------- */

enum { W_ZERO, W_ONE, W_TWO, W_UNSURE };

/* Widths of characters from Unicode 15: EastAsianWidth.txt and the general categories Mn, Me, Cf.
 * W_UNSURE characters are shown as '?': terminals use different widths for scripts with joining or
 * stacking letters, and private characters have no defined width. */
static const struct {
	/* first and last character of a range; if `plane` is 1, both numbers are in units of 16
	 * characters */
	u16 from, to;
	u8 width, plane;
} widths[] = {
	{ 0xad, 0xad, W_UNSURE, 0 },      { 0x300, 0x36f, W_ZERO, 0 },
	{ 0x483, 0x489, W_ZERO, 0 },
	{ 0x590, 0x5bd, W_ZERO, 0 },      { 0x5bf, 0x5c7, W_UNSURE, 0 },
	{ 0x600, 0x61c, W_UNSURE, 0 },
	{ 0x64b, 0x65f, W_ZERO, 0 },      { 0x670, 0x670, W_ZERO, 0 },
	{ 0x6d6, 0x6ed, W_UNSURE, 0 },
	{ 0x700, 0xe2f, W_UNSURE, 0 },    { 0xe31, 0xe31, W_ZERO, 0 },
	{ 0xe34, 0xe3a, W_ZERO, 0 },
	{ 0xe47, 0xe4e, W_ZERO, 0 },      { 0xe80, 0x109f, W_UNSURE, 0 },
	{ 0x1100, 0x115f, W_TWO, 0 },
	{ 0x1160, 0x11ff, W_UNSURE, 0 },  { 0x135d, 0x135f, W_ZERO, 0 },
	{ 0x1700, 0x1cff, W_UNSURE, 0 },
	{ 0x1dc0, 0x1dff, W_ZERO, 0 },    { 0x200b, 0x200f, W_ZERO, 0 },
	{ 0x2028, 0x202e, W_ZERO, 0 },
	{ 0x2060, 0x206f, W_ZERO, 0 },    { 0x20d0, 0x20f0, W_ZERO, 0 },
	{ 0x231a, 0x231b, W_TWO, 0 },
	{ 0x2329, 0x232a, W_TWO, 0 },     { 0x23e9, 0x23f3, W_UNSURE, 0 },
	{ 0x25fd, 0x27bf, W_UNSURE, 0 },
	{ 0x2b1b, 0x2b1c, W_TWO, 0 },     { 0x2b50, 0x2b55, W_UNSURE, 0 },
	{ 0x2de0, 0x2dff, W_ZERO, 0 },
	{ 0x2e80, 0x3029, W_TWO, 0 },     { 0x302a, 0x302d, W_ZERO, 0 },
	{ 0x302e, 0x303e, W_TWO, 0 },
	{ 0x3041, 0x3098, W_TWO, 0 },     { 0x3099, 0x309a, W_ZERO, 0 },
	{ 0x309b, 0x4dbf, W_TWO, 0 },
	{ 0x4e00, 0xa4cf, W_TWO, 0 },     { 0xa66f, 0xa6ff, W_UNSURE, 0 },
	{ 0xa800, 0xa95f, W_UNSURE, 0 },
	{ 0xa960, 0xa97f, W_TWO, 0 },     { 0xa980, 0xabff, W_UNSURE, 0 },
	{ 0xac00, 0xd7a3, W_TWO, 0 },
	{ 0xd7a4, 0xf8ff, W_UNSURE, 0 },  { 0xf900, 0xfaff, W_TWO, 0 },
	{ 0xfb1e, 0xfb1e, W_ZERO, 0 },
	{ 0xfdd0, 0xfdef, W_UNSURE, 0 },  { 0xfe00, 0xfe0f, W_ZERO, 0 },
	{ 0xfe10, 0xfe19, W_TWO, 0 },
	{ 0xfe20, 0xfe2f, W_ZERO, 0 },    { 0xfe30, 0xfe6f, W_TWO, 0 },
	{ 0xfeff, 0xfeff, W_ZERO, 0 },
	{ 0xff01, 0xff60, W_TWO, 0 },     { 0xffe0, 0xffe6, W_TWO, 0 },
	{ 0xfff0, 0xfffc, W_UNSURE, 0 },
	{ 0xfffe, 0xffff, W_UNSURE, 0 },  { 0x1000, 0x16df, W_UNSURE, 1 },
	{ 0x16e0, 0x1b2f, W_TWO, 1 },
	{ 0x1b30, 0x1f2f, W_UNSURE, 1 },  { 0x1f30, 0x1f64, W_TWO, 1 },
	{ 0x1f65, 0x1f8f, W_UNSURE, 1 },
	{ 0x1f90, 0x1f9f, W_TWO, 1 },     { 0x1fa0, 0x1fff, W_UNSURE, 1 },
	{ 0x2000, 0x3fff, W_TWO, 1 },
	{ 0x4000, 0xffff, W_UNSURE, 1 },
};

static u8 char_width(u32 c)
{
	u8 plane = c > 0xffff;
	u32 k = plane ? c >> 4 : c;

	for (size_t i = 0; i < LEN(widths) && c >= 0xad; i++)
		if (widths[i].plane == plane && k >= widths[i].from && k <= widths[i].to)
			return widths[i].width;
	return k > 0xffff ? W_UNSURE : W_ONE;
}

/* --- the grid --------------------------------------------------------------------------------- */

/* Sets the size of the screen to that of the terminal, `rows` lines and `cols` columns, but at most
 * to the size of the grid. The next frame draws all cells. */
void screen_size(struct screen *s, size_t rows, size_t cols)
{
	s->rows = (u16)(rows < SCREEN_ROWS ? rows : SCREEN_ROWS);
	s->cols = (u16)(cols < SCREEN_COLS ? cols : SCREEN_COLS);
	s->known = false;
}

static u32 *cell_at(struct screen *s, int row, int col)
{
	return &s->grid[row].now[col];
}

void screen_clear(struct screen *s)
{
	for (int y = 0; y < s->rows; y++)
		for (int x = 0; x < s->cols; x++)
			*cell_at(s, y, x) = ' ';
}

/* Sets a cell of the grid. If it was half of a wide character, the other half becomes a blank. */
static void put_cell(struct screen *s, int row, int col, u32 cell)
{
	u32 *c = cell_at(s, row, col), blank = ' ';

	if ((*c & CELL_CHAR) == TAIL && col > 0)
		c[-1] = blank;
	if (col + 1 < s->cols && (c[1] & CELL_CHAR) == TAIL)
		c[1] = blank;
	*c = cell;
}

/* Puts a character of one cell, or a half of a wide character, into a cell of the grid. A position
 * outside of the grid is ignored. */
void screen_char(struct screen *s, int row, int col, u8 style, u32 c)
{
	if (row >= 0 && row < s->rows && col >= 0 && col < s->cols)
		put_cell(s, row, col,
			 c | (u32)(s->plain ? style & (BOLD | REVERSE) : style) << CELL_STYLE);
}

/* Puts a text, which may contain any bytes, into at most `width` cells of the grid. A longer text
 * is cut between characters. Returns the number of cells used. */
int screen_put(struct screen *s, int row, int col, int width, u8 style, struct str text)
{
	char clean[16 * SCREEN_COLS];
	struct buf b = BUF(clean);
	int x = col, end = width < s->cols - col ? col + width : s->cols;

	if (str_len(text) > (size_t)4 * SCREEN_COLS)
		/* The text is cut to the bytes that fit in a row: SCREEN_COLS characters of up to 4
		 * bytes. */
		text.e = text.p + (size_t)4 * SCREEN_COLS;
	put_text(&b, text);
	for (size_t at = 0, n; at < b.n; at += n) {
		u32 c;
		u8 w;

		n = utf8_len(b.p + at, b.p + b.n);
		c = utf8_value(str_of(b.p + at, n));
		w = char_width(c);
		if (w == W_ZERO)
			continue;
		if (w == W_UNSURE || (s->ascii && c > '~')) {
			c = '?';
			w = W_ONE;
		}
		if (x + w > end)
			break;
		screen_char(s, row, x++, style, c);
		if (w == W_ONE)
			continue;
		/* if the first cell of a wide character is left of the screen, a blank is put into
		 * its second cell */
		screen_char(s, row, x, style, x > 0 ? TAIL : ' ');
		x++;
	}
	return x - col;
}

/* --- the changes ------------------------------------------------------------------------------ */

/* Position of the terminal's cursor, and the style that the terminal uses for the next character.
 * row and col may be UNKNOWN. */
struct pen {
	int row, col;
	u8 style;
};

static void put_csi(struct buf *b, int n, int m, char final)
{
	put_z(b, "\033[");
	if (n > 1 || m > 1)
		put_u64(b, (u64)n);
	if (m > 1) {
		put_c(b, ';');
		put_u64(b, (u64)m);
	}
	put_c(b, final);
}

/* Writes the escape sequence SGR (ECMA-48), which sets the style. p: the n parameters of the
 * sequence. */
static void put_sgr(struct buf *b, const u8 *p, size_t n)
{
	put_z(b, "\033[");
	for (size_t i = 0; i < n; i++) {
		if (i)
			put_c(b, ';');
		if (p[i])
			put_u64(b, p[i]);
	}
	put_c(b, 'm');
}

/* Writes the escape sequence that changes the style: parameters of ECMA-48, and 90 for grey as in
 * aixterm. To remove an attribute such as bold, all attributes are reset first. Reversed colours
 * are drawn as black text on the colour, because text in the terminal's own background colour may
 * be unreadable on it. */
static void set_style(struct buf *b, struct pen *at, u8 style)
{
	u8 p[4], from = at->style, colour = style & COLOUR;
	size_t n = 0;

	if (style == from)
		return;
	if (from & ~style & BOLD || (from | style) & REVERSE || !colour) {
		p[n++] = 0;
		from = 0;
	}
	if (style & ~from & BOLD)
		p[n++] = 1;
	if (style & REVERSE)
		p[n++] = colour ? 30 : 7;
	if (colour != (from & COLOUR))
		p[n++] = colour == GREY ? 90 : (u8)((style & REVERSE ? 40 : 30) + colour);
	put_sgr(b, p, n);
	at->style = style;
}

/* Returns the number of bytes needed to write n unchanged cells again, which may be shorter than a
 * cursor movement. Returns 8 or more, which is longer than any cursor movement, if the style of a
 * cell is not `style`, or if its character may have another width on some terminals. */
static size_t rewrite_cost(const u32 *cells, int n, u8 style)
{
	size_t cost = 0;

	for (int i = 0; i < n && cost < 8; i++) {
		u32 c = cells[i] & CELL_CHAR;

		cost += cells[i] >> CELL_STYLE != style || c >= 0x300 ? 8 : c < 0x80 ? 1 : 2;
	}
	return cost;
}

static void put_glyph(const struct screen *s, struct buf *b, struct pen *at, const u32 *cell)
{
	u32 c = *cell & CELL_CHAR;

	put_utf8(b, c);
	at->col++;
	/* The position of the cursor is treated as unknown after a character that fonts and
	 * terminals may draw with another width: all but U+0000 to U+02FF and U+2500 to U+25FF. It
	 * is also unknown after the last column, where terminals do not move the cursor. */
	if ((c >= 0x300 && (c < 0x2500 || c > 0x25ff)) || at->col >= s->cols)
		at->col = UNKNOWN;
}

static void move(const struct screen *s, struct buf *b, struct pen *at, int row, int col)
{
	const u32 *cells = s->grid[row].now;
	int gap;

	if (at->row != UNKNOWN && row == at->row + 1) {
		put_z(b, "\r\n");
		at->row = row;
		at->col = 0;
	}
	gap = col - at->col;
	if (at->row != row || at->col == UNKNOWN || gap < 0) {
		put_csi(b, row + 1, col + 1, 'H');
	} else if (gap > 0 && rewrite_cost(cells + at->col, gap, at->style) <=
			      (gap == 1 ? 3u : gap < 10 ? 4u : 5u)) {
		while (at->col < col)
			put_glyph(s, b, at, cells + at->col);
	} else if (gap > 0) {
		put_csi(b, gap, 0, 'C');
	}
	at->row = row;
	at->col = col;
}

static void row_diff(struct screen *s, struct buf *b, struct pen *at, int row)
{
	const u32 *now = s->grid[row].now, *was = s->grid[row].was;
	int last = s->cols, end = last;

	while (end > 0 && now[end - 1] == was[end - 1])
		end--;
	while (last > 0 && now[last - 1] == ' ')
		last--;
	for (int x = 0; x < end; x++) {
		if (now[x] == was[x] || (now[x] & CELL_CHAR) == TAIL)
			continue;
		move(s, b, at, row, x);
		if (x >= last && end - x > 3) {
			set_style(b, at, 0);
			put_z(b, "\033[K");
			return;
		}
		set_style(b, at, (u8)(now[x] >> CELL_STYLE));
		put_glyph(s, b, at, &now[x]);
	}
}

/* Writes the escape sequences that make the terminal show the grid: only cells that have changed
 * since the last frame, or all cells if s->known is false. */
void screen_frame(struct screen *s, struct buf *b)
{
	struct pen at = { UNKNOWN, UNKNOWN, 0 };

	if (!s->known)
		put_z(b, "\033[m\033[2J");
	for (int y = 0; y < s->rows; y++) {
		u32 *was = s->grid[y].was;

		for (int x = 0; x < s->cols && !s->known; x++)
			was[x] = ' ';
		row_diff(s, b, &at, y);
		memcpy(was, cell_at(s, y, 0), s->cols * sizeof(*was));
	}
	set_style(b, &at, 0);
	s->known = true;
}

/* --- keys ------------------------------------------------------------------------------------- */

/* state of the key parser after the bytes ESC [ [ */
enum { KS_GROUND, KS_ESC, KS_CSI, KS_PARAMS, KS_SS3, KS_LINUX };

/* Returns the key of the escape sequence CSI n ~, as in DEC terminals and xterm; 0 if n is
 * unknown. */
static u16 key_numbered(u8 n)
{
	/* element n: the key of the escape sequence CSI n ~, stored as K(key) to fit in a byte; 0:
	 * no key */
	static const u8 keys[] = {
#define K(key) ((key) - KEY_FIRST + 1)
		[1] = K(KEY_HOME), [4] = K(KEY_END), K(KEY_PGUP), K(KEY_PGDN), K(KEY_HOME),
		K(KEY_END),
		[11] = K(KEY_F1), K(KEY_F2), K(KEY_F3), K(KEY_F4), K(KEY_F5),
		[17] = K(KEY_F6), K(KEY_F7), K(KEY_F8), K(KEY_F9), K(KEY_F10),
	};

	return n < LEN(keys) && keys[n] ? (u16)(KEY_FIRST + keys[n] - 1) : 0;
}

static u16 key_final(u8 c)
{
	/* last byte of the escape sequence of each key from KEY_UP to KEY_F4, in the order of enum
	 * key; \1: the sequence of the key ends in '~', see key_numbered() */
	static const char letters[] = "ABCD" "H" "F" "\1\1" "PQRS";
	const char *p = c >= 'A' ? strchr(letters, c) : NULL;

	return p ? (u16)(KEY_FIRST + (p - letters)) : 0;
}

/* Parses one byte of input from the terminal. Returns the key that is complete with this byte: the
 * byte itself or a value of enum key. Returns 0 if an escape sequence is not complete, or is
 * unknown. */
u16 key_feed(struct keys *k, u8 c)
{
	u8 state = k->state;

	if (c == KEY_ESC) {
		k->state = KS_ESC;
		return state == KS_ESC ? KEY_ESC : 0;
	}
	k->state = KS_GROUND;
	switch (state) {
	case KS_GROUND:
		return c;
	case KS_ESC:
		k->n = 0;
		k->more = false;
		k->state = c == '[' ? KS_CSI : c == 'O' ? KS_SS3 : KS_GROUND;
		return 0;
	case KS_CSI: case KS_PARAMS:
		if (c == '[' && state == KS_CSI) {
			k->state = KS_LINUX;
			return 0;
		}
		if (c < 0x20 || c >= 0x40)
			return c == '~' ? key_numbered(k->n) : key_final(c);
		k->state = KS_PARAMS;
		k->more |= (u8)(c - '0') > 9;
		if (!k->more)
			k->n = k->n > 24 ? 255 : (u8)(10 * k->n + c - '0');
		return 0;
	case KS_SS3:
		return key_final(c);
	default: /* state KS_LINUX: function keys of the Linux console */
		return c >= 'A' && c <= 'E' ? (u16)(KEY_F1 + c - 'A') : 0;
	}
}

/* Ends an incomplete escape sequence. Called when no byte has come for a while. Returns KEY_ESC if
 * the sequence was only the byte Esc; otherwise 0. */
u16 key_timeout(struct keys *k)
{
	u8 state = k->state;

	k->state = KS_GROUND;
	return state == KS_ESC ? KEY_ESC : 0;
}
