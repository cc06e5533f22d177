/* t_perfmon.c - contexts, event sets (perfmon/sets.c), overflows (perfmon/overflows.c) and sampling
 * formats (perfmon/formats.c) of perfmon2, on a simulated kernel: events happen one at a time, only
 * when the test says so.
 * SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sys/resource.h>
/* The library's thread never runs: the library calls and serve_once() do its work. */
static int no_thread(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg)
{
	(void)t;
	(void)a;
	(void)run;
	(void)arg;
	return 0;
}
#define pthread_create no_thread

#include "../../perfmon/perfmon.c"
#include "../../perfmon/sets.c"
#include "../../perfmon/overflows.c"
#include "../../perfmon/formats.c"
#include "../../perfmon/v22.c"

#include "unit.h"

/* --- the simulated kernel --------------------------------------------------------------------- */

enum { EVENTS = 16, RECORDS = 512, OFF = 0xff };

static struct kevent {
	int fd, leader;
	u64 count, period, left;
	int limit;
	bool on;
} kernel[EVENTS];
static size_t nkernel;

static struct {
	struct ovfl_record s;
	struct { u64 value, id; } v[EVENTS];
} records[RECORDS];
static size_t nrecords, taken;
static bool loses, lost; /* the ring is full, and records were lost */
static bool refuses;     /* a pinned group gets no hardware counter */
static bool floods;      /* records arrive faster than they are read */
static int unmaps;

static struct kevent *kevent_of(int fd)
{
	for (size_t i = 0; i < nkernel; i++)
		if (kernel[i].fd == fd)
			return &kernel[i];
	return NULL;
}

int gp_open(struct gp_event *e, int pid, int cpu, int group)
{
	int fd = eventfd(0, 0);

	(void)pid;
	(void)cpu;
	/* an entry of a closed descriptor with the same number */
	for (size_t i = 0; i < nkernel; i++)
		if (kernel[i].fd == fd)
			kernel[i] = kernel[--nkernel];
	if (e->attr[1] == 0x77) /* attr[1] is config */
		return -EACCES;
	kernel[nkernel++] = (struct kevent){ .fd = fd, .leader = group < 0 ? fd : group, .period = e->attr[2], .left = e->attr[2] };
	return fd;
}

int gp_enable(int fd)
{
	kevent_of(fd)->on = true;
	return 0;
}

int gp_disable(int fd)
{
	kevent_of(fd)->on = false;
	return 0;
}

int gp_refresh(int fd, int n)
{
	kevent_of(fd)->limit += n;
	return gp_enable(fd);
}

int gp_period(int fd, uint64_t period)
{
	struct kevent *e = kevent_of(fd);

	check(!e->on || !kevent_of(e->leader)->on || period == PERIOD_MAX,
	      "a period is changed only while nothing counts");
	e->period = e->left = period;
	return 0;
}

int gp_output(int fd, int ring_fd)
{
	return fd == ring_fd ? -EINVAL : 0;
}

int gp_id(int fd, uint64_t *id)
{
	*id = (u64)fd + 1000;
	return 0;
}

int gp_read(int fd, uint64_t read_format, struct gp_count *n, int cap)
{
	int k = 0;

	(void)read_format;
	if (refuses)
		return 0;
	for (size_t i = 0; i < nkernel && k < cap; i++)
		if (kernel[i].leader == fd)
			n[k++] = (struct gp_count){ .value = kernel[i].count, .id = (u64)kernel[i].fd + 1000 };
	return k;
}

int gp_map(struct gp_ring *r, int fd, uint32_t pages)
{
	*r = (struct gp_ring){ .page = records, .size = sizeof(records), .fd = fd };
	return pages ? 0 : -EINVAL;
}

int gp_unmap(struct gp_ring *r)
{
	unmaps++;
	r->page = NULL;
	return 0;
}

long gp_next(struct gp_ring *r, void *b, size_t cap)
{
	(void)r;
	if (taken == nrecords)
		return 0;
	memcpy(b, &records[taken], sizeof(records[0]) < cap ? sizeof(records[0]) : cap);
	taken += !floods;
	return (long)sizeof(records[0]);
}

static void event_put(const struct kevent *e, int named)
{
	struct gp_count n[EVENTS];
	int k = gp_read(e->leader, 0, n, EVENTS);

	if (taken == nrecords)
		taken = nrecords = 0;
	lost = lost || loses;
	if (loses || nrecords + 1 >= RECORDS)
		return;
	if (lost)
		records[nrecords++].s = (struct ovfl_record){ .head = { .type = PERF_RECORD_LOST, .size = sizeof(records[0]) } };
	lost = false;
	records[nrecords].s = (struct ovfl_record){ .head = { .type = PERF_RECORD_SAMPLE, .size = sizeof(records[0]) },
		.id = (u64)named + 1000, .ip = 0x1234, .pid = 7, .tid = 8, .time = 99, .cpu = 3, .nr = (u64)k };
	for (int i = 0; i < k; i++) {
		records[nrecords].v[i].value = n[i].value;
		records[nrecords].v[i].id = n[i].id;
	}
	nrecords++;
}

/* Simulates n events that every enabled counter counts. As in Linux since 6.3, counters that
 * overflow at the same event have the ID of the first one. */
static void happen(int n)
{
	while (n-- > 0) {
		int first = -1;
		bool counting[EVENTS]; /* an overflow stops counters only after this event */

		for (size_t i = 0; i < nkernel; i++) {
			counting[i] = kernel[i].on && kevent_of(kernel[i].leader)->on;
			kernel[i].count += counting[i];
		}
		for (size_t i = 0; i < nkernel; i++) {
			struct kevent *e = &kernel[i];

			if (!counting[i] || !e->period || --e->left)
				continue;
			e->left = e->period;
			first = first < 0 ? e->fd : first;
			event_put(e, first);
			if (e->limit && --e->limit == 0)
				e->on = false;
		}
	}
}

const struct pmumap *pmumap(void)
{
	static struct pmumap map;

	for (unsigned i = 0; i < 4; i++) {
		map.pmc[i] = (struct pmureg){ .kind = REG_PMC, .mask = 0xff, .dflt = 0x100 };
		map.pmd[i] = (struct pmureg){ .kind = REG_COUNTER, .npmcs = 1, .pmcs = { (u16)i } };
	}
	map.pmd[300] = (struct pmureg){ .kind = REG_VIRTUAL, .counter = "memory" };
	map.pmd[301] = (struct pmureg){ .kind = REG_VIRTUAL, .counter = "late" };
	return &map;
}

int pmumap_event(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct gp_event *e)
{
	(void)map;
	e->attr[1] = pmcs[pmd] & 0xff;
	return (pmcs[pmd] & 0xff) != OFF;
}

/* The counters that exist, and those that were found. */
static KDint nkhr = 1, nkhr_found = 1;

KDint kdGetNumberOfCountersKHR(void)
{
	return nkhr_found = nkhr;
}

const KDCounterInfoKHR *kdGetCounterInformationKHR(KDint index)
{
	static const KDCounterInfoKHR info[] = { { .name = "memory" }, { .name = "late" } };

	return index < nkhr_found ? &info[index] : NULL;
}

KDint kdActivateCountersKHR(const KDint *indexes, KDint n)
{
	return *indexes < nkhr_found && n == 1 ? 0 : -1;
}

KDint kdStartSamplingKHR(void)
{
	return 0;
}

KDint kdGetCounterValuesKHR(const KDint *indexes, KDint n, KDint64 *values)
{
	*values = 4096 + *indexes;
	return *indexes < nkhr_found && n == 1 ? 0 : -1;
}

size_t msg_v23(const struct msg *m, void *b)
{
	(void)m;
	(void)b;
	return 0;
}

/* --- helpers ---------------------------------------------------------------------------------- */

static int make(pfarg_ctx_t *c, void *arg, size_t n)
{
	lib_enter();
	ctx_new(); /* the events of closed contexts are released */
	ctx_leave(0);
	nkernel = nrecords = taken = 0;
	loses = lost = false;
	return pfm_create_context(c, arg, n);
}

static pfarg_pmd_t period(u16 num, u64 first, u64 next, u32 flags)
{
	return (pfarg_pmd_t){ .reg_num = num, .reg_flags = flags, .reg_value = -first, .reg_short_reset = -next,
		.reg_long_reset = -next };
}

static int go(int fd)
{
	pfarg_load_t l = { .load_pid = (u32)sys_tid() };

	return pfm_load_context(fd, &l) || pfm_start(fd, NULL);
}

static u64 value_of(int fd, u16 num, u16 set)
{
	pfarg_pmd_t p = { .reg_num = num, .reg_set = set };

	return pfm_read_pmds(fd, &p, 1) == 0 ? p.reg_value : 0xdead;
}

/* The PMDs in the next message; 0: there is no message. */
static u64 message(int fd)
{
	pfm_msg_t m = { 0 };

	return sys_recv(fd, &m, sizeof(m)) == sizeof(m) ? m.pfm_ovfl_msg.msg_ovfl_pmds[0] : 0;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void test_random(void)
{
	struct pmd p = { .short_reset = -(u64)1000, .random_mask = 0xff, .flags = PFM_REGFL_RANDOM, .seed = 1 };
	u64 low = UINT64_MAX, high = 0;
	u32 x = 1;

	for (int i = 0; i < 10000; i++)
		x = random_next(x);
	check_u64(x, 1043618065, "Park and Miller: the 10 000th number after 1");
	/* 868985321 * 16807 is 6800 * 2^31 + 2^31 - 1 */
	check_u64(random_next(868985321), 6800, "a product whose halves add up to more than 2^31 - 1");
	for (int i = 0; i < 5000; i++) {
		u64 n = -pmd_reset(&p, false);

		low = n < low ? n : low;
		high = n > high ? n : high;
	}
	check(low == 1000 && high == 1255, "random periods cover the range from p to p + mask exactly");
	p.random_mask = (u64)0xf << 40;
	check((-pmd_reset(&p, false) - 1000) >> 40 <= 0xf, "a random mask of more than 31 bits");
	check_u64(pmd_period(-(u64)5), 5, "the period is the distance to the overflow");
	check_u64(pmd_period(5), INT64_MAX, "far from an overflow: the period is the longest possible one");
	check_u64(pmd_period((u64)1 << 63), INT64_MAX,
	          "a period that is too long for the kernel is the longest possible one");
	check_u64(pmd_period(((u64)1 << 63) + 1), INT64_MAX, "the longest period");
}

static void test_set_order(void)
{
	static const u16 ids[] = { 9, 65535, 3, 0, 4 };
	struct ctx c = { .state = ST_UNLOADED };
	u16 was = 0;
	bool sorted = true;

	for (size_t i = 0; i < LEN(ids); i++)
		ctx_add_set(&c, ids[i]);
	for (struct set *s = c.sets->next; s; was = s->id, s = s->next)
		sorted = sorted && s->id > was;
	check(sorted && c.sets->id == 0, "event sets are sorted by ID");
	check(set_next(&c, ctx_set(&c, 65535)) == c.sets && set_next(&c, c.sets)->id == 3,
	      "event sets follow each other in round-robin order");
	c.sets->flags = PFM_SETFL_EXPL_NEXT;
	c.sets->id_next = 9;
	check_u64(set_next(&c, c.sets)->id, 9, "an explicit next event set");
	check(ctx_add_set(&c, 9) == ctx_set(&c, 9), "an ID belongs to one event set");
	while (c.sets)
		ctx_del_set(&c, c.sets);
}

static void test_notify(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmd_t p[2] = { period(1, 10, 10, PFM_REGFL_OVFL_NOTIFY), { .reg_num = 0, .reg_value = 5 } };

	check(pfm_write_pmds(fd, p, 2) == 0 && go(fd) == 0, "notify: the context runs");
	happen(9);
	check_u64(value_of(fd, 1, 0), -(u64)1, "notify: the value one event before the overflow");
	check_u64(message(fd), 0, "notify: no message before the overflow");
	happen(100);
	check_u64(value_of(fd, 0, 0), 15, "notify: the kernel stops all counters at the overflow");
	check_u64(message(fd), 2, "notify: the message contains the PMD that overflowed");
	check_u64(message(fd), 0, "notify: there is only one message");
	check(pfm_start(fd, NULL) == -1 && errno == EINVAL, "notify: pfm_start fails while the context is masked");
	check(pfm_restart(fd) == 0, "notify: pfm_restart succeeds");
	check(pfm_restart(fd) == -1 && errno == EBUSY, "notify: a second pfm_restart fails");
	check_u64(value_of(fd, 1, 0), -(u64)10, "notify: pfm_restart sets the PMD to its long reset value");
	happen(7);
	check(value_of(fd, 1, 0) == -(u64)3 && value_of(fd, 0, 0) == 22, "notify: after pfm_restart both PMDs count");
	pfm_stop(fd);
	happen(50);
	check_u64(value_of(fd, 0, 0), 22, "notify: a stopped context does not count");
	pfm_start(fd, NULL);
	happen(3);
	check(value_of(fd, 0, 0) == 25 && message(fd) == 2, "notify: a stop does not change the rest of a period");
	close(fd);
}

/* Two PMDs overflow at the same event: one message contains both, and no overflow is lost. */
static void test_together(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmd_t p[2] = { period(0, 10, 10, PFM_REGFL_OVFL_NOTIFY), period(1, 5, 5, PFM_REGFL_OVFL_NOTIFY) };

	p[1].reg_value = p[0].reg_value;
	pfm_write_pmds(fd, p, 2);
	go(fd);
	happen(10);
	value_of(fd, 0, 0);
	check_u64(message(fd), 3, "two PMDs that overflow at the same event: one message contains both");
	pfm_restart(fd);
	check(value_of(fd, 0, 0) == -(u64)10 && value_of(fd, 1, 0) == -(u64)5, "two PMDs: pfm_restart resets both");
	check(nkernel == 2 && kernel[0].limit == 1 && kernel[1].limit == 1,
	      "two PMDs: the kernel stops both at their next overflow");
	happen(5);
	value_of(fd, 0, 0);
	check_u64(message(fd), 2, "two PMDs: the one with the shorter period overflows first");
	pfm_restart(fd);
	check(value_of(fd, 0, 0) == -(u64)5, "two PMDs: pfm_restart does not reset the other one");
	happen(5);
	value_of(fd, 0, 0);
	check_u64(message(fd), 3, "two PMDs: later both overflow at the same event again");
	close(fd);
}

static volatile sig_atomic_t signals;

static void count_signal(int sig)
{
	(void)sig;
	signals++;
}

/* The signal of a context with PFM_FL_OVFL_NO_MSG comes without a message, and at each overflow. */
static void test_no_msg(void)
{
	pfarg_ctx_t ctx = { .ctx_flags = PFM_FL_OVFL_NO_MSG };
	int fd = make(&ctx, NULL, 0), copy = dup(fd);
	pfarg_pmd_t p = period(0, 10, 10, PFM_REGFL_OVFL_NOTIFY);

	signal(SIGIO, count_signal);
	fcntl(fd, F_SETFL, O_ASYNC);
	fcntl(fd, F_SETOWN, getpid());
	pfm_write_pmds(fd, &p, 1);
	go(fd);
	for (int i = 1; i <= 3; i++) {
		happen(12);
		check(value_of(fd, 0, 0) == 0 && signals == i && message(fd) == 0,
		      "PFM_FL_OVFL_NO_MSG: an overflow masks, and sends a signal without a message");
		check(pfm_restart(fd) == 0, "PFM_FL_OVFL_NO_MSG: the signal's handler can restart");
	}
	close(fd);
	happen(12);
	check(value_of(copy, 0, 0) == 0 && signals == 4 && message(copy) == 0,
	      "PFM_FL_OVFL_NO_MSG: so does a duplicate after the descriptor was closed");
	signal(SIGIO, SIG_IGN);
	close(copy);
}

/* A PMD that is written while its context is loaded keeps its counter, if the counter can have the
 * new period. */
static void test_write_loaded(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmd_t p[2] = { period(0, 10, 10, PFM_REGFL_OVFL_NOTIFY), { .reg_num = 1 } };
	pfarg_pmc_t c = { .reg_num = 0, .reg_value = 1 };
	int was;

	pfm_write_pmds(fd, p, 2);
	go(fd);
	was = kernel[0].fd;
	happen(10);
	value_of(fd, 0, 0);
	p[0] = period(0, 7, 7, PFM_REGFL_OVFL_NOTIFY);
	check(message(fd) == 1 && pfm_write_pmds(fd, p, 1) == 0 && pfm_restart(fd) == 0,
	      "write while masked: the period is replaced");
	check(nkernel == 2 && kernel[0].fd == was, "write while masked: the counters stay open");
	happen(6);
	check(value_of(fd, 0, 0) == -(u64)1 && value_of(fd, 1, 0) == 16, "write while masked: the PMDs count");
	happen(1);
	check(value_of(fd, 0, 0) == 0 && message(fd) == 1, "write while masked: the new period ends");
	pfm_restart(fd);
	p[1].reg_value = 100;
	check(pfm_write_pmds(fd, &p[1], 1) == 0 && kernel[0].fd == was, "write while counting: the counters stay open");
	happen(3);
	check(value_of(fd, 1, 0) == 103 && value_of(fd, 0, 0) == -(u64)4, "write while counting: the PMDs count");
	check(pfm_write_pmcs(fd, &c, 1) == 0, "a PMC is written");
	happen(3);
	check(value_of(fd, 1, 0) == 106 && value_of(fd, 0, 0) == -(u64)1, "new counters continue");
	close(fd);
}

static void test_silent(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmd_t p[2] = { period(0, 10, 10, 0), { .reg_num = 1 } };

	p[0].reg_reset_pmds[0] = 2;
	pfm_write_pmds(fd, p, 2);
	go(fd);
	happen(10);
	happen(4);
	check(value_of(fd, 1, 0) == 4,
	      "reg_reset_pmds: the PMD is reset at the overflow, even if the overflow is read later");
	check(value_of(fd, 0, 0) == -(u64)6, "without notification the PMD starts its next period at the overflow");
	loses = true;
	happen(50);
	loses = false;
	happen(10);
	value_of(fd, 0, 0);
	check(value_of(fd, 0, 0) == -(u64)6, "after overflows with lost records the value is right");
	happen(5);
	kernel[0].left = INT32_MAX;
	/* the interrupt is late, and the kernel begins the next period at the interrupt */
	happen(24);
	event_put(&kernel[0], kernel[0].fd);
	kernel[0].left = 10;
	happen(3);
	check(value_of(fd, 0, 0) == -(u64)7, "after an interrupt that is several periods late the value is right");
	close(fd);
}

static void test_default_format(void)
{
	enum { ENTRY = sizeof(pfm_dfl_smpl_entry_t) + 8 };
	pfarg_ctx_t ctx = { .ctx_smpl_buf_id = PFM_DFL_SMPL_UUID };
	pfm_dfl_smpl_arg_t arg = { .buf_size = sizeof(pfm_dfl_smpl_hdr_t) + entry_max(5) + 3 * ENTRY - 1 };
	int fd = make(&ctx, &arg, sizeof(arg));
	pfarg_pmd_t p[2] = { period(0, 10, 20, PFM_REGFL_OVFL_NOTIFY), { .reg_num = 1 } };
	const pfm_dfl_smpl_hdr_t *h = pfm_mmap(NULL, ctx.ctx_smpl_buf_size, PROT_READ, MAP_PRIVATE, fd, 0);
	const pfm_dfl_smpl_entry_t *e = (const void *)(h + 1), *second;
	u64 body;

	if (!check(h != MAP_FAILED, "default format: the buffer is mapped"))
		return;
	p[0].reg_smpl_pmds[0] = 2;
	p[0].reg_reset_pmds[0] = 2;
	pfm_write_pmds(fd, p, 2);
	go(fd);
	happen(10);
	value_of(fd, 0, 0);
	happen(20);
	value_of(fd, 0, 0);
	memcpy(&body, e + 1, sizeof(body));
	check(h->hdr_count == 2 && h->hdr_cur_offs == sizeof(*h) + 2 * ENTRY, "default format: two entries");
	check(e->pid == 8 && e->tgid == 7 && e->ovfl_pmd == 0 && e->ip == 0x1234 && e->tstamp == 99 && e->cpu == 3 && e->set == 0,
		"default format: the fields of an entry");
	check(e->last_reset_val == -(u64)10 && body == 10,
	      "default format: the first entry has the first value, and the value of the other PMD");
	second = (const void *)((const char *)e + ENTRY);
	memcpy(&body, second + 1, sizeof(body));
	check(second->last_reset_val == -(u64)20 && body == 20,
	      "default format: the second entry has the short reset value, and the other PMD was reset");
	check_u64(message(fd), 0, "default format: no message before the buffer is full");
	happen(25);
	value_of(fd, 0, 0);
	check(h->hdr_count == 3 && h->hdr_overflows == 1 && message(fd) == 1,
	      "default format: a message when the buffer is full");
	happen(100);
	check(h->hdr_count == 3 && value_of(fd, 0, 0) == 0,
	      "default format: counting is masked from the overflow on, not from the time it is read");
	pfm_restart(fd);
	check(h->hdr_count == 0 && h->hdr_cur_offs == sizeof(*h) && value_of(fd, 0, 0) == -(u64)20,
	      "default format: pfm_restart empties the buffer");
	arg.buf_size = 16;
	check(pfm_create_context(&ctx, &arg, sizeof(arg)) == -1 && errno == EINVAL,
	      "default format: a buffer without space for one entry is refused");
	close(fd);
}

static void test_overlap(void)
{
	pfarg_ctx_t ctx = { .ctx_smpl_buf_id = PFM_HIST_SMPL_UUID };
	pfm_hist_smpl_arg_t arg = { .buf_size = 4096 };
	int fd = make(&ctx, &arg, sizeof(arg));
	pfarg_pmd_t p[2] = { period(0, 30, 30, 0), period(1, 50, 50, 0) };
	const pfm_hist_smpl_hdr_t *h = pfm_mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	const pfm_hist_smpl_entry_t *e = (const void *)(h + 1);
	u64 found[2] = { 0, 0 };

	pfm_write_pmds(fd, p, 2);
	go(fd);
	happen(1505);
	value_of(fd, 0, 0);
	for (u64 i = 0; i < h->hdr_entries; i++)
		if (e[i].count)
			found[e[i].ovfl_pmd & 1] += e[i].count;
	check(found[0] == 50 && found[1] == 30, "overflows at the same event are attributed to their own PMD");
	check(h->hdr_count == 80 && h->hdr_used == 2, "histogram: the entries have two different keys");
	close(fd);
}

static void test_nway(void)
{
	pfarg_ctx_t ctx = { .ctx_smpl_buf_id = PFM_NWAY_SMPL_UUID };
	pfm_nway_smpl_arg_t arg = { .buf_size = sizeof(pfm_nway_smpl_hdr_t) + 2 * (sizeof(pfm_dfl_smpl_hdr_t) + 128), .buf_parts = 2 };
	int fd = make(&ctx, &arg, sizeof(arg));
	pfarg_pmd_t p = period(0, 1, 1, PFM_REGFL_OVFL_NOTIFY);
	pfm_nway_smpl_hdr_t *h = pfm_mmap(NULL, ctx.ctx_smpl_buf_size, PROT_READ, MAP_SHARED, fd, 0);

	if (!check(h != MAP_FAILED, "n-way: the buffer is mapped"))
		return;
	pfm_write_pmds(fd, &p, 1);
	go(fd);
	happen(2);
	value_of(fd, 0, 0);
	check(h->hdr_filled == 1 && PFM_NWAY_PART(h, 0)->hdr_count == 2 && message(fd) == 1,
	      "n-way: a message when a part is full");
	happen(1);
	value_of(fd, 0, 0);
	check(PFM_NWAY_PART(h, 1)->hdr_count == 1, "n-way: sampling continues in the next part");
	check(pfm_restart(fd) == 0 && h->hdr_read == 1 && PFM_NWAY_PART(h, 0)->hdr_count == 0,
	      "n-way: pfm_restart returns the full part");
	check(pfm_restart(fd) == -1 && errno == EBUSY, "n-way: pfm_restart fails when no part is full");
	happen(3);
	value_of(fd, 0, 0);
	check(h->hdr_filled == 3 && h->hdr_overflows == 1, "n-way: all parts are full");
	happen(9);
	check(value_of(fd, 0, 0) == 0 && pfm_restart(fd) == 0 && value_of(fd, 0, 0) == -(u64)1,
	      "n-way: counting is masked only when all parts are full");
	close(fd);
}

/* The program may unload a context whose buffer is full, and load it again. */
static void test_full_again(void)
{
	enum { PART = sizeof(pfm_dfl_smpl_hdr_t) + 2 * sizeof(pfm_dfl_smpl_entry_t) + 6 * 8 };
	pfarg_ctx_t dfl = { .ctx_smpl_buf_id = PFM_DFL_SMPL_UUID }, nway = { .ctx_smpl_buf_id = PFM_NWAY_SMPL_UUID };
	pfm_dfl_smpl_arg_t one = { .buf_size = PART };
	pfm_nway_smpl_arg_t two = { .buf_size = sizeof(pfm_nway_smpl_hdr_t) + 2 * PART, .buf_parts = 2 };
	int fds_[2] = { make(&dfl, &one, sizeof(one)), make(&nway, &two, sizeof(two)) };
	const pfm_dfl_smpl_hdr_t *h = pfm_mmap(NULL, dfl.ctx_smpl_buf_size, PROT_READ, MAP_SHARED, fds_[0], 0);
	pfm_nway_smpl_hdr_t *n = pfm_mmap(NULL, nway.ctx_smpl_buf_size, PROT_READ, MAP_SHARED, fds_[1], 0);

	for (int i = 0; i < 2; i++) {
		pfarg_pmd_t p = period(0, 1, 1, PFM_REGFL_OVFL_NOTIFY);

		for (int times = 0; times < 3; times++) {
			pfm_write_pmds(fds_[i], &p, 1);
			go(fds_[i]);
			happen(9);
			value_of(fds_[i], 0, 0);
			check(message(fds_[i]) == 1,
			      "a message when the buffer is full, also after the context is loaded again");
			pfm_unload_context(fds_[i]);
		}
	}
	check(h->hdr_count == 2 && h->hdr_cur_offs == PART - 6 * 8 && h->hdr_overflows == 3,
	      "a full buffer: entries that do not fit are dropped");
	check(n->hdr_filled == 2 && n->hdr_overflows == 3 && PFM_NWAY_PART(n, 0)->hdr_count == 2 &&
	      PFM_NWAY_PART(n, 1)->hdr_count == 2, "n-way, all parts full: entries that do not fit are dropped");
	close(fds_[0]);
	close(fds_[1]);
}

static void test_switch(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_setdesc_t d[2] = { { .set_flags = PFM_SETFL_OVFL_SWITCH }, { .set_id = 5, .set_flags = PFM_SETFL_OVFL_SWITCH } };
	pfarg_pmd_t p[2] = { period(0, 10, 10, 0), { .reg_set = 5 } };
	pfarg_setinfo_t info = { .set_id = 5 };

	p[0].reg_ovfl_switch_cnt = 3;
	check(pfm_create_evtsets(fd, d, 2) == 0 && pfm_write_pmds(fd, p, 2) == 0 && go(fd) == 0,
	      "switch: setup of two event sets");
	loses = true;
	happen(10);
	loses = false;
	happen(19);
	check(value_of(fd, 0, 5) == 0 && value_of(fd, 0, 0) == -(u64)1,
	      "switch: two overflows do not switch, and lose no events although one record was lost");
	happen(6);
	check(value_of(fd, 0, 5) == 0, "switch: the third overflow stops the event set");
	happen(6);
	check(value_of(fd, 0, 5) == 6 && value_of(fd, 0, 0) == -(u64)10, "switch: the next event set counts");
	check(pfm_getinfo_evtsets(fd, &info, 1) == 0 && info.set_runs == 1, "switch: the second event set ran once");
	check(pfm_delete_evtsets(fd, d, 1) == -1 && errno == EBUSY,
	      "switch: an event set cannot be deleted while the context is loaded");
	pfm_unload_context(fd);
	check(pfm_delete_evtsets(fd, d, 1) == -1 && d[0].set_flags & PFM_REG_RETFL_EINVAL,
	      "switch: event set 0 cannot be deleted");
	check(pfm_delete_evtsets(fd, d + 1, 1) == 0 && value_of(fd, 0, 5) == 0xdead,
	      "switch: another event set can be deleted");
	close(fd);
}

static void test_timeout(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_setdesc_t d[2] = { { .set_id = 0, .set_id_next = 7, .set_flags = PFM_SETFL_EXPL_NEXT },
				 { .set_id = 7, .set_flags = PFM_SETFL_TIME_SWITCH, .set_timeout = { .tv_sec = 100 } } };
	pfarg_setinfo_t info[2] = { { .set_id = 0 }, { .set_id = 7 } };
	pfarg_load_t l = { .load_pid = (u32)sys_tid(), .load_set = 7 };

	check(pfm_create_evtsets(fd, d, 2) == 0 && pfm_load_context(fd, &l) == 0 && pfm_start(fd, NULL) == 0,
	      "timeout: setup of an event set with a timeout");
	check(pfm_stop(fd) == 0 && pfm_getinfo_evtsets(fd, info, 2) == 0 && info[1].set_timeout.tv_sec == 99 &&
	      info[0].set_timeout.tv_sec == 0, "timeout: a stopped context reports the remaining time");
	pfm_unload_context(fd);
	check(pfm_getinfo_evtsets(fd, info, 2) == 0 && info[1].set_timeout.tv_sec == 100,
	      "timeout: an unloaded context reports the whole time");
	check(pfm_delete_evtsets(fd, d + 1, 1) == 0 && pfm_getinfo_evtsets(fd, info, 1) == 0 && info[0].set_timeout.tv_sec == 0 &&
	      info[0].set_timeout.tv_nsec == 0, "timeout: after a set is deleted, no other set has its timeout");
	close(fd);
}

static void test_entries(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmc_t c[3] = { { .reg_num = 0, .reg_value = 0xffff0012 }, { .reg_num = 9 }, { .reg_num = 1 } };
	pfarg_pmd_t p = { .reg_num = 300 };
	pfarg_load_t l = { .load_pid = (u32)sys_tid() };

	check(pfm_write_pmcs(fd, c, 3) == -1 && errno == EINVAL, "pfm_write_pmcs fails if an entry is wrong");
	check(c[0].reg_flags == 0 && c[1].reg_flags == PFM_REG_RETFL_EINVAL && c[2].reg_flags == 0,
	      "only the wrong entry has an error flag");
	check_u64(ctx_find(fd)->sets->pmcs[0], 0x112,
	          "the entries before the wrong one are applied; bits outside the mask are kept");
	check(pfm_write_pmds(fd, &p, 1) == -1, "a virtual PMD cannot be written");
	check_u64(value_of(fd, 300, 0), 4096, "a virtual PMD can be read");
	nkhr = 2;
	check_u64(value_of(fd, 301, 0), 4097, "a virtual PMD finds a counter that is new");
	check(value_of(fd, 2, 0) == 0xdead, "an unused PMD cannot be read");
	p = (pfarg_pmd_t){ .reg_num = 0, .reg_flags = PFM_REGFL_NO_EMUL64 };
	check(pfm_write_pmds(fd, &p, 1) == -1 && p.reg_flags & PFM_REG_RETFL_EINVAL, "PFM_REGFL_NO_EMUL64 is refused");
	p.reg_flags = 0;
	p.reg_smpl_pmds[1] = 1;
	check(pfm_write_pmds(fd, &p, 1) == -1 && p.reg_flags == PFM_REG_RETFL_EINVAL,
	      "a bit vector that contains an unknown register is refused");
	p.reg_smpl_pmds[1] = 0;
	check(pfm_write_pmds(fd, &p, 1) == 0, "the same PMD without the unknown register is accepted");
	c[0].reg_value = 0x77;
	pfm_write_pmcs(fd, c, 1);
	check(pfm_load_context(fd, &l) == -1 && errno == EPERM,
	      "pfm_load_context fails for an event that the kernel refuses");
	c[0].reg_value = OFF;
	pfm_write_pmcs(fd, c, 1);
	check(pfm_load_context(fd, &l) == 0 && value_of(fd, 0, 0) == 0,
	      "an event that its PMC switches off is not an error and counts nothing");
	c[0].reg_value = 0x77;
	check(pfm_write_pmcs(fd, c, 1) == -1 && errno == EPERM,
	      "pfm_write_pmcs on a loaded context fails for an event that the kernel refuses");
	check(value_of(fd, 0, 0) == 0xdead, "its PMD cannot be read then");
	c[0].reg_value = 0;
	check(pfm_write_pmcs(fd, c, 1) == 0 && pfm_write_pmds(fd, &p, 1) == 0 && value_of(fd, 0, 0) == 0,
	      "its PMD can be read after both registers are written");
	close(fd);
}

/* A counter that starts just below zero loses no events when it wraps. */
static void test_wrap(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmd_t p = { .reg_num = 0, .reg_value = -(u64)3 };

	pfm_write_pmds(fd, &p, 1);
	go(fd);
	happen(10);
	check_u64(value_of(fd, 0, 0), 7, "a counter that wraps at zero keeps the events after the wrap");
	happen(5);
	check_u64(value_of(fd, 0, 0), 12, "a counter that has wrapped continues");
	close(fd);
}

static void test_flood(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmd_t p = period(0, 10, 10, 0);

	pfm_write_pmds(fd, &p, 1);
	go(fd);
	happen(10);
	alarm(60);
	floods = true;
	check(value_of(fd, 0, 0) != 0xdead && pfm_stop(fd) == 0,
	      "calls end although records arrive faster than they are read");
	floods = false;
	close(fd);
}

static void test_missed(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmd_t p = { .reg_num = 0, .reg_value = 5 };

	pfm_write_pmds(fd, &p, 1);
	go(fd);
	happen(2);
	refuses = true;
	pfm_stop(fd);
	refuses = false;
	check(pfm_read_pmds(fd, &p, 1) == -1 && p.reg_flags == PFM_REG_RETFL_NOTAVAIL,
	      "a PMD that got no hardware counter cannot be read, also after a stop");
	p = (pfarg_pmd_t){ .reg_num = 0, .reg_value = 5 };
	check(pfm_write_pmds(fd, &p, 1) == 0 && value_of(fd, 0, 0) == 5, "such a PMD can be read after it is written");
	close(fd);
}

static void test_fork(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0), status = -1;
	pfarg_pmd_t p = period(0, 10, 10, 0);
	pid_t pid;

	pfm_write_pmds(fd, &p, 1);
	go(fd);
	unmaps = 0;
	pid = fork();
	if (pid == 0)
		_exit(!(pfm_stop(fd) == -1 && errno == EBADF && unmaps == 0));
	waitpid(pid, &status, 0);
	check(status == 0,
	      "a child process has no context, and does not unmap memory at the address of its parent's ring");
	happen(3);
	check_u64(value_of(fd, 0, 0), -(u64)7, "the context of the parent process continues");
	close(fd);
}

/* An overflow that masks is noticed only when the set is to be left. */
static void test_start_masked(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_setdesc_t d = { .set_id = 1 };
	pfarg_pmd_t p = period(0, 10, 10, PFM_REGFL_OVFL_NOTIFY);
	pfarg_start_t to = { .start_set = 1 };

	pfm_create_evtsets(fd, &d, 1);
	pfm_write_pmds(fd, &p, 1);
	go(fd);
	happen(12);
	check(pfm_start(fd, &to) == -1 && errno == EINVAL && message(fd) == 1,
	      "pfm_start with another set fails while the context is masked");
	check(pfm_restart(fd) == 0 && value_of(fd, 0, 0) == -(u64)10, "pfm_restart still resets the PMD");
	check(pfm_create_evtsets(fd, &d, 1) == -1 && errno == EBUSY && d.set_flags == 0,
	      "pfm_create_evtsets fails while the context is loaded, and the entry has no error flag");
	close(fd);
}

static int answer;

static int answers(u32 flags, u16 npmds, const void *arg)
{
	(void)flags;
	(void)npmds;
	(void)arg;
	return answer;
}

static int handles(void *buf, pfm_ovfl_arg_t *arg, uint64_t ip, uint64_t tstamp)
{
	(void)buf;
	(void)arg;
	(void)ip;
	(void)tstamp;
	return 0;
}

static void test_callbacks(void)
{
	static const struct pfm_smpl_fmt fmt = { .fmt_name = "own", .fmt_uuid = { 1 }, .fmt_validate = answers, .fmt_handler = handles };
	static const int wrong[] = { 5, INT32_MAX, -4096, INT32_MIN };
	pfarg_ctx_t ctx = { .ctx_smpl_buf_id = { 1 } };
	int fd;

	check(pfm_register_fmt(&fmt) == 0, "a sampling format is registered");
	for (size_t i = 0; i < LEN(wrong); i++) {
		answer = wrong[i];
		check(make(&ctx, NULL, 0) == -1 && errno == EINVAL, "a callback that returns %d: EINVAL", wrong[i]);
	}
	answer = -EIO;
	check(make(&ctx, NULL, 0) == -1 && errno == EIO, "a callback that returns an error code: that error");
	answer = 0;
	fd = make(&ctx, NULL, 0);
	check(fd >= 0 && pfm_unregister_fmt(fmt.fmt_uuid) == -1 && errno == EBUSY,
	      "a format in use cannot be unregistered");
	close(fd);
	check(pfm_unregister_fmt(fmt.fmt_uuid) == 0, "a format can be unregistered after its context is closed");
}

static int inits, exits;

static int begins(void *buf, u32 flags, u16 npmds, const void *arg)
{
	inits++;
	return answers(flags, npmds, arg) | (buf ? -EFAULT : 0);
}

static int ends(void *buf)
{
	exits++;
	return buf ? -EFAULT : 0;
}

/* fmt_exit runs exactly if fmt_init succeeded, whatever fails later; and no descriptor stays
 * open. */
static void test_exit(void)
{
	static const struct pfm_smpl_fmt fmt = { .fmt_name = "own", .fmt_uuid = { 2 }, .fmt_init = begins, .fmt_handler = handles,
						 .fmt_exit = ends };
	pfarg_ctx_t ctx = { .ctx_smpl_buf_id = { 2 } };
	struct rlimit most, few;
	int fd = make(&(pfarg_ctx_t){ 0 }, NULL, 0), next = dup(0);

	close(next);
	pfm_register_fmt(&fmt);
	getrlimit(RLIMIT_NOFILE, &most);
	few = most;
	few.rlim_cur = 3;
	setrlimit(RLIMIT_NOFILE, &few);
	check(make(&ctx, NULL, 0) == -1 && errno == EMFILE && inits == exits,
	      "without a free descriptor fmt_exit runs after each fmt_init");
	setrlimit(RLIMIT_NOFILE, &most);
	answer = -EIO;
	inits = exits = 0;
	check(make(&ctx, NULL, 0) == -1 && errno == EIO && inits == 1 && exits == 0,
	      "fmt_exit does not run after fmt_init has failed");
	check(dup(0) == next, "no descriptor stays open after fmt_init has failed");
	close(next);
	answer = 0;
	close(make(&ctx, NULL, 0));
	check(pfm_unregister_fmt(fmt.fmt_uuid) == 0 && inits == 2 && exits == 1, "close runs fmt_exit");
	close(fd);
}

/* All contexts of the table are in use. */
static void test_full_contexts(void)
{
	u32 most = ctxs.table.most, ready = ctxs.table.ready, n;
	const struct table *full;
	pfarg_ctx_t ctx = { 0 };
	int last;

	while (table_full(&n))
		;
	ctxs.table.most = ctxs.table.ready = ctxs.n;
	last = pfm_create_context(&ctx, NULL, 0);
	check(last >= 0 && ctx_find(last) == &ctxs.rows[ctxs.n - 1], "full table of contexts: the last one is right");
	check(pfm_create_context(&ctx, NULL, 0) == -1 && errno == ENOMEM, "full table of contexts: one more is refused");
	close(last);
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "contexts") == 0, "full table of contexts: its name");
	ctxs.table.most = most;
	ctxs.table.ready = ready;
}

/* Limits a table to the rows that it has now, and returns their number. */
static u32 limit_table(struct table *t)
{
	return t->most = t->ready;
}

/* Event sets, PMDs and formats: the last one that fits is right, one more is refused. */
static void test_full_pools(void)
{
	static struct pfm_smpl_fmt all[MAX_FMTS];
	static char names[MAX_FMTS][8];
	struct ctx c = { .state = ST_UNLOADED };
	const struct table *full;
	u32 n, nfmts = 0;
	u32 nsets, npmds;
	struct set *s;

	while (table_full(&n))
		;
	nsets = limit_table(&pool_tables.sets);
	for (u32 i = 0; i < nsets - 1; i++)
		pools.sets[i].used = true;
	pools.sets[nsets - 1].used = false;
	s = ctx_add_set(&c, 5);
	check(s == &pools.sets[nsets - 1] && ctx_set(&c, 5) == s && !ctx_add_set(&c, 6) && !ctx_set(&c, 6),
	      "full table of event sets: one more is refused");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "event sets") == 0, "full table of event sets: its name");
	npmds = limit_table(&pool_tables.pmds);
	for (u32 i = 0; i < npmds - 1; i++)
		pools.pmds[i].used = true;
	pools.pmds[npmds - 1].used = false;
	check(set_add_pmd(s, 3) == &pools.pmds[npmds - 1] && !set_add_pmd(s, 2) && s->pmds->num == 3 && !s->pmds->next,
	      "full table of PMDs: one more is refused");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "PMDs in use") == 0, "full table of PMDs: its name");
	ctx_del_set(&c, s);
	check(ctx_add_set(&c, 7) == s && set_add_pmd(s, 4) == &pools.pmds[npmds - 1],
	      "full tables of event sets and PMDs: rows that are free again are used");
	ctx_del_set(&c, s);
	memset(pools.sets, 0, nsets * sizeof(*pools.sets));
	memset(pools.pmds, 0, npmds * sizeof(*pools.pmds));
	pools.sets_used = pools.pmds_used = 0;
	pool_tables.sets.most = MAX_EVTSETS;
	pool_tables.pmds.most = MAX_PMDS_USED;
	for (u8 i = 0; i < MAX_FMTS; i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", i);
		all[i] = (struct pfm_smpl_fmt){ .fmt_name = names[i], .fmt_uuid = { 100, i }, .fmt_handler = handles };
	}
	while (nfmts < MAX_FMTS && pfm_register_fmt(&all[nfmts]) == 0)
		nfmts++;
	check(nfmts == MAX_FMTS - 3 && errno == ENOSPC && fmt_by_name(names[nfmts - 1]) == &all[nfmts - 1] && !fmt_by_name(names[nfmts]),
	      "full table of formats: one more is refused");
	while (nfmts)
		pfm_unregister_fmt(all[--nfmts].fmt_uuid);
	check(!fmt_by_name(names[0]) && pfm_register_fmt(&all[0]) == 0 && pfm_unregister_fmt(all[0].fmt_uuid) == 0,
	      "after that there is room again");
}

static void test_pools(void)
{
	enum { MANY = 400 }; /* more than CPUs of most machines */
	static int fds_[MANY + 1];
	struct rlimit most, few;
	pfarg_ctx_t ctx = { 0 };
	int n = 0, last;

	while (n < MANY && (fds_[n] = make(&ctx, NULL, 0)) >= 0)
		n++;
	check(n == MANY, "many contexts can be created");
	last = fds_[n - 1];
	check(go(last) == 0 && value_of(last, 0, 0) == 0xdead, "the last context can be used");
	getrlimit(RLIMIT_NOFILE, &most);
	few = most;
	few.rlim_cur = (rlim_t)last + 2;
	setrlimit(RLIMIT_NOFILE, &few);
	check(make(&ctx, NULL, 0) == -1 && errno == EMFILE, "the limit of descriptors limits the contexts");
	setrlimit(RLIMIT_NOFILE, &most);
	test_full_contexts();
	while (n > 0)
		close(fds_[--n]);
	fds_[0] = make(&ctx, NULL, 0);
	check(fds_[0] >= 0, "closed contexts can be used again");
	close(fds_[0]);
}

/* An overflow after which the count has passed 2.5 periods of 100. */
static void test_restart(void)
{
	struct pmd late = { .short_reset = -(u64)100, .armed = 100, .at = 50, .value = 0, .seen = 300 };
	struct pmd some = late, other = late;

	pmd_restart(&late, false);
	check(late.at == 300 && !late.hold, "a late interrupt: the next period begins there");
	some.lost = true;
	pmd_restart(&some, false);
	check(some.at == 250 && !some.lost, "lost records: the periods since then are whole ones");
	other.armed = 70;
	pmd_restart(&other, false);
	check(other.at == 50 && other.hold && other.rearm, "another period: it is held");
}

/* The word behind a vector of registers does not belong to it. */
static void test_vector(void)
{
	static const u64 words[PMU_REGS / 64 + 1] = { [PMU_REGS / 64] = 1 };

	check(are_pmds(words), "an empty vector has no wrong register");
}

int main(void)
{
	test_random();
	test_restart();
	test_vector();
	test_set_order();
	test_notify();
	test_together();
	test_no_msg();
	test_write_loaded();
	test_silent();
	test_default_format();
	test_overlap();
	test_nway();
	test_full_again();
	test_switch();
	test_timeout();
	test_entries();
	test_wrap();
	test_flood();
	test_missed();
	test_fork();
	test_start_masked();
	test_callbacks();
	test_exit();
	test_pools();
	test_full_pools();
	return unit_end();
}
