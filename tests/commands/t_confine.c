/* t_confine.c - unit test of commands/shared/confine.c: the privileges and the system calls that each
 * kind of run keeps. The sandbox is simulated. SPDX-License-Identifier: MIT */
#include "child.h"
#include "sys.h"

#define privilege_begin(may, here, starts) fake_begin(may, here, starts)
#define privilege_keep(may) (kept = (u8)(may))
#define privilege_drop(may, others) (dropped = (u8)((may) & ~(others)), dropped_at = entered)
#define privilege_has(may) (readable && (may) == MAY_READ)
static long fake_begin(u8 m, u8 h, bool s);
static u8 may_have, may_here, kept, dropped;
static u32 dropped_at, entered;
static bool starts, readable;
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/confine.c"
#include "said.h"

enum { ALL = MAY_READ | MAY_PTRACE | MAY_PERF };

static const struct cmd live = { .with = WITH_LIVE, .privileges = ALL,
				 .calls = CALLS_FILES | CALLS_WATCH },
			plain = { .with = WITH_FDINFO, .calls = CALLS_FILES },
			oa = { .with = WITH_OA, .calls = CALLS_FILES | CALLS_DRM },
			look = { .with = WITH_LIVE, .privileges = ALL | MAY_BPF, .calls = CALLS_FILES | CALLS_WATCH },
			doctor = { .with = WITH_DOCTOR, .privileges = ALL | MAY_BPF, .calls = CALLS_FILES | CALLS_WATCH },
			munin = { .with = WITH_MUNIN, .privileges = MAY_READ },
			named = { .with = WITH_COUNTERS, .calls = CALLS_FILES };
struct opts opt = { .cmd = &live };
struct sandbox sandbox;

static u32 closed, admitted, folders;
static u16 given_groups;
static bool list, gathers;
static i32 folder = -1, folder_given, requests;
static long begin_result;

void sandbox_enter(u16 calls, i32 child) { entered++; given_groups = calls; folders += child == 9; }
void sandbox_begin_files(void) { closed++; }
void sandbox_folder(i32 fd, bool write) { folder_given = write ? fd : -2; }
bool sandbox_ioctl(i32 fd, u32 request) { requests += fd == 5 && request == VCIO_REQUEST; return true; }
void nvidia_admit(void) { admitted++; }
i32 vcio_fd(void) { return 5; }
i32 sink_folder(void) { return folder; }
bool sink_gathers(void) { return gathers; }
bool is_oa_list_or_pack(void) { return list; }

static struct iterator_state iterator;
static u32 loads, loaded_at;
static bool load_always, load_no_node;
const struct iterator_state *iterator_state(void) { return &iterator; }
void iterator_load(bool always, bool no_node)
{
	loads++;
	loaded_at = entered;
	load_always = always;
	load_no_node = no_node;
}

static long fake_begin(u8 m, u8 h, bool s)
{
	may_have = m;
	may_here = h;
	starts = s;
	return begin_result;
}

static void t_privileges(void)
{
	check(drop_privileges() && may_have == ALL && may_here == (MAY_READ | ALL) && !starts,
	      "privileges: those of the command, and those to read named files");
	opt.output = "file";
	check(drop_privileges() && may_here == (MAY_READ | MAY_WRITE | ALL),
	      "privileges: -O keeps the one to write a file");
	opt.output = NULL;
	opt.proc = "p";
	check(drop_privileges() && may_have == 0 && may_here == (MAY_READ | ALL),
	      "privileges: --proc does not keep those of the command");
	opt.proc = NULL;
	opt.oa.replay = "r";
	check(drop_privileges() && may_have == 0 && may_here == MAY_READ,
	      "privileges: a recording keeps only the one to read it");
	opt.oa.replay = NULL;
	list = true;
	check(drop_privileges() && may_have == 0, "privileges: oa list keeps none of the command");
	list = false;
	opt.cmd = &munin;
	check(drop_privileges() && may_here == (MAY_READ | MAY_WRITE),
	      "privileges: munin keeps the one to write its state file");
	opt.command = (char *[]){ NULL };
	check(drop_privileges() && starts, "privileges: those to start a command are kept");
	begin_result = -EPERM;
	check(!drop_privileges() && is_said("capabilities: "),
	      "privileges: an error is reported, and the run ends");
	opt.command = NULL;
	opt.cmd = &live;
}

static void t_keep(void)
{
	keep_privileges(MAY_PERF);
	check(kept == MAY_PERF, "keep_privileges(): those of the caller are kept");
	opt.output = "file";
	keep_privileges(0);
	check(kept == 0, "keep_privileges(): an open output file needs none");
	gathers = true;
	keep_privileges(0);
	check(kept == MAY_WRITE,
	      "keep_privileges(): an output file that is replaced needs the one to write");
	opt.output = NULL;
	opt.command = (char *[]){ NULL };
	keep_privileges(0);
	check(kept == MAY_KILL, "keep_privileges(): a started command needs the one to stop it");
	opt.command = NULL;
}

static void t_files(void)
{
	folder = 7;
	close_files();
	check(closed == 1 && folder_given == 7,
	      "close_files(): the folder of an output file that is replaced stays writable");
	opt.no_sandbox = true;
	close_files();
	check(closed == 1, "close_files(): --no-sandbox changes nothing");
	opt.no_sandbox = false;
	folder = -1;
}

/* confine() works once in a process, so each row runs in a child process. */
static const struct row {
	const struct cmd *cmd;
	const char *what, *state;
	u16 given_groups;
	i32 folder;
	bool http, profiling, replay, words, readable;
} rows[] = {
	{ &plain, "files", NULL, CALLS_FILES, -1, false, false, false, false, false },
	{ &live, "without the right to read", NULL, CALLS_FILES | CALLS_WATCH | CALLS_GETFD, -1, false,
	  false, false, false, false },
	{ &live, "with it", NULL, CALLS_FILES | CALLS_WATCH, -1, false, false, false, false, true },
	{ &live, "a recorded run", NULL, CALLS_FILES, -1, false, false, true, false, true },
	{ &plain, "--state", "s", CALLS_FILES | CALLS_REPLACE, -1, false, false, false, false, true },
	{ &plain, "a file that is replaced", NULL, CALLS_FILES | CALLS_REPLACE, 7, false, false, false,
	  false, true },
	{ &plain, "--enable-profiling", NULL, CALLS_FILES | CALLS_WRITE, -1, false, true, false, false,
	  true },
	{ &oa, "oa", NULL, CALLS_FILES | CALLS_DRM, -1, false, false, false, false, true },
	{ &oa, "oa pack", NULL, CALLS_FILES | CALLS_DRM | CALLS_WRITE, -1, false, false, false, true,
	  true },
	{ &plain, "--http", NULL, CALLS_FILES | CALLS_NET, -1, true, false, false, false, true },
	{ &named, "--http of counters", NULL,
	  CALLS_FILES | CALLS_NET | CALLS_OPEN_PERF | CALLS_WRITE, -1, true, false, false, false, true },
};
static const struct row *row;

static int confine_row(void)
{
	opt.cmd = row->cmd;
	opt.state = row->state;
	opt.http = row->http;
	opt.profiling = row->profiling;
	opt.oa.replay = row->replay ? "r" : NULL;
	opt.nwords = row->words;
	folder = row->folder;
	readable = row->readable;
	confine(9);
	confine(9);
	return entered == 1 && folders == 1 && given_groups == row->given_groups &&
	       requests == !!(given_groups & CALLS_WATCH) && admitted == !!(row->cmd->calls & CALLS_WATCH);
}

/* Makes a single full scan with these options. Returns how often the iterator was loaded, and
 * checks that this happened before the filter. */
static int confine_look(void)
{
	confine(0);
	return loaded_at || dropped_at || dropped != MAY_BPF ? 9 : (int)loads + 2 * load_always + 4 * load_no_node;
}

static void t_iterator(void)
{
	opt.cmd = &look;
	check(child_run(confine_look)->code == 1,
	      "iterator: a single full scan loads it, and drops the capability to load it");
	opt.sys = "s";
	check(child_run(confine_look)->code == 5,
	      "iterator: with --sys it is loaded, whatever nodes there are");
	opt.sys = NULL;
	opt.cmd = &doctor;
	check(child_run(confine_look)->code == 7,
	      "iterator: doctor loads it, however many processes there are");
	opt.cmd = &look;
	opt.no_sandbox = true;
	check(child_run(confine_look)->code == 1, "iterator: --no-sandbox loads it");
	opt.no_sandbox = false;
	opt.interval = 1;
	check(child_run(confine_look)->code == 0,
	      "iterator: a run of several samples does not load it");
	opt.interval = 0;
	opt.on_stdin = true;
	check(child_run(confine_look)->code == 0, "iterator: --on-stdin does not load it");
	opt.on_stdin = false;
	opt.proc = "p";
	check(child_run(confine_look)->code == 0, "iterator: --proc does not load it");
	opt.proc = NULL;
}

static void t_iterator_said(void)
{
	opt.cmd = &look;
	say_iterator();
	check(is_said("descriptors: the kernel's iterator\n"), "-v: the iterator is used");
	iterator = (struct iterator_state){ .reason = "few" };
	say_iterator();
	check(is_said("descriptors: a scan of /proc: few\n"), "-v: the iterator is not used");
	iterator = (struct iterator_state){ .reason = "bpf", .error = -EPERM };
	say_iterator();
	check(is_said("descriptors: a scan of /proc: bpf: error\n"),
	      "-v: the kernel refuses the iterator");
}

int main(void)
{
	t_privileges();
	t_keep();
	t_files();
	for (size_t i = 0; i < LEN(rows); i++) {
		row = &rows[i];
		check(child_run(confine_row)->code == 1, "system calls of %s", row->what);
	}
	opt.cmd = &live;
	t_iterator();
	t_iterator_said();
	opt.cmd = &live;
	opt.no_sandbox = true;
	confine(0);
	check(entered == 0, "confine(): --no-sandbox enters no sandbox");
	opt.no_sandbox = false;
	opt.verbose = true;
	sandbox = (struct sandbox){ -EINVAL, -ECANCELED };
	confine(0);
	check(entered == 1 && is_said("the system call filter is off: error\n"),
	      "confine() with -v: a missing filter is reported");
	return unit_end();
}
