/* t_oadevice.c - unit test of sources/oa/oadevice.c and sources/oa/oabasic.c: platforms,
 * topologies and variables; the built-in metric sets. SPDX-License-Identifier: MIT */
#include "../../sources/oa/oadevice.c" /* for its static tables */
#include "unit.h"

static bool is_named(const struct oaplatform *p, const char *name)
{
	return p ? !strcmp(p->name, name) : !*name;
}

/* Returns the value of a variable; 0 if it is unknown. */
static u64 value_of(const struct oadevice *d, u8 var, u8 index)
{
	u64 v = UINT64_MAX;

	oavar_value(d, var, index, &v);
	return v;
}

/* --- platforms -------------------------------------------------------------------------------- */

static const struct {
	u32 pci;
	const char *name;
} known[] = {
	/* the devices for which recordings are made */
	{ 0x0412, "hsw" }, { 0x1616, "bdw" }, { 0x1626, "bdw" }, { 0x22b0, "chv" }, { 0x1912, "sklgt2" }, { 0x1926, "sklgt3" },
	{ 0x193b, "sklgt4" }, { 0x5916, "kblgt2" }, { 0x5926, "kblgt3" }, { 0x3e92, "cflgt2" }, { 0x3ea5, "cflgt3" },
	{ 0x1a84, "bxt" }, { 0x3184, "glk" }, { 0x5a40, "cnl" }, { 0x8a52, "icl" }, { 0x4541, "ehl" }, { 0x9a60, "tglgt1" },
	{ 0x9a49, "tglgt2" }, { 0x4c8a, "rkl" }, { 0x4905, "dg1" }, { 0x46a6, "adl" }, { 0x56a0, "acmgt3" },
	{ 0x7d45, "mtlgt2" }, { 0x7d55, "mtlgt3" }, { 0x64a0, "lnl" }, { 0xe20b, "bmg" }, { 0xb080, "ptl" },
	/* neighbouring IDs of different platforms, and the last ID of each list in pciids.h */
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
	{ 0xd740, "nvls" }, { 0xd74b, "nvls" }, { 0xd750, "nvlp" }, { 0xd75f, "nvlp" }, { 0x674c, "cri" }, { 0x6750, "cri" },
	/* unsupported: Ivy Bridge, Valley View; unused; invalid; too wide */
	{ 0x0166, "" }, { 0x0f30, "" }, { 0xd74c, "" }, { 0xd73f, "" }, { 0xd760, "" }, { 0x674b, "" }, { 0x6751, "" },
	{ 0, "" }, { 0xffff, "" }, { 0x11912, "" },
};

/* Generation, threads of an EU, shift and clock in lib/i915/perf.c and lib/xe/xe_oa.c of IGT, and for
 * NVLS and later in xe_pci.c; the family is not compared. */
static const struct oaplatform values[] = {
	{ "hsw", 0, 750, false, 7, 0, 12500000 }, { "bdw", 0, 800, false, 7, 0, 12500000 },
	{ "chv", 0, 800, false, 7, 0, 12500000 }, { "sklgt2", 0, 900, false, 7, 0, 12000000 },
	{ "sklgt3", 0, 900, false, 7, 0, 12000000 }, { "sklgt4", 0, 900, false, 7, 0, 12000000 },
	{ "bxt", 0, 900, false, 6, 0, 19200000 }, { "kblgt2", 0, 900, false, 7, 0, 12000000 },
	{ "kblgt3", 0, 900, false, 7, 0, 12000000 }, { "glk", 0, 900, false, 6, 0, 19200000 },
	{ "cflgt2", 0, 900, false, 7, 0, 12000000 }, { "cflgt3", 0, 900, false, 7, 0, 12000000 },
	{ "cnl", 0, 1000, false, 7, 0, 24000000 }, { "icl", 0, 1100, false, 7, 0, 12000000 },
	{ "ehl", 0, 1100, false, 7, 0, 19200000 }, { "tglgt1", 0, 1200, false, 7, 0, 19200000 },
	{ "tglgt2", 0, 1200, false, 7, 0, 19200000 }, { "rkl", 0, 1200, false, 7, 0, 19200000 },
	{ "dg1", 0, 1210, false, 7, 0, 19200000 }, { "adl", 0, 1200, false, 7, 0, 19200000 },
	{ "acmgt1", 0, 1255, false, 8, 1, 19200000 }, { "acmgt2", 0, 1255, false, 8, 1, 19200000 },
	{ "acmgt3", 0, 1255, false, 8, 1, 19200000 }, { "pvc", 0, 1260, true, 8, 0, 12500000 },
	{ "mtlgt2", 0, 1270, false, 8, 1, 38400000 }, { "mtlgt3", 0, 1270, false, 8, 1, 38400000 },
	{ "lnl", 0, 2004, true, 7, 0, 19200000 }, { "bmg", 0, 2001, true, 7, 0, 19200000 },
	{ "ptl", 0, 3000, true, 7, 0, 19200000 }, { "nvls", 0, 3005, true, 0, 0, 0 },
	{ "nvlp", 0, 3510, true, 0, 0, 0 }, { "cri", 0, 3511, true, 0, 0, 0 },
};

static void test_platforms(void)
{
	size_t bad = 0;

	for (size_t i = 0; i < LEN(known); i++) {
		const struct oaplatform *p = oaplatform_by_pci(known[i].pci);

		if (!is_named(p, known[i].name) && ++bad)
			note("%04x is %s, not %s", known[i].pci, p ? p->name : "nothing", known[i].name);
	}
	check_u64(bad, 0, "each PCI ID has the right platform");
	bad = 0;
	for (size_t i = 0; i < LEN(pci_ids); i++)
		bad += pci_ids[i].first > pci_ids[i].last || (i && pci_ids[i].first <= pci_ids[i - 1].last);
	check_u64(bad, 0, "the ranges of PCI IDs are ascending and do not overlap");
	bad = 0;
	for (size_t i = 0; i < noaplatforms; i++) {
		const struct oaplatform *p = &oaplatforms[i];
		bool has = false, fits = false;

		for (size_t k = 0; k < LEN(pci_ids); k++)
			has |= pci_ids[k].platform == i;
		fits = p->family < noafamilies && oaformat_by_name(str_z(oafamilies[p->family].format));
		if ((!has || !fits || !p->gen || (i < NVLS && (!p->threads || !p->ts_hz))) && ++bad)
			note("%s", p->name);
	}
	check_u64(bad, 0, "each platform has a PCI ID and a family with a report format, and up to PTL threads and a clock");
	bad = 0;
	for (size_t i = 0; i < noaplatforms; i++) {
		const struct oaplatform *p = &oaplatforms[i], *k = &values[i];
		bool same = i < LEN(values) && p->gen == k->gen && p->xe == k->xe && p->threads == k->threads &&
			    p->ts_shift == k->ts_shift && p->ts_hz == k->ts_hz && !strcmp(p->name, k->name);

		if (!same && ++bad)
			note("%s", p->name);
	}
	check_u64(bad, 0, "generation, threads and clock of each platform are those of IGT and of the kernel");
	check(oaplatform_by_pci(0x56a0)->ts_shift == 1 && oaplatform_by_pci(0x7d55)->ts_shift == 1 &&
	      oaplatform_by_pci(0x9a49)->ts_shift == 0, "the clock of correlations is slower only on DG2 and MTL");
	check(oaplatform_by_pci(0x3184)->threads == 6 && oaplatform_by_pci(0x1912)->threads == 7 &&
	      oaplatform_by_pci(0x56a0)->threads == 8, "topology: number of threads of an EU");
}

static void test_names(void)
{
	size_t bad = 0;

	for (size_t i = 0; i < noaplatforms; i++) {
		char upper[16] = "XE-";
		size_t n = 3;

		for (const char *p = oaplatforms[i].name; *p; p++)
			upper[n++] = *p >= 'a' && *p <= 'z' ? (char)(*p & ~0x20) : *p;
		bad += oaplatform_by_name(str_z(oaplatforms[i].name)) != &oaplatforms[i];
		bad += oaplatform_by_name(edge_str(upper + 3, n - 3)) != &oaplatforms[i];
		bad += oaplatform_by_name(edge_str(upper, n)) != &oaplatforms[i];
		for (size_t k = 0; k < n; k++)
			bad += oaplatform_by_name(edge_str(upper, k)) != NULL;
	}
	check_u64(bad, 0, "names in lower and upper case, with and without xe-, are found; truncated names are not");
	check(is_named(oaplatform_by_name((struct str)STR("xe-lnl")), "lnl") &&
	      is_named(oaplatform_by_name((struct str)STR("SKLGT2")), "sklgt2"), "xe-lnl and SKLGT2 are found");
	check(!oaplatform_by_name((struct str)STR("")) && !oaplatform_by_name((struct str)STR("sklgt22")) &&
	      !oaplatform_by_name((struct str)STR("xe-xe-lnl")) && !oaplatform_by_name((struct str){ 0 }) &&
	      !oaplatform_by_name((struct str)STR("LNL\xcc")), "other names are not found");
}

/* --- topologies ------------------------------------------------------------------------------- */

/* A topology in the kernel's layout: slices with subslices with EUs, except the fused-off ones. */
struct chip {
	const char *platform;
	u16 slices, subslices, eus;
	u64 slice_mask, subslice_fused[3], eus_fused; /* fused-off EUs of the first subslice */
	u64 n_eus, n_slices, n_subslices, subslice_mask, gt_slices, cores, cores_all;
};

static const struct chip chips[] = {
	{ "hsw", 1, 2, 10, 1, { 0 }, 0, 20, 1, 2, 3, 1, 3, 3 },
	{ "bdw", 2, 3, 8, 3, { 0 }, 0, 48, 2, 6, 077, 3, 0x77, 077 },
	{ "sklgt4", 3, 3, 8, 7, { 0 }, 0x80, 71, 3, 9, 0777, 7, 0x777, 0777 },
	/* with one slice and one subslice less */
	{ "sklgt4", 3, 3, 8, 5, { 0, 0, 2 }, 0, 40, 2, 5, 0507, 5, 0x507, 0507 },
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

		oadevice_init(&d, 0x1234, oaplatform_by_name(str_z(c->platform)));
		d.var[OV_MAX_HZ] = 5;
		was = d;
		for (size_t k = 0; k < n; k++)
			cut += oadevice_topology(&d, edge_str(b, k)) || memcmp(&d, &was, sizeof(d)) != 0;
		check(cut == 0, "%s %zu: a truncated topology is refused and changes nothing", c->platform, i);
		check(oadevice_topology(&d, edge_str(b, n)), "%s %zu: the topology is accepted", c->platform, i);
		check_u64(d.var[OV_EUS], c->n_eus, "topology: number of EUs");
		check_u64(d.var[OV_SLICES], c->n_slices, "topology: number of slices");
		check_u64(d.var[OV_SUBSLICES], c->n_subslices, "topology: number of subslices");
		check_u64(d.var[OV_SLICE_MASK], c->slice_mask, "topology: slice mask");
		check_u64(d.var[OV_XECORE_MASK], c->slice_mask, "topology: XeCore mask");
		check_u64(d.var[OV_SUBSLICE_MASK], c->subslice_mask, "topology: subslice mask");
		check_u64(d.slices, c->gt_slices, "topology: slices of GtSlice");
		check_u64(d.cores, c->cores, "topology: cores of GtSliceXeCore");
		check_u64(d.cores_all, c->cores_all, "topology: cores of GtXeCore");
		was = d;
		check(oadevice_topology(&d, edge_after(b, n)) && !memcmp(&d, &was, sizeof(d)),
		      "topology: the same topology again changes nothing");
		check_u64(d.var[OV_MAX_HZ] + d.pci, 5 + 0x1234,
		          "a new topology keeps the other values");
	}
}

/* An accepted topology must be possible, whatever its bytes are. */
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

	check_u64(n, 16 + 5, "topology: size of the smallest one");
	for (size_t i = 0; i < LEN(heads); i++) {
		memcpy(b, heads[i], sizeof(heads[i]));
		if (oadevice_topology(&(struct oadevice){ 0 }, edge_str(b, n)) && ++bad)
			note("header %zu was accepted", i);
	}
	check_u64(bad, 0, "headers with impossible sizes are refused");
	n = chip_put(&chips[LEN(chips) - 1], b);
	memset(b + 18, 0, 3);
	check(!oadevice_topology(&(struct oadevice){ 0 }, edge_str(b, n)), "a topology without EUs is refused");
	memset(b + 16, 0, n - 16);
	check(!oadevice_topology(&(struct oadevice){ 0 }, edge_str(b, n)), "a topology without slices is refused");
	n = chip_put(&chips[3], b);
	check(replay((struct str){ b, b + n }, feed_topology), "every truncation and change of a topology");
	bad = 0;
	for (int i = 0; i < 100000; i++) {
		for (size_t k = 0; k < n; k++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			b[k] = (char)(k < 16 && k % 2 ? 0 : k < 16 ? seed >> 61 : seed >> 56);
		}
		bad += !feed_topology(edge_str(b, n));
		taken += oadevice_topology(&(struct oadevice){ 0 }, edge_str(b, n));
	}
	check_u64(bad, 0, "random topologies: each accepted one is possible");
	check(taken > 1000, "random topologies: more than 1000 are accepted");
}

/* --- variables -------------------------------------------------------------------------------- */

static void test_variables(void)
{
	static const struct {
		const char *name;
		u8 var, index;
		u64 v;
	} good[] = {
		{ "EuCoresTotalCount", OV_EUS, 0, 70 + OV_EUS }, { "VectorEngineTotalCount", OV_EUS, 0, 70 + OV_EUS },
		{ "EuSlicesTotalCount", OV_SLICES, 0, 70 + OV_SLICES }, { "SliceTotalCount", OV_SLICES, 0, 70 + OV_SLICES },
		{ "EuSubslicesTotalCount", OV_SUBSLICES, 0, 70 + OV_SUBSLICES }, { "XeCoreTotalCount", OV_SUBSLICES, 0, 70 + OV_SUBSLICES },
		{ "EuThreadsCount", OV_THREADS, 0, 70 + OV_THREADS }, { "VectorEngineThreadsCount", OV_THREADS, 0, 70 + OV_THREADS },
		{ "SliceMask", OV_SLICE_MASK, 0, 70 + OV_SLICE_MASK }, { "SubsliceMask", OV_SUBSLICE_MASK, 0, 70 + OV_SUBSLICE_MASK },
		{ "DualSubsliceMask", OV_SUBSLICE_MASK, 0, 70 + OV_SUBSLICE_MASK }, { "XeCoreMask", OV_XECORE_MASK, 0, 70 + OV_XECORE_MASK },
		{ "GtSlice0", OV_GT_SLICE, 0, 0 }, { "GtSlice1", OV_GT_SLICE, 1, 1 }, { "GtSlice63", OV_GT_SLICE, 63, 1 },
		{ "GtSlice0XeCore0", OV_GT_XECORE, 0, 0 }, { "GtSlice0XeCore3", OV_GT_XECORE, 3, 1 },
		{ "GtSlice2XeCore0", OV_GT_XECORE, 8, 1 }, { "GtSlice15XeCore3", OV_GT_XECORE, 63, 0 },
		{ "GtXeCore0", OV_XECORE, 0, 1 }, { "GtXeCore27", OV_XECORE, 27, 0 }, { "GtXeCore63", OV_XECORE, 63, 1 },
		{ "GpuTimestampFrequency", OV_TS_HZ, 0, 70 + OV_TS_HZ }, { "GpuMaxFrequency", OV_MAX_HZ, 0, 70 + OV_MAX_HZ },
		{ "SkuRevisionId", OV_REVISION, 0, 70 + OV_REVISION }, { "QueryMode", OV_QUERY_MODE, 0, 70 + OV_QUERY_MODE },
		{ "SqidiTotalCount", OV_SQIDI, 0, 70 + OV_SQIDI }, { "L3BankTotalCount", OV_L3_BANK, 0, 70 + OV_L3_BANK },
		{ "L3NodeTotalCount", OV_L3_NODE, 0, 70 + OV_L3_NODE }, { "GeometryPipeTotalCount", OV_GEOMETRY_PIPE, 0, 70 + OV_GEOMETRY_PIPE },
		{ "DepthPipeTotalCount", OV_DEPTH_PIPE, 0, 70 + OV_DEPTH_PIPE }, { "ColorPipeTotalCount", OV_COLOR_PIPE, 0, 70 + OV_COLOR_PIPE },
		{ "ComputeEngineTotalCount", OV_COMPUTE_ENGINE, 0, 70 + OV_COMPUTE_ENGINE }, { "CopyEngineTotalCount", OV_COPY_ENGINE, 0, 70 + OV_COPY_ENGINE },
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
		     index != good[i].index || index2 != index || value_of(&d, var, index) != good[i].v) && ++bad)
			note("%s: %u [%u] = %" PRIu64, good[i].name, var, index, value_of(&d, var, index));
		for (size_t k = 0; k < strlen(dollar); k++)
			if (!(k > 8 && !memcmp(dollar, "$Gt", 3)) && oavar_find(edge_str(dollar, k), &var, &index) && ++bad)
				note("%.*s is accepted", (int)k, dollar);
	}
	check_u64(bad, 0, "variables are found by name, with and without $, and have the right value");
	bad = 0;
	for (size_t i = 0; i < LEN(wrong); i++)
		if (oavar_find(edge_str(wrong[i], strlen(wrong[i])), &(u8){ 0 }, &(u8){ 0 }) && ++bad)
			note("%s is accepted", wrong[i]);
	check_u64(bad, 0, "other names are not variables");
	check(!value_of(&d, OV_COUNT, 0) && !value_of(&d, 255, 255) && !value_of(&d, OV_GT_SLICE, 64) &&
	      !value_of(&d, OV_XECORE, 255), "a variable or index after the last one has the value 0");
	oadevice_init(&d, 0x9a49, oaplatform_by_pci(0x9a49));
	check(value_of(&d, OV_THREADS, 0) == 7 && value_of(&d, OV_TS_HZ, 0) == 19200000 && !d.xe &&
	      !value_of(&d, OV_EUS, 0), "the platform determines threads and timestamp frequency");
	oadevice_init(&d, 0xb080, oaplatform_by_pci(0xb080));
	check(d.xe && d.pci == 0xb080,
	      "a platform that only xe supports has its threads and frequency");
	bad = 0;
	for (u8 var = 0; var < OV_COUNT; var++) {
		u64 v;

		memset(&d, 0, sizeof(d));
		bad += oavar_value(&d, var, 0, &v) != (var >= OV_NUMBERS) || v != 0;
		d.var[var] = d.slices = d.cores = d.cores_all = 1;
		bad += !oavar_value(&d, var, 0, &v) || v != 1;
	}
	check_u64(bad, 0, "a count of 0 is unknown; a mask, a revision or a mode may be 0");
	bad = 0;
	for (u8 var = 0; var < OV_NUMBERS; var++) {
		u8 found, index;

		bad += !oavar_find(str_z(oavar_name(var)), &found, &index) || found != var || index;
	}
	check_u64(bad, 0, "each number has a name that finds it");
	oadevice_init(&d, 1, NULL);
	check(!d.platform && !value_of(&d, OV_THREADS, 0), "an unknown platform has no threads");
}

/* --- replies of xe ---------------------------------------------------------------------------- */

static char reply[1024];
static size_t reply_n;

static void reply_put(const void *p, size_t n)
{
	memcpy(reply + reply_n, p, n);
	reply_n += n;
}

/* A GT at the offsets of struct drm_xe_gt: type 0, clock 12, IP version 32 and 34, of 96 bytes. */
static void put_gt(u16 type, u32 clock, u16 major, u16 minor)
{
	char gt[96];

	memset(gt, 0x5a, sizeof(gt));
	memcpy(gt, &type, 2);
	memcpy(gt + 12, &clock, 4);
	memcpy(gt + 32, &major, 2);
	memcpy(gt + 34, &minor, 2);
	reply_put(gt, sizeof(gt));
}

static void put_mask(u16 gt, u16 type, u64 mask, u32 n)
{
	u16 head[2] = { gt, type };

	reply_put(head, sizeof(head));
	reply_put(&n, sizeof(n));
	reply_put(&mask, n);
}

static void put_key(u32 key, u32 n, u32 value)
{
	const u32 words[] = { key, n, value, value + 1 };

	reply_put(words, 8 + 4 * n);
}

static struct oadevice device_of(const char *platform)
{
	struct oadevice d;

	oadevice_init(&d, 0, oaplatform_by_name(str_z(platform)));
	return d;
}

static void test_gts(void)
{
	static const struct {
		u16 major, minor;
		u8 family;
		u16 gen; /* 0: no platform */
	} rows[] = {
		{ 0, 0, 0, 0 }, { 12, 55, 0, 0 }, { 12, 71, OF_XEHP, 1270 }, { 13, 0, OF_XEHP, 1270 }, { 20, 2, OF_XE2, 2000 },
		{ 30, 3, OF_XE2, 3000 }, { 35, 10, OF_XE2, XE3P }, { 65535, 65535, OF_XE2, XE3P },
	};
	struct oadevice d, was;
	size_t bad = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		reply_n = 0;
		reply_put(&(u32[2]){ 2, 0 }, 8);
		put_gt(1, 9, 13, 1); /* media */
		put_gt(0, 38400000, rows[i].major, rows[i].minor);
		for (size_t k = 0; k < reply_n; k++) {
			oadevice_init(&d, 0xbeef, NULL);
			was = d;
			oadevice_gts(&d, edge_str(reply, k));
			bad += memcmp(&d, &was, sizeof(d)) != 0;
		}
		oadevice_gts(&d, edge_str(reply, reply_n));
		bad += d.var[OV_VERSION] != rows[i].major * 100ull + rows[i].minor || d.var[OV_CS_HZ] != 38400000 || d.pci != 0xbeef;
		if (!check(rows[i].gen ? d.platform && d.platform->gen == rows[i].gen && d.platform->family == rows[i].family && d.xe :
			   !d.platform, "GT_LIST: the platform of an unlisted id of version %u.%u", rows[i].major, rows[i].minor))
			note("%s", d.platform ? d.platform->name : "none");
	}
	check_u64(bad, 0, "GT_LIST: version and clock of the first GT that is not for media; a truncated list changes nothing");
	d = device_of("lnl");
	oadevice_gts(&d, edge_str(reply, reply_n));
	check(is_named(d.platform, "lnl") && d.var[OV_VERSION], "GT_LIST: a listed id keeps its platform");
	check(!oaplatform_by_name((struct str)STR("xe2")),
	      "an unlisted platform has no chipset name in metric files");
}

/* The expected numbers are calculated by hand: banks in the mask, groups of four with one,
 * groups of eight with one. */
static void test_masks(void)
{
	static const struct {
		const char *platform;
		u64 mask, banks, nodes, sqidi, copies;
	} rows[] = {
		{ "lnl", 0xff, 8, 2, 2, 1 }, { "lnl", 0xf, 4, 1, 1, 1 }, { "bmg", 0xfffff, 20, 5, 5, 3 }, { "bmg", 0x8f0f7, 12, 4, 4, 3 },
		{ "bmg", 0xf000f, 8, 2, 2, 2 }, { "ptl", 0xffff, 16, 4, 4, 2 }, { "ptl", 0xf, 4, 1, 2, 1 }, { "nvls", 0x3, 2, 1, 2, 1 },
		{ "lnl", 0, 0, 0, 0, 0 }, { "bmg", UINT64_MAX, 64, 16, 16, 8 },
		/* of other families, the number of nodes is unknown */
		{ "nvlp", 0xff, 8, 0, 0, 0 }, { "cri", 0xff, 8, 0, 0, 0 }, { "pvc", 0xff, 8, 0, 0, 0 }, { "mtlgt3", 0xff, 8, 0, 0, 0 },
	};
	size_t bad = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		struct oadevice d = device_of(rows[i].platform), was = d;
		u64 subslices, eus;

		reply_n = 0;
		put_mask(0, 1, 0x0f, 4);
		put_mask(0, 2, 0xf0, 8);
		put_mask(0, 5, 0xff, 2);
		put_mask(1, 3, 0x1, 4); /* of the media GT */
		put_mask(0, 9, 0x1, 4); /* a type of a later kernel */
		put_mask(0, 3, rows[i].mask, 8);
		for (size_t k = 0; k < reply_n; k++) {
			oadevice_masks(&d, edge_str(reply, k), &subslices, &eus);
			bad += memcmp(&d, &was, sizeof(d)) != 0 || subslices & ~(u64)0xff || eus & ~(u64)0xff;
		}
		oadevice_masks(&d, edge_str(reply, reply_n), &subslices, &eus);
		bad += subslices != 0xff || eus != 0xff;
		if (!check(d.var[OV_L3_BANK] == rows[i].banks && d.var[OV_L3_NODE] == rows[i].nodes && d.var[OV_SQIDI] == rows[i].sqidi &&
			   d.var[OV_COPY_ENGINE] == rows[i].copies, "GT_TOPOLOGY: %s with L3 banks %" PRIx64, rows[i].platform, rows[i].mask))
			note("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, d.var[OV_L3_BANK], d.var[OV_L3_NODE], d.var[OV_SQIDI],
			     d.var[OV_COPY_ENGINE]);
	}
	check_u64(bad, 0, "GT_TOPOLOGY: masks of subslices and EUs; an incomplete mask is ignored");
}

static void test_hwconfig(void)
{
	static const u32 lengths[] = { 2, 100, UINT32_MAX / 4, UINT32_MAX / 4 + 1, UINT32_MAX - 1, UINT32_MAX };
	struct oadevice d = device_of("bmg"), was = d;
	size_t bad = 0;

	reply_n = 0;
	put_key(77, 2, 4);  /* a value that looks like a key */
	put_key(4, 1, 2);   /* pixel pipes per slice */
	put_key(15, 1, 8);  /* threads per EU */
	put_key(99, 0, 0);
	put_key(1, 1, 5);   /* slices */
	put_key(63, 1, 1);  /* geometry pipes per slice */
	oadevice_hwconfig(&d, edge_str(reply, reply_n));
	check(d.var[OV_COLOR_PIPE] == 10 && d.var[OV_DEPTH_PIPE] == 10 && d.var[OV_GEOMETRY_PIPE] == 5 && d.var[OV_THREADS] == 8,
	      "HWCONFIG: pipes of all slices, threads of an EU");
	for (size_t k = 0; k < reply_n; k++) {
		struct oadevice cut = was;

		oadevice_hwconfig(&cut, edge_str(reply, k));
		for (u8 v = 0; v < OV_NUMBERS; v++)
			bad += cut.var[v] != was.var[v] && cut.var[v] != d.var[v];
	}
	check_u64(bad, 0, "HWCONFIG: a truncated table has the right numbers, or none");
	d = device_of("mtlgt3");
	was = d;
	oadevice_hwconfig(&d, edge_str(reply, reply_n));
	check(memcmp(&d, &was, sizeof(d)) == 0,
	      "HWCONFIG: only tables of Xe2 and later have these keys");
	d = was = device_of("lnl");
	bad = 0;
	for (size_t i = 0; i < LEN(lengths); i++) {
		reply_n = 0;
		put_key(4, 1, 7);
		memcpy(reply + 4, &lengths[i], 4);
		put_key(1, 1, 7);
		oadevice_hwconfig(&d, edge_str(reply, reply_n));
		bad += memcmp(&d, &was, sizeof(d)) != 0;
	}
	check_u64(bad, 0, "HWCONFIG: an entry longer than the table, or of several values, has no number");
	reply_n = 0;
	put_key(4, 1, UINT32_MAX);
	put_key(1, 1, UINT32_MAX);
	oadevice_hwconfig(&d, edge_str(reply, reply_n));
	check_u64(d.var[OV_COLOR_PIPE], 0xfffffffe00000001, "HWCONFIG: the largest product fits");
}

static void test_clocks(void)
{
	static const struct {
		const char *platform;
		u64 oa, cs;
		u8 shift;
	} rows[] = {
		{ "acmgt3", 19200000, 19200000, 0 }, { "acmgt3", 38400000, 19200000, 1 }, { "acmgt3", 38400000, 9600000, 2 },
		{ "acmgt3", 38400000, 4800000, 3 }, { "tglgt2", 38400000, 19200000, 1 }, { "pvc", 25000000, 12500000, 1 },
		/* unknown, or an impossible ratio: that of the platform is used */
		{ "acmgt3", 19200000, 0, 1 }, { "tglgt2", 19200000, 0, 0 }, { "acmgt3", 19200000, 1200000, 1 },
		{ "acmgt3", 19200000, 19200001, 1 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct oadevice d = device_of(rows[i].platform);

		d.var[OV_TS_HZ] = rows[i].oa;
		d.var[OV_CS_HZ] = rows[i].cs;
		check_u64(oadevice_ts_shift(&d), rows[i].shift, "%s: the shift of correlations, %" PRIu64 " Hz of %" PRIu64, rows[i].platform,
			  rows[i].cs, rows[i].oa);
	}
}

static void test_numbers(void)
{
	static const struct {
		const char *text;
		u8 var;
		u64 v;
	} rows[] = {
		{ "L3BankTotalCount 12\n", OV_L3_BANK, 12 }, { "SomethingNew 5\nL3BankTotalCount 12", OV_L3_BANK, 12 },
		{ "L3BankTotalCount 18446744073709551615", OV_L3_BANK, UINT64_MAX }, { "$SqidiTotalCount 3", OV_SQIDI, 3 },
		{ "L3BankTotalCount 18446744073709551616", OV_L3_BANK, 0 }, { "L3BankTotalCount 12x", OV_L3_BANK, 0 },
		{ "L3BankTotalCount", OV_L3_BANK, 0 }, { "L3BankTotalCount -1", OV_L3_BANK, 0 },
		/* other records contain these: masks and slices */
		{ "EuCoresTotalCount 9", OV_EUS, 0 }, { "GpuTimestampFrequency 9", OV_TS_HZ, 0 }, { "SliceMask 9", OV_SLICE_MASK, 0 },
		{ "GtSlice1 1", OV_GT_SLICE, 0 }, { "L3BankTotalCount 5\nL3BankTotalCount 0", OV_L3_BANK, 5 }, { "", OV_L3_BANK, 0 }, { "\n \n", OV_L3_BANK, 0 },
	};
	char text[1024];
	struct buf b = BUF(text);
	struct oadevice d, again;
	size_t bad = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		oadevice_init(&d, 1, NULL);
		oadevice_read(&d, edge_str(rows[i].text, strlen(rows[i].text)));
		check(d.var[rows[i].var] == rows[i].v && !d.slices && !d.platform, "recorded numbers, row %zu", i);
	}
	oadevice_init(&d, 1, NULL);
	for (u8 var = OV_THREADS; var < OV_NUMBERS; var++)
		d.var[var] = UINT64_MAX - var;
	put_oadevice(&b, &d);
	check(!b.full && b.n < 1024, "the text has room for all numbers of a device");
	oadevice_init(&again, 1, NULL);
	oadevice_read(&again, edge_str(text, b.n));
	for (u8 var = OV_THREADS; var < OV_NUMBERS; var++)
		bad += again.var[var] != d.var[var];
	check_u64(bad, 0, "all numbers are read as they were written");
	again = device_of("lnl");
	b.n = 0;
	oadevice_read(&again, (struct str)STR("GraphicsVersion 3510 EuThreadsCount 10"));
	put_oadevice(&b, &again);
	check(is_named(again.platform, "lnl") && again.var[OV_THREADS] == 10,
	      "a recorded name does not replace a known platform");
	check_str(str_of(text, b.n), "EuThreadsCount 10\nGraphicsVersion 3510\n", "only known numbers are written");
}

/* --- built-in metric sets --------------------------------------------------------------------- */

/* The registers that ADD_CONFIG allows, by family: i915_perf.c and xe_oa.c. */
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

/* Returns whether a counter counts: reports contain it, and its event is fixed or selected by a
 * register. */
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

/* Returns the depth of the stack after an equation; 0: it is invalid. seen: the number of rows
 * to which it may refer. */
static size_t equation_depth(const struct oafamily *f, u8 bit, const char *equation, size_t seen)
{
	static const char *const ops = " UADD USUB UMUL UDIV FADD FSUB FMUL FDIV UMIN FMAX AND << >> && UGT ULTE UGTE ULT ";
	struct str text = str_z(equation), w, letter = { 0 };
	size_t depth = 0;
	u64 n = 0;

	while (str_word(&text, &w)) {
		char op[32];

		if (oabasic_expand(w, &text))
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

	check(oabasic.origin == OM_BASIC && !oabasic.text.p,
	      "the built-in metric sets name their origin");
	for (size_t i = 0; i < noafamilies; i++) {
		const struct oafamily *f = &oafamilies[i];

		check_u64(wrong_registers(f), 0, "%s: the kernel allows every register, and each occurs once", f->name);
		bad += !is_guid(f->guid);
		for (size_t k = 0; k < i; k++)
			bad += !strcmp(f->guid, oafamilies[k].guid) || !strcmp(f->name, oafamilies[k].name);
		bad += f->nregs[OREG_FLEX] && !strcmp(f->name, "hsw");
	}
	check_u64(bad, 0, "families have different names and different random UUIDs");
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
		check(bad == 0 && rows > 15,
		      "%s: number of different counters that count: %zu", f->name, rows);
	}
	for (size_t k = bad = 0; k < noabasic_rows; k++)
		bad += !oabasic_rows[k].families || oabasic_rows[k].families >> noafamilies;
	check_u64(bad, 0, "each row belongs to a known family");
	for (u32 n = 0; n < 64; n++) {
		char pec[16];
		bool used = false;

		snprintf(pec, sizeof(pec), "PEC %u READ", n);
		for (size_t k = 0; k < noabasic_rows; k++)
			used |= strstr(oabasic_rows[k].equation, pec) != NULL;
		bad += used != is_counted(&oafamilies[noafamilies - 1], (struct str)STR("PEC"), n);
	}
	check_u64(bad, 0, "every selected event is used by a row, and every used event is selected");
	bad = 0;
	for (size_t i = 0; i < oafamilies[OF_XE2].nregs[OREG_OA]; i += 2) {
		const u32 (*r)[2] = oafamilies[OF_XE2].regs[OREG_OA] + i;

		bad += r[0][0] % 8 != 0 || r[1][0] != r[0][0] + 4 || r[1][1] != 0;
	}
	check_u64(bad, 0, "xe2: the upper word of every event register is set to 0, as in the metric files");
	check(!equation_depth(&oafamilies[1], 2, "A 1", 9) && !equation_depth(&oafamilies[1], 2, "$Nothing", 9) &&
	      !equation_depth(&oafamilies[1], 2, "1 UADD", 9) && !equation_depth(&oafamilies[1], 2, "A 20 READ", 9) &&
	      equation_depth(&oafamilies[1], 2, "1 1", 9) == 2,
	      "the checks of equations and registers find errors");
}

/* --- comparison with the public metric files -------------------------------------------------- */

enum { XML_MAX = 32 << 20 };

/* An attribute's value within one tag; empty if there is none. */
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
		if (other && oabasic_expand(y, &t))
			other = str_word(&t, &y);
		if (more != other || (more && !str_eq(x, y)))
			return false;
	} while (more);
	return true;
}

/* Returns how often the counter of a row occurs in the sets of a chipset, and how often it
 * equals the row. */
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

/* Each row must equal the metric files of every chipset of its family. */
static void test_files(void)
{
	FILE *f = popen("tar -xJOf ../shared/oa/metrics-xml.tar.xz 2>/dev/null", "r");
	char *b = malloc(XML_MAX), *e;
	size_t n = f && b ? fread(b, 1, XML_MAX - 1, f) : 0, bad = 0, seen = 0;
	const struct oaplatform *chipset = NULL;

	if (f)
		pclose(f);
	if (n < 1 << 20) {
		printf("ok %u - the public metric files # SKIP no ../shared/oa\n", ++unit_ran);
		free(b);
		return;
	}
	b[n] = '\0';
	for (char *p = b; (p = strchr(p, '<')) != NULL && (e = strchr(p, '>')) != NULL; p = e) {
		if (!strncmp(p, "<set ", 5))
			chipset = oaplatform_by_name(attr((struct str){ p, e }, "chipset"));
		else if (chipset && !strncmp(p, "<counter ", 9))
			count_counter((struct str){ p, e }, chipset);
	}
	for (size_t i = 0; i < noaplatforms; i++)
		for (size_t k = 0; k < noabasic_rows; k++) {
			seen += as_row[i][k];
			/* CNL's equation has another order. PVC's equation has EuSubslices
			 * instead of XeCore, and counts events. */
			if (in_xml[i][k] && !as_row[i][k] &&
			    !(i == CNL && !strcmp(oabasic_rows[k].name, "EuThreadOccupancy")) &&
			    !(i == PVC && !strncmp(oabasic_rows[k].name, "Slm", 3)) && ++bad)
				note("%s has a different %s", oaplatforms[i].name, oabasic_rows[k].name);
		}
	check(bad == 0, "equations, units and types equal those of the metric files");
	check(seen > 5000, "more than 5000 counters were compared");
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
	test_gts();
	test_masks();
	test_hwconfig();
	test_clocks();
	test_numbers();
	test_basic();
	test_files();
	return unit_end();
}
