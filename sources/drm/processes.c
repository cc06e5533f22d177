/* processes.c - the process table: the state of each process at its last fd scan, and the queues of
 * processes to scan. It does not depend on clients. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/drm/drm.h"
#include "sys.h"

struct rescan rescan = { .budget = 80, .timed = true };
bool (*process_filter)(u32 pid);

enum { MAX_PROCESSES = 65536 };

/* A row of the process table: the state of a process when its descriptors were last scanned. Rows
 * are sorted by pid, so that reading the process list accesses few pages. */
struct row {
	u32 pid;
	/* inode of /proc/PID/fd, folded to 32 bits; if it changes, another process has got the
	 * pid */
	u32 ino;
	u32 count;  /* st_size of /proc/PID/fd: since Linux 6.2 the number of descriptors */
	u8 list_no; /* number of the last process list (listing of /proc) that had the process */
	u8 flags; /* bit mask of P_* */
};
static TABLE(struct row, processes, MAX_PROCESSES, 128, "processes");
enum {
	/* bits 1 << enum scan_queue: the process waits in that queue for a scan of its
	 * descriptors */
	P_QUEUES = (1 << QUEUES) - 1,
	/* `count` can be used to notice changes: the last scan has listed as many descriptors as
	 * the kernel reports */
	P_COUNTED = 8,
	P_REFUSED = 16, /* permission to read the descriptors of the process was denied */
	/* a descriptor of the process was skipped, because reading its fdinfo could wake its
	 * device */
	P_ASLEEP = 32,
	/* the last scan has listed fewer descriptors than the kernel reports: a file that is being
	 * opened is counted before it appears in /proc/PID/fd */
	P_OPENING = 64,
};

static struct {
	/* nrows: number of rows in the process table; hint: index of the row that probably has the
	 * pid that is searched for next */
	u32 nrows, hint;
	/* number of rows that are sorted by pid; the rows after them were appended in any order */
	u32 nsorted;
	/* true while the whole process list is read at once: new rows are then appended to the
	 * table, not inserted in order, and of the appended rows only the last one can be found by
	 * its pid */
	bool appends;
	/* nrefused: number of rows with the flag P_REFUSED; nwaiting[q]: number of processes that
	 * wait in queue q */
	u32 nrefused, nwaiting[QUEUES];
	/* number of processes in the last complete list of /proc for which the process table had no
	 * room */
	u32 nunlisted;
	/* number of processes in the current list of /proc, as far as it was read, for which the
	 * process table had no room */
	u32 nunlisted_now;
	/* true once a folder /proc/PID/fd had as many names as its st_size says: this shows that
	 * the kernel reports the number of a process's descriptors there */
	bool counts_fds;
	/* the folder /proc, which the rescan keeps open from sample to sample */
	struct dir d;
	bool open;
	u8 no;             /* number of the current process list (listing of /proc) */
} proclist;

/* Returns the index of the first row whose pid is not less than `pid`; proclist.nrows if there is
 * none. */
static u32 row_place(u32 pid)
{
	u32 lo = 0, hi = proclist.nsorted;

	if (proclist.hint < proclist.nrows && processes.rows[proclist.hint].pid == pid)
		return proclist.hint;
	if (proclist.nrows > 0 && processes.rows[proclist.nrows - 1].pid == pid)
		return proclist.nrows - 1;
	if (proclist.nsorted == 0 || processes.rows[proclist.nsorted - 1].pid < pid)
		return proclist.nsorted;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (processes.rows[mid].pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct row *row_find(u32 pid)
{
	u32 i = row_place(pid);

	if (i == proclist.nrows || processes.rows[i].pid != pid)
		return NULL;
	proclist.hint = i + 1;
	return &processes.rows[i];
}

/* Returns the row of the process with this pid, and adds it if it is new; NULL if the table is
 * full. */
static struct row *row_get(u32 pid)
{
	struct row *r = row_find(pid);
	u32 i;

	if (r)
		return r;
	if (!table_has(&processes.t, proclist.nrows))
		return NULL;
	i = row_place(pid);
	proclist.nsorted += i == proclist.nrows || !proclist.appends;
	i = proclist.appends ? proclist.nrows : i;
	memmove(processes.rows + i + 1, processes.rows + i,
		(proclist.nrows - i) * sizeof(processes.rows[0]));
	proclist.nrows++;
	proclist.hint = i + 1;
	processes.rows[i] = (struct row){ .pid = pid, .ino = UINT32_MAX, .count = UINT32_MAX };
	return &processes.rows[i];
}

/* Sorts the rows by pid. The kernel lists /proc in this order; a saved copy of /proc may have
 * another. */
static void rows_sort(void)
{
	for (u32 gap = proclist.nsorted < proclist.nrows ? proclist.nrows / 2 : 0; gap;
	     gap = gap == 2 ? 1 : gap * 5 / 11)
		for (u32 i = gap; i < proclist.nrows; i++) {
			struct row r = processes.rows[i];
			u32 at = i;

			for (; at >= gap && processes.rows[at - gap].pid > r.pid; at -= gap)
				processes.rows[at] = processes.rows[at - gap];
			processes.rows[at] = r;
		}
	proclist.nsorted = proclist.nrows;
	proclist.appends = false;
}

static u32 ino_fold(u64 ino)
{
	return (u32)(ino ^ ino >> 32);
}

/* True if the process is gpustat itself. False for all processes if --proc is used, because its
 * folder may be that of another machine. */
bool pid_is_self(u32 pid)
{
	static u32 self;

	if (!self)
		self = sys_pid();
	return pid == self && !roots.proc_given;
}

/* Returns st_size of /proc/PID/fd, which is the number of descriptors of the process if the kernel
 * reports it (Linux 6.2). own: number of descriptors that gpustat itself has open in order to scan;
 * they are subtracted if the process is gpustat. */
static u32 fd_count(u32 pid, const struct stat *st, i32 own)
{
	return (u32)st->st_size - (pid_is_self(pid) ? (u32)own : 0);
}

/* True if the kernel reports the number of descriptors of a process (Linux 6.2); false until that
 * is known. */
bool kernel_counts_fds(void)
{
	return proclist.counts_fds;
}

static void flag_set(struct row *r, u8 flag, bool on)
{
	proclist.nrefused += flag == P_REFUSED ? (u32)on - !!(r->flags & flag) : 0;
	r->flags = on ? r->flags | flag : r->flags & (u8)~flag;
}

static void enqueue(struct row *r, u8 queue)
{
	proclist.nwaiting[queue] += !(r->flags >> queue & 1);
	r->flags |= (u8)(1 << queue);
}

/* Removes a process from all queues of processes to scan. */
static void dequeue(struct row *r)
{
	for (unsigned q = 0; q < QUEUES; q++)
		proclist.nwaiting[q] -= r->flags >> q & 1;
	r->flags &= (u8)~P_QUEUES;
}

/* Stores the result of a finished scan of a process's descriptors in the row of the process. When
 * the scan began: st: stat(2) of /proc/PID/fd; own: number of descriptors that gpustat itself had
 * open in order to scan. At its end: n: number of descriptors found; refused: true if access was
 * denied; asleep: true if a descriptor was skipped, because reading its fdinfo could wake its
 * device. */
void process_scanned(u32 pid, const struct stat *st, i32 own, u32 n, bool refused, bool asleep)
{
	struct row *r = registry.repeats ? row_get(pid) : NULL;
	bool counted, opening;

	if (!r)
		return;
	r->ino = ino_fold(st->st_ino);
	r->count = fd_count(pid, st, own);
	proclist.counts_fds |= n > 0 && n == r->count && !pid_is_self(pid);
	counted = n == r->count || refused || pid_is_self(pid);
	opening = proclist.counts_fds && !counted && n < r->count;
	if (opening && !(r->flags & P_OPENING))
		/* Scan the process once more in this sample. If the new descriptor still is not in
		 * /proc/PID/fd, the rescan will find it. */
		enqueue(r, QUEUE_NOTIFIED);
	flag_set(r, P_OPENING, opening);
	flag_set(r, P_COUNTED, counted);
	flag_set(r, P_REFUSED, refused);
	flag_set(r, P_ASLEEP, asleep);
}

u32 processes_refused(void)
{
	return proclist.nrefused;
}

u32 processes_unlisted(void)
{
	return proclist.nunlisted;
}

/* True if the row of a process cannot be used to notice that the process's descriptors have
 * changed: their number in the row is wrong, or gpustat may not read them. */
bool process_is_stale(u32 pid)
{
	const struct row *r = row_find(pid);

	return !r || !(r->flags & P_COUNTED) || r->flags & P_REFUSED;
}

/* Returns the next higher pid in the process table; NONE if there is none. */
u32 process_after(u32 pid)
{
	u32 i = row_place(pid + 1);

	return i < proclist.nrows ? processes.rows[i].pid : NONE;
}

/* --- process list: the listing of /proc ------------------------------------------------------- */

struct scan_names *scan_names;
static struct table scan_names_table = TABLE_ROW(scan_names, 1, 1, "buffers for names in /proc");

void proc_list_end(void)
{
	if (proclist.open)
		dir_close(&proclist.d);
	proclist.open = false;
	rows_sort();
}

/* Closes the folder /proc of the process list, so that a descriptor becomes free; when the list
 * continues, it opens /proc again. False if no list is open, or if it is being read at once. */
bool proc_list_suspend(void)
{
	if (!proclist.open || proclist.appends || proclist.d.fd < 0)
		return false;
	dir_suspend(&proclist.d);
	return true;
}

bool proc_list_is_open(void)
{
	return proclist.open;
}

static long list_open_names(void)
{
	return files_note_error(!table_has(&scan_names_table, 0) ?
				-ENOMEM :
				dir_open_in(&proclist.d, roots.proc, ".", scan_names->proc,
					    sizeof(scan_names->proc)));
}

/* Begins a new process list, that is, a listing of /proc. at_once: true: the caller reads the whole
 * list now, so a large buffer is used: few system calls, each of which takes longer. */
void proc_list_begin(bool at_once)
{
	proc_list_end();
	proclist.no++;
	proclist.hint = proclist.nunlisted_now = 0;
	proclist.open =
		(at_once ? list_open_names() : dir_open(&proclist.d, roots.proc, ".")) >= 0;
	proclist.appends = at_once && proclist.open;
}

/* Removes the rows of processes that are not in the process list just completed, and calls gone()
 * for each of these processes. */
static void forget_vanished(void (*gone)(u32 pid))
{
	u32 n = 0;

	for (u32 i = 0; i < proclist.nrows; i++) {
		if (processes.rows[i].list_no == proclist.no) {
			processes.rows[n++] = processes.rows[i];
			continue;
		}
		flag_set(&processes.rows[i], P_REFUSED, false);
		dequeue(&processes.rows[i]);
		gone(processes.rows[i].pid);
	}
	proclist.nrows = proclist.nsorted = n;
	proclist.nunlisted = proclist.nunlisted_now;
}

/* Returns the pid of the next process in the process list; NONE if the list has ended. After a
 * complete list, gone() is called for each known process that was not in it. */
u32 proc_list_next(void (*gone)(u32 pid))
{
	const char *name;

	while (proclist.open && proclist.d.fd < 0 && !dir_resume(&proclist.d, roots.proc, "."))
		if (!fd_scans_suspend())
			proc_list_end();
	while (proclist.open && (name = dir_next(&proclist.d))) {
		struct str s = str_z(name);
		u64 pid;
		struct row *r;

		if (scan_u64(s, &pid) != s.e || pid == 0 || pid > INT32_MAX ||
		    (process_filter && !process_filter((u32)pid)))
			continue;
		r = registry.repeats ? row_get((u32)pid) : NULL;
		if (r)
			r->list_no = proclist.no;
		else
			proclist.nunlisted_now += registry.repeats;
		return (u32)pid;
	}
	rows_sort();
	if (proclist.open && proclist.d.n == 0 && registry.repeats)
		forget_vanished(gone);
	proc_list_end();
	return NONE;
}

/* True if a process has changed since the last scan of its descriptors: its number of descriptors
 * or its inode is another one. notice: true: also if the number in its row is unreliable. */
bool process_changed(u32 pid, bool notice)
{
	char path[TASK_PATH];
	struct row *r = row_find(pid);
	struct stat st = { 0 };
	long e;

	task_path(path, pid, "/fd");
	e = sys_fstatat(roots.proc, path, &st);
	fileio.calls++;
	if (!r || (r->ino == ino_fold(st.st_ino) &&
		   r->count == fd_count(pid, &st, fileio.open_fds) &&
		   (!notice || r->flags & P_COUNTED)))
		return false;
	/* A process without descriptors, such as a kernel thread, need not be scanned. */
	if (proclist.counts_fds && e == 0 && st.st_size == 0) {
		process_scanned(pid, &st, 0, 0, false, false);
		return false;
	}
	return true;
}

/* Queues a process for a scan of its descriptors. notice: true: uses QUEUE_NOTIFIED, so that the
 * process is scanned in this sample if the budget allows it. */
void process_enqueue(u32 pid, bool notice)
{
	struct row *r = row_find(pid);

	if (r)
		enqueue(r, notice ? QUEUE_NOTIFIED :
			   r->ino == UINT32_MAX ? QUEUE_NEW : QUEUE_CHANGED);
}

/* Removes the next process from a queue, round robin by pid, and returns its pid; NONE if the queue
 * is empty. */
u32 process_dequeue(u8 queue)
{
	static u32 last[QUEUES];
	u32 from = row_place(last[queue] + 1);

	for (u32 i = 0; proclist.nwaiting[queue] && i < proclist.nrows; i++) {
		struct row *r = &processes.rows[(from + i) % proclist.nrows];

		if (!(r->flags >> queue & 1))
			continue;
		/* Remove the process from all queues before its scan begins, because the scan may
		 * queue it again. */
		dequeue(r);
		return last[queue] = r->pid;
	}
	return NONE;
}

/* Returns whether a process still waits in QUEUE_NOTIFIED for the scan of its descriptors. */
bool processes_notified(void)
{
	return proclist.nwaiting[QUEUE_NOTIFIED];
}

/* Queues the processes with a descriptor that was skipped, because reading its fdinfo could have
 * woken its device. To be called after a device has woken up. */
void processes_enqueue_asleep(void)
{
	for (u32 i = 0; i < proclist.nrows; i++)
		if (processes.rows[i].flags & P_ASLEEP)
			enqueue(&processes.rows[i], QUEUE_NOTIFIED);
}

u32 processes_known(void)
{
	return proclist.nrows;
}
