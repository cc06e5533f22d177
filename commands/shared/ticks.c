/* ticks.c - the times of readings: at each step of the clock, or for each line of standard input.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sys.h"

/* Returns the next due time. Due times are start plus a multiple of the step. The next one is at
 * least half a step away, since a shorter sample would say little: a due time that was missed is
 * skipped, and one that the clock reached a little early is not used twice. */
static i64 due_after(i64 now, i64 start, i64 step)
{
	return start + (now - start + step + step / 2) / step * step;
}

/* Returns the time on the clock of the due times. */
static i64 now_on_clock(void)
{
	return sys_now(opt.align ? CLOCK_REALTIME : CLOCK_MONOTONIC);
}

/* Called before the first reading, which --align also delays to a due time. Without an interval
 * there is one sample, over a window. */
void ticks_begin(struct ticks *t)
{
	bool repeat = opt.interval || opt.on_stdin;

	*t = (struct ticks){ .repeat = repeat, .left = repeat ? opt.count : 1 };
	t->interval = opt.interval ? opt.interval : opt.window;
	t->step = opt.inner ? t->interval / ((t->interval + opt.inner - 1) / opt.inner) :
		  t->interval;
	if (opt.align) {
		i64 now = sys_now(CLOCK_REALTIME);

		sleep_until(sys_now(CLOCK_MONOTONIC) +
			    (t->interval - now % t->interval) % t->interval);
	}
}

/* Permits wake-ups that are late by a hundredth of the step, so that the kernel can combine
 * several. The next due time does not depend on it, and dt has the real time. */
static void allow_slack(const struct ticks *t)
{
	/* ns: the default of prctl(2); a delay that nobody sees */
	static const i64 normal = 50000, most = 20000000;
	i64 slack = t->step / 100;

	if (t->repeat && !opt.on_stdin && slack > normal)
		sys_timer_slack(slack < most ? slack : most);
}

/* Called after the first reading. */
void ticks_start(struct ticks *t)
{
	allow_slack(t);
	t->start = opt.align ? 0 : now_on_clock();
	t->end = due_after(now_on_clock(), t->start, t->interval);
	t->begun = t->first = sys_now(CLOCK_MONOTONIC);
}

/* Waits for the next line of standard input: each line, whatever its text, requests one sample.
 * Returns false at the end. */
static bool line_wait(struct ticks *t)
{
	static char b[4096];
	struct pollfd fd = { .fd = 0, .events = POLLIN };
	sigset_t heard;
	long r;

	while (t->lines == 0) {
		sys_block(stop_signals, LEN(stop_signals), &heard); /* a signal now ends the wait */
		r = stopped ? -EINTR : sys_poll_until(&fd, 1, -1, &heard);
		sys_unblock(&heard);
		if (stopped)
			return false;
		if (r >= 0)
			r = sys_read(0, b, sizeof(b));
		if (r == 0)
			return false;
		for (long i = 0; i < r; i++)
			t->lines += b[i] == '\n';
		if (r < 0 && r != -EINTR && r != -EAGAIN) {
			say("standard input: ", error_text(r), NULL);
			t->failed = true;
			return false;
		}
	}
	t->lines--;
	/* The first line may arrive right after the start: a rate requires some time. */
	if (!opt.raw && t->begun == t->first)
		return sleep_until(t->first + opt.window);
	return !stopped;
}

/* Sleeps until a time, and drains what is due before. Returns false if a signal came. */
static bool drain_until(const struct ticks *t, i64 until)
{
	i64 due = t->drain ? t->drain() : -1;

	while (due >= 0 && due < until) {
		if (!sleep_until(due))
			return false;
		due = t->drain();
	}
	return sleep_until(until);
}

static bool due_wait(struct ticks *t)
{
	i64 now = now_on_clock(), due;

	if (t->end - now > 2 * t->interval) /* the clock was set back */
		t->end = due_after(now, t->start, t->interval);
	due = t->end;
	if (opt.inner) {
		i64 inner = due_after(now, t->end - t->interval, t->step);

		/* The last reading is at the end of the interval. */
		due = inner + t->step / 2 < due ? inner : due;
	}
	if (!drain_until(t, sys_now(CLOCK_MONOTONIC) + due - now))
		return false;
	now = now_on_clock();
	/* The rest of an interval is not longer than the interval, unless the clock was set
	 * back. */
	t->ends = !opt.inner || now + t->step / 2 >= t->end || t->end - now > t->interval;
	if (t->ends)
		t->end = due_after(now, t->start, t->interval);
	return true;
}

/* Waits until the next reading is due. Returns false if the run is over. */
bool ticks_next(struct ticks *t)
{
	t->ends = true;
	return opt.on_stdin ? line_wait(t) : due_wait(t);
}

/* Called after a reading: stores its time and the time since the sample before. */
void ticks_stamp(struct ticks *t, struct recopts *ro)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	ro->time_us = sample_time();
	ro->dt_us = (now - t->begun) / 1000;
	if (t->ends)
		t->begun = now;
}
