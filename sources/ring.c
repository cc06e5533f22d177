/* ring.c - the rings that the kernel shares with us: their records, those of all of them by time.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

/* struct perf_event_mmap_page, linux/perf_event.h: only what stands where it always stood. */
enum { PAGE_HEAD = 1024, PAGE_TAIL = 1032 };

static struct mapped {
	struct ring r;
	char *page;    /* the control page; the data follows */
	size_t bytes;  /* of both */
	u64 published; /* the tail that the kernel knows */
	u64 time;      /* of the next record */
} rings[MAX_RINGS];
static u32 nrings;

u64 rings_lost, rings_corrupt;

static u16 heap[MAX_RINGS]; /* rings that have records, the earliest on top */
static u32 nheap;

static char scratch[PERF_RECORD_BYTES];

/* The low word of one of these u64. That is all that the kernel looks at too (ring_buffer_has_space() takes
 * an unsigned long), and all that 32-bit processors read and write in one go. */
static size_t *word(const struct mapped *m, size_t at)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	at += sizeof(u64) - sizeof(size_t);
#endif
	return (size_t *)(void *)(m->page + at); /* a page is aligned */
}

/* Maps the ring of a perf event, of `pages` pages, which is a power of two. Its number, or -errno. */
long rings_add(int fd, u32 pages)
{
	size_t page = sys_page();
	struct mapped *m = &rings[nrings];
	long error;

	if (nrings == MAX_RINGS)
		return -ENOSPC;
	if (!pages || pages & (pages - 1) || pages > SIZE_MAX / 2 / page)
		return -EINVAL;
	*m = (struct mapped){ .bytes = (1 + (size_t)pages) * page };
	m->page = sys_mmap(fd, m->bytes, &error);
	if (!m->page)
		return error;
	m->r.p = m->page + page;
	m->r.size = pages * (u64)page;
	return (long)nrings++;
}

void rings_close(void)
{
	while (nrings > 0) {
		nrings--;
		sys_munmap(rings[nrings].page, rings[nrings].bytes);
	}
}

/* perf_event_open(2): data_tail may move only after the last byte of what it gives back was used. */
static void ring_publish(struct mapped *m)
{
	__atomic_store_n(word(m, PAGE_TAIL), (size_t)m->r.tail, __ATOMIC_RELEASE);
	m->published = m->r.tail;
}

static void heap_down(u32 i)
{
	for (;;) {
		u32 low = 2 * i + 1;
		u16 t = heap[i];

		if (low >= nheap)
			return;
		if (low + 1 < nheap && rings[heap[low + 1]].time < rings[heap[low]].time)
			low++;
		if (rings[t].time <= rings[heap[low]].time)
			return;
		heap[i] = heap[low];
		heap[low] = t;
		i = low;
	}
}

/* The records that are there now. data_head must be read before the records that it announces. */
static void heap_fill(const struct pformat *f)
{
	nheap = 0;
	for (u32 i = 0; i < nrings; i++) {
		struct mapped *m = &rings[i];

		m->r.head += __atomic_load_n(word(m, PAGE_HEAD), __ATOMIC_ACQUIRE) - (size_t)m->r.head;
		if (m->r.head == m->r.tail)
			continue;
		ring_time(&m->r, f, &m->time);
		heap[nheap++] = (u16)i;
	}
	for (u32 i = nheap / 2; i > 0; i--)
		heap_down(i - 1);
}

/* Takes one record from the ring on top; false where it made no sense. */
static bool take_one(struct mapped *m, const struct pformat *common, const struct pformat *(*format)(u64 id),
		     void (*take)(const struct prec *r))
{
	const struct pformat *f = common;
	struct str rec;
	struct prec r;

	if (!ring_next(&m->r, scratch, &rec))
		return false;
	if (common->sample_type & (PS_ID | PS_IDENTIFIER)) {
		f = format(prec_id(rec, common));
		f = f ? f : common;
	}
	if (!prec_decode(rec, f, &r)) {
		rings_corrupt++;
		return true;
	}
	rings_lost += r.lost;
	take(&r);
	return true;
}

/* Hands on the records of all rings in the order of their times, but leaves those after `until`: a record
 * that another CPU writes at this moment may be older than one that is already here. How many.
 * format(id): how records of that event are laid out; of id 0, what all events have in common. A record's
 * views last until take() returns. Where no event has TIME, the order is that of the rings. */
u64 rings_drain(u64 until, const struct pformat *(*format)(u64 id), void (*take)(const struct prec *r))
{
	const struct pformat *common = format(0);
	u64 n = 0;

	heap_fill(common);
	while (nheap > 0 && rings[heap[0]].time <= until) {
		struct mapped *m = &rings[heap[0]];

		n += take_one(m, common, format, take);
		/* Not after each record: the kernel's side of that cache line is busy too. */
		if (m->r.tail - m->published >= m->r.size / 4)
			ring_publish(m);
		if (m->r.tail != m->r.head)
			ring_time(&m->r, common, &m->time);
		else
			heap[0] = heap[--nheap];
		heap_down(0);
	}
	for (u32 i = 0; i < nrings; i++) {
		if (rings[i].published != rings[i].r.tail)
			ring_publish(&rings[i]);
		rings_corrupt += rings[i].r.corrupt;
		rings[i].r.corrupt = 0;
	}
	return n;
}
