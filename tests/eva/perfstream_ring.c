/* perfstream_ring.c - perfstream.c: rings of perf events and their records.
 * The size of a ring is the size of its mapping, a power of two, at least 8; head and tail have any
 * value, because the kernel writes one of them. ring_load() gets complete records: multiples of 8,
 * as ring_size() returns, and a buffer that is large enough.
 * A record is any view in one object, which includes all records of rings.
 * eva: perfstream.c parse.c -eva-precision 2 -eva-split-return auto -eva-split-return-function ring_next:full -eva-slevel-function ring_next:20,rings:60
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char data[1 << 16], scratch[PERF_RECORD_BYTES], text[PERF_RECORD_BYTES], to[1 << 16];

static void decode(struct str rec)
{
	const struct pformat f = { any(), any(), any(), any(), any(), any_bool() };
	struct prec r;

	prec_id(rec, &f);
	if (!prec_decode(rec, &f, &r))
		return;
	see(r.raw);
	see(r.chain);
	see(r.values);
	see(r.name);
	see(r.build_id);
}

/* A ring that ends with its object, so that any read after it is an error. */
static void rings(size_t size)
{
	const struct pformat f = { any(), any(), any(), any(), any(), any_bool() };
	struct ring ring = { data + sizeof(data) - size, size, any(), any(), 0 };
	struct str rec;
	size_t n = any_to(size / 8) * 8;

	ring_load(&ring, any(), to, n);
	if (any_bool())
		ring.head = ring.tail + any_to(size);
	if (ring_size(&ring))
		ring_type(&ring);
	ring_time(&ring, &f);
	while (again() && ring_next(&ring, scratch, &rec)) {
		see(rec);
		prec_time(rec, &f);
	}
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct str s = ANY_IN(text);
		struct pvalue v;
		size_t at = any();
		u64 ip;
		u8 mode = (u8)any();

		any_bytes(data, sizeof(data));
		//@ loop unroll 14;
		for (size_t size = 8; size <= sizeof(data); size *= 2)
			rings(size);
		decode(s);
		see(note_build_id(s, any_bool(), any_bool() ? 8 : 4));
		while (again() && chain_next(&s, &mode, &ip))
			;
		values_next(s, any(), &at, &v);
	}
	return 0;
}
