/* oametrics_basic.c - sources/oa/oametrics.c: the built-in sets, their counters, configs and
 * registers: every row of the tables. There is no input, so there is one path.
 * eva: parse.c perfstream.c -eva-precision 0 -warn-special-float none -eva-slevel 100000
 * SPDX-License-Identifier: MIT */
#include "eva.h"
#include "../../sources/oa/oametrics.c"
#include "../../sources/oa/oabasic.c"

int main(void)
{
	struct oafile f = { { 0 }, OM_BASIC };
	struct str at = { 0 };
	struct oaset s;
	size_t sets = 0;

	for (; oaset_next(&f, &at, &s); sets++) {
		struct str in = { 0 };
		struct oadef def;
		struct config c;
		u32 reg[2] = { 0 };

		while (oadef_next(&s, &in, &def))
			;
		in = (struct str){ 0 };
		while (config_next(&s, &in, &c))
			while (register_next(OM_BASIC, &c.list, reg) > 0)
				;
	}
	//@ assert sets == noafamilies;
	return sets != noafamilies;
}
