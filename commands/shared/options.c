/* options.c - the table of options, --help, and parsing of the command line.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "built.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"
#include "sys.h"

/* Functions of optional features: NULL if the feature is left out; they are not called then. */
#pragma weak fields_note

struct opts opt;

/* Splits a list at its commas and appends the pieces to to[max]. *n: number of pieces in to[], also
 * of earlier calls. Returns false if a piece is empty or there are too many; a comma at the end of
 * the list is an error, too. */
bool split(struct str list, struct str *to, size_t max, size_t *n)
{
	struct str piece;

	while (str_cut(&list, ',', &piece)) {
		if (piece.p == piece.e || piece.e + 1 == list.e || *n == max)
			return false;
		to[(*n)++] = piece;
	}
	return true;
}

static bool set_window(struct str s) { return opt.windowed = parse_interval(s, &opt.window); }

static bool set_rescan(struct str s)
{
	u64 n = RESCAN_ALL;

	rescan.timed = false;
	if (!str_is(s, "all") && (scan_u64(s, &n) != s.e || n >= RESCAN_ALL))
		return false;
	rescan.budget = (u32)n;
	return true;
}

/* Parses the value of -o: a format of the output or, for the command oa, a format of OA reports. No
 * output format has the name of a report format. */
static bool set_format(struct str s)
{
	const struct format *f = format_find(s);

	if (f)
		opt.out.fmt = f;
	else if (HAS(oa))
		opt.oa.props.format = oaformat_by_name(s);
	return f || opt.oa.props.format;
}

static bool set_device(struct str s)
{
	sensing.choice = device_choice;
	return split(s, opt.devices, MAX_SELECTORS, &opt.ndevices) && opt.ndevices;
}

static bool set_not(struct str s)
{
	sensing.choice = device_choice;
	return split(s, opt.not, MAX_SELECTORS, &opt.nnot) && opt.nnot;
}

static bool set_fields(struct str s)
{
	if (str_is(s, "help"))
		return opt.fields_help = true;
	return split(s, opt.patterns, MAX_PATTERNS, &opt.out.npatterns) && opt.out.npatterns;
}

static bool set_pid(struct str s)
{
	struct str piece;

	while (str_cut(&s, ',', &piece)) {
		u64 pid;

		if (scan_u64(piece, &pid) != piece.e || piece.e + 1 == s.e || pid > INT32_MAX ||
		    opt.npids == MAX_PIDS)
			return false;
		opt.pids[opt.npids++] = (u32)pid;
	}
	return opt.npids;
}

/* Parses a time as perf does: without a unit it is in milliseconds. */
static bool parse_ms(struct str s, i64 *ns)
{
	u64 n;

	if (scan_dec(s, 6, &n) != s.e)
		return parse_interval(s, ns);
	*ns = (i64)n;
	return n > 0 && n < INT32_MAX * 1000000000ull;
}

/* Parses a number of at least 1. */
static bool parse_count(struct str s, u64 *n)
{
	u64 v;

	if (scan_u64(s, &v) != s.e || !v)
		return false;
	*n = v;
	return true;
}

static bool parse_count32(struct str s, u32 *v)
{
	u64 n;

	if (!parse_count(s, &n) || n > INT32_MAX)
		return false;
	*v = (u32)n;
	return true;
}

FEATURED static bool set_detail(struct str s) { (void)s; return ++opt.detail; }
FEATURED static bool set_append(struct str s) { (void)s; return true; }
FEATURED static bool set_per_cpu(struct str s) { (void)s; return (opt.target.split = SPLIT_CPU); }
FEATURED static bool set_per_core(struct str s) { (void)s; return (opt.target.split = SPLIT_CORE); }

FEATURED static bool set_per_socket(struct str s)
{
	(void)s;
	return (opt.target.split = SPLIT_SOCKET);
}

FEATURED static bool set_per_die(struct str s) { (void)s; return (opt.target.split = SPLIT_DIE); }
FEATURED static bool set_per_node(struct str s) { (void)s; return (opt.target.split = SPLIT_NODE); }

FEATURED static bool set_per_cluster(struct str s)
{
	(void)s;
	return (opt.target.split = SPLIT_CLUSTER);
}

/* Parses --per-cache or --per-cache=L2. */
FEATURED static bool set_per_cache(struct str s)
{
	u64 level = 0;
	bool good = !s.p || (s.p < s.e && (*s.p | 32) == 'l' &&
			     scan_u64((struct str){ s.p + 1, s.e }, &level) == s.e &&
			     level >= 1 && level <= 4);

	opt.target.split = SPLIT_CACHE;
	opt.target.level = (u8)level;
	return good;
}

FEATURED static bool set_per_thread(struct str s)
{
	(void)s;
	return (opt.target.split = SPLIT_THREAD);
}

FEATURED static bool set_event(struct str s)
{
	if (opt.nevents == MAX_LISTS)
		return false;
	opt.events[opt.nevents++] = s;
	return true;
}

FEATURED static bool set_filter(struct str s)
{
	if (opt.nevents)
		opt.filters[opt.nevents - 1] = s;
	return opt.nevents && s.p < s.e;
}

FEATURED static bool set_set(struct str s)
{
	if (opt.nsets == MAX_SETS - 1)
		return false;
	opt.sets[opt.nsets++] = s;
	return true;
}

FEATURED static bool set_cpus(struct str s)
{
	return opt.target.has_cpus = s.p < s.e && parse_cpulist(s, &opt.target.cpus);
}

/* Parses the value of -p or -t: PIDs or TIDs. Sets *kind: opt.target.whole for PIDs,
 * opt.target.threads for TIDs. The threads of processes are found later, when /proc is open. */
FEATURED static bool set_tasks(struct str s, bool *kind)
{
	size_t had = opt.npids;
	bool good = set_pid(s);

	for (*kind = true; had < opt.npids; had++)
		good &= opt.pids[had] != 0;
	return good;
}

FEATURED static bool set_tid(struct str s) { return set_tasks(s, &opt.target.threads); }
FEATURED static bool set_target_pid(struct str s) { return set_tasks(s, &opt.target.whole); }

FEATURED static bool set_cgroups(struct str s)
{
	struct str pieces[LEN(opt.target.cgroups)];
	size_t n = opt.target.ncgroups;

	if (!split(s, pieces, LEN(pieces), &n))
		return false;
	for (u32 *at = &opt.target.ncgroups; *at < n; ++*at)
		opt.target.cgroups[*at] = text_put(NONE, pieces[*at]);
	return n;
}

FEATURED static bool set_repeat(struct str s)
{
	return scan_u64(s, &opt.repeat) == s.e;
}

FEATURED static bool set_delay(struct str s)
{
	opt.delay = -1;
	return str_is(s, "-1") || parse_ms(s, &opt.delay);
}

FEATURED static bool set_separator(struct str s)
{
	opt.out.fmt = format_find((struct str)STR("perf-csv"));
	opt.out.separator = str_is(s, "\\t") ? "\t" : s.p;
	return s.p < s.e;
}

FEATURED static bool set_perf_json(struct str s)
{
	(void)s;
	return set_format((struct str)STR("perf-json"));
}

static bool set_json(struct str s)
{
	(void)s;
	return set_format((struct str)STR("json"));
}

FEATURED static bool set_pages(struct str s)
{
	return parse_count32(s, &opt.pages) && (opt.pages & (opt.pages - 1)) == 0;
}

FEATURED static bool set_wakeup(struct str s)
{
	opt.target.watermark = false;
	return parse_count32(s, &opt.target.wakeup);
}

FEATURED static bool set_watermark(struct str s)
{
	bool good = set_wakeup(s);

	opt.target.watermark = true;
	return good;
}

/* Parses MASK,SEED, the value of --period-random: two decimal or hexadecimal numbers. */
FEATURED static bool set_random(struct str s)
{
	struct str mask;

	str_cut(&s, ',', &mask);
	return mask.p < mask.e && scan_num(mask, &opt.random_mask) == mask.e &&
	       scan_num(s, &opt.seed) == s.e;
}

/* Parses a method of finding callers, such as fp or dwarf,8192. Returns it as enum unwind; UNWINDS
 * if there is no such method. */
FEATURED static u8 call_graph_of(struct str s)
{
	struct str how;

	str_cut(&s, ',', &how);
	return str_len(how) ? (u8)str_among(how, "fp dwarf lbr") : UNWINDS; /* enum unwind */
}

FEATURED static bool set_call_graph(struct str s)
{
	opt.target.callchain = true;
	opt.call_graph = s.p ? call_graph_of(s) : UNWIND_FP;
	return opt.call_graph < UNWINDS;
}

/* Parses --summary or --summary=comm,symbol,ip. */
FEATURED static bool set_profile(struct str s)
{
	struct str pieces[8];
	size_t n = 0;

	if (!s.p)
		return (opt.profile = ALL_SUMS);
	if (!split(s, pieces, LEN(pieces), &n))
		return false;
	while (n > 0) {
		size_t i = str_among(pieces[--n], "comm symbol ip"); /* enum proftable */

		if (i > PROF_IP)
			return false;
		opt.profile |= (u8)(1 << i);
	}
	return opt.profile;
}

FEATURED static bool set_platform(struct str s)
{
	return (opt.oa.platform = oaplatform_by_name(s));
}

FEATURED static bool set_ctx(struct str s)
{
	return opt.oa.props.has_ctx = scan_num(s, &opt.oa.props.ctx) == s.e;
}

FEATURED static bool set_unit(struct str s)
{
	return opt.oa.props.has_unit = scan_num(s, &opt.oa.props.unit) == s.e;
}

FEATURED static bool set_gt(struct str s)
{
	return scan_num(s, &opt.oa.stalls.gt) == s.e;
}

FEATURED static bool set_buffer(struct str s)
{
	return scan_num(s, &opt.oa.props.buffer) == s.e && opt.oa.props.buffer;
}

FEATURED static bool set_metrics(struct str s)
{
	if (opt.oa.nmetrics == MAX_METRICS || s.p == s.e)
		return false;
	opt.oa.metrics[opt.oa.nmetrics++] = s.p;
	return true;
}

/* Parses CLASS[:INSTANCE] of an engine. The class is a name, or a number of enum
 * drm_i915_gem_engine_class. */
FEATURED static bool set_engine(struct str s)
{
	enum { CLASSES = 5 };
	struct str name;
	u64 n, instance = 0;

	str_cut(&s, ':', &name);
	n = str_among(name, "render copy video video-enhance compute");
	if ((n == CLASSES && scan_u64(name, &n) != name.e) ||
	    (s.p < s.e && scan_u64(s, &instance) != s.e))
		return false;
	opt.oa.props.engine_class = (u16)n;
	opt.oa.props.engine_instance = (u16)instance;
	return opt.oa.props.has_engine = n <= UINT16_MAX && instance <= UINT16_MAX;
}

/* Parses SLICES:SUBSLICES:MIN:MAX: bit masks of slices and subslices, then the least and the
 * greatest number of EUs per subslice. */
FEATURED static bool set_sseu(struct str s)
{
	u64 v[4] = { 0 };
	struct str piece;
	size_t n = 0;

	while (n < LEN(v) && str_cut(&s, ':', &piece))
		if (scan_num(piece, &v[n++]) != piece.e)
			return false;
	opt.oa.props.slices = v[0];
	opt.oa.props.subslices = v[1];
	opt.oa.props.min_eus = (u16)v[2];
	opt.oa.props.max_eus = (u16)v[3];
	return opt.oa.props.has_sseu = n == LEN(v) && s.p == s.e &&
				       v[2] <= UINT16_MAX && v[3] <= UINT16_MAX;
}

FEATURED static bool set_log_fd(struct str s)
{
	u64 fd;

	if (scan_u64(s, &fd) != s.e || fd > INT32_MAX)
		return false;
	out_fd = (int)fd;
	return opt.out_chosen = true;
}

/* The feature help is built in: --help explains each option, and messages tell which values are
 * accepted and which name was probably meant. */
static const bool helps = HAS(help);

static bool set_time(struct str s)
{
	opt.out.time = (u8)(T_NONE + str_among(s, "none epoch iso mono"));
	return opt.out.time <= T_MONO;
}

/* Kind of an option: how its value is parsed and stored. OPT_OWN: by the function option.set.
 * OPT_MAYBE: also by option.set, but the value may be missing. OPT_LEFT_OUT: the option is not
 * built in. */
enum optkind { OPT_OWN, OPT_MAYBE, OPT_FLAG, OPT_Z, OPT_STR, OPT_TIME, OPT_MS, OPT_COUNT,
	       OPT_COUNT32, OPT_LEFT_OUT };

/* The options of all commands. A letter may be in several rows, for different commands: the row
 * that the current command accepts is used. stat and sample use the same letters as perf. */
static const struct option {
	char letter;
	/* WITH_*: commands that accept the option. OVERVIEW: gpustat --help shows it */
	u32 with : 24;
	u32 kind : 8;  /* enum optkind */
	union {
		void *to; /* member of opt in which the value is stored */
		/* for OPT_OWN and OPT_MAYBE: parses and stores the value, which is {0} if it is
		 * missing; returns false if the value is invalid */
		bool (*set)(struct str value);
		const char *feature; /* for OPT_LEFT_OUT: name of the feature that has the option */
	};
	/* Three parts with tabs between them: first the long name of the option, and after a blank
	 * a word for its value; second the help; third a noun for the value in messages, a colon,
	 * and the accepted values. See option_spelling(), option_part() and option_forms(). */
	const char *text;
} options[] = {
#define TO(what, member) OPT_##what, { .to = &opt.member }
#define BY(setter) OPT_OWN, { .set = setter }
#if HAS(help)
#define HELP(text) "\t" text
#else
#define HELP(text) ""
#endif
#define TIMES "100ms, 1, 1.5s, 1m"
#define OPTION(feature, ...) ROW(OPTION, feature)(feature, __VA_ARGS__)
#define OPTION1(part, letter, with, kind, to, name, help) { letter, with, kind, to, name help }
#if !WHOLE
#define OPTION0(part, letter, with, kind, to, name, help) \
	{ letter, with, OPT_LEFT_OUT, { .feature = #part }, name }
#endif
	{ 'i', OVERVIEW | WITH_LIVE | WITH_TOP | WITH_STREAM | WITH_NAMED | WITH_RUN,
	  TO(TIME, interval),
	  "interval T" HELP("sample every T: " TIMES) },
	{ 'c', OVERVIEW | WITH_LIVE | WITH_TOP | WITH_STAT | WITH_STREAM | WITH_NAMED,
	  TO(COUNT, count),
	  "count N" HELP("stop after N samples") },
	{ 'n', WITH_LIVE | WITH_TOP | WITH_STREAM | WITH_NAMED, TO(COUNT, count), "count N" },
	{ 'w', WITH_LIVE | WITH_NAMED, BY(set_window),
	  "window T" HELP("without INTERVAL: time between two reads (default 0.5s)"
			  "\ttime: " TIMES) },
	{ '\0', WITH_CHECK | WITH_MUNIN, BY(set_window),
	  "window T" HELP("time between two reads (default 0.5s)") },
	{ 'r', WITH_LIVE | WITH_FDINFO, TO(FLAG, raw),
	  "raw" HELP("read once and print the kernel's counters, not rates") },
	OPTION(state, '\0', WITH_LIVE | WITH_CHECK | WITH_MUNIN, TO(Z, state), "state FILE",
	       HELP("print rates since the run that wrote FILE; rewrite FILE")),
	OPTION(summary, '\0', WITH_LIVE, TO(TIME, inner),
	       "inner T", HELP("read every T, print min, avg and max of each interval")),
	{ '\0', WITH_LIVE | WITH_NAMED, TO(FLAG, align),
	  "align" HELP("sample at multiples of the interval on the wall clock") },
	{ '\0', WITH_LIVE | WITH_NAMED, TO(FLAG, on_stdin),
	  "on-stdin" HELP("print a sample for each line read from standard input") },
	OPTION(http, '\0', WITH_LIVE | WITH_NAMED, TO(FLAG, http),
	       "http", HELP("answer one HTTP request on a socket of inetd or systemd")),
	OPTION(counters, '\0', WITH_NAMED, TO(FLAG, every),
	       "all", HELP("open all kernel tracepoints of a pattern, not only 64")),
	{ 'd', OVERVIEW | (WITH_DEVICES & ~WITH_TOP) | WITH_LIST | WITH_STREAM | WITH_RUN,
	  BY(set_device),
	  "device SEL" HELP("only this GPU: card1, renderD128, 03:00.0, xe, 0, name") },
	OPTION(top, 'd', WITH_TOP, TO(TIME, interval), "delay T", ""),
	{ '\0', WITH_TOP, BY(set_device), "device SEL" },
	{ '\0', WITH_DEVICES | WITH_LIST | WITH_STREAM | WITH_COMMAND | WITH_NAMED | WITH_DOCTOR |
	  WITH_CAPTURE, BY(set_not),
	  "not SEL" HELP("do not read these GPUs: card1, renderD128, 03:00.0, xe") },
	OPTION(names, '\0', WITH_DEVICES | WITH_LIST | WITH_STREAM, TO(Z, ids),
	       "ids DIR", HELP("read device names from pci.ids and amdgpu.ids in DIR")),
	{ 'p', WITH_LIVE | WITH_LIST | WITH_TOP, BY(set_pid),
	  "pid PID" HELP("show only GPU clients of these processes\tPID: 12 or 12,345") },
	OPTION(procs, '\0', WITH_LIVE | WITH_LIST | WITH_TOP, TO(FLAG, children),
	       "children", HELP("with --pid: also show clients of descendant processes")),
	{ 'C', WITH_LIVE | WITH_LIST | WITH_TOP, TO(STR, comm),
	  "comm NAME" HELP("only clients of processes named NAME (wildcards: * ?)") },
	{ 'g', WITH_LIVE | WITH_LIST | WITH_TOP, TO(STR, cgroup),
	  "cgroup PATH" HELP("only clients in or below this cgroup or container ID") },
	{ 'k', WITH_LIVE | WITH_LIST | WITH_SAMPLE | WITH_STALLS, TO(COUNT, top),
	  "top N" HELP("print only the first N records of each sample or table") },
	{ 's', WITH_LIVE | WITH_LIST | WITH_TOP, TO(STR, sort),
	  "sort FIELD" HELP("sort by FIELD: numbers descending, texts ascending") },
	{ 'f', OVERVIEW | WITH_RECORDS | WITH_PLOT, BY(set_fields),
	  "fields A,B" HELP("print only these fields; -f help lists all\tfields: A or A,B") },
	{ 'o', OVERVIEW | WITH_RECORDS | WITH_EVENTS, BY(set_format), "format F"
	  HELP("\tformat: ") },
	{ 'j', WITH_RECORDS | WITH_EVENTS, BY(set_json), "json" HELP("same as -o json") },
	{ 'O', OVERVIEW | WITH_RECORDS, TO(Z, output),
	  "output FILE" HELP("append output to FILE or send it to udp:HOST:PORT; "
			     "metrics and pictures replace FILE") },
	{ '1', WITH_RECORDS, TO(FLAG, out.one_line),
	  "one-line" HELP("-o line, -o json: print each sample on one line") },
	{ 'H', OVERVIEW | WITH_RECORDS, TO(FLAG, out.no_header), "no-header"
	  HELP("print no header") },
	{ '\0', WITH_RECORDS, TO(FLAG, out.csv_exact),
	  "csv-exact" HELP("-o csv: put no ' before texts that begin with = + - @") },
	{ 't', OVERVIEW | WITH_GPUS | WITH_STREAM | WITH_NAMED | WITH_RUN, BY(set_time),
	  "time HOW" HELP("print times as: none, epoch, iso or mono") },
	OPTION(summary, 'S', WITH_LIVE, TO(FLAG, summary),
	       "summary", HELP("at the end, print min, avg and max of all values")),
	{ '\0', WITH_LIVE | WITH_TOP, BY(set_rescan),
	  "sweep N" HELP("at most N system calls per sample to find new clients: "
			 "0 (no search), N or all") },
	{ '\0', WITH_DEVICES, TO(FLAG, profiling),
	  "enable-profiling" HELP("panfrost, panthor: enable busy times during the run") },
	OPTION(top, '\0', WITH_TOP, TO(FLAG, ascii),
	       "ascii", HELP("use only ASCII characters on the screen")),
	OPTION(top, '\0', WITH_TOP, TO(Z, oa.replay),
	       "replay FILE", HELP("show the run that -o json recorded in FILE")),
	{ 'O', WITH_CAPTURE | WITH_PLOT, TO(Z, output), "output FILE"
	  HELP("replace FILE with the output") },
	OPTION(capture, '\0', WITH_CAPTURE, TO(FLAG, plain_names), "plain-names",
	       HELP("do not replace names, paths and serial numbers")),
	{ 'q', OVERVIEW | WITH_ALL, TO(FLAG, quiet), "quiet" HELP("print no messages") },
	{ 'v', OVERVIEW | WITH_ALL, TO(FLAG, verbose),
	  "verbose" HELP("report what could not be read, and how to fix it") },
	OPTION(perf, '\0', WITH_PERF | WITH_EVENTS, TO(Z, pmu_file),
	       "pmu-file FILE", HELP("read names for events from FILE; each line: NAME EVENT")),
	OPTION(events, '\0', WITH_EVENTS, TO(FLAG, resolve),
	       "resolve", HELP("show the perf_event_open(2) arguments of EVENT")),
	OPTION(events, '\0', WITH_EVENTS, TO(FLAG, map),
	       "map", HELP("show the event of each perfmon2 register; -v: details")),
	OPTION(events, '\0', WITH_EVENTS, TO(FLAG, perfmon),
	       "perfmon", HELP("print --map in the format of /proc/perfmon_map")),
	{ '\0', WITH_ALL, TO(Z, proc), "proc DIR" HELP("read DIR instead of /proc") },
	{ '\0', WITH_ALL, TO(Z, sys), "sys DIR" HELP("read DIR instead of /sys") },
	{ '\0', WITH_ALL, TO(FLAG, no_sandbox),
	  "no-sandbox" HELP("use no system call filter and no Landlock") },
	{ 'h', OVERVIEW | WITH_ALL, BY(NULL), "help" HELP("print this help") },
	{ 'V', WITH_ALL, BY(NULL), "version" HELP("print the version") },

	/* The options of a command that is not built in are left out: if it is used, a message
	 * names the command. */
#if HAS(check)
	OPTION(check, 'w', WITH_CHECK, TO(STR, check.warning),
	       "warning RANGE", HELP("warn if a value is outside RANGE: 80, 10: or @10:20")),
	OPTION(check, 'c', WITH_CHECK, TO(STR, check.critical),
	       "critical RANGE", HELP("report CRITICAL if a value is outside RANGE")),
	OPTION(check, 'm', WITH_CHECK, TO(STR, check.metric),
	       "metric FIELD", HELP("check this field (default: busy, else engine.busy)")),
	OPTION(check, 't', WITH_CHECK, TO(TIME, check.timeout),
	       "timeout T", HELP("exit with UNKNOWN after T (default 10s)")),
	OPTION(check, 'j', WITH_CHECK, TO(FLAG, check.json), "json",
	       HELP("print a JSON record instead of a line")),
#endif

#if HAS(perf)
	OPTION(perf, 'e', WITH_PERF, BY(set_event), "event LIST",
	       HELP("measure events: names, {groups} or pmu/terms/\tlist: at most 64 of them")),
	OPTION(perf, 'a', WITH_PERF, TO(FLAG, target.all),
	       "all-cpus", HELP("measure all processes on all CPUs")),
	OPTION(perf, 'C', WITH_PERF, BY(set_cpus), "cpu LIST",
	       HELP("measure only on these CPUs: 0 or 0,2-3")),
	OPTION(perf, 'p', WITH_PERF, BY(set_target_pid),
	       "pid PIDS",
	       HELP("measure these processes with all their threads\tPID: 12 or 12,345")),
	OPTION(perf, 't', WITH_PERF, BY(set_tid), "tid TIDS",
	       HELP("measure these threads\tTID: 12 or 12,345")),
	OPTION(perf, 'G', WITH_PERF, BY(set_cgroups), "cgroup PATHS",
	       HELP("measure each of these cgroups: a/b or a/b,c")),
	OPTION(perf, '\0', WITH_PERF, BY(set_filter),
	       "filter EXPR",
	       HELP("count the tracepoint before it only if EXPR is true"
		    "\tfilter: an expression, after -e")),
	OPTION(perf, '\0', WITH_PERF, BY(set_log_fd), "log-fd N",
	       HELP("write the output to file descriptor N\tdescriptor: 0 or more")),
	OPTION(perf, 'i', WITH_PERF, TO(FLAG, target.no_inherit),
	       "no-inherit", HELP("do not measure child tasks")),
	OPTION(perf, '\0', WITH_PERF, TO(MS, timeout), "timeout MS",
	       HELP("stop after MS milliseconds")),
	OPTION(perf, 'D', WITH_PERF, BY(set_delay),
	       "delay MS",
	       HELP("start counting after MS ms; -1: wait for --control"
		    "\ttime: 100 (ms), 1.5s or -1")),
	OPTION(perf, '\0', WITH_PERF, TO(Z, control),
	       "control HOW", HELP("read enable, disable, stop from fd:N[,M] or fifo:PATH")),
	OPTION(perf, '\0', WITH_PERF, TO(FLAG, target.user_only),
	       "all-user", HELP("measure only user space")),
	OPTION(perf, '\0', WITH_PERF, TO(FLAG, target.kernel_only),
	       "all-kernel", HELP("measure only the kernel")),
	OPTION(perf, '\0', WITH_PERF | WITH_EVENTS, BY(set_device),
	       "device SEL", HELP("GPUs that count as gpu0, gpu1, ...: card1, 03:00.0, xe")),
	OPTION(perf, '\0', WITH_PERF, BY(set_time), "time HOW", ""),
#endif

#if HAS(stat)
	OPTION(stat, 'w', WITH_STAT, BY(set_window), "window T",
	       HELP("stop after T if there is no COMMAND and no INTERVAL")),
	OPTION(stat, '\0', WITH_STAT, TO(TIME, interval), "interval T", ""),
	OPTION(stat, 'I', WITH_STAT, TO(MS, interval),
	       "interval-print MS", HELP("sample every MS milliseconds")),
	OPTION(stat, 'r', WITH_STAT, BY(set_repeat),
	       "repeat N",
	       HELP("run COMMAND N times, print mean, deviation; 0: endless\tnumber: 0 or more")),
	OPTION(stat, '\0', WITH_STAT, TO(Z, before), "pre COMMAND",
	       HELP("run COMMAND in sh before each run, without counting it")),
	OPTION(stat, '\0', WITH_STAT, TO(Z, after),
	       "post COMMAND", HELP("run COMMAND in sh after each run, without counting it")),
	OPTION(stat, 'n', WITH_STAT, TO(FLAG, null_run), "null",
	       HELP("count no events, measure only time")),
	OPTION(stat, 'd', WITH_STAT, BY(set_detail),
	       "detailed", HELP("count more default events; -dd and -ddd: still more")),
	OPTION(stat, 'A', WITH_STAT, BY(set_per_cpu),
	       "per-cpu", HELP("count events per CPU and PMU instance")),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_core), "per-core", HELP("count events per core")),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_socket),
	       "per-socket", HELP("count events per package")),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_die), "per-die", HELP("count events per die")),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_cluster),
	       "per-cluster", HELP("count events per cluster of cores")),
	OPTION(stat, '\0', WITH_STAT, OPT_MAYBE, { .set = set_per_cache }, "per-cache",
	       HELP("count events per last-level cache; =L2: per L2 cache\tcache: L1 to L4")),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_node),
	       "per-node", HELP("count events per NUMA node")),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_thread), "per-thread",
	       HELP("count events per thread")),
	OPTION(stat, '\0', WITH_STAT, BY(set_set),
	       "set SET", HELP("count event sets in turn, each for 10 ms: [ID:]NAME=EVENTS@10ms, "
		    "or until N counts of EVENT: ...@overflow:EVENT:N")),
	OPTION(stat, '\0', WITH_STAT, TO(FLAG, totals),
	       "summary", HELP("at the end, print the counts of the whole run")),
	OPTION(stat, '\0', WITH_STAT, BY(set_cgroups), "for-each-cgroup PATHS", ""),
	OPTION(stat, 'B', WITH_STAT, TO(FLAG, out.grouped),
	       "big-num", HELP("-o line: print 1,234,567 instead of 1234567")),
	OPTION(stat, '\0', WITH_STAT, TO(FLAG, no_scale),
	       "no-scale", HELP("do not scale the counts of multiplexed events")),
	OPTION(stat, '\0', WITH_STAT, TO(FLAG, raw),
	       "raw", HELP("also print unscaled counts and times")),
	OPTION(stat, 'x', WITH_STAT, BY(set_separator),
	       "field-separator SEP",
	       HELP("use -o perf-csv with SEP between the fields\tseparator: a text, or \\t")),
	OPTION(stat, '\0', WITH_STAT, TO(FLAG, out.unmarked),
	       "no-csv-summary", HELP("-o perf-csv: no word \"summary\" before --summary lines")),
	OPTION(stat, '\0', WITH_STAT, BY(set_perf_json), "json-output",
	       HELP("same as -o perf-json")),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_cpu), "no-aggr", ""),
	OPTION(stat, 'g', WITH_STAT, BY(set_cgroups), "cgroup PATHS", ""),
	OPTION(stat, '\0', WITH_STAT, BY(set_append), "append",
	       HELP("no effect: -O always appends")),
	OPTION(stat, '\0', WITH_STAT, BY(set_per_cpu), "no-merge", ""),
	OPTION(stat, '\0', WITH_STAT, TO(COUNT, count), "interval-count N", ""),
#endif

#if HAS(sample)
	OPTION(sample, 'w', WITH_SAMPLE, BY(set_window), "window T",
	       HELP("stop after T if there is no COMMAND")),
	OPTION(sample, '\0', WITH_SAMPLE, TO(FLAG, reset_on_overflow),
	       "reset-on-overflow", HELP("groups with :S: set counts to 0 after each sample")),
	OPTION(sample, 'F', WITH_SAMPLE, TO(COUNT, target.freq),
	       "freq HZ", HELP("samples per second (default 4000)")),
	OPTION(sample, '\0', WITH_SAMPLE, TO(COUNT, count), "count N", ""),
	OPTION(sample, 'c', WITH_SAMPLE, TO(COUNT, target.period),
	       "sample-period N", HELP("take a sample every N events")),
	OPTION(sample, 'g', WITH_SAMPLE, OPT_MAYBE, { .set = set_call_graph },
	       "call-graph", HELP("record call chains by frame pointers; only method: fp")),
	OPTION(sample, '\0', WITH_SAMPLE, OPT_MAYBE, { .set = set_profile },
	       "summary",
	       HELP("at the end, print sums; =BY: comm, symbol or ip")),
	OPTION(sample, '\0', WITH_SAMPLE, TO(FLAG, latency),
	       "latency", HELP("print how long each task waited for a CPU")),
	OPTION(sample, '\0', WITH_SAMPLE, TO(FLAG, syscalls),
	       "syscalls", HELP("print count, errors and times of each system call")),
	OPTION(sample, '\0', WITH_SAMPLE, TO(FLAG, live),
	       "live", HELP("show --summary on the whole screen; q quits")),
	OPTION(sample, '\0', WITH_SAMPLE, TO(COUNT32, target.limit),
	       "limit N", HELP("take at most N samples per event, CPU and task")),
	OPTION(sample, '\0', WITH_SAMPLE, BY(set_random),
	       "period-random MASK,SEED",
	       HELP("add random bits, within MASK, to the period\tpair: 0xff,1")),
	OPTION(sample, '\0', WITH_SAMPLE, TO(COUNT, long_period),
	       "long-period N", HELP("sampling period after the read of a full buffer")),
	OPTION(sample, '\0', WITH_SAMPLE, TO(COUNT, short_period),
	       "short-period N", HELP("sampling period after a read without a full buffer")),
	OPTION(sample, 'm', WITH_SAMPLE, BY(set_pages),
	       "mmap-pages N", HELP("pages per ring buffer: a power of 2 (default 128)")),
	OPTION(sample, '\0', WITH_SAMPLE, BY(set_wakeup),
	       "wakeup N", HELP("read a ring buffer after N samples\tnumber: 1 or more")),
	OPTION(sample, '\0', WITH_SAMPLE, BY(set_watermark),
	       "watermark BYTES",
	       HELP("read a ring buffer after BYTES (default: half its size)\tnumber: 1 or more")),
#endif

#if HAS(oa)
	OPTION(oa, 'm', WITH_OA, TO(STR, oa.set), "metric-set NAME",
	       HELP("name or GUID of the metric set; default: RenderBasic, "
		    "else Basic; replay: the recording's")),
	OPTION(oa, '\0', WITH_OA, BY(set_metrics),
	       "metrics FILE",
	       HELP("metric sets in FILE: XML, or made by gpustat oa pack")),
	OPTION(oa, 'r', WITH_OA, TO(FLAG, raw),
	       "raw", HELP("print the raw counters of reports (A0, B0, C0, ...)")),
	OPTION(oa, '\0', WITH_OA, TO(FLAG, oa.reports),
	       "reports", HELP("print a record per OA report (default with --replay)")),
	OPTION(oa, '\0', WITH_OA, TO(FLAG, oa.totals), "totals",
	       HELP("print one record: the sum of all OA reports")),
	OPTION(oa, '\0', WITH_OA, TO(FLAG, oa.contexts),
	       "contexts", HELP("sum consecutive reports of the same GPU context")),
	OPTION(oa, '\0', WITH_OA, TO(TIME, oa.props.period),
	       "period T", HELP("time between OA reports, rounded down to a timer step")),
	OPTION(oa, '\0', WITH_OA, BY(set_ctx),
	       "ctx N",
	       HELP("measure only GPU context N (--replay: its hardware ID)\tnumber: 12 or 0xc")),
	OPTION(oa, '\0', WITH_OA, BY(set_engine),
	       "engine CLASS[:N]",
	       HELP("use the OA unit of this engine"
		    "\tengine: render, copy, video, video-enhance, compute, or video:1")),
	OPTION(oa, '\0', WITH_OA, TO(FLAG, oa.props.hold),
	       "hold-preemption", HELP("do not preempt the context of --ctx")),
	OPTION(oa, '\0', WITH_OA, BY(set_sseu), "sseu S:SS:MIN:MAX",
	       HELP("i915: use only these slices, subslices (masks) and EUs\tnumbers: 1:0xff:8:8")),
	OPTION(oa, '\0', WITH_OA, TO(TIME, oa.props.poll_ns),
	       "poll-period T", HELP("i915: time between kernel checks for data (default 5ms)")),
	OPTION(oa, '\0', WITH_OA, BY(set_unit), "oa-unit N",
	       HELP("xe: use OA unit N\tnumber: 0 or more")),
	OPTION(oa, '\0', WITH_OA, BY(set_buffer),
	       "buffer-size BYTES", HELP("xe: size of the OA buffer\tnumber: 1 or more")),
	OPTION(oa, '\0', WITH_OA, TO(COUNT32, oa.props.wait_reports),
	       "wait-reports N", HELP("xe: read the buffer after N reports")),
	OPTION(oa, 'S', WITH_STALLS, TO(FLAG, oa.sums),
	       "summary", HELP("print sums per stall reason, without addresses")),
	OPTION(oa, '\0', WITH_STALLS, TO(COUNT, oa.stalls.cycles), "sample-period CYCLES",
	       HELP("GPU clocks between samples (default 1004), rounded")),
	OPTION(oa, '\0', WITH_STALLS, BY(set_gt), "gt N",
	       HELP("the GT whose EUs are sampled (default 0)\tnumber: 0 or more")),
	OPTION(oa, '\0', WITH_STALLS, TO(COUNT32, oa.stalls.wait_reports),
	       "wait-reports N", HELP("read the sample buffer after N entries")),
	OPTION(oa, '\0', WITH_STREAM, TO(Z, oa.record),
	       "record FILE", HELP("also write a recording for --replay to FILE")),
	OPTION(oa, '\0', WITH_STREAM, TO(Z, oa.replay),
	       "replay FILE", HELP("replay a recording or raw OA stream; FILE - is stdin")),
	OPTION(oa, '\0', WITH_STREAM, BY(set_platform),
	       "platform NAME",
	       HELP("GPU that wrote the raw stream: sklgt2, tglgt2, lnl, ...")),
#endif
};

#undef TO
#undef BY

static bool chosen_options[LEN(options)]; /* true for each option that was on the command line */

/* Returns the first part of an option's text: its long name, and after a blank a word for its
 * value. */
static struct str option_spelling(const struct option *o)
{
	struct str text = str_z(o->text), spelling;

	str_cut(&text, '\t', &spelling);
	return spelling;
}

static bool is_built_in(const struct cmd *c)
{
	return WHOLE || c->run;
}

/* True if a command is a subcommand of another one: its name has two words, such as "oa list". */
static bool is_subcommand(const struct cmd *c)
{
	return HAS(oa) && strchr(c->name, ' ');
}

static bool is_option(const struct option *o)
{
	return WHOLE || o->kind != OPT_LEFT_OUT;
}

static int not_built_in(const char *feature)
{
	return usage("not built in: ", feature, NULL);
}

static struct str option_name(const struct option *o)
{
	struct str spelling = option_spelling(o), name;

	str_cut(&spelling, ' ', &name);
	return name;
}

static bool takes_value(const struct option *o)
{
	return option_name(o).e < option_spelling(o).e;
}

/* Returns the help in a row of options[]; if `forms` is set, the third part of the row's text
 * instead: a noun for the value, and the accepted values. Empty if the row does not have that
 * part. */
static struct str own_part(const struct option *o, bool forms)
{
	struct str text = str_z(o->text), part = { 0 };

	for (int i = 0; i < 2 + forms; i++)
		str_cut(&text, '\t', &part);
	return part;
}

/* Returns the help of an option; if `forms` is set, the noun for its value and the accepted values
 * instead. An alias has no help in its row: it gets that of the option that stores its value in the
 * same member. */
static struct str option_part(const struct option *o, bool forms)
{
	struct str part = own_part(o, forms);

	for (size_t i = 0; helps && !str_len(part) && i < LEN(options); i++)
		if (options[i].to == o->to)
			part = own_part(&options[i], forms);
	return part;
}

static const struct cmd *cmd_or_first(void)
{
	return opt.cmd ? opt.cmd : opt.cmds;
}

static bool format_is(const struct format *f, const char *name)
{
	return str_is(format_name(f), name);
}

static bool is_oa_word(const char *word)
{
	return HAS(oa) && opt.cmd && opt.cmd->with & WITH_OA && opt.nwords &&
	       strcmp(opt.words[0], word) == 0;
}

bool is_oa_list(void)
{
	return is_oa_word("list");
}

/* Returns whether the command is `oa list` or `oa pack`, which measure nothing. */
bool is_oa_list_or_pack(void)
{
	return is_oa_list() || is_oa_word("pack");
}

/* True if an output format can show the records of the command. `list` and `run` print no series of
 * samples, which formats with a time axis require. */
static bool format_suits(const struct format *f)
{
	const struct cmd *c = cmd_or_first();

	if (c->with & WITH_EVENTS || is_oa_list())
		return format_is(f, "line") || format_is(f, "json");
	return format_shows(f, (u8)c->kind) &&
	       !(format_has_time_axis(f) && c->with & (WITH_LIST | WITH_RUN));
}

#define FORMAT_HELP "output format:"

/* Returns the help of -o: FORMAT_HELP and the formats that can show the records of the command. */
static const char *format_help(void)
{
	static char text[176];
	struct buf b = BUF_Z(text);

	put_z(&b, FORMAT_HELP);
	for (const struct format *f = NULL; (f = format_next(f));)
		if (format_suits(f)) {
			put_c(&b, ' ');
			put_str(&b, format_name(f));
		}
	return buf_z(&b);
}

/* Returns the names of the formats that can show the records of the command. */
static const char *suitable_formats(void)
{
	return format_help() + sizeof(FORMAT_HELP);
}

enum { HELP_COLUMN = 24, HELP_WIDTH = 79 };

/* Appends the words of a help text in lines of at most HELP_WIDTH columns; lines after the first
 * begin at HELP_COLUMN. from: index in b->p at which the first line starts. */
static void put_wrapped(struct buf *b, size_t from, struct str text)
{
	struct str word;

	while (str_word(&text, &word)) {
		if (b->n - from + str_len(word) >= HELP_WIDTH) {
			put_c(b, '\n');
			from = b->n;
			put_columns(b, from, HELP_COLUMN - 1);
		}
		put_c(b, ' ');
		put_str(b, word);
	}
}

/* Returns the option of the commands `with` (WITH_*) for which o is only another name; NULL if o is
 * not an alias. */
static const struct option *alias_of(const struct option *o, u32 with)
{
	for (size_t i = 0; !str_len(own_part(o, false)) && i < LEN(options); i++)
		if (options[i].with & with && options[i].to == o->to &&
		    options[i].kind == o->kind && str_len(own_part(&options[i], false)))
			return &options[i];
	return NULL;
}

static void put_option(struct buf *b, const struct option *o, u32 with)
{
	struct str help = o->letter == 'o' ? str_z(format_help()) : option_part(o, false);
	const struct option *as = helps ? alias_of(o, with) : NULL;
	size_t from = b->n;
	char text[] = "same as -X:";

	put_z(b, o->letter ? "-" : "   ");
	if (o->letter) {
		put_c(b, o->letter);
		put_c(b, ',');
	}
	put_z(b, " --");
	put_str(b, option_spelling(o));
	if (helps) {
		put_columns(b, from, HELP_COLUMN - 1);
		if (as && as->letter) {
			text[sizeof(text) - 3] = as->letter;
			put_wrapped(b, from, str_z(text));
		}
		put_wrapped(b, from, help);
	}
	put_c(b, '\n');
}

static void put_options(struct buf *b, u32 with)
{
	for (size_t i = 0; i < LEN(options); i++)
		if (is_option(&options[i]) && options[i].with & with)
			put_option(b, &options[i], with);
}

static void put_features(struct buf *b)
{
	put_z(b, "gpustat " VERSION "\n" FEATURES_TEXT);
}

/* Appends the commands, two on a line, and the options that most of them share. */
static void put_overview(struct buf *b)
{
	size_t n = 0, from = b->n;

	put_z(b, "gpustat " VERSION " - what GPUs and performance counters are doing\n"
	      "usage: gpustat [COMMAND] [OPTIONS] [INTERVAL [COUNT]]\n\n");
	for (size_t i = 0; i < opt.ncmds; i++) {
		const struct cmd *c = &opt.cmds[i];

		if (!is_built_in(c) || is_subcommand(c))
			continue;
		if (n % 2)
			put_columns(b, from, 40);
		from = n++ % 2 ? from : b->n;
		put_z(b, c->name[0] ? c->name : "(none)");
		put_columns(b, from, n % 2 ? 9 : 49);
		put_z(b, c->help);
		put_z(b, n % 2 ? "" : "\n");
	}
	put_z(b, n % 2 ? "\n\n" : "\n");
	put_options(b, OVERVIEW);
	put_z(b, "\nMore: gpustat COMMAND --help (procs: options without a COMMAND); "
		 "man gpustat\n");
}

static void put_cmd_help(struct buf *b, const struct cmd *c)
{
	put_z(b, c->name[0] ? "gpustat " : "gpustat");
	put_z(b, c->name);
	put_z(b, c->args[0] ? " [OPTIONS] " : " [OPTIONS]");
	put_z(b, c->args);
	put_z(b, "\n");
	put_z(b, c->help);
	put_z(b, "\n\n");
	put_options(b, c->with);
	put_z(b, c->with & (WITH_LIVE | WITH_NAMED) ?
	      "\nWithout an interval: two reads, one window apart.\n" : "\n");
	put_z(b, c->with & WITH_COMMAND ?
	      "With a command the exit status is that of the command.\n" : "");
	put_z(b, c->with & WITH_CHECK ? "Exit: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.\n" :
	      "Exit: 0 ok, 1 failure, 2 usage, 3 no device, 4 everything denied.\n");
}

static void put_help(struct buf *b)
{
	if (opt.cmd)
		put_cmd_help(b, opt.cmd);
	else
		put_overview(b);
}

/* Prints that an option is used incorrectly. why, which: texts after the name of the option.
 * Returns the exit code. */
static int option_usage(const struct option *o, const char *why, const char *which)
{
	char text[128];
	struct buf b = BUF_Z(text);

	put_str(&b, option_name(o));
	put_z(&b, why);
	return usage("--", buf_z(&b), which);
}

/* Returns a noun for the value of an option, a colon, and the accepted values, for messages: "time:
 * 100ms, 1". */
static struct str option_forms(const struct option *o)
{
	static const char *const by_kind[] = {
		[OPT_STR] = "text: at least one byte", [OPT_Z] = "name: at least one byte",
		[OPT_TIME] = ("time: " TIMES), [OPT_MS] = "time: 100 (ms), 1.5s, 1m",
		[OPT_COUNT] = "number: 1 or more", [OPT_COUNT32] = "number: 1 to 2147483647",
	};
	struct str forms = str_z(o->kind < LEN(by_kind) ? by_kind[o->kind] : NULL);

	return str_len(forms) ? forms : option_part(o, true);
}

/* True if the value of -o looks like the name of a file: -o of perf stat and perf record is -O of
 * gpustat. */
static bool is_file_for_format(const struct option *o, const char *value)
{
	return HAS(perf) && o->letter == 'o' && cmd_or_first()->with & WITH_RECORDS &&
	       (strchr(value, '/') || strchr(value, '.'));
}

/* Appends to a message the values that an option accepts; for an unknown format, the most similar
 * name of a format. */
static void put_forms(struct buf *b, const struct option *o, struct str forms, const char *value)
{
	struct nearest near = { .text = str_z(value) };

	if (is_file_for_format(o, value)) {
		put_z(b, ": -o selects the output format; use -O FILE");
		return;
	}
	for (const struct format *f = NULL; o->letter == 'o' && (f = format_next(f));)
		if (format_suits(f))
			nearest_try(&near, format_name(f));
	put_nearest(b, "", &near);
	if (near.name.p)
		return;
	put_z(b, ": use ");
	put_str(b, str_trim(forms));
	put_z(b, o->letter == 'o' ? suitable_formats() : "");
}

static int option_bad_value(const struct option *o, const char *value)
{
	char text[256], start[32];
	struct buf b = BUF_Z(text), a = BUF_Z(start);
	struct str noun = STR("value"), help, forms = helps ? option_forms(o) : noun;

	if (!WHOLE && o->letter == 'o' && format_left_out(str_z(value)))
		return not_built_in(format_left_out(str_z(value)));
	if (str_len(forms)) {
		str_cut(&forms, ':', &noun);
	} else {
		/* The option has no text `forms`: its help text lists the accepted values after a
		 * colon. */
		forms = option_part(o, false);
		str_cut(&forms, ':', &help);
	}
	put_z(&a, "invalid ");
	put_str(&a, noun);
	put_z(&a, " '");
	put_z(&b, "' for --");
	put_str(&b, option_name(o));
	if (helps)
		put_forms(&b, o, forms, value);
	return usage(buf_z(&a), value, buf_z(&b));
}

/* Stores the value of an option. Returns false if the option does not accept it. */
static bool set_value(const struct option *o, struct str s)
{
	switch (o->kind) {
	case OPT_FLAG:
		return *(bool *)o->to = true;
	case OPT_Z:
		*(const char **)o->to = s.p;
		return s.p < s.e;
	case OPT_STR:
		*(struct str *)o->to = s;
		return s.p < s.e;
	case OPT_TIME:
		return parse_interval(s, o->to);
	case OPT_MS:
		return parse_ms(s, o->to);
	case OPT_COUNT:
		return parse_count(s, o->to);
	case OPT_COUNT32:
		return parse_count32(s, o->to);
	default:
		return o->set(s);
	}
}

/* Applies an option of the command line. *at: index of the argument with the option, increased if
 * the next argument is its value; rest: value in the same argument, after the letter or after '=',
 * or NULL. Returns the exit code, or -1 to continue. */
static int option_apply(const struct option *o, char **argv, int *at, const char *rest)
{
	if (!o->to) {
		if (o->letter == 'h')
			put_help(&out);
		else
			put_features(&out);
		return finish() == EX_OK ? is_check() ? EX_UNKNOWN : EX_OK : EX_FAIL;
	}
	if (!is_option(o))
		return not_built_in(o->feature);
	chosen_options[o - options] = true;
	/* the value of an OPT_MAYBE option must be in the same argument */
	if (takes_value(o) && !rest) {
		if (!argv[*at + 1])
			return option_usage(o, " requires a value", NULL);
		rest = argv[++*at];
	}
	return set_value(o, str_z(rest)) ? -1 : option_bad_value(o, rest);
}

/* Returns the row of options[] with this letter or, if the letter is 0, with this name: the row of
 * the current command, else that of any command, for the message that the current command does not
 * have this option. Returns NULL if there is none. */
static const struct option *find_option(char letter, struct str name)
{
	const struct option *other = NULL;

	for (size_t i = 0; i < LEN(options); i++) {
		if (letter ? options[i].letter != letter : !str_eq(name, option_name(&options[i])))
			continue;
		if (!opt.cmd || options[i].with & opt.cmd->with)
			return &options[i];
		other = other ? other : &options[i];
	}
	return other;
}

/* Appends `lead` and the existing name that is most similar to the wrong one to a message. Returns
 * false if no name is similar, or if the feature help is not built in. */
static bool asked(struct buf *b, const char *lead, const struct nearest *n)
{
	if (!helps || !n->name.p)
		return false;
	put_nearest(b, lead, n);
	return true;
}

/* Prints that the command has no option `word`, and the option with the nearest name. Returns the
 * exit code. */
static int no_option(const char *word, struct str name)
{
	char text[96];
	struct buf b = BUF_Z(text);
	struct nearest near = { .text = name };

	for (size_t i = 0; helps && i < LEN(options); i++)
		if (!opt.cmd || options[i].with & opt.cmd->with)
			nearest_try(&near, option_name(&options[i]));
	put_z(&b, "'");
	if (!asked(&b, "--", &near)) {
		put_z(&b, "; see gpustat ");
		put_z(&b, opt.cmd ? opt.cmd->name : "");
		put_z(&b, opt.cmd && opt.cmd->name[0] ? " --help" : "--help");
	}
	return usage("unknown option '", word, buf_z(&b));
}

static int long_option(char **argv, int *at)
{
	struct str name = str_z(argv[*at] + 2), whole = name, key;
	const struct option *o;
	const char *rest;

	str_cut(&name, '=', &key);
	o = find_option('\0', key);
	rest = key.e < whole.e ? key.e + 1 : NULL;
	if (!o)
		return no_option(argv[*at], key);
	if (rest && !takes_value(o) && o->kind != OPT_MAYBE)
		return option_usage(o, " takes no value", NULL);
	if (HAS(sample) && !rest && o->set == set_call_graph && argv[*at + 1] &&
	/* the method may be the next argument, as in perf: --call-graph dwarf */
	    call_graph_of(str_z(argv[*at + 1])) < UNWINDS)
		rest = argv[++*at];
	return option_apply(o, argv, at, rest);
}

static int short_options(char **argv, int *at)
{
	const char *word = argv[*at];

	for (const char *p = word + 1; *p; p++) {
		const struct option *o = find_option(*p, (struct str){ 0 });
		int r;

		if (!o)
			return no_option(word, (struct str){ 0 });
		r = option_apply(o, argv, at, takes_value(o) && p[1] ? p + 1 : NULL);
		if (r >= 0 || takes_value(o))
			return r;
	}
	return -1;
}

static const struct cmd *find_cmd(const char *word)
{
	for (size_t i = 1; i < opt.ncmds; i++)
		if (strcmp(word, opt.cmds[i].name) == 0)
			return &opt.cmds[i];
	return NULL;
}

/* Returns the subcommand of the current command with this name, such as `list` of oa; NULL if there
 * is none. */
static const struct cmd *find_subcommand(const char *word)
{
	for (size_t i = 1; HAS(oa) && opt.cmd && i < opt.ncmds; i++) {
		struct str name = str_z(opt.cmds[i].name);

		if (is_subcommand(&opt.cmds[i]) && str_skip_z(&name, opt.cmd->name) &&
		    str_skip_z(&name, " ") && str_is(name, word))
			return &opt.cmds[i];
	}
	return NULL;
}

/* Prints that a word is neither an interval nor a subcommand of oa. Returns the exit code. */
static int no_oa_word(const char *word)
{
	struct str words = STR("list|pack|stalls"), name;
	struct nearest near = { .text = str_z(word) };
	char text[96];
	struct buf b = BUF_Z(text);

	while (str_cut(&words, '|', &name))
		nearest_try(&near, name);
	put_z(&b, "': not an interval, list, pack or stalls");
	put_nearest(&b, "", &near);
	return usage("'", word, buf_z(&b));
}

static int no_command(const char *word)
{
	char names[256];
	struct buf b = BUF_Z(names);
	struct nearest near = { .text = str_z(word) };

	for (size_t i = 1; helps && i < opt.ncmds; i++)
		nearest_try(&near, str_z(opt.cmds[i].name));
	put_z(&b, "': not a command or an interval");
	if (!asked(&b, "", &near)) {
		put_z(&b, "; commands:");
		for (size_t i = 1; i < opt.ncmds; i++) {
			if (!is_built_in(&opt.cmds[i]) || is_subcommand(&opt.cmds[i]))
				continue;
			put_c(&b, ' ');
			put_z(&b, opt.cmds[i].name);
		}
	}
	return usage("'", word, buf_z(&b));
}

/* Runs `help [COMMAND]` and `version`. words: arguments from `help` or `version` on. Returns the
 * exit code. */
static int help_words(char **words)
{
	char **rest = words + 1;

	if (words[0][0] == 'h' && *rest && !find_cmd(*rest) &&
	    str_among(str_z(*rest), "help version") < 2) {
		rest++; /* `help help` and `help version` print the overview */
	} else if (words[0][0] == 'h' && *rest) {
		opt.cmd = find_cmd(*rest);
		if (!opt.cmd)
			return no_command(*rest);
		if (!is_built_in(opt.cmd))
			return not_built_in(*rest);
		rest++;
		if (*rest && find_subcommand(*rest))
			opt.cmd = find_subcommand(*rest++);
	}
	if (*rest)
		return usage("'", *rest, "': unexpected argument");
	if (words[0][0] == 'v') {
		put_features(&out);
		return finish();
	}
	put_help(&out);
	return finish();
}

/* True if the output goes to /dev/kmsg and the interval is too short: the kernel accepts 10 records
 * in 5 s; with --inner each interval has three. */
static bool too_fast(void)
{
	return HAS(kmsg) && sink_is_kmsg() && opt.interval &&
	       opt.interval < (opt.inner ? 1500000000 : 500000000);
}

static int say_too_fast(void)
{
	return usage_z("/dev/kmsg accepts 10 records in 5 s: "
		       "use an interval of 0.5s or more, or 1.5s with --inner");
}

/* True if the option with this letter was given on the command line. */
static bool is_chosen(char letter)
{
	return chosen_options[find_option(letter, (struct str){ 0 }) - options];
}

/* Parses the arguments INTERVAL and COUNT; after -i only COUNT. Returns the exit code on errors, or
 * -1 to continue. */
int parse_times(char **words, size_t n)
{
	size_t at = is_chosen('i');

	if (n > 0 && (opt.on_stdin || opt.http))
		return usage(opt.http ? "--http" : "--on-stdin",
			     " takes no INTERVAL: each request gets one sample", NULL);
	if (n + at > 2)
		return usage("'", words[n - 1], "': unexpected argument");
	if (n > 0 && !at && !parse_interval(str_z(words[0]), &opt.interval))
		return usage("invalid interval '", words[0], "': use 100ms, 1, 1.5s, 1m");
	if (n + at > 1 && !parse_count(str_z(words[n - 1]), &opt.count))
		return usage("invalid count '", words[n - 1], "': use 1 or more");
	return too_fast() ? say_too_fast() : -1;
}

/* Parses the arguments that are no options as INTERVAL and COUNT. Does nothing for commands whose
 * arguments have another meaning. Returns the exit code on errors, or -1 to continue. */
static int parse_words(void)
{
	const char *word = opt.words[0];

	if (opt.cmd->kind == K_FDINFO ||
	    opt.cmd->with & (WITH_PERF | WITH_EVENTS | WITH_COUNTERS | WITH_MUNIN | WITH_PLOT) ||
	    is_oa_list_or_pack())
		return -1;
	if (opt.nwords > 0 && opt.cmd->with & (WITH_LIST | WITH_CHECK | WITH_DOCTOR | WITH_CAPTURE))
		return usage("'", opt.words[opt.nwords - 1], "': unexpected argument");
	if ((opt.nwords == 1 || opt.nwords == 2) && opt.cmd == opt.cmds &&
	    (u8)(word[0] - '0') > 9 && word[0] != '.')
		return no_command(word);
	if (HAS(oa) && opt.nwords && opt.cmd->with & WITH_OA && (u8)(word[0] - '0') > 9 &&
	    word[0] != '.')
		return no_oa_word(word);
	return parse_times(opt.words, opt.nwords);
}

/* Finds options that cannot be used together. Returns the error message, or NULL if there are
 * none. */
static const char *option_conflict(void)
{
	const struct format *f = opt.out.fmt;
	bool sums = HAS(summary) && (opt.summary || opt.inner), http = HAS(http) && opt.http;

	if (sums && opt.raw)
		return opt.inner ? "--inner and --raw exclude each other" :
		       "--summary and --raw exclude each other";
	if (HAS(summary) && opt.summary && opt.inner)
		return "--inner and --summary exclude each other";
	if ((HAS(plot) || HAS(timeline)) && (sums || (HAS(stat) && opt.totals)) &&
	    format_has_time_axis(f))
		return "-o svg, perfetto and chrome exclude --summary and --inner";
	if (HAS(timeline) && format_is_monotonic(f) && opt.out.time != T_MONO)
		return "-o perfetto and -o chrome require -t mono, their default";
	if (HAS(state) && opt.state && opt.output && strcmp(opt.state, opt.output) == 0)
		return "--state and --output require different files";
	if (HAS(procs) && opt.children && !opt.npids)
		return "--children requires --pid";
	if (HAS(summary) && opt.inner && opt.inner >= (opt.interval ? opt.interval : opt.window))
		return "--inner must be shorter than the interval";
	if ((opt.on_stdin || http) && (opt.align || opt.inner || opt.interval))
		return "--on-stdin and --http exclude an interval, --inner and --align";
	if (http && (opt.on_stdin || opt.count || opt.summary || opt.output))
		return "--http excludes --on-stdin, --count, --summary and --output";
	if (HAS(http) && opt.http && !http_takes_format())
		return "--http requires -o prom or -o openmetrics";
	return NULL;
}

/* Checks that the output format can be written to the destination of -O. Returns the error message,
 * or NULL if it can. */
static const char *output_conflict(void)
{
	struct str to = str_z(opt.output);
	bool kmsg = opt.out.fmt == format_find((struct str)STR("kmsg"));

	if (str_skip_z(&to, "udp:") && !format_has_udp(opt.out.fmt) &&
	    !(opt.cmd->with & WITH_CAPTURE)) /* capture has no -o */
		return "-O udp:HOST:PORT requires -o statsd or -o graphite";
	if (sink_is_kmsg() && !kmsg)
		return "-O /dev/kmsg requires -o kmsg";
	return NULL;
}

/* True if `sample` prints sums instead of samples. Sums have no time. */
static bool has_sums(void)
{
	return HAS(sample) && (opt.profile || opt.latency || opt.syscalls);
}

/* Returns the kind of records that this run prints (enum kind). */
static u8 kind_shown(void)
{
	if (!has_sums())
		return (u8)opt.cmd->kind;
	return opt.latency ? K_LATENCY : opt.syscalls ? K_SYSCALL : K_PROFILE;
}

static int check_options(void)
{
	const char *why;

	for (size_t i = 0; i < LEN(options); i++)
		if (chosen_options[i] && !(options[i].with & opt.cmd->with))
			return option_usage(&options[i], " is not an option of ",
					    opt.cmd->name[0] ? opt.cmd->name :
					    "gpustat without a command");
	if ((why = option_conflict()) || (why = output_conflict()))
		return usage_z(why);
	if (too_fast())
		return say_too_fast();
	if (!format_suits(opt.out.fmt))
		return usage("this format cannot show these records; use ", suitable_formats(),
			     NULL);
	if (is_oa_word("pack") && !format_is(opt.out.fmt, "line"))
		return usage_z("oa pack writes a file: it has no format");
	if (format_has_time_axis(opt.out.fmt) && /* these records have none */
	    (has_sums() || (!opt.nwords && opt.cmd->with == WITH_COUNTERS)))
		return usage_z("this format cannot show these records");
	if (HAS(oa) && opt.oa.props.format && !(opt.cmd->with & WITH_OA))
		return usage_z("only oa supports formats of OA reports");
	if (opt.out.one_line && !format_has_one_line(opt.out.fmt))
		return usage_z("-1 requires -o line or -o json");
	return -1;
}

int no_field(struct str p)
{
	char name[128], text[96];
	struct buf b = BUF_Z(text);
	struct nearest near = { .text = p };

	if (helps)
		pattern_nearest(&near, opt.out.kind);
	put_z(&b, "': these records have no such field");
	if (!asked(&b, "", &near))
		put_z(&b, "; -f help lists them");
	str_copy(name, sizeof(name), p);
	return usage("'", name, buf_z(&b));
}

/* Checks the fields of -f and -s. If there are records of minimum, average and maximum, or of a
 * whole run, adds the field "summary" before those of -f, since it tells these records apart.
 * Returns the exit code on errors, or -1 to continue. */
static int check_patterns(void)
{
	bool has = !(HAS(summary) || HAS(stat)) || !opt.out.summary || opt.out.npatterns == 0 ||
		   opt.out.npatterns == MAX_PATTERNS;

	opt.out.note = fields_note;
	for (size_t i = 0; i < opt.out.npatterns; i++)
		has |= str_is(opt.patterns[i], "summary");
	if (!has) {
		memmove(opt.patterns + 1, opt.patterns,
			opt.out.npatterns++ * sizeof(opt.patterns[0]));
		opt.patterns[0] = (struct str)STR("summary");
	}
	for (size_t i = 0; i <= opt.out.npatterns; i++) {
		struct str p = i < opt.out.npatterns ? opt.patterns[i] : opt.sort;

		if (!p.p || pattern_known(p, opt.out.kind) ||
		/* In the commands oa, host and plot, the word p of -f or -s may also be the name of
		 * a counter. */
		    opt.cmd->with & (WITH_OA | WITH_HOST | WITH_PLOT))
			continue;
		return no_field(p);
	}
	return -1;
}

static bool takes_command(void)
{
	return opt.cmd && opt.cmd->with & WITH_COMMAND;
}

/* True if a word of the command line begins the user's command that stat, sample or run starts.
 * stat accepts INTERVAL and COUNT before it: this function stores them and returns false. */
static bool begins_command(const char *word)
{
	struct str s = str_z(word);

	if (opt.cmd->with != WITH_STAT ||
	    !(!opt.interval ? parse_interval(s, &opt.interval) :
	      !opt.count && parse_count(s, &opt.count)))
		return true;
	opt.nwords++;
	return false;
}

/* Chooses the output format if there is no option -o: kmsg if the output is /dev/kmsg; block for
 * the command `list`, unless it has options that only line formats support. */
static void choose_format(void)
{
	bool kmsg = HAS(kmsg) && sink_is_kmsg();
	const struct format *f = format_find(str_z(kmsg ? "kmsg" : "block"));

	if (f && !is_chosen('o') &&
	    (kmsg || (opt.cmd->with & WITH_LIST &&
		      !(opt.out.npatterns || opt.out.no_header || opt.out.one_line))))
		opt.out.fmt = f;
}

static void set_defaults(const struct cmd *cmds, size_t ncmds, char **argv)
{
	opt.cmds = cmds;
	opt.ncmds = ncmds;
	/* Arguments that are no options are moved to the start of argv[], where they overwrite
	 * arguments that were parsed before. */
	opt.words = argv + 1;
	opt.argv = argv;
	opt.window = 500000000;
	opt.repeat = 1;
	opt.out.fmt = format_find((struct str)STR("line"));
	opt.out.patterns = opt.patterns;
	opt.out.note = fields_note;
}

int parse_args(const struct cmd *cmds, size_t ncmds, char **argv)
{
	const struct format *line = format_find((struct str)STR("line"));
	bool options_end = false;

	set_defaults(cmds, ncmds, argv);
	for (int i = 1; argv[i]; i++) {
		const char *a = argv[i];
		int r = -1;

		if (!options_end && strcmp(a, "--") == 0) {
			options_end = true;
			if (takes_command()) {
				opt.command = argv + i + 1;
				break;
			}
		}
		else if (!options_end && a[0] == '-' && a[1] == '-')
			r = long_option(argv, &i);
		else if (!options_end && a[0] == '-' && a[1])
			r = short_options(argv, &i);
		else if (!opt.cmd && opt.nwords == 0 && find_cmd(a)) {
			opt.cmd = find_cmd(a);
			r = is_built_in(opt.cmd) ? -1 : not_built_in(a);
		} else if (opt.nwords == 0 && find_subcommand(a))
			opt.cmd = find_subcommand(a);
		else if (!opt.cmd && opt.nwords == 0 && str_among(str_z(a), "help version") < 2)
			return help_words(argv + i);
		else if (takes_command()) {
			if (!begins_command(a))
				continue;
			opt.command = argv + i;
			break;
		} else
			opt.words[opt.nwords++] = argv[i];
		if (r >= 0)
			return r;
	}
	if (!opt.cmd)
		opt.cmd = opt.cmds;
	if (opt.count && !opt.interval && !opt.on_stdin && !opt.http)
		opt.interval = 1000000000;
	opt.out.kind = kind_shown();
	if (opt.fields_help && opt.cmd->with & (WITH_RECORDS | WITH_PLOT)) {
		out_fields(&out, opt.out.kind);
		return finish();
	}
	if (opt.out.fmt == line)
		choose_format();
	if (HAS(timeline) && format_is_monotonic(opt.out.fmt) && opt.out.time == T_DEFAULT)
		opt.out.time = T_MONO;
	opt.out.inner = opt.inner;
	if (parse_words() >= 0 || check_options() >= 0)
		return EX_USAGE;
	opt.out.summary = opt.summary || opt.inner || (HAS(stat) && opt.totals && opt.interval);
	return check_patterns();
}
