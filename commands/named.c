/* named.c - gpustat counters: the list of named counters, and their values; gpustat host: the
 * machine itself, one line per sample. SPDX-License-Identifier: MIT */
#include "built.h"
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sources/catalog/catalog.h"
#include "sys.h"


/* The named counters that the command line selects, in the order of the output. */
static TABLE(struct picked, picked, MAX_NAMED, 32, "counters that are shown");
enum { MAX_POINTS = 64 }; /* largest number of tracepoints that patterns may select without --all */

static const struct str no_prefix = STR(""), host_prefix = STR("host/");

/* The columns of gpustat host with -o line: the title of each column, and the name of its
 * counter. */
static const char line_columns[] =
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

/* gpustat host reads these counters only if -f names them: they are sums over all processes, and
 * every sample opens files of each process. That takes some 25 us for each process; all other
 * counters together take 0.7 ms. */
static const struct str expensive = STR("host/file/*");

/* --- functions that select named counters ----------------------------------------------------- */

static struct {
	size_t npicked;
	/* true: a sample is one record with a column for each counter; false: one record per
	 * counter */
	bool one_record;
	/* number of tracepoints that matched a pattern but were not selected: see may_pick() */
	u32 left_out;
	/* true for each selected counter; the index is that of the list of all named counters */
	bool is_picked[MAX_NAMED];
	/* number of counters (v3d, msm) that matched a pattern but were not selected, because only
	 * one program at a time can read them */
	u32 exclusive;
} pick;

/* Returns whether a selected counter has this title of a column already. Counters of files may have
 * the same name with different vendors; the titles of columns must be unique. */
static bool has_column(struct str title)
{
	for (size_t i = 0; i < pick.npicked; i++)
		if (str_eq(picked.rows[i].title, title))
			return true;
	return false;
}

static void counter_pick(u32 i, struct str title)
{
	pick.is_picked[i] = true;
	if ((pick.one_record && catalog_at(i)->provider == PROVIDER_FILE && has_column(title)) ||
	    !table_has(&picked.t, pick.npicked))
		opt.out.lost++;
	else
		picked.rows[pick.npicked++] = (struct picked){ .counter = catalog_at(i), .index = i,
						     .title = title };
}

#if HAS(counters) && HAS(gpuevents)
/* Returns whether only one program at a time can read the counter. Such a counter is read only if
 * the command line names it, because other programs cannot read it meanwhile. */
static bool is_exclusive(const struct named *n)
{
	return n->provider == PROVIDER_V3D || n->provider == PROVIDER_MSM ||
	       (n->provider == PROVIDER_GPU && gpu_counter_exclusive(n->at));
}

/* Called while the program waits for the next sample (`drain` of struct ticks): reads the counters
 * of GPU drivers that would overflow before that sample. Returns the time of the next call, in ns
 * on CLOCK_MONOTONIC; -1 if no such counter is open. */
static i64 counters_drain(void)
{
	if (virtual_due() >= 0 && sys_now(CLOCK_MONOTONIC) >= virtual_due())
		virtual_drain();
	return virtual_due();
}
#define HAS_EXCLUSIVE true
#else
#define HAS_EXCLUSIVE false
#define is_exclusive(n) (false)
#define counters_drain NULL
#endif

/* Returns whether a word of the command line may select an exclusive counter: the word is the
 * counter's name, or a pattern that begins with the name of the counter's driver. If counters are
 * only listed, without values, any pattern may select it. */
static bool may_pick_exclusive(struct str word, struct str name)
{
	struct str driver;

	if (str_eq(word, name))
		return true;
	str_cut(&name, '/', &driver);
	if (opt.out.list || (str_skip(&word, driver) && word.p < word.e && *word.p == '/'))
		return true;
	pick.exclusive++;
	return false;
}

/* Returns whether a pattern may select this counter. A kernel has some 2500 tracepoints; each is
 * opened on every CPU, and closing one takes the kernel some 0.03 s. So a pattern that does not
 * begin with perf/tracepoint/ selects no tracepoint, and all patterns together select at most
 * 64. */
static bool may_pick(struct str word, struct str name)
{
	static const struct str points = STR("perf/tracepoint/");
	static u32 npoints;
	struct str rest = name;

	if (opt.every || opt.out.list || !str_skip(&rest, points) || str_eq(word, name) ||
	    (str_skip(&word, points) && npoints++ < MAX_POINTS))
		return true;
	pick.left_out++;
	return false;
}

/* Selects the counters whose name is the prefix and then the word, which may be a pattern. Returns
 * false if there is no such counter. */
static bool word_pick(struct str word, struct str prefix)
{
	bool any = false;

	for (u32 i = 0; i < nnamed; i++) {
		struct str name = str_z(catalog_at(i)->name);

		if (!str_skip(&name, prefix) || !glob_match(word, name, NULL))
			continue;
		any = true;
		if (!pick.is_picked[i] &&
		    (is_exclusive(catalog_at(i)) ? may_pick_exclusive(word, name) :
						   may_pick(word, name)))
			counter_pick(i, name);
	}
	return any;
}

#if HAS(counters)
#define WHERE_ELSE "; gpustat counters -v lists them"
#else
#define WHERE_ELSE "; not built in: counters"
#endif

static int no_counter(struct str word)
{
	char name[256];

	if (say_full()) /* the counter may be missing because a table was full */
		return EX_FAIL;
	str_copy(name, sizeof(name), word);
	return usage("no such counter: ", name, WHERE_ELSE);
}

/* Fills the list of all named counters from these providers (bits 1 << PROVIDER_*). Either /proc or
 * /sys may be missing. Returns an exit code, or -1 to continue. */
static int open_catalog(u32 providers)
{
	if (!open_roots(false) || (roots.proc < 0 && roots.sys < 0))
		return EX_FAIL;
	if (catalog_refresh(providers) == 0)
		return -1;
	say_z("cannot read /proc and /sys; run as root, or use --proc and --sys");
	return EX_DENIED;
}

/* --- functions that print the selected counters ----------------------------------------------- */

/* Prints the selected counters. Returns an exit code. */
static int print_picked(const struct recopts *ro)
{
	size_t step = pick.one_record ? pick.npicked : 1;

	update_offset();
	for (int show = !out_measures(&opt.out); show < 2; show++)
		for (size_t i = 0; i < pick.npicked; i += step) {
			struct reading row = { .e.kind = pick.one_record ? K_COUNTERS : K_COUNTER,
					       .picked = picked.rows + i, .n = step };

			record_make(&rec, &row.e, ro);
			if (!show)
				out_measure(&opt.out, &rec);
			else if (!append_record())
				return EX_FAIL;
		}
	return finish_sample();
}

static int conclude(int code)
{
	registry.dropped += (u32)opt.out.lost;
	say_dropped();
	return code == EX_OK && lost_record ? EX_FAIL : code;
}

/* Lists the selected counters, without their values. */
static int list_picked(void)
{
	struct recopts ro = { .list = true, .dt_us = -1, .time_us = sample_time() };

	return conclude(print_picked(&ro));
}

/* Returns whether this is the name of a perf event of a GPU's driver. */
static bool is_gpu_event(struct str name)
{
	return str_skip_z(&name, "perf/") &&
	       (str_skip_z(&name, "i915") || str_skip_z(&name, "xe_") ||
		str_skip_z(&name, "amdgpu_"));
}

/* Lists all counters with -v; else the recommended counters, and all counters of GPUs (except those
 * of metric sets) and of files. Returns the exit code. */
static int list(void)
{
	/* providers that have hundreds to thousands of counters */
	const u32 long_lists = 1 << PROVIDER_HOST | 1 << PROVIDER_HWMON | 1 << PROVIDER_EVENT |
			       1 << PROVIDER_OA;

	opt.out.list = true;
	for (u32 i = 0; i < nnamed; i++) {
		const struct named *n = catalog_at(i);

		if (opt.verbose || n->recommended || !(long_lists >> n->provider & 1) ||
		    is_gpu_event(str_z(n->name)))
			counter_pick(i, str_z(n->name));
	}
	return list_picked();
}

/* Lists the counters whose names contain `word`, which is not itself the name of a counter. timed:
 * values were requested, which a list does not have. If timed is set or no name contains `word`,
 * prints an error message with the most similar name. Returns an exit code. */
static int find(struct str word, bool timed)
{
	struct nearest near = { .text = word };
	char name[256], text[256];
	struct buf b = BUF_Z(text);

	catalog_refresh(ALL_PROVIDERS);
	opt.out.list = true;
	for (u32 i = 0; i < nnamed; i++) {
		struct str full = str_z(catalog_at(i)->name);

		nearest_try(&near, full);
		if (!timed && str_contains(full, word))
			counter_pick(i, full);
	}
	if (!timed && pick.npicked)
		return list_picked();
	if (say_full()) /* the counter may be missing because a table was full */
		return EX_FAIL;
	str_copy(name, sizeof(name), word);
	put_nearest(&b, "", &near);
	say("no such counter: ", name, near.name.p ? buf_z(&b) : WHERE_ELSE);
	return EX_FAIL;
}

/* --- functions that open the selected counters and print samples ------------------------------ */

/* Opens the selected counters. A counter that the kernel refuses to open has no value; it is an
 * error if all are refused. Returns an exit code, or -1 to continue. */
static int activate(void)
{
	const struct picked *first = NULL;
	const char *why;
	size_t n = 0, refused = 0;

	for (size_t i = 0; i < pick.npicked && !stopped; i++) {
		if (!picked.rows[i].counter)
			continue;
		n++;
		if (catalog_activate(&picked.rows[i].index, 1) < 0 ||
		    picked.rows[i].counter->refused)
			first = refused++ ? first : &picked.rows[i];
	}
	if (!first)
		return -1;
	why = catalog_reason(first->index);
	say(first->counter->name, ": ",
	    why ? why : "access to this counter is denied; run as root");
	if (refused > 1)
		say_number(refused, " selected counters cannot be read: access is denied");
	return refused == n ? EX_DENIED : -1;
}

/* Prints for the first selected counter that cannot have a value the reason, and the number of
 * other such counters. */
static void say_reasons(void)
{
	size_t n = 0;

	for (size_t i = 0; i < pick.npicked; i++) {
		const struct named *c = picked.rows[i].counter;
		const char *why = c && !c->refused ? catalog_reason(picked.rows[i].index) : NULL;

		if (why && n++ == 0)
			say(c->name, ": ", why);
	}
	if (n > 1)
		say_number(n, " of the selected counters have no value");
}

static int sample(void)
{
	struct recopts ro = { .dt_us = -1 };
	struct ticks t;
	int code;

	if (pick.left_out)
		say_number(pick.left_out,
			   " kernel tracepoints were left out: a pattern opens at most "
			   "64, --all opens all");
	if (HAS_EXCLUSIVE && pick.exclusive)
		say_number(pick.exclusive,
			   " GPU counters that only one program can use were left out; "
			   "v3d/* or msm/* selects them");
	if (!pick.npicked)
		return say_full() ? EX_FAIL : EX_USAGE;
	if ((code = activate()) >= 0)
		return code;
	say_reasons();
	ticks_begin(&t);
	t.drain = counters_drain;
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

/* --- the command `counters` ------------------------------------------------------------------- */

/* Returns the providers, bits 1 << PROVIDER_*, that the words of the command line name. A word that
 * is a valid interval can only be a counter of a file: PROVIDER_FILE is always included. */
static u32 words_providers(void)
{
	u32 all = opt.nwords ? 1 << PROVIDER_FILE : ALL_PROVIDERS;
	i64 t;

	for (size_t i = 0; i < opt.nwords; i++)
		if (!parse_interval(str_z(opt.words[i]), &t))
			all |= catalog_providers_for(str_z(opt.words[i]));
	return all;
}

/* Runs gpustat counters. Its words are names of counters, then INTERVAL and COUNT; or one word: the
 * counters whose names contain it are listed. */
int cmd_counters(void)
{
	bool timed = opt.interval || opt.count || opt.windowed || opt.on_stdin || opt.http;
	size_t n = 0;
	i64 t;
	int code = open_catalog(words_providers());

	if (code >= 0)
		return code;
	if (opt.nwords == 0 && !timed)
		return list();
	while (n < opt.nwords && !(n && parse_interval(str_z(opt.words[n]), &t)) &&
	       word_pick(str_z(opt.words[n]), no_prefix))
		n++;
	if (n < opt.nwords && !parse_interval(str_z(opt.words[n]), &t))
		return find(str_z(opt.words[n]), timed || opt.nwords > 1);
	if (n == 0)
		return usage_z("counters: NAME is missing; gpustat counters -v lists them");
	code = parse_times(opt.words + n, opt.nwords - n);
	return code >= 0 ? code : sample();
}

/* --- the command `host` ----------------------------------------------------------------------- */

static void line_pick(void)
{
	struct str rest = str_z(line_columns), title, name;

	while (str_word(&rest, &title) && str_word(&rest, &name) &&
	       table_has(&picked.t, pick.npicked)) {
		struct picked *t = &picked.rows[pick.npicked++];

		t->title = title;
		t->counter = catalog_find(name, &t->index) ? catalog_at(t->index) : NULL;
	}
}

static void host_pick(void)
{
	for (u32 i = 0; i < nnamed; i++) {
		struct str name = str_z(catalog_at(i)->name), short_name = name;

		if (str_skip(&short_name, host_prefix) && !glob_match(expensive, name, NULL))
			counter_pick(i, short_name);
	}
}

/* Adds a pattern to opt.patterns, the patterns of -f: a field, or the title of a counter's
 * column. */
static void pattern_add(struct str pattern)
{
	if (opt.out.npatterns == MAX_PATTERNS)
		opt.out.lost++;
	else
		opt.patterns[opt.out.npatterns++] = pattern;
}

/* Selects the counters of the host with this name or pattern; if there are none, those of any other
 * provider. Returns false if there is no such counter. */
static bool word_pick_any(struct str word)
{
	if (word_pick(word, host_prefix))
		return true;
	catalog_refresh(catalog_providers_for(word));
	return word_pick(word, no_prefix);
}

/* Parses the words of -f: each is a field of the record, or the name or pattern of counters. A
 * sample becomes one record with a column for each counter (K_COUNTERS) if the format has a column
 * per field, at least one word selects counters, and K_COUNTERS records have all fields that -f
 * names. Else each counter has its own record (K_COUNTER). Returns an exit code, or -1 to
 * continue. */
static int fields_parse(void)
{
	static struct str words[MAX_PATTERNS];
	size_t n = opt.out.npatterns;
	bool names = false;

	memcpy(words, opt.patterns, n * sizeof(*words));
	pick.one_record = format_has_field_columns(opt.out.fmt);
	for (size_t i = 0; i < n; i++) {
		bool field = pattern_known(words[i], K_COUNTER);

		names |= !field;
		pick.one_record &= !field || pattern_known(words[i], K_COUNTERS);
	}
	pick.one_record &= names;
	opt.out.npatterns = 0;
	for (size_t i = 0; i < n; i++) {
		size_t k = pick.npicked;

		if (pattern_known(words[i], K_COUNTER))
			pattern_add(words[i]);
		else if (!word_pick_any(words[i]))
			return no_counter(words[i]);
		for (; pick.one_record && k < pick.npicked; k++)
			pattern_add(picked.rows[k].title);
	}
	if (!names)
		host_pick();
	return -1;
}

int cmd_host(void)
{
	int code = open_catalog(1 << PROVIDER_HOST);

	if (code >= 0)
		return code;
	if (opt.out.npatterns) {
		code = fields_parse();
		if (code >= 0)
			return code;
	} else if (opt.out.fmt == format_find((struct str)STR("line"))) {
		pick.one_record = true;
		line_pick();
	} else {
		host_pick();
	}
	return sample();
}
