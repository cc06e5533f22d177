/* out_perfcsv.c - views/out.c: any record in perf's CSV format.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-split-return auto -eva-plevel 300 -eva-slevel 10
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();

	perfcsv_record(&o, &b, &rec);
	return 0;
}
