/* filter.c - sources/os/sandbox.c: runs each filter in an interpreter and compares it with lists of
 * the expected calls. Works for any architecture: the only system calls here print TAP. With
 * arguments GROUPS NAME...: prints whether each of these calls is allowed for a command with these
 * CALLS_* (a number). SPDX-License-Identifier: MIT */
#include "../../sources/os/sandbox.c"

#include <stdio.h>
#include <stdlib.h>

/* The expected result for each call name, independent of the table under test. */
static const struct name {
	const char *name;
	long nr;
	u16 who;
} names[] = {
#define EVER 0xffff
#define N(name, who) { #name, SYS_##name, who }
	N(read, EVER), N(write, EVER), N(close, EVER), N(pread64, EVER), N(fstat, EVER), N(ppoll, EVER), N(lseek, EVER), N(ioctl, EVER),
	N(rt_sigprocmask, EVER), N(rt_sigaction, EVER), N(rt_sigreturn, EVER), N(restart_syscall, EVER), N(exit_group, EVER),
	N(getpid, EVER), N(gettid, EVER), N(geteuid, EVER), N(capset, EVER), N(uname, EVER), N(fcntl, EVER), N(clock_gettime, EVER),
	N(clock_nanosleep, EVER), N(clock_getres, EVER), N(prctl, EVER), N(mprotect, EVER),
	N(openat, CALLS_FILES | CALLS_REPLACE | CALLS_WRITE), N(getdents64, CALLS_FILES), N(readlinkat, CALLS_FILES), N(newfstatat, CALLS_FILES),
	N(faccessat, CALLS_FILES), N(faccessat2, CALLS_FILES), N(statx, CALLS_FILES), N(statfs, CALLS_FILES), N(fstatfs, CALLS_FILES),
	N(unlinkat, CALLS_REPLACE), N(renameat2, CALLS_REPLACE), N(fchmod, CALLS_REPLACE), N(pwrite64, CALLS_WRITE | CALLS_PERF),
	N(inotify_init1, CALLS_WATCH), N(inotify_add_watch, CALLS_WATCH), N(pidfd_open, CALLS_WATCH), N(pidfd_getfd, CALLS_GETFD),
	N(sched_getaffinity, CALLS_PERF | CALLS_OPEN_PERF), N(perf_event_open, CALLS_OPEN_PERF), N(prlimit64, CALLS_OPEN_PERF), N(munmap, CALLS_PERF),
	N(sendto, CALLS_NET), N(shutdown, CALLS_NET), N(recvfrom, CALLS_NET), N(getsockopt, CALLS_NET),
	N(wait4, CALLS_CHILD), N(getrusage, CALLS_CHILD), N(kill, CALLS_CHILD | CALLS_SCREEN | CALLS_WRITE),
	{ "landlock_create_ruleset", SYS_LANDLOCK, CALLS_OPEN_PERF },
#ifdef SYS_mmap2
	N(mmap2, CALLS_PERF),
#else
	N(mmap, CALLS_PERF),
#endif
#ifdef SYS_clock_gettime64
	N(clock_gettime64, EVER), N(clock_nanosleep_time64, EVER), N(clock_getres_time64, EVER), N(ppoll_time64, EVER), N(fcntl64, EVER),
	N(fstat64, EVER), N(stat64, CALLS_FILES), N(lstat64, CALLS_FILES),
#endif
#ifdef SYS__llseek
	N(_llseek, EVER),
#endif
#ifdef SYS_poll
	N(poll, EVER),
#endif
#ifdef SYS_sigreturn
	N(sigreturn, EVER),
#endif
#ifdef SYS_stat
	N(stat, CALLS_FILES), N(lstat, CALLS_FILES),
#endif
#ifdef SYS_statfs64
	N(statfs64, CALLS_FILES), N(fstatfs64, CALLS_FILES),
#endif
#ifdef SYS_geteuid32
	N(geteuid32, EVER),
#endif
#ifdef SYS_renameat
	N(renameat, CALLS_REPLACE),
#endif
#ifdef SYS_socketcall
	N(socketcall, CALLS_NET),
#endif
};

static const long deadly[] = { SYS_execve, SYS_execveat, SYS_clone, SYS_clone3, SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,
	SYS_bpf, SYS_mount, SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_unshare, SYS_setns, SYS_init_module, SYS_finit_module,
	SYS_delete_module, SYS_kexec_load, SYS_reboot, SYS_setuid, SYS_setgid, SYS_setresuid, SYS_setresgid, SYS_setgroups, SYS_keyctl,
	SYS_add_key, SYS_request_key, SYS_open_by_handle_at, SYS_userfaultfd, SYS_memfd_create,
#ifdef SYS_fork
	SYS_fork,
#endif
#ifdef SYS_vfork
	SYS_vfork,
#endif
#ifdef SYS_setuid32
	SYS_setuid32, SYS_setgid32, SYS_setresuid32, SYS_setresgid32, SYS_setgroups32,
#endif
};

enum { ALL_CALLS = 2 * CALLS_GETFD - 1, CHILD = 1234 };
enum { BEYOND = -1 /* a jump out of the program, or an unknown instruction */ };

/* Returns the verdict that the kernel would reach. */
static i64 run(const struct program *p, u32 arch, u32 nr, const u64 *args)
{
	struct seccomp_data d = { .nr = (int)nr, .arch = arch };
	u32 a = 0;

	for (size_t i = 0; args && i < 6; i++)
		d.args[i] = args[i];
	for (u32 pc = 0; pc < p->n; pc++) {
		const struct sock_filter *f = &p->code[pc];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			if (f->k % 4 || f->k + 4 > sizeof(d))
				return BEYOND;
			memcpy(&a, (const char *)&d + f->k, 4);
			break;
		case BPF_ALU | BPF_RSH | BPF_K: a >>= f->k; break;
		case BPF_ALU | BPF_AND | BPF_K: a &= f->k; break;
		case BPF_JMP | BPF_JEQ | BPF_K: pc += a == f->k ? f->jt : f->jf; break;
		case BPF_JMP | BPF_JGE | BPF_K: pc += a >= f->k ? f->jt : f->jf; break;
		case BPF_JMP | BPF_JGT | BPF_K: pc += a > f->k ? f->jt : f->jf; break;
		case BPF_JMP | BPF_JSET | BPF_K: pc += a & f->k ? f->jt : f->jf; break;
		case BPF_RET | BPF_K: return f->k;
		default: return BEYOND;
		}
	}
	return BEYOND;
}

static unsigned ntests, nfailed;

static void report(bool ok, const char *what, unsigned n)
{
	ntests++;
	nfailed += !ok;
	printf("%s %u - %s (%u)\n", ok ? "ok" : "not ok", ntests, what, n);
}

static const struct name *name_of_nr(long nr)
{
	for (size_t i = 0; i < LEN(names); i++)
		if (names[i].nr == nr)
			return &names[i];
	return NULL;
}

static bool is_deadly(long nr)
{
	for (size_t i = 0; i < LEN(deadly); i++)
		if (deadly[i] == nr)
			return true;
	return false;
}

/* Returns whether the call is allowed with some arguments: those that pass every check. */
static bool passes(const struct program *p, u32 nr)
{
	static const u64 tries[][6] = { { 0 }, { CHILD }, { PR_SET_TIMERSLACK }, { 0, TIOCGWINSZ }, { UINT64_MAX, UINT64_MAX, UINT64_MAX } };

	for (size_t i = 0; i < LEN(tries); i++)
		if (run(p, ARCH, nr, tries[i]) == SECCOMP_RET_ALLOW)
			return true;
	return false;
}

static bool numbers_right(const struct program *p, u16 who)
{
	bool good = true;

	for (long nr = 0; nr < 8192; nr++) {
		const struct name *n = name_of_nr(nr);
		bool want = n && n->who & who, got = passes(p, (u32)nr);
		i64 verdict = run(p, ARCH, (u32)nr, NULL);

		if (want != got || (is_deadly(nr) && verdict != (i64)SECCOMP_RET_KILL_PROCESS) ||
		    (!want && !is_deadly(nr) && verdict != UNKNOWN)) {
			printf("# call %ld of groups %x: %llx\n", nr, who, (unsigned long long)verdict);
			good = false;
		}
	}
	return good;
}

#ifdef SYS_fcntl64
#define FCNTL_NR SYS_fcntl64
#else
#define FCNTL_NR SYS_fcntl
#endif

static bool arg(const struct program *p, long nr, size_t at, u64 value, bool want)
{
	u64 args[6] = { 0 };
	bool got;

	args[at] = value;
	if (nr == SYS_kill && at == 0)
		args[1] = SIGKILL;
	if (nr == FCNTL_NR && at == 2)
		args[1] = F_SETOWN;
	got = run(p, ARCH, (u32)nr, args) == SECCOMP_RET_ALLOW;
	if (got != want)
		printf("# call %ld, argument %zu %llx\n", nr, at, (unsigned long long)value);
	return got == want;
}

#ifdef SYS_mmap2
#define MAPS SYS_mmap2
#else
#define MAPS SYS_mmap
#endif

static bool args_right(const struct program *p, u16 who)
{
	bool writes = who & CALLS_WRITE, perf = who & CALLS_PERF, drm = who & CALLS_DRM, good = true;
	bool kills = who & (CALLS_CHILD | CALLS_SCREEN | CALLS_WRITE), makes = who & CALLS_REPLACE, opens = writes || makes || who & CALLS_FILES;
	bool notified = who & CALLS_OPEN_PERF && who & CALLS_CHILD;

	static const int refused[] = { O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_RDONLY | O_TRUNC | O_CLOEXEC, O_RDWR | O_EXCL, O_WRONLY | O_CREAT };
	static const u64 submits[] = { 0x40406469 /* I915_GEM_EXECBUFFER2 */, 0x40386449 /* XE_EXEC */, 0xc010640a /* GEM_FLINK */ };
	static const u64 asks[] = { 0xc0406400 /* VERSION */, 0xc0106446 /* I915_GETPARAM */, 0x80186476 /* the number of I915_PERF_OPEN on MIPS */, 0x4020644b };

	for (size_t i = 0; i < LEN(refused); i++)
		good &= arg(p, SYS_openat, 2, (u64)refused[i], writes);
	good &= arg(p, SYS_openat, 2, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, writes || makes);
	for (size_t i = 0; i < LEN(submits); i++)
		good &= arg(p, SYS_ioctl, 1, submits[i], false);
	for (size_t i = 0; i < LEN(asks); i++)
		good &= arg(p, SYS_ioctl, 1, asks[i], drm);
	good &= arg(p, FCNTL_NR, 1, F_GETFD, true) & arg(p, FCNTL_NR, 1, F_SETFL, true);
	good &= arg(p, FCNTL_NR, 1, F_SETSIG, notified) & arg(p, FCNTL_NR, 1, F_SETOWN_EX, false);
	good &= arg(p, FCNTL_NR, 2, (u64)getpid(), notified) & arg(p, FCNTL_NR, 2, 1, false);
	good &= arg(p, FCNTL_NR, 2, (u64)-getpid(), false); /* a process group */
	good &= arg(p, SYS_prlimit64, 0, 0, who & CALLS_OPEN_PERF) & arg(p, SYS_prlimit64, 0, 1, false);
	good &= arg(p, SYS_openat, 2, O_RDONLY | O_CLOEXEC | O_DIRECTORY, opens) & arg(p, SYS_openat, 2, O_PATH, opens);
	good &= arg(p, MAPS, 2, PROT_READ | PROT_WRITE, perf) & arg(p, MAPS, 2, PROT_READ | PROT_EXEC, false);
	good &= arg(p, SYS_mprotect, 2, PROT_READ | PROT_WRITE, true) & arg(p, SYS_mprotect, 2, PROT_READ | PROT_EXEC, false);
	good &= arg(p, SYS_mprotect, 2, PROT_READ | PROT_WRITE | PROT_EXEC, false);
	good &= arg(p, SYS_ioctl, 1, TIOCGWINSZ, true) & arg(p, SYS_ioctl, 1, TIOCSTI, false) & arg(p, SYS_ioctl, 1, TCSETS, who & CALLS_SCREEN);
	good &= arg(p, SYS_ioctl, 1, 0x2400, perf) & arg(p, SYS_ioctl, 1, 0x6400, drm) & arg(p, SYS_ioctl, 1, 0x6903, drm);
	good &= arg(p, SYS_prctl, 0, PR_SET_TIMERSLACK, true) & arg(p, SYS_prctl, 0, PR_TASK_PERF_EVENTS_DISABLE, true);
	good &= arg(p, SYS_prctl, 0, PR_SET_DUMPABLE, false) & arg(p, SYS_prctl, 0, PR_SET_SECCOMP, false) & arg(p, SYS_prctl, 0, 0x53564d41 /* PR_SET_VMA */, false);
	good &= arg(p, SYS_kill, 0, CHILD, kills) & arg(p, SYS_kill, 0, 1, false) & arg(p, SYS_kill, 0, UINT32_MAX, false) & arg(p, SYS_kill, 1, 0, kills);
	return good;
}

static int asked(int argc, char **argv)
{
	struct program p;
	int code = 0;

	make_filter(&p, (u16)strtoul(argv[1], NULL, 0), CHILD);
	for (int i = 2; i < argc; i++) {
		bool known = false;

		for (size_t k = 0; k < LEN(names); k++)
			known |= strcmp(names[k].name, argv[i]) == 0 && passes(&p, (u32)names[k].nr);
		if (!known) {
			printf("%s\n", argv[i]);
			code = 1;
		}
	}
	return code;
}

int main(int argc, char **argv)
{
	unsigned most = 0;
	bool numbers = true, args = true, arch = true;
	struct program p;

	if (argc > 2)
		return asked(argc, argv);
	for (u16 who = 1; who <= ALL_CALLS; who++) {
		make_filter(&p, who, CHILD);
		most = p.n > most ? p.n : most;
		/* the arguments are checked for each set of groups, all numbers only for a few */
		if (who > 65 && who % 37 && who != ALL_CALLS)
			numbers &= run(&p, ARCH, SYS_read, NULL) == SECCOMP_RET_ALLOW;
		else
			numbers &= numbers_right(&p, who);
		args &= args_right(&p, who);
		arch &= run(&p, ARCH ^ 1, SYS_read, NULL) == (i64)SECCOMP_RET_KILL_PROCESS;
#ifdef __x86_64__
		arch &= run(&p, ARCH, SYS_read | 0x40000000u, NULL) == (i64)SECCOMP_RET_KILL_PROCESS;
#endif
	}
	report(ARCH != 0, "this architecture has a filter", ARCH);
	report(numbers, "each system call number is allowed, rejected or fatal, as in the lists", 8192);
	report(args, "each relevant argument is checked", ALL_CALLS);
	report(arch, "system calls of another architecture kill the process", ARCH ^ 1);
	report(most <= 150, "every filter is short, even one with all groups, which no command has", most);
	printf("1..%u\n", ntests);
	return nfailed != 0;
}
