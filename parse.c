/* parse.c - text that the kernel prints, and that users type, to values; and text being put together. Pure: bytes in,
 * values out; no system call, no state. SPDX-License-Identifier: MIT */
#include "gpustat.h"

struct str str_z(const char *z)
{
	return z ? (struct str){ z, z + strlen(z) } : (struct str){ 0 };
}

bool str_eq(struct str a, struct str b)
{
	return str_len(a) == str_len(b) && str_skip(&a, b);
}

bool str_is(struct str s, const char *z)
{
	return str_eq(s, str_z(z));
}

/* Moves s past lead if it begins with it. */
bool str_skip(struct str *s, struct str lead)
{
	const char *p = s->p;

	for (; lead.p < lead.e; p++, lead.p++)
		if (p >= s->e || *p != *lead.p)
			return false;
	s->p = p;
	return true;
}

bool str_skip_z(struct str *s, const char *lead)
{
	return str_skip(s, str_z(lead));
}

/* Eight bytes as this machine has them in a register. */
static inline u64 load8(const char *p)
{
	u64 w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* The high bit of each byte of w that is c. */
HOT static inline u64 bytes_like(u64 w, char c)
{
	static const u64 low7 = UINT64_MAX / 255 * 0x7f;

	w ^= UINT64_MAX / 255 * (u8)c;
	return ~(((w & low7) + low7) | w | low7);
}

/* In which of the bytes, in their order in memory, the first bit is. */
HOT static inline unsigned byte_first(u64 bits)
{
	return (unsigned)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? __builtin_ctzll(bits) : __builtin_clzll(bits)) / 8;
}

/* Where the first c is, from p on; e: nowhere. */
HOT static const char *byte_find(const char *p, const char *e, char c)
{
	for (; e - p >= 8; p += 8) {
		u64 found = bytes_like(load8(p), c);

		if (found)
			return p + byte_first(found);
	}
	while (p < e && *p != c)
		p++;
	return p;
}

HOT static inline bool is_blank(char c)
{
	return (u8)c <= ' ' && (c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f');
}

static bool is_digit(char c)
{
	return (u8)(c - '0') < 10;
}

struct str str_trim(struct str s)
{
	while (s.p < s.e && is_blank(*s.p))
		s.p++;
	while (s.p < s.e && is_blank(s.e[-1]))
		s.e--;
	return s;
}

/* What a read gave that returned n, which may be -errno. */
struct str str_got(const char *b, long n)
{
	return (struct str){ b, n > 0 ? b + n : b };
}

/* The next piece up to sep, which is eaten; s moves past it. False at the end, where the piece is empty. */
bool str_cut(struct str *s, char sep, struct str *piece)
{
	bool any = s->p < s->e;
	const char *q = any ? byte_find(s->p, s->e, sep) : s->p;

	*piece = (struct str){ s->p, q };
	s->p = q < s->e ? q + 1 : q;
	return any;
}

/* The next blank-separated word. */
bool str_word(struct str *s, struct str *word)
{
	while (s->p < s->e && (is_blank(*s->p) || *s->p == '\n'))
		s->p++;
	word->p = s->p;
	while (s->p < s->e && !is_blank(*s->p) && *s->p != '\n')
		s->p++;
	word->e = s->p;
	return word->p < word->e;
}

/* Which of the words it is, as they stand in a text; how many there are: none. */
size_t str_among(struct str s, const char *words)
{
	struct str rest = str_z(words), word;
	size_t i = 0;

	while (str_word(&rest, &word) && !str_eq(s, word))
		i++;
	return i;
}

/* What follows the last '/'. */
struct str str_base(struct str s)
{
	const char *p = s.e;

	while (p > s.p && p[-1] != '/')
		p--;
	return (struct str){ p, s.e };
}

bool str_find(struct str s, struct str what)
{
	for (;; s.p++) {
		struct str rest = s;

		if (str_skip(&rest, what))
			return true;
		if (s.p >= s.e)
			return false;
	}
}

/* The next whole line, without its newline. A last line that lacks one was cut: it is not given. */
bool line_next(struct str *text, struct str *line)
{
	const char *q = byte_find(text->p, text->e, '\n');

	if (q >= text->e)
		return false;
	*line = (struct str){ text->p, q };
	text->p = q + 1;
	return true;
}

/* '*' any run, '?' any byte; what stands before and after the last '*' tells where it matched:
 * *star (may be NULL) gets that text. */
bool glob_match(struct str pat, struct str s, struct str *star)
{
	struct str seen = { s.p, s.p };
	const char *backp = NULL, *backs = NULL;

	while (s.p < s.e) {
		if (pat.p < pat.e && *pat.p == '*') {
			backp = ++pat.p;
			backs = s.p;
			seen = (struct str){ s.p, s.p };
		} else if (pat.p < pat.e && (*pat.p == '?' || *pat.p == *s.p)) {
			pat.p++;
			s.p++;
		} else if (backp) {
			pat.p = backp;
			s.p = ++backs;
			seen.e = backs;
		} else {
			return false;
		}
	}
	while (pat.p < pat.e && *pat.p == '*') {
		seen = s;
		pat.p++;
	}
	if (star)
		*star = seen;
	return pat.p == pat.e;
}

/* memcmp's answer; a text stands before what it begins. */
int str_cmp(struct str a, struct str b)
{
	for (; a.p < a.e && b.p < b.e; a.p++, b.p++)
		if (*a.p != *b.p)
			return (u8)*a.p - (u8)*b.p;
	return (a.p < a.e) - (b.p < b.e);
}

/* memcmp's answer, but numbers count as such: a_2 stands before a_10. */
int str_order(struct str a, struct str b)
{
	while (a.p < a.e && b.p < b.e) {
		u64 x = 0, y = 0;
		const char *p = scan_u64(a, &x), *q = scan_u64(b, &y);

		if (p && q && x != y)
			return x < y ? -1 : 1;
		if (*a.p != *b.p)
			return (u8)*a.p < (u8)*b.p ? -1 : 1;
		a.p++;
		b.p++;
	}
	return (a.p < a.e) - (b.p < b.e);
}

/* FNV-1a, goes on from h: HASH_BEGIN, or what other texts came to. */
u32 hash_more(u32 h, struct str s)
{
	for (; s.p < s.e; s.p++)
		h = (h ^ (u8)*s.p) * 16777619u;
	return h;
}

/* The same in 64 bits, where two texts must not come to one. */
u64 hash64_more(u64 h, struct str s)
{
	for (; s.p < s.e; s.p++)
		h = (h ^ (u8)*s.p) * HASH64_TIMES;
	return h;
}

/* Tells texts apart that are compared often: 16 bytes at a time. Its value is this machine's, and is never kept in files. Each
 * step is a permutation, so that texts that differ in one word never come to the same. */
HOT u64 hash_quick(struct str s)
{
	u64 a = str_len(s) + 1, b = HASH64_BEGIN;
	char last[16] = { 0 };

	for (bool end = false; !end;) {
		const char *p = s.p;

		end = s.e - s.p < 16;
		if (s.e - s.p >= 16) {
			s.p += 16;
		} else {
			for (size_t i = 0; s.p < s.e && i < sizeof(last); i++)
				last[i] = *s.p++;
			p = last;
		}
		a = (a ^ load8(p)) * UINT64_C(0x9e3779b97f4a7c15);
		b = (b ^ load8(p + 8)) * UINT64_C(0x9e3779b97f4a7c15);
		a ^= a >> 32;
		b ^= b >> 32;
	}
	a = (a ^ (b << 32 | b >> 32)) * HASH64_TIMES;
	return a ? a : 1;
}

/* Where the digits end; NULL, and *v untouched, if there is none or no room. */
const char *scan_u64(struct str s, u64 *v)
{
	const char *p = s.p;
	u64 x = 0;

	for (; p < s.e && is_digit(*p); p++) {
		u8 d = (u8)(*p - '0');

		if (x > (UINT64_MAX - d) / 10)
			return NULL;
		x = 10 * x + d;
	}
	if (p == s.p)
		return NULL;
	*v = x;
	return p;
}

/* The same with a sign; the magnitude up to INT64_MAX. */
const char *scan_i64(struct str s, i64 *v)
{
	bool neg = s.p < s.e && *s.p == '-';
	u64 x = 0;
	const char *p;

	if (neg)
		s.p++;
	p = scan_u64(s, &x);
	if (!p || x > INT64_MAX)
		return NULL;
	*v = neg ? -(i64)x : (i64)x;
	return p;
}

/* A decimal as an integer of 10^-point: "8.0" with point 1 is 80, as is "8"; ".5" is 5. Further digits are
 * dropped. */
const char *scan_dec(struct str s, unsigned point, u64 *v)
{
	u64 x = 0;
	bool frac = s.e - s.p > 1 && *s.p == '.' && is_digit(s.p[1]);
	const char *p = frac ? s.p : scan_u64(s, &x);

	if (!p)
		return NULL;
	frac = p < s.e && *p == '.';
	if (frac)
		p++;
	for (; point > 0; point--) {
		u8 d = frac && p < s.e && is_digit(*p) ? (u8)(*p++ - '0') : 0;

		if (x > (UINT64_MAX - d) / 10)
			return NULL;
		x = 10 * x + d;
	}
	while (frac && p < s.e && is_digit(*p))
		p++;
	*v = x;
	return p;
}

/* A decimal number with one of units[] behind it and nothing else, times the unit. */
static bool scan_unit(struct str s, const struct unitword *words, size_t n, u64 *v)
{
	u64 x = 0;
	const char *p = scan_u64(s, &x);
	struct str unit;

	if (!p)
		return false;
	unit = str_trim((struct str){ p, s.e });
	for (size_t i = 0; i < n; i++) {
		if (!str_is(unit, words[i].word))
			continue;
		if (words[i].times && x > UINT64_MAX / words[i].times)
			return false;
		*v = x * words[i].times;
		return words[i].times != 0;
	}
	return false;
}

/* Intervals as users type them: 100ms 1 1.5s 2m 1h; seconds without a unit. In ns, more than 0. */
bool parse_interval(struct str s, i64 *ns)
{
	static const struct unitword words[] = {
		{ "", 1000000000 },   { "s", 1000000000 },     { "ms", 1000000 },
		{ "us", 1000 },       { "ns", 1 },             { "m", 60000000000 },
		{ "min", 60000000000 }, { "h", 3600000000000 },
	};
	u64 x = 0; /* billionths of the unit */
	struct str unit;
	const char *p = scan_dec(s, 9, &x);

	if (!p)
		return false;
	unit = (struct str){ p, s.e };
	for (size_t i = 0; i < LEN(words); i++) {
		u64 v;

		if (!str_is(unit, words[i].word))
			continue;
		v = muldiv(x, words[i].times, 1000000000);
		if (v == 0 || v >= (u64)INT64_MAX / 4)
			return false;
		*ns = (i64)v;
		return true;
	}
	return false;
}

/* --- what is read, and from one reading to the next ------------------------------------------------ */

/* a*b/c, rounded down, in 128 bits; UINT64_MAX where it does not fit or c is 0. By hand, since 32-bit
 * targets have no 128-bit type. */
u64 muldiv(u64 a, u64 b, u64 c)
{
	u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
	u64 mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (u32)mid;
	u64 hi = ah * bh + (mid >> 32) + (mid2 >> 32), lo = a * b, q = 0;

	if (hi >= c)
		return UINT64_MAX;
	if (hi == 0)
		return lo / c;
	for (int i = 0; i < 64; i++) {
		bool over = hi >> 63;

		hi = hi << 1 | lo >> 63;
		lo <<= 1;
		q <<= 1;
		if (over || hi >= c) {
			hi -= c;
			q |= 1;
		}
	}
	return q;
}

/* Computes the increase between two readings of a counter. Returns false if it cannot be known. */
bool course_delta(u8 course, u64 was, u64 now, u64 *d)
{
	*d = now - was;
	if (now >= was)
		return true;
	if (course == CO_WRAP32)
		*d = now + (1ull << 32) - was;
	else
		*d = 0;
	/* A value that 32 bits did not hold has not wrapped. */
	return course == CO_PEAK || (course == CO_WRAP32 && was <= UINT32_MAX);
}

/* From which value the next delta counts. */
u64 course_base(u8 course, u64 was, u64 now)
{
	return course == CO_PEAK && now < was ? was : now;
}

/* --- text being put together -------------------------------------------------------------------- */

struct buf buf_on(char *p, size_t cap)
{
	return (struct buf){ .p = p, .cap = cap };
}

/* What has been put together, with an end: the buffer was begun with room for it. */
const char *buf_z(const struct buf *b)
{
	b->p[b->n] = '\0';
	return b->p;
}

/* All of it or nothing. Most pieces are words: these moves are done before memcpy has begun. That there is room is asked at
 * each of them, too: so a prover sees it without knowing how long the piece is. */
void put_str(struct buf *b, struct str s)
{
	char *to = b->p + b->n, *end = b->p + b->cap;

	if (s.e - s.p > end - to) {
		b->full = true;
		return;
	}
	for (; s.e - s.p >= 8 && end - to >= 8; s.p += 8, to += 8)
		memcpy(to, s.p, 8);
	if (s.e - s.p >= 4 && end - to >= 4) {
		memcpy(to, s.p, 4);
		s.p += 4;
		to += 4;
	}
	while (s.p < s.e && to < end)
		*to++ = *s.p++;
	b->n = (size_t)(to - b->p);
}

void put_n(struct buf *b, const char *p, size_t n)
{
	if (n > 0) /* p may be NULL else */
		put_str(b, (struct str){ p, p + n });
}

void put_c(struct buf *b, char c)
{
	if (b->n < b->cap)
		b->p[b->n++] = c;
	else
		b->full = true;
}

void put_z(struct buf *b, const char *z)
{
	put_str(b, str_z(z));
}

/* Blanks up to column `to` of what begins at `from`: one at least. */
void put_columns(struct buf *b, size_t from, size_t to)
{
	do
		put_c(b, ' ');
	while (!b->full && b->n - from < to);
}

/* A code point, below 0x110000. */
void put_utf8(struct buf *b, u32 c)
{
	char text[4] = { 0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		text[i] = (char)(0x80 | (c & 0x3f));
	text[0] = (char)(n == 1 ? c : c | (0xf00u >> n & 0xff));
	put_str(b, (struct str){ text, text + n });
}

/* Two digits of a number below 100. */
static char *pair_before(char *e, u32 v)
{
	u32 ten = v * 205 >> 11; /* v / 10 */

	e[-1] = (char)('0' + v - 10 * ten);
	e[-2] = (char)('0' + ten);
	return e - 2;
}

/* The last decimal digits of v, in all of p up to e. Four at a time, and by multiplication: what is made to be small would
 * divide by an instruction, and numbers are most of what is written. */
static void fill_digits(char *p, char *e, u64 v)
{
	u32 x, high;

	for (; v > UINT32_MAX && e - p >= 8; v /= 100000000, e -= 8)
		fill_digits(e - 8, e, v % 100000000);
	for (u32 q; e - p >= 4; v = q) {
		q = (u32)(v * 3518437209 >> 45); /* v / 10000 */
		x = (u32)v - 10000 * q;
		high = x * 5243 >> 19; /* x / 100 */
		e = pair_before(e, x - 100 * high);
		e = pair_before(e, high);
	}
	for (x = (u32)v; e - p >= 2; x = high) {
		high = x * 5243 >> 19;
		e = pair_before(e, x - 100 * high);
	}
	if (p < e)
		*p = (char)('0' + x);
}

/* How many digits it has: about 0.301 for each bit. */
static size_t count_digits(u64 v)
{
	static const u64 tens[] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000,
		1000000000000, 10000000000000, 100000000000000, 1000000000000000, 10000000000000000, 100000000000000000,
		1000000000000000000, UINT64_C(10000000000000000000),
	};
	size_t n = (size_t)(64 - __builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= tens[n]);
}

/* The decimal digits of v, n of them at least, up to e: where they begin. */
char *digits_before(char *e, u64 v, size_t n)
{
	size_t all = count_digits(v);
	char *p = e - (all > n ? all : n);

	fill_digits(p, e, v);
	return p;
}

/* put_dec() where there is room for DIGITS: where it ends. */
static char *dec_at(char *p, u64 n, u8 point, u8 keep)
{
	int whole;
	char *dot, *e;

	for (; point > DIGITS - 2; point--) /* no unit has so many */
		n /= 10;
	whole = (int)count_digits(n) - point;
	dot = p + (whole > 0 ? whole : 1);
	e = dot + point + (point > 0);
	fill_digits(p + (point > 0), e, n);
	if (!point)
		return e;
	for (char *c = p; c < dot; c++)
		c[0] = c[1];
	*dot = '.';
	while (e - dot > 1 + keep && e[-1] == '0')
		e--;
	return e;
}

/* n * 10^-point with all its decimals, but no zeros behind the first one that `keep` asks for. Where there is room it
 * is written in its place. */
void put_dec(struct buf *b, u64 n, u8 point, u8 keep)
{
	char *to = b->p + b->n, *end = b->p + b->cap;

	if (end - to >= DIGITS) {
		b->n = (size_t)(dec_at(to, n, point, keep) - b->p);
	} else {
		char d[DIGITS] = { 0 };

		put_str(b, (struct str){ d, dec_at(d, n, point, keep) });
	}
}

void put_u64(struct buf *b, u64 v)
{
	put_dec(b, v, 0, 0);
}

/* 0x and the digits that there are. */
void put_hex64(struct buf *b, u64 v)
{
	char d[16] = { 0 }, *p = d + sizeof(d);

	do
		*--p = "0123456789abcdef"[v & 15];
	while ((v >>= 4) > 0 && p > d);
	put_z(b, "0x");
	put_str(b, (struct str){ p, d + sizeof(d) });
}

/* Where the UTF-8 sequence at p ends, shortest form, no surrogates; p where there is none. */
const char *utf8_end(const char *p, const char *e)
{
	u8 c = (u8)*p, low = 0x80, high = 0xbf;
	const char *q;
	size_t n = c < 0x80 ? 1 : c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;

	if (n == 0)
		return p;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	for (q = p + 1; n > 1; n--, q++, low = 0x80, high = 0xbf)
		if (q >= e || (u8)*q < low || (u8)*q > high)
			return p;
	return q;
}

void put_hex(struct buf *b, u8 c)
{
	put_c(b, "0123456789abcdef"[c >> 4]);
	put_c(b, "0123456789abcdef"[c & 15]);
}

/* A character that is C0, DEL, or C1 as UTF-8 writes it: terminals obey all of them. */
bool control_is(struct str c)
{
	return (c.e - c.p == 1 && ((u8)*c.p < 0x20 || *c.p == 0x7f)) ||
	       (c.e - c.p == 2 && (u8)c.p[0] == 0xc2 && (u8)c.p[1] < 0xa0);
}

/* Where the bytes end that s begins with and that are printable ASCII and mean nothing there. */
const char *clean_end(struct str s, u8 where)
{
	enum { A = 0xff, BLANK = A & ~(CLEAN_TAG | CLEAN_WORD), QUOTE = CLEAN_TEXT | CLEAN_TAG, COMMA = A & ~(CLEAN_TAG | CLEAN_CELL),
	       EQUAL = A & ~(CLEAN_TAG | CLEAN_WORD), SLASH = A & ~(CLEAN_STRING | CLEAN_WORD) };
	static const u8 clean[256] = {
		[' '] = BLANK, A, QUOTE, A, A, A, A, A, A, A, A, A, COMMA, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, EQUAL, A, A,
		['@'] = A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, SLASH, A, A, A,
		['`'] = A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A,
	};
	const char *p = s.p;

	while (p < s.e && clean[(u8)*p] & where)
		p++;
	return p;
}

/* \xNN for each byte that is no printable text. */
void put_text(struct buf *b, struct str s)
{
	while (s.p < s.e) {
		const char *end = clean_end(s, CLEAN_TEXT);

		if (end <= s.p)
			end = utf8_end(s.p, s.e);
		if (end > s.p && !control_is((struct str){ s.p, end })) {
			put_str(b, (struct str){ s.p, end });
			s.p = end;
			continue;
		}
		do {
			put_z(b, "\\x");
			put_hex(b, (u8)*s.p++);
		} while (s.p < end);
	}
}

/* --- fdinfo ------------------------------------------------------------------------------------ */

enum fdclass { C_TEXT, C_COUNT, C_TIME, C_SIZE, C_FREQ };

enum { COUNTED = 12, LONGEST_KEY = 20 };

#define KEY(lit) lit, sizeof(lit) - 1

/* The text stands in the row, not behind a pointer: of all rows at once a prover knows where that ends. */
static const struct fdkey {
	char key[LONGEST_KEY + 1];
	u8 len, field, class;
} fdkeys[] = {
	/* COUNTED of them name an engine or a region behind the '-'. Those of one letter stand together, of two that begin
	 * alike the longer one first. */
	{ KEY("drm-total-cycles-"), FD_TOTAL_CYCLES, C_COUNT },
	{ KEY("drm-total-"), FD_TOTAL, C_SIZE },
	{ KEY("drm-shared-"), FD_SHARED, C_SIZE },
	{ KEY("drm-resident-"), FD_RESIDENT, C_SIZE },
	{ KEY("drm-engine-capacity-"), FD_CAPACITY, C_COUNT },
	{ KEY("drm-engine-"), FD_BUSY_NS, C_TIME },
	{ KEY("drm-active-"), FD_ACTIVE, C_SIZE },
	{ KEY("drm-memory-"), FD_MEMORY, C_SIZE },
	{ KEY("drm-maxfreq-"), FD_MAXFREQ, C_FREQ },
	{ KEY("drm-purgeable-"), FD_PURGEABLE, C_SIZE },
	{ KEY("drm-cycles-"), FD_CYCLES, C_COUNT },
	{ KEY("drm-curfreq-"), FD_CURFREQ, C_FREQ }, /* panfrost, panthor: their own pages only */
	/* By length. seq_show() of fs/proc/fd.c prints those for FD_NONE for every descriptor. */
	{ KEY("pos"), FD_NONE, C_TEXT },
	{ KEY("ino"), FD_NONE, C_TEXT },
	{ KEY("lock"), FD_NONE, C_TEXT },
	{ KEY("flags"), FD_NONE, C_TEXT },
	{ KEY("pasid"), FD_PASID, C_TEXT },
	{ KEY("mnt_id"), FD_NONE, C_TEXT },
	{ KEY("drm-pdev"), FD_PDEV, C_TEXT },
	{ KEY("drm-driver"), FD_DRIVER, C_TEXT },
	{ KEY("drm-client-id"), FD_CLIENT, C_COUNT },
	{ KEY("drm-client-name"), FD_NAME, C_TEXT },
};

/* The row to look at first, plus 1: by the letter behind "drm-", and by the length of a key that names nothing. */
static const u8 by_letter[32] = {
	['t' & 31] = 1, ['s' & 31] = 3, ['r' & 31] = 4, ['e' & 31] = 5, ['a' & 31] = 7, ['m' & 31] = 8, ['p' & 31] = 10,
	['c' & 31] = 11,
};
static const u8 by_length[16] = { [3] = 13, [4] = 15, [5] = 16, [6] = 18, [8] = 19, [10] = 20, [13] = 21, [15] = 22 };

/* amdgpu 5.14 to 5.18 */
static const struct fdkey oldkeys[] = {
	{ KEY("pdev"), FD_PDEV, C_TEXT },
	{ KEY("vram mem"), FD_RESIDENT, C_SIZE },
	{ KEY("gtt mem"), FD_RESIDENT, C_SIZE },
	{ KEY("cpu mem"), FD_RESIDENT, C_SIZE },
};

/* Sizes: the standard's units, GiB, and the kB that always meant 1024. */
static const struct unitword size_units[] = {
	{ "", 1 },          { "KiB", 1 << 10 }, { "MiB", 1 << 20 },
	{ "GiB", 1 << 30 }, { "kB", 1 << 10 },  { "B", 1 },
};
static const struct unitword freq_units[] = {
	{ "", 1 }, { "Hz", 1 }, { "KHz", 1000 }, { "MHz", 1000000 },
};
static const struct unitword time_units[] = { { "ns", 1 }, { "", 1 } };
static const struct unitword other_times[] = { { "us", 1 }, { "ms", 1 }, { "s", 1 } };
static const struct unitword no_units[] = { { "", 1 } };

static struct str fd_key(const struct fdkey *k)
{
	return (struct str){ k->key, k->key + k->len };
}

static u8 fd_value(const struct fdkey *k, struct str text, u64 *n)
{
	bool ok;

	switch (k->class) {
	case C_TIME:
		ok = scan_unit(text, time_units, LEN(time_units), n);
		/* Well formed, but a dialect that nobody speaks yet: passed over, not malformed. */
		if (!ok && scan_unit(text, other_times, LEN(other_times), n))
			return FD_NONE;
		break;
	case C_SIZE:
		ok = scan_unit(text, size_units, LEN(size_units), n);
		break;
	case C_FREQ:
		ok = scan_unit(text, freq_units, LEN(freq_units), n);
		break;
	case C_COUNT:
		ok = scan_unit(text, no_units, LEN(no_units), n);
		break;
	default:
		ok = k->field == FD_NONE || text.p < text.e;
		break;
	}
	return ok ? k->field : FD_BAD;
}

/* "gfx0: 23.5%": amdgpu printed whole and hundredths with "%d.%d", so 23.5 is 23.05. In 1/1000 %. */
static bool old_percent(struct str s, u64 *v)
{
	u64 whole = 0, hundredths = 0;
	const char *p = scan_u64(s, &whole), *q;

	if (!p || p >= s.e || *p != '.')
		return false;
	q = scan_u64((struct str){ p + 1, s.e }, &hundredths);
	if (!q || s.e - q != 1 || *q != '%' || hundredths > 99 || whole > UINT64_MAX / 2000)
		return false;
	*v = whole * 1000 + hundredths * 10;
	return true;
}

static void fd_oldline(struct str key, struct fdline *l)
{
	for (size_t i = 0; i < LEN(oldkeys); i++)
		if (str_eq(key, fd_key(&oldkeys[i]))) {
			l->key = fd_value(&oldkeys[i], l->text, &l->n);
			str_word(&key, &l->name);
			return;
		}
	if (old_percent(l->text, &l->n))
		l->key = FD_BUSY_PCT;
}

/* Where a key ends, well with a ':': keys are printable ASCII without blanks. */
HOT static const char *key_end(const char *p, const char *e)
{
	while (p < e && (u8)(*p - '!') <= '~' - '!' && *p != ':')
		p++;
	return p;
}

/* A key of those that name nothing. NULL: none of them. */
static const struct fdkey *fd_whole(struct str key)
{
	size_t n = str_len(key), row = n < LEN(by_length) ? by_length[n] : 0;

	for (; row && row <= LEN(fdkeys) && fdkeys[row - 1].len == n; row++)
		if (str_skip(&(struct str){ key.p, key.e }, fd_key(&fdkeys[row - 1])))
			return &fdkeys[row - 1];
	return NULL;
}

/* One of those that name an engine or a region, which is left in key. */
static const struct fdkey *fd_named(struct str *key)
{
	for (const struct fdkey *k = fdkeys; k < fdkeys + COUNTED; k++)
		if (str_skip(key, fd_key(k)))
			return k;
	return NULL;
}

/* What no driver of today prints in this way. */
static void fd_odd(struct str line, bool old, struct fdline *l)
{
	struct str key = str_trim(line);
	const char *colon = byte_find(line.p, line.e, ':');

	if (str_len(key) == 0)
		return;
	l->key = FD_BAD;
	if (colon >= line.e)
		return;
	key = (struct str){ line.p, colon };
	line.p = colon + 1;
	l->text = str_trim(line);
	l->name = key;
	if (str_len(key) == 0)
		l->key = FD_NONE;
	else if (old)
		fd_oldline(key, l);
}

static void fd_line(struct str line, bool old, struct fdline *l)
{
	const char *p = key_end(line.p, line.e);
	const struct fdkey *k;

	*l = (struct fdline){ FD_NONE, { line.p, line.p }, { line.p, line.p }, 0 };
	if (p == line.p || p >= line.e || *p != ':') {
		fd_odd(line, old, l);
		return;
	}
	l->key = FD_OTHER;
	l->name = (struct str){ line.p, p++ };
	while (p < line.e && is_blank(*p))
		p++;
	while (line.e > p && is_blank(line.e[-1]))
		line.e--;
	l->text = (struct str){ p, line.e };
	if (old)
		fd_oldline(l->name, l);
	if (l->key != FD_OTHER)
		return;
	k = fd_whole(l->name);
	if (k)
		l->key = fd_value(k, l->text, &l->n);
	else if (line.p < line.e && *line.p == 'd' && (k = fd_named(&l->name)))
		l->key = str_len(l->name) == 0 ? FD_BAD : fd_value(k, l->text, &l->n);
	if (l->key == FD_CAPACITY && l->n == 0)
		l->n = 1; /* "Zero capacity is not allowed" */
}

/* How a value goes on behind its digits: where the line ends, and in *shift its unit, that of the class. NULL: otherwise. */
HOT static inline const char *fd_unit(const char *p, const char *e, u8 class, unsigned *shift)
{
	*shift = 0;
	if (p < e && *p == '\n')
		return p;
	if (class == C_SIZE && e - p > 4 && p[0] == ' ' && p[2] == 'i' && p[3] == 'B' && p[4] == '\n') {
		*shift = p[1] == 'K' ? 10 : p[1] == 'M' ? 20 : p[1] == 'G' ? 30 : 0;
		return *shift ? p + 4 : NULL;
	}
	return class == C_TIME && e - p > 3 && p[0] == ' ' && p[1] == 'n' && p[2] == 's' && p[3] == '\n' ? p + 3 : NULL;
}

/* Whether the text is the key, the first eight bytes of which it is. */
HOT static inline bool fd_ends(const char *key, size_t len, const char *p)
{
	return load8(key + len - 8) == load8(p + len - 8) && (len <= 16 || load8(key + len - 16) == load8(p + len - 16));
}

/* fd_line() for what most lines are, as the kernel's own helpers print them: "drm-total-vram:\t5 MiB". Only what it is sure of;
 * otherwise false, and nothing has changed. */
HOT static bool fd_counted(struct str *text, struct fdline *l)
{
	const char *p = text->p, *e = text->e, *q, *digits, *end;
	const struct fdkey *k;
	unsigned shift;
	u64 lead, n = 0;

	if (e - p <= LONGEST_KEY || !by_letter[p[4] & 31])
		return false;
	lead = load8(p);
	for (k = &fdkeys[by_letter[p[4] & 31] - 1]; load8(k->key) != lead || !fd_ends(k->key, k->len, p); k++)
		if (k >= fdkeys + COUNTED - 1)
			return false;
	p += k->len;
	q = key_end(p, e);
	if (q == p || q >= e || *q != ':')
		return false;
	for (digits = q + 1; digits < e && is_blank(*digits); digits++)
		;
	for (end = digits; end < e && (u8)(*end - '0') < 10; end++)
		n = 10 * n + (u8)(*end - '0');
	if (end == digits || end - digits > 19) /* more could overflow */
		return false;
	end = fd_unit(end, e, k->class, &shift);
	if (!end || n > UINT64_MAX >> shift)
		return false;
	n = k->field == FD_CAPACITY && n == 0 ? 1 : n << shift;
	*l = (struct fdline){ k->field, { p, q }, { digits, end }, n };
	text->p = end + 1;
	return true;
}

/* The next line of an fdinfo file; what it cannot use comes as FD_NONE, what is malformed as FD_BAD. */
HOT bool fdinfo_next(struct str *text, bool old, struct fdline *l)
{
	const char *end;

	if (!old && fd_counted(text, l))
		return true;
	end = byte_find(text->p, text->e, '\n');
	if (end >= text->e)
		return false; /* none, or one that was cut */
	fd_line((struct str){ text->p, end }, old, l);
	text->p = end + 1;
	return true;
}

/* Whether a line could say whose the file is: "drm-driver", "drm-pdev", "drm-client-...", "pasid", "pdev", "vram mem". Most
 * begin with other letters. */
static bool tells_whose(const char *p, const char *e)
{
	if (e - p < 5) /* of five there is p[5], too: the newline */
		return false;
	if (*p != 'd')
		return *p == 'p' || *p == 'v';
	return p[4] == 'd' || (p[4] == 'p' && p[5] == 'd') || (p[4] == 'c' && p[5] == 'l');
}

static void head_line(const struct fdline *l, struct fdhead *h, struct str *old_pdev, bool *old_memory)
{
	u64 pasid = 0;

	switch (l->key) {
	case FD_DRIVER: h->driver = l->text; break;
	case FD_PDEV:   h->pdev = l->text; break;
	case FD_NAME:   h->name = l->text; break;
	case FD_CLIENT:
		h->client = l->n;
		h->has_client = true;
		break;
	case FD_PASID:
		h->has_pasid = scan_u64(l->text, &pasid) == l->text.e;
		h->pasid = h->has_pasid ? pasid : 0;
		break;
	case FD_OTHER:
		if (str_eq(l->name, LIT("pdev")))
			*old_pdev = l->text;
		break;
	case FD_BAD:
		*old_memory |= str_eq(l->name, LIT("vram mem"));
		break;
	}
}

/* Whose it is. False: not a DRM file. The last of two equal keys counts (pvrsrvkm prints two ids). */
bool fdinfo_head(struct str text, struct fdhead *h)
{
	struct str old_pdev = { 0 };
	bool old_memory = false;

	*h = (struct fdhead){ 0 };
	for (const char *at = text.p, *end = at; end < text.e; at = end + 1) {
		struct fdline l;

		end = byte_find(at, text.e, '\n');
		if (end >= text.e || !tells_whose(at, end))
			continue;
		fd_line((struct str){ at, end }, false, &l);
		head_line(&l, h, &old_pdev, &old_memory);
	}
	if (h->driver.p)
		return true;
	if (!old_pdev.p || !h->has_pasid || !old_memory)
		return false;
	h->old = true;
	h->pdev = old_pdev;
	h->driver = LIT("amdgpu");
	return true;
}

/* --- /proc/PID --------------------------------------------------------------------------------- */

/* Start time in clock ticks since boot: field 22 of stat, counted behind the comm's last ')', since a
 * comm may hold any byte. */
bool parse_stat_start(struct str s, u64 *start)
{
	const char *p = s.e;
	struct str word;

	while (p > s.p && p[-1] != ')')
		p--;
	if (p == s.p)
		return false;
	s.p = p;
	for (int field = 3; str_word(&s, &word); field++)
		if (field == 22)
			return scan_u64(word, start) == word.e;
	return false;
}

static bool is_hex(char c)
{
	return is_digit(c) || (u8)(c - 'a') < 6;
}

static struct str hex_id(struct str part)
{
	for (const char *p = part.p; p < part.e; p++) {
		const char *q = p;

		while (q < part.e && is_hex(*q))
			q++;
		if (q - p == 64)
			return (struct str){ p, q };
		p = q < part.e ? q : q - 1;
	}
	return (struct str){ 0 };
}

/* The container that a cgroup path names, the innermost: the 64 hex digits of docker, containerd, cri-o
 * and podman, the name behind lxc.payload. or below /lxc/. Empty where there is none. */
struct str parse_container(struct str path)
{
	struct str part, id = { 0 }, prev = { path.p, path.p };

	while (path.p < path.e) {
		struct str rest, hex;

		str_cut(&path, '/', &part);
		rest = part;
		hex = hex_id(part);
		if (hex.p && !str_find(part, LIT("-conmon-"))) /* the monitor stands outside */
			id = hex;
		else if (str_skip_z(&rest, "lxc.payload.") && rest.p < rest.e)
			id = rest;
		else if (str_eq(prev, LIT("lxc")) && part.p < part.e)
			id = part;
		prev = part;
	}
	return id;
}

/* The cgroup of a process: of all hierarchies the path that names a container, else one that is not the
 * root; v2's first, then v1's of systemd, of memory, and the others. */
bool parse_cgroup(struct str text, struct str *path)
{
	static const char order[][13] = { "", "name=systemd", "memory" };
	enum { OTHER = LEN(order), PLAIN = OTHER + 1, ROOT = 2 * PLAIN, NOTHING };
	size_t best = NOTHING;
	struct str line = text, id = text, names = text;

	while (line_next(&text, &line)) {
		size_t rank = OTHER;

		if (!str_cut(&line, ':', &id) || !str_cut(&line, ':', &names) || line.p == line.e)
			continue;
		for (size_t i = 0; i < LEN(order); i++)
			if (str_is(names, order[i]))
				rank = i;
		rank = str_len(line) == 1 ? ROOT : parse_container(line).p ? rank : PLAIN + rank;
		if (rank < best) {
			best = rank;
			*path = line;
		}
	}
	return best < NOTHING;
}

/* --- sysfs ------------------------------------------------------------------------------------- */

/* KEY=value of a uevent file. */
bool parse_uevent(struct str text, struct str key, struct str *value)
{
	struct str line = text;

	while (line_next(&text, &line))
		if (str_skip(&line, key) && line.p < line.e && *line.p == '=') {
			*value = (struct str){ line.p + 1, line.e };
			return true;
		}
	return false;
}

/* "MAJOR:MINOR" */
bool parse_devno(struct str s, unsigned *maj, unsigned *min)
{
	u64 a = 0, b = 0;
	const char *p = scan_u64(s, &a), *q;

	if (!p || p >= s.e || *p != ':')
		return false;
	q = scan_u64((struct str){ p + 1, s.e }, &b);
	if (!q || (q < s.e && *q != '\n') || a > UINT32_MAX || b > UINT32_MAX)
		return false;
	*maj = (unsigned)a;
	*min = (unsigned)b;
	return true;
}

/* amdgpu's pp_dpm_*: "1: 2100Mhz *"; the starred line is the present clock, the highest the maximum. Hz. */
bool parse_dpm(struct str text, u64 *cur, u64 *max)
{
	struct str line = text, label = text;
	bool found = false;

	*max = 0;
	while (line_next(&text, &line)) {
		u64 mhz = 0;
		const char *p;

		if (!str_cut(&line, ':', &label))
			continue;
		line = str_trim(line);
		p = scan_u64(line, &mhz);
		if (!p || line.e - p < 3 || memcmp(p, "Mhz", 3) != 0 || mhz > UINT64_MAX / 1000000)
			continue; /* pp_dpm_pcie: "16.0GT/s, x16 619Mhz *" */
		mhz *= 1000000;
		if (mhz > *max)
			*max = mhz;
		if (line.e[-1] == '*') {
			*cur = mhz;
			found = true;
		}
	}
	return found;
}

/* v3d's gpu_stats, a row a queue: "queue timestamp jobs runtime". */
bool parse_v3d(struct str *text, struct str *queue, u64 *runtime)
{
	struct str line = *text, w[4] = { *text, *text, *text, *text };

	while (line_next(text, &line)) {
		size_t n = 0;

		while (n < LEN(w) && str_word(&line, &w[n]))
			n++;
		if (n == LEN(w) && scan_u64(w[1], runtime) == w[1].e && scan_u64(w[3], runtime) == w[3].e) {
			*queue = w[0];
			return true;
		}
	}
	return false;
}

/* devfreq's trans_stat: a row a state, its frequency first and the ms spent there last. The sums of
 * kHz x ms and of ms give the mean clock of any interval. */
bool parse_trans(struct str text, u64 *khz_ms, u64 *ms)
{
	struct str line = text;

	*khz_ms = *ms = 0;
	while (line_next(&text, &line)) {
		struct str word, last = { line.e, line.e };
		u64 khz = 0, t = 0;
		const char *p;

		line = str_trim(line);
		if (line.p < line.e && *line.p == '*')
			line.p++;
		line = str_trim(line);
		p = scan_u64(line, &khz);
		if (!p || p >= line.e || *p != ':')
			continue;
		khz /= 1000;
		while (str_word(&line, &word))
			last = word;
		if (scan_u64(last, &t) != last.e || (khz && t > UINT64_MAX / khz))
			continue;
		if (*khz_ms > UINT64_MAX - khz * t || *ms > UINT64_MAX - t)
			return false;
		*khz_ms += khz * t;
		*ms += t;
	}
	return *ms > 0;
}

/* Rockchip's NPU: "NPU load:  Core0: 12%, Core1:  0%,": the next NAME: N%. In 1/1000 %. */
bool parse_rknpu(struct str *text, struct str *core, u64 *load)
{
	struct str piece = *text;

	while (str_cut(text, ':', &piece)) {
		struct str rest = str_trim(*text), word;
		const char *p = scan_u64(rest, load);

		*core = (struct str){ 0 };
		while (str_word(&piece, &word))
			*core = word;
		if (p && p < rest.e && *p == '%' && core->p && *load <= 1000) {
			*load *= 1000;
			return true;
		}
	}
	return false;
}

/* --- time zones ---------------------------------------------------------------------------------- */

/* A zone's name: letters, or anything in <>. */
static bool tz_name(struct str *s)
{
	const char *p = s->p;
	bool quoted = p < s->e && *p == '<';

	while (p < s->e && (quoted ? *p != '>' : (u8)((*p | 32) - 'a') < 26))
		p++;
	if (quoted && p < s->e)
		p++;
	quoted = p > s->p;
	s->p = p;
	return quoted;
}

/* [+-]HH[:MM[:SS]] in seconds. */
static bool tz_seconds(struct str *s, i64 *v)
{
	bool neg = s->p < s->e && *s->p == '-';
	i64 unit = 3600;
	u64 n = 0;

	if (s->p < s->e && (neg || *s->p == '+'))
		s->p++;
	for (*v = 0; unit > 0; unit /= 60) {
		const char *p = scan_u64(*s, &n);

		if (!p || n > 999)
			return false;
		*v += (i64)n * unit;
		s->p = p;
		if (p >= s->e || *p != ':')
			break;
		s->p++;
	}
	*v = neg ? -*v : *v;
	return true;
}

/* Days from 1970 to the first of a month; Howard Hinnant, chrono-compatible low-level date algorithms. */
static i64 month_days(i64 year, i64 month)
{
	i64 y = month <= 2 ? year - 1 : year, era = y / 400, yoe = y - era * 400;
	i64 doy = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5;

	return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

static bool is_leap(i64 year)
{
	return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

/* "m.w.d": the w-th day d of month m, w = 5 the last. In days from 1970. */
static bool tz_month_day(struct str *s, i64 year, i64 *day)
{
	u64 n[3] = { 0 };
	i64 first;

	for (size_t i = 0; i < LEN(n); i++) {
		const char *p = scan_u64(*s, &n[i]);

		if (!p || (i < 2 && (p >= s->e || *p != '.')))
			return false;
		s->p = i < 2 ? p + 1 : p;
	}
	if (n[0] < 1 || n[0] > 12 || n[1] < 1 || n[1] > 5 || n[2] > 6)
		return false;
	first = month_days(year, (i64)n[0]);
	*day = first + ((i64)n[2] - (first + 4) % 7 + 7) % 7 + 7 * ((i64)n[1] - 1); /* 1970 began on a Thursday */
	if (*day >= month_days(n[0] == 12 ? year + 1 : year, n[0] == 12 ? 1 : (i64)n[0] + 1))
		*day -= 7;
	return true;
}

/* ",Mm.w.d[/time]", ",Jn[/time]" (1 to 365, no leap day) or ",n[/time]" (0 to 365): when that is in a year,
 * in seconds of a clock without offset. */
static bool tz_rule(struct str *s, i64 year, i64 *at)
{
	i64 day = 0, time = 7200;

	if (str_skip_z(s, ",M")) {
		if (!tz_month_day(s, year, &day))
			return false;
	} else {
		bool julian = str_skip_z(s, ",J");
		const char *p;
		u64 n = 0;

		if (!julian && !str_skip_z(s, ","))
			return false;
		p = scan_u64(*s, &n);
		if (!p || n > 365 || (julian && n == 0))
			return false;
		s->p = p;
		day = month_days(year, 1) + (i64)n - julian + (julian && n > 59 && is_leap(year));
	}
	if (s->p < s->e && *s->p == '/') {
		s->p++;
		if (!tz_seconds(s, &time))
			return false;
	}
	*at = day * 86400 + time;
	return true;
}

/* POSIX's TZ, as the last line of a zone file has it: "CET-1CEST,M3.5.0,M10.5.0/3". Seconds east. */
i32 parse_tz(struct str s, i64 now)
{
	static const i64 far = (i64)1 << 50; /* 35 million years, where the sums below do not overflow yet */
	i64 std = 0, dst, start = 0, end = 0, year;

	now = now < -far ? -far : now > far ? far : now;
	if (!tz_name(&s) || !tz_seconds(&s, &std))
		return 0;
	dst = std - 3600;
	if (!tz_name(&s))
		return (i32)-std;
	if (s.p < s.e && *s.p != ',' && !tz_seconds(&s, &dst))
		return (i32)-std;
	year = 1970 + (now - std) / 31556952; /* a Gregorian year's mean length; off by a day at most */
	if (now - std < month_days(year, 1) * 86400)
		year--;
	else if (now - std >= month_days(year + 1, 1) * 86400)
		year++;
	if (!tz_rule(&s, year, &start) || !tz_rule(&s, year, &end))
		return (i32)-std;
	start += std;
	end += dst;
	return (i32)-((start < end ? now >= start && now < end : now >= start || now < end) ? dst : std);
}

/* n bytes of a file; what lies behind its end is not read. */
static u64 big_endian(struct str f, u64 at, size_t n)
{
	u64 v = 0;

	for (f.p += at; n > 0 && f.e - f.p > 0; n--)
		v = v << 8 | (u8)*f.p++;
	return v;
}

/* A TZif file (RFC 9636): seconds east of Greenwich at now; false where the file is none. Of its two
 * blocks the second has 64-bit times; behind the last transition its last line rules. */
bool parse_tzif(struct str f, i64 now, i32 *east)
{
	u64 times, types, size, at = 0, i = 0;
	struct str rest = f, rule = f;
	unsigned width;

	for (width = 4;; width = 8) {
		rest = f;
		if (f.e - f.p < 44 || !str_skip_z(&rest, "TZif"))
			return false;
		times = big_endian(f, 32, 4);
		types = big_endian(f, 36, 4);
		size = 44 + times * (width + 1) + types * 6 + big_endian(f, 40, 4) + big_endian(f, 28, 4) * (width + 4) +
		       big_endian(f, 24, 4) + big_endian(f, 20, 4);
		if (size > str_len(f) || types == 0)
			return false;
		rest.p = f.p + size;
		if (f.e - rest.p < 0) /* follows from the size; said of the pointer, a prover sees it */
			return false;
		if (width == 8 || f.p[4] < '2') /* 32-bit times are all there is */
			break;
		f.p = rest.p;
	}
	for (; i < times; i++) {
		u64 t = big_endian(f, 44 + i * width, width);

		if ((width == 4 ? (i64)(i32)(u32)t : (i64)t) > now)
			break;
		at = big_endian(f, 44 + times * width + i, 1);
	}
	str_skip_z(&rest, "\n");
	if (width == 8 && i == times && line_next(&rest, &rule) && rule.p < rule.e) {
		*east = parse_tz(rule, now);
		return true;
	}
	if (at >= types)
		return false;
	*east = (i32)(u32)big_endian(f, 44 + times * (width + 1) + at * 6, 4);
	return true;
}

/* --- perf events as users name them ------------------------------------------------------------ */

static int hex_digit(char c)
{
	return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* At most 16 hex digits: where they end, or NULL. */
static const char *scan_hex(struct str s, u64 *v)
{
	const char *p = s.p;
	u64 x = 0;

	for (; p < s.e && hex_digit(*p) >= 0; p++) {
		if (p - s.p == 16)
			return NULL;
		x = x << 4 | (u64)hex_digit(*p);
	}
	if (p == s.p)
		return NULL;
	*v = x;
	return p;
}

/* Decimal, or hex behind 0x. */
const char *scan_num(struct str s, u64 *v)
{
	struct str hex = s;

	return str_skip_z(&hex, "0x") ? scan_hex(hex, v) : scan_u64(s, v);
}

/* rHEX and nothing else; inside of slashes r0xHEX too. */
bool parse_raw(struct str s, bool inside, u64 *v)
{
	if (!str_skip_z(&s, "r"))
		return false;
	if (inside)
		str_skip_z(&s, "0x");
	return scan_hex(s, v) == s.e;
}

/* The letters behind an event: s.e, or the one that is wrong; each once but p, of which there may be 3. */
const char *scan_mods(struct str s, u16 *mods, u8 *precise)
{
	static const struct {
		char letter;
		u16 mod;
	} letters[] = {
		{ 'u', EM_USER }, { 'k', EM_KERNEL }, { 'h', EM_HV }, { 'I', EM_IDLE }, { 'G', EM_GUEST },
		{ 'H', EM_HOST }, { 'P', EM_MAX_PRECISE }, { 'S', EM_READ }, { 'D', EM_PINNED }, { 'W', EM_WEAK },
		{ 'e', EM_EXCLUSIVE }, { 'b', EM_BPF }, { 'R', EM_RETIRED }, { 'X', EM_NOMERGE },
	};

	*mods = *precise = 0;
	for (; s.p < s.e; s.p++) {
		size_t i = 0;

		if (*s.p == 'p' && *precise < 3) {
			++*precise;
			continue;
		}
		while (i < LEN(letters) && letters[i].letter != *s.p)
			i++;
		if (i == LEN(letters) || *mods & letters[i].mod)
			return s.p;
		*mods |= letters[i].mod;
	}
	return s.e;
}

const struct evname evnames[] = {
	{ "cycles", PT_HARDWARE, 0 },
	{ "cpu-cycles", PT_HARDWARE, 0 },
	{ "instructions", PT_HARDWARE, 1 },
	{ "cache-references", PT_HARDWARE, 2 },
	{ "cache-misses", PT_HARDWARE, 3 },
	{ "branches", PT_HARDWARE, 4 },
	{ "branch-instructions", PT_HARDWARE, 4 },
	{ "branch-misses", PT_HARDWARE, 5 },
	{ "bus-cycles", PT_HARDWARE, 6 },
	{ "stalled-cycles-frontend", PT_HARDWARE, 7 },
	{ "idle-cycles-frontend", PT_HARDWARE, 7 },
	{ "stalled-cycles-backend", PT_HARDWARE, 8 },
	{ "idle-cycles-backend", PT_HARDWARE, 8 },
	{ "ref-cycles", PT_HARDWARE, 9 },
	{ "cpu-clock", PT_SOFTWARE, 0 },
	{ "task-clock", PT_SOFTWARE, 1 },
	{ "page-faults", PT_SOFTWARE, 2 },
	{ "faults", PT_SOFTWARE, 2 },
	{ "context-switches", PT_SOFTWARE, 3 },
	{ "cs", PT_SOFTWARE, 3 },
	{ "cpu-migrations", PT_SOFTWARE, 4 },
	{ "migrations", PT_SOFTWARE, 4 },
	{ "minor-faults", PT_SOFTWARE, 5 },
	{ "major-faults", PT_SOFTWARE, 6 },
	{ "alignment-faults", PT_SOFTWARE, 7 },
	{ "emulation-faults", PT_SOFTWARE, 8 },
	{ "dummy", PT_SOFTWARE, 9 },
	{ "bpf-output", PT_SOFTWARE, 10 },
	{ "cgroup-switches", PT_SOFTWARE, 11 },
};
const size_t nevnames = LEN(evnames);

/* cache[-op][-result]; the first word of each number is the usual one. Here type is unused. */
static const struct evname cache_words[] = {
	{ "L1-dcache", 0, 0 }, { "l1-d", 0, 0 }, { "l1d", 0, 0 }, { "L1-data", 0, 0 },
	{ "L1-icache", 0, 1 }, { "l1-i", 0, 1 }, { "l1i", 0, 1 }, { "L1-instruction", 0, 1 },
	{ "LLC", 0, 2 }, { "L2", 0, 2 },
	{ "dTLB", 0, 3 }, { "d-tlb", 0, 3 }, { "Data-TLB", 0, 3 },
	{ "iTLB", 0, 4 }, { "i-tlb", 0, 4 }, { "Instruction-TLB", 0, 4 },
	{ "branch", 0, 5 }, { "branches", 0, 5 }, { "bpu", 0, 5 }, { "btb", 0, 5 }, { "bpc", 0, 5 },
	{ "node", 0, 6 },
};
static const struct evname cache_ops[] = {
	{ "loads", 0, 0 }, { "load", 0, 0 }, { "read", 0, 0 },
	{ "stores", 0, 1 }, { "store", 0, 1 }, { "write", 0, 1 },
	{ "prefetches", 0, 2 }, { "prefetch", 0, 2 }, { "speculative-read", 0, 2 },
	{ "speculative-load", 0, 2 },
};
static const struct evname cache_results[] = {
	{ "refs", 0, 0 }, { "Reference", 0, 0 }, { "ops", 0, 0 }, { "access", 0, 0 },
	{ "misses", 0, 1 }, { "miss", 0, 1 },
};
/* Of each cache: the ops that it has, a bit each. evsel__hw_cache_stat of perf. */
static const u8 cache_has[] = { 7, 5, 7, 7, 1, 1, 7 };

/* One of these words with a '-' or nothing behind it; s moves past both. NULL: none. */
static const struct evname *cache_word(struct str *s, const struct evname *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct str t = *s;

		if (!str_skip_z(&t, words[i].name) || (t.p < t.e && (*t.p != '-' || t.e - t.p < 2)))
			continue;
		s->p = t.p < t.e ? t.p + 1 : t.e;
		return &words[i];
	}
	return NULL;
}

static bool parse_cache(struct str s, u64 *config)
{
	const struct evname *cache = cache_word(&s, cache_words, LEN(cache_words)), *op = NULL, *result = NULL, *w;

	if (!cache)
		return false;
	while (s.p < s.e) {
		if (!op && (w = cache_word(&s, cache_ops, LEN(cache_ops))))
			op = w;
		else if (!result && (w = cache_word(&s, cache_results, LEN(cache_results))))
			result = w;
		else
			return false;
	}
	*config = cache->config | (op ? op->config : 0u) << 8 | (result ? result->config : 0u) << 16;
	return cache_has[cache->config] >> (op ? op->config : 0) & 1;
}

/* The i-th of CACHE_NAMES: its words, the last one empty where it counts all accesses. False: impossible. */
bool cache_name(size_t i, struct str words[3])
{
	static const struct str ops[][2] = { { STR("loads"), STR("load") },
					     { STR("stores"), STR("store") },
					     { STR("prefetches"), STR("prefetch") } };
	const struct evname *w = cache_words;
	size_t cache = i / 6, op = i / 2 % 3, result = i % 2;

	if (cache >= LEN(cache_has) || !(cache_has[cache] >> op & 1))
		return false;
	while (w->config != cache)
		w++;
	words[0] = str_z(w->name);
	words[1] = ops[op][result];
	words[2] = result ? LIT("misses") : LIT("");
	return true;
}

/* Generic hardware, software and cache events. */
bool parse_evname(struct str s, u32 *type, u64 *config)
{
	for (size_t i = 0; i < LEN(evnames); i++)
		if (str_eq(s, str_z(evnames[i].name))) {
			*type = evnames[i].type;
			*config = evnames[i].config;
			return true;
		}
	*type = PT_HW_CACHE;
	return parse_cache(s, config);
}

static bool list_wrong(struct evlist *l, const char *why, const char *p, const char *e)
{
	l->why = why;
	l->at = (struct str){ p, e };
	l->end = true;
	return false;
}

/* The first of these bytes, or the end. */
static const char *find_any(const char *p, const char *e, const char *bytes, size_t n)
{
	while (p < e && !memchr(bytes, *p, n))
		p++;
	return p;
}

static const char *item_end(const char *p, const char *e)
{
	return find_any(p, e, ",}", 2);
}

/* The slash that ends the terms at p; NULL: there is none. Quoted values hold any byte, and a value that
 * begins with a slash is a path: it reaches up to the next comma, or to the last slash of the event. */
static const char *terms_end(const char *p, const char *e)
{
	bool value = false;

	for (; p < e; value = *p == '=', p++) {
		if (*p == '\'') {
			p = find_any(p + 1, e, "'", 1);
			if (p == e)
				return NULL;
		} else if (*p == '/' && value) {
			const char *q = item_end(p, e), *r = q;

			if (q < e && *q == ',' && q[-1] != '/') {
				p = q;
				continue;
			}
			while (r > p + 1 && r[-1] != '/')
				r--;
			return r > p + 1 ? r - 1 : p;
		} else if (*p == '/') {
			return p;
		}
	}
	return NULL;
}

static bool take_mods(struct evlist *l, struct str s, u16 *mods, u8 *precise)
{
	if (scan_mods(s, mods, precise) == s.e)
		return true;
	return list_wrong(l, "modifiers are u k h I G H p pp ppp P S D e W b R X, each once, not", s.p, s.e);
}

static bool item_pmu(struct evlist *l, struct evitem *ev, const char *slash)
{
	const char *close = terms_end(slash + 1, l->rest.e), *end;
	struct str mods;

	ev->form = EF_PMU;
	ev->a = (struct str){ l->rest.p, slash };
	if (!close)
		return list_wrong(l, "no slash behind the terms", slash, l->rest.e);
	ev->b = (struct str){ slash + 1, close };
	end = item_end(close + 1, l->rest.e);
	mods = (struct str){ close + 1, end };
	str_skip_z(&mods, ":");
	ev->text = (struct str){ l->rest.p, end };
	return take_mods(l, mods, &ev->mods, &ev->precise);
}

/* mem:ADDR[/LEN][:rwx][:mods], what follows "mem:". */
static bool item_mem(struct evlist *l, struct evitem *ev, struct str s)
{
	struct str part;
	const char *p;
	bool length;

	ev->form = EF_MEM;
	str_cut(&s, ':', &part);
	p = scan_num(part, &ev->x);
	length = p && p < part.e;
	if (!p || (length && *p != '/'))
		return list_wrong(l, "no address; mem:0x1000, mem:0x1000/8:rw", part.p, part.e);
	if (length && scan_num((struct str){ p + 1, part.e }, &ev->y) != part.e)
		return list_wrong(l, "no length; mem:0x1000/8", p, part.e);
	part = s;
	for (; part.p < part.e; part.p++) {
		u8 bit = *part.p == 'r' ? 1 : *part.p == 'w' ? 2 : *part.p == 'x' ? 4 : 0;

		if (!bit)
			break;
		if (ev->bp & bit)
			return list_wrong(l, "twice the same of r, w and x", s.p, s.e);
		ev->bp |= bit;
	}
	if (ev->bp && part.p < part.e && *part.p++ != ':')
		return list_wrong(l, "neither r, w, x nor a modifier", s.p, s.e);
	/* perf-list(1): reads and writes; hw_breakpoint wants the size of a word for execution. */
	ev->bp = ev->bp ? ev->bp : 3;
	if (!length)
		ev->y = ev->bp == 4 ? sizeof(long) : 4;
	return take_mods(l, part, &ev->mods, &ev->precise);
}

/* uprobe:FILE:OFFSET[:mods], what follows the first colon. */
static bool item_uprobe(struct evlist *l, struct evitem *ev, struct str s)
{
	const char *colon = s.e;
	struct str mods = { s.e, s.e };

	ev->form = EF_UPROBE;
	for (int i = 0; i < 2; i++) {
		const char *end = colon;

		while (colon > s.p && colon[-1] != ':')
			colon--;
		if (colon <= s.p)
			break;
		if (scan_num((struct str){ colon, end }, &ev->x) == end) {
			ev->a = (struct str){ s.p, colon - 1 };
			return take_mods(l, mods, &ev->mods, &ev->precise);
		}
		mods = (struct str){ colon, end };
		colon--;
	}
	return list_wrong(l, "no offset; uprobe:/bin/x:0x1234", s.p, s.e);
}

/* NAME, rHEX, TYPE:CONFIG, SYSTEM:NAME, each with or without :mods. */
static bool item_plain(struct evlist *l, struct evitem *ev)
{
	struct str s = ev->text, a, b;
	u32 type;
	u16 mods;
	u8 precise;
	u64 config;
	bool two;

	str_cut(&s, ':', &a);
	two = a.e < ev->text.e;
	ev->a = a;
	if (a.p == a.e)
		return list_wrong(l, "an event is missing here", ev->text.p, ev->text.e);
	ev->form = parse_raw(a, false, &ev->x) ? EF_RAW : EF_NAME;
	if (ev->form == EF_RAW || parse_evname(a, &type, &config) || !two)
		return take_mods(l, s, &ev->mods, &ev->precise);
	str_cut(&s, ':', &b);
	if (scan_num(a, &ev->x) == a.e) {
		ev->form = EF_TYPED;
		if (b.p == b.e || scan_num(b, &ev->y) != b.e || ev->x > UINT32_MAX)
			return list_wrong(l, "no number; TYPE:CONFIG, as 1:1", ev->text.p, ev->text.e);
		return take_mods(l, s, &ev->mods, &ev->precise);
	}
	/* What could be modifiers is: no tracepoint has such a name. */
	if (b.e == ev->text.e && scan_mods(b, &mods, &precise) == b.e)
		return take_mods(l, b, &ev->mods, &ev->precise);
	ev->form = EF_TRACE;
	ev->b = b;
	return take_mods(l, s, &ev->mods, &ev->precise);
}

static bool item_parse(struct evlist *l, struct evitem *ev)
{
	const char *p = l->rest.p, *e = l->rest.e, *q = find_any(p, e, "/:,{}", 5);
	struct str s = { p, item_end(p, e) };

	ev->text = s;
	if (q == p)
		return list_wrong(l, p < e && *p == '{' ? "a group in a group" : "an event is missing here", p, e);
	if (str_skip_z(&s, "mem:"))
		return item_mem(l, ev, s);
	if (str_skip_z(&s, "uprobe:"))
		return item_uprobe(l, ev, s);
	return q < e && *q == '/' ? item_pmu(l, ev, q) : item_plain(l, ev);
}

/* The next event; false at the end, or where why says what is wrong. */
bool evlist_next(struct evlist *l, struct evitem *ev)
{
	const char *q = find_any(l->rest.p, l->rest.e, "/:,{}", 5);

	*ev = (struct evitem){ .form = EF_NAME };
	if (l->end)
		return false;
	if (!l->in_group && q < l->rest.e && *q == '{') {
		l->rest.p = q + 1;
		l->in_group = ev->opens = true;
	}
	ev->grouped = l->in_group;
	if (!item_parse(l, ev))
		return false;
	l->rest.p = ev->text.e;
	if (l->in_group && l->rest.p < l->rest.e && *l->rest.p == '}') {
		struct str mods = { l->rest.p + 1, item_end(l->rest.p + 1, l->rest.e) };

		l->in_group = false;
		ev->closes = true;
		l->rest.p = mods.e;
		if (mods.p < mods.e && !str_skip_z(&mods, ":"))
			return list_wrong(l, "neither a comma nor :modifiers behind a group", mods.p, mods.e);
		if (!take_mods(l, mods, &ev->gmods, &ev->gprecise))
			return false;
	}
	if (l->rest.p < l->rest.e && *l->rest.p == ',')
		l->rest.p++;
	else if (l->rest.p < l->rest.e)
		return list_wrong(l, "no group is open here", l->rest.p, l->rest.e);
	else if (l->in_group)
		return list_wrong(l, "the group has no }", ev->text.p, ev->text.e);
	else
		l->end = true;
	return true;
}

/* The next term; false at the end, or where why says what is wrong. */
bool evterm_next(struct evlist *l, struct evterm *t)
{
	const char *p = l->rest.p, *e = l->rest.e, *q = find_any(p, e, "=,", 2);

	*t = (struct evterm){ .name = { p, q }, .n = 1, .number = true };
	if (l->end)
		return false;
	if (q == p)
		return list_wrong(l, "a term is missing here", p, e);
	if (q < e && *q == '=') {
		bool quoted = e - q > 1 && q[1] == '\'';
		const char *from = q + 1 + quoted, *end = find_any(from, e, quoted ? "'" : ",", 1);

		if (quoted && (end == e || (e - end > 1 && end[1] != ',')))
			return list_wrong(l, "no quote where the value ends", q, e);
		if (from == end)
			return list_wrong(l, "a value is missing here", p, e);
		t->value = (struct str){ from, end };
		t->number = scan_num(t->value, &t->n) == end;
		q = end + quoted;
	}
	l->end = q == e;
	l->rest.p = q < e ? q + 1 : e;
	return true;
}

/* config[N]:a[-b](,a[-b])*, ABI/testing/sysfs-bus-event_source-devices-format. */
bool parse_format(struct str s, struct evformat *f)
{
	struct str part = s;
	u64 v = 0;
	unsigned width = 0;

	*f = (struct evformat){ 0 };
	if (!str_skip_z(&s, "config") || s.p >= s.e)
		return false;
	if (*s.p != ':') {
		v = (u8)(*s.p++ - '0');
		if (v < 1 || v >= MAX_CONFIGS)
			return false;
	}
	f->config = (u8)v;
	if (!str_skip_z(&s, ":") || s.p >= s.e || s.e[-1] == ',')
		return false;
	while (str_cut(&s, ',', &part)) {
		u64 lo = 0, hi;
		const char *p = scan_u64(part, &lo);

		hi = lo;
		if (p && p < part.e && *p == '-')
			p = scan_u64((struct str){ p + 1, part.e }, &hi);
		if (!p || p != part.e || hi > 63 || lo > hi)
			return false;
		width += (unsigned)(hi - lo + 1);
		if (width > 64 || f->n >= LEN(f->r)) /* the second follows from the first */
			return false;
		f->r[f->n].lo = (u8)lo;
		f->r[f->n++].hi = (u8)hi;
	}
	return true;
}

/* The largest value that has room. */
u64 format_max(const struct evformat *f)
{
	unsigned width = 0;

	for (u8 i = 0; i < f->n && i < LEN(f->r); i++)
		width += f->r[i].hi - f->r[i].lo + 1u;
	return width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
}

/* Puts v in the place of what the field holds; false where it is too large. */
bool format_put(const struct evformat *f, u64 v, u64 *configs)
{
	u64 *c = &configs[f->config];

	if (v > format_max(f))
		return false;
	for (u8 i = 0; i < f->n && i < LEN(f->r); i++) {
		unsigned width = f->r[i].hi - f->r[i].lo + 1u;
		u64 mask = width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;

		*c = (*c & ~(mask << f->r[i].lo)) | (v & mask) << f->r[i].lo;
		v = width < 64 ? v >> width : 0;
	}
	return true;
}

/* 0-3,8: as the kernel prints sets of CPUs; nothing is the empty one. */
bool parse_cpulist(struct str s, struct cpuset *cpus)
{
	struct str part = s;

	memset(cpus, 0, sizeof(*cpus));
	if (s.p < s.e && s.e[-1] == ',')
		return false;
	while (str_cut(&s, ',', &part)) {
		u64 lo = 0, hi;
		const char *p = scan_u64(part, &lo);

		hi = lo;
		if (p && p < part.e && *p == '-')
			p = scan_u64((struct str){ p + 1, part.e }, &hi);
		if (!p || p != part.e || lo > hi || hi >= MAX_CPUS)
			return false;
		for (; lo <= hi; lo++)
			cpus->w[lo / 64] |= UINT64_C(1) << lo % 64;
	}
	return true;
}

/* "2.3283064365386962890625e-10" as mantissa x 10^-point, 19 digits of it; false for what is no positive number
 * or has no room. */
bool parse_scale(struct str s, u64 *mantissa, u8 *point)
{
	u64 m = 0, e = 0;
	i64 places = 0;
	bool dot = false, digits = false, neg = false;
	const char *p = s.p;

	for (; p < s.e && places < 512 && places > -512 && (is_digit(*p) || (*p == '.' && !dot)); p++) {
		if (*p == '.') {
			dot = true;
			continue;
		}
		digits = true;
		if (m < UINT64_C(1000000000000000000)) {
			m = 10 * m + (u64)(*p - '0');
			places += dot;
		} else {
			places -= !dot;
		}
	}
	if (p < s.e && (*p == 'e' || *p == 'E')) {
		p++;
		neg = p < s.e && *p == '-';
		if (p < s.e && (*p == '-' || *p == '+'))
			p++;
		p = scan_u64((struct str){ p, s.e }, &e);
	}
	if (!p || p != s.e || !digits || m == 0 || e > 512 || str_len(s) > 512)
		return false;
	places += neg ? (i64)e : -(i64)e;
	for (; places > 0 && m % 10 == 0; places--)
		m /= 10;
	for (; places < 0 && m <= UINT64_MAX / 10; places++)
		m *= 10;
	*mantissa = m;
	*point = (u8)places;
	return places >= 0 && places <= UINT8_MAX;
}

/* Whether a PMU's name behind `base` is the number of an instance: decimal, or more than two hex digits. */
static bool is_instance(struct str s, struct str base)
{
	u64 v;
	const char *p;

	if (!str_skip(&s, base) || !str_skip_z(&s, "_"))
		return false;
	if (scan_u64(s, &v) == s.e)
		return true;
	p = scan_hex(s, &v);
	return p == s.e && p && s.e - s.p > 2;
}

/* Which PMUs a user means, ABI/testing/sysfs-bus-event_source-devices: a name stands for its numbered
 * instances too, uncore_ may be left out, * and ? match. */
bool pmu_match(struct str pattern, struct str name)
{
	struct str bare = name;

	return glob_match(pattern, name, NULL) || is_instance(name, pattern) ||
	       (str_skip_z(&bare, "uncore_") &&
		(glob_match(pattern, bare, NULL) || is_instance(bare, pattern)));
}

/* --- the XML of metric files --------------------------------------------------------------------- */

static bool is_space(char c)
{
	return is_blank(c) || c == '\n';
}

static void skip_space(struct str *s)
{
	while (s->p < s->e && is_space(*s->p))
		s->p++;
}

/* What no name of an element or of an attribute holds. */
static bool ends_name(char c)
{
	return is_space(c) || c == '=' || c == '"' || c == '\'' || c == '>' || c == '/' || c == '<';
}

static bool xml_name(struct str *s, struct str *name)
{
	name->p = s->p;
	while (s->p < s->e && !ends_name(*s->p))
		s->p++;
	name->e = s->p;
	return name->p < name->e;
}

/* name="value", in either quotes; what ends it is eaten. XML has no < in values: one there is a quote that was never
 * closed. s is where it went wrong, or where no attribute stands. */
static bool attr_next(struct str *s, struct str *name, struct str *value)
{
	char quote;

	skip_space(s);
	if (!xml_name(s, name))
		return false;
	skip_space(s);
	if (s->p >= s->e || *s->p != '=')
		return false;
	s->p++;
	skip_space(s);
	if (s->p >= s->e || (*s->p != '"' && *s->p != '\''))
		return false;
	quote = *s->p++;
	value->p = s->p;
	while (s->p < s->e && *s->p != quote && *s->p != '<')
		s->p++;
	value->e = s->p;
	if (s->p >= s->e || *s->p == '<')
		return false;
	s->p++;
	return true;
}

/* Moves past a comment, a declaration or CDATA; false where none begins. One that does not end is as long as the text. */
static bool xml_aside(struct str *s)
{
	static const struct {
		char begins[10], ends[4];
	} asides[] = {
		{ "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" }, { "<!", ">" },
	};

	for (size_t i = 0; i < LEN(asides); i++) {
		if (!str_skip_z(s, asides[i].begins))
			continue;
		for (; s->p < s->e; s->p++) {
			struct str rest = *s;

			if (str_skip_z(&rest, asides[i].ends)) {
				s->p = rest.p;
				break;
			}
		}
		return true;
	}
	return false;
}

/* The next tag; false at the end. Where none is that begins as one, what follows is looked at anew from there. */
bool xml_next(struct str *text, struct xmltag *t)
{
	struct str name = *text, value = *text;
	const char *from;

	do {
		from = byte_find(text->p, text->e, '<');
		text->p = from;
		if (from >= text->e)
			return false;
	} while (xml_aside(text));
	text->p = from + 1;
	*t = (struct xmltag){ .name = { from, from }, .attrs = { from, from }, .opens = true };
	if (str_skip_z(text, "/")) {
		t->opens = false;
		t->closes = true;
	}
	if (xml_name(text, &t->name)) {
		t->attrs.p = text->p;
		while (attr_next(text, &name, &value))
			;
		t->attrs.e = text->p;
		if (t->opens && str_skip_z(text, "/"))
			t->closes = true;
		if (name.p == name.e && str_skip_z(text, ">"))
			return true;
	}
	*t = (struct xmltag){ .name = { from, from }, .attrs = { from, from } };
	return true;
}

/* The value of an attribute as it is written; false where the tag has none of that name. */
bool xml_attr(struct str attrs, struct str name, struct str *value)
{
	struct str n = attrs, v = attrs;

	while (attr_next(&attrs, &n, &v))
		if (str_eq(n, name)) {
			*value = v;
			return true;
		}
	return false;
}

/* What an entity stands for, in UTF-8; where it ends. NULL: there is none, or no such character. */
static const char *xml_entity(struct str s, struct buf *b)
{
	static const struct {
		char name[7], c;
	} entities[] = {
		{ "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' }, { "&quot;", '"' }, { "&apos;", '\'' },
	};
	const char *p;
	u64 v = 0;

	for (size_t i = 0; i < LEN(entities); i++)
		if (str_skip_z(&s, entities[i].name)) {
			put_c(b, entities[i].c);
			return s.p;
		}
	if (!str_skip_z(&s, "&#"))
		return NULL;
	p = str_skip_z(&s, "x") ? scan_hex(s, &v) : scan_u64(s, &v);
	if (!p || p >= s.e || *p != ';' || v == 0 || v > 0x10ffff || (v >= 0xd800 && v < 0xe000))
		return NULL;
	put_utf8(b, (u32)v);
	return p + 1;
}

/* A value with its entities decoded; others stay as they are. Its length; more than cap: it did not fit. */
size_t xml_text(struct str value, char *to, size_t cap)
{
	struct buf b = { .p = to, .cap = cap };

	while (value.p < value.e) {
		const char *end = *value.p == '&' ? xml_entity(value, &b) : NULL;

		if (end)
			value.p = end;
		else
			put_c(&b, *value.p++);
	}
	return b.full ? cap + 1 : b.n;
}
