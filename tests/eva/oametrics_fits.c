/* oametrics_fits.c - sources/oa/oametrics.c: whether a set is for a platform: any platform name,
 * every existing platform.
 * eva: sources/oa/oadevice.c -eva-precision 2 -eva-split-return auto -eva-auto-loop-unroll 26
 * SPDX-License-Identifier: MIT */
#include "text.h"
#include "../../sources/oa/oametrics.c"
#include "../../sources/oa/oabasic.c"

enum { FILE_CAP = 1 << 16 };
static char text[FILE_CAP];

int main(void)
{
	struct oafile f = { ANY_IN(text), (u8)any_to(OM_BASIC) };
	struct oaset s = { .file = &f };

	s.chipset.p = any_place(f.text.p, f.text.e);
	s.chipset.e = any_place(s.chipset.p, f.text.e);
	oaset_fits(&s, any_bool() ? NULL : &oaplatforms[any_to(noaplatforms - 1)]);
	return 0;
}
