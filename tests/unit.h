/* unit.h - for unit tests: TAP output (testanything.org), and inputs next to inaccessible memory.
 * SPDX-License-Identifier: MIT */
#ifndef UNIT_H
#define UNIT_H

#include "tests/rooms.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned unit_ran, unit_failed;

/* Reports one test; its name is formatted as by printf. */
__attribute__((format(printf, 2, 3), unused)) static bool check(bool cond, const char *fmt, ...)
{
	va_list ap;

	unit_ran++;
	unit_failed += !cond;
	printf("%sok %u - ", cond ? "" : "not ", unit_ran);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout); /* keeps the output in order if the test crashes */
	return cond;
}

/* Prints a line of explanation, formatted as by printf. */
__attribute__((format(printf, 1, 2), unused)) static void note(const char *fmt, ...)
{
	va_list ap;

	printf("#   ");
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
}

/* Compares two numbers, and prints both if they differ. */
__attribute__((format(printf, 3, 4), unused)) static bool check_u64(u64 got, u64 want, const char *fmt, ...)
{
	char name[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (!check(got == want, "%s", name))
		note("got %" PRIu64 ", want %" PRIu64, got, want);
	return got == want;
}

/* Makes the argument of mkdtemp() or mkstemp(): a name in the folder that tests/unit removes; where
 * another program runs the test, in memory, because rewriting files on a disk would be slow. */
__attribute__((unused)) static char *temporary_name(char *b, size_t cap, const char *name)
{
	const char *folder = getenv("TMPDIR");

	snprintf(b, cap, "%s/%s.XXXXXX", folder ? folder : access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", name);
	return b;
}

/* Prints the plan; returns the program's exit status. */
__attribute__((unused)) static int unit_end(void)
{
	printf("1..%u\n", unit_ran);
	return unit_failed != 0;
}

/* Returns bytes in the form of a C string literal, for names and notes. The last 8 results are
 * valid. */
__attribute__((unused)) static const char *show(struct str s)
{
	static char bufs[8][600];
	static unsigned turn;
	char *b = bufs[turn++ % 8];
	size_t n = 0;

	if (!s.p)
		return "(none)";
	for (; s.p < s.e && n < sizeof(bufs[0]) - 8; s.p++) {
		if ((u8)*s.p >= ' ' && (u8)*s.p < 0x7f && *s.p != '\\' && *s.p != '#')
			b[n++] = *s.p;
		else
			n += (size_t)sprintf(b + n, *s.p == '\n' ? "\\n" : *s.p == '\t' ? "\\t" : "\\x%02x", (u8)*s.p);
	}
	b[n] = '\0';
	return b;
}

__attribute__((unused)) static bool check_str(struct str got, const char *want, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static bool check_str(struct str got, const char *want, const char *fmt, ...)
{
	char name[512];
	va_list ap;
	bool same = str_len(got) == strlen(want) && memcmp(got.p ? got.p : "", want, strlen(want)) == 0;

	va_start(ap, fmt);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	if (!check(same, "%s", name)) {
		note("got  %s", show(got));
		note("want %s", show(str_z(want)));
	}
	return same;
}

/* Fills devices[] with zeros: its first n rows can be used without device_add(). */
static inline void devices_clear(u32 n)
{
	while (nrows.devices < n && device_add() != NONE)
		;
	memset(devices, 0, (n + 1) * sizeof(*devices));
	nrows.devices = 0;
}

/* --- memory before or after an inaccessible page ---------------------------------------------- */

enum { EDGE_BYTES = 1 << 20 };

static char *edge_low, *edge_high; /* EDGE_BYTES between two inaccessible pages */

static void edge_map(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *p;

	if (edge_low)
		return;
	p = mmap(NULL, EDGE_BYTES + 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || mprotect(p, page, PROT_NONE) || mprotect(p + page + EDGE_BYTES, page, PROT_NONE)) {
		puts("Bail out! mmap");
		exit(1);
	}
	edge_low = p + page;
	edge_high = edge_low + EDGE_BYTES;
}

/* Returns n bytes, at most EDGE_BYTES, that end at the inaccessible page. */
__attribute__((unused)) static char *edge_page(size_t n)
{
	edge_map();
	return edge_high - n;
}

/* Returns a copy that ends at the inaccessible page. */
__attribute__((unused)) static struct str edge_str(const char *p, size_t n)
{
	char *q = edge_page(n);

	if (n)
		memcpy(q, p, n);
	return (struct str){ q, q + n };
}

/* Returns a copy that begins after an inaccessible page. */
__attribute__((unused)) static struct str edge_after(const char *p, size_t n)
{
	edge_map();
	if (n)
		memcpy(edge_low, p, n);
	return (struct str){ edge_low, edge_low + n };
}

/* Returns whether a view is within its source; a view without a pointer is. */
__attribute__((unused)) static bool within(struct str view, struct str whole)
{
	return !view.p || (view.p >= whole.p && view.p <= view.e && view.e <= whole.e);
}

/* Feeds every truncation of an input, and every change of one byte to a hostile value. feed()
 * returns true if its result is possible. Returns false after a note if a result was not. */
__attribute__((unused)) static bool replay(struct str in, bool (*feed)(struct str s))
{
	static const char hostile[] = { '\0', '\xff', '\n', ':', '9', ' ', '-' };
	size_t n = str_len(in), bad = 0;

	for (size_t i = 0; i <= n; i++)
		if (!feed(edge_str(in.p, i)) && !bad++)
			note("impossible answer to the first %zu bytes", i);
	if (!feed(edge_after(in.p, n)) && !bad++)
		note("impossible answer behind a page that faults");
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < sizeof(hostile); k++) {
			struct str s = edge_str(in.p, n);

			edge_high[(ptrdiff_t)i - (ptrdiff_t)n] = hostile[k];
			if (!feed(s) && !bad++)
				note("impossible answer with byte %zu made 0x%02x", i, (u8)hostile[k]);
		}
	return !bad;
}

/* --- what output formats may contain ---------------------------------------------------------- */

/* The length of a UTF-8 character by RFC 3629, checked by its value instead of by ranges of bytes;
 * 0: invalid. */
__attribute__((unused)) static size_t utf8_plain(const char *p, const char *e)
{
	static const u32 least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	u8 c = (u8)*p;
	size_t n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
	u32 v = n < 2 ? c : c & (0x7fu >> n);

	if (n == 0 || (size_t)(e - p) < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((u8)p[i] >> 6 != 2)
			return 0;
		v = v << 6 | ((u8)p[i] & 0x3f);
	}
	return v < least[n] || v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? 0 : n;
}

/* Returns whether a text has no byte that could move a cursor or break a line, except for
 * newlines if allowed. */
__attribute__((unused)) static bool is_clean(struct str s, bool newlines)
{
	while (s.p < s.e) {
		size_t n = utf8_plain(s.p, s.e);

		if (n == 0 || (u8)*s.p == 0x7f || ((u8)*s.p < 0x20 && !(newlines && *s.p == '\n')) ||
		    (n == 2 && (u8)s.p[0] == 0xc2 && (u8)s.p[1] < 0xa0))
			return false;
		s.p += n;
	}
	return true;
}

/* JSON, RFC 8259: the end of the value at p, or NULL. The keys of the outermost object, with their
 * quotes, are appended to *keys, which may be NULL. */
static const char *json_value_end(const char *p, const char *e, int depth, struct buf *keys);

static const char *json_string_end(const char *p, const char *e)
{
	if (p >= e || *p++ != '"')
		return NULL;
	while (p < e && *p != '"') {
		if (*p == '\\') {
			if (++p >= e || !memchr("\"\\/bfnrtu", *p, 9))
				return NULL;
			for (int i = *p == 'u' ? 4 : 0; i > 0; i--)
				if (++p >= e || !memchr("0123456789abcdefABCDEF", *p, 22))
					return NULL;
			p++;
		} else {
			size_t n = (u8)*p < 0x20 ? 0 : utf8_plain(p, e);

			if (n == 0)
				return NULL;
			p += n;
		}
	}
	return p < e ? p + 1 : NULL;
}

static const char *json_digits_end(const char *p, const char *e)
{
	const char *from = p;

	while (p < e && *p >= '0' && *p <= '9')
		p++;
	return p > from ? p : NULL;
}

static const char *json_number_end(const char *p, const char *e)
{
	if (p < e && *p == '-')
		p++;
	p = p < e && *p == '0' ? p + 1 : json_digits_end(p, e);
	if (p && p < e && *p == '.')
		p = json_digits_end(p + 1, e);
	if (p && p < e && (*p == 'e' || *p == 'E')) {
		p++;
		if (p < e && (*p == '+' || *p == '-'))
			p++;
		p = json_digits_end(p, e);
	}
	return p;
}

static const char *json_members_end(const char *p, const char *e, int depth, struct buf *keys)
{
	char close = *p == '{' ? '}' : ']';

	if (++p < e && *p == close)
		return p + 1;
	for (; p < e; p++) {
		if (close == '}') {
			const char *end = json_string_end(p, e);

			if (!end || end >= e || *end != ':')
				return NULL;
			if (keys && depth == 0 && keys->cap - keys->n > (size_t)(end - p)) {
				memcpy(keys->p + keys->n, p, (size_t)(end - p));
				keys->n += (size_t)(end - p);
			}
			p = end + 1;
		}
		p = json_value_end(p, e, depth + 1, keys);
		if (!p || p >= e)
			return NULL;
		if (*p == close)
			return p + 1;
		if (*p != ',')
			return NULL;
	}
	return NULL;
}

static const char *json_value_end(const char *p, const char *e, int depth, struct buf *keys)
{
	static const char *const words[] = { "null", "true", "false" };

	if (p >= e || depth > 16)
		return NULL;
	if (*p == '"')
		return json_string_end(p, e);
	if (*p == '{' || *p == '[')
		return json_members_end(p, e, depth, keys);
	for (size_t i = 0; i < LEN(words); i++)
		if ((size_t)(e - p) >= strlen(words[i]) && memcmp(p, words[i], strlen(words[i])) == 0)
			return p + strlen(words[i]);
	return json_number_end(p, e);
}

/* Returns whether a text has one JSON value per line, without blanks and control bytes. */
__attribute__((unused)) static bool json_ok(struct str s, struct buf *keys)
{
	const char *p = s.p;

	if (!is_clean(s, true))
		return false;
	while (p < s.e) {
		p = json_value_end(p, s.e, 0, keys);
		if (!p || p == s.e || *p++ != '\n')
			return false;
	}
	return true;
}

/* --- 128-bit arithmetic, also for compilers without __int128 ---------------------------------- */

#ifdef __SIZEOF_INT128__
__extension__ typedef unsigned __int128 u128;

__attribute__((unused)) static u64 plain_high(u64 a, u64 b)
{
	return (u64)((u128)a * b >> 64);
}

/* a * b / c, rounded down; the largest number if it overflows. */
__attribute__((unused)) static u64 plain_muldiv(u64 a, u64 b, u64 c)
{
	return plain_high(a, b) >= c ? UINT64_MAX : (u64)((u128)a * b / c);
}
#else
__attribute__((unused)) static u64 plain_high(u64 a, u64 b)
{
	u64 low = (u32)a * (u64)(u32)b, mid = (a >> 32) * (u32)b + (low >> 32), mid2 = (u32)a * (b >> 32) + (u32)mid;

	return (a >> 32) * (b >> 32) + (mid >> 32) + (mid2 >> 32);
}

__attribute__((unused)) static u64 plain_muldiv(u64 a, u64 b, u64 c)
{
	u64 high = plain_high(a, b), low = a * b;

	if (high >= c)
		return UINT64_MAX;
	for (int i = 0; i < 64; i++) {
		bool carry = high >> 63;

		high = high << 1 | low >> 63;
		low <<= 1;
		if (carry || high >= c) {
			high -= c;
			low |= 1;
		}
	}
	return low;
}
#endif

/* --- random numbers --------------------------------------------------------------------------- */

/* Pseudo-random numbers, the same in each run: splitmix64. */
__attribute__((unused)) static u64 rnd(void)
{
	static u64 state = 0x9e3779b97f4a7c15;
	u64 z = state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

/* A pseudo-random number from 0 to n - 1. */
__attribute__((unused)) static size_t rnd_of(size_t n)
{
	return (size_t)(rnd() % n);
}

#endif
