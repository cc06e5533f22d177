/* parse_fdinfo.c - parse.c: fdinfo files, whose content processes and drivers choose.
 * eva: parse.c -eva-precision 2 -eva-unroll-recursive-calls 2
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char text[TEXT_CAP];

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct str s = ANY_IN(text);
		struct fdhead h;
		struct fdline l;
		bool old = any_bool();

		fdinfo_head(s, &h);
		while (again() && fdinfo_next(&s, old, &l))
			;
	}
	return 0;
}
