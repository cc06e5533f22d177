/* state.c - what the last run read: the registry's totals, kept in a file from run to run. The file is bound to this
 * boot and to the roots of /proc and /sys, and is replaced whole. Loading it puts that reading before the one that was
 * just taken, so that rates and sums come about as they do between two samples. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

/* Numbers are in the machine's own order: no other machine has this boot id. A row that a newer version writes in
 * another way, or another order of kept[], wants another magic. */
static const char magic[8] = { 'g', 'p', 'u', 's', 't', 'a', 't', '1' };

struct statehead {
	char magic[8], boot[40];
	u64 roots[4];      /* st_dev and st_ino of /proc and of /sys */
	i64 mono, boottime; /* of the reading, ns */
	u64 rows;
};

/* What an entity is known by; its text, counters and holders stand behind it. */
struct staterow {
	u8 kind, keykind;
	u8 device; /* of a device: its number here; of others: that of theirs */
	u8 flags;
	u16 counters, text;
	u32 holders, zero;
	u64 key;   /* of a device: the inode of its folder */
	i64 t;
};

/* The text of a device. */
struct statedevice {
	u64 ino_dev;
	char dev[sizeof(devices[0].dev)], driver[sizeof(devices[0].driver)], pdev[sizeof(devices[0].pdev)];
};

struct statecount {
	u64 v;
	i64 t;
	u8 what, n; /* index into kept[]; bytes of the name that follows */
	u8 zero[6];
};

struct stateholder {
	u32 pid, zero;
	u64 start;
};

_Static_assert(sizeof(struct statehead) == 104 && sizeof(struct staterow) == 32 && sizeof(struct statecount) == 24 &&
	       sizeof(struct statedevice) == 136, "no padding: files are read by programs for 32 bits, too");

enum {
	/* Of a client: which readings it had; ours alone, while the file is in memory: it was put in or is out of date. */
	RF_FRESH = 1, RF_WHOLE = 2, RF_DONE = 128,
	STATE_BYTES = 8 << 20, /* all that the registry has room for: 131 000 counters and 33 000 holders in 4 MB, groups */
};

/* What goes on from reading to reading: tracks, then what lasts. Their places are part of the file's format. */
static const u8 kept[] = { D_BUSY_NS, D_CYCLES, D_TOTAL_CYCLES, D_GPU_BUSY_US, D_IDLE_MS, D_ENERGY, D_FREQ_SPENT,
			   D_CAPACITY, D_KEPT_NS, D_KEPT_CYCLES, D_KEPT_TOTAL_CYCLES };
enum { KEPT_CAPACITY = 7 };

static char *loaded_bytes, *saved_bytes;
static TABLE(loaded_bytes, STATE_BYTES, 16 << 10, "bytes of the state file");
static TABLE(saved_bytes, STATE_BYTES, 16 << 10, "bytes of the state file");
static struct str loaded; /* its rows; empty: there is no state */
static struct statehead now;
static u8 device_here[256]; /* the registry's number for a row's */
static bool sums;           /* what is shown is summed over all clients */

/* --- bytes to rows: pure ------------------------------------------------------------------------------------- */

static bool take(struct str *s, void *to, size_t n)
{
	if (str_len(*s) < n)
		return false;
	memcpy(to, s->p, n);
	s->p += n;
	return true;
}

static bool take_view(struct str *s, struct str *view, size_t n)
{
	if (str_len(*s) < n)
		return false;
	*view = (struct str){ s->p, s->p + n };
	s->p += n;
	return true;
}

static bool take_count(struct str *s, struct statecount *c, struct str *inst)
{
	return take(s, c, sizeof(*c)) && c->what < LEN(kept) && c->t >= 0 && c->n <= MAX_NAME && take_view(s, inst, c->n);
}

/* A row and views of what belongs to it: a text, counters, holders. */
struct rowview {
	struct staterow r;
	struct str text, values, heirs;
};

/* False where it is cut, or is none. */
static bool take_row(struct str *s, struct rowview *v)
{
	struct staterow *r = &v->r;
	struct statecount c;
	struct str inst;

	if (!take(s, r, sizeof(*r)) || r->kind > K_CGROUP || r->keykind > KEY_KFD || r->t < 0 || r->counters > MAX_COUNTERS ||
	    (r->kind == K_DEVICE && r->text != sizeof(struct statedevice)) || !take_view(s, &v->text, r->text))
		return false;
	v->values.p = s->p;
	for (u16 i = 0; i < r->counters; i++)
		if (!take_count(s, &c, &inst) || (r->kind == K_CLIENT && c.what > KEPT_CAPACITY))
			return false;
	v->values.e = s->p;
	return str_len(*s) / sizeof(struct stateholder) >= r->holders &&
	       take_view(s, &v->heirs, r->holders * sizeof(struct stateholder));
}

/* Why a file is of no use, or NULL; its rows. want: what ours would begin with. */
static const char *state_parse(struct str file, const struct statehead *want, struct statehead *h, struct str *rows)
{
	struct rowview v;
	struct str rest;
	u64 sum, n = 0;

	if (str_len(file) < sizeof(*h) + sizeof(sum) || memcmp(file.p, magic, sizeof(magic)) != 0)
		return "no state that this version has left";
	memcpy(h, file.p, sizeof(*h));
	file.e -= sizeof(sum);
	memcpy(&sum, file.e, sizeof(sum));
	if (sum != hash64_more(HASH64_BEGIN, file))
		return "cut or damaged";
	if (!want->boot[0] || memcmp(h->boot, want->boot, sizeof(h->boot)) != 0)
		return "of another boot or machine";
	if (memcmp(h->roots, want->roots, sizeof(h->roots)) != 0)
		return "of another /proc or /sys";
	if (h->mono < 0 || h->boottime < 0 || h->mono > want->mono || h->boottime > want->boottime)
		return "of the future";
	*rows = rest = (struct str){ file.p + sizeof(*h), file.e };
	while (rest.p < rest.e && take_row(&rest, &v) && !(v.r.flags & RF_DONE))
		n++;
	return rest.p < rest.e || n != h->rows ? "cut or damaged" : NULL;
}

/* --- rows to the registry ------------------------------------------------------------------------------------- */

static u32 device_of(const struct rowview *v)
{
	struct statedevice id;

	memcpy(&id, v->text.p, sizeof(id));
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;) {
		const struct device *d = &devices[i];

		if (d->ino == v->r.key && d->ino_dev == id.ino_dev && !strncmp(d->dev, id.dev, sizeof(id.dev)) &&
		    !strncmp(d->pdev, id.pdev, sizeof(id.pdev)) &&
		    (!d->driver[0] || !id.driver[0] || !strncmp(d->driver, id.driver, sizeof(id.driver))))
			return i;
	}
	return NONE;
}

/* The counters of a row as the reading before. shown: those of D_KEPT_* are also what is shown. */
static void put_before(struct entity *e, const struct rowview *v, bool shown)
{
	struct statecount c;
	struct str values = v->values, inst;

	while (take_count(&values, &c, &inst)) {
		u8 desc = kept[c.what];

		reg_was(e, desc, inst, c.v, c.t);
		if (shown && desc >= D_KEPT_NS && desc <= D_KEPT_TOTAL_CYCLES)
			reg_was(e, (u8)(desc - D_KEPT_NS + D_SUM_NS), inst, c.v, c.t);
	}
	e->t_was = v->r.t;
	reg_compare(e);
}

/* Whether one of the processes that held a client then does so now. */
static bool same_holder(struct str heirs, const struct client *c)
{
	struct stateholder was;

	while (take(&heirs, &was, sizeof(was)))
		for (u32 h = c->holders; h; h = holders[h].next_client)
			if (tasks[holders[h].task].pid == was.pid && tasks[holders[h].task].start == was.start)
				return true;
	return false;
}

static bool is_shut(u32 pid)
{
	char path[TASK_PATH];
	long fd;
	u8 was;

	task_path(path, pid, "/fd");
	was = privilege_raise(MAY_READ | MAY_LOOK);
	fd = sys_openat(root_proc, path, O_RDONLY | O_DIRECTORY);
	privilege_lower(was);
	if (fd >= 0)
		sys_close((int)fd);
	return fd < 0;
}

/* Whether a client that was not met may be there all the same: the device sleeps, or who held it may not be looked at,
 * which was not so then. */
static bool is_hidden(u32 device, struct str heirs)
{
	bool asleep = devices[device].anonymous && !devices[device].awake;
	struct stateholder was;

	while ((asleep || reg_unreadable) && take(&heirs, &was, sizeof(was)))
		if (was.start != UINT64_MAX && task_start(was.pid) == was.start && (asleep || is_shut(was.pid)))
			return true;
	return false;
}

/* A client that has been read is the row's, unless its name has come back: numbers before 6.5 did, those of processes
 * do. */
static void client_before(struct client *c, const struct rowview *v)
{
	bool same = same_holder(v->heirs, c);

	if (c->keykind != KEY_ID && !same)
		return;
	put_before(&c->e, v, false);
	if (c->e.fell && !same) {
		reg_forget(&c->e);
		return;
	}
	if (v->r.flags & RF_FRESH)
		fdinfo_late(c, str_z(devices[c->device].driver));
	c->kept = true;
	c->rolled = sums;
}

static void group_before(u32 device, const struct rowview *v)
{
	u32 cgroup = cgroup_add(v->text);
	struct group *g = cgroup != NONE ? group_add(device, cgroup) : NULL;

	if (g)
		put_before(&g->e, v, sums);
	if (cgroup != NONE)
		cgroup_unref(cgroup);
}

/* Puts in a row that the registry has the entity of by now. False: it is of a client that may be read later. */
static bool row_apply(const struct rowview *v, u32 device)
{
	const struct staterow *r = &v->r;
	struct client *c;
	u32 n;

	if (device == NONE)
		return true;
	if (r->kind == K_DEVICE)
		put_before(&devices[device].e, v, sums);
	else if (r->kind == K_CGROUP)
		group_before(device, v);
	if (r->kind != K_CLIENT)
		return true;
	n = client_find(device, r->keykind, r->key);
	if (n == NONE)
		return !is_hidden(device, v->heirs);
	c = &clients[n];
	if (c->e.fresh && !c->kept)
		client_before(c, v);
	return c->e.fresh;
}

static void rows_apply(void)
{
	struct str rest = loaded;
	struct rowview v;

	for (char *at = loaded_bytes + sizeof(struct statehead); take_row(&rest, &v); at += rest.p - at) {
		if (v.r.flags & RF_DONE)
			continue;
		if (v.r.kind == K_DEVICE)
			device_here[v.r.device] = (u8)device_of(&v);
		if (row_apply(&v, device_here[v.r.device]))
			at[offsetof(struct staterow, flags)] = (char)(v.r.flags | RF_DONE);
	}
}

/* --- clients that came since ------------------------------------------------------------------------------------ */

static struct entity clocks[MAX_DEVICES]; /* of GPUs that count their own cycles: what clients said then */
static bool seen_all[MAX_DEVICES];        /* then, all clients of the device were seen */

static void rows_before(void)
{
	struct str rest = loaded, inst;
	struct rowview v;
	struct statecount c;

	while (take_row(&rest, &v)) {
		u32 device = device_here[v.r.device];

		if (v.r.kind == K_DEVICE && device != NONE)
			seen_all[device] = v.r.flags & RF_WHOLE;
		while (v.r.kind == K_CLIENT && v.r.flags & RF_FRESH && device != NONE && take_count(&v.values, &c, &inst))
			if (kept[c.what] == D_TOTAL_CYCLES)
				reg_was(&clocks[device], D_TOTAL_CYCLES, inst, c.v, c.t);
	}
}

/* Whether a client cannot have been there in that reading: it would have been seen, or who holds it started later. */
static bool is_new(const struct client *c, const struct statehead *h)
{
	bool later = c->holders != NONE;

	for (u32 i = c->holders; i; i = holders[i].next_client) {
		u64 start = tasks[holders[i].task].start; /* in USER_HZ, which is 100 */

		later &= start != UINT64_MAX && start > (u64)h->boottime / 10000000;
	}
	return later || seen_all[c->device];
}

/* Then it had done nothing. Clocks of the GPU were what they were for others. */
static void start_new(struct client *c, i64 t)
{
	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k)) {
		struct counter *clock = k->desc == D_TOTAL_CYCLES ? reg_find(&clocks[c->device], k->desc, k->inst) : NULL;

		if (!(k->flags & CF_WIDE) || (k->desc == D_TOTAL_CYCLES && !clock))
			continue;
		reg_was(&c->e, k->desc, inst_name(k->inst), clock ? reg_now(clock) : 0, t);
	}
	c->e.t_was = t;
	reg_compare(&c->e);
}

/* --- the file --------------------------------------------------------------------------------------------------- */

static void head_make(void)
{
	static const char boot_id[] = "sys/kernel/random/boot_id";
	struct str line;
	char b[64];
	struct stat st;

	memset(&now, 0, sizeof(now));
	memcpy(now.magic, magic, sizeof(magic));
	if (slurp_line(root_proc, boot_id, b, sizeof(b), &line) ||
	    slurp_line(AT_FDCWD, "/proc/sys/kernel/random/boot_id", b, sizeof(b), &line))
		device_set(now.boot, sizeof(now.boot), line);
	for (size_t i = 0; i < 2; i++)
		if (sys_fstat(i ? root_sys : root_proc, &st) == 0) {
			now.roots[2 * i] = st.st_dev;
			now.roots[2 * i + 1] = st.st_ino;
		}
}

static void head_time(void)
{
	now.mono = sys_now(CLOCK_MONOTONIC);
	now.boottime = sys_now(CLOCK_BOOTTIME);
}

/* The bytes of a file that is ours alone: why it is not, or NULL. */
static const char *state_read(const char *path, struct str *file)
{
	struct stat st;
	long fd = file_open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), n;
	const char *why = NULL;

	if (fd < 0)
		return fd == -ENOENT ? "not there yet" : fd == -ELOOP ? "a symbolic link" : "cannot be read";
	if (sys_fstat((int)fd, &st) < 0 || !S_ISREG(st.st_mode))
		why = "not a regular file";
	else if (st.st_uid != sys_euid())
		why = "of another user";
	else if (st.st_mode & (S_IWGRP | S_IWOTH))
		why = "others may write to it";
	else if (st.st_size >= STATE_BYTES)
		why = "too large";
	else if (!table_has(&loaded_bytes_table, (size_t)st.st_size))
		why = "no memory for it";
	else if ((n = slurp_fd((int)fd, loaded_bytes, loaded_bytes_table.ready)) < 0)
		why = "cannot be read";
	else
		*file = (struct str){ loaded_bytes, loaded_bytes + n };
	sys_close((int)fd);
	return why;
}

/* What a file in loaded_bytes says becomes the reading before. As state_load(). */
static const char *state_take(struct str file, bool filtered, i64 *age)
{
	struct statehead h;
	const char *why = state_parse(file, &now, &h, &loaded);

	if (why) {
		loaded = (struct str){ 0 };
		return why;
	}
	*age = now.mono - h.mono;
	sums = !filtered;
	rows_apply();
	rows_before();
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used && clients[i].e.fresh && !clients[i].kept && is_new(&clients[i], &h))
			start_new(&clients[i], h.mono);
	for (u32 i = 1; i <= ndevices; i++)
		reg_clear(&clocks[i]);
	return NULL;
}

/* After the first reading: what the last run left becomes the one before. filtered: sums shown are not of all clients.
 * NULL, and in *age how many ns ago that was; or why there is none. */
const char *state_load(const char *path, bool filtered, i64 *age)
{
	struct str file = { 0 };
	const char *why;

	reg_keeps = true;
	head_make();
	why = state_read(path, &file);
	head_time(); /* not before: another run may just have left its file */
	return why ? why : state_take(file, filtered, age);
}

/* After each further one. */
void state_sample(void)
{
	head_time();
	rows_apply();
}

/* Into saved_bytes. */
static void put_raw(struct buf *b, const void *p, size_t n)
{
	if (table_has(&saved_bytes_table, b->n + n))
		*b = (struct buf){ saved_bytes, b->n, saved_bytes_table.ready, b->full };
	put_n(b, p, n);
}

static void put_count(struct buf *b, struct counter *k, u16 *n)
{
	struct statecount c = { .v = reg_now(k) };
	struct str inst = inst_name(k->inst);

	while (c.what < LEN(kept) && kept[c.what] != k->desc)
		c.what++;
	if (c.what == LEN(kept) || !(k->flags & (k->flags & CF_WIDE ? CF_SEEN | CF_BASE : CF_SEEN)))
		return;
	if (k->flags & CF_WIDE) {
		bool seen = k->flags & CF_SEEN;

		c.t = seen ? reg_track(k)->t : reg_track(k)->t_was;
		c.v = reg_base(k);
	}
	c.n = (u8)str_len(inst);
	put_raw(b, &c, sizeof(c));
	put_raw(b, inst.p, c.n);
	++*n;
}

static void put_row(struct buf *b, const struct entity *e, struct staterow r, const void *text, u32 holder)
{
	size_t at = b->n;

	r.kind = e->kind;
	r.t = e->t;
	r.flags |= e->fresh ? RF_FRESH : 0;
	now.rows++;
	put_raw(b, &r, sizeof(r));
	put_raw(b, text, r.text);
	for (struct counter *k = reg_first(e); k; k = reg_next(k))
		put_count(b, k, &r.counters);
	for (; holder; holder = holders[holder].next_client, r.holders++) {
		struct stateholder h = { .pid = holders[holder].pid, .start = tasks[holders[holder].task].start };

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

		device_set(id.dev, sizeof(id.dev), str_z(d->dev));
		device_set(id.driver, sizeof(id.driver), str_z(d->driver));
		device_set(id.pdev, sizeof(id.pdev), str_z(d->pdev));
		put_row(b, &d->e, (struct staterow){ .device = (u8)i, .text = sizeof(id), .key = d->ino,
						     .flags = !d->anonymous && !reg_unreadable && !reg_dropped ? RF_WHOLE : 0 }, &id, NONE);
	}
}

static void put_groups(struct buf *b)
{
	static char path[4096];

	for (u32 i = 1; i <= ngroups; i++)
		if (groups[i].e.used)
			put_row(b, &groups[i].e, (struct staterow){ .device = (u8)groups[i].device,
				.text = (u16)text_copy(cgroups[groups[i].cgroup].path, path, sizeof(path)) }, path, NONE);
}

/* Rows of clients that may still be there, as they were read. */
static void put_unseen(struct buf *b)
{
	struct str rest = loaded;
	struct rowview v;

	for (const char *from = rest.p; take_row(&rest, &v); from = rest.p) {
		u8 device = device_here[v.r.device];

		if (v.r.flags & RF_DONE || !devices[device].e.used)
			continue;
		if (!table_has(&saved_bytes_table, b->n + (size_t)(rest.p - from) + sizeof(u64))) {
			reg_dropped++;
			continue;
		}
		now.rows++;
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

	now.rows = 0;
	put_raw(&b, &now, sizeof(now));
	put_devices(&b);
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used && clients[i].e.first)
			put_row(&b, &clients[i].e, (struct staterow){ .device = (u8)clients[i].device, .key = clients[i].key,
				.keykind = clients[i].keykind }, NULL, clients[i].holders);
	put_groups(&b);
	put_unseen(&b);
	if (!b.full)
		memcpy(b.p, &now, sizeof(now));
	sum = hash64_more(HASH64_BEGIN, (struct str){ b.p, b.p + b.n });
	put_raw(&b, &sum, sizeof(sum));
	return (struct str){ b.p, b.full ? b.p : b.p + b.n };
}

/* What was read last, in the place of what there was: 0, or -errno and what there was. Nothing but a regular file is
 * replaced. */
long state_save(const char *path)
{
	struct replacing f;
	struct str s = state_make();
	struct stat st;
	long r;

	if (s.p == s.e)
		return -EFBIG;
	r = sys_lstat(path, &st);
	if (r != -ENOENT && (r < 0 || !S_ISREG(st.st_mode)))
		return r < 0 ? r : -EINVAL;
	r = replace_begin(&f, path);
	if (r == 0 && (r = replace_open(&f, 0600)) == 0)
		r = write_all(f.fd, s.p, str_len(s));
	r = replace_settle(&f, r);
	if (f.dir >= 0)
		sys_close(f.dir);
	return r;
}
