/* oametrics_pack.c - sources/oa/oametrics.c: packs made from any files.
 * One file is sufficient: the sets of one file follow each other in the pack in the same way as
 * those of several files.
 * eva: -eva-widening-delay 1 -eva-widening-period 1 -eva-precision 1 -warn-special-float none -eva-plevel 40 -eva-slevel-function str_offset:0 -eva-auto-loop-unroll 36 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "text.h"
#include "../../sources/oa/oametrics.c"
#include "../../sources/oa/oabasic.c"

enum { FILE_CAP = 1 << 25, PACK_CAP = 1 << 21 };
static char text[FILE_CAP], to[PACK_CAP];
static struct oapacker packer;

static void packed(u8 origin)
{
	struct oafile f = { ANY_IN(text), origin };
	char c[64];
	struct buf why = BUF(c);

	oapack_make(&packer, buf_on(to, any_to(PACK_CAP)), &f, 1, &why);
}

int main(void)
{
	//@ widen_hints global:"all", 31, 32, 36, 37, 255, 256, 16384, 65535, 65536, 131072, 2097152, 2097153;
	if (any_bool())
		packed(OM_XML);
	else
		packed(OM_PACK);
	return 0;
}
