/* t_oapacks.c - unit test of sources/oa/oapacks.c: the sets of the built-in pack and their
 * counters, and no byte is unused; without the public files. t_oametrics.c compares the pack
 * with these files. SPDX-License-Identifier: MIT */
#include "../../sources/oa/oapacks.c"

#include "tests/unit.h"

static struct str cut; /* the pack without its end */

/* Returns the number of sets of a pack, and the counters of the last one. */
static u32 sets_of(const struct oafile *f, u32 *counters)
{
	struct str at = { 0 };
	struct oaset s;
	u32 n = 0;

	while (oaset_next(f, &at, &s)) {
		struct str c = { 0 };
		struct oadef d;

		for (*counters = 0; oadef_next(&s, &c, &d); ++*counters)
			if (!str_len(d.name) || !str_len(d.equation))
				return 0;
		if (!s.guid[0] || !str_len(s.chipset) ||
		    (!str_is(s.name, "RenderBasic") && !str_is(s.name, "ComputeBasic")))
			return 0;
		n++;
	}
	return n;
}

int main(void)
{
	struct oafile f;
	u32 counters = 0, n = sets_of(&oapack, &counters);

	/* 22 platforms of i915 and 14 of xe, of which 7 are the same; each has both sets, but Xe_HPG
	 * has no ComputeBasic, and Ponte Vecchio no RenderBasic. */
	check_u64(n, 2 * (22 + 14 - 7) - 3 - 1,
	          "built-in pack: each set has its name, GPU, guid and counters");
	check(counters > 10, "built-in pack: the last set has %u counters", counters);
	check(oapack.origin == OM_PACK && oafile_detect(&f, oapack.text) && f.origin == OM_PACK,
	      "the built-in pack is recognized as a pack");
	for (size_t i = 1; i < 4; i++) {
		cut = edge_str(oapack.text.p, str_len(oapack.text) - i);
		check(!oafile_detect(&f, cut) || sets_of(&f, &counters) < n,
		      "built-in pack without its last %zu bytes: a set is missing", i);
	}
	return unit_end();
}
