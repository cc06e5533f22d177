/* oadevice.c - what equations ask of a GPU: which platform it is, how much of it there is. Pure: no system call.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"

/* --- platforms --------------------------------------------------------------------------------------- */

enum {
	HSW, BDW, CHV, SKLGT2, SKLGT3, SKLGT4, BXT, KBLGT2, KBLGT3, GLK, CFLGT2, CFLGT3, CNL, ICL, EHL, TGLGT1, TGLGT2,
	RKL, DG1, ADL, ACMGT1, ACMGT2, ACMGT3, PVC, MTLGT2, MTLGT3, LNL, BMG, PTL, PLATFORMS
};

/* Threads of an EU and shifts: lib/i915/perf.c and lib/xe/xe_oa.c of IGT, which has 7 for Xe2 and Xe3, too. The clock
 * is the usual one: kernels and recordings tell a device's own. */
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
};
const size_t noaplatforms = LEN(oaplatforms);
_Static_assert(LEN(oaplatforms) == PLATFORMS, "a row for each");

/* Linux' include/drm/intel/pciids.h, and 0bd0 to 0bd2 of IGT. Levels are IGT's, which has no sets for some: SKL to CFL
 * of GT1 and GT1.5 go with GT2 here, KBL GT4 with GT3; ARL U and S with MTL GT2, ARL H with MTL GT3, which has as many
 * cores; WCL with PTL: both are Xe3_LPG in xe_pci.c. A range may hold ids that nobody has, none that another has. */
static const struct {
	u16 first, last;
	u8 platform;
} pci_ids[] = {
	{ 0x0402, 0x042e, HSW }, { 0x0a02, 0x0a2e, HSW }, { 0x0a84, 0x0a84, BXT }, { 0x0b69, 0x0b6e, PVC },
	{ 0x0bd0, 0x0be5, PVC }, { 0x0c02, 0x0c2e, HSW }, { 0x0d02, 0x0d2e, HSW }, { 0x1602, 0x163e, BDW },
	{ 0x1902, 0x1921, SKLGT2 }, { 0x1923, 0x192d, SKLGT3 }, { 0x1932, 0x193d, SKLGT4 },
	{ 0x1a84, 0x1a85, BXT }, { 0x22b0, 0x22b3, CHV }, { 0x3184, 0x3185, GLK },
	{ 0x3e90, 0x3ea1, CFLGT2 }, { 0x3ea2, 0x3ea2, CFLGT3 }, { 0x3ea3, 0x3ea4, CFLGT2 },
	{ 0x3ea5, 0x3ea8, CFLGT3 }, { 0x3ea9, 0x3ea9, CFLGT2 }, { 0x4541, 0x4571, EHL },
	{ 0x4626, 0x462a, ADL }, { 0x4680, 0x46d4, ADL }, { 0x4905, 0x4909, DG1 }, { 0x4c80, 0x4c9a, RKL },
	{ 0x4e51, 0x4e71, EHL }, { 0x5690, 0x5692, ACMGT3 }, { 0x5693, 0x5695, ACMGT1 },
	{ 0x5696, 0x5697, ACMGT2 }, { 0x56a0, 0x56a2, ACMGT3 }, { 0x56a3, 0x56a4, ACMGT2 },
	{ 0x56a5, 0x56b1, ACMGT1 }, { 0x56b2, 0x56b3, ACMGT2 }, { 0x56ba, 0x56bd, ACMGT1 },
	{ 0x56be, 0x56c0, ACMGT3 }, { 0x56c1, 0x56c1, ACMGT1 }, { 0x56c2, 0x56c2, ACMGT3 },
	{ 0x5902, 0x5921, KBLGT2 }, { 0x5923, 0x593b, KBLGT3 }, { 0x5a40, 0x5a5c, CNL },
	{ 0x5a84, 0x5a85, BXT }, { 0x6420, 0x6420, LNL }, { 0x64a0, 0x64b0, LNL },
	{ 0x7d40, 0x7d45, MTLGT2 }, { 0x7d51, 0x7d55, MTLGT3 }, { 0x7d60, 0x7d67, MTLGT2 },
	{ 0x7dd1, 0x7dd5, MTLGT3 }, { 0x87c0, 0x87c0, KBLGT2 }, { 0x87ca, 0x87ca, CFLGT2 },
	{ 0x8a50, 0x8a71, ICL }, { 0x9a40, 0x9a59, TGLGT2 }, { 0x9a60, 0x9a70, TGLGT1 },
	{ 0x9a78, 0x9a78, TGLGT2 }, { 0x9ac0, 0x9af8, TGLGT2 }, { 0x9b21, 0x9b41, CFLGT2 },
	{ 0x9ba2, 0x9bf6, CFLGT2 }, { 0xa720, 0xa721, ADL }, { 0xa780, 0xa7ad, ADL },
	{ 0xb080, 0xb0b0, PTL }, { 0xb640, 0xb640, MTLGT2 }, { 0xe202, 0xe223, BMG }, { 0xfd80, 0xfd81, PTL },
};

/* The platform of a PCI device id; NULL: none that we know. */
const struct oaplatform *oaplatform_of(u32 pci)
{
	for (size_t i = 0; i < LEN(pci_ids); i++)
		if (pci >= pci_ids[i].first && pci <= pci_ids[i].last)
			return &oaplatforms[pci_ids[i].platform];
	return NULL;
}

/* Whether s starts with the small letters of lead, in whatever case; if so, s is what follows. */
static bool skip_letters(struct str *s, struct str lead)
{
	struct str r = *s;

	for (; lead.p < lead.e; lead.p++, r.p++)
		if (r.p == r.e || (*r.p >= 'A' && *r.p <= 'Z' ? *r.p | 0x20 : *r.p) != *lead.p)
			return false;
	*s = r;
	return true;
}

/* By the chipset of a metric file ("SKLGT2") or the name of the file ("xe-lnl"); NULL: no such platform. */
const struct oaplatform *oaplatform_named(struct str name)
{
	skip_letters(&name, (struct str)STR("xe-"));
	for (size_t i = 0; i < noaplatforms; i++) {
		struct str rest = name;

		if (skip_letters(&rest, str_z(oaplatforms[i].name)) && rest.p == rest.e)
			return &oaplatforms[i];
	}
	return NULL;
}

/* --- a device ------------------------------------------------------------------------------------------- */

/* A device of that platform (NULL: unknown) before anybody told what it has. */
void oadevice_init(struct oadevice *d, u32 pci, const struct oaplatform *p)
{
	*d = (struct oadevice){ .platform = p, .pci = pci };
	if (!p)
		return;
	d->xe = p->xe;
	d->var[OV_THREADS] = p->threads;
	d->var[OV_TS_HZ] = p->ts_hz;
}

/* struct drm_i915_query_topology_info: its header, eight u16, then bytes that the offsets count from. */
struct topology {
	u16 flags, slices, subslices, eus, subslice_at, subslice_stride, eu_at, eu_stride;
};

static bool has_bit(const char *p, u64 bit)
{
	return (u8)p[bit / 8] >> (bit & 7) & 1;
}

/* A bit beyond 63 is dropped. */
static u64 bit_of(u64 i)
{
	return i < 64 ? (u64)1 << i : 0;
}

/* Whether all that the header announces lies within n bytes. */
static bool topology_fits(const struct topology *t, u64 n)
{
	u64 all = (u64)t->slices * t->subslices;

	return t->slices && t->subslices && t->eus && t->slices <= 8 * n && t->subslices <= 8 * t->subslice_stride &&
	       t->eus <= 8 * t->eu_stride && t->subslice_at + (u64)t->slices * t->subslice_stride <= n &&
	       t->eu_at + all * t->eu_stride <= n;
}

/* Takes over subslice ss of slice s. */
static void add_subslice(struct oadevice *d, const struct topology *t, u64 s, u64 ss)
{
	u16 gen = d->platform ? d->platform->gen : 0;
	u64 at = s * t->subslices + ss;

	d->var[OV_SUBSLICES]++;
	/* Equations expect so many bits of each slice: intel_perf_for_devinfo() in lib/i915/perf.c of IGT. */
	d->var[OV_SUBSLICE_MASK] |= bit_of(s * (gen < 1100 ? 3 : 8) + ss);
	d->cores_all |= bit_of(at);
	if (gen >= 1255) {
		/* The kernel calls all one slice; slices have four cores each: intel_device_info.c of Mesa,
		 * update_from_single_slice_topology(). */
		d->slices |= bit_of(at / 4);
		d->cores |= bit_of(at);
	} else {
		d->slices |= bit_of(s);
		d->cores |= ss < 4 ? bit_of(s * 4 + ss) : 0;
	}
}

/* What DRM_I915_QUERY_TOPOLOGY_INFO gave. False, and nothing changed, where it makes no sense. Counts and masks are the
 * query's own, as in IGT, also where it has all in one slice. */
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
	got.var[OV_SLICE_MASK] = got.var[OV_SUBSLICE_MASK] = got.slices = got.cores = got.cores_all = 0;
	for (u64 s = 0; s < t.slices; s++) {
		if (!has_bit(p, s))
			continue;
		got.var[OV_SLICES]++;
		got.var[OV_SLICE_MASK] |= bit_of(s);
		for (u64 ss = 0; ss < t.subslices; ss++) {
			if (!has_bit(p + t.subslice_at + s * t.subslice_stride, ss))
				continue;
			add_subslice(&got, &t, s, ss);
			for (u64 eu = 0; eu < t.eus; eu++)
				got.var[OV_EUS] += has_bit(p + t.eu_at + (s * t.subslices + ss) * t.eu_stride, eu);
		}
	}
	got.var[OV_XECORE_MASK] = got.var[OV_SLICE_MASK]; /* as IGT has it */
	if (!got.var[OV_EUS])
		return false;
	*d = got;
	return true;
}

/* --- variables --------------------------------------------------------------------------------------------- */

/* intel_perf_devinfo's, in the code that IGT and Mesa (gen_perf.py) make of metric files; $XeCoreMask is the mask of
 * subslices in Mesa. Those of xe from Sqidi on are of Intel's metrics-discovery. */
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
};

/* A number below max at the front of s; s is what follows. */
static bool take_index(struct str *s, u64 max, u64 *v)
{
	const char *e = scan_u64(*s, v);

	if (!e || *v >= max)
		return false;
	s->p = e;
	return true;
}

/* GtSlice0, GtSlice0XeCore3, GtXeCore12. */
static bool find_indexed(struct str name, u8 *var, u64 *index)
{
	u64 core;

	if (str_skip_z(&name, "GtXeCore")) {
		*var = OV_XECORE;
		return take_index(&name, 64, index) && name.p == name.e;
	}
	*var = OV_GT_SLICE;
	if (!str_skip_z(&name, "GtSlice") || !take_index(&name, 64, index))
		return false;
	if (!str_skip_z(&name, "XeCore"))
		return name.p == name.e;
	*var = OV_GT_XECORE;
	if (*index >= 64 / 4 || !take_index(&name, 4, &core))
		return false;
	*index = *index * 4 + core;
	return name.p == name.e;
}

/* What a name, with or without its $, stands for; index: where the variable has one. */
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

u64 oavar_value(const struct oadevice *d, u8 var, u8 index)
{
	u64 bits = var == OV_GT_SLICE ? d->slices : var == OV_GT_XECORE ? d->cores : d->cores_all;

	if (var == OV_GT_SLICE || var == OV_GT_XECORE || var == OV_XECORE)
		return index < 64 ? bits >> index & 1 : 0;
	if (var == OV_COMPUTE_ENGINE && !d->var[var])
		var = OV_EUS; /* recordings do not say how many there are: IGT's reader takes the EUs */
	return var < OV_COUNT ? d->var[var] : 0;
}
