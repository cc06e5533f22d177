/* state.c - the file of --state: totals of the registry, kept from run to run. The file is valid
 * for this boot and these roots of /proc and /sys, and is replaced as a whole. When it is loaded,
 * its reading becomes the one before the reading just taken, so that rates and sums are computed as
 * between two samples. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/drm/drm.h"
#include "sys.h"

/* Magic at the start of a state file, whose numbers are in the byte order of the machine that wrote
 * it. No other machine reads the file, because the file contains the boot id of the running kernel.
 * A change of the row format or of the order of kept[] requires another magic. */
static const char magic[8] = { 'g', 'p', 'u', 's', 't', 'a', 't', '2' };

struct statehead {
	char magic[8], boot[40];
	u64 roots[4];       /* st_dev and st_ino of the folder /proc, then of /sys */
	/* time at which the saved reading was done, in ns, by CLOCK_MONOTONIC (mono) and by
	 * CLOCK_BOOTTIME (boottime) */
	i64 mono, boottime;
	u64 rows;
};

/* A row of the state file: the identity of an entity (device, client or cgroup). The row is
 * followed by the entity's text, its counters (struct statecount) and, for a client, the processes
 * that hold it (struct stateholder). */
struct staterow {
	u8 kind, keykind, zero;
	u8 flags; /* bit mask of RF_* */
	/* counters: number of the entity's counters; text: number of bytes of its text */
	u16 counters, text;
	u32 holders;
	/* for a device: its number in the state file; for another entity: the number of its
	 * device */
	u32 device;
	u64 key;   /* for a client: its key; for a device: the inode of its folder in /sys */
	i64 t;
};

/* The text of a device's row in the state file. Together with the inode of the device's folder in
 * /sys, it identifies the device. */
struct statedevice {
	u64 ino_dev;
	char dev[sizeof(devices[0].dev)], driver[sizeof(devices[0].driver)],
		pdev[sizeof(devices[0].pdev)];
};

struct statecount {
	u64 v;
	i64 t;
	/* index: index of the counter's quantity in kept[]; n: number of bytes of the instance's
	 * name, which follows this struct */
	u8 index, n;
	u8 zero[2];
	/* For a counter that went backwards: 1 + the time in ms between struct history's `below`
	 * (time of the first reading that was lower than the highest one) and t; 0 if `below` is
	 * 0. */
	u32 below;
};

struct stateholder {
	u32 pid, zero;
	u64 start;
};

_Static_assert(sizeof(struct statehead) == 104 && sizeof(struct staterow) == 32 &&
	       sizeof(struct statecount) == 24 && sizeof(struct statedevice) == 136,
	       "no padding: files are read by programs for 32 bits, too");

enum {
	RF_FRESH = 1,  /* the entity was read in the last sample before the file was written */
	RF_WHOLE = 2,  /* in a device's row: the saved reading has all clients of the device */
	/* the row needs no further attempt: it was applied to the registry, or its entity does not
	 * exist any more; this flag is set only in memory, never in the file */
	RF_DONE = 128,
	/* Maximum size of a state file in bytes. A full registry has 131 000 counters and
	 * 33 000 holders, which take 4 MB; the remaining space is for rows of cgroups. */
	STATE_BYTES = 8 << 20,
};

/* Quantities that the state file keeps from run to run; for clients, only those up to D_CAPACITY.
 * Their order is part of the file format. */
enum { KEPT_CAPACITY = 7 };
static const u8 kept[] = { D_BUSY_NS, D_CYCLES, D_TOTAL_CYCLES, D_GPU_BUSY_US, D_IDLE_MS, D_ENERGY,
			   D_FREQ_SPENT, [KEPT_CAPACITY] = D_CAPACITY,
			   D_ALL_NS, D_ALL_CYCLES, D_ALL_TOTAL_CYCLES };

static TABLE(char, loaded, STATE_BYTES, 16 << 10, "bytes of the state file");
static TABLE(char, saving, STATE_BYTES, 16 << 10, "bytes of the state file");

/* --- parsing of the state file: pure functions ------------------------------------------------ */

static bool bytes_read(struct str *s, void *to, size_t n)
{
	if (str_len(*s) < n)
		return false;
	memcpy(to, s->p, n);
	s->p += n;
	return true;
}

static bool view_read(struct str *s, struct str *view, size_t n)
{
	if (str_len(*s) < n)
		return false;
	*view = (struct str){ s->p, s->p + n };
	s->p += n;
	return true;
}

static bool count_parse(struct str *s, struct statecount *c, struct str *inst)
{
	return bytes_read(s, c, sizeof(*c)) && c->index < LEN(kept) && c->t >= 0 &&
	       c->n <= MAX_NAME && view_read(s, inst, c->n);
}

/* A parsed row of the --state file. text, values, saved_holders: the parts of the file with the
 * row's text, its counters, and the processes that held the DRM client. */
struct rowview {
	struct staterow r;
	struct str text, values, saved_holders;
};

/* Reads a row of the state file from the start of *s, and moves *s behind it. False if the row is
 * truncated or not valid. */
static bool row_parse(struct str *s, struct rowview *v)
{
	struct staterow *r = &v->r;
	struct statecount c;
	struct str inst;

	if (!bytes_read(s, r, sizeof(*r)) || r->kind > K_CGROUP || r->keykind >= KEY_KINDS ||
	    r->device >= MAX_DEVICES || r->t < 0 || r->counters > MAX_COUNTERS ||
	    (r->kind == K_DEVICE && r->text != sizeof(struct statedevice)) ||
	    !view_read(s, &v->text, r->text))
		return false;
	v->values.p = s->p;
	for (u16 i = 0; i < r->counters; i++)
		if (!count_parse(s, &c, &inst) || (r->kind == K_CLIENT && c.index > KEPT_CAPACITY))
			return false;
	v->values.e = s->p;
	return str_len(*s) / sizeof(struct stateholder) >= r->holders &&
	       view_read(s, &v->saved_holders, r->holders * sizeof(struct stateholder));
}

/* Checks the bytes of a state file. Returns NULL if the file can be used, and then stores its head
 * in *h and the part with the rows in *rows; otherwise returns the reason. expected: the head that
 * this run would write. */
static const char *state_parse(struct str file, const struct statehead *expected,
			       struct statehead *h, struct str *rows)
{
	struct rowview v;
	struct str rest;
	u64 sum, n = 0;

	if (str_len(file) < sizeof(*h) + sizeof(sum) || memcmp(file.p, magic, sizeof(magic)) != 0)
		return "not a state file of this version";
	memcpy(h, file.p, sizeof(*h));
	file.e -= sizeof(sum);
	memcpy(&sum, file.e, sizeof(sum));
	if (sum != hash64_more(HASH64_BEGIN, file))
		return "truncated or damaged";
	if (!expected->boot[0] || memcmp(h->boot, expected->boot, sizeof(h->boot)) != 0)
		return "from another boot or machine";
	if (memcmp(h->roots, expected->roots, sizeof(h->roots)) != 0)
		return "from another /proc or /sys";
	if (h->mono < 0 || h->boottime < 0 || h->mono > expected->mono ||
	    h->boottime > expected->boottime)
		return "from the future";
	*rows = rest = (struct str){ file.p + sizeof(*h), file.e };
	while (rest.p < rest.e && row_parse(&rest, &v) && !(v.r.flags & RF_DONE))
		n++;
	return rest.p < rest.e || n != h->rows ? "truncated or damaged" : NULL;
}

/* --- rows to the registry --------------------------------------------------------------------- */

/* Returns the device of the registry that a device's row of the state file identifies; NONE if
 * there is no such device now. */
static u32 row_device(const struct rowview *v)
{
	struct statedevice id;

	memcpy(&id, v->text.p, sizeof(id));
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;) {
		const struct device *d = &devices[i];

		if (d->ino == v->r.key && d->ino_dev == id.ino_dev &&
		    !strncmp(d->dev, id.dev, sizeof(id.dev)) &&
		    !strncmp(d->pdev, id.pdev, sizeof(id.pdev)) &&
		    (!d->driver[0] || !id.driver[0] ||
		     !strncmp(d->driver, id.driver, sizeof(id.driver))))
			return i;
	}
	return NONE;
}

/* Returns true if a counter is a busy time that gpustat computes from percentages. Such a time
 * begins at 0 in each run, so it is neither saved nor compared with that of the last run. */
static bool is_of_this_run(const struct entity *e, const struct counter *k)
{
	return k->desc == D_BUSY_NS && reg_find(e, D_BUSY_PCT, k->inst);
}

/* Makes the counters in a row of the state file the previous reading of the entity e. shown: true
 * if no client is hidden: the saved sums over all clients (D_ALL_*) then also become those over the
 * shown clients (D_SUM_*). */
static void row_put_previous(struct entity *e, const struct rowview *v, bool shown)
{
	struct statecount c;
	struct str values = v->values, inst;

	while (count_parse(&values, &c, &inst)) {
		u8 desc = kept[c.index];

		reg_put_previous(e, desc, inst, c.v, c.t,
				 c.below ? c.t - (c.below - 1) * INT64_C(1000000) : 0);
		if (shown && desc >= D_ALL_NS && desc <= D_ALL_TOTAL_CYCLES)
			reg_put_previous(e, (u8)(desc - D_ALL_NS + D_SUM_NS), inst, c.v, c.t, 0);
	}
	e->t_was = v->r.t;
	reg_compare(e);
}

/* Returns true if a process that held the client in the saved reading holds the client c now. */
static bool same_holder(struct str saved_holders, const struct client *c)
{
	struct stateholder was;

	while (bytes_read(&saved_holders, &was, sizeof(was)))
		for (u32 h = c->holders; h; h = holders[h].next_client)
			if (tasks[holders[h].task].pid == was.pid &&
			    tasks[holders[h].task].start == was.start)
				return true;
	return false;
}

/* True if /proc/PID/fd of a process cannot be opened. */
static bool fd_dir_refused(u32 pid)
{
	char path[TASK_PATH];
	long fd;
	u8 was;

	task_path(path, pid, "/fd");
	was = privilege_raise(MAY_READ | MAY_PTRACE);
	fd = sys_openat(roots.proc, path, O_RDONLY | O_DIRECTORY);
	privilege_lower(was);
	if (fd >= 0)
		sys_close((int)fd);
	return fd < 0;
}

/* True if a client in the state file may still exist although this run has not found it: a process
 * that held it still runs, and the client's device is asleep, or gpustat may no longer read the
 * process's descriptors. */
static bool is_hidden(u32 device, struct str saved_holders)
{
	bool asleep = devices[device].anonymous && !devices[device].awake;
	struct stateholder was;

	while ((asleep || registry.unreadable) && bytes_read(&saved_holders, &was, sizeof(was)))
		if (was.start != UINT64_MAX && task_start(was.pid) == was.start &&
		    (asleep || fd_dir_refused(was.pid)))
			return true;
	return false;
}

static struct {
	struct str loaded; /* rows of the loaded state file; empty if no file was loaded */
	struct statehead now; /* head of the state file that this run writes */
	/* index: number of a device in the file; value: its index in devices[], or NONE */
	u16 device_map[MAX_DEVICES];
	/* true if the temporary files that killed runs have left were removed by this run */
	bool cleaned;
	/* true: no filter hides a client, so that the sums over shown clients (D_SUM_*) equal those
	 * over all clients */
	bool sums;
} saved;

/* Makes the saved reading of a client the previous reading of the client c, which has the same key
 * (client id or PID). Does not do so if the key seems to belong to another client now: the kernel
 * can use a PID again and, before Linux 6.5, a client id. */
static void client_put_previous(struct client *c, const struct rowview *v)
{
	bool same = same_holder(v->saved_holders, c);

	if (c->keykind != KEY_ID && !same)
		return;
	row_put_previous(&c->e, v, false);
	if (c->e.went_backwards && !same) {
		reg_forget(&c->e);
		return;
	}
	if (v->r.flags & RF_FRESH)
		new_engines_baseline(c, str_z(devices[c->device].driver));
	c->in_all_sums = true;
	c->in_sums = saved.sums;
}

static void group_put_previous(u32 device, const struct rowview *v)
{
	u32 cgroup = cgroup_add(v->text);
	struct group *g = cgroup != NONE ? group_add(device, cgroup, NULL) : NULL;

	if (g)
		row_put_previous(&g->e, v, saved.sums);
	if (cgroup != NONE)
		cgroup_unref(cgroup);
}

/* Applies a row of the state file to its entity in the registry. Returns false if a later call must
 * apply the row, because its client could not be read yet. */
static bool row_apply(const struct rowview *v, u32 device)
{
	const struct staterow *r = &v->r;
	struct client *c;
	u32 n;

	if (device == NONE)
		return true;
	if (r->kind == K_DEVICE)
		row_put_previous(&devices[device].e, v, saved.sums);
	else if (r->kind == K_CGROUP)
		group_put_previous(device, v);
	if (r->kind != K_CLIENT)
		return true;
	n = client_find(device, r->keykind, r->key);
	if (n == NONE)
		return !is_hidden(device, v->saved_holders);
	c = &clients[n];
	if (c->e.fresh && !c->in_all_sums)
		client_put_previous(c, v);
	return c->e.fresh;
}

static void rows_apply(void)
{
	struct str rest = saved.loaded;
	struct rowview v;

	for (char *at = loaded.rows + sizeof(struct statehead); row_parse(&rest, &v);
	     at += rest.p - at) {
		if (v.r.flags & RF_DONE)
			continue;
		if (v.r.kind == K_DEVICE)
			saved.device_map[v.r.device] = (u16)row_device(&v);
		if (row_apply(&v, saved.device_map[v.r.device]))
			at[offsetof(struct staterow, flags)] = (char)(v.r.flags | RF_DONE);
	}
}

/* --- clients that are newer than the state file ----------------------------------------------- */

/* clocks[device]: the GPU clocks (D_TOTAL_CYCLES) that the clients of the device had in the saved
 * reading */
static struct entity clocks[MAX_DEVICES];
/* seen_all[device]: true if the saved reading has all clients of the device */
static bool seen_all[MAX_DEVICES];

/* Sets clocks[] and seen_all[] from the rows of the state file. */
static void clocks_load(void)
{
	struct str rest = saved.loaded, inst;
	struct rowview v;
	struct statecount c;

	while (row_parse(&rest, &v)) {
		u32 device = saved.device_map[v.r.device];

		if (v.r.kind == K_DEVICE && device != NONE)
			seen_all[device] = v.r.flags & RF_WHOLE;
		while (v.r.kind == K_CLIENT && v.r.flags & RF_FRESH && device != NONE &&
		       count_parse(&v.values, &c, &inst))
			if (kept[c.index] == D_TOTAL_CYCLES)
				reg_put_previous(&clocks[device], D_TOTAL_CYCLES, inst, c.v, c.t,
						 0);
	}
}

/* True if a client did not exist at the saved reading: the saved reading has all clients of its
 * device, but not this one, or all processes that hold the client started later. */
static bool is_new(const struct client *c, const struct statehead *h)
{
	bool later = c->holders != NONE;

	for (u32 i = c->holders; i; i = holders[i].next_client) {
		/* start time of the process in 1/100 s (USER_HZ) */
		u64 start = tasks[holders[i].task].start;

		later &= start != UINT64_MAX && start > (u64)h->boottime / 10000000;
	}
	return later || seen_all[c->device];
}

/* Sets the previous value of each counter of a client that did not exist at the saved reading (at
 * the time t in ns): 0, or, for GPU clocks (D_TOTAL_CYCLES), the value that other clients of the
 * device had then. */
static void new_client_baseline(struct client *c, i64 t)
{
	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k)) {
		struct counter *clock = k->desc == D_TOTAL_CYCLES ?
						reg_find(&clocks[c->device], k->desc, k->inst) :
						NULL;

		if (!(k->flags & CF_RATE) || (k->desc == D_TOTAL_CYCLES && !clock) ||
		    is_of_this_run(&c->e, k))
			continue;
		reg_put_previous(&c->e, k->desc, inst_name(k->inst), clock ? reg_now(clock) : 0, t,
				 0);
	}
	c->e.t_was = t;
	reg_compare(&c->e);
}

/* --- the file --------------------------------------------------------------------------------- */

static void head_make(void)
{
	static const char boot_id[] = "sys/kernel/random/boot_id";
	struct str line;
	char b[64];
	struct stat st;

	memset(&saved.now, 0, sizeof(saved.now));
	memcpy(saved.now.magic, magic, sizeof(magic));
	if (slurp_line(roots.proc, boot_id, b, sizeof(b), &line) ||
	    slurp_line(AT_FDCWD, "/proc/sys/kernel/random/boot_id", b, sizeof(b), &line))
		str_copy(saved.now.boot, sizeof(saved.now.boot), line);
	for (size_t i = 0; i < 2; i++)
		if (sys_fstat(i ? roots.sys : roots.proc, &st) == 0) {
			saved.now.roots[2 * i] = st.st_dev;
			saved.now.roots[2 * i + 1] = st.st_ino;
		}
}

static void head_time(void)
{
	saved.now.mono = sys_now(CLOCK_MONOTONIC);
	saved.now.boottime = sys_now(CLOCK_BOOTTIME);
}

/* Reads the state file into the table `loaded`. Returns NULL, or why the file is not read: it must
 * be a regular file of this user that no other user may write. */
static const char *state_read(const char *path, struct str *file)
{
	struct stat st;
	long fd = file_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), n;
	const char *why = NULL;

	if (fd < 0)
		return fd == -ENOENT ? "does not exist yet" :
		       fd == -ELOOP ? "is a symbolic link" : "cannot be read";
	if (sys_fstat((int)fd, &st) < 0 || !S_ISREG(st.st_mode))
		why = "not a regular file";
	else if (st.st_uid != sys_euid())
		why = "owned by another user";
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		why = "writable by others";
	else if (st.st_size >= STATE_BYTES)
		why = "too large";
	else if (!table_has(&loaded.t, (size_t)st.st_size))
		why = "no memory to read it";
	else if ((n = slurp_fd((int)fd, loaded.rows, loaded.t.ready)) < 0)
		why = "cannot be read";
	else
		*file = (struct str){ loaded.rows, loaded.rows + n };
	sys_close((int)fd);
	return why;
}

/* Uses the state file in the table `loaded`: its reading becomes the previous reading. Returns NULL
 * and sets *age to the age of this reading in ns, or returns why the file cannot be used. */
static const char *state_apply(struct str file, bool filtered, i64 *age)
{
	struct statehead h;
	const char *why = state_parse(file, &saved.now, &h, &saved.loaded);

	if (why) {
		saved.loaded = (struct str){ 0 };
		return why;
	}
	*age = saved.now.mono - h.mono;
	saved.sums = !filtered;
	rows_apply();
	clocks_load();
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used && clients[i].e.fresh && !clients[i].in_all_sums &&
		    is_new(&clients[i], &h))
			new_client_baseline(&clients[i], h.mono);
	for (u32 i = 1; i <= nrows.devices; i++)
		reg_clear(&clocks[i]);
	return NULL;
}

/* Loads the state file: the reading that the last run saved becomes the previous reading of the one
 * that the caller has just done. filtered: true if hidden clients are not part of the shown sums.
 * Returns NULL and sets *age to the age of the saved reading in ns, or returns why there is no
 * saved reading. */
const char *state_load(const char *path, bool filtered, i64 *age)
{
	struct str file = { 0 };
	const char *why;

	registry.all_sums = true;
	head_make();
	why = state_read(path, &file);
	/* take the time after the file was read: another run may have written the file just before,
	 * and its time must not be later */
	head_time();
	return why ? why : state_apply(file, filtered, age);
}

/* Applies the rows of the state file whose clients could not be read before. To be called after
 * each further reading. */
void state_sample(void)
{
	head_time();
	rows_apply();
}

/* Appends n bytes to b, a buffer in the growing table `saving`. */
static void put_raw(struct buf *b, const void *p, size_t n)
{
	if (table_has(&saving.t, b->n + n))
		*b = (struct buf){ saving.rows, b->n, saving.t.ready, b->full };
	put_n(b, p, n);
}

static void put_count(struct buf *b, struct counter *k, u16 *n)
{
	struct statecount c = { .v = reg_now(k) };
	struct str inst = inst_name(k->inst);

	while (c.index < LEN(kept) && kept[c.index] != k->desc)
		c.index++;
	if (c.index == LEN(kept) ||
	    !(k->flags & (k->flags & CF_RATE ? CF_SEEN | CF_BASE : CF_SEEN)))
		return;
	if (k->flags & CF_RATE) {
		const struct history *h = reg_history(k);
		i64 ms;
		/* A counter of the course CO_METER that went backwards was probably restarted: its
		 * present reading is saved, although it is lower than the previous one. */
		bool meter = quantities[k->desc].course == CO_METER;

		c.t = k->flags & CF_SEEN || meter ? h->t : h->t_was;
		c.v = meter ? h->now : reg_base(k);
		ms = !meter && h->below && c.t >= h->below ? (c.t - h->below) / 1000000 : -1;
		c.below = ms < UINT32_MAX ? (u32)(ms + 1) : UINT32_MAX;
	}
	c.n = (u8)str_len(inst);
	put_raw(b, &c, sizeof(c));
	put_raw(b, inst.p, c.n);
	++*n;
}

static void put_row(struct buf *b, const struct entity *e, struct staterow r, const void *text,
		    u32 holder)
{
	size_t at = b->n;

	r.kind = e->kind;
	r.t = e->t;
	r.flags |= e->fresh ? RF_FRESH : 0;
	saved.now.rows++;
	put_raw(b, &r, sizeof(r));
	put_raw(b, text, r.text);
	for (struct counter *k = reg_first(e); k; k = reg_next(k))
		if (!is_of_this_run(e, k))
			put_count(b, k, &r.counters);
	for (; holder; holder = holders[holder].next_client, r.holders++) {
		struct stateholder h = { .pid = holders[holder].pid,
					 .start = tasks[holders[holder].task].start };

		put_raw(b, &h, sizeof(h));
	}
	if (!b->full)
		memcpy(b->p + at, &r, sizeof(r));
}

static void put_devices(struct buf *b)
{
	for (u32 i = NONE; (i = device_next(i, false)) != NONE;) {
		const struct device *d = &devices[i];
		struct statedevice id = { .ino_dev = d->ino_dev };

		str_copy(id.dev, sizeof(id.dev), str_z(d->dev));
		str_copy(id.driver, sizeof(id.driver), str_z(d->driver));
		str_copy(id.pdev, sizeof(id.pdev), str_z(d->pdev));
		put_row(b, &d->e,
			(struct staterow){ .device = i, .text = sizeof(id), .key = d->ino,
					   .flags = !d->anonymous && !registry.unreadable &&
						    !registry.dropped ? RF_WHOLE : 0 },
			&id, NONE);
	}
}

static void put_groups(struct buf *b)
{
	static char path[4096];

	for (u32 i = 1; i <= nrows.groups; i++)
		if (groups[i].e.used && groups[i].e.kind == K_CGROUP)
			put_row(b, &groups[i].e,
				(struct staterow){ .device = groups[i].device,
						   .text = (u16)text_copy(
							   cgroups[groups[i].cgroup].path, path,
							   sizeof(path)) },
				path, NONE);
}

/* Copies those loaded rows to the new state file whose clients this run has not found, but which
 * may still exist. */
static void put_unseen(struct buf *b)
{
	struct str rest = saved.loaded;
	struct rowview v;

	for (const char *from = rest.p; row_parse(&rest, &v); from = rest.p) {
		u32 device = saved.device_map[v.r.device];

		if (v.r.flags & RF_DONE || !devices[device].e.used)
			continue;
		if (!table_has(&saving.t, b->n + (size_t)(rest.p - from) + sizeof(u64))) {
			registry.dropped++;
			continue;
		}
		saved.now.rows++;
		v.r.device = device;
		v.r.flags &= (u8)~RF_FRESH;
		put_raw(b, &v.r, sizeof(v.r));
		put_str(b, (struct str){ from + sizeof(v.r), rest.p });
	}
}

static struct str state_make(void)
{
	struct buf b = { 0 };
	u64 sum;

	saved.now.rows = 0;
	put_raw(&b, &saved.now, sizeof(saved.now));
	put_devices(&b);
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used && clients[i].e.first)
			put_row(&b, &clients[i].e,
				(struct staterow){ .device = clients[i].device,
						   .key = clients[i].key,
						   .keykind = clients[i].keykind },
				NULL, clients[i].holders);
	put_groups(&b);
	put_unseen(&b);
	if (!b.full)
		memcpy(b.p, &saved.now, sizeof(saved.now));
	sum = hash64_more(HASH64_BEGIN, (struct str){ b.p, b.p + b.n });
	put_raw(&b, &sum, sizeof(sum));
	return (struct str){ b.p, b.full ? b.p : b.p + b.n };
}

/* Writes the last reading into a new state file, which replaces the old one. Returns 0, or -errno
 * if the old file is unchanged. A file that is not a regular file is not replaced. */
long state_save(const char *path)
{
	struct replacement f;
	struct str s = state_make();
	struct stat st;
	long r;

	if (s.p == s.e)
		return -EFBIG;
	r = sys_lstat(path, &st);
	if (r != -ENOENT && (r < 0 || !S_ISREG(st.st_mode)))
		return r < 0 ? r : -EINVAL;
	r = replace_begin(&f, path);
	if (r == 0 && !saved.cleaned) {
		replace_clean(&f);
		saved.cleaned = true;
	}
	if (r == 0 && (r = replace_open(&f, 0600)) == 0)
		r = write_all(f.fd, s.p, str_len(s));
	r = replace_finish(&f, r);
	if (f.dir >= 0)
		sys_close(f.dir);
	return r;
}
