/* t_intervals.c - unit test of views/intervals.c and views/syscalls.c: sums of the waits of
 * tasks and of system calls: the order of events, losses, times that go backwards, chosen tasks,
 * tasks that end, full tables; names of system calls. SPDX-License-Identifier: MIT */
#include "../../views/intervals.c" /* for its static tables */
#include "unit.h"

#include <sys/syscall.h>

#define S(lit) ((struct str)STR(lit))

static void begin(bool by_calls)
{
	struct rows *all[] = { &intervals.tasks, &intervals.calls };

	for (int i = 0; i < 2; i++) {
		if (all[i]->row)
			memset(all[i]->row, 0, all[i]->table.ready * sizeof(struct row));
		all[i]->n = all[i]->nbuckets = all[i]->free = 0;
	}
	intervals.epoch = 0;
	intervals.some = false;
	intervals.dropped = 0;
	intervals_begin(by_calls);
}

/* Returns the sum with this key, or one with 0 everywhere. */
static struct interval sum_of(u64 key)
{
	for (size_t i = 0, n = intervals_sort(); i < n; i++)
		if (intervals_row(i)->key == key)
			return *intervals_row(i);
	return (struct interval){ 0 };
}

static bool is(u64 key, u64 count, u64 total, u64 max)
{
	struct interval x = sum_of(key);

	if (x.count != count || x.total != total || x.max != max)
		note("count %" PRIu64 " total %" PRIu64 " max %" PRIu64, x.count, x.total, x.max);
	return x.count == count && x.total == total && x.max == max;
}

static void t_waits(void)
{
	begin(false);
	waits_in(5, S("a"), 50);
	check(is(5, 0, 0, 0), "waits: a task without a wakeup has no wait");
	waits_out(5, S("a"), false, 60);
	waits_wakeup(5, S("a"), 100);
	waits_wakeup(5, S("a"), 105);
	waits_in(5, S("b"), 110);
	check(is(5, 1, 10, 10), "waits: a wait is from the first wakeup until the task runs");
	check(strcmp(sum_of(5).comm, "b") == 0, "waits: a task has its latest name");
	waits_wakeup(5, S(""), 115);
	waits_out(5, S(""), true, 120);
	waits_in(5, S(""), 150);
	check(is(5, 2, 40, 30),
	      "waits: a task that is preempted waits; a wakeup of a running task is ignored");
	check(strcmp(sum_of(5).comm, "b") == 0,
	      "waits: an empty name does not change the name of a task");
	waits_out(5, S("b"), false, 160);
	waits_in(5, S("b"), 170);
	check(is(5, 2, 40, 30), "waits: a task that slept and runs without a wakeup has no wait");
	waits_out(5, S("b"), true, 200);
	waits_in(5, S("b"), 199);
	check(is(5, 2, 40, 30), "waits: a time that goes backwards adds nothing");
	waits_out(5, S("b"), true, 300);
	intervals_lost();
	waits_in(5, S("b"), 900);
	check(is(5, 2, 40, 30), "waits: a wait during which records were lost adds nothing");
	waits_out(5, S("b"), true, 910);
	waits_in(5, S("b"), 911);
	check(is(5, 3, 41, 30), "waits: the first wait after lost records is added");
	waits_wakeup(0, S("swapper/0"), 1);
	waits_out(0, S("swapper/0"), true, 2);
	waits_in(0, S("swapper/0"), 3);
	check(intervals_sort() == 1, "waits: task 0 never waits");
	waits_wakeup(6, S("a name that is longer than 16 bytes"), 0);
	waits_in(6, S("a name that is longer than 16 bytes"), UINT64_MAX);
	check(is(6, 1, UINT64_MAX, UINT64_MAX) && strcmp(sum_of(6).comm, "a name that is ") == 0,
	      "waits: the longest possible wait of a task with a long name");
	check(intervals_row(0)->key == 6 && intervals_row(1)->key == 5,
	      "waits: the longest wait comes first");
}

static void wait_one(u32 tid, u64 from, u64 ns)
{
	waits_wakeup(tid, S("x"), from);
	waits_in(tid, S("x"), from + ns);
	waits_out(tid, S("x"), false, from + ns);
}

static void t_wanted(void)
{
	begin(false);
	wait_one(7, 10, 5);
	waits_fork(7, 8);
	check(is(7, 1, 5, 5) && is(8, 0, 0, 0), "waits: all tasks are counted by default");
	begin(false);
	waits_want(7);
	waits_fork(7, 8);
	waits_fork(8, 9);
	waits_fork(20, 21);
	wait_one(7, 10, 5);
	wait_one(9, 10, 6);
	wait_one(20, 10, 7);
	wait_one(21, 10, 8);
	check(is(7, 1, 5, 5) && is(9, 1, 6, 6) && intervals_sort() == 2,
	      "waits: a chosen task and its descendants are counted");
}

static void t_calls(void)
{
	begin(true);
	calls_exit(3, 1, false, 5);
	check(intervals_sort() == 0, "calls: a call without its begin is not counted");
	calls_enter(3, 1, 10);
	calls_enter(4, 1, 11);
	calls_exit(3, 1, false, 14);
	calls_exit(4, 1, true, 21);
	calls_exit(4, 1, true, 22);
	check(is(1, 2, 14, 10) && sum_of(1).errors == 1,
	      "calls: calls of two tasks are counted, one of them as failed");
	calls_enter(3, 1, 30);
	calls_exit(3, 2, true, 40);
	check(is(1, 2, 14, 10) && is(2, 0, 0, 0),
	      "calls: the end of another call ends the call uncounted");
	calls_enter(3, 2, 50);
	calls_enter(3, 0, 60);
	calls_exit(3, 0, false, 61);
	check(is(2, 0, 0, 0) && is(0, 1, 1, 1),
	      "calls: a call that never returned is not counted; call 0 is");
	calls_enter(3, 2, 70);
	calls_exit(3, 2, true, 60);
	check(is(2, 0, 0, 0) && sum_of(2).errors == 0,
	      "calls: a call whose time goes backwards is not counted");
	calls_enter(3, 2, 80);
	intervals_lost();
	calls_exit(3, 2, true, 90);
	check(is(2, 0, 0, 0), "calls: a call during which records were lost is not counted");
	calls_enter(3, 2, 100);
	calls_end(3);
	calls_end(3);
	calls_exit(3, 2, false, 110);
	check(is(2, 0, 0, 0), "calls: a call of an ended task is not counted");
	calls_enter(3, UINT64_MAX, 200);
	calls_exit(3, UINT64_MAX, true, 300);
	check(is(UINT64_MAX, 1, 100, 100) && intervals_row(0)->key == UINT64_MAX,
	      "calls: number -1 is counted; the longest time comes first");
}

/* Many tasks in turn need one row. */
static void t_ended(void)
{
	u64 rows = 0;

	begin(true);
	for (u32 i = 1; i < 200000; i++) {
		calls_enter(i, 7, i);
		calls_exit(i, 7, false, i + 1);
		calls_enter(i, 60, i + 1);
		if (i % 3)
			calls_end(i - 1);
		else
			calls_end(i), calls_end(i - 1);
		rows = intervals.tasks.n;
	}
	check(rows <= 3 && intervals_dropped() == 0,
	      "calls: rows of ended tasks are used again: %" PRIu64, rows);
	check(is(7, 199999, 199999, 1), "calls: all calls of ended tasks are summed");
}

static void t_full(void)
{
	begin(false);
	for (u32 i = 1; i <= MAX_TIMED + 5; i++)
		wait_one(i, 1, i);
	check_u64(intervals_sort(), intervals.tasks.table.most, "full table: all rows are used");
	check(intervals_dropped() >= 5, "full table: waits without room are counted as dropped");
	check(intervals_row(0)->max == intervals.tasks.table.most &&
	      intervals_row(1)->max == intervals.tasks.table.most - 1,
	      "full table: rows are sorted by the longest wait");
	check(is(1, 1, 1, 1) && is(4711, 1, 4711, 4711), "full table: each row is found");
	begin(true);
	for (u32 i = 0; i < 3000; i++) {
		calls_enter(1, i, 1);
		calls_exit(1, i, false, 2);
	}
	check(intervals_sort() == MAX_CALLS && intervals_dropped() == 3000 - MAX_CALLS,
	      "full table: system calls without room are counted as dropped");
}

static void t_names(void)
{
	check_str(syscall_name((u64)SYS_read), "read",
	          "the name of a system call of all architectures");
	check_str(syscall_name((u64)SYS_exit_group), "exit_group",
	          "the name of another system call of all architectures");
	check_str(syscall_name(449), "futex_waitv",
	          "the name of a system call newer than the C library's header");
	check(!syscall_name(UINT16_MAX).p && !syscall_name(UINT64_MAX).p && !syscall_name((u64)SYS_read + 65536).p,
	      "numbers that are no system call have no name");
}

int main(void)
{
	t_waits();
	t_wanted();
	t_calls();
	t_ended();
	t_full();
	t_names();
	return unit_end();
}
