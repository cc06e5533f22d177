/* oapacks.c - the built-in pack of metric sets: that of the files in `make OA_XML="a.xml b.xml"`,
 * otherwise that of oabuiltin.h. It is empty if the program is built without the feature oasets and
 * without OA_XML.
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
