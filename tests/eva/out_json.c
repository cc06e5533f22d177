/* out_json.c - views/out.c: any record as JSON.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-split-return auto -eva-plevel 300 -eva-slevel 3
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();

	json_record(&o, &b, &rec);
	json_end(&o, &b);
	put_text_member(&b, "key", any_text());
	return 0;
}
