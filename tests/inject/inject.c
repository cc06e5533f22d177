/* inject.c - fault injection: makes one system call of the program fail. It is linked between the
 * program and libc (ld's --wrap) and runs main() once for each case that it reads, in a forked
 * child. SPDX-License-Identifier: MIT
 *
 * Settings are in the environment. INJECT_CASES, INJECT_ANSWERS: two descriptors. INJECT_STDIN: a
 * file. INJECT_IO: the type of standard output: file, pipe, socket (the request of INJECT_STDIN
 * arrives on it) or pty. INJECT_DIR: a folder that is emptied before each case, except for "out",
 * to which INJECT_SEED is copied. INJECT_CLOCK: virtual: only sleeping advances the time.
 * INJECT_SECURE: a user and a group; the program runs as if they had started a file with
 * capabilities, namely those of the user of this test. INJECT_MAILBOX: there is a /dev/vcio, and
 * the files of --sys are those of this machine. INJECT_NVIDIA: /proc and /sys are those of the tree
 * nvidia, and its GPU has the stand-in of NVIDIA's driver. */
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/magic.h>
#include <linux/perf_event.h>

/* --- cases and answers ------------------------------------------------------------------------ */

enum { CALLS_MAX = 1 << 16, SAYS_MAX = 4 << 20, OPEN_MAX = 8 << 10, SITE_FRAMES = 5, TALK_FD = 900 };
enum { HOW_HALF = -1, HOW_ONE = -2, HOW_NONE = -3, HOW_STATUS = -0x1000 /* less a status of NVIDIA's driver */ };
enum {
	OF_CHILD = 1, /* of the started command, before its exec */
	STAYS = 2,    /* every later call of that name fails, too */
	OLD_ABI = 4,
	CLOCK_JUMPS = 8,
	NEXT_TOO = 16, /* also the next call that neither closes nor prints a message */
};

struct fault {
	uint32_t at;  /* the number of the call, from 1; 0: none fails */
	int32_t how;  /* an errno, or HOW_ */
	uint32_t flags;
	uint32_t deadline; /* in ms */
};

struct answer {
	int32_t status;
	uint32_t hung, calls, child_calls;
	int32_t fired; /* number of the call that failed, or -1 */
	uint32_t what_n, out_n, err_n, open_n, may_n, file_n, left_n, names_n;
	uint32_t has_file;
};

#define CALL(name) CALL_##name,
#define CALLS \
	CALL(capget) CALL(capset) CALL(clock_nanosleep) CALL(clone) CALL(close) CALL(connect) CALL(execvp) CALL(faccessat) CALL(faccessat2) \
	CALL(fchmod) CALL(fcntl) CALL(fork) CALL(fstat) CALL(fstatat) CALL(fstatfs) CALL(getdents64) CALL(getrusage) \
	CALL(getsockopt) CALL(inotify_add_watch) CALL(inotify_init1) CALL(ioctl) CALL(landlock_add_rule) \
	CALL(landlock_create_ruleset) CALL(landlock_restrict_self) CALL(lseek) CALL(madvise) CALL(mailbox) CALL(mmap) CALL(mprotect) CALL(nvidia) CALL(openat) \
	CALL(openat_new) CALL(perf_event_open) CALL(pidfd_getfd) CALL(pidfd_open) CALL(pipe2) CALL(poll) CALL(ppoll) CALL(prctl) \
	CALL(pread) CALL(prlimit64) CALL(pwrite) CALL(read) CALL(readlinkat) CALL(recv) CALL(renameat) CALL(renameat2) CALL(seccomp) \
	CALL(send) CALL(setitimer) CALL(setresgid) CALL(setresuid) CALL(socket) CALL(shutdown) CALL(statfs) CALL(statx) CALL(uname) CALL(unlinkat) CALL(wait4) \
	CALL(write) CALL(other)
enum call { CALLS NCALLS };
#undef CALL
#define CALL(name) #name,
static const char *const call_names[] = { CALLS };

/* State of one case, shared with its processes. */
static struct shared {
	uint32_t calls, child_calls;
	int32_t fired;
	char what[256];
	uint8_t names[CALLS_MAX];
	uint32_t sites[CALLS_MAX]; /* hashes of the call sites that were reached */
} *shared;

/* Reported by a process at its exit: its open files, one per line, and its privileges, as /proc
 * shows them. */
static char opened[OPEN_MAX], may[1024];
static uint32_t open_n, may_n;

static struct fault fault;
static bool active, in_child, virtual_clock, secure, has_mailbox, has_nvidia;
static int mailbox = -1; /* descriptor of /dev/vcio */
static int nvidia_ctl = -1, nvidia_node = -1; /* of /dev/nvidiactl and /dev/nvidia0 */
static unsigned long secure_id;
static int64_t virtual_now; /* in ns */
static uint32_t clock_asked;

long __real_syscall(long nr, ...);
int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);
_Noreturn void __wrap__exit(int code);
_Noreturn void __real__exit(int code);

/* --- selection of the call that fails --------------------------------------------------------- */

static void note(const char *path)
{
	size_t n = path ? strlen(path) : 0;

	n = n < sizeof(shared->what) - 1 ? n : sizeof(shared->what) - 1;
	if (n)
		memcpy(shared->what, path, n);
	shared->what[n] = '\0';
}

/* The names with which descriptors were opened: a sandboxed process cannot read them. */
enum { NAMED_MAX = 512 };
static char names_of[NAMED_MAX][200];

static void name_fd(int fd, int dir, const char *name)
{
	size_t n = 0;

	if (fd < 0 || fd >= NAMED_MAX)
		return;
	if (name[0] != '/' && dir >= 0 && dir < NAMED_MAX) {
		n = strlen(names_of[dir]);
		n = n < sizeof(names_of[0]) - 2 ? n : sizeof(names_of[0]) - 2;
		memmove(names_of[fd], names_of[dir], n);
		names_of[fd][n++] = '/';
	}
	for (; *name && n < sizeof(names_of[0]) - 1; name++)
		names_of[fd][n++] = *name;
	names_of[fd][n] = '\0';
}

/* Identifies the call site: a hash of its return address and those of its callers. */
static uint32_t site_of(void)
{
	void *const *frame = __builtin_frame_address(0);
	uint32_t h = 0;

	for (int i = 0; i < SITE_FRAMES + 1 && frame[0] > (void *)frame; i++) {
		h = (h ^ (uint32_t)(uintptr_t)frame[1]) * 16777619u;
		frame = frame[0];
	}
	return h;
}

/* Returns 0: the call proceeds; or an errno or HOW_ value. path or fd identifies the file in
 * reports. */
static int gate(enum call call, const char *path, int fd)
{
	static int last = -1;
	static uint32_t next;
	uint32_t n = in_child ? ++shared->child_calls : ++shared->calls;

	if (!in_child && n <= CALLS_MAX && fault.at == 0) {
		shared->names[n - 1] = (uint8_t)call;
		shared->sites[n - 1] = site_of();
	}
	if (fault.at == 0 || in_child != !!(fault.flags & OF_CHILD))
		return 0;
	if (n == fault.at || (n == next && (call == CALL_close || fd == 2)))
		next = n + 1;
	if (n != fault.at && !(fault.flags & STAYS && last == (int)call) && !(fault.flags & NEXT_TOO && n == next))
		return 0;
	if (shared->fired < 0) {
		shared->fired = last = (int)call;
		if (path)
			note(path);
		else if (fd >= 0 && fd < NAMED_MAX)
			note(names_of[fd]);
	}
	return fault.how;
}

#define GATE(call, path, fd) do { \
	int how_ = active ? gate(CALL_##call, path, fd) : 0; \
	if (how_ > 0) { \
		errno = how_; \
		return -1; \
	} \
} while (0)

static bool is_old(void)
{
	return active && fault.flags & OLD_ABI;
}

/* --- libc's calls ----------------------------------------------------------------------------- */

#define PLAIN(type, name, params, args, path, fd) \
	type __real_##name params; \
	type __wrap_##name params; \
	type __wrap_##name params \
	{ \
		GATE(name, path, fd); \
		return __real_##name args; \
	}

PLAIN(int, connect, (int fd, const struct sockaddr *a, socklen_t n), (fd, a, n), NULL, fd)
PLAIN(int, execvp, (const char *path, char *const *argv), (path, argv), path, -1)
PLAIN(int, getsockopt, (int fd, int level, int name, void *p, socklen_t *n), (fd, level, name, p, n), NULL, fd)
PLAIN(int, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask), path, -1)
PLAIN(off_t, lseek, (int fd, off_t at, int whence), (fd, at, whence), NULL, fd)
PLAIN(int, madvise, (void *p, size_t n, int what), (p, n, what), NULL, -1)
PLAIN(int, mprotect, (void *p, size_t n, int prot), (p, n, prot), NULL, -1)
PLAIN(int, poll, (struct pollfd *p, nfds_t n, int ms), (p, n, ms), NULL, -1)
PLAIN(ssize_t, readlinkat, (int dir, const char *path, char *b, size_t n), (dir, path, b, n), path, -1)
PLAIN(int, setitimer, (int which, const struct itimerval *t, struct itimerval *was), (which, t, was), NULL, -1)
PLAIN(int, shutdown, (int fd, int how), (fd, how), NULL, fd)
PLAIN(int, socket, (int family, int type, int protocol), (family, type, protocol), NULL, -1)
PLAIN(int, statfs, (const char *path, struct statfs *st), (path, st), path, -1)
PLAIN(int, uname, (struct utsname *u), (u), NULL, -1)
PLAIN(int, unlinkat, (int dir, const char *path, int flags), (dir, path, flags), path, -1)
PLAIN(pid_t, wait4, (pid_t pid, int *status, int flags, struct rusage *r), (pid, status, flags, r), NULL, -1)

/* Simulates a program whose file has capabilities or another owner. */
unsigned long __real_getauxval(unsigned long what);
unsigned long __wrap_getauxval(unsigned long what);
unsigned long __wrap_getauxval(unsigned long what)
{
	if (!active || !secure)
		return __real_getauxval(what);
	return what == AT_SECURE ? 1 : what == AT_UID || what == AT_GID ? secure_id : __real_getauxval(what);
}

/* --- NVIDIA's driver -------------------------------------------------------------------------- */

static unsigned long long nvrm_now(void)
{
	return (unsigned long long)virtual_now;
}

static int nvrm_in(void *to, unsigned long long from, size_t n)
{
	memcpy(to, (const void *)(uintptr_t)from, n);
	return 0;
}

static int nvrm_out(unsigned long long to, const void *from, size_t n)
{
	memcpy((void *)(uintptr_t)to, from, n);
	return 0;
}

#include "tests/boot/nvrm.h"

static struct nvrm nvidia;
enum { NVIDIA_FIRST = 1220, NVIDIA_SECOND = 3310 }; /* pids of tests/trees/nvidia */

/* Every sample of an engine has the same value: their mean does not depend on which are missing. */
static void nvidia_begin(void)
{
	struct nvrm_gpu *g = &nvidia.gpus[0];

	nvidia.ngpus = 1;
	*g = (struct nvrm_gpu){ .id = 0x100, .minor = 0, .bus = 1, .instance = 3, .release = 5, .period = 20000000, .first = 123456789,
				.began = nvrm_now() - 5000000000, .total = 8 << 20, .unused = 6 << 20, .pstate = 1 << 2,
				.degrees = { 61, 70 }, .sbe = 4, .dbe = 1, .nprocs = 2 };
	g->work[NVRM_FB] = (struct nvrm_work){ 3000, 10, 0, 0 };
	g->work[NVRM_GR] = (struct nvrm_work){ 6300, 10, NVIDIA_FIRST, 0 };
	g->work[NVRM_NVENC] = (struct nvrm_work){ 2000, 10, NVIDIA_SECOND, 0 };
	g->work[NVRM_NVDEC] = (struct nvrm_work){ 1000, 10, NVIDIA_FIRST, 0 };
	g->work[NVRM_NVJPG] = (struct nvrm_work){ 500, 10, 0, 0 };
	g->work[NVRM_NVOFA] = (struct nvrm_work){ 400, 10, 0, 0 };
	g->procs[0] = (struct nvrm_proc){ NVIDIA_FIRST, 100 << 20, 20 << 20, 3 << 20 };
	g->procs[1] = (struct nvrm_proc){ NVIDIA_SECOND, 1 << 20, 0, 0 };
}

static const char *nvidia_path(const char *path)
{
	static const struct { const char *path, *to; } rows[] = {
		{ "/proc", "tests/trees/nvidia/proc" },
		{ "/sys", "tests/trees/nvidia/sys" },
		{ "/proc/driver/nvidia/version", "tests/trees/nvidia/proc/driver/nvidia/version" },
		{ "/dev/nvidiactl", "/dev/null" },
		{ "/dev/nvidia0", "/dev/null" },
	};

	for (size_t i = 0; active && has_nvidia && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (strcmp(path, rows[i].path) == 0)
			return rows[i].to;
	return path;
}

static void nvidia_opened(const char *path, int fd)
{
	if (!active || !has_nvidia || fd < 0)
		return;
	if (strcmp(path, "/dev/nvidiactl") == 0)
		nvidia_ctl = fd;
	if (strcmp(path, "/dev/nvidia0") == 0) {
		nvidia_node = fd;
		nvidia.gpus[0].open_now++;
	}
}

static void nvidia_closed(int fd)
{
	if (fd == nvidia_node && fd >= 0) {
		nvidia_node = -1;
		nvidia.gpus[0].open_now--;
	}
	if (fd == nvidia_ctl && fd >= 0) {
		nvidia_ctl = -1;
		nvrm_close(&nvidia);
	}
}

/* A request to NVIDIA's driver. The status of a failure is where releases from 535 on have it; that
 * of a request to free an object is its last member, and a list of cards has none: it is empty. */
static long nvidia_ask(unsigned request, unsigned char *arg)
{
	int how = gate(CALL_nvidia, "/dev/nvidiactl", -1);
	long r = how > 0 ? -how : how <= HOW_STATUS ? 0 : nvrm_ioctl(&nvidia, request, arg);

	if (how <= HOW_STATUS && request != 0xc90046c8)
		nvrm_put32(arg + (request == 0xc0104629 ? 12 : 28), (unsigned)(HOW_STATUS - how));
	if (r < 0)
		errno = (int)-r;
	return r < 0 ? -1 : r;
}

/* --- files ------------------------------------------------------------------------------------ */

/* The descriptor is closed even if close(2) reports an error. */
int __real_close(int fd);
int __wrap_close(int fd);
int __wrap_close(int fd)
{
	int how = active ? gate(CALL_close, NULL, fd) : 0, r = __real_close(fd);

	name_fd(fd, -1, "");
	nvidia_closed(fd);
	if (how <= 0)
		return r;
	errno = how;
	return -1;
}

int __real_inotify_init1(int flags);
int __wrap_inotify_init1(int flags);
int __wrap_inotify_init1(int flags)
{
	GATE(inotify_init1, NULL, -1);
	if (is_old()) {
		errno = ENOSYS;
		return -1;
	}
	return __real_inotify_init1(flags);
}

/* Before Linux 6.2 the size of /proc/PID/fd was not the number of descriptors. */
static int report_no_count(int r, struct stat *st)
{
	if (r == 0 && is_old() && S_ISDIR(st->st_mode))
		st->st_size = 0;
	return r;
}

int __real_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstat(int fd, struct stat *st)
{
	GATE(fstat, NULL, fd);
	return report_no_count(__real_fstat(fd, st), st);
}

int __real_fstatat(int dir, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags);
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	GATE(fstatat, path, -1);
	return report_no_count(__real_fstatat(dir, path, st, flags), st);
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t offset)
{
	int how = active ? gate(CALL_mmap, NULL, fd) : 0;

	if (how <= 0)
		return __real_mmap(at, n, prot, flags, fd, offset);
	errno = how;
	return MAP_FAILED;
}

int __real_fstatfs(int fd, struct statfs *st);
int __wrap_fstatfs(int fd, struct statfs *st);
int __wrap_fstatfs(int fd, struct statfs *st)
{
	int r;

	GATE(fstatfs, NULL, fd);
	r = __real_fstatfs(fd, st);
	if ((has_mailbox || has_nvidia) && r == 0)
		st->f_type = strcmp(names_of[fd], "/proc") == 0 ? PROC_SUPER_MAGIC : SYSFS_MAGIC;
	return r;
}

int __real_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
	mode_t mode;
	va_list ap;
	int fd;

	va_start(ap, flags);
	mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	if (flags & O_CREAT)
		GATE(openat_new, path, -1);
	else
		GATE(openat, path, -1);
	if (active && has_mailbox && strcmp(path, "/dev/vcio") == 0) {
		fd = mailbox = __real_openat(AT_FDCWD, "/dev/null", flags, mode);
	} else {
		fd = __real_openat(dir, nvidia_path(path), flags, mode);
	}
	nvidia_opened(path, fd);
	name_fd(fd, dir, path);
	return fd;
}

int __real_ioctl(int fd, int request, ...);
int __wrap_ioctl(int fd, int request, ...);
int __wrap_ioctl(int fd, int request, ...)
{
	void *arg;
	va_list ap;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	GATE(ioctl, NULL, fd);
	return __real_ioctl(fd, request, arg);
}

/* A request to the firmware of a Raspberry Pi, with one tag: the page "Mailbox property interface"
 * of the wiki of raspberrypi/firmware. Short answers: half of the value, or none. */
static long mailbox_ask(uint32_t *w)
{
	int how = gate(CALL_mailbox, "/dev/vcio", -1);

	if (how > 0) {
		errno = how;
		return -1;
	}
	w[1] = 0x80000000;
	if (how == HOW_NONE)
		return 0;
	w[4] = 0x80000000 | (how < 0 ? w[3] / 2 : w[3]);
	w[5 + w[3] / 8] = w[2] == 0x00030046 ? 0x50001 : w[2] == 0x00030006 ? 48312 : 500000000 + w[5];
	return 0;
}

int __real_prctl(int what, ...);
int __wrap_prctl(int what, ...);
int __wrap_prctl(int what, ...)
{
	unsigned long arg;
	va_list ap;

	va_start(ap, what);
	arg = va_arg(ap, unsigned long);
	va_end(ap);
	GATE(prctl, NULL, -1);
	return __real_prctl(what, arg, 0, 0, 0);
}

/* --- short reads and writes ------------------------------------------------------------------- */

static size_t shorter(size_t n, int how)
{
	return how == HOW_HALF ? (n + 1) / 2 : how == HOW_ONE ? n > 0 : 0;
}

/* Returns how much data is available, if a sandboxed process can find out: half of a buffer may be
 * all of a file. */
static size_t there_of(int fd, size_t n)
{
	struct stat st;
	off_t at = __real_lseek(fd, 0, SEEK_CUR);

	if (at < 0 || __real_fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size <= at)
		return n;
	return (size_t)(st.st_size - at) < n ? (size_t)(st.st_size - at) : n;
}

/* Short read: reads everything available, then returns less. */
ssize_t __real_pread(int fd, void *b, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *b, size_t n, off_t at);
ssize_t __wrap_pread(int fd, void *b, size_t n, off_t at)
{
	int how = active ? gate(CALL_pread, NULL, fd) : 0;
	ssize_t r;

	if (how > 0) {
		errno = how;
		return -1;
	}
	r = __real_pread(fd, b, n, at);
	if (how == 0 || r <= 0)
		return r;
	r = (ssize_t)shorter((size_t)r, how);
	/* a kernel never stops between the lines of one record */
	return r > 1 && ((char *)b)[r - 1] == '\n' ? r - 1 : r;
}

ssize_t __real_read(int fd, void *b, size_t n);
ssize_t __wrap_read(int fd, void *b, size_t n);
ssize_t __wrap_read(int fd, void *b, size_t n)
{
	int how = active ? gate(CALL_read, NULL, fd) : 0;

	if (how > 0) {
		errno = how;
		return -1;
	}
	n = how < 0 ? shorter(there_of(fd, n), how) : n;
	return how < 0 && n == 0 ? 0 : __real_read(fd, b, n);
}

ssize_t __real_recv(int fd, void *b, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *b, size_t n, int flags);
ssize_t __wrap_recv(int fd, void *b, size_t n, int flags)
{
	int how = active ? gate(CALL_recv, NULL, fd) : 0;
	ssize_t there = how < 0 ? __real_recv(fd, b, n, flags | MSG_PEEK) : 0;

	if (how > 0) {
		errno = how;
		return -1;
	}
	n = how < 0 ? shorter(there > 0 ? (size_t)there : n, how) : n;
	return n ? __real_recv(fd, b, n, flags) : 0;
}

#define WRITES(name, params, args) \
	ssize_t __real_##name params; \
	ssize_t __wrap_##name params; \
	ssize_t __wrap_##name params \
	{ \
		int how = active ? gate(CALL_##name, NULL, fd) : 0; \
		if (how > 0) { \
			errno = how; \
			return -1; \
		} \
		n = how < 0 ? shorter(n, how) : n; \
		return how < 0 && n == 0 ? 0 : __real_##name args; \
	}
WRITES(write, (int fd, const void *b, size_t n), (fd, b, n))
WRITES(pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at))
WRITES(send, (int fd, const void *b, size_t n, int flags), (fd, b, n, flags))

/* --- time ------------------------------------------------------------------------------------- */

static const int64_t second = 1000000000, hour = 3600 * second, epoch = 1763611200 * second;

/* Every 7th reading of the wall clock is off by hours, in both directions; after each 20th reading,
 * the machine has been suspended for hours, which the other clock shows. */
static int64_t jump(clockid_t clock)
{
	static int64_t slept;

	clock_asked++;
	if (clock == CLOCK_REALTIME)
		return slept + (clock_asked % 7 == 0 ? 5 * hour : clock_asked % 7 == 3 ? -7 * hour : 0);
	slept += clock_asked % 20 == 0 ? 3 * hour : 0;
	return slept;
}

int __real_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	int64_t now;

	if (!active || !virtual_clock)
		return __real_clock_gettime(clock, t);
	virtual_now += 1000;
	now = virtual_now + (clock == CLOCK_REALTIME ? epoch : 0);
	if (fault.flags & CLOCK_JUMPS)
		now += jump(clock);
	*t = (struct timespec){ .tv_sec = (time_t)(now / second), .tv_nsec = (long)(now % second) };
	return 0;
}

int __real_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *left)
{
	int64_t until = t->tv_sec * second + t->tv_nsec;
	int how = active ? gate(CALL_clock_nanosleep, NULL, -1) : 0;

	if (how > 0)
		return how;
	if (!active || !virtual_clock)
		return __real_clock_nanosleep(clock, flags, t, left);
	if (fault.flags & CLOCK_JUMPS)
		virtual_now += second / 1000;
	else
		virtual_now = virtual_now > until ? virtual_now : until;
	return 0;
}

int __real_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask);
int __wrap_ppoll(struct pollfd *p, nfds_t n, const struct timespec *t, const sigset_t *mask)
{
	static const struct timespec none;
	int r;

	GATE(ppoll, NULL, -1);
	if (!active || !virtual_clock || !t)
		return __real_ppoll(p, n, t, mask);
	r = __real_ppoll(p, n, &none, mask);
	if (r == 0)
		virtual_now += t->tv_sec * second + t->tv_nsec;
	return r;
}

/* --- syscall(2) ------------------------------------------------------------------------------- */

static const struct { long nr; enum call call; bool is_new; /* not available on an old kernel */ } numbers[] = {
	{ SYS_capget, CALL_capget, false },
	{ SYS_capset, CALL_capset, false },
	{ SYS_clone, CALL_clone, false },
	{ SYS_faccessat, CALL_faccessat, false },
	{ 439, CALL_faccessat2, true },
	{ SYS_fchmod, CALL_fchmod, false },
#ifdef SYS_fcntl
	{ SYS_fcntl, CALL_fcntl, false },
#else
	{ SYS_fcntl64, CALL_fcntl, false },
#endif
#ifdef SYS_fork
	{ SYS_fork, CALL_fork, false },
#endif
	{ SYS_getdents64, CALL_getdents64, false },
	{ SYS_getrusage, CALL_getrusage, false },
	{ 444, CALL_landlock_create_ruleset, true },
	{ 445, CALL_landlock_add_rule, true },
	{ 446, CALL_landlock_restrict_self, true },
	{ SYS_perf_event_open, CALL_perf_event_open, false },
	{ 434, CALL_pidfd_open, true },
	{ 438, CALL_pidfd_getfd, true },
	{ SYS_pipe2, CALL_pipe2, false },
	{ SYS_prlimit64, CALL_prlimit64, false },
#ifdef SYS_renameat
	{ SYS_renameat, CALL_renameat, false },
#endif
	{ SYS_renameat2, CALL_renameat2, false },
	{ SYS_seccomp, CALL_seccomp, true },
	{ SYS_statx, CALL_statx, true },
#ifdef SYS_setresuid32
	{ SYS_setresgid32, CALL_setresgid, false },
	{ SYS_setresuid32, CALL_setresuid, false },
#else
	{ SYS_setresgid, CALL_setresgid, false },
	{ SYS_setresuid, CALL_setresuid, false },
#endif
};

/* perf_event_open(2) of the first kernels that had it: 64 bytes of attributes. The bytes after them
 * must be 0, otherwise the call returns the size that it knows. */
static bool is_too_large(struct perf_event_attr *attr)
{
	const unsigned char *p = (const unsigned char *)attr;

	for (uint32_t i = PERF_ATTR_SIZE_VER0; i < attr->size; i++)
		if (p[i]) {
			attr->size = PERF_ATTR_SIZE_VER0;
			return true;
		}
	return false;
}

long __wrap_syscall(long nr, ...);
long __wrap_syscall(long nr, ...)
{
	enum call call = CALL_other;
	bool is_new = false;
	long a[6], r;
	va_list ap;

	va_start(ap, nr);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (active && nr == SYS_ioctl && a[0] == mailbox)
		return mailbox_ask((uint32_t *)a[2]);
	if (active && nr == SYS_ioctl && a[0] >= 0 && a[0] == nvidia_ctl)
		return nvidia_ask((unsigned)a[1], (unsigned char *)a[2]);
	if (nr == SYS_faccessat)
		a[1] = (long)nvidia_path((const char *)a[1]);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i].nr == nr) {
			call = numbers[i].call;
			is_new = numbers[i].is_new;
		}
	if (active && call != CALL_other) {
		int how = gate(call, call == CALL_faccessat || call == CALL_faccessat2 || call == CALL_statx ? (const char *)a[1] : NULL,
			       call == CALL_getdents64 || call == CALL_fcntl ? (int)a[0] : -1);

		if (how > 0) {
			errno = how;
			return -1;
		}
	}
	if (is_old() && (is_new || (call == CALL_perf_event_open && is_too_large((struct perf_event_attr *)a[0])))) {
		errno = is_new ? ENOSYS : E2BIG;
		return -1;
	}
	r = __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	for (int i = 0; i < 2 && call == CALL_pipe2 && r == 0; i++)
		name_fd(((const int *)a[0])[i], -1, "gate:");
	if (active && (call == CALL_fork || call == CALL_clone) && r == 0)
		in_child = true;
	return r;
}

/* --- the end of a case ------------------------------------------------------------------------ */

/* Reports the open files of a process, which waits meanwhile. */
static void report_open(int pid)
{
	static char b[8192];
	char path[32];
	long n;
	int dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	dir = __real_openat(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	while (dir >= 0 && (n = __real_syscall(SYS_getdents64, dir, b, sizeof(b))) > 0)
		for (long at = 0; at < n;) {
			const struct dirent *e = (const struct dirent *)(const void *)(b + at);
			char to[256];
			ssize_t r = __real_readlinkat(dir, e->d_name, to, sizeof(to));

			at += e->d_reclen;
			if (r <= 0 || (size_t)r + 16 > OPEN_MAX - open_n || atoi(e->d_name) == TALK_FD)
				continue;
			if (r > 9 && memcmp(to, "/dev/pts/", 9) == 0)
				r = 8;
			/* numbers of pipes and queues differ from case to case */
			for (ssize_t i = 0; i < r; i++)
				if (to[i] == ':' && i + 1 < r && to[i + 1] == '[')
					r = i;
			memcpy(opened + open_n, to, (size_t)r);
			open_n += (uint32_t)r;
			opened[open_n++] = '\n';
		}
	__real_close(dir);
}

/* Reports the user and the privileges of a process. */
static void report_may(int pid)
{
	static const char *const keys[] = { "Uid:", "Gid:", "CapInh:", "CapPrm:", "CapEff:", "NoNewPrivs:", "Seccomp:" };
	char path[32], b[4096] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	fd = __real_openat(AT_FDCWD, path, O_RDONLY);
	if (fd < 0 || __real_read(fd, b, sizeof(b) - 1) <= 0)
		return;
	__real_close(fd);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		const char *line = strstr(b, keys[i]);
		size_t n = line ? strcspn(line, "\n") + 1 : 0;

		if (n > 0 && n <= sizeof(may) - may_n)
			memcpy(may + may_n, line, n);
		may_n += n > 0 && n <= sizeof(may) - may_n ? (uint32_t)n : 0;
	}
}

/* The process is inspected before its exit, by a process outside the sandbox. */
_Noreturn void __wrap__exit(int code)
{
	char c = 0;

	if (active && !in_child && __real_write(TALK_FD, &c, 1) == 1)
		while (__real_read(TALK_FD, &c, 1) < 0 && errno == EINTR)
			;
	__real__exit(code);
}

/* --- the server ------------------------------------------------------------------------------- */

static int cases_fd, answers_fd, memory[2]; /* files for the output on descriptors 1 and 2 */
static const char *io, *input, *dir, *seed;
static char left[4096];

static _Noreturn void die(const char *why)
{
	__real_write(2, why, strlen(why));
	__real_write(2, "\n", 1);
	__real__exit(120);
}

static void send_all(const void *p, size_t n)
{
	const char *from = p;

	while (n > 0) {
		ssize_t r = __real_write(answers_fd, from, n);

		if (r <= 0)
			die("inject: the reader of the answers has exited");
		from += r;
		n -= (size_t)r;
	}
}

static void copy(int from, int to)
{
	static char b[65536];
	ssize_t n;

	while ((n = __real_read(from, b, sizeof(b))) > 0)
		if (__real_write(to, b, (size_t)n) != n)
			die("inject: cannot copy the seed");
}

/* Empties the folder and copies the seed; at the end, reports the names of unexpected files
 * instead. */
static uint32_t sweep_dir(bool at_end)
{
	static char b[8192];
	uint32_t n = 0;
	long got;
	int d;

	if (!dir)
		return 0;
	d = __real_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY);
	while (d >= 0 && (got = __real_syscall(SYS_getdents64, d, b, sizeof(b))) > 0)
		for (long at = 0; at < got;) {
			const struct dirent *e = (const struct dirent *)(const void *)(b + at);

			at += e->d_reclen;
			if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
				continue;
			if (!at_end)
				__real_unlinkat(d, e->d_name, 0);
			else if (strcmp(e->d_name, "out") != 0 && n + 300 < sizeof(left)) {
				memcpy(left + n, e->d_name, strlen(e->d_name));
				n += (uint32_t)strlen(e->d_name);
				left[n++] = '\n';
			}
		}
	if (!at_end && seed) {
		int from = __real_openat(AT_FDCWD, seed, O_RDONLY), to = __real_openat(d, "out", O_WRONLY | O_CREAT, 0600);

		copy(from, to);
		__real_close(from);
		__real_close(to);
	}
	__real_close(d);
	return n;
}

static void move_fd(int from, int to)
{
	if (__real_syscall(SYS_dup3, from, to, 0) < 0)
		die("inject: dup3");
}

/* Creates the two ends of the program's output: [0] is the reading end, or -1. */
static void make_io(int ends[2])
{
	int unlocked = 0, number = 0;
	char name[32] = "/dev/pts/";

	ends[0] = ends[1] = -1;
	if (strcmp(io, "pipe") == 0) {
		if (__real_syscall(SYS_pipe2, ends, O_CLOEXEC) < 0)
			die("inject: pipe");
	} else if (strcmp(io, "socket") == 0) {
		int from = __real_openat(AT_FDCWD, input, O_RDONLY);

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
			die("inject: socketpair");
		copy(from, ends[0]);
		__real_shutdown(ends[0], SHUT_WR);
		__real_close(from);
	} else if (strcmp(io, "pty") == 0) {
		struct winsize w = { .ws_row = 24, .ws_col = 80 };
		size_t n = strlen(name);

		ends[0] = __real_openat(AT_FDCWD, "/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
		if (ends[0] < 0 || __real_ioctl(ends[0], TIOCSPTLCK, &unlocked) < 0 || __real_ioctl(ends[0], TIOCGPTN, &number) < 0)
			die("inject: /dev/ptmx");
		__real_ioctl(ends[0], TIOCSWINSZ, &w);
		if (number > 99)
			name[n++] = (char)('0' + number / 100);
		if (number > 9)
			name[n++] = (char)('0' + number / 10 % 10);
		name[n++] = (char)('0' + number % 10);
		name[n] = '\0';
		ends[1] = __real_openat(AT_FDCWD, name, O_RDWR | O_CLOEXEC | O_NOCTTY);
		if (ends[1] < 0)
			die("inject: /dev/pts");
	}
}

static void name_std(int fd)
{
	char path[32], to[200] = "";

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (__real_readlinkat(AT_FDCWD, path, to, sizeof(to) - 1) > 0)
		name_fd(fd, -1, to);
}

static _Noreturn void run_case(int argc, char **argv, int ends[2], int talk)
{
	int in = __real_openat(AT_FDCWD, input ? input : "/dev/null", O_RDONLY);

	__real_syscall(SYS_setsid);
	move_fd(ends[1] >= 0 && (strcmp(io, "pty") == 0 || strcmp(io, "socket") == 0) ? ends[1] : in, 0);
	move_fd(ends[1] >= 0 ? ends[1] : memory[0], 1);
	move_fd(memory[1], 2);
	if (__real_syscall(SYS_dup3, talk, TALK_FD, O_CLOEXEC) < 0)
		die("inject: dup3");
	__real_syscall(SYS_close_range, 3, TALK_FD - 1, 0);
	__real_syscall(SYS_close_range, TALK_FD + 1, ~0u, 0);
	for (int fd = 0; fd < 3; fd++)
		name_std(fd);
	if (strcmp(io, "pty") == 0)
		__real_ioctl(0, TIOCSCTTY, 0);
	errno = 0;
	virtual_now = 1000 * second;
	nvidia_begin();
	active = true;
	__wrap__exit(__real_main(argc, argv));
}

static int64_t now_ms(void)
{
	struct timespec t;

	__real_clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Copies output that arrives while the program runs to the file for output. False: end of
 * output. */
static bool drain(int fd)
{
	static char b[65536];
	ssize_t n = __real_read(fd, b, sizeof(b));

	if (n > 0 && __real_write(memory[0], b, (size_t)n) != n)
		die("inject: out of memory");
	return n > 0;
}

/* Handles the message that a process is about to exit and waits, or end of file when no process is
 * left. */
static void hear(int pid, int talk)
{
	char c;

	if (__real_read(talk, &c, 1) != 1)
		return;
	report_open(pid);
	report_may(pid);
	if (__real_write(talk, &c, 1) != 1)
		die("inject: the process did not wait");
}

/* Waits for the program's exit or the deadline. True: the deadline expired. */
static bool watch(int pid, int is_own, int talk)
{
	int pidfd = (int)__real_syscall(434, pid, 0);
	int64_t end = now_ms() + fault.deadline;
	bool ended = false, hung = false;

	while (!ended && !hung) {
		struct pollfd p[] = { { .fd = pidfd, .events = POLLIN }, { .fd = is_own, .events = POLLIN },
				      { .fd = talk, .events = POLLIN } };
		int r = poll(p, 3, (int)(end > now_ms() ? end - now_ms() : 0));

		hung = r == 0;
		if (r > 0 && p[1].revents && !drain(is_own))
			is_own = -1;
		if (r > 0 && p[2].revents) {
			hear(pid, talk);
			talk = -1;
		}
		ended = r > 0 && p[0].revents;
	}
	if (hung)
		__real_syscall(SYS_kill, pid, SIGKILL);
	while (is_own >= 0 && !hung) {
		struct pollfd p = { .fd = is_own, .events = POLLIN };

		if (poll(&p, 1, 0) <= 0 || !drain(is_own))
			break;
	}
	__real_close(pidfd);
	return hung;
}

static void send_memory(int fd, uint32_t n)
{
	static char b[65536];

	for (off_t at = 0; at < n;) {
		ssize_t r = __real_pread(fd, b, sizeof(b), at);

		if (r <= 0)
			die("inject: cannot read the output");
		send_all(b, (size_t)r);
		at += r;
	}
}

static uint32_t size_of(int fd)
{
	struct stat st;

	if (fd < 0 || __real_fstat(fd, &st) < 0 || st.st_size > SAYS_MAX)
		return 0;
	return (uint32_t)st.st_size;
}

/* Forks a process for a case. The program leaves itself out of the GPU's processes: the case must not
 * have the pid of one that the stand-in of NVIDIA's driver lists. */
static int fork_case(void)
{
	for (;;) {
		int pid = (int)__real_syscall(SYS_fork), own = pid ? pid : (int)getpid();

		if (own != NVIDIA_FIRST && own != NVIDIA_SECOND)
			return pid;
		if (pid == 0)
			__real__exit(0);
		while (__real_wait4(pid, NULL, 0, NULL) < 0)
			;
	}
}

static void serve(int argc, char **argv)
{
	struct answer a = { .fired = -1 };
	int ends[2], talk[2], pid, file = -1;

	shared->calls = shared->child_calls = open_n = may_n = 0;
	shared->fired = -1;
	shared->what[0] = '\0';
	for (int i = 0; i < 2; i++) {
		__real_syscall(SYS_ftruncate, memory[i], 0);
		__real_lseek(memory[i], 0, SEEK_SET);
	}
	sweep_dir(false);
	make_io(ends);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, talk) < 0)
		die("inject: socketpair");
	pid = fork_case();
	if (pid == 0)
		run_case(argc, argv, ends, talk[1]);
	__real_close(talk[1]);
	if (pid < 0)
		die("inject: fork");
	if (ends[1] >= 0)
		__real_close(ends[1]);
	a.hung = watch(pid, ends[0], talk[0]);
	__real_close(talk[0]);
	if (ends[0] >= 0)
		__real_close(ends[0]);
	while (__real_wait4(pid, &a.status, 0, NULL) < 0)
		;
	if (dir) {
		int d = __real_openat(AT_FDCWD, dir, O_PATH | O_DIRECTORY);

		file = __real_openat(d, "out", O_RDONLY);
		__real_close(d);
	}
	a.calls = shared->calls;
	a.child_calls = shared->child_calls;
	a.fired = shared->fired;
	a.what_n = (uint32_t)strlen(shared->what);
	a.out_n = size_of(memory[0]);
	a.err_n = size_of(memory[1]);
	a.open_n = open_n;
	a.may_n = may_n;
	a.file_n = size_of(file);
	a.has_file = file >= 0;
	a.left_n = sweep_dir(true);
	a.names_n = fault.at ? 0 : a.calls < CALLS_MAX ? a.calls : CALLS_MAX;
	send_all(&a, sizeof(a));
	send_all(shared->what, a.what_n);
	send_memory(memory[0], a.out_n);
	send_memory(memory[1], a.err_n);
	send_all(opened, a.open_n);
	send_all(may, a.may_n);
	send_memory(file, a.file_n);
	send_all(left, a.left_n);
	send_all(shared->names, a.names_n);
	send_all(shared->sites, a.names_n * sizeof(shared->sites[0]));
	if (file >= 0)
		__real_close(file);
}

static int number_of(const char *name)
{
	const char *v = getenv(name);

	return v ? atoi(v) : -1;
}

int __wrap_main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--calls") == 0) {
		for (size_t i = 0; i < NCALLS; i++) {
			__real_write(1, call_names[i], strlen(call_names[i]));
			__real_write(1, "\n", 1);
		}
		__real__exit(0);
	}
	cases_fd = number_of("INJECT_CASES");
	answers_fd = number_of("INJECT_ANSWERS");
	io = getenv("INJECT_IO");
	input = getenv("INJECT_STDIN");
	dir = getenv("INJECT_DIR");
	seed = getenv("INJECT_SEED");
	virtual_clock = getenv("INJECT_CLOCK") != NULL;
	secure = getenv("INJECT_SECURE") != NULL;
	has_mailbox = getenv("INJECT_MAILBOX") != NULL;
	has_nvidia = getenv("INJECT_NVIDIA") != NULL;
	secure_id = (unsigned long)number_of("INJECT_SECURE");
	if (cases_fd < 0 || answers_fd < 0 || !io)
		return __real_main(argc, argv);
	shared = __real_mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 2; i++)
		memory[i] = (int)__real_syscall(SYS_memfd_create, i ? "err" : "out", 1);
	if (shared == MAP_FAILED || memory[0] < 0 || memory[1] < 0)
		die("inject: out of memory");
	while (__real_read(cases_fd, &fault, sizeof(fault)) == sizeof(fault))
		serve(argc, argv);
	__real__exit(0);
}
