/* gpustat.c - main() and the table of commands. SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "built.h"
#include "sys.h"

#include <stdlib.h>

/* Functions of optional features. They are NULL if the feature is left out, and are not called
 * then. */
#pragma weak check_unknown
#pragma weak http_request
#pragma weak http_end

/* Sets of privileges (MAY_*) that commands need: NEEDS_CLIENTS to find clients, NEEDS_LOOK to find
 * clients with a BPF iterator if the feature bpf is built in, NEEDS_COUNTERS to find clients and to
 * count perf events. */
enum {
	NEEDS_CLIENTS = MAY_READ | MAY_PTRACE,
	NEEDS_LOOK = NEEDS_CLIENTS | (HAS(bpf) ? MAY_BPF : 0),
	NEEDS_COUNTERS = NEEDS_CLIENTS | MAY_PERF,
};

static const struct cmd cmds[] = {
#define COMMAND(feature, ...) ROW(COMMAND, feature)(feature, __VA_ARGS__)
#define COMMAND1(feature, ...) { #feature, __VA_ARGS__ }
#if !WHOLE
#define COMMAND0(feature, ...) { .name = #feature }
#endif
	{ "", "[INTERVAL [COUNT]]", "a record per device and sample",
	  K_DEVICE, WITH_LIVE, NEEDS_LOOK, CALLS_FILES | CALLS_WATCH, cmd_live },
	COMMAND(procs, "[INTERVAL [COUNT]]", "a record per process and device",
		K_PROCESS, WITH_LIVE, NEEDS_LOOK, CALLS_FILES | CALLS_WATCH, cmd_live),
	{ "clients", "[INTERVAL [COUNT]]", "a record per DRM client",
	  K_CLIENT, WITH_LIVE, NEEDS_LOOK, CALLS_FILES | CALLS_WATCH, cmd_live },
	{ "cgroups", "[INTERVAL [COUNT]]", "clients summed per cgroup",
	  K_CGROUP, WITH_LIVE, NEEDS_LOOK, CALLS_FILES | CALLS_WATCH, cmd_live },
	{ "list", "", "devices and their properties",
	  K_DEVICE, WITH_LIST, NEEDS_LOOK, CALLS_FILES | CALLS_WATCH, cmd_list },
	{ "fdinfo", "FILE...|-", "decode dumps of fdinfo files",
	  K_FDINFO, WITH_FDINFO, 0, CALLS_FILES, cmd_fdinfo },
	COMMAND(counters, "[NAME... [INTERVAL [COUNT]]]", "counters by name",
		K_COUNTER, WITH_COUNTERS, NEEDS_COUNTERS,
		CALLS_FILES | CALLS_WATCH | CALLS_PERF | CALLS_OPEN_PERF | CALLS_DRM, cmd_counters),
	COMMAND(host, "[INTERVAL [COUNT]]", "CPU, memory, disks, processes",
		K_COUNTER, WITH_HOST, NEEDS_COUNTERS,
		CALLS_FILES | CALLS_WATCH | CALLS_PERF | CALLS_DRM, cmd_host),
	COMMAND(doctor, "", "what cannot be read, and why",
		K_SOURCE, WITH_DOCTOR, NEEDS_COUNTERS | NEEDS_LOOK,
		CALLS_FILES | CALLS_WATCH | CALLS_OPEN_PERF, cmd_doctor),
	COMMAND(top, "[INTERVAL [COUNT]]", "live view of GPUs and clients",
		K_CLIENT, WITH_TOP, NEEDS_CLIENTS,
		CALLS_FILES | CALLS_WATCH | CALLS_SCREEN, cmd_top),
	COMMAND(events, "[GLOB|EVENT...]", "perf events of this machine",
		K_COUNT, WITH_EVENTS, MAY_READ, CALLS_FILES, cmd_events),
	COMMAND(stat, "[INTERVAL [COUNT]] [-- COMMAND]", "count perf events",
		K_EVENT, WITH_STAT, NEEDS_COUNTERS,
		CALLS_FILES | CALLS_PERF | CALLS_CHILD, cmd_stat),
	COMMAND(sample, "[-- COMMAND]", "sample perf events",
		K_SAMPLE, WITH_SAMPLE, NEEDS_COUNTERS | MAY_SYMBOLS,
		CALLS_FILES | CALLS_PERF | CALLS_CHILD, cmd_sample),
	COMMAND(run, "[--] COMMAND", "GPU use of a command",
		K_RUN, WITH_RUN, NEEDS_CLIENTS, CALLS_FILES | CALLS_WATCH | CALLS_CHILD, cmd_run),
	COMMAND(oa, "[INTERVAL [COUNT]]|list|pack|stalls",
		"counters inside Intel GPUs",
		K_OA, WITH_OA, MAY_PERF, CALLS_FILES | CALLS_DRM, cmd_oa),
#if HAS(oa)
	{ "oa stalls", "[INTERVAL [COUNT]]", "where the EUs of a GPU with xe wait",
	  K_STALL, WITH_STALLS, MAY_PERF, CALLS_FILES | CALLS_DRM, cmd_stalls },
#endif
	COMMAND(check, "", "plugin for Nagios and Icinga",
		K_DEVICE, WITH_CHECK, NEEDS_LOOK, CALLS_FILES | CALLS_WATCH, cmd_check),
	COMMAND(munin, "[config|autoconf]", "a munin plugin",
		K_DEVICE, WITH_MUNIN, NEEDS_LOOK,
		CALLS_FILES | CALLS_WATCH | CALLS_REPLACE, cmd_munin),
	COMMAND(capture, "", "copy /proc and /sys to a tar",
		K_PROCESS, WITH_CAPTURE, NEEDS_CLIENTS, CALLS_FILES | CALLS_WATCH, cmd_capture),
	COMMAND(plot, "FILE.csv|FILE.json", "draw a recorded run (SVG)",
		K_DEVICE, WITH_PLOT, 0, CALLS_FILES, cmd_plot),
};

/* Opens / for each standard stream that is closed, so that no file opened later becomes a standard
 * stream. Reads and writes of the stream still fail. / is used because the first process of a
 * system image may have no /dev/null. */
static void open_closed_streams(void)
{
	long fd;

	do
		fd = sys_openat(AT_FDCWD, "/", O_PATH);
	while (fd >= 0 && fd < 3);
	if (fd >= 0)
		sys_close((int)fd);
}

/* Returns true if the interval that collectd sets in the environment is used: the command can
 * repeat, and no option sets the interval, the count or the window. */
static bool may_repeat(void)
{
	u32 with = opt.cmd->with;

	return !opt.interval && !opt.count && !opt.windowed && !opt.raw &&
	       (with & (WITH_LIVE | WITH_HOST) || (with & WITH_COUNTERS && opt.nwords));
}

/* Returns a number that distinguishes this run of the program from others: a hash of the time and
 * the pid, never 0. */
static u32 run_number(void)
{
	const u64 parts[] = { (u64)sys_now(CLOCK_REALTIME), sys_pid() };

	return hash_more(HASH_BEGIN, str_of((const char *)parts, sizeof(parts))) | 1;
}

/* Sets the number of the run, and for metrics the host name and the interval. collectd passes host
 * name and interval in the environment of the programs that it starts; these programs must not
 * end. */
static void set_host(void)
{
	static struct utsname name;
	i64 step;
	bool collectd = HAS(collectd) &&
			opt.out.fmt == format_find((struct str)STR("collectd"));
	const char *host, *interval;

	opt.out.now = sys_now(CLOCK_REALTIME);
	opt.out.interval = opt.interval;
	if (HAS(timeline) && format_is_monotonic(opt.out.fmt))
		opt.out.run = run_number();
	if ((collectd || format_has_udp(opt.out.fmt)) && sys_uname(&name) == 0)
		opt.out.host = name.nodename;
	if (!collectd)
		return;
	host = getenv("COLLECTD_HOSTNAME");
	interval = getenv("COLLECTD_INTERVAL");
	if (host && host[0])
		opt.out.host = host;
	if (!interval || !parse_interval(str_z(interval), &step))
		return;
	opt.out.interval = step;
	if (may_repeat())
		opt.interval = step;
}

static const char *environment(const char *name)
{
	const char *v = getenv(name);

	return v ? v : "";
}

/* Stores the size of the terminal in opt.out if records are written to a terminal. Lines are then
 * cut to its width, and the header is repeated after each screenful. Other output has no width, and
 * no line is cut. */
static void set_terminal(void)
{
	const char *term = environment("TERM");
	struct str wide = str_z(environment("COLUMNS"));
	unsigned rows, cols;
	u64 wish;

	if (opt.output || opt.http || sys_window(1, &rows, &cols) < 0)
		return;
	opt.out.colour = term[0] && strcmp(term, "dumb") != 0 && !environment("NO_COLOR")[0];
	if (opt.out.one_line)
		return;
	if (scan_u64(wide, &wish) == wide.e && wish > 0)
		cols = wish < 4096 ? (unsigned)wish : 4095;
	/* A terminal on a serial line may report no size: 80 columns are assumed. */
	opt.out.width = (u16)(cols == 0 ? 80 : cols < 4096 ? cols : 4095);
	opt.out.height = (u16)(rows < 4096 ? rows : 4095);
}

static int run_cmd(void)
{
	int code = opt.cmd->run();
	bool unread;

	say_full();
	if (opt.out.lost && opt.cmd->with & (WITH_PERF | WITH_STREAM | WITH_FDINFO))
		say_number(opt.out.lost,
			   " series or columns were left out: gpustat's tables are full");
	if (tables_short && !opt.command_exit &&
	    (code == EX_USAGE || code == EX_NODEVICE || code == EX_DENIED))
		/* the device, event or counter may be missing only because a table was full */
		code = EX_FAIL;
	code = finish_run(code);
	say_implausible();
	if (is_check())
		return code;
	if (code == EX_OK && !opt.http && say_missing_devices() && !opt.command)
		code = EX_FAIL;
	/* The run has failed if the device or counter that was not found may be in a file that
	 * could not be read, or if RLIMIT_NOFILE prevented reading files. */
	unread = fileio.error && !opt.command && !(opt.cmd->with & WITH_DOCTOR) &&
		 (code == EX_USAGE || code == EX_NODEVICE ||
		  (fileio.unread && fileio.error == -EMFILE));
	if (unread || fileio.unread)
		say_unread_files();
	return unread ? EX_FAIL : code;
}

/* Replaces the exit() of libc, which would run handlers, though none are registered, and would link
 * stdio. */
_Noreturn void exit(int code)
{
	_exit(code);
}

int main(int argc, char **argv)
{
	int r;
	long limit;

	sys_fpu_double();
	open_closed_streams();
	output_begin();
	signals_begin();
	r = argc > 0 ? parse_args(cmds, LEN(cmds), argv) :
	    usage_z("no arguments and no program name");

	if (r >= 0)
		return r == EX_USAGE && is_check() ? check_unknown(last_message) : r;
	if (!drop_privileges())
		return EX_FAIL;
	set_terminal();
	set_host();
	if (opt.cmd->with & WITH_COMMAND)
		/* commands that start a program handle signals and raise limits themselves */
		return run_cmd();
	if (opt.cmd->with & (WITH_RECORDS | WITH_CAPTURE) && !(opt.cmd->with & WITH_STREAM) &&
	    (r = sink_open()) >= 0)
		return r;
	if ((limit = sys_raise_nofile(&(struct sys_limit){ 0 })) > 0)
		fileio.limit = limit;
	signals_handle();
	/* confine() enters the sandbox. The commands that are excluded here open more files first,
	 * and call confine() themselves. */
	if (opt.http ||
	    !(opt.oa.replay ||
	      opt.cmd->with & (WITH_CLOSED | WITH_NAMED | WITH_DOCTOR | WITH_CHECK)))
		confine(0);
	if (opt.http && (r = http_request()) >= 0)
		return r;
	r = run_cmd();
	profiling_restore();
	return opt.http ? http_end(r) : r;
}
