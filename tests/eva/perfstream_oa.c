/* perfstream_oa.c - perfstream.c: OA reports and records, samples of EU stalls, and records of
 * msm's counters.
 * A format is one of oaformats, and a plan is a result of oaplan_make(), for any slots. A report
 * has as many bytes as its plan requires: callers check this first.
 * eva: perfstream.c parse.c -eva-precision 1 -eva-auto-loop-unroll 8 -eva-unroll-recursive-calls 2 -eva-split-return auto -eva-slevel-function oaformat_by_name:200
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char text[TEXT_CAP], name[4096], to[TEXT_CAP], a[OA_REPORT_BYTES], b[OA_REPORT_BYTES];
static u64 sum[OA_SLOTS];
static bool slots[OA_SLOTS];

/* Checks every format; a report has only as many bytes as its plan requires. */
static void reports(void)
{
	struct oareport r;
	struct oafilter filter = { any(), any_bool(), any_bool() };
	struct oaplan plan;
	struct buf out;

	for (size_t i = 0; i < OA_SLOTS; i++)
		slots[i] = any_bool();
	any_bytes(a, sizeof(a));
	any_bytes(b, sizeof(b));
	any_bytes(sum, sizeof(sum));
	//@ loop unroll 25;
	for (size_t i = 0; i < noaformats; i++) {
		const struct oaformat *f = &oaformats[i];
		const char *was, *is;

		oaplan_make(&plan, f, any_bool() ? slots : NULL);
		was = a + sizeof(a) - plan.bytes;
		is = b + sizeof(b) - plan.bytes;
		oareport_head(f, (u16)any(), (i32)any(), is, &r);
		oafilter_match(&filter, &r);
		oa_ts_delta(f, any(), any());
		oa_step(f, any_bool() ? was : NULL, is, oa_longest(f, any(), any()));
		oa_cpu_time(f, any(), any(), (u8)any(), any(), any());
		oa_add(&plan, was, is, sum);
		oa_raw_values(&plan, is, sum);
		out = BUF(to);
		out.n = any_to(out.cap);
		oaslot_name(f, any(), &out);
	}
}

static void records(struct str s)
{
	struct buf out = BUF(to);
	struct oarec r;
	struct oainfo info;
	u32 version;
	u64 cpu, gpu;
	bool xe;

	oarec_is_recording(s, &xe);
	xe = any_bool();
	for (struct str rest = s; again() && oarec_next(&rest, xe, &r);)
		see(r.body);
	oarec_version(s, &version);
	oarec_correlation(s, &cpu, &gpu);
	out.n = any_to(out.cap);
	put_oarec(&out, xe, (u8)any_to(OT_NUMBERS), s);
	if (oarec_info(s, &info)) {
		see(info.set);
		see(info.guid);
		put_oainfo(&out, &info);
	}
}

static void stalls(struct str s)
{
	const struct stallformat *f = stallformat_of((u32)any());
	struct str samples;
	struct stall stall;
	u64 ns;

	if (oarec_stalls(s, &ns, &samples))
		while (again() && stall_next(f, &samples, &stall))
			see(samples);
}

static void counters(struct str s)
{
	static struct cntsum sums;

	any_bytes(&sums, sizeof(sums));
	cntrec_add(&sums, s);
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct str s = ANY_IN(text);

		records(s);
		stalls(s);
		counters(s);
		reports();
		oaformat_by_name(ANY_IN(name));
		oaformat_by_number(any_bool(), (u32)any());
	}
	return 0;
}
