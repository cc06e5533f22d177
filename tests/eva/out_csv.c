/* out_csv.c - views/out.c: any record as CSV, short and long.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-split-return auto -eva-plevel 300 -eva-slevel 3
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();

	//@ loop unroll 4;
	for (size_t i = 0; i < PATTERNS; i++)
		o.places[i] = (u16)any();
	csv_record(&o, &b, &rec);
	csv_end(&o, &b);
	return 0;
}
