/* fuzz_replay.c - any bytes as a recording that `oa --replay` or `oa stalls --replay` reads, in
 * several formats: once as a whole, once in pieces. The records must be equal, and JSON records well-formed. The first byte
 * selects the format, the second the size of the pieces. SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const char *const ways[][8] = {
		{ NULL }, { "-r", NULL }, { "-o", "csv", NULL }, { "--totals", NULL }, { "-i", "1ms", NULL },
		{ "--platform", "sklgt2", NULL }, { "--platform", "hsw", "-r", NULL }, { "--platform", "lnl", NULL },
		{ "stalls", NULL }, { "stalls", "-S", "-i", "1ms", NULL }, { "stalls", "--platform", "lnl", NULL },
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
