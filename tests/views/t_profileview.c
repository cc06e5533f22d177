/* t_profileview.c - unit test of views/profileview.c: the screen of sample --live: its columns,
 * narrow and low screens, hostile names. SPDX-License-Identifier: MIT */
#include "../../views/profileview.c"
#include "unit.h"

static struct screen_row grid[SCREEN_ROWS];
static struct screen screen = { .grid = grid };
static char line_bytes[4 * SCREEN_COLS];

/* Returns a line of the screen without the blanks at its end. */
static struct str line(int row)
{
	struct buf b = BUF(line_bytes);

	for (int x = 0; x < screen.cols; x++)
		put_utf8(&b, grid[row].now[x] & 0x1fffff);
	while (b.n && b.p[b.n - 1] == ' ')
		b.n--;
	return str_of(b.p, b.n);
}

static void add(u8 table, const char *name, const char *module, u64 period)
{
	profile_add(table, &(struct profrow){ .name = str_z(name), .module = str_z(module), .ip = period,
					      .samples = 2, .period = period });
}

int main(void)
{
	const struct profhead head = { .event = STR("cycles"), .samples = 8, .lost = 3, .seconds = 12 };
	u8 all = 1 << PROF_COMM | 1 << PROF_SYMBOL | 1 << PROF_IP;

	profile_begin(all);
	screen_size(&screen, 10, 80);
	profile_draw(&screen, &(struct profhead){ .event = STR("e") }, 1 << PROF_SYMBOL, 0);
	check_str(line(0), "0 samples of e, 0 s   q: quit",
	          "head of the screen before the first sample");
	add(PROF_SYMBOL, "main", "/bin/prog", 250);
	add(PROF_SYMBOL, "", "[kernel.kallsyms]", 500);
	add(PROF_SYMBOL, "a\033[31m\xff", "x", 250 - 1);
	add(PROF_SYMBOL, "least", "x", 1);
	profile_draw(&screen, &head, 1 << PROF_SYMBOL, 0);
	check_str(line(0), "8 samples of cycles, 3 lost, 12 s   q: quit",
	          "head of the screen with samples");
	check_str(line(1), "  SHARE    SAMPLES  SYMBOL", "titles of the columns");
	check_str(line(2), " 50.00%          2  [unknown]                         [kernel.kallsyms]",
	          "the symbol with the most samples is first");
	check_str(line(3), " 25.00%          2  main                              prog",
	          "a module is shown without its folder");
	check(!memchr(line(4).p, 033, str_len(line(4))), "a name is shown without control bytes");
	check_str(line(6), "", "rows below the last symbol are empty");
	profile_draw(&screen, &head, 1 << PROF_SYMBOL, 1);
	check_str(line(3), "", "--top 1 shows one row");
	screen_size(&screen, 10, 30);
	profile_draw(&screen, &head, 1 << PROF_SYMBOL, 0);
	check_str(line(3), " 25.00%          2  main", "a narrow screen has no module");
	add(PROF_COMM, "sh", "", 1);
	add(PROF_IP, "f", "m", 0x1234);
	profile_draw(&screen, &head, all, 0);
	check_str(line(1), "  SHARE    SAMPLES  COMM", "three tables: the titles of the first one");
	check_str(line(4), "  SHARE    SAMPLES  SYMBOL",
	          "three tables: the titles of the second one");
	check_str(line(8), "100.00%          2  0x1234",
	          "three tables: the titles of the third one");
	for (size_t rows = 0; rows < 12; rows++)
		for (size_t cols = 0; cols < 70; cols++) {
			screen_size(&screen, rows, cols);
			profile_draw(&screen, &head, all, 0);
		}
	check(true, "screens of any size are drawn inside their borders");
	return unit_end();
}
