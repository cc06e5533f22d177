/*
 * probe: tests the emulated machine before gpustat is tested on it: whether perf_event_open(2)
 * counts exactly and reproducibly, multiplexes, rejects and overflows like an arm64 PMU with seven
 * counters. Prints TAP without numbers.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNTERS = 7 /* six and the cycle counter */, MANY = 40 };

struct reading {
	uint64_t value, enabled, running;
};

static const struct perf_event_attr user = {
	.type = PERF_TYPE_HARDWARE, .size = sizeof(user), .config = PERF_COUNT_HW_INSTRUCTIONS,
	.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
	.disabled = 1, .exclude_kernel = 1, .exclude_hv = 1,
};

static int event(struct perf_event_attr a, pid_t task, int group)
{
	return (int)syscall(SYS_perf_event_open, &a, task, -1, group, PERF_FLAG_FD_CLOEXEC);
}

__attribute__((noinline)) static void loop(long n)
{
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
}

/* count: the count of event a over a loop of n; the enabled time is 0 if the event does not
 * open. */
static struct reading count(struct perf_event_attr a, long n)
{
	struct reading r = { 0, 0, 0 };
	int fd = event(a, 0, -1);

	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(n);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (read(fd, &r, sizeof(r)) != sizeof(r))
		r.enabled = 0;
	close(fd);
	return r;
}

static uint64_t counted(uint32_t type, uint64_t config, long n)
{
	struct perf_event_attr a = user;

	a.type = type;
	a.config = config;
	return count(a, n).value;
}

static void say(bool good, const char *what)
{
	printf("%sok - machine: %s\n", good ? "" : "not ", what);
}

static void exact(void)
{
	uint64_t a = counted(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000000);
	uint64_t b = counted(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1000000);
	uint64_t c = counted(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 3000000);
	uint64_t d = counted(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000);
	uint64_t e = counted(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1000000);

	printf("# instructions %ju %ju %ju, cycles %ju %ju\n", (uintmax_t)a, (uintmax_t)b, (uintmax_t)c, (uintmax_t)d,
	       (uintmax_t)e);
	say(a >= 2000000 && a < 2000200, "instructions of a loop are exact");
	say(a == b && c - a == 4000000, "instructions of a loop are the same in a second run, and proportional to its length");
	say(d >= 2000000 && d < 2000200 && d == e, "cycles of a loop are exact and reproducible");
}

static void raw(void)
{
	char text[16] = "";
	int fd = open("/sys/bus/event_source/devices/armv8_pmuv3/type", O_RDONLY | O_CLOEXEC);
	uint64_t r08 = counted(PERF_TYPE_RAW, 0x08, 1000000), r11 = counted(PERF_TYPE_RAW, 0x11, 1000000), named = 0;

	if (fd >= 0 && read(fd, text, sizeof(text) - 1) > 0)
		named = counted((uint32_t)atoi(text), 0x08, 1000000);
	close(fd);
	printf("# r08 %ju, r11 %ju, armv8_pmuv3 %ju\n", (uintmax_t)r08, (uintmax_t)r11, (uintmax_t)named);
	say(r08 > 2000000 && r08 < 2000200 && r11 > 2000000 && r11 < 2000200 && named == r08, "raw events and the PMU's type count the same");
}

static void multiplexed(void)
{
	struct reading r[12];
	int fd[12], good = 0;

	for (int i = 0; i < 12; i++)
		ioctl(fd[i] = event(user, 0, -1), PERF_EVENT_IOC_ENABLE, 0);
	loop(100000000);
	for (int i = 0; i < 12; i++) {
		double scaled;

		ioctl(fd[i], PERF_EVENT_IOC_DISABLE, 0);
		if (read(fd[i], &r[i], sizeof(r[i])) != sizeof(r[i]) || !r[i].running)
			continue;
		scaled = (double)r[i].value * (double)r[i].enabled / (double)r[i].running;
		printf("# %.0f, %ju of %ju ns\n", scaled, (uintmax_t)r[i].running, (uintmax_t)r[i].enabled);
		good += r[i].running < r[i].enabled && scaled > 198e6 && scaled < 202e6;
		close(fd[i]);
	}
	say(good == 12, "twelve events are multiplexed on fewer counters");
}

/* group: eight hardware events with a leader that is enabled or disabled. True: all opened; *r is
 * the leader's count. */
static bool group(bool off, struct reading *r)
{
	struct perf_event_attr a = user;
	int fd[COUNTERS + 1] = { -1 }, n = 0;

	/* any counter can count cycles; only six count instructions */
	a.config = PERF_COUNT_HW_CPU_CYCLES;
	a.disabled = off;
	while (n <= COUNTERS && (fd[n] = event(a, 0, n ? fd[0] : -1)) >= 0) {
		a.disabled = 0;
		n++;
	}
	if (n > COUNTERS) {
		ioctl(fd[0], PERF_EVENT_IOC_ENABLE, 0);
		loop(1000000);
		if (read(fd[0], r, sizeof(*r)) != sizeof(*r))
			r->enabled = 0;
	}
	for (int i = 0; i < n; i++)
		close(fd[i]);
	return n > COUNTERS;
}

static void groups(void)
{
	struct reading r = { 1, 0, 1 };
	bool on = group(false, &r), off = group(true, &r);

	printf("# leader on: %s; off: %s, %ju, %ju of %ju ns\n", on ? "opens" : strerror(errno), off ? "opens" : "refused",
		(uintmax_t)r.value, (uintmax_t)r.running, (uintmax_t)r.enabled);
	say(!on, "a group of eight with an enabled leader is rejected");
	say(off && r.enabled && !r.running, "a group of eight with a disabled leader opens and is never counted");
}

/* lost: counts the events that read as end of file, and those that report that they were never
 * enabled. */
static void lost(const int *fd, int *eof, int *blank)
{
	struct reading r;

	*eof = *blank = 0;
	for (int i = 0; i < MANY; i++) {
		long n = read(fd[i], &r, sizeof(r));

		*eof += n == 0;
		*blank += n == sizeof(r) && !r.enabled;
	}
}

/* A child waits for one byte before it loops and for another before it exits; events count it from
 * outside. */
static void pinned(void)
{
	struct perf_event_attr a = user;
	int to[2], from[2], fd[MANY], eof = 0, blank = 0, eof_after, blank_after;
	char go = 0;
	pid_t child;

	if (pipe(to) || pipe(from) || (child = fork()) < 0) {
		say(false, "a child process to count");
		return;
	}
	if (!child) {
		if (read(to[0], &go, 1) == 1)
			loop(1000000);
		_exit(write(from[1], &go, 1) != 1 || read(to[0], &go, 1) != 1);
	}
	a.config = PERF_COUNT_HW_CPU_CYCLES;
	a.pinned = 1;
	for (int i = 0; i < MANY; i++)
		ioctl(fd[i] = event(a, child, -1), PERF_EVENT_IOC_ENABLE, 0);
	if (write(to[1], &go, 1) == 1 && read(from[0], &go, 1) == 1)
		lost(fd, &eof, &blank);
	if (write(to[1], &go, 1) == 1)
		waitpid(child, NULL, 0);
	lost(fd, &eof_after, &blank_after);
	for (int i = 0; i < MANY; i++)
		close(fd[i]);
	printf("# alive: %d at the end of file, %d never enabled; gone: %d, %d\n", eof, blank, eof_after, blank_after);
	say(eof == MANY - COUNTERS && !blank, "pinned events that exceed the counters read as end of file");
	say(blank_after == MANY - COUNTERS && !eof_after, "after their task's exit they read as never enabled");
}

static void overflows(void)
{
	struct perf_event_attr a = user;
	struct perf_event_mmap_page *page;
	uint64_t at = 0, samples = 0;
	int fd;

	a.config = PERF_COUNT_HW_CPU_CYCLES;
	a.sample_period = 100000;
	a.sample_type = PERF_SAMPLE_IP;
	fd = event(a, 0, -1);
	page = mmap(NULL, 5 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		say(false, "overflows");
		return;
	}
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	loop(2000010);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	while (at < page->data_head) {
		struct perf_event_header *h = (void *)((char *)page + 4096 + at);

		samples += h->type == PERF_RECORD_SAMPLE;
		at += h->size;
	}
	printf("# %ju samples\n", (uintmax_t)samples);
	say(samples == 40, "forty of forty overflows are signalled");
}

int main(void)
{
	exact();
	raw();
	multiplexed();
	groups();
	pinned();
	overflows();
	return 0;
}
