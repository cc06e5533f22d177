/* perfstream_ring.c - perfstream.c: rings of perf events and their records.
 * A ring's bytes are those of its mapping, a power of two of them; head and tail are any, since the kernel writes one of them.
 * eva: perfstream.c parse.c -eva-precision 2
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char data[1 << 16], scratch[PERF_RECORD_BYTES], text[PERF_RECORD_BYTES];

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct pformat f = { any(), any(), any(), any(), any(), any_bool() };
		struct ring ring = { data, sizeof(data), any(), any(), 0 };
		struct str rec = ANY_IN(text), values = ANY_IN(text);
		struct prec r;
		struct pvalue v;
		size_t at = any();
		u64 t, ip;
		u8 mode = (u8)any();

		any_bytes(data, sizeof(data));
		ring_load(&ring, any(), scratch, any_to(sizeof(data)));
		ring_size(&ring);
		ring_time(&ring, &f, &t);
		while (again() && ring_next(&ring, scratch, &rec))
			prec_decode(rec, &f, &r);
		rec = ANY_IN(text);
		prec_id(rec, &f);
		prec_decode(rec, &f, &r);
		while (again() && chain_next(&values, &mode, &ip))
			;
		values_next(values, any(), &at, &v);
	}
	return 0;
}
