/* replace.c - files that were named: how they are opened; one that another takes the place of, whole or not at all.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#include <limits.h>

enum { NAME_BYTES = 200 /* of the name in that of the file beside it, which may have NAME_MAX in all */ };

static sigset_t heard; /* while a file stands beside: the signals that would leave it lying */

/* The folder of a path, which is shorter than PATH_MAX. */
static void folder_of(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? slash > path ? (size_t)(slash - path) : 1 : 0;

	memcpy(dir, slash ? path : ".", slash ? n : 1);
	dir[n ? n : 1] = '\0';
}

/* 1: it is a link that may be followed; 0: it is none; or -errno. A link in a folder that all may write, and where nobody may
 * remove what is another's, is followed only where it is ours or the folder's owner's, so that nobody can have exchanged it:
 * as Linux has it itself, for a path's last name, where fs.protected_symlinks is 1. */
static long link_check(const char *path)
{
	static const u32 shared = S_ISVTX | S_IWOTH;
	char dir[PATH_MAX];
	struct stat link, in;
	long r = sys_lstat(path, &link);

	if (r < 0 || !S_ISLNK(link.st_mode))
		return r;
	folder_of(path, dir);
	if ((r = sys_fstatat(AT_FDCWD, dir, &in)) < 0)
		return r;
	return (in.st_mode & shared) != shared || link.st_uid == sys_euid() || link.st_uid == in.st_uid ? 1 : -EACCES;
}

/* Whether all links on the way to the last name of a path may be followed: 0, or -errno. */
long file_way(const char *path)
{
	char way[PATH_MAX];
	size_t n = strlen(path);
	long r = 0;

	if (n >= sizeof(way))
		return -ENAMETOOLONG;
	memcpy(way, path, n + 1);
	for (char *p = way; *p && r >= 0; p++)
		if (*p == '/' && p > way) {
			*p = '\0';
			r = link_check(way);
			*p = '/';
		}
	return r < 0 ? r : 0;
}

/* A file that was named: a descriptor, or -errno. */
long file_open(const char *path, int flags)
{
	long r = file_way(path);
	bool follow = link_check(path) > 0;

	r = r < 0 ? r : sys_openat_new(path, follow ? flags : flags | O_NOFOLLOW, 0644);
	return r == -ELOOP && !follow ? -EACCES : r;
}

/* 0 or -errno: that nothing may be created there is known now, and not after an hour. */
long replace_begin(struct replacing *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	long r;

	*f = (struct replacing){ .dir = -1, .fd = -1, .base = slash ? slash + 1 : path };
	if ((r = file_way(path)) < 0)
		return r;
	folder_of(path, dir);
	r = sys_openat(AT_FDCWD, dir, O_PATH | O_DIRECTORY);
	if (r < 0)
		return r;
	f->dir = (int)r;
	r = sys_faccess(f->dir, ".", W_OK | X_OK);
	return r == -EACCES || r == -EROFS ? r : 0; /* a seccomp filter that does not know the call has its own answer */
}

/* The file beside it, with that mode whatever the umask: 0 or -errno. Until it is settled no signal is heard. */
long replace_open(struct replacing *f, u32 mode)
{
	struct buf b = buf_on(f->name, sizeof(f->name) - 1);
	struct str name = str_z(f->base);
	long fd;

	sys_block_all(&heard);
	put_c(&b, '.');
	put_n(&b, name.p, str_len(name) < NAME_BYTES ? str_len(name) : NAME_BYTES);
	put_c(&b, '.');
	put_u64(&b, sys_pid());
	put_c(&b, '.'); /* in a container the pid is often the same, and so may be that of one killed */
	put_u64(&b, (u64)sys_now(CLOCK_MONOTONIC));
	f->name[b.n] = '\0';
	fd = sys_create_at(f->dir, f->name, 0600);
	f->fd = (int)fd;
	if (fd >= 0)
		return sys_fchmod(f->fd, mode);
	sys_unblock(&heard);
	return fd;
}

/* r 0: what is beside takes the place of the file; else it goes. 0 or -errno: r, or what failed now. */
long replace_settle(struct replacing *f, long r)
{
	long closed;

	if (f->fd < 0)
		return r;
	closed = sys_close(f->fd);
	f->fd = -1;
	r = r < 0 ? r : closed;
	if (r >= 0)
		r = sys_rename_at(f->dir, f->name, f->base);
	if (r < 0)
		sys_unlink_at(f->dir, f->name);
	sys_unblock(&heard);
	return r;
}
