/* t_gpumetrics.c - amdgpu's gpu_metrics in each of its revisions. SPDX-License-Identifier: MIT */
#include "unit.h"

/* One field of a struct in drivers/gpu/drm/amd/include/kgd_pp_interface.h: its position and its
 * meaning. Fields with an unclear meaning, and fields that are not about the GPU, are left out. */
struct mfield {
	u16 offset;
	u8 width;
	u8 desc;
	const char *inst;
	u32 times; /* the factor to the registry's unit */
};

#define V1_1_TO_3                                                                                  \
	{ 4, 2, D_TEMP, "edge", 1000 }, { 6, 2, D_TEMP, "junction", 1000 },                        \
	{ 8, 2, D_TEMP, "mem", 1000 }, { 10, 2, D_TEMP, "vrgfx", 1000 },                           \
	{ 12, 2, D_TEMP, "vrsoc", 1000 }, { 14, 2, D_TEMP, "vrmem", 1000 },                        \
	{ 16, 2, D_GPU_BUSY, "", 1000 }, { 18, 2, D_LOAD, "mem", 1000 }, { 20, 2, D_LOAD, "mm", 1000 }, \
	{ 22, 2, D_POWER, "PPT", 1000000 },                                                        \
	{ 54, 2, D_FREQ_CUR, "sclk", 1000000 }, { 56, 2, D_FREQ_CUR, "socclk", 1000000 },          \
	{ 58, 2, D_FREQ_CUR, "mclk", 1000000 }, { 60, 2, D_FREQ_CUR, "vclk", 1000000 },            \
	{ 62, 2, D_FREQ_CUR, "dclk", 1000000 },                                                    \
	{ 72, 2, D_FAN, "fan1", 1 }, { 74, 2, D_LINK_WIDTH, "", 1 }, { 76, 2, D_LINK_SPEED, "", 1 }

#define V1_4_AND_5                                                                                 \
	{ 4, 2, D_TEMP, "junction", 1000 }, { 6, 2, D_TEMP, "mem", 1000 },                         \
	{ 8, 2, D_TEMP, "vrsoc", 1000 }, { 10, 2, D_POWER, "PPT", 1000000 },                       \
	{ 12, 2, D_GPU_BUSY, "", 1000 }, { 14, 2, D_LOAD, "mem", 1000 }, { 16, 2, D_LOAD, "vcn", 1000 }

#define V2_1_TO_4                                                                                  \
	{ 4, 2, D_TEMP, "edge", 10 }, { 6, 2, D_TEMP, "soc", 10 },                                 \
	{ 28, 2, D_GPU_BUSY, "", 10 }, { 30, 2, D_LOAD, "mm", 10 }, { 46, 2, D_POWER, "gfx", 1000 }, \
	{ 76, 2, D_FREQ_CUR, "sclk", 1000000 }, { 78, 2, D_FREQ_CUR, "socclk", 1000000 },          \
	{ 80, 2, D_FREQ_CUR, "mclk", 1000000 }, { 82, 2, D_FREQ_CUR, "fclk", 1000000 },            \
	{ 84, 2, D_FREQ_CUR, "vclk", 1000000 }, { 86, 2, D_FREQ_CUR, "dclk", 1000000 }

enum { MAX_BLOB = 512, MAX_MFIELDS = 24 };

static const struct revision {
	u8 format, content;
	u16 size;
	u16 throttle; /* offset of indep_throttle_status, or 0 */
	bool apu;
	struct mfield f[MAX_MFIELDS];
} revisions[] = {
	{ 1, 0, 80, 0, false, {
		{ 16, 2, D_TEMP, "edge", 1000 }, { 18, 2, D_TEMP, "junction", 1000 }, { 20, 2, D_TEMP, "mem", 1000 },
		{ 22, 2, D_TEMP, "vrgfx", 1000 }, { 24, 2, D_TEMP, "vrsoc", 1000 }, { 26, 2, D_TEMP, "vrmem", 1000 },
		{ 28, 2, D_GPU_BUSY, "", 1000 }, { 30, 2, D_LOAD, "mem", 1000 }, { 32, 2, D_LOAD, "mm", 1000 },
		{ 34, 2, D_POWER, "PPT", 1000000 },
		{ 54, 2, D_FREQ_CUR, "sclk", 1000000 }, { 56, 2, D_FREQ_CUR, "socclk", 1000000 },
		{ 58, 2, D_FREQ_CUR, "mclk", 1000000 }, { 60, 2, D_FREQ_CUR, "vclk", 1000000 },
		{ 62, 2, D_FREQ_CUR, "dclk", 1000000 },
		{ 72, 2, D_FAN, "fan1", 1 }, { 74, 1, D_LINK_WIDTH, "", 1 }, { 75, 1, D_LINK_SPEED, "", 1 } } },
	{ 1, 1, 96, 0, false, { V1_1_TO_3 } },
	{ 1, 2, 104, 0, false, { V1_1_TO_3 } },
	{ 1, 3, 120, 112, false, { V1_1_TO_3, { 104, 2, D_VOLT, "vddsoc", 1 }, { 106, 2, D_VOLT, "vddgfx", 1 },
				   { 108, 2, D_VOLT, "vddmem", 1 } } },
	{ 1, 4, 288, 0, false, { V1_4_AND_5, { 24, 8, D_ENERGY, "PPT", 1 }, { 48, 2, D_LINK_WIDTH, "", 1 }, { 50, 2, D_LINK_SPEED, "", 1 },
				 { 240, 2, D_FREQ_CUR, "sclk", 1000000 }, { 280, 2, D_FREQ_CUR, "mclk", 1000000 } } },
	{ 1, 5, 360, 0, false, { V1_4_AND_5, { 88, 8, D_ENERGY, "PPT", 1 }, { 112, 2, D_LINK_WIDTH, "", 1 }, { 114, 2, D_LINK_SPEED, "", 1 },
				 { 312, 2, D_FREQ_CUR, "sclk", 1000000 }, { 352, 2, D_FREQ_CUR, "mclk", 1000000 } } },
	{ 2, 0, 120, 0, true, {
		{ 16, 2, D_TEMP, "edge", 10 }, { 18, 2, D_TEMP, "soc", 10 }, { 40, 2, D_GPU_BUSY, "", 10 },
		{ 42, 2, D_LOAD, "mm", 10 }, { 50, 2, D_POWER, "gfx", 1000 },
		{ 80, 2, D_FREQ_CUR, "sclk", 1000000 }, { 82, 2, D_FREQ_CUR, "socclk", 1000000 },
		{ 84, 2, D_FREQ_CUR, "mclk", 1000000 }, { 86, 2, D_FREQ_CUR, "fclk", 1000000 },
		{ 88, 2, D_FREQ_CUR, "vclk", 1000000 }, { 90, 2, D_FREQ_CUR, "dclk", 1000000 } } },
	{ 2, 1, 120, 0, true, { V2_1_TO_4 } },
	{ 2, 2, 128, 120, true, { V2_1_TO_4 } },
	{ 2, 3, 152, 120, true, { V2_1_TO_4 } },
	{ 2, 4, 168, 120, true, { V2_1_TO_4, { 154, 2, D_VOLT, "vddnb", 1 }, { 156, 2, D_VOLT, "vddgfx", 1 } } },
	{ 3, 0, 264, 0, true, {
		{ 4, 2, D_TEMP, "edge", 10 }, { 6, 2, D_TEMP, "soc", 10 }, { 112, 4, D_POWER, "PPT", 1000 },
		{ 124, 4, D_POWER, "gfx", 1000 }, { 174, 2, D_FREQ_CUR, "sclk", 1000000 },
		{ 176, 2, D_FREQ_CUR, "socclk", 1000000 }, { 186, 2, D_FREQ_CUR, "mclk", 1000000 },
		{ 182, 2, D_FREQ_CUR, "fclk", 1000000 } } },
};

static size_t nfields(const struct revision *r)
{
	size_t n = 0;

	while (n < MAX_MFIELDS && r->f[n].width)
		n++;
	return n;
}

/* A value of field i that no other field has, and that means "not supported" in no field. */
static u64 value_of(size_t i)
{
	return 100 + i;
}

/* A blob in which only the fields whose bit is set are supported. */
static struct str blob_of(const struct revision *r, u32 set, char *b)
{
	memset(b, 0xff, MAX_BLOB);
	b[0] = (char)r->size;
	b[1] = (char)(r->size >> 8);
	b[2] = (char)r->format;
	b[3] = (char)r->content;
	for (size_t i = 0; i < nfields(r); i++)
		for (u8 k = 0; set >> i & 1 && k < r->f[i].width; k++)
			b[r->f[i].offset + k] = (char)(value_of(i) >> 8 * k);
	return (struct str){ b, b + r->size };
}

/* Returns whether exactly the fields whose bit is set are read from the blob, with their values. */
static bool has_fields(const struct revision *r, struct str blob, u32 set)
{
	size_t row = 0;
	struct metric m;
	bool ok = true;

	while (metrics_next(blob, &row, &m)) {
		size_t i = 0;

		while (i < nfields(r) && (r->f[i].desc != m.desc || strcmp(r->f[i].inst, m.inst) != 0))
			i++;
		if (i == nfields(r) || !(set >> i & 1)) {
			note("v%u.%u of %zu bytes also tells %u '%s'", r->format, r->content, str_len(blob), m.desc,
			     m.inst);
			return false;
		}
		/* the unit is 2^-16 J, the registry's is uJ */
		if (m.v != (m.desc == D_ENERGY ? value_of(i) * 1000000 / 65536 : value_of(i) * r->f[i].times)) {
			note("v%u.%u: %u '%s' is %" PRIu64, r->format, r->content, m.desc, m.inst, m.v);
			ok = false;
		}
		set &= ~(1u << i);
	}
	if (set)
		note("v%u.%u of %zu bytes: fields 0x%x are missing", r->format, r->content, str_len(blob), set);
	return ok && !set;
}

/* Bits of the fields within the first n bytes. */
static u32 fields_in(const struct revision *r, size_t n)
{
	u32 set = 0;

	for (size_t i = 0; i < nfields(r); i++)
		if ((size_t)r->f[i].offset + r->f[i].width <= n)
			set |= 1u << i;
	return set;
}

static void t_metrics(void)
{
	char b[MAX_BLOB];

	for (size_t k = 0; k < LEN(revisions); k++) {
		const struct revision *r = &revisions[k];
		u32 all = (1u << nfields(r)) - 1;
		struct str s = blob_of(r, all, b), cut;
		bool ok = true;

		check(has_fields(r, edge_str(s.p, str_len(s)), all), "metrics v%u.%u: all fields are read", r->format, r->content);
		check(metrics_is_apu(s) == r->apu, "metrics v%u.%u: %s", r->format, r->content,
		      r->apu ? "an APU" : "not an APU");
		check(has_fields(r, blob_of(r, 0, b), 0), "metrics v%u.%u: a field of all ones has no value", r->format, r->content);
		for (size_t i = 0; i < nfields(r); i++)
			ok &= has_fields(r, blob_of(r, 1u << i, b), 1u << i);
		check(ok, "metrics v%u.%u: each field is read alone", r->format, r->content);

		ok = true;
		blob_of(r, all, b);
		for (size_t n = 0; n <= r->size; n++) {
			cut = edge_str(b, n);
			ok &= has_fields(r, cut, n < 4 ? 0 : fields_in(r, n));
		}
		check(ok, "metrics v%u.%u: only complete fields of a cut blob are read", r->format, r->content);
		ok = true;
		for (size_t n = 0; n <= r->size; n++) {
			b[0] = (char)n;
			b[1] = (char)(n >> 8);
			cut = edge_str(b, r->size);
			ok &= has_fields(r, cut, fields_in(r, n));
		}
		check(ok, "metrics v%u.%u: only fields within a smaller stated size are read", r->format, r->content);
		b[0] = b[1] = (char)0xff;
		cut = edge_str(b, r->size);
		check(has_fields(r, cut, all), "metrics v%u.%u: a stated size beyond the blob has no effect", r->format, r->content);
	}
}

static void t_metrics_others(void)
{
	char b[MAX_BLOB];
	size_t unknown = 0, wrong = 0;

	for (unsigned format = 0; format < 256; format++)
		for (unsigned content = 0; content < 256; content++) {
			size_t row = 0, bit = 0;
			struct metric m;
			const char *reason;
			bool on, known = false;

			for (size_t k = 0; k < LEN(revisions); k++)
				known |= revisions[k].format == format && revisions[k].content == content;
			if (known)
				continue;
			memset(b, 1, sizeof(b));
			b[0] = 0;
			b[1] = 1;
			b[2] = (char)format;
			b[3] = (char)content;
			unknown++;
			wrong += metrics_next((struct str){ b, b + 256 }, &row, &m) ||
				 metrics_throttle((struct str){ b, b + 256 }, &bit, &reason, &on);
		}
	check(unknown == 65536 - LEN(revisions) && wrong == 0, "metrics: no field of %zu unknown revisions is read",
	      unknown);
	if (wrong)
		note("%zu were read", wrong);

	/* Some kernels have the PCIe generation in place of the speed. */
	for (unsigned v = 0; v < 12; v++) {
		size_t row = 0;
		struct metric m;
		struct str s = blob_of(&revisions[1], 0, b);
		bool any;

		b[76] = (char)v;
		b[77] = 0;
		any = metrics_next(s, &row, &m);
		check(any == (v >= 10), "metrics: a link speed of %u tenths of GT/s is %s", v, v >= 10 ? "valid" : "not valid");
	}
	{
		size_t row = 1 << 20, bit = 1 << 20;
		struct metric m;
		const char *reason;
		bool on;
		struct str s = blob_of(&revisions[3], 1, b);

		check(!metrics_next(s, &row, &m) && !metrics_throttle(s, &bit, &reason, &on),
		      "metrics: nothing is read beyond the last row");
	}
}

/* SMU_THROTTLER_*_BIT of drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h */
static const struct {
	u8 bit;
	const char *reason;
} throttle_bits[] = {
	{ 0, "ppt0" }, { 1, "ppt1" }, { 2, "ppt2" }, { 3, "ppt3" }, { 4, "spl" }, { 5, "fppt" }, { 6, "sppt" },
	{ 7, "sppt_apu" }, { 16, "tdc_gfx" }, { 17, "tdc_soc" }, { 18, "tdc_mem" }, { 19, "tdc_vdd" },
	{ 20, "tdc_cvip" }, { 21, "edc_cpu" }, { 22, "edc_gfx" }, { 23, "apcc" }, { 32, "temp_gpu" },
	{ 33, "temp_core" }, { 34, "temp_mem" }, { 35, "temp_edge" }, { 36, "temp_hotspot" }, { 37, "temp_soc" },
	{ 38, "temp_vr_gfx" }, { 39, "temp_vr_soc" }, { 40, "temp_vr_mem0" }, { 41, "temp_vr_mem1" },
	{ 42, "temp_liquid0" }, { 43, "temp_liquid1" }, { 44, "vrhot0" }, { 45, "vrhot1" }, { 46, "prochot_cpu" },
	{ 47, "prochot_gfx" }, { 56, "ppm" }, { 57, "fit" },
};

static void t_throttle(void)
{
	char b[MAX_BLOB];

	for (size_t k = 0; k < LEN(revisions); k++) {
		const struct revision *r = &revisions[k];
		struct str s = blob_of(r, 0, b);
		size_t bit = 0, n = 0, wrong = 0;
		const char *reason;
		bool on;

		check(!metrics_throttle(s, &bit, &reason, &on), "throttle v%u.%u: a status of all ones has no value", r->format,
		      r->content);
		if (!r->throttle) {
			memset(b + 4, 1, (size_t)r->size - 4);
			bit = 0;
			check(!metrics_throttle(s, &bit, &reason, &on), "throttle v%u.%u: this revision has no indep_throttle_status",
			      r->format, r->content);
			continue;
		}
		memset(b + r->throttle, 0, 8);
		for (bit = 0; metrics_throttle(edge_str(b, r->size), &bit, &reason, &on); n++)
			wrong += on || n >= LEN(throttle_bits) || strcmp(reason, throttle_bits[n].reason) != 0;
		check(n == LEN(throttle_bits) && !wrong, "throttle v%u.%u: with no bit set, every reason is read and is off", r->format,
		      r->content);
		for (size_t i = 0; i < LEN(throttle_bits); i++) {
			memset(b + r->throttle, 0, 8);
			b[r->throttle + throttle_bits[i].bit / 8] = (char)(1 << throttle_bits[i].bit % 8);
			for (bit = n = 0; metrics_throttle(s, &bit, &reason, &on); n++)
				wrong += on != (n == i);
		}
		check_u64(wrong, 0, "throttle v%u.%u: each bit sets its own reason only", r->format, r->content);
		for (size_t len = 0; len < r->throttle + 8u; len++) {
			bit = 0;
			wrong += metrics_throttle(edge_str(b, len), &bit, &reason, &on);
		}
		check_u64(wrong, 0, "throttle v%u.%u: nothing is read from a cut status", r->format, r->content);
	}
}

static bool feed_metrics(struct str s)
{
	size_t row = 0, bit = 0, n = 0;
	struct metric m;
	const char *reason;
	bool on;

	metrics_is_apu(s);
	for (; metrics_next(s, &row, &m); n++)
		if (m.desc >= D_COUNT || !m.inst || n > 64)
			return false;
	for (n = 0; metrics_throttle(s, &bit, &reason, &on); n++)
		if (n > 64)
			return false;
	return true;
}

int main(void)
{
	char b[MAX_BLOB];
	size_t bad = 0;

	t_metrics();
	t_metrics_others();
	t_throttle();
	for (size_t k = 0; k < LEN(revisions); k++)
		check(replay(blob_of(&revisions[k], 0x55555, b), feed_metrics), "metrics v%u.%u: every truncated and changed blob is read safely",
		      revisions[k].format, revisions[k].content);
	for (int i = 0; i < 100000; i++) {
		size_t n = rnd() % MAX_BLOB;

		for (size_t k = 0; k < n; k++)
			b[k] = (char)rnd();
		if (n >= 4) {
			b[2] = (char)(rnd() % 4);
			b[3] = (char)(rnd() % 6);
		}
		bad += !feed_metrics(edge_str(b, n));
	}
	check_u64(bad, 0, "metrics: 100 000 random blobs are read safely");
	return unit_end();
}
