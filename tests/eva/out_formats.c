/* out_formats.c - views/out.c: formats and fields by name.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-plevel 700 -eva-slevel 0 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();

	out_fields(&b, rec.kind);
	format_names(&b, (int)any_to(K_COUNT) - 1, any_to(80));
	format_find(any_text());
	return 0;
}
