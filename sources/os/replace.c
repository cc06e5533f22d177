/* replace.c - opening of files that the user named, and atomic replacement of a file.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "sources/os/os.h"
#include "sys.h"

#include <limits.h>

enum {
	/* maximum number of bytes of a file's name in the name of its temporary file,
	 * .NAME.PID.TIME, which must not be longer than NAME_MAX */
	NAME_BYTES = 200,
	MAX_LINKS = 40,   /* maximum number of symbolic links in a path, the same as in Linux */
	/* uid that stat(2) returns in a user namespace for all users without a uid in this
	 * namespace: the default of kernel.overflowuid */
	NOBODY = 65534,
};
/* minimum age in ns of a temporary file that is removed as a leftover of a killed process */
#define MAX_AGE UINT64_C(60000000000)

/* The signal mask to restore: replace_open() blocks all signals while the temporary file exists, so
 * that no signal ends the process before the file is renamed or removed. */
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

/* Stores the folder of a path in dir, and its stat(2) in *in. Returns 1 if the folder is shared,
 * like /tmp: all users may write to it, and none may remove files of others; 0 if not; or -errno.
 * In a shared folder, gpustat follows only those links, and writes only those files, that belong to
 * this user or to the folder's owner, because another user may have created all others. Linux does
 * the same if fs.protected_symlinks, protected_regular and protected_fifos are 1. */
static long folder_check(const char *path, char dir[PATH_MAX], struct stat *in)
{
	static const u32 shared = S_ISVTX | S_IWOTH;
	long r;

	folder_of(path, dir);
	r = sys_fstatat(AT_FDCWD, dir, in);
	return r < 0 ? r : (in->st_mode & shared) == shared;
}

/* Returns true if a file (st) belongs neither to this user nor to the owner of its folder (in). If
 * both belong to NOBODY, returns true, too: in a user namespace all users without a uid are shown
 * as NOBODY, so the owners may be different users. */
static bool is_foreign(const struct stat *st, const struct stat *in)
{
	return st->st_uid != sys_euid() && (st->st_uid != in->st_uid || st->st_uid == NOBODY);
}

/* Returns 0 if the symbolic link at `path` may be followed; 1 if it is a link in /proc, which only
 * the kernel can follow, because such a link may point to a file without a name; or -errno, -EACCES
 * if the link must not be followed. link: lstat(2) of the link. */
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

/* Replaces the symbolic link at `path` by its target in a path that is being resolved. The part of
 * this path that is not resolved yet, *rest, is at the end of the buffer b: the target is put
 * before it. Returns 0 or -errno. */
static long link_read(const char *path, char *b, char **rest)
{
	long n = sys_readlinkat(AT_FDCWD, path, b, (size_t)(*rest - b));

	if (n == 0 || n == *rest - b)
		return n ? -ENAMETOOLONG : -ENOENT;
	if (n > 0)
		*rest = memmove(*rest - n, b, (size_t)n);
	return n < 0 ? n : 0;
}

/* Resolves the symbolic links of a path, if link_check() permits following them. Stores the
 * resolved path in `at`, and stat(2) of its file in *st, with st_mode 0 if the file does not exist.
 * If flags has O_NOFOLLOW, a link that is the last component of the path is not followed. Returns
 * 0; 1 if the last component is a link that only the kernel can follow; or -errno. */
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

/* Opens a file that an option or the environment names. Returns a descriptor, or -errno. If flags
 * has O_CREAT and the folder is shared (see folder_check()), the opened file is new, or belongs to
 * this user or to the folder's owner; no other user can replace the file between the check and the
 * opening. */
long file_open(const char *path, int flags)
{
	long r = open_once(path, flags);

	/* The file was created between the check and the opening: try once more, because this user
	 * may have created it. */
	if (r == -EEXIST)
		r = open_once(path, flags);
	return r == -EEXIST ? -EACCES : r;
}

/* Reads a file that an option or the environment names into b. Returns the number of bytes read,
 * which is cap if the file has cap bytes or more; or -errno. */
long file_slurp(const char *path, char *b, size_t cap)
{
	long fd = file_open(path, O_RDONLY | O_NONBLOCK), n;

	if (fd < 0)
		return files_note_error(fd);
	n = slurp_fd((int)fd, b, cap);
	sys_close((int)fd);
	return n;
}

/* Reads a file that an option or the environment names into a table of bytes. Returns the number of
 * bytes read, or -errno; -EFBIG if the file has t->most bytes or more. */
long file_slurp_table(const char *path, struct table *t)
{
	long fd = file_open(path, O_RDONLY | O_NONBLOCK), n;

	if (fd < 0)
		return files_note_error(fd);
	n = slurp_table_fd((int)fd, t);
	sys_close((int)fd);
	return n < (long)t->most ? n : -EFBIG;
}

/* Begins the name of the temporary file of f->base in f->name: ".FILE.", where FILE is f->base, cut
 * to NAME_BYTES. Returns a buffer to append the rest of the name. */
static struct buf name_begin(struct replacement *f)
{
	struct buf b = buf_on(f->name, sizeof(f->name) - 1);
	struct str name = str_z(f->base);

	put_c(&b, '.');
	put_n(&b, name.p, str_len(name) < NAME_BYTES ? str_len(name) : NAME_BYTES);
	put_c(&b, '.');
	return b;
}

/* Returns true if `name` is that of a temporary file, .FILE.PID.TIME, which a killed process has
 * left behind. start: ".FILE.". No process may have this PID, and TIME (ns, CLOCK_MONOTONIC) must
 * be more than a minute ago, or in the future, that is, from an earlier boot. Processes of other
 * PID namespaces are not in /proc, but they do not keep a temporary file for a minute. */
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

/* Prepares to replace the file at `path`: opens the folder, and checks now, and not after a run of
 * an hour, whether a file may be created in it. Returns 0 or -errno. */
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
	/* Ignore other errors of faccessat2(2), which do not say that access is denied: a seccomp
	 * filter that does not know this system call may cause them. */
	return r == -EACCES || r == -EROFS ? r : 0;
}

/* Returns true if a file was written less than a minute ago: a process on another machine that
 * shares the folder may still be writing it. */
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

/* Ends the replacement of a file. r: 0, or -errno if writing the temporary file has failed. If r is
 * 0, closes the temporary file and renames it to the file that it replaces; otherwise, or if that
 * fails, removes it. Returns 0, r, or -errno of closing or renaming. */
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
