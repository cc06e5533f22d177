/* fdinfo.c - DRM clients: which process holds which device, and what /proc/PID/fdinfo/FD says of it.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

bool fdinfo_others, fdinfo_repeats;

enum {
	PAGE = 4096,
	FD_BYTES = 64 << 10,      /* the longest driver prints 1.5 KiB; file locks come before it */
	SPARE_FDS = 16,           /* descriptors for folders that are read, and sensors that wake up */
};

enum { Z_RESIDENT = 1, Z_PURGEABLE = 2, Z_ACTIVE = 4, Z_ALL = 7 };

#define NVIDIA     "only NVIDIA's own library tells"
#define NO_CLIENTS "the driver has no DRM clients"
#define NO_STATS   "the driver prints no client statistics"

/* What the drivers do that the standard leaves to them. One that follows it needs no row. */
static const struct driver {
	struct str name; /* with '*': sysfs and DRM do not always name a driver alike */
	bool quiet; /* printing its fdinfo takes no runtime reference: a sleeping device stays asleep */
	u8 zero;    /* Z_*: a missing key of a region means 0 (drm_show_memory_stats of 6.13) */
	const char *engines, *memory; /* why it tells nothing of them; NULL: it does */
} drivers[] = {
	{ STR("amdgpu"), true, 0, NULL, NULL },
	{ STR("i915"), true, 0, NULL, NULL },
	{ STR("msm*"), true, Z_ALL, NULL, NULL },
	{ STR("panfrost"), true, Z_ALL, NULL, NULL },
	{ STR("panthor"), true, Z_ALL, NULL, NULL },
	{ STR("v3d"), true, Z_ALL, NULL, NULL },
	{ STR("etnaviv"), true, Z_RESIDENT | Z_ACTIVE, "the driver counts no engine time", NULL },
	{ STR("intel_vpu"), true, Z_ALL, "the driver counts no engine time per client", NULL },
	{ STR("amdxdna*"), true, Z_ALL, "the driver counts no engine time", NULL },
	{ STR("xe"), false, 0, NULL, NULL }, /* show_run_ticks() resumes the device */
	{ STR("nvidia"), false, 0, NVIDIA, NVIDIA },
	{ STR("nvgpu"), false, 0, NO_CLIENTS, NO_CLIENTS },
	{ STR("mali"), false, 0, NO_CLIENTS, NO_CLIENTS },
#define SILENT(name) { STR(name), false, 0, NO_STATS, NO_STATS }
	SILENT("nouveau"), SILENT("radeon"), SILENT("virtio*"), SILENT("vmwgfx"), SILENT("lima"),
	SILENT("rocket"), SILENT("ethosu"), SILENT("imagination"), SILENT("powervr"), SILENT("qaic"),
	SILENT("habanalabs"), SILENT("nova*"), SILENT("tyr"), SILENT("vc4*"), SILENT("rknpu"),
	SILENT("RKNPU"), SILENT("simpledrm"), SILENT("simple-framebuffer"), SILENT("ast"),
	SILENT("mgag200"), SILENT("bochs*"), SILENT("rockchip-drm"), SILENT("imx-drm"), SILENT("sun4i-drm"),
};

static const struct driver *driver_find(struct str name)
{
	static const struct driver unknown = { .zero = 0 };

	for (size_t i = 0; i < LEN(drivers); i++)
		if (glob_match(drivers[i].name, name, NULL))
			return &drivers[i];
	return &unknown;
}

/* Why a driver tells nothing of its clients' engines and memory. */
void driver_notes(struct str name, const char **engines, const char **memory)
{
	const struct driver *d = driver_find(name);

	*engines = d->engines;
	*memory = d->memory;
}

static u32 scan_no, tick; /* walks of /proc; samples */
static bool scan_cut;     /* this walk could not look everywhere: what it did not meet may be there */
static const i64 rename_ns = 5000000000; /* a process may change its name or cgroup: read anew after this */
static long fd_budget;    /* fdinfo files that may still be kept open */
static char text_bytes[FD_BYTES], others[FD_BYTES];

/* --- a file's values ------------------------------------------------------------------------------- */

static const u8 fd_descs[] = { /* FD_NONE + 1: no counter */
	[FD_BUSY_NS] = D_BUSY_NS + 1,   [FD_CYCLES] = D_CYCLES + 1,
	[FD_TOTAL_CYCLES] = D_TOTAL_CYCLES + 1, [FD_CAPACITY] = D_CAPACITY + 1,
	[FD_MAXFREQ] = D_MAXFREQ + 1,   [FD_CURFREQ] = D_CURFREQ + 1,
	[FD_BUSY_PCT] = D_BUSY_PCT + 1, [FD_TOTAL] = D_TOTAL + 1,
	[FD_SHARED] = D_SHARED + 1,     [FD_RESIDENT] = D_RESIDENT + 1,
	[FD_MEMORY] = D_RESIDENT + 1,   [FD_PURGEABLE] = D_PURGEABLE + 1,
	[FD_ACTIVE] = D_ACTIVE + 1,     [FD_OTHER] = 0,
};

/* Puts a file's values into its client, as one reading. */
void fdinfo_take(struct client *c, struct str text, const struct fdhead *h, i64 t)
{
	struct buf other = { .p = others, .cap = sizeof(others) };
	struct fdline l;

	reg_begin(&c->e, t);
	c->skipped = 0;
	while (fdinfo_next(&text, h->old, &l)) {
		if (l.key == FD_BAD) {
			c->skipped++;
		} else if (l.key == FD_OTHER || l.key == FD_PASID) {
			put_str(&other, l.name);
			put_c(&other, ':');
			put_str(&other, l.text);
			put_c(&other, '\n');
		} else if (l.key < LEN(fd_descs) && fd_descs[l.key]) {
			reg_put(&c->e, (u8)(fd_descs[l.key] - 1), l.name, l.n, t);
		}
	}
	if (h->name.p)
		c->name = text_put(c->name, h->name);
	if (fdinfo_others)
		c->other = text_put(c->other, (struct str){ other.p, other.p + other.n });
}

/* Keys of a region that this file leaves out though it names the region: 0 where an earlier reading had
 * the key, and always where the driver prints it only when there is something to tell. */
static void zero_absent(struct client *c, u8 zero, i64 t)
{
	static const u8 bits[] = { D_RESIDENT, D_PURGEABLE, D_ACTIVE };

	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k)) {
		if (k->desc != D_TOTAL || !(k->flags & CF_SEEN))
			continue;
		for (size_t i = 0; i < LEN(bits); i++)
			if (zero >> i & 1 || reg_find(&c->e, bits[i], k->inst))
				reg_put(&c->e, bits[i], inst_name(k->inst), 0, t);
	}
}

/* Engines that amdgpu has not printed before have done nothing until the reading before this one. */
void fdinfo_late(struct client *c, struct str driver)
{
	if (!str_eq(driver, (struct str)STR("amdgpu")))
		return;
	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k))
		if (k->desc == D_BUSY_NS && (k->flags & (CF_SEEN | CF_BASE)) == CF_SEEN && c->e.t_was) {
			struct track *track = (struct track *)(void *)k;

			track->was = 0;
			track->t_was = c->e.t_was;
			k->flags |= CF_BASE;
		}
}

/* Whether none of its holders was there in the sample before. */
static bool is_reborn(const struct client *c)
{
	for (u32 h = c->holders; h; h = holders[h].next_client)
		if (holders[h].born != tick)
			return false;
	return true;
}

static void client_take(struct client *c, struct str text, const struct fdhead *h, i64 t)
{
	const struct driver *d = driver_find(h->driver);
	bool known = c->e.fresh; /* it was read in the sample before */

	fdinfo_take(c, text, h, t);
	/* Ids before 6.5 count per device and come back: another client has this one now. */
	if (c->e.fell && is_reborn(c)) {
		reg_clear(&c->e);
		fdinfo_take(c, text, h, t);
		known = false;
	}
	c->tick = tick;
	zero_absent(c, d->zero, t);
	if (known)
		fdinfo_late(c, h->driver);
	if (!devices[c->device].driver[0])
		device_set(devices[c->device].driver, sizeof(devices[0].driver), h->driver);
}

/* --- processes ---------------------------------------------------------------------------------------- */

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
	long n = slurp(root_proc, proc_path(path, pid, file, 0, false), b, cap);

	return (struct str){ b, b + (n > 0 ? n : 0) };
}

/* Clock ticks since boot; UINT64_MAX: unknown. */
u64 task_start(u32 pid)
{
	char b[1024]; /* 52 numbers and a comm */
	u64 start;

	return parse_stat_start(proc_text(pid, "stat", b, sizeof(b)), &start) ? start : UINT64_MAX;
}

static void task_describe(struct task *t)
{
	static char b[FD_BYTES];
	struct str s = proc_text(t->pid, "comm", b, 64), path;
	u32 cgroup = NONE;

	t->read = sys_now(CLOCK_MONOTONIC);
	if (s.e > s.p) {
		if (s.e[-1] == '\n')
			s.e--; /* a newline before it is the name's own */
		t->comm_len = (u8)(str_len(s) < sizeof(t->comm) ? str_len(s) : sizeof(t->comm));
		memcpy(t->comm, s.p, t->comm_len);
		t->has_comm = true;
	}
	if (parse_cgroup(proc_text(t->pid, "cgroup", b, sizeof(b)), &path))
		cgroup = cgroup_add(path);
	if (cgroup == NONE)
		return;
	if (t->cgroup)
		cgroup_unref(t->cgroup);
	t->cgroup = cgroup;
}

static void holder_drop(u32 h)
{
	if (holders[h].io >= 0) {
		sys_close(holders[h].io);
		fd_budget++;
	}
	holder_remove(h);
}

/* The process, known or new. One of the same pid that started at another time is another one: what was
 * held by the former is forgotten. */
static u32 task_get(u32 pid)
{
	u32 n = task_find(pid);
	u64 start;

	if (n != NONE && tasks[n].checked == scan_no)
		return n;
	start = task_start(pid);
	if (n != NONE && tasks[n].start != start) {
		tasks[n].refs++;
		for (u32 h = 1; h <= nholders; h++)
			if (holders[h].client && holders[h].task == n)
				holder_drop(h);
		tasks[n].refs--;
		tasks[n].start = start;
		task_describe(&tasks[n]);
	}
	if (n == NONE && (n = task_add(pid)) != NONE) {
		tasks[n].start = start;
		task_describe(&tasks[n]);
	}
	if (n != NONE)
		tasks[n].checked = scan_no;
	return n;
}

/* --- descriptors ---------------------------------------------------------------------------------------- */

/* Gives one kept descriptor back for a more urgent use. */
static bool release_one(void)
{
	for (u32 h = nholders; h > 0; h--)
		if (holders[h].client && holders[h].io >= 0) {
			sys_close(holders[h].io);
			holders[h].io = -1;
			fd_budget = 0; /* there are fewer than was thought */
			return true;
		}
	return false;
}

/* Without the lines of file locks, of which a process may have any number: how much is left. */
static size_t drop_locks(char *b, size_t n)
{
	struct str text = { b, b + n }, line;
	size_t to = 0;

	while (line_next(&text, &line)) {
		struct str rest = line;

		if (str_skip(&rest, (struct str)STR("lock:")))
			continue;
		memmove(b + to, line.p, str_len(line) + 1);
		to += str_len(line) + 1;
	}
	memmove(b + to, text.p, str_len(text));
	return to + str_len(text);
}

/* The whole of an open fdinfo file; what exceeds the buffer even without its locks is counted as dropped. */
static long fdinfo_slurp(int fd)
{
	size_t n = 0, at = 0;
	long r = slurp_fd(fd, text_bytes, FD_BYTES);

	if (r < FD_BYTES)
		return r;
	for (n = at = FD_BYTES; r > 0; n += (size_t)r, at += (size_t)r) {
		n = drop_locks(text_bytes, n);
		if (n == FD_BYTES) {
			reg_dropped++;
			break;
		}
		r = sys_pread(fd, text_bytes + n, FD_BYTES - n, at);
		if (r < 0)
			return r;
	}
	return (long)n;
}

/* Reads an fdinfo file through a descriptor of it that may be kept; its length or -errno. Of a file that
 * may be none of DRM's a page is enough to tell: those of epoll and inotify have no end. */
static long holder_read(u32 pid, u32 fd, int *io, bool surely)
{
	char path[64];
	long n, r;

	if (*io >= 0)
		return fdinfo_slurp(*io);
	proc_path(path, pid, "fdinfo/", fd, true);
	while ((r = sys_openat(root_proc, path, O_RDONLY | O_NONBLOCK)) < 0) {
		if ((r != -EMFILE && r != -ENFILE) || !release_one()) {
			reg_dropped += r == -EMFILE || r == -ENFILE;
			return r;
		}
	}
	n = surely ? fdinfo_slurp((int)r) : slurp_fd((int)r, text_bytes, PAGE);
	if (n == PAGE && !surely && str_find((struct str){ text_bytes, text_bytes + n }, (struct str)STR("\ndrm-")))
		n = fdinfo_slurp((int)r);
	if (n > 0 && fd_budget > 0) {
		*io = (int)r;
		fd_budget--;
	} else {
		sys_close((int)r);
	}
	return n;
}

static bool denied(long r)
{
	return r == -EACCES || r == -EPERM;
}

static void io_close(int io)
{
	if (io >= 0) {
		sys_close(io);
		fd_budget++;
	}
}

static bool head_key(const struct fdhead *h, u8 *kind, u64 *key)
{
	*kind = h->has_client ? KEY_ID : KEY_PASID;
	*key = h->has_client ? h->client : h->pasid;
	return h->has_client || h->has_pasid;
}

static bool may_read(u32 device)
{
	return devices[device].awake || driver_find(str_z(devices[device].driver))->quiet;
}

/* The process pid holds the client by its descriptor fd; io becomes the holder's. NONE: no room. */
static u32 hold(u32 pid, u32 fd, u32 client, int io)
{
	u32 task = client != NONE ? task_get(pid) : NONE;
	u32 h = task != NONE ? holder_add(pid, fd, task, client) : NONE;

	if (h == NONE) {
		if (task != NONE)
			task_prune(task);
		io_close(io);
		return NONE;
	}
	holders[h].io = io;
	holders[h].seen = scan_no;
	holders[h].born = tick;
	return h;
}

/* A process with NVIDIA's node open: that it has is all there is to know. */
static void descriptor_nvidia(u32 pid, u32 fd, u32 device)
{
	u32 client = client_find(device, KEY_PID, pid);

	hold(pid, fd, client != NONE ? client : client_add(device, KEY_PID, pid), -1);
}

/* A descriptor that no holder stands for yet. device NONE: only the text can tell which it is; then a
 * file that is not DRM's is none of ours. False: it may not be read. */
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
	bool drm, named;

	if (device != NONE && !may_read(device)) {
		devices[device].anonymous++;
		return true;
	}
	n = holder_read(pid, fd, &io, device != NONE);
	t = sys_now(CLOCK_MONOTONIC);
	text = (struct str){ text_bytes, text_bytes + (n > 0 ? n : 0) };
	drm = fdinfo_head(text, &h);
	named = drm && head_key(&h, &kind, &key);
	if (drm && device == NONE)
		device = sysfs_device_by(h.pdev, h.driver);
	if (device == NONE || !named) {
		if (device != NONE && n >= 0)
			devices[device].anonymous++;
		io_close(io);
		return !denied(n);
	}
	client = client_find(device, kind, key);
	if (client == NONE && (client = client_add(device, kind, key)) != NONE) {
		clients[client].tick = tick - 1;
		client_take(&clients[client], text, &h, t);
	}
	hold(pid, fd, client, io);
	return true;
}

static bool is_gpu_node(const struct stat *st, unsigned *maj, unsigned *min)
{
	*maj = major(st->st_rdev);
	*min = minor(st->st_rdev);
	return S_ISCHR(st->st_mode) && (*maj == MAJOR_DRM || *maj == MAJOR_ACCEL ||
					(*maj == MAJOR_NVIDIA && *min < 255));
}

/* Which DRM, accel or NVIDIA node a descriptor stands for, by its number, or where it leads nowhere (in a
 * captured tree) by the link's text. 1, 0 for none, or -errno. */
static long is_gpu(int dir, const char *name, unsigned *maj, unsigned *min)
{
	static const struct str folders[] = { STR("/dev/dri/"), STR("/dev/accel/"), STR("/dev/") };
	struct stat st;
	char b[128];
	struct str text;
	long r = sys_fstatat(dir, name, &st), n;

	if (r == 0)
		return is_gpu_node(&st, maj, min);
	n = sys_readlinkat(dir, name, b, sizeof(b));
	/* A link that may be read though its end may not leads to a file of FUSE. */
	if (denied(r) && denied(n))
		return r;
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

/* A descriptor of the node with that number. */
static bool descriptor_at(u32 pid, u32 fd, unsigned maj, unsigned min)
{
	u32 device = sysfs_device(maj, min);

	if (device == NONE)
		reg_dropped++;
	else if (maj == MAJOR_NVIDIA)
		descriptor_nvidia(pid, fd, device);
	return device == NONE || maj == MAJOR_NVIDIA || descriptor_new(pid, fd, device);
}

/* One descriptor of a process whose fd/ is open. False: refused. */
static bool descriptor_look(int dir, u32 pid, const char *name)
{
	unsigned maj = 0, min = 0;
	u32 fd = fd_number(name), holder;
	long gpu = fd == UINT32_MAX ? 0 : is_gpu(dir, name, &maj, &min);

	if (gpu <= 0)
		return !denied(gpu);
	holder = holder_find(pid, fd);
	if (holder != NONE && clients[holders[holder].client].device == sysfs_device(maj, min)) {
		holders[holder].seen = scan_no;
		return true;
	}
	if (holder != NONE)
		holder_drop(holder); /* the number stands for another device by now */
	return descriptor_at(pid, fd, maj, min);
}

/* Whether some device sleeps that a look into its clients' fdinfo would wake. */
static bool any_light_sleeper(void)
{
	for (u32 i = 1; i <= ndevices; i++)
		if (devices[i].e.used && !may_read(i))
			return true;
	return false;
}

/* One descriptor of a process whose fd/ is closed. A duplicate tells its node without a look into fdinfo,
 * but its close() flushes what it may stand for (NFS): only where that look could wake a device. */
static bool descriptor_blind(int pidfd, u32 pid, u32 fd)
{
	unsigned maj = 0, min = 0;
	struct stat st;
	long dup;
	bool gpu;

	if (pidfd < 0)
		return descriptor_new(pid, fd, NONE);
	dup = sys_pidfd_getfd(pidfd, fd);
	if (dup < 0)
		return !denied(dup);
	gpu = sys_fstat((int)dup, &st) == 0 && is_gpu_node(&st, &maj, &min);
	sys_close((int)dup);
	return !gpu || descriptor_at(pid, fd, maj, min);
}

/* Whether an open folder of a process is another user's; to root all but its own process is. */
static bool is_others(int dir, u32 pid)
{
	struct stat st;
	uint32_t me = sys_euid();

	return me == 0 ? pid != sys_pid() : sys_fstat(dir, &st) == 0 && st.st_uid != me;
}

/* Where fd/ is refused but fdinfo/ is not: CAP_SYS_PTRACE without CAP_DAC_READ_SEARCH. */
static bool scan_by_fdinfo(u32 pid)
{
	char path[64];
	struct dir d;
	const char *name;
	bool ok = true, careful = any_light_sleeper();
	long pidfd = careful && !root_proc_given ? sys_pidfd_open(pid) : -1;

	if (dir_open(&d, root_proc, proc_path(path, pid, "fdinfo", 0, false)) < 0)
		ok = !denied(d.fd);
	else if (careful && pidfd < 0)
		ok = false;
	else
		reg_saw_others |= is_others(d.fd, pid);
	while (ok && d.fd >= 0 && (name = dir_next(&d))) {
		u32 fd = fd_number(name), holder = fd == UINT32_MAX ? NONE : holder_find(pid, fd);

		if (holder != NONE)
			holders[holder].seen = scan_no;
		else if (fd != UINT32_MAX)
			ok = descriptor_blind((int)pidfd, pid, fd);
	}
	dir_close(&d);
	if (pidfd >= 0)
		sys_close((int)pidfd);
	return ok;
}

/* fd/ may be closed to us while fdinfo/ is open, and listed while what it holds may not be looked at. */
static void scan_process(u32 pid)
{
	char path[64];
	struct dir d;
	const char *name;
	bool ok = false;

	proc_path(path, pid, "fd", 0, false);
	while (dir_open(&d, root_proc, path) < 0 && (d.fd == -EMFILE || d.fd == -ENFILE) && release_one())
		;
	if (d.fd == -EMFILE || d.fd == -ENFILE || d.fd == -ENOMEM) {
		scan_cut = true;
		reg_unreadable++;
		return;
	}
	ok = d.fd >= 0;
	while (ok && (name = dir_next(&d)))
		ok = descriptor_look(d.fd, pid, name);
	reg_saw_others |= ok && !reg_saw_others && is_others(d.fd, pid);
	dir_close(&d);
	if (!ok && !scan_by_fdinfo(pid))
		reg_unreadable++;
}

/* A process of AMD's compute driver; a descriptor number that no process can have stands for its hold. */
static void found_compute(u32 pid, u32 device, u32 slot)
{
	u32 fd = 1u << 31 | slot, holder = holder_find(pid, fd), client;

	if (holder != NONE) {
		holders[holder].seen = scan_no;
		return;
	}
	client = client_find(device, KEY_KFD, pid);
	if (client == NONE)
		client = client_add(device, KEY_KFD, pid);
	holder = hold(pid, fd, client, -1);
	if (holder != NONE && kfd_read(&clients[client], pid, sys_now(CLOCK_MONOTONIC)))
		clients[client].tick = tick;
}

/* Forgets what this scan did not meet. */
static void scan_sweep(void)
{
	for (u32 h = 1; h <= nholders && !scan_cut; h++)
		if (holders[h].client && holders[h].seen != scan_no)
			holder_drop(h);
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used && !clients[i].holders)
			client_remove(i);
}

static void fdinfo_scan(void)
{
	struct dir d;
	const char *name;

	scan_no++;
	scan_cut = false;
	reg_unreadable = 0;
	for (u32 i = 1; i <= ndevices; i++)
		devices[i].anonymous = 0;
	if (dir_open(&d, root_proc, ".") < 0)
		return;
	while ((name = dir_next(&d))) {
		u32 pid = fd_number(name);

		if (pid != UINT32_MAX)
			scan_process(pid);
	}
	dir_close(&d);
	kfd_scan(found_compute);
	scan_sweep();
}

/* --- readings ------------------------------------------------------------------------------------------- */

/* Its descriptor may have been closed, or stand for something else by now: look at it as if it were new. */
static void holder_again(u32 n)
{
	u32 pid = holders[n].pid, fd = holders[n].fd;
	char path[64], number[16];
	struct buf b = { .p = number, .cap = sizeof(number) - 1 };
	struct dir d;

	holder_drop(n);
	if (dir_open(&d, root_proc, proc_path(path, pid, "fd", 0, false)) < 0)
		return;
	put_u64(&b, fd);
	number[b.n] = '\0';
	descriptor_look(d.fd, pid, number);
	dir_close(&d);
}

/* Whether the file says that it is of another PCI slot than that of the device, where the device's is known. */
static bool is_elsewhere(const struct fdhead *h, u32 device)
{
	u32 at = h->pdev.p && devices[device].pdev[0] ? sysfs_device_at_slot(h->pdev) : NONE;

	return at != NONE && at != device;
}

/* Reads the client through each of its holders: the first gives the values, the others are checked to be
 * holders still. */
static void holders_read(u32 n)
{
	struct client *c = &clients[n];
	u32 left = 0;

	/* One that comes to the same client again stands behind the others: each is looked at once. */
	for (u32 h = c->holders; h; h = holders[h].next_client)
		left++;
	for (u32 h = c->holders, next; left-- && h && holders[h].client == n; h = next) {
		struct holder *at = &holders[h];
		struct fdhead head;
		struct str text;
		u64 key = 0;
		u8 kind = KEY_PID;
		long len = holder_read(at->pid, at->fd, &at->io, true);
		i64 t = sys_now(CLOCK_MONOTONIC);

		next = at->next_client;
		text = (struct str){ text_bytes, text_bytes + (len > 0 ? len : 0) };
		if (!fdinfo_head(text, &head) || !head_key(&head, &kind, &key) || kind != c->keykind ||
		    key != c->key || is_elsewhere(&head, c->device)) {
			holder_again(h);
			continue;
		}
		if (c->tick == tick)
			continue;
		client_take(c, text, &head, t);
		if (c->e.fell && task_start(at->pid) != tasks[at->task].start) {
			/* The pid's next process, whose client came to the same number: once more, as its own. */
			c->tick = tick - 1;
			holder_again(h);
		}
	}
}

static void client_read(u32 n)
{
	struct client *c = &clients[n];

	c->e.fresh &= c->tick == tick - 1;
	if (c->keykind == KEY_KFD) {
		c->e.fresh = kfd_read(c, (u32)c->key, sys_now(CLOCK_MONOTONIC));
		c->tick = tick;
		return;
	}
	if (c->keykind == KEY_PID || !may_read(c->device)) {
		c->e.fresh = false;
		return;
	}
	holders_read(n);
	if (c->tick != tick && c->holders)
		holders_read(n); /* through those that took the place of the former */
	if (c->tick != tick)
		c->e.fresh = false;
}

static void fdinfo_sample(void)
{
	i64 now = sys_now(CLOCK_MONOTONIC);
	u32 n = nclients;

	for (u32 i = 1; i <= n; i++)
		if (clients[i].e.used && clients[i].tick != tick) {
			client_read(i);
			if (!clients[i].holders)
				client_remove(i);
		}
	for (u32 i = 1; i <= ntasks; i++)
		if (tasks[i].refs && now - tasks[i].read > rename_ns)
			task_describe(&tasks[i]);
	tick++;
}

static void fdinfo_start(void)
{
	struct dir d;

	/* What is open by now: the lowest free number. */
	fd_budget = files_limit - SPARE_FDS - (dir_open(&d, root_proc, ".") >= 0 ? d.fd : files_limit);
	dir_close(&d);
	tick = 1;
	kfd_start();
	fdinfo_scan();
	tick++;
}

static void fdinfo_rest(void)
{
	for (u32 i = 1; i <= nholders; i++)
		if (holders[i].client) {
			io_close(holders[i].io);
			holders[i].io = -1;
		}
}

const struct source src_fdinfo = {
	.name = "fdinfo",
	.start = fdinfo_start,
	.scan = fdinfo_scan,
	.rest = fdinfo_rest,
	.sample = fdinfo_sample,
};
