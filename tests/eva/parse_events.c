/* parse_events.c - parse.c: perf events as users write them, and the sysfs files that describe
 * them.
 * A field for format_put() is a result of parse_format(): its config is below MAX_CONFIGS, its bits
 * are below 64.
 * eva: parse.c -eva-precision 2 -eva-unroll-recursive-calls 2 -eva-domains cvalue,equality
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char text[TEXT_CAP], words[4096];
static struct cpuset cpus;

static void formats(struct str s)
{
	struct evformat f;
	u64 configs[MAX_CONFIGS];

	any_bytes(configs, sizeof(configs));
	if (parse_format(s, &f)) {
		format_max(&f);
		format_put(&f, any(), configs);
	}
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct str s = ANY_IN(text), pattern = ANY_IN(words), three[3];
		struct evlist list = { .rest = s }, terms = { .rest = s };
		struct evitem ev;
		struct evterm term;
		u64 v;
		u32 type;
		u16 mods;
		u8 precise, point;

		scan_num(s, &v);
		scan_mods(s, &mods, &precise);
		parse_raw(s, any_bool(), &v);
		parse_evname(s, &type, &v);
		cache_name(any(), three);
		while (again() && evlist_next(&list, &ev))
			;
		while (again() && evterm_next(&terms, &term))
			;
		formats(s);
		parse_cpulist(s, &cpus);
		parse_scale(s, &v, &point);
		pmu_match(pattern, s);
	}
	return 0;
}
