/* t_sandbox.c - the sandbox in child processes: which system calls work, fail or kill for a group
 * of calls, and which files can be opened after Landlock rules were made.
 * SPDX-License-Identifier: MIT */
#include "../../sources/os/sandbox.c" /* for its names of system calls */
#undef EM_BPF /* linux/elf-em.h; an enumerator in parse.h */
#include "unit.h"

#ifdef SYS_mmap2
#define MAP_NR SYS_mmap2
#else
#define MAP_NR SYS_mmap
#endif
#ifdef SYS_fcntl64
#define FCNTL_NR SYS_fcntl64
#else
#define FCNTL_NR SYS_fcntl
#endif

enum { NO_RESULT = 1 << 20, KILLED = NO_RESULT + SIGSYS };

static char folder[70];
static i32 other = -1; /* a process that the sandboxed processes may not signal */
static i32 status_fd;

static const char *lacks = ""; /* why the checks are skipped: " # SKIP reason"; "": they run */

/* One call of a sandboxed process: a system call, or a function. */
struct attempt {
	const char *name;
	long nr, args[6];
	u16 groups; /* those that allow the call; 0: no group does */
	long refused;
	void (*before)(void); /* runs before the sandbox is entered */
	long (*call)(void);
};
#define ROW(name, groups, refused, nr, ...) \
	{ name, nr, { __VA_ARGS__ }, groups, refused, NULL, NULL }

/* Makes the call in a child process. allowed: the groups of the sandbox; 0: without a sandbox.
 * Returns 0 if the call succeeds, -errno, or NO_RESULT + the wait status. */
static long attempt_in(const struct attempt *a, u16 allowed, i32 command)
{
	const long *p = a->args;
	int fds[2], status = 0;
	long r = NO_RESULT;
	pid_t pid;

	if (*lacks)
		return 0;
	if (pipe(fds) < 0 || (pid = fork()) < 0)
		return NO_RESULT;
	if (pid == 0) {
		if (a->before)
			a->before();
		if (allowed)
			sandbox_enter(allowed, command);
		r = a->call ? a->call() :
		    sys_ret(syscall(a->nr, p[0], p[1], p[2], p[3], p[4], p[5]));
		/* not _exit(): a sanitizer would make calls that the filter refuses */
		syscall(SYS_exit_group, write(fds[1], &r, sizeof(r)) != sizeof(r));
	}
	close(fds[1]);
	if (read(fds[0], &r, sizeof(r)) != sizeof(r))
		r = NO_RESULT;
	close(fds[0]);
	waitpid(pid, &status, 0);
	return r == NO_RESULT ? NO_RESULT + (status & 0x7f) : r > 0 ? 0 : r;
}

static bool check_result(long got, long want, const char *name, const char *what)
{
	bool same = check(got == want || *lacks, "%s: %s%s", name, what, lacks);

	if (!same)
		note("got %ld, want %ld", got, want);
	return same;
}

/* Each call is allowed with its groups only, whichever the other groups are. */
static void check_attempts(const struct attempt *a, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		u16 others = (u16)(ALL_GROUPS & ~a[i].groups);

		if (a[i].groups)
			check_result(attempt_in(&a[i], a[i].groups, other),
				     attempt_in(&a[i], 0, 0), a[i].name,
				     "the result is the same as without the filter");
		if (a[i].refused)
			check_result(attempt_in(&a[i], others, other), a[i].refused, a[i].name,
				     a[i].refused == KILLED ? "the process is killed" :
				     a[i].groups ? "the call is refused with all other groups" :
				     "the call is refused with all groups");
	}
}

/* --- system calls ----------------------------------------------------------------------------- */

static const char *in_folder(const char *name)
{
	static char paths[32][80];
	static unsigned turn;
	char *path = paths[turn++ % LEN(paths)];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void test_calls(void)
{
	static char out[512];
	const long file = (long)in_folder("in"), at = AT_FDCWD, any = (long)out;
	const long excl = O_EXCL | O_WRONLY, anonymous = MAP_PRIVATE | MAP_ANONYMOUS;
	const struct attempt tries[] = {
		ROW("openat to read", CALLS_FILES, 0, SYS_openat, at, file, O_RDONLY),
		ROW("openat to write", CALLS_WRITE, -EPERM, SYS_openat, at, file, O_WRONLY),
		ROW("openat to truncate", CALLS_WRITE, -EPERM, SYS_openat, at, file, O_TRUNC),
		ROW("openat to create", CALLS_WRITE, -EPERM, SYS_openat, at, file, O_CREAT, 0600),
		ROW("openat with O_EXCL", CALLS_WRITE, -EPERM, SYS_openat, at, file, excl),
		ROW("openat of a new file", CALLS_REPLACE, 0, SYS_openat, at, file, excl | O_CREAT),
		ROW("renameat2", CALLS_REPLACE, -ENOSYS, SYS_renameat2, at, any, at, any, 0),
		ROW("unlinkat", CALLS_REPLACE, -ENOSYS, SYS_unlinkat, at, any, 0),
		ROW("statx", CALLS_FILES, -ENOSYS, SYS_statx, at, file, 0, 1, any),
		ROW("inotify_init1", CALLS_WATCH, -ENOSYS, SYS_inotify_init1, 0),
		ROW("pidfd_getfd", CALLS_GETFD, -ENOSYS, SYS_pidfd_getfd, -1),
		ROW("getsockopt", CALLS_NET, -ENOSYS, SYS_getsockopt, -1),
		ROW("wait4", CALLS_CHILD, -ENOSYS, SYS_wait4, -1, 0, WNOHANG),
		ROW("perf_event_open", CALLS_OPEN_PERF, -ENOSYS, SYS_perf_event_open, 0),
		ROW("mmap", CALLS_PERF, -ENOSYS, MAP_NR, 0, 4096, PROT_WRITE, anonymous, -1),
		ROW("write", CALLS_FILES, 0, SYS_write, -1),
		ROW("capset", CALLS_FILES, 0, SYS_capset, 0),
		ROW("mprotect", CALLS_FILES, 0, SYS_mprotect, 0, 4096, PROT_READ | PROT_WRITE),
		ROW("mprotect to execute", 0, -EPERM, SYS_mprotect, 0, 4096, PROT_EXEC),
		ROW("mmap to execute", 0, -EPERM, MAP_NR, 0, 4096, PROT_READ | PROT_EXEC),
		ROW("socket", 0, -ENOSYS, SYS_socket, AF_UNIX, SOCK_STREAM),
		ROW("clone", 0, KILLED, SYS_clone, SIGCHLD),
		ROW("execve", 0, KILLED, SYS_execve, any),
		ROW("setuid", 0, KILLED, SYS_setuid, 0),
		ROW("ptrace", 0, KILLED, SYS_ptrace, 0),
	};

	check_attempts(tries, LEN(tries));
}

static void test_arguments(void)
{
	static char out[512];
	const long any = (long)out, pid = SYS_prlimit64;
	const struct attempt tries[] = {
		ROW("TIOCGWINSZ", CALLS_FILES, 0, SYS_ioctl, -1, TIOCGWINSZ, any),
		ROW("TCSETS", CALLS_SCREEN, -EPERM, SYS_ioctl, -1, TCSETS, any),
		ROW("TIOCSTI", 0, -EPERM, SYS_ioctl, -1, TIOCSTI, any),
		ROW("PERF_EVENT_IOC_ENABLE", CALLS_PERF, -EPERM, SYS_ioctl, -1, 0x2400),
		ROW("DRM_IOCTL_VERSION", CALLS_DRM, -EPERM, SYS_ioctl, -1, 0x6400),
		ROW("I915_PERF_IOCTL_ENABLE", CALLS_DRM, -EPERM, SYS_ioctl, -1, 0x6900),
		ROW("I915_GEM_EXECBUFFER2", 0, -EPERM, SYS_ioctl, -1, 0x6469),
		ROW("F_SETFL", CALLS_FILES, 0, FCNTL_NR, -1, F_SETFL, O_NONBLOCK),
		ROW("F_NOTIFY", 0, -EPERM, FCNTL_NR, -1, F_NOTIFY),
		ROW("F_SETOWN of another process", 0, -EPERM, FCNTL_NR, -1, F_SETOWN, other),
		ROW("F_SETSIG", CALLS_OPEN_PERF | CALLS_CHILD, -EPERM, FCNTL_NR, -1, F_SETSIG, 40),
		ROW("PR_SET_TIMERSLACK", CALLS_FILES, 0, SYS_prctl, PR_SET_TIMERSLACK, 50000),
		ROW("PR_SET_NO_NEW_PRIVS", 0, -EPERM, SYS_prctl, PR_SET_NO_NEW_PRIVS, 1),
		ROW("PR_SET_DUMPABLE", 0, -EPERM, SYS_prctl, PR_SET_DUMPABLE, 1),
		ROW("PR_SET_NAME", 0, -EPERM, SYS_prctl, PR_SET_NAME, any),
		ROW("prlimit64", CALLS_OPEN_PERF, -ENOSYS, pid, 0, RLIMIT_NOFILE, 0, any),
		ROW("prlimit64 of another process", 0, -EPERM, pid, other, RLIMIT_NOFILE, 0, any),
	};

	check_attempts(tries, LEN(tries));
}

enum { FULL = 16 };

/* Allows the most requests that there is room for. Two of them are of status_fd. */
static void allow_requests(void)
{
	status_fd = 500;
	sandbox_ioctl(status_fd, 0xc0104601);
	for (u32 i = 0; i < FULL - 2; i++)
		sandbox_ioctl(300, i);
	sandbox_ioctl(status_fd, 0xc0044602);
}

static long request_dropped(void)
{
	return sandbox_ioctl(status_fd, 1) || requests.n != FULL ? 1 : -ENOSPC;
}

static void test_requests(void)
{
	static const struct {
		long fd, want;
		u32 request;
		const char *what;
	} rows[] = {
		{ 500, -EBADF, 0xc0044602, "a registered request is allowed on its descriptor" },
		{ 500, -EBADF, 0x40084602,
		 "the size and the direction of a registered request do not matter" },
		{ 500, -EPERM, 0xc0044603, "a request with another number is refused" },
		{ 500, -EPERM, 0xc0044502, "a request with another type is refused" },
		{ 501, -EPERM, 0xc0044602,
		 "the request is refused on an unregistered descriptor" },
		{ 300, -EPERM, 0xc0044602,
		 "the request is refused on a descriptor with other registered requests" },
		{ 65536 + 500, -EPERM, 0xc0044602,
		 "the request is refused on a descriptor with the same lower 16 bits" },
		{ -1, -EPERM, 0xc0044602, "the request is refused on descriptor -1" },
		{ 500, -EPERM, 'F', "a number equal to the registered type is refused" },
		{ 500, -EBADF, TIOCGWINSZ, "a request that is allowed on all descriptors is allowed" },
	};
	const struct attempt full = { .before = allow_requests, .call = request_dropped };

	for (size_t i = 0; i < LEN(rows); i++) {
		const struct attempt a = { .nr = SYS_ioctl, .before = allow_requests,
					   .args = { rows[i].fd, (long)rows[i].request } };

		check_result(attempt_in(&a, ALL_GROUPS, other), rows[i].want, "ioctl",
			     rows[i].what);
	}
	check(!sandbox_ioctl(-1, 1) && !sandbox_ioctl(65536, 1) && requests.n == 0,
	      "sandbox_ioctl() registers no request for a descriptor that the filter cannot "
	      "compare");
	check_result(attempt_in(&full, 0, 0), -ENOSPC, "ioctl",
		     "a request without room is not registered: -ENOSPC");
}

static void allow_mailbox(void)
{
	sandbox_ioctl(500, VCIO_REQUEST);
}

/* The firmware of a Raspberry Pi: its request also sets clocks and voltages, since what it does is
 * in its memory. */
static void test_mailbox(void)
{
	const u16 reads = CALLS_FILES | CALLS_WATCH; /* those of the commands that read devices */
	const struct attempt asks = { .nr = SYS_ioctl, .before = allow_mailbox,
				      .args = { 500, (long)VCIO_REQUEST } };
	const struct attempt others = { .nr = SYS_ioctl, .before = allow_mailbox,
					.args = { 501, (long)VCIO_REQUEST } };
	const struct attempt other_request = { .nr = SYS_ioctl, .before = allow_mailbox,
					       .args = { 500, (long)_IO(100, 1) } };
	const struct attempt none = { .nr = SYS_ioctl, .args = { 500, (long)VCIO_REQUEST } };

	check_result(attempt_in(&asks, reads, 0), -EBADF, "mailbox",
	             "the request is allowed on /dev/vcio");
	check_result(attempt_in(&others, reads, 0), -EPERM, "mailbox",
		     "the request is refused on another descriptor");
	check_result(attempt_in(&other_request, reads, 0), -EPERM, "mailbox",
		     "another request is refused on /dev/vcio");
	check_result(attempt_in(&none, reads, 0), -EPERM, "mailbox",
	             "the request is refused without /dev/vcio");
}

static long kill_self(void)
{
	return sys_kill((int)sys_pid(), SIGCONT);
}

static void test_kill(void)
{
	const struct attempt to_other = { .nr = SYS_kill, .args = { other, SIGCONT } };
	const struct attempt exists = { .nr = SYS_kill, .args = { other, 0 } };
	const struct attempt itself = { .call = kill_self };

	check_result(attempt_in(&to_other, CALLS_CHILD, other), 0, "kill",
		     "a signal to the started command is allowed");
	check_result(attempt_in(&to_other, CALLS_CHILD, other + 1), -EPERM, "kill",
		     "a signal to another process is refused");
	check_result(attempt_in(&exists, CALLS_CHILD, 0), 0, "kill",
		     "signal 0 is allowed for all processes");
	check_result(attempt_in(&to_other, CALLS_FILES, other), -ENOSYS, "kill",
		     "without a command, a signal to another process is refused");
	check_result(attempt_in(&itself, CALLS_SCREEN, 0), 0, "kill",
		     "without a command, a signal to the process itself is allowed");
	check_result(attempt_in(&itself, CALLS_CHILD, other), -EPERM, "kill",
		     "with a command, a signal to the process itself is refused");
}

static void open_status(void)
{
	status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
}

static long read_status(void)
{
	static char text[8192];
	long n = sys_read(status_fd, text, sizeof(text) - 1);

	bool both = n > 0 && strstr(text, "\nNoNewPrivs:\t1\n") && strstr(text, "\nSeccomp:\t2\n");

	return both ? 0 : -ENOMSG;
}

static long filter_state(void)
{
	return sandbox.filter ? sandbox.filter : sandbox.landlock;
}

/* --- files ------------------------------------------------------------------------------------ */

static long make_file(const char *path)
{
	return close(open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

/* The files of the test; it creates the last one. */
static const char *const files[] = { "read/file", "write/file", "in", "out", "else", "write/new" };

static bool make_files(void)
{
	bool made = mkdtemp(temporary_name(folder, sizeof(folder), "t_sandbox")) && mkdir(in_folder("read"), 0700) == 0 &&
		    mkdir(in_folder("write"), 0700) == 0;

	for (size_t i = 0; i < LEN(files) - 1; i++)
		made = made && make_file(in_folder(files[i])) == 0;
	return made;
}

static void remove_files(void)
{
	for (size_t i = 0; i < LEN(files); i++)
		remove(in_folder(files[i]));
	remove(in_folder("read"));
	remove(in_folder("write"));
	remove(folder);
}

static void add_folder(const char *name, bool write)
{
	i32 fd = open(in_folder(name), O_PATH | O_DIRECTORY | O_CLOEXEC);

	sandbox_folder(fd, write);
	close(fd);
}

/* Rules for read/, write/, in and out. Files that do not exist, and pipes, need none. */
static void add_rules(void)
{
	char path[32];
	int fds[2];

	sandbox_begin_files();
	add_folder("read", false);
	add_folder("write", true);
	if (!sandbox_file(in_folder("in"), false) || !sandbox_file(in_folder("out"), true) ||
	    sandbox_file(in_folder("nosuch"), false) || sandbox_file(NULL, false) || pipe(fds) < 0)
		_exit(1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fds[0]);
	if (!sandbox_file(path, false))
		_exit(1);
}

static void add_proc(void)
{
	add_rules();
	sandbox_file("/proc/self/status", false);
}

static void add_error(void)
{
	add_rules();
	sandbox_folder(-EMFILE, false);
}

static long file_state(void)
{
	return sandbox.landlock == sys_landlock_abi() ? 0 : sandbox.landlock;
}

static void check_open(const char *name, int flags, long want, void (*before)(void))
{
	const long path = (long)in_folder(name);
	const struct attempt a = { .nr = SYS_openat, .before = before,
				   .args = { AT_FDCWD, path, flags | O_CLOEXEC, 0600 } };
	long got = attempt_in(&a, CALLS_FILES | CALLS_WRITE | CALLS_REPLACE, 0);

	if (!check(got == want || *lacks, "Landlock: open %s, flags %s%s%s%s: %s%s",
		   *name ? name : "the folder above", flags & O_WRONLY ? "w" : "r",
		   flags & O_CREAT ? "c" : "", flags & O_TRUNC ? "t" : "",
		   flags & O_DIRECTORY ? "d" : "", want ? "EACCES" : "works", lacks))
		note("got %ld, want %ld", got, want);
}

static void test_files(void)
{
	const struct attempt state = { .before = add_rules, .call = file_state };
	const struct attempt proc = { .before = add_proc, .call = file_state };
	const struct attempt error = { .before = add_error, .call = file_state };
	const struct attempt removal = { .before = add_rules, .nr = SYS_unlinkat,
					 .args = { AT_FDCWD, (long)in_folder("write/new"), 0 } };
	const struct attempt no_removal = { .before = add_rules, .nr = SYS_unlinkat,
					    .args = { AT_FDCWD, (long)in_folder("read/file"), 0 } };

	check_result(attempt_in(&state, CALLS_FILES | CALLS_OPEN_PERF, 0), 0, "Landlock",
		     "the version of the ABI is stored");
	check_open("read/file", O_RDONLY, 0, add_rules);
	check_open("read/file", O_WRONLY, -EACCES, add_rules);
	check_open("read", O_RDONLY | O_DIRECTORY, 0, add_rules);
	check_open("read/new", O_WRONLY | O_CREAT, -EACCES, add_rules);
	check_open("write/file", O_WRONLY, 0, add_rules);
	check_open("write/file", O_RDONLY, -EACCES, add_rules);
	check_open("write", O_RDONLY | O_DIRECTORY, -EACCES, add_rules);
	check_open("write/new", O_WRONLY | O_CREAT, 0, add_rules);
	check_open("in", O_RDONLY, 0, add_rules);
	check_open("in", O_WRONLY, -EACCES, add_rules);
	check_open("out", O_WRONLY | O_TRUNC, 0, add_rules);
	check_open("out", O_RDONLY, -EACCES, add_rules);
	check_open("else", O_RDONLY, -EACCES, add_rules);
	check_open("", O_RDONLY | O_DIRECTORY, -EACCES, add_rules);
	check_result(attempt_in(&removal, CALLS_REPLACE, 0), 0, "Landlock",
		     "a file of a writable folder can be removed");
	check_result(attempt_in(&no_removal, CALLS_REPLACE, 0), -EACCES, "Landlock",
		     "a file of a readable folder cannot be removed");
	check_result(attempt_in(&proc, CALLS_FILES, 0), -ECANCELED, "Landlock",
		     "a rule for a file in /proc drops all rules");
	check_open("else", O_RDONLY, 0, add_proc);
	check_result(attempt_in(&error, CALLS_FILES, 0), -EMFILE, "Landlock",
		     "a transient error drops all rules");
	check_open("else", O_RDONLY, 0, add_error);
}

int main(void)
{
	const struct attempt state = { .call = filter_state };
	const struct attempt status = { .before = open_status, .call = read_status };
	long filter = attempt_in(&state, CALLS_FILES, 0), abi = sys_landlock_abi();

	if (!make_files() || (other = fork()) < 0) {
		puts("Bail out! no files or no process");
		return 1;
	}
	if (other == 0)
		for (sys_die_with_parent();;)
			pause();
	check(sandbox.filter == -ECANCELED && sandbox.landlock == -ECANCELED,
	      "the program starts without a sandbox");
	lacks = filter == -ECANCELED ? "" : " # SKIP this kernel accepts no filter";
	check_result(attempt_in(&status, CALLS_FILES, 0), 0, "/proc/self/status",
		     "the filter and no_new_privs are set");
	test_calls();
	test_arguments();
	test_requests();
	test_mailbox();
	test_kill();
	lacks = abi > 0 ? "" : " # SKIP this kernel has no Landlock";
	test_files();
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	remove_files();
	return unit_end();
}
