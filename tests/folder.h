/* folder.h - for unit tests: small trees of files in a temporary folder.
 * SPDX-License-Identifier: MIT */
#ifndef FOLDER_H
#define FOLDER_H

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

static char tmp_folder[100]; /* also $D in shell() */

/* Creates the temporary folder. */
__attribute__((unused)) static void folder_begin(const char *name)
{
	if (!mkdtemp(temporary_name(tmp_folder, sizeof(tmp_folder), name))) {
		puts("Bail out! no temporary folder");
		exit(1);
	}
	chmod(tmp_folder, 0755);
	setenv("D", tmp_folder, 1);
}

/* Runs a command in which $D is the folder. */
__attribute__((unused)) static void shell(const char *command)
{
	if (system(command) != 0)
		check(false, "%s", command);
}

/* Returns the full path of a file of the folder. The last 4 results are valid. */
__attribute__((format(printf, 1, 2), unused)) static const char *in_folder(const char *fmt, ...)
{
	static char paths[4][512];
	static unsigned turn;
	char *b = paths[turn++ % 4];
	size_t n = (size_t)snprintf(b, sizeof(paths[0]), "%s/", tmp_folder);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(b + n, sizeof(paths[0]) - n, fmt, ap);
	va_end(ap);
	return b;
}

/* Creates the folders above a path. */
static void folders_above(const char *path)
{
	char b[512];

	snprintf(b, sizeof(b), "%s", path);
	for (char *p = b + 1; (p = strchr(p, '/')); p++) {
		*p = '\0';
		mkdir(b, 0755);
		*p = '/';
	}
}

/* Writes a file in place, so that open descriptors read the new bytes. */
__attribute__((unused)) static void put_file(const char *path, const char *bytes, size_t n)
{
	int fd;

	folders_above(path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n || close(fd) != 0)
		check(false, "%s is written", path);
}

__attribute__((unused)) static void put(const char *path, const char *text)
{
	put_file(path, text, strlen(text));
}

__attribute__((unused)) static void put_link(const char *path, const char *target)
{
	folders_above(path);
	if (symlink(target, path) != 0)
		check(false, "the link %s is made", path);
}

__attribute__((unused)) static void put_folder(const char *path)
{
	folders_above(path);
	mkdir(path, 0755);
}

/* Opens a folder as a root, in place of the folder that was open. */
__attribute__((unused)) static void root_set(int *root, const char *path)
{
	if (*root >= 0)
		close(*root);
	put_folder(path);
	*root = open(path, O_RDONLY | O_DIRECTORY);
}

__attribute__((unused)) static unsigned fds_open(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 512; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* Drops the rights of root, or restores them; without effect for another user. */
__attribute__((unused)) static void rights_drop(bool drop)
{
	if (getuid() == 0 && seteuid(drop ? 65534 : 0) != 0)
		check(false, "root's rights are changed");
}

/* Sets the limit on open descriptors to 0, so that none can be opened, or restores it. */
__attribute__((unused)) static void descriptors_forbid(bool forbid)
{
	static struct rlimit was;
	struct rlimit none;

	if (forbid)
		getrlimit(RLIMIT_NOFILE, &was);
	none = (struct rlimit){ 0, was.rlim_max };
	if (setrlimit(RLIMIT_NOFILE, forbid ? &none : &was) != 0)
		check(false, "the limit on descriptors is changed");
}

#endif
