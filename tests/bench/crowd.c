/* crowd.c - runs a command in a machine with many processes and descriptors.
 * SPDX-License-Identifier: MIT
 *
 *	crowd PROCESSES DESCRIPTORS COMMAND...
 *		starts the processes, with that many descriptors in total, half of them of
 *		/dev/null and half of pipes; runs the command; ends the processes
 *
 * The processes wait for the end of a pipe whose other end only crowd holds, so they always end
 * with it. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_PROCESSES = 20000 };

static pid_t pids[MAX_PROCESSES];

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "crowd: %s\n", what);
	exit(1);
}

/* Opens n descriptors, one of which is the pipe it waits for; closing the pipe `ready` signals that
 * it is ready. */
__attribute__((noreturn)) static void be_one(int n, int wait_at, int ready)
{
	int null = open("/dev/null", O_RDWR), ends[2], have = 2;
	char c = 0;

	if (null < 0 || pipe(ends))
		_exit(1);
	for (int fd = 0; fd < 3; fd++)
		close(fd);
	if (dup2(null, 0) || dup2(ends[0], 1) != 1)
		_exit(1);
	have = 6; /* these two, null, both ends, wait_at */
	for (; have < n; have++)
		if (dup(have % 2 ? null : ends[0]) < 0)
			_exit(1);
	if (write(ready, &c, 1) != 1)
		_exit(1);
	close(ready);
	_exit(read(wait_at, &c, 1) != 0);
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
	int hold[2], ready[2], n = argc > 3 ? (int)strtol(argv[1], NULL, 10) : 0, status = 1, started = 0;
	long all = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	pid_t command;
	char c;

	if (n < 1 || n > MAX_PROCESSES || all < 6L * n)
		die("usage: crowd PROCESSES DESCRIPTORS COMMAND... (six or more descriptors each)");
	raise_files();
	if (pipe2(hold, O_CLOEXEC) || pipe2(ready, O_CLOEXEC))
		die("pipe");
	for (; started < n; started++) {
		pids[started] = fork();
		if (pids[started] < 0)
			break;
		if (!pids[started]) {
			close(hold[1]);
			close(ready[0]);
			be_one((int)(all * (started + 1) / n - all * started / n), hold[0], ready[1]);
		}
	}
	close(ready[1]);
	for (int i = 0; i < started; i++)
		if (read(ready[0], &c, 1) != 1)
			started = 0;
	if (started == n && (command = fork()) == 0) {
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	if (started != n || command < 0 || waitpid(command, &status, 0) != command)
		fprintf(stderr, "crowd: some processes could not be started\n");
	close(hold[1]);
	for (int i = 0; i < n && pids[i] > 0; i++) {
		kill(pids[i], SIGKILL); /* a process that has not reached its read */
		waitpid(pids[i], NULL, 0);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
