/* soak.c - runs the program for SOAK_SAMPLES samples without waiting: it wraps libc's clock and
 * write() (ld's --wrap), advances the time by a second whenever the program sleeps, and meanwhile
 * starts, runs and ends processes and DRM clients of a machine made of files. After each sample the
 * printed counters are compared with the simulated work. At times when only the first process is
 * left, the numbers of descriptors and pages are compared with earlier ones.
 *
 * SOAK_DIR: an empty folder, preferably in memory. SOAK_STATE: seed of the pseudo-random numbers.
 * The report goes to descriptor 3. SPDX-License-Identifier: MIT */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <stdio.h>

enum { PROCESSES = 4, PER_PROCESS = 4, CLIENTS = PROCESSES * PER_PROCESS, SECOND = 1000000000, ROUND = 1000, WARM = 20,
       RARE = 2 /* pages that a rarely used code path may touch for the first time */ };

static struct client {
	bool there;
	uint64_t id, busy, unread; /* in ns; unread: not yet shown in a sample */
	int file;
} clients[CLIENTS];

static struct {
	uint64_t worked;  /* in ns, by all clients since the start */
	uint64_t samples, wanted, ids, starts, state, came, left;
	uint64_t printed; /* in ns, in the last sample */
	long shown;       /* number of clients in the last sample */
	bool complete;    /* the last sample was printed completely */
	int64_t now;
	int dir;
	long files, pages;
} soak;

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void fail(const char *format, ...)
{
	va_list args;

	dprintf(3, "not ok after %llu samples: ", (unsigned long long)soak.samples);
	va_start(args, format);
	vdprintf(3, format, args);
	va_end(args);
	dprintf(3, "\n");
	_exit(1);
}

static uint64_t random_below(uint64_t n)
{
	soak.state = soak.state * 6364136223846793005u + 1442695040888963407u;
	return (soak.state >> 33) % n;
}

/* --- the simulated machine -------------------------------------------------------------------- */

ssize_t __real_write(int fd, const void *b, size_t n);

static void put(const char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(const char *text, const char *format, ...)
{
	char path[64];
	va_list args;
	int fd;

	va_start(args, format);
	vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	fd = openat(soak.dir, path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || __real_write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail("%s: %s", path, strerror(errno));
	close(fd);
}

static void folder(const char *format, int process, const char *leaf)
{
	char path[64];

	snprintf(path, sizeof(path), format, 1000 + process, leaf);
	if (mkdirat(soak.dir, path, 0755) < 0 && errno != EEXIST)
		fail("%s: %s", path, strerror(errno));
}

/* Starts a process with a new name in a new cgroup. */
static void process_start(int process)
{
	char text[512];

	folder("proc/%d%s", process, "");
	folder("proc/%d%s", process, "/fd");
	folder("proc/%d%s", process, "/fdinfo");
	soak.starts++;
	snprintf(text, sizeof(text), "%d (p%llu) S 1 1 1 0 -1 4194560 0 0 0 0 1 1 0 0 20 0 1 0 %llu 0 0\n", 1000 + process,
		 (unsigned long long)soak.starts, (unsigned long long)(5000 + soak.starts));
	put(text, "proc/%d/stat", 1000 + process);
	snprintf(text, sizeof(text), "p%llu\n", (unsigned long long)soak.starts);
	put(text, "proc/%d/comm", 1000 + process);
	snprintf(text, sizeof(text), "0::/user.slice/run-%llu.scope\n", (unsigned long long)soak.starts);
	put(text, "proc/%d/cgroup", 1000 + process);
}

static void client_write(struct client *c)
{
	char text[256];
	int n = snprintf(text, sizeof(text), "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t512\ndrm-driver:\ti915\n"
			 "drm-client-id:\t%010llu\ndrm-pdev:\t0000:00:02.0\ndrm-engine-render:\t%020llu ns\n",
			 (unsigned long long)c->id, (unsigned long long)c->busy);

	if (pwrite(c->file, text, (size_t)n, 0) != n)
		fail("a client's file: %s", strerror(errno));
}

static void client_open(int at)
{
	struct client *c = &clients[at];
	char path[64];

	*c = (struct client){ .there = true, .id = ++soak.ids };
	snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", 1000 + at / PER_PROCESS, 3 + at % PER_PROCESS);
	c->file = openat(soak.dir, path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	client_write(c);
	snprintf(path, sizeof(path), "proc/%d/fd/%d", 1000 + at / PER_PROCESS, 3 + at % PER_PROCESS);
	if (symlinkat("/dev/dri/renderD128", soak.dir, path) < 0)
		fail("%s: %s", path, strerror(errno));
	soak.came++;
}

/* An fdinfo file that a sample still has open can no longer be read, as with a real client. */
static void client_close(int at)
{
	struct client *c = &clients[at];
	char path[64];

	if (ftruncate(c->file, 0) < 0)
		fail("a client's file: %s", strerror(errno));
	close(c->file);
	snprintf(path, sizeof(path), "proc/%d/fd/%d", 1000 + at / PER_PROCESS, 3 + at % PER_PROCESS);
	unlinkat(soak.dir, path, 0);
	snprintf(path, sizeof(path), "proc/%d/fdinfo/%d", 1000 + at / PER_PROCESS, 3 + at % PER_PROCESS);
	unlinkat(soak.dir, path, 0);
	c->there = false;
	soak.left++;
}

static void process_end(int process)
{
	static const char *const names[] = { "stat", "comm", "cgroup" };
	char path[64];

	for (int i = 0; i < PER_PROCESS; i++)
		if (clients[process * PER_PROCESS + i].there)
			client_close(process * PER_PROCESS + i);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "proc/%d/%s", 1000 + process, names[i]);
		unlinkat(soak.dir, path, 0);
	}
	snprintf(path, sizeof(path), "proc/%d/fd", 1000 + process);
	unlinkat(soak.dir, path, AT_REMOVEDIR);
	snprintf(path, sizeof(path), "proc/%d/fdinfo", 1000 + process);
	unlinkat(soak.dir, path, AT_REMOVEDIR);
	snprintf(path, sizeof(path), "proc/%d", 1000 + process);
	unlinkat(soak.dir, path, AT_REMOVEDIR);
}

static long clients_there(void)
{
	long n = 0;

	for (int i = 0; i < CLIENTS; i++)
		n += clients[i].there;
	return n;
}

/* Changes the machine before the next sample: clients of the last sample work, some start and some
 * end. No client works and ends in the same step: the program could not have read its work. */
static void live(bool quiet)
{
	int process = 1 + (int)random_below(PROCESSES - 1), at = (int)random_below(CLIENTS);

	for (int i = 0; i < CLIENTS; i++)
		if (clients[i].there && random_below(4) == 0) {
			uint64_t ns = random_below(SECOND / CLIENTS);

			clients[i].busy += ns;
			soak.worked += ns;
			clients[i].unread = ns;
			client_write(&clients[i]);
		} else {
			clients[i].unread = 0;
		}
	if (quiet)
		return;
	if (clients[at].there && !clients[at].unread && at > 0)
		client_close(at);
	else if (!clients[at].there)
		client_open(at);
	if (random_below(16) == 0) {
		bool idle = true;

		for (int i = 0; i < PER_PROCESS; i++)
			idle &= !clients[process * PER_PROCESS + i].unread;
		if (idle) {
			process_end(process);
			process_start(process);
		}
	}
}

/* All clients but the first have ended: the resources of the program must be those of the last
 * comparison. */
static void compare(void)
{
	char line[64] = "";
	long files = 0, pages;
	DIR *d = opendir("/proc/self/fd");
	int fd = open("/proc/self/statm", O_RDONLY);

	while (d && readdir(d))
		files++;
	closedir(d);
	if (fd < 0 || read(fd, line, sizeof(line) - 1) <= 0)
		fail("statm: %s", strerror(errno));
	close(fd);
	pages = strtol(strchr(line, ' '), NULL, 10);
	if (!soak.files) {
		soak.files = files;
		soak.pages = pages;
	}
	if (files != soak.files)
		fail("%ld descriptors, %ld before", files, soak.files);
	if (pages > soak.pages + RARE)
		fail("%ld pages, %ld before", pages, soak.pages);
}

static void begin(void)
{
	soak.wanted = strtoull(getenv("SOAK_SAMPLES"), NULL, 10);
	soak.state = strtoull(getenv("SOAK_STATE"), NULL, 10);
	soak.dir = open(getenv("SOAK_DIR"), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	soak.now = (int64_t)1700000000 * SECOND;
	if (soak.dir < 0 || (mkdirat(soak.dir, "proc", 0755) < 0 && errno != EEXIST))
		fail("SOAK_DIR: %s", strerror(errno));
	for (int i = 0; i < PROCESSES; i++)
		process_start(i);
	client_open(0);
}

/* --- wrapped functions of libc ---------------------------------------------------------------- */

int __wrap_clock_gettime(clockid_t clock, struct timespec *t);
int __wrap_clock_gettime(clockid_t clock, struct timespec *t)
{
	(void)clock;
	if (!soak.now)
		begin();
	soak.now += 1000;
	*t = (struct timespec){ .tv_sec = (time_t)(soak.now / SECOND), .tv_nsec = (long)(soak.now % SECOND) };
	return 0;
}

static void check_sample(void)
{
	if (!soak.complete)
		fail("an incomplete sample");
	if (soak.printed != soak.worked)
		fail("%llu ns printed, expected %llu", (unsigned long long)soak.printed, (unsigned long long)soak.worked);
	if (soak.shown != clients_there())
		fail("%ld clients printed, expected %ld", soak.shown, clients_there());
}

int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left);
int __wrap_clock_nanosleep(clockid_t clock, int flags, const struct timespec *until, struct timespec *left)
{
	int64_t t = (int64_t)until->tv_sec * SECOND + until->tv_nsec;
	uint64_t in_round = soak.samples % ROUND;

	(void)clock, (void)flags, (void)left;
	if (soak.samples)
		check_sample();
	if (in_round == ROUND - WARM) {
		/* One more reading of the work, then all clients but one end. */
		for (int i = 0; i < CLIENTS; i++)
			clients[i].unread = 0;
		for (int i = 1; i < PROCESSES; i++)
			process_end(i);
		for (int i = 1; i < PER_PROCESS; i++)
			if (clients[i].there)
				client_close(i);
	} else if (in_round > ROUND - WARM) {
		live(true);
	} else if (in_round == 0 && soak.samples) {
		if (soak.samples > soak.wanted / 5)
			compare();
		for (int i = 1; i < PROCESSES; i++)
			process_start(i);
	} else {
		live(in_round == ROUND - WARM - 1);
	}
	soak.complete = false;
	soak.samples++;
	if (soak.samples == soak.wanted)
		dprintf(3, "ok samples=%llu clients=%llu processes=%llu descriptors=%ld pages=%ld busy_ns=%llu\n",
			(unsigned long long)soak.samples, (unsigned long long)soak.came, (unsigned long long)soak.starts, soak.files,
			soak.pages, (unsigned long long)soak.worked);
	if (t > soak.now)
		soak.now = t;
	return 0;
}

/* Converts seconds with decimals to ns. */
static uint64_t as_ns(const char *p)
{
	uint64_t ns = 0;
	int point = -1;

	for (; (*p >= '0' && *p <= '9') || *p == '.'; p++) {
		if (*p == '.') {
			point = 0;
			continue;
		}
		ns = 10 * ns + (uint64_t)(*p - '0');
		point += point >= 0;
	}
	for (point = point < 0 ? 0 : point; point < 9; point++)
		ns *= 10;
	return ns;
}

static const char *after(const char *text, const char *key)
{
	const char *p = strstr(text, key);

	return p ? p + strlen(key) : NULL;
}

/* Standard output is checked here and discarded. */
ssize_t __wrap_write(int fd, const void *b, size_t n);
ssize_t __wrap_write(int fd, const void *b, size_t n)
{
	static char text[1 << 16];
	static size_t length;
	const char *busy, *shown;

	if (fd != 1)
		return __real_write(fd, b, n);
	if (length + n >= sizeof(text))
		fail("a sample of %zu bytes", length + n);
	memcpy(text + length, b, n);
	length += n;
	text[length] = '\0';
	if (!(busy = after(text, "gpustat_engine_busy_seconds_total{dev=\"card0\",engine=\"render\"} ")) ||
	    !(shown = after(text, "gpustat_clients{dev=\"card0\"} ")) || !after(text, "gpustat_self_cpu_seconds_total "))
		return (ssize_t)n;
	if (!after(text, "gpustat_dropped 0\n") || !after(text, "gpustat_unreadable_processes 0\n"))
		fail("gpustat_dropped or gpustat_unreadable_processes is not 0");
	soak.printed = as_ns(busy);
	soak.shown = strtol(shown, NULL, 10);
	soak.complete = true;
	length = 0;
	return (ssize_t)n;
}
