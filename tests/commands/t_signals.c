/* t_signals.c - unit test of commands/shared/signals.c: sleeps, the signals that stop a run, and
 * those that restore profiling. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static void (*handlers[65])(int);
static u32 sleeps, restored, killed, defaulted, ignored, persistent;
static bool is_ignored;
static i64 slept_until;

static void fake_sleep(const struct timespec volatile *t)
{
	sleeps++;
	slept_until = (i64)t->tv_sec * 1000000000 + t->tv_nsec;
}

static long fake_signal(int sig, void (*handler)(int))
{
	handlers[sig] = handler;
	return 0;
}
#define sys_sleep_at(t) fake_sleep(t)
#define sys_signal(sig, handler) fake_signal(sig, handler)
#define sys_default(sig) (defaulted = (u32)(sig))
#define sys_kill(pid, sig) (killed = (pid) == (int)sys_pid() ? (u32)(sig) : 0)
#define sys_ignore(sig) (ignored = (u32)(sig))
#define sys_signal_persistent(sig, handler) (persistent = (u32)(sig), (handler)(sig), is_ignored)
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/signals.c"

struct opts opt;
void profiling_restore(void) { restored++; }

static u32 handled(void (*handler)(int))
{
	u32 n = 0;

	for (int sig = 1; sig < 65; sig++)
		n += handlers[sig] == handler;
	return n;
}

static void t_sleep(void)
{
	check(sleep_until(INT64_C(7000000005)) && sleeps == 1, "sleep_until() sleeps once");
	check(slept_until == INT64_C(7000000005), "sleep_until() sleeps until the given time");
	wake.tv_sec = 9;
	on_signal(SIGTERM);
	check(stopped && writing.urgent && wake.tv_sec == 0,
	      "a signal ends the sleep, and makes writes urgent");
	check(!sleep_until(INT64_C(7000000005)) && sleeps == 1,
	      "after a signal, sleep_until() does not sleep");
	check(handled(on_fatal) == 0, "the first signal sets no handler");
}

static void t_handlers(void)
{
	signals_handle();
	check(handled(on_signal) == 3 && handlers[SIGINT] == on_signal &&
	      handlers[SIGTERM] == on_signal && handlers[SIGHUP] == on_signal,
	      "SIGINT, SIGTERM and SIGHUP stop a run");
	check(handled(on_fatal) == 0,
	      "without --enable-profiling, other signals have their default action");
	opt.profiling = true;
	signals_handle();
	check(handled(on_signal) == 3,
	      "with --enable-profiling, the same three signals stop a run");
	check(handlers[SIGSEGV] == on_fatal && handlers[SIGQUIT] == on_fatal &&
	      handlers[SIGPIPE] == on_fatal && handlers[SIGALRM] == on_fatal && handlers[63] == on_fatal,
	      "with --enable-profiling, signals that end the process restore profiling first");
	check(!handlers[SIGKILL] && !handlers[SIGSTOP] && !handlers[SIGCHLD] && !handlers[SIGWINCH] &&
	      !handlers[SIGCONT] && !handlers[SIGTSTP] && !handlers[SIGXFSZ],
	      "with --enable-profiling, signals that do not end a process have no handler");
	check_u64(handled(on_fatal), 63 - 10 - 3,
	          "with --enable-profiling, all other signals restore profiling");
	on_signal(SIGINT);
	check(handlers[SIGINT] == on_fatal,
	      "with --enable-profiling, a second signal ends the run at once");
	on_fatal(SIGQUIT);
	check(restored == 1 && defaulted == SIGQUIT && killed == SIGQUIT,
	      "on_fatal() restores profiling, and sends the signal again");
}

static void t_begin(void)
{
	signals_begin();
	check(persistent == SIGXFSZ && !ignored,
	      "SIGXFSZ has no effect: a file that is too large is an error of write()");
	is_ignored = true;
	signals_begin();
	check(ignored == SIGXFSZ, "SIGXFSZ stays ignored if the caller has ignored it");
}

int main(void)
{
	t_sleep();
	t_handlers();
	t_begin();
	return unit_end();
}
