/* parse_xml.c - parse.c: the XML of metric files.
 * Files may be larger than TEXT_CAP: the scanner keeps nothing that depends on where in the text it is.
 * eva: parse.c perfstream.c -eva-precision 2 -eva-unroll-recursive-calls 2
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char text[TEXT_CAP], words[4096], to[4096];

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct str s = ANY_IN(text), name = ANY_IN(words), value = s;
		struct xmltag tag = { .attrs = s };

		while (again() && xml_next(&s, &tag))
			if (xml_attr(tag.attrs, name, &value))
				xml_text(value, to, any_to(sizeof(to)));
		xml_attr(s, name, &value);
		xml_text(s, to, any_to(sizeof(to)));
	}
	return 0;
}
