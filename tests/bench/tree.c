/* tree.c - creates a fake /proc of any size, for machines without a GPU.
 * SPDX-License-Identifier: MIT
 *
 *	tree ROOT PROCESSES DESCRIPTORS CLIENTS FDINFO
 *		creates ROOT, which must not exist: processes numbered from 1000, which share the
 *		descriptors and, in addition, the clients of a DRM device; each client has the
 *		text of the file FDINFO with its own id
 *
 * A client's descriptor is a device node, as stat() of the real fd/N reports it: 226:128, which
 * only root can create. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { FIRST_PID = 1000, TEXT_BYTES = 1 << 14 };

static char text[TEXT_BYTES], own[TEXT_BYTES + 32];
static int root;

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "tree: %s: %s\n", what, strerror(errno));
	exit(1);
}

__attribute__((format(printf, 1, 2))) static const char *path(const char *format, ...)
{
	static char b[128];
	va_list args;

	va_start(args, format);
	vsnprintf(b, sizeof(b), format, args);
	va_end(args);
	return b;
}

static void folder(const char *name)
{
	if (mkdirat(root, name, 0755))
		die(name);
}

static void file(const char *name, const char *content)
{
	int fd = openat(root, name, O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0 || write(fd, content, strlen(content)) != (ssize_t)strlen(content) || close(fd))
		die(name);
}

static void node(const char *name)
{
	static char first[128];

	if (!first[0]) {
		strcpy(first, name);
		if (mknodat(root, name, S_IFCHR | 0600, makedev(226, 128)))
			die(name);
	} else if (linkat(root, first, root, name, 0)) {
		die(name);
	}
}

static void process(int pid, long descriptors)
{
	char line[128];

	folder(path("proc/%d", pid));
	folder(path("proc/%d/fd", pid));
	folder(path("proc/%d/fdinfo", pid));
	snprintf(line, sizeof(line), "p%d\n", pid);
	file(path("proc/%d/comm", pid), line);
	snprintf(line, sizeof(line), "0::/user.slice/app-%d.scope\n", pid % 16);
	file(path("proc/%d/cgroup", pid), line);
	snprintf(line, sizeof(line), "%d (p%d) S 1 1 1 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0\n", pid, pid, pid);
	file(path("proc/%d/stat", pid), line);
	for (long fd = 0; fd < descriptors; fd++)
		if (symlinkat("/dev/null", root, path("proc/%d/fd/%ld", pid, fd)))
			die("symlink");
}

/* Returns the text with another id. */
static const char *text_of(int client)
{
	static const char key[] = "drm-client-id:";
	const char *at = strstr(text, key), *e;

	if (!at) {
		errno = EINVAL;
		die("drm-client-id is missing in the text");
	}
	at += sizeof(key) - 1;
	e = at + strcspn(at, "\n");
	snprintf(own, sizeof(own), "%.*s\t%d%s", (int)(at - text), text, client, e);
	return own;
}

static void load(const char *name)
{
	FILE *f = fopen(name, "r");

	if (!f || !fread(text, 1, sizeof(text) - 1, f))
		die(name);
	fclose(f);
}

int main(int argc, char **argv)
{
	long processes = argc == 6 ? strtol(argv[2], NULL, 10) : 0, descriptors, clients;

	if (processes < 1) {
		fprintf(stderr, "usage: tree ROOT PROCESSES DESCRIPTORS CLIENTS FDINFO\n");
		return 1;
	}
	descriptors = strtol(argv[3], NULL, 10);
	clients = strtol(argv[4], NULL, 10);
	load(argv[5]);
	if (mkdir(argv[1], 0755) || (root = open(argv[1], O_RDONLY | O_DIRECTORY)) < 0)
		die(argv[1]);
	folder("proc");
	for (long i = 0; i < processes; i++)
		process(FIRST_PID + (int)i, descriptors * (i + 1) / processes - descriptors * i / processes);
	for (long i = 0; i < clients; i++) {
		int pid = FIRST_PID + (int)(i % processes);
		long fd = descriptors + i / processes; /* an unused descriptor number */

		node(path("proc/%d/fd/%ld", pid, fd));
		file(path("proc/%d/fdinfo/%ld", pid, fd), text_of((int)i + 1));
	}
	return 0;
}
