/* summary.c - min, avg and max of what records showed. Pure. SPDX-License-Identifier: MIT */
#include "gpustat.h"

enum { MAX_STATS = 1 << 16, FULL_STATS = 3 << 14 /* a fuller table is slow, a full one has no end */ };

static struct stat_row {
	u32 round;  /* another than the one in hand: a free row */
	u32 serial; /* of its entity */
	const struct column *col;
	const char *inst;
	i64 min, max, sum, n;
} stats[MAX_STATS];

static size_t nstats;
static u32 round_now = 1;

/* What was added so far counts no more. */
void summary_reset(void)
{
	nstats = 0;
	round_now++;
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

/* The row of a field's run; a free one where there is none. */
static struct stat_row *stat_find(const struct entity *e, const struct field *f)
{
	size_t h = e->serial * (size_t)2654435761u + (size_t)(f->col - columns) * 131 + (size_t)(uintptr_t)f->inst.p;
	struct stat_row *s;

	for (;; h++) {
		s = &stats[h % MAX_STATS];
		if (s->round != round_now || (s->serial == e->serial && s->col == f->col && s->inst == f->inst.p))
			return s;
	}
}

/* The fields of one more record. */
void summary_add(const struct record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		struct stat_row *s;
		i64 v;

		if (!is_measured(f))
			continue;
		s = stat_find(r->e, f);
		v = f->v.neg ? -(i64)f->v.n : (i64)f->v.n;
		if (s->round != round_now) {
			if (nstats > FULL_STATS) {
				reg_dropped++;
				continue;
			}
			nstats++;
			*s = (struct stat_row){ .round = round_now, .serial = r->e->serial, .col = f->col, .inst = f->inst.p, .min = v, .max = v };
		}
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
		const struct stat_row *s = stat_find(r->e, f);
		i64 v;

		if (s->round != round_now) {
			/* A total has no mean, and the last value is none either. */
			if (f->v.type == V_INT && (has_mean(f->col) || f->col->when & W_TOTAL))
				f->v = (struct val){ 0 };
			continue;
		}
		v = strcmp(which, "min") == 0 ? s->min : strcmp(which, "max") == 0 ? s->max : s->sum / s->n;
		f->v = (struct val){ .type = V_INT, .unit = f->col->unit, .neg = v < 0, .n = (u64)(v < 0 ? -v : v) };
	}
}
