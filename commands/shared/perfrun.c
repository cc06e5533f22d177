/* perfrun.c - shared by stat and sample: events, targets, --control, and the exit code of the
 * command.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sys.h"

#include <limits.h>
#include <stdlib.h>

/* Returns the path of the program that execvp(3) would run for a command; NULL if there is none. A
 * folder in $PATH that is too long is skipped. path: buffer for the result. */
static const char *command_file(const char *name, char path[PATH_MAX])
{
	const char *dirs = getenv("PATH");
	struct str rest = str_z(dirs ? dirs : "/usr/local/bin:/bin:/usr/bin"), dir;

	if (strchr(name, '/'))
		return name;
	while (str_cut(&rest, ':', &dir)) {
		struct buf b = buf_on(path, PATH_MAX - 1);

		put_str(&b, dir);
		put_z(&b, str_len(dir) ? "/" : "");
		put_z(&b, name);
		path[b.n] = '\0';
		if (!b.full && sys_faccess(AT_FDCWD, path, X_OK) == 0)
			return path;
	}
	return NULL;
}

/* Adds the events of a list, as in -e, to an event set. Returns false with a message on errors. */
bool add_events(struct str list, u16 set)
{
	char why[1024], path[PATH_MAX];
	struct buf b = BUF_Z(why);

	if (opt.pmu_file && !events_given.aliases.p && !read_events_file())
		return false;
	events_given.pid = opt.npids ? opt.pids[0] : 0;
	events_given.file = NULL;
	if (opt.command && opt.command[0])
		events_given.file = command_file(opt.command[0], path);
	virtual_filter = device_wanted;
	if (events_add(list, set, &b))
		return true;
	events_suggest(&b);
	usage_z(buf_z(&b));
	return false;
}

/* Reads the file of --pmu-file, if the option was given. Returns false with a message on errors. */
bool read_events_file(void)
{
	static TABLE(char, text, 64 << 10, 4096, "bytes of --pmu-file");
	long n = opt.pmu_file ? file_slurp_table(opt.pmu_file, &text.t) : 0;

	if (n < 0)
		usage(opt.pmu_file, ": ", error_text(n));
	events_given.aliases = n > 0 ? str_of(text.rows, (size_t)n) : LIT("");
	return n >= 0;
}

/* Adds the events of all options -e. A --filter applies to the events of the last -e before it,
 * which must all be tracepoints. Returns false with a message on errors. */
bool add_lists(void)
{
	for (size_t i = 0; i < opt.nevents; i++) {
		u32 first = nrows.events + 1;

		if (!add_events(opt.events[i], 0))
			return false;
		for (u32 k = first; k <= nrows.events && opt.filters[i].p; k++) {
			if (events[k].type != PT_TRACEPOINT) {
				usage_z("--filter requires only tracepoints in the -e before it");
				return false;
			}
			events[k].filter = text_put(NONE, opt.filters[i]);
		}
	}
	return true;
}

void say_user_only(void)
{
	say_z("only user space is counted, because of kernel.perf_event_paranoid; "
	      "run as root, or: setcap cap_perfmon+ep gpustat");
}

/* Stores in *t the threads and cgroups in which events are counted. The caller has opened /proc.
 * Returns the exit code, with a message, on errors; -1 to continue. */
int find_target(struct target *t)
{
	const char *missing;

	if (opt.command && !opt.command[0])
		return usage_z("no command after --");
	if ((t->all && opt.npids) || (t->whole && t->threads))
		return usage("-a, -p and -t", " exclude each other", NULL);
	for (size_t i = 0; i < opt.npids; i++) {
		char pid[24];
		struct buf b = BUF_Z(pid);
		size_t first = 0;

		while (opt.pids[first] != opt.pids[i])
			first++;
		if (first < i) /* the option has the same PID twice */
			continue;
		if (t->whole ? target_process(t, opt.pids[i]) : target_thread(t, opt.pids[i]))
			continue;
		put_u64(&b, opt.pids[i]);
		say(!t->whole ? "no thread has the TID " :
		    roots.proc < 0 ? "/proc is required to find the threads of process " :
		    "no process has the PID ",
		    buf_z(&b), NULL);
		return EX_FAIL;
	}
	if (!perf_cgroups(t, &missing)) {
		say("no such cgroup: ", missing, NULL);
		return EX_FAIL;
	}
	if (!opt.npids && !t->ncgroups && (!opt.command || t->has_cpus))
		t->all = true;
	if (t->split >= SPLIT_CORE && !t->all && !t->ncgroups)
		return usage_z("--per-core, --per-die, ... "
			       "require -a or -C: a task may run on all CPUs");
	if (t->all && t->split == SPLIT_THREAD) {
		t->all = false;
		if (!target_machine(t)) {
			say_z("--per-thread requires /proc, to find all threads");
			return EX_FAIL;
		}
	}
	return -1;
}

/* Opens the descriptors or FIFOs that --control fd:N[,M] or fifo:PATH[,ACK] names. Returns the exit
 * code, or -1 to continue. */
int open_control(struct measure *m)
{
	struct str how = str_z(opt.control), ends[2];
	bool fifo;
	size_t n = 0;

	if (!how.p)
		return -1;
	fifo = str_skip_z(&how, "fifo:");
	if ((!fifo && !str_skip_z(&how, "fd:")) || !split(how, ends, 2, &n) || n == 0)
		return usage("invalid value '", opt.control,
			     "' for --control: use fd:N[,M] or fifo:PATH[,ACK]");
	for (size_t i = 0; i < n; i++) {
		/* one byte longer than the longest valid path, so that the kernel refuses a path
		 * that is too long */
		char path[PATH_MAX + 1];
		u64 number;
		long fd;

		str_copy(path, sizeof(path), ends[i]);
		if (fifo)
			fd = file_open(path, O_RDWR | O_NONBLOCK);
		else
			fd = scan_u64(ends[i], &number) == ends[i].e && number < INT32_MAX ?
			     (long)number : -EBADF;
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

/* Returns the exit code of gpustat: that of the user's command if it failed, else `code`. Prints a
 * message if the command could not be started or waited for. */
int command_result(const struct measure *m, int code)
{
	int status = m->argv ? command_code(m->failure, m->status) : 0;

	return status ? status : code;
}
