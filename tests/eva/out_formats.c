/* out_formats.c - views/out.c: formats and fields by name.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-plevel 700 -eva-slevel 0 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();
	struct str words[MAX_WORDS];
	const struct format *f = &formats[any_to(LEN(formats) - 1)];

	out_fields(&b, rec.kind);
	format_names(&b, (int)any_to(K_COUNT) - 1, any_to(80));
	format_find(any_text());
	format_left_out(any_text());
	format_shows(f, rec.kind);
	format_folds(f);
	format_is_perfdata(f);
	format_raw(f);
	format_joins(f);
	format_spreads(f);
	format_replaces(f);
	format_measures_totals(f);
	format_heads_file(f);
	format_is_lone(f);
	format_is_whole(f);
	format_is_of_run(f);
	format_sends(f);
	o.fmt = f;
	o.kind = rec.kind;
	out_words(&o, words);
	return 0;
}
