/* fuzz_xml.c - any bytes as metric XML: its tags, and its sets compared with the pack made from
 * them. SPDX-License-Identifier: MIT */
#include "oasets.h"

static void run_tags(struct str s)
{
	struct str at = s, value;
	struct xmltag t;
	char b[16];

	for (size_t n = 0; xml_next(&at, &t); n++) {
		must(n <= str_len(s) && within(t.name, s) && within(t.attrs, s), "a tag lies in its text");
		if (!xml_attr(t.attrs, S("a"), &value))
			continue;
		must(within(value, t.attrs) && !memchr(value.p, '<', str_len(value)), "a value lies in its tag");
		must(xml_text(value, b, sizeof(b)) <= str_len(value), "decoded entities are not longer");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct oafile f = { .origin = OM_XML };

	if (n > EDGE_BYTES / 4)
		return 0;
	sum_fill();
	f.text = edge_str((const char *)data, n);
	run_tags(f.text);
	run_file(&f);
	oafile_detect(&f, f.text);
	return 0;
}
