/* t_oadevice.c - platforms, topologies and variables of sources/oadevice.c; the built-in sets of sources/oabasic.c.
 * SPDX-License-Identifier: MIT */
#include "../sources/oadevice.c" /* its tables */
#include "unit.h"

static bool is_named(const struct oaplatform *p, const char *name)
{
	return p ? !strcmp(p->name, name) : !*name;
}

/* --- platforms ---------------------------------------------------------------------------------------- */

static const struct {
	u32 pci;
	const char *name;
} known[] = {
	/* those that recordings are made of */
	{ 0x0412, "hsw" }, { 0x1616, "bdw" }, { 0x1626, "bdw" }, { 0x22b0, "chv" }, { 0x1912, "sklgt2" }, { 0x1926, "sklgt3" },
	{ 0x193b, "sklgt4" }, { 0x5916, "kblgt2" }, { 0x5926, "kblgt3" }, { 0x3e92, "cflgt2" }, { 0x3ea5, "cflgt3" },
	{ 0x1a84, "bxt" }, { 0x3184, "glk" }, { 0x5a40, "cnl" }, { 0x8a52, "icl" }, { 0x4541, "ehl" }, { 0x9a60, "tglgt1" },
	{ 0x9a49, "tglgt2" }, { 0x4c8a, "rkl" }, { 0x4905, "dg1" }, { 0x46a6, "adl" }, { 0x56a0, "acmgt3" },
	{ 0x7d45, "mtlgt2" }, { 0x7d55, "mtlgt3" }, { 0x64a0, "lnl" }, { 0xe20b, "bmg" }, { 0xb080, "ptl" },
	/* neighbours that differ, and the last of each list of pciids.h */
	{ 0x0d2e, "hsw" }, { 0x0a2e, "hsw" }, { 0x163e, "bdw" }, { 0x22b3, "chv" }, { 0x1902, "sklgt2" }, { 0x1921, "sklgt2" },
	{ 0x1923, "sklgt3" }, { 0x192d, "sklgt3" }, { 0x1932, "sklgt4" }, { 0x193d, "sklgt4" }, { 0x0a84, "bxt" },
	{ 0x5a85, "bxt" }, { 0x5a5c, "cnl" }, { 0x3185, "glk" }, { 0x591c, "kblgt2" }, { 0x87c0, "kblgt2" },
	{ 0x87ca, "cflgt2" },
	{ 0x5923, "kblgt3" }, { 0x593b, "kblgt3" }, { 0x3ea0, "cflgt2" }, { 0x3ea1, "cflgt2" }, { 0x3ea2, "cflgt3" },
	{ 0x3ea3, "cflgt2" }, { 0x3ea4, "cflgt2" }, { 0x3ea8, "cflgt3" }, { 0x3ea9, "cflgt2" }, { 0x9bf6, "cflgt2" },
	{ 0x9b21, "cflgt2" }, { 0x8a71, "icl" }, { 0x4571, "ehl" }, { 0x4e71, "ehl" }, { 0x9a59, "tglgt2" },
	{ 0x9a70, "tglgt1" }, { 0x9a78, "tglgt2" }, { 0x9af8, "tglgt2" }, { 0x4c9a, "rkl" }, { 0x4909, "dg1" },
	{ 0x4626, "adl" }, { 0x4693, "adl" }, { 0x46d4, "adl" }, { 0xa721, "adl" }, { 0xa7ad, "adl" }, { 0xa78b, "adl" },
	{ 0x5690, "acmgt3" }, { 0x5693, "acmgt1" }, { 0x5695, "acmgt1" }, { 0x5696, "acmgt2" }, { 0x56a2, "acmgt3" },
	{ 0x56a3, "acmgt2" }, { 0x56a5, "acmgt1" }, { 0x56b1, "acmgt1" }, { 0x56b3, "acmgt2" }, { 0x56ba, "acmgt1" },
	{ 0x56be, "acmgt3" }, { 0x56c0, "acmgt3" }, { 0x56c1, "acmgt1" }, { 0x56c2, "acmgt3" }, { 0x7d40, "mtlgt2" },
	{ 0x7d41, "mtlgt2" }, { 0x7d51, "mtlgt3" }, { 0x7d60, "mtlgt2" }, { 0x7d67, "mtlgt2" }, { 0xb640, "mtlgt2" },
	{ 0x7dd1, "mtlgt3" }, { 0x7dd5, "mtlgt3" }, { 0x0b69, "pvc" }, { 0x0bd0, "pvc" }, { 0x0be5, "pvc" }, { 0x6420, "lnl" },
	{ 0x64b0, "lnl" }, { 0xe223, "bmg" }, { 0xe202, "bmg" }, { 0xb0b0, "ptl" }, { 0xfd81, "ptl" },
	/* Ivy Bridge, Valley View, Nova Lake, Crescent Island; nobody; too wide */
	{ 0x0166, "" }, { 0x0f30, "" }, { 0xd740, "" }, { 0x674c, "" }, { 0, "" }, { 0xffff, "" }, { 0x11912, "" },
};

static void test_platforms(void)
{
	size_t bad = 0;

	for (size_t i = 0; i < LEN(known); i++) {
		const struct oaplatform *p = oaplatform_of(known[i].pci);

		if (!is_named(p, known[i].name) && ++bad)
			note("%04x is %s, not %s", known[i].pci, p ? p->name : "nothing", known[i].name);
	}
	check_u64(bad, 0, "PCI ids have their platform");
	bad = 0;
	for (size_t i = 0; i < LEN(pci_ids); i++)
		bad += pci_ids[i].first > pci_ids[i].last || (i && pci_ids[i].first <= pci_ids[i - 1].last);
	check_u64(bad, 0, "ranges rise and do not overlap");
	bad = 0;
	for (size_t i = 0; i < noaplatforms; i++) {
		const struct oaplatform *p = &oaplatforms[i];
		bool has = false, fits = false;

		for (size_t k = 0; k < LEN(pci_ids); k++)
			has |= pci_ids[k].platform == i;
		fits = p->family < noafamilies && oaformat_named(str_z(oafamilies[p->family].format));
		if ((!has || !fits || !p->threads || !p->ts_hz || !p->gen) && ++bad)
			note("%s", p->name);
	}
	check_u64(bad, 0, "each has an id, a family of its format, threads and a clock");
	check(oaplatform_of(0x56a0)->ts_shift == 1 && oaplatform_of(0x7d55)->ts_shift == 1 &&
	      oaplatform_of(0x9a49)->ts_shift == 0, "only on DG2 and MTL the clock of correlations is slower");
	check(oaplatform_of(0x3184)->threads == 6 && oaplatform_of(0x1912)->threads == 7 &&
	      oaplatform_of(0x56a0)->threads == 8, "threads");
}

static void test_names(void)
{
	size_t bad = 0;

	for (size_t i = 0; i < noaplatforms; i++) {
		char upper[16] = "XE-";
		size_t n = 3;

		for (const char *p = oaplatforms[i].name; *p; p++)
			upper[n++] = *p >= 'a' && *p <= 'z' ? (char)(*p & ~0x20) : *p;
		bad += oaplatform_named(str_z(oaplatforms[i].name)) != &oaplatforms[i];
		bad += oaplatform_named(edge_str(upper + 3, n - 3)) != &oaplatforms[i];
		bad += oaplatform_named(edge_str(upper, n)) != &oaplatforms[i];
		for (size_t k = 0; k < n; k++)
			bad += oaplatform_named(edge_str(upper, k)) != NULL;
	}
	check_u64(bad, 0, "names in small and capital letters, with and without xe-; never cut ones");
	check(is_named(oaplatform_named((struct str)STR("xe-lnl")), "lnl") &&
	      is_named(oaplatform_named((struct str)STR("SKLGT2")), "sklgt2"), "xe-lnl, SKLGT2");
	check(!oaplatform_named((struct str)STR("")) && !oaplatform_named((struct str)STR("sklgt22")) &&
	      !oaplatform_named((struct str)STR("xe-xe-lnl")) && !oaplatform_named((struct str){ 0 }) &&
	      !oaplatform_named((struct str)STR("LNL\xcc")), "others are nothing");
}

/* --- topologies ------------------------------------------------------------------------------------------ */

/* Slices of subslices of EUs, all there but those that are given: as the kernel lays them out. */
struct chip {
	const char *platform;
	u16 slices, subslices, eus;
	u64 slice_mask, subslice_fused[3], eus_fused; /* EUs of the first subslice */
	u64 n_eus, n_slices, n_subslices, subslice_mask, gt_slices, cores, cores_all;
};

static const struct chip chips[] = {
	{ "hsw", 1, 2, 10, 1, { 0 }, 0, 20, 1, 2, 3, 1, 3, 3 },
	{ "bdw", 2, 3, 8, 3, { 0 }, 0, 48, 2, 6, 077, 3, 0x77, 077 },
	{ "sklgt4", 3, 3, 8, 7, { 0 }, 0x80, 71, 3, 9, 0777, 7, 0x777, 0777 },
	{ "sklgt4", 3, 3, 8, 5, { 0, 0, 2 }, 0, 40, 2, 5, 0507, 5, 0x507, 0507 },   /* a slice and a subslice less */
	{ "bxt", 1, 3, 6, 1, { 4 }, 0, 12, 1, 2, 3, 1, 3, 3 },
	{ "cnl", 2, 3, 8, 3, { 0, 1 }, 0, 40, 2, 5, 067, 3, 0x67, 067 },
	{ "icl", 1, 8, 8, 1, { 0 }, 0, 64, 1, 8, 0xff, 1, 0xf, 0xff },
	{ "icl", 2, 4, 8, 3, { 8 }, 0, 56, 2, 7, 0xf07, 3, 0xf7, 0xf7 },
	{ "tglgt2", 1, 6, 16, 1, { 0x20 }, 0x8001, 78, 1, 5, 0x1f, 1, 0xf, 0x1f },
	{ "acmgt3", 1, 32, 16, 1, { 0 }, 0, 512, 1, 32, 0xffffffff, 0xff, 0xffffffff, 0xffffffff },
	{ "acmgt1", 1, 32, 16, 1, { 0xfffff0ff }, 0, 64, 1, 4, 0xf00, 4, 0xf00, 0xf00 },
	{ "mtlgt3", 1, 8, 16, 1, { 0x10 }, 0, 112, 1, 7, 0xef, 3, 0xef, 0xef },
	{ "pvc", 1, 80, 8, 1, { 0 }, 0, 640, 1, 80, UINT64_MAX, 0xfffff, UINT64_MAX, UINT64_MAX },
	{ "lnl", 1, 8, 8, 1, { 0 }, 0, 64, 1, 8, 0xff, 3, 0xff, 0xff },
	{ "", 1, 3, 8, 1, { 0 }, 0, 24, 1, 3, 7, 1, 7, 7 },
};

static size_t chip_put(const struct chip *c, char *b)
{
	u16 ss_stride = (u16)((c->subslices + 7) / 8), eu_stride = (u16)((c->eus + 7) / 8);
	u16 head[8] = { 0, c->slices, c->subslices, c->eus, 1, ss_stride, (u16)(1 + c->slices * ss_stride), eu_stride };
	char *ss = b + sizeof(head) + 1, *eu = b + sizeof(head) + head[6];
	size_t n = (size_t)(eu - b) + (size_t)c->slices * c->subslices * eu_stride;

	memset(b, 0, n);
	memcpy(b, head, sizeof(head));
	b[sizeof(head)] = (char)c->slice_mask;
	for (size_t s = 0; s < c->slices; s++)
		for (size_t k = 0; k < c->subslices; k++) {
			if (k >= 64 || !(c->subslice_fused[s] >> k & 1))
				ss[s * ss_stride + k / 8] |= (char)(1 << k % 8);
			for (size_t e = 0; e < c->eus; e++)
				if (s || k || !(c->eus_fused >> e & 1))
					eu[(s * c->subslices + k) * eu_stride + e / 8] |= (char)(1 << e % 8);
		}
	return n;
}

static void test_topologies(void)
{
	static char b[4096];

	for (size_t i = 0; i < LEN(chips); i++) {
		const struct chip *c = &chips[i];
		size_t n = chip_put(c, b), cut = 0;
		struct oadevice d, was;

		oadevice_init(&d, 0x1234, oaplatform_named(str_z(c->platform)));
		d.var[OV_MAX_HZ] = 5;
		was = d;
		for (size_t k = 0; k < n; k++)
			cut += oadevice_topology(&d, edge_str(b, k)) || memcmp(&d, &was, sizeof(d)) != 0;
		check(cut == 0, "%s %zu: nothing of what is cut short", c->platform, i);
		check(oadevice_topology(&d, edge_str(b, n)), "%s %zu", c->platform, i);
		check_u64(d.var[OV_EUS], c->n_eus, "its EUs");
		check_u64(d.var[OV_SLICES], c->n_slices, "its slices");
		check_u64(d.var[OV_SUBSLICES], c->n_subslices, "its subslices");
		check_u64(d.var[OV_SLICE_MASK], c->slice_mask, "their masks");
		check_u64(d.var[OV_XECORE_MASK], c->slice_mask, "their masks");
		check_u64(d.var[OV_SUBSLICE_MASK], c->subslice_mask, "their masks");
		check_u64(d.slices, c->gt_slices, "GtSlice");
		check_u64(d.cores, c->cores, "GtSliceXeCore");
		check_u64(d.cores_all, c->cores_all, "GtXeCore");
		was = d;
		check(oadevice_topology(&d, edge_after(b, n)) && !memcmp(&d, &was, sizeof(d)), "twice is as once");
		check_u64(d.var[OV_MAX_HZ] + d.pci, 5 + 0x1234, "the rest stays");
	}
}

/* Whatever it is: if it is taken, then it can be. */
static bool feed_topology(struct str s)
{
	struct oadevice d;

	oadevice_init(&d, 0, &oaplatforms[SKLGT4]);
	if (!oadevice_topology(&d, s))
		return true;
	return d.var[OV_SLICES] && d.var[OV_SUBSLICES] && d.var[OV_EUS] <= 8 * str_len(s) &&
	       d.var[OV_SUBSLICES] <= 8 * str_len(s);
}

static void test_hostile(void)
{
	static const u16 heads[][8] = {
		{ 0, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff }, { 0, 1, 3, 8, 0xffff, 1, 2, 1 },
		{ 0, 1, 3, 8, 1, 1, 0xffff, 1 }, { 0, 1, 3, 8, 1, 0, 2, 1 }, { 0, 1, 9, 8, 1, 1, 2, 1 },
		{ 0, 1, 3, 8, 1, 1, 2, 0 }, { 0, 1, 3, 9, 1, 1, 2, 1 }, { 0, 0, 3, 8, 1, 1, 2, 1 },
		{ 0, 1, 0, 8, 1, 1, 2, 1 }, { 0, 1, 3, 0, 1, 1, 2, 1 }, { 0, 2, 3, 8, 1, 1, 2, 1 },
		{ 0, 41, 1, 8, 0, 0, 0, 1 }, { 0, 1, 3, 8, 3, 0xffff, 2, 1 }, { 0, 1, 3, 8, 1, 1, 2, 0xffff },
	};
	static char b[4096];
	size_t n = chip_put(&chips[LEN(chips) - 1], b), bad = 0, taken = 0;
	u64 seed = 1;

	check_u64(n, 16 + 5, "bytes of the smallest");
	for (size_t i = 0; i < LEN(heads); i++) {
		memcpy(b, heads[i], sizeof(heads[i]));
		if (oadevice_topology(&(struct oadevice){ 0 }, edge_str(b, n)) && ++bad)
			note("header %zu was taken", i);
	}
	check_u64(bad, 0, "sizes that do not fit are refused");
	n = chip_put(&chips[LEN(chips) - 1], b);
	memset(b + 18, 0, 3);
	check(!oadevice_topology(&(struct oadevice){ 0 }, edge_str(b, n)), "a GPU has EUs");
	memset(b + 16, 0, n - 16);
	check(!oadevice_topology(&(struct oadevice){ 0 }, edge_str(b, n)), "and slices");
	n = chip_put(&chips[3], b);
	check(replay((struct str){ b, b + n }, feed_topology), "changed bytes");
	bad = 0;
	for (int i = 0; i < 100000; i++) {
		for (size_t k = 0; k < n; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			b[k] = (char)(k < 16 && k % 2 ? 0 : k < 16 ? seed >> 61 : seed >> 56);
		}
		bad += !feed_topology(edge_str(b, n));
		taken += oadevice_topology(&(struct oadevice){ 0 }, edge_str(b, n));
	}
	check_u64(bad, 0, "random ones");
	check(taken > 1000, "of which some are taken");
}

/* --- variables --------------------------------------------------------------------------------------------- */

static void test_variables(void)
{
	static const struct {
		const char *name;
		u8 var, index;
		u64 v;
	} good[] = {
		{ "EuCoresTotalCount", OV_EUS, 0, 70 }, { "VectorEngineTotalCount", OV_EUS, 0, 70 },
		{ "EuSlicesTotalCount", OV_SLICES, 0, 71 }, { "SliceTotalCount", OV_SLICES, 0, 71 },
		{ "EuSubslicesTotalCount", OV_SUBSLICES, 0, 72 }, { "XeCoreTotalCount", OV_SUBSLICES, 0, 72 },
		{ "EuThreadsCount", OV_THREADS, 0, 73 }, { "VectorEngineThreadsCount", OV_THREADS, 0, 73 },
		{ "SliceMask", OV_SLICE_MASK, 0, 74 }, { "SubsliceMask", OV_SUBSLICE_MASK, 0, 75 },
		{ "DualSubsliceMask", OV_SUBSLICE_MASK, 0, 75 }, { "XeCoreMask", OV_XECORE_MASK, 0, 76 },
		{ "GtSlice0", OV_GT_SLICE, 0, 0 }, { "GtSlice1", OV_GT_SLICE, 1, 1 }, { "GtSlice63", OV_GT_SLICE, 63, 1 },
		{ "GtSlice0XeCore0", OV_GT_XECORE, 0, 0 }, { "GtSlice0XeCore3", OV_GT_XECORE, 3, 1 },
		{ "GtSlice2XeCore0", OV_GT_XECORE, 8, 1 }, { "GtSlice15XeCore3", OV_GT_XECORE, 63, 0 },
		{ "GtXeCore0", OV_XECORE, 0, 1 }, { "GtXeCore27", OV_XECORE, 27, 0 }, { "GtXeCore63", OV_XECORE, 63, 1 },
		{ "GpuTimestampFrequency", OV_TS_HZ, 0, 80 }, { "GpuMaxFrequency", OV_MAX_HZ, 0, 81 },
		{ "SkuRevisionId", OV_REVISION, 0, 82 }, { "QueryMode", OV_QUERY_MODE, 0, 83 },
		{ "SqidiTotalCount", OV_SQIDI, 0, 84 }, { "L3BankTotalCount", OV_L3_BANK, 0, 85 },
		{ "L3NodeTotalCount", OV_L3_NODE, 0, 86 }, { "GeometryPipeTotalCount", OV_GEOMETRY_PIPE, 0, 87 },
		{ "DepthPipeTotalCount", OV_DEPTH_PIPE, 0, 88 }, { "ColorPipeTotalCount", OV_COLOR_PIPE, 0, 89 },
		{ "ComputeEngineTotalCount", OV_COMPUTE_ENGINE, 0, 90 }, { "CopyEngineTotalCount", OV_COPY_ENGINE, 0, 91 },
	};
	static const char *const wrong[] = {
		"", "$", "Eu", "eucorestotalcount", "EuCoresTotalCounts", "GtSlice", "GtSlice64", "GtSlice1x", "GtSliceXeCore0",
		"GtSlice16XeCore0", "GtSlice0XeCore4", "GtSlice0XeCore", "GtSlice0XeCore0 ", "GtXeCore", "GtXeCore64",
		"GtXeCore1XeCore1", "GtXeCore18446744073709551616", "$$SliceMask", "GpuTime",
	};
	struct oadevice d = { .slices = (u64)1 << 63 | 2, .cores = 0x108, .cores_all = (u64)1 << 63 | 1 };
	size_t bad = 0;

	for (u64 i = 0; i < OV_COUNT; i++)
		d.var[i] = 70 + i;
	for (size_t i = 0; i < LEN(good); i++) {
		char dollar[64] = "$";
		u8 var = 99, index = 99, var2 = 99, index2 = 99;

		strcat(dollar, good[i].name);
		if ((!oavar_find(edge_str(dollar + 1, strlen(good[i].name)), &var, &index) ||
		     !oavar_find(edge_str(dollar, strlen(dollar)), &var2, &index2) || var != good[i].var || var2 != var ||
		     index != good[i].index || index2 != index || oavar_value(&d, var, index) != good[i].v) && ++bad)
			note("%s: %u [%u] = %" PRIu64, good[i].name, var, index, oavar_value(&d, var, index));
		for (size_t k = 0; k < strlen(dollar); k++)
			if (!(k > 8 && !memcmp(dollar, "$Gt", 3)) && oavar_find(edge_str(dollar, k), &var, &index) && ++bad)
				note("%.*s is one", (int)k, dollar);
	}
	check_u64(bad, 0, "variables by name, with and without $, and what they are");
	for (size_t i = 0; i < LEN(wrong); i++)
		if (oavar_find(edge_str(wrong[i], strlen(wrong[i])), &(u8){ 0 }, &(u8){ 0 }) && ++bad)
			note("%s is one", wrong[i]);
	check_u64(bad, 0, "others are none");
	check(!oavar_value(&d, OV_COUNT, 0) && !oavar_value(&d, 255, 255) && !oavar_value(&d, OV_GT_SLICE, 64) &&
	      !oavar_value(&d, OV_XECORE, 255), "beyond the last: 0");
	oadevice_init(&d, 0x9a49, oaplatform_of(0x9a49));
	check(oavar_value(&d, OV_THREADS, 0) == 7 && oavar_value(&d, OV_TS_HZ, 0) == 19200000 && !d.xe &&
	      !oavar_value(&d, OV_EUS, 0), "what the platform says");
	oadevice_init(&d, 0xb080, oaplatform_of(0xb080));
	check(d.xe && d.pci == 0xb080, "xe's");
	oadevice_init(&d, 1, NULL);
	check(!d.platform && !oavar_value(&d, OV_THREADS, 0), "an unknown one");
}

/* --- built-in sets -------------------------------------------------------------------------------------------- */

/* What ADD_CONFIG lets in, by family: i915_perf.c and xe_oa.c. */
struct range {
	u32 first, last;
};
static const struct range gen7_b[] = { { 0x2710, 0x272c }, { 0x2740, 0x275c }, { 0x2770, 0x27ac }, { 0 } };
static const struct range gen7_mux[] = { { 0x91b8, 0x91cc }, { 0x9800, 0x9888 }, { 0xe180, 0xe180 }, { 0 } };
static const struct range gen12_b[] = {
	{ 0x2b2c, 0x2b2c }, { 0xd900, 0xd97c }, { 0xdc00, 0xdc44 }, { 0 }
};
static const struct range xe2_all[] = { { 0x13000, 0x137fc }, { 0 } };
static const struct range eu_flex[] = {
	{ 0xe458, 0xe458 }, { 0xe558, 0xe558 }, { 0xe658, 0xe658 }, { 0xe758, 0xe758 }, { 0xe45c, 0xe45c },
	{ 0xe55c, 0xe55c }, { 0xe65c, 0xe65c }, { 0 }
};
static const struct range none[] = { { 0 } };

static bool lets_in(const struct oafamily *f, size_t type, u32 reg)
{
	bool hsw = !strcmp(f->name, "hsw"), xe2 = !strcmp(f->name, "xe2");
	bool old = hsw || !strcmp(f->name, "gen8") || !strcmp(f->name, "gen9") || !strcmp(f->name, "gen11");
	const struct range *r = type == OREG_NOA ? (hsw ? gen7_mux : none) :
	                        type == OREG_FLEX ? (hsw ? none : eu_flex) : xe2 ? xe2_all : old ? gen7_b : gen12_b;

	for (; r->last; r++)
		if (reg >= r->first && reg <= r->last)
			return reg % 4 == 0;
	return false;
}

static bool is_guid(const char *g)
{
	size_t n = strlen(g);

	for (size_t i = 0; i < n; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? g[i] != '-' : !strchr("0123456789abcdef", g[i]))
			return false;
	return n == 36 && g[14] == '4';
}

static bool has_reg(const struct oafamily *f, size_t type, u32 reg)
{
	for (size_t i = 0; i < f->nregs[type]; i++)
		if (f->regs[type][i][0] == reg)
			return true;
	return false;
}

static size_t wrong_registers(const struct oafamily *f)
{
	size_t bad = 0, n = 0;

	for (size_t type = 0; type < OREGS; type++) {
		n += f->nregs[type];
		bad += !f->nregs[type] != !f->regs[type];
		for (size_t i = 0; i < f->nregs[type]; i++) {
			u32 reg = f->regs[type][i][0];

			if (!lets_in(f, type, reg) && ++bad)
				note("%s: the kernel refuses %x", f->name, reg);
			for (size_t k = 0; k < i; k++)
				bad += f->regs[type][k][0] == reg;
		}
	}
	return bad + !n;
}

/* Whether counter n of a letter counts: reports have it, and it is fixed or selected. */
static bool is_counted(const struct oafamily *f, struct str letter, u64 n)
{
	static const u32 flex[] = { 0xe458, 0xe558, 0xe658, 0xe758, 0xe45c, 0xe55c, 0xe65c }; /* A7, A9, ... */
	bool hsw = !strcmp(f->name, "hsw"), xe2 = !strcmp(f->name, "xe2");

	if (str_eq(letter, (struct str)STR("GPU_TIME")))
		return n == 0;
	if (str_eq(letter, (struct str)STR("GPU_CLOCK")))
		return n == 0 && !hsw;
	if (xe2 && str_eq(letter, (struct str)STR("PEC")) && n < 64)
		return n < 32 ? has_reg(f, OREG_OA, (u32)(0x13000 + 8 * n)) :
		       has_reg(f, OREG_OA, (u32)(0x13300 + 8 * (n - 32))) &&
		       has_reg(f, OREG_OA, (u32)(0x13500 + 8 * (n - 32))) &&
		       has_reg(f, OREG_OA, (u32)(0x13700 + 8 * (n - 32)));
	if (hsw && str_eq(letter, (struct str)STR("B")))
		return n == 7 && has_reg(f, OREG_OA, 0x27a8) && has_reg(f, OREG_OA, 0x27ac);
	if (xe2 || !str_eq(letter, (struct str)STR("A")))
		return false;
	if (hsw)
		return n < 45;
	return n < 36 && (n < 7 || n > 20 || has_reg(f, OREG_FLEX, flex[(n - 7) / 2]));
}

/* The stack's depth behind an equation; 0: it makes no sense. seen: how many rows may be referred to. */
static size_t equation_depth(const struct oafamily *f, u8 bit, const char *equation, size_t seen)
{
	static const char *const ops = " UADD USUB UMUL UDIV FADD FSUB FMUL FDIV UMIN FMAX AND << >> && UGT ULTE UGTE ULT ";
	struct str text = str_z(equation), w, letter = { 0 };
	size_t depth = 0;
	u64 n = 0;

	while (str_word(&text, &w)) {
		char op[32];

		if (oabasic_end(w, &text))
			continue;
		snprintf(op, sizeof(op), " %.*s ", (int)str_len(w), w.p);
		if (*w.p == '$') {
			bool known_name = oavar_find(w, &(u8){ 0 }, &(u8){ 0 });

			for (size_t i = 0; i < seen; i++)
				known_name |= oabasic_rows[i].families & bit &&
				              str_eq((struct str){ w.p + 1, w.e }, str_z(oabasic_rows[i].name));
			if (!known_name)
				return 0;
			depth++;
		} else if (scan_u64(w, &n) == w.e) {
			depth++;
		} else if (str_eq(w, (struct str)STR("READ"))) {
			if (!letter.p || depth < 1 || !is_counted(f, letter, n))
				return 0;
			letter.p = NULL;
		} else if (strstr(ops, op)) {
			if (depth-- < 2)
				return 0;
		} else {
			if (letter.p)
				return 0;
			letter = w;
		}
	}
	return letter.p ? 0 : depth;
}

static void test_basic(void)
{
	size_t bad = 0, rows;

	check(oabasic.origin == OM_BASIC && !oabasic.text.p, "the file that they are from");
	for (size_t i = 0; i < noafamilies; i++) {
		const struct oafamily *f = &oafamilies[i];

		check_u64(wrong_registers(f), 0, "%s: registers that the kernel takes, each once", f->name);
		bad += !is_guid(f->guid);
		for (size_t k = 0; k < i; k++)
			bad += !strcmp(f->guid, oafamilies[k].guid) || !strcmp(f->name, oafamilies[k].name);
		bad += f->nregs[OREG_FLEX] && !strcmp(f->name, "hsw");
	}
	check_u64(bad, 0, "names and random UUIDs that differ");
	for (size_t i = 0; i < noafamilies; i++) {
		const struct oafamily *f = &oafamilies[i];
		u8 bit = (u8)(1 << i);

		bad = rows = 0;
		for (size_t k = 0; k < noabasic_rows; k++) {
			const struct oabasic_row *r = &oabasic_rows[k];
			size_t twice = 0;

			if (!(r->families & bit))
				continue;
			rows++;
			for (size_t j = 0; j < k; j++)
				twice += oabasic_rows[j].families & bit && !strcmp(oabasic_rows[j].name, r->name);
			if ((twice || !*oabasic_units[r->units] || equation_depth(f, bit, r->equation, k) != 1 ||
			     (oabasic_max[r->max] && equation_depth(f, bit, oabasic_max[r->max], k) != 1)) && ++bad)
				note("%s: %s", f->name, r->name);
		}
		check(bad == 0 && rows > 15, "%s: %zu counters that count, each once", f->name, rows);
	}
	for (size_t k = bad = 0; k < noabasic_rows; k++)
		bad += !oabasic_rows[k].families || oabasic_rows[k].families >> noafamilies;
	check_u64(bad, 0, "no row without a family, no family without a name");
	for (u32 n = 0; n < 64; n++) {
		char pec[16];
		bool used = false;

		snprintf(pec, sizeof(pec), "PEC %u READ", n);
		for (size_t k = 0; k < noabasic_rows; k++)
			used |= strstr(oabasic_rows[k].equation, pec) != NULL;
		bad += used != is_counted(&oafamilies[noafamilies - 1], (struct str)STR("PEC"), n);
	}
	check_u64(bad, 0, "no event is selected for nobody");
	check(!equation_depth(&oafamilies[1], 2, "A 1", 9) && !equation_depth(&oafamilies[1], 2, "$Nothing", 9) &&
	      !equation_depth(&oafamilies[1], 2, "1 UADD", 9) && !equation_depth(&oafamilies[1], 2, "A 20 READ", 9) &&
	      equation_depth(&oafamilies[1], 2, "1 1", 9) == 2, "these checks can fail");
}

/* --- against the public metric files --------------------------------------------------------------------------- */

enum { XML_MAX = 32 << 20 };

/* The attribute's value within one tag, or nothing. */
static struct str attr(struct str tag, const char *name)
{
	char want[40];
	const char *p, *e;

	snprintf(want, sizeof(want), " %s=\"", name);
	p = memmem(tag.p, str_len(tag), want, strlen(want));
	if (!p)
		return (struct str){ 0 };
	p += strlen(want);
	e = memchr(p, '"', (size_t)(tag.e - p));
	return e ? (struct str){ p, e } : (struct str){ 0 };
}

static bool same_words(struct str a, const char *b)
{
	struct str t = str_z(b), x, y;
	bool more, other;

	do {
		more = str_word(&a, &x);
		other = str_word(&t, &y);
		if (other && oabasic_end(y, &t))
			other = str_word(&t, &y);
		if (more != other || (more && !str_eq(x, y)))
			return false;
	} while (more);
	return true;
}

/* How often a row's counter stands in the sets of a chipset, and how often as in the row. */
static u16 in_xml[PLATFORMS][128], as_row[PLATFORMS][128];

static void count_counter(struct str tag, const struct oaplatform *p)
{
	size_t at = (size_t)(p - oaplatforms), fam = p->family;

	for (size_t k = 0; k < noabasic_rows; k++) {
		const struct oabasic_row *r = &oabasic_rows[k];

		if (!(r->families >> fam & 1) || !str_eq(attr(tag, "symbol_name"), str_z(r->name)))
			continue;
		in_xml[at][k]++;
		as_row[at][k] = (u16)(as_row[at][k] + (same_words(attr(tag, "equation"), r->equation) &&
		                 same_words(attr(tag, "max_equation"), oabasic_max[r->max] ? oabasic_max[r->max] : "") &&
		                 str_eq(attr(tag, "units"), str_z(oabasic_units[r->units])) &&
		                 str_eq(attr(tag, "data_type"), str_z(r->is_float ? "float" : "uint64"))));
	}
}

/* Each row is what the files have for each chipset of its family. */
static void test_files(void)
{
	FILE *f = popen("tar -xJOf ../shared/oa/metrics-xml.tar.xz 2>/dev/null", "r");
	char *b = malloc(XML_MAX), *e;
	size_t n = f && b ? fread(b, 1, XML_MAX - 1, f) : 0, bad = 0, seen = 0;
	const struct oaplatform *chipset = NULL;

	if (f)
		pclose(f);
	if (n < 1 << 20) {
		printf("ok %u - the public metric files # SKIP no archive of them\n", ++unit_ran);
		free(b);
		return;
	}
	b[n] = '\0';
	for (char *p = b; (p = strchr(p, '<')) != NULL && (e = strchr(p, '>')) != NULL; p = e) {
		if (!strncmp(p, "<set ", 5))
			chipset = oaplatform_named(attr((struct str){ p, e }, "chipset"));
		else if (chipset && !strncmp(p, "<counter ", 9))
			count_counter((struct str){ p, e }, chipset);
	}
	for (size_t i = 0; i < noaplatforms; i++)
		for (size_t k = 0; k < noabasic_rows; k++) {
			seen += as_row[i][k];
			/* CNL's computes the same in another order; those of PVC say EuSubslices for XeCore, and events. */
			if (in_xml[i][k] && !as_row[i][k] &&
			    !(i == CNL && !strcmp(oabasic_rows[k].name, "EuThreadOccupancy")) &&
			    !(i == PVC && !strncmp(oabasic_rows[k].name, "Slm", 3)) && ++bad)
				note("%s has another %s", oaplatforms[i].name, oabasic_rows[k].name);
		}
	check(bad == 0, "equations, units and types are those of the metric files");
	check(seen > 5000, "of which there are many");
	if (seen <= 5000)
		note("%zu", seen);
	free(b);
}

int main(void)
{
	test_platforms();
	test_names();
	test_topologies();
	test_hostile();
	test_variables();
	test_basic();
	test_files();
	return unit_end();
}
