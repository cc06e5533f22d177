/* probe.c - sources/os/sandbox.c in a test program: after entering its sandbox, a command does what
 * $PROBE names, as an attacker would, and prints the results to standard error.
 *	calls		each system call number, with invalid arguments, in a sandboxed child:
 *			"NR WHAT"
 *	open PATH...	opens each file for reading and writing, and creates a file next to it
 *	memory PATH	maps memory and the file, which it opened before, with each protection,
 *			and changes it
 *	(unset)		continues normally
 * SPDX-License-Identifier: MIT */
#define sandbox_enter confine_truly
#include "../../sources/os/sandbox.c"
#undef sandbox_enter

#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 480, NOTHING = -4096, PATIENCE = 5 /* s */, PROBED = 4096 };

static void report(const char *what, long a, long b)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "%s %ld %ld\n", what, a, b);

	if (write(2, text, (size_t)n) != n)
		_exit(3);
}

static void probe_call(long nr, u16 who, i32 child)
{
	long *result = mmap(NULL, sizeof(*result), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	*result = NOTHING;
	pid = fork();
	if (pid == 0) {
		alarm(PATIENCE);
		confine_truly(who, child);
		*result = syscall(nr, -1L, -1L, -1L, -1L, -1L, -1L) < 0 ? -errno : 0;
		for (;;)
			syscall(SYS_exit_group, 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		_exit(3);
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		report("killed", nr, 0);
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		report("waits", nr, 0);
	else
		report("returned", nr, *result);
	munmap(result, sizeof(*result));
}

static void probe_open(char *path)
{
	for (char *p = strtok(path, " "); p; p = strtok(NULL, " ")) {
		char beside[512];
		long fd = sys_openat(AT_FDCWD, p, O_RDONLY);

		report("read", fd < 0 ? fd : 0, 0);
		fd = sys_openat(AT_FDCWD, p, O_WRONLY);
		report("write", fd < 0 ? fd : 0, 0);
		snprintf(beside, sizeof(beside), "%s.made", p);
		fd = sys_openat_new(beside, O_WRONLY | O_CREAT, 0600);
		report("make", fd < 0 ? fd : 0, 0);
	}
}

static void report_map(const char *what, i32 fd, int prot, int flags)
{
	report(what, mmap(NULL, PROBED, prot, flags, fd, 0) == MAP_FAILED ? -errno : 0, 0);
}

static void report_protect(const char *what, void *p, int prot)
{
	report(what, mprotect(p, PROBED, prot) < 0 ? -errno : 0, 0);
}

/* fd: a file open for reading and writing. reserved: address space without memory, as tables have
 * it. */
static void probe_memory(i32 fd, char *reserved)
{
	report_map("file-read", fd, PROT_READ, MAP_PRIVATE);
	report_map("file-write", fd, PROT_READ | PROT_WRITE, MAP_SHARED);
	report_map("file-copy", fd, PROT_READ | PROT_WRITE, MAP_PRIVATE);
	report_map("file-exec", fd, PROT_READ | PROT_EXEC, MAP_PRIVATE);
	report_map("anonymous-exec", -1, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS);
	report_map("anonymous-all", -1, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS);
	report_protect("table-write", reserved, PROT_READ | PROT_WRITE);
	reserved[PROBED - 1] = 1;
	report_protect("table-exec", reserved, PROT_READ | PROT_EXEC);
	report_protect("table-all", reserved, PROT_READ | PROT_WRITE | PROT_EXEC);
	report_protect("code-all", (void *)((uintptr_t)probe_memory & -(uintptr_t)PROBED), PROT_READ | PROT_WRITE | PROT_EXEC);
}

void sandbox_enter(u16 who, i32 child)
{
	char *probe = getenv("PROBE");

	if (probe && strcmp(probe, "calls") == 0) {
		for (long nr = 0; nr < NUMBERS; nr++)
			probe_call(nr, who, child);
		_exit(0);
	}
	if (probe && strncmp(probe, "memory ", 7) == 0) {
		i32 fd = open(probe + 7, O_RDWR | O_CLOEXEC);
		char *reserved = mmap(NULL, PROBED, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		confine_truly(who, child);
		probe_memory(fd, reserved);
		_exit(0);
	}
	confine_truly(who, child);
	if (probe && strncmp(probe, "open ", 5) == 0) {
		probe_open(probe + 5);
		_exit(0);
	}
}
