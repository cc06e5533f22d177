/* t_files.c - unit test of sources/os/files.c: files and folders of any size, errors that are counted,
 * listings that are interrupted, writes. SPDX-License-Identifier: MIT */
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

/* Reads a file, whose length and number of reads are known. */
static void slurp_is(const char *name, size_t cap, long want, u32 reads)
{
	static char b[20001];
	u32 calls = fileio.calls;
	long n = slurp(root, name, b, cap);

	check(n == want && memcmp(b, big, (size_t)n) == 0, "%s: %ld bytes of a room of %zu", name, n,
	      cap);
	check_u64(fileio.calls - calls, reads + 2, "%s: opened, read, closed", name);
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
		check(has == (rows[i].line != NULL), "line %zu is %s", i, has ? "there" : "absent");
		if (has)
			check_str(line, rows[i].line, "line %zu", i);
	}
	check(!slurp_line(root, "none", b, sizeof(b), &line), "no file has no line");
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
		check(slurp_table_fd(fd, &whole.t) == rows[i].want, "a table of 10000 bytes gets %ld of %zu",
		      rows[i].want, rows[i].size);
		close(fd);
	}
	check(whole.rows[9998] == 'x' && whole.rows[9999] == 'x', "its bytes are those of the file");
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
		      "error %ld is transient", -transient[i]);
	check(fileio.transient == 6 && fileio.unread == 6, "six errors were counted");
	for (size_t i = 0; i < LEN(final); i++)
		check(files_note_error(final[i]) == final[i] && fileio.error == -EAGAIN,
		      "%ld is not", -final[i]);
	check(fileio.transient == 6 && fileio.unread == 6, "none of these was counted");
	files_note_missing("card0", -EACCES);
	check(fileio.transient == 6 && fileio.unread == 7 && fileio.error == -EACCES,
	      "an object that was left out is unread");
	check_str(str_z(fileio.error_name), ": card0: ", "its name");
	files_note_error(-EIO);
	check_str(str_z(fileio.error_name), ": ", "a later error has no name");
	memset(name, 'n', sizeof(name) - 1);
	name[100] = '\0';
	files_note_missing(name, -EIO);
	check_str(str_z(fileio.error_name), ": ", "a name without room is left out");
	files_note_missing(name + 25, -EIO);
	check_u64(strlen(fileio.error_name), 79, "the longest one has 75 bytes");
	was = fileio;
	check(slurp(root, "none", b, sizeof(b)) == -ENOENT && fileio.unread == was.unread,
	      "an absent file is not counted");
	descriptors_forbid(true);
	check(slurp(root, "text", b, sizeof(b)) == -EMFILE && fileio.unread == was.unread + 1,
	      "a file that could not be opened for lack of descriptors is");
	descriptors_forbid(false);
}

/* --- folders ---------------------------------------------------------------------------------- */

enum { NAMES = 40 };

/* Lists the folder "many"; after each name, the listing is suspended if asked for. Returns how many
 * names it has, 0: a name was wrong or was there twice. */
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
	check(dir_open(&d, root, "many") >= 0 && fileio.open_fds == open_before + 1, "it opens");
	check_u64(names_listed(&d, false), NAMES, "all names, without . and ..");
	dir_close(&d);
	check(fileio.open_fds == open_before && d.fd == -1, "it was closed");
	dir_close(&d);
	check(fileio.open_fds == open_before, "it is closed only once");
	check(dir_open_in(&d, root, "many", names, sizeof(names)) >= 0, "with room for two names");
	check_u64(names_listed(&d, true), NAMES, "all names, suspended after each read");
	dir_close(&d);
	check(fileio.open_fds == open_before, "no descriptor is left");
	check(dir_open(&d, root, "none") == -ENOENT && d.fd == -ENOENT && !dir_next(&d),
	      "an absent folder has no names");
	check(dir_open(&d, root, "line") == -ENOTDIR, "a file is no folder");
	check(dir_adopt(&d, -EMFILE) == -EMFILE && fileio.error == -EMFILE && !d.n,
	      "an error in place of a descriptor is counted");
	check(fileio.open_fds == open_before, "nothing was opened");
}

static void t_paths(void)
{
	char path[TASK_PATH];

	task_path(path, 1, "/stat");
	check_str(str_z(path), "1/stat", "a path of a process");
	task_path(path, UINT32_MAX, "/fdinfo");
	check_str(str_z(path), "4294967295/fdinfo", "the largest id");
}

static void t_roots(void)
{
	roots.sys = roots.proc = root;
	check(roots_open() == 0 && roots.sys == root && roots.proc == root, "open roots are kept");
	roots.proc = -1;
	check(roots_open() == 0 && roots.proc >= 0 && roots.proc != root && roots.sys == root,
	      "a root that is not open is opened");
	close(roots.proc);
	roots.proc = -1;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Writes 20000 bytes to a pipe of 4 KiB, nonblocking, from which a child reads at leisure. */
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

/* Writes a text to a socket that is no file, as a pipe, and that keeps the pieces apart. */
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
		check(write_all(ends[1], text, rows[i].n) == 0, "text %zu is written", i);
		close(ends[1]);
		for (ssize_t n; (n = read(ends[0], piece, sizeof(piece))) > 0; k++)
			check_u64((u64)n, k < 4 ? rows[i].pieces[k] : 0, "text %zu: piece %zu", i, k);
		check(k == 4 || !rows[i].pieces[k], "text %zu has %zu pieces", i, k);
		close(ends[0]);
	}
}

static void t_write(void)
{
	int ends[2], full = open("/dev/full", O_WRONLY);

	check(write_all(-1, "", 0) == 0, "nothing to write is no error");
	check(write_all(-1, "x", 1) == -EBADF, "a file that is not open");
	check(full < 0 || write_all(full, "x", 1) == -ENOSPC, "a full device");
	signal(SIGPIPE, SIG_IGN);
	if (pipe(ends) == 0)
		close(ends[0]);
	check(write_all(ends[1], "x", 1) == -EPIPE, "a pipe without a reader");
	check(write_pipe(false) == 0, "a nonblocking pipe that is full gets all bytes");
	check(write_pipe(true) == 0, "also if the write is urgent");
}

/* --- what the user may see -------------------------------------------------------------------- */

static void t_may_see(void)
{
	/* by perf_event_paranoid: kernel addresses, addresses of others, fields of tracepoints */
	static const struct {
		const char *level;
		u8 seen;
	} rows[] = { { "-1", 7 }, { "0", 3 }, { "1", 1 }, { "2", 0 }, { "3", 0 }, { "x", 0 } };

	roots.proc = root;
	shell("cd \"$D\" && mkdir -p sys/kernel sys/dev/xe");
	check(!file_has_capabilities && may_see(SEE_KERNEL_ADDRESSES) && may_see(SEE_GPU_ADDRESSES), "root sees all");
	file_has_capabilities = true;
	check(!may_see(SEE_KERNEL_ADDRESSES) && !may_see(SEE_GPU_ADDRESSES), "settings that cannot be read permit nothing");
	for (size_t i = 0; i < LEN(rows); i++) {
		u8 seen = 0;

		put_file(in_folder("sys/kernel/perf_event_paranoid"), rows[i].level, strlen(rows[i].level));
		for (u8 what = SEE_KERNEL_ADDRESSES; what <= SEE_TRACEPOINT_FIELDS; what++)
			seen |= (u8)(may_see(what) << what);
		check(seen == rows[i].seen, "perf_event_paranoid %s: %#x", rows[i].level, seen);
	}
	put_file(in_folder("sys/dev/xe/observation_paranoid"), "1\n", 2);
	check(!may_see(SEE_GPU_ADDRESSES), "xe denies users the addresses of stalls");
	put_file(in_folder("sys/dev/xe/observation_paranoid"), "0\n", 2);
	check(may_see(SEE_GPU_ADDRESSES), "xe lets users see them");
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
