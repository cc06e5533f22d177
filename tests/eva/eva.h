/* eva.h - common parts of the harnesses. Frama-C's Eva analyses them with arbitrary values from the
 * functions any*(); compiled, they are programs that draw random values, which checks the harnesses
 * themselves.
 *
 * The assumptions of every harness, and why they hold:
 * - Each view and each buffer lies in one object, and a buffer overlaps no other object. Callers
 *   use arrays or mappings.
 * - A text ends where its object ends, so that a read after the text is a read after the object.
 * - Texts have at most TEXT_CAP bytes, the longest text that the program reads in one piece; a
 *   harness with a lower limit gives the reason.
 * SPDX-License-Identifier: MIT */
#ifndef EVA_H
#define EVA_H

#include "tests/rooms.h"

enum { TEXT_CAP = 1 << 16 };

#ifdef __FRAMAC__
#include <__fc_builtin.h>

enum { ROUNDS = 1 };

static u64 any(void)
{
	return Frama_C_unsigned_long_long_interval(0, UINT64_MAX);
}

/* Any number from 0 to max. */
static u64 any_to(u64 max)
{
	return Frama_C_unsigned_long_long_interval(0, max);
}

static void any_bytes(void *p, size_t n)
{
	Frama_C_make_unknown(p, n);
}

static bool again(void)
{
	return any_to(1);
}
#else
enum { ROUNDS = 500 };

static u64 any(void)
{
	static u64 x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	/* Small numbers, and those at the limits of types, are more likely to be edge cases. */
	return x >> 60 == 0 ? x & 7 : x >> 60 == 1 ? 0 - (x & 7) : x;
}

static u64 any_to(u64 max)
{
	u64 v = any();

	return max == UINT64_MAX ? v : v % (max + 1);
}

/* Any bytes, more often those that occur in texts. */
static void any_bytes(void *p, size_t n)
{
	static const char often[] = "\n\n:,=/'\"<>{}-. \t*0123456789abcdefx";

	for (size_t i = 0; i < n; i++)
		((char *)p)[i] = any() & 3 ? often[any_to(sizeof(often) - 2)] : (char)any();
}

static bool again(void)
{
	return any_to(15) > 0;
}
#endif

/* Checks, with random values, that the real functions keep the promises that the models of text.h
 * make. */
#ifdef __FRAMAC__
#define promised(holds) ((void)sizeof(holds))
#else
#define promised(holds) ((holds) ? (void)0 : __builtin_trap())
#endif

#define any_bool() ((bool)any_to(1))
#define any_of(array) ((array)[any_to(LEN(array) - 1)])

/* Any bytes in an array, with any length up to its size. */
static struct str any_in(char *b, size_t cap)
{
#ifdef __FRAMAC__
	size_t n = any_to(cap);

	any_bytes(b, cap);
#else
	size_t n = any_to(any_bool() ? cap < 64 ? cap : 64 : cap < 256 ? cap : 256);

	any_bytes(b + cap - n, n);
#endif
	return (struct str){ b + cap - n, b + cap };
}
#define ANY_IN(array) any_in(array, sizeof(array))

/* Returns whether one view lies in another. */
static inline bool lies_in(struct str part, struct str whole)
{
	return part.p >= whole.p && part.p <= part.e && part.e <= whole.e;
}

/* Any part of a text. */
static struct str any_part(struct str s)
{
	if (s.p < s.e)
		s.p += any_to(str_len(s));
	return s;
}

/* Reads all bytes of a view, as its receiver will. An absent view is two NULLs. */
static inline void see(struct str s)
{
	static volatile char seen;

	if (!s.p || !s.e)
		return;
	while (s.p < s.e)
		seen = *s.p++;
}

#endif
