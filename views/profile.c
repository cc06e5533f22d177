/* profile.c - samples summed up: by comm, by symbol, by address, by stack. Pure: nothing here writes.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"

enum {
	MAX_COMMS = 4096,     /* names of tasks: threads of a pool are often numbered */
	MAX_PSYMBOLS = 16384, /* functions that were hit: 20 s of a compiler hit 4500 */
	MAX_IPS = 131072,     /* the same: at 10 kHz, 74 000 */
	MAX_STACKS = 16384,
	MAX_PTEXT = 4 << 20,  /* comms, and 16 384 stacks of 250 bytes */
};

static struct row {
	struct profrow r;
	u32 hash, next;    /* next: of its bucket; row + 1 */
	u32 bucket, order; /* not of this row, but the i-th bucket and the i-th row in order */
} *rows[PROF_TABLES];
static u32 nrows[PROF_TABLES], nbuckets[PROF_TABLES];

#define SUM(which, most_rows, what) \
	[which] = TABLE_OF(rows[which], sizeof(struct row), most_rows, 128 * sizeof(struct row), what)
static struct table tables[PROF_TABLES] = {
	SUM(PROF_COMM, MAX_COMMS, "comms"),
	SUM(PROF_SYMBOL, MAX_PSYMBOLS, "functions"),
	SUM(PROF_IP, MAX_IPS, "addresses"),
	SUM(PROF_STACK, MAX_STACKS, "stacks"),
};

static char *text;
static TABLE(text, MAX_PTEXT, 4096, "bytes of comms and stacks");
static size_t text_n;

u64 profile_samples[PROF_TABLES], profile_period[PROF_TABLES];
u64 profile_dropped;

void profile_begin(u8 sums)
{
	for (u32 i = 0; i < PROF_TABLES; i++)
		if (sums >> i & 1)
			table_has(&tables[i], 0);
	table_has(&text_table, 0);
}

static struct row *row_find(u8 table, const struct profrow *r, u32 hash)
{
	struct row *all = rows[table];

	for (u32 i = nbuckets[table] ? all[hash % nbuckets[table]].bucket : 0; i; i = all[i - 1].next) {
		struct row *x = &all[i - 1];

		if (x->hash == hash && x->r.ip == r->ip && str_eq(x->r.name, r->name) && str_eq(x->r.module, r->module))
			return x;
	}
	return NULL;
}

static void row_link(u8 table, u32 i)
{
	struct row *all = rows[table];
	u32 *bucket = &all[all[i].hash % nbuckets[table]].bucket;

	all[i].next = *bucket;
	*bucket = i + 1;
}

/* As many buckets as there is room for rows. */
static void buckets_grow(u8 table)
{
	for (u32 i = 0; i < nbuckets[table]; i++)
		rows[table][i].bucket = 0;
	nbuckets[table] = tables[table].ready;
	for (u32 i = 0; i < nrows[table]; i++)
		row_link(table, i);
}

static struct row *row_add(u8 table, const struct profrow *r, u32 hash)
{
	/* The names of others last by themselves. */
	size_t n = table == PROF_COMM || table == PROF_STACK ? str_len(r->name) : 0;
	struct row *x;

	if (!table_has(&tables[table], nrows[table]) || (n && !table_has(&text_table, text_n + n - 1)))
		return NULL;
	if (nbuckets[table] != tables[table].ready)
		buckets_grow(table);
	x = &rows[table][nrows[table]];
	x->r = (struct profrow){ .name = r->name, .module = r->module, .ip = r->ip };
	x->hash = hash;
	if (n) {
		x->r.name = str_of(text + text_n, n);
		memcpy(text + text_n, r->name.p, n);
		text_n += n;
	}
	row_link(table, nrows[table]++);
	return x;
}

/* Adds samples to the row of that name, module and address. A comm and a stack are copied; the names of
 * symbols and modules have to last. */
void profile_add(u8 table, const struct profrow *r)
{
	u32 hash = hash_more(hash_more(HASH_BEGIN ^ (u32)(r->ip ^ r->ip >> 32), r->name), r->module);
	struct row *x;

	profile_samples[table] += r->samples;
	profile_period[table] += r->period;
	x = row_find(table, r, hash);
	if (!x)
		x = row_add(table, r, hash);
	if (!x) {
		profile_dropped += r->samples;
		return;
	}
	x->r.samples += r->samples;
	x->r.period += r->period;
}

/* Stacks by name, as stackcollapse-perf.pl sorts them; all else by weight. */
static int row_cmp(u8 table, u32 a, u32 b)
{
	const struct profrow *x = &rows[table][a].r, *y = &rows[table][b].r;
	int c;

	if (table != PROF_STACK) {
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

/* Puts a table in order; how many rows it has. Until the next profile_add() profile_row() gives them. */
size_t profile_sort(u8 table)
{
	struct row *all = rows[table];
	u32 gap = 1, n = nrows[table];

	for (u32 i = 0; i < n; i++)
		all[i].order = i;
	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3) /* Shell's sort, Knuth's steps: n^1.5 at worst, as in symbols.c */
		for (u32 i = gap; i < n; i++) {
			u32 x = all[i].order, at = i;

			for (; at >= gap && row_cmp(table, all[at - gap].order, x) > 0; at -= gap)
				all[at].order = all[at - gap].order;
			all[at].order = x;
		}
	return n;
}

const struct profrow *profile_row(u8 table, size_t i)
{
	return &rows[table][rows[table][i].order].r;
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
