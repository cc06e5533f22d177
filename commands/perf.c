/* perf.c - what stat and sample have in common: events, targets, --control, the output, the command's end.
 * SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

#include <limits.h>

bool add_events(struct str list, u16 set)
{
	char why[1024];
	struct buf b = BUF_Z(why);

	if (opt.pmu_file && !events_file.p && !read_events_file())
		return false;
	virtual_wants = opt.ndevices ? device_wanted : NULL;
	if (events_add(list, set, &b))
		return true;
	usage_z(buf_z(&b));
	return false;
}

/* --pmu-file, where there is one. */
bool read_events_file(void)
{
	static char *text;
	static TABLE(text, 64 << 10, 4096, "bytes of --pmu-file");
	long n = opt.pmu_file ? file_slurp_table(opt.pmu_file, &text_table) : 0;

	if (n < 0)
		usage(opt.pmu_file, ": ", error_text(n));
	events_file = n > 0 ? str_of(text, (size_t)n) : LIT("");
	return n >= 0;
}

/* What -e named; a filter is of the tracepoints of the -e before it. */
bool add_lists(void)
{
	for (size_t i = 0; i < opt.nevents; i++) {
		u32 first = nevents + 1;

		if (!add_events(opt.events[i], 0))
			return false;
		for (u32 k = first; k <= nevents && opt.filters[i].p; k++) {
			if (events[k].type != PT_TRACEPOINT) {
				usage_z("--filter is for tracepoints, which those of the -e before it are not all");
				return false;
			}
			events[k].filter = text_put(NONE, opt.filters[i]);
		}
	}
	return true;
}

void say_lowered(void)
{
	say_z("only user space: kernel.perf_event_paranoid; as root, or: setcap cap_perfmon+ep gpustat");
}

/* Whom to count, now that /proc is open. Exit code or -1. */
int find_target(struct target *t)
{
	const char *missing;

	if (opt.command && !opt.command[0])
		return usage_z("which command? There is none behind --");
	if ((t->all && opt.npids) || (t->whole && t->threads))
		return usage_z("-a, -p and -t exclude each other");
	for (size_t i = 0; i < opt.npids; i++) {
		char pid[24];
		struct buf b = BUF_Z(pid);
		size_t first = 0;

		while (opt.pids[first] != opt.pids[i])
			first++;
		if (first < i) /* once is enough */
			continue;
		if (t->whole ? target_process(t, opt.pids[i]) : target_thread(t, opt.pids[i]))
			continue;
		put_u64(&b, opt.pids[i]);
		say(!t->whole ? "no thread " : root_proc < 0 ? "no /proc to find threads of process " : "no process ", buf_z(&b), NULL);
		return EX_FAIL;
	}
	if (!perf_cgroups(t, &missing)) {
		say("no cgroup ", missing, NULL);
		return EX_FAIL;
	}
	if (!opt.npids && !t->ncgroups && (!opt.command || t->has_cpus))
		t->all = true;
	return -1;
}

/* --control fd:N[,M] or fifo:PATH[,ACK]. Exit code or -1. */
int open_control(struct measure *m)
{
	struct str how = str_z(opt.control), ends[2];
	bool fifo;
	size_t n = 0;

	if (!how.p)
		return -1;
	fifo = str_skip_z(&how, "fifo:");
	if ((!fifo && !str_skip_z(&how, "fd:")) || !split(how, ends, 2, &n) || n == 0)
		return usage_z("--control is fd:N[,M] or fifo:PATH[,ACK]");
	for (size_t i = 0; i < n; i++) {
		char path[PATH_MAX + 1]; /* so that a name that is too long stays so */
		u64 number;
		long fd;

		device_set(path, sizeof(path), ends[i]);
		if (fifo)
			fd = file_open(path, O_RDWR | O_NONBLOCK);
		else
			fd = scan_u64(ends[i], &number) == ends[i].e && number < INT32_MAX ? (long)number : -EBADF;
		if (!fifo && fd >= 0 && !sys_is_open((int)fd))
			fd = -EBADF;
		if (fd < 0) {
			say_error(path, fd);
			return EX_FAIL;
		}
		*(i == 0 ? &m->control : &m->ack) = (int)fd;
	}
	return -1;
}

/* What the command ended with, as a shell says it. */
static int exit_of(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static int command_failed(long err)
{
	say_error(opt.command[0], err);
	return err == -ENOENT ? 127 : 126;
}

/* The exit code: the command's own where it failed. What became of its start is said. */
int command_result(const struct measure *m, int code)
{
	if (m->failure < 0)
		return command_failed(m->failure);
	if (m->argv && m->status < 0) {
		say(opt.command[0], ": what it ended with cannot be told: ", error_text(m->status));
		return EX_FAIL;
	}
	opt.command_exit = m->argv ? exit_of(m->status) : 0;
	return opt.command_exit ? opt.command_exit : code;
}
