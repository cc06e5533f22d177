/* t_counters.c - the registry: readings, rates, sums over clients, rows of perf events, tables that
 * fill up and become empty again. SPDX-License-Identifier: MIT */
#include "../../counters.c" /* the tables are static */
#include "unit.h"

#define S(lit) ((struct str)STR(lit))
#define SEC    1000000000ll

static u16 id(const char *name)
{
	return inst_id(str_z(name), false);
}

/* Begins a reading of one entity at t seconds; put() adds its values. */
static void begin(struct entity *e, i64 t)
{
	reg_begin(e, t * SEC);
}

static bool put(struct entity *e, u8 desc, const char *inst, u64 v)
{
	return reg_put(e, desc, str_z(inst), v, e->t);
}

#define NO (UINT64_MAX - 1) /* there is no such value */

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

/* --- readings --------------------------------------------------------------------------------- */

static void t_rates(void)
{
	struct entity e = { .kind = K_CLIENT };
	u64 dt = 0;

	begin(&e, 1);
	check(put(&e, D_BUSY_NS, "r", 100), "reg_put");
	check_u64(get(&e, D_BUSY_NS, "r"), 100, "the first reading has a value");
	check_u64(rate(&e, D_BUSY_NS, "r", &dt), NO, "the first reading has no rate");
	check_u64(busy(&e, "r"), NO, "after the first reading the busy share is unknown, not 0 %%");
	begin(&e, 3);
	check_u64(get(&e, D_BUSY_NS, "r"), NO, "a reading that has just begun has no values");
	put(&e, D_BUSY_NS, "r", 500000100);
	check(rate(&e, D_BUSY_NS, "r", &dt) == 500000000 && dt == 2 * SEC,
	      "the second reading has the increase in 2 s");
	check_u64(busy(&e, "r"), 25000, "after the second reading the busy share is 25 %%");
	put(&e, D_BUSY_NS, "r", 7);
	check_u64(get(&e, D_BUSY_NS, "r"), 500000100,
	          "the first of two values in one reading is kept");
	reg_put_as(&e, D_BUSY_NS, S("r"), 500000150, e.t, PUT_LAST);
	check_u64(get(&e, D_BUSY_NS, "r"), 500000150, "PUT_LAST replaces a value of the same reading");
	reg_put_as(&e, D_RESIDENT, S("vram"), 1, e.t, PUT_WEAK);
	reg_put_as(&e, D_RESIDENT, S("vram"), 2, e.t, PUT_WEAK);
	check_u64(get(&e, D_RESIDENT, "vram"), 2, "the last of two weak values stays");
	reg_put_as(&e, D_RESIDENT, S("vram"), 3, e.t, PUT_LAST);
	reg_put_as(&e, D_RESIDENT, S("vram"), 4, e.t, PUT_WEAK);
	check_u64(get(&e, D_RESIDENT, "vram"), 3, "a weak value does not replace another one");
	begin(&e, 3);
	put(&e, D_BUSY_NS, "r", 500000200);
	check_u64(rate(&e, D_BUSY_NS, "r", &dt), NO, "there is no rate when no time has passed");
	begin(&e, 2);
	put(&e, D_BUSY_NS, "r", 500000300);
	check_u64(rate(&e, D_BUSY_NS, "r", &dt), NO,
	          "there is no rate when the time went backwards");
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
			check_u64(rate(&e, descs_[k], "r", &dt), deltas[i],
			          "a lower value adds nothing: reading %zu", i);
			check_u64(get(&e, descs_[k], "r"), shown[i],
			          "the larger value is kept: reading %zu", i);
			check_u64(dt, SEC,
			          "the interval is one reading, not the time since the peak");
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
		const char *how = first ? "total cycles first" : "cycles first";
		struct entity e = { 0 };

		cycles(&e, 1, 1000, 10000, first);
		cycles(&e, 2, 1100, 11000, first);
		check_u64(busy(&e, "r"), 10000,
		          "cycles are divided by the GPU's own clock, %s", how);
		cycles(&e, 3, 50, 100, first);
		check_u64(busy(&e, "r"), NO, "both counts went backwards: no busy share, %s", how);
		check(rate(&e, D_CYCLES, "r", &dt) == NO && rate(&e, D_TOTAL_CYCLES, "r", &dt) == NO,
		      "both counts went backwards: neither has a rate, %s", how);
		check_u64(get(&e, D_CYCLES, "r"), 50,
		          "both counts went backwards: the lower value is used, %s", how);
		cycles(&e, 4, 100, 300, first);
		check_u64(busy(&e, "r"), 25000,
		          "both counts went backwards: the next reading continues from the lower "
		          "values, %s", how);
		cycles(&e, 5, 200, 200, first);
		check_u64(busy(&e, "r"), NO,
		          "only the clock went backwards: no busy share, %s", how);
		cycles(&e, 6, 250, 300, first);
		check_u64(busy(&e, "r"), 50000,
		          "only the clock went backwards: the next reading continues from there, "
		          "%s", how);
		cycles(&e, 7, 240, 400, first);
		check_u64(busy(&e, "r"), 0,
		          "only the cycles went backwards: the busy share is 0, %s", how);
		cycles(&e, 8, 260, 500, first);
		check_u64(busy(&e, "r"), 10000,
		          "only the cycles went backwards: only cycles above the larger value "
		          "count, %s", how);
		cycles(&e, 9, 300, 500, first);
		check_u64(busy(&e, "r"), NO,
		          "the clock stood still: the busy share is unknown, %s", how);
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
	      "a counter that is missing in a reading has no value");
	check_u64(get(&e, D_RESIDENT, "m"), NO,
	          "a gauge that is missing in a reading has no value");
	check_u64(rate(&e, D_BUSY_NS, "a", &dt), 100,
	          "the other counter of the same reading has a rate");
	begin(&e, 4);
	begin(&e, 5);
	put(&e, D_BUSY_NS, "b", 2600);
	check(rate(&e, D_BUSY_NS, "b", &dt) == 600 && dt == 3 * SEC,
	      "a counter that comes back has a rate over all the time since its last value");
	begin(&e, 6);
	put(&e, D_BUSY_NS, "b", 2700);
	check(rate(&e, D_BUSY_NS, "b", &dt) == 100 && dt == SEC,
	      "then it has a rate over one reading again");
	put(&e, D_BUSY_NS, "a", 900);
	check(rate(&e, D_BUSY_NS, "a", &dt) == 700 && dt == 3 * SEC,
	      "each counter uses the time of its own last value");
	reg_clear(&e);

	/* As after an unplug: the second reading has no key at all. */
	begin(&e, 1);
	put(&e, D_BUSY_NS, "a", 100);
	begin(&e, 2);
	begin(&e, 3);
	put(&e, D_BUSY_NS, "a", 300);
	check(rate(&e, D_BUSY_NS, "a", &dt) == 200 && dt == 2 * SEC,
	      "a counter missing in the second reading has a rate in the third");
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
	check(order_is(&e, "gfx dma m1 m2 "), "counters keep the order of the file");
	read_file(&e, 2, "gfx compute dma dec m1 m2");
	check(order_is(&e, "gfx compute dma dec m1 m2 "),
	      "new engines in the middle of the file are inserted in the middle");
	read_file(&e, 3, "gfx dma m1 m2");
	check(order_is(&e, "gfx compute dma dec m1 m2 "),
	      "counters that are missing keep their place");
	read_file(&e, 4, "enc gfx compute dma dec m1 m0 m2 jpeg");
	check(order_is(&e, "enc gfx compute dma dec m1 m0 m2 jpeg "),
	      "new counters are inserted at the beginning and at the end");
	read_file(&e, 5, "jpeg m2 dma gfx");
	check(order_is(&e, "enc gfx compute dma dec m1 m0 m2 jpeg "),
	      "another order in the file does not change the order of the counters");
	check_u64(e.count, 9, "no counter is listed twice");
	reg_clear(&e);
	read_file(&e, 1, "m1 m2 m3 m4 m5 m6 m7 m1 m2 gfx dma");
	check(order_is(&e, "m1 m2 m3 m4 m5 m6 m7 gfx dma ") && line_slots(e.first)->n == SLOTS,
	      "a key that occurs twice does not split a line of counters");
	reg_clear(&e);
	read_file(&e, 1, "m1 m2 m3 m4 m5 m6 m7");
	reg_put(&e, D_CAPACITY, (struct str)STR("m1"), 2, e.t);
	begin(&e, 2);
	reg_put(&e, D_CAPACITY, (struct str)STR("m1"), 2, e.t);
	reg_put(&e, D_BUSY_NS, (struct str)STR("m1"), 2, e.t);
	check(order_is(&e, "m1 m2 m3 m4 m5 m6 m7 m1 m1 "),
	      "a key that occurs twice is also handled after values that persist");
	reg_clear(&e);
}

/* --- values derived from counters ------------------------------------------------------------- */

static const struct dialect {
	const char *name;
	/* NO: absent; two readings, 2 s apart */
	u64 ns[2], cycles[2], total[2], capacity, maxfreq, pct;
	u64 busy, util, freq;
} dialects[] = {
	{ "i915: ns", { 0, 500000000 }, { NO, NO }, { NO, NO }, NO, NO, NO, 25000, NO, NO },
	{ "i915: ns of two engines", { 0, 500000000 }, { NO, NO }, { NO, NO }, 2, NO, NO, 12500, NO, NO },
	{ "ns: idle", { 5, 5 }, { NO, NO }, { NO, NO }, NO, NO, NO, 0, NO, NO },
	{
	  "ns: more than the elapsed "
	  "time", { 0, 3000000000 }, { NO, NO }, { NO, NO }, NO, NO, NO, 100000, NO, NO },
	{
	  "ns: much more than the elapsed "
	  "time", { 0, UINT64_MAX }, { NO, NO }, { NO, NO }, NO, NO, NO, 100000, NO, NO },
	{ "xe: cycles", { NO, NO }, { 0, 250 }, { 0, 1000 }, NO, NO, NO, 25000, NO, NO },
	{ "xe: cycles of four engines", { NO, NO }, { 0, 2000 }, { 0, 1000 }, 4, NO, NO, 50000, NO, NO },
	{ "xe: large cycles", { NO, NO }, { 0, 1ull << 62 }, { 0, 1ull << 63 }, NO, NO, NO, 50000, NO, NO },
	{
	  "xe: no time passed on the GPU "
	  "clock", { NO, NO }, { 0, 250 }, { 7, 7 }, NO, NO, NO, NO, NO, NO },
	{
	  "ns and cycles: the GPU's clock has "
	  "priority", { 0, 2000000000 }, { 0, 250 }, { 0, 1000 }, NO, NO, NO, 25000, NO, NO },
	{ "msm: ns, cycles and maxfreq", { 0, 1000000000 }, { 0, 400000000 }, { NO, NO }, NO, 800000000, NO, 50000,
	  25000, 400000000 },
	{ "msm: idle", { 9, 9 }, { 9, 9 }, { NO, NO }, NO, 800000000, NO, 0, 0, NO },
	{ "panfrost: two engines", { 0, 1000000000 }, { 0, 800000000 }, { NO, NO }, 2, 800000000, NO, 25000, 25000,
	  800000000 },
	{ "cycles and maxfreq only", { NO, NO }, { 0, 400000000 }, { NO, NO }, NO, 800000000, NO, 25000, 25000, NO },
	{ "cycles and maxfreq of two engines", { NO, NO }, { 0, 400000000 }, { NO, NO }, 2, 800000000, NO, 12500, 12500, NO },
	{ "cycles, maxfreq 0", { NO, NO }, { 0, 400000000 }, { NO, NO }, NO, 0, NO, NO, NO, NO },
	{ "cycles only", { NO, NO }, { 0, 400000000 }, { NO, NO }, NO, NO, NO, NO, NO, NO },
	{ "above the highest frequency", { 0, 2000000000 }, { 0, 2000000000 }, { NO, NO }, NO, 500000000, NO, 100000,
	  100000, 1000000000 },
	{ "amdgpu before 5.19", { NO, NO }, { NO, NO }, { NO, NO }, NO, NO, 23050, 23050, NO, NO },
	{ "amdgpu before 5.19: above 100 %", { NO, NO }, { NO, NO }, { NO, NO }, NO, NO, 230500, 100000, NO, NO },
	{ "capacity 0", { 0, 500000000 }, { NO, NO }, { NO, NO }, 0, NO, NO, 25000, NO, NO },
	{ "only a capacity", { NO, NO }, { NO, NO }, { NO, NO }, 2, NO, NO, NO, NO, NO },
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

	check(!device_busy(&d, &v) && !device_idle(&d, &v),
	      "a device without values has no busy and no idle share");
	begin(&d.e, 1);
	put(&d.e, D_IDLE_MS, "gt0", 4294967000u);
	put(&d.e, D_IDLE_MS, "gt1", 100);
	put(&d.e, D_BUSY_NS, "bin", 0);
	put(&d.e, D_BUSY_NS, "render", 100);
	put(&d.e, D_GPU_BUSY_US, "", 100);
	check(!device_idle(&d, &v) && !device_busy(&d, &v), "one reading has no rate");
	begin(&d.e, 2);
	put(&d.e, D_IDLE_MS, "gt0", 204); /* 500 ms later, past 2^32 */
	put(&d.e, D_IDLE_MS, "gt1", 1000);
	check(device_idle(&d, &v) && v == 50000,
	      "idle: a 32-bit counter can wrap, and the GT that idled least is used");
	put(&d.e, D_BUSY_NS, "bin", 100000000);
	put(&d.e, D_BUSY_NS, "render", 400000100);
	check(device_busy(&d, &v) && v == 40000, "busy: the busiest queue is used");
	put(&d.e, D_GPU_BUSY_US, "", 700100);
	check(device_busy(&d, &v) && v == 70000, "busy: the device's own busy time has priority");
	put(&d.e, D_GPU_BUSY, "", 33000);
	check(device_busy(&d, &v) && v == 33000, "busy: the device's own percentage has priority");
	begin(&d.e, 3);
	put(&d.e, D_IDLE_MS, "gt0", 2204);
	put(&d.e, D_GPU_BUSY, "", 255000);
	check(device_idle(&d, &v) && v == 100000, "idle: not above 100 %%");
	check(device_busy(&d, &v) && v == 100000, "busy: not above 100 %%");
	begin(&d.e, 4);
	put(&d.e, D_GPU_BUSY_US, "", 5000000);
	check(device_busy(&d, &v) && v == 100000, "busy: a busy time is not above 100 %%");
	check(!device_idle(&d, &v), "idle: unknown when this reading has no value");
	reg_clear(&d.e);
}

/* Returns how many counters of the class an entity has, and adds their values to *sum. */
static u32 count_class(const struct entity *e, enum desc_class class, u64 *sum)
{
	u32 n = 0;

	for (struct counter *c = reg_first_of(e, class); c; c = reg_next_of(c, class), n++)
		*sum += reg_now(c);
	return n;
}

static void t_classes(void)
{
	struct entity e = { 0 };
	u64 engines = 0, regions = 0, resident = 0, all = 0;
	char name[] = "a";

	begin(&e, 1);
	for (u32 i = 0; i < 9; i++, name[0]++) { /* several lines: the classes alternate */
		put(&e, D_BUSY_NS, name, 1);
		put(&e, D_RESIDENT, name, 100);
		put(&e, D_TEMP, name, 100000);
		put(&e, D_SHARED, name, 1000);
	}
	check(count_class(&e, DESC_ENGINE, &engines) == 9 && engines == 9, "counters of engines");
	check(count_class(&e, DESC_REGION, &regions) == 18 && regions == 9900, "counters of regions");
	check(count_class(&e, DESC_RESIDENT, &resident) == 9 && resident == 900, "resident memory");
	check(count_class(&e, DESC_ANY, &all) == 36 && all == 909909, "all counters");
	reg_clear(&e);
	check(count_class(&e, DESC_ANY, &all) == 0, "none");
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
		check((region_kind(str_z(rows[i].name)) == IN_CHIP) == rows[i].chip &&
		      (region_kind(str_z(rows[i].name)) == IN_VRAM) == rows[i].vram,
		      "region '%s' has the right kind", rows[i].name);
	for (unsigned i = 0; i < D_COUNT; i++)
		if (is_engine((u8)i) && is_region((u8)i))
			check(false, "descriptor %u is for an engine and for a region", i);
	check(is_engine(D_BUSY_NS) && is_engine(D_BUSY_PCT) && is_engine(D_SUM_BUSY) && !is_engine(D_TOTAL) &&
	      !is_engine(D_GPU_BUSY) && is_region(D_TOTAL) && is_region(D_SUM_ACTIVE) && !is_region(D_VRAM_USED),
	      "is_engine and is_region classify descriptors");
}

static void t_used(void)
{
	static const struct {
		const char *name;
		u64 used, gtt, vram0, vram1, local, system; /* NO: not reported */
		u64 card, apu;
	} rows[] = {
		{ "nothing", NO, NO, NO, NO, NO, NO, NO, NO },
		{ "the driver's own count", 100, 7, 1, 2, NO, 3, 100, 107 },
		{ "only the driver's own count", 100, NO, NO, NO, NO, NO, 100, 100 },
		{ "video memory of two tiles", NO, NO, 10, 20, NO, 3, 30, 33 },
		{ "i915's video memory", NO, NO, NO, NO, 5, 3, 5, 8 },
		{ "video memory with nothing used", NO, NO, 0, NO, NO, 3, 0, 3 },
		{ "only main memory", NO, NO, NO, NO, NO, 3, 3, 3 },
		{ "GTT alone is not the driver's total", NO, 7, NO, NO, NO, NO, NO, NO },
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
		check_u64(entity_used(&e, true, &v) ? v : NO, rows[i].apu,
		          "used by an APU: %s", rows[i].name);
		begin(&e, 2);
		check(!entity_used(&e, false, &v),
		      "used: %s, then unknown without values", rows[i].name);
		reg_clear(&e);
	}
}

static void t_used_sums(void)
{
	struct entity e = { 0 };
	u64 v = 0;

	begin(&e, 1);
	put(&e, D_SUM_RESIDENT, "vram0", 40);
	put(&e, D_SUM_RESIDENT, "system0", 7);
	check(entity_used(&e, false, &v) && v == 40, "used: what clients hold: %d", (int)v);
	put(&e, D_RESIDENT, "vram0", 30);
	check(entity_used(&e, false, &v) && v == 30, "used: the device's own count: %d", (int)v);
	put(&e, D_RESIDENT, "gds", 2);
	check(entity_used(&e, true, &v) && v == 37, "used: no memory of the chip: %d", (int)v);
	reg_clear(&e);
}

/* A size that is not plausible is unknown, and so is each sum to which it would belong. */
static void t_implausible_sizes(void)
{
	const u64 most = 1ull << 52;
	u32 d = device_add(), a = client_add(d, KEY_ID, 1), b = client_add(d, KEY_ID, 2);
	struct entity *e = &clients[a].e, *all = &devices[d].e;
	struct group cgroup = { .e.kind = K_CGROUP, .device = d };
	u32 total = registry.implausible.total;
	u64 v = 0;

	begin(all, 1);
	begin(e, 1);
	put(e, D_RESIDENT, "vram", most + 1);
	put(e, D_RESIDENT, "gtt", 5);
	begin(&clients[b].e, 1);
	put(&clients[b].e, D_RESIDENT, "vram", 7);
	reg_sum_clients(false, true);
	check(get(e, D_RESIDENT, "vram") == NO && devices[d].implausible == 1 &&
	      registry.implausible.total == total + 1, "sizes: more than 2^52 bytes are unknown");
	check(!entity_used(e, false, &v) && !entity_used(e, true, &v),
	      "sizes: used is not the rest of the memory");
	check(get(all, D_SUM_RESIDENT, "vram") == NO && !entity_used(all, false, &v),
	      "sizes: the sum over clients is unknown, and not that of the other client");
	check_u64(get(all, D_SUM_RESIDENT, "gtt"), 5, "sizes: the sum of another region is known");

	begin(all, 2);
	begin(e, 2);
	put(e, D_RESIDENT, "vram", most - 7);
	put(e, D_RESIDENT, "gtt", most);
	reg_sum_clients(false, true);
	check(entity_used(e, false, &v) && v == most - 7 && entity_used(all, false, &v) && v == most,
	      "sizes: the next reading is known");
	check(!entity_used(e, true, &v), "sizes: memory of an APU that is larger than 2^52 bytes");
	reg_put_as(e, D_RESIDENT, S("vram"), most - 6, 2, PUT_LAST);
	reg_sum_clients(false, true);
	check(get(all, D_SUM_RESIDENT, "vram") == NO, "sizes: a sum of more than 2^52 bytes");
	reg_put_as(e, D_RESIDENT, S("vram"), UINT64_MAX, 2, PUT_LAST);
	check(get(e, D_RESIDENT, "vram") == NO && !entity_used(e, false, &v),
	      "sizes: unknown if the last of two lines with one key is not plausible");
	reg_put_as(e, D_RESIDENT, S("stolen"), UINT64_MAX, 2, PUT_LAST);
	reg_put_as(e, D_RESIDENT, S("stolen"), 9, 2, PUT_LAST);
	check_u64(get(e, D_RESIDENT, "stolen"), 9,
		  "sizes: known if the last of two lines with one key is plausible");
	begin(all, 3);
	put(all, D_RESIDENT, "vram", UINT64_MAX);
	check(!entity_used(all, false, &v), "sizes: a device's own size that is not plausible");

	total = registry.implausible.total;
	devices[d].implausible = 0;
	begin(&cgroup.e, 1);
	put(&cgroup.e, D_CG_VRAM, "", most + 1);
	check(get(&cgroup.e, D_CG_VRAM, "") == NO && registry.implausible.total == total + 1 &&
	      devices[d].implausible == 1, "sizes: a size of a cgroup is counted");
	cgroup.e.kind = K_RUN;
	put(&cgroup.e, D_RESIDENT, "vram", most + 1);
	check(registry.implausible.total == total + 1, "sizes: the totals of a command are not readings");
	reg_clear(&cgroup.e);
	client_remove(a);
	client_remove(b);
	reg_clear(all);
	devices[d].e.used = false;
}

static void t_parts(void)
{
	struct device d = { 0 };
	u64 v;

	begin(&d.e, 1);
	reg_add(&d.e, D_IDLE_MS, S("gt0"), 5);
	check(!reg_get(&d.e, D_IDLE_MS, reg_first(&d.e)->inst, &v),
	      "reg_add: a part without a first value is ignored");
	put(&d.e, D_IDLE_MS, "gt0", 1000);
	reg_add(&d.e, D_IDLE_MS, S("gt0"), 200);
	reg_add(&d.e, D_IDLE_MS, S("gt0"), 30);
	check(reg_get(&d.e, D_IDLE_MS, reg_first(&d.e)->inst, &v) && v == 1230,
	      "reg_add: the value is the sum of the parts");
	begin(&d.e, 2);
	put(&d.e, D_IDLE_MS, "gt0", 1100);
	reg_add(&d.e, D_IDLE_MS, S("gt0"), 400);
	check(device_idle(&d, &v) && v == 27000, "reg_add: 270 ms of one second");
	reg_clear(&d.e);
}

static void t_decreased(void)
{
	static const struct {
		u8 desc;
		u64 first, second;
		bool went_backwards;
	} rows[] = {
		{ D_BUSY_NS, 100, 99, true }, { D_BUSY_NS, 100, 100, false }, { D_CYCLES, 7, 0, true },
		{ D_TOTAL_CYCLES, 7, 0, false }, /* a clock that is reset is not an error */
		{ D_RESIDENT, 7, 0, false },     /* a gauge can decrease */
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct entity e = { 0 };

		begin(&e, 1);
		put(&e, rows[i].desc, "r", rows[i].first);
		check(!e.went_backwards, "went backwards: row %zu, not in the first reading", i);
		begin(&e, 2);
		put(&e, rows[i].desc, "r", rows[i].second);
		check(e.went_backwards == rows[i].went_backwards, "went backwards: row %zu", i);
		begin(&e, 3);
		check(!e.went_backwards, "went backwards: row %zu, reset by the next reading", i);
		reg_clear(&e);
	}
}

/* --- texts ------------------------------------------------------------------------------------ */

static u32 texts_free(void)
{
	u32 n = MAX_TEXTS - 1 - reg.ntexts;

	for (u32 t = reg.free_texts; t != NONE; t = reg.texts[t].next)
		n++;
	return n;
}

static void t_text(void)
{
	static char in[70000];
	static const size_t lengths[] = { 4095, 4096, 65535, 65536, 70000 };
	u32 t = NONE, before = texts_free(), dropped = registry.dropped;
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
		out = edge_page(n); /* text_copy() writes here; the input had the same bytes */
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
	check_u64(bad, 0, "text_copy copies as many bytes as fit");
	check(text_copy(NONE, in, 5) == 0 && !text_eq(NONE, S("")),
	      "text NONE is empty and equals no text");
	text_free(t);
	text_free(NONE);
	check_u64(texts_free(), before, "texts: all rows are free again");

	/* Full table: a text that does not fit is not stored in part. */
	t = text_put(NONE, S("kept"));
	{
		static u32 many[MAX_TEXTS];
		u32 n = 0, left = 3;

		for (; texts_free() > left; n++)
			many[n] = text_put(NONE, (struct str){ in + n % 1000, in + n % 1000 + sizeof(reg.texts[0].b) });
		check_u64(text_put(NONE, (struct str){ in, in + 1000 }), NONE,
		          "full table of texts: a long text is refused");
		check(registry.dropped == dropped + 1,
		      "full table of texts: the refused text is counted");
		check_u64(texts_free(), left, "full table of texts: the refused text takes no row");
		many[n++] = text_put(NONE, (struct str){ in, in + 3 * sizeof(reg.texts[0].b) });
		check(many[n - 1] != NONE && texts_free() == 0,
		      "full table of texts: the last row can be used");
		check(text_put(NONE, S("")) == NONE && text_eq(t, S("kept")),
		      "full table of texts: the other texts are unchanged");
		while (n > 0)
			text_free(many[--n]);
	}
	text_free(t);
	check_u64(texts_free(), before, "full table of texts: all rows are free again");
}

/* --- owner of a client ------------------------------------------------------------------------ */

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
		u32 owner; /* 0: no owner */
	} rows[] = {
		{ "nobody", { { 0 } }, 0 },
		{ "the only holder", { { 7, 70, "a" } }, 7 },
		{ "the oldest holder", { { 7, 70, "a" }, { 8, 60, "b" }, { 9, 80, "c" } }, 8 },
		{
		  "the lowest PID of equally old "
		  "holders", { { 9, 70, "a" }, { 7, 70, "b" }, { 8, 70, "c" } }, 7 },
		{ "not PID 1, although it is older", { { 1, 0, "systemd" }, { 8, 60, "b" } }, 8 },
		{ "not logind", { { 300, 1, "systemd-logind" }, { 800, 60, "Xorg" } }, 800 },
		{ "not seatd", { { 300, 1, "seatd" }, { 800, 60, "sway" } }, 800 },
		{ "not elogind", { { 800, 60, "sway" }, { 300, 1, "elogind-daemon" } }, 800 },
		{
		  "only brokers: the oldest of "
		  "them", { { 300, 5, "seatd" }, { 1, 0, "init" } }, 1 },
		{
		  "a process whose name begins like a broker's "
		  "name", { { 300, 1, "seatd-launch" }, { 800, 60, "sway" } }, 300 },
		{
		  "a holder with an unknown start time counts as "
		  "younger", { { 7, UINT64_MAX, "a" }, { 9, 60, "b" } }, 9 },
		{
		  "a holder with an unknown start time has priority over a "
		  "broker", { { 7, UINT64_MAX, "a" }, { 1, 0, "init" } }, 7 },
		{
		  "two holders with unknown start "
		  "times", { { 9, UINT64_MAX, "a" }, { 7, UINT64_MAX, "b" } }, 7 },
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

/* --- sums ------------------------------------------------------------------------------------- */

/* One reading of the engine and the memory of a client. */
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
	reg_sum_clients(false, true);
	check(devices[d].clients == 2 && devices[other].clients == 0,
	      "sums: clients are counted for each device");
	check_u64(busy(e, "render"), NO, "sums: one reading has no busy time");
	check_u64(get(e, D_SUM_TOTAL, "vram"), 180,
	          "sums: a shared buffer counts once in all memory");
	check_u64(get(e, D_SUM_RESIDENT, "vram"), 160,
	          "sums: a shared buffer counts once in resident memory");
	check_u64(get(e, D_SUM_NS, "render"), 3000, "sums: time of all clients");

	begin(e, 2);
	client_reading(a, 2, 1000 + 800000000, 100, 40);
	client_reading(b, 2, 2000 + 800000000, 10, 40);
	reg_sum_clients(false, true);
	check_u64(get(e, D_SUM_BUSY, "render"), (u64)FULL / 10 * 16,
	          "sums: the sum itself is not limited to 100 %%");
	check_u64(busy(e, "render"), 100000, "sums: the displayed value is limited to 100 %%");
	check_u64(get(e, D_SUM_RESIDENT, "vram"), 100,
	          "sums: more shared than resident memory: no private part");
	check_u64(get(e, D_SUM_NS, "render"), 1600003000,
	          "sums: the time continues from one sample to the next");

	clients[b].hidden = true;
	begin(e, 3);
	client_reading(a, 3, 1000 + 900000000, 100, 0);
	client_reading(b, 3, 2000 + 900000000, 100, 0);
	reg_sum_clients(false, true);
	check(devices[d].clients == 1 && busy(e, "render") == 10000 && get(e, D_SUM_RESIDENT, "vram") == 100,
	      "sums: clients that a filter hides are not included");
	clients[b].hidden = false;

	/* Sums never decrease, although clients exit. */
	client_remove(b);
	begin(e, 4);
	client_reading(a, 4, 1000 + 1000000000, 100, 0);
	v = 0;
	reg_sum_clients(false, true);
	check(reg_get(e, D_SUM_NS, id("render"), &v) && v >= 1700003000,
	      "sums: when a client exits, the sum is kept");
	check_u64(v, 1800003000,
	          "sums: when a client exits, the time of another one is still added");
	check_u64(get(e, D_SUM_RESIDENT, "vram"), 100,
	          "sums: memory includes only the clients that exist");
	c = client_add(d, KEY_ID, 2); /* the id is used again */
	begin(e, 5);
	client_reading(a, 5, 1000 + 1000000000, 100, 0);
	client_reading(c, 5, 7, 100, 0);
	reg_sum_clients(false, true);
	check_u64(get(e, D_SUM_NS, "render"), 1800003007, "sums: a new client adds all its time");

	clients[a].e.fresh = false;
	begin(e, 6);
	client_reading(c, 6, 7 + 500000000, 100, 0);
	reg_sum_clients(false, true);
	check(devices[d].clients == 2 && busy(e, "render") == 50000 && get(e, D_SUM_RESIDENT, "vram") == 100,
	      "sums: a client that was not read is counted, but adds nothing");

	client_remove(a);
	client_remove(c);
	begin(e, 7);
	reg_sum_clients(false, true);
	check(devices[d].clients == 0 && busy(e, "render") == 0,
	      "sums: engines without clients are idle");
	v = 0;
	check(reg_get(e, D_SUM_NS, id("render"), &v) && v >= 1800003007,
	      "sums: without clients the sum is kept");
	registry.unreadable = 1;
	begin(e, 8);
	reg_sum_clients(false, true);
	check_u64(busy(e, "render"), NO,
	          "sums: engines without clients are unknown when a process could not be read");
	registry.unreadable = 0;
	devices[d].anonymous = 1;
	begin(e, 9);
	reg_sum_clients(false, true);
	check_u64(busy(e, "render"), NO,
	          "sums: engines without clients are unknown when a client has no id");
	devices[d].anonymous = 0;
	devices[d].awake = false;
	begin(e, 10);
	reg_sum_clients(false, true);
	check_u64(busy(e, "render"), NO,
	          "sums: engines without clients are unknown when the device is suspended");
	devices[d].awake = true;
	begin(e, 11);
	reg_sum_clients(false, true);
	check_u64(get(e, D_CAPACITY, "render"), 1, "sums: the capacity is kept");
	reg_clear(e);
	reg_clear(&devices[other].e);
	devices[d].e.used = devices[other].e.used = false;
}

/* Without rates, as with -r: only values of a single reading. */
static void t_roll_raw(void)
{
	u32 d = device_add(), a = client_add(d, KEY_ID, 1);
	struct entity *e = &devices[d].e;

	for (i64 t = 1; t < 4; t++) {
		begin(e, t);
		client_reading(a, t, (u64)t * 1000, 100, 0);
		reg_sum_clients(false, false);
		check_u64(get(e, D_SUM_NS, "render"), (u64)t * 1000,
		          "sums without rates: time, sample %d", (int)t);
		check(busy(e, "render") == NO && get(e, D_SUM_TOTAL, "vram") == 110,
		      "sums without rates: memory, but no rate");
	}
	client_remove(a);
	reg_clear(e);
	devices[d].e.used = false;
}

/* The engine of a device never did more than the sum of its clients' counters. */
static void t_roll_cycles(void)
{
	u32 d = device_add(), a = client_add(d, KEY_ID, 1);
	struct entity *e = &devices[d].e, *c = &clients[a].e;
	u64 v = 0;

	cycles(c, 1, 1000, 5000, false);
	reg_sum_clients(false, true);
	cycles(c, 2, 2000, 9000, false);
	reg_sum_clients(false, true);
	check(busy(e, "r") == 25000 && get(e, D_SUM_CYCLES, "r") == 2000 &&
	      get(e, D_SUM_TOTAL_CYCLES, "r") == 9000, "sums: cycles");
	/* the GPU's clock has fewer bits than its counter of cycles */
	cycles(c, 3, 2500, 100, false);
	reg_sum_clients(false, true);
	check(reg_get(e, D_SUM_CYCLES, id("r"), &v) && v >= 2000 && v <= 2500,
	      "sums: when the GPU's clock wraps, the whole counter is not added to the cycles a "
	      "second time");
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
		reg_sum_clients(false, true);
	}
	check_u64(busy(e, "gpu"), 80000,
	          "sums: busy is calculated from time, and cycles are not added to it");
	check_u64(engine_util(e, id("gpu"), &v) ? v : NO, 30000,
	          "sums: utilization of all clients");
	check_u64(engine_freq(e, id("gpu"), &v) ? v : NO, 375000000,
	          "sums: mean clock of all clients");
	check(get(e, D_MAXFREQ, "gpu") == 1000000000 && get(e, D_CURFREQ, "gpu") == 500000000,
	      "sums: clocks belong to the engine and are not added up");
	client_remove(a);
	client_remove(b);
	reg_clear(e);
	devices[d].e.used = false;
}

static u32 group_find(u32 device, struct str path)
{
	for (u32 i = 1; i <= nrows.groups; i++)
		if (groups[i].e.used && groups[i].device == device && text_eq(cgroups[groups[i].cgroup].path, path))
			return i;
	return NONE;
}

static void t_cgroups(void)
{
	u32 d = device_add(), user = cgroup_add(S("/user.slice")), sys = cgroup_add(S("/system.slice"));
	u32 c[3], g, used = 0;

	check(cgroup_add(S("/user.slice")) == user && user != sys && cgroups[user].refs == 2,
	      "cgroup_add uses one row for each path");
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
		reg_sum_clients(true, true);
	}
	g = group_find(d, S("/user.slice"));
	check(g != NONE && groups[g].clients == 2 && busy(&groups[g].e, "render") == 20000 &&
	      get(&groups[g].e, D_SUM_RESIDENT, "vram") == 200,
	      "cgroups: sums over the clients of the first cgroup");
	check_u64(get(&groups[g].e, D_SUM_NS, "render"), 600000000,
	          "cgroups: the time counts from the first reading");
	check_u64(get(&groups[g].e, D_CURFREQ, "render"), 600,
	          "cgroups: the present clock is used, not the highest one");
	g = group_find(d, S("/system.slice"));
	check(g != NONE && groups[g].clients == 1 && busy(&groups[g].e, "render") == 10000,
	      "cgroups: sums over the clients of the second cgroup");
	check_u64(devices[d].clients, 3, "cgroups: the device counts the clients of all cgroups");
	client_remove(c[2]);
	reg_sum_clients(true, true);
	check(group_find(d, S("/system.slice")) == NONE && group_find(d, S("/user.slice")) != NONE,
	      "cgroups: a cgroup is removed with its last client");
	clients[c[0]].hidden = true;
	reg_sum_clients(true, true);
	check_u64(groups[group_find(d, S("/user.slice"))].clients, 1,
	          "cgroups: clients that a filter hides are not counted");
	client_remove(c[0]);
	client_remove(c[1]);
	reg_sum_clients(true, true);
	for (u32 i = 1; i <= nrows.groups; i++)
		used += groups[i].e.used;
	for (u32 i = 1; i <= nrows.cgroups; i++)
		used += cgroups[i].refs > 0;
	for (u32 i = 1; i <= nrows.tasks; i++)
		used += tasks[i].pid > 0;
	check_u64(used, 0, "cgroups: all rows of all tables are free again");
	reg_clear(&devices[d].e);
	devices[d].e.used = false;
}

/* --- devices ---------------------------------------------------------------------------------- */

static void t_devices(void)
{
	struct device a = { .card = 0, .render = 128, .accel = -1, .dev = "card0" };
	struct device b = { .card = 10, .render = 129, .accel = -1, .dev = "card10" };
	struct device r = { .card = -1, .render = 130, .accel = -1, .dev = "renderD130" };
	struct device n = { .card = -1, .render = -1, .accel = 0, .dev = "accel0" };
	struct device m = { .card = -1, .render = -1, .accel = 1, .dev = "accel1" };
	struct device x = { .card = -1, .render = -1, .accel = -1, .dev = "226:5" };
	struct device y = { .card = -1, .render = -1, .accel = -1, .dev = "226:6" };
	const struct device *row[] = { &a, &b, &r, &n, &m, &x, &y };
	size_t bad = 0, added = 0;
	char *f = edge_page(8);

	for (size_t i = 0; i < LEN(row); i++)
		for (size_t k = 0; k < LEN(row); k++) {
			int c = device_order(row[i], row[k]);

			bad += i < k ? c >= 0 : i > k ? c <= 0 : c != 0;
		}
	check_u64(bad, 0,
	          "device_order: primary, render and accel nodes, then other devices by name");

	str_copy(f, 8, S("amdgpu"));
	check(strcmp(f, "amdgpu") == 0, "device_set");
	str_copy(f, 8, S("amdxdna_accel_driver"));
	check(strcmp(f, "amdxdna") == 0, "device_set cuts a name to the size of the field");
	str_copy(f, 8, S(""));
	check(strcmp(f, "") == 0, "device_set accepts an empty name");

	while (device_add() != NONE)
		added++;
	check(added == MAX_DEVICES - 1, "devices: the table can be filled completely");
	for (u32 i = 1; i < MAX_DEVICES; i++)
		devices[i].e.used = false;
	check(device_add() != NONE, "devices: a free row is used again");
	for (u32 i = 1; i < MAX_DEVICES; i++)
		devices[i].e.used = false;
}

/* --- full tables ------------------------------------------------------------------------------ */

static void t_full_tables(void)
{
	static u32 c[MAX_CLIENTS];
	u32 n = 0, d = device_add(), held = 0, t, dropped = registry.dropped;
	size_t bad = 0;
	char path[32];

	while ((c[n] = client_add(d, KEY_ID, n)) != NONE)
		n++;
	check(n == MAX_CLIENTS - 1 && registry.dropped == dropped + 1,
	      "full table of clients: the client that did not fit was counted");
	for (u32 i = 0; i < n; i++)
		bad += client_find(d, KEY_ID, i) != c[i];
	check(bad == 0 && client_find(d, KEY_ID, n) == NONE && client_find(d, KEY_PASID, 0) == NONE &&
	      client_find(d + 1, KEY_ID, 0) == NONE, "full table of clients: each client is found");

	dropped = registry.dropped;
	t = make_task(7, 7, "x");
	while (holder_add(7, held, t, c[held % n]) != NONE)
		held++;
	check(held == MAX_HOLDERS - 1 && registry.dropped == dropped + 1,
	      "full table of holders: the holder that did not fit was counted");
	for (u32 i = 0; i < held; i++)
		bad += holder_find(7, i) == NONE || holders[holder_find(7, i)].client != c[i % n];
	check(bad == 0 && holder_find(7, held) == NONE && holder_find(8, 0) == NONE,
	      "full table of holders: each holder is found");
	for (u32 i = 0; i < n; i++)
		bad += !clients[c[i]].holders;
	reg_sum_clients(false, true);
	check(bad == 0 && devices[d].clients == n,
	      "full table of holders: each client has at least one");

	dropped = registry.dropped;
	for (t = 8; task_add(t) != NONE; t++)
		;
	check(t - 8 == MAX_TASKS - 2 && registry.dropped == dropped + 1,
	      "full table of tasks: the task that did not fit was counted");
	for (u32 i = 8; i < t; i++)
		bad += task_find(i) == NONE || tasks[task_find(i)].pid != i;
	check(bad == 0 && task_find(t) == NONE, "full table of tasks: each task is found");
	while (t-- > 8)
		task_prune(task_find(t));
	task_prune(task_find(7));
	check(task_find(8) == NONE && task_find(7) != NONE,
	      "tasks: a task that holds a client is not removed");

	dropped = registry.dropped;
	for (t = 0; snprintf(path, sizeof(path), "/x%u", t), cgroup_add(str_z(path)) != NONE; t++)
		;
	check(t == MAX_CGROUPS - 1 && registry.dropped == dropped + 1,
	      "full table of cgroups: the cgroup that did not fit was counted");
	check(cgroup_add(S("/x5")) != NONE && cgroup_add(S("/y")) == NONE,
	      "full table of cgroups: a known cgroup is found");
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
	for (u32 i = 1; i <= nrows.cgroups; i++)
		bad += cgroups[i].refs > 0;
	check_u64(bad, 0, "cgroups: all rows are free again");

	for (u32 i = 0; i < n; i++)
		client_remove(c[i]);
	for (u32 i = 0; i < held; i++)
		bad += holder_find(7, i) != NONE;
	check(bad == 0 && task_find(7) == NONE && client_find(d, KEY_ID, 0) == NONE,
	      "removing clients removes their holders and tasks");
	devices[d].e.used = false;
}

/* More cgroups on more devices than the table of sums has rows for. */
static void t_full_groups(void)
{
	u32 d[3] = { device_add(), device_add(), device_add() }, most = MAX_GROUPS + 103, dropped;
	u32 used = 0, left = 0;
	char path[32];

	for (u32 i = 0; i < most; i++) {
		u32 t = make_task(1000 + i / 3, 1, "x"), c = client_add(d[i % 3], KEY_ID, i);

		if (!tasks[t].cgroup) {
			snprintf(path, sizeof(path), "/y%u", i / 3);
			tasks[t].cgroup = cgroup_add(str_z(path));
		}
		holder_add(1000 + i / 3, i, t, c);
	}
	dropped = registry.dropped;
	reg_sum_clients(true, true);
	for (u32 i = 1; i <= nrows.groups; i++)
		used += groups[i].e.used;
	check(used == MAX_GROUPS - 1 && registry.dropped == dropped + most - (MAX_GROUPS - 1),
	      "full table of groups: the groups that did not fit were counted");
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used && clients[i].device == d[0])
			client_remove(i);
		else
			left += clients[i].e.used;
	reg_sum_clients(true, true); /* frees the rows that are no longer used */
	reg_sum_clients(true, true);
	used = 0;
	for (u32 i = 1; i <= nrows.groups; i++)
		used += groups[i].e.used;
	check_u64(used, left, "groups: the groups of the remaining clients all fit now");
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used)
			client_remove(i);
	reg_sum_clients(true, true);
	used = 0;
	for (u32 i = 1; i <= nrows.groups; i++)
		used += groups[i].e.used;
	for (u32 i = 1; i <= nrows.cgroups; i++)
		used += cgroups[i].refs;
	check_u64(used, 0, "groups: all groups and cgroups are removed");
	reg_clear(&devices[d[0]].e);
	reg_clear(&devices[d[1]].e);
	reg_clear(&devices[d[2]].e);
	devices[d[0]].e.used = devices[d[1]].e.used = devices[d[2]].e.used = false;
}

/* --- random readings -------------------------------------------------------------------------- */

enum { PUTS = 24 };

/* The counters in a file of a client. Some occur twice. Some values fit in 32 bits, some only as
 * KiB, some in neither. */
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

/* Makes another file, or changes only some values of r. */
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
	for (size_t i = 0; i < r->n; i++) {
		if (rnd() % 3 == 0)
			r->put[i].v = rnd() % 4 ? r->put[i].v + rnd() % 2048 : any_value();
		if (r->put[i].desc == D_CAPACITY)
			r->put[i].v %= 256; /* a larger one is not plausible, and not stored */
		else if (is_region(r->put[i].desc))
			r->put[i].v %= (1ull << 52) + 1;
	}
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
		const struct history *k, *l;

		if (x->desc != y->desc || x->inst != y->inst || x->flags != y->flags || reg_now(x) != reg_now(y))
			return false;
		if (!(x->flags & CF_RATE))
			continue;
		k = reg_history(x);
		l = reg_history(y);
		if (k->was != l->was || k->t != l->t || k->t_was != l->t_was)
			return false;
	}
	return !x && !y && a->t == b->t && a->t_was == b->t_was && a->went_backwards == b->went_backwards && a->fresh == b->fresh;
}

/* Adds a key to a list unless it is there, and returns the position after it. */
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

/* Returns whether no earlier put had the same key. A memory key that occurs twice does not set
 * the position of the next counter. */
static bool put_first(const struct reading_of *r, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (r->put[k].desc == r->put[i].desc && strcmp(r->put[k].name, r->put[i].name) == 0)
			return false;
	return true;
}

/* A reading that adds nothing new, with reg_put_same() and with the puts that it replaces. The
 * order of the counters and their values are compared with a plain list. */
static void t_again(void)
{
	size_t bad = 0, order = 0, values = 0, again = 0;

	for (u32 turn = 0; turn < 3000; turn++) {
		struct entity a = { .kind = K_CLIENT }, b = { .kind = K_CLIENT };
		struct reading_of r = { .n = 0 };
		u32 list[PUTS * 20];
		size_t n = 0;

		for (i64 t = 1; t < 20; t++) {
			bool same = t > 1 && rnd() % 2, quick = same && !a.went_backwards && !a.dropped;
			size_t at = 0, i = 0;

			if (!same)
				reading_next(&r);
			if (quick)
				reg_put_same(&a, t * SEC);
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
	check(bad == 0 && again > 10000,
	      "%zu readings without news: reg_put_same equals the puts (%zu differ)", again, bad);
	check_u64(order, 0, "random files: the order of the counters is right");
	check_u64(values, 0, "random files: the values of the counters are right");
}

/* The sum of a region over the clients of a device, added one by one. */
static u64 sum_plainly(u32 d, u8 desc, u16 inst, bool *any)
{
	u64 sum = 0, v, shared, largest = 0;

	*any = false;
	for (u32 i = 1; i <= nrows.clients; i++) {
		const struct client *c = &clients[i];

		if (!c->e.used || c->hidden || !c->e.fresh || c->device != d || !reg_get(&c->e, desc, inst, &v))
			continue;
		*any = true;
		if ((desc == D_RESIDENT || desc == D_TOTAL) && reg_get(&c->e, D_SHARED, inst, &shared)) {
			shared = v < shared ? v : shared;
			v -= shared;
			largest = largest > shared ? largest : shared;
		}
		sum += v;
	}
	sum += largest;
	*any &= sum <= 1ull << 52; /* a larger sum is not plausible */
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
		reg_sum_clients(false, true);
		for (size_t k = 0; k < LEN(d); k++)
			for (u8 desc = D_TOTAL; desc <= D_ACTIVE; desc++)
				for (char n = '0'; n < '6'; n++) {
					char name[] = { 'r', n, '\0' };
					bool any;
					u64 want = sum_plainly(d[k], desc, id(name), &any);

					bad += get(&devices[d[k]].e, sum_desc(desc), name) != (any ? want : NO);
				}
	}
	check_u64(bad, 0, "random clients on two devices: the sums of the regions are right");
	for (size_t i = 0; i < LEN(c); i++)
		if (c[i])
			client_remove(c[i]);
	for (size_t k = 0; k < LEN(d); k++) {
		reg_clear(&devices[d[k]].e);
		devices[d[k]].e.used = false;
	}
}

/* --- clients that come and go ----------------------------------------------------------------- */

static u32 free_of(u32 freed, u32 top, u32 max, bool wide)
{
	u32 n = max - 1 - top;

	for (; freed != NONE; n++)
		freed = wide ? (u32)reg.histories[freed].now : reg.lines[freed].next;
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
			/* of any length, so that texts of several rows are allocated and freed
			 * too */
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
	u32 tracks_before = free_of(reg.free_history, reg.nhistories, MAX_HISTORIES, true);
	u32 lines_before = free_of(reg.free_line, reg.nlines, MAX_LINES, false), texts_before = texts_free();
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
	check_u64(bad, 0, "1 000 000 clients come and go, and each keeps its data");
	for (u32 i = 1; i <= nrows.clients; i++)
		for (u32 h = clients[i].e.used ? clients[i].holders : NONE; h; h = holders[h].next_client)
			bad += holders[h].client != i || holder_find(holders[h].pid, holders[h].fd) != h ||
			       tasks[holders[h].task].pid != holders[h].pid;
	check_u64(bad, 0, "holders, tasks and clients refer to each other");
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used && ++n)
			client_remove(i);
	check(n > 100, "%u clients exist at the end", n);
	for (u32 i = 1; i <= nrows.tasks; i++)
		used += tasks[i].pid > 0;
	for (u32 i = 1; i <= nrows.cgroups; i++)
		used += cgroups[i].refs;
	check_u64(used, 0, "after the last client no task and no cgroup is left");
	check_u64(texts_free(), texts_before, "after the last client all texts are free");
	check_u64(free_of(reg.free_history, reg.nhistories, MAX_HISTORIES, true), tracks_before,
	          "after the last client all histories are free");
	check_u64(free_of(reg.free_line, reg.nlines, MAX_LINES, false), lines_before,
	          "after the last client all lines of counters are free");
	for (n = 0; client_add(1, KEY_ID, n) != NONE; n++)
		;
	check_u64(n, MAX_CLIENTS - 1, "the table of clients can be filled again");
	for (used = 0; holder_add(1, used, task_find(1) ? task_find(1) : task_add(1), 1 + used % n) != NONE; used++)
		;
	check_u64(used, MAX_HOLDERS - 1, "the table of holders can be filled again");
	while (n-- > 0)
		client_remove(client_find(1, KEY_ID, n));
	for (n = 0; task_add(n + 2) != NONE; n++)
		;
	check_u64(n, MAX_TASKS - 1, "the table of tasks can be filled again");
	while (n-- > 0)
		task_prune(task_find(n + 2));
}

/* --- perf events ------------------------------------------------------------------------------ */

/* Resets the tables: no counts, events 1 to 8 without modifiers, one site, event sets without
 * names. */
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
	nrows.counts = nrows.evrows = 0;
	nrows.events = 8;
	nrows.sites = 1;
	nrows.evsets = 4;
}

static struct count *count_in(u32 row, u32 event, struct tally now)
{
	struct count *c = &counts[++nrows.counts];

	*c = (struct count){ .event = event, .row = row, .cpu = 0, .now = now };
	evrows[row].e.used = true;
	evrows[row].event = event;
	nrows.evrows = row > nrows.evrows ? row : nrows.evrows;
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
		{ { 3, 1ull << 63, 1 }, UINT64_MAX, 0 }, /* the result does not fit */
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
		check_u64(evrows[1].value, rows[i].want, "the scaled value is right");
		check_u64(evrows[1].share, rows[i].share,
		          "the share of time in 1/1000 %% is right");
		check(evrows[1].sum.value == t.value && evrows[1].sum.enabled == t.enabled &&
		      evrows[1].sum.running == t.running, "the values that were read are kept");
		rows_sum(1000000000, false);
		check_u64(evrows[1].value, t.value, "without scaling the value is the count");
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
	check_u64(evrows[1].value, UINT64_MAX, "a sum that does not fit becomes UINT64_MAX");
}

static void t_intervals(void)
{
	/* Scaled since the start, these would be 1000, 200, 205, 1230. */
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
			check_u64(evrows[1].value, want[i],
			          "the value of an interval uses only the counts of that interval: "
			          "%zu", i);
		raw = evrows[1].value;
		rows_sum(100, true);
		check_u64(evrows[1].value, raw,
		          "a second sum over the same interval is equal: %zu", i);
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
	check_u64(bad, 0, "100 000 intervals with different shares have the right values");
	check_u64(raw, t.value, "the sum of all intervals is the count");
	no_rows();
	count_in(1, 1, (struct tally){ 7, 100, 100 });
	count_in(1, 1, (struct tally){ 0 });
	counts[2].state = CS_NO_FILES;
	rows_sum(100, true);
	check(evrows[1].state == CS_NO_FILES && evrows[1].sum.enabled == 0 && evrows[1].share == 0,
	      "a row without a descriptor on one CPU has neither a value nor a time");

	no_rows(); /* the count wraps at 2^64 */
	count_in(1, 1, tally(UINT64_MAX - 4, 100, 100));
	rows_begin();
	counts[1].now = tally(5, 200, 200);
	rows_sum(100, true);
	check_u64(evrows[1].value, 10, "a count that wraps at 2^64 has the right increase");
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
	check_u64(evrows[1].value, 100 + 200 + 400,
	          "CPUs that counted for different shares are scaled separately");
	check_u64(evrows[1].places, 3, "three CPUs counted");
	check_u64(evrows[1].share, 43750, "the share is 1750 of 4000 ns");
	check(evrows[1].state == CS_COUNTED && evrows[1].sum.value == 300,
	      "the row is counted, and has the sum of the values that were read");
	check_u64(evrows[2].value, 70, "another row has a separate sum");

	/* In both orders. */
	for (int turn = 0; turn < 2; turn++) {
		no_rows();
		count_in(1, 1, tally(5, 10, 10))->state = turn ? CS_COUNTED : CS_DENIED;
		count_in(1, 1, tally(5, 10, 10))->state = turn ? CS_DENIED : CS_COUNTED;
		rows_sum(1000, true);
		check(evrows[1].state == CS_COUNTED && evrows[1].value == 5 && evrows[1].places == 1,
		      "one place is denied and one counts: the count is shown, order %d", turn);
		no_rows();
		count_in(1, 1, tally(0, 10, 0))->state = turn ? CS_COUNTED : CS_DENIED;
		count_in(1, 1, tally(0, 10, 0))->state = turn ? CS_DENIED : CS_COUNTED;
		rows_sum(1000, true);
		check(evrows[1].state == CS_DENIED && evrows[1].places == 0,
		      "one place is denied and one never ran: denied is shown, order %d", turn);
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
		{
		  "did not run in this "
		  "interval", { 5, 9, 9 }, { 5, 20, 9 }, 0, 0, 0, 0, CS_COUNTED, CS_NEVER_RAN },
		{ "a task, never ran", { 0 }, { 0, 9, 0 }, 0, 0, -1, 7, CS_COUNTED, CS_NEVER_RAN },
		{ "in a group: no room", { 0 }, { 0, 9, 0 }, 0, 1, 0, 0, CS_COUNTED, CS_NO_ROOM },
		{ "never enabled, on a CPU", { 0 }, { 0 }, 0, 0, 0, 0, CS_COUNTED, CS_NOT_ENABLED },
		{ "went offline", { 5, 9, 9 }, { 5, 9, 9 }, 0, 0, 0, 0, CS_OFFLINE, CS_OFFLINE },
		{
		  "never enabled: the task did not "
		  "run", { 0 }, { 0 }, 0, 0, -1, 7, CS_COUNTED, CS_NOT_ENABLED },
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
			check_u64(evrows[1].places, rows[i].want == CS_COUNTED,
			          "places are counted only where the event was counted: "
			          "%s", rows[i].name);
			check_u64(evrows[1].value, rows[i].want == CS_COUNTED ? rows[i].now.value - rows[i].was.value : 0,
				  "the value includes only counted events: %s", rows[i].name);
		}
	check(!state_text(CS_COUNTED), "a counted event has no state text");
	for (u8 s = CS_COUNTED + 1; s < CS_STATES; s++)
		check(state_text(s) && (strncmp(state_text(s), "not counted: ", 13) == 0 ||
					strncmp(state_text(s), "not supported: ", 15) == 0 ||
					strncmp(state_text(s), "denied: ", 8) == 0),
					"state %u has a reason", s);

	no_rows(); /* one CPU, and one that has returned: the share of the sum is a half */
	count_in(1, 1, tally(8, 1000, 1000));
	count_in(1, 1, tally(5, 9, 9))->was = tally(5, 9, 9);
	counts[2].state = CS_RETURNED;
	rows_sum(1000, true);
	check(evrows[1].state == CS_COUNTED && evrows[1].value == 8,
	      "a CPU that returned is not in the sum");
	check_u64(evrows[1].share, 50000, "the sum has a share of a half");
	counts[2].state = CS_OFFLINE;
	rows_sum(1000, true);
	check_u64(evrows[1].share, 100000, "a CPU that is offline does not reduce the share");

	no_rows(); /* the reason of one interval does not apply to the next one */
	count_in(1, 1, tally(0, 9, 0));
	rows_sum(1000, true);
	rows_begin();
	counts[1].now = tally(4, 18, 9);
	rows_sum(1000, true);
	check(evrows[1].state == CS_COUNTED && evrows[1].value == 4,
	      "an event that never ran is counted when it runs");
	rows_begin();
	counts[1].state = CS_GONE;
	rows_sum(1000, true);
	check(evrows[1].state == CS_GONE && evrows[1].value == 0, "then the event is gone");
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
	events[1] = (struct event){ .rule = R_LEVEL, .virt = 1 };
	count_in(1, 1, tally(0, 0, 0));
	for (size_t i = 0; i < LEN(rows); i++) {
		rows_begin();
		counts[1].virt = rows[i].virt;
		counts[1].now = tally(rows[i].v, 1000 * (i + 1), 1000 * (i + 1));
		rows_sum(1000000000, true);
		check(evrows[1].state == CS_COUNTED && evrows[1].neg == rows[i].neg, "level %" PRIi64 "%s: the sign is right", (i64)rows[i].v,
		      rows[i].virt ? "" : " from the kernel");
		check_u64(evrows[1].value, rows[i].want, "level %" PRIi64 ": the value is the level, not the increase", (i64)rows[i].v);
	}
	events[1].scale = 1;
	events[1].scale_point = 3;
	counts[1].virt = true;
	counts[1].now.value = (u64)-5500;
	rows_sum(1000000000, true);
	check(evrows[1].neg && evrows[1].value == 5500 && evrows[1].point == 3, "level: -5.500");
	counts[1].now.value = 5500;
	rows_sum(1000000000, true);
	check(!evrows[1].neg && evrows[1].value == 5500 && evrows[1].point == 3,
	      "level: 5.500, without a sign");
	counts[1].state = CS_GONE;
	rows_sum(1000000000, true);
	check(evrows[1].state == CS_GONE && !evrows[1].neg, "level: a gone event has no sign");

	no_rows();
	evsets[1] = (struct evset){ .name = text_put(NONE, S("set")), .active = 250 };
	events[1] = (struct event){ .rule = R_LEVEL, .set = 1 };
	count_in(1, 1, tally(40, 250, 250));
	rows_sum(1000, true);
	check_u64(evrows[1].value, 40,
	          "level: the value is not scaled in a set that was active for a quarter of the "
	          "time");
	rows_begin();
	rows_sum(1000, true);
	check(evrows[1].state == CS_NOT_ENABLED,
	      "level: the value is unknown in a set that was not active");
}

static void t_frequencies(void)
{
	no_rows();
	events[1].rule = R_RATE; /* i915: MHz x s */
	count_in(1, 1, tally(1000, 500, 500))->was = tally(350, 0, 0);
	rows_sum(SEC / 2, true);
	check(evrows[1].value == 13000 && evrows[1].point == 1,
	      "650 MHz s in half a second are 1300.0 MHz");
	rows_sum(3 * SEC, true);
	check(evrows[1].value == 2166 && evrows[1].point == 1,
	      "650 MHz s in three seconds are 216.6 MHz");
	rows_sum(0, true);
	check_u64(evrows[1].value, 0, "in no time the value is 0");
	counts[1].now = tally(1000, 1000, 500);
	rows_sum(SEC / 2, true);
	check_u64(evrows[1].value, 13000,
	          "the value is divided by the time that passed, whatever the share");
	counts[1].now = counts[1].was;
	rows_sum(SEC, true);
	check(evrows[1].state != CS_COUNTED, "an event that was not enabled has no frequency");
	counts[1].now = tally(1000, 500, 500);
	events[1].scale = 1;
	rows_sum(SEC / 2, true);
	check_u64(evrows[1].value, evrows[1].point == 1 ? 13000 : 1300, "a scale of 1 changes nothing");

	no_rows();
	evsets[1] = (struct evset){ .name = text_put(NONE, S("set")), .active = SEC / 4 };
	events[1] = (struct event){ .rule = R_RATE, .set = 1 };
	count_in(1, 1, tally(325, (u64)SEC / 4, (u64)SEC / 4));
	rows_sum(SEC / 2, true);
	check_u64(evrows[1].value, 13000,
	          "1300 MHz in a set that was active for half of the time are 1300 MHz");

	no_rows();
	events[1].rule = R_PER_READ; /* xe: each read adds the present frequency */
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
	nrows.sites = PLACES;
	events[1].rule = R_SHARE;
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
			check(r->value == rows[i].want && r->point == 3, "%" PRIu64 " of %" PRIu64 ", each place uses its own total",
			      rows[i].part, rows[i].all);
		check_u64(evrows[1 + i + PLACES].value, rows[i].all, "the other row has its count");
	}
	for (u32 i = 1; i <= nrows.counts; i++)
		counts[i].state = counts[i].event == 2 ? CS_DENIED : CS_COUNTED;
	rows_sum(SEC, true);
	check(evrows[1].state != CS_COUNTED, "a share is unknown when its total is denied");
	nrows.evrows = PLACES;
	nrows.counts = 1;
	counts[1] = (struct count){ .event = 1, .row = PLACES, .now = tally(5, 10, 10) };
	rows_sum(SEC, true);
	check(evrows[PLACES].state != CS_COUNTED, "a share is unknown when its total has no row");
}

/* v x m x 10^-p with `point` decimals, truncated; false: the result does not fit. */
static bool fixed(u64 v, u64 m, unsigned p, unsigned point, u64 *want)
{
	u64 tens = 1;

	for (; p > point && tens < UINT64_MAX / 10; p--)
		tens *= 10;
	*want = plain_muldiv(v, m, tens);
	for (; p > point; p--) /* the division by 10^19 has made room: m has 63 bits */
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

		if (!check(parse_scale(str_z(rows[i].scale), &mantissa, &point),
		           "scale %s is valid", rows[i].scale))
			continue;
		row_unit(&r, mantissa, point);
		check_u64(r.value, rows[i].want, "%" PRIu64 " x %s", rows[i].v, rows[i].scale);
		check_u64(r.point, rows[i].point, "decimals of %" PRIu64 " x %s", rows[i].v, rows[i].scale);
	}

	/* RAPL's 2^-32 J has 33 digits; 19 of them are used. */
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
		/* One more decimal would not have fitted. */
		less += r.point < 9 && r.point < point && fixed(v, mantissa, point, r.point + 1u, &more);
	}
	check_u64(bad, 0,
	          "200 000 scales of up to 19 digits and exponents up to 40: exact, or truncated "
	          "after the decimal point");
	check_u64(less, 0, "the value has as many decimals as fit");

	no_rows(); /* multiplexed counts are scaled first, then the unit is applied */
	events[1].scale = 5;
	events[1].scale_point = 1;
	count_in(1, 1, tally(10, 400, 100));
	rows_sum(SEC, true);
	check(evrows[1].value == 200 && evrows[1].point == 1 && evrows[1].sum.value == 10,
	      "10 in a quarter of the time, 0.5 each, are 20.0");
	rows_sum(SEC, false);
	check(evrows[1].value == 50 && evrows[1].point == 1,
	      "without scaling, the unit still applies: 5.0");
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
		{
		  "active for a quarter of the "
		  "time", { 100, 250, 250 }, 250, 0, CS_COUNTED, 400, 100, 25000 },
		{
		  "active for a quarter, counted for half of "
		  "that", { 100, 250, 125 }, 250, 0, CS_COUNTED, 800, 100, 12500 },
		{
		  "active all the "
		  "time", { 100, 1000, 1000 }, 1000, 0, CS_COUNTED, 100, 100, 100000 },
		{
		  "active for longer than the "
		  "interval", { 100, 1001, 1001 }, 1001, 0, CS_COUNTED, 100, 100, 100000 },
		{
		  "active for one "
		  "ns", { 1ull << 60, 1, 1 }, 1, 0, CS_COUNTED, UINT64_MAX, 1ull << 60, 100 },
		{ "active, but counted nothing", { 0, 250, 250 }, 250, 0, CS_COUNTED, 0, 0, 25000 },
		{ "active, but never ran", { 0, 250, 0 }, 250, 0, CS_NEVER_RAN, 0, 0, 0 },
		{ "not active, for a task", { 0, 0, 0 }, 0, 7, CS_NOT_ENABLED, 0, 0, 0 },
		{
		  "not active, on a CPU that is not "
		  "offline", { 0, 0, 0 }, 0, 0, CS_NOT_ENABLED, 0, 0, 0 },
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
			check(evsets[1].active_was == 5000 && evsets[1].turns_was == 3,
			      "rows_begin begins an interval for the sets too");
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

	/* A task that slept: 0 while its set was active, unknown while its set was not active. */
	no_rows();
	evsets[1] = (struct evset){ .name = text_put(NONE, S("alu")), .active = 100 };
	events[1].set = 1;
	count_in(1, 1, tally(9, 100, 100))->pid = 7;
	rows_begin();
	evsets[1].active += 50;
	rows_sum(1000, true);
	check(evrows[1].state == CS_COUNTED && evrows[1].value == 0,
	      "set: a task that slept while its set was active counted 0");
	rows_begin();
	rows_sum(1000, true);
	check(evrows[1].state == CS_NOT_ENABLED,
	      "set: a task that slept while its set was not active is unknown");
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
		check_u64(evrows[1].repeats, rows[i].n, "runs %zu: number of repetitions", i);
		check_u64(evrows[1].value, rows[i].mean, "runs %zu: mean", i);
		if (!check(near(row_deviation(&evrows[1]), rows[i].error), "runs %zu: standard error", i))
			note("got %g, want %g", row_deviation(&evrows[1]), rows[i].error);
	}

	no_rows(); /* a run that counted nothing does not count as a run of 0 */
	count_in(1, 1, tally(0, 0, 0));
	for (u64 k = 0; k < 3; k++) {
		counts[1].now = k == 1 ? tally(0, 10, 0) : tally(100, 10, 10);
		rows_sum(SEC, true);
		rows_repeat();
	}
	check(evrows[1].repeats == 2 && evrows[1].value == 100,
	      "one of three runs counted nothing and is skipped");

	no_rows(); /* the times are means, too, of the runs that counted */
	count_in(1, 1, tally(0, 0, 0));
	for (u64 k = 0; k < 3; k++) {
		counts[1].now = k == 1 ? tally(0, 99, 0) : tally(100, 40 + 20 * k, 10);
		rows_sum(SEC, true);
		rows_repeat();
	}
	check(evrows[1].sum.value == 100 && evrows[1].sum.enabled == 60 && evrows[1].sum.running == 10,
	      "time enabled and running: the means of two runs of three");
	check_u64(evrows[1].share, 16666, "the share of the time: 10 of 60");

	no_rows(); /* and 1300.0 MHz must not become 13000 in the mean */
	events[1].rule = R_RATE;
	count_in(1, 1, tally(0, 0, 0));
	for (int k = 0; k < 2; k++) {
		counts[1].now = k ? tally(0, 10, 0) : tally(1300, 10, 10);
		rows_sum(SEC, true);
		rows_repeat();
	}
	check(evrows[1].state == CS_COUNTED && evrows[1].value == 13000 && evrows[1].point == 1,
	      "the mean keeps its decimal point");

	no_rows(); /* degrees */
	events[1].rule = R_LEVEL;
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
	for (u32 i = 1; i <= EACH; i++) { /* many ids in one bucket, and some in other buckets */
		count_set_id(i, (u64)i * LEN(reg.id_bucket) + 5);
		count_set_id(i + EACH, ((u64)i << 32) * LEN(reg.id_bucket) + 5);
		count_set_id(i + 2 * EACH, UINT64_MAX - i);
		count_set_id(i + 3 * EACH, i + 100);
	}
	for (u32 i = 1; i <= EACH; i++)
		bad += count_find((u64)i * LEN(reg.id_bucket) + 5) != i ||
		       count_find(((u64)i << 32) * LEN(reg.id_bucket) + 5) != i + EACH ||
		       count_find(UINT64_MAX - i) != i + 2 * EACH || count_find(i + 100) != i + 3 * EACH;
	check_u64(bad, 0, "count_find finds ids that share a bucket");
	check(count_find(5) == NONE && count_find((EACH + 1) * (u64)LEN(reg.id_bucket) + 5) == NONE &&
	      count_find(UINT64_MAX) == NONE && count_find(99) == NONE && count_find(0) == NONE,
	      "count_find does not find unknown ids");
}

/* --- full tables of counters ------------------------------------------------------------------ */

/* These tests fill the table of names, which is never emptied: they must be the last ones. */
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
	      "a name of %d bytes is accepted", MAX_NAME);
	check(!reg_put(&e, D_BUSY_NS, (struct str){ longest, longest + MAX_NAME + 1 }, 1, 1) && e.dropped == 1,
	      "a longer name is refused and counted");
	check(str_len(inst_name(reg_first(&e)->inst)) == MAX_NAME && e.count == 1,
	      "the name is not cut");
	reg_clear(&e);

	/* More counters than one entity can have: those that fit continue, the others are counted
	 * each time. */
	for (i64 t = 1; t < 3; t++) {
		begin(&e, t);
		for (n = 0; n < 1500; n++) {
			snprintf(name, sizeof(name), "e%u", n);
			put(&e, n % 2 ? D_BUSY_NS : D_RESIDENT, name, n * (u64)t);
		}
		check(e.count == MAX_COUNTERS && e.dropped == 1500 - MAX_COUNTERS,
		      "one entity with too many counters: the table is full, reading %d",
		      (int)t);
	}
	for (n = 1; n < MAX_COUNTERS; n += 2) {
		snprintf(name, sizeof(name), "e%u", n);
		bad += rate(&e, D_BUSY_NS, name, &dt) != n;
	}
	check_u64(bad, 0,
	          "one entity with too many counters: those that fitted have the right rates");
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
			check(n == (wide ? MAX_HISTORIES - 1 : ROOM) && many[m].dropped == 1,
			      "all counters %s: the table is full%s, and one was counted as "
			      "dropped", wide ?
			      "with a history" : "without",
			      again ? " again" : "");
			bad += get(&many[0], wide ? D_BUSY_NS : D_RESIDENT, "e5") != 5;
			bad += get(&many[m - 1], wide ? D_BUSY_NS : D_RESIDENT, "e99") != 99 + m - 1;
			begin(&one, 1);
			check(put(&one, D_RESIDENT, "e5", 1) == wide && put(&one, D_RESIDENT, "e6", (1ull << 42) - 1024) == wide,
			      "other entities can add counters that need only a line");
			check(!put(&one, D_RESIDENT, "e7", (1ull << 32) + 1) && one.dropped == 3 - 2 * (u32)wide,
			      "values that do not fit in 32 bits are refused");
			check_u64(get(&one, D_RESIDENT, "e7"), NO, "a refused value is unknown");
			reg_clear(&one);
			check_u64(bad, 0, "the existing counters are right");
			total[wide] = n;
			for (m = 0; m < LEN(many); m++)
				reg_clear(&many[m]);
		}
	check(total[0] == ROOM && total[1] == MAX_HISTORIES - 1, "all rows can be used again");

	/* Names: the limit is 4095 names or 64 KiB, whichever is reached first. */
	memset(many, 0, sizeof(many));
	for (n = 0, m = 0; n < 5000; n++) {
		if (n % 1000 == 0)
			begin(&many[n / 1000], 1);
		snprintf(name, sizeof(name), "n%u", n);
		m += !put(&many[n / 1000], D_RESIDENT, name, n);
	}
	check(m > 0 && reg.nnames == MAX_INSTANCES - 1,
	      "full table of names: %u values did not fit", m);
	for (n = 0; n < 5; n++)
		m -= many[n].dropped;
	check_u64(m, 0, "full table of names: each value that did not fit was counted");
	check_u64(get(&many[0], D_RESIDENT, "n7"), 7,
	          "full table of names: the first values are right");
	check(put(&many[4], D_RESIDENT, "n8", 8) && get(&many[4], D_RESIDENT, "n8") == 8,
	      "full table of names: counters with known names can be added");
	for (n = 0; n < 5; n++)
		reg_clear(&many[n]);
}

/* Long names use up the 64 KiB before the number of names is reached. */
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
	      "names: %u of %d bytes fit, and the next one was counted as dropped", n, MAX_NAME);
	reg_clear(&e);
	/* Empties the table for the tests that follow; no entity refers to these names. */
	reg.nnames = reg.name_used = 0;
	memset(reg.name_bucket, 0, sizeof(reg.name_bucket));
}

/* Devices without nodes come after those with the node accel0. */
static void t_device_order(void)
{
	const struct device accel = { .card = -1, .render = -1, .accel = 0, .dev = "z" };
	const struct device render = { .card = -1, .render = 0, .accel = -1, .dev = "y" };
	const struct device none = { .card = -1, .render = -1, .accel = -1, .dev = "a" };

	check(device_order(&accel, &none) < 0 && device_order(&none, &accel) > 0, "accel0, then a device without nodes");
	check(device_order(&render, &accel) < 0 && device_order(&none, &none) == 0, "a render node is before them");
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
	t_classes();
	t_regions();
	t_used();
	t_used_sums();
	t_implausible_sizes();
	t_decreased();
	t_parts();
	t_text();
	t_owner();
	t_roll();
	t_roll_raw();
	t_roll_cycles();
	t_roll_util();
	t_cgroups();
	t_devices();
	t_device_order();
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
