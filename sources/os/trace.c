/* trace.c - reports each file below the --proc and --sys roots that this run finds or reads to the
 * functions of a struct tracer. The functions of sys.h that find and read files are weak; those of
 * this file replace them in the program. A program that is linked without this file contains no
 * code for tracing. SPDX-License-Identifier: MIT */
#define sys_openat      plain_openat
#define sys_close       plain_close
#define sys_read        plain_read
#define sys_pread       plain_pread
#define sys_fstatat     plain_fstatat
#define sys_stat_cached plain_stat_cached
#define sys_has_file    plain_has_file
#define sys_readlinkat  plain_readlinkat
#include "sys.h"
#undef sys_openat
#undef sys_close
#undef sys_read
#undef sys_pread
#undef sys_fstatat
#undef sys_stat_cached
#undef sys_has_file
#undef sys_readlinkat

#include "parse.h"
#include "sources/os/os.h"

const struct tracer *tracer;
u32 ntraced;

enum { HEADS = 4096, MAX_FDS = 1 << 20, PATH_MOST = 512 };

/* --- numbers of the paths of traced files ----------------------------------------------------- */

struct path {
	u32 at, len; /* offset of the path's text in path_texts, and its length in bytes */
	u32 next;    /* number of the next path in the hash chain; 0: this is the last one */
};
static TABLE(struct path, known_paths, TRACE_PATHS, 256, "paths");
static TABLE(char, path_texts, 8 << 20, 16384, "bytes of paths");
static struct {
	u32 heads[HEADS];
	u32 text_end; /* number of bytes used in path_texts */
} path_index;

struct str trace_path(u32 number)
{
	return str_of(path_texts.rows + known_paths.rows[number].at, known_paths.rows[number].len);
}

u32 trace_number(struct str path)
{
	u32 *head = &path_index.heads[hash_more(0, path) % HEADS], n = *head;

	while (n && !str_eq(trace_path(n), path))
		n = known_paths.rows[n].next;
	if (n || !table_has(&known_paths.t, ntraced + 1) ||
	    !table_has(&path_texts.t, path_index.text_end + str_len(path)))
		return n;
	n = ++ntraced;
	known_paths.rows[n] = (struct path){ path_index.text_end, (u32)str_len(path), *head };
	memcpy(path_texts.rows + path_index.text_end, path.p, str_len(path));
	path_index.text_end += known_paths.rows[n].len;
	*head = n;
	return n;
}

/* --- descriptors and the paths of their files ------------------------------------------------- */

/* Index: descriptor of an open file; value: number of the file's path, or 0 if the file is not
 * traced. */
static TABLE(u32, fd_paths, MAX_FDS, 1024, "traced descriptors");

/* Returns the number of the path of the open file fd; 0 if the file is not traced. */
static u32 fd_path(int fd)
{
	return fd >= 0 && (u32)fd < fd_paths.t.ready ? fd_paths.rows[fd] : 0;
}

static void fd_set_path(long fd, u32 path)
{
	if (fd >= 0 && path ? table_has(&fd_paths.t, (size_t)fd) :
	    (size_t)fd < fd_paths.t.ready)
		fd_paths.rows[fd] = path;
}

/* Result of traced_path() if a file must be traced, but its path cannot get a number, because the
 * path is too long or the table is full. Such a file is not opened, because the tracer could not
 * replace the names of users in its content. */
static const u32 no_number = UINT32_MAX;

/* Returns the number of the path of a file: of `name` in the open folder dir. Returns 0 if the file
 * is not traced, because nothing is traced, name is absolute, or dir is neither a root folder nor a
 * traced folder; no_number if the path cannot get a number. */
static u32 traced_path(int dir, const char *name)
{
	char text[PATH_MOST];
	struct buf b = BUF(text);
	u32 number;

	if (!tracer || dir < 0 || name[0] == '/')
		return 0;
	if (dir == roots.proc || dir == roots.sys)
		put_z(&b, dir == roots.proc ? "proc" : "sys");
	else if (fd_path(dir))
		put_str(&b, trace_path(fd_path(dir)));
	else
		return 0;
	if (name[0] && strcmp(name, ".") != 0) {
		put_c(&b, '/');
		put_z(&b, name);
	}
	number = b.full ? 0 : trace_number(str_of(text, b.n));
	return number ? number : no_number;
}

/* --- traced versions of functions of sys.h ---------------------------------------------------- */

/* Begins the definition of a function that traces calls and replaces the function of sys.h with
 * this name; sys.h declares that function here as plain_*. Declares the new function, too. */
#define REPLACES(type, name, ...) type name(__VA_ARGS__); type name(__VA_ARGS__)

/* Calls tracer->found() for a path that exists: with TRACED_DENIED if access was denied, otherwise
 * with `what`. r: result of the system call; no call if r is another -errno. */
static void trace_found(u32 path, long r, enum traced what)
{
	const struct tracer *t = tracer;

	if (!path || path == no_number || (r < 0 && r != -EACCES && r != -EPERM))
		return;
	tracer = NULL;
	t->found(path, r < 0 ? TRACED_DENIED : what);
	tracer = t;
}

/* Returns true if gpustat may open a file. path: number of the file's path; 0: the file is not
 * traced and may be opened. */
static bool may_open(u32 path)
{
	const struct tracer *t = tracer;
	bool may;

	if (!path || path == no_number)
		return !path;
	tracer = NULL;
	may = t->may_open(path);
	tracer = t;
	return may;
}

REPLACES(long, sys_openat, int dir, const char *name, int flags)
{
	u32 path = traced_path(dir, name);
	long fd = may_open(path) ? plain_openat(dir, name, flags) : -ENOENT;

	trace_found(path, fd, flags & O_DIRECTORY ? TRACED_FOLDER : TRACED_FILE);
	fd_set_path(fd, path);
	return fd;
}

REPLACES(long, sys_close, int fd)
{
	fd_set_path(fd, 0);
	return plain_close(fd);
}

/* Reads up to n bytes of an open file at offset `at`, without tracing it; UINT64_MAX: at the file's
 * current offset. */
static long plain_read_at(int fd, char *b, size_t n, u64 at)
{
	return at == UINT64_MAX ? plain_read(fd, b, n) : plain_pread(fd, b, n, at);
}

/* Continues a read that has returned the first n bytes of a file, up to the end of the file or the
 * end of the buffer. at: 0: by offset; UINT64_MAX: at the file's current offset. Returns the total
 * number of bytes. */
static long read_whole(int fd, char *b, long n, size_t cap, u64 at)
{
	long r = n;

	while ((r > 0 || r == -EINTR) && (size_t)n < cap) {
		r = plain_read_at(fd, b + n, cap - (size_t)n, at ? at : (u64)n);
		n += r > 0 ? r : 0;
	}
	return n;
}

/* Reads up to cap bytes of an open file at the offset `at` (UINT64_MAX: at the file's current
 * offset). If the file is traced, passes the bytes to tracer->content(), which may change them. */
static long trace_read(int fd, char *b, size_t cap, u64 at)
{
	const struct tracer *t = tracer;
	u32 path = t ? fd_path(fd) : 0;
	long n = plain_read_at(fd, b, cap, at);

	if (!path || n == -EINTR)
		return n;
	tracer = NULL;
	if (n > 0 && (!at || at == UINT64_MAX) && t->whole(path))
		n = read_whole(fd, b, n, cap, at);
	n = t->content(path, b, n, cap, at);
	tracer = t;
	return n;
}

REPLACES(long, sys_read, int fd, void *b, size_t n)
{
	return trace_read(fd, b, n, UINT64_MAX);
}

REPLACES(long, sys_pread, int fd, void *b, size_t n, uint64_t at)
{
	return trace_read(fd, b, n, at);
}

REPLACES(long, sys_fstatat, int dir, const char *name, struct stat *st)
{
	long r = plain_fstatat(dir, name, st);

	trace_found(traced_path(dir, name), r, TRACED_THERE);
	return r;
}

REPLACES(int, sys_has_file, int dir, const char *name)
{
	int has = plain_has_file(dir, name);

	trace_found(traced_path(dir, name), has ? 0 : -ENOENT, TRACED_THERE);
	return has;
}

/* Calls tracer->node() if the file is a character device. gpustat searches for character devices
 * only among the descriptors of processes (/proc/PID/fd), and only with this function. */
REPLACES(long, sys_stat_cached, int dir, const char *name, struct sys_statx *k)
{
	long r = plain_stat_cached(dir, name, k);
	u32 path = r == 0 && S_ISCHR(k->mode) ? traced_path(dir, name) : 0;
	const struct tracer *t = tracer;

	if (!path || path == no_number)
		return r;
	tracer = NULL;
	t->node(path, k->rdev);
	tracer = t;
	return r;
}

REPLACES(long, sys_readlinkat, int dir, const char *name, char *b, size_t cap)
{
	long n = plain_readlinkat(dir, name, b, cap);
	u32 path = n < 0 ? 0 : traced_path(dir, name);
	const struct tracer *t = tracer;

	if (!path || path == no_number)
		return path ? -ENOENT : n;
	tracer = NULL;
	n = t->link(path, b, n, cap);
	tracer = t;
	return n;
}
