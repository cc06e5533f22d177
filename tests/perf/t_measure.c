/* t_measure.c - unit test of sources/perf/measure.c: measurements from start to end: a command,
 * its readings, its timeout; processes, event sets, and the commands of --control. Most tests
 * count duration_time, which needs no kernel with perf events. Each test runs in a separate
 * process. SPDX-License-Identifier: MIT */
#define virtual_due   fake_due
#define virtual_drain fake_drain
#include "../../sources/perf/measure.c" /* for its static functions and state */
#undef virtual_due
#undef virtual_drain
#include "unit.h"

i64 virtual_due(void);
void virtual_drain(void);

static i64 drain_at = -1; /* when a virtual counter is due; -1: as on this machine */
static u32 drains;

i64 fake_due(void) { return drain_at >= 0 ? drain_at : virtual_due(); }

void fake_drain(void)
{
	drains++;
	drain_at = -1;
	virtual_drain();
}

enum { MS = 1000000, SKIPPED = 77 };

/* A test returns 0, or the number of its first condition that is false. */
#define EXPECT(n, cond) do { if (!(cond)) return (n); } while (0)

static struct target target;
static struct measure m = { .target = &target, .control = -1, .ack = -1 };
static char script[100];
static char *shell[4] = { (char[]){ "sh" }, (char[]){ "-c" }, script, NULL };
static i32 output = -1; /* of the command */

static bool add(const char *list, u16 set)
{
	char why[200];
	struct buf b = BUF(why);

	return events_add(str_z(list), set, &b);
}

/* Starts the measurement of a shell script. */
static long start(const char *text)
{
	int ends[2], was = (int)sys_fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
	long r;

	tasks_catch(true);
	snprintf(script, sizeof(script), "%s", text);
	m.argv = shell;
	if (was < 0 || sys_pipe(ends) < 0)
		return -1;
	dup2(ends[1], STDOUT_FILENO);
	close(ends[1]);
	output = ends[0];
	r = measure_start(&m);
	dup2(was, STDOUT_FILENO);
	close(was);
	return r;
}

static bool killed_by(int sig)
{
	return WIFSIGNALED(m.status) && WTERMSIG(m.status) == sig;
}

static bool exited(int code)
{
	return WIFEXITED(m.status) && WEXITSTATUS(m.status) == code;
}

/* --- a command -------------------------------------------------------------------------------- */

static i32 ready_pid;
static bool ready_output;

static void on_ready(i32 child, bool repeats)
{
	struct pollfd p = { .fd = output, .events = POLLIN };

	ready_pid = repeats ? -1 : child;
	ready_output = poll(&p, 1, 10) > 0;
}

static int command(void)
{
	m.ready = on_ready;
	EXPECT(1, add("duration_time", 0) && start("echo; exit 3") == 0);
	EXPECT(2, ready_pid > 0 && !ready_output); /* it waited for its release */
	EXPECT(3, m.on && m.start && m.start <= m.begun);
	EXPECT(4, !measure_next(&m) && exited(3) && m.failure == 0);
	EXPECT(5, m.dt == m.last - m.start && m.dt > 0);
	EXPECT(6,
	       evrows[1].places == 1 && evrows[1].value > 0 && evrows[1].value <= (u64)m.dt + MS);
	EXPECT(7, target.ntasks == 0 && target.on_exec);
	return 0;
}

static int no_command(void)
{
	char *argv[] = { (char[]){ "/nosuch/command" }, NULL };

	tasks_catch(true);
	m.argv = argv;
	EXPECT(1, add("duration_time", 0) && measure_start(&m) == 0);
	EXPECT(2, !measure_next(&m) && m.failure == -ENOENT && exited(127));
	EXPECT(3, evrows[1].value == 0 && evrows[1].places == 0); /* no reading */
	return 0;
}

static int interval(void)
{
	u64 sum = 0;

	m.interval = 5 * MS;
	EXPECT(1, add("duration_time", 0) && start("exec sleep 20") == 0);
	for (int i = 1; i <= 3; i++) {
		i64 last = m.last;

		EXPECT(2, measure_next(&m) && m.dt == m.last - last && m.dt > 0);
		EXPECT(3, m.last >= m.start + i * m.interval && m.due > m.start + i * m.interval);
		EXPECT(4, (m.due - m.start) % m.interval == 0);
		EXPECT(5, evrows[1].value > 0);
		sum += evrows[1].value;
	}
	EXPECT(6, sum <= (u64)(sys_now(CLOCK_MONOTONIC) - m.start));
	m.stop = true;
	EXPECT(7, !measure_next(&m) && killed_by(SIGTERM));
	return 0;
}

static int first_interval(void)
{
	m.interval = (i64)3600000 * MS;
	m.first = 5 * MS;
	EXPECT(1, add("duration_time", 0) && start("exec sleep 20") == 0);
	EXPECT(2, m.due == m.start + m.first && measure_next(&m));
	EXPECT(3, m.due >= m.start + m.interval);
	m.stop = true;
	EXPECT(4, !measure_next(&m));
	return 0;
}

static int timeout(void)
{
	m.timeout = 10 * MS;
	EXPECT(1, add("duration_time", 0) && start("exec sleep 20") == 0);
	EXPECT(2, !measure_next(&m) && sys_now(CLOCK_MONOTONIC) >= m.begun + m.timeout);
	EXPECT(3, killed_by(SIGTERM) || exited(128 + SIGTERM));
	return 0;
}

/* A command that ignores SIGTERM is killed a second later; the test does not wait for that. */
static int grace(void)
{
	i64 now;
	char c;

	EXPECT(1, add("duration_time", 0) &&
			  start("trap '' TERM; echo; exec sleep 20") == 0);
	EXPECT(2, sys_read(output, &c, 1) == 1);
	m.stop = true;
	now = sys_now(CLOCK_MONOTONIC);
	EXPECT(3, !has_ended(&m, now) && m.stopped == now && deadline(&m) == now + GRACE);
	EXPECT(4, !has_ended(&m, now + GRACE - 1));
	usleep(5000);
	EXPECT(5, !has_ended(&m, now + GRACE - 1));
	while (!has_ended(&m, now + GRACE))
		tasks_wait(NULL, 0, sys_now(CLOCK_MONOTONIC) + 10 * MS);
	EXPECT(6, killed_by(SIGKILL));
	return 0;
}

static int delay(void)
{
	int ends[2];

	EXPECT(1, sys_pipe(ends) == 0 && write(ends[1], "ping\n", 5) == 5); /* it ends a wait */
	m.control = ends[0];
	m.delay = 10 * MS;
	m.interval = 5 * MS;
	EXPECT(1, add("duration_time", 0) && start("exec sleep 20") == 0);
	EXPECT(2, !m.on && !m.due && !target.on_exec && deadline(&m) == m.begun + m.delay);
	EXPECT(3, measure_next(&m) && m.on && m.start >= m.begun + m.delay);
	EXPECT(4, m.last >= m.start + m.interval);
	m.stop = true;
	EXPECT(5, !measure_next(&m));
	return 0;
}

/* --- without a command ------------------------------------------------------------------------ */

static pid_t sleeper(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (sys_die_with_parent();;)
			pause();
	return pid;
}

static int processes(void)
{
	pid_t a = sleeper(), b = sleeper();

	tasks_catch(false);
	m.timeout = 20 * MS;
	EXPECT(1, add("duration_time", 0) && target_process(&target, (u32)a) &&
			  target_process(&target, (u32)b));
	EXPECT(2, measure_start(&m) == 0 && m.on && !m.stop);
	kill(a, SIGKILL);
	waitpid(a, NULL, 0);
	EXPECT(3,
	       !measure_next(&m) && sys_now(CLOCK_MONOTONIC) >= m.begun + m.timeout); /* b runs */
	m.timeout = 0;
	kill(b, SIGKILL);
	waitpid(b, NULL, 0);
	EXPECT(4, !measure_next(&m)); /* all have ended */
	EXPECT(5, deadline(&m) == -1 || !polled.all_watched);
	return 0;
}

static int threads(void)
{
	pid_t a = sleeper();

	tasks_catch(false);
	m.timeout = MS;
	target.split = SPLIT_THREAD;
	EXPECT(1, add("duration_time", 0) && target_process(&target, (u32)a));
	EXPECT(2, measure_start(&m) == 0 && m.on && !measure_next(&m));
	kill(a, SIGKILL);
	waitpid(a, NULL, 0);
	return 0;
}

static int drained(void)
{
	tasks_catch(false);
	target.all = true;
	m.timeout = 20 * MS;
	EXPECT(1, add("duration_time", 0) && measure_start(&m) == 0);
	drain_at = 1;
	EXPECT(2, !measure_next(&m) && drains == 1 && sys_now(CLOCK_MONOTONIC) >= m.begun + m.timeout);
	return 0;
}

static int signalled(void)
{
	tasks_catch(false);
	target.all = true;
	EXPECT(1, add("duration_time", 0) && measure_start(&m) == 0 && deadline(&m) == -1 && !target.on_exec);
	sys_kill((int)sys_pid(), SIGINT);
	EXPECT(2, !measure_next(&m) && tasks_signal() == SIGINT);
	m.interval = 5 * MS;
	/* this signal ends the measurement, too */
	EXPECT(3, measure_start(&m) == 0 && !measure_next(&m));
	return 0;
}

static int nothing(void)
{
	tasks_catch(false);
	target.all = true;
	table_has(&events_table, 1);
	events[++nrows.events] = (struct event){ .type = 99999 };
	EXPECT(1, measure_start(&m) == 0 && m.stop && deadline(&m) == 0 && !measure_next(&m));
	return 0;
}

/* --- control ---------------------------------------------------------------------------------- */

static int to_control, from_ack;

/* Sends a text to --control; returns the number of answers. */
static int control_send(const char *text)
{
	char b[64];
	long n;

	if (sys_write(to_control, text, strlen(text)) < 0)
		return -1;
	control_read(&m);
	n = sys_read(from_ack, b, sizeof(b));
	return n == -EAGAIN ? 0 : n % 4 || memcmp(b, "ack\n", 4) != 0 ? -1 : (int)n / 4;
}

static int control(void)
{
	int c[2], a[2];
	char text[300];

	tasks_catch(false);
	EXPECT(1, sys_pipe(c) == 0 && sys_pipe(a) == 0 && sys_nonblock(a[0]) == 0);
	m.control = c[0], to_control = c[1], m.ack = a[1], from_ack = a[0];
	m.delay = -1;
	target.all = true;
	EXPECT(2, add("duration_time", 0) && measure_start(&m) == 0 && !m.on && !m.start);
	EXPECT(3, control_send("enable\n") == 1 && m.on && m.start && counts[1].live);
	EXPECT(4, control_send("disable\n") == 1 && !m.on && control_send("ping\n") == 1 && !m.on);
	EXPECT(5, control_send("nosuch\n") == 0 && control_send("enab") == 0 && !m.on && control_send("le\n") == 1 && m.on);
	EXPECT(6, control_send(" disable \nping\nping\n") == 3 && !m.on);
	memset(text, 'x', sizeof(text));
	text[256] = '\0'; /* a line that fills the buffer is dropped */
	EXPECT(7, control_send(text) == 0 && control_send("\nping\n") == 1);
	sys_write(to_control, "stop\n", 5);
	EXPECT(8, !measure_next(&m) && m.stop && sys_read(from_ack, text, sizeof(text)) == 4);
	close(to_control);
	control_read(&m);
	EXPECT(9, m.control == -1 && polled.fds[FD_CONTROL].fd == -1);
	return 0;
}

/* --- event sets ------------------------------------------------------------------------------- */

static int sets(void)
{
	i64 all;

	tasks_catch(false);
	target.all = true;
	for (nrows.evsets = 0; nrows.evsets < 3; nrows.evsets++)
		evsets[nrows.evsets] =
			(struct evset){ .name = text_put(NONE, LIT("set")), .timeout = 2 * MS, .turns = 7, .active = 7 };
	table_has(&events_table, 2);
	EXPECT(1, add("duration_time", 0) && add("duration_time", 2));
	events[++nrows.events] = (struct event){ .type = 99999, .set = 1 };
	m.interval = 20 * MS;
	EXPECT(2, measure_start(&m) == 0 && !target.on_exec);
	EXPECT(3, !evsets[0].failed && evsets[1].failed && !evsets[2].failed);
	EXPECT(4, next_set(0) == 2 && next_set(2) == 0 && m.set == 0 && evsets[0].turns == 1);
	EXPECT(5, m.set_due == m.set_since + 2 * MS && deadline(&m) == m.set_due);
	EXPECT(6,
	       measure_next(&m) && evsets[0].turns + evsets[2].turns >= 2 && evsets[1].turns == 0);
	all = evsets[0].active + evsets[2].active;
	EXPECT(7, evsets[2].active > 0 && all > 15 * MS && all <= m.last - m.start);
	evsets[2].timeout = 0; /* until a trigger overflows */
	set_switch(&m, sys_now(CLOCK_MONOTONIC));
	if (m.set == 0)
		set_switch(&m, sys_now(CLOCK_MONOTONIC));
	EXPECT(8, m.set == 2 && m.set_due == -1 && deadline(&m) == m.due);
	return 0;
}

static int first_set_fails(void)
{
	for (nrows.evsets = 0; nrows.evsets < 2; nrows.evsets++)
		evsets[nrows.evsets] =
			(struct evset){ .name = text_put(NONE, LIT("set")), .timeout = 2 * MS };
	table_has(&events_table, 1);
	events[++nrows.events] = (struct event){ .type = 99999 };
	EXPECT(1, add("duration_time", 1) && start("exit 0") == 0 && !target.on_exec);
	EXPECT(2, evsets[0].failed && m.set == 1 && evsets[1].turns == 1 && next_set(1) == 1);
	return 0;
}

/* --- perf events ------------------------------------------------------------------------------ */

static int perf_count(void)
{
	EXPECT(1, add("task-clock,page-faults", 0) && start("exit 0") == 0);
	if (counts[1].fd < 0)
		return SKIPPED;
	EXPECT(2, target.on_exec && !measure_next(&m) && exited(0));
	EXPECT(3, evrows[1].value > 0 && evrows[1].state == CS_COUNTED && evrows[2].value > 0);
	return 0;
}

static int perf_sample(void)
{
	m.sampling = true;
	m.pages = 1;
	target = (struct target){ .sampling = true, .period = 1, .wakeup = 1 };
	EXPECT(1, add("page-faults", 0) && start("exec sleep 20") == 0);
	if (counts[1].fd < 0)
		return SKIPPED;
	EXPECT(2, m.rings == 0 && polled.nfds > polled.nwatched && polled.nwatched == FD_FIRST);
	EXPECT(3, measure_next(&m) && m.woken);
	m.stop = true;
	while (measure_next(&m))
		;
	EXPECT(4, killed_by(SIGTERM) || exited(128 + SIGTERM));
	return 0;
}

static const struct {
	int (*test)(void);
	const char *name;
} tests[] = {
	{ command, "a command is measured from its exec to its end" },
	{ no_command, "a command that does not exist has no reading" },
	{ interval, "a reading at each multiple of the interval" },
	{ first_interval, "the first interval may be shorter than the others" },
	{ timeout, "the command is stopped at the timeout" },
	{ grace, "a command that ignores SIGTERM is killed later" },
	{ delay, "the measurement begins after the delay" },
	{ processes, "a measurement ends with its processes, or at the timeout" },
	{ threads, "threads have rows of their own" },
	{ drained, "virtual counters are drained when they are due" },
	{ signalled, "a signal ends a measurement without a command" },
	{ nothing, "a measurement without any count ends at once" },
	{ control, "the commands of --control are run and acknowledged" },
	{ sets, "event sets are switched in turn, without those that cannot be counted" },
	{ first_set_fails, "if set 0 cannot be counted, the next one is the first" },
	{ perf_count, "the task clock and page faults of a command" },
	{ perf_sample, "a sample of a command ends the wait" },
};

int main(void)
{
	/* A shell's background jobs ignore some of these, as does what nohup starts. */
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	roots_open();
	for (size_t i = 0; i < LEN(tests); i++) {
		int status = 0;
		pid_t pid = fork();

		if (pid == 0) {
			alarm(20); /* ends a test that hangs */
			_exit(tests[i].test());
		}
		if (pid > 0 && waitpid(pid, &status, 0) == pid && status == SKIPPED << 8)
			check(true, "%s # SKIP this machine does not allow counting",
			      tests[i].name);
		else
			check_u64((u64)status, 0, "%s", tests[i].name);
	}
	check(earlier(-1, 5) == 5 && earlier(5, -1) == 5 && earlier(4, 5) == 4 &&
		      earlier(-1, -1) == -1,
	      "the earlier of two times, either of which may be missing");
	return unit_end();
}
