/* parse_text.c - parse.c: texts, numbers, hashes, differences between two readings.
 * eva: parse.c -eva-precision 2 -eva-unroll-recursive-calls 2
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char ba[TEXT_CAP], bb[TEXT_CAP], bz[4096], to[64];

static void distance(struct str a, struct str b)
{
	struct nearest n = { .text = a }, found = { .name = b };
	u32 d = text_distance(a, b);
	struct buf out = BUF(to);

	promised(d == UINT32_MAX || d <= MAX_NEAR);
	nearest_try(&n, b);
	nearest_try(&n, b);
	promised(!n.name.p || n.name.p == b.p);
	put_nearest(&out, "--", &found);
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct str a = ANY_IN(ba), b = ANY_IN(bb), piece = a, line = a;
		const char *end;
		u64 v;
		i64 w;

		any_bytes(bz, sizeof(bz) - 1);
		str_eq(a, b);
		str_is(a, bz);
		piece = str_z(bz);
		promised(piece.p == bz && str_len(piece) <= strlen(bz));
		str_cmp(a, b);
		str_find(a, b);
		str_contains(a, b);
		str_among(a, bz);
		piece = a;
		str_skip(&piece, any_bool() && b.p < b.e ? (struct str){ b.p, b.p + 1 } : b);
		promised(piece.p >= a.p && piece.p <= piece.e && piece.e == a.e);
		str_trim(a);
		str_base(a);
		str_read(ba, (long)any_to(sizeof(ba)));
		str_read(ba, -(long)any_to(4095));
		for (struct str s = a; again() && str_cut(&s, (char)any(), &piece);)
			str_eq(piece, b);
		for (struct str s = a, was = a; again() && str_word(&s, &piece); was = s) {
			str_eq(piece, b);
			promised(lies_in(piece, was) && piece.p < piece.e && s.p == piece.e && s.e == a.e);
		}
		for (struct str s = a; again() && line_next(&s, &line);)
			str_eq(line, b);
		str_same(a, b, any() & 1);
		glob_match(a, b, NULL);
		if (glob_match(a, b, &piece))
			promised(lies_in(piece, b));
		str_order(a, b);
		distance(a, b);
		hash_more((u32)any(), a);
		hash64_more(any(), a);
		hash_quick(a);
		end = scan_num(a, &v);
		promised(!end || (end >= a.p && end <= a.e));
		scan_u64(a, &v);
		scan_i64(a, &w);
		parse_sensor(a, &w);
		scan_dec(a, (unsigned)any(), &v);
		parse_interval(a, &w);
		muldiv(any(), any(), any());
		course_delta((u8)any(), any(), any(), any(), &v);
		course_base((u8)any(), any(), any());
		is_plausible((u8)any() % RANGES, any(), any());
		most_in((u8)any() % RANGES, any());
		{
			struct energy e = { { any(), any(), (i64)any(), (i64)any(), (i64)any() },
					    any(), any(), any() & 1 };

			meter_step(&e.h, any(), (i64)any(), (u8)any() % RANGES);
			energy_sum(&e, any(), (i64)any(), any());
		}
	}
	return 0;
}
