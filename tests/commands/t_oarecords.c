/* t_oarecords.c - records from OA reports: differences, sums of an interval or a context, losses, the
 * filter of contexts, fields of -f. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/oarecords.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
volatile sig_atomic_t stopped;

static char log_bytes[2048];
static struct buf seen;
static bool show_fails, gathers;
static u32 finished, ended;

i64 sample_time(void) { return 9; }
void update_offset(void) { }
int finish(void) { ended++; return EX_OK; }
int finish_sample(void) { finished++; return EX_OK; }
bool sink_gathers(void) { return gathers; }

/* Index, reports and losses, ticks of the clock, dt in us, context, time of the first report. */
bool show_record(const struct entity *e, const struct recopts *ro)
{
	const struct oarow *r = (const void *)e;
	char text[128];

	snprintf(text, sizeof(text), "%s%" PRIu64 ":%" PRIu64 "-%" PRIu64 " %" PRIu64 "t %" PRId64
		 "us c%d@%" PRId64 " ", r->sum ? "sum" : "", r->index, r->reports, r->lost,
		 r->slots ? r->slots[OA_CLOCK] : 0, ro->dt_us, r->has_ctx ? (int)r->ctx : -1,
		 r->head ? (i64)r->head->ts : -1);
	put_z(&seen, text);
	return !show_fails;
}

static int begin(void)
{
	memset(&oarun, 0, sizeof(oarun));
	memset(&stream, 0, sizeof(stream));
	stream.format = oaformat_by_name(LIT("A32u40_A4u32_B8_C8"));
	stream.platform = oaplatform_by_name(LIT("sklgt2"));
	stream.ts_hz = 1000000; /* a tick is a microsecond */
	stream.exponent = -1;
	opt.raw = true; /* no metric set */
	opt.out.fmt = format_find((struct str)STR("json"));
	opt.out.patterns = opt.patterns;
	seen = BUF(log_bytes);
	said.n = finished = ended = 0;
	show_fails = gathers = false;
	return stream_ready();
}

static void clear(void)
{
	memset(&opt, 0, sizeof(opt));
}

/* Makes a report of Skylake: its time, its context (NONE: not valid), and its clock. */
static void report(u32 ts, u32 ctx, u32 ticks)
{
	static u32 words[8][64];
	static unsigned turn;
	u32 *w = words[turn++ % 8];

	w[0] = 1u << 19 | (ctx ? 1u << 16 : 0); /* timer; the context is valid */
	w[1] = ts;
	w[2] = ctx;
	w[3] = ticks;
	stream_report(str_of((const char *)w, 256));
}

static void check_seen(const char *want, const char *name)
{
	check_str(str_of(seen.p, seen.n), want, "%s", name);
}

static void t_reports(void)
{
	clear();
	opt.oa.totals = true;
	begin();
	report(100, 0, 10);
	report(150, 0, 30);
	report(250, 0, 70);
	stream_emit_sum();
	check_seen("sum0:2-0 60t 150us c-1@100 ", "--totals prints one sum");
	check(stream.deltas == 0 && stream.seen == 3, "after --totals, a new sum begins");
	clear();
	begin();
	check(strstr(stream_report(str_of(log_bytes, 100)), "too small") && stream.seen == 0,
	      "a report that is too short is refused");
	clear();
	begin();
	report(UINT32_MAX - 9, 0, UINT32_MAX);
	report(10, 0, 4);
	stream_emit_sum();
	check_seen("sum0:1-0 5t 20us c-1@4294967286 ",
	           "counters that wrap have the right difference");
	clear();
	opt.oa.reports = true;
	begin();
	report(100, 7, 10);
	report(150, 8, 30);
	check_seen("0:0-0 10t -1us c7@100 1:0-0 30t -1us c8@150 ",
	           "--raw --reports prints the stored values");
}

static void t_intervals(void)
{
	clear();
	opt.interval = 100000; /* 100 ticks */
	begin();
	for (u32 ts = 1000; ts <= 1240; ts += 40)
		report(ts, 0, ts);
	stream_emit_sum();
	check_seen("sum0:3-0 120t 120us c-1@1000 sum1:2-0 80t 80us c-1@1120 "
		   "sum2:1-0 40t 40us c-1@1200 ",
		   "an interval ends with the first report after its end");
	clear();
	opt.interval = 100000;
	begin();
	report(1000, 0, 0);
	report(1350, 0, 1);
	report(1390, 0, 2);
	report(1410, 0, 3);
	report(1420, 0, 4);
	check_seen("sum0:1-0 1t 350us c-1@1000 sum1:2-0 2t 60us c-1@1350 ",
	           "a gap of several intervals has one sum");
	clear();
	opt.interval = 1;
	begin();
	check(oarun.step == 1, "an interval is at least one tick");
	opt.interval = 100000;
	stream.live = true;
	stream_ready();
	check(oarun.step == 0, "a live stream has a separate interval");
}

static void t_contexts(void)
{
	clear();
	opt.oa.contexts = true;
	begin();
	report(100, 7, 0);
	report(110, 7, 10);
	report(120, 8, 20);
	report(130, 8, 30);
	report(140, 0, 40);
	report(150, 0, 50);
	stream_emit_sum();
	check_seen("sum0:2-0 20t 20us c7@100 sum1:2-0 20t 20us c8@120 "
		   "sum2:1-0 10t 10us c-1@140 ",
		   "--contexts prints a sum for each context");
	clear();
	begin();
	stream.filtered = true;
	stream.filter.ctx = 7;
	report(100, 7, 0);
	report(110, 8, 10);
	report(120, 8, 30);
	report(130, 7, 60);
	report(140, 7, 70);
	stream_emit_sum();
	check_seen("sum0:2-0 20t 20us c-1@100 ",
	           "--ctx counts reports of the context, and the one at which it ended");
}

static void t_losses(void)
{
	clear();
	begin();
	report(100, 0, 0);
	stream_lost(false);
	report(110, 0, 10);
	stream_lost(true);
	report(500, 0, 500);
	report(510, 0, 510);
	stream_emit_sum();
	check_seen("sum0:2-2 20t 20us c-1@100 ", "no difference is counted across a lost buffer");
	stream_emit_sum();
	check_seen("sum0:2-2 20t 20us c-1@100 sum1:0-0 0t -1us c-1@-1 ",
	           "a sum without reports has unknown values");
	clear();
	begin();
	show_fails = true;
	stream_emit_sum();
	check(stream.failed, "a write that fails ends the records");
}

/* A report that begins another context may follow a lost one. */
static void t_lost_switch(void)
{
	static const u32 ids[] = { 17, 18, 0 }; /* of the report after the loss */
	static const char *const summed[] = {
		"sum0:3-1 30t 30us c17@100 ",
		"sum0:1-1 10t 10us c17@100 sum1:2-0 20t 20us c18@900 ",
		"sum0:1-1 10t 10us c17@100 sum1:1-0 10t 10us c-1@900 sum2:1-0 10t 10us c17@910 ",
	};
	static const char *const filtered[] = {
		"sum0:3-1 30t 30us c-1@100 ", "sum0:1-1 10t 10us c-1@100 ", "sum0:2-1 20t 20us c-1@100 ",
	};

	for (unsigned k = 0; k < LEN(ids); k++)
		for (unsigned filter = 0; filter < 2; filter++) {
			clear();
			opt.oa.contexts = !filter;
			begin();
			stream.filtered = filter;
			stream.filter.ctx = 17;
			report(100, 17, 0);
			report(110, 17, 10);
			stream_lost(false);
			report(900, ids[k], 500);
			report(910, ids[k] ? ids[k] : 17, 510);
			report(920, ids[k] ? ids[k] : 17, 520);
			stream_emit_sum();
			check_seen(filter ? filtered[k] : summed[k], filter ? "--ctx: a lost report" :
				   "--contexts: a lost report");
		}
	clear();
	begin();
	stream_lost(false);
	report(100, 17, 0);
	report(110, 17, 10);
	stream_emit_sum();
	check_seen("sum0:1-1 10t 10us c-1@100 ", "a loss before the first report is counted");
}

/* Feeds a report whose words are 0. Returns whether it is refused for that reason. */
static bool report_unwritten(void)
{
	static const u32 words[64];
	const char *fault = stream_report(str_of((const char *)words, sizeof(words)));

	return fault && strstr(fault, "without content");
}

static void t_spoiled(void)
{
	clear();
	begin();
	report(1000, 0, 10);
	report(1100, 0, 20);
	check(report_unwritten() && stream.lost == 1, "a report without content is refused");
	report(1300, 0, 900);
	report(1400, 0, 905);
	stream_emit_sum();
	check_seen("sum0:2-1 15t 200us c-1@1000 ",
	           "no difference is counted from or to a report without content");

	clear();
	begin();
	check(report_unwritten(), "a first report without content is refused");
	report(1100, 0, 20);
	report(1200, 0, 30);
	stream_emit_sum();
	check_seen("sum0:1-1 10t 100us c-1@1100 ",
	           "reports after a first one without content are counted");

	clear();
	begin();
	report(1000, 0, 10);
	report(999, 0, 20);
	report(1200, 0, 40);
	report(1210, 0, 45);
	stream_emit_sum();
	check_seen("sum0:1-1 5t 10us c-1@1200 ",
	           "a report whose timestamp goes backwards is left out");

	clear();
	opt.interval = 100000;
	begin();
	check(report_unwritten(), "intervals: a first report without content is refused");
	report(1000000, 0, 0);
	report(1000050, 0, 5);
	report(999000, 0, 6);
	report(1000080, 0, 8);
	report(1000120, 0, 12);
	report(1000210, 0, 21);
	check_seen("sum0:2-2 9t 90us c-1@1000000 sum1:1-0 9t 90us c-1@1000120 ",
		   "intervals: times are kept around a malformed report");

	clear();
	opt.oa.reports = true;
	begin();
	report(1000, 0, 10);
	report(900, 0, 20);
	report(1100, 0, 30);
	check_seen("0:0-0 10t -1us c-1@1000 1:0-1 20t -1us c-1@900 2:0-0 30t -1us c-1@1100 ",
		   "--raw --reports prints a malformed report, too");
}

static void t_gaps(void)
{
	clear();
	begin(); /* the clock is unknown: 3 GHz, which wraps after 1.43 s */
	report(1000, 0, 10);
	report(1001000, 0, 20);
	report(2600000, 0, 30);
	report(2600010, 0, 45);
	report(9600000, 0, 50);
	stream_emit_sum();
	check_seen("sum0:2-2 25t 1000010us c-1@1000 ",
	           "a gap in which the clock may have wrapped is left out");
	check(said.n && memchr(said.p, '\n', said.n) == said.p + said.n - 1 && is_said("may have wrapped"),
	      "a gap in which the clock may have wrapped is reported once");

	clear();
	begin();
	stream.filtered = true;
	stream.filter.ctx = 7;
	report(100, 7, 0);
	report(110, 8, 10);
	report(9000000, 7, 20);
	report(9000010, 7, 30);
	report(5, 8, 40);
	report(1000, 8, 50);
	report(10, 8, 60);
	stream_emit_sum();
	check_seen("sum0:2-1 20t 20us c-1@100 ",
	           "--ctx: a gap in which the context does not run is not a loss");

	clear();
	begin(); /* 2^32 us are 4295 s */
	stream_correlate(1000000000, 0);
	report(1000, 0, 10);
	stream_correlate(2000000000, 0);
	stream_correlate(1075000000000, 0);
	report(1500, 0, 20);
	report(1600, 0, 30);
	check(stream.lost == 0 && stream.deltas == 2,
	      "a quarter of the range of timestamps without a report is not a loss");
	stream_correlate(1076000000000, 0);
	stream_correlate(2150000000000, 0);
	report(1700, 0, 40);
	report(1800, 0, 50);
	stream_correlate(1000000000, 0);
	check(stream.lost == 1 && stream.deltas == 3,
	      "a longer time without a report is a loss: timestamps may have wrapped");
	check(stream.correlations == 6 && stream.cpu_ns == 1000000000,
	      "the last correlation is kept");
}

static void t_kept(void)
{
	static char buffer[256];
	u32 w[4] = { 1u << 19, 100, 0, 10 };

	clear();
	begin();
	memcpy(buffer, w, sizeof(w));
	stream_report(str_of(buffer, sizeof(buffer)));
	stream_keep_last();
	w[1] = 130;
	w[3] = 50;
	memcpy(buffer, w, sizeof(w));
	stream_report(str_of(buffer, sizeof(buffer)));
	stream_emit_sum();
	check_seen("sum0:1-0 40t 30us c-1@100 ",
	           "the last report is kept while the buffer is used again");
}

static void t_ends(void)
{
	clear();
	begin();
	check(stream_finish(false) == EX_OK && finished == 1 && ended == 0,
	      "the end of the output writes the last sum");
	gathers = true;
	stream_finish(false);
	check(finished == 2 && ended == 0, "the end of the output replaces the file");
	stream_finish(true);
	check(finished == 2 && ended == 1,
	      "the end of a malformed recording does not replace the file");
	gathers = false;
	stream_finish(true);
	check(finished == 3,
	      "the end of a malformed recording is written if the output is not a file");
	opt.out.fmt = format_find((struct str)STR("prom"));
	stream_emit_sum();
	check(finished == 4 && oarun.any_written, "a document has one record");
	stream_finish(false);
	check(finished == 4 && ended == 2, "a document has no other record at the end");
}

static void t_patterns(void)
{
	clear();
	opt.patterns[0] = LIT("A7");
	opt.patterns[1] = LIT("index");
	opt.patterns[2] = LIT("counter.C3");
	opt.out.npatterns = 3;
	check(begin() == -1, "-f with raw counters and fields prints them");
	opt.patterns[1] = LIT("counter.index");
	check(begin() == EX_USAGE && is_said("'counter.index': not a field or counter of this set"),
	      "-f with a field that is not a counter is refused");
	opt.patterns[1] = LIT("A99");
	check(begin() == EX_USAGE && is_said("'A99'"),
	      "-f with a counter that the format does not have is unknown");
}

/* Skylake's set Basic with a device whose topology is unknown: seven counters divide by the
 * number of EUs. */
static int begin_basic(const char *pattern)
{
	struct str at = { 0 };

	clear();
	begin();
	opt.raw = false;
	opt.patterns[0] = str_z(pattern);
	opt.out.npatterns = *pattern != '\0';
	while (oaset_next(&oabasic, &at, &stream.set) && !oaset_fits(&stream.set, stream.platform))
		;
	oadevice_init(&stream.dev, 0x1912, stream.platform);
	return stream_ready();
}

static void t_unknown(void)
{
	check(begin_basic("") == -1 &&
	      is_said("counters without a value: 7; the recording does not contain EuCoresTotalCount\n"),
	      "counters whose variables are unknown are reported once");
	check(begin_basic("GpuBusy") == -1 && is_said(NULL),
	      "counters whose variables are unknown are not reported if -f does not show them");
	check(begin_basic("EuStall") == -1 && is_said("counters without a value: 1;"),
	      "counters whose variables are unknown are counted only among those of -f");
	begin_basic("");
	said.n = 0;
	stream.dev.var[OV_EUS] = 24;
	check(stream_ready() == -1 && is_said(NULL), "no message if all variables are known");
	stream.dev.var[OV_EUS] = stream.dev.var[OV_THREADS] = 0;
	stream.live = true;
	check(stream_ready() == -1 && is_said("the driver does not report EuCoresTotalCount, EuThreadsCount\n"),
	      "message for a driver, with two unknown variables");
}

int main(void)
{
	t_reports();
	t_intervals();
	t_contexts();
	t_losses();
	t_lost_switch();
	t_spoiled();
	t_gaps();
	t_kept();
	t_ends();
	t_patterns();
	t_unknown();
	return unit_end();
}
