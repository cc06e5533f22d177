/* out_table.c - views/out.c: any record in a table or a line, after any others.
 * A table begins as any cells that it can have: no more than MAX_CELLS, each shown once at most, which was of a pattern, of a
 * row of lays[] or of a column.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-plevel 700 -eva-slevel 0 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "out.h"

static void any_cell(struct cell *c)
{
	c->group = any_text();
	c->title = any_text();
	c->col = any_bool() ? &columns[any_to(ncolumns - 1)] : NULL;
	c->inst = o.insts[c - o.cells];
	c->inst_n = (u8)any_to(MAX_NAME);
	c->pattern = any_bool() ? &patterns[any_to(PATTERNS - 1)] : any_bool() ? &summary_pattern : NULL;
	c->order = (u16)any();
	c->lay = any_bool() ? &lays[any_to(LEN(lays) - 1)] : NULL;
	c->width = (u16)any();
	c->want = (u16)any();
	c->right = any_bool();
}

int main(void)
{
	struct buf b = any_start();

	//@ widen_hints global:"all", 319, 320;
	//@ loop unroll MAX_CELLS;
	for (size_t i = 0; i < MAX_CELLS; i++) {
		any_cell(&o.cells[i]);
		o.shown[i] = (u16)any_to(MAX_CELLS - 1);
	}
	any_bytes(o.insts, sizeof(o.insts));
	o.ncells = any_to(MAX_CELLS);
	o.kind = (u8)any_to(K_COUNT - 1);
	o.fmt = &formats[any_to(1)]; /* line, table */
	if (out_measures(&o))
		out_measure(&o, &rec);
	out_record(&o, &b, &rec);
	out_end(&o, &b);
	return 0;
}
