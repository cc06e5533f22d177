/*
 * init: the first program of the emulated machine and, beside /gpustat, the only one. It loads
 * fake.ko, runs clients with a known busy time, runs /gpustat as a user would, and writes TAP to
 * /dev/ttyS1, separate from kernel messages. The plan is printed last: a run without a plan did not
 * finish.
 */
#include "play.h"

#define __user /* the kernel's own copy of the user-space headers */
#include <drm/drm.h>
#include <drm/drm_mode.h>
#include <sys/time.h>

/* ---- the machine ---- */

enum { D_NS, D_XE, D_MSM, D_ASLEEP, D_ACCEL, D_CROWD, D_UNPLUG };

static const struct dev devs[DEVS] = {
	[D_NS]     = { "i915:hwmon",      "card0",  "i915",      "/dev/dri/renderD128" },
	[D_XE]     = { "xe",              "card1",  "xe",        "/dev/dri/renderD129" },
	[D_MSM]    = { "msm",             "card2",  "msm",       "/dev/dri/renderD130" },
	[D_ASLEEP] = { "xe:pm:hwmon",     "card3",  "xe",        "/dev/dri/renderD131" },
	[D_ACCEL]  = { "intel_vpu:accel", "accel0", "intel_vpu", "/dev/accel/accel0" },
	[D_CROWD]  = { "amdgpu",          "card4",  "amdgpu",    "/dev/dri/renderD132" },
	[D_UNPLUG] = { "panfrost",        "card5",  "panfrost",  "/dev/dri/renderD133" },
};

static struct play plays[] = {
	{ D_NS,  "render", FAKE_DIALECT_NS,  12.5, 1 },
	{ D_NS,  "render", FAKE_DIALECT_NS,  50,   1 },
	{ D_NS,  "video",  FAKE_DIALECT_NS,  90,   2 },
	{ D_XE,  "rcs",    FAKE_DIALECT_XE,  12.5, 1, 19200000 },
	{ D_XE,  "rcs",    FAKE_DIALECT_XE,  50,   1, 19200000 },
	{ D_XE,  "vcs",    FAKE_DIALECT_XE,  90,   2, 19200000 },
	{ D_MSM, "gpu",    FAKE_DIALECT_MSM, 12.5, 1, 400 * MHZ, 800 * MHZ },
	{ D_MSM, "gpu",    FAKE_DIALECT_MSM, 50,   1, 400 * MHZ, 800 * MHZ },
	{ D_MSM, "gpu2",   FAKE_DIALECT_MSM, 90,   2, 600 * MHZ, 800 * MHZ },
};

/* want_plays: checks that each client of plays[] is reported with its known busy time. */
static void want_plays(const struct run *r)
{
	for (size_t i = 0; i < LEN(plays); i++) {
		struct play *p = &plays[i];
		struct view v = client(r, p->pid);
		char path[64];

		if (!want(v.p, "no record of the client of pid %d on %s", p->pid, devs[p->dev].dev))
			continue;
		want(is(v, "dev", devs[p->dev].dev), "pid %d is not on %s", p->pid, devs[p->dev].dev);
		want(is(v, "driver", devs[p->dev].driver), "pid %d: wrong driver", p->pid);
		snprintf(path, sizeof path, "engine/%s/busy", p->engine);
		want_near(num(v, path), p->duty, devs[p->dev].dev, path);
		if (p->keys & FAKE_MAXFREQ) {
			snprintf(path, sizeof path, "engine/%s/util", p->engine);
			want_near(num(v, path), p->duty * p->freq / p->maxfreq, devs[p->dev].dev, path);
			snprintf(path, sizeof path, "engine/%s/freq", p->engine);
			want_near(num(v, path), p->freq, devs[p->dev].dev, path);
		}
		if (p->capacity > 1) {
			snprintf(path, sizeof path, "engine/%s/capacity", p->engine);
			want(num(v, path) == p->capacity, "%s is %f, not %u", path, num(v, path), p->capacity);
		}
	}
}

/* ---- scenarios ---- */

static void t_known_busy(void)
{
	struct run *r = run("clients -w 1 -o json", NULL);

	begin("clients of known busy time, in all three dialects, are reported within 2 %");
	ended(r, 0);
	want_plays(r);
	close_run(r);
	end();

	r = run("-w 1 -o json", NULL);
	begin("the engines of a device are the sums of its clients, within 2 %");
	ended(r, 0);
	for (size_t i = 0; i < LEN(plays); i++) {
		double sum = 0;
		char path[64];

		for (size_t k = 0; k < LEN(plays); k++)
			if (plays[k].dev == plays[i].dev && !strcmp(plays[k].engine, plays[i].engine))
				sum += plays[k].duty;
		snprintf(path, sizeof path, "engine/%s/busy", plays[i].engine);
		want_near(num(device(r, plays[i].dev), path), sum, devs[plays[i].dev].dev, path);
	}
	want(num(device(r, D_NS), "clients") == 3, "card0 has %f clients, not 3", num(device(r, D_NS), "clients"));
	close_run(r);
	end();
}

/* the existing clients; one that starts after the previous run and ends before this one; totals */
static void t_state(void)
{
	struct play late = { D_NS, "copy", FAKE_DIALECT_NS, 75, 1 };
	double was, dt, busy, begun = now();
	struct run *r = run("--state /state -w 0.1 -o json", NULL);

	begin("--state: means since the last run, within 2 %, for old and new clients; totals continue");
	ended(r, 0);
	close_run(r);
	late.pid = child(setup_play, &late, &late.fd);
	nap(2);
	r = run("clients --state /state -w 20 -o json", NULL);
	ended(r, 0);
	want_plays(r);
	dt = num(client(r, late.pid), "dt");
	busy = num(client(r, late.pid), "engine/copy/busy");
	want(dt >= 2 && dt <= now() - begun, "dt is %f, of %f", dt, now() - begun);
	/* The client is at least two seconds old, and newer than the last run. */
	want(busy >= 0.75 * 2 / dt * 98 && busy <= 75 * 1.02, "the client that started since: %f %% of %f s", busy, dt);
	close_run(r);
	r = run("--state /state -r -o json", NULL);
	was = num(device(r, D_NS), "engine/copy/busy_ns");
	want(was > 1e9, "copy: %f ns", was);
	close_run(r);
	reap(late.pid);
	nap(0.2);
	r = run("--state /state -r -o json", NULL);
	ended(r, 0);
	want(num(device(r, D_NS), "engine/copy/busy_ns") >= was, "copy went backwards to %f ns from %f",
	     num(device(r, D_NS), "engine/copy/busy_ns"), was);
	close_run(r);
	unlink("/state");
	end();
}

/* The same by counter name. Values are whole percents, so the error is up to half a percent
 * larger. */
static void t_counters(void)
{
	struct run *r = run("counters drm/*/busy GPU?*?utilization Processes?amount -w 1 -o json", NULL);
	double most = 0;

	begin("counters by name: busy engines of clients, their GPU, the busiest GPU");
	ended(r, 0);
	for (size_t i = 0; i < LEN(plays); i++) {
		double sum = 0;
		char name[96];

		if (plays[i].dev != D_NS)
			continue;
		for (size_t k = 0; k < LEN(plays); k++)
			if (plays[k].dev == D_NS && !strcmp(plays[k].engine, plays[i].engine))
				sum += plays[k].duty;
		snprintf(name, sizeof name, "drm/%s/%s/busy", devs[D_NS].dev, plays[i].engine);
		want(counter(r, name).p, "no counter %s", name);
		want(fabs(num(counter(r, name), "value") - sum) <= 2.5, "%s is %f, not %f", name,
		     num(counter(r, name), "value"), sum);
		most = fmax(most, sum);
	}
	want(fabs(num(counter(r, "GPU 0 utilization"), "value") - most) <= 2.5, "GPU 0 utilization is %f, not %f",
	     num(counter(r, "GPU 0 utilization"), "value"), most);
	want(num(counter(r, "Processes amount"), "value") > 5, "no process count");
	close_run(r);
	end();
}

static void t_host(void)
{
	struct run *r = run("host -w 0.3 -o json", NULL);

	begin("host: plausible values on a machine that runs only these programs");
	ended(r, 0);
	want(num(counter(r, "host/memory/-/total"), "value") > 1e8, "memory is %f", num(counter(r, "host/memory/-/total"), "value"));
	want(num(counter(r, "host/cpu/all/util"), "value") <= 100, "util is %f", num(counter(r, "host/cpu/all/util"), "value"));
	want(num(counter(r, "host/processes/-/count"), "value") > 5, "no processes");
	close_run(r);
	end();
}

/* Prints the output as a user sees it: the README shows this run. */
static void show(const char *args)
{
	struct run *r = run(args, NULL);

	printf("# $ gpustat %s\n", args);
	for (char *line = r->text[0], *end; *line; line = end) {
		end = strchr(line, '\n');
		end = end ? end + 1 : line + strlen(line);
		printf("# %.*s", (int)(end - line), line);
	}
	close_run(r);
}

static void t_hwmon(void)
{
	struct run *r = run("-w 0.1 -o json", NULL);
	struct view v = device(r, D_NS);

	begin("hwmon channels of a device are read");
	ended(r, 0);
	want(num(v, "temp/edge") == 45, "temp edge is %f, not 45", num(v, "temp/edge"));
	want(near(num(v, "power/card"), 4.2), "power card is %f, not 4.2", num(v, "power/card"));
	close_run(r);
	end();
}

/* A client of the primary node, with a name that every output format must escape and a PCI address
 * that differs from the device's. */
static int setup_memory(void *p)
{
	struct fake_text t = { "drm-pdev:\t0000:03:00.0\ndrm-total-system0:\t3 MiB\ndrm-shared-system0:\t1 MiB\n"
			       "drm-resident-system0:\t2 MiB\ndrm-purgeable-system0:\t0\ndrm-active-system0:\t4095\ni915-odd-key:\twith \"quotes\"\n" };
	int fd = play_at(p, "/dev/dri/card0");

	prctl(PR_SET_NAME, "a\"b\\\n\x1b\xff\x01{}");
	if (ioctl(fd, FAKE_IOC_TEXT, &t))
		die("text ioctl");
	return fd;
}

static void t_memory(void)
{
	struct play p = { D_NS, "copy", FAKE_DIALECT_NS, 25, 1 };
	pid_t pid = child(setup_memory, &p, NULL);
	struct run *r = run("clients -w 0.2 -o json", NULL);
	struct view v = client(r, pid);

	begin("a client of the primary node: memory, driver-specific keys and a name that needs escaping");
	ended(r, 0);
	want(is(v, "dev", "card0"), "it is not on card0");
	want(num(v, "memory/system0/total") == 3 << 20, "total is %f", num(v, "memory/system0/total"));
	want(num(v, "memory/system0/shared") == 1 << 20, "shared is %f", num(v, "memory/system0/shared"));
	want(num(v, "memory/system0/resident") == 2 << 20, "resident is %f", num(v, "memory/system0/resident"));
	want(num(v, "memory/system0/purgeable") == 0, "purgeable is %f", num(v, "memory/system0/purgeable"));
	want(num(v, "memory/system0/active") == 4095, "active is %f", num(v, "memory/system0/active"));
	want(is(v, "other/i915-odd-key", "with \\\"quotes\\\""), "other does not hold i915-odd-key");
	close_run(r);
	end();
	reap(pid);
}

/* One open file description in three processes, with two descriptors in the first: fork and dup, as
 * toolkits do. */
static pid_t *family;	/* shared memory, for the pids of the forked processes */
static int setup_family(void *p)
{
	int fd = play_open(p);
	pid_t pid;

	if (dup(fd) < 0 || dup(fd) < 0)
		die("dup");
	for (int i = 1; i < 3; i++) {
		pid = fork();
		if (!pid) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
		family[i] = pid;
	}
	return fd;
}

static void t_shared(void)
{
	struct play p = { D_NS, "copy", FAKE_DIALECT_NS, 25, 1 };
	struct run *r, *d;
	int fd, seen = 0;
	long long id;

	family[0] = child(setup_family, &p, &fd);
	id = client_id(family[0], fd);
	r = start("clients -w 1 -o json", NULL);
	d = run("-w 1 -o json", NULL);
	finish(r);
	begin("one client in three processes with dup'ed descriptors is one client with three pids");
	ended(r, 0);
	ended(d, 0);
	want(id > 0, "the client's id cannot be read");
	for each_record(v, r) {
		if (num(v, "client") != id)
			continue;
		seen++;
		want(num(v, "pid") == family[0], "pid is %f, not the oldest, %d", num(v, "pid"), family[0]);
		want(count(v, "pids") == 3, "%d pids, not 3", count(v, "pids"));
		for (int i = 0; i < 3; i++)
			want(has(v, "pids", family[i]), "pids lacks %d", family[i]);
		want_near(num(v, "engine/copy/busy"), 25, "card0", "copy");
	}
	want(seen == 1, "%d records of client %lld, not 1", seen, id);
	want_near(num(device(d, D_NS), "engine/copy/busy"), 25, "card0", "copy");
	want(num(device(d, D_NS), "clients") == 4, "card0 has %f clients, not 4", num(device(d, D_NS), "clients"));
	close_run(r);
	close_run(d);
	end();
	for (int i = 2; i >= 0; i--)
		kill(family[i], SIGKILL);
	waitpid(family[0], NULL, 0);
}

#define CROWD 2000
#define CROWD_PIDS 4
/* 500 clients per process; each group of 500 uses half an engine, and all together use part of one
 * more engine. The sums of small values are correct only without earlier rounding. */
static const struct play crowd[CROWD_PIDS] = {
	{ D_CROWD, "gfx", FAKE_DIALECT_NS, 0.1, 1 },
	{ D_CROWD, "compute", FAKE_DIALECT_NS, 0.1, 1 },
	{ D_CROWD, "enc", FAKE_DIALECT_NS, 0.1, 1 },
	{ D_CROWD, "enc_1", FAKE_DIALECT_NS, 0.1, 1 },
};
static const struct play crumb = { D_CROWD, "dma", FAKE_DIALECT_NS, 0.0199, 1 };

static int setup_crowd(void *p)
{
	struct rlimit l = { CROWD, CROWD };
	int fd = -1;

	if (setrlimit(RLIMIT_NOFILE, &l))
		die("setrlimit");
	for (int i = 0; i < CROWD / CROWD_PIDS; i++) {
		fd = play_open(p);
		play_engine(fd, &crumb);
	}
	return fd;
}

static void t_crowd(void)
{
	pid_t pid[CROWD_PIDS];
	struct run *r, *d;
	struct view v;
	char path[64];
	int seen = 0, wrong = 0;

	for (int i = 0; i < CROWD_PIDS; i++)
		pid[i] = child(setup_crowd, (void *)&crowd[i], NULL);
	r = run("clients -w 1 -o json", NULL);
	d = run("-w 1 -o json", NULL);
	begin("2000 clients are counted, none is dropped, each value is correct");
	ended(r, 0);
	ended(d, 0);
	for each_record(c, r) {
		if (!is(c, "dev", devs[D_CROWD].dev))
			continue;
		for (int i = 0; i < CROWD_PIDS; i++) {
			if (num(c, "pid") != pid[i])
				continue;
			seen++;
			snprintf(path, sizeof path, "engine/%s/busy", crowd[i].engine);
			wrong += !near(num(c, path), crowd[i].duty);
		}
	}
	want(seen == CROWD, "%d client records, not %d", seen, CROWD);
	want(!wrong, "%d of them differ by more than 2 %%", wrong);
	want_plays(r);
	v = device(d, D_CROWD);
	want(num(v, "clients") == CROWD, "clients is %f", num(v, "clients"));
	want(num(v, "dropped") == 0, "dropped is %f", num(v, "dropped"));
	note("clients took %.2f s, the device line %.2f s, for a window of 1 s", r->took, d->took);
	close_run(r);
	end();

	begin("the values of 2000 clients add up to those of the device");
	for (int i = 0; i < CROWD_PIDS; i++) {
		snprintf(path, sizeof path, "engine/%s/busy", crowd[i].engine);
		want_near(num(v, path), CROWD / CROWD_PIDS * crowd[i].duty, "card4", path);
	}
	want_near(num(v, "engine/dma/busy"), CROWD * crumb.duty, "card4", "engine/dma/busy");
	close_run(d);
	end();
	for (int i = 0; i < CROWD_PIDS; i++)
		reap(pid[i]);
}

static void t_dies(void)
{
	struct play p = { D_NS, "copy", FAKE_DIALECT_NS, 25, 1 };
	pid_t pid = child(setup_play, &p, NULL);
	struct run *r = start("clients -w 1 -o json", NULL);
	double busy;

	nap(0.5);
	reap(pid);
	finish(r);
	begin("a client that exits between two reads causes no error");
	ended(r, 0);
	want_plays(r);
	busy = num(client(r, pid), "engine/copy/busy");
	want(!(busy > 26), "the dead client was %f %% busy", busy);
	close_run(r);
	end();
}

/* asleep: waits at most 3 s for the device to suspend. */
static bool asleep(void)
{
	for (int i = 0; i < 60; i++, nap(0.05))
		if (!strcmp(text(sysfile(D_ASLEEP, "power/runtime_status")), "suspended"))
			return true;
	return false;
}

static int resumes(void)
{
	return atoi(text(sysfile(D_ASLEEP, "resumes")));
}

static void t_suspended(void)
{
	static const char *const commands[] = {
		"-w 0.3 -o json", "clients -w 0.3 -o json", "list -o json", "cgroups -w 0.3 -o json", "-r -o json",
		"-w 0.3", "list",
	};
	struct play p = { D_ASLEEP, "rcs", FAKE_DIALECT_XE, 25, 1, 19200000 };
	int fd, before;
	pid_t pid = child(setup_play, &p, &fd);
	struct run *r;

	begin("control: reading the fdinfo of a suspended xe device wakes it");
	want(asleep(), "the device does not suspend");
	before = resumes();
	want(strstr(fdinfo(pid, fd), "drm-cycles-rcs"), "fdinfo shows no engine");
	want(resumes() == before + 1, "%d resumes, not 1", resumes() - before);
	want(asleep(), "the device does not suspend again");
	end();

	for (size_t i = 0; i < LEN(commands); i++) {
		char name[128];

		snprintf(name, sizeof name, "a suspended device stays suspended: gpustat %s", commands[i]);
		begin(name);
		want(asleep(), "the device does not suspend");
		before = resumes();
		r = run(commands[i], NULL);
		ended(r, 0);
		want(!strcmp(text(sysfile(D_ASLEEP, "power/runtime_status")), "suspended"), "it is active");
		want(resumes() == before, "it was woken up %d times", resumes() - before);
		if (strstr(commands[i], "-o json") && strncmp(commands[i], "clients", 7) && strncmp(commands[i], "cgroups", 7))
			want(is(device(r, D_ASLEEP), "state", "suspended"), "its state is not \"suspended\"");
		close_run(r);
		end();
	}
	reap(pid);
}

static int setup_hold(void *p)
{
	int fd = play_open(p);

	hold(fd, true);
	return fd;
}

static void t_awake(void)
{
	struct play p = { D_ASLEEP, "rcs", FAKE_DIALECT_XE, 25, 1, 19200000 };
	pid_t pid = child(setup_hold, &p, NULL);
	struct run *r = start("clients -w 1 -o json", NULL), *d = run("-w 1 -o json", NULL);

	finish(r);
	begin("a device with runtime PM that is active because it has work is read");
	ended(r, 0);
	ended(d, 0);
	want_near(num(client(r, pid), "engine/rcs/busy"), 25, "card3", "rcs");
	want_near(num(device(d, D_ASLEEP), "engine/rcs/busy"), 25, "card3", "rcs");
	want(is(device(d, D_ASLEEP), "state", "active"), "its state is not \"active\"");
	want(num(device(d, D_ASLEEP), "temp/edge") == 45, "temp is %f", num(device(d, D_ASLEEP), "temp/edge"));
	close_run(r);
	close_run(d);
	end();
	reap(pid);
	asleep();
}

static void t_accel(void)
{
	struct play p = { D_ACCEL, "npu", FAKE_DIALECT_NS, 25, 1 };
	struct run *r, *d, *l;
	struct view v;
	pid_t pid;

	if (access(devs[D_ACCEL].node, F_OK)) {
		begin("an accel node # SKIP this kernel has none: older than 6.2, or built without");
		end();
		return;
	}
	pid = child(setup_play, &p, NULL);
	r = start("clients -w 1 -o json", NULL);
	d = start("-w 1 -o json", NULL);
	l = run("list -o json", NULL);
	finish(r);
	finish(d);
	v = client(r, pid);
	begin("an accel node is a device, and its clients are found");
	ended(r, 0);
	ended(d, 0);
	ended(l, 0);
	want(v.p, "no record of its client");
	want(is(v, "dev", "accel0"), "the client's dev is not accel0");
	want(is(v, "driver", "intel_vpu"), "the client's driver is not intel_vpu");
	want_near(num(v, "engine/npu/busy"), 25, "accel0", "npu");
	want(num(device(d, D_ACCEL), "clients") == 1, "clients is %f", num(device(d, D_ACCEL), "clients"));
	want_near(num(device(d, D_ACCEL), "engine/npu/busy"), 25, "accel0", "npu");
	want(device(l, D_ACCEL).p, "list does not name accel0");
	close_run(r);
	close_run(d);
	close_run(l);
	end();
	reap(pid);
}

/*
 * Four intervals; from the middle of the second to the middle of the third the counters are lower.
 * The specification allows a reader to keep the larger value until it is exceeded, so the third
 * interval may contain what the second did not show.
 */
static void t_backwards(void)
{
	struct play p[] = {
		{ D_NS,  "copy", FAKE_DIALECT_NS,  20, 1 },
		{ D_XE,  "bcs",  FAKE_DIALECT_XE,  20, 1, 19200000 },
		{ D_MSM, "aux",  FAKE_DIALECT_MSM, 20, 1, 400 * MHZ, 800 * MHZ },
		{ D_XE,  "ccs",  FAKE_DIALECT_XE,  20, 1, 19200000 },
	};
	/* The last one: a GPU reset, after which the time base restarts. */
	static const struct fake_shift back[] = {
		{ -2000000000, 0, 0 }, { 0, -40000000, 0 }, { -2000000000, -800000000, 0 }, { 0, -40000000, -400000000 },
	};
	double busy[LEN(p)][4];
	int fd[LEN(p)], n[LEN(p)] = { 0 };
	struct run *r;
	long long id[LEN(p)];

	for (size_t i = 0; i < LEN(p); i++) {
		fd[i] = play_open(&p[i]);
		/* keeps the lower values above zero */
		shift(fd[i], 60ll * 1000000000, 60ll * 400000000, 60ll * 400000000);
		id[i] = client_id(getpid(), fd[i]);
	}
	r = start("clients -o json 0.5 4", NULL);
	await(r); /* start-up is slow under load */
	nap(0.25);
	for (size_t i = 0; i < LEN(p); i++)
		shift(fd[i], 60ll * 1000000000 + back[i].ns, 60ll * 400000000 + back[i].cycles,
		      60ll * 400000000 + back[i].total);
	nap(0.5);
	for (size_t i = 0; i < LEN(p); i++)
		shift(fd[i], 60ll * 1000000000, 60ll * 400000000, 60ll * 400000000);
	finish(r);
	begin("values that go backwards: 0 in that interval, never huge");
	ended(r, 0);
	for each_record(v, r)
		for (size_t i = 0; i < LEN(p); i++) {
			char path[64];

			if (num(v, "client") != id[i] || n[i] == 4)
				continue;
			snprintf(path, sizeof path, "engine/%s/busy", p[i].engine);
			busy[i][n[i]++] = num(v, path);
		}
	for (size_t i = 0; i < LEN(p); i++) {
		const char *name = p[i].engine;

		close(fd[i]);
		if (!want(n[i] == 4, "%s: %d records, not 4", name, n[i]))
			continue;
		note("%s: %.3f %.3f %.3f %.3f", name, busy[i][0], busy[i][1], busy[i][2], busy[i][3]);
		want_near(busy[i][0], 20, "first interval", name);
		want(busy[i][1] == 0 || (i == 3 && isnan(busy[i][1])), "%s: not 0 in the interval in which it went backwards", name);
		want(!(busy[i][2] < 0 || busy[i][2] > 50), "%s: not within 0..50 in the interval in which it recovered", name);
		/* after the time base has jumped forward again, the value is not a rate */
		if (i != 3)
			want_near(busy[i][3], 20, "last interval", name);
	}
	close_run(r);
	end();
}

static void t_unplug(void)
{
	struct play p = { D_UNPLUG, "fragment", FAKE_DIALECT_MSM | FAKE_CURFREQ, 25, 1, 400 * MHZ, 800 * MHZ };
	int fd;
	pid_t pid = child(setup_play, &p, &fd);
	struct run *r = start("clients -w 1 -o json", NULL), *d = start("-w 1 -o json", NULL),
		   *s = start("-o json 0.3 4", NULL);

	nap(0.5);
	unplug(D_UNPLUG);
	finish(r);
	finish(d);
	finish(s);
	begin("unplug during a sample: the other devices stay correct");
	want(!strstr(fdinfo(pid, fd), "drm-"), "control: fdinfo still has keys");
	ended(r, 0);
	ended(d, 0);
	ended(s, 0);
	want_plays(r);
	want_near(num(device(d, D_NS), "engine/render/busy"), 62.5, "card0", "render");
	close_run(r);
	close_run(d);
	close_run(s);
	end();

	r = run("clients -w 0.2 -o json", NULL);
	d = run("-w 0.2 -o json", NULL);
	begin("a descriptor of an unplugged device causes no error");
	ended(r, 0);
	ended(d, 0);
	want(device(d, D_NS).p, "no record of card0");
	close_run(r);
	close_run(d);
	end();
	reap(pid);
}

static void ptracer(void)
{
	enum { SYS_PTRACE = 19 };

	capable(SYS_PTRACE);
}

static void t_unprivileged(void)
{
	struct run *r = run("-w 0.2 -o json", nobody);
	struct view v = device(r, D_NS);

	begin("unprivileged: devices are shown, with the number of unreadable processes");
	ended(r, 0);
	want(v.p, "no record of card0");
	want(num(v, "unreadable") > 0, "unreadable is %f", num(v, "unreadable"));
	want(is(v, "driver", "i915"), "its driver is not i915");
	want(num(v, "temp/edge") == 45, "temp is %f", num(v, "temp/edge"));
	close_run(r);
	end();

	r = run("clients -w 0.2 -o json", nobody);
	begin("unprivileged: clients exits 4 if all processes were unreadable");
	ended(r, 4);
	want(!r->n[0], "it printed %zu bytes", r->n[0]);
	want(r->n[1], "it printed no message");
	close_run(r);
	end();
}

static void perfmon(void)
{
	enum { PERFMON = 38 };

	capable(PERFMON);
}

/* Each row is a command that perf_event_open(2) or tracefs denies, and the reason that must be given. */
static const struct {
	const char *args;
	void (*who)(void);
	const char *reason;
	const char *level; /* perf_event_paranoid; NULL: 2 */
} denials[] = {
	{ "-a -e context-switches", nobody, "denied: kernel.perf_event_paranoid; as root, or: setcap cap_perfmon+ep gpustat" },
	{ "-a -e page-faults:u", nobody, "denied: kernel.perf_event_paranoid is above 2; as root, or: "
	  "sysctl kernel.perf_event_paranoid=2 and setcap cap_perfmon+ep gpustat", "3" },
	{ "-a -e kprobe/func=vfs_read/", nobody, "denied: kernel probes require CAP_PERFMON; as root, or: setcap cap_perfmon+ep gpustat", "-1" },
	{ "-a -e kprobe/func=no_such_function/", NULL, "not supported: the kernel has no such function, or several, or no probe may be in it" },
	{ "-p 1 -e page-faults:u", nobody, "denied: it is a process of another user; as root, or: setcap cap_perfmon+ep gpustat" },
	{ "-a -e sched:sched_switch", perfmon, "denied: only root can read its number in tracefs; run as root" },
	{ "-a -e uprobe:/gpustat:0x1000", nobody, "denied: user space probes require CAP_SYS_ADMIN; run as root" },
};

static void probe_row(void (*who)(void), const char *status, const char *detail)
{
	struct run *r = run("doctor -o json", who);
	int rows = 0;

	for each_record(v, r)
		if (is(v, "source", "perf tracepoints")) {
			rows++;
			want(is(v, "status", status) && (!detail || is(v, "detail", detail)), "not %s", status);
		}
	want(rows == 1, "%d rows of tracepoints", rows);
	close_run(r);
}

static void t_denials(void)
{
	static const char level[] = "/proc/sys/kernel/perf_event_paranoid";
	char args[200], was[16];

	snprintf(was, sizeof was, "%s", text(level));
	begin("the message of a denied event has the reason; doctor finds only usable tracepoints");
	if (mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL))
		die("no tracefs");
	for (size_t i = 0; i < LEN(denials); i++) {
		struct run *r;
		int records = 0;

		must_put(level, denials[i].level ? denials[i].level : "2");
		snprintf(args, sizeof args, "stat -o json -w 0.05 %s", denials[i].args);
		r = run(args, denials[i].who);
		ended(r, 4);
		for each_record(v, r) {
			records++;
			want(is(v, "reason", denials[i].reason), "%s: not: %s", args, denials[i].reason);
		}
		want(records == 1, "%s: %d records", args, records);
		close_run(r);
	}
	probe_row(NULL, "ok", NULL);
	probe_row(perfmon, "denied", "only root can read their numbers in tracefs");
	must_put(level, was);
	umount("/sys/kernel/tracing");
	end();
}

static void t_kprobes(void)
{
	struct run *r = run("stat -o json --log-fd 1 -e kprobe:vfs_read,kretprobe:vfs_read -- /gpustat host -O /dev/null", NULL);
	double counts[2] = { 0 };
	int records = 0;

	begin("a function of the kernel, by its name: its calls and its returns are counted");
	ended(r, 0);
	for each_record(v, r)
		if (records < 2)
			counts[records++] = num(v, "value");
	want(records == 2, "%d records", records);
	want(counts[0] > 5, "%f calls", counts[0]);
	want(counts[0] == counts[1], "%f calls, %f returns", counts[0], counts[1]);
	close_run(r);
	end();
}

/*
 * What the kernel allows with CAP_SYS_PTRACE only: /proc/PID/fd has mode 0500 and stays closed to
 * other users (EACCES: only the owner's bits apply, and overrides need other capabilities), while
 * /proc/PID/fdinfo has mode 0555 with a ptrace check, which the capability passes. So the text
 * can be read, but /proc does not provide st_rdev; pidfd_getfd(2) requires only ptrace access and
 * would return the descriptor itself.
 */
static int look(const char *dir)
{
	DIR *d;
	char path[300];
	struct dirent *e;
	int fd, n = 0;

	snprintf(path, sizeof path, "/proc/%d/%s", plays[0].pid, dir);
	d = opendir(path);
	if (!d)
		return -1;
	while ((e = readdir(d))) {
		snprintf(path, sizeof path, "/proc/%d/%s/%s", plays[0].pid, dir, e->d_name);
		fd = e->d_name[0] == '.' ? -1 : open(path, O_RDONLY | O_CLOEXEC);
		n += fd >= 0;
		if (fd >= 0)
			close(fd);
	}
	closedir(d);
	return n;
}

/* Gets the descriptor of the first client by pidfd_getfd: its device number is what fd/ would have
 * shown. */
static bool take(void)
{
	enum { PIDFD_OPEN = 434, PIDFD_GETFD = 438 };
	struct stat a, b;
	int pidfd = syscall(PIDFD_OPEN, plays[0].pid, 0);
	int fd = syscall(PIDFD_GETFD, pidfd, plays[0].fd, 0);

	return fd >= 0 && !fstat(fd, &a) && !stat(devs[D_NS].node, &b) && a.st_rdev == b.st_rdev;
}

static void t_ptrace(void)
{
	int before = resumes(), status;
	pid_t pid = fork();
	struct run *r, *d;

	if (!pid) {
		ptracer();
		_exit((look("fdinfo") > 0) | (look("fd") >= 0) << 1 | take() << 2);
	}
	waitpid(pid, &status, 0);
	begin("control: CAP_SYS_PTRACE alone opens fdinfo/ but not fd/");
	want(WIFEXITED(status) && (WEXITSTATUS(status) & 3) == 1, "wait status %#x", status);
	want(WIFEXITED(status) && (WEXITSTATUS(status) & 4), "pidfd_getfd does not work");
	end();

	r = start("clients -w 1 -o json", ptracer);
	d = run("-w 1 -o json", ptracer);
	finish(r);
	begin("with CAP_SYS_PTRACE only, clients of other users are found through fdinfo/");
	ended(r, 0);
	ended(d, 0);
	/* One device is i915 and one is msm; two are xe, and nothing in the fdinfo of a platform
	 * device distinguishes these. */
	for (size_t i = 0; i < LEN(plays); i++) {
		struct view v = client(r, plays[i].pid);
		char path[64];

		if (!want(v.p, "no record of the client of pid %d", plays[i].pid))
			continue;
		want(is(v, "driver", devs[plays[i].dev].driver), "pid %d: wrong driver", plays[i].pid);
		if (plays[i].dev != D_XE)
			want(is(v, "dev", devs[plays[i].dev].dev), "pid %d is not on %s", plays[i].pid,
			     devs[plays[i].dev].dev);
		snprintf(path, sizeof path, "engine/%s/busy", plays[i].engine);
		want_near(num(v, path), plays[i].duty, devs[plays[i].dev].driver, path);
	}
	want_near(num(device(d, D_NS), "engine/render/busy"), 62.5, "card0", "render");
	want(num(device(d, D_NS), "unreadable") == 0, "unreadable is %f", num(device(d, D_NS), "unreadable"));
	want(resumes() == before, "the suspended device was woken");
	close_run(r);
	close_run(d);
	end();
}

/*
 * A descriptor of an unknown device may belong to a suspended one, whose fdinfo must not be read.
 * Solutions: pidfd_getfd, or no read while any device is suspended.
 */
static void t_ptrace_suspended(void)
{
	struct play p = { D_ASLEEP, "rcs", FAKE_DIALECT_XE, 25, 1, 19200000 };
	pid_t pid = child(setup_play, &p, NULL);
	struct run *r;
	int before;

	begin("with CAP_SYS_PTRACE only, a suspended device with a client stays suspended");
	want(asleep(), "the device does not suspend");
	before = resumes();
	r = run("clients -w 0.3 -o json", ptracer);
	ended(r, 0);
	want(resumes() == before, "it was woken %d times", resumes() - before);
	close_run(r);
	end();
	reap(pid);
}

static void t_stop(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };
	struct run *r[LEN(signals)];

	for (size_t i = 0; i < LEN(signals); i++)
		r[i] = start("0.2 -o json", NULL);
	nap(0.7);
	begin("SIGINT, SIGTERM and SIGHUP end a run with complete records and exit status 0");
	for (size_t i = 0; i < LEN(signals); i++) {
		kill(r[i]->pid, signals[i]);
		finish(r[i]);
		ended(r[i], 0);
		want(record(r[i], 0).p, "nothing was printed before signal %d", signals[i]);
		want(r[i]->took < 1.2, "it continued for %.1f s", r[i]->took);
		close_run(r[i]);
	}
	end();
}

static void without(const char *mount_point)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || umount2(mount_point, MNT_DETACH))
		_exit(126);
}

static void without_proc(void)
{
	without("/proc");
}

static void without_sys(void)
{
	without("/sys");
}

static void t_unmounted(void)
{
	static const struct {
		const char *name, *path;
		void (*before)(void);
	} cases[] = {
		{ "/proc not mounted: a message and exit status 1", "/proc", without_proc },
		{ "/sys not mounted: a message and exit status 1", "/sys", without_sys },
	};

	for (size_t i = 0; i < LEN(cases); i++) {
		struct run *r = run("-w 0.1 -o json", cases[i].before);

		begin(cases[i].name);
		ended(r, 1);
		want(strstr(r->text[1], cases[i].path), "stderr does not name %s", cases[i].path);
		close_run(r);
		end();
	}
}

/* ---- frames: a display of qemu, whose driver shows a frame on request ---- */

enum { FLIPS_HZ = 50 };

static struct {
	int fd;
	__u32 crtc, buffers[2];
	unsigned flips;
} display;

static void display_ioctl(unsigned long request, void *arg, const char *what)
{
	if (ioctl(display.fd, (int)request, arg))
		die(what);
}

static __u32 display_buffer(const struct drm_mode_modeinfo *mode)
{
	struct drm_mode_create_dumb dumb = { .width = mode->hdisplay, .height = mode->vdisplay, .bpp = 32 };
	struct drm_mode_fb_cmd fb = { .width = dumb.width, .height = dumb.height, .bpp = 32, .depth = 24 };

	display_ioctl(DRM_IOCTL_MODE_CREATE_DUMB, &dumb, "a dumb buffer");
	fb.pitch = dumb.pitch;
	fb.handle = dumb.handle;
	display_ioctl(DRM_IOCTL_MODE_ADDFB, &fb, "a framebuffer");
	return fb.fb_id;
}

/* Shows the next frame, and reads the event that confirms it. */
static void display_flip(int sig)
{
	struct drm_mode_crtc_page_flip flip = { .crtc_id = display.crtc, .fb_id = display.buffers[display.flips++ & 1],
						.flags = DRM_MODE_PAGE_FLIP_EVENT };
	struct drm_event_vblank event;

	(void)sig;
	display_ioctl(DRM_IOCTL_MODE_PAGE_FLIP, &flip, "a page flip");
	if (read(display.fd, &event, sizeof event) != sizeof event)
		die("the event of a page flip");
}

static int display_start(void *node)
{
	static struct drm_mode_modeinfo modes[64];
	struct itimerval tick = { .it_interval.tv_usec = 1000000 / FLIPS_HZ, .it_value.tv_usec = 1000 };
	__u32 connector = 0;
	struct drm_mode_card_res res = { .crtc_id_ptr = (uintptr_t)&display.crtc, .count_crtcs = 1,
					 .connector_id_ptr = (uintptr_t)&connector, .count_connectors = 1 };
	struct drm_mode_get_connector c = { .modes_ptr = (uintptr_t)modes };
	struct drm_mode_crtc set = { .set_connectors_ptr = (uintptr_t)&connector, .count_connectors = 1, .mode_valid = 1 };

	display.fd = open(node, O_RDWR | O_CLOEXEC);
	if (display.fd < 0)
		die(node);
	display_ioctl(DRM_IOCTL_MODE_GETRESOURCES, &res, "the display's parts");
	c.connector_id = connector;
	display_ioctl(DRM_IOCTL_MODE_GETCONNECTOR, &c, "its connector"); /* probes the modes */
	c = (struct drm_mode_get_connector){ .connector_id = connector, .modes_ptr = (uintptr_t)modes,
					     .count_modes = c.count_modes < 64 ? c.count_modes : 64 };
	display_ioctl(DRM_IOCTL_MODE_GETCONNECTOR, &c, "its modes");
	for (int i = 0; i < 2; i++)
		display.buffers[i] = display_buffer(&modes[0]);
	set.crtc_id = display.crtc;
	set.fb_id = display.buffers[1];
	set.mode = modes[0];
	display_ioctl(DRM_IOCTL_MODE_SETCRTC, &set, "a mode");
	signal(SIGALRM, display_flip);
	setitimer(ITIMER_REAL, &tick, NULL);
	return 0;
}

/* Finds the card that has a connector; the emulated GPUs have none. */
static bool display_node(char *node, size_t n)
{
	DIR *d = opendir("/sys/class/drm");
	struct dirent *e;
	unsigned card;
	bool found = false;

	while (d && !found && (e = readdir(d)))
		if (sscanf(e->d_name, "card%u-", &card) == 1 && strchr(e->d_name, '-')) {
			snprintf(node, n, "/dev/dri/card%u", card);
			found = true;
		}
	if (d)
		closedir(d);
	return found;
}

static void t_frames(void)
{
	char node[64] = "";
	struct run *r;
	int shown = 0;
	pid_t pid;

	if (access("/modules.display", R_OK)) {
		begin("frames a second # SKIP this kernel has no bochs");
		end();
		return;
	}
	begin("frames per second: only the GPU of the display controller has a value");
	for (size_t i = 0; i < LEN(plays); i++)
		if (plays[i].dev != D_NS)
			reap(plays[i].pid);
	for (int dev = D_NS + 1; dev < D_UNPLUG; dev++)
		if (!access(sysfile(dev, "unplug"), F_OK)) /* Linux 6.1 has no accel devices */
			unplug(dev);
	load("/modules.display", "");
	if (mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL) || !display_node(node, sizeof node))
		die("no display");
	pid = child(display_start, node, NULL);
	r = run("counters GPU?*?frames?/?sec -w 1 -o json", NULL);
	ended(r, 0);
	for each_record(v, r)
		if (!isnan(num(v, "value"))) {
			shown++;
			want(fabs(num(v, "value") - FLIPS_HZ) <= FLIPS_HZ * 0.1, "%f frames a second, not %d", num(v, "value"), FLIPS_HZ);
		}
	want(shown == 1, "%d GPUs have a frame rate", shown);
	close_run(r);
	reap(pid);
	umount("/sys/kernel/tracing");
	end();
}

/* ---- the kernel log and suspend ---- */

/* Opens the kernel log for the records from now on. */
static int kmsg_open(void)
{
	int fd = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		die("/dev/kmsg");
	lseek(fd, 0, SEEK_END);
	return fd;
}

/* Checks the records logged since; each is "PREFIX,SEQ,TIME,FLAG;TEXT\n". */
static void want_kmsg(int fd, const char *args, int samples, const char *text_end)
{
	struct run *r = run(args, NULL);
	char b[8192];
	int n = 0;
	ssize_t got;

	ended(r, 0);
	want(r->n[0] == 0 && r->n[1] == 0, "it printed something");
	while ((got = read(fd, b, sizeof b - 1)) > 0) {
		const char *text;

		b[got] = 0;
		text = strchr(b, ';');
		if (strstr(b, "suppressed"))
			want(false, "%.200s", b);
		if (!text || strncmp(text + 1, "gpustat: ", 9))
			continue;
		n++;
		/* 1 << 3 | 6 */
		want(strtol(b, NULL, 10) == 14, "priority %.8s: facility user and level info are 14", b);
		want(strlen(text + 1) <= 977, "%zu bytes", strlen(text + 1));
		want(strstr(text, " | "), "records are missing: %.300s", text);
		want(strstr(text, text_end), "wrong end: ...%s", strlen(text) > 60 ? text + strlen(text) - 60 : text);
		want(strchr(text, '\n') && !strstr(text, "\\x"), "escaped: %.300s", text);
	}
	want(n == samples, "%d records in the log, not %d", n, samples);
	close_run(r);
	close(fd);
}

static void t_kmsg(void)
{
	begin("-O /dev/kmsg: one log record per sample, none suppressed, with facility, level and prefix");
	want_kmsg(kmsg_open(), "-O /dev/kmsg 0.5 8", 8, "clients=0\n");
	end();
	begin("-O /dev/kmsg: a sample that is too long for one record is shortened, not rejected");
	want_kmsg(kmsg_open(), "host -O /dev/kmsg -w 0.1", 1, " ...\n");
	end();
}

/* The machine is suspended, and run.sh wakes it. The clock for rates stops, like a GPU; the time of
 * day continues. */
static void t_sleep(void)
{
	struct run *s = run("--state /state -o json -w 0.1", NULL), *r;
	double slept = 0, awake, went = clock_is(CLOCK_MONOTONIC), ahead;
	struct periods p;

	begin("the machine is suspended: rates refer to the time awake, and the time of day continues");
	close_run(s);
	if (!strstr(text("/sys/power/mem_sleep"), "deep")) {
		test_name = "a suspended machine # SKIP this machine only idles, and the clock counts that time";
		end();
		return;
	}
	r = start("-o json 1 8", NULL);
	nap(2.4);
	awake = clock_is(CLOCK_MONOTONIC);
	/* it may be woken immediately */
	for (int i = 0; i < 6 && slept < clock_is(CLOCK_MONOTONIC) - awake + 1; i++)
		slept += suspend("none", "mem");
	awake = clock_is(CLOCK_MONOTONIC) - awake;
	want(slept > awake + 0.5, "control: it slept for %f s, of which the clock counted %f", slept, awake);
	finish(r);
	ended(r, 0);
	p = periods(r, "dev", devs[D_NS].dev, "engine/render/busy");
	want(p.n == 8, "%d samples, not 8", p.n);
	for (int i = 0; i < p.n; i++) {
		want_near(p.p[i].value, 62.5, "card0", "render");
		want(p.p[i].dt > 0.45 && p.p[i].dt < 2.5, "dt is %f", p.p[i].dt);
	}
	ahead = p.p[7].time - p.p[0].time - (p.all - p.p[0].dt);
	/* the RTC has whole seconds */
	want(fabs(ahead - (slept - awake)) < 1.1, "time is %f ahead of dt, not %f", ahead, slept - awake);
	close_run(r);
	s = run("--state /state -o json -w 0.1", NULL);
	ended(s, 0);
	went = clock_is(CLOCK_MONOTONIC) - went;
	want(fabs(num(device(s, D_NS), "dt") - went) < 1, "--state: dt is %f, not %f", num(device(s, D_NS), "dt"), went);
	want_near(num(device(s, D_NS), "engine/render/busy"), 62.5, "card0", "render");
	close_run(s);
	unlink("/state");
	end();
}

static int scenarios(void)
{
	load_devs();
	family = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (family == MAP_FAILED)
		die("mmap");
	for (size_t i = 0; i < LEN(plays); i++)
		plays[i].pid = child(setup_play, &plays[i], &plays[i].fd);
	t_known_busy();
	t_state();
	show("-w 1");
	show("clients");
	t_counters();
	t_host();
	show("host 0.3 3");
	t_hwmon();
	t_memory();
	t_shared();
	t_crowd();
	t_dies();
	t_suspended();
	t_awake();
	t_accel();
	t_backwards();
	t_stop();
	t_unprivileged();
	t_denials();
	t_kprobes();
	t_ptrace();
	t_ptrace_suspended();
	t_unplug();
	t_frames();
	t_kmsg();
	t_unmounted();
	t_sleep();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
