/* out_block.c - views/out.c: any record as a block, in lines of any width.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-plevel 700 -eva-slevel 0 -eva-auto-loop-unroll 6 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();

	//@ widen_hints global:"all", 3, 4, 65535, 65536;
	o.width = (u16)any();
	o.colour = any_bool();
	o.list = any_bool();
	block_record(&o, &b, &rec);
	return 0;
}
