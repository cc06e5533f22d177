/* measure.c - a measurement with perf events from its start to its end: the command or the tasks,
 * intervals, switching between event sets, and the commands of --control.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sys.h"

/* GRACE: ns from the request to stop a command until the command is killed */
enum { MAX_WATCHED = 64, GRACE = 1000000000 };

enum { FD_CONTROL, FD_WAKE, FD_KEYS, FD_FIRST };

/* The descriptors for poll(2) if no rings are read: those of --control, of signals and of the
 * keyboard, then one for each watched process. If rings are read, the larger array polled.all is
 * used instead, in which the descriptors of the rings follow. */
static struct pollfd base_fds[FD_FIRST + MAX_WATCHED];

static struct {
	struct pollfd *fds; /* array for poll(2) that is in use: base_fds or polled.all */
	struct pollfd *all;
	size_t nfds, nwatched;
	/* true: each process of the target that still runs has a descriptor in polled.fds */
	bool all_watched;
	/* number of bytes of the incomplete last line that was read from --control */
	size_t control_n;
	struct table table;
} polled = {
	.fds = base_fds,
	.table = TABLE_ROW(polled.all, LEN(base_fds) + MAX_CPUS, LEN(base_fds),
			  "descriptors to wait for"),
};

/* --- event sets ---------------------------------------------------------------------------- */

static bool has_sets(void)
{
	return evsets[0].name != NONE;
}

static void set_enable(struct measure *m, i64 now, bool exec)
{
	struct evset *s = &evsets[m->set];

	perf_enable(m->set, true, exec);
	s->turns++;
	m->set_since = now;
	m->set_due = s->timeout ? now + s->timeout : -1;
}

static void set_disable(struct measure *m, i64 now)
{
	perf_enable(m->set, false, false);
	evsets[m->set].active += now - m->set_since;
}

/* Returns the index of the next event set after `set` that can be counted; `set` if no other set
 * can be counted. */
static u32 next_set(u32 set)
{
	for (u32 i = 1; i <= nrows.evsets; i++)
		if (!evsets[(set + i) % nrows.evsets].failed)
			return (set + i) % nrows.evsets;
	return set;
}

static void set_switch(struct measure *m, i64 now)
{
	set_disable(m, now);
	m->set = next_set(m->set);
	set_enable(m, sys_now(CLOCK_MONOTONIC), false);
}

/* True if a trigger event of the current event set has overflowed. A trigger event is one whose
 * overflow ends the turn of its event set: the caller must switch to the next set. Consumes all
 * pending overflow signals. */
static bool set_overflowed(const struct measure *m)
{
	bool over = false;
	i32 fd;

	while ((fd = tasks_overflow()) >= 0) {
		const struct count *c = perf_fired(fd);

		over |= c && events[c->event].set == m->set;
	}
	return over;
}

/* --- starting and stopping the counting ------------------------------------------------------- */

static void switch_on(struct measure *m, bool exec)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	if (m->on)
		return;
	m->on = true;
	if (!m->due) {
		m->start = m->last = now;
		m->due = now + (m->first ? m->first : m->interval);
	}
	set_enable(m, now, exec);
}

static void switch_off(struct measure *m)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	if (!m->on)
		return;
	set_disable(m, now);
	m->on = false;
}

static bool is_word(struct str line, const char *word)
{
	return str_is(str_trim(line), word);
}

/* Reads and executes the commands of --control, one per line: enable, disable, stop and ping, as in
 * perf. Answers each command with a line "ack", if --control names a file for answers. */
static void control_read(struct measure *m)
{
	static char text[256];
	long n = sys_read(m->control, text + polled.control_n, sizeof(text) - polled.control_n);
	struct str rest = { text, text + polled.control_n + (n > 0 ? n : 0) }, line;

	if (n == 0 || (n < 0 && n != -EAGAIN && n != -EINTR))
		/* end of file, or a read error, on --control: do not wait for commands any more */
		m->control = polled.fds[FD_CONTROL].fd = -1;
	while (line_next(&rest, &line)) {
		if (is_word(line, "enable"))
			switch_on(m, false);
		else if (is_word(line, "disable"))
			switch_off(m);
		else if (is_word(line, "stop"))
			m->stop = true;
		else if (!is_word(line, "ping"))
			continue;
		if (m->ack >= 0 && sys_is_writable(m->ack))
			sys_write(m->ack, "ack\n", 4);
	}
	/* a line of --control that fills the buffer `text` is not a known command: discard it */
	polled.control_n = str_len(rest) < sizeof(text) ? str_len(rest) : 0;
	memmove(text, rest.p, polled.control_n);
}

/* --- start of the measurement ----------------------------------------------------------------- */

/* Adds a pidfd for each process of the target to polled.fds: the measurement ends when all these
 * processes have ended. */
static void watch_processes(const struct target *t)
{
	polled.all_watched = true;
	for (u32 i = 0; i < t->ntasks && !t->every; i++) {
		const struct member *at = &t->tasks[i];
		bool leads = t->whole || at->tid == at->leader;
		long fd;

		if (i > 0 && t->whole && at->leader == at[-1].leader)
			continue;
		fd = polled.nfds < LEN(base_fds) && leads ? sys_pidfd_open(at->leader) : -EMFILE;
		if (fd >= 0)
			polled.fds[polled.nfds++] =
				(struct pollfd){ .fd = (int)fd, .events = POLLIN };
		else
			polled.all_watched &= fd == -ESRCH;
	}
}

/* Marks the event sets without any event that could be opened; next_set() skips these sets. */
static void check_sets(void)
{
	for (u32 s = 0; s < nrows.evsets; s++) {
		evsets[s].failed = nrows.evsets > 1;
		for (u32 i = 1; i <= nrows.counts && evsets[s].failed; i++)
			evsets[s].failed = events[counts[i].event].set != s ||
					   (counts[i].fd < 0 && !counts[i].virt);
	}
}

/* Maps the rings of all sampling events, and adds their descriptors to polled.fds. Returns 0 or
 * -errno. */
static long rings_start(struct measure *m)
{
	struct target *t = m->target;
	long rings = perf_rings(m->pages);

	if (rings < 0)
		return rings;
	/* if there is no memory for the rings' descriptors, the rings are read once per interval,
	 * or every 0.1 s */
	if (table_all(&polled.table) > polled.nfds) {
		polled.fds = memcpy(polled.all, base_fds, sizeof(base_fds));
		polled.nfds += perf_pollfds(polled.fds + polled.nfds,
					    polled.table.ready - polled.nfds);
	} else if (!m->interval) {
		m->interval = 100000000;
	}
	if (t->limit)
		m->limit = perf_limit(t->limit, t->on_exec || m->delay != 0);
	return rings;
}

/* Sets the name in the result row of a command's first thread to the name of the command's file,
 * since /proc shows this name only after exec(2). */
static void site_name(u32 tid, const char *file)
{
	for (u32 i = 0; i < nrows.sites; i++)
		if (sites[i].tid == tid)
			sites[i].comm = text_put(sites[i].comm, str_base(str_z(file)));
}

/* Opens all events. own: the target is only the process of the command. If the program's file has
 * capabilities, this process, a copy of gpustat until it calls exec(2), may not be traced, and its
 * events cannot be opened, without CAP_SYS_PTRACE. Events of other processes are opened without
 * this right. */
static void events_open(const struct target *t, bool own)
{
	u8 was = privilege_raise(own ? MAY_PTRACE : 0);

	perf_open(t);
	privilege_lower(was);
}

/* Opens all events and starts the command or the counting. Returns 0, or -errno if the command
 * could not be started or the rings could not be mapped (m->rings < 0). */
long measure_start(struct measure *m)
{
	static struct member command;
	struct target *t = m->target;
	bool own = m->argv && !t->all && !t->has_cpus && !t->ncgroups && !t->ntasks;
	long pid = 0;

	m->start = m->last = m->due = m->stopped = m->set = 0;
	m->on = m->stop = false;
	for (u32 i = 0; i < nrows.evsets; i++)
		evsets[i].turns = evsets[i].turns_was =
			(u64)(evsets[i].active = evsets[i].active_was = 0);
	polled.fds[FD_CONTROL] = (struct pollfd){ .fd = m->control, .events = POLLIN };
	polled.fds[FD_WAKE] = (struct pollfd){ .fd = tasks_wake, .events = POLLIN };
	polled.fds[FD_KEYS] = (struct pollfd){ .fd = m->keys ? 0 : -1, .events = POLLIN };
	polled.nfds = FD_FIRST;
	if (m->argv) {
		pid = child_start(m->argv, m->repeats);
		if (pid < 0)
			return pid;
		/* add the command's thread to the target: the command did not exist yet when the
		 * threads of all processes were listed */
		if (t->every)
			target_thread(t, (u32)pid);
	} else {
		watch_processes(t);
	}
	t->on_exec = own && m->delay == 0 && nrows.evsets <= 1;
	if (own) {
		command = (struct member){ (u32)pid, (u32)pid };
		t->tasks = &command;
		t->ntasks = 1;
	}
	events_open(t, own);
	if (m->argv && t->split == SPLIT_THREAD)
		site_name((u32)pid, m->argv[0]);
	t->ntasks = own ? 0 : t->ntasks;
	check_sets();
	m->stop = !m->argv && !perf_countable();
	if (evsets[0].failed)
		m->set = next_set(0);
	perf_baseline();
	polled.nwatched = polled.nfds;
	if (m->sampling) {
		m->rings = rings_start(m);
		if (m->rings < 0) {
			child_abort();
			return m->rings;
		}
	}
	if (m->ready)
		m->ready((i32)pid, m->repeats);
	if (m->delay == 0)
		switch_on(m, t->on_exec);
	m->begun = sys_now(CLOCK_MONOTONIC);
	return m->argv ? child_release() : 0;
}

/* --- waiting -------------------------------------------------------------------------------- */

static i64 earlier(i64 a, i64 b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

static i64 deadline(const struct measure *m)
{
	i64 t = m->timeout ? m->begun + m->timeout : -1;

	if (m->stop || m->stopped)
		return !m->stopped ? 0 :
		       sys_now(CLOCK_MONOTONIC) < m->stopped + GRACE ? m->stopped + GRACE : -1;
	if (!m->due && m->delay > 0)
		t = earlier(t, m->begun + m->delay);
	if (m->due && m->interval)
		t = earlier(t, m->due);
	if (m->on && has_sets())
		t = earlier(t, m->set_due);
	t = earlier(t, virtual_due());
	if (!m->argv && m->target->ntasks && !polled.all_watched)
		t = earlier(t, sys_now(CLOCK_MONOTONIC) + 100000000);
	return t;
}

static bool watched_ended(const struct measure *m)
{
	size_t gone = 0;

	if (m->argv || m->target->ntasks == 0 || m->target->every)
		return false;
	if (!polled.all_watched)
		return target_ended(m->target);
	for (size_t i = FD_FIRST; i < polled.nwatched; i++) {
		gone += polled.fds[i].revents != 0 || polled.fds[i].fd < 0;
		if (polled.fds[i].revents)
			polled.fds[i].fd = -1;
	}
	return gone == polled.nwatched - FD_FIRST;
}

/* True if the measurement has ended. If m->stop is set or the timeout has passed, the command is
 * asked to terminate, and is killed GRACE ns later. */
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

/* Reads all counts, and computes the result rows (evrows[]) of the interval that ends now. Stores
 * the interval's length in m->dt: ns; -1 if counting has not started. */
static void rows_update(struct measure *m)
{
	i64 now;

	if (m->sampling)
		return; /* when sampling, all data is in the rings, and no counts are read */
	perf_read(sys_now(CLOCK_MONOTONIC));
	/* the time is read after the counts, so that a clock event (cpu-clock) never counts more ns
	 * than the interval has */
	now = sys_now(CLOCK_MONOTONIC);
	if (m->on && has_sets()) {
		evsets[m->set].active += now - m->set_since;
		m->set_since = now;
	}
	m->dt = m->due ? now - m->last : -1;
	m->last = now;
	rows_sum(m->dt, m->scale);
}

/* Computes the result rows (evrows[]) of the whole measurement, from its start to the last
 * reading. */
void measure_whole(struct measure *m)
{
	rows_begin_whole();
	m->dt = m->due ? m->last - m->start : -1;
	rows_sum(m->dt, m->scale);
}

/* True if poll(2) reported a ring. Once a task has ended, poll(2) reports the descriptor of its
 * event at each call: that descriptor is replaced by one of another event that writes to the same
 * ring. */
static bool rings_woke(void)
{
	bool any = false;

	for (size_t i = polled.nwatched; i < polled.nfds; i++) {
		any |= polled.fds[i].revents != 0;
		if (polled.fds[i].revents & (POLLHUP | POLLERR))
			polled.fds[i].fd = perf_ring_mate(polled.fds[i].fd);
	}
	return any;
}

/* Waits for the next reading of the counts, or until a ring has samples. False if the measurement
 * has ended: this was the last reading. */
bool measure_next(struct measure *m)
{
	/* the first interval began with the measurement; rows_begin() begins each later one */
	if (m->last != m->start)
		rows_begin();
	for (;;) {
		long r = tasks_wait(polled.fds, polled.nfds, deadline(m));
		i64 now = sys_now(CLOCK_MONOTONIC);

		if (r > 0 && polled.fds[FD_CONTROL].revents)
			control_read(m);
		if (virtual_due() >= 0 && now >= virtual_due())
			virtual_drain();
		if (!m->due && m->delay > 0 && now >= m->begun + m->delay)
			switch_on(m, false);
		if (has_ended(m, now)) {
			/* stop counting, so that the kernel adds no records while the rings are
			 * read */
			if (m->sampling)
				switch_off(m);
			/* child_failure() returns 0 if there is no command */
			m->failure = child_failure();
			/* if the command could not be run, the result rows keep the counts of
			 * earlier repetitions */
			if (!m->failure)
				rows_update(m);
			return false;
		}
		if (m->on && has_sets() &&
		    ((m->set_due >= 0 && now >= m->set_due) || set_overflowed(m)))
			set_switch(m, now);
		m->typed = r > 0 && polled.fds[FD_KEYS].revents;
		m->woken = r > 0 && rings_woke();
		if (m->woken || m->typed)
			return true;
		if (m->due && m->interval && now >= m->due && !m->stop && !m->stopped) {
			m->due = next_due(m->start, m->due, m->interval);
			rows_update(m);
			return true;
		}
	}
}
