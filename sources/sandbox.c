/* sandbox.c - what this process may still ask of the kernel once its command has begun: a seccomp filter of the calls that
 * the command makes, and Landlock's rules for the files that it has yet to open. Neither is a condition: where the kernel
 * has none, or a container refuses them, the command runs all the same. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

/* A filter is of one architecture: on the same kernel a 32-bit program's calls have other numbers. */
#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#elif defined __i386__
#define ARCH AUDIT_ARCH_I386
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#elif defined __arm__
#define ARCH AUDIT_ARCH_ARM
#elif defined __riscv && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#elif defined __mips__ && !defined __mips64
#define ARCH AUDIT_ARCH_MIPSEL
#elif defined __powerpc64__
#define ARCH AUDIT_ARCH_PPC64LE
#else
#define ARCH 0 /* not known: no filter */
#endif

/* --- calls ------------------------------------------------------------------------------------------------------ */

/* musl's names of what it asks where the kernel has no 64-bit time. */
#ifdef SYS_clock_gettime32
#define SYS_clock_gettime   SYS_clock_gettime32
#define SYS_clock_getres    SYS_clock_getres_time32
#define SYS_clock_nanosleep SYS_clock_nanosleep_time32
#endif
#ifndef SYS_newfstatat
#define SYS_newfstatat SYS_fstatat64
#endif

/* What a call's arguments must be; NEVER: what only who broke in would call. */
enum check { ANY, OPEN, IOCTL, FCNTL, MMAP, PRCTL, LIMIT, KILL, NEVER };
enum { CHECK_SHIFT = 12, WHO = (1 << CHECK_SHIFT) - 1 };

static const struct call {
	u16 nr, who; /* CALLS_* that make it, and its check */
} calls[] = {
#define CALL(name, who, check) { SYS_##name, (who) | (check) << CHECK_SHIFT }
#define ALL(name) { SYS_##name, WHO } /* pasted here: libc's headers may call some names otherwise */
#define FILES(name) { SYS_##name, CALLS_FILES }
	/* The most frequent first: kernels before 5.11 run the filter for each of them. */
	CALL(openat, CALLS_FILES | CALLS_REPLACE | CALLS_WRITE, OPEN), ALL(read), ALL(close), ALL(pread64), FILES(getdents64), FILES(readlinkat),
	ALL(write), ALL(fstat), FILES(newfstatat), FILES(faccessat), ALL(ppoll), ALL(clock_gettime), ALL(clock_nanosleep),
	ALL(lseek), CALL(ioctl, WHO, IOCTL),
	FILES(faccessat2), FILES(statfs), FILES(fstatfs), FILES(statx),
	ALL(rt_sigprocmask), ALL(rt_sigaction), ALL(rt_sigreturn), ALL(restart_syscall), ALL(exit_group),
	ALL(getpid), ALL(gettid), ALL(geteuid), ALL(uname), ALL(clock_getres), CALL(fcntl, WHO, FCNTL), CALL(prctl, WHO, PRCTL),
	ALL(capset), /* to have less, or what was put aside */
	CALL(kill, CALLS_CHILD | CALLS_SCREEN | CALLS_WRITE, KILL),
	CALL(unlinkat, CALLS_REPLACE, ANY), CALL(renameat2, CALLS_REPLACE, ANY), CALL(fchmod, CALLS_REPLACE, ANY),
	CALL(pwrite64, CALLS_WRITE | CALLS_PERF, ANY),
	CALL(inotify_init1, CALLS_WATCH, ANY), CALL(inotify_add_watch, CALLS_WATCH, ANY), CALL(pidfd_open, CALLS_WATCH, ANY),
	CALL(pidfd_getfd, CALLS_BLIND, ANY),
	CALL(mprotect, WHO, MMAP), /* tables grow; their address space was reserved before */
	CALL(sched_getaffinity, CALLS_PERF | CALLS_OPEN_PERF, ANY), /* the CPUs of a machine without /sys */
	CALL(perf_event_open, CALLS_OPEN_PERF, ANY), CALL(prlimit64, CALLS_OPEN_PERF, LIMIT), CALL(munmap, CALLS_PERF, ANY),
	{ SYS_LANDLOCK, CALLS_OPEN_PERF }, /* doctor asks for its version */
	CALL(sendto, CALLS_NET, ANY), CALL(shutdown, CALLS_NET, ANY), CALL(recvfrom, CALLS_NET, ANY), CALL(getsockopt, CALLS_NET, ANY),
	CALL(wait4, CALLS_CHILD, ANY), CALL(getrusage, CALLS_CHILD, ANY),
	/* What some architectures have beside these, or instead. */
#ifdef SYS_mmap2
	CALL(mmap2, CALLS_PERF, MMAP),
#else
	CALL(mmap, CALLS_PERF, MMAP),
#endif
#ifdef SYS_clock_gettime64
	ALL(clock_gettime64), ALL(clock_nanosleep_time64), ALL(clock_getres_time64), ALL(ppoll_time64), ALL(fstat64),
	CALL(fcntl64, WHO, FCNTL),
#endif
#ifdef SYS__llseek
	ALL(_llseek),
#endif
#ifdef SYS_poll
	ALL(poll),
#endif
#ifdef SYS_sigreturn
	ALL(sigreturn),
#endif
#ifdef SYS_stat
	FILES(stat), FILES(lstat),
#endif
#ifdef SYS_stat64
	FILES(stat64), FILES(lstat64),
#endif
#ifdef SYS_statfs64
	FILES(statfs64), FILES(fstatfs64),
#endif
#ifdef SYS_geteuid32
	ALL(geteuid32),
#endif
#ifdef SYS_renameat
	CALL(renameat, CALLS_REPLACE, ANY),
#endif
#ifdef SYS_socketcall /* what it is of lies in memory, which no filter sees */
	CALL(socketcall, CALLS_NET, ANY),
#endif
#undef FILES
#undef ALL
#define NO(name) { SYS_##name, WHO | NEVER << CHECK_SHIFT }
	NO(execve), NO(execveat), NO(clone), NO(clone3), NO(ptrace), NO(process_vm_readv), NO(process_vm_writev), NO(bpf),
	NO(mount), NO(umount2), NO(pivot_root), NO(chroot), NO(unshare), NO(setns), NO(init_module), NO(finit_module),
	NO(delete_module), NO(kexec_load), NO(reboot), NO(setuid), NO(setgid), NO(setresuid), NO(setresgid), NO(setgroups),
	NO(keyctl), NO(add_key), NO(request_key), NO(open_by_handle_at), NO(userfaultfd), NO(memfd_create),
#ifdef SYS_fork
	NO(fork),
#endif
#ifdef SYS_vfork
	NO(vfork),
#endif
#ifdef SYS_setuid32
	NO(setuid32), NO(setgid32), NO(setresuid32), NO(setresgid32), NO(setgroups32),
#endif
#undef NO
#undef CALL
};

/* --- the filter: linux/filter.h; offsets are of struct seccomp_data -------------------------------------------------- */

enum { MAX_FILTER = 176, TO_ALLOW = 255, TO_KILL = 254, TO_DENY = 253 /* places that are known at the end */ };

struct program {
	struct sock_filter code[MAX_FILTER];
	u16 n;
};

static void emit(struct program *p, u16 code, u32 k, u8 jt, u8 jf)
{
	p->code[p->n++] = (struct sock_filter){ code, jt, jf, k };
}

static void emit_if(struct program *p, u32 value, u8 then, u8 otherwise)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise);
}

/* The low half of an argument: those that are checked are ints. All our architectures are little-endian. */
static void emit_arg(struct program *p, size_t n)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS, (u32)(offsetof(struct seccomp_data, args) + n * sizeof(u64)), 0, 0);
}

/* Of DRM: the version, and what oa.c asks of i915 and xe. None gives the GPU work. */
static const u8 drm_requests[] = { 0x00, 0x40, 0x46, 0x4b, 0x71, 0x76, 0x77, 0x78, 0x79 };

/* Of a terminal: its size, and in top how it reads; no TIOCSTI, which would type. Of what was opened: requests of perf,
 * of DRM, of an OA stream. */
static void emit_ioctl(struct program *p, u16 who)
{
	emit_arg(p, 1);
	emit_if(p, TIOCGWINSZ, TO_ALLOW, 0);
	if (who & CALLS_SCREEN) {
		emit_if(p, TCGETS, TO_ALLOW, 0);
		emit_if(p, TCSETS, TO_ALLOW, 0);
	}
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0xffff, 0, 0); /* whose it is, and its number; without its size and direction */
	for (size_t i = 0; who & CALLS_DRM && i < LEN(drm_requests); i++)
		emit_if(p, 'd' << 8 | drm_requests[i], TO_ALLOW, 0);
	emit(p, BPF_ALU | BPF_RSH | BPF_K, 8, 0, 0);
	if (who & CALLS_PERF)
		emit_if(p, '$', TO_ALLOW, 0);
	if (who & CALLS_DRM)
		emit_if(p, 'i', TO_ALLOW, 0);
	emit_if(p, UINT32_MAX, 0, TO_DENY);
}

/* The command, or ourselves, for what a signal does to us after its handler; and whether a process is there. */
static void emit_kill(struct program *p, i32 child)
{
	emit_arg(p, 0);
	emit_if(p, child > 0 ? (u32)child : sys_pid(), TO_ALLOW, 0);
	emit_arg(p, 1);
	emit_if(p, 0, TO_ALLOW, TO_DENY);
}

/* To read. To make one that is not there: O_EXCL alone would open any. 3: O_ACCMODE of the kernel; musl's has O_PATH in it. */
static void emit_open(struct program *p, u16 who)
{
	emit_arg(p, 2);
	if (who & CALLS_REPLACE) {
		emit(p, BPF_ALU | BPF_AND | BPF_K, O_CREAT | O_EXCL, 0, 0);
		emit_if(p, O_CREAT | O_EXCL, TO_ALLOW, 0);
		emit_arg(p, 2);
	}
	emit(p, BPF_JMP | BPF_JSET | BPF_K, 3 | O_CREAT | O_TRUNC, TO_DENY, TO_ALLOW);
}

/* What stands behind a number that was found. Every such piece ends in a jump. */
static void emit_check(struct program *p, enum check check, u16 who, i32 child)
{
	switch (check) {
	case OPEN:
		emit_open(p, who);
		break;
	case FCNTL: /* flags; behind them is whom a descriptor sends which signal: us, where turns of sets end by overflows */
		emit_arg(p, 1);
		if (who & CALLS_OPEN_PERF && who & CALLS_CHILD) {
			emit_if(p, F_SETSIG, TO_ALLOW, 0);
			emit_if(p, F_SETOWN, 0, 2);
			emit_arg(p, 2);
			emit_if(p, sys_pid(), TO_ALLOW, TO_DENY);
		}
		emit(p, BPF_JMP | BPF_JGT | BPF_K, F_SETFL, TO_DENY, TO_ALLOW);
		break;
	case LIMIT: /* our own */
		emit_arg(p, 0);
		emit_if(p, 0, TO_ALLOW, TO_DENY);
		break;
	case MMAP:
		emit_arg(p, 2);
		emit(p, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, TO_DENY, TO_ALLOW);
		break;
	case PRCTL: /* and PR_GET_TIMERSLACK, which is between them */
		emit_arg(p, 0);
		emit(p, BPF_JMP | BPF_JGT | BPF_K, PR_TASK_PERF_EVENTS_ENABLE, TO_DENY, 0);
		emit(p, BPF_JMP | BPF_JGE | BPF_K, PR_SET_TIMERSLACK, TO_ALLOW, TO_DENY);
		break;
	case IOCTL:
		emit_ioctl(p, who);
		break;
	default:
		emit_kill(p, child);
	}
}

/* The piece's length stands in the jump over it. */
static void emit_call(struct program *p, const struct call *c, u16 who, i32 child)
{
	enum check check = c->who >> CHECK_SHIFT;
	u16 at = p->n;

	if (check == OPEN && who & CALLS_WRITE)
		check = ANY;
	if (!(c->who & WHO & who))
		return;
	emit_if(p, c->nr, check == NEVER ? TO_KILL : check == ANY ? TO_ALLOW : 0, 0);
	if (check == ANY || check == NEVER)
		return;
	emit_check(p, check, who, child);
	p->code[at].jf = (u8)(p->n - at - 1);
}

/* Who calls what is not in the table fares as on a kernel without that call, for which a newer libc has another way; an
 * argument that is not allowed is refused. The strict build, of tests, kills at both, so that no run hides a lack. */
#ifdef SANDBOX_STRICT
#define UNKNOWN SECCOMP_RET_KILL_PROCESS
#define REFUSED SECCOMP_RET_KILL_PROCESS
#else
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)
#endif

static void make_filter(struct program *p, u16 who, i32 child)
{
	static const struct { u8 mark; u32 verdict; } ends[] = {
		{ 0, UNKNOWN }, { TO_ALLOW, SECCOMP_RET_ALLOW }, { TO_KILL, SECCOMP_RET_KILL_PROCESS }, { TO_DENY, REFUSED },
	};

	p->n = 0;
	emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit_if(p, ARCH, 0, TO_KILL);
	emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
#ifdef __x86_64__
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 0x40000000 /* __X32_SYSCALL_BIT */, TO_KILL, 0);
#endif
	for (size_t i = 0; i < LEN(calls); i++)
		emit_call(p, &calls[i], who, child);
	for (size_t i = 0; i < LEN(ends); i++) {
		for (u16 at = 0; at < p->n && ends[i].mark; at++) {
			struct sock_filter *f = &p->code[at];

			if (BPF_CLASS(f->code) != BPF_JMP)
				continue;
			f->jt = f->jt == ends[i].mark ? (u8)(p->n - at - 1) : f->jt;
			f->jf = f->jf == ends[i].mark ? (u8)(p->n - at - 1) : f->jf;
		}
		emit(p, BPF_RET | BPF_K, ends[i].verdict, 0, 0);
	}
}

/* --- files: linux/landlock.h of any kernel ------------------------------------------------------------------------------ */

/* What each version of the ABI added: rights on files, on TCP, and what is told from other domains. */
enum { REFER_ABI = 2, TRUNCATE_ABI = 3, TCP_ABI = 4, IOCTL_ABI = 5, SCOPE_ABI = 6 };
enum { LL_WRITE = 1 << 1, LL_READ = 1 << 2, LL_LIST = 1 << 3, LL_REMOVE = 1 << 5, LL_CREATE = 1 << 8, LL_FIRST = (1 << 13) - 1,
       LL_REFER = 1 << 13, LL_TRUNCATE = 1 << 14, LL_IOCTL = 1 << 15, LL_TCP = 3, LL_SCOPES = 3 };

static i32 ruleset = -1;
static u32 handled;

struct sandbox sandbox = { .filter = -ECANCELED, .landlock = -ECANCELED };

/* From now on the rules gather, until sandbox_enter(): what is in none may not be opened then. */
void sandbox_close_files(void)
{
	struct landlock_rights r = { 0 };
	long abi = sandbox.landlock = sys_landlock_abi();

	handled = LL_FIRST | (abi >= REFER_ABI ? LL_REFER : 0) | (abi >= TRUNCATE_ABI ? LL_TRUNCATE : 0) | (abi >= IOCTL_ABI ? LL_IOCTL : 0);
	r.files = handled;
	r.tcp = abi >= TCP_ABI ? LL_TCP : 0;
	r.scopes = abi >= SCOPE_ABI ? LL_SCOPES : 0;
	if (abi > 0)
		sandbox.landlock = ruleset = (i32)sys_landlock(&r);
	if (ruleset >= 0)
		sandbox.landlock = abi;
}

/* No rules at all, rather than some that keep the command from what it was asked for. */
static void give_up(long why)
{
	sys_close(ruleset);
	ruleset = -1;
	sandbox.landlock = why;
}

/* What may be done to an open file; to a folder, to all below it. Pipes and sockets need no rule: -EBADFD. */
static void allow(i32 fd, u32 rights)
{
	long r = fd;

	if (ruleset >= 0 && fd >= 0)
		r = sys_landlock_allow(ruleset, fd, rights & handled);
	if (ruleset >= 0 && (is_untold(r) || (fd >= 0 && r < 0 && r != -EBADFD)))
		give_up(r);
}

void sandbox_folder(i32 fd, bool write)
{
	allow(fd, write ? LL_WRITE | LL_REMOVE | LL_CREATE : LL_READ | LL_LIST);
}

/* A file of the user's, or nothing: NULL. In /proc it may be another process', which is not for those whom Landlock
 * confines, whatever the rules: then there are none. False: it is not there. */
bool sandbox_file(const char *path, bool write)
{
	struct statfs fs;
	struct stat st;
	i32 fd = ruleset >= 0 && path ? (i32)file_open(path, O_PATH) : -1;

	if (fd < 0) {
		allow(fd, 0);
		return false;
	}
	if (sys_fstatfs(fd, &fs) == 0 && (u32)fs.f_type == PROC_SUPER_MAGIC)
		give_up(-ECANCELED);
	if (sys_fstat(fd, &st) == 0)
		allow(fd, write ? LL_WRITE | LL_TRUNCATE : S_ISDIR(st.st_mode) ? LL_LIST : LL_READ);
	sys_close(fd);
	return true;
}

/* --- both ----------------------------------------------------------------------------------------------------------------- */

/* Nothing but the calls of who from here on, an OR of CALLS_*. child: the command, which was started before. */
void sandbox_enter(u16 who, i32 child)
{
	struct program p;

	tables_reserve();
	sys_no_new_privs();
	if (ruleset >= 0) {
		long r = sys_landlock_enter(ruleset);

		give_up(r < 0 ? r : sandbox.landlock);
	}
	make_filter(&p, who, child);
	sandbox.filter = ARCH ? sys_seccomp(p.code, p.n) : -ENOSYS;
}
