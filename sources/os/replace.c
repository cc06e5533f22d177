/* replace.c - opening of files that the user named, and atomic replacement of a file.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "sources/os/os.h"
#include "sys.h"

#include <limits.h>

enum {
	/* maximum number of bytes of a file's name that the name of its temporary file contains, so
	 * that the latter has at most NAME_MAX bytes */
	NAME_BYTES = 200,
	MAX_LINKS = 40,   /* maximum number of symbolic links in a path, the same as in Linux */
	/* uid that a user namespace shows for a user who has no uid in it: the default of
	 * kernel.overflowuid */
	NOBODY = 65534,
};
#define MAX_AGE UINT64_C(60000000000) /* time in ns: younger temporary files are not removed */

/* The signal mask before replace_open(), which blocks all signals while the temporary file exists,
 * so that no signal ends the process and leaves the file behind. */
static sigset_t old_mask;

/* Sets dir to the folder of a path; "." if the path has no slash. The path must be shorter than
 * PATH_MAX. */
static void folder_of(const char *path, char dir[PATH_MAX])
{
	const char *slash = strrchr(path, '/');
	size_t n = slash ? slash > path ? (size_t)(slash - path) : 1 : 0;

	memcpy(dir, slash ? path : ".", slash ? n : 1);
	dir[n ? n : 1] = '\0';
}

/* Returns 1 if the folder of a path is shared, like /tmp: all users may write to it, and no user
 * may remove files of others. Else 0, or -errno. Sets dir to the folder and *in to its stat(2). In
 * a shared folder, gpustat follows only links, and writes only to files, of this user or of the
 * folder's owner, so that no other user can have put them there. Linux does the same if
 * fs.protected_symlinks, protected_regular and protected_fifos are 1. */
static long folder_check(const char *path, char dir[PATH_MAX], struct stat *in)
{
	static const u32 shared = S_ISVTX | S_IWOTH;
	long r;

	folder_of(path, dir);
	r = sys_fstatat(AT_FDCWD, dir, in);
	return r < 0 ? r : (in->st_mode & shared) == shared;
}

/* Returns whether a file belongs neither to this user nor to the owner of its folder `in`. A user
 * namespace shows every user that has no uid in it as NOBODY: two files of NOBODY may belong to
 * different users. */
static bool is_foreign(const struct stat *st, const struct stat *in)
{
	return st->st_uid != sys_euid() && (st->st_uid != in->st_uid || st->st_uid == NOBODY);
}

/* Returns 0 if the symbolic link at this path may be followed; 1 if it is a link in /proc, which
 * only the kernel can follow, because it may point to a file without a name; or -errno. */
static long link_check(const char *path, const struct stat *link)
{
	char dir[PATH_MAX];
	struct stat in;
	struct statfs fs;
	long r = folder_check(path, dir, &in);

	if (r > 0 && is_foreign(link, &in))
		return -EACCES;
	if (r >= 0)
		r = sys_statfs(dir, &fs);
	return r < 0 ? r : (u32)fs.f_type == PROC_SUPER_MAGIC;
}

/* Inserts the target of the symbolic link at `path` before *rest, the unresolved rest of a path,
 * which is at the end of the buffer b. Returns 0 or -errno. */
static long link_read(const char *path, char *b, char **rest)
{
	long n = sys_readlinkat(AT_FDCWD, path, b, (size_t)(*rest - b));

	if (n == 0 || n == *rest - b)
		return n ? -ENAMETOOLONG : -ENOENT;
	if (n > 0)
		*rest = memmove(*rest - n, b, (size_t)n);
	return n < 0 ? n : 0;
}

/* Resolves the symbolic links of a path, each of which link_check() must allow. Sets at to the
 * resolved path, and *st to the stat(2) of its file, with st_mode 0 if the file does not exist.
 * Returns 1 if only the kernel can follow a link; else 0, or -errno. With O_NOFOLLOW a link that is
 * the last component of the path is not resolved. */
static long path_resolve(const char *path, int flags, char at[PATH_MAX], struct stat *st)
{
	char b[PATH_MAX], *rest; /* rest: the part of the path whose links are not resolved yet */
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
			r = links++ < MAX_LINKS ? link_check(at, st) : -ELOOP;
			if (r == 0 && (r = link_read(at, b, &rest)) == 0)
				n = *rest == '/' ? 0 : name;
		}
		if (r < 0)
			break;
	}
	return r;
}

/* Resolves a path and opens its file. Returns a descriptor, or -errno; -EEXIST if the file did not
 * exist when the path was resolved, but exists now. */
static long open_once(const char *path, int flags)
{
	char at[PATH_MAX], dir[PATH_MAX];
	struct stat st, in;
	long r = path_resolve(path, flags, at, &st);

	if (r == 0)
		flags |= O_NOFOLLOW;
	if (r == 0 && flags & O_CREAT && (r = folder_check(at, dir, &in)) > 0) {
		if (!st.st_mode)
			flags |= O_EXCL;
		else if (is_foreign(&st, &in))
			r = -EACCES;
		else
			flags &= ~O_CREAT;
	}
	return r < 0 ? r : sys_openat_new(at, flags, 0644);
}

/* Opens a file that an option or the environment named. Returns a descriptor, or -errno. With
 * O_CREAT in a shared folder (see folder_check()), the file is new, or belongs to this user or to
 * the folder's owner: no other user can replace it between the check and the opening. */
long file_open(const char *path, int flags)
{
	long r = open_once(path, flags);

	/* The file was created between the check and the opening: try once more, in case that this
	 * user has created it. */
	if (r == -EEXIST)
		r = open_once(path, flags);
	return r == -EEXIST ? -EACCES : r;
}

/* Reads a file that the user named into b. Returns its length, or -errno; cap if the file is larger
 * than cap bytes. */
long file_slurp(const char *path, char *b, size_t cap)
{
	long fd = file_open(path, O_RDONLY | O_NONBLOCK), n;

	if (fd < 0)
		return files_note_error(fd);
	n = slurp_fd((int)fd, b, cap);
	sys_close((int)fd);
	return n;
}

/* Reads a file that the user named into a table of bytes. Returns its length, or -errno; -EFBIG if
 * the file fills the table. */
long file_slurp_table(const char *path, struct table *t)
{
	long fd = file_open(path, O_RDONLY | O_NONBLOCK), n;

	if (fd < 0)
		return files_note_error(fd);
	n = slurp_table_fd((int)fd, t);
	sys_close((int)fd);
	return n < (long)t->most ? n : -EFBIG;
}

/* Begins the name of a temporary file in f->name with ".FILE.". Returns the buffer to append to. */
static struct buf name_begin(struct replacement *f)
{
	struct buf b = buf_on(f->name, sizeof(f->name) - 1);
	struct str name = str_z(f->base);

	put_c(&b, '.');
	put_n(&b, name.p, str_len(name) < NAME_BYTES ? str_len(name) : NAME_BYTES);
	put_c(&b, '.');
	return b;
}

/* Returns whether a file has the name of a temporary file, .FILE.PID.TIME, that a killed process
 * has left behind. start: ".FILE.". There must be no process with this PID, and TIME (ns,
 * CLOCK_MONOTONIC) must be more than a minute ago, or of an earlier boot. The minute is for
 * processes of other PID namespaces, which are not in /proc: they keep a temporary file for a
 * shorter time. */
static bool is_left(struct str name, struct str start)
{
	i64 now = sys_now(CLOCK_MONOTONIC);
	u64 pid, time;
	char path[40];
	struct buf b = BUF_Z(path);

	/* TIME in the name .FILE.PID.TIME of a temporary file has at least ten digits: .log.2024.11
	 * is a file of another program */
	if (!str_skip(&name, start) || !(name.p = scan_u64(name, &pid)) ||
	    !str_skip_z(&name, ".") || scan_u64(name, &time) != name.e || time < 1000000000)
		return false;
	put_z(&b, "/proc/");
	put_u64(&b, pid);
	return (time > (u64)now || (u64)now - time > MAX_AGE) &&
	       sys_has_file(AT_FDCWD, "/proc/self") && !sys_has_file(AT_FDCWD, buf_z(&b));
}

/* Prepares to replace the file at path. Returns 0 or -errno: a folder where no file may be created
 * is reported now, and not after a run of an hour. */
long replace_begin(struct replacement *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	char dir[PATH_MAX];
	long r;

	*f = (struct replacement){ .dir = -1, .fd = -1, .base = slash ? slash + 1 : path };
	if (strlen(path) >= sizeof(dir))
		return -ENAMETOOLONG;
	folder_of(path, dir);
	r = file_open(dir, O_PATH | O_DIRECTORY);
	if (r < 0)
		return r;
	f->dir = (int)r;
	r = sys_faccess(f->dir, ".", W_OK | X_OK);
	/* Ignore other errors of faccessat2(2): a seccomp filter that does not know this call may
	 * cause them. */
	return r == -EACCES || r == -EROFS ? r : 0;
}

/* Returns whether a file was written in the last minute: another machine that shares the folder may
 * be writing it. */
static bool is_recent(const struct stat *s)
{
	i64 age = sys_now(CLOCK_REALTIME) - (i64)s->st_mtim.tv_sec * 1000000000;

	return age >= 0 && age < (i64)MAX_AGE;
}

/* Removes the temporary files that killed processes of this user have left in the folder. To be
 * called once after replace_begin(), because it reads the whole folder. */
void replace_clean(struct replacement *f)
{
	struct buf start = name_begin(f);
	struct dir d;
	const char *name;
	struct stat st;

	if (dir_open_in(&d, f->dir, ".", d.b, sizeof(d.b)) >= 0)
		while ((name = dir_next(&d)))
			if (is_left(str_z(name), str_of(start.p, start.n)) &&
			    sys_lstat_at(f->dir, name, &st) == 0 && S_ISREG(st.st_mode) &&
			    st.st_uid == sys_euid() && !is_recent(&st))
				sys_unlink_at(f->dir, name);
	dir_close(&d);
}

/* Creates the temporary file in the folder of the file to replace, with the permissions `mode`
 * whatever the umask is. Returns 0 or -errno. Signals are blocked until replace_finish(). */
long replace_open(struct replacement *f, u32 mode)
{
	struct buf b = name_begin(f);
	long fd;

	sys_block_all(&old_mask);
	put_u64(&b, sys_pid());
	/* The time makes the temporary file's name unique: in a container the pid is often the same
	 * as that of an earlier, killed process. */
	put_c(&b, '.');
	put_u64(&b, (u64)sys_now(CLOCK_MONOTONIC));
	f->name[b.n] = '\0';
	fd = sys_create_at(f->dir, f->name, 0600);
	f->fd = (int)fd;
	if (fd >= 0)
		return sys_fchmod(f->fd, mode);
	sys_unblock(&old_mask);
	return fd;
}

/* Ends a replacement. r: result of writing the temporary file, 0 or -errno. If it is 0, renames the
 * temporary file to the file that it replaces; else removes it. Returns 0; r if that was an error;
 * or -errno of closing or renaming. */
long replace_finish(struct replacement *f, long r)
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
	sys_unblock(&old_mask);
	return r;
}
