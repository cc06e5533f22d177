/*
 * rough: disturbances of a long run. The clock jumps; the machine is suspended; a processor, a
 * device, a driver and a PMU disappear and return; the output is not read, is read too late or has
 * no room; the run itself is stopped for a minute. The output must stay complete and correct, and
 * no other program may be hindered.
 *
 * The machine's time is counted in instructions (qemu's icount): the minute ends at once, and the
 * load of the host has no effect. An expected time may differ by what the machine itself needs.
 */
#include "play.h"

#include <sys/mount.h>
#include <sys/time.h>

enum { YEAR = 366 * 86400 };

enum { SYMBOLS = 8 };	/* seconds in which a run has read the symbols of the kernel */

enum { D_ONE, D_TWO };

static const struct dev devs[DEVS] = {
	[D_ONE] = { "i915:hwmon", "card0", "i915", "/dev/dri/renderD128" },
	[D_TWO] = { "xe:pm:hwmon", "card1", "xe", "/dev/dri/renderD129" },
};

static struct play worker = { D_ONE, "render", FAKE_DIALECT_NS, 25, 1 };

/* ---- helpers ---- */

/* Expects n intervals of dt seconds with this value; the interval number `late` may have any dt. */
static void want_periods(const struct run *r, const struct periods *s, int n, double dt, double value, int late)
{
	want(s->n == n, "gpustat %s: %d samples, not %d", r->args, s->n, n);
	for (int i = 0; i < s->n; i++) {
		want(i == late || fabs(s->p[i].dt - dt) <= 0.05 * dt, "gpustat %s: dt %d is %f, not %f", r->args, i, s->p[i].dt, dt);
		want(near(s->p[i].value, value), "gpustat %s: sample %d: %f, not %f", r->args, i, s->p[i].value, value);
	}
}

/* Start-up time in so slow a machine: programs that start at the same time delay each other's first
 * reading. */
#define START 0.04

static pid_t work(void)
{
	return child(setup_play, &worker, NULL);
}

/* ---- clocks ---- */

static void jump(double by)
{
	double t = clock_is(CLOCK_REALTIME) + by;
	struct timeval v = { (time_t)t, (suseconds_t)((t - floor(t)) * 1e6) };

	if (settimeofday(&v, NULL))
		die("settimeofday");
}

/* For each record: by how many years its time differs from the previous time plus dt. */
static void want_jumps(const struct run *r, const struct periods *s)
{
	int up = 0, down = 0;

	for (int i = 1; i < s->n; i++) {
		double by = s->p[i].time - s->p[i - 1].time - s->p[i].dt;

		up += fabs(by - YEAR) < 2;
		down += fabs(by + 2 * YEAR) < 2;
		want(fabs(by) < 0.1 || fabs(by - YEAR) < 2 || fabs(by + 2 * YEAR) < 2, "gpustat %s: time %d moved by %f", r->args, i, by);
	}
	want(up == 2 && down == 1, "gpustat %s: %d and %d jumps, not 2 and 1", r->args, up, down);
}

static void t_clock(void)
{
	static const char *const args[] = { "-o json 1 8", "clients -o json 1 8", "--align -o json 1 8", "-t mono -o json 1 8" };
	struct run *r[LEN(args)], *iso, *sample, *stat;
	struct periods s;
	pid_t pid = work();
	int years = 0;
	char was[8] = "";

	begin("the clock jumps ahead one year, back two, and ahead again: no sample or rate is affected");
	sample = start("sample -a -e cpu-clock -F 4 -o json --timeout 16000", NULL);
	nap(SYMBOLS);
	for (size_t i = 0; i < LEN(args); i++) {
		r[i] = start(args[i], NULL);
		nap(START);
	}
	iso = start("-t iso -o json 1 8", NULL);
	stat = start("stat -a -e cpu-clock -o json 1 8", NULL);
	nap(2.4);
	jump(YEAR);
	nap(2);
	jump(-2.0 * YEAR);
	nap(2);
	jump(YEAR);
	for (size_t i = 0; i < LEN(args); i++) {
		finish(r[i]);
		ended(r[i], 0);
		s = periods(r[i], "dev", "card0", "engine/render/busy");
		want(s.n == 8, "gpustat %s: %d samples, not 8", args[i], s.n);
		for (int k = 0; k < s.n; k++) {
			want(near(s.p[k].value, 25), "gpustat %s: sample %d: %f, not 25", args[i], k, s.p[k].value);
			want(fabs(s.p[k].dt - 1) <= (k ? 0.05 : 0.3) || (i == 2 && s.p[k].dt > 0.4 && s.p[k].dt < 2.1), "gpustat %s: dt %d is %f",
			     args[i], k, s.p[k].dt);
		}
		if (i < 3)
			want_jumps(r[i], &s);
		close_run(r[i]);
	}
	finish(iso);
	ended(iso, 0);
	for each_record(v, iso) {
		const char *t = json_get(v, "time").p;

		years += t && strncmp(t, was, 5);
		snprintf(was, sizeof was, "%.5s", t ? t : "");
	}
	want(years >= 4, "-t iso: %d jumps to another year, not 3", years - 1);
	close_run(iso);
	finish(stat);
	ended(stat, 0);
	s = periods(stat, "event", "cpu-clock", "value");
	want_periods(stat, &s, 8, 1, 1e9 * sysconf(_SC_NPROCESSORS_ONLN), -1);
	want_jumps(stat, &s);
	close_run(stat);
	finish(sample);
	ended(sample, 0);
	s = periods(sample, "event", "cpu-clock", "period");
	years = 0;
	for (int i = 1; i < s.n; i++)
		years += fabs(s.p[i].time - s.p[i - 1].time) > YEAR / 2.0;
	want(s.n > 10 && years == 3, "sample: %d records, %d jumps", s.n, years);
	close_run(sample);
	end();
	reap(pid);
}

/* In so slow a machine the program needs much time to start and to exit; the time of a one-sample
 * run includes that, too. */
static void t_count(void)
{
	pid_t pid = work();
	struct run *one = run("0.2 1 -o json", NULL), *five = run("0.2 5 -o json", NULL);
	struct periods s = periods(five, "dev", "card0", "engine/render/busy");

	begin("gpustat 0.2 5 prints 5 samples in 1.0 s, within 5 %");
	ended(one, 0);
	ended(five, 0);
	want_periods(five, &s, 5, 0.2, 25, -1);
	want(fabs(s.p[4].time - s.p[0].time - 0.8) <= 0.04, "first and last are %.3f s apart, not 0.8", s.p[4].time - s.p[0].time);
	want(fabs(five->took - one->took - 0.8) <= 0.04, "it took %.3f s, and %.3f s for one sample", five->took, one->took);
	want(one->took >= 0.2 && one->took < 0.35, "one sample took %.3f s", one->took);
	note("it took %.3f s, and %.3f s for one sample", five->took, one->took);
	close_run(one);
	close_run(five);
	end();
	reap(pid);
}

/* ---- suspend ---- */

static void sleep_through(const char *name, const char *test, const char *state)
{
	static const char *const args[] = { "-o json 1 6", "clients -o json 1 6", "host -o json 1 6", "counters drm/card0/render/busy -o json 1 6" };
	static const char *const keys[] = { "dev", "dev", "name", "name" };
	static const char *const names[] = { "card0", "card0", "host/memory/-/total", "drm/card0/render/busy" };
	static const char *const paths[] = { "engine/render/busy", "engine/render/busy", "dt", "value" };
	struct run *r[LEN(args)];
	pid_t pid = work();
	double slept, mono;
	int resumed;

	begin(name);
	nap(0.5);
	for (size_t i = 0; i < LEN(args); i++)
		r[i] = start(args[i], NULL);
	nap(2.4);
	resumed = atoi(text(sysfile(D_TWO, "resumes")));
	mono = clock_is(CLOCK_MONOTONIC);
	slept = suspend(test, state);
	mono = clock_is(CLOCK_MONOTONIC) - mono;
	want(slept >= 1.5, "control: it slept for %f s", slept);
	for (size_t i = 0; i < LEN(args); i++) {
		struct periods s;
		double most = 0;

		finish(r[i]);
		ended(r[i], 0);
		s = periods(r[i], keys[i], names[i], paths[i]);
		want(s.n == 6, "gpustat %s: %d samples, not 6", args[i], s.n);
		for (int k = 0; k < s.n; k++) {
			most = fmax(most, s.p[k].dt);
			want(s.p[k].dt > 0.45, "gpustat %s: dt %d is %f", args[i], k, s.p[k].dt);
			want(i == 2 || fabs(s.p[k].value - 25) <= (i == 3 ? 1 : 0.5), "gpustat %s: sample %d: %f, not 25", args[i], k, s.p[k].value);
		}
		want(most > mono - 1 && most < mono + 1.2, "gpustat %s: the longest dt is %f, of %f s", args[i], most, mono);
		want(fabs(s.p[5].time - s.p[0].time - (s.all - s.p[0].dt)) < 0.1, "gpustat %s: time and dt: %f s, %f s", args[i],
		     s.p[5].time - s.p[0].time, s.all - s.p[0].dt);
		close_run(r[i]);
	}
	want(atoi(text(sysfile(D_TWO, "resumes"))) == resumed, "the suspended GPU was woken");
	end();
	reap(pid);
}

/* ---- processors ---- */

#define CPU1 "/sys/devices/system/cpu/cpu1/online"

/* A sum over two CPUs, of which one is offline in intervals five and six. It is complete before;
 * after, it covers only the other CPU, because the kernel has dropped the count of the offline
 * one. */
static void want_half(const struct run *r)
{
	struct periods s = periods(r, "event", "cpu-clock", "running");

	for (int k = 0; k < s.n; k++)
		want(k == 3 || k == 6 || fabs(s.p[k].value - (k < 7 ? 100 : 50)) < 1, "sample %d: counted for %f %%", k, s.p[k].value);
}

static void want_reason(const struct run *r)
{
	struct view last = { NULL, NULL };

	for each_record(v, r)
		if (num(v, "cpu") == 1)
			last = v;
	want(last.p && isnan(num(last, "value")), "there is a value for the dropped count");
	want(last.p && memmem(last.p, last.e - last.p, "went offline", 12), "no reason: %.*s", last.p ? (int)(last.e - last.p) : 0, last.p);
}

static void t_cpu(void)
{
	enum { C_HOST = 1, C_SUM = 3, C_EACH };
	static const struct {
		const char *args, *key, *name, *path;
		double least, most;	/* limits of each value, where there is one */
	} cases[] = {
		{ "-o json 1 9", "dev", "card0", "engine/render/busy", 24.5, 25.5 },
		/* less than all of it after a processor disappeared */
		{ "host -o json 1 9", "name", "host/cpu/all/util", "value", 0, 90 },
		{ "counters CPU*utilization -o json 1 9", "name", "CPU 1 utilization", "value", 0, 100 },
		{ "stat -a -e cpu-clock -o json 1 9", "event", "cpu-clock", "value", 0.9e9, 2.1e9 },
		{ "stat -A -e cpu-clock -o json 1 9", "cpu", NULL, "value", 0, 1.1e9 },
		{ "stat -a -e fakepmu/ticks/ -o json 1 9", "event", "fakepmu/ticks/", "value", 0.95e9, 1.05e9 },
		{ "stat -C 0 -e cpu-clock -o json 1 9", "event", "cpu-clock", "value", 0.95e9, 1.05e9 },
		{ "sample -a -e cpu-clock -F 4 -o json --timeout 18000", "event", "cpu-clock", "period", 1, 2e9 },
	};
	struct run *r[LEN(cases)];
	pid_t pid;

	if (access(CPU1, F_OK)) {
		begin("a processor goes offline and online # SKIP this machine has one processor");
		end();
		return;
	}
	pid = work();
	for (size_t i = LEN(cases); i-- > 0; nap(i == LEN(cases) - 1 ? SYMBOLS : 0))
		r[i] = start(cases[i].args, NULL);
	nap(3.4);
	must_put(CPU1, "0");
	nap(3);
	must_put(CPU1, "1");
	for (size_t i = 0; i < LEN(cases); i++) {
		char name[160];
		struct periods s;

		snprintf(name, sizeof name, "a processor goes offline and online: gpustat %s", cases[i].args);
		begin(name);
		finish(r[i]);
		ended(r[i], 0);
		s = periods(r[i], cases[i].key, cases[i].name, cases[i].path);
		want(s.n >= 9, "%d samples", s.n);
		for (int k = 0; k < s.n; k++)
			want(isnan(s.p[k].value) || (s.p[k].value >= cases[i].least && s.p[k].value <= cases[i].most), "sample %d: %f", k, s.p[k].value);
		if (i == C_SUM)
			want_half(r[i]);
		if (i == C_EACH)
			want_reason(r[i]);
		close_run(r[i]);
		end();
	}
	reap(pid);
}

/* ---- drivers ---- */

/* Does not wait: returns 0 or -errno. */
static int unload(const char *module)
{
	return syscall(SYS_delete_module, module, O_NONBLOCK) ? -errno : 0;
}

static void insert(const char *path, const char *params)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || syscall(SYS_finit_module, fd, params, 0))
		die(path);
	close(fd);
}

static void stop(struct run *r)
{
	kill(r->pid, SIGINT);
	r->began = now();
	finish(r);
}

/* The GPU of worker and its other one swap numbers. */
static void want_moved(const struct run *r)
{
	struct periods one = periods(r, "dev", "card0", "engine/render/busy"), two = periods(r, "dev", "card1", "engine/render/busy");
	int before = 0, after = 0;

	for (int i = 0; i < one.n; i++)
		before += near(one.p[i].value, worker.duty);
	for (int i = 0; i < two.n; i++)
		after += near(two.p[i].value, worker.duty);
	want(before >= 2 && after >= 2, "gpustat %s: %d samples of its work as card0, %d as card1", r->args, before, after);
	for (struct view v = record(r, 0), last = v;; v = next(v)) {
		if (v.p) {
			last = v;
			continue;
		}
		want(is(last, "dev", "card1") && is(last, "driver", "i915"), "gpustat %s: the last record is about another device", r->args);
		want(!is(last, "kind", "device") || num(last, "temp/edge") == 45, "gpustat %s: the new device has no temperature", r->args);
		break;
	}
}

static void t_unload(void)
{
	static const char *const args[] = {
		"-o json 0.5", "clients -o json 0.5", "cgroups -o json 0.5", "--state /state -o json 0.5",
		"host -o json 0.5", "counters drm* GPU* -o json 0.5", "-o json --inner 0.1 0.5", "-S -o json 0.5",
		"stat -a -e cpu-clock -o json 0.5", "sample -a -e cpu-clock:u -o json", "-o prom -O /metrics.prom 0.5",
	};
	struct play again = { D_ONE, "render", FAKE_DIALECT_NS, 25, 1 };
	struct run *r[LEN(args)];
	pid_t pid = work();
	int e;

	begin("a driver is unloaded during runs of all commands, and its device returns under another number");
	for (size_t i = 0; i < LEN(args); i++)
		r[i] = start(args[i], NULL);
	nap(2.7);
	e = unload("fake");
	want(e == -EAGAIN, "control: unload with a client: %s", strerror(-e));
	reap(pid);
	e = unload("fake");
	want(!e, "it cannot be unloaded: %s", strerror(-e));
	nap(1.2);
	insert("/lib/fake.ko", "devs=xe:pm:hwmon,i915:hwmon");
	again.fd = play_at(&again, devs[D_TWO].node);
	nap(3.2);
	for (size_t i = 0; i < LEN(args); i++) {
		stop(r[i]);
		ended(r[i], 0);
		if (i < 2)
			want_moved(r[i]);
		want(r[i]->n[0] || i > 8, "gpustat %s: printed nothing", args[i]);
		close_run(r[i]);
	}
	close(again.fd);
	unlink("/state");
	end();

	begin("a driver is unloaded and loaded forty times during runs with an interval of 10 ms");
	r[0] = start("-o json 10ms", NULL);
	r[1] = start("clients -o json 10ms", NULL);
	r[2] = start("counters drm* GPU* -o json 10ms", NULL);
	nap(0.5);
	for (int i = 0; i < 40; i++) {
		e = unload("fake");
		if (!want(!e, "cycle %d: it cannot be unloaded: %s", i, strerror(-e)))
			break;
		nap(0.033);
		insert("/lib/fake.ko", i & 1 ? "devs=xe:pm:hwmon,i915:hwmon" : "devs=i915:hwmon,xe:pm:hwmon");
		nap(0.029);
	}
	for (int i = 0; i < 3; i++) {
		stop(r[i]);
		ended(r[i], 0);
		close_run(r[i]);
	}
	end();
	unload("fake");
	insert("/lib/fake.ko", "devs=i915:hwmon,xe:pm:hwmon");
}

/* ---- a PMU ---- */

static void t_pmu(void)
{
	struct run *r = start("stat -a -e fakepmu/ticks/ -o json 0.5", NULL), *c;
	struct periods s;
	int e;

	begin("a PMU's driver: the kernel keeps it while its events are counted, and gpustat keeps it at no other time");
	nap(1.2);
	e = unload("pmufake");
	want(e == -EAGAIN, "control: unload with an open event: %s", strerror(-e));
	stop(r);
	ended(r, 0);
	close_run(r);
	r = start("stat -a -e cpu-clock -o json 0.5", NULL);
	c = start("counters CPU* -o json 0.5", NULL);
	nap(1.2);
	e = unload("pmufake");
	want(!e, "it cannot be unloaded: %s", strerror(-e));
	stop(r);
	stop(c);
	ended(r, 0);
	ended(c, 0);
	close_run(r);
	close_run(c);
	end();

	begin("events of a PMU that is gone: reported, and counted again after it has returned");
	r = run("stat -a -e fakepmu/ticks/ -o json -w 0.1", NULL);
	want(r->status != 0 && strstr(r->text[1], "fakepmu"), "exit %d: %s", r->status, r->text[1]);
	close_run(r);
	r = run("events", NULL);
	ended(r, 0);
	want(!strstr(r->text[0], "fakepmu"), "events still lists it");
	close_run(r);
	insert("/lib/pmufake.ko", "");
	r = run("stat -a -e fakepmu/ticks/,fakepmu/tocks/ -o json 0.5 2", NULL);
	ended(r, 0);
	s = periods(r, "event", "fakepmu/tocks/", "value");
	want(s.n == 2 && near(s.p[1].value / s.p[1].dt, 1e8), "%d samples, %f", s.n, s.p[1].value);
	close_run(r);
	end();
}

/* ---- stopped ---- */

static void t_stopped(void)
{
	static const struct {
		const char *args, *key, *name, *path;
		double value;	/* value of each sample; with rate: per second */
		bool rate;
	} cases[] = {
		{ "-o json 1", "dev", "card0", "engine/render/busy", 25 },
		{ "clients -o json 1", "dev", "card0", "engine/render/busy", 25 },
		{ "cgroups -o json 1", "dev", "card0", "engine/render/busy", 25 },
		{ "-o json --align 1", "dev", "card0", "engine/render/busy", 25 },
		{ "-o json --inner 250ms -d card0 1", "summary", "avg", "dt" },
		{ "counters drm/card0/render/busy -o json 1", "name", "drm/card0/render/busy", "value", 25 },
		{ "host -o json 1", "name", "host/memory/-/total", "dt" },
		{ "stat -a -e fakepmu/ticks/ -o json 1", "event", "fakepmu/ticks/", "value", 1e9, true },
		{ "stat -a -e cpu-clock -o json 1", "event", "cpu-clock", "value", 1e9, true },
	};
	struct run *r[LEN(cases)];
	pid_t pid = work();

	for (size_t i = 0; i < LEN(cases); i++) {
		r[i] = start(cases[i].args, NULL);
		nap(START);
	}
	nap(3.4 - LEN(cases) * START);
	for (size_t i = 0; i < LEN(cases); i++)
		kill(r[i]->pid, SIGSTOP);
	nap(60);
	for (size_t i = 0; i < LEN(cases); i++)
		kill(r[i]->pid, SIGCONT);
	nap(3.4);
	for (size_t i = 0; i < LEN(cases); i++) {
		char name[160];
		struct periods s;
		int late = 0;

		snprintf(name, sizeof name, "stopped for a minute: one late sample with the correct dt, no burst: gpustat %s", cases[i].args);
		begin(name);
		stop(r[i]);
		ended(r[i], 0);
		s = periods(r[i], cases[i].key, cases[i].name, cases[i].path);
		s.n -= cases[i].rate; /* one more reading at its end */
		for (int k = 0; k < s.n; k++) {
			double v = cases[i].rate ? s.p[k].value / s.p[k].dt : s.p[k].value;

			if (i == LEN(cases) - 1)
				v /= sysconf(_SC_NPROCESSORS_ONLN);

			late += s.p[k].dt > 59 && s.p[k].dt < 62;
			want(s.p[k].dt > 0.45 && (s.p[k].dt < 1.6 || s.p[k].dt > 59), "dt %d is %f", k, s.p[k].dt);
			want(!cases[i].value || fabs(v - cases[i].value) <= (i == 5 ? 1 : (k ? 0.02 : 0.02 + START) * cases[i].value), "sample %d: %f, not %f", k, v,
			     cases[i].value);
		}
		want(late == 1, "%d samples of one minute", late);
		/* With --align, the rest of a second at the start and after the stop may be part of
		 * the next interval. */
		want(s.n >= (i == 3 ? 5 : 6) && s.n <= 8, "%d samples, not 7", s.n);
		close_run(r[i]);
		end();
	}
	reap(pid);
}

/* ---- the destination of the output ---- */

static void close_out(void)
{
	close(1);
}

static void close_all(void)
{
	close(0);
	close(1);
	close(2);
}

static void full_out(void)
{
	dup2(open("/dev/full", O_WRONLY), 1);
}

static void gone_out(void)
{
	int p[2];

	if (pipe(p))
		_exit(126);
	dup2(p[1], 1);
	close(p[0]);
	close(p[1]);
}

static void gone_quietly(void)
{
	signal(SIGPIPE, SIG_IGN);
	gone_out();
}

/* Every command that prints. */
static const char *const printers[] = {
	"-o json -w 0.1", "0.1 3", "clients -w 0.1", "cgroups -w 0.1", "list", "events", "doctor", "host -w 0.1", "counters",
	"counters CPU* -w 0.1", "stat -a -e cpu-clock -w 0.1", "munin", "munin config", "oa list", "-h", "-V", "-f help",
	"-o prom -w 0.1", "-o openmetrics -w 0.1", "-o influx -w 0.1", "-o csv -w 0.1", "-o svg 0.1 2", "-S 0.1 2", "--inner 50ms 0.1 2",
	"sample -a -e cpu-clock:u -F 100 --summary --timeout 100 -- /gpustat -V", "check -w 90 -c 95",
};

static void t_out(void)
{
	static const struct {
		const char *name;
		void (*before)(void);
		int status;
		const char *says;
	} cases[] = {
		{ "stdout is closed: each command exits 1 with a message", close_out, 1, "cannot write to standard output: Bad file descriptor" },
		{ "stdout is full: each command exits 1 with a message", full_out, 1, "cannot write to standard output: No space left on device" },
		{ "the reader of the output has exited: SIGPIPE ends each command silently", gone_out, 128 + SIGPIPE, "" },
		{ "the reader has exited and SIGPIPE is ignored: each command exits 1 with a message", gone_quietly, 1, "cannot write to standard output: Broken pipe" },
	};

	pid_t pid = work();

	for (size_t i = 0; i < LEN(cases); i++) {
		begin(cases[i].name);
		for (size_t k = 0; k < LEN(printers); k++) {
			struct run *r = run(printers[k], cases[i].before);
			bool check = !strncmp(printers[k], "check", 5);

			/* A monitoring plugin exits with UNKNOWN; it cannot print a message. */
			want(r->status == (check && cases[i].status == 1 ? 3 : cases[i].status), "gpustat %s: exit %d", printers[k], r->status);
			want(check || (*cases[i].says ? strstr(r->text[1], cases[i].says) != NULL : !r->n[1]), "gpustat %s: message %.200s", printers[k],
			     r->text[1]);
			drop(r);
		}
		end();
	}
	reap(pid);
}

static void t_out_files(void)
{
	struct run *r;

	begin("started without any open descriptor: no file opened by gpustat receives the output");
	r = run("--state /state -w 0.1", NULL);
	ended(r, 0);
	close_run(r);
	for (int i = 0; i < 2; i++) {
		r = run("--state /state -w 0.1", close_all);
		want(r->status == 1, "exit %d, not 1", r->status);
		close_run(r);
	}
	r = run("--state /state -o json -w 0.1", NULL);
	ended(r, 0);
	want(!r->n[1], "the state file is damaged: %s", r->text[1]);
	close_run(r);
	unlink("/state");
	end();
}

#define SMALL "/small"

static bool small_fill(void)
{
	static char b[65536];
	int fd = open(SMALL "/filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	bool full;

	while (write(fd, b, sizeof b) > 0)
		;
	full = fd >= 0 && errno == ENOSPC;
	close(fd);
	return full;
}

/* Compares the files on a full file system before and after a run. */
static void t_full(void)
{
	static const struct {
		const char *args, *file;
		bool replaced;		/* replaced completely or not at all */
	} cases[] = {
		{ "-o json -O " SMALL "/a -w 0.1", SMALL "/a" },
		{ "-o json -O " SMALL "/a 0.1 5", SMALL "/a" },
		{ "clients -o csv -O " SMALL "/a -w 0.1", SMALL "/a" },
		{ "host -o json -O " SMALL "/a -w 0.1", SMALL "/a" },
		{ "stat -a -e cpu-clock -o json -O " SMALL "/a -w 0.1", SMALL "/a" },
		{ "-o prom -O " SMALL "/b -w 0.1", SMALL "/b", true },
		{ "-o svg -O " SMALL "/b 0.1 3", SMALL "/b", true },
		{ "--state " SMALL "/b -w 0.1", SMALL "/b", true },
	};
	struct stat st;

	begin("a full file system: exit status 1 and a message; a file that is replaced as a whole stays unchanged");
	mkdir(SMALL, 0755);
	if (mount("tmpfs", SMALL, "tmpfs", 0, "size=64k"))
		die("tmpfs");
	for (size_t i = 0; i < LEN(cases); i++) {
		struct run *r;
		bool state = !strncmp(cases[i].args, "--state", 7);

		close(open(cases[i].file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
		want(small_fill(), "control: the file system has room");
		r = run(cases[i].args, NULL);
		want(r->status == 1, "gpustat %s: exit %d, not 1", r->args, r->status);
		want(strstr(r->text[1], "No space left"), "gpustat %s: message %.200s", r->args, r->text[1]);
		want(!state || r->n[0], "gpustat %s: printed nothing", r->args);
		want(!stat(cases[i].file, &st) && (!cases[i].replaced || !st.st_size), "gpustat %s: the file has changed", r->args);
		close_run(r);
		unlink(cases[i].file);
		unlink(SMALL "/filler");
	}
	for (DIR *d = opendir(SMALL); d;) {
		struct dirent *e = readdir(d);

		if (!e) {
			closedir(d);
			break;
		}
		want(e->d_name[0] == '.', "%s was not removed", e->d_name);
	}
	umount(SMALL);
	end();
}

/* Shrinks the pipe of stdout to one page; narrow_nonblocking() also makes it non-blocking. */
static void narrow(void)
{
	fcntl(1, F_SETPIPE_SZ, 4096);
}

static void narrow_nonblocking(void)
{
	narrow();
	fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK);
}

/* The reader sleeps for ten seconds: samples that do not fit are skipped, none is truncated, and dt
 * is correct. */
static void t_slow(void)
{
	static const struct {
		const char *name, *args;
		void (*before)(void);
	} cases[] = {
		{ "the reader sleeps: records stay complete, none is repeated, dt includes the skipped time", "-o json 0.1", narrow },
		{ "the reader sleeps, with a non-blocking pipe: records stay complete, none is repeated, dt includes the skipped time", "-o json 0.1", narrow_nonblocking },
		{ "host, the reader sleeps: records stay complete, none is repeated, dt includes the skipped time", "host -o json 0.1", narrow },
		{ "stat -A, the reader sleeps: records stay complete, none is repeated, dt includes the skipped time", "stat -A -e cpu-clock,fakepmu/ticks/,context-switches -o json 0.1", narrow_nonblocking },
	};

	for (size_t i = 0; i < LEN(cases); i++) {
		struct run *r = start(cases[i].args, cases[i].before);
		double last = 0, dt = 0, most = 0, sum = 0, first = 0, stopped;
		bool stat;

		begin(cases[i].name);
		await(r);
		nap(10);
		for (double until = now() + 1; now() < until;) {
			struct pollfd p = { r->fd[0], POLLIN, 0 };

			if (poll(&p, 1, 100) > 0)
				drain(r, 0);
		}
		stopped = clock_is(CLOCK_REALTIME);
		stop(r);
		ended(r, 0);
		for each_record(v, r) {
			double t = num(v, "time");

			if (t == last)
				continue;
			dt = num(v, "dt");
			/* one more reading at its end */
			stat = is(v, "kind", "event") && t > stopped - 0.2;
			if (last) {
				sum += dt;
				want(fabs(t - last - dt) < 0.02, "time went on by %f, dt is %f", t - last, dt);
				want(dt > 0.045 || stat, "dt is %f", dt);
			} else {
				first = t;
			}
			most = fmax(most, dt);
			last = t;
		}
		want(most > 5, "control: no sample was delayed: %f", most);
		want(fabs(last - first - sum) < 0.1, "%f s in records of %f s", last - first, sum);
		close_run(r);
		end();
	}
}

static void t_never_read(void)
{
	static const struct {
		const char *args;
		void (*before)(void);
	} cases[] = {
		{ "-o json 0.1", narrow }, { "-o json 0.1", narrow_nonblocking }, { "host -o json 0.1", narrow },
		{ "stat -a -e cpu-clock -o json 0.1", narrow }, { "stat -A -e cpu-clock -o json 0.1", narrow_nonblocking },
		{ "sample -a -e cpu-clock -F 100 -o json", narrow }, { "sample -a -e cpu-clock -F 100", narrow },
	};

	begin("the reader has stopped reading: after SIGTERM it exits within seconds, with status 1 and a message");
	for (size_t i = 0; i < LEN(cases); i++) {
		struct run *r = start(cases[i].args, cases[i].before);
		int status = 0;

		nap(SYMBOLS);
		kill(r->pid, SIGTERM);
		nap(2.5);
		want(waitpid(r->pid, &status, WNOHANG) == r->pid, "gpustat %s: it continues", r->args);
		want(WIFEXITED(status) && WEXITSTATUS(status) == 1, "gpustat %s: wait status %#x", r->args, status);
		kill(r->pid, SIGKILL);
		drain(r, 1);
		want(r->n[1] && memmem(r->text[1], r->n[1], "standard output", 15), "gpustat %s: no message", r->args);
		finish(r);
		drop(r);
	}
	end();
}

static int scenarios(void)
{
	if (mount("cgroup", "/sys/fs/cgroup", "cgroup2", 0, NULL))
		die("cgroup2");
	load_devs();
	insert("/lib/pmufake.ko", "");
	t_clock();
	t_count();
	sleep_through("tasks are frozen for two seconds: one late sample with the correct dt", "freezer", "freeze");
	sleep_through("devices are also suspended for two seconds: one late sample with the correct dt", "devices", "freeze");
	t_cpu();
	t_unload();
	t_pmu();
	t_stopped();
	t_out();
	t_out_files();
	t_full();
	t_slow();
	t_never_read();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
