/* out_cells.c - views/out.c: the cells of a line for any record, in each column. FIELDS is larger
 * than MAX_ENGINES.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-split-return auto -eva-plevel 600 -eva-slevel 0
 * SPDX-License-Identifier: MIT */
#define FIELDS 520
#include "out.h"

int main(void)
{
	struct buf b = any_start();
	const struct line_column *l = &line_columns[any_to(LEN(line_columns) - 1)];
	struct cellargs a = { .field = l->field, .width = (u16)any(), .grouped = any_bool() };

	if (any_bool()) {
		cell_engines(&b, &rec, a);
	} else {
		rec.n = any_to(4);
		l->put(&b, &rec, a);
	}
	return 0;
}
