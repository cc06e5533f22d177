/* t_target.c - unit test of sources/perf/target.c: threads in a /proc made of files, threads and
 * targets that have ended. SPDX-License-Identifier: MIT */
#include "folder.h"
#include "sys.h"

#define sys_kill(tid, sig) ((tid) >= 90 && (tid) < 100 && (sig) == 0 ? -ESRCH : (tid) == 1 ? -EPERM : 0)
#include "../../sources/perf/target.c"

static void t_threads(void)
{
	static const struct {
		u32 tid;
		const char *status; /* NULL: no status file */
		u32 pid;
	} rows[] = {
		{ 11, "Name:\tTgid:\nTgid:\t10\nPid:\t11\n", 10 }, { 12, "Name:\tx\n", 12 }, { 13, NULL, 13 },
		{ 14, "Tgid:\t4294967295\n", UINT32_MAX }, { 15, "Tgid:\tx\nTgid:\t9\n", 9 },
		{ 1, "Tgid:\t1\n", 1 },
	};
	struct target t = { 0 };

	for (size_t i = 0; i < LEN(rows); i++) {
		if (rows[i].status)
			put(in_folder("%u/status", (unsigned)rows[i].tid), rows[i].status);
		check(target_thread(&t, rows[i].tid) && t.ntasks == i + 1 &&
		      t.tasks[i].tid == rows[i].tid && t.tasks[i].leader == rows[i].pid,
		      "thread %u is of process %u", (unsigned)rows[i].tid, (unsigned)rows[i].pid);
	}
	check(!target_thread(&t, 90) && t.ntasks == LEN(rows), "a missing thread is refused");
}

static void t_processes(void)
{
	struct target t = { 0 };
	u64 sum = 0;

	put(in_folder("20/task/20/x"), "");
	put(in_folder("20/task/21/x"), "");
	put(in_folder("20/task/22/x"), "");
	put(in_folder("20/task/name"), "");
	put_folder(in_folder("30/task"));
	check(target_process(&t, 20) && t.ntasks == 3, "a process of three threads is added");
	for (u32 i = 0; i < t.ntasks; i++)
		sum += t.tasks[i].leader == 20 ? t.tasks[i].tid : 0;
	check_u64(sum, 20 + 21 + 22, "all threads of the process are added");
	check(!target_process(&t, 30) && !target_process(&t, 40) && t.ntasks == 3,
	      "a process without threads and a missing process are refused");
}

/* Adds all processes of a machine, each once. A name that exceeds the numbers of processes is
 * not a process. */
static void t_machine(void)
{
	struct target t = { 0 };

	put(in_folder("4294967316/task/5/x"), ""); /* 2^32 + 20 */
	put(in_folder("self/task/5/x"), "");
	check(target_machine(&t) && t.every && t.ntasks == 3,
	      "a machine of three threads is added");
}

static void t_ended(void)
{
	struct target t = { 0 };
	struct member m[] = { { 90, 90 }, { 91, 90 }, { 10, 10 } };

	check(!target_ended(&t), "a target without tasks has not ended");
	t.tasks = m;
	t.ntasks = 3;
	check(!target_ended(&t), "a target with one living task has not ended");
	t.ntasks = 2;
	check(target_ended(&t), "a target whose tasks have all ended has ended");
	m[0].tid = 1;
	check(!target_ended(&t), "a target with a living task of another user has not ended");
}

static void t_names(void)
{
	u32 text;

	put(in_folder("20/comm"), " a b \n");
	text = task_comm(20);
	check(text_eq(text, LIT("a b")), "a thread has its name");
	check(task_comm(40) == NONE, "an ended thread has no name");
}

static void t_full(void)
{
	struct target t = { .ntasks = 16383 };
	u32 dropped = registry.dropped;

	check(target_thread(&t, 20) && t.ntasks == 16384, "the last row of the table is used");
	check(!target_thread(&t, 21) && t.ntasks == 16384 && registry.dropped == dropped + 1,
	      "a task without room is counted as dropped");
	check(target_process(&t, 20) && registry.dropped == dropped + 2,
	      "a process whose threads have no room is found, and counted as dropped");
}

int main(void)
{
	folder_begin("target");
	root_set(&roots.proc, tmp_folder);
	t_threads();
	t_processes();
	t_machine();
	t_ended();
	t_names();
	t_full();
	shell("rm -rf \"$D\"");
	return unit_end();
}
