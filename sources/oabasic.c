/* oabasic.c - metric sets that need no metric file: one for each family of GPUs. Counters are called what the public
 * metric files call them. SPDX-License-Identifier: MIT */
#include "gpustat.h"

const struct oafile oabasic = { .origin = OM_BASIC };

/* --- registers --------------------------------------------------------------------------------------------- */

/* What is counted is what the hardware counts in fixed places (the A counters: Intel's PRMs, "Observability"), and what
 * the few selects below add. So one list does for all GPUs of a family. Each address is one that the kernel lets in:
 * gen7_oa_b_counters[] and the tables behind it in i915_perf.c, and the same in xe_oa.c. Values are those that the
 * public metric files agree on. None of this was tried on hardware. */

/* GDT_CHICKEN_BITS: GT_NOA_ENABLE, as in all sets of the platform. */
static const u32 hsw_noa[][2] = { { 0x9840, 0x80 } };

/* OASTARTTRIG, OAREPORTTRIG: counters start at once, no report but the timer's. Haswell's reports have no clock: B7
 * counts it, as in ComputeExtended: CEC7 (27a8, 27ac) compares "greater or equal" with what is never less, and the upper
 * four bits of 2724 make B4 to B7 those of the CECs. */
static const u32 hsw_oa[][2] = {
	{ 0x2710, 0 }, { 0x2714, 0x800000 }, { 0x2720, 0 }, { 0x2724, 0xf0800000 }, { 0x2740, 0 },
	{ 0x27a8, 0x7fff3 }, { 0x27ac, 0xfffe },
};
static const u32 gen8_oa[][2] = {
	{ 0x2710, 0 }, { 0x2714, 0x800000 }, { 0x2720, 0 }, { 0x2724, 0x800000 }, { 0x2740, 0 },
};
/* The last, GEN12_OAG_OA_PESS, is in all sets of Xe_HP and in none before. */
static const u32 gen12_oa[][2] = {
	{ 0xd900, 0 }, { 0xd904, 0x800000 }, { 0xd910, 0 }, { 0xd914, 0x800000 }, { 0xd920, 0 }, { 0xdc40, 0 },
	{ 0x2b2c, 0 },
};

/* EU_PERF_CNTL: 12 bits for each of two counters, from A7 on: event, which threads (4 bits each; 0: all), which EUs.
 * Events 0 and 1 are the FPUs, 2 is send, 3 both FPUs, 4 active, 5 stalled, 8 the threads in flight, in eights. */
static const u32 gen8_flex[][2] = {
	{ 0xe458, 0x5004 }, { 0xe558, 0x0003 }, { 0xe658, 0x2001 }, { 0xe758, 0x0008 },
};
/* There are more EUs than a counter can sum up: four counters for each, of a quarter of them (7 to a). */
static const u32 gen12_flex[][2] = {
	{ 0xe458, 0x804704 }, { 0xe558, 0xa04904 }, { 0xe658, 0x805705 }, { 0xe758, 0xa05905 },
	{ 0xe45c, 0x808708 }, { 0xe55c, 0xa08908 },
};
static const u32 xehp_flex[][2] = { { 0xe458, 0x5004 }, { 0xe558, 0x3008 } };
/* PEC7 and PEC20 count all threads. */
static const u32 xe2_flex[][2] = { { 0xe458, 0 }, { 0xe65c, 0 } };

/* PES: event n of PECn; from 32 on it stands in three places. */
#define PES(n, event) { 0x13000 + 8 * (n), event }
#define PES3(n, event) \
	{ 0x13200 + 8 * (n), event }, { 0x13400 + 8 * (n), event }, { 0x13600 + 8 * (n), event }
static const u32 xe2_oa[][2] = {
	PES(0, 0x1801), PES(6, 0x6), PES(7, 0x601), PES(16, 0xa13), PES(17, 0xa14), PES(18, 0xa15), PES(19, 0xa16),
	PES(20, 0x606), PES(21, 0x5), PES(22, 0x622), PES(23, 0x623), PES(24, 0x605), PES(25, 0x60f), PES(26, 0x603),
	PES(30, 0xa0a), PES(31, 0xa0b), PES3(32, 0x5a00), PES3(34, 0x6805), PES3(35, 0x4001), PES3(36, 0x4000),
	PES3(37, 0x600f), PES3(38, 0x6010), PES3(39, 0x5009), PES3(40, 0x5013), PES3(41, 0x5000),
};

#define N(regs) (u16)LEN(regs)

enum { HSW = 1, GEN8 = 2, GEN9 = 4, GEN11 = 8, GEN12 = 16, XEHP = 32, XE2 = 64 };

const struct oafamily oafamilies[] = {
	{ "hsw", "530a1076-aa3f-4842-a26b-4d669b1a2e6d", "A45_B8_C8",
	  { hsw_noa, hsw_oa, NULL }, { N(hsw_noa), N(hsw_oa), 0 } },
	{ "gen8", "36a4ed32-19a4-4d98-bdc8-573b48d6df69", "A32u40_A4u32_B8_C8",
	  { NULL, gen8_oa, gen8_flex }, { 0, N(gen8_oa), N(gen8_flex) } },
	{ "gen9", "1ed5e4f2-355e-46d0-b7ee-0cf605f36849", "A32u40_A4u32_B8_C8",
	  { NULL, gen8_oa, gen8_flex }, { 0, N(gen8_oa), N(gen8_flex) } },
	{ "gen11", "730dfd4b-5598-4f6b-8ce9-f986121977b6", "A32u40_A4u32_B8_C8",
	  { NULL, gen8_oa, gen8_flex }, { 0, N(gen8_oa), N(gen8_flex) } },
	{ "gen12", "6a3e7b22-8512-47af-aa16-c3601de579de", "A32u40_A4u32_B8_C8",
	  { NULL, gen12_oa, gen12_flex }, { 0, N(gen12_oa) - 1, N(gen12_flex) } },
	{ "xehp", "c4d6ba87-5d1f-4dd2-8658-295f6063c119", "A24u40_A14u32_B8_C8",
	  { NULL, gen12_oa, xehp_flex }, { 0, N(gen12_oa), N(xehp_flex) } },
	{ "xe2", "d1582610-6426-4683-b9b6-24d7eb5d6d7a", "PEC64u64",
	  { NULL, xe2_oa, xe2_flex }, { 0, N(xe2_oa), N(xe2_flex) } },
};
const size_t noafamilies = LEN(oafamilies);

/* --- counters ---------------------------------------------------------------------------------------------- */

#define GEN8_11 (GEN8 | GEN9 | GEN11)
#define GEN8_XEHP (GEN8_11 | GEN12 | XEHP)
#define ALL (HSW | GEN8_XEHP | XE2)

#define OF_CLOCKS " READ 100 UMUL $GpuCoreClocks FDIV"
#define OF_EUS " UDIV 100 UMUL $GpuCoreClocks FDIV"
#define PER_EU " $EuCoresTotalCount" OF_EUS
#define SUM4(a, b, c, d) "A " a " READ A " b " READ FADD A " c " READ FADD A " d " READ FADD"

/* In the order of files: a counter stands behind those that it refers to. */
const struct oabasic_row oabasic_rows[] = {
	{ ALL, false, "GpuTime", "ns", "GPU_TIME 0 READ 1000000000 UMUL $GpuTimestampFrequency UDIV", NULL },
	{ HSW, false, "GpuCoreClocks", "cycles", "B 7 READ", NULL },
	{ GEN8_XEHP | XE2, false, "GpuCoreClocks", "cycles", "GPU_CLOCK 0 READ", NULL },
	{ ALL, false, "AvgGpuCoreFrequency", "hz", "$GpuCoreClocks 1000000000 UMUL $GpuTime UDIV", "$GpuMaxFrequency" },

	{ HSW, true, "GpuBusy", "percent", "A 41" OF_CLOCKS, "100" },
	{ HSW, false, "VsThreads", "threads", "A 5 READ", NULL },
	{ HSW, false, "HsThreads", "threads", "A 10 READ", NULL },
	{ HSW, false, "DsThreads", "threads", "A 15 READ", NULL },
	{ HSW, false, "GsThreads", "threads", "A 25 READ", NULL },
	{ HSW, false, "PsThreads", "threads", "A 30 READ", NULL },
	{ HSW, false, "CsThreads", "threads", "A 20 READ", NULL },
	{ HSW, true, "EuActive", "percent", "A 0 READ" PER_EU, "100" },
	{ HSW, true, "EuStall", "percent", "A 1 READ" PER_EU, "100" },
	{ HSW, false, "HiDepthTestFails", "pixels", "A 33 READ", NULL },
	{ HSW, false, "EarlyDepthTestFails", "pixels", "A 35 READ", NULL },
	{ HSW, false, "SamplesKilledInPs", "pixels", "A 36 READ", NULL },
	{ HSW, false, "SamplesWritten", "pixels", "A 40 READ", NULL },

	{ GEN8_XEHP, true, "GpuBusy", "percent", "A 0" OF_CLOCKS, "100" },
	{ GEN8_XEHP, false, "VsThreads", "threads", "A 1 READ", NULL },
	{ GEN8_XEHP, false, "HsThreads", "threads", "A 2 READ", NULL },
	{ GEN8_XEHP, false, "DsThreads", "threads", "A 3 READ", NULL },
	{ GEN8_XEHP, false, "GsThreads", "threads", "A 5 READ", NULL },
	{ GEN8_XEHP, false, "PsThreads", "threads", "A 6 READ", NULL },
	{ GEN8_XEHP, false, "CsThreads", "threads", "A 4 READ", NULL },
	{ GEN8_11, true, "EuActive", "percent", "A 7 READ" PER_EU, "100" },
	{ GEN8_11, true, "EuStall", "percent", "A 8 READ" PER_EU, "100" },
	{ GEN8_11, true, "EuFpuBothActive", "percent", "A 9 READ" PER_EU, "100" },
	{ GEN8_11, true, "Fpu0Active", "percent", "A 10 READ" PER_EU, "100" },
	{ GEN8_11, true, "Fpu1Active", "percent", "A 11 READ" PER_EU, "100" },
	{ GEN8_11, true, "EuSendActive", "percent", "A 12 READ" PER_EU, "100" },
	{ GEN8 | GEN9, true, "EuThreadOccupancy", "percent",
	  "A 13 READ 8 UMUL $EuCoresTotalCount UDIV $EuThreadsCount" OF_EUS, "100" },
	{ GEN11, true, "EuThreadOccupancy", "percent", "8 A 13 READ FMUL $EuThreadsCount FDIV" PER_EU, "100" },
	{ GEN12, true, "EuActive", "percent", SUM4("7", "8", "9", "10") PER_EU, "100" },
	{ GEN12, true, "EuStall", "percent", SUM4("11", "12", "13", "14") PER_EU, "100" },
	{ GEN12, true, "EuThreadOccupancy", "percent",
	  "8 " SUM4("15", "16", "17", "18") " FMUL $EuThreadsCount FDIV" PER_EU, "100" },
	{ XEHP, true, "XveActive", "percent", "A 7 READ" PER_EU, "100" },
	{ XEHP, true, "XveStall", "percent", "A 8 READ" PER_EU, "100" },
	{ XEHP, true, "XveThreadOccupancy", "percent", "8 A 9 READ FMUL $VectorEngineThreadsCount FDIV" PER_EU, "100" },
	{ XEHP, true, "XveFpuEmActive", "percent", "A 10 READ" PER_EU, "100" },
	{ GEN8_XEHP, false, "RasterizedPixels", "pixels", "A 21 READ 4 UMUL", NULL },
	{ GEN8_XEHP, false, "HiDepthTestFails", "pixels", "A 22 READ 4 UMUL", NULL },
	{ GEN8_XEHP, false, "EarlyDepthTestFails", "pixels", "A 23 READ 4 UMUL", NULL },
	{ GEN8_XEHP, false, "SamplesKilledInPs", "pixels", "A 24 READ 4 UMUL", NULL },
	{ GEN8_XEHP, false, "PixelsFailingPostPsTests", "pixels", "A 25 READ 4 UMUL", NULL },
	{ GEN8_XEHP, false, "SamplesWritten", "pixels", "A 26 READ 4 UMUL", NULL },
	{ GEN8_XEHP, false, "SamplesBlended", "pixels", "A 27 READ 4 UMUL", NULL },
	{ GEN8_XEHP, false, "SamplerTexels", "texels", "A 28 READ 4 UMUL", NULL },
	{ GEN8_XEHP, false, "SamplerTexelMisses", "texels", "A 29 READ 4 UMUL", NULL },
	{ GEN8_11, false, "SlmBytesRead", "bytes", "A 30 READ 64 UMUL",
	  "$GpuCoreClocks 64 UMUL $EuSubslicesTotalCount UMUL" },
	{ GEN8_11, false, "SlmBytesWritten", "bytes", "A 31 READ 64 UMUL",
	  "$GpuCoreClocks 64 UMUL $EuSubslicesTotalCount UMUL" },
	{ GEN12, false, "SlmBytesRead", "bytes", "A 30 READ 64 UMUL",
	  "$GpuCoreClocks 128 UMUL $EuSubslicesTotalCount UMUL" },
	{ GEN12, false, "SlmBytesWritten", "bytes", "A 31 READ 64 UMUL",
	  "$GpuCoreClocks 128 UMUL $EuSubslicesTotalCount UMUL" },
	{ XEHP, false, "SlmReads", "messages", "A 30 READ", "$GpuCoreClocks $XeCoreTotalCount UMUL" },
	{ XEHP, false, "SlmWrites", "messages", "A 31 READ", "$GpuCoreClocks $XeCoreTotalCount UMUL" },
	{ GEN8_XEHP, false, "ShaderMemoryAccesses", "messages", "A 32 READ", NULL },
	{ GEN8_XEHP, false, "ShaderAtomics", "messages", "A 34 READ", NULL },
	{ GEN8_XEHP, false, "ShaderBarriers", "messages", "A 35 READ", NULL },

	{ XE2, true, "GPU_BUSY", "percent", "PEC 32" OF_CLOCKS, NULL },
	{ XE2, true, "COMMAND_PARSER_RENDER_ENGINE_BUSY", "percent", "PEC 40" OF_CLOCKS, NULL },
	{ XE2, true, "COMMAND_PARSER_COMPUTE_ENGINE_BUSY", "percent",
	  "PEC 39 READ $ComputeEngineTotalCount" OF_EUS, NULL },
	{ XE2, true, "COMMAND_PARSER_COPY_ENGINE_BUSY", "percent", "PEC 41" OF_CLOCKS, NULL },
	{ XE2, true, "XVE_ACTIVE", "percent", "PEC 24 READ" PER_EU, NULL },
	{ XE2, true, "XVE_STALL", "percent", "PEC 20 READ" PER_EU, NULL },
	{ XE2, false, "XVE_INST_EXECUTED_ALU0_ALL", "events", "PEC 25 READ", NULL },
	{ XE2, false, "XVE_INST_EXECUTED_ALU1_ALL", "events", "PEC 26 READ", NULL },
	{ XE2, false, "XVE_INST_EXECUTED_SEND_ALL", "events", "PEC 7 READ", NULL },
	{ XE2, false, "GPGPU_THREADGROUP_COUNT", "events", "PEC 0 READ", NULL },
	{ XE2, false, "RASTERIZER_SAMPLE_OUTPUT", "events", "PEC 34 READ", NULL },
	{ XE2, false, "PIXEL_WRITE", "events", "PEC 36 READ", NULL },
	{ XE2, false, "PIXEL_BLEND", "events", "PEC 35 READ", NULL },
	{ XE2, false, "SAMPLER_TEXTURE_CACHE_ACCESS", "events", "PEC 6 READ", NULL },
	{ XE2, false, "SAMPLER_TEXTURE_CACHE_MISS", "events", "PEC 21 READ", NULL },
	{ XE2, false, "ICACHE_HIT", "events", "PEC 22 READ", NULL },
	{ XE2, false, "ICACHE_MISS", "events", "PEC 23 READ", NULL },
	{ XE2, false, "LOAD_STORE_CACHE_ACCESS", "events", "PEC 31 READ", NULL },
	{ XE2, false, "LOAD_STORE_CACHE_HIT", "events", "PEC 30 READ", NULL },
	{ XE2, false, "LOAD_STORE_CACHE_BYTE_READ", "bytes", "PEC 16 READ", NULL },
	{ XE2, false, "LOAD_STORE_CACHE_BYTE_WRITE", "bytes", "PEC 17 READ", NULL },
	{ XE2, false, "SLM_BYTE_READ", "bytes", "PEC 18 READ", NULL },
	{ XE2, false, "SLM_BYTE_WRITE", "bytes", "PEC 19 READ", NULL },
	{ XE2, false, "L3_READ", "events", "PEC 37 READ", NULL },
	{ XE2, false, "L3_WRITE", "events", "PEC 38 READ", NULL },
};
const size_t noabasic_rows = LEN(oabasic_rows);
