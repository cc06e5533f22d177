/* out_cells.c - views/out.c: what a line says of any record, in each of its columns. FIELDS are more than MAX_ENGINES.
 * eva: -kernel-warn-key parser:decimal-float=inactive -eva-precision 1 -warn-special-float none -eva-plevel 600 -eva-slevel 10 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#define FIELDS 520
#include "out.h"

int main(void)
{
	struct buf b = any_start();
	const struct lay *l = &lays[any_to(LEN(lays) - 1)];

	l->put(&b, &rec, (struct ask){ l->word, (u16)any() });
	return 0;
}
