/* t_perfmon.c - contexts, sets, overflows and formats of perfmon2 over a kernel that is played here: events come one at a time,
 * and nothing happens in between unless the test says so. SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sys/resource.h>
/* The library's thread never runs: calls do its work, and serve_once(). */
static int no_thread(pthread_t *t, const pthread_attr_t *a, void *(*run)(void *), void *arg)
{
	(void)t;
	(void)a;
	(void)run;
	(void)arg;
	return 0;
}
#define pthread_create no_thread

#include "../perfmon/perfmon.c"
#include "../perfmon/sets.c"
#include "../perfmon/sampling.c"
#include "../perfmon/formats.c"
#include "../perfmon/v22.c"

#include "unit.h"

/* --- the kernel --------------------------------------------------------------------------------------------------------- */

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
static bool loses, lost; /* the ring is full; and was */
static bool refuses;     /* a pinned group has no counter */
static bool floods;      /* records come faster than they are read */
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
	for (size_t i = 0; i < nkernel; i++) /* this number was closed */
		if (kernel[i].fd == fd)
			kernel[i] = kernel[--nkernel];
	if (e->attr[1] == 0x77) /* config */
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

	check(!e->on || !kevent_of(e->leader)->on || period == PERIOD_MAX, "a period is changed while nothing counts");
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

static void record_put(const struct kevent *e, int named)
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

/* n events, which all counters count. As Linux since 6.3 does, those that overflow at once have the first one's id. */
static void happen(int n)
{
	while (n-- > 0) {
		int first = -1;
		bool counting[EVENTS]; /* what an overflow stops, it stops behind this event */

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
			record_put(e, first);
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
	return &map;
}

int pmumap_event(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct gp_event *e)
{
	(void)map;
	e->attr[1] = pmcs[pmd] & 0xff;
	return (pmcs[pmd] & 0xff) != OFF;
}

KDint kdGetNumberOfCountersKHR(void)
{
	return 1;
}

const KDCounterInfoKHR *kdGetCounterInformationKHR(KDint index)
{
	static const KDCounterInfoKHR info = { .name = "memory" };

	return index == 0 ? &info : NULL;
}

KDint kdActivateCountersKHR(const KDint *indexes, KDint n)
{
	return *indexes == 0 && n == 1 ? 0 : -1;
}

KDint kdStartSamplingKHR(void)
{
	return 0;
}

KDint kdGetCounterValuesKHR(const KDint *indexes, KDint n, KDint64 *values)
{
	*values = 4096;
	return *indexes == 0 && n == 1 ? 0 : -1;
}

size_t msg_v23(const struct msg *m, void *b)
{
	(void)m;
	(void)b;
	return 0;
}

/* --- calls ---------------------------------------------------------------------------------------------------------------- */

static int make(pfarg_ctx_t *c, void *arg, size_t n)
{
	lib_enter();
	ctx_new(); /* contexts that were closed let their events go */
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

/* A message's PMDs; 0: there is none. */
static u64 message(int fd)
{
	pfm_msg_t m = { 0 };

	return sys_recv(fd, &m, sizeof(m)) == sizeof(m) ? m.pfm_ovfl_msg.msg_ovfl_pmds[0] : 0;
}

/* --- what is tested ---------------------------------------------------------------------------------------------------------- */

static void test_random(void)
{
	struct pmd p = { .short_reset = -(u64)1000, .random_mask = 0xff, .flags = PFM_REGFL_RANDOM, .seed = 1 };
	u64 low = UINT64_MAX, high = 0;
	u32 x = 1;

	for (int i = 0; i < 10000; i++)
		x = random_next(x);
	check_u64(x, 1043618065, "Park and Miller: the 10000th number from 1");
	for (int i = 0; i < 5000; i++) {
		u64 n = -pmd_reset(&p, false);

		low = n < low ? n : low;
		high = n > high ? n : high;
	}
	check(low == 1000 && high == 1255, "a random period is all of p to p + mask, and nothing else");
	p.random_mask = (u64)0xf << 40;
	check((-pmd_reset(&p, false) - 1000) >> 40 <= 0xf, "a mask beyond 31 bits");
	check_u64(pmd_period(-(u64)5), 5, "a period of 5");
	check_u64(pmd_period(5), INT64_MAX, "far from an overflow: as long as can be");
	check_u64(pmd_period((u64)1 << 63), INT64_MAX, "beyond what the kernel takes");
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
	check(sorted && c.sets->id == 0, "sets are in the order of their ids");
	check(set_next(&c, ctx_set(&c, 65535)) == c.sets && set_next(&c, c.sets)->id == 3, "round robin");
	c.sets->flags = PFM_SETFL_EXPL_NEXT;
	c.sets->id_next = 9;
	check_u64(set_next(&c, c.sets)->id, 9, "an explicit next set");
	check(ctx_add_set(&c, 9) == ctx_set(&c, 9), "an id is one set");
	while (c.sets)
		ctx_del_set(&c, c.sets);
}

static void test_notify(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmd_t p[2] = { period(1, 10, 10, PFM_REGFL_OVFL_NOTIFY), { .reg_num = 0, .reg_value = 5 } };

	check(pfm_write_pmds(fd, p, 2) == 0 && go(fd) == 0, "notify: it runs");
	happen(9);
	check_u64(value_of(fd, 1, 0), -(u64)1, "one below the overflow");
	check_u64(message(fd), 0, "no message");
	happen(100);
	check_u64(value_of(fd, 0, 0), 15, "the kernel stopped all at the overflow");
	check_u64(message(fd), 2, "the message names the PMD");
	check_u64(message(fd), 0, "one message");
	check(pfm_start(fd, NULL) == -1 && errno == EINVAL, "no start while masked");
	check(pfm_restart(fd) == 0, "restart");
	check(pfm_restart(fd) == -1 && errno == EBUSY, "once");
	check_u64(value_of(fd, 1, 0), -(u64)10, "the long reset");
	happen(7);
	check(value_of(fd, 1, 0) == -(u64)3 && value_of(fd, 0, 0) == 22, "both count on");
	pfm_stop(fd);
	happen(50);
	check_u64(value_of(fd, 0, 0), 22, "stopped");
	pfm_start(fd, NULL);
	happen(3);
	check(value_of(fd, 0, 0) == 25 && message(fd) == 2, "what is left of a period is left over a stop");
	close(fd);
}

/* Both at once: one message has both, and neither is lost. */
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
	check_u64(message(fd), 3, "two PMDs that overflow at once: one message");
	pfm_restart(fd);
	check(value_of(fd, 0, 0) == -(u64)10 && value_of(fd, 1, 0) == -(u64)5, "both are reset");
	check(nkernel == 2 && kernel[0].limit == 1 && kernel[1].limit == 1, "and the kernel is to stop both again");
	happen(5);
	value_of(fd, 0, 0);
	check_u64(message(fd), 2, "then the shorter one");
	pfm_restart(fd);
	check(value_of(fd, 0, 0) == -(u64)5, "which leaves the other where it was");
	happen(5);
	value_of(fd, 0, 0);
	check_u64(message(fd), 3, "so that both come again");
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
	check(value_of(fd, 1, 0) == 4, "reg_reset_pmds: it starts where the other overflowed, however late that is seen");
	check(value_of(fd, 0, 0) == -(u64)6, "without notification it starts again");
	loses = true;
	happen(50);
	loses = false;
	happen(10);
	value_of(fd, 0, 0);
	check(value_of(fd, 0, 0) == -(u64)6, "overflows whose records were lost leave no wrong value");
	happen(5);
	kernel[0].left = INT32_MAX;
	happen(24); /* the interrupt comes late, and the kernel begins a period there */
	record_put(&kernel[0], kernel[0].fd);
	kernel[0].left = 10;
	happen(3);
	check(value_of(fd, 0, 0) == -(u64)7, "an interrupt that comes periods late");
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

	if (!check(h != MAP_FAILED, "the buffer is mapped"))
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
	check(h->hdr_count == 2 && h->hdr_cur_offs == sizeof(*h) + 2 * ENTRY, "two entries");
	check(e->pid == 8 && e->tgid == 7 && e->ovfl_pmd == 0 && e->ip == 0x1234 && e->tstamp == 99 && e->cpu == 3 && e->set == 0,
		"what an entry says");
	check(e->last_reset_val == -(u64)10 && body == 10, "it had started from the first value; the other PMD's");
	second = (const void *)((const char *)e + ENTRY);
	memcpy(&body, second + 1, sizeof(body));
	check(second->last_reset_val == -(u64)20 && body == 20, "then from the short reset; the other PMD was reset");
	check_u64(message(fd), 0, "no message before it is full");
	happen(25);
	value_of(fd, 0, 0);
	check(h->hdr_count == 3 && h->hdr_overflows == 1 && message(fd) == 1, "full: a message");
	happen(100);
	check(h->hdr_count == 3 && value_of(fd, 0, 0) == 0, "masked at the overflow, not when that was seen");
	pfm_restart(fd);
	check(h->hdr_count == 0 && h->hdr_cur_offs == sizeof(*h) && value_of(fd, 0, 0) == -(u64)20, "restart empties it");
	arg.buf_size = 16;
	check(pfm_create_context(&ctx, &arg, sizeof(arg)) == -1 && errno == EINVAL, "a buffer without room for one entry");
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
	check(found[0] == 50 && found[1] == 30, "of overflows at once each is its own PMD's");
	check(h->hdr_count == 80 && h->hdr_used == 2, "histogram: two keys");
	close(fd);
}

static void test_nway(void)
{
	pfarg_ctx_t ctx = { .ctx_smpl_buf_id = PFM_NWAY_SMPL_UUID };
	pfm_nway_smpl_arg_t arg = { .buf_size = sizeof(pfm_nway_smpl_hdr_t) + 2 * (sizeof(pfm_dfl_smpl_hdr_t) + 128), .buf_parts = 2 };
	int fd = make(&ctx, &arg, sizeof(arg));
	pfarg_pmd_t p = period(0, 1, 1, PFM_REGFL_OVFL_NOTIFY);
	pfm_nway_smpl_hdr_t *h = pfm_mmap(NULL, ctx.ctx_smpl_buf_size, PROT_READ, MAP_SHARED, fd, 0);

	if (!check(h != MAP_FAILED, "n-way"))
		return;
	pfm_write_pmds(fd, &p, 1);
	go(fd);
	happen(2);
	value_of(fd, 0, 0);
	check(h->hdr_filled == 1 && PFM_NWAY_PART(h, 0)->hdr_count == 2 && message(fd) == 1, "a full part: a message");
	happen(1);
	value_of(fd, 0, 0);
	check(PFM_NWAY_PART(h, 1)->hdr_count == 1, "and sampling goes on in the next");
	check(pfm_restart(fd) == 0 && h->hdr_read == 1 && PFM_NWAY_PART(h, 0)->hdr_count == 0, "restart gives it back");
	check(pfm_restart(fd) == -1 && errno == EBUSY, "no other is full");
	happen(3);
	value_of(fd, 0, 0);
	check(h->hdr_filled == 3 && h->hdr_overflows == 1, "all are full");
	happen(9);
	check(value_of(fd, 0, 0) == 0 && pfm_restart(fd) == 0 && value_of(fd, 0, 0) == -(u64)1, "masked only then");
	close(fd);
}

/* The program may unload a context whose buffer is full, and load it again. */
static void test_full_again(void)
{
	enum { PART = sizeof(pfm_dfl_smpl_hdr_t) + 2 * sizeof(pfm_dfl_smpl_entry_t) + 5 * 8 };
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
			check(message(fds_[i]) == 1, "full, or still: a message");
			pfm_unload_context(fds_[i]);
		}
	}
	check(h->hdr_count == 2 && h->hdr_cur_offs == PART - 5 * 8 && h->hdr_overflows == 3, "what finds no room is left out");
	check(n->hdr_filled == 2 && n->hdr_overflows == 3 && PFM_NWAY_PART(n, 0)->hdr_count == 2 &&
	      PFM_NWAY_PART(n, 1)->hdr_count == 2, "n-way, too");
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
	check(pfm_create_evtsets(fd, d, 2) == 0 && pfm_write_pmds(fd, p, 2) == 0 && go(fd) == 0, "two sets");
	loses = true;
	happen(10);
	loses = false;
	happen(19);
	check(value_of(fd, 0, 5) == 0 && value_of(fd, 0, 0) == -(u64)1, "two overflows do not switch, and lose nothing, though one record was lost");
	happen(6);
	check(value_of(fd, 0, 5) == 0, "the third stops the set");
	happen(6);
	check(value_of(fd, 0, 5) == 6 && value_of(fd, 0, 0) == -(u64)10, "and the next one counts");
	check(pfm_getinfo_evtsets(fd, &info, 1) == 0 && info.set_runs == 1, "it ran once");
	check(pfm_delete_evtsets(fd, d, 1) == -1 && errno == EBUSY, "no set is deleted while loaded");
	pfm_unload_context(fd);
	check(pfm_delete_evtsets(fd, d, 1) == -1 && d[0].set_flags & PFM_REG_RETFL_EINVAL, "set 0 is always there");
	check(pfm_delete_evtsets(fd, d + 1, 1) == 0 && value_of(fd, 0, 5) == 0xdead, "others are not");
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

	check(pfm_create_evtsets(fd, d, 2) == 0 && pfm_load_context(fd, &l) == 0 && pfm_start(fd, NULL) == 0, "a set with a timeout");
	check(pfm_stop(fd) == 0 && pfm_getinfo_evtsets(fd, info, 2) == 0 && info[1].set_timeout.tv_sec == 99 &&
	      info[0].set_timeout.tv_sec == 0, "stopped: what is left of it");
	pfm_unload_context(fd);
	check(pfm_getinfo_evtsets(fd, info, 2) == 0 && info[1].set_timeout.tv_sec == 100, "unloaded: all of it");
	check(pfm_delete_evtsets(fd, d + 1, 1) == 0 && pfm_getinfo_evtsets(fd, info, 1) == 0 && info[0].set_timeout.tv_sec == 0 &&
	      info[0].set_timeout.tv_nsec == 0, "deleted: no other set has got it");
	close(fd);
}

static void test_entries(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmc_t c[3] = { { .reg_num = 0, .reg_value = 0xffff0012 }, { .reg_num = 9 }, { .reg_num = 1 } };
	pfarg_pmd_t p = { .reg_num = 300 };
	pfarg_load_t l = { .load_pid = (u32)sys_tid() };

	check(pfm_write_pmcs(fd, c, 3) == -1 && errno == EINVAL, "an entry is wrong");
	check(c[0].reg_flags == 0 && c[1].reg_flags == PFM_REG_RETFL_EINVAL && c[2].reg_flags == 0, "it alone has the flag");
	check_u64(ctx_find(fd)->sets->pmcs[0], 0x112, "those before it are done; bits outside the mask stay");
	check(pfm_write_pmds(fd, &p, 1) == -1, "a virtual PMD is not written");
	check_u64(value_of(fd, 300, 0), 4096, "but read");
	check(value_of(fd, 2, 0) == 0xdead, "a PMD that is not in use is not");
	p = (pfarg_pmd_t){ .reg_num = 0, .reg_flags = PFM_REGFL_NO_EMUL64 };
	check(pfm_write_pmds(fd, &p, 1) == -1 && p.reg_flags & PFM_REG_RETFL_EINVAL, "no raw width");
	p.reg_flags = 0;
	p.reg_smpl_pmds[1] = 1;
	check(pfm_write_pmds(fd, &p, 1) == -1 && p.reg_flags == PFM_REG_RETFL_EINVAL, "a vector of what is no register");
	p.reg_smpl_pmds[1] = 0;
	check(pfm_write_pmds(fd, &p, 1) == 0, "and without");
	c[0].reg_value = 0x77;
	pfm_write_pmcs(fd, c, 1);
	check(pfm_load_context(fd, &l) == -1 && errno == EPERM, "what the kernel refuses");
	c[0].reg_value = OFF;
	pfm_write_pmcs(fd, c, 1);
	check(pfm_load_context(fd, &l) == 0 && value_of(fd, 0, 0) == 0, "what its PMC has off is no error, and counts nothing");
	c[0].reg_value = 0x77;
	check(pfm_write_pmcs(fd, c, 1) == -1 && errno == EPERM, "nor may it be refused while the context is loaded");
	check(value_of(fd, 0, 0) == 0xdead, "its PMD is not told then");
	c[0].reg_value = 0;
	check(pfm_write_pmcs(fd, c, 1) == 0 && pfm_write_pmds(fd, &p, 1) == 0 && value_of(fd, 0, 0) == 0, "until both are written");
	close(fd);
}

/* Of a plain counter that was begun just below zero nothing is lost where it passes. */
static void test_wrap(void)
{
	pfarg_ctx_t ctx = { 0 };
	int fd = make(&ctx, NULL, 0);
	pfarg_pmd_t p = { .reg_num = 0, .reg_value = -(u64)3 };

	pfm_write_pmds(fd, &p, 1);
	go(fd);
	happen(10);
	check_u64(value_of(fd, 0, 0), 7, "over zero: what came behind, too");
	happen(5);
	check_u64(value_of(fd, 0, 0), 12, "and on");
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
	check(value_of(fd, 0, 0) != 0xdead && pfm_stop(fd) == 0, "records without end keep no call from its end");
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
	check(pfm_read_pmds(fd, &p, 1) == -1 && p.reg_flags == PFM_REG_RETFL_NOTAVAIL, "a PMD that had no counter is not told, stopped or not");
	p = (pfarg_pmd_t){ .reg_num = 0, .reg_value = 5 };
	check(pfm_write_pmds(fd, &p, 1) == 0 && value_of(fd, 0, 0) == 5, "until it is written");
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
	check(status == 0, "a child has no context, and leaves alone what is where its parent's ring was");
	happen(3);
	check_u64(value_of(fd, 0, 0), -(u64)7, "the parent's counts on");
	close(fd);
}

/* An overflow that masks is found only when the set is to be left. */
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
	check(pfm_start(fd, &to) == -1 && errno == EINVAL && message(fd) == 1, "no other set while masked");
	check(pfm_restart(fd) == 0 && value_of(fd, 0, 0) == -(u64)10, "and the reset is not forgotten");
	check(pfm_create_evtsets(fd, &d, 1) == -1 && errno == EBUSY && d.set_flags == 0, "no set is made while loaded; nothing is wrong with the entry");
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

	check(pfm_register_fmt(&fmt) == 0, "a format of our own");
	for (size_t i = 0; i < LEN(wrong); i++) {
		answer = wrong[i];
		check(make(&ctx, NULL, 0) == -1 && errno == EINVAL, "a callback that returns %d: EINVAL", wrong[i]);
	}
	answer = -EIO;
	check(make(&ctx, NULL, 0) == -1 && errno == EIO, "its own error");
	answer = 0;
	fd = make(&ctx, NULL, 0);
	check(fd >= 0 && pfm_unregister_fmt(fmt.fmt_uuid) == -1 && errno == EBUSY, "in use");
	close(fd);
	check(pfm_unregister_fmt(fmt.fmt_uuid) == 0, "closed, no longer");
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

/* What was begun is ended, whatever fails; and nothing stays open. */
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
	check(make(&ctx, NULL, 0) == -1 && errno == EMFILE && inits == exits, "no descriptor: what began has ended");
	setrlimit(RLIMIT_NOFILE, &most);
	answer = -EIO;
	inits = exits = 0;
	check(make(&ctx, NULL, 0) == -1 && errno == EIO && inits == 1 && exits == 0, "what did not begin does not end");
	check(dup(0) == next, "and leaves nothing open");
	close(next);
	answer = 0;
	close(make(&ctx, NULL, 0));
	check(pfm_unregister_fmt(fmt.fmt_uuid) == 0 && inits == 2 && exits == 1, "closed: it ends");
	close(fd);
}

static void test_pools(void)
{
	static int fds_[MAX_CTXS + 1];
	pfarg_ctx_t ctx = { 0 };
	int n = 0;

	while (n <= MAX_CTXS && (fds_[n] = make(&ctx, NULL, 0)) >= 0)
		n++;
	check(n == MAX_CTXS && errno == ENOMEM, "as many contexts as there is memory for");
	while (n > 0)
		close(fds_[--n]);
	fds_[0] = make(&ctx, NULL, 0);
	check(fds_[0] >= 0, "those that were closed are free");
	close(fds_[0]);
}

int main(void)
{
	test_random();
	test_set_order();
	test_notify();
	test_together();
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
	return unit_end();
}
