/*
 * commands.h: starts the commands that the file /commands lists, and checks that each prints a real
 * result. The command top gets a terminal.
 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "guest.h"
#include "../resident.h"

#include <sys/ioctl.h>

#define ROOTS "--proc /tree/proc --sys /tree/sys"
#define SILENT "/gpustat " ROOTS " -o csv -O /out.csv 0.01 5"

enum { CHECKS = 6, ROWS = 64, COPIES = 3 };

static struct row {
	bool large;		/* needs several MiB by its nature */
	char *args, *checks[CHECKS];
	int n;
} rows[ROWS];
static int nrows;

/* Settings of the next run: the master side of its terminal, and an extra setup step before
 * exec. */
static int terminal = -1;
static void (*also)(void);

/* Returns a copy of the text with the marks @, &, $ and % expanded. */
static char *expand(const char *from)
{
	char *copy = NULL;
	size_t n;
	FILE *f = open_memstream(&copy, &n);

	for (; f && *from; from++)
		if (*from == '@')
			fputs(ROOTS, f);
		else if (*from == '&')
			fputs(SILENT, f);
		else if (*from == '$')
			fputs("/gpustat", f);
		else if (*from == '%')
			fprintf(f, "%llu", number_in("/proc/meminfo", "MemTotal:") * 1024);
		else
			fputc(*from, f);
	if (!f || fclose(f))
		die("expand");
	return copy;
}

static void load_rows(void)
{
	FILE *f = fopen("/commands", "re");
	char line[512], *save, *word;

	while (f && nrows < ROWS && fgets(line, sizeof line, f)) {
		struct row *row = &rows[nrows];

		if (*line == '#')
			continue;
		line[strcspn(line, "\n")] = 0;
		row->large = *line == '!';
		row->args = expand(strtok_r(line + row->large, "\t", &save));
		while (row->n < CHECKS && (word = strtok_r(NULL, "\t", &save)))
			row->checks[row->n++] = expand(word);
		nrows++;
	}
	if (!f || fclose(f))
		die("/commands");
}

static void ready(void)
{
	int fd, unlocked = 0;

	if (also)
		also();
	if (terminal < 0)
		return;
	setsid();
	if (ioctl(terminal, TIOCSPTLCK, &unlocked) || (fd = ioctl(terminal, TIOCGPTPEER, O_RDWR)) < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0)
		_exit(126);
	setenv("TERM", "linux", 1);
}

/* take: appends more, printed elsewhere, to the output of a run. */
static void take(struct run *r, const char *more)
{
	r->text[0] = realloc(r->text[0], r->n[0] + strlen(more) + 1);
	if (!r->text[0])
		die("realloc");
	strcpy(r->text[0] + r->n[0], more);
	r->n[0] += strlen(more);
}

/* One frame fits into the terminal's buffer, so it is read after the run has ended. */
static void take_screen(struct run *r, int fd)
{
	static char b[32768];
	ssize_t n, got = 0;

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while ((n = read(fd, b + got, sizeof b - got - 1)) > 0)
		got += n;
	close(fd);
	b[got] = 0;
	take(r, b);
}

static int open_terminal(const struct row *row)
{
	return strncmp(row->args, "top ", 4) ? -1 : open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static bool want_check(const struct run *r, const char *check)
{
	if (*check != '+')
		return want(strstr(r->text[0], check), "the output does not contain \"%s\"", check);
	for each_record(v, r)
		if (num(v, check + 1) > 0)
			return true;
	return want(false, "no record with \"%s\" above 0", check + 1);
}

/* Returns whether the program was built without a feature that the run needs. The name of the test
 * then says that it was skipped. */
static bool left_out(const struct run *r)
{
	static const char message[] = "not built in: ";
	static char name[512];
	const char *p = strstr(r->text[1], message);

	if (r->status != 2 || !p)
		return false;
	if (test_name == name) /* another copy of the same command */
		return true;
	snprintf(name, sizeof name, "%.400s # SKIP %.*s", test_name, (int)strcspn(p, "\n"), p);
	test_name = name;
	return true;
}

static void want_row(struct run *r, const struct row *row)
{
	if (left_out(r))
		return;
	want(!r->status, "gpustat %s: exit %d%s", r->args, r->status, r->status > 128 ? ": ended by a signal" : "");
	for (int i = 0; i < row->n; i++)
		want_check(r, row->checks[i]);
}

/* Starts as many copies of one command as given, at the same time, and checks each. before runs in
 * each child before exec. */
static void try_row(const struct row *row, int copies, void (*before)(void))
{
	struct run *r[COPIES];
	int screens[COPIES];

	for (int i = 0; i < copies; i++) {
		screens[i] = terminal = open_terminal(row);
		also = before;
		r[i] = start(row->args, ready);
	}
	for (int i = 0; i < copies; i++) {
		finish(r[i]);
		if (screens[i] >= 0)
			take_screen(r[i], screens[i]);
		take(r[i], r[i]->text[1]); /* stat and sample with a command print to stderr */
		want_row(r[i], row);
		close_run(r[i]);
	}
}

/* Creates the input files of the commands: the recording that plot reads. */
static void make_inputs(void)
{
	struct run *r = run("-o csv -O /run.csv 0.1 3 " ROOTS, NULL);

	begin("setup: gpustat records the file that plot reads");
	ended(r, 0);
	want(strstr(text("/run.csv"), "amdgpu"), "the file does not name the device");
	close_run(r);
	end();
}

#endif
