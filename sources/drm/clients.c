/* clients.c - DRM clients: finds the descriptors of a process that hold one, and reads their
 * /proc/PID/fdinfo/FD. discovery.c decides which process is scanned, and when.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"
#include "sys.h"

struct fdinfo_scope fdinfo_scope = { .tasks = true };
void (*fdinfo_hook)(void);

enum {
	PAGE = 4096,
	/* bytes of the buffer for one fdinfo file: the text of a driver has up to 1.5 KiB, and the
	 * kernel prints a line for each file lock before it */
	FD_BYTES = 64 << 10,
	/* number of descriptors reserved for open folders, inotify, and sensors of devices that
	 * wake up */
	SPARE_FDS = 20,
};

/* Buffers for texts of files in /proc. text: an fdinfo file; others: those lines of an fdinfo file
 * whose keys the kernel's drm-usage-stats.rst does not define; task: /proc/PID/comm or
 * /proc/PID/cgroup. */
struct buffers {
	char text[FD_BYTES], others[FD_BYTES], task[FD_BYTES];
};
static TABLE(struct buffers, buffers, 1, 1, "buffers for fdinfo files");

/* --- storing the values of an fdinfo file ----------------------------------------------------- */

/* The quantities of fdinfo keys. Index: key of an fdinfo line (FD_*); value: 1 + the quantity (D_*)
 * that is stored for this key; 0: none is stored. */
static const u8 fd_descs[] = {
	[FD_BUSY_NS] = D_BUSY_NS + 1,   [FD_CYCLES] = D_CYCLES + 1,
	[FD_TOTAL_CYCLES] = D_TOTAL_CYCLES + 1, [FD_CAPACITY] = D_CAPACITY + 1,
	[FD_MAXFREQ] = D_MAXFREQ + 1,   [FD_CURFREQ] = D_CURFREQ + 1,
	[FD_BUSY_PCT] = D_BUSY_PCT + 1, [FD_TOTAL] = D_TOTAL + 1,
	[FD_SHARED] = D_SHARED + 1,     [FD_RESIDENT] = D_RESIDENT + 1,
	[FD_MEMORY] = D_RESIDENT + 1,   [FD_PURGEABLE] = D_PURGEABLE + 1,
	[FD_ACTIVE] = D_ACTIVE + 1,     [FD_OTHER] = 0,
};

/* Stores the values of an fdinfo file, which was read at t (ns), as one reading of its client. */
void fdinfo_put(struct client *c, struct str text, const struct fdhead *h, i64 t)
{
	bool others = fdinfo_scope.others && table_has(&buffers.t, 0);
	struct buf other = { 0 };
	struct fdline l;

	if (others)
		other = BUF(buffers.rows->others);
	c->text_hash = hash_quick(text);
	reg_begin(&c->e, t);
	c->skipped = 0;
	while (fdinfo_next(&text, h->old, &l)) {
		if (l.key == FD_BAD) {
			c->skipped++;
		} else if (l.key == FD_OTHER || l.key == FD_PASID) {
			if (!others)
				continue;
			put_str(&other, l.name);
			put_c(&other, ':');
			put_str(&other, l.text);
			put_c(&other, '\n');
		} else if (l.key < LEN(fd_descs) && fd_descs[l.key]) {
			/* If an fdinfo key is repeated, its last line counts, also if that is not
			 * plausible. drm-memory-X is an old spelling of drm-resident-X: it is
			 * ignored if the driver prints both. */
			reg_put_as(&c->e, (u8)(fd_descs[l.key] - 1), l.name, l.n, t,
				   l.key == FD_MEMORY ? PUT_WEAK : PUT_LAST);
		}
	}
	if (!h->name.p)
		text_free(c->name);
	c->name = h->name.p ? text_put(c->name, h->name) : NONE;
	if (others)
		c->other = text_put(c->other, (struct str){ other.p, other.p + other.n });
}

static struct {
	/* number of the current scan: each full scan of /proc, each scan of one process's
	 * descriptors and each compute_scan() increases it */
	u32 scan_no;
	u32 sample_no; /* number of the current sample */
	/* device_skipped[i]: true if the fdinfo of a descriptor of devices[i] was not read, because
	 * that could have woken the device */
	bool device_skipped[MAX_DEVICES];
	/* true if the current scan of a process's descriptors has left out the fdinfo of a
	 * descriptor, because reading it could have woken the device */
	bool skipped_asleep;
	/* true if the current scan of a process's descriptors is part of the rescan */
	bool in_rescan;
	/* rescan_anonymous[i]: number of descriptors of devices[i] whose client is unknown, found
	 * so far in the current rescan cycle */
	u32 rescan_anonymous[MAX_DEVICES];
	/* number of further fdinfo files that may stay open */
	long fd_budget;
	/* number of times that a scan has found a known or a new holder, that is, a descriptor
	 * through which a process holds a client */
	u32 holders_seen;
} scans;

/* Returns true if the client's fdinfo text has the same 64-bit hash as at its last reading: then
 * the values of that reading are stored again without parsing the text, because most clients do no
 * work from one sample to the next. Returns false, so that the caller parses the text, if the hash
 * differs, or if a counter of the last reading went backwards, had no room or was not
 * plausible. */
static bool fdinfo_put_same(struct client *c, struct str text, i64 t)
{
	if (!c->text_hash || c->e.went_backwards || c->e.dropped ||
	    c->text_hash != hash_quick(text))
		return false;
	reg_put_same(&c->e, t);
	c->read_sample = scans.sample_no;
	return true;
}

/* If the fdinfo text has the total of a memory region but lacks other memory keys of the region,
 * stores 0 for these: for keys that an earlier reading of the client had, and for keys in `zero`
 * (Z_* bits), which the driver prints only if they are not 0. A value that is not plausible stays
 * unknown. */
static void zero_absent(struct client *c, u8 zero, i64 t)
{
	static const u8 bits[] = { D_RESIDENT, D_PURGEABLE, D_ACTIVE };
	u8 named = zero ? 7 : 0;

	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k))
		for (size_t i = 0; i < LEN(bits); i++)
			named |= (u8)((k->desc == bits[i] && !(k->flags & CF_SEEN)) << i);
	for (struct counter *k = named ? reg_first(&c->e) : NULL; k; k = reg_next(k)) {
		/* reg_put() may move the counter k to the end of the list of counters: the loop
		 * then reaches k a second time. */
		u16 inst = k->inst;

		if (k->desc != D_TOTAL || !(k->flags & (CF_SEEN | CF_UNKNOWN)))
			continue;
		for (size_t i = 0; i < LEN(bits); i++) {
			struct counter *at = reg_find(&c->e, bits[i], inst);

			if (named >> i & 1 && (at ? !(at->flags & CF_UNKNOWN) : zero >> i & 1))
				reg_put(&c->e, bits[i], inst_name(inst), 0, t);
		}
	}
}

/* Sets the previous value of each engine to 0 that appears in the client's fdinfo for the first
 * time, so that its first rate is known. Only for amdgpu, which prints an engine of a client only
 * after that engine has worked for the client. */
void new_engines_baseline(struct client *c, struct str driver)
{
	if (!str_eq(driver, (struct str)STR("amdgpu")))
		return;
	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k))
		if (k->desc == D_BUSY_NS && (k->flags & (CF_SEEN | CF_BASE)) == CF_SEEN &&
		    c->e.t_was)
			reg_baseline(k, 0, c->e.t_was);
}

/* Returns true if all known holders of the client, the descriptors through which processes hold it,
 * were first seen in this sample. */
static bool holders_are_new(const struct client *c)
{
	for (u32 h = c->holders; h; h = holders[h].next_client)
		if (holders[h].first_sample != scans.sample_no)
			return false;
	return true;
}

/* Stores the values of an fdinfo text, which was read at t (ns), in its client. */
static void client_put(struct client *c, struct str text, const struct fdhead *h, i64 t)
{
	struct device *d = &devices[c->device];
	bool known = c->e.fresh; /* true if the client was read in the previous sample */
	u32 implausible = d->implausible, all = registry.implausible.total;

	fdinfo_put(c, text, h, t);
	/* Before Linux 6.5, client ids are per device and are used again: if a counter went
	 * backwards and all descriptors of the client are new, the id now belongs to another
	 * client, and the old values are cleared. The same text is stored again, and its values
	 * that are not plausible are counted once. */
	if (c->e.went_backwards && holders_are_new(c)) {
		d->implausible = implausible;
		registry.implausible.total = all;
		reg_clear(&c->e);
		fdinfo_put(c, text, h, t);
		known = false;
	}
	c->read_sample = scans.sample_no;
	if (!c->skipped) /* a malformed line may have a key that seems absent */
		zero_absent(c, driver_find(h->driver)->zero, t);
	if (known)
		new_engines_baseline(c, h->driver);
	if (!d->driver[0])
		str_copy(d->driver, sizeof(d->driver), h->driver);
	if (d->unlisted && !d->pdev[0])
		str_copy(d->pdev, sizeof(d->pdev), h->pdev);
}

/* --- processes -------------------------------------------------------------------------------- */

static const char *proc_path(char *out, u32 pid, const char *file, u32 fd, bool with_fd)
{
	struct buf b = { .p = out, .cap = 63 };

	put_u64(&b, pid);
	put_c(&b, '/');
	put_z(&b, file);
	if (with_fd)
		put_u64(&b, fd);
	out[b.n] = '\0';
	return out;
}

static struct str proc_text(u32 pid, const char *file, char *b, size_t cap)
{
	char path[64];
	long n = slurp(roots.proc, proc_path(path, pid, file, 0, false), b, cap);

	return (struct str){ b, b + (n > 0 ? n : 0) };
}

/* Returns when the process started, in clock ticks since boot; UINT64_MAX: unknown. */
u64 task_start(u32 pid)
{
	char b[1024]; /* room for /proc/PID/stat, which has 52 numbers and a name */
	u64 start;

	return parse_stat_start(proc_text(pid, "stat", b, sizeof(b)), &start) ? start : UINT64_MAX;
}

/* Reads the name and the cgroup of a process into its row of tasks[]. */
void task_describe(struct task *t)
{
	struct str s, path;
	u32 cgroup = NONE;
	char *b;

	if (!fdinfo_scope.tasks || !table_has(&buffers.t, 0))
		return;
	b = buffers.rows->task;
	s = proc_text(t->pid, "comm", b, 64);
	t->read = sys_now(CLOCK_MONOTONIC);
	if (s.e > s.p) {
		if (s.e[-1] == '\n')
			/* comm ends with a newline that is not part of the process's name; other
			 * newlines are part of it */
			s.e--;
		t->comm_len =
			(u8)(str_len(s) < sizeof(t->comm) ? str_len(s) : sizeof(t->comm));
		memcpy(t->comm, s.p, t->comm_len);
		t->has_comm = true;
	}
	if (parse_cgroup(proc_text(t->pid, "cgroup", b, FD_BYTES), &path))
		cgroup = cgroup_add(path);
	if (cgroup == NONE)
		return;
	if (t->cgroup)
		cgroup_unref(t->cgroup);
	t->cgroup = cgroup;
}

static void io_close(int io)
{
	if (io < 0)
		return;
	sys_close(io);
	fileio.calls++;
	fileio.open_fds--;
	scans.fd_budget++;
}

static void holder_drop(u32 h)
{
	io_close(holders[h].io);
	holder_remove(h);
}

/* Returns the index in tasks[] of the process with this pid, and adds the process if it is new;
 * NONE if the table is full. If the start time of the process differs from that in the row, another
 * process has got the pid: the holders (descriptors of clients) of the old process are dropped. */
static u32 task_get(u32 pid)
{
	u32 n = task_find(pid);
	u64 start;

	if (n != NONE && tasks[n].checked == scans.scan_no)
		return n;
	/* Do not read the start time of the process if there is only one scan and fdinfo files stay
	 * open. The start time serves to notice that another process has got the pid, but an open
	 * fdinfo file always belongs to the same process. */
	start = registry.repeats || fdinfo_scope.tasks || scans.fd_budget <= 0 ? task_start(pid) :
									   UINT64_MAX;
	if (n != NONE && tasks[n].start == UINT64_MAX)
		/* the start time of this process was not read before, or could not be read: store
		 * it now */
		tasks[n].start = start;
	if (n != NONE && tasks[n].start != start && start != UINT64_MAX) {
		tasks[n].refs++;
		for (u32 h = 1; h <= nrows.holders; h++)
			if (holders[h].client && holders[h].task == n)
				holder_drop(h);
		tasks[n].refs--;
		tasks[n].start = start;
		tasks[n].lineage = NO_LINEAGE;
		task_describe(&tasks[n]);
	}
	if (n == NONE && (n = task_add(pid)) != NONE) {
		tasks[n].start = start;
		task_describe(&tasks[n]);
	}
	if (n != NONE)
		tasks[n].checked = scans.scan_no;
	return n;
}

/* --- descriptors ------------------------------------------------------------------------------ */

/* True if the result r of a system call is an error that means that no descriptor or no memory is
 * left: it says nothing about the file that was to be opened. */
static bool is_exhausted(long r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM;
}

/* Closes one descriptor that gpustat keeps open only to save system calls: that of an fdinfo file,
 * or of the folder of an interrupted scan. Returns false if there is none. */
static bool descriptor_release(void)
{
	for (u32 h = nrows.holders; h > 0; h--)
		if (holders[h].client && holders[h].io >= 0) {
			io_close(holders[h].io);
			holders[h].io = -1;
			/* keep no more fdinfo files open: the limit on descriptors was reached
			 * earlier than expected */
			scans.fd_budget = 0;
			return true;
		}
	return fd_scans_suspend() || proc_list_suspend();
}

/* Opens a folder of a process in /proc. If no descriptor is left, descriptors that are kept open
 * are closed first. Returns the descriptor, or -errno. */
static long folder_open(struct dir *d, const char *path, char *names, size_t cap)
{
	while (dir_open_in(d, roots.proc, path, names, cap) < 0 && is_exhausted(d->fd) &&
	       descriptor_release())
		;
	return files_note_error(d->fd);
}

/* Removes the lines of file locks ("lock:") from the n bytes of an fdinfo file; there may be any
 * number of them. Returns the number of bytes left. */
static size_t drop_locks(char *b, size_t n)
{
	struct str text = { b, b + n }, line;
	size_t to = 0;

	while (line_next(&text, &line)) {
		struct str rest = line;

		if (str_skip_z(&rest, "lock:"))
			continue;
		memmove(b + to, line.p, str_len(line) + 1);
		to += str_len(line) + 1;
	}
	memmove(b + to, text.p, str_len(text));
	return to + str_len(text);
}

/* Reads an open fdinfo file to its end, and returns its length or -errno. A file that exceeds the
 * buffer even without its lock lines is counted as dropped. */
static long fdinfo_slurp(int fd)
{
	size_t n = 0, at = 0;
	long r = slurp_fd(fd, buffers.rows->text, FD_BYTES);

	if (r < FD_BYTES)
		return r;
	for (n = at = FD_BYTES; r > 0; n += (size_t)r, at += (size_t)r) {
		n = drop_locks(buffers.rows->text, n);
		if (n == FD_BYTES) {
			registry.dropped++;
			break;
		}
		r = sys_pread(fd, buffers.rows->text + n, FD_BYTES - n, at);
		if (r < 0)
			return r;
	}
	return (long)n;
}

/* Reads an fdinfo file into buffers->text, and returns its length or -errno. If io is not NULL, the
 * file may stay open: its descriptor is stored in *io, and used by the next call. is_drm: the file
 * is that of a GPU node. If false, it may be that of an epoll or inotify descriptor, which can be
 * of any length: it is read to its end only if its first page has a DRM key. */
static long holder_read(u32 pid, u32 fd, int *io, bool is_drm)
{
	char path[64];
	long n, r;

	if (!table_has(&buffers.t, 0))
		return files_note_error(-ENOMEM);
	if (io && *io >= 0)
		return files_note_error(fdinfo_slurp(*io));
	proc_path(path, pid, "fdinfo/", fd, true);
	fileio.calls++;
	while ((r = open_retry(roots.proc, path, O_RDONLY | O_NONBLOCK)) < 0)
		if (!is_exhausted(r) || !descriptor_release())
			return files_note_error(r);
	n = is_drm ? fdinfo_slurp((int)r) : slurp_fd((int)r, buffers.rows->text, PAGE);
	if (n == PAGE && !is_drm &&
	    str_find(str_of(buffers.rows->text, (size_t)n), (struct str)STR("\ndrm-")))
		n = fdinfo_slurp((int)r);
	files_note_error(n);
	if (n > 0 && io && scans.fd_budget > 0) {
		*io = (int)r;
		scans.fd_budget--;
		fileio.open_fds++;
	} else {
		sys_close((int)r);
		fileio.calls++;
	}
	return n;
}

static bool denied(long r)
{
	return r == -EACCES || r == -EPERM;
}

/* Stores the key that identifies the client of an fdinfo file, and the kind of that key (KEY_*):
 * drm-client-id, otherwise the pasid. If the file has neither, each descriptor counts as a client
 * of its own, with the key pid << 32 | fd. */
static void head_key(const struct fdhead *h, u32 pid, u32 fd, u8 *kind, u64 *key)
{
	*kind = h->has_client ? KEY_ID : h->has_pasid ? KEY_PASID : KEY_FILE;
	*key = h->has_client ? h->client : h->has_pasid ? h->pasid : (u64)pid << 32 | fd;
}

/* True if the fdinfo of the device's clients may be read: that neither wakes the device nor can
 * crash the kernel, and no option excludes the device. */
static bool may_read(u32 device)
{
	const struct device *d = &devices[device];

	return !d->left_out && !d->no_fdinfo && (d->awake || driver_find(str_z(d->driver))->quiet);
}

u32 holders_found;

static void holder_mark_seen(u32 h)
{
	holders[h].seen = scans.scan_no;
	scans.holders_seen++;
}

/* Adds a holder: a descriptor (fd) of the process pid through which the process holds a client.
 * Returns the index in holders[]; NONE if there is no room. io: descriptor of the open fdinfo file,
 * or -1. This function closes io unless this is the first holder of the client: clients are read
 * only through their first holder. */
static u32 holder_register(u32 pid, u32 fd, u32 client, int io)
{
	u32 task = client != NONE ? task_get(pid) : NONE;
	bool first = client != NONE && !clients[client].holders;
	u32 h = task != NONE ? holder_add(pid, fd, task, client) : NONE;

	if (h == NONE || !first) {
		io_close(io);
		io = -1;
	}
	if (h == NONE) {
		if (task != NONE)
			task_prune(task);
		return NONE;
	}
	holders_found++;
	holder_mark_seen(h);
	holders[h].io = io;
	holders[h].first_sample = scans.sample_no;
	return h;
}

/* Adds a client for a process that has a node of NVIDIA's driver open: /dev/nvidiaN, or a DRM node
 * if its fdinfo has keys (up to release 595 it has none). The values of the client are from
 * nvidia_read(). gpustat's own process is left out, because it opens the node only to ask the
 * driver. */
static void descriptor_nvidia(u32 pid, u32 fd, u32 device)
{
	u32 client = client_find(device, KEY_PID, pid);

	if (HAS(nvidia) && pid_is_self(pid))
		return;
	holder_register(pid, fd, client != NONE ? client : client_add(device, KEY_PID, pid), -1);
}

static void anonymous_count(u32 device)
{
	u32 *n = &devices[device].anonymous;

	if (!scans.in_rescan)
		++*n;
	else if (++scans.rescan_anonymous[device] > *n)
		/* devices[].anonymous is the number of descriptors with unknown client in the
		 * previous rescan cycle or, if it is larger, in the current one */
		*n = scans.rescan_anonymous[device];
}

/* After a rescan cycle: sets devices[].anonymous, the number of a device's descriptors whose client
 * is unknown, to the number that this cycle has found. */
void anonymous_resolve(void)
{
	for (u32 i = 1; i <= nrows.devices; i++) {
		devices[i].anonymous = scans.rescan_anonymous[i];
		scans.rescan_anonymous[i] = 0;
	}
}

/* Reads the fdinfo of a descriptor that is no known holder, and adds its client and its holder.
 * device: the device of the descriptor; NONE: it is found from the fdinfo text, and a file without
 * DRM keys is ignored. False if fdinfo may not be read. */
static bool descriptor_new(u32 pid, u32 fd, u32 device)
{
	struct fdhead h;
	struct str text;
	int io = -1;
	long n;
	i64 t;
	u64 key = 0;
	u8 kind = KEY_ID;
	u32 client;
	bool drm;

	if (device != NONE && !may_read(device)) {
		anonymous_count(device);
		scans.device_skipped[device] = scans.skipped_asleep = true;
		return true;
	}
	n = holder_read(pid, fd, &io, device != NONE);
	t = sys_now(CLOCK_MONOTONIC);
	text = (struct str){ buffers.rows->text, buffers.rows->text + (n > 0 ? n : 0) };
	drm = fdinfo_head(text, &h);
	if (drm)
		head_key(&h, pid, fd, &kind, &key);
	if (drm && device == NONE)
		device = sysfs_device_by(h.pdev, h.driver);
	if (HAS(nvidia) && drm && device != NONE && !devices[device].left_out &&
	    nvidia_covers(device)) {
		io_close(io);
		descriptor_nvidia(pid, fd, device);
		return true;
	}
	if (device == NONE || !drm || devices[device].left_out) {
		if (device != NONE && !devices[device].left_out && n >= 0)
			anonymous_count(device);
		if (is_transient_error(n))
			process_enqueue(pid, false);
		io_close(io);
		return !denied(n);
	}
	client = client_find(device, kind, key);
	if (client == NONE && (client = client_add(device, kind, key)) != NONE) {
		clients[client].read_sample = scans.sample_no - 1;
		client_put(&clients[client], text, &h, t);
	}
	holder_register(pid, fd, client, io);
	return true;
}

static bool is_gpu_node(const struct sys_statx *k, unsigned *maj, unsigned *min)
{
	if (!S_ISCHR(k->mode))
		return false;
	*maj = k->rdev[0];
	*min = k->rdev[1];
	return *maj == MAJOR_DRM || *maj == MAJOR_ACCEL || (*maj == MAJOR_NVIDIA && *min < 255);
}

/* Returns 1 if a descriptor is that of a DRM, accel or NVIDIA node, 0 if not, or -errno. dir and
 * name: the descriptor's link in /proc/PID/fd. Stores the device number of the node in *maj and
 * *min. If stat(2) of the link fails, as in a saved copy of /proc, the text of the link tells which
 * node it is. */
static long is_gpu(int dir, const char *name, unsigned *maj, unsigned *min)
{
	static const struct str folders[] = { STR("/dev/dri/"), STR("/dev/accel/"), STR("/dev/") };
	struct sys_statx k;
	char b[128];
	struct str text;
	long r = sys_stat_cached(dir, name, &k), n;

	fileio.calls++;
	if (r == 0)
		return is_gpu_node(&k, maj, min);
	if (is_exhausted(r))
		return files_note_error(r);
	fileio.calls++;
	n = sys_readlinkat(dir, name, b, sizeof(b));
	/* stat(2) has failed. If the link can be read nevertheless, its target is a file of FUSE,
	 * or the link is in a saved copy of another machine's /proc. */
	if (denied(n) || is_transient_error(n))
		return files_note_error(n);
	for (size_t i = 0; n > 0 && i < LEN(folders); i++) {
		text = (struct str){ b, b + n };
		if (str_skip(&text, folders[i]))
			return sysfs_node(text, maj, min);
	}
	return 0;
}

static u32 fd_number(const char *name)
{
	u64 v;
	struct str s = str_z(name);

	return scan_u64(s, &v) == s.e && v <= INT32_MAX ? (u32)v : UINT32_MAX;
}

/* Adds the client that a process holds through a descriptor of a GPU node. False if the fdinfo of
 * the descriptor may not be read. */
bool descriptor_found(u32 pid, u32 fd, unsigned maj, unsigned min)
{
	u32 device = sysfs_device(maj, min);

	if (device == NONE || devices[device].left_out)
		return true;
	if (maj != MAJOR_NVIDIA)
		return descriptor_new(pid, fd, device);
	descriptor_nvidia(pid, fd, device);
	return true;
}

/* Scans one descriptor of a process: `name` in the folder fd/, which is open as dir. False if
 * permission was denied. */
static bool descriptor_scan(int dir, u32 pid, const char *name)
{
	unsigned maj = 0, min = 0;
	u32 fd, holder;
	long gpu = is_gpu(dir, name, &maj, &min);

	if (gpu <= 0 && !is_transient_error(gpu))
		return !denied(gpu);
	/* Parse the descriptor number only for GPU nodes, which are few of all descriptors. */
	fd = fd_number(name);
	if (fd == UINT32_MAX)
		return true;
	holder = holder_find(pid, fd);
	/* After a transient error, keep the row of this descriptor in the table of holders if there
	 * is one, and scan the process again later. */
	if (is_transient_error(gpu)) {
		if (holder != NONE)
			holder_mark_seen(holder);
		process_enqueue(pid, false);
		return true;
	}
	if (holder != NONE && clients[holders[holder].client].device == sysfs_device(maj, min)) {
		holder_mark_seen(holder);
		return true;
	}
	if (holder != NONE)
		/* the descriptor number was used again, for another device: drop its holder */
		holder_drop(holder);
	return descriptor_found(pid, fd, maj, min);
}

/* True if a device has woken up, and descriptors of its clients were skipped while it was
 * asleep. */
bool devices_woke(void)
{
	bool woke = false;

	for (u32 i = 1; i <= nrows.devices; i++)
		if (scans.device_skipped[i] && devices[i].e.used && may_read(i)) {
			scans.device_skipped[i] = false;
			woke = true;
		}
	return woke;
}

/* Returns whether there is a device whose clients' fdinfo may not be read now. */
static bool any_device_unread(void)
{
	for (u32 i = 1; i <= nrows.devices; i++)
		if (devices[i].e.used && !may_read(i))
			return true;
	return false;
}

/* Scans one descriptor of a process whose folder /proc/PID/fd cannot be opened. pidfd: descriptor
 * of the process, if reading fdinfo could wake a device: the node is then found from a duplicate of
 * the descriptor (pidfd_getfd(2)), and fdinfo is not read. Otherwise pidfd is -1 and fdinfo is
 * read, because closing a duplicate has effects: close() flushes the file, and waits for the server
 * of a FUSE file. False if permission was denied. */
static bool descriptor_scan_fdinfo(int pidfd, u32 pid, u32 fd)
{
	unsigned maj = 0, min = 0;
	struct sys_statx k;
	long dup;
	bool gpu;

	if (pidfd < 0)
		return descriptor_new(pid, fd, NONE);
	do {
		dup = sys_pidfd_getfd(pidfd, fd);
		fileio.calls++;
	} while (is_exhausted(dup) && descriptor_release());
	if (is_transient_error(files_note_error(dup)))
		process_enqueue(pid, false);
	if (dup < 0)
		return is_transient_error(dup) || dup == -EBADF || dup == -ESRCH;
	gpu = sys_stat_cached((int)dup, "", &k) == 0 && is_gpu_node(&k, &maj, &min);
	sys_close((int)dup);
	fileio.calls += 2;
	return !gpu || descriptor_found(pid, fd, maj, min);
}

/* Returns whether the open folder `dir` of a process belongs to another user than that of this
 * process. For root, every other process is foreign. */
bool task_is_foreign(int dir, u32 pid)
{
	static i64 me = -1;
	struct stat st;

	if (me < 0)
		me = sys_euid();
	return me == 0 ? !pid_is_self(pid) : sys_fstat(dir, &st) == 0 && st.st_uid != me;
}

/* --- fd scan: all descriptors of a process; it may be interrupted ----------------------------- */

static long pidfd_get(u32 pid)
{
	fileio.calls++;
	return sys_pidfd_open(pid);
}

/* Begins the scan of a process's descriptors again in /proc/PID/fdinfo, after access to
 * /proc/PID/fd was refused; this happens if gpustat has CAP_SYS_PTRACE, but not
 * CAP_DAC_READ_SEARCH. False if /proc/PID/fdinfo cannot be scanned either. */
static bool fd_scan_open_fdinfo(struct fd_scan *l)
{
	char path[64];
	bool careful = any_device_unread();
	long pidfd = careful ? -ENOSYS : 0;

	dir_close(&l->d);
	l->suspended = false;
	l->by_fdinfo = true;
	l->n = 0;
	if (folder_open(&l->d, proc_path(path, l->pid, "fdinfo", 0, false), l->d.p, l->d.cap) < 0) {
		l->refused = denied(l->d.fd);
		l->incomplete |= is_transient_error(l->d.fd);
		return false;
	}
	while (careful && !roots.proc_given && (pidfd = pidfd_get(l->pid)) < 0 &&
	       is_exhausted(pidfd) && descriptor_release())
		;
	l->pidfd = careful ? (int)pidfd : -1;
	l->incomplete |= is_transient_error(files_note_error(pidfd));
	l->refused = pidfd < 0 && !is_transient_error(pidfd) && pidfd != -ESRCH;
	registry.saw_others |= pidfd >= 0 && task_is_foreign(l->d.fd, l->pid);
	return pidfd >= 0;
}

/* Opens the folder for the scan of a process's descriptors: /proc/PID/fd, or /proc/PID/fdinfo if fd
 * is refused. False if there is nothing to scan. */
static bool fd_scan_open(struct fd_scan *l, char *names, size_t cap)
{
	char path[64];

	proc_path(path, l->pid, "fd", 0, false);
	folder_open(&l->d, path, names, cap);
	l->own = fileio.open_fds;
	l->incomplete = is_transient_error(l->d.fd);
	if (l->incomplete)
		return false;
	if (registry.repeats) {
		fileio.calls++;
		if (l->d.fd >= 0)
			sys_fstat(l->d.fd, &l->st);
		else
			sys_fstatat(roots.proc, path, &l->st);
	}
	return l->d.fd >= 0 || fd_scan_open_fdinfo(l);
}

/* Begins the scan of all descriptors of a process (fd scan). names: buffer of cap bytes for the
 * names in the folder /proc/PID/fd; the buffer must exist until the scan ends. */
void fd_scan_begin(struct fd_scan *l, u32 pid, char *names, size_t cap)
{
	l->pid = pid;
	l->n = l->nseen = 0;
	l->pidfd = -1;
	l->by_fdinfo = l->refused = l->asleep = l->suspended = false;
	l->st = (struct stat){ .st_size = 0 };
	l->no = ++scans.scan_no;
	l->open = true;
	/* Find out whether the pid of a known process has been used again by another process. */
	if (registry.repeats && task_find(pid) != NONE)
		task_get(pid);
	l->over = !fd_scan_open(l, names, cap);
}

static bool fd_scan_descriptor(struct fd_scan *l, const char *name)
{
	u32 fd = fd_number(name), holder;

	if (!l->by_fdinfo)
		return descriptor_scan(l->d.fd, l->pid, name);
	holder = fd == UINT32_MAX ? NONE : holder_find(l->pid, fd);
	if (holder != NONE)
		holder_mark_seen(holder);
	return holder != NONE || fd == UINT32_MAX || descriptor_scan_fdinfo(l->pidfd, l->pid, fd);
}

/* Opens the folder of a suspended fd scan again, and continues its listing. */
static void fd_scan_resume(struct fd_scan *l)
{
	char path[64];

	l->suspended = false;
	proc_path(path, l->pid, l->by_fdinfo ? "fdinfo" : "fd", 0, false);
	while (!dir_resume(&l->d, roots.proc, path) && is_exhausted(l->d.fd) &&
	       descriptor_release())
		;
	l->over |= l->d.fd < 0;
	l->incomplete |= is_transient_error(files_note_error(l->d.fd));
}

/* Scans the next descriptor of a process. False if there are no more descriptors. If the kernel
 * permits listing /proc/PID/fd, but refuses access to the links in it, the scan begins again in
 * /proc/PID/fdinfo. */
bool fd_scan_step(struct fd_scan *l)
{
	const char *name;
	u32 before = scans.holders_seen;
	bool seen;

	if (l->suspended)
		fd_scan_resume(l);
	name = l->over ? NULL : dir_next(&l->d);
	if (!name) {
		/* After -ENOENT, the scan is complete: the process has ended. */
		l->incomplete |= !l->over && l->d.n < 0 && l->d.n != -ENOENT;
		return false;
	}
	l->n++;
	scans.skipped_asleep = false;
	scans.in_rescan = l->in_rescan;
	seen = fd_scan_descriptor(l, name);
	scans.in_rescan = false;
	l->nseen += scans.holders_seen - before;
	l->asleep |= scans.skipped_asleep;
	if (seen)
		return true;
	l->refused = l->by_fdinfo;
	return !l->by_fdinfo && fd_scan_open_fdinfo(l);
}

/* Ends the scan of a process's descriptors. record: true if the result is to be stored in the row
 * of the process in the process table. */
void fd_scan_end(struct fd_scan *l, bool record)
{
	registry.saw_others |= !l->refused && l->d.fd >= 0 && !registry.saw_others &&
			  task_is_foreign(l->d.fd, l->pid);
	dir_close(&l->d);
	if (l->pidfd >= 0) {
		sys_close(l->pidfd);
		fileio.calls++;
	}
	l->open = false;
	registry.unreadable += l->refused && !registry.repeats;
	if (record)
		process_scanned(l->pid, &l->st, l->own, l->n, l->refused, l->asleep);
	if (record && l->incomplete)
		process_enqueue(l->pid, false);
}

/* Returns true if the scan with the number `scan`, or a later scan, has found the descriptor of the
 * holder h. Scan numbers may wrap. */
static bool holder_seen_since(const struct holder *h, u32 scan)
{
	return (i32)(h->seen - scan) >= 0;
}

/* After the scan l of a process's descriptors: drops the holders (descriptors of clients) of the
 * process that this scan has not found. Does nothing if the scan is incomplete. */
void fd_scan_forget(const struct fd_scan *l)
{
	u32 task = task_find(l->pid);

	if (l->incomplete || task == NONE || tasks[task].refs <= l->nseen)
		return;
	tasks[task].refs++;
	for (u32 h = 1; h <= nrows.holders; h++)
		if (holders[h].client && holders[h].task == task && holders[h].fd <= INT32_MAX &&
		    !holder_seen_since(&holders[h], l->no))
			holder_drop(h);
	tasks[task].refs--;
	task_prune(task);
}

/* Begins a full scan of /proc. Returns the number of this scan, the argument of
 * full_scan_forget(). */
u32 full_scan_begin(void)
{
	for (u32 i = 1; i <= nrows.devices; i++)
		devices[i].anonymous = 0;
	return ++scans.scan_no;
}

/* Drops all holders (descriptors of clients) that were not found by the full scan with this number
 * or a later scan. */
void full_scan_forget(u32 scan)
{
	for (u32 h = 1; h <= nrows.holders; h++)
		if (holders[h].client && !holder_seen_since(&holders[h], scan))
			holder_drop(h);
}

/* Drops all holders (descriptors of clients) of a process that has ended. */
void process_gone(u32 pid)
{
	if (task_find(pid) == NONE)
		return;
	for (u32 h = 1; h <= nrows.holders; h++)
		if (holders[h].client && holders[h].pid == pid)
			holder_drop(h);
}

/* processes in the lists of AMD's compute driver and NVIDIA's driver */

/* Stores the current values of a client that stands for a process in the list of AMD's compute
 * driver or of NVIDIA's driver. False if the driver has no values of the process. */
static bool compute_read(struct client *c)
{
	i64 t = sys_now(CLOCK_MONOTONIC);

	return HAS(nvidia) && c->keykind == KEY_PID ? nvidia_read(c, t) :
						      kfd_read(c, (u32)c->key, t);
}

/* Callback for each process in the list of AMD's compute driver or NVIDIA's driver: adds a client
 * for the process, and an artificial holder of the client, with the descriptor number 2^31 + slot,
 * which no real descriptor has. */
static void compute_found(u32 pid, u32 device, u32 slot)
{
	u32 fd = 1u << 31 | slot, holder = holder_find(pid, fd), client;
	u8 kind = HAS(nvidia) && slot >= NV_SLOT ? KEY_PID : KEY_KFD;

	if (devices[device].left_out)
		return;
	if (holder != NONE) {
		holder_mark_seen(holder);
		return;
	}
	if (process_filter && !process_filter(pid))
		return;
	client = client_find(device, kind, pid);
	if (client == NONE)
		client = client_add(device, kind, pid);
	holder = holder_register(pid, fd, client, -1);
	if (holder != NONE && compute_read(&clients[client]))
		clients[client].read_sample = scans.sample_no;
}

/* Drops those artificial holders whose process the compute driver no longer lists: holders with
 * descriptor numbers from `from` to end - 1 that the current compute_scan() has not found. */
static void compute_forget(u32 from, u32 end)
{
	for (u32 h = 1; h <= nrows.holders; h++)
		if (holders[h].client && holders[h].fd >= from && holders[h].fd < end &&
		    holders[h].seen != scans.scan_no)
			holder_drop(h);
}

/* Reads the lists of processes of AMD's compute driver and NVIDIA's driver. Adds clients for new
 * processes, and drops the holders of processes that are no longer in the lists. */
void compute_scan(void)
{
	const u32 kfd = 1u << 31, nvidia = kfd + NV_SLOT;

	scans.scan_no++;
	if (kfd_scan(compute_found))
		compute_forget(kfd, nvidia);
	if (HAS(nvidia) && nvidia_scan(compute_found))
		compute_forget(nvidia, UINT32_MAX);
}

/* --- readings --------------------------------------------------------------------------------- */

/* Drops the holder n, whose descriptor may have been closed or may belong to another client now,
 * and scans this descriptor again as if it were new. */
static void holder_recheck(u32 n)
{
	u32 pid = holders[n].pid, fd = holders[n].fd;
	char path[64], number[16];
	struct buf b = BUF_Z(number);
	struct dir d;

	holder_drop(n);
	/* scan the whole process, too: it may hold the same client through another descriptor now,
	 * while its number of descriptors is unchanged */
	process_enqueue(pid, true);
	if (folder_open(&d, proc_path(path, pid, "fd", 0, false), d.b, sizeof(d.b)) < 0)
		return;
	put_u64(&b, fd);
	descriptor_scan(d.fd, pid, buf_z(&b));
	dir_close(&d);
}

/* True if the fdinfo head h has the PCI slot of another known device than `device`; false if it has
 * the slot of this device, or none, or an unknown one. */
static bool slot_differs(const struct fdhead *h, u32 device)
{
	u32 at = h->pdev.p && devices[device].pdev[0] ? sysfs_device_at_slot(h->pdev) : NONE;

	return at != NONE && at != device;
}

/* Reads the fdinfo text of the holder n (a descriptor of a client) into *text; io: NULL, or where
 * the descriptor of the open fdinfo file is kept, as in holder_read(). Returns false on a transient
 * error: the fdinfo text is unknown then. After another error, returns true with an empty text. */
static bool holder_text(u32 n, int *io, struct str *text)
{
	long len = holder_read(holders[n].pid, holders[n].fd, io, true);

	*text = (struct str){ buffers.rows->text, buffers.rows->text + (len > 0 ? len : 0) };
	return !is_transient_error(len);
}

/* True if the fdinfo text of the holder n (a descriptor of a client) still has the key by which
 * this client is identified. */
static bool text_matches_client(u32 n, struct str text, struct fdhead *head)
{
	const struct client *c = &clients[holders[n].client];
	u64 key = 0;
	u8 kind = KEY_PID;

	if (!fdinfo_head(text, head))
		return false;
	head_key(head, holders[n].pid, holders[n].fd, &kind, &key);
	return kind == c->keykind && key == c->key && !slot_differs(head, c->device);
}

/* True if the descriptor of the holder n still is that of a node of its client's device. Does not
 * read fdinfo, so that it can be used for descriptors whose fdinfo has no keys or may not be
 * read. */
static bool holder_same_node(u32 n)
{
	char path[64];
	const struct holder *h = &holders[n];
	unsigned maj = 0, min = 0;
	long gpu = is_gpu(roots.proc, proc_path(path, h->pid, "fd/", h->fd, true), &maj, &min);

	if (is_transient_error(gpu))
		return true;
	if (denied(gpu))
		return sys_has_file(roots.proc, proc_path(path, h->pid, "fdinfo/", h->fd, true));
	return gpu > 0 && clients[h->client].device == sysfs_device(maj, min);
}

/* True if an fdinfo text without drm- keys is that of a descriptor which still holds its client:
 * after a hot unplug, drm_show_fdinfo() prints no keys (drm_file.c of Linux 7.2). If the descriptor
 * is closed, there is no text. */
static bool holder_is_silent(u32 n, struct str text, const struct fdhead *head)
{
	return text.p < text.e && !head->driver.p && holder_same_node(n);
}

/* True if the values of a client cannot be read from fdinfo: the client is a process of NVIDIA's
 * driver, whose fdinfo has no keys, or the fdinfo may not be read now. */
static bool client_is_unreadable(const struct client *c)
{
	return c->keykind == KEY_PID || !may_read(c->device);
}

/* Checks that the descriptor of the holder n still belongs to its client. If not, drops the holder
 * and scans the descriptor again as if it were new. */
void holder_verify(u32 n)
{
	struct fdhead head;
	struct str text;

	if (client_is_unreadable(&clients[holders[n].client]) ?
		    !holder_same_node(n) :
		    holder_text(n, NULL, &text) && !text_matches_client(n, text, &head) &&
			    !holder_is_silent(n, text, &head))
		holder_recheck(n);
}

/* Returns the number of holders of a client: the descriptors through which processes hold it. To
 * check each holder once, a caller checks the first one in the list that many times: if it is
 * dropped and added again, it becomes the last one in the list. */
static u32 holders_count(const struct client *c)
{
	u32 n = 0;

	for (u32 h = c->holders; h; h = holders[h].next_client)
		n++;
	return n;
}

/* Ends a reading of a client whose fdinfo text had no values. The next rates of the client are
 * computed from its last reading with values. */
static void client_silence(struct client *c)
{
	reg_begin(&c->e, c->e.t);
	c->e.fresh = false;
	c->text_hash = 0;
	c->read_sample = scans.sample_no;
}

/* Reads the values of a client from the fdinfo of its first holder (descriptor) that still belongs
 * to the client; all holders of a client have the same values. Returns false on a transient
 * error. */
static bool holders_read(u32 n)
{
	struct client *c = &clients[n];
	u32 left = holders_count(c);

	for (u32 h = c->holders; left-- && h && c->read_sample != scans.sample_no; h = c->holders) {
		struct holder *at = &holders[h];
		struct fdhead head;
		struct str text;
		bool known = holder_text(h, &at->io, &text);
		i64 t = sys_now(CLOCK_MONOTONIC);

		if (!known)
			return false;
		if (fdinfo_put_same(c, text, t))
			return true;
		if (!text_matches_client(h, text, &head)) {
			if (holder_is_silent(h, text, &head)) {
				client_silence(c);
				return true;
			}
			holder_recheck(h);
			continue;
		}
		client_put(c, text, &head, t);
		if (c->e.went_backwards && tasks[at->task].start != UINT64_MAX &&
		    task_start(at->pid) != tasks[at->task].start) {
			/* Another process has got the pid, with a client that has the same key:
			 * mark the client as not read in this sample, and scan the descriptor again
			 * as one of the new process. */
			c->read_sample = scans.sample_no - 1;
			holder_recheck(h);
		}
	}
	return true;
}

static void client_read(u32 n)
{
	struct client *c = &clients[n];
	u32 h = c->holders;

	c->e.fresh &= c->read_sample == scans.sample_no - 1;
	if (c->keykind == KEY_KFD || (HAS(nvidia) && h && holders[h].fd > INT32_MAX)) {
		c->e.fresh = h && compute_read(c);
		c->read_sample = scans.sample_no;
		if (h && !c->e.fresh)
			holder_drop(h);
		return;
	}
	if (client_is_unreadable(c)) {
		c->e.fresh = HAS(nvidia) && c->keykind == KEY_PID && compute_read(c);
		if (c->e.fresh)
			c->read_sample = scans.sample_no;
		for (u32 left = holders_count(c);
		     left-- && c->holders && !holder_same_node(c->holders);)
			holder_recheck(c->holders);
		return;
	}
	if (holders_read(n) && c->read_sample != scans.sample_no && c->holders)
		/* None of the holders belonged to the client any more: try the holders that the
		 * first call of holders_read() has found while it scanned their descriptors
		 * again. */
		holders_read(n);
	if (c->read_sample != scans.sample_no)
		c->e.fresh = false;
}

/* True if the client has no known holder (descriptor), but may still be held: another process may
 * have received or inherited the descriptor. Only for clients with a client id or PASID. */
static bool is_orphan(const struct client *c)
{
	return c->e.used && !c->holders && (c->keykind == KEY_ID || c->keykind == KEY_PASID);
}

/* Reads all clients that have not been read in this sample. */
void clients_read(void)
{
	/* Clients that are added during the loop need not be read: their values were stored when
	 * they were added. */
	u32 n = nrows.clients;

	for (u32 i = 1; i <= n; i++)
		if (clients[i].e.used && clients[i].read_sample != scans.sample_no)
			client_read(i);
}

bool clients_orphaned(void)
{
	for (u32 i = 1; i <= nrows.clients; i++)
		if (is_orphan(&clients[i]))
			return true;
	return false;
}

/* Removes the clients without a known holder (descriptor). keep_orphans: true: clients with a
 * client id or PASID stay, because processes that may hold them wait for a scan. */
void clients_drop(bool keep_orphans)
{
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used && !clients[i].holders &&
		    !(keep_orphans && is_orphan(&clients[i])))
			client_remove(i);
}

void clients_next_sample(void)
{
	if (fdinfo_hook)
		fdinfo_hook();
	scans.sample_no++;
}

/* --- fdinfo files that stay open -------------------------------------------------------------- */

void fdinfo_begin(void)
{
	struct dir d;

	/* Estimate the number of open descriptors: a new descriptor gets the lowest free number. */
	scans.fd_budget = fileio.limit - SPARE_FDS -
		    (dir_open(&d, roots.proc, ".") >= 0 ? d.fd : fileio.limit);
	dir_close(&d);
	scans.sample_no = 1;
}

void fdinfo_close(void)
{
	for (u32 i = 1; i <= nrows.holders; i++)
		if (holders[i].client) {
			io_close(holders[i].io);
			holders[i].io = -1;
		}
}
