/* t_processes.c - the process table, its queues, and the process list: in a /proc made of files, in
 * which PID/fd is a file. Its length stands for the number of descriptors, which Linux 6.2 and
 * later report as the size of the folder. SPDX-License-Identifier: MIT */
#include "../../sources/drm/processes.c"
#include "folder.h"

enum { MANY = 200 };

static u32 gone_pids[8], ngone;

static void gone(u32 pid)
{
	if (ngone < LEN(gone_pids))
		gone_pids[ngone++] = pid;
}

/* Makes a process with this many descriptors. */
static void process(u32 pid, size_t fds)
{
	char bytes[256] = "";

	put_file(in_folder("proc/%u/fd", (unsigned)pid), bytes, fds);
}

static void ends(u32 pid)
{
	char b[64];

	snprintf(b, sizeof(b), "rm -r $D/proc/%u", (unsigned)pid);
	shell(b);
}

/* Lists all processes. Returns their number, and the sum of their pids in *sum. */
static u32 list(bool at_once, u64 *sum)
{
	u32 n = 0, pid;

	*sum = 0;
	ngone = 0;
	proc_list_begin(at_once);
	while ((pid = proc_list_next(gone)) != NONE) {
		n++;
		*sum += pid;
	}
	return n;
}

/* Ends all processes, and empties the table. */
static void reset(void)
{
	u64 sum;

	shell("rm -rf $D/proc/*");
	registry.repeats = true;
	list(true, &sum);
	memset(&proclist, 0, sizeof(proclist));
}

/* Stores the result of an fd scan that found n descriptors. */
static void scanned(u32 pid, u32 n, bool refused, bool asleep)
{
	struct stat st = { 0 };

	stat(in_folder("proc/%u/fd", (unsigned)pid), &st);
	process_scanned(pid, &st, fileio.open_fds, n, refused, asleep);
}

/* Returns whether the table has exactly these pids, in this order. */
static bool table_is(const u32 *pids, u32 n)
{
	u32 pid = 0, at = 0;

	while ((pid = process_after(pid)) != NONE && at < n && pids[at] == pid)
		at++;
	return pid == NONE && at == n && processes_known() == n;
}

#define IS_TABLE(...) \
	table_is((const u32[]){ __VA_ARGS__ }, LEN(((const u32[]){ __VA_ARGS__ })))

/* --- the list --------------------------------------------------------------------------------- */

static void t_list(void)
{
	static const char *const others[] = { "self", "0", "12x", "-1", "2147483648", "4294967297",
					      "99999999999999999999", "1 ", "sys" };
	u64 sum;

	reset();
	for (size_t i = 0; i < LEN(others); i++)
		put_folder(in_folder("proc/%s", others[i]));
	process(400, 3);
	process(1, 3);
	process(30, 3);
	process(2147483647, 3);
	process(2, 3);
	for (int at_once = 0; at_once < 2; at_once++) {
		check(list(at_once, &sum) == 5 && sum == UINT64_C(2147483647) + 433,
		      "at once %d: the list has each process once", at_once);
		check(IS_TABLE(1, 2, 30, 400, 2147483647), "at once %d: rows are sorted", at_once);
	}
	check(process_after(30) == 400 && process_after(31) == 400 && process_after(2) == 30,
	      "process_after() of a known and of an unknown pid");
	ends(30);
	process(3, 3);
	proc_list_begin(false);
	check(proc_list_next(gone) != NONE && proc_list_is_open(),
	      "a list is open after its first process");
	proc_list_end();
	check(ngone == 0 && !proc_list_is_open(),
	      "a list that was ended early reports no process as ended");
	list(true, &sum);
	check(ngone == 1 && gone_pids[0] == 30, "a complete list reports the ended process");
	check(IS_TABLE(1, 2, 3, 400, 2147483647),
	      "the row of a new process is in the order of the pids");
	ends(1);
	ends(400);
	list(false, &sum);
	check(ngone == 2 && gone_pids[0] == 1 && gone_pids[1] == 400,
	      "two ended processes are reported in their order");
	registry.repeats = false;
	process(5, 3);
	check(list(true, &sum) == 4 && ngone == 0 && IS_TABLE(2, 3, 2147483647),
	      "in a single reading, the table is not used");
	registry.repeats = true;
}

static void t_calls(void)
{
	u64 sum;
	u32 before, once, steps, n = 0, pid;

	reset();
	for (u32 i = 1; i <= MANY; i++)
		put_folder(in_folder("proc/%u", (unsigned)i + 1000));
	before = fileio.calls;
	check(list(true, &sum) == MANY && sum == MANY * 1000 + MANY * (MANY + 1) / 2,
	      "the list has %d processes",
	      MANY);
	once = fileio.calls - before;
	before = fileio.calls;
	list(false, &sum);
	steps = fileio.calls - before;
	check(once <= 4, "a list that is read at once takes 4 calls: open, read twice, close");
	check(steps > once && steps <= 16, "a list that is read in steps takes at most 16 calls");
	sum = 0;
	check(!proc_list_suspend(), "without a list, proc_list_suspend() returns false");
	proc_list_begin(true);
	check(!proc_list_suspend(), "a list that is read at once is not suspended");
	proc_list_begin(false);
	while ((pid = proc_list_next(gone)) != NONE) {
		sum += pid;
		if (++n % 50 == 1)
			check(proc_list_suspend() && !proc_list_suspend() && proc_list_is_open(),
			      "the list is suspended after %u processes", (unsigned)n);
	}
	check(n == MANY && sum == MANY * 1000 + MANY * (MANY + 1) / 2,
	      "a suspended list has each process once");
	check_u64(processes_known(), MANY, "a suspended list reports no process as ended");
}

static void t_descriptors(void)
{
	u32 transient = fileio.transient;
	i32 before = fileio.open_fds;
	u64 sum;
	int fd;

	reset();
	process(1, 3);
	process(2, 3);
	list(true, &sum);
	proc_list_begin(false);
	proc_list_next(gone);
	proc_list_suspend();
	check(fileio.open_fds == before, "a suspended list has no descriptor open");
	descriptors_forbid(true);
	check(proc_list_next(gone) == NONE && !proc_list_is_open(),
	      "without free descriptors, a suspended list ends");
	check_u64(processes_known(), 2,
	          "a list that could not be continued reports no process as ended");
	descriptors_forbid(false);
	proc_list_begin(false);
	fd = open("/dev/null", O_RDONLY);
	dup2(fd, proclist.d.fd);
	close(fd);
	ngone = 0;
	check(proc_list_next(gone) == NONE && ngone == 0 && processes_known() == 2,
	      "a list that ends with an error reports no process as ended");
	descriptors_forbid(true);
	proc_list_begin(true);
	check(!proc_list_is_open() && proc_list_next(gone) == NONE,
	      "without free descriptors, no list is opened");
	proc_list_begin(false);
	check(!proc_list_is_open() && fileio.transient == transient + 2,
	      "both failures to open /proc are counted as transient errors");
	check_u64(processes_known(), 2,
	          "after failures to open /proc, no process is reported as ended");
	descriptors_forbid(false);
	check(list(false, &sum) == 2 && fileio.open_fds == before,
	      "the next list after errors is complete");
}

static void t_room(void)
{
	u32 ready = processes.t.ready, most = processes.t.most, dropped = 0;
	u64 sum;

	reset();
	while (table_full(&dropped))
		;
	for (u32 i = 1; i <= 6; i++)
		process(i, 3);
	processes.t.ready = processes.t.most = 4;
	check(list(true, &sum) == 6 && sum == 21,
	      "with a full table, the list still has each process");
	check(processes_known() == 4 && processes_unlisted() == 2,
	      "with a full table, two processes have no row");
	proc_list_begin(false);
	proc_list_next(gone);
	proc_list_end();
	check_u64(processes_unlisted(), 2,
	          "an incomplete list does not change the number of processes without a row");
	check(table_full(&dropped) == &processes.t && dropped >= 2,
	      "table_full() returns the table of processes");
	processes.t.ready = ready;
	processes.t.most = most;
	list(true, &sum);
	check(processes_known() == 6 && processes_unlisted() == 0,
	      "after the table has grown, all processes have rows");
}

/* --- changes ---------------------------------------------------------------------------------- */

static void t_changed(void)
{
	u32 before;
	u64 sum;

	reset();
	process(10, 3);
	process(20, 3);
	list(true, &sum);
	before = fileio.calls;
	check(process_changed(10, false), "a process that was never scanned has changed");
	check_u64(fileio.calls - before, 1, "process_changed() is one system call");
	check(!process_changed(99, true), "an unknown process has not changed");
	check(process_is_stale(10) && process_is_stale(99),
	      "neither a new nor an unknown process is up to date");
	scanned(10, 2, false, false);
	check(!kernel_counts_fds(),
	      "a size that differs from the number of descriptors does not prove that the kernel "
	      "counts them");
	check(process_is_stale(10) && !process_changed(10, false) && process_changed(10, true),
	      "a process with a different count is scanned again only after a notice");
	scanned(20, 3, false, false);
	check(kernel_counts_fds(),
	      "a size equal to the number of descriptors proves that the kernel counts them");
	check(!process_is_stale(20) && !process_changed(20, true),
	      "a process with the same count is up to date");
	process(20, 4);
	check(process_changed(20, false), "a process with one more descriptor has changed");
	scanned(20, 4, false, false);
	put_file(in_folder("proc/20/new"), "1234", 4);
	rename(in_folder("proc/20/new"), in_folder("proc/20/fd"));
	check(process_changed(20, false),
	      "another process with the same pid and count has changed");
	process(20, 0);
	check(!process_changed(20, false) && !process_is_stale(20),
	      "a kernel thread, without descriptors, is up to date");
	scanned(20, 0, true, false);
	check(process_is_stale(20), "a process that may not be read is stale");
	ends(20);
	check(process_changed(20, false), "an ended process has changed");
}

static void t_self(void)
{
	u32 self = (u32)getpid();
	u64 sum;

	reset();
	process(self, 10);
	list(true, &sum);
	roots.proc_given = false;
	fileio.open_fds = 3;
	scanned(self, 7, false, false);
	check(!kernel_counts_fds() && !process_is_stale(self),
	      "the size of gpustat's own folder does not prove that the kernel counts descriptors");
	fileio.open_fds = 5;
	process(self, 12);
	check(!process_changed(self, true),
	      "descriptors that gpustat has opened for scans are not a change");
	process(self, 13);
	check(process_changed(self, true), "any other new descriptor of gpustat is a change");
	fileio.open_fds = 0;
	roots.proc_given = true;
	scanned(self, 13, false, false);
	check(kernel_counts_fds(),
	      "in another machine's /proc, gpustat's pid is an ordinary process");
}

static void t_flags(void)
{
	u64 sum;

	reset();
	for (u32 i = 1; i <= 4; i++)
		process(i, 3);
	list(true, &sum);
	scanned(1, 3, false, false);
	check(!processes_notified(), "a complete scan does not queue its process");
	scanned(2, 2, false, false);
	check(process_dequeue(QUEUE_NOTIFIED) == 2,
	      "a process is scanned again if its count was one too low");
	scanned(2, 2, false, false);
	check(!processes_notified(),
	      "a process is not scanned a third time for the same difference");
	scanned(2, 3, false, false);
	scanned(2, 2, false, false);
	check(process_dequeue(QUEUE_NOTIFIED) == 2,
	      "after a complete scan, a process is scanned again for a new difference");
	scanned(1, 4, false, false);
	check(!processes_notified() && process_is_stale(1),
	      "a process with more descriptors than counted is stale, and is not queued");
	scanned(3, 0, true, false);
	scanned(4, 1, true, false);
	scanned(4, 1, true, false);
	check_u64(processes_refused(), 2, "a process that may not be read is counted once");
	check(!processes_notified(),
	      "processes that may not be read are not scanned again at once");
	scanned(4, 3, false, false);
	check_u64(processes_refused(), 1, "a process that may be read now is not counted any more");
	ends(3);
	list(true, &sum);
	check_u64(processes_refused(), 0,
	          "an ended process is not counted as one that may not be read");
	scanned(1, 3, false, true);
	scanned(2, 3, false, true);
	scanned(4, 3, false, true);
	scanned(2, 3, false, false);
	processes_enqueue_asleep();
	check(proclist.nwaiting[QUEUE_NOTIFIED] == 2 && process_dequeue(QUEUE_NOTIFIED) != 2 &&
	      process_dequeue(QUEUE_NOTIFIED) != 2,
	      "after a device woke up, the processes whose scan left it out are queued");
	registry.repeats = false;
	scanned(77, 3, true, false);
	check(processes_known() == 3 && processes_refused() == 0,
	      "in a single reading, no scan is stored");
	registry.repeats = true;
}

/* --- queues ----------------------------------------------------------------------------------- */

static void t_queues(void)
{
	u64 sum;

	reset();
	for (u32 i = 1; i <= 5; i++)
		process(i, 3);
	list(true, &sum);
	for (u8 q = 0; q < QUEUES; q++)
		check(process_dequeue(q) == NONE, "queue %u is empty", q);
	process_enqueue(99, true);
	check(!processes_notified(), "an unknown process is not queued");
	scanned(3, 3, false, false);
	process_enqueue(2, false);
	process_enqueue(3, false);
	process_enqueue(4, true);
	check(process_dequeue(QUEUE_NEW) == 2 && process_dequeue(QUEUE_NEW) == NONE,
	      "a process that was never scanned is in the queue of new processes");
	check(process_dequeue(QUEUE_CHANGED) == 3 && process_dequeue(QUEUE_CHANGED) == NONE,
	      "a process that was scanned is in the queue of changed processes");
	check(process_dequeue(QUEUE_NOTIFIED) == 4 && !processes_notified(),
	      "a process with a notice is in the queue of notified processes");
	process_enqueue(5, true);
	process_enqueue(5, true);
	process_enqueue(5, false);
	check(process_dequeue(QUEUE_NOTIFIED) == 5 && process_dequeue(QUEUE_NOTIFIED) == NONE &&
	      process_dequeue(QUEUE_NEW) == NONE, "a process leaves all of its queues at once");
	for (u32 i = 1; i <= 4; i++)
		process_enqueue(i, true);
	check(process_dequeue(QUEUE_NOTIFIED) == 1 && process_dequeue(QUEUE_NOTIFIED) == 2,
	      "processes leave a queue in the order of their pids");
	process_enqueue(1, true);
	check(process_dequeue(QUEUE_NOTIFIED) == 3 && process_dequeue(QUEUE_NOTIFIED) == 4 &&
	      process_dequeue(QUEUE_NOTIFIED) == 1,
	      "a process that is queued again waits until all others have left the queue");
	process_enqueue(2, true);
	ends(2);
	list(true, &sum);
	check(!processes_notified() && process_dequeue(QUEUE_NOTIFIED) == NONE,
	      "an ended process leaves its queue");
}

int main(void)
{
	folder_begin("t_processes");
	root_set(&roots.proc, in_folder("proc"));
	roots.proc_given = true;
	t_list();
	t_calls();
	t_descriptors();
	t_room();
	t_changed();
	t_self();
	t_flags();
	t_queues();
	shell("rm -rf $D");
	return unit_end();
}
