/* signals.c - signals that stop a run, and sleep until the next sample.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/device/device.h"
#include "sys.h"

volatile sig_atomic_t stopped;

/* Handles other signals that end the process: restores profiling, then delivers the signal again
 * with its default action. */
static void on_fatal(int sig)
{
	profiling_restore();
	sys_default(sig);
	sys_kill((int)sys_pid(), sig);
}

static struct timespec volatile wake; /* end of the current sleep */

/* Sleeps until t on CLOCK_MONOTONIC. Returns false if a signal stops the run: also one that arrives
 * just before the system call, since its handler sets `wake` to the past. */
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
	(void)sig; /* write(2) returns EFBIG */
}

/* signal(7): signals that do not end a process, that cannot be caught, or that have a handler
 * here. */
#define BIT(sig) (UINT64_C(1) << (sig))
static const u64 NOT_FATAL = BIT(SIGKILL) | BIT(SIGSTOP) | BIT(SIGCHLD) | BIT(SIGCONT) |
	BIT(SIGTSTP) | BIT(SIGTTIN) | BIT(SIGTTOU) | BIT(SIGURG) | BIT(SIGWINCH) | BIT(SIGXFSZ);

static void handle_fatal(void)
{
	for (int sig = 1; sig < 64; sig++)
		if (!(NOT_FATAL >> sig & 1))
			sys_signal(sig, on_fatal);
}

/* Called at the start: a file that reaches its size limit is an error of write(), not a signal. */
void signals_begin(void)
{
	if (sys_signal_persistent(SIGXFSZ, on_too_large))
		sys_ignore(SIGXFSZ); /* for the command, too */
}

/* SIGINT, SIGTERM and SIGHUP stop the run after the current record; other signals end it after
 * profiling is restored. */
void signals_handle(void)
{
	if (opt.profiling)
		handle_fatal();
	for (size_t i = 0; i < LEN(stop_signals); i++)
		sys_signal(stop_signals[i], on_signal);
}
