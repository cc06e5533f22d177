/* t_tables.c - unit test of sources/os/tables.c: steps of growth, limits, and shares of an arena
 * of 4 MiB until it is full. SPDX-License-Identifier: MIT */
#define ARENA_BYTES ((size_t)4 << 20)
#include "../../sources/os/tables.c"

#include "tests/unit.h"

struct pair {
	u64 a, b; /* 16 bytes: 256 rows in a page of 4 KiB */
};

static TABLE(struct pair, pairs, 1000, 10, "pairs");
static TABLE(char, bytes, 5000, 1, "bytes");
static TABLE(struct pair, huge, 1 << 20, 1, "huge");
enum { LARGE = 255 * 256 }; /* rows of 255 pages, more than a share */
static TABLE(struct pair, large, 1 << 20, LARGE, "large");
static TABLE(struct pair, large2, 1 << 20, LARGE, "large2");
static TABLE(struct pair, large3, 1 << 20, LARGE, "large3");
static TABLE(struct pair, late, 1 << 20, LARGE, "late");

static void t_steps(void)
{
	struct pair *rows;

	check(!pairs.rows && !pairs.t.begun, "before its first use a table has no rows");
	check(table_has(&pairs.t, 0), "the first row of a table is ready after table_has()");
	rows = pairs.rows;
	check_u64(pairs.t.ready, 256, "the first step is one page, if 10 rows are asked for");
	check(rows[255].a == 0 && rows[255].b == 0, "new rows are zero");
	rows[255].b = 7;
	check(table_has(&pairs.t, 255) && pairs.t.ready == 256,
	      "a request for the last ready row does not grow the table");
	check(table_has(&pairs.t, 256),
	      "a request for the row after the last ready one grows the table");
	check_u64(pairs.t.ready, 512, "the second step adds half, in whole pages");
	check(pairs.rows == rows && rows[255].b == 7 && rows[511].b == 0,
	      "growth does not move the rows of a table");
	check(table_has(&pairs.t, 999), "the last row of a table is ready after table_has()");
	check_u64(pairs.t.ready, 1000, "a table grows to its maximum of 1000 rows, and no further");
}

static void t_full(void)
{
	const struct table *t;
	u32 dropped = 0;

	check(table_full(&dropped) == NULL, "no table has dropped a row");
	check(!table_has(&pairs.t, 1000) && !table_has(&pairs.t, 1000),
	      "table_has() refuses row 1000 of a table of 1000 rows");
	check(!tables_short, "a full table does not set tables_short");
	t = table_full(&dropped);
	check(t == &pairs.t && dropped == 2,
	      "table_full() returns the full table and 2 dropped rows");
	check(table_full(&dropped) == NULL, "table_full() returns each table only once");
}

static void t_all(void)
{
	struct buf b = table_buf(&bytes.t);

	check(b.p == bytes.rows && b.p && b.n == 0 && !b.full,
	      "table_buf() returns an empty buffer");
	check_u64(b.cap, 5000, "table_buf() has room for all rows");
	check_u64(bytes.t.ready, 5000, "all rows of table_buf() are ready");
	b.p[4999] = 'x';
	check_u64(table_all(&bytes.t), 5000,
	          "table_all() of a table that is ready returns its number of rows");
	check(bytes.rows[4999] == 'x', "table_all() does not clear rows that are ready");
}

/* The earlier tables took 16 KiB and 8 KiB of 4 MiB, or a page of 64 KiB each: an eighth of the
 * rest, in whole pages, is 512 KiB in both cases. */
static void t_share(void)
{
	u32 dropped;

	check(table_has(&huge.t, 0) && huge.t.cut, "a table of 16 MiB is cut");
	check_u64(huge.t.most, 32768, "the share of a table of 16 MiB is 512 KiB");
	check(table_has(&huge.t, 32767) && !tables_short, "the last row of the share is ready");
	check(!table_has(&huge.t, 32768) && tables_short,
	      "the row after the share is refused, and tables_short is set");
	check(table_full(&dropped) == &huge.t && dropped == 1,
	      "table_full() returns the cut table and 1 dropped row");
	tables_short = false;
}

/* A first step of 255 pages is more than a share: three of them fit into the rest of 3.5 MiB. */
static void t_exhausted(void)
{
	struct pair zero[1] = { { 0, 0 } };
	u32 dropped;

	check(table_has(&large.t, 0) && table_has(&large2.t, 0) && table_has(&large3.t, LARGE - 1),
	      "a table whose first step is larger than its share becomes ready");
	check_u64(large.t.ready, LARGE, "all 255 pages of that first step are ready");
	check(!tables_short, "the arena had room for these tables: tables_short is not set");
	late.rows = zero;
	check(!table_has(&late.t, 0) && tables_short,
	      "a table that finds no address space is refused, and tables_short is set");
	check(late.rows == zero && late.t.most == 0 && late.t.ready == 0,
	      "a table that finds no address space keeps its pointer to the rows");
	check_u64(table_all(&late.t), 0, "table_all() of a table without address space returns 0");
	check(table_full(&dropped) == &late.t && dropped == 1,
	      "table_full() returns the table without address space and 1 dropped row");
}

int main(void)
{
	t_steps();
	t_full();
	t_all();
	t_share();
	t_exhausted();
	return unit_end();
}
