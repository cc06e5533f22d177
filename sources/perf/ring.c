/* ring.c - the ring buffers that the kernel shares with the program: the records of all rings in
 * order of time.
 * SPDX-License-Identifier: MIT */
#include "perfstream.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "gpustat/perf.h"
#include <errno.h>

struct mapped {
	/* data pages of the mapped ring; its unread records are those from r.tail to r.head */
	struct ring r;
	struct gp_ring map;
	/* the next records to read, in backlog block `first` */
	struct str taken;
	/* indices of the first and last backlog block with records of this ring; NONE: no block */
	u32 first, last;
	u64 published; /* value of data_tail that was last written to the control page */
	u64 time; /* time (ns) of the ring's next record that was not passed to a callback yet */
	u64 task;      /* PID and TID of the last sample that rings_copy() has seen */
	/* Element i of a binary heap is stored in rings[i].heap, but is unrelated to ring i. The
	 * heap has the indices of the rings that have records, the ring with the earliest record on
	 * top. */
	u16 heap;
};

/* The backlog: memory to which records are moved from the rings, so that the kernel has room for
 * new ones. It is filled in bursts, when the kernel writes samples faster than gpustat decodes
 * them. */
enum {
	/* size of a backlog block in bytes: that of the longest record, a multiple of 8 */
	BLOCK_BYTES = PERF_RECORD_BYTES - 8,
	/* maximum number of backlog blocks of 64 KiB: 16 MiB have room for 250 000 samples of 64
	 * bytes, which are decoded in a second at most */
	MAX_BLOCKS = 257,
};
struct block {
	/* index of the next backlog block of the same ring or, in a free block, of the next free
	 * block */
	u32 next;
	u32 n;
	char bytes[BLOCK_BYTES];
};

/* The rings of all events, whose records are merged in order of time. */
static struct {
	struct block *blocks;
	u32 nblocks, free;
	struct mapped *rings;
	u32 nrings;
	u32 nheap; /* number of rings that have records: elements of the heap */
	struct table table, blocks_table;
} merge = {
	.blocks_table = TABLE_ROW(merge.blocks, MAX_BLOCKS, 4, "blocks of samples"),
	.table = TABLE_ROW(merge.rings, MAX_RINGS, 16, "rings of perf events"),
};

u64 rings_lost, rings_corrupt;

/* Maps the ring of a perf event. pages: the ring's size, a power of two. Returns the ring's index
 * in merge.rings, or -errno. */
long rings_add(int fd, u32 pages)
{
	struct mapped *m;
	int error;

	/* reserve the first block of the backlog now, before the symbol tables use up the memory */
	if (!table_has(&merge.table, merge.nrings) || !table_has(&merge.blocks_table, 1))
		return -ENOMEM;
	m = &merge.rings[merge.nrings];
	*m = (struct mapped){ 0 };
	error = pages ? gp_map(&m->map, fd, pages) : -EINVAL;
	if (error)
		return error;
	m->r.p = m->map.data;
	m->r.size = m->map.size;
	return (long)merge.nrings++;
}

void rings_close(void)
{
	while (merge.nrings > 0)
		gp_unmap(&merge.rings[--merge.nrings].map);
}

static void ring_publish(struct mapped *m)
{
	ring_release(m->map.page, m->r.tail);
	m->published = m->r.tail;
}

static void ring_written(struct mapped *m)
{
	m->r.head = ring_head(m->map.page, m->r.head);
}

/* Passes a record to to->again() or to->handle(). common: the record format that all events have in
 * common. */
static void record_deliver(struct str rec, const struct pformat *common,
			   const struct ring_reader *to)
{
	const struct pformat *f = common;
	struct prec r;
	u32 type;

	memcpy(&type, rec.p, sizeof(type));
	if (type == PR_SAMPLE && to->again && to->again(rec))
		return;
	if (common->sample_type & (PS_ID | PS_IDENTIFIER)) {
		f = to->format(prec_id(rec, common));
		f = f ? f : common;
	}
	if (!prec_decode(rec, f, &r)) {
		rings_corrupt++;
		return;
	}
	rings_lost += r.lost;
	to->handle(&r);
}

/* Loads a cache line of a ring, 1 KiB after the next record, before it is read: it is in the cache
 * of the CPU that wrote the records. */
static void prefetch(const struct ring *r)
{
	__builtin_prefetch(r->p + ((r->tail + 1024) & (r->size - 1)));
}

/* Returns the bytes of a ring from `from` on, up to `to` or to the end of the buffer, where the
 * ring wraps around. */
static struct str ring_part(const struct ring *r, u64 from, u64 to)
{
	size_t at = (size_t)(from & (r->size - 1));
	u64 n = r->size - at < to - from ? r->size - at : to - from;

	return (struct str){ r->p + at, r->p + at + (size_t)n };
}

/* --- copying undecoded records ---------------------------------------------------------------- */

/* Returns the byte offset of PID and TID in samples of this format; 0 if the samples have none. */
static u64 task_at(const struct pformat *f)
{
	u64 t = f->sample_type;

	return t & PS_TID ? 8 + 8 * bit_count(t & (PS_IDENTIFIER | PS_IP)) : 0;
}

/* True if the next record of a ring, a sample of `size` bytes, is of the same task as the previous
 * sample of the ring. at: the result of task_at(). Stores the PID and TID of the next record in
 * m->task. */
static bool is_same_task(struct mapped *m, size_t size, u64 at)
{
	u64 was = m->task;

	if (at + 8 > size)
		return false;
	ring_load(&m->r, m->r.tail + at, (char *)&m->task, 8);
	return at && m->task == was;
}

/* Returns the earlier of two times, of which 0 is unknown. */
static u64 earlier(u64 a, u64 b)
{
	return a && (a < b || !b) ? a : b;
}

/* Updates to->first_sample and to->last_sample with the times of two samples of a ring, which begin
 * at the bytes `first` and `last`. */
static void samples_note(struct ring r, const struct pformat *f, struct ring_reader *to, u64 first,
			 u64 last)
{
	u64 time;

	r.tail = first;
	to->first_sample = earlier(to->first_sample, ring_time(&r, f));
	r.tail = last;
	time = ring_time(&r, f);
	if (time > to->last_sample)
		to->last_sample = time;
}

/* Passes two kinds of records of a ring to to->handle(): those that are not samples, and samples
 * whose task differs from that of the previous sample. Returns the number of all samples. Moves the
 * ring's tail behind the last valid record. */
static u64 ring_scan(struct mapped *m, struct ring_reader *to)
{
	const struct pformat *common = to->format(0);
	/* n: number of samples; first, last: positions of the first and the last sample in the
	 * ring */
	u64 n = 0, first = 0, last = 0, task = task_at(common);
	char scratch[PERF_RECORD_BYTES]; /* buffer for a record that wraps around the ring's end */
	struct str rec;
	size_t size;

	while ((size = ring_size(&m->r)) > 0) {
		bool sample = ring_type(&m->r) == PR_SAMPLE;

		prefetch(&m->r);
		first = sample && !n ? m->r.tail : first;
		last = sample ? m->r.tail : last;
		n += sample;
		if (sample && is_same_task(m, size, task))
			m->r.tail += size;
		else if (ring_next(&m->r, scratch, &rec))
			record_deliver(rec, common, to);
	}
	if (n)
		samples_note(m->r, common, to, first, last);
	return n;
}

/* Passes the bytes of a ring from `from` up to its tail to to->copy(): in two parts if they wrap
 * around the end of the ring. */
static void ring_copy(const struct ring *r, u64 from, const struct ring_reader *to)
{
	for (struct str part; from < r->tail; from += str_len(part))
		to->copy(part = ring_part(r, from, r->tail));
}

/* Passes the undecoded records of all rings to to->copy(), one ring after the other. Only few of
 * the records are also decoded and passed to to->handle(): see ring_scan(). Returns the number of
 * samples. */
u64 rings_copy(struct ring_reader *to)
{
	u64 n = 0;

	to->first = 0;
	for (u32 i = 0; i < merge.nrings; i++) {
		ring_written(&merge.rings[i]);
		to->first = earlier(to->first, ring_time(&merge.rings[i].r, to->format(0)));
	}
	for (u32 i = 0; i < merge.nrings; i++) {
		struct mapped *m = &merge.rings[i];
		u64 from = m->r.tail;

		n += ring_scan(m, to);
		ring_copy(&m->r, from, to);
		rings_corrupt += m->r.tail != m->r.head;
		m->r.tail = m->r.head;
		if (m->published != m->r.tail)
			ring_publish(m);
	}
	return n;
}

/* --- the backlog ------------------------------------------------------------------------------ */

/* Appends an empty block to the backlog of a ring. Returns the block; NULL if all blocks are in
 * use. */
static struct block *block_add(struct mapped *m)
{
	u32 i = merge.free;

	if (!i && !table_has(&merge.blocks_table, merge.nblocks + 1)) {
		/* a full backlog is not reported as a full table: the kernel counts the records
		 * that it loses because of it */
		merge.blocks_table.dropped = 0;
		return NULL;
	}
	i = i ? i : ++merge.nblocks;
	if (merge.free == i)
		merge.free = merge.blocks[i].next;
	merge.blocks[i].next = NONE;
	merge.blocks[i].n = 0;
	if (m->last)
		merge.blocks[m->last].next = i;
	m->last = i;
	if (m->first)
		return &merge.blocks[i];
	m->first = i;
	m->taken = (struct str){ merge.blocks[i].bytes, merge.blocks[i].bytes };
	return &merge.blocks[i];
}

/* Sets m->taken to the next records of a ring that are in the backlog, and frees the blocks that
 * were read completely. Returns whether the backlog has records of the ring. */
static bool has_taken(struct mapped *m)
{
	while (m->taken.p == m->taken.e && m->first) {
		struct block *old = &merge.blocks[m->first];
		u32 next = old->next;

		if (m->taken.e < old->bytes + old->n) {
			m->taken.e = old->bytes + old->n;
			break;
		}
		old->next = merge.free;
		merge.free = m->first;
		m->first = next;
		m->last = next ? m->last : NONE;
		m->taken = (struct str){ merge.blocks[next].bytes, merge.blocks[next].bytes };
	}
	return m->taken.p != m->taken.e;
}

/* Returns the next record of a ring in the backlog, to which only whole records are moved. */
static struct str taken_first(const struct mapped *m)
{
	u16 size;

	memcpy(&size, m->taken.p + 6, sizeof(size));
	return (struct str){ m->taken.p, m->taken.p + size };
}

/* Moves records of a ring to a backlog block, as many as fit into the rest of the block. Returns
 * their size in bytes. */
static size_t block_take(struct mapped *m, struct block *to)
{
	struct ring rest = m->r;
	size_t size, n = 0;

	while ((size = ring_size(&rest)) > 0 && size <= BLOCK_BYTES - to->n - n) {
		prefetch(&rest);
		n += size;
		rest.tail += size;
	}
	while (m->r.tail < rest.tail) {
		struct str part = ring_part(&m->r, m->r.tail, rest.tail);

		memcpy(to->bytes + to->n, part.p, str_len(part));
		to->n += (u32)str_len(part);
		m->r.tail += str_len(part);
	}
	return n;
}

/* Moves all records of a ring to the backlog; if the backlog is full, the rest stays in the
 * ring. */
static void ring_take(struct mapped *m)
{
	struct block *to = m->last ? &merge.blocks[m->last] : NULL;

	ring_written(m);
	while (m->r.tail != m->r.head) {
		if (to && block_take(m, to))
			continue;
		/* the record has no valid size: skip the rest of the ring */
		if (!ring_size(&m->r)) {
			rings_corrupt++;
			m->r.tail = m->r.head;
		} else if ((to = block_add(m)) == NULL) {
			break;
		}
	}
	if (m->published != m->r.tail)
		ring_publish(m);
}

static void rings_take(void)
{
	for (u32 i = 0; i < merge.nrings; i++)
		ring_take(&merge.rings[i]);
}

/* --- passing on the records of all rings in order of time ------------------------------------- */

static void heap_down(u32 i)
{
	for (;;) {
		u32 low = 2 * i + 1;
		u16 t = merge.rings[i].heap;

		if (low >= merge.nheap)
			return;
		if (low + 1 < merge.nheap &&
		    merge.rings[merge.rings[low + 1].heap].time <
			    merge.rings[merge.rings[low].heap].time)
			low++;
		if (merge.rings[t].time <= merge.rings[merge.rings[low].heap].time)
			return;
		merge.rings[i].heap = merge.rings[low].heap;
		merge.rings[low].heap = t;
		i = low;
	}
}

/* Builds the heap of the rings that have records in the backlog. */
static void heap_fill(const struct pformat *f)
{
	merge.nheap = 0;
	for (u32 i = 0; i < merge.nrings; i++) {
		struct mapped *m = &merge.rings[i];

		if (!has_taken(m))
			continue;
		m->time = prec_time(taken_first(m), f);
		merge.rings[merge.nheap++].heap = (u16)i;
	}
	for (u32 i = merge.nheap / 2; i > 0; i--)
		heap_down(i - 1);
}

/* Moves the records of the rings to the backlog, as many as it holds. Passes the records of the
 * backlog that are not later than `until` to to->handle(), in order of time. Returns the number of
 * records that were passed. */
static u64 drain_taken(u64 until, const struct ring_reader *to)
{
	/* number of records between two calls of rings_take(): as many samples as one page of a
	 * ring holds */
	enum { STEP = 64 };
	const struct pformat *common = to->format(0);
	u64 n = 0;

	rings_take();
	heap_fill(common);
	while (merge.nheap > 0 && merge.rings[merge.rings[0].heap].time <= until) {
		struct mapped *m = &merge.rings[merge.rings[0].heap];
		struct str rec = taken_first(m);

		m->taken.p = rec.e;
		record_deliver(rec, common, to);
		if (++n % STEP == 0)
			rings_take();
		if (has_taken(m))
			m->time = prec_time(taken_first(m), common);
		else
			merge.rings[0].heap = merge.rings[--merge.nheap].heap;
		heap_down(0);
	}
	return n;
}

/* Passes the records of all rings to to->handle() in order of time, except records later than
 * `until`: another CPU may be writing a record that is older than those in the rings. Samples for
 * which to->again() returns true are not decoded. Returns the number of records. While this
 * function runs, it repeatedly moves new records out of the rings, so that a burst does not
 * overflow them; if `until` is in the past, it returns even if the kernel keeps writing records.
 * The strings of a record are valid until handle() returns. If samples have no time
 * (PERF_SAMPLE_TIME), the order is that of the rings. */
u64 rings_drain(u64 until, const struct ring_reader *to)
{
	u64 n, all = 0;

	/* call drain_taken() again, since the records of some rings could not be moved to the
	 * backlog while it was full */
	while ((n = drain_taken(until, to)) > 0)
		all += n;
	return all;
}
