/* fuzz_pack.c - any bytes as a pack of metric sets: its sets against those of the pack that is made of it.
 * SPDX-License-Identifier: MIT */
#include "oasets.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct oafile f = { .origin = OM_PACK };

	if (n > EDGE_BYTES / 4)
		return 0;
	sum_fill();
	f.text = edge_str((const char *)data, n);
	if (!oafile_is(&f, f.text))
		f.origin = OM_PACK; /* read all the same: the check may be wrong */
	run_file(&f);
	return 0;
}
