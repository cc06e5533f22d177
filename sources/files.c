/* files.c - small kernel files and folders, opened relative to the --proc and --sys roots.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#include <limits.h>

int root_proc = -1, root_sys = -1;
bool root_proc_given, root_sys_given;
const char *root_proc_name;
long files_limit = 1024;
u32 files_calls;
i32 files_own;
u32 files_untold, files_unread;
char files_what[80] = ": ";
long files_error;
int lib_lock;

long roots_open(void)
{
	if (root_sys < 0)
		root_sys = (int)sys_openat(AT_FDCWD, "/sys", O_RDONLY | O_DIRECTORY);
	if (root_proc < 0)
		root_proc = (int)sys_openat(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY);
	return root_sys < 0 ? root_sys : root_proc < 0 ? root_proc : 0;
}

bool is_untold(long r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EIO || r == -EINTR || r == -EAGAIN;
}

long files_tell(long r)
{
	if (is_untold(r)) {
		files_untold++;
		files_unread++;
		files_error = r;
		files_what[2] = '\0'; /* the name is another error's */
	}
	return r;
}

void files_lack(const char *name, long error)
{
	struct buf b = BUF_Z(files_what);

	files_unread++;
	files_error = error;
	put_z(&b, ": ");
	put_z(&b, name);
	put_z(&b, ": ");
	buf_z(&b);
}

long open_again(int at, const char *path, int flags)
{
	long fd;

	while ((fd = sys_openat(at, path, flags)) == -EINTR)
		;
	return fd;
}

/* fd: of a folder, which is then d's to close, or -errno; as it is. */
static long dir_begin(struct dir *d, long fd, char *p, size_t cap)
{
	files_calls++;
	files_own += fd >= 0;
	d->fd = (int)fd;
	d->n = d->at = 0;
	d->p = p;
	d->cap = cap;
	return fd;
}

long dir_open_in(struct dir *d, int at, const char *path, char *p, size_t cap)
{
	return dir_begin(d, open_again(at, path, O_RDONLY | O_DIRECTORY), p, cap);
}

long dir_take(struct dir *d, long fd)
{
	return files_tell(dir_begin(d, fd, d->b, sizeof(d->b)));
}

long dir_open(struct dir *d, int at, const char *path)
{
	return files_tell(dir_open_in(d, at, path, d->b, sizeof(d->b)));
}

/* The next name, without . and ..; NULL at the end or where the folder vanished. */
const char *dir_next(struct dir *d)
{
	for (;;) {
		const struct dirent *e;
		const char *name;

		if (d->at >= d->n) {
			do
				d->n = (int)sys_getdents(d->fd, d->p, d->cap);
			while (d->n == -EINTR);
			d->at = 0;
			files_calls++;
			files_tell(d->n);
			if (d->n <= 0)
				return NULL;
		}
		e = (const struct dirent *)(const void *)(d->p + d->at);
		d->at += e->d_reclen;
		name = e->d_name;
		if (name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2])))
			continue;
		return name;
	}
}

void dir_close(struct dir *d)
{
	if (d->fd >= 0) {
		sys_close(d->fd);
		files_calls++;
		files_own--;
	}
	d->fd = -1;
}

/* Closes a folder; its names go on where they stood after dir_resume(). */
void dir_rest(struct dir *d)
{
	d->place = sys_lseek(d->fd, 0, SEEK_CUR);
	dir_close(d);
}

/* False: it cannot be opened any more. */
bool dir_resume(struct dir *d, int at, const char *path)
{
	d->fd = (int)open_again(at, path, O_RDONLY | O_DIRECTORY);
	files_calls += 2;
	files_own += d->fd >= 0;
	return d->fd >= 0 && sys_lseek(d->fd, d->place, SEEK_SET) >= 0;
}

/* Reads on from *n, up to cap. A seq_file of one record gives all of it at once where the buffer is large
 * enough: a read that stops inside a page and behind a newline is its end, and saves asking again. Of one with many
 * (diskstats, cpuinfo) that may be some of them only. -errno; 0 at the end. */
static long slurp_more(int fd, char *b, size_t *n, size_t cap)
{
	long r;

	do {
		while ((r = sys_pread(fd, b + *n, cap - *n, *n)) == -EINTR)
			;
		files_calls++;
		if (r < 0)
			return r;
		*n += (size_t)r;
	} while (r > 0 && *n < cap && (*n % 4096 == 0 || b[*n - 1] != '\n'));
	return r > 0 && *n % 4096 && b[*n - 1] == '\n' ? 0 : r;
}

/* The whole of an open file from its start. Length, or -errno; cap where it did not fit. */
long slurp_fd(int fd, char *b, size_t cap)
{
	size_t n = 0;
	long r = slurp_more(fd, b, &n, cap);

	return r < 0 ? r : (long)n;
}

/* The same, of a table of bytes; its most where the file is larger, -ENOMEM where memory ends before that. */
long slurp_table_fd(int fd, struct table *t)
{
	size_t n = 0;
	char *b;
	long r;

	do {
		if (!table_has(t, n))
			return n && n == t->most ? (long)n : -ENOMEM;
		memcpy(&b, t->rows, sizeof(b));
		r = slurp_more(fd, b, &n, t->ready);
	} while (r > 0 && n == t->ready);
	return r < 0 ? r : (long)n;
}

long slurp(int dir, const char *path, char *b, size_t cap)
{
	long fd = files_tell(open_again(dir, path, O_RDONLY | O_NONBLOCK)), n;

	files_calls++;
	if (fd < 0)
		return fd;
	n = slurp_fd((int)fd, b, cap);
	if (n == -ENOMEM || dir == root_proc)
		files_tell(n);
	else if (is_untold(n)) /* a value that is not known: sensors may well say so */
		files_error = n;
	sys_close((int)fd);
	files_calls++;
	return n;
}

/* The first line of a file, trimmed; false where there is none. */
bool slurp_line(int dir, const char *path, char *b, size_t cap, struct str *line)
{
	long n = slurp(dir, path, b, cap);
	struct str text = { b, b + (n > 0 ? n : 0) };

	if (n <= 0 || !str_cut(&text, '\n', line))
		return false;
	*line = str_trim(*line);
	return true;
}

/* Where the folder of a process or thread has that. */
void task_path(char path[TASK_PATH], u32 id, const char *leaf)
{
	struct buf b = buf_on(path, TASK_PATH - 1);

	put_u64(&b, id);
	put_z(&b, leaf);
	path[b.n] = '\0';
}

const int stop_signals[3] = { SIGINT, SIGTERM, SIGHUP };
volatile bool write_hurries;

enum { WRITE_PATIENCE = 2 };

/* Whether so much of it can be written that the kernel need not wait: PIPE_BUF where there is any room. */
static bool has_room(int fd)
{
	struct pollfd full = { .fd = fd, .events = POLLOUT };

	return sys_poll_until(&full, 1, sys_now(CLOCK_MONOTONIC) + WRITE_PATIENCE * INT64_C(1000000000), NULL) != 0;
}

/* All of it, in one write where the kernel takes it whole: 0, or -errno. In a hurry -ETIMEDOUT where nobody reads. */
long write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		size_t some = write_hurries && n > PIPE_BUF ? PIPE_BUF : n;
		long r = write_hurries && !has_room(fd) ? -ETIMEDOUT : sys_write(fd, p, some);

		if (r == -EINTR)
			continue;
		if (r == -EAGAIN) { /* who shares it with us wants no write to wait */
			struct pollfd full = { .fd = fd, .events = POLLOUT };

			r = sys_poll_until(&full, 1, -1, NULL);
			if (r >= 0 || r == -EINTR)
				continue;
		}
		if (r <= 0)
			return r < 0 ? r : -EIO;
		p += r;
		n -= (size_t)r;
	}
	return 0;
}
