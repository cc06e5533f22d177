/* perfmon.c - what the overview of perfmon2 says, sentence by sentence: TAP. A black box: it includes the header and links
 * libperfmon2.a. See pfm.h for what is counted. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_setaffinity, syscall */
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_fmt.h>

#include "pfm.h"

#include <dirent.h>
#include <pthread.h>
#include <stddef.h>

/* As much as a program may have: the library's own thread has its share. */
static __thread volatile char large[1 << 20];

enum { SECOND_SET = 7, PERIOD = 10 /* units */, RUNS = 16 };

static const uint64_t all_ones = ~(uint64_t)0;

/* --- calls, one register each -------------------------------------------------------------------------------- */

static int context(uint32_t flags)
{
	pfarg_ctx_t c;

	memset(&c, 0, sizeof(c));
	c.ctx_flags = flags;
	return pfm_create_context(&c, NULL, 0);
}

static int put_pmc(int fd, unsigned n, unsigned set, uint64_t value)
{
	pfarg_pmc_t r;

	memset(&r, 0, sizeof(r));
	r.reg_num = (uint16_t)n;
	r.reg_set = (uint16_t)set;
	r.reg_value = value;
	return pfm_write_pmcs(fd, &r, 1);
}

static pfarg_pmd_t pmd_of(unsigned n, unsigned set, uint64_t value)
{
	pfarg_pmd_t r;

	memset(&r, 0, sizeof(r));
	r.reg_num = (uint16_t)n;
	r.reg_set = (uint16_t)set;
	r.reg_value = value;
	return r;
}

static int put_pmd(int fd, unsigned n, unsigned set, uint64_t value)
{
	pfarg_pmd_t r = pmd_of(n, set, value);

	return pfm_write_pmds(fd, &r, 1);
}

/* A period, in units, that is the same after each overflow. */
static pfarg_pmd_t periodic(unsigned n, unsigned set, uint64_t period, uint32_t flags)
{
	pfarg_pmd_t r = pmd_of(n, set, -(period * unit));

	r.reg_long_reset = r.reg_short_reset = r.reg_value;
	r.reg_flags = flags;
	return r;
}

static uint64_t get_pmd(int fd, unsigned n, unsigned set)
{
	pfarg_pmd_t r = pmd_of(n, set, 0);

	return pfm_read_pmds(fd, &r, 1) == 0 ? r.reg_value : 0xbad0bad0bad0bad0;
}

static int load(int fd, int pid)
{
	pfarg_load_t l;

	memset(&l, 0, sizeof(l));
	l.load_pid = (uint32_t)pid;
	return pfm_load_context(fd, &l);
}

static int load_self(int fd)
{
	return load(fd, tid());
}

static int start(int fd)
{
	return pfm_start(fd, NULL);
}

/* A context of this thread, whose PMDs 0 and 1 count. */
static int own_context(void)
{
	int fd = context(0);

	if (fd < 0 || put_pmc(fd, 0, 0, main_event) || put_pmc(fd, 1, 0, other_event) || put_pmd(fd, 0, 0, 0) ||
	    put_pmd(fd, 1, 0, 0) || load_self(fd))
		printf("# no context: %s\n", strerror(errno));
	return fd;
}

static uint64_t counted(int fd, unsigned n, long units)
{
	uint64_t from = get_pmd(fd, n, 0);

	start(fd);
	work(units);
	pfm_stop(fd);
	return get_pmd(fd, n, 0) - from;
}

/* The least of a number of runs: what the C library does on the way into the kernel can differ by some instructions (the clock
 * in its shared page). */
static uint64_t exactly(int fd, unsigned n, long units)
{
	uint64_t least = all_ones, v;
	int i;

	for (i = 0; i < RUNS; i++) {
		v = counted(fd, n, units);
		least = v < least ? v : least;
	}
	return least;
}

static int message(int fd, pfm_msg_t *m, int ms)
{
	memset(m, 0, sizeof(*m));
	return readable(fd, ms) && read(fd, m, sizeof(*m)) == (long)sizeof(*m);
}

/* How many messages are there, and no others within the time. */
static int messages(int fd, int ms)
{
	pfm_msg_t m;
	int n = 0;

	while (message(fd, &m, ms))
		n++;
	return n;
}

static void set_nonblock(int fd)
{
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/* The library has done everything once: what it touches for the first time counts no more. */
static void warm_up(void)
{
	int i, fd;

	for (i = 0; i < 3; i++) {
		fd = own_context();
		counted(fd, 0, 3);
		close(fd);
	}
}

/* As work(), but the library can keep up: what the kernel does not do at an overflow (other periods, resets, sets) it does
 * at its next chance, of which each call is one. */
static void slow_work(int fd, long units)
{
	for (; units > 0; units--) {
		work(1);
		get_pmd(fd, 0, 0);
	}
}

/* --- II: contexts ------------------------------------------------------------------------------------------------ */

static void test_create(void)
{
	static const pfm_uuid_t unknown = { 1, 2, 3 };
	pfarg_ctx_t c;
	int a, b, d;

	memset(&c, 0, sizeof(c));
	c.ctx_fd = -1;
	a = pfm_create_context(&c, NULL, 0);
	well(a, "create_context returns a file descriptor");
	is((uint64_t)c.ctx_fd, (uint64_t)a, "and stores it in ctx_fd");
	b = context(0);
	ok(b >= 0 && b != a, "it identifies the context uniquely: another context, another descriptor");
	ok(put_pmd(a, 0, 0, 5) == 0 && put_pmd(b, 0, 0, 7) == 0 && get_pmd(a, 0, 0) == 5 && get_pmd(b, 0, 0) == 7,
	   "each context has its own PMU state");
	d = dup(a);
	is(get_pmd(d, 0, 0), 5, "regular sharing of descriptors: a duplicate is the same context");
	close(a);
	is(get_pmd(d, 0, 0), 5, "which lives while one of them is open");
	close(d);
	fails(put_pmd(a, 0, 0, 5), EBADF, "no longer: EBADF");
	close(b);
	a = open("/dev/null", O_RDONLY);
	ok(put_pmd(a, 0, 0, 5) == -1 && (errno == EBADF || errno == EINVAL), "a descriptor that is no context is refused");
	close(a);
	fails(pfm_create_context(NULL, NULL, 0), EFAULT, "no argument at all: EFAULT");
	memcpy(c.ctx_smpl_buf_id, unknown, sizeof(unknown));
	fails(pfm_create_context(&c, NULL, 0), EINVAL, "a UUID that no format has: EINVAL");
	fails(context(PFM_FL_NOTIFY_BLOCK), EINVAL, "blocking the thread, which Linux cannot: EINVAL");
	fails(context(PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE), EINVAL, "blocking is not supported in system-wide mode");
	fails(context(0x40000000), EINVAL, "a flag that there is not: EINVAL");
}

/* One register and its error's flag. */
static void test_entries(void)
{
	pfarg_pmd_t d[3];
	pfarg_pmc_t c[2];
	int fd = context(0);

	memset(c, 0, sizeof(c));
	c[1].reg_num = 1;
	c[0].reg_value = main_event;
	c[1].reg_value = other_event;
	well(pfm_write_pmcs(fd, c, 2), "write_pmcs writes more than one PMC");
	d[0] = pmd_of(0, 0, 11);
	d[1] = pmd_of(1, 0, 0x123456789abcdef0);
	d[2] = pmd_of(2, 0, all_ones);
	well(pfm_write_pmds(fd, d, 3), "write_pmds writes more than one PMD");
	d[0] = pmd_of(0, 0, 0);
	d[1] = pmd_of(1, 0, 0);
	d[2] = pmd_of(2, 0, 0);
	ok(pfm_read_pmds(fd, d, 3) == 0 && d[0].reg_value == 11 && d[1].reg_value == 0x123456789abcdef0 &&
	   d[2].reg_value == all_ones, "read_pmds reads more than one PMD: all 64 bits of each");
	d[1] = pmd_of(PFM_MAX_PMDS, 0, 0);
	fails(pfm_read_pmds(fd, d, 3), EINVAL, "a PMD beyond all: EINVAL");
	ok(!PFM_REG_HAS_ERROR(d[0].reg_flags) && PFM_REG_HAS_ERROR(d[1].reg_flags), "its reg_flags say so, those before it nothing");
	d[1] = pmd_of(200, 0, 0);
	ok(pfm_write_pmds(fd, d, 2) == -1 && errno == EINVAL && PFM_REG_HAS_ERROR(d[1].reg_flags), "a PMD that this PMU lacks");
	d[1] = pmd_of(1, 9, 0);
	ok(pfm_write_pmds(fd, d, 2) == -1 && errno == EINVAL && (d[1].reg_flags & PFM_REG_RETFL_NOSET),
	   "a set that there is not: PFM_REG_RETFL_NOSET");
	c[1].reg_num = 200;
	ok(pfm_write_pmcs(fd, c, 2) == -1 && errno == EINVAL && !PFM_REG_HAS_ERROR(c[0].reg_flags) &&
	   PFM_REG_HAS_ERROR(c[1].reg_flags), "a PMC that this PMU lacks");
	d[0] = pmd_of(0, 0, 0);
	d[0].reg_flags = PFM_REGFL_NO_EMUL64;
	ok(pfm_write_pmds(fd, d, 1) == -1 && errno == EINVAL && (d[0].reg_flags & PFM_REG_RETFL_EINVAL),
	   "64-bit registers cannot be turned off here: PFM_REG_RETFL_EINVAL");
	fails(pfm_write_pmds(fd, NULL, 1), EFAULT, "no array: EFAULT");
	fails(pfm_write_pmcs(fd, NULL, 1), EFAULT, "no array of PMCs: EFAULT");
	fails(pfm_read_pmds(fd, NULL, 1), EFAULT, "no array to read into: EFAULT");
	fails(pfm_read_pmds(fd, d, -1), EINVAL, "a negative count: EINVAL");
	fails(pfm_read_pmds(fd, d, 0), EINVAL, "no entries: EINVAL");
	ok(pfm_read_pmds(fd, d, 0x7fffffff) == -1 && (errno == EINVAL || errno == E2BIG), "a count beyond all reason");
	fails(pfm_load_context(fd, NULL), EFAULT, "load_context of nothing: EFAULT");
	close(fd);
}

static void test_order(void)
{
	pfarg_start_t s;
	int fd = context(0), other;

	put_pmc(fd, 0, 0, main_event);
	put_pmd(fd, 0, 0, 0);
	fails(start(fd), EINVAL, "start before load: EINVAL");
	fails(pfm_stop(fd), EINVAL, "stop before load: EINVAL");
	fails(pfm_restart(fd), EBUSY, "restart where nothing is masked: EBUSY");
	well(pfm_unload_context(fd), "unload before load is no error");
	fails(load(fd, 0x7ffffff0), ESRCH, "no such thread: ESRCH");
	well(load_self(fd), "a thread is attached to by its id");
	ok(load_self(fd) == -1 && (errno == EBUSY || errno == EINVAL), "bound to one thread at a time: loading again is an error");
	memset(&s, 0, sizeof(s));
	s.start_set = 99;
	fails(pfm_start(fd, &s), EINVAL, "start in a set that there is not: EINVAL");
	fails(pfm_restart(fd), EBUSY, "restart, loaded, where nothing is masked: EBUSY");
	well(start(fd), "start");
	well(start(fd), "start twice is no error");
	well(pfm_stop(fd), "stop");
	well(pfm_stop(fd), "stop twice is no error");
	well(pfm_unload_context(fd), "unload");
	other = context(0);
	well(load_self(other), "a context without registers can be loaded");
	well(start(other), "and started");
	close(other);
	close(fd);
	fails(start(fd), EBADF, "after close: EBADF");
}

/* --- II: counting -------------------------------------------------------------------------------------------------- */

static void test_count(void)
{
	int fd = own_context();
	uint64_t a, b, c, v;

	is(get_pmd(fd, 0, 0), 0, "loaded, it does not count yet");
	work(5);
	is(get_pmd(fd, 0, 0), 0, "nor does work before start");
	a = exactly(fd, 0, 100);
	b = exactly(fd, 0, 100);
	c = exactly(fd, 0, 300);
	between(a, 100 * unit, 100 * unit + 20 * unit + 20000 * (unit > 1), "start activates monitoring: the work is counted");
	is(b, a, "and the same again");
	is(c - a, 200 * unit, "thrice the work is just that much more");
	v = get_pmd(fd, 0, 0);
	work(50);
	is(get_pmd(fd, 0, 0), v, "stop: what comes then is not counted");
	ok(get_pmd(fd, 1, 0) >= 700 * unit, "a second PMD counts beside it");
	well(pfm_unload_context(fd), "unload detaches the context");
	is(get_pmd(fd, 0, 0), v, "and its PMDs keep their values");
	well(load_self(fd), "it can be attached again");
	is(get_pmd(fd, 0, 0), v, "with the values that it has");
	put_pmd(fd, 0, 0, 0xffffffffff);
	is(exactly(fd, 0, 100), a, "counters have 64 bits: over bit 40");
	ok(get_pmd(fd, 0, 0) >= 0xffffffffff + 100 * unit, "from the value that was written");
	close(fd);
}

static void test_running(void)
{
	int fd = own_context();
	uint64_t a, b;

	start(fd);
	a = get_pmd(fd, 0, 0);
	work(10);
	b = get_pmd(fd, 0, 0);
	between(b - a, 10 * unit, 100 * unit + 40000 * (unit > 1), "a PMD can be read while it counts");
	put_pmd(fd, 0, 0, 1000000 * unit);
	work(10);
	a = get_pmd(fd, 0, 0);
	between(a - 1000000 * unit, 10 * unit, 100 * unit + 40000 * (unit > 1), "and be written");
	close(fd);
}

static void test_several(void)
{
	int a = own_context(), b = own_context();
	uint64_t x, y;

	start(a);
	start(b);
	work(100);
	pfm_stop(b);
	pfm_stop(a);
	x = get_pmd(a, 0, 0);
	y = get_pmd(b, 0, 0);
	ok(y >= 100 * unit && x >= y, "several per-thread contexts coexist");
	close(a);
	is(get_pmd(b, 0, 0), y, "and end one by one");
	close(b);
}

static void test_other_thread(void)
{
	struct worker w = worker_start(-1);
	int fd = context(0);
	uint64_t a, b;
	pfm_msg_t m;

	put_pmc(fd, 0, 0, main_event);
	put_pmd(fd, 0, 0, 0);
	well(load(fd, w.pid), "a context is attached to another thread");
	start(fd);
	worker_work(&w, 100);
	a = get_pmd(fd, 0, 0);
	worker_work(&w, 100);
	b = get_pmd(fd, 0, 0) - a;
	worker_work(&w, 300);
	pfm_stop(fd);
	is(get_pmd(fd, 0, 0) - a - b - b, 200 * unit, "and counts what that does, exactly");
	work(100);
	worker_end(&w);
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_END, "its end is a message: PFM_MSG_END");
	ok(get_pmd(fd, 0, 0) >= 500 * unit, "its counts are there to be read");
	close(fd);
}

static int cpus(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

static int system_context(int cpu)
{
	int fd = context(PFM_FL_SYSTEM_WIDE), r;
	cpu_set_t old, one;

	sched_getaffinity(0, sizeof(old), &old);
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	put_pmc(fd, 0, 0, main_event);
	put_pmd(fd, 0, 0, 0);
	sched_setaffinity(0, sizeof(one), &one);
	r = load(fd, 0);
	sched_setaffinity(0, sizeof(old), &old);
	if (r == 0)
		return fd;
	r = errno;
	close(fd);
	errno = r;
	return -1;
}

static void test_system(void)
{
	struct worker w;
	int a = system_context(0), b;
	uint64_t x, y;

	if (a < 0 && (errno == EACCES || errno == EPERM)) {
		skip("system-wide contexts", "needs root");
		return;
	}
	if (!well(a, "a system-wide context is bound to the processor on which load_context is called"))
		return;
	w = worker_start(0);
	start(a);
	worker_work(&w, 1000);
	worker_work(&w, 1000);
	pfm_stop(a);
	ok(get_pmd(a, 0, 0) >= 2000 * unit, "it monitors all threads there");
	ok(load(a, 0) == -1, "it is bound to one processor at a time");
	if (cpus() < 2) {
		skip("system-wide contexts coexist on other processors", "one processor");
		skip("each monitors its own", "one processor");
	} else {
		b = system_context(1);
		well(b, "system-wide contexts coexist on other processors");
		put_pmd(a, 0, 0, 0);
		start(a);
		start(b);
		worker_work(&w, 20000);
		pfm_stop(a);
		pfm_stop(b);
		x = get_pmd(a, 0, 0);
		y = get_pmd(b, 0, 0);
		if (!ok(x >= 20000 * unit, "each monitors its own"))
			tell("there, here", x, y, 0);
		close(b);
	}
	worker_end(&w);
	close(a);
}

/* --- 3: overflows --------------------------------------------------------------------------------------------------- */

/* PMD 0 overflows each `period` units with a message; PMD 1 counts the same event. */
static int sampling(uint64_t period, uint32_t flags)
{
	pfarg_pmd_t d = periodic(0, 0, period, flags);
	int fd = context(0);

	if (put_pmc(fd, 0, 0, main_event) || put_pmc(fd, 1, 0, main_event) || pfm_write_pmds(fd, &d, 1) || put_pmd(fd, 1, 0, 0) ||
	    load_self(fd))
		printf("# no sampling: %s\n", strerror(errno));
	set_nonblock(fd);
	return fd;
}

static int has_bit(const uint64_t *v, unsigned n)
{
	return v[n / 64] >> n % 64 & 1;
}

static void test_overflow(void)
{
	int fd = sampling(100, PFM_REGFL_OVFL_NOTIFY);
	uint64_t a, b;
	pfm_msg_t m;
	fd_set set;
	struct timeval no_time = { 0, 0 };

	start(fd);
	work(50);
	ok(!readable(fd, 0), "a period of 100 has not overflowed after 50");
	ok(read(fd, &m, sizeof(m)) == -1 && errno == EAGAIN, "then read() waits, or says EAGAIN");
	work(60);
	ok(readable(fd, SOON), "but after 110 it has: poll() says so");
	FD_ZERO(&set);
	FD_SET(fd, &set);
	ok(select(fd + 1, &set, NULL, NULL, &no_time) == 1, "and select()");
	ok(message(fd, &m, SOON), "read() gets the message, whole");
	is(m.type, PFM_MSG_OVFL, "it is of an overflow");
	ok(has_bit(m.pfm_ovfl_msg.msg_ovfl_pmds, 0) && !has_bit(m.pfm_ovfl_msg.msg_ovfl_pmds, 1), "of PMD 0, and of no other");
	is((uint64_t)m.pfm_ovfl_msg.msg_ovfl_tid, (uint64_t)tid(), "of this thread");
	is((uint64_t)m.pfm_ovfl_msg.msg_ovfl_pid, (uint64_t)getpid(), "of this process");
	is(m.pfm_ovfl_msg.msg_active_set, 0, "of set 0");
	ok(m.pfm_ovfl_msg.msg_ovfl_ip != 0, "somewhere in the code");
	a = get_pmd(fd, 1, 0);
	work(500);
	b = get_pmd(fd, 1, 0);
	is(b, a, "monitoring is masked now: nothing is captured");
	between(a, 100 * unit, 101 * unit, "since the overflow itself");
	is((uint64_t)messages(fd, 50), 0, "nor is there another message");
	well(pfm_restart(fd), "restart");
	work(50);
	ok(get_pmd(fd, 1, 0) >= a + 50 * unit, "resumes monitoring");
	work(60);
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_OVFL, "and the next period overflows as well");
	pfm_restart(fd);
	work(110);
	ok(readable(fd, SOON) && read(fd, &m, 4) == 4 && m.type == PFM_MSG_OVFL && read(fd, &m, sizeof(m)) == -1,
	   "a buffer without room for a message gets its first bytes, and the others are gone");
	pfm_stop(fd);
	close(fd);
}

/* What has no period when it is loaded may get one. */
static void test_later_period(void)
{
	pfarg_pmd_t d = periodic(0, 0, 100, PFM_REGFL_OVFL_NOTIFY);
	int fd = own_context();

	start(fd);
	well(pfm_write_pmds(fd, &d, 1), "a period is written while it counts");
	work(110);
	ok(readable(fd, SOON), "and is notified of");
	close(fd);
}

static void test_no_notify(void)
{
	int fd = sampling(10, 0);
	uint64_t v;

	start(fd);
	work(105);
	pfm_stop(fd);
	is((uint64_t)messages(fd, 50), 0, "a notification is requested per counter: without, there is no message");
	v = get_pmd(fd, 1, 0);
	ok(v >= 105 * unit, "and no masking");
	is((v - (get_pmd(fd, 0, 0) + 10 * unit)) % (10 * unit), 0, "a period that nobody is told of goes on all the same");
	ok(get_pmd(fd, 0, 0) >= -(10 * unit), "the PMD stands below its next overflow");
	close(fd);
}

static volatile sig_atomic_t signals;

static void on_signal(int sig)
{
	(void)sig;
	signals++;
}

static void test_signal(void)
{
	int fd = sampling(100, PFM_REGFL_OVFL_NOTIFY);
	uint64_t until = now_ns() + (uint64_t)SOON * 1000000;
	struct timespec ms = { 0, 1000000 };

	signals = 0;
	signal(SIGIO, on_signal);
	ok(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) == 0 && fcntl(fd, F_SETOWN, getpid()) == 0, "the regular sequence of fcntl()");
	start(fd);
	work(110);
	while (!signals && now_ns() < until)
		nanosleep(&ms, NULL);
	ok(signals > 0, "gives an asynchronous notification: SIGIO");
	ok(messages(fd, 50) == 1, "beside the message");
	close(fd);
	signal(SIGIO, SIG_IGN);
}

static int handled;

static void restart_there(int sig)
{
	pfm_msg_t m;
	pfarg_pmd_t r = pmd_of(1, 0, 0);

	(void)sig;
	while (read(handled, &m, sizeof(m)) == (long)sizeof(m)) {
		signals++;
		pfm_read_pmds(handled, &r, 1);
		pfm_restart(handled);
	}
}

static void test_handler(void)
{
	enum { OFTEN = 50 };
	uint64_t until = now_ns() + (uint64_t)SOON * 1000000;

	handled = sampling(5, PFM_REGFL_OVFL_NOTIFY);
	signals = 0;
	signal(SIGIO, restart_there);
	fcntl(handled, F_SETFL, fcntl(handled, F_GETFL) | O_ASYNC);
	fcntl(handled, F_SETOWN, getpid());
	start(handled);
	while (signals < OFTEN && now_ns() < until) {
		work(3);
		get_pmd(handled, 0, 0);
	}
	pfm_stop(handled);
	ok(signals >= OFTEN, "the signal's handler reads the message and the PMDs, and restarts, whatever it interrupts");
	close(handled);
	signal(SIGIO, SIG_IGN);
}

/* Descriptors of perf events that this process has. */
static int perf_events(void)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	char to[64];
	int n = 0;
	long k;

	while (d && (e = readdir(d)) != NULL) {
		k = readlinkat(dirfd(d), e->d_name, to, sizeof(to) - 1);
		to[k > 0 ? k : 0] = '\0';
		n += strstr(to, "perf_event") != NULL;
	}
	if (d)
		closedir(d);
	return n;
}

static void test_close(void)
{
	int before, fd, i;

	for (i = 0; i < SOON / 5 && perf_events() > 0; i++)
		poll(NULL, 0, 5);
	before = perf_events();
	fd = own_context();
	start(fd);
	ok(perf_events() > before, "a context that counts has counters of the kernel");
	close(fd);
	for (i = 0; i < SOON / 5 && perf_events() > before; i++)
		poll(NULL, 0, 5);
	is((uint64_t)perf_events(), (uint64_t)before, "and closed it lets them go, without another call");
}

/* The structures of 2006 on a 64-bit machine: size, and where the last member before the reserved ones is. */
static void test_layout(void)
{
#define HAS(type, member, at, size) { #type, offsetof(type, member), sizeof(type), at, size }
	static const struct {
		const char *name;
		size_t at, size, want_at, want_size;
	} rows[] = {
		HAS(pfarg_ctx_t, ctx_fd, 20, 64), HAS(pfarg_ctx_t, ctx_smpl_buf_size, 24, 64), HAS(pfarg_pmc_t, reg_value, 8, 48),
		HAS(pfarg_pmd_t, reg_reset_pmds, 48, 176), HAS(pfarg_pmd_t, reg_random_seed, 144, 176),
		HAS(pfarg_start_t, start_set, 0, 32), HAS(pfarg_load_t, load_set, 4, 32),
		HAS(pfarg_setdesc_t, set_timeout, 8, 72), HAS(pfarg_setdesc_t, set_mmap_offset, 24, 72),
		HAS(pfarg_setinfo_t, set_runs, 48, 120), HAS(pfarg_setinfo_t, set_mmap_offset, 80, 120),
		HAS(pfm_ovfl_msg_t, msg_ovfl_pmds, 8, 56), HAS(pfm_msg_t, pfm_ovfl_msg.msg_ovfl_ip, 48, 56),
		HAS(pfm_dfl_smpl_arg_t, buf_flags, 8, 64), HAS(pfm_dfl_smpl_hdr_t, hdr_buf_flags, 44, 128),
		HAS(pfm_dfl_smpl_entry_t, tgid, 36, 40),
	};
	size_t i, bad = 0;

	if (sizeof(void *) != 8) {
		skip("structures are laid out as perfmon's", "of 64-bit machines");
		return;
	}
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].at != rows[i].want_at || rows[i].size != rows[i].want_size) {
			tell(rows[i].name, rows[i].at, rows[i].size, rows[i].want_at);
			bad++;
		}
	is(bad, 0, "structures are laid out as perfmon's");
}

/* Without messages of their own, periods are told by a buffer. */
static int buffered(uint64_t bytes, uint32_t flags, pfm_dfl_smpl_hdr_t **hdr)
{
	static const pfm_uuid_t uuid = PFM_DFL_SMPL_UUID;
	pfm_dfl_smpl_arg_t arg;
	pfarg_ctx_t c;
	int fd;

	memset(&c, 0, sizeof(c));
	memset(&arg, 0, sizeof(arg));
	memcpy(c.ctx_smpl_buf_id, uuid, sizeof(uuid));
	c.ctx_flags = flags;
	arg.buf_size = bytes;
	*hdr = NULL;
	fd = pfm_create_context(&c, &arg, sizeof(arg));
	if (fd < 0)
		return fd;
	*hdr = mmap(NULL, c.ctx_smpl_buf_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (*hdr == MAP_FAILED || c.ctx_smpl_buf_size < bytes) {
		printf("# buffer of %lu: %s\n", (unsigned long)c.ctx_smpl_buf_size, strerror(errno));
		*hdr = NULL;
	}
	return fd;
}

/* The n-th sample; each has `body` values behind it. */
static const pfm_dfl_smpl_entry_t *entry(const pfm_dfl_smpl_hdr_t *h, uint64_t n, uint64_t body)
{
	return (const pfm_dfl_smpl_entry_t *)(const void *)((const char *)(h + 1) + n * (sizeof(pfm_dfl_smpl_entry_t) + body * 8));
}

static const uint64_t *values(const pfm_dfl_smpl_entry_t *e)
{
	return (const uint64_t *)(const void *)(e + 1);
}

/* How many samples PMD n has there. */
static uint64_t samples_of(const pfm_dfl_smpl_hdr_t *h, unsigned n)
{
	uint64_t i, found = 0;

	for (i = 0; i < h->hdr_count; i++)
		found += entry(h, i, 0)->ovfl_pmd == n;
	return found;
}

static void test_periods(void)
{
	pfm_dfl_smpl_hdr_t *h;
	pfarg_pmd_t d[2];
	int fd = buffered(1 << 20, 0, &h);
	uint64_t total;

	put_pmc(fd, 2, 0, main_event);
	put_pmd(fd, 2, 0, 0);
	d[0] = periodic(0, 0, 30, 0);
	d[1] = periodic(1, 0, 50, 0);
	d[1].reg_value = -(55 * unit); /* so that both never overflow at once: Linux confuses two software events that do */
	put_pmc(fd, 0, 0, main_event);
	put_pmc(fd, 1, 0, main_event);
	pfm_write_pmds(fd, d, 2);
	load_self(fd);
	start(fd);
	slow_work(fd, hardware ? 500 : 1508);
	pfm_stop(fd);
	total = get_pmd(fd, 2, 0) / unit;
	if (!h) {
		ok(0, "as many periods as counters");
		close(fd);
		return;
	}
	between(samples_of(h, 0), total / 30 - 1, total / 30, "periods of several counters overlap: each 30");
	between(samples_of(h, 1), (total - 5) / 50 - 1, (total - 5) / 50, "and each 50");
	close(fd);
}

/* --- 4: the sampling buffer ------------------------------------------------------------------------------------------- */

static void test_buffer_args(void)
{
	static const pfm_uuid_t uuid = PFM_DFL_SMPL_UUID;
	pfm_dfl_smpl_arg_t arg;
	pfarg_ctx_t c;
	pfm_dfl_smpl_hdr_t *h;
	int fd;

	memset(&c, 0, sizeof(c));
	memset(&arg, 0, sizeof(arg));
	memcpy(c.ctx_smpl_buf_id, uuid, sizeof(uuid));
	arg.buf_size = 4096;
	fails(pfm_create_context(&c, &arg, sizeof(arg) - 1), EINVAL, "the format's argument has another size: EINVAL");
	ok(pfm_create_context(&c, NULL, sizeof(arg)) == -1 && (errno == EINVAL || errno == EFAULT), "or is not there");
	arg.buf_size = 16;
	fails(pfm_create_context(&c, &arg, sizeof(arg)), EINVAL, "a buffer that has no room for one sample: EINVAL");
	arg.buf_size = all_ones;
	ok(pfm_create_context(&c, &arg, sizeof(arg)) == -1, "nor one as large as all memory");
	fd = buffered(65536, 0, &h);
	if (ok(h != NULL, "mmap() of the context gives the buffer")) {
		is(h->hdr_count, 0, "it is empty");
		is(h->hdr_version, PFM_DFL_SMPL_VERSION, "of the version that the header has");
		between(h->hdr_buf_size, 65536, 1 << 20, "and as large as it was asked for");
	}
	close(fd);
	fd = context(0);
	ok(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED, "a context without a buffer cannot be mapped");
	close(fd);
}

/* A thousand overflows and what is left in the PMD are all that was counted. */
static void test_thousand(void)
{
	pfm_dfl_smpl_hdr_t *h;
	pfarg_pmd_t d = periodic(0, 0, PERIOD, PFM_REGFL_OVFL_NOTIFY);
	int fd = buffered(1 << 20, 0, &h), bad = 0;
	uint64_t i, total, last = 0;

	if (!ok(h != NULL, "a buffer of 1 MiB"))
		return;
	d.reg_smpl_pmds[0] = 2;
	put_pmc(fd, 0, 0, main_event);
	put_pmc(fd, 1, 0, main_event);
	pfm_write_pmds(fd, &d, 1);
	put_pmd(fd, 1, 0, 0);
	load_self(fd);
	set_nonblock(fd);
	start(fd);
	work(1000L * PERIOD);
	pfm_stop(fd);
	total = get_pmd(fd, 1, 0);
	between(h->hdr_count, 1000, 1000 + (total - 1000 * PERIOD * unit) / (PERIOD * unit), "a thousand overflows, and none is lost");
	is(h->hdr_count * PERIOD * unit + get_pmd(fd, 0, 0) + PERIOD * unit, total, "with what is left they are the whole count");
	is((uint64_t)messages(fd, 50), 0, "no notification before the buffer is full");
	for (i = 0; i < h->hdr_count; i++) {
		const pfm_dfl_smpl_entry_t *e = entry(h, i, 1);

		bad |= e->ovfl_pmd != 0 ? 1 : 0;
		bad |= e->pid != (uint32_t)tid() || e->tgid != (uint32_t)getpid() ? 2 : 0;
		bad |= e->ip == 0 ? 4 : 0;
		bad |= e->tstamp < last ? 8 : 0;
		bad |= e->last_reset_val != -(PERIOD * unit) ? 16 : 0;
		bad |= e->set != 0 || e->cpu > 4096 ? 32 : 0;
		bad |= values(e)[0] < (i + 1) * PERIOD * unit || values(e)[0] >= (i + 2) * PERIOD * unit ? 64 : 0;
		last = e->tstamp;
	}
	ok(!(bad & 1), "each sample says which PMD overflowed");
	ok(!(bad & 2), "of which thread and process");
	ok(!(bad & 4), "and the interrupted instruction pointer");
	ok(!(bad & 8), "samples are in sequential order");
	ok(!(bad & 16), "with the value that the PMD started from");
	ok(!(bad & 32), "with the set and the processor");
	ok(!(bad & 64), "the body has the PMDs that are to be recorded, as they were");
	is(h->hdr_cur_offs, sizeof(*h) + h->hdr_count * (sizeof(pfm_dfl_smpl_entry_t) + 8), "hdr_cur_offs is where the next one will be");
	close(fd);
}

/* How many samples there are when the room for the largest one is no longer there. */
static uint64_t capacity(const pfm_dfl_smpl_hdr_t *h, uint64_t body)
{
	uint64_t used = sizeof(*h), n = 0;

	while (h->hdr_buf_size - used >= h->hdr_min_buf_space) {
		used += sizeof(pfm_dfl_smpl_entry_t) + body * 8;
		n++;
	}
	return n;
}

static void test_full(void)
{
	pfm_dfl_smpl_hdr_t *h;
	pfarg_pmd_t d = periodic(0, 0, PERIOD, PFM_REGFL_OVFL_NOTIFY);
	int fd = buffered(4096, 0, &h);
	uint64_t n, room;
	pfm_msg_t m;

	if (!ok(h != NULL, "a buffer of one page"))
		return;
	room = capacity(h, 0);
	d.reg_long_reset = -(3 * PERIOD * unit);
	put_pmc(fd, 0, 0, main_event);
	put_pmc(fd, 1, 0, main_event);
	pfm_write_pmds(fd, &d, 1);
	put_pmd(fd, 1, 0, 0);
	load_self(fd);
	start(fd);
	work(((long)room + 20) * PERIOD);
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_OVFL, "only when the buffer is full there is a notification");
	n = h->hdr_count;
	is(n, room, "it is full, then: no other sample is sure to fit in");
	is(h->hdr_overflows, 1, "once");
	room = get_pmd(fd, 1, 0);
	work(100);
	ok(h->hdr_count == n && get_pmd(fd, 1, 0) == room, "and monitoring is masked");
	well(pfm_restart(fd), "restart after a full buffer");
	work(2 * PERIOD);
	is(h->hdr_count, 0, "the long reset value comes after a notification: thrice the period, not over yet");
	work(PERIOD + PERIOD / 2);
	pfm_stop(fd);
	if (is(h->hdr_count, 1, "now it is"))
		is(entry(h, 0, 0)->last_reset_val, -(3 * PERIOD * unit), "the sample says that it started from the long reset value");
	close(fd);
}

static void test_resets(void)
{
	pfm_dfl_smpl_hdr_t *h;
	pfarg_pmd_t d = periodic(0, 0, 20, 0);
	int fd = buffered(1 << 16, 0, &h), bad = 0;
	uint64_t i;

	if (!ok(h != NULL, "a buffer of 64 KiB"))
		return;
	d.reg_value = -(50 * unit);
	d.reg_long_reset = -(70 * unit);
	d.reg_smpl_pmds[0] = 6;
	d.reg_reset_pmds[0] = 2;
	put_pmc(fd, 0, 0, main_event);
	put_pmc(fd, 1, 0, main_event);
	put_pmc(fd, 2, 0, main_event);
	pfm_write_pmds(fd, &d, 1);
	put_pmd(fd, 1, 0, 0);
	put_pmd(fd, 2, 0, 0);
	load_self(fd);
	start(fd);
	while (h->hdr_count < 11 && get_pmd(fd, 2, 0) < 1000 * unit)
		slow_work(fd, 1);
	pfm_stop(fd);
	between(get_pmd(fd, 2, 0), 250 * unit, hardware ? 290 * unit : 251 * unit, "an initial period of 50, then short ones of 20");
	if (h->hdr_count >= 11) {
		is(entry(h, 0, 2)->last_reset_val, -(50 * unit), "the first started from the initial value");
		for (i = 1; i < h->hdr_count; i++)
			bad |= entry(h, i, 2)->last_reset_val != -(20 * unit);
		ok(!bad, "the others from the short reset value");
		for (bad = 0, i = 1; i < h->hdr_count; i++)
			bad |= values(entry(h, i, 2))[0] > 21 * unit || values(entry(h, i, 2))[0] < 19 * unit;
		ok(!bad, "a PMD that is to be reset starts anew at each overflow");
		for (bad = 0, i = 1; i < h->hdr_count; i++)
			bad |= values(entry(h, i, 2))[1] < (50 + i * 20) * unit;
		ok(!bad, "one that is not counts on");
	}
	close(fd);
}

/* The values that 64 random periods started from. */
static int randomized(uint32_t seed, uint64_t mask, uint64_t *from)
{
	pfm_dfl_smpl_hdr_t *h;
	pfarg_pmd_t d = periodic(0, 0, 100, PFM_REGFL_RANDOM);
	int fd = buffered(1 << 16, 0, &h);
	uint64_t i;

	if (!h)
		return 0;
	d.reg_random_mask = mask;
	d.reg_random_seed = seed;
	put_pmc(fd, 0, 0, main_event);
	pfm_write_pmds(fd, &d, 1);
	load_self(fd);
	start(fd);
	for (i = 0; i < 64 * 140 && h->hdr_count < 64; i++)
		slow_work(fd, 1);
	pfm_stop(fd);
	for (i = 0; i < 64 && i < h->hdr_count; i++)
		from[i] = entry(h, i, 0)->last_reset_val;
	close(fd);
	return (int)i;
}

static void test_random(void)
{
	uint64_t mask = hardware ? 0x7fff : 0x1f, a[64], b[64], c[64], min = all_ones, max = 0;
	int na = randomized(42, mask, a), nb = randomized(42, mask, b), nc = randomized(43, mask, c), i, bad = 0;

	if (!ok(na == 64 && nb == 64 && nc == 64, "sixty-four randomised periods"))
		tell("periods", (uint64_t)na, (uint64_t)nb, (uint64_t)nc);
	if (na < 64 || nb < 64 || nc < 64)
		return;
	/* The first is the initial value. */
	is(a[0], -(100 * unit), "the initial value is as it was written");
	for (i = 1; i < 64; i++) {
		uint64_t more = -(100 * unit) - a[i];

		min = more < min ? more : min;
		max = more > max ? more : max;
		bad |= (more & ~mask) != 0;
	}
	ok(!bad, "reset values vary within the mask");
	ok(max > mask / 2 && min < mask / 2, "over all of it");
	ok(memcmp(a, b, sizeof(a)) == 0, "a seed controls them: the same again");
	ok(memcmp(a, c, sizeof(a)) != 0, "another seed, others");
}

/* --- 4: other formats -------------------------------------------------------------------------------------------------- */

static struct {
	int handled, restarted, exited;
	pfm_ovfl_arg_t last;
} own;

static int own_size(uint32_t flags, const void *arg, size_t *size)
{
	(void)flags;
	*size = *(const size_t *)arg;
	return 0;
}

static int own_handler(void *buf, pfm_ovfl_arg_t *arg, uint64_t ip, uint64_t tstamp)
{
	(void)ip;
	(void)tstamp;
	own.last = *arg;
	own.handled++;
	((uint64_t *)buf)[0]++;
	arg->ovfl_ctrl = own.handled % 3 == 0 ? PFM_OVFL_CTRL_NOTIFY | PFM_OVFL_CTRL_MASK : PFM_OVFL_CTRL_RESET;
	return 0;
}

static int own_restart(int active, uint32_t *ctrl, void *buf)
{
	(void)active;
	(void)buf;
	own.restarted++;
	*ctrl = PFM_OVFL_CTRL_RESET;
	return 0;
}

static int own_exit(void *buf)
{
	(void)buf;
	own.exited++;
	return 0;
}

static const struct pfm_smpl_fmt own_format = {
	"own", { 9, 8, 7, 6 }, sizeof(size_t), NULL, own_size, NULL, own_handler, own_restart, own_exit
};

static void test_own_format(void)
{
	struct pfm_smpl_fmt bad = own_format;
	size_t size = 4096;
	pfarg_ctx_t c;
	pfarg_pmd_t d = periodic(0, 0, PERIOD, PFM_REGFL_OVFL_NOTIFY);
	uint64_t *buf;
	pfm_msg_t m;
	int fd;

	memset(&c, 0, sizeof(c));
	memcpy(c.ctx_smpl_buf_id, own_format.fmt_uuid, sizeof(c.ctx_smpl_buf_id));
	fails(pfm_create_context(&c, &size, sizeof(size)), EINVAL, "a format that is not registered yet: EINVAL");
	well(pfm_register_fmt(&own_format), "a new format is registered");
	fails(pfm_register_fmt(&own_format), EEXIST, "a second time it is there: EEXIST");
	bad.fmt_handler = NULL;
	fails(pfm_register_fmt(&bad), EINVAL, "one without a handler: EINVAL");
	ok(pfm_register_fmt(NULL) == -1, "nothing is no format");
	fd = pfm_create_context(&c, &size, sizeof(size));
	if (!well(fd, "its UUID chooses it, and its arguments go along"))
		return;
	buf = mmap(NULL, c.ctx_smpl_buf_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ok(c.ctx_smpl_buf_size >= 4096 && buf != MAP_FAILED, "it has a buffer of the size that it wants, remapped by mmap()");
	fails(pfm_unregister_fmt(own_format.fmt_uuid), EBUSY, "it cannot go while it is in use: EBUSY");
	d.reg_smpl_eventid = 77;
	d.reg_smpl_pmds[0] = 2;
	put_pmc(fd, 0, 0, main_event);
	put_pmc(fd, 1, 0, main_event);
	pfm_write_pmds(fd, &d, 1);
	put_pmd(fd, 1, 0, 0);
	load_self(fd);
	start(fd);
	work(10 * PERIOD);
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_OVFL, "it decides when a notification is sent");
	is((uint64_t)own.handled, 3, "at the third overflow, and then nothing comes: it masks");
	if (buf != MAP_FAILED)
		is(buf[0], 3, "it decides what is recorded");
	ok(own.last.ovfl_pmd == 0 && own.last.pmd_eventid == 77 && own.last.num_smpl_pmds == 1 &&
	   own.last.smpl_pmds_values[0] >= 3 * PERIOD * unit && own.last.tgid == (uint32_t)getpid(), "it is told all about the overflow");
	well(pfm_restart(fd), "restart is handed to it");
	is((uint64_t)own.restarted, 1, "once");
	work(PERIOD + PERIOD / 2);
	pfm_stop(fd);
	is((uint64_t)own.handled, 4, "and samples come again");
	close(fd);
	fd = context(0); /* the closed one is gone when the next one is made */
	is((uint64_t)own.exited, 1, "close ends it");
	close(fd);
	well(pfm_unregister_fmt(own_format.fmt_uuid), "then it can go");
	fails(pfm_unregister_fmt(own_format.fmt_uuid), EINVAL, "and is no more: EINVAL");
}

static void test_histogram(void)
{
	static const pfm_uuid_t uuid = PFM_HIST_SMPL_UUID;
	pfarg_pmd_t d = periodic(0, 0, PERIOD, PFM_REGFL_OVFL_NOTIFY);
	pfm_hist_smpl_arg_t arg;
	pfm_hist_smpl_hdr_t *h;
	pfarg_ctx_t c;
	uint64_t i, sum = 0, used = 0;
	int fd;

	memset(&c, 0, sizeof(c));
	memset(&arg, 0, sizeof(arg));
	memcpy(c.ctx_smpl_buf_id, uuid, sizeof(uuid));
	arg.buf_size = 1 << 16;
	fd = pfm_create_context(&c, &arg, sizeof(arg));
	h = fd < 0 ? MAP_FAILED : mmap(NULL, c.ctx_smpl_buf_size, PROT_READ, MAP_SHARED, fd, 0);
	if (!ok(h != MAP_FAILED, "a format that aggregates, as OProfile wants it"))
		return;
	put_pmc(fd, 0, 0, main_event);
	pfm_write_pmds(fd, &d, 1);
	load_self(fd);
	start(fd);
	work(500 * PERIOD);
	pfm_stop(fd);
	for (i = 0; i < h->hdr_entries; i++) {
		const pfm_hist_smpl_entry_t *e = (const pfm_hist_smpl_entry_t *)(h + 1) + i;

		sum += e->count;
		used += e->count != 0;
	}
	between(h->hdr_count, 500, 520, "it has counted all samples");
	is(sum, h->hdr_count, "they are the sum of its entries");
	ok(used == h->hdr_used && used < 300 && used > 0, "which are fewer: one for each place");
	close(fd);
}

static void test_nway(void)
{
	static const pfm_uuid_t uuid = PFM_NWAY_SMPL_UUID;
	pfarg_pmd_t d = periodic(0, 0, PERIOD, PFM_REGFL_OVFL_NOTIFY);
	pfm_nway_smpl_arg_t arg;
	pfm_nway_smpl_hdr_t *h;
	pfarg_ctx_t c;
	pfm_msg_t m;
	uint64_t a, b, room;
	int fd;

	memset(&c, 0, sizeof(c));
	memset(&arg, 0, sizeof(arg));
	memcpy(c.ctx_smpl_buf_id, uuid, sizeof(uuid));
	arg.buf_size = 1 << 14;
	arg.buf_parts = 3;
	fd = pfm_create_context(&c, &arg, sizeof(arg));
	h = fd < 0 ? MAP_FAILED : mmap(NULL, c.ctx_smpl_buf_size, PROT_READ, MAP_SHARED, fd, 0);
	if (!ok(h != MAP_FAILED && h->hdr_parts == 3, "a format with n-way buffering"))
		return;
	room = capacity(PFM_NWAY_PART(h, 0), 0);
	put_pmc(fd, 0, 0, main_event);
	put_pmc(fd, 1, 0, main_event);
	pfm_write_pmds(fd, &d, 1);
	put_pmd(fd, 1, 0, 0);
	load_self(fd);
	set_nonblock(fd);
	start(fd);
	work(((long)room + 10) * PERIOD);
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_OVFL, "a part that is full sends a notification");
	a = get_pmd(fd, 1, 0);
	work(20 * PERIOD);
	b = get_pmd(fd, 1, 0);
	ok(b >= a + 20 * PERIOD * unit, "and there is no blind spot: sampling goes on in the next part");
	is(h->hdr_filled, 1, "one is filled");
	is(PFM_NWAY_PART(h, 0)->hdr_count, room, "to its end");
	work(2 * (long)room * PERIOD);
	get_pmd(fd, 1, 0);
	is(h->hdr_overflows, 1, "when all are full it has to stop");
	pfm_stop(fd);
	close(fd);
}

/* --- 5: sets ------------------------------------------------------------------------------------------------------------- */

static int put_set(int fd, unsigned id, uint32_t flags, uint64_t ns, struct timespec *got)
{
	pfarg_setdesc_t s;
	int r;

	memset(&s, 0, sizeof(s));
	s.set_id = (uint16_t)id;
	s.set_flags = flags;
	s.set_timeout.tv_sec = (time_t)(ns / 1000000000);
	s.set_timeout.tv_nsec = (long)(ns % 1000000000);
	r = pfm_create_evtsets(fd, &s, 1);
	if (got)
		*got = s.set_timeout;
	return r;
}

static int info(int fd, unsigned id, pfarg_setinfo_t *i)
{
	memset(i, 0, sizeof(*i));
	i->set_id = (uint16_t)id;
	return pfm_getinfo_evtsets(fd, i, 1);
}

static void test_sets(void)
{
	pfarg_setdesc_t two[2];
	pfarg_setinfo_t i[2];
	int fd = context(0);
	struct timespec got;
	uint64_t ns;

	well(info(fd, 0, &i[0]), "by default a context has a single set: set 0");
	fails(info(fd, 1, &i[0]), EINVAL, "and no other: EINVAL");
	ok(i[0].set_flags & PFM_REG_RETFL_NOSET, "PFM_REG_RETFL_NOSET");
	memset(two, 0, sizeof(two));
	two[0].set_id = SECOND_SET;
	two[1].set_id = 65535;
	well(pfm_create_evtsets(fd, two, 2), "additional sets are created, by numbers up to 65535");
	memset(i, 0, sizeof(i));
	i[0].set_id = SECOND_SET;
	i[1].set_id = 65535;
	well(pfm_getinfo_evtsets(fd, i, 2), "information about more than one in a single call");
	is(i[1].set_runs, 0, "none was active yet");
	well(put_pmd(fd, 0, SECOND_SET, 5), "a PMD is assigned to a set as it is written");
	put_pmd(fd, 0, 65535, 6);
	ok(get_pmd(fd, 0, SECOND_SET) == 5 && get_pmd(fd, 0, 65535) == 6, "each set encapsulates the full PMU state");
	well(put_set(fd, SECOND_SET, PFM_SETFL_TIME_SWITCH, 3100000, &got), "a set is modified");
	ns = (uint64_t)got.tv_sec * 1000000000 + (uint64_t)got.tv_nsec;
	between(ns, 3100000, 14100000, "its timeout is rounded up, and returned");
	ok(info(fd, SECOND_SET, &i[0]) == 0 && i[0].set_timeout.tv_nsec == got.tv_nsec && get_pmd(fd, 0, SECOND_SET) == 5,
	   "it has it, and keeps its registers");
	well(put_set(fd, 0, PFM_SETFL_TIME_SWITCH, 5000000, &got), "the timeout of set 0, too");
	fails(put_set(fd, SECOND_SET, PFM_SETFL_TIME_SWITCH | PFM_SETFL_OVFL_SWITCH, 5000000, NULL), EINVAL,
	      "one way to switch for each set: EINVAL");
	fails(put_set(fd, 12, 0x4000, 0, NULL), EINVAL, "a flag that there is not: EINVAL");
	fails(pfm_create_evtsets(fd, NULL, 1), EFAULT, "no array of sets: EFAULT");
	fails(pfm_create_evtsets(fd, two, -1), EINVAL, "a negative number of sets: EINVAL");
	fails(pfm_getinfo_evtsets(fd, NULL, 1), EFAULT, "no array for information: EFAULT");
	well(pfm_delete_evtsets(fd, two, 2), "more than one set is deleted in a single call");
	fails(info(fd, 65535, &i[0]), EINVAL, "and is gone");
	two[0].set_flags = two[1].set_flags = 0;
	fails(pfm_delete_evtsets(fd, two, 1), EINVAL, "it cannot be deleted twice: EINVAL");
	ok(two[0].set_flags & PFM_REG_RETFL_NOSET, "PFM_REG_RETFL_NOSET of a set");
	fails(pfm_delete_evtsets(fd, NULL, 1), EFAULT, "delete no array: EFAULT");
	put_set(fd, 4, 0, 0, NULL);
	load_self(fd);
	two[0].set_id = 4;
	two[0].set_flags = 0;
	ok(pfm_delete_evtsets(fd, two, 1) == -1 && errno == EBUSY, "sets of a loaded context stay: EBUSY");
	close(fd);
}

/* Three sets that take turns each 10 ms, the ids not in the order in which they were made. */
static void test_time_switch(void)
{
	static const unsigned ids[] = { 0, 3, 9 };
	pfarg_setinfo_t i[3];
	int fd = context(0), k, inside = 0;
	uint64_t began, took, runs = 0, active = 0, least = all_ones;

	put_set(fd, 9, PFM_SETFL_TIME_SWITCH, 10000000, NULL);
	put_set(fd, 3, PFM_SETFL_TIME_SWITCH, 10000000, NULL);
	put_set(fd, 0, PFM_SETFL_TIME_SWITCH, 10000000, NULL);
	for (k = 0; k < 3; k++) {
		put_pmc(fd, 0, ids[k], main_event);
		put_pmd(fd, 0, ids[k], 0);
	}
	load_self(fd);
	began = now_ns();
	start(fd);
	while (now_ns() < began + 600000000)
		work(20);
	pfm_stop(fd);
	took = now_ns() - began;
	for (k = 0; k < 3; k++) {
		info(fd, ids[k], &i[k]);
		runs += i[k].set_runs;
		active += i[k].set_act_duration;
		least = i[k].set_runs < least ? i[k].set_runs : least;
		inside += i[k].set_runs > 0 && get_pmd(fd, 0, ids[k]) > 0;
	}
	is((uint64_t)inside, 3, "sets are multiplexed: each was active, and counted");
	ok(i[0].set_runs >= i[1].set_runs && i[1].set_runs >= i[2].set_runs && i[0].set_runs - i[2].set_runs <= 1,
	   "round-robin, in the order of their numbers");
	between(runs, 12, took / 10000000 + 1, "each after its timeout, and none before it");
	between(active, took * 9 / 10, took, "at any one time one is active: together all of the time");
	tell("runs", i[0].set_runs, i[1].set_runs, i[2].set_runs);
	if (hardware)
		is(least, runs / 3, "as many turns each");
	close(fd);
}

/* Scaled by its share of the time, what one set counted is what another did all the time. */
static void test_scaling(void)
{
	pfarg_setinfo_t i;
	int fd = context(0), all = own_context();
	uint64_t began, total, scaled, spent = 0;

	put_set(fd, 1, PFM_SETFL_TIME_SWITCH, 10000000, NULL);
	put_set(fd, 0, PFM_SETFL_TIME_SWITCH, 10000000, NULL);
	put_pmc(fd, 0, 0, main_event);
	put_pmd(fd, 0, 0, 0);
	put_pmc(fd, 0, 1, other_event);
	put_pmd(fd, 0, 1, 0);
	load_self(fd);
	began = now_ns();
	start(all);
	start(fd);
	while (now_ns() < began + 600000000)
		work(20);
	pfm_stop(fd);
	pfm_stop(all);
	total = get_pmd(all, 0, 0);
	info(fd, 0, &i);
	spent = i.set_act_duration;
	info(fd, 1, &i);
	scaled = spent ? (uint64_t)((double)get_pmd(fd, 0, 0) * (double)(spent + i.set_act_duration) / (double)spent) : 0;
	between(scaled, total / 2, total + total / 2, "a count, scaled, approximates that of the whole time");
	close(all);
	close(fd);
}

/* Set 0 goes on to set 5 at the third overflow. */
static void test_overflow_switch(void)
{
	pfarg_pmd_t d = periodic(0, 0, 50, 0);
	pfarg_setinfo_t i;
	int fd = context(0), n;
	uint64_t cascaded, total;
	int all = own_context();

	put_set(fd, 0, PFM_SETFL_OVFL_SWITCH, 0, NULL);
	put_set(fd, 5, 0, 0, NULL);
	d.reg_ovfl_switch_cnt = 3;
	put_pmc(fd, 0, 0, main_event);
	well(pfm_write_pmds(fd, &d, 1), "a PMD has an overflow switch counter");
	put_pmc(fd, 0, 5, main_event);
	put_pmd(fd, 0, 5, 0);
	load_self(fd);
	start(all);
	start(fd);
	for (n = 0; n < 2; n++) { /* an emulated machine interrupts no loop in time */
		work(52);
		get_pmd(fd, 0, 0);
	}
	info(fd, 5, &i);
	is(i.set_runs, 0, "two overflows do not switch");
	work(50);
	get_pmd(fd, 0, 0);
	for (n = 0; n < 100 && info(fd, 5, &i) == 0 && i.set_runs == 0; n++)
		poll(NULL, 0, 5);
	work(40);
	pfm_stop(fd);
	pfm_stop(all);
	total = get_pmd(all, 0, 0);
	info(fd, 5, &i);
	is(i.set_runs, 1, "the third does: the switch counter has reached zero");
	info(fd, 0, &i);
	is(i.set_runs, 1, "and nothing leads back");
	cascaded = get_pmd(fd, 0, 5);
	between(cascaded, 40 * unit, total - 150 * unit, "cascading: it counts only once the other has passed its threshold");
	close(fd);
	close(all);
}

static void test_start_set(void)
{
	pfarg_start_t s;
	pfarg_setinfo_t i;
	int fd = context(0);

	put_set(fd, SECOND_SET, 0, 0, NULL);
	put_pmc(fd, 0, 0, main_event);
	put_pmc(fd, 0, SECOND_SET, main_event);
	put_pmd(fd, 0, 0, 0);
	put_pmd(fd, 0, SECOND_SET, 0);
	load_self(fd);
	memset(&s, 0, sizeof(s));
	s.start_set = SECOND_SET;
	well(pfm_start(fd, &s), "start in a set");
	work(50);
	pfm_stop(fd);
	ok(get_pmd(fd, 0, SECOND_SET) >= 50 * unit && get_pmd(fd, 0, 0) == 0, "only one set is loaded onto the PMU");
	info(fd, SECOND_SET, &i);
	ok(i.set_runs == 1 && i.set_act_duration > 0, "getinfo: how often it was activated, and for how long");
	close(fd);
}

/* --- 6: the description of the PMU ----------------------------------------------------------------------------------------- */

static int in_own_map(const char *text, int (*test)(void))
{
	const char *name = map_file(text);
	int r;

	setenv("GPUSTAT_PMU_MAP", name, 1);
	r = test();
	unlink(name);
	return r;
}

static int create_fails(void)
{
	return !(context(0) == -1 && errno == EINVAL);
}

static int map_wrong(void)
{
	return in_own_map("pmc 0\nnonsense\n", create_fails);
}

static int counts_there(void)
{
	int fd = context(0);

	if (put_pmc(fd, 40, 0, 2) || put_pmd(fd, 41, 0, 0) || load_self(fd) || start(fd))
		return 1;
	touch(100);
	pfm_stop(fd);
	return !(get_pmd(fd, 41, 0) >= 100 && put_pmd(fd, 0, 0, 0) == -1);
}

static int map_own(void)
{
	return in_own_map("table mine\npmc 40 mask 0-3\npmd 41 pmc 40 event 1:{0-3}:u\n", counts_there);
}

static int reads_memory(void)
{
	int fd = context(0);
	pfarg_pmd_t r = pmd_of(300, 0, 0);

	if (pfm_write_pmds(fd, &r, 1) == 0)
		return 2;
	r = pmd_of(300, 0, 0);
	if (pfm_read_pmds(fd, &r, 1) && (load_self(fd) || start(fd) || (r.reg_flags = 0, pfm_read_pmds(fd, &r, 1))))
		return 3;
	return r.reg_value < 1000 || r.reg_value > (uint64_t)1 << 60;
}

static int map_virtual(void)
{
	return in_own_map("pmc 0 mask 0-7\npmd 0 pmc 0 event 1:{0-7}:u\npmd 300 counter Physical memory usage\n", reads_memory);
}

/* --- threads: perfmon's calls are the kernel's, which any of them may make ---------------------------------------- */

enum { THREADS = 8, ROUNDS = 25 };

static int shared; /* a context of the first thread */

/* Contexts of this thread, one after the other, and a look at the shared one. What went wrong, or NULL. */
static void *own_contexts(void *arg)
{
	const char *wrong = NULL;
	int i;

	(void)arg;
	for (i = 0; i < ROUNDS && !wrong; i++) {
		int fd = own_context();

		if (fd < 0)
			wrong = "no context";
		else if (counted(fd, 0, 10) < 10 * unit)
			wrong = "work was not counted";
		else if (get_pmd(shared, 0, 0) != 77)
			wrong = "the shared context has another value";
		if (fd >= 0)
			close(fd);
	}
	return (void *)wrong;
}

static void test_threads(void)
{
	pthread_t t[THREADS];
	void *wrong = NULL;
	int made = 0, right = 1, i;

	shared = own_context();
	put_pmd(shared, 0, 0, 77);
	for (; made < THREADS && pthread_create(&t[made], NULL, own_contexts, NULL) == 0; made++)
		;
	for (i = 0; i < made; i++) {
		pthread_join(t[i], &wrong);
		right &= !wrong;
		if (wrong)
			printf("# thread %d: %s\n", i, (const char *)wrong);
	}
	ok(made == THREADS && right, "multiple per-thread contexts coexist: eight threads make, use and close theirs at once");
	is(get_pmd(shared, 0, 0), 77, "and none of them changes another's");
	close(shared);
}

int main(void)
{
	choose_machine();
	alarm(PATIENCE);
	ok_child(map_wrong, "a table of registers that is wrong: EINVAL", "");
	ok_child(map_own, "the table of registers is data: one of the user's own", "");
	ok_child(map_virtual, "a virtual PMD is tied to any resource: it is read, and not written", "");
	large[0] = 1;
	test_layout();
	warm_up();
	test_create();
	test_entries();
	test_order();
	test_count();
	test_running();
	test_several();
	test_other_thread();
	test_system();
	test_overflow();
	test_no_notify();
	test_signal();
	test_later_period();
	test_handler();
	test_close();
	test_periods();
	test_buffer_args();
	test_thousand();
	test_full();
	test_resets();
	test_random();
	test_own_format();
	test_histogram();
	test_nway();
	test_sets();
	test_time_switch();
	test_scaling();
	test_overflow_switch();
	test_start_set();
	test_threads();
	return finish();
}
