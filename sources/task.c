/* task.c - whom to measure: a command that is started, processes and their threads that run already.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "gpustat/perf.h"
#include "sys.h"

enum { SIG_OVERFLOW = 40 }; /* a real-time signal: these queue, and each has its descriptor */

static const int heard[] = { SIGCHLD, SIG_OVERFLOW };    /* come only while we wait */
static sigset_t outside, waiting; /* the command's mask, as it was before us; that while we wait */
static bool ignores_children;                 /* whoever started us, and the command */
static volatile sig_atomic_t signalled, nsignals;
enum { NO_CHILD_YET = 0, ENDED = -1, OURSELVES = INT32_MIN /* in the child, up to its exec */ };
static i32 child;     /* its pid, one of these, or -errno: it could not be started */
enum { CHILD_HEARS, WE_SAY, WE_HEAR, CHILD_SAYS };
/* Two pipes: by one the child is told to go on to its exec, by the other it tells why that failed. Every kernel has pipes;
 * sockets need CONFIG_NET, an eventfd CONFIG_EVENTFD. CHILD_HEARS stays open here: a write to a child that died is no SIGPIPE. */
static int gate[4] = { -1, -1, -1, -1 };
bool child_again;     /* behind the gate stands again_main(), not the child */
enum { GO = 0 /* no signal */, NEXT = 255 }; /* what goes through it, beside signals */
static int wake[2] = { -1, -1 };
i32 tasks_wake = -1; /* its end to read: a signal that comes just before a wait ends that wait. With a command none does */

/* --- waiting --------------------------------------------------------------------------------------------- */

static long gate_send(u8 what)
{
	long r;

	while ((r = sys_write(gate[WE_SAY], &what, 1)) == -EINTR)
		;
	return r;
}

static void child_signal(int sig)
{
	if (child <= 0)
		return;
	if (child_again)
		gate_send((u8)sig);
	else
		sys_kill(child, sig);
}

/* A signal to us alone is for the command too; a terminal's has reached it already. The third one finds us stuck. */
static void on_stop(int sig, siginfo_t *info, void *context)
{
	(void)context;
	signalled = sig;
	if (child == OURSELVES)
		_exit(128 + sig);
	write_hurries = true;
	sys_write(wake[1], "", 1);
	if (++nsignals == 2)
		for (size_t i = 0; i < LEN(stop_signals); i++)
			sys_default(stop_signals[i]);
	if (info->si_code <= 0)
		child_signal(sig);
}

static void on_child(int sig)
{
	(void)sig; /* that it came has ended the wait */
}

/* Descriptors of the events that overflowed since they were asked for. */
static volatile i32 overflowed[64];
static volatile u32 noverflowed;

static void on_overflow(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (noverflowed < LEN(overflowed))
		overflowed[noverflowed++] = info->si_fd;
}

/* From here on the command's end and overflows are heard only while tasks_wait() waits, so that none is missed. What is
 * ignored stays so, for us and for the command: nohup. */
void tasks_hear(bool command)
{
	sys_block(heard, LEN(heard), &outside);
	waiting = outside;
	for (size_t i = 0; i < LEN(heard); i++)
		sigdelset(&waiting, heard[i]);
	if (command)
		ignores_children = sys_signal_stays(SIGCHLD, on_child);
	else
		sys_pipe(wake);
	tasks_wake = wake[0];
	for (size_t i = 0; i < LEN(stop_signals); i++)
		sys_signal_info(stop_signals[i], on_stop);
}

long tasks_wait(struct pollfd *fds, size_t n, i64 until)
{
	return sys_poll_until(fds, n, until, &waiting);
}

/* The signal that asks to end, or 0. */
int tasks_signal(void)
{
	return signalled;
}

/* An event that has overflowed since it was asked for last, or -1. */
i32 tasks_overflow(void)
{
	return noverflowed ? overflowed[--noverflowed] : -1;
}

/* When the next sample is due: a multiple of step behind start that has not passed. */
i64 next_due(i64 start, i64 due, i64 step)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	due += step;
	if (due < now + step / 2)
		due = start + (now - start + step + step / 2) / step * step; /* no sample over less than half a step */
	return due;
}

/* --- the command ----------------------------------------------------------------------------------------- */

static bool gate_say(i32 what)
{
	return write_all(gate[CHILD_SAYS], (const char *)&what, sizeof(what)) >= 0;
}

/* The next byte. False: nobody is there any more. */
static bool gate_wait(int end, void *byte)
{
	long r;

	while ((r = sys_read(end, byte, 1)) == -EINTR)
		;
	return r == 1;
}

/* What was said next; 0: nothing. */
static i32 gate_hear(void)
{
	i32 what = 0;

	for (size_t i = 0; i < sizeof(what); i++)
		if (!gate_wait(gate[WE_HEAR], (u8 *)&what + i))
			return 0;
	return what;
}

/* A signal before the exec ends us as if it had ended the command: on_stop() is ours up to there. */
_Noreturn static void child_main(char **argv)
{
	u8 what;

	child = OURSELVES;
	privilege_end();
	perf_limits_back();
	if (ignores_children)
		sys_signal_stays(SIGCHLD, SIG_IGN);
	if (!gate_wait(gate[CHILD_HEARS], &what))
		_exit(127);
	if (what == GO)
		gate_say((i32)sys_exec(argv, &outside));
	_exit(what == GO ? 127 : 128 + what);
}

/* Where the kernel has no pidfds (before 5.2), or a container refuses them, to the pid. */
static void signal_to(i32 pid, i32 pidfd, u8 sig)
{
	long r = sys_pidfd_signal(pidfd, sig);

	if (r < 0 && r != -ESRCH)
		sys_kill(pid, sig);
}

/* Of a command that is repeated: forks its processes in our stead, once we may not any more. They are our children all the
 * same (CLONE_PARENT). It goes on when one has run its command or has ended (CLONE_VFORK): until then the child, not this
 * process, reads the gate. By then it may have been waited for, and its pid be another's: signals go to its pidfd. */
_Noreturn static void again_main(char **argv)
{
	i32 pid = 0, pidfd = -1;
	u8 what;

	privilege_end();
	while (gate_wait(gate[CHILD_HEARS], &what)) {
		if (what != NEXT) {
			if (pid > 0)
				signal_to(pid, pidfd, what);
			continue;
		}
		sys_close(pidfd); /* of the run before */
		pid = (i32)sys_fork(CLONE_PARENT | CLONE_VFORK | CLONE_PIDFD, &pidfd);
		if (!gate_say(pid > 0 ? 0 : pid < 0 ? pid : (i32)sys_pid()))
			break;
		if (pid == 0)
			child_main(argv);
	}
	_exit(127);
}

static void gate_close(size_t end)
{
	if (gate[end] >= 0)
		sys_close(gate[end]);
	gate[end] = -1;
}

/* Forks who runs that, behind a gate of its own. Its pid, or -errno. */
static long gate_open(void (*run)(char **), char **argv)
{
	long pid;

	for (size_t i = 0; i < LEN(gate); i++)
		gate_close(i);
	pid = sys_pipe(gate);
	if (pid >= 0)
		pid = sys_pipe(gate + WE_HEAR);
	if (pid >= 0)
		pid = sys_fork(0, NULL);
	if (pid == 0) {
		gate_close(WE_SAY); /* that we are gone is then heard, too */
		run(argv);
	}
	gate_close(CHILD_SAYS);
	return pid;
}

/* Forks argv's process, which waits before its exec. Its pid, or -errno. repeats: there are to be more of it. Where no other
 * process may give us children, such as below some emulators, we fork them. */
long child_start(char **argv, bool repeats)
{
	long pid = -EPIPE;
	i32 next;

	if (repeats && child == NO_CHILD_YET)
		child_again = gate_open(again_main, argv) > 0;
	if (child_again && gate_send(NEXT) > 0 && (next = gate_hear()))
		pid = next;
	child_again &= pid > 0 || child != NO_CHILD_YET; /* later we may fork no more */
	if (!child_again)
		pid = gate_open(child_main, argv);
	return child = (i32)pid;
}

/* Has the kernel tell us when an event overflows. */
void tasks_notify(i32 fd)
{
	sys_signal_info(SIG_OVERFLOW, on_overflow);
	sys_owner(fd, SIG_OVERFLOW, F_SETOWN, (long)sys_pid());
	sys_flags(fd, O_ASYNC, 0);
}

/* Lets it run its command, unless a signal came, which may have been before there was somebody to pass it on to. 0, or -errno:
 * its command was not run. A child that died before tells that by its end. */
long child_go(void)
{
	long r = gate_send((u8)signalled);

	if (r >= 0 || r == -EPIPE)
		return 0;
	child_stop(true);
	child_abort();
	return r;
}

/* Its command is not to be run after all. */
void child_abort(void)
{
	if (child > 0)
		gate_close(WE_SAY);
}

/* Its wait status; negative, an errno: what it ended with cannot be told. */
bool child_ended(int *status)
{
	long r = 0;

	while (child > 0 && (r = sys_wait(child, status)) == -EINTR)
		;
	if (child <= 0 || r == 0)
		return false;
	if (r < 0) /* it is nobody's to wait for */
		*status = (int)r;
	child = ENDED;
	return true;
}

void child_stop(bool at_once)
{
	child_signal(at_once ? SIGKILL : SIGTERM);
}

/* Of a child that has ended: 0 where it ran its command, else -errno of the exec. */
long child_failure(void)
{
	i32 err = 0, next;

	while ((next = gate_hear()))
		err = next;
	return err;
}

/* --- tasks --------------------------------------------------------------------------------------------------- */

static struct member *members;
static TABLE(members, 16384, 512, "tasks to measure"); /* threads of large servers */

static bool target_add(struct target *t, u32 tid, u32 pid)
{
	if (!table_has(&members_table, t->ntasks)) {
		reg_dropped++;
		return false;
	}
	t->tasks = members;
	members[t->ntasks++] = (struct member){ tid, pid };
	return true;
}

/* The process of a thread; itself, where that cannot be told. */
static u32 process_of(u32 tid)
{
	static const struct str key = STR("Tgid:");
	char path[TASK_PATH], text[1024];
	struct str rest, line;
	long n;
	u64 v;

	task_path(path, tid, "/status");
	n = slurp(root_proc, path, text, sizeof(text));
	rest = str_got(text, n);
	while (line_next(&rest, &line))
		if (str_skip(&line, key) && scan_u64(str_trim(line), &v))
			return (u32)v;
	return tid;
}

/* A thread's name, as text; NONE where it is gone. */
u32 task_comm(u32 tid)
{
	char path[TASK_PATH], name[32];
	struct str line;

	task_path(path, tid, "/comm");
	return slurp_line(root_proc, path, name, sizeof(name), &line) ? text_put(NONE, line) : NONE;
}

bool target_thread(struct target *t, u32 tid)
{
	return sys_kill((int)tid, 0) != -ESRCH && target_add(t, tid, process_of(tid));
}

/* All threads of a process. False: there is none. */
bool target_process(struct target *t, u32 pid)
{
	char path[TASK_PATH];
	const char *name;
	struct dir d;
	bool any = false;
	u64 tid;
	u8 was;

	task_path(path, pid, "/task");
	was = privilege_raise(MAY_LOOK); /* hidepid */
	dir_open(&d, root_proc, path);
	privilege_lower(was);
	if (d.fd < 0)
		return false;
	while ((name = dir_next(&d))) {
		if (!scan_u64(str_z(name), &tid))
			continue;
		any = true;
		if (!target_add(t, (u32)tid, pid))
			break;
	}
	dir_close(&d);
	return any;
}

/* Whether none of them runs any more. What is dead and waits for its parent has no threads to count. */
bool target_ended(const struct target *t)
{
	for (u32 i = 0; i < t->ntasks; i++)
		if (sys_kill((int)t->tasks[i].tid, 0) != -ESRCH)
			return false;
	return t->ntasks != 0;
}
