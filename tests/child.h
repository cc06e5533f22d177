/* child.h - for unit tests: runs a function in a child process, which has its own copy of all
 * state, and keeps its output and exit code. SPDX-License-Identifier: MIT */
#ifndef CHILD_H
#define CHILD_H

#include "tests/unit.h"

#include <sys/mman.h>
#include <sys/wait.h>

struct child {
	int code; /* exit code; 256 plus the signal that ended it */
	char out[16 << 10], err[4 << 10]; /* stdout and stderr, each with a NUL; cut if longer */
};

static void child_text(int fd, char *to, size_t cap)
{
	ssize_t n = pread(fd, to, cap - 1, 0);

	to[n > 0 ? n : 0] = '\0';
	close(fd);
}

/* Returns the output and the exit code of run(). Valid until the next call. */
__attribute__((unused)) static const struct child *child_run(int (*run)(void))
{
	static struct child c;
	int out_file = memfd_create("out", MFD_CLOEXEC),
		err_file = memfd_create("err", MFD_CLOEXEC);
	int status = 0;
	pid_t pid = out_file < 0 || err_file < 0 ? -1 : fork();

	if (pid == 0) {
		dup2(out_file, 1);
		dup2(err_file, 2);
		_exit(run());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		puts("Bail out! no child process");
		exit(1);
	}
	c.code = WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
	child_text(out_file, c.out, sizeof(c.out));
	child_text(err_file, c.err, sizeof(c.err));
	return &c;
}

/* Checks the exit code and the output of run(): these texts must be in stdout and in stderr, or
 * stdout and stderr must be empty if they are NULL. */
__attribute__((unused)) static void child_check(int (*run)(void), int code, const char *output,
						const char *errors, const char *name)
{
	const struct child *c = child_run(run);
	bool good = c->code == code && (output ? strstr(c->out, output) != NULL : !c->out[0]) &&
		    (errors ? strstr(c->err, errors) != NULL : !c->err[0]);

	if (!check(good, "%s", name)) {
		note("exit code %d, want %d", c->code, code);
		note("stdout %s", show(str_z(c->out)));
		note("want   %s", output ? show(str_z(output)) : "nothing");
		note("stderr %s", show(str_z(c->err)));
		note("want   %s", errors ? show(str_z(errors)) : "nothing");
	}
}

#endif
