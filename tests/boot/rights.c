/*
 * rights: what an ordinary user sees of root's and of another user's processes, for each variant of
 * `make setcap` and each value of kernel.perf_event_paranoid and kernel.kptr_restrict. The output
 * of each command in each of its formats is searched for addresses of the kernel, and for the
 * address, the path and the name of a program that another user runs. Prints the matrix of
 * SECURITY.md's table.
 *
 * The two settings are about perf events and kernel symbols. Three kinds of runs keep the test
 * short:
 *   - each command in each format that it lists in its --help, once for each variant, with the
 *     settings that allow most (-1 and 0): commands that print no samples must not show an address
 *     or a path even then. stat and sample are run in each format with the settings that hide most
 *     while the kernel still counts.
 *   - with each combination of the settings: counts, samples in the formats that contain all that a
 *     sample has, fields of tracepoints, and the address of a kernel symbol.
 *     The emulated processor prints the long file /proc/kallsyms slowly: a short copy, with
 *     addresses or with zeros as the kernel shows them to all users, replaces it in most runs.
 *   - with each value of the GPU drivers' settings: OA counters, addresses of EU stalls.
 */
static int worker(const char *word);
#define WORKER(word) worker(word)
#include "play.h"

#include <sys/ioctl.h>

static const struct dev devs[DEVS] = {
	{ "i915:oa", "card0", "i915", "/dev/dri/renderD128" },
	{ "xe:oa", "card1", "xe", "/dev/dri/renderD129" },
};

#include "users.h"

#define FILES "/tmp/files" /* files that root wrote for all users */
#define OWN "/tmp/own-prog" /* a program of the ordinary user with a client of the GPU */
#define DATA FOLDER "/output"
#define SETTINGS "/proc/sys/kernel/"

static const struct variant {
	const char *name;
	bool ptrace, perfmon;
	unsigned long long caps;
} variants[] = {
	{ "no capability", false, false, 0 },
	{ "make setcap", true, false, CAP(CAP_SYS_PTRACE) },
	{ "PERFMON=1", true, true, CAP(CAP_SYS_PTRACE) | CAP(CAP_PERFMON) },
};

/* ---- what an output shows ---- */

struct seen {
	bool own, name, address, path; /* the own client; of the other user's program */
	bool kernel, symbols; /* addresses and functions of the kernel */
	bool fields, stalls; /* fields of tracepoints, addresses of EU stalls */
};

static bool contains(const char *p, size_t n, const char *what)
{
	return memmem(p, n, what, strlen(what)) != NULL;
}

/* The upper end is below PERF_CONTEXT_MAX, which marks the parts of a call chain, and below small
 * negative numbers. */
static bool is_kernel(unsigned long long v)
{
	return v >= 0xffff800000000000ull && v < 0xfffffffffffff000ull;
}

static void see_value(unsigned long long v, struct seen *s)
{
	s->address |= v >> 12 == SPIN_AT >> 12;
	s->kernel |= is_kernel(v);
}

/* Searches for numbers: hexadecimal ones with 12 digits or more, decimal ones with 14 or more. */
static void see_numbers(const char *p, size_t n, struct seen *s)
{
	static const char digits[] = "0123456789abcdef";

	for (const char *e = p + n; p < e; p++) {
		size_t hex = strspn(p, digits), dec = strspn(p, "0123456789");

		if (hex >= 12 && hex <= 16)
			see_value(strtoull(p, NULL, 16), s);
		if (dec >= 14 && dec <= 20)
			see_value(strtoull(p, NULL, 10), s);
		p += hex;
	}
}

/* Searches for numbers of 8 bytes at multiples of 8, as in perf.data. */
static void see_words(const char *p, size_t n, struct seen *s)
{
	unsigned long long v;

	for (size_t i = 0; i + sizeof v <= n; i += sizeof v) {
		memcpy(&v, p + i, sizeof v);
		see_value(v, s);
	}
}

/* Searches for numbers with 7 bits in each byte, as in the format perfetto. */
static void see_varints(const char *p, size_t n, struct seen *s)
{
	for (size_t i = 0; i < n; i++) {
		unsigned long long v = 0;

		for (size_t k = 0; k < 10 && i + k < n; k++) {
			v |= (unsigned long long)(p[i + k] & 0x7f) << 7 * k;
			if (!(p[i + k] & 0x80)) {
				see_value(v, s);
				break;
			}
		}
	}
}

/* Searches an output. format: its format, or "". The text ends with a null byte. */
static void see(const char *p, size_t n, const char *format, struct seen *s)
{
	s->own |= contains(p, n, "own-prog");
	s->name |= contains(p, n, "hidden-prog");
	s->path |= contains(p, n, "/home/other");
	s->symbols |= contains(p, n, "do_syscall_64") || contains(p, n, "do_idle") ||
		      contains(p, n, "asm_sysvec") || contains(p, n, "schedule");
	s->fields |= contains(p, n, "prev_pid");
	s->stalls |= contains(p, n, "0x108");
	see_numbers(p, n, s);
	if (!strcmp(format, "perfdata"))
		see_words(p, n, s);
	if (!strcmp(format, "perfetto"))
		see_varints(p, n, s);
}

/* ---- runs ---- */

static int runs;

static void user(void)
{
	if (chdir(FOLDER))
		_exit(126);
	nobody();
}

static int terminal; /* its master side */

static void user_on_terminal(void)
{
	int fd;

	setsid();
	fd = ioctl(terminal, TIOCGPTPEER, O_RDWR);
	if (fd < 0 || dup2(fd, 0) < 0 || dup2(fd, 1) < 0)
		_exit(126);
	setenv("TERM", "linux", 1);
	user();
}

/* Runs gpustat as the ordinary user, searches its output, messages and the file DATA, and returns
 * the exit status. */
static int look(const char *args, const char *format, struct seen *s)
{
	static char b[4 << 20];
	struct run *r = run(args, user);
	int fd = open(DATA, O_RDONLY | O_CLOEXEC), status = r->status;
	ssize_t n = fd < 0 ? 0 : read(fd, b, sizeof b - 1);

	runs++;
	see(r->text[0], r->n[0], format, s);
	see(r->text[1], r->n[1], "", s);
	if (n > 0) {
		b[n] = 0;
		see(b, n, format, s);
	}
	close(fd);
	unlink(DATA);
	want(status >= 0 && status < 128, "gpustat %s: exit %d", args, status);
	drop(r);
	return status;
}

static void setting(const char *path, int value)
{
	char number[16];

	snprintf(number, sizeof number, "%d", value);
	must_put(path, number);
}

static void settings(int paranoid, int kptr)
{
	setting(SETTINGS "perf_event_paranoid", paranoid);
	setting(SETTINGS "kptr_restrict", kptr);
}

/* Replaces /proc/kallsyms by a short copy: with addresses, or with zeros as the kernel shows. */
static void kallsyms_shorten(bool addresses)
{
	const char *copy = addresses ? FILES "/kallsyms" : FILES "/kallsyms.zero";

	if (mount(copy, "/proc/kallsyms", NULL, MS_BIND, NULL))
		die("/proc/kallsyms");
}

static void kallsyms_restore(void)
{
	if (umount2("/proc/kallsyms", MNT_DETACH))
		die("/proc/kallsyms");
}

static const char *yes(bool is)
{
	return is ? "yes" : "no";
}

/* ---- each command, each format ---- */

/* cpu-clock interrupts the other user's program, and context-switches is always in the kernel. */
#define SAMPLE "-a -e cpu-clock,context-switches -F 1000 --timeout 20"

static const struct output {
	const char *command, *args; /* before and after the option -o */
	bool formats; /* with each format of the command's --help; false: once */
	/* the status of a run that printed what it was asked for; -1: any, because the result
	 * depends on the variant */
	int status;
} outputs[] = {
	{ "", "-w 0.01", true, 0 },
	{ "", "-v -r", false, 0 },
	{ "", "-o json -O " FOLDER "/run.json 0.01 2", false, 0 },
	{ "procs", "-w 0.01", true, 0 },
	{ "clients", "-w 0.01", true, 0 },
	{ "clients", "-v -1 -o json 0.01 2", false, 0 },
	{ "clients", "-o csv -O " FOLDER "/run.csv 0.01 2", false, 0 },
	{ "cgroups", "-w 0.01", true, 0 },
	{ "list", "", true, 0 },
	{ "fdinfo", FILES "/fdinfo", true, 0 },
	{ "counters", "-v", false, 0 },
	{ "counters", "drm/* CPU?0* host/memory/* -w 0.01", true, 0 },
	{ "host", "-w 0.01", true, 0 },
	{ "doctor", "", true, 0 },
	{ "top", "0.01 1", false, 0 },
	{ "events", "", true, 0 },
	{ "events", "-v sched:*", false, 0 },
	{ "stat", "-a -e cpu-clock,page-faults,context-switches -w 0.01", true, 0 },
	{ "stat", "-v -A -a -e cpu-clock -w 0.01", false, 0 },
	{ "run", "-- /init end", true, 0 },
	{ "oa", "list", false, 0 },
	{ "oa", "-d card0 --raw 0.02 1", true, -1 },
	{ "oa", "--replay " FILES "/oa.rec --totals", true, 0 },
	{ "oa", "stalls --replay " FILES "/stalls.rec", false, 0 },
	{ "check", "-w 90 -c 95", false, -1 },
	{ "check", "-j -m clients -w 90 -c 95", false, -1 },
	{ "munin", "", false, 0 },
	{ "munin", "config", false, 0 },
	{ "capture", "-O " DATA, false, 0 },
	{ "capture", "--plain-names -O " DATA, false, 0 },
	{ "plot", FOLDER "/run.csv", false, 0 },
	{ "plot", FOLDER "/run.json", false, 0 },
};

static struct run *help(const char *command)
{
	char args[64];

	snprintf(args, sizeof args, "%s --help", *command ? command : "procs");
	return run(args, NULL);
}

/* Stores the names of the formats in the help of a command. */
static void formats_of(const char *command, char *to, size_t cap)
{
	struct run *r = help(command);
	char *p = strstr(r->text[0], "--format F"), *save, *w;

	*to = 0;
	p = p ? strstr(p, "output format: ") : NULL;
	p = p ? strtok_r(p + strlen("output format: "), " \n", &save) : NULL;
	for (w = p; w && *w != '-'; w = strtok_r(NULL, " \n", &save))
		snprintf(to + strlen(to), cap - strlen(to), "%s ", w);
	drop(r);
}

/* Runs one row of outputs[] in one format; "": without -o. */
static void output_see(const struct output *o, const char *format, struct seen *s)
{
	char args[512], option[32] = "";
	int status;

	if (*format)
		snprintf(option, sizeof option, "-o %s", format);
	snprintf(args, sizeof args, "%s %s %s", o->command, option, o->args);
	status = look(args, format, s);
	want(o->status < 0 || status == o->status, "gpustat %s: exit %d", args, status);
}

/* All formats of a row. */
static void output_all(const struct output *o, struct seen *s)
{
	char formats[512], *save, *w;

	if (!o->formats) {
		output_see(o, "", s);
		return;
	}
	formats_of(o->command, formats, sizeof formats);
	want(*formats, "gpustat %s --help names no format", o->command);
	for (w = strtok_r(formats, " ", &save); w; w = strtok_r(NULL, " ", &save))
		output_see(o, w, s);
}

/* Runs top on a terminal, live and with a recorded run, and searches the screen. */
static void screen_see(struct seen *s)
{
	static const char *const args[] = { "top 0.01 2", "top --replay " FOLDER "/run.json" };
	static char b[1 << 16];

	for (size_t i = 0; i < LEN(args); i++) {
		struct winsize size = { 50, 160, 0, 0 };
		ssize_t n, got = 0;
		int unlocked = 0;
		struct run *r;

		terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
		if (terminal < 0 || ioctl(terminal, TIOCSPTLCK, &unlocked) ||
		    ioctl(terminal, TIOCSWINSZ, &size) || write(terminal, "q", 1) != 1)
			die("/dev/ptmx");
		r = run(args[i], user_on_terminal);
		runs++;
		want(r->status == 0, "gpustat %s: exit %d: %.100s", args[i], r->status, r->text[1]);
		while ((n = read(terminal, b + got, sizeof b - 1 - got)) > 0)
			got += n;
		b[got] = 0;
		want(contains(b, got, "card0"), "gpustat %s shows no device", args[i]);
		see(b, got, "", s);
		drop(r);
		close(terminal);
	}
}

/* Returns whether a name of --help is a command with rows in outputs[]; sample has its own test. */
static bool is_tested(const char *command, size_t n)
{
	bool is = n == 6 && !strncmp(command, "sample", n);

	for (size_t i = 0; i < LEN(outputs); i++)
		is |= n && strlen(outputs[i].command) == n &&
		      !strncmp(command, outputs[i].command, n);
	return is;
}

/* The help has two columns of commands; the second begins at a fixed place. */
static void t_commands(void)
{
	enum { SECOND = 40 };
	struct run *r = run("--help", NULL);
	char *p = strstr(r->text[0], "\n(none)");
	int n = 1;

	begin("each command of --help is run");
	want(p, "no list of commands");
	for (p = p ? p + strlen("\n") : r->text[0]; *p && *p != '\n'; p += strcspn(p, "\n") + 1) {
		size_t width = strcspn(p, "\n");

		for (size_t at = 0; at < width; at += SECOND) {
			size_t length = strcspn(p + at, " \n");

			if (!strncmp(p + at, "(none)", length))
				continue;
			n++;
			want(is_tested(p + at, length), "not run: %.*s", (int)length, p + at);
		}
	}
	want(n > 15, "%d commands", n);
	close_run(r);
	end();
	printf("# %d commands\n", n);
}

static void t_outputs(const struct variant *v)
{
	char name[96], named[256] = "";
	int before = runs;
	bool own = false;

	snprintf(name, sizeof name, "%s: no command shows addresses or paths, in any format",
		 v->name);
	begin(name);
	settings(-1, 0);
	for (size_t i = 0; i < LEN(outputs); i++) {
		const struct output *o = &outputs[i];
		struct seen s = { 0 };
		char what[64];

		output_all(o, &s);
		if (!strcmp(o->command, "top"))
			screen_see(&s);
		own |= s.own && !strcmp(o->command, "clients");
		snprintf(what, sizeof what, "%s%s", *o->command ? o->command : "(none)",
			 strstr(o->args, "--plain-names") ? " --plain-names" : "");
		want(!s.kernel, "addresses of the kernel: %s %s", o->command, o->args);
		want(!s.address, "addresses of the other user's program: %s %s", o->command,
		     o->args);
		want(!s.path, "the path of the other user's program: %s %s", o->command, o->args);
		want(!s.name || v->ptrace, "the other user's program: %s %s", o->command, o->args);
		if (s.name && !strstr(named, what))
			snprintf(named + strlen(named), sizeof named - strlen(named), "%s%s",
				 *named ? ", " : "", what);
	}
	want(!v->ptrace || strstr(named, "clients"),
	     "clients does not show the other user's program");
	want(own, "clients does not show the user's program");
	end();
	printf("# %s: %d runs of commands; the other user's GPU clients are shown by: %s\n",
	       v->name, runs - before, *named ? named : "none");
	fflush(stdout);
}

/* ---- samples in each format ---- */

static void t_formats(const struct variant *v, int paranoid, int kptr)
{
	static const struct output rows[] = {
		{ "sample", SAMPLE " -g -O " DATA, true, 0 },
		{ "sample", SAMPLE " --summary", false, 0 },
		{ "sample", SAMPLE " --summary=symbol", false, 0 },
		{ "sample", SAMPLE " --summary=ip -v", false, 0 },
	};
	struct seen s = { 0 };
	char name[128];
	int before = runs;

	snprintf(name, sizeof name,
		 "%s, perf_event_paranoid %d, kptr_restrict %d: samples in each format", v->name,
		 paranoid, kptr);
	begin(name);
	settings(paranoid, kptr);
	kallsyms_shorten(kptr == 0 && paranoid <= 1);
	for (size_t i = 0; i < LEN(rows); i++)
		output_all(&rows[i], &s);
	kallsyms_restore();
	want(s.name, "no samples of the other user");
	want(!s.kernel || paranoid <= 1, "addresses of the kernel");
	want(!s.symbols || (kptr == 0 && paranoid <= 1), "functions of the kernel");
	want(!s.address || paranoid <= 0, "addresses of the other user's program");
	want(!s.path || paranoid <= 0, "the path of the other user's program");
	end();
	printf("# %s: %d runs of sample\n", v->name, runs - before);
	fflush(stdout);
}

/* ---- each combination of the settings ---- */

static pid_t other;

/* number of settings with which samples showed addresses and functions of the kernel */
static struct {
	int kernel, symbols;
} shown;

static void cell(const struct variant *v, int paranoid, int kptr)
{
	bool wide = paranoid <= 0 || (v->perfmon && paranoid < 3);
	bool kernel = paranoid <= 1 || (v->perfmon && paranoid < 3);
	bool own = paranoid <= 2, tasks = v->perfmon && paranoid < 3;
	/* the kernel allows tracepoints without their fields, which gpustat requests only if it may
	 * show them: with capabilities of its file, the settings decide; without, the kernel */
	bool all = paranoid < 0 || (v->ptrace && paranoid <= 0) || (v->perfmon && paranoid < 3);
	struct seen counts = { 0 }, s = { 0 }, others = { 0 }, points = { 0 }, symbol = { 0 };
	char name[128], args[128];

	snprintf(name, sizeof name, "%s, perf_event_paranoid %d, kptr_restrict %d", v->name,
		 paranoid, kptr);
	begin(name);
	settings(paranoid, kptr);
	want(!look("stat -e task-clock:u -- /init end", "", &counts) == own, "own tasks: not %s",
	     yes(own));
	want(!look("stat -r 2 -e task-clock:u -- /init end", "", &counts) == own,
	     "own tasks, repeated: not %s", yes(own));
	want(!look("stat -e page-faults:k -- /init end", "", &counts) == kernel, "kernel: not %s",
	     yes(kernel));
	want(!look("stat -a -e cpu-clock -w 0.01 -o json", "", &counts) == wide, "CPUs: not %s",
	     yes(wide));
	snprintf(args, sizeof args, "stat -e task-clock -p %d -w 0.01 -o json", other);
	want(!look(args, "", &counts) == tasks, "tasks of others: not %s", yes(tasks));
	want(!counts.kernel && !counts.address && !counts.path && !counts.symbols,
	     "a count has more");

	want(!look("sample " SAMPLE " -g -o json", "json", &s) == wide, "samples: not %s",
	     yes(wide));
	look("events --resolve mem:jiffies:w:k", "", &symbol);
	want(symbol.kernel == (kptr == 0 && paranoid <= 1), "the address of a symbol: %s",
	     yes(symbol.kernel));

	kallsyms_shorten(kptr == 0 && paranoid <= 1);
	if (wide) {
		look("sample " SAMPLE " -g -o folded", "folded", &others);
		look("sample " SAMPLE " -g -o perfdata -O " DATA, "perfdata", &others);
	}
	want(!look("sample -a -e sched:sched_switch --timeout 10 -o json", "json", &points) == all,
	     "tracepoints: not %s", yes(all));
	snprintf(args, sizeof args, "sample -e cpu-clock -F 1000 --timeout 20 -g -o json -p %d",
		 other);
	want(!look(args, "json", &others) == tasks, "samples of tasks of others: not %s",
	     yes(tasks));
	kallsyms_restore();
	want(points.fields == (paranoid < 0), "fields of tracepoints: %s", yes(points.fields));
	want(s.name == wide && others.name == (wide || tasks), "samples of the other user: %s",
	     yes(s.name));
	s.symbols |= others.symbols;
	s.kernel |= others.kernel;
	s.address |= others.address;
	s.path |= others.path;
	want(!s.kernel || paranoid <= 1, "addresses of the kernel");
	want(!s.symbols || (kptr == 0 && paranoid <= 1), "functions of the kernel");
	shown.kernel += s.kernel;
	shown.symbols += s.symbols;
	want(s.address == (paranoid <= 0), "addresses of the other user's program: %s",
	     yes(s.address));
	want(!s.path || paranoid <= 0, "the path of the other user's program");
	end();
	printf("# %-13s paranoid %2d kptr %d: counts: own %s, kernel %s, CPUs %s, others %s; ",
	       v->name, paranoid, kptr, yes(own), yes(kernel), yes(wide), yes(tasks));
	printf("samples of others %s: kernel addresses %s, functions %s, others' addresses %s, "
	       "paths %s; fields of tracepoints %s; address of a symbol %s\n",
	       yes(s.name), yes(s.kernel), yes(s.symbols), yes(s.address), yes(s.path),
	       yes(points.fields), yes(symbol.kernel));
	fflush(stdout);
}

/* ---- the GPU drivers' settings ---- */

static void t_gpu(const struct variant *v, int paranoid)
{
	static const struct output stalls = { "oa", "stalls -d card1 0.02 1", true, -1 };
	struct seen s = { 0 };
	char name[128];
	bool may = v->perfmon || !paranoid;

	snprintf(name, sizeof name, "%s, perf_stream_paranoid and observation_paranoid %d", v->name,
		 paranoid);
	begin(name);
	settings(2, 1);
	setting("/proc/sys/dev/i915/perf_stream_paranoid", paranoid);
	setting("/proc/sys/dev/xe/observation_paranoid", paranoid);
	want(!look("oa -d card0 --raw -o json 0.02 1", "json", &s) == may, "OA counters: not %s",
	     yes(may));
	want(!look("oa -d card1 --raw -o json 0.02 1", "json", &s) == may, "OA counters: not %s",
	     yes(may));
	output_all(&stalls, &s);
	want(s.stalls == !paranoid, "addresses of EU stalls: %s", yes(s.stalls));
	want(!s.kernel && !s.address && !s.path && !s.name, "a counter has more");
	end();
	printf("# %-13s drivers' paranoid %d: OA counters %s, addresses of EU stalls %s\n", v->name,
	       paranoid, yes(may), yes(s.stalls));
	fflush(stdout);
}

/* ---- the machine ---- */

/* Writes the lines of a few functions, for kallsyms_shorten(). */
static void kallsyms_copy(void)
{
	static const char *const names[] = { " _text\n",    " _stext\n",     " _etext\n",
					     " schedule\n", " __schedule\n", " do_syscall_64\n",
					     " do_idle\n" };
	FILE *from, *to = fopen(FILES "/kallsyms", "w"), *zero = fopen(FILES "/kallsyms.zero", "w");
	char line[512];

	settings(-1, 0);
	from = fopen("/proc/kallsyms", "r");
	if (!from || !to || !zero)
		die("kallsyms");
	while (fgets(line, sizeof line, from))
		for (size_t i = 0; i < LEN(names); i++)
			if (strstr(line, names[i])) {
				fputs(line, to);
				fprintf(zero, "0000000000000000%s", line + strcspn(line, " "));
			}
	fclose(from);
	if (fclose(to) || fclose(zero))
		die("kallsyms");
}

/* Writes the files that all users may read. tracefs may be read by the ordinary user's group. */
static void files_make(void)
{
	struct run *r;
	FILE *f;

	if (mkdir(FILES, 0755) || mount("none", "/sys/fs/cgroup", "cgroup2", 0, NULL) ||
	    mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, "mode=750,gid=65534"))
		die(FILES);
	f = fopen(FILES "/fdinfo", "w");
	if (!f ||
	    fprintf(f, "drm-driver:\ti915\ndrm-client-id:\t7\ndrm-engine-render:\t5 ns\n") < 0 ||
	    fclose(f))
		die(FILES);
	kallsyms_copy();
	r = run("oa -d card0 --raw --record " FILES "/oa.rec -o json 0.1 1", NULL);
	drop(r);
	r = run("oa stalls -d card1 --record " FILES "/stalls.rec -o json 0.1 1", NULL);
	drop(r);
	chmod(FILES "/oa.rec", 0644);
	chmod(FILES "/stalls.rec", 0644);
}

static int scenarios(void)
{
	char number[16];
	pid_t own;

	load_devs();
	program_place();
	chmod("/dev/dri", 0755);
	chmod(devs[0].node, 0666);
	chmod(devs[1].node, 0666);
	if (mkdir("/dev/pts", 0755) || mount("pts", "/dev/pts", "devpts", 0, NULL))
		die("/dev/pts");
	files_make();
	/* the processes of the users are in a cgroup of their own */
	snprintf(number, sizeof number, "%d", getpid());
	if (mkdir("/sys/fs/cgroup/users", 0755))
		die("/sys/fs/cgroup/users");
	must_put("/sys/fs/cgroup/users/cgroup.procs", number);
	copy("/init", OWN, 0755);
	own = user_start(NOBODY, OWN, "wait");
	other = other_start();
	t_commands();
	for (size_t i = 0; i < LEN(variants); i++) {
		const struct variant *v = &variants[i];

		file_caps(v->caps);
		t_outputs(v);
		for (int paranoid = 0; paranoid <= 1; paranoid++)
			t_gpu(v, paranoid);
		for (int paranoid = -1; paranoid <= 3; paranoid++)
			for (int kptr = 0; kptr <= 2; kptr++)
				cell(v, paranoid, kptr);
	}
	begin("samples show addresses and functions of the kernel with settings that allow it");
	want(shown.kernel > 5 && shown.symbols > 2, "with %d and %d settings", shown.kernel,
	     shown.symbols);
	end();
	file_caps(variants[0].caps);
	t_formats(&variants[0], 0, 1);
	file_caps(variants[2].caps);
	t_formats(&variants[2], 1, 0);
	t_formats(&variants[2], 2, 0);
	reap(own);
	reap(other);
	printf("# %d runs\n1..%d\n", runs, tests);
	fflush(stdout);
	return failed != 0;
}
