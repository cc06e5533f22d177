/* fuzz_plot.c - any bytes as the CSV or JSON that `plot` reads: once as a whole, once in pieces of any size. The picture is
 * the same, and well-formed XML. SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

static char first[1 << 21], tree[1 << 20];

/* Tags that close what they opened, attributes in quotes; a reader of its own. */
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

static int run(struct str text, size_t piece)
{
	const char *words[] = { "gpustat", "plot", "f", NULL };
	struct buf b = BUF(tree);

	program_reset();
	put_z(&b, "=f\n");
	put_str(&b, text);
	files_set((struct str){ tree, tree + b.n });
	files_piece = piece;
	return program_run(words);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = { (const char *)data, (const char *)data + n };
	size_t piece = 1 + take_u8(&s), was;
	int code;

	if (n > 1 << 16)
		return 0;
	for (const char *p = s.p; p + 1 < s.e; p++)
		if (*p == '\n' && memchr("=@!?", p[1], 4))
			return 0; /* another file */
	code = run(s, 0);
	must(code == 0 || code == 1, "a picture, or a fault");
	must(code == 0 || files_warned, "a fault is said");
	was = files_said_n;
	memcpy(first, files_said, was);
	must(was == 0 || is_xml((struct str){ first, first + was }), "a picture is well-formed");
	must(run(s, piece) == code && files_said_n == was && memcmp(first, files_said, was) == 0, "pieces are as the whole");
	return 0;
}
