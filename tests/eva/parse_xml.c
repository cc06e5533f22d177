/* parse_xml.c - parse.c: the XML of metric files.
 * Files may be larger than TEXT_CAP: the scanner keeps no state that depends on the position in the
 * text.
 * eva: parse.c -eva-precision 2 -eva-unroll-recursive-calls 2
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char text[TEXT_CAP], words[4096], to[4096];

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct str s = ANY_IN(text), name = ANY_IN(words), value = s;
		struct xmltag tag = { .attrs = s };
		size_t cap;

		for (struct str was = s; again() && xml_next(&s, &tag); was = s) {
			promised(lies_in(s, was) && lies_in(tag.name, was) && lies_in(tag.attrs, was));
			promised(tag.name.e <= tag.attrs.p && tag.attrs.e <= s.p);
			if (xml_attr(tag.attrs, name, &value)) {
				promised(lies_in(value, tag.attrs));
				xml_text(value, to, any_to(sizeof(to)));
			}
		}
		xml_attr(s, name, &value);
		cap = any_to(sizeof(to));
		promised(xml_text(s, to, cap) <= cap + 1);
	}
	return 0;
}
