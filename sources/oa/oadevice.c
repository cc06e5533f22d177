/* oadevice.c - a GPU's platform and topology, and the equation variables that they determine. Pure:
 * no system call.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "sources/oa/oa.h"

/* --- platforms -------------------------------------------------------------------------------- */

enum {
	HSW, BDW, CHV, SKLGT2, SKLGT3, SKLGT4, BXT, KBLGT2, KBLGT3, GLK, CFLGT2, CFLGT3, CNL, ICL,
	EHL, TGLGT1, TGLGT2, RKL, DG1, ADL, ACMGT1, ACMGT2, ACMGT3, PVC, MTLGT2, MTLGT3, LNL, BMG,
	PTL, NVLS, NVLP, CRI, PLATFORMS
};

/* First version of the graphics IP of Xe3p, times 100; xe_pci.c has versions 35.10 and 35.11. */
enum { XE3P = 3500 };

/* Threads per EU and ts_shift (ratio of two clocks, see struct oaplatform) are from lib/i915/perf.c
 * and lib/xe/xe_oa.c of IGT (intel-gpu-tools), which has 7 threads also for Xe2 and Xe3. IGT does
 * not have the platforms after PTL: their names are from xe_pci.c, and the driver xe reports their
 * threads and clock. ts_hz is the usual clock of the platform; kernels and recordings report the
 * clock of the device itself. */
const struct oaplatform oaplatforms[] = {
	[HSW]    = { "hsw", OF_HSW, 750, false, 7, 0, 12500000 },
	[BDW]    = { "bdw", OF_GEN8, 800, false, 7, 0, 12500000 },
	[CHV]    = { "chv", OF_GEN8, 800, false, 7, 0, 12500000 },
	[SKLGT2] = { "sklgt2", OF_GEN9, 900, false, 7, 0, 12000000 },
	[SKLGT3] = { "sklgt3", OF_GEN9, 900, false, 7, 0, 12000000 },
	[SKLGT4] = { "sklgt4", OF_GEN9, 900, false, 7, 0, 12000000 },
	[BXT]    = { "bxt", OF_GEN9, 900, false, 6, 0, 19200000 },
	[KBLGT2] = { "kblgt2", OF_GEN9, 900, false, 7, 0, 12000000 },
	[KBLGT3] = { "kblgt3", OF_GEN9, 900, false, 7, 0, 12000000 },
	[GLK]    = { "glk", OF_GEN9, 900, false, 6, 0, 19200000 },
	[CFLGT2] = { "cflgt2", OF_GEN9, 900, false, 7, 0, 12000000 },
	[CFLGT3] = { "cflgt3", OF_GEN9, 900, false, 7, 0, 12000000 },
	[CNL]    = { "cnl", OF_GEN9, 1000, false, 7, 0, 24000000 },
	[ICL]    = { "icl", OF_GEN11, 1100, false, 7, 0, 12000000 },
	[EHL]    = { "ehl", OF_GEN11, 1100, false, 7, 0, 19200000 },
	[TGLGT1] = { "tglgt1", OF_GEN12, 1200, false, 7, 0, 19200000 },
	[TGLGT2] = { "tglgt2", OF_GEN12, 1200, false, 7, 0, 19200000 },
	[RKL]    = { "rkl", OF_GEN12, 1200, false, 7, 0, 19200000 },
	[DG1]    = { "dg1", OF_GEN12, 1210, false, 7, 0, 19200000 },
	[ADL]    = { "adl", OF_GEN12, 1200, false, 7, 0, 19200000 },
	[ACMGT1] = { "acmgt1", OF_XEHP, 1255, false, 8, 1, 19200000 },
	[ACMGT2] = { "acmgt2", OF_XEHP, 1255, false, 8, 1, 19200000 },
	[ACMGT3] = { "acmgt3", OF_XEHP, 1255, false, 8, 1, 19200000 },
	[PVC]    = { "pvc", OF_XEHP, 1260, true, 8, 0, 12500000 },
	[MTLGT2] = { "mtlgt2", OF_XEHP, 1270, false, 8, 1, 38400000 },
	[MTLGT3] = { "mtlgt3", OF_XEHP, 1270, false, 8, 1, 38400000 },
	[LNL]    = { "lnl", OF_XE2, 2004, true, 7, 0, 19200000 },
	[BMG]    = { "bmg", OF_XE2, 2001, true, 7, 0, 19200000 },
	[PTL]    = { "ptl", OF_XE2, 3000, true, 7, 0, 19200000 },
	[NVLS]   = { "nvls", OF_XE2, 3005, true, 0, 0, 0 },
	[NVLP]   = { "nvlp", OF_XE2, 3510, true, 0, 0, 0 },
	[CRI]    = { "cri", OF_XE2, 3511, true, 0, 0, 0 },
};
const size_t noaplatforms = LEN(oaplatforms);
_Static_assert(LEN(oaplatforms) == PLATFORMS, "a row for each");

/* Platforms for GPUs whose PCI id is not in pci_ids[]. Such a GPU belongs to the row with the
 * highest `gen` (first version of the graphics IP, times 100) that is not above its own version,
 * which the driver xe reports from 12.70 on. These GPUs have the built-in metric set of their
 * family, but no set from an XML file. */
static const struct oaplatform unlisted[] = {
	{ "xehp", OF_XEHP, 1270, true, 8, 1, 0 },
	{ "xe2", OF_XE2, 2000, true, 0, 0, 0 },
	{ "xe2", OF_XE2, 3000, true, 0, 0, 0 },
	{ "xe2", OF_XE2, XE3P, true, 0, 0, 0 },
};

/* The PCI device ids of each platform, from include/drm/intel/pciids.h of Linux; 0x0bd0 to 0x0bd2
 * are from IGT. GT levels are those of IGT. GPUs for which IGT has no metric set are in the rows of
 * another platform: GT1 and GT1.5 of SKL to CFL are GT2; KBL GT4 is GT3; ARL U and S are MTL GT2;
 * ARL H is MTL GT3, which has as many cores; WCL is PTL: both are Xe3_LPG in xe_pci.c. A range may
 * include unused ids, but no ids of another platform. */
static const struct {
	u16 first, last;
	u8 platform;
} pci_ids[] = {
	{ 0x0402, 0x042e, HSW }, { 0x0a02, 0x0a2e, HSW }, { 0x0a84, 0x0a84, BXT },
	{ 0x0b69, 0x0b6e, PVC }, { 0x0bd0, 0x0be5, PVC }, { 0x0c02, 0x0c2e, HSW },
	{ 0x0d02, 0x0d2e, HSW }, { 0x1602, 0x163e, BDW },
	{ 0x1902, 0x1921, SKLGT2 }, { 0x1923, 0x192d, SKLGT3 }, { 0x1932, 0x193d, SKLGT4 },
	{ 0x1a84, 0x1a85, BXT }, { 0x22b0, 0x22b3, CHV }, { 0x3184, 0x3185, GLK },
	{ 0x3e90, 0x3ea1, CFLGT2 }, { 0x3ea2, 0x3ea2, CFLGT3 }, { 0x3ea3, 0x3ea4, CFLGT2 },
	{ 0x3ea5, 0x3ea8, CFLGT3 }, { 0x3ea9, 0x3ea9, CFLGT2 }, { 0x4541, 0x4571, EHL },
	{ 0x4626, 0x462a, ADL }, { 0x4680, 0x46d4, ADL }, { 0x4905, 0x4909, DG1 },
	{ 0x4c80, 0x4c9a, RKL },
	{ 0x4e51, 0x4e71, EHL }, { 0x5690, 0x5692, ACMGT3 }, { 0x5693, 0x5695, ACMGT1 },
	{ 0x5696, 0x5697, ACMGT2 }, { 0x56a0, 0x56a2, ACMGT3 }, { 0x56a3, 0x56a4, ACMGT2 },
	{ 0x56a5, 0x56b1, ACMGT1 }, { 0x56b2, 0x56b3, ACMGT2 }, { 0x56ba, 0x56bd, ACMGT1 },
	{ 0x56be, 0x56c0, ACMGT3 }, { 0x56c1, 0x56c1, ACMGT1 }, { 0x56c2, 0x56c2, ACMGT3 },
	{ 0x5902, 0x5921, KBLGT2 }, { 0x5923, 0x593b, KBLGT3 }, { 0x5a40, 0x5a5c, CNL },
	{ 0x5a84, 0x5a85, BXT }, { 0x6420, 0x6420, LNL }, { 0x64a0, 0x64b0, LNL },
	{ 0x674c, 0x6750, CRI },
	{ 0x7d40, 0x7d45, MTLGT2 }, { 0x7d51, 0x7d55, MTLGT3 }, { 0x7d60, 0x7d67, MTLGT2 },
	{ 0x7dd1, 0x7dd5, MTLGT3 }, { 0x87c0, 0x87c0, KBLGT2 }, { 0x87ca, 0x87ca, CFLGT2 },
	{ 0x8a50, 0x8a71, ICL }, { 0x9a40, 0x9a59, TGLGT2 }, { 0x9a60, 0x9a70, TGLGT1 },
	{ 0x9a78, 0x9a78, TGLGT2 }, { 0x9ac0, 0x9af8, TGLGT2 }, { 0x9b21, 0x9b41, CFLGT2 },
	{ 0x9ba2, 0x9bf6, CFLGT2 }, { 0xa720, 0xa721, ADL }, { 0xa780, 0xa7ad, ADL },
	{ 0xb080, 0xb0b0, PTL }, { 0xb640, 0xb640, MTLGT2 }, { 0xd740, 0xd74b, NVLS },
	{ 0xd750, 0xd75f, NVLP }, { 0xe202, 0xe223, BMG },
	{ 0xfd80, 0xfd81, PTL },
};

/* Returns the platform of a PCI device id; NULL if the id is unknown. */
const struct oaplatform *oaplatform_by_pci(u32 pci)
{
	for (size_t i = 0; i < LEN(pci_ids); i++)
		if (pci >= pci_ids[i].first && pci <= pci_ids[i].last)
			return &oaplatforms[pci_ids[i].platform];
	return NULL;
}

/* Returns the row of unlisted[] for a GPU whose PCI id is not in pci_ids[]. version: that of its
 * graphics IP, times 100 (1270: 12.70). Returns NULL if it is 0 (unknown) or below 1270. */
static const struct oaplatform *platform_by_version(u64 version)
{
	const struct oaplatform *p = NULL;

	for (size_t i = 0; i < LEN(unlisted); i++)
		if (version >= unlisted[i].gen)
			p = &unlisted[i];
	return p;
}

/* Removes the prefix lead from the start of s, regardless of case; lead itself must be in lower
 * case. Returns false if s does not start with lead. */
static bool skip_nocase(struct str *s, struct str lead)
{
	struct str r = *s;

	for (; lead.p < lead.e; lead.p++, r.p++)
		if (r.p == r.e || (*r.p >= 'A' && *r.p <= 'Z' ? *r.p | 0x20 : *r.p) != *lead.p)
			return false;
	*s = r;
	return true;
}

/* Finds a platform by the name of its chipset ("SKLGT2"), or by the name of the XML file with its
 * metric sets ("xe-lnl"), in upper or lower case. Returns NULL if there is no such platform. */
const struct oaplatform *oaplatform_by_name(struct str name)
{
	skip_nocase(&name, (struct str)STR("xe-"));
	for (size_t i = 0; i < noaplatforms; i++) {
		struct str rest = name;

		if (skip_nocase(&rest, str_z(oaplatforms[i].name)) && rest.p == rest.e)
			return &oaplatforms[i];
	}
	return NULL;
}

/* --- a device --------------------------------------------------------------------------------- */

/* Sets the platform of a device. Also sets the device's threads per EU and clock of the OA unit to
 * those of the platform, unless they are known already. */
static void platform_set(struct oadevice *d, const struct oaplatform *p)
{
	d->platform = p;
	if (!p)
		return;
	d->xe = p->xe;
	if (!d->var[OV_THREADS])
		d->var[OV_THREADS] = p->threads;
	if (!d->var[OV_TS_HZ])
		d->var[OV_TS_HZ] = p->ts_hz;
}

/* Initializes a device of platform p (NULL if the platform is unknown), with an unknown
 * topology. */
void oadevice_init(struct oadevice *d, u32 pci, const struct oaplatform *p)
{
	*d = (struct oadevice){ .pci = pci };
	platform_set(d, p);
}

/* Sets the version of the device's graphics IP, times 100, and the platform if it is unknown. */
static void version_set(struct oadevice *d, u64 version)
{
	d->var[OV_VERSION] = version;
	if (!d->platform)
		platform_set(d, platform_by_version(version));
}

/* The header of struct drm_i915_query_topology_info: eight u16. After the header are the masks of
 * slices, subslices and EUs. subslice_at and eu_at are the offsets in bytes, from the end of the
 * header, of the masks of subslices and EUs. */
struct topology {
	u16 flags, slices, subslices, eus, subslice_at, subslice_stride, eu_at, eu_stride;
};

static bool has_bit(const char *p, u64 bit)
{
	return (u8)p[bit / 8] >> (bit & 7) & 1;
}

/* Returns a mask with only bit i set; 0 if i is above 63. */
static u64 bit_mask(u64 i)
{
	return i < 64 ? (u64)1 << i : 0;
}

/* Returns true if all masks described by the topology header t lie within the n bytes after it. */
static bool topology_fits(const struct topology *t, u64 n)
{
	u64 all = (u64)t->slices * t->subslices;

	return t->slices && t->subslices && t->eus && t->slices <= 8 * n &&
	       t->subslices <= 8 * t->subslice_stride && t->eus <= 8 * t->eu_stride &&
	       t->subslice_at + (u64)t->slices * t->subslice_stride <= n &&
	       t->eu_at + all * t->eu_stride <= n;
}

/* Counts subslice ss of slice s as present: adds it to the device's number of subslices and to its
 * masks of slices and subslices. */
static void subslice_add(struct oadevice *d, const struct topology *t, u64 s, u64 ss)
{
	u16 gen = d->platform ? d->platform->gen : 0;
	u64 at = s * t->subslices + ss;

	d->var[OV_SUBSLICES]++;
	/* Equations expect a subslice mask with 3 bits per slice before Gen11, and with 8 bits from
	 * Gen11 on: intel_perf_for_devinfo() in lib/i915/perf.c of IGT. */
	d->var[OV_SUBSLICE_MASK] |= bit_mask(s * (gen < 1100 ? 3 : 8) + ss);
	d->cores_all |= bit_mask(at);
	if (gen >= 1255) {
		/* From DG2 on, the kernel reports all subslices as one slice, but a slice has four
		 * cores: intel_device_info.c of Mesa, update_from_single_slice_topology(). */
		d->slices |= bit_mask(at / 4);
		d->cores |= bit_mask(at);
	} else {
		d->slices |= bit_mask(s);
		d->cores |= ss < 4 ? bit_mask(s * 4 + ss) : 0;
	}
}

/* Sets the topology from the result of DRM_I915_QUERY_TOPOLOGY_INFO. Returns false and leaves the
 * device unchanged if the result is malformed or has no EU. The numbers and masks of slices are
 * those in the result, as in IGT, even if the kernel reports all subslices as one slice. */
bool oadevice_topology(struct oadevice *d, struct str query)
{
	struct oadevice got = *d;
	struct topology t;
	const char *p;

	if (str_len(query) < sizeof(t))
		return false;
	memcpy(&t, query.p, sizeof(t));
	p = query.p + sizeof(t);
	if (!topology_fits(&t, str_len(query) - sizeof(t)))
		return false;
	for (unsigned i = OV_EUS; i <= OV_SUBSLICES; i++)
		got.var[i] = 0;
	got.var[OV_SLICE_MASK] = got.var[OV_SUBSLICE_MASK] = got.slices = got.cores =
		got.cores_all = 0;
	for (u64 s = 0; s < t.slices; s++) {
		if (!has_bit(p, s))
			continue;
		got.var[OV_SLICES]++;
		got.var[OV_SLICE_MASK] |= bit_mask(s);
		for (u64 ss = 0; ss < t.subslices; ss++) {
			if (!has_bit(p + t.subslice_at + s * t.subslice_stride, ss))
				continue;
			subslice_add(&got, &t, s, ss);
			for (u64 eu = 0; eu < t.eus; eu++)
				got.var[OV_EUS] +=
					has_bit(p + t.eu_at + (s * t.subslices + ss) * t.eu_stride,
						eu);
		}
	}
	/* $XeCoreMask has the mask of slices as its value, as in IGT */
	got.var[OV_XECORE_MASK] = got.var[OV_SLICE_MASK];
	if (!got.var[OV_EUS])
		return false;
	*d = got;
	return true;
}

/* Returns the number of bits by which a timestamp of the command streamer (oa_correlate()) must be
 * shifted left to become a timestamp of OA reports. Some OA units ignore CTC_SHIFT, the register
 * field that divides the clock of the command streamer, and count 1, 2, 4 or 8 times as fast:
 * xe_oa_timestamp_frequency() in xe_oa.c, i915_perf_oa_timestamp_frequency() in i915_perf.c. */
u8 oadevice_ts_shift(const struct oadevice *d)
{
	u64 hz = d->var[OV_CS_HZ];

	for (u8 i = 0; i <= 3 && hz; i++)
		if (hz << i == d->var[OV_TS_HZ])
			return i;
	return d->platform ? d->platform->ts_shift : 0;
}

/* --- replies of xe: include/uapi/drm/xe_drm.h ------------------------------------------------- */

struct xe_gts { u32 n, pad; };
struct xe_gt {
	u16 type, tile, id, pad[3];
	u32 clock;
	u64 near, far;
	u16 major, minor, revision, pad2;
	u64 zero[7];
};
struct xe_mask { u16 gt, type; u32 n; };
_Static_assert(sizeof(struct xe_gt) == 96, "as in the kernel's header");

enum { MASK_GEOMETRY = 1, MASK_COMPUTE, MASK_L3, MASK_EUS, MASK_EUS16 };

/* Copies the first n bytes of s to *to, and removes them from s. Returns false if s has fewer
 * bytes. */
static bool take(struct str *s, void *to, size_t n)
{
	if (str_len(*s) < n)
		return false;
	memcpy(to, s->p, n);
	s->p += n;
	return true;
}

/* Divides the mask `bits` into groups of `size` bits (below 64), and returns the number of groups
 * in which at least one bit is set. */
static u64 group_count(u64 bits, u8 size)
{
	u64 n = 0;

	for (; bits; bits >>= size)
		n += (bits & (bit_mask(size) - 1)) != 0;
	return n;
}

/* Sets the graphics IP version and the clock of the command streamers, from xe's reply to the
 * query GT_LIST: from the first GT that is not for media only. Also sets the platform if it is
 * unknown. */
void oadevice_gts(struct oadevice *d, struct str reply)
{
	struct xe_gts head;
	struct xe_gt gt;

	if (!take(&reply, &head, sizeof(head)))
		return;
	while (take(&reply, &gt, sizeof(gt))) {
		if (gt.type != 0)
			continue;
		version_set(d, (u64)gt.major * 100 + gt.minor);
		d->var[OV_CS_HZ] = gt.clock;
		return;
	}
}

bool oagt_version(struct str reply, u64 id, u16 *major)
{
	struct xe_gts head;
	struct xe_gt gt;

	if (!take(&reply, &head, sizeof(head)))
		return false;
	while (take(&reply, &gt, sizeof(gt))) {
		if (gt.id != id)
			continue;
		*major = gt.major;
		return true;
	}
	return false;
}

/* Sets the numbers of L3 banks, L3 nodes, copy engines and SQIDIs, which follow from the mask of L3
 * banks. The rules are from CDriverInterfaceLinuxXe of Intel's metrics-discovery, which does not
 * know the L3 nodes of Xe3p. A node has up to four banks, and two nodes have one copy engine. A
 * small GPU of Xe3, with one node, has two SQIDIs. */
static void l3_set(struct oadevice *d, u64 banks)
{
	u16 gen = d->platform ? d->platform->gen : 0;
	u64 nodes = group_count(banks, 4);

	d->var[OV_L3_BANK] = group_count(banks, 1);
	if (gen < 2000 || gen >= XE3P)
		return;
	d->var[OV_L3_NODE] = nodes;
	d->var[OV_COPY_ENGINE] = group_count(banks, 8);
	d->var[OV_SQIDI] = nodes == 1 && gen >= 3000 ? 2 : nodes;
}

/* Decodes xe's reply to the query GT_TOPOLOGY: sets the number of L3 banks and the numbers that
 * follow from it, stores the mask of all subslices in *subslices and the mask of the EUs of each
 * subslice in *eus (0 if unknown). Only the first GT is used: the other GTs are for media, or
 * belong to other tiles. */
void oadevice_masks(struct oadevice *d, struct str reply, u64 *subslices, u64 *eus)
{
	struct xe_mask m;
	u64 mask;

	*subslices = *eus = 0;
	while (take(&reply, &m, sizeof(m)) && m.n <= str_len(reply)) {
		mask = 0;
		memcpy(&mask, reply.p, m.n < sizeof(mask) ? m.n : sizeof(mask));
		reply.p += m.n;
		if (m.gt != 0)
			continue;
		if (m.type == MASK_GEOMETRY || m.type == MASK_COMPUTE)
			*subslices |= mask;
		else if (m.type == MASK_EUS || m.type == MASK_EUS16)
			*eus = mask;
		else if (m.type == MASK_L3)
			l3_set(d, mask);
	}
}

/* Keys of xe's HWCONFIG table, each with the equation variable that it sets on Xe2 and later. If
 * per_slice is true, the value is multiplied by the number of slices. As in Mesa:
 * intel_hwconfig_process_table() in src/intel/dev/intel_hwconfig.c. */
enum { HWCONFIG_MAX_SLICES = 1 };
static const struct {
	u8 key, var;
	bool per_slice;
} hwconfig_keys[] = {
	{ 4, OV_COLOR_PIPE, true }, /* NUM_PIXEL_PIPES */
	{ 4, OV_DEPTH_PIPE, true },
	{ 15, OV_THREADS, false },  /* NUM_THREADS_PER_EU */
	{ 63, OV_GEOMETRY_PIPE, true }, /* GEOMETRY_PIPES_PER_SLICE */
};

/* Returns the value of a key in a HWCONFIG table, whose entries are: u32 key, u32 number of values,
 * u32 values. Returns 0 if no entry has this key and exactly one value. */
static u64 hwconfig_value(struct str table, u32 key)
{
	u32 entry[2], value;

	while (take(&table, entry, sizeof(entry)) && entry[1] <= str_len(table) / sizeof(value)) {
		struct str values = { table.p, table.p + entry[1] * sizeof(value) };

		if (entry[0] == key && entry[1] == 1 && take(&values, &value, sizeof(value)))
			return value;
		table.p += entry[1] * sizeof(value);
	}
	return 0;
}

/* Sets the GPU's numbers of pipes and of threads per EU from xe's reply to the query HWCONFIG. */
void oadevice_hwconfig(struct oadevice *d, struct str reply)
{
	u64 slices = hwconfig_value(reply, HWCONFIG_MAX_SLICES);

	for (size_t i = 0; i < LEN(hwconfig_keys) && d->platform && d->platform->gen >= 2000; i++) {
		u64 v = hwconfig_value(reply, hwconfig_keys[i].key);

		if (hwconfig_keys[i].per_slice)
			v *= slices;
		if (v)
			d->var[hwconfig_keys[i].var] = v;
	}
}

/* --- variables -------------------------------------------------------------------------------- */

/* Names of equation variables, without the $. The names up to QueryMode are those of
 * intel_perf_devinfo in the code that IGT and Mesa (gen_perf.py) generate from metric files; in
 * Mesa, $XeCoreMask is the mask of subslices. The variables of xe, from SqidiTotalCount on, are
 * from Intel's metrics-discovery. */
static const struct {
	char name[25];
	u8 var;
} variables[] = {
	{ "EuCoresTotalCount", OV_EUS },
	{ "VectorEngineTotalCount", OV_EUS },
	{ "EuSlicesTotalCount", OV_SLICES },
	{ "SliceTotalCount", OV_SLICES },
	{ "EuSubslicesTotalCount", OV_SUBSLICES },
	{ "XeCoreTotalCount", OV_SUBSLICES },
	{ "EuThreadsCount", OV_THREADS },
	{ "VectorEngineThreadsCount", OV_THREADS },
	{ "SliceMask", OV_SLICE_MASK },
	{ "SubsliceMask", OV_SUBSLICE_MASK },
	{ "DualSubsliceMask", OV_SUBSLICE_MASK },
	{ "XeCoreMask", OV_XECORE_MASK },
	{ "GpuTimestampFrequency", OV_TS_HZ },
	{ "GpuMaxFrequency", OV_MAX_HZ },
	{ "SkuRevisionId", OV_REVISION },
	{ "QueryMode", OV_QUERY_MODE },
	{ "SqidiTotalCount", OV_SQIDI },
	{ "L3BankTotalCount", OV_L3_BANK },
	{ "L3NodeTotalCount", OV_L3_NODE },
	{ "GeometryPipeTotalCount", OV_GEOMETRY_PIPE },
	{ "DepthPipeTotalCount", OV_DEPTH_PIPE },
	{ "ColorPipeTotalCount", OV_COLOR_PIPE },
	{ "ComputeEngineTotalCount", OV_COMPUTE_ENGINE },
	{ "CopyEngineTotalCount", OV_COPY_ENGINE },
	/* The next two variables are not in XML files of metric sets: only OA recordings that
	 * gpustat has written contain their names. */
	{ "CommandStreamerFrequency", OV_CS_HZ },
	{ "GraphicsVersion", OV_VERSION },
};

/* Parses a number at the start of s, stores it in *v and removes it from s. Returns false if s does
 * not start with a number, or if the number is not below max. */
static bool index_parse(struct str *s, u64 max, u64 *v)
{
	const char *e = scan_u64(*s, v);

	if (!e || *v >= max)
		return false;
	s->p = e;
	return true;
}

/* Finds an equation variable that has an index in its name: GtSlice0, GtSlice0XeCore3, GtXeCore12.
 * Returns false if name is not the name of such a variable. */
static bool find_indexed(struct str name, u8 *var, u64 *index)
{
	u64 core;

	if (str_skip_z(&name, "GtXeCore")) {
		*var = OV_XECORE;
		return index_parse(&name, 64, index) && name.p == name.e;
	}
	*var = OV_GT_SLICE;
	if (!str_skip_z(&name, "GtSlice") || !index_parse(&name, 64, index))
		return false;
	if (!str_skip_z(&name, "XeCore"))
		return name.p == name.e;
	*var = OV_GT_XECORE;
	if (*index >= 64 / 4 || !index_parse(&name, 4, &core))
		return false;
	*index = *index * 4 + core;
	return name.p == name.e;
}

/* Finds an equation variable by its name, with or without the $. Stores its number (enum oavar) in
 * *var, and its index in *index (0 if the variable has no index). Returns false if there is no such
 * variable. */
bool oavar_find(struct str name, u8 *var, u8 *index)
{
	u64 i = 0;
	bool found;

	str_skip_z(&name, "$");
	found = find_indexed(name, var, &i);
	*index = found ? (u8)i : 0;
	for (size_t k = 0; !found && k < LEN(variables); k++) {
		found = str_is(name, variables[k].name);
		*var = variables[k].var;
	}
	return found;
}

/* Stores the value of an equation variable of the device in *value. Returns false and stores 0 if
 * the value is unknown. */
bool oavar_value(const struct oadevice *d, u8 var, u8 index, u64 *value)
{
	u64 bits = var == OV_GT_SLICE ? d->slices : var == OV_GT_XECORE ? d->cores : d->cores_all;

	if (var == OV_GT_SLICE || var == OV_GT_XECORE || var == OV_XECORE)
		*value = index < 64 ? bits >> index & 1 : 0;
	else
		*value = var < OV_COUNT ? d->var[var] : 0;
	return var >= OV_NUMBERS || *value;
}

/* Returns the name of an equation variable that has no index; its first name if it has several. */
const char *oavar_name(unsigned var)
{
	size_t i = 0;

	while (i < LEN(variables) - 1 && variables[i].var != var)
		i++;
	return variables[i].name;
}

/* --- numbers in recordings -------------------------------------------------------------------- */

/* First equation variable (enum oavar) that put_oadevice() writes to an OA recording. The variables
 * before it are in the recording's records INFO and TOPOLOGY. */
enum { FIRST_NUMBER = OV_THREADS };

/* Appends a line "NAME VALUE" for each known property of the GPU (variables from FIRST_NUMBER
 * on). */
void put_oadevice(struct buf *b, const struct oadevice *d)
{
	for (unsigned var = FIRST_NUMBER; var < OV_NUMBERS; var++) {
		if (!d->var[var])
			continue;
		put_z(b, oavar_name(var));
		put_c(b, ' ');
		put_u64(b, d->var[var]);
		put_c(b, '\n');
	}
}

/* Sets properties of the GPU from lines "NAME VALUE", as put_oadevice() writes them, and the
 * platform if it is unknown. Ignores lines with another name or with the value 0. */
void oadevice_read(struct oadevice *d, struct str text)
{
	struct str name, value;
	u8 var, index;
	u64 v;

	while (str_word(&text, &name) && str_word(&text, &value)) {
		if (scan_u64(value, &v) != value.e || !oavar_find(name, &var, &index) ||
		    var < FIRST_NUMBER || var >= OV_NUMBERS || !v)
			continue;
		d->var[var] = v;
	}
	version_set(d, d->var[OV_VERSION]);
}
