/* resident.c - init of an emulated machine: measures the peak resident size, in KiB, of each
 * command in /commands. SPDX-License-Identifier: MIT
 *
 * Prints a line "@PAGE HUGE KIB KIB ..." on the console: the page size in bytes; "always" if the
 * kernel now uses huge pages wherever possible, "none" if it has none; then one figure for each
 * line of that file, or "-" for a command that did not exit by itself. */
#include "../resident.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>

enum { MAX_WORDS = 32 };

static void start(void *line)
{
	char *words[MAX_WORDS + 1] = { NULL };
	int null = open("/dev/null", O_RDWR);
	size_t n = 0;

	for (char *w = strtok(line, " \n"); w && n < MAX_WORDS; w = strtok(NULL, " \n"))
		words[n++] = w;
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	close(null);
	execv(words[0], words);
}

/* Returns the peak size or the size at exit, whichever is larger: the second one is exact. -1:
 * killed by a signal, or not started. */
static long peak_kib(char *line)
{
	struct resident r = resident(start, line);

	return r.status < 0 || r.status > 126 ? -1 : r.held > r.peak ? r.held : r.peak;
}

/* Enables huge pages wherever the kernel can use them: the worst case for memory that is reserved
 * but not used. */
static const char *use_huge_pages(void)
{
	FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "w");

	if (!f)
		return "none";
	fputs("always", f);
	return fclose(f) ? "none" : "always";
}

static void measure(FILE *console)
{
	FILE *commands = fopen("/commands", "r");
	char line[512];

	fprintf(console, "\n@%ld %s", sysconf(_SC_PAGESIZE), use_huge_pages());
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
	sleep(1); /* a serial port is slow */
	reboot(RB_AUTOBOOT);
	for (;;)
		pause();
}
