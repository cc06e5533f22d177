/* out_formats.c - views/out.c: formats and fields by name.
 * eva: -kernel-warn-key parser:decimal-float=inactive -warn-special-float none -eva-precision 0 -eva-domains symbolic-locations -eva-plevel 700 -eva-slevel 0 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "out.h"

int main(void)
{
	struct buf b = any_start();
	struct str words[MAX_WORDS];
	u32 when;
	const struct format *f = &formats[any_to(LEN(formats) - 1)];

	out_fields(&b, rec.kind);
	format_name(f);
	format_next(any_bool() ? f : NULL);
	format_find(any_text());
	format_left_out(any_text());
	format_shows(f, rec.kind);
	format_is_folded(f);
	format_is_perfdata(f);
	format_raw(f);
	format_has_one_line(f);
	format_has_field_columns(f);
	format_replaces_file(f);
	format_has_totals(f);
	format_has_file_header(f);
	format_writes_lines(f);
	format_is_document(f);
	format_covers_run(f);
	format_has_time_axis(f);
	format_is_monotonic(f);
	format_is_binary(f);
	format_has_udp(f);
	format_has_all_fields(f);
	format_has_names(f);
	format_is_stateless(f);
	o.fmt = f;
	o.kind = rec.kind;
	out_has_footer(&o);
	out_default_fields(&o, words, &when);
	return 0;
}
