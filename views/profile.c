/* profile.c - sums samples by comm, by symbol, by address and by stack. Pure: no system calls.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"
#include "views/views.h"
#include "sources/os/os.h"

enum {
	MAX_COMMS = 4096,     /* maximum number of task names; thread pools may name each thread */
	/* maximum number of functions in a profile; a compiler that ran for 20 s had 4500 */
	MAX_PSYMBOLS = 16384,
	/* maximum number of addresses in a profile; sampled at 10 kHz, a compiler had 74 000 */
	MAX_IPS = 131072,
	MAX_STACKS = 16384,
	/* maximum size in bytes of all task names and stacks: 16 384 stacks of 250 bytes */
	MAX_PTEXT = 4 << 20,
};

struct row {
	struct profrow r;
	u32 hash, next; /* next: index, plus 1, of the next row in the same hash bucket; 0: none */
	/* Two arrays of the table, whose elements are stored in its rows: element i is in row i,
	 * but is not about the profile row i. bucket: index, plus 1, of the first row in hash
	 * bucket i; 0: none. order: index of the row at position i after sorting. */
	u32 bucket, order;
};

#define PROFILE_TABLE(which, most_rows, what) \
	[which] = TABLE_OF(prof.rows[which], sizeof(struct row), most_rows, \
			   128 * sizeof(struct row), what)
static struct {
	struct row *rows[PROF_TABLES];
	u32 nrows[PROF_TABLES], nbuckets[PROF_TABLES];
	char *text;
	size_t text_n;
	struct table tables[PROF_TABLES], text_table;
} prof = {
	.tables = {
		PROFILE_TABLE(PROF_COMM, MAX_COMMS, "comms"),
		PROFILE_TABLE(PROF_SYMBOL, MAX_PSYMBOLS, "functions"),
		PROFILE_TABLE(PROF_IP, MAX_IPS, "addresses"),
		PROFILE_TABLE(PROF_STACK, MAX_STACKS, "stacks"),
	},
	.text_table = TABLE_ROW(prof.text, MAX_PTEXT, 4096, "bytes of comms and stacks"),
};

struct profile_sums profile_sums;

void profile_begin(u8 sums)
{
	for (u32 i = 0; i < PROF_TABLES; i++)
		if (sums >> i & 1)
			table_has(&prof.tables[i], 0);
	table_has(&prof.text_table, 0);
}

static struct row *row_find(u8 table, const struct profrow *r, u32 hash)
{
	struct row *all = prof.rows[table];

	for (u32 i = prof.nbuckets[table] ? all[hash % prof.nbuckets[table]].bucket : 0; i;
	     i = all[i - 1].next) {
		struct row *x = &all[i - 1];

		if (x->hash == hash && x->r.ip == r->ip && str_eq(x->r.name, r->name) &&
		    str_eq(x->r.module, r->module))
			return x;
	}
	return NULL;
}

static void row_link(u8 table, u32 i)
{
	struct row *all = prof.rows[table];
	u32 *bucket = &all[all[i].hash % prof.nbuckets[table]].bucket;

	all[i].next = *bucket;
	*bucket = i + 1;
}

/* Sets the number of hash buckets of a table to its number of allocated rows, and puts all rows
 * into the buckets again. */
static void buckets_grow(u8 table)
{
	for (u32 i = 0; i < prof.nbuckets[table]; i++)
		prof.rows[table][i].bucket = 0;
	prof.nbuckets[table] = prof.tables[table].ready;
	for (u32 i = 0; i < prof.nrows[table]; i++)
		row_link(table, i);
}

static struct row *row_add(u8 table, const struct profrow *r, u32 hash)
{
	/* Task names and stacks are copied into prof.text. The names of symbols and modules are not
	 * copied: the caller of profile_add() guarantees that they stay valid. */
	size_t n = table == PROF_COMM || table == PROF_STACK ? str_len(r->name) : 0;
	struct row *x;

	if (!table_has(&prof.tables[table], prof.nrows[table]) ||
	    (n && !table_has(&prof.text_table, prof.text_n + n - 1)))
		return NULL;
	if (prof.nbuckets[table] != prof.tables[table].ready)
		buckets_grow(table);
	x = &prof.rows[table][prof.nrows[table]];
	x->r = (struct profrow){ .name = r->name, .module = r->module, .ip = r->ip };
	x->hash = hash;
	if (n) {
		x->r.name = str_of(prof.text + prof.text_n, n);
		memcpy(prof.text + prof.text_n, r->name.p, n);
		prof.text_n += n;
	}
	row_link(table, prof.nrows[table]++);
	return x;
}

/* Adds one sample with its period to a row that profile_add() has returned. */
void profile_more(u8 table, struct profrow *row, u64 period)
{
	profile_sums.samples[table]++;
	profile_sums.period[table] += period;
	row->samples++;
	row->period += period;
}

/* Adds the samples and periods of r to the row of the table with the same name, module and address.
 * Adds the row if there is none. A comm or stack is copied; the caller guarantees that names of
 * symbols and modules stay valid. Returns the row, which never moves; NULL if the table is full. */
struct profrow *profile_add(u8 table, const struct profrow *r)
{
	u32 hash = hash_more(hash_more(HASH_BEGIN ^ (u32)(r->ip ^ r->ip >> 32), r->name),
			     r->module);
	struct row *x;

	profile_sums.samples[table] += r->samples;
	profile_sums.period[table] += r->period;
	x = row_find(table, r, hash);
	if (!x)
		x = row_add(table, r, hash);
	if (!x) {
		profile_sums.dropped += r->samples;
		return NULL;
	}
	x->r.samples += r->samples;
	x->r.period += r->period;
	return &x->r;
}

/* Compares rows: stacks by name, as stackcollapse-perf.pl sorts them; others by period, then
 * samples. */
static int row_cmp(u8 table, u32 a, u32 b)
{
	const struct profrow *x = &prof.rows[table][a].r, *y = &prof.rows[table][b].r;
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

/* Sorts a table of the profile and returns the number of its rows. profile_row() returns the rows
 * in this order until the next profile_add(). */
size_t profile_sort(u8 table)
{
	struct row *all = prof.rows[table];
	u32 gap = 1, n = prof.nrows[table];

	for (u32 i = 0; i < n; i++)
		all[i].order = i;
	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3) /* Shell sort with Knuth's gaps: O(n^1.5), as in symbols.c */
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
	return &prof.rows[table][prof.rows[table][i].order].r;
}

/* --- folded stacks: frames from outermost to innermost, separated by ';', and a count --------- */

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

/* Writes the name of a task as stackcollapse-perf.pl does: blanks become underscores. */
void folded_comm(struct buf *b, struct str comm)
{
	put_frame(b, comm, false);
}

/* Writes the next frame of a folded stack, as stackcollapse-perf.pl --kernel does: a frame without
 * a symbol is its module in brackets, and frames of the kernel end in _[k]. */
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
