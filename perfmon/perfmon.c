/* perfmon.c - contexts of perfmon2, over perf_event_open(2), and the calls that v2.2 and v2.3 have
 * in common.
 * SPDX-License-Identifier: MIT */
#include "perfmon_int.h"

struct ctxs ctxs = { .table = TABLE_ROW(ctxs.rows, MAX_CTXS, 16, "contexts") };
int lock;

/* PID of the process to which the contexts belong. A child of fork() inherits their descriptors,
 * but has no service thread, and cannot use the contexts. */
static u32 owner;
/* signal mask that the thread which now holds the lock had before lib_enter() */
static sigset_t saved_sigmask;

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

/* In a child of fork(), frees the contexts that it inherited. Closing the inherited descriptors
 * does not affect the parent's counters. The rings are not inherited (perf_mmap(): VM_DONTCOPY),
 * and must not be unmapped: the child may have other memory at their addresses. */
static void forget_parent(void)
{
	for (struct ctx *c = ctxs.rows; c < ctxs_end(); c++) {
		for (struct set *s = c->sets; s; s = s->next)
			s->ring.page = NULL;
		if (c->state != ST_FREE)
			ctx_close(c);
	}
	service_forget();
}

/* Makes the calling process the owner of the library's data, at the process's first call. Other
 * threads of the process wait until this is done. */
static void process_enter(u32 pid)
{
	/* value of the variable `owner` while one thread of the process makes the process the
	 * owner: its PID with bit 31 set, which is set in no PID */
	const u32 entering = pid | 1u << 31;
	u32 was = __atomic_load_n(&owner, __ATOMIC_ACQUIRE);

	while (was != pid) {
		if (was == entering) {
			sys_yield();
			was = __atomic_load_n(&owner, __ATOMIC_ACQUIRE);
		} else if (__atomic_compare_exchange_n(&owner, &was, entering, 0, __ATOMIC_ACQUIRE,
						       __ATOMIC_ACQUIRE)) {
			/* Release the library's lock: at fork(2), a thread of the parent may have
			 * held the lock, and the child does not have this thread. */
			lock = 0;
			forget_parent();
			__atomic_store_n(&owner, pid, __ATOMIC_RELEASE);
			was = pid;
		}
	}
}

/* All signals are blocked while the lock is held: sending a message raises SIGIO, and its handler
 * may call the library, which would wait for the lock for ever. */
void lib_enter(void)
{
	sigset_t was;

	sys_block_all(&was);
	process_enter(sys_pid());
	sys_lock(&lock);
	saved_sigmask = was;
}

int ctx_leave(int error)
{
	sigset_t was = saved_sigmask;

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
	for (struct ctx *c = ctxs.rows; c < ctxs_end(); c++)
		if (c->state != ST_FREE && c->ino == st.st_ino)
			return c;
	return NULL;
}

struct ctx *ctx_enter(int fd, const void *args, int count, int *error)
{
	struct ctx *c;

	lib_enter();
	c = ctx_find(fd);
	if (c)
		c->fd = fd;
	if (!c)
		*error = -EBADF;
	else if (count < 1 || count > MAX_VECTOR)
		*error = -EINVAL;
	else
		*error = args ? 0 : -EFAULT;
	return *error ? NULL : c;
}

/* --- creating and freeing a perfmon2 context -------------------------------------------------- */

static int buffer_open(struct ctx *c, u16 npmds, const void *arg)
{
	size_t page = sys_page_size();
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
	return r == 0 && c->fmt->fmt_init ?
	       fmt_error(c->fmt->fmt_init(c->buf, c->flags, npmds, arg)) : (int)r;
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
	enum { AT_ONCE = 64 };
	struct pollfd p[AT_ONCE];

	for (u32 from = 0; from < ctxs.n; from += AT_ONCE) {
		struct ctx *c = &ctxs.rows[from];
		u32 n = ctxs.n - from < AT_ONCE ? ctxs.n - from : AT_ONCE;

		for (u32 i = 0; i < n; i++)
			p[i] = (struct pollfd){ .fd = c[i].state == ST_FREE ? -1 : c[i].end };
		if (sys_poll_until(p, n, 0, NULL) <= 0)
			continue;
		for (u32 i = 0; i < n; i++)
			if (p[i].revents & POLLHUP)
				ctx_free(&c[i]);
	}
}

/* Returns a free row of the table of contexts, or a new one; NULL if the table is full. */
static struct ctx *ctx_new(void)
{
	struct ctx *c = ctxs.rows;

	ctxs_reap();
	while (c < ctxs_end() && c->state != ST_FREE)
		c++;
	if (c < ctxs_end())
		return c;
	return table_has(&ctxs.table, ctxs.n) && service_reserve(ctxs.n + 1) ?
	       &ctxs.rows[ctxs.n++] : NULL;
}

/* Returns the number of PMDs in the active table of registers, see pmumap(). An entry of a sampling
 * buffer has at most this number of PMD values. */
static u16 count_pmds(void)
{
	const struct pmumap *map = pmumap();
	u16 n = 0;

	for (unsigned i = 0; i < PMU_REGS; i++)
		n = (u16)(n + (map->pmd[i].kind != REG_NONE));
	return n;
}

int ctx_create(u32 flags, bool v23, const struct pfm_smpl_fmt *fmt, const void *arg, size_t narg,
	       size_t *size)
{
	struct ctx *c;
	struct stat st = { 0 };
	int fds[2], r;

	if (!pmumap())
		return -ENOMEM;
	if (pmumap()->why || flags & ~(u32)(PFM_FL_SYSTEM_WIDE | PFM_FL_OVFL_NO_MSG) ||
	    narg != (fmt ? fmt->fmt_arg_size : 0))
		return -EINVAL;
	if (narg && !arg)
		return -EFAULT;
	r = service_start();
	if (r < 0)
		return r;
	c = ctx_new();
	if (!c)
		return -ENOMEM;
	*c = (struct ctx){ .flags = flags, .v23 = v23, .fmt = fmt, .memfd = -1, .end = -1,
			   .deadline = -1 };
	c->active = ctx_add_set(c, 0);
	if (!c->active)
		return -ENOMEM;
	r = (int)sys_seqpacket(fds);
	if (r == 0) {
		c->end = fds[1];
		/* buffer_open() ends with the callback fmt_init of the sampling format, and is the
		 * last step that can fail: so the callback fmt_exit need not be called after a
		 * failure */
		r = fmt ? buffer_open(c, count_pmds(), arg) : 0;
		if (r < 0)
			sys_close(fds[0]);
	}
	if (r < 0) {
		ctx_close(c);
		return r;
	}
	sys_fstat(fds[0], &st);
	c->ino = st.st_ino;
	c->fd = fds[0];
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

	/* a mapping of anonymous memory does not need the library's lock, because it never maps a
	 * sampling buffer */
	if (flags & MAP_ANONYMOUS)
		return sys_mmap_at(addr, length, prot, flags, fd, offset, &error);
	lib_enter();
	c = ctx_find(fd);
	if (c && (!c->buf || length == 0 || length > c->size || offset != 0))
		error = -EINVAL;
	else if (c && prot & (PROT_WRITE | PROT_EXEC))
		/* a program may not write to a sampling buffer, because the library relies on its
		 * content */
		error = -EPERM;
	else if (c)
		/* MAP_SHARED replaces MAP_PRIVATE: a private mapping need not show samples that are
		 * written after the call */
		flags = (flags & ~MAP_TYPE) | MAP_SHARED;
	p = error ? MAP_FAILED :
	    sys_mmap_at(addr, length, prot, flags, c ? c->memfd : fd, offset, &error);
	ctx_leave((int)error);
	return p;
}

/* --- registers -------------------------------------------------------------------------------- */

/* Translates an -errno of perf_event_open(2) to the -errno that perfmon2's calls return for it. */
static int load_error(int r)
{
	if (r == -EACCES)
		return -EPERM;
	return r == -ENOENT || r == -EOPNOTSUPP || r == -ENODEV || r == -E2BIG ? -EINVAL : r;
}

/* Stops a loaded context before its registers change; change_end() lets it continue. All perf
 * events of a changed set are opened again, because other PMDs may be in the same group, or use the
 * same ring, as the changed PMD. */
static void change_begin(struct ctx *c)
{
	if (c->state == ST_LOADED)
		ctx_halt(c);
}

/* Closes the perf events of a set and opens them again, with the present values of its registers.
 * If this fails, the set counts nothing any more, and its PMDs cannot be read. Returns 0 or
 * -errno. */
static int set_reopen(struct ctx *c, struct set *s)
{
	int r;

	set_close(s);
	r = set_open(c, s);
	for (struct pmd *p = s->pmds; r < 0 && p; p = p->next)
		p->missed = p->kind == REG_COUNTER;
	return r;
}

/* Opens the perf events of changed sets again, and lets the context continue. Returns the first
 * error: the parameter error if it is not 0, else the -errno of the first set that could not be
 * opened, else 0. */
static int change_end(struct ctx *c, int error)
{
	int r = 0;

	for (struct set *s = c->sets; s; s = s->next) {
		int e = s->changed && c->state != ST_UNLOADED ? set_reopen(c, s) : 0;

		s->changed = false;
		r = r ? r : e;
	}
	ctx_run(c);
	service_wake();
	return error ? error : load_error(r);
}

static u32 pmc_write(struct ctx *c, const pfarg_pmc_t *a)
{
	const struct pmumap *map = pmumap();
	struct set *s = ctx_set(c, a->reg_set);
	const struct pmureg *reg;

	if (a->reg_num >= PMU_REGS || map->pmc[a->reg_num].kind == REG_NONE ||
	    a->reg_flags & ~PFM_REG_RETFL_MASK)
		return PFM_REG_RETFL_EINVAL;
	if (!s)
		return PFM_REG_RETFL_NOSET;
	reg = &map->pmc[a->reg_num];
	s->pmcs[a->reg_num] = (a->reg_value & reg->mask) | (reg->dflt & ~reg->mask);
	s->changed = true;
	return 0;
}

int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int count)
{
	u32 bad = 0;
	int error;
	struct ctx *c = ctx_enter(fd, pmcs, count, &error);

	if (!c)
		return ctx_leave(error);
	change_begin(c);
	for (int i = 0; i < count && !bad; i++) {
		bad = pmc_write(c, &pmcs[i]);
		pmcs[i].reg_flags = (pmcs[i].reg_flags & ~PFM_REG_RETFL_MASK) | bad;
	}
	return ctx_leave(change_end(c, bad ? -EINVAL : 0));
}

/* Returns true if the active table of registers, see pmumap(), has all PMDs of a bit vector. */
static bool are_pmds(const u64 *bv)
{
	const struct pmumap *map = pmumap();

	for (unsigned i = 0; i < PMU_REGS; i++)
		if (bv_has(bv, i) && map->pmd[i].kind == REG_NONE)
			return false;
	return true;
}

/* Adds the PMDs of a bit vector to the set, so that they can be recorded, reset and read. Returns
 * false if the table of PMDs is full. */
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

static u32 pmd_seed(const pfarg_pmd_t *a)
{
	u64 now = (u64)sys_now(CLOCK_MONOTONIC);

	/* a random seed is 1 to 2^31 - 2, because random_next(0) is always 0 */
	return (u32)((a->reg_random_seed ? a->reg_random_seed : now ^ now >> 31) %
		     (INT32_MAX - 1)) + 1;
}

static void pmd_set(struct pmd *p, const pfarg_pmd_t *a)
{
	p->value = p->last_reset = a->reg_value;
	p->missed = false;
	p->flags = a->reg_flags & (PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM);
	p->long_reset = a->reg_long_reset;
	p->short_reset = a->reg_short_reset;
	p->random_mask = a->reg_random_mask;
	p->seed = pmd_seed(a);
	p->eventid = a->reg_smpl_eventid;
	p->switch_cnt = p->switch_left = a->reg_ovfl_switch_cnt;
	memcpy(p->reset_pmds, a->reg_reset_pmds, sizeof(p->reset_pmds));
	memcpy(p->smpl_pmds, a->reg_smpl_pmds, sizeof(p->smpl_pmds));
}

static u32 pmd_write(struct ctx *c, const pfarg_pmd_t *a)
{
	const struct pmumap *map = pmumap();
	struct set *s = ctx_set(c, a->reg_set);
	const u32 flags = a->reg_flags & ~PFM_REG_RETFL_MASK;
	u8 kind = a->reg_num < PMU_REGS ? map->pmd[a->reg_num].kind : REG_NONE;
	struct pmd *p;
	bool had_counter;

	if (kind != REG_COUNTER || flags & ~(u32)(PFM_REGFL_OVFL_NOTIFY | PFM_REGFL_RANDOM) ||
			!are_pmds(a->reg_smpl_pmds) || !are_pmds(a->reg_reset_pmds))
		return PFM_REG_RETFL_EINVAL;
	if (!s)
		return PFM_REG_RETFL_NOSET;
	p = set_add_pmd(s, a->reg_num);
	if (!p || !use_pmds(s, a->reg_smpl_pmds) || !use_pmds(s, a->reg_reset_pmds))
		return PFM_REG_RETFL_NOTAVAIL;
	had_counter = !p->missed && !s->failed;
	pmd_set(p, a);
	s->ovfl_pmds[p->num / 64] &= ~((u64)1 << p->num % 64);
	s->reset_pmds[p->num / 64] &= ~((u64)1 << p->num % 64);
	p->hold = true;
	p->rearm = p->samples;
	s->changed |= !had_counter || pmd_reopens(s, p);
	return 0;
}

int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int count)
{
	u32 bad = 0;
	int error;
	struct ctx *c = ctx_enter(fd, pmds, count, &error);

	if (!c)
		return ctx_leave(error);
	change_begin(c);
	for (int i = 0; i < count && !bad; i++) {
		bad = pmd_write(c, &pmds[i]);
		pmds[i].reg_flags = (pmds[i].reg_flags & ~PFM_REG_RETFL_MASK) | bad;
	}
	return ctx_leave(change_end(c, bad ? -EINVAL : 0));
}

/* Reads the PMD with the number a->reg_num into *a. Returns 0 or PFM_REG_RETFL_*. As in the
 * kernel's perfmon2, a counting PMD can be read only if the program has written it before, or if a
 * bit vector of another PMD contains it. */
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
		/* handles all overflows that have occurred until now, so that the PMD values
		 * include them */
		ctx_update(c);
		if (c->active->running)
			set_read(c->active);
	}
	for (int i = 0; i < count && !bad; i++) {
		bad = pmd_read(c, &pmds[i]);
		pmds[i].reg_flags = (pmds[i].reg_flags & ~PFM_REG_RETFL_MASK) | bad;
	}
	return ctx_leave(bad ? -EINVAL : 0);
}

/* --- load, start, stop ------------------------------------------------------------------------ */

/* Prepares all sets of a context for loading: checks that each set's next set exists, and clears
 * the state of the previous load. Returns 0 or -EINVAL. */
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

/* Discards the unread messages of an earlier load of the context. */
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
	/* the time left of a set's timeout is not kept, because sets may be created and deleted
	 * while the context is unloaded */
	c->left = 0;
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
		/* ctx_halt() handles pending overflows, and one of them may mask the context */
		ctx_halt(c);
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
