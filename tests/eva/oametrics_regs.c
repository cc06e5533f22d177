/* oametrics_regs.c - sources/oa/oametrics.c: the registers of any set for any device, and
 * conditions on the device.
 * The texts of a set lie in its file, as oaset_next() leaves them. Each device variable has any
 * value: the table of their names is in oadevice.c.
 * eva: -eva-widening-delay 1 -eva-widening-period 1 -eva-precision 1 -warn-special-float none -eva-plevel 256 -eva-slevel-function str_offset:0 -eva-auto-loop-unroll 26 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "text.h"
#include "../../sources/oa/oametrics.c"
#include "../../sources/oa/oabasic.c"
#include "sets.h"

static u32 regs[1024][2];

static void set_of(u8 origin)
{
	struct oafile f = { ANY_IN(text), origin };
	struct oaset s = { &f, any_view(f.text), any_view(f.text), any_view(f.text), "", any_view(f.text) };

	oaset_regs(&s, &dev, (u8)any_to(OREGS), regs, any_to(LEN(regs)));
}

int main(void)
{
	//@ widen_hints global:"all", 31, 32, 36, 37, 255, 256, 1023, 1024;
	if (any_bool())
		set_of(OM_XML);
	else
		set_of(OM_PACK);
	return 0;
}
