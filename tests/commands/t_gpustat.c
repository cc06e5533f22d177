/* t_gpustat.c - unit test of gpustat.c: the rows of the table of commands, the terminal, the environment
 * of collectd, the order of steps, and the exit code. The commands are simulated.
 * SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static char steps[256];
static void step(const char *name) { strncat(steps, name, sizeof(steps) - strlen(steps) - 1); }
static long window_result;
static unsigned window_rows, window_cols;

static long fake_window(unsigned *rows, unsigned *cols)
{
	*rows = window_rows;
	*cols = window_cols;
	return window_result;
}
_Noreturn void gpustat_exit(int code);
int gpustat_main(int argc, char **argv);
#define sys_window(fd, rows, cols) fake_window(rows, cols)
#define sys_raise_nofile(limit) ((void)(limit), step("files "), 4096L)
#define main gpustat_main
#define exit gpustat_exit
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../gpustat.c"
#undef main
#undef exit
#include "said.h"

struct opts opt;
char last_message[512] = "why";
static int code, args_code, sink_code, http_code, run_code = -99;
static bool full, privileges = true, missing;

#define COMMAND_OF(name) int cmd_##name(void) { step("run "); return code; }
COMMAND_OF(fdinfo) COMMAND_OF(events) COMMAND_OF(check) COMMAND_OF(munin) COMMAND_OF(doctor)
COMMAND_OF(top) COMMAND_OF(plot) COMMAND_OF(stat) COMMAND_OF(sample) COMMAND_OF(run)
COMMAND_OF(live) COMMAND_OF(list) COMMAND_OF(capture) COMMAND_OF(oa) COMMAND_OF(stalls)
COMMAND_OF(counters) COMMAND_OF(host)

void output_begin(void) { step("output "); }
void signals_begin(void) { step("begin "); }
void signals_handle(void) { step("signals "); }
void profiling_restore(void) { step("restore "); }
void confine(i32 child) { step(child ? "child " : "confine "); }
int sink_open(void) { step("sink "); return sink_code; }
int http_request(void) { step("request "); return http_code; }
int http_end(int c) { step("answer "); return c; }
bool drop_privileges(void) { step("drop "); return privileges; }
bool say_full(void) { return full; }
bool say_missing_devices(void) { return missing; }
bool is_check(void) { return opt.cmd && opt.cmd->with & WITH_CHECK; }
int check_unknown(const char *why) { step(why); return EX_UNKNOWN; }
void say_unread_files(void) { say_z("unread"); }
void say_implausible(void) {}

int finish_run(int c)
{
	run_code = c;
	return c;
}

int parse_args(const struct cmd *all, size_t n, char **argv)
{
	step(argv[0]);
	opt.cmds = all;
	opt.ncmds = n;
	return args_code;
}

static const struct cmd *command(const char *name)
{
	for (size_t i = 0; i < LEN(cmds); i++)
		if (strcmp(cmds[i].name, name) == 0)
			return &cmds[i];
	return NULL;
}

/* --- the table -------------------------------------------------------------------------------- */

static void t_table(void)
{
	u32 seen = 0, place = 0;

	for (size_t i = 0; i < LEN(cmds); i++) {
		const struct cmd *c = &cmds[i];

		check(command(c->name) == c && c->run,
		      "command '%s' has one row and a function", c->name);
		/* --help has two columns; a command of two words is not in them */
		check(strlen(c->help) > 0 && (strchr(c->name, ' ') || strlen(c->help) <= 30 + place++ % 2),
		      "the help of a command fits in its column");
		check(c->with && !(c->with & (c->with - 1)),
		      "a command has one bit of its options");
		check(c->with == WITH_LIVE || !(seen & c->with),
		      "no other command has the bit of its options");
		check(!(c->calls & CALLS_WATCH) || (c->privileges & NEEDS_CLIENTS) == NEEDS_CLIENTS,
		      "a command that searches for clients keeps the privileges for it");
		check(!!(c->calls & CALLS_CHILD) == !!(c->with & WITH_COMMAND),
		      "only a command that starts a command keeps the system calls for it");
		check(c->calls & CALLS_FILES, "each command keeps the system calls to read files");
		seen |= c->with;
	}
	check(command("") == cmds, "the first command in the table has no name");
}

/* --- terminal and environment ----------------------------------------------------------------- */

static void t_terminal(void)
{
	static const struct {
		const char *columns, *term, *no_color;
		unsigned rows, cols;
		u16 width, height;
		bool colour;
	} rows[] = {
		{ "", "xterm", "", 24, 80, 80, 24, true }, { "", "dumb", "", 24, 80, 80, 24, false },
		{ "", "", "", 24, 80, 80, 24, false }, { "", "xterm", "1", 24, 80, 80, 24, false },
		{ "132", "xterm", "", 24, 80, 132, 24, true }, { "0", "xterm", "", 24, 80, 80, 24, true },
		{ "132x", "xterm", "", 24, 80, 80, 24, true }, { "99999", "xterm", "", 24, 80, 4095, 24, true },
		{ "18446744073709551616", "xterm", "", 24, 80, 80, 24, true },
		{ "4294967376", "xterm", "", 24, 80, 4095, 24, true },
		{ "", "xterm", "", 0, 0, 80, 0, true }, { "", "xterm", "", 70000, 4096, 4095, 4095, true },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		opt.out = (struct out){ 0 };
		window_rows = rows[i].rows;
		window_cols = rows[i].cols;
		setenv("COLUMNS", rows[i].columns, 1);
		setenv("TERM", rows[i].term, 1);
		setenv("NO_COLOR", rows[i].no_color, 1);
		set_terminal();
		check(opt.out.width == rows[i].width && opt.out.height == rows[i].height &&
		      opt.out.colour == rows[i].colour, "terminal %zu: %u x %u", i, opt.out.width,
		      opt.out.height);
	}
	opt.out = (struct out){ .one_line = true };
	set_terminal();
	check(opt.out.colour && opt.out.width == 0, "terminal: -1 does not cut lines");
	opt.out = (struct out){ 0 };
	opt.output = "file";
	set_terminal();
	opt.output = NULL;
	window_result = -ENOTTY;
	set_terminal();
	check(!opt.out.colour && opt.out.width == 0, "terminal: a file is none");
	window_result = 0;
}

static void t_repeats(void)
{
	opt.cmd = command("");
	check(may_repeat(), "samples may repeat: records of devices");
	opt.cmd = command("counters");
	check(!may_repeat(), "samples may not repeat: a list of counters");
	opt.nwords = 1;
	check(may_repeat(), "samples may repeat: counters by name");
	opt.nwords = 0;
	opt.cmd = command("list");
	check(!may_repeat(), "samples may not repeat: list");
	opt.cmd = command("host");
	opt.count = 1;
	check(!may_repeat(), "samples may not repeat: a number of samples is given");
	opt.count = 0;
	opt.interval = 1;
	check(!may_repeat(), "samples may not repeat: an interval is given");
	opt.interval = 0;
	opt.raw = true;
	check(!may_repeat(), "samples may not repeat: -r needs no second reading");
	opt.raw = false;
	opt.windowed = true;
	check(!may_repeat(), "samples may not repeat: a window is given");
	opt.windowed = false;
	check(may_repeat(), "samples may repeat: no option is given");
}

static void t_host(void)
{
	setenv("COLLECTD_HOSTNAME", "here", 1);
	setenv("COLLECTD_INTERVAL", "10.5", 1);
	opt.cmd = command("host");
	opt.out.fmt = format_find(LIT("json"));
	set_host();
	check(!opt.out.host && opt.interval == 0 && opt.out.run == 0 && opt.out.now > 0,
	      "environment: collectd's variables are ignored for JSON");
	opt.out.fmt = format_find(LIT("collectd"));
	set_host();
	check(strcmp(opt.out.host, "here") == 0 && opt.out.interval == 10500000000 &&
	      opt.interval == 10500000000,
	      "environment: collectd passes the host and the interval");
	opt.interval = 2;
	set_host();
	check(opt.interval == 2 && opt.out.interval == 10500000000,
	      "environment: an interval of the command line has priority over collectd's");
	setenv("COLLECTD_INTERVAL", "x", 1);
	setenv("COLLECTD_HOSTNAME", "", 1);
	set_host();
	check(opt.out.interval == 2 && opt.out.host && strcmp(opt.out.host, "here") != 0,
	      "environment: invalid values of collectd are not used");
	opt.interval = 0;
	check(run_number() & 1, "the number of a run is not 0");
}

/* --- exit codes ------------------------------------------------------------------------------- */

static const struct ending {
	const char *cmd;
	int code, want;
	bool tables, missing, unread, http;
	long error;
	int command_exit;
	const char *said;
} endings[] = {
	{ .cmd = "", .code = EX_OK, .want = EX_OK },
	{ .cmd = "", .code = EX_NODEVICE, .want = EX_NODEVICE },
	{ .cmd = "", .code = EX_NODEVICE, .want = EX_FAIL, .tables = true },
	{ .cmd = "", .code = EX_OK, .want = EX_OK, .tables = true },
	{ .cmd = "stat", .code = EX_USAGE, .want = EX_USAGE, .tables = true, .command_exit = 2 },
	{ .cmd = "", .code = EX_OK, .want = EX_FAIL, .missing = true },
	{ .cmd = "", .code = EX_OK, .want = EX_OK, .missing = true, .http = true },
	{ .cmd = "", .code = EX_OK, .want = EX_OK, .unread = true, .error = -EIO, .said = "unread" },
	{ .cmd = "", .code = EX_OK, .want = EX_FAIL, .unread = true, .error = -EMFILE, .said = "unread" },
	{ .cmd = "", .code = EX_NODEVICE, .want = EX_FAIL, .error = -EIO, .said = "unread" },
	{ .cmd = "", .code = EX_DENIED, .want = EX_DENIED, .error = -EIO },
	{ .cmd = "doctor", .code = EX_USAGE, .want = EX_USAGE, .error = -EIO },
	{ .cmd = "check", .code = EX_UNKNOWN, .want = EX_UNKNOWN, .missing = true, .error = -EIO },
};

static void t_endings(void)
{
	for (size_t i = 0; i < LEN(endings); i++) {
		const struct ending *e = &endings[i];

		opt = (struct opts){ .cmd = command(e->cmd), .http = e->http,
				     .command_exit = e->command_exit };
		code = e->code;
		tables_short = e->tables;
		missing = e->missing;
		fileio.unread = e->unread;
		fileio.error = e->error;
		check(run_cmd() == e->want && is_said(e->said),
		      "end of a run %zu: exit code %d", i, e->want);
	}
	tables_short = missing = false;
	fileio.unread = 0;
	fileio.error = 0;
	opt = (struct opts){ .cmd = command("stat"), .out = { .lost = 3 } };
	code = EX_OK;
	check(run_cmd() == EX_OK && is_said("3 series or columns were left out: gpustat's tables are full\n"),
	      "end of a run: a message about columns without room");
}

/* --- order ------------------------------------------------------------------------------------ */

/* Returns the steps of a run. */
static const char *run(const char *cmd, int want)
{
	static char name[] = "arg0 ", *argv[] = { name, NULL };
	const struct cmd *c = command(cmd);
	int got;

	steps[0] = '\0';
	opt.cmd = c;
	got = gpustat_main(1, argv);
	if (got != want)
		note("exit code %d", got);
	return got == want ? steps : "another exit code";
}

static void t_order(void)
{
	args_code = sink_code = http_code = -1;
	code = EX_OK;
	opt = (struct opts){ .out = { .fmt = format_find(LIT("line")) } };
	check_str(str_z(run("", EX_OK)), "output begin arg0 drop sink files signals confine run restore ",
		  "steps of a run: devices");
	check_str(str_z(run("stat", EX_OK)), "output begin arg0 drop run ",
	          "steps of stat: it handles signals itself");
	check_str(str_z(run("top", EX_OK)), "output begin arg0 drop files signals confine run restore ",
		  "steps of top: it opens no output");
	check_str(str_z(run("doctor", EX_OK)), "output begin arg0 drop sink files signals run restore ",
		  "steps of doctor: it probes before it confines itself");
	check_str(str_z(run("fdinfo", EX_OK)), "output begin arg0 drop sink files signals run restore ",
		  "steps of fdinfo: it opens its files before it confines itself");
	sink_code = EX_FAIL;
	check_str(str_z(run("list", EX_FAIL)), "output begin arg0 drop sink ",
	          "steps after the output cannot be opened");
	sink_code = -1;
	opt.http = true;
	check_str(str_z(run("", EX_OK)),
		  "output begin arg0 drop sink files signals confine request run restore answer ",
		  "steps with --http: the request is read after confine()");
	http_code = EX_OK;
	check_str(str_z(run("", EX_OK)), "output begin arg0 drop sink files signals confine request ",
		  "steps with --http: a request that was answered ends the run");
	opt.http = false;
	privileges = false;
	check_str(str_z(run("", EX_FAIL)), "output begin arg0 drop ",
	          "steps after privileges could not be dropped");
	privileges = true;
	args_code = EX_USAGE;
	check_str(str_z(run("", EX_USAGE)), "output begin arg0 ", "steps after an error of usage");
	check_str(str_z(run("check", EX_UNKNOWN)), "output begin arg0 why",
	          "steps of check after an error of usage: exit code UNKNOWN");
	args_code = EX_OK;
	check_str(str_z(run("check", EX_OK)), "output begin arg0 ",
	          "steps of check --help: exit code OK");
	opt.cmd = NULL;
	check(gpustat_main(0, (char *[]){ NULL }) == EX_USAGE && is_said("no arguments and no program name"),
	      "an empty list of arguments is an error of usage");
}

int main(void)
{
	t_table();
	t_terminal();
	t_repeats();
	t_host();
	t_endings();
	t_order();
	return unit_end();
}
