/* perfmon.c - tests the overview of perfmon2 sentence by sentence. Prints TAP. A black-box test: it
 * includes the header and links libperfmon2.a. The counted events are described in pfm.h.
 * SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_setaffinity, syscall */
#include <perfmon/perfmon.h>
#include <perfmon/perfmon_fmt.h>

#include "pfm.h"

#include <dirent.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/resource.h>

/* As large as a program may have it: the library's own thread also needs thread-local storage. */
static __thread volatile char large[1 << 20];

enum { SECOND_SET = 7, PERIOD = 10 /* units */, RUNS = 16 };

static const uint64_t all_ones = ~(uint64_t)0;

/* --- calls for one register ------------------------------------------------------------------- */

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

/* A period in units, the same after each overflow. */
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

/* A context of this thread, in which PMDs 0 and 1 count. */
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

/* The minimum of several runs: the path of the C library into the kernel can differ by a few
 * instructions (the clock in its shared page). */
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

/* The number of messages available, with no others arriving within the time. */
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

/* Calls everything in the library once, so that no page of it is touched for the first time
 * later. */
static void warm_up(void)
{
	int i, fd;

	for (i = 0; i < 3; i++) {
		fd = own_context();
		counted(fd, 0, 3);
		close(fd);
	}
}

/* As work(), but slow enough for the library: what the kernel does not do at an overflow (other
 * periods, resets, sets) the library does at its next opportunity, for example at each call. */
static void slow_work(int fd, long units)
{
	for (; units > 0; units--) {
		work(1);
		get_pmd(fd, 0, 0);
	}
}

/* --- II: contexts ----------------------------------------------------------------------------- */

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
	ok(b >= 0 && b != a, "two contexts have different descriptors");
	ok(put_pmd(a, 0, 0, 5) == 0 && put_pmd(b, 0, 0, 7) == 0 && get_pmd(a, 0, 0) == 5 && get_pmd(b, 0, 0) == 7,
	   "each context has its own PMU state");
	d = dup(a);
	is(get_pmd(d, 0, 0), 5, "a duplicate of the descriptor is the same context");
	close(a);
	is(get_pmd(d, 0, 0), 5, "the context exists while one of its descriptors is open");
	close(d);
	fails(put_pmd(a, 0, 0, 5), EBADF, "EBADF after all descriptors are closed");
	close(b);
	a = open("/dev/null", O_RDONLY);
	ok(put_pmd(a, 0, 0, 5) == -1 && (errno == EBADF || errno == EINVAL), "a descriptor that is not a context is rejected");
	close(a);
	fails(pfm_create_context(NULL, NULL, 0), EFAULT, "no argument: EFAULT");
	memcpy(c.ctx_smpl_buf_id, unknown, sizeof(unknown));
	fails(pfm_create_context(&c, NULL, 0), EINVAL, "an unknown UUID of a format: EINVAL");
	fails(context(PFM_FL_NOTIFY_BLOCK), EINVAL, "blocking the thread, which Linux does not support: EINVAL");
	fails(context(PFM_FL_NOTIFY_BLOCK | PFM_FL_SYSTEM_WIDE), EINVAL, "blocking is not supported in system-wide mode");
	fails(context(0x40000000), EINVAL, "an unknown flag: EINVAL");
}

/* One register and the error flag expected for it. */
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
	   d[2].reg_value == all_ones, "read_pmds reads more than one PMD, with all 64 bits");
	d[1] = pmd_of(PFM_MAX_PMDS, 0, 0);
	fails(pfm_read_pmds(fd, d, 3), EINVAL, "a PMD number above the maximum: EINVAL");
	ok(!PFM_REG_HAS_ERROR(d[0].reg_flags) && PFM_REG_HAS_ERROR(d[1].reg_flags), "reg_flags of the bad PMD have the error, those before it do not");
	d[1] = pmd_of(200, 0, 0);
	ok(pfm_write_pmds(fd, d, 2) == -1 && errno == EINVAL && PFM_REG_HAS_ERROR(d[1].reg_flags), "a PMD that this PMU lacks: EINVAL");
	d[1] = pmd_of(1, 9, 0);
	ok(pfm_write_pmds(fd, d, 2) == -1 && errno == EINVAL && (d[1].reg_flags & PFM_REG_RETFL_NOSET),
	   "an unknown set: PFM_REG_RETFL_NOSET");
	c[1].reg_num = 200;
	ok(pfm_write_pmcs(fd, c, 2) == -1 && errno == EINVAL && !PFM_REG_HAS_ERROR(c[0].reg_flags) &&
	   PFM_REG_HAS_ERROR(c[1].reg_flags), "a PMC that this PMU lacks: EINVAL");
	d[0] = pmd_of(0, 0, 0);
	d[0].reg_flags = PFM_REGFL_NO_EMUL64;
	ok(pfm_write_pmds(fd, d, 1) == -1 && errno == EINVAL && (d[0].reg_flags & PFM_REG_RETFL_EINVAL),
	   "64-bit registers cannot be turned off here: PFM_REG_RETFL_EINVAL");
	fails(pfm_write_pmds(fd, NULL, 1), EFAULT, "no array: EFAULT");
	fails(pfm_write_pmcs(fd, NULL, 1), EFAULT, "no array of PMCs: EFAULT");
	fails(pfm_read_pmds(fd, NULL, 1), EFAULT, "no array for the values: EFAULT");
	fails(pfm_read_pmds(fd, d, -1), EINVAL, "a negative count: EINVAL");
	fails(pfm_read_pmds(fd, d, 0), EINVAL, "no entries: EINVAL");
	ok(pfm_read_pmds(fd, d, 0x7fffffff) == -1 && (errno == EINVAL || errno == E2BIG), "an extremely large count: EINVAL or E2BIG");
	fails(pfm_load_context(fd, NULL), EFAULT, "load_context without an argument: EFAULT");
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
	fails(pfm_restart(fd), EBUSY, "restart while nothing is masked: EBUSY");
	well(pfm_unload_context(fd), "unload before load is not an error");
	fails(load(fd, 0x7ffffff0), ESRCH, "an unknown thread: ESRCH");
	well(load_self(fd), "load_context attaches to a thread by its id");
	ok(load_self(fd) == -1 && (errno == EBUSY || errno == EINVAL), "bound to one thread at a time: loading again is an error");
	memset(&s, 0, sizeof(s));
	s.start_set = 99;
	fails(pfm_start(fd, &s), EINVAL, "start with an unknown set: EINVAL");
	fails(pfm_restart(fd), EBUSY, "restart of a loaded context while nothing is masked: EBUSY");
	well(start(fd), "start of a loaded context succeeds");
	well(start(fd), "a second start is not an error");
	well(pfm_stop(fd), "stop of a started context succeeds");
	well(pfm_stop(fd), "a second stop is not an error");
	well(pfm_unload_context(fd), "unload of a loaded context succeeds");
	other = context(0);
	well(load_self(other), "a context without registers can be loaded");
	well(start(other), "a context without registers can be started");
	close(other);
	close(fd);
	fails(start(fd), EBADF, "start after close: EBADF");
}

/* --- II: counting ----------------------------------------------------------------------------- */

static void test_count(void)
{
	int fd = own_context();
	uint64_t a, b, c, v;

	is(get_pmd(fd, 0, 0), 0, "a loaded context does not count yet");
	work(5);
	is(get_pmd(fd, 0, 0), 0, "work before start is not counted");
	a = exactly(fd, 0, 100);
	b = exactly(fd, 0, 100);
	c = exactly(fd, 0, 300);
	between(a, 100 * unit, 100 * unit + 20 * unit + 20000 * (unit > 1), "start activates monitoring: the work is counted");
	is(b, a, "the same work has the same count");
	is(c - a, 200 * unit, "three times the work has exactly that count more");
	v = get_pmd(fd, 0, 0);
	work(50);
	is(get_pmd(fd, 0, 0), v, "stop: later work is not counted");
	ok(get_pmd(fd, 1, 0) >= 700 * unit, "a second PMD counts at the same time");
	well(pfm_unload_context(fd), "unload detaches the context");
	is(get_pmd(fd, 0, 0), v, "after unload the PMDs keep their values");
	well(load_self(fd), "an unloaded context can be attached again");
	is(get_pmd(fd, 0, 0), v, "after the second load the PMDs keep their values");
	put_pmd(fd, 0, 0, 0xffffffffff);
	is(exactly(fd, 0, 100), a, "counters have 64 bits: they count across bit 40");
	ok(get_pmd(fd, 0, 0) >= 0xffffffffff + 100 * unit, "a counter continues from the written value");
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
	between(a - 1000000 * unit, 10 * unit, 100 * unit + 40000 * (unit > 1), "a PMD can be written while it counts");
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
	is(get_pmd(b, 0, 0), y, "contexts of one thread can be closed one by one");
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
	well(load(fd, w.pid), "a context can be attached to another thread");
	start(fd);
	worker_work(&w, 100);
	a = get_pmd(fd, 0, 0);
	worker_work(&w, 100);
	b = get_pmd(fd, 0, 0) - a;
	worker_work(&w, 300);
	pfm_stop(fd);
	is(get_pmd(fd, 0, 0) - a - b - b, 200 * unit, "a context counts the work of another thread exactly");
	work(100);
	worker_end(&w);
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_END, "the end of the other thread causes a message: PFM_MSG_END");
	ok(get_pmd(fd, 0, 0) >= 500 * unit, "after the end of the thread its counts can be read");
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
		skip("system-wide contexts", "root is required");
		return;
	}
	if (!well(a, "a system-wide context is bound to the processor on which load_context is called"))
		return;
	w = worker_start(0);
	start(a);
	worker_work(&w, 1000);
	worker_work(&w, 1000);
	pfm_stop(a);
	ok(get_pmd(a, 0, 0) >= 2000 * unit, "a system-wide context monitors all threads of its processor");
	ok(load(a, 0) == -1, "a system-wide context is bound to one processor at a time");
	if (cpus() < 2) {
		skip("system-wide contexts coexist on other processors", "there is only one processor");
		skip("each system-wide context monitors its own processor", "there is only one processor");
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
		if (!ok(x >= 20000 * unit, "each system-wide context monitors its own processor"))
			report("there, here", x, y, 0);
		close(b);
	}
	worker_end(&w);
	close(a);
}

/* --- 3: overflows ----------------------------------------------------------------------------- */

/* PMD 0 overflows after each `period` units and sends a message; PMD 1 counts the same event. */
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
	ok(read(fd, &m, sizeof(m)) == -1 && errno == EAGAIN, "before an overflow read() waits, or fails with EAGAIN");
	work(60);
	ok(readable(fd, SOON), "after 110 units poll() reports the overflow");
	FD_ZERO(&set);
	FD_SET(fd, &set);
	ok(select(fd + 1, &set, NULL, NULL, &no_time) == 1, "select() reports the overflow");
	ok(message(fd, &m, SOON), "read() returns the complete message");
	is(m.type, PFM_MSG_OVFL, "the message is about an overflow");
	ok(has_bit(m.pfm_ovfl_msg.msg_ovfl_pmds, 0) && !has_bit(m.pfm_ovfl_msg.msg_ovfl_pmds, 1), "the message names PMD 0 only");
	is((uint64_t)m.pfm_ovfl_msg.msg_ovfl_tid, (uint64_t)tid(), "the message names this thread");
	is((uint64_t)m.pfm_ovfl_msg.msg_ovfl_pid, (uint64_t)getpid(), "the message names this process");
	is(m.pfm_ovfl_msg.msg_active_set, 0, "the message names set 0");
	ok(m.pfm_ovfl_msg.msg_ovfl_ip != 0, "the message has an instruction pointer");
	a = get_pmd(fd, 1, 0);
	work(500);
	b = get_pmd(fd, 1, 0);
	is(b, a, "after the message monitoring is masked: nothing is counted");
	between(a, 100 * unit, 101 * unit, "monitoring is masked from the overflow on");
	is((uint64_t)messages(fd, 50), 0, "there is no second message");
	well(pfm_restart(fd), "restart of a masked context succeeds");
	work(50);
	ok(get_pmd(fd, 1, 0) >= a + 50 * unit, "restart resumes monitoring");
	work(60);
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_OVFL, "the next period overflows as well");
	pfm_restart(fd);
	work(110);
	ok(readable(fd, SOON) && read(fd, &m, 4) == 4 && m.type == PFM_MSG_OVFL && read(fd, &m, sizeof(m)) == -1,
	   "a buffer smaller than a message receives its first bytes; the others are discarded");
	pfm_stop(fd);
	close(fd);
}

/* A counter without a period when it is loaded can get one later. */
static void test_later_period(void)
{
	pfarg_pmd_t d = periodic(0, 0, 100, PFM_REGFL_OVFL_NOTIFY);
	int fd = own_context();

	start(fd);
	well(pfm_write_pmds(fd, &d, 1), "a period can be written while the counter runs");
	work(110);
	ok(readable(fd, SOON), "a period written later causes a notification");
	close(fd);
}

static void test_no_notify(void)
{
	int fd = sampling(10, 0);
	uint64_t v;

	start(fd);
	work(105);
	pfm_stop(fd);
	is((uint64_t)messages(fd, 50), 0, "a notification is requested per counter: without a request there is no message");
	v = get_pmd(fd, 1, 0);
	ok(v >= 105 * unit, "an overflow without notification does not mask");
	is((v - (get_pmd(fd, 0, 0) + 10 * unit)) % (10 * unit), 0, "a period without notification continues");
	ok(get_pmd(fd, 0, 0) >= -(10 * unit), "the PMD is below its next overflow");
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
	ok(fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC) == 0 && fcntl(fd, F_SETOWN, getpid()) == 0, "the usual fcntl() calls for signals succeed");
	start(fd);
	work(110);
	while (!signals && now_ns() < until)
		nanosleep(&ms, NULL);
	ok(signals > 0, "an overflow sends an asynchronous notification: SIGIO");
	ok(messages(fd, 50) == 1, "the signal comes in addition to the message");
	close(fd);
	signal(SIGIO, SIG_IGN);
}

/* A context that sends a signal, but no message. */
static void test_signal_alone(void)
{
	pfarg_pmd_t d = periodic(0, 0, 10, PFM_REGFL_OVFL_NOTIFY);
	int fd = context(PFM_FL_OVFL_NO_MSG);
	uint64_t until = now_ns() + (uint64_t)SOON * 1000000;

	signals = 0;
	signal(SIGIO, on_signal);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_ASYNC);
	fcntl(fd, F_SETOWN, getpid());
	put_pmc(fd, 0, 0, main_event);
	pfm_write_pmds(fd, &d, 1);
	load_self(fd);
	start(fd);
	while (signals < 20 && now_ns() < until) {
		work(3);
		pfm_restart(fd);
	}
	pfm_stop(fd);
	ok(signals >= 20, "PFM_FL_OVFL_NO_MSG: overflows send SIGIO");
	is((uint64_t)messages(fd, 50), 0, "PFM_FL_OVFL_NO_MSG: no message is queued");
	close(fd);
	signal(SIGIO, SIG_IGN);
}

static int handled;

static volatile sig_atomic_t rewritten;

static void restart_there(int sig)
{
	pfm_msg_t m;
	pfarg_pmd_t r = pmd_of(1, 0, 0), next = periodic(0, 0, 4 + (uint64_t)signals % 3, PFM_REGFL_OVFL_NOTIFY);

	(void)sig;
	while (read(handled, &m, sizeof(m)) == (long)sizeof(m)) {
		signals++;
		pfm_read_pmds(handled, &r, 1);
		rewritten += pfm_write_pmds(handled, &next, 1) == 0;
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
	ok(signals >= OFTEN, "a signal handler can read the message and the PMDs, and restart, at any point of the program");
	is((uint64_t)rewritten, (uint64_t)signals, "a signal handler can write the PMDs that its context counts");
	close(handled);
	signal(SIGIO, SIG_IGN);
}

/* The number of perf event descriptors of this process. */
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
	ok(perf_events() > before, "a counting context has counters of the kernel");
	close(fd);
	for (i = 0; i < SOON / 5 && perf_events() > before; i++)
		poll(NULL, 0, 5);
	is((uint64_t)perf_events(), (uint64_t)before, "close releases the counters of the kernel without another call");
}

/* The limit of descriptors limits the contexts, each of which needs two; no table is full before. */
static void test_many(void)
{
	enum { MANY = 4200 };
	static int fds[MANY];
	struct rlimit before, most;
	int n = 0, error = 0;

	getrlimit(RLIMIT_NOFILE, &before);
	most = before;
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
	while (n < MANY && !error) {
		fds[n] = context(0);
		if (fds[n] < 0)
			error = errno;
		else
			n++;
	}
	printf("# %d contexts\n", n);
	ok(n == MANY || error == EMFILE, "only the limit of descriptors limits the number of contexts");
	if (n == MANY)
		close(fds[--n]);
	ok(n > 0 && put_pmc(fds[n - 1], 0, 0, main_event) == 0 && put_pmd(fds[n - 1], 0, 0, 5) == 0 &&
	   get_pmd(fds[n - 1], 0, 0) == 5, "the last of many contexts has its own registers");
	while (n > 0)
		close(fds[--n]);
	setrlimit(RLIMIT_NOFILE, &before);
}

/* The structures of 2006 on a 64-bit machine: size, and offset of the last member before the
 * reserved ones. */
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
		skip("structures are laid out as perfmon's", "only for 64-bit machines");
		return;
	}
	for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].at != rows[i].want_at || rows[i].size != rows[i].want_size) {
			report(rows[i].name, rows[i].at, rows[i].size, rows[i].want_at);
			bad++;
		}
	is(bad, 0, "structures are laid out as perfmon's");
}

/* A context whose periods are recorded in a buffer, without messages of their own. */
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

/* The n-th sample; each has `body` values after it. */
static const pfm_dfl_smpl_entry_t *entry(const pfm_dfl_smpl_hdr_t *h, uint64_t n, uint64_t body)
{
	return (const pfm_dfl_smpl_entry_t *)(const void *)((const char *)(h + 1) + n * (sizeof(pfm_dfl_smpl_entry_t) + body * 8));
}

static const uint64_t *values(const pfm_dfl_smpl_entry_t *e)
{
	return (const uint64_t *)(const void *)(e + 1);
}

/* The number of samples of PMD n. */
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
	/* so that both never overflow at the same time, which Linux confuses for software events */
	d[1].reg_value = -(55 * unit);
	put_pmc(fd, 0, 0, main_event);
	put_pmc(fd, 1, 0, main_event);
	pfm_write_pmds(fd, d, 2);
	load_self(fd);
	start(fd);
	slow_work(fd, hardware ? 500 : 1508);
	pfm_stop(fd);
	total = get_pmd(fd, 2, 0) / unit;
	if (!h) {
		ok(0, "several counters can have periods");
		close(fd);
		return;
	}
	between(samples_of(h, 0), total / 30 - 1, total / 30, "periods of several counters are independent: one sample for each 30");
	between(samples_of(h, 1), (total - 5) / 50 - 1, (total - 5) / 50, "periods of several counters are independent: one sample for each 50");
	close(fd);
}

/* --- 4: the sampling buffer ------------------------------------------------------------------- */

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
	fails(pfm_create_context(&c, &arg, sizeof(arg) - 1), EINVAL, "a wrong size of the format's argument: EINVAL");
	ok(pfm_create_context(&c, NULL, sizeof(arg)) == -1 && (errno == EINVAL || errno == EFAULT), "a missing argument of the format: EINVAL or EFAULT");
	arg.buf_size = 16;
	fails(pfm_create_context(&c, &arg, sizeof(arg)), EINVAL, "a buffer smaller than one sample: EINVAL");
	arg.buf_size = all_ones;
	ok(pfm_create_context(&c, &arg, sizeof(arg)) == -1, "a buffer larger than the memory is rejected");
	fd = buffered(65536, 0, &h);
	if (ok(h != NULL, "mmap() of the context returns the buffer")) {
		is(h->hdr_count, 0, "the buffer is empty");
		is(h->hdr_version, PFM_DFL_SMPL_VERSION, "the buffer has the version of the header file");
		between(h->hdr_buf_size, 65536, 1 << 20, "the buffer is at least as large as requested");
	}
	close(fd);
	fd = context(0);
	ok(mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED, "a context without a buffer cannot be mapped");
	close(fd);
}

/* A thousand overflows, and the remainder in the PMD, together are the complete count. */
static void test_thousand(void)
{
	pfm_dfl_smpl_hdr_t *h;
	pfarg_pmd_t d = periodic(0, 0, PERIOD, PFM_REGFL_OVFL_NOTIFY);
	int fd = buffered(1 << 20, 0, &h), bad = 0;
	uint64_t i, total, last = 0;

	if (!ok(h != NULL, "a buffer of 1 MiB is mapped"))
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
	between(h->hdr_count, 1000, 1000 + (total - 1000 * PERIOD * unit) / (PERIOD * unit), "a thousand overflows are recorded, and none is lost");
	is(h->hdr_count * PERIOD * unit + get_pmd(fd, 0, 0) + PERIOD * unit, total, "the samples and the remainder are the complete count");
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
	ok(!(bad & 1), "each sample names the PMD that overflowed");
	ok(!(bad & 2), "each sample names its thread and process");
	ok(!(bad & 4), "each sample has the interrupted instruction pointer");
	ok(!(bad & 8), "samples are in sequential order");
	ok(!(bad & 16), "each sample has the value from which the PMD started");
	ok(!(bad & 32), "each sample has the set and the processor");
	ok(!(bad & 64), "the body of each sample has the recorded PMDs, with their values at the overflow");
	is(h->hdr_cur_offs, sizeof(*h) + h->hdr_count * (sizeof(pfm_dfl_smpl_entry_t) + 8), "hdr_cur_offs is the offset of the next sample");
	close(fd);
}

/* The number of samples after which the largest one no longer fits. */
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

	if (!ok(h != NULL, "a buffer of one page is mapped"))
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
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_OVFL, "a full buffer causes a notification, nothing else does");
	n = h->hdr_count;
	is(n, room, "the buffer is full: another sample may not fit");
	is(h->hdr_overflows, 1, "the full buffer is counted once");
	room = get_pmd(fd, 1, 0);
	work(100);
	ok(h->hdr_count == n && get_pmd(fd, 1, 0) == room, "a full buffer masks monitoring");
	well(pfm_restart(fd), "restart after a full buffer");
	work(2 * PERIOD);
	is(h->hdr_count, 0, "the long reset value applies after a notification: three periods, not over yet");
	work(PERIOD + PERIOD / 2);
	pfm_stop(fd);
	if (is(h->hdr_count, 1, "three periods are over: one sample"))
		is(entry(h, 0, 0)->last_reset_val, -(3 * PERIOD * unit), "the sample has the long reset value as its start");
	close(fd);
}

static void test_resets(void)
{
	pfm_dfl_smpl_hdr_t *h;
	pfarg_pmd_t d = periodic(0, 0, 20, 0);
	int fd = buffered(1 << 16, 0, &h), bad = 0;
	uint64_t i;

	if (!ok(h != NULL, "a buffer of 64 KiB is mapped"))
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
		is(entry(h, 0, 2)->last_reset_val, -(50 * unit), "the first sample started from the initial value");
		for (i = 1; i < h->hdr_count; i++)
			bad |= entry(h, i, 2)->last_reset_val != -(20 * unit);
		ok(!bad, "the other samples started from the short reset value");
		for (bad = 0, i = 1; i < h->hdr_count; i++)
			bad |= values(entry(h, i, 2))[0] > 21 * unit || values(entry(h, i, 2))[0] < 19 * unit;
		ok(!bad, "a PMD with a reset is set to its start value at each overflow");
		for (bad = 0, i = 1; i < h->hdr_count; i++)
			bad |= values(entry(h, i, 2))[1] < (50 + i * 20) * unit;
		ok(!bad, "a PMD without a reset continues to count");
	}
	close(fd);
}

/* The start values of 64 random periods. */
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

	if (!ok(na == 64 && nb == 64 && nc == 64, "sixty-four random periods"))
		report("periods", (uint64_t)na, (uint64_t)nb, (uint64_t)nc);
	if (na < 64 || nb < 64 || nc < 64)
		return;
	/* The first one is the initial value. */
	is(a[0], -(100 * unit), "the initial value is the written one");
	for (i = 1; i < 64; i++) {
		uint64_t more = -(100 * unit) - a[i];

		min = more < min ? more : min;
		max = more > max ? more : max;
		bad |= (more & ~mask) != 0;
	}
	ok(!bad, "reset values vary within the mask");
	ok(max > mask / 2 && min < mask / 2, "reset values cover the whole mask");
	ok(memcmp(a, b, sizeof(a)) == 0, "the same seed has the same sequence");
	ok(memcmp(a, c, sizeof(a)) != 0, "another seed has another sequence");
}

/* --- 4: other formats ------------------------------------------------------------------------- */

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
	fails(pfm_create_context(&c, &size, sizeof(size)), EINVAL, "an unregistered format: EINVAL");
	well(pfm_register_fmt(&own_format), "a new format can be registered");
	fails(pfm_register_fmt(&own_format), EEXIST, "registering a format twice: EEXIST");
	bad.fmt_handler = NULL;
	fails(pfm_register_fmt(&bad), EINVAL, "a format without a handler: EINVAL");
	ok(pfm_register_fmt(NULL) == -1, "NULL as a format is rejected");
	fd = pfm_create_context(&c, &size, sizeof(size));
	if (!well(fd, "create_context selects a format by its UUID, and passes its argument"))
		return;
	buf = mmap(NULL, c.ctx_smpl_buf_size, PROT_READ, MAP_PRIVATE, fd, 0);
	ok(c.ctx_smpl_buf_size >= 4096 && buf != MAP_FAILED, "the format has a buffer of the size that it requests, mapped by mmap()");
	fails(pfm_unregister_fmt(own_format.fmt_uuid), EBUSY, "unregistering a format that is in use: EBUSY");
	d.reg_smpl_eventid = 77;
	d.reg_smpl_pmds[0] = 2;
	put_pmc(fd, 0, 0, main_event);
	put_pmc(fd, 1, 0, main_event);
	pfm_write_pmds(fd, &d, 1);
	put_pmd(fd, 1, 0, 0);
	load_self(fd);
	start(fd);
	work(10 * PERIOD);
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_OVFL, "the format decides when a notification is sent");
	is((uint64_t)own.handled, 3, "at the third overflow the format masks: no other follows");
	if (buf != MAP_FAILED)
		is(buf[0], 3, "the format decides what is recorded");
	ok(own.last.ovfl_pmd == 0 && own.last.pmd_eventid == 77 && own.last.num_smpl_pmds == 1 &&
	   own.last.smpl_pmds_values[0] >= 3 * PERIOD * unit && own.last.tgid == (uint32_t)getpid(), "the format receives all data about the overflow");
	well(pfm_restart(fd), "restart calls the format");
	is((uint64_t)own.restarted, 1, "the format's restart function is called once");
	work(PERIOD + PERIOD / 2);
	pfm_stop(fd);
	is((uint64_t)own.handled, 4, "after restart the format receives samples again");
	close(fd);
	fd = context(0); /* the closed one is released when the next one is created */
	is((uint64_t)own.exited, 1, "close calls the format's exit function");
	close(fd);
	well(pfm_unregister_fmt(own_format.fmt_uuid), "an unused format can be unregistered");
	fails(pfm_unregister_fmt(own_format.fmt_uuid), EINVAL, "unregistering a format twice: EINVAL");
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
	if (!ok(h != MAP_FAILED, "a format that aggregates samples, as OProfile requires"))
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
	between(h->hdr_count, 500, 520, "the aggregating format has counted all samples");
	is(sum, h->hdr_count, "the sum of its entries is the number of samples");
	ok(used == h->hdr_used && used < 300 && used > 0, "there are fewer entries than samples: one for each address");
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
	ok(message(fd, &m, SOON) && m.type == PFM_MSG_OVFL, "a full part sends a notification");
	a = get_pmd(fd, 1, 0);
	work(20 * PERIOD);
	b = get_pmd(fd, 1, 0);
	ok(b >= a + 20 * PERIOD * unit, "sampling continues in the next part without a gap");
	is(h->hdr_filled, 1, "one part is filled");
	is(PFM_NWAY_PART(h, 0)->hdr_count, room, "the filled part is filled completely");
	work(2 * (long)room * PERIOD);
	get_pmd(fd, 1, 0);
	is(h->hdr_overflows, 1, "sampling stops when all parts are full");
	pfm_stop(fd);
	close(fd);
}

/* --- 5: sets ---------------------------------------------------------------------------------- */

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
	fails(info(fd, 1, &i[0]), EINVAL, "set 1 does not exist by default: EINVAL");
	ok(i[0].set_flags & PFM_REG_RETFL_NOSET, "the flags of an unknown set have PFM_REG_RETFL_NOSET");
	memset(two, 0, sizeof(two));
	two[0].set_id = SECOND_SET;
	two[1].set_id = 65535;
	well(pfm_create_evtsets(fd, two, 2), "additional sets can be created, with numbers up to 65535");
	memset(i, 0, sizeof(i));
	i[0].set_id = SECOND_SET;
	i[1].set_id = 65535;
	well(pfm_getinfo_evtsets(fd, i, 2), "getinfo_evtsets returns information about more than one set");
	is(i[1].set_runs, 0, "no set was active yet");
	well(put_pmd(fd, 0, SECOND_SET, 5), "a written PMD belongs to the set in its argument");
	put_pmd(fd, 0, 65535, 6);
	ok(get_pmd(fd, 0, SECOND_SET) == 5 && get_pmd(fd, 0, 65535) == 6, "each set has the complete PMU state");
	well(put_set(fd, SECOND_SET, PFM_SETFL_TIME_SWITCH, 3100000, &got), "a set can be modified");
	ns = (uint64_t)got.tv_sec * 1000000000 + (uint64_t)got.tv_nsec;
	between(ns, 3100000, 14100000, "the timeout is rounded up, and returned");
	ok(info(fd, SECOND_SET, &i[0]) == 0 && i[0].set_timeout.tv_nsec == got.tv_nsec && get_pmd(fd, 0, SECOND_SET) == 5,
	   "a modified set has the new timeout, and keeps its registers");
	well(put_set(fd, 0, PFM_SETFL_TIME_SWITCH, 5000000, &got), "the timeout of set 0 can be changed, too");
	fails(put_set(fd, SECOND_SET, PFM_SETFL_TIME_SWITCH | PFM_SETFL_OVFL_SWITCH, 5000000, NULL), EINVAL,
	      "a set with two ways to switch: EINVAL");
	fails(put_set(fd, 12, 0x4000, 0, NULL), EINVAL, "an unknown flag of a set: EINVAL");
	fails(pfm_create_evtsets(fd, NULL, 1), EFAULT, "no array of sets: EFAULT");
	fails(pfm_create_evtsets(fd, two, -1), EINVAL, "a negative number of sets: EINVAL");
	fails(pfm_getinfo_evtsets(fd, NULL, 1), EFAULT, "no array for information: EFAULT");
	well(pfm_delete_evtsets(fd, two, 2), "delete_evtsets deletes more than one set");
	fails(info(fd, 65535, &i[0]), EINVAL, "a deleted set no longer exists");
	two[0].set_flags = two[1].set_flags = 0;
	fails(pfm_delete_evtsets(fd, two, 1), EINVAL, "deleting a set twice: EINVAL");
	ok(two[0].set_flags & PFM_REG_RETFL_NOSET, "the set's flags have PFM_REG_RETFL_NOSET");
	fails(pfm_delete_evtsets(fd, NULL, 1), EFAULT, "delete_evtsets without an array: EFAULT");
	put_set(fd, 4, 0, 0, NULL);
	load_self(fd);
	two[0].set_id = 4;
	two[0].set_flags = 0;
	ok(pfm_delete_evtsets(fd, two, 1) == -1 && errno == EBUSY, "sets of a loaded context cannot be deleted: EBUSY");
	close(fd);
}

/* Three sets that alternate every 10 ms, with ids in another order than that of creation. */
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
	   "sets are switched round-robin, in the order of their numbers");
	between(runs, 12, took / 10000000 + 1, "each set is switched after its timeout, and none before it");
	between(active, took * 9 / 10, took, "one set is active at any time: together they have the whole time");
	report("runs", i[0].set_runs, i[1].set_runs, i[2].set_runs);
	if (hardware)
		is(least, runs / 3, "each set was active equally often");
	close(fd);
}

/* The count of one set, scaled by its share of the time, matches that of an event counted all the
 * time. */
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
	between(scaled, total / 2, total + total / 2, "a scaled count approximates that of the whole time");
	close(all);
	close(fd);
}

/* Set 0 switches to set 5 at the third overflow. */
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
	for (n = 0; n < 2; n++) { /* an emulated machine does not interrupt a loop in time */
		work(52);
		get_pmd(fd, 0, 0);
	}
	info(fd, 5, &i);
	is(i.set_runs, 0, "two overflows do not switch the set");
	work(50);
	get_pmd(fd, 0, 0);
	for (n = 0; n < 100 && info(fd, 5, &i) == 0 && i.set_runs == 0; n++)
		poll(NULL, 0, 5);
	work(40);
	pfm_stop(fd);
	pfm_stop(all);
	total = get_pmd(all, 0, 0);
	info(fd, 5, &i);
	is(i.set_runs, 1, "the third overflow switches: the switch counter has reached zero");
	info(fd, 0, &i);
	is(i.set_runs, 1, "the second set has no switch back");
	cascaded = get_pmd(fd, 0, 5);
	between(cascaded, 40 * unit, total - 150 * unit, "cascading: a set counts only after the other has passed its threshold");
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
	well(pfm_start(fd, &s), "start in a given set");
	work(50);
	pfm_stop(fd);
	ok(get_pmd(fd, 0, SECOND_SET) >= 50 * unit && get_pmd(fd, 0, 0) == 0, "only one set is loaded onto the PMU");
	info(fd, SECOND_SET, &i);
	ok(i.set_runs == 1 && i.set_act_duration > 0, "getinfo returns how often and for how long the set was active");
	close(fd);
}

/* --- 6: the description of the PMU ------------------------------------------------------------ */

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

/* --- threads: the kernel calls of perfmon may be made by any thread --------------------------- */

enum { THREADS = 8, ROUNDS = 25 };

static int shared; /* a context of the first thread */

/* Creates contexts of this thread, one after the other, and reads the shared one. Returns a
 * failure, or NULL. */
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
	ok(made == THREADS && right, "multiple per-thread contexts coexist: eight threads create, use and close theirs at the same time");
	is(get_pmd(shared, 0, 0), 77, "contexts of other threads do not change the shared context");
	close(shared);
}

int main(void)
{
	choose_machine();
	alarm(PATIENCE);
	ok_child(map_wrong, "an invalid register table: EINVAL", "");
	ok_child(map_own, "the user can provide a register table", "");
	ok_child(map_virtual, "a virtual PMD belongs to another resource: it can be read, but not written", "");
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
	test_signal_alone();
	test_handler();
	test_close();
	test_many();
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
