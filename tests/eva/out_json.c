/* out_json.c - views/out.c: any record as JSON.
 * eva: -kernel-warn-key parser:decimal-float=inactive -eva-precision 1 -warn-special-float none -eva-plevel 300 -eva-slevel 0 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();

	json_record(&o, &b, &rec);
	json_end(&o, &b);
	return 0;
}
