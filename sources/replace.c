/* replace.c - a file of ours that another takes the place of, whole or not at all.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#include <limits.h>

enum { NAME_BYTES = 200 /* of the name in that of the file beside it, which may have NAME_MAX in all */ };

static sigset_t heard; /* while a file stands beside: the signals that would leave it lying */

/* 0 or -errno: that nothing may be created there is known now, and not after an hour. */
long replace_begin(struct replacing *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX] = ".";
	size_t n = slash ? (size_t)(slash - path) : 0;
	long r;

	*f = (struct replacing){ .dir = -1, .fd = -1, .base = slash ? slash + 1 : path };
	if (n >= sizeof(dir) || strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	if (slash)
		memcpy(dir, n ? path : "/", n ? n : 1);
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
