/* ring.c - the rings that the kernel shares with us: their records, those of all of them by time.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "gpustat/perf.h"
#include <errno.h>

static struct mapped {
	struct ring r;
	struct gp_ring map;
	u64 published; /* the tail that the kernel knows */
	u64 time;      /* of the next record */
	u16 heap;      /* not of this ring, but the i-th place of the heap: rings that have records, the earliest on top */
} *rings;
static TABLE(rings, MAX_RINGS, 16, "rings of perf events");
static u32 nrings, nheap;

u64 rings_lost, rings_corrupt;

/* Maps the ring of a perf event, of `pages` pages, which is a power of two. Its number, or -errno. */
long rings_add(int fd, u32 pages)
{
	struct mapped *m;
	int error;

	if (!table_has(&rings_table, nrings))
		return -ENOMEM;
	m = &rings[nrings];
	*m = (struct mapped){ 0 };
	error = pages ? gp_map(&m->map, fd, pages) : -EINVAL;
	if (error)
		return error;
	m->r.p = m->map.data;
	m->r.size = m->map.size;
	return (long)nrings++;
}

void rings_close(void)
{
	while (nrings > 0)
		gp_unmap(&rings[--nrings].map);
}

static void ring_publish(struct mapped *m)
{
	ring_give(m->map.page, m->r.tail);
	m->published = m->r.tail;
}

static void heap_down(u32 i)
{
	for (;;) {
		u32 low = 2 * i + 1;
		u16 t = rings[i].heap;

		if (low >= nheap)
			return;
		if (low + 1 < nheap && rings[rings[low + 1].heap].time < rings[rings[low].heap].time)
			low++;
		if (rings[t].time <= rings[rings[low].heap].time)
			return;
		rings[i].heap = rings[low].heap;
		rings[low].heap = t;
		i = low;
	}
}

/* The records that are there now. */
static void heap_fill(const struct pformat *f)
{
	nheap = 0;
	for (u32 i = 0; i < nrings; i++) {
		struct mapped *m = &rings[i];

		m->r.head = ring_head(m->map.page, m->r.head);
		if (m->r.head == m->r.tail)
			continue;
		ring_time(&m->r, f, &m->time);
		rings[nheap++].heap = (u16)i;
	}
	for (u32 i = nheap / 2; i > 0; i--)
		heap_down(i - 1);
}

/* Takes one record from the ring on top; false where it made no sense. */
static bool take_one(struct mapped *m, const struct pformat *common, const struct pformat *(*format)(u64 id),
		     void (*take)(const struct prec *r))
{
	const struct pformat *f = common;
	char scratch[PERF_RECORD_BYTES]; /* touched by what goes over the ring's end */
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
	while (nheap > 0 && rings[rings[0].heap].time <= until) {
		struct mapped *m = &rings[rings[0].heap];

		n += take_one(m, common, format, take);
		/* Not after each record: the kernel's side of that cache line is busy too. */
		if (m->r.tail - m->published >= m->r.size / 4)
			ring_publish(m);
		if (m->r.tail != m->r.head)
			ring_time(&m->r, common, &m->time);
		else
			rings[0].heap = rings[--nheap].heap;
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
