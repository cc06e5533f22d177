/* out_cells.c - views/out.c: what a line says of any record, in each of its columns. FIELDS are more than MAX_ENGINES
 * where these are kept.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-split-return auto -eva-plevel 600 -eva-slevel 0
 * SPDX-License-Identifier: MIT */
#define FIELDS 520
#include "out.h"

int main(void)
{
	struct buf b = any_start();
	const struct lay *l = &lays[any_to(LEN(lays) - 1)];
	struct ask a = { l->word, (u16)any() };

	if (any_bool()) {
		cell_engines(&b, &rec, a);
	} else {
		rec.n = any_to(4);
		l->put(&b, &rec, a);
	}
	return 0;
}
