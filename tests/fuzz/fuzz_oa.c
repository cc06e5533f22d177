/* fuzz_oa.c - any bytes as a stream of OA records or as a recording, its samples read in any
 * format. An input begins with struct head; the records follow.
 * SPDX-License-Identifier: MIT */
#include "fuzz.h"

struct head {
	u8 format; /* for streams without DEVICE_INFO */
	u8 gen;    /* in halves */
	u8 xe, shift;
	i32 exponent;
	u64 slots; /* one bit each, repeated */
};

struct replayed {
	const struct head *head;
	const struct oaformat *format;
	struct oaplan all, some;
	bool slots[OA_SLOTS];
	struct oafilter filter;
	struct str last;
	u64 cpu, gpu, hz;
};

static void run_format(struct replayed *t, const struct oaformat *f)
{
	char name[16];
	size_t wanted = 0, got = 0;

	t->format = f;
	t->last = (struct str){ 0 };
	for (size_t i = 0; i < OA_SLOTS; i++) {
		struct buf b = { .p = name, .cap = sizeof(name) };

		t->slots[i] = t->head->slots >> i % 64 & 1;
		wanted += oaslot_name(f, i, &b) && t->slots[i];
		must(!b.full && b.n < 6, "names fit into the buffer");
	}
	oaplan_make(&t->all, f, NULL);
	oaplan_make(&t->some, f, t->slots);
	for (size_t i = 0; i < t->some.nparts; i++)
		got += (size_t)(t->some.parts[i].to - t->some.parts[i].from);
	must(got == wanted && t->some.nparts <= OA_SLOTS, "a plan contains the requested slots");
	must(t->some.bytes == t->all.bytes && t->all.bytes <= f->size && f->size <= OA_REPORT_BYTES, "reports fit into the buffer");
}

static void run_sample(struct replayed *t, struct str body)
{
	u64 all[OA_SLOTS] = { 0 }, some[OA_SLOTS] = { 0 }, was[OA_SLOTS], now[OA_SLOTS];
	struct oareport r;

	if (str_len(body) < t->all.bytes)
		return;
	oareport_head(t->format, (u16)(t->head->gen * 50), t->head->exponent, body.p, &r);
	must(r.reason < OA_REASONS && oareason_names[r.reason], "reasons have names");
	must(r.has_ticks || (!r.has_ctx && !r.ticks && !r.ctx), "gen7 has neither ticks nor a context");
	must(r.ctx <= UINT32_MAX && r.unslice_hz <= 8516666666 && r.slice_hz <= 8516666666, "values of report heads are in their range");
	oa_cpu_time(t->format, t->cpu, t->gpu, t->head->shift, t->hz, r.ts);
	oafilter_match(&t->filter, &r);
	oa_raw_values(&t->all, body.p, now);
	if (t->last.p) {
		oa_raw_values(&t->all, t->last.p, was);
		oa_add(&t->all, t->last.p, body.p, all);
		oa_add(&t->some, t->last.p, body.p, some);
		must(some[OA_TIME] == all[OA_TIME] && some[OA_CLOCK] == all[OA_CLOCK], "time and clock are always read");
		for (size_t i = OA_A; i < OA_SLOTS; i++) {
			must(some[i] == (t->slots[i] ? all[i] : 0), "a requested slot has the same value as in the complete plan");
			must((u32)all[i] == (u32)(now[i] - was[i]), "differences match the stored values");
			must(now[i] >= was[i] ? all[i] == now[i] - was[i] : all[i] >= now[i], "differences are correct across each wrap");
		}
	}
	t->last = body;
}

static void run_info(struct replayed *t, struct str body)
{
	char bytes[400];
	struct buf b = { .p = bytes, .cap = sizeof(bytes) };
	const struct oaformat *f;
	struct oainfo i, again;

	if (!oarec_info(body, &i))
		return;
	must(within(i.set, body) && within(i.guid, body), "names lie in the record");
	must(!memchr(i.set.p, 0, str_len(i.set)) && !memchr(i.guid.p, 0, str_len(i.guid)), "names have no NUL");
	put_oainfo(&b, &i);
	must(!b.full && oarec_info((struct str){ bytes, bytes + b.n }, &again), "a record that was read can be written");
	must(again.ts_hz == i.ts_hz && again.format == i.format && str_len(again.set) <= str_len(i.set) &&
	     str_len(again.set) + 1 >= str_len(i.set), "the written record can be read");
	t->hz = i.ts_hz;
	f = oaformat_by_number(t->head->xe & 1, i.format);
	if (f)
		run_format(t, f);
}

/* Every sample is decoded once, and what is left is less than one. */
static void run_stalls(const struct head *h, struct str body)
{
	const struct stallformat *f = stallformat_of(h->gen);
	struct str samples, rest;
	struct stall s;
	size_t n = 0;
	u64 ns;

	must(f->version <= h->gen && f->at[ST_SEND] >= f->address_bits, "each version of the graphics has a layout");
	if (!oarec_stalls(body, &ns, &samples))
		return;
	must(within(samples, body) && str_len(body) - str_len(samples) == 8, "samples lie in the record, after its time");
	for (rest = samples; stall_next(f, &rest, &s); n++)
		must(!(s.ip & 7) && (f->address_bits == 61 || s.ip <= UINT32_MAX), "addresses are in their range");
	must(n == str_len(samples) / STALL_BYTES && rest.p == samples.p + n * STALL_BYTES, "each sample is read once");
}

/* A record that is written again is equal, except for its padding. */
static void run_again(struct str bytes, bool xe, const struct oarec *r)
{
	static char room[1 << 16];
	struct buf b = { .p = room, .cap = sizeof(room) };
	size_t n = 8 + str_len(r->body);

	if (r->type > OT_NUMBERS ||
	    ((r->type == OT_TOPOLOGY || r->type == OT_NUMBERS) && str_len(r->body) % 8))
		return;
	put_oarec(&b, xe, r->type, r->body);
	must(b.n == n && memcmp(room, bytes.p, 4) == 0 && memcmp(room + 6, bytes.p + 6, n - 6) == 0,
	     "records are written as they were read");
}

static void run_records(struct replayed *t, struct str s)
{
	bool xe = t->head->xe & 1, begins;
	struct str whole = s, from = s;
	struct oarec r;
	u32 version;

	oarec_is_recording(s, &begins);
	for (; oarec_next(&s, xe, &r); from = s) {
		must(s.p >= from.p + 8 || (r.type == OT_CORRUPT && s.p == s.e), "the record ends within the stream");
		must(r.type <= OT_CORRUPT && within(r.body, whole), "records lie in the stream");
		run_again(from, xe, &r);
		oarec_version(r.body, &version);
		if (r.type == OT_SAMPLE)
			run_sample(t, r.body);
		else if (r.type == OT_INFO)
			run_info(t, r.body);
		else if (r.type == OT_STALLS || r.type == OT_STALLS_LOST)
			run_stalls(t->head, r.body);
		else if (r.type == OT_CORRELATION)
			oarec_correlation(r.body, &t->cpu, &t->gpu);
	}
	must(s.p == from.p && s.e == whole.e, "an incomplete record stays unread");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct head h;
	struct replayed t = { .head = &h };

	if (n < sizeof(h) || n > EDGE_BYTES / 2)
		return 0;
	memcpy(&h, data, sizeof(h));
	t.filter = (struct oafilter){ .ctx = h.slots, .any = h.xe & 2 };
	run_format(&t, &oaformats[h.format % noaformats]);
	run_records(&t, edge_str((const char *)data + sizeof(h), n - sizeof(h)));
	return 0;
}
