/* roots.c - opens /proc and /sys, or the folders of --proc and --sys.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sys.h"

enum { NO_PROC = 1, NO_SYS = 2, NO_NAMED = 4, REFUSED = 8 };

/* Opens a root folder: `dir`, which is /proc or /sys, or the folder `given` by --proc or --sys.
 * Returns 0 on success; `missing` if no file system of the type `magic` is mounted at dir; NO_NAMED
 * (folder of the option) or REFUSED (dir), with a message, if the folder cannot be opened. */
static int open_root(int *fd, const char *dir, const char *given, u32 magic, int missing)
{
	struct statfs fs;
	long r = given ? file_open(given, O_RDONLY | O_DIRECTORY) :
		 sys_openat(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY);

	*fd = (int)r;
	if (r < 0 && (given || r != -ENOENT)) {
		say_error(given ? given : dir, files_note_error(r));
		return given ? NO_NAMED : REFUSED;
	}
	if (given || (r >= 0 && sys_fstatfs(*fd, &fs) == 0 && (u32)fs.f_type == magic))
		return 0;
	if (r >= 0)
		sys_close(*fd);
	*fd = -1;
	/* Devices and processes are not found without /proc or /sys, though they may exist: this
	 * counts as an error of reading. */
	fileio.error = -ENOENT;
	return missing;
}

/* Returns whether the kernel was built with sysfs (CONFIG_SYSFS): /proc/filesystems lists it even
 * if it is not mounted. */
static bool has_sysfs(void)
{
	char text[4096];
	long n = slurp(roots.proc, "filesystems", text, sizeof(text));

	return n <= 0 || str_find(str_read(text, n), (struct str)STR("\tsysfs\n"));
}

static void say_rootless(void)
{
	char names[96];
	struct buf b = BUF_Z(names);

	for (size_t i = 0; i < opt.ncmds; i++)
		if (opt.cmds[i].with & WITH_ROOTLESS) {
			put_z(&b, b.n ? ", " : "commands that work without it: ");
			put_z(&b, opt.cmds[i].name);
		}
	if (b.n)
		say_z(buf_z(&b));
}

/* Opens /proc and /sys. Prints a message if one of them is missing. needed: the command cannot work
 * without them. Returns false if the command cannot continue. */
bool open_roots(bool needed)
{
	int failed = open_root(&roots.sys, "/sys", opt.sys, SYSFS_MAGIC, NO_SYS) |
		    open_root(&roots.proc, "/proc", opt.proc, PROC_SUPER_MAGIC, NO_PROC);
	bool both = (failed & (NO_PROC | NO_SYS)) == (NO_PROC | NO_SYS);

	roots.proc_given = opt.proc;
	roots.proc_name = opt.proc;
	roots.sys_given = opt.sys;
	if (failed & NO_SYS && !both && !has_sysfs())
		say_z("/sys: this kernel has no sysfs (CONFIG_SYSFS)");
	else if (failed & (NO_PROC | NO_SYS))
		say(both ? "/proc and /sys are" : failed & NO_SYS ? "/sys is" : "/proc is",
		    " not mounted; as root: ",
		    both ? "mount -t proc proc /proc; mount -t sysfs sys /sys" :
		    failed & NO_SYS ? "mount -t sysfs sys /sys" : "mount -t proc proc /proc");
	if (failed && needed && !(failed & NO_NAMED) && !is_check()) /* check prints one line */
		say_rootless();
	return !(failed & NO_NAMED) && (!failed || !needed);
}
