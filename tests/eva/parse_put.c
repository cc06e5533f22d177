/* parse_put.c - parse.c: functions that append text to a buffer.
 * In a buffer, n is at most cap, and p has cap bytes; buf_on() establishes this, and each function
 * keeps it. buf_z() writes one byte after cap: it requires a buffer made by BUF_Z(), on an array
 * with one more byte.
 * The bytes are initialised for Eva: put_dec() reads digits that it has just written, and Eva
 * cannot follow that. fresh() shows that they are initialised, in a build with -fsanitize=memory.
 * eva: parse.c -eva-precision 2 -eva-unroll-recursive-calls 2
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char text[TEXT_CAP], to[TEXT_CAP + 1], z[4096];

/* A buffer in any valid state. */
static struct buf any_buf(void)
{
	struct buf b = BUF_Z(to);

	b.cap = any_to(b.cap);
	b.n = any_to(b.cap);
	b.full = any_bool();
	return b;
}

/* Returns whether bytes were appended, or not all of them because the buffer is full. */
static inline bool grown(const struct buf *b, const struct buf *was)
{
	return b->p == was->p && b->cap == was->cap && b->n >= was->n && b->n <= b->cap && (b->full || !was->full);
}

/* A buffer to which nothing was written. */
static void fresh(void)
{
#ifndef __FRAMAC__
	char bytes[DIGITS + 8];
	struct buf b = buf_on(bytes, any_to(sizeof(bytes)));
	u64 bits = 0;

	put_dec(&b, any(), (u8)any(), (u8)any());
	for (size_t i = 0; i < b.n; i++)
		bits |= (u8)bytes[i];
	if (bits & 0x80)
		__builtin_trap();
#endif
}

static void digits(void)
{
	char d[DIGITS], *p = digits_before(d + DIGITS, any(), any_to(DIGITS));

	promised(p >= d && p <= d + DIGITS);
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct buf b = BUF(to), was;
		struct str s = ANY_IN(text);
		const char *end;

		any_bytes(z, sizeof(z) - 1);
		digits();
		fresh();
		b = any_buf();
		buf_z(&b);
		put_c(&b, (char)any());
		was = b = any_buf();
		put_str(&b, s);
		promised(grown(&b, &was));
		was = b = any_buf();
		put_n(&b, text, any_to(sizeof(text)));
		promised(grown(&b, &was));
		was = b = any_buf();
		put_z(&b, z);
		promised(grown(&b, &was));
		was = b = any_buf();
		put_columns(&b, any(), any_to(4096));
		promised(grown(&b, &was));
		was = b = any_buf();
		put_utf8(&b, (u32)any_to(0x10ffff));
		promised(grown(&b, &was));
		was = b = any_buf();
		put_dec(&b, any(), (u8)any(), (u8)any());
		promised(grown(&b, &was));
		was = b = any_buf();
		put_u64(&b, any());
		promised(grown(&b, &was));
		was = b = any_buf();
		put_hex64(&b, any());
		promised(grown(&b, &was));
		was = b = any_buf();
		put_hex(&b, (u8)any());
		promised(grown(&b, &was));
		was = b = any_buf();
		put_text(&b, s);
		promised(grown(&b, &was));
		buf_z(&b);
		end = clean_end(s, (u8)any());
		promised(end >= s.p && end <= s.e);
		if (s.p < s.e) {
			end = utf8_end(s.p, s.e);
			promised(end >= s.p && end <= s.e);
			control_is((struct str){ s.p, end });
			if (end > s.p)
				utf8_value((struct str){ s.p, end });
		}
	}
	return 0;
}
