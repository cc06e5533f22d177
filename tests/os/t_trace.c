/* t_trace.c - unit test of sources/os/trace.c: which paths, reads and links below the two roots
 * are reported to a tracer. SPDX-License-Identifier: MIT */
#include "../../sources/os/trace.c"

#include "tests/unit.h"
#include "folder.h"

static char said[4096]; /* the calls of a tracer, one per line */
static struct buf calls;
static const char *refused, *named;

static void report(const char *what, u32 path, long n)
{
	put_z(&calls, what);
	put_c(&calls, ' ');
	put_str(&calls, trace_path(path));
	if (n >= 0) {
		put_c(&calls, ' ');
		put_u64(&calls, (u64)n);
	}
	put_c(&calls, '\n');
	check(!tracer, "nothing is traced during %s", what);
}

static bool may(u32 path)
{
	return !refused || !str_is(trace_path(path), refused);
}

static void find(u32 path, enum traced what)
{
	static const char *const words[] = { "there", "file", "folder", "denied" };

	report(words[what], path, -1);
}

static void node(u32 path, const u32 rdev[2])
{
	report("node", path, (long)(rdev[0] * 1000 + rdev[1]));
}

static bool is_named(u32 path)
{
	return named && str_is(trace_path(path), named);
}

static long read_some(u32 path, char *b, long n, size_t cap, u64 at)
{
	report(at == 0 ? "first" : at == UINT64_MAX ? "next" : "more", path, n);
	if (n > 0 && cap > 1 && is_named(path)) {
		b[0] = 'X';
		return 1;
	}
	return n;
}

static long link_text(u32 path, char *b, long n, size_t cap)
{
	(void)cap;
	report("link", path, n);
	b[0] = 'L';
	return n;
}

static const struct tracer all = { may, find, node, is_named, read_some, link_text };

/* Compares the tracer's calls since the last comparison. */
static void said_are(const char *want, const char *what)
{
	tracer = NULL;
	said[calls.n] = '\0';
	if (!check(strcmp(said, want) == 0, "%s", what))
		note("%s", said);
	calls.n = 0;
	tracer = &all;
}

static void t_files(void)
{
	char b[64];
	struct str line;
	struct dir d;
	struct stat st;
	long n;

	check(slurp(roots.proc, "1/comm", b, sizeof(b)) == 5 && memcmp(b, "init\n", 5) == 0,
	      "slurp() of a traced file returns its contents");
	said_are("file proc/1/comm\nfirst proc/1/comm 5\n",
	         "the tracer is called for a file that is found and read");
	check(slurp(roots.sys, "none", b, sizeof(b)) == -ENOENT,
	      "slurp() of a missing file returns -ENOENT");
	said_are("", "the tracer is not called for a missing file");
	refused = "proc/1/comm";
	check(slurp(roots.proc, "1/comm", b, sizeof(b)) == -ENOENT,
	      "slurp() of a file that the tracer refuses returns -ENOENT");
	said_are("", "a file that the tracer refuses is neither opened nor read");
	refused = NULL;
	named = "proc/1/comm";
	check(slurp(roots.proc, "1/comm", b, sizeof(b)) >= 1 && b[0] == 'X',
	      "slurp() returns the bytes that the tracer has put in place of the file's");
	calls.n = 0;
	named = NULL;
	check(slurp_line(roots.sys, "a/b/value", b, sizeof(b), &line) && str_is(line, "12"),
	      "slurp_line() returns the line of a traced file");
	said_are("file sys/a/b/value\nfirst sys/a/b/value 3\n",
	         "the tracer is called for files below the root of /sys");
	check(dir_open(&d, roots.sys, "a") >= 0, "dir_open() opens a traced folder");
	n = sys_openat(d.fd, "b/value", O_RDONLY);
	check(n >= 0 && sys_read((int)n, b, 2) == 2 && sys_read((int)n, b, 2) == 1,
	      "a file below an open folder is opened and read");
	sys_close((int)n);
	check(sys_has_file(d.fd, "b") && !sys_has_file(d.fd, "c"),
	      "sys_has_file() finds a file below an open folder");
	check(sys_fstatat(d.fd, ".", &st) == 0, "sys_fstatat() finds an open folder");
	dir_close(&d);
	said_are("folder sys/a\nfile sys/a/b/value\nnext sys/a/b/value 2\nnext sys/a/b/value 1\n"
		 "there sys/a/b\nthere sys/a\n",
	         "the tracer is called for files below an open folder, with whole paths");
	check(sys_readlinkat(roots.proc, "1/fd", b, sizeof(b)) == 9 && memcmp(b, "Ldev/null", 9) == 0,
	      "sys_readlinkat() returns the text that the tracer has put in place of the link's");
	said_are("link proc/1/fd 9\n", "the tracer gets the length of a link's text");
}

/* The number of a closed descriptor may be used again, for a file that is not traced. */
static void t_descriptors(void)
{
	struct sys_statx k;
	char b[16];
	long n = sys_openat(roots.proc, "1/comm", O_RDONLY), other;

	sys_close((int)n);
	other = sys_openat(AT_FDCWD, "/dev/zero", O_RDONLY);
	calls.n = 0;
	check(other == n && sys_read((int)other, b, 4) == 4,
	      "a file outside of the roots gets the number of a closed descriptor");
	said_are("", "the tracer is not called for a file outside of the roots");
	sys_close((int)other);
	check(sys_stat_cached(roots.proc, "1/fd", &k) == 0,
	      "sys_stat_cached() finds a device node");
	said_are("node proc/1/fd 1003\n", "the tracer gets the number of a device node");
	check(sys_stat_cached(roots.proc, "1/comm", &k) == 0,
	      "sys_stat_cached() finds a regular file");
	said_are("", "the tracer gets no device number of a regular file");
}

static void t_numbers(void)
{
	struct sys_statx k;
	struct stat st;
	char link[16];
	u32 a, before;

	tracer = NULL;
	a = trace_number(LIT("sys/x"));
	before = ntraced;
	check(a && trace_number(LIT("sys/x")) == a && ntraced == before,
	      "trace_number() returns the same number for the same path");
	check(trace_number(LIT("sys/y")) == before + 1,
	      "trace_number() returns the next number for another path");
	for (u32 i = 0; i < 20000; i++) {
		char text[32];
		struct buf b = BUF(text);

		put_z(&b, "proc/");
		put_u64(&b, i);
		trace_number(str_of(text, b.n));
	}
	check(ntraced == before + 20001 && str_is(trace_path(a), "sys/x"),
	      "20 000 paths have numbers, and the first path keeps its own");
	known_paths.t.most = known_paths.t.ready = ntraced + 1;
	tracer = &all;
	calls.n = 0;
	check(sys_openat(roots.sys, "./a/b", O_RDONLY) == -ENOENT &&
	      sys_readlinkat(roots.proc, "./1/fd", link, sizeof(link)) == -ENOENT &&
	      sys_fstatat(roots.sys, "./a/b", &st) == 0 && sys_stat_cached(roots.proc, "./1/fd", &k) == 0,
	      "a file without room for its number is neither opened nor found");
	a = (u32)sys_openat(AT_FDCWD, "/dev/null", O_RDONLY);
	check((i32)a >= 0, "a file outside of the roots needs no number: it is opened");
	sys_close((int)a);
	said_are("", "the tracer is not called for files without a number");
}

/* Tables of which only the last row is still free. */
static void t_full(void)
{
	const struct table *full;
	u32 n, number;

	while (table_full(&n))
		;
	known_paths.t.most = TRACE_PATHS;
	table_all(&path_texts.t);
	path_index.text_end = path_texts.t.most - 6;
	number = trace_number(LIT("sys/z"));
	check(number && str_is(trace_path(number), "sys/z"), "full table of texts: the last path is right");
	check(!trace_number(LIT("sys/zz")) && trace_number(LIT("sys/z")) == number, "full table of texts: one more path has no number");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "bytes of paths") == 0, "full table of texts: its name");
	path_index.text_end = 0;
	table_all(&known_paths.t);
	ntraced = TRACE_PATHS - 2;
	number = trace_number(LIT("sys/w"));
	check(number == TRACE_PATHS - 1 && !trace_number(LIT("sys/ww")), "full table of paths: one more has no number");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "paths") == 0, "full table of paths: its name");
	fd_set_path(MAX_FDS, 1);
	check(fd_path(MAX_FDS) == 0, "full table of descriptors: one more is not traced");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "traced descriptors") == 0, "full table of descriptors: its name");
}

int main(void)
{
	calls = BUF_Z(said);
	folder_begin("t_trace");
	shell("mkdir -p $D/proc/1 $D/sys/a/b; echo init >$D/proc/1/comm; echo 12 >$D/sys/a/b/value; "
	      "ln -s /dev/null $D/proc/1/fd");
	roots.proc = open(in_folder("proc"), O_RDONLY | O_DIRECTORY);
	roots.sys = open(in_folder("sys"), O_RDONLY | O_DIRECTORY);
	tracer = &all;
	t_files();
	t_descriptors();
	t_numbers();
	t_full();
	shell("rm -rf $D");
	return unit_end();
}
