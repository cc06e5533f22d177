/* ratios.c - what perf stat shows beside counts: the ratio of a count to another one (insn per
 * cycle, GHz, miss rates, events per second), and at the end the times of the run. Pure.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "views/views.h"

enum { MICROS = 1000000, PERCENT = 100, PER_SECOND = 1000000000 };

/* Key of a generic perf event: one number made of its type (PERF_TYPE_*) and its config. */
#define KEY(type, config) ((u32)(type) << 24 | (config))
#define HARD(config)      KEY(PT_HARDWARE, config)
/* keys of PERF_TYPE_HW_CACHE events (linux/perf_event.h): reads of a cache, and read misses */
#define READS(cache)      KEY(PT_HW_CACHE, cache)
#define MISSES(cache)     KEY(PT_HW_CACHE, (cache) | 1 << 16)

/* Keys in ratiorow that are not the key of one event. As the denominator `by`: CLOCK is the count
 * of task-clock or cpu-clock, ELAPSED is the time that the measurement took. As the numerator `of`:
 * ANY is the count of any event. */
enum { CLOCK = KEY(PT_SOFTWARE, 0xfffffe), ELAPSED, ANY };
/* PERF_COUNT_HW_*, PERF_COUNT_SW_* and PERF_COUNT_HW_CACHE_* of linux/perf_event.h */
enum { CYCLES, INSTRUCTIONS, REFERENCES, CACHE_MISSES, BRANCHES, BRANCH_MISSES,
       FRONTEND = 7, BACKEND };
enum { CPU_CLOCK, TASK_CLOCK };
enum { L1D, L1I, LL, DTLB, ITLB };

/* Ratios of the count of an event (`counted`) to the count of another event (`by`). For an event,
 * the first row is used for which `by` was counted, too. The words and the number of decimals are
 * those of perf 6.1, tools/perf/util/stat-shadow.c. */
static const struct ratiorow {
	u32 counted, by;
	u32 times; /* factor by which the ratio is multiplied: 1, PERCENT or PER_SECOND */
	u8 decimals;
	const char *words;
} ratiorows[] = {
	{ KEY(PT_SOFTWARE, TASK_CLOCK), ELAPSED, 1, 3, "CPUs utilized" },
	{ KEY(PT_SOFTWARE, CPU_CLOCK), ELAPSED, 1, 3, "CPUs utilized" },
	{ HARD(CYCLES), CLOCK, 1, 3, "GHz" },
	{ HARD(INSTRUCTIONS), HARD(CYCLES), 1, 2, "insn per cycle" },
	{ HARD(FRONTEND), HARD(CYCLES), PERCENT, 2, "frontend cycles idle" },
	{ HARD(BACKEND), HARD(CYCLES), PERCENT, 2, "backend cycles idle" },
	{ HARD(BRANCH_MISSES), HARD(BRANCHES), PERCENT, 2, "of all branches" },
	{ HARD(CACHE_MISSES), HARD(REFERENCES), PERCENT, 3, "of all cache refs" },
	{ MISSES(L1D), READS(L1D), PERCENT, 2, "of all L1-dcache accesses" },
	{ MISSES(L1I), READS(L1I), PERCENT, 2, "of all L1-icache accesses" },
	{ MISSES(LL), READS(LL), PERCENT, 2, "of all LL-cache accesses" },
	{ MISSES(DTLB), READS(DTLB), PERCENT, 2, "of all dTLB cache accesses" },
	{ MISSES(ITLB), READS(ITLB), PERCENT, 2, "of all iTLB cache accesses" },
	{ ANY, CLOCK, PER_SECOND, 3, "/sec" },
};

static u32 event_key(const struct event *ev)
{
	/* On machines with several kinds of CPUs, the high 32 bits of config select the PMU
	 * (PERF_PMU_TYPE_SHIFT). Only the low 32 bits are a part of the key. */
	u32 config = (u32)ev->config[0];

	return ev->virt || ev->type > PT_HW_CACHE || config > 0xffffff ? ANY :
									  KEY(ev->type, config);
}

static bool is_clock_key(u32 key)
{
	return key == KEY(PT_SOFTWARE, TASK_CLOCK) || key == KEY(PT_SOFTWARE, CPU_CLOCK);
}

/* True if a row of `stat` has a count of events, not a time or another value: only counts have
 * ratios. */
static bool is_count(const struct evrow *r)
{
	return r->state == CS_COUNTED && !r->point && events[r->event].rule == R_COUNT;
}

/* True if the counts of two events can be compared: they are in the same event set, on the CPUs of
 * the same PMU, and count in the same modes (user, kernel, ...), as in perf's evsel_context(). */
static bool counts_same(const struct event *a, const struct event *b)
{
	enum { WHERE = EM_USER | EM_KERNEL | EM_HV | EM_IDLE | EM_GUEST | EM_HOST };

	return a->set == b->set && !((a->mods ^ b->mods) & WHERE) &&
	       (a->pmu == b->pmu || b->type == PT_SOFTWARE);
}

/* Returns the count of the event `key` at the site of row r (the same CPU, core, cgroup or thread);
 * 0 if that event was not counted there. */
static u64 count_beside(const struct evrow *r, u32 key)
{
	for (u32 i = 1 + r->site; i <= nrows.evrows; i += nrows.sites) {
		const struct event *ev = &events[evrows[i].event];
		u32 is = event_key(ev);

		if (is_count(&evrows[i]) && counts_same(&events[r->event], ev) && is != ANY &&
		    (is == key || (key == CLOCK && is_clock_key(is))))
			return evrows[i].value;
	}
	return 0;
}

static u64 ratio_of(u64 count, u64 times, u64 by)
{
	/* twice the ratio in millionths: halving it rounds the ratio to the nearest millionth */
	u64 twice = muldiv(count, 2 * times * MICROS, by);

	return twice == UINT64_MAX ? twice : twice / 2 + twice % 2;
}

/* Stores in *x the ratio of the count of e, a row of `stat`, to the count of another event at the
 * same site (CPU, core, cgroup or thread). Returns false if e has no ratio. */
bool ratio_find(const struct entity *e, struct ratio *x)
{
	const struct evrow *r = (const struct evrow *)(const void *)e;
	const struct evrow *elapsed = &rows_times()->elapsed;
	const struct event *ev;
	u32 key;

	if (e->kind != K_EVENT || !is_count(r))
		return false;
	ev = &events[r->event];
	key = event_key(ev);
	for (const struct ratiorow *d = ratiorows; d < ratiorows + LEN(ratiorows); d++) {
		u64 by;

		if (d->counted == ANY ? ev->unit != NONE || is_clock_key(key) : d->counted != key)
			continue;
		by = d->by != ELAPSED ? count_beside(r, d->by) :
		     elapsed->state == CS_COUNTED ? elapsed->value : 0;
		*x = (struct ratio){ ratio_of(r->value, d->times, by), d->decimals,
				     d->times == PERCENT, d->times == PER_SECOND, d->words };
		if (by && x->micros != UINT64_MAX)
			return true;
	}
	return false;
}

/* Stores in *x the stalled cycles per instruction if e is the row of the event instructions: the
 * cycles stalled in the frontend or in the backend, of which the larger count is used, divided by
 * the instructions. Returns false if e is another row, or if no stalled cycles were counted. */
bool ratio_stalls(const struct entity *e, struct ratio *x)
{
	const struct evrow *r = (const struct evrow *)(const void *)e;
	u64 front, back;

	if (e->kind != K_EVENT || !is_count(r) ||
	    event_key(&events[r->event]) != HARD(INSTRUCTIONS))
		return false;
	front = count_beside(r, HARD(FRONTEND));
	back = count_beside(r, HARD(BACKEND));
	*x = (struct ratio){ ratio_of(front > back ? front : back, 1, r->value), 2, false, false,
			     "stalled cycles per insn" };
	return (front || back) && x->micros != UINT64_MAX;
}

/* Writes a ratio: its number, rounded as in perf; the text `between`; and the words that name its
 * unit, such as "insn per cycle". */
void put_ratio(struct buf *b, const struct ratio *x, const char *between)
{
	static const u32 tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };
	u32 cut = tens[6 - x->decimals];
	u64 n = x->micros;
	u8 prefix = 0;

	for (; x->rate && prefix < 3 && n > (u64)1000 * MICROS; prefix++)
		n = n / 1000 + (n % 1000 >= 500);
	put_dec(b, (n + cut / 2) / cut, x->decimals, x->decimals);
	put_z(b, between);
	if (prefix)
		put_c(b, "KMG"[prefix - 1]);
	put_z(b, x->words);
}

/* Writes a time of `ns` nanoseconds in seconds with nine decimals, right-aligned in a column of 18
 * characters as perf does, and then the text `words`. */
static void put_seconds(struct buf *b, u64 ns, const char *words)
{
	enum { WIDTH = 18 };
	char text[DIGITS];
	struct buf t = BUF(text);

	put_dec(&t, ns, 9, 9);
	for (size_t i = t.n; i < WIDTH; i++)
		put_c(b, ' ');
	put_n(b, t.p, t.n);
	put_z(b, words);
}

/* Writes the last lines of perf's output for people: the time elapsed, and the CPU time of the
 * command. After several runs, it writes the mean of the time elapsed and its standard error. */
void put_times(struct buf *b)
{
	const struct runtimes *t = rows_times();
	const struct evrow *elapsed = &t->elapsed;

	if (elapsed->state != CS_COUNTED)
		return;
	put_c(b, '\n');
	put_seconds(b, elapsed->value, "");
	if (elapsed->repeats > 1) {
		double part = row_deviation(elapsed);

		put_z(b, " +- ");
		put_dec(b, (u64)(part * (double)elapsed->value + 0.5), 9, 9);
		put_z(b, " seconds time elapsed  ( +- ");
		put_dec(b, (u64)(part * 10000 + 0.5), 2, 2);
		put_z(b, "% )\n");
		return;
	}
	put_z(b, " seconds time elapsed\n");
	if (!t->has_cpu)
		return;
	put_seconds(b, t->user, " seconds user\n");
	put_seconds(b, t->system, " seconds sys\n");
}
