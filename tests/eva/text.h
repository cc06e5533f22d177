/* text.h - for Eva: models of the functions of parse.c. Each model guarantees only the minimum that
 * callers may rely on, and otherwise has any possible result. The harnesses parse_*.c prove parse.c
 * itself. SPDX-License-Identifier: MIT */
#include "eva.h"

#ifdef __FRAMAC__

static volatile char any_byte;

/* Checks that both ends of a view, and all bytes between them, lie in one object. */
static void read_all(struct str s)
{
	if (s.p < s.e) {
		any_byte = *s.p;
		any_byte = s.e[-1];
	}
}

/* Any position from p up to e. */
static const char *any_place(const char *p, const char *e)
{
	while (p < e && any_bool())
		p++;
	return p;
}

/* --- parse.c ---------------------------------------------------------------------------------- */

/* Constant texts of the program. They all lie in one object, so Eva can compare positions in them;
 * their content is arbitrary. NULL is an empty text. STR assumes that two equal literals are one
 * object: compilers merge them within a file, and every test of this program depends on it. */
#ifndef OWN_TEXTS
static char own_texts[1 << 10];
#define OWN_TEXTS own_texts
#endif
#undef STR
#define STR(lit) { OWN_TEXTS, OWN_TEXTS + sizeof(lit) - 1 }

struct str str_z(const char *z)
{
	size_t n = z ? strlen(z) : 0;

	any_bytes(OWN_TEXTS, sizeof(OWN_TEXTS));
	return (struct str){ OWN_TEXTS, OWN_TEXTS + (n < sizeof(OWN_TEXTS) ? any_to(n) : 0) };
}

bool str_eq(struct str a, struct str b)
{
	read_all(a);
	read_all(b);
	return any_bool();
}

bool str_is(struct str s, const char *z)
{
	read_all(s);
	return strlen(z) < sizeof(OWN_TEXTS) && any_bool();
}

bool str_skip(struct str *s, struct str lead)
{
	read_all(*s);
	read_all(lead);
	if (any_bool())
		return false;
	s->p = any_place(s->p, s->e);
	return true;
}

bool str_skip_z(struct str *s, const char *lead)
{
	return str_skip(s, str_z(lead));
}

/* A word has at least one byte. */
bool str_word(struct str *s, struct str *word)
{
	read_all(*s);
	s->p = any_place(s->p, s->e);
	word->p = s->p;
	word->e = s->p;
	if (s->p >= s->e)
		return false;
	s->p = any_place(s->p + 1, s->e);
	word->e = s->p;
	return true;
}

int str_order(struct str a, struct str b)
{
	read_all(a);
	read_all(b);
	return (int)(u32)any();
}

u32 hash_more(u32 h, struct str s)
{
	read_all(s);
	return (u32)any();
}

const char *scan_num(struct str s, u64 *v)
{
	read_all(s);
	if (any_bool())
		return NULL;
	*v = any();
	return any_place(s.p, s.e);
}

bool xml_next(struct str *text, struct xmltag *t)
{
	const char *p = text->p;

	read_all(*text);
	text->p = any_place(text->p, text->e);
	if (any_bool())
		return false;
	t->opens = any_bool();
	t->closes = any_bool();
	t->name.p = any_place(p, text->p);
	t->name.e = any_place(t->name.p, text->p);
	t->attrs.p = any_place(t->name.e, text->p);
	t->attrs.e = any_place(t->attrs.p, text->p);
	return true;
}

bool xml_attr(struct str attrs, struct str name, struct str *value)
{
	read_all(attrs);
	read_all(name);
	if (any_bool())
		return false;
	value->p = any_place(attrs.p, attrs.e);
	value->e = any_place(value->p, attrs.e);
	return true;
}

size_t xml_text(struct str value, char *to, size_t cap)
{
	size_t n = any_to(cap + 1);

	read_all(value);
	any_bytes(to, cap);
	return n;
}

/* --- parse.c: appending text ------------------------------------------------------------------ */

struct buf buf_on(char *p, size_t cap)
{
	return (struct buf){ .p = p, .cap = cap };
}

/* The effect of any put function: bytes are appended, or not all of them because the buffer is
 * full. */
static void put_some(struct buf *b)
{
	any_bytes(b->p, b->cap);
	b->n += any_to(b->cap);
	if (b->n > b->cap)
		b->n = b->cap;
	b->full = b->full || any_bool();
}

void put_n(struct buf *b, const char *p, size_t n)
{
	read_all((struct str){ p, p + n });
	put_some(b);
}

void put_c(struct buf *b, char c)
{
	if (b->n < b->cap)
		b->p[b->n++] = c;
	else
		b->full = true;
}

void put_str(struct buf *b, struct str s)
{
	read_all(s);
	put_some(b);
}

void put_z(struct buf *b, const char *z)
{
	str_z(z);
	put_some(b);
}

void put_hex(struct buf *b, u8 c)
{
	put_c(b, (char)any());
	put_c(b, (char)any());
}

void put_text(struct buf *b, struct str s)
{
	read_all(s);
	put_some(b);
}

/* No unit has more decimals. */
void put_dec(struct buf *b, u64 n, u8 point, u8 keep)
{
	static const char fits[DIGITS - 1];

	(void)n, (void)keep;
	any_byte = fits[point];
	put_some(b);
}

void put_u64(struct buf *b, u64 v)
{
	put_dec(b, v, 0, 0);
}

void put_columns(struct buf *b, size_t from, size_t to)
{
	(void)from, (void)to;
	put_some(b);
}

char *digits_before(char *e, u64 v, size_t n)
{
	(void)v;
	(void)n;
	any_bytes(e - DIGITS, DIGITS);
	return e - any_to(DIGITS);
}

const char *clean_end(struct str s, u8 where)
{
	(void)where;
	read_all(s);
	return any_place(s.p, s.e);
}

const char *utf8_end(const char *p, const char *e)
{
	return any_place(p, e);
}

const char *scan_i64(struct str s, i64 *v)
{
	read_all(s);
	*v = (i64)any();
	return any_bool() ? any_place(s.p, s.e) : NULL;
}

u32 utf8_value(struct str s)
{
	read_all(s);
	return (u32)any();
}

bool control_is(struct str c)
{
	read_all(c);
	return any_bool();
}

bool glob_match(struct str pat, struct str s, struct str *star)
{
	read_all(pat);
	read_all(s);
	if (star)
		*star = s;
	return any_bool();
}

u64 muldiv(u64 a, u64 b, u64 c)
{
	(void)a, (void)b, (void)c;
	return any();
}

#else

static inline const char *any_place(const char *p, const char *e)
{
	return p + any_to((u64)(e - p));
}

#endif
