/* sys.h - the only door to the kernel. Each call returns its value or -errno; no other file enters
 * the kernel or reads errno. SPDX-License-Identifier: MIT */
#ifndef SYS_H
#define SYS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

/* Documentation/admin-guide/devices.txt; the Linux headers for programs name none of them. */
#define MAJOR_NVIDIA 195u
#define MAJOR_DRM    226u
#define MAJOR_ACCEL  261u

#ifndef PROC_SUPER_MAGIC /* linux/magic.h */
#define PROC_SUPER_MAGIC 0x9fa0
#endif
#ifndef SYSFS_MAGIC /* linux/magic.h */
#define SYSFS_MAGIC 0x62656572
#endif

#ifndef SYS_pidfd_open /* asm-generic/unistd.h: the same number everywhere but on alpha */
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_getfd /* Linux 5.6 */
#define SYS_pidfd_getfd 438
#endif

#define SYS_RET(call)                                                                              \
	do {                                                                                       \
		long r_ = (long)(call);                                                            \
		return r_ < 0 ? -errno : r_;                                                       \
	} while (0)

static inline long sys_openat(int dir, const char *path, int flags)
{
	SYS_RET(openat(dir, path, flags | O_CLOEXEC));
}

static inline long sys_close(int fd)
{
	SYS_RET(close(fd));
}

static inline long sys_read(int fd, void *b, size_t n)
{
	SYS_RET(read(fd, b, n));
}

static inline long sys_pread(int fd, void *b, size_t n, size_t at)
{
	SYS_RET(pread(fd, b, n, (off_t)at));
}

static inline long sys_write(int fd, const void *b, size_t n)
{
	SYS_RET(write(fd, b, n));
}

static inline long sys_fstatat(int dir, const char *path, struct stat *st)
{
	SYS_RET(fstatat(dir, path, st, 0));
}

static inline long sys_fstat(int fd, struct stat *st)
{
	SYS_RET(fstat(fd, st));
}

static inline uint32_t sys_euid(void)
{
	return geteuid();
}

static inline uint32_t sys_pid(void)
{
	return (uint32_t)getpid();
}

static inline long sys_pidfd_open(uint32_t pid)
{
	SYS_RET(syscall(SYS_pidfd_open, (pid_t)pid, 0));
}

/* A duplicate of another process' descriptor. */
static inline long sys_pidfd_getfd(int pidfd, uint32_t fd)
{
	SYS_RET(syscall(SYS_pidfd_getfd, pidfd, (int)fd, 0));
}

static inline long sys_fstatfs(int fd, struct statfs *st)
{
	SYS_RET(fstatfs(fd, st));
}

static inline long sys_readlinkat(int dir, const char *path, char *b, size_t n)
{
	SYS_RET(readlinkat(dir, path, b, n));
}

static inline long sys_getdents(int fd, void *b, size_t n)
{
	SYS_RET(getdents(fd, b, n));
}

/* Nanoseconds on that clock. */
static inline int64_t sys_now(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* CPU time of children that were waited for, in ns. */
static inline long sys_rusage_children(uint64_t *user, uint64_t *system)
{
	struct { long us, uus, ss, sus, rest[14]; } r; /* the kernel's struct rusage */

	if (syscall(SYS_getrusage, RUSAGE_CHILDREN, &r) < 0)
		return -errno;
	*user = (uint64_t)r.us * 1000000000 + (uint64_t)r.uus * 1000;
	*system = (uint64_t)r.ss * 1000000000 + (uint64_t)r.sus * 1000;
	return 0;
}

/* Until t on CLOCK_MONOTONIC: 0, or -EINTR when a signal came first. */
static inline long sys_sleep_until(int64_t t)
{
	struct timespec ts = { .tv_sec = (time_t)(t / 1000000000), .tv_nsec = (long)(t % 1000000000) };

	return -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* Columns of the terminal behind fd: 0 where it has no size, -errno where fd is no terminal. */
static inline long sys_columns(int fd)
{
	struct winsize w = { 0 };
	long r = ioctl(fd, TIOCGWINSZ, &w);

	return r < 0 ? -errno : w.ws_col;
}

/* Raises the soft limit on descriptors to the hard one; how many may be open then. By the system call:
 * libc's setrlimit() brings along what makes all threads do it. */
static inline long sys_raise_nofile(void)
{
	struct { uint64_t soft, hard; } l;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &l) < 0)
		return -errno;
	if (l.soft < l.hard) {
		uint64_t soft = l.soft;

		l.soft = l.hard;
		if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &l, NULL) < 0)
			l.soft = soft;
	}
	return l.soft > INT32_MAX ? INT32_MAX : (long)l.soft;
}

/* A handler for the first such signal, which interrupts system calls; the second one kills. */
static inline long sys_signal(int sig, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = (int)SA_RESETHAND };

	SYS_RET(sigaction(sig, &sa, NULL));
}

/* --- rings of perf events, and the files that describe what they say ----------------------------- */

/* n bytes that are shared with the kernel; NULL and -errno in *error where there are none. */
static inline void *sys_mmap(int fd, size_t n, long *error)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*error = p == MAP_FAILED ? -errno : 0;
	return p == MAP_FAILED ? NULL : p;
}

static inline long sys_munmap(void *p, size_t n)
{
	SYS_RET(munmap(p, n));
}

static inline long sys_pwrite(int fd, const void *b, size_t n, size_t at)
{
	SYS_RET(pwrite(fd, b, n, (off_t)at));
}

static inline size_t sys_page(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

#endif
