/* process.c - the child process that runs a command: its start and its end; waiting for signals and
 * for overflows of perf events. SPDX-License-Identifier: MIT */
#include "sources/os/os.h"
#include "gpustat/perf.h"
#include "sys.h"

/* signal that the kernel sends when a perf event overflows. It is a real-time signal: these are
 * queued, and each one carries the event's descriptor. */
enum { SIG_OVERFLOW = 40 };

/* signals that are blocked except while tasks_wait() waits */
static const int wait_signals[] = { SIGCHLD, SIG_OVERFLOW };
/* Values of task.child, the PID of the command's process, that are not PIDs. NO_CHILD_YET: no
 * process was started; ENDED: the process has ended; IN_CHILD: this is the child process itself,
 * before its exec. */
enum { NO_CHILD_YET = 0, ENDED = -1, IN_CHILD = INT32_MIN };
/* Indexes of the descriptors in gate[]: ends of the two pipes between this process and its
 * child. */
enum { CHILD_READS, PARENT_WRITES, PARENT_READS, CHILD_WRITES };
/* Two pipes between this process and its child: through the first, the parent lets the child
 * execute the command; through the second, the child reports why its exec failed. Pipes, because
 * every kernel has them: sockets need CONFIG_NET, an eventfd CONFIG_EVENTFD. CHILD_READS stays open
 * in the parent, because a write to a child that has died must not raise SIGPIPE. */
static int gate[4] = { -1, -1, -1, -1 };
/* true: what this process writes to its pipe in gate[] is read by the helper process
 * (forker_main()), not by the child */
bool child_forker;
/* Bytes that the parent writes to its pipe in gate[]. GO: execute the command. BEFORE, AFTER: run
 * the shell command that is set for before or after each run. NEXT: fork the next child. Other
 * values are numbers of signals to send. */
enum { GO = 0, BEFORE = 253, AFTER, NEXT };
/* Pipe to which the handler of stop signals writes a byte, so that a wait in poll(2) ends. */
static int wake[2] = { -1, -1 };
/* The read end of the pipe `wake`, which is polled together with other descriptors: a stop signal
 * that comes just before a wait makes it readable, which ends the wait. -1 if gpustat runs a
 * command. */
i32 tasks_wake = -1;

/* --- waits ------------------------------------------------------------------------------------ */

static long gate_send(u8 what)
{
	long r;

	while ((r = sys_write(gate[PARENT_WRITES], &what, 1)) == -EINTR)
		;
	return r;
}

static struct {
	/* signal mask when gpustat started; the command is executed with it */
	sigset_t command_mask;
	sigset_t wait_mask;    /* signal mask while tasks_wait() waits */
	/* true if SIGCHLD was ignored when gpustat started: the command is executed with SIGCHLD
	 * ignored */
	bool sigchld_ignored;
	volatile sig_atomic_t signalled, nsignals;
	/* shell commands that are run before and after each run of the command, or NULL */
	const char *before, *after;
	/* PID of the child process of the command, or NO_CHILD_YET, ENDED or IN_CHILD; -errno if it
	 * could not be started */
	i32 child;
	/* Descriptors of perf events that have overflowed, and that tasks_overflow() has not
	 * returned yet. */
	volatile i32 overflowed[64];
	volatile u32 noverflowed;
	/* limit on open descriptors before files_raise() raised it, for the command; all 0: it was
	 * not raised */
	struct sys_limit old_limit;
	struct rusage usage; /* resource usage of the child that child_ended() waited for */
} task;

/* Sends a signal to the command's process, directly or through the helper process. */
static void child_signal(int sig)
{
	if (task.child <= 0)
		return;
	if (child_forker) {
		gate_send((u8)sig);
		return;
	}
	sys_kill(task.child, sig);
	/* SIGCONT continues the process if it is stopped; otherwise it could not act on the
	 * signal. */
	sys_kill(task.child, SIGCONT);
}

/* Handler of the stop signals SIGINT, SIGTERM and SIGHUP. A signal that another process sent to
 * this one (si_code <= 0) is passed on to the command; a signal from the terminal has reached the
 * command already. The second stop signal restores the default actions, so that the third one ends
 * this process. */
static void on_stop(int sig, siginfo_t *info, void *context)
{
	(void)context;
	task.signalled = sig;
	if (task.child == IN_CHILD)
		_exit(128 + sig);
	writing.urgent = true;
	sys_write(wake[1], "", 1);
	if (++task.nsignals == 2)
		for (size_t i = 0; i < LEN(stop_signals); i++)
			sys_default(stop_signals[i]);
	if (info->si_code <= 0)
		child_signal(sig);
}

static void on_child(int sig)
{
	(void)sig; /* SIGCHLD needs no action: its arrival ends the wait in tasks_wait() */
}

static void on_overflow(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	if (task.noverflowed < LEN(task.overflowed))
		task.overflowed[task.noverflowed++] = info->si_fd;
}

/* Installs the signal handlers. command: true if gpustat runs a command. From then on SIGCHLD and
 * the signals of event overflows are delivered only in tasks_wait(), so that none is missed. Stop
 * signals that were ignored at the start (nohup) stay ignored in this process and in the
 * command. */
void tasks_catch(bool command)
{
	sys_block(wait_signals, LEN(wait_signals), &task.command_mask);
	task.wait_mask = task.command_mask;
	for (size_t i = 0; i < LEN(wait_signals); i++)
		sigdelset(&task.wait_mask, wait_signals[i]);
	if (command)
		task.sigchld_ignored = sys_signal_persistent(SIGCHLD, on_child);
	else
		sys_pipe(wake);
	tasks_wake = wake[0];
	for (size_t i = 0; i < LEN(stop_signals); i++)
		sys_signal_info(stop_signals[i], on_stop);
}

/* Waits until one of the n descriptors is ready, a signal comes, or the time `until` (ns,
 * CLOCK_MONOTONIC; negative: no limit). Returns the number of ready descriptors, or -errno. */
long tasks_wait(struct pollfd *fds, size_t n, i64 until)
{
	return sys_poll_until(fds, n, until, &task.wait_mask);
}

/* Returns the signal that ends the run, or 0. */
int tasks_signal(void)
{
	return task.signalled;
}

/* Returns the descriptor of a perf event that has overflowed, each overflow once; -1 if there is
 * none. */
i32 tasks_overflow(void)
{
	return task.noverflowed ? task.overflowed[--task.noverflowed] : -1;
}

/* Returns the time of the next sample in ns: start plus a multiple of step, not in the past. due:
 * the time at which the present sample was due. */
i64 next_due(i64 start, i64 due, i64 step)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	due += step;
	if (due < now + step / 2)
		/* skip samples that were due in the past or are due in less than half a step */
		due = start + (now - start + step + step / 2) / step * step;
	return due;
}

/* --- the command ------------------------------------------------------------------------------ */

void files_raise(void)
{
	sys_raise_nofile(&task.old_limit);
}

static void files_restore(void)
{
	if (task.old_limit.hard)
		sys_set_nofile(&task.old_limit);
}

static bool gate_report(i32 what)
{
	return write_all(gate[CHILD_WRITES], (const char *)&what, sizeof(what)) >= 0;
}

/* Reads the next byte from gate[end], the read end of a pipe between parent and child. False if the
 * write end is closed. */
static bool gate_read(int end, void *byte)
{
	long r;

	while ((r = sys_read(end, byte, 1)) == -EINTR)
		;
	return r == 1;
}

/* Sets the capabilities, limits and signal actions of a new child process to those with which the
 * command is executed. */
static void child_prepare(void)
{
	task.child = IN_CHILD;
	privilege_end();
	files_restore();
	if (task.sigchld_ignored)
		sys_signal_persistent(SIGCHLD, SIG_IGN);
}

/* Main function of the child process: executes the command once the parent allows it. A stop signal
 * that comes before the exec ends the child with exit status 128 + signal, because on_stop() is
 * still its handler. */
_Noreturn static void child_main(char **argv)
{
	u8 what;

	child_prepare();
	if (!gate_read(gate[CHILD_READS], &what))
		_exit(127);
	if (what == GO)
		gate_report((i32)sys_exec(argv, &task.command_mask));
	_exit(what == GO ? 127 : 128 + what);
}

/* Sends a signal to a process by its pidfd, or by its pid if the kernel has no pidfds (before 5.2)
 * or a container refuses them. */
static void signal_send(i32 pid, i32 pidfd, u8 sig)
{
	long r = sys_pidfd_signal(pidfd, sig);

	if (r < 0 && r != -ESRCH)
		sys_kill(pid, sig);
}

/* Runs a shell command in a new process and waits for its end. Returns 1 + its exit code, or
 * -errno. */
static i32 hook_run(const char *text)
{
	char shell[] = "sh", option[] = "-c", command[4096];
	char *argv[] = { shell, option, command, NULL };
	int status = 0;
	long pid = strlen(text) < sizeof(command) ? sys_fork(0, NULL) : -E2BIG, r;

	if (pid == 0) {
		memcpy(command, text, strlen(text) + 1);
		child_prepare();
		sys_exec(argv, &task.command_mask);
		_exit(127);
	}
	while ((r = pid < 0 ? pid : sys_wait_end((int)pid, &status)) == -EINTR)
		;
	return r < 0 ? (i32)r : 1 + (WIFSIGNALED(status) ? 128 + WTERMSIG(status) :
				     WEXITSTATUS(status));
}

/* Main function of the helper process of a repeated command. It forks the process of each
 * repetition, because the parent may have dropped the right to fork; with CLONE_PARENT these
 * processes are children of the parent. With CLONE_VFORK the helper continues when the child has
 * executed the command or has ended: until then the child, not the helper, reads what the parent
 * writes. The helper sends signals to the child's pidfd: once the parent has waited for the child,
 * another process may have its pid. */
_Noreturn static void forker_main(char **argv)
{
	i32 pid = 0, pidfd = -1;
	u8 what;

	privilege_end();
	while (gate_read(gate[CHILD_READS], &what)) {
		if (what == BEFORE || what == AFTER) {
			gate_report(hook_run(what == BEFORE ? task.before : task.after));
			continue;
		}
		if (what != NEXT) {
			if (pid > 0)
				signal_send(pid, pidfd, what);
			continue;
		}
		sys_close(pidfd); /* close the pidfd of the child of the previous repetition */
		pid = (i32)sys_fork(CLONE_PARENT | CLONE_VFORK | CLONE_PIDFD, &pidfd);
		if (!gate_report(pid > 0 ? 0 : pid < 0 ? pid : (i32)sys_pid()))
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

static void gate_close_all(void)
{
	for (size_t i = 0; i < LEN(gate); i++)
		gate_close(i);
}

/* Returns the next number that the child or the helper process writes to its pipe to this process;
 * 0 if there are no more. After an error, later numbers could not be assigned to a child: then the
 * pipe that the helper process reads is closed, which makes it exit. */
static i32 gate_receive(void)
{
	i32 what = 0;

	for (size_t i = 0; i < sizeof(what); i++)
		if (!gate_read(gate[PARENT_READS], (u8 *)&what + i)) {
			if (child_forker)
				gate_close(PARENT_WRITES);
			return 0;
		}
	return what;
}

/* Opens the two pipes between this process and a new child, and forks the child, which calls
 * run(argv). Returns its pid, or -errno. */
static long gate_open(void (*run)(char **), char **argv)
{
	long pid;

	gate_close_all();
	pid = sys_pipe(gate);
	if (pid >= 0)
		pid = sys_pipe(gate + PARENT_READS);
	if (pid >= 0)
		pid = sys_fork(0, NULL);
	if (pid == 0) {
		/* Close the child's copy of the write end of its pipe: when the parent ends, the
		 * child then reads the end of the file. */
		gate_close(PARENT_WRITES);
		run(argv);
	}
	if (pid < 0)
		gate_close_all();
	gate_close(CHILD_WRITES);
	return pid;
}

/* Sets the shell commands that child_hook() runs before and after each run of the command; NULL:
 * none. Starts the helper process, which executes them. */
void child_hooks(char **argv, const char *before, const char *after)
{
	task.before = before;
	task.after = after;
	child_forker = gate_open(forker_main, argv) > 0;
}

/* Runs the shell command that is set for before the command, or for after it, and waits for its
 * end. Returns its exit code, 0 if none is set, or -errno. */
int child_hook(bool after)
{
	i32 r = -EPIPE;

	if (!(after ? task.after : task.before))
		return 0;
	if (!child_forker)
		r = hook_run(after ? task.after : task.before);
	else if (gate_send(after ? AFTER : BEFORE) > 0)
		r = gate_receive();
	return r > 0 ? r - 1 : r < 0 ? r : -EPIPE;
}

/* Forks the process that will execute argv; it waits for child_release() or child_abort(). Returns
 * its pid, or -errno. repeats: true if the command will be started again: a helper process forks
 * it. If the helper cannot create children of this process, as under some emulators, this process
 * forks them itself. */
long child_start(char **argv, bool repeats)
{
	long pid = -EPIPE;
	i32 next;

	if (repeats && task.child == NO_CHILD_YET && !child_forker)
		child_forker = gate_open(forker_main, argv) > 0;
	if (child_forker && gate_send(NEXT) > 0 && (next = gate_receive()))
		pid = next;
	/* Only the first call may stop using the helper process: in later calls, this process may
	 * have no right to fork. */
	child_forker &= pid > 0 || task.child != NO_CHILD_YET;
	if (!child_forker)
		pid = gate_open(child_main, argv);
	return task.child = (i32)pid;
}

/* Makes the kernel send SIG_OVERFLOW to this process when the perf event with descriptor fd
 * overflows. */
void tasks_notify(i32 fd)
{
	sys_signal_info(SIG_OVERFLOW, on_overflow);
	sys_set_owner(fd, SIG_OVERFLOW, F_SETOWN, (long)sys_pid());
	sys_set_flags(fd, O_ASYNC, 0);
}

/* Lets the child execute its command. If a stop signal has come, ends the child with that signal
 * instead, because the signal may have come before there was a child to pass it on to. Returns 0,
 * or -errno if the command was not executed. A child that died earlier is reported by
 * child_ended(). */
long child_release(void)
{
	long r = gate_send((u8)task.signalled);

	if (r > 0 || r == -EPIPE)
		return 0;
	child_stop(true);
	child_abort();
	return r ? r : -EIO;
}

/* Makes the waiting child exit without executing its command. */
void child_abort(void)
{
	if (task.child > 0)
		gate_close(PARENT_WRITES);
}

/* Returns whether the child has ended. *status: its wait status, or -errno if its status is
 * unknown. */
bool child_ended(int *status)
{
	long r = 0;

	while (task.child > 0 && (r = sys_wait(task.child, status, &task.usage)) == -EINTR)
		;
	if (task.child <= 0 || r == 0)
		return false;
	if (r < 0) /* sys_wait() has failed: the child has ended, but its status is lost */
		*status = (int)r;
	task.child = ENDED;
	return true;
}

/* Like child_ended(), but also waits for all other children that have ended. For a subreaper, whose
 * children are also the processes that the command or its children left behind. */
bool children_ended(int *status)
{
	int other;
	long r;

	while ((r = sys_wait(-1, &other, NULL)) > 0 || r == -EINTR) {
		if (r != task.child)
			continue;
		*status = other;
		task.child = ENDED;
		return true;
	}
	return r < 0 && child_ended(status);
}

static u64 time_ns(struct timeval t)
{
	return (u64)t.tv_sec * 1000000000 + (u64)t.tv_usec * 1000;
}

/* Stores the CPU time in ns, in user mode and in the kernel, of the child that child_ended() waited
 * for, including that of its ended children. */
void child_times(u64 *user, u64 *system)
{
	*user = time_ns(task.usage.ru_utime);
	*system = time_ns(task.usage.ru_stime);
}

/* Ends the command with a signal: SIGKILL if at_once is true, else SIGTERM. */
void child_stop(bool at_once)
{
	child_signal(at_once ? SIGKILL : SIGTERM);
}

/* Returns 0 if the child, which must have ended, executed its command; else -errno of its exec. */
long child_failure(void)
{
	i32 err = 0, next;

	while ((next = gate_receive()))
		err = next;
	return err;
}
