/* summary.c - min, avg and max of the values of records (options -S and --inner). Pure: no
 * system calls. SPDX-License-Identifier: MIT */
#include "counters.h"
#include "views/views.h"
#include "sources/os/os.h"

/* SLOTS: number of slots of the hash index. MAX_STATS: maximum number of rows (of stats[]), 3/4 of
 * the slots, because a fuller index is slow. */
enum { SLOTS = 1 << 16, MAX_STATS = 3 << 14 };

struct stat_row {
	u32 serial; /* serial number of the device, client or process that has the value */
	const struct column *col;
	const char *inst;
	i64 min, max, sum, n;
};

static struct {
	/* array: each row has the sum, minimum and maximum of one field's values; index 0 is not
	 * used */
	struct stat_row *stats;
	/* hash index: each slot has the index in stats[] of the row of a field, or 0 if the slot is
	 * free */
	u16 *rows;
	size_t nstats;
} sums;
static struct {
	struct table stats, rows;
} sums_tables = {
	.stats = TABLE_ROW(sums.stats, MAX_STATS + 1, 73, "values summed up"),
	.rows = TABLE_ROW(sums.rows, SLOTS, SLOTS, "index of values summed up"),
};

/* Removes all values that were added, to begin a new interval. */
void summary_reset(void)
{
	if (sums.nstats)
		memset(sums.rows, 0, SLOTS * sizeof(*sums.rows));
	sums.nstats = 0;
}

/* True if values of the column have a meaningful mean: momentary values have one, totals and
 * identifiers do not. */
static bool has_mean(const struct column *c)
{
	return (c->unit != U_NONE || c->when & W_TABLE) && !(c->when & (W_ID | W_TOTAL));
}

/* The largest values that are measured are sizes of memory: 2^52 bytes. */
static bool is_measured(const struct field *f)
{
	return f->v.type == V_INT && f->v.n <= UINT64_C(1) << 52 && has_mean(f->col);
}

/* Returns the slot of the hash index for a field of entity e: the slot that has the field's row, or
 * a free slot if the field has no row yet. */
static u16 *slot_find(const struct entity *e, const struct field *f)
{
	size_t h = e->serial * (size_t)2654435761u + (size_t)(f->col - columns) * 131 +
		(size_t)(uintptr_t)f->inst.p;

	for (;; h++) {
		u16 *i = &sums.rows[h % SLOTS];

		if (!*i || (sums.stats[*i].serial == e->serial && sums.stats[*i].col == f->col &&
			    sums.stats[*i].inst == f->inst.p))
			return i;
	}
}

/* Adds the values of a record to the sums, minima and maxima of their rows. */
void summary_add(const struct record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		struct stat_row *s;
		u16 *slot;
		i64 v;

		if (!is_measured(f))
			continue;
		v = f->v.neg ? -(i64)f->v.n : (i64)f->v.n;
		if (!table_has(&sums_tables.rows, SLOTS - 1) ||
		    (!*(slot = slot_find(r->e, f)) &&
		     !table_has(&sums_tables.stats, sums.nstats + 1))) {
			registry.dropped++;
			continue;
		}
		if (!*slot) {
			*slot = (u16)++sums.nstats;
			sums.stats[sums.nstats] = (struct stat_row){
				.serial = r->e->serial, .col = f->col,
							   .inst = f->inst.p, .min = v, .max = v };
		}
		s = &sums.stats[*slot];
		s->min = v < s->min ? v : s->min;
		s->max = v > s->max ? v : s->max;
		s->sum += v;
		s->n++;
		/* The sum could overflow after a thousand of the largest values. Half of the sum
		 * and half of the number of values have the same mean. */
		if (s->n % 2 == 0 && (s->sum > INT64_MAX / 2 || s->sum < INT64_MIN / 2)) {
			s->sum /= 2;
			s->n /= 2;
		}
	}
}

/* Replaces each value of a record with the minimum, mean or maximum of its values since
 * summary_reset(). which: "min", "avg" or "max". */
void summary_apply(struct record *r, const char *which)
{
	for (size_t i = 0; i < r->n; i++) {
		struct field *f = &r->f[i];
		const struct stat_row *s;
		u16 row = sums.nstats ? *slot_find(r->e, f) : 0;
		i64 v;

		if (!row) {
			/* A total has no mean, and its value in this record is only the most recent
			 * one: the field becomes null. */
			if (f->v.type == V_INT && (has_mean(f->col) || f->col->when & W_TOTAL))
				f->v = (struct val){ 0 };
			continue;
		}
		s = &sums.stats[row];
		v = strcmp(which, "min") == 0 ? s->min :
		    strcmp(which, "max") == 0 ? s->max : s->sum / s->n;
		f->v = (struct val){ .type = V_INT, .unit = f->col->unit, .neg = v < 0,
				     .n = (u64)(v < 0 ? -v : v) };
	}
}
