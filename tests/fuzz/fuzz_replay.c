/* fuzz_replay.c - any bytes as a recording that `oa --replay` reads, in one of several formats: once as a whole, once in
 * pieces. The records are the same, and the JSON among them is JSON. The first byte says how, the second the piece's size.
 * SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const ways[][8] = {
		{ NULL }, { "-r", NULL }, { "-o", "csv", NULL }, { "--totals", NULL }, { "-i", "1ms", NULL },
		{ "--platform", "sklgt2", NULL }, { "--platform", "hsw", "-r", NULL }, { "--platform", "lnl", NULL },
	};
	const char *words[16] = { "gpustat", "oa", "--replay", "f", "-o", "json" };
	struct str s = { (const char *)data, (const char *)data + n }, said;
	u8 how = take_u8(&s) % LEN(ways);
	size_t piece = 1 + 7 * (size_t)take_u8(&s), nwords = how == 2 ? 4 : 6;

	if (n > 1 << 16)
		return 0;
	for (const char *const *w = ways[how]; *w; w++)
		words[nwords++] = *w;
	words[nwords] = NULL;
	said = program_reads(words, s, piece);
	must(how == 2 || json_ok(said, NULL), "well-formed JSON");
	return 0;
}
