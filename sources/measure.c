/* measure.c - a measurement with perf events from its start to its end: the command or the tasks, intervals, the turns
 * of event sets, and who may switch it on and off. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

enum { MAX_WATCHED = 64, GRACE = 1000000000 /* ns */ };

enum { FD_CONTROL, FD_WAKE, FD_FIRST };

static struct pollfd few[FD_FIRST + MAX_WATCHED], *fds = few; /* these, then processes, then rings */
static struct pollfd *many;
static TABLE(many, LEN(few) + MAX_CPUS, LEN(few), "descriptors to wait for");
static size_t nfds, nwatched;
static bool all_watched; /* each process whose end is the end has its descriptor */

/* --- turns of sets --------------------------------------------------------------------------------------- */

static bool has_turns(void)
{
	return evsets[0].name != NONE;
}

static void turn_begin(struct measure *m, i64 now, bool exec)
{
	struct evset *s = &evsets[m->set];

	perf_enable(m->set, true, exec);
	s->turns++;
	m->set_since = now;
	m->set_due = s->timeout ? now + s->timeout : -1;
}

static void turn_end(struct measure *m, i64 now)
{
	perf_enable(m->set, false, false);
	evsets[m->set].active += now - m->set_since;
}

/* The next set that can be counted; the same where it is the only one. */
static u32 next_set(u32 set)
{
	for (u32 i = 1; i <= nevsets; i++)
		if (!evsets[(set + i) % nevsets].failed)
			return (set + i) % nevsets;
	return set;
}

static void turn_next(struct measure *m, i64 now)
{
	turn_end(m, now);
	m->set = next_set(m->set);
	turn_begin(m, sys_now(CLOCK_MONOTONIC), false);
}

/* Whether the signal that came was of an event that ends the turn in hand. */
static bool turn_overflowed(const struct measure *m)
{
	bool over = false;
	i32 fd;

	while ((fd = tasks_overflow()) >= 0) {
		const struct count *c = perf_fired(fd);

		over |= c && events[c->event].set == m->set;
	}
	return over;
}

/* --- switching ------------------------------------------------------------------------------------------- */

static void switch_on(struct measure *m, bool exec)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	if (m->on)
		return;
	m->on = true;
	if (!m->due) {
		m->start = m->last = now;
		m->due = now + m->interval;
	}
	turn_begin(m, now, exec);
}

static void switch_off(struct measure *m)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	if (!m->on)
		return;
	turn_end(m, now);
	m->on = false;
}

static bool is_word(struct str line, const char *word)
{
	return str_is(str_trim(line), word);
}

/* Commands of --control, one a line: those of perf that mean something here. */
static void obey(struct measure *m)
{
	static char text[256];
	static size_t had; /* of a line that has not come whole */
	long n = sys_read(m->control, text + had, sizeof(text) - had);
	struct str rest = { text, text + had + (n > 0 ? n : 0) }, line;

	if (n == 0 || (n < 0 && n != -EAGAIN && n != -EINTR))
		m->control = fds[FD_CONTROL].fd = -1; /* nobody will say more */
	while (line_next(&rest, &line)) {
		if (is_word(line, "enable"))
			switch_on(m, false);
		else if (is_word(line, "disable"))
			switch_off(m);
		else if (is_word(line, "stop"))
			m->stop = true;
		else if (!is_word(line, "ping"))
			continue;
		if (m->ack >= 0 && sys_takes(m->ack))
			sys_write(m->ack, "ack\n", 4);
	}
	had = str_len(rest) < sizeof(text) ? str_len(rest) : 0; /* nothing that we know is so long */
	memmove(text, rest.p, had);
}

/* --- begin ----------------------------------------------------------------------------------------------- */

/* Processes whose end is the end of the measurement: their descriptors wake us. */
static void watch(const struct target *t)
{
	all_watched = true;
	for (u32 i = 0; i < t->ntasks; i++) {
		const struct member *at = &t->tasks[i];
		bool leads = t->whole || at->tid == at->leader;
		long fd;

		if (i > 0 && t->whole && at->leader == at[-1].leader)
			continue;
		fd = nfds < LEN(few) && leads ? sys_pidfd_open(at->leader) : -EMFILE;
		if (fd >= 0)
			fds[nfds++] = (struct pollfd){ .fd = (int)fd, .events = POLLIN };
		else
			all_watched &= fd == -ESRCH;
	}
}

/* Sets of which nothing can be counted take no turn. */
static void check_sets(void)
{
	for (u32 s = 0; s < nevsets; s++) {
		evsets[s].failed = nevsets > 1;
		for (u32 i = 1; i <= ncounts && evsets[s].failed; i++)
			evsets[s].failed = events[counts[i].event].set != s || (counts[i].fd < 0 && !counts[i].virt);
	}
}

/* Opens everything and starts the command or the counting. 0, or -errno where there is no command to run. */
long measure_start(struct measure *m)
{
	static struct member command;
	struct target *t = m->target;
	bool own = m->argv && !t->all && !t->has_cpus && !t->ncgroups && !t->ntasks;
	long pid = 0;

	m->start = m->last = m->due = m->stopped = m->set = 0;
	m->on = m->stop = false;
	for (u32 i = 0; i < nevsets; i++)
		evsets[i].turns = evsets[i].turns_was = (u64)(evsets[i].active = evsets[i].active_was = 0);
	fds[FD_CONTROL] = (struct pollfd){ .fd = m->control, .events = POLLIN };
	fds[FD_WAKE] = (struct pollfd){ .fd = tasks_wake, .events = POLLIN };
	nfds = FD_FIRST;
	if (m->argv) {
		pid = child_start(m->argv, m->repeats);
		if (pid < 0)
			return pid;
	} else {
		watch(t);
	}
	t->on_exec = own && m->delay == 0 && nevsets <= 1;
	if (own) {
		command = (struct member){ (u32)pid, (u32)pid };
		t->tasks = &command;
		t->ntasks = 1;
	}
	perf_open(t);
	if (own && t->split == SPLIT_THREAD && nsites) /* its name comes with the exec */
		sites[0].comm = text_put(sites[0].comm, str_base(str_z(m->argv[0])));
	t->ntasks = own ? 0 : t->ntasks;
	check_sets();
	m->stop = !m->argv && !perf_countable();
	if (evsets[0].failed)
		m->set = next_set(0);
	perf_baseline();
	nwatched = nfds;
	if (m->sampling) {
		m->rings = perf_rings(m->pages);
		if (m->rings < 0) {
			child_abort();
			return m->rings;
		}
		if (table_all(&many_table) > nfds) { /* without room for them they are read once an interval */
			fds = memcpy(many, few, sizeof(few));
			nfds += perf_pollfds(fds + nfds, many_table.ready - nfds);
		}
		if (t->limit)
			m->limit = perf_limit(t->limit, t->on_exec || m->delay != 0);
	}
	if (m->ready)
		m->ready((i32)pid, m->repeats);
	if (m->delay == 0)
		switch_on(m, t->on_exec);
	m->begun = sys_now(CLOCK_MONOTONIC);
	return m->argv ? child_go() : 0;
}

/* --- on and on --------------------------------------------------------------------------------------------- */

static i64 earlier(i64 a, i64 b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static i64 deadline(const struct measure *m)
{
	i64 t = m->timeout ? m->begun + m->timeout : -1;

	if (m->stop || m->stopped)
		return !m->stopped ? 0 : sys_now(CLOCK_MONOTONIC) < m->stopped + GRACE ? m->stopped + GRACE : -1;
	if (!m->due && m->delay > 0)
		t = earlier(t, m->begun + m->delay);
	if (m->due && m->interval)
		t = earlier(t, m->due);
	if (m->on && has_turns())
		t = earlier(t, m->set_due);
	if (!m->argv && m->target->ntasks && !all_watched)
		t = earlier(t, sys_now(CLOCK_MONOTONIC) + 100000000);
	return t;
}

static bool watched_ended(const struct measure *m)
{
	size_t gone = 0;

	if (m->argv || m->target->ntasks == 0)
		return false;
	if (!all_watched)
		return target_ended(m->target);
	for (size_t i = FD_FIRST; i < nwatched; i++) {
		gone += fds[i].revents != 0 || fds[i].fd < 0;
		if (fds[i].revents)
			fds[i].fd = -1;
	}
	return gone == nwatched - FD_FIRST;
}

/* A command that we stop, and that does not mind, is killed after a while. */
static bool has_ended(struct measure *m, i64 now)
{
	bool stop = m->stop || (m->timeout && now >= m->begun + m->timeout);

	if (!m->argv)
		return stop || tasks_signal() || watched_ended(m);
	if (stop && !m->stopped) {
		child_stop(false);
		m->stopped = now;
	} else if (m->stopped && now >= m->stopped + GRACE) {
		child_stop(true);
	}
	return child_ended(&m->status);
}

/* What was counted up to now, as rows; m->dt is their time. */
static void reading(struct measure *m)
{
	i64 now;

	if (m->sampling)
		return; /* there is nothing but what lies in the rings */
	perf_read(sys_now(CLOCK_MONOTONIC));
	now = sys_now(CLOCK_MONOTONIC); /* behind the reads, so that no clock counts more than the time that passed */
	if (m->on && has_turns()) {
		evsets[m->set].active += now - m->set_since;
		m->set_since = now;
	}
	m->dt = m->due ? now - m->last : -1;
	m->last = now;
	rows_sum(m->dt, m->scale);
}

/* Whether a ring woke us. One whose task has ended wakes for ever. */
static bool rings_woke(void)
{
	bool any = false;

	for (size_t i = nwatched; i < nfds; i++) {
		any |= fds[i].revents != 0;
		if (fds[i].revents & (POLLHUP | POLLERR))
			fds[i].fd = perf_ring_mate(fds[i].fd);
	}
	return any;
}

/* Waits for the next reading. False: it was the last one. */
bool measure_next(struct measure *m)
{
	if (m->last != m->start) /* the first interval has begun already */
		rows_begin();
	for (;;) {
		long r = tasks_wait(fds, nfds, deadline(m));
		i64 now = sys_now(CLOCK_MONOTONIC);

		if (r > 0 && fds[FD_CONTROL].revents)
			obey(m);
		if (!m->due && m->delay > 0 && now >= m->begun + m->delay)
			switch_on(m, false);
		if (has_ended(m, now)) {
			m->failure = child_failure(); /* of no command: none */
			if (!m->failure) /* else there is but what the runs before came to */
				reading(m);
			return false;
		}
		if (m->on && has_turns() && ((m->set_due >= 0 && now >= m->set_due) || turn_overflowed(m)))
			turn_next(m, now);
		m->woken = r > 0 && rings_woke();
		if (m->woken)
			return true;
		if (m->due && m->interval && now >= m->due && !m->stop && !m->stopped) {
			m->due = next_due(m->start, m->due, m->interval);
			reading(m);
			return true;
		}
	}
}
