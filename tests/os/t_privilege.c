/* t_privilege.c - rights of the program's file and rights of the user: raised, lowered, dropped, in
 * child processes that are root or nobody. In place of the kernel, the test says that the program
 * is setuid (AT_SECURE): root's capabilities are then taken for those of the file.
 * SPDX-License-Identifier: MIT */
#define getauxval fake_auxval
#include "../../sources/os/privilege.c" /* for getauxval() */
#undef getauxval
#include "unit.h"

enum { NOBODY = 65534 };

static const struct {
	u8 may, cap; /* linux/capability.h */
} expected[] = {
	{ MAY_WRITE, 1 }, { MAY_READ, 2 }, { MAY_WRITE, 3 }, { MAY_KILL, 5 }, { MAY_PERF, 14 },
	{ MAY_PTRACE, 19 }, { MAY_PERF, 21 }, { MAY_SYMBOLS, 34 }, { MAY_PERF, 38 },
	{ MAY_BPF, 21 }, { MAY_BPF, 38 }, { MAY_BPF, 39 },
};

static unsigned long secure, user = NOBODY;

unsigned long fake_auxval(unsigned long type)
{
	return type == AT_SECURE ? secure : type == AT_UID || type == AT_GID ? user : 0;
}

/* --- capabilities of this process --------------------------------------------------------------
 */

static u64 word(u32 low, u32 high)
{
	return low | (u64)high << 32;
}

static u64 effective(void)
{
	struct sys_caps c[2] = { { 0 } };

	return sys_capget(c) < 0 ? UINT64_MAX : word(c[0].effective, c[1].effective);
}

static u64 permitted(void)
{
	struct sys_caps c[2] = { { 0 } };

	return sys_capget(c) < 0 ? UINT64_MAX : word(c[0].permitted, c[1].permitted);
}

static u64 inheritable(void)
{
	struct sys_caps c[2] = { { 0 } };

	return sys_capget(c) < 0 ? UINT64_MAX : word(c[0].inheritable, c[1].inheritable);
}

static u64 own; /* the permitted capabilities at the start */

static u64 caps(u8 may)
{
	u64 set = 0;

	for (size_t i = 0; i < LEN(expected); i++)
		if (expected[i].may & may)
			set |= UINT64_C(1) << expected[i].cap;
	return set & own;
}

static void set_caps(u64 to_permit, u64 to_inherit)
{
	struct sys_caps c[2];

	for (int i = 0; i < 2; i++) {
		c[i].effective = c[i].permitted = (u32)(to_permit >> 32 * i);
		c[i].inheritable = (u32)(to_inherit >> 32 * i);
	}
	if (sys_capset(c) < 0)
		_exit(99);
}

/* --- tests: each returns 0, or the number of its first condition that is false ------------------
 */

#define EXPECT(n, cond) do { if (!(cond)) return (n); } while (0)

static i32 folder_fd; /* only root may read it, and the file in it */

static bool opens(int flags)
{
	long fd = sys_openat(folder_fd, "file", flags);

	if (fd >= 0)
		sys_close((int)fd);
	return fd >= 0;
}

static int begin_secured(void)
{
	secure = 1;
	EXPECT(1, privilege_begin(MAY_READ | MAY_PERF | MAY_WRITE, MAY_KILL, false) == 0);
	EXPECT(2, privilege_from_file());
	EXPECT(3, effective() == 0);
	EXPECT(4, permitted() == caps(MAY_READ | MAY_PERF | MAY_WRITE));
	EXPECT(5, getuid() == NOBODY && geteuid() == NOBODY && getgid() == NOBODY);
	EXPECT(6, setuid(0) < 0 && setgid(0) < 0);
	EXPECT(7, privilege_has(MAY_WRITE) && privilege_has(MAY_KILL | MAY_WRITE));
	EXPECT(8, !privilege_has(MAY_KILL) && !privilege_has(MAY_PTRACE | MAY_SYMBOLS));
	return 0;
}

static int raise_and_lower(void)
{
	u8 was, inner;

	secure = 1;
	EXPECT(1, privilege_begin(MAY_READ | MAY_WRITE | MAY_PERF, 0, false) == 0);
	was = privilege_raise(MAY_WRITE);
	EXPECT(2, was == 0 && effective() == caps(MAY_WRITE));
	inner = privilege_raise(MAY_PERF | MAY_KILL);
	EXPECT(3, inner == MAY_WRITE && effective() == caps(MAY_WRITE | MAY_PERF));
	privilege_lower(inner);
	EXPECT(4, effective() == caps(MAY_WRITE));
	privilege_lower(was);
	EXPECT(5, effective() == 0 && permitted() == caps(MAY_READ | MAY_WRITE | MAY_PERF));
	return 0;
}

static int drop(void)
{
	secure = 1;
	EXPECT(1, privilege_begin(MAY_READ | MAY_BPF, 0, false) == 0);
	privilege_raise(MAY_BPF);
	EXPECT(2, effective() == caps(MAY_BPF) && permitted() == caps(MAY_READ | MAY_BPF));
	privilege_drop(MAY_BPF, MAY_READ);
	EXPECT(3, effective() == 0 && permitted() == caps(MAY_READ));
	privilege_raise(MAY_BPF | MAY_READ);
	EXPECT(4, effective() == caps(MAY_READ));
	return 0;
}

/* A capability that another right needs, too, is kept. */
static int drop_shared(void)
{
	EXPECT(1, privilege_begin(0, MAY_READ | MAY_PERF | MAY_BPF, false) == 0);
	privilege_drop(MAY_BPF, MAY_READ | MAY_PERF);
	EXPECT(2, effective() == caps(MAY_READ | MAY_PERF) && permitted() == effective());
	EXPECT(3, caps(MAY_READ | MAY_PERF | MAY_BPF) != permitted() || !(own >> 39 & 1));
	return 0;
}

static int open_files(void)
{
	u8 was;

	secure = 1;
	EXPECT(1, privilege_begin(MAY_READ | MAY_WRITE, 0, false) == 0);
	EXPECT(2, !opens(O_RDONLY));
	was = privilege_raise(MAY_READ);
	EXPECT(3, opens(O_RDONLY) == (caps(MAY_READ) != 0) && !opens(O_WRONLY));
	privilege_lower(was);
	EXPECT(4, !opens(O_RDONLY));
	was = privilege_raise(MAY_WRITE);
	EXPECT(5, opens(O_WRONLY));
	privilege_lower(was);
	EXPECT(6, !opens(O_RDONLY) && !opens(O_WRONLY));
	return 0;
}

static int keep(void)
{
	secure = 1;
	set_caps(own, caps(MAY_KILL));
	EXPECT(1, privilege_begin(MAY_READ | MAY_WRITE | MAY_KILL, 0, true) == 0);
	privilege_raise(MAY_WRITE);
	EXPECT(2, privilege_keep(MAY_KILL) == 0 && effective() == 0);
	EXPECT(3, permitted() == caps(MAY_KILL));
	EXPECT(4, inheritable() == caps(MAY_KILL)); /* the user's own */
	privilege_raise(MAY_WRITE | MAY_KILL);
	EXPECT(5, effective() == caps(MAY_KILL));
	privilege_end();
	EXPECT(6, permitted() == 0 && effective() == 0 && inheritable() == caps(MAY_KILL));
	EXPECT(7, !privilege_has(MAY_KILL));
	return 0;
}

/* Rights that cannot be dropped end the process: here the kernel refuses to lower them, as they
 * have more than the process has. */
static int cannot_lower(void)
{
	secure = 1;
	EXPECT(1, privilege_begin(MAY_WRITE | MAY_KILL, 0, false) == 0);
	privilege_raise(MAY_WRITE);
	set_caps(0, 0);
	close(STDERR_FILENO);
	privilege_lower(0);
	return 2;
}

static int cannot_keep(void)
{
	secure = 1;
	EXPECT(3, privilege_begin(MAY_WRITE | MAY_KILL, 0, false) == 0);
	set_caps(0, 0);
	close(STDERR_FILENO);
	privilege_keep(MAY_WRITE);
	return 2;
}

static int root_setuid(void) /* by root: the file gives root no right that it does not have */
{
	secure = 1;
	user = 0;
	EXPECT(1, privilege_begin(MAY_READ, MAY_WRITE | MAY_KILL, false) == 0);
	EXPECT(2, !privilege_from_file());
	EXPECT(3, permitted() == caps(MAY_WRITE | MAY_KILL) && effective() == permitted());
	return 0;
}

static int root_begin(void)
{
	set_caps(own, own);
	EXPECT(1, privilege_begin(MAY_READ, MAY_WRITE | MAY_KILL, false) == 0);
	EXPECT(2, !privilege_from_file() && geteuid() == 0);
	EXPECT(3, permitted() == caps(MAY_WRITE | MAY_KILL) && effective() == permitted());
	EXPECT(4, inheritable() == 0);
	EXPECT(5, privilege_raise(MAY_READ) == 0 && effective() == permitted());
	privilege_lower(0);
	EXPECT(6, effective() == caps(MAY_WRITE | MAY_KILL));
	privilege_end();
	EXPECT(7, effective() == caps(MAY_WRITE | MAY_KILL));
	return 0;
}

static int root_starts(void)
{
	EXPECT(1, privilege_begin(0, MAY_KILL, true) == 0);
	EXPECT(2, permitted() == own && effective() == own);
	EXPECT(3, privilege_keep(MAY_KILL) == 0);
	EXPECT(4, permitted() == caps(MAY_KILL) && effective() == caps(MAY_KILL));
	return 0;
}

static int nobody_begin(void)
{
	EXPECT(1, privilege_begin(MAY_READ, MAY_READ, false) == 0);
	EXPECT(2, !privilege_from_file() && !privilege_has(0xff));
	EXPECT(3, privilege_raise(MAY_READ | MAY_WRITE) == 0 && effective() == 0);
	EXPECT(4, !opens(O_RDONLY));
	privilege_lower(0);
	EXPECT(5, privilege_keep(MAY_READ) == 0 && effective() == 0);
	return 0;
}

/* A setuid program that cannot become the user again does not go on. */
static int nobody_secured(void)
{
	secure = 1;
	user = 1;
	EXPECT(1, privilege_begin(MAY_READ, 0, false) == -EPERM);
	EXPECT(2, privilege_from_file() && effective() == 0);
	return 0;
}

static int environment(void)
{
	setenv("GPUSTAT_TEST", "a", 1);
	EXPECT(1, privilege_getenv("GPUSTAT_TEST") && !privilege_getenv("GPUSTAT_NONE"));
	secure = 1;
	EXPECT(2, privilege_begin(0, 0, false) == 0);
	EXPECT(3, strcmp(privilege_getenv("GPUSTAT_TEST"), "a") == 0);
	return 0;
}

static const struct {
	int (*test)(void);
	const char *name;
	bool nobody;
	int want; /* exit status */
} tests[] = {
	{ begin_secured, "secured: the user's ids, no effective right, the given ones permitted",
	  false, 0 },
	{ raise_and_lower, "secured: rights are raised, also twice, and lowered again", false, 0 },
	{ drop, "secured: one right is dropped, and cannot be raised again", false, 0 },
	{ drop_shared, "root: a capability that another right needs stays", false, 0 },
	{ open_files, "secured: files of root can be opened only with the raised right", false, 0 },
	{ keep, "secured: dropped rights cannot be raised, and the command gets none", false, 0 },
	{ cannot_lower, "secured: the process ends if rights cannot be lowered", false, 1 },
	{ cannot_keep, "secured: the process ends if rights cannot be dropped", false, 1 },
	{ root_setuid, "a setuid program that root starts is not secured", false, 0 },
	{ root_begin, "root: only the rights of the command are kept", false, 0 },
	{ root_starts, "root: all rights are kept for a command, until privilege_keep()", false,
	  0 },
	{ environment, "variables of the environment are read", false, 0 },
	{ nobody_begin, "nobody: there are no rights to raise", true, 0 },
	{ nobody_secured, "secured: an error if the process cannot become the user", true, 0 },
};

/* Returns the exit status of a test in a child process, or -1. */
static int in_child(int (*test)(void), bool nobody)
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0) {
		if (nobody && geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
			_exit(98);
		_exit(test());
	}
	return pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ? -1 :
	       WEXITSTATUS(status);
}

int main(void)
{
	const u64 needed = UINT64_C(1) << 1 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 7;
	char folder[100];
	bool root = geteuid() == 0 && (permitted() & needed) == needed;

	own = permitted();
	if (!mkdtemp(temporary_name(folder, sizeof(folder), "t_privilege")) || (folder_fd = open(folder, O_RDONLY | O_DIRECTORY)) < 0 ||
	    close(openat(folder_fd, "file", O_WRONLY | O_CREAT, 0600)) < 0) {
		puts("Bail out! no files");
		return 1;
	}
	for (size_t i = 0; i < LEN(tests); i++)
		if (!root)
			check(true, "%s # SKIP needs root", tests[i].name);
		else
			check_u64((u64)in_child(tests[i].test, tests[i].nobody), (u64)tests[i].want,
				  "%s", tests[i].name);
	unlinkat(folder_fd, "file", 0);
	remove(folder);
	return unit_end();
}
