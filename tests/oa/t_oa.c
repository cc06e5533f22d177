/* t_oa.c - unit test of perfstream.c: OA report formats, OA records, and recordings compared
 * with their known contents. SPDX-License-Identifier: MIT */
#include "unit.h"

/* --- formats ---------------------------------------------------------------------------------- */

/* The expected layouts, written independently of the program's table: first counter, number of
 * counters, bytes of each (5: 32 bits, and the high bytes elsewhere), offset. */
static const struct layout {
	const char *name;
	u16 size;
	u32 i915, recorded, xe;
	const char *counters;
} layouts[] = {
	{ "A13", 64, 1, 0, 0, "A0 13 4 12" },
	{ "A29", 128, 2, 0, 0, "A0 29 4 12" },
	{ "A13_B8_C8", 128, 3, 0, 0, "A0 13 4 12 B0 8 4 64 C0 8 4 96" },
	{ "B4_C8", 64, 4, 0, 0, "B0 4 4 16 C0 8 4 32" },
	{ "A45_B8_C8", 256, 5, 0, 0, "A0 45 4 12 B0 8 4 192 C0 8 4 224" },
	{ "B4_C8_A16", 128, 6, 0, 0, "B0 4 4 16 C0 8 4 32 A29 16 4 64" },
	{ "C4_B8", 64, 7, 1, 0x700, "C0 4 4 16 B0 8 4 32" },
	{ "A12", 64, 8, 2, 0, "A7 12 4 16" },
	{ "A12_B8_C8", 128, 9, 3, 0x200, "A7 12 4 16 B0 8 4 64 C0 8 4 96" },
	{ "A32u40_A4u32_B8_C8", 256, 10, 4, 0x500, "A0 32 5 16 160 A32 4 4 144 B0 8 4 192 C0 8 4 224" },
	{ "OAR_A32u40_A4u32_B8_C8", 256, 11, 5, 0x501, "A0 32 5 16 160 A32 4 4 144 B0 8 4 192 C0 8 4 224" },
	{ "A24u40_A14u32_B8_C8", 256, 12, 6, 0x500,
	  "A0 4 4 16 A4 20 5 32 164 A24 4 4 112 A28 4 5 128 188 A32 4 4 144 A36 1 4 160 A37 1 4 184 B0 8 4 192 C0 8 4 224" },
	{ "OAC_A24u64_B8_C8", 320, 0, 7, 0x103, "A0 24 8 32 B0 8 4 224 C0 8 4 256" },
	{ "OAC_A22u32_R2u32_B8_C8", 192, 0, 8, 0x203, "A0 24 4 32 B0 8 4 128 C0 8 4 160" },
	{ "OAM_MPEC8u64_B8_C8", 192, 13, 9, 0x104, "M0 8 8 32 B0 8 4 96 C0 8 4 128" },
	{ "OAM_MPEC8u32_B8_C8", 128, 14, 10, 0x204, "M0 8 4 32 B0 8 4 64 C0 8 4 96" },
	{ "PEC64u64", 576, 0, 11, 0x10105, "PEC0 64 8 32" },
	{ "PEC64u64_B8_C8", 640, 0, 12, 0x1010105, "PEC0 64 8 32 B0 8 4 544 C0 8 4 576" },
	{ "PEC64u32", 320, 0, 13, 0x105, "PEC0 64 4 32" },
	{ "PEC32u64_G1", 320, 0, 14, 0x10505, "PEC0 32 8 32" },
	{ "PEC32u32_G1", 192, 0, 15, 0x505, "PEC0 32 4 32" },
	{ "PEC32u64_G2", 320, 0, 16, 0x10605, "PEC32 32 8 32" },
	{ "PEC32u32_G2", 192, 0, 17, 0x605, "PEC32 32 4 32" },
	{ "PEC36u64_G1_32_G2_4", 320, 0, 18, 0x10305, "PEC0 32 8 32 PEC32 4 8 288" },
	{ "PEC36u64_G1_4_G2_32", 320, 0, 19, 0x10405, "PEC0 4 8 32 PEC32 32 8 64" },
};

/* One counter in a layout. */
struct place {
	char letter[8];
	unsigned index, bytes, at, high;
	size_t slot;
};

/* Expands a layout into one struct place for each counter. */
static size_t places_of(const struct layout *l, struct place *to)
{
	const char *p = l->counters;
	size_t n = 0;

	while (*p) {
		unsigned first, count, bytes, at, high = 0;
		char letter[8];
		int used;

		if (sscanf(p, " %7[A-Z]%u %u %u %u%n", letter, &first, &count, &bytes, &at, &used) != 5)
			abort();
		p += used;
		if (bytes == 5) {
			if (sscanf(p, " %u%n", &high, &used) != 1)
				abort();
			p += used;
		}
		for (unsigned i = 0; i < count; i++, n++) {
			struct place c = { "", first + i, bytes, at + i * (bytes == 8 ? 8 : 4), high + i, 0 };

			memcpy(c.letter, letter, sizeof(letter));
			c.slot = (*letter == 'B' ? OA_B : *letter == 'C' ? OA_C : OA_A) + c.index;
			to[n] = c;
		}
	}
	return n;
}

static u64 limit_of(const struct place *c)
{
	return c->bytes == 8 ? UINT64_MAX : ((u64)1 << 8 * c->bytes) - 1;
}

static void place_put(char *report, const struct place *c, u64 v)
{
	memcpy(report + c->at, &v, c->bytes == 8 ? 8 : 4);
	if (c->bytes == 5)
		report[c->high] = (char)(v >> 32);
}

static const struct oaformat *named(const char *name)
{
	const struct oaformat *f = oaformat_by_name(str_z(name));

	if (!f) {
		printf("Bail out! no format %s\n", name);
		exit(1);
	}
	return f;
}

/* Puts a different value into every counter of a report; all other bytes are 0xff. Other bytes, and
 * bytes after the report, must not be read. */
static void t_layout(const struct layout *l)
{
	const struct oaformat *f = named(l->name);
	struct place c[OA_SLOTS];
	size_t n = places_of(l, c), bad = 0, names = 0, reads = 0, end = 0;
	char *report, name[16];
	u64 v[OA_SLOTS], want[OA_SLOTS] = { 0 };
	struct oaplan plan;

	check(f->size == l->size && f->i915 == l->i915 && f->recorded == l->recorded && f->has_xe == (l->recorded > 0) &&
	      f->xe == l->xe && f->size <= OA_REPORT_BYTES, "%s: the size and the format numbers", l->name);
	oaplan_make(&plan, f, NULL);
	for (size_t i = 0; i < n; i++) {
		size_t to = c[i].at + (c[i].bytes == 8 ? 8 : 4);

		end = to > end ? to : end;
	}
	check(plan.bytes == end && end <= l->size && l->size - end < 64, "%s: the size is padded to 64 bytes", l->name);
	check_u64(plan.nparts, f->nruns, "%s: a plan for all counters has no more runs than the format", l->name);
	report = edge_page(end);
	memset(report, 0xff, end);
	for (size_t i = 0; i < n; i++) {
		want[c[i].slot] = rnd() & limit_of(&c[i]);
		place_put(report, &c[i], want[c[i].slot]);
	}
	memset(v, 0x55, sizeof(v));
	oa_raw_values(&plan, report, v);
	for (size_t s = OA_A; s < OA_SLOTS; s++)
		bad += v[s] != want[s];
	check_u64(bad, 0, "%s: %zu counters are read from the right offsets", l->name, n);

	/* Each counter is read by a plan that contains only that counter. */
	bad = 0;
	for (size_t i = 0; i < n; i++) {
		bool slots[OA_SLOTS] = { 0 };

		slots[c[i].slot] = true;
		oaplan_make(&plan, f, slots);
		oa_raw_values(&plan, report, v);
		for (size_t s = OA_A; s < OA_SLOTS; s++)
			bad += v[s] != (s == c[i].slot ? want[s] : 0);
		bad += plan.nparts != 1;
	}
	check_u64(bad, 0, "%s: each counter can be read by its own plan", l->name);
	for (size_t s = 0; s < OA_SLOTS; s++) {
		struct buf b = { .p = name, .cap = sizeof(name) - 1 };
		const struct place *p = NULL;
		char plain[16] = "";

		for (size_t i = 0; i < n; i++)
			if (c[i].slot == s)
				p = &c[i];
		if (p)
			snprintf(plain, sizeof(plain), "%s%u", p->letter, p->index);
		reads += p != NULL;
		names += oaslot_name(f, s, &b) == (p != NULL) && b.n == strlen(plain) && memcmp(name, plain, b.n) == 0;
	}
	check(reads == n && names == OA_SLOTS,
	      "%s: slots with a counter have its name, other slots have no name", l->name);
}

static void t_deltas(const struct layout *l)
{
	const struct oaformat *f = named(l->name);
	struct place c[OA_SLOTS];
	size_t n = places_of(l, c), bad = 0;
	char a[OA_REPORT_BYTES], *b = edge_page(l->size);
	struct oaplan plan;

	/* From any value to any other value, with small steps over the limits of 32, 40 and 64
	 * bits. */
	for (int round = 0; round < 300; round++) {
		static const u64 steps[] = { 0, 1, 2, 0x100, UINT32_MAX, 0x7fffffff };
		u64 sum[OA_SLOTS], want[OA_SLOTS];
		bool slots[OA_SLOTS];

		for (size_t s = 0; s < OA_SLOTS; s++) {
			want[s] = sum[s] = rnd();
			slots[s] = rnd() & 1;
		}
		memset(a, round, sizeof(a));
		memset(b, ~round, l->size);
		for (size_t i = 0; i < n; i++) {
			u64 limit = limit_of(&c[i]), d = (round & 1 ? rnd() : steps[rnd() % LEN(steps)]) & limit;
			u64 was = (round & 2 ? rnd() : limit - rnd() % 3 - (round & 4 ? limit & 0xff00000000 : 0)) & limit;

			place_put(a, &c[i], was);
			place_put(b, &c[i], was + d);
			if (round % 3 == 0 || slots[c[i].slot])
				want[c[i].slot] += d;
		}
		oaplan_make(&plan, f, round % 3 ? slots : NULL);
		oa_add(&plan, a, b, sum);
		for (size_t s = OA_A; s < OA_SLOTS; s++)
			bad += sum[s] != want[s];
	}
	check_u64(bad, 0, "%s: the deltas of all and of some counters are right after every wrap", l->name);
}

static void t_formats(void)
{
	static const struct {
		const char *xml, *name;
	} xmls[] = {
		{ "256B_GENERIC_NOA16", "A24u40_A14u32_B8_C8" }, { "128B_MPEC8_NOA16", "OAM_MPEC8u32_B8_C8" },
		{ "192B_MPEC8LL_NOA16", "OAM_MPEC8u64_B8_C8" }, { "576B_PEC64LL", "PEC64u64" },
		{ "640B_PEC64LL_NOA16", "PEC64u64_B8_C8" }, { "320B_PEC64", "PEC64u32" },
	};
	size_t bad = 0;

	check_u64(noaformats, LEN(layouts), "there are as many formats as expected layouts");
	for (size_t i = 0; i < LEN(layouts); i++) {
		const struct layout *l = &layouts[i];

		t_layout(l);
		t_deltas(l);
		bad += l->i915 && oaformat_by_number(false, l->i915) != named(l->name);
		bad += l->recorded && oaformat_by_number(true, l->recorded) != named(l->name);
	}
	for (size_t i = 0; i < LEN(xmls); i++)
		bad += oaformat_by_name(str_z(xmls[i].xml)) != named(xmls[i].name);
	check_u64(bad, 0, "formats are found by their number and by their name in metric files");
	check(!oaformat_by_number(false, 0) && !oaformat_by_number(true, 0) && !oaformat_by_number(false, 15) &&
	      !oaformat_by_number(true, 20) && !oaformat_by_number(false, 0x10a) && !oaformat_by_name((struct str){ 0 }) &&
	      !oaformat_by_name(str_z("")) && !oaformat_by_name(str_z("A1")) && !oaformat_by_name(str_z("A133")),
	      "unknown format numbers and names are not found");
}

/* --- report headers --------------------------------------------------------------------------- */

static const char *head_of(const struct oaformat *f, u64 id, u64 ts, u64 ctx, u64 ticks)
{
	char *p = edge_page(32);
	u64 wide[] = { id, ts, ctx, ticks };

	memset(p, 0xa5, 32);
	for (size_t i = 0; i < 4; i++)
		if (f->head == OH_WIDE)
			memcpy(p + 8 * i, &wide[i], 8);
		else
			memcpy(p + 4 * i, &wide[i], 4);
	return p;
}

static struct oareport report_of(const char *format, u16 gen, i32 exponent, u64 id, u64 ts, u64 ctx)
{
	const struct oaformat *f = named(format);
	struct oareport r;

	memset(&r, 0x5a, sizeof(r));
	oareport_head(f, gen, exponent, head_of(f, id, ts, ctx, 0x89abcdef12345678), &r);
	return r;
}

static void t_reasons(void)
{
	static const struct {
		u16 gen;
		const char *format;
		u32 bits;
		const char *name;
	} rows[] = {
		{ 800, "A32u40_A4u32_B8_C8", 0x3f, "gen8" }, { 900, "A32u40_A4u32_B8_C8", 0x3f, "gen9" },
		{ 1100, "A12", 0x3f, "gen11" }, { 1200, "A32u40_A4u32_B8_C8", 0x7f, "gen12" },
		{ 1255, "A24u40_A14u32_B8_C8", 0x7f, "DG2" }, { 1270, "OAM_MPEC8u32_B8_C8", 0x7f, "MTL media" },
		{ 1260, "OAC_A24u64_B8_C8", 0x7f, "PVC" }, { 2001, "PEC64u64", 0x3f, "BMG" },
		{ 2004, "PEC64u64", 0x3f, "LNL" }, { 3000, "PEC64u64", 0x3f, "PTL" },
	};
	static const char *const names[] = { "timer", "trigger1", "trigger2", "context-switch", "go-transition",
					     "clock-ratio-change", "mmio-trigger" };

	for (size_t i = 0; i < LEN(rows); i++) {
		size_t bad = 0;

		for (u32 v = 0; v < 128; v++) {
			struct oareport r = report_of(rows[i].format, rows[i].gen, 5, 0x0407ffffull | v << 19, 1, 7);
			u32 k = 0;

			if (rows[i].gen < 1200) /* the upper bits belong to the clock */
				r = report_of(rows[i].format, rows[i].gen, 5, 0xfc07ffffull | v << 19, 1, 7);
			while (k < 7 && !(v & rows[i].bits & 1u << k))
				k++;
			if (k == 7 ? r.reason != OA_UNKNOWN : strcmp(oareason_names[r.reason], names[k]) != 0)
				bad++;
		}
		check_u64(bad, 0, "%s: the lowest bit determines the report reason", rows[i].name);
	}
	check(strcmp(oareason_names[OA_UNKNOWN], "unknown") == 0,
	      "a report without a reason bit has an unknown reason");
}

static void t_gen7(void)
{
	static const struct {
		i32 exponent;
		u64 ts;
		u8 reason;
	} rows[] = {
		{ -1, 12345, OA_TIMER }, { 4, 0x10, OA_TIMER }, { 4, 0xabcdef30, OA_TIMER }, { 4, 0x20, OA_UNKNOWN },
		{ 4, 0x11, OA_UNKNOWN }, { 4, 0x18, OA_UNKNOWN }, { 4, 0, OA_UNKNOWN }, { 0, 1, OA_TIMER },
		{ 0, 2, OA_UNKNOWN }, { 31, 0x80000000, OA_TIMER }, { 31, 0x80000001, OA_UNKNOWN }, { 30, 0x40000000, OA_TIMER },
		{ 30, 0xc0000000, OA_TIMER }, { 30, 0x80000000, OA_UNKNOWN }, { INT32_MIN, 5, OA_TIMER }, { INT32_MAX, 5, OA_TIMER },
	};
	struct oareport r;

	for (size_t i = 0; i < LEN(rows); i++)
		check_u64(report_of("A45_B8_C8", 750, rows[i].exponent, 0x08000400, rows[i].ts, 7).reason, rows[i].reason,
			  "gen7: exponent %d, timestamp %" PRIx64, rows[i].exponent, rows[i].ts);
	r = report_of("A45_B8_C8", 750, -1, 0xffffffff, 0xfedcba98, 7);
	check(r.id == 0xffffffff && r.ts == 0xfedcba98 && !r.has_ctx && !r.has_ticks && !r.ctx && !r.ticks && !r.slice_hz &&
	      !r.unslice_hz, "gen7: a report has no context, no ticks and no clock frequencies");
	r = report_of("C4_B8", 750, -1, 0xffffffff, 5, 7);
	check(!r.has_ctx && !r.has_ticks && r.reason == OA_TIMER,
	      "gen7: a report in a format that later GPUs also use has no context and no ticks");
	r = report_of("A45_B8_C8", 900, -1, 0xffffffff, 5, 7);
	check(!r.has_ctx && !r.has_ticks, "gen7's format has no context and no ticks on a later GPU");
}

static void t_contexts(void)
{
	static const struct {
		u16 gen;
		const char *format;
		u64 id, ctx;
		bool valid;
	} rows[] = {
		{ 800, "A32u40_A4u32_B8_C8", 1 << 25, 7, true }, { 800, "A32u40_A4u32_B8_C8", ~(1u << 25), 7, false },
		{ 800, "A32u40_A4u32_B8_C8", 1 << 16, 7, false }, { 900, "A32u40_A4u32_B8_C8", 1 << 16, 7, true },
		{ 900, "A32u40_A4u32_B8_C8", ~(1u << 16), 7, false }, { 900, "A12", 1 << 16, 0, true },
		{ 1100, "A12_B8_C8", 1 << 25, 7, false }, { 1100, "A12_B8_C8", 1 << 16, 7, true },
		{ 1100, "A12_B8_C8", 1 << 16, 0xffffffff, false }, { 1200, "A32u40_A4u32_B8_C8", 1 << 16, 7, true },
		{ 1200, "A32u40_A4u32_B8_C8", 1 << 25, 7, false }, { 1200, "A32u40_A4u32_B8_C8", 1 << 16, 0xffffffff, false },
		{ 1255, "A24u40_A14u32_B8_C8", 0, 7, true }, { 1255, "A24u40_A14u32_B8_C8", 1 << 16, 0xffffffff, false },
		{ 1270, "OAM_MPEC8u64_B8_C8", 0, 7, true }, { 1270, "OAM_MPEC8u32_B8_C8", 0, 0xffffffff, false },
		{ 1270, "OAM_MPEC8u32_B8_C8", 0, 0x12ffffffff, false }, { 2000, "PEC64u64", 0, 0xab00000007, true },
		{ 3000, "PEC64u32", 0, 0xfffffffe, true },
	};
	struct oareport r;

	for (size_t i = 0; i < LEN(rows); i++) {
		r = report_of(rows[i].format, rows[i].gen, -1, rows[i].id, 1, rows[i].ctx);
		check(r.has_ctx == rows[i].valid && r.ctx == (u32)rows[i].ctx, "%u: context %" PRIx64 " of id %" PRIx64,
		      rows[i].gen, rows[i].ctx, rows[i].id);
	}
	r = report_of("A32u40_A4u32_B8_C8", 900, -1, 0x03 | 3u << 9 | 1u << 25, 0x1fffffffff, 7);
	check(r.has_ticks && r.ticks == 0x12345678 && r.ts == UINT32_MAX && r.id == (3 | 3u << 9 | 1u << 25),
	      "gen8: ID, timestamp and ticks have 32 bits");
	check(r.unslice_hz == 50000000 && r.slice_hz == (u64)385 * 50000000 / 3,
	      "clock frequencies are in units of 50/3 MHz");
	r = report_of("A32u40_A4u32_B8_C8", 900, -1, 0xfe0007ff, 0, 0);
	check(r.unslice_hz == (u64)511 * 50000000 / 3 && r.slice_hz == (u64)511 * 50000000 / 3,
	      "the highest clock frequencies");
	r = report_of("PEC64u64", 2000, -1, 0x1122334400400000, 0xaabbccddeeff0011, 0x99000000ff);
	check(r.has_ticks && r.ticks == 0x89abcdef12345678 && r.ts == 0xbbccddeeff0011 && r.id == 0x1122334400400000 &&
	      r.ctx == 0xff && r.reason == OA_CONTEXT_SWITCH, "wide header: 56 bits of timestamp, 64 of ticks, 32 of context");
}

/* Differences of timestamps and ticks. */
static void t_head_deltas(void)
{
	static const struct {
		const char *format;
		u64 ts0, ts1, ticks0, ticks1, time, clock;
	} rows[] = {
		{ "A45_B8_C8", 0xfffffff0, 0x10, 1, 9, 0x20, 0 },
		{ "A32u40_A4u32_B8_C8", 0xfffffff0, 0x10, 0xffffffff, 4, 0x20, 5 },
		{ "A32u40_A4u32_B8_C8", 5, 5, 7, 7, 0, 0 },
		{ "C4_B8", 1, 0, 1, 0, 0xffffffff, 0xffffffff },
		{ "PEC64u64", 0xfffffff0, 0x100000010, 0xffffffff, 0x100000004, 0x20, 5 },
		{ "PEC64u64", 0x12fffffffffffff0, 0xab00000000000010, UINT64_MAX, 4, 0x20, 5 },
		{ "OAM_MPEC8u32_B8_C8", 0, 0x00ffffffffffffff, 0, UINT64_MAX, 0x00ffffffffffffff, UINT64_MAX },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		const struct oaformat *f = named(rows[i].format);
		u64 sum[OA_SLOTS] = { 100, 200 }, v[OA_SLOTS];
		bool none[OA_SLOTS] = { 0 };
		char a[OA_REPORT_BYTES];
		const char *b;
		struct oaplan plan;

		memset(a, 0, sizeof(a));
		memcpy(a, head_of(f, 1, rows[i].ts0, 3, rows[i].ticks0), 32);
		b = head_of(f, 2, rows[i].ts1, 3, rows[i].ticks1);
		oaplan_make(&plan, f, none);
		oa_add(&plan, a, b, sum);
		oa_raw_values(&plan, b, v);
		check(sum[OA_TIME] == 100 + rows[i].time && sum[OA_CLOCK] == 200 + rows[i].clock && plan.nparts == 0 && !sum[OA_A] &&
		      v[OA_TIME] == (rows[i].ts1 & (f->head == OH_WIDE ? 0xffffffffffffff : UINT32_MAX)) &&
		      v[OA_CLOCK] == (f->head == OH_GEN7 ? 0 : rows[i].ticks1), "%s: time and ticks from %" PRIx64 " to %" PRIx64,
		      rows[i].format, rows[i].ts0, rows[i].ts1);
	}
}

static void t_filter(void)
{
	/* m: the measured context, i: invalid context, o: another context. +: the interval
	 * before the report counts. */
	static const struct {
		const char *reports, *takes, *any;
	} rows[] = {
		{ "mmm", ".++", ".++" }, { "omo", "..+", ".++" }, { "mim", ".+.", ".+." }, { "miim", ".+..", ".+.." },
		{ "iimmo", "...++", "...++" }, { "mooom", ".+...", ".++++" }, { "mimim", ".+.+.", ".+.+." },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct oafilter f = { .ctx = 7 }, any = { .any = true };
		size_t bad = 0;

		for (size_t k = 0; rows[i].reports[k]; k++) {
			char c = rows[i].reports[k];
			struct oareport r = { .ctx = c == 'o' ? 8 : 7, .has_ctx = c != 'i' };

			bad += oafilter_match(&f, &r) != (rows[i].takes[k] == '+');
			bad += oafilter_match(&any, &r) != (rows[i].any[k] == '+');
		}
		check_u64(bad, 0, "context filter: the counted reports of %s", rows[i].reports);
	}
}

/* --- records ---------------------------------------------------------------------------------- */

static char bytes[1 << 16];
static struct buf out;

static void rec(u32 type, u16 pad, u16 size, const char *body, size_t n)
{
	put_n(&out, (char *)&type, 4);
	put_n(&out, (char *)&pad, 2);
	put_n(&out, (char *)&size, 2);
	put_n(&out, body, n);
}

static struct str written(void)
{
	return edge_str(bytes, out.n);
}

/* Returns the types of the records in a stream, one letter each. */
static const char *types(struct str s, bool xe)
{
	static const char letters[] = "SRBVITCEeNux";
	static char got[100];
	struct str whole = s;
	struct oarec r;
	size_t n = 0;

	while (n < sizeof(got) - 2 && oarec_next(&s, xe, &r)) {
		if (r.type >= LEN(letters) - 1 || !within(r.body, whole))
			return "impossible";
		got[n++] = letters[r.type];
	}
	if (s.p < s.e)
		got[n++] = '+'; /* a record that is truncated */
	got[n] = '\0';
	return got;
}

static bool types_are(const char *want, bool xe)
{
	const char *got = types(written(), xe);

	if (strcmp(got, want) != 0)
		note("got %s, want %s", got, want);
	return strcmp(got, want) == 0;
}

static bool feed_types(struct str s)
{
	return strcmp(types(s, false), "impossible") != 0 && strcmp(types(s, true), "impossible") != 0;
}

static void t_framing(void)
{
	static const char body[700];
	bool xe;

	out = (struct buf){ .p = bytes, .cap = sizeof(bytes) };
	rec(1, 0, 264, body, 256);
	rec(2, 9, 8, body, 0);
	rec(3, 0, 24, body, 16); /* this type normally has no body */
	rec(4, 0, 8, body, 0);
	rec(7, 0, 16, body, 8);
	rec(65536, 0, 16, body, 8);
	rec(65539, 0, 24, body, 16);
	rec(65540, 0, 8, body, 0);
	rec(0xffffffff, 0xffff, 8, body, 0);
	rec(0, 0, 8, body, 0);
	check(types_are("SRBuuVCuuu", false), "records: all types of i915");
	check(types_are("SRBVCuuuuu", true), "records: a recording from xe");
	for (u16 size = 0; size < 8; size++) {
		out.n = 0;
		rec(2, 0, 8, body, 0);
		rec(1, 0, size, body, 256);
		rec(1, 0, 264, body, 256);
		check(types_are("Rx", false), "record size %u: corrupt, later records are not read", size);
	}
	out.n = 0;
	rec(1, 0, 264, body, 256);
	rec(1, 0, 264, body, 255);
	check(types_are("S+", false), "records: a truncated body is corrupt");
	for (size_t n = 1; n < 8; n++) {
		out.n = 272 - n;
		check(types_are("S+", false),
		      "records: a header that is truncated by %zu bytes is corrupt", n);
	}
	out.n = 264;
	check(types_are("S", false), "records: a complete record is read");
	out.n = 0;
	check(types_are("", false), "records: an empty stream has none");
	rec(1, 0, 20, body, 12);
	rec(1, 0, 700, body, 692);
	rec(1, 0, 9, body, 1);
	rec(2, 0, 8, body, 0);
	check(types_are("SSSR", false), "records: other sizes, also odd ones, are read");
	out.n = 0;
	rec(2, 0, 8, body, 0);
	rec(3, 0, 24, "0123456789abcdef", 16);
	rec(65538, 0, 12, body, 4);
	check(replay((struct str){ bytes, bytes + out.n }, feed_types), "every truncation and change of records");
	check(!oarec_is_recording(written(), &xe), "a stream of the driver is not a recording");
	out.n = 0;
	rec(4, 0, 264, body, 256);
	check(!oarec_is_recording(written(), &xe), "a stream with a longer record of the same type is not a recording");
}

static void t_recording(bool xe)
{
	struct oainfo want = { 19200000, 0x9a49, 4, 100000000, 1300000000, 2, 1, 12, STR("RenderBasic"),
			       STR("00000000-1111-2222-3333-444444444444") }, got;
	static char info_bytes[400], again[400];
	struct buf info = { .p = info_bytes, .cap = sizeof(info_bytes) }, back = { .p = again, .cap = sizeof(again) };
	u64 points[2] = { 0x1122334455667788, 0x99aabbccddeeff00 }, cpu, gpu;
	u32 version[2] = { 1, 0 };
	const char *is = xe ? "xe" : "i915";
	struct oarec r = { 0 };
	struct str s, whole;
	bool found = !xe;

	out = (struct buf){ .p = bytes, .cap = sizeof(bytes) };
	put_oainfo(&info, &want);
	put_oarec(&out, xe, OT_VERSION, (struct str){ (char *)version, (char *)version + 8 });
	put_oarec(&out, xe, OT_INFO, (struct str){ info.p, info.p + info.n });
	for (size_t n = 0; n < 9; n++)
		put_oarec(&out, xe, OT_TOPOLOGY, (struct str){ "topology", &"topology"[n] });
	put_oarec(&out, xe, OT_CORRELATION, (struct str){ (char *)points, (char *)points + 16 });
	put_oarec(&out, xe, OT_NUMBERS, (struct str)STR("GraphicsVersion 3000\n"));
	put_oarec(&out, xe, OT_SAMPLE, (struct str){ info.p, info.p + 256 });
	put_oarec(&out, xe, OT_REPORT_LOST, (struct str){ 0 });
	put_oarec(&out, xe, OT_BUFFER_LOST, (struct str){ 0 });
	check(types_are("VITTTTTTTTTCNSRB", xe), "%s: the written records are read back", is);
	check(!out.full && info.n == 336, "%s: DEVICE_INFO has 336 bytes", is);
	s = whole = written();
	check(oarec_is_recording(whole, &found) && found == xe, "%s: the recording is recognized", is);
	check(oarec_next(&s, xe, &r) && oarec_version(r.body, &version[0]) && version[0] == 1 && r.number == (xe ? 4 : 65536),
	      "%s: the version is read back", is);
	check(oarec_next(&s, xe, &r) && oarec_info(r.body, &got) && got.ts_hz == want.ts_hz && got.pci == want.pci &&
	      got.revision == 4 && got.min_hz == want.min_hz && got.max_hz == want.max_hz && got.engine_class == 2 &&
	      got.engine_instance == 1 && got.format == 12 && str_eq(got.set, want.set) && str_eq(got.guid, want.guid),
	      "%s: DEVICE_INFO is read back", is);
	for (size_t n = 0; n < 9; n++)
		check(oarec_next(&s, xe, &r) && str_len(r.body) == (n + 7) / 8 * 8 && memcmp(r.body.p, "topology", n) == 0 &&
		      memcmp(r.body.p + n, "\0\0\0\0\0\0\0", str_len(r.body) - n) == 0,
		      "%s: a topology of %zu bytes is read back", is, n);
	check(oarec_next(&s, xe, &r) && oarec_correlation(r.body, &cpu, &gpu) && cpu == points[0] && gpu == points[1],
	      "%s: the correlation is read back", is);

	/* Names that are longer than their field, and names that fill it without a NUL. */
	memset(bytes, 'x', 400);
	want.set = want.guid = (struct str){ bytes, bytes + 400 };
	put_oainfo(&back, &want);
	check(back.n == 336 && oarec_info(edge_str(again, 336), &got) && str_len(got.set) == 255 && str_len(got.guid) == 39,
	      "%s: a name that is too long is cut and ends with a NUL", is);
	memset(again + 36, 'y', 300);
	check(oarec_info(edge_str(again, 336), &got) && str_len(got.set) == 256 && str_len(got.guid) == 40,
	      "%s: a name without a NUL ends with its field", is);
}

static void t_short_records(void)
{
	struct buf small = { .p = bytes, .cap = sizeof(bytes) };
	char zeros[336] = { 0 };
	struct oainfo i;
	u64 cpu, gpu;
	size_t bad = 0;
	u32 version;
	bool xe;

	for (size_t n = 0; n < 336; n++) {
		bad += oarec_info(edge_str(zeros, n), &i);
		bad += n < 8 && oarec_version(edge_str(zeros, n), &version);
		bad += n < 16 && oarec_correlation(edge_str(zeros, n), &cpu, &gpu);
		bad += oarec_is_recording(edge_str(zeros, n), &xe);
	}
	check_u64(bad, 0, "records that are too short are refused");
	check(oarec_info(edge_str(zeros, 336), &i) && !str_len(i.set) && !str_len(i.guid),
	      "DEVICE_INFO may have empty names");
	put_oarec(&small, false, OT_SAMPLE, (struct str){ bytes, bytes + 65528 });
	check(small.full && !small.n,
	      "a record that is too large for the size field is not written, and the buffer is full");
	small.full = false;
	put_oarec(&small, false, OT_TOPOLOGY, (struct str){ edge_page(65525), edge_page(0) });
	check(small.full && !small.n, "the size limit includes the padding");
	small.full = false;
	put_oarec(&small, false, OT_SAMPLE, (struct str){ edge_page(65527), edge_page(0) });
	check(!small.full && small.n == 65535, "a record of the largest size is written");
}

static void t_cpu_time(void)
{
	static const struct {
		const char *format;
		u64 cpu, gpu;
		u8 shift;
		u64 hz, ts, want;
	} rows[] = {
		{ "A45_B8_C8", 1000000000, 100, 0, 12500000, 112, 1000000960 },
		{ "A45_B8_C8", 1000000000, 100, 0, 12500000, 88, 999999040 },
		{ "A32u40_A4u32_B8_C8", 1000000000, 0xfffffff0, 0, 1000000000, 0x10, 1000000032 },
		{ "A32u40_A4u32_B8_C8", 1000000000, 0x10, 0, 1000000000, 0xfffffff0, 999999968 },
		{ "A32u40_A4u32_B8_C8", 1000000000, 0x7fffffff0, 0, 1000000000, 0x10, 1000000032 },
		{ "A24u40_A14u32_B8_C8", 1000000000, 0x7ffffff0, 1, 1000000000, 0x20, 1000000064 },
		{ "A24u40_A14u32_B8_C8", 1000000000, 0xfffffff8, 1, 1000000000, 0x10, 1000000032 },
		{ "PEC64u64", 1000000000, 0xffffffff0, 0, 1000000000, 0x1000000010, 1000000032 },
		{ "PEC64u64", 1000000000, 0xffffffff0, 0, 1000000000, 0x7000000010, 1000000032 },
		{ "PEC64u64", 10000000000, 0x100000000, 0, 1000000000, 0, 10000000000 - 0x100000000 },
		{ "PEC64u64", 5, 0, 0, 1, 1, 1000000005 },
		{ "PEC64u64", 5, 0, 0, 1000000000, 0x7ffffffff, 5 + 0x7ffffffffull },
		{ "PEC64u64", 5, 1, 0, 1, 0, 0 },
		{ "PEC64u64", UINT64_MAX - 5, 0, 0, 1, 1, UINT64_MAX },
		{ "PEC64u64", 7, 1, 0, 0, 9, 7 },
		{ "A45_B8_C8", 7, 1, 255, UINT64_MAX, 9, 7 },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check_u64(oa_cpu_time(named(rows[i].format), rows[i].cpu, rows[i].gpu, rows[i].shift, rows[i].hz, rows[i].ts),
			  rows[i].want, "CPU time of timestamp %" PRIx64 ", correlated at %" PRIx64 ", %s",
			  rows[i].ts, rows[i].gpu, rows[i].format);
}

/* --- recordings ------------------------------------------------------------------------------- */

static const struct platform {
	const char *name; /* as in gen_recording.py */
	u16 gen;
	const char *format;
	u8 shift;
} platforms[] = {
	{ "hsw", 750, "A45_B8_C8", 0 },
	{ "bdw", 800, "A32u40_A4u32_B8_C8", 0 },
	{ "sklgt2", 900, "A32u40_A4u32_B8_C8", 0 },
	{ "bxt", 900, "A32u40_A4u32_B8_C8", 0 },
	{ "icl", 1100, "A32u40_A4u32_B8_C8", 0 },
	{ "tglgt2", 1200, "A32u40_A4u32_B8_C8", 0 },
	{ "acmgt3", 1255, "A24u40_A14u32_B8_C8", 1 },
	{ "mtlgt2", 1270, "A24u40_A14u32_B8_C8", 1 },
	{ "mtloam", 1270, "OAM_MPEC8u32_B8_C8", 1 },
	{ "xe-tglgt2", 1200, "A32u40_A4u32_B8_C8", 0 },
	{ "xe-acmgt3", 1255, "A24u40_A14u32_B8_C8", 1 },
	{ "xe-lnl", 2000, "PEC64u64", 0 },
	{ "xe-bmg", 2000, "PEC64u64", 0 },
};

static const struct platform *platform(const char *name)
{
	for (size_t i = 0; i < LEN(platforms); i++)
		if (strcmp(platforms[i].name, name) == 0)
			return &platforms[i];
	abort();
}

static char file[1 << 20], line[1 << 14];

/* The position of a key's value in a line of JSON. */
static const char *value(const char *key)
{
	char quoted[32];
	const char *p;

	snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	p = strstr(line, quoted);
	return p ? p + strlen(quoted) : NULL;
}

static u64 number(const char *key)
{
	const char *p = value(key);

	return p ? strtoull(p, NULL, 10) : 0;
}

static bool says(const char *key, const char *word)
{
	const char *p = value(key);

	return p && strncmp(p, word, strlen(word)) == 0;
}

struct replayed {
	const struct platform *on;
	const struct oaformat *format;
	struct oaplan plan;
	const char *last;
	u64 hz, cpu, gpu; /* the first correlation */
	u64 time;         /* since the first sample */
	bool correlated, xe;
	size_t bad;
};

static void wrong(struct replayed *t, const char *what)
{
	if (!t->bad++)
		note("%s: %.120s", what, line);
}

static void same_deltas(struct replayed *t, const char *report)
{
	u64 sum[OA_SLOTS] = { 0 };
	const char *p = value("d");
	size_t n = 0, a = strcmp(t->format->letter, "PEC") == 0 ? 64 : t->format->i915 == 5 ? 45 : t->format->i915 == 12 ? 38 :
		  t->format->i915 == 14 ? 8 : 36;

	oa_add(&t->plan, t->last, report, sum);
	t->time += number("dts");
	if (sum[OA_TIME] != number("dts") || sum[OA_CLOCK] != number("dticks"))
		wrong(t, "time or ticks");
	for (; p && (*p == '[' || *p == ','); n++) {
		char *end;
		u64 want = strtoull(p + 1, &end, 10);

		p = end;
		if (sum[n < a ? OA_A + n : OA_B + n - a] != want)
			wrong(t, "a delta");
	}
	if (n != a + (a == 64 ? 0 : 16))
		wrong(t, "the number of deltas");
}

static void same_sample(struct replayed *t, const struct oarec *r)
{
	struct oareport h;

	if (r->type != OT_SAMPLE || str_len(r->body) < t->plan.bytes || str_len(r->body) > t->format->size) {
		wrong(t, "not a sample");
		return;
	}
	oareport_head(t->format, t->on->gen, -1, r->body.p, &h);
	if (h.id != number("id") || h.ts != number("ts") || (h.has_ticks && h.ticks != number("ticks")))
		wrong(t, "id, timestamp or ticks");
	if (h.has_ctx != says("ctx_valid", "true") || (h.has_ctx && h.ctx != number("ctx")))
		wrong(t, "context");
	if (!value("reason") || strncmp(value("reason") + 1, oareason_names[h.reason], strlen(oareason_names[h.reason])) != 0)
		wrong(t, "reason");
	if (t->last)
		same_deltas(t, r->body.p);
	t->last = r->body.p;
	if (t->correlated) { /* two periods after the first correlation */
		u64 want = t->cpu + muldiv(t->time + (2 << 14), 1000000000, t->hz), slack = (1000000000 << t->on->shift) / t->hz + 2;
		u64 cpu = oa_cpu_time(t->format, t->cpu, t->gpu, t->on->shift, t->hz, h.ts);

		if (cpu + slack < want || cpu > want + slack)
			wrong(t, "CPU time");
	}
}

/* Checks the records that exist only in recordings. Returns false for any other record. */
static bool own(struct replayed *t, const struct oarec *r, size_t nth)
{
	static const u8 first[] = { OT_VERSION, OT_INFO, OT_TOPOLOGY, OT_CORRELATION };
	struct oainfo i;
	u64 cpu, gpu;

	if (nth < LEN(first) && r->type != first[nth])
		wrong(t, "order");
	if (r->type == OT_INFO) {
		if (!oarec_info(r->body, &i) || oaformat_by_number(t->xe, i.format) != t->format || i.min_hz > i.max_hz)
			wrong(t, "info");
		t->hz = i.ts_hz;
	}
	if (r->type == OT_CORRELATION) {
		if (!oarec_correlation(r->body, t->correlated ? &cpu : &t->cpu, t->correlated ? &gpu : &t->gpu))
			wrong(t, "correlation");
		t->correlated = true;
	}
	return r->type >= OT_VERSION && r->type <= OT_NUMBERS;
}

static void t_truth(const char *path, const char *truth, const struct platform *on, bool raw, const char *what)
{
	struct replayed t = { .on = on, .format = named(on->format) };
	FILE *f = fopen(path, "rb"), *lines = fopen(truth, "r");
	size_t n = f ? fread(file, 1, sizeof(file), f) : 0, seen = 0, nth = 0;
	struct str s = { file, file + n };
	struct oarec r;

	if (!check(f && lines && n && n < sizeof(file), "%s: the recording and the expected result can be read", what))
		return;
	oaplan_make(&t.plan, t.format, NULL);
	check(oarec_is_recording(s, &t.xe) == !raw && (raw || t.xe == (strncmp(on->name, "xe-", 3) == 0)),
	      "%s: a recording is recognized, a raw stream is not", what);
	t.xe &= !raw;
	while (oarec_next(&s, t.xe, &r)) {
		if (!raw && own(&t, &r, nth++))
			continue;
		if (!fgets(line, sizeof(line), lines)) {
			wrong(&t, "more records than expected");
			break;
		}
		seen++;
		if (number("off") != (u64)(r.body.p - 8 - file))
			wrong(&t, "offset");
		if (says("kind", "\"sample\""))
			same_sample(&t, &r);
		else if (says("kind", "\"unknown\"")) {
			if (r.type != OT_UNKNOWN || r.number != number("type") || str_len(r.body) + 8 != number("size"))
				wrong(&t, "unknown record");
		} else if (r.type != (says("kind", "\"report_lost\"") ? OT_REPORT_LOST : OT_BUFFER_LOST)) {
			wrong(&t, "kind");
		}
	}
	/* A truncated record is not read. */
	if (fgets(line, sizeof(line), lines) &&
	    (s.p == s.e || number("off") != (u64)(s.p - file) || fgets(line, sizeof(line), lines)))
		wrong(&t, "fewer records than expected");
	check(!t.bad && seen > 10, "%s: the records are as expected", what);
	fclose(f);
	fclose(lines);
}

static void t_shared(void)
{
	static const struct {
		const char *path, *truth, *on;
	} rows[] = {
		{ "rec/hsw_basic.rec", "expected/hsw_basic", "hsw" }, { "rec/mtl_basic.rec", "expected/mtl_basic", "mtlgt2" },
		{ "rec/skl_events.rec", "expected/skl_events", "sklgt2" }, { "rec/tgl_ctx.rec", "expected/tgl_ctx", "tglgt2" },
		{ "rec/xe_lnl.rec", "expected/xe_lnl", "xe-lnl" }, { "raw/hsw_a45.raw", "raw/hsw_a45", "hsw" },
		{ "raw/skl_cut.raw", "raw/skl_cut", "sklgt2" },
	};
	char path[200], truth[200];

	for (size_t i = 0; i < LEN(rows); i++) {
		snprintf(path, sizeof(path), "../shared/oa/%s", rows[i].path);
		snprintf(truth, sizeof(truth), "../shared/oa/%s.truth.jsonl", rows[i].truth);
		t_truth(path, truth, platform(rows[i].on), strncmp(rows[i].path, "raw", 3) == 0, rows[i].path);
	}
}

/* folder: path of the generator of recordings */
static void t_generated(const char *folder)
{
	static const char *const options[] = {
		"--seed 1 --wrap32 --wrap40 --tswrap natural --lost 4 --overflow 3 --unknown 6 --pad",
		"--seed 2 --wrap40 --reports 300 --ctx 0 --idle --fuse",
		"--seed 3 --wrap32 --tswrap natural --lost 2 --overflow 2 --unknown 2 --raw --truncate 11",
	};
	char command[600], what[200], rec[100], truth[100];
	int fds[2] = { mkstemp(temporary_name(rec, sizeof(rec), "rec")), mkstemp(temporary_name(truth, sizeof(truth), "truth")) };

	if (!check(fds[0] >= 0 && fds[1] >= 0, "%s: temporary files are made", folder))
		return;
	close(fds[0]);
	close(fds[1]);
	for (size_t i = 0; i < LEN(platforms); i++)
		for (size_t k = 0; k < LEN(options); k++) {
			bool raw = strstr(options[k], "--raw");

			if (raw && strncmp(platforms[i].name, "xe-", 3) == 0)
				continue; /* for xe, read() returns reports without records */
			snprintf(command, sizeof(command), "python3 -B %s/gen_recording.py %s %s %s --truth %s", folder,
				 platforms[i].name, rec, options[k], truth);
			snprintf(what, sizeof(what), "%s: %s %s", folder, platforms[i].name, options[k]);
			if (check(system(command) == 0, "%s: the recording is generated", what))
				t_truth(rec, truth, &platforms[i], raw, what);
		}
	unlink(rec);
	unlink(truth);
}

/* --- steps from report to report -------------------------------------------------------------- */

static char step_a[OA_REPORT_BYTES], step_b[OA_REPORT_BYTES];

/* The step between reports with these ids and timestamps; longest step: 1000 ticks. */
static u8 step(const struct oaformat *f, u64 ts, u64 id, u64 ts2)
{
	bool wide = f->head == OH_WIDE;

	memset(step_a, 0x11, sizeof(step_a));
	memset(step_b, 0x22, sizeof(step_b));
	memcpy(step_a + (wide ? 8 : 4), &ts, wide ? 8 : 4);
	memcpy(step_b, &id, wide ? 8 : 4);
	memcpy(step_b + (wide ? 8 : 4), &ts2, wide ? 8 : 4);
	return oa_step(f, step_a, step_b, 1000);
}

static void t_steps(void)
{
	const struct oaformat *gen7 = oaformat_by_name(LIT("A45_B8_C8")), *gen8 = oaformat_by_name(LIT("A32u40_A4u32_B8_C8")),
			      *wide = oaformat_by_name(LIT("PEC64u64"));
	const struct oaformat *all[] = { gen7, gen8, wide };

	for (size_t i = 0; i < LEN(all); i++) {
		const struct oaformat *f = all[i];
		u64 range = f == wide ? UINT64_C(1) << 56 : UINT64_C(1) << 32;

		check(step(f, 5000, 1, 5000) == STEP_KNOWN && step(f, 5000, 1, 6000) == STEP_KNOWN &&
		      step(f, range - 1, 1, 999) == STEP_KNOWN, "%s: steps forward, also across a wrap", f->name);
		check(step(f, 5000, 1, 6001) == STEP_GAP && step(f, 5000, 1, 5000 + range / 2 - 1) == STEP_GAP,
		      "%s: steps up to half the range are forward, but too long", f->name);
		check(step(f, 5000, 1, 5000 + range / 2) == STEP_BACKWARD && step(f, 5000, 1, 4999) == STEP_BACKWARD &&
		      step(f, 0, 1, range - 1) == STEP_BACKWARD, "%s: longer steps are backward", f->name);
		check(step(f, range - 1, 0, 0) == STEP_UNWRITTEN && step(f, range - 1, 1, 0) == STEP_KNOWN &&
		      step(f, 10, 0, 20) == STEP_KNOWN,
		      "%s: a report with id and timestamp 0 is invalid; one of them may be 0",
		      f->name);
		check(oa_step(f, NULL, step_b, 0) == STEP_KNOWN,
		      "%s: the first report of a stream is valid", f->name);
		memset(step_b, 0, sizeof(step_b));
		check(oa_step(f, NULL, step_b, 0) == STEP_UNWRITTEN,
		      "%s: a first report without content is invalid", f->name);
	}
	check_u64(oa_longest(gen8, 12000000, 1200000000), 42949672, "a clock of 1.2 GHz and 32 bits wraps after 3.58 s");
	check_u64(oa_longest(gen7, 12500000, 0), 17895697, "an unknown clock is at most 3 GHz: 1.43 s");
	check_u64(oa_longest(gen8, 19200000, 1), INT32_MAX,
	          "the longest step is at most half the range");
	check_u64(oa_longest(gen8, 0, 1200000000), INT32_MAX,
	          "the longest step is half the range if the frequency of timestamps is unknown");
	check_u64(oa_longest(wide, 19200000, 0), UINT64_C(1) << 40,
	          "the longest step of a clock of 64 bits");
}

int main(void)
{
	t_steps();
	t_formats();
	t_reasons();
	t_gen7();
	t_contexts();
	t_head_deltas();
	t_filter();
	t_framing();
	t_recording(false);
	t_recording(true);
	t_short_records();
	t_cpu_time();
	if (access("../shared/oa/rec", R_OK) != 0)
		check(true, "the recordings of ../shared/oa # SKIP no ../shared/oa");
	else
		t_shared();
	if (system("python3 -c 0") != 0) {
		check(true, "generated recordings # SKIP needs package python3");
		return unit_end();
	}
	t_generated("tests/oa");
	if (access("../shared/oa/gen_recording.py", R_OK) == 0)
		t_generated("../shared/oa");
	return unit_end();
}
