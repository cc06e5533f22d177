/* fuzz_replay.c - any bytes as a recording that `oa --replay` reads, in one of several formats: once as a whole, once in
 * pieces. The records are the same, and the JSON among them is JSON. The first byte says how, the second the piece's size.
 * SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

static char first[1 << 21], tree[1 << 20];

static int run(struct str text, u8 how, size_t piece)
{
	static const char *const ways[][8] = {
		{ NULL }, { "-r", NULL }, { "-o", "csv", NULL }, { "--totals", NULL }, { "-i", "1ms", NULL },
		{ "--platform", "sklgt2", NULL }, { "--platform", "hsw", "-r", NULL }, { "--platform", "lnl", NULL },
	};
	const char *words[16] = { "gpustat", "oa", "--replay", "f" };
	struct buf b = BUF(tree);
	size_t n = 4;

	if (how % LEN(ways) != 2) {
		words[n++] = "-o";
		words[n++] = "json";
	}
	for (const char *const *w = ways[how % LEN(ways)]; *w; w++)
		words[n++] = *w;
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
	u8 how = take_u8(&s);
	size_t piece = 1 + 7 * (size_t)take_u8(&s), was;
	int code;

	if (n > 1 << 16)
		return 0;
	for (const char *p = s.p; p + 1 < s.e; p++)
		if (*p == '\n' && memchr("=@!?", p[1], 4))
			return 0; /* another file */
	code = run(s, how, 0);
	must(code == 0 || code == 1, "records, or a fault");
	must(code == 0 || files_warned, "a fault is said");
	was = files_said_n;
	memcpy(first, files_said, was);
	must(how % 8 == 2 || json_ok((struct str){ first, first + was }, NULL), "well-formed JSON");
	must(run(s, how, piece) == code && files_said_n == was && memcmp(first, files_said, was) == 0, "pieces are as the whole");
	return 0;
}
