/* t_process.c - the child process that runs a command: its release, its exit status, what it
 * inherits, signals before and after its exec, and the helper process of repeated commands. Each
 * test runs in a separate process, whose signal handlers are those of the program.
 * SPDX-License-Identifier: MIT */
#include "../../sources/os/process.c" /* for its state */
#include "unit.h"

enum { MS = 1000000, LONG = 10000, SKIPPED = 77 };

/* A test returns 0, or the number of its first condition that is false. */
#define EXPECT(n, cond) do { if (!(cond)) return (n); } while (0)

static int in_child(int (*test)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		alarm(20); /* ends a test that hangs */
		_exit(test());
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid ? -1 :
	       WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static i64 after_ms(i64 ms)
{
	return sys_now(CLOCK_MONOTONIC) + ms * MS;
}

static char *shell[4] = { (char[]){ "sh" }, (char[]){ "-c" }, NULL, NULL };
static char script[200];
static i32 output = -1; /* of the command */

/* Starts a shell script that waits to be released. */
static long start(const char *text, bool repeats)
{
	int fds[2], was = (int)sys_fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	long pid;

	snprintf(script, sizeof(script), "%s", text);
	shell[2] = script;
	if (was < 0 || sys_pipe(fds) < 0)
		return -1;
	dup2(fds[1], STDOUT_FILENO);
	close(fds[1]);
	output = fds[0];
	pid = child_start(shell, repeats);
	dup2(was, STDOUT_FILENO);
	close(was);
	return pid;
}

/* Waits until the command has ended; returns its exit status, or 1000 + its signal. */
static int end(void)
{
	i64 until = after_ms(LONG);
	int status = 0;

	while (!child_ended(&status))
		if (tasks_wait(NULL, 0, until) == 0)
			return -1;
	return status < 0 ? -1 : WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

static int run(const char *text)
{
	return start(text, false) > 0 && child_release() == 0 ? end() : -1;
}

/* Waits until there is output, or its end. */
static bool has_output(i64 ms)
{
	struct pollfd p = { .fd = output, .events = POLLIN };

	return sys_poll_until(&p, 1, after_ms(ms), NULL) > 0 && p.revents & POLLIN;
}

static const char *output_text(void)
{
	static char text[256];
	size_t n = 0;
	long r;

	while ((r = sys_read(output, text + n, sizeof(text) - 1 - n)) > 0)
		n += (size_t)r;
	text[n] = '\0';
	return text;
}

/* --- start and end ---------------------------------------------------------------------------- */

static int release(void)
{
	int status = -1;

	tasks_catch(true);
	EXPECT(1, start("echo text; exit 7", false) > 0);
	EXPECT(2, !has_output(20) && !child_ended(&status));
	EXPECT(3, child_release() == 0 && end() == 7);
	EXPECT(4, strcmp(output_text(), "text\n") == 0);
	EXPECT(5, child_failure() == 0);
	EXPECT(6, !child_ended(&status));
	EXPECT(7, run("exit 0") == 0 && run("kill -KILL $$") == 1000 + SIGKILL);
	EXPECT(8, run("kill -TERM $$") == 1000 + SIGTERM && child_failure() == 0);
	return 0;
}

static int fails(char *name, long error)
{
	char *argv[] = { name, NULL };

	tasks_catch(true);
	EXPECT(1, child_start(argv, false) > 0);
	EXPECT(2, child_release() == 0 && end() == 127);
	EXPECT(3, child_failure() == error);
	return 0;
}

static int no_command(void)
{
	return fails((char[]){ "/nosuch/command" }, -ENOENT);
}

static int no_permission(void)
{
	return fails((char[]){ "/dev/null" }, -EACCES);
}

static int abort_child(void)
{
	tasks_catch(true);
	EXPECT(1, start("echo text", false) > 0);
	child_abort();
	EXPECT(2, end() == 127 && child_failure() == 0);
	EXPECT(3, strcmp(output_text(), "") == 0);
	return 0;
}

/* --- what the command inherits ---------------------------------------------------------------- */

static int inherit_signals(void)
{
	static const int usr1[] = { SIGUSR1 };
	sigset_t was;

	sys_block(usr1, 1, &was);
	sys_ignore(SIGHUP);
	tasks_catch(true);
	EXPECT(1, run("kill -USR1 $$; exit 3") == 3); /* still blocked */
	EXPECT(2, run("kill -USR2 $$; exit 3") == 1000 + SIGUSR2);
	EXPECT(3, run("kill -HUP $$; exit 3") == 3); /* still ignored */
	EXPECT(4, run("kill -INT $$; exit 3") == 1000 + SIGINT);
	return 0;
}

/* Returns 0 if SIGCHLD is in this set of the command, as /proc has it in hexadecimal, else 1. The
 * number is that of this machine, in an emulator, too. */
static int sigchld_of(const char *field)
{
	char text[60], *argv[] = { (char[]){ "grep" }, (char[]){ "-Eq" }, text,
				   (char[]){ "/proc/self/status" }, NULL };

	snprintf(text, sizeof(text), "^%s:.*[13579bdf]....$", field);
	return child_start(argv, false) > 0 && child_release() == 0 ? end() : -1;
}

static int inherit_sigchld(void)
{
	static const int sigchld[] = { SIGCHLD };
	sigset_t was;

	tasks_catch(true);
	EXPECT(1, sigchld_of("SigIgn") == 1 && sigchld_of("SigBlk") == 1);
	sys_ignore(SIGCHLD);
	sys_block(sigchld, 1, &was);
	tasks_catch(true);
	EXPECT(2, sigchld_of("SigIgn") == 0 && sigchld_of("SigBlk") == 0);
	return 0;
}

static int inherit_descriptors(void)
{
	static const char list[] = "cd /proc/$$/fd && echo *";
	char want[256];
	FILE *f;
	int kept = open("/dev/null", O_RDONLY);

	tasks_catch(true);
	f = popen(list, "r");
	EXPECT(1, kept >= 0 && f && fgets(want, sizeof(want), f) && pclose(f) == 0);
	EXPECT(2, run(list) == 0 && strcmp(output_text(), want) == 0);
	return 0;
}

static int inherit_limit(void)
{
	struct sys_limit l, now = { 0 };

	tasks_catch(true);
	EXPECT(1, sys_raise_nofile(&l) > 0);
	l.soft = 99;
	sys_set_nofile(&l);
	files_raise();
	EXPECT(2, sys_raise_nofile(&now) > 0 && now.soft == l.hard);
	EXPECT(3, run("ulimit -n") == 0 && strcmp(output_text(), "99\n") == 0);
	return 0;
}

/* --- signals ---------------------------------------------------------------------------------- */

static int stop(void)
{
	static const char waits[] = "echo; exec sleep 20";

	tasks_catch(true);
	EXPECT(1, start(waits, false) > 0 && child_release() == 0 && has_output(LONG));
	child_stop(false);
	EXPECT(2, end() == 1000 + SIGTERM);
	EXPECT(3, start(waits, false) > 0 && child_release() == 0 && has_output(LONG));
	child_stop(true);
	EXPECT(4, end() == 1000 + SIGKILL);
	EXPECT(5, start(waits, false) > 0);
	child_stop(true); /* before its exec */
	EXPECT(6, end() == 1000 + SIGKILL && child_release() == 0 && child_failure() == 0);
	EXPECT(7, strcmp(output_text(), "") == 0);
	child_stop(true); /* there is no command now */
	return 0;
}

static int pass_signal(void)
{
	tasks_catch(true);
	EXPECT(1, tasks_signal() == 0 && !writing.urgent);
	EXPECT(2, start("echo; exec sleep 20", false) > 0 && child_release() == 0);
	EXPECT(3, has_output(LONG) && sys_kill((int)sys_pid(), SIGINT) == 0);
	EXPECT(4, end() == 1000 + SIGINT && tasks_signal() == SIGINT && writing.urgent);
	EXPECT(5, start("echo text", false) > 0 && child_release() == 0);
	EXPECT(6,
	       end() == 128 + SIGINT && strcmp(output_text(), "") == 0); /* it was not executed */
	sys_kill((int)sys_pid(), SIGTERM);
	EXPECT(7, tasks_signal() == SIGTERM);
	sys_kill((int)sys_pid(), SIGTERM); /* the third signal ends this process */
	return 8;
}

static int early_signal(void)
{
	tasks_catch(true);
	EXPECT(1, start("echo text", false) > 0 && sys_kill((int)sys_pid(), SIGHUP) == 0);
	EXPECT(2, child_release() == 0 && end() == 128 + SIGHUP);
	EXPECT(3, strcmp(output_text(), "") == 0 && child_failure() == 0);
	return 0;
}

static int wake_up(void)
{
	struct pollfd p;

	sys_ignore(SIGHUP);
	tasks_catch(false);
	p = (struct pollfd){ .fd = tasks_wake, .events = POLLIN };
	EXPECT(1, tasks_wake >= 0 && tasks_wait(&p, 1, after_ms(1)) == 0);
	sys_kill((int)sys_pid(), SIGHUP);
	EXPECT(2, tasks_signal() == 0 && tasks_wait(&p, 1, after_ms(1)) == 0);
	sys_kill((int)sys_pid(), SIGTERM);
	EXPECT(3, tasks_signal() == SIGTERM && tasks_wait(&p, 1, after_ms(LONG)) == 1);
	return 0;
}

/* Returns whether the signal of a descriptor carries its number; qemu-mipsel leaves it out. */
static bool has_si_fd(i32 fd, i32 to)
{
	const struct timespec second = { .tv_sec = 1 };
	siginfo_t info = { 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIG_OVERFLOW); /* blocked by tasks_catch() */
	tasks_notify(fd);
	return write(to, "", 1) == 1 && sigtimedwait(&set, &info, &second) == SIG_OVERFLOW &&
	       info.si_fd == fd;
}

static int overflow(void)
{
	int a[2], b[2], probe[2];

	tasks_catch(true);
	EXPECT(1, sys_pipe(a) == 0 && sys_pipe(b) == 0 && tasks_overflow() == -1);
	if (sys_pipe(probe) < 0 || !has_si_fd(probe[0], probe[1]))
		return SKIPPED;
	tasks_notify(a[0]);
	tasks_notify(b[0]);
	EXPECT(2, write(a[1], "", 1) == 1 && write(b[1], "", 1) == 1);
	EXPECT(3, tasks_overflow() == -1); /* until tasks_wait() */
	EXPECT(4, tasks_wait(NULL, 0, after_ms(LONG)) == -EINTR);
	EXPECT(5, tasks_overflow() == a[0] && tasks_overflow() == -1);
	EXPECT(6, tasks_wait(NULL, 0, after_ms(LONG)) == -EINTR && tasks_overflow() == b[0]);
	EXPECT(7, tasks_wait(NULL, 0, after_ms(1)) == 0 && tasks_overflow() == -1);
	return 0;
}

/* --- repeated commands ------------------------------------------------------------------------ */

static int repeat(void)
{
	tasks_catch(true);
	EXPECT(1, start("exit 5", true) > 0);
	if (!child_forker)
		return SKIPPED;
	EXPECT(2, child_release() == 0 && end() == 5 && child_failure() == 0);
	for (int i = 0; i < 3; i++) {
		EXPECT(3, child_start(shell, i < 2) > 0 && child_release() == 0);
		EXPECT(4, end() == 5 && child_failure() == 0);
	}
	EXPECT(5, child_start(shell, false) > 0);
	child_stop(false); /* before its exec: the child reads the signal itself */
	EXPECT(6, end() == 128 + SIGTERM);
	return 0;
}

static int repeat_stop(void)
{
	tasks_catch(true);
	EXPECT(1, start("echo; exec sleep 20", true) > 0);
	if (!child_forker)
		return SKIPPED;
	for (int i = 0; i < 2; i++) {
		EXPECT(2, child_release() == 0 && has_output(LONG));
		EXPECT(3, read(output, script, 1) == 1);
		child_stop(i > 0);
		EXPECT(4, end() == 1000 + (i > 0 ? SIGKILL : SIGTERM) && child_failure() == 0);
		EXPECT(5, child_start(shell, true) > 0);
	}
	child_stop(true);
	return 0;
}

static int repeat_failure(void)
{
	char *argv[] = { (char[]){ "/nosuch/command" }, NULL };

	tasks_catch(true);
	for (int i = 0; i < 2; i++) {
		EXPECT(1, child_start(argv, true) > 0 && child_release() == 0);
		EXPECT(2, end() == 127 && child_failure() == -ENOENT);
	}
	return 0;
}

static int hooks(void)
{
	char *argv[] = { (char[]){ "true" }, NULL };
	char folder[] = "/tmp/hooksXXXXXX", before[128], after[128];

	EXPECT(1, mkdtemp(folder));
	snprintf(before, sizeof(before), "printf b >>%s/log; exit 3", folder);
	snprintf(after, sizeof(after), "printf a >>%s/log; kill -9 $$", folder);
	tasks_catch(true);
	EXPECT(2, child_hook(false) == 0 && child_hook(true) == 0); /* none */
	child_hooks(argv, before, after);
	for (int i = 0; i < 2; i++) {
		EXPECT(3, child_hook(false) == 3);
		EXPECT(4, child_start(argv, true) > 0 && child_release() == 0);
		EXPECT(5, end() == 0 && child_failure() == 0);
		EXPECT(6, child_hook(true) == 128 + SIGKILL);
	}
	snprintf(before, sizeof(before), "test $(cat %s/log) = baba && rm -r %s", folder, folder);
	EXPECT(7, hook_run(before) == 1);
	return 0;
}

/* A time that has passed needs a timer that is not 0: 0 would stop it. */
static int alarm_passed(void)
{
	static const i64 ns[] = { 1500, 999, 0, -999, -1500, -2500, -1000000000 };
	const struct timespec most = { .tv_sec = 5 };
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGALRM);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	for (size_t i = 0; i < LEN(ns); i++)
		EXPECT((int)i + 1, sys_alarm(ns[i]) == 0 && sigtimedwait(&blocked, NULL, &most) == SIGALRM);
	return 0;
}

static void test_due(void)
{
	const i64 hour = INT64_C(3600000) * MS, now = sys_now(CLOCK_MONOTONIC), quarter = hour / 4;
	i64 start_at = now - 10 * hour - quarter;

	check(next_due(now, now, hour) == now + hour,
	      "next_due(): the next sample is one step later");
	check(next_due(start_at, now - 10 * hour, hour) == start_at + 11 * hour,
	      "next_due(): missed samples are left out");
	start_at -= 2 * quarter;
	check(next_due(start_at, now - 10 * hour, hour) == start_at + 12 * hour,
	      "next_due(): the time to the next sample is at least half a step");
}

static const struct {
	int (*test)(void);
	const char *name;
	int want;
} tests[] = {
	{ release, "a command waits for its release, and its exit status is returned", 0 },
	{ no_command, "a command that does not exist: 127 and ENOENT", 0 },
	{ no_permission, "a command that may not be executed: 127 and EACCES", 0 },
	{ abort_child, "a command that is not released is never executed", 0 },
	{ inherit_signals, "a command inherits blocked and ignored signals, and no others", 0 },
	{ inherit_sigchld, "a command inherits whether SIGCHLD is ignored or blocked", 0 },
	{ inherit_descriptors, "a command inherits the open descriptors, and no others", 0 },
	{ inherit_limit,
	  "a command inherits the limit of open descriptors from before it was raised", 0 },
	{ stop, "a command is stopped with SIGTERM and with SIGKILL, also before its exec", 0 },
	{ pass_signal, "signals are passed on to the command; the third one ends the process",
	  1000 + SIGTERM },
	{ early_signal, "a signal between start and release ends the command before its exec", 0 },
	{ wake_up, "without a command a signal ends the wait", 0 },
	{ overflow, "a descriptor that is ready during the wait is returned at its end", 0 },
	{ alarm_passed, "an alarm comes at once if its time has passed", 0 },
	{ repeat, "a command is repeated by the helper process", 0 },
	{ repeat_stop, "a repeated command is stopped", 0 },
	{ hooks, "shell commands before and after each run, and their exit codes", 0 },
	{ repeat_failure, "a repeated command that does not exist: 127 and ENOENT", 0 },
};

int main(void)
{
	/* A shell's background jobs ignore some of these, as does what nohup starts. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	for (size_t i = 0; i < LEN(tests); i++) {
		int got = in_child(tests[i].test);

		if (got == SKIPPED)
			check(true, "%s # SKIP this machine cannot do it", tests[i].name);
		else
			check_u64((u64)got, (u64)tests[i].want, "%s", tests[i].name);
	}
	test_due();
	return unit_end();
}
