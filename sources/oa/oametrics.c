/* oametrics.c - OA metric sets from metric XML, packs and built-in tables; their equations,
 * compiled for a device and evaluated. Pure: bytes in, values out.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"
#include "sources/oa/oa.h"

#include <errno.h>

#define S(lit) ((struct str)STR(lit))

/* --- packs: reading --------------------------------------------------------------------------- */

/* the last byte of the magic number of a pack is the version of the pack format */
static const char magic[] = "gpuOA\r\n\1";
static const struct str pack_magic = { magic, magic + sizeof(magic) - 1 };

/* Parses a number of a pack at the start of s, and removes it from s. A byte has 7 bits of the
 * number, the lowest bits first; all bytes but the last have bit 7 set. Returns false if the number
 * is incomplete or has more than 64 bits. */
static bool uint_parse(struct str *s, u64 *v)
{
	u64 x = 0;

	for (unsigned shift = 0; s->p < s->e && shift < 64; shift += 7) {
		u8 c = (u8)*s->p++;

		x |= (u64)(c & 0x7f) << shift;
		if (shift == 63 && c > 1)
			return false;
		if (c < 0x80) {
			*v = x;
			return true;
		}
	}
	return false;
}

/* Returns s.p + n; NULL if s is shorter than n bytes, or if n has more than BITS bits (packs are
 * shorter than 2^BITS bytes). Each bit of n is checked and added separately, so that a tool that
 * proves memory safety, but does not know the length of s, sees that the result lies within s. */
static const char *str_offset(struct str s, u64 n)
{
	enum { BITS = 25 };

	if (n >> BITS)
		return NULL;
	for (int bit = BITS - 1; bit >= 0; bit--) {
		ptrdiff_t step = (ptrdiff_t)1 << bit;

		if (!(n >> bit & 1))
			continue;
		if (s.e - s.p < step)
			return NULL;
		s.p += step;
	}
	return s.p;
}

/* Parses an entry of a pack at the start of s, and removes it from s. An entry is a length, then
 * that number of bytes, which *entry then refers to. Returns false if s is too short. */
static bool entry_parse(struct str *s, struct str *entry)
{
	const char *e;
	u64 n;

	if (!uint_parse(s, &n) || !(e = str_offset(*s, n)))
		return false;
	*entry = (struct str){ s->p, e };
	s->p = e;
	return true;
}

/* Returns the heap of a pack, which has the texts, equations and lists of its metric sets. Stores
 * the sets, which follow the heap, in *sets. Both are empty if the file is not a pack. */
static struct str pack_heap(const struct oafile *f, struct str *sets)
{
	struct str s = f->text, heap = { s.e, s.e };

	*sets = heap;
	if (f->origin == OM_PACK && str_skip(&s, pack_magic) && entry_parse(&s, &heap))
		*sets = s;
	return heap;
}

/* Parses a reference at the start of s, and removes it from s. A reference is the offset of an
 * entry in the pack's heap. Stores the bytes of that entry in *entry. Returns false if there is no
 * entry at the offset. */
static bool ref_parse(struct str *s, struct str heap, struct str *entry)
{
	u64 at;

	return uint_parse(s, &at) && (heap.p = str_offset(heap, at)) && entry_parse(&heap, entry);
}

/* --- iteration over metric sets, their counters and registers --------------------------------- */

/* Returns the value of an XML attribute; empty if the tag does not have the attribute. */
static struct str attr_value(const struct xmltag *t, const char *name)
{
	struct str v = { t->attrs.p, t->attrs.p };

	xml_attr(t->attrs, str_z(name), &v);
	return v;
}

/* Finds the next XML element with this name. Stores its start tag in *t and its content in *body,
 * and moves *at past the element. Returns false if there is none. */
static bool xml_element(struct str *at, const char *name, struct xmltag *t, struct str *body)
{
	struct xmltag end;

	while (xml_next(at, t)) {
		if (!t->opens || !str_is(t->name, name))
			continue;
		*body = (struct str){ at->p, at->p };
		if (t->closes)
			return true;
		while (xml_next(at, &end))
			if (!end.opens && str_is(end.name, name)) {
				body->e = end.name.p - body->p > 2 ? end.name.p - 2 : body->p;
				return true;
			}
	}
	return false;
}

/* Converts the text of a GUID to lower case, as in sysfs; stores "" if s is not a GUID. */
static void guid_parse(struct str s, char guid[37])
{
	size_t i;

	for (i = 0; i < 36 && s.p < s.e; i++, s.p++) {
		char c = (char)(*s.p >= 'A' && *s.p <= 'F' ? *s.p | 0x20 : *s.p);

		if (i == 8 || i == 13 || i == 18 || i == 23 ? c != '-' :
		    !(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			break;
		guid[i] = c;
	}
	guid[i == 36 && s.p == s.e ? 36 : 0] = '\0';
}

/* Converts the 16 bytes of a GUID in a pack to the text that sysfs uses, in lower case; stores ""
 * if s does not have 16 bytes. */
static void guid_from_bytes(struct str s, char guid[37])
{
	struct buf b = buf_on(guid, 36);

	guid[0] = '\0';
	if (str_len(s) != 16)
		return;
	for (size_t i = 0; s.p < s.e; i++) {
		if (i == 4 || i == 6 || i == 8 || i == 10)
			put_c(&b, '-');
		put_hex(&b, (u8)*s.p++);
	}
	guid[36] = '\0';
}

bool oafile_detect(struct oafile *f, struct str text)
{
	struct str at = text, entry;
	struct xmltag t = { 0 };

	*f = (struct oafile){ text, OM_PACK };
	if (str_skip(&at, pack_magic)) {
		if (!entry_parse(&at, &entry))
			return false;
		while (at.p < at.e)
			if (!entry_parse(&at, &entry))
				return false;
		return true;
	}
	f->origin = OM_XML;
	if (!xml_next(&at, &t) || !t.opens || !str_is(t.name, "metrics"))
		return false;
	while (xml_next(&at, &t))
		if (t.name.p == t.name.e)
			return false;
	return t.closes && str_is(t.name, "metrics");
}

static bool xml_set_next(struct str *at, struct oaset *s)
{
	struct xmltag t;

	if (!xml_element(at, "set", &t, &s->body))
		return false;
	s->name = attr_value(&t, "symbol_name");
	s->chipset = attr_value(&t, "chipset");
	s->format = attr_value(&t, "oa_format");
	guid_parse(attr_value(&t, "hw_config_guid"), s->guid);
	return true;
}

static bool pack_set_next(struct str *at, struct str heap, struct oaset *s)
{
	struct str guid;

	if (!entry_parse(at, &s->body) || !ref_parse(&s->body, heap, &s->name) ||
	    !ref_parse(&s->body, heap, &s->chipset) || !ref_parse(&s->body, heap, &s->format) ||
	    !ref_parse(&s->body, heap, &guid))
		return false;
	guid_from_bytes(guid, s->guid);
	return true;
}

/* Stores the built-in metric set of the next GPU family in *s. *at covers the rows of oafamilies[]
 * that are not read yet. Returns false at the end of the table. */
static bool basic_set_next(struct str *at, struct oaset *s)
{
	const struct oafamily *f;

	if (at->p >= at->e)
		return false;
	f = &oafamilies[(size_t)(at->p - (const char *)oafamilies) / sizeof(*f)];
	at->p += sizeof(*f);
	s->name = S("Basic");
	s->chipset = str_z(f->name);
	s->format = str_z(f->format);
	guid_parse(str_z(f->guid), s->guid);
	s->body = (struct str){ (const char *)f, at->p };
	return true;
}

bool oaset_next(const struct oafile *f, struct str *at, struct oaset *s)
{
	struct str sets, heap = pack_heap(f, &sets);
	struct oaset next;

	if (f->origin == OM_BASIC)
		sets = (struct str){ (const char *)oafamilies,
			(const char *)(oafamilies + noafamilies) };
	else if (f->origin == OM_XML)
		sets = f->text;
	if (!at->p)
		*at = sets;
	next = (struct oaset){ f, heap, heap, heap, "", heap };
	if (!(f->origin == OM_XML ? xml_set_next(at, &next) :
	      f->origin == OM_PACK ? pack_set_next(at, heap, &next) : basic_set_next(at, &next)))
		return false;
	*s = next;
	return true;
}

static bool xml_def_next(struct str *at, struct oadef *c)
{
	struct xmltag t;
	struct str type;

	do
		if (!xml_next(at, &t))
			return false;
	while (!t.opens || !str_is(t.name, "counter"));
	c->name = attr_value(&t, "symbol_name");
	c->units = attr_value(&t, "units");
	c->equation = attr_value(&t, "equation");
	c->max = attr_value(&t, "max_equation");
	c->available = attr_value(&t, "availability");
	c->description = attr_value(&t, "description");
	type = attr_value(&t, "data_type");
	c->is_float = str_is(type, "float") || str_is(type, "double");
	return true;
}

static bool pack_def_next(struct str *at, struct str heap, struct oadef *c)
{
	struct str s;

	if (!ref_parse(at, heap, &s) || s.p >= s.e)
		return false;
	c->is_float = *s.p++ != 0;
	return ref_parse(&s, heap, &c->name) && ref_parse(&s, heap, &c->units) &&
	       ref_parse(&s, heap, &c->equation) && ref_parse(&s, heap, &c->max) &&
	       ref_parse(&s, heap, &c->available) &&
	       (s.p >= s.e || ref_parse(&s, heap, &c->description));
}

/* Stores the next counter of the built-in metric set s in *c. *at covers the rows of oabasic_rows[]
 * that are not read yet. Returns false at the end of the table. */
static bool basic_def_next(const struct oaset *s, struct str *at, struct oadef *c)
{
	size_t family = (size_t)(s->body.p - (const char *)oafamilies) / sizeof(struct oafamily);

	while (at->p < at->e) {
		const struct oabasic_row *r =
			&oabasic_rows[(size_t)(at->p - (const char *)oabasic_rows) / sizeof(*r)];

		at->p += sizeof(*r);
		if (!(r->families >> family & 1))
			continue;
		*c = (struct oadef){ str_z(r->name), str_z(oabasic_units[r->units]), r->is_float,
				     str_z(r->equation), str_z(oabasic_max[r->max]), { 0 }, { 0 } };
		return true;
	}
	return false;
}

bool oadef_next(const struct oaset *s, struct str *at, struct oadef *c)
{
	struct str body = s->body, sets, heap = pack_heap(s->file, &sets);

	*c = (struct oadef){ heap, heap, false, heap, heap, heap, { heap.e, heap.e } };
	if (s->file->origin == OM_XML) {
		if (!at->p)
			*at = body;
		return xml_def_next(at, c);
	}
	if (s->file->origin == OM_PACK) {
		if (!at->p && !ref_parse(&body, heap, at))
			return false;
		return pack_def_next(at, heap, c);
	}
	if (!at->p)
		*at = (struct str){ (const char *)oabasic_rows,
				    (const char *)(oabasic_rows + noabasic_rows) };
	return basic_def_next(s, at, c);
}

/* A register config of a metric set: registers of one type, and the condition (availability) under
 * which a device uses them. */
struct config {
	u8 type; /* type of the registers: enum oaregs; OREGS if it is unknown */
	struct str available, list;
};

static bool xml_config_next(struct str *at, struct config *c)
{
	static const char types[OREGS][5] = { "NOA", "OA", "FLEX" };
	struct xmltag t;
	struct str type;

	if (!xml_element(at, "register_config", &t, &c->list))
		return false;
	type = attr_value(&t, "type");
	for (c->type = 0; c->type < OREGS && !str_is(type, types[c->type]); c->type++)
		;
	c->available = attr_value(&t, "availability");
	return true;
}

static bool config_next(const struct oaset *s, struct str *at, struct config *c)
{
	static const char types[OREGS] = { OREG_NOA, OREG_OA, OREG_FLEX };
	struct str body = s->body, sets, heap = pack_heap(s->file, &sets);
	const struct oafamily *f;

	*c = (struct config){ OREGS, heap, heap };
	if (s->file->origin == OM_XML) {
		if (!at->p)
			*at = body;
		return xml_config_next(at, c);
	}
	if (s->file->origin == OM_PACK) {
		if (!at->p && (!ref_parse(&body, heap, at) || !ref_parse(&body, heap, at)))
			return false;
		if (at->p >= at->e)
			return false;
		c->type = (u8)*at->p++;
		return ref_parse(at, heap, &c->available) && ref_parse(at, heap, &c->list);
	}
	/* In a built-in set, *at is the rest of the array types[] (register types): the types whose
	 * register configs were not returned yet. */
	if (!at->p)
		*at = (struct str){ types, types + OREGS };
	if (at->p >= at->e)
		return false;
	f = &oafamilies[(size_t)(body.p - (const char *)oafamilies) / sizeof(*f)];
	c->type = (u8)*at->p++;
	c->available = (struct str){ 0 };
	c->list = (struct str){ 0 };
	if (f->nregs[c->type])
		c->list = (struct str){ (const char *)f->regs[c->type],
			(const char *)(f->regs[c->type] + f->nregs[c->type]) };
	return true;
}

/* Stores the value of an XML attribute in *v. Returns false if the value is not a hexadecimal
 * number that begins with 0x and has up to 32 bits. */
static bool hex_attr(const struct xmltag *t, const char *name, u32 *v)
{
	struct str s = attr_value(t, name);
	u64 x;

	if (s.e - s.p < 3 || s.p[0] != '0' || s.p[1] != 'x' || scan_num(s, &x) != s.e ||
	    x > UINT32_MAX)
		return false;
	*v = (u32)x;
	return true;
}

/* Reads the next register of a list: stores its address in reg[0] and its value in reg[1]. Before
 * the call, reg must have the previous register, or { 0 } for the first one, because packs store
 * differences of addresses. Returns 1, 0 at the end of the list, or -EINVAL if the register is
 * malformed. */
static long register_next(u8 origin, struct str *list, u32 reg[2])
{
	struct xmltag t;
	u64 step, value;

	if (origin == OM_XML) {
		do
			if (!xml_next(list, &t))
				return 0;
		while (!t.opens || !str_is(t.name, "register"));
		return hex_attr(&t, "address", &reg[0]) && hex_attr(&t, "value", &reg[1]) ? 1 :
			-EINVAL;
	}
	if (list->p >= list->e)
		return 0;
	if (origin == OM_BASIC) {
		memcpy(reg, list->p, 8);
		list->p += 8;
		return 1;
	}
	if (!uint_parse(list, &step) || !uint_parse(list, &value) || value > UINT32_MAX)
		return -EINVAL;
	reg[0] += (u32)(step >> 1) ^ (0 - (u32)(step & 1));
	reg[1] = (u32)value;
	return 1;
}

static bool word_eq_nocase(struct str a, struct str b)
{
	if (str_len(a) != str_len(b))
		return false;
	for (; a.p < a.e && b.p < b.e; a.p++, b.p++)
		if (*a.p != *b.p && ((*a.p ^ *b.p) != 0x20 || (*a.p | 0x20) < 'a' ||
				     (*a.p | 0x20) > 'z'))
			return false;
	return true;
}

bool oaset_fits(const struct oaset *s, const struct oaplatform *p)
{
	return p && word_eq_nocase(s->chipset, str_z(s->file->origin == OM_BASIC ?
						     oafamilies[p->family].name : p->name));
}

/* --- equations: words ------------------------------------------------------------------------- */

/* Numbers of the words of equations. Packs contain these numbers, which must therefore never
 * change. */
enum {
	W_UADD, W_USUB, W_UMUL, W_UDIV, W_FADD, W_FSUB, W_FMUL, W_FDIV, W_UMIN, W_FMAX, W_AND,
	W_ANDL, W_SHL, W_SHR, W_UGT, W_UGTE, W_ULT, W_ULTE, W_OPS,
	W_READ = 31,
	W_A = 32, W_B, W_C, W_TIME, W_CLOCK, W_PERFCNT, W_PEC, W_GROUPS_END,
	W_NAME = 64,  /* W_NAME: the word $NAME; in a pack, a reference to the name follows */
	W_OTHER,      /* W_OTHER: an unknown word; in a pack, a reference to its text follows */
	W_NUMBER,     /* W_NUMBER: a number; in a pack, its value follows */
	/* W_SMALL: a byte of a pack with this bit is a number up to 127, which is in its low 7
	 * bits */
	W_SMALL = 128
};

static const struct {
	char text[10];
	u8 word;
} words[] = {
	{ "UADD", W_UADD }, { "USUB", W_USUB }, { "UMUL", W_UMUL }, { "UDIV", W_UDIV },
	{ "FADD", W_FADD }, { "FSUB", W_FSUB }, { "FMUL", W_FMUL }, { "FDIV", W_FDIV },
	{ "UMIN", W_UMIN }, { "FMAX", W_FMAX }, { "AND", W_AND }, { "&&", W_ANDL },
	{ "<<", W_SHL }, { ">>", W_SHR }, { "UGT", W_UGT }, { "UGTE", W_UGTE },
	{ "ULT", W_ULT }, { "ULTE", W_ULTE }, { "READ", W_READ }, { "A", W_A }, { "B", W_B },
	{ "C", W_C }, { "GPU_TIME", W_TIME }, { "GPU_CLOCK", W_CLOCK }, { "PERFCNT", W_PERFCNT },
	{ "PEC", W_PEC }, { "true", W_SMALL | 1 },
};

struct oatoken {
	/* number of the word (W_*); token_next() stores W_NUMBER for every number, never W_SMALL */
	u8 word;
	u64 n;
	/* if word is W_NAME, the name after the $; if it is W_OTHER, the unknown word; else
	 * empty */
	struct str text;
};

/* Reads the next token of an equation in text form, as in XML files, and removes it from *eq.
 * Returns false at the end of the equation. */
static bool word_next(struct str *eq, struct oatoken *t)
{
	/* the word without XML entities: the longest known word is a number of 20 digits, and a
	 * longer word becomes a token W_OTHER */
	char b[25];
	size_t len;
	struct str w;
	u64 n;

	if (!str_word(eq, &w) || w.p >= w.e)
		return false;
	*t = (struct oatoken){ .word = W_NAME, .text = { w.p + 1, w.e } };
	if (*w.p == '$')
		return true;
	*t = (struct oatoken){ .word = W_OTHER, .text = w };
	len = xml_text(w, b, sizeof(b) - 1);
	if (len >= sizeof(b))
		return true;
	w = (struct str){ b, b + len };
	for (size_t i = 0; i < LEN(words); i++)
		if (str_is(w, words[i].text)) {
			t->word = words[i].word;
			break;
		}
	if (t->word == W_OTHER && scan_num(w, &n) == w.e) {
		t->word = W_NUMBER;
		t->n = n;
	}
	if (t->word != W_OTHER)
		t->text.e = t->text.p;
	return true;
}

/* Reads the next token of an equation from a file of any origin: XML, pack or built in. Removes it
 * from *eq, and returns false at the end of the equation. */
static bool token_next(const struct oafile *f, struct str *eq, struct oatoken *t)
{
	struct str sets, heap = pack_heap(f, &sets);

	if (f->origin != OM_PACK) {
		do
			if (!word_next(eq, t))
				return false;
		while (f->origin == OM_BASIC && t->word == W_OTHER && oabasic_expand(t->text, eq));
	} else {
		if (eq->p >= eq->e)
			return false;
		*t = (struct oatoken){ .word = (u8)*eq->p++, .text = { heap.e, heap.e } };
		if ((t->word == W_NAME || t->word == W_OTHER) ? !ref_parse(eq, heap, &t->text) :
		    t->word == W_NUMBER && !uint_parse(eq, &t->n))
			t->word = W_OTHER;
	}
	if (t->word >= W_SMALL) {
		t->n = t->word & (W_SMALL - 1);
		t->word = W_NUMBER;
	}
	return true;
}

/* --- equations: the stack machine ------------------------------------------------------------- */

/* Instructions of the stack machine: operations on u64, conversions to double and to u64,
 * operations on doubles. */
enum { V_PUSH, V_ADD, V_SUB,
       V_SUB_CLAMP, /* V_SUB_CLAMP: a difference below 0 becomes 0 */
       V_MUL, V_DIV,
       V_MULDIV, /* V_MULDIV: a * b / c of three u64; the product has 128 bits */
       V_MIN, V_AND, V_ANDL, V_SHL, V_SHR, V_GT, V_GE, V_LT, V_LE,
       /* V_RATIO: quotient of two u64 as a double, the last step of the equation of a percentage */
       V_RATIO,
       V_DOUBLE, V_U64, V_FADD, V_FSUB, V_FMUL, V_FDIV, V_FMAX };

/* Values of oains.src: where the right operand is (SRC_), and whether the left (L_) or right (R_)
 * operand is first converted to double or to u64. */
enum { SRC_CONST, SRC_SLOT, SRC_COUNTER, SRC_STACK, SRC_MASK = 3,
       L_DOUBLE = 4, L_U64 = 8, R_DOUBLE = 16, R_U64 = 32 };

enum {
	/* maximum number of operands on the compiler's stack; public equations need 9 */
	MAX_OPERANDS = 16,
	/* number of elements of the stack on which equations are evaluated, a power of two; twice
	 * MAX_OPERANDS, because one operand of the compiler may be a product whose two factors are
	 * still on the stack */
	MAX_DEPTH = 2 * MAX_OPERANDS,
};

/* Converts a double to u64. In C the result is undefined if the value does not fit: here a negative
 * value or NaN becomes 0, and a value that is too large becomes UINT64_MAX. The bits of the doubles
 * are compared as integers: doubles from 0 to infinity have the order of their bits, then come
 * NaNs, then negative values. */
static u64 double_to_u64(union oaval v)
{
	static const union oaval beyond = { .f = 18446744073709551616.0 };
	static const union oaval infinite = { .u = UINT64_C(0x7ff) << 52 };

	if (v.u < beyond.u)
		return (u64)v.f;
	return v.u <= infinite.u ? UINT64_MAX : 0;
}

static double quotient(double a, double b)
{
	return b < 0 || b > 0 ? a / b : 0;
}

static union oaval val_double(double f)
{
	return (union oaval){ .f = f };
}

static union oaval val_u64(u64 u)
{
	return (union oaval){ .u = u };
}

static union oaval convert(union oaval v, bool to_double, bool to_u64)
{
	return to_double ? val_double((double)v.u) : to_u64 ? val_u64(double_to_u64(v)) : v;
}

/* Runs the instructions c.from to c.to - 1, and returns their result. sum has the sums of the raw
 * counters, v the values of the metric set's counters before this one. The top of the stack is in
 * the variable a, not in stack[]. The compiler limits the depth of the stack; indexes are taken
 * modulo MAX_DEPTH, so that any code stays within stack[]. */
static union oaval code_eval(const struct oains *all, struct oacode c, union oaval *stack,
			     const u64 *sum, const union oaval *v)
{
	union oaval a = { 0 }, b;

	for (unsigned sp = 0, at = c.from; at < c.to; at++) {
		const struct oains *i = &all[at];
		unsigned src = i->src, where = src & SRC_MASK;

		b = i->k;
		if (where == SRC_SLOT && i->arg < OA_SLOTS) {
			b.u = sum[i->arg];
		} else if (where == SRC_COUNTER && i->arg < MAX_OA_COUNTERS) {
			b = v[i->arg];
		} else if (where == SRC_STACK) {
			b = a;
			a = stack[--sp % MAX_DEPTH];
		}
		if (src > SRC_MASK) {
			a = convert(a, src & L_DOUBLE, src & L_U64);
			b = convert(b, src & R_DOUBLE, src & R_U64);
		}
		switch (i->op) {
		case V_PUSH: stack[sp++ % MAX_DEPTH] = a; a = b; break;
		case V_ADD:  a.u += b.u; break;
		case V_SUB:  a.u -= b.u; break;
		/* The GPU does not read all counters at the same time, so that the count of a part
		 * may exceed the count of the whole: their difference is then 0. */
		case V_SUB_CLAMP: a.u = a.u > b.u ? a.u - b.u : 0; break;
		case V_MUL:  a.u *= b.u; break;
		case V_DIV:  a.u = b.u ? a.u / b.u : 0; break;
		case V_MULDIV:
			sp--;
			a.u = b.u ? muldiv(stack[sp % MAX_DEPTH].u, a.u, b.u) : 0;
			break;
		case V_MIN:  a.u = a.u < b.u ? a.u : b.u; break;
		case V_AND:  a.u &= b.u; break;
		case V_ANDL: a.u = a.u && b.u; break;
		case V_SHL:  a.u = b.u < 64 ? a.u << b.u : 0; break;
		case V_SHR:  a.u = b.u < 64 ? a.u >> b.u : 0; break;
		case V_GT:   a.u = a.u > b.u; break;
		case V_GE:   a.u = a.u >= b.u; break;
		case V_LT:   a.u = a.u < b.u; break;
		case V_LE:   a.u = a.u <= b.u; break;
		case V_RATIO:  a = val_double(quotient((double)a.u, (double)b.u)); break;
		case V_DOUBLE: a = val_double((double)a.u); break;
		case V_U64:    a = val_u64(double_to_u64(a)); break;
		case V_FADD: a.f += b.f; break;
		case V_FSUB: a.f -= b.f; break;
		case V_FMUL: a.f *= b.f; break;
		case V_FDIV: a.f = quotient(a.f, b.f); break;
		default:     a.f = a.f > b.f ? a.f : b.f; break;
		}
	}
	return a;
}

/* --- equations: compilation ------------------------------------------------------------------- */

/* For each operator of equations, the instruction for two u64 operands (u), and the one for
 * operands of which at least one is a double (f). If the instruction is 0, both operands are first
 * converted to the type of the other instruction. Types are those of IGT's generated code: a sum or
 * product of two u64 is computed as u64, and the result is then converted to the type that the
 * first letter of the operator says (U or F). */
static const struct {
	u8 u, f;
	bool is_float; /* type of the result */
} operators[W_OPS] = {
	[W_UADD] = { V_ADD, V_FADD, false }, [W_USUB] = { V_SUB, V_FSUB, false },
	[W_UMUL] = { V_MUL, V_FMUL, false },
	[W_FADD] = { V_ADD, V_FADD, true },  [W_FSUB] = { V_SUB_CLAMP, V_FSUB, true },
	[W_FMUL] = { V_MUL, V_FMUL, true },
	[W_UDIV] = { V_DIV, 0, false }, [W_FDIV] = { 0, V_FDIV, true },
	[W_UMIN] = { V_MIN, 0, false },
	[W_FMAX] = { 0, V_FMAX, true }, [W_AND] = { V_AND, 0, false },
	[W_ANDL] = { V_ANDL, 0, false },
	[W_SHL] = { V_SHL, 0, false }, [W_SHR] = { V_SHR, 0, false }, [W_UGT] = { V_GT, 0, false },
	[W_UGTE] = { V_GE, 0, false }, [W_ULT] = { V_LT, 0, false }, [W_ULTE] = { V_LE, 0, false },
};

#define GROUP(word) (1 + (word) - W_A)

/* Groups of hardware counters, which equations name by a word (A, B, PEC). slot: index of the first
 * counter of the group in the array of raw counters; n: number of counters of the group, 0 if OA
 * reports do not have the group. */
static const struct {
	u8 slot, n;
} letters[1 + W_GROUPS_END - W_A] = {
	[GROUP(W_A)] = { OA_A, 64 },       [GROUP(W_B)] = { OA_B, 8 },
	[GROUP(W_C)] = { OA_C, 8 },
	[GROUP(W_TIME)] = { OA_TIME, 1 },  [GROUP(W_CLOCK)] = { OA_CLOCK, 1 },
	[GROUP(W_PERFCNT)] = { 0, 0 },
	[GROUP(W_PEC)] = { OA_A, 64 },
};

enum verdict { OK, ABSENT /* not for this device */, BAD };

/* An operand on the compiler's stack: a constant, the place of a value when the equation is
 * evaluated, or a group of hardware counters, such as A, which the index of one of its counters
 * must follow. */
struct operand {
	u8 src; /* place of the operand's value: SRC_CONST, SRC_SLOT, SRC_COUNTER or SRC_STACK */
	bool is_float;
	/* group of hardware counters: index in letters[]; 0 if the operand is not a group */
	u8 group;
	u16 arg;
	union oaval k;
	struct oains *product; /* the V_MUL instruction whose product is this operand, or NULL */
};

struct compiler {
	/* program that receives the compiled code; NULL if the equation must be constant */
	struct oaprog *p;
	const struct oaset *s;
	const struct oadevice *d;
	/* ncode: number of emitted instructions; ndefs: number of counters of the metric set that
	 * were read so far */
	u32 ncode, ndefs;
	struct oacounter c; /* the counter that is being compiled */
	const char *error;
	struct operand stack[MAX_OPERANDS];
	/* n: number of operands in stack[]; nemitted: number of operands, from stack[0] on, for
	 * which V_PUSH was emitted */
	u8 n, nemitted;
};

static u8 compile_error(struct compiler *m, const char *error)
{
	m->error = error;
	return BAD;
}

static u8 instr_emit(struct compiler *m, struct oains i)
{
	if (!m->p)
		return compile_error(m, "not constant");
	if (m->ncode >= MAX_OA_CODE)
		return compile_error(m, "no room for it");
	m->p->code[m->ncode++] = i;
	return OK;
}

/* Emits a V_PUSH instruction for each of the lowest n operands of the compiler's stack that does
 * not have such an instruction yet. */
static u8 operands_emit(struct compiler *m, u8 n)
{
	for (; m->nemitted < n; m->nemitted++) {
		struct operand *o = &m->stack[m->nemitted];

		if (o->group)
			return compile_error(m, "a counter without READ");
		if (instr_emit(m, (struct oains){ V_PUSH, o->src, o->arg, o->k }))
			return BAD;
		o->src = SRC_STACK;
	}
	return OK;
}

static u8 operand_push(struct compiler *m, struct operand o)
{
	if (m->n >= MAX_OPERANDS)
		return compile_error(m, "nested too deeply");
	m->stack[m->n++] = o;
	return OK;
}

/* Pops the two top operands of the compiler's stack into *l and *r. Returns false if the stack has
 * fewer than two. */
static bool operands_pop(struct compiler *m, struct operand *l, struct operand *r)
{
	if (m->n < 2 || m->n > MAX_OPERANDS)
		return false;
	m->n -= 2;
	*l = m->stack[m->n];
	*r = m->stack[m->n + 1];
	return true;
}

static u8 read_compile(struct compiler *m)
{
	struct operand group, index;
	u64 i;

	if (!operands_pop(m, &group, &index) || !group.group || index.src != SRC_CONST ||
	    index.is_float || index.group)
		return compile_error(m, "READ without a counter");
	i = index.k.u;
	if (letters[group.group].n == 0)
		return ABSENT;
	if (i >= letters[group.group].n)
		return compile_error(m, "a counter that is not in reports");
	return operand_push(m, (struct operand){ .src = SRC_SLOT,
		.arg = (u16)(letters[group.group].slot + i) });
}

/* Turns a product and the division after it into one V_MULDIV instruction with 128 bits, because
 * ticks of several hours, times 10^9, have more than 64 bits. The product's instruction becomes a
 * V_PUSH, so that both factors stay on the stack until the division uses them. If both factors are
 * on the stack already, this V_PUSH changes nothing. */
static void product_divide(struct oains *product, struct oains *division)
{
	if (product && division->op == V_DIV) {
		product->op = V_PUSH;
		division->op = V_MULDIV;
	}
}

/* Compiles an operator of an equation. An operator on two constants is evaluated at once, so that
 * it need not be evaluated for each report. */
static u8 operator_compile(struct compiler *m, u8 word)
{
	struct operand l, r;
	struct oains i[3] = { { .op = V_PUSH, .src = SRC_CONST } };
	bool ratio, dbl;
	union oaval stack[MAX_DEPTH] = { 0 };
	u16 n = 2;

	if (!operands_pop(m, &l, &r) || l.group || r.group)
		return compile_error(m, "an operator without its operands");
	ratio = operators[word].f == V_FDIV && !l.is_float && !r.is_float;
	dbl = !ratio && operators[word].f && (!operators[word].u || l.is_float || r.is_float);
	i[1] = (struct oains){ ratio ? V_RATIO : dbl ? operators[word].f : operators[word].u, 0,
		r.arg, r.k };
	if (l.is_float != dbl)
		i[1].src |= dbl ? L_DOUBLE : L_U64;
	if (r.is_float != dbl && r.src == SRC_CONST)
		i[1].k = convert(r.k, dbl, true);
	else if (r.is_float != dbl)
		i[1].src |= dbl ? R_DOUBLE : R_U64;
	if (!ratio && operators[word].is_float != dbl)
		i[n++].op = dbl ? V_U64 : V_DOUBLE;
	if (l.src == SRC_CONST && r.src == SRC_CONST) {
		i[0].k = l.k;
		l.k = code_eval(i, (struct oacode){ 0, n }, stack, NULL, NULL);
	} else {
		i[1].src |= r.src;
		product_divide(l.product, &i[1]);
		if (operands_emit(m, m->n + 1) || instr_emit(m, i[1]) ||
		    (n > 2 && instr_emit(m, i[2])))
			return BAD;
		m->nemitted = m->n + 1;
		l = (struct operand){ .src = SRC_STACK };
		if (i[1].op == V_MUL && n == 2)
			l.product = &m->p->code[m->ncode - 1];
	}
	l.is_float = operators[word].is_float;
	return operand_push(m, l);
}

/* Returns the index of the counter with this name in p->counters[]; MAX_OA_COUNTERS if none has
 * this name. */
static u32 counter_index(const struct oaprog *p, struct str name)
{
	for (u32 i = 0; i < p->n && i < MAX_OA_COUNTERS; i++) {
		struct str has = p->counters[i].name;

		if (has.p && has.e && str_eq(has, name))
			return i;
	}
	return MAX_OA_COUNTERS;
}

/* Compiles a reference to an earlier counter of the metric set. Returns ABSENT if the earlier
 * counter was left out as malformed or absent, so that the current counter is left out, too. */
static u8 counter_ref_compile(struct compiler *m, struct str name)
{
	struct str at = { 0 };
	struct oadef c;
	u32 k = m->p ? counter_index(m->p, name) : MAX_OA_COUNTERS;

	if (k < MAX_OA_COUNTERS) {
		m->c.needs[k / 64] |= UINT64_C(1) << k % 64;
		m->c.unknown |= m->p->counters[k].unknown;
		return operand_push(m, (struct operand){ .src = SRC_COUNTER,
			.is_float = m->p->counters[k].is_float, .arg = (u16)k });
	}
	for (u32 i = 0; i < m->ndefs && oadef_next(m->s, &at, &c); i++)
		if (str_eq(c.name, name))
			return ABSENT;
	return compile_error(m, "an unknown name, or one defined later");
}

static u8 variable_compile(struct compiler *m, u8 var, u8 index)
{
	struct operand o = { .src = SRC_CONST };

	if (!oavar_value(m->d, var, index, &o.k.u))
		m->c.unknown |= 1u << var;
	return operand_push(m, o);
}

static u8 token_compile(struct compiler *m, const struct oatoken *t)
{
	u8 var, index;

	if (t->word < W_OPS)
		return operator_compile(m, t->word);
	if (t->word >= W_A && t->word < W_GROUPS_END)
		return operand_push(m, (struct operand){ .group = GROUP(t->word) });
	switch (t->word) {
	case W_READ:
		return read_compile(m);
	case W_NUMBER:
		return operand_push(m, (struct operand){ .src = SRC_CONST, .k.u = t->n });
	case W_NAME:
		return oavar_find(t->text, &var, &index) ? variable_compile(m, var, index) :
		       counter_ref_compile(m, t->text);
	default:
		return compile_error(m, "an unknown word");
	}
}

/* Compiles an equation. After success its value is the only operand on the compiler's stack,
 * m->stack[0]. */
static u8 equation_compile(struct compiler *m, struct str eq)
{
	struct oatoken t;
	u8 verdict = OK;

	m->n = m->nemitted = 0;
	while (verdict == OK && token_next(m->s->file, &eq, &t))
		verdict = token_compile(m, &t);
	if (verdict == OK && (m->n != 1 || m->stack[0].group))
		return compile_error(m, "more than one value, or none");
	return verdict;
}

/* Compiles an equation of the current counter to code whose result has the type of the counter (u64
 * or double). If the equation is malformed, the code is removed again. */
static u8 code_compile(struct compiler *m, struct str eq, bool is_float, struct oacode *code)
{
	u32 from = m->ncode;
	u8 verdict = equation_compile(m, eq);

	if (verdict == OK)
		verdict = operands_emit(m, 1);
	if (verdict == OK && m->stack[0].is_float != is_float)
		verdict = instr_emit(m, (struct oains){ .op = is_float ? V_DOUBLE : V_U64 });
	if (verdict != OK)
		m->ncode = from;
	*code = (struct oacode){ (u16)from, (u16)m->ncode };
	return verdict;
}

/* Evaluates the condition of a counter or of registers, which must be constant. Returns OK if the
 * condition is true or empty, ABSENT if it is false, BAD if it is malformed. */
static u8 condition_eval(struct compiler *m, struct str eq)
{
	struct oaprog *p = m->p;
	u8 verdict;

	if (eq.p == eq.e)
		return OK;
	m->p = NULL;
	verdict = equation_compile(m, eq);
	m->p = p;
	if (verdict == OK && m->stack[0].src != SRC_CONST)
		return compile_error(m, "not constant");
	if (verdict == OK && (m->stack[0].is_float ? double_to_u64(m->stack[0].k) :
			      m->stack[0].k.u) == 0)
		return ABSENT;
	return verdict;
}

/* Compiles the equation of the current counter's maximum. Returns false if there is no such
 * equation, or if it is malformed or has an unknown variable. */
static bool max_compile(struct compiler *m, const struct oadef *def)
{
	u32 unknown = m->c.unknown;
	bool known;

	if (def->max.p == def->max.e)
		return false;
	m->c.unknown = 0;
	known = code_compile(m, def->max, def->is_float, &m->c.max) == OK && !m->c.unknown;
	m->c.unknown = unknown;
	return known;
}

static u8 counter_compile(struct compiler *m, const struct oadef *def)
{
	u8 verdict = condition_eval(m, def->available);

	m->c = (struct oacounter){ .name = def->name, .units = def->units,
		.description = def->description, .is_float = def->is_float };
	if (verdict == OK && def->name.p == def->name.e)
		verdict = compile_error(m, "no name");
	if (verdict == OK && counter_index(m->p, def->name) < MAX_OA_COUNTERS)
		verdict = compile_error(m, "a duplicate name");
	if (verdict == OK)
		verdict = code_compile(m, def->equation, def->is_float, &m->c.code);
	if (verdict != OK)
		return verdict;
	m->c.has_max = max_compile(m, def);
	m->p->counters[m->p->n++] = m->c;
	return OK;
}

bool oaprog_compile(struct oaprog *p, const struct oaset *s, const struct oadevice *d,
		    struct buf *why)
{
	struct compiler m = { .p = p, .s = s, .d = d };
	struct str at = { 0 };
	struct oadef def;

	p->n = p->bad = 0;
	for (; oadef_next(s, &at, &def); m.ndefs++) {
		if (m.ndefs >= MAX_OA_COUNTERS || p->n >= MAX_OA_COUNTERS) {
			put_z(why, "more than 256 counters");
			return false;
		}
		if (counter_compile(&m, &def) != BAD || p->bad++ > 0)
			continue;
		put_str(why, def.name);
		put_z(why, ": ");
		put_z(why, m.error);
	}
	oaprog_select(p, NULL);
	return true;
}

static void slots_mark(struct oaprog *p, struct oacode code)
{
	for (unsigned at = code.from; at < code.to; at++) {
		const struct oains *i = &p->code[at];

		if ((i->src & SRC_MASK) == SRC_SLOT && i->arg < OA_SLOTS)
			p->slots[i->arg] = true;
	}
}

void oaprog_select(struct oaprog *p, const bool *counters)
{
	u64 evaluated[MAX_OA_COUNTERS / 64] = { 0 };

	memset(p->slots, 0, sizeof(p->slots));
	for (u32 rest = p->n; rest > 0; rest--) {
		u32 i = rest - 1;
		struct oacounter *c = &p->counters[i];

		c->wanted = !counters || counters[i];
		c->evaluated = c->wanted || (evaluated[i / 64] >> i % 64 & 1);
		if (!c->evaluated)
			continue;
		for (size_t w = 0; w < LEN(evaluated); w++)
			evaluated[w] |= c->needs[w];
		slots_mark(p, c->code);
		slots_mark(p, c->max);
	}
}

void oaprog_eval(const struct oaprog *p, const u64 *sum, union oaval *v)
{
	union oaval stack[MAX_DEPTH] = { 0 };

	for (u32 i = 0; i < p->n; i++) {
		const struct oacounter *c = &p->counters[i];

		if (c->evaluated)
			v[i] = code_eval(p->code, c->code, stack, sum, v);
	}
}

bool oaprog_max(const struct oaprog *p, size_t i, const u64 *sum, const union oaval *v,
		union oaval *max)
{
	const struct oacounter *c = &p->counters[i];
	union oaval stack[MAX_DEPTH] = { 0 };

	if (c->has_max)
		*max = code_eval(p->code, c->max, stack, sum, v);
	return c->has_max;
}

long oaset_regs(const struct oaset *s, const struct oadevice *d, u8 type, u32 (*regs)[2],
		size_t cap)
{
	struct compiler m = { .s = s, .d = d };
	struct str at = { 0 };
	struct config c;
	size_t n = 0;

	/* Several register configs of the same type may have conditions that are true for the
	 * device. They are in ascending order of priority: the last one is used. */
	while (config_next(s, &at, &c)) {
		u32 reg[2] = { 0 };
		u8 verdict = c.type == type ? condition_eval(&m, c.available) : ABSENT;
		long more = 0;

		if (verdict == BAD)
			return -EINVAL;
		if (verdict == ABSENT)
			continue;
		for (n = 0; (more = register_next(s->file->origin, &c.list, reg)) > 0; n++)
			if (n < cap)
				memcpy(regs[n], reg, sizeof(reg));
		if (more < 0)
			return more;
	}
	return n > cap ? -E2BIG : (long)n;
}

/* --- packs: writing --------------------------------------------------------------------------- */

/* The format of a pack: the magic with the version; the length of the heap, and the heap; then, up
 * to the end, the metric sets, each after its length. Numbers are as in uint_parse(). The heap
 * holds entries, each after its length; equal entries are stored once. A reference is the offset of
 * an entry in the heap. The first entry is empty. Each other entry is one of
 *   a text; a guid, 16 bytes; an equation, in the bytes of enum W_;
 *   a counter: 1 for float or 0, then references to name, units, equation, max, availability, and
 *   to the description if there is one;
 *   a list of references to counters;
 *   a list of registers: the difference to the previous address, the sign in the lowest bit, and
 *   the value;
 *   a list of configs: type, then references to availability and to a list of registers.
 * A set: references to name, chipset, oa_format, guid, list of counters and list of configs. */

static void put_uint(struct buf *b, u64 v)
{
	char c[10];
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		c[n++] = (char)(v | 0x80);
	c[n++] = (char)v;
	put_n(b, c, n);
}

static void put_entry(struct buf *b, struct str s)
{
	put_uint(b, str_len(s));
	put_str(b, s);
}

/* Appends to b a reference to the entry of the pack's heap that has the bytes s. If the heap has no
 * such entry, adds one. */
static void put_ref(struct oapacker *p, struct buf *b, struct str s)
{
	struct str at, entry;

	/* Only put_ref() writes hashes[], but the offsets in hashes[] are still compared with the
	 * size of the heap: this ensures that each offset lies within the heap. */
	for (u32 hash = hash_more(HASH_BEGIN, s); !p->heap.full; hash++) {
		u32 *h = &p->hashes[hash % LEN(p->hashes)], was = *h;

		if (was == 0 || was > p->heap.n) {
			*h = (u32)p->heap.n + 1;
			put_uint(b, p->heap.n);
			put_entry(&p->heap, s);
			p->heap.full |= ++p->used > LEN(p->hashes) / 2;
			return;
		}
		at = (struct str){ p->heap.p + (was - 1), p->heap.p + p->heap.n };
		if (entry_parse(&at, &entry) && str_eq(entry, s)) {
			put_uint(b, was - 1);
			return;
		}
	}
}

/* Adds the bytes of the buffer part (p->part, p->code or p->list) as an entry to the heap of the
 * pack, appends a reference to that entry to b, and empties the buffer part. */
static void put_part_ref(struct oapacker *p, struct buf *b, struct buf *part)
{
	put_ref(p, b, (struct str){ part->p, part->p + part->n });
	b->full |= part->full;
	part->n = 0;
}

static void pack_equation(struct oapacker *p, struct buf *b, const struct oafile *f, struct str eq)
{
	struct oatoken t;

	while (token_next(f, &eq, &t)) {
		if (t.word == W_NUMBER && t.n < W_SMALL) {
			put_c(&p->code, (char)(W_SMALL | t.n));
			continue;
		}
		put_c(&p->code, (char)t.word);
		if (t.word == W_NUMBER)
			put_uint(&p->code, t.n);
		else if (t.word == W_NAME || t.word == W_OTHER)
			put_ref(p, &p->code, t.text);
	}
	put_part_ref(p, b, &p->code);
}

static void pack_counters(struct oapacker *p, const struct oaset *s)
{
	struct str at = { 0 };
	struct oadef c;

	while (oadef_next(s, &at, &c)) {
		put_c(&p->part, c.is_float ? 1 : 0);
		put_ref(p, &p->part, c.name);
		put_ref(p, &p->part, c.units);
		pack_equation(p, &p->part, s->file, c.equation);
		pack_equation(p, &p->part, s->file, c.max);
		pack_equation(p, &p->part, s->file, c.available);
		if (c.description.p < c.description.e)
			put_ref(p, &p->part, c.description);
		put_part_ref(p, &p->list, &p->part);
	}
}

/* Appends the register configs of a metric set to the list p->list of a pack. Returns false if a
 * register is malformed. */
static bool pack_configs(struct oapacker *p, const struct oaset *s)
{
	struct str at = { 0 };
	struct config c;

	while (config_next(s, &at, &c)) {
		u32 reg[2] = { 0 }, was = 0, step;
		long more;

		put_c(&p->list, (char)c.type);
		pack_equation(p, &p->list, s->file, c.available);
		for (; (more = register_next(s->file->origin, &c.list, reg)) > 0; was = reg[0]) {
			step = reg[0] - was;
			put_uint(&p->part, step << 1 ^ (0 - (step >> 31)));
			put_uint(&p->part, reg[1]);
		}
		if (more < 0)
			return false;
		put_part_ref(p, &p->list, &p->part);
	}
	return true;
}

/* Converts the text of a GUID to 16 bytes. Returns 16, or 0 if guid is "". */
static size_t guid_to_bytes(const char guid[37], char b[16])
{
	size_t n = 0; /* number of hexadecimal digits */

	memset(b, 0, 16);
	for (size_t i = 0; i < 36 && guid[i] && n < 32; i++)
		if (guid[i] != '-') {
			b[n / 2] = (char)((u8)b[n / 2] << 4 |
					  (guid[i] > '9' ? guid[i] - 'a' + 10 : guid[i] - '0'));
			n++;
		}
	return n / 2;
}

static bool pack_add_set(struct oapacker *p, const struct oaset *s)
{
	char guid[16];
	struct buf set = BUF(p->set_b);

	put_ref(p, &set, s->name);
	put_ref(p, &set, s->chipset);
	put_ref(p, &set, s->format);
	put_ref(p, &set, (struct str){ guid, guid + guid_to_bytes(s->guid, guid) });
	pack_counters(p, s);
	put_part_ref(p, &set, &p->list);
	if (!pack_configs(p, s))
		return false;
	put_part_ref(p, &set, &p->list);
	put_entry(&p->sets, (struct str){ set.p, set.p + set.n });
	p->sets.full |= set.full;
	return true;
}

bool oapack_make(struct oapacker *p, struct buf heap, const struct oafile *files, size_t n,
		 struct buf *why)
{
	struct oaset s;

	memset(p->hashes, 0, sizeof(p->hashes));
	p->used = 0;
	p->heap = heap;
	p->sets = BUF(p->sets_b);
	p->list = BUF(p->list_b);
	p->part = BUF(p->part_b);
	p->code = BUF(p->code_b);
	put_part_ref(p, &p->list, &p->part); /* the first entry of the heap is empty */
	p->list.n = 0;
	for (size_t i = 0; i < n; i++)
		for (struct str at = { 0 }; oaset_next(&files[i], &at, &s);)
			if (!pack_add_set(p, &s)) {
				put_str(why, s.name);
				put_z(why, ": a register is malformed");
				return false;
			}
	if (p->heap.full || p->sets.full || p->list.full || p->part.full) {
		put_z(why, "more than a pack can hold");
		return false;
	}
	put_str(&p->list, pack_magic);
	put_uint(&p->list, p->heap.n);
	return true;
}
