/* eva.h - what the harnesses here are made of. Frama-C's Eva reads them with arbitrary values for all that is called any;
 * built by a compiler they are programs that draw these at random, a check that they do what they say.
 *
 * What each of them takes for granted, and why it may:
 * - Views and buffers lie in one object each, and one that is written overlaps no other. Callers have arrays or mappings.
 * - Text ends where its object ends: what reads behind a text reads behind an object here, wherever else it lies.
 * - Texts are at most TEXT_CAP bytes, the longest that the program reads in one piece; a harness that is content with
 *   less says why.
 * SPDX-License-Identifier: MIT */
#ifndef EVA_H
#define EVA_H

#include "gpustat.h"

enum { TEXT_CAP = 1 << 16 };

#ifdef __FRAMAC__
#include <__fc_builtin.h>

enum { ROUNDS = 1 };

static u64 any(void)
{
	return Frama_C_unsigned_long_long_interval(0, UINT64_MAX);
}

/* 0 to max. */
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
	/* Small numbers, and those at the ends of types, are more likely to be edges. */
	return x >> 60 == 0 ? x & 7 : x >> 60 == 1 ? 0 - (x & 7) : x;
}

static u64 any_to(u64 max)
{
	u64 v = any();

	return max == UINT64_MAX ? v : v % (max + 1);
}

/* Any byte, but more often one that texts are made of. */
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

/* What models of text.h promise of the functions that they stand for is seen of these, with values drawn at random. */
#ifdef __FRAMAC__
#define promised(holds) ((void)sizeof(holds))
#else
#define promised(holds) ((holds) ? (void)0 : __builtin_trap())
#endif

#define any_bool() ((bool)any_to(1))
#define any_of(array) ((array)[any_to(LEN(array) - 1)])

/* Any bytes in an array, of any number up to its size. */
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

/* One view in another. */
static inline bool lies_in(struct str part, struct str whole)
{
	return part.p >= whole.p && part.p <= part.e && part.e <= whole.e;
}

/* A view into a text, anywhere. */
static struct str any_part(struct str s)
{
	if (s.p < s.e)
		s.p += any_to(str_len(s));
	return s;
}

/* Reads all that a view has, as whoever got it will. One that is not there is two NULLs. */
static inline void see(struct str s)
{
	static volatile char seen;

	if (!s.p || !s.e)
		return;
	while (s.p < s.e)
		seen = *s.p++;
}

#endif
