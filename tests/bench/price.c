/* price.c - measures the kernel's time for the system calls of a monitor.
 * SPDX-License-Identifier: MIT
 *
 *	price	prints for each call: its time in ns, the fastest of many repetitions, and the ratio
 *		to getppid(). As process 1 it first mounts /proc and /dev, and switches the
 *		machine off at the end: emulated machines are compared by the ratio only.
 *
 * The cost of a client's fdinfo also depends on its driver: here it is that of a pipe. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 40, TIMES = 200, DESCRIPTORS = 200, DIR_BYTES = 1 << 16 };

static int fds, fdinfo, notices, null, proc;
static char folder[32], file[32];
static long n_listed;

static void call_ppid(void) { syscall(SYS_getppid); }
static void call_fd(void)
{
	struct stat st;

	fstatat(fds, "100", &st, 0);
}
static void call_folder(void)
{
	struct stat st;

	fstatat(proc, folder, &st, 0);
}
static void call_open(void) { close(openat(proc, folder, O_RDONLY | O_DIRECTORY)); }
static void call_list(void)
{
	static char b[DIR_BYTES];

	lseek(fds, 0, SEEK_SET);
	n_listed = syscall(SYS_getdents64, fds, b, sizeof(b));
	syscall(SYS_getdents64, fds, b, sizeof(b));
}
static void call_pread(void)
{
	char b[4096];

	n_listed = pread(fdinfo, b, sizeof(b), 0);
}
static void call_fresh(void)
{
	char b[4096];
	int fd = openat(proc, file, O_RDONLY);

	n_listed = read(fd, b, sizeof(b));
	close(fd);
}
static void call_notice(void)
{
	char b[512];

	n_listed = read(notices, b, sizeof(b));
}
static void call_write(void) { n_listed = write(null, "0", 1); }
static void call_sleep(void)
{
	struct timespec past = { 0, 1 };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &past, NULL);
}

static const struct {
	const char *name;
	void (*call)(void);
	int parts; /* the time is divided by this */
} calls[] = {
	{ "getppid", call_ppid, 1 },
	{ "fstatat of PID/fd/N", call_fd, 1 },
	{ "getdents64 of PID/fd, per descriptor", call_list, DESCRIPTORS },
	{ "fstatat of PID/fd, the folder", call_folder, 1 },
	{ "openat and close of PID/fd", call_open, 1 },
	{ "pread of an fdinfo file that is kept open", call_pread, 1 },
	{ "openat, read, close of an fdinfo file", call_fresh, 1 },
	{ "read of inotify, no event", call_notice, 1 },
	{ "write", call_write, 1 },
	{ "clock_nanosleep until a time in the past", call_sleep, 1 },
};

/* CPU time: excludes sleeping. */
static int64_t now_ns(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static double price(void (*call)(void))
{
	int64_t best = INT64_MAX;

	for (int k = 0; k < TURNS; k++) {
		int64_t from = now_ns(), took;

		for (int i = 0; i < TIMES; i++)
			call();
		took = now_ns() - from;
		best = took < best ? took : best;
	}
	return (double)best / TIMES;
}

int main(void)
{
	bool first = getpid() == 1;
	struct utsname u;
	int ends[2];
	double one = 0;

	if (first) {
		mkdir("/proc", 0755);
		mkdir("/dev", 0755);
		if (mount("proc", "/proc", "proc", 0, NULL) || mount("dev", "/dev", "devtmpfs", 0, NULL))
			return 1;
	}
	if (uname(&u) || pipe(ends))
		return 1;
	for (int fd = ends[1]; fd < DESCRIPTORS - 1;)
		if ((fd = dup(ends[0])) < 0)
			return 1;
	snprintf(folder, sizeof(folder), "%ld/fd", (long)getpid());
	snprintf(file, sizeof(file), "%ld/fdinfo/100", (long)getpid());
	proc = open("/proc", O_RDONLY | O_DIRECTORY);
	fds = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	fdinfo = open("/proc/self/fdinfo/100", O_RDONLY);
	notices = inotify_init1(IN_NONBLOCK);
	null = open("/dev/null", O_WRONLY);
	printf("Linux %s %s\n", u.release, u.machine);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		double ns = price(calls[i].call) / calls[i].parts;

		one = i ? one : ns;
		printf("%-44s %8.0f ns %6.1f getppid\n", calls[i].name, ns, ns / one);
	}
	fflush(stdout);
	if (first)
		reboot(RB_POWER_OFF);
	return 0;
}
