/* fdinfo.c - DRM clients: which descriptors of a process hold one, and what /proc/PID/fdinfo/FD says of it. Whom to look at,
 * and when, is look.c's.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

bool fdinfo_others, fdinfo_repeats, fdinfo_tasks = true;

enum {
	PAGE = 4096,
	FD_BYTES = 64 << 10,      /* the longest driver prints 1.5 KiB; file locks come before it */
	SPARE_FDS = 20,           /* descriptors for folders that are read, notices, and sensors that wake up */
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
};

/* These drivers print no client statistics. */
static const struct str silent = STR("nouveau radeon virtio* vmwgfx lima rocket ethosu imagination powervr qaic habanalabs nova* tyr "
	"vc4* rknpu RKNPU simpledrm simple-framebuffer ast mgag200 bochs* rockchip-drm imx-drm sun4i-drm");

/* False: no room. */
static bool put_driver(struct buf *b, struct str name)
{
	if (b->cap - b->n <= str_len(name))
		return false;
	put_c(b, ' ');
	put_str(b, name);
	return true;
}

/* As many names as there is room for. */
void put_drivers(struct buf *b)
{
	struct str names = silent, name;

	for (size_t i = 0; i < LEN(drivers); i++)
		if (!put_driver(b, drivers[i].name))
			return;
	while (str_word(&names, &name) && put_driver(b, name))
		;
}

static const struct driver *driver_find(struct str name)
{
	static const struct driver unknown = { .zero = 0 }, tells_nothing = { .engines = NO_STATS, .memory = NO_STATS };
	struct str names = silent, pattern;

	for (size_t i = 0; i < LEN(drivers); i++)
		if (glob_match(drivers[i].name, name, NULL))
			return &drivers[i];
	while (str_word(&names, &pattern))
		if (glob_match(pattern, name, NULL))
			return &tells_nothing;
	return &unknown;
}

/* Why a driver tells nothing of its clients' engines and memory. */
void driver_notes(struct str name, const char **engines, const char **memory)
{
	const struct driver *d = driver_find(name);

	*engines = d->engines;
	*memory = d->memory;
}

static u32 scan_no, tick; /* looks at all of /proc, or at one process; samples */
static bool waiting[MAX_DEVICES]; /* some descriptor would wake the device if it were looked at */
static bool any_asleep;   /* a descriptor was left alone for that */
static bool in_round;     /* the look in hand is the round's */
static u32 unnamed[MAX_DEVICES]; /* as struct device's anonymous, in this round */
static long fd_budget;    /* fdinfo files that may still be kept open */
/* Files as they are read: an fdinfo; what the standard does not know of it; those that describe a process. */
static struct {
	char text[FD_BYTES], others[FD_BYTES], task[FD_BYTES];
} *buffers;
static TABLE(buffers, 1, 1, "buffers for fdinfo files");

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
	bool others = fdinfo_others && table_has(&buffers_table, 0);
	struct buf other = { 0 };
	struct fdline l;

	if (others)
		other = BUF(buffers->others);
	c->told = hash_quick(text);
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
			reg_put(&c->e, (u8)(fd_descs[l.key] - 1), l.name, l.n, t);
		}
	}
	if (!h->name.p)
		text_free(c->name);
	c->name = h->name.p ? text_put(c->name, h->name) : NONE;
	if (others)
		c->other = text_put(c->other, (struct str){ other.p, other.p + other.n });
}

/* Whether the text is, by its hash of 64 bits, what the client's last reading was made of: then that is read once more. Of 10 000
 * clients few work at a time. Where a counter fell or found no room, what that means is looked at anew. */
static bool fdinfo_again(struct client *c, struct str text, i64 t)
{
	if (!c->told || c->e.fell || c->e.dropped || c->told != hash_quick(text))
		return false;
	reg_again(&c->e, t);
	c->tick = tick;
	return true;
}

/* Keys of a region that this file leaves out though it names the region: 0 where an earlier reading had
 * the key, and always where the driver prints it only when there is something to tell. */
static void zero_absent(struct client *c, u8 zero, i64 t)
{
	static const u8 bits[] = { D_RESIDENT, D_PURGEABLE, D_ACTIVE };
	u8 named = zero ? 7 : 0;

	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k))
		for (size_t i = 0; i < LEN(bits); i++)
			named |= (u8)((k->desc == bits[i] && !(k->flags & CF_SEEN)) << i);
	for (struct counter *k = named ? reg_first(&c->e) : NULL; k; k = reg_next(k)) {
		u16 inst = k->inst; /* a put may move it back, so that it is met again */

		if (k->desc != D_TOTAL || !(k->flags & CF_SEEN))
			continue;
		for (size_t i = 0; i < LEN(bits); i++)
			if (named >> i & 1 && (zero >> i & 1 || reg_find(&c->e, bits[i], inst)))
				reg_put(&c->e, bits[i], inst_name(inst), 0, t);
	}
}

/* Engines that amdgpu has not printed before have done nothing until the reading before this one. */
void fdinfo_late(struct client *c, struct str driver)
{
	if (!str_eq(driver, (struct str)STR("amdgpu")))
		return;
	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k))
		if (k->desc == D_BUSY_NS && (k->flags & (CF_SEEN | CF_BASE)) == CF_SEEN && c->e.t_was)
			reg_baseline(k, 0, c->e.t_was);
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

void task_describe(struct task *t)
{
	struct str s, path;
	u32 cgroup = NONE;
	char *b;

	if (!fdinfo_tasks || !table_has(&buffers_table, 0))
		return;
	b = buffers->task;
	s = proc_text(t->pid, "comm", b, 64);
	t->read = sys_now(CLOCK_MONOTONIC);
	if (s.e > s.p) {
		if (s.e[-1] == '\n')
			s.e--; /* a newline before it is the name's own */
		t->comm_len = (u8)(str_len(s) < sizeof(t->comm) ? str_len(s) : sizeof(t->comm));
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
	files_calls++;
	files_own--;
	fd_budget++;
}

static void holder_drop(u32 h)
{
	io_close(holders[h].io);
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
	/* Who is looked at only once, and through a file that is kept open, can be no other one the next time. */
	start = fdinfo_repeats || fdinfo_tasks || fd_budget <= 0 ? task_start(pid) : UINT64_MAX;
	if (n != NONE && tasks[n].start == UINT64_MAX)
		tasks[n].start = start; /* it was not asked for before, or not told */
	if (n != NONE && tasks[n].start != start && start != UINT64_MAX) {
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

/* There is no descriptor left, or no memory: which says nothing of what was to be opened. */
static bool is_full(long r)
{
	return r == -EMFILE || r == -ENFILE || r == -ENOMEM;
}

/* Gives one kept descriptor back for a more urgent use. */
static bool release_one(void)
{
	for (u32 h = nholders; h > 0; h--)
		if (holders[h].client && holders[h].io >= 0) {
			io_close(holders[h].io);
			holders[h].io = -1;
			fd_budget = 0; /* there are fewer than was thought */
			return true;
		}
	return looks_rest() || pass_rest();
}

/* Opens a folder of a process, if need be in the place of something kept. */
static long folder_open(struct dir *d, const char *path, char *names, size_t cap)
{
	while (dir_open_in(d, root_proc, path, names, cap) < 0 && is_full(d->fd) && release_one())
		;
	return files_tell(d->fd);
}

/* Without the lines of file locks, of which a process may have any number: how much is left. */
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

/* The whole of an open fdinfo file; what exceeds the buffer even without its locks is counted as dropped. */
static long fdinfo_slurp(int fd)
{
	size_t n = 0, at = 0;
	long r = slurp_fd(fd, buffers->text, FD_BYTES);

	if (r < FD_BYTES)
		return r;
	for (n = at = FD_BYTES; r > 0; n += (size_t)r, at += (size_t)r) {
		n = drop_locks(buffers->text, n);
		if (n == FD_BYTES) {
			reg_dropped++;
			break;
		}
		r = sys_pread(fd, buffers->text + n, FD_BYTES - n, at);
		if (r < 0)
			return r;
	}
	return (long)n;
}

/* Reads an fdinfo file through a descriptor of it that may be kept (io NULL: not); its length or -errno. Of a
 * file that may be none of DRM's a page is enough to tell: those of epoll and inotify have no end. */
static long holder_read(u32 pid, u32 fd, int *io, bool surely)
{
	char path[64];
	long n, r;

	if (!table_has(&buffers_table, 0))
		return files_tell(-ENOMEM);
	if (io && *io >= 0)
		return files_tell(fdinfo_slurp(*io));
	proc_path(path, pid, "fdinfo/", fd, true);
	files_calls++;
	while ((r = open_again(root_proc, path, O_RDONLY | O_NONBLOCK)) < 0)
		if (!is_full(r) || !release_one())
			return files_tell(r);
	n = surely ? fdinfo_slurp((int)r) : slurp_fd((int)r, buffers->text, PAGE);
	if (n == PAGE && !surely && str_find((struct str){ buffers->text, buffers->text + n }, (struct str)STR("\ndrm-")))
		n = fdinfo_slurp((int)r);
	files_tell(n);
	if (n > 0 && io && fd_budget > 0) {
		*io = (int)r;
		fd_budget--;
		files_own++;
	} else {
		sys_close((int)r);
		files_calls++;
	}
	return n;
}

static bool denied(long r)
{
	return r == -EACCES || r == -EPERM;
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

static u32 met;    /* holders of which some look met the descriptor */
u32 holders_found;

static void holder_met(u32 h)
{
	holders[h].seen = scan_no;
	met++;
}

/* The process pid holds the client by its descriptor fd; io becomes the holder's, if the client is read
 * through it. NONE: no room. */
static u32 hold(u32 pid, u32 fd, u32 client, int io)
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
	holder_met(h);
	holders[h].io = io;
	holders[h].born = tick;
	return h;
}

/* A process with NVIDIA's node open: that it has is all there is to know. */
static void descriptor_nvidia(u32 pid, u32 fd, u32 device)
{
	u32 client = client_find(device, KEY_PID, pid);

	hold(pid, fd, client != NONE ? client : client_add(device, KEY_PID, pid), -1);
}

static void count_anonymous(u32 device)
{
	u32 *n = &devices[device].anonymous;

	if (!in_round)
		++*n;
	else if (++unnamed[device] > *n)
		*n = unnamed[device]; /* the others have been counted already */
}

/* A round begins: what was counted in the one before holds. */
void anonymous_settle(void)
{
	for (u32 i = 1; i <= ndevices; i++) {
		devices[i].anonymous = unnamed[i];
		unnamed[i] = 0;
	}
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
		count_anonymous(device);
		waiting[device] = any_asleep = true;
		return true;
	}
	n = holder_read(pid, fd, &io, device != NONE);
	t = sys_now(CLOCK_MONOTONIC);
	text = (struct str){ buffers->text, buffers->text + (n > 0 ? n : 0) };
	drm = fdinfo_head(text, &h);
	named = drm && head_key(&h, &kind, &key);
	if (drm && device == NONE)
		device = sysfs_device_by(h.pdev, h.driver);
	if (device == NONE || !named) {
		if (device != NONE && n >= 0)
			count_anonymous(device);
		if (is_untold(n))
			watch_later(pid, false);
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

static bool is_gpu_node(const struct sys_known *k, unsigned *maj, unsigned *min)
{
	if (!S_ISCHR(k->mode))
		return false;
	*maj = k->rdev[0];
	*min = k->rdev[1];
	return *maj == MAJOR_DRM || *maj == MAJOR_ACCEL || (*maj == MAJOR_NVIDIA && *min < 255);
}

/* Which DRM, accel or NVIDIA node a descriptor stands for, by its number, or where it leads nowhere (in a
 * captured tree) by the link's text. 1, 0 for none, or -errno. */
static long is_gpu(int dir, const char *name, unsigned *maj, unsigned *min)
{
	static const struct str folders[] = { STR("/dev/dri/"), STR("/dev/accel/"), STR("/dev/") };
	struct sys_known k;
	char b[128];
	struct str text;
	long r = sys_stat_known(dir, name, &k), n;

	files_calls++;
	if (r == 0)
		return is_gpu_node(&k, maj, min);
	if (is_full(r))
		return files_tell(r);
	files_calls++;
	n = sys_readlinkat(dir, name, b, sizeof(b));
	/* A link that may be read though its end may not, or fails, leads to a file of FUSE. */
	if (denied(n) || is_untold(n))
		return files_tell(n);
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
	u32 fd, holder;
	long gpu = is_gpu(dir, name, &maj, &min);

	if (gpu <= 0 && !is_untold(gpu))
		return !denied(gpu);
	fd = fd_number(name); /* of the few that matter */
	if (fd == UINT32_MAX)
		return true;
	holder = holder_find(pid, fd);
	if (is_untold(gpu)) { /* it is what it was, as far as can be told, and is looked at again */
		if (holder != NONE)
			holder_met(holder);
		watch_later(pid, false);
		return true;
	}
	if (holder != NONE && clients[holders[holder].client].device == sysfs_device(maj, min)) {
		holder_met(holder);
		return true;
	}
	if (holder != NONE)
		holder_drop(holder); /* the number stands for another device by now */
	return descriptor_at(pid, fd, maj, min);
}

/* True: a device woke up, and descriptors of it were left alone for that. */
bool fdinfo_woke(void)
{
	bool woke = false;

	for (u32 i = 1; i <= ndevices; i++)
		if (waiting[i] && devices[i].e.used && may_read(i)) {
			waiting[i] = false;
			woke = true;
		}
	return woke;
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
 * but its close() flushes what it may stand for, and waits for a server of FUSE: only where that look could wake a device. */
static bool descriptor_blind(int pidfd, u32 pid, u32 fd)
{
	unsigned maj = 0, min = 0;
	struct sys_known k;
	long dup;
	bool gpu;

	if (pidfd < 0)
		return descriptor_new(pid, fd, NONE);
	do {
		dup = sys_pidfd_getfd(pidfd, fd);
		files_calls++;
	} while (is_full(dup) && release_one());
	if (is_untold(files_tell(dup)))
		watch_later(pid, false);
	if (dup < 0)
		return is_untold(dup) || dup == -EBADF || dup == -ESRCH;
	gpu = sys_stat_known((int)dup, "", &k) == 0 && is_gpu_node(&k, &maj, &min);
	sys_close((int)dup);
	files_calls += 2;
	return !gpu || descriptor_at(pid, fd, maj, min);
}

/* Whether an open folder of a process is another user's; to root all but its own process is. */
bool task_is_others(int dir, u32 pid)
{
	static u32 me, self;
	struct stat st;

	if (!self) {
		me = sys_euid();
		self = sys_pid();
	}
	return me == 0 ? pid != self : sys_fstat(dir, &st) == 0 && st.st_uid != me;
}

/* --- a look at all descriptors of a process, which may be interrupted ------------------------------------- */

static long pidfd_get(u32 pid)
{
	files_calls++;
	return sys_pidfd_open(pid);
}

/* Where fd/ is refused but fdinfo/ is not: CAP_SYS_PTRACE without CAP_DAC_READ_SEARCH. False: nor is that open. */
static bool look_blind(struct look *l)
{
	char path[64];
	bool careful = any_light_sleeper();
	long pidfd = careful ? -ENOSYS : 0;

	dir_close(&l->d);
	l->resting = false;
	l->blind = true;
	l->n = 0;
	if (folder_open(&l->d, proc_path(path, l->pid, "fdinfo", 0, false), l->d.p, l->d.cap) < 0) {
		l->refused = denied(l->d.fd);
		l->cut |= is_untold(l->d.fd);
		return false;
	}
	while (careful && !root_proc_given && (pidfd = pidfd_get(l->pid)) < 0 && is_full(pidfd) && release_one())
		;
	l->pidfd = careful ? (int)pidfd : -1;
	l->cut |= is_untold(files_tell(pidfd));
	l->refused = pidfd < 0 && !is_untold(pidfd) && pidfd != -ESRCH;
	reg_saw_others |= pidfd >= 0 && task_is_others(l->d.fd, l->pid);
	return pidfd >= 0;
}

/* Opens fd/, or fdinfo/ where that is closed to us. False: there is nothing to look at. */
static bool look_open(struct look *l, char *names, size_t cap)
{
	char path[64];

	proc_path(path, l->pid, "fd", 0, false);
	folder_open(&l->d, path, names, cap);
	l->own = files_own;
	l->cut = is_untold(l->d.fd);
	if (l->cut)
		return false;
	if (fdinfo_repeats) {
		files_calls++;
		if (l->d.fd >= 0)
			sys_fstat(l->d.fd, &l->st);
		else
			sys_fstatat(root_proc, path, &l->st);
	}
	return l->d.fd >= 0 || look_blind(l);
}

void look_begin(struct look *l, u32 pid, char *names, size_t cap)
{
	l->pid = pid;
	l->n = l->met = 0;
	l->pidfd = -1;
	l->blind = l->refused = l->asleep = l->resting = false;
	l->st = (struct stat){ .st_size = 0 };
	l->no = ++scan_no;
	l->open = true;
	/* The pid may be another process' by now. */
	if (fdinfo_repeats && task_find(pid) != NONE)
		task_get(pid);
	l->over = !look_open(l, names, cap);
}

static bool look_at(struct look *l, const char *name)
{
	u32 fd = fd_number(name), holder;

	if (!l->blind)
		return descriptor_look(l->d.fd, l->pid, name);
	holder = fd == UINT32_MAX ? NONE : holder_find(l->pid, fd);
	if (holder != NONE)
		holder_met(holder);
	return holder != NONE || fd == UINT32_MAX || descriptor_blind(l->pidfd, l->pid, fd);
}

/* Its folder was closed for a while: the rest of it. */
static void look_resume(struct look *l)
{
	char path[64];

	l->resting = false;
	proc_path(path, l->pid, l->blind ? "fdinfo" : "fd", 0, false);
	while (!dir_resume(&l->d, root_proc, path) && is_full(l->d.fd) && release_one())
		;
	l->over |= l->d.fd < 0;
	l->cut |= is_untold(files_tell(l->d.fd));
}

/* One descriptor more. fd/ may be listed while what it holds may not be looked at. False: there are no more. */
bool look_step(struct look *l)
{
	const char *name;
	u32 before = met;
	bool seen;

	if (l->resting)
		look_resume(l);
	name = l->over ? NULL : dir_next(&l->d);
	if (!name) {
		l->cut |= !l->over && l->d.n < 0 && l->d.n != -ENOENT; /* that one has gone */
		return false;
	}
	l->n++;
	any_asleep = false;
	in_round = l->in_round;
	seen = look_at(l, name);
	in_round = false;
	l->met += met - before;
	l->asleep |= any_asleep;
	if (seen)
		return true;
	l->refused = l->blind;
	return !l->blind && look_blind(l);
}

void look_end(struct look *l, bool stands)
{
	reg_saw_others |= !l->refused && l->d.fd >= 0 && !reg_saw_others && task_is_others(l->d.fd, l->pid);
	dir_close(&l->d);
	if (l->pidfd >= 0) {
		sys_close(l->pidfd);
		files_calls++;
	}
	l->open = false;
	reg_unreadable += l->refused && !fdinfo_repeats;
	if (stands)
		watch_looked(l->pid, &l->st, l->own, l->n, l->refused, l->asleep);
	if (stands && l->cut)
		watch_later(l->pid, false);
}

/* Whether it was seen in that look, or since. */
static bool is_met(const struct holder *h, u32 look)
{
	return (i32)(h->seen - look) >= 0;
}

/* A process' holders of which a look at all of it has not met the descriptors. */
void look_forget(const struct look *l)
{
	u32 task = task_find(l->pid);

	if (l->cut || task == NONE || tasks[task].refs <= l->met)
		return;
	tasks[task].refs++;
	for (u32 h = 1; h <= nholders; h++)
		if (holders[h].client && holders[h].task == task && holders[h].fd <= INT32_MAX && !is_met(&holders[h], l->no))
			holder_drop(h);
	tasks[task].refs--;
	task_prune(task);
}

/* A walk begins: what is_met() is asked of at its end. */
u32 walk_begin(void)
{
	for (u32 i = 1; i <= ndevices; i++)
		devices[i].anonymous = 0;
	return ++scan_no;
}

void walk_forget(u32 walk)
{
	for (u32 h = 1; h <= nholders; h++)
		if (holders[h].client && !is_met(&holders[h], walk))
			holder_drop(h);
}

/* A process that is no more. */
void process_gone(u32 pid)
{
	if (task_find(pid) == NONE)
		return;
	for (u32 h = 1; h <= nholders; h++)
		if (holders[h].client && holders[h].pid == pid)
			holder_drop(h);
}

/* --- AMD's compute driver -------------------------------------------------------------------------------- */

/* A process of AMD's compute driver; a descriptor number that no process can have stands for its hold. */
static void found_compute(u32 pid, u32 device, u32 slot)
{
	u32 fd = 1u << 31 | slot, holder = holder_find(pid, fd), client;

	if (holder != NONE) {
		holder_met(holder);
		return;
	}
	client = client_find(device, KEY_KFD, pid);
	if (client == NONE)
		client = client_add(device, KEY_KFD, pid);
	holder = hold(pid, fd, client, -1);
	if (holder != NONE && kfd_read(&clients[client], pid, sys_now(CLOCK_MONOTONIC)))
		clients[client].tick = tick;
}

/* Who holds nothing there any more is forgotten. */
void compute_scan(void)
{
	scan_no++;
	if (!kfd_scan(found_compute))
		return;
	for (u32 h = 1; h <= nholders; h++)
		if (holders[h].client && holders[h].fd > INT32_MAX && holders[h].seen != scan_no)
			holder_drop(h);
}

/* --- readings ------------------------------------------------------------------------------------------- */

/* Its descriptor may have been closed, or stand for something else by now: look at it as if it were new. */
static void holder_again(u32 n)
{
	u32 pid = holders[n].pid, fd = holders[n].fd;
	char path[64], number[16];
	struct buf b = BUF_Z(number);
	struct dir d;

	holder_drop(n);
	/* Its count may be what it was, though another number stands for the client by now. */
	watch_later(pid, true);
	if (folder_open(&d, proc_path(path, pid, "fd", 0, false), d.b, sizeof(d.b)) < 0)
		return;
	put_u64(&b, fd);
	descriptor_look(d.fd, pid, buf_z(&b));
	dir_close(&d);
}

/* Whether the file says that it is of another PCI slot than that of the device, where the device's is known. */
static bool is_elsewhere(const struct fdhead *h, u32 device)
{
	u32 at = h->pdev.p && devices[device].pdev[0] ? sysfs_device_at_slot(h->pdev) : NONE;

	return at != NONE && at != device;
}

/* What the holder's file says now, read by way of *io, if there is one. False: that is not to be known. */
static bool holder_text(u32 n, int *io, struct str *text)
{
	long len = holder_read(holders[n].pid, holders[n].fd, io, true);

	*text = (struct str){ buffers->text, buffers->text + (len > 0 ? len : 0) };
	return !is_untold(len);
}

/* Whether that is of its client still. */
static bool says_client(u32 n, struct str text, struct fdhead *head)
{
	const struct client *c = &clients[holders[n].client];
	u64 key = 0;
	u8 kind = KEY_PID;

	return fdinfo_head(text, head) && head_key(head, &kind, &key) && kind == c->keykind && key == c->key &&
	       !is_elsewhere(head, c->device);
}

/* Whether a descriptor whose fdinfo says nothing, or may not be read now, is still of its device's node. */
static bool holder_stands(u32 n)
{
	char path[64];
	const struct holder *h = &holders[n];
	unsigned maj = 0, min = 0;
	long gpu = is_gpu(root_proc, proc_path(path, h->pid, "fd/", h->fd, true), &maj, &min);

	if (is_untold(gpu))
		return true;
	if (denied(gpu))
		return sys_has_file(root_proc, proc_path(path, h->pid, "fdinfo/", h->fd, true));
	return gpu > 0 && clients[h->client].device == sysfs_device(maj, min);
}

static bool is_silent(const struct client *c)
{
	return c->keykind == KEY_PID || !may_read(c->device);
}

/* Whether the descriptor still is what it was taken for; if not, it is looked at anew. */
void holder_verify(u32 n)
{
	struct fdhead head;
	struct str text;

	if (is_silent(&clients[holders[n].client]) ? !holder_stands(n) :
						     holder_text(n, NULL, &text) && !says_client(n, text, &head))
		holder_again(n);
}

/* One that comes to the same client again stands behind the others: so many looks at the first are one at each. */
static u32 holders_of(const struct client *c)
{
	u32 n = 0;

	for (u32 h = c->holders; h; h = holders[h].next_client)
		n++;
	return n;
}

/* Reads the client through the first of its holders that still is one: all of them would say the same. False: that is not
 * to be known now. */
static bool holders_read(u32 n)
{
	struct client *c = &clients[n];
	u32 left = holders_of(c);

	for (u32 h = c->holders; left-- && h && c->tick != tick; h = c->holders) {
		struct holder *at = &holders[h];
		struct fdhead head;
		struct str text;
		bool known = holder_text(h, &at->io, &text);
		i64 t = sys_now(CLOCK_MONOTONIC);

		if (!known)
			return false;
		if (fdinfo_again(c, text, t))
			return true;
		if (!says_client(h, text, &head)) {
			holder_again(h);
			continue;
		}
		client_take(c, text, &head, t);
		if (c->e.fell && tasks[at->task].start != UINT64_MAX && task_start(at->pid) != tasks[at->task].start) {
			/* The pid's next process, whose client came to the same number: once more, as its own. */
			c->tick = tick - 1;
			holder_again(h);
		}
	}
	return true;
}

static void client_read(u32 n)
{
	struct client *c = &clients[n];
	u32 h = c->holders;

	c->e.fresh &= c->tick == tick - 1;
	if (c->keykind == KEY_KFD) {
		c->e.fresh = h && kfd_read(c, (u32)c->key, sys_now(CLOCK_MONOTONIC));
		c->tick = tick;
		if (h && !c->e.fresh)
			holder_drop(h);
		return;
	}
	if (is_silent(c)) {
		c->e.fresh = false;
		for (u32 left = holders_of(c); left-- && c->holders && !holder_stands(c->holders);)
			holder_again(c->holders);
		return;
	}
	if (holders_read(n) && c->tick != tick && c->holders)
		holders_read(n); /* through those that took the place of the former */
	if (c->tick != tick)
		c->e.fresh = false;
}

/* A client that nobody is known to hold any more may have been handed on, or inherited. */
static bool is_orphan(const struct client *c)
{
	return c->e.used && !c->holders && c->keykind != KEY_PID && c->keykind != KEY_KFD;
}

void clients_read(void)
{
	u32 n = nclients; /* those that come meanwhile have been read */

	for (u32 i = 1; i <= n; i++)
		if (clients[i].e.used && clients[i].tick != tick)
			client_read(i);
}

bool clients_orphaned(void)
{
	for (u32 i = 1; i <= nclients; i++)
		if (is_orphan(&clients[i]))
			return true;
	return false;
}

/* Clients that nobody holds are forgotten, unless their new holder may yet be looked at. */
void clients_drop(bool waits)
{
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used && !clients[i].holders && !(waits && is_orphan(&clients[i])))
			client_remove(i);
}

/* The sample is over. */
void clients_tick(void)
{
	tick++;
}

/* --- descriptors of our own ------------------------------------------------------------------------------ */

void fdinfo_begin(void)
{
	struct dir d;

	/* What is open by now: the lowest free number. */
	fd_budget = files_limit - SPARE_FDS - (dir_open(&d, root_proc, ".") >= 0 ? d.fd : files_limit);
	dir_close(&d);
	tick = 1;
}

void fdinfo_close(void)
{
	for (u32 i = 1; i <= nholders; i++)
		if (holders[i].client) {
			io_close(holders[i].io);
			holders[i].io = -1;
		}
}
