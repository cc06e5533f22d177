/* t_perf.c - sources/perf/perfapi.c with control pages and read(2) results that the test writes as the kernel
 * does, or as a hostile kernel would.
 * SPDX-License-Identifier: MIT */
#include "../../sources/perf/perfapi.c" /* for its static functions */
#include "unit.h"

static _Alignas(8) char memory[3 * 65536]; /* a control page of the largest page size, and a ring */
static char *const data = memory + 65536;

static struct gp_ring ring_of(u64 head)
{
	memset(memory, 0, sizeof(memory));
	*low_word(memory, offsetof(struct perf_event_mmap_page, data_head)) = (size_t)head;
	return (struct gp_ring){ .page = memory, .data = data, .size = 4096, .fd = -1 };
}

static void put_header(u64 at, u16 size)
{
	struct perf_event_header h = { .type = 9, .size = size };

	memcpy(data + at % 4096, &h, sizeof(h));
}

static u64 tail_of(void)
{
	return *low_word(memory, offsetof(struct perf_event_mmap_page, data_tail));
}

static void test_next(void)
{
	static const u16 senseless[] = { 0, 4, 12, 24, 65535 };
	char b[4096];
	struct gp_ring r = ring_of(0);

	check_u64((u64)gp_next(&r, b, sizeof(b)), 0, "an empty ring has no record");
	r = ring_of(4096 + 8);
	r.head = r.tail = 4080;
	put_header(4080, 24);
	data[7 + 0] = 'w';
	check_u64((u64)-gp_next(&r, b, 23), EFBIG, "a record larger than the buffer is an error");
	check_u64(tail_of(), 0, "a record larger than the buffer stays in the ring");
	check(gp_next(&r, b, 24) == 24 && b[23] == 'w', "a record across the end of the ring is copied whole");
	check_u64(tail_of(), 4096 + 8, "a copied record is removed from the ring");
	for (size_t i = 0; i < LEN(senseless); i++) {
		r = ring_of(16);
		put_header(0, senseless[i]);
		check_u64((u64)-gp_next(&r, b, sizeof(b)), EBADMSG,
		          "a record of %u bytes in a ring with 16 bytes is an error", senseless[i]);
		check(tail_of() == 16 && gp_next(&r, b, sizeof(b)) == 0, "the ring is emptied after a bad record");
	}
	r = ring_of(16);
	r.head = r.tail = 64;
	check_u64((u64)-gp_next(&r, b, sizeof(b)), EBADMSG, "a head before the tail is an error");
}

static void test_map(void)
{
	struct gp_ring r;
	int error;

	check_u64((u64)-gp_map(&r, -1, 1), EBADF, "gp_map without a descriptor is an error");
	check_u64((u64)-gp_map(&r, -1, 3), EINVAL, "gp_map of three pages is an error");
	/* The kernel, or qemu, may check the memory or the descriptor first. */
	error = -gp_map(&r, -1, 1u << 31);
	check(sizeof(size_t) == 4 ? error == EINVAL : error == EBADF || error == ENOMEM,
	      "gp_map of more pages than there is memory is an error");
	check_u64((u64)-gp_unmap(&r), EINVAL, "gp_unmap of a ring that is not mapped is an error");
}

/* Calls gp_read() on a pipe that contains the given words. */
static int read_words(const u64 *w, size_t n, u64 format, struct gp_count *to, int cap)
{
	int fds[2], r;

	if (pipe(fds) < 0 || write(fds[1], w, n * sizeof(*w)) < 0)
		return -EIO;
	close(fds[1]);
	r = gp_read(fds[0], format, to, cap);
	close(fds[0]);
	return r;
}

static void test_read(void)
{
	const u64 group[] = { 2, 300, 100, 11, 71, 0, 12, 72, 5 };
	const u64 all = PF_ENABLED | PF_RUNNING | PF_ID | PF_GROUP | PF_LOST;
	struct gp_count c[2];

	check_u64((u64)read_words(group, LEN(group), all, c, 2), 2, "gp_read reads a group of two counts");
	check(c[0].value == 11 && c[1].value == 12 && c[1].id == 72 && c[1].lost == 5 && c[1].enabled == 300 && c[1].running == 100,
	      "gp_read returns the counts in their order");
	check_u64((u64)-read_words(group, LEN(group), all, c, 1), ENOSPC,
	          "gp_read with space for one count is an error");
	check_u64((u64)-read_words(group, LEN(group), all, c, -1), ENOSPC,
	          "gp_read with a negative capacity is an error");
	check_u64((u64)read_words(group, 8, all, c, 2), 1, "gp_read ignores a truncated count");
	check_u64((u64)-read_words(group, 2, all, c, 2), EINVAL, "gp_read of less than one count is an error");
	check_u64((u64)read_words(group, 0, all, c, 2), 0, "gp_read at the end of the file returns 0");
	check_u64((u64)-gp_read(-1, all, c, 2), EBADF, "gp_read without a descriptor is an error");
}

static void test_self(void)
{
	struct gp_ring r = { .page = memory, .fd = -1 };
	struct perf_event_mmap_page *p = (struct perf_event_mmap_page *)(void *)memory;
	struct gp_count c;

	memset(memory, 0, sizeof(memory));
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF, "gp_read_self without an index uses read(2)");
	p->index = 1;
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF, "gp_read_self without permission for rdpmc uses read(2)");
	p->cap_user_rdpmc = 1;
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF, "gp_read_self without a clock uses read(2)");
	p->cap_user_time = 1;
	p->pmc_width = 65;
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF, "gp_read_self with a counter of 65 bits uses read(2)");
	p->index = 0;
	p->lock = 1;
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF,
	          "gp_read_self with a lock that is never released uses read(2)");
#ifdef HAS_USER_COUNTERS
	*p = (struct perf_event_mmap_page){ .time_offset = 1000, .time_mult = 3, .time_shift = 1 };
	check_u64(page_delta(p, 5), 1007, "page_delta converts cycles of 1.5 ns: 1000 + 5 * 3 / 2");
	check_u64(page_delta(p, (u64)1 << 40), 1000 + 3 * ((u64)1 << 39), "page_delta does not overflow");
	p->cap_user_time_short = 1;
	p->time_cycles = 0xfffffff0;
	p->time_mask = 0xffffffff;
	check_u64(page_delta(p, 0x10), 1000 + 3 * (0x100000010 / 2),
	          "page_delta handles a clock of 32 bits that wraps");
	p->time_shift = 200;
	check(page_delta(p, 1) != 0, "page_delta handles a shift that is too large");
#else
	for (int i = 0; i < 4; i++)
		check(true, "the clock of cycles # SKIP programs read no counters on this architecture");
#endif
}

static void test_null(void)
{
	struct gp_event e = { 0 };
	struct gp_ring r = { .fd = -1 };
	struct gp_count c = { 0 };
	u64 word = 7;
	int fds[2], in = -1;
	char b[8];

	check(gp_open(NULL, 0, -1, -1) == -EFAULT && gp_open_all(NULL, 1, 0, -1, fds) == -EFAULT &&
	      gp_open_all(&e, 1, 0, -1, NULL) == -EFAULT,
	      "gp_open_all without an event or an array of descriptors: EFAULT");
	check(gp_open_all(&e, 0, 0, -1, fds) == -EINVAL && gp_open_all(&e, INT32_MIN, 0, -1, fds) == -EINVAL,
	      "gp_open_all with zero or fewer events: EINVAL");
	check(read_words(&word, 1, 0, NULL, 1) == -EFAULT, "gp_read without an array of counts: EFAULT");
	check_u64(gp_scaled(NULL), 0, "gp_scaled without a count returns 0");
	check(gp_map(NULL, -1, 1) == -EFAULT && gp_unmap(NULL) == -EFAULT && gp_next(NULL, b, sizeof(b)) == -EFAULT &&
	      gp_read_self(NULL, 0, &c) == -EFAULT && gp_read_self(&r, 0, NULL) == -EFAULT,
	      "calls without a ring or a count: EFAULT");
	check(gp_next(&r, b, sizeof(b)) == -EINVAL && gp_read_self(&r, 0, &c) == -EINVAL,
	      "gp_next with a ring that is not mapped: EINVAL");
	r = ring_of(0);
	check_u64((u64)-gp_next(&r, NULL, 8), EFAULT, "gp_next without a buffer: EFAULT");
	r.size = 0;
	*low_word(memory, offsetof(struct perf_event_mmap_page, data_head)) = 64;
	check_u64((u64)-gp_next(&r, b, sizeof(b)), EBADMSG, "gp_next with records but without a ring: EBADMSG");
	check(gp_id(in, NULL) < 0 && gp_filter(in, NULL) < 0 && gp_output(in, in) < 0 && gp_notify(in, 1, 0) < 0 &&
	      gp_nonblock(in, 1) < 0 && gp_period(in, 0) < 0 && gp_refresh(in, -1) == -EINVAL,
	      "calls without a descriptor are errors");
}

/* A group of two counts in a pipe, on which ioctl(2) fails. */
static void test_self_group(void)
{
	const u64 group[] = { 2, 11, 71, 12, 72 };
	struct gp_ring r = { .page = memory, .fd = -1 };
	struct gp_count c;
	int fds[2];

	memset(memory, 0, sizeof(memory));
	if (!check(pipe(fds) == 0 && write(fds[1], group, sizeof(group)) == sizeof(group),
	           "setup: a pipe with a group"))
		return;
	r.fd = fds[0];
	check(gp_read_self(&r, PF_GROUP | PF_ID, &c) < 0,
	      "gp_read_self of a group without a known ID fails: it does not return another event's count");
	close(fds[0]);
	close(fds[1]);
}

/* Attributes that an old kernel may not know are cleared in this order, one at a time. */
static void test_downgrade(void)
{
	struct perf_event_attr a = { .read_format = PF_LOST | PF_ID, .ksymbol = 1, .precise_ip = 2,
				     .sample_type = PERF_SAMPLE_READ, .inherit = 1 };

	check(attr_downgrade(&a, true) && a.read_format == PF_ID && a.ksymbol,
	      "attributes that an old kernel may not know: PERF_FORMAT_LOST is cleared first");
	check(attr_downgrade(&a, true) && !a.ksymbol && a.precise_ip == 2,
	      "attributes that an old kernel may not know: ksymbol is cleared second");
	check(attr_downgrade(&a, true) && a.precise_ip == 1 && attr_downgrade(&a, true) &&
	      a.precise_ip == 0 && a.inherit,
	      "attributes that an old kernel may not know: the precision is reduced in steps");
	check(attr_downgrade(&a, true) && !a.inherit,
	      "attributes that an old kernel may not know: inherit with PERF_SAMPLE_READ is "
	      "cleared last");
	check(!attr_downgrade(&a, true),
	      "attributes that an old kernel may not know: no attribute remains to clear");
	a.precise_ip = 2;
	check(!attr_downgrade(&a, false) && a.precise_ip == 2,
	      "a precision that the user requested is not reduced");
	a.inherit = 1;
	a.sample_type = 0;
	check(!attr_downgrade(&a, false) && a.inherit,
	      "inherit without PERF_SAMPLE_READ is not cleared");
}

int main(void)
{
	test_downgrade();
	test_null();
	test_self_group();
	test_next();
	test_map();
	test_read();
	test_self();
	return unit_end();
}
