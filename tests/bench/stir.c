/* stir.c - runs a monitor sample by sample on a fake tree. SPDX-License-Identifier: MIT
 *
 *	stir ROOT SAMPLES BUSY MS COMMAND...
 *		starts the command, which answers each line of its stdin with lines. Before each
 *		line, at intervals of MS milliseconds, changes the engine times in BUSY of the
 *		tree's fdinfo files. Prints median, quartiles and minimum of the command's CPU
 *		time per sample, in ns, without the first eighth of the samples
 *
 * The monitor reads the same as from a kernel with busy clients; the time for changing the tree is
 * not counted. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SAMPLES = 10000, MAX_FILES = 20000, MAX_PLACES = 2 /* engines of a busy client */, MIN_DIGITS = 7, DIGITS = 20 };

static struct place {
	int fd;
	off_t at;
	size_t n;
	char digits[DIGITS];
} places[MAX_FILES * MAX_PLACES];
static size_t nplaces;
static int64_t ns[MAX_SAMPLES];

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "stir: %s\n", what);
	exit(1);
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t;

	if (clock_gettime(clock, &t))
		die("clock_gettime");
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

/* Stores the offsets of the first engine times in the file. */
static bool add(int dir, const char *name)
{
	char b[1 << 14], *p = b;
	int fd = openat(dir, name, O_RDWR | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, b, sizeof(b) - 1);

	if (n <= 0)
		return false;
	b[n] = '\0';
	for (int i = 0; i < MAX_PLACES && (p = strstr(p, "\ndrm-engine-")) != NULL;) {
		struct place *at = &places[nplaces];

		p += strcspn(p + 1, ":") + 1;
		p += strcspn(p, "0123456789\n");
		at->n = strspn(p, "0123456789");
		if (at->n < MIN_DIGITS || at->n > DIGITS)
			continue;
		memcpy(at->digits, p, at->n);
		at->at = p - b;
		at->fd = fd;
		nplaces++;
		i++;
	}
	return true;
}

static bool is_number(const struct dirent *e)
{
	return e->d_name[0] >= '0' && e->d_name[0] <= '9';
}

static void add_all(const char *root, long busy)
{
	char path[4096];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof(path), "%s/proc", root);
	d = opendir(path);
	if (!d)
		die(path);
	while (busy > 0 && (e = readdir(d))) {
		struct dirent *f;
		DIR *files;

		if (!is_number(e))
			continue;
		snprintf(path, sizeof(path), "%s/proc/%.16s/fdinfo", root, e->d_name);
		files = opendir(path);
		while (files && busy > 0 && (f = readdir(files)))
			if (is_number(f))
				busy -= add(dirfd(files), f->d_name);
		if (files)
			closedir(files);
	}
	closedir(d);
	if (busy > 0)
		die("the tree has fewer clients than BUSY");
}

/* Adds a microsecond to each, with the same number of digits. */
static void change(void)
{
	for (size_t i = 0; i < nplaces; i++) {
		struct place *at = &places[i];

		for (size_t k = at->n - 3; k-- > 0 && ++at->digits[k] > '9';)
			at->digits[k] = '0';
		if (pwrite(at->fd, at->digits, at->n, at->at) != (ssize_t)at->n)
			die("pwrite");
	}
}

/* Waits for the answer, which ends with a newline. */
static bool answered(int fd)
{
	char b[1 << 16];
	ssize_t n;

	do
		n = read(fd, b, sizeof(b));
	while (n > 0 && b[n - 1] != '\n');
	return n > 0;
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void report(size_t n)
{
	size_t skip = n / 8;
	int64_t *v = ns + skip;

	n -= skip;
	qsort(v, n, sizeof(*v), by_value);
	printf("%lld %lld %lld %lld\n", (long long)v[n / 2], (long long)v[n / 4], (long long)v[n - 1 - n / 4], (long long)v[0]);
}

static void raise_files(void)
{
	struct rlimit r;

	getrlimit(RLIMIT_NOFILE, &r);
	r.rlim_cur = r.rlim_max;
	setrlimit(RLIMIT_NOFILE, &r);
}

int main(int argc, char **argv)
{
	size_t n = argc > 5 ? (size_t)strtol(argv[2], NULL, 10) : 0;
	long ms = argc > 5 ? strtol(argv[4], NULL, 10) : 0;
	struct timespec pause = { ms / 1000, ms % 1000 * 1000000 };
	int to[2], from[2], status = 0;
	clockid_t clock;
	int64_t was;
	pid_t pid;

	if (n < 1 || n > MAX_SAMPLES)
		die("usage: stir ROOT SAMPLES BUSY MS COMMAND...");
	raise_files();
	add_all(argv[1], strtol(argv[3], NULL, 10));
	if (pipe2(to, O_CLOEXEC) || pipe2(from, O_CLOEXEC) || (pid = fork()) < 0)
		die("fork");
	if (!pid) {
		if (dup2(to[0], 0) == 0 && dup2(from[1], 1) == 1)
			execvp(argv[5], argv + 5);
		_exit(127);
	}
	close(to[0]);
	close(from[1]);
	signal(SIGPIPE, SIG_IGN);
	if (clock_getcpuclockid(pid, &clock))
		die("clock_getcpuclockid");
	for (size_t i = 0; i < n; i++) {
		change();
		if (ms)
			nanosleep(&pause, NULL);
		was = i ? was : now_ns(clock);
		if (write(to[1], "\n", 1) != 1 || !answered(from[0]))
			die("the command exited early");
		ns[i] = now_ns(clock) - was;
		was += ns[i];
	}
	close(to[1]);
	if (waitpid(pid, &status, 0) != pid || status)
		die("the command failed");
	report(n);
	return 0;
}
