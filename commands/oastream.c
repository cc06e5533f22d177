/* oastream.c - OA reports to records, of a stream that runs or of a recording. SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

struct oastream stream;

struct oaprog *equations;
TABLE(equations, 1, 1, "OA equations");
static struct oaplan plan;

static const char *last;     /* the report before, or NULL */
static struct oareport heads[2], *head = &heads[0], *spare = &heads[1]; /* its head; room for the next one's */
static struct oareport first; /* of the report that the sum in hand begins with */
static u64 sum[OA_SLOTS], sums;
static u64 step, elapsed, due; /* in replay, of the timestamp: between records of sums */

static bool shown; /* documents that were written whole */

/* --- records ------------------------------------------------------------------------------------------------ */

/* The sum in hand as a record, which is of one report or of several; then nothing is in hand. */
static void emit(const struct oareport *h, u64 index, bool of_report)
{
	static union oaval values[MAX_OA_COUNTERS];
	struct recopts ro = { .raw = opt.raw, .dt_us = -1, .time_us = stream.live ? sample_time() : -1 };
	bool counted = stream.deltas > 0, stored = opt.raw && of_report;
	struct oarow row = {
		.e = { .kind = K_OA }, .dev = str_z(stream.dev_name), .index = index, .reports = stream.deltas, .lost = stream.lost,
		.head = h, .sum = !of_report, .ts_hz = stream.ts_hz, .slots = counted || stored ? sum : NULL, .stored = stored,
		.prog = equations, .values = counted ? values : NULL, .raw = opt.raw ? &plan : NULL,
	};

	if (stream.has_set && !opt.raw)
		row.set = stream.set.name;
	row.has_ctx = h && h->has_ctx && (of_report || opt.oa.contexts);
	row.ctx = row.has_ctx ? h->ctx : 0;
	row.has_cpu_time = h && stream.correlations && stream.ts_hz;
	if (row.has_cpu_time)
		row.cpu_time = oa_cpu_time(stream.format, stream.cpu_ns, stream.gpu_ts,
					   stream.platform ? stream.platform->ts_shift : 0, stream.ts_hz, h->ts);
	if (counted && stream.ts_hz)
		ro.dt_us = (i64)muldiv(sum[OA_TIME], 1000000, stream.ts_hz);
	if (counted && !opt.raw)
		oaprog_eval(equations, sum, values);
	if (stream.live)
		update_offset();
	stream.failed |= !show_record(&row.e, &ro);
	if (format_is_whole(opt.out.fmt)) { /* one such record in a document: nothing else tells two of them apart */
		stream.failed |= finish_sample() != EX_OK;
		shown = true;
	}
	memset(sum, 0, sizeof(sum));
	stream.deltas = stream.lost = 0;
}

/* Exit code. failed: the recording was no good; where nothing came of it, it takes no file's place. */
int stream_finish(bool failed)
{
	return shown || (failed && sink_gathers()) ? finish() : finish_sample();
}

void stream_sum(void)
{
	emit(stream.deltas ? &first : NULL, sums++, false);
}

/* --- reports ------------------------------------------------------------------------------------------------ */

/* The generation by whose rules heads are read; of an unknown GPU the oldest that has such reports. */
static u16 generation(void)
{
	static const u16 oldest[] = { [OH_GEN7] = 750, [OH_GEN8] = 1200, [OH_WIDE] = 1270 };

	return stream.platform ? stream.platform->gen : oldest[stream.format->head];
}

/* Whether the sum in hand ends before what this report begins. */
static bool ends_sum(const struct oareport *h)
{
	if (opt.oa.contexts)
		return h->has_ctx != first.has_ctx || (h->has_ctx && h->ctx != first.ctx);
	return step && elapsed >= due;
}

/* What was counted up to this report. */
static void take_delta(const char *report)
{
	if (stream.deltas == 0 && !opt.oa.reports)
		first = *head;
	oa_add(&plan, last, report, sum);
	stream.deltas++;
	if (opt.oa.reports)
		emit(head, stream.seen - 1, true);
}

bool stream_report(struct str body)
{
	struct oareport *h = spare;
	const char *report = body.p;
	bool takes = true;

	if (str_len(body) < plan.bytes)
		return false;
	if (opt.oa.totals && stream.deltas && !stream.filtered)
		h = head; /* nobody will ask for it */
	else
		oareport_head(stream.format, generation(), stream.exponent, report, h);
	if (stream.filtered)
		takes = oafilter_takes(&stream.filter, h);
	if (stream.seen > 0 && step)
		elapsed += oa_ts_delta(stream.format, head->ts, h->ts);
	if (opt.raw && opt.oa.reports) {
		oa_stored(&plan, report, sum);
		emit(h, stream.seen, true);
	} else if (last && takes) {
		take_delta(report);
	}
	if (stream.deltas && ends_sum(h))
		stream_sum();
	if (step && elapsed >= due)
		due = (elapsed / step + 1) * step;
	if (h == spare)
		spare = head;
	head = h;
	last = report;
	stream.seen++;
	return true;
}

/* What was counted across a lost buffer is not known; a report less is none the worse. */
void stream_lost(bool buffer)
{
	stream.lost++;
	if (!buffer)
		return;
	last = NULL;
	stream.filter.last = false;
}

/* Before what the last report lies in is overwritten. */
void stream_keep(void)
{
	static char kept[OA_REPORT_BYTES];

	if (last && last != kept)
		last = memcpy(kept, last, plan.bytes);
}

/* --- before the first ----------------------------------------------------------------------------------------- */

static bool slot_is(size_t slot, struct str name)
{
	char text[16];
	struct buf b = BUF(text);

	return oaslot_name(stream.format, slot, &b) && str_eq(name, (struct str){ b.p, b.p + b.n });
}

static bool counter_is(struct str name)
{
	for (size_t i = OA_A; i < OA_SLOTS && opt.raw; i++)
		if (slot_is(i, name))
			return true;
	for (u32 i = 0; i < equations->n && !opt.raw; i++)
		if (str_eq(name, equations->counters[i].name))
			return true;
	return false;
}

/* -f may name counters. */
static bool check_counters(void)
{
	for (size_t i = 0; i < opt.out.npatterns; i++) {
		struct str p = opt.patterns[i];
		char name[128];

		if (str_skip_z(&p, "counter.") ? counter_is(p) : pattern_known(p, K_OA) || counter_is(p))
			continue;
		p = opt.patterns[i];
		device_set(name, sizeof(name), p);
		usage("'", name, "': neither a field nor a counter of the set; -f help and oa list SET have them");
		return false;
	}
	return true;
}

/* Where each field has a column of its own, "counter" stands for all of them. */
static void spread_counters(void)
{
	static const struct str all = STR("counter");
	static char names[8 * OA_SLOTS];
	static struct str to[MAX_PATTERNS];
	struct buf b = BUF(names);
	size_t n = 0;

	for (size_t i = 0; i < opt.out.npatterns && n < MAX_PATTERNS; i++) {
		if (!str_eq(opt.patterns[i], all)) {
			to[n++] = opt.patterns[i];
			continue;
		}
		for (size_t k = 0; k < (opt.raw ? OA_SLOTS : equations->n) && n < MAX_PATTERNS; k++) {
			const char *from = b.p + b.n;

			if (!opt.raw)
				to[n++] = equations->counters[k].name;
			else if (k >= OA_A && oaslot_name(stream.format, k, &b))
				to[n++] = (struct str){ from, b.p + b.n };
		}
	}
	if (n == 0)
		return; /* no patterns at all would mean all fields */
	memcpy(opt.patterns, to, n * sizeof(to[0]));
	opt.out.npatterns = n;
}

/* Only what -f shows is evaluated, and read of the reports. */
static void choose_counters(void)
{
	static bool wanted[MAX_OA_COUNTERS];
	struct field f = { .col = columns };

	if (opt.out.npatterns == 0)
		return;
	while (!(f.col->when & W_OA && f.col->shape == S_INST))
		f.col++;
	for (u32 i = 0; i < equations->n; i++) {
		f.inst = equations->counters[i].name;
		wanted[i] = false;
		for (size_t k = 0; k < opt.out.npatterns; k++)
			wanted[i] |= field_match(&f, opt.patterns[k]);
	}
	oaprog_want(equations, wanted);
}

/* The format, the device and the set are known: what is to be read of a report, and how. Exit code or -1. */
int stream_ready(void)
{
	char text[256];
	struct buf why = BUF_Z(text);

	if (!table_has(&equations_table, 0)) {
		say_error("OA equations", -ENOMEM);
		return EX_FAIL;
	}
	if (!opt.raw && !oaprog_make(equations, &stream.set, &stream.dev, &why)) {
		say_z(buf_z(&why));
		return EX_FAIL;
	}
	if (equations->bad) {
		say("counter left out: ", buf_z(&why), equations->bad > 1 ? ", and others" : NULL);
	}
	if (!check_counters())
		return EX_USAGE;
	if (format_spreads(opt.out.fmt))
		spread_counters();
	choose_counters();
	record_choose(K_OA, opt.patterns, opt.out.npatterns);
	oaplan_make(&plan, stream.format, opt.raw ? NULL : equations->slots);
	step = stream.live || !opt.interval ? 0 : muldiv((u64)opt.interval, stream.ts_hz, 1000000000);
	step += !step && !stream.live && opt.interval && stream.ts_hz; /* less than a tick of the clock is one */
	due = step;
	opt.out.reports = opt.oa.reports;
	opt.out.contexts = opt.oa.reports || opt.oa.contexts;
	return -1;
}
