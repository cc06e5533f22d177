/* out.c - formats: the fields of a record as text. Pure: nothing here writes. SPDX-License-Identifier: MIT */
#include "built.h"
#include "gpustat.h"

/* --- numbers --------------------------------------------------------------------------------------- */

static void put_padded(struct buf *b, u64 v, size_t digits)
{
	char d[DIGITS];

	digits_before(d + DIGITS, v, digits);
	put_n(b, d + DIGITS - digits, digits);
}

/* --- bytes of others: names that may hold anything --------------------------------------------------- */

/* The inside of a JSON string. */
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
			put_z(b, "\\u00");
			put_hex(b, (u8)end[-1]);
		} else {
			if (*s.p == '"' || *s.p == '\\')
				put_c(b, '\\');
			put_str(b, (struct str){ s.p, end });
		}
		s.p = end;
	}
}

static void put_quoted(struct buf *b, struct str s)
{
	put_c(b, '"');
	put_jsonstr(b, s);
	put_c(b, '"');
}

/* Characters on a terminal: one a sequence. */
static size_t text_width(struct str s)
{
	size_t n = 0;

	for (; s.p < s.e; s.p++)
		n += ((u8)*s.p & 0xc0) != 0x80;
	return n;
}

/* --- values --------------------------------------------------------------------------------------------- */

/* Days since 1970 to a date: Howard Hinnant's "chrono-compatible low-level date algorithms", for years
 * from 1970 on. */
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
	put_padded(b, seconds / 3600 % 24, 2);
	put_c(b, ':');
	put_padded(b, seconds / 60 % 60, 2);
	put_c(b, ':');
	put_padded(b, seconds % 60, 2);
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

/* Whether it is a column, that of the name, of those that are in no group. */
static bool is_alone(const struct column *c, const char *name)
{
	return c && !c->group && c->member && strcmp(c->member, name) == 0;
}

static bool is_time(const struct column *c)
{
	return is_alone(c, "time");
}

/* Whether this field is the record's time, and is to be a date. */
static bool is_iso(const struct out *o, const struct field *f)
{
	return o->time == T_ISO && f->v.type == V_TIME && is_time(f->col);
}

/* A number for programs: no unit, exact. */
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

/* A value where text needs no quotes. */
static void put_plain(struct buf *b, const struct out *o, const struct field *f)
{
	if (is_iso(o, f))
		put_iso(b, f->v.n);
	else if (f->v.type == V_TEXT)
		put_text(b, f->v.s);
	else if (f->v.type != V_NULL)
		put_number(b, &f->v);
}

/* 512M: three digits at most, and the next unit from 1023.5 on. */
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

/* Rounded for people: 12.5% 512M 1300MHz 45C 4.2W. */
void put_human(struct buf *b, struct val v)
{
	static const u8 coarse[UNITS] = {
		[U_RATE] = U_BYTES, [U_MILLIC] = U_CELSIUS, [U_MICROJ] = U_JOULE, [U_MICROW] = U_WATT,
		[U_MILLIV] = U_VOLT, [U_MILLIA] = U_AMPERE,
	};
	/* Units that are shown by another, or with a fixed number of decimals. */
	static const struct {
		u8 unit, point, keep;
		bool near; /* rounded, not cut */
		u32 by;
		char end[4];
	} scales[] = {
		{ U_HZ, 0, 0, true, 1000000, "MHz" }, { U_NS, 3, 3, false, 1000000, "s" }, { U_NANO, 6, 3, false, 1000, "s" },
		{ U_CENTI, 2, 2, false, 1, "" },      { U_MICRO, 2, 2, true, 10000, "" },
	};
	static const u32 tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000 };
	u64 n = v.n, ten;

	if (coarse[v.unit])
		v.unit = coarse[v.unit];
	if (v.neg && (v.unit != U_CELSIUS || n >= 500))
		put_c(b, '-');
	for (size_t i = 0; i < LEN(scales); i++)
		if (scales[i].unit == v.unit) {
			n = n / scales[i].by + (scales[i].near && n % scales[i].by >= scales[i].by / 2);
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
		put_dec(b, muldiv(n, 10, ten) + (n * 10 % ten >= ten / 2 && ten > 10), 1, 1);
	else
		put_u64(b, n);
	put_z(b, units[v.unit].name);
}

static void put_cell(struct buf *b, const struct out *o, const struct field *f)
{
	if (f->empty || f->v.type == V_NULL)
		put_c(b, '-');
	else if (f->v.type == V_TIME && o->time == T_DEFAULT && is_time(f->col))
		put_clock(b, f->v.n / 1000000 + (u64)(i64)o->offset);
	else if (f->v.type == V_INT)
		put_human(b, f->v);
	else
		put_plain(b, o, f);
}

/* In keys: letters, digits, '_' and '.' only. */
static void put_inst(struct buf *b, struct str inst)
{
	size_t from = b->n;

	put_text(b, inst);
	for (size_t i = from; i < b->n; i++) {
		char c = b->p[i];

		if ((u8)((c | 32) - 'a') >= 26 && (u8)(c - '0') >= 10 && c != '.')
			b->p[i] = '_';
	}
}

/* The name of a field in one word: group.instance.member */
static void put_name(struct buf *b, const struct field *f, bool inst)
{
	const struct column *c = f->col;

	put_z(b, c->group ? c->group : c->member);
	if (inst && c->group && f->inst.p < f->inst.e) {
		put_c(b, '.');
		put_inst(b, f->inst);
	}
	if (c->group && c->member) {
		put_c(b, '.');
		put_z(b, c->member);
	}
}

/* By -f. */
bool out_selects(const struct out *o, const struct field *f)
{
	for (size_t i = 0; i < o->npatterns; i++)
		if (field_match(f, o->patterns[i]))
			return true;
	return o->npatterns == 0;
}

/* --- json ------------------------------------------------------------------------------------------------ */

static void json_value(struct buf *b, const struct out *o, const struct field *f)
{
	if (is_iso(o, f)) {
		put_c(b, '"');
		put_iso(b, f->v.n);
		put_c(b, '"');
	} else if (f->v.type == V_TEXT) {
		put_quoted(b, f->v.s);
	} else if (f->v.type == V_NULL) {
		put_z(b, "null");
	} else {
		put_number(b, &f->v);
	}
}

/* What stands before a key, where another member does. */
static void json_more(struct buf *b)
{
	if (b->n && b->p[b->n - 1] != '{')
		put_c(b, ',');
}

static void json_key(struct buf *b, struct str key)
{
	json_more(b);
	put_quoted(b, key);
	put_c(b, ':');
}

/* One of ours, in which nothing is to be escaped. */
static void json_name(struct buf *b, const char *name)
{
	json_more(b);
	put_c(b, '"');
	put_z(b, name);
	put_str(b, (struct str)STR("\":"));
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

static void json_list(struct buf *b, const struct out *o, const struct field *f, const struct field *end)
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

static void json_group(struct buf *b, const struct out *o, const struct field *f, const struct field *end)
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

/* Behind the fields of field i's group; whether any of them is selected. */
static size_t json_span(const struct out *o, const struct record *r, size_t i, bool *any)
{
	size_t end = i + 1;

	*any = out_selects(o, &r->f[i]);
	for (; end < r->n && same_group(&r->f[i], &r->f[end]); end++)
		*any |= out_selects(o, &r->f[end]);
	return end;
}

static void json_record(struct out *o, struct buf *b, const struct record *r)
{
	if (o->one_line)
		put_c(b, o->joined ? ',' : '[');
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
	o->joined = 1;
}

static bool json_end(struct out *o, struct buf *b)
{
	if (o->one_line)
		put_z(b, o->joined ? "]\n" : "[]\n");
	o->joined = 0;
	return false;
}

/* --- logfmt -------------------------------------------------------------------------------------------------- */

static bool is_word(struct str s)
{
	return s.p < s.e && clean_end(s, CLEAN_WORD) == s.e;
}

/* Field i of a record, behind those before it. False: nothing of it is shown. */
bool put_logfmt(struct buf *b, const struct out *o, const struct record *r, size_t i, bool first)
{
	const struct field *f = &r->f[i];
	bool more = f->col->shape == S_LIST && i && r->f[i - 1].col == f->col;

	if (!out_selects(o, f) || (f->v.type == V_NULL && !(f->empty && f->col->shape == S_LIST)))
		return false;
	if (!first)
		put_c(b, more ? ',' : ' ');
	if (!more) {
		put_name(b, f, true);
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

/* --- csv --------------------------------------------------------------------------------------------------------- */

/* Quotes what stands behind `from` where RFC 4180 wants it. */
static void csv_quote(struct buf *b, size_t from)
{
	char *p = b->p + from, *e = b->p + b->n, *to;
	size_t n = b->n + 2; /* with quotes around it, and one before each */
	bool need = p < e && (*p == ' ' || e[-1] == ' ');

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

static void csv_cell(struct buf *b, const struct out *o, const struct field *f)
{
	size_t from = b->n;

	if (f->v.type == V_INT) { /* most of what there is */
		put_number(b, &f->v);
		return;
	}
	put_plain(b, o, f);
	if (f->v.type == V_TEXT)
		csv_quote(b, from);
}

/* All values of a list, or of a pattern, in one cell. */
static void csv_joined(struct buf *b, const struct out *o, const struct record *r, struct str pattern)
{
	size_t from = b->n, n = 0;
	bool named = false;

	for (size_t i = 0; i < r->n; i++)
		n += field_match(&r->f[i], pattern) && !r->f[i].empty;
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (!field_match(f, pattern) || (f->empty && f->col->shape != S_LIST))
			continue;
		if (b->n > from)
			put_c(b, ' ');
		named = n > 1 && f->col->shape != S_LIST;
		if (named) {
			put_text(b, f->inst);
			if (f->col->member && f->inst.p == f->inst.e)
				put_z(b, f->col->member);
			put_c(b, '=');
		}
		if (f->empty)
			put_z(b, "none");
		else
			put_plain(b, o, f);
	}
	csv_quote(b, from);
}

/* The columns of each row of the long form: whom it is about. */
static const char *const csv_idcols[] = { "time", "dt", "kind", "dev", "driver", "pdev", "client", "pid", "comm",
					  "cgroup" };

static void csv_ids(const struct out *o, struct buf *b, const struct record *r)
{
	for (size_t i = 0; i < LEN(csv_idcols); i++) {
		for (size_t k = 0; k < r->n; k++)
			if (!r->f[k].col->group && is_alone(r->f[k].col, csv_idcols[i]))
				csv_cell(b, o, &r->f[k]);
		put_c(b, ',');
	}
}

/* Whether a row of the long form is about it. */
static bool has_row(const struct field *f)
{
	return !(f->col->when & (W_ID | W_META)) && (!f->empty || f->col->shape == S_LIST);
}

/* Long form: a row a value. Whom they are about is written once, and copied. */
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
		put_name(b, f, false);
		if (summary) {
			put_c(b, '.');
			put_str(b, summary->s);
		}
		put_c(b, ',');
		from = b->n;
		put_text(b, f->inst);
		csv_quote(b, from);
		put_c(b, ',');
		if (f->col->shape == S_LIST)
			csv_joined(b, o, r, str_z(f->col->group));
		else
			csv_cell(b, o, f);
		put_c(b, '\n');
	}
}

static void csv_head(struct out *o, struct buf *b)
{
	for (size_t i = 0; i < o->npatterns; i++) {
		size_t from;

		if (i)
			put_c(b, ',');
		from = b->n;
		put_text(b, o->patterns[i]);
		csv_quote(b, from);
	}
	if (o->npatterns == 0) {
		for (size_t i = 0; i < LEN(csv_idcols); i++) {
			put_z(b, csv_idcols[i]);
			put_c(b, ',');
		}
		put_z(b, "field,instance,value");
	}
	put_c(b, '\n');
}

/* Where the only field of each pattern stands in every record of the run. */
static void find_places(struct out *o, const struct record *r)
{
	for (size_t i = 0; i < o->npatterns; i++) {
		size_t n = 0;

		for (size_t k = 0; k < r->n; k++)
			if (field_match(&r->f[k], o->patterns[i])) {
				o->places[i] = (u16)(k + 1);
				n++;
			}
		if (n != 1)
			o->places[i] = 0;
	}
}

/* The header stands there even where no record does. */
static bool csv_end(struct out *o, struct buf *b)
{
	if (!o->headed && !o->no_header)
		csv_head(o, b);
	o->headed = true;
	return false;
}

static void csv_record(struct out *o, struct buf *b, const struct record *r)
{
	size_t from;

	if (!o->headed && r->steady)
		find_places(o, r);
	csv_end(o, b);
	if (o->npatterns == 0) {
		csv_long(o, b, r);
		return;
	}
	from = b->n;
	for (size_t i = 0; i < o->npatterns; i++) {
		if (i)
			put_c(b, ',');
		if (o->places[i] && o->places[i] <= r->n)
			csv_cell(b, o, &r->f[o->places[i] - 1]);
		else
			csv_joined(b, o, r, o->patterns[i]);
	}
	put_z(b, b->n == from ? "\"\"\n" : "\n"); /* a blank line would be no row */
}

/* --- line -------------------------------------------------------------------------------------------------------- */

static void cell_of(struct buf *b, const struct record *r, const char *group, const char *member)
{
	const struct val *v = record_get(r, group, member);

	if (!v)
		put_c(b, '-');
	else if (v->type == V_TEXT)
		put_text(b, v->s);
	else
		put_human(b, *v);
}

struct ask {
	const char *word;
	u16 width; /* that the cell has */
};

/* Widths are the least; the first sample may ask for more. ENGINES gets what the line has left. */
struct lay {
	u16 kinds;
	u8 width, is;      /* enum layis */
	const char *title;
	const char *word;  /* whose value put shows, where it shows one */
	void (*put)(struct buf *b, const struct record *r, struct ask a);
};

enum layis {
	RIGHT = 1,
	LIST = 2, /* only of `list` */
	/* What a run must have, one of several, that the column says anything. */
	SITES = 4, REPEATS = 8, SETS = 16, REPORTS = 32, CONTEXTS = 64, NEEDS = SITES | REPEATS | SETS | REPORTS | CONTEXTS,
};

static void cell_member(struct buf *b, const struct record *r, struct ask a)
{
	cell_of(b, r, NULL, a.word);
}

static void cell_group(struct buf *b, const struct record *r, struct ask a)
{
	cell_of(b, r, a.word, NULL);
}

/* The text of a field, or the empty one. */
FEATURED static struct str text_in(const struct record *r, const char *member)
{
	const struct val *v = record_get(r, NULL, member);

	return v && v->type == V_TEXT ? v->s : str_z("");
}

static const struct str ns_unit = STR("ns");

/* cpu-clock and task-clock, which perf stat shows in ms. */
static bool is_clock(const struct record *r)
{
	static const struct str clock = STR("*-clock*");

	return str_eq(text_in(r, "unit"), ns_unit) && glob_match(clock, text_in(r, "event"), NULL);
}

FEATURED static void cell_value(struct buf *b, const struct record *r, struct ask a)
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

FEATURED static void cell_unit(struct buf *b, const struct record *r, struct ask a)
{
	(void)a;
	put_text(b, is_clock(r) ? (struct str)STR("msec") : text_in(r, "unit"));
}

/* A cell with others behind it. */
FEATURED static void cell_unit_there(struct buf *b, const struct record *r, struct ask a)
{
	struct str unit = text_in(r, "unit");

	(void)a;
	put_text(b, unit.p < unit.e ? unit : (struct str)STR("-"));
}

FEATURED static void cell_site(struct buf *b, const struct record *r, struct ask a)
{
	struct str set = text_in(r, "set");

	(void)a;
	put_text(b, set);
	if (set.p < set.e)
		put_c(b, ' ');
	record_site(b, r->e, true);
}

/* The function, who called it, and what stands beside: the data's address, the group's counts, a loss. */
FEATURED static void cell_symbol(struct buf *b, const struct record *r, struct ask a)
{
	static const char *const more[] = { "addr", "lost" };

	cell_of(b, r, NULL, "symbol");
	(void)a;
	for (size_t i = 0; i < LEN(more); i++)
		if (record_get(r, NULL, more[i])) {
			put_c(b, ' ');
			put_z(b, more[i]);
			put_c(b, '=');
			cell_of(b, r, NULL, more[i]);
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

/* Of a profile: the symbol or program, and before it the address. */
FEATURED static void cell_name(struct buf *b, const struct record *r, struct ask a)
{
	(void)a;
	if (record_get(r, NULL, "ip")) {
		cell_of(b, r, NULL, "ip");
		put_c(b, ' ');
	}
	cell_of(b, r, NULL, "name");
}

/* Nothing where it is not known. */
FEATURED static void cell_text(struct buf *b, const struct record *r, struct ask a)
{
	put_text(b, text_in(r, a.word));
}

/* Milliseconds: what lies between two reports may be much less than a second. */
FEATURED static void cell_dt(struct buf *b, const struct record *r, struct ask a)
{
	const struct val *v = record_get(r, NULL, "dt");

	(void)a;
	if (v)
		put_dec(b, v->n, 3, 3);
	put_z(b, v ? "ms" : "-");
}

static void cell_clock(struct buf *b, const struct record *r, struct ask a)
{
	(void)a;
	cell_of(b, r, "freq", record_get(r, "freq", "act") ? "act" : "cur");
}

static bool is_of_group(const struct field *f, const char *group)
{
	return f->col->group && group && strcmp(f->col->group, group) == 0;
}

/* What an engine's cell says: busy in per cent, or under -r its time or cycles. */
static bool is_engine_cell(const struct record *r, size_t i)
{
	static const char *const members[] = { "busy", "busy_ns", "cycles" };
	const struct field *f = &r->f[i];

	if (!is_of_group(f, "engine") || !f->col->member || f->empty)
		return false;
	for (size_t k = 0; k < LEN(members); k++)
		if (strcmp(f->col->member, members[k]) == 0)
			return !(i && k == 2 && str_eq(r->f[i - 1].inst, f->inst));
	return false;
}

static void engine_cell(struct buf *b, const struct field *f)
{
	put_text(b, f->inst);
	put_c(b, ' ');
	if (f->v.type == V_NULL)
		put_c(b, '-');
	else
		put_human(b, f->v);
}

enum { MAX_ENGINES = 512 };

static size_t digits(size_t v)
{
	size_t n = 1;

	while (v /= 10)
		n++;
	return n;
}

/* The engine that is least missed: the least busy one, of several the last. */
static size_t least_busy(const struct record *r, const size_t *at, const u16 *cost, size_t n)
{
	size_t least = 0;
	u64 busy = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		if (cost[i] && r->f[at[i]].v.n <= busy) {
			busy = r->f[at[i]].v.n;
			least = i;
		}
	return least;
}

/* All engines in the driver's order; where they do not fit the least busy ones give way to "+N". */
static void cell_engines(struct buf *b, const struct record *r, struct ask a)
{
	static u16 cost[MAX_ENGINES]; /* in characters; 0: left out */
	static size_t at[MAX_ENGINES];
	size_t n = 0, left, room = 0;
	bool first = true;

	for (size_t i = 0; i < r->n && n < MAX_ENGINES; i++) {
		char text[4 * MAX_NAME + 32];
		struct buf t = { .p = text, .cap = sizeof(text) };

		if (!is_engine_cell(r, i))
			continue;
		engine_cell(&t, &r->f[i]);
		at[n] = i;
		cost[n] = (u16)(text_width((struct str){ t.p, t.p + t.n }) + 1);
		room += cost[n++];
	}
	/* room counts a blank behind each engine; " +N" takes its place behind the last. */
	for (left = n; left > 1 && room + (left < n ? 2 + digits(n - left) : 0) > a.width + 1u; left--) {
		size_t i = least_busy(r, at, cost, n);

		room -= cost[i];
		cost[i] = 0;
	}
	for (size_t i = 0; i < n; i++) {
		if (!cost[i])
			continue;
		if (!first)
			put_c(b, ' ');
		first = false;
		engine_cell(b, &r->f[at[i]]);
	}
	if (left < n) {
		put_z(b, " +");
		put_u64(b, n - left);
	}
	if (n == 0)
		put_c(b, '-');
}

/* Names, separated by commas: of the instances of a group, or of a list's items. */
static void cell_names(struct buf *b, const struct record *r, struct ask a)
{
	const struct field *was = NULL;

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (!is_of_group(f, a.word) || f->empty ||
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

/* "temp,fan: no sensor; memory: ...": what has the same reason stands together. */
static void cell_missing(struct buf *b, const struct record *r, struct ask a)
{
	bool any = false;

	(void)a;
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		bool before = false;

		if (!is_of_group(f, "missing") || f->empty)
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

static const struct lay lays[] = {
	{ W_DEVICE, 5, LIST, "DEV", "dev", cell_member },
	{ W_DEVICE, 6, LIST, "DRIVER", "driver", cell_member },
	{ W_DEVICE, 4, LIST, "PDEV", "pdev", cell_member },
	{ W_DEVICE, 6, LIST, "STATE", "state", cell_member },
	{ W_DEVICE, 5, LIST, "NODES", "nodes", cell_names },
	{ W_DEVICE, 7, LIST, "ENGINES", "engine", cell_names },
	{ W_DEVICE, 7, LIST, "REGIONS", "memory", cell_names },
	{ W_DEVICE, 0, LIST, "CANNOT TELL", NULL, cell_missing },

	{ W_FDINFO, 4, 0, "FILE", "file", cell_member },
	{ W_DEVICE | W_CLIENT | W_CGROUP, 5, 0, "DEV", "dev", cell_member },
	{ W_DEVICE | W_FDINFO, 6, 0, "DRIVER", "driver", cell_member },
	{ W_FDINFO, 6, RIGHT, "CLIENT", "client", cell_member },
	{ W_CLIENT, 7, RIGHT, "PID", "pid", cell_member },
	{ W_DEVICE | W_CLIENT | W_CGROUP | W_FDINFO, 10, 0, "ENGINES", "engine", cell_engines },
	{ W_DEVICE | W_CLIENT | W_CGROUP | W_FDINFO, 4, RIGHT, "MEM", "used", cell_member },
	{ W_DEVICE, 5, RIGHT, "CLOCK", "freq", cell_clock },
	{ W_DEVICE, 4, RIGHT, "TEMP", "temp", cell_group },
	{ W_DEVICE, 5, RIGHT, "POWER", "power", cell_group },
	{ W_DEVICE | W_CGROUP, 7, RIGHT, "CLIENTS", "clients", cell_member },
	{ W_CLIENT, 4, 0, "COMM", "comm", cell_member },
	{ W_CGROUP, 6, 0, "CGROUP", "cgroup", cell_member },

#if HAS(stat)
	{ W_EVENT, 5, SITES, "WHERE", NULL, cell_site },
	{ W_EVENT, 20, 0, "EVENT", "event", cell_member },
	{ W_EVENT, 12, RIGHT, "VALUE", NULL, cell_value },
	{ W_EVENT, 4, 0, "UNIT", NULL, cell_unit },
	{ W_EVENT, 4, RIGHT | REPEATS, "+-", "deviation", cell_member },
	{ W_EVENT, 4, RIGHT | SETS, "RUNS", "runs", cell_member },
	{ W_EVENT, 6, RIGHT, "RUN", "running", cell_member },
	{ W_EVENT, 0, 0, "REASON", "reason", cell_text },
#endif

#if HAS(sample)
	{ W_SAMPLE, 3, RIGHT, "CPU", "cpu", cell_member },
	{ W_SAMPLE, 7, RIGHT, "TID", "tid", cell_member },
	{ W_SAMPLE, 15, 0, "COMM", "comm", cell_member },
	{ W_SAMPLE, 10, 0, "EVENT", "event", cell_member },
	{ W_SAMPLE, 9, RIGHT, "PERIOD", "period", cell_member },
	{ W_SAMPLE, 6, 0, "MODE", "mode", cell_member },
	{ W_SAMPLE, 18, 0, "IP", "ip", cell_member },
	{ W_SAMPLE, 0, 0, "SYMBOL", NULL, cell_symbol },
#endif

#if HAS(oa)
	{ W_OA, 5, RIGHT | REPORTS | CONTEXTS, "INDEX", "index", cell_member },
	{ W_OA, 14, REPORTS, "REASON", "reason", cell_text },
	{ W_OA, 5, RIGHT | CONTEXTS, "CTX", "ctx", cell_member },
	{ W_OA, 10, RIGHT, "DT", NULL, cell_dt },
	{ W_OA, 10, RIGHT, "TICKS", "ticks", cell_member },
	{ W_OA, 7, RIGHT, "FREQ", "freq", cell_member },
	{ W_OA, 4, RIGHT, "LOST", "lost", cell_member },
#endif

#if HAS(named)
	{ W_COUNTER, 5, RIGHT | LIST, "INDEX", "index", cell_member },
	{ W_COUNTER, 6, LIST, "VENDOR", "vendor", cell_member },
	{ W_COUNTER, 4, LIST, "UNIT", NULL, cell_unit_there },
	{ W_COUNTER, 3, RIGHT | LIST, "MIN", "min", cell_member },
	{ W_COUNTER, 3, RIGHT | LIST, "MAX", "max", cell_member },
	{ W_COUNTER, 5, RIGHT | LIST, "SCALE", "scale", cell_member },
	{ W_COUNTER, 4, LIST, "NAME", NULL, cell_name },
	{ W_COUNTER, 0, LIST, "DESCRIPTION", "description", cell_member },

	{ W_COUNTER, 20, 0, "NAME", NULL, cell_name },
	{ W_COUNTER, 12, RIGHT, "VALUE", NULL, cell_value },
	{ W_COUNTER, 4, 0, "UNIT", NULL, cell_unit },
#endif

#if HAS(sample)
	{ W_PROFILE, 6, RIGHT, "SHARE", "percent", cell_member },
	{ W_PROFILE, 7, RIGHT, "SAMPLES", "samples", cell_member },
	{ W_PROFILE, 6, 0, "BY", "by", cell_member },
	{ W_PROFILE, 24, 0, "NAME", NULL, cell_name },
	{ W_PROFILE, 0, 0, "MODULE", "module", cell_member },
#endif

#if HAS(doctor)
	{ W_SOURCE, 6, 0, "STATUS", "status", cell_text },
	{ W_SOURCE, 20, 0, "SOURCE", "source", cell_text },
	{ W_SOURCE, 28, 0, "DETAIL", "detail", cell_text },
	{ W_SOURCE, 0, 0, "REMEDY", "remedy", cell_text },
#endif
};

/* Columns that would stand empty in every line of such a run. */
static bool is_needless(const struct out *o, const struct lay *l)
{
	int has = (o->sites ? SITES : 0) | (o->repeats ? REPEATS : 0) | (o->sets ? SETS : 0) | (o->reports ? REPORTS : 0) |
		  (o->contexts ? CONTEXTS : 0);

	return l->is & NEEDS && !(l->is & NEEDS & has);
}

/* All values of a pattern, for people. */
static void put_pattern(struct buf *b, const struct out *o, const struct record *r, struct str pattern)
{
	size_t n = 0, done = 0;

	for (size_t i = 0; i < r->n; i++)
		n += field_match(&r->f[i], pattern);
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (!field_match(f, pattern))
			continue;
		if (done++)
			put_c(b, f->col->shape == S_LIST ? ',' : ' ');
		if (n > 1 && f->col->shape != S_LIST) {
			put_text(b, f->inst.p < f->inst.e ? f->inst : str_z(f->col->member));
			put_c(b, ' ');
		}
		put_cell(b, o, f);
	}
	if (n == 0)
		put_c(b, '-');
}

static struct str cell_inst(const struct cell *c)
{
	return (struct str){ c->inst, c->inst + c->inst_n };
}

static inline bool cell_holds(const struct cell *c, const struct field *f)
{
	const struct column *own = f->col;

	return c->col == own && (!own->group || str_eq(cell_inst(c), f->inst));
}

static void line_cell(struct buf *b, const struct out *o, const struct record *r, const struct cell *c)
{
	const struct lay *lay = c->lay;
	const struct str *pattern = c->pattern;
	const struct val *v;

	if (lay) {
		lay->put(b, r, (struct ask){ lay->word, c->width });
	} else if (pattern) {
		put_pattern(b, o, r, *pattern);
	} else if (!o->inner && is_time(c->col) && (v = record_get(r, NULL, "summary"))) {
		put_str(b, v->s);
	} else { /* a column of table */
		const struct column *own = c->col;
		size_t from = b->n;

		for (size_t i = 0; own && i < r->n; i++)
			if (r->f[i].col == own && cell_holds(c, &r->f[i])) {
				if (b->n > from)
					put_c(b, ',');
				put_cell(b, o, &r->f[i]);
			}
		if (b->n == from)
			put_c(b, '-');
	}
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
	o->cells[n] = (struct cell){ .title = title, .group = str_z(""), .inst = o->insts[n] };
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

/* A column for each counter, under its name: of an OA set, or of the host, wide enough for what its unit becomes. */
static void line_counters(struct out *o, const struct record *r)
{
	static const u8 widths[UNITS] = { [U_NONE] = 6, [U_SHARE] = 4, [U_CENTI] = 5, [U_BYTES] = 5, [U_RATE] = 5 };

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		struct cell *c;

		if (!is_of_group(f, "counter") || f->empty)
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

/* The summary's rows say which they are where there is no time that could give its place for that. */
static bool says_summary(const struct out *o)
{
	return o->summary && (o->inner || o->time == T_NONE);
}

static const struct column *time_column(void)
{
	size_t i = 0;

	while (i < ncolumns && !is_time(&columns[i]))
		i++;
	return i < ncolumns ? &columns[i] : NULL;
}

static const struct str summary_pattern = STR("summary");

/* The columns of `line`: those named, or the kind's. */
static void line_layout(struct out *o, const struct record *r)
{
	struct cell *c;

	for (size_t i = 0; i < o->npatterns; i++)
		if ((c = cell_add(o, o->ncells, o->patterns[i])))
			c->pattern = &o->patterns[i];
	if (o->npatterns)
		return;
	if (o->kind != K_FDINFO && !o->list && !o->once && o->time != T_NONE &&
	    (c = cell_add(o, 0, (struct str)STR("TIME"))))
		c->col = time_column();
	if (says_summary(o) && (c = cell_add(o, 0, (struct str)STR("STAT"))))
		c->pattern = &summary_pattern;
	for (const struct lay *l = lays; l < lays + LEN(lays); l++)
		if (l->kinds & 1 << o->kind && !!(l->is & LIST) == o->list && !is_needless(o, l) &&
		    (c = cell_add(o, o->ncells, str_z(l->title)))) {
			c->lay = l;
			c->width = l->width;
			c->right = l->is & RIGHT;
		}
	if (o->kind == K_OA || o->kind == K_COUNTERS)
		line_counters(o, r);
}

static bool in_table(const struct out *o, const struct column *c)
{
	return c->when & W_TABLE || (says_summary(o) && is_alone(c, "summary"));
}

/* Which pattern wants the field; npatterns: none does. */
static size_t wanted_by(const struct out *o, const struct field *f)
{
	size_t i = 0;

	while (i < o->npatterns && !field_match(f, o->patterns[i]))
		i++;
	return i;
}

static inline bool cell_precedes(const struct cell *c, size_t order, const struct column *col)
{
	const struct column *own = c->col;

	return c->order < order || (c->order == order && own && own <= col);
}

/* A column of `table` for each (column, instance) that has a value somewhere in the sample; with -f in its
 * order. */
static void table_layout(struct out *o, const struct record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		size_t at = 0, order = wanted_by(o, f);
		struct cell *c;
		bool held = false;

		if (f->empty || str_len(f->inst) > MAX_NAME ||
		    (o->npatterns ? order == o->npatterns : !in_table(o, f->col) || f->v.type == V_NULL))
			continue;
		for (; at < o->ncells; at++) {
			c = cell_at(o, at);
			held = cell_holds(c, f);
			if (held || !cell_precedes(c, order, f->col))
				break;
		}
		if (held)
			continue;
		c = cell_add(o, at, str_z(f->col->member ? f->col->member : f->col->group));
		if (!c)
			return;
		c->col = f->col;
		c->order = (u16)order;
		if (f->col->group)
			cell_set_inst(c, f->inst);
		c->group = str_z(f->inst.p < f->inst.e || f->col->shape == S_MEMBER ? f->col->group : NULL);
		c->right = f->v.type == V_INT;
	}
}

/* A column that was named stands there, though no record has it. */
static void table_complete(struct out *o)
{
	for (size_t i = 0; i < o->npatterns; i++) {
		size_t at = 0;
		struct cell *c;

		while (at < o->ncells && cell_at(o, at)->order < i)
			at++;
		if (at < o->ncells && cell_at(o, at)->order == i)
			continue;
		c = cell_add(o, at, o->patterns[i]);
		if (!c)
			return;
		c->pattern = &o->patterns[i];
		c->order = (u16)i;
		c->want = 1;
	}
}

enum { CELL_BYTES = 64 << 10 }; /* MAX_PIDS_SHOWN pids, a path four times as long when escaped */

static char cell_bytes[CELL_BYTES]; /* the cell in hand */

static void measure(struct out *o, const struct record *r)
{
	for (size_t i = 0; i < o->ncells; i++) {
		struct buf b = BUF(cell_bytes);
		struct cell *c = cell_at(o, i);
		size_t w;
		u16 width = c->width;

		c->width = UINT16_MAX;
		line_cell(&b, o, r, c);
		c->width = width;
		w = text_width((struct str){ b.p, b.p + b.n });
		if (w > c->want)
			c->want = (u16)(w < 4096 ? w : 4096);
	}
}

static void head_title(struct buf *b, const struct cell *c)
{
	if (c->inst_n)
		put_text(b, cell_inst(c));
	else
		put_text(b, c->title);
}

static void head_group(struct buf *b, const struct cell *c)
{
	put_text(b, c->group);
}

enum { LAST_WIDTH = 16 };

/* What the cells asked for, within the line: ENGINES gives way. */
static void settle(struct out *o)
{
	struct cell *engines = NULL;
	size_t others = 0, room;

	for (size_t i = 0; i < o->ncells; i++) {
		struct cell *c = cell_at(o, i);
		const struct lay *lay = c->lay;
		size_t title = c->inst_n ? text_width(cell_inst(c)) : text_width(c->title);

		if (c->width < title)
			c->width = (u16)title;
		if (lay && lay->put == cell_engines) {
			engines = c;
			continue;
		}
		if (c->width < c->want)
			c->width = c->want;
		/* Nothing stands behind the last one, which may be as long as a path. */
		others += (i + 1 == o->ncells && c->width > LAST_WIDTH ? LAST_WIDTH : c->width) + 1u;
	}
	if (!engines)
		return;
	room = o->width > others + engines->width ? o->width - others : engines->width;
	/* What reads 0.0 % now may read 100.0 % later. */
	engines->width = (u16)(engines->want + 6u < room ? engines->want + 6u : room);
}

static void put_row(struct buf *b, struct out *o, const struct record *r, void (*head)(struct buf *, const struct cell *))
{
	size_t from = b->n;
	bool first = true;

	for (size_t i = 0; i < o->ncells; i++) {
		struct buf t = BUF(cell_bytes);
		const struct cell *c = cell_at(o, i);
		size_t w;

		if (o->joined == 2 && is_time(c->col))
			continue; /* once a line */
		if (head)
			head(&t, c);
		else
			line_cell(&t, o, r, c);
		w = text_width((struct str){ t.p, t.p + t.n });
		b->full |= t.full;
		if (!first)
			put_c(b, ' ');
		first = false;
		for (size_t k = w; c->right && !o->one_line && k < c->width; k++)
			put_c(b, ' ');
		put_n(b, t.p, t.n);
		for (size_t k = w; !c->right && !o->one_line && i + 1 < o->ncells && k < c->width; k++)
			put_c(b, ' ');
	}
	while (b->n > from && b->p[b->n - 1] == ' ')
		b->n--;
}

static void put_head(struct out *o, struct buf *b, void (*head)(struct buf *, const struct cell *))
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
	if (o->ncells == 0) {
		o->kind = r->kind;
		line_layout(o, r);
	}
	measure(o, r);
}

static void line_record(struct out *o, struct buf *b, const struct record *r)
{
	if (!o->headed) {
		settle(o);
		if (!o->no_header && !o->one_line)
			put_head(o, b, head_title);
		o->headed = true;
	}
	if (o->one_line && o->joined) {
		put_z(b, " | ");
		o->joined = 2;
	}
	put_row(b, o, r, NULL);
	if (!o->one_line)
		put_c(b, '\n');
	else if (!o->joined)
		o->joined = 1;
}

static bool line_end(struct out *o, struct buf *b)
{
	if (o->one_line && o->joined)
		put_c(b, '\n');
	o->joined = 0;
	return false;
}

FEATURED static void table_measure(struct out *o, const struct record *r)
{
	table_layout(o, r);
	measure(o, r);
}

FEATURED static void table_record(struct out *o, struct buf *b, const struct record *r)
{
	if (!o->headed) {
		bool two_rows = false;

		/* A column that only a later record has was not measured with the earlier ones, whose cell is
		 * "-" there. */
		table_complete(o);
		settle(o);
		for (size_t i = 0; i < o->ncells; i++)
			two_rows |= cell_at(o, i)->group.p < cell_at(o, i)->group.e;
		if (o->ran && !o->no_header)
			put_c(b, '\n');
		if (two_rows && !o->no_header)
			put_head(o, b, head_group);
		if (!o->no_header)
			put_head(o, b, head_title);
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

/* --- perf-csv -------------------------------------------------------------------------------------------------- */

/* What stands in the place of a value: perf's two words. */
static void csv_absent(struct buf *b, const struct record *r)
{
	struct str reason = text_in(r, "reason");

	put_z(b, str_skip_z(&reason, "not counted") ? "<not counted>" : "<not supported>");
}

static u64 number_in(const struct record *r, const char *member)
{
	const struct val *v = record_get(r, NULL, member);

	return v && v->type == V_INT ? v->n : 0;
}

/* Clocks over the time that passed: perf's metric of theirs. */
static void put_metric(struct buf *b, const struct record *r, char sep)
{
	const struct val *value = record_get(r, NULL, "value"), *dt = record_get(r, NULL, "dt");
	u64 us = value && dt && is_clock(r) ? dt->n : 0;

	if (us)
		put_dec(b, value->n / us, 3, 3); /* ns over us: thousandths */
	put_c(b, sep);
	put_z(b, us ? "CPUs utilized" : "");
}

/* The fields of `perf stat -x` 6.1: [time,][where,][CPUs,] value,unit,event[,deviation],runtime,running,metric,
 * metric unit. */
FEATURED static void perfcsv_record(struct out *o, struct buf *b, const struct record *r)
{
	const struct val *time = record_get(r, NULL, "time"), *value = record_get(r, NULL, "value");
	char sep = (char)(o->separator ? o->separator : ',');

	if (time && !o->once) {
		for (u64 s = time->n / 1000000, ten = 100000; ten > s && ten > 1; ten /= 10)
			put_c(b, ' ');
		put_dec(b, time->n * 1000, 9, 9);
		put_c(b, sep);
	}
	if (o->sites) {
		put_text(b, text_in(r, "set"));
		record_site(b, r->e, false);
		put_c(b, sep);
	}
	if (o->summed) {
		put_u64(b, number_in(r, "cpus"));
		put_c(b, sep);
	}
	if (!value)
		csv_absent(b, r);
	else
		cell_value(b, r, (struct ask){ 0 });
	put_c(b, sep);
	cell_unit(b, r, (struct ask){ 0 });
	put_c(b, sep);
	put_text(b, text_in(r, "event"));
	put_c(b, sep);
	if (record_get(r, NULL, "cgroup")) {
		put_text(b, text_in(r, "cgroup"));
		put_c(b, sep);
	}
	if (o->repeats) {
		put_dec(b, number_in(r, "deviation") / 10, 2, 2);
		put_c(b, '%');
		put_c(b, sep);
	}
	put_u64(b, number_in(r, "runtime"));
	put_c(b, sep);
	put_dec(b, record_get(r, NULL, "running") ? number_in(r, "running") / 10 : 10000, 2, 2);
	put_c(b, sep);
	put_metric(b, r, sep);
	put_c(b, '\n');
}

/* --- the table of formats ---------------------------------------------------------------------------------- */

/* What a format is made of. */
enum { MADE_OF_RECORDS, MADE_OF_RAW /* with what only -r has */, MADE_OF_STACKS, MADE_OF_BYTES /* the kernel's */, MADE_OF_NOTHING };

enum {
	F_ONCE = 1,      /* measures the first sample only */
	F_JOINS = 2,     /* -1 */
	F_SPREADS = 4,   /* with -f each field has a column of its own */
	F_REPLACES = 8,  /* -O: a sample takes the place of the file */
	F_TOTALS = 16,   /* shows totals beside rates */
	F_LONE = 32,     /* a write for each record */
	F_WHOLE = 64,    /* a sample is a document of its own, which tells records apart by their labels */
	F_RUN = 128,     /* the end is that of the run, not of a sample */
	F_SENDS = 256,   /* -O udp: */
	F_HEADS = 512,   /* a table: one header in a file, whoever wrote it */
};

static const struct format {
	struct str name;
	union {
		void (*measure)(struct out *o, const struct record *r); /* sees a sample's records before they are written */
		const char *feature; /* MADE_OF_NOTHING: what was left out */
	};
	void (*record)(struct out *o, struct buf *b, const struct record *r);
	bool (*end)(struct out *o, struct buf *b); /* of a sample; true: b is to be written, and there is more */
	u16 is;     /* F_* */
	u16 kinds;  /* W_*: only these records; 0: all */
	u8 made;
} formats[] = {
#define FORMAT(feature, ...) ROW(FORMAT, feature)(feature, __VA_ARGS__)
#define FORMAT1(of, title, measure, ...) { STR(title), { measure }, __VA_ARGS__ }
#if !WHOLE
#define FORMAT0(of, title, ...) { .name = STR(title), .feature = #of, .made = MADE_OF_NOTHING }
#endif
	{ STR("line"), { line_measure }, line_record, line_end, F_ONCE | F_JOINS | F_SPREADS, 0, MADE_OF_RECORDS },
	FORMAT(table, "table", table_measure, table_record, table_end, 0, 0, MADE_OF_RECORDS),
	{ STR("csv"), { NULL }, csv_record, csv_end, F_SPREADS | F_HEADS, 0, MADE_OF_RECORDS },
	{ STR("json"), { NULL }, json_record, json_end, F_JOINS, 0, MADE_OF_RECORDS },
	FORMAT(logfmt, "logfmt", NULL, logfmt_record, NULL, 0, 0, MADE_OF_RECORDS),
	FORMAT(prom, "prom", NULL, prom_record, prom_end, F_REPLACES | F_TOTALS | F_WHOLE, 0, MADE_OF_RECORDS),
	FORMAT(openmetrics, "openmetrics", NULL, prom_record, openmetrics_end, F_REPLACES | F_TOTALS | F_WHOLE, 0, MADE_OF_RECORDS),
	FORMAT(influx, "influx", NULL, influx_record, NULL, F_TOTALS, 0, MADE_OF_RECORDS),
	FORMAT(graphite, "graphite", NULL, graphite_record, NULL, F_TOTALS | F_SENDS, 0, MADE_OF_RECORDS),
	FORMAT(statsd, "statsd", NULL, statsd_record, NULL, F_SENDS, 0, MADE_OF_RECORDS),
	FORMAT(collectd, "collectd", NULL, collectd_record, NULL, F_TOTALS, 0, MADE_OF_RECORDS),
	FORMAT(kmsg, "kmsg", NULL, kmsg_record, kmsg_end, F_LONE, 0, MADE_OF_RECORDS),
	FORMAT(plot, "svg", NULL, svg_record, svg_end, F_REPLACES | F_RUN,
	       W_DEVICE | W_CLIENT | W_CGROUP | W_EVENT | W_SAMPLE | W_OA | W_COUNTER | W_COUNTERS, MADE_OF_RECORDS),
	FORMAT(stat, "perf-csv", NULL, perfcsv_record, NULL, 0, W_EVENT, MADE_OF_RAW),
	FORMAT(sample, "folded", NULL, NULL, NULL, 0, W_SAMPLE, MADE_OF_STACKS),
	FORMAT(sample, "perfdata", NULL, NULL, NULL, 0, W_SAMPLE, MADE_OF_BYTES),
};

static bool is_left_out(const struct format *f)
{
	return !WHOLE && f->made == MADE_OF_NOTHING;
}

const struct format *format_find(struct str name)
{
	for (size_t i = 0; i < LEN(formats); i++)
		if (str_eq(name, formats[i].name) && !is_left_out(&formats[i]))
			return &formats[i];
	return NULL;
}

/* The feature that has a format of that name, where it was left out; or NULL. */
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

/* Those of a kind of records, or with -1 all. */
void format_names(struct buf *b, int kind, size_t indent)
{
	size_t from = b->n;
	bool first = true;

	for (size_t i = 0; i < LEN(formats); i++) {
		if (is_left_out(&formats[i]) || (kind >= 0 && !format_shows(&formats[i], (u8)kind)))
			continue;
		if (!first && indent && b->n - from + indent > 84) {
			put_c(b, '\n');
			from = b->n;
			put_columns(b, from, indent);
			from += indent;
		} else if (!first) {
			put_c(b, ' ');
		}
		first = false;
		put_str(b, formats[i].name);
	}
}

/* Formats of samples that are not made of records. */
bool format_folds(const struct format *f)
{
	return f->made == MADE_OF_STACKS;
}

bool format_is_perfdata(const struct format *f)
{
	return f->made == MADE_OF_BYTES;
}

/* Whether it shows what only -r has. */
bool format_raw(const struct format *f)
{
	return f->made == MADE_OF_RAW;
}

bool format_joins(const struct format *f)
{
	return f->is & F_JOINS;
}

bool format_spreads(const struct format *f)
{
	return f->is & F_SPREADS;
}

bool format_replaces(const struct format *f)
{
	return f->is & F_REPLACES;
}

bool format_measures_totals(const struct format *f)
{
	return f->is & F_TOTALS;
}

bool format_heads_file(const struct format *f)
{
	return f->is & F_HEADS;
}

bool format_is_lone(const struct format *f)
{
	return f->is & F_LONE;
}

bool format_is_whole(const struct format *f)
{
	return f->is & F_WHOLE;
}

/* Whether it is one text of the whole run: out_end is for the end of that. */
bool format_is_of_run(const struct format *f)
{
	return f->is & F_RUN;
}

bool format_sends(const struct format *f)
{
	return f->is & F_SENDS;
}

/* What lines of such records are made of, as patterns; 0: everything. */
size_t out_words(const struct out *o, struct str words[MAX_WORDS])
{
	size_t n = 0;

	if (o->fmt->record != line_record || o->npatterns || !(1u << o->kind & (W_DEVICE | W_CLIENT | W_CGROUP)))
		return 0;
	for (const struct lay *l = lays; l < lays + LEN(lays) && n < MAX_WORDS; l++)
		if (l->kinds & 1 << o->kind && !(l->is & LIST))
			words[n++] = str_z(l->word);
	return n;
}

/* Whether the records of the coming sample are to be shown to out_measure first. */
bool out_measures(const struct out *o)
{
	return o->fmt->measure && !(o->fmt->is & F_ONCE && o->headed);
}

void out_measure(struct out *o, const struct record *r)
{
	o->fmt->measure(o, r);
}

/* Appends one record, and before it whatever the format puts there. */
void out_record(struct out *o, struct buf *b, const struct record *r)
{
	if (r->f)
		o->fmt->record(o, b, r);
	else
		b->full = true; /* there was no memory for its fields */
}

/* Appends what stands behind a sample. True: there is more, once b has been written. */
bool out_end(struct out *o, struct buf *b)
{
	return o->fmt->end && o->fmt->end(o, b);
}

/* -f help: the fields of records of that kind, with unit and meaning. */
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
		put_z(b, c->when & W_LIST ? " (list)\n" : c->when & W_LIVE ? "\n" : kind == K_EVENT ? " (--raw)\n" : " (-r)\n");
	}
}
