/* out_csv.c - views/out.c: any record as long CSV.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-split-return auto -eva-plevel 300 -eva-slevel 3
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();

	o.npatterns = 0;
	csv_record(&o, &b, &rec);
	csv_end(&o, &b);
	csv_unguarded(any_text());
	return 0;
}
