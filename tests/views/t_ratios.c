/* t_ratios.c - the ratios beside counts: the denominator of each event, rounding,
 * and their form in perf-csv and JSON. The counts are those of a simulated PMU.
 * SPDX-License-Identifier: MIT */
#include "../../views/ratios.c" /* for its static table */
#include "unit.h"

enum { MAX = 32 };
#define MS UINT64_C(1000000) /* ns */

static struct buf text(void)
{
	static char bytes[2048];

	return buf_on(bytes, sizeof(bytes));
}

static void clear(void)
{
	table_all(&events_table);
	table_all(&evrows_table);
	table_all(&sites_table);
	memset(evsets, 0, sizeof(evsets));
	nrows.events = nrows.evrows = nrows.counts = 0;
	nrows.sites = 1;
	sites[0] = (struct site){ SITE_ALL };
	rows_sum(-1, true);
}

/* Adds an event of this name and its row for the first site. Returns its event. */
static struct event *count(const char *name, u64 value)
{
	struct event *ev = &events[++nrows.events];
	u32 row = 1 + (nrows.events - 1) * nrows.sites;

	*ev = (struct event){ .name = text_put(NONE, str_z(name)) };
	if (!parse_evname(str_z(name), &ev->type, &ev->config[0]))
		ev->type = PT_RAW;
	if (ev->type == PT_SOFTWARE && strstr(name, "-clock"))
		ev->unit = text_put(NONE, str_z("ns"));
	for (u32 i = 0; i < nrows.sites; i++)
		evrows[row + i] = (struct evrow){ .e = { .kind = K_EVENT, .used = true },
						  .event = nrows.events, .site = i,
						  .value = value, .share = 100000,
						  .sum = { value, 9, 9 } };
	nrows.evrows = row + nrows.sites - 1;
	return ev;
}

/* Sets the time of the measurement, and leaves the rows as they are. */
static void elapse(i64 ns)
{
	u32 n = nrows.evrows;

	nrows.evrows = 0;
	rows_sum(ns, true);
	nrows.evrows = n;
}

/* The ratio of a row as `line` shows it; "": none. */
static struct str shown(u32 row)
{
	struct buf b = text();
	struct ratio x;

	if (ratio_find(&evrows[row].e, &x))
		put_ratio(&b, &x, x.percent ? "% " : " ");
	return str_of(b.p, b.n);
}

/* Each event with each of its denominators: exact numbers. */
static void t_pairs(void)
{
	static const struct {
		const char *of, *by;
		u64 n, d;
		const char *want;
	} rows[] = {
		{ "instructions", "cycles", 1234567, 1000000, "1.23 insn per cycle" },
		{ "instructions", "cycles", 1235000, 1000000, "1.24 insn per cycle" },
		{ "cycles", "task-clock", 2345 * MS, 1000 * MS, "2.345 GHz" },
		{ "cycles", "cpu-clock", 2345 * MS, 1000 * MS, "2.345 GHz" },
		{ "stalled-cycles-frontend", "cycles", 333, 1000, "33.30% frontend cycles idle" },
		{ "idle-cycles-backend", "cpu-cycles", 1, 3, "33.33% backend cycles idle" },
		{ "branch-misses", "branches", 2, 3, "66.67% of all branches" },
		{ "branch-misses", "branch-instructions", 0, 3, "0.00% of all branches" },
		{ "cache-misses", "cache-references", 12345, 1000000, "1.235% of all cache refs" },
		{ "L1-dcache-load-misses", "L1-dcache-loads", 1, 8, "12.50% of all L1-dcache accesses" },
		{ "L1-icache-load-misses", "L1-icache-loads", 1, 8, "12.50% of all L1-icache accesses" },
		{ "LLC-load-misses", "LLC-loads", 1, 8, "12.50% of all LL-cache accesses" },
		{ "dTLB-load-misses", "dTLB-loads", 1, 8, "12.50% of all dTLB cache accesses" },
		{ "iTLB-load-misses", "iTLB-loads", 9, 8, "112.50% of all iTLB cache accesses" },
		{ "branches", "task-clock", 999, 1000 * MS, "999.000 /sec" },
		{ "page-faults", "task-clock", 1000, 1000 * MS, "1000.000 /sec" },
		{ "page-faults", "task-clock", 1001, 1000 * MS, "1.001 K/sec" },
		{ "branches", "task-clock", 1234567890, 1000 * MS, "1.235 G/sec" },
		{ "branches", "task-clock", 1500000, 1000 * MS, "1.500 M/sec" },
		{ "no-such-event", "task-clock", 5, 1000 * MS, "5.000 /sec" },
		{ "instructions", "task-clock", 5000, 1000 * MS, "5.000 K/sec" },
		{ "LLC-load-misses", "task-clock", 0, 1000 * MS, "0.000 /sec" },
		{ "instructions", "branches", 5, 5, "" },
		{ "LLC-store-misses", "LLC-stores", 5, 5, "" },
		{ "instructions", "cycles", 5, 0, "" },
		{ "instructions", "cycles", UINT64_MAX, 1, "" },
		{ "instructions", "cycles", UINT64_MAX, UINT64_MAX, "1.00 insn per cycle" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		count(rows[i].of, rows[i].n);
		count(rows[i].by, rows[i].d);
		check_str(shown(1), rows[i].want, "%s beside %s", rows[i].of, rows[i].by);
	}
}

static void t_elapsed(void)
{
	clear();
	count("task-clock", 385846);
	check_str(shown(1), "", "CPUs utilized: nothing if nothing was measured");
	elapse(1000000);
	check_str(shown(1), "0.386 CPUs utilized", "CPUs utilized");
	elapse(0);
	check_str(shown(1), "", "CPUs utilized: nothing for no time");
	clear();
	count("cpu-clock", 2000);
	elapse(1000);
	check_str(shown(1), "2.000 CPUs utilized", "CPUs utilized: by cpu-clock");
	rows_repeat();
	elapse(3000);
	rows_repeat();
	check(rows_times()->elapsed.value == 2000 && rows_times()->elapsed.repeats == 2,
	      "the time of repetitions is their mean: %ju", (uintmax_t)rows_times()->elapsed.value);
}

/* A denominator counts only if it was counted, in the same place, set and mode. */
static void t_same(void)
{
	struct event *by;

	for (int i = 0; i < 9; i++) {
		clear();
		nrows.sites = i == 7 ? 2 : 1;
		count("instructions", 500);
		by = count("cycles", 1000);
		switch (i) {
		case 0: by->mods = EM_USER; break;
		case 1: by->set = 1; break;
		case 2: by->virt = 1; break;
		case 3: by->rule = R_LEVEL; break;
		case 4: evrows[2].state = CS_NEVER_RAN; break;
		case 5: evrows[2].point = 2; break;
		case 6: by->pmu = 1; break;
		case 7: evrows[3].state = CS_NEVER_RAN; break; /* of the first site */
		default: evrows[1].state = CS_UNSUPPORTED;
		}
		check_str(shown(1), "", "a denominator that does not fit: %d", i);
		if (i == 7)
			check_str(shown(2), "0.50 insn per cycle",
				  "the other place has its own denominator");
	}
	clear();
	count("instructions", 500)->mods = EM_USER | EM_PINNED;
	count("cycles", 1000)->mods = EM_USER;
	check_str(shown(1), "0.50 insn per cycle", "both in user space: pinning does not matter");
	clear();
	count("power", 500)->unit = text_put(NONE, str_z("Joules"));
	count("task-clock", 1000);
	check_str(shown(1), "", "a value with a unit is not events per second");
	clear();
	count("cycles", 2000)->config[0] |= UINT64_C(10) << 32; /* hybrid: cpu_atom/cycles/ */
	events[1].pmu = 2;
	count("task-clock", 1000);
	check_str(shown(1), "2.000 GHz", "one kind of CPU: divided by the task-clock of all CPUs");
}

static void t_stalls(void)
{
	struct ratio x;

	clear();
	count("instructions", 400);
	check(!ratio_stalls(&evrows[1].e, &x), "stalls: no ratio if none were counted");
	count("stalled-cycles-frontend", 100);
	check(ratio_stalls(&evrows[1].e, &x) && x.micros == 250000,
	      "stalls: those of the frontend");
	count("stalled-cycles-backend", 300);
	check(ratio_stalls(&evrows[1].e, &x) && x.micros == 750000,
	      "stalls: those of the backend, because they are more");
	check(!ratio_stalls(&evrows[2].e, &x), "stalls: a ratio only beside instructions");
	evrows[1].value = 0;
	check(!ratio_stalls(&evrows[1].e, &x), "stalls: no ratio for 0 instructions");
}

static struct record rec;

static struct str written(const char *format, const struct out *like)
{
	static const struct recopts raw = { .raw = true, .time_us = 1000000, .dt_us = -1 };
	struct buf b = text();
	struct out o = *like;

	o.fmt = format_find(str_z(format));
	o.kind = K_EVENT;
	for (int show = !out_measures(&o); show < 2; show++)
		for (u32 i = 1; i <= nrows.evrows; i++) {
			record_make(&rec, &evrows[i].e, &raw);
			if (show)
				out_record(&o, &b, &rec);
			else
				out_measure(&o, &rec);
		}
	return str_of(b.p, b.n);
}

static void t_formats(void)
{
	static const struct str few[] = { STR("event"), STR("metric"), STR("metric_unit"), STR("stalls") };
	static const struct out plain = { .once = true }, semicolon = { .once = true, .separator = ";" };
	static const struct out some = { .patterns = few, .npatterns = LEN(few), .once = true };
	static const struct out timed = { .sites = true, .summed = true };

	clear();
	count("instructions", 3000);
	count("cycles", 4000);
	count("stalled-cycles-frontend", 1000);
	count("branches", 500);
	count("branch-misses", 5);
	count("task-clock", 2000);
	count("dummy", 1);
	evrows[7].state = CS_UNSUPPORTED;
	elapse(4000);
	check_str(written("perf-csv", &plain),
		  "3000,,instructions,9,100.00,0.75,insn per cycle\n"
		  ",,,,,0.33,stalled cycles per insn\n"
		  "4000,,cycles,9,100.00,2.000,GHz\n"
		  "1000,,stalled-cycles-frontend,9,100.00,25.00,frontend cycles idle\n"
		  "500,,branches,9,100.00,250.000,M/sec\n"
		  "5,,branch-misses,9,100.00,1.00,of all branches\n"
		  "0.00,msec,task-clock,9,100.00,0.500,CPUs utilized\n"
		  "<not supported>,,dummy,9,100.00,,\n", "perf-csv");
	check_str(written("perf-json", &plain),
#define OBJECT(value, unit, event, n, words) "{\"counter-value\" : \"" value "\", \"unit\" : \"" unit "\", \"event\" : \"" event \
	"\", \"event-runtime\" : 9, \"pcnt-running\" : 100.00, \"metric-value\" : " n ", \"metric-unit\" : \"" words "\"}\n"
		  OBJECT("3000.000000", "", "instructions", "0.750000", "insn per cycle")
		  "{\"metric-value\" : 0.333333, \"metric-unit\" : \"stalled cycles per insn\"}\n"
		  OBJECT("4000.000000", "", "cycles", "2.000000", "GHz")
		  OBJECT("1000.000000", "", "stalled-cycles-frontend", "25.000000", "frontend cycles idle")
		  OBJECT("500.000000", "", "branches", "250.000000", "M/sec")
		  OBJECT("5.000000", "", "branch-misses", "1.000000", "of all branches")
		  OBJECT("0.002000", "msec", "task-clock", "0.500000", "CPUs utilized")
		  OBJECT("<not supported>", "", "dummy", "0.000000", ""), "perf-json");
	evrows[1].value = 123456789123;
	evrows[1].point = 7;
	evrows[1].neg = true;
	events[1].name = text_put(NONE, str_z("a\"\x1b\xff"));
	nrows.evrows = 1;
	check_str(written("perf-json", &plain), OBJECT("-12345.678912", "", "a\\\"\\u001b\\ufffd", "0.000000", ""),
		  "perf-json: six decimals of seven, and a name that needs escapes");
	nrows.evrows = 7;
	evrows[1].value = 3000;
	evrows[1].point = evrows[1].neg = 0;
	events[1].name = text_put(NONE, str_z("instructions"));
	check_str(written("json", &some),
		  "{\"event\":\"instructions\",\"metric\":0.75,\"metric_unit\":\"insn per cycle\",\"stalls\":0.333333}\n"
		  "{\"event\":\"cycles\",\"metric\":2.0,\"metric_unit\":\"GHz\"}\n"
		  "{\"event\":\"stalled-cycles-frontend\",\"metric\":25.0,\"metric_unit\":\"% frontend cycles idle\"}\n"
		  "{\"event\":\"branches\",\"metric\":250000000.0,\"metric_unit\":\"/sec\"}\n"
		  "{\"event\":\"branch-misses\",\"metric\":1.0,\"metric_unit\":\"% of all branches\"}\n"
		  "{\"event\":\"task-clock\",\"metric\":0.5,\"metric_unit\":\"CPUs utilized\"}\n"
		  "{\"event\":\"dummy\"}\n", "json: numbers without a prefix");
	check_str(written("csv", &some), "event,metric,metric_unit,stalls\ninstructions,0.75,insn per cycle,0.333333\n"
		  "cycles,2.0,GHz,\nstalled-cycles-frontend,25.0,% frontend cycles idle,\nbranches,250000000.0,/sec,\n"
		  "branch-misses,1.0,% of all branches,\ntask-clock,0.5,CPUs utilized,\ndummy,,,\n", "csv");
	check_str(written("line", &plain),
		  "EVENT                          VALUE UNIT    RUN METRIC                                            REASON\n"
		  "instructions                    3000      100.0% 0.75 insn per cycle, 0.33 stalled cycles per insn\n"
		  "cycles                          4000      100.0% 2.000 GHz\n"
		  "stalled-cycles-frontend         1000      100.0% 25.00% frontend cycles idle\n"
		  "branches                         500      100.0% 250.000 M/sec\n"
		  "branch-misses                      5      100.0% 1.00% of all branches\n"
		  "task-clock                      0.00 msec 100.0% 0.500 CPUs utilized\n"
		  "dummy                              -      100.0%                                                   "
		  "not supported: no PMU here has it\n", "line");
	nrows.evrows = 1;
	sites[0].socket = 0;
	evrows[1].places = 2;
	count("stalled-cycles-backend", 1500);
	nrows.evrows = 1;
	evrows[2] = evrows[nrows.events];
	nrows.evrows = 2;
	check_str(written("perf-csv", &timed),
		  "     1.000000000,S0,2,3000,,instructions,9,100.00,,\n"
		  "     1.000000000,S0,2,,,,,,0.50,stalled cycles per insn\n"
		  "     1.000000000,S0,0,1500,,stalled-cycles-backend,9,100.00,,\n",
		  "perf-csv: the line of the stalls begins like other lines");
	check_str(written("perf-json", &timed),
		  "{\"interval\" : 1.000000000, \"socket\" : \"S0\", \"aggregate-number\" : 2, \"counter-value\" : \"3000.000000\", "
		  "\"unit\" : \"\", \"event\" : \"instructions\", \"event-runtime\" : 9, \"pcnt-running\" : 100.00, "
		  "\"metric-value\" : 0.000000, \"metric-unit\" : \"\"}\n"
		  "{\"interval\" : 1.000000000, \"socket\" : \"S0\", \"aggregate-number\" : 2, "
		  "\"metric-value\" : 0.500000, \"metric-unit\" : \"stalled cycles per insn\"}\n"
		  "{\"interval\" : 1.000000000, \"socket\" : \"S0\", \"aggregate-number\" : 0, \"counter-value\" : \"1500.000000\", "
		  "\"unit\" : \"\", \"event\" : \"stalled-cycles-backend\", \"event-runtime\" : 9, \"pcnt-running\" : 100.00, "
		  "\"metric-value\" : 0.000000, \"metric-unit\" : \"\"}\n",
		  "perf-json: intervals, with the number of the package");
	nrows.evrows = 1;
	check_str(written("perf-csv", &semicolon), "3000;;instructions;9;100.00;;\n",
		  "perf-csv: an interval without a ratio");
	evrows[1].sum.running = 0;
	evrows[1].value = 0;
	check_str(written("perf-csv", &semicolon), "<not counted>;;instructions;0;100.00;;\n",
		  "perf-csv: an interval in which the task did not run");
}

static void t_grouped(void)
{
	static const struct { u64 n; u8 point; bool neg; const char *want; } rows[] = {
		{ 0, 0, false, "0" }, { 999, 0, false, "999" }, { 1000, 0, false, "1,000" },
		{ 123456, 0, true, "-123,456" }, { 1234567, 0, false, "1,234,567" },
		{ UINT64_MAX, 0, false, "18,446,744,073,709,551,615" },
		{ 123456789, 5, false, "1,234.56789" }, { 999, 0, true, "-999" },
	};
	struct out o = { .grouped = true, .once = true, .no_header = true };

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str s, word = { 0 };

		clear();
		count("instructions", rows[i].n);
		evrows[1].point = rows[i].point;
		evrows[1].neg = rows[i].neg;
		s = written("line", &o);
		str_word(&s, &word);
		str_word(&s, &word);
		check_str(word, rows[i].want, "-B: %s", rows[i].want);
	}
	clear();
	count("instructions", 1234567);
	check_str(written("perf-csv", &o), "1234567,,instructions,9,100.00,,\n", "-B: not in perf-csv");
}

static struct str times(void)
{
	struct buf b = text();

	put_times(&b);
	return str_of(b.p, b.n);
}

static void t_times(void)
{
	struct runtimes *t = rows_times();

	*t = (struct runtimes){ 0 };
	clear();
	check_str(times(), "", "times: no text if nothing was measured");
	elapse(1326865);
	check_str(times(), "\n       0.001326865 seconds time elapsed\n", "times: without a command");
	t->has_cpu = true;
	t->user = 1234567894000;
	t->system = 42000;
	check_str(times(), "\n       0.001326865 seconds time elapsed\n    1234.567894000 seconds user\n"
		  "       0.000042000 seconds sys\n",
		  "times: of a command, with user and system time");
	elapse(1000000);
	rows_repeat();
	elapse(3000000);
	rows_repeat();
	check_str(times(), "\n       0.002000000 +- 0.001000000 seconds time elapsed  ( +- 50.00% )\n",
		  "times: the mean of two runs");
	*t = (struct runtimes){ 0 };
}

int main(void)
{
	t_pairs();
	t_elapsed();
	t_same();
	t_stalls();
	t_formats();
	t_grouped();
	t_times();
	return unit_end();
}
