/* summary.c - min, avg and max of what records showed. Pure. SPDX-License-Identifier: MIT */
#include "gpustat.h"

enum { PLACES = 1 << 16, MAX_STATS = 3 << 14 /* a fuller index is slow */ };

static struct stat_row {
	u32 serial; /* of its entity */
	const struct column *col;
	const char *inst;
	i64 min, max, sum, n;
} *stats; /* from 1 */
static u16 *rows; /* an index: 0 is a free place */
static TABLE(stats, MAX_STATS + 1, 73, "values summed up");
static TABLE(rows, PLACES, PLACES, "index of values summed up");
static size_t nstats;

/* What was added so far counts no more. */
void summary_reset(void)
{
	if (nstats)
		memset(rows, 0, PLACES * sizeof(*rows));
	nstats = 0;
}

/* What has a mean: figures of now, not totals, of which a million can be added up. */
static bool has_mean(const struct column *c)
{
	return (c->unit != U_NONE || c->when & W_TABLE) && !(c->when & (W_ID | W_TOTAL));
}

static bool is_measured(const struct field *f)
{
	return f->v.type == V_INT && f->v.n <= INT64_MAX / (1 << 20) && has_mean(f->col);
}

/* The place of a field in the index: of its row, or a free one. */
static u16 *place_of(const struct entity *e, const struct field *f)
{
	size_t h = e->serial * (size_t)2654435761u + (size_t)(f->col - columns) * 131 + (size_t)(uintptr_t)f->inst.p;

	for (;; h++) {
		u16 *i = &rows[h % PLACES];

		if (!*i || (stats[*i].serial == e->serial && stats[*i].col == f->col && stats[*i].inst == f->inst.p))
			return i;
	}
}

/* The fields of one more record. */
void summary_add(const struct record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		struct stat_row *s;
		u16 *place;
		i64 v;

		if (!is_measured(f))
			continue;
		v = f->v.neg ? -(i64)f->v.n : (i64)f->v.n;
		if (!table_has(&rows_table, PLACES - 1) || (!*(place = place_of(r->e, f)) && !table_has(&stats_table, nstats + 1))) {
			reg_dropped++;
			continue;
		}
		if (!*place) {
			*place = (u16)++nstats;
			stats[nstats] = (struct stat_row){ .serial = r->e->serial, .col = f->col, .inst = f->inst.p, .min = v, .max = v };
		}
		s = &stats[*place];
		s->min = v < s->min ? v : s->min;
		s->max = v > s->max ? v : s->max;
		s->sum += v;
		s->n++;
	}
}

/* Puts "min", "avg" or "max" of what was added in the place of a record's values. */
void summary_apply(struct record *r, const char *which)
{
	for (size_t i = 0; i < r->n; i++) {
		struct field *f = &r->f[i];
		const struct stat_row *s;
		u16 row = nstats ? *place_of(r->e, f) : 0;
		i64 v;

		if (!row) {
			/* A total has no mean, and the last value is none either. */
			if (f->v.type == V_INT && (has_mean(f->col) || f->col->when & W_TOTAL))
				f->v = (struct val){ 0 };
			continue;
		}
		s = &stats[row];
		v = strcmp(which, "min") == 0 ? s->min : strcmp(which, "max") == 0 ? s->max : s->sum / s->n;
		f->v = (struct val){ .type = V_INT, .unit = f->col->unit, .neg = v < 0, .n = (u64)(v < 0 ? -v : v) };
	}
}
