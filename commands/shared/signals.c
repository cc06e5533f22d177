/* signals.c - handlers for signals that stop a run, and the sleep until the next sample, which they
 * end.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

volatile sig_atomic_t stopped;

/* Handler for signals that kill the process: switches the profiling of GPUs (--enable-profiling)
 * back, then sends the signal again with its default action. */
static void on_fatal(int sig)
{
	profiling_restore();
	sys_default(sig);
	sys_kill((int)sys_pid(), sig);
}

static struct timespec volatile wake; /* time at which the current sleep ends, on CLOCK_MONOTONIC */

/* Sleeps until the time t, in ns on CLOCK_MONOTONIC. Returns false if a signal stops the run, also
 * a signal just before the system call: its handler sets `wake` to a past time, so that the system
 * call returns at once. */
bool sleep_until(i64 t)
{
	wake.tv_sec = (time_t)(t / 1000000000);
	wake.tv_nsec = (long)(t % 1000000000);
	if (!stopped)
		sys_sleep_at(&wake);
	return !stopped;
}

static void on_signal(int sig)
{
	stopped = 1;
	writing.urgent = true;
	wake.tv_sec = 0;
	if (opt.profiling)
		sys_signal(sig, on_fatal);
}

static void on_too_large(int sig)
{
	/* Does nothing: a SIGXFSZ with a handler does not kill the process, and write(2) returns
	 * EFBIG. */
	(void)sig;
}

/* Signals for which on_fatal() is not installed: they do not end a process, cannot be caught, or
 * have another handler in this file. See signal(7). */
#define BIT(sig) (UINT64_C(1) << (sig))
static const u64 NOT_FATAL = BIT(SIGKILL) | BIT(SIGSTOP) | BIT(SIGCHLD) | BIT(SIGCONT) |
	BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGXFSZ);

static void handle_fatal(void)
{
	for (int sig = 1; sig < 64; sig++)
		if (!(NOT_FATAL >> sig & 1))
			sys_signal(sig, on_fatal);
}

/* Installs a handler for SIGXFSZ, so that a file that reaches its size limit is an error of
 * write(2) and does not kill the process. Called at the start of the program. */
void signals_begin(void)
{
	if (sys_signal_persistent(SIGXFSZ, on_too_large))
		/* SIGXFSZ was ignored when gpustat started: it stays ignored, also in the user's
		 * command */
		sys_ignore(SIGXFSZ);
}

/* Installs the signal handlers of a run: SIGINT, SIGTERM and SIGHUP end the run after the current
 * record. With --enable-profiling, fatal signals end it after the profiling of GPUs was switched
 * back. */
void signals_handle(void)
{
	if (opt.profiling)
		handle_fatal();
	for (size_t i = 0; i < LEN(stop_signals); i++)
		sys_signal(stop_signals[i], on_signal);
}
