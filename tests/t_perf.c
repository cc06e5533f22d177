/* t_perf.c - perf.c on pages and reads that we write as the kernel, or something hostile in its place, would.
 * SPDX-License-Identifier: MIT */
#include "../sources/perf.c" /* its arithmetic */
#include "unit.h"

static _Alignas(8) char memory[3 * 65536]; /* a control page and a ring: no page is larger */
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
	check_u64((u64)-gp_next(&r, b, 23), EFBIG, "more than there is room for");
	check_u64(tail_of(), 0, "and it stays");
	check(gp_next(&r, b, 24) == 24 && b[23] == 'w', "a record over the ring's end is whole");
	check_u64(tail_of(), 4096 + 8, "and given back");
	for (size_t i = 0; i < LEN(senseless); i++) {
		r = ring_of(16);
		put_header(0, senseless[i]);
		check_u64((u64)-gp_next(&r, b, sizeof(b)), EBADMSG, "a record of %u bytes where there are 16", senseless[i]);
		check(tail_of() == 16 && gp_next(&r, b, sizeof(b)) == 0, "and the ring was emptied");
	}
	r = ring_of(16);
	r.head = r.tail = 64;
	check_u64((u64)-gp_next(&r, b, sizeof(b)), EBADMSG, "a head that went back");
}

static void test_map(void)
{
	struct gp_ring r;
	int error;

	check_u64((u64)-gp_map(&r, -1, 1), EBADF, "no descriptor");
	check_u64((u64)-gp_map(&r, -1, 3), EINVAL, "three pages");
	/* Whether it looks for room or at the descriptor first is the kernel's choice, or qemu's. */
	error = -gp_map(&r, -1, 1u << 31);
	check(sizeof(size_t) == 4 ? error == EINVAL : error == EBADF || error == ENOMEM, "more than there is memory");
	check_u64((u64)-gp_unmap(&r), EINVAL, "what is not mapped");
}

/* What read(2) gives, from a pipe. */
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

	check_u64((u64)read_words(group, LEN(group), all, c, 2), 2, "a group of two");
	check(c[0].value == 11 && c[1].value == 12 && c[1].id == 72 && c[1].lost == 5 && c[1].enabled == 300 && c[1].running == 100,
	      "in their order");
	check_u64((u64)-read_words(group, LEN(group), all, c, 1), ENOSPC, "and room for one");
	check_u64((u64)-read_words(group, LEN(group), all, c, -1), ENOSPC, "and for less than none");
	check_u64((u64)read_words(group, 8, all, c, 2), 1, "one that was cut is not counted");
	check_u64((u64)-read_words(group, 2, all, c, 2), EINVAL, "less than one");
	check_u64((u64)read_words(group, 0, all, c, 2), 0, "end of file");
	check_u64((u64)-gp_read(-1, all, c, 2), EBADF, "no descriptor");
}

static void test_self(void)
{
	struct gp_ring r = { .page = memory, .fd = -1 };
	struct perf_event_mmap_page *p = (struct perf_event_mmap_page *)(void *)memory;
	struct gp_count c;

	memset(memory, 0, sizeof(memory));
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF, "no index: by read(2)");
	p->index = 1;
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF, "no right to the instruction: by read(2)");
	p->cap_user_rdpmc = 1;
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF, "no clock: by read(2)");
	p->cap_user_time = 1;
	p->pmc_width = 65;
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF, "a counter of 65 bits: by read(2)");
	p->index = 0;
	p->lock = 1;
	check_u64((u64)-gp_read_self(&r, PF_ID, &c), EBADF, "a lock that stays taken: by read(2)");
#ifdef HAS_USER_COUNTERS
	*p = (struct perf_event_mmap_page){ .time_offset = 1000, .time_mult = 3, .time_shift = 1 };
	check_u64(page_delta(p, 5), 1007, "cycles are 1.5 ns each: 1000 + 5 * 3 / 2");
	check_u64(page_delta(p, (u64)1 << 40), 1000 + 3 * ((u64)1 << 39), "and do not overflow on the way");
	p->cap_user_time_short = 1;
	p->time_cycles = 0xfffffff0;
	p->time_mask = 0xffffffff;
	check_u64(page_delta(p, 0x10), 1000 + 3 * (0x100000010 / 2), "a clock of 32 bits that has wrapped goes on");
	p->time_shift = 200;
	check(page_delta(p, 1) != 0, "no shift is too far");
#else
	for (int i = 0; i < 4; i++)
		check(true, "a clock of cycles # SKIP programs read no counters on this architecture");
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
	      gp_open_all(&e, 1, 0, -1, NULL) == -EFAULT, "no event, no descriptors");
	check(gp_open_all(&e, 0, 0, -1, fds) == -EINVAL && gp_open_all(&e, INT32_MIN, 0, -1, fds) == -EINVAL, "of none and less");
	check(read_words(&word, 1, 0, NULL, 1) == -EFAULT, "no room for a count");
	check_u64(gp_scaled(NULL), 0, "no count");
	check(gp_map(NULL, -1, 1) == -EFAULT && gp_unmap(NULL) == -EFAULT && gp_next(NULL, b, sizeof(b)) == -EFAULT &&
	      gp_read_self(NULL, 0, &c) == -EFAULT && gp_read_self(&r, 0, NULL) == -EFAULT, "no ring");
	check(gp_next(&r, b, sizeof(b)) == -EINVAL && gp_read_self(&r, 0, &c) == -EINVAL, "a ring that is not mapped");
	r = ring_of(0);
	check_u64((u64)-gp_next(&r, NULL, 8), EFAULT, "no room for a record");
	r.size = 0;
	*low_word(memory, offsetof(struct perf_event_mmap_page, data_head)) = 64;
	check_u64((u64)-gp_next(&r, b, sizeof(b)), EBADMSG, "records where there is no ring behind the page");
	check(gp_id(in, NULL) < 0 && gp_filter(in, NULL) < 0 && gp_output(in, in) < 0 && gp_notify(in, 1, 0) < 0 &&
	      gp_nonblock(in, 1) < 0 && gp_period(in, 0) < 0 && gp_refresh(in, -1) == -EINVAL, "no descriptor");
}

/* Two counters of a group, in a pipe that no ioctl(2) knows. */
static void test_self_group(void)
{
	const u64 group[] = { 2, 11, 71, 12, 72 };
	struct gp_ring r = { .page = memory, .fd = -1 };
	struct gp_count c;
	int fds[2];

	memset(memory, 0, sizeof(memory));
	if (!check(pipe(fds) == 0 && write(fds[1], group, sizeof(group)) == sizeof(group), "a group"))
		return;
	r.fd = fds[0];
	check(gp_read_self(&r, PF_GROUP | PF_ID, &c) < 0, "of a group, and which cannot be told: no other's count");
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	test_null();
	test_self_group();
	test_next();
	test_map();
	test_read();
	test_self();
	return unit_end();
}
