/* sets.c - event sets of perfmon2: their registers, their perf events in the kernel, and the active
 * set.
 * SPDX-License-Identifier: MIT */
#include "perfmon_int.h"

static struct {
	struct set *sets;
	struct pmd *pmds;
	/* all rows of a table before this one are in use: a search for a free row begins here */
	u32 sets_used, pmds_used;
} pools;
static struct {
	struct table sets, pmds;
} pool_tables = {
	.sets = TABLE_ROW(pools.sets, MAX_EVTSETS, 4, "event sets"),
	.pmds = TABLE_ROW(pools.pmds, MAX_PMDS_USED, 16, "PMDs in use"),
};

/* --- registers -------------------------------------------------------------------------------- */

u32 random_next(u32 seed)
{
	u64 x = (u64)seed * 16807;

	x = (x & INT32_MAX) + (x >> 31);
	return (u32)(x > INT32_MAX ? x - INT32_MAX : x);
}

u64 pmd_period(u64 value)
{
	return value > (u64)1 << 63 ? -value : PERIOD_MAX;
}

u64 pmd_reset(struct pmd *p, bool is_long)
{
	u64 v = is_long ? p->long_reset : p->short_reset, r = p->seed;

	if (p->flags & PFM_REGFL_RANDOM) {
		p->seed = random_next(p->seed);
		/* A random number has 31 bits. If the mask needs more, r is made 62 bits wide with
		 * a second random number, which is shifted by 31 bits. */
		if (p->random_mask >> 31)
			r |= (u64)(p->seed = random_next(p->seed)) << 31;
		v -= r & p->random_mask;
	}
	p->last_reset = v;
	return v;
}

u64 pmd_value(const struct pmd *p)
{
	return p->hold ? p->value : p->value + (p->seen - p->at);
}

struct pmd *set_pmd(const struct set *s, unsigned num)
{
	struct pmd *p = s->pmds;

	while (p && p->num != num)
		p = p->next;
	return p;
}

struct pmd *set_add_pmd(struct set *s, u16 num)
{
	struct pmd **at = &s->pmds, *there, *p;
	u32 n = pools.pmds_used;

	while ((there = *at) && there->num < num)
		at = &there->next;
	if (there && there->num == num)
		return there;
	while (n < pool_tables.pmds.ready && pools.pmds[n].used)
		n++;
	pools.pmds_used = n;
	if (!table_has(&pool_tables.pmds, n))
		return NULL;
	p = &pools.pmds[n];
	*p = (struct pmd){ .next = there, .num = num, .kind = pmumap()->pmd[num].kind,
		.used = true, .fd = -1, .khr = -1, .hold = true, .seed = 1 };
	*at = p;
	return p;
}

/* --- sets by id ------------------------------------------------------------------------------- */

struct set *ctx_set(const struct ctx *c, unsigned id)
{
	struct set *s = c->sets;

	while (s && s->id != id)
		s = s->next;
	return s;
}

struct set *ctx_add_set(struct ctx *c, u16 id)
{
	const struct pmumap *map = pmumap();
	struct set **at = &c->sets, *there, *s;
	u32 n = pools.sets_used;

	while ((there = *at) && there->id < id)
		at = &there->next;
	if (there && there->id == id)
		return there;
	while (n < pool_tables.sets.ready && pools.sets[n].used)
		n++;
	pools.sets_used = n;
	if (!table_has(&pool_tables.sets, n))
		return NULL;
	s = &pools.sets[n];
	*s = (struct set){ .next = there, .used = true, .id = id };
	for (unsigned i = 0; i < PMU_REGS; i++)
		s->pmcs[i] = map->pmc[i].dflt;
	*at = s;
	return s;
}

static u32 least(u32 a, u32 b)
{
	return a < b ? a : b;
}

void ctx_del_set(struct ctx *c, struct set *s)
{
	struct set **at = &c->sets;

	set_close(s);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	for (struct pmd *p = s->pmds; p; p = p->next) {
		p->used = false;
		pools.pmds_used = least(pools.pmds_used, (u32)(p - pools.pmds));
	}
	s->used = false;
	pools.sets_used = least(pools.sets_used, (u32)(s - pools.sets));
}

struct set *set_next(const struct ctx *c, const struct set *s)
{
	struct set *n = s->flags & PFM_SETFL_EXPL_NEXT ? ctx_set(c, s->id_next) : s->next;

	return n ? n : c->sets;
}

int ctx_create_set(struct ctx *c, struct setdesc *d)
{
	const u32 both = PFM_SETFL_OVFL_SWITCH | PFM_SETFL_TIME_SWITCH;
	/* perfmon2 measures timeouts in timer ticks. This library rounds them up to ticks, too,
	 * because its service thread does not wake up with greater precision. */
	u64 tick = (u64)sys_clock_resolution(CLOCK_MONOTONIC_COARSE);
	struct set *s;

	if (c->state != ST_UNLOADED)
		return -EBUSY;
	if (d->flags & ~(both | PFM_SETFL_EXPL_NEXT | PFM_SETFL_EXCL_IDLE) ||
			(d->flags & both) == both ||
			(d->flags & PFM_SETFL_EXCL_IDLE && !(c->flags & PFM_FL_SYSTEM_WIDE)))
		return -EINVAL;
	if (d->flags & PFM_SETFL_TIME_SWITCH && (d->timeout == 0 || d->timeout > INT64_MAX / 4))
		return -EINVAL;
	s = ctx_add_set(c, d->id);
	if (!s)
		return -ENOMEM;
	if (d->flags & PFM_SETFL_TIME_SWITCH)
		d->timeout = (d->timeout + tick - 1) / tick * tick;
	s->id_next = d->id_next;
	s->flags = d->flags;
	s->timeout = d->timeout;
	return 0;
}

int ctx_delete_set(struct ctx *c, struct setdesc *d)
{
	struct set *s = ctx_set(c, d->id);

	if (c->state != ST_UNLOADED)
		return -EBUSY;
	d->flags &= ~PFM_REG_RETFL_MASK;
	if (!s || s->id == 0) {
		d->flags |= s ? PFM_REG_RETFL_EINVAL : PFM_REG_RETFL_NOSET;
		return -EINVAL;
	}
	if (s == c->active)
		c->active = c->sets;
	ctx_del_set(c, s);
	return 0;
}

int ctx_info_set(struct ctx *c, struct setinfo *i)
{
	const struct pmumap *map = pmumap();
	struct set *s = ctx_set(c, i->d.id);
	i64 now = sys_now(CLOCK_MONOTONIC);

	if (!s) {
		i->d.flags |= PFM_REG_RETFL_NOSET;
		return -EINVAL;
	}
	i->d = (struct setdesc){ s->id, s->id_next, s->flags, s->timeout };
	/* if the set is the active one, its reported timeout is the remaining time in ns */
	if (s == c->active && c->deadline >= 0)
		i->d.timeout = c->deadline > now ? (u64)(c->deadline - now) : 0;
	else if (s == c->active && c->left)
		i->d.timeout = (u64)c->left;
	memcpy(i->ovfl_pmds, s->ovfl_pmds, sizeof(i->ovfl_pmds));
	i->runs = s->runs;
	i->duration = s->duration + (s->running ? (u64)(now - s->since) : 0);
	for (unsigned n = 0; n < PMU_REGS; n++) {
		if (map->pmc[n].kind != REG_NONE)
			bv_add(i->pmcs, n);
		if (map->pmd[n].kind != REG_NONE)
			bv_add(i->pmds, n);
	}
	return 0;
}

/* --- the perf events of an event set ---------------------------------------------------------- */

static bool has_period(const struct pmd *p)
{
	return p->kind == REG_COUNTER &&
	       (pmd_period(p->value) != PERIOD_MAX || pmd_period(p->short_reset) != PERIOD_MAX ||
		pmd_period(p->long_reset) != PERIOD_MAX);
}

/* Returns the PMD that is best suited as group leader of the set: all members of a group stop when
 * the kernel disables the leader, so the leader should be a PMD that the kernel stops at its
 * overflow (see needs_limit()). */
static struct pmd *leader_find(const struct set *s)
{
	struct pmd *best = NULL;

	for (struct pmd *p = s->pmds; p; p = p->next) {
		if (p->kind != REG_COUNTER)
			continue;
		if (!best || (has_period(p) && !has_period(best)) ||
				(has_period(p) && p->flags & PFM_REGFL_OVFL_NOTIFY &&
				 !(best->flags & PFM_REGFL_OVFL_NOTIFY)))
			best = p;
	}
	return best;
}

bool pmd_reopens(const struct set *s, const struct pmd *p)
{
	return p->fd < 0 || p->limit || has_period(p) != p->samples || leader_find(s) != s->leader;
}

static struct perf_event_attr *gp_attr(struct gp_event *e)
{
	return (struct perf_event_attr *)(void *)e->attr;
}

static void event_prepare(struct gp_event *e, struct pmd *p, bool leads, bool skips_idle)
{
	struct perf_event_attr *a = gp_attr(e);

	a->disabled = 1;
	a->inherit = 0;
	/* the kernel keeps a pinned group in hardware counters all the time; if none is free, a
	 * read of the group returns 0 bytes */
	a->pinned = leads;
	a->exclude_idle = skips_idle;
	a->read_format = READ_FORMAT;
	a->sample_period = 0;
	a->sample_type = 0;
	a->freq = 0;
	p->armed = 0;
	if (!p->samples)
		return;
	p->armed = a->sample_period = pmd_period(p->value);
	a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_READ;
	a->wakeup_events = 1;
	a->watermark = 0;
}

/* Sets CLOCK_MONOTONIC as the clock of the times in an event's records. Perf events that write to
 * the same ring must use the same clock. */
static void event_clock(struct gp_event *e)
{
	struct perf_event_attr *a = gp_attr(e);

	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
}

/* Opens the perf event of a PMD as a member of the set's group or, if the kernel refuses this with
 * EINVAL, outside of the group. Returns 0 or -errno. If the PMC disables the PMD, opens nothing and
 * returns 0. */
static int pmd_open(struct ctx *c, struct set *s, struct pmd *p)
{
	struct gp_event e = { 0 };
	int r = pmumap_event(pmumap(), p->num, s->pmcs, &e);

	if (r <= 0)
		return r;
	p->samples = has_period(p);
	event_prepare(&e, p, s->leader == NULL, s->flags & PFM_SETFL_EXCL_IDLE);
	event_clock(&e);
	r = gp_open(&e, c->pid, c->cpu, s->leader ? s->leader->fd : -1);
	p->member = r >= 0;
	if (r == -EINVAL && s->leader)
		r = gp_open(&e, c->pid, c->cpu, -1);
	if (r < 0)
		return r;
	p->fd = r;
	if (!s->leader)
		s->leader = p;
	return gp_id(p->fd, &p->id);
}

/* Maps the ring buffer of the set's leader, with up to RING_PAGES pages: as many as the kernel
 * allows the user. Even if no PMD has a sampling period (samples is false), a ring is mapped,
 * because then poll(2) reports the end of the monitored thread. Returns 0 or -errno. */
static int ring_open(struct set *s, bool samples)
{
	int r = -EPERM;

	for (u32 pages = samples ? RING_PAGES : 1; pages && (r == -EPERM || r == -ENOMEM);
	     pages /= 2)
		r = gp_map(&s->ring, s->leader->fd, pages);
	for (struct pmd *p = s->pmds; r == 0 && p; p = p->next)
		if (p->fd >= 0 && p->samples && p != s->leader)
			r = gp_output(p->fd, s->leader->fd);
	return r;
}

int set_open(struct ctx *c, struct set *s)
{
	struct pmd *first = leader_find(s);
	bool samples = false;
	int r = first ? pmd_open(c, s, first) : 0;

	for (struct pmd *p = s->pmds; r == 0 && p; p = p->next) {
		if (p != first && p->kind == REG_COUNTER)
			r = pmd_open(c, s, p);
		samples = samples || (p->fd >= 0 && p->samples);
	}
	if (r == 0 && s->leader && (samples || c->other))
		r = ring_open(s, samples);
	if (r < 0)
		set_close(s);
	return r;
}

void set_close(struct set *s)
{
	if (s->ring.page)
		gp_unmap(&s->ring);
	s->ring = (struct gp_ring){ .fd = -1 };
	for (struct pmd *p = s->pmds; p; p = p->next) {
		if (p->fd >= 0)
			sys_close(p->fd);
		p->fd = -1;
		p->member = p->samples = p->on = p->limit = p->rearm = p->lost = false;
		p->hold = true;
	}
	s->leader = NULL;
	s->running = s->failed = false;
}

void set_read(struct set *s)
{
	struct gp_count n[GP_MAX_GROUP], own;
	int r = s->leader ? gp_read(s->leader->fd, READ_FORMAT, n, GP_MAX_GROUP) : 0;

	for (struct pmd *p = s->pmds; p; p = p->next) {
		const struct gp_count *now = NULL;

		if (p->fd < 0)
			continue;
		for (int i = 0; p->member && i < r; i++)
			if (p->id == n[i].id)
				now = &n[i];
		if (!p->member && gp_read(p->fd, READ_FORMAT, &own, 1) == 1)
			now = &own;
		if (now)
			p->seen = now->value;
		p->missed = p->missed || !now;
	}
}

/* Returns true if the kernel must disable the PMD's event at its next overflow, because the library
 * must do more at this overflow than restart the same period. */
static bool needs_limit(const struct set *s, const struct pmd *p, bool has_fmt)
{
	return p->samples &&
	       (p->flags & PFM_REGFL_RANDOM || (p->flags & PFM_REGFL_OVFL_NOTIFY && !has_fmt) ||
		(s->flags & PFM_SETFL_OVFL_SWITCH && p->switch_left == 1) ||
		(pmd_period(p->short_reset) != p->armed &&
		 pmd_period(p->short_reset) != PERIOD_MAX));
}

static void pmd_run(const struct set *s, struct pmd *p, bool has_fmt)
{
	bool limit = needs_limit(s, p, has_fmt) && !p->limit;

	if (limit) {
		p->stop = p->at + pmd_period(p->value);
		gp_refresh(p->fd, 1);
	} else if (!p->on || p == s->leader) {
		gp_enable(p->fd);
	}
	p->limit = p->limit || limit;
	p->on = true;
}

void set_run(struct set *s, bool has_fmt)
{
	if (s->leader)
		set_read(s);
	for (struct pmd *p = s->pmds; p; p = p->next) {
		p->at = p->seen;
		p->hold = false;
		if (p->fd < 0)
			continue;
		/* the new period is set while the event is disabled, because an enabled software
		 * event would overflow at once (kernel/events/core.c) */
		if (p->rearm && p->samples && gp_period(p->fd, pmd_period(p->value)) == 0)
			p->armed = pmd_period(p->value);
		p->rearm = false;
		if (p != s->leader)
			pmd_run(s, p, has_fmt);
	}
	s->since = sys_now(CLOCK_MONOTONIC);
	s->running = true;
	s->failed = false;
	if (s->leader)
		pmd_run(s, s->leader, has_fmt);
}

void set_halt(struct ctx *c, struct set *s)
{
	if (!s->running)
		return;
	for (struct pmd *p = s->pmds; p; p = p->next)
		if (p->fd >= 0 && (p == s->leader || !p->member)) {
			gp_disable(p->fd);
			p->on = false;
		}
	s->running = false;
	s->duration += (u64)(sys_now(CLOCK_MONOTONIC) - s->since);
	set_drain(c, s);
	if (s->leader)
		set_read(s);
	for (struct pmd *p = s->pmds; p; p = p->next) {
		/* if the kernel's count has reached p->stop, the kernel has disabled the event,
		 * even if no record has reported this overflow yet */
		if (p->limit && (i64)(p->seen - p->stop) >= 0)
			p->limit = p->on = false;
		p->value = pmd_value(p);
		p->hold = true;
	}
}

/* --- the active set --------------------------------------------------------------------------- */

/* Sets the deadline at which the timeout of the active set ends. It is the previous deadline plus
 * the timeout, so that delays of the service thread do not add up; if that time is past already, it
 * is the present time plus the timeout. */
static void deadline_next(struct ctx *c)
{
	i64 now = sys_now(CLOCK_MONOTONIC), timeout = (i64)c->active->timeout;
	bool late = c->deadline < 0 || c->deadline > now || now - c->deadline > timeout;

	if (c->active->flags & PFM_SETFL_TIME_SWITCH)
		c->deadline = (late ? now : c->deadline) + timeout;
	else
		c->deadline = -1;
}

void ctx_run(struct ctx *c)
{
	if (!c->started || c->state != ST_LOADED || c->active->running)
		return;
	if (c->active->flags & PFM_SETFL_TIME_SWITCH && c->deadline < 0) {
		c->deadline = sys_now(CLOCK_MONOTONIC) +
			      (c->left ? c->left : (i64)c->active->timeout);
		service_wake();
	}
	c->left = 0;
	if (c->switches)
		ctx_switch(c, set_next(c, c->active));
	set_run(c->active, c->fmt != NULL);
}

/* Stores in c->left the time in ns that is left of the active set's timeout, until the set counts
 * again. */
void ctx_halt(struct ctx *c)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	set_halt(c, c->active);
	if (c->deadline >= 0)
		c->left = c->deadline > now ? c->deadline - now : 1;
	c->deadline = -1;
}

void ctx_switch(struct ctx *c, struct set *to)
{
	c->switches = false;
	if (to != c->active) {
		set_halt(c, c->active);
		c->active = to;
		to->runs++;
	}
	for (struct pmd *p = to->pmds; p; p = p->next)
		p->switch_left = p->switch_cnt;
	c->left = 0;
	deadline_next(c);
	service_wake();
}
