/* resident.h - measures the memory of a program at its exit, without the rounding of the kernel's
 * counters.
 * SPDX-License-Identifier: MIT */
#ifndef RESIDENT_H
#define RESIDENT_H

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* The memory of a program in KiB. -1: a signal ended it, or it could not be started. */
struct resident {
	long held;   /* at exit, exact */
	long peak;   /* the largest, within a few pages: the kernel adds up counters of CPUs */
	long huge;   /* in huge pages at exit */
	long maxrss; /* as reported by wait4(), within a few pages */
	int status;
};

/* Returns the number after a key at the start of a line; 0 if the file does not have the key. */
static unsigned long long number_in(const char *path, const char *key)
{
	unsigned long long number = 0;
	char line[256];
	FILE *f = fopen(path, "re");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			number = strtoull(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return number;
}

static long number_of(pid_t pid, const char *file, const char *key)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	return (long)number_in(path, key);
}

/* Runs start(arg), which calls exec, in a new process. The process is stopped at its exit, while it
 * still has its memory, to measure it. */
static struct resident resident(void (*start)(void *), void *arg)
{
	struct resident r = { -1, -1, -1, -1, -1 };
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (!pid) {
		if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			start(arg);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)PTRACE_O_TRACEEXIT))
		return r;
	while (WIFSTOPPED(status)) {
		int sig = WSTOPSIG(status);

		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
			r.held = number_of(pid, "smaps_rollup", "Rss:");
			r.huge = number_of(pid, "smaps_rollup", "AnonHugePages:");
			r.peak = number_of(pid, "status", "VmHWM:");
		}
		ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)(sig == SIGTRAP ? 0 : sig));
		if (wait4(pid, &status, 0, &usage) != pid)
			return (struct resident){ -1, -1, -1, -1, -1 };
	}
	r.maxrss = usage.ru_maxrss;
	r.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return r;
}

#endif
