/* parse.c - converts text that the kernel prints or a user types to values, and appends text to
 * buffers. Pure: bytes in, values out; no system call, no state. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "built.h"

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

static bool same_letter(char a, char b)
{
	return a == b || ((a ^ b) == 32 && (u8)((a | 32) - 'a') < 26);
}

static const char *skip_zeros(struct str s)
{
	while (s.e - s.p > 1 && *s.p == '0' && s.p[1] != ':' && s.p[1] != '.')
		s.p++;
	return s.p;
}

/* Returns whether two texts are equal; upper and lower case are not distinguished. If `slot` is
 * true, the texts are PCI addresses, in which leading zeros of numbers are ignored. */
bool str_same(struct str a, struct str b, bool slot)
{
	/* true at the start and after each ':' or '.', where both texts may have a number */
	bool begins = slot;

	for (; a.p < a.e && b.p < b.e; a.p++) {
		if (begins) {
			a.p = skip_zeros(a);
			b.p = skip_zeros(b);
		}
		begins = slot && (*a.p == ':' || *a.p == '.');
		if (!same_letter(*a.p, *b.p++))
			return false;
	}
	return a.p == a.e && b.p == b.e;
}

/* Returns whether s contains `part`; upper and lower case are not distinguished. No text contains
 * an empty `part`. */
bool str_contains(struct str s, struct str part)
{
	for (size_t n = str_len(part); n && str_len(s) >= n; s.p++)
		if (str_same(str_of(s.p, n), part, false))
			return true;
	return false;
}

/* Moves s past the text `lead` if s begins with it. Returns false, and leaves s unchanged, if it
 * does not. */
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

/* Loads eight bytes as a number in the byte order of the machine. */
static inline u64 load8(const char *p)
{
	u64 w;

	memcpy(&w, p, sizeof(w));
	return w;
}

/* Returns a word that has the high bit set in each byte in which the word w has the value c. */
static inline u64 bytes_equal(u64 w, char c)
{
	static const u64 low7 = UINT64_MAX / 255 * 0x7f;

	w ^= UINT64_MAX / 255 * (u8)c;
	return ~(((w & low7) + low7) | w | low7);
}

/* Returns the index of the first byte in memory that has a bit set in the word `bits`, a result of
 * bytes_equal() that is not 0. */
static inline unsigned byte_first(u64 bits)
{
	return (unsigned)(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ?
			  __builtin_ctzll(bits) : __builtin_clzll(bits)) / 8;
}

/* Returns the address of the first byte c from p on, or e if there is none before e. */
static const char *byte_find(const char *p, const char *e, char c)
{
	for (; e - p >= 8; p += 8) {
		u64 found = bytes_equal(load8(p), c);

		if (found)
			return p + byte_first(found);
	}
	while (p < e && *p != c)
		p++;
	return p;
}

static inline bool is_blank(char c)
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

/* Returns a view of the bytes that a read into b has stored. n is the result of the read: the
 * number of bytes, or -errno, for which the view is empty. */
struct str str_read(const char *b, long n)
{
	return (struct str){ b, n > 0 ? b + n : b };
}

/* Stores in *piece the part of s before the next separator sep, and moves s past the separator.
 * Returns false at the end of s; the piece is then empty. */
bool str_cut(struct str *s, char sep, struct str *piece)
{
	bool any = s->p < s->e;
	const char *q = any ? byte_find(s->p, s->e, sep) : s->p;

	*piece = (struct str){ s->p, q };
	s->p = q < s->e ? q + 1 : q;
	return any;
}

/* Stores the next word of s in *word and moves s past it; words are separated by blanks and
 * newlines. Returns false if there is no word. */
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

/* Returns the index of s in a list of words separated by blanks; the number of words if s is not
 * among them. */
size_t str_among(struct str s, const char *words)
{
	struct str rest = str_z(words), word;
	size_t i = 0;

	while (str_word(&rest, &word) && !str_eq(s, word))
		i++;
	return i;
}

/* Returns the part of the text after its last '/'. */
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

/* Stores the next complete line in *line, without its newline. Returns false at the end of the
 * text: a last line without a newline is incomplete and is not returned. */
bool line_next(struct str *text, struct str *line)
{
	const char *q = byte_find(text->p, text->e, '\n');

	if (q >= text->e)
		return false;
	*line = (struct str){ text->p, q };
	text->p = q + 1;
	return true;
}

/* Returns true if s matches a pattern, in which '*' means any bytes and '?' one byte. Unless `star`
 * is NULL, *star becomes the text that the last '*' matched. */
bool glob_match(struct str pat, struct str s, struct str *star)
{
	struct str seen = { s.p, s.p };
	const char *backp = NULL, *backs = s.p;

	while (s.p < s.e) {
		if (pat.p < pat.e && *pat.p == '*') {
			backp = ++pat.p;
			backs = s.p;
			seen = (struct str){ s.p, s.p };
		} else if (pat.p < pat.e && (*pat.p == '?' || *pat.p == *s.p)) {
			pat.p++;
			s.p++;
		} else if (backp && backs < s.e) {
			/* The condition backs < s.e is always true: it is for the static prover. */
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

/* Compares two texts by their bytes as memcmp does; a text sorts before every longer text that
 * begins with it. */
int str_cmp(struct str a, struct str b)
{
	for (; a.p < a.e && b.p < b.e; a.p++, b.p++)
		if (*a.p != *b.p)
			return (u8)*a.p - (u8)*b.p;
	return (a.p < a.e) - (b.p < b.e);
}

/* Compares two texts by their bytes as memcmp does, but numbers in them by value: a_2 sorts before
 * a_10. */
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

/* Returns the edit distance of two texts (optimal string alignment): the number of bytes that must
 * be inserted, removed, replaced, or exchanged with the next one. Upper and lower case are not
 * distinguished. Returns UINT32_MAX if a text has more than MAX_NEAR bytes. */
u32 text_distance(struct str a, struct str b)
{
	enum { WIDTH = MAX_NEAR + 1 };
	u32 rows[3 * WIDTH] = { 0 };
	size_t nx = str_len(a), ny = str_len(b);

	if (nx > MAX_NEAR || ny > MAX_NEAR)
		return UINT32_MAX;
	for (size_t i = 0; i <= nx; i++) {
		u32 *row = rows + i % 3 * WIDTH, *last = rows + (i + 2) % 3 * WIDTH;
		const u32 *older = rows + (i + 1) % 3 * WIDTH;

		for (size_t j = 0; j <= ny; j++) {
			u32 best = (u32)(i + j);

			if (i && j) {
				best = last[j - 1] + !same_letter(a.p[i - 1], b.p[j - 1]);
				best = best > last[j] ? last[j] + 1 : best;
				best = best > row[j - 1] ? row[j - 1] + 1 : best;
			}
			if (i > 1 && j > 1 && best > older[j - 2] &&
			    same_letter(a.p[i - 1], b.p[j - 2]) &&
			    same_letter(a.p[i - 2], b.p[j - 1]))
				best = older[j - 2] + 1;
			row[j] = best;
		}
	}
	return rows[nx % 3 * WIDTH + ny];
}

/* Stores `name` in *n if it is more similar to n->text than the names tried before, and if at most
 * a third of its bytes differ (one byte if the name is shorter than six). */
void nearest_try(struct nearest *n, struct str name)
{
	u32 d = text_distance(n->text, name), max = (u32)str_len(name) / 3;

	if (d < (n->name.p ? n->distance : (max ? max : 1) + 1) && d < str_len(name)) {
		n->name = name;
		n->distance = d;
	}
}

/* Returns the FNV-1a hash of s appended to other texts. h is the hash of those texts, or HASH_BEGIN
 * if there are none. */
u32 hash_more(u32 h, struct str s)
{
	for (; s.p < s.e; s.p++)
		h = (h ^ (u8)*s.p) * 16777619u;
	return h;
}

/* Returns the 64-bit FNV-1a hash of s appended to other texts, if collisions are not acceptable. h
 * is the hash of those texts, or HASH64_BEGIN if there are none. */
u64 hash64_more(u64 h, struct str s)
{
	for (; s.p < s.e; s.p++)
		h = (h ^ (u8)*s.p) * HASH64_PRIME;
	return h;
}

/* Returns a hash of a text, computed from 16 bytes at a time, for texts that are hashed often. The
 * value depends on the byte order of the machine and is never stored in files. Each step is a
 * permutation, so that texts that differ in only one word always have different hashes. */
u64 hash_quick(struct str s)
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
	a = (a ^ (b << 32 | b >> 32)) * HASH64_PRIME;
	return a ? a : 1;
}

/* Parses decimal digits at the start of s. Returns the end of the digits; NULL, with *v unchanged,
 * if there are none or if the number does not fit in 64 bits. */
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

/* Does the same as scan_u64(), but accepts a minus sign; the magnitude is at most INT64_MAX. */
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

/* Parses the text of a sysfs file that contains one number, which may be negative, such as a hwmon
 * channel. Returns false without the newline that the kernel prints, because the number may then be
 * incomplete. */
bool parse_sensor(struct str text, i64 *v)
{
	const char *end = byte_find(text.p, text.e, '\n');

	return end < text.e && scan_i64((struct str){ text.p, end }, v) == end;
}

/* Parses a decimal number in units of 10^-point: with point 1, "8.0" and "8" are 80, and ".5" is 5.
 * Further decimals are dropped. Returns the end of the number, or NULL if there is none. */
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

/* Parses an integer followed by one of the unit words and nothing else. *v is the number multiplied
 * by the factor of its unit. If this product exceeds 64 bits, *v is UINT64_MAX and the result is
 * false; otherwise, if the result is false, *v is not changed. */
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
		if (words[i].factor && x > UINT64_MAX / words[i].factor) {
			*v = UINT64_MAX;
			return false;
		}
		*v = x * words[i].factor;
		return words[i].factor != 0;
	}
	return false;
}

/* Parses an interval as users type it, for example 100ms, 1, 1.5s, 2m or 1h. Without a unit, it is
 * in seconds. *ns is greater than 0. */
bool parse_interval(struct str s, i64 *ns)
{
	static const struct unitword words[] = {
		{ "", 1000000000 },   { "s", 1000000000 },     { "ms", 1000000 },
		{ "us", 1000 },       { "ns", 1 },             { "m", 60000000000 },
		{ "min", 60000000000 }, { "h", 3600000000000 },
	};
	u64 x = 0; /* the interval in billionths of its unit */
	struct str unit;
	const char *p = scan_dec(s, 9, &x);

	if (!p)
		return false;
	unit = (struct str){ p, s.e };
	for (size_t i = 0; i < LEN(words); i++) {
		u64 v;

		if (!str_is(unit, words[i].word))
			continue;
		v = muldiv(x, words[i].factor, 1000000000);
		if (v == 0 || v >= (u64)INT64_MAX / 4)
			return false;
		*ns = (i64)v;
		return true;
	}
	return false;
}

/* --- functions that compute the increase of a counter between two readings -------------------- */

/* Returns a*b/c, rounded down, without overflow of a*b; UINT64_MAX if the result does not fit in 64
 * bits or c is 0. The division is written out because 32-bit targets have no 128-bit type. */
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

/* Computes the increase *d of a counter from the reading `was` to the reading `now`. most: largest
 * plausible increase, up to which a decrease of a CO_WRAP32 counter is a wrap. Returns false if the
 * value has decreased and the increase is unknown; after a decrease of a CO_PEAK counter, *d is
 * 0. */
bool course_delta(u8 course, u64 was, u64 now, u64 most, u64 *d)
{
	*d = now - was;
	if (now >= was)
		return true;
	if (course == CO_WRAP32)
		*d = now + (1ull << 32) - was;
	else
		*d = 0;
	/* a counter that was above 2^32 is not a counter of 32 bits, and cannot have wrapped */
	return course == CO_PEAK ||
	       (course == CO_WRAP32 && was <= UINT32_MAX && *d <= most);
}

/* Returns the value from which the next increase of a counter is computed: `now`, or `was` if the
 * counter has CO_PEAK and `now` is lower. */
u64 course_base(u8 course, u64 was, u64 now)
{
	return course == CO_PEAK && now < was ? was : now;
}

/* --- plausible readings of sensors ------------------------------------------------------------ */

const struct bounds ranges[RANGES] = {
	[RG_ANY]      = { "", INT64_MIN, INT64_MAX, 0, 0, 0 },
	/* Range in 1/1000 degrees C. Drivers print -256 C and 511 C for a GPU that is powered off.
	 * A chip that is 100 C above its limit would be destroyed. */
	[RG_TEMP]     = { "temperature", -100000, 500000, 0, 1, 100000 },
	/* Range in uW, and largest increase of energy in uJ per second. A server with eight
	 * accelerators draws 10.2 kW (DGX H100). A user can set a low power limit, so the power may
	 * be well above the limit. */
	[RG_POWER]    = { "power", 0, 20000000000, 0, 10, 0 },
	[RG_ENERGY]   = { "energy", 0, INT64_MAX, 20000000000, 0, 0 },
	/* fan speed in rpm; 65535 means that a register was never written */
	[RG_FAN]      = { "fan speed", 0, 60000, 0, 4, 0 },
	/* pwm, PCIe lanes, engines of one class */
	[RG_BYTE]     = { "number", 0, 255, 0, 0, 0 },
	/* Range in mV. Readings are not compared with the driver's limits: on many boards, the
	 * firmware leaves the limits of a chip at arbitrary values, such as 0.09 V for a voltage of
	 * 1.28 V. */
	[RG_VOLT]     = { "voltage", -1000000, 1000000, 0, 0, 0 },
	[RG_CURRENT]  = { "current", -10000000, 10000000, 0, 4, 0 }, /* in mA */
	[RG_CLOCK]    = { "clock", 0, 100000000000, 0, 0, 0 },       /* in Hz */
	/* utilisation in 1/1000 %; a reading of 100 % to 1000 % is shown as 100 % */
	[RG_LOAD]     = { "load", 0, 1000000, 0, 0, 0 },
	/* Sizes of memory. Physical addresses have at most 52 bits on x86-64 (Intel SDM, volume 3A,
	 * 4.1.4) and with Linux on arm64 (CONFIG_ARM64_PA_BITS): no machine has more memory. A
	 * negative size, which is an error of a driver, is above this limit. */
	[RG_BYTES]    = { "memory", 0, 1ll << 52, 0, 0, 0 },
	[RG_LINK]     = { "link speed", 0, 10240, 0, 0, 0 },         /* in 0.1 GT/s */
	/* idle time in ms; up to 2000 ms per second are plausible, because a read may be late */
	[RG_IDLE]     = { "idle time", 0, INT64_MAX, 2000, 0, 0 },
	[RG_HUMIDITY] = { "humidity", 0, 100000, 0, 0, 0 },          /* in 1/1000 % */
};

/* Returns whether v can be a correct reading of a sensor; v is an i64 if the range has negative
 * values. limit: the highest limit that the driver has for this sensor; 0 if there is none. */
bool is_plausible(u8 range, u64 v, u64 limit)
{
	const struct bounds *r = &ranges[range];
	u64 size = (u64)r->high - (u64)r->low;

	if (range == RG_ANY)
		return true;
	/* A reading of UINT32_MAX comes from a 32-bit register without a value. As a power in uW it
	 * would be 4295 W, which is in the range of plausible readings. */
	if (v - (u64)r->low > size || (r->times && v == UINT32_MAX))
		return false;
	return !r->times || !limit || (i64)v <= (i64)r->more ||
	       (v - r->more - 1) / r->times < limit;
}

/* Returns the largest plausible increase of a counter in `ns` nanoseconds; UINT64_MAX if it is
 * unknown. For less than 0.1 s, the increase in 0.1 s is returned, because drivers may update
 * counters no more often than that. */
u64 most_in(u8 range, u64 ns)
{
	u64 per_second = ranges[range].per_second;

	return per_second ? muldiv(per_second, ns < 100000000 ? 100000000 : ns, 1000000000) :
	       UINT64_MAX;
}

/* METER_READINGS: number of consecutive readings below the earlier value after which a hardware
 * counter is taken as restarted */
enum { METER_READINGS = 3 };

static bool meter_rate(u8 range, u64 from, i64 t_from, const struct history *h, u64 *rate)
{
	u64 ns = (u64)h->t - (u64)t_from;

	*rate = UINT64_MAX;
	if (h->now < from || h->t <= t_from)
		return false;
	*rate = muldiv(h->now - from, 1000000000, ns);
	return h->now - from <= most_in(range, ns);
}

/* Decides whether the increase of a hardware counter, such as energy, is plausible at the new
 * reading h->now. last, t_last: value and time of the previous reading. After a decrease, h->was,
 * the reading before it, is kept for some readings, because a counter with a temporary dip
 * continues from there. If the counter goes on from the low value, it was restarted, and only the
 * increase of the interval with the restart is unknown. If both are possible, the one with the
 * lower rate is chosen. */
u8 meter_step(struct history *h, u64 last, i64 t_last, u8 range)
{
	u64 rate, rate_last;
	bool whole = meter_rate(range, h->was, h->t_was, h, &rate);

	if (!h->below && h->now >= h->was)
		return whole ? METER_KNOWN : METER_JUMP;
	if (h->below && h->now > last &&
	    meter_rate(range, last, t_last, h, &rate_last) &&
	    (!whole || rate_last < rate)) {
		h->was = last;
		h->t_was = t_last;
		whole = true;
	}
	if (whole || h->now >= h->was) {
		h->below = 0;
		return whole ? METER_KNOWN : METER_JUMP;
	}
	if (h->below < METER_READINGS) {
		h->below++;
		return METER_UNKNOWN;
	}
	h->below = 0;
	return METER_JUMP;
}

/* Adds the energy since the last reading to e->sum. v, t: value and time of the new reading; wrap:
 * the value at which the file's counter starts again from 0; wrap 0: unknown. A decrease is taken
 * for a wrap only if the increase is then plausible. Returns false if the energy of this reading is
 * unknown. */
bool energy_sum(struct energy *e, u64 v, i64 t, u64 wrap)
{
	struct history *h = &e->h;
	u64 last = h->now, at = last - e->wrapped;
	i64 t_last = h->t;
	u8 meter;

	if (!e->has_reading) {
		*e = (struct energy){ .h = { .now = v, .was = v, .t = t, .t_was = t },
				      .sum = v, .has_reading = true };
		return true;
	}
	if (v < at && at <= wrap && !h->below && t > t_last &&
	    wrap - at + v <= most_in(RG_ENERGY, (u64)t - (u64)t_last))
		e->wrapped += wrap;
	h->now = v + e->wrapped;
	h->t = t;
	meter = meter_step(h, last, t_last, RG_ENERGY);
	if (meter == METER_UNKNOWN)
		return false;
	if (meter == METER_KNOWN)
		e->sum += h->now - h->was;
	else
		e->sum -= e->sum > 0;
	h->was = h->now;
	h->t_was = h->t;
	return true;
}

/* --- functions that append text to buffers ---------------------------------------------------- */

struct buf buf_on(char *p, size_t cap)
{
	return (struct buf){ .p = p, .cap = cap };
}

/* Returns the text in b as a C string. The buffer must have room for the final zero byte: see
 * BUF_Z(). */
const char *buf_z(const struct buf *b)
{
	b->p[b->n] = '\0';
	return b->p;
}

/* Appends all of s or, if there is no room, nothing. Most texts are short words, for which the
 * copies below are faster than a call of memcpy. Each copy checks the room again, so that a static
 * prover sees the bound without knowing the length of s. */
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
	if (n > 0) /* memcpy must not be called with NULL, which p may be if n is 0 */
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

/* Appends blanks up to column `to`, but at least one. The line begins at the offset `from` of the
 * buffer. */
void put_columns(struct buf *b, size_t from, size_t to)
{
	do
		put_c(b, ' ');
	while (!b->full && b->n - from < to);
}

/* Appends a Unicode code point in UTF-8; it must be below 0x110000. */
void put_utf8(struct buf *b, u32 c)
{
	char text[4] = { 0 };
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	for (size_t i = n; i-- > 1; c >>= 6)
		text[i] = (char)(0x80 | (c & 0x3f));
	text[0] = (char)(n == 1 ? c : c | (0xf00u >> n & 0xff));
	put_str(b, (struct str){ text, text + n });
}

/* Returns the last eight decimal digits of v, one in each byte, the most significant digit in the
 * lowest byte. All are computed at the same time: the number is divided into halves of four digits,
 * these into pairs, these into digits. Divisions by a constant are written as multiplications,
 * because code compiled for size would use a slow division instruction, and most of the output is
 * numbers. */
static u64 split_digits(u64 v)
{
	u64 q = (v & UINT32_MAX) * 3518437209 >> 45; /* q is now v / 10000 */
	u64 x = q | (v - 10000 * q) << 32;

	/* q is now each half of four digits divided by 100 */
	q = x * 5243 >> 19 & UINT64_C(0x7f0000007f);
	x = q | (x - 100 * q) << 16;
	/* q is now each pair of digits divided by 10 */
	q = x * 103 >> 10 & UINT64_C(0xf000f000f000f);
	return q | (x - 10 * q) << 8;
}

/* Writes the last n decimal digits of v at p, n <= 8. Up to seven bytes after these digits are
 * overwritten. */
static void store_digits(char *p, long n, u64 v)
{
	u64 digits = (split_digits(v) >> (8 * (8 - n) & 63)) + UINT64_C(0x3030303030303030);

	if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		memcpy(p, &digits, sizeof(digits));
	for (size_t i = 0; __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ && i < sizeof(digits); i++)
		p[i] = (char)(digits >> 8 * i);
}

/* Writes the decimal digits of v, with leading zeros, to the bytes from p to e, in which they must
 * fit. Up to FILL_BEHIND bytes after e are overwritten. */
void fill_digits(char *p, char *e, u64 v)
{
	const u64 ten8 = 100000000, ten16 = ten8 * ten8;
	u64 q;

	for (; e - p > 24; p++)
		*p = '0';
	if (e - p > 16) {
		q = v / ten16;
		store_digits(p, e - p - 16, q);
		p = e - 16;
		v -= ten16 * q;
	}
	if (e - p > 8) {
		q = v <= UINT32_MAX ? v * 1441151881 >> 57 : v / ten8;
		store_digits(p, e - p - 8, q);
		p = e - 8;
		v -= ten8 * q;
	}
	store_digits(p, e - p, v);
}

/* Returns the number of decimal digits of v, estimated from its bits: each bit is about 0.301
 * digits. */
static size_t count_digits(u64 v)
{
	static const u64 tens[] = {
		0, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
		10000000000, 100000000000, 1000000000000, 10000000000000, 100000000000000,
		1000000000000000, 10000000000000000, 100000000000000000,
		1000000000000000000, UINT64_C(10000000000000000000),
	};
	size_t n = (size_t)(64 - __builtin_clzll(v | 1)) * 1233 >> 12;

	return n + (v >= tens[n]);
}

/* Writes the decimal digits of v so that they end before e, with leading zeros if there are fewer
 * than n. Returns the start of the digits. */
char *digits_before(char *e, u64 v, size_t n)
{
	char d[2 * DIGITS] = { 0 }, *from = d, *p;
	size_t all = count_digits(v);

	n = all > n ? all : n;
	p = e - n;
	fill_digits(d, d + n, v);
	for (char *to = p; to < e && from < d + sizeof(d);)
		*to++ = *from++;
	return p;
}

/* Writes n * 10^-point at p in the form that put_dec() appends. DIGITS bytes must be free. Returns
 * the end of the text. */
static char *write_dec(char *p, u64 n, u8 point, u8 keep)
{
	int whole;
	char *dot, *e;

	/* only for safety: no unit of this program has so many decimals */
	for (; point > DIGITS - 2; point--)
		n /= 10;
	whole = (int)count_digits(n) - point;
	dot = p + (whole > 0 ? whole : 1);
	e = dot + point;
	fill_digits(p, e, n);
	if (!point)
		return e;
	/* units of this program have at most 8 decimals: eight bytes are moved without a call of
	 * memmove */
	if (point <= 8) {
		u64 decimals;

		memcpy(&decimals, dot, sizeof(decimals));
		memcpy(dot + 1, &decimals, sizeof(decimals));
	} else {
		memmove(dot + 1, dot, point);
	}
	e++;
	*dot = '.';
	while (e - dot > 1 + keep && e[-1] == '0')
		e--;
	return e;
}

/* Appends n * 10^-point. Zeros at the end are left out, but at least `keep` decimals are printed
 * (with keep = 0, the text can end in a point). The number is written directly into the buffer if
 * DIGITS bytes are free. */
void put_dec(struct buf *b, u64 n, u8 point, u8 keep)
{
	char *to = b->p + b->n, *end = b->p + b->cap;

	/* fast path for the values 0 to 9, because most sizes of memory are 0 */
	if (n < 10 && !point) {
		put_c(b, (char)('0' + n));
	} else if (end - to >= DIGITS) {
		b->n = (size_t)(write_dec(to, n, point, keep) - b->p);
	} else {
		char d[DIGITS] = { 0 };

		put_str(b, (struct str){ d, write_dec(d, n, point, keep) });
	}
}

void put_u64(struct buf *b, u64 v)
{
	put_dec(b, v, 0, 0);
}

void put_i64(struct buf *b, i64 v)
{
	if (v < 0)
		put_c(b, '-');
	put_u64(b, v < 0 ? 0 - (u64)v : (u64)v);
}

/* Appends v in hexadecimal: 0x and the digits without leading zeros. */
void put_hex64(struct buf *b, u64 v)
{
	char d[16] = { 0 }, *p = d + sizeof(d);

	do
		*--p = "0123456789abcdef"[v & 15];
	while ((v >>= 4) > 0 && p > d);
	put_z(b, "0x");
	put_str(b, (struct str){ p, d + sizeof(d) });
}

/* Returns the end of the UTF-8 sequence at p, or p if there is no valid one: a sequence is not
 * valid if it could be shorter or encodes a surrogate. */
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

/* Returns the Unicode code point whose UTF-8 sequence is s. */
u32 utf8_value(struct str s)
{
	size_t n = str_len(s);
	u32 c = (u8)*s.p;

	while (++s.p < s.e)
		c = c << 6 | ((u8)*s.p & 0x3f);
	/* clear the bits of the first byte that encode the length of the sequence */
	return c & (n == 2 ? 0x7ff : n < 4 ? 0xffff : 0x1fffff);
}

void put_hex(struct buf *b, u8 c)
{
	put_c(b, "0123456789abcdef"[c >> 4]);
	put_c(b, "0123456789abcdef"[c & 15]);
}

/* Returns true if the character c is a control character (C0, DEL, C1: terminals act on all of
 * them), begins a new line (U+2028, U+2029), or changes the direction in which the text after it is
 * shown (Unicode Standard Annex 9). c must be a UTF-8 sequence; in a longer ASCII text, only the
 * first character is checked. */
bool control_is(struct str c)
{
	u32 v = (u8)*c.p < 0x80 ? (u8)*c.p : utf8_value(c);

	return v < 0x20 || (v >= 0x7f && v < 0xa0) || v == 0x61c || v == 0x200e || v == 0x200f ||
	       (v >= 0x2028 && v <= 0x202e) || (v >= 0x2066 && v <= 0x2069);
}

/* Returns the end of the longest prefix of s in which all bytes are printable ASCII and none has a
 * special meaning in the context `where` (CLEAN_*). */
const char *clean_end(struct str s, u8 where)
{
	enum { A = 0xff, BLANK = A & ~(CLEAN_TAG | CLEAN_WORD), QUOTE = CLEAN_TEXT | CLEAN_TAG,
	       COMMA = A & ~(CLEAN_TAG | CLEAN_CELL), EQUAL = A & ~(CLEAN_TAG | CLEAN_WORD),
	       SLASH = A & ~(CLEAN_STRING | CLEAN_WORD) };
	static const u8 clean[256] = {
		[' '] = BLANK, A, QUOTE, A, A, A, A, A, A, A, A, A, COMMA, A, A, A,
		['0'] = A, A, A, A, A, A, A, A, A, A, A, A, A, EQUAL, A, A,
		['@'] = A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A,
		['P'] = A, A, A, A, A, A, A, A, A, A, A, A, SLASH, A, A, A,
		['`'] = A, A, A, A, A, A, A, A, A, A, A, A, A, A, A, A,
		['p'] = A, A, A, A, A, A, A, A, A, A, A, A, A, A, A,
	};
	const char *p = s.p;

	while (p < s.e && clean[(u8)*p] & where)
		p++;
	return p;
}

/* Appends s as text for a terminal: bytes that are not printable are written as \xNN. */
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

/* Appends "; did you mean 'NAME'?" if nearest_try() has found a similar name. lead: text to print
 * before the name, for example "--". */
void put_nearest(struct buf *b, const char *lead, const struct nearest *n)
{
	if (!n->name.p)
		return;
	put_z(b, "; did you mean '");
	put_z(b, lead);
	put_text(b, n->name);
	put_z(b, "'?");
}

/* --- fdinfo ----------------------------------------------------------------------------------- */

enum fdclass { C_TEXT, C_COUNT, C_TIME, C_SIZE, C_FREQ };

enum { LONGEST_KEY = 20 };

/* A key of fdinfo. The row contains the text of the key and not a pointer to it, so that a static
 * prover knows the bounds of all keys. */
struct fdkey {
	char key[LONGEST_KEY + 1];
	u8 len, field, class;
};

#define KEY(lit) lit, sizeof(lit) - 1

/* Keys of fdinfo that end with '-' and are followed by the name of an engine or a region. Rows are
 * grouped by the letter after "drm-"; the last row of each letter is written with LAST instead of
 * ROW: last_by_letter[] is made from these rows. If one key is the beginning of another, the longer
 * key is in a later row. Each key has at least eight bytes, because fd_key_matches() compares eight
 * bytes at a time. Only panfrost and panthor print drm-curfreq-. */
#define NAMING_KEYS(ROW, LAST) \
	ROW(TOTAL, 't', FD_TOTAL, "drm-total-", C_SIZE) \
	LAST(TOTAL_CYCLES, 't', FD_TOTAL_CYCLES, "drm-total-cycles-", C_COUNT) \
	LAST(SHARED, 's', FD_SHARED, "drm-shared-", C_SIZE) \
	LAST(RESIDENT, 'r', FD_RESIDENT, "drm-resident-", C_SIZE) \
	ROW(BUSY_NS, 'e', FD_BUSY_NS, "drm-engine-", C_TIME) \
	LAST(CAPACITY, 'e', FD_CAPACITY, "drm-engine-capacity-", C_COUNT) \
	LAST(ACTIVE, 'a', FD_ACTIVE, "drm-active-", C_SIZE) \
	ROW(MEMORY, 'm', FD_MEMORY, "drm-memory-", C_SIZE) \
	LAST(MAXFREQ, 'm', FD_MAXFREQ, "drm-maxfreq-", C_FREQ) \
	LAST(PURGEABLE, 'p', FD_PURGEABLE, "drm-purgeable-", C_SIZE) \
	ROW(CYCLES, 'c', FD_CYCLES, "drm-cycles-", C_COUNT) \
	LAST(CURFREQ, 'c', FD_CURFREQ, "drm-curfreq-", C_FREQ)

/* Keys of fdinfo that contain no name of an engine or region. Rows are grouped by the length of the
 * key; the last row of each length is written with LAST instead of ROW: last_by_length[] is made
 * from these rows. The keys with FD_NONE are printed by seq_show() of fs/proc/fd.c for every
 * descriptor. */
#define WHOLE_KEYS(ROW, LAST) \
	ROW(POS, 3, FD_NONE, "pos", C_TEXT) \
	LAST(INO, 3, FD_NONE, "ino", C_TEXT) \
	LAST(LOCK, 4, FD_NONE, "lock", C_TEXT) \
	ROW(FLAGS, 5, FD_NONE, "flags", C_TEXT) \
	LAST(PASID, 5, FD_PASID, "pasid", C_TEXT) \
	LAST(MNT_ID, 6, FD_NONE, "mnt_id", C_TEXT) \
	LAST(PDEV, 8, FD_PDEV, "drm-pdev", C_TEXT) \
	LAST(DRIVER, 10, FD_DRIVER, "drm-driver", C_TEXT) \
	LAST(CLIENT, 13, FD_CLIENT, "drm-client-id", C_COUNT) \
	LAST(NAME, 15, FD_NAME, "drm-client-name", C_TEXT)

#define KEY_ROW(name, at, field, key, class) { KEY(key), field, class },
#define KEY_SKIP(...)
static const struct fdkey naming_keys[] = { NAMING_KEYS(KEY_ROW, KEY_ROW) };
static const struct fdkey whole_keys[] = { WHOLE_KEYS(KEY_ROW, KEY_ROW) };

/* Indexes of the two tables of fdinfo keys: last_by_letter[] has, for each letter, 1 + the index of
 * its last row in naming_keys[]; last_by_length[] has, for each length, 1 + the index of its last
 * row in whole_keys[]; 0 if there is no such row. */
#define NAMING_PLACE(name, ...) NAMING_##name,
#define NAMING_LAST(name, letter, ...) [(letter) & 31] = NAMING_##name + 1,
#define WHOLE_PLACE(name, ...) WHOLE_##name,
#define WHOLE_LAST(name, length, ...) [length] = WHOLE_##name + 1,
enum { NAMING_KEYS(NAMING_PLACE, NAMING_PLACE) };
enum { WHOLE_KEYS(WHOLE_PLACE, WHOLE_PLACE) };
static const u8 last_by_letter[32] = { NAMING_KEYS(KEY_SKIP, NAMING_LAST) };
static const u8 last_by_length[LONGEST_KEY + 1] = { WHOLE_KEYS(KEY_SKIP, WHOLE_LAST) };
#define WHOLE_LENGTH(name, length, field, key, class) \
	_Static_assert(sizeof(key) - 1 == (length), "the length of " key);
WHOLE_KEYS(WHOLE_LENGTH, WHOLE_LENGTH)

/* Keys of fdinfo that amdgpu printed in Linux 5.14 to 5.18. */
static const struct fdkey oldkeys[] = {
	{ KEY("pdev"), FD_PDEV, C_TEXT },
	{ KEY("vram mem"), FD_RESIDENT, C_SIZE },
	{ KEY("gtt mem"), FD_RESIDENT, C_SIZE },
	{ KEY("cpu mem"), FD_RESIDENT, C_SIZE },
};

/* Units of sizes: those of the kernel's drm-usage-stats.rst, GiB, and kB, which has always meant
 * 1024 bytes. */
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
		/* The unit (us, ms or s) is valid, but no current driver prints it: the line is
		 * ignored, not counted as malformed. */
		if (!ok && scan_unit(text, other_times, LEN(other_times), n))
			return FD_NONE;
		break;
	case C_SIZE:
		/* A number of KiB or more that exceeds 64 bits in bytes is not malformed: the size
		 * is UINT64_MAX, which is not plausible. *n was 0 before. */
		ok = scan_unit(text, size_units, LEN(size_units), n) || *n == UINT64_MAX;
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

/* Parses a percentage such as "23.5%", in 1/1000 %. In its old fdinfo lines, amdgpu printed the
 * integer part and the hundredths with "%d.%d", so that 23.5 means 23.05. */
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

static void fd_old_line(struct str key, struct fdline *l)
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

/* Returns the end of the key that begins at p, where a ':' should follow. A key consists of
 * printable ASCII without blanks. */
static const char *key_end(const char *p, const char *e)
{
	while (p < e && (u8)(*p - '!') <= '~' - '!' && *p != ':')
		p++;
	return p;
}

/* Returns the row of whole_keys[] that has this key; NULL if there is none. */
static const struct fdkey *fd_key_whole(struct str key)
{
	size_t n = str_len(key), i = n < LEN(last_by_length) ? last_by_length[n] : 0;

	/* i < LEN(whole_keys) is always true, because last_by_length[] has no larger index: it is
	 * for the static prover */
	while (i-- && i < LEN(whole_keys) && whole_keys[i].len == n)
		if (str_skip(&(struct str){ key.p, key.e }, fd_key(&whole_keys[i])))
			return &whole_keys[i];
	return NULL;
}

/* Returns the row of naming_keys[] with which *key begins, and moves *key past it, to the name of
 * an engine or a region. NULL if there is no such row. */
static const struct fdkey *fd_key_naming(struct str *key)
{
	for (const struct fdkey *k = naming_keys + LEN(naming_keys); k-- > naming_keys;)
		if (str_skip(key, fd_key(k)))
			return k;
	return NULL;
}

/* Parses a line of a form that no current driver prints: its key is empty, or contains blanks or
 * bytes that are not printable ASCII. */
static void fd_unusual_line(struct str line, bool old, struct fdline *l)
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
		fd_old_line(key, l);
}

static void fd_line(struct str line, bool old, struct fdline *l)
{
	const char *p = key_end(line.p, line.e);
	const struct fdkey *k;

	*l = (struct fdline){ FD_NONE, { line.p, line.p }, { line.p, line.p }, 0 };
	if (p == line.p || p >= line.e || *p != ':') {
		fd_unusual_line(line, old, l);
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
		fd_old_line(l->name, l);
	if (l->key != FD_OTHER)
		return;
	k = fd_key_whole(l->name);
	if (k)
		l->key = fd_value(k, l->text, &l->n);
	else if ((k = fd_key_naming(&l->name)))
		l->key = str_len(l->name) == 0 ? FD_BAD : fd_value(k, l->text, &l->n);
	if (l->key == FD_CAPACITY && l->n == 0)
		/* drm-usage-stats.rst does not allow an engine capacity of 0, so it is taken as
		 * 1 */
		l->n = 1;
}

/* Parses the unit after the digits of a value in an fdinfo line; it must be a unit of the class
 * (C_SIZE: KiB, MiB or GiB; C_TIME: ns), or there is none. Returns the end of the line, and in
 * *shift the unit as a power of two; NULL if anything else follows. */
static inline const char *fd_unit(const char *p, const char *e, u8 class, unsigned *shift)
{
	*shift = 0;
	if (p < e && *p == '\n')
		return p;
	if (class == C_SIZE && e - p > 4 &&
	    p[0] == ' ' && p[2] == 'i' && p[3] == 'B' && p[4] == '\n') {
		*shift = p[1] == 'K' ? 10 : p[1] == 'M' ? 20 : p[1] == 'G' ? 30 : 0;
		return *shift ? p + 4 : NULL;
	}
	return class == C_TIME && e - p > 3 &&
	       p[0] == ' ' && p[1] == 'n' && p[2] == 's' && p[3] == '\n' ? p + 3 : NULL;
}

/* Returns true if the text at p begins with the key. The caller has already compared the first
 * eight bytes. */
static inline bool fd_key_matches(const char *key, size_t len, const char *p)
{
	return load8(key + len - 8) == load8(p + len - 8) &&
	       (len <= 16 || load8(key + len - 16) == load8(p + len - 16));
}

/* Does the same as fd_line() in less time, for fdinfo lines as the kernel's own helpers print them:
 * "drm-total-vram:\t5 MiB". Returns false, with *text and *l unchanged, for every line of another
 * form. */
static bool fd_common_line(struct str *text, struct fdline *l)
{
	const char *p = text->p, *e = text->e, *q, *digits, *end;
	const struct fdkey *k;
	unsigned shift;
	u64 lead, n = 0;

	if (e - p <= LONGEST_KEY || !last_by_letter[p[4] & 31])
		return false;
	lead = load8(p);
	for (k = &naming_keys[last_by_letter[p[4] & 31] - 1];
	     load8(k->key) != lead || !fd_key_matches(k->key, k->len, p); k--)
		if (k == naming_keys)
			return false;
	p += k->len;
	q = key_end(p, e);
	if (q == p || q >= e || *q != ':')
		return false;
	for (digits = q + 1; digits < e && is_blank(*digits); digits++)
		;
	for (end = digits; end < e && (u8)(*end - '0') < 10; end++)
		n = 10 * n + (u8)(*end - '0');
	if (end == digits || end - digits > 19) /* a number of more than 19 digits could overflow */
		return false;
	end = fd_unit(end, e, k->class, &shift);
	if (!end || n > UINT64_MAX >> shift)
		return false;
	n = k->field == FD_CAPACITY && n == 0 ? 1 : n << shift;
	*l = (struct fdline){ k->field, { p, q }, { digits, end }, n };
	text->p = end + 1;
	return true;
}

/* Parses the next line of an fdinfo file into *l. The key of a line that is not used is FD_NONE,
 * that of a malformed line FD_BAD. old: the file has the format of amdgpu before Linux 5.19.
 * Returns false at the end of the file. */
bool fdinfo_next(struct str *text, bool old, struct fdline *l)
{
	const char *end;

	if (!old && fd_common_line(text, l))
		return true;
	end = byte_find(text->p, text->e, '\n');
	if (end >= text->e)
		return false; /* no complete line is left */
	fd_line((struct str){ text->p, end }, old, l);
	text->p = end + 1;
	return true;
}

/* Returns true if an fdinfo line may have a key that identifies the client: "drm-driver",
 * "drm-pdev", "drm-client-...", "pasid", "pdev", "vram mem". Only a few letters are compared, to
 * reject most other lines quickly. */
static bool is_head_line(const char *p, const char *e)
{
	if (e - p < 5) /* p[5] can be read even if the line has five bytes: it is the newline */
		return false;
	if (*p != 'd')
		return *p == 'p' || *p == 'v';
	return p[4] == 'd' || (p[4] == 'p' && p[5] == 'd') || (p[4] == 'c' && p[5] == 'l');
}

static void head_line(const struct fdline *l, struct fdhead *h, struct str *old_pdev,
		      bool *old_memory)
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

/* Reads the keys of an fdinfo file that identify the client. Returns false if the file does not
 * belong to a descriptor of a DRM device. If a key is printed twice, the last one is used (pvrsrvkm
 * prints two ids). */
bool fdinfo_head(struct str text, struct fdhead *h)
{
	struct str old_pdev = { 0 };
	bool old_memory = false;

	*h = (struct fdhead){ 0 };
	for (const char *at = text.p, *end = at; end < text.e; at = end + 1) {
		struct fdline l;

		end = byte_find(at, text.e, '\n');
		if (end >= text.e || !is_head_line(at, end))
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

/* --- /proc/PID -------------------------------------------------------------------------------- */

/* Reads the number in a field of /proc/PID/stat; `field` must be 4 or more. Fields are counted from
 * the last ')', because the comm in parentheses may contain any byte. */
bool parse_stat_field(struct str s, int field, u64 *v)
{
	const char *p = s.e;
	struct str word;

	while (p > s.p && p[-1] != ')')
		p--;
	if (p == s.p)
		return false;
	s.p = p;
	for (int i = 3; i <= field && str_word(&s, &word); i++)
		if (i == field)
			return scan_u64(word, v) == word.e;
	return false;
}

/* Reads the start time of a process from /proc/PID/stat, in clock ticks since boot. */
bool parse_stat_start(struct str s, u64 *start)
{
	return parse_stat_field(s, 22, start);
}

static bool is_hex(char c)
{
	return is_digit(c) || (u8)(c - 'a') < 6;
}

/* Returns the first sequence of exactly n hex digits in a text; empty if there is none. */
static struct str hex_run(struct str part, i64 n)
{
	for (const char *p = part.p; p < part.e; p++) {
		const char *q = p;

		while (q < part.e && is_hex(*q))
			q++;
		if (q - p == n)
			return (struct str){ p, q };
		p = q < part.e ? q : q - 1;
	}
	return (struct str){ 0 };
}

/* The form in which a part of a cgroup path contains the id of a container. The part is the text
 * that the last '*' of a pattern in kindrows[] matched. */
enum idform {
	ID_TEXT,  /* the whole text is the id of the container, which is a name */
	/* the id of the container is 64 hex digits; other bytes may be before and after it */
	ID_HEX,
	ID_TASK,  /* the whole text is the id of the container; it begins with 32 hex digits */
	ID_FIRST, /* the id of the container is the name before the first '.' */
	ID_LAST,  /* the id of the container is the name before the last '-' */
	ID_POD,   /* the text is the uid of a pod, and not the id of a container */
	ID_NONE,  /* the text names something that is not a container: there is no id */
};

/* Kinds of containers, recognised by a component of a cgroup path. The first row that matches the
 * component is used. The kind is "" if the path does not tell which program started the container.
 * Without the feature `containers` the table has only rows that find an id. */
static const struct kindrow {
	/* before: end that the path before the component must have; "": any path; a text that
	 * begins with '*' is a pattern for the whole path before the component */
	char kind[11], before[15];
	char name[31];             /* pattern that a component of a cgroup path must match */
	u8 form;
} kindrows[] = {
#if HAS(containers)
	{ "docker", "", "docker-*.scope", ID_HEX },
	{ "podman", "", "libpod-*", ID_HEX },
	{ "crio", "", "crio-*", ID_HEX },
	{ "containerd", "", "cri-containerd-*.scope", ID_HEX },
	{ "containerd", "", "nerdctl-*", ID_HEX },
	{ "ecs", "*/ecs/*/", "*", ID_TASK },
	{ "ecs", "*/ecs/*/", "*", ID_HEX },
	{ "docker", "/docker/", "*", ID_HEX },
	{ "", "", "kube*pods*-pod*.slice", ID_POD },
	{ "", "*/kubepods/*", "pod*", ID_POD },
	{ "lxc", "", "machine-lxc\\x2d*\\x2d*.scope", ID_TEXT }, /* scope names of libvirt */
	{ "vm", "", "machine-qemu\\x2d*\\x2d*.scope", ID_TEXT },
	{ "nspawn", "", "machine-*.scope", ID_TEXT },
	{ "nspawn", "", "systemd-nspawn@*.service", ID_TEXT },
	{ "flatpak", "", "app-flatpak-*.scope", ID_LAST },
	{ "snap", "", "snap.*", ID_FIRST },
	{ "service", "/system.slice/", "*.service", ID_NONE },
	{ "garden", "/garden/", "*", ID_TEXT },
#endif
	{ "", "", "*", ID_HEX },
	{ "lxc", "", "lxc.payload.*", ID_TEXT },
	{ "lxc", "/lxc/", "*", ID_TEXT },
};

static const bool kinds = HAS(containers);

/* Returns the id of a container or pod in the text s, by the form (ID_*) of the id; p is NULL if
 * the text does not have this form. */
static struct str id_cut(struct str s, u8 form)
{
	struct str id = { s.p, s.p };

	if (form == ID_HEX)
		return hex_run(s, 64);
	if (kinds && form == ID_TASK && hex_run(s, 32).p != s.p)
		return (struct str){ 0 };
	if (kinds && form == ID_FIRST)
		str_cut(&s, '.', &id);
	else if (kinds && form == ID_LAST)
		for (const char *p = s.p; p < s.e; p++)
			id.e = *p == '-' ? p : id.e;
	else
		id = s;
	return id.p < id.e ? id : (struct str){ 0 };
}

/* Returns true if `before`, the part of a cgroup path before a component, is as the row k of
 * kindrows[] requires (k->before). */
static bool is_before(struct str before, const struct kindrow *k)
{
	struct str end = str_z(k->before);

	if (end.p == end.e || *end.p == '*')
		return end.p == end.e || glob_match(end, before, NULL);
	while (before.p < before.e && str_len(before) > str_len(end))
		before.p++;
	return str_eq(before, end);
}

/* Sets the members of *c that the component `part` of a cgroup path determines; `before` is the
 * path before this component. Most rows of kindrows[] are skipped before their patterns are
 * compared, because this function may be called for each of 10 000 clients. */
static void component_read(struct container *c, struct str before, struct str part)
{
	bool hex = hex_run(part, 64).p;

	for (size_t i = 0; i < LEN(kindrows) && part.p < part.e; i++) {
		const struct kindrow *k = &kindrows[i];
		struct str id = part;

		if ((k->name[0] != '*' && k->name[0] != *part.p) || (k->form == ID_HEX && !hex) ||
		    !is_before(before, k) || !glob_match(str_z(k->name), part, &id))
			continue;
		id = id_cut(id, k->form);
		if (!id.p)
			continue;
		if (!kinds || k->form < ID_POD)
			c->id = id;
		else if (k->form == ID_POD)
			c->pod = id;
		else if (c->id.p)
			return; /* a service inside a container does not replace that container */
		if (kinds && k->form != ID_POD)
			c->kind = str_z(k->kind[0] ? k->kind : NULL);
		return;
	}
}

/* Returns the innermost container in a cgroup path, with its kind and its pod. A member that the
 * path does not contain is empty, with p NULL. */
struct container parse_container(struct str path)
{
	struct container c = { 0 };
	struct str part, before = { path.p, path.p };

	for (; str_cut(&path, '/', &part); before.e = path.p)
		/* a -conmon- scope is that of a container's monitor, which runs outside of the
		 * container */
		if (!str_find(part, LIT("-conmon-")))
			component_read(&c, before, part);
	return c;
}

/* Finds the path of a process's cgroup in /proc/PID/cgroup, which has a line for each hierarchy. A
 * path that names a container is preferred, then a path other than the root. Of several such paths,
 * the one of cgroup v2 is used, otherwise that of v1's hierarchy systemd, memory, or another. */
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
		rank = str_len(line) == 1 ? ROOT : parse_container(line).id.p ? rank : PLAIN + rank;
		if (rank < best) {
			best = rank;
			*path = line;
		}
	}
	return best < NOTHING;
}

/* --- sysfs ------------------------------------------------------------------------------------ */

/* Finds the value of the line KEY=value in the text of a uevent file. */
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

/* Parses a device number "MAJOR:MINOR" as in the files `dev` of sysfs. */
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

/* Parses amdgpu's files pp_dpm_*, which have a line such as "1: 2100Mhz *" for each clock. Stores
 * in *cur the clock of the line with a star, and in *max the highest clock, both in Hz. Returns
 * false if no line has a star, as for some chips. *max is 0 if the file has no clock. */
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
			/* the value is not a clock, as in pp_dpm_pcie: "16.0GT/s, x16 619Mhz *" */
			continue;
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

/* Parses the next row of v3d's file gpu_stats, which has a row "queue timestamp jobs runtime" for
 * each queue. */
bool parse_v3d(struct str *text, struct str *queue, u64 *runtime)
{
	struct str line = *text, w[4] = { *text, *text, *text, *text };

	while (line_next(text, &line)) {
		size_t n = 0;

		while (n < LEN(w) && str_word(&line, &w[n]))
			n++;
		if (n == LEN(w) && scan_u64(w[1], runtime) == w[1].e &&
		    scan_u64(w[3], runtime) == w[3].e) {
			*queue = w[0];
			return true;
		}
	}
	return false;
}

/* Parses devfreq's file trans_stat, which has a row for each frequency: the frequency is the first
 * number, and the ms that were spent at it are the last. Stores the sum of kHz x ms and the sum of
 * ms: their increases determine the mean clock of an interval. */
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

/* Parses the next "NAME: N%" in the file `load` of Rockchip's NPU: "NPU load: Core0: 12%, Core1:
 * 0%,". *load is in 1/1000 %. */
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

/* --- time zones ------------------------------------------------------------------------------- */

/* Moves s past the name of a time zone in a TZ string: letters, or any text in <>. Returns false if
 * there is none. */
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

/* Parses a time in a TZ string, [+-]HH[:MM[:SS]], and stores it in seconds. */
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

/* Returns the days from 1970-01-01 to the first day of a month. The algorithm is from Howard
 * Hinnant's "chrono-compatible low-level date algorithms". */
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

/* Parses a date in a TZ string, "m.w.d": the w-th weekday d of month m, where w = 5 is the last
 * one. *day is the number of days since 1970-01-01. */
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
	/* the weekday of day 0, 1970-01-01, is 4: Thursday */
	*day = first + ((i64)n[2] - (first + 4) % 7 + 7) % 7 + 7 * ((i64)n[1] - 1);
	if (*day >= month_days(n[0] == 12 ? year + 1 : year, n[0] == 12 ? 1 : (i64)n[0] + 1))
		*day -= 7;
	return true;
}

/* Parses a rule of a TZ string: ",Mm.w.d[/time]", ",Jn[/time]" (1 to 365, without leap days) or
 * ",n[/time]" (0 to 365). Stores in *at the time of the change in the given year: seconds since
 * 1970 of the local clock, as if its UTC offset were 0. */
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

/* Returns the UTC offset at the time `now`, in seconds east of Greenwich, for a POSIX TZ string
 * such as "CET-1CEST,M3.5.0,M10.5.0/3"; the last line of a TZif file is also such a string. 0 if
 * the string is malformed. */
i32 parse_tz(struct str s, i64 now)
{
	/* 35 million years in seconds: with this limit, the sums below do not overflow */
	static const i64 far = (i64)1 << 50;
	i64 std = 0, dst, start = 0, end = 0, year;

	now = now < -far ? -far : now > far ? far : now;
	if (!tz_name(&s) || !tz_seconds(&s, &std))
		return 0;
	dst = std - 3600;
	if (!tz_name(&s))
		return (i32)-std;
	if (s.p < s.e && *s.p != ',' && !tz_seconds(&s, &dst))
		return (i32)-std;
	/* 31556952 s is the mean length of a Gregorian year: near the turn of a year, the estimated
	 * year can be wrong by one */
	year = 1970 + (now - std) / 31556952;
	if (now - std < month_days(year, 1) * 86400)
		year--;
	else if (now - std >= month_days(year + 1, 1) * 86400)
		year++;
	if (!tz_rule(&s, year, &start) || !tz_rule(&s, year, &end))
		return (i32)-std;
	start += std;
	end += dst;
	return (i32)-((start < end ? now >= start && now < end :
				     now >= start || now < end) ? dst : std);
}

/* Returns the big-endian number of n bytes at the offset `at` of the file f. Bytes after the end of
 * the file are not read. */
static u64 big_endian(struct str f, u64 at, size_t n)
{
	u64 v = 0;

	for (f.p += at; n > 0 && f.e - f.p > 0; n--)
		v = v << 8 | (u8)*f.p++;
	return v;
}

/* Reads a TZif file (RFC 9636). Stores in *east the UTC offset at the time `now`, in seconds east
 * of Greenwich. Returns false if the file is not a TZif file. The second of its two blocks has
 * 64-bit times; the last line is the rule for times after the last transition. */
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
		size = 44 + times * (width + 1) + types * 6 + big_endian(f, 40, 4) +
		       big_endian(f, 28, 4) * (width + 4) + big_endian(f, 24, 4) +
		       big_endian(f, 20, 4);
		if (size > str_len(f) || types == 0)
			return false;
		rest.p = f.p + size;
		/* f.e - rest.p < 0 is never true, because size was compared with the length of the
		 * file: this is for the static prover */
		if (f.e - rest.p < 0)
			return false;
		/* version 1 of the TZif format has only 32-bit times */
		if (width == 8 || f.p[4] < '2')
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

/* --- functions that parse the names of perf events -------------------------------------------- */

static int hex_digit(char c)
{
	return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 :
	       c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Parses at most 16 hex digits. Returns the end of the digits, or NULL if there are none. */
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

/* Parses a decimal number, or a hexadecimal one after 0x. Returns the end of the number, or NULL if
 * there is none. */
const char *scan_num(struct str s, u64 *v)
{
	struct str hex = s;

	return str_skip_z(&hex, "0x") ? scan_hex(hex, v) : scan_u64(s, v);
}

/* Parses a raw event "rHEX", after which nothing may follow. inside: the text is between the
 * slashes of pmu/.../, where r0xHEX is accepted too. */
bool parse_raw(struct str s, bool inside, u64 *v)
{
	if (!str_skip_z(&s, "r"))
		return false;
	if (inside)
		str_skip_z(&s, "0x");
	return scan_hex(s, v) == s.e;
}

/* Parses the modifiers after an event. Returns s.e, or the address of the first wrong letter. Each
 * letter may occur once; p may occur up to 3 times. */
const char *scan_mods(struct str s, u16 *mods, u8 *precise)
{
	static const struct {
		char letter;
		u16 mod;
	} letters[] = {
		{ 'u', EM_USER }, { 'k', EM_KERNEL }, { 'h', EM_HV }, { 'I', EM_IDLE },
		{ 'G', EM_GUEST }, { 'H', EM_HOST }, { 'P', EM_MAX_PRECISE }, { 'S', EM_READ },
		{ 'D', EM_PINNED }, { 'W', EM_WEAK }, { 'e', EM_EXCLUSIVE }, { 'b', EM_BPF },
		{ 'R', EM_RETIRED }, { 'X', EM_NOMERGE },
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

/* Words in the names of cache events, cache[-op][-result], with their numbers in `config`. The
 * first word for each number is the usual one. The member `type` is not used in these tables. */
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
/* Operations that each cache supports: bit 0 load, bit 1 store, bit 2 prefetch. From
 * evsel__hw_cache_stat of perf. */
static const u8 cache_op_bits[] = { 7, 5, 7, 7, 1, 1, 7 };

/* Moves s past one of the n words, and past a '-' after the word. Returns the row of the word; NULL
 * if s does not begin with any of them. */
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
	const struct evname *cache = cache_word(&s, cache_words, LEN(cache_words));
	const struct evname *op = NULL, *result = NULL, *w;

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
	*config = cache->config | (op ? op->config : 0u) << 8 |
		  (result ? result->config : 0u) << 16;
	return cache_op_bits[cache->config] >> (op ? op->config : 0) & 1;
}

/* Stores the words of the name of cache event number i, below CACHE_NAMES, in words[]. The last
 * word is empty if the event counts all accesses. Returns false if the cache does not support the
 * operation. */
bool cache_name(size_t i, struct str words[3])
{
	static const struct str ops[][2] = { { STR("loads"), STR("load") },
					     { STR("stores"), STR("store") },
					     { STR("prefetches"), STR("prefetch") } };
	const struct evname *w = cache_words;
	size_t cache = i / 6, op = i / 2 % 3, result = i % 2;

	if (cache >= LEN(cache_op_bits) || !(cache_op_bits[cache] >> op & 1))
		return false;
	while (w->config != cache)
		w++;
	words[0] = str_z(w->name);
	words[1] = ops[op][result];
	words[2] = result ? LIT("misses") : LIT("");
	return true;
}

/* Parses the name of a generic hardware, software or cache event. */
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

static bool list_error(struct evlist *l, const char *why, const char *p, const char *e)
{
	l->why = why;
	l->at = (struct str){ p, e };
	l->end = true;
	return false;
}

/* Returns the address of the first byte from p on that is one of `bytes`; e if there is none. */
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

/* p is the start of the terms of an event pmu/term,term/. Returns the slash at the end of the
 * event; NULL if there is none. Quoted values may contain any byte. A value that begins with a
 * slash is a path: it ends before the next comma, or before the last slash of the event. */
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

static bool item_mods(struct evlist *l, struct str s, u16 *mods, u8 *precise)
{
	if (scan_mods(s, mods, precise) == s.e)
		return true;
	return list_error(l, "modifiers are u k h I G H p pp ppp P S D e W b R X, each once, not",
			  s.p, s.e);
}

static bool item_pmu(struct evlist *l, struct evitem *ev, const char *slash)
{
	const char *close = terms_end(slash + 1, l->rest.e), *end;
	struct str mods;

	ev->form = EF_PMU;
	ev->a = (struct str){ l->rest.p, slash };
	if (!close)
		return list_error(l, "no slash after the terms", slash, l->rest.e);
	ev->b = (struct str){ slash + 1, close };
	end = item_end(close + 1, l->rest.e);
	mods = (struct str){ close + 1, end };
	str_skip_z(&mods, ":");
	ev->text = (struct str){ l->rest.p, end };
	return item_mods(l, mods, &ev->mods, &ev->precise);
}

/* Parses SYMBOL[+OFFSET], which a ':' or '/' ends. The form is that of perf's uprobes. Returns the
 * end of the text; NULL if s does not begin with a symbol. */
static const char *scan_symbol(struct str s, struct str *name, u64 *offset)
{
	const char *p = find_any(s.p, s.e, "+/:", 3);

	*name = (struct str){ s.p, p };
	*offset = 0;
	if (s.p >= s.e || p == s.p || (u8)(*s.p - '0') <= 9)
		return NULL;
	return p < s.e && *p == '+' ? scan_num((struct str){ p + 1, s.e }, offset) : p;
}

/* Parses the event mem:ADDR[/LEN][:rwx][:mods], where a symbol may replace the address; s is the
 * text after "mem:". */
static bool item_mem(struct evlist *l, struct evitem *ev, struct str s)
{
	struct str part;
	const char *p;
	bool length;

	ev->form = EF_MEM;
	str_cut(&s, ':', &part);
	p = scan_num(part, &ev->x);
	if (!p)
		p = scan_symbol(part, &ev->b, &ev->x);
	length = p && p < part.e;
	if (!p || (length && *p != '/'))
		return list_error(l, "not an address; use mem:0x1000/8:rw or mem:SYMBOL:w",
				  part.p, part.e);
	if (length && scan_num((struct str){ p + 1, part.e }, &ev->y) != part.e)
		return list_error(l, "not a length; use mem:0x1000/8", p, part.e);
	part = s;
	for (; part.p < part.e; part.p++) {
		u8 bit = *part.p == 'r' ? 1 : *part.p == 'w' ? 2 : *part.p == 'x' ? 4 : 0;

		if (!bit)
			break;
		if (ev->bp & bit)
			return list_error(l, "r, w or x is repeated", s.p, s.e);
		ev->bp |= bit;
	}
	if (ev->bp && part.p < part.e && *part.p++ != ':')
		return list_error(l, "expected r, w, x or a modifier", s.p, s.e);
	/* perf-list(1): the default is reads and writes. For breakpoints on execution,
	 * hw_breakpoint of the kernel requires the length sizeof(long). */
	ev->bp = ev->bp ? ev->bp : 3;
	if (!length)
		ev->y = ev->bp == 4 ? sizeof(long) : 4;
	return item_mods(l, part, &ev->mods, &ev->precise);
}

/* Parses the place of a probe in a file: OFFSET or SYMBOL[+OFFSET]. Returns false if s has another
 * form, or if anything follows. */
static bool is_place(struct str s, struct str *symbol, u64 *offset)
{
	*symbol = (struct str){ s.p, s.p };
	return scan_num(s, offset) == s.e || scan_symbol(s, symbol, offset) == s.e;
}

/* Parses the event uprobe:FILE:PLACE[:mods]; s is the text after the first colon. The file name may
 * contain colons. The text after the last colon is taken as modifiers if it has the form of
 * modifiers and the text before it has the form of a place. */
static bool item_uprobe(struct evlist *l, struct evitem *ev, struct str s)
{
	/* colons[0]: address of the last colon in s; colons[1]: of the colon before; s.e if there
	 * is none */
	const char *colons[2] = { s.e, s.e };
	struct str last, place;
	u16 mods;
	u8 precise;

	ev->form = EF_UPROBE;
	for (int i = 0; i < 2; i++) {
		const char *p = i ? colons[0] : s.e;

		while (p > s.p && p[-1] != ':')
			p--;
		if (p <= s.p)
			break;
		colons[i] = p - 1;
	}
	last = (struct str){ colons[0] < s.e ? colons[0] + 1 : s.e, s.e };
	place = (struct str){ colons[1] < s.e ? colons[1] + 1 : s.e, colons[0] };
	if (scan_num(last, &ev->x) != last.e && colons[1] > s.p && colons[1] < s.e &&
	    is_place(place, &ev->b, &ev->x) &&
	    (!str_len(ev->b) || scan_mods(last, &mods, &precise) == last.e)) {
		ev->a = (struct str){ s.p, colons[1] };
		return item_mods(l, last, &ev->mods, &ev->precise);
	}
	ev->a = (struct str){ s.p, colons[0] };
	if (colons[0] > s.p && colons[0] < s.e && is_place(last, &ev->b, &ev->x))
		return true;
	return list_error(l, "no place; use uprobe:/bin/x:0x1234 or uprobe:/bin/x:main+8",
			  s.p, s.e);
}

/* Parses the event kprobe:FUNCTION[+OFFSET][:mods]; s is the text after the first colon. */
static bool item_kprobe(struct evlist *l, struct evitem *ev, struct str s)
{
	const char *p = scan_symbol(s, &ev->a, &ev->x);

	ev->form = EF_KPROBE;
	if (!p || (p < s.e && *p != ':'))
		return list_error(l, "not a function; use kprobe:do_exit or kprobe:do_exit+8",
				  s.p, s.e);
	return item_mods(l, (struct str){ p < s.e ? p + 1 : p, s.e }, &ev->mods, &ev->precise);
}

/* Parses an event NAME, rHEX, TYPE:CONFIG or SYSTEM:NAME, each with or without :mods. */
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
		return list_error(l, "an event is missing here", ev->text.p, ev->text.e);
	ev->form = parse_raw(a, false, &ev->x) ? EF_RAW : EF_NAME;
	if (ev->form == EF_RAW || parse_evname(a, &type, &config) || !two)
		return item_mods(l, s, &ev->mods, &ev->precise);
	str_cut(&s, ':', &b);
	if (scan_num(a, &ev->x) == a.e) {
		ev->form = EF_TYPED;
		if (b.p == b.e || scan_num(b, &ev->y) != b.e || ev->x > UINT32_MAX)
			return list_error(l, "not a number; use TYPE:CONFIG, as 1:1",
					  ev->text.p, ev->text.e);
		return item_mods(l, s, &ev->mods, &ev->precise);
	}
	/* A text that can be modifiers is always taken as modifiers, because no tracepoint has such
	 * a name. */
	if (b.e == ev->text.e && scan_mods(b, &mods, &precise) == b.e)
		return item_mods(l, b, &ev->mods, &ev->precise);
	ev->form = EF_TRACE;
	ev->b = b;
	return item_mods(l, s, &ev->mods, &ev->precise);
}

static bool item_parse(struct evlist *l, struct evitem *ev)
{
	const char *p = l->rest.p, *e = l->rest.e, *q = find_any(p, e, "/:,{}", 5);
	struct str s = { p, item_end(p, e) };

	ev->text = s;
	if (q == p)
		return list_error(l, p < e && *p == '{' ? "a group in a group" :
				  "an event is missing here", p, e);
	if (str_skip_z(&s, "mem:"))
		return item_mem(l, ev, s);
	ev->returns = !str_skip_z(&s, "uprobe:") && str_skip_z(&s, "uretprobe:");
	if (s.p > p)
		return item_uprobe(l, ev, s);
	ev->returns = !str_skip_z(&s, "kprobe:") && str_skip_z(&s, "kretprobe:");
	if (s.p > p)
		return item_kprobe(l, ev, s);
	return q < e && *q == '/' ? item_pmu(l, ev, q) : item_plain(l, ev);
}

/* Parses the next event of a list into *ev. Returns false at the end of the list, and if an event
 * is malformed; l->why is then the reason. */
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
			return list_error(l, "expected a comma or :modifiers after a group",
					  mods.p, mods.e);
		if (!item_mods(l, mods, &ev->gmods, &ev->gprecise))
			return false;
	}
	if (l->rest.p < l->rest.e && *l->rest.p == ',')
		l->rest.p++;
	else if (l->rest.p < l->rest.e)
		return list_error(l, "no group is open here", l->rest.p, l->rest.e);
	else if (l->in_group)
		return list_error(l, "the group has no }", ev->text.p, ev->text.e);
	else
		l->end = true;
	return true;
}

/* Parses the next term of an event pmu/term,term/ into *t. Returns false after the last term, and
 * if a term is malformed; l->why is then the reason. */
bool evterm_next(struct evlist *l, struct evterm *t)
{
	const char *p = l->rest.p, *e = l->rest.e, *q = find_any(p, e, "=,", 2);

	*t = (struct evterm){ .name = { p, q }, .n = 1, .number = true };
	if (l->end)
		return false;
	if (q == p)
		return list_error(l, "a term is missing here", p, e);
	if (q < e && *q == '=') {
		bool quoted = e - q > 1 && q[1] == '\'';
		const char *from = q + 1 + quoted, *end = find_any(from, e, quoted ? "'" : ",", 1);

		if (quoted && (end == e || (e - end > 1 && end[1] != ',')))
			return list_error(l, "no quote after the value", q, e);
		if (from == end)
			return list_error(l, "a value is missing here", p, e);
		t->value = (struct str){ from, end };
		t->number = scan_num(t->value, &t->n) == end;
		q = end + quoted;
	}
	l->end = q == e;
	l->rest.p = q < e ? q + 1 : e;
	return true;
}

/* Parses a file in the folder `format` of a PMU: config[N]:a[-b](,a[-b])* as in
 * ABI/testing/sysfs-bus-event_source-devices-format. */
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
		/* f->n >= LEN(f->r) is never true, because the width of the ranges is limited to 64
		 * bits: it is for the static prover */
		if (width > 64 || f->n >= LEN(f->r))
			return false;
		f->r[f->n].lo = (u8)lo;
		f->r[f->n++].hi = (u8)hi;
	}
	return true;
}

/* Returns the largest value that fits in a field of a PMU's format. */
u64 format_max(const struct evformat *f)
{
	unsigned width = 0;

	for (u8 i = 0; i < f->n && i < LEN(f->r); i++)
		width += f->r[i].hi - f->r[i].lo + 1u;
	return width < 64 ? (UINT64_C(1) << width) - 1 : UINT64_MAX;
}

/* Stores v in the bits of configs[] that form a field of a PMU's format. Returns false if v is too
 * large for the field. */
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

/* Parses a set of CPUs as the kernel prints it, such as 0-3,8. An empty text is the empty set. */
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

/* Parses the scale of an event, such as "2.3283064365386962890625e-10", as mantissa x 10^-point;
 * the mantissa has up to 19 digits. Returns false if the text is not a positive number, or if
 * *mantissa or *point has no room for it. */
bool parse_scale(struct str s, u64 *mantissa, u8 *point)
{
	u64 m = 0, e = 0;
	i64 places = 0;
	bool dot = false, digits = false, neg = false;
	const char *p = s.p;

	for (; p < s.e && places < 512 && places > -512 &&
	       (is_digit(*p) || (*p == '.' && !dot)); p++) {
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

/* Returns true if the name s of a PMU is `base`, an underscore, and the number of an instance,
 * which is decimal or has more than two hex digits. */
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

/* Returns true if the PMU `name` is one that the user has selected by `pattern`. A name without a
 * number selects all instances of the PMU (ABI/testing/sysfs-bus-event_source-devices), the prefix
 * uncore_ may be left out, and * and ? are wildcards. */
bool pmu_match(struct str pattern, struct str name)
{
	struct str bare = name;

	return glob_match(pattern, name, NULL) || is_instance(name, pattern) ||
	       (str_skip_z(&bare, "uncore_") &&
		(glob_match(pattern, bare, NULL) || is_instance(bare, pattern)));
}

/* --- functions that parse the XML of metric files --------------------------------------------- */

static bool is_space(char c)
{
	return is_blank(c) || c == '\n';
}

static void skip_space(struct str *s)
{
	while (s->p < s->e && is_space(*s->p))
		s->p++;
}

/* Returns true if the byte c cannot be part of the name of an XML element or attribute. */
static bool is_name_end(char c)
{
	return is_space(c) || c == '=' || c == '"' || c == '\'' || c == '>' || c == '/' || c == '<';
}

static bool xml_name(struct str *s, struct str *name)
{
	name->p = s->p;
	while (s->p < s->e && !is_name_end(*s->p))
		s->p++;
	name->e = s->p;
	return name->p < name->e;
}

/* Parses an attribute of an XML tag, name="value" with either kind of quotes, and moves s past it.
 * A < in a value is an error, because then a quote is missing. Returns false if there is no
 * attribute at s, or if it is malformed; s is then at the first wrong byte. */
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

/* Moves s past an XML comment, a declaration or CDATA. Returns false if s does not begin with one
 * of them. If its end is missing, s is moved to the end of the text. */
static bool xml_skip_markup(struct str *s)
{
	static const struct {
		char begins[10], ends[4];
	} markup[] = {
		{ "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" }, { "<!", ">" },
	};

	for (size_t i = 0; i < LEN(markup); i++) {
		if (!str_skip_z(s, markup[i].begins))
			continue;
		for (; s->p < s->e; s->p++) {
			struct str rest = *s;

			if (str_skip_z(&rest, markup[i].ends)) {
				s->p = rest.p;
				break;
			}
		}
		return true;
	}
	return false;
}

/* Parses the next XML tag into *t. Returns false at the end of the text. If a tag is malformed,
 * t->name is empty, and the next call continues after the part that could be parsed. */
bool xml_next(struct str *text, struct xmltag *t)
{
	struct str name = *text, value = *text;
	const char *from;

	do {
		from = byte_find(text->p, text->e, '<');
		text->p = from;
		if (from >= text->e)
			return false;
	} while (xml_skip_markup(text));
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

/* Finds the value of an attribute of an XML tag; XML entities in the value are not decoded. Returns
 * false if the tag has no attribute of that name. */
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

/* Appends the character of the XML entity at s in UTF-8. Returns the end of the entity; NULL if
 * there is no entity at s, or no such character. */
static const char *xml_entity(struct str s, struct buf *b)
{
	static const struct {
		char name[7], c;
	} entities[] = {
		{ "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' }, { "&quot;", '"' },
		{ "&apos;", '\'' },
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

/* Copies the value of an XML attribute and decodes its entities; unknown entities are copied
 * unchanged. Returns the length; more than cap if the value did not fit. */
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
