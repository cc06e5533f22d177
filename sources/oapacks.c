/* oapacks.c - the metric files that are built in: make OA_XML="a.xml b.xml" makes a pack of them, and bytes of that for
 * here. SPDX-License-Identifier: MIT */
#include "gpustat.h"

#ifdef OA_PACK
static const u8 bytes[] = {
#include OA_PACK
};

static const struct oafile pack = { { (const char *)bytes, (const char *)bytes + sizeof(bytes) }, OM_PACK };

const struct oafile *const oapacks = &pack;
const size_t noapacks = 1;
#else
const struct oafile *const oapacks = NULL;
const size_t noapacks = 0;
#endif
