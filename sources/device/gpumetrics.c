/* gpumetrics.c - decoder of amdgpu's gpu_metrics, a sysfs file with a binary table, of which there
 * are several revisions. Pure: it takes bytes and returns values. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/device/device.h"

/* struct gpu_metrics_v* of drivers/gpu/drm/amd/include/kgd_pp_interface.h: u16 size, u8 format
 * revision, u8 content revision, then the fields of that revision, which metricrows[] describes. A
 * field whose bits are all set has no value. Units in format 1: degrees C, %, W, MHz, 0.1 GT/s;
 * formats 2 and 3 have 1/100 degrees C, 1/100 % and mW. The socket power of format 2 is not read:
 * newer firmware reports it in W, and hwmon has the right value. If several files have a value for
 * the same counter, the registry keeps the first; gpu_metrics is read after hwmon and the other
 * sysfs files.
 *
 * Revision 1.9 (as in Linux 7.2) describes its own fields: s32 number of attributes, then for each
 * attribute a u64 with its unit (bits 31 to 24), type (23 to 20), id (19 to 10) and number of
 * values (9 to 0), and the values, without padding. If an attribute has a value for each die or
 * partition, only the first value is used; the same is true for arrays in revisions 1.4 to 1.8. */

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

/* Units of attributes in revision 1.9: enum amdgpu_metrics_attr_unit of the driver */
enum { UNIT_NONE, UNIT_MHZ, UNIT_CELSIUS, UNIT_WATT, UNIT_TENTH_GT = 7, UNIT_PERCENT = 10 };

static const struct metricrow {
	/* format: format revision of the table; first, last: its content revisions that have this
	 * field */
	u8 format, first, last;
	u8 width; /* size of the field in bytes; in revision 1.9: unit of the attribute (UNIT_*) */
	u32 desc : 8, inst : 8;
	/* offset of the field in bytes; in revision 1.9: number in enum amdgpu_metrics_attr_id */
	u32 offset : 12;
	/* power of ten that converts the field's number to the unit of the registry */
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

	{ 1, 4, 8, 2, D_TEMP, I_JUNCTION, 4, 3 },
	{ 1, 4, 8, 2, D_TEMP, I_MEM, 6, 3 },
	{ 1, 4, 8, 2, D_TEMP, I_VRSOC, 8, 3 },
	{ 1, 4, 8, 2, D_POWER, I_PPT, 10, 6 },
	{ 1, 4, 8, 2, D_GPU_BUSY, I_NONE, 12, 3 },
	{ 1, 4, 8, 2, D_LOAD, I_MEM, 14, 3 },
	{ 1, 4, 5, 2, D_LOAD, I_VCN, 16, 3 },
	{ 1, 6, 6, 2, D_LOAD, I_VCN, 408, 3 },
	{ 1, 7, 7, 2, D_LOAD, I_VCN, 440, 3 },
	{ 1, 8, 8, 2, D_LOAD, I_VCN, 456, 3 },
	{ 1, 4, 4, 8, D_ENERGY, I_PPT, 24, 0 },
	{ 1, 5, 5, 8, D_ENERGY, I_PPT, 88, 0 },
	{ 1, 6, 6, 8, D_ENERGY, I_PPT, 16, 0 },
	{ 1, 7, 8, 8, D_ENERGY, I_PPT, 24, 0 },
	{ 1, 4, 4, 2, D_LINK_WIDTH, I_NONE, 48, 0 },
	{ 1, 4, 4, 2, D_LINK_SPEED, I_NONE, 50, 0 },
	{ 1, 4, 4, 2, D_FREQ_CUR, I_SCLK, 240, 6 },
	{ 1, 4, 4, 2, D_FREQ_CUR, I_MCLK, 280, 6 },
	{ 1, 5, 5, 2, D_LINK_WIDTH, I_NONE, 112, 0 },
	{ 1, 5, 5, 2, D_LINK_SPEED, I_NONE, 114, 0 },
	{ 1, 5, 5, 2, D_FREQ_CUR, I_SCLK, 312, 6 },
	{ 1, 5, 5, 2, D_FREQ_CUR, I_MCLK, 352, 6 },
	{ 1, 6, 6, 2, D_LINK_WIDTH, I_NONE, 60, 0 },
	{ 1, 6, 6, 2, D_LINK_SPEED, I_NONE, 62, 0 },
	{ 1, 6, 6, 2, D_FREQ_CUR, I_SCLK, 264, 6 },
	{ 1, 6, 6, 2, D_FREQ_CUR, I_MCLK, 304, 6 },
	{ 1, 7, 8, 2, D_LINK_WIDTH, I_NONE, 68, 0 },
	{ 1, 7, 8, 2, D_LINK_SPEED, I_NONE, 70, 0 },
	{ 1, 7, 8, 2, D_FREQ_CUR, I_SCLK, 296, 6 },
	{ 1, 7, 8, 2, D_FREQ_CUR, I_MCLK, 336, 6 },

	{ 1, 9, 9, UNIT_CELSIUS, D_TEMP, I_JUNCTION, 0, 3 },
	{ 1, 9, 9, UNIT_CELSIUS, D_TEMP, I_MEM, 1, 3 },
	{ 1, 9, 9, UNIT_CELSIUS, D_TEMP, I_VRSOC, 2, 3 },
	{ 1, 9, 9, UNIT_WATT, D_POWER, I_PPT, 3, 6 },
	{ 1, 9, 9, UNIT_PERCENT, D_GPU_BUSY, I_NONE, 4, 3 },
	{ 1, 9, 9, UNIT_PERCENT, D_LOAD, I_MEM, 5, 3 },
	{ 1, 9, 9, UNIT_PERCENT, D_LOAD, I_VCN, 42, 3 },
	{ 1, 9, 9, UNIT_NONE, D_ENERGY, I_PPT, 7, 0 },
	{ 1, 9, 9, UNIT_NONE, D_LINK_WIDTH, I_NONE, 16, 0 },
	{ 1, 9, 9, UNIT_TENTH_GT, D_LINK_SPEED, I_NONE, 17, 0 },
	{ 1, 9, 9, UNIT_MHZ, D_FREQ_CUR, I_SCLK, 33, 6 },
	{ 1, 9, 9, UNIT_MHZ, D_FREQ_CUR, I_MCLK, 37, 6 },

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
 * drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h.
 *
 * The firmware of RDNA3 and RDNA4 always sets temp_hotspot, even at idle at 41 degrees C: the
 * driver sets the bit if the share of throttling is not exactly 0. So a reason whose temperature is
 * in the table is reported as active only if the temperature is at least `least` degrees C, which
 * is less than any default limit. For the hot spot, which has limits of 95 to 110, `least` is 90,
 * as in LACT and amdgpu_top. For other temperatures it is 70: no other bit is known to be wrong,
 * and makers of laptops lower these limits. A reason without a temperature is active if its bit is
 * set. */
static const struct throttler {
	u8 bit;
	char reason[13];
	/* inst: number of the temperature (I_*) that causes the reason for throttling, 0 if none
	 * does; least: lowest temperature, in degrees C, at which the reason is reported */
	u8 inst, least;
} throttlers[] = {
	{ 0, "ppt0", 0, 0 }, { 1, "ppt1", 0, 0 }, { 2, "ppt2", 0, 0 }, { 3, "ppt3", 0, 0 },
	{ 4, "spl", 0, 0 }, { 5, "fppt", 0, 0 }, { 6, "sppt", 0, 0 }, { 7, "sppt_apu", 0, 0 },
	{ 16, "tdc_gfx", 0, 0 }, { 17, "tdc_soc", 0, 0 }, { 18, "tdc_mem", 0, 0 },
	{ 19, "tdc_vdd", 0, 0 }, { 20, "tdc_cvip", 0, 0 }, { 21, "edc_cpu", 0, 0 },
	{ 22, "edc_gfx", 0, 0 }, { 23, "apcc", 0, 0 },
	{ 32, "temp_gpu", I_EDGE, 70 }, { 33, "temp_core", 0, 0 }, { 34, "temp_mem", I_MEM, 70 },
	{ 35, "temp_edge", I_EDGE, 70 }, { 36, "temp_hotspot", I_JUNCTION, 90 },
	{ 37, "temp_soc", I_SOC, 70 }, { 38, "temp_vr_gfx", I_VRGFX, 70 },
	{ 39, "temp_vr_soc", I_VRSOC, 70 }, { 40, "temp_vr_mem0", I_VRMEM, 70 },
	{ 41, "temp_vr_mem1", 0, 0 }, { 42, "temp_liquid0", 0, 0 }, { 43, "temp_liquid1", 0, 0 },
	{ 44, "vrhot0", 0, 0 }, { 45, "vrhot1", 0, 0 }, { 46, "prochot_cpu", 0, 0 },
	{ 47, "prochot_gfx", 0, 0 }, { 56, "ppm", 0, 0 }, { 57, "fit", 0, 0 },
};

/* Returns the unsigned number in the first n bytes of s. n: at most 8. */
static u64 number(struct str s, size_t n, bool big)
{
	u64 v = 0;

	for (size_t i = 0; i < n && s.e - s.p > 0; i++, s.p++)
		v = big ? v << 8 | (u8)*s.p : v | (u64)(u8)*s.p << 8 * i;
	return v;
}

/* Returns true if the numbers of a gpu_metrics table are big-endian. The driver writes them in the
 * byte order of its machine; a copied file can come from a machine with another byte order. The
 * table begins with its size: the right byte order is the one in which this size equals the length
 * of the file. If both orders fit, or neither because the table is cut, the order of this machine
 * is used. The table must have at least 4 bytes. */
static bool is_big(struct str blob)
{
	bool little = number(blob, 2, false) == str_len(blob);
	bool big = number(blob, 2, true) == str_len(blob);

	return little == big ? __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ : big;
}

/* Stores in *v the unsigned number of `width` bytes (at most 8) at an offset of the gpu_metrics
 * table, in the byte order of the table. False if the number is not completely within the table and
 * within its size field, or if all bits of the number are set. */
static bool field_read(struct str blob, size_t offset, size_t width, u64 *v)
{
	*v = 0;
	if (width < 1 || width > 8 || offset > UINT16_MAX || str_len(blob) < 4 ||
	    offset + width > number(blob, 2, is_big(blob)) || str_len(blob) < offset + width)
		return false;
	*v = number((struct str){ blob.p + offset, blob.e }, width, is_big(blob));
	return *v != UINT64_MAX >> (64 - 8 * width);
}

/* Stores in *v the first value of the attribute that a row of metricrows[] names, from a
 * gpu_metrics table of revision 1.9. False if the table does not have the attribute, or if the
 * value is negative or has another unit than the row. Types 0 to 7 are u8, s8, u16, s16, u32, s32,
 * u64, s64. At an attribute of another type the search ends, because the size of that attribute is
 * unknown. */
static bool attribute_read(struct str blob, const struct metricrow *r, u64 *v)
{
	size_t at = 8;
	u64 left, code;

	if (!field_read(blob, 4, 4, &left))
		return false;
	for (; left && field_read(blob, at, 8, &code) && (code >> 20 & 15) < 8; left--) {
		size_t width = (size_t)1 << (code >> 21 & 3), values = code & 1023;

		at += 8;
		if (values && (code >> 10 & 1023) == r->offset)
			return code >> 24 == r->width && field_read(blob, at, width, v) &&
			       !((code >> 20) & (*v >> (8 * width - 1)) & 1);
		at += values * width;
	}
	return false;
}

/* Stores in *m the next value of a gpu_metrics table, in the order of metricrows[]. False if there
 * are no more values. The caller sets *row to 0 before the first call. */
bool metrics_next(struct str blob, size_t *row, struct metric *m)
{
	while (blob.e - blob.p >= 4 && *row < LEN(metricrows)) {
		const struct metricrow *r = &metricrows[(*row)++];
		u64 v = 0;

		if ((u8)blob.p[2] != r->format || (u8)blob.p[3] < r->first ||
		    (u8)blob.p[3] > r->last)
			continue;
		if (r->first == 9 ? !attribute_read(blob, r, &v) :
				    !field_read(blob, r->offset, r->width, &v))
			continue;
		if (r->desc != D_ENERGY && v > UINT32_MAX)
			/* reject the value: multiplied by 10^zeros, it could exceed 64 bits */
			continue;
		/* Some SMU11 chips report the PCIe generation, 1 to 4, instead of the speed of the
		 * link. */
		if (r->desc == D_LINK_SPEED && v < 10)
			continue;
		for (u8 n = r->desc == D_ENERGY ? 0 : r->zeros; n; n--)
			v *= 10;
		/* The GPU's energy counter has the unit 2^-16 J, which is 15625/1024 uJ. In content
		 * revisions of gpu_metrics before 1.4 it has another unit and is not read. */
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

/* Returns true if the temperature that belongs to a throttle reason is at least `least` degrees C,
 * or is unknown. A temperature of 0 is unknown, too: chips without the sensor report 0. */
static bool is_hot(struct str blob, const struct throttler *t)
{
	size_t row = 0;
	struct metric m;

	while (t->inst && metrics_next(blob, &row, &m))
		if (m.desc == D_TEMP && m.inst == metric_insts[t->inst])
			return m.v == 0 || m.v >= t->least * UINT64_C(1000);
	return true;
}

/* Stores the text of the next throttle reason of a gpu_metrics table in *reason, and in *on whether
 * the reason is active. Leaves out reasons that do not mean the same on every chip. False if there
 * are no more reasons. The caller sets *bit to 0 before the first call. */
bool metrics_throttle(struct str blob, size_t *bit, const char **reason, bool *on)
{
	const struct throttler *t;
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
	t = &throttlers[*bit];
	*reason = t->reason;
	*on = (v >> t->bit & 1) && is_hot(blob, t);
	++*bit;
	return true;
}
