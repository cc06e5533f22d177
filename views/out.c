/* out.c - formats: writes the fields of a record as text into a buffer. Pure: no system calls.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "counters.h"
#include "views/views.h"

/* --- numbers ---------------------------------------------------------------------------------- */

static void put_padded(struct buf *b, u64 v, size_t digits)
{
	char d[DIGITS];

	digits_before(d + DIGITS, v, digits);
	put_n(b, d + DIGITS - digits, digits);
}

/* --- untrusted text: names of processes, files and devices may contain any bytes -------------- */

/* Writes s as the content of a JSON string, without the quotes. Invalid UTF-8 becomes U+FFFD. */
static void put_jsonstr(struct buf *b, struct str s)
{
	while (s.p < s.e) {
		const char *end = clean_end(s, CLEAN_STRING);

		if (end <= s.p)
			end = utf8_end(s.p, s.e);
		if (end <= s.p) {
			put_z(b, "\\ufffd");
			end = s.p + 1;
		} else if (control_is((struct str){ s.p, end })) {
			u32 c = utf8_value((struct str){ s.p, end });

			put_z(b, "\\u");
			put_hex(b, (u8)(c >> 8));
			put_hex(b, (u8)c);
		} else {
			if (*s.p == '"' || *s.p == '\\')
				put_c(b, '\\');
			put_str(b, (struct str){ s.p, end });
		}
		s.p = end;
	}
}

void put_quoted(struct buf *b, struct str s)
{
	put_c(b, '"');
	put_jsonstr(b, s);
	put_c(b, '"');
}

/* Appends a comma, a key and a text value to a JSON object in b. The value is null if the text is
 * empty. */
void put_text_member(struct buf *b, const char *key, struct str text)
{
	put_c(b, ',');
	put_quoted(b, str_z(key));
	put_c(b, ':');
	if (str_len(text))
		put_quoted(b, text);
	else
		put_z(b, "null");
}

/* Returns the width of s on a terminal: one column for each UTF-8 sequence. The bytes 10xxxxxx,
 * which continue a sequence, are not counted; the first loop examines eight bytes at a time. */
static size_t text_width(struct str s)
{
	const u64 ones = UINT64_C(0x0101010101010101);
	size_t n = str_len(s);

	for (; s.e - s.p >= 8; s.p += 8) {
		u64 x;

		memcpy(&x, s.p, 8);
		n -= (size_t)((x >> 7 & ~x >> 6 & ones) * ones >> 56);
	}
	for (; s.p < s.e; s.p++)
		n -= ((u8)*s.p & 0xc0) == 0x80;
	return n;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Writes days since 1970 as a date, for years from 1970 on. The algorithm is civil_from_days() of
 * Howard Hinnant's "chrono-compatible low-level date algorithms". */
static void put_date(struct buf *b, u64 days)
{
	u64 z = days + 719468, era = z / 146097, doe = z % 146097;
	u64 yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
	u64 doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153;
	u64 day = doy - (153 * mp + 2) / 5 + 1, month = mp < 10 ? mp + 3 : mp - 9;

	put_padded(b, yoe + era * 400 + (month <= 2), 4);
	put_c(b, '-');
	put_padded(b, month, 2);
	put_c(b, '-');
	put_padded(b, day, 2);
}

static void put_clock(struct buf *b, u64 seconds)
{
	const u32 parts[] = { (u32)(seconds / 3600 % 24), (u32)(seconds / 60 % 60),
			      (u32)(seconds % 60) };
	char text[] = "00:00:00";

	for (size_t i = 0; i < LEN(parts); i++) {
		text[3 * i] = (char)('0' + parts[i] / 10);
		text[3 * i + 1] = (char)('0' + parts[i] % 10);
	}
	put_n(b, text, sizeof(text) - 1);
}

void put_iso(struct buf *b, u64 us)
{
	put_date(b, us / 86400000000);
	put_c(b, 'T');
	put_clock(b, us / 1000000);
	put_c(b, '.');
	put_padded(b, us % 1000000, 6);
	put_c(b, 'Z');
}

/* Returns whether c is a column without a group that has this name. The field "time" has no group,
 * "engine.busy" has one. c may be NULL. */
static bool is_ungrouped(const struct column *c, const char *name)
{
	return c && !c->group && c->member && strcmp(c->member, name) == 0;
}

static bool is_time(const struct column *c)
{
	return is_ungrouped(c, "time");
}

/* Returns whether f is the field "time" and -t asks for an ISO date. */
static bool is_iso(const struct out *o, const struct field *f)
{
	return o->time == T_ISO && f->v.type == V_TIME && is_time(f->col);
}

/* Writes a number for programs: exact, without a unit. */
void put_number(struct buf *b, const struct val *v)
{
	if (v->neg)
		put_c(b, '-');
	if (v->type == V_INT)
		put_dec(b, v->n, units[v->unit].point + v->point, 1);
	else if (v->type == V_TIME)
		put_dec(b, v->n, 6, 6);
	else
		put_str(b, v->s);
}

/* Writes the value of a field, without quotes around text; writes nothing if it is unknown. */
static void put_plain(struct buf *b, const struct out *o, const struct field *f)
{
	if (is_iso(o, f))
		put_iso(b, f->v.n);
	else if (f->v.type == V_TEXT)
		put_text(b, f->v.s);
	else if (f->v.type != V_NULL)
		put_number(b, &f->v);
}

/* Writes a number of bytes with at most four digits and a unit, such as "512M". The next larger
 * unit is used from 1023.5 on. */
static void put_bytes(struct buf *b, u64 n)
{
	unsigned bits = 10;

	if (n < 1024) {
		put_u64(b, n);
		return;
	}
	while (bits < 60 && n >> (bits - 1) >= 2047)
		bits += 10;
	if (n >> bits >= 10)
		put_u64(b, (n >> bits) + (n >> (bits - 1) & 1));
	else
		put_dec(b, (muldiv(n, 20, UINT64_C(1) << bits) + 1) / 2, 1, 1);
	put_c(b, " KMGTPE"[bits / 10]);
}

/* Writes a value for people, rounded and with its unit: 12.5% 512M 1300MHz 45C 4.2W. */
void put_human(struct buf *b, struct val v)
{
	static const u8 coarse[UNITS] = {
		[U_RATE] = U_BYTES, [U_MILLIC] = U_CELSIUS, [U_MICROJ] = U_JOULE,
		[U_MICROW] = U_WATT, [U_MILLIV] = U_VOLT, [U_MILLIA] = U_AMPERE,
	};
	/* Units for which put_human() converts the value to another unit or writes a fixed number
	 * of decimals. */
	static const struct {
		u8 unit, point, keep;
		bool near; /* the value divided by `by` is rounded to nearest, else down */
		u32 by;
		char end[4];
	} scales[] = {
		{ U_MICRO, 2, 2, true, 10000, "" },   { U_HZ, 0, 0, true, 1000000, "MHz" },
		{ U_NS, 3, 3, false, 1000000, "s" },  { U_NANO, 6, 3, false, 1000, "s" },
		{ U_CENTI, 2, 2, false, 1, "" },
	};
	static const u32 tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000,
				    1000000000 };
	u64 n = v.n, ten;

	if (coarse[v.unit])
		v.unit = coarse[v.unit];
	if (v.neg && (v.unit != U_CELSIUS || n >= 500))
		put_c(b, '-');
	if (v.unit == U_NONE && !v.point) { /* a fast path: most counters have no unit */
		put_u64(b, n);
		return;
	}
	for (size_t i = 0; i < LEN(scales); i++)
		if (scales[i].unit == v.unit) {
			n = n / scales[i].by +
			    (scales[i].near && n % scales[i].by >= scales[i].by / 2);
			put_dec(b, n, scales[i].point, scales[i].keep);
			put_z(b, scales[i].end);
			return;
		}
	if (v.unit == U_BYTES) {
		put_bytes(b, n);
		return;
	}
	if (v.point) {
		put_dec(b, v.n, v.point, 2);
		return;
	}
	ten = tens[units[v.unit].point];
	if (v.unit == U_CELSIUS || v.unit == U_JOULE || n >= 1000 * ten)
		put_u64(b, n / ten + (n % ten >= ten / 2 && ten > 1));
	else if (v.unit == U_VOLT || v.unit == U_AMPERE)
		put_dec(b, n, 3, 2);
	else if (ten > 1)
		put_dec(b, n * 10 / ten + (n * 10 % ten >= ten / 2 && ten > 10), 1, 1);
	else
		put_u64(b, n);
	/* most unit names have one byte: appending them byte by byte is fast */
	for (const char *name = units[v.unit].name; *name; name++)
		put_c(b, *name);
}

static void put_cell(struct buf *b, const struct out *o, const struct field *f)
{
	if (!f || f->empty || f->v.type == V_NULL)
		put_c(b, '-');
	else if (f->v.type == V_TIME && o->time == T_DEFAULT && is_time(f->col))
		put_clock(b, f->v.n / 1000000 + (u64)(i64)o->offset);
	else if (f->v.type == V_INT)
		put_human(b, f->v);
	else
		put_plain(b, o, f);
}

static bool in_key(char c)
{
	return (u8)((c | 32) - 'a') < 26 || (u8)(c - '0') < 10 || c == '.';
}

/* Writes the name of an instance (engine, region, sensor) as a part of a logfmt key: every
 * character that is not a letter, a digit, '_' or '.' becomes '_'. */
static void put_inst(struct buf *b, struct str inst)
{
	size_t from = b->n;

	put_text(b, inst);
	for (size_t i = from; i < b->n; i++)
		if (!in_key(b->p[i]))
			b->p[i] = '_';
}

/* Writes the full name of a field: group.instance.member, where an empty instance is left out, or
 * only the member if the column has no group. put() writes the instance. */
void put_field_name(struct buf *b, const struct column *c, struct str inst,
		    void (*put)(struct buf *, struct str))
{
	put_z(b, c->group ? c->group : c->member);
	if (c->group && inst.p < inst.e) {
		put_c(b, '.');
		put(b, inst);
	}
	if (c->group && c->member) {
		put_c(b, '.');
		put_z(b, c->member);
	}
}

/* Returns whether -f selects the field; without -f every field is selected. */
bool out_selects(const struct out *o, const struct field *f)
{
	for (size_t i = 0; i < o->npatterns; i++)
		if (field_match(f, o->patterns[i]))
			return true;
	return o->npatterns == 0;
}

/* --- json ------------------------------------------------------------------------------------- */

static void json_value(struct buf *b, const struct out *o, const struct field *f)
{
	if (f->v.type == V_NULL) {
		put_str(b, (struct str)STR("null"));
	} else if (f->v.type == V_TEXT) {
		put_quoted(b, f->v.s);
	} else if (is_iso(o, f)) {
		put_c(b, '"');
		put_iso(b, f->v.n);
		put_c(b, '"');
	} else {
		put_number(b, &f->v);
	}
}

/* Writes the comma before a member of a JSON object, unless it is the first member. */
static void json_comma(struct buf *b)
{
	if (b->n && b->p[b->n - 1] != '{')
		put_c(b, ',');
}

static void json_key(struct buf *b, struct str key)
{
	json_comma(b);
	put_quoted(b, key);
	put_c(b, ':');
}

/* Writes a name from the table columns[] as a JSON key. This is faster than json_key(), because
 * these names need no escaping. */
static void json_name(struct buf *b, const char *name)
{
	struct str s = str_z(name);
	char *to = b->p + b->n, *end = b->p + b->cap;

	/* if the key may not fit in the buffer, json_key() checks the size for each byte */
	if (end - to < (ptrdiff_t)str_len(s) + 4) {
		json_key(b, s);
		return;
	}
	if (b->n && b->p[b->n - 1] != '{')
		*to++ = ',';
	*to++ = '"';
	for (; s.p < s.e && end - to > 2; s.p++)
		*to++ = *s.p;
	if (end - to >= 2) {
		*to++ = '"';
		*to++ = ':';
	}
	b->n = (size_t)(to - b->p);
}

static bool same_group(const struct field *a, const struct field *b)
{
	const char *x = a->col->group, *y = b->col->group;

	return x && y && (a->col == b->col || strcmp(x, y) == 0);
}

static bool same_inst(const struct field *a, const struct field *b)
{
	return a->inst.p == b->inst.p ? a->inst.e == b->inst.e : str_eq(a->inst, b->inst);
}

static void json_list(struct buf *b, const struct out *o, const struct field *f,
		      const struct field *end)
{
	if (f->v.type == V_NULL && !f->empty) {
		put_z(b, "null");
		return;
	}
	put_c(b, '[');
	for (const struct field *i = f; i < end && !i->empty; i++) {
		if (i > f)
			put_c(b, ',');
		json_value(b, o, i);
	}
	put_c(b, ']');
}

static void json_group(struct buf *b, const struct out *o, const struct field *f,
		       const struct field *end)
{
	const struct field *was = NULL;

	put_c(b, '{');
	for (; f < end; f++) {
		if (f->empty || !out_selects(o, f))
			continue;
		if (f->col->shape == S_BOTH && (!was || !same_inst(was, f))) {
			if (was)
				put_c(b, '}');
			json_key(b, f->inst);
			put_c(b, '{');
		}
		if (f->col->shape == S_INST)
			json_key(b, f->inst);
		else
			json_name(b, f->col->member);
		json_value(b, o, f);
		was = f;
	}
	if (was && was->col->shape == S_BOTH)
		put_c(b, '}');
	put_c(b, '}');
}

/* Returns the index after the last field of the group that field i belongs to. Stores in *any
 * whether -f selects at least one field of the group. */
static size_t json_span(const struct out *o, const struct record *r, size_t i, bool *any)
{
	size_t end = i + 1;

	*any = out_selects(o, &r->f[i]);
	for (; end < r->n && same_group(&r->f[i], &r->f[end]); end++)
		*any = *any || out_selects(o, &r->f[end]);
	return end;
}

static void json_record(struct out *o, struct buf *b, const struct record *r)
{
	if (o->one_line)
		put_c(b, o->line_records ? ',' : '[');
	put_c(b, '{');
	for (size_t i = 0, next; i < r->n; i = next) {
		const struct field *f = &r->f[i];
		bool any;

		next = json_span(o, r, i, &any);
		if (!any)
			continue;
		json_name(b, f->col->group ? f->col->group : f->col->member);
		if (f->col->shape == S_SCALAR)
			json_value(b, o, f);
		else if (f->col->shape == S_LIST)
			json_list(b, o, f, &r->f[next]);
		else
			json_group(b, o, f, &r->f[next]);
	}
	put_z(b, o->one_line ? "}" : "}\n");
	o->line_records = 1;
}

static bool json_end(struct out *o, struct buf *b)
{
	if (o->one_line)
		put_z(b, o->line_records ? "]\n" : "[]\n");
	o->line_records = 0;
	return false;
}

/* --- logfmt ----------------------------------------------------------------------------------- */

static bool is_word(struct str s)
{
	return s.p < s.e && clean_end(s, CLEAN_WORD) == s.e;
}

enum { KEY_BYTES = 256 };

static struct str inst_key(struct str inst, char *to)
{
	struct buf b = buf_on(to, KEY_BYTES);

	put_inst(&b, inst);
	return str_of(to, b.n);
}

/* Two names of instances can become the same logfmt key, because put_inst() replaces bytes by '_'.
 * Makes such a key unique: appends ~ and the replaced bytes in hexadecimal. */
static void put_unique(struct buf *b, const struct record *r, const struct field *f)
{
	char own[KEY_BYTES], others[KEY_BYTES];
	struct str key = inst_key(f->inst, own);
	bool same = false;

	/* If no byte of this instance's name was replaced, its key stays unchanged: the other
	 * instance with the same key gets the ~. */
	if (str_eq(key, f->inst))
		return;
	for (size_t i = 0; i < r->n; i++)
		same |= r->f[i].col == f->col && !str_eq(r->f[i].inst, f->inst) &&
			str_eq(key, inst_key(r->f[i].inst, others));
	if (!same)
		return;
	put_c(b, '~');
	for (const char *p = f->inst.p; p < f->inst.e; p++)
		if (!in_key(*p))
			put_hex(b, (u8)*p);
}

/* Writes field i of a record as logfmt, key=value, after a separator unless it is the first field
 * written. Returns false and writes nothing if the field is not selected by -f or is null. */
bool put_logfmt(struct buf *b, const struct out *o, const struct record *r, size_t i, bool first)
{
	const struct field *f = &r->f[i];
	bool more = f->col->shape == S_LIST && i && r->f[i - 1].col == f->col;

	if (!out_selects(o, f) || (f->v.type == V_NULL && !(f->empty && f->col->shape == S_LIST)))
		return false;
	if (!first)
		put_c(b, more ? ',' : ' ');
	if (!more) {
		put_field_name(b, f->col, f->inst, put_inst);
		put_unique(b, r, f);
		put_c(b, '=');
	}
	if (f->empty)
		put_z(b, "none");
	else if (f->v.type == V_TEXT && !is_word(f->v.s))
		put_quoted(b, f->v.s);
	else
		put_plain(b, o, f);
	return true;
}

FEATURED static void logfmt_record(struct out *o, struct buf *b, const struct record *r)
{
	bool first = true;

	for (size_t i = 0; i < r->n; i++)
		first &= !put_logfmt(b, o, r, i, first);
	put_c(b, '\n');
}

/* --- csv -------------------------------------------------------------------------------------- */

/* Returns whether a spreadsheet interprets a cell that begins with c as a formula. */
static bool begins_formula(char c)
{
	return c == '=' || c == '+' || c == '-' || c == '@';
}

/* Puts a ' in front of the CSV cell that begins at offset `from` if a spreadsheet would interpret
 * it as a formula, which can start programs. Numbers are not changed. */
static void csv_guard(struct buf *b, size_t from)
{
	size_t i = from + 1;

	if (from + 1 >= b->n || !begins_formula(b->p[from]))
		return;
	while (b->p[from] == '-' && i < b->n && (u8)(b->p[i] - '0') < 10)
		i++;
	if (i == b->n && i > from + 1)
		return;
	put_c(b, '\'');
	for (i = b->n; i > from + 1; i--)
		b->p[i - 1] = b->p[i - 2];
	b->p[from] = '\'';
}

/* Returns the text of a CSV cell without the ' that csv_guard() has put in front of it. */
struct str csv_unguarded(struct str cell)
{
	if (cell.e - cell.p > 2 && *cell.p == '\'' && begins_formula(cell.p[1]))
		cell.p++;
	return cell;
}

/* Puts quotes around the text from offset `from` to the end of b if RFC 4180 requires them. */
static void csv_quote(struct buf *b, const struct out *o, size_t from)
{
	char *p = b->p + from, *e, *to;
	/* length of b after quoting: with the two outer quotes, and with each quote in the text
	 * doubled */
	size_t n;
	bool need;

	if (!o->csv_exact)
		csv_guard(b, from);
	e = b->p + b->n;
	n = b->n + 2;
	need = p < e && (*p == ' ' || e[-1] == ' ');

	for (const char *q = clean_end((struct str){ p, e }, CLEAN_CELL); q < e; q++) {
		need |= *q == ',' || *q == '"';
		n += *q == '"';
	}
	if (!need)
		return;
	if (n < 2 || n > b->cap) {
		b->full = true;
		return;
	}
	b->n = n;
	for (to = b->p + n, *--to = '"'; e > p && to - p > 1;) {
		*--to = *--e;
		if (*to == '"')
			*--to = '"';
	}
	if (p < to)
		*p = '"';
}

/* Writes field i of record r by calling put() with it. If it is an item of a list, writes this item
 * and all later ones of the list, with `sep` between them. If the record has no field i, calls
 * put() with NULL. */
static void put_field(struct buf *b, const struct out *o, const struct record *r, size_t i,
		      char sep,
		      void (*put)(struct buf *, const struct out *, const struct field *))
{
	put(b, o, i < r->n ? &r->f[i] : NULL);
	while (++i < r->n && r->f[i].col->shape == S_LIST && r->f[i].col == r->f[i - 1].col) {
		put_c(b, sep);
		put(b, o, &r->f[i]);
	}
}

static void csv_item(struct buf *b, const struct out *o, const struct field *f)
{
	if (f && f->empty)
		put_z(b, "none");
	else if (f)
		put_plain(b, o, f);
}

static void csv_value(struct buf *b, const struct out *o, const struct record *r, size_t i)
{
	size_t from = b->n;

	if (i < r->n && r->f[i].v.type == V_INT && r->f[i].col->shape != S_LIST) {
		/* fast path for numbers, which are most of the values: it saves 5 % of the
		 * instructions per record */
		put_number(b, &r->f[i].v);
		return;
	}
	put_field(b, o, r, i, ' ', csv_item);
	csv_quote(b, o, from);
}

/* The first columns of each row of long CSV (format csv without -f): they identify the entity. */
static const char *const csv_idcols[] = { "time", "dt", "kind", "dev", "driver", "pdev", "client",
					  "pid", "comm", "cgroup" };

static void csv_ids(const struct out *o, struct buf *b, const struct record *r)
{
	for (size_t i = 0; i < LEN(csv_idcols); i++) {
		for (size_t k = 0; k < r->n; k++)
			if (!r->f[k].col->group && is_ungrouped(r->f[k].col, csv_idcols[i]))
				csv_value(b, o, r, k);
		put_c(b, ',');
	}
}

/* Returns whether the field has a row of its own in long CSV (format csv without -f). */
static bool has_row(const struct field *f)
{
	return !(f->col->when & (W_ID | W_META)) && (!f->empty || f->col->shape == S_LIST);
}

/* Writes a record as long CSV (format csv without -f): one row for each value. The columns that
 * identify the entity are formatted for the first row and copied into the others. */
static void csv_long(struct out *o, struct buf *b, const struct record *r)
{
	const struct val *summary = record_get(r, NULL, "summary");
	size_t ids = b->n, ids_end = ids;

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		size_t from;

		if (!has_row(f) || (i && f->col->shape == S_LIST && r->f[i - 1].col == f->col))
			continue;
		if (ids_end > ids) {
			put_str(b, (struct str){ b->p + ids, b->p + ids_end });
		} else {
			csv_ids(o, b, r);
			ids_end = b->n;
		}
		put_field_name(b, f->col, (struct str){ 0 }, put_text);
		if (summary) {
			put_c(b, '.');
			put_str(b, summary->s);
		}
		put_c(b, ',');
		from = b->n;
		put_text(b, f->inst);
		csv_quote(b, o, from);
		put_c(b, ',');
		csv_value(b, o, r, i);
		put_c(b, '\n');
	}
}

/* --- line ------------------------------------------------------------------------------------- */

/* Writes a value for people; "-" if v is NULL, which means that the value is unknown. */
static void cell_val(struct buf *b, const struct val *v)
{
	if (!v)
		put_c(b, '-');
	else if (v->type == V_TEXT)
		put_text(b, v->s);
	else
		put_human(b, *v);
}

static void cell_field(struct buf *b, const struct record *r, const char *group, const char *member)
{
	cell_val(b, record_get(r, group, member));
}

struct cellargs {
	const char *field; /* name of the field or group that the cell shows */
	u16 width;         /* width of the cell, in characters */
	bool grouped;      /* true: counts have commas between the thousands, as 1,234,567 */
	const struct val *v; /* value of the field; NULL if unknown, or if the field is a group */
};

/* A predefined column of format line. width is the minimum, in characters: the values of the first
 * sample may make the column wider. The column ENGINES gets the rest of the line. */
struct line_column {
	u16 kinds;         /* bits W_*: the kinds of records that have the column */
	u8 width, flags;   /* flags: bits of enum line_flags */
	u8 cell; /* CELL_*: index in cell_functions[] of the function that writes the cell */
	const char *title;
	/* name of the field or group that the cell shows, passed to the function as
	 * cellargs.field; NULL if the function chooses the fields itself */
	const char *field;
};

/* Indexes in cell_functions[]. */
enum cell_function {
	CELL_MEMBER, CELL_GROUP, CELL_NAMES, CELL_MISSING, CELL_ENGINES, CELL_BUSY, CELL_USED,
	CELL_CLOCK, CELL_TEXT, CELL_SITE, CELL_COUNT, CELL_RATIO, CELL_UNIT, CELL_UNIT_OR_DASH,
	CELL_VALUE, CELL_NAME, CELL_SYMBOL, CELL_INTERVAL, CELL_CALL, CELL_DT,
};

enum line_flags {
	RIGHT = 1,
	LIST = 2, /* the column is shown only by the command `list` */
	/* A column with one of these flags is shown only if the member of struct out with the same
	 * name (sites, repeats, sets, reports or contexts) is true. */
	SITES = 4, REPEATS = 8, SETS = 16, REPORTS = 32, CONTEXTS = 64,
	NEEDS = SITES | REPEATS | SETS | REPORTS | CONTEXTS,
	OPTIONAL = 128, /* the column is left out if the line is too wide for the terminal */
};

static void cell_member(struct buf *b, const struct record *r, struct cellargs a)
{
	(void)r;
	cell_val(b, a.v);
}

static void cell_group(struct buf *b, const struct record *r, struct cellargs a)
{
	cell_field(b, r, a.field, NULL);
}

/* Returns the text of the field `member`, which has no group; "" if the record has no such text. */
FEATURED static struct str text_in(const struct record *r, const char *member)
{
	const struct val *v = record_get(r, NULL, member);

	return v && v->type == V_TEXT ? v->s : str_z("");
}

static const struct str ns_unit = STR("ns");

/* Returns whether the event is cpu-clock or task-clock, which perf stat shows in ms. */
static bool is_clock(const struct record *r)
{
	static const struct str clock = STR("*-clock*");

	return str_eq(text_in(r, "unit"), ns_unit) && glob_match(clock, text_in(r, "event"), NULL);
}

FEATURED static void cell_value(struct buf *b, const struct record *r, struct cellargs a)
{
	const struct val *v = record_get(r, NULL, "value");

	(void)a;
	if (!v)
		put_c(b, '-');
	else if (is_clock(r) && !v->point)
		put_dec(b, v->n / 10000 + (v->n % 10000 >= 5000), 2, 2);
	else {
		put_z(b, v->neg ? "-" : "");
		put_dec(b, v->n, v->point, 2);
	}
}

/* Writes a number with commas between its thousands. */
FEATURED static void put_grouped(struct buf *b, struct str number)
{
	const char *p = number.p;
	size_t left = 0; /* number of digits before the decimal point that are not written yet */

	for (; p < number.e && *p != '.'; p++)
		left += *p != '-';
	for (p = number.p; p < number.e; p++) {
		put_c(b, *p);
		if (*p != '-' && left > 0 && --left > 0 && left % 3 == 0)
			put_c(b, ',');
	}
}

FEATURED static void cell_count(struct buf *b, const struct record *r, struct cellargs a)
{
	char text[DIGITS + 2] = { 0 };
	struct buf t = BUF(text);

	cell_value(&t, r, a);
	(a.grouped ? put_grouped : put_str)(b, str_of(t.p, t.n));
}

FEATURED static void cell_unit(struct buf *b, const struct record *r, struct cellargs a)
{
	(void)a;
	put_text(b, is_clock(r) ? (struct str)STR("msec") : text_in(r, "unit"));
}

/* Writes the unit of a counter; "-" if it has none, because an empty cell would shift the cells
 * after it. */
FEATURED static void cell_unit_or_dash(struct buf *b, const struct record *r, struct cellargs a)
{
	struct str unit = text_in(r, "unit");

	(void)a;
	put_text(b, unit.p < unit.e ? unit : (struct str)STR("-"));
}

FEATURED static void cell_site(struct buf *b, const struct record *r, struct cellargs a)
{
	struct str set = text_in(r, "set");

	(void)a;
	put_text(b, set);
	if (set.p < set.e)
		put_c(b, ' ');
	record_site(b, r->e, true);
}

FEATURED static void cell_ratio(struct buf *b, const struct record *r, struct cellargs a)
{
	const struct ratio *x = record_ratio(r), *stalls = record_stall_ratio(r);

	(void)a;
	if (!x)
		return;
	put_ratio(b, x, x->percent ? "% " : " ");
	if (!stalls)
		return;
	put_z(b, ", ");
	put_ratio(b, stalls, " ");
}

/* Writes the cell SYMBOL of a perf sample: the function, the address of the data, the number of
 * lost samples, the counts of the event's group, and each caller after " < ". */
FEATURED static void cell_symbol(struct buf *b, const struct record *r, struct cellargs a)
{
	static const char *const more[] = { "addr", "lost" };

	cell_field(b, r, NULL, "symbol");
	(void)a;
	for (size_t i = 0; i < LEN(more); i++)
		if (record_get(r, NULL, more[i])) {
			put_c(b, ' ');
			put_z(b, more[i]);
			put_c(b, '=');
			cell_field(b, r, NULL, more[i]);
		}
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (!f->col->group || f->v.type == V_NULL)
			continue;
		if (f->v.type == V_INT) {
			put_c(b, ' ');
			put_text(b, f->inst);
			put_c(b, '=');
			put_u64(b, f->v.n);
		} else {
			put_z(b, " < ");
			put_text(b, f->v.s);
		}
	}
}

/* Writes the name of a counter or of a row of a profile. If the record has an address, writes the
 * address before the name. */
FEATURED static void cell_name(struct buf *b, const struct record *r, struct cellargs a)
{
	(void)a;
	if (record_get(r, NULL, "ip")) {
		cell_field(b, r, NULL, "ip");
		put_c(b, ' ');
	}
	cell_field(b, r, NULL, "name");
}

/* Writes a duration with at most three digits after rounding down: 688ns, 12.3us, 4.06ms, 1.23s.
 * Only seconds can have more digits. */
FEATURED static void cell_interval(struct buf *b, const struct record *r, struct cellargs a)
{
	static const struct {
		char name[3];
		u32 ns;
	} steps[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	u64 n = a.v ? a.v->n : 0, scale = 1;
	size_t i = 0;
	u8 point = 0;

	(void)r;
	if (!a.v || a.v->type != V_INT) {
		put_c(b, '-');
		return;
	}
	while (i + 1 < LEN(steps) && n / steps[i].ns >= 1000)
		i++;
	if (i > 0) {
		point = (u8)(n / steps[i].ns < 10 ? 2 : n / steps[i].ns < 100);
		scale = steps[i].ns / (point == 2 ? 100 : point ? 10 : 1);
	}
	put_dec(b, n / scale, point, point);
	put_z(b, steps[i].name);
}

/* Writes the name of a system call, or its number if the name is unknown. */
FEATURED static void cell_call(struct buf *b, const struct record *r, struct cellargs a)
{
	(void)a;
	cell_field(b, r, NULL, record_get(r, NULL, "name") ? "name" : "number");
}

/* Writes the text of the field that the cell shows; writes nothing if the text is unknown. */
FEATURED static void cell_text(struct buf *b, const struct record *r, struct cellargs a)
{
	(void)r;
	if (a.v && a.v->type == V_TEXT)
		put_text(b, a.v->s);
}

/* Writes the interval of an OA record (field dt) in milliseconds, because two OA reports may be
 * much less than a second apart. */
FEATURED static void cell_dt(struct buf *b, const struct record *r, struct cellargs a)
{
	(void)r;
	if (a.v)
		put_dec(b, a.v->n, 3, 3);
	put_z(b, a.v ? "ms" : "-");
}

static void cell_clock(struct buf *b, const struct record *r, struct cellargs a)
{
	(void)a;
	cell_field(b, r, "freq", record_get(r, "freq", "act") ? "act" : "cur");
}

static bool field_in_group(const struct field *f, const char *group)
{
	return f->col->group && group && strcmp(f->col->group, group) == 0;
}

/* Fields that format line uses in addition to those of its columns. The column ENGINES shows one of
 * three fields of each engine (enum engine_field): busy in per cent; with -r the busy time; or the
 * cycles if the busy time is unknown. */
static const struct str line_fields[] = {
	STR("engine.busy"), STR("engine.busy_ns"), STR("engine.cycles"),
	/* further fields from which record_busy() computes the columns ENGINES and BUSY */
	STR("load"), STR("driver"),
	STR("time"), STR("summary"),
};

static void put_engine(struct buf *b, const struct field *f)
{
	put_text(b, f->inst);
	put_c(b, ' ');
	if (f->v.type == V_NULL)
		put_c(b, '-');
	else
		put_human(b, f->v);
}

/* an entity has at most MAX_COUNTERS counters, and so not more engines */
enum { MAX_ENGINES = MAX_COUNTERS };

/* The engines of the record that is being written, in the order of its fields. */
static struct {
	/* n: number of engines; width: width of the cell ENGINES in characters: the sum of cost[],
	 * and the width of "+N" if N engines are left out */
	size_t n, width;
	u32 at[MAX_ENGINES];   /* indexes in record.f[] of the fields of the engines */
	/* width in characters of the text of each engine in the cell ENGINES, with one blank; 0 if
	 * the engine is left out */
	u16 cost[MAX_ENGINES];
} engines;

/* Stores the engines of the record in `engines`. loads: true to store also the parts of a GPU or
 * NPU that have a load instead of a busy time. Returns whether the value of at least one of them is
 * known. */
static bool engines_list(const struct record *r, bool loads)
{
	const struct column *c = NULL;
	enum engine_field value = ENGINE_NONE;
	bool any = false;

	engines.n = engines.width = 0;
	for (size_t i = 0; i < r->n && engines.n < MAX_ENGINES; i++) {
		const struct field *f = &r->f[i];

		if (f->col != c) {
			c = f->col;
			value = engine_field_of(c);
		}
		if (value == ENGINE_NONE || f->empty) {
			if (!loads || f->v.type != V_INT || !field_in_group(f, "load"))
				continue;
		} else if (i && value == ENGINE_CYCLES && str_eq(r->f[i - 1].inst, f->inst)) {
			/* skip the field with the cycles: the field before it has the busy time of
			 * the same engine */
			continue;
		}
		any |= f->v.type != V_NULL;
		engines.at[engines.n++] = (u32)i;
	}
	return any;
}

/* Stores the engines of the record in `engines`. If no engine has a known value, also stores the
 * parts of the device that have a load. */
static void engines_find(const struct record *r)
{
	if (!engines_list(r, false))
		engines_list(r, true);
}

static size_t digits(size_t v)
{
	size_t n = 1;

	while (v /= 10)
		n++;
	return n;
}

/* Returns the minimum width of the column ENGINES for the record, in characters: the width of the
 * busy engines, of "+N" for N idle ones, and of one blank. If all engines are idle, the width of
 * the first one, of "+N", and of one blank. The caller has just called cell_engines() for the
 * record. */
static size_t engines_least(const struct record *r)
{
	size_t width, left = 0;

	width = engines.width;
	for (size_t i = 0; i < engines.n; i++)
		if (r->f[engines.at[i]].v.n == 0) {
			width -= engines.cost[i];
			left++;
		}
	if (left && left == engines.n) {
		width += engines.cost[0];
		left--;
	}
	return width + (left ? 1 + digits(left) : 0);
}

/* Leaves out the least busy of the engines that the cell ENGINES still shows. If several are
 * equally busy, leaves out the last one. */
static void engine_hide(const struct record *r)
{
	size_t least = 0;
	u64 busy = UINT64_MAX;

	for (size_t i = 0; i < engines.n; i++)
		if (engines.cost[i] && r->f[engines.at[i]].v.n <= busy) {
			busy = r->f[engines.at[i]].v.n;
			least = i;
		}
	engines.width -= engines.cost[least];
	engines.cost[least] = 0;
}

/* Writes the engines of the record with blanks between them. all: true to write every engine and to
 * store its width in engines.cost; false to write only the engines that are not left out. */
static void put_engines(struct buf *b, const struct record *r, bool all)
{
	size_t from = b->n, at;

	for (size_t i = 0; i < engines.n; i++) {
		if (!all && !engines.cost[i])
			continue;
		if (b->n > from)
			put_c(b, ' ');
		at = b->n;
		put_engine(b, &r->f[engines.at[i]]);
		if (!all)
			continue;
		engines.cost[i] = (u16)(text_width((struct str){ b->p + at, b->p + b->n }) + 1);
		engines.width += engines.cost[i];
	}
}

/* Writes the cell ENGINES: all engines in the driver's order. If they are wider than the cell
 * (a.width characters), "+N" replaces the N least busy engines. */
static void cell_engines(struct buf *b, const struct record *r, struct cellargs a)
{
	size_t left, more = 0, from = b->n;
	bool full = b->full;

	engines_find(r);
	put_engines(b, r, true);
	if (engines.n == 0) {
		put_c(b, '-');
		engines.width = 2;
	}
	/* engines.width includes one blank after each engine; the blank before "+N" is one of
	 * them. */
	if (engines.n < 2 || (b->full == full && engines.width <= a.width + 1u))
		return;
	for (left = engines.n; left > 1 && engines.width + more > a.width + 1u; left--) {
		engine_hide(r);
		more = 2 + digits(engines.n - left + 1);
	}
	engines.width += more;
	b->n = from;
	b->full = full;
	put_engines(b, r, false);
	if (left == engines.n)
		return;
	put_z(b, " +");
	put_u64(b, engines.n - left);
}

static void cell_busy(struct buf *b, const struct record *r, struct cellargs a)
{
	struct val v = { .type = V_INT, .unit = U_PERCENT };

	(void)a;
	if (record_busy(r, &v.n))
		put_human(b, v);
	else
		put_c(b, '-');
}

/* Writes the memory in use, and the size of the memory if it is known: 3.0G/24G. */
static void cell_used(struct buf *b, const struct record *r, struct cellargs a)
{
	struct val size = { .type = V_INT, .unit = U_BYTES, .n = r->memory_size };

	cell_member(b, r, a);
	if (!size.n || !a.v)
		return;
	put_c(b, '/');
	put_human(b, size);
}

/* Writes the names of a group's instances, or the items of a list, separated by commas. */
static void cell_names(struct buf *b, const struct record *r, struct cellargs a)
{
	const struct field *was = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (!field_in_group(f, a.field) || f->empty ||
		    (was && f->col->shape == S_BOTH && str_eq(was->inst, f->inst)))
			continue;
		if (was)
			put_c(b, ',');
		put_text(b, f->col->shape == S_LIST ? f->v.s : f->inst);
		was = f;
	}
	if (!was)
		put_c(b, '-');
}

/* Writes the groups of values that a device does not have, with the reasons: "temp,fan: no sensor;
 * memory: ...". Groups with the same reason are written together. */
static void cell_missing(struct buf *b, const struct record *r, struct cellargs a)
{
	bool any = false;

	(void)a;
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		bool before = false;

		if (!field_in_group(f, "missing") || f->empty)
			continue;
		for (size_t k = 0; k < i; k++)
			before |= r->f[k].col == f->col && str_eq(r->f[k].v.s, f->v.s);
		if (before)
			continue;
		if (any)
			put_z(b, "; ");
		any = true;
		put_str(b, f->inst);
		for (size_t k = i + 1; k < r->n; k++)
			if (r->f[k].col == f->col && str_eq(r->f[k].v.s, f->v.s)) {
				put_c(b, ',');
				put_str(b, r->f[k].inst);
			}
		put_z(b, ": ");
		put_text(b, f->v.s);
	}
	if (!any)
		put_c(b, '-');
}

static void (*const cell_functions[])(struct buf *b, const struct record *r, struct cellargs a) = {
	[CELL_MEMBER] = cell_member, [CELL_GROUP] = cell_group, [CELL_NAMES] = cell_names,
	[CELL_MISSING] = cell_missing, [CELL_ENGINES] = cell_engines, [CELL_BUSY] = cell_busy,
	[CELL_USED] = cell_used, [CELL_CLOCK] = cell_clock,
	[CELL_TEXT] = HAS(stat) || HAS(oa) || HAS(doctor) ? cell_text : NULL,
	[CELL_SITE] = HAS(stat) ? cell_site : NULL, [CELL_COUNT] = HAS(stat) ? cell_count : NULL,
	[CELL_RATIO] = HAS(stat) ? cell_ratio : NULL,
	[CELL_UNIT] = HAS(stat) || HAS(named) ? cell_unit : NULL,
	[CELL_UNIT_OR_DASH] = HAS(named) ? cell_unit_or_dash : NULL,
	[CELL_VALUE] = HAS(named) ? cell_value : NULL,
	[CELL_NAME] = HAS(named) || HAS(sample) ? cell_name : NULL,
	[CELL_SYMBOL] = HAS(sample) ? cell_symbol : NULL,
	[CELL_INTERVAL] = HAS(sample) ? cell_interval : NULL,
	[CELL_CALL] = HAS(sample) ? cell_call : NULL, [CELL_DT] = HAS(oa) ? cell_dt : NULL,
};

/* Kinds of records about GPUs, as bits W_*. */
#define GPUS (W_DEVICE | W_CLIENT | W_CGROUP | W_PROCESS)

static const struct line_column line_columns[] = {
	{ W_DEVICE, 5, LIST, CELL_MEMBER, "DEV", "dev" },
	{ W_DEVICE, 6, LIST, CELL_MEMBER, "DRIVER", "driver" },
	{ W_DEVICE, 4, LIST, CELL_MEMBER, "PDEV", "pdev" },
	{ W_DEVICE, 6, LIST, CELL_MEMBER, "STATE", "state" },
	{ W_DEVICE, 5, LIST, CELL_NAMES, "NODES", "nodes" },
	{ W_DEVICE, 7, LIST, CELL_NAMES, "ENGINES", "engine" },
	{ W_DEVICE, 7, LIST, CELL_NAMES, "REGIONS", "memory" },
#if HAS(names)
	{ W_DEVICE, 4, LIST, CELL_MEMBER, "NAME", "name" },
#endif
	{ W_DEVICE, 0, LIST, CELL_MISSING, "MISSING", NULL },

	{ W_FDINFO, 4, 0, CELL_MEMBER, "FILE", "file" },
	{ GPUS, 5, 0, CELL_MEMBER, "DEV", "dev" },
	{ W_DEVICE, 6, OPTIONAL, CELL_MEMBER, "DRIVER", "driver" },
	{ W_FDINFO, 6, 0, CELL_MEMBER, "DRIVER", "driver" },
	{ W_FDINFO, 6, RIGHT, CELL_MEMBER, "CLIENT", "client" },
	{ W_CLIENT | W_PROCESS, 7, RIGHT, CELL_MEMBER, "PID", "pid" },
#if HAS(procs)
	{ W_PROCESS, 4, OPTIONAL, CELL_MEMBER, "USER", "user" },
#endif
	{ W_DEVICE, 6, RIGHT, CELL_BUSY, "BUSY", "busy" },
	{ GPUS | W_FDINFO, 10, 0, CELL_ENGINES, "ENGINES", "engine" },
	{ W_DEVICE | W_PROCESS, 4, RIGHT | OPTIONAL, CELL_USED, "MEM", "used" },
	{ W_CLIENT | W_CGROUP | W_FDINFO, 4, RIGHT, CELL_USED, "MEM", "used" },
	{ W_DEVICE, 5, RIGHT | OPTIONAL, CELL_CLOCK, "CLOCK", "freq" },
	{ W_DEVICE, 4, RIGHT | OPTIONAL, CELL_GROUP, "TEMP", "temp" },
	{ W_DEVICE, 5, RIGHT | OPTIONAL, CELL_GROUP, "POWER", "power" },
	{ W_DEVICE, 7, RIGHT | OPTIONAL, CELL_MEMBER, "CLIENTS", "clients" },
	{ W_CGROUP, 7, RIGHT, CELL_MEMBER, "CLIENTS", "clients" },
#if HAS(procs)
	{ W_PROCESS, 4, RIGHT | OPTIONAL, CELL_MEMBER, "CPU", "cpu" },
	{ W_PROCESS, 4, RIGHT | OPTIONAL, CELL_MEMBER, "RSS", "rss" },
	{ W_PROCESS, 7, 0, CELL_MEMBER, "COMMAND", "comm" },
#endif
	{ W_CLIENT, 4, 0, CELL_MEMBER, "COMM", "comm" },
	{ W_CGROUP, 6, 0, CELL_MEMBER, "CGROUP", "cgroup" },

#if HAS(stat)
	{ W_EVENT, 5, SITES, CELL_SITE, "WHERE", NULL },
	{ W_EVENT, 20, 0, CELL_MEMBER, "EVENT", "event" },
	{ W_EVENT, 12, RIGHT, CELL_COUNT, "VALUE", NULL },
	{ W_EVENT, 4, 0, CELL_UNIT, "UNIT", NULL },
	{ W_EVENT, 4, RIGHT | REPEATS, CELL_MEMBER, "+-", "deviation" },
	{ W_EVENT, 4, RIGHT | SETS, CELL_MEMBER, "RUNS", "runs" },
	{ W_EVENT, 6, RIGHT, CELL_MEMBER, "RUN", "running" },
	{ W_EVENT, 6, 0, CELL_RATIO, "METRIC", NULL },
	{ W_EVENT, 0, 0, CELL_TEXT, "REASON", "reason" },
#endif

#if HAS(sample)
	{ W_SAMPLE, 3, RIGHT, CELL_MEMBER, "CPU", "cpu" },
	{ W_SAMPLE, 7, RIGHT, CELL_MEMBER, "TID", "tid" },
	{ W_SAMPLE, 15, 0, CELL_MEMBER, "COMM", "comm" },
	{ W_SAMPLE, 10, 0, CELL_MEMBER, "EVENT", "event" },
	{ W_SAMPLE, 9, RIGHT, CELL_MEMBER, "PERIOD", "period" },
	{ W_SAMPLE, 6, 0, CELL_MEMBER, "MODE", "mode" },
	{ W_SAMPLE, 18, 0, CELL_MEMBER, "IP", "ip" },
	{ W_SAMPLE, 0, 0, CELL_SYMBOL, "SYMBOL", NULL },
#endif

#if HAS(oa)
	{ W_OA, 5, RIGHT | REPORTS | CONTEXTS, CELL_MEMBER, "INDEX", "index" },
	{ W_OA, 14, REPORTS, CELL_TEXT, "REASON", "reason" },
	{ W_OA, 5, RIGHT | CONTEXTS, CELL_MEMBER, "CTX", "ctx" },
	{ W_OA, 10, RIGHT, CELL_DT, "DT", "dt" },
	{ W_OA, 10, RIGHT, CELL_MEMBER, "TICKS", "ticks" },
	{ W_OA, 7, RIGHT, CELL_MEMBER, "FREQ", "freq" },
	{ W_OA, 4, RIGHT, CELL_MEMBER, "LOST", "lost" },

	{ W_STALL, 10, 0, CELL_MEMBER, "IP", "ip" },
	{ W_STALL, 7, RIGHT, CELL_MEMBER, "ALL", "all" },
	{ W_STALL, 6, RIGHT, CELL_MEMBER, "ACTIVE", "active" },
	{ W_STALL, 3, RIGHT, CELL_MEMBER, "TDR", "tdr" },
	{ W_STALL, 5, RIGHT, CELL_MEMBER, "OTHER", "other" },
	{ W_STALL, 7, RIGHT, CELL_MEMBER, "CONTROL", "control" },
	{ W_STALL, 4, RIGHT, CELL_MEMBER, "PIPE", "pipestall" },
	{ W_STALL, 6, RIGHT, CELL_MEMBER, "SEND", "send" },
	{ W_STALL, 4, RIGHT, CELL_MEMBER, "DIST", "dist_acc" },
	{ W_STALL, 6, RIGHT, CELL_MEMBER, "SBID", "sbid" },
	{ W_STALL, 4, RIGHT, CELL_MEMBER, "SYNC", "sync" },
	{ W_STALL, 5, RIGHT, CELL_MEMBER, "FETCH", "inst_fetch" },
	{ W_STALL, 4, RIGHT, CELL_MEMBER, "LOST", "lost" },
#endif

#if HAS(named)
	{ W_COUNTER, 5, RIGHT | LIST, CELL_MEMBER, "INDEX", "index" },
	{ W_COUNTER, 6, LIST, CELL_MEMBER, "VENDOR", "vendor" },
	{ W_COUNTER, 4, LIST, CELL_UNIT_OR_DASH, "UNIT", NULL },
	{ W_COUNTER, 3, RIGHT | LIST, CELL_MEMBER, "MIN", "min" },
	{ W_COUNTER, 3, RIGHT | LIST, CELL_MEMBER, "MAX", "max" },
	{ W_COUNTER, 5, RIGHT | LIST, CELL_MEMBER, "SCALE", "scale" },
	{ W_COUNTER, 4, LIST, CELL_NAME, "NAME", NULL },
	{ W_COUNTER, 0, LIST, CELL_MEMBER, "DESCRIPTION", "description" },

	{ W_COUNTER, 20, 0, CELL_NAME, "NAME", NULL },
	{ W_COUNTER, 12, RIGHT, CELL_VALUE, "VALUE", NULL },
	{ W_COUNTER, 4, 0, CELL_UNIT, "UNIT", NULL },
#endif

#if HAS(sample)
	{ W_PROFILE, 6, RIGHT, CELL_MEMBER, "SHARE", "percent" },
	{ W_PROFILE, 7, RIGHT, CELL_MEMBER, "SAMPLES", "samples" },
	{ W_PROFILE, 6, 0, CELL_MEMBER, "BY", "by" },
	{ W_PROFILE, 24, 0, CELL_NAME, "NAME", NULL },
	{ W_PROFILE, 0, 0, CELL_MEMBER, "MODULE", "module" },

	{ W_LATENCY | W_SYSCALL, 7, RIGHT, CELL_MEMBER, "COUNT", "count" },
	{ W_SYSCALL, 6, RIGHT, CELL_MEMBER, "ERRORS", "errors" },
	{ W_LATENCY | W_SYSCALL, 6, RIGHT, CELL_INTERVAL, "TOTAL", "total" },
	{ W_LATENCY | W_SYSCALL, 6, RIGHT, CELL_INTERVAL, "MEAN", "mean" },
	{ W_LATENCY | W_SYSCALL, 6, RIGHT, CELL_INTERVAL, "MAX", "max" },
	{ W_LATENCY, 7, RIGHT, CELL_MEMBER, "TID", "tid" },
	{ W_LATENCY, 0, 0, CELL_MEMBER, "COMM", "comm" },
	{ W_SYSCALL, 0, 0, CELL_CALL, "CALL", NULL },
#endif

#if HAS(doctor)
	{ W_SOURCE, 6, 0, CELL_TEXT, "STATUS", "status" },
	{ W_SOURCE, 20, 0, CELL_TEXT, "SOURCE", "source" },
	{ W_SOURCE, 28, 0, CELL_TEXT, "DETAIL", "detail" },
	{ W_SOURCE, 0, 0, CELL_TEXT, "REMEDY", "remedy" },
#endif
};

/* Returns whether the column of format line would be empty in every line of this run. */
static bool line_column_is_empty(const struct out *o, const struct line_column *l)
{
	int has = (o->sites ? SITES : 0) | (o->repeats ? REPEATS : 0) | (o->sets ? SETS : 0) |
		  (o->reports ? REPORTS : 0) | (o->contexts ? CONTEXTS : 0);

	return l->flags & NEEDS && !(l->flags & NEEDS & has);
}

static struct str cell_inst(const struct cell *c)
{
	return (struct str){ c->inst, c->inst + c->inst_n };
}

static bool cell_matches(const struct cell *c, const struct field *f)
{
	const struct column *own = f->col;

	return c->col == own && (!own->group || str_eq(cell_inst(c), f->inst));
}

/* Returns whether a pattern that matches the field is the name of a counter without the group
 * "counter" before it. */
static bool is_counter_name(const struct field *f, struct str pattern)
{
	return f->col->group && !str_skip_z(&pattern, f->col->group);
}

/* Returns whether a pattern that matches the field can match no other field: it has as many parts
 * as the field's name, or is the name of a counter. */
static bool is_whole_name(const struct field *f, struct str pattern)
{
	/* number of '.' in the full name of a field, for each enum shape: 0 for S_SCALAR, 1 for
	 * S_MEMBER and S_INST, 2 for S_BOTH, 0 for S_LIST */
	static const char points[] = "01120";
	size_t n = '0';

	for (const char *p = pattern.p; p < pattern.e; p++)
		n += *p == '.';
	return n >= (u8)points[f->col->shape] || is_counter_name(f, pattern);
}

/* Returns whether the output column c shows the field. c->col is NULL if no record had a field for
 * the column when the columns were chosen: then the column shows the field whose full name is the
 * pattern of -f that made the column. */
static bool cell_has(const struct cell *c, const struct field *f)
{
	return c->col ? cell_matches(c, f) :
	       c->pattern && field_match(f, *c->pattern) && is_whole_name(f, *c->pattern);
}

/* Returns the index in r->f[] of the field that the output column c shows. For a list, returns the
 * index of its first item; returns r->n or more if the record has no such field. Looks first at the
 * index that the field had in the previous record. */
static size_t cell_find(struct cell *c, const struct record *r)
{
	size_t i = c->place - 1u;

	if (c->col && i < r->n && r->f[i].col == c->col && !c->col->group &&
	    c->col->shape != S_LIST)
		return i; /* a fast path for most cells of format line */
	if (c->place && (r->steady || (i < r->n && r->f[i].col->shape != S_LIST &&
				       cell_has(c, &r->f[i]))))
		return i;
	for (i = 0; i < r->n && !cell_has(c, &r->f[i]); i++)
		;
	c->place = (u16)(i + 1);
	return i;
}

/* Returns whether the output column c shows field i of the record. */
FEATURED static bool is_column_of(const struct cell *c, const struct record *r, size_t i)
{
	return r->steady && c->place ? c->place == i + 1 : cell_has(c, &r->f[i]);
}

/* Returns the value of the field that the output column c shows; NULL if the value is unknown, or
 * if the record has no such field. */
static const struct val *cell_known(struct cell *c, const struct record *r)
{
	size_t i = c->col ? cell_find(c, r) : r->n;

	return i < r->n && r->f[i].v.type != V_NULL ? &r->f[i].v : NULL;
}

/* Returns the value of the field "summary" (min, avg, max or total) if the record has it before its
 * field i, the time; otherwise NULL. */
static const struct val *summary_before(const struct record *r, size_t i)
{
	for (size_t k = 0; k < i && k < r->n; k++)
		if (is_ungrouped(r->f[k].col, "summary"))
			return &r->f[k].v;
	return NULL;
}

/* Writes the cell of a record in the output column c, and returns the width of the cell in
 * characters. width: maximum width of the cell if c is the column ENGINES, which leaves out engines
 * to fit; other cells are not cut. */
static size_t line_cell(struct buf *b, const struct out *o, const struct record *r, struct cell *c,
			u16 width)
{
	const struct line_column *predefined = c->predefined;
	size_t from = b->n, i = predefined ? r->n : cell_find(c, r);
	const struct val *v;

	if (i < r->n && r->f[i].v.type == V_INT && r->f[i].col->shape != S_LIST) {
		put_human(b, r->f[i].v); /* a fast path for records with many counters */
		return b->n - from;
	}
	if (predefined)
		cell_functions[predefined->cell](b, r, (struct cellargs){ predefined->field, width,
					HAS(stat) && o->grouped, cell_known(c, r) });
	else if (!o->inner && !o->npatterns && is_time(c->col) && (v = summary_before(r, i)))
		put_str(b, v->s);
	else
		put_field(b, o, r, i, ',', put_cell);
	if (predefined && predefined->cell == CELL_ENGINES)
		return engines.width - 1;
	/* the value is an empty text: write "-", so that the cell is not empty */
	if (!predefined && b->n == from)
		put_c(b, '-');
	return text_width((struct str){ b->p + from, b->p + b->n });
}

static inline struct cell *cell_at(struct out *o, size_t i)
{
	return &o->cells[o->shown[i]];
}

static struct cell *cell_add(struct out *o, size_t at, struct str title)
{
	size_t n = o->ncells;

	if (n >= MAX_CELLS || at > n) {
		o->lost++;
		return NULL;
	}
	for (size_t i = n; i > at; i--)
		o->shown[i] = o->shown[i - 1];
	o->shown[at] = (u16)n;
	o->cells[n] = (struct cell){ .title = title, .inst = o->insts[n] };
	o->ncells = n + 1;
	return &o->cells[n];
}

static void cell_set_inst(struct cell *c, struct str inst)
{
	char *to = c->inst;
	size_t n = 0;

	for (; inst.p < inst.e && n < MAX_NAME; inst.p++)
		to[n++] = *inst.p;
	c->inst_n = (u8)n;
}

/* Adds an output column for each counter of an OA metric set, or for each selected named counter.
 * The title of the column is the name of the counter. In records of kind K_COUNTERS, a column is at
 * least as wide as values of its unit usually are. */
static void line_counters(struct out *o, const struct record *r)
{
	static const u8 widths[UNITS] = {
		[U_NONE] = 6, [U_SHARE] = 4, [U_CENTI] = 5, [U_BYTES] = 5, [U_RATE] = 5,
	};

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		struct cell *c;

		if (!field_in_group(f, "counter") || f->empty)
			continue;
		if (str_len(f->inst) > MAX_NAME) {
			o->lost++;
			continue;
		}
		c = cell_add(o, o->ncells, str_z(""));
		if (!c)
			return;
		c->col = f->col;
		cell_set_inst(c, f->inst);
		c->right = true;
		c->width = r->kind == K_COUNTERS ? widths[f->v.unit] : 0;
	}
}

/* Returns whether the words min, avg and max need a column of their own; otherwise they are written
 * in place of the time. */
static bool has_summary_column(const struct out *o)
{
	return o->summary && (o->inner || o->time == T_NONE);
}

/* Returns the column without a group that has this name and is in records of these kinds (W_*).
 * Returns NULL if there is none, or if name is NULL. */
static const struct column *column_named(u32 kinds, const char *name)
{
	for (const struct column *c = columns; name && c < columns + ncolumns; c++)
		if (c->when & kinds && is_ungrouped(c, name))
			return c;
	return NULL;
}

static const struct str summary_pattern = STR("summary");

/* Adds the output columns that format line shows without -f for this kind of record (o->kind). */
static void line_layout(struct out *o, const struct record *r)
{
	struct cell *c;

	if (o->kind != K_FDINFO && !o->list && !o->once && o->time != T_NONE &&
	    (c = cell_add(o, 0, (struct str)STR("TIME"))))
		c->col = column_named(UINT32_MAX, "time");
	if (has_summary_column(o) && (c = cell_add(o, 0, (struct str)STR("STAT"))))
		c->pattern = &summary_pattern;
	for (const struct line_column *l = line_columns; l < line_columns + LEN(line_columns); l++)
		if (l->kinds & 1 << o->kind && !!(l->flags & LIST) == o->list &&
		    !line_column_is_empty(o, l) && (c = cell_add(o, o->ncells, str_z(l->title)))) {
			c->predefined = l;
			c->col = column_named(1u << o->kind, l->field);
			c->width = l->width;
			c->right = l->flags & RIGHT;
		}
	if (o->kind == K_OA || o->kind == K_COUNTERS)
		line_counters(o, r);
}

/* Returns the index of the first pattern of -f that matches the field; o->npatterns if no pattern
 * matches. */
static size_t pattern_index(const struct out *o, const struct field *f)
{
	size_t i = 0;

	while (i < o->npatterns && !field_match(f, o->patterns[i]))
		i++;
	return i;
}

/* Adds an output column for field f, unless f already has one, and returns the index of the column
 * in o->shown[]. order: index of the pattern of -f that selects the field; 0 without -f. If f is
 * NULL, adds an empty column for the pattern `order`, which no field matches. Output columns are
 * sorted by `order`, then as in columns[]. */
static size_t column_add(struct out *o, size_t order, const struct field *f)
{
	const struct str *pattern = order < o->npatterns ? &o->patterns[order] : NULL;
	struct cell *c;
	size_t at = 0;

	for (; at < o->ncells; at++) {
		c = cell_at(o, at);
		if (f ? cell_has(c, f) : c->order == order)
			return at;
		if (c->order > order || (f && c->order == order && (!c->col || c->col > f->col)))
			break;
	}
	c = cell_add(o, at, str_z(""));
	if (!c)
		return at;
	c->order = (u16)order;
	if (!f || (pattern && is_counter_name(f, *pattern)))
		c->pattern = pattern;
	if (!f)
		return at;
	c->col = f->col;
	c->leaf = pattern;
	if (f->col->group)
		cell_set_inst(c, f->inst);
	return at;
}

/* Adds a column for each field that -f selects, in the order of the patterns. */
static void columns_measure(struct out *o, const struct record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		size_t order = pattern_index(o, &r->f[i]);

		if (order < o->npatterns && !r->f[i].empty && str_len(r->f[i].inst) <= MAX_NAME)
			column_add(o, order, &r->f[i]);
	}
}

/* Adds an output column with a title from the header of a CSV file to which the output is appended.
 * The column shows the field that has this title as its name. */
void out_add_title(struct out *o, struct str title)
{
	struct cell *c = cell_add(o, o->ncells, title);

	if (c)
		c->pattern = &c->title;
}

/* Returns whether -f selects the field, but no output column shows it. */
bool out_lacks(const struct out *o, const struct field *f)
{
	size_t i = 0;

	if (f->empty || pattern_index(o, f) == o->npatterns)
		return false;
	while (i < o->ncells && !cell_has(&o->cells[i], f))
		i++;
	return i == o->ncells;
}

/* Adds an empty output column for each pattern of -f that has no column, because no record of the
 * sample has a field that matches it. */
static void columns_complete(struct out *o)
{
	for (size_t i = 0; i < o->npatterns; i++)
		column_add(o, i, NULL);
}

FEATURED static bool in_table(const struct out *o, const struct column *c)
{
	return c->when & W_TABLE || (has_summary_column(o) && is_ungrouped(c, "summary"));
}

/* Adds an output column for each field that format table shows and whose value is known. Fast path:
 * the fields are in the order of the columns, so that a field usually has the column after that of
 * the field before it. */
FEATURED static void table_columns(struct out *o, const struct record *r)
{
	size_t at = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if ((f->v.type == V_NULL && o->kind != K_SOURCE) || !in_table(o, f->col) ||
		    (f->col->group && str_len(f->inst) > MAX_NAME))
			continue;
		if (at >= o->ncells || !is_column_of(cell_at(o, at), r, i))
			at = column_add(o, 0, f);
		at++;
	}
}

/* Adds an output column for each field that -f selects; without -f, for each field that format
 * table shows. With -f, steady records (which all have the same fields) add no column after the
 * header. */
FEATURED static void table_layout(struct out *o, const struct record *r)
{
	if (!o->npatterns)
		table_columns(o, r);
	else if (!r->steady || !o->headed)
		columns_measure(o, r);
}

/* CELL_BYTES: maximum size of a cell, enough for MAX_PIDS_SHOWN PIDs, or for a path of which every
 * byte is escaped as four bytes. */
enum { CELL_BYTES = 64 << 10, BLANKS = 32 };

/* Buffer for the text of one cell, with BLANKS blanks before it: a cell is copied together with the
 * blanks that separate it from the previous cell. */
static char cell_bytes[BLANKS + CELL_BYTES];

static struct buf cell_buf(void)
{
	return (struct buf){ .p = cell_bytes + BLANKS, .cap = CELL_BYTES };
}

static bool is_engines(const struct cell *c)
{
	return c->predefined && c->predefined->cell == CELL_ENGINES;
}

static void raise_width(u16 *width, size_t w)
{
	if (w > *width)
		*width = (u16)(w < 4096 ? w : 4096);
}

static void measure_cells(struct out *o, const struct record *r)
{
	for (size_t i = 0; i < o->ncells; i++) {
		struct buf b = cell_buf();
		struct cell *c = cell_at(o, i);

		raise_width(&c->needed, line_cell(&b, o, r, c, UINT16_MAX));
		if (b.n != 1 || b.p[0] != '-')
			c->known = true;
		if (is_engines(c))
			raise_width(&c->least, engines_least(r));
	}
}

void put_leaf(struct buf *b, const struct column *c, struct str inst)
{
	put_field_name(b, c, inst, put_text);
}

/* Writes the title of a column. With -f, the title is the name that selects only this column. */
static void head_title(struct buf *b, const struct cell *c)
{
	const struct column *own = c->col;

	if (c->title.p < c->title.e)
		put_text(b, c->title);
	else if (c->pattern)
		put_text(b, *c->pattern);
	else if (c->leaf && own)
		put_leaf(b, own, cell_inst(c));
	else
		put_text(b, cell_inst(c));
}

/* Returns the name of the group that format table writes above the title of a column; NULL if it
 * writes none. */
FEATURED static const char *group_above(const struct cell *c)
{
	const struct column *own = c->col;

	return own && (c->inst_n || own->shape == S_MEMBER) ? own->group : NULL;
}

FEATURED static void head_group(struct buf *b, const struct cell *c)
{
	put_str(b, str_z(group_above(c)));
}

enum { LAST_WIDTH = 16 };

/* Shows all output columns again, and raises the width of each to that of its title and of its
 * widest value; the width of ENGINES only to that of the title. */
static void set_widths(struct out *o)
{
	for (size_t i = 0; i < o->ncells; i++) {
		struct cell *c = cell_at(o, i);

		struct buf t = cell_buf();

		c->hidden = false;
		head_title(&t, c);
		raise_width(&c->width, text_width((struct str){ t.p, t.p + t.n }));
		raise_width(&c->width, is_engines(c) ? 0 : c->needed);
	}
}

/* Returns the total width in characters of the output columns that are shown, except ENGINES,
 * including one blank after each column. */
static size_t width_of_others(struct out *o)
{
	size_t sum = 0;

	for (size_t i = 0; i < o->ncells; i++) {
		const struct cell *c = cell_at(o, i);

		if (c->hidden || is_engines(c))
			continue;
		/* The last column is not padded and may contain a long path: at most LAST_WIDTH
		 * characters of it are counted. */
		sum += (i + 1 == o->ncells && c->width > LAST_WIDTH ? LAST_WIDTH : c->width) + 1u;
	}
	return sum;
}

/* Returns the next OPTIONAL column to leave out so that a line fits the terminal: the last one
 * without a value in any record; if all have values, the last one. Returns NULL if no column may be
 * left out. */
static struct cell *optional_cell(struct out *o)
{
	struct cell *unknown = NULL, *other = NULL;

	for (size_t i = 0; i < o->ncells; i++) {
		struct cell *c = cell_at(o, i);

		if (c->hidden || !c->predefined || !(c->predefined->flags & OPTIONAL))
			continue;
		if (c->known)
			other = c;
		else
			unknown = c;
	}
	return unknown ? unknown : other;
}

/* Sets the widths of the output columns so that the line fits the terminal. ENGINES gets the width
 * that the other columns do not need. If the busy engines do not fit in it, OPTIONAL columns are
 * left out. */
static void assign_widths(struct out *o)
{
	struct cell *list = NULL, *c;
	size_t others, wish;

	set_widths(o);
	for (size_t i = 0; i < o->ncells; i++)
		if (is_engines(cell_at(o, i)))
			list = cell_at(o, i);
	if (!list)
		return;
	/* ENGINES gets six characters more than it needs in this sample, because 0.0 % may become
	 * 100.0 % in a later sample. */
	wish = list->needed + 6u;
	if (o->width) {
		size_t least = list->least > list->width ? list->least : list->width;

		while ((others = width_of_others(o)) + least > o->width && (c = optional_cell(o)))
			c->hidden = true;
		if (others + wish > o->width)
			wish = o->width > others ? o->width - others : 0;
	}
	raise_width(&list->width, wish);
}

/* Writes a row with one cell for each output column, without blanks at the end: the values of
 * record r; or the header, if `head` is not NULL: then head() writes each cell, and r is NULL. */
static void put_row(struct buf *b, struct out *o, const struct record *r,
		    void (*head)(struct buf *, const struct cell *))
{
	size_t from = b->n, gap = 0; /* gap: number of blanks before the next cell */

	memset(cell_bytes, ' ', BLANKS);
	for (size_t i = 0; i < o->ncells; i++) {
		struct buf t = cell_buf();
		struct cell *c = cell_at(o, i);
		size_t w = 0, pad;

		/* option -1: only the first record on a line has the time */
		if (c->hidden || (o->line_records == 2 && !o->npatterns && is_time(c->col)))
			continue;
		if (head) {
			head(&t, c);
			w = text_width((struct str){ t.p, t.p + t.n });
		} else if (r) {
			w = line_cell(&t, o, r, c, o->width ? c->width : UINT16_MAX);
		}
		b->full |= t.full;
		pad = w < c->width && !o->one_line ? c->width - w : 0;
		for (gap += c->right ? pad : 0; gap > BLANKS; gap--)
			put_c(b, ' ');
		put_str(b, (struct str){ t.p - gap, t.p + t.n });
		gap = 1 + (c->right ? 0 : pad);
	}
	while (b->n > from && b->p[b->n - 1] == ' ')
		b->n--;
}

static void put_header(struct out *o, struct buf *b,
		       void (*head)(struct buf *, const struct cell *))
{
	if (o->colour)
		put_z(b, "\033[1m");
	put_row(b, o, NULL, head);
	if (o->colour)
		put_z(b, "\033[0m");
	put_c(b, '\n');
}

static void line_measure(struct out *o, const struct record *r)
{
	if (o->npatterns) {
		columns_measure(o, r);
	} else if (o->ncells == 0) {
		o->kind = r->kind;
		line_layout(o, r);
	}
	measure_cells(o, r);
}

static void line_record(struct out *o, struct buf *b, const struct record *r)
{
	if (!o->headed) {
		columns_complete(o);
		assign_widths(o);
		o->lines = 0;
		if (!o->no_header && !o->one_line) {
			put_header(o, b, head_title);
			o->lines = 1;
		}
		o->headed = true;
	}
	if (o->one_line && o->line_records) {
		put_z(b, " | ");
		o->line_records = 2;
	}
	put_row(b, o, r, NULL);
	o->lines++;
	o->sample_lines++;
	if (!o->one_line)
		put_c(b, '\n');
	else if (!o->line_records)
		o->line_records = 1;
}

/* Requests a new header before the next sample if another sample with as many lines would not fit
 * on the terminal together with the last header. The next sample then determines the widths of the
 * columns. */
static void line_turn_page(struct out *o)
{
	if (o->height && !o->no_header && o->lines + o->sample_lines >= o->height) {
		o->headed = false;
		for (size_t i = 0; i < o->ncells; i++) {
			struct cell *c = cell_at(o, i);

			c->needed = c->least = 0;
			c->known = false;
			c->width = c->predefined ? c->predefined->width : c->width;
		}
	}
	o->sample_lines = 0;
}

static bool line_end(struct out *o, struct buf *b)
{
	if (o->one_line && o->line_records)
		put_c(b, '\n');
	o->line_records = 0;
	line_turn_page(o);
	return false;
}

FEATURED static void table_measure(struct out *o, const struct record *r)
{
	table_layout(o, r);
	for (size_t i = 0; i < o->ncells; i++) {
		struct cell *c = cell_at(o, i);
		size_t at = cell_find(c, r);

		c->right |= at < r->n && r->f[at].v.type == V_INT;
		if (!o->npatterns && !c->inst_n && c->col && !str_len(c->title))
			c->title = str_z(c->col->member ? c->col->member : c->col->group);
	}
	if (!o->headed)
		measure_cells(o, r);
}

FEATURED static void table_record(struct out *o, struct buf *b, const struct record *r)
{
	if (!o->headed) {
		bool two_rows = false;

		/* The widths of the columns are those of the values of all records. A column that a
		 * later record of the sample added has the cell "-" in earlier records, which
		 * always fits. */
		columns_complete(o);
		assign_widths(o);
		for (size_t i = 0; i < o->ncells && !o->npatterns; i++)
			two_rows |= group_above(cell_at(o, i)) != NULL;
		if (o->ran && !o->no_header)
			put_c(b, '\n');
		if (two_rows && !o->no_header)
			put_header(o, b, head_group);
		if (!o->no_header)
			put_header(o, b, head_title);
		o->headed = o->ran = true;
	}
	put_row(b, o, r, NULL);
	put_c(b, '\n');
}

FEATURED static bool table_end(struct out *o, struct buf *b)
{
	(void)b;
	o->headed = false;
	o->ncells = 0;
	return false;
}

/* --- block ------------------------------------------------------------------------------------ */

/* indentation of the values in format block, in characters */
enum { BLOCK_WIDTH = 80, BLOCK_LEAST = 40, BLOCK_AT = 18 };

/* Writes the label of a row of format block: the text that labels[] has for the field or group, or
 * else its name. Each '_' becomes a blank. */
static void block_label(struct buf *b, const char *name)
{
	static const char *const labels[][2] = {
		{ "pdev", "address" }, { "engine", "engines" }, { "used", "memory in use" },
		{ "freq", "clocks" }, { "fan", "fans" }, { "missing", "not available" },
	};
	size_t from = b->n;

	for (size_t i = 0; i < LEN(labels); i++)
		if (str_is(str_z(name), labels[i][0]))
			name = labels[i][1];
	put_z(b, "  ");
	put_z(b, name);
	for (size_t i = from; i < b->n; i++)
		if (b->p[i] == '_')
			b->p[i] = ' ';
	put_columns(b, from, BLOCK_AT);
}

static bool ends_item(struct str word)
{
	char last = ' ';

	for (; word.p < word.e; word.p++)
		last = *word.p;
	return last == ',' || last == ';';
}

/* Returns the width in characters of the first item of a text. An item is the words up to a comma
 * or semicolon. */
static size_t item_width(struct str text)
{
	struct str word;
	size_t n = 0;

	while (str_word(&text, &word)) {
		n += (n > 0) + text_width(word);
		if (ends_item(word))
			break;
	}
	return n;
}

/* Writes the words of a text in lines of at most `width` characters, indented by BLOCK_AT
 * characters. A line is broken after an item (the words up to a comma or semicolon), or between two
 * words of an item that is longer than a line. */
static void block_wrap(struct buf *b, struct str text, size_t width)
{
	/* true: the next word begins an item, which ends at a comma or semicolon */
	bool begins = true;
	size_t at = BLOCK_AT;
	struct str word;

	while (str_word(&text, &word)) {
		size_t n = text_width(word), least = n;

		if (begins)
			least = item_width((struct str){ word.p, text.e });
		if (least > width - BLOCK_AT)
			least = n;
		if (at > BLOCK_AT && at + 1 + least > width) {
			put_c(b, '\n');
			put_columns(b, b->n, BLOCK_AT);
			at = BLOCK_AT;
		} else if (at > BLOCK_AT) {
			put_c(b, ' ');
			at++;
		}
		put_str(b, word);
		at += n;
		begins = ends_item(word);
	}
}

/* Returns whether format block shows the field in a row. It leaves out unknown and empty values,
 * the time, the fields of the title, regions with 0 bytes, a capacity of 1, and counts of 0 that
 * are about the whole run (W_RUN). */
static bool block_shows(const struct out *o, const struct field *f)
{
	const struct column *c = f->col;
	bool zero = f->v.type == V_INT && f->v.n == 0;

	if (f->empty || f->v.type == V_NULL || f->v.type == V_TIME || c->when & W_META ||
	    !out_selects(o, f) || (f->v.type == V_TEXT && f->v.s.p == f->v.s.e))
		return false;
	if (!c->group)
		return !is_ungrouped(c, "kind") && !is_ungrouped(c, "dev") &&
		       !is_ungrouped(c, "name") && !(c->when & W_RUN && zero);
	return !(field_in_group(f, "memory") && zero) && !(c->id == D_CAPACITY && f->v.n == 1);
}

/* Returns whether format block shows several values of any instance of a group. The group has the
 * fields from index `at` to end - 1. */
static bool block_has_pairs(const struct out *o, const struct record *r, size_t at, size_t end)
{
	const struct field *was = NULL;

	for (; at < end; at++) {
		const struct field *f = &r->f[at];

		if (!block_shows(o, f) || f->col->shape != S_BOTH)
			continue;
		if (was && same_inst(was, f))
			return true;
		was = f;
	}
	return false;
}

/* Writes the values of a group or list: "card0, renderD128", "edge 52C, mem 70C", "render, video
 * capacity 2", "sclk cur 2124MHz, max 2526MHz; mclk cur 1249MHz". An instance without a value to
 * show is named, too, if instances of the group can have several values. */
static void block_group(struct buf *b, const struct out *o, const struct record *r, size_t at,
			size_t end)
{
	const char *between = block_has_pairs(o, r, at, end) ? "; " : ", ";
	const struct field *was = NULL;
	/* true after a value of the current instance (such as a sensor) was written */
	bool valued = false;

	for (; at < end; at++) {
		const struct field *f = &r->f[at];
		bool shown = block_shows(o, f), both = f->col->shape == S_BOTH;

		if (!shown && (!both || f->empty || !out_selects(o, f)))
			continue;
		if (!was || !both || !same_inst(was, f)) {
			put_z(b, was ? between : "");
			put_text(b, f->inst);
			valued = false;
		}
		if (shown) {
			put_z(b, valued ? ", " : str_len(f->inst) ? " " : "");
			valued = true;
			put_z(b, f->col->member);
			put_z(b, f->col->member ? " " : "");
			put_cell(b, o, f);
		}
		was = f;
	}
}

static void block_title(struct buf *b, const struct out *o, const struct record *r)
{
	const struct str name = text_in(r, "name");

	put_z(b, o->colour ? "\033[1m" : "");
	put_text(b, text_in(r, "dev"));
	put_z(b, str_len(name) ? "  " : "");
	put_text(b, name);
	if (o->summary) {
		put_z(b, "  ");
		put_text(b, text_in(r, "summary"));
	}
	put_z(b, o->colour ? "\033[0m\n" : "\n");
}

/* Writes the values of a row of format block, which are those of a scalar, a list or a group. A
 * group or list has the fields from index `at` to end - 1. */
static void block_values(struct buf *b, const struct out *o, const struct record *r, size_t at,
			 size_t end)
{
	const struct field *f = &r->f[at];

	if (f->col->group && !field_in_group(f, "missing"))
		block_group(b, o, r, at, end);
	else if (block_shows(o, f) && f->col->group)
		cell_missing(b, r, (struct cellargs){ 0 });
	else if (block_shows(o, f))
		put_cell(b, o, f);
}

/* Writes a device in format block: a title, and a row for each scalar, list and group that has
 * values. */
FEATURED static void block_record(struct out *o, struct buf *b, const struct record *r)
{
	size_t width = o->width && o->width < BLOCK_WIDTH ? o->width : BLOCK_WIDTH;

	width = width > BLOCK_LEAST ? width : BLOCK_LEAST;
	if (o->headed)
		put_c(b, '\n');
	o->headed = true;
	block_title(b, o, r);
	for (size_t i = 0, next = 0; i < r->n; i = next) {
		struct buf t = cell_buf();
		const struct column *c = r->f[i].col;

		for (next = i + 1; next < r->n && same_group(&r->f[i], &r->f[next]); next++)
			;
		block_values(&t, o, r, i, next);
		b->full |= t.full;
		if (t.n == 0)
			continue;
		block_label(b, c->group ? c->group : c->member);
		block_wrap(b, (struct str){ t.p, t.p + t.n }, width);
		put_c(b, '\n');
	}
}

/* --- formats csv and plain: values for programs, in columns ----------------------------------- */

/* Writes the header: the titles of the columns with `sep` between them. If sep is a comma, titles
 * are quoted as in CSV. */
static void put_titles(struct out *o, struct buf *b, char sep,
		       void (*put)(struct buf *, const struct cell *))
{
	for (size_t i = 0; i < o->ncells; i++) {
		size_t from;

		if (i)
			put_c(b, sep);
		from = b->n;
		put(b, cell_at(o, i));
		if (sep == ',')
			csv_quote(b, o, from);
	}
	put_c(b, '\n');
}

/* Writes the header of a CSV file if it is not written yet. Called before the first record, and at
 * the end of a sample, so that a file without records has a header, too. */
static bool csv_end(struct out *o, struct buf *b)
{
	if (o->headed)
		return false;
	o->headed = true;
	columns_complete(o);
	if (o->no_header)
		return false;
	for (size_t i = 0; i < LEN(csv_idcols) && !o->npatterns; i++) {
		put_z(b, csv_idcols[i]);
		put_c(b, ',');
	}
	if (o->npatterns)
		put_titles(o, b, ',', head_title);
	else
		put_z(b, "field,instance,value\n");
	return false;
}

static void csv_record(struct out *o, struct buf *b, const struct record *r)
{
	size_t from;

	csv_end(o, b);
	if (o->npatterns == 0) {
		csv_long(o, b, r);
		return;
	}
	from = b->n;
	for (size_t i = 0; i < o->ncells; i++) {
		if (i)
			put_c(b, ',');
		csv_value(b, o, r, cell_find(cell_at(o, i), r));
	}
	/* A row with one empty cell is written as "", because programs ignore blank lines. */
	put_z(b, b->n == from ? "\"\"\n" : "\n");
}

/* Writes a text for format plain, where blanks separate the columns: a blank becomes \x20 and a
 * backslash \x5c. */
FEATURED static void plain_text(struct buf *b, struct str s)
{
	const char *p = s.p;

	for (; p < s.e; p++) {
		if (*p != ' ' && *p != '\\')
			continue;
		put_text(b, (struct str){ s.p, p });
		put_z(b, "\\x");
		put_hex(b, (u8)*p);
		s.p = p + 1;
	}
	put_text(b, s);
}

FEATURED static void plain_value(struct buf *b, const struct out *o, const struct field *f)
{
	if (!f || f->empty || f->v.type == V_NULL || (f->v.type == V_TEXT && f->v.s.p == f->v.s.e))
		put_c(b, '-');
	else if (f->v.type == V_TEXT)
		plain_text(b, f->v.s);
	else
		put_plain(b, o, f);
}

/* Chooses the columns of format plain from the first sample. With -S, always adds the column
 * "summary", because only the records of the last sample have this field. */
FEATURED static void plain_measure(struct out *o, const struct record *r)
{
	const struct column *c = column_named(1u << o->kind, "summary");
	struct cell *first;

	if (o->ncells == 0 && o->summary && !o->npatterns && c &&
	    (first = cell_add(o, 0, str_z("")))) {
		first->col = c;
		first->leaf = true;
	}
	table_layout(o, r);
}

FEATURED static void plain_title(struct buf *b, const struct cell *c)
{
	const struct column *own = c->col;

	if (c->pattern)
		plain_text(b, *c->pattern);
	else if (own)
		put_field_name(b, own, cell_inst(c), plain_text);
}

FEATURED static void plain_record(struct out *o, struct buf *b, const struct record *r)
{
	if (!o->headed) {
		columns_complete(o);
		if (!o->no_header)
			put_titles(o, b, ' ', plain_title);
		o->headed = true;
	}
	for (size_t i = 0; i < o->ncells; i++) {
		if (i)
			put_c(b, ' ');
		put_field(b, o, r, cell_find(cell_at(o, i), r), ',', plain_value);
	}
	put_c(b, '\n');
}

/* --- perf-csv --------------------------------------------------------------------------------- */

static u64 number_in(const struct record *r, const char *member)
{
	const struct val *v = record_get(r, NULL, member);

	return v && v->type == V_INT ? v->n : 0;
}

/* Returns the count of an event record; NULL if there is none. As in perf's printout(), an event
 * that did not run in an interval, because its task did not run, has no count. */
static const struct val *perf_value(const struct record *r)
{
	return number_in(r, "runtime") ? record_get(r, NULL, "value") : NULL;
}

/* Writes the text that perf stat writes in place of a missing count. */
static void csv_absent(struct buf *b, const struct record *r)
{
	struct str reason = text_in(r, "reason");
	bool counted = str_len(reason) == 0 || str_skip_z(&reason, "not counted");

	put_z(b, counted ? "<not counted>" : "<not supported>");
}

/* Writes the last two fields of a line of perf-csv, the metric and its unit. Both are empty if x is
 * NULL, which means that the event has no metric, or if the event has no count. */
static void put_metric(struct buf *b, const struct record *r, const char *sep,
		       const struct ratio *x)
{
	if (x && perf_value(r))
		put_ratio(b, x, sep);
	else
		put_z(b, sep);
	put_c(b, '\n');
}

/* Writes the first fields of a line of perf-csv: the time or the word "summary", where the event
 * was counted, and the number of CPUs that are summed: [time,][where,][CPUs,] */
static void perfcsv_place(const struct out *o, struct buf *b, const struct record *r,
			  const char *sep)
{
	const struct val *time = record_get(r, NULL, "time");

	if (record_get(r, NULL, "summary")) {
		if (!o->unmarked) {
			/* perf writes the word "summary" with the format %16s */
			put_z(b, "         summary");
			put_z(b, sep);
		}
	} else if (time && !o->once) {
		for (u64 s = time->n / 1000000, ten = 100000; ten > s && ten > 1; ten /= 10)
			put_c(b, ' ');
		put_dec(b, time->n * 1000, 9, 9);
		put_z(b, sep);
	}
	if (o->sites) {
		put_text(b, text_in(r, "set"));
		record_site(b, r->e, false);
		put_z(b, sep);
	}
	if (o->summed) {
		put_u64(b, number_in(r, "cpus"));
		put_z(b, sep);
	}
}

/* Writes a line of perf-csv that has only a metric, the stalled cycles per instruction, below the
 * line of the event instructions. */
static void perfcsv_stalls(const struct out *o, struct buf *b, const struct record *r,
			  const char *sep)
{
	const struct ratio *x = record_stall_ratio(r);

	if (!x)
		return;
	perfcsv_place(o, b, r, sep);
	for (int i = record_get(r, NULL, "cgroup") ? 6 : 5; i > 0; i--)
		put_z(b, sep);
	put_metric(b, r, sep, x);
}

/* Writes the fields of `perf stat -x` 6.1:
 * [time,][where,][CPUs,]value,unit,event[,cgroup][,deviation],runtime,running,metric,its unit. */
FEATURED static void perfcsv_record(struct out *o, struct buf *b, const struct record *r)
{
	const char *sep = o->separator ? o->separator : ",";

	perfcsv_place(o, b, r, sep);
	if (!perf_value(r))
		csv_absent(b, r);
	else
		cell_value(b, r, (struct cellargs){ 0 });
	put_z(b, sep);
	cell_unit(b, r, (struct cellargs){ 0 });
	put_z(b, sep);
	put_text(b, text_in(r, "event"));
	put_z(b, sep);
	if (record_get(r, NULL, "cgroup")) {
		put_text(b, text_in(r, "cgroup"));
		put_z(b, sep);
	}
	if (o->repeats) {
		put_dec(b, number_in(r, "deviation") / 10, 2, 2);
		put_c(b, '%');
		put_z(b, sep);
	}
	put_u64(b, number_in(r, "runtime"));
	put_z(b, sep);
	put_dec(b, record_get(r, NULL, "running") ? number_in(r, "running") / 10 : 10000, 2, 2);
	put_z(b, sep);
	put_metric(b, r, sep, record_ratio(r));
	perfcsv_stalls(o, b, r, sep);
}

/* --- perf-json -------------------------------------------------------------------------------- */

static void perfjson_key(struct buf *b, const char *key)
{
	put_z(b, b->n && b->p[b->n - 1] != '{' ? ", \"" : "\"");
	put_z(b, key);
	put_z(b, "\" : ");
}

static void perfjson_text(struct buf *b, const char *key, struct str text)
{
	perfjson_key(b, key);
	put_quoted(b, text);
}

/* Writes n * 10^-point with six decimals, as printf's %f does. */
static void put_fixed(struct buf *b, u64 n, u8 point)
{
	for (; point > 6; point--)
		n = n / 10 + (point == 7 && n % 10 >= 5);
	put_dec(b, n, point, point);
	for (u8 i = point; i < 6; i++)
		put_z(b, i == 0 ? ".0" : "0");
}

/* Writes the beginning of an object of perf-json: the time of the interval, where the event was
 * counted, and the number of CPUs that are summed. */
static void perfjson_place(const struct out *o, struct buf *b, const struct record *r)
{
	/* Fields that say where the event was counted, and perf's keys for them: the first field
	 * that the record has is used. */
	static const char *const places[][2] = {
		{ "cpu", "cpu" }, { "core", "core" }, { "cache", "cache" },
		{ "cluster", "cluster" }, { "die", "die" }, { "socket", "socket" },
		{ "node", "node" }, { "tid", "thread" },
	};
	const struct val *time = record_get(r, NULL, "time");
	struct buf where = cell_buf();
	size_t i = 0;

	put_c(b, '{');
	if (time && !o->once && !record_get(r, NULL, "summary")) {
		perfjson_key(b, "interval");
		put_dec(b, time->n * 1000, 9, 9);
	}
	while (i < LEN(places) && !record_get(r, NULL, places[i][0]))
		i++;
	if (i == 0)
		put_u64(&where, number_in(r, "cpu"));
	else if (i < LEN(places))
		record_site(&where, r->e, false);
	if (i < LEN(places))
		perfjson_text(b, places[i][1], str_of(where.p, where.n));
	if (o->summed) {
		perfjson_key(b, "aggregate-number");
		put_u64(b, number_in(r, "cpus"));
	}
	if (str_len(text_in(r, "set")))
		perfjson_text(b, "set", text_in(r, "set"));
}

/* Writes the metric and its unit, the last members of an object of perf-json. x: the metric; if the
 * event has none, a ratio of 0 with the unit "". */
static void perfjson_metric(struct buf *b, const struct ratio *x)
{
	struct ratio exact = *x;

	exact.decimals = 6;
	perfjson_key(b, "metric-value");
	put_ratio(b, &exact, ", \"metric-unit\" : \"");
	put_z(b, "\"}\n");
}

static void perfjson_value(struct buf *b, const struct record *r)
{
	const struct val *v = perf_value(r);

	perfjson_key(b, "counter-value");
	put_c(b, '"');
	put_z(b, v && v->neg ? "-" : "");
	if (v)
		put_fixed(b, v->n, is_clock(r) && !v->point ? 6 : v->point);
	else
		csv_absent(b, r);
	put_c(b, '"');
}

/* Writes an event record as the JSON object that `perf stat -j` of perf 6.1 writes. */
FEATURED static void perfjson_record(struct out *o, struct buf *b, const struct record *r)
{
	struct buf unit = cell_buf();
	static const struct ratio none = { .words = "" };
	const struct ratio *x = perf_value(r) ? record_ratio(r) : NULL;

	perfjson_place(o, b, r);
	perfjson_value(b, r);
	cell_unit(&unit, r, (struct cellargs){ 0 });
	perfjson_text(b, "unit", str_of(unit.p, unit.n));
	perfjson_text(b, "event", text_in(r, "event"));
	if (record_get(r, NULL, "cgroup"))
		perfjson_text(b, "cgroup", text_in(r, "cgroup"));
	if (o->repeats) {
		perfjson_key(b, "variance");
		put_dec(b, number_in(r, "deviation") / 10, 2, 2);
	}
	perfjson_key(b, "event-runtime");
	put_u64(b, number_in(r, "runtime"));
	perfjson_key(b, "pcnt-running");
	put_dec(b, record_get(r, NULL, "running") ? number_in(r, "running") / 10 : 10000, 2, 2);
	perfjson_metric(b, x ? x : &none);
	x = record_stall_ratio(r);
	if (!x)
		return;
	perfjson_place(o, b, r);
	perfjson_metric(b, x);
}

/* --- the table of formats --------------------------------------------------------------------- */

/* Kinds of content that an output format can have. */
enum {
	CONTENT_RECORDS,
	CONTENT_RAW,      /* the output has records with the fields that option -r shows */
	CONTENT_STACKS,
	CONTENT_PERFDATA, /* the output has perf records in the kernel's format */
	CONTENT_LEFT_OUT, /* the format belongs to a feature that was left out of the build */
};

enum {
	F_MEASURE_FIRST = 1, /* columns and widths are chosen from the first sample only */
	F_ONE_LINE = 2,      /* option -1 is allowed: all records of a sample are one line */
	F_FIELD_COLUMNS = 4, /* with -f each field has a column of its own */
	/* with -O, the text of each sample replaces the content of the output file */
	F_REPLACES_FILE = 8,
	/* records have both the rates and the totals that other formats show only with -r */
	F_TOTALS = 16,
	F_LINE_WRITES = 32,  /* each line is written by a write() of its own */
	/* each sample is a complete document, in which labels distinguish the records */
	F_DOCUMENT = 64,
	/* the output is one text for the whole run: format.end() is called at the end of the run,
	 * not of each sample */
	F_COVERS_RUN = 128,
	F_UDP = 256,         /* output as UDP datagrams (-O udp:) is allowed */
	F_FILE_HEADER = 512, /* a file gets one header, even if several runs append to it */
	F_NO_NAME = 1024,    /* the names of devices are not shown unless -f selects them */
	F_TIME_AXIS = 2048,  /* the format can show only records that have a time */
	F_MONOTONIC = 4096, /* the format always writes times of CLOCK_MONOTONIC, as with -t mono */
	F_BINARY = 8192,     /* the output is binary and has no lines */
	/* the format is for people: lines that are not records may follow the last record */
	F_FOR_PEOPLE = 16384,
	/* after the header, the text of a record depends only on the record, not on other
	 * records */
	F_STATELESS = 32768,
};

static const struct format {
	struct str name;
	union {
		/* called with each record of a sample before the first one is written, to choose
		 * the columns and their widths */
		void (*measure)(struct out *o, const struct record *r);
		/* name of the feature that the format needs, if `content` is CONTENT_LEFT_OUT */
		const char *feature;
	};
	void (*record)(struct out *o, struct buf *b, const struct record *r);
	/* appends the end of a sample to b; returns true if there is more text: the caller writes b
	 * to the output and calls end() again */
	bool (*end)(struct out *o, struct buf *b);
	u16 flags;   /* properties of the format, bits F_* */
	u16 kinds;  /* bits W_*: kinds of records that the format can show; 0: all kinds */
	u8 content;
} formats[] = {
#define FORMAT(feature, ...) ROW(FORMAT, feature)(feature, __VA_ARGS__)
#define FORMAT1(feature, title, measure, ...) { STR(title), { measure }, __VA_ARGS__ }
#if !WHOLE
#define FORMAT0(left_out, title, ...) \
	{ .name = STR(title), .feature = #left_out, .content = CONTENT_LEFT_OUT }
#endif
	{ STR("line"), { line_measure }, line_record, line_end,
	  F_MEASURE_FIRST | F_ONE_LINE | F_FIELD_COLUMNS | F_NO_NAME | F_FOR_PEOPLE, 0,
	  CONTENT_RECORDS },
	FORMAT(table, "table", table_measure, table_record, table_end,
	       F_NO_NAME | F_FOR_PEOPLE, 0, CONTENT_RECORDS),
	FORMAT(block, "block", NULL, block_record, NULL, 0, W_DEVICE, CONTENT_RECORDS),
	FORMAT(plain, "plain", plain_measure, plain_record, NULL,
	       F_MEASURE_FIRST | F_FIELD_COLUMNS | F_NO_NAME, 0, CONTENT_RECORDS),
	{ STR("csv"), { columns_measure }, csv_record, csv_end,
	  F_MEASURE_FIRST | F_FIELD_COLUMNS | F_FILE_HEADER | F_STATELESS, 0, CONTENT_RECORDS },
	{ STR("json"), { NULL }, json_record, json_end, F_ONE_LINE | F_STATELESS, 0,
	  CONTENT_RECORDS },
	FORMAT(logfmt, "logfmt", NULL, logfmt_record, NULL, 0, 0, CONTENT_RECORDS),
	FORMAT(prom, "prom", NULL, prom_record, prom_end, F_REPLACES_FILE | F_TOTALS | F_DOCUMENT,
	       0, CONTENT_RECORDS),
	FORMAT(openmetrics, "openmetrics", NULL, prom_record, openmetrics_end,
	       F_REPLACES_FILE | F_TOTALS | F_DOCUMENT, 0, CONTENT_RECORDS),
	FORMAT(influx, "influx", NULL, influx_record, NULL, F_TOTALS, 0, CONTENT_RECORDS),
	FORMAT(graphite, "graphite", NULL, graphite_record, NULL, F_TOTALS | F_UDP | F_NO_NAME, 0,
	       CONTENT_RECORDS),
	FORMAT(statsd, "statsd", NULL, statsd_record, NULL, F_UDP | F_NO_NAME, 0,
	       CONTENT_RECORDS),
	FORMAT(collectd, "collectd", NULL, collectd_record, NULL, F_TOTALS | F_NO_NAME, 0,
	       CONTENT_RECORDS),
	FORMAT(kmsg, "kmsg", NULL, kmsg_record, kmsg_end, F_LINE_WRITES | F_NO_NAME, 0,
	       CONTENT_RECORDS),
	FORMAT(plot, "svg", NULL, svg_record, svg_end, F_REPLACES_FILE | F_COVERS_RUN | F_NO_NAME |
	       F_TIME_AXIS, GPUS | W_EVENT | W_SAMPLE | W_OA | W_COUNTER | W_COUNTERS,
	       CONTENT_RECORDS),
	FORMAT(timeline, "perfetto", NULL, perfetto_record, NULL,
	       F_NO_NAME | F_TIME_AXIS | F_MONOTONIC | F_BINARY,
	       GPUS | W_EVENT | W_SAMPLE | W_OA | W_COUNTER, CONTENT_RECORDS),
	FORMAT(timeline, "chrome", NULL, chrome_record, NULL,
	       F_FILE_HEADER | F_NO_NAME | F_TIME_AXIS | F_MONOTONIC,
	       GPUS | W_EVENT | W_SAMPLE | W_OA | W_COUNTER, CONTENT_RECORDS),
	FORMAT(stat, "perf-csv", NULL, perfcsv_record, NULL, 0, W_EVENT, CONTENT_RAW),
	FORMAT(stat, "perf-json", NULL, perfjson_record, NULL, 0, W_EVENT, CONTENT_RAW),
	FORMAT(sample, "folded", NULL, NULL, NULL, 0, W_SAMPLE | W_STALL, CONTENT_STACKS),
	FORMAT(sample, "perfdata", NULL, NULL, NULL, 0, W_SAMPLE, CONTENT_PERFDATA),
};

static bool is_left_out(const struct format *f)
{
	return !WHOLE && f->content == CONTENT_LEFT_OUT;
}

const struct format *format_find(struct str name)
{
	for (size_t i = 0; i < LEN(formats); i++)
		if (str_eq(name, formats[i].name) && !is_left_out(&formats[i]))
			return &formats[i];
	return NULL;
}

/* Returns the name of the feature to which a format belongs, if the feature was left out of the
 * build; otherwise NULL. name: of the format. */
const char *format_left_out(struct str name)
{
	for (size_t i = 0; i < LEN(formats); i++)
		if (str_eq(name, formats[i].name) && is_left_out(&formats[i]))
			return formats[i].feature;
	return NULL;
}

bool format_shows(const struct format *f, u8 kind)
{
	return !f->kinds || f->kinds >> kind & 1;
}

/* Returns the next format after f that is built in; f NULL: the first one. Returns NULL after the
 * last format. */
const struct format *format_next(const struct format *f)
{
	for (f = f ? f + 1 : formats; f < formats + LEN(formats); f++)
		if (!is_left_out(f))
			return f;
	return NULL;
}

struct str format_name(const struct format *f)
{
	return f->name;
}

/* Returns whether the output is folded stacks, which are not records. */
bool format_is_folded(const struct format *f)
{
	return f->content == CONTENT_STACKS;
}

bool format_is_perfdata(const struct format *f)
{
	return f->content == CONTENT_PERFDATA;
}

bool format_is_stateless(const struct format *f)
{
	return f->flags & F_STATELESS;
}

/* Returns whether the format shows the fields that other formats show only with -r: totals in place
 * of rates. */
bool format_raw(const struct format *f)
{
	return f->content == CONTENT_RAW;
}

/* Returns whether the format shows all fields of a record if -f is not used. */
bool format_has_all_fields(const struct format *f)
{
	return f->record == csv_record || f->record == json_record ||
	       (HAS(logfmt) && f->record == logfmt_record);
}

bool format_has_one_line(const struct format *f)
{
	return f->flags & F_ONE_LINE;
}

bool format_has_field_columns(const struct format *f)
{
	return f->flags & F_FIELD_COLUMNS;
}

bool format_replaces_file(const struct format *f)
{
	return f->flags & F_REPLACES_FILE;
}

bool format_has_totals(const struct format *f)
{
	return f->flags & F_TOTALS;
}

bool format_has_file_header(const struct format *f)
{
	return f->flags & F_FILE_HEADER;
}

bool format_writes_lines(const struct format *f)
{
	return f->flags & F_LINE_WRITES;
}

bool format_is_document(const struct format *f)
{
	return f->flags & F_DOCUMENT;
}

/* Returns whether the format is one text for the whole run, such as svg: then out_end() is called
 * at the end of the run, not of each sample. */
bool format_covers_run(const struct format *f)
{
	return f->flags & F_COVERS_RUN;
}

bool format_has_time_axis(const struct format *f)
{
	return f->flags & F_TIME_AXIS;
}

bool format_is_monotonic(const struct format *f)
{
	return f->flags & F_MONOTONIC;
}

bool format_is_binary(const struct format *f)
{
	return f->flags & F_BINARY;
}

bool format_has_udp(const struct format *f)
{
	return f->flags & F_UDP;
}

/* Returns whether the format shows the names of devices without -f. */
bool format_has_names(const struct format *f)
{
	return !(f->flags & F_NO_NAME);
}

/* Returns whether lines that are not records may follow the last record: the format is for people,
 * and none of -1, -f and the option for no header is used. */
bool out_has_footer(const struct out *o)
{
	return o->fmt->flags & F_FOR_PEOPLE && !o->one_line && !o->no_header && !o->npatterns;
}

/* Finds which fields the run can show without -f. Format line: stores the fields as patterns in
 * words[] and returns their number. Format table: returns 0 and stores in *when the properties
 * (W_*) of the columns that it shows. If the number and *when are 0, all fields may be shown. */
size_t out_default_fields(const struct out *o, struct str words[MAX_WORDS], u32 *when)
{
	bool line = o->fmt->record == line_record;
	bool table = HAS(table) && o->fmt->record == table_record;
	size_t n = 0;

	*when = 0;
	if ((!line && !table) || o->npatterns || !(1u << o->kind & GPUS))
		return 0;
	*when = table ? W_TABLE | W_LABEL | W_ID : 0;
	for (const struct line_column *l = line_columns;
	     l < line_columns + LEN(line_columns) && n < MAX_WORDS; l++)
		if (line && l->kinds & 1 << o->kind && !(l->flags & LIST) &&
		    l->cell != CELL_ENGINES)
			words[n++] = str_z(l->field);
	for (size_t i = 0; i < LEN(line_fields) && n < MAX_WORDS; i++)
		words[n++] = line_fields[i];
	return n;
}

/* Returns whether all records of the next sample must be passed to out_measure() before the first
 * one is written, to choose the columns and their widths. */
bool out_measures(const struct out *o)
{
	/* The last condition is false for long CSV (format csv without -f), which has fixed
	 * columns. */
	return o->fmt->measure && !(o->fmt->flags & F_MEASURE_FIRST && o->headed) &&
	       !(o->fmt->flags & F_FILE_HEADER && !o->npatterns);
}

void out_measure(struct out *o, const struct record *r)
{
	o->fmt->measure(o, r);
}

/* Appends one record, and before the first one the header if the format has one. */
void out_record(struct out *o, struct buf *b, const struct record *r)
{
	if (!r->f) {
		/* there was no memory for the fields of the record: b->full makes the caller leave
		 * the record out, with a message */
		b->full = true;
		return;
	}
	if (o->note)
		o->note(o, r);
	o->fmt->record(o, b, r);
}

/* Appends the end of a sample to b. Returns true if there is more text: the caller writes b to the
 * output and calls out_end() again. */
bool out_end(struct out *o, struct buf *b)
{
	return o->fmt->end && o->fmt->end(o, b);
}

/* Appends the text of -f help: the fields of records of this kind, with unit and meaning. */
void out_fields(struct buf *b, u8 kind)
{
	for (size_t i = 0; i < ncolumns; i++) {
		const struct column *c = &columns[i];
		size_t from = b->n;

		if (!(c->when & 1u << kind))
			continue;
		put_z(b, c->group ? c->group : c->member);
		if (c->shape == S_INST || c->shape == S_BOTH)
			put_z(b, ".NAME");
		if (c->group && c->member) {
			put_c(b, '.');
			put_z(b, c->member);
		}
		while (b->n - from < 28)
			put_c(b, ' ');
		put_z(b, units[c->unit].name);
		while (b->n - from < 35)
			put_c(b, ' ');
		put_z(b, c->help);
		put_z(b, c->when & W_LIST ? " (list)\n" : c->when & W_LIVE ? "\n" :
		      kind == K_EVENT ? " (--raw)\n" : " (-r)\n");
	}
}
