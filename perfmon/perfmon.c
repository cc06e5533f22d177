/* perfmon.c - contexts of perfmon2, and the calls that both of its versions have, over perf_event_open(2).
 * SPDX-License-Identifier: MIT */
#include "perfmon_int.h"

struct ctx ctxs[MAX_CTXS];
int lock;

/* Contexts are of one process: its child has their descriptors, but neither the thread that serves them nor a say. */
static u32 owner;
static sigset_t mask; /* of the thread that has the lock */

static void ctx_close(struct ctx *c)
{
	while (c->sets)
		ctx_del_set(c, c->sets);
	if (c->buf)
		sys_munmap(c->buf, c->size);
	if (c->memfd >= 0)
		sys_close(c->memfd);
	if (c->end >= 0)
		sys_close(c->end);
	c->state = ST_FREE;
}

/* Closing a duplicate of the parent's descriptors does nothing to its counters. Rings are not inherited (perf_mmap():
 * VM_DONTCOPY): where they were may be something else of the child's. */
static void forget_parent(void)
{
	for (struct ctx *c = ctxs; c < ctxs + MAX_CTXS; c++) {
		for (struct set *s = c->sets; s; s = s->next)
			s->ring.page = NULL;
		if (c->state != ST_FREE)
			ctx_close(c);
	}
	service_forget();
}

/* The first call in a process; others wait for it. */
static void process_enter(u32 pid)
{
	const u32 entering = pid | 1u << 31; /* no pid has that bit */
	u32 was = __atomic_load_n(&owner, __ATOMIC_ACQUIRE);

	while (was != pid) {
		if (was == entering) {
			sys_yield();
			was = __atomic_load_n(&owner, __ATOMIC_ACQUIRE);
		} else if (__atomic_compare_exchange_n(&owner, &was, entering, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
			lock = 0; /* of a thread that is not here */
			forget_parent();
			__atomic_store_n(&owner, pid, __ATOMIC_RELEASE);
			was = pid;
		}
	}
}

/* No handler runs while we have the lock: a message raises SIGIO, and its handler may call us. */
void lib_enter(void)
{
	sigset_t was;

	sys_block_all(&was);
	process_enter(sys_pid());
	sys_lock(&lock);
	mask = was;
}

int ctx_leave(int error)
{
	sigset_t was = mask;

	sys_unlock(&lock);
	sys_unblock(&was);
	if (error >= 0)
		return error;
	errno = -error;
	return -1;
}

static struct ctx *ctx_find(int fd)
{
	struct stat st;

	if (sys_fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return NULL;
	for (struct ctx *c = ctxs; c < ctxs + MAX_CTXS; c++)
		if (c->state != ST_FREE && c->ino == st.st_ino)
			return c;
	return NULL;
}

struct ctx *ctx_enter(int fd, const void *args, int count, int *error)
{
	struct ctx *c;

	lib_enter();
	c = ctx_find(fd);
	if (!c)
		*error = -EBADF;
	else if (count < 1 || count > MAX_VECTOR)
		*error = -EINVAL;
	else
		*error = args ? 0 : -EFAULT;
	return *error ? NULL : c;
}

/* --- a context's life --------------------------------------------------------------------------------------------- */

static int buffer_open(struct ctx *c, u16 npmds, const void *arg)
{
	size_t page = sys_page();
	long r = c->fmt->fmt_validate ? fmt_error(c->fmt->fmt_validate(c->flags, npmds, arg)) : 0;

	if (r == 0 && c->fmt->fmt_getsize)
		r = fmt_error(c->fmt->fmt_getsize(c->flags, arg, &c->size));
	if (r == 0 && c->size > MAX_BUFFER)
		r = -ENOMEM;
	if (r < 0)
		return (int)r;
	if (c->size) {
		c->size = (c->size + page - 1) / page * page;
		c->memfd = (int)sys_memfd("perfmon");
		r = c->memfd < 0 ? c->memfd : sys_ftruncate(c->memfd, c->size);
		if (r == 0)
			c->buf = sys_mmap(c->memfd, c->size, &r);
	}
	return r == 0 && c->fmt->fmt_init ? fmt_error(c->fmt->fmt_init(c->buf, c->flags, npmds, arg)) : (int)r;
}

void ctx_free(struct ctx *c)
{
	ctx_unload(c);
	if (c->fmt && c->fmt->fmt_exit)
		c->fmt->fmt_exit(c->buf);
	ctx_close(c);
}

void ctxs_reap(void)
{
	for (struct ctx *c = ctxs; c < ctxs + MAX_CTXS; c++) {
		struct pollfd p = { .fd = c->end };

		if (c->state != ST_FREE && sys_poll_until(&p, 1, 0, NULL) > 0 && p.revents & POLLHUP)
			ctx_free(c);
	}
}

/* A free one. */
static struct ctx *ctx_new(void)
{
	struct ctx *c = ctxs;

	ctxs_reap();
	while (c < ctxs + MAX_CTXS && c->state != ST_FREE)
		c++;
	return c < ctxs + MAX_CTXS ? c : NULL;
}

/* PMDs of the PMU: how many values an entry may have. */
static u16 count_pmds(void)
{
	const struct pmumap *map = pmumap();
	u16 n = 0;

	for (unsigned i = 0; i < PMU_REGS; i++)
		n = (u16)(n + (map->pmd[i].kind != REG_NONE));
	return n;
}

int ctx_create(u32 flags, bool v23, const struct pfm_smpl_fmt *fmt, const void *arg, size_t narg, size_t *size)
{
	struct ctx *c;
	struct stat st = { 0 };
	int fds[2], r;

	if (!pmumap())
		return -ENOMEM;
	if (pmumap()->why || flags & ~(u32)(PFM_FL_SYSTEM_WIDE | PFM_FL_OVFL_NO_MSG) || narg != (fmt ? fmt->fmt_arg_size : 0))
		return -EINVAL;
	if (narg && !arg)
		return -EFAULT;
	r = service_start();
	if (r < 0)
		return r;
	c = ctx_new();
	if (!c)
		return -ENOMEM;
	*c = (struct ctx){ .flags = flags, .v23 = v23, .fmt = fmt, .memfd = -1, .end = -1, .deadline = -1 };
	c->active = ctx_add_set(c, 0);
	if (!c->active)
		return -ENOMEM;
	r = (int)sys_seqpacket(fds);
	if (r == 0) {
		c->end = fds[1];
		r = fmt ? buffer_open(c, count_pmds(), arg) : 0; /* last: fmt_exit is owed behind fmt_init */
		if (r < 0)
			sys_close(fds[0]);
	}
	if (r < 0) {
		ctx_close(c);
		return r;
	}
	sys_fstat(fds[0], &st);
	c->ino = st.st_ino;
	c->state = ST_UNLOADED;
	*size = c->size;
	service_wake();
	return fds[0];
}

void *pfm_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset)
{
	struct ctx *c;
	long error = 0;
	void *p;

	if (flags & MAP_ANONYMOUS) /* no lock: it is not ours, whoever calls */
		return sys_mmap_at(addr, length, prot, flags, fd, offset, &error);
	lib_enter();
	c = ctx_find(fd);
	if (c && (!c->buf || length == 0 || length > c->size || offset != 0))
		error = -EINVAL;
	else if (c && prot & (PROT_WRITE | PROT_EXEC))
		error = -EPERM; /* the library writes it, and relies on it */
	else if (c)
		flags = (flags & ~MAP_TYPE) | MAP_SHARED; /* a private one need not show what comes later */
	p = error ? MAP_FAILED : sys_mmap_at(addr, length, prot, flags, c ? c->memfd : fd, offset, &error);
	ctx_leave((int)error);
	return p;
}

/* --- registers ------------------------------------------------------------------------------------------------------ */

/* What perf_event_open(2) says, in the words of this interface. */
static int load_error(int r)
{
	if (r == -EACCES)
		return -EPERM;
	return r == -ENOENT || r == -EOPNOTSUPP || r == -ENODEV || r == -E2BIG ? -EINVAL : r;
}

/* All that are to be changed while they count are opened anew: others may share their group, their ring or their limit. */
static void change_begin(struct ctx *c)
{
	if (c->state == ST_LOADED)
		ctx_halt(c);
}

/* A set that cannot be opened anew counts nothing from now on: its PMDs are not told. */
static int set_reopen(struct ctx *c, struct set *s)
{
	int r;

	set_close(s);
	r = set_open(c, s);
	for (struct pmd *p = s->pmds; r < 0 && p; p = p->next)
		p->missed = p->kind == REG_COUNTER;
	return r;
}

static int change_end(struct ctx *c, const bool *changed, int error)
{
	int r = 0, i = 0;

	for (struct set *s = c->sets; s && c->state != ST_UNLOADED; s = s->next, i++) {
		int e = changed[i] ? set_reopen(c, s) : 0;

		r = r ? r : e;
	}
	ctx_run(c);
	service_wake();
	return error ? error : load_error(r);
}

static int set_index(const struct ctx *c, const struct set *s)
{
	int i = 0;

	for (const struct set *t = c->sets; t != s; t = t->next)
		i++;
	return i;
}

static u32 pmc_write(struct ctx *c, const pfarg_pmc_t *a, bool *changed)
{
	const struct pmumap *map = pmumap();
	struct set *s = ctx_set(c, a->reg_set);
	const struct pmureg *reg;

	if (a->reg_num >= PMU_REGS || map->pmc[a->reg_num].kind == REG_NONE || a->reg_flags & ~PFM_REG_RETFL_MASK)
		return PFM_REG_RETFL_EINVAL;
	if (!s)
		return PFM_REG_RETFL_NOSET;
	reg = &map->pmc[a->reg_num];
	s->pmcs[a->reg_num] = (a->reg_value & reg->mask) | (reg->dflt & ~reg->mask);
	changed[set_index(c, s)] = true;
	return 0;
}

int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int count)
{
	bool changed[MAX_EVTSETS] = { false };
	u32 bad = 0;
	int error;
	struct ctx *c = ctx_enter(fd, pmcs, count, &error);

	if (!c)
		return ctx_leave(error);
	change_begin(c);
	for (int i = 0; i < count && !bad; i++) {
		bad = pmc_write(c, &pmcs[i], changed);
		pmcs[i].reg_flags = (pmcs[i].reg_flags & ~PFM_REG_RETFL_MASK) | bad;
	}
	return ctx_leave(change_end(c, changed, bad ? -EINVAL : 0));
}

/* Whether all of these are registers. */
static bool are_pmds(const u64 *bv)
{
	const struct pmumap *map = pmumap();

	for (unsigned i = 0; i < PMU_REGS; i++)
		if (bv_has(bv, i) && map->pmd[i].kind == REG_NONE)
			return false;
	return true;
}

/* Registers that are recorded or reset are in use. */
static bool use_pmds(struct set *s, const u64 *bv)
{
	for (unsigned i = 0; i < PMU_REGS; i++)
		if (bv_has(bv, i)) {
			struct pmd *p = set_add_pmd(s, (u16)i);

			if (!p)
				return false;
			if (p->kind == REG_VIRTUAL && p->khr < 0)
				p->khr = virtual_open(pmumap()->pmd[i].counter);
		}
	return true;
}

static u32 seed_of(const pfarg_pmd_t *a)
{
	u64 now = (u64)sys_now(CLOCK_MONOTONIC);

	/* 1 to 2^31 - 2: zero has no successor but itself. */
	return (u32)((a->reg_random_seed ? a->reg_random_seed : now ^ now >> 31) % (INT32_MAX - 1)) + 1;
}

static void pmd_set(struct pmd *p, const pfarg_pmd_t *a)
{
	p->value = p->last_reset = a->reg_value;
	p->missed = false;
	p->flags = a->reg_flags & (PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM);
	p->long_reset = a->reg_long_reset;
	p->short_reset = a->reg_short_reset;
	p->random_mask = a->reg_random_mask;
	p->seed = seed_of(a);
	p->eventid = a->reg_smpl_eventid;
	p->switch_cnt = p->switch_left = a->reg_ovfl_switch_cnt;
	memcpy(p->reset_pmds, a->reg_reset_pmds, sizeof(p->reset_pmds));
	memcpy(p->smpl_pmds, a->reg_smpl_pmds, sizeof(p->smpl_pmds));
}

static u32 pmd_write(struct ctx *c, const pfarg_pmd_t *a, bool *changed)
{
	const struct pmumap *map = pmumap();
	struct set *s = ctx_set(c, a->reg_set);
	const u32 flags = a->reg_flags & ~PFM_REG_RETFL_MASK;
	u8 kind = a->reg_num < PMU_REGS ? map->pmd[a->reg_num].kind : REG_NONE;
	struct pmd *p;

	if (kind != REG_COUNTER || flags & ~(u32)(PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM) ||
			!are_pmds(a->reg_smpl_pmds) || !are_pmds(a->reg_reset_pmds))
		return PFM_REG_RETFL_EINVAL;
	if (!s)
		return PFM_REG_RETFL_NOSET;
	p = set_add_pmd(s, a->reg_num);
	if (!p || !use_pmds(s, a->reg_smpl_pmds) || !use_pmds(s, a->reg_reset_pmds))
		return PFM_REG_RETFL_NOTAVAIL;
	pmd_set(p, a);
	s->ovfl_pmds[p->num / 64] &= ~((u64)1 << p->num % 64);
	s->reset_pmds[p->num / 64] &= ~((u64)1 << p->num % 64);
	changed[set_index(c, s)] = true;
	return 0;
}

int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int count)
{
	bool changed[MAX_EVTSETS] = { false };
	u32 bad = 0;
	int error;
	struct ctx *c = ctx_enter(fd, pmds, count, &error);

	if (!c)
		return ctx_leave(error);
	change_begin(c);
	for (int i = 0; i < count && !bad; i++) {
		bad = pmd_write(c, &pmds[i], changed);
		pmds[i].reg_flags = (pmds[i].reg_flags & ~PFM_REG_RETFL_MASK) | bad;
	}
	return ctx_leave(change_end(c, changed, bad ? -EINVAL : 0));
}

/* Counters that nobody has written or named are not in use, and not read: as perfmon has it. */
static u32 pmd_read(const struct ctx *c, pfarg_pmd_t *a)
{
	struct set *s = ctx_set(c, a->reg_set);
	u8 kind = a->reg_num < PMU_REGS ? pmumap()->pmd[a->reg_num].kind : REG_NONE;
	u64 virtual[PFM_PMD_BV] = { 0 };
	const struct pmd *p;

	if (kind == REG_NONE)
		return PFM_REG_RETFL_EINVAL;
	if (!s)
		return PFM_REG_RETFL_NOSET;
	if (kind == REG_VIRTUAL) {
		bv_add(virtual, a->reg_num);
		use_pmds(s, virtual);
	}
	p = set_pmd(s, a->reg_num);
	if (!p)
		return kind == REG_VIRTUAL ? PFM_REG_RETFL_NOTAVAIL : PFM_REG_RETFL_EINVAL;
	if (p->kind == REG_VIRTUAL ? !virtual_value(p, &a->reg_value) : p->missed)
		return PFM_REG_RETFL_NOTAVAIL;
	if (p->kind != REG_VIRTUAL)
		a->reg_value = pmd_value(p);
	a->reg_last_reset_val = p->last_reset;
	a->reg_ovfl_switch_cnt = p->switch_left;
	return 0;
}

int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int count)
{
	u32 bad = 0;
	int error;
	struct ctx *c = ctx_enter(fd, pmds, count, &error);

	if (!c)
		return ctx_leave(error);
	if (c->state != ST_UNLOADED && c->active->running) {
		ctx_update(c); /* overflows before now are in what is read */
		if (c->active->running)
			set_look(c->active);
	}
	for (int i = 0; i < count && !bad; i++) {
		bad = pmd_read(c, &pmds[i]);
		pmds[i].reg_flags = (pmds[i].reg_flags & ~PFM_REG_RETFL_MASK) | bad;
	}
	return ctx_leave(bad ? -EINVAL : 0);
}

/* --- load, start, stop ---------------------------------------------------------------------------------------------- */

/* Every set that is named as a next one is there; all begin anew. */
static int sets_prepare(struct ctx *c)
{
	for (struct set *s = c->sets; s; s = s->next) {
		if (s->flags & PFM_SETFL_EXPL_NEXT && !ctx_set(c, s->id_next))
			return -EINVAL;
		s->runs = s->duration = 0;
		s->switches = false;
		memset(s->ovfl_pmds, 0, sizeof(s->ovfl_pmds));
		memset(s->reset_pmds, 0, sizeof(s->reset_pmds));
		for (struct pmd *p = s->pmds; p; p = p->next)
			p->switch_left = p->switch_cnt;
	}
	return 0;
}

static int load_target(struct ctx *c, u32 pid)
{
	c->cpu = -1;
	c->pid = (int)pid;
	c->other = false;
	if (c->flags & PFM_FL_SYSTEM_WIDE) {
		c->pid = -1;
		c->cpu = c->v23 ? (int)pid : (int)sys_cpu();
		return c->cpu < 0 ? -EINVAL : 0;
	}
	if (pid == 0 || pid > INT32_MAX)
		return -ESRCH;
	c->other = c->pid != sys_tid();
	return (int)sys_kill(c->pid, 0);
}

/* What was sent of an earlier load. */
static void messages_drop(int fd)
{
	u64 b[MSG_SIZE / sizeof(u64)];

	while (sys_recv(fd, b, sizeof(b)) > 0)
		;
}

static int ctx_load(struct ctx *c, int fd, const pfarg_load_t *load)
{
	struct set *s = ctx_set(c, load->load_set);
	int r = s ? load_target(c, load->load_pid) : -EINVAL;

	if (r == 0)
		r = sets_prepare(c);
	if (r < 0)
		return r;
	for (struct set *t = c->sets; t; t = t->next)
		r = r ? r : set_open(c, t);
	if (r < 0) {
		ctx_unload(c);
		return load_error(r);
	}
	messages_drop(fd);
	c->active = s;
	c->started = c->switches = false;
	c->deadline = -1;
	c->left = 0;
	s->runs = 1;
	c->state = ST_LOADED;
	service_wake();
	return 0;
}

int pfm_load_context(int fd, pfarg_load_t *load)
{
	int error;
	struct ctx *c = ctx_enter(fd, load, 1, &error);

	if (c)
		error = c->state == ST_UNLOADED ? ctx_load(c, fd, load) : -EBUSY;
	return ctx_leave(error);
}

void ctx_unload(struct ctx *c)
{
	if (c->state != ST_UNLOADED)
		ctx_halt(c);
	for (struct set *s = c->sets; s; s = s->next)
		set_close(s);
	c->started = false;
	c->left = 0; /* sets may be made and deleted now */
	c->state = ST_UNLOADED;
}

int pfm_unload_context(int fd)
{
	int error;
	struct ctx *c = ctx_enter(fd, "", 1, &error);

	if (c) {
		ctx_unload(c);
		service_wake();
	}
	return ctx_leave(error);
}

int pfm_start(int fd, pfarg_start_t *start)
{
	int error;
	struct ctx *c = ctx_enter(fd, "", 1, &error);
	struct set *s;

	if (!c)
		return ctx_leave(error);
	s = start ? ctx_set(c, start->start_set) : c->active;
	if (s && s != c->active && c->state == ST_LOADED)
		ctx_halt(c); /* which may find an overflow that masks */
	if (c->state != ST_LOADED || !s)
		return ctx_leave(-EINVAL);
	if (s != c->active)
		ctx_switch(c, s);
	c->started = true;
	ctx_run(c);
	return ctx_leave(0);
}

int pfm_stop(int fd)
{
	int error;
	struct ctx *c = ctx_enter(fd, "", 1, &error);

	if (c && c->state == ST_UNLOADED)
		error = -EINVAL;
	if (c && !error) {
		ctx_halt(c);
		c->started = false;
	}
	return ctx_leave(error);
}

int pfm_restart(int fd)
{
	int error;
	struct ctx *c = ctx_enter(fd, "", 1, &error);

	return ctx_leave(c ? ctx_restart(c) : error);
}
