/* process.c - the child process that runs a command: its start and its end; waiting for signals and
 * for overflows of perf events. SPDX-License-Identifier: MIT */
#include "sources/os/os.h"
#include "gpustat/perf.h"
#include "sys.h"

/* Signal that the kernel sends when a perf event overflows. Real-time signals such as this one are
 * queued, and each carries the descriptor of the event. */
enum { SIG_OVERFLOW = 40 };

/* signals that are blocked except while tasks_wait() waits */
static const int wait_signals[] = { SIGCHLD, SIG_OVERFLOW };
/* Values of task.child that are not PIDs. NO_CHILD_YET: the command was not started yet; ENDED: the
 * process of the command has ended; IN_CHILD: this is the child process itself, before its exec. */
enum { NO_CHILD_YET = 0, ENDED = -1, IN_CHILD = INT32_MIN };
/* Indexes of the descriptors in gate[]: ends of the two pipes between this process and its
 * child. */
enum { CHILD_READS, PARENT_WRITES, PARENT_READS, CHILD_WRITES };
/* Two pipes between this process and its child. Through the first one, the parent lets the child
 * execute the command; through the second one, the child reports why its exec failed. Sockets or an
 * eventfd are not used, because some kernels lack them (CONFIG_NET, CONFIG_EVENTFD). The parent
 * keeps CHILD_READS open, because otherwise writing to a child that has died would raise
 * SIGPIPE. */
static int gate[4] = { -1, -1, -1, -1 };
/* true if the helper process (forker_main()), and not the child, reads what this process writes to
 * its pipe in gate[] */
bool child_forker;
/* Bytes that the parent writes to the first pipe in gate[]. GO: execute the command. BEFORE, AFTER:
 * run the shell command task.before or task.after. NEXT: fork the process of the next repetition.
 * All other values are numbers of signals to send. */
enum { GO = 0, BEFORE = 253, AFTER, NEXT };
/* Pipe that ends a wait in poll(2): the handler of stop signals writes a byte to it. */
static int wake[2] = { -1, -1 };
/* Read end of the pipe `wake`, to be polled together with other descriptors: it is readable after a
 * stop signal, even after one that came just before the wait. -1 if gpustat runs a command, or
 * before tasks_catch(). */
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
	/* before, after: shell commands that are run before and after each run of the command;
	 * NULL: none */
	const char *before, *after;
	/* PID of the child process of the command, or NO_CHILD_YET, ENDED or IN_CHILD; -errno if it
	 * could not be started */
	i32 child;
	/* Descriptors of perf events that have overflowed; tasks_overflow() removes and returns
	 * them one by one. */
	volatile i32 overflowed[64];
	volatile u32 noverflowed;
	/* limit on open descriptors that files_raise() has replaced, to be restored for the
	 * command; all 0: the limit was not raised */
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
	/* Also send SIGCONT: if the process is stopped, it handles the signal only after it
	 * continues. */
	sys_kill(task.child, SIGCONT);
}

/* Handler of the stop signals SIGINT, SIGTERM and SIGHUP. Passes a signal that a process sent
 * (si_code <= 0) on to the command; a signal from the terminal reaches the command by itself. The
 * second stop signal sets the default actions, so that the third one ends this process. */
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

/* Installs the signal handlers. command: true if gpustat runs a command. After this call, SIGCHLD
 * and the signals of event overflows are delivered only while tasks_wait() waits, so that none is
 * missed. A stop signal that was ignored when gpustat started (nohup) stays ignored in gpustat and
 * in the command. */
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

/* Returns the last stop signal that has come; 0: none, the run continues. */
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

/* Returns the time of the next sample in ns (CLOCK_MONOTONIC): start plus a multiple of step, and
 * not in the past. due: time at which the present sample was due. */
i64 next_due(i64 start, i64 due, i64 step)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	due += step;
	if (due < now + step / 2)
		/* skip samples that were due in the past, or that are due in less than half a
		 * step */
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

/* Main function of the child process: executes the command when the parent allows it. Before the
 * exec, on_stop() is still the handler of stop signals: such a signal ends the child with the exit
 * status 128 + signal. */
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

/* Main function of the helper process of a repeated command. The helper forks the process of each
 * repetition, because the parent may have dropped the right to fork. CLONE_PARENT makes these
 * processes children of the parent. CLONE_VFORK stops the helper until the child has executed the
 * command or has ended: until then the child, not the helper, reads what the parent writes. The
 * helper sends signals to the pidfd of the child, because another process may get the child's pid
 * after the parent has waited for the child. */
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

/* Returns the next number that the child or the helper process has written to this process; 0 if
 * the pipe is at its end. The helper process is then ended by closing the pipe from which it reads,
 * because a later number could not be assigned to a child. */
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

/* Opens the pipes gate[] between this process and a new child, and forks the child, which calls
 * run(argv). Returns the pid of the child, or -errno. */
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
		/* Close this write end in the child, so that the child reads the end of the file
		 * when the parent ends. */
		gate_close(PARENT_WRITES);
		run(argv);
	}
	if (pid < 0)
		gate_close_all();
	gate_close(CHILD_WRITES);
	return pid;
}

/* Sets the shell commands that child_hook() runs before and after each run of the command; NULL:
 * none. Starts the helper process, which will run the shell commands and the command argv. */
void child_hooks(char **argv, const char *before, const char *after)
{
	task.before = before;
	task.after = after;
	child_forker = gate_open(forker_main, argv) > 0;
}

/* Runs the shell command that child_hooks() has set to be run after (after is true) or before the
 * command, and waits for its end. Returns the exit code of the shell command, 0 if none is set, or
 * -errno. */
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

/* Forks the process that executes argv as soon as child_release() is called; child_abort() ends it
 * without that. Returns the pid of the process, or -errno. repeats: true if the command will be
 * started again: a helper process then forks each process. If the helper cannot create children of
 * this process, as under some emulators, this process forks each process itself. */
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

/* Lets the child execute its command. If a stop signal has come, makes the child exit with the
 * status 128 + signal instead: when the signal came, there may have been no child yet to pass it on
 * to. Returns 0, or -errno if the child could not be reached; a child that has died is not an
 * error, because child_ended() reports it. */
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

/* Returns true if the child has ended. Stores its wait status in *status, or -errno if the status
 * is unknown. */
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

/* Like child_ended(), but also waits for all other children that have ended: if this process is a
 * subreaper, processes that the command or its children have left behind become its children. */
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

/* Ends the command by a signal: SIGKILL if at_once is true, otherwise SIGTERM. */
void child_stop(bool at_once)
{
	child_signal(at_once ? SIGKILL : SIGTERM);
}

/* Returns 0 if the child has executed its command, otherwise -errno of its exec. The child must
 * have ended. */
long child_failure(void)
{
	i32 err = 0, next;

	while ((next = gate_receive()))
		err = next;
	return err;
}
