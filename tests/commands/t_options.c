/* t_options.c - the command line: values of all kinds of options, clusters of letters, words,
 * conflicts, usage errors and --help. t_options.py tests what the options do.
 * SPDX-License-Identifier: MIT */
#include "../../commands/shared/options.c"
#include "unit.h"

struct buf out;
int out_fd = 1;
struct rescan rescan = { .budget = 80, .timed = true };

static char help[64 << 10], said[1024];
static unsigned nsaid, nfinished;
static bool has_kmsg, prints = true;

/* Stand-ins for sysfs.c, select.c, messages.c and output.c. */
struct sensing sensing;
u8 device_choice(u32 device) { return device ? DEVICE_LEFT_OUT : 0; }

int usage(const char *a, const char *b, const char *c)
{
	snprintf(said, sizeof(said), "%s%s%s", a, b ? b : "", c ? c : "");
	nsaid++;
	return EX_USAGE;
}

int usage_z(const char *z) { return usage(z, NULL, NULL); }
bool is_check(void) { return opt.cmd && opt.cmd->with & WITH_CHECK; }
bool sink_is_kmsg(void) { return has_kmsg; }
bool http_takes_format(void) { return opt.out.fmt == format_find(LIT("prom")); }

int finish(void)
{
	nfinished++;
	return prints ? EX_OK : EX_FAIL;
}

static int run(void) { return EX_OK; }

static const struct cmd cmds[] = {
	{ "", "", "live", K_DEVICE, WITH_LIVE, 0, 0, run },
	{ "clients", "", "clients", K_CLIENT, WITH_LIVE, 0, 0, run },
	{ "list", "", "devices", K_DEVICE, WITH_LIST, 0, 0, run },
	{ "fdinfo", "FILE", "dumps", K_FDINFO, WITH_FDINFO, 0, 0, run },
	{ "counters", "", "counters", K_COUNTER, WITH_COUNTERS, 0, 0, run },
	{ "stat", "", "count", K_EVENT, WITH_STAT, 0, 0, run },
	{ "sample", "", "samples", K_SAMPLE, WITH_SAMPLE, 0, 0, run },
	{ "oa", "", "reports", K_OA, WITH_OA, 0, 0, run },
	{ "check", "", "plugin", K_DEVICE, WITH_CHECK, 0, 0, run },
	{ "events", "", "events", K_COUNT, WITH_EVENTS, 0, 0, run },
	{ "top", "", "screen", K_CLIENT, WITH_TOP, 0, 0, run },
};

/* Parses a command line: words that are separated by blanks. "g" stands for the program; it may be
 * left out before a command. */
static int parse(const char *line)
{
	static char text[4096], prog[] = "gpustat";
	static char *argv[256] = { prog };
	size_t n = 1;

	memset(&opt, 0, sizeof(opt));
	memset(chosen_options, 0, sizeof(chosen_options));
	out = BUF(help);
	said[0] = '\0';
	nsaid = nfinished = 0;
	out_fd = 1;
	str_copy(text, sizeof(text), str_z(strncmp(line, "g ", 2) == 0 ? line + 2 : line));
	if (strcmp(line, "g") != 0)
		argv[n++] = text;
	for (char *p = text; *p; p++)
		if (*p == ' ') {
			*p = '\0';
			argv[n++] = p + 1;
		}
	argv[n] = NULL;
	return parse_args(cmds, LEN(cmds), argv);
}

/* --- values ----------------------------------------------------------------------------------- */

#define TO(member) offsetof(struct opts, member), sizeof(((struct opts *)0)->member)

/* Returns the integer member of opt at an offset, of 1, 2, 4 or 8 bytes. */
static u64 member_at(size_t at, size_t size)
{
	const char *p = (const char *)&opt + at;
	u64 v8;
	u32 v4;
	u16 v2;

	if (size == 8)
		return memcpy(&v8, p, 8), v8;
	if (size == 4)
		return memcpy(&v4, p, 4), v4;
	if (size == 2)
		return memcpy(&v2, p, 2), v2;
	return (u8)*p;
}

static const struct number { const char *line; size_t at, size; u64 value; } numbers[] = {
	{ "g", TO(window), 500000000 }, { "g", TO(repeat), 1 }, { "g", TO(interval), 0 },
	{ "g -i 100ms", TO(interval), 100000000 }, { "g -i100ms", TO(interval), 100000000 },
	{ "g --interval=1.5s", TO(interval), 1500000000 },
	{ "g --interval 1m", TO(interval), 60000000000 },
	{ "g -c 7", TO(count), 7 }, { "g -n7", TO(count), 7 },
	{ "g --count=7", TO(interval), 1000000000 },
	{ "g -c 18446744073709551615", TO(count), UINT64_MAX },
	{ "g -w 2", TO(window), 2000000000 },
	{ "g -w 2", TO(windowed), 1 }, { "g -r", TO(raw), 1 }, { "g -qv", TO(quiet), 1 },
	{ "g -qv", TO(verbose), 1 }, { "g -qvi2", TO(interval), 2000000000 },
	{ "g -1", TO(out.one_line), 1 },
	{ "g -rHi 2", TO(interval), 2000000000 }, { "g -H", TO(out.no_header), 1 },
	{ "g -k3", TO(top), 3 },
	{ "g -p 1,2,3", TO(npids), 3 }, { "g -p 1 -p 2147483647", TO(pids[1]), INT32_MAX },
	{ "g -t iso", TO(out.time), T_ISO }, { "g -tnone", TO(out.time), T_NONE },
	{ "g --inner 50ms 1", TO(inner), 50000000 },
	{ "g 0.25 9", TO(interval), 250000000 },
	{ "g 0.25 9", TO(count), 9 }, { "clients 2", TO(interval), 2000000000 },
	{ "g -S", TO(out.summary), 1 },
	{ "clients -d a,b -d c", TO(ndevices), 3 },
	{ "g -f busy,temp", TO(out.npatterns), 2 },
	{ "g -S -f busy", TO(out.npatterns), 2 },
	{ "g -S -f busy,summary", TO(out.npatterns), 2 },
	{ "stat -I 250", TO(interval), 250000000 },
	{ "stat --timeout 1.5", TO(timeout), 1500000 },
	{ "stat --timeout 2s", TO(timeout), 2000000000 },
	{ "stat -D -1", TO(delay), UINT64_MAX },
	{ "stat -D 10", TO(delay), 10000000 }, { "stat -r 0", TO(repeat), 0 },
	{ "stat -ddd", TO(detail), 3 },
	{ "sample -g fp", TO(target.callchain), 1 },
	{ "sample --call-graph=lbr", TO(call_graph), UNWIND_LBR },
	{ "sample --call-graph fp dwarf", TO(call_graph), UNWIND_FP },
	{ "sample --call-graph dwarf,4096", TO(call_graph), UNWIND_DWARF },
	{ "sample --call-graph true", TO(call_graph), UNWIND_FP },
	{ "stat -e a -e b", TO(nevents), 2 }, { "stat -A", TO(target.split), SPLIT_CPU },
	{ "stat --per-core", TO(target.split), SPLIT_CORE },
	{ "stat --per-node", TO(target.split), SPLIT_NODE }, { "stat --per-die", TO(target.split), SPLIT_DIE },
	{ "stat --per-cluster", TO(target.split), SPLIT_CLUSTER },
	{ "stat --per-cache", TO(target.split), SPLIT_CACHE }, { "stat --per-cache=L2", TO(target.level), 2 },
	{ "stat -p 7", TO(target.whole), 1 },
	{ "stat --per-thread -t 7", TO(target.threads), 1 },
	{ "stat --no-csv-summary", TO(out.unmarked), 1 },
	{ "stat --log-fd 3", TO(out_chosen), 1 },
	{ "sample -F 99", TO(target.freq), 99 }, { "sample -m 64", TO(pages), 64 },
	{ "sample --limit 2147483647", TO(target.limit), INT32_MAX },
	{ "sample -g", TO(target.callchain), 1 },
	{ "sample --period-random 0xff,7", TO(random_mask), 255 },
	{ "sample --period-random 1,7", TO(seed), 7 },
	{ "sample --summary", TO(profile), ALL_SUMS },
	{ "sample --summary=ip", TO(profile), 1 << PROF_IP },
	{ "sample --summary=comm,ip", TO(profile), 1 << PROF_COMM | 1 << PROF_IP },
	{ "sample --wakeup 9", TO(target.wakeup), 9 },
	{ "sample --watermark 9", TO(target.watermark), 1 },
	{ "oa --ctx 0x10", TO(oa.props.ctx), 16 },
	{ "oa --engine video:2", TO(oa.props.engine_class), 2 },
	{ "oa --engine video:2", TO(oa.props.engine_instance), 2 },
	{ "oa --engine 9", TO(oa.props.engine_class), 9 },
	{ "oa --sseu 1:0xff:4:8", TO(oa.props.max_eus), 8 },
	{ "oa --sseu 1:0xff:4:8", TO(oa.props.subslices), 255 },
	{ "oa --buffer-size 0x1000", TO(oa.props.buffer), 4096 },
	{ "check -t 3s", TO(check.timeout), 3000000000 },
	{ "counters --all a b", TO(nwords), 2 }, { "g --align 1", TO(align), 1 },
	{ "g --on-stdin", TO(on_stdin), 1 },
};

static void t_numbers(void)
{
	for (size_t i = 0; i < LEN(numbers); i++) {
		int code = parse(numbers[i].line);

		check(code == -1 && nsaid == 0, "'%s' is valid", numbers[i].line);
		check_u64(member_at(numbers[i].at, numbers[i].size), numbers[i].value,
			  "'%s': the value is stored", numbers[i].line);
	}
}

static void t_texts(void)
{
	struct buf b = BUF(help);

	check(parse("g -C Xorg -g /a/b --sort=busy -O file --proc=p --sys s --state=st") == -1,
	      "options with texts are accepted");
	check_str(opt.comm, "Xorg", "-C NAME stores the name");
	check_str(opt.cgroup, "/a/b", "-g PATH stores the path");
	check_str(opt.sort, "busy", "--sort=FIELD stores the field");
	check(!strcmp(opt.output, "file") && !strcmp(opt.proc, "p") && !strcmp(opt.sys, "s") &&
	      !strcmp(opt.state, "st"), "options with file names store them");
	check(parse("stat -C 0,2-3 -e cycles -p 7,8") == -1 && opt.npids == 2 &&
	      opt.target.has_cpus,
	      "stat: -C LIST and -p LIST have the meaning of perf stat");
	check_str(opt.events[0], "cycles", "stat: -e LIST stores the events");
	check(parse("check -w 10 -c 20 -m temp") == -1 && !opt.count && !opt.windowed,
	      "check: -w and -c are ranges");
	check_str(opt.check.critical, "20", "check: -c RANGE stores the range");
	parse("g -C a=b --cgroup=c=d");
	check_str(opt.comm, "a=b", "a value may have a '='");
	check_str(opt.cgroup, "c=d", "a value after '=' may have a '='");
	parse("g -o json");
	check(opt.out.fmt == format_find(LIT("json")), "-o json selects the format json");
	parse("stat -j");
	check(opt.out.fmt == format_find(LIT("json")), "stat -j selects the format json");
	parse("stat --json-output");
	check(opt.out.fmt == format_find(LIT("perf-json")),
	      "stat --json-output selects the format perf-json");
	parse("stat -x ::");
	check(opt.out.fmt == format_find(LIT("perf-csv")) && !strcmp(opt.out.separator, "::"),
	      "stat -x SEP selects perf-csv with this separator");
	parse("stat -x \\t");
	check(!strcmp(opt.out.separator, "\t"), "stat -x \\t is a tab");
	parse("stat --pre true --post=false");
	check(!strcmp(opt.before, "true") && !strcmp(opt.after, "false"),
	      "stat: --pre and --post store commands");
	parse("oa --platform SKLGT2 -o A32u40_A4u32_B8_C8");
	check(opt.oa.platform && opt.oa.props.format,
	      "oa: --platform is a platform, and -o accepts a report format");
	parse("stat --filter=common_pid==7 -e a");
	check(nsaid == 1, "--filter before -e is refused");
	parse("stat -e a --filter=common_pid==7 -e b");
	check_str(opt.filters[0], "common_pid==7", "--filter is for the -e before it");
	check(!opt.filters[1].p, "--filter is not for the next -e");
	check(parse("stat -G /a,/b") == -1 && opt.target.ncgroups == 2,
	      "stat: -G PATHS stores both cgroups");
	b.n = text_copy(opt.target.cgroups[1], b.p, b.cap);
	check_str(str_of(b.p, b.n), "/b", "stat: -G PATHS: the second cgroup is found");
	check(parse("stat --log-fd 5") == -1 && out_fd == 5,
	      "--log-fd N is the descriptor of the output");
	check(parse("g --sweep all") == -1 && rescan.budget == RESCAN_ALL && !rescan.timed,
	      "--sweep all: no limit for the rescan");
	check(parse("g --sweep=0") == -1 && rescan.budget == 0, "--sweep 0: no rescan");
}

/* --- words ------------------------------------------------------------------------------------ */

static void t_words(void)
{
	check(parse("g -- 2 3") == -1 && opt.interval == 2000000000 && opt.count == 3,
	      "all arguments after -- are words, not options");
	check(parse("counters a -q b -- -c") == -1 && opt.nwords == 3 && opt.quiet &&
	      !strcmp(opt.words[2], "-c"), "words and options may be mixed");
	check(parse("g -q list") == -1 && opt.cmd == &cmds[2],
	      "an option is accepted before the command");
	check(parse("g -") == EX_USAGE && strstr(said, "'-': not a command or an interval"),
	      "a single - is a word, not an option");
	check(parse("stat 0.5 3 sleep 9 -q") == -1 && opt.interval == 500000000 && opt.count == 3 &&
	      !strcmp(opt.command[0], "sleep") && !strcmp(opt.command[2], "-q") && !opt.quiet,
	      "stat: INTERVAL and COUNT, then a command with its options");
	check(parse("stat -q -- 0.5") == -1 && !strcmp(opt.command[0], "0.5") && !opt.interval,
	      "stat: -- ends the options");
	check(parse("sample 0.5 3") == -1 && !strcmp(opt.command[0], "0.5"),
	      "sample: a number is a command, not an INTERVAL");
	check(parse("g -i 1 7") == -1 && opt.interval == 1000000000 && opt.count == 7 &&
	      parse("stat -i 1 7 ls") == -1 && opt.interval == 1000000000 && opt.count == 7 &&
	      opt.command && parse("stat -I 100 7 ls") == -1 && opt.interval == 100000000 &&
	      opt.count == 7, "the word after -i INTERVAL is COUNT");
	check(parse("g -i 1 -c 2") == -1 && opt.count == 2, "-i and -c need no words");
	check(parse("stat") == -1 && !opt.command, "stat: the command may be missing");
	check(parse("oa list") == -1 && is_oa_list_or_pack() && parse("oa 1") == -1 &&
	      !is_oa_list_or_pack(),
	      "oa list is not a measurement");
}

/* --- errors ----------------------------------------------------------------------------------- */

static void t_values(void)
{
	static const char *const lines[] = {
		"g -i 0", "g -i -1", "g -i x", "g -i 1x", "g --interval=", "g -c 0", "g -c -1",
			"g -c 1.5",
		"g -c 18446744073709551616", "g -p 1,,2", "g -p x", "g -p 2147483648", "g -p ,1",
		"g -p 1,", "g -f busy,", "g -d card0,", "g -d 0 -d 1,", "stat -G a,",
		"sample --summary=comm,", "stat -p 1,", "stat -t 1,", "stat -C 0,",
		"g -d ,", "g --device=",
		"g -f a,,b", "g -t never", "g -C ", "g --proc=", "g --sweep 4294967295",
		"g --sweep some", "g -o jsonx",
		"stat --pre=", "stat -D x", "stat -D 0", "stat --timeout 2147483647001",
		"stat -r x", "stat -C 9-1",
		"stat -p 0", "stat -t 1,0", "stat -G a,,b", "stat --log-fd 2147483648",
		"sample -m 3", "sample -m 0",
		"sample --limit 2147483648", "sample --summary=stack", "sample --period-random 1",
		"sample --summary=",
		"sample --period-random ,1", "oa --engine vide", "oa --engine 65536",
		"oa --engine render:x",
		"oa --sseu 1:2:3", "oa --sseu 1:2:3:4:5", "oa --sseu 1:2:3:65536",
		"oa --buffer-size 0", "oa --ctx x",
		"oa --platform nonsense", "oa --metrics=", "check -t 0", "stat --filter x",
	};

	static const struct { const char *line, *said; } words[] = {
		{ "g -i 5x", "invalid time '5x' for --interval: use 100ms, 1, 1.5s, 1m" },
		{ "g -w 0", "invalid time '0' for --window: use 100ms, 1, 1.5s, 1m" },
		{ "check --window 0", "invalid time '0' for --window: use 100ms, 1, 1.5s, 1m" },
		{ "g -c 0", "invalid number '0' for --count: use 1 or more" },
		{ "g -p abc", "invalid PID 'abc' for --pid: use 12 or 12,345" },
		{ "g -d ,", "invalid value ',' for --device: use card1, renderD128, " },
		{ "g -f ,", "invalid fields ',' for --fields: use A or A,B" },
		{ "g --comm=", "invalid text '' for --comm: use at least one byte" },
		{ "g --proc=", "invalid name '' for --proc: use at least one byte" },
		{ "g -t never", "invalid value 'never' for --time: use none, epoch, iso or mono" },
		{ "stat --time never", "invalid value 'never' for --time: use none, epoch, iso or mono" },
		{ "stat --timeout x", "invalid time 'x' for --timeout: use 100 (ms), 1.5s, 1m" },
		{ "stat -D x", "invalid time 'x' for --delay: use 100 (ms), 1.5s or -1" },
		{ "stat --field-separator=", "invalid separator '' for --field-separator: use a text, or \\t" },
		{ "stat --per-cache=L5", "invalid cache 'L5' for --per-cache: use L1 to L4" },
		{ "stat --per-cache=2", "invalid cache '2' for --per-cache: use L1 to L4" },
		{ "stat -r x", "invalid number 'x' for --repeat: use 0 or more" },
		{ "stat -C 9-1", "invalid value '9-1' for --cpu: use 0 or 0,2-3" },
		{ "stat --filter x", "invalid filter 'x' for --filter: use an expression, after -e" },
		{ "sample --limit 0", "invalid number '0' for --limit: use 1 to 2147483647" },
		{ "sample -m 3", "invalid value '3' for --mmap-pages: use a power of 2 (default 128)" },
		{ "sample --summary=x", "invalid value 'x' for --summary: use comm, symbol or ip" },
		{ "oa --ctx x", "invalid number 'x' for --ctx: use 12 or 0xc" },
		{ "oa --engine vide", "invalid engine 'vide' for --engine: use render, copy, " },
		{ "oa --platform x", "invalid value 'x' for --platform: use sklgt2, " },
		{ "g -o xml", "invalid format 'xml' for --format: use line table block plain csv json " },
		{ "stat -o out.txt", "invalid format 'out.txt' for --format: -o selects the output format; use -O FILE" },
		{ "sample --format /tmp/json", "invalid format '/tmp/json' for --format: -o selects the output format; use -O FILE" },
		{ "events -o a.txt", "invalid format 'a.txt' for --format: use line json" },
		{ "events -o xml", "invalid format 'xml' for --format: use line json" },
		{ "g -o jsn", "invalid format 'jsn' for --format; did you mean 'json'?" },
		{ "g -o LNIE", "invalid format 'LNIE' for --format; did you mean 'line'?" },
		{ "stat -o prf-csv", "invalid format 'prf-csv' for --format; did you mean 'perf-csv'?" },
		{ "g -o prf-csv", "invalid format 'prf-csv' for --format: use line table " },
	};

	for (size_t i = 0; i < LEN(lines); i++)
		check(parse(lines[i]) == EX_USAGE && nsaid == 1 && !strncmp(said, "invalid ", 8) &&
		      (strstr(said, ": use ") || strstr(said, "; did you mean '")),
		      "'%s': exit code 2, one message with the accepted values", lines[i]);
	for (size_t i = 0; i < LEN(words); i++)
		if (!check(parse(words[i].line) == EX_USAGE && nsaid == 1 &&
			   !strncmp(said, words[i].said, strlen(words[i].said)),
			   "'%s': the message has the value, the option and what is accepted", words[i].line))
			note("%s", said);
}

/* Letters with another meaning in some commands, which top(1), perf stat or perf record define. */
static void t_letters(void)
{
	check(parse("top -d 2") == -1 && opt.interval == 2000000000 && !opt.ndevices,
	      "top -d is a delay");
	check(parse("top --delay 2 --device card0") == -1 && opt.interval == 2000000000 && opt.ndevices == 1,
	      "top --device has no short option");
	check(parse("g -d card0") == -1 && opt.ndevices == 1, "-d of other commands is a device");
	check(parse("sample -c 7") == -1 && opt.target.period == 7 && !opt.count, "sample -c is a period");
	check(parse("sample --count 7") == -1 && opt.count == 7 && !opt.target.period,
	      "sample --count is a number of samples");
	check(parse("stat -i") == -1 && opt.target.no_inherit && !opt.interval, "stat -i: child tasks are not counted");
	check(parse("sample -i") == -1 && opt.target.no_inherit, "sample -i: child tasks are not sampled");
	check(parse("stat --interval 2") == -1 && opt.interval == 2000000000,
	      "stat --interval has no short option");
	check(parse("stat -I 100") == -1 && opt.interval == 100000000, "stat -I is in milliseconds");
	check(parse("g -i 2 -n 3") == -1 && opt.interval == 2000000000 && opt.count == 3,
	      "-i and -n of other commands are interval and count");
}

static void t_errors(void)
{
	static const struct { const char *line, *said; } rows[] = {
		{ "g --nonsense", "unknown option '--nonsense'; see gpustat --help" },
		{ "g -qZ", "unknown option '-qZ'; see gpustat --help" },
		{ "list -Z", "unknown option '-Z'; see gpustat list --help" },
		{ "g --intervla 1", "unknown option '--intervla'; did you mean '--interval'?" },
		{ "list --devices=x", "unknown option '--devices=x'; did you mean '--device'?" },
		{ "list --intervla 1", "unknown option '--intervla'; see gpustat list --help" },
		{ "g clinets", "'clinets': not a command or an interval; did you mean 'clients'?" },
		{ "g help clinets", "'clinets': not a command or an interval; did you mean 'clients'?" },
		{ "g -f engien.render.busy", "'engien.render.busy': these records have no such field; did you mean 'engine'?" },
		{ "g -s tmep", "'tmep': these records have no such field; did you mean 'temp'?" },
		{ "g -i", "--interval requires a value" },
		{ "g --interval", "--interval requires a value" },
		{ "g --raw=1", "--raw takes no value" },
		{ "g -qi", "--interval requires a value" },
		{ "g nonsense", "'nonsense': not a command or an interval; "
		  "commands: clients list fdinfo counters stat sample oa check events top" },
		  { "g --", "" },
		{ "g 1 x", "invalid count 'x': use 1 or more" },
		{ "g 1 2 3", "'3': unexpected argument" },
		{ "g -i 1 2 3", "'3': unexpected argument" },
		{ "g -i 1 2s", "invalid count '2s': use 1 or more" },
		{ "check -o json", "--format is not an option of check" },
		{ "g 1x", "invalid interval '1x': use 100ms, 1, 1.5s, 1m" },
		{ "clients x", "invalid interval 'x'" },
		{ "list x", "'x': unexpected argument" }, { "check 1", "'1': unexpected argument" },
		{ "list -i 1", "--interval is not an option of list" },
		{ "g -e cycles", "--event is not an option of gpustat without a command" },
		{ "g -q --call-graph clients", "--call-graph is not an option of clients" },
		{ "g -S -r", "--summary and --raw exclude each other" },
		{ "g --inner 1ms -r", "--inner and --raw exclude each other" },
		{ "g -S --inner 1ms", "--inner and --summary exclude each other" },
		{ "g -S -o svg", "-o svg, perfetto and chrome exclude --summary and --inner" },
		{ "g -S -o chrome", "-o svg, perfetto and chrome exclude --summary and --inner" },
		{ "stat --summary -o svg", "-o svg, perfetto and chrome exclude --summary and --inner" },
		{ "g -t iso -o perfetto", "-o perfetto and -o chrome require -t mono, their default" },
		{ "g -t none -o chrome", "-o perfetto and -o chrome require -t mono, their default" },
		{ "g --state a -O a", "--state and --output require different files" },
		{ "g --inner 1 1", "--inner must be shorter than the interval" },
		{ "g --inner 500ms", "--inner must be shorter than the interval" },
		{ "g --on-stdin --align", "--on-stdin and --http exclude an interval" },
		{ "g --on-stdin -i 1", "--on-stdin and --http exclude an interval" },
		{ "g --on-stdin 1", "--on-stdin takes no INTERVAL" },
		{ "g --http 1", "--http takes no INTERVAL" },
		{ "g --http -O x", "--http excludes --on-stdin, --count, --summary and --output" },
		{ "g --http", "--http requires -o prom or -o openmetrics" },
		{ "g -O udp:h:1", "-O udp:HOST:PORT requires -o statsd or -o graphite" },
		{ "list -o svg", "this format cannot show these records" },
		{ "list -o perfetto", "this format cannot show these records" },
		{ "fdinfo -o chrome", "this format cannot show these records" },
		{ "g -o folded", "this format cannot show these records" },
		{ "sample -o perf-csv", "this format cannot show these records" },
		{ "g -o A32u40_A4u32_B8_C8", "only oa supports formats of OA reports" },
		{ "g -1 -o csv", "-1 requires -o line or -o json" },
		{ "g -f busy,nonsense", "'nonsense': these records have no such field; -f help "
		  "lists them" },
		{ "clients -s temp", "'temp': these records have no such field" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		bool good = !rows[i].said[0];
		int code = parse(rows[i].line);

		if (!check(code == (good ? -1 : EX_USAGE) && nsaid == !good &&
			   !strncmp(said, rows[i].said, strlen(rows[i].said)),
			   "'%s': %s", rows[i].line, good ? "valid" : "exit code 2, one message"))
			note("exit code %d, %u messages: %s", code, nsaid, said);
	}
	check(parse("g --http -o prom") == -1, "--http -o prom is valid");
	check(parse("oa -f nonsense") == -1, "oa: any field may be a counter");
}

static void t_kmsg(void)
{
	has_kmsg = true;
	check(parse("g -O /dev/kmsg") == -1 && opt.out.fmt == format_find(LIT("kmsg")),
	      "-O /dev/kmsg: the format is kmsg");
	check(parse("g -O /dev/kmsg -o json") == EX_USAGE &&
	      parse("g -O /dev/kmsg -o line") == EX_USAGE,
	      "-O /dev/kmsg: another format is refused");
	check(parse("g -O /dev/kmsg 0.5") == -1 && parse("g -O /dev/kmsg 0.4") == EX_USAGE &&
	      parse("g -O /dev/kmsg -i 0.4") == EX_USAGE,
	      "-O /dev/kmsg: the shortest interval is 0.5 s");
	check(parse("g -O /dev/kmsg --inner 0.1 1.5") == -1 &&
	      parse("g -O /dev/kmsg --inner 0.1 1.4") == EX_USAGE,
	      "-O /dev/kmsg: the shortest interval with --inner is 1.5 s");
	has_kmsg = false;
}

static void t_limits(void)
{
	static char line[4096] = "g -p 1";

	for (int i = 1; i < MAX_PIDS; i++)
		strcat(line, ",2");
	check(parse(line) == -1 && opt.npids == MAX_PIDS, "-p: 64 processes are accepted");
	check(parse(strcat(line, ",3")) == EX_USAGE && opt.npids == MAX_PIDS,
	      "-p: 65 processes are too many");
	str_copy(line, sizeof(line), LIT("stat"));
	for (int i = 0; i < MAX_LISTS; i++)
		strcat(line, " -e a");
	check(parse(line) == -1 && opt.nevents == MAX_LISTS, "-e: 64 lists of events are accepted");
	check(parse(strcat(line, " -e b")) == EX_USAGE && opt.nevents == MAX_LISTS,
	      "-e: 65 lists of events are too many");
	for (int not = 0; not < 2; not++) {
		str_copy(line, sizeof(line), not ? LIT("g --not a") : LIT("g -d a"));
		for (int i = 1; i < MAX_SELECTORS; i++)
			strcat(line, ",b");
		check(parse(line) == -1 && (not ? opt.nnot : opt.ndevices) == MAX_SELECTORS,
		      "-d (0) and --not (1): 16 devices are accepted: %d", not);
		check(parse(strcat(line, ",c")) == EX_USAGE,
		      "-d and --not: 17 devices are too many");
	}
	str_copy(line, sizeof(line), LIT("g -f busy"));
	for (int i = 1; i < MAX_PATTERNS; i++)
		strcat(line, ",temp");
	check(parse(line) == -1 && opt.out.npatterns == MAX_PATTERNS,
	      "-f: 320 fields are accepted");
	check(parse(strcat(line, ",name")) == EX_USAGE, "-f: 321 fields are too many");
	str_copy(line, sizeof(line), LIT("stat"));
	for (int i = 1; i < MAX_SETS; i++)
		strcat(line, " --set a");
	check(parse(line) == -1 && opt.nsets == MAX_SETS - 1, "--set: 64 event sets are accepted");
	check(parse(strcat(line, " --set b")) == EX_USAGE && opt.nsets == MAX_SETS - 1,
	      "--set: 65 event sets are too many");
	str_copy(line, sizeof(line), LIT("oa"));
	for (int i = 0; i < MAX_METRICS; i++)
		strcat(line, " --metrics a");
	check(parse(line) == -1 && opt.oa.nmetrics == MAX_METRICS,
	      "--metrics: 64 files are accepted");
	check(parse(strcat(line, " --metrics b")) == EX_USAGE && opt.oa.nmetrics == MAX_METRICS,
	      "--metrics: 65 files are too many");
}

/* --- help ------------------------------------------------------------------------------------- */

static void t_help(void)
{
	check(parse("g --help") == EX_OK && nfinished == 1 &&
	      str_find(str_of(out.p, out.n), LIT("\nlist     devices")) &&
	      str_find(str_of(out.p, out.n), LIT("--format F")) && !str_find(str_of(out.p, out.n), LIT("--call-graph")),
	      "--help: exit code 0, all commands, and the options of most commands");
	check(parse("g help") == EX_OK && nfinished == 1 && str_find(str_of(out.p, out.n), LIT("\nlist     devices")),
	      "help: same output as --help");
	check(parse("g help sample") == EX_OK && nfinished == 1 &&
	      str_find(str_of(out.p, out.n), LIT("gpustat sample [OPTIONS]")) && str_find(str_of(out.p, out.n), LIT("--call-graph")),
	      "help COMMAND: same output as COMMAND --help");
	check(parse("g help check") == EX_OK,
	      "help check: exit code 0, because it does not run as a plugin");
	check(parse("g version") == EX_OK && nfinished == 1 && str_find(str_of(out.p, out.n),
	      LIT("features: ")), "version: same output as --version");
	check(parse("fdinfo help version") == -1 && opt.nwords == 2,
	      "help and version after a command are plain words");
	check(parse("g clients -h") == EX_OK &&
	      !str_find(str_of(out.p, out.n), LIT("--call-graph")) &&
	      str_find(str_of(out.p, out.n), LIT("--sort FIELD")),
	      "clients -h: only options of clients");
	check(parse("check -h") == EX_UNKNOWN, "check -h: exit code 3");
	check(parse("g -V") == EX_OK && str_find(str_of(out.p, out.n), LIT("gpustat ")),
	      "-V: exit code 0");
	prints = false;
	check(parse("g -V") == EX_FAIL, "-V cannot be written: exit code 1");
	prints = true;
	check(parse("g -f help clients") == EX_OK && str_find(str_of(out.p, out.n), LIT("pids")),
	      "-f help before the command: the fields of the command");
}

int main(void)
{
	t_numbers();
	t_texts();
	t_words();
	t_values();
	t_letters();
	t_errors();
	t_kmsg();
	t_limits();
	t_help();
	return unit_end();
}
