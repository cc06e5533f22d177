/* watch.c - who may have opened a device, and whom to look at next: what the kernel tells of nodes, and a table of all
 * processes as they were when their descriptors were looked at last. It knows no client.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

u32 watch_sweep = 80;
bool watch_sweep_timed = true;

/* --- notices ------------------------------------------------------------------------------------------------ */

enum {
	EVENT_BYTES = 4096,
	EVENT_MAX = sizeof(struct inotify_event) + 256, /* with a name of NAME_MAX */
	NODES = IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF,
};

/* An open of a node is told to whoever watches its folder: also of a node that we may not open, of one that comes later,
 * and of one that is bind-mounted elsewhere. */
static const struct {
	const char *name;
	u32 mask;
} folders[] = {
	{ "", NODES | IN_ONLYDIR }, /* where the others come and go; any number of terminals is opened there */
	{ "/dri", NODES | IN_OPEN | IN_ONLYDIR },
	{ "/accel", NODES | IN_OPEN | IN_ONLYDIR },
	{ "/kfd", IN_OPEN },
};
static const struct str ours[] = { STR("dri"), STR("accel"), STR("kfd"), STR("nvidia") };

static int notes = -1; /* inotify(7) */
static bool started;
static long error = -ENOENT;       /* why opens are not told; 0: they are */
static long folder_error[LEN(folders)];
static i32 dev_wd = -1;            /* of the first folder */
static char dev[256];              /* "/dev", or that of the machine whose /proc was given */
static bool theirs;                /* its nodes are those of the /sys that we read */
static bool opened;
static u8 nodes_due;               /* looks for devices that are still to be made */
static i64 nodes_looked;           /* ns */
static const i64 nodes_ns = 5000000000; /* a container's /dev need not follow: looked at after this in any case */

static long watch_path(const char *name, u64 number, u32 mask)
{
	char path[300];
	struct buf b = BUF_Z(path);

	put_z(&b, dev);
	put_z(&b, name);
	if (number != UINT64_MAX)
		put_u64(&b, number);
	return sys_notice_of(notes, buf_z(&b), mask);
}

static bool has_nvidia(void)
{
	for (u32 i = 1; i <= ndevices; i++)
		if (devices[i].e.used && strcmp(devices[i].driver, "nvidia") == 0)
			return true;
	return false;
}

/* Of nodes that stand among others each for itself: how many there are, or -errno. */
static long watch_nvidia(void)
{
	long n = 0, r = 0;

	while (r >= 0 && n < 255 && has_nvidia())
		if ((r = watch_path("/nvidia", (u64)n, IN_OPEN)) >= 0)
			n++;
	return r < 0 && r != -ENOENT ? r : n;
}

static void watch_all(void)
{
	long some = watch_nvidia();

	error = some < 0 ? some : 0;
	for (size_t i = 0; i < LEN(folders); i++) {
		long r = watch_path(folders[i].name, UINT64_MAX, folders[i].mask);

		folder_error[i] = r < 0 && r != -ENOENT ? r : 0;
		if (i == 0) {
			dev_wd = (i32)r;
			continue;
		}
		if (folder_error[i])
			error = r;
		some += r >= 0;
	}
	if (!error && some <= 0)
		error = -ENOENT;
}

/* Where a container was given the machine's /proc, that leads to the machine's nodes. */
static void find_dev(void)
{
	struct buf b = BUF_Z(dev);

	theirs = root_proc_given || !root_sys_given;
	if (root_proc_given && root_proc_name && sys_has_file(root_proc, "1/root/dev")) {
		put_z(&b, root_proc_name);
		put_z(&b, "/1/root");
	} else if (root_proc_given) {
		theirs = false;
	}
	put_z(&b, "/dev");
	dev[b.full ? 0 : b.n] = '\0';
}

static void notices_start(void)
{
	long fd = sys_notices();

	notes = (int)fd;
	error = fd < 0 ? fd : 0;
	opened = false;
	nodes_due = 1;
	if (fd < 0)
		return;
	find_dev();
	watch_all();
}

static bool is_ours(const char *name)
{
	for (size_t i = 0; i < LEN(ours); i++) {
		struct str s = str_z(name);

		if (str_skip(&s, ours[i]))
			return true;
	}
	return false;
}

/* True: what is watched has changed. */
static bool notice_take(const struct inotify_event *e)
{
	bool at_dev = e->wd == dev_wd, node = !(e->mask & IN_OPEN);

	if (e->mask & IN_Q_OVERFLOW) {
		opened = true;
		nodes_due = 2;
		return true;
	}
	if (at_dev ? !e->len || !is_ours(e->name) : e->mask & IN_ISDIR && !node)
		return false;
	opened |= !node || at_dev;
	/* A device's links in /sys go shortly after its node went: two looks. */
	if (node)
		nodes_due = 2;
	return at_dev || e->mask & IN_IGNORED;
}

static void notices_read(void)
{
	_Alignas(struct inotify_event) static char b[EVENT_BYTES];
	bool anew = false;
	long n;

	do {
		n = notes < 0 ? -ENOSYS : sys_read(notes, b, sizeof(b));
		for (long at = 0; at < n;) {
			const struct inotify_event *e = (const struct inotify_event *)(const void *)(b + at);

			anew |= notice_take(e);
			at += (long)(sizeof(*e) + e->len);
		}
	} while (n > EVENT_BYTES - (long)EVENT_MAX);
	if (anew)
		watch_all();
}

/* Reads what the kernel has told since the last call. True: look for devices that came or went. */
bool watch_nodes(void)
{
	i64 now = sys_now(CLOCK_MONOTONIC);
	bool told;

	if (fdinfo_repeats && !started) { /* all was closed for a while */
		watch_start();
		opened = true;
	}
	notices_read();
	told = notes >= 0 && theirs && dev_wd >= 0 && !folder_error[1] && !folder_error[2];
	if (told && !nodes_due && now - nodes_looked < nodes_ns)
		return false;
	if (nodes_due)
		nodes_due--;
	nodes_looked = now;
	if (notes >= 0)
		watch_nvidia();
	return true;
}

bool watch_opened(void)
{
	bool was = opened;

	opened = false;
	return was;
}

/* --- the table of processes --------------------------------------------------------------------------------- */

enum { MAX_PROCESSES = 65536 };

/* A process as it was when its descriptors were looked at last. In the order of pids, that few pages be touched. */
static struct row {
	u32 pid;
	u32 ino;   /* of its fd/, folded: another one where the pid is another process' by now */
	u32 count; /* the size of its fd/: since Linux 6.2 the number of its descriptors */
	u8 pass;   /* in which it was met last */
	u8 flags;
} *rows;
static TABLE(rows, MAX_PROCESSES, 128, "processes");
enum {
	P_QUEUES = (1 << WATCH_QUEUES) - 1, /* 1 << enum watch_queue: in which it waits to be looked at */
	P_TOLD = 8,    /* count is the number of its descriptors: there were as many */
	P_REFUSED = 16,
	P_ASLEEP = 32, /* some descriptor of it would wake its device if it were looked at */
	P_OPENING = 64, /* fewer were listed than counted: a number is taken before it stands for something */
};

static u32 nrows, hint; /* hint: where the next pid should be */
static u32 nsorted;     /* rows before those that a pass at once has put behind all others, whatever their pids */
static bool appends;    /* such a pass is on: of those only the last is asked for */
static u32 nrefused, nwaiting[WATCH_QUEUES]; /* rows that have P_REFUSED; in each queue */
static u32 nunlisted, nunlisted_now;
static bool tells;      /* some folder had as many names as its size says */

/* The first row whose pid is not less. */
static u32 row_place(u32 pid)
{
	u32 lo = 0, hi = nsorted;

	if (hint < nrows && rows[hint].pid == pid)
		return hint;
	if (nrows > 0 && rows[nrows - 1].pid == pid)
		return nrows - 1;
	if (nsorted == 0 || rows[nsorted - 1].pid < pid)
		return nsorted;
	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (rows[mid].pid < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static struct row *row_find(u32 pid)
{
	u32 i = row_place(pid);

	if (i == nrows || rows[i].pid != pid)
		return NULL;
	hint = i + 1;
	return &rows[i];
}

/* The row of a process; NULL: no room for one more. */
static struct row *row_get(u32 pid)
{
	struct row *r = row_find(pid);
	u32 i;

	if (r)
		return r;
	if (!table_has(&rows_table, nrows))
		return NULL;
	i = row_place(pid);
	nsorted += i == nrows || !appends;
	i = appends ? nrows : i;
	memmove(rows + i + 1, rows + i, (nrows - i) * sizeof(rows[0]));
	nrows++;
	hint = i + 1;
	rows[i] = (struct row){ .pid = pid, .ino = UINT32_MAX, .count = UINT32_MAX };
	return &rows[i];
}

/* /proc lists its processes in the order of their pids; a tree lists them in any. */
static void rows_sort(void)
{
	for (u32 gap = nsorted < nrows ? nrows / 2 : 0; gap; gap = gap == 2 ? 1 : gap * 5 / 11)
		for (u32 i = gap; i < nrows; i++) {
			struct row r = rows[i];
			u32 at = i;

			for (; at >= gap && rows[at - gap].pid > r.pid; at -= gap)
				rows[at] = rows[at - gap];
			rows[at] = r;
		}
	nsorted = nrows;
	appends = false;
}

static u32 folded(u64 ino)
{
	return (u32)(ino ^ ino >> 32);
}

static bool is_self(u32 pid)
{
	static u32 self;

	if (!self)
		self = sys_pid();
	return pid == self && !root_proc_given;
}

/* How many descriptors a process has, where the kernel tells; of our own, without those that we look through. */
static u32 count_of(u32 pid, const struct stat *st, i32 own)
{
	return (u32)st->st_size - (is_self(pid) ? (u32)own : 0);
}

bool watch_counts(void)
{
	return tells;
}

static void mark(struct row *r, u8 flag, bool on)
{
	nrefused += flag == P_REFUSED ? (u32)on - !!(r->flags & flag) : 0;
	r->flags = on ? r->flags | flag : r->flags & (u8)~flag;
}

static void enqueue(struct row *r, u8 queue)
{
	nwaiting[queue] += !(r->flags >> queue & 1);
	r->flags |= (u8)(1 << queue);
}

/* Out of all queues. */
static void dequeue(struct row *r)
{
	for (unsigned q = 0; q < WATCH_QUEUES; q++)
		nwaiting[q] -= r->flags >> q & 1;
	r->flags &= (u8)~P_QUEUES;
}

void watch_looked(u32 pid, const struct stat *st, i32 own, u32 n, bool refused, bool asleep)
{
	struct row *r = fdinfo_repeats ? row_get(pid) : NULL;
	bool told, opening;

	if (!r)
		return;
	r->ino = folded(st->st_ino);
	r->count = count_of(pid, st, own);
	tells |= n > 0 && n == r->count && !is_self(pid);
	told = n == r->count || refused || is_self(pid);
	opening = tells && !told && n < r->count;
	if (opening && !(r->flags & P_OPENING))
		enqueue(r, WATCH_TOLD); /* once more, and if that is not enough the sweep comes by */
	mark(r, P_OPENING, opening);
	mark(r, P_TOLD, told);
	mark(r, P_REFUSED, refused);
	mark(r, P_ASLEEP, asleep);
}

u32 watch_refused(void)
{
	return nrefused;
}

u32 watch_unlisted(void)
{
	return nunlisted;
}

/* Whether what is known of it is no proof that nothing has changed. */
bool watch_is_stale(u32 pid)
{
	const struct row *r = row_find(pid);

	return !r || !(r->flags & P_TOLD) || r->flags & P_REFUSED;
}

/* The process that stands behind that pid; NONE: there is none. */
u32 watch_after(u32 pid)
{
	u32 i = row_place(pid + 1);

	return i < nrows ? rows[i].pid : NONE;
}

/* --- a pass: one stat per process ----------------------------------------------------------------------------- */

static struct {
	struct dir d; /* /proc: kept open in the background, from sample to sample */
	bool open;
	u8 no;
} pass;
struct scan_names *scan_names;
static TABLE(scan_names, 1, 1, "buffers for names in /proc");

static void pass_stop(void)
{
	if (pass.open)
		dir_close(&pass.d);
	pass.open = false;
	rows_sort();
}

/* Its folder is closed until it goes on. False: there is none, or it is a pass at once. */
bool pass_rest(void)
{
	if (!pass.open || appends || pass.d.fd < 0)
		return false;
	dir_rest(&pass.d);
	return true;
}

bool pass_is_open(void)
{
	return pass.open;
}

static long open_names(void)
{
	return files_tell(!table_has(&scan_names_table, 0) ? -ENOMEM :
			  dir_open_in(&pass.d, root_proc, ".", scan_names->proc, sizeof(scan_names->proc)));
}

/* at_once: all of it now, so that names come in few calls, each of which takes its time. */
void pass_begin(bool at_once)
{
	pass_stop();
	pass.no++;
	hint = nunlisted_now = 0;
	pass.open = (at_once ? open_names() : dir_open(&pass.d, root_proc, ".")) >= 0;
	appends = at_once && pass.open;
}

static void forget_vanished(void (*gone)(u32 pid))
{
	u32 n = 0;

	for (u32 i = 0; i < nrows; i++) {
		if (rows[i].pass == pass.no) {
			rows[n++] = rows[i];
			continue;
		}
		mark(&rows[i], P_REFUSED, false);
		dequeue(&rows[i]);
		gone(rows[i].pid);
	}
	nrows = nsorted = n;
	nunlisted = nunlisted_now;
}

/* The next process; NONE: these were all, and who was not met has gone. */
u32 pass_next(void (*gone)(u32 pid))
{
	const char *name;

	while (pass.open && pass.d.fd < 0 && !dir_resume(&pass.d, root_proc, "."))
		if (!looks_rest())
			pass_stop();
	while (pass.open && (name = dir_next(&pass.d))) {
		struct str s = str_z(name);
		u64 pid;
		struct row *r;

		if (scan_u64(s, &pid) != s.e || pid == 0 || pid > INT32_MAX)
			continue;
		r = fdinfo_repeats ? row_get((u32)pid) : NULL;
		if (r)
			r->pass = pass.no;
		else
			nunlisted_now += fdinfo_repeats;
		return (u32)pid;
	}
	rows_sort();
	if (pass.open && pass.d.n == 0 && fdinfo_repeats)
		forget_vanished(gone);
	pass_stop();
	return NONE;
}

/* Whether a process is not what it was when it was looked at last. notice: nor is one whose count proves nothing. */
bool watch_changed(u32 pid, bool notice)
{
	char path[TASK_PATH];
	struct row *r = row_find(pid);
	struct stat st = { 0 };
	long e;

	task_path(path, pid, "/fd");
	e = sys_fstatat(root_proc, path, &st);
	files_calls++;
	if (!r || (r->ino == folded(st.st_ino) && r->count == count_of(pid, &st, files_own) && (!notice || r->flags & P_TOLD)))
		return false;
	/* The kernel's own threads have none. */
	if (tells && e == 0 && st.st_size == 0) {
		watch_looked(pid, &st, 0, 0, false, false);
		return false;
	}
	return true;
}

/* It is to be looked at. notice: in this sample. */
void watch_later(u32 pid, bool notice)
{
	struct row *r = row_find(pid);

	if (r)
		enqueue(r, notice ? WATCH_TOLD : r->ino == UINT32_MAX ? WATCH_NEW : WATCH_CHANGED);
}

/* One that is to be looked at, now; each in its turn. */
u32 watch_due(u8 queue)
{
	static u32 last[WATCH_QUEUES];
	u32 from = row_place(last[queue] + 1);

	for (u32 i = 0; nwaiting[queue] && i < nrows; i++) {
		struct row *r = &rows[(from + i) % nrows];

		if (!(r->flags >> queue & 1))
			continue;
		dequeue(r); /* before the look: what comes in its course is another matter */
		return last[queue] = r->pid;
	}
	return NONE;
}

/* Whether somebody is to be looked at because of a notice, for whom there was no time yet. */
bool watch_waits(void)
{
	return nwaiting[WATCH_TOLD];
}

/* A device woke up: what it was not to be woken for. */
void watch_woke(void)
{
	for (u32 i = 0; i < nrows; i++)
		if (rows[i].flags & P_ASLEEP)
			enqueue(&rows[i], WATCH_TOLD);
}

/* --- all of it ---------------------------------------------------------------------------------------------------- */

void watch_start(void)
{
	started = true;
	notices_start();
}

void watch_stop(void)
{
	pass_stop();
	if (notes >= 0)
		sys_close(notes);
	notes = -1;
	started = false;
}

void watch_facts(struct watch_facts *f)
{
	*f = (struct watch_facts){ .where = dev[0] ? dev : "/dev", .error = error, .counts = tells, .processes = nrows };
}
