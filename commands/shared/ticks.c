/* ticks.c - times of the readings of a run: at multiples of a step, or for each line of standard
 * input.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sys.h"

/* Returns the next due time after `now`, in ns. Due times are `start` plus a multiple of the step.
 * A due time less than half a step away is skipped: its sample would be too short to be useful. So
 * no due time is used twice if the process woke up a little early, and a missed due time has no
 * sample. */
static i64 due_after(i64 now, i64 start, i64 step)
{
	return start + (now - start + step + step / 2) / step * step;
}

/* Returns the current time in ns, on the clock that due times use: the wall clock with --align,
 * else CLOCK_MONOTONIC. */
static i64 now_on_clock(void)
{
	return sys_now(opt.align ? CLOCK_REALTIME : CLOCK_MONOTONIC);
}

/* Initializes the times of a run: interval, step and number of samples. Called before the first
 * reading. With --align it sleeps until the first due time. Without an interval there is one
 * sample, of the length of --window. */
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

/* Permits the kernel to wake this process later by up to a hundredth of the step, so that it can
 * combine several wake-ups. The next due time does not depend on the delay, and the field dt has
 * the real time. */
static void allow_slack(const struct ticks *t)
{
	/* In ns. normal: the kernel's default of PR_SET_TIMERSLACK. most: longest delay, which a
	 * user does not notice. */
	static const i64 normal = 50000, most = 20000000;
	i64 slack = t->step / 100;

	if (t->repeat && !opt.on_stdin && slack > normal)
		sys_timer_slack(slack < most ? slack : most);
}

/* Starts the first interval: stores its start and its end. Called after the first reading. */
void ticks_start(struct ticks *t)
{
	allow_slack(t);
	t->start = opt.align ? 0 : now_on_clock();
	t->end = due_after(now_on_clock(), t->start, t->interval);
	t->begun = t->first = sys_now(CLOCK_MONOTONIC);
}

/* Waits, with --on-stdin, for the next line of standard input. Each line, whatever its text,
 * requests one sample. Returns false at the end of the input, or if a signal stops the run. */
static bool line_wait(struct ticks *t)
{
	static char b[4096];
	struct pollfd fd = { .fd = 0, .events = POLLIN };
	sigset_t heard;
	long r;

	while (t->lines == 0) {
		/* a signal that arrives from now on ends the wait */
		sys_block(stop_signals, LEN(stop_signals), &heard);
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
	/* Wait for opt.window, because a rate requires some time and the first line may come right
	 * after the start. */
	if (!opt.raw && t->begun == t->first)
		return sleep_until(t->first + opt.window);
	return !stopped;
}

/* Sleeps until the time `until`, in ns on CLOCK_MONOTONIC. Before that time, calls t->drain() at
 * each time that the previous call of t->drain() has returned. Returns false if a signal stops the
 * run. */
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

	/* The end of the interval is more than two intervals away: the clock was set back. */
	if (t->end - now > 2 * t->interval)
		t->end = due_after(now, t->start, t->interval);
	due = t->end;
	if (opt.inner) {
		i64 inner = due_after(now, t->end - t->interval, t->step);

		/* A reading less than half a step before the end of the interval is moved to the
		 * end. */
		due = inner + t->step / 2 < due ? inner : due;
	}
	if (!drain_until(t, sys_now(CLOCK_MONOTONIC) + due - now))
		return false;
	now = now_on_clock();
	/* This reading ends the sample if the end of the interval is less than half a step away. If
	 * it is more than an interval away, the clock was set back: the sample ends, too. */
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

/* Stores the time of a reading, and the time since the sample before, in *ro. Called after each
 * reading. */
void ticks_stamp(struct ticks *t, struct recopts *ro)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	ro->time_us = sample_time();
	ro->dt_us = (now - t->begun) / 1000;
	if (t->ends)
		t->begun = now;
}
