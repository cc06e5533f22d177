/* oametrics_make.c - sources/oa/oametrics.c: compilation of the equations of any set for any
 * device.
 * The texts of a set lie in its file, as oaset_next() leaves them. Each device variable has any
 * value: the table of their names is in oadevice.c.
 * eva: -eva-widening-delay 1 -eva-widening-period 1 -eva-precision 0 -eva-domains cvalue,symbolic-locations -warn-special-float none -eva-plevel 256 -eva-slevel 2 -eva-slevel-function str_offset:0,oadef_next:10,pack_def_next:10,ref_parse:10,entry_parse:10,uint_parse:10 -eva-auto-loop-unroll 26 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "text.h"
#include "../../sources/oa/oametrics.c"
#include "../../sources/oa/oabasic.c"
#include "sets.h"

static struct oaprog prog;

static void set_of(u8 origin)
{
	struct oafile f = { ANY_IN(text), origin };
	struct oaset s = { &f, any_view(f.text), any_view(f.text), any_view(f.text), "", any_view(f.text) };
	char b[64];
	struct buf why = BUF(b);

	oaprog_compile(&prog, &s, &dev, &why);
}

int main(void)
{
	//@ widen_hints global:"all", 15, 16, 31, 32, 36, 37, 255, 256, 16383, 16384;
	if (any_bool())
		set_of(OM_XML);
	else
		set_of(OM_PACK);
	return 0;
}
