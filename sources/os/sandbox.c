/* sandbox.c - limits on what this process may do once its command has begun: a seccomp filter that
 * allows the system calls that the command needs, and Landlock rules for the files that it will
 * open later. Both are optional: if the kernel does not have them, or a container refuses them, the
 * command runs without them. SPDX-License-Identifier: MIT */
#include "sources/os/os.h"
#include "sys.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

/* The architecture for which the seccomp filter is made. The filter checks it, because on the same
 * kernel a 32-bit program has other system call numbers than a 64-bit program. */
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
#define ARCH 0 /* unknown architecture: no filter */
#endif

/* --- system calls ----------------------------------------------------------------------------- */

/* musl's names of the system calls with 32-bit times; libc makes these calls if the kernel does not
 * have those with 64-bit times. */
#ifdef SYS_clock_gettime32
#define SYS_clock_gettime   SYS_clock_gettime32
#define SYS_clock_getres    SYS_clock_getres_time32
#define SYS_clock_nanosleep SYS_clock_nanosleep_time32
#endif
#ifndef SYS_newfstatat
#define SYS_newfstatat SYS_fstatat64
#endif

/* Kinds of checks of a system call's arguments in the seccomp filter. ANY: no check. NEVER: the
 * system call kills the process, because only an attacker would make it. */
enum check { ANY, OPEN, IOCTL, FCNTL, MMAP, PRCTL, LIMIT, KILL, NEVER };
enum { CHECK_SHIFT = 12, ALL_GROUPS = (1 << CHECK_SHIFT) - 1 };

static const struct call {
	/* nr: number of the system call. groups: bit mask of the groups (CALLS_*) that may make the
	 * call; the bits from CHECK_SHIFT on are its enum check */
	u16 nr, groups;
} calls[] = {
#define CALL(name, groups, check) { SYS_##name, (groups) | (check) << CHECK_SHIFT }
/* Each of the macros CALL, ALL, FILES and NO concatenates SYS_ and the name itself: libc's headers
 * define some of the names as macros, and a nested macro would expand them first. */
#define ALL(name) { SYS_##name, ALL_GROUPS }
#define FILES(name) { SYS_##name, CALLS_FILES }
	/* The most frequent system calls come first, because kernels before Linux 5.11 run the
	 * filter for each call. */
	CALL(openat, CALLS_FILES | CALLS_REPLACE | CALLS_WRITE, OPEN), ALL(read), ALL(close),
	ALL(pread64), FILES(getdents64), FILES(readlinkat), ALL(write), ALL(fstat),
	FILES(newfstatat), FILES(faccessat), ALL(ppoll), ALL(clock_gettime), ALL(clock_nanosleep),
	ALL(lseek), CALL(ioctl, ALL_GROUPS, IOCTL),
	FILES(faccessat2), FILES(statfs), FILES(fstatfs), FILES(statx),
	ALL(rt_sigprocmask), ALL(rt_sigaction), ALL(rt_sigreturn), ALL(restart_syscall),
	ALL(exit_group), ALL(getpid), ALL(gettid), ALL(geteuid), ALL(uname), ALL(clock_getres),
	CALL(fcntl, ALL_GROUPS, FCNTL), CALL(prctl, ALL_GROUPS, PRCTL),
	/* all commands: capset(2) drops capabilities, or makes permitted ones effective */
	ALL(capset),
	CALL(kill, CALLS_CHILD | CALLS_SCREEN | CALLS_WRITE, KILL),
	CALL(unlinkat, CALLS_REPLACE, ANY), CALL(renameat2, CALLS_REPLACE, ANY),
	CALL(fchmod, CALLS_REPLACE, ANY),
	CALL(pwrite64, CALLS_WRITE | CALLS_PERF, ANY),
	CALL(inotify_init1, CALLS_WATCH, ANY), CALL(inotify_add_watch, CALLS_WATCH, ANY),
	CALL(pidfd_open, CALLS_WATCH, ANY),
	CALL(pidfd_getfd, CALLS_GETFD, ANY),
	/* mprotect(2) makes reserved address space writable, for tables that grow */
	CALL(mprotect, ALL_GROUPS, MMAP),
	/* sched_getaffinity(2) finds the CPUs if there is no /sys */
	CALL(sched_getaffinity, CALLS_PERF | CALLS_OPEN_PERF, ANY),
	CALL(perf_event_open, CALLS_OPEN_PERF, ANY), CALL(prlimit64, CALLS_OPEN_PERF, LIMIT),
	CALL(munmap, CALLS_PERF, ANY),
	/* `gpustat doctor` calls landlock_create_ruleset(2) to read the version of Landlock's
	 * ABI */
	{ SYS_LANDLOCK, CALLS_OPEN_PERF },
	CALL(sendto, CALLS_NET, ANY), CALL(shutdown, CALLS_NET, ANY),
	CALL(recvfrom, CALLS_NET, ANY), CALL(getsockopt, CALLS_NET, ANY),
	CALL(wait4, CALLS_CHILD, ANY), CALL(getrusage, CALLS_CHILD, ANY),
	/* System calls that some architectures have in addition to those above, or instead of
	 * them. */
#ifdef SYS_mmap2
	CALL(mmap2, CALLS_PERF, MMAP),
#else
	CALL(mmap, CALLS_PERF, MMAP),
#endif
#ifdef SYS_clock_gettime64
	ALL(clock_gettime64), ALL(clock_nanosleep_time64), ALL(clock_getres_time64),
	ALL(ppoll_time64), ALL(fstat64), CALL(fcntl64, ALL_GROUPS, FCNTL),
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
/* the filter cannot check the arguments of socketcall(2), because they are in memory */
#ifdef SYS_socketcall
	CALL(socketcall, CALLS_NET, ANY),
#endif
#undef FILES
#undef ALL
#define NO(name) { SYS_##name, ALL_GROUPS | NEVER << CHECK_SHIFT }
	NO(execve), NO(execveat), NO(clone), NO(clone3), NO(ptrace), NO(process_vm_readv),
	NO(process_vm_writev), NO(bpf), NO(mount), NO(umount2), NO(pivot_root), NO(chroot),
	NO(unshare), NO(setns), NO(init_module), NO(finit_module), NO(delete_module),
	NO(kexec_load), NO(reboot), NO(setuid), NO(setgid), NO(setresuid), NO(setresgid),
	NO(setgroups), NO(keyctl), NO(add_key), NO(request_key), NO(open_by_handle_at),
	NO(userfaultfd), NO(memfd_create),
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

/* --- the seccomp filter: a BPF program (linux/filter.h) that reads struct seccomp_data -------- */

enum { MAX_FILTER = 200 };
/* placeholders for the offsets of jumps in the seccomp filter to its return instructions;
 * make_filter() replaces them at the end */
enum { TO_ALLOW = 255, TO_KILL = 254, TO_DENY = 253 };

struct program {
	struct sock_filter code[MAX_FILTER];
	u16 n;
};

static void emit(struct program *p, u16 code, u32 k, u8 jt, u8 jf)
{
	p->code[p->n++] = (struct sock_filter){ code, jt, jf, k };
}

/* Appends a comparison of BPF's accumulator with `value` to the filter. then, otherwise: number of
 * instructions to skip if both are equal (then) or not (otherwise); or a placeholder TO_* for a
 * jump to a return instruction. */
static void emit_if(struct program *p, u32 value, u8 then, u8 otherwise)
{
	emit(p, BPF_JMP | BPF_JEQ | BPF_K, value, then, otherwise);
}

/* Appends an instruction to the filter that loads the low 32 bits of the system call's argument n
 * into the accumulator. The high 32 bits need no check, because all checked arguments are ints. All
 * supported architectures are little-endian. */
static void emit_arg(struct program *p, size_t n)
{
	emit(p, BPF_LD | BPF_W | BPF_ABS,
	     (u32)(offsetof(struct seccomp_data, args) + n * sizeof(u64)), 0, 0);
}

/* Numbers of the DRM ioctl requests that are allowed: DRM_IOCTL_VERSION, and those with which
 * gpustat opens OA streams of i915 and xe and queries their properties. None of them submits work
 * to the GPU. */
static const u8 drm_requests[] = { 0x00, 0x40, 0x46, 0x4b, 0x71, 0x76, 0x77, 0x78, 0x79 };

/* ioctl requests that are allowed, each on one descriptor only. key: descriptor << 16 | type and
 * number of the request (16 bits). */
static struct {
	u32 key[16];
	u8 n;
} requests;

/* Allows an ioctl request, with any size and direction, on the descriptor fd only. To be called
 * before sandbox_enter(). The caller must keep the descriptor open until the program ends, so that
 * its number is never that of another file; or fd is a number that no other file gets, and is
 * opened later. Returns false if there is no room for the request, or fd is above 65535. */
bool sandbox_ioctl(i32 fd, u32 request)
{
	if (requests.n == LEN(requests.key) || fd < 0 || fd > UINT16_MAX)
		return false;
	requests.key[requests.n++] = (u32)fd << 16 | (request & UINT16_MAX);
	return true;
}

/* Appends to the filter the check of the ioctl requests that sandbox_ioctl() has allowed on single
 * descriptors. */
static void emit_requests(struct program *p)
{
	emit_arg(p, 0);
	emit(p, BPF_JMP | BPF_JGT | BPF_K, UINT16_MAX, (u8)(5 + requests.n), 0);
	emit(p, BPF_ALU | BPF_LSH | BPF_K, 16, 0, 0);
	emit(p, BPF_MISC | BPF_TAX, 0, 0, 0);
	emit_arg(p, 1);
	emit(p, BPF_ALU | BPF_AND | BPF_K, UINT16_MAX, 0, 0);
	emit(p, BPF_ALU | BPF_OR | BPF_X, 0, 0, 0);
	for (size_t i = 0; i < requests.n; i++)
		emit_if(p, requests.key[i], TO_ALLOW, 0);
}

/* Appends to the filter the check of ioctl(2). It allows on a terminal: reading its size, and with
 * CALLS_SCREEN its modes, but not TIOCSTI, which inserts input; on open files: the requests of
 * perf, of DRM and of OA streams, and those of sandbox_ioctl(). */
static void emit_ioctl(struct program *p, u16 groups)
{
	if (requests.n)
		emit_requests(p);
	emit_arg(p, 1);
	emit_if(p, TIOCGWINSZ, TO_ALLOW, 0);
	if (groups & CALLS_SCREEN) {
		emit_if(p, TCGETS, TO_ALLOW, 0);
		emit_if(p, TCSETS, TO_ALLOW, 0);
	}
	/* Remove size and direction from the ioctl request, so that its type and number are
	 * left. */
	emit(p, BPF_ALU | BPF_AND | BPF_K, 0xffff, 0, 0);
	for (size_t i = 0; groups & CALLS_DRM && i < LEN(drm_requests); i++)
		emit_if(p, 'd' << 8 | drm_requests[i], TO_ALLOW, 0);
	emit(p, BPF_ALU | BPF_RSH | BPF_K, 8, 0, 0);
	if (groups & CALLS_PERF)
		emit_if(p, '$', TO_ALLOW, 0);
	if (groups & CALLS_DRM)
		emit_if(p, 'i', TO_ALLOW, 0);
	emit_if(p, UINT32_MAX, 0, TO_DENY);
}

/* Appends the check of kill(2) to the filter. Allowed are any signal to the process of the command
 * (child) or, if there is no command, to this process, which sends itself a signal at the end of
 * its signal handler; and signal 0 to any process, to test whether the process exists. */
static void emit_kill(struct program *p, i32 child)
{
	emit_arg(p, 0);
	emit_if(p, child > 0 ? (u32)child : sys_pid(), TO_ALLOW, 0);
	emit_arg(p, 1);
	emit_if(p, 0, TO_ALLOW, TO_DENY);
}

/* Appends the check of openat(2) to the filter. Allowed is opening files for reading and, with
 * CALLS_REPLACE, creating new files. A new file requires both O_CREAT and O_EXCL, because O_EXCL
 * alone would permit opening any file for writing. The constant 3 is the kernel's O_ACCMODE; that
 * of musl includes O_PATH. */
static void emit_open(struct program *p, u16 groups)
{
	emit_arg(p, 2);
	if (groups & CALLS_REPLACE) {
		emit(p, BPF_ALU | BPF_AND | BPF_K, O_CREAT | O_EXCL, 0, 0);
		emit_if(p, O_CREAT | O_EXCL, TO_ALLOW, 0);
		emit_arg(p, 2);
	}
	emit(p, BPF_JMP | BPF_JSET | BPF_K, 3 | O_CREAT | O_TRUNC, TO_DENY, TO_ALLOW);
}

/* Appends to the filter the check of a system call's arguments, which follows the comparison of the
 * call's number. Every check ends in a jump. child: PID of the command, or 0. */
static void emit_check(struct program *p, enum check check, u16 groups, i32 child)
{
	switch (check) {
	case OPEN:
		emit_open(p, groups);
		break;
	/* fcntl(2) may read and set descriptor flags and file flags. If the filter allows opening
	 * perf events while the user's command runs, fcntl(2) may also choose the signal that an
	 * overflow of an event sends, but only to this process: such signals switch event sets. */
	case FCNTL:
		emit_arg(p, 1);
		if (groups & CALLS_OPEN_PERF && groups & CALLS_CHILD) {
			emit_if(p, F_SETSIG, TO_ALLOW, 0);
			emit_if(p, F_SETOWN, 0, 2);
			emit_arg(p, 2);
			emit_if(p, sys_pid(), TO_ALLOW, TO_DENY);
		}
		emit(p, BPF_JMP | BPF_JGT | BPF_K, F_SETFL, TO_DENY, TO_ALLOW);
		break;
	case LIMIT: /* prlimit(2) is allowed for this process only (pid 0) */
		emit_arg(p, 0);
		emit_if(p, 0, TO_ALLOW, TO_DENY);
		break;
	case MMAP:
		emit_arg(p, 2);
		emit(p, BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, TO_DENY, TO_ALLOW);
		break;
	/* prctl(2) may make only the requests from PR_SET_TIMERSLACK to PR_TASK_PERF_EVENTS_ENABLE,
	 * which include PR_GET_TIMERSLACK */
	case PRCTL:
		emit_arg(p, 0);
		emit(p, BPF_JMP | BPF_JGT | BPF_K, PR_TASK_PERF_EVENTS_ENABLE, TO_DENY, 0);
		emit(p, BPF_JMP | BPF_JGE | BPF_K, PR_SET_TIMERSLACK, TO_ALLOW, TO_DENY);
		break;
	case IOCTL:
		emit_ioctl(p, groups);
		break;
	default:
		emit_kill(p, child);
	}
}

/* Appends the check of one system call to the filter, if the groups `groups` may make the call: a
 * comparison with the number of the system call, then the check of its arguments. The jump offset
 * jf of the comparison, which skips the check of the arguments, is set when the length of that
 * check is known. */
static void emit_call(struct program *p, const struct call *c, u16 groups, i32 child)
{
	enum check check = c->groups >> CHECK_SHIFT;
	u16 at = p->n;

	if (check == OPEN && groups & CALLS_WRITE)
		check = ANY;
	if (!(c->groups & ALL_GROUPS & groups))
		return;
	emit_if(p, c->nr, check == NEVER ? TO_KILL : check == ANY ? TO_ALLOW : 0, 0);
	if (check == ANY || check == NEVER)
		return;
	emit_check(p, check, groups, child);
	p->code[at].jf = (u8)(p->n - at - 1);
}

/* A system call that is not in calls[] fails with ENOSYS, as on a kernel without it: newer libcs
 * then use an older system call. An argument that is not allowed makes the call fail with EPERM. In
 * the strict build for tests both kill the process, so that tests find missing rows of calls[]. */
#ifdef SANDBOX_STRICT
#define UNKNOWN SECCOMP_RET_KILL_PROCESS
#define REFUSED SECCOMP_RET_KILL_PROCESS
#else
#define UNKNOWN (SECCOMP_RET_ERRNO | ENOSYS)
#define REFUSED (SECCOMP_RET_ERRNO | EPERM)
#endif

/* Makes the whole filter: the check of the architecture, the checks of all system calls, and at the
 * end a return instruction for each of the four verdicts. Replaces the placeholders TO_* by jumps
 * to these return instructions. */
static void make_filter(struct program *p, u16 groups, i32 child)
{
	static const struct { u8 mark; u32 verdict; } ends[] = {
		{ 0, UNKNOWN }, { TO_ALLOW, SECCOMP_RET_ALLOW },
		{ TO_KILL, SECCOMP_RET_KILL_PROCESS }, { TO_DENY, REFUSED },
	};

	p->n = 0;
	emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch), 0, 0);
	emit_if(p, ARCH, 0, TO_KILL);
	emit(p, BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr), 0, 0);
#ifdef __x86_64__
	emit(p, BPF_JMP | BPF_JGE | BPF_K, 0x40000000 /* __X32_SYSCALL_BIT */, TO_KILL, 0);
#endif
	for (size_t i = 0; i < LEN(calls); i++)
		emit_call(p, &calls[i], groups, child);
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

/* --- files: Landlock rules, with the constants of all versions of linux/landlock.h ------------ */

/* Versions of Landlock's ABI that added rights: on files, on TCP, or scopes. */
enum { REFER_ABI = 2, TRUNCATE_ABI = 3, TCP_ABI = 4, IOCTL_ABI = 5, SCOPE_ABI = 6 };
enum { LL_WRITE = 1 << 1, LL_READ = 1 << 2, LL_LIST = 1 << 3, LL_REMOVE = 1 << 5,
       LL_CREATE = 1 << 8, LL_FIRST = (1 << 13) - 1,
       LL_REFER = 1 << 13, LL_TRUNCATE = 1 << 14, LL_IOCTL = 1 << 15, LL_TCP = 3, LL_SCOPES = 3 };

static i32 ruleset = -1;
static u32 handled;

struct sandbox sandbox = { .filter = -ECANCELED, .landlock = -ECANCELED };

/* Begins a set of Landlock rules: after sandbox_enter(), only files and folders with a rule can be
 * opened. Stores the version of the Landlock ABI, or -errno, in sandbox.landlock. */
void sandbox_begin_files(void)
{
	struct landlock_rights r = { 0 };
	long abi = sandbox.landlock = sys_landlock_abi();

	handled = LL_FIRST | (abi >= REFER_ABI ? LL_REFER : 0) |
		  (abi >= TRUNCATE_ABI ? LL_TRUNCATE : 0) | (abi >= IOCTL_ABI ? LL_IOCTL : 0);
	r.files = handled;
	r.tcp = abi >= TCP_ABI ? LL_TCP : 0;
	r.scopes = abi >= SCOPE_ABI ? LL_SCOPES : 0;
	if (abi > 0)
		sandbox.landlock = ruleset = (i32)sys_landlock(&r);
	if (ruleset >= 0)
		sandbox.landlock = abi;
}

/* Closes the set of Landlock rules: after it was put in force; or before, if it is incomplete and
 * would prevent the command from doing its work. why: new value of sandbox.landlock. */
static void rules_drop(long why)
{
	sys_close(ruleset);
	ruleset = -1;
	sandbox.landlock = why;
}

/* Adds a Landlock rule for the open file fd, or for a folder and everything below it. rights: LL_*.
 * fd may be -errno of a failed open: no rule is added. Pipes and sockets need no rule: the kernel
 * returns -EBADFD for them. */
static void rule_add(i32 fd, u32 rights)
{
	long r = fd;

	if (ruleset >= 0 && fd >= 0)
		r = sys_landlock_allow(ruleset, fd, rights & handled);
	if (ruleset >= 0 && (is_transient_error(r) || (fd >= 0 && r < 0 && r != -EBADFD)))
		rules_drop(r);
}

/* Adds a Landlock rule for an open folder. write: true: files in it may be written, created and
 * removed; false: the folder may be listed, and all files below it may be read. */
void sandbox_folder(i32 fd, bool write)
{
	rule_add(fd, write ? LL_WRITE | LL_REMOVE | LL_CREATE : LL_READ | LL_LIST);
}

/* Adds a Landlock rule for a file that the user named; path NULL: adds none. If the file is in
 * /proc, drops all rules: the file may belong to another process, and Landlock denies this process
 * access to other processes, whatever the rules are. Returns false if no rule was added, because
 * there is no path, no set of rules, or the file cannot be opened. */
bool sandbox_file(const char *path, bool write)
{
	struct statfs fs;
	struct stat st;
	i32 fd = ruleset >= 0 && path ? (i32)file_open(path, O_PATH) : -1;

	if (fd < 0) {
		rule_add(fd, 0);
		return false;
	}
	if (sys_fstatfs(fd, &fs) == 0 && (u32)fs.f_type == PROC_SUPER_MAGIC)
		rules_drop(-ECANCELED);
	if (sys_fstat(fd, &st) == 0)
		rule_add(fd, write ? LL_WRITE | LL_TRUNCATE :
			     S_ISDIR(st.st_mode) ? LL_LIST : LL_READ);
	sys_close(fd);
	return true;
}

/* --- start of the seccomp filter and of the Landlock rules ------------------------------------ */

/* Puts the Landlock rules and the seccomp filter in force. From here on only system calls of
 * `groups` (an OR of CALLS_*) are allowed. child: PID of the process of the user's command, which
 * was started before; 0: there is none. */
void sandbox_enter(u16 groups, i32 child)
{
	struct program p;

	tables_reserve();
	sys_no_new_privs();
	if (ruleset >= 0) {
		long r = sys_landlock_enter(ruleset);

		rules_drop(r < 0 ? r : sandbox.landlock);
	}
	make_filter(&p, groups, child);
	sandbox.filter = ARCH ? sys_seccomp(p.code, p.n) : -ENOSYS;
}
