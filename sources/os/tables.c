/* tables.c - tables that grow. The rows of a table are in address space that is set aside for it at
 * its first use. They become writable in steps as rows are used: RLIMIT_DATA and overcommit mode 2
 * count only writable memory, and memory cgroups count it only once it is touched. Rows never move.
 * SPDX-License-Identifier: MIT */
#include "sources/os/os.h"
#include "sys.h"

#ifndef ARENA_BYTES
/* size in bytes of the arena, the reserved address space for all tables: twice the maximum size of
 * all tables together */
#define ARENA_BYTES ((size_t)512 << 20)
#endif

enum {
	/* smallest size in bytes of the arena, the reserved address space for all tables: if no
	 * such range can be reserved, tables have no rows */
	ARENA_MIN = 512 << 10,
	PAGE_MIN = 4096,
	/* a table that is used for the first time gets at most 1/SHARE of the rest of the arena, so
	 * that even in a small arena all tables have room */
	SHARE = 8,
};

bool tables_short;

static struct {
	char *arena;
	size_t arena_left;
	/* true after the first attempt to reserve the arena, even if it has failed */
	bool reserved;
	/* the tables that were used so far; a command of gpustat uses fewer than 96 */
	struct table *used[96];
	u32 nused;
} space;

/* Reserves the arena, the address space of all tables, once. If address space is limited
 * (RLIMIT_AS), half of the free address space is left for ring buffers and mapped files. */
void tables_reserve(void)
{
	size_t n = ARENA_BYTES;

	if (space.reserved)
		return;
	space.reserved = true;
	while (!(space.arena = sys_reserve(n)) && n / 4 >= ARENA_MIN)
		n /= 4;
	if (space.arena && n < ARENA_BYTES) {
		n /= 2;
		sys_munmap(space.arena + n, n);
	}
	space.arena_left = space.arena ? n : 0;
}

/* Makes the first `bytes` bytes of a table's rows writable, rounded up to pages, but not more than
 * t->most rows need. Sets t->ready, the number of usable rows. False if the kernel has no memory
 * for them. */
static bool table_commit(struct table *t, char *rows, size_t bytes)
{
	size_t all = (size_t)t->most * t->size;

	bytes = ((bytes < all ? bytes : all) + PAGE_MIN - 1) & ~(size_t)(PAGE_MIN - 1);
	if (!bytes || sys_commit(rows, bytes) < 0)
		return false;
	t->ready = (u32)(bytes < all ? bytes / t->size : t->most);
	return true;
}

/* Reserves address space for a table at its first use, and makes `bytes` bytes of it writable, or,
 * if that is less or fails, those of the first growth step. Without address space or memory, the
 * table has no rows from then on. The owner's pointer to the rows is not changed then, because it
 * may point to a static row 0. The table is added to used[] in every case. */
static void table_begin(struct table *t, size_t bytes)
{
	size_t first = (size_t)t->first * PAGE_MIN, want = (size_t)t->most * t->size;
	size_t share, page = sys_page_size();
	char *rows;

	if (t->begun)
		return;
	t->begun = true;
	if (space.nused < LEN(space.used))
		space.used[space.nused++] = t;
	tables_reserve();
	share = space.arena_left / SHARE;
	share = share > first ? share : first;
	want = want < share ? want : share;
	want = (want + page - 1) & -page; /* each table begins on a new page */
	want = want <= space.arena_left ? want : 0;
	space.arena_left -= want;
	rows = space.arena + space.arena_left;
	if (want / t->size < t->most) {
		t->most = (u32)(want / t->size);
		t->cut = 1;
	}
	if ((bytes > first && table_commit(t, rows, bytes)) || table_commit(t, rows, first)) {
		memcpy(t->rows, &rows, sizeof(rows));
	} else {
		t->most = 0;
		tables_short = true;
	}
}

static char *table_rows(const struct table *t)
{
	char *rows;

	memcpy(&rows, t->rows, sizeof(rows));
	return rows;
}

/* Makes the first `rows` rows of a table usable. If the table cannot have so many rows, or no
 * memory is left, increases t->dropped and returns false. */
static bool table_grow(struct table *t, size_t rows)
{
	size_t step;

	table_begin(t, rows * t->size);
	step = ((size_t)t->ready + t->ready / 2) * t->size;
	if (rows <= t->ready ||
	    (rows <= t->most && ((step > rows * t->size && table_commit(t, table_rows(t), step)) ||
				 table_commit(t, table_rows(t), rows * t->size))))
		return true;
	tables_short |= t->cut || rows <= t->most;
	t->dropped++;
	return false;
}

bool table_has(struct table *t, size_t row)
{
	return row < t->ready || table_grow(t, row + 1);
}

size_t table_all(struct table *t)
{
	table_begin(t, (size_t)t->most * t->size);
	for (size_t bytes = (size_t)t->most * t->size;
	     t->ready < t->most && bytes > (size_t)t->ready * t->size; bytes /= 2) {
		if (table_commit(t, table_rows(t), bytes))
			break;
		tables_short = true;
	}
	return t->ready;
}

struct buf table_buf(struct table *t)
{
	size_t n = table_all(t);

	return (struct buf){ .p = table_rows(t), .cap = n };
}

const struct table *table_full(u32 *dropped)
{
	u32 i = space.nused;

	while (i && !space.used[i - 1]->dropped)
		i--;
	if (!i)
		return NULL;
	*dropped = space.used[i - 1]->dropped;
	space.used[i - 1]->dropped = 0;
	return space.used[i - 1];
}
