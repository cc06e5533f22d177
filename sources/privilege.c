/* privilege.c - what we may do beyond what our user may: each command keeps the capabilities that it needs, as long as it does.
 *
 * Where a file's capabilities or its owner gave them (setcap, setuid: AT_SECURE), the effective set is empty, so that every
 * path is opened as whoever started us could, and holds what the kernel is asked for only between privilege_raise() and
 * privilege_lower(): of the files that the kernel makes, none of which a user names. Whoever is root, or has capabilities
 * from whoever started it, has no user to be kept apart from: what no command needs is dropped, and no more.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#include <stdlib.h>

/* linux/capability.h */
static const struct {
	u8 may, cap;
} needs[] = {
	{ MAY_READ, 2 },     /* CAP_DAC_READ_SEARCH */
	{ MAY_WRITE, 1 },    /* CAP_DAC_OVERRIDE: in folders of others */
	{ MAY_WRITE, 3 },    /* CAP_FOWNER: over their files, where a folder is sticky */
	{ MAY_LOOK, 19 },    /* CAP_SYS_PTRACE */
	{ MAY_PERF, 38 },    /* CAP_PERFMON */
	{ MAY_PERF, 21 },    /* CAP_SYS_ADMIN: the same before Linux 5.8, and where Debian's paranoid is 3 */
	{ MAY_PERF, 14 },    /* CAP_IPC_LOCK: rings beyond kernel.perf_event_mlock_kb */
	{ MAY_SYMBOLS, 34 }, /* CAP_SYSLOG: kernel.kptr_restrict */
	{ MAY_KILL, 5 },     /* CAP_KILL: a command that became somebody else */
};

static struct sys_caps caps[2];
static bool secured; /* the effective set is empty but where it is raised */
static u8 raised;

static u64 caps_of(u8 may)
{
	u64 set = 0;

	for (size_t i = 0; i < LEN(needs); i++)
		if (needs[i].may & may)
			set |= UINT64_C(1) << needs[i].cap;
	return set;
}

/* What was not given up would be there for whatever path comes next. */
_Noreturn static void die(void)
{
	static const char why[] = "gpustat: capabilities cannot be given up\n";

	sys_write(STDERR_FILENO, why, sizeof(why) - 1);
	_exit(1);
}

void privilege_lower(u8 was)
{
	bool less = (raised & ~was) != 0;

	if (!secured || was == raised || !(caps[0].permitted | caps[1].permitted))
		return;
	for (size_t i = 0; i < LEN(caps); i++)
		caps[i].effective = caps[i].permitted & (u32)(caps_of(was) >> 32 * i);
	raised = was;
	if (sys_capset(caps) < 0 && less)
		die();
}

/* From here on what is opened is opened with these, too, where we have them. Gives what privilege_lower() is to go back to. */
u8 privilege_raise(u8 may)
{
	u8 was = raised;

	privilege_lower(was | may);
	return was;
}

/* Gives up all but these, for good. 0, or -errno. What is inheritable is the user's own where files gave us ours, and for the
 * command that is run; else nothing is to come of it any more. */
long privilege_keep(u8 may)
{
	bool less = false;
	long r;

	for (size_t i = 0; i < LEN(caps); i++) {
		struct sys_caps was = caps[i];
		u32 keep = (u32)(caps_of(may) >> 32 * i);

		caps[i].permitted &= keep;
		caps[i].effective &= secured ? 0 : keep;
		caps[i].inheritable = secured ? was.inheritable : 0;
		less |= memcmp(&was, &caps[i], sizeof(was)) != 0;
	}
	r = less ? sys_capset(caps) : 0;
	if (r < 0 && secured)
		die();
	return r;
}

/* may: what the command needs. here: what it needs where no user is to be kept apart. starts: a command of the user's, which
 * is to have what whoever started us has: there all is kept until privilege_keep(). 0, or -errno where we cannot be kept from
 * what the user may not do. */
long privilege_begin(u8 may, u8 here, bool starts)
{
	u32 uid = (u32)getauxval(AT_UID);
	bool more = getauxval(AT_SECURE);
	long r = more ? sys_become(uid, (u32)getauxval(AT_GID)) : 0;

	secured = more && uid != 0;
	if (r >= 0)
		r = sys_capget(caps);
	if (r >= 0 && (secured || !starts))
		r = privilege_keep(secured ? may : here);
	return secured ? r : 0;
}

/* In the child that becomes a command of the user's: nothing of ours. */
void privilege_end(void)
{
	if (secured)
		privilege_keep(0);
}

/* Whether files, and not whoever started us, give us what we may do. */
bool privilege_is_ours(void)
{
	return secured;
}

bool privilege_has(u8 may)
{
	u64 set = caps_of(may);

	return caps[0].permitted & (u32)set || caps[1].permitted & (u32)(set >> 32);
}

/* A path from the environment: nothing is known of who opens it where a program of another's has the library in it. */
const char *privilege_getenv(const char *name)
{
	return secured ? getenv(name) : secure_getenv(name);
}
