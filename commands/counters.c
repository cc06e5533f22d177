/* counters.c - gpustat counters: the catalogue, and values by name; gpustat host: the machine itself, a line a sample.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "commands.h"
#include "sys.h"

#include <limits.h>

/* What is shown, in this order. */
static struct picked *picked;
static TABLE(picked, MAX_NAMED, 32, "counters that are shown");
static size_t npicked;
static bool spread; /* all of a sample in one record */
enum { MAX_POINTS = 64 };
static u32 left_out; /* kernel tracepoints */

static const struct str anywhere = STR(""), of_host = STR("host/");

/* The line of host: a column each. */
static const char hostline[] =
	"CPU    host/cpu/all/util "
	"USER   host/cpu/all/user "
	"SYS    host/cpu/all/kernel "
	"IOWT   host/cpu/all/iowait "
	"MEM    host/memory/-/used "
	"SWAP   host/swap/-/used "
	"FAULTS host/vm/-/faults "
	"READ   host/disk/all/read "
	"WRITE  host/disk/all/write "
	"PROCS  host/processes/-/count "
	"CTXSW  host/cpu/all/switches "
	"LOAD   host/load/-/1";

/* What host leaves out unless -f names it: sums over all processes, each of which is opened for every sample. That costs some
 * 25 us a process, where all other counters together take 0.7 ms. */
static const struct str costly = STR("host/file/*");

/* --- which counters -------------------------------------------------------------------------------------------- */

/* Names that several vendors have are those of files; columns have one name each. */
static bool has_column(struct str title)
{
	for (size_t i = 0; i < npicked; i++)
		if (str_eq(picked[i].title, title))
			return true;
	return false;
}

static void take(u32 i, struct str title)
{
	static u64 taken[MAX_NAMED / 64]; /* a bit each */
	u64 bit = UINT64_C(1) << i % 64;

	if (taken[i / 64] & bit)
		return;
	taken[i / 64] |= bit;
	if ((spread && catalog_at(i)->supplier == SUP_FILE && has_column(title)) || !table_has(&picked_table, npicked))
		opt.out.lost++;
	else
		picked[npicked++] = (struct picked){ .counter = catalog_at(i), .index = i, .title = title };
}

/* Returns true if a pattern may select this counter. A kernel has some 2500 tracepoints, each is opened on every CPU, and closing one
 * takes the kernel some 0.03 s: a pattern without their prefix selects none, and all patterns together select at most 64. */
static bool may_take(struct str word, struct str name)
{
	static const struct str points = STR("perf/tracepoint/");
	static u32 some;
	struct str rest = name;

	if (opt.every || opt.out.list || !str_skip(&rest, points) || str_eq(word, name) || (str_skip(&word, points) && some++ < MAX_POINTS))
		return true;
	left_out++;
	return false;
}

/* Those below a prefix that have this name or match it; false: there is none. */
static bool take_word(struct str word, struct str prefix)
{
	bool any = false;

	for (u32 i = 0; i < nnamed; i++) {
		struct str name = str_z(catalog_at(i)->name);

		if (!str_skip(&name, prefix) || !glob_match(word, name, NULL))
			continue;
		any = true;
		if (may_take(word, name))
			take(i, name);
	}
	return any;
}

#if HAS(counters)
#define WHERE_ELSE "; gpustat counters lists them"
#else
#define WHERE_ELSE "; not built in: counters"
#endif

static int no_counter(struct str word)
{
	char name[256];

	if (say_full()) /* it may be one of those that had no room */
		return EX_FAIL;
	device_set(name, sizeof(name), word);
	return usage("no such counter: ", name, WHERE_ELSE);
}

/* What these suppliers have, be it of /proc or /sys alone: exit code, or -1 to go on. */
static int open_catalog(u32 suppliers)
{
	if (!open_roots(false) || (root_proc < 0 && root_sys < 0))
		return EX_FAIL;
	if (catalog_refresh(suppliers) == 0)
		return -1;
	say_z("/proc and /sys may not be read; as root, or with --proc and --sys");
	return EX_DENIED;
}

/* --- records --------------------------------------------------------------------------------------------------- */

/* Exit code. */
static int print_picked(const struct recopts *ro)
{
	size_t step = spread ? npicked : 1;
	/* Several records a write, which a pipe takes as a whole: few are half as long as that. */
	size_t most = opt.out.one_line ? OUT_BYTES / 2 : PIPE_BUF / 2;

	update_offset();
	for (int show = !out_measures(&opt.out); show < 2; show++)
		for (size_t i = 0; i < npicked; i += step) {
			struct reading row = { .e.kind = spread ? K_COUNTERS : K_COUNTER, .picked = picked + i, .n = step };

			record_make(&rec, &row.e, ro);
			if (!show)
				out_measure(&opt.out, &rec);
			else
				out_record(&opt.out, &out, &rec);
			if (out.n > most && !flush())
				return EX_FAIL;
		}
	return finish_sample();
}

static int conclude(int code)
{
	reg_dropped += (u32)opt.out.lost;
	say_dropped();
	return code == EX_OK && lost_record ? EX_FAIL : code;
}

static int list(void)
{
	struct recopts ro = { .list = true, .dt_us = -1, .time_us = sample_time() };

	opt.out.list = true;
	take_word((struct str)STR("*"), anywhere);
	return conclude(print_picked(&ro));
}

/* --- samples --------------------------------------------------------------------------------------------------- */

/* Those that are refused are unknown, as long as there are others. Exit code, or -1 to go on. */
static int activate(void)
{
	const struct named *first = NULL;
	size_t n = 0, refused = 0;

	for (size_t i = 0; i < npicked && !stopped; i++) {
		if (!picked[i].counter)
			continue;
		n++;
		if (catalog_activate(&picked[i].index, 1) < 0)
			first = refused++ ? first : picked[i].counter;
	}
	if (!first)
		return -1;
	say(first->name, ": refused; as root", first->supplier == SUP_HOST || first->supplier == SUP_HWMON ? NULL :
	    ", or: setcap cap_perfmon+ep gpustat, or: sysctl kernel.perf_event_paranoid=-1");
	if (refused > 1)
		say_number(refused - 1, refused > 2 ? " more counters are refused" : " more counter is refused");
	return refused == n ? EX_DENIED : -1;
}

static int sample(void)
{
	struct recopts ro = { .dt_us = -1 };
	struct ticks t;
	int code;

	if (left_out)
		say_number(left_out, " kernel tracepoints were left out: a pattern that names them opens 64 of them, --all opens all");
	if (!npicked)
		return say_full() ? EX_FAIL : EX_USAGE;
	if ((code = activate()) >= 0)
		return code;
	ticks_begin(&t);
	catalog_start();
	confine(0);
	ticks_start(&t);
	code = EX_OK;
	while (ticks_next(&t)) {
		catalog_sample();
		ticks_stamp(&t, &ro);
		code = print_picked(&ro);
		if (code != EX_OK || --t.left == 0)
			break;
	}
	code = code == EX_OK && t.failed ? EX_FAIL : code;
	return conclude(code);
}

/* --- counters -------------------------------------------------------------------------------------------------- */

/* Only a file of another program has a counter that is called like an interval: it can be the first word. */
static u32 tellers(void)
{
	u32 all = opt.nwords ? 1 << SUP_FILE : ALL_SUPPLIERS;
	i64 t;

	for (size_t i = 0; i < opt.nwords; i++)
		if (!parse_interval(str_z(opt.words[i]), &t))
			all |= catalog_tellers(str_z(opt.words[i]));
	return all;
}

/* Names first; what is none begins INTERVAL and COUNT. */
int cmd_counters(void)
{
	bool timed = opt.interval || opt.count || opt.windowed;
	size_t n = 0;
	i64 t;
	int code = open_catalog(tellers());

	if (code >= 0)
		return code;
	if (opt.nwords == 0 && !timed)
		return list();
	while (n < opt.nwords && !(n && parse_interval(str_z(opt.words[n]), &t)) && take_word(str_z(opt.words[n]), anywhere))
		n++;
	if (n < opt.nwords && !parse_interval(str_z(opt.words[n]), &t))
		return no_counter(str_z(opt.words[n]));
	if (n == 0)
		return usage_z("counters: sample which NAME? gpustat counters lists them");
	code = take_times(opt.words + n, opt.nwords - n);
	return code >= 0 ? code : sample();
}

/* --- host ------------------------------------------------------------------------------------------------------ */

static void take_line(void)
{
	struct str rest = str_z(hostline), title, name;

	while (str_word(&rest, &title) && str_word(&rest, &name) && table_has(&picked_table, npicked)) {
		struct picked *t = &picked[npicked++];

		t->title = title;
		t->counter = catalog_find(name, &t->index) ? catalog_at(t->index) : NULL;
	}
}

static void take_host(void)
{
	for (u32 i = 0; i < nnamed; i++) {
		struct str name = str_z(catalog_at(i)->name), short_name = name;

		if (str_skip(&short_name, of_host) && !glob_match(costly, name, NULL))
			take(i, short_name);
	}
}

/* -f as the formats want it: a word is a field, or names counters, which are columns where all stand in one record. */
static void keep(struct str pattern)
{
	if (opt.out.npatterns == MAX_PATTERNS)
		opt.out.lost++;
	else
		opt.patterns[opt.out.npatterns++] = pattern;
}

/* The host's, before all others. */
static bool take_any(struct str word)
{
	if (take_word(word, of_host))
		return true;
	catalog_refresh(catalog_tellers(word));
	return take_word(word, anywhere);
}

static int take_fields(void)
{
	static struct str words[MAX_PATTERNS];
	size_t n = opt.out.npatterns;
	bool names = false;

	memcpy(words, opt.patterns, n * sizeof(*words));
	spread = format_spreads(opt.out.fmt);
	for (size_t i = 0; i < n; i++) {
		bool field = pattern_known(words[i], K_COUNTER);

		names |= !field;
		spread &= !field || pattern_known(words[i], K_COUNTERS);
	}
	spread &= names;
	opt.out.npatterns = 0;
	for (size_t i = 0; i < n; i++) {
		size_t k = npicked;

		if (pattern_known(words[i], K_COUNTER))
			keep(words[i]);
		else if (!take_any(words[i]))
			return no_counter(words[i]);
		for (; spread && k < npicked; k++)
			keep(picked[k].title);
	}
	if (!names)
		take_host();
	return -1;
}

int cmd_host(void)
{
	int code = open_catalog(1 << SUP_HOST);

	if (code >= 0)
		return code;
	if (opt.out.npatterns) {
		code = take_fields();
		if (code >= 0)
			return code;
	} else if (opt.out.fmt == format_find((struct str)STR("line"))) {
		spread = true;
		take_line();
	} else {
		take_host();
	}
	return sample();
}
