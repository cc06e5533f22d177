/* t_discovery.c - client discovery in a /proc made of files: the full scan, notified processes, the
 * rescan with its budget, and losses. No file system of the test counts descriptors in the size of
 * a folder, so that all processes are regarded as changed after a notice.
 * SPDX-License-Identifier: MIT */
#include "../../sources/drm/discovery.c"
#include "folder.h"

#define NODE "/dev/dri/renderD128"

static char proc_name[512];

/* --- machines --------------------------------------------------------------------------------- */

/* A descriptor with this number in a process; text: its fdinfo. */
static void descriptor(u32 pid, u32 fd, const char *target, const char *text)
{
	put_link(in_folder("proc/%u/fd/%u", (unsigned)pid, (unsigned)fd), target);
	if (text)
		put(in_folder("proc/%u/fdinfo/%u", (unsigned)pid, (unsigned)fd), text);
}

static void holder(u32 pid, u32 fd, u32 client)
{
	char text[128];

	snprintf(text, sizeof(text), "pos:\t0\ndrm-driver:\ti915\ndrm-client-id:\t%u\n"
		 "drm-engine-render:\t1000 ns\n", (unsigned)client);
	descriptor(pid, fd, NODE, text);
}

/* Makes the processes from first to last, each with this many descriptors of other files. */
static void crowd(u32 first, u32 last, u32 fds)
{
	for (u32 pid = first; pid <= last; pid++)
		for (u32 fd = 0; fd < fds; fd++)
			descriptor(pid, fd, "/dev/null", NULL);
}

/* Ends all processes, and forgets all facts about them. */
static void reset(u32 budget)
{
	src_fdinfo.rest();
	shell("rm -rf $D/proc; mkdir -p $D/proc/1/root/dev/dri; : >$D/proc/1/root/dev/dri/node");
	root_set(&roots.proc, proc_name);
	shell("mv $D/proc/1 $D/1");
	full_scan();
	shell("mv $D/1 $D/proc/1");
	clients_drop(false);
	anonymous_resolve();
	for (u32 i = 1; i <= nrows.devices; i++)
		devices[i].e.used = false;
	nrows.devices = 0;
	memset(&discovery, 0, sizeof(discovery));
	discovery.compute_read = INT64_MAX / 2; /* KFD processes are not searched for */
	rescan.budget = budget;
	rescan.timed = false;
}

static void sample(void)
{
	nodes_changed();
	src_fdinfo.scan();
	src_fdinfo.sample();
}

static u32 clients_known(void)
{
	u32 n = 0;

	for (u32 i = 1; i <= nrows.clients; i++)
		n += clients[i].e.used;
	return n;
}

static u32 holders_known(void)
{
	u32 n = 0;

	for (u32 i = 1; i <= nrows.holders; i++)
		n += holders[i].client != NONE;
	return n;
}

/* Takes samples until a rescan cycle ends. Returns how many, at most 1000. */
static u32 cycle(void)
{
	u32 n = 0;

	do {
		src_fdinfo.scan();
		n++;
	} while (!discovery.cycle_over && n < 1000);
	return n;
}

static void node_open(void)
{
	close(open(in_folder("proc/1/root/dev/dri/node"), O_RDONLY));
}

/* --- the full scan ---------------------------------------------------------------------------- */

static void t_full(void)
{
	struct rescan_facts f;
	unsigned had;

	reset(RESCAN_ALL);
	had = fds_open();
	check(!rescan_facts().scanned && rescan_facts().descriptors == 0,
	      "before the first scan nothing is known");
	descriptor(10, 0, "/dev/null", NULL);
	holder(10, 5, 7);
	holder(10, 6, 7);
	holder(20, 3, 8);
	put_folder(in_folder("proc/30"));
	src_fdinfo.start();
	f = rescan_facts();
	check(f.scanned && f.descriptors == 4 && f.samples == 1 && !f.measured_pace,
	      "with a full scan in each sample, the first sample finds everything");
	check_u64(discovery.cycle_calls, 4, "a scan of a descriptor is one system call");
	check(clients_known() == 2 && holders_known() == 3,
	      "two clients with three descriptors are found");
	sample();
	holder(30, 4, 8);
	holder(30, 5, 9);
	shell("rm -r $D/proc/10");
	sample();
	check(clients_known() == 2 && holders_known() == 3,
	      "an ended client is removed, and a new one is found");
	check_u64(rescan_facts().descriptors, 3,
		  "rescan_facts() has the number of descriptors of the last scan");
	shell("mv $D/proc/30/fd/5 $D/link");
	full_scan();
	check_u64(holders_known(), 2, "a full scan drops the holder of a closed descriptor");
	shell("mv $D/link $D/proc/30/fd/5");
	full_scan();
	check_u64(holders_known(), 3, "a full scan finds a descriptor of a known client");
	src_fdinfo.rest();
	check(fds_open() == had, "rest() closes all descriptors");
	shell("mv $D/proc $D/away");
	src_fdinfo.scan();
	check(clients_known() == 2, "an open /proc that was moved is still scanned");
	shell("mv $D/away $D/proc");
	descriptors_forbid(true);
	full_scan();
	descriptors_forbid(false);
	f = rescan_facts();
	check(f.samples == 0 && f.scanned && discovery.proc_unopened,
	      "if /proc could not be opened, no time of a cycle is stated");
	check(holders_known() == 3, "if /proc could not be opened, no holder is dropped");
}

/* --- notified processes ----------------------------------------------------------------------- */

static void t_notices(void)
{
	u32 before;

	reset(0);
	holder(10, 5, 7);
	src_fdinfo.start();
	sample();
	holder(40, 3, 9);
	before = fileio.calls;
	src_fdinfo.scan();
	check_u64(fileio.calls - before, 0, "without a notice and a rescan, a scan makes no call");
	src_fdinfo.sample();
	check_u64(clients_known(), 1, "a new client without a notice is not found");
	node_open();
	sample();
	check_u64(clients_known(), 2, "the client is found in the sample after a notice");
	check(!discovery.opened_without_client,
	      "no open is unexplained after its client was found");
	node_open();
	sample();
	check(discovery.opened_without_client,
	      "a notice came before its descriptor: the open is unexplained");
	holder(41, 3, 10);
	sample();
	check(clients_known() == 3 && !discovery.opened_without_client,
	      "the client of an unexplained open is found in the next sample");
	put(in_folder("proc/10/fdinfo/5"), "pos:\t0\n");
	shell("rm $D/proc/10/fd/5");
	holder(50, 3, 7);
	sample();
	check(clients_known() == 3 && discovery.all_checked,
	      "after the last holder of a client has gone, its new holder is searched for");
	check_u64(rescan_facts().samples, 0, "without a rescan, no time of a cycle is stated");
}

static void t_notified_budget(void)
{
	u32 before, calls[2], at = 0;

	reset(0);
	crowd(10, 12, 20);
	holder(12, 90, 7);
	src_fdinfo.start();
	for (u32 pid = 10; pid <= 12; pid++)
		process_enqueue(pid, true);
	discovery.notified_calls_left = 30;
	before = fileio.calls;
	notified_scan();
	calls[at++] = fileio.calls - before;
	check(calls[0] >= 30 && calls[0] <= 36 && discovery.notified_calls_left <= 0,
	      "the scan of notified processes ends with the step that exceeds its calls");
	check(discovery.queue_scans[QUEUE_NOTIFIED].open && processes_notified(),
	      "the scan of one process is interrupted, and another process is still queued");
	notified_scan();
	check_u64(fileio.calls - before, calls[0], "without calls left, nothing is scanned");
	discovery.notified_calls_left = NOTIFIED_CALLS;
	notified_scan();
	check(!discovery.queue_scans[QUEUE_NOTIFIED].open && !processes_notified() &&
	      discovery.notified_calls_left > 0, "with calls left, all processes are scanned");
	check_u64(holders_known(), 1, "a rescan of a known descriptor does not add a holder");
}

/* --- parts of the rescan ---------------------------------------------------------------------- */

static bool row_is_even(u32 n)
{
	return n % 2 == 0;
}

static bool row_is_none(u32 n)
{
	(void)n;
	return false;
}

static void t_cursor(void)
{
	struct cursor c = { .at = 0, .left = 7 };

	check(cursor_next(&c, 7, row_is_even) == 2 && cursor_next(&c, 7, row_is_even) == 4 &&
	      cursor_next(&c, 7, row_is_even) == 6, "a cursor finds the rows in their order");
	check(cursor_next(&c, 7, row_is_even) == NONE && c.left == 0 && c.at == 7,
	      "a cursor checks each row once");
	c.left = 3;
	check(cursor_next(&c, 7, row_is_even) == 2 && c.left == 1,
	      "in the next sample, a cursor continues with row 1 after the last row");
	c = (struct cursor){ .at = 9, .left = 4 };
	check(cursor_next(&c, 4, row_is_even) == 2,
	      "a cursor finds a row after the table became shorter");
	check(cursor_next(&c, 4, row_is_none) == NONE && c.at == 4,
	      "a cursor returns NONE if no row matches");
	c = (struct cursor){ .at = 0, .left = 0 };
	check(cursor_next(&c, 0, row_is_even) == NONE, "a cursor of an empty table returns NONE");
}

static void t_parts(void)
{
	u64 sum = 0;
	u32 calls;

	reset(80);
	for (u32 i = 0; i < PARTS; i++) {
		sum += rescan_steps[i].share;
		discovery.parts[i].spent = 100;
		if (!check(SCALE % rescan_steps[i].share == 0,
		           "the share of part %u divides SCALE", (unsigned)i))
			note("%u", rescan_steps[i].share);
	}
	check_u64(sum, SHARES, "the shares of all parts add up to SHARES");
	discovery.parts[PART_CHANGED].spent = discovery.parts[PART_NEW].spent = 99;
	check(part_next() == PART_NEW,
	      "the part with the least spent calls is next, the first of equal ones");
	discovery.parts[PART_NEW].over = true;
	check(part_next() == PART_CHANGED, "a part with nothing to do is left out");
	for (u32 i = 0; i < PARTS; i++)
		discovery.parts[i].over = true;
	check(part_next() == PARTS, "after all parts are over, there is no next part");
	discovery.latest_spent = 150;
	calls = part_step(PART_PROCESS);
	check(calls > 0 &&
	      discovery.parts[PART_PROCESS].spent == 150 + calls * SCALE / PROCESS_SHARE,
	      "a part that was over starts with the spent calls of the others");
	check(!discovery.parts[PART_NEW].over && !discovery.parts[PART_CHANGED].over,
	      "after a process was checked, the parts of the queues are not over");
	discovery.parts[PART_NEW].spent = 400;
	check(part_step(PART_NEW) == 0 && discovery.parts[PART_NEW].spent == 400 &&
	      discovery.parts[PART_NEW].over,
	      "a step of an empty queue takes no calls, and its part is over");
}

static void t_allowed(void)
{
	static const struct {
		u32 before, want;
	} rows[] = { { 0, 80 }, { 1, 79 }, { 39, 41 }, { 40, 40 }, { 41, 40 }, { 5000, 40 } };

	reset(80);
	for (size_t i = 0; i < LEN(rows); i++) {
		discovery.calls_at_sample_end = fileio.calls - rows[i].before;
		rescan.timed = true;
		check_u64(rescan_calls_allowed(), rows[i].want,
		          "timed budget: allowed calls after %u calls for devices",
			  (unsigned)rows[i].before);
		rescan.timed = false;
		check_u64(rescan_calls_allowed(), 80, "untimed budget: all calls are allowed");
	}
}

/* --- the budget ------------------------------------------------------------------------------- */

static void t_budget(void)
{
	static const u32 budgets[] = { 1, 5, 20, 80, 1000 };

	for (size_t i = 0; i < LEN(budgets); i++) {
		u64 most = 0;
		u32 before, all;

		reset(budgets[i]);
		crowd(10, 29, 8);
		src_fdinfo.start();
		all = fileio.calls;
		for (u32 k = 0; k < 50; k++) {
			before = fileio.calls;
			src_fdinfo.scan();
			most = fileio.calls - before > most ? fileio.calls - before : most;
		}
		all = fileio.calls - all;
		check(all >= 50 && all <= 50 * budgets[i],
		      "budget %u: 50 samples do not exceed the budget",
		      (unsigned)budgets[i]);
		check(most <= budgets[i] + 5,
		      "budget %u: a sample exceeds the budget by one step at most",
		      (unsigned)budgets[i]);
	}
}

static void t_shares(void)
{
	u64 process, fd;

	reset(40);
	crowd(10, 109, 4);
	src_fdinfo.start();
	for (u32 k = 0; k < 8; k++)
		src_fdinfo.scan();
	process = discovery.parts[PART_PROCESS].spent / (SCALE / PROCESS_SHARE);
	fd = discovery.parts[PART_DESCRIPTOR].spent / (SCALE / DESCRIPTOR_SHARE);
	check(process + fd > 8 * 40 - 8 * 5 && process + fd <= 8 * 40,
	      "two parts with work use the whole budget");
	if (!check(fd >= 3 * process - 10 && fd <= 3 * process + 20,
		   "descriptors have three times the calls of processes"))
		note("%" PRIu64 " and %" PRIu64, fd, process);
}

/* --- the cycle -------------------------------------------------------------------------------- */

static void t_cycle(void)
{
	u64 promised;
	u32 n = 0;

	reset(20);
	crowd(10, 39, 6);
	src_fdinfo.start();
	for (u32 k = 0; k < 20; k++)
		src_fdinfo.scan();
	promised = rescan_facts().samples;
	for (u32 k = 0; k < 3; k++) {
		u32 took = cycle();

		if (!check(took <= promised && took * 4 > promised * (k > 0),
			   "cycle %u takes at most the stated time", (unsigned)k))
			note("%u of %" PRIu64, (unsigned)took, promised);
		check_u64(rescan_facts().descriptors, 180, "cycle %u scans each descriptor once",
			  (unsigned)k);
	}
	for (u32 k = 0; k < 10; k++)
		src_fdinfo.scan();
	holder(12, 77, 7);
	while (!clients_known() && n++ < 1000)
		src_fdinfo.scan();
	check(n <= 2 * promised, "a descriptor without a notice is found within two cycles");
	holder(90, 3, 8);
	for (n = 0; clients_known() < 2 && n < 1000; n++)
		src_fdinfo.scan();
	check(n <= 2 * promised, "a new process without a notice is found within two cycles");
}

static void t_suspend(void)
{
	u32 n = 0;

	reset(20);
	crowd(10, 12, 100);
	src_fdinfo.start();
	cycle();
	while (!(discovery.rescan_fd_scan.open && discovery.rescan_fd_scan.n > 10) && n++ < 1000)
		src_fdinfo.scan();
	check(fd_scans_suspend() && !fd_scans_suspend(),
	      "the scan of the rescan is suspended once");
	check(discovery.rescan_fd_scan.suspended && discovery.rescan_fd_scan.d.fd < 0,
	      "the folder of a suspended scan is closed");
	cycle();
	check_u64(rescan_facts().descriptors, 300,
	          "a suspended scan continues with the next descriptor");
	src_fdinfo.rest();
	check(!discovery.rescan_fd_scan.open && !fd_scans_suspend(),
	      "rest() ends a suspended scan");
}

static void t_facts(void)
{
	reset(80);
	crowd(10, 13, 1);
	src_fdinfo.start();
	discovery.cycle_descriptors = 640;
	discovery.cycle_calls = 700;
	check(rescan_facts().samples == 1 && rescan_facts().descriptors == 640,
	      "without an unfinished sample, a cycle takes one sample");
	discovery.unfinished_samples = 10;
	discovery.unfinished_calls = 200;
	/* Five processes, with pid 1: (700 + 10 + 40) * 20 / 9 + 5 * 20 / 3 */
	check_u64(rescan_facts().samples, (1666 + 33) / 80 + 1,
	          "rescan_facts() has the time of a cycle");
	check(!rescan_facts().measured_pace,
	      "an untimed budget is used completely: the pace is not measured");
	rescan.timed = true;
	check(rescan_facts().samples == (1666 + 33) / 20 + 1 && rescan_facts().measured_pace,
	      "for samples that ended early, the time of a cycle is calculated from their pace");
	discovery.unfinished_calls = 0;
	check_u64(rescan_facts().samples, 1666 + 33 + 1,
	          "for samples that made no calls, the time of a cycle is one sample per call");
	rescan.budget = RESCAN_ALL;
	check_u64(rescan_facts().samples, 1,
	          "with a full scan in each sample, a cycle takes one sample");
	rescan.budget = 0;
	check_u64(rescan_facts().samples, 0, "without a rescan, no time of a cycle is stated");
}

/* --- losses ----------------------------------------------------------------------------------- */

/* An fdinfo file that is larger than the buffer is counted as dropped each time it is read. */
static void oversized(u32 pid, u32 fd)
{
	static char text[70000];

	memset(text, 'x', sizeof(text));
	for (size_t i = 99; i < sizeof(text); i += 100)
		text[i] = '\n';
	/* without drm-driver, the descriptor is no client */
	memcpy(text, "drm-other:\ti9155\n", 17);
	descriptor(pid, fd, NODE, NULL);
	put_file(in_folder("proc/%u/fdinfo/%u", (unsigned)pid, (unsigned)fd), text, sizeof(text));
}

/* Takes n samples. Returns whether each of them counts exactly these losses. */
static bool each_loses(u32 n, u32 dropped, u32 transient)
{
	while (n--) {
		u32 d = registry.dropped, t = registry.transient;

		src_fdinfo.scan();
		if (registry.dropped - d != dropped || registry.transient - t != transient) {
			note("%u dropped, %u transient", (unsigned)(registry.dropped - d),
			     (unsigned)(registry.transient - t));
			return false;
		}
		src_fdinfo.sample();
	}
	return true;
}

static void t_losses(u32 budget)
{
	u32 before;

	reset(budget);
	crowd(10, 19, 5);
	oversized(15, 40);
	before = registry.dropped;
	src_fdinfo.start();
	check_u64(registry.dropped - before, 1,
		  "budget %u: the full scan counts one loss", (unsigned)budget);
	check(each_loses(60, 1, 0),
	      "budget %u: each sample counts the same loss again", (unsigned)budget);
	oversized(12, 41);
	cycle();
	cycle();
	check(each_loses(60, 2, 0), "budget %u: two losses are counted in each sample",
	      (unsigned)budget);
	shell("rm $D/proc/15/fd/40 $D/proc/15/fdinfo/40");
	cycle();
	cycle();
	check(each_loses(20, 1, 0),
	      "budget %u: after one loss has ended, each sample counts the other one",
	      (unsigned)budget);
	shell("rm $D/proc/12/fd/41 $D/proc/12/fdinfo/41");
	cycle();
	cycle();
	check(each_loses(20, 0, 0),
	      "budget %u: after both losses have ended, none is counted", (unsigned)budget);
}

/* Reading this file fails with EIO: no memory is mapped at address 0. */
static void t_transient(u32 budget)
{
	u32 before, missed = 0, more = 0;

	reset(budget);
	crowd(10, 19, 5);
	descriptor(15, 40, NODE, NULL);
	put_link(in_folder("proc/15/fdinfo/40"), "/proc/self/mem");
	before = registry.transient;
	src_fdinfo.start();
	check_u64(registry.transient - before, 1,
	          "budget %u: the full scan counts one transient error",
		  (unsigned)budget);
	for (u32 k = 0; k < 60; k++) {
		u32 t = registry.transient;

		src_fdinfo.scan();
		missed += registry.transient == t;
		more += registry.transient - t > 1;
		src_fdinfo.sample();
	}
	check_u64(missed, 0,
	          "budget %u: each sample counts the same transient error again", (unsigned)budget);
	if (budget > 1000)
		check_u64(more, 0,
		          "budget %u: a sample with a whole cycle counts the transient error once",
		          (unsigned)budget);
}

/* Makes a process with this name and start, and a client whose engine has this time. */
static void named_holder(const char *comm, unsigned start, unsigned ns)
{
	char text[128];

	put(in_folder("proc/10/comm"), comm);
	snprintf(text, sizeof(text), "10 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0\n", start);
	put(in_folder("proc/10/stat"), text);
	snprintf(text, sizeof(text), "pos:\t0\ndrm-driver:\ti915\ndrm-client-id:\t7\n"
		 "drm-engine-render:\t%u ns\n", ns);
	put(in_folder("proc/10/fdinfo/3"), text);
}

/* Between two samples a process exits, and another one gets its pid, its descriptor's number and
 * its client's id: before the rescan reaches the process, only a counter that decreased shows
 * the change. */
static void t_reused(void)
{
	u32 task;

	reset(20);
	crowd(100, 400, 1);
	put_link(in_folder("proc/10/fd/3"), NODE);
	named_holder("first\n", 100, 1000);
	src_fdinfo.start();
	sample();
	task = task_find(10);
	check(task != NONE && str_is(str_of(tasks[task].comm, tasks[task].comm_len), "first"),
	      "a process with a client has its name");
	named_holder("second\n", 200, 500);
	rescan.budget = 1;
	sample();
	task = task_find(10);
	check(task != NONE && tasks[task].start == 200 &&
	      str_is(str_of(tasks[task].comm, tasks[task].comm_len), "second"),
	      "after a counter decreased, the same sample has the name of the pid's new process");
}

/* --- two machines ----------------------------------------------------------------------------- */

/* The whole state of discovery.c is one object. Two machines whose processes have the same pids
 * can be scanned in turn: the scan of one of them is left in the middle of a process. */
static void t_two_machines(void)
{
	static struct discovery a, b;
	u64 promised;
	u32 found;

	reset(20);
	crowd(10, 13, 30);
	src_fdinfo.start();
	while (!discovery.rescan_fd_scan.open || discovery.rescan_fd_scan.n < 10)
		src_fdinfo.scan();
	found = discovery.rescan_fd_scan.n;
	check(found < 30 && discovery.rescan_pid >= 10,
	      "first machine: a process is half scanned");
	promised = rescan_facts().samples;
	proc_list_end();
	a = discovery;
	memset(&discovery, 0, sizeof(discovery));
	discovery.compute_read = INT64_MAX / 2;
	for (u32 pid = 1; pid <= 13; pid = pid == 1 ? 10 : pid + 1)
		for (u32 fd = 0; fd < 4; fd++)
			put_link(in_folder("second/%u/fd/%u", (unsigned)pid, (unsigned)fd),
				 "/dev/null");
	root_set(&roots.proc, in_folder("second"));
	check(!rescan_facts().scanned, "second machine: no fact is known at the start");
	src_fdinfo.scan();
	check_u64(rescan_facts().descriptors, 20,
	          "second machine: a full scan finds all descriptors");
	cycle();
	cycle();
	check_u64(rescan_facts().descriptors, 20,
	          "second machine: two cycles find all descriptors");
	proc_list_end();
	b = discovery;
	discovery = a;
	root_set(&roots.proc, proc_name);
	check(rescan_facts().descriptors == 120 && rescan_facts().samples == promised,
	      "first machine, continued: the facts are unchanged");
	check_u64(discovery.rescan_fd_scan.n, found,
		  "first machine, continued: the process is half scanned");
	check(cycle() <= promised, "first machine, continued: the cycle ends in the stated time");
	check_u64(rescan_facts().descriptors, 120,
		  "first machine, continued: each descriptor is scanned once");
	discovery = b;
	check_u64(rescan_facts().descriptors, 20,
		  "second machine, continued: the facts are unchanged");
}

/* --- hidden processes ------------------------------------------------------------------------- */

static void t_hidden(void)
{
	reset(0);
	check(namespace_is_inner(roots.proc, "1/ns/pid", "pid:[4026531836]") == -1,
	      "a namespace without a link is unknown");
	put_link(in_folder("proc/1/ns/pid"), "pid:[4026531836]");
	put_link(in_folder("proc/2/ns/pid"), "pid:[402653183]");
	put_link(in_folder("proc/3/ns/pid"), "pid:[40265318360000000000000000000000000000000000]");
	check(namespace_is_inner(roots.proc, "1/ns/pid", "pid:[4026531836]") == 0,
	      "the initial pid namespace is not an inner one");
	check(namespace_is_inner(roots.proc, "2/ns/pid", "pid:[4026531836]") == 1 &&
	      namespace_is_inner(roots.proc, "3/ns/pid", "pid:[4026531836]") == 1,
	      "pid namespaces with a shorter and a longer number are inner ones");
	check(!proc_hidden_reason(), "no reason for hidden processes in the initial pid namespace");
	shell("rm $D/proc/1/ns/pid");
	check(!proc_hidden_reason(),
	      "no reason for hidden processes if the pid namespace is unknown");
	put_link(in_folder("proc/1/ns/pid"), "pid:[4026532000]");
	check(proc_hidden_reason() == proc_inner_namespace,
	      "in an inner pid namespace, this is the reason for hidden processes");
}

/* Anonymous clients are counted again only if there are any, and only without a rescan. */
static void t_recount(void)
{
	reset(0);
	device_add();
	check(!anonymous_recount(), "without anonymous clients, none are counted again");
	devices[nrows.devices].anonymous = 2;
	rescan.budget = 5;
	check(!anonymous_recount(), "with a rescan, anonymous clients are not counted again");
	rescan.budget = 0;
	check(anonymous_recount() && !devices[nrows.devices].anonymous,
	      "without a rescan, anonymous clients are counted again");
}

int main(void)
{
	registry.repeats = true;
	folder_begin("t_discovery");
	snprintf(proc_name, sizeof(proc_name), "%s/proc", tmp_folder);
	roots.proc_given = true;
	roots.proc_name = proc_name;
	root_set(&roots.sys, in_folder("sys"));
	t_full();
	t_notices();
	t_notified_budget();
	t_cursor();
	t_parts();
	t_allowed();
	t_budget();
	t_shares();
	t_cycle();
	t_suspend();
	t_facts();
	t_losses(RESCAN_ALL);
	t_losses(10000);
	t_losses(20);
	t_transient(RESCAN_ALL);
	t_transient(10000);
	t_transient(20);
	t_reused();
	t_two_machines();
	t_recount();
	t_hidden();
	shell("rm -rf $D");
	return unit_end();
}
