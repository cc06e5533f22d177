/* resident.c - init of an emulated machine: the highest resident size, in KiB, of each command in /commands.
 * SPDX-License-Identifier: MIT
 *
 * A line "@PAGE KIB KIB ..." on the console: a page's bytes, then a figure for each line of that file, "-" for a command
 * that did not exit by itself. */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_WORDS = 32 };

static void start(char *line)
{
	char *words[MAX_WORDS + 1] = { NULL };
	int null = open("/dev/null", O_RDWR);
	size_t n = 0;

	for (char *w = strtok(line, " \n"); w && n < MAX_WORDS; w = strtok(NULL, " \n"))
		words[n++] = w;
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close(null);
	if (!ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		execv(words[0], words);
	_exit(127);
}

static long file_kib(pid_t pid, const char *file, const char *key)
{
	char name[64], line[256];
	long kib = 0;
	FILE *f;

	snprintf(name, sizeof(name), "/proc/%d/%s", (int)pid, file);
	f = fopen(name, "r");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kib = strtol(line + strlen(key), NULL, 10);
	if (f)
		fclose(f);
	return kib;
}

/* At its end a process is stopped and still has its memory: what it has then is counted exactly, the highest to some
 * pages. -1: a signal ended it, or it could not be started. */
static long peak_kib(char *line)
{
	long held = 0, peak = 0;
	int status;
	pid_t pid = fork();

	if (!pid)
		start(line);
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)PTRACE_O_TRACEEXIT))
		return -1;
	while (WIFSTOPPED(status)) {
		int sig = WSTOPSIG(status);

		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
			held = file_kib(pid, "smaps_rollup", "Rss:");
			peak = file_kib(pid, "status", "VmHWM:");
		}
		ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)(sig == SIGTRAP ? 0 : sig));
		if (waitpid(pid, &status, 0) != pid)
			return -1;
	}
	return !WIFEXITED(status) || WEXITSTATUS(status) == 127 ? -1 : held > peak ? held : peak;
}

static void measure(FILE *console)
{
	FILE *commands = fopen("/commands", "r");
	char line[512];

	fprintf(console, "\n@%ld", sysconf(_SC_PAGESIZE));
	while (commands && fgets(line, sizeof(line), commands)) {
		long kib = peak_kib(line);

		if (kib > 0)
			fprintf(console, " %ld", kib);
		else
			fputs(" -", console);
	}
	fputs("\n", console);
	fclose(console);
}

int main(void)
{
	FILE *console;

	mkdir("/dev", 0755);
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mount("none", "/dev", "devtmpfs", 0, NULL);
	mount("none", "/proc", "proc", 0, NULL);
	mount("none", "/sys", "sysfs", 0, NULL);
	console = fopen("/dev/console", "w");
	if (console)
		measure(console);
	sleep(1); /* a serial port sends slowly */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
