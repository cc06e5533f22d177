/* t_perfrun.c - unit test of commands/shared/perfrun.c: lists of events with filters, what is counted,
 * descriptors of --control. Events and tasks are simulated. SPDX-License-Identifier: MIT */
#include "folder.h"
#include "sys.h"
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/perfrun.c"
#include "said.h"

struct opts opt;
struct events_given events_given;
bool (*virtual_filter)(u32 device, u32 place);
static u32 lists, suggested, processes, threads, machines;
static bool cgroups_there = true;
bool device_wanted(u32 device, u32 place) { return device && place; }
void events_suggest(struct buf *b) { suggested++; put_z(b, "; did you mean x?"); }
bool target_process(struct target *t, u32 pid) { processes++; return t->whole && pid != 99; }
bool target_machine(struct target *t) { machines++; return t->whole; }
bool target_thread(struct target *t, u32 pid) { threads++; return !t->whole && pid != 99; }
int command_code(long failure, int status) { return failure ? 127 : status; }

bool perf_cgroups(const struct target *t, const char **missing)
{
	(void)t;
	*missing = "group";
	return cgroups_there;
}

bool split(struct str list, struct str *to, size_t max, size_t *n)
{
	struct str piece;

	while (str_cut(&list, ',', &piece)) {
		if (*n == max)
			return false;
		to[(*n)++] = piece;
	}
	return true;
}

/* Adds an event for each letter: 't' is a tracepoint, 's' and 'h' are software events; others are
 * unknown. */
bool events_add(struct str list, u16 set, struct buf *why)
{
	lists += 1 + set;
	for (; list.p < list.e; list.p++) {
		u32 n = ++nrows.events;

		if (!table_has(&events_table, n) || !strchr("tsh", *list.p)) {
			put_z(why, "unknown event");
			return false;
		}
		events[n] = (struct event){ .type = *list.p == 't' ? PT_TRACEPOINT : PT_SOFTWARE };
	}
	return true;
}

/* --- events ----------------------------------------------------------------------------------- */

static void t_lists(void)
{
	opt.events[0] = LIT("h");
	opt.events[1] = LIT("tt");
	opt.filters[1] = LIT("pid==1");
	opt.nevents = 2;
	check(add_lists() && lists == 2 && nrows.events == 3,
	      "-e twice: the events of both lists are added");
	check(events[1].filter == NONE && text_eq(events[2].filter, LIT("pid==1")) &&
	      text_eq(events[3].filter, LIT("pid==1")), "--filter applies to the -e before it");
	opt.events[0] = LIT("ts");
	opt.filters[0] = LIT("x");
	check(!add_lists() && is_said("--filter requires only tracepoints in the -e before it\n"),
	      "--filter after events that are not tracepoints: an error");
	opt.filters[0] = (struct str){ 0 };
	opt.events[0] = LIT("?");
	opt.ndevices = 1;
	check(!add_lists() && suggested == 1 && is_said("unknown event; did you mean x?\n"),
	      "-e with an unknown event: the message suggests a name");
	check(virtual_filter == device_wanted, "-d selects the devices of events");
	opt.events[0] = LIT("h");
	opt.nevents = 1;
}

static void t_file(void)
{
	static char large[70000];

	check(read_events_file() && events_given.aliases.p && !str_len(events_given.aliases),
	      "without --pmu-file there are no aliases");
	opt.pmu_file = in_folder("events");
	check(!read_events_file() && is_said("/events: error\n"),
	      "--pmu-file: the file does not exist");
	put(opt.pmu_file, "name cycles\n");
	check(read_events_file(), "--pmu-file: the file is read");
	check_str(events_given.aliases, "name cycles\n",
		  "--pmu-file: the text of the file has the aliases");
	put_file(opt.pmu_file, large, (64 << 10) - 1);
	check(read_events_file() && str_len(events_given.aliases) == (64 << 10) - 1,
	      "--pmu-file: 65535 bytes are read");
	put_file(opt.pmu_file, large, 64 << 10);
	check(!read_events_file() && is_said("/events: error\n"),
	      "--pmu-file: 65536 bytes are too many");
	events_given.aliases = (struct str){ 0 };
	check(!add_lists() && is_said("/events: error\n"),
	      "--pmu-file is read before the first -e");
	opt.pmu_file = NULL;
}

static void t_program(void)
{
	static char name[] = "there", path[] = "./a/there", none[] = "nosuch";
	char *words[] = { name, NULL }, found[PATH_MAX], was[PATH_MAX];

	put(in_folder("bin/there"), "");
	str_copy(was, sizeof(was), str_z(getenv("PATH")));
	setenv("PATH", in_folder("none"), 1);
	check(!command_file(name, found), "command_file: the command is not in PATH");
	setenv("PATH", in_folder("bin"), 1);
	check(!command_file(name, found), "command_file: the file in PATH is not executable");
	chmod(in_folder("bin/there"), 0755);
	check(command_file(name, found) && !strcmp(found, in_folder("bin/there")),
	      "command_file: the path of a command in PATH");
	check(!command_file(none, found) && command_file(path, found) == path,
	      "command_file: a name with a slash is a path");
	opt.command = words;
	check(add_events(LIT("h"), 0) && events_given.file && !events_given.pid,
	      "events can name symbols of the command");
	opt.command = NULL;
	opt.pids[0] = 7;
	opt.npids = 1;
	check(add_events(LIT("h"), 0) && !events_given.file && events_given.pid == 7,
	      "events can name symbols of the process of -p");
	opt.npids = 0;
	setenv("PATH", was, 1);
}

/* --- targets ---------------------------------------------------------------------------------- */

static void t_targets(void)
{
	static char name[] = "x";
	struct target t = { 0 };

	check(find_target(&t) == -1 && t.all, "no command, task or cgroup: the target is all CPUs");
	opt.command = (char *[]){ NULL };
	check(find_target(&t) == EX_USAGE && is_said("no command after --"),
	      "no command after --: a usage error");
	t = (struct target){ 0 };
	opt.command = (char *[]){ name, NULL };
	check(find_target(&t) == -1 && !t.all, "a command: only its tasks are counted");
	t.has_cpus = true;
	check(find_target(&t) == -1 && t.all,
	      "a command and -C: all tasks of these CPUs are counted");
	opt.command = NULL;
	t = (struct target){ .ncgroups = 1 };
	check(find_target(&t) == -1 && !t.all, "-G: only tasks of the cgroup are counted");
	t.split = SPLIT_NODE;
	check(find_target(&t) == -1, "-G with --per-node is accepted");
	opt.command = (char *[]){ name, NULL };
	t = (struct target){ .split = SPLIT_CORE };
	check(find_target(&t) == EX_USAGE && is_said("require -a or -C"),
	      "--per-core with a command requires -a or -C");
	t.has_cpus = true;
	check(find_target(&t) == -1, "--per-core with -C is accepted");
	opt.command = NULL;
	cgroups_there = false;
	check(find_target(&t) == EX_FAIL && is_said("no such cgroup: group\n"),
	      "-G: the cgroup does not exist");
	cgroups_there = true;
	opt.pids[0] = opt.pids[2] = 7;
	opt.pids[1] = 8;
	opt.npids = 3;
	t = (struct target){ .whole = true };
	check(find_target(&t) == -1 && !t.all && processes == 2,
	      "-p 7,8,7: each process is added once");
	t.threads = true;
	check(find_target(&t) == EX_USAGE && is_said("-a, -p and -t exclude each other"),
	      "-p and -t exclude each other");
	t = (struct target){ .all = true };
	check(find_target(&t) == EX_USAGE && is_said("-a, -p and -t"),
	      "-a and -p exclude each other");
	t = (struct target){ .threads = true };
	check(find_target(&t) == -1 && threads == 2, "-t 7,8,7: each thread is added once");
	opt.pids[1] = 99;
	check(find_target(&t) == EX_FAIL && is_said("no thread has the TID 99\n"),
	      "-t: the thread does not exist");
	t = (struct target){ .whole = true };
	roots.proc = 0;
	check(find_target(&t) == EX_FAIL && is_said("no process has the PID 99\n"),
	      "-p: the process does not exist");
	roots.proc = -1;
	check(find_target(&t) == EX_FAIL && is_said("/proc is required to find the threads of process 99\n"),
	      "-p without /proc: the message has the reason");
	opt.npids = 0;
	t = (struct target){ .split = SPLIT_THREAD, .whole = true };
	check(find_target(&t) == -1 && !t.all && machines == 1,
	      "--per-thread: all threads of the machine are added");
	t = (struct target){ .split = SPLIT_THREAD };
	check(find_target(&t) == EX_FAIL && is_said("--per-thread requires /proc"),
	      "--per-thread requires /proc");
}

/* --- control ---------------------------------------------------------------------------------- */

static int control(const char *how, struct measure *m)
{
	*m = (struct measure){ .control = -1, .ack = -1 };
	opt.control = how;
	return open_control(m);
}

static void t_control(void)
{
	static const char *const wrong[] = { "", "fd", "fd:", "file:x", "fd:0,1,2", "fifo:" };
	struct measure m;
	char name[300];

	check(control(NULL, &m) == -1 && m.control == -1,
	      "without --control there is no descriptor");
	for (size_t i = 0; i < LEN(wrong); i++)
		check(control(wrong[i], &m) == EX_USAGE && is_said("' for --control: use fd:N[,M] or fifo:PATH[,ACK]"),
		      "--control '%s' is refused", wrong[i]);
	check(control("fd:0", &m) == -1 && m.control == 0 && m.ack == -1,
	      "--control fd:N: one descriptor");
	check(control("fd:0,1", &m) == -1 && m.control == 0 && m.ack == 1,
	      "--control fd:N,M: two descriptors");
	check(control("fd:999", &m) == EX_FAIL && is_said("999: error\n"),
	      "--control fd:999: the descriptor is not open");
	check(control("fd:1x", &m) == EX_FAIL && is_said("1x: error\n"),
	      "--control fd:1x: not a number");
	check(control("fd:4294967296", &m) == EX_FAIL && is_said("4294967296: error\n"),
	      "--control fd:4294967296: the number is too large");
	snprintf(name, sizeof(name), "fifo:%s", in_folder("fifo"));
	check(control(name, &m) == EX_FAIL && is_said("/fifo: error\n"),
	      "--control fifo:PATH: the FIFO does not exist");
	mkfifo(in_folder("fifo"), 0600);
	check(control(name, &m) == -1 && m.control > 2, "--control fifo:PATH: the FIFO is opened");
	close(m.control);
}

static void t_result(void)
{
	struct measure m = { .status = 3 };

	check(command_result(&m, EX_FAIL) == EX_FAIL,
	      "exit code without a command: that of the measurement");
	m.argv = (char *[]){ NULL };
	check(command_result(&m, EX_FAIL) == 3,
	      "exit code with a command that failed: that of the command");
	m.status = 0;
	check(command_result(&m, EX_FAIL) == EX_FAIL,
	      "exit code with a command that succeeded: that of the measurement");
	m.failure = -ENOENT;
	check(command_result(&m, EX_OK) == 127,
	      "exit code if the command could not be started: 127");
}

int main(void)
{
	folder_begin("perfrun");
	t_lists();
	t_file();
	t_program();
	t_targets();
	t_control();
	t_result();
	say_user_only();
	check(is_said("only user space is counted, because of kernel.perf_event_paranoid"),
	      "a message tells that only user space is counted");
	shell("rm -rf \"$D\"");
	return unit_end();
}
