/* target.c - the processes and threads to measure. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sys.h"

/* maximum number of threads to measure: 16384, as many as large servers have */
static TABLE(struct member, members, 16384, 512, "tasks to measure");

static bool target_add(struct target *t, u32 tid, u32 pid)
{
	if (!table_has(&members.t, t->ntasks)) {
		registry.dropped++;
		return false;
	}
	t->tasks = members.rows;
	members.rows[t->ntasks++] = (struct member){ tid, pid };
	return true;
}

/* Returns the PID of a thread's process; tid itself if the PID cannot be read. */
static u32 process_of(u32 tid)
{
	static const struct str key = STR("Tgid:");
	char path[TASK_PATH], text[1024];
	struct str rest, line;
	long n;
	u64 v;

	task_path(path, tid, "/status");
	n = slurp(roots.proc, path, text, sizeof(text));
	rest = str_read(text, n);
	while (line_next(&rest, &line))
		if (str_skip(&line, key) && scan_u64(str_trim(line), &v))
			return (u32)v;
	return tid;
}

/* Stores the name of a thread with text_put(). Returns the number of the stored string; NONE if the
 * thread has ended. */
u32 task_comm(u32 tid)
{
	char path[TASK_PATH], name[32];
	struct str line;

	task_path(path, tid, "/comm");
	return slurp_line(roots.proc, path, name, sizeof(name), &line) ? text_put(NONE, line) :
									 NONE;
}

/* Adds a thread to the target. False if the thread does not exist, or the table is full. */
bool target_thread(struct target *t, u32 tid)
{
	return sys_kill((int)tid, 0) != -ESRCH && target_add(t, tid, process_of(tid));
}

/* Adds all threads of a process to the target. False if the process does not exist. */
bool target_process(struct target *t, u32 pid)
{
	char path[TASK_PATH];
	const char *name;
	struct dir d;
	bool any = false;
	u64 tid;
	u8 was;

	task_path(path, pid, "/task");
	/* if /proc is mounted with hidepid, reading the folder requires CAP_SYS_PTRACE */
	was = privilege_raise(MAY_PTRACE);
	dir_open(&d, roots.proc, path);
	privilege_lower(was);
	if (d.fd < 0)
		return false;
	while ((name = dir_next(&d))) {
		if (!scan_u64(str_z(name), &tid))
			continue;
		any = true;
		if (!target_add(t, (u32)tid, pid))
			break;
	}
	dir_close(&d);
	return any;
}

/* Adds all threads of all processes to the target. False if /proc cannot be read. */
bool target_machine(struct target *t)
{
	const char *name;
	struct dir d;
	u64 pid;

	dir_open(&d, roots.proc, ".");
	if (d.fd < 0)
		return false;
	while ((name = dir_next(&d)))
		if (scan_u64(str_z(name), &pid) && pid <= INT32_MAX)
			/* a result of false is ignored: the process has ended since /proc was
			 * listed */
			target_process(t, (u32)pid);
	dir_close(&d);
	t->every = true;
	return t->ntasks != 0;
}

/* True if all tasks of the target have ended. A zombie has no threads to count, but is not taken as
 * ended until its parent waits for it, since kill(2) still finds it. */
bool target_ended(const struct target *t)
{
	for (u32 i = 0; i < t->ntasks; i++)
		if (sys_kill((int)t->tasks[i].tid, 0) != -ESRCH)
			return false;
	return t->ntasks != 0;
}
