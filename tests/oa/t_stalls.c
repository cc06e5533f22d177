/* t_stalls.c - unit test of perfstream.c: samples of EU stalls: the layouts of all GPUs,
 * and records of recordings. SPDX-License-Identifier: MIT */
#include "unit.h"

/* The expected layouts: the members of struct xe_eu_stall_data_pvc, _xe2 and _xe3p of
 * drivers/gpu/drm/xe/xe_eu_stall.c, each with its first bit as the comments there have it. */
static const struct {
	const char *gpu;
	u32 version;
	u8 address_bits;
	struct {
		const char *name;
		u8 first;
	} members[STALL_REASONS];
} layouts[] = {
	{ "Ponte Vecchio", 12, 29,
	  { { "active", 29 }, { "other", 37 }, { "control", 45 }, { "pipestall", 53 }, { "send", 61 },
	    { "dist_acc", 69 }, { "sbid", 77 }, { "sync", 85 }, { "inst_fetch", 93 } } },
	{ "Xe2", 20, 29,
	  { { "tdr", 29 }, { "other", 37 }, { "control", 45 }, { "pipestall", 53 }, { "send", 61 },
	    { "dist_acc", 69 }, { "sbid", 77 }, { "sync", 85 }, { "inst_fetch", 93 }, { "active", 101 } } },
	{ "Xe3p", 35, 61,
	  { { "tdr", 61 }, { "other", 69 }, { "control", 77 }, { "pipestall", 85 }, { "send", 93 },
	    { "dist_acc", 101 }, { "sbid", 109 }, { "sync", 117 }, { "inst_fetch", 125 }, { "active", 133 } } },
};

/* Stores the lowest n bits of v at a bit of the sample, one by one. */
static void put_bits(char *sample, unsigned at, unsigned n, u64 v)
{
	for (; n--; at++, v >>= 1)
		sample[at / 8] = (char)((sample[at / 8] & ~(1 << at % 8)) | (int)(v & 1) << at % 8);
}

/* Returns the count of the reason with this name; -1: the layout has none, or the name is
 * unknown. */
static int count_of(const struct stallformat *f, const struct stall *s, const char *name)
{
	for (size_t i = 0; i < STALL_REASONS; i++)
		if (strcmp(stallreason_names[i], name) == 0)
			return f->at[i] ? s->counts[i] : -1;
	return -1;
}

static size_t reasons_of(const struct stallformat *f)
{
	size_t n = 0;

	for (size_t i = 0; i < STALL_REASONS; i++)
		n += f->at[i] != 0;
	return n;
}

/* Each count alone, between bits that are all set or all clear. */
static void test_layouts(void)
{
	for (size_t i = 0; i < LEN(layouts); i++) {
		const struct stallformat *f = stallformat_of(layouts[i].version);
		u64 mask = UINT64_MAX >> (64 - layouts[i].address_bits);
		char sample[STALL_BYTES];
		size_t n = 0, bad = 0;
		struct stall s;

		for (; n < STALL_REASONS && layouts[i].members[n].name; n++)
			for (int ones = 0; ones < 2; ones++) {
				struct str at = { sample, sample + sizeof(sample) };

				memset(sample, ones ? 0xff : 0, sizeof(sample));
				put_bits(sample, layouts[i].members[n].first, 8, 0x5a);
				put_bits(sample, 0, layouts[i].address_bits, 0x123456789abcdef & mask);
				bad += !stall_next(f, &at, &s) || at.p != at.e || count_of(f, &s, layouts[i].members[n].name) != 0x5a ||
				       s.ip != (0x123456789abcdef & mask) * 8;
			}
		check_u64(bad, 0,
		          "%s: the address and each count are at the places of the driver",
		          layouts[i].gpu);
		check_u64(reasons_of(f), n, "%s: the layout has no other reason", layouts[i].gpu);
	}
}

static void test_versions(void)
{
	check(stallformat_of(0) == stallformat_of(19), "PVC: xe reports no version of its graphics");
	check(stallformat_of(20) == stallformat_of(34) && stallformat_of(20) != stallformat_of(19), "Xe2 and Xe3 have the same layout");
	check(stallformat_of(35) == stallformat_of(UINT32_MAX) && stallformat_of(35) != stallformat_of(34),
	      "GPUs after Xe3p have its layout");
}

/* Every truncation of three samples, before an inaccessible page. */
static void test_truncated(void)
{
	char samples[3 * STALL_BYTES];
	u32 bad = 0;

	for (size_t i = 0; i < sizeof(samples); i++)
		samples[i] = (char)(i * 7 + 1);
	for (size_t n = 0; n <= sizeof(samples); n++) {
		struct str s = edge_str(samples, n);
		struct stall stall;
		size_t whole = 0;

		while (stall_next(stallformat_of(35), &s, &stall))
			whole++;
		bad += whole != n / STALL_BYTES || str_len(s) != n % STALL_BYTES;
	}
	check_u64(bad, 0, "of truncated samples, the complete ones are read, and the rest is kept");
}

static void test_records(void)
{
	char bytes[256], body[8 + STALL_BYTES] = { 1, 2, 3 };
	const u8 types[] = { OT_STALLS, OT_STALLS_LOST };
	struct buf b = BUF(bytes);
	struct str s, samples;
	struct oarec r;
	u32 bad = 0;
	u64 ns;

	for (size_t i = 0; i < LEN(types); i++)
		for (int xe = 0; xe < 2; xe++) {
			b.n = 0;
			put_oarec(&b, xe, types[i], (struct str){ body, body + sizeof(body) });
			s = (struct str){ b.p, b.p + b.n };
			bad += !oarec_next(&s, xe, &r) || r.type != types[i] || str_len(r.body) != sizeof(body) || s.p != s.e;
			bad += r.number < 1 << 17;
		}
	check_u64(bad, 0,
	          "records of stalls are read as they were written, and their types are larger "
	          "than those of IGT");
	check(oarec_stalls(r.body, &ns, &samples) && ns == 0x030201 && str_len(samples) == STALL_BYTES,
	      "a record of stalls has a time and samples");
	check(oarec_stalls((struct str){ body, body + 8 }, &ns, &samples) && samples.p == samples.e,
	      "a record of stalls may have no sample");
	check(!oarec_stalls((struct str){ body, body + 7 }, &ns, &samples),
	      "a record of stalls with a truncated time is refused");
}

int main(void)
{
	test_layouts();
	test_versions();
	test_truncated();
	test_records();
	return unit_end();
}
