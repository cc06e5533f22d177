/* t_profile.c - sums of samples, folded stacks, full tables.
 * SPDX-License-Identifier: MIT */
#include "../../views/profile.c" /* for its static tables */
#include "unit.h"

#include <time.h>

#define S(lit) ((struct str)STR(lit))

static void forget(void)
{
	for (int t = 0; t < PROF_TABLES; t++) {
		if (prof.rows[t])
			memset(prof.rows[t], 0, prof.tables[t].ready * sizeof(*prof.rows[t]));
		prof.nrows[t] = 0;
		profile_sums.samples[t] = profile_sums.period[t] = 0;
	}
	prof.text_n = 0;
	profile_sums.dropped = 0;
}

static void add(u8 table, const char *name, const char *module, u64 ip, u64 period)
{
	profile_add(table, &(struct profrow){ str_z(name), str_z(module), ip, 1, period });
}

static void t_sums(void)
{
	size_t n;

	add(PROF_SYMBOL, "f", "m", 0, 10);
	add(PROF_SYMBOL, "g", "m", 0, 30);
	add(PROF_SYMBOL, "f", "n", 0, 10);
	add(PROF_SYMBOL, "f", "m", 0, 10);
	add(PROF_SYMBOL, "", "", 0, 20);
	add(PROF_SYMBOL, "a", "m", 0, 20);
	n = profile_sort(PROF_SYMBOL);
	check_u64(n, 5, "each symbol of each module has a row");
	check_str(profile_row(PROF_SYMBOL, 0)->name, "g", "the row with the highest period is first");
	check_str(profile_row(PROF_SYMBOL, 1)->name, "f",
	          "of rows with equal periods, the one with more samples is first");
	check_u64(profile_row(PROF_SYMBOL, 1)->samples, 2, "samples are counted");
	check_u64(profile_row(PROF_SYMBOL, 1)->period, 20, "periods are summed");
	check_str(profile_row(PROF_SYMBOL, 2)->name, "", "other rows are sorted by name: the empty name is first");
	check_str(profile_row(PROF_SYMBOL, 3)->name, "a", "other rows are sorted by name");
	check_u64(profile_sums.period[PROF_SYMBOL], 100, "the sum of all periods");
	check_u64(profile_sums.samples[PROF_SYMBOL], 6, "the number of all samples");
	check_u64(profile_sums.samples[PROF_IP], 0, "another table is not changed");
	for (u64 i = 0; i < 100; i++)
		add(PROF_IP, "f", "m", i % 10, 1);
	check_u64(profile_sort(PROF_IP), 10, "each address has a row");
	check(profile_row(PROF_IP, 9)->ip == 9 && profile_row(PROF_IP, 9)->samples == 10,
	      "addresses with equal periods are in ascending order");
	check_u64(profile_sort(PROF_COMM), 0, "an empty table has no rows");
	forget();
}

/* The table must copy names, because the caller reuses their memory. */
static void t_copies(void)
{
	char b[8] = "abc";

	add(PROF_COMM, b, "", 0, 1);
	add(PROF_STACK, b, "", 0, 1);
	memcpy(b, "xyz", 3);
	add(PROF_COMM, b, "", 0, 2);
	check_u64(profile_sort(PROF_COMM), 2, "command names are copied");
	check_str(profile_row(PROF_COMM, 1)->name, "abc", "the copied name is complete");
	profile_sort(PROF_STACK);
	check_str(profile_row(PROF_STACK, 0)->name, "abc", "stacks are copied");
	forget();
}

static void t_full(void)
{
	static const u8 which[] = { PROF_COMM, PROF_SYMBOL, PROF_IP, PROF_STACK };
	static char name[1 << 20];
	u64 wrong = 0;

	for (size_t k = 0; k < LEN(which); k++) {
		u32 cap = prof.tables[which[k]].most;

		for (u64 i = 0; i < cap + 100; i++)
			add(which[k], "x", "m", i, 1);
		/* all rows are found again after the table has grown */
		for (u64 i = 0; i < cap; i++)
			profile_add(which[k], &(struct profrow){ S("x"), S("m"), i, 0, 0 });
		wrong += profile_sums.dropped != 100 || profile_sort(which[k]) != cap || profile_sums.samples[which[k]] != cap + 100;
		forget();
	}
	check_u64(wrong, 0, "full tables: dropped samples are counted");
	memset(name, 'x', sizeof(name));
	for (size_t i = 0; i < MAX_PTEXT / sizeof(name) + 4; i++)
		profile_add(PROF_STACK, &(struct profrow){ .name = { name, name + sizeof(name) - i }, .samples = 1 });
	check(profile_sums.dropped == 4 && profile_sort(PROF_STACK) == MAX_PTEXT / sizeof(name),
	      "no space for names: dropped samples are counted");
	forget();
}

/* Periods in the worst order for a quicksort. */
static void t_order(void)
{
	const u64 n = 124013;
	clock_t begun = clock();
	u64 wrong = 0;

	for (u64 i = 0; i < n; i++)
		add(PROF_IP, "f", "m", i, i % 2 ? i + 1 : n + i);
	profile_sort(PROF_IP);
	for (size_t i = 1; i < n; i++)
		wrong += profile_row(PROF_IP, i - 1)->period < profile_row(PROF_IP, i)->period;
	check_u64(wrong, 0, "%u rows are sorted by descending period", (unsigned)n);
	check(clock() - begun < 2 * CLOCKS_PER_SEC, "sorting takes less than 2 s in the worst order");
	forget();
}

static void folded(const char *want, struct str comm, struct str symbol, struct str module, u8 mode)
{
	char b[256];
	struct buf s = { .p = b, .cap = sizeof(b) };

	folded_comm(&s, comm);
	folded_frame(&s, symbol, module, mode);
	check_str((struct str){ b, b + s.n }, want, "folded: %s", want);
	for (size_t cap = 0; cap < s.n; cap++) {
		struct buf cut = { .p = edge_page(cap), .cap = cap };

		folded_comm(&cut, comm);
		folded_frame(&cut, symbol, module, mode);
		if (!cut.full)
			check(false, "folded: a buffer of %zu bytes is reported as full", cap);
	}
}

static void t_folded(void)
{
	char b[64];
	struct buf s = { .p = b, .cap = sizeof(b) };

	folded("sh;main", S("sh"), S("main"), S("/bin/sh"), PM_USER);
	folded("a_b_c;do_idle_[k]", S("a b c"), S("do_idle"), S("[kernel.kallsyms]"), PM_KERNEL);
	folded("x;[libc.so.6]", S("x"), S(""), S("/usr/lib/libc.so.6"), PM_USER);
	folded("x;[vdso]", S("x"), S(""), S("[vdso]"), PM_USER);
	folded("x;[kernel.kallsyms]_[k]", S("x"), S(""), S("[kernel.kallsyms]"), PM_KERNEL);
	folded("x;[unknown]", S("x"), S(""), S(""), PM_USER);
	folded("x;[anon]", S("x"), S(""), S("//anon"), PM_USER);
	folded("a:b;f:g<int, 2>", S("a;b"), S("f;g<int, 2>"), S(""), PM_USER);
	folded("a\\x0ab;\\x1b[2J\\xff", S("a\nb"), S("\033[2J\xff"), S(""), PM_USER);
	folded("\\x00;[\\x7f:]", S("\0"), S(""), S("/a/\177;"), PM_USER);
	folded_row(&s, &(struct profrow){ .name = STR("sh;main"), .samples = 18446744073709551615u });
	check_str((struct str){ b, b + s.n }, "sh;main 18446744073709551615\n",
	          "folded: a line with a number of samples");
	add(PROF_STACK, "b;x", "", 0, 100);
	add(PROF_STACK, "a;y", "", 0, 1);
	add(PROF_STACK, "a;x;z", "", 0, 1);
	add(PROF_STACK, "a;x", "", 0, 1);
	profile_sort(PROF_STACK);
	check_str(profile_row(PROF_STACK, 0)->name, "a;x", "stacks are sorted by name");
	check_str(profile_row(PROF_STACK, 1)->name, "a;x;z", "a stack comes before the stacks that begin with it");
	check_str(profile_row(PROF_STACK, 3)->name, "b;x", "the sort order of stacks does not depend on their periods");
	forget();
}

int main(void)
{
	t_sums();
	t_copies();
	t_full();
	t_order();
	t_folded();
	return unit_end();
}
