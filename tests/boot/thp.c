/*
 * thp: the first program of a machine that uses huge pages wherever possible. A table that is
 * reserved for many rows must not get a huge page for its first row: each command must have as much
 * resident memory with huge pages as without. The same holds for programs that read a counter
 * through libgpustat. Each command also runs in a memory cgroup of 1 MiB; one that reads the symbols
 * of a kernel, in one of 6 MiB.
 */
#include "commands.h"

#define HUGE_PAGES "/sys/kernel/mm/transparent_hugepage/enabled"
#define GROUP "/sys/fs/cgroup/small"

enum { MORE = 10 /* percent */, ROUNDING = 256 /* KiB: each CPU counts up to 32 pages of a kind locally */ };

static void start_row(void *arg)
{
	const struct row *row = arg;
	char *args = strdup(row->args), *argv[32] = { "gpustat" }, *save;
	int n = 1, null = open("/dev/null", O_RDWR);

	for (char *w = strtok_r(args, " ", &save); w && n < 31; w = strtok_r(NULL, " ", &save))
		argv[n++] = w;
	for (int fd = 0; fd < 3; fd++)
		dup2(null, fd);
	ready();
	execv("/gpustat", argv);
}

static struct resident row_resident(const struct row *row, const char *huge)
{
	struct resident r;

	must_put(HUGE_PAGES, huge);
	terminal = open_terminal(row);
	also = NULL;
	r = resident(start_row, (void *)row);
	if (terminal >= 0)
		close(terminal);
	return r;
}

static void want_same(const char *what, long always, long never, long rounding)
{
	want(always > 0 && always <= never + never * MORE / 100 + rounding, "%s: %ld KiB with huge pages, %ld without", what, always, never);
}

static void t_resident(void)
{
	char name[256];

	for (int i = 0; i < nrows; i++) {
		struct resident never = row_resident(&rows[i], "never"), always = row_resident(&rows[i], "always");

		snprintf(name, sizeof name, "resident memory with huge pages equals that without: gpustat %s", rows[i].args);
		begin(name);
		want(!never.status && !always.status, "exit %d without huge pages, %d with them", never.status, always.status);
		want_same("at its end", always.held, never.held, 0);
		want_same("ru_maxrss", always.maxrss, never.maxrss, ROUNDING);
		want(!always.huge, "%ld KiB are in huge pages", always.huge);
		end();
		printf("# %ld KiB at its end (%ld without huge pages), ru_maxrss %ld\n", always.held, never.held, always.maxrss);
	}
}

static void touch(void *arg)
{
	char *p;

	(void)arg;
	raise(SIGTRAP); /* the stop after execve of a traced process */
	p = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p != MAP_FAILED)
		memset(p, 1, 8 << 20);
}

static void t_control(void)
{
	struct resident r;

	begin("control: a program that does not avoid huge pages gets them in this machine");
	must_put(HUGE_PAGES, "always");
	r = resident(touch, NULL);
	want(r.huge >= 4096, "%ld KiB", r.huge);
	end();
}

/* ---- programs that link libgpustat.a: counter.c ---- */

static void start_library(void *how)
{
	dup2(open("/dev/null", O_WRONLY), 1);
	execl("/counter", "counter", how, NULL);
}

static void t_library(void)
{
	static const struct {
		const char *name, *how;
		long most;
	} cases[] = {
		{ "a program that reads one recommended counter has at most 1 MiB resident", "free", 1024 },
		{ "the same program with all its memory locked has at most 2 MiB resident", "locked", 2048 },
	};

	must_put(HUGE_PAGES, "always");
	for (size_t i = 0; i < LEN(cases); i++) {
		struct resident r = resident(start_library, (void *)cases[i].how);

		begin(cases[i].name);
		want(!r.status, "exit %d", r.status);
		want(r.held > 0 && r.held <= cases[i].most, "%ld KiB", r.held);
		want(!r.huge, "%ld KiB are in huge pages", r.huge);
		end();
		printf("# %ld KiB at its end\n", r.held);
	}
}

/* ---- a cgroup of 1 MiB ---- */

static void join(void)
{
	if (put(GROUP "/cgroup.procs", "0"))
		_exit(126);
}

/* Each command has a group of its own: the files that it writes to the root file system, which is in
 * memory, count until they are removed. */
static void t_group(void)
{
	char name[256];

	if (mount("cgroup", "/sys/fs/cgroup", "cgroup2", 0, NULL))
		die("cgroup2");
	must_put("/sys/fs/cgroup/cgroup.subtree_control", "+memory");
	for (int i = 0; i < nrows; i++) {
		if (mkdir(GROUP, 0755))
			die(GROUP);
		must_put(GROUP "/memory.max", rows[i].large ? "6M" : "1M");
		snprintf(name, sizeof name, "runs in a memory cgroup of %s: gpustat %s", rows[i].large ? "6 MiB" : "1 MiB", rows[i].args);
		begin(name);
		try_row(&rows[i], 1, join);
		want(!number_in(GROUP "/memory.events", "oom_kill "), "the kernel killed it for lack of memory");
		end();
		if (rmdir(GROUP))
			die(GROUP);
	}
}

static int scenarios(void)
{
	load_rows();
	make_inputs();
	t_control();
	t_resident();
	t_library();
	t_group();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
