/* sys.h - all system calls of the program. Each function returns the value of its call or -errno;
 * no other file makes system calls or reads errno. SPDX-License-Identifier: MIT */
#ifndef SYS_H
#define SYS_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/auxvec.h>
#include <linux/magic.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

/* Major device numbers, from Documentation/admin-guide/devices.txt of the kernel. The kernel's
 * headers for user space have no names for these numbers. */
#define MAJOR_NVIDIA 195u
#define MAJOR_DRM    226u
#define MAJOR_ACCEL  261u

/* number of the file system type of /proc (statfs(2)), missing in older linux/magic.h headers */
#ifndef PROC_SUPER_MAGIC
#define PROC_SUPER_MAGIC 0x9fa0
#endif
#ifndef SYSFS_MAGIC /* file system's number, missing in older linux/magic.h headers */
#define SYSFS_MAGIC 0x62656572
#endif

/* system call number of pidfd_send_signal(2), missing in headers before Linux 5.1 */
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
/* CLONE_PIDFD: a flag of clone(2), added to linux/sched.h in Linux 5.2 and ignored by older
 * kernels */
#ifndef CLONE_PIDFD
#define CLONE_PIDFD 0x1000
#endif
/* system call number of pidfd_open(2), the same on all architectures except alpha
 * (asm-generic/unistd.h) */
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
/* system call number of pidfd_getfd(2), missing in headers before Linux 5.6 */
#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd 438
#endif
/* PERF_FORMAT_LOST: constant of linux/perf_event.h, missing in headers before Linux 6.0 */
#ifndef PERF_FORMAT_LOST
#define PERF_FORMAT_LOST 16
#endif

/* ENOTSUPP: error number that i915 returns; linux/errno.h of the kernel has it, but the headers for
 * user space do not */
#ifndef ENOTSUPP
#define ENOTSUPP 524
#endif
/* system call number of faccessat2(2), missing in headers before Linux 5.8 */
#ifndef SYS_faccessat2
#define SYS_faccessat2 439
#endif

/* Defines a function in this header that many files call. The function is weak: the linker keeps
 * one copy, and prefers the function of the same name in sources/os/trace.c if that file is
 * linked. */
#define SYS_SHARED(type, name, ...)                                                                \
	__attribute__((weak)) type name(__VA_ARGS__);                                              \
	__attribute__((weak)) type name(__VA_ARGS__)

/* Returns the result of a libc call, or -errno if the call failed. */
SYS_SHARED(long, sys_ret, long r)
{
	return r < 0 ? -errno : r;
}
#define SYS_RET(call) return sys_ret((long)(call))

SYS_SHARED(long, sys_openat, int dir, const char *path, int flags)
{
	SYS_RET(openat(dir, path, flags | O_CLOEXEC));
}

SYS_SHARED(long, sys_openat_new, const char *path, int flags, mode_t mode)
{
	SYS_RET(openat(AT_FDCWD, path, flags | O_CLOEXEC, mode));
}

/* Creates a file and returns its descriptor, or -errno: -EEXIST if the file exists. */
static inline long sys_create_at(int dir, const char *name, mode_t mode)
{
	SYS_RET(openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
}

static inline long sys_rename_at(int dir, const char *from, const char *to)
{
/* direct system call: libc declares renameat() in stdio.h, which is not included */
#ifdef SYS_renameat
	SYS_RET(syscall(SYS_renameat, dir, from, dir, to));
#else
	SYS_RET(syscall(SYS_renameat2, dir, from, dir, to, 0));
#endif
}

static inline long sys_unlink_at(int dir, const char *name)
{
	SYS_RET(unlinkat(dir, name, 0));
}

static inline long sys_fchmod(int fd, mode_t mode)
{
	/* direct system call: libc's fchmod() has a fallback that opens /proc */
	SYS_RET(syscall(SYS_fchmod, fd, mode));
}

SYS_SHARED(long, sys_close, int fd)
{
	SYS_RET(close(fd));
}

SYS_SHARED(long, sys_read, int fd, void *b, size_t n)
{
	SYS_RET(read(fd, b, n));
}

/* Sets the offset of fd, and returns the new offset or -errno. Both have 64 bits on all
 * architectures, because an offset in a folder may exceed a long of 32 bits. */
static inline int64_t sys_lseek(int fd, int64_t at, int whence)
{
	int64_t r = lseek(fd, at, whence);

	return r < 0 ? -errno : r;
}

SYS_SHARED(long, sys_pread, int fd, void *b, size_t n, uint64_t at)
{
	SYS_RET(pread(fd, b, n, (off_t)at));
}

SYS_SHARED(long, sys_write, int fd, const void *b, size_t n)
{
	SYS_RET(write(fd, b, n));
}

static inline long sys_uname(struct utsname *name)
{
	SYS_RET(uname(name));
}

SYS_SHARED(long, sys_fstatat, int dir, const char *path, struct stat *st)
{
	SYS_RET(fstatat(dir, path, st, 0));
}

/* struct statx of linux/stat.h, which is the same on all architectures. */
struct sys_statx {
	uint32_t head[7];
	uint16_t mode, pad;
	uint64_t rest[12];
	/* major and minor numbers: rdev of a device node, dev of its file system (0:0 if
	 * unknown) */
	uint32_t rdev[2], dev[2];
	uint64_t more[14];
};

/* Reads the type, inode and device numbers of a file from the kernel's cache. fstatat(2) would ask
 * the file system, and a FUSE or NFS server may never answer. path "" means dir itself. Linux
 * before 4.11 has no statx(2); fstatat(2) is used there. */
SYS_SHARED(long, sys_stat_cached, int dir, const char *path, struct sys_statx *k)
{
	/* flags 0x5800: AT_STATX_DONT_SYNC, AT_NO_AUTOMOUNT, AT_EMPTY_PATH; mask 1: STATX_TYPE */
	long r = syscall(SYS_statx, dir, path, 0x5800, 1, k);
	struct stat st;

	if (r < 0 && errno == ENOSYS && (r = fstatat(dir, path, &st, 0x1000)) == 0) {
		k->mode = (uint16_t)st.st_mode;
		k->rdev[0] = major(st.st_rdev);
		k->rdev[1] = minor(st.st_rdev);
		k->dev[0] = k->dev[1] = 0;
	}
	SYS_RET(r);
}

/* sys_lstat_at() and sys_lstat() read the attributes of a file, and do not follow a symbolic
 * link. */
static inline long sys_lstat_at(int dir, const char *path, struct stat *st)
{
	SYS_RET(fstatat(dir, path, st, AT_SYMLINK_NOFOLLOW));
}

static inline long sys_lstat(const char *path, struct stat *st)
{
	return sys_lstat_at(AT_FDCWD, path, st);
}

SYS_SHARED(int, sys_has_file, int dir, const char *name)
{
	/* Direct system call, because libc's faccessat() contains code that starts a process. After
	 * ENOMEM or EIO the file may exist; the caller will see when it opens the file. */
	return syscall(SYS_faccessat, dir, name, F_OK) == 0 || errno == ENOMEM || errno == EIO;
}

SYS_SHARED(long, sys_fstat, int fd, struct stat *st)
{
	SYS_RET(fstat(fd, st));
}

static inline int sys_is_regular(int fd)
{
	struct stat st;

	return fstat(fd, &st) < 0 || S_ISREG(st.st_mode);
}

static inline uint32_t sys_euid(void)
{
	return geteuid();
}

static inline uint32_t sys_pid(void)
{
	return (uint32_t)getpid();
}

/* The capability sets of a thread, as capget(2) stores them: an array of two elements, each with 32
 * capabilities (linux/capability.h). */
struct sys_caps {
	uint32_t effective, permitted, inheritable;
};
struct sys_caphead {
	uint32_t version;
	int pid;
};
#define SYS_CAPHEAD &(struct sys_caphead){ 0x20080522, 0 } /* _LINUX_CAPABILITY_VERSION_3 */

static inline long sys_capget(struct sys_caps caps[2])
{
	SYS_RET(syscall(SYS_capget, SYS_CAPHEAD, caps));
}

static inline long sys_capset(const struct sys_caps caps[2])
{
	SYS_RET(syscall(SYS_capset, SYS_CAPHEAD, caps));
}

/* Some 32-bit architectures have setresuid32(2) and setresgid32(2), because their setresuid(2) and
 * setresgid(2) have ids of only 16 bits. */
#ifndef SYS_setresuid32
#define SYS_setresuid32 SYS_setresuid
#define SYS_setresgid32 SYS_setresgid
#endif

/* Sets the real, effective and saved user and group ids, permanently. The permitted capabilities
 * are kept. Direct system calls: libc's functions would link code that changes all threads. */
static inline long sys_set_ids(uint32_t uid, uint32_t gid)
{
	long r = prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);

	if (r == 0)
		r = syscall(SYS_setresgid32, gid, gid, gid);
	if (r == 0)
		r = syscall(SYS_setresuid32, uid, uid, uid);
	r = sys_ret(r);
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	return r;
}

static inline long sys_pidfd_open(uint32_t pid)
{
	SYS_RET(syscall(SYS_pidfd_open, (pid_t)pid, 0));
}

static inline long sys_pidfd_signal(int pidfd, int sig)
{
	SYS_RET(syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0));
}

/* Duplicates the descriptor fd of the process to which pidfd refers. Returns the new descriptor, or
 * -errno. */
static inline long sys_pidfd_getfd(int pidfd, uint32_t fd)
{
	SYS_RET(syscall(SYS_pidfd_getfd, pidfd, (int)fd, 0));
}

static inline long sys_fstatfs(int fd, struct statfs *st)
{
	SYS_RET(fstatfs(fd, st));
}

static inline long sys_statfs(const char *path, struct statfs *st)
{
	SYS_RET(statfs(path, st));
}

/* Returns 0 if the effective user, with the program's capabilities, has the access `mode` to the
 * file, else -errno. The file is not opened. Before Linux 5.8 faccessat(2) is used, which checks
 * the real user and ignores capabilities. */
static inline long sys_faccess(int dir, const char *path, int mode)
{
	long r = syscall(SYS_faccessat2, dir, path, mode, AT_EACCESS);

	if (r < 0 && errno == ENOSYS)
		r = syscall(SYS_faccessat, dir, path, mode);
	SYS_RET(r);
}

SYS_SHARED(long, sys_readlinkat, int dir, const char *path, char *b, size_t n)
{
	SYS_RET(readlinkat(dir, path, b, n));
}

static inline long sys_getdents(int fd, void *b, size_t n)
{
	/* direct system call: the C libraries have different names for the function getdents64() */
	SYS_RET(syscall(SYS_getdents64, fd, b, n));
}

/* Returns the current time of a clock in ns. */
SYS_SHARED(int64_t, sys_now, clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_gettime(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Stores the user and system CPU time of all children that this process has waited for, in ns, in
 * *user and *system. Returns 0 or -errno. */
static inline long sys_rusage_children(uint64_t *user, uint64_t *system)
{
	struct { long us, uus, ss, sus, rest[14]; } r; /* the kernel's struct rusage */

	if (syscall(SYS_getrusage, RUSAGE_CHILDREN, &r) < 0)
		return -errno;
	*user = (uint64_t)r.us * 1000000000 + (uint64_t)r.uus * 1000;
	*system = (uint64_t)r.ss * 1000000000 + (uint64_t)r.sus * 1000;
	return 0;
}

/* Sleeps until the time *t of CLOCK_MONOTONIC, or until a signal arrives. A signal handler may
 * change *t. */
static inline void sys_sleep_at(const struct timespec volatile *t)
{
	union {
		const struct timespec volatile *handlers;
		const struct timespec *kernels;
	} until = { t };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, until.kernels, NULL);
}

/* Requests a SIGALRM after ns nanoseconds. If ns is less than 1000 (even negative), the timer is
 * set to 1 us, because a timer of 0 would be stopped. */
static inline long sys_alarm(int64_t ns)
{
	int64_t us = ns < 1000 ? 1 : ns / 1000;
	struct itimerval t = {
		.it_value = { .tv_sec = (time_t)(us / 1000000), .tv_usec = us % 1000000 }
	};

	SYS_RET(setitimer(ITIMER_REAL, &t, NULL));
}

/* Returns the number of columns of the terminal fd: 0 if the terminal does not report its size;
 * -errno if fd is not a terminal. */
static inline long sys_columns(int fd)
{
	struct winsize w = { 0 };
	long r = ioctl(fd, TIOCGWINSZ, &w);

	return r < 0 ? -errno : w.ws_col;
}

/* Stores the numbers of rows and columns of the terminal fd in *rows and *cols; both are 0 if the
 * terminal reports no size. */
static inline long sys_window(int fd, unsigned *rows, unsigned *cols)
{
	struct winsize w = { 0 };
	long r = ioctl(fd, TIOCGWINSZ, &w);

	*rows = w.ws_row;
	*cols = w.ws_col;
	return r < 0 ? -errno : 0;
}

/* Stores the terminal attributes (struct termios) of the terminal fd in *t. */
static inline long sys_termios(int fd, struct termios *t)
{
	SYS_RET(ioctl(fd, TCGETS, t));
}

static inline long sys_set_termios(int fd, const struct termios *t)
{
	/* direct system call: on powerpc, bit 31 of TCSETS is set, so its value exceeds the type
	 * int of musl's ioctl(int, int, ...) */
	SYS_RET(syscall(SYS_ioctl, fd, TCSETS, t));
}

struct sys_limit {
	uint64_t soft, hard;
};

static inline void sys_set_nofile(const struct sys_limit *l)
{
	syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, l, NULL);
}

/* Raises the soft limit on open descriptors to the hard limit. Returns the new soft limit, or
 * -errno, and stores the previous limits in *was. Direct system call, because libc's setrlimit()
 * would link code that changes all threads. */
static inline long sys_raise_nofile(struct sys_limit *was)
{
	struct sys_limit l;

	if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &l) < 0)
		return -errno;
	*was = l;
	if (l.soft < l.hard) {
		uint64_t soft = l.soft;

		l.soft = l.hard;
		if (syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &l, NULL) < 0)
			l.soft = soft;
	}
	return l.soft > INT32_MAX ? INT32_MAX : (long)l.soft;
}

/* A struct perf_event_attr with all fields of newer kernels, even if the headers of the build
 * machine are older: config3 is word 16 (added in Linux 6.3), config4 word 17. A kernel accepts a
 * structure that is longer than its own if the rest is zero. */
union evattr {
	struct perf_event_attr a;
	uint64_t w[18];
};
enum { EVATTR_CONFIG3 = 16 };

/* Opens a perf event. Returns its descriptor, or -errno. -E2BIG: attr has a field set that this
 * kernel does not know. */
static inline long sys_perf_open(union evattr *attr, int pid, int cpu, int group,
				 unsigned long flags)
{
	attr->a.size = sizeof(attr->w);
	SYS_RET(syscall(SYS_perf_event_open, attr, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC));
}

/* struct drm_version of <drm/drm.h>: version, name, date and description of a DRM driver. The
 * caller allocates the texts, whose sizes are n, date_n and text_n. */
struct drm_name {
	int major, minor, patch;
	size_t n;
	char *name;
	size_t date_n;
	char *date;
	size_t text_n;
	char *text;
};
#define DRM_VERSION _IOWR('d', 0x00, struct drm_name)

/* Calls ioctl(2) for a DRM device, as libdrm's drmIoctl() does: repeats the request if a signal
 * interrupted it or the driver was busy (EINTR, EAGAIN). */
SYS_SHARED(long, sys_drm, int fd, unsigned long request, void *arg)
{
	/* limits how often the ioctl(2) is repeated, so that a driver that is always busy does not
	 * block the program */
	int left = 1000;
	long r;

	do
		/* direct system call: the C libraries declare ioctl() with different types */
		r = syscall(SYS_ioctl, fd, request, arg);
	while (r < 0 && (errno == EINTR || errno == EAGAIN) && --left);
	SYS_RET(r);
}

/* Calls fcntl(2) directly. It cannot be used for commands with a struct flock, which need libc's
 * function. */
SYS_SHARED(long, sys_fcntl, int fd, int cmd, long arg)
{
#ifdef SYS_fcntl
	SYS_RET(syscall(SYS_fcntl, fd, cmd, arg));
#else
	SYS_RET(syscall(SYS_fcntl64, fd, cmd, arg));
#endif
}

static inline long sys_nonblock(int fd)
{
	return sys_fcntl(fd, F_SETFL, O_NONBLOCK);
}

static inline long sys_ioctl(int fd, unsigned long request, unsigned long arg)
{
	SYS_RET(syscall(SYS_ioctl, fd, request, arg));
}

/* Waits until a descriptor of fds[] is ready, until a signal outside *mask arrives, or until the
 * time t of CLOCK_MONOTONIC in ns; if t is negative, there is no time limit. Returns the result of
 * ppoll(2), or -errno. */
SYS_SHARED(long, sys_poll_until, struct pollfd *fds, size_t n, int64_t t, const sigset_t *mask)
{
	struct timespec ts = { 0 };

	if (t >= 0) {
		struct timespec now = { 0 };
		int64_t left;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left = t - ((int64_t)now.tv_sec * 1000000000 + now.tv_nsec);
		if (left > 0)
			ts = (struct timespec){ .tv_sec = (time_t)(left / 1000000000),
						.tv_nsec = (long)(left % 1000000000) };
	}
	SYS_RET(ppoll(fds, n, t >= 0 ? &ts : NULL, mask));
}

/* Blocks the n signals in sigs[], and stores the previous signal mask in *was. */
static inline long sys_block(const int *sigs, size_t n, sigset_t *was)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, sigs[i]);
	SYS_RET(sigprocmask(SIG_BLOCK, &set, was));
}

/* Makes the kernel send the signal sig whenever fd becomes ready: to a process (how: F_SETOWN), or
 * to an owner (F_SETOWN_EX, whom: address of a struct f_owner_ex). The signal's si_fd is fd. */
SYS_SHARED(long, sys_set_owner, int fd, int sig, int how, long whom)
{
	long r = sys_fcntl(fd, F_SETSIG, sig);

	return r < 0 ? r : sys_fcntl(fd, how, whom);
}

/* Sets the file status flags in `set` and clears those in `clear` for the descriptor fd. */
static inline long sys_set_flags(int fd, int set, int clear)
{
	long flags = sys_fcntl(fd, F_GETFL, 0);

	return flags < 0 ? flags : sys_fcntl(fd, F_SETFL, (flags & ~clear) | set);
}

static inline int sys_tid(void)
{
	return (int)syscall(SYS_gettid);
}

/* Sets the timer slack of this process in ns: how late its timers may expire. The kernel uses it to
 * combine wake-ups. */
static inline long sys_timer_slack(int64_t ns)
{
	SYS_RET(prctl(PR_SET_TIMERSLACK, (unsigned long)ns, 0, 0, 0));
}

/* Makes the kernel send SIGKILL to this process when its parent ends. Returns the parent's pid; if
 * the parent has ended already, this is the pid of another process. */
static inline int sys_die_with_parent(void)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	return getppid();
}

/* Creates an inotify(7) instance and returns its descriptor, of which reads do not block. */
static inline long sys_inotify(void)
{
	SYS_RET(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

static inline long sys_inotify_add(int fd, const char *path, uint32_t mask)
{
	SYS_RET(inotify_add_watch(fd, path, mask));
}

static inline long sys_prctl(int what)
{
	SYS_RET(prctl(what, 0, 0, 0, 0));
}

/* Calls clone(2) with these CLONE_* flags and without shared memory, so that the child is a copy of
 * the process. The child may only make system calls. With CLONE_PIDFD, the child's pidfd is stored
 * in *pidfd; otherwise pidfd is NULL. */
static inline long sys_fork(int flags, int *pidfd)
{
#ifdef __s390x__ /* clone(2): on this architecture the stack is the first argument */
	SYS_RET(syscall(SYS_clone, 0, flags | SIGCHLD, pidfd, 0, 0));
#else
	SYS_RET(syscall(SYS_clone, flags | SIGCHLD, 0, pidfd, 0, 0));
#endif
}

/* Opens a pipe with O_CLOEXEC. Direct system call, because libc's pipe2() contains a fallback for
 * kernels before 2.6.27. */
static inline long sys_pipe(int fds[2])
{
	SYS_RET(syscall(SYS_pipe2, fds, O_CLOEXEC));
}

/* Creates a socket of this type and connects it to an address of n bytes. Returns its descriptor,
 * or -errno. */
static inline long sys_socket_to(const struct sockaddr *to, socklen_t n, int type)
{
	int fd = socket(to->sa_family, type | SOCK_CLOEXEC, 0);
	long r = fd < 0 || connect(fd, to, n) < 0 ? -errno : fd;

	if (r < 0 && fd >= 0)
		close(fd);
	return r;
}

/* Returns 1 if fd is a socket that listens for connections, 0 if it is another socket, -errno if it
 * is no socket. */
static inline long sys_is_listening(int fd)
{
	int is = 0;
	socklen_t n = sizeof(is);
	int r = getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &is, &n);

	return r < 0 ? -errno : is;
}

/* Ends sending on a socket: the peer will see the end of the data. */
static inline long sys_shutdown(int fd)
{
	SYS_RET(shutdown(fd, SHUT_WR));
}

/* Makes this process a subreaper: descendants whose parent has ended become its children (since
 * Linux 3.4). */
static inline void sys_subreaper(void)
{
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* Replaces this process by the program argv[0], which is searched in PATH, with the signal mask
 * *mask. Returns only if this fails: -errno. */
static inline long sys_exec(char **argv, const sigset_t *mask)
{
	sigprocmask(SIG_SETMASK, mask, NULL);
	SYS_RET(execvp(argv[0], argv));
}

SYS_SHARED(long, sys_kill, int pid, int sig)
{
	SYS_RET(kill(pid, sig));
}

/* Returns the child's pid if the child has ended, 0 if it still runs, or -errno. */
static inline long sys_wait(int pid, int *status, struct rusage *usage)
{
	SYS_RET(wait4(pid, status, WNOHANG, usage));
}

/* Waits until the child has ended. Returns its pid, or -errno. */
static inline long sys_wait_end(int pid, int *status)
{
	SYS_RET(wait4(pid, status, 0, NULL));
}

/* Installs a signal handler that remains installed after a signal was delivered. Returns 1 if the
 * signal was ignored before, else 0. */
static inline int sys_signal_persistent(int sig, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler }, was;

	return sigaction(sig, &sa, &was) == 0 && was.sa_handler == SIG_IGN;
}

/* Installs a handler for a signal, unless the signal was ignored when the program started (as
 * nohup(1) does): it stays ignored then. */
SYS_SHARED(long, sys_signal_unless_ignored, int sig, struct sigaction *sa)
{
	struct sigaction was;
	long r = sigaction(sig, sa, &was);

	if (r == 0 && was.sa_handler == SIG_IGN)
		r = sigaction(sig, &was, NULL);
	SYS_RET(r);
}

/* Installs a signal handler like sys_signal_unless_ignored(). The handler gets a siginfo_t, which
 * has the pid of the sender. */
static inline long sys_signal_info(int sig, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction sa = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO };

	return sys_signal_unless_ignored(sig, &sa);
}

static inline int sys_is_open(int fd)
{
	return sys_fcntl(fd, F_GETFD, 0) >= 0;
}

static inline long sys_eventfd(void)
{
	SYS_RET(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

static inline void sys_ignore(int sig)
{
	struct sigaction sa = { .sa_handler = SIG_IGN };

	sigaction(sig, &sa, NULL);
}

static inline void sys_default(int sig)
{
	struct sigaction sa = { .sa_handler = SIG_DFL };

	sigaction(sig, &sa, NULL);
}

/* Returns 1 if a write to fd would not block, else 0. */
static inline int sys_is_writable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 0) > 0 && p.revents & POLLOUT;
}

/* Returns the resolution of a clock in ns. */
static inline int64_t sys_clock_resolution(clockid_t clock)
{
	struct timespec ts = { 0 };

	clock_getres(clock, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

/* Installs a handler for the signal sig that is used once: at its first delivery it interrupts
 * system calls and is removed, so that a second signal kills the process. A signal that was ignored
 * when the program started stays ignored. */
static inline long sys_signal(int sig, void (*handler)(int))
{
	struct sigaction sa = { .sa_handler = handler, .sa_flags = (int)SA_RESETHAND };

	return sys_signal_unless_ignored(sig, &sa);
}

/* Sets the FPU of an i387 to round results to double precision, as other architectures do. By
 * default it keeps 11 more bits, and rounds twice when a result is stored. */
static inline void sys_fpu_double(void)
{
#if defined(__i386__) && !defined(__SSE2_MATH__)
	/* FPU control word: all exceptions masked, 53 bits of precision, round to nearest */
	uint16_t control = 0x27f;

	__asm__ volatile("fldcw %0" : : "m"(control));
#endif
}

/* --- mutex: algorithm 2 of Drepper, "Futexes Are Tricky"; the value 0 means free -------------- */

static inline void sys_lock(int *l)
{
	int was = 0;

	if (__atomic_compare_exchange_n(l, &was, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(l, 2, __ATOMIC_ACQUIRE) != 0)
		syscall(SYS_futex, l, 128 /* FUTEX_WAIT_PRIVATE */, 2, NULL, NULL, 0);
}

static inline void sys_unlock(int *l)
{
	if (__atomic_exchange_n(l, 0, __ATOMIC_RELEASE) == 2)
		syscall(SYS_futex, l, 129 /* FUTEX_WAKE_PRIVATE */, 1, NULL, NULL, 0);
}

/* Stores the set of CPUs on which this process may run in the n bytes at cpus: CPU i is bit i % 8
 * of byte i / 8, because all supported architectures are little-endian. Returns the number of bytes
 * stored, or -errno. */
static inline long sys_affinity(void *cpus, size_t n)
{
	SYS_RET(syscall(SYS_sched_getaffinity, 0, n, cpus));
}

static inline void sys_yield(void)
{
	syscall(SYS_sched_yield);
}

/* --- Landlock and seccomp --------------------------------------------------------------------- */

#ifdef __mips__
#define SYS_LANDLOCK 4444
#else
/* system call number of landlock_create_ruleset(2), since Linux 5.13; landlock_add_rule(2) and
 * landlock_restrict_self(2) have the next two numbers. Some architectures add an offset. */
#define SYS_LANDLOCK 444
#endif
/* SECCOMP_SET_MODE_FILTER: constant of linux/seccomp.h, missing in older headers */
#ifndef SECCOMP_SET_MODE_FILTER
#define SECCOMP_SET_MODE_FILTER 1
#endif

/* struct landlock_ruleset_attr of linux/landlock.h: the rights that a ruleset handles. A kernel
 * that knows a shorter structure requires that the members it does not know are 0. */
struct landlock_rights {
	uint64_t files, tcp, scopes;
};

/* Returns the version of the Landlock ABI, or -errno. */
static inline long sys_landlock_abi(void)
{
	SYS_RET(syscall(SYS_LANDLOCK, NULL, 0, 1 /* LANDLOCK_CREATE_RULESET_VERSION */));
}

/* Creates a Landlock ruleset that denies the rights in *r, except as sys_landlock_allow() allows.
 * Returns the ruleset's descriptor, or -errno. */
static inline long sys_landlock(const struct landlock_rights *r)
{
	SYS_RET(syscall(SYS_LANDLOCK, r, sizeof(*r), 0));
}

/* Adds an exception to a Landlock ruleset: allows the rights `rights` for the file fd, or for the
 * folder fd and all files below it. */
static inline long sys_landlock_allow(int rules, int fd, uint64_t rights)
{
	struct { uint64_t rights; int32_t fd; } __attribute__((packed)) beneath = { rights, fd };

	SYS_RET(syscall(SYS_LANDLOCK + 1, rules, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &beneath, 0));
}

static inline long sys_landlock_enter(int rules)
{
	SYS_RET(syscall(SYS_LANDLOCK + 2, rules, 0));
}

/* Ensures that a program which this process executes does not get more privileges, for example by a
 * set-user-ID bit. The kernel requires this call before a process without CAP_SYS_ADMIN installs a
 * seccomp filter or a Landlock ruleset. */
static inline void sys_no_new_privs(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* Installs a seccomp filter of n BPF instructions. Until Linux 5.15, a filter restricts the CPU's
 * speculation, which slows the process down, unless SECCOMP_FILTER_FLAG_SPEC_ALLOW (since Linux
 * 4.17) is set. That restriction is meant for programs that execute code of others. */
static inline long sys_seccomp(const void *code, unsigned short n)
{
	struct { unsigned short n; const void *code; } prog = { n, code }; /* struct sock_fprog */
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
			 4 /* SECCOMP_FILTER_FLAG_SPEC_ALLOW */, &prog);

	if (r < 0 && errno == EINVAL)
		r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
	SYS_RET(r);
}

/* Calls bpf(2) with the command cmd. attr is the part of union bpf_attr that the command uses, of n
 * bytes. BPF iterators exist since Linux 5.8. */
static inline long sys_bpf(int cmd, void *attr, unsigned n)
{
	SYS_RET(syscall(SYS_bpf, cmd, attr, n));
}

/* --- mapping of perf ring buffers, of files and of memory ------------------------------------- */

/* Maps n bytes of the file or device fd, shared with the kernel. Returns their address; on failure
 * returns NULL and stores -errno in *error. */
static inline void *sys_mmap(int fd, size_t n, long *error)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*error = p == MAP_FAILED ? -errno : 0;
	return p == MAP_FAILED ? NULL : p;
}

/* Maps a whole file for reading, and closes fd. The mapping is kept until the process ends. Stores
 * the start and the end of the mapping in *p and *e, or NULL if the file is empty. Returns 0 or
 * -errno; -EFBIG if the file exceeds the address space. */
static inline long sys_map(int fd, const char **p, const char **e)
{
	struct stat st;
	char *map = NULL;
	long error = sys_fstat(fd, &st);

	if (!error && (uint64_t)st.st_size > PTRDIFF_MAX)
		error = -EFBIG;
	if (!error && st.st_size) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		error = map == MAP_FAILED ? -errno : 0;
	}
	sys_close(fd);
	*p = *e = error ? NULL : map;
	if (!error && map)
		*e = map + st.st_size;
	return error;
}

/* Calls mmap(2) with these arguments. On failure returns MAP_FAILED and stores -errno in *error. */
static inline void *sys_mmap_at(void *at, size_t n, int prot, int flags, int fd, off_t offset,
				long *error)
{
	void *p = mmap(at, n, prot, flags, fd, offset);

	*error = p == MAP_FAILED ? -errno : 0;
	return p;
}

/* Reserves n bytes of address space without memory, which will never use huge pages. Returns its
 * address, or NULL on failure. */
static inline void *sys_reserve(size_t n)
{
	void *p = mmap(NULL, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* madvise(2) fails with EINVAL if the kernel has no huge pages, which is no error here */
	madvise(p, n, MADV_NOHUGEPAGE);
	return p;
}

/* Makes n bytes of reserved address space, from p on, readable and writable. Returns 0 or
 * -errno. */
static inline long sys_commit(void *p, size_t n)
{
	SYS_RET(mprotect(p, n, PROT_READ | PROT_WRITE));
}

/* --- calls of libperfmon2 --------------------------------------------------------------------- */

static inline long sys_memfd(const char *name)
{
	/* direct system call: older C libraries have no memfd_create() */
	SYS_RET(syscall(SYS_memfd_create, name, 1 /* MFD_CLOEXEC */));
}

static inline long sys_ftruncate(int fd, size_t n)
{
	SYS_RET(ftruncate(fd, (off_t)n));
}

/* Creates a pair of connected sockets that preserve message boundaries (SOCK_SEQPACKET). Returns 0
 * or -errno. */
static inline long sys_seqpacket(int fds[2])
{
	SYS_RET(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds));
}

/* sys_send() and sys_recv() never block, and a send to a closed peer raises no SIGPIPE. They return
 * the number of bytes, or -errno. */
static inline long sys_send(int fd, const void *b, size_t n)
{
	SYS_RET(send(fd, b, n, MSG_DONTWAIT | MSG_NOSIGNAL));
}

static inline long sys_recv(int fd, void *b, size_t n)
{
	SYS_RET(recv(fd, b, n, MSG_DONTWAIT));
}

/* Returns the number of the CPU on which this thread runs, or -errno. */
static inline long sys_cpu(void)
{
	unsigned cpu = 0;
	long r = syscall(SYS_getcpu, &cpu, NULL, NULL);

	return r < 0 ? -errno : (long)cpu;
}

/* Blocks all signals of the calling thread, and stores its previous signal mask in *was, for
 * sys_unblock(). */
static inline void sys_block_all(sigset_t *was)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, was);
}

static inline void sys_unblock(const sigset_t *was)
{
	sigprocmask(SIG_SETMASK, was, NULL);
}

static inline long sys_munmap(void *p, size_t n)
{
	SYS_RET(munmap(p, n));
}

static inline long sys_pwrite(int fd, const void *b, size_t n, uint64_t at)
{
	SYS_RET(pwrite(fd, b, n, (off_t)at));
}

/* getauxval() is declared here, because glibc's sys/auxv.h includes elf.h, which would define many
 * other names. */
unsigned long getauxval(unsigned long type);

static inline size_t sys_page_size(void)
{
	return getauxval(AT_PAGESZ);
}

#endif
