/* oapacks.c - the pack of metric sets that is built in: the files of make OA_XML="a.xml b.xml",
 * else the sets of oabuiltin.h. Without the feature, and without OA_XML, it is empty.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "sources/oa/oa.h"

#if HAS(oasets) && !defined(OA_PACK)
#define OA_PACK "sources/oa/oabuiltin.h"
#endif

#ifdef OA_PACK
static const u8 bytes[] = {
#include OA_PACK
};

const struct oafile oapack = { { (const char *)bytes, (const char *)bytes + sizeof(bytes) },
	OM_PACK };
#else
const struct oafile oapack = { .origin = OM_PACK };
#endif
