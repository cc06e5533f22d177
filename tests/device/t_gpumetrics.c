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

#define V1_4_TO_8                                                                                 \
	{ 4, 2, D_TEMP, "junction", 1000 }, { 6, 2, D_TEMP, "mem", 1000 },                         \
	{ 8, 2, D_TEMP, "vrsoc", 1000 }, { 10, 2, D_POWER, "PPT", 1000000 },                       \
	{ 12, 2, D_GPU_BUSY, "", 1000 }, { 14, 2, D_LOAD, "mem", 1000 }

#define V2_1_TO_4                                                                                  \
	{ 4, 2, D_TEMP, "edge", 10 }, { 6, 2, D_TEMP, "soc", 10 },                                 \
	{ 28, 2, D_GPU_BUSY, "", 10 }, { 30, 2, D_LOAD, "mm", 10 }, { 46, 2, D_POWER, "gfx", 1000 }, \
	{ 76, 2, D_FREQ_CUR, "sclk", 1000000 }, { 78, 2, D_FREQ_CUR, "socclk", 1000000 },          \
	{ 80, 2, D_FREQ_CUR, "mclk", 1000000 }, { 82, 2, D_FREQ_CUR, "fclk", 1000000 },            \
	{ 84, 2, D_FREQ_CUR, "vclk", 1000000 }, { 86, 2, D_FREQ_CUR, "dclk", 1000000 }

enum { MAX_BLOB = 4096, MAX_MFIELDS = 24 };

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
	{ 1, 4, 288, 0, false, { V1_4_TO_8, { 16, 2, D_LOAD, "vcn", 1000 }, { 24, 8, D_ENERGY, "PPT", 1 }, { 48, 2, D_LINK_WIDTH, "", 1 }, { 50, 2, D_LINK_SPEED, "", 1 },
				 { 240, 2, D_FREQ_CUR, "sclk", 1000000 }, { 280, 2, D_FREQ_CUR, "mclk", 1000000 } } },
	{ 1, 5, 360, 0, false, { V1_4_TO_8, { 16, 2, D_LOAD, "vcn", 1000 }, { 88, 8, D_ENERGY, "PPT", 1 }, { 112, 2, D_LINK_WIDTH, "", 1 }, { 114, 2, D_LINK_SPEED, "", 1 },
				 { 312, 2, D_FREQ_CUR, "sclk", 1000000 }, { 352, 2, D_FREQ_CUR, "mclk", 1000000 } } },
	{ 1, 6, 1664, 0, false, { V1_4_TO_8, { 408, 2, D_LOAD, "vcn", 1000 }, { 16, 8, D_ENERGY, "PPT", 1 }, { 60, 2, D_LINK_WIDTH, "", 1 },
				  { 62, 2, D_LINK_SPEED, "", 1 }, { 264, 2, D_FREQ_CUR, "sclk", 1000000 }, { 304, 2, D_FREQ_CUR, "mclk", 1000000 } } },
	{ 1, 7, 2208, 0, false, { V1_4_TO_8, { 440, 2, D_LOAD, "vcn", 1000 }, { 24, 8, D_ENERGY, "PPT", 1 }, { 68, 2, D_LINK_WIDTH, "", 1 },
				  { 70, 2, D_LINK_SPEED, "", 1 }, { 296, 2, D_FREQ_CUR, "sclk", 1000000 }, { 336, 2, D_FREQ_CUR, "mclk", 1000000 } } },
	{ 1, 8, 3872, 0, false, { V1_4_TO_8, { 456, 2, D_LOAD, "vcn", 1000 }, { 24, 8, D_ENERGY, "PPT", 1 }, { 68, 2, D_LINK_WIDTH, "", 1 },
				  { 70, 2, D_LINK_SPEED, "", 1 }, { 296, 2, D_FREQ_CUR, "sclk", 1000000 }, { 336, 2, D_FREQ_CUR, "mclk", 1000000 } } },
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

/* The byte order of the blobs: first that of this machine. */
static bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;

static void put_field(char *b, size_t width, u64 v)
{
	for (size_t k = 0; k < width; k++)
		b[k] = (char)(v >> 8 * (big ? width - 1 - k : k));
}

/* A blob in which only the fields whose bit is set are supported. */
static struct str blob_of(const struct revision *r, u32 set, char *b)
{
	memset(b, 0xff, MAX_BLOB);
	put_field(b, 2, r->size);
	b[2] = (char)r->format;
	b[3] = (char)r->content;
	for (size_t i = 0; i < nfields(r); i++)
		if (set >> i & 1)
			put_field(b + r->f[i].offset, r->f[i].width, value_of(i));
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
			note(
			     "v%u.%u of %zu bytes: unexpected value of %u '%s'",
			     r->format, r->content, str_len(blob), m.desc,
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
		      r->apu ? "the device is an APU" : "the device is not an APU");
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
			put_field(b, 2, n);
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
			bool on, known;

			known = format == 1 && content == 9;
			for (size_t k = 0; k < LEN(revisions); k++)
				known |= revisions[k].format == format && revisions[k].content == content;
			if (known)
				continue;
			memset(b, 1, sizeof(b));
			put_field(b, 2, 256);
			b[2] = (char)format;
			b[3] = (char)content;
			unknown++;
			wrong += metrics_next((struct str){ b, b + 256 }, &row, &m) ||
				 metrics_throttle((struct str){ b, b + 256 }, &bit, &reason, &on);
		}
	check(unknown == 65536 - LEN(revisions) - 1 && wrong == 0, "metrics: no field of %zu unknown revisions is read",
	      unknown);
	if (wrong)
		note("%zu were read", wrong);

	/* Some kernels have the PCIe generation in place of the speed. */
	for (unsigned v = 0; v < 12; v++) {
		size_t row = 0;
		struct metric m;
		struct str s = blob_of(&revisions[1], 0, b);
		bool any;

		put_field(b + 76, 2, v);
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
			put_field(b + r->throttle, 8, (u64)1 << throttle_bits[i].bit);
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

/* Returns whether a reason is active in a blob. */
static bool reason_on(struct str s, const char *name)
{
	const char *reason;
	bool on;

	for (size_t bit = 0; metrics_throttle(s, &bit, &reason, &on);)
		if (strcmp(reason, name) == 0)
			return on;
	return false;
}

/* Reasons about a temperature, in tables in which all bits are set. */
static void t_hot(void)
{
	static const struct {
		u8 format, content;
		const char *reason;
		/* the temperature, and where the reason becomes active, in units of the table */
		u16 offset, least;
	} rows[] = {
		{ 1, 3, "temp_hotspot", 6, 90 }, { 1, 3, "temp_gpu", 4, 70 }, { 1, 3, "temp_edge", 4, 70 }, { 1, 3, "temp_mem", 8, 70 },
		{ 1, 3, "temp_vr_gfx", 10, 70 }, { 1, 3, "temp_vr_soc", 12, 70 }, { 1, 3, "temp_vr_mem0", 14, 70 },
		{ 2, 2, "temp_gpu", 4, 7000 }, { 2, 2, "temp_soc", 6, 7000 }, { 2, 4, "temp_gpu", 4, 7000 },
		/* the table has no temperature for these */
		{ 1, 3, "temp_soc", 6, 0 }, { 1, 3, "temp_core", 6, 0 }, { 1, 3, "temp_vr_mem1", 14, 0 }, { 1, 3, "temp_liquid0", 6, 0 },
		{ 1, 3, "prochot_gfx", 6, 0 }, { 1, 3, "vrhot0", 10, 0 }, { 1, 3, "ppt0", 6, 0 }, { 2, 2, "temp_hotspot", 4, 0 },
		{ 2, 2, "temp_core", 4, 0 },
	};
	char b[MAX_BLOB];

	for (size_t i = 0; i < LEN(rows); i++) {
		const struct revision *r = revisions;
		struct str s;
		bool low, high;

		while (r->format != rows[i].format || r->content != rows[i].content)
			r++;
		s = blob_of(r, 0, b);
		put_field(b + r->throttle, 8, UINT64_MAX >> 1);
		check(reason_on(s, rows[i].reason),
		      "throttle v%u.%u: %s depends only on its bit if the temperature is unknown",
		      r->format,
		      r->content, rows[i].reason);
		put_field(b + rows[i].offset, 2, 0);
		check(reason_on(s, rows[i].reason),
		      "throttle v%u.%u: %s: a temperature of 0 is unknown", r->format, r->content,
		      rows[i].reason);
		put_field(b + rows[i].offset, 2, rows[i].least ? rows[i].least - 1u : 41u);
		low = reason_on(s, rows[i].reason);
		put_field(b + rows[i].offset, 2, rows[i].least);
		high = reason_on(s, rows[i].reason);
		check(low == !rows[i].least && high, "throttle v%u.%u: %s is active from %u on", r->format, r->content,
		      rows[i].reason, rows[i].least);
		put_field(b + r->throttle, 8, 0);
		check(!reason_on(s, rows[i].reason), "throttle v%u.%u: %s needs its bit at any temperature", r->format,
		      r->content, rows[i].reason);
	}
}

/* Complete blobs of the other byte order, of which the size is the only sign. */
static void t_order(void)
{
	char b[MAX_BLOB];

	big = !big;
	for (size_t k = 0; k < LEN(revisions); k++) {
		const struct revision *r = &revisions[k];
		u32 all = (1u << nfields(r)) - 1;
		struct str s = blob_of(r, all, b);

		check(has_fields(r, edge_str(s.p, str_len(s)), all), "order v%u.%u: a table of another machine is read",
		      r->format, r->content);
		if (!r->throttle)
			continue;
		put_field(b + r->throttle, 8, 1);
		check(reason_on(s, "ppt0") && !reason_on(s, "fit"),
		      "order v%u.%u: a table of another machine has the same reasons",
		      r->format, r->content);
	}
	big = !big;
}

/* Revision 1.9. */

enum { U8, S8, U16, S16, U32, S32, U64, S64, NO_TYPE };

struct attribute {
	u32 unit;
	u8 type;
	u16 id, values; /* number of values: the first is v, and each further one is larger by 1 */
	u64 v;
};

/* The attributes that Linux 7.2 reports for an MI300X, from SMU_13_0_6_METRICS_FIELDS of smu_v13_0_6_ppt.h. */
static const struct attribute mi300[] = {
	{ 2, U16, 0, 1, 42 }, { 2, U16, 1, 1, 40 }, { 2, U16, 2, 1, 44 }, { 3, U16, 3, 1, 194 }, { 10, U16, 4, 1, 7 },
	{ 10, U16, 5, 1, 3 }, { 8, U64, 6, 1, 5300 }, { 0, U64, 7, 1, 1 << 20 }, { 4, U64, 8, 1, 99 }, { 0, U32, 9, 1, 54536484 },
	{ 0, U32, 10, 1, 0 }, { 0, U32, 11, 1, 633093 }, { 0, U32, 12, 1, 0 }, { 0, U32, 13, 1, 0 }, { 0, U32, 14, 1, 0 },
	{ 0, U32, 15, 1, 0 }, { 0, U16, 16, 1, 16 }, { 7, U16, 17, 1, 320 }, { 0, U16, 18, 1, 16 }, { 6, U16, 19, 1, 32 },
	{ 10, U32, 20, 1, 5 }, { 10, U32, 21, 1, 6 }, { 10, U64, 22, 1, 7 }, { 8, U64, 23, 1, 8 }, { 0, U64, 24, 1, 9 },
	{ 0, U64, 25, 1, 0 }, { 0, U64, 26, 1, 0 }, { 0, U32, 27, 1, 0 }, { 0, U32, 28, 1, 0 }, { 9, U64, 29, 8, 0 },
	{ 9, U64, 30, 8, 0 }, { 0, U16, 31, 8, 1 }, { 5, U64, 32, 1, 5 }, { 1, U16, 33, 8, 2098 }, { 1, U16, 34, 4, 28 },
	{ 1, U16, 35, 4, 29 }, { 1, U16, 36, 4, 22 }, { 1, U16, 37, 1, 900 }, { 0, U32, 39, 1, 0 }, { 10, U32, 40, 8, 11 },
	{ 10, U16, 41, 40, 12 }, { 10, U16, 42, 4, 13 }, { 10, U64, 43, 8, 14 }, { 0, U64, 44, 8, 0 }, { 0, U64, 45, 8, 0 },
	{ 0, U64, 46, 8, 0 }, { 0, U64, 47, 8, 0 },
};

static const struct metric of_mi300[] = {
	{ D_TEMP, "junction", 42000 }, { D_TEMP, "mem", 40000 }, { D_TEMP, "vrsoc", 44000 }, { D_POWER, "PPT", 194000000 },
	{ D_GPU_BUSY, "", 7000 }, { D_LOAD, "mem", 3000 }, { D_LOAD, "vcn", 13000 }, { D_ENERGY, "PPT", 16000000 },
	{ D_LINK_WIDTH, "", 16 }, { D_LINK_SPEED, "", 320 }, { D_FREQ_CUR, "sclk", 2098000000 }, { D_FREQ_CUR, "mclk", 900000000 },
};

/* A table of attributes, which states their number as `stated`. */
static struct str table_of(const struct attribute *a, size_t n, u64 stated, char *b)
{
	size_t at = 8;

	for (size_t i = 0; i < n; i++) {
		size_t width = (size_t)1 << a[i].type / 2;

		put_field(b + at, 8, (u64)a[i].unit << 24 | (u64)a[i].type << 20 | (u64)a[i].id << 10 | a[i].values);
		at += 8;
		for (size_t k = 0; k < a[i].values; k++, at += width)
			put_field(b + at, width, a[i].v + k);
	}
	put_field(b, 2, at);
	b[2] = 1;
	b[3] = 9;
	put_field(b + 4, 4, stated);
	return (struct str){ b, b + at };
}

/* Returns the number of values of a blob, which must be among those of the MI300X. */
static size_t count_values(struct str s)
{
	size_t row = 0, n = 0, k;
	struct metric m;

	for (; metrics_next(s, &row, &m); n++) {
		for (k = 0; k < LEN(of_mi300); k++)
			if (of_mi300[k].desc == m.desc && strcmp(of_mi300[k].inst, m.inst) == 0 && of_mi300[k].v == m.v)
				break;
		if (k == LEN(of_mi300)) {
			note("%u '%s' is %" PRIu64, m.desc, m.inst, m.v);
			return SIZE_MAX;
		}
	}
	return n;
}

static void t_attributes(void)
{
	static const struct {
		struct attribute a;
		const char *what;
		bool is;
	} rows[] = {
		{ { 2, U8, 0, 1, 42 }, "a temperature of 8 bits", true },
		{ { 2, S8, 0, 1, 42 }, "a signed temperature of 8 bits", true },
		{ { 2, S32, 0, 1, 42 }, "a signed temperature of 32 bits", true },
		{ { 2, U64, 0, 1, 42 }, "a temperature of 64 bits", true },
		{ { 2, U16, 0, 1023, 42 }, "the first of 1023 values", true },
		{ { 2, S16, 0, 1, 0x8000 }, "a negative number", false },
		{ { 2, U16, 0, 1, 0xffff }, "a number of all ones", false },
		{ { 2, U64, 0, 1, (u64)1 << 40 }, "a number beyond 32 bits", false },
		{ { 2, U16, 0, 0, 42 }, "an attribute without values", false },
		{ { 0, U16, 0, 1, 42 }, "a temperature without a unit", false },
		{ { 3, U16, 0, 1, 42 }, "a temperature in watts", false },
		{ { 11, U16, 0, 1, 42 }, "an unknown unit", false },
		{ { 0x102, U16, 0, 1, 42 }, "bits beyond the unit", false },
		{ { 2, U16, 48, 1, 42 }, "a quantity that is not used", false },
		{ { 2, U16, 1023, 1, 42 }, "an unknown quantity", false },
	};
	struct attribute odd[3];
	char b[MAX_BLOB];
	struct str s;
	size_t bad = 0;

	for (int k = 0; k < 2; k++, big = !big) {
		s = table_of(mi300, LEN(mi300), LEN(mi300), b);
		check_u64(str_len(s), 1150, "v1.9: the table has the size of that of an MI300X");
		check_u64(count_values(edge_str(b, str_len(s))), LEN(of_mi300), "v1.9: the values of an MI300X, %s",
			  big ? "big endian" : "little endian");
	}
	check(!metrics_is_apu(s), "v1.9: the table is not one of an APU");
	for (size_t i = 0; i < LEN(rows); i++) {
		s = table_of(&rows[i].a, 1, 1, b);
		check_u64(count_values(edge_str(b, str_len(s))), rows[i].is, "v1.9: %s", rows[i].what);
	}
	s = table_of(mi300, LEN(mi300), LEN(mi300), b);
	for (size_t n = 0; n < str_len(s); n++)
		bad += count_values(edge_str(b, n)) > LEN(of_mi300);
	for (size_t n = 0; n < str_len(s); n++) {
		put_field(b, 2, n);
		bad += count_values(edge_str(b, 1150)) > LEN(of_mi300);
	}
	check_u64(bad, 0, "v1.9: only complete values of a cut table are read");
	check_u64(count_values(table_of(mi300, LEN(mi300), 0, b)), 0,
	          "v1.9: a table that states 0 attributes has no value");
	check_u64(count_values(table_of(mi300, LEN(mi300), 2, b)), 2, "v1.9: only as many attributes as are stated");
	check_u64(count_values(table_of(mi300, LEN(mi300), 0x7fffffff, b)), LEN(of_mi300),
	          "v1.9: a stated number of attributes beyond the table is refused");
	check_u64(count_values(table_of(mi300, LEN(mi300), 0xffffffff, b)), 0,
	          "v1.9: a negative number of attributes is refused");
	odd[0] = (struct attribute){ 0, U8, 900, 0, 0 };
	odd[1] = mi300[0];
	odd[2] = (struct attribute){ 2, U16, 0, 1, 99 };
	check_u64(count_values(table_of(odd, 3, 3, b)), 1,
	          "v1.9: the first of two equal attributes is used, after an attribute without "
	          "values");
	odd[0].type = NO_TYPE;
	check_u64(count_values(table_of(odd, 3, 3, b)), 0, "v1.9: nothing is read after an unknown type");
	s = table_of(odd + 1, 1, 1, b);
	put_field(b + 8, 8, (u64)2 << 24 | (u64)U16 << 20 | 1023);
	check_u64(count_values(edge_str(b, str_len(s))), 1,
	          "v1.9: the first value of an attribute with too many values is used");
	put_field(b + 8, 8, (u64)2 << 24 | (u64)U64 << 20 | 1);
	check_u64(count_values(edge_str(b, str_len(s))), 0,
	          "v1.9: a value that ends after the table is not read");
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
	t_hot();
	t_order();
	t_attributes();
	for (size_t k = 0; k < LEN(revisions); k++)
		check(replay(blob_of(&revisions[k], 0x55555, b), feed_metrics), "metrics v%u.%u: every truncated and changed blob is read safely",
		      revisions[k].format, revisions[k].content);
	check(replay(table_of(mi300, LEN(mi300), LEN(mi300), b), feed_metrics), "metrics v1.9: every truncated and changed blob is read safely");
	for (int i = 0; i < 100000; i++) {
		size_t n = rnd() % 512;

		for (size_t k = 0; k < n; k++)
			b[k] = (char)rnd();
		if (n >= 4) {
			b[2] = (char)(rnd() % 4);
			b[3] = (char)(rnd() % 10);
		}
		bad += !feed_metrics(edge_str(b, n));
	}
	check_u64(bad, 0, "metrics: 100 000 random blobs are read safely");
	return unit_end();
}
