/* t_replace.c - unit test of sources/os/replace.c: how paths with links are resolved, which
 * files are written to in a shared folder, and what remains of a replacement that fails.
 * SPDX-License-Identifier: MIT */
#include "../../sources/os/replace.c"

#include "tests/unit.h"
#include "folder.h"

#include <signal.h>

/* --- paths ------------------------------------------------------------------------------------ */

static void t_folder_of(void)
{
	static const char *const rows[][2] = {
		{ "a", "." }, { "/a", "/" }, { "/a/b", "/a" }, { "a/b/c", "a/b" }, { "a/", "a" },
		{ "//a", "/" },
	};
	char dir[PATH_MAX];

	for (size_t i = 0; i < LEN(rows); i++) {
		folder_of(rows[i][0], dir);
		check_str(str_z(dir), rows[i][1],
		          "folder_of() returns the folder of %s", rows[i][0]);
	}
}

static void t_foreign(void)
{
	static const struct {
		u32 file, folder;
		bool foreign;
	} rows[] = {
		{ 1000001, 1000002, true }, { 1000001, 1000001, false }, { 0, 1000001, true },
		{ 65534, 65534, true },
	};
	struct stat st = { .st_uid = geteuid() }, in = { .st_uid = 1000003 };

	check(!is_foreign(&st, &in), "a file of this user is not foreign");
	for (size_t i = 0; i < LEN(rows); i++) {
		st.st_uid = rows[i].file;
		in.st_uid = rows[i].folder;
		check(st.st_uid == geteuid() || is_foreign(&st, &in) == rows[i].foreign,
		      "is_foreign() for a file of user %u in a folder of user "
		      "%u", rows[i].file, rows[i].folder);
	}
}

/* Resolves a path of the test's folder. The result is a path in the same folder, or an error. */
static void resolved(const char *path, int flags, long want, const char *at, bool there)
{
	char got[PATH_MAX] = "";
	struct stat st;
	long r = path_resolve(in_folder("%s", path), flags, got, &st);

	check(r == want, "path_resolve() of %s returns %ld", path, r);
	if (r == 0) {
		check_str(str_z(got), in_folder("%s", at),
		          "path_resolve() of %s results in %s", path, at);
		check(!st.st_mode == !there, "%s %s", at, there ? "exists" : "does not exist");
	}
}

static void t_resolve(void)
{
	char at[PATH_MAX], path[PATH_MAX + 1];
	struct stat st;

	put(in_folder("real/file"), "x");
	put_link(in_folder("dir"), "real");
	put_link(in_folder("whole"), in_folder("real"));
	put_link(in_folder("real/up"), "../link");
	put_link(in_folder("link"), "dir/file");
	put_link(in_folder("loop"), "loop");
	put_link(in_folder("gone"), "real/none");
	resolved("real/file", 0, 0, "real/file", true);
	resolved("real/new", 0, 0, "real/new", false);
	resolved("none/new", 0, -ENOENT, "", false);
	resolved("real/file/x", 0, -ENOTDIR, "", false);
	resolved("dir/file", 0, 0, "real/file", true);
	resolved("whole/file", 0, 0, "real/file", true);
	resolved("whole/file", O_NOFOLLOW, 0, "real/file", true);
	resolved("dir/up", 0, 0, "real/../real/file", true);
	resolved("link", O_NOFOLLOW, 0, "link", true);
	resolved("gone", 0, 0, "real/none", false);
	resolved("loop", 0, -ELOOP, "", false);
	memset(path, 'a', PATH_MAX);
	path[PATH_MAX] = '\0';
	check(path_resolve(path, 0, at, &st) == -ENAMETOOLONG,
	      "path_resolve() of a path of PATH_MAX bytes fails with ENAMETOOLONG");
	path[PATH_MAX - 1] = '\0';
	check(path_resolve(path, 0, at, &st) == -ENAMETOOLONG,
	      "path_resolve() of a name longer than any file system allows fails with "
	      "ENAMETOOLONG");
	check(path_resolve("", 0, at, &st) == -ENOENT,
	      "path_resolve() of an empty path fails with ENOENT");
}

/* Linux follows 40 links at most in a path, and so does the program. */
static void t_chain(void)
{
	put(in_folder("chain/0"), "end");
	for (u32 i = 1; i <= 41; i++) {
		char target[16];

		snprintf(target, sizeof(target), "%u", i - 1);
		put_link(in_folder("chain/%u", i), target);
	}
	resolved("chain/40", 0, 0, "chain/0", true);
	resolved("chain/41", 0, -ELOOP, "", false);
}

/* --- reading and creating --------------------------------------------------------------------- */

static void t_slurp(void)
{
	static TABLE(char, few, 8, 8, "bytes");
	char b[8];

	put(in_folder("seven"), "1234567");
	put(in_folder("eight"), "12345678");
	check(file_slurp(in_folder("seven"), b, sizeof(b)) == 7,
	      "file_slurp() of a file of seven bytes returns 7");
	check(file_slurp(in_folder("eight"), b, sizeof(b)) == 8,
	      "file_slurp() of a file that may exceed the buffer returns the buffer's size");
	check(file_slurp(in_folder("none"), b, sizeof(b)) == -ENOENT,
	      "file_slurp() of a missing file fails with ENOENT");
	check(file_slurp_table(in_folder("seven"), &few.t) == 7,
	      "file_slurp_table() reads a file of seven bytes into a table of eight");
	check(file_slurp_table(in_folder("eight"), &few.t) == -EFBIG,
	      "file_slurp_table() of a file that fills the table fails with EFBIG");
}

static void t_shared(void)
{
	static const int create = O_WRONLY | O_CREAT;
	long fd;

	put(in_folder("tmp/own"), "");
	put_link(in_folder("tmp/link"), "own");
	check(chmod(in_folder("tmp"), 01777) == 0,
	      "a folder becomes shared: writable by all, with the sticky bit");
	check((fd = file_open(in_folder("tmp/own"), create)) >= 0,
	      "the caller's own file in a shared folder is opened for writing");
	close((int)fd);
	check((fd = file_open(in_folder("tmp/link"), create)) >= 0,
	      "the caller's own link in a shared folder is followed");
	close((int)fd);
	check((fd = file_open(in_folder("tmp/new"), create)) >= 0,
	      "a new file is created in a shared folder");
	close((int)fd);
	if (getuid() != 0 || chown(in_folder("tmp/own"), 1, 1) != 0 ||
	    lchown(in_folder("tmp/link"), 1, 1) != 0)
		return;
	put_link(in_folder("tmp/mine"), "own");
	check(file_open(in_folder("tmp/own"), create) == -EACCES,
	      "another user's file in a shared folder is not opened for writing");
	check(file_open(in_folder("tmp/mine"), create) == -EACCES,
	      "another user's file is not opened for writing through the caller's own link");
	check(file_open(in_folder("tmp/link"), O_RDONLY) == -EACCES,
	      "another user's link in a shared folder is not followed");
	check((fd = file_open(in_folder("tmp/own"), O_RDONLY)) >= 0,
	      "another user's file in a shared folder is opened for reading");
	close((int)fd);
}

/* --- replacement ------------------------------------------------------------------------------ */

static bool is_blocked(int signo)
{
	sigset_t now;

	sigprocmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, signo) == 1;
}

static void content_is(const char *path, const char *want, const char *what)
{
	char b[64];
	long n = file_slurp(path, b, sizeof(b));

	check_str(str_read(b, n), want, "%s", what);
}

/* Replaces a file by "new" in a separate folder, or fails with r. Only the file remains in the
 * folder. */
static void replace(const char *base, long r, const char *want)
{
	const char *path = in_folder("rep/%s", base);
	struct replacement f;
	mode_t mask = umask(0777);
	struct stat st;

	shell("rm -rf \"$D/rep\"; mkdir -m 700 \"$D/rep\"");
	umask(0022);
	put(path, "old");
	umask(0777);
	check(replace_begin(&f, path) == 0 && f.fd == -1,
	      "%.9s: replace_begin() opens the folder for the replacement", base);
	check(replace_open(&f, 0640) == 0 && is_blocked(SIGTERM),
	      "replace_open() blocks signals until the end of the replacement");
	check(fstat(f.fd, &st) == 0 && (st.st_mode & 0777) == 0640,
	      "the temporary file has the requested mode");
	check(f.name[0] == '.' && strlen(f.name) <= NAME_MAX,
	      "the name of the temporary file is hidden, and at most NAME_MAX bytes long");
	check(write(f.fd, "new", 3) == 3, "the temporary file is written");
	content_is(path, "old", "the file has its old contents until replace_finish()");
	check(replace_finish(&f, r) == r && !is_blocked(SIGTERM),
	      "replace_finish() unblocks signals and returns %ld", r);
	content_is(path, want,
	           "the file has the new contents after success, the old ones after an error");
	check(system("[ $(ls -A \"$D/rep\" | wc -l) = 1 ]") == 0,
	      "no temporary file remains after replace_finish()");
	close(f.dir);
	umask(mask);
}

static void t_begin(void)
{
	struct replacement f;
	char path[PATH_MAX + 1];

	memset(path, 'a', PATH_MAX);
	path[PATH_MAX] = '\0';
	check(replace_begin(&f, path) == -ENAMETOOLONG,
	      "replace_begin() with a path that is too long fails with ENAMETOOLONG");
	check(replace_begin(&f, in_folder("none/x")) == -ENOENT,
	      "replace_begin() in a missing folder fails with ENOENT");
	check(replace_begin(&f, in_folder("seven/x")) == -ENOTDIR,
	      "replace_begin() with a file in place of the folder fails with ENOTDIR");
	check(replace_finish(&f, -ENOTDIR) == -ENOTDIR,
	      "replace_finish() after a failed replace_begin() returns the same error");
	put_folder(in_folder("locked"));
	chmod(in_folder("locked"), 0555);
	rights_drop(true);
	check(replace_begin(&f, in_folder("locked/x")) == -EACCES,
	      "replace_begin() in a folder without write access fails with EACCES");
	rights_drop(false);
	close(f.dir);
	check(replace_begin(&f, "x") == 0 && strcmp(f.base, "x") == 0,
	      "replace_begin() of a name without a folder uses the current folder");
	close(f.dir);
}

/* Makes a temporary file of a process that has ended, written `age` seconds ago. Returns whether
 * replace_clean() removes it. */
static bool cleaned(i64 age)
{
	const char *path = in_folder("clean/.file.4194305.99999999999999999");
	struct timespec now, times[2];
	struct replacement f;

	put(path, "x");
	clock_gettime(CLOCK_REALTIME, &now);
	times[0] = times[1] = (struct timespec){ .tv_sec = now.tv_sec - age };
	utimensat(AT_FDCWD, path, times, 0);
	if (replace_begin(&f, in_folder("clean/file")) < 0)
		return false;
	replace_clean(&f);
	close(f.dir);
	return access(in_folder("clean/.file.4194305.99999999999999999"), F_OK) != 0;
}

/* Pids are below 4194304. A file of the last minute may belong to a process of another machine. */
static void t_clean(void)
{
	check(cleaned(3600), "a temporary file of an hour ago is removed");
	check(!cleaned(10), "a temporary file of ten seconds ago is kept");
	check(cleaned(-3600),
	      "a temporary file dated in the future is removed: the clock was set back since then");
}

int main(void)
{
	char longest[NAME_MAX + 1];

	folder_begin("replace");
	memset(longest, 'n', NAME_MAX);
	longest[NAME_MAX] = '\0';
	t_folder_of();
	t_foreign();
	t_resolve();
	t_chain();
	t_slurp();
	t_shared();
	replace("file", 0, "new");
	replace("file", -EIO, "old");
	replace(longest, 0, "new");
	t_begin();
	t_clean();
	shell("rm -rf \"$D\"");
	return unit_end();
}
