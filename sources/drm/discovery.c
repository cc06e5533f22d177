/* discovery.c - client discovery: one full scan of /proc, then in each sample fd scans of the
 * processes that inotify points at, and a budgeted rescan of all others.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"
#include "sys.h"

#pragma weak iterator_scan /* iterator_scan() is NULL if the program is built without BPF */

enum {
	/* maximum number of system calls per sample for scans of the processes in QUEUE_NOTIFIED;
	 * they take about 10 ms */
	NOTIFIED_CALLS = 4096,
};

/* Numbers of objects that scans of /proc have not registered: dropped, because a table was full;
 * transient, because of a transient error. Both are included in registry.dropped and
 * registry.transient. */
struct loss {
	u32 dropped, transient;
};

/* A position in a table whose rows are checked in turn; it is kept from sample to sample. */
struct cursor {
	u32 at;   /* index of the row of the table that was checked last */
	u32 left; /* number of rows that may still be checked in this sample */
};

/* The parts of the rescan, which looks in each sample for changes that inotify does not report.
 * rescan_steps[] has a row for each part. */
enum part { PART_TASK, PART_HOLDER, PART_PROCESS, PART_NEW, PART_CHANGED, PART_DESCRIPTOR, PARTS };

/* Age in ns from which the name and the cgroup of a process are read again, because they may have
 * changed. new_clients_find() calls compute_scan() at the same interval. */
static const i64 describe_interval_ns = 5000000000;

/* All state of discovery.c is in one struct, which can be copied and restored as a whole. */
static struct discovery {
	bool full_scan_done;     /* true after at least one full scan of /proc has begun */
	/* true after /proc could once not be opened: the length of a rescan cycle then cannot be
	 * estimated */
	bool proc_unopened;
	/* number of descriptors of all processes in the last full scan or rescan cycle */
	u64 cycle_descriptors;
	/* number of system calls that the last full scan or rescan cycle has made for single
	 * descriptors */
	u64 cycle_calls;
	/* objects that the last full scan or rescan cycle, or a later scan, could not register;
	 * counted again in each sample until the next cycle ends */
	struct loss lost;
	/* time in ns when compute_scan() was last called to find new compute processes */
	i64 compute_read;
	/* value of fileio.calls (number of system calls so far) at the end of the previous
	 * sample */
	u32 calls_at_sample_end;

	/* State of the scans of notified processes, which inotify or a waking device points at. */
	/* number of system calls that scans of notified processes may still make in this sample;
	 * NOTIFIED_CALLS at its begin */
	i32 notified_calls_left;
	/* true if this sample has checked all processes for changes, or has made a full scan */
	bool all_checked;
	/* true if inotify has reported an open of a device node, no new holder of a client was
	 * found, and the kernel does not report numbers of descriptors: all processes are then
	 * queued again in the next sample */
	bool opened_without_client;
	/* queue_scans[q]: the unfinished or last scan of a process from queue q */
	struct fd_scan queue_scans[QUEUES];

	/* State of the rescan, which scans all processes step by step. */
	i64 rescan_began;        /* time in ns when the rescan began in this sample */
	/* number of system calls that the rescan may still make in this sample; negative if its
	 * last step found something new and exceeded the budget */
	i64 calls_left;
	bool list_done; /* true if the process list (/proc) was read to its end in this sample */
	struct cursor task_cursor, holder_cursor;
	struct {
		/* number of system calls that this part of the rescan has made, multiplied by SCALE
		 * and divided by the part's share; the part with the lowest value runs next */
		u64 spent;
		bool over; /* true: this part of the rescan has nothing more to do in this sample */
	} parts[PARTS];
	/* `spent` of the part that ran last, before its last step: a part that had no work for a
	 * while continues from this value */
	u64 latest_spent;
	/* scan of the descriptors of the process rescan_pid, the one that the rescan cycle has
	 * reached */
	struct fd_scan rescan_fd_scan;
	/* PID of the process that the rescan cycle has reached; NONE: no cycle has begun, or the
	 * last one has ended */
	u32 rescan_pid;
	/* Sums over the current rescan cycle so far: descriptors, system calls for single
	 * descriptors, objects that could not be registered. */
	u64 partial_descriptors, partial_calls;
	struct loss partial_lost;
	bool cycle_over;         /* true if a rescan cycle ended in this sample */
	/* unfinished_samples: number of samples in which no rescan cycle ended; unfinished_calls:
	 * number of system calls of the rescan in these samples */
	u64 unfinished_calls, unfinished_samples;
} discovery;

/* Opens /proc to begin a new list of processes. If no descriptor is left, closes folders of
 * unfinished scans first. Returns false if /proc cannot be opened. */
static bool proc_list_open(bool at_once)
{
	do
		proc_list_begin(at_once);
	while (!proc_list_is_open() && fd_scans_suspend());
	discovery.proc_unopened |= !proc_list_is_open();
	return proc_list_is_open();
}

/* True if the holder n, a descriptor of a client, is not the first holder of this client. A client
 * is read only through its first holder. */
static bool holder_is_secondary(u32 n)
{
	return holders[n].client && holders[n].fd <= INT32_MAX &&
	       clients[holders[n].client].holders != n;
}

/* Checks that each holder (descriptor of a client) except the first one of each client still
 * belongs to its client: a full scan compares only the number and the device of a known descriptor,
 * not its client. */
static void secondary_holders_verify(void)
{
	for (u32 n = 1; n <= nrows.holders; n++)
		if (holder_is_secondary(n))
			holder_verify(n);
}

/* Returns the number of system calls that the scan of a process made for single descriptors: one
 * for each in /proc/PID/fd, or three for each in /proc/PID/fdinfo. */
static u64 fd_scan_calls(const struct fd_scan *l)
{
	return (u64)l->n * (l->by_fdinfo ? 3 : 1);
}

/* Scans every descriptor of every process. Drops the holders that were not found, unless the scan
 * is incomplete. If this run scans only once, the kernel's BPF iterator may find the descriptors
 * instead of reading /proc. */
static void full_scan(void)
{
	static struct fd_scan l;
	u32 pid, no = full_scan_begin();
	bool incomplete = false, again = discovery.full_scan_done;

	discovery.full_scan_done = true;
	registry.unreadable = 0;
	if (HAS(bpf) && !registry.repeats && iterator_scan()) {
		compute_scan();
		return;
	}
	if (!proc_list_open(true))
		return;
	discovery.cycle_descriptors = discovery.cycle_calls = 0;
	while ((pid = proc_list_next(process_gone)) != NONE) {
		fd_scan_begin(&l, pid, scan_names->fds, sizeof(scan_names->fds));
		while (fd_scan_step(&l))
			;
		fd_scan_end(&l, true);
		incomplete |= l.incomplete;
		discovery.cycle_descriptors += l.n;
		discovery.cycle_calls += fd_scan_calls(&l);
	}
	compute_scan();
	if (!incomplete)
		full_scan_forget(no);
	if (again)
		secondary_holders_verify();
}

/* Scans the next descriptor of the process from this queue whose scan has begun, or begins the scan
 * of the next process in the queue. False if the queue is empty and no scan has begun. */
static bool queue_step(u8 queue)
{
	struct fd_scan *l = &discovery.queue_scans[queue];
	u32 pid;

	if (!l->open) {
		pid = process_dequeue(queue);
		if (pid != NONE)
			fd_scan_begin(l, pid, l->d.b, sizeof(l->d.b));
		return pid != NONE;
	}
	if (!fd_scan_step(l)) {
		fd_scan_end(l, true);
		fd_scan_forget(l);
	}
	return true;
}

/* --- notified processes ----------------------------------------------------------------------- */

/* If there is no rescan, sets devices[].anonymous, the number of a device's descriptors whose
 * client is unknown, to 0. Returns true if such descriptors were known: the caller then scans all
 * processes, which counts these descriptors again. Without this, closed descriptors would stay in
 * the number, and a new scan would count the others twice. */
static bool anonymous_recount(void)
{
	u32 n = 0;

	for (u32 i = 1; i <= nrows.devices && !rescan.budget; i++)
		n += devices[i].anonymous;
	if (n)
		anonymous_resolve();
	return n;
}

/* Queues each process that has changed since its last scan, to find descriptors of clients that are
 * not known yet. Takes one stat(2) per process. All processes are queued if the kernel does not
 * report numbers of descriptors. */
static void changed_enqueue(void)
{
	bool all = anonymous_recount() || !kernel_counts_fds();
	u32 pid;

	discovery.all_checked = true;
	proc_list_open(true);
	while ((pid = proc_list_next(process_gone)) != NONE)
		if (all || process_changed(pid, true))
			process_enqueue(pid, true);
	compute_scan();
}

/* Scans the processes in QUEUE_NOTIFIED. Processes that exceed this sample's budget are scanned
 * first in the next sample. */
static void notified_scan(void)
{
	for (u32 before = fileio.calls;
	     discovery.notified_calls_left > 0 && queue_step(QUEUE_NOTIFIED); before = fileio.calls)
		discovery.notified_calls_left -= (i32)(fileio.calls - before);
}

/* Finds new clients after inotify has reported an open of a device node, or a device has woken
 * up. */
static void notices_handle(void)
{
	u32 before = holders_found;
	bool opened = nodes_opened();

	if (devices_woke())
		processes_enqueue_asleep();
	if (opened || discovery.opened_without_client)
		changed_enqueue();
	notified_scan();
	/* inotify reports an open of a device node before the process has the new descriptor. If
	 * the kernel reports the number of descriptors of a process, the new one is found later by
	 * this number. Otherwise the next sample queues all processes again, unless a new holder
	 * was found. */
	discovery.opened_without_client = opened && !kernel_counts_fds() && holders_found == before;
}

/* --- rescan: finds what inotify does not report ----------------------------------------------- */

/* Returns the index of the next table row, after the row t->at, for which is() is true. The rows
 * have the indexes 1 to n, and row 1 follows row n. NONE if all rows were checked in this
 * sample. */
static u32 cursor_next(struct cursor *t, u32 n, bool (*is)(u32))
{
	while (t->left) {
		t->left--;
		t->at = t->at >= n ? 1 : t->at + 1;
		if (is(t->at))
			return t->at;
	}
	return NONE;
}

static bool description_is_old(u32 n)
{
	return fdinfo_scope.tasks && tasks[n].refs &&
	       discovery.rescan_began - tasks[n].read > describe_interval_ns;
}

/* Reads the name and the cgroup of the next process whose name and cgroup were read more than 5 s
 * ago. False if there is no such process. */
static bool rescan_task(void)
{
	u32 n = cursor_next(&discovery.task_cursor, nrows.tasks, description_is_old);

	if (n != NONE)
		task_describe(&tasks[n]);
	return n != NONE;
}

/* Checks that the next holder (descriptor of a client) that is not the first one of its client
 * still belongs to this client. False if all were checked in this sample. */
static bool rescan_holder(void)
{
	u32 n = cursor_next(&discovery.holder_cursor, nrows.holders, holder_is_secondary);

	if (n != NONE)
		holder_verify(n);
	return n != NONE;
}

/* Takes the next process from the process list (/proc), and queues it for a scan if it is new or
 * its number of descriptors has changed. False if the list has ended. */
static bool rescan_process(void)
{
	u32 pid;

	if (!proc_list_is_open())
		return !discovery.list_done && proc_list_open(false);
	pid = proc_list_next(process_gone);
	discovery.list_done = pid == NONE;
	if (pid != NONE && process_changed(pid, false))
		process_enqueue(pid, false);
	return pid != NONE;
}

static bool rescan_new(void)
{
	return queue_step(QUEUE_NEW);
}

static bool rescan_changed(void)
{
	return queue_step(QUEUE_CHANGED);
}

static bool fd_scan_suspend(struct fd_scan *l)
{
	if (!l->open || l->d.fd < 0)
		return false;
	dir_suspend(&l->d);
	return l->suspended = true;
}

/* Closes the folder of one unfinished scan of a process's descriptors, so that a descriptor becomes
 * free; when the scan continues, it opens the folder again. False if no such folder is open. */
bool fd_scans_suspend(void)
{
	for (size_t i = 0; i < LEN(discovery.queue_scans); i++)
		if (fd_scan_suspend(&discovery.queue_scans[i]))
			return true;
	return fd_scan_suspend(&discovery.rescan_fd_scan);
}

/* Ends a rescan cycle, in which all descriptors of all processes have been scanned: the counts of
 * this cycle replace those of the previous one. */
static void rescan_cycle_end(void)
{
	discovery.cycle_over = true;
	anonymous_resolve();
	discovery.cycle_descriptors = discovery.partial_descriptors;
	discovery.cycle_calls = discovery.partial_calls;
	discovery.lost = discovery.partial_lost;
	discovery.partial_descriptors = discovery.partial_calls = 0;
	discovery.partial_lost = (struct loss){ 0 };
}

/* Scans the next descriptor of the rescan cycle, or begins with the next process. False if the
 * cycle is complete. At the end of a process, its row in the process table is updated only if the
 * row is useless to notice changes of the process (process_is_stale()). */
static bool rescan_fd_step(void)
{
	if (!discovery.rescan_fd_scan.open) {
		discovery.rescan_pid = process_after(discovery.rescan_pid);
		discovery.rescan_fd_scan.in_rescan = true;
		if (discovery.rescan_pid != NONE)
			fd_scan_begin(&discovery.rescan_fd_scan, discovery.rescan_pid,
				      discovery.rescan_fd_scan.d.b,
				      sizeof(discovery.rescan_fd_scan.d.b));
		return discovery.rescan_pid != NONE;
	}
	if (!fd_scan_step(&discovery.rescan_fd_scan)) {
		discovery.partial_descriptors += discovery.rescan_fd_scan.n;
		discovery.partial_calls += fd_scan_calls(&discovery.rescan_fd_scan);
		fd_scan_end(&discovery.rescan_fd_scan, process_is_stale(discovery.rescan_pid));
	}
	return true;
}

static struct loss loss_so_far(void)
{
	transient_errors_count();
	return (struct loss){ registry.dropped, registry.transient };
}

static void loss_add(struct loss *l, struct loss before)
{
	struct loss now = loss_so_far();

	l->dropped += now.dropped - before.dropped;
	l->transient += now.transient - before.transient;
}

/* Does one step of the rescan cycle. False if the cycle is complete. Objects that the step could
 * not register are counted in discovery.partial_lost, not in the registry. */
static bool rescan_descriptor(void)
{
	struct loss before = loss_so_far();
	bool more = rescan_fd_step();

	loss_add(&discovery.partial_lost, before);
	registry.dropped = before.dropped;
	registry.transient = before.transient;
	if (!more)
		rescan_cycle_end();
	return more;
}

enum {
	SHARES = 20,
	/* a common multiple of the shares of all parts of the rescan, so that SCALE / share is an
	 * integer */
	SCALE = 18,
	PROCESS_SHARE = 3,
	DESCRIPTOR_SHARE = 9,
};

/* The parts of the rescan, with the share of the rescan's system calls that each part may use; a
 * part without work leaves its share to the others. With 500 processes, 12 500 descriptors and 40
 * calls per sample, a rescan cycle takes 740 samples. With equal shares it would take 1607, and if
 * the parts made one step each in turn, 3766. If descriptors had half of the calls, and the other
 * parts made one step each in turn, the rescan would find a new process within 252 samples instead
 * of 74. docs/cost.md has more figures. */
static const struct {
	/* Does one step of this part of the rescan. False if the part has nothing more to do in
	 * this sample. */
	bool (*step)(void);
	u8 share;           /* the part's share of the rescan's system calls, in 1/SHARES */
	/* maximum number of system calls of one step of the part, if the step finds nothing new */
	u8 most;
} rescan_steps[PARTS] = {
	[PART_TASK] = { rescan_task, 2, 6 },
	[PART_HOLDER] = { rescan_holder, 2, 3 },
	[PART_PROCESS] = { rescan_process, PROCESS_SHARE, 2 },
	[PART_NEW] = { rescan_new, 2, 5 },
	[PART_CHANGED] = { rescan_changed, 2, 5 },
	[PART_DESCRIPTOR] = { rescan_descriptor, DESCRIPTOR_SHARE, 5 },
};

/* Returns the part of the rescan that has used the smallest part of its share and still has work in
 * this sample; PARTS if no part has work. */
static u32 part_next(void)
{
	u32 next = PARTS;

	for (u32 i = 0; i < PARTS; i++)
		if (!discovery.parts[i].over &&
		    (next == PARTS || discovery.parts[i].spent < discovery.parts[next].spent))
			next = i;
	return next;
}

/* Does one step of a part of the rescan. Returns the number of system calls that it took. */
static u32 part_step(u32 part)
{
	u32 before = fileio.calls;
	u64 *spent = &discovery.parts[part].spent;

	discovery.parts[part].over = !rescan_steps[part].step();
	/* a step of PART_PROCESS may have queued a process, so that PART_NEW and PART_CHANGED have
	 * work again */
	if (part == PART_PROCESS)
		discovery.parts[PART_NEW].over = discovery.parts[PART_CHANGED].over = false;
	/* A part of the rescan that had no work for a while does not get later the system calls
	 * that it did not use in that time. */
	*spent = *spent > discovery.latest_spent ? *spent : discovery.latest_spent;
	discovery.latest_spent = *spent;
	*spent += (u64)(fileio.calls - before) * (SCALE / rescan_steps[part].share);
	return fileio.calls - before;
}

static const i64 rescan_ns = 200000;

/* Returns the number of system calls that the rescan may make in this sample: rescan.budget. If
 * rescan.timed is set, subtracts the system calls that this sample has made for files of devices,
 * so that a sample with many sensors takes little more time; at least half of the budget
 * remains. */
static u32 rescan_calls_allowed(void)
{
	u32 before = fileio.calls - discovery.calls_at_sample_end, least = rescan.budget / 2;

	if (!rescan.timed)
		return rescan.budget;
	return before < rescan.budget - least ? rescan.budget - before : least;
}

static void rescan_part(void)
{
	u32 calls = rescan_calls_allowed(), began = fileio.calls, part;
	i64 left = discovery.calls_left < 0 ? discovery.calls_left + calls : calls;

	discovery.rescan_began = sys_now(CLOCK_MONOTONIC);
	discovery.task_cursor.left = nrows.tasks;
	discovery.holder_cursor.left = nrows.holders;
	discovery.list_done = false;
	for (u32 i = 0; i < PARTS; i++)
		discovery.parts[i].over = false;
	while ((part = part_next()) < PARTS && left > 0 &&
	       left >= (rescan_steps[part].most < calls ? rescan_steps[part].most : calls)) {
		left -= part_step(part);
		if (rescan.timed && sys_now(CLOCK_MONOTONIC) - discovery.rescan_began > rescan_ns)
			break;
	}
	discovery.calls_left = left;
	if (!discovery.cycle_over) {
		discovery.unfinished_calls += fileio.calls - began;
		discovery.unfinished_samples++;
	}
}

struct rescan_facts rescan_facts(void)
{
	struct rescan_facts f = { .descriptors = discovery.cycle_descriptors,
				  .scanned = discovery.full_scan_done };
	/* cycle: estimated number of system calls of a whole rescan cycle */
	u64 calls = rescan.budget, cycle;

	if (discovery.proc_unopened)
		return f;
	if (rescan.budget == RESCAN_ALL || (rescan.budget && !discovery.unfinished_samples)) {
		f.samples = 1;
		return f;
	}
	if (rescan.timed && discovery.unfinished_calls < calls * discovery.unfinished_samples) {
		calls = discovery.unfinished_calls / discovery.unfinished_samples;
		f.measured_pace = true;
	}
	/* Besides the system calls for single descriptors, a rescan cycle makes 8 for each known
	 * process: 3 to check that the pid still belongs to the process, then open, fstat, at least
	 * two to list the descriptors, and close. The search for new and changed processes
	 * (PART_PROCESS) makes one more for each process. */
	cycle = (discovery.cycle_calls + discovery.cycle_descriptors / 64 +
		 8 * (u64)processes_known()) *
			SHARES / DESCRIPTOR_SHARE +
		(u64)processes_known() * SHARES / PROCESS_SHARE;
	f.samples = rescan.budget ? cycle / (calls ? calls : 1) + 1 : 0;
	return f;
}

/* --- the source ------------------------------------------------------------------------------- */

/* True if /dev has a device node of a GPU or an NPU, or a folder for such nodes. */
bool any_node(void)
{
	static const char *const paths[] = { "/dev/dri", "/dev/accel", "/dev/nvidiactl" };
	bool any = false;

	for (size_t i = 0; i < LEN(paths) && !any; i++)
		any = sys_has_file(AT_FDCWD, paths[i]);
	return any;
}

/* True if a process may have a device open. False only if /sys can be read and lists no device, and
 * /dev has no device node either. */
static bool any_device(void)
{
	bool any = roots.proc_given || !sysfs_readable();

	for (u32 i = 1; i <= nrows.devices; i++)
		any |= devices[i].e.used;
	return any || any_node();
}

static void new_clients_find(void)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	notices_handle();
	if (now - discovery.compute_read > describe_interval_ns) {
		discovery.compute_read = now;
		compute_scan();
	}
	if (rescan.budget)
		rescan_part();
}

static void fdinfo_scan(void)
{
	/* true: a rescan cycle begins in this sample */
	bool begins = !discovery.rescan_fd_scan.open && discovery.rescan_pid == NONE;
	struct loss before;

	if (!discovery.full_scan_done && !any_device())
		return;
	before = loss_so_far();
	discovery.cycle_over = false;
	discovery.notified_calls_left = NOTIFIED_CALLS;
	discovery.all_checked =
		!discovery.full_scan_done || !registry.repeats || rescan.budget == RESCAN_ALL;
	if (discovery.all_checked) {
		discovery.lost = (struct loss){ 0 };
		full_scan();
		clients_drop(false);
	} else {
		new_clients_find();
	}
	if (registry.repeats)
		registry.unreadable = processes_refused();
	/* If a whole rescan cycle ran in this sample, discovery.lost already includes all objects
	 * that this sample could not register. */
	if (!discovery.cycle_over || !begins)
		loss_add(&discovery.lost, before);
	registry.dropped = before.dropped + discovery.lost.dropped + processes_unlisted();
	registry.transient = before.transient + discovery.lost.transient;
}

/* Reads all clients. A client whose last known holder (descriptor) was closed may be held by
 * another process, or through another descriptor: so the processes that held such clients are
 * scanned, then all processes that have changed, and the client is kept while one of these waits
 * for its scan. */
static void fdinfo_sample(void)
{
	if (HAS(nvidia) && nvidia_sample())
		compute_scan();
	clients_read();
	if (registry.repeats && clients_orphaned()) {
		notified_scan();
		clients_read();
	}
	if (registry.repeats && clients_orphaned() && !discovery.all_checked) {
		changed_enqueue();
		notified_scan();
		clients_read();
	}
	clients_drop(processes_notified());
	clients_next_sample();
	transient_errors_count();
	discovery.calls_at_sample_end = fileio.calls;
}

static void fdinfo_start(void)
{
	if (registry.repeats)
		nodes_start();
	fdinfo_begin();
	fdinfo_scan();
	/* nvidia_sample() must follow the scan of /proc, which finds the processes that have a
	 * device node open */
	if (HAS(nvidia) && nvidia_sample())
		compute_scan();
	clients_next_sample();
}

static void fd_scan_stop(struct fd_scan *l)
{
	if (l->open)
		fd_scan_end(l, false);
}

static void fdinfo_rest(void)
{
	if (HAS(nvidia))
		nvidia_rest();
	fdinfo_close();
	for (size_t i = 0; i < LEN(discovery.queue_scans); i++)
		fd_scan_stop(&discovery.queue_scans[i]);
	fd_scan_stop(&discovery.rescan_fd_scan);
	proc_list_end();
	nodes_stop();
}

const struct source src_fdinfo = {
	.name = "fdinfo",
	.start = fdinfo_start,
	.scan = fdinfo_scan,
	.rest = fdinfo_rest,
	.sample = fdinfo_sample,
};

/* --- processes that /proc does not show ------------------------------------------------------- */

/* Returns 1 if a namespace is an inner one, 0 if it is the initial one of the machine, -1 if that
 * is unknown. proc: descriptor of the folder /proc; link: path of the namespace's link in it, such
 * as "self/ns/pid"; initial: text of this link in the initial namespace, from PROC_*_INIT_INO of
 * linux/proc_ns.h. */
int namespace_is_inner(int proc, const char *link, const char *initial)
{
	char b[32];
	long n = sys_readlinkat(proc, link, b, sizeof(b));

	return n <= 0 ? -1 : !str_is((struct str){ b, b + n }, initial);
}

const char proc_hidepid[] =
	"/proc is mounted with hidepid: processes of others are hidden; "
	"CAP_SYS_PTRACE shows them";
static const char proc_inner_namespace[] =
	"in a pid namespace: processes outside of it are hidden; --proc reads another /proc";

/* Returns why /proc does not show all processes of the machine; NULL if it does. Two cases are
 * recognized. Mount option hidepid: there is no folder /proc/1, and no process of another user was
 * seen. Inner pid namespace: /proc/1/ns/pid, which only root may read, or else /proc/self/ns/pid,
 * is not the initial one. */
const char *proc_hidden_reason(void)
{
	static const char initial[] = "pid:[4026531836]";
	u8 was = privilege_raise(MAY_PTRACE);
	struct statfs fs;
	struct stat st;
	int inner = namespace_is_inner(roots.proc, "1/ns/pid", initial);
	bool none = !registry.saw_others && sys_fstatat(roots.proc, "1", &st) == -ENOENT;

	privilege_lower(was);
	if (none &&
	    sys_fstatfs(roots.proc, &fs) == 0 && (u32)fs.f_type == PROC_SUPER_MAGIC)
		return proc_hidepid;
	if (inner < 0 && !roots.proc_given)
		inner = namespace_is_inner(roots.proc, "self/ns/pid", initial);
	return inner > 0 ? proc_inner_namespace : NULL;
}
