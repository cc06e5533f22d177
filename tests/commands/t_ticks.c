/* t_ticks.c - the times of samples: due times, missed samples, a clock that is set, --inner,
 * --align, lines of standard input. The clock and standard input are simulated.
 * SPDX-License-Identifier: MIT */
#include "sys.h"

static int64_t fake_now(clockid_t clock);
static long fake_slack(int64_t ns);
static long fake_read(int fd, void *b, size_t n);
static long fake_poll(struct pollfd *fds, size_t n, int64_t t, const sigset_t *mask);
#define sys_now fake_now
#define sys_timer_slack fake_slack
#define sys_read fake_read
#define sys_poll_until fake_poll
#include "../../commands/shared/ticks.c"
#include "unit.h"

enum { MS = 1000000, STEP = 200 * MS };

struct opts opt;
volatile sig_atomic_t stopped;
const int stop_signals[3] = { SIGINT, SIGTERM, SIGHUP };

static struct {
	i64 mono, wall; /* wall: CLOCK_REALTIME minus CLOCK_MONOTONIC */
	i64 late;       /* how late the next sleep ends */
	i64 slept;      /* end of the last sleep, as requested; -1: none */
	i64 slack;      /* -1: none was set */
	const char *lines[8]; /* results of the reads; NULL: end of the file */
	long errors[8];       /* error of the read with this number; 0: none */
	unsigned reads, polls, said;
} fake;

static int64_t fake_now(clockid_t clock)
{
	return fake.mono + (clock == CLOCK_REALTIME ? fake.wall : 0);
}

static long fake_slack(int64_t ns)
{
	fake.slack = ns;
	return 0;
}

static long fake_read(int fd, void *b, size_t n)
{
	const char *line = fake.lines[fake.reads];
	long error = fake.errors[fake.reads++];
	size_t len = line ? strlen(line) : 0;

	if (error)
		return error;
	if (fd != 0 || len > n)
		return -EBADF;
	memcpy(b, line ? line : "", len);
	return (long)len;
}

static long fake_poll(struct pollfd *fds, size_t n, int64_t t, const sigset_t *mask)
{
	(void)mask;
	fake.polls++;
	return fds->fd == 0 && n == 1 && t == -1 ? 1 : -EINVAL;
}

bool sleep_until(i64 t)
{
	fake.slept = t;
	fake.mono = (t > fake.mono ? t : fake.mono) + fake.late;
	fake.late = 0;
	return !stopped;
}

i64 sample_time(void)
{
	return fake_now(CLOCK_REALTIME) / 1000;
}

void say(const char *a, const char *b, const char *c)
{
	(void)a;
	(void)b;
	(void)c;
	fake.said++;
}

const char *error_text(long err)
{
	(void)err;
	return "";
}

/* Starts a run with these intervals; the time is not a multiple of an interval. */
static struct ticks begun(i64 interval, i64 inner)
{
	struct ticks t;

	memset(&fake, 0, sizeof(fake));
	fake.mono = 7300000001;
	fake.wall = 1763611200 * 1000000000ll;
	fake.slept = fake.slack = -1;
	stopped = 0;
	opt.interval = interval;
	opt.inner = inner;
	ticks_begin(&t);
	ticks_start(&t);
	return t;
}

/* Returns the number of steps after the start at which the next reading was due; -1: it is no
 * whole number of steps. */
static i64 next_step(struct ticks *t, i64 step)
{
	return ticks_next(t) && (fake.slept - t->first) % step == 0 ?
	       (fake.slept - t->first) / step : -1;
}

static void t_limits(void)
{
	struct ticks t;

	opt = (struct opts){ .window = 500 * MS, .count = 7 };
	t = begun(0, 0);
	check(!t.repeat && t.left == 1 && t.interval == 500 * MS,
	      "without an interval there is one sample, over the window");
	check(fake.slack == -1, "one sample: the timer slack is not changed");
	check(next_step(&t, 500 * MS) == 1, "one sample: it ends after the window");
	t = begun(STEP, 0);
	check(t.repeat && t.left == 7 && t.interval == STEP, "with an interval: count samples");
	opt.count = 0;
	t = begun(STEP, 0);
	check(t.left == 0, "without a count there is no limit");
	opt.on_stdin = true;
	t = begun(0, 0);
	check(t.repeat && t.left == 0 && fake.slack == -1,
	      "--on-stdin: no limit, and no timer slack");
	opt.on_stdin = false;
}

static void t_slack(void)
{
	static const struct { i64 interval, inner, slack; } rows[] = {
		{ 1000ll * MS, 0, 10 * MS }, { STEP, 0, 2 * MS }, { 2000ll * MS, 0, 20 * MS },
		{ 60000ll * MS, 0, 20 * MS }, { 5 * MS, 0, -1 }, { 5 * MS + 100, 0, 50001 },
		{ 1000ll * MS, 100 * MS, 1 * MS },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		begun(rows[i].interval, rows[i].inner);
		check(fake.slack == rows[i].slack,
		      "timer slack for an interval of %lld ms: %lld ns",
		      (long long)rows[i].interval / MS, (long long)fake.slack);
	}
}

/* The second sample is late by `late`, so that the next ones may be skipped. */
static void t_late(void)
{
	static const struct { i64 late, next; } rows[] = {
		{ 0, 3 }, { 50 * MS, 3 }, { 100 * MS - 1, 3 }, { 100 * MS, 4 }, { 110 * MS, 4 },
		{ 300 * MS - 1, 4 }, { 300 * MS, 5 }, { 600 * MS, 6 }, { 2000 * MS, 13 },
		{ -1 * MS, 3 }, { -99 * MS, 3 },
	};
	struct ticks t;
	i64 wrong = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		t = begun(STEP, 0);
		wrong += next_step(&t, STEP) != 1;
		fake.late = rows[i].late;
		wrong += next_step(&t, STEP) != 2;
		check(next_step(&t, STEP) == rows[i].next &&
		      next_step(&t, STEP) == rows[i].next + 1,
		      "a sample that is %lld ms late is followed by sample %lld",
		      (long long)rows[i].late / MS, (long long)rows[i].next);
	}
	t = begun(STEP, 0);
	for (i64 k = 1; k <= 10000; k++) {
		fake.late = (i64)rnd_of(STEP / 2);
		wrong += next_step(&t, STEP) != k;
	}
	check(wrong == 0, "10 000 late samples: the next one is always due after whole intervals");
}

static void t_inner(void)
{
	struct recopts ro = { 0 };
	struct ticks t = begun(1000 * MS, 300 * MS);
	i64 good = 0;

	check(t.step == 250 * MS,
	      "--inner: the step divides the interval, and is at most the given time");
	for (i64 k = 1; k <= 12; k++) {
		good += next_step(&t, 250 * MS) == k && t.ends == (k % 4 == 0);
		ticks_stamp(&t, &ro);
		good += ro.dt_us == ((k - 1) % 4 + 1) * 250000;
	}
	check(good == 24, "--inner: the fourth reading ends the sample; dt is since the last end");
	fake.late = 600 * MS; /* of the reading at 0.25 */
	next_step(&t, 250 * MS);
	check(!t.ends && next_step(&t, 250 * MS) == 16 && t.ends,
	      "--inner: readings that are late are skipped, but not the last one");
	fake.late = 900 * MS;
	next_step(&t, 250 * MS);
	check(t.ends && next_step(&t, 250 * MS) == 22,
	      "--inner: a reading that is later than the end of its sample ends it");
	t = begun(1000 * MS, 500 * MS);
	check(t.step == 500 * MS, "--inner: a divisor of the interval is the step itself");
}

static void t_align(void)
{
	struct ticks t;
	i64 from;

	opt.align = true;
	t = begun(1000 * MS, 0); /* the wall clock is 7.300000001 s after a whole second */
	check(fake.slept == 8000ll * MS, "--align: the first reading is at a multiple");
	from = fake.mono + fake.wall;
	check(ticks_next(&t) && fake.mono + fake.wall == from + 1000 * MS,
	      "--align: the next one is an interval later");
	fake.wall -= 3600 * 1000000000ll - 300 * MS;
	from = fake.mono;
	check(ticks_next(&t) && fake.mono == from + 700 * MS,
	      "--align: after the clock was set back, the next multiple of the new time");
	fake.wall += 3600 * 1000000000ll + 400 * MS;
	from = fake.mono;
	check(ticks_next(&t) && fake.mono == from,
	      "--align: after the clock was set forward, a reading is due at once");
	check(ticks_next(&t) && (fake.mono + fake.wall) % (1000 * MS) == 0,
	      "--align: after the clock was set forward, the second reading is at a multiple");
	t = begun(1000 * MS, 250 * MS);
	check(ticks_next(&t) && !t.ends, "--align --inner: a reading within the sample");
	fake.wall -= 3600 * 1000000000ll;
	check(ticks_next(&t) && !t.ends && t.end - fake.mono - fake.wall <= 1000 * MS,
	      "--align --inner: after the clock was set back, the sample ends within an interval");
	fake.late = -1500 * MS; /* it is set back during the sleep */
	check(ticks_next(&t) && t.ends && t.end - fake.mono - fake.wall <= 1500 * MS,
	      "--align --inner: a clock that is set back during the wait ends the sample");
	ticks_begin(&t);
	check(fake.slept == fake.mono, "--align: at a multiple the first reading is not delayed");
	opt.align = false;
	t = begun(STEP, 0);
	check(fake.slept == -1 && t.start == fake.mono, "without --align the run starts at once");
	from = fake.mono;
	fake.wall -= 3600 * 1000000000ll;
	check(ticks_next(&t) && fake.mono == from + STEP,
	      "without --align the wall clock does not matter");
	stopped = 1;
	check(!ticks_next(&t), "a signal during the wait ends the run");
}

static void t_lines(void)
{
	struct ticks t;

	opt = (struct opts){ .on_stdin = true, .window = 500 * MS };
	t = begun(0, 0);
	fake.lines[0] = "now\nab\nc";
	fake.errors[1] = -EINTR;
	fake.lines[2] = "d";
	fake.errors[3] = -EAGAIN;
	fake.lines[4] = "\n";
	check(ticks_next(&t) && fake.slept == t.first + 500 * MS,
	      "--on-stdin: the first sample is at least a window after the start");
	ticks_stamp(&t, &(struct recopts){ 0 });
	fake.slept = -1;
	check(ticks_next(&t) && fake.reads == 1 && fake.slept == -1,
	      "--on-stdin: the second line of a read requests the second sample, at once");
	check(ticks_next(&t) && fake.reads == 5 && fake.polls == 5,
	      "--on-stdin: a line in pieces requests one sample; EINTR and EAGAIN are retried");
	check(!ticks_next(&t) && !t.failed && fake.said == 0,
	      "--on-stdin: the end of the file ends the run");
	fake.errors[6] = -EIO;
	check(!ticks_next(&t) && t.failed && fake.said == 1,
	      "--on-stdin: a read error ends the run, with a message");
	opt.raw = true;
	t = begun(0, 0);
	fake.lines[0] = "\n\n";
	check(ticks_next(&t) && fake.slept == -1, "--on-stdin --raw: the first sample is at once");
	stopped = 1;
	check(!ticks_next(&t) && fake.reads == 1, "--on-stdin: a signal ends the run");
	check(!ticks_next(&t) && fake.reads == 1 && fake.polls == 1,
	      "--on-stdin: after a signal nothing is read");
}

static void t_stamp(void)
{
	struct recopts ro = { 0 };
	struct ticks t;

	opt = (struct opts){ 0 };
	t = begun(STEP, 0);
	fake.late = 3 * MS + 500;
	ticks_next(&t);
	ticks_stamp(&t, &ro);
	check(ro.dt_us == 203000, "dt is the real time since the start, in whole microseconds");
	check(ro.time_us == (fake.mono + fake.wall) / 1000, "time is the time of the clock");
	ticks_next(&t);
	ticks_stamp(&t, &ro);
	check(ro.dt_us == 196999, "dt is the real time since the last sample");
}

int main(void)
{
	t_limits();
	t_slack();
	t_late();
	t_inner();
	t_align();
	t_lines();
	t_stamp();
	return unit_end();
}
