/* files.c - replaces the system calls of the program under a fuzzer; the linker directs them here
 * (--wrap). A call that is not defined here cannot be triggered by a file of the input.
 * SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { FIRST_FD = 1 << 20, MAX_FDS = 256, MAX_FILES = 512, SAID_BYTES = 1 << 21, MAX_LINKS = 8 };

static struct {
	char kind; /* the first character of its line */
	struct str path, text;
	size_t reads; /* number of reads of this text */
} files[MAX_FILES];
static size_t nfiles;

static struct {
	char path[PATH_MAX];
	bool open, is_dir;
	size_t file, at;
} fds[MAX_FDS];

static int links; /* number of links followed by the last path_resolve() */
size_t files_piece;
char files_said[SAID_BYTES];
size_t files_said_n, files_warned;
static u64 clock_ns;
static bool in_use; /* whether files_set() was called: otherwise all calls go to the kernel */

/* --- the tree --------------------------------------------------------------------------------- */

static int fd_new(const char *path, bool is_dir, size_t file)
{
	for (int i = 0; i < MAX_FDS; i++)
		if (!fds[i].open) {
			fds[i].open = true;
			fds[i].is_dir = is_dir;
			fds[i].file = file;
			fds[i].at = 0;
			strcpy(fds[i].path, path);
			return FIRST_FD + i;
		}
	errno = EMFILE;
	return -1;
}

static long file_at(struct str path)
{
	for (size_t i = 0; i < nfiles; i++)
		if (str_eq(files[i].path, path))
			return (long)i;
	return -1;
}

static void files_take(struct str text)
{
	struct str line, from = text;

	for (nfiles = 0; from.p < from.e && str_cut(&text, '\n', &line); from = text) {
		if (line.p < line.e && memchr("=@!?", *line.p, 4) && nfiles < MAX_FILES) {
			files[nfiles].kind = *line.p;
			files[nfiles].path = (struct str){ line.p + 1, line.e };
			files[nfiles].reads = 0;
			files[nfiles++].text = (struct str){ text.p, text.p };
		} else if (nfiles) {
			files[nfiles - 1].text.e = text.p < text.e ? text.p : text.e;
		}
	}
}

void files_set(struct str text)
{
	in_use = true;
	memset(fds, 0, sizeof(fds));
	files_said_n = files_warned = 0;
	clock_ns = 1000000000000;
	files_take(text);
	roots.sys = fd_new("sys", true, 0);
	roots.proc = fd_new("proc", true, 0);
	roots.sys_given = roots.proc_given = true;
	fileio.limit = 4 * FIRST_FD; /* with a lower limit the first open would fail */
}

void files_one(const char *path, struct str text, size_t piece)
{
	files_set((struct str){ 0 });
	files[0].kind = '=';
	files[0].path = str_z(path);
	files[0].text = text;
	nfiles = 1;
	files_piece = piece;
}

void files_change(struct str text)
{
	static const struct str none = STR("");

	files_take(text);
	for (int i = 0; i < MAX_FDS; i++) {
		long f = fds[i].open && !fds[i].is_dir ? file_at(str_z(fds[i].path)) : 0;

		if (f < 0 && nfiles < MAX_FILES) { /* a file that is removed: errors from now on */
			f = (long)nfiles++;
			files[f].kind = '?';
			files[f].path = files[f].text = none;
		}
		fds[i].file = f < 0 ? 0 : (size_t)f;
	}
}

void files_off(void)
{
	in_use = false;
}

size_t files_open(void)
{
	size_t n = 0;

	for (int i = 2; i < MAX_FDS; i++)
		if (fds[i].open) {
			fprintf(stderr, "open: %s\n", fds[i].path);
			n++;
		}
	return n;
}

static bool is_folder(struct str path)
{
	if (path.p == path.e)
		return true;
	for (size_t i = 0; i < nfiles; i++)
		if (str_len(files[i].path) > str_len(path) && files[i].path.p[str_len(path)] == '/' &&
		    memcmp(files[i].path.p, path.p, str_len(path)) == 0)
			return true;
	return false;
}

bool files_text(const char *path, struct str *text)
{
	long f = file_at(str_z(path));

	for (size_t i = 0; i < nfiles; i++) {
		size_t n = str_len(files[i].path);

		if (files[i].kind == '@' && strlen(path) > n && path[n] == '/' && memcmp(path, files[i].path.p, n) == 0)
			return false;
	}
	if (f < 0 || files[f].kind != '=')
		return false;
	*text = files[f].text;
	return true;
}

bool files_nth(size_t i, char *kind, struct str *path, struct str *text)
{
	if (i >= nfiles)
		return false;
	*kind = files[i].kind;
	*path = files[i].path;
	*text = files[i].text;
	return true;
}

size_t files_reads(size_t i)
{
	return files[i].reads;
}

/* The target of a link: its first line, up to a NUL. */
static struct str link_target(struct str text)
{
	struct str target;

	if (!line_next(&text, &target))
		target = text;
	return (struct str){ target.p, target.p + (target.p < target.e ? strnlen(target.p, str_len(target)) : 0) };
}

/* Appends to a folder's path, name by name, and follows links; last: also the final one. False: the
 * path is too long, or has too many links. */
static bool path_resolve(char *to, int dir, const char *path, bool last)
{
	char rest[PATH_MAX], next[PATH_MAX], link[PATH_MAX];
	size_t n = 0;

	links = 0;
	to[0] = '\0';
	if (path[0] != '/' && dir >= FIRST_FD && dir < FIRST_FD + MAX_FDS && fds[dir - FIRST_FD].open)
		n = strlen(strcpy(to, fds[dir - FIRST_FD].path));
	if (strlen(path) >= sizeof(rest))
		return false;
	strcpy(rest, path);
	while (rest[0]) {
		char *slash = strchr(rest, '/');
		size_t part = slash ? (size_t)(slash - rest) : strlen(rest);
		size_t was = n;
		long f;

		if (part == 2 && rest[0] == '.' && rest[1] == '.') {
			while (n > 0 && to[--n] != '/')
				;
		} else if (part > 0 && !(part == 1 && rest[0] == '.')) {
			if (n + part + 2 > PATH_MAX)
				return false;
			if (n > 0)
				to[n++] = '/';
			memcpy(to + n, rest, part);
			n += part;
		}
		to[n] = '\0';
		strcpy(next, slash ? slash + 1 : "");
		f = n > was ? file_at((struct str){ to, to + n }) : -1;
		if (f >= 0 && files[f].kind == '@' && (last || next[0])) {
			struct str t = link_target(files[f].text);

			if (++links > MAX_LINKS || str_len(t) + strlen(next) + 2 > PATH_MAX)
				return false;
			memcpy(link, t.p, str_len(t));
			link[str_len(t)] = '/';
			strcpy(link + str_len(t) + 1, next);
			strcpy(next, link);
			n = link[0] == '/' ? 0 : was;
			to[n] = '\0';
		}
		strcpy(rest, next);
	}
	return true;
}

char files_behind(const char *path, char *full, struct str *text)
{
	long f;

	if (!path_resolve(full, -1, path, true) || links > MAX_LINKS / 2)
		return '?';
	f = file_at(str_z(full));
	if (f >= 0)
		*text = files[f].text;
	return f >= 0 ? files[f].kind : is_folder(str_z(full)) ? '/' : '\0';
}

/* --- wrapped calls ---------------------------------------------------------------------------- */

#define REAL(type, name, ...) \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

static int fails(int error)
{
	errno = error;
	return -1;
}

static bool is_own(int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + MAX_FDS && fds[fd - FIRST_FD].open;
}

int __wrap_openat(int dir, const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...)
{
	char full[PATH_MAX];
	long f;

	if (!path_resolve(full, dir, path, !(flags & O_NOFOLLOW)))
		return fails(ELOOP);
	f = file_at(str_z(full));
	if (f >= 0 && files[f].kind == '@') /* the final link, which must not be followed */
		return fails(ELOOP);
	if (f < 0 && !is_folder(str_z(full)))
		return fails(ENOENT);
	if (f >= 0 && (files[f].kind == '!' || (flags & O_ACCMODE) != O_RDONLY))
		return fails(EACCES);
	if (f >= 0 && flags & O_DIRECTORY)
		return fails(ENOTDIR);
	return fd_new(full, f < 0, f < 0 ? 0 : (size_t)f);
}

REAL(int, close, int fd)
{
	if (!is_own(fd))
		return __real_close(fd);
	fds[fd - FIRST_FD].open = false;
	return 0;
}

static ssize_t give(int fd, void *b, size_t n, size_t at)
{
	struct str text = files[fds[fd - FIRST_FD].file].text;

	if (fds[fd - FIRST_FD].is_dir)
		return fails(EISDIR);
	files[fds[fd - FIRST_FD].file].reads++;
	if (files[fds[fd - FIRST_FD].file].kind == '?')
		return fails(EIO);
	if (at >= str_len(text))
		return 0;
	if (n > str_len(text) - at)
		n = str_len(text) - at;
	if (files_piece && n > files_piece)
		n = files_piece;
	memcpy(b, text.p + at, n);
	return (ssize_t)n;
}

REAL(ssize_t, pread, int fd, void *b, size_t n, off_t at)
{
	return is_own(fd) ? give(fd, b, n, (size_t)at) : __real_pread(fd, b, n, at);
}

REAL(ssize_t, read, int fd, void *b, size_t n)
{
	ssize_t r;

	if (!is_own(fd))
		return in_use && fd == 0 ? 0 : __real_read(fd, b, n);
	r = give(fd, b, n, fds[fd - FIRST_FD].at);
	fds[fd - FIRST_FD].at += r > 0 ? (size_t)r : 0;
	return r;
}

REAL(ssize_t, write, int fd, const void *b, size_t n)
{
	if (is_own(fd))
		return fails(EBADF);
	if (!in_use || (fd != 1 && fd != 2))
		return __real_write(fd, b, n);
	if (fd == 2)
		files_warned += n;
	else if (n <= SAID_BYTES - files_said_n) {
		memcpy(files_said + files_said_n, b, n);
		files_said_n += n;
	}
	return (ssize_t)n;
}

REAL(off_t, lseek, int fd, off_t at, int whence)
{
	if (!is_own(fd))
		return __real_lseek(fd, at, whence);
	if (whence == SEEK_SET)
		fds[fd - FIRST_FD].at = (size_t)at;
	return (off_t)fds[fd - FIRST_FD].at;
}

static int describe(const char *path, struct stat *st)
{
	long f = file_at(str_z(path));

	if (f < 0 && !is_folder(str_z(path)))
		return fails(ENOENT);
	memset(st, 0, sizeof(*st));
	st->st_mode = f < 0 ? S_IFDIR | 0755 : files[f].kind == '@' ? S_IFLNK | 0777 : S_IFREG | 0444;
	st->st_size = f < 0 ? 0 : (off_t)str_len(files[f].text);
	st->st_ino = hash_more(HASH_BEGIN, str_z(path)) | 1;
	st->st_dev = 1;
	st->st_nlink = 1;
	return 0;
}

REAL(int, fstatat, int dir, const char *path, struct stat *st, int flags)
{
	char full[PATH_MAX];

	if (!in_use)
		return __real_fstatat(dir, path, st, flags);
	return path_resolve(full, dir, path, !(flags & AT_SYMLINK_NOFOLLOW)) ? describe(full, st) : fails(ELOOP);
}

REAL(int, fstat, int fd, struct stat *st)
{
	return is_own(fd) ? describe(fds[fd - FIRST_FD].path, st) : __real_fstat(fd, st);
}

REAL(int, fstatfs, int fd, struct statfs *st)
{
	if (!is_own(fd))
		return __real_fstatfs(fd, st);
	memset(st, 0, sizeof(*st));
	if (file_at((struct str)STR("dev/vcio")) >= 0)
		st->f_type = SYSFS_MAGIC; /* then the files are those of this machine */
	return 0;
}

REAL(ssize_t, readlinkat, int dir, const char *path, char *b, size_t n)
{
	char full[PATH_MAX];
	struct str target;
	long f;

	if (!in_use)
		return __real_readlinkat(dir, path, b, n);
	if (!path_resolve(full, dir, path, false) || (f = file_at(str_z(full))) < 0)
		return fails(ENOENT);
	if (files[f].kind != '@')
		return fails(EINVAL);
	target = link_target(files[f].text);
	if (n > str_len(target))
		n = str_len(target);
	memcpy(b, target.p, n);
	return (ssize_t)n;
}

/* The name of the file in that folder; empty: the file is elsewhere. */
static struct str name_in(const char *dir, struct str path)
{
	size_t n = strlen(dir);
	struct str name = { 0 };

	if (n == 0 || (str_len(path) > n + 1 && path.p[n] == '/' && memcmp(path.p, dir, n) == 0)) {
		path.p += n + (n > 0);
		str_cut(&path, '/', &name);
	}
	return name;
}

/* Writes all names at once if the buffer is large enough; otherwise omits the rest. */
static long list(int fd, char *b, size_t cap)
{
	const char *dir = fds[fd - FIRST_FD].path;
	size_t n = 0;

	if (!fds[fd - FIRST_FD].is_dir)
		return fails(ENOTDIR);
	for (size_t i = fds[fd - FIRST_FD].at; i < nfiles; i++) {
		struct str name = name_in(dir, files[i].path);
		size_t k = 0, size = (offsetof(struct dirent, d_name) + str_len(name) + 1 + 7) & ~7ul;
		struct dirent *e = (void *)(b + n);

		while (k < i && !str_eq(name_in(dir, files[k].path), name))
			k++;
		if (k < i || name.p == name.e || str_len(name) > NAME_MAX || memchr(name.p, 0, str_len(name)))
			continue;
		if (n + size > cap)
			break;
		memset(e, 0, size);
		e->d_ino = i + 1;
		e->d_reclen = (unsigned short)size;
		memcpy(e->d_name, name.p, str_len(name));
		n += size;
		fds[fd - FIRST_FD].at = i + 1;
	}
	return (long)n;
}

static long accessible(int dir, const char *path)
{
	char full[PATH_MAX];
	struct stat st;
	long f;

	if (!path_resolve(full, dir, path, true) || describe(full, &st) < 0)
		return fails(ENOENT);
	f = file_at(str_z(full));
	return f >= 0 && files[f].kind == '!' ? fails(EACCES) : 0;
}

/* The firmware of a Raspberry Pi: a request is answered without a value, and then changed by the
 * next bytes of the file. */
static long mailbox(int fd, u8 *request)
{
	struct str text = files[fds[fd - FIRST_FD].file].text;
	size_t *at = &fds[fd - FIRST_FD].at;
	u32 word[5];

	memcpy(word, request, sizeof(word));
	word[1] = UINT32_C(1) << 31;
	word[4] = UINT32_C(1) << 31 | word[3];
	memcpy(request, word, sizeof(word));
	for (size_t i = 0; i < word[0] && *at < str_len(text); i++)
		request[i] ^= (u8)text.p[(*at)++];
	return 0;
}

long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	va_list ap;
	long a[3];

	if (in_use && number != SYS_getdents64 && number != SYS_faccessat && number != SYS_faccessat2 &&
	    number != SYS_ioctl)
		return fails(ENOSYS);
	va_start(ap, number); /* all of these calls have three arguments or more */
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (number == SYS_ioctl)
		return is_own((int)a[0]) && strcmp(fds[a[0] - FIRST_FD].path, "dev/vcio") == 0 ?
		       mailbox((int)a[0], (u8 *)a[2]) : fails(ENOTTY);
	if (in_use && number != SYS_getdents64)
		return accessible((int)a[0], (const char *)a[1]);
	return is_own((int)a[0]) ? list((int)a[0], (char *)a[1], (size_t)a[2]) : fails(ENOSYS);
}

/* Calls that would have an effect outside this process, or change it. */
REAL(int, inotify_init1, int flags)
{
	return in_use ? fails(ENOSYS) : __real_inotify_init1(flags);
}

int __wrap_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...)
{
	(void)fd;
	(void)request;
	return fails(ENOTTY);
}

REAL(int, socket, int domain, int type, int protocol)
{
	return in_use ? fails(EACCES) : __real_socket(domain, type, protocol);
}

REAL(ssize_t, send, int fd, const void *b, size_t n, int flags)
{
	return in_use ? __wrap_write(1, b, n) : __real_send(fd, b, n, flags);
}

REAL(ssize_t, recv, int fd, void *b, size_t n, int flags)
{
	return in_use ? 0 : __real_recv(fd, b, n, flags);
}

REAL(int, shutdown, int fd, int how)
{
	return in_use ? 0 : __real_shutdown(fd, how);
}

REAL(int, sigaction, int sig, const struct sigaction *sa, struct sigaction *was)
{
	if (!in_use)
		return __real_sigaction(sig, sa, was);
	if (was)
		*was = (struct sigaction){ .sa_handler = SIG_DFL };
	return 0;
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *rest);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *t, struct timespec *rest)
{
	(void)clock;
	(void)flags;
	(void)t;
	(void)rest;
	return 0;
}

/* Each call advances the clock by half a second, from which rates are computed. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	clock_ns += 500000000 + (clock == CLOCK_REALTIME);
	t->tv_sec = (time_t)(clock_ns / 1000000000);
	t->tv_nsec = (long)(clock_ns % 1000000000);
	return 0;
}

int gpustat_main(int argc, char **argv);

int program_run(const char *const *argv)
{
	static char words[64][PATH_MAX];
	char *to[64] = { 0 };
	int n = 0;

	for (; argv[n] && n < 63; n++)
		to[n] = strcpy(words[n], argv[n]);
	return gpustat_main(n, to);
}

struct str program_reads(const char *const *argv, struct str f, size_t piece)
{
	static char whole[SAID_BYTES];
	size_t n;
	int code;

	program_reset();
	files_one("f", f, 0);
	code = program_run(argv);
	must(code == 0 || code == 1, "the exit code is 0 or 1");
	must(code == 0 || files_warned, "a failure has a message");
	n = files_said_n;
	memcpy(whole, files_said, n);
	program_reset();
	files_one("f", f, piece);
	must(program_run(argv) == code && files_said_n == n && memcmp(whole, files_said, n) == 0, "input in pieces has the same result as the whole");
	return (struct str){ whole, whole + n };
}

/* --- variables of the program ----------------------------------------------------------------- */

/* The program's variables are in separate sections (see run), whose limits the linker defines.
 * Pages given back have the content of the file, or 0. */
extern char __start_gpustat_bss[], __stop_gpustat_bss[], __start_gpustat_data[], __stop_gpustat_data[];

__attribute__((no_sanitize("address"))) static void section_reset(char *from, char *to, const char *first, size_t nfirst,
								  const char *last, size_t nlast)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), a = ((uintptr_t)from + page - 1) & -page, e = (uintptr_t)to & -page;

	if (a < e)
		madvise((void *)a, e - a, MADV_DONTNEED);
	for (volatile char *p = from; nfirst--;)
		*p++ = *first++;
	for (volatile char *p = to - nlast; nlast--;)
		*p++ = *last++;
}

/* The parts of pages at both ends that other variables share: saved before the first input. */
struct ends {
	char first[1 << 16], last[1 << 16];
	size_t nfirst, nlast;
	bool kept;
};

__attribute__((no_sanitize("address"))) static void ends_keep(struct ends *k, const char *from, const char *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), a = ((uintptr_t)from + page - 1) & -page, e = (uintptr_t)to & -page;

	k->nfirst = a < e ? a - (uintptr_t)from : (size_t)(to - from);
	k->nlast = a < e ? (uintptr_t)to - e : 0;
	for (size_t i = 0; i < k->nfirst; i++)
		((volatile char *)k->first)[i] = from[i];
	for (size_t i = 0; i < k->nlast; i++)
		((volatile char *)k->last)[i] = (to - k->nlast)[i];
	k->kept = true;
}

/* The program forgets its mappings with its variables, so it gets the same address space again,
 * emptied. */
REAL(void *, mmap, void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	static void *space;
	void *p;

	if (prot != PROT_NONE)
		return __real_mmap(at, n, prot, flags, fd, from);
	p = __real_mmap(space, n, prot, space ? flags | MAP_FIXED : flags, fd, from);
	space = p == MAP_FAILED ? space : p;
	return p;
}

void program_reset(void)
{
	static struct ends data, bss;

	if (!data.kept) {
		ends_keep(&data, __start_gpustat_data, __stop_gpustat_data);
		ends_keep(&bss, __start_gpustat_bss, __stop_gpustat_bss);
	}
	section_reset(__start_gpustat_data, __stop_gpustat_data, data.first, data.nfirst, data.last, data.nlast);
	section_reset(__start_gpustat_bss, __stop_gpustat_bss, bss.first, bss.nfirst, bss.last, bss.nlast);
}
