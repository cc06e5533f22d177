/* out_text.c - views/out.c: any record as logfmt, any value in human-readable form, any time as a
 * date, with any options.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-split-return auto -eva-plevel 300 -eva-slevel 10
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();

	if (any_bool()) {
		logfmt_record(&o, &b, &rec);
	} else {
		put_human(&b, rec.f[0].v);
		put_iso(&b, any());
	}
	return 0;
}
