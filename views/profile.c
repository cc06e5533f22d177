/* profile.c - samples summed up: by comm, by symbol, by address, by stack. Pure: nothing here writes.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"

enum {
	MAX_COMMS = 4096,     /* names of tasks: threads of a pool are often numbered */
	MAX_PSYMBOLS = 16384, /* functions that were hit: 20 s of a compiler hit 4500 */
	MAX_IPS = 131072,     /* the same: at 10 kHz, 74 000 */
	MAX_STACKS = 16384,
	MAX_PTEXT = 4 << 20,  /* comms, and 16 384 stacks of 250 bytes */
	PBUCKETS = 65536,
};

static struct row {
	struct profrow r;
	u32 next, hash;
} comms[MAX_COMMS], symbols[MAX_PSYMBOLS], ips[MAX_IPS], stacks[MAX_STACKS];

static u32 buckets[PROF_TABLES][PBUCKETS]; /* row + 1 */

static struct table {
	struct row *rows;
	u32 cap, n;
	bool copy; /* the name does not last by itself */
} tables[PROF_TABLES] = {
	[PROF_COMM] = { .rows = comms, .cap = MAX_COMMS, .copy = true },
	[PROF_SYMBOL] = { .rows = symbols, .cap = MAX_PSYMBOLS },
	[PROF_IP] = { .rows = ips, .cap = MAX_IPS },
	[PROF_STACK] = { .rows = stacks, .cap = MAX_STACKS, .copy = true },
};

static char text[MAX_PTEXT];
static size_t text_n;
static u32 order[MAX_STACKS > MAX_IPS ? MAX_STACKS : MAX_IPS];

u64 profile_samples[PROF_TABLES], profile_period[PROF_TABLES];
u64 profile_dropped;

static u32 *bucket_of(const struct table *t, u32 hash)
{
	return &buckets[t - tables][hash % PBUCKETS];
}

static struct row *row_find(const struct table *t, const struct profrow *r, u32 hash)
{
	for (u32 i = *bucket_of(t, hash); i; i = t->rows[i - 1].next) {
		struct row *x = &t->rows[i - 1];

		if (x->hash == hash && x->r.ip == r->ip && str_eq(x->r.name, r->name) && str_eq(x->r.module, r->module))
			return x;
	}
	return NULL;
}

static struct row *row_add(struct table *t, const struct profrow *r, u32 hash)
{
	struct row *x = &t->rows[t->n];
	size_t n = t->copy ? str_len(r->name) : 0;

	if (t->n == t->cap || n > MAX_PTEXT - text_n)
		return NULL;
	*x = (struct row){ .r = { .name = r->name, .module = r->module, .ip = r->ip },
			   .next = *bucket_of(t, hash), .hash = hash };
	if (n) {
		x->r.name = (struct str){ text + text_n, text + text_n + n };
		memcpy(text + text_n, r->name.p, n);
		text_n += n;
	}
	*bucket_of(t, hash) = ++t->n;
	return x;
}

/* Adds samples to the row of that name, module and address. A comm and a stack are copied; the names of
 * symbols and modules have to last. */
void profile_add(u8 table, const struct profrow *r)
{
	struct table *t = &tables[table];
	u32 hash = hash_more(hash_more(HASH_BEGIN ^ (u32)(r->ip ^ r->ip >> 32), r->name), r->module);
	struct row *x;

	profile_samples[table] += r->samples;
	profile_period[table] += r->period;
	x = row_find(t, r, hash);
	if (!x)
		x = row_add(t, r, hash);
	if (!x) {
		profile_dropped += r->samples;
		return;
	}
	x->r.samples += r->samples;
	x->r.period += r->period;
}

/* Stacks by name, as stackcollapse-perf.pl sorts them; all else by weight. */
static int row_cmp(const struct table *t, u32 a, u32 b)
{
	const struct profrow *x = &t->rows[a].r, *y = &t->rows[b].r;
	int c;

	if (t->rows != stacks) {
		if (x->period != y->period)
			return x->period > y->period ? -1 : 1;
		if (x->samples != y->samples)
			return x->samples > y->samples ? -1 : 1;
	}
	c = str_cmp(x->name, y->name);
	if (!c)
		c = str_cmp(x->module, y->module);
	return c ? c : (x->ip > y->ip) - (x->ip < y->ip);
}

/* Puts a table in order; how many rows it has. Until the next call profile_row() gives them. */
size_t profile_sort(u8 table)
{
	const struct table *t = &tables[table];
	u32 gap = 1;

	for (u32 i = 0; i < t->n; i++)
		order[i] = i;
	while (gap < t->n / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3) /* Shell's sort, Knuth's steps: n^1.5 at worst, as in symbols.c */
		for (u32 i = gap; i < t->n; i++) {
			u32 x = order[i], at = i;

			for (; at >= gap && row_cmp(t, order[at - gap], x) > 0; at -= gap)
				order[at] = order[at - gap];
			order[at] = x;
		}
	return t->n;
}

const struct profrow *profile_row(u8 table, size_t i)
{
	return &tables[table].rows[order[i]].r;
}

/* --- folded stacks: frames from the outermost, divided by semicolons, a blank and a count -------------- */

static void put_frame(struct buf *b, struct str s, bool blanks)
{
	while (s.p < s.e) {
		struct str part = s;

		while (s.p < s.e && *s.p != ';' && (blanks || *s.p != ' '))
			s.p++;
		part.e = s.p;
		put_text(b, part);
		if (s.p < s.e)
			put_c(b, *s.p++ == ';' ? ':' : '_');
	}
}

/* As stackcollapse-perf.pl writes it: blanks of the name become underscores. */
void folded_comm(struct buf *b, struct str comm)
{
	put_frame(b, comm, false);
}

/* One frame further in. As stackcollapse-perf.pl --kernel: what has no symbol is its module in brackets,
 * and the kernel's end in _[k]. */
void folded_frame(struct buf *b, struct str symbol, struct str module, u8 mode)
{
	struct str s = str_base(module);

	put_c(b, ';');
	if (symbol.p < symbol.e) {
		put_frame(b, symbol, true);
	} else if (s.p < s.e && *s.p == '[') {
		put_frame(b, s, true);
	} else {
		put_c(b, '[');
		if (s.p < s.e)
			put_frame(b, s, true);
		else
			put_z(b, "unknown");
		put_c(b, ']');
	}
	if (mode == PM_KERNEL || mode == PM_GUEST_KERNEL)
		put_z(b, "_[k]");
}

void folded_row(struct buf *b, const struct profrow *r)
{
	put_str(b, r->name);
	put_c(b, ' ');
	put_u64(b, r->samples);
	put_c(b, '\n');
}
