/* tables.c - memory by need. A table's rows lie in address space that is reserved when the table is first used, and become
 * writable in steps as rows are used: that is what RLIMIT_DATA, overcommit mode 2 and (once touched) memory cgroups count.
 * Rows never move. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#ifndef ARENA_BYTES
#define ARENA_BYTES ((size_t)512 << 20) /* twice what all tables of all commands can hold */
#endif

enum {
	ARENA_LEAST = 512 << 10,  /* the floor: with less than this much free address space, every table is full at once */
	PAGE_LEAST = 4096,
	SHARE = 8,              /* a table gets at most 1/8 of what is left, so that a short arena serves every table */
};

static char *arena;
static size_t arena_left;
static bool reserved; /* or tried to */
static struct table *used[96]; /* the tables that have begun; no command uses as many */
static u32 nused;
bool tables_short;

/* Where address space is limited (RLIMIT_AS), half of the free space is left to others: rings, mapped files. */
void tables_reserve(void)
{
	size_t n = ARENA_BYTES;

	if (reserved)
		return;
	reserved = true;
	while (!(arena = sys_reserve(n)) && n / 4 >= ARENA_LEAST)
		n /= 4;
	if (arena && n < ARENA_BYTES) {
		n /= 2;
		sys_munmap(arena + n, n);
	}
	arena_left = arena ? n : 0;
}

/* Makes so many bytes of a table writable. */
static bool table_commit(struct table *t, char *rows, size_t bytes)
{
	size_t all = (size_t)t->most * t->size;

	bytes = ((bytes < all ? bytes : all) + PAGE_LEAST - 1) & ~(size_t)(PAGE_LEAST - 1);
	if (!bytes || sys_commit(rows, bytes) < 0)
		return false;
	t->ready = (u32)(bytes < all ? bytes / t->size : t->most);
	return true;
}

/* Gives a table its address space, once, and so many bytes or its first step of memory. Without any it has no row from then on,
 * and the owner's pointer stays what it was: row 0 may be read there. It is one of those that were used all the same. */
static void table_begin(struct table *t, size_t bytes)
{
	size_t first = (size_t)t->first * PAGE_LEAST, want = (size_t)t->most * t->size, share, page = sys_page();
	char *rows;

	if (t->begun)
		return;
	t->begun = true;
	if (nused < LEN(used))
		used[nused++] = t;
	tables_reserve();
	share = arena_left / SHARE;
	share = share > first ? share : first;
	want = want < share ? want : share;
	want = (want + page - 1) & -page; /* tables begin on a page of their own */
	want = want <= arena_left ? want : 0;
	arena_left -= want;
	rows = arena + arena_left;
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

static char *rows_of(const struct table *t)
{
	char *rows;

	memcpy(&rows, t->rows, sizeof(rows));
	return rows;
}

/* Whether so many rows can be used from now on. */
static bool table_grow(struct table *t, size_t rows)
{
	size_t step;

	table_begin(t, rows * t->size);
	step = ((size_t)t->ready + t->ready / 2) * t->size;
	if (rows <= t->ready || (rows <= t->most && ((step > rows * t->size && table_commit(t, rows_of(t), step)) ||
						     table_commit(t, rows_of(t), rows * t->size))))
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
	for (size_t bytes = (size_t)t->most * t->size; t->ready < t->most && bytes > (size_t)t->ready * t->size; bytes /= 2) {
		if (table_commit(t, rows_of(t), bytes))
			break;
		tables_short = true;
	}
	return t->ready;
}

struct buf table_buf(struct table *t)
{
	size_t n = table_all(t);

	return (struct buf){ .p = rows_of(t), .cap = n };
}

const struct table *table_full(u32 *dropped)
{
	u32 i = nused;

	while (i && !used[i - 1]->dropped)
		i--;
	if (!i)
		return NULL;
	*dropped = used[i - 1]->dropped;
	used[i - 1]->dropped = 0;
	return used[i - 1];
}
