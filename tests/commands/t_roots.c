/* t_roots.c - unit test of commands/shared/roots.c: roots that are missing, that are not mounted, or
 * that options name; the messages, and which commands go on. The types of file systems are simulated.
 * SPDX-License-Identifier: MIT */
#include "folder.h"
#include "sys.h"

static u32 magics[2], nmagics; /* of /sys, of /proc */
static long fake_statfs(struct statfs *fs)
{
	*fs = (struct statfs){ 0 };
	memcpy(&fs->f_type, &(__typeof__(fs->f_type)){ (__typeof__(fs->f_type))magics[nmagics++] },
	       sizeof(fs->f_type));
	return 0;
}
/* /proc and /sys are folders that exist on any machine */
#define sys_fstatfs(fd, fs) fake_statfs(fs)
#define sys_openat(dir, path, flags) open("/", flags)
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/roots.c"
#undef sys_openat
#include "said.h"

static const struct cmd cmds[] = {
	{ .name = "list", .with = WITH_LIST }, { .name = "stat", .with = WITH_STAT },
	{ .name = "doctor", .with = WITH_DOCTOR }, { .name = "check", .with = WITH_CHECK },
};
struct opts opt = { .cmds = cmds, .cmd = cmds, .ncmds = LEN(cmds) };
bool is_check(void) { return opt.cmd->with & WITH_CHECK; }

static bool opens(u32 sys, u32 proc, bool needed)
{
	magics[0] = sys;
	magics[1] = proc;
	nmagics = 0;
	fileio.error = 0;
	return open_roots(needed);
}

static void t_mounted(void)
{
	check(opens(SYSFS_MAGIC, PROC_SUPER_MAGIC, true) && is_said(NULL),
	      "/proc and /sys are mounted: no message");
	check(roots.sys >= 0 && roots.proc >= 0 && !roots.proc_given && !roots.sys_given &&
	      !roots.proc_name && !fileio.error, "/proc and /sys are mounted: both are opened");
	check(!opens(0, 0, true), "/proc and /sys are not mounted: an error");
	check(roots.sys == -1 && roots.proc == -1 && fileio.error == -ENOENT,
	      "/proc and /sys are not mounted: neither is opened");
	check(is_said("/proc and /sys are not mounted; as root: mount -t proc proc /proc; "
		      "mount -t sysfs sys /sys\ncommands that work without it: stat, doctor\n"),
	      "/proc and /sys are not mounted: the message has the fix and the commands that work");
	check(opens(0, 0, false) && is_said("/proc and /sys are not mounted"),
	      "/proc and /sys are not mounted: a command that does not need them runs");
	check(!opens(SYSFS_MAGIC, 0, true) &&
	      is_said("/proc is not mounted; as root: mount -t proc proc /proc\n"),
	      "/proc is not mounted: an error");
	check(roots.sys >= 0, "/proc is not mounted: /sys is opened");
	opt.cmd = &cmds[3];
	check(!opens(0, 0, true) && !str_find(str_of(said.p, said.n), LIT("that work")) &&
	      is_said("not mounted"), "check: the message has one line");
	opt.cmd = cmds;
}

/* The message depends on /proc/filesystems, which is read here from a folder in place of /proc. */
static void t_sysfs(void)
{
	opt.proc = in_folder("proc");
	put(in_folder("proc/filesystems"), "nodev\tproc\n\text4\n");
	check(!opens(0, 0, true) && is_said("/sys: this kernel has no sysfs (CONFIG_SYSFS)\n"),
	      "/proc/filesystems without sysfs: the message names the kernel option");
	put(in_folder("proc/filesystems"), "nodev\tsysfs\nnodev\tproc\n");
	check(!opens(0, 0, true) && is_said("/sys is not mounted; as root: mount -t sysfs sys /sys\n"),
	      "/proc/filesystems with sysfs: the message has the mount command");
	shell("rm \"$D/proc/filesystems\"");
	check(!opens(0, 0, true) && is_said("/sys is not mounted"),
	      "no /proc/filesystems: the message has the mount command");
	opt.proc = NULL;
}

static void t_given(void)
{
	opt.proc = in_folder("proc");
	opt.sys = in_folder("sys");
	put_folder(opt.sys);
	check(opens(0, 0, true) && is_said(NULL),
	      "--proc and --sys: the type of the file system is not checked");
	check(roots.proc_given && roots.sys_given && roots.proc_name == opt.proc && nmagics == 0,
	      "--proc and --sys: the roots are marked as given by options");
	opt.sys = in_folder("none");
	check(!opens(0, 0, true) && is_said("/none: error\n"), "--sys: the folder does not exist");
	check(!opens(0, 0, false), "--sys: a folder that does not exist stops any command");
	said.n = 0;
	put(in_folder("file"), "");
	opt.sys = in_folder("file");
	check(!opens(0, 0, true) && is_said("/file: error\n"), "--sys: a file is not a folder");
	opt.sys = opt.proc = NULL;
}

int main(void)
{
	folder_begin("roots");
	t_mounted();
	t_sysfs();
	t_given();
	shell("rm -rf \"$D\"");
	return unit_end();
}
