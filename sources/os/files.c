/* files.c - small kernel files and folders, opened relative to the --proc and --sys roots.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "sources/os/os.h"
#include "sys.h"

#include <limits.h>

struct roots roots = { .proc = -1, .sys = -1 };
struct fileio fileio = { .limit = 1024, .error_name = ": " };
int lib_lock;

long roots_open(void)
{
	if (roots.sys < 0)
		roots.sys = (int)sys_openat(AT_FDCWD, "/sys", O_RDONLY | O_DIRECTORY);
	if (roots.proc < 0)
		roots.proc = (int)sys_openat(AT_FDCWD, "/proc", O_RDONLY | O_DIRECTORY);
	return roots.sys < 0 ? roots.sys : roots.proc < 0 ? roots.proc : 0;
}

bool is_transient_error(long r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM || r == -EIO || r == -EINTR ||
	       r == -EAGAIN;
}

long files_note_error(long r)
{
	if (is_transient_error(r)) {
		fileio.transient++;
		fileio.unread++;
		fileio.error = r;
		/* no name, only ": ": this function does not know the name of the object that could
		 * not be read */
		fileio.error_name[2] = '\0';
	}
	return r;
}

void files_note_missing(const char *name, long error)
{
	struct buf b = BUF_Z(fileio.error_name);

	fileio.unread++;
	fileio.error = error;
	put_z(&b, ": ");
	put_z(&b, name);
	put_z(&b, ": ");
	if (b.full) /* leave the name out of messages if it does not fit the buffer */
		b.n = 2;
	buf_z(&b);
}

long open_retry(int at, const char *path, int flags)
{
	long fd;

	while ((fd = sys_openat(at, path, flags)) == -EINTR)
		;
	return fd;
}

/* Starts the listing of a folder in *d. fd: descriptor of the open folder, which dir_close(d) will
 * close; or -errno, if opening the folder failed. p: buffer of cap bytes for directory entries.
 * Returns fd. */
static long dir_begin(struct dir *d, long fd, char *p, size_t cap)
{
	fileio.calls++;
	fileio.open_fds += fd >= 0;
	d->fd = (int)fd;
	d->n = d->at = 0;
	d->p = p;
	d->cap = cap;
	return fd;
}

long dir_open_in(struct dir *d, int at, const char *path, char *p, size_t cap)
{
	return dir_begin(d, open_retry(at, path, O_RDONLY | O_DIRECTORY), p, cap);
}

long dir_adopt(struct dir *d, long fd)
{
	return files_note_error(dir_begin(d, fd, d->b, sizeof(d->b)));
}

long dir_open(struct dir *d, int at, const char *path)
{
	return files_note_error(dir_open_in(d, at, path, d->b, sizeof(d->b)));
}

/* Returns the next name in the folder, except . and ..; NULL at the end, or if the folder can no
 * longer be read. */
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
			fileio.calls++;
			files_note_error(d->n);
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
		fileio.calls++;
		fileio.open_fds--;
	}
	d->fd = -1;
}

/* Closes a folder before its listing is complete, so that a descriptor becomes free. After
 * dir_resume(), the listing continues at the same place. */
void dir_suspend(struct dir *d)
{
	d->place = sys_lseek(d->fd, 0, SEEK_CUR);
	dir_close(d);
}

/* Opens a folder again that dir_suspend() has closed, so that its listing continues where it
 * stopped. False if the folder cannot be opened any more. */
bool dir_resume(struct dir *d, int at, const char *path)
{
	d->fd = (int)open_retry(at, path, O_RDONLY | O_DIRECTORY);
	fileio.calls += 2;
	fileio.open_fds += d->fd >= 0;
	return d->fd >= 0 && sys_lseek(d->fd, d->place, SEEK_SET) >= 0;
}

/* Continues to read a file into b at offset *n, up to offset cap, and adds the number of bytes read
 * to *n. Returns 0 at the end of the file, the number of bytes of the last read, or -errno. The
 * kernel returns a seq_file of one record in one read if the buffer is large enough. So a read that
 * ends after a newline, but not at the end of a page, has reached the end of the file, which saves
 * one more read. At the end of a page, a file of many records (diskstats, cpuinfo) may continue. */
static long slurp_more(int fd, char *b, size_t *n, size_t cap)
{
	long r;

	do {
		while ((r = sys_pread(fd, b + *n, cap - *n, *n)) == -EINTR)
			;
		fileio.calls++;
		if (r < 0)
			return r;
		*n += (size_t)r;
	} while (r > 0 && *n < cap && (*n % 4096 == 0 || b[*n - 1] != '\n'));
	return r > 0 && *n % 4096 && b[*n - 1] == '\n' ? 0 : r;
}

/* Reads an open file from its start into b. Returns the number of bytes read, which is cap if the
 * file has cap bytes or more; or -errno. */
long slurp_fd(int fd, char *b, size_t cap)
{
	size_t n = 0;
	long r = slurp_more(fd, b, &n, cap);

	return r < 0 ? r : (long)n;
}

/* Reads an open file from its start into a table of bytes. Returns the number of bytes read, which
 * is t->most if the file is as large as the table can become, or larger; -ENOMEM if memory is
 * short; or another -errno. */
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
	long fd = files_note_error(open_retry(dir, path, O_RDONLY | O_NONBLOCK)), n;

	fileio.calls++;
	if (fd < 0)
		return fd;
	n = slurp_fd((int)fd, b, cap);
	if (n == -ENOMEM || dir == roots.proc)
		files_note_error(n);
	else if (is_transient_error(n))
		/* Do not count a transient error of a file in /sys in fileio.unread: a sensor may
		 * return such an error. */
		fileio.error = n;
	sys_close((int)fd);
	fileio.calls++;
	return n;
}

/* Reads a file into b and sets *line to its first line, without blanks at both ends of the line.
 * False if the file cannot be read, or if no newline ends its first line. */
bool slurp_line(int dir, const char *path, char *b, size_t cap, struct str *line)
{
	long n = slurp(dir, path, b, cap);
	struct str text = { b, b + (n > 0 ? n : 0) };

	if (n <= 0 || !str_cut(&text, '\n', line))
		return false;
	*line = str_trim(*line);
	return true;
}

/* Returns the number in a file of /proc/sys. path: relative to the --proc root; unknown: the result
 * if the file cannot be read. */
i64 setting_read(const char *path, i64 unknown)
{
	char text[24];
	struct str line;
	i64 v;

	return slurp_line(roots.proc, path, text, sizeof(text), &line) && scan_i64(line, &v) ? v :
	       unknown;
}

/* permits[SEE_*]: a file in /proc/sys, and the highest value in it at which the kernel shows data
 * of this kind to every user: see perf_allow_kernel(), perf_allow_cpu() and perf_allow_tracepoint()
 * in linux/perf_event.h, and xe_eu_stall_stream_open(). */
static const struct {
	const char *setting;
	i64 most;
} permits[] = {
	[SEE_KERNEL_ADDRESSES] = { "sys/kernel/perf_event_paranoid", 1 },
	[SEE_OTHERS_ADDRESSES] = { "sys/kernel/perf_event_paranoid", 0 },
	[SEE_TRACEPOINT_FIELDS] = { "sys/kernel/perf_event_paranoid", -1 },
	[SEE_GPU_ADDRESSES] = { "sys/dev/xe/observation_paranoid", 0 },
};

/* Returns true if the user may see data of the kind `what` (SEE_*). If the capabilities of this
 * process are from the program's file (setcap, setuid), compares the setting of permits[] with the
 * value at which the kernel shows the data to all users. Otherwise always true: the kernel checks
 * the user itself. */
bool may_see(u8 what)
{
	return !privilege_from_file() ||
	       setting_read(permits[what].setting, INT64_MAX) <= permits[what].most;
}

/* Sets path to the path of a file of a process or thread, relative to the --proc root: its id,
 * followed by leaf (for example "/stat"). */
void task_path(char path[TASK_PATH], u32 id, const char *leaf)
{
	struct buf b = buf_on(path, TASK_PATH - 1);

	put_u64(&b, id);
	put_z(&b, leaf);
	path[b.n] = '\0';
}

const int stop_signals[3] = { SIGINT, SIGTERM, SIGHUP };
struct writing writing;

/* seconds that write_all() waits for the reader of a pipe after a stop signal */
enum { WRITE_TIMEOUT = 2 };

/* Waits until a write of PIPE_BUF bytes to fd does not block, for at most WRITE_TIMEOUT seconds.
 * False after the timeout. */
static bool has_room(int fd)
{
	struct pollfd full = { .fd = fd, .events = POLLOUT };

	return sys_poll_until(&full, 1,
			      sys_now(CLOCK_MONOTONIC) + WRITE_TIMEOUT * INT64_C(1000000000),
			      NULL) != 0;
}

/* Returns the length of the complete lines within the first PIPE_BUF bytes of the text p; PIPE_BUF
 * if the first line is longer. */
static size_t lines_in_piece(const char *p)
{
	size_t n = PIPE_BUF;

	while (n && p[n - 1] != '\n')
		n--;
	return n ? n : PIPE_BUF;
}

/* Writes all n bytes at p to fd, if possible in one call of write(2). To a pipe, writes text in
 * pieces that are complete lines and have at most PIPE_BUF bytes, because the kernel does not mix
 * such a piece with output of other processes (pipe(7)). Returns 0 or -errno; -ETIMEDOUT if
 * writing.urgent is set and no process reads from the pipe. */
long write_all(int fd, const char *p, size_t n)
{
	const bool whole = (HAS(timeline) || HAS(capture) || HAS(sample)) && writing.whole;
	/* lseek(2) fails if fd is a pipe, socket or terminal */
	const bool pieces = !whole && n > PIPE_BUF && sys_lseek(fd, 0, SEEK_CUR) < 0;

	while (n > 0) {
		size_t some = pieces && n > PIPE_BUF ? lines_in_piece(p) : n;
		long r = writing.urgent && !has_room(fd) ? -ETIMEDOUT : sys_write(fd, p, some);

		if (r == -EINTR)
			continue;
		/* The pipe or terminal fd is full, and does not block, because a process that has
		 * it open, too, has set O_NONBLOCK: wait until a write is possible. */
		if (r == -EAGAIN) {
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
