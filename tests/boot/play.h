/*
 * play.h: clients with a known busy time, on devices of fake.ko, and functions that find the
 * records of them. The including file defines the devices.
 */
#ifndef PLAY_H
#define PLAY_H

#include "guest.h"
#include "gpufake.h"

#include <sys/ioctl.h>

#define MHZ 1000000ull
enum { DEVS = 8 };

/* In the order of creation, which is the order of the kernel's numbers. */
static const struct dev {
	const char *spec, *dev, *driver, *node;
} devs[DEVS];

/* The work that one client does continuously. duty is in percent of the engine's capacity. */
struct play {
	int dev;
	const char *engine;
	fake_u32 keys;
	double duty;
	fake_u32 capacity;
	fake_u64 freq, maxfreq;
	pid_t pid;
	int fd;			/* the descriptor in that process */
};

static const char *sysfile(int dev, const char *name)
{
	static char b[256];

	snprintf(b, sizeof b, "/sys/devices/platform/%s.%d/%s", devs[dev].driver, dev, name);
	return b;
}

/* fdinfo: the fdinfo text of a descriptor of pid. */
static const char *fdinfo(pid_t pid, int fd)
{
	char b[64];

	snprintf(b, sizeof b, "/proc/%d/fdinfo/%d", pid, fd);
	return text(b);
}

static long long client_id(pid_t pid, int fd)
{
	const char *p = strstr(fdinfo(pid, fd), "drm-client-id:");

	return p ? strtoll(p + strlen("drm-client-id:"), NULL, 10) : -1;
}

/* device: the first device record of dev in the output. */
static struct view device(const struct run *r, int dev)
{
	for each_record(v, r)
		if (is(v, "kind", "device") && is(v, "dev", devs[dev].dev))
			return v;
	return (struct view){ NULL, NULL };
}

static struct view client(const struct run *r, pid_t pid)
{
	for each_record(v, r)
		if (is(v, "kind", "client") && num(v, "pid") == pid)
			return v;
	return (struct view){ NULL, NULL };
}

static void play_engine(int fd, const struct play *p)
{
	struct fake_engine e = {
		.keys = p->keys, .ppm = (fake_u32)lround(p->duty * 10000), .capacity = p->capacity,
		.freq = p->freq, .maxfreq = p->maxfreq,
	};

	snprintf(e.name, sizeof e.name, "%s", p->engine);
	if (ioctl(fd, FAKE_IOC_ENGINE, &e))
		die("engine ioctl");
}

static int play_at(const struct play *p, const char *node)
{
	int fd = open(node, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		die(node);
	play_engine(fd, p);
	return fd;
}

static int play_open(const struct play *p)
{
	return play_at(p, devs[p->dev].node);
}

static void shift(int fd, fake_s64 ns, fake_s64 cycles, fake_s64 total)
{
	struct fake_shift s = { ns, cycles, total };

	if (ioctl(fd, FAKE_IOC_SHIFT, &s))
		die("shift ioctl");
}

static void hold(int fd, bool on)
{
	struct fake_hold h = { on };

	if (ioctl(fd, FAKE_IOC_HOLD, &h))
		die("hold ioctl");
}

static int setup_play(void *p)
{
	return play_open(p);
}

/* load_devs: loads the module with the devices of devs[]. */
static void load_devs(void)
{
	char params[512] = "devs=";

	for (size_t i = 0; i < LEN(devs) && devs[i].spec; i++) {
		strcat(params, i ? "," : "");
		strcat(params, devs[i].spec);
	}
	load("/modules", params);
}

static void unplug(int dev)
{
	int fd = open(sysfile(dev, "unplug"), O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, "1", 1) != 1)
		die("unplug");
	close(fd);
}

/* counter: the record of the counter with that name. */
static struct view counter(const struct run *r, const char *name)
{
	for each_record(v, r)
		if (is(v, "kind", "counter") && is(v, "name", name))
			return v;
	return (struct view){ NULL, NULL };
}

static double clock_is(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

/* ---- the values of one device or client in a run, interval by interval ---- */

enum { PERIODS = 256 };

struct period {
	double dt, time, value;
};

struct periods {
	int n;
	double all;		/* the sum of dt */
	struct period p[PERIODS];
};

/* Collects the value at path of the records whose key is name; name NULL: of all records. */
static struct periods periods(const struct run *r, const char *key, const char *name, const char *path)
{
	struct periods s = { 0 };

	for each_record(v, r) {
		if ((name && !is(v, key, name)) || s.n == PERIODS)
			continue;
		s.p[s.n++] = (struct period){ num(v, "dt"), num(v, "time"), num(v, path) };
		s.all += num(v, "dt");
	}
	return s;
}

/* suspend: suspends the machine; returns for how long, by the clock that counts the suspended
 * time. */
static double suspend(const char *test, const char *state)
{
	double was = clock_is(CLOCK_BOOTTIME);

	must_put("/sys/power/pm_test", test);
	must_put("/sys/power/state", state);
	return clock_is(CLOCK_BOOTTIME) - was;
}

#endif
