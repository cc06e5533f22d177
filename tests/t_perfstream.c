/* t_perfstream.c - arithmetic in 128 bits, what lies between two readings, amdgpu's gpu_metrics in
 * each of its layouts, and perf's rings and records. SPDX-License-Identifier: MIT */
#include "unit.h"

/* --- muldiv ------------------------------------------------------------------------------------------- */

static void t_muldiv(void)
{
	static const u64 edges[] = {
		0, 1, 2, 3, 5, 7, 10, 1000, 100000, 65535, 65536, 1000000000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
		0x100000000, 0x100000001, 0x1ffffffff, 1000000000000, 0x7fffffffffffffff, 0x8000000000000000,
		0x8000000000000001, 0xffffffff00000000, 0xfffffffeffffffff, 0xaaaaaaaaaaaaaaaa, 0x5555555555555555,
		UINT64_MAX - 1, UINT64_MAX,
	};
	u64 bad = 0;

	for (size_t i = 0; i < LEN(edges); i++)
		for (size_t k = 0; k < LEN(edges); k++)
			for (size_t m = 0; m < LEN(edges); m++)
				if (muldiv(edges[i], edges[k], edges[m]) != plain_muldiv(edges[i], edges[k], edges[m]) &&
				    !bad++)
					note("muldiv(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ") is %" PRIu64, edges[i],
					     edges[k], edges[m], muldiv(edges[i], edges[k], edges[m]));
	check_u64(bad, 0, "muldiv: 24 389 triples of edges");
	bad = 0;
	for (int i = 0; i < 1000000; i++) {
		/* Of any size, so that small and large ones meet. */
		u64 a = rnd() >> rnd() % 64, b = rnd() >> rnd() % 64, c = rnd() >> rnd() % 64;
		u64 high = plain_high(a, b);

		bad += muldiv(a, b, c) != plain_muldiv(a, b, c);
		/* Quotients that just fit, and just do not. */
		if (b)
			bad += muldiv(a, b, high) != plain_muldiv(a, b, high);
		bad += muldiv(a, b, high + 1) != plain_muldiv(a, b, high + 1);
	}
	check_u64(bad, 0, "muldiv: 3 000 000 random triples");
	check_u64(muldiv(500123456, 100000, 1000000000), 50012, "muldiv: rounded down");
	check_u64(muldiv(1, 1, 0), UINT64_MAX, "muldiv: by nothing");
	check_u64(muldiv(0, 0, 0), UINT64_MAX, "muldiv: nothing by nothing");
}

/* --- courses ------------------------------------------------------------------------------------------ */

static void t_course(void)
{
	static const struct {
		const char *name;
		u8 course;
		u64 was, now;
		bool known;
		u64 d, base;
	} rows[] = {
		{ "peak: goes on", CO_PEAK, 5, 9, true, 4, 9 },
		{ "peak: stands", CO_PEAK, 5, 5, true, 0, 5 },
		{ "peak: back, the larger stays", CO_PEAK, 9, 5, true, 0, 9 },
		{ "peak: to nothing", CO_PEAK, UINT64_MAX, 0, true, 0, UINT64_MAX },
		{ "peak: all the way", CO_PEAK, 0, UINT64_MAX, true, UINT64_MAX, UINT64_MAX },
		{ "reset: goes on", CO_RESET, 5, 9, true, 4, 9 },
		{ "reset: stands", CO_RESET, 5, 5, true, 0, 5 },
		{ "reset: back, anew", CO_RESET, 9, 5, false, 0, 5 },
		{ "reset: to nothing", CO_RESET, 9, 0, false, 0, 0 },
		{ "wrap: goes on", CO_WRAP32, 5, 9, true, 4, 9 },
		{ "wrap: stands", CO_WRAP32, 9, 9, true, 0, 9 },
		{ "wrap: over", CO_WRAP32, 0xffffffff, 0, true, 1, 0 },
		{ "wrap: over and on", CO_WRAP32, 0xfffffff0, 0x10, true, 0x20, 0x10 },
		{ "wrap: by all but one", CO_WRAP32, 1, 0, true, 0xffffffff, 0 },
		{ "wrap: wider than 32 bits, which does not wrap", CO_WRAP32, 0xffffffff, 0x100000000, true, 1, 0x100000000 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 d = 77;
		bool known = course_delta(rows[i].course, rows[i].was, rows[i].now, &d);

		check(known == rows[i].known && (!known || d == rows[i].d), "course %s", rows[i].name);
		check_u64(course_base(rows[i].course, rows[i].was, rows[i].now), rows[i].base,
			  "course %s: what the next one counts from", rows[i].name);
	}
	{
		/* What a reader adds up over any walk is how far the counter got. */
		u64 was = 0, sum = 0, peak = 0, bad = 0;

		for (int i = 0; i < 100000; i++) {
			u64 now = rnd() % 1000 + (u64)i, d;

			bad += !course_delta(CO_PEAK, was, now, &d);
			was = course_base(CO_PEAK, was, now);
			sum += d;
			peak = now > peak ? now : peak;
		}
		check(!bad && sum == peak, "course peak: deltas add up to the largest value");
		was = sum = 0;
		for (u64 real = 0; real < 1ull << 36;) {
			u64 step = rnd() % 0xffffffff, d;

			real += step;
			course_delta(CO_WRAP32, was, (u32)real, &d);
			was = course_base(CO_WRAP32, was, (u32)real);
			sum += d;
			bad += sum != real;
		}
		check_u64(bad, 0, "course wrap: deltas add up over 16 wraps");
	}
}

/* --- gpu_metrics --------------------------------------------------------------------------------------- */

/* One field of drivers/gpu/drm/amd/include/kgd_pp_interface.h: where its struct has it, and what of it is
 * to be read. Those that say nothing sure, or nothing of a GPU, are left out. */
struct mfield {
	u16 offset;
	u8 width;
	u8 desc;
	const char *inst;
	u32 times; /* what one of it is in the registry's unit */
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
	u16 throttle; /* where indep_throttle_status is, or 0 */
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

/* A value that no other field of the blob has, and that no field leaves out. */
static u64 value_of(size_t i)
{
	return 100 + i;
}

/* All fields not supported but those whose bit is set. */
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

/* Whether the blob tells exactly the fields whose bit is set. */
static bool tells(const struct revision *r, struct str blob, u32 set)
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
		/* 2^-16 J in uJ */
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

/* The fields that the first n bytes hold. */
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

		check(tells(r, edge_str(s.p, str_len(s)), all), "metrics v%u.%u: all fields", r->format, r->content);
		check(metrics_is_apu(s) == r->apu, "metrics v%u.%u: %s", r->format, r->content,
		      r->apu ? "in a processor" : "a card");
		check(tells(r, blob_of(r, 0, b), 0), "metrics v%u.%u: all ones is no value", r->format, r->content);
		for (size_t i = 0; i < nfields(r); i++)
			ok &= tells(r, blob_of(r, 1u << i, b), 1u << i);
		check(ok, "metrics v%u.%u: each field alone", r->format, r->content);

		ok = true;
		blob_of(r, all, b);
		for (size_t n = 0; n <= r->size; n++) {
			cut = edge_str(b, n);
			ok &= tells(r, cut, n < 4 ? 0 : fields_in(r, n));
		}
		check(ok, "metrics v%u.%u: cut at every length", r->format, r->content);
		ok = true;
		for (size_t n = 0; n <= r->size; n++) {
			b[0] = (char)n;
			b[1] = (char)(n >> 8);
			cut = edge_str(b, r->size);
			ok &= tells(r, cut, fields_in(r, n));
		}
		check(ok, "metrics v%u.%u: states every smaller size", r->format, r->content);
		b[0] = b[1] = (char)0xff;
		cut = edge_str(b, r->size);
		check(tells(r, cut, all), "metrics v%u.%u: states more than there is", r->format, r->content);
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
	check(unknown == 65536 - LEN(revisions) && wrong == 0, "metrics: nothing is read of %zu unknown revisions",
	      unknown);
	if (wrong)
		note("%zu were read", wrong);

	/* A PCIe generation in the place of a speed. */
	for (unsigned v = 0; v < 12; v++) {
		size_t row = 0;
		struct metric m;
		struct str s = blob_of(&revisions[1], 0, b);
		bool any;

		b[76] = (char)v;
		b[77] = 0;
		any = metrics_next(s, &row, &m);
		check(any == (v >= 10), "metrics: a link speed of %u tenths is %s", v, v >= 10 ? "one" : "none");
	}
	{
		size_t row = 1 << 20, bit = 1 << 20;
		struct metric m;
		const char *reason;
		bool on;
		struct str s = blob_of(&revisions[3], 1, b);

		check(!metrics_next(s, &row, &m) && !metrics_throttle(s, &bit, &reason, &on),
		      "metrics: nothing behind the last row");
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

		check(!metrics_throttle(s, &bit, &reason, &on), "throttle v%u.%u: all ones is no value", r->format,
		      r->content);
		if (!r->throttle) {
			memset(b + 4, 1, (size_t)r->size - 4);
			bit = 0;
			check(!metrics_throttle(s, &bit, &reason, &on), "throttle v%u.%u: has none that is the same everywhere",
			      r->format, r->content);
			continue;
		}
		memset(b + r->throttle, 0, 8);
		for (bit = 0; metrics_throttle(edge_str(b, r->size), &bit, &reason, &on); n++)
			wrong += on || n >= LEN(throttle_bits) || strcmp(reason, throttle_bits[n].reason) != 0;
		check(n == LEN(throttle_bits) && !wrong, "throttle v%u.%u: each reason is told, none holds", r->format,
		      r->content);
		for (size_t i = 0; i < LEN(throttle_bits); i++) {
			memset(b + r->throttle, 0, 8);
			b[r->throttle + throttle_bits[i].bit / 8] = (char)(1 << throttle_bits[i].bit % 8);
			for (bit = n = 0; metrics_throttle(s, &bit, &reason, &on); n++)
				wrong += on != (n == i);
		}
		check_u64(wrong, 0, "throttle v%u.%u: each bit is its reason's", r->format, r->content);
		for (size_t len = 0; len < r->throttle + 8u; len++) {
			bit = 0;
			wrong += metrics_throttle(edge_str(b, len), &bit, &reason, &on);
		}
		check_u64(wrong, 0, "throttle v%u.%u: cut before its end", r->format, r->content);
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

/* --- perf records ------------------------------------------------------------------------------------ */

/* Builds a record as perf_output_sample() and its like do, in this machine's byte order. */
static struct {
	char b[PERF_RECORD_BYTES];
	size_t n;
} made;

static void w(const void *p, size_t n)
{
	memcpy(made.b + made.n, p, n);
	made.n += n;
}

static void w16(u16 v)
{
	w(&v, sizeof(v));
}

static void w32(u32 v)
{
	w(&v, sizeof(v));
}

static void w64(u64 v)
{
	w(&v, sizeof(v));
}

static void w_head(u32 type, u16 misc)
{
	made.n = 0;
	w32(type);
	w16(misc);
	w16(0);
}

static void w_name(const char *name)
{
	w(name, strlen(name) + 1);
	while (made.n % 8)
		w("", 1);
}

/* The whole record at the end of memory, its size put in. */
static struct str w_end(void)
{
	u16 n = (u16)made.n;

	memcpy(made.b + 6, &n, sizeof(n));
	return edge_str(made.b, made.n);
}

static void w_sample_id(const struct pformat *f)
{
	u64 t = f->id_all ? f->sample_type : 0;

	if (t & PS_TID) {
		w32(101);
		w32(102);
	}
	if (t & PS_TIME)
		w64(103);
	if (t & PS_ID)
		w64(104);
	if (t & PS_STREAM_ID)
		w64(105);
	if (t & PS_CPU) {
		w32(106);
		w32(0);
	}
	if (t & PS_IDENTIFIER)
		w64(104);
}

static bool id_is(const struct prec *r, const struct pformat *f)
{
	u64 t = f->id_all ? f->sample_type : 0;

	return (!(t & PS_TID) || (r->pid == 101 && r->tid == 102)) && (!(t & PS_TIME) || r->time == 103) &&
	       (!(t & (PS_ID | PS_IDENTIFIER)) || r->id == 104) && (!(t & PS_STREAM_ID) || r->stream == 105) &&
	       (!(t & PS_CPU) || r->cpu == 106);
}

/* No record that ends early is one, whatever size it states; none leads out of itself. */
static size_t cut_wrongs(const struct pformat *f, size_t least)
{
	size_t wrong = 0;

	for (size_t n = 0; n < made.n; n++) {
		struct str s = edge_str(made.b, n);
		struct prec r;
		u16 size = (u16)n;

		wrong += prec_decode(s, f, &r);
		prec_id(s, f);
		if (n < 8)
			continue;
		memcpy(edge_page(n) + 6, &size, sizeof(size));
		wrong += prec_decode(s, f, &r) && n < least;
		wrong += !within(r.name, s) || !within(r.chain, s) || !within(r.values, s) || !within(r.build_id, s);
	}
	return wrong;
}

static const struct pformat some_ids[] = {
	{ 0 },
	{ .sample_type = PS_TID | PS_TIME, .id_all = true },
	{ .sample_type = PS_IDENTIFIER | PS_TID | PS_TIME | PS_CPU | PS_IP | PS_PERIOD, .id_all = true },
	{ .sample_type = PS_TID | PS_TIME | PS_ID | PS_STREAM_ID | PS_CPU | PS_IDENTIFIER, .id_all = true },
	{ .sample_type = PS_TIME | PS_CPU, .id_all = false },
};

static void w_body(u32 type)
{
	switch (type) {
	case PR_MMAP:
	case PR_MMAP2:
		w32(11);
		w32(12);
		w64(0x400000);
		w64(0x1000);
		w64(0x2000);
		if (type == PR_MMAP2) {
			w32(8);
			w32(1);
			w64(777);
			w64(3);
			w32(5);
			w32(2);
		}
		w_name("/bin/true");
		break;
	case PR_FORK:
	case PR_EXIT:
		w32(11);
		w32(21);
		w32(12);
		w32(22);
		w64(99);
		break;
	case PR_LOST:
		w64(5);
		w64(41);
		break;
	case PR_LOST_SAMPLES:
		w64(41);
		break;
	case PR_THROTTLE:
	case PR_UNTHROTTLE:
		w64(99);
		w64(1);
		w64(2);
		break;
	case PR_KSYMBOL:
		w64(0x400000);
		w32(0x1000);
		w16(1);
		w16(2);
		w_name("bpf_prog_x");
		break;
	case PR_CGROUP:
		w64(55);
		w_name("/user.slice");
		break;
	case PR_TEXT_POKE:
		w64(0x400000);
		w16(5);
		w16(3);
		w64(0);
		break;
	case PR_NAMESPACES:
		w32(11);
		w32(12);
		w64(2);
		for (int i = 0; i < 4; i++)
			w64(1);
		break;
	case PR_AUX:
		w64(0x400000);
		w64(0x1000);
		w64(0);
		break;
	case PR_SWITCH:
	case 99: /* of kernels to come */
		break;
	default: /* COMM, SWITCH_CPU_WIDE, ITRACE_START, READ */
		w32(11);
		w32(12);
		if (type == PR_COMM)
			w_name("a b");
		if (type == PR_READ)
			w64(1234);
		break;
	}
}

static bool body_is(u32 type, const struct prec *r)
{
	static const char *const names[] = { [PR_MMAP] = "/bin/true", [PR_MMAP2] = "/bin/true", [PR_COMM] = "a b",
					     [PR_KSYMBOL] = "bpf_prog_x", [PR_CGROUP] = "/user.slice" };
	bool map = type == PR_MMAP || type == PR_MMAP2, task = type == PR_FORK || type == PR_EXIT;
	bool named = type < LEN(names) && names[type];

	return r->type == type && r->mode == PM_USER && (!named || str_eq(r->name, str_z(names[type]))) &&
	       (!(map || task || type == PR_COMM || type == PR_NAMESPACES || type == PR_SWITCH_CPU_WIDE) ||
		(r->who == 11 && r->who_tid == 12)) &&
	       (!map || (r->at == 0x400000 && r->len == 0x1000 && r->pgoff == 0x2000)) &&
	       (type != PR_MMAP2 || (r->major == 8 && r->minor == 1 && r->ino == 777 && r->generation == 3 &&
				     r->prot == 5 && r->flags == 2)) &&
	       (!task || (r->parent == 21 && r->parent_tid == 22 && r->at == 99)) &&
	       (type != PR_KSYMBOL || (r->at == 0x400000 && r->len == 0x1000 && r->prot == 1 && r->flags == 2)) &&
	       (type != PR_CGROUP || r->cgroup == 55) && (type != PR_TEXT_POKE || (r->len == 5 && r->pgoff == 3)) &&
	       r->lost == (type == PR_LOST || type == PR_LOST_SAMPLES ? 41 : 0);
}

static void t_records(void)
{
	static const u32 types[] = {
		PR_MMAP, PR_LOST, PR_COMM, PR_EXIT, PR_THROTTLE, PR_UNTHROTTLE, PR_FORK, PR_READ, PR_MMAP2, PR_AUX,
		PR_ITRACE_START, PR_LOST_SAMPLES, PR_SWITCH, PR_SWITCH_CPU_WIDE, PR_NAMESPACES, PR_KSYMBOL, PR_CGROUP,
		PR_TEXT_POKE, 99,
	};

	for (size_t k = 0; k < LEN(types); k++) {
		size_t wrong = 0, cut = 0;

		for (size_t i = 0; i < LEN(some_ids); i++) {
			struct prec r;
			struct str s;
			size_t named;

			w_head(types[k], PM_USER);
			w_body(types[k]);
			named = types[k] == PR_MMAP || types[k] == PR_MMAP2 || types[k] == PR_COMM ||
				types[k] == PR_KSYMBOL || types[k] == PR_CGROUP ? 16 : 0;
			w_sample_id(&some_ids[i]);
			s = w_end();
			wrong += !prec_decode(s, &some_ids[i], &r) || !body_is(types[k], &r) || !id_is(&r, &some_ids[i]);
			wrong += some_ids[i].sample_type & (PS_ID | PS_IDENTIFIER) && prec_id(s, &some_ids[i]) != 104;
			cut += cut_wrongs(&some_ids[i], made.n - named);
		}
		check_u64(wrong, 0, "record %u: what it says and its sample_id, in each of %zu layouts", types[k],
			  LEN(some_ids));
		check_u64(cut, 0, "record %u: cut at every byte", types[k]);
	}
}

static void t_build_id(void)
{
	static const struct pformat none = { 0 };
	struct prec r;
	size_t wrong = 0;

	for (unsigned n = 0; n < 256; n++) {
		char id[24] = { (char)n, 0, 0, 0, 'i', 'd' };

		w_head(PR_MMAP2, PM_USER | PM_BUILD_ID);
		w32(1);
		w32(2);
		w64(3);
		w64(4);
		w64(5);
		w(id, sizeof(id));
		w32(5);
		w32(2);
		w_name("/x");
		wrong += !prec_decode(w_end(), &none, &r) || str_len(r.build_id) != (n <= 20 ? n : 0) || r.ino ||
			 !str_eq(r.name, (struct str)STR("/x")) || r.prot != 5;
	}
	check_u64(wrong, 0, "MMAP2 with a build id of every length");
}

/* --- samples ---------------------------------------------------------------------------------------------- */

static void w_values(u64 format, u64 n)
{
	if (format & PF_GROUP)
		w64(n);
	else
		w64(1000);
	if (format & PF_ENABLED)
		w64(70);
	if (format & PF_RUNNING)
		w64(71);
	for (u64 i = 0; i < (format & PF_GROUP ? n : 1); i++) {
		if (format & PF_GROUP)
			w64(1000 + i);
		if (format & PF_ID)
			w64(2000 + i);
		if (format & PF_LOST)
			w64(3000 + i);
	}
}

static size_t values_wrongs(struct str values, u64 format, u64 n)
{
	size_t i = 0, wrong = 0;
	struct pvalue v;

	for (; values_next(values, format, &i, &v); )
		wrong += v.value != 999 + i || (format & PF_ID && v.id != 1999 + i) ||
			 (format & PF_LOST && v.lost != 2999 + i) || (format & PF_ENABLED && v.enabled != 70) ||
			 (format & PF_RUNNING && v.running != 71);
	return wrong + (i != (format & PF_GROUP ? n : 1));
}

enum { LATE = 4 }; /* how often each field that has a length has entries */

static void w_late(const struct pformat *f, unsigned n)
{
	u64 t = f->sample_type;

	if (t & PS_RAW) {
		w32(4 + 8 * n);
		for (unsigned i = 0; i < 4 + 8 * n; i++)
			w("r", 1);
	}
	if (t & PS_BRANCH_STACK) {
		w64(n);
		if (f->branch_type & PB_HW_INDEX)
			w64(0);
		for (unsigned i = 0; i < n * (f->branch_type & PB_COUNTERS ? 4 : 3); i++)
			w64(1);
	}
	if (t & PS_REGS_USER) {
		w64(n ? 2 : 0);
		for (u64 m = n ? f->regs_user : 0; m; m &= m - 1)
			w64(1);
	}
	if (t & PS_STACK_USER) {
		w64(8 * n);
		for (unsigned i = 0; i < n + (n > 0); i++)
			w64(1);
	}
	if (t & (PS_WEIGHT | PS_WEIGHT_STRUCT))
		w64(1);
	if (t & PS_DATA_SRC)
		w64(1);
	if (t & PS_TRANSACTION)
		w64(1);
	if (t & PS_REGS_INTR) {
		w64(1);
		for (u64 m = f->regs_intr; m; m &= m - 1)
			w64(1);
	}
	if (t & PS_PHYS_ADDR)
		w64(1);
	if (t & PS_CGROUP)
		w64(88);
	if (t & PS_DATA_PAGE_SIZE)
		w64(1);
	if (t & PS_CODE_PAGE_SIZE)
		w64(1);
	if (t & PS_AUX) {
		w64(8 * n);
		for (unsigned i = 0; i < n; i++)
			w64(1);
	}
}

static struct str w_sample(const struct pformat *f, unsigned n)
{
	u64 t = f->sample_type;

	w_head(PR_SAMPLE, PM_KERNEL);
	if (t & PS_IDENTIFIER)
		w64(104);
	if (t & PS_IP)
		w64(80);
	if (t & PS_TID) {
		w32(101);
		w32(102);
	}
	if (t & PS_TIME)
		w64(103);
	if (t & PS_ADDR)
		w64(81);
	if (t & PS_ID)
		w64(104);
	if (t & PS_STREAM_ID)
		w64(105);
	if (t & PS_CPU) {
		w32(106);
		w32(0);
	}
	if (t & PS_PERIOD)
		w64(82);
	if (t & PS_READ)
		w_values(f->read_format, n);
	if (t & PS_CALLCHAIN) {
		w64(n);
		for (unsigned i = 0; i < n; i++)
			w64(500 + i);
	}
	w_late(f, n);
	return w_end();
}

static size_t sample_wrongs(const struct pformat *f, unsigned n)
{
	struct str s = w_sample(f, n);
	u64 t = f->sample_type, ip, time = 0;
	struct ring ring = { .p = s.p, .size = 0 };
	u8 mode = PM_KERNEL;
	size_t wrong, chain = 0;
	struct prec r;

	wrong = !prec_decode(s, f, &r) || r.mode != PM_KERNEL || !id_is(&r, &(struct pformat){ .sample_type = t, .id_all = true });
	wrong += r.ip != (t & PS_IP ? 80 : 0) || r.addr != (t & PS_ADDR ? 81 : 0) || r.period != (t & PS_PERIOD ? 82 : 0) ||
		 r.cgroup != (t & PS_CGROUP ? 88 : 0);
	wrong += t & PS_READ && values_wrongs(r.values, f->read_format, n);
	while (chain_next(&r.chain, &mode, &ip))
		wrong += ip != 500 + chain++ || mode != PM_KERNEL;
	wrong += chain != (t & PS_CALLCHAIN ? n : 0);
	wrong += t & (PS_ID | PS_IDENTIFIER) && prec_id(s, f) != 104;
	for (ring.size = 8; ring.size < made.n; ring.size *= 2)
		;
	ring.p = made.b;
	ring.head = made.n;
	if (made.n % 8 == 0)
		wrong += !ring_time(&ring, f, &time) || time != (t & PS_TIME ? 103 : 0);
	return wrong;
}

static void t_samples(void)
{
	size_t bad = 0, cut = 0;

	for (int bit = -1; bit < 25; bit++) {
		size_t wrong = 0;

		for (unsigned n = 0; n < LATE; n++)
			for (u64 rf = 0; rf < 32; rf++) {
				struct pformat f = { .sample_type = bit < 0 ? (1u << 25) - 1 : 1u << bit, .read_format = rf,
						     .branch_type = (rf & 1 ? PB_HW_INDEX : 0) | (rf & 2 ? PB_COUNTERS : 0),
						     .regs_user = rf * 0x1111, .regs_intr = rf };

				wrong += sample_wrongs(&f, n);
				wrong += cut_wrongs(&f, made.n);
			}
		check_u64(wrong, 0, bit < 0 ? "sample: all bits" : "sample: bit %d alone, each read_format, cut at every byte",
			  bit);
	}
	for (int i = 0; i < 20000; i++) {
		u64 x = rnd();
		struct pformat f = { .sample_type = x & ((1 << 25) - 1), .read_format = x >> 32 & 31,
				     .branch_type = x >> 40 & (PB_HW_INDEX | PB_COUNTERS), .regs_user = rnd() & rnd(),
				     .regs_intr = rnd() & rnd() };

		bad += sample_wrongs(&f, (unsigned)(x >> 60));
		if (i % 100 == 0)
			cut += cut_wrongs(&f, made.n);
	}
	check_u64(bad, 0, "sample: 20 000 random layouts");
	check_u64(cut, 0, "sample: 200 of them cut at every byte");
}

/* Counts that do not fit, whose bytes would be more than 64 bits hold. */
static void t_absurd(void)
{
	static const u64 numbers[] = { 1000, 1 << 16, 1ull << 32, 1ull << 60, 1ull << 61, (1ull << 61) + 1, UINT64_MAX / 8,
				       UINT64_MAX / 24 + 1, UINT64_MAX - 7, UINT64_MAX };
	static const u64 types[] = { PS_CALLCHAIN, PS_BRANCH_STACK, PS_STACK_USER, PS_AUX, PS_READ };
	size_t wrong = 0;
	struct prec r;

	for (size_t i = 0; i < LEN(numbers); i++)
		for (size_t k = 0; k < LEN(types); k++)
			for (u64 rf = PF_GROUP; rf < 32; rf++) {
				struct pformat f = { .sample_type = types[k], .read_format = rf | PF_GROUP };

				w_head(PR_SAMPLE, 0);
				w64(numbers[i]);
				for (int n = 0; n < 9; n++)
					w64(UINT64_MAX);
				wrong += prec_decode(w_end(), &f, &r);
			}
	check_u64(wrong, 0, "sample: counts larger than the record");
}

static void t_chain(void)
{
	static const u64 entries[] = { 1, (u64)-128, 2, 3, (u64)-512, 4, (u64)-32, 5, (u64)-2176, 6, (u64)-2560, 7,
				       (u64)-640, 8, (u64)-4096, (u64)-4095 };
	static const u8 modes[] = { PM_HV, PM_KERNEL, PM_KERNEL, PM_USER, PM_HV, PM_GUEST_KERNEL, PM_GUEST_USER, PM_UNKNOWN,
				    PM_UNKNOWN };
	struct str s = edge_str((const char *)entries, sizeof(entries) - 3);
	u8 mode = PM_HV;
	size_t n = 0, wrong = 0;
	u64 ip;

	for (; chain_next(&s, &mode, &ip); n++)
		wrong += n >= LEN(modes) || mode != modes[n] || ip != (n == 8 ? (u64)-4096 : n + 1);
	check(n == LEN(modes) && !wrong, "callchain: each context, a marker unknown to us, half an entry");
}

/* --- rings ---------------------------------------------------------------------------------------------------- */

enum { RING = 4096 };

static void ring_write(char *p, u64 at, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[(at + i) % RING] = from[i];
}

static void t_ring(void)
{
	static const u16 sizes[] = { 8, 40, 200, 16, 3000 };
	static char scratch[PERF_RECORD_BYTES], want[PERF_RECORD_BYTES];
	char *p = edge_page(RING);
	size_t wrong = 0;

	for (u64 from = 0; from < RING; from += 8) {
		struct ring r = { .p = p, .size = RING, .tail = (u64)-RING * 3 + from, .head = (u64)-RING * 3 + from };
		struct str rec;

		for (size_t i = 0; i < LEN(sizes); i++) {
			for (size_t k = 8; k < sizes[i]; k++)
				want[k] = (char)(k * 7 + i);
			memcpy(want + 6, &sizes[i], 2);
			ring_write(p, r.head, want, sizes[i]);
			r.head += sizes[i];
		}
		for (size_t i = 0; i < LEN(sizes); i++) {
			if (!ring_next(&r, scratch, &rec) || str_len(rec) != sizes[i]) {
				wrong++;
				continue;
			}
			for (size_t k = 8; k < sizes[i]; k++)
				wrong += rec.p[k] != (char)(k * 7 + i);
		}
		wrong += ring_next(&r, scratch, &rec) || r.corrupt || r.tail != r.head;
	}
	check_u64(wrong, 0, "ring: records across its end, at every place");
	wrong = 0;
	for (u32 size = 0; size < 1 << 16; size++) {
		struct ring r = { .p = p, .size = RING, .tail = RING - 8, .head = RING + 72 };
		bool good = size == 8 || (size % 8 == 0 && size >= 8 && size <= 80);
		u16 n = (u16)size;
		struct str rec;
		u64 t;

		ring_write(p, r.tail + 6, (const char *)&n, 2);
		wrong += ring_time(&r, &some_ids[1], &t) != good;
		wrong += ring_next(&r, scratch, &rec) != good || r.corrupt != !good || (!good && r.tail != r.head);
	}
	check_u64(wrong, 0, "ring: every size that a header can state");
	for (u64 ahead = RING + 8; ahead; ahead <<= 1) {
		struct ring r = { .p = p, .size = RING, .head = ahead };
		struct str rec;

		wrong += ring_next(&r, scratch, &rec) || r.corrupt != 1;
	}
	check_u64(wrong, 0, "ring: a head further on than the ring is long");
}

int main(void)
{
	char b[MAX_BLOB];
	size_t bad = 0;

	t_muldiv();
	t_course();
	t_metrics();
	t_metrics_others();
	t_throttle();
	t_records();
	t_build_id();
	t_samples();
	t_absurd();
	t_chain();
	t_ring();
	for (size_t k = 0; k < LEN(revisions); k++)
		check(replay(blob_of(&revisions[k], 0x55555, b), feed_metrics), "metrics v%u.%u: every cut and change",
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
	check_u64(bad, 0, "metrics: 100 000 random blobs");
	return unit_end();
}
