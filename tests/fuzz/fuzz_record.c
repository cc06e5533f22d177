/* fuzz_record.c - any fields in a record, with names that processes, users and kernels may choose,
 * in every format: clean text, complete lines, the complete schema. Independent readers in this
 * file read JSON and CSV back and compare them with the record. SPDX-License-Identifier: MIT */
#include "fuzz.h"

enum { CAP = EDGE_BYTES / 2, MAX_NAMES = 24 };

static struct field fields[2][MAX_FIELDS];
static char rec_text[2][REC_TEXT];
static struct record recs[2] = { { .f = fields[0], .text = rec_text[0] }, { .f = fields[1], .text = rec_text[1] } };
static struct out o;
static struct str patterns[4];

/* --- a record from the input ------------------------------------------------------------------ */

static struct str take_text(struct str *in)
{
	struct str s = { in->p, in->p };
	size_t n = take_u8(in);

	n = n < 240 ? n % 24 : n; /* long texts are rare */
	s.p = in->p;
	in->p += n < str_len(*in) ? n : str_len(*in);
	s.e = in->p;
	return s;
}

static u64 take_number(struct str *in)
{
	u8 how = take_u8(in);

	return how < 128 ? how : how < 192 ? (u64)how * how * how * 1000 : how < 200 ? UINT64_MAX - how : take_u64(in) >> how % 64;
}

static struct val take_value(struct str *in, const struct column *c)
{
	static const struct str digits = STR("123456789012345678901.5"), uncounted = STR("not counted: no"), ns = STR("ns"),
				clock = STR("cpu-clock");
	struct val v = { .unit = c->unit };
	u8 how = take_u8(in);

	if (c->unit == U_SECONDS && !c->group) {
		v.type = how % 4 ? V_TIME : V_NULL;
		v.n = take_number(in);
	} else if (how % 8 < 4) {
		v.type = V_INT;
		v.neg = how & 64;
		v.point = how % 8 == 3 ? how / 8 % 20 : 0;
		if (how % 8 == 2)
			v.unit = how / 8 % UNITS;
		v.n = take_number(in);
	} else if (how % 8 < 6) {
		v.type = V_TEXT;
		v.s = how & 128 ? uncounted : how & 64 ? ns : how & 32 ? clock : take_text(in);
	} else if (how % 8 == 6) {
		v.type = V_DIGITS;
		v.s = digits;
	}
	return v;
}

static void add(struct record *r, const struct column *c, struct str inst, struct val v)
{
	if (r->n < MAX_FIELDS)
		r->f[r->n++] = (struct field){ .col = c, .inst = inst, .v = v };
}

static void take_group(struct str *in, struct record *r, const struct column *c, const struct column *end, u32 when)
{
	/* only gpustat chooses the names of missing data */
	static const struct str own[] = { STR("temp"), STR("fan"), STR("memory") };
	struct str names[MAX_NAMES] = { { 0 } };
	u8 many = take_u8(in);
	size_t n = many < 240 ? many % 5 : MAX_NAMES;
	bool list = c->shape == S_LIST, any = false;

	for (size_t i = 0; i < n; i++) {
		names[i] = strcmp(c->group, "missing") == 0 ? own[i % LEN(own)] : take_text(in);
		for (size_t k = 0; k < i; k++)
			if (str_eq(names[i], names[k]))
				n = i; /* names in the list are unique */
	}
	if (c->shape == S_MEMBER)
		n = 1;
	for (size_t i = 0; i < n; i++)
		for (const struct column *m = c; m < end; m++)
			if (m->when & when && m->when & 1u << r->kind && (c->shape != S_BOTH || take_u8(in) % 4)) {
				struct val v = take_value(in, m);

				if (list && v.type == V_NULL)
					continue; /* a list of unknown value has no other element */
				add(r, m, c->shape == S_MEMBER || list ? (struct str){ 0 } : names[i], v);
				any = true;
			}
	if (!any && c->shape != S_MEMBER) {
		add(r, c, (struct str){ 0 }, (struct val){ 0 });
		r->f[r->n - 1].empty = !list || n > 0 || take_u8(in) % 2;
	}
}

static void take_record(struct str *in, struct record *r, u8 kind)
{
	u8 flags = take_u8(in);
	u32 when = (flags & 1 ? W_RAW : W_LIVE) | (flags & 2 ? W_LIST : 0);
	const struct column *c = columns, *end;

	r->kind = kind;
	r->n = 0;
	r->steady = flags & 4;
	table_all(&evrows_table);
	table_all(&sites_table);
	evrows[1] = (struct evrow){ .e = { .used = true, .kind = K_EVENT }, .site = 1 };
	sites[1] = (struct site){ .cpu = (i32)(flags >> 4) - 1, .core = -1, .die = -1, .socket = flags & 8 ? 3 : -1 };
	r->e = &evrows[1].e;
	for (; c < columns + ncolumns; c = end) {
		u8 skip;

		for (end = c + 1; c->group && end < columns + ncolumns && end->group && strcmp(c->group, end->group) == 0; end++)
			;
		skip = flags & 128 ? take_u8(in) : 1;
		while (c < end && !(c->when & when && c->when & 1u << kind))
			c++;
		if (c == end || skip % 3 == 0)
			continue;
		if (c->group)
			take_group(in, r, c, end, when);
		else
			add(r, c, (struct str){ 0 }, strcmp(c->member, "summary") == 0 ? (struct val){ .type = V_TEXT, .s = STR("avg") } :
								     take_value(in, c));
	}
}

/* --- numbers and texts, read back ------------------------------------------------------------- */

/* Returns whether a number, in its shortest or any other form, equals n * 10^-point; compared
 * digit by digit. */
static bool is_number(struct str s, bool neg, u64 n, unsigned point)
{
	char want[64], got[128];
	size_t k = 0, frac = 0;
	bool dot = false;

	if (str_skip(&s, S("-")) != neg || s.p == s.e || str_len(s) > 64)
		return false;
	for (; s.p < s.e; s.p++) {
		if (*s.p == '.' && !dot)
			dot = true;
		else if ((u8)(*s.p - '0') < 10) {
			got[k++] = *s.p;
			frac += dot;
		} else
			return false;
	}
	for (; frac < point && k < sizeof(got); frac++)
		got[k++] = '0';
	for (; frac > point && k > 0 && got[k - 1] == '0'; frac--)
		k--;
	if (frac != point)
		return false;
	for (dot = false; k > 1 && got[0] == '0'; k--)
		memmove(got, got + 1, k - 1);
	return (size_t)snprintf(want, sizeof(want), "%" PRIu64, n) == k && memcmp(want, got, k) == 0;
}

/* Compares a JSON string with the bytes of the text: each byte that is not UTF-8 became U+FFFD. */
static bool is_jsonstr(struct str j, struct str s)
{
	if (!str_skip(&j, S("\"")) || j.p == j.e || *--j.e != '"')
		return false;
	while (j.p < j.e) {
		size_t n = s.p < s.e ? utf8_plain(s.p, s.e) : 0, used = 1;
		char c[8];

		if (s.p == s.e)
			return false;
		if (*j.p != '\\') {
			used = utf8_plain(j.p, j.e);
			if (used == 0 || used != n || memcmp(j.p, s.p, n) != 0)
				return false;
		} else if (j.e - j.p >= 6 && j.p[1] == 'u') {
			memcpy(c, j.p + 2, 4);
			c[4] = '\0';
			u32 u = (u32)strtoul(c, NULL, 16);
			used = 6;
			if (u == 0xfffd && n == 0)
				n = 1;
			else if (n == 1 ? u != (u8)*s.p : n != 2 || u != (((u8)s.p[0] & 0x1fu) << 6 | ((u8)s.p[1] & 0x3fu)))
				return false;
		} else {
			const char *e = memchr("\"\"\\\\//b\bf\fn\nr\rt\t", j.p[1], 16);

			used = 2;
			if (!e || n != 1 || e[1] != *s.p)
				return false;
		}
		j.p += used;
		s.p += n;
	}
	return s.p == s.e;
}

/* --- JSON ------------------------------------------------------------------------------------- */

/* Returns the value of a key in an object, and how often the key occurs. */
static int json_get(struct str object, struct str key, struct str *value)
{
	const char *p = object.p + 1;
	int n = 0;

	while (p < object.e && *p == '"') {
		struct str k = { p, json_string_end(p, object.e) };
		const char *from = k.e + 1, *to = json_value_end(from, object.e, 1, NULL);

		if (is_jsonstr(k, key)) {
			*value = (struct str){ from, to };
			n++;
		}
		p = to + (*to == ',');
	}
	return n;
}

static bool is_value(struct str j, const struct field *f)
{
	if (f->v.type == V_NULL)
		return str_is(j, "null");
	if (f->v.type == V_TEXT)
		return is_jsonstr(j, f->v.s);
	if (f->v.type == V_DIGITS)
		return str_eq(j, f->v.s);
	if (*j.p == '"') /* a date: only the time is one */
		return o.time == T_ISO && str_len(j) == 29;
	return is_number(j, f->v.neg, f->v.n, f->v.type == V_TIME ? 6u : units[f->v.unit].point + f->v.point);
}

static void json_back(struct str j, const struct record *r)
{
	size_t item = 0;

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		struct str v = j;

		item = i && f->col->shape == S_LIST && r->f[i - 1].col == f->col ? item + 1 : 0;
		if (f->empty)
			continue;
		must(json_get(v, str_z(f->col->group ? f->col->group : f->col->member), &v) == 1, "JSON has each field once");
		if (f->col->shape == S_INST || f->col->shape == S_BOTH) {
			struct str w = v;
			int n = json_get(v, f->inst, &w);

			must(n >= 1, "JSON has each instance");
			if (n > 1)
				continue; /* names that differ only in bytes that are not UTF-8 */
			v = w;
		}
		if (f->col->shape == S_MEMBER || f->col->shape == S_BOTH)
			must(json_get(v, str_z(f->col->member), &v) == 1, "JSON has each member once");
		if (f->col->shape == S_LIST && f->v.type != V_NULL) {
			const char *p = v.p + 1;

			for (size_t k = 0; k < item; k++)
				p = json_value_end(p, v.e, 1, NULL) + 1;
			v = (struct str){ p, json_value_end(p, v.e, 1, NULL) };
		}
		must(is_value(v, f), "JSON has the value of the record");
	}
}

/* --- CSV, RFC 4180 ---------------------------------------------------------------------------- */

/* Reads the next cell without its quotes; *end: the last of the row. False: malformed. */
static bool csv_cell(struct str *s, char *b, struct str *cell, bool *end)
{
	bool quoted = s->p < s->e && *s->p == '"';
	char *to = b;

	s->p += quoted;
	for (;; s->p++) {
		if (s->p == s->e || (!quoted && *s->p == '"'))
			return false;
		if (!quoted && (*s->p == ',' || *s->p == '\n'))
			break;
		if (quoted && *s->p == '"') {
			if (++s->p == s->e)
				return false;
			if (*s->p != '"')
				break;
		}
		*to++ = *s->p;
	}
	if (*s->p != ',' && *s->p != '\n')
		return false;
	*end = *s->p++ == '\n';
	*cell = (struct str){ b, to };
	return true;
}

/* Returns whether the format leaves the text unchanged. */
static bool is_plain(struct str s)
{
	for (; s.p < s.e; s.p++)
		if (*s.p < ' ' || *s.p > '~' || *s.p == '\\')
			return false;
	return true;
}

/* Returns whether a cell has a text, which has a ' in front of it if it could be a formula. */
static bool cell_is(struct str cell, struct str want)
{
	if (str_eq(cell, want))
		return true;
	return want.p < want.e && strchr("=+-@", *want.p) && str_skip_z(&cell, "'") && str_eq(cell, want);
}

static void csv_back(struct str s, const struct record *r, bool head)
{
	static char bytes[16][CAP / 8];
	struct str cells[16];
	size_t i = 0;
	bool end = false;

	for (; s.p < s.e; head = false) {
		size_t n = 0;

		for (end = false; !end; n++)
			must(n < LEN(cells) && csv_cell(&s, bytes[n], &cells[n], &end), "CSV conforms to RFC 4180");
		must(n == 13, "long CSV has 13 columns");
		if (head) {
			must(str_is(cells[10], "field") && str_is(cells[12], "value"), "CSV has a header");
			continue;
		}
		while (i < r->n && (r->f[i].col->when & (W_ID | W_META) || (r->f[i].empty && r->f[i].col->shape != S_LIST) ||
				    (i && r->f[i].col->shape == S_LIST && r->f[i - 1].col == r->f[i].col)))
			i++;
		must(i < r->n, "CSV has no row that is not in the record");
		if (is_plain(r->f[i].inst))
			must(cell_is(cells[11], r->f[i].inst), "CSV has the name of the instance");
		if (r->f[i].v.type == V_INT && r->f[i].col->shape != S_LIST)
			must(is_number(cells[12], r->f[i].v.neg, r->f[i].v.n, units[r->f[i].v.unit].point + r->f[i].v.point), "CSV has the number");
		if (r->f[i].v.type == V_TEXT && r->f[i].col->shape != S_LIST && is_plain(r->f[i].v.s))
			must(cell_is(cells[12], r->f[i].v.s), "CSV has the text");
		if (r->f[i].v.type == V_NULL && r->f[i].col->shape != S_LIST)
			must(cells[12].p == cells[12].e, "an unknown value is an empty cell");
		i++;
	}
	for (; i < r->n; i++)
		must(r->f[i].col->when & (W_ID | W_META) || (r->f[i].empty && r->f[i].col->shape != S_LIST) ||
		     (i && r->f[i].col->shape == S_LIST && r->f[i - 1].col == r->f[i].col), "CSV omits no field");
}

/* --- formats ---------------------------------------------------------------------------------- */

/* Append new formats: other functions use the numbers of the formats, and take_format() keeps the
 * bytes that select the older ones. */
static const char *const names[] = { "line", "table", "csv", "json", "logfmt", "perf-csv", "prom", "openmetrics", "influx", "graphite",
				     "statsd", "collectd", "kmsg", "block", "plain", "chrome", "perfetto", "perf-json" };
enum { PERF_JSON = 17 };

/* Returns the format that the first byte of an input selects: 255 selects perf-json, 253, 252 ... 247
 * the formats after it in names[], and other bytes the formats before it, modulo their number. No
 * input of the corpus begins with 247 to 253, so that a new format changes the format of none. */
static u8 take_format(struct str *in)
{
	u8 byte = take_u8(in);
	size_t later = byte == 255 ? 0 : byte < 254 ? 254u - byte : LEN(names);

	_Static_assert(LEN(names) - PERF_JSON <= 8, "bytes for the formats from perf-json on: 255, and 253 to 247");
	return (u8)(PERF_JSON + later < LEN(names) ? PERF_JSON + later : byte % PERF_JSON);
}

static void take_options(struct str *in, u8 which, u8 kind)
{
	u8 a = take_u8(in), b = take_u8(in), c = take_u8(in);

	o = (struct out){ .fmt = format_find(str_z(names[which])), .patterns = patterns, .kind = kind, .no_header = a & 1,
			  .one_line = (a & 2) && which != 1 && which != 2, .colour = a & 4, .list = a & 8, .summary = a & 16, .once = a & 32, .inner = a & 64,
			  .sites = a & 128, .summed = b & 1, .repeats = b & 2, .sets = b & 4, .reports = b & 8, .contexts = b & 16,
			  .separator = b & 32 ? ";" : NULL, .width = c % 2 ? c : 80, .time = (u8)(c / 2 % 5), .offset = (c - 128) * 600,
			  .host = b & 64 ? "host.example" : NULL, .now = 1700000000000000000, .interval = b & 128 ? 1000000000 : 0 };
	if (!format_has_one_line(o.fmt))
		o.one_line = false;
	o.npatterns = take_u8(in) % 12;
	if (o.npatterns > LEN(patterns))
		o.npatterns = 0;
	for (size_t i = 0; i < o.npatterns; i++) {
		u8 which_column = take_u8(in);
		const struct column *col = &columns[which_column % ncolumns];

		patterns[i] = which_column % 4 == 0 ? take_text(in) : str_z(col->group ? col->group : col->member);
		while (patterns[i].p == patterns[i].e)
			patterns[i] = S("dev");
	}
}

static void show_records(u8 which, size_t cap)
{
	struct buf b = { .p = edge_page(cap), .cap = cap };
	size_t from = 0;

	for (size_t i = 0; i < LEN(recs) && out_measures(&o); i++)
		out_measure(&o, &recs[i]);
	for (size_t i = 0; i < LEN(recs); i++) {
		bool head = !o.headed && !o.no_header;

		from = b.n;
		out_record(&o, &b, &recs[i]);
		must(b.n <= b.cap, "output stays within the buffer");
		if (!b.full && which == 3 && o.npatterns == 0) {
			struct str j = { b.p + from + o.one_line, b.p + b.n - !o.one_line };

			must(json_ok((struct str){ j.p, j.p + str_len(j) + !o.one_line }, NULL) || o.one_line, "well-formed JSON");
			json_back(j, &recs[i]);
		}
		if (!b.full && which == 2 && o.npatterns == 0)
			csv_back((struct str){ b.p + from, b.p + b.n }, &recs[i], head);
	}
	while (out_end(&o, &b) && !b.full)
		b.n = 0;
	must(b.n <= b.cap, "output stays within the buffer");
	if (b.full) {
		must(cap != CAP, "half a MiB holds any sample");
		return;
	}
	for (size_t i = 0; i + 4 < b.n && o.colour; i++) /* escape sequences are gpustat's own */
		if (memcmp(b.p + i, "\033[1m", 4) == 0 || memcmp(b.p + i, "\033[0m", 4) == 0)
			b.p[i] = ' ';
	if (which == 16) /* perfetto: binary */
		return;
	must(is_clean((struct str){ b.p, b.p + b.n }, true), "no control bytes, only valid UTF-8");
	must(b.n == 0 || b.p[b.n - 1] == '\n', "records are complete lines");
	must(which != 3 || json_ok((struct str){ b.p, b.p + b.n }, NULL), "well-formed JSON");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str in = { (const char *)data, (const char *)data + n }, words[MAX_WORDS], options;
	u32 when;
	u8 which = take_format(&in), number = take_u8(&in);
	/* the last kinds have bytes of their own: a part of the corpus was made before them */
	u8 kind = number >= 254 ? K_LATENCY + (number - 254) : number % K_LATENCY;
	size_t small = 4 * (size_t)take_u8(&in);
	struct buf b = { .p = edge_page(CAP), .cap = CAP };

	if (n > 1 << 14)
		return 0;
	if (which == 5 || which == PERF_JSON) /* of perf */
		kind = K_EVENT;
	if (which == 13) /* block */
		kind = K_DEVICE;
	options = in;
	take_options(&in, which, kind);
	for (size_t i = 0; i < LEN(recs); i++)
		take_record(&in, &recs[i], kind);
	must(out_default_fields(&o, words, &when) <= MAX_WORDS, "the list of words fits");
	show_records(which, CAP);
	in = options;
	take_options(&in, which, kind);
	show_records(which, small);
	out_fields(&b, kind);
	for (const struct format *f = NULL; (f = format_next(f));)
		put_str(&b, format_name(f));
	must(!b.full, "the help text fits");
	format_raw(o.fmt);
	must(format_shows(o.fmt, kind) || which == 5 || which > 14, "each of these formats can show any record");
	must(!format_is_folded(o.fmt) && !format_is_perfdata(o.fmt) && !format_covers_run(o.fmt), "none of these formats is of another kind");
	must(format_has_one_line(o.fmt) == (which == 0 || which == 3) && format_has_file_header(o.fmt) == (which == 2 || which == 15), "the properties of the table format are correct");
	must(format_replaces_file(o.fmt) == format_is_document(o.fmt), "a format replaces its file if it is a document");
	must(!format_has_udp(o.fmt) || !format_writes_lines(o.fmt), "a format for UDP does not append lines");
	must(format_has_field_columns(o.fmt) == (which == 0 || which == 2 || which == 14) && (format_has_totals(o.fmt) || which < 6 || which > 9), "totals");
	return 0;
}
