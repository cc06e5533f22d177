/* oarecords.c - records from the OA reports of a stream or a recording.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sys.h"

struct oastream stream;

struct oaprog *equations;
struct table equations_table = TABLE_ROW(equations, 1, 1, "OA equations");

/* --- functions that write OA reports and sums of reports as records --------------------------- */

static struct reportsum {
	struct oaplan plan;
	const char *previous; /* bytes of the previous report; NULL if it is not known */
	/* heads[] has room for two headers. head: the one with the header of the previous report.
	 * spare: the one that gets the header of the next report. */
	struct oareport heads[2], *head, *spare;
	struct oareport first; /* header of the report that the current sum begins with */
	u64 sum[OA_SLOTS], nsums;
	/* Used only with --replay; unit: ticks of the GPU's timestamp. step: interval between two
	 * sums. elapsed: time since the first report. due: time at which the current sum ends. */
	u64 step, elapsed, due;
	/* longest time between two reports, in ticks, in which no counter wraps twice */
	u64 longest;
	/* Used to detect a long time without reports. quiet_ns: time on the CPU's clock, in ns, of
	 * the first correlation with the GPU's clock after the last report. quiet_seen: number of
	 * reports at that moment. quiet_most: longest time without a report, in ns, after which the
	 * difference to the next report can still be computed. */
	u64 quiet_ns, quiet_seen, quiet_most;
	bool began;       /* at least one report was read, so that `head` is valid */
	bool gap_said;
	bool any_written; /* at least one record was written as a document of its own */
} oarun;

/* Writes the current sum of differences between reports as a record, and clears the sum. is_report:
 * the record shows a single report. h: header of that report, or of the first report of the sum;
 * NULL if there is none. index: number of the report or of the sum. */
static void record_emit(const struct oareport *h, u64 index, bool is_report)
{
	static union oaval values[MAX_OA_COUNTERS];
	struct recopts ro = { .raw = opt.raw, .dt_us = -1,
		.time_us = stream.live ? sample_time() : -1 };
	bool counted = stream.deltas > 0, stored = opt.raw && is_report;
	struct oarow row = {
		.e = { .kind = K_OA },
		.dev = str_z(stream.dev_name),
		.index = index,
		.reports = stream.deltas,
		.lost = stream.lost,
		.head = h,
		.sum = !is_report,
		.ts_hz = stream.ts_hz,
		.slots = counted || stored ? oarun.sum : NULL,
		.stored = stored,
		.prog = equations,
		.values = counted ? values : NULL,
		.raw = opt.raw ? &oarun.plan : NULL,
	};

	if (stream.has_set && !opt.raw)
		row.set = stream.set.name;
	row.has_ctx = h && h->has_ctx && (is_report || opt.oa.contexts);
	row.ctx = row.has_ctx ? h->ctx : 0;
	row.has_cpu_time = h && stream.correlations && stream.ts_hz;
	if (row.has_cpu_time)
		row.cpu_time = oa_cpu_time(stream.format, stream.cpu_ns, stream.gpu_ts,
					   oadevice_ts_shift(&stream.dev),
					   stream.ts_hz, h->ts);
	if (counted && stream.ts_hz)
		ro.dt_us = (i64)muldiv(oarun.sum[OA_TIME], 1000000, stream.ts_hz);
	if (counted && !opt.raw)
		oaprog_eval(equations, oarun.sum, values);
	if (stream.live)
		update_offset();
	stream.failed |= !show_record(&row.e, &ro);
	if (format_is_document(opt.out.fmt)) {
		/* In a format with a whole document per sample, each record becomes a document of
		 * its own: a reader could not tell two records in one document apart. */
		stream.failed |= finish_sample() != EX_OK;
		oarun.any_written = true;
	}
	memset(oarun.sum, 0, sizeof(oarun.sum));
	stream.deltas = stream.lost = 0;
}

/* Ends the output, and returns an exit code. failed: the recording is invalid; if no record
 * was made from it, the old file of -O is not replaced. */
int stream_finish(bool failed)
{
	return oarun.any_written || (failed && sink_gathers()) ? finish() : finish_sample();
}

void stream_emit_sum(void)
{
	record_emit(stream.deltas ? &oarun.first : NULL, oarun.nsums++, false);
}

/* --- functions that add up the differences between OA reports --------------------------------- */

/* Returns the GPU generation (1200: gen12), which determines how the headers of reports are
 * decoded. If the GPU is unknown, returns 750, 1200 or 1270: a generation that has the header
 * layout of the stream's format. */
static u16 generation(void)
{
	static const u16 oldest[] = { [OH_GEN7] = 750, [OH_GEN8] = 1200, [OH_WIDE] = 1270 };

	return stream.platform ? stream.platform->gen : oldest[stream.format->head];
}

/* Returns whether this report begins a new interval, or with --contexts a new context: then the
 * current sum must be written first. */
static bool sum_ends(const struct oareport *h)
{
	if (opt.oa.contexts)
		return h->has_ctx != oarun.first.has_ctx ||
		       (h->has_ctx && h->ctx != oarun.first.ctx);
	return oarun.step && oarun.elapsed >= oarun.due;
}

/* Adds the difference between the previous report and this one to the current sum; with --reports
 * writes the difference as a record. */
static void delta_add(const char *report)
{
	if (stream.deltas == 0 && !opt.oa.reports)
		oarun.first = *oarun.head;
	oa_add(&oarun.plan, oarun.previous, report, oarun.sum);
	stream.deltas++;
	if (opt.oa.reports)
		record_emit(oarun.head, stream.seen - 1, true);
}

/* Adds the difference between the previous report and this one to the current sum, and writes the
 * sum if this report ends it. With --raw --reports writes the values of the report itself. */
static void report_add(const char *report)
{
	struct oareport *h = oarun.spare;
	bool matches = true;
	u64 ticks;

	if (opt.oa.totals && stream.deltas && !stream.filtered)
		/* With --totals and without a context filter, the header of this report is not
		 * needed: the header of the previous report takes its place. */
		h = oarun.head;
	else
		oareport_head(stream.format, generation(), stream.exponent, report, h);
	if (stream.filtered)
		matches = oafilter_match(&stream.filter, h);
	if (oarun.began && oarun.step) {
		ticks = oa_ts_delta(stream.format, oarun.head->ts, h->ts);
		/* the GPU's timestamp did not go backward */
		if (ticks <= oa_ts_delta(stream.format, h->ts, oarun.head->ts))
			oarun.elapsed += ticks;
	}
	if (opt.raw && opt.oa.reports) {
		oa_raw_values(&oarun.plan, report, oarun.sum);
		record_emit(h, stream.seen, true);
	} else if (oarun.previous && matches) {
		delta_add(report);
	}
	if (stream.deltas && sum_ends(h))
		stream_emit_sum();
	if (oarun.step && oarun.elapsed >= oarun.due)
		oarun.due = (oarun.elapsed / oarun.step + 1) * oarun.step;
	if (h == oarun.spare)
		oarun.spare = oarun.head;
	oarun.head = h;
	oarun.began = true;
	oarun.previous = report;
}

/* Counts a loss of reports. buffer: the OA buffer was lost, so that the difference between the
 * reports before and after it is unknown. The difference across a single lost report is known, but
 * not the context to which it belongs, because the lost report may have begun another one. */
void stream_lost(bool buffer)
{
	stream.lost++;
	if (!buffer && !stream.filtered && !opt.oa.contexts)
		return;
	oarun.previous = NULL;
	stream.filter.last = false;
}

/* Returns the report from which the next difference is computed; NULL if there is none, or if the
 * difference does not belong to the selected context. */
static const char *base_report(void)
{
	return stream.filtered && !stream.filter.last ? NULL : oarun.previous;
}

static void gap_lost(void)
{
	stream_lost(true);
	if (!oarun.gap_said)
		say_z("two OA reports are so far apart that counters may have wrapped: "
		      "counts between them are left out");
	oarun.gap_said = true;
}

/* Processes a report. Returns the text of the error if the report is invalid, else NULL. A report
 * that the hardware never wrote, or whose timestamp goes backward, counts as a loss, like a lost
 * buffer; no counter difference between two reports begins with it. If the time between two reports
 * is so long that counters may have wrapped, the difference between them is unknown, and one loss
 * is counted. */
const char *stream_report(struct str body)
{
	static const char *const faults[OA_STEPS] = {
		[STEP_UNWRITTEN] = "a report without content: its id and timestamp are 0",
		[STEP_BACKWARD] = "a report with an earlier timestamp than the one before",
	};
	const char *fault;
	u8 step;

	if (str_len(body) < oarun.plan.bytes)
		return "a sample too small for its format";
	step = oa_step(stream.format, base_report(), body.p, oarun.longest);
	fault = faults[step];
	if (step == STEP_GAP)
		gap_lost();
	else if (fault)
		stream_lost(true);
	if (!fault || (opt.raw && opt.oa.reports))
		report_add(body.p);
	if (fault)
		oarun.previous = NULL;
	stream.seen++;
	return fault;
}

/* Stores a correlation of the clocks of the CPU and the GPU. If there was no report for a long
 * time, the GPU's timestamp may have wrapped, and the next difference is dropped. */
void stream_correlate(u64 cpu_ns, u64 gpu_ts)
{
	stream.cpu_ns = cpu_ns;
	stream.gpu_ts = gpu_ts;
	stream.correlations++;
	if (stream.seen != oarun.quiet_seen || cpu_ns < oarun.quiet_ns) {
		oarun.quiet_seen = stream.seen;
		oarun.quiet_ns = cpu_ns;
	} else if (base_report() && cpu_ns - oarun.quiet_ns > oarun.quiet_most) {
		gap_lost();
	}
}

/* Copies the previous report to memory of its own. Must be called before the bytes that contain the
 * report are overwritten. */
void stream_keep_last(void)
{
	static char kept[OA_REPORT_BYTES];

	if (oarun.previous && oarun.previous != kept)
		oarun.previous = memcpy(kept, oarun.previous, oarun.plan.bytes);
}

/* --- functions that prepare for the first OA report ------------------------------------------- */

static bool slot_has_name(size_t slot, struct str name)
{
	char text[16];
	struct buf b = BUF(text);

	return oaslot_name(stream.format, slot, &b) && str_eq(name, (struct str){ b.p, b.p + b.n });
}

static bool counter_exists(struct str name)
{
	for (size_t i = OA_A; i < OA_SLOTS && opt.raw; i++)
		if (slot_has_name(i, name))
			return true;
	for (u32 i = 0; i < equations->n && !opt.raw; i++)
		if (str_eq(name, equations->counters[i].name))
			return true;
	return false;
}

/* Checks that each pattern of -f is a field or a counter. Returns false after an error message. */
static bool check_counters(void)
{
	for (size_t i = 0; i < opt.out.npatterns; i++) {
		struct str p = opt.patterns[i];
		char name[128];

		if (str_skip_z(&p, "counter.") ? counter_exists(p) :
		    pattern_known(p, K_OA) || counter_exists(p))
			continue;
		p = opt.patterns[i];
		str_copy(name, sizeof(name), p);
		usage("'", name,
		      "': not a field or counter of this set; see -f help and oa list SET");
		return false;
	}
	return true;
}

/* Replaces the pattern "counter" by the names of all counters, for formats with a column per
 * field. */
static void expand_counters(void)
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
		for (size_t k = 0; k < (opt.raw ? OA_SLOTS : equations->n) &&
		     n < MAX_PATTERNS; k++) {
			const char *from = b.p + b.n;

			if (!opt.raw)
				to[n++] = equations->counters[k].name;
			else if (k >= OA_A && oaslot_name(stream.format, k, &b))
				to[n++] = (struct str){ from, b.p + b.n };
		}
	}
	if (n == 0)
		/* No pattern is left, because the metric set has no counters. The patterns of -f
		 * stay unchanged: an empty list of patterns would select all fields. */
		return;
	memcpy(opt.patterns, to, n * sizeof(to[0]));
	opt.out.npatterns = n;
}

/* Selects the counters that -f shows: only those are read from reports and evaluated. */
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
	oaprog_select(equations, wanted);
}

/* Prints how many counters have no value, and which numbers of the GPU they need that are
 * unknown. */
static void say_unknown(void)
{
	char text[512];
	struct buf b = BUF_Z(text);
	const char *lead = stream.live ? "; the driver does not report " :
					 "; the recording does not contain ";
	u32 n = 0, unknown = 0;

	for (u32 i = 0; i < equations->n && !opt.raw; i++) {
		const struct oacounter *c = &equations->counters[i];

		n += c->wanted && c->unknown;
		unknown |= c->wanted ? c->unknown : 0;
	}
	if (!n)
		return;
	put_z(&b, "counters without a value: ");
	put_u64(&b, n);
	for (unsigned var = 0; var < OV_NUMBERS; var++)
		if (unknown >> var & 1) {
			put_z(&b, lead);
			put_z(&b, oavar_name(var));
			lead = ", ";
		}
	say_z(buf_z(&b));
}

/* Prepares the reading of reports. The caller must have set the format, the device and the metric
 * set of the stream. Returns an exit code; -1: success. */
int stream_ready(void)
{
	char text[256];
	struct buf why = BUF_Z(text);

	if (!table_has(&equations_table, 0)) {
		say_error("OA equations", -ENOMEM);
		return EX_FAIL;
	}
	if (!opt.raw && !oaprog_compile(equations, &stream.set, &stream.dev, &why)) {
		say_z(buf_z(&why));
		return EX_FAIL;
	}
	if (equations->bad) {
		say("a counter of the metric set is invalid and left out: ", buf_z(&why),
		    equations->bad > 1 ? "; others are invalid, too" : NULL);
	}
	if (!check_counters())
		return EX_USAGE;
	if (format_has_field_columns(opt.out.fmt))
		expand_counters();
	choose_counters();
	say_unknown();
	record_select(K_OA, opt.patterns, opt.out.npatterns,
		      opt.out.npatterns ? W_LABEL | W_ID : 0);
	oarun.head = &oarun.heads[0];
	oarun.spare = &oarun.heads[1];
	oaplan_make(&oarun.plan, stream.format, opt.raw ? NULL : equations->slots);
	oarun.step = stream.live || !opt.interval ? 0 :
		muldiv((u64)opt.interval, stream.ts_hz, 1000000000);
	/* at least 1 tick */
	oarun.step += !oarun.step && !stream.live && opt.interval && stream.ts_hz;
	oarun.due = oarun.step;
	oarun.longest = oa_longest(stream.format, stream.ts_hz, stream.dev.var[OV_MAX_HZ]);
	/* quiet_most is the time in which the GPU's timestamp counts a quarter of its range. If the
	 * timestamp counts more than half of its range between two reports, the difference may look
	 * like a step backward. */
	oarun.quiet_most = muldiv(oa_ts_delta(stream.format, 1, 0) / 4, 1000000000, stream.ts_hz);
	opt.out.reports = opt.oa.reports;
	opt.out.contexts = opt.oa.reports || opt.oa.contexts;
	return -1;
}
