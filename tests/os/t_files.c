/* t_files.c - unit test of sources/os/files.c: files and folders of any size, errors that are
 * counted, listings that are suspended, writes. SPDX-License-Identifier: MIT */
#define privilege_from_file from_file
#include "../../sources/os/files.c"
#undef privilege_from_file

#include "child.h"
#include "folder.h"

#include <sys/socket.h>
#include <sys/wait.h>

static int root = -1;
static bool file_has_capabilities;

bool from_file(void)
{
	return file_has_capabilities;
}
static char big[20001];

/* --- reading ---------------------------------------------------------------------------------- */

static void put_size(const char *name, size_t n, char last)
{
	memset(big, 'x', n);
	big[n - 1] = last;
	put_file(in_folder("%s", name), big, n);
}

/* Reads a file whose length and number of reads are known. */
static void slurp_is(const char *name, size_t cap, long want, u32 reads)
{
	static char b[20001];
	u32 calls = fileio.calls;
	long n = slurp(root, name, b, cap);

	check(n == want && memcmp(b, big, (size_t)n) == 0,
	      "slurp() of file %s: %ld bytes, with room for %zu", name, n,
	      cap);
	check_u64(fileio.calls - calls, reads + 2,
	          "slurp() of file %s: the number of calls, with open and close", name);
}

static void t_slurp(void)
{
	put_size("line", 10, '\n');
	slurp_is("line", 100, 10, 1);
	slurp_is("line", 10, 10, 1);
	slurp_is("line", 9, 9, 1);
	put_size("open", 10, 'x');
	slurp_is("open", 100, 10, 2);
	put_size("page", 4096, '\n');
	slurp_is("page", 20000, 4096, 2);
	put_size("more", 20000, '\n');
	slurp_is("more", 20001, 20000, 1);
	slurp_is("more", 4097, 4097, 1);
}

static void t_slurp_line(void)
{
	static const struct {
		const char *text, *line;
	} rows[] = {
		{ "  a b \nc\n", "a b" }, { "last", "last" }, { "\nsecond\n", "" },
		{ "cut here", "cut here" }, { "", NULL },
	};
	struct str line;
	char b[8];

	for (size_t i = 0; i < LEN(rows); i++) {
		bool has;

		put(in_folder("text"), rows[i].text);
		has = slurp_line(root, "text", b, sizeof(b), &line);
		check(has == (rows[i].line != NULL),
		      "slurp_line() of text %zu: the line is %s", i, has ? "there" : "absent");
		if (has)
			check_str(line, rows[i].line,
			          "slurp_line() of text %zu: the line has the right text", i);
	}
	check(!slurp_line(root, "none", b, sizeof(b), &line),
	      "slurp_line() of a missing file finds no line");
}

static void t_slurp_table(void)
{
	static TABLE(char, whole, 10000, 4096, "bytes of a file");
	static const struct {
		size_t size;
		long want;
	} rows[] = { { 1, 1 }, { 9999, 9999 }, { 10000, 10000 }, { 20000, 10000 } };

	for (size_t i = 0; i < LEN(rows); i++) {
		int fd;

		put_size("table", rows[i].size, 'y');
		fd = open(in_folder("table"), O_RDONLY);
		check(slurp_table_fd(fd, &whole.t) == rows[i].want,
		      "slurp_table_fd() reads %ld bytes into a table of 10000, from a file of %zu",
		      rows[i].want, rows[i].size);
		close(fd);
	}
	check(whole.rows[9998] == 'x' && whole.rows[9999] == 'x',
	      "the table has the bytes of the file");
}

/* --- errors ----------------------------------------------------------------------------------- */

static void t_errors(void)
{
	static const long transient[] = { -EMFILE, -ENFILE, -ENOMEM, -EIO, -EINTR, -EAGAIN };
	static const long final[] = { 0, 1, -ENOENT, -EACCES, -EPERM, -ESRCH, -ENODEV, -ELOOP };
	char name[101], b[8];
	struct fileio was;

	fileio.transient = fileio.unread = 0;
	for (size_t i = 0; i < LEN(transient); i++)
		check(files_note_error(transient[i]) == transient[i] && fileio.error == transient[i],
		      "errno %ld is a transient error", -transient[i]);
	check(fileio.transient == 6 && fileio.unread == 6, "six transient errors were counted");
	for (size_t i = 0; i < LEN(final); i++)
		check(files_note_error(final[i]) == final[i] && fileio.error == -EAGAIN,
		      "errno %ld is not a transient error", -final[i]);
	check(fileio.transient == 6 && fileio.unread == 6,
	      "errors that are not transient were not counted");
	files_note_missing("card0", -EACCES);
	check(fileio.transient == 6 && fileio.unread == 7 && fileio.error == -EACCES,
	      "files_note_missing() counts an unread object, and keeps its error");
	check_str(str_z(fileio.error_name), ": card0: ",
	          "files_note_missing() keeps the name of the object");
	files_note_error(-EIO);
	check_str(str_z(fileio.error_name), ": ",
	          "an error without a name removes the name of the error before it");
	memset(name, 'n', sizeof(name) - 1);
	name[100] = '\0';
	files_note_missing(name, -EIO);
	check_str(str_z(fileio.error_name), ": ",
	          "a name that is too long for the buffer is left out");
	files_note_missing(name + 25, -EIO);
	check_u64(strlen(fileio.error_name), 79, "a name of 75 bytes fits into the buffer");
	was = fileio;
	check(slurp(root, "none", b, sizeof(b)) == -ENOENT && fileio.unread == was.unread,
	      "a missing file is not counted as unread");
	descriptors_forbid(true);
	check(slurp(root, "text", b, sizeof(b)) == -EMFILE && fileio.unread == was.unread + 1,
	      "a file that finds no free descriptor is counted as unread");
	descriptors_forbid(false);
}

/* --- folders ---------------------------------------------------------------------------------- */

enum { NAMES = 40 };

/* Lists the folder "many"; if asked to, suspends the listing after each name. Returns the number
 * of names; 0: a name was wrong or was listed twice. */
static u32 names_listed(struct dir *d, bool suspends)
{
	bool seen[NAMES] = { false };
	const char *name;
	u32 n = 0;

	while ((name = dir_next(d))) {
		u32 i = (u32)strtoul(name, NULL, 10);

		if (i >= NAMES || seen[i])
			return 0;
		seen[i] = true;
		n++;
		if (suspends && d->at >= d->n) {
			dir_suspend(d);
			if (d->fd >= 0 || !dir_resume(d, root, "many"))
				return 0;
		}
	}
	return n;
}

static void t_folders(void)
{
	i32 open_before = fileio.open_fds;
	_Alignas(8) char names[64];
	struct dir d;

	for (u32 i = 0; i < NAMES; i++)
		put(in_folder("many/%u.name", i), "");
	check(dir_open(&d, root, "many") >= 0 && fileio.open_fds == open_before + 1,
	      "dir_open() opens a folder and counts its descriptor");
	check_u64(names_listed(&d, false), NAMES, "a listing has all names, without . and ..");
	dir_close(&d);
	check(fileio.open_fds == open_before && d.fd == -1, "dir_close() closes the descriptor");
	dir_close(&d);
	check(fileio.open_fds == open_before, "a second dir_close() does nothing");
	check(dir_open_in(&d, root, "many", names, sizeof(names)) >= 0,
	      "dir_open_in() opens a folder with a buffer for two names");
	check_u64(names_listed(&d, true), NAMES,
	          "a listing that is suspended after each read has all names");
	dir_close(&d);
	check(fileio.open_fds == open_before, "a suspended listing leaves no descriptor open");
	check(dir_open(&d, root, "none") == -ENOENT && d.fd == -ENOENT && !dir_next(&d),
	      "a missing folder has no names");
	check(dir_open(&d, root, "line") == -ENOTDIR,
	      "dir_open() of a regular file fails with ENOTDIR");
	check(dir_adopt(&d, -EMFILE) == -EMFILE && fileio.error == -EMFILE && !d.n,
	      "dir_adopt() counts an error in place of a descriptor");
	check(fileio.open_fds == open_before,
	      "dir_open() and dir_adopt() leave no descriptor open after an error");
}

static void t_paths(void)
{
	char path[TASK_PATH];

	task_path(path, 1, "/stat");
	check_str(str_z(path), "1/stat", "task_path() of a process");
	task_path(path, UINT32_MAX, "/fdinfo");
	check_str(str_z(path), "4294967295/fdinfo", "task_path() of the largest id");
}

static void t_roots(void)
{
	roots.sys = roots.proc = root;
	check(roots_open() == 0 && roots.sys == root && roots.proc == root,
	      "roots_open() keeps roots that are open");
	roots.proc = -1;
	check(roots_open() == 0 && roots.proc >= 0 && roots.proc != root && roots.sys == root,
	      "roots_open() opens a root that is not open");
	close(roots.proc);
	roots.proc = -1;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Writes 20000 bytes to a nonblocking pipe of 4 KiB, from which a child reads slowly. */
static long write_pipe(bool urgent)
{
	int ends[2], status = -1;
	long r = pipe(ends) ? -1 : fcntl(ends[1], F_SETPIPE_SZ, 4096);
	pid_t pid;

	fcntl(ends[1], F_SETFL, O_NONBLOCK);
	pid = fork();
	if (pid == 0) {
		size_t n = 0;
		char b[1000];

		close(ends[1]);
		for (ssize_t k; (k = read(ends[0], b, sizeof(b))) > 0;)
			n += (size_t)k;
		_exit(n == 20000 ? 0 : 1);
	}
	close(ends[0]);
	writing.urgent = urgent;
	r = write_all(ends[1], big, 20000);
	writing.urgent = false;
	close(ends[1]);
	waitpid(pid, &status, 0);
	return status == 0 ? r : -1;
}

/* Writes a text to a socket, which is not a regular file, as a pipe is not, and which keeps the
 * pieces apart. */
static void t_pieces(void)
{
	static const struct {
		size_t line, n;
		size_t pieces[4];
	} rows[] = {
		{ 1000, 4096, { 4096 } }, { 1000, 4097, { 4000, 97 } },
		{ 1000, 10000, { 4000, 4000, 2000 } }, { 4096, 8192, { 4096, 4096 } },
		{ 5000, 10000, { 4096, 904, 4096, 904 } }, /* a line that is too long */
	};
	static char text[10000], piece[10000];

	for (size_t i = 0; i < LEN(rows); i++) {
		int ends[2];
		size_t k = 0;

		for (size_t at = 0; at < sizeof(text); at++)
			text[at] = (at + 1) % rows[i].line ? 'x' : '\n';
		if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) != 0)
			break;
		check(write_all(ends[1], text, rows[i].n) == 0,
		      "write_all() to a socket: text %zu is written", i);
		close(ends[1]);
		for (ssize_t n; (n = read(ends[0], piece, sizeof(piece))) > 0; k++)
			check_u64((u64)n, k < 4 ? rows[i].pieces[k] : 0,
			          "write_all() to a socket: text %zu, size of piece %zu", i, k);
		check(k == 4 || !rows[i].pieces[k],
		      "write_all() to a socket: text %zu has %zu pieces", i, k);
		close(ends[0]);
	}
}

static void t_write(void)
{
	int ends[2], full = open("/dev/full", O_WRONLY);

	check(write_all(-1, "", 0) == 0,
	      "write_all() of no bytes succeeds, even without a descriptor");
	check(write_all(-1, "x", 1) == -EBADF,
	      "write_all() to a closed descriptor fails with EBADF");
	check(full < 0 || write_all(full, "x", 1) == -ENOSPC,
	      "write_all() to a full device fails with ENOSPC");
	signal(SIGPIPE, SIG_IGN);
	if (pipe(ends) == 0)
		close(ends[0]);
	check(write_all(ends[1], "x", 1) == -EPIPE,
	      "write_all() to a pipe without a reader fails with EPIPE");
	check(write_pipe(false) == 0, "write_all() to a full nonblocking pipe writes all bytes");
	check(write_pipe(true) == 0,
	      "an urgent write_all() to a full nonblocking pipe writes all bytes");
}

/* --- what the user may see -------------------------------------------------------------------- */

static void t_may_see(void)
{
	/* by perf_event_paranoid: addresses of the kernel, addresses of other users' programs,
	 * fields of tracepoints */
	static const struct {
		const char *level;
		u8 seen;
	} rows[] = { { "-1", 7 }, { "0", 3 }, { "1", 1 }, { "2", 0 }, { "3", 0 }, { "x", 0 } };

	roots.proc = root;
	shell("cd \"$D\" && mkdir -p sys/kernel sys/dev/xe");
	check(!file_has_capabilities && may_see(SEE_KERNEL_ADDRESSES) && may_see(SEE_GPU_ADDRESSES),
	      "root may see all addresses");
	file_has_capabilities = true;
	check(!may_see(SEE_KERNEL_ADDRESSES) && !may_see(SEE_GPU_ADDRESSES),
	      "settings that cannot be read permit no addresses");
	for (size_t i = 0; i < LEN(rows); i++) {
		u8 seen = 0;

		put_file(in_folder("sys/kernel/perf_event_paranoid"), rows[i].level, strlen(rows[i].level));
		for (u8 what = SEE_KERNEL_ADDRESSES; what <= SEE_TRACEPOINT_FIELDS; what++)
			seen |= (u8)(may_see(what) << what);
		check(seen == rows[i].seen,
		      "may_see() with perf_event_paranoid %s: %#x", rows[i].level, seen);
	}
	put_file(in_folder("sys/dev/xe/observation_paranoid"), "1\n", 2);
	check(!may_see(SEE_GPU_ADDRESSES),
	      "observation_paranoid 1 of xe denies users the addresses of stalls");
	put_file(in_folder("sys/dev/xe/observation_paranoid"), "0\n", 2);
	check(may_see(SEE_GPU_ADDRESSES),
	      "observation_paranoid 0 of xe permits users the addresses of stalls");
	file_has_capabilities = false;
}

int main(void)
{
	folder_begin("files");
	root_set(&root, tmp_folder);
	t_slurp();
	t_slurp_line();
	t_slurp_table();
	t_may_see();
	t_errors();
	t_folders();
	t_paths();
	t_roots();
	t_pieces();
	t_write();
	shell("rm -rf \"$D\"");
	return unit_end();
}
