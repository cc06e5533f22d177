/* oametrics_read.c - sources/oa/oametrics.c: reading of metric files and packs of any bytes.
 * Files have any length up to FILE_CAP, which is more than all public files together. The harness
 * reads the sets of a file, the counters and configs of a set, and their registers, up to any point
 * at which a caller may stop.
 * eva: -eva-precision 1 -warn-special-float none -eva-plevel 40 -eva-slevel 30 -eva-slevel-function str_offset:0 -eva-auto-loop-unroll 26 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "text.h"
#include "../../sources/oa/oametrics.c"
#include "../../sources/oa/oabasic.c"

enum { FILE_CAP = 1 << 25 };
static char text[FILE_CAP];

static void file_of(u8 origin)
{
	struct str all = ANY_IN(text), at = { 0 }, in = { 0 };
	struct oafile f, is;
	struct oaset s = { &f, all, all, all, "", all }; /* any earlier content */
	struct oadef def;
	struct config c;
	u32 reg[2] = { 0 };

	oafile_detect(&is, all);
	f = (struct oafile){ all, origin };
	//@ loop unroll 1;
	while (oaset_next(&f, &at, &s)) {
		in = (struct str){ 0 };
		//@ loop unroll 1;
		while (oadef_next(&s, &in, &def))
			;
		in = (struct str){ 0 };
		//@ loop unroll 1;
		while (config_next(&s, &in, &c))
			while (register_next(origin, &c.list, reg) > 0)
				;
	}
}

int main(void)
{
	//@ widen_hints global:"all", 31, 32, 36, 37, 255, 256;
	if (any_bool())
		file_of(OM_XML);
	else
		file_of(OM_PACK);
	return 0;
}
