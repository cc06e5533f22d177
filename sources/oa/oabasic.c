/* oabasic.c - built-in metric sets, one for each family of GPUs, which need no metric file.
 * Counters have the names that the public metric files use.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "sources/oa/oa.h"

const struct oafile oabasic = { .origin = OM_BASIC };

/* --- registers -------------------------------------------------------------------------------- */

/* The built-in metric sets have the counters whose events are fixed in hardware (the A counters:
 * Intel's PRMs, "Observability"), and a few counters whose events are selected by the registers in
 * this file. So one set serves all GPUs of a family. The kernel allows each register address used
 * here: gen7_oa_b_counters[] and the tables after it in i915_perf.c, and the same tables in
 * xe_oa.c. The register values are those on which the public metric files agree. The built-in sets
 * were not tried on hardware. */

/* The register GDT_CHICKEN_BITS with its bit GT_NOA_ENABLE set, as in all public metric sets of
 * Haswell. */
static const u32 hsw_noa[][2] = { { 0x9840, 0x80 } };

/* The values of the registers OASTARTTRIG and OAREPORTTRIG make all counters start at once, and let
 * only the timer trigger reports. Haswell's reports do not contain the GPU clock, so counter B7
 * counts it, as in the public set ComputeExtended: the custom event counter CEC7 (0x27a8, 0x27ac)
 * compares "greater or equal" with a value that its input never falls below, and the upper four
 * bits of 0x2724 connect B4 to B7 with such event counters. */
static const u32 hsw_oa[][2] = {
	{ 0x2710, 0 }, { 0x2714, 0x800000 }, { 0x2720, 0 }, { 0x2724, 0xf0800000 }, { 0x2740, 0 },
	{ 0x27a8, 0x7fff3 }, { 0x27ac, 0xfffe },
};
static const u32 gen8_oa[][2] = {
	{ 0x2710, 0 }, { 0x2714, 0x800000 }, { 0x2720, 0 }, { 0x2724, 0x800000 }, { 0x2740, 0 },
};
/* The last register in this table, GEN12_OAG_OA_PESS, is in all public metric sets of Xe_HP and in
 * none of earlier GPUs, so the built-in set of Gen12 leaves it out. */
static const u32 gen12_oa[][2] = {
	{ 0xd900, 0 }, { 0xd904, 0x800000 }, { 0xd910, 0 }, { 0xd914, 0x800000 }, { 0xd920, 0 },
	{ 0xdc40, 0 }, { 0x2b2c, 0 },
};

/* Each register EU_PERF_CNTL selects the events of two A counters, the first register those of A7
 * and A8. A register has 12 bits for each of its two counters, 4 bits each for the event, the
 * threads (0: all) and the EUs. Numbers of events: 0: FPU 0 is active; 1: FPU 1 is active; 2: send
 * is active; 3: both FPUs are active; 4: the EU is active; 5: the EU is stalled; 8: threads in
 * flight, in units of 8. */
static const u32 gen8_flex[][2] = {
	{ 0xe458, 0x5004 }, { 0xe558, 0x0003 }, { 0xe658, 0x2001 }, { 0xe758, 0x0008 },
};
/* On Gen12 one counter cannot sum up all EUs. So four counters count each event, each for a quarter
 * of the EUs, which the EU field of EU_PERF_CNTL selects by a number from 7 to 0xa. */
static const u32 gen12_flex[][2] = {
	{ 0xe458, 0x804704 }, { 0xe558, 0xa04904 }, { 0xe658, 0x805705 }, { 0xe758, 0xa05905 },
	{ 0xe45c, 0x808708 }, { 0xe55c, 0xa08908 },
};
static const u32 xehp_flex[][2] = { { 0xe458, 0x5004 }, { 0xe558, 0x3008 } };
/* On Xe2 these two register values make the counters PEC7 and PEC20 count all threads. */
static const u32 xe2_flex[][2] = { { 0xe458, 0 }, { 0xe65c, 0 } };

/* The PES register of the OA counter PECn selects the event that the counter counts; from PEC32 on,
 * a counter has three such registers. The upper 32 bits of each register may still have the value
 * of an earlier metric set, so 0 is written to them, as in all public sets. */
#define PES_AT(at, event) { at, event }, { (at) + 4, 0 }
#define PES(n, event) PES_AT(0x13000 + 8 * (n), event)
#define PES3(n, event) \
	PES_AT(0x13200 + 8 * (n), event), PES_AT(0x13400 + 8 * (n), event), \
	PES_AT(0x13600 + 8 * (n), event)
static const u32 xe2_oa[][2] = {
	PES(0, 0x1801), PES(6, 0x6), PES(7, 0x601), PES(16, 0xa13), PES(17, 0xa14), PES(18, 0xa15),
	PES(19, 0xa16), PES(20, 0x606), PES(21, 0x5), PES(22, 0x622), PES(23, 0x623),
	PES(24, 0x605), PES(25, 0x60f), PES(26, 0x603), PES(30, 0xa0a), PES(31, 0xa0b),
	PES3(32, 0x5a00), PES3(34, 0x6805), PES3(35, 0x4001), PES3(36, 0x4000), PES3(37, 0x600f),
	PES3(38, 0x6010), PES3(39, 0x5009), PES3(40, 0x5013), PES3(41, 0x5000),
};

#define N(regs) (u8)LEN(regs)

const struct oafamily oafamilies[] = {
	[OF_HSW] = { "hsw", "530a1076-aa3f-4842-a26b-4d669b1a2e6d", "A45_B8_C8",
	  { hsw_noa, hsw_oa, NULL }, { N(hsw_noa), N(hsw_oa), 0 } },
	[OF_GEN8] = { "gen8", "36a4ed32-19a4-4d98-bdc8-573b48d6df69", "A32u40_A4u32_B8_C8",
	  { NULL, gen8_oa, gen8_flex }, { 0, N(gen8_oa), N(gen8_flex) } },
	[OF_GEN9] = { "gen9", "1ed5e4f2-355e-46d0-b7ee-0cf605f36849", "A32u40_A4u32_B8_C8",
	  { NULL, gen8_oa, gen8_flex }, { 0, N(gen8_oa), N(gen8_flex) } },
	[OF_GEN11] = { "gen11", "730dfd4b-5598-4f6b-8ce9-f986121977b6", "A32u40_A4u32_B8_C8",
	  { NULL, gen8_oa, gen8_flex }, { 0, N(gen8_oa), N(gen8_flex) } },
	[OF_GEN12] = { "gen12", "6a3e7b22-8512-47af-aa16-c3601de579de", "A32u40_A4u32_B8_C8",
	  { NULL, gen12_oa, gen12_flex }, { 0, N(gen12_oa) - 1, N(gen12_flex) } },
	[OF_XEHP] = { "xehp", "c4d6ba87-5d1f-4dd2-8658-295f6063c119", "A24u40_A14u32_B8_C8",
	  { NULL, gen12_oa, xehp_flex }, { 0, N(gen12_oa), N(xehp_flex) } },
	[OF_XE2] = { "xe2", "d1582610-6426-4683-b9b6-24d7eb5d6d7a", "PEC64u64",
	  { NULL, xe2_oa, xe2_flex }, { 0, N(xe2_oa), N(xe2_flex) } },
};
const size_t noafamilies = LEN(oafamilies);

/* --- counters --------------------------------------------------------------------------------- */

enum {
	HSW = 1 << OF_HSW, GEN8 = 1 << OF_GEN8, GEN9 = 1 << OF_GEN9, GEN11 = 1 << OF_GEN11,
	GEN12 = 1 << OF_GEN12, XEHP = 1 << OF_XEHP, XE2 = 1 << OF_XE2,
};
#define GEN8_11 (GEN8 | GEN9 | GEN11)
#define GEN8_XEHP (GEN8_11 | GEN12 | XEHP)
#define ALL (HSW | GEN8_XEHP | XE2)

enum { NS, CYCLES, HZ, PERCENT, THREADS, PIXELS, TEXELS, BYTES, MESSAGES, EVENTS };
const char oabasic_units[][9] = {
	[NS] = "ns", [CYCLES] = "cycles", [HZ] = "hz", [PERCENT] = "percent", [THREADS] = "threads",
	[PIXELS] = "pixels", [TEXELS] = "texels", [BYTES] = "bytes", [MESSAGES] = "messages",
	[EVENTS] = "events",
};

enum { NO_MAX, HUNDRED, FASTEST, CORES_64, CORES_128, CORES };
const char *const oabasic_max[] = {
	[NO_MAX] = NULL, [HUNDRED] = "100", [FASTEST] = "$GpuMaxFrequency",
	[CORES_64] = "$GpuCoreClocks 64 UMUL $EuSubslicesTotalCount UMUL",
	[CORES_128] = "$GpuCoreClocks 128 UMUL $EuSubslicesTotalCount UMUL",
	[CORES] = "$GpuCoreClocks $XeCoreTotalCount UMUL",
};

/* Abbreviations in the equations of oabasic_rows[]: the last word of an equation may be an
 * abbreviation (word), which oabasic_expand() replaces with the last part of the equation (end). */
static const struct {
	const char *word, *end;
} abbreviations[] = {
	{ "%", "100 UMUL $GpuCoreClocks FDIV" },
	{ "%EU", "$EuCoresTotalCount UDIV %" },
};

bool oabasic_expand(struct str word, struct str *rest)
{
	for (size_t i = 0; i < LEN(abbreviations); i++)
		if (str_is(word, abbreviations[i].word)) {
			*rest = str_z(abbreviations[i].end);
			return true;
		}
	return false;
}

#define READ_PERCENT " READ %"
#define UDIV_PERCENT " UDIV %"
#define PER_EU " %EU"
#define SUM4(a, b, c, d) "A " a " READ A " b " READ FADD A " c " READ FADD A " d " READ FADD"

/* As in the XML files of metric sets, the row of a counter comes after the rows of all counters
 * that its equation refers to. */
const struct oabasic_row oabasic_rows[] = {
	{ ALL, false, NS, NO_MAX, "GpuTime",
	  "GPU_TIME 0 READ 1000000000 UMUL $GpuTimestampFrequency UDIV" },
	{ HSW, false, CYCLES, NO_MAX, "GpuCoreClocks", "B 7 READ" },
	{ GEN8_XEHP | XE2, false, CYCLES, NO_MAX, "GpuCoreClocks", "GPU_CLOCK 0 READ" },
	{ ALL, false, HZ, FASTEST, "AvgGpuCoreFrequency",
	  "$GpuCoreClocks 1000000000 UMUL $GpuTime UDIV" },

	{ HSW, true, PERCENT, HUNDRED, "GpuBusy", "A 41" READ_PERCENT },
	{ HSW, false, THREADS, NO_MAX, "VsThreads", "A 5 READ" },
	{ HSW, false, THREADS, NO_MAX, "HsThreads", "A 10 READ" },
	{ HSW, false, THREADS, NO_MAX, "DsThreads", "A 15 READ" },
	{ HSW, false, THREADS, NO_MAX, "GsThreads", "A 25 READ" },
	{ HSW, false, THREADS, NO_MAX, "PsThreads", "A 30 READ" },
	{ HSW, false, THREADS, NO_MAX, "CsThreads", "A 20 READ" },
	{ HSW, true, PERCENT, HUNDRED, "EuActive", "A 0 READ" PER_EU },
	{ HSW, true, PERCENT, HUNDRED, "EuStall", "A 1 READ" PER_EU },
	{ HSW, false, PIXELS, NO_MAX, "HiDepthTestFails", "A 33 READ" },
	{ HSW, false, PIXELS, NO_MAX, "EarlyDepthTestFails", "A 35 READ" },
	{ HSW, false, PIXELS, NO_MAX, "SamplesKilledInPs", "A 36 READ" },
	{ HSW, false, PIXELS, NO_MAX, "SamplesWritten", "A 40 READ" },

	{ GEN8_XEHP, true, PERCENT, HUNDRED, "GpuBusy", "A 0" READ_PERCENT },
	{ GEN8_XEHP, false, THREADS, NO_MAX, "VsThreads", "A 1 READ" },
	{ GEN8_XEHP, false, THREADS, NO_MAX, "HsThreads", "A 2 READ" },
	{ GEN8_XEHP, false, THREADS, NO_MAX, "DsThreads", "A 3 READ" },
	{ GEN8_XEHP, false, THREADS, NO_MAX, "GsThreads", "A 5 READ" },
	{ GEN8_XEHP, false, THREADS, NO_MAX, "PsThreads", "A 6 READ" },
	{ GEN8_XEHP, false, THREADS, NO_MAX, "CsThreads", "A 4 READ" },
	{ GEN8_11, true, PERCENT, HUNDRED, "EuActive", "A 7 READ" PER_EU },
	{ GEN8_11, true, PERCENT, HUNDRED, "EuStall", "A 8 READ" PER_EU },
	{ GEN8_11, true, PERCENT, HUNDRED, "EuFpuBothActive", "A 9 READ" PER_EU },
	{ GEN8_11, true, PERCENT, HUNDRED, "Fpu0Active", "A 10 READ" PER_EU },
	{ GEN8_11, true, PERCENT, HUNDRED, "Fpu1Active", "A 11 READ" PER_EU },
	{ GEN8_11, true, PERCENT, HUNDRED, "EuSendActive", "A 12 READ" PER_EU },
	{ GEN8 | GEN9, true, PERCENT, HUNDRED, "EuThreadOccupancy",
	  "A 13 READ 8 UMUL $EuCoresTotalCount UDIV $EuThreadsCount" UDIV_PERCENT },
	{ GEN11, true, PERCENT, HUNDRED, "EuThreadOccupancy",
	  "8 A 13 READ FMUL $EuThreadsCount FDIV" PER_EU },
	{ GEN12, true, PERCENT, HUNDRED, "EuActive", SUM4("7", "8", "9", "10") PER_EU },
	{ GEN12, true, PERCENT, HUNDRED, "EuStall", SUM4("11", "12", "13", "14") PER_EU },
	{ GEN12, true, PERCENT, HUNDRED, "EuThreadOccupancy",
	  "8 " SUM4("15", "16", "17", "18") " FMUL $EuThreadsCount FDIV" PER_EU },
	{ XEHP, true, PERCENT, HUNDRED, "XveActive", "A 7 READ" PER_EU },
	{ XEHP, true, PERCENT, HUNDRED, "XveStall", "A 8 READ" PER_EU },
	{ XEHP, true, PERCENT, HUNDRED, "XveThreadOccupancy",
	  "8 A 9 READ FMUL $VectorEngineThreadsCount FDIV" PER_EU },
	{ XEHP, true, PERCENT, HUNDRED, "XveFpuEmActive", "A 10 READ" PER_EU },
	{ GEN8_XEHP, false, PIXELS, NO_MAX, "RasterizedPixels", "A 21 READ 4 UMUL" },
	{ GEN8_XEHP, false, PIXELS, NO_MAX, "HiDepthTestFails", "A 22 READ 4 UMUL" },
	{ GEN8_XEHP, false, PIXELS, NO_MAX, "EarlyDepthTestFails", "A 23 READ 4 UMUL" },
	{ GEN8_XEHP, false, PIXELS, NO_MAX, "SamplesKilledInPs", "A 24 READ 4 UMUL" },
	{ GEN8_XEHP, false, PIXELS, NO_MAX, "PixelsFailingPostPsTests", "A 25 READ 4 UMUL" },
	{ GEN8_XEHP, false, PIXELS, NO_MAX, "SamplesWritten", "A 26 READ 4 UMUL" },
	{ GEN8_XEHP, false, PIXELS, NO_MAX, "SamplesBlended", "A 27 READ 4 UMUL" },
	{ GEN8_XEHP, false, TEXELS, NO_MAX, "SamplerTexels", "A 28 READ 4 UMUL" },
	{ GEN8_XEHP, false, TEXELS, NO_MAX, "SamplerTexelMisses", "A 29 READ 4 UMUL" },
	{ GEN8_11, false, BYTES, CORES_64, "SlmBytesRead", "A 30 READ 64 UMUL" },
	{ GEN8_11, false, BYTES, CORES_64, "SlmBytesWritten", "A 31 READ 64 UMUL" },
	{ GEN12, false, BYTES, CORES_128, "SlmBytesRead", "A 30 READ 64 UMUL" },
	{ GEN12, false, BYTES, CORES_128, "SlmBytesWritten", "A 31 READ 64 UMUL" },
	{ XEHP, false, MESSAGES, CORES, "SlmReads", "A 30 READ" },
	{ XEHP, false, MESSAGES, CORES, "SlmWrites", "A 31 READ" },
	{ GEN8_XEHP, false, MESSAGES, NO_MAX, "ShaderMemoryAccesses", "A 32 READ" },
	{ GEN8_XEHP, false, MESSAGES, NO_MAX, "ShaderAtomics", "A 34 READ" },
	{ GEN8_XEHP, false, MESSAGES, NO_MAX, "ShaderBarriers", "A 35 READ" },

	{ XE2, true, PERCENT, NO_MAX, "GPU_BUSY", "PEC 32" READ_PERCENT },
	{ XE2, true, PERCENT, NO_MAX, "COMMAND_PARSER_RENDER_ENGINE_BUSY", "PEC 40" READ_PERCENT },
	{ XE2, true, PERCENT, NO_MAX, "COMMAND_PARSER_COMPUTE_ENGINE_BUSY",
	  "PEC 39 READ $ComputeEngineTotalCount" UDIV_PERCENT },
	{ XE2, true, PERCENT, NO_MAX, "COMMAND_PARSER_COPY_ENGINE_BUSY", "PEC 41" READ_PERCENT },
	{ XE2, true, PERCENT, NO_MAX, "XVE_ACTIVE", "PEC 24 READ" PER_EU },
	{ XE2, true, PERCENT, NO_MAX, "XVE_STALL", "PEC 20 READ" PER_EU },
	{ XE2, false, EVENTS, NO_MAX, "XVE_INST_EXECUTED_ALU0_ALL", "PEC 25 READ" },
	{ XE2, false, EVENTS, NO_MAX, "XVE_INST_EXECUTED_ALU1_ALL", "PEC 26 READ" },
	{ XE2, false, EVENTS, NO_MAX, "XVE_INST_EXECUTED_SEND_ALL", "PEC 7 READ" },
	{ XE2, false, EVENTS, NO_MAX, "GPGPU_THREADGROUP_COUNT", "PEC 0 READ" },
	{ XE2, false, EVENTS, NO_MAX, "RASTERIZER_SAMPLE_OUTPUT", "PEC 34 READ" },
	{ XE2, false, EVENTS, NO_MAX, "PIXEL_WRITE", "PEC 36 READ" },
	{ XE2, false, EVENTS, NO_MAX, "PIXEL_BLEND", "PEC 35 READ" },
	{ XE2, false, EVENTS, NO_MAX, "SAMPLER_TEXTURE_CACHE_ACCESS", "PEC 6 READ" },
	{ XE2, false, EVENTS, NO_MAX, "SAMPLER_TEXTURE_CACHE_MISS", "PEC 21 READ" },
	{ XE2, false, EVENTS, NO_MAX, "ICACHE_HIT", "PEC 22 READ" },
	{ XE2, false, EVENTS, NO_MAX, "ICACHE_MISS", "PEC 23 READ" },
	{ XE2, false, EVENTS, NO_MAX, "LOAD_STORE_CACHE_ACCESS", "PEC 31 READ" },
	{ XE2, false, EVENTS, NO_MAX, "LOAD_STORE_CACHE_HIT", "PEC 30 READ" },
	{ XE2, false, BYTES, NO_MAX, "LOAD_STORE_CACHE_BYTE_READ", "PEC 16 READ" },
	{ XE2, false, BYTES, NO_MAX, "LOAD_STORE_CACHE_BYTE_WRITE", "PEC 17 READ" },
	{ XE2, false, BYTES, NO_MAX, "SLM_BYTE_READ", "PEC 18 READ" },
	{ XE2, false, BYTES, NO_MAX, "SLM_BYTE_WRITE", "PEC 19 READ" },
	{ XE2, false, EVENTS, NO_MAX, "L3_READ", "PEC 37 READ" },
	{ XE2, false, EVENTS, NO_MAX, "L3_WRITE", "PEC 38 READ" },
};
const size_t noabasic_rows = LEN(oabasic_rows);
