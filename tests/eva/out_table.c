/* out_table.c - views/out.c: any record in a table, a line, plain or CSV, after any other records.
 * Initially the table has any valid cells: at most MAX_CELLS, each shown at most once, from a
 * pattern, a row of line_columns[] or a column.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-plevel 700 -eva-slevel 0 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "out.h"

static void any_cell(struct cell *c)
{
	c->title = any_text();
	c->col = any_bool() ? &columns[any_to(ncolumns - 1)] : NULL;
	c->inst = o.insts[c - o.cells];
	c->inst_n = (u8)any_to(MAX_NAME);
	c->pattern = any_bool() ? &patterns[any_to(PATTERNS - 1)] : any_bool() ? &summary_pattern : NULL;
	c->order = (u16)any();
	c->predefined = any_bool() ? &line_columns[any_to(LEN(line_columns) - 1)] : NULL;
	c->place = (u16)any();
	c->leaf = c->col && any_bool();
	c->width = (u16)any();
	c->needed = (u16)any();
	c->least = (u16)any();
	c->known = any_bool();
	c->hidden = any_bool();
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
	/* line, table, plain, csv; out_block.c proves the one between them */
	o.fmt = any_bool() ? &formats[any_to(1)] : any_bool() ? &formats[3] : &formats[4];
	out_lacks(&o, &rec.f[0]);
	if (out_measures(&o))
		out_measure(&o, &rec);
	out_record(&o, &b, &rec);
	out_end(&o, &b);
	out_add_title(&o, any_text());
	return 0;
}
