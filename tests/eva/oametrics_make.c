/* oametrics_make.c - sources/oametrics.c: the equations of any set made ready for any device.
 * A set's texts lie in its file, as oaset_next() leaves them. What a device has is any value for any variable: the table
 * of their names is oadevice.c's.
 * eva: -eva-widening-delay 1 -eva-widening-period 1 -eva-precision 0 -eva-domains cvalue,symbolic-locations -warn-special-float none -eva-plevel 256 -eva-slevel 2 -eva-slevel-function place_at:0,oadef_next:10,pack_def:10,take_ref:10,take_entry:10,take_uint:10 -eva-auto-loop-unroll 26 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "text.h"
#include "../../sources/oametrics.c"
#include "../../sources/oabasic.c"
#include "sets.h"

static struct oaprog prog;

static void set_of(u8 origin)
{
	struct oafile f = { ANY_IN(text), origin };
	struct oaset s = { &f, any_view(f.text), any_view(f.text), any_view(f.text), "", any_view(f.text) };
	char b[64];
	struct buf why = BUF(b);

	oaprog_make(&prog, &s, &dev, &why);
}

int main(void)
{
	//@ widen_hints global:"all", 31, 32, 36, 37, 255, 256, 16383, 16384;
	if (any_bool())
		set_of(OM_XML);
	else
		set_of(OM_PACK);
	return 0;
}
