/* pfm.h - for perfmon.c and perfmon_v2.c, included after the header under test: TAP, and work with
 * a known count. On a machine with an ARMv8 PMU the counted event is cycles in user mode (an
 * emulated machine has one cycle per instruction), on other machines page faults.
 * SPDX-License-Identifier: MIT */
#ifndef PFM_H
#define PFM_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	PATIENCE = 240,    /* s: afterwards the test counts as hung */
	SOON = 10000,      /* ms: within this time an expected message arrives */
	WARM = 40,         /* runs, after which the library touches no page for the first time */
	PAGES = 512,
	NOT_IN_KERNEL = 31 /* a bit of PMCs, in both register tables */
};

#define UNUSED __attribute__((unused))

static int ran, failed, hardware;
UNUSED static uint64_t unit; /* the count of work(1) */
static uint64_t main_event, other_event;

UNUSED static int ok(int cond, const char *name)
{
	printf("%sok %d - %s\n", cond ? "" : "not ", ++ran, name);
	fflush(stdout);
	failed += !cond;
	return cond;
}

UNUSED static void skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++ran, name, why);
	fflush(stdout);
}

/* Prints a line that explains a failure, with three numbers. */
UNUSED static void report(const char *what, uint64_t a, uint64_t b, uint64_t c)
{
	printf("# %s: %lld, %lld, %lld\n", what, (long long)a, (long long)b, (long long)c);
}

UNUSED static int is(uint64_t got, uint64_t want, const char *name)
{
	if (!ok(got == want, name)) {
		report("got, want", got, want, 0);
		return 0;
	}
	return 1;
}

/* lo <= got <= hi */
UNUSED static int between(uint64_t got, uint64_t lo, uint64_t hi, const char *name)
{
	if (!ok(got >= lo && got <= hi, name)) {
		report("got, of, to", got, lo, hi);
		return 0;
	}
	return 1;
}

/* Passes if the call failed with this error. */
UNUSED static int fails(int r, int error, const char *name)
{
	int got = r < 0 ? errno : 0;

	if (!ok(r == -1 && got == error, name)) {
		printf("# %d, %s, and not %s\n", r, strerror(got), strerror(error));
		return 0;
	}
	return 1;
}

/* Passes if the call succeeded. */
UNUSED static int well(int r, const char *name)
{
	int got = errno;

	if (!ok(r >= 0, name)) {
		printf("# %s\n", strerror(got));
		return 0;
	}
	return 1;
}

UNUSED static int finish(void)
{
	printf("1..%d\n", ran);
	return failed != 0;
}

/* --- work ------------------------------------------------------------------------------------- */

UNUSED static void spin(long n)
{
#ifdef __aarch64__
	/* Two instructions in each iteration. */
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
#else
	volatile long i;

	for (i = 0; i < n; i++)
		;
#endif
}

UNUSED static void touch(long n)
{
	static __thread char *pages;
	long size = sysconf(_SC_PAGESIZE), i;

	if (!pages) {
		/* In parentheses the name is not expanded as a macro: libc's function, not the
		 * library's. */
		pages = (mmap)(NULL, (size_t)(PAGES * size), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(pages, (size_t)(PAGES * size), MADV_NOHUGEPAGE);
	}
	for (; n > 0; n -= PAGES) {
		for (i = 0; i < n && i < PAGES; i++)
			((volatile char *)pages)[i * size] = 1;
		madvise(pages, (size_t)(PAGES * size), MADV_DONTNEED);
	}
}

/* Executes n units of main_event, and of other_event. */
UNUSED static void work(long n)
{
	if (hardware)
		spin(n * (long)unit / 2);
	else
		touch(n);
}

UNUSED static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

UNUSED static int tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* Returns whether the descriptor becomes readable within this time. */
UNUSED static int readable(int fd, int ms)
{
	struct pollfd p = { 0, POLLIN, 0 };

	p.fd = fd;
	return poll(&p, 1, ms) == 1 && (p.revents & POLLIN) != 0;
}

/* The built-in register tables depend on the CPU; other machines use this table of software
 * events. */
static const char software_map[] = "pmc 0-15 mask 0-7,30-31\npmd 0-15 pmc 0-15 event 1:{0-7} user=!30 kernel=!31\n"
	"pmd 256 counter Physical memory usage\n";

UNUSED static void choose_machine(void)
{
	static char name[] = "/tmp/pfm.map.XXXXXX";
	int fd;

	hardware = access("/sys/bus/event_source/devices/armv8_pmuv3", F_OK) == 0;
	unit = hardware ? 1000 : 1;
	/* CPU_CYCLES; page faults */
	main_event = (uint64_t)1 << NOT_IN_KERNEL | (hardware ? 0x11 : 2);
	/* INST_RETIRED; minor faults */
	other_event = (uint64_t)1 << NOT_IN_KERNEL | (hardware ? 0x08 : 5);
	if (hardware || (access("/sys/bus/event_source/devices/cpu", F_OK) && access("/sys/bus/event_source/devices/cpu_core", F_OK)))
		return;
	fd = mkstemp(name);
	if (fd < 0 || write(fd, software_map, sizeof(software_map) - 1) != (long)sizeof(software_map) - 1)
		puts("Bail out! cannot create the register table");
	close(fd);
	setenv("GPUSTAT_PMU_MAP", name, 1);
}

UNUSED static const char *map_file(const char *text)
{
	static char name[64];
	int fd;

	strcpy(name, "/tmp/pfm.own.XXXXXX");
	fd = mkstemp(name);
	if (fd < 0 || write(fd, text, strlen(text)) != (long)strlen(text))
		puts("Bail out! cannot create a file");
	close(fd);
	return name;
}

/* Runs a test in a child process: exit status 0 is passed, 77 is skipped. */
UNUSED static void ok_child(int (*test)(void), const char *name, const char *why)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(PATIENCE);
		_exit(test());
	}
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(name, why);
	else if (!ok(status == 0, name))
		printf("# status %#x\n", (unsigned)status);
}

/* A child that works on request. */
struct worker {
	pid_t pid;
	int to, from;
};

UNUSED static struct worker worker_start(int cpu)
{
	struct worker w = { -1, -1, -1 };
	int to[2], from[2];
	long n;
	char c = 0;

	if (pipe(to) || pipe(from))
		return w;
	fflush(stdout);
	w.pid = fork();
	if (w.pid == 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		if (cpu >= 0)
			sched_setaffinity(0, sizeof(set), &set);
		alarm(PATIENCE);
		close(to[1]);
		close(from[0]);
		work(3); /* its pages have been touched */
		if (write(from[1], &c, 1) != 1)
			_exit(1);
		while (read(to[0], &n, sizeof(n)) == sizeof(n)) {
			work(n);
			if (write(from[1], &c, 1) != 1)
				_exit(1);
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	w.to = to[1];
	w.from = from[0];
	if (read(w.from, &c, 1) != 1)
		w.pid = -1;
	return w;
}

UNUSED static int worker_work(const struct worker *w, long n)
{
	char c;

	return write(w->to, &n, sizeof(n)) == sizeof(n) && read(w->from, &c, 1) == 1;
}

UNUSED static void worker_end(const struct worker *w)
{
	close(w->to);
	waitpid(w->pid, NULL, 0);
	close(w->from);
}

#endif
