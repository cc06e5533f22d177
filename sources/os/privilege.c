/* privilege.c - capabilities beyond those of the user: each command keeps the ones that it needs,
 * for as long as it needs them.
 *
 * If the program's file gave them (setcap, setuid: AT_SECURE), the effective set is empty, so that
 * every path is opened with the rights of the user who started the program. The set has the
 * required capabilities only between privilege_raise() and privilege_lower(), and only for files of
 * the kernel, whose paths no user chooses. If the process is root, or has inherited its
 * capabilities, its user has the same rights: then only the capabilities that no command needs are
 * dropped. SPDX-License-Identifier: MIT */
#include "built.h"
#include "sources/os/os.h"
#include "sys.h"

#include <stdlib.h>

/* linux/capability.h */
static const struct {
	u8 may, cap;
} needs[] = {
	{ MAY_READ, 2 },     /* CAP_DAC_READ_SEARCH */
	{ MAY_WRITE, 1 },    /* CAP_DAC_OVERRIDE: in folders of other users */
	{ MAY_WRITE, 3 },    /* CAP_FOWNER: their files in sticky folders */
	{ MAY_PTRACE, 19 },  /* CAP_SYS_PTRACE */
	{ MAY_PERF, 38 },    /* CAP_PERFMON */
	{ MAY_PERF, 21 },    /* CAP_SYS_ADMIN: before Linux 5.8, and if Debian's paranoid is 3 */
	{ MAY_PERF, 14 },    /* CAP_IPC_LOCK: rings beyond kernel.perf_event_mlock_kb */
	{ MAY_SYMBOLS, 34 }, /* CAP_SYSLOG: kernel.kptr_restrict */
	{ MAY_KILL, 5 },     /* CAP_KILL: a command that changed its user */
#if HAS(bpf)
	{ MAY_BPF, 39 },     /* CAP_BPF */
	{ MAY_BPF, 38 },     /* CAP_PERFMON: a program that reads the kernel's structures */
	{ MAY_BPF, 21 },     /* CAP_SYS_ADMIN includes both */
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

/* A capability that could not be dropped would apply to the next path, whatever it is: exit. */
_Noreturn static void exit_unsafe(void)
{
	static const char why[] = "gpustat: capabilities cannot be dropped\n";

	sys_write(STDERR_FILENO, why, sizeof(why) - 1);
	_exit(1);
}

static struct {
	struct sys_caps caps[2];
	bool secured; /* the effective set is empty, except while it is raised */
	u8 raised;
} privs;

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

/* Adds these rights, as far as the process has them, for the files that are opened next. Returns
 * the previous set for privilege_lower(). */
u8 privilege_raise(u8 may)
{
	u8 was = privs.raised;

	privilege_lower(was | may);
	return was;
}

/* Drops all rights but these, permanently. Returns 0 or -errno. If the program's file gave the
 * capabilities, the inheritable set is the user's own, and stays for the command that is run; else
 * it is cleared. */
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

/* Drops these rights, permanently, except for what `others` needs too. */
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

/* Drops the rights that the command does not need. may: the rights that it needs if the program's
 * file gave them. here: the rights that it needs otherwise. starts: it starts a command of the
 * user, which inherits this process's rights: then all are kept until privilege_keep(), unless the
 * program's file gave them. Returns 0, or -errno if rights that the user does not have could not be
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

/* For the child that executes a command of the user: drops all that the program's file gave. */
void privilege_end(void)
{
	if (privs.secured)
		privilege_keep(0);
}

/* Returns whether the capabilities come from the program's file, and not from the process that
 * started it. */
bool privilege_from_file(void)
{
	return privs.secured;
}

bool privilege_has(u8 may)
{
	u64 set = caps_mask(may);

	return privs.caps[0].permitted & (u32)set || privs.caps[1].permitted & (u32)(set >> 32);
}

/* Reads a path from the environment. If the program's file gave the capabilities, paths are opened
 * with the user's rights. A program that only contains the library may have other rights, so
 * secure_getenv(3) is used. */
const char *privilege_getenv(const char *name)
{
	return privs.secured ? getenv(name) : secure_getenv(name);
}
