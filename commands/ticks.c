/* ticks.c - when the readings of a run are taken: once a step of the clock, or as lines arrive on standard input.
 * SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

/* Ticks are multiples of a step behind start. The next one is at least half a step away, since a sample over less would
 * say little: one that is late is skipped, one whose clock was a little fast is not taken twice. */
static i64 next_tick(i64 now, i64 start, i64 step)
{
	return start + (now - start + step + step / 2) / step * step;
}

/* On the clock whose multiples of a step the ticks are. */
static i64 now_on_clock(void)
{
	return sys_now(opt.align ? CLOCK_REALTIME : CLOCK_MONOTONIC);
}

/* Before the first reading, which --align has on a tick, too. Without an interval there is one sample, over a window. */
void ticks_begin(struct ticks *t)
{
	bool repeat = opt.interval || opt.on_stdin;

	*t = (struct ticks){ .repeat = repeat, .left = repeat ? opt.count : 1 };
	t->interval = opt.interval ? opt.interval : opt.window;
	t->step = opt.inner ? t->interval / ((t->interval + opt.inner - 1) / opt.inner) : t->interval;
	if (opt.align) {
		i64 now = sys_now(CLOCK_REALTIME);

		sleep_until(sys_now(CLOCK_MONOTONIC) + (t->interval - now % t->interval) % t->interval);
	}
}

/* A wake-up may be late by a hundredth of the step, so that the kernel can make one of several. The next tick is none the
 * later for it, and dt says when it was. */
static void allow_slack(const struct ticks *t)
{
	static const i64 usual = 50000, most = 20000000; /* ns: prctl(2); what nobody sees */
	i64 slack = t->step / 100;

	if (t->repeat && !opt.on_stdin && slack > usual)
		sys_timer_slack(slack < most ? slack : most);
}

/* The first reading has been taken. */
void ticks_start(struct ticks *t)
{
	allow_slack(t);
	t->start = opt.align ? 0 : now_on_clock();
	t->end = next_tick(now_on_clock(), t->start, t->interval);
	t->begun = t->first = sys_now(CLOCK_MONOTONIC);
}

/* The next line of standard input: each is a sample, whatever it says. False: there is none. */
static bool line_wait(struct ticks *t)
{
	static char b[4096];
	struct pollfd fd = { .fd = 0, .events = POLLIN };
	sigset_t heard;
	long r;

	while (t->lines == 0) {
		sys_block(stop_signals, LEN(stop_signals), &heard); /* one that comes now ends the wait */
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
	/* The first line may have come with our start: a rate needs its time. */
	if (!opt.raw && t->begun == t->first)
		return sleep_until(t->first + opt.window);
	return !stopped;
}

static bool tick_wait(struct ticks *t)
{
	i64 now = now_on_clock(), due;

	if (t->end - now > 2 * t->interval) /* the clock was set back */
		t->end = next_tick(now, t->start, t->interval);
	due = t->end;
	if (opt.inner) {
		i64 inner = next_tick(now, t->end - t->interval, t->step);

		due = inner + t->step / 2 < due ? inner : due; /* the last one is the interval's end */
	}
	if (!sleep_until(sys_now(CLOCK_MONOTONIC) + due - now))
		return false;
	now = now_on_clock();
	/* An interval has no rest longer than itself, unless the clock was set back. */
	t->ends = !opt.inner || now + t->step / 2 >= t->end || t->end - now > t->interval;
	if (t->ends)
		t->end = next_tick(now, t->start, t->interval);
	return true;
}

/* Waits for the next reading. False: the run is over. */
bool ticks_next(struct ticks *t)
{
	t->ends = true;
	return opt.on_stdin ? line_wait(t) : tick_wait(t);
}

/* A reading was taken: when, and how long after the sample before. */
void ticks_stamp(struct ticks *t, struct recopts *ro)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	ro->time_us = sample_time();
	ro->dt_us = (now - t->begun) / 1000;
	if (t->ends)
		t->begun = now;
}
