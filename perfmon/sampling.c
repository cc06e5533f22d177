/* sampling.c - what happens when a PMD overflows, and the thread that waits for that. SPDX-License-Identifier: MIT */
#include "perfmon_int.h"

#include <KD/KHR_perfcounter.h>
#include <pthread.h>

/* --- virtual PMDs: counters of the registry ------------------------------------------------------------------------- */

/* Sampling is the process' own: it is started once, and not where the program has started it. */
static void virtual_start(int khr)
{
	static bool started;
	KDint64 v = KD_UNKNOWN_COUNTER_VAL_KHR;

	if (!started && (kdGetCounterValuesKHR(&khr, 1, &v) != 0 || v == KD_UNKNOWN_COUNTER_VAL_KHR))
		kdStartSamplingKHR();
	started = true;
}

int virtual_open(const char *name)
{
	KDint n = kdGetNumberOfCountersKHR();

	for (KDint i = 0; i < n; i++) {
		const KDCounterInfoKHR *info = kdGetCounterInformationKHR(i);

		if (!info || strcmp(info->name, name) != 0)
			continue;
		if (kdActivateCountersKHR(&i, 1) != 0)
			return -EACCES;
		virtual_start(i);
		return i;
	}
	return -ENOENT;
}

bool virtual_value(const struct pmd *p, u64 *value)
{
	KDint64 v = KD_UNKNOWN_COUNTER_VAL_KHR;

	if (kdGetCounterValuesKHR(&p->khr, 1, &v) != 0 || v == KD_UNKNOWN_COUNTER_VAL_KHR)
		return false;
	*value = (u64)v;
	return true;
}

/* --- records of the kernel -------------------------------------------------------------------------------------------- */

/* The head of a PERF_RECORD_SAMPLE with the sample_type of sets.c; nr times struct { u64 value, id; } follow. */
struct ovfl_record {
	struct perf_event_header head;
	u64 id, ip;
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
	u64 nr, enabled, running;
};

enum { SERVICE_STACK = 128 << 10 /* formats of programs run on it */ };

/* The memory of the service thread, which starts before there is a context. */
static struct service {
	char stack[SERVICE_STACK]; /* tables begin at a page */
	u64 record[65536 / sizeof(u64)]; /* the length of a record has 16 bits */
} *service;
static TABLE(service, 1, 1, "memory of the thread");

/* The counts of the moment at which it overflowed; of those outside the group, of now. */
static void sample_look(struct set *s, const struct ovfl_record *r)
{
	const struct { u64 value, id; } *v = (const void *)(r + 1);
	size_t room = (r->head.size - sizeof(*r)) / sizeof(*v);
	struct gp_count n;

	for (struct pmd *p = s->pmds; p; p = p->next) {
		if (p->fd < 0)
			continue;
		if (!p->member && p->id != r->id && gp_read(p->fd, READ_FORMAT, &n, 1) == 1)
			p->seen = n.value;
		for (u64 i = 0; i < r->nr && i < room; i++)
			if (v[i].id == p->id)
				p->seen = v[i].value;
	}
}

static bool has_overflowed(const struct pmd *p)
{
	return p->samples && !p->hold && (i64)p->value < 0 && (i64)pmd_value(p) >= 0;
}

/* Whose it is; NULL: none of ours. Of software events that overflow at once, Linux since 6.3 gives all the first one's id
 * (kernel/events/core.c: do_perf_sw_event() has one perf_sample_data for them): but the counts tell. */
static struct pmd *sample_pmd(struct set *s, u64 id)
{
	struct pmd *named = NULL, *other = NULL;

	for (struct pmd *p = s->pmds; p; p = p->next) {
		if (p->fd >= 0 && p->id == id)
			named = p;
		else if (has_overflowed(p))
			other = p;
	}
	return named && other && !has_overflowed(named) ? other : named;
}

/* --- an overflow ---------------------------------------------------------------------------------------------------------- */

/* false: the queue of the socket is full, or its other end closed. */
static bool msg_send(struct ctx *c, const struct msg *m)
{
	u64 b[MSG_SIZE / sizeof(u64)];
	size_t n = c->v23 ? msg_v23(m, b) : msg_v22(m, b);

	return sys_send(c->end, b, n) == (long)n;
}

/* It starts anew: from where it overflowed, or, where the kernel has another period than that, from when it is told. For that
 * there is none any more, it need not be off. */
static void pmd_restart(struct pmd *p, bool stopped)
{
	p->at -= p->value; /* the count at which it overflowed */
	p->value = pmd_reset(p, false);
	if (!stopped && pmd_period(p->value) == PERIOD_MAX && gp_period(p->fd, PERIOD_MAX) == 0)
		p->armed = PERIOD_MAX;
	p->hold = p->rearm = stopped || pmd_period(p->value) != p->armed;
	/* A whole period late: periods went on where records were lost; else, where the interrupt came that late, the kernel
	 * begins the next one there (kernel/events, each PMU's event_set_period()). */
	if (!p->hold && p->seen - p->at >= p->armed)
		p->at = p->lost ? p->seen - (p->seen - p->at) % p->armed : p->seen;
	p->lost = false;
}

/* Those that an overflow of p resets besides. */
static void others_restart(struct set *s, const struct pmd *p)
{
	for (struct pmd *q = s->pmds; q; q = q->next)
		if (q != p && bv_has(p->reset_pmds, q->num)) {
			q->value = pmd_reset(q, false);
			q->at = q->seen;
			q->rearm = q->samples;
		}
}

static void pend_reset(struct set *s, const struct pmd *p)
{
	bv_add(s->reset_pmds, p->num);
	for (size_t i = 0; i < PFM_PMD_BV; i++)
		s->reset_pmds[i] |= p->reset_pmds[i];
}

/* Nothing counts from the moment of this overflow on: values stay as they were then, whenever the kernel is told. What
 * overflowed at the same moment did so, too, and has no overflow of its own. */
static void ctx_mask(struct ctx *c, struct set *s)
{
	for (struct pmd *p = s->pmds; p; p = p->next) {
		if (has_overflowed(p)) {
			bv_add(s->ovfl_pmds, p->num);
			pend_reset(s, p);
		}
		p->value = pmd_value(p);
		p->hold = true;
		p->rearm = p->samples;
	}
	c->state = ST_MASKED;
}

/* What the sampling format makes of it. */
static u32 fmt_handle(const struct ctx *c, const struct set *s, const struct pmd *p, const struct ovfl_record *r)
{
	static pfm_ovfl_arg_t a;

	a = (pfm_ovfl_arg_t){ .ovfl_pmd = p->num, .active_set = s->id, .pmd_last_reset = p->last_reset,
		.pmd_eventid = p->eventid, .cpu = (u16)r->cpu, .pid = r->tid, .tgid = r->pid };
	for (const struct pmd *q = s->pmds; q; q = q->next) {
		u64 v = pmd_value(q);

		if (!bv_has(p->smpl_pmds, q->num))
			continue;
		if (q->kind == REG_VIRTUAL)
			virtual_value(q, &v);
		a.smpl_pmds_values[a.num_smpl_pmds++] = v;
	}
	c->fmt->fmt_handler(c->buf, &a, r->ip, r->time);
	return a.ovfl_ctrl;
}

/* How many overflows a record stands for: those before it whose own were lost, or came too late, are in its count. */
static u64 overflows_of(const struct pmd *p, bool stopped)
{
	return stopped || !p->armed ? 1 : 1 + (p->seen - (p->at - p->value)) / p->armed;
}

/* true: the last one was among them. It is better that the kernel stops the set there than that we come late. */
static bool switch_due(const struct set *s, struct pmd *p, u64 overflows)
{
	if (!(s->flags & PFM_SETFL_OVFL_SWITCH) || !p->switch_left)
		return false;
	p->switch_left -= overflows < p->switch_left ? overflows : p->switch_left;
	if (p->switch_left == 1 && s->running && p->on && !p->limit) {
		p->stop = p->at - p->value + overflows * p->armed;
		p->limit = gp_refresh(p->fd, 1) == 0;
	}
	return p->switch_left == 0;
}

static void overflow(struct ctx *c, struct set *s, const struct ovfl_record *r)
{
	struct pmd *p;
	bool notifies, due, stopped;
	u32 ctrl = PFM_OVFL_CTRL_RESET;

	sample_look(s, r);
	p = sample_pmd(s, r->id);
	if (!p || p->rearm || p->armed == PERIOD_MAX) /* behind its limit, or of a period that is no longer its own */
		return;
	stopped = p->limit;
	p->on = p->on && !stopped;
	p->limit = false;
	memset(s->ovfl_pmds, 0, sizeof(s->ovfl_pmds));
	bv_add(s->ovfl_pmds, p->num);
	notifies = p->flags & PFM_REGFL_OVFL_NOTIFY;
	due = switch_due(s, p, overflows_of(p, stopped));
	if (c->fmt)
		ctrl = fmt_handle(c, s, p, r);
	else if (notifies)
		ctrl = PFM_OVFL_CTRL_NOTIFY | PFM_OVFL_CTRL_MASK;
	if (ctrl & PFM_OVFL_CTRL_MASK) {
		pend_reset(s, p);
		ctx_mask(c, s);
		s->switches = s->switches || due;
	} else if (ctrl & PFM_OVFL_CTRL_RESET || due) {
		others_restart(s, p);
		pmd_restart(p, stopped);
		c->switches = c->switches || due;
	} else {
		p->rearm = true; /* it goes on, past zero */
	}
	if (notifies && ctrl & PFM_OVFL_CTRL_NOTIFY && !(c->flags & PFM_FL_OVFL_NO_MSG)) {
		struct msg m = { PFM_MSG_OVFL, r->pid, r->tid, s->id, (u16)r->cpu, r->ip, { 0 } };

		memcpy(m.pmds, s->ovfl_pmds, sizeof(m.pmds));
		if (!msg_send(c, &m) && c->state == ST_LOADED) {
			pend_reset(s, p); /* as perfmon does: nobody would come to restart it */
			ctx_mask(c, s);
		}
	}
}

/* What is in the ring; not what comes meanwhile, which may be more, for ever. */
void set_drain(struct ctx *c, struct set *s)
{
	size_t done = 0;
	long n;

	while (s->ring.page && done < s->ring.size && (n = gp_next(&s->ring, service->record, sizeof(service->record))) != 0) {
		const struct ovfl_record *r = (const void *)service->record;

		if (n >= (long)sizeof(*r) && r->head.type == PERF_RECORD_SAMPLE && r->head.size <= n && c->state == ST_LOADED)
			overflow(c, s, r);
		else if (n > 0 && r->head.type == PERF_RECORD_LOST)
			for (struct pmd *p = s->pmds; p; p = p->next)
				p->lost = true;
		else if (n < 0) /* -EBADMSG: it is empty now */
			return;
		done += (size_t)n;
	}
}

static bool wants_rearm(const struct set *s)
{
	for (const struct pmd *p = s->pmds; p; p = p->next)
		if (p->rearm)
			return true;
	return false;
}

void ctx_update(struct ctx *c)
{
	struct set *s = c->active;

	if (!s->running)
		return;
	set_drain(c, s);
	if (c->state == ST_LOADED && !c->switches && !wants_rearm(s))
		return;
	if (c->state == ST_MASKED)
		ctx_halt(c);
	else
		set_halt(c, s); /* more of them may come, and mask */
	if (c->state == ST_MASKED)
		ctx_halt(c);
	ctx_run(c);
}

/* The long reset of what has waited for it. */
static void pending_restart(struct set *s)
{
	for (struct pmd *p = s->pmds; p; p = p->next)
		if (bv_has(s->reset_pmds, p->num)) {
			p->value = pmd_reset(p, true);
			p->rearm = p->samples;
		}
	memset(s->reset_pmds, 0, sizeof(s->reset_pmds));
}

int ctx_restart(struct ctx *c)
{
	struct set *s = c->active;
	u32 ctrl = c->buf ? 0 : PFM_OVFL_CTRL_RESET;
	int r = 0;

	if (c->state != ST_MASKED && (c->state != ST_LOADED || !c->buf || !c->fmt->fmt_restart))
		return -EBUSY;
	if (c->buf && c->fmt->fmt_restart)
		r = fmt_error(c->fmt->fmt_restart(c->state == ST_LOADED, &ctrl, c->buf));
	if (r < 0 || c->state == ST_LOADED)
		return r;
	if (s->switches || ctrl & PFM_OVFL_CTRL_RESET)
		pending_restart(s);
	if (ctrl & PFM_OVFL_CTRL_MASK)
		return 0;
	c->state = ST_LOADED;
	c->switches = s->switches;
	s->switches = false;
	ctx_run(c);
	return 0;
}

/* --- the thread -------------------------------------------------------------------------------------------------------------- */

enum { LOOK_AGAIN = 200000000 /* ns: whether a thread has ended whose events are in the error state and cannot be waited for */ };

static bool serving;
static int wake_fd = -1;

/* Whether it is still so: what was waited for may have been closed, and its number be another's. */
static bool has_event(int fd, int event)
{
	struct pollfd p = { .fd = fd };

	return sys_poll_until(&p, 1, 0, NULL) > 0 && p.revents & event;
}

static struct pollfd fds[1 + 2 * MAX_CTXS];

static void wake_by(i64 *until, i64 t)
{
	if (*until < 0 || t < *until)
		*until = t;
}

/* What there is to wait for: two descriptors a context; and until when. */
static size_t service_gather(i64 *until)
{
	size_t n = 0;

	*until = -1;
	fds[n++] = (struct pollfd){ .fd = wake_fd, .events = POLLIN };
	for (struct ctx *c = ctxs; c < ctxs + MAX_CTXS; c++) {
		c->at_end = c->at_ring = 0;
		if (c->state == ST_FREE)
			continue;
		c->at_end = (u16)n;
		fds[n++] = (struct pollfd){ .fd = c->end };
		if (c->state == ST_UNLOADED)
			continue;
		if (c->active->ring.page && !c->active->failed) {
			c->at_ring = (u16)n;
			fds[n++] = (struct pollfd){ .fd = c->active->leader->fd, .events = POLLIN };
		}
		if (c->active->failed && c->other)
			wake_by(until, sys_now(CLOCK_MONOTONIC) + LOOK_AGAIN);
		if (c->deadline >= 0)
			wake_by(until, c->deadline);
	}
	return n;
}

static void ctx_timeout(struct ctx *c)
{
	if (c->deadline < 0 || c->deadline > sys_now(CLOCK_MONOTONIC))
		return;
	set_halt(c, c->active);
	if (c->state == ST_MASKED)
		ctx_halt(c);
	else
		ctx_switch(c, set_next(c, c->active));
	ctx_run(c);
}

/* The thread that was monitored has ended. */
static void ctx_end(struct ctx *c)
{
	struct msg m = { .type = PFM_MSG_END };

	ctx_unload(c);
	msg_send(c, &m);
}

static void ctx_serve(struct ctx *c, int end, int ring)
{
	if (c->state == ST_FREE)
		return;
	if (end & POLLHUP && has_event(c->end, POLLHUP)) {
		ctx_free(c);
		return;
	}
	if (c->state == ST_UNLOADED)
		return;
	/* Whatever poll(2) said: it says so once (perf_poll()), and may have said it of a context that had this descriptor. */
	ctx_update(c);
	ctx_timeout(c);
	if (ring & POLLERR && c->active->ring.page && has_event(c->active->leader->fd, POLLERR))
		c->active->failed = true; /* a pinned group without a counter says so at each poll */
	if ((ring & POLLHUP || c->active->failed) && c->active->ring.page && has_event(c->active->leader->fd, POLLHUP))
		ctx_end(c);
}

static void *serve(void *arg)
{
	u64 wakes;
	i64 until;

	(void)arg;
	for (;;) {
		size_t n;

		sys_lock(&lock);
		n = service_gather(&until);
		sys_unlock(&lock);
		sys_poll_until(fds, n, until, NULL);
		sys_lock(&lock);
		if (fds[0].revents)
			sys_read(wake_fd, &wakes, sizeof(wakes));
		for (struct ctx *c = ctxs; c < ctxs + MAX_CTXS; c++)
			ctx_serve(c, c->at_end ? fds[c->at_end].revents : 0, c->at_ring ? fds[c->at_ring].revents : 0);
		sys_unlock(&lock);
	}
	return NULL;
}

void service_wake(void)
{
	u64 one = 1;

	if (serving)
		sys_write(wake_fd, &one, sizeof(one));
}

int service_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (serving)
		return 0;
	if (!table_has(&service_table, 0))
		return -ENOMEM;
	wake_fd = (int)sys_eventfd();
	if (wake_fd < 0)
		return wake_fd;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, service->stack, sizeof(service->stack));
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* All signals are blocked here, and so in it: see lib_enter(). */
	r = pthread_create(&thread, &attr, serve, NULL);
	pthread_attr_destroy(&attr);
	if (r == EINVAL) { /* glibc has thread-local memory on the stack, which is the program's to size */
		r = pthread_create(&thread, NULL, serve, NULL);
		if (r == 0)
			pthread_detach(thread);
	}
	serving = r == 0;
	if (!serving)
		sys_close(wake_fd);
	return -r;
}

void service_forget(void)
{
	if (serving)
		sys_close(wake_fd);
	serving = false;
}
