/* t_ring.c - rings in memory that we write as the kernel would: merged by time, given back, cut short.
 * SPDX-License-Identifier: MIT */
#include "../sources/ring.c" /* its tables */
#include "unit.h"

enum { RINGS = 5, PAGES = 2 };
enum { PAGE_HEAD = 1024, PAGE_TAIL = 1032 }; /* struct perf_event_mmap_page, linux/perf_event.h */

static const struct pformat layout = { .sample_type = PS_IP | PS_TID | PS_TIME, .id_all = true };
static char *shared[RINGS];
static size_t page;
static u64 heads[RINGS], seen, last, bad_order, samples, bytes;

static const struct pformat *format(u64 id)
{
	return id ? NULL : &layout;
}

static void take(const struct prec *r)
{
	seen++;
	samples += r->type == PR_SAMPLE;
	bad_order += r->time < last;
	last = r->time;
	bytes += str_len(r->raw);
}

static void ring_put(int i, const void *p, size_t n)
{
	char *data = shared[i] + page;
	const char *from = p;

	for (size_t k = 0; k < n; k++)
		data[heads[i]++ % (PAGES * page)] = from[k];
}

static void ring_tell(int i)
{
	memcpy(shared[i] + PAGE_HEAD, &heads[i], sizeof(heads[i]));
}

static void put_sample(int i, u64 time)
{
	u64 rec[4] = { PR_SAMPLE | (u64)32 << 48, 0x1234, 7, time };
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	rec[0] = (u64)PR_SAMPLE << 32 | 32;
#endif
	ring_put(i, rec, sizeof(rec));
}

static void put_lost(int i, u64 lost, u64 time)
{
	u64 rec[5] = { PR_LOST | (u64)40 << 48, 0, lost, 7, time };
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	rec[0] = (u64)PR_LOST << 32 | 40;
#endif
	ring_put(i, rec, sizeof(rec));
}

static u64 tail_of(int i)
{
	u64 t;

	memcpy(&t, shared[i] + PAGE_TAIL, sizeof(t));
	return t;
}

static void make_rings(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	check_u64((u64)-rings_add(-1, 2), EBADF, "no descriptor");
	for (int i = 0; i < RINGS; i++) {
		int fd = memfd_create("ring", 0);

		if (fd < 0 || ftruncate(fd, (off_t)((1 + PAGES) * page)) || rings_add(fd, PAGES) != i) {
			puts("Bail out! no ring");
			exit(1);
		}
		shared[i] = rings[i].map.page;
		close(fd);
	}
	check_u64((u64)-rings_add(0, 3), EINVAL, "three pages");
	check_u64((u64)-rings_add(0, 0), EINVAL, "no page");
}

int main(void)
{
	u64 total = 0, wrong = 0;

	make_rings();
	/* Many rounds, so that each ring wraps often; times interleave at random. */
	for (u64 round = 0, time = 1; round < 300; round++) {
		for (u64 n = rnd() % 600; n > 0; n--) {
			int i = (int)(rnd() % RINGS);

			if (heads[i] - tail_of(i) + 72 > PAGES * page)
				continue;
			time += rnd() % 3;
			if (rnd() % 10)
				put_sample(i, time);
			else
				put_lost(i, 3, time);
			total++;
		}
		for (int i = 0; i < RINGS; i++)
			ring_tell(i);
		rings_drain(UINT64_MAX, format, take);
		for (int i = 0; i < RINGS; i++)
			wrong += tail_of(i) != heads[i];
	}
	check_u64(seen, total, "each record once");
	check_u64(bad_order, 0, "in the order of time");
	check_u64(rings_lost, 3 * (total - samples), "lost records are summed");
	check_u64(wrong, 0, "all is given back");
	check_u64(rings_corrupt, 0, "nothing is corrupt");
	check_u64(rings_drain(UINT64_MAX, format, take), 0, "nothing is left");

	last = 0;
	for (u64 t = 1; t <= 10; t++)
		put_sample((int)t % 2, t * 10);
	ring_tell(0);
	ring_tell(1);
	check_u64(rings_drain(50, format, take), 5, "only what is not too new");
	check_u64(heads[0] - tail_of(0) + heads[1] - tail_of(1), 5 * 32, "the rest stays in the ring");
	check_u64(rings_drain(UINT64_MAX, format, take), 5, "and comes later");

	put_sample(2, 1000);
	ring_put(2, "\0\0\0\0\0\0\0\0", 8); /* no record has size 0 */
	put_sample(2, 1001);
	put_sample(3, 2000);
	ring_tell(2);
	ring_tell(3);
	check_u64(rings_drain(UINT64_MAX, format, take), 2, "a record without size ends its ring, not the others");
	check_u64(rings_corrupt, 1, "and is counted");
	check_u64(tail_of(2), heads[2], "and passed over");
	put_sample(2, 3000);
	ring_tell(2);
	check_u64(rings_drain(UINT64_MAX, format, take), 1, "and is not the ring's end for ever");
	rings_close();
	check_u64(nrings, 0, "closed");
	return unit_end();
}
