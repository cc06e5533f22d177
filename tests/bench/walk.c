/* walk.c - the references for a monitor: the system calls that the kernel requires for the same
 * result, and no other work. SPDX-License-Identifier: MIT
 *
 *	walk ROOT [TIMES]
 *		lists each PID/fd of ROOT and stats every descriptor, once or TIMES times
 *	walk ROOT each
 *		the same once for each line of stdin
 *	walk ROOT fdinfo
 *		keeps the fdinfo file of each DRM descriptor open, and reads all for each
 *		line of stdin
 *
 * It makes no other calls, and its buffer holds any common folder at once. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DIR_BYTES = 1 << 16, MAX_FILES = 20000, TEXT_BYTES = 1 << 14, DRM = 226, ACCEL = 261 };

/* getdents64(2) */
struct entry {
	uint64_t ino;
	int64_t off;
	uint16_t len;
	uint8_t type;
	char name[];
};

static _Alignas(8) char pids[DIR_BYTES], fds[DIR_BYTES];
static int files[MAX_FILES];
static size_t nfiles;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "walk: %s\n", what);
	exit(1);
}

/* Calls take() for each entry of a folder that begins with a digit. */
static void each(int dir, char *b, void (*take)(int dir, const char *name))
{
	long n;

	while ((n = syscall(SYS_getdents64, dir, b, DIR_BYTES)) > 0)
		for (long i = 0; i < n;) {
			const struct entry *e = (const struct entry *)(const void *)(b + i);

			i += e->len;
			if (e->name[0] >= '0' && e->name[0] <= '9')
				take(dir, e->name);
		}
}

static void look(int dir, const char *name)
{
	struct stat st;

	fstatat(dir, name, &st, 0);
}

/* dir is PID/fd: fdinfo is next to it. */
static void keep(int dir, const char *name)
{
	char path[64];
	struct stat st;

	if (fstatat(dir, name, &st, 0) || !S_ISCHR(st.st_mode) || (major(st.st_rdev) != DRM && major(st.st_rdev) != ACCEL))
		return;
	snprintf(path, sizeof(path), "../fdinfo/%s", name);
	if (nfiles == MAX_FILES || (files[nfiles++] = openat(dir, path, O_RDONLY | O_CLOEXEC)) < 0)
		die(path);
}

static void (*take_fd)(int dir, const char *name) = look;

static void process(int dir, const char *name)
{
	char path[32];
	size_t n = strlen(name);
	int fd;

	if (n > 16)
		return;
	memcpy(path, name, n);
	memcpy(path + n, "/fd", 4);
	fd = openat(dir, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	each(fd, fds, take_fd);
	close(fd);
}

static void walk(const char *root)
{
	int dir = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		die(root);
	each(dir, pids, process);
	close(dir);
}

/* Takes one sample for each line of stdin, and prints a line after it. */
static int by_line(const char *root, void (*sample)(const char *root))
{
	char line[64];

	while (read(0, line, sizeof(line)) > 0) {
		sample(root);
		if (write(1, "\n", 1) != 1)
			return 1;
	}
	return 0;
}

static void read_files(const char *root)
{
	static char b[TEXT_BYTES];

	(void)root;
	for (size_t i = 0; i < nfiles; i++)
		if (pread(files[i], b, sizeof(b), 0) < 0)
			die("pread");
}

static void keep_files(const char *root)
{
	struct rlimit files_max;

	getrlimit(RLIMIT_NOFILE, &files_max);
	files_max.rlim_cur = files_max.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files_max);
	take_fd = keep;
	walk(root);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[2], "fdinfo") == 0)
		keep_files(argv[1]);
	if (argc == 3 && argv[2][0] > '9')
		return by_line(argv[1], nfiles ? read_files : walk);
	if (argc != 2 && argc != 3)
		die("usage: walk ROOT [TIMES|each|fdinfo]");
	for (long i = argc == 3 ? strtol(argv[2], NULL, 10) : 1; i > 0; i--)
		walk(argv[1]);
	return 0;
}
