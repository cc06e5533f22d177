/* overflows.c - overflows of PMDs, the service thread that waits for them, and virtual PMDs.
 * SPDX-License-Identifier: MIT */
#include "perfmon_int.h"

#include <KD/KHR_perfcounter.h>
#include <pthread.h>

/* --- virtual PMDs: registers with the values of KHR_perfcounter counters ---------------------- */

/* Starts the sampling of all KHR_perfcounter counters of the process with kdStartSamplingKHR(), at
 * the first call only. If the counter with index khr has a value already, the program has started
 * the sampling itself: a second start would set the counters of the program to 0. */
static void sampling_start(int khr)
{
	static bool started;
	KDint64 v = KD_UNKNOWN_COUNTER_VAL_KHR;

	if (!started &&
	    (kdGetCounterValuesKHR(&khr, 1, &v) != 0 || v == KD_UNKNOWN_COUNTER_VAL_KHR))
		kdStartSamplingKHR();
	started = true;
}

/* Returns the description of KHR_perfcounter counter i; NULL if there is no such counter. A search
 * for new counters (of a device that was added) takes many system calls, so it is made only if i is
 * past the end of the list of counters. */
static const KDCounterInfoKHR *khr_info(KDint i)
{
	const KDCounterInfoKHR *info = kdGetCounterInformationKHR(i);

	return info || i >= kdGetNumberOfCountersKHR() ? info : kdGetCounterInformationKHR(i);
}

int virtual_open(const char *name)
{
	const KDCounterInfoKHR *info;

	for (KDint i = 0; (info = khr_info(i)); i++) {
		if (strcmp(info->name, name) != 0)
			continue;
		if (kdActivateCountersKHR(&i, 1) != 0)
			return -EACCES;
		sampling_start(i);
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

/* --- records of the kernel -------------------------------------------------------------------- */

/* The start of a PERF_RECORD_SAMPLE, with the sample_type that sets.c sets for the perf events of a
 * PMD. After the start, the record has `nr` elements of struct { u64 value, id; }. */
struct ovfl_record {
	struct perf_event_header head;
	u64 id, ip;
	u32 pid, tid;
	u64 time;
	u32 cpu, reserved;
	u64 nr, enabled, running;
};

/* size in bytes of the service thread's stack; the callbacks of a sampling format that the program
 * has registered run on this stack, too */
enum { SERVICE_STACK = 128 << 10 };

/* Stack and record buffer of the service thread. They are allocated before the thread starts, and
 * the thread starts before the first context is created. */
struct service {
	/* stack of the service thread; it begins at a page boundary, because the memory of a struct
	 * table begins at one and the stack is the first member of its only row */
	char stack[SERVICE_STACK];
	/* buffer for a perf record, whose size field has 16 bits */
	u64 record[65536 / sizeof(u64)];
};
static TABLE(struct service, service, 1, 1, "memory of the thread");

/* Stores the kernel's count of each PMD of the set in the member `seen` of the PMD. The record r
 * has the counts of the group's PMDs at the moment of the overflow; for a PMD outside the group,
 * the present count is read from the kernel. */
static void record_counts(struct set *s, const struct ovfl_record *r)
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

/* Returns the PMD whose overflow a record with this event id reports; NULL if no PMD of the set has
 * the id. Since Linux 6.3, if several software events overflow at the same time, all their records
 * have the id of the first event (kernel/events/core.c: do_perf_sw_event() uses one
 * perf_sample_data for all). In that case the counts show which PMD overflowed. */
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

/* --- handling an overflow --------------------------------------------------------------------- */

/* Sends a message to the program through the context's socket pair. Returns false if the socket's
 * queue is full, or if the program has closed its end of the pair. */
static bool msg_send(struct ctx *c, const struct msg *m)
{
	u64 b[MSG_SIZE / sizeof(u64)];
	size_t n = c->v23 ? msg_v23(m, b) : msg_v22(m, b);

	return sys_send(c->end, b, n) == (long)n;
}

/* Removes the message that was just sent to the program from the receive queue of the program's
 * socket. This is for contexts with PFM_FL_OVFL_NO_MSG: the program gets SIGIO, but no message. If
 * the program has closed c->fd, the descriptor that it used in its last call, the message stays in
 * the queue. The message is read from a duplicate of c->fd, because a duplicate refers to the same
 * socket even if the program closes c->fd meanwhile. */
static void msg_take_back(const struct ctx *c)
{
	u64 b[MSG_SIZE / sizeof(u64)];
	int fd = (int)sys_fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
	struct stat st;

	if (fd < 0)
		return;
	if (sys_fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == c->ino)
		sys_recv(fd, b, sizeof(b));
	sys_close(fd);
}

/* Restarts a PMD after an overflow: from the moment of the overflow, the PMD counts on from its
 * short reset value. If the kernel has stopped the PMD's event (stopped is true), or uses another
 * period than the new one, the PMD keeps this value until set_run() has started the event with the
 * new period. The period PERIOD_MAX means that no further overflow is wanted; it can be set without
 * disabling the event. */
static void pmd_restart(struct pmd *p, bool stopped)
{
	p->at -= p->value; /* p->at becomes the kernel's count at the overflow */
	p->value = pmd_reset(p, false);
	if (!stopped && pmd_period(p->value) == PERIOD_MAX && gp_period(p->fd, PERIOD_MAX) == 0)
		p->armed = PERIOD_MAX;
	p->hold = p->rearm = stopped || pmd_period(p->value) != p->armed;
	/* Here p->at is the kernel's count at the overflow. It must be corrected if the present
	 * count, p->seen, is at least one period higher. If records were lost, the kernel has begun
	 * several periods, one after another. Otherwise the interrupt came late, and the kernel
	 * begins the next period at the count of the interrupt (kernel/events, event_set_period()
	 * of each PMU). */
	if (!p->hold && p->seen - p->at >= p->armed)
		p->at = p->lost ? p->seen - (p->seen - p->at) % p->armed : p->seen;
	p->lost = false;
}

/* Resets the PMDs whose bits are set in p->reset_pmds, after the PMD p has overflowed. */
static void linked_reset(struct set *s, const struct pmd *p)
{
	for (struct pmd *q = s->pmds; q; q = q->next)
		if (q != p && bv_has(p->reset_pmds, q->num)) {
			q->value = pmd_reset(q, false);
			q->at = q->seen;
			q->rearm = q->samples;
		}
}

/* Records in the set that pfm_restart() must reset the PMD p and the PMDs in p->reset_pmds. */
static void reset_defer(struct set *s, const struct pmd *p)
{
	bv_add(s->reset_pmds, p->num);
	for (size_t i = 0; i < PFM_PMD_BV; i++)
		s->reset_pmds[i] |= p->reset_pmds[i];
}

/* Masks the context: nothing counts from the moment of the current overflow on. The PMDs keep the
 * values of that moment, no matter when the kernel stops their events. If other PMDs overflowed at
 * the same moment, the message about the current overflow reports them, too. */
static void ctx_mask(struct ctx *c, struct set *s)
{
	for (struct pmd *p = s->pmds; p; p = p->next) {
		if (has_overflowed(p)) {
			bv_add(s->ovfl_pmds, p->num);
			reset_defer(s, p);
		}
		p->value = pmd_value(p);
		p->hold = true;
		p->rearm = p->samples;
	}
	c->state = ST_MASKED;
}

/* Passes an overflow to the context's sampling format. Returns the actions that the format
 * requests: PFM_OVFL_CTRL_* bits. */
static u32 fmt_handle(const struct ctx *c, const struct set *s, const struct pmd *p,
		      const struct ovfl_record *r)
{
	static pfm_ovfl_arg_t a;

	a = (pfm_ovfl_arg_t){ .ovfl_pmd = p->num, .active_set = s->id,
		.pmd_last_reset = p->last_reset, .pmd_eventid = p->eventid,
		.cpu = (u16)r->cpu, .pid = r->tid, .tgid = r->pid };
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

/* Returns the number of overflows of the PMD p that the current overflow record (struct
 * ovfl_record) reports: its count includes earlier overflows whose records were lost or came too
 * late. stopped: the kernel stopped the PMD's event at the event's first overflow. */
static u64 overflow_count(const struct pmd *p, bool stopped)
{
	return stopped || !p->armed ? 1 : 1 + (p->seen - (p->at - p->value)) / p->armed;
}

/* Subtracts overflows from p->switch_left, the number of overflows of the PMD after which the next
 * event set becomes active. Returns true if this number has become 0. If it has become 1, the
 * kernel is asked to stop the PMD's event at its next overflow, because the library might react too
 * late. */
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

	record_counts(s, r);
	p = sample_pmd(s, r->id);
	/* Ignore the overflow record if no PMD of this set has the record's event id, or if the PMD
	 * was stopped or got another period before the record arrived. */
	if (!p || p->rearm || p->armed == PERIOD_MAX)
		return;
	stopped = p->limit;
	p->on = p->on && !stopped;
	p->limit = false;
	memset(s->ovfl_pmds, 0, sizeof(s->ovfl_pmds));
	bv_add(s->ovfl_pmds, p->num);
	notifies = p->flags & PFM_REGFL_OVFL_NOTIFY;
	due = switch_due(s, p, overflow_count(p, stopped));
	if (c->fmt)
		ctrl = fmt_handle(c, s, p, r);
	else if (notifies)
		ctrl = PFM_OVFL_CTRL_NOTIFY | PFM_OVFL_CTRL_MASK;
	if (ctrl & PFM_OVFL_CTRL_MASK) {
		reset_defer(s, p);
		ctx_mask(c, s);
		s->switches = s->switches || due;
	} else if (ctrl & PFM_OVFL_CTRL_RESET || due) {
		linked_reset(s, p);
		pmd_restart(p, stopped);
		c->switches = c->switches || due;
	} else {
		/* the sampling format does not request a reset of the PMD: the PMD counts from 0
		 * upwards */
		p->rearm = true;
	}
	if (notifies && ctrl & PFM_OVFL_CTRL_NOTIFY) {
		struct msg m = { PFM_MSG_OVFL, r->pid, r->tid, s->id, (u16)r->cpu, r->ip, { 0 } };

		memcpy(m.pmds, s->ovfl_pmds, sizeof(m.pmds));
		if (!msg_send(c, &m) && c->state == ST_LOADED) {
			/* Mask the context if the message could not be sent, as the kernel's
			 * perfmon2 does: without a message, the program would never call
			 * pfm_restart(). */
			reset_defer(s, p);
			ctx_mask(c, s);
		}
		/* With PFM_FL_OVFL_NO_MSG the program gets SIGIO without a message, as from
		 * pfm_ovfl_notify_user() of the kernel's perfmon2. */
		if (c->flags & PFM_FL_OVFL_NO_MSG)
			msg_take_back(c);
	}
}

/* Handles at most as many bytes of records as the ring can hold. Records that arrive meanwhile
 * could otherwise keep this function busy for ever. */
void set_drain(struct ctx *c, struct set *s)
{
	size_t done = 0;
	long n;

	while (s->ring.page && done < s->ring.size &&
	       (n = gp_next(&s->ring, service.rows->record, sizeof(service.rows->record))) != 0) {
		const struct ovfl_record *r = (const void *)service.rows->record;

		if (n >= (long)sizeof(*r) && r->head.type == PERF_RECORD_SAMPLE &&
		    r->head.size <= n && c->state == ST_LOADED)
			overflow(c, s, r);
		else if (n > 0 && r->head.type == PERF_RECORD_LOST)
			for (struct pmd *p = s->pmds; p; p = p->next)
				p->lost = true;
		/* -EBADMSG: gp_next() found an invalid record and has emptied the ring */
		else if (n < 0)
			return;
		done += (size_t)n;
	}
}

static bool needs_rearm(const struct set *s)
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
	if (c->state == ST_LOADED && !c->switches && !needs_rearm(s))
		return;
	if (c->state == ST_MASKED)
		ctx_halt(c);
	else
		/* set_halt() handles further overflows, and one of them may mask the context */
		set_halt(c, s);
	if (c->state == ST_MASKED)
		ctx_halt(c);
	ctx_run(c);
}

/* Resets the PMDs in s->reset_pmds, whose reset waited for pfm_restart(), to their long reset
 * values. */
static void deferred_reset(struct set *s)
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
		deferred_reset(s);
	if (ctrl & PFM_OVFL_CTRL_MASK)
		return 0;
	c->state = ST_LOADED;
	c->switches = s->switches;
	s->switches = false;
	ctx_run(c);
	return 0;
}

/* --- the service thread ----------------------------------------------------------------------- */

/* Time in ns between two checks whether the monitored thread has ended. The checks are needed while
 * its perf events are in the error state, because then poll(2) cannot wait for the end of the
 * thread. */
enum { END_CHECK_NS = 200000000 };

/* Returns true if poll(2) reports the event for the descriptor now. An earlier result of poll(2)
 * may be for another file: the descriptor may have been closed, and its number used again. */
static bool has_event(int fd, int event)
{
	struct pollfd p = { .fd = fd };

	return sys_poll_until(&p, 1, 0, NULL) > 0 && p.revents & event;
}

/* Sets the deadline *until to the time t if t is earlier than *until, or if *until is -1 (no
 * deadline). */
static void deadline_lower(i64 *until, i64 t)
{
	if (*until < 0 || t < *until)
		*until = t;
}

static struct {
	bool service_running;
	int wake_fd;
	/* descriptors for poll(2): first wake_fd, then up to two for each context */
	struct pollfd *fds;
	struct table table;
} server = { .wake_fd = -1,
	     .table = TABLE_ROW(server.fds, 1 + 2 * MAX_CTXS, 128, "polled descriptors") };

bool service_reserve(u32 n)
{
	return table_has(&server.table, 2 * (size_t)n);
}

/* Fills server.fds[] with the descriptors that the service thread waits for, at most two per
 * context, and returns their number. Stores in *until the time of CLOCK_MONOTONIC in ns at which
 * waiting must end; -1: no limit. */
static size_t service_pollfds(i64 *until)
{
	size_t n = 0;

	*until = -1;
	server.fds[n++] = (struct pollfd){ .fd = server.wake_fd, .events = POLLIN };
	for (struct ctx *c = ctxs.rows; c < ctxs_end(); c++) {
		c->at_end = c->at_ring = 0;
		if (c->state == ST_FREE)
			continue;
		c->at_end = (u32)n;
		server.fds[n++] = (struct pollfd){ .fd = c->end };
		if (c->state == ST_UNLOADED)
			continue;
		if (c->active->ring.page && !c->active->failed) {
			c->at_ring = (u32)n;
			server.fds[n++] =
				(struct pollfd){ .fd = c->active->leader->fd, .events = POLLIN };
		}
		if (c->active->failed && c->other)
			deadline_lower(until, sys_now(CLOCK_MONOTONIC) + END_CHECK_NS);
		if (c->deadline >= 0)
			deadline_lower(until, c->deadline);
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

/* Unloads a context whose monitored thread has ended, and sends the message PFM_MSG_END. */
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
	/* Overflows are handled even if poll(2) has not reported any: it reports an overflow only
	 * once (perf_poll() in the kernel), and may have reported it for an earlier context with
	 * this descriptor. */
	ctx_update(c);
	ctx_timeout(c);
	if (ring & POLLERR && c->active->ring.page && has_event(c->active->leader->fd, POLLERR))
		/* A pinned group without a hardware counter makes poll(2) report POLLERR at once
		 * each time, so the descriptor is not polled any more. */
		c->active->failed = true;
	if ((ring & POLLHUP || c->active->failed) && c->active->ring.page &&
	    has_event(c->active->leader->fd, POLLHUP))
		ctx_end(c);
}

static void *service_main(void *arg)
{
	u64 wakes;
	i64 until;

	(void)arg;
	for (;;) {
		size_t n;

		sys_lock(&lock);
		n = service_pollfds(&until);
		sys_unlock(&lock);
		sys_poll_until(server.fds, n, until, NULL);
		sys_lock(&lock);
		if (server.fds[0].revents)
			sys_read(server.wake_fd, &wakes, sizeof(wakes));
		for (struct ctx *c = ctxs.rows; c < ctxs_end(); c++)
			ctx_serve(c, c->at_end ? server.fds[c->at_end].revents : 0,
				  c->at_ring ? server.fds[c->at_ring].revents : 0);
		sys_unlock(&lock);
	}
	return NULL;
}

void service_wake(void)
{
	u64 one = 1;

	if (server.service_running)
		sys_write(server.wake_fd, &one, sizeof(one));
}

int service_start(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	if (server.service_running)
		return 0;
	if (!table_has(&service.t, 0))
		return -ENOMEM;
	server.wake_fd = (int)sys_eventfd();
	if (server.wake_fd < 0)
		return server.wake_fd;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, service.rows->stack, sizeof(service.rows->stack));
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* The thread inherits the signal mask of its creator, in which lib_enter() has blocked all
	 * signals. */
	r = pthread_create(&thread, &attr, service_main, NULL);
	pthread_attr_destroy(&attr);
	/* pthread_create() returns EINVAL if the stack is too small, because glibc stores the
	 * thread-local memory of the program on the stack. Then the thread gets a stack of default
	 * size. */
	if (r == EINVAL) {
		r = pthread_create(&thread, NULL, service_main, NULL);
		if (r == 0)
			pthread_detach(thread);
	}
	server.service_running = r == 0;
	if (!server.service_running)
		sys_close(server.wake_fd);
	return -r;
}

void service_forget(void)
{
	if (server.service_running)
		sys_close(server.wake_fd);
	server.service_running = false;
}
