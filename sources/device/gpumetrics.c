/* gpumetrics.c - decoder of amdgpu's gpu_metrics, a sysfs file with a binary table, of which there
 * are several revisions. Pure: it takes bytes and returns values. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/device/device.h"

/* struct gpu_metrics_v* of drivers/gpu/drm/amd/include/kgd_pp_interface.h, little endian: u16 size,
 * u8 format revision, u8 content revision, then the fields of that revision, which metricrows[]
 * describes. A field whose bits are all set is not supported. Units in format 1: degrees C, %, W,
 * MHz, 0.1 GT/s; formats 2 and 3 have 1/100 degrees C, 1/100 % and mW. The socket power of format 2
 * is not read: newer firmware reports it in W, and hwmon has the right value. The registry keeps
 * the first value that it gets for an instance: those of hwmon and of other sysfs files come
 * first. */

/* Names of the counters' instances, the same as in hwmon and other sysfs files. */
enum {
	I_NONE, I_EDGE, I_JUNCTION, I_MEM, I_VRGFX, I_VRSOC, I_VRMEM, I_MM, I_PPT, I_SCLK, I_SOCCLK,
	I_MCLK, I_VCLK, I_DCLK, I_FAN1, I_VDDSOC, I_VDDGFX, I_VDDMEM, I_VCN, I_SOC, I_GFX, I_FCLK,
	I_VDDNB
};
static const char metric_insts[][9] = {
	[I_NONE] = "", [I_EDGE] = "edge", [I_JUNCTION] = "junction", [I_MEM] = "mem",
	[I_VRGFX] = "vrgfx", [I_VRSOC] = "vrsoc", [I_VRMEM] = "vrmem", [I_MM] = "mm",
	[I_PPT] = "PPT", [I_SCLK] = "sclk", [I_SOCCLK] = "socclk", [I_MCLK] = "mclk",
	[I_VCLK] = "vclk", [I_DCLK] = "dclk",
	[I_FAN1] = "fan1", [I_VDDSOC] = "vddsoc", [I_VDDGFX] = "vddgfx",
	[I_VDDMEM] = "vddmem", [I_VCN] = "vcn", [I_SOC] = "soc",
	[I_GFX] = "gfx", [I_FCLK] = "fclk", [I_VDDNB] = "vddnb"
};

static const struct metricrow {
	/* format revision; first and last content revision with this field */
	u8 format, first, last;
	u8 width; /* bytes of the field */
	u32 desc : 8, inst : 8;
	u32 offset : 12;
	/* zeros to append to the field's number, which convert it to the registry's unit */
	u32 zeros : 4;
} metricrows[] = {
	{ 1, 0, 0, 2, D_TEMP, I_EDGE, 16, 3 },
	{ 1, 0, 0, 2, D_TEMP, I_JUNCTION, 18, 3 },
	{ 1, 0, 0, 2, D_TEMP, I_MEM, 20, 3 },
	{ 1, 0, 0, 2, D_TEMP, I_VRGFX, 22, 3 },
	{ 1, 0, 0, 2, D_TEMP, I_VRSOC, 24, 3 },
	{ 1, 0, 0, 2, D_TEMP, I_VRMEM, 26, 3 },
	{ 1, 0, 0, 2, D_GPU_BUSY, I_NONE, 28, 3 },
	{ 1, 0, 0, 2, D_LOAD, I_MEM, 30, 3 },
	{ 1, 0, 0, 2, D_LOAD, I_MM, 32, 3 },
	{ 1, 0, 0, 2, D_POWER, I_PPT, 34, 6 },
	{ 1, 0, 0, 2, D_FREQ_CUR, I_SCLK, 54, 6 },
	{ 1, 0, 0, 2, D_FREQ_CUR, I_SOCCLK, 56, 6 },
	{ 1, 0, 0, 2, D_FREQ_CUR, I_MCLK, 58, 6 },
	{ 1, 0, 0, 2, D_FREQ_CUR, I_VCLK, 60, 6 },
	{ 1, 0, 0, 2, D_FREQ_CUR, I_DCLK, 62, 6 },
	{ 1, 0, 0, 2, D_FAN, I_FAN1, 72, 0 },
	{ 1, 0, 0, 1, D_LINK_WIDTH, I_NONE, 74, 0 },
	{ 1, 0, 0, 1, D_LINK_SPEED, I_NONE, 75, 0 },

	{ 1, 1, 3, 2, D_TEMP, I_EDGE, 4, 3 },
	{ 1, 1, 3, 2, D_TEMP, I_JUNCTION, 6, 3 },
	{ 1, 1, 3, 2, D_TEMP, I_MEM, 8, 3 },
	{ 1, 1, 3, 2, D_TEMP, I_VRGFX, 10, 3 },
	{ 1, 1, 3, 2, D_TEMP, I_VRSOC, 12, 3 },
	{ 1, 1, 3, 2, D_TEMP, I_VRMEM, 14, 3 },
	{ 1, 1, 3, 2, D_GPU_BUSY, I_NONE, 16, 3 },
	{ 1, 1, 3, 2, D_LOAD, I_MEM, 18, 3 },
	{ 1, 1, 3, 2, D_LOAD, I_MM, 20, 3 },
	{ 1, 1, 3, 2, D_POWER, I_PPT, 22, 6 },
	{ 1, 1, 3, 2, D_FREQ_CUR, I_SCLK, 54, 6 },
	{ 1, 1, 3, 2, D_FREQ_CUR, I_SOCCLK, 56, 6 },
	{ 1, 1, 3, 2, D_FREQ_CUR, I_MCLK, 58, 6 },
	{ 1, 1, 3, 2, D_FREQ_CUR, I_VCLK, 60, 6 },
	{ 1, 1, 3, 2, D_FREQ_CUR, I_DCLK, 62, 6 },
	{ 1, 1, 3, 2, D_FAN, I_FAN1, 72, 0 },
	{ 1, 1, 3, 2, D_LINK_WIDTH, I_NONE, 74, 0 },
	{ 1, 1, 3, 2, D_LINK_SPEED, I_NONE, 76, 0 },
	{ 1, 3, 3, 2, D_VOLT, I_VDDSOC, 104, 0 },
	{ 1, 3, 3, 2, D_VOLT, I_VDDGFX, 106, 0 },
	{ 1, 3, 3, 2, D_VOLT, I_VDDMEM, 108, 0 },

	{ 1, 4, 5, 2, D_TEMP, I_JUNCTION, 4, 3 },
	{ 1, 4, 5, 2, D_TEMP, I_MEM, 6, 3 },
	{ 1, 4, 5, 2, D_TEMP, I_VRSOC, 8, 3 },
	{ 1, 4, 5, 2, D_POWER, I_PPT, 10, 6 },
	{ 1, 4, 5, 2, D_GPU_BUSY, I_NONE, 12, 3 },
	{ 1, 4, 5, 2, D_LOAD, I_MEM, 14, 3 },
	{ 1, 4, 5, 2, D_LOAD, I_VCN, 16, 3 },
	{ 1, 4, 4, 8, D_ENERGY, I_PPT, 24, 0 },
	{ 1, 5, 5, 8, D_ENERGY, I_PPT, 88, 0 },
	{ 1, 4, 4, 2, D_LINK_WIDTH, I_NONE, 48, 0 },
	{ 1, 4, 4, 2, D_LINK_SPEED, I_NONE, 50, 0 },
	{ 1, 4, 4, 2, D_FREQ_CUR, I_SCLK, 240, 6 },
	{ 1, 4, 4, 2, D_FREQ_CUR, I_MCLK, 280, 6 },
	{ 1, 5, 5, 2, D_LINK_WIDTH, I_NONE, 112, 0 },
	{ 1, 5, 5, 2, D_LINK_SPEED, I_NONE, 114, 0 },
	{ 1, 5, 5, 2, D_FREQ_CUR, I_SCLK, 312, 6 },
	{ 1, 5, 5, 2, D_FREQ_CUR, I_MCLK, 352, 6 },

	{ 2, 0, 0, 2, D_TEMP, I_EDGE, 16, 1 },
	{ 2, 0, 0, 2, D_TEMP, I_SOC, 18, 1 },
	{ 2, 0, 0, 2, D_GPU_BUSY, I_NONE, 40, 1 },
	{ 2, 0, 0, 2, D_LOAD, I_MM, 42, 1 },
	{ 2, 0, 0, 2, D_POWER, I_GFX, 50, 3 },
	{ 2, 0, 0, 2, D_FREQ_CUR, I_SCLK, 80, 6 },
	{ 2, 0, 0, 2, D_FREQ_CUR, I_SOCCLK, 82, 6 },
	{ 2, 0, 0, 2, D_FREQ_CUR, I_MCLK, 84, 6 },
	{ 2, 0, 0, 2, D_FREQ_CUR, I_FCLK, 86, 6 },
	{ 2, 0, 0, 2, D_FREQ_CUR, I_VCLK, 88, 6 },
	{ 2, 0, 0, 2, D_FREQ_CUR, I_DCLK, 90, 6 },

	{ 2, 1, 4, 2, D_TEMP, I_EDGE, 4, 1 },
	{ 2, 1, 4, 2, D_TEMP, I_SOC, 6, 1 },
	{ 2, 1, 4, 2, D_GPU_BUSY, I_NONE, 28, 1 },
	{ 2, 1, 4, 2, D_LOAD, I_MM, 30, 1 },
	{ 2, 1, 4, 2, D_POWER, I_GFX, 46, 3 },
	{ 2, 1, 4, 2, D_FREQ_CUR, I_SCLK, 76, 6 },
	{ 2, 1, 4, 2, D_FREQ_CUR, I_SOCCLK, 78, 6 },
	{ 2, 1, 4, 2, D_FREQ_CUR, I_MCLK, 80, 6 },
	{ 2, 1, 4, 2, D_FREQ_CUR, I_FCLK, 82, 6 },
	{ 2, 1, 4, 2, D_FREQ_CUR, I_VCLK, 84, 6 },
	{ 2, 1, 4, 2, D_FREQ_CUR, I_DCLK, 86, 6 },
	{ 2, 4, 4, 2, D_VOLT, I_VDDNB, 154, 0 },
	{ 2, 4, 4, 2, D_VOLT, I_VDDGFX, 156, 0 },

	{ 3, 0, 0, 2, D_TEMP, I_EDGE, 4, 1 },
	{ 3, 0, 0, 2, D_TEMP, I_SOC, 6, 1 },
	{ 3, 0, 0, 4, D_POWER, I_PPT, 112, 3 },
	{ 3, 0, 0, 4, D_POWER, I_GFX, 124, 3 },
	{ 3, 0, 0, 2, D_FREQ_CUR, I_SCLK, 174, 6 },
	{ 3, 0, 0, 2, D_FREQ_CUR, I_SOCCLK, 176, 6 },
	{ 3, 0, 0, 2, D_FREQ_CUR, I_MCLK, 186, 6 },
	{ 3, 0, 0, 2, D_FREQ_CUR, I_FCLK, 182, 6 },
};

/* Bits of the field indep_throttle_status: SMU_THROTTLER_*_BIT of
 * drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h */
static const struct {
	u8 bit;
	char reason[13];
} throttlers[] = {
	{ 0, "ppt0" },       { 1, "ppt1" },       { 2, "ppt2" },         { 3, "ppt3" },
	{ 4, "spl" },        { 5, "fppt" },       { 6, "sppt" },         { 7, "sppt_apu" },
	{ 16, "tdc_gfx" },   { 17, "tdc_soc" },   { 18, "tdc_mem" },     { 19, "tdc_vdd" },
	{ 20, "tdc_cvip" },  { 21, "edc_cpu" },   { 22, "edc_gfx" },     { 23, "apcc" },
	{ 32, "temp_gpu" },  { 33, "temp_core" }, { 34, "temp_mem" },    { 35, "temp_edge" },
	{ 36, "temp_hotspot" }, { 37, "temp_soc" }, { 38, "temp_vr_gfx" }, { 39, "temp_vr_soc" },
	{ 40, "temp_vr_mem0" }, { 41, "temp_vr_mem1" },
	{ 42, "temp_liquid0" }, { 43, "temp_liquid1" },
	{ 44, "vrhot0" },    { 45, "vrhot1" },    { 46, "prochot_cpu" }, { 47, "prochot_gfx" },
	{ 56, "ppm" },       { 57, "fit" },
};

/* Stores in *v the unsigned little-endian number of `width` bytes (at most 8) at an offset of the
 * gpu_metrics blob. False if the blob, or the size that it states, ends before the number's end, or
 * if all bits of the number are set. */
static bool field_read(struct str blob, size_t offset, size_t width, u64 *v)
{
	const char *p = blob.p;

	*v = 0;
	if (blob.e - p < 4 || offset + width > ((u8)p[0] | (size_t)(u8)p[1] << 8) ||
	    (size_t)(blob.e - p) < offset + width)
		return false;
	p += offset;
	for (size_t i = 0; i < width && blob.e - p > 0; i++)
		*v |= (u64)(u8)*p++ << 8 * i;
	return *v != UINT64_MAX >> (64 - 8 * width);
}

/* Stores in *m the next value of a gpu_metrics blob, in the order of metricrows[]. False if there
 * are no more. The caller sets *row to 0 before the first call. */
bool metrics_next(struct str blob, size_t *row, struct metric *m)
{
	while (blob.e - blob.p >= 4 && *row < LEN(metricrows)) {
		const struct metricrow *r = &metricrows[(*row)++];
		u64 v;

		if ((u8)blob.p[2] != r->format || (u8)blob.p[3] < r->first ||
		    (u8)blob.p[3] > r->last)
			continue;
		if (!field_read(blob, r->offset, r->width, &v))
			continue;
		/* Some SMU11 chips report the PCIe generation, 1 to 4, in place of the link's
		 * speed. */
		if (r->desc == D_LINK_SPEED && v < 10)
			continue;
		for (u8 n = r->desc == D_ENERGY ? 0 : r->zeros; n; n--)
			v *= 10;
		/* Energy is in 2^-16 J, which is 15625/1024 uJ; revisions before 1.4 use another
		 * unit. */
		*m = (struct metric){ r->desc, metric_insts[r->inst],
				      r->desc == D_ENERGY ? muldiv(v, 15625, 1024) : v };
		return true;
	}
	return false;
}

/* True if a gpu_metrics blob has format 2 or 3: these are used by APUs, processors with an
 * integrated GPU. */
bool metrics_is_apu(struct str blob)
{
	return blob.e - blob.p >= 4 && ((u8)blob.p[2] == 2 || (u8)blob.p[2] == 3);
}

/* Stores in *reason the next throttle reason of a gpu_metrics blob, and in *on whether it is
 * active. Only the reasons that mean the same on every chip are returned. False if there are no
 * more. The caller sets *bit to 0 before the first call. */
bool metrics_throttle(struct str blob, size_t *bit, const char **reason, bool *on)
{
	size_t offset = 0;
	u64 v;

	if (blob.e - blob.p < 4 || *bit >= LEN(throttlers))
		return false;
	if (blob.p[2] == 1 && blob.p[3] == 3)
		offset = 112;
	else if (blob.p[2] == 2 && blob.p[3] >= 2 && blob.p[3] <= 4)
		offset = 120;
	if (!offset || !field_read(blob, offset, 8, &v))
		return false;
	*reason = throttlers[*bit].reason;
	*on = v >> throttlers[*bit].bit & 1;
	++*bit;
	return true;
}
