/* fuzz_plot.c - any bytes as the CSV or JSON that `plot` reads: once as a whole, once in pieces of
 * any size. The picture is equal, and well-formed XML. SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

/* Checks that each tag is closed and attributes are quoted; an independent reader. */
static bool is_xml(struct str s)
{
	struct str open[64], name;
	size_t depth = 0;

	if (!is_clean(s, true))
		return false;
	while (s.p < s.e) {
		bool closes, alone = false;

		if (*s.p == '&' && !memchr(s.p, ';', str_len(s) < 8 ? str_len(s) : 8))
			return false;
		if (*s.p++ != '<')
			continue;
		closes = s.p < s.e && *s.p == '/';
		if (s.p < s.e && (*s.p == '?' || *s.p == '!')) {
			str_cut(&s, '>', &name);
			continue;
		}
		s.p += closes;
		for (name.p = s.p; s.p < s.e && *s.p != ' ' && *s.p != '>' && *s.p != '/' && *s.p != '\n'; s.p++)
			;
		name.e = s.p;
		for (char quote = 0; s.p < s.e && (quote || *s.p != '>'); s.p++) {
			if (*s.p == '<')
				return false;
			if (*s.p == '"' || *s.p == '\'')
				quote = quote == *s.p ? 0 : quote ? quote : *s.p;
			alone = *s.p == '/' && !quote;
		}
		if (s.p++ >= s.e || name.p == name.e)
			return false;
		if (closes && (depth == 0 || !str_eq(open[--depth], name)))
			return false;
		if (!closes && !alone) {
			if (depth == LEN(open))
				return false;
			open[depth++] = name;
		}
	}
	return depth == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const words[] = { "gpustat", "plot", "f", NULL };
	struct str s = { (const char *)data, (const char *)data + n }, said;
	size_t piece = 1 + take_u8(&s);

	if (n > 1 << 16)
		return 0;
	said = program_reads(words, s, piece);
	must(said.p == said.e || is_xml(said), "a picture is well-formed");
	return 0;
}
