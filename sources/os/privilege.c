/* privilege.c - capabilities beyond those of the user: each command of gpustat keeps the ones that
 * it needs, for as long as it needs them.
 *
 * If the process got its capabilities from the program's file (setcap, setuid: AT_SECURE), the
 * effective set is empty, so that every path is opened with the rights of the user who started the
 * program. The effective set has the required capabilities only between privilege_raise() and
 * privilege_lower(), and only for files of the kernel, whose paths no user chooses. If the process
 * is root, or has inherited its capabilities, its user has the same rights: then only the
 * capabilities that the command does not need are dropped. SPDX-License-Identifier: MIT */
#include "built.h"
#include "sources/os/os.h"
#include "sys.h"

#include <stdlib.h>

/* The capabilities (cap: number in linux/capability.h) that each right MAY_* requires. */
static const struct {
	u8 may, cap;
} needs[] = {
	{ MAY_READ, 2 },     /* CAP_DAC_READ_SEARCH */
	{ MAY_WRITE, 1 },    /* CAP_DAC_OVERRIDE: write in folders of other users */
	{ MAY_WRITE, 3 },    /* CAP_FOWNER: replace files of other users in sticky folders */
	{ MAY_PTRACE, 19 },  /* CAP_SYS_PTRACE */
	{ MAY_PERF, 38 },    /* CAP_PERFMON */
	/* CAP_SYS_ADMIN: for perf events before Linux 5.8, or with Debian's
	 * kernel.perf_event_paranoid = 3 */
	{ MAY_PERF, 21 },
	/* CAP_IPC_LOCK: for perf ring buffers beyond kernel.perf_event_mlock_kb */
	{ MAY_PERF, 14 },
	/* CAP_SYSLOG: shows kernel addresses in spite of kernel.kptr_restrict */
	{ MAY_SYMBOLS, 34 },
	{ MAY_KILL, 5 },     /* CAP_KILL: signal a command that changed its user */
#if HAS(bpf)
	{ MAY_BPF, 39 },     /* CAP_BPF */
	{ MAY_BPF, 38 },     /* CAP_PERFMON: load a BPF program that reads kernel structures */
	{ MAY_BPF, 21 },     /* CAP_SYS_ADMIN: may be used instead of CAP_BPF and CAP_PERFMON */
#endif
};

static u64 caps_mask(u8 may)
{
	u64 set = 0;

	for (size_t i = 0; i < LEN(needs); i++)
		if (needs[i].may & may)
			set |= UINT64_C(1) << needs[i].cap;
	return set;
}

/* Ends the program if capabilities could not be dropped: otherwise they would also be used for the
 * next path that is opened, which the user may have chosen. */
_Noreturn static void exit_unsafe(void)
{
	static const char why[] = "gpustat: capabilities cannot be dropped\n";

	sys_write(STDERR_FILENO, why, sizeof(why) - 1);
	_exit(1);
}

static struct {
	struct sys_caps caps[2];
	/* true if the capabilities are from the program's file (setcap, setuid): the effective set
	 * is empty, except between privilege_raise() and privilege_lower() */
	bool secured;
	u8 raised; /* rights (MAY_*) whose capabilities are in the effective set now */
} privs;

/* Sets the effective capabilities to those of the rights `was`, the result of privilege_raise():
 * this undoes that call. */
void privilege_lower(u8 was)
{
	bool less = (privs.raised & ~was) != 0;

	if (!privs.secured || was == privs.raised ||
	    !(privs.caps[0].permitted | privs.caps[1].permitted))
		return;
	for (size_t i = 0; i < LEN(privs.caps); i++)
		privs.caps[i].effective = privs.caps[i].permitted & (u32)(caps_mask(was) >> 32 * i);
	privs.raised = was;
	if (sys_capset(privs.caps) < 0 && less)
		exit_unsafe();
}

/* Adds the capabilities of the rights `may` (MAY_*) to the effective set, as far as the process has
 * them, so that files can be opened with them. Returns the rights before the call, the argument of
 * privilege_lower(). */
u8 privilege_raise(u8 may)
{
	u8 was = privs.raised;

	privilege_lower(was | may);
	return was;
}

/* Permanently drops all capabilities except those of the rights `may` (MAY_*). Returns 0 or -errno.
 * If the capabilities are from the program's file (setcap, setuid), the inheritable set belongs to
 * the user and is kept for the command that gpustat starts; otherwise it is cleared. */
long privilege_keep(u8 may)
{
	bool less = false;
	long r;

	for (size_t i = 0; i < LEN(privs.caps); i++) {
		struct sys_caps was = privs.caps[i];
		u32 keep = (u32)(caps_mask(may) >> 32 * i);

		privs.caps[i].permitted &= keep;
		privs.caps[i].effective &= privs.secured ? 0 : keep;
		privs.caps[i].inheritable = privs.secured ? was.inheritable : 0;
		less |= memcmp(&was, &privs.caps[i], sizeof(was)) != 0;
	}
	r = less ? sys_capset(privs.caps) : 0;
	if (r < 0 && privs.secured)
		exit_unsafe();
	return r;
}

/* Permanently drops the capabilities of the rights `may` (MAY_*), except those that the rights
 * `others` also require. */
void privilege_drop(u8 may, u8 others)
{
	u64 set = caps_mask(may) & ~caps_mask(others);

	for (size_t i = 0; i < LEN(privs.caps); i++) {
		privs.caps[i].permitted &= ~(u32)(set >> 32 * i);
		privs.caps[i].effective &= ~(u32)(set >> 32 * i);
	}
	if (sys_capset(privs.caps) < 0 && privs.secured)
		exit_unsafe();
}

/* Drops the capabilities that a command of gpustat does not need. If the capabilities are from
 * gpustat's file (setcap, setuid), it needs those of the rights `may` (MAY_*), otherwise those of
 * the rights `here`. starts: true if the command executes a program that the user named: this
 * program must inherit capabilities that are not from gpustat's file, so they are kept until
 * privilege_keep(). Returns 0, or -errno if capabilities from gpustat's file could not be
 * dropped. */
long privilege_begin(u8 may, u8 here, bool starts)
{
	u32 uid = (u32)getauxval(AT_UID);
	bool more = getauxval(AT_SECURE);
	long r = more ? sys_set_ids(uid, (u32)getauxval(AT_GID)) : 0;

	privs.secured = more && uid != 0;
	if (r >= 0)
		r = sys_capget(privs.caps);
	if (r >= 0 && (privs.secured || !starts))
		r = privilege_keep(privs.secured ? may : here);
	return privs.secured ? r : 0;
}

/* Drops all capabilities that are from gpustat's file. Called in the child process before it
 * executes a command of the user. */
void privilege_end(void)
{
	if (privs.secured)
		privilege_keep(0);
}

/* Returns whether the capabilities of this process are from the program's file (setcap, setuid),
 * and not inherited from the process that started it. */
bool privilege_from_file(void)
{
	return privs.secured;
}

/* Returns true if this process has at least one capability of the rights `may` (MAY_*), which
 * privilege_raise() can make effective. */
bool privilege_has(u8 may)
{
	u64 set = caps_mask(may);

	return privs.caps[0].permitted & (u32)set || privs.caps[1].permitted & (u32)(set >> 32);
}

/* Returns the environment variable `name`, which is a path; NULL if it is not set. If gpustat's own
 * file has capabilities, gpustat opens paths with the user's rights, so any path is safe. A program
 * that uses gpustat as a library opens paths with the program's rights: secure_getenv(3) then
 * ignores the variable if the program runs setuid or with file capabilities. */
const char *privilege_getenv(const char *name)
{
	return privs.secured ? getenv(name) : secure_getenv(name);
}
