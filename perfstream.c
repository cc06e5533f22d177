/* perfstream.c - records that the kernel hands out in binary, and what lies between two readings of a
 * counter. Pure: bytes in, values out. SPDX-License-Identifier: MIT */
#include "gpustat.h"

/* a*b/c, rounded down, in 128 bits; UINT64_MAX where it does not fit or c is 0. By hand, since 32-bit
 * targets have no 128-bit type. */
u64 muldiv(u64 a, u64 b, u64 c)
{
	u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
	u64 mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (u32)mid;
	u64 hi = ah * bh + (mid >> 32) + (mid2 >> 32), lo = a * b, q = 0;

	if (hi >= c)
		return UINT64_MAX;
	if (hi == 0)
		return lo / c;
	for (int i = 0; i < 64; i++) {
		bool over = hi >> 63;

		hi = hi << 1 | lo >> 63;
		lo <<= 1;
		q <<= 1;
		if (over || hi >= c) {
			hi -= c;
			q |= 1;
		}
	}
	return q;
}

/* What was added between two readings; false where that cannot be known. */
bool course_delta(u8 course, u64 was, u64 now, u64 *d)
{
	*d = now - was;
	if (now >= was)
		return true;
	if (course == CO_WRAP32)
		*d = now + (1ull << 32) - was;
	else
		*d = 0;
	/* A value that 32 bits did not hold has not wrapped. */
	return course == CO_PEAK || (course == CO_WRAP32 && was <= UINT32_MAX);
}

/* From which value the next delta counts. */
u64 course_base(u8 course, u64 was, u64 now)
{
	return course == CO_PEAK && now < was ? was : now;
}

/* --- amdgpu's gpu_metrics ------------------------------------------------------------------------
 * struct gpu_metrics_v* of drivers/gpu/drm/amd/include/kgd_pp_interface.h, little endian: u16 size, u8
 * format revision, u8 content revision, then by revision what the rows below say. A field whose bits
 * are all set is not supported. Values: degrees C, %, W, MHz, 0.1 GT/s in v1; 1/100 of the first two
 * and mW in v2 and v3, but for v2's socket power, which newer firmware gives in W: hwmon has it right.
 * The registry keeps the first value that it gets for an instance: hwmon's and sysfs' come first. */

static const struct metricrow {
	u8 format, first, last; /* revisions */
	u16 offset;
	u8 width;
	u8 desc;
	const char *inst;
	u32 times;
} metricrows[] = {
	{ 1, 0, 0, 16, 2, D_TEMP, "edge", 1000 },
	{ 1, 0, 0, 18, 2, D_TEMP, "junction", 1000 },
	{ 1, 0, 0, 20, 2, D_TEMP, "mem", 1000 },
	{ 1, 0, 0, 22, 2, D_TEMP, "vrgfx", 1000 },
	{ 1, 0, 0, 24, 2, D_TEMP, "vrsoc", 1000 },
	{ 1, 0, 0, 26, 2, D_TEMP, "vrmem", 1000 },
	{ 1, 0, 0, 28, 2, D_GPU_BUSY, "", 1000 },
	{ 1, 0, 0, 30, 2, D_LOAD, "mem", 1000 },
	{ 1, 0, 0, 32, 2, D_LOAD, "mm", 1000 },
	{ 1, 0, 0, 34, 2, D_POWER, "PPT", 1000000 },
	{ 1, 0, 0, 54, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 1, 0, 0, 56, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 1, 0, 0, 58, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 1, 0, 0, 60, 2, D_FREQ_CUR, "vclk", 1000000 },
	{ 1, 0, 0, 62, 2, D_FREQ_CUR, "dclk", 1000000 },
	{ 1, 0, 0, 72, 2, D_FAN, "fan1", 1 },
	{ 1, 0, 0, 74, 1, D_LINK_WIDTH, "", 1 },
	{ 1, 0, 0, 75, 1, D_LINK_SPEED, "", 1 },

	{ 1, 1, 3, 4, 2, D_TEMP, "edge", 1000 },
	{ 1, 1, 3, 6, 2, D_TEMP, "junction", 1000 },
	{ 1, 1, 3, 8, 2, D_TEMP, "mem", 1000 },
	{ 1, 1, 3, 10, 2, D_TEMP, "vrgfx", 1000 },
	{ 1, 1, 3, 12, 2, D_TEMP, "vrsoc", 1000 },
	{ 1, 1, 3, 14, 2, D_TEMP, "vrmem", 1000 },
	{ 1, 1, 3, 16, 2, D_GPU_BUSY, "", 1000 },
	{ 1, 1, 3, 18, 2, D_LOAD, "mem", 1000 },
	{ 1, 1, 3, 20, 2, D_LOAD, "mm", 1000 },
	{ 1, 1, 3, 22, 2, D_POWER, "PPT", 1000000 },
	{ 1, 1, 3, 54, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 1, 1, 3, 56, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 1, 1, 3, 58, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 1, 1, 3, 60, 2, D_FREQ_CUR, "vclk", 1000000 },
	{ 1, 1, 3, 62, 2, D_FREQ_CUR, "dclk", 1000000 },
	{ 1, 1, 3, 72, 2, D_FAN, "fan1", 1 },
	{ 1, 1, 3, 74, 2, D_LINK_WIDTH, "", 1 },
	{ 1, 1, 3, 76, 2, D_LINK_SPEED, "", 1 },
	{ 1, 3, 3, 104, 2, D_VOLT, "vddsoc", 1 },
	{ 1, 3, 3, 106, 2, D_VOLT, "vddgfx", 1 },
	{ 1, 3, 3, 108, 2, D_VOLT, "vddmem", 1 },

	{ 1, 4, 5, 4, 2, D_TEMP, "junction", 1000 },
	{ 1, 4, 5, 6, 2, D_TEMP, "mem", 1000 },
	{ 1, 4, 5, 8, 2, D_TEMP, "vrsoc", 1000 },
	{ 1, 4, 5, 10, 2, D_POWER, "PPT", 1000000 },
	{ 1, 4, 5, 12, 2, D_GPU_BUSY, "", 1000 },
	{ 1, 4, 5, 14, 2, D_LOAD, "mem", 1000 },
	{ 1, 4, 5, 16, 2, D_LOAD, "vcn", 1000 },
	{ 1, 4, 4, 24, 8, D_ENERGY, "PPT", 1 },
	{ 1, 5, 5, 88, 8, D_ENERGY, "PPT", 1 },
	{ 1, 4, 4, 48, 2, D_LINK_WIDTH, "", 1 },
	{ 1, 4, 4, 50, 2, D_LINK_SPEED, "", 1 },
	{ 1, 4, 4, 240, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 1, 4, 4, 280, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 1, 5, 5, 112, 2, D_LINK_WIDTH, "", 1 },
	{ 1, 5, 5, 114, 2, D_LINK_SPEED, "", 1 },
	{ 1, 5, 5, 312, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 1, 5, 5, 352, 2, D_FREQ_CUR, "mclk", 1000000 },

	{ 2, 0, 0, 16, 2, D_TEMP, "edge", 10 },
	{ 2, 0, 0, 18, 2, D_TEMP, "soc", 10 },
	{ 2, 0, 0, 40, 2, D_GPU_BUSY, "", 10 },
	{ 2, 0, 0, 42, 2, D_LOAD, "mm", 10 },
	{ 2, 0, 0, 50, 2, D_POWER, "gfx", 1000 },
	{ 2, 0, 0, 80, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 2, 0, 0, 82, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 2, 0, 0, 84, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 2, 0, 0, 86, 2, D_FREQ_CUR, "fclk", 1000000 },
	{ 2, 0, 0, 88, 2, D_FREQ_CUR, "vclk", 1000000 },
	{ 2, 0, 0, 90, 2, D_FREQ_CUR, "dclk", 1000000 },

	{ 2, 1, 4, 4, 2, D_TEMP, "edge", 10 },
	{ 2, 1, 4, 6, 2, D_TEMP, "soc", 10 },
	{ 2, 1, 4, 28, 2, D_GPU_BUSY, "", 10 },
	{ 2, 1, 4, 30, 2, D_LOAD, "mm", 10 },
	{ 2, 1, 4, 46, 2, D_POWER, "gfx", 1000 },
	{ 2, 1, 4, 76, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 2, 1, 4, 78, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 2, 1, 4, 80, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 2, 1, 4, 82, 2, D_FREQ_CUR, "fclk", 1000000 },
	{ 2, 1, 4, 84, 2, D_FREQ_CUR, "vclk", 1000000 },
	{ 2, 1, 4, 86, 2, D_FREQ_CUR, "dclk", 1000000 },
	{ 2, 4, 4, 154, 2, D_VOLT, "vddnb", 1 },
	{ 2, 4, 4, 156, 2, D_VOLT, "vddgfx", 1 },

	{ 3, 0, 0, 4, 2, D_TEMP, "edge", 10 },
	{ 3, 0, 0, 6, 2, D_TEMP, "soc", 10 },
	{ 3, 0, 0, 112, 4, D_POWER, "PPT", 1000 },
	{ 3, 0, 0, 124, 4, D_POWER, "gfx", 1000 },
	{ 3, 0, 0, 174, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 3, 0, 0, 176, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 3, 0, 0, 186, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 3, 0, 0, 182, 2, D_FREQ_CUR, "fclk", 1000000 },
};

/* indep_throttle_status: SMU_THROTTLER_*_BIT of drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h */
static const struct {
	u8 bit;
	const char *reason;
} throttlers[] = {
	{ 0, "ppt0" },       { 1, "ppt1" },       { 2, "ppt2" },         { 3, "ppt3" },
	{ 4, "spl" },        { 5, "fppt" },       { 6, "sppt" },         { 7, "sppt_apu" },
	{ 16, "tdc_gfx" },   { 17, "tdc_soc" },   { 18, "tdc_mem" },     { 19, "tdc_vdd" },
	{ 20, "tdc_cvip" },  { 21, "edc_cpu" },   { 22, "edc_gfx" },     { 23, "apcc" },
	{ 32, "temp_gpu" },  { 33, "temp_core" }, { 34, "temp_mem" },    { 35, "temp_edge" },
	{ 36, "temp_hotspot" }, { 37, "temp_soc" }, { 38, "temp_vr_gfx" }, { 39, "temp_vr_soc" },
	{ 40, "temp_vr_mem0" }, { 41, "temp_vr_mem1" }, { 42, "temp_liquid0" }, { 43, "temp_liquid1" },
	{ 44, "vrhot0" },    { 45, "vrhot1" },    { 46, "prochot_cpu" }, { 47, "prochot_gfx" },
	{ 56, "ppm" },       { 57, "fit" },
};

/* An unsigned little-endian number; false if the blob, or the size that it states, ends before it, or if
 * all its bits are set. */
static bool le(struct str blob, size_t offset, size_t width, u64 *v)
{
	u64 x = 0;
	bool set = false;
	size_t n = str_len(blob), stated;

	if (n < 4)
		return false;
	stated = (size_t)((u8)blob.p[0] | (u8)blob.p[1] << 8);
	if (offset + width > n || offset + width > stated)
		return false;
	for (size_t i = width; i > 0; i--) {
		u8 byte = (u8)blob.p[offset + i - 1];

		x = x << 8 | byte;
		set |= byte != 0xff;
	}
	*v = x;
	return set;
}

/* Each value that this revision has, in the order of the rows; *row starts at 0. */
bool metrics_next(struct str blob, size_t *row, struct metric *m)
{
	while (str_len(blob) >= 4 && *row < LEN(metricrows)) {
		const struct metricrow *r = &metricrows[(*row)++];
		u64 v;

		if ((u8)blob.p[2] != r->format || (u8)blob.p[3] < r->first || (u8)blob.p[3] > r->last)
			continue;
		if (!le(blob, r->offset, r->width, &v))
			continue;
		/* Some SMU11 parts give the PCIe generation here, 1 to 4. */
		if (r->desc == D_LINK_SPEED && v < 10)
			continue;
		/* Energy is in 2^-16 J, which is 15625/1024 uJ; revisions before 1.4 count in a unit of their own. */
		*m = (struct metric){ r->desc, r->inst, r->desc == D_ENERGY ? muldiv(v, 15625, 1024) : v * r->times };
		return true;
	}
	return false;
}

/* Formats 2 and 3 are those of processors with a GPU in them. */
bool metrics_is_apu(struct str blob)
{
	return str_len(blob) >= 4 && ((u8)blob.p[2] == 2 || (u8)blob.p[2] == 3);
}

/* Each reason to throttle that means the same on every chip; *bit starts at 0. */
bool metrics_throttle(struct str blob, size_t *bit, const char **reason, bool *on)
{
	size_t offset = 0;
	u64 v;

	if (str_len(blob) < 4 || *bit >= LEN(throttlers))
		return false;
	if (blob.p[2] == 1 && blob.p[3] == 3)
		offset = 112;
	else if (blob.p[2] == 2 && blob.p[3] >= 2 && blob.p[3] <= 4)
		offset = 120;
	if (!offset || !le(blob, offset, 8, &v))
		return false;
	*reason = throttlers[*bit].reason;
	*on = v >> throttlers[*bit].bit & 1;
	++*bit;
	return true;
}
