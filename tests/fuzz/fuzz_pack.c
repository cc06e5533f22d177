/* fuzz_pack.c - any bytes as a pack of metric sets: its sets are compared with those of a pack made
 * from it. SPDX-License-Identifier: MIT */
#include "oasets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct oafile f = { .origin = OM_PACK };

	if (n > EDGE_BYTES / 4)
		return 0;
	sum_fill();
	f.text = edge_str((const char *)data, n);
	if (!oafile_detect(&f, f.text))
		/* read regardless of the check, because the check may be wrong */
		f.origin = OM_PACK;
	run_file(&f);
	return 0;
}
