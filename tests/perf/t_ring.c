/* t_ring.c - unit test of sources/perf/ring.c: rings in memory that the test writes as the
 * kernel does: merged by time, drained, corrupt. SPDX-License-Identifier: MIT */
#include "../../sources/perf/ring.c" /* for its static tables */
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

static const struct ring_reader taker = { .format = format, .handle = take };

static void ring_put(int i, const void *p, size_t n)
{
	char *data = shared[i] + page;
	const char *from = p;

	for (size_t k = 0; k < n; k++)
		data[heads[i]++ % (PAGES * page)] = from[k];
}

static void ring_report(int i)
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

static struct {
	u64 calls, samples, bytes, parts, first;
} copied;
static struct ring_reader reader;

static u64 again_calls, again_bytes;

static bool is_even(struct str sample)
{
	again_calls++;
	again_bytes += str_len(sample);
	return sample.p[8] % 2 == 0;
}

static void see(const struct prec *r)
{
	copied.calls++;
	copied.samples += r->type == PR_SAMPLE;
	copied.first = reader.first;
}

/* Each part of a copy begins and ends with a whole record, unless it wraps at the end of the ring. */
static void copy(struct str records)
{
	copied.parts++;
	copied.bytes += str_len(records);
}

static u64 copy_rings(void)
{
	memset(&copied, 0, sizeof(copied));
	return rings_copy(&reader);
}

static void put_sample_of(int i, u64 task, u64 time)
{
	u64 rec[4] = { PR_SAMPLE | (u64)32 << 48, 0x1234, task, time };
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	rec[0] = (u64)PR_SAMPLE << 32 | 32;
#endif
	ring_put(i, rec, sizeof(rec));
}

static void put_at(int i, u64 ip, u64 time)
{
	u64 rec[4] = { PR_SAMPLE | (u64)32 << 48, ip, 7, time };
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	rec[0] = (u64)PR_SAMPLE << 32 | 32;
	rec[1] = ip << 56;
#endif
	ring_put(i, rec, sizeof(rec));
}

static void t_again(void)
{
	struct ring_reader r = { .format = format, .handle = take, .again = is_even };

	seen = 0;
	for (u64 i = 0; i < 10; i++)
		put_at(0, i, 9500000 + i);
	put_lost(0, 2, 9600000);
	ring_report(0);
	check_u64(rings_drain(UINT64_MAX, &r), 11,
	          "samples that are handled without decoding are counted");
	check_u64(again_calls, 10, "only samples are handled without decoding");
	check_u64(again_bytes, 320, "samples that are handled without decoding are complete");
	check_u64(seen, 6, "all records except samples are decoded");
}

static void t_copy(void)
{
	u64 before = rings_lost;

	reader = (struct ring_reader){ .format = format, .handle = see, .copy = copy };
	for (u64 t = 1; t <= 6; t++)
		put_sample_of(0, t < 4 ? 50 : 51, 200 + t);
	put_lost(1, 7, 150);
	put_sample_of(1, 51, 160);
	ring_report(0);
	ring_report(1);
	check_u64(copy_rings(), 7, "rings_copy counts the samples");
	check_u64(copied.bytes, 7 * 32 + 40, "rings_copy copies all bytes");
	check_u64(copied.samples, 3,
	          "rings_copy decodes the first sample of each task in each ring");
	check_u64(copied.calls - copied.samples, 1,
	          "rings_copy decodes all records that are not samples");
	check_u64(rings_lost - before, 7, "rings_copy adds the counts of lost records");
	check_u64(copied.first, 150, "rings_copy knows the earliest time at the first call");
	check_u64(tail_of(0) - heads[0] + tail_of(1) - heads[1], 0, "rings are empty after rings_copy");
	check_u64(copy_rings() + copied.calls + copied.parts, 0, "the next rings_copy reads nothing");
	put_sample_of(0, 51, 300);
	ring_report(0);
	check_u64(copy_rings() - copied.calls, 1,
	          "rings_copy decodes no other sample of a task until the next call");
	while (heads[2] % (PAGES * page) != PAGES * page - 32)
		put_sample_of(2, 9, 400), ring_report(2), copy_rings();
	put_lost(2, 1, 500);
	put_sample_of(2, 9, 501);
	ring_report(2);
	check(copy_rings() == 1 && copied.parts == 2 && copied.bytes == 72 && copied.calls == 1,
	      "a record that wraps around the end of the ring is copied in two parts");
}

static void t_copy_corrupt(void)
{
	u64 before = rings_corrupt;

	put_sample_of(3, 9, 600);
	ring_put(3, "\0\0\0\0\0\0\0\0", 8);
	put_sample_of(3, 9, 601);
	put_sample_of(4, 9, 602);
	ring_report(3);
	ring_report(4);
	check_u64(copy_rings(), 2, "rings_copy ends a ring at an invalid record");
	check_u64(copied.bytes, 64, "rings_copy copies no byte after an invalid record");
	check_u64(rings_corrupt - before, 1,
	          "the rest of a ring after an invalid record is counted as corrupt");
	check_u64(tail_of(3), heads[3], "the rest of a ring after an invalid record is skipped");
}

/* samples that are written while others are handled; samples without room */
static u64 more, missed;

static void take_slowly(const struct prec *r)
{
	take(r);
	for (int i = 0; i < 2 && more > 0; i++, more--)
		if (heads[0] - tail_of(0) + 32 <= PAGES * page)
			put_sample(0, 2000000 + seen);
		else
			missed++;
	ring_report(0);
}

static const struct ring_reader slow = { .format = format, .handle = take_slowly };

/* Samples are written twice as fast as they are handled: a ring alone would overflow. */
static void t_burst(void)
{
	enum { FIRST = 100, MORE = 5000 };

	seen = last = bad_order = 0;
	for (u64 i = 0; i < FIRST; i++)
		put_sample(0, 1000000 + i);
	ring_report(0);
	more = MORE;
	check_u64(rings_drain(1999999, &slow), FIRST,
	          "a burst: rings_drain handles only the records up to the given time");
	check_u64(more, MORE - 2 * FIRST,
	          "a burst: other records are written while some are handled");
	check_u64(rings_drain(UINT64_MAX, &slow), MORE,
	          "a burst: the next rings_drain handles all other records");
	check_u64(missed, 0, "a burst: the ring always has room for new records");
	check_u64(bad_order, 0, "a burst: records are handled in the order of time");
}

/* Records that do not fit in the backlog stay in the ring until blocks are free; none is read twice. */
static void t_full(void)
{
	u64 total = 0, room = (MAX_BLOCKS - 1) * (u64)(BLOCK_BYTES / 32);

	seen = last = bad_order = 0;
	while (heads[0] - tail_of(0) + 32 <= PAGES * page) {
		put_sample(0, 3000000 + total++);
		if (total % 100 == 0)
			ring_report(0), rings_drain(1, &taker);
	}
	check_u64(seen, 0, "full backlog: no record is handled before its time");
	check(total >= room && total <= room + PAGES * page / 32,
	      "full backlog: all blocks are in use: %" PRIu64
	      " of %" PRIu64, total, room);
	for (int i = 0; i < 10; i++)
		put_sample(1, 4000000 + (u64)i);
	ring_report(0);
	ring_report(1);
	check_u64(rings_drain(UINT64_MAX, &taker), total + 10,
		  "full backlog: all records in blocks and rings are handled, also of a ring "
		  "without a block");
	check_u64(bad_order, 0, "full backlog: records are handled in the order of time");
	check_u64(merge.blocks_table.dropped, 0,
	          "full backlog: only the kernel counts losses, not the table of blocks");
	check_u64(merge.nblocks, MAX_BLOCKS - 1, "full backlog: all blocks were in use");
	for (u64 i = 0; i < 100; i++)
		put_sample(1, 9000000 + i);
	ring_report(1);
	check_u64(rings_drain(UINT64_MAX, &taker), 100,
	          "after a full backlog, another ring uses the blocks again");
	check_u64(merge.nblocks, MAX_BLOCKS - 1,
	          "after a full backlog, there are no more blocks than before");
}

static void make_rings(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	check_u64((u64)-rings_add(-1, 2), EBADF, "rings_add without a descriptor is an error");
	for (int i = 0; i < RINGS; i++) {
		int fd = memfd_create("ring", 0);

		if (fd < 0 || ftruncate(fd, (off_t)((1 + PAGES) * page)) || rings_add(fd, PAGES) != i) {
			puts("Bail out! no ring");
			exit(1);
		}
		shared[i] = merge.rings[i].map.page;
		close(fd);
	}
	check_u64((u64)-rings_add(0, 3), EINVAL, "rings_add of three pages is an error");
	check_u64((u64)-rings_add(0, 0), EINVAL, "rings_add of zero pages is an error");
}

/* One ring more than there are CPUs: it is refused, and the table is reported by its name. */
static void t_full_rings(void)
{
	u32 had = merge.nrings, n;
	const struct table *full;

	while (table_full(&n))
		;
	table_all(&merge.table);
	merge.nrings = MAX_RINGS;
	check(rings_add(-1, 1) == -ENOMEM, "full table of rings: one more is refused");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "rings of perf events") == 0, "full table of rings: its name");
	merge.nrings = MAX_RINGS - 1;
	check(rings_add(-1, 0) == -EINVAL, "the last ring has a row");
	merge.nrings = had;
}

int main(void)
{
	u64 total = 0, wrong = 0;

	make_rings();
	/* Many repetitions, so that each ring wraps often; the times of the rings interleave at
	 * random. */
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
			ring_report(i);
		rings_drain(UINT64_MAX, &taker);
		for (int i = 0; i < RINGS; i++)
			wrong += tail_of(i) != heads[i];
	}
	check_u64(seen, total, "each record is read once");
	check_u64(bad_order, 0, "records are ordered by time");
	check_u64(rings_lost, 3 * (total - samples), "the counts of lost records are summed");
	check_u64(wrong, 0, "rings are empty after rings_drain");
	check_u64(rings_corrupt, 0, "no record is corrupt");
	check_u64(rings_drain(UINT64_MAX, &taker), 0, "the next rings_drain reads nothing");

	last = 0;
	for (u64 t = 1; t <= 10; t++)
		put_sample((int)t % 2, t * 10);
	ring_report(0);
	ring_report(1);
	check_u64(rings_drain(50, &taker), 5, "rings_drain reads only records up to a time");
	check_u64(heads[0] - tail_of(0) + heads[1] - tail_of(1), 0,
	          "records after the given time are taken out of the rings, too");
	check_u64(rings_drain(UINT64_MAX, &taker), 5, "the next rings_drain reads the later records");

	put_sample(2, 1000);
	ring_put(2, "\0\0\0\0\0\0\0\0", 8); /* a record of size 0 is invalid */
	put_sample(2, 1001);
	put_sample(3, 2000);
	ring_report(2);
	ring_report(3);
	check_u64(rings_drain(UINT64_MAX, &taker), 2, "a record without a size ends its own ring only");
	check_u64(rings_corrupt, 1, "a record without a size is counted as corrupt");
	check_u64(tail_of(2), heads[2],
	          "the rest of a ring after a record without a size is skipped");
	put_sample(2, 3000);
	ring_report(2);
	check_u64(rings_drain(UINT64_MAX, &taker), 1,
	          "a ring is read again after its rest was skipped");
	t_burst();
	t_full();
	t_again();
	t_copy();
	t_copy_corrupt();
	t_full_rings();
	rings_close();
	check_u64(merge.nrings, 0, "rings_close removes all rings");
	return unit_end();
}
