/* perf.c - tests the promises of "Performance Counters for Linux" (2009) to user space, sentence by
 * sentence, with the functions of gpustat/perf.h: each check has the sentence as its name. Prints
 * TAP. Tests that require a hardware counter run if cycles:u can be opened.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <gpustat/perf.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ATTR(e) ((struct perf_event_attr *)(e)->attr)

enum { NS_MS = 1000000, RING_PAGES = 8, MANY = 40 /* more than the number of counters of one kind in any CPU */ };

static int tests, failures;
static size_t page;

/* --- TAP -------------------------------------------------------------------------------------- */

static int check(int good, const char *name)
{
	printf("%s %d - %s\n", good ? "ok" : "not ok", ++tests, name);
	failures += !good;
	fflush(stdout); /* before a fork, because the child would also print the buffered output */
	return good;
}

static int check_in(uint64_t got, uint64_t low, uint64_t high, const char *name)
{
	int good = check(got >= low && got <= high, name);

	if (!good)
		printf("# %lld, not %lld to %lld\n", (long long)got, (long long)low, (long long)high);
	return good;
}

static int check_eq(int64_t got, int64_t want, const char *name)
{
	return check_in((uint64_t)got, (uint64_t)want, (uint64_t)want, name);
}

static void skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tests, name, why);
}

static const char no_pmu[] = "this machine has no PMU";

/* --- events that occur a known number of times ------------------------------------------------ */

static volatile int spot; /* watched by a breakpoint: each write is one event */

static void hit(int n)
{
	while (n-- > 0)
		spot = n;
}

static int refused(int r)
{
	return r == -EACCES || r == -EPERM;
}

/* A user-space event that counts the writes to spot. */
static struct gp_event hits(void)
{
	struct gp_event e;
	char text[64];

	snprintf(text, sizeof(text), "mem:0x%lx/4:w", (unsigned long)&spot);
	if (gp_parse(text, &e, 1, NULL, 0) != 1)
		memset(&e, 0, sizeof(e));
	ATTR(&e)->exclude_kernel = ATTR(&e)->exclude_hv = 1;
	return e;
}

/* The same event, with one record for each write. */
static struct gp_event samples(uint64_t type)
{
	struct gp_event e = hits();

	ATTR(&e)->sample_period = 1;
	ATTR(&e)->sample_type = type;
	return e;
}

static int open_hits(void)
{
	struct gp_event e = hits();

	return gp_open(&e, 0, -1, -1);
}

/* Some virtual machines accept breakpoints and never trigger them. This asks the kernel alone, so
 * that no fault of the library is taken for one of the machine. */
static int hits_are_counted(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(attr), .bp_type = HW_BREAKPOINT_W,
		.bp_addr = (uintptr_t)&spot, .bp_len = sizeof(spot), .exclude_kernel = 1, .exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	uint64_t count = 0;

	if (fd < 0)
		return 0;
	hit(1);
	if (read(fd, &count, sizeof(count)) < 0)
		count = 0;
	close(fd);
	return count > 0;
}

/* Opens the first event of a list on the calling task. */
static int open_text(const char *list, struct gp_event *e)
{
	int n = gp_parse(list, e, 1, NULL, 0);

	return n < 0 ? n : gp_open(e, 0, -1, -1);
}

static uint64_t value_of(int fd)
{
	struct gp_count c = { 0, 0, 0, 0, 0 };

	return gp_read(fd, 7, &c, 1) == 1 ? c.value : UINT64_MAX;
}

static void touch_pages(int n)
{
	size_t bytes = (size_t)n * page;
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return;
	madvise(p, bytes, MADV_NOHUGEPAGE);
	for (int i = 0; i < n; i++)
		p[(size_t)i * page] = 1;
	munmap(p, bytes);
}

/* Executes at least n instructions in user space, three in each iteration. */
static void spin(long n)
{
	volatile long i = 0;

	while (i < n)
		i++;
}

/* Uses at least this CPU time, nearly all of it in user space. */
static void burn(int64_t ns)
{
	struct timespec t;
	int64_t end, now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec + ns;
	do {
		spin(10000);
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
	} while (now < end);
}

/* A child that waits for a byte, does its work and exits. */
struct child {
	pid_t pid;
	int go;
};

static struct child child_of(void (*work)(void))
{
	struct child c = { -1, -1 };
	int fds[2];
	char b;

	if (pipe(fds) < 0)
		return c;
	c.pid = fork();
	if (c.pid == 0) {
		close(fds[1]);
		if (read(fds[0], &b, 1) == 1)
			work();
		_exit(0);
	}
	close(fds[0]);
	c.go = fds[1];
	return c;
}

static int child_run(struct child c)
{
	int status = -1;

	if (write(c.go, "", 1) != 1)
		return -1;
	close(c.go);
	waitpid(c.pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void hit_50(void)
{
	hit(50);
}

static void fork_and_hit(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		hit(50);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* --- descriptors ------------------------------------------------------------------------------ */

static void descriptors(void)
{
	int a = open_hits(), b = open_hits(), fds[100], n = 0, counting = 0;
	uint64_t raw[4];
	struct gp_event e;

	check(a >= 0 && b >= 0 && a != b, "there's one file descriptor per virtual counter used");
	gp_enable(a);
	hit(7);
	check(value_of(a) == 7 && value_of(b) == 0, "read() can be used to read the counter");
	check(fcntl(a, F_GETFD) & FD_CLOEXEC, "flags, unused then: the descriptor is closed by execve (FD_CLOEXEC)");
	gp_nonblock(a, 1);
	check(fcntl(a, F_GETFL) & O_NONBLOCK, "fcntl() can be used to set the blocking mode: on");
	gp_nonblock(a, 0);
	check(!(fcntl(a, F_GETFL) & O_NONBLOCK), "fcntl() can be used to set the blocking mode: off");
	check(poll(&(struct pollfd){ .fd = b, .events = POLLIN }, 1, 0) >= 0, "the counters can be poll()ed");
	close(a);
	close(b);
	check_eq(gp_enable(a), -EBADF, "close(2) ends a counter");

	while (n < 100 && (fds[n] = open_text("task-clock:u", &e)) >= 0)
		gp_enable(fds[n++]);
	burn(NS_MS);
	for (int i = 0; i < n; i++) {
		counting += value_of(fds[i]) > 0;
		close(fds[i]);
	}
	check_eq(counting, 100, "multiple counters can be kept open at a time");

	e = hits();
	ATTR(&e)->read_format = 0;
	a = gp_open(&e, 0, -1, -1);
	check_eq(read(a, raw, sizeof(raw)), 8, "each value is a u64 (8 bytes) in size");
	close(a);
	e = hits();
	ATTR(&e)->read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	ATTR(&e)->disabled = 0;
	a = gp_open(&e, 0, -1, -1);
	hit(5);
	gp_disable(a);
	check(read(a, raw, sizeof(raw)) == 24 && raw[0] == 5 && raw[1] >= raw[2] && raw[2] > 0,
	      "the indicated quantities, in increasing order of bit value, after the counter value");
	close(a);
}

/* --- kinds of events -------------------------------------------------------------------------- */

static void software(void)
{
	static const char *const names[] = {
		"cpu-clock", "task-clock", "page-faults", "context-switches", "cpu-migrations", "minor-faults",
		"major-faults", "alignment-faults", "emulation-faults",
	};
	struct timespec brief = { 0, 1000 };
	struct gp_event e;
	int fd;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char name[96];

		snprintf(name, sizeof(name), "PERF_TYPE_SOFTWARE: %s is event %u, and opens", names[i], i);
		fd = open_text(names[i], &e);
		if (refused(fd))
			skip(name, "may not be counted here");
		else
			check(fd >= 0 && ATTR(&e)->type == 1 && ATTR(&e)->config == i, name);
		close(fd);
	}
	fd = open_text("page-faults:u", &e);
	gp_enable(fd);
	touch_pages(64);
	gp_disable(fd);
	check_in(value_of(fd), 64, 72, "these counters measure various physical and sw events: page faults");
	close(fd);
	fd = open_text("task-clock:u", &e);
	gp_enable(fd);
	burn(20 * NS_MS);
	gp_disable(fd);
	check_in(value_of(fd), 19 * NS_MS, (uint64_t)20000 * NS_MS,
		 "these counters measure various physical and sw events: time");
	close(fd);
	fd = open_text("context-switches", &e);
	if (refused(fd)) {
		skip("software counters: sleeping is a context switch", "may not be counted here");
		return;
	}
	gp_enable(fd);
	for (int i = 0; i < 5; i++)
		nanosleep(&brief, NULL);
	gp_disable(fd);
	check_in(value_of(fd), 5, 5000, "software counters: sleeping is a context switch");
	close(fd);
}

/* Mounts tracefs in a separate mount namespace if it is not mounted. */
static void tracefs(void)
{
	if (geteuid() || access("/sys/kernel/tracing/events", F_OK) == 0 || unshare(CLONE_NEWNS) < 0)
		return;
	mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL);
}

static void tracepoints(void)
{
	static const char count[] = "counters of the type PERF_TYPE_TRACEPOINT are available: 100 calls cause 100 events";
	static const char ident[] = "event_id values can be obtained from tracing/events/*/*/id";
	static const char filter[] = "a filter selects the hits of a tracepoint that are counted";
	struct gp_event e;
	FILE *f;
	long id = -1;
	int fd;

	fd = open_text("syscalls:sys_enter_getppid", &e);
	if (fd < 0) {
		skip(ident, "tracepoints are missing here, or not accessible to this user");
		skip(count, "tracepoints are missing here, or not accessible to this user");
		skip(filter, "tracepoints are missing here, or not accessible to this user");
		return;
	}
	f = fopen("/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id", "r");
	if (f && fscanf(f, "%ld", &id) != 1)
		id = -1;
	if (f)
		fclose(f);
	check_eq((int64_t)ATTR(&e)->config, id, ident);
	gp_enable(fd);
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	check_eq((int64_t)value_of(fd), 100, count);
	gp_reset(fd);
	gp_filter(fd, "common_pid == 0");
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
	check_eq((int64_t)value_of(fd), 0, filter);
	close(fd);
}

static int cannot(int r)
{
	return r == -EINVAL || r == -ENOENT || r == -EOPNOTSUPP;
}

static void hardware(int pmu)
{
	static const char *const names[] = {
		"cycles", "instructions", "cache-references", "cache-misses", "branches", "branch-misses", "bus-cycles",
	};
	static const char raw[] = "more are supported, but they are CPU-specific and accessed as raw events";
	struct gp_event e;
	char name[96];
	int fd;

	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(name, sizeof(name), "PERF_TYPE_HARDWARE: %s is event %u, and opens or is not supported by this CPU", names[i],
			 i);
		fd = open_text(names[i], &e);
		check(ATTR(&e)->type == 0 && (ATTR(&e)->config & 0xffffffff) == i &&
		      (fd >= 0 || cannot(fd) || refused(fd)), name);
		close(fd);
	}
	memset(&e, 0, sizeof(e));
	ATTR(&e)->config = 12345;
	ATTR(&e)->exclude_kernel = 1;
	check(cannot(gp_open(&e, 0, -1, -1)), "if a CPU is not able to count the selected event, the call returns -EINVAL "
					      "(or -ENOENT or -EOPNOTSUPP)");
#ifdef __aarch64__
	fd = pmu ? open_text("r11:u", &e) : -1; /* ARMv8's cycles */
#elif defined(__x86_64__) || defined(__i386__)
	fd = pmu ? open_text("r3c:u", &e) : -1; /* architectural: unhalted cycles */
#else
	fd = -1;
#endif
	if (fd < 0) {
		skip(raw, pmu ? "no raw event of this CPU is known" : no_pmu);
	} else {
		gp_enable(fd);
		spin(100000);
		gp_disable(fd);
		check_in(value_of(fd), 100000, UINT64_MAX - 1, raw);
		close(fd);
	}
}

/* --- counting and sampling -------------------------------------------------------------------- */

union record {
	struct perf_event_header h;
	uint64_t w[8192];
};

static union record rec;

/* Reads all available records; returns the number of records of a type, and leaves the last of them
 * in rec. */
static int drain(struct gp_ring *r, uint32_t type)
{
	union record last;
	int n = 0;

	while (gp_next(r, &rec, sizeof(rec)) > 0)
		if (rec.h.type == type) {
			n++;
			last = rec;
		}
	if (n)
		rec = last;
	return n;
}

static void sampling(void)
{
	struct gp_event e = hits();
	struct gp_ring r;
	int fd = gp_open(&e, 0, -1, -1);

	check(fd >= 0 && gp_map(&r, fd, 1) == 0, "the ring-buffer is created and accessed through mmap()");
	gp_enable(fd);
	hit(100);
	check(value_of(fd) == 100 && drain(&r, PERF_RECORD_SAMPLE) == 0,
	      "a \"counting\" counter is characterised by having irq_period = 0: it counts and writes no records");
	gp_unmap(&r);
	close(fd);

	e = samples(PERF_SAMPLE_IP);
	ATTR(&e)->sample_period = 10;
	fd = gp_open(&e, 0, -1, -1);
	gp_map(&r, fd, 1);
	gp_enable(fd);
	hit(105);
	check_eq(drain(&r, PERF_RECORD_SAMPLE), 10, "a \"sampling\" counter generates an interrupt every N events");
	check_eq((int64_t)value_of(fd), 105, "a \"sampling\" counter also counts");
	gp_period(fd, 5);
	hit(50);
	check_in((uint64_t)drain(&r, PERF_RECORD_SAMPLE), 9, 11,
		 "where N is given by irq_period: a new N applies from now on");
	gp_unmap(&r);
	close(fd);
}

static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void contents(void)
{
	struct gp_event e = samples(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
				    PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN), member = hits();
	uint64_t before, after, ids[2] = { 0, 0 };
	uint32_t who[2];
	struct gp_ring r;
	int fd, other;

	ATTR(&e)->read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID;
	ATTR(&member)->disabled = 0;
	/* all events of a group must use the same clock */
	ATTR(&e)->use_clockid = ATTR(&member)->use_clockid = 1;
	ATTR(&e)->clockid = ATTR(&member)->clockid = CLOCK_MONOTONIC;
	fd = gp_open(&e, 0, -1, -1);
	other = gp_open(&member, 0, -1, fd);
	gp_id(fd, &ids[0]);
	gp_id(other, &ids[1]);
	gp_map(&r, fd, 1);
	gp_enable(fd);
	before = clock_now();
	hit(1);
	after = clock_now();
	gp_disable(fd);
	if (!check(drain(&r, PERF_RECORD_SAMPLE) == 1,
		   "overflow packets are PERF_RECORD_SAMPLE today: one record for one event")) {
		close(fd);
		return;
	}
	memcpy(who, &rec.w[2], sizeof(who));
	check(rec.w[1] - (uintptr_t)hit < 4096 || (uintptr_t)hit - rec.w[1] < 4096,
	      "PERF_RECORD_IP: the instruction address");
	check(who[0] == (uint32_t)getpid() && who[1] == (uint32_t)syscall(SYS_gettid), "PERF_RECORD_TID: the process and thread");
	check_in(rec.w[3], before, after, "PERF_RECORD_TIME: the time, on the requested clock");
	check_eq((int64_t)rec.w[4], (int64_t)(uintptr_t)&spot, "PERF_RECORD_ADDR: the data address");
	check(rec.w[5] == 2 && rec.w[6] >= 1 && rec.w[7] == ids[0] && rec.w[9] == ids[1] && ids[0] != ids[1],
	      "PERF_RECORD_GROUP: u64 nr and the values of the group (PERF_SAMPLE_READ today)");
	check(rec.w[10] >= 1 && 8 * (11 + rec.w[10]) == rec.h.size,
	      "PERF_RECORD_CALLCHAIN: nr, and nr addresses (no hv, kernel, user)");
	check_eq(rec.h.misc & PERF_RECORD_MISC_CPUMODE_MASK, PERF_RECORD_MISC_USER,
		 "PERF_RECORD_MISC_USER: the CPU mode");
	gp_unmap(&r);
	close(other);
	close(fd);
}

/* --- bits of attr ----------------------------------------------------------------------------- */

static void disabled(void)
{
	struct gp_event e = hits();
	int fd = gp_open(&e, 0, -1, -1);

	hit(3);
	check_eq((int64_t)value_of(fd), 0, "the 'disabled' bit specifies that the counter starts out disabled");
	gp_enable(fd);
	hit(3);
	check_eq((int64_t)value_of(fd), 3, "if it is initially disabled, it can be enabled by ioctl");
	gp_disable(fd);
	hit(3);
	check_eq((int64_t)value_of(fd), 3,
		 "when a counter is disabled, it doesn't count but does maintain its count value");
	gp_enable(fd);
	hit(3);
	check_eq((int64_t)value_of(fd), 6, "a counter that is enabled again continues from its count");
	close(fd);
	ATTR(&e)->disabled = 0;
	fd = gp_open(&e, 0, -1, -1);
	hit(3);
	check_eq((int64_t)value_of(fd), 3, "without the 'disabled' bit it starts out enabled");
	close(fd);
}

static void inherit(void)
{
	struct child old = child_of(hit_50), elder = child_of(fork_and_hit);
	struct gp_event e = hits();
	int fd, alone;

	alone = gp_open(&e, 0, -1, -1);
	ATTR(&e)->inherit = 1;
	fd = gp_open(&e, 0, -1, -1);
	gp_enable(fd);
	gp_enable(alone);
	child_run(child_of(hit_50));
	check_eq((int64_t)value_of(fd), 50, "the 'inherit' bit: count events on descendant tasks as well");
	check_eq((int64_t)value_of(alone), 0, "without the 'inherit' bit descendant tasks are not counted");
	child_run(child_of(fork_and_hit));
	check_eq((int64_t)value_of(fd), 100, "the 'inherit' bit: descendants of new descendants are counted, too");
	child_run(old);
	check_eq((int64_t)value_of(fd), 100, "this only applies to new descendents, not to any existing descendents");
	child_run(elder);
	check_eq((int64_t)value_of(fd), 100, "(nor to any new descendents of existing descendents)");
	check_eq(gp_refresh(fd, 1), -EINVAL,
		 "non-inherited overflow counters can use REFRESH: an inherited counter is rejected");
	close(fd);
	close(alone);
}

static void excludes(void)
{
	struct gp_event e;
	int fd = open_text("page-faults:u", &e), kernel = open_text("page-faults:k", &e), hv;

	check(ATTR(&e)->exclude_user && !ATTR(&e)->exclude_kernel,
	      "exclude_user, exclude_kernel and exclude_hv: :k excludes the other modes");
	gp_enable(fd);
	gp_enable(kernel);
	touch_pages(32);
	check_in(value_of(fd), 32, 40, "restricted to times when the CPU is in user mode");
	if (refused(kernel))
		skip("exclude_user: events in user mode are not counted", "the kernel may not be counted here");
	else
		check_eq((int64_t)value_of(kernel), 0, "exclude_user: events in user mode are not counted");
	close(fd);
	close(kernel);
	fd = open_text("task-clock:u", &e);
	ATTR(&e)->exclude_idle = 1;
	hv = gp_open(&e, 0, -1, -1);
	check(ATTR(&e)->exclude_hv && hv >= 0, "exclude_hv and exclude_idle are accepted");
	close(fd);
	close(hv);
}

static void maps(void)
{
	struct gp_event e = samples(0);
	struct gp_ring r;
	char *p, name[16] = "conform-name", *file;
	int fd, exe = open("/proc/self/exe", O_RDONLY);
	uint32_t who[2];

	ATTR(&e)->sample_period = 0;
	ATTR(&e)->mmap = ATTR(&e)->comm = 1;
	fd = gp_open(&e, 0, -1, -1);
	gp_map(&r, fd, RING_PAGES);
	gp_enable(fd);
	p = mmap(NULL, page, PROT_READ | PROT_EXEC, MAP_PRIVATE, exe, 0);
	check_eq(drain(&r, PERF_RECORD_MMAP), 1, "the 'mmap' bit allows recording of PROT_EXEC mmap operations");
	memcpy(who, &rec.w[1], sizeof(who));
	file = (char *)&rec.w[5];
	check(who[0] == (uint32_t)getpid() && rec.w[2] == (uintptr_t)p && rec.w[3] == page && rec.w[4] == 0 &&
	      strchr(file, '/'),
	      "MMAP events: u32 pid, tid; u64 addr, len, pgoff; char filename[]");
	munmap(p, page);
	check(gp_next(&r, &rec, sizeof(rec)) == 0, "'munmap' and PERF_RECORD_MUNMAP no longer exist: munmap writes no record");
	prctl(PR_SET_NAME, name);
	check(drain(&r, PERF_RECORD_COMM) == 1 && strcmp((char *)&rec.w[2], name) == 0,
	      "the 'comm' bit allows tracking of process comm data: u32 pid, tid; char comm[]");
	close(exe);
	gp_unmap(&r);
	close(fd);
}

/* --- targets: tasks and CPUs ------------------------------------------------------------------ */

static int cpus[2], ncpus;

static void find_cpus(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		return;
	for (int i = 0; i < CPU_SETSIZE && ncpus < 2; i++)
		if (CPU_ISSET(i, &set))
			cpus[ncpus++] = i;
}

static void move_to(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Returns its exit status: the result of the open call. */
static int as_nobody(int pid, int cpu)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		struct gp_event e;
		int n = gp_parse("task-clock:u", &e, 1, NULL, 0), fd;

		if (setgid(65534) || setuid(65534) || n != 1)
			_exit(99);
		fd = gp_open(&e, pid, cpu, -1);
		_exit(fd < 0 ? -fd : 0);
	}
	waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void users(void)
{
	static const char own[] = "per task counters can be created by any user, for their own tasks";
	static const char all[] = "per CPU counters need CAP_SYS_ADMIN privilege (today CAP_PERFMON, or paranoid 0)";
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "r");
	int paranoid = 9;

	if (f && fscanf(f, "%d", &paranoid) != 1)
		paranoid = 9;
	if (f)
		fclose(f);
	if (geteuid() || paranoid > 2)
		skip(own, geteuid() ? "needs root, to become another user" : "perf_event_paranoid forbids all counting here");
	else
		check_eq(as_nobody(0, -1), 0, own);
	if (geteuid() || paranoid < 1)
		skip(all, geteuid() ? "needs root, to become another user" : "perf_event_paranoid allows everything here");
	else
		check_eq(as_nobody(-1, cpus[0]), EACCES, all);
}

static void targets(void)
{
	static const char restricted[] = "cpu >= 0: the counter is restricted to a specific CPU";
	static const char follows[] = "cpu == -1: it 'follows' that task to whatever CPU the task gets scheduled to";
	struct child c = child_of(hit_50);
	struct gp_event e = hits();
	cpu_set_t was;
	int own = gp_open(&e, 0, -1, -1), other = gp_open(&e, c.pid, -1, -1), fd;

	sched_getaffinity(0, sizeof(was), &was);
	gp_enable(own);
	gp_enable(other);
	hit(20);
	child_run(c);
	check_eq((int64_t)value_of(own), 20, "pid == 0: the counter is attached to the current task");
	check_eq((int64_t)value_of(other), 50, "pid > 0: the counter is attached to a specific task");
	check_eq(gp_open(&e, c.pid, -1, -1), -ESRCH, "pid > 0: the pid of a task that has ended causes -ESRCH");
	check_eq(gp_open(&e, -1, -1, -1), -EINVAL, "(the combination of 'pid == -1' and 'cpu == -1' is not valid.)");
	close(other);

	fd = gp_open(&e, 0, cpus[0], -1);
	gp_reset(own);
	gp_enable(fd);
	for (int i = 0; i < ncpus; i++) {
		move_to(cpus[i]);
		hit(10);
	}
	sched_setaffinity(0, sizeof(was), &was);
	if (ncpus < 2)
		skip(restricted, "there is only one CPU");
	else
		check_eq((int64_t)value_of(fd), 10, restricted);
	check_eq((int64_t)value_of(own), 10 * ncpus, follows);
	close(fd);
	close(own);
}

static void whole_cpus(void)
{
	static const char whole[] = "pid < 0: all tasks are counted (per cpu counters)";
	struct gp_event e;
	pid_t pid;
	int fd;

	gp_parse("page-faults:u", &e, 1, NULL, 0);
	fd = gp_open(&e, -1, cpus[0], -1);
	if (refused(fd)) {
		skip(whole, "whole CPUs may not be counted here");
		return;
	}
	gp_enable(fd);
	pid = fork();
	if (pid == 0) {
		move_to(cpus[0]);
		touch_pages(100);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	check_in(value_of(fd), 100, UINT64_MAX - 1, whole);
	close(fd);
}

/* --- groups ----------------------------------------------------------------------------------- */

/* Two counters of writes to spot, with the values that one read of the leader returns. */
struct pair {
	int fds[2];
	uint64_t format;
	struct gp_count c[2];
};

static struct pair pair_open(void)
{
	struct pair p = { { -1, -1 }, PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING | PERF_FORMAT_ID |
				      PERF_FORMAT_GROUP, { { 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0 } } };
	struct gp_event e[2] = { hits(), hits() };

	for (int i = 0; i < 2; i++) {
		e[i].group = 1;
		ATTR(&e[i])->read_format = p.format;
	}
	ATTR(&e[1])->disabled = 0;
	gp_open_all(e, 2, 0, -1, p.fds);
	return p;
}

static int pair_is(struct pair *p, uint64_t leader, uint64_t member)
{
	return gp_read(p->fds[0], p->format, p->c, 2) == 2 && p->c[0].value == leader && p->c[1].value == member;
}

/* Tests members of a group; both start enabled, with a count of 3. */
static void members(struct pair *p)
{
	gp_disable(p->fds[1]);
	hit(4);
	check(pair_is(p, 7, 3),
	      "disabling an non-leader stops that counter from counting but doesn't affect any other counter");
	gp_disable(p->fds[0]);
	gp_enable(p->fds[1]);
	hit(5);
	check(pair_is(p, 7, 3), "enabling a member only affects that counter: it does not count while its leader is disabled");
	gp_enable(p->fds[0]);
	hit(1);
	check(pair_is(p, 8, 4), "after the leader is enabled again, both count");
	gp_disable_group(p->fds[1]);
	hit(5);
	check(pair_is(p, 8, 4), "PERF_IOC_FLAG_GROUP disables each member, through any descriptor of the group");
	gp_enable(p->fds[0]);
	hit(1);
	check(pair_is(p, 9, 4), "a member that was disabled separately is not enabled with its leader");
	gp_enable_group(p->fds[1]);
	hit(1);
	check(pair_is(p, 10, 5), "PERF_IOC_FLAG_GROUP enables each member, through any descriptor of the group");
}

static void groups(void)
{
	struct pair p = pair_open();
	uint64_t id[2] = { 0, 0 };
	struct gp_event e = hits();
	struct gp_count c;

	check(p.fds[0] >= 0 && p.fds[1] >= 0,
	      "the leader is created first, with group_fd = -1, the rest with group_fd giving its fd");
	hit(3);
	check(pair_is(&p, 0, 0), "while the group leader is disabled, none of the counters in the group will count");
	gp_enable(p.fds[0]);
	hit(3);
	check(pair_is(&p, 3, 3), "enabling the leader of a group enables the whole group");
	check(p.c[0].enabled == p.c[1].enabled && p.c[0].running == p.c[1].running && p.c[0].running > 0,
	      "a counter group is scheduled onto the CPU as a unit: its members have equal times");
	gp_id(p.fds[0], &id[0]);
	gp_id(p.fds[1], &id[1]);
	check(id[0] != id[1] && p.c[0].id == id[0] && p.c[1].id == id[1],
	      "a group read returns the id of each counter, the leader first");
	members(&p);
	gp_disable(p.fds[0]);
	pair_is(&p, 10, 5);
	c = p.c[0];
	gp_reset(p.fds[1]);
	check(pair_is(&p, 10, 0) && p.c[0].enabled == c.enabled && p.c[0].running == c.running && c.running > 0,
	      "RESET: the count of one counter becomes 0, the times stay");
	gp_reset_group(p.fds[1]);
	check(pair_is(&p, 0, 0), "RESET with PERF_IOC_FLAG_GROUP: the counts of all members become 0");
	check_eq(gp_read(p.fds[0], p.format, &c, 1), -ENOSPC,
		 "reading a group with more values than the buffer can hold is rejected");
	ATTR(&e)->pinned = 1;
	check_eq(gp_open(&e, 0, -1, p.fds[0]), -EINVAL, "the 'pinned' bit only applies to group leaders");
	ATTR(&e)->pinned = 0;
	ATTR(&e)->exclusive = 1;
	check_eq(gp_open(&e, 0, -1, p.fds[0]), -EINVAL, "the 'exclusive' bit also applies only to group leaders");
	close(p.fds[1]);
	close(p.fds[0]);
	e = hits();
	p.fds[0] = gp_open(&e, 0, -1, -1);
	check(gp_read(p.fds[0], ATTR(&e)->read_format, &c, 1) == 1,
	      "a single counter is considered to be a group with only 1 member");
	close(p.fds[0]);
}

/* --- rings ------------------------------------------------------------------------------------ */

static void mapping(void)
{
	struct gp_event e = samples(PERF_SAMPLE_IP);
	int fd = gp_open(&e, 0, -1, -1), memfd = (int)syscall(SYS_memfd_create, "page", 0), good = 1;
	uint32_t versions[2] = { 1, 1 };
	struct gp_ring r;

	for (uint32_t pages = 1; pages <= RING_PAGES; pages *= 2) {
		good &= gp_map(&r, fd, pages) == 0 && r.size == pages * page;
		gp_unmap(&r);
	}
	check(good, "the mmap size should be 1+2^n pages");
	check(mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED &&
	      gp_map(&r, fd, 3) == -EINVAL,
	      "the mmap size should be 1+2^n pages: other sizes are rejected");
	check(gp_map(&r, fd, 0) == 0, "the first page is a meta-data page, which can be mapped alone");
	check_eq(((struct perf_event_mmap_page *)r.page)->compat_version, 0,
		 "compat_version: lowest version this is compat with");
	gp_unmap(&r);
	if (ftruncate(memfd, (off_t)(2 * page)) == 0 && write(memfd, versions, sizeof(versions)) == sizeof(versions))
		check_eq(gp_map(&r, memfd, 1), -ENOTSUP, "compat_version: an unknown one is rejected");
	close(memfd);
	close(fd);
}

static void wrapping(void)
{
	struct gp_event e = samples(PERF_SAMPLE_IP | PERF_SAMPLE_ADDR | PERF_SAMPLE_READ);
	uint64_t lost = 0, count, last = 0, jumps = 0;
	struct gp_ring r;
	int fd, n = 0;
	long got;

	ATTR(&e)->read_format = 0;
	fd = gp_open(&e, 0, -1, -1);
	gp_map(&r, fd, 1);
	gp_enable(fd);
	for (int i = 0; i < 1000; i++) {
		hit(7);
		while ((got = gp_next(&r, &rec, sizeof(rec))) > 0) {
			n++;
			jumps += rec.h.type != PERF_RECORD_SAMPLE || got != 32 || rec.w[3] != last + 1;
			last = rec.w[3];
		}
	}
	check(n == 7000 && jumps == 0, "data_head: every record is read once, in order, across the end of the ring");
	hit((int)page / 16);
	gp_disable(fd);
	n = 0;
	while (gp_next(&r, &rec, 8) == -EFBIG && gp_next(&r, &rec, sizeof(rec)) > 0)
		n += rec.h.type == PERF_RECORD_SAMPLE;
	check_in((uint64_t)n, page / 32 - 1, page / 32, "a full ring accepts no more records, and keeps those in it");
	close(fd);
	gp_unmap(&r);

	e = samples(PERF_SAMPLE_IP);
	fd = gp_open(&e, 0, -1, -1);
	gp_map(&r, fd, 1);
	gp_enable(fd);
	hit((int)page / 8);
	count = (uint64_t)drain(&r, PERF_RECORD_SAMPLE);
	hit(1);
	while (gp_next(&r, &rec, sizeof(rec)) > 0)
		if (rec.h.type == PERF_RECORD_LOST)
			lost += rec.w[2];
		else
			count++;
	check(lost > 0 && lost + count == page / 8 + 1,
	      "number 2 is PERF_RECORD_LOST today: it reports the lost records");
	gp_unmap(&r);
	close(fd);
}

static void outputs(void)
{
	struct gp_event e = samples(PERF_SAMPLE_IDENTIFIER);
	int a = gp_open(&e, 0, -1, -1), b = gp_open(&e, 0, -1, -1);
	uint64_t ids[2] = { 0, 0 };
	int seen[2] = { 0, 0 };
	struct gp_ring r;

	gp_id(a, &ids[0]);
	gp_id(b, &ids[1]);
	gp_map(&r, a, 1);
	check_eq(gp_output(b, a), 0, "several counters may share one ring");
	gp_enable(a);
	gp_enable(b);
	hit(4);
	while (gp_next(&r, &rec, sizeof(rec)) > 0)
		for (int i = 0; i < 2; i++)
			seen[i] += rec.w[1] == ids[i];
	check(seen[0] == 4 && seen[1] == 4, "records of several counters in one ring are distinguished by their ids");
	gp_output(b, -1);
	hit(4);
	check_eq(drain(&r, PERF_RECORD_SAMPLE), 4, "a counter whose output was removed from the ring writes no records");
	close(a);
	close(b);
	gp_unmap(&r);
}

/* --- notifications ---------------------------------------------------------------------------- */

static volatile int signals, signal_fd, last_code;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig;
	(void)context;
	signals++;
	signal_fd = info->si_fd;
	last_code = info->si_code;
}

/* Each call consumes the notification. */
static int selectable(int fd)
{
	struct timeval now = { 0, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &now) == 1;
}

static int pollable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1 && p.revents & POLLIN;
}

static void notification(void)
{
	struct gp_event e = samples(PERF_SAMPLE_IP);
	struct epoll_event want = { .events = EPOLLIN }, got;
	struct gp_ring r;
	int fd = gp_open(&e, 0, -1, -1), n = 0, pipes[2], ep = epoll_create1(EPOLL_CLOEXEC);

	gp_map(&r, fd, RING_PAGES);
	gp_enable(fd);
	hit(1);
	check(!pollable(fd), "without wakeup_events a single record causes no notification");
	while (n++ < 20000 && !pollable(fd)) /* enough for pages of 64 KiB */
		hit(1);
	check_in((uint64_t)n * 16, page, RING_PAGES * page, "normally a notification is generated for every page filled "
							    "(half of the ring today)");
	if (pipe(pipes) == 0) {
		check(splice(fd, NULL, pipes[1], NULL, page, SPLICE_F_NONBLOCK) < 0,
		      "the splice() interface, listed as future work, does not exist");
		close(pipes[0]);
		close(pipes[1]);
	}
	gp_unmap(&r);
	close(fd);

	ATTR(&e)->wakeup_events = 10;
	fd = gp_open(&e, 0, -1, -1);
	gp_map(&r, fd, RING_PAGES);
	gp_enable(fd);
	hit(9);
	check(!pollable(fd), "wakeup_events: no notification before this number of counter overflow events");
	hit(1);
	check(pollable(fd), "notification of new events is possible through poll()");
	hit(10);
	check(selectable(fd), "notification of new events is possible through select()");
	epoll_ctl(ep, EPOLL_CTL_ADD, fd, &want);
	hit(10);
	check(epoll_wait(ep, &got, 1, 0) == 1 && got.events & EPOLLIN,
	      "notification of new events is possible through epoll()");
	close(ep);
	for (int i = n = 0; i < 100; i++) {
		hit(1);
		n += pollable(fd);
	}
	check_eq(n, 10, "wakeup_events: one notification every so many counter overflow events");
	gp_unmap(&r);
	close(fd);
}

static void hangup(void)
{
	struct gp_event e = samples(PERF_SAMPLE_IP);
	struct child c = child_of(hit_50);
	int fd = gp_open(&e, c.pid, -1, -1);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct gp_ring r;

	gp_map(&r, fd, 1);
	child_run(c);
	check(poll(&p, 1, 5000) == 1 && p.revents & POLLHUP, "poll() reports POLLHUP when the task has ended");
	gp_unmap(&r);
	close(fd);
}

/* An event of page faults, some of which this test does not cause. A breakpoint is unsuitable: on
 * some machines one that its own exception disabled is not set again, and on others a signal at its
 * address prevents it from ever being passed. */
static int open_faults(uint32_t wakeup, struct gp_ring *r)
{
	struct sigaction sa = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct gp_event e;
	int fd;

	gp_parse("page-faults:u", &e, 1, NULL, 0);
	ATTR(&e)->sample_period = 1;
	ATTR(&e)->wakeup_events = wakeup;
	ATTR(&e)->sample_type = PERF_SAMPLE_IP;
	fd = gp_open(&e, 0, -1, -1);
	gp_map(r, fd, RING_PAGES);
	sigaction(SIGRTMIN + 5, &sa, NULL);
	signals = 0;
	return fd;
}

static void signalled(void)
{
	struct gp_ring r;
	int fd = open_faults(10, &r), was;

	check_eq(gp_notify(fd, SIGRTMIN + 5, 0), 0,
		 "notification of new events is possible through fcntl() managing signals");
	gp_enable(fd);
	touch_pages(50);
	gp_disable(fd);
	check(signals >= 50 && (uint64_t)signals == value_of(fd),
	      "today each overflow sends a signal, regardless of wakeup_events");
	check(signal_fd == fd && last_code == POLL_IN, "the signal contains the descriptor, and the code for readable");
	gp_notify(fd, 0, 0);
	was = signals;
	gp_enable(fd);
	touch_pages(10);
	check_eq(signals, was, "signals can be switched off again");
	gp_unmap(&r);
	close(fd);
}

static void refresh(void)
{
	struct gp_ring r;
	int fd = open_faults(1, &r);

	gp_notify(fd, SIGRTMIN + 5, 0);
	check_eq(gp_refresh(fd, 3), 0, "non-inherited overflow counters can use PERF_EVENT_IOC_REFRESH");
	touch_pages(10);
	check_eq(drain(&r, PERF_RECORD_SAMPLE), 3, "REFRESH enables a counter for 'nr' events");
	check_eq((int64_t)value_of(fd), 3, "after 'nr' events the counter gets disabled again");
	check(signals == 3 && last_code == POLL_HUP, "the last of the 'nr' notifications is marked as the last");
	gp_refresh(fd, 1);
	touch_pages(10);
	check_eq((int64_t)value_of(fd), 4, "a second REFRESH enables the counter for 'nr' more events");
	check_eq(gp_refresh(fd, 0), -EINVAL, "'nr' of 0, which has no meaning, is rejected");
	check_eq(gp_refresh(fd, -1), -EINVAL, "'nr' below 0 is rejected");
	touch_pages(10);
	check_eq((int64_t)value_of(fd), 4, "a rejected REFRESH enables nothing");
	gp_unmap(&r);
	close(fd);
	fd = open_hits();
	check_eq(gp_refresh(fd, 1), -EINVAL, "overflow counters can use REFRESH: a counting one is rejected");
	close(fd);
}

/* --- prctl ------------------------------------------------------------------------------------ */

/* A child counts the writes of its parent; the exit status is its count. */
static struct child counting_child(int *ready)
{
	struct child c = { -1, -1 };
	int go[2], told[2];
	char b;

	if (pipe(go) < 0 || pipe(told) < 0)
		return c;
	c.pid = fork();
	if (c.pid == 0) {
		struct gp_event e = hits();
		int fd;

		close(go[1]);
		ATTR(&e)->disabled = 0;
		fd = gp_open(&e, getppid(), -1, -1);
		if (write(told[1], "", 1) != 1 || read(go[0], &b, 1) != 1)
			_exit(99);
		_exit(fd < 0 ? 98 : (int)value_of(fd));
	}
	close(go[0]);
	close(told[1]);
	c.go = go[1];
	*ready = read(told[0], &b, 1) == 1;
	close(told[0]);
	return c;
}

static void task_switch(void)
{
	struct pair p = pair_open();
	struct child c = child_of(hit_50), watcher;
	struct gp_event e = hits();
	int other, ready = 0;

	check_eq(gp_task_enable(), 0,
		 "a process can enable all the counter groups using prctl(PR_TASK_PERF_EVENTS_ENABLE)");
	hit(3);
	check(pair_is(&p, 3, 3), "after PR_TASK_PERF_EVENTS_ENABLE the groups count");
	check_eq(gp_task_disable(), 0,
		 "a process can disable all the counter groups using prctl(PR_TASK_PERF_EVENTS_DISABLE)");
	hit(3);
	check(pair_is(&p, 3, 3), "after PR_TASK_PERF_EVENTS_DISABLE the groups do not count");
	gp_disable(p.fds[1]);
	gp_task_enable();
	hit(2);
	check(pair_is(&p, 5, 5), "(it only enables or disables the group leaders: today also the members)");
	ATTR(&e)->disabled = 0;
	other = gp_open(&e, c.pid, -1, -1);
	watcher = counting_child(&ready);
	gp_task_disable();
	hit(5);
	check(ready && child_run(watcher) == 5,
	      "(whether created by this process or by another: today by this thread)");
	child_run(c);
	check_eq((int64_t)value_of(other), 0,
		 "(not counters that this process has created on other processes: today also those)");
	close(other);
	close(p.fds[0]);
	close(p.fds[1]);
}

/* --- self-monitoring -------------------------------------------------------------------------- */

static void self_software(void)
{
	struct gp_event e = hits();
	struct gp_count a, b;
	struct gp_ring r;
	int fd = gp_open(&e, 0, -1, -1), how;

	gp_map(&r, fd, 0);
	gp_enable(fd);
	hit(5);
	how = gp_read_self(&r, ATTR(&e)->read_format, &a);
	gp_read(fd, ATTR(&e)->read_format, &b, 1);
	check(how == 0 && a.value == 5 && b.value == 5 && a.enabled > 0 && b.enabled >= a.enabled,
	      "if (pc->index) ... else goto regular_read: read() returns the same value");
	gp_unmap(&r);
	close(fd);
}

static void let_read(const char *file)
{
	FILE *f = fopen(file, "w");

	if (f) {
		fputs("1", f);
		fclose(f);
	}
}

static void self_hardware(int pmu)
{
	static const char same[] = "do { seq = pc->lock; ... } while (pc->lock != seq): the value lies between those of two read() calls";
	static const char exact[] = "count = pmc_read(pc->index - 1); count += pc->offset: the exact number of events in between";
	static const char times[] = "cap_user_time: the times increase, too";
	struct gp_count before, first, second, after;
	struct gp_event e;
	struct gp_ring r;
	int fd, how;

	if (!pmu || gp_parse("instructions:u", &e, 1, NULL, 0) != 1) {
		skip(same, no_pmu);
		skip(exact, no_pmu);
		skip(times, no_pmu);
		return;
	}
#ifdef __aarch64__
	let_read("/proc/sys/kernel/perf_user_access");
	ATTR(&e)->config1 = 2; /* Documentation/arm64/perf.rst: rdpmc */
#else
	(void)let_read;
#endif
	fd = gp_open(&e, 0, -1, -1);
	if (fd < 0) {
		gp_parse("cycles:u", &e, 1, NULL, 0);
		fd = gp_open(&e, 0, -1, -1);
	}
	gp_map(&r, fd, 0);
	gp_enable(fd);
	gp_read(fd, ATTR(&e)->read_format, &before, 1);
	gp_read_self(&r, ATTR(&e)->read_format, &first);
	spin(1000000);
	how = gp_read_self(&r, ATTR(&e)->read_format, &second);
	gp_read(fd, ATTR(&e)->read_format, &after, 1);
	check(before.value <= first.value && first.value < second.value && second.value <= after.value, same);
	if (how == 1) {
		uint64_t one = second.value - first.value;

		gp_read_self(&r, ATTR(&e)->read_format, &first);
		spin(1000000);
		gp_read_self(&r, ATTR(&e)->read_format, &second);
		check_in(second.value - first.value, one > 1000 ? one - 1000 : 0, one + 1000, exact);
		check(second.running > first.running &&
		      second.enabled - first.enabled == second.running - first.running, times);
	} else {
		skip(exact, "this machine does not let user space read its counters");
		skip(times, "this machine does not let user space read its counters");
	}
	gp_unmap(&r);
	close(fd);
}

/* --- tests that require hardware counters ----------------------------------------------------- */

static int open_cycles(void (*set)(struct perf_event_attr *))
{
	struct gp_event e;

	if (gp_parse("cycles:u", &e, 1, NULL, 0) != 1)
		return -ENOENT;
	if (set)
		set(ATTR(&e));
	return gp_open(&e, 0, -1, -1);
}

static void set_pinned(struct perf_event_attr *a)
{
	a->pinned = 1;
	a->disabled = 0;
}

static void set_exclusive(struct perf_event_attr *a)
{
	a->exclusive = 1;
	a->disabled = 0;
}

static void set_on(struct perf_event_attr *a)
{
	a->disabled = 0;
}

static void pinned(void)
{
	int fds[MANY], n = 0, dead = -1, ndead = 0;
	struct gp_count c;

	for (; n < MANY && (fds[n] = open_cycles(set_pinned)) >= 0; n++)
		;
	spin(100000);
	for (int i = 0; i < n; i++)
		if (gp_read(fds[i], 7, &c, 1) == 0) {
			dead = fds[i];
			ndead++;
		}
	check(n == MANY && ndead > 0 && ndead < n,
	      "the 'pinned' bit: always on the CPU if at all possible, else an 'error' state");
	check(gp_read(dead, 7, &c, 1) == 0, "in the 'error' state reads return end-of-file");
	for (int i = 0; i < n; i++)
		if (fds[i] != dead)
			close(fds[i]);
	check(gp_read(dead, 7, &c, 1) == 0, "until the counter is subsequently enabled: it does not recover by itself");
	gp_disable(dead);
	check(gp_read(dead, 7, &c, 1) == 0, "(enabled or disabled: today only enabling it does)");
	check_eq(gp_recover(dead), 0, "a pinned counter in the 'error' state can be enabled");
	spin(100000);
	check(gp_read(dead, 7, &c, 1) == 1 && c.value > 0 && c.running == c.enabled, "a pinned counter counts after it was enabled again");
	close(dead);
}

static void exclusive(void)
{
	int alone = open_cycles(set_exclusive), other = open_cycles(set_on);
	struct gp_count a = { 0, 0, 0, 0, 0 }, b = a;

	burn(100 * (int64_t)NS_MS);
	gp_read(alone, 7, &a, 1);
	gp_read(other, 7, &b, 1);
	check(a.running > 0 && b.running > 0 && a.running + b.running <= b.enabled + b.enabled / 10,
	      "the 'exclusive' bit: when its group is on the CPU, it should be the only group using the CPU's counters");
	close(alone);
	close(other);
}

/* The number of values within a factor of two of the value with the most such neighbours. */
static int agreeing(const uint64_t *v, int n)
{
	int most = 0;

	for (int i = 0; i < n; i++) {
		int like = 0;

		for (int k = 0; k < n; k++)
			like += v[k] > v[i] / 2 && v[k] < v[i] * 2;
		most = like > most ? like : most;
	}
	return most;
}

static void overcommit(void)
{
	int fds[MANY], n = 0, shared = 0, good;
	uint64_t scaled[MANY];
	struct gp_count c;
	int alone;

	for (; n < MANY && (fds[n] = open_cycles(set_on)) >= 0; n++)
		;
	burn(400 * (int64_t)NS_MS);
	for (int i = 0; i < n; i++)
		gp_disable(fds[i]);
	for (int i = 0; i < n; i++) {
		gp_read(fds[i], 7, &c, 1);
		shared += c.running < c.enabled && c.running > 0;
		scaled[i] = gp_scaled(&c);
		close(fds[i]);
	}
	good = agreeing(scaled, n);
	check(shared > 0, "using these additional values one can establish the overcommit ratio");
	check_in((uint64_t)good, (uint64_t)n * 3 / 4, (uint64_t)n,
		 "allowing one to take the round-robin scheduling effect into account");
	alone = open_cycles(set_on);
	spin(100000);
	gp_read(alone, 7, &c, 1);
	check(c.running == c.enabled && gp_scaled(&c) == c.value,
	      "the scaled value of a counter that is always on is its count");
	close(alone);
}

static void unit(void)
{
	struct gp_event e[MANY];
	struct gp_count c[GP_MAX_GROUP];
	char list[MANY * 12 + 3] = "{cycles:u";
	int fds[MANY], n, r;

	n = gp_parse("{cycles:u,cycles:u}", e, MANY, NULL, 0);
	r = n == 2 ? gp_open_all(e, n, 0, -1, fds) : -1;
	gp_enable(fds[0]);
	spin(100000);
	gp_disable(fds[0]);
	check(r == 0 && gp_read(fds[0], ATTR(e)->read_format, c, GP_MAX_GROUP) == 2 && c[0].value > 0 &&
	      c[0].value == c[1].value,
	      "they have counted events for the same set of executed instructions");
	close(fds[1]);
	close(fds[0]);
	for (int i = 1; i < MANY; i++)
		strcat(list, ",cycles:u");
	strcat(list, "}");
	n = gp_parse(list, e, MANY, NULL, 0);
	r = n == MANY ? gp_open_all(e, n, 0, -1, fds) : 1;
	if (r == 0) { /* it fits no PMU: the kernel reports that only when the group should run */
		gp_enable(fds[0]);
		spin(100000);
		r = gp_read(fds[0], ATTR(e)->read_format, c, GP_MAX_GROUP) == MANY && c[0].running == 0 ? -EINVAL : 1;
		for (int i = MANY - 1; i >= 0; i--)
			close(fds[i]);
	}
	check(r == -EINVAL, "only be put onto the CPU if all of the counters in the group can be put onto the CPU");
}

static void hardware_sampling(void)
{
	struct gp_event e;
	struct gp_ring r;
	uint64_t n, v;
	int fd;

	gp_parse("cycles:u", &e, 1, NULL, 0);
	ATTR(&e)->sample_period = 100000;
	ATTR(&e)->sample_type = PERF_SAMPLE_IP;
	fd = gp_open(&e, 0, -1, -1);
	gp_map(&r, fd, RING_PAGES);
	gp_enable(fd);
	spin(2000000);
	gp_disable(fd);
	n = (uint64_t)drain(&r, PERF_RECORD_SAMPLE);
	v = value_of(fd);
	check_in(n, v / 100000 * 9 / 10, v / 100000 + 1,
		 "these registers can also trigger interrupts when a threshold number of events have passed");
	gp_unmap(&r);
	close(fd);
}

static void cpu_counters(int pmu)
{
	static const char *const names[] = {
		"the 'pinned' bit, its 'error' state and the way out of it", "the 'exclusive' bit", "the overcommit ratio",
		"a group as a unit", "interrupts when a threshold number of events have passed",
	};

	if (!pmu) {
		for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
			skip(names[i], no_pmu);
		return;
	}
	pinned();
	exclusive();
	overcommit();
	unit();
	hardware_sampling();
}

static void clocks(void)
{
	struct gp_event e;
	struct gp_ring r;
	int fd;

	gp_parse("cpu-clock:u", &e, 1, NULL, 0);
	ATTR(&e)->sample_period = NS_MS;
	ATTR(&e)->sample_type = PERF_SAMPLE_IP;
	fd = gp_open(&e, 0, -1, -1);
	gp_map(&r, fd, RING_PAGES);
	gp_enable(fd);
	burn(100 * (int64_t)NS_MS);
	check_in((uint64_t)drain(&r, PERF_RECORD_SAMPLE), 5, 1000,
		 "you can still use the generic software counters based on hrtimers for sampling");
	gp_unmap(&r);
	close(fd);
}

/* --- functions of this library ---------------------------------------------------------------- */

static void numbers(void)
{
	struct gp_count third = { 1000, 0, 0, 300, 100 }, never = { 5, 0, 0, 100, 0 };
	struct gp_count large = { (uint64_t)1 << 60, 0, 0, (uint64_t)3 << 40, (uint64_t)1 << 40 };
	struct gp_event e[4];
	char why[64] = "";

	check_eq((int64_t)gp_scaled(&third), 3000, "scaled: value * enabled / running");
	check(gp_scaled(&large) == (uint64_t)3 << 60, "scaled: the product has 128 bits");
	check_eq((int64_t)gp_scaled(&never), 0, "scaled: a counter that never ran is 0");
	check(gp_parse("{task-clock,page-faults},task-clock", e, 4, NULL, 0) == 3 && e[0].group == 1 &&
	      e[1].group == 1 && e[2].group == 0,
	      "events of one {group} have the same group number");
	check_eq(gp_parse("task-clock,page-faults", e, 1, why, sizeof(why)), -ENOSPC,
		 "more events than the array can hold: -ENOSPC");
	check_eq(gp_parse("{task-clock", e, 4, why, sizeof(why)), -EINVAL, "a syntax error: -EINVAL");
	check(gp_parse("no-such-event", e, 4, why, sizeof(why)) == -ENOENT && strstr(why, "no-such-event"),
	      "an unknown event: -ENOENT, and the message names it");
	check_eq(gp_parse("tool/duration_time/", e, 4, NULL, 0), -EOPNOTSUPP,
		 "gpustat's own counters are not kernel events: -EOPNOTSUPP");
	check_eq(gp_parse("", e, 4, NULL, 0) < 0, 1, "an empty list is an error");
}

int main(void)
{
	int pmu, fd;

	tracefs(); /* before the first name is searched in /sys */
	page = (size_t)sysconf(_SC_PAGESIZE);
	pmu = open_cycles(NULL);
	fd = open_hits();
	if (fd < 0 || !hits_are_counted()) {
		printf("1..0 # SKIP breakpoints, which have exact counts, are not counted here\n");
		return 77;
	}
	close(fd);
	if (pmu >= 0)
		close(pmu);
	find_cpus();
	descriptors();
	hardware(pmu >= 0);
	software();
	tracepoints();
	sampling();
	contents();
	disabled();
	inherit();
	excludes();
	maps();
	targets();
	whole_cpus();
	users();
	groups();
	mapping();
	wrapping();
	outputs();
	notification();
	hangup();
	signalled();
	refresh();
	task_switch();
	self_software();
	self_hardware(pmu >= 0);
	cpu_counters(pmu >= 0);
	clocks();
	numbers();
	printf("1..%d\n", tests);
	return failures != 0;
}
