/* t_counters.c - the registry: readings, rates, sums over clients, rows of perf events, tables that fill up
 * and empty again. SPDX-License-Identifier: MIT */
#include "../counters.c" /* its tables are static */
#include "unit.h"

#define S(lit) ((struct str)STR(lit))
#define SEC    1000000000ll

static u16 id(const char *name)
{
	return inst_id(str_z(name), false);
}

/* A reading of one entity at t seconds; values are put in between. */
static void begin(struct entity *e, i64 t)
{
	reg_begin(e, t * SEC);
}

static bool put(struct entity *e, u8 desc, const char *inst, u64 v)
{
	return reg_put(e, desc, str_z(inst), v, e->t);
}

#define NO (UINT64_MAX - 1) /* no such value */

static u64 get(const struct entity *e, u8 desc, const char *inst)
{
	u64 v = 0;

	return reg_get(e, desc, id(inst), &v) ? v : NO;
}

static u64 busy(const struct entity *e, const char *inst)
{
	u64 v = 0;

	return engine_busy(e, id(inst), &v) ? v : NO;
}

static u64 rate(const struct entity *e, u8 desc, const char *inst, u64 *dt)
{
	u64 d;

	return reg_rate(e, desc, id(inst), &d, dt) ? d : NO;
}

/* --- readings ------------------------------------------------------------------------------------------- */

static void t_rates(void)
{
	struct entity e = { .kind = K_CLIENT };
	u64 dt = 0;

	begin(&e, 1);
	check(put(&e, D_BUSY_NS, "r", 100), "reg_put");
	check_u64(get(&e, D_BUSY_NS, "r"), 100, "first reading: its value");
	check_u64(rate(&e, D_BUSY_NS, "r", &dt), NO, "first reading: no rate");
	check_u64(busy(&e, "r"), NO, "first reading: not 0 %% busy, but unknown");
	begin(&e, 3);
	check_u64(get(&e, D_BUSY_NS, "r"), NO, "a reading that has begun knows nothing yet");
	put(&e, D_BUSY_NS, "r", 500000100);
	check(rate(&e, D_BUSY_NS, "r", &dt) == 500000000 && dt == 2 * SEC, "second reading: what was added, in 2 s");
	check_u64(busy(&e, "r"), 25000, "second reading: 25 %%");
	put(&e, D_BUSY_NS, "r", 7);
	check_u64(get(&e, D_BUSY_NS, "r"), 500000100, "of two values in one reading the first stays");
	begin(&e, 3);
	put(&e, D_BUSY_NS, "r", 500000200);
	check_u64(rate(&e, D_BUSY_NS, "r", &dt), NO, "no time has gone by: no rate");
	begin(&e, 2);
	put(&e, D_BUSY_NS, "r", 500000300);
	check_u64(rate(&e, D_BUSY_NS, "r", &dt), NO, "time went back: no rate");
	reg_clear(&e);
	check(!reg_first(&e) && e.count == 0, "reg_clear");
}

/* "Upon observing a value lower than what was previously read, userspace is expected to stay with that
 * larger previous value until a monotonic update is seen." */
static void t_peak(void)
{
	static const u64 values[] = { 100, 200, 150, 180, 199, 260, 0, 261 };
	static const u64 deltas[] = { NO, 100, 0, 0, 0, 60, 0, 1 };
	static const u64 shown[] = { 100, 200, 200, 200, 200, 260, 260, 261 };
	static const u8 descs_[] = { D_BUSY_NS, D_CYCLES };
	struct entity e = { 0 };

	for (size_t k = 0; k < LEN(descs_); k++) {
		for (size_t i = 0; i < LEN(values); i++) {
			u64 dt = SEC;

			begin(&e, (i64)i + 1);
			put(&e, descs_[k], "r", values[i]);
			check_u64(rate(&e, descs_[k], "r", &dt), deltas[i], "lower values add nothing: reading %zu", i);
			check_u64(get(&e, descs_[k], "r"), shown[i], "the larger value stays: reading %zu", i);
			check_u64(dt, SEC, "an interval is one reading's, not since the peak");
		}
		reg_clear(&e);
	}
}

static void cycles(struct entity *e, i64 t, u64 c, u64 total, bool total_first)
{
	begin(e, t);
	if (total_first)
		put(e, D_TOTAL_CYCLES, "r", total);
	put(e, D_CYCLES, "r", c);
	if (!total_first)
		put(e, D_TOTAL_CYCLES, "r", total);
}

static void t_total_cycles(void)
{
	u64 dt;

	for (int first = 0; first < 2; first++) {
		const char *how = first ? "total first" : "cycles first";
		struct entity e = { 0 };

		cycles(&e, 1, 1000, 10000, first);
		cycles(&e, 2, 1100, 11000, first);
		check_u64(busy(&e, "r"), 10000, "cycles of the GPU's own clock, %s", how);
		cycles(&e, 3, 50, 100, first);
		check_u64(busy(&e, "r"), NO, "both went back: no rate, %s", how);
		check(rate(&e, D_CYCLES, "r", &dt) == NO && rate(&e, D_TOTAL_CYCLES, "r", &dt) == NO,
		      "both went back: neither has one, %s", how);
		check_u64(get(&e, D_CYCLES, "r"), 50, "both went back: the lower value counts, %s", how);
		cycles(&e, 4, 100, 300, first);
		check_u64(busy(&e, "r"), 25000, "both went back: the next reading counts from there, %s", how);
		cycles(&e, 5, 200, 200, first);
		check_u64(busy(&e, "r"), NO, "only the clock went back: no rate, %s", how);
		cycles(&e, 6, 250, 300, first);
		check_u64(busy(&e, "r"), 50000, "only the clock went back: on from there, %s", how);
		cycles(&e, 7, 240, 400, first);
		check_u64(busy(&e, "r"), 0, "only the cycles went back: nothing done, %s", how);
		cycles(&e, 8, 260, 500, first);
		check_u64(busy(&e, "r"), 10000, "only the cycles went back: what is beyond the larger value, %s", how);
		cycles(&e, 9, 300, 500, first);
		check_u64(busy(&e, "r"), NO, "the clock stood still: unknown, %s", how);
		reg_clear(&e);
	}
}

static void t_missing(void)
{
	struct entity e = { 0 };
	u64 dt = 0;

	begin(&e, 1);
	put(&e, D_BUSY_NS, "a", 0);
	put(&e, D_BUSY_NS, "b", 1000);
	put(&e, D_RESIDENT, "m", 5);
	begin(&e, 2);
	put(&e, D_BUSY_NS, "a", 100);
	put(&e, D_BUSY_NS, "b", 2000);
	put(&e, D_RESIDENT, "m", 5);
	begin(&e, 3);
	put(&e, D_BUSY_NS, "a", 200);
	check(rate(&e, D_BUSY_NS, "b", &dt) == NO && get(&e, D_BUSY_NS, "b") == NO && busy(&e, "b") == NO,
	      "a missing counter says nothing");
	check_u64(get(&e, D_RESIDENT, "m"), NO, "nor does a missing gauge");
	check_u64(rate(&e, D_BUSY_NS, "a", &dt), 100, "its neighbour does");
	begin(&e, 4);
	begin(&e, 5);
	put(&e, D_BUSY_NS, "b", 2600);
	check(rate(&e, D_BUSY_NS, "b", &dt) == 600 && dt == 3 * SEC,
	      "it comes back: counted from its last value, over all the time since");
	begin(&e, 6);
	put(&e, D_BUSY_NS, "b", 2700);
	check(rate(&e, D_BUSY_NS, "b", &dt) == 100 && dt == SEC, "and then on as before");
	put(&e, D_BUSY_NS, "a", 900);
	check(rate(&e, D_BUSY_NS, "a", &dt) == 700 && dt == 3 * SEC, "each by its own times");
	reg_clear(&e);

	/* As after an unplug: no key at all, in the reading after the first one. */
	begin(&e, 1);
	put(&e, D_BUSY_NS, "a", 100);
	begin(&e, 2);
	begin(&e, 3);
	put(&e, D_BUSY_NS, "a", 300);
	check(rate(&e, D_BUSY_NS, "a", &dt) == 200 && dt == 2 * SEC, "missing in the second reading");
	reg_clear(&e);
}

static bool order_is(const struct entity *e, const char *want)
{
	char b[512] = "";
	size_t n = 0;

	for (struct counter *c = reg_first(e); c; c = reg_next(c)) {
		struct str s = inst_name(c->inst);

		n += (size_t)snprintf(b + n, sizeof(b) - n, "%.*s ", (int)str_len(s), s.p);
	}
	if (strcmp(b, want) != 0)
		note("order: %s", b);
	return strcmp(b, want) == 0;
}

static void read_file(struct entity *e, i64 t, const char *names_)
{
	struct str s = str_z(names_), w;

	begin(e, t);
	while (str_word(&s, &w))
		reg_put(e, *w.p == 'm' ? D_RESIDENT : D_BUSY_NS, w, 1, e->t);
}

static void t_order(void)
{
	struct entity e = { 0 };

	read_file(&e, 1, "gfx dma m1 m2");
	check(order_is(&e, "gfx dma m1 m2 "), "order of the file");
	read_file(&e, 2, "gfx compute dma dec m1 m2");
	check(order_is(&e, "gfx compute dma dec m1 m2 "), "new engines in the middle");
	read_file(&e, 3, "gfx dma m1 m2");
	check(order_is(&e, "gfx compute dma dec m1 m2 "), "those that are missing keep their place");
	read_file(&e, 4, "enc gfx compute dma dec m1 m0 m2 jpeg");
	check(order_is(&e, "enc gfx compute dma dec m1 m0 m2 jpeg "), "new ones first and last");
	read_file(&e, 5, "jpeg m2 dma gfx");
	check(order_is(&e, "enc gfx compute dma dec m1 m0 m2 jpeg "), "another order changes nothing");
	check_u64(e.count, 9, "and nothing is there twice");
	reg_clear(&e);
	read_file(&e, 1, "m1 m2 m3 m4 m5 m6 m7 m1 m2 gfx dma");
	check(order_is(&e, "m1 m2 m3 m4 m5 m6 m7 gfx dma ") && keys_of(e.first)->n == SLOTS,
	      "what is told twice parts no line");
	reg_clear(&e);
	read_file(&e, 1, "m1 m2 m3 m4 m5 m6 m7");
	reg_put(&e, D_CAPACITY, (struct str)STR("m1"), 2, e.t);
	begin(&e, 2);
	reg_put(&e, D_CAPACITY, (struct str)STR("m1"), 2, e.t);
	reg_put(&e, D_BUSY_NS, (struct str)STR("m1"), 2, e.t);
	check(order_is(&e, "m1 m2 m3 m4 m5 m6 m7 m1 m1 "), "behind what lasts, too");
	reg_clear(&e);
}

/* --- what follows ----------------------------------------------------------------------------------------- */

static const struct dialect {
	const char *name;
	u64 ns[2], cycles[2], total[2], capacity, maxfreq, pct; /* NO: absent; two readings, 2 s apart */
	u64 busy, util, freq;
} dialects[] = {
	{ "i915: ns", { 0, 500000000 }, { NO, NO }, { NO, NO }, NO, NO, NO, 25000, NO, NO },
	{ "i915: ns of two engines", { 0, 500000000 }, { NO, NO }, { NO, NO }, 2, NO, NO, 12500, NO, NO },
	{ "ns: idle", { 5, 5 }, { NO, NO }, { NO, NO }, NO, NO, NO, 0, NO, NO },
	{ "ns: more than there is", { 0, 3000000000 }, { NO, NO }, { NO, NO }, NO, NO, NO, 100000, NO, NO },
	{ "ns: much more than there is", { 0, UINT64_MAX }, { NO, NO }, { NO, NO }, NO, NO, NO, 100000, NO, NO },
	{ "xe: cycles", { NO, NO }, { 0, 250 }, { 0, 1000 }, NO, NO, NO, 25000, NO, NO },
	{ "xe: cycles of four engines", { NO, NO }, { 0, 2000 }, { 0, 1000 }, 4, NO, NO, 50000, NO, NO },
	{ "xe: large cycles", { NO, NO }, { 0, 1ull << 62 }, { 0, 1ull << 63 }, NO, NO, NO, 50000, NO, NO },
	{ "xe: no time on its clock", { NO, NO }, { 0, 250 }, { 7, 7 }, NO, NO, NO, NO, NO, NO },
	{ "both: the GPU's clock wins", { 0, 2000000000 }, { 0, 250 }, { 0, 1000 }, NO, NO, NO, 25000, NO, NO },
	{ "msm: ns, cycles and maxfreq", { 0, 1000000000 }, { 0, 400000000 }, { NO, NO }, NO, 800000000, NO, 50000,
	  25000, 400000000 },
	{ "msm: idle", { 9, 9 }, { 9, 9 }, { NO, NO }, NO, 800000000, NO, 0, 0, NO },
	{ "panfrost: two engines", { 0, 1000000000 }, { 0, 800000000 }, { NO, NO }, 2, 800000000, NO, 25000, 25000,
	  800000000 },
	{ "cycles and maxfreq only", { NO, NO }, { 0, 400000000 }, { NO, NO }, NO, 800000000, NO, 25000, 25000, NO },
	{ "cycles, maxfreq 0", { NO, NO }, { 0, 400000000 }, { NO, NO }, NO, 0, NO, NO, NO, NO },
	{ "cycles only", { NO, NO }, { 0, 400000000 }, { NO, NO }, NO, NO, NO, NO, NO, NO },
	{ "above the highest frequency", { 0, 2000000000 }, { 0, 2000000000 }, { NO, NO }, NO, 500000000, NO, 100000,
	  100000, 1000000000 },
	{ "amdgpu before 5.19", { NO, NO }, { NO, NO }, { NO, NO }, NO, NO, 23050, 23050, NO, NO },
	{ "amdgpu before 5.19: above 100 %", { NO, NO }, { NO, NO }, { NO, NO }, NO, NO, 230500, 100000, NO, NO },
	{ "capacity 0", { 0, 500000000 }, { NO, NO }, { NO, NO }, 0, NO, NO, 25000, NO, NO },
	{ "nothing but a capacity", { NO, NO }, { NO, NO }, { NO, NO }, 2, NO, NO, NO, NO, NO },
};

static void t_dialects(void)
{
	for (size_t i = 0; i < LEN(dialects); i++) {
		const struct dialect *d = &dialects[i];
		struct entity e = { 0 };
		u64 v = 0;

		for (int k = 0; k < 2; k++) {
			begin(&e, 1 + 2 * k);
			if (d->ns[k] != NO)
				put(&e, D_BUSY_NS, "x", d->ns[k]);
			if (d->cycles[k] != NO)
				put(&e, D_CYCLES, "x", d->cycles[k]);
			if (d->total[k] != NO)
				put(&e, D_TOTAL_CYCLES, "x", d->total[k]);
			if (d->capacity != NO)
				put(&e, D_CAPACITY, "x", d->capacity);
			if (d->maxfreq != NO)
				put(&e, D_MAXFREQ, "x", d->maxfreq);
			if (d->pct != NO)
				put(&e, D_BUSY_PCT, "x", d->pct);
		}
		check_u64(busy(&e, "x"), d->busy, "busy: %s", d->name);
		v = 0;
		check_u64(engine_util(&e, id("x"), &v) ? v : NO, d->util, "util: %s", d->name);
		v = 0;
		check_u64(engine_freq(&e, id("x"), &v) ? v : NO, d->freq, "freq: %s", d->name);
		reg_clear(&e);
	}
}

static void t_device(void)
{
	struct device d = { .e = { .kind = K_DEVICE } };
	u64 v = 0;

	check(!device_busy(&d, &v) && !device_idle(&d, &v), "a device that says nothing");
	begin(&d.e, 1);
	put(&d.e, D_IDLE_MS, "gt0", 4294967000u);
	put(&d.e, D_IDLE_MS, "gt1", 100);
	put(&d.e, D_BUSY_NS, "bin", 0);
	put(&d.e, D_BUSY_NS, "render", 100);
	put(&d.e, D_GPU_BUSY_US, "", 100);
	check(!device_idle(&d, &v) && !device_busy(&d, &v), "one reading is no rate");
	begin(&d.e, 2);
	put(&d.e, D_IDLE_MS, "gt0", 204); /* 500 ms on, over 2^32 */
	put(&d.e, D_IDLE_MS, "gt1", 1000);
	check(device_idle(&d, &v) && v == 50000, "idle: over 32 bits, and the GT that slept least");
	put(&d.e, D_BUSY_NS, "bin", 100000000);
	put(&d.e, D_BUSY_NS, "render", 400000100);
	check(device_busy(&d, &v) && v == 40000, "busy: the busiest queue");
	put(&d.e, D_GPU_BUSY_US, "", 700100);
	check(device_busy(&d, &v) && v == 70000, "busy: the device's own time wins");
	put(&d.e, D_GPU_BUSY, "", 33000);
	check(device_busy(&d, &v) && v == 33000, "busy: its own figure wins");
	begin(&d.e, 3);
	put(&d.e, D_IDLE_MS, "gt0", 2204);
	put(&d.e, D_GPU_BUSY, "", 255000);
	check(device_idle(&d, &v) && v == 100000, "idle: not above 100 %%");
	check(device_busy(&d, &v) && v == 100000, "busy: not above 100 %%");
	begin(&d.e, 4);
	put(&d.e, D_GPU_BUSY_US, "", 5000000);
	check(device_busy(&d, &v) && v == 100000, "busy: time, not above 100 %%");
	check(!device_idle(&d, &v), "idle: not told in this reading");
	reg_clear(&d.e);
}

static void t_regions(void)
{
	static const struct {
		const char *name;
		bool chip, vram;
	} rows[] = {
		{ "memory", false, false }, { "gtt", false, false }, { "system0", false, false }, { "pool", false, false },
		{ "vram", false, true }, { "vram0", false, true }, { "local0", false, true },
		{ "stolen-local0", false, false }, { "doorbell", true, false }, { "gds", true, false },
		{ "gws", true, false }, { "oa", true, false }, { "mmioremap", true, false }, { "", false, false },
		{ "oak", false, false }, { "vra", false, false },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check(is_chip_region(str_z(rows[i].name)) == rows[i].chip &&
		      is_vram_region(str_z(rows[i].name)) == rows[i].vram, "region '%s'", rows[i].name);
	for (unsigned i = 0; i < D_COUNT; i++)
		if (is_engine((u8)i) && is_region((u8)i))
			check(false, "desc %u is of an engine and of a region", i);
	check(is_engine(D_BUSY_NS) && is_engine(D_BUSY_PCT) && is_engine(D_SUM_BUSY) && !is_engine(D_TOTAL) &&
	      !is_engine(D_GPU_BUSY) && is_region(D_TOTAL) && is_region(D_SUM_ACTIVE) && !is_region(D_VRAM_USED),
	      "is_engine, is_region");
}

static void t_used(void)
{
	static const struct {
		const char *name;
		u64 used, gtt, vram0, vram1, local, system; /* NO: not told */
		u64 card, apu;
	} rows[] = {
		{ "nothing", NO, NO, NO, NO, NO, NO, NO, NO },
		{ "the driver's own count", 100, 7, 1, 2, NO, 3, 100, 107 },
		{ "that, and no other", 100, NO, NO, NO, NO, NO, 100, 100 },
		{ "video memory of two tiles", NO, NO, 10, 20, NO, 3, 30, 33 },
		{ "i915's video memory", NO, NO, NO, NO, 5, 3, 5, 8 },
		{ "video memory, of which nothing is used", NO, NO, 0, NO, NO, 3, 0, 3 },
		{ "main memory", NO, NO, NO, NO, NO, 3, 3, 3 },
		{ "GTT alone is no total of the driver", NO, 7, NO, NO, NO, NO, NO, NO },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct entity e = { 0 };
		u64 v = 0;

		begin(&e, 1);
		if (rows[i].used != NO)
			put(&e, D_VRAM_USED, "", rows[i].used);
		if (rows[i].gtt != NO)
			put(&e, D_GTT_USED, "", rows[i].gtt);
		if (rows[i].vram0 != NO)
			put(&e, D_RESIDENT, "vram0", rows[i].vram0);
		if (rows[i].vram1 != NO)
			put(&e, D_RESIDENT, "vram1", rows[i].vram1);
		if (rows[i].local != NO)
			put(&e, D_RESIDENT, "local0", rows[i].local);
		if (rows[i].system != NO)
			put(&e, D_RESIDENT, "system0", rows[i].system);
		check_u64(entity_used(&e, false, &v) ? v : NO, rows[i].card, "used: %s", rows[i].name);
		check_u64(entity_used(&e, true, &v) ? v : NO, rows[i].apu, "used of an APU: %s", rows[i].name);
		begin(&e, 2);
		check(!entity_used(&e, false, &v), "used: %s, then nothing", rows[i].name);
		reg_clear(&e);
	}
}

static void t_parts(void)
{
	struct device d = { 0 };
	u64 v;

	begin(&d.e, 1);
	reg_add(&d.e, D_IDLE_MS, S("gt0"), 5);
	check(!reg_get(&d.e, D_IDLE_MS, reg_first(&d.e)->inst, &v), "parts: nothing without the first");
	put(&d.e, D_IDLE_MS, "gt0", 1000);
	reg_add(&d.e, D_IDLE_MS, S("gt0"), 200);
	reg_add(&d.e, D_IDLE_MS, S("gt0"), 30);
	check(reg_get(&d.e, D_IDLE_MS, reg_first(&d.e)->inst, &v) && v == 1230, "parts: their sum");
	begin(&d.e, 2);
	put(&d.e, D_IDLE_MS, "gt0", 1100);
	reg_add(&d.e, D_IDLE_MS, S("gt0"), 400);
	check(device_idle(&d, &v) && v == 27000, "parts: 270 ms of a second");
	reg_clear(&d.e);
}

static void t_fell(void)
{
	static const struct {
		u8 desc;
		u64 first, second;
		bool fell;
	} rows[] = {
		{ D_BUSY_NS, 100, 99, true }, { D_BUSY_NS, 100, 100, false }, { D_CYCLES, 7, 0, true },
		{ D_TOTAL_CYCLES, 7, 0, false }, /* a clock that is reset */
		{ D_RESIDENT, 7, 0, false },     /* a gauge */
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct entity e = { 0 };

		begin(&e, 1);
		put(&e, rows[i].desc, "r", rows[i].first);
		check(!e.fell, "fell: row %zu, not at first", i);
		begin(&e, 2);
		put(&e, rows[i].desc, "r", rows[i].second);
		check(e.fell == rows[i].fell, "fell: row %zu", i);
		begin(&e, 3);
		check(!e.fell, "fell: row %zu, forgotten", i);
		reg_clear(&e);
	}
}

/* --- texts ------------------------------------------------------------------------------------------------ */

static u32 texts_free(void)
{
	u32 n = MAX_TEXTS - 1 - ntexts;

	for (u32 t = free_texts; t != NONE; t = texts[t].next)
		n++;
	return n;
}

static void t_text(void)
{
	static char in[70000];
	static const size_t lengths[] = { 4095, 4096, 65535, 65536, 70000 };
	u32 t = NONE, before = texts_free(), dropped = reg_dropped;
	size_t bad = 0;

	for (size_t i = 0; i < sizeof(in); i++)
		in[i] = (char)rnd();
	for (size_t i = 0; i < 300 + LEN(lengths); i++) {
		size_t n = i < 300 ? i : lengths[i - 300];
		struct str s = edge_str(in, n);
		char *out;

		t = text_put(t, s);
		bad += t == NONE || !text_eq(t, s) || text_put(t, s) != t;
		bad += n && text_eq(t, (struct str){ s.p, s.e - 1 });
		bad += text_eq(t, (struct str){ in, in + n + 1 });
		out = edge_page(n); /* the same bytes: copied onto themselves */
		memset(out, 0, n);
		bad += text_copy(t, out, n) != n || memcmp(out, in, n) != 0;
	}
	check_u64(bad, 0, "texts of 0 to 299 and up to 70 000 bytes: stored, compared, copied");
	bad = 0;
	t = text_put(t, (struct str){ in, in + 300 });
	for (size_t cap = 0; cap <= 310; cap++) {
		char *out = edge_page(cap);

		bad += text_copy(t, out, cap) != (cap < 300 ? cap : 300) || memcmp(out, in, cap < 300 ? cap : 300) != 0;
	}
	check_u64(bad, 0, "text_copy: as many bytes as there is room for");
	check(text_copy(NONE, in, 5) == 0 && !text_eq(NONE, S("")), "no text");
	text_free(t);
	text_free(NONE);
	check_u64(texts_free(), before, "texts: all rows are free again");

	/* Full: what does not fit is not stored by half. */
	t = text_put(NONE, S("kept"));
	{
		static u32 many[MAX_TEXTS];
		u32 n = 0, left = 3;

		for (; texts_free() > left; n++)
			many[n] = text_put(NONE, (struct str){ in + n % 1000, in + n % 1000 + sizeof(texts[0].b) });
		check_u64(text_put(NONE, (struct str){ in, in + 1000 }), NONE, "texts full: no room for a long one");
		check(reg_dropped == dropped + 1, "texts full: which is counted");
		check_u64(texts_free(), left, "texts full: and takes none");
		many[n++] = text_put(NONE, (struct str){ in, in + 3 * sizeof(texts[0].b) });
		check(many[n - 1] != NONE && texts_free() == 0, "texts full: to the last one");
		check(text_put(NONE, S("")) == NONE && text_eq(t, S("kept")), "texts full: the others are whole");
		while (n > 0)
			text_free(many[--n]);
	}
	text_free(t);
	check_u64(texts_free(), before, "texts full: all rows are free again");
}

/* --- who holds a client ----------------------------------------------------------------------------------- */

static u32 make_task(u32 pid, u64 start, const char *comm)
{
	u32 t = task_find(pid);

	if (t != NONE)
		return t;
	t = task_add(pid);
	tasks[t].start = start;
	tasks[t].comm_len = (u8)strlen(comm);
	memcpy(tasks[t].comm, comm, strlen(comm));
	return t;
}

static void t_owner(void)
{
	static const struct {
		const char *name;
		struct {
			u32 pid;
			u64 start;
			const char *comm;
		} held[4];
		u32 owner; /* 0: none */
	} rows[] = {
		{ "nobody", { { 0 } }, 0 },
		{ "the only one", { { 7, 70, "a" } }, 7 },
		{ "the oldest", { { 7, 70, "a" }, { 8, 60, "b" }, { 9, 80, "c" } }, 8 },
		{ "of equally old ones the lowest pid", { { 9, 70, "a" }, { 7, 70, "b" }, { 8, 70, "c" } }, 7 },
		{ "not pid 1, though older", { { 1, 0, "systemd" }, { 8, 60, "b" } }, 8 },
		{ "not logind", { { 300, 1, "systemd-logind" }, { 800, 60, "Xorg" } }, 800 },
		{ "not seatd", { { 300, 1, "seatd" }, { 800, 60, "sway" } }, 800 },
		{ "not elogind", { { 800, 60, "sway" }, { 300, 1, "elogind-daemon" } }, 800 },
		{ "brokers only: the oldest of them", { { 300, 5, "seatd" }, { 1, 0, "init" } }, 1 },
		{ "one whose name begins like a broker's", { { 300, 1, "seatd-launch" }, { 800, 60, "sway" } }, 300 },
		{ "an unknown start is young", { { 7, UINT64_MAX, "a" }, { 9, 60, "b" } }, 9 },
		{ "but older than a broker", { { 7, UINT64_MAX, "a" }, { 1, 0, "init" } }, 7 },
		{ "two unknown starts", { { 9, UINT64_MAX, "a" }, { 7, UINT64_MAX, "b" } }, 7 },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		for (int backwards = 0; backwards < 2; backwards++) {
			u32 c = client_add(1, KEY_ID, 5);
			const struct task *owner;

			for (size_t k = 0; k < 4; k++) {
				size_t at = backwards ? 3 - k : k;

				if (rows[i].held[at].pid)
					holder_add(rows[i].held[at].pid, 3,
						   make_task(rows[i].held[at].pid, rows[i].held[at].start, rows[i].held[at].comm), c);
			}
			owner = client_owner(&clients[c]);
			check_u64(owner ? owner->pid : 0, rows[i].owner, "owner: %s%s", rows[i].name,
				  backwards ? " (backwards)" : "");
			client_remove(c);
		}
}

/* --- sums --------------------------------------------------------------------------------------------------- */

/* One reading of a client's engine and memory. */
static void client_reading(u32 c, i64 t, u64 ns, u64 resident, u64 shared)
{
	struct entity *e = &clients[c].e;

	begin(e, t);
	if (ns != NO)
		put(e, D_BUSY_NS, "render", ns);
	put(e, D_CAPACITY, "render", 1);
	put(e, D_TOTAL, "vram", resident + 10);
	put(e, D_SHARED, "vram", shared);
	put(e, D_RESIDENT, "vram", resident);
}

static void t_roll(void)
{
	u32 d = device_add(), other = device_add();
	u32 a = client_add(d, KEY_ID, 1), b = client_add(d, KEY_ID, 2), c;
	struct entity *e = &devices[d].e;
	u64 v = 0;

	begin(e, 1);
	client_reading(a, 1, 1000, 100, 40);
	client_reading(b, 1, 2000, 100, 40);
	reg_roll(false, true);
	check(devices[d].clients == 2 && devices[other].clients == 0, "roll: clients are counted by device");
	check_u64(busy(e, "render"), NO, "roll: one reading tells no busy time");
	check_u64(get(e, D_SUM_TOTAL, "vram"), 220, "roll: memory of all clients");
	check_u64(get(e, D_SUM_RESIDENT, "vram"), 120, "roll: resident less what is shared");
	check_u64(get(e, D_SUM_NS, "render"), 3000, "roll: time of all clients");

	begin(e, 2);
	client_reading(a, 2, 1000 + 800000000, 100, 40);
	client_reading(b, 2, 2000 + 800000000, 10, 40);
	reg_roll(false, true);
	check_u64(get(e, D_SUM_BUSY, "render"), (u64)FULL / 10 * 16, "roll: the sum itself is not clamped");
	check_u64(busy(e, "render"), 100000, "roll: what is shown is");
	check_u64(get(e, D_SUM_RESIDENT, "vram"), 60, "roll: more shared than resident is nothing, not less");
	check_u64(get(e, D_SUM_NS, "render"), 1600003000, "roll: time goes on from one sample to the next");

	clients[b].hidden = true;
	begin(e, 3);
	client_reading(a, 3, 1000 + 900000000, 100, 0);
	client_reading(b, 3, 2000 + 900000000, 100, 0);
	reg_roll(false, true);
	check(devices[d].clients == 1 && busy(e, "render") == 10000 && get(e, D_SUM_RESIDENT, "vram") == 100,
	      "roll: what a filter hides is left out");
	clients[b].hidden = false;

	/* Sums never fall, though clients go. */
	client_remove(b);
	begin(e, 4);
	client_reading(a, 4, 1000 + 1000000000, 100, 0);
	v = 0;
	reg_roll(false, true);
	check(reg_get(e, D_SUM_NS, id("render"), &v) && v >= 1700003000, "roll: a client goes, the sum stays");
	check_u64(v, 1800003000, "roll: a client goes, and another one works on");
	check_u64(get(e, D_SUM_RESIDENT, "vram"), 100, "roll: memory is that of the clients there are");
	c = client_add(d, KEY_ID, 2); /* the id comes back */
	begin(e, 5);
	client_reading(a, 5, 1000 + 1000000000, 100, 0);
	client_reading(c, 5, 7, 100, 0);
	reg_roll(false, true);
	check_u64(get(e, D_SUM_NS, "render"), 1800003007, "roll: a new client adds what it has");

	clients[a].e.fresh = false;
	begin(e, 6);
	client_reading(c, 6, 7 + 500000000, 100, 0);
	reg_roll(false, true);
	check(devices[d].clients == 2 && busy(e, "render") == 50000 && get(e, D_SUM_RESIDENT, "vram") == 100,
	      "roll: a client that was not read counts as one, and adds nothing");

	client_remove(a);
	client_remove(c);
	begin(e, 7);
	reg_roll(false, true);
	check(devices[d].clients == 0 && busy(e, "render") == 0, "roll: engines that nobody uses are idle");
	v = 0;
	check(reg_get(e, D_SUM_NS, id("render"), &v) && v >= 1800003007,
	      "roll: without any client the sum still stands");
	reg_unreadable = 1;
	begin(e, 8);
	reg_roll(false, true);
	check_u64(busy(e, "render"), NO, "roll: unless somebody could not be seen");
	reg_unreadable = 0;
	devices[d].anonymous = 1;
	begin(e, 9);
	reg_roll(false, true);
	check_u64(busy(e, "render"), NO, "roll: or does not say who it is");
	devices[d].anonymous = 0;
	devices[d].awake = false;
	begin(e, 10);
	reg_roll(false, true);
	check_u64(busy(e, "render"), NO, "roll: or the device sleeps");
	devices[d].awake = true;
	begin(e, 11);
	reg_roll(false, true);
	check_u64(get(e, D_CAPACITY, "render"), 1, "roll: hardware does not change");
	reg_clear(e);
	reg_clear(&devices[other].e);
	devices[d].e.used = devices[other].e.used = false;
}

/* Without rates, as for -r: only what one reading tells. */
static void t_roll_raw(void)
{
	u32 d = device_add(), a = client_add(d, KEY_ID, 1);
	struct entity *e = &devices[d].e;

	for (i64 t = 1; t < 4; t++) {
		begin(e, t);
		client_reading(a, t, (u64)t * 1000, 100, 0);
		reg_roll(false, false);
		check_u64(get(e, D_SUM_NS, "render"), (u64)t * 1000, "roll without rates: time, sample %d", (int)t);
		check(busy(e, "render") == NO && get(e, D_SUM_TOTAL, "vram") == 110,
		      "roll without rates: no rate, but memory");
	}
	client_remove(a);
	reg_clear(e);
	devices[d].e.used = false;
}

/* What a device's engine did is never more than its clients' counters together. */
static void t_roll_cycles(void)
{
	u32 d = device_add(), a = client_add(d, KEY_ID, 1);
	struct entity *e = &devices[d].e, *c = &clients[a].e;
	u64 v = 0;

	cycles(c, 1, 1000, 5000, false);
	reg_roll(false, true);
	cycles(c, 2, 2000, 9000, false);
	reg_roll(false, true);
	check(busy(e, "r") == 25000 && get(e, D_SUM_CYCLES, "r") == 2000 &&
	      get(e, D_SUM_TOTAL_CYCLES, "r") == 9000, "roll: cycles");
	cycles(c, 3, 2500, 100, false); /* the GPU's clock has fewer bits than its counter of cycles */
	reg_roll(false, true);
	check(reg_get(e, D_SUM_CYCLES, id("r"), &v) && v >= 2000 && v <= 2500,
	      "roll: the GPU's clock wraps, the sum of cycles is not the whole counter once more");
	if (v > 2500)
		note("sum %" PRIu64 " of one client that counts 2500", v);
	client_remove(a);
	reg_clear(e);
	devices[d].e.used = false;
}

static void t_roll_util(void)
{
	u32 d = device_add(), a = client_add(d, KEY_ID, 1), b = client_add(d, KEY_ID, 2);
	struct entity *e = &devices[d].e;
	u64 v = 0;

	for (i64 t = 1; t < 3; t++) {
		begin(e, t);
		for (u32 c = a;; c = b) {
			struct entity *k = &clients[c].e;

			begin(k, t);
			put(k, D_BUSY_NS, "gpu", (u64)t * 400000000);
			put(k, D_CYCLES, "gpu", (u64)t * (c == a ? 200000000 : 100000000));
			put(k, D_MAXFREQ, "gpu", 1000000000);
			put(k, D_CURFREQ, "gpu", 700000000 - (u64)t * 100000000);
			if (c == b)
				break;
		}
		reg_roll(false, true);
	}
	check_u64(busy(e, "gpu"), 80000, "roll: busy by time, once though there are cycles too");
	check_u64(engine_util(e, id("gpu"), &v) ? v : NO, 30000, "roll: util of all clients");
	check_u64(engine_freq(e, id("gpu"), &v) ? v : NO, 375000000, "roll: mean clock of all clients");
	check(get(e, D_MAXFREQ, "gpu") == 1000000000 && get(e, D_CURFREQ, "gpu") == 500000000,
	      "roll: clocks are the engine's, not added up");
	client_remove(a);
	client_remove(b);
	reg_clear(e);
	devices[d].e.used = false;
}

static u32 group_find(u32 device, struct str path)
{
	for (u32 i = 1; i <= ngroups; i++)
		if (groups[i].e.used && groups[i].device == device && text_eq(cgroups[groups[i].cgroup].path, path))
			return i;
	return NONE;
}

static void t_cgroups(void)
{
	u32 d = device_add(), user = cgroup_add(S("/user.slice")), sys = cgroup_add(S("/system.slice"));
	u32 c[3], g, used = 0;

	check(cgroup_add(S("/user.slice")) == user && user != sys && cgroups[user].refs == 2,
	      "cgroup_add: one row a path");
	cgroup_unref(user);
	for (u32 i = 0; i < 3; i++) {
		c[i] = client_add(d, KEY_ID, i);
		holder_add(100 + i, 5, make_task(100 + i, i, "x"), c[i]);
		tasks[task_find(100 + i)].cgroup = i < 2 ? user : sys;
		if (i == 1)
			cgroups[user].refs++;
	}
	for (i64 t = 1; t < 4; t++) {
		for (u32 i = 0; i < 3; i++) {
			client_reading(c[i], t, (u64)t * 100000000, 100, 0);
			put(&clients[c[i]].e, D_CURFREQ, "render", 900 - (u64)t * 100);
		}
		reg_roll(true, true);
	}
	g = group_find(d, S("/user.slice"));
	check(g != NONE && groups[g].clients == 2 && busy(&groups[g].e, "render") == 20000 &&
	      get(&groups[g].e, D_SUM_RESIDENT, "vram") == 200, "cgroups: the clients of one");
	check_u64(get(&groups[g].e, D_SUM_NS, "render"), 600000000, "cgroups: time since the first reading");
	check_u64(get(&groups[g].e, D_CURFREQ, "render"), 600, "cgroups: the present clock, not the highest ever");
	g = group_find(d, S("/system.slice"));
	check(g != NONE && groups[g].clients == 1 && busy(&groups[g].e, "render") == 10000,
	      "cgroups: those of another");
	check_u64(devices[d].clients, 3, "cgroups: the device counts all");
	client_remove(c[2]);
	reg_roll(true, true);
	check(group_find(d, S("/system.slice")) == NONE && group_find(d, S("/user.slice")) != NONE,
	      "cgroups: gone with its last client");
	clients[c[0]].hidden = true;
	reg_roll(true, true);
	check_u64(groups[group_find(d, S("/user.slice"))].clients, 1, "cgroups: a filter leaves clients out");
	client_remove(c[0]);
	client_remove(c[1]);
	reg_roll(true, true);
	for (u32 i = 1; i <= ngroups; i++)
		used += groups[i].e.used;
	for (u32 i = 1; i <= ncgroups; i++)
		used += cgroups[i].refs > 0;
	for (u32 i = 1; i <= ntasks; i++)
		used += tasks[i].pid > 0;
	check_u64(used, 0, "cgroups: no row of any table is left in use");
	reg_clear(&devices[d].e);
	devices[d].e.used = false;
}

/* --- devices -------------------------------------------------------------------------------------------------- */

static void t_devices(void)
{
	struct device a = { .card = 0, .render = 128, .accel = -1, .dev = "card0" };
	struct device b = { .card = 10, .render = 129, .accel = -1, .dev = "card10" };
	struct device r = { .card = -1, .render = 130, .accel = -1, .dev = "renderD130" };
	struct device n = { .card = -1, .render = -1, .accel = 0, .dev = "accel0" };
	struct device x = { .card = -1, .render = -1, .accel = -1, .dev = "226:5" };
	struct device y = { .card = -1, .render = -1, .accel = -1, .dev = "226:6" };
	const struct device *row[] = { &a, &b, &r, &n, &x, &y };
	size_t bad = 0, added = 0;
	char *f = edge_page(8);

	for (size_t i = 0; i < LEN(row); i++)
		for (size_t k = 0; k < LEN(row); k++) {
			int c = device_order(row[i], row[k]);

			bad += i < k ? c >= 0 : i > k ? c <= 0 : c != 0;
		}
	check_u64(bad, 0, "device_order: primary, render, accel nodes, then the others by name");

	device_set(f, 8, S("amdgpu"));
	check(strcmp(f, "amdgpu") == 0, "device_set");
	device_set(f, 8, S("amdxdna_accel_driver"));
	check(strcmp(f, "amdxdna") == 0, "device_set: cut to the field");
	device_set(f, 8, S(""));
	check(strcmp(f, "") == 0, "device_set: nothing");

	while (device_add() != NONE)
		added++;
	check(added == MAX_DEVICES - 1, "devices: as many as the table holds");
	for (u32 i = 1; i < MAX_DEVICES; i++)
		devices[i].e.used = false;
	check(device_add() != NONE, "devices: a free row is used again");
	for (u32 i = 1; i < MAX_DEVICES; i++)
		devices[i].e.used = false;
}

/* --- tables that fill up ---------------------------------------------------------------------------------------- */

static void t_full_tables(void)
{
	static u32 c[MAX_CLIENTS];
	u32 n = 0, d = device_add(), held = 0, t, dropped = reg_dropped;
	size_t bad = 0;
	char path[32];

	while ((c[n] = client_add(d, KEY_ID, n)) != NONE)
		n++;
	check(n == MAX_CLIENTS - 1 && reg_dropped == dropped + 1, "clients: full, and one was counted");
	for (u32 i = 0; i < n; i++)
		bad += client_find(d, KEY_ID, i) != c[i];
	check(bad == 0 && client_find(d, KEY_ID, n) == NONE && client_find(d, KEY_PASID, 0) == NONE &&
	      client_find(d + 1, KEY_ID, 0) == NONE, "clients: full, each is found");

	dropped = reg_dropped;
	t = make_task(7, 7, "x");
	while (holder_add(7, held, t, c[held % n]) != NONE)
		held++;
	check(held == MAX_HOLDERS - 1 && reg_dropped == dropped + 1, "holders: full, and one was counted");
	for (u32 i = 0; i < held; i++)
		bad += holder_find(7, i) == NONE || holders[holder_find(7, i)].client != c[i % n];
	check(bad == 0 && holder_find(7, held) == NONE && holder_find(8, 0) == NONE, "holders: full, each is found");
	for (u32 i = 0; i < n; i++)
		bad += !clients[c[i]].holders;
	reg_roll(false, true);
	check(bad == 0 && devices[d].clients == n, "holders: full, each client has some");

	dropped = reg_dropped;
	for (t = 8; task_add(t) != NONE; t++)
		;
	check(t - 8 == MAX_TASKS - 2 && reg_dropped == dropped + 1, "tasks: full, and one was counted");
	for (u32 i = 8; i < t; i++)
		bad += task_find(i) == NONE || tasks[task_find(i)].pid != i;
	check(bad == 0 && task_find(t) == NONE, "tasks: full, each is found");
	while (t-- > 8)
		task_prune(task_find(t));
	task_prune(task_find(7));
	check(task_find(8) == NONE && task_find(7) != NONE, "tasks: one that holds something is not forgotten");

	dropped = reg_dropped;
	for (t = 0; snprintf(path, sizeof(path), "/x%u", t), cgroup_add(str_z(path)) != NONE; t++)
		;
	check(t == MAX_CGROUPS - 1 && reg_dropped == dropped + 1, "cgroups: full, and one was counted");
	check(cgroup_add(S("/x5")) != NONE && cgroup_add(S("/y")) == NONE, "cgroups: full, a known one is found");
	cgroup_unref(cgroup_add(S("/x5")));
	cgroup_unref(cgroup_add(S("/x5")) + 0);
	while (t-- > 0) {
		u32 row;

		snprintf(path, sizeof(path), "/x%u", t);
		row = cgroup_add(str_z(path));
		while (cgroups[row].refs > 1)
			cgroup_unref(row);
		cgroup_unref(row);
	}
	for (u32 i = 1; i <= ncgroups; i++)
		bad += cgroups[i].refs > 0;
	check_u64(bad, 0, "cgroups: all are gone");

	for (u32 i = 0; i < n; i++)
		client_remove(c[i]);
	for (u32 i = 0; i < held; i++)
		bad += holder_find(7, i) != NONE;
	check(bad == 0 && task_find(7) == NONE && client_find(d, KEY_ID, 0) == NONE,
	      "with their clients go holders and tasks");
	devices[d].e.used = false;
}

/* More cgroups on more devices than there are rows for their sums. */
static void t_full_groups(void)
{
	u32 d[2] = { device_add(), device_add() }, dropped, used = 0, n = 0;
	char path[32];

	for (u32 i = 0; i < 4200; i++) {
		u32 t = make_task(1000 + i / 2, 1, "x"), c = client_add(d[i % 2], KEY_ID, i);

		if (!tasks[t].cgroup) {
			snprintf(path, sizeof(path), "/y%u", i / 2);
			tasks[t].cgroup = cgroup_add(str_z(path));
		}
		holder_add(1000 + i / 2, i, t, c);
	}
	dropped = reg_dropped;
	reg_roll(true, true);
	for (u32 i = 1; i <= ngroups; i++)
		used += groups[i].e.used;
	check(used == MAX_GROUPS - 1 && reg_dropped == dropped + 4200 - (MAX_GROUPS - 1),
	      "groups: full, and the others were counted");
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used && clients[i].device == d[0] && ++n)
			client_remove(i);
	reg_roll(true, true); /* rows that are not in use become free */
	reg_roll(true, true);
	used = 0;
	for (u32 i = 1; i <= ngroups; i++)
		used += groups[i].e.used;
	check_u64(used, n, "groups: those of the clients that are left, all of which have room now");
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used)
			client_remove(i);
	reg_roll(true, true);
	used = 0;
	for (u32 i = 1; i <= ngroups; i++)
		used += groups[i].e.used;
	for (u32 i = 1; i <= ncgroups; i++)
		used += cgroups[i].refs;
	check_u64(used, 0, "groups: none is left, nor a cgroup");
	reg_clear(&devices[d[0]].e);
	reg_clear(&devices[d[1]].e);
	devices[d[0]].e.used = devices[d[1]].e.used = false;
}

/* --- random readings -------------------------------------------------------------------------------------------- */

enum { PUTS = 24 };

/* What a file of a client says: some counters, some of them twice, of values that 32 bits hold, or only in KiB, or not. */
struct reading_of {
	struct {
		u8 desc;
		char name[4];
		u64 v;
	} put[PUTS];
	size_t n;
};

static u64 any_value(void)
{
	static const u64 odd[] = { 0, 1, UINT32_MAX, 1ull << 32, (1ull << 32) + 1, (1ull << 42) - 1024, 1ull << 42, UINT64_MAX };
	u64 v = rnd();

	return v % 4 ? (v >> 8) % 1000 << (v >> 32) % 3 * 10 : odd[(v >> 8) % LEN(odd)];
}

/* Another file than r, or the same but for some values. */
static void reading_next(struct reading_of *r)
{
	static const u8 some[] = { D_BUSY_NS, D_CYCLES, D_TOTAL_CYCLES, D_CAPACITY, D_TOTAL, D_SHARED, D_RESIDENT, D_ACTIVE };

	if (rnd() % 3 == 0)
		r->n = 0;
	while (r->n < PUTS && rnd() % 8) {
		size_t at = rnd_of(r->n + 1);

		memmove(&r->put[at + 1], &r->put[at], (r->n++ - at) * sizeof(r->put[0]));
		r->put[at].desc = some[rnd() % LEN(some)];
		r->put[at].v = any_value();
		memcpy(r->put[at].name, "r0", 3);
		r->put[at].name[1] = (char)('0' + rnd() % 6);
	}
	for (size_t i = 0; i < r->n; i++)
		if (rnd() % 3 == 0)
			r->put[i].v = rnd() % 4 ? r->put[i].v + rnd() % 2048 : any_value();
}

static void reading_put(struct entity *e, const struct reading_of *r, i64 t)
{
	begin(e, t);
	for (size_t i = 0; i < r->n; i++)
		put(e, r->put[i].desc, r->put[i].name, r->put[i].v);
}

static bool same_counters(const struct entity *a, const struct entity *b)
{
	struct counter *x = reg_first(a), *y = reg_first(b);

	for (; x && y; x = reg_next(x), y = reg_next(y)) {
		const struct track *k, *l;

		if (x->desc != y->desc || x->inst != y->inst || x->flags != y->flags || reg_now(x) != reg_now(y))
			return false;
		if (!(x->flags & CF_WIDE))
			continue;
		k = reg_track(x);
		l = reg_track(y);
		if (k->was != l->was || k->t != l->t || k->t_was != l->t_was)
			return false;
	}
	return !x && !y && a->t == b->t && a->t_was == b->t_was && a->fell == b->fell && a->fresh == b->fresh;
}

/* Where a list of what was put stands after one more put: behind the last one, if it is new. */
static size_t list_put(u32 *list, size_t *n, size_t at, u32 key)
{
	for (size_t i = 0; i < *n; i++)
		if (list[i] == key)
			return i + 1;
	memmove(list + at + 1, list + at, (*n - at) * sizeof(*list));
	list[at] = key;
	++*n;
	return at + 1;
}

/* Whether no put before told the same: memory that is told twice is no place for what follows. */
static bool put_first(const struct reading_of *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (r->put[k].desc == r->put[i].desc && strcmp(r->put[k].name, r->put[i].name) == 0)
			return false;
	return true;
}

/* A reading that says nothing new, by reg_again() and by the puts that it stands for; the order of counters, and each of
 * their values, beside a plain list. */
static void t_again(void)
{
	size_t bad = 0, order = 0, values = 0, again = 0;

	for (u32 turn = 0; turn < 3000; turn++) {
		struct entity a = { .kind = K_CLIENT }, b = { .kind = K_CLIENT };
		struct reading_of r = { .n = 0 };
		u32 list[PUTS * 20];
		size_t n = 0;

		for (i64 t = 1; t < 20; t++) {
			bool same = t > 1 && rnd() % 2, quick = same && !a.fell && !a.dropped;
			size_t at = 0, i = 0;

			if (!same)
				reading_next(&r);
			if (quick)
				reg_again(&a, t * SEC);
			else
				reading_put(&a, &r, t);
			reading_put(&b, &r, t);
			again += quick;
			bad += !same_counters(&a, &b);
			for (i = 0; i < r.n; i++) {
				size_t next = list_put(list, &n, at, (u32)r.put[i].desc << 16 | id(r.put[i].name));

				at = put_first(&r, i) || !is_region(r.put[i].desc) ? next : at;
			}
			i = 0;
			for (struct counter *c = reg_first(&a); c; c = reg_next(c), i++)
				order += i >= n || list[i] != ((u32)c->desc << 16 | c->inst);
			order += i != n || a.count != n;
			for (i = r.n; i-- > 0;) {
				struct counter *c = reg_find(&a, r.put[i].desc, id(r.put[i].name));

				values += put_first(&r, i) && r.put[i].desc != D_CAPACITY && (!c || reg_now(c) != r.put[i].v);
			}
		}
		reg_clear(&a);
		reg_clear(&b);
	}
	check(bad == 0 && again > 10000, "%zu readings that said nothing new: as if they had been put (%zu differ)", again, bad);
	check_u64(order, 0, "random files: their order");
	check_u64(values, 0, "random files: their values");
}

/* What the clients of a device have of a region, added up one by one. */
static u64 sum_plainly(u32 d, u8 desc, u16 inst, bool *any)
{
	u64 sum = 0, v, shared;

	*any = false;
	for (u32 i = 1; i <= nclients; i++) {
		const struct client *c = &clients[i];

		if (!c->e.used || c->hidden || !c->e.fresh || c->device != d || !reg_get(&c->e, desc, inst, &v))
			continue;
		*any = true;
		if (desc == D_RESIDENT && reg_get(&c->e, D_SHARED, inst, &shared))
			v = v > shared ? v - shared : 0;
		sum = sum > UINT64_MAX - v ? UINT64_MAX : sum + v;
	}
	return sum;
}

static void t_roll_random(void)
{
	u32 d[2] = { device_add(), device_add() }, c[12] = { 0 };
	struct reading_of r[LEN(c)] = { 0 };
	size_t bad = 0;

	for (i64 t = 1; t < 3000; t++) {
		for (size_t i = 0; i < LEN(c); i++) {
			if (c[i] && rnd() % 20 == 0) {
				client_remove(c[i]);
				c[i] = NONE;
			} else if (!c[i] && rnd() % 4 == 0) {
				c[i] = client_add(d[rnd() % 2], KEY_ID, i);
			}
			if (!c[i])
				continue;
			clients[c[i]].e.fresh = false;
			clients[c[i]].hidden = rnd() % 8 == 0;
			if (rnd() % 3 == 0)
				r[i] = r[rnd() % LEN(c)];
			reading_next(&r[i]);
			if (rnd() % 8)
				reading_put(&clients[c[i]].e, &r[i], t);
		}
		for (size_t k = 0; k < LEN(d); k++)
			begin(&devices[d[k]].e, t);
		reg_roll(false, true);
		for (size_t k = 0; k < LEN(d); k++)
			for (u8 desc = D_TOTAL; desc <= D_ACTIVE; desc++)
				for (char n = '0'; n < '6'; n++) {
					char name[] = { 'r', n, '\0' };
					bool any;
					u64 want = sum_plainly(d[k], desc, id(name), &any);

					bad += get(&devices[d[k]].e, sum_of(desc), name) != (any ? want : NO);
				}
	}
	check_u64(bad, 0, "regions of random clients on two devices: their sums");
	for (size_t i = 0; i < LEN(c); i++)
		if (c[i])
			client_remove(c[i]);
	for (size_t k = 0; k < LEN(d); k++) {
		reg_clear(&devices[d[k]].e);
		devices[d[k]].e.used = false;
	}
}

/* --- coming and going ------------------------------------------------------------------------------------------- */

static u32 free_of(u32 freed, u32 top, u32 max, bool wide)
{
	u32 n = max - 1 - top;

	for (; freed != NONE; n++)
		freed = wide ? (u32)tracks[freed].now : lines[freed].next;
	return n;
}

static void churn_add(u32 d, u8 kind, u64 key)
{
	u32 c = client_add(d, kind, key), h = 1 + (u32)(rnd() % 3);
	char path[200] = "";

	if (c == NONE)
		return;
	for (u32 i = 0; i < h; i++) {
		u32 pid = 2 + (u32)(rnd() % 5000), fd = (u32)(rnd() % 8), t = task_find(pid);

		if (holder_find(pid, fd) != NONE)
			continue;
		if (t == NONE && (t = task_add(pid)) == NONE)
			continue;
		if (!tasks[t].cgroup) {
			/* of any length, so that texts of several rows come and go too */
			size_t n = (size_t)snprintf(path, sizeof(path), "/%u/", (unsigned)(rnd() % 2000));

			memset(path + n, 'x', pid % 150);
			tasks[t].cgroup = cgroup_add((struct str){ path, path + n + pid % 150 });
		}
		if (holder_add(pid, fd, t, c) == NONE)
			task_prune(t);
	}
	clients[c].name = text_put(NONE, (struct str){ path, path + key % 60 });
	clients[c].other = text_put(NONE, (struct str){ path, path + key % 170 });
	begin(&clients[c].e, 1);
	for (u64 i = 0; i < key % 7; i++) {
		static const char *const engine[] = { "a", "b", "c", "d", "e", "f", "g" };

		put(&clients[c].e, i % 2 ? D_BUSY_NS : D_RESIDENT, engine[i], key);
	}
}

static void t_churn(void)
{
	u32 tracks_before = free_of(free_track, ntracks, MAX_TRACKS, true);
	u32 lines_before = free_of(free_line, nlines, MAX_LINES, false), texts_before = texts_free();
	u32 n = 0, used = 0;
	size_t bad = 0;

	for (u32 i = 0; i < 1000000; i++) {
		u32 d = 1 + (u32)(rnd() % 3), c;
		u8 kind = (u8)(rnd() % 3);
		u64 key = rnd() % 2000 * 0x300000001;

		c = client_find(d, kind, key);
		if (c == NONE) {
			churn_add(d, kind, key);
			continue;
		}
		bad += clients[c].key != key || clients[c].device != d || clients[c].keykind != kind ||
		       !clients[c].e.used || clients[c].e.count != key % 7;
		if (i % 3 == 0 && clients[c].holders)
			holder_remove(clients[c].holders);
		else
			client_remove(c);
	}
	check_u64(bad, 0, "1 000 000 clients come and go: each is what it was");
	for (u32 i = 1; i <= nclients; i++)
		for (u32 h = clients[i].e.used ? clients[i].holders : NONE; h; h = holders[h].next_client)
			bad += holders[h].client != i || holder_find(holders[h].pid, holders[h].fd) != h ||
			       tasks[holders[h].task].pid != holders[h].pid;
	check_u64(bad, 0, "holders, tasks and clients point at each other");
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used && ++n)
			client_remove(i);
	check(n > 100, "%u clients were there at the end", n);
	for (u32 i = 1; i <= ntasks; i++)
		used += tasks[i].pid > 0;
	for (u32 i = 1; i <= ncgroups; i++)
		used += cgroups[i].refs;
	check_u64(used, 0, "then no task, no cgroup is left");
	check_u64(texts_free(), texts_before, "and all texts are free");
	check_u64(free_of(free_track, ntracks, MAX_TRACKS, true), tracks_before, "and all counters with a baseline");
	check_u64(free_of(free_line, nlines, MAX_LINES, false), lines_before, "and all lines of counters");
	for (n = 0; client_add(1, KEY_ID, n) != NONE; n++)
		;
	check_u64(n, MAX_CLIENTS - 1, "and the table of clients fills as before");
	for (used = 0; holder_add(1, used, task_find(1) ? task_find(1) : task_add(1), 1 + used % n) != NONE; used++)
		;
	check_u64(used, MAX_HOLDERS - 1, "and that of holders");
	while (n-- > 0)
		client_remove(client_find(1, KEY_ID, n));
	for (n = 0; task_add(n + 2) != NONE; n++)
		;
	check_u64(n, MAX_TASKS - 1, "and that of tasks");
	while (n-- > 0)
		task_prune(task_find(n + 2));
}

/* --- perf events -------------------------------------------------------------------------------------------------- */

/* No counts, events 1 to 8 that are plain ones, one place, sets without names. */
static void no_rows(void)
{
	table_all(&events_table);
	table_all(&counts_table);
	table_all(&evrows_table);
	table_all(&sites_table);
	for (u32 i = 0; i <= 8; i++)
		events[i] = (struct event){ 0 };
	for (u32 i = 0; i < 4; i++)
		evsets[i] = (struct evset){ 0 };
	for (u32 i = 0; i < 64; i++)
		evrows[i] = (struct evrow){ 0 };
	ncounts = nevrows = 0;
	nevents = 8;
	nsites = 1;
	nevsets = 4;
}

static struct count *count_in(u32 row, u32 event, struct tally now)
{
	struct count *c = &counts[++ncounts];

	*c = (struct count){ .event = event, .row = row, .cpu = 0, .now = now };
	evrows[row].e.used = true;
	evrows[row].event = event;
	nevrows = row > nevrows ? row : nevrows;
	return c;
}

static struct tally tally(u64 value, u64 enabled, u64 running)
{
	return (struct tally){ value, enabled, running };
}

static void t_scaled(void)
{
	static const struct {
		struct tally t;
		u64 want, share;
	} rows[] = {
		{ { 0, 1000, 1000 }, 0, 100000 },
		{ { 1000, 1000, 1000 }, 1000, 100000 },
		{ { 1000, 2000, 1000 }, 2000, 50000 },
		{ { 1000, 3000, 1000 }, 3000, 33333 },
		{ { 1, 3, 2 }, 1, 66666 },
		{ { 0, 3, 1 }, 0, 33333 },
		{ { UINT64_MAX - 1, 5, 5 }, UINT64_MAX - 1, 100000 },
		{ { 1ull << 63, 10, 8 }, 11529215046068469760u, 80000 },
		{ { UINT64_MAX / 2, 1000000000000000001, 1000000000000000000 }, 9223372036854775816u, 99999 },
		{ { 1, 1ull << 63, 1 }, 1ull << 63, 0 },
		{ { 3, 1ull << 63, 1 }, UINT64_MAX, 0 }, /* more than there is room for */
		{ { 123, UINT64_MAX, UINT64_MAX }, 123, 100000 },
		{ { 1ull << 40, UINT64_MAX, UINT64_MAX - 1 }, 1ull << 40, 99999 },
	};
	size_t bad = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		struct tally t = rows[i].t;

		no_rows();
		count_in(1, 1, t);
		rows_sum(1000000000, true);
		check(evrows[1].state == CS_COUNTED && evrows[1].places == 1 && evrows[1].point == 0,
		      "%" PRIu64 " in %" PRIu64 " of %" PRIu64 " ns: counted", t.value, t.running, t.enabled);
		check_u64(evrows[1].value, rows[i].want, "that is in all");
		check_u64(evrows[1].share, rows[i].share, "which was counted for 1/1000 %%");
		check(evrows[1].sum.value == t.value && evrows[1].sum.enabled == t.enabled &&
		      evrows[1].sum.running == t.running, "and what was read is kept");
		rows_sum(1000000000, false);
		check_u64(evrows[1].value, t.value, "as counted, where it is not to be scaled");
	}
	for (int i = 0; i < 100000; i++) {
		struct tally t = { rnd() >> rnd() % 64, rnd() >> rnd() % 64, 0 };

		t.enabled += t.enabled == 0;
		t.running = 1 + rnd() % t.enabled;
		no_rows();
		count_in(1, 1, t);
		rows_sum(1000000000, true);
		bad += evrows[1].value != plain_muldiv(t.value, t.enabled, t.running);
	}
	check_u64(bad, 0, "100 000 counts of any size are scaled in 128 bits");

	no_rows();
	count_in(1, 1, tally(3, 1ull << 63, 1));
	count_in(1, 1, tally(5, 10, 10))->cpu = 1;
	rows_sum(1000000000, true);
	check_u64(evrows[1].value, UINT64_MAX, "a sum that has no room is the largest number, not a small one");
}

static void t_intervals(void)
{
	/* Scaled since the start this would be 1000, 200, 205, 1230. */
	static const struct tally reads[] = { { 100, 100, 10 }, { 110, 200, 110 }, { 205, 300, 300 }, { 615, 600, 300 },
					      { 615, 700, 400 } };
	static const u64 want[] = { 1000, 10, NO, NO, 0 };
	struct tally t = { 0 };
	u64 raw = 0;
	size_t bad = 0;

	no_rows();
	count_in(1, 1, (struct tally){ 0 });
	for (size_t i = 0; i < LEN(reads); i++) {
		if (i)
			rows_begin();
		counts[1].now = reads[i];
		rows_sum(100, true);
		if (want[i] != NO)
			check_u64(evrows[1].value, want[i], "an interval is what its own counts say: %zu", i);
		raw = evrows[1].value;
		rows_sum(100, true);
		check_u64(evrows[1].value, raw, "summed twice it is the same: %zu", i);
	}
	raw = 0;
	no_rows();
	count_in(1, 1, t);
	for (int i = 0; i < 100000; i++) {
		u64 more = rnd() >> (20 + rnd() % 44), enabled = 1 + rnd() % 1000000, running = 1 + rnd() % enabled;

		rows_begin();
		t = (struct tally){ t.value + more, t.enabled + enabled, t.running + running };
		counts[1].now = t;
		rows_sum(1000000, true);
		bad += evrows[1].value != plain_muldiv(more, enabled, running) || evrows[1].sum.value != more;
		raw += evrows[1].sum.value;
	}
	check_u64(bad, 0, "100 000 intervals of differing shares: none goes back");
	check_u64(raw, t.value, "and all of them are what was counted");

	no_rows(); /* the count goes round at 2^64 */
	count_in(1, 1, tally(UINT64_MAX - 4, 100, 100));
	rows_begin();
	counts[1].now = tally(5, 200, 200);
	rows_sum(100, true);
	check_u64(evrows[1].value, 10, "over 2^64");
}

static void t_several(void)
{
	no_rows();
	count_in(1, 1, tally(100, 1000, 1000));
	count_in(1, 1, tally(100, 1000, 500))->cpu = 1;
	count_in(1, 1, tally(100, 1000, 250))->cpu = 2;
	count_in(1, 1, tally(0, 1000, 0))->cpu = 3;
	count_in(2, 1, tally(7, 1000, 100))->cpu = 4;
	rows_sum(1000, true);
	check_u64(evrows[1].value, 100 + 200 + 400, "CPUs that counted for different shares: each for itself");
	check_u64(evrows[1].places, 3, "of which three came to something");
	check_u64(evrows[1].share, 43750, "for 1750 of 4000 ns");
	check(evrows[1].state == CS_COUNTED && evrows[1].sum.value == 300, "the sum is known, and what was read");
	check_u64(evrows[2].value, 70, "another row is another sum");

	/* Whichever comes first. */
	for (int turn = 0; turn < 2; turn++) {
		no_rows();
		count_in(1, 1, tally(5, 10, 10))->state = turn ? CS_COUNTED : CS_DENIED;
		count_in(1, 1, tally(5, 10, 10))->state = turn ? CS_DENIED : CS_COUNTED;
		rows_sum(1000, true);
		check(evrows[1].state == CS_COUNTED && evrows[1].value == 5 && evrows[1].places == 1,
		      "one is denied, one counts: what counts is shown, order %d", turn);
		no_rows();
		count_in(1, 1, tally(0, 10, 0))->state = turn ? CS_COUNTED : CS_DENIED;
		count_in(1, 1, tally(0, 10, 0))->state = turn ? CS_DENIED : CS_COUNTED;
		rows_sum(1000, true);
		check(evrows[1].state == CS_DENIED && evrows[1].places == 0,
		      "one is denied, one never ran: what explains more is said, order %d", turn);
	}
}

static void t_states(void)
{
	static const struct {
		const char *name;
		struct tally was, now;
		u16 mods, group;
		i32 cpu;
		u32 pid;
		u8 state, want;
	} rows[] = {
		{ "counted", { 0 }, { 5, 9, 9 }, 0, 0, 0, 0, CS_COUNTED, CS_COUNTED },
		{ "counted nothing", { 5, 9, 9 }, { 5, 10, 10 }, 0, 0, 0, 0, CS_COUNTED, CS_COUNTED },
		{ "never ran", { 0 }, { 0, 9, 0 }, 0, 0, 0, 0, CS_COUNTED, CS_NEVER_RAN },
		{ "did not run in this interval", { 5, 9, 9 }, { 5, 20, 9 }, 0, 0, 0, 0, CS_COUNTED, CS_NEVER_RAN },
		{ "of a task: never ran", { 0 }, { 0, 9, 0 }, 0, 0, -1, 7, CS_COUNTED, CS_NEVER_RAN },
		{ "in a group: no room", { 0 }, { 0, 9, 0 }, 0, 1, 0, 0, CS_COUNTED, CS_NO_ROOM },
		{ "never enabled, on a CPU", { 0 }, { 0 }, 0, 0, 0, 0, CS_COUNTED, CS_NOT_ENABLED },
		{ "went offline", { 5, 9, 9 }, { 5, 9, 9 }, 0, 0, 0, 0, CS_OFFLINE, CS_OFFLINE },
		{ "never enabled: the task did not run", { 0 }, { 0 }, 0, 0, -1, 7, CS_COUNTED, CS_NOT_ENABLED },
		{ "never enabled: a task on one CPU", { 0 }, { 0 }, 0, 0, 2, 7, CS_COUNTED, CS_NOT_ENABLED },
		{ "never enabled, pinned", { 0 }, { 0 }, EM_PINNED, 0, 0, 0, CS_COUNTED, CS_PINNED },
		{ "slept since the last reading", { 5, 9, 9 }, { 5, 9, 9 }, 0, 0, -1, 7, CS_COUNTED, CS_COUNTED },
		{ "slept, in a group", { 5, 9, 9 }, { 5, 9, 9 }, 0, 1, -1, 7, CS_COUNTED, CS_COUNTED },
		{ "slept, pinned", { 5, 9, 9 }, { 5, 9, 9 }, EM_PINNED, 0, -1, 7, CS_COUNTED, CS_COUNTED },
		{ "pinned, lost its counter", { 5, 9, 9 }, { 5, 9, 9 }, EM_PINNED, 0, 0, 0, CS_PINNED, CS_PINNED },
		{ "gone", { 5, 9, 9 }, { 6, 10, 10 }, 0, 0, -1, 7, CS_GONE, CS_GONE },
		{ "denied", { 0 }, { 0 }, 0, 0, 0, 0, CS_DENIED, CS_DENIED },
		{ "refused", { 0 }, { 0 }, 0, 1, 0, 0, CS_REFUSED, CS_REFUSED },
		{ "unsupported", { 0 }, { 0 }, 0, 0, -1, 7, CS_UNSUPPORTED, CS_UNSUPPORTED },
		{ "no place in its group", { 0 }, { 0 }, 0, 1, 0, 0, CS_NO_GROUP, CS_NO_GROUP },
		{ "without a leader", { 0 }, { 0 }, 0, 1, 0, 0, CS_NO_LEADER, CS_NO_LEADER },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		for (int scale = 0; scale < 2; scale++) {
			struct count *c;

			no_rows();
			events[1].mods = rows[i].mods;
			events[1].group = rows[i].group;
			c = count_in(1, 1, rows[i].now);
			c->was = rows[i].was;
			c->cpu = rows[i].cpu;
			c->pid = rows[i].pid;
			c->state = rows[i].state;
			rows_sum(1000, scale);
			if (!check(evrows[1].state == rows[i].want, "state: %s", rows[i].name))
				note("got %s", state_text(evrows[1].state) ? state_text(evrows[1].state) : "(counted)");
			check_u64(evrows[1].places, rows[i].want == CS_COUNTED, "counted where it was: %s", rows[i].name);
			check_u64(evrows[1].value, rows[i].want == CS_COUNTED ? rows[i].now.value - rows[i].was.value : 0,
				  "nothing but what was counted: %s", rows[i].name);
		}
	check(!state_text(CS_COUNTED), "there is nothing to say of what was counted");
	for (u8 s = CS_COUNTED + 1; s < CS_STATES; s++)
		check(state_text(s) && (strncmp(state_text(s), "not counted: ", 13) == 0 ||
					strncmp(state_text(s), "not supported: ", 15) == 0 ||
					strncmp(state_text(s), "denied: ", 8) == 0), "state %u has a reason", s);

	no_rows(); /* of one CPU, and one that has been away: the sum says that it is of a half */
	count_in(1, 1, tally(8, 1000, 1000));
	count_in(1, 1, tally(5, 9, 9))->was = tally(5, 9, 9);
	counts[2].state = CS_RETURNED;
	rows_sum(1000, true);
	check(evrows[1].state == CS_COUNTED && evrows[1].value == 8, "a CPU that has been away is no part of the sum");
	check_u64(evrows[1].share, 50000, "which was counted for a half");
	counts[2].state = CS_OFFLINE;
	rows_sum(1000, true);
	check_u64(evrows[1].share, 100000, "one that is away lacks nowhere");

	no_rows(); /* one interval's reason is not the next one's */
	count_in(1, 1, tally(0, 9, 0));
	rows_sum(1000, true);
	rows_begin();
	counts[1].now = tally(4, 18, 9);
	rows_sum(1000, true);
	check(evrows[1].state == CS_COUNTED && evrows[1].value == 4, "it never ran, and then it did");
	rows_begin();
	counts[1].state = CS_GONE;
	rows_sum(1000, true);
	check(evrows[1].state == CS_GONE && evrows[1].value == 0, "and then it was gone");
}

static void t_levels(void)
{
	static const struct {
		u64 v;
		bool virt, neg;
		u64 want;
	} rows[] = {
		{ 0, true, false, 0 }, { 45000, true, false, 45000 }, { (u64)-5500, true, true, 5500 },
		{ (u64)-1, true, true, 1 }, { INT64_MAX, true, false, INT64_MAX }, { 1ull << 63, true, true, 1ull << 63 },
		{ (u64)-1, false, false, UINT64_MAX }, { 7, false, false, 7 },
	};

	no_rows();
	events[1] = (struct event){ .rule = EV_LEVEL, .virt = 1 };
	count_in(1, 1, tally(0, 0, 0));
	for (size_t i = 0; i < LEN(rows); i++) {
		rows_begin();
		counts[1].virt = rows[i].virt;
		counts[1].now = tally(rows[i].v, 1000 * (i + 1), 1000 * (i + 1));
		rows_sum(1000000000, true);
		check(evrows[1].state == CS_COUNTED && evrows[1].neg == rows[i].neg, "level %" PRIi64 "%s: sign", (i64)rows[i].v,
		      rows[i].virt ? "" : " of the kernel");
		check_u64(evrows[1].value, rows[i].want, "level %" PRIi64 ": as read, not the increase", (i64)rows[i].v);
	}
	events[1].scale = 1;
	events[1].scale_point = 3;
	counts[1].virt = true;
	counts[1].now.value = (u64)-5500;
	rows_sum(1000000000, true);
	check(evrows[1].neg && evrows[1].value == 5500 && evrows[1].point == 3, "level: -5.500");
	counts[1].now.value = 5500;
	rows_sum(1000000000, true);
	check(!evrows[1].neg && evrows[1].value == 5500 && evrows[1].point == 3, "level: 5.500, no sign is left");
	counts[1].state = CS_GONE;
	rows_sum(1000000000, true);
	check(evrows[1].state == CS_GONE && !evrows[1].neg, "level: gone");

	no_rows();
	evsets[1] = (struct evset){ .name = text_put(NONE, S("set")), .active = 250 };
	events[1] = (struct event){ .rule = EV_LEVEL, .set = 1 };
	count_in(1, 1, tally(40, 250, 250));
	rows_sum(1000, true);
	check_u64(evrows[1].value, 40, "level: in a set that had a quarter of the time");
	rows_begin();
	rows_sum(1000, true);
	check(evrows[1].state == CS_NOT_ENABLED, "level: in a set that had no turn it is not known");
}

static void t_frequencies(void)
{
	no_rows();
	events[1].rule = EV_PER_SECOND; /* i915: MHz x s */
	count_in(1, 1, tally(1000, 500, 500))->was = tally(350, 0, 0);
	rows_sum(SEC / 2, true);
	check(evrows[1].value == 13000 && evrows[1].point == 1, "650 MHz s in half a second: 1300.0 MHz");
	rows_sum(3 * SEC, true);
	check(evrows[1].value == 2166 && evrows[1].point == 1, "in three: 216.6 MHz");
	rows_sum(0, true);
	check_u64(evrows[1].value, 0, "in no time: nothing");
	counts[1].now = tally(1000, 1000, 500);
	rows_sum(SEC / 2, true);
	check_u64(evrows[1].value, 13000, "it is over the time that passed, whatever the share");
	counts[1].now = counts[1].was;
	rows_sum(SEC, true);
	check(evrows[1].state != CS_COUNTED, "not enabled: no frequency");
	counts[1].now = tally(1000, 500, 500);
	events[1].scale = 1;
	rows_sum(SEC / 2, true);
	check_u64(evrows[1].value, evrows[1].point == 1 ? 13000 : 1300, "a scale of 1 changes nothing");

	no_rows();
	evsets[1] = (struct evset){ .name = text_put(NONE, S("set")), .active = SEC / 4 };
	events[1] = (struct event){ .rule = EV_PER_SECOND, .set = 1 };
	count_in(1, 1, tally(325, (u64)SEC / 4, (u64)SEC / 4));
	rows_sum(SEC / 2, true);
	check_u64(evrows[1].value, 13000, "1300 MHz in a set that had half of the time are 1300 MHz");

	no_rows();
	events[1].rule = EV_PER_READ; /* xe: each read adds the present one */
	count_in(1, 1, tally(0, 1, 1));
	for (u64 i = 1; i <= 3; i++) {
		rows_begin();
		counts[1].now = tally(counts[1].now.value + 1000 * i, i * 100, i * 50);
		rows_sum(SEC, true);
		check(evrows[1].value == 1000 * i && evrows[1].point == 0, "each read adds the frequency: %" PRIu64, i);
	}
}

static void t_shares(void)
{
	static const struct {
		u64 part, all;
		u8 state;
		u64 want;
	} rows[] = {
		{ 250, 1000, CS_COUNTED, 25000 },     { 1000, 1000, CS_COUNTED, 100000 },
		{ 0, 0, CS_NEVER_RAN, 0 },            { 0, 1000, CS_COUNTED, 0 },
		{ 1, 3, CS_COUNTED, 33333 },          { 1ull << 62, 1ull << 63, CS_COUNTED, 50000 },
		{ UINT64_MAX, UINT64_MAX, CS_COUNTED, 100000 },
	};
	enum { PLACES = LEN(rows) };

	no_rows();
	nsites = PLACES;
	events[1].rule = EV_SHARE;
	for (u32 i = 0; i < PLACES; i++) {
		count_in(1 + i, 1, tally(rows[i].part, 10, 10))->cpu = (i32)i;
		count_in(1 + i + PLACES, 2, tally(rows[i].all, 10, 10))->cpu = (i32)i;
	}
	rows_sum(SEC, true);
	for (u32 i = 0; i < PLACES; i++) {
		struct evrow *r = &evrows[1 + i];

		check(r->state == rows[i].state, "%" PRIu64 " of %" PRIu64 ": %s", rows[i].part, rows[i].all,
		      rows[i].state == CS_COUNTED ? "known" : "unknown");
		if (rows[i].state == CS_COUNTED)
			check(r->value == rows[i].want && r->point == 3, "%" PRIu64 " of %" PRIu64 ", at its own place",
			      rows[i].part, rows[i].all);
		check_u64(evrows[1 + i + PLACES].value, rows[i].all, "the neighbour is as counted");
	}
	for (u32 i = 1; i <= ncounts; i++)
		counts[i].state = counts[i].event == 2 ? CS_DENIED : CS_COUNTED;
	rows_sum(SEC, true);
	check(evrows[1].state != CS_COUNTED, "a share of what is denied is unknown");
	nevrows = PLACES;
	ncounts = 1;
	counts[1] = (struct count){ .event = 1, .row = PLACES, .now = tally(5, 10, 10) };
	rows_sum(SEC, true);
	check(evrows[PLACES].state != CS_COUNTED, "a share of what has no row is unknown");
}

/* v x m x 10^-p with `point` decimals, cut; false: no room. */
static bool fixed(u64 v, u64 m, unsigned p, unsigned point, u64 *want)
{
	u64 tens = 1;

	for (; p > point && tens < UINT64_MAX / 10; p--)
		tens *= 10;
	*want = plain_muldiv(v, m, tens);
	for (; p > point; p--) /* 10^19 have left it room: m has 63 bits */
		*want /= 10;
	return *want < UINT64_MAX;
}

static void t_units(void)
{
	static const struct {
		const char *scale;
		u64 v, want;
		u8 point;
	} rows[] = {
		{ "1", 123, 123, 0 },
		{ "64", 123, 7872, 0 },
		{ "0.1", 123, 123, 1 },
		{ "1e-6", 1234567, 1234567, 6 },
		{ "1e-9", UINT64_MAX - 1, UINT64_MAX - 1, 9 },
		{ "1e-10", 12345678909, 1234567890, 9 },
		{ "6.103515625e-5", 65536, 4000000000, 9 },       /* MiB of 64 bytes each: 2^-14 */
		{ "2.3283064365386962890625e-10", 0, 0, 9 },      /* 2^-32 */
		{ "2.3283064365386962890625e-10", 43, 10, 9 },
		{ "1e-40", UINT64_MAX, 0, 9 },
		{ "1.234567890123456789e-22", 1ull << 63, 1138687, 9 },
		{ "1000", 1ull << 60, UINT64_MAX, 0 },
		{ "1e18", 18, 18000000000000000000u, 0 },
		{ "1e18", 19, UINT64_MAX, 0 },
		{ "9.5367431640625e-7", UINT64_MAX, 17592186044415999999u, 6 }, /* 2^-20 */
	};
	size_t bad = 0, less = 0, far = 0;
	u64 mantissa, v, want;
	u8 point;

	for (size_t i = 0; i < LEN(rows); i++) {
		struct evrow r = { .value = rows[i].v };

		if (!check(parse_scale(str_z(rows[i].scale), &mantissa, &point), "scale %s", rows[i].scale))
			continue;
		row_unit(&r, mantissa, point);
		check_u64(r.value, rows[i].want, "%" PRIu64 " x %s", rows[i].v, rows[i].scale);
		check_u64(r.point, rows[i].point, "decimals of %" PRIu64 " x %s", rows[i].v, rows[i].scale);
	}

	/* RAPL's 2^-32 J: its 33 digits are known to 19. */
	parse_scale(S("2.3283064365386962890625e-10"), &mantissa, &point);
	for (int i = 0; i < 100000; i++) {
		struct evrow r = { .value = v = rnd() >> rnd() % 64 };

		row_unit(&r, mantissa, point);
		want = plain_muldiv(v, 1000000000, 1ull << 32);
		far += r.point != 9 || want - r.value > 1;
	}
	check_u64(far, 0, "100 000 counts of 2^-32 J are right to a nanojoule");

	for (int i = 0; i < 200000; i++) {
		struct evrow r = { 0 };
		u64 more;

		v = rnd() >> rnd() % 64;
		mantissa = 1 + rnd() % (UINT64_C(1) << (rnd() % 63)); /* up to 19 digits */
		point = (u8)(rnd() % 41);
		r.value = v;
		row_unit(&r, mantissa, point);
		if (r.point > 9 || r.point > point) {
			bad++;
			continue;
		}
		if (fixed(v, mantissa, point, r.point, &want))
			bad += r.value != want;
		else
			bad += r.point != 0 || r.value != UINT64_MAX;
		/* One decimal more would have had no room. */
		less += r.point < 9 && r.point < point && fixed(v, mantissa, point, r.point + 1u, &more);
	}
	check_u64(bad, 0, "200 000 scales of up to 19 digits and exponents to 40: exact, or cut behind the point");
	check_u64(less, 0, "and no decimal less than there is room for");

	no_rows(); /* shared counters first, units then */
	events[1].scale = 5;
	events[1].scale_point = 1;
	count_in(1, 1, tally(10, 400, 100));
	rows_sum(SEC, true);
	check(evrows[1].value == 200 && evrows[1].point == 1 && evrows[1].sum.value == 10,
	      "10 in a quarter of the time, each 0.5: 20.0");
	rows_sum(SEC, false);
	check(evrows[1].value == 50 && evrows[1].point == 1, "not scaled, but in its unit: 5.0");
}

static void t_sets(void)
{
	static const struct {
		const char *name;
		struct tally t;
		i64 active;
		u32 pid;
		u8 state;
		u64 value, raw, share; /* share: 1/1000 % of the whole time */
	} rows[] = {
		{ "a quarter of the time", { 100, 250, 250 }, 250, 0, CS_COUNTED, 400, 100, 25000 },
		{ "a quarter, of which half", { 100, 250, 125 }, 250, 0, CS_COUNTED, 800, 100, 12500 },
		{ "all of it", { 100, 1000, 1000 }, 1000, 0, CS_COUNTED, 100, 100, 100000 },
		{ "more than there was", { 100, 1001, 1001 }, 1001, 0, CS_COUNTED, 100, 100, 100000 },
		{ "one ns", { 1ull << 60, 1, 1 }, 1, 0, CS_COUNTED, UINT64_MAX, 1ull << 60, 100 },
		{ "nothing counted in its time", { 0, 250, 250 }, 250, 0, CS_COUNTED, 0, 0, 25000 },
		{ "its time, but never ran", { 0, 250, 0 }, 250, 0, CS_NEVER_RAN, 0, 0, 0 },
		{ "no turn: a task", { 0, 0, 0 }, 0, 7, CS_NOT_ENABLED, 0, 0, 0 },
		{ "no turn: a CPU, which is not offline", { 0, 0, 0 }, 0, 0, CS_NOT_ENABLED, 0, 0, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		for (int scale = 0; scale < 2; scale++) {
			no_rows();
			evsets[1] = (struct evset){ .name = text_put(NONE, S("alu")), .active = 5000, .turns = 3 };
			events[1].set = 1;
			count_in(1, 1, tally(9, 5000, 5000))->pid = rows[i].pid;
			counts[1].cpu = rows[i].pid ? -1 : 0;
			if (rows[i].t.enabled == 0 && rows[i].pid)
				counts[1].now = (struct tally){ 0 };
			rows_begin();
			check(evsets[1].active_was == 5000 && evsets[1].turns_was == 3, "an interval begins for its sets too");
			evsets[1].active += rows[i].active;
			counts[1].now.value += rows[i].t.value;
			counts[1].now.enabled += rows[i].t.enabled;
			counts[1].now.running += rows[i].t.running;
			rows_sum(1000, scale);
			if (!check(evrows[1].state == rows[i].state, "set: %s: state", rows[i].name))
				note("got %s", state_text(evrows[1].state) ? state_text(evrows[1].state) : "(counted)");
			if (evrows[1].state != CS_COUNTED)
				continue;
			check_u64(evrows[1].value, scale ? rows[i].value : rows[i].raw, "set: %s: value%s", rows[i].name,
				  scale ? "" : ", not scaled");
			check_u64(evrows[1].share, rows[i].share, "set: %s: share", rows[i].name);
		}

	/* A task that slept: 0 while its set had a turn, and nothing is known while it had none. */
	no_rows();
	evsets[1] = (struct evset){ .name = text_put(NONE, S("alu")), .active = 100 };
	events[1].set = 1;
	count_in(1, 1, tally(9, 100, 100))->pid = 7;
	rows_begin();
	evsets[1].active += 50;
	rows_sum(1000, true);
	check(evrows[1].state == CS_COUNTED && evrows[1].value == 0, "set: a task that slept in its turn");
	rows_begin();
	rows_sum(1000, true);
	check(evrows[1].state == CS_NOT_ENABLED, "set: a task that slept, and there was no turn");
}

static bool near(double got, double want)
{
	return got > want - 1e-9 - want * 1e-9 && got < want + 1e-9 + want * 1e-9;
}

static void t_repeats(void)
{
	static const struct {
		u64 v[5];
		u32 n;
		u64 mean;
		double error; /* standard deviation / sqrt(n) / mean */
	} rows[] = {
		{ { 5 }, 1, 5, 0 },
		{ { 7, 7, 7 }, 3, 7, 0 },
		{ { 0, 0 }, 2, 0, 0 },
		{ { 10, 12, 14 }, 3, 12, 0.09622504486493763 },  /* sqrt(4 / 3) / 12 */
		{ { 2, 4, 4, 4, 6 }, 5, 4, 0.15811388300841897 }, /* sqrt(2 / 5) / 4 */
		{ { 1, 2 }, 2, 2, 1.0 / 3 },
		{ { 0, 0, 0, 0, 1 }, 5, 0, 1 },                  /* 0.2 +- 0.2 */
		{ { 1000000, 1000001, 1000002 }, 3, 1000001, 5.773496918e-7 },
		{ { 1000000000000, 3000000000000 }, 2, 2000000000000, 0.5 },
		{ { 1000000000000000000, 3000000000000000000 }, 2, 2000000000000000000, 0.5 },
		{ { 9007199254740993, 9007199254740993 }, 2, 9007199254740993, 0 },
		{ { UINT64_MAX, UINT64_MAX }, 2, UINT64_MAX, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		no_rows();
		count_in(1, 1, tally(0, 0, 0));
		for (u32 k = 0; k < rows[i].n; k++) {
			counts[1].now = tally(rows[i].v[k], 10, 10);
			rows_sum(SEC, true);
			rows_repeat();
		}
		check_u64(evrows[1].repeats, rows[i].n, "runs %zu: how many", i);
		check_u64(evrows[1].value, rows[i].mean, "runs %zu: mean", i);
		if (!check(near(row_deviation(&evrows[1]), rows[i].error), "runs %zu: standard error", i))
			note("got %g, want %g", row_deviation(&evrows[1]), rows[i].error);
	}

	no_rows(); /* a run that came to nothing is no run of 0 */
	count_in(1, 1, tally(0, 0, 0));
	for (u64 k = 0; k < 3; k++) {
		counts[1].now = k == 1 ? tally(0, 10, 0) : tally(100, 10, 10);
		rows_sum(SEC, true);
		rows_repeat();
	}
	check(evrows[1].repeats == 2 && evrows[1].value == 100, "of three runs one came to nothing");

	no_rows(); /* nor is what was 1300.0 MHz 13000 behind it */
	events[1].rule = EV_PER_SECOND;
	count_in(1, 1, tally(0, 0, 0));
	for (int k = 0; k < 2; k++) {
		counts[1].now = k ? tally(0, 10, 0) : tally(1300, 10, 10);
		rows_sum(SEC, true);
		rows_repeat();
	}
	check(evrows[1].state == CS_COUNTED && evrows[1].value == 13000 && evrows[1].point == 1, "the mean keeps its point");

	no_rows(); /* degrees */
	events[1].rule = EV_LEVEL;
	count_in(1, 1, tally(0, 0, 0))->virt = true;
	for (int k = 0; k < 2; k++) {
		counts[1].now = tally(k ? 10 : (u64)-4, 10, 10);
		rows_sum(SEC, true);
		rows_repeat();
	}
	check(evrows[1].value == 3 && !evrows[1].neg, "the mean of -4 and 10 is 3");
}

static void t_ids(void)
{
	enum { EACH = 50 };
	size_t bad = 0;

	no_rows();
	for (u32 i = 1; i <= 4 * EACH; i++)
		count_in(1, 1, tally(0, 0, 0));
	for (u32 i = 1; i <= EACH; i++) { /* all in one place of the table, and some beside it */
		count_number(i, (u64)i * LEN(id_bucket) + 5);
		count_number(i + EACH, ((u64)i << 32) * LEN(id_bucket) + 5);
		count_number(i + 2 * EACH, UINT64_MAX - i);
		count_number(i + 3 * EACH, i + 100);
	}
	for (u32 i = 1; i <= EACH; i++)
		bad += count_find((u64)i * LEN(id_bucket) + 5) != i ||
		       count_find(((u64)i << 32) * LEN(id_bucket) + 5) != i + EACH ||
		       count_find(UINT64_MAX - i) != i + 2 * EACH || count_find(i + 100) != i + 3 * EACH;
	check_u64(bad, 0, "count_find: ids that share a bucket");
	check(count_find(5) == NONE && count_find((EACH + 1) * (u64)LEN(id_bucket) + 5) == NONE &&
	      count_find(UINT64_MAX) == NONE && count_find(99) == NONE && count_find(0) == NONE,
	      "count_find: ids of nobody's");
}

/* --- counters: too many ------------------------------------------------------------------------------------------- */

/* These fill the table of names, which lasts: nothing may come after them. */
static void t_full_counters(void)
{
	enum {
		EACH = 100, LINES_EACH = (EACH + SLOTS - 1) / SLOTS,
		ROOM = (MAX_LINES - 1) / LINES_EACH * EACH + (MAX_LINES - 1) % LINES_EACH * SLOTS,
	};
	static struct entity many[MAX_LINES / LINES_EACH + 2], e, one;
	char name[200], longest[MAX_NAME + 1];
	u32 n, m, total[2];
	u64 dt;
	size_t bad = 0;

	memset(longest, 'x', sizeof(longest));
	begin(&e, 1);
	check(reg_put(&e, D_BUSY_NS, (struct str){ longest, longest + MAX_NAME }, 1, 1) && e.dropped == 0,
	      "a name of %d bytes", MAX_NAME);
	check(!reg_put(&e, D_BUSY_NS, (struct str){ longest, longest + MAX_NAME + 1 }, 1, 1) && e.dropped == 1,
	      "one more is refused, and counted");
	check(str_len(inst_name(reg_first(&e)->inst)) == MAX_NAME && e.count == 1, "the name is whole");
	reg_clear(&e);

	/* More than one entity may have: those that fit go on, those that do not are counted each time. */
	for (i64 t = 1; t < 3; t++) {
		begin(&e, t);
		for (n = 0; n < 1500; n++) {
			snprintf(name, sizeof(name), "e%u", n);
			put(&e, n % 2 ? D_BUSY_NS : D_RESIDENT, name, n * (u64)t);
		}
		check(e.count == MAX_COUNTERS && e.dropped == 1500 - MAX_COUNTERS, "counters of one entity: full, reading %d",
		      (int)t);
	}
	for (n = 1; n < MAX_COUNTERS; n += 2) {
		snprintf(name, sizeof(name), "e%u", n);
		bad += rate(&e, D_BUSY_NS, name, &dt) != n;
	}
	check_u64(bad, 0, "counters of one entity: full, the others are right");
	reg_clear(&e);

	for (int again = 0; again < 2; again++)
		for (int wide = 0; wide < 2; wide++) {
			for (n = m = 0; m < LEN(many); m++) {
				u32 k = 0;

				begin(&many[m], 1);
				for (; k < EACH; k++, n++) {
					snprintf(name, sizeof(name), "e%u", k);
					if (!put(&many[m], wide ? D_BUSY_NS : D_RESIDENT, name, k + m))
						break;
				}
				if (k < EACH)
					break;
			}
			check(n == (wide ? MAX_TRACKS - 1 : ROOM) && many[m].dropped == 1,
			      "all counters %s: full%s, one was counted", wide ? "with a baseline" : "without",
			      again ? " again" : "");
			bad += get(&many[0], wide ? D_BUSY_NS : D_RESIDENT, "e5") != 5;
			bad += get(&many[m - 1], wide ? D_BUSY_NS : D_RESIDENT, "e99") != 99 + m - 1;
			begin(&one, 1);
			check(put(&one, D_RESIDENT, "e5", 1) == wide && put(&one, D_RESIDENT, "e6", (1ull << 42) - 1024) == wide,
			      "others have room where there are lines");
			check(!put(&one, D_RESIDENT, "e7", (1ull << 32) + 1) && one.dropped == 3 - 2 * (u32)wide,
			      "but for what 32 bits do not hold");
			check_u64(get(&one, D_RESIDENT, "e7"), NO, "which is then unknown");
			reg_clear(&one);
			check_u64(bad, 0, "and those that are there are right");
			total[wide] = n;
			for (m = 0; m < LEN(many); m++)
				reg_clear(&many[m]);
		}
	check(total[0] == ROOM && total[1] == MAX_TRACKS - 1, "all rows came back");

	/* Names: 4095, or 64 KiB of them, whichever is reached first. */
	memset(many, 0, sizeof(many));
	for (n = 0, m = 0; n < 5000; n++) {
		if (n % 1000 == 0)
			begin(&many[n / 1000], 1);
		snprintf(name, sizeof(name), "n%u", n);
		m += !put(&many[n / 1000], D_RESIDENT, name, n);
	}
	check(m > 0 && nnames == MAX_INSTANCES - 1, "names: full, %u values found no room", m);
	for (n = 0; n < 5; n++)
		m -= many[n].dropped;
	check_u64(m, 0, "names: each of these was counted");
	check_u64(get(&many[0], D_RESIDENT, "n7"), 7, "names: the first ones are right");
	check(put(&many[4], D_RESIDENT, "n8", 8) && get(&many[4], D_RESIDENT, "n8") == 8, "names: known ones go on");
	for (n = 0; n < 5; n++)
		reg_clear(&many[n]);
}

/* 64 KiB of names are used up by long ones first. */
static void t_full_name_bytes(void)
{
	struct entity e = { 0 };
	char name[MAX_NAME];
	u32 n;

	begin(&e, 1);
	for (n = 0; n < 1000; n++) {
		memset(name, 'a' + (int)(n % 26), sizeof(name));
		memcpy(name, (char[]){ (char)('a' + n / 26 % 26), (char)('a' + n / 676) }, 2);
		if (!reg_put(&e, D_RESIDENT, (struct str){ name, name + sizeof(name) }, n, 1))
			break;
	}
	check(n >= NAME_BYTES / MAX_NAME - 20 && n <= NAME_BYTES / MAX_NAME && e.dropped == 1,
	      "names: %u of %d bytes fit, the next was counted", n, MAX_NAME);
	reg_clear(&e);
	/* So that the tests behind this one have names: only they know of these. */
	nnames = name_used = 0;
	memset(name_bucket, 0, sizeof(name_bucket));
}

int main(void)
{
	t_full_name_bytes();
	t_rates();
	t_peak();
	t_total_cycles();
	t_missing();
	t_order();
	t_dialects();
	t_device();
	t_regions();
	t_used();
	t_fell();
	t_parts();
	t_text();
	t_owner();
	t_roll();
	t_roll_raw();
	t_roll_cycles();
	t_roll_util();
	t_cgroups();
	t_devices();
	t_full_tables();
	t_full_groups();
	t_again();
	t_roll_random();
	t_churn();
	t_scaled();
	t_intervals();
	t_several();
	t_states();
	t_levels();
	t_frequencies();
	t_shares();
	t_units();
	t_sets();
	t_repeats();
	t_ids();
	t_full_counters();
	return unit_end();
}
