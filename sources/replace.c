/* replace.c - files that were named: how they are opened; one that another takes the place of, whole or not at all.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#include <limits.h>

enum {
	NAME_BYTES = 200, /* of the name in that of the file beside it, which may have NAME_MAX in all */
	MOST_LINKS = 40,  /* of a path: as many as Linux follows */
	NOBODY = 65534,   /* kernel.overflowuid, as it is where nobody has changed it */
};

static sigset_t heard; /* while a file stands beside: the signals that would leave it lying */

/* The folder of a path, which is shorter than PATH_MAX. */
static void folder_of(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? slash > path ? (size_t)(slash - path) : 1 : 0;

	memcpy(dir, slash ? path : ".", slash ? n : 1);
	dir[n ? n : 1] = '\0';
}

/* 1: all may write to the folder of a path, and nobody remove there what is another's; 0, or -errno. In such a one nothing is
 * followed or written to but what is ours or the folder's owner's, so that nobody can have put it there for us: as Linux has
 * it itself where fs.protected_symlinks, protected_regular and protected_fifos are 1. */
static long folder_look(const char *path, char dir[PATH_MAX], struct stat *in)
{
	static const u32 shared = S_ISVTX | S_IWOTH;
	long r;

	folder_of(path, dir);
	r = sys_fstatat(AT_FDCWD, dir, in);
	return r < 0 ? r : (in->st_mode & shared) == shared;
}

/* All for whom a user namespace has no number are NOBODY there: two of these need not be the same. */
static bool is_foreign(const struct stat *st, const struct stat *in)
{
	return st->st_uid != sys_euid() && (st->st_uid != in->st_uid || st->st_uid == NOBODY);
}

/* 0: the link at this path may be followed; 1: only Linux can, as one of /proc may lead to what has no name; or -errno. */
static long link_check(const char *path, const struct stat *link)
{
	char dir[PATH_MAX];
	struct stat in;
	struct statfs fs;
	long r = folder_look(path, dir, &in);

	if (r > 0 && is_foreign(link, &in))
		return -EACCES;
	if (r >= 0)
		r = sys_statfs(dir, &fs);
	return r < 0 ? r : (u32)fs.f_type == PROC_SUPER_MAGIC;
}

/* Puts what the link at this path says in front of *rest, which stands at the end of b: 0 or -errno. */
static long link_read(const char *path, char *b, char **rest)
{
	long n = sys_readlinkat(AT_FDCWD, path, b, (size_t)(*rest - b));

	if (n == 0 || n == *rest - b)
		return n ? -ENAMETOOLONG : -ENOENT;
	if (n > 0)
		*rest = memmove(*rest - n, b, (size_t)n);
	return n < 0 ? n : 0;
}

/* at: where a path leads once its links are read, each of which must be one that may be followed; *st: what is there, of mode
 * 0 where nothing is. 1: a link that only Linux can follow; 0, or -errno. With O_NOFOLLOW one that is the last name stays. */
static long path_resolve(const char *path, int flags, char at[PATH_MAX], struct stat *st)
{
	char b[PATH_MAX], *rest; /* what is left of it */
	size_t n = strlen(path) + 1;
	u32 links = 0;
	long r = -ENOENT;

	if (n > sizeof(b))
		return -ENAMETOOLONG;
	rest = memcpy(b + sizeof(b) - n, path, n);
	for (n = 0; *rest;) {
		size_t name = n + (*rest == '/'), some = (size_t)(strchrnul(rest + 1, '/') - rest);

		if (n + some >= PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(at + n, rest, some);
		at[n += some] = '\0';
		rest += some;
		r = sys_lstat(at, st);
		if (r == -ENOENT && !*rest) {
			st->st_mode = 0;
			r = 0;
		}
		if (r == 0 && S_ISLNK(st->st_mode) && (*rest || !(flags & O_NOFOLLOW))) {
			r = links++ < MOST_LINKS ? link_check(at, st) : -ELOOP;
			if (r == 0 && (r = link_read(at, b, &rest)) == 0)
				n = *rest == '/' ? 0 : name;
		}
		if (r < 0)
			break;
	}
	return r;
}

/* -EEXIST: it was not there before. */
static long open_once(const char *path, int flags)
{
	char at[PATH_MAX], dir[PATH_MAX];
	struct stat st, in;
	long r = path_resolve(path, flags, at, &st);

	if (r == 0)
		flags |= O_NOFOLLOW;
	if (r == 0 && flags & O_CREAT && (r = folder_look(at, dir, &in)) > 0) {
		if (!st.st_mode)
			flags |= O_EXCL;
		else if (is_foreign(&st, &in))
			r = -EACCES;
		else
			flags &= ~O_CREAT;
	}
	return r < 0 ? r : sys_openat_new(at, flags, 0644);
}

/* A file that an option or the environment named: a descriptor, or -errno. In a shared folder with O_CREAT it is new, ours or
 * the folder's owner's: nobody else can exchange it meanwhile. */
long file_open(const char *path, int flags)
{
	long r = open_once(path, flags);

	if (r == -EEXIST) /* another one of ours may have made it */
		r = open_once(path, flags);
	return r == -EEXIST ? -EACCES : r;
}

/* The whole of a file that was named: its length, or -errno; cap where it did not fit. */
long file_slurp(const char *path, char *b, size_t cap)
{
	long fd = file_open(path, O_RDONLY | O_NONBLOCK), n;

	if (fd < 0)
		return files_tell(fd);
	n = slurp_fd((int)fd, b, cap);
	sys_close((int)fd);
	return n;
}

/* The same of a table of bytes; -EFBIG where it fills it. */
long file_slurp_table(const char *path, struct table *t)
{
	long fd = file_open(path, O_RDONLY | O_NONBLOCK), n;

	if (fd < 0)
		return files_tell(fd);
	n = slurp_table_fd((int)fd, t);
	sys_close((int)fd);
	return n < (long)t->most ? n : -EFBIG;
}

/* 0 or -errno: that nothing may be created there is known now, and not after an hour. */
long replace_begin(struct replacing *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	long r;

	*f = (struct replacing){ .dir = -1, .fd = -1, .base = slash ? slash + 1 : path };
	if (strlen(path) >= sizeof(dir))
		return -ENAMETOOLONG;
	folder_of(path, dir);
	r = file_open(dir, O_PATH | O_DIRECTORY);
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
