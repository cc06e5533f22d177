/*
 * gpucounters: the first program of the emulated machine that tests the events of v3d and msm.
 * ctrfake.c emulates the counters of both drivers: a job of N adds N * (C + 1) to the counter with
 * number C of v3d, and each record of msm adds 1000 * (S + 1) to the counter with select value S, so
 * values are exact.
 */
#include "guest.h"

#define __user /* the kernel's own copy of its headers has the mark, installed ones do not */
#include <drm/drm.h>
#include <drm/v3d_drm.h>
#include <drm/msm_drm.h>
#include "ctrfake.h"

#define PARAMETER "/sys/module/ctrfake/parameters/"

enum { PERFMON = 38, VIDEO = 44 };
enum { CYCLES = 0, BINNED = 5, WRITTEN = 6, READ = 7 };	/* numbers of v3d's counters */

static const char v3d_args[] = "stat -e v3d/cycle-count/,v3d/AXI-read-bytes-seen-watch-0/ -o json -w 1";
static const char msm_args[] = "stat -e msm/sp:busy/,msm/SP:4/,msm/uche:read-beats-ch0/ -o json -w 1";

static void set(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof path, PARAMETER "%s", name);
	must_put(path, value);
}

/* node: opens the render node of v3d or msm. */
static int node(const char *driver)
{
	char path[128], link[128];

	for (int i = 128; i < 130; i++) {
		ssize_t n;

		snprintf(path, sizeof path, "/sys/class/drm/renderD%d/device/driver", i);
		n = readlink(path, link, sizeof link - 1);
		link[n > 0 ? n : 0] = 0;
		snprintf(path, sizeof path, "/dev/dri/renderD%d", i);
		if (strstr(link, driver))
			return open(path, O_RDWR | O_CLOEXEC);
	}
	return -1;
}

/* sum: the sum of the values of one event over all records, or NAN if one is unknown. */
static double sum(const struct run *r, const char *event)
{
	double all = 0;

	for each_record(v, r)
		if (is(v, "event", event))
			all += num(v, "value");
	return all;
}

static void want_sum(const struct run *r, const char *event, double value)
{
	want(sum(r, event) == value, "%s is %.0f, not %.0f", event, sum(r, event), value);
}

/* want_reason: all records have no value and this reason. */
static void want_reason(const struct run *r, const char *words)
{
	int n = 0;

	for each_record(v, r) {
		n++;
		want(isnan(num(v, "value")), "it has a value");
		want(memmem(v.p, v.e - v.p, words, strlen(words)), "no reason with \"%s\"", words);
	}
	want(n, "no record");
	ended(r, 4);
}

/* ---- v3d ---- */

static void t_names(void)
{
	struct run *r = run("events v3d -o json", NULL);
	int n = 0;

	begin("v3d: events lists the kernel's names");
	ended(r, 0);
	for each_record(v, r)
		n += is(v, "pmu", "v3d");
	want(n == 8, "%d names", n);
	want(is(record(r, 0), "name", "v3d/cycle-count/") && is(record(r, 0), "description", "[CORE] cycle-count"), "the first name");
	want(is(record(r, 7), "unit", "bytes"), "the unit of bytes");
	close_run(r);
	end();
	r = run("stat -e v3d/cycle-cuont/ -w 0.1", NULL);
	begin("v3d: the message about an unknown name suggests the nearest one");
	ended(r, 2);
	want(strstr(r->text[1], "cycle-count"), "no suggestion");
	close_run(r);
	end();
}

static void t_values(void)
{
	struct run *r = start(v3d_args, NULL);

	begin("v3d: values are exact");
	nap(0.4);
	set("job", "1000");
	set("job", "234");
	finish(r);
	ended(r, 0);
	want_sum(r, "v3d/cycle-count/", 1234);
	want_sum(r, "v3d/AXI-read-bytes-seen-watch-0/", 1234 * (READ + 1));
	close_run(r);
	end();

	begin("v3d: each interval counts from the end of the previous one");
	r = start("stat -e v3d/PTB-primitives-binned/ -o json 0.4 3", NULL);
	for (int i = 0; i < 3; i++) {
		nap(i ? 0.4 : 0.2);
		set("job", i == 0 ? "1" : i == 1 ? "10" : "100");
	}
	finish(r);
	ended(r, 0);
	for (int i = 0; i < 3; i++)
		want(num(record(r, i), "value") == (i == 0 ? 6 : i == 1 ? 60 : 600), "interval %d: %f", i, num(record(r, i), "value"));
	close_run(r);
	end();

	begin("v3d: a counter of 32 bits that wraps between two intervals is exact");
	r = start("stat -e v3d/cycle-count/ -o json -w 3", NULL);
	for (int i = 0; i < 4; i++) {
		nap(0.5);
		set("job", "4000000000");
	}
	finish(r);
	ended(r, 0);
	want_sum(r, "v3d/cycle-count/", 16e9);
	close_run(r);
	end();

	begin("v3d: each run of a command is counted");
	r = run("stat -r 3 -e v3d/cycle-count/ -- /gpustat --version", NULL);
	ended(r, 0);
	want(strstr(r->text[1], "v3d/cycle-count/") && !strstr(r->text[1], "not counted"), "no count");
	close_run(r);
	end();
}

static void t_v3d_errors(void)
{
	struct ctr_v3d_create c = { .n = 1 };
	struct ctr_v3d_global g = { 0 };
	int fd = node("v3d");
	struct run *r;

	begin("v3d: another program counts all jobs: values are unknown, with this reason");
	want(fd >= 0 && !ioctl(fd, CTR_V3D_CREATE, &c), "no monitor: %s", strerror(errno));
	g.id = c.id;
	want(!ioctl(fd, CTR_V3D_SET_GLOBAL, &g), "not the global one: %s", strerror(errno));
	r = run(v3d_args, NULL);
	want_reason(r, "another program counts the jobs");
	close_run(r);
	close(fd);
	end();

	begin("v3d: the counters are free after the other program has ended, and after each run");
	for (int i = 0; i < 2; i++) {
		r = run(v3d_args, NULL);
		ended(r, 0);
		want_sum(r, "v3d/cycle-count/", 0);
		close_run(r);
	}
	end();

	begin("a kernel without counters for all jobs: values are unknown, with this reason");
	set("old", "1");
	r = run(v3d_args, NULL);
	want_reason(r, "Linux 6.15 has them");
	close_run(r);
	r = run(msm_args, NULL);
	want_reason(r, "7.2 for msm");
	close_run(r);
	set("old", "0");
	end();

	begin("v3d: access to the node is required, but no privilege");
	r = run(v3d_args, nobody);
	want_reason(r, "render node cannot be opened");
	close_run(r);
	chmod("/dev/dri/renderD128", 0666);
	chmod("/dev/dri/renderD129", 0666);
	r = run(v3d_args, nobody);
	ended(r, 0);
	close_run(r);
	end();
}

/* ---- counters by name ---- */

/* counter: the last value of a counter. */
static double counter(const struct run *r, const char *name)
{
	double value = NAN;

	for each_record(v, r)
		if (is(v, "name", name))
			value = num(v, "value");
	return value;
}

static void t_counters(void)
{
	struct ctr_v3d_create c = { .n = 1 };
	struct ctr_v3d_global g = { 0 };
	int fd;
	struct run *r = start("counters v3d/all/cycle-count v3d/all/AXI-* msm/all/sp:busy msm/all/sp:alu -o json -w 1", NULL);
	double busy;
	int n = 0;

	begin("counters: those of v3d and msm, by name or by a pattern with the driver's name");
	nap(0.5);
	set("job", "7");
	finish(r);
	ended(r, 0);
	busy = counter(r, "msm/all/sp:busy");
	want(counter(r, "v3d/all/cycle-count") == 7 && counter(r, "v3d/all/AXI-read-bytes-seen-watch-0") == 7 * (READ + 1), "v3d");
	want(busy >= 50000 && counter(r, "msm/all/sp:alu") == 2 * busy, "msm: %f, %f", busy, counter(r, "msm/all/sp:alu"));
	close_run(r);
	end();

	begin("counters: v3d is read before its counters wrap between two samples");
	r = start("counters v3d/all/cycle-count -o json 3 1", NULL);
	for (int i = 0; i < 4; i++) {
		nap(0.5);
		set("job", "4000000000");
	}
	finish(r);
	ended(r, 0);
	want(counter(r, "v3d/all/cycle-count") == 16e9, "%f", counter(r, "v3d/all/cycle-count"));
	close_run(r);
	end();

	begin("counters: the primitive count of KHR_perfcounter has a value");
	r = start("counters Primitive?count -o json -w 1", NULL);
	finish(r);
	want(strstr(r->text[1], "only one program can use"), "a pattern opens it");
	close_run(r);
	r = start("counters Primitive~count v3d/all/PTB-primitives-binned -o json -w 1", NULL);
	nap(0.5);
	set("job", "5");
	finish(r);
	want(counter(r, "Primitive count") == 5 * (BINNED + 1) && counter(r, "v3d/all/PTB-primitives-binned") == 5 * (BINNED + 1),
	     "%f", counter(r, "Primitive count"));
	close_run(r);
	end();

	begin("counters: the reason of an unknown value: another program counts, or an old kernel");
	fd = node("v3d");
	want(fd >= 0 && !ioctl(fd, CTR_V3D_CREATE, &c), "no monitor: %s", strerror(errno));
	g.id = c.id;
	want(!ioctl(fd, CTR_V3D_SET_GLOBAL, &g), "not the global one: %s", strerror(errno));
	r = run("counters Primitive~count v3d/all/cycle-count -o json -w 0.1", NULL);
	ended(r, 0);
	want(strstr(r->text[1], "Primitive count: not counted: another program counts the jobs of this GPU") &&
	     strstr(r->text[1], "2 of the selected counters have no value"), "%s", r->text[1]);
	want(strstr(r->text[0], "\"name\":\"v3d/all/cycle-count\",\"value\":null"), "%s", r->text[0]);
	close_run(r);
	close(fd);
	set("old", "1");
	r = run("counters v3d/all/cycle-count -o json -w 0.1", NULL);
	want(strstr(r->text[1], "Linux 6.15 has them"), "%s", r->text[1]);
	close_run(r);
	set("old", "0");
	end();

	begin("counters: the pattern * does not open those of drivers, and a message tells it");
	r = run("counters * -o json -w 0.5", NULL);
	ended(r, 0);
	for each_record(v, r)
		n += is(v, "name", "v3d/all/cycle-count") || is(v, "name", "msm/all/sp:busy") || is(v, "name", "Primitive count");
	want(!n && strstr(r->text[1], "only one program can use"), "%d are opened", n);
	drop(r);
	end();

	begin("counters: the list has those of both drivers");
	r = run("counters", NULL);
	ended(r, 0);
	want(strstr(r->text[0], "v3d/all/PTB-primitives-binned") && strstr(r->text[0], "msm/all/uche:write-beats-ch0"), "not listed");
	drop(r);
	end();
}

/* ---- msm ---- */

static void want_ratios(const struct run *r, double seconds)
{
	double busy = sum(r, "msm/sp:busy/"), n = busy / 1000;

	want(n == floor(n) && n > 0 && n <= seconds * 100 + 5, "%f records", n);
	want_sum(r, "msm/SP:4/", n * 5000);
	want_sum(r, "msm/uche:read-beats-ch0/", n * 28000);
}

static void perfmon(void)
{
	capable(38); /* CAP_PERFMON */
}

static void t_msm_values(void)
{
	struct run *r = run("events msm -o json", NULL);
	int n = 0;

	begin("msm: events lists the names of this generation");
	ended(r, 0);
	for each_record(v, r)
		n += is(v, "name", "msm/sp:busy/") + is(v, "name", "msm/uche:write-beats-ch0/");
	want(n == 2, "%d of 2 names", n);
	close_run(r);
	end();

	begin("msm: values are exact, each of its own counter");
	r = run(msm_args, NULL);
	ended(r, 0);
	want_ratios(r, 1);
	want(sum(r, "msm/sp:busy/") >= 80000, "%f in a second", sum(r, "msm/sp:busy/"));
	close_run(r);
	r = run("stat -e msm/TP:1/,msm/sp:busy/ -o json 0.2 4", perfmon);
	ended(r, 0);
	n = 0;
	for each_record(v, r)
		n += is(v, "event", "msm/sp:busy/") && num(v, "value") >= 10000 && num(v, "value") <= 30000;
	want(n == 4, "%d of 4 intervals have some 20 records", n);
	want_sum(r, "msm/TP:1/", 2 * sum(r, "msm/sp:busy/"));
	close_run(r);
	end();

	begin("msm: values of lost records and of a GPU that is off are not counted");
	r = start(msm_args, NULL);
	nap(0.3);
	set("gpu", "skip");
	nap(0.3);
	set("gpu", "off");
	nap(0.2);
	set("gpu", "on");
	finish(r);
	ended(r, 0);
	want_ratios(r, 1);
	close_run(r);
	end();

	begin("msm: a GPU that is off has counted nothing");
	set("gpu", "off");
	r = run(msm_args, NULL);
	ended(r, 0);
	want_sum(r, "msm/sp:busy/", 0);
	close_run(r);
	set("gpu", "on");
	end();
}

static void user_perfmon(void)
{
	capable(PERFMON);
}

static void video_perfmon(void)
{
	capable_in(PERFMON, VIDEO);
}

static void nodes_of(gid_t group, mode_t mode)
{
	static const char *const paths[] = { "/dev/dri/renderD128", "/dev/dri/renderD129" };

	for (size_t i = 0; i < LEN(paths); i++)
		if (chown(paths[i], 0, group) || chmod(paths[i], mode))
			die(paths[i]);
}

/* All records have a value. */
static void want_values(const struct run *r)
{
	int n = 0;

	for each_record(v, r) {
		want(!isnan(num(v, "value")), "no value");
		n++;
	}
	want(n, "no records");
}

static void t_msm_errors(void)
{
	ctr_u32 select = 0;
	struct ctr_msm_group group = { "SP", 1, 0, (ctr_u64)(uintptr_t)&select };
	struct ctr_msm_config c = { 1, 1, (ctr_u64)(uintptr_t)&group, 100000000, 12, sizeof group };
	int fd = node("msm"), stream;
	struct run *r;

	begin("msm: counting without CAP_PERFMON is denied, and the message has the remedy");
	r = run(msm_args, nobody);
	want_reason(r, "setcap cap_perfmon+ep");
	close_run(r);
	r = run(msm_args, user_perfmon);
	ended(r, 0);
	want_values(r);
	close_run(r);
	r = run(msm_args, NULL);
	want_values(r);
	close_run(r);
	end();

	begin("msm: the node belongs to a group: values are known after the user joins it");
	nodes_of(VIDEO, 0660);
	r = run(msm_args, user_perfmon);
	want_reason(r, "join the group that owns it: render or video");
	close_run(r);
	r = run(msm_args, video_perfmon);
	ended(r, 0);
	want_values(r);
	close_run(r);
	nodes_of(0, 0666);
	end();

	begin("msm: another program counts all jobs: values are unknown, with this reason");
	stream = fd < 0 ? -1 : ioctl(fd, CTR_MSM_CONFIG, &c);
	want(stream >= 0, "no stream: %s", strerror(errno));
	r = run(msm_args, NULL);
	want_reason(r, "another program counts the jobs");
	close_run(r);
	close(stream);
	close(fd);
	end();

	begin("msm: all counters of a block are reserved: values are unknown, with this reason");
	set("gpu", "full");
	r = run(msm_args, NULL);
	want_reason(r, "have reserved counters");
	close_run(r);
	set("gpu", "on");
	end();

	begin("msm: more events than counters of a block, or an unknown block: the reason");
	r = run("stat -e msm/VSC:0/,msm/VSC:1/,msm/VSC:2/ -o json -w 0.2", NULL);
	want_reason(r, "the GPU has no such counters");
	close_run(r);
	r = run("stat -e msm/NOSUCH:0/ -o json -w 0.2", NULL);
	want_reason(r, "the GPU has no such counters");
	close_run(r);
	end();

	begin("msm: a generation without names has events by number");
	set("chip", "0x44050001");
	r = run("stat -e msm/sp:busy/ -w 0.2", NULL);
	ended(r, 2);
	close_run(r);
	r = run("stat -e msm/SP:0/ -o json -w 0.2", NULL);
	ended(r, 0);
	close_run(r);
	set("chip", "0x43050a01");
	end();
}

static int scenarios(void)
{
	load("/modules", "");
	chmod("/dev/dri", 0755);
	t_names();
	t_values();
	t_v3d_errors();
	t_msm_values();
	t_msm_errors();
	t_counters();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
