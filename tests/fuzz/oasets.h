/* oasets.h - shared by the targets of metric sets: a device, and a comparison of two forms of a
 * file. SPDX-License-Identifier: MIT */
#ifndef OASETS_H
#define OASETS_H

#include "fuzz.h"

/* A device whose variables are named a to z. */
bool oavar_find(struct str name, u8 *var, u8 *index)
{
	*index = 0;
	*var = str_len(name) == 1 ? (u8)(*name.p - 'a') : OV_COUNT;
	return *var < OV_COUNT;
}

/* One variable may be unknown. */
bool oavar_value(const struct oadevice *d, u8 var, u8 index, u64 *value)
{
	*value = d->var[var] + index;
	return var || *value;
}

static const u32 mux[][2] = { { 0x9888, 5 } };
const struct oafamily oafamilies[] = { { "gen9", "", "", { mux, NULL, NULL }, { 1, 0, 0 } } };
const size_t noafamilies = 1;
const struct oabasic_row oabasic_rows[] = { { 1, false, 0, 0, "One", "1" } };
const char oabasic_units[][9] = { "" };
const char *const oabasic_max[] = { NULL };
const size_t noabasic_rows = 1;

bool oabasic_expand(struct str word, struct str *rest)
{
	(void)word;
	(void)rest;
	return false;
}


static struct oaprog prog, prog2;
static char why_b[4096];
static u64 sum[OA_SLOTS];

static bool make(struct oaprog *p, const struct oaset *s)
{
	static const struct oadevice d = { .var = { 0, 1, 2, 3, 64, UINT64_MAX, 1000000000 } };
	struct buf why = { .p = why_b, .cap = sizeof(why_b) };

	return oaprog_compile(p, s, &d, &why);
}

static bool same(struct str a, struct str b)
{
	return str_eq(a, b);
}

/* Checks that the programs of the same set are equivalent. */
static void compare(const struct oaset *a, const struct oaset *b)
{
	union oaval v[MAX_OA_COUNTERS], w[MAX_OA_COUNTERS], m = { 0 }, k = { 0 };
	bool made = make(&prog, a);

	must(made == make(&prog2, b) && prog.n == prog2.n && prog.bad == prog2.bad, "both have the same number of counters");
	if (!made)
		return;
	oaprog_eval(&prog, sum, v);
	oaprog_eval(&prog2, sum, w);
	for (u32 i = 0; i < prog.n; i++) {
		must(same(prog.counters[i].name, prog2.counters[i].name) && v[i].u == w[i].u, "both have the same values");
		must(oaprog_max(&prog, i, sum, v, &m) == oaprog_max(&prog2, i, sum, w, &k) && m.u == k.u, "both have the same maxima");
	}
}

static void registers(const struct oaset *s)
{
	static const struct oadevice d = { .var = { 1 } };
	u32 regs[16][2];

	for (u8 type = 0; type < OREGS; type++)
		must(oaset_regs(s, &d, type, regs, LEN(regs)) <= (long)LEN(regs), "registers fit into the buffer");
}

static void run_file(struct oafile *f)
{
	static struct oapacker packer;
	static char pack_b[1 << 20], heap[1 << 20];
	struct buf b = { .p = pack_b, .cap = sizeof(pack_b) }, why = { .p = why_b, .cap = sizeof(why_b) };
	struct str at = { 0 }, at2 = { 0 };
	struct oaset s = { 0 }, s2 = { 0 };
	struct oafile pack;
	bool packs = oapack_make(&packer, BUF(heap), f, 1, &why);

	if (packs) {
		put_n(&b, packer.list.p, packer.list.n);
		put_n(&b, packer.heap.p, packer.heap.n);
		put_n(&b, packer.sets.p, packer.sets.n);
		packs = !b.full;
	}
	must(!packs || oafile_detect(&pack, (struct str){ pack_b, pack_b + b.n }), "a written pack is recognised");
	for (size_t n = 0; oaset_next(f, &at, &s); n++) {
		struct str in = { 0 };
		struct oadef c;

		must(n <= str_len(f->text) && within(s.name, f->text) && within(s.chipset, f->text) && within(s.body, f->text), "a set");
		for (size_t k = 0; oadef_next(&s, &in, &c); k++)
			must(k <= str_len(f->text) && within(c.name, f->text) && within(c.equation, f->text) && within(c.description, f->text),
			     "a counter");
		registers(&s);
		if (!packs)
			make(&prog, &s);
		else if (must(oaset_next(&pack, &at2, &s2), "the pack has each set"), same(s.name, s2.name))
			compare(&s, &s2);
		else
			must(false, "the pack has the same sets");
	}
	must(!packs || !oaset_next(&pack, &at2, &s2), "the pack has no additional set");
}

static void sum_fill(void)
{
	for (size_t i = 0; i < OA_SLOTS; i++)
		sum[i] = i < 9 ? i : UINT64_MAX / i;
}

#endif
