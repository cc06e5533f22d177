/* out_perfcsv.c - views/out.c: any record as perf writes it.
 * eva: -kernel-warn-key parser:decimal-float=inactive -eva-precision 1 -warn-special-float none -eva-plevel 300 -eva-slevel 20 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();

	perfcsv_record(&o, &b, &rec);
	return 0;
}
