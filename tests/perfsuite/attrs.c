/* attrs.c - runs a program and writes the attributes of each perf event that it opens to a file, as
 * perf does for its own attr tests (tools/perf/tests/attr.c). A hardware event is opened as a clock,
 * so that the tests mean the same without a PMU; its file has the attributes that were asked for.
 * usage: attrs DIR SIZE PROGRAM [ARGUMENT...]
 * DIR: the folder of the files; -: no files. SIZE: of perf_event_attr in the version of the tests.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EVENTS = 4096 };

static struct {
	const char *dir;                   /* "-": no files are written */
	unsigned size;
	pid_t pid;
	struct __ptrace_syscall_info call; /* the call that was entered */
	union {                            /* its attributes as asked for */
		struct perf_event_attr attr;
		char bytes[4096];
	};
	struct opened {                    /* by descriptor */
		char name[64]; /* of the file; empty: no event has this descriptor */
		bool used;
	} opened[EVENTS];
} run;

static void die(const char *what)
{
	fprintf(stderr, "attrs: %s: %s\n", what, strerror(errno));
	exit(125);
}

static bool all_zero(const char *p, size_t n)
{
	while (n && !*p)
		p++, n--;
	return n == 0;
}

static bool tracee_copy(bool to, unsigned long long addr, void *p, size_t n)
{
	struct iovec own = { p, n }, other = { (void *)(unsigned long)addr, n };

	return (to ? process_vm_writev : process_vm_readv)(run.pid, &own, 1, &other, 1, 0) ==
	       (ssize_t)n;
}

/* Changes which event the program opens. */
static void event_put(unsigned type, unsigned long long config)
{
	unsigned long long at = run.call.entry.args[0];

	if (!tracee_copy(true, at, &type, sizeof(type)) ||
	    !tracee_copy(true, at + offsetof(struct perf_event_attr, config), &config,
			 sizeof(config)))
		die("the attributes cannot be changed");
}

/* Returns the path of an event's file. */
static const char *path_of(const struct opened *o)
{
	static char path[4096];

	snprintf(path, sizeof(path), "%s/%s", run.dir, o->name);
	return path;
}

static void put(FILE *f, const char *name, unsigned long long value)
{
	fprintf(f, "%s=%llu\n", name, value);
}

/* Writes the file of an event, with the names of perf's tests. */
static void event_write(int fd, const struct __ptrace_syscall_info *in)
{
	const struct perf_event_attr *a = &run.attr;
	struct opened *o = &run.opened[fd];
	FILE *f;

	*o = (struct opened){ 0 };
	snprintf(o->name, sizeof(o->name), "event-%u-%llu-%d", a->type,
		 (unsigned long long)a->config, fd);
	f = fopen(path_of(o), "w");
	if (!f)
		die(path_of(o));
	fprintf(f, "[%s]\nfd=%d\ngroup_fd=%d\ncpu=%d\npid=%d\n", o->name, fd,
		(int)in->entry.args[3], (int)in->entry.args[2], (int)in->entry.args[1]);
	put(f, "flags", in->entry.args[4]);
	put(f, "size", a->size);
#define PUT(member) put(f, #member, a->member)
	PUT(type);
	PUT(config);
	PUT(sample_period);
	PUT(sample_type);
	PUT(read_format);
	PUT(disabled);
	PUT(inherit);
	PUT(pinned);
	PUT(exclusive);
	PUT(exclude_user);
	PUT(exclude_kernel);
	PUT(exclude_hv);
	PUT(exclude_idle);
	PUT(mmap);
	PUT(comm);
	PUT(freq);
	PUT(inherit_stat);
	PUT(enable_on_exec);
	PUT(task);
	PUT(watermark);
	PUT(precise_ip);
	PUT(mmap_data);
	PUT(sample_id_all);
	PUT(exclude_host);
	PUT(exclude_guest);
	PUT(exclude_callchain_kernel);
	PUT(exclude_callchain_user);
	PUT(mmap2);
	PUT(comm_exec);
	PUT(context_switch);
	PUT(write_backward);
	PUT(namespaces);
	PUT(use_clockid);
	PUT(wakeup_events);
	PUT(bp_type);
	PUT(config1);
	PUT(config2);
	PUT(branch_sample_type);
	PUT(sample_regs_user);
	PUT(sample_stack_user);
	if (fclose(f))
		die(o->name);
}

/* Replaces what the kernel does not use of the attributes by what perf writes there: zeros at the
 * end, what a sample of an event that only counts would have, and whether child tasks inherit an
 * event of a CPU. */
static void normalize(unsigned size, bool of_cpu)
{
	if (size > run.size && all_zero(run.bytes + run.size, size - run.size))
		run.attr.size = run.size;
	if (!run.attr.sample_period)
		run.attr.sample_type = PERF_SAMPLE_IDENTIFIER;
	if (of_cpu)
		run.attr.inherit = 1;
}

/* Reads the attributes; a hardware event becomes a clock until the call returns. */
static void open_enter(void)
{
	unsigned long long at = run.call.entry.args[0];
	unsigned head[2];

	memset(run.bytes, 0, sizeof(run.bytes));
	if (!tracee_copy(false, at, head, sizeof(head)) || head[1] > sizeof(run.bytes) ||
	    !tracee_copy(false, at, run.bytes, head[1]))
		die("the attributes cannot be read");
	if (run.attr.type == PERF_TYPE_HARDWARE || run.attr.type == PERF_TYPE_HW_CACHE)
		event_put(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	normalize(head[1], (int)run.call.entry.args[1] == -1);
}

static void open_leave(long long fd)
{
	event_put(run.attr.type, run.attr.config);
	if (fd >= 0 && fd < EVENTS && strcmp(run.dir, "-") != 0)
		event_write((int)fd, &run.call);
}

/* An event that is closed without having been used was only tried, and has no file. */
static void fd_use(unsigned long long fd, bool closes)
{
	struct opened *o = &run.opened[fd < EVENTS ? fd : 0];

	if (fd >= EVENTS || !o->name[0])
		return;
	if (closes && !o->used)
		unlink(path_of(o));
	o->used = true;
	if (closes)
		o->name[0] = '\0';
}

static void call_enter(void)
{
	const unsigned long long *args = (const unsigned long long *)run.call.entry.args;

	switch (run.call.entry.nr) {
	case SYS_perf_event_open: open_enter(); break;
	case SYS_close:           fd_use(args[0], true); break;
	case SYS_ioctl:
	case SYS_read:            fd_use(args[0], false); break;
	case SYS_mmap:            fd_use(args[4], false); break;
	}
}

static void stopped(void)
{
	struct __ptrace_syscall_info now;

	if (ptrace(PTRACE_GET_SYSCALL_INFO, run.pid, sizeof(now), &now) <= 0)
		die("PTRACE_GET_SYSCALL_INFO");
	if (now.op == PTRACE_SYSCALL_INFO_ENTRY) {
		run.call = now;
		call_enter();
	} else if (now.op == PTRACE_SYSCALL_INFO_EXIT &&
		   run.call.entry.nr == SYS_perf_event_open)
		open_leave(now.exit.rval);
}

int main(int argc, char **argv)
{
	int status, sig = 0;

	if (argc < 4)
		return 125;
	run.dir = argv[1];
	run.size = (unsigned)atoi(argv[2]);
	run.pid = fork();
	if (run.pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			die("ptrace");
		execvp(argv[3], argv + 3);
		die(argv[3]);
	}
	if (waitpid(run.pid, &status, 0) != run.pid || !WIFSTOPPED(status))
		die("the program did not start");
	if (ptrace(PTRACE_SETOPTIONS, run.pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))
		die("PTRACE_SETOPTIONS");
	for (;;) {
		if (ptrace(PTRACE_SYSCALL, run.pid, 0, sig) ||
		    waitpid(run.pid, &status, 0) != run.pid)
			die("ptrace");
		if (!WIFSTOPPED(status))
			return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
		sig = WSTOPSIG(status);
		if (sig == (SIGTRAP | 0x80)) {
			stopped();
			sig = 0;
		}
	}
}
