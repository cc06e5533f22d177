/* runfile.c - reads a recorded run: a file with the output of -o json or -o csv. It reads one row
 * of CSV or record of JSON at a time, and parses the values of JSON.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sys.h"

enum {
	/* size of the buffer in bytes: twice the longest record that gpustat writes */
	RUN_BYTES = 2 * OUT_BYTES,
	/* bytes of the texts of a record: those that identify its entity are stored twice */
	UNESCAPED_BYTES = 2 * REC_TEXT,
	MAX_REPORTED = 3, /* number of malformed lines that get a message of their own */
};

static struct {
	/* the buffer, which contains a part of the recorded run; see struct runfile */
	char *bytes;
	char *text;
	/* JSON strings after their escapes were decoded, in `text`; valid until the next record */
	struct buf unescaped;
} reader;
static struct {
	struct table bytes, text;
} reader_tables = {
	.bytes = TABLE_ROW(reader.bytes, RUN_BYTES, 256 << 10, "bytes of a record of a file"),
	.text = TABLE_ROW(reader.text, UNESCAPED_BYTES, 1, "bytes of texts of a record"),
};

/* Counts the current row as malformed, and prints a message for each of the first MAX_REPORTED
 * malformed rows. In JSON, the rest of the line is skipped. A row that is read again is counted
 * only once. */
void runfile_bad(struct runfile *f, const char *what)
{
	char text[64];
	struct buf b = BUF_Z(text);

	f->skipping |= f->is_json;
	f->in_array = false;
	if (f->at + f->from < f->bad_at)
		return;
	f->bad_at = f->at + f->from + 1;
	if (++f->bad > MAX_REPORTED || f->silent)
		return;
	put_z(&b, ": line ");
	put_u64(&b, f->line);
	put_z(&b, what);
	say(f->name, buf_z(&b), NULL);
}

/* --- numbers and times ------------------------------------------------------------------------ */

static bool is_digit(const char *p, const char *e)
{
	return p < e && (u8)(*p - '0') < 10;
}

/* Parses a text that is a JSON number and nothing else, and stores it in *v. Digits after the 19th
 * only change the magnitude. Returns false if the text is not a number. */
bool scan_value(struct str s, struct val *v)
{
	const char *p = s.p, *digits;
	bool frac = false, neg = false;
	i64 point = 0, e10 = 0;
	u64 n = 0;

	*v = (struct val){ .type = V_INT };
	if (p == s.e)
		return false;
	v->neg = *p == '-';
	p += v->neg;
	if (!is_digit(p, s.e) || (*p == '0' && is_digit(p + 1, s.e)))
		return false;
	for (; is_digit(p, s.e) || (!frac && p < s.e && *p == '.' && is_digit(p + 1, s.e)); p++) {
		if (*p == '.') {
			frac = true;
		} else if (n < 1000000000000000000) {
			n = 10 * n + (u8)(*p - '0');
			point += frac;
		} else {
			point -= !frac;
		}
	}
	if (p < s.e && (*p | 32) == 'e') {
		p++;
		neg = p < s.e && *p == '-';
		p += neg || (p < s.e && *p == '+');
		for (digits = p; is_digit(p, s.e); p++)
			e10 = e10 < 100000000 ? 10 * e10 + (u8)(*p - '0') : e10;
		if (p == digits)
			return false;
	}
	for (point -= neg ? -e10 : e10; point < 0 && n > 0 && n < UINT64_MAX; point++)
		n = n < UINT64_MAX / 10 ? 10 * n : UINT64_MAX;
	for (; point > 19 && n > 0; point--)
		n /= 10;
	v->n = n;
	v->point = n > 0 && point > 0 ? (u8)point : 0;
	return p == s.e;
}

/* Parses "2025-11-20T04:00:00.123456Z" to microseconds. The days are computed as in put_date()
 * of out.c. */
static bool scan_iso(struct str s, i64 *us)
{
	static const struct { u8 at, n; u16 least, most; } parts[] = {
		{ 0, 4, 1970, 9999 }, { 5, 2, 1, 12 }, { 8, 2, 1, 31 }, { 11, 2, 0, 23 },
		{ 14, 2, 0, 59 }, { 17, 2, 0, 60 },
	};
	u64 v[LEN(parts)], micro, y, era, doy, days;

	if (str_len(s) < 20 || s.p[10] != 'T' || s.e[-1] != 'Z')
		return false;
	for (size_t i = 0; i < LEN(parts); i++) {
		struct str part = { s.p + parts[i].at, s.p + parts[i].at + parts[i].n };

		if (scan_u64(part, &v[i]) != part.e || v[i] < parts[i].least ||
		    v[i] > parts[i].most)
			return false;
	}
	if (scan_dec((struct str){ s.p + 17, s.e - 1 }, 6, &micro) != s.e - 1)
		return false;
	y = v[0] - (v[1] <= 2);
	era = y / 400;
	doy = (153 * (v[1] > 2 ? v[1] - 3 : v[1] + 9) + 2) / 5 + v[2] - 1;
	days = era * 146097 + y % 400 * 365 + y % 400 / 4 - y % 400 / 100 + doy - 719468;
	*us = (i64)(days * 86400000000 + v[3] * 3600000000 + v[4] * 60000000 + micro);
	return true;
}

/* Parses a time: seconds, or a date in ISO 8601. Returns microseconds; -1 if the text is
 * neither. */
i64 time_parse(struct str s)
{
	i64 us;
	u64 n;

	if (scan_iso(s, &us))
		return us;
	return scan_dec(s, 6, &n) == s.e && s.p < s.e && n < INT64_MAX ? (i64)n : -1;
}

/* --- a small strict parser of the JSON that gpustat writes ------------------------------------ */

/* Returns the column of the schema with this group and member; an empty text stands for a column
 * without a group or without a member. Returns NULL if there is none. kinds: W_* bits of the kinds
 * of records that can have the column; 0: any. */
const struct column *column_find(struct str group, struct str member, u16 kinds)
{
	static size_t last;

	for (size_t i = 0; i < ncolumns; i++) {
		size_t at = (last + i) % ncolumns;
		const struct column *c = &columns[at];

		if ((!kinds || c->when & kinds) && str_eq(str_z(c->group), group) &&
		    str_eq(str_z(c->member), member)) {
			last = at;
			return c;
		}
	}
	return NULL;
}

static void blanks_skip(struct str *s)
{
	while (s->p < s->e && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
}

/* Parses a JSON string. *s begins after the opening quote and is moved behind the closing one.
 * *text becomes the text between the quotes, with its escapes. Returns false if it is malformed. */
static bool json_string(struct str *s, struct str *text)
{
	text->p = s->p;
	for (; s->p < s->e && *s->p != '"'; s->p++) {
		if ((u8)*s->p < ' ' || (*s->p == '\\' && ++s->p == s->e))
			return false;
	}
	text->e = s->p;
	return s->p++ < s->e;
}

static u32 hex4(const char *p)
{
	u64 v;
	char b[6] = { '0', 'x', p[0], p[1], p[2], p[3] };

	return scan_num((struct str){ b, b + 6 }, &v) == b + 6 ? (u32)v : 0xfffd;
}

/* Returns a text of JSON, which json_string() has checked, with its escapes replaced. A backslash
 * is never its last byte. */
static struct str unescape(struct str s)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	size_t start = reader.unescaped.n;

	if (!memchr(s.p, '\\', str_len(s)))
		return s;
	while (s.p < s.e) {
		const char *c;
		u32 u;

		if (*s.p != '\\') {
			put_c(&reader.unescaped, *s.p++);
			continue;
		}
		s.p += 2;
		if (s.p[-1] == 'u' && s.e - s.p >= 4) {
			u = hex4(s.p);
			/* surrogates become U+FFFD: gpustat does not write surrogate pairs */
			put_utf8(&reader.unescaped, u >= 0xd800 && u < 0xe000 ? 0xfffd : u);
			s.p += 4;
			continue;
		}
		c = memchr(from, s.p[-1], sizeof(from) - 1);
		put_c(&reader.unescaped, (char)(c ? to[c - from] : s.p[-1]));
	}
	return (struct str){ reader.text + start, reader.text + reader.unescaped.n };
}

/* Skips a JSON object or array whose values are not used, up to its closing bracket. */
static bool json_skip(struct str *s)
{
	u64 kinds = 0; /* one bit for each open bracket: 1 for '{', 0 for '[' */
	struct str text;

	for (unsigned depth = 0; s->p < s->e;) {
		char c = *s->p++;

		if (c == '"' && !json_string(s, &text))
			return false;
		if (c == '{' || c == '[') {
			if (++depth > 63)
				return false;
			kinds = kinds << 1 | (c == '{');
		} else if (c == '}' || c == ']') {
			if ((kinds & 1) != (c == '}'))
				return false;
			kinds >>= 1;
			if (--depth == 0)
				return true;
		}
	}
	return false;
}

static const struct column *json_column(const struct runrec *j, const struct str *keys,
					size_t depth, struct str *inst)
{
	static const struct str none;
	u16 kinds = plot_kind(&j->id);
	const struct column *c;

	if (depth == 1)
		return column_find(none, keys[0], kinds);
	*inst = keys[1];
	if (depth == 3)
		return column_find(keys[0], keys[2], kinds);
	if ((c = column_find(keys[0], none, kinds)))
		return c;
	*inst = none;
	c = column_find(keys[0], keys[1], kinds);
	return c && c->shape == S_MEMBER ? c : NULL;
}

/* Stores a member of a JSON record in *j, if the member identifies the record's entity or is its
 * time, dt or summary. */
static void json_member(struct runrec *j, struct str key, struct str v)
{
	size_t id = plot_id(key);

	if (id < ID_COUNT)
		j->id.text[id] = unescape(v);
	if (str_is(key, "time"))
		j->time = time_parse(v);
	else if (str_is(key, "dt"))
		j->dt = time_parse(v);
	else if (str_is(key, "summary"))
		j->summary = v;
}

static void json_put(struct runrec *j, const struct str *keys, size_t depth, const struct val *v)
{
	struct str inst = { 0 };
	const struct column *c = json_column(j, keys, depth, &inst);

	j->put(j, c, inst, v);
}

/* Parses a JSON string, number, null, true or false. It is a member of the record (depth 1), or of
 * a group in the record. true and false are treated as null. */
static bool json_scalar(struct runrec *j, struct str *s, const struct str *keys, size_t depth)
{
	bool is_text = *s->p == '"';
	struct str v = *s;
	struct val x = { 0 };

	if (is_text) {
		s->p++;
		if (!json_string(s, &v))
			return false;
	} else {
		while (s->p < s->e && *s->p != ',' && *s->p != '}' && *s->p != ' ')
			s->p++;
		v.e = s->p;
	}
	if (!is_text && !scan_value(v, &x)) {
		if (str_among(v, "null true false") == 3)
			return false;
		x = (struct val){ .type = V_NULL };
	}
	if (!j->put && depth == 1 && (is_text || x.type != V_NULL))
		json_member(j, keys[0], v);
	if (is_text && j->put && j->all)
		x = (struct val){ .type = V_TEXT, .s = unescape(v) };
	if (j->put && (j->all || x.type == V_INT))
		json_put(j, keys, depth, &x);
	return true;
}

/* Parses a JSON array. Only strings in the array become values. */
static bool json_list(struct runrec *j, struct str *s, const struct str *keys)
{
	static const struct str none;
	struct str list = { s->p + 1, s->p + 1 }, v;

	if (!json_skip(s))
		return false;
	for (list.e = s->p; j->put && j->all && list.p < list.e && *list.p == '"'; list.p++) {
		list.p++;
		if (!json_string(&list, &v))
			break;
		j->put(j, column_find(keys[0], none, plot_kind(&j->id)), none,
		       &(struct val){ .type = V_TEXT, .s = unescape(v) });
		blanks_skip(&list);
		if (list.p == list.e || *list.p != ',')
			break;
		while (list.p + 1 < list.e && list.p[1] == ' ')
			list.p++;
	}
	return true;
}

/* Parses a JSON object. *s begins after the opening brace. A record has objects in objects, with at
 * most three levels. */
static bool json_object(struct runrec *j, struct str *s, struct str *keys, size_t depth)
{
	for (bool first = true;; first = false) {
		blanks_skip(s);
		if (first && s->p < s->e && *s->p == '}')
			break;
		if (s->p == s->e || *s->p++ != '"' || !json_string(s, &keys[depth]))
			return false;
		if (j->put)
			keys[depth] = unescape(keys[depth]);
		blanks_skip(s);
		if (s->p == s->e || *s->p++ != ':')
			return false;
		blanks_skip(s);
		if (s->p == s->e)
			return false;
		if (*s->p == '{' && depth < 2) {
			s->p++;
			if (!json_object(j, s, keys, depth + 1))
				return false;
		} else if (*s->p == '{' || *s->p == '[') {
			if (!(*s->p == '[' && depth == 0 ? json_list(j, s, keys) : json_skip(s)))
				return false;
		} else if (!json_scalar(j, s, keys, depth + 1)) {
			return false;
		}
		blanks_skip(s);
		if (s->p == s->e || (*s->p != ',' && *s->p != '}'))
			return false;
		if (*s->p == '}')
			break;
		s->p++;
	}
	s->p++;
	return true;
}

/* Checks a whole record of JSON, and stores in *j the texts that identify its entity, and its
 * times. Returns false if the record is malformed. */
bool runrec_read(struct runrec *j, struct str s)
{
	struct str keys[3], at = { s.p + 1, s.e };

	*j = (struct runrec){ .time = -1, .dt = -1 };
	reader.unescaped = table_buf(&reader_tables.text);
	return s.p < s.e && json_object(j, &at, keys, 0) && at.p == s.e && !reader.unescaped.full;
}

/* Calls to() for each value of a record that runrec_read() has checked: only for numbers, or if
 * `all` is set also for texts and unknown values. to() gets NULL for a column that is not in the
 * schema. */
void runrec_values(struct runrec *j, struct str s, bool all, run_value *to)
{
	struct str keys[3], at = { s.p + 1, s.e };

	j->put = to;
	j->all = all;
	json_object(j, &at, keys, 0);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* csv_end() and json_end() return the end of the row at p; NULL if the buffer contains only a part
 * of the row. A row of CSV ends at a line break outside of quotes. A record of JSON ends after its
 * closing brace (option -1 writes many records on a line), or at the end of the line. */
static char *csv_end(char *p, const char *e)
{
	for (bool quoted = false; p < e; p++) {
		quoted ^= *p == '"';
		if (*p == '\n' && !quoted)
			return p;
	}
	return NULL;
}

static char *json_end(char *p, const char *e)
{
	bool quoted = false;
	size_t depth = 0;

	for (; p < e && *p != '\n'; p++) {
		if (quoted && *p == '\\' && p + 1 < e && p[1] != '\n')
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted && *p == '{')
			depth++;
		else if (!quoted && *p == '}' && --depth == 0)
			return p + 1;
	}
	return p < e ? p : NULL;
}

/* Skips the characters between two records of JSON: blanks, line breaks, commas, and the brackets
 * of an array of records. */
static char *json_begin(struct runfile *f, char *p, const char *e)
{
	for (; p < e; p++) {
		if (*p == '\n')
			f->line++;
		else if (*p == (f->in_array ? ']' : '['))
			f->in_array = !f->in_array;
		else if (*p != ' ' && *p != '\t' && *p != '\r' &&
			 !(*p == ',' && (f->in_array || f->loose)))
			break;
	}
	return p;
}

/* Skips the rest of a row or record that is too long or malformed, up to the end of its line. */
static void line_skip(struct runfile *f)
{
	char *p = reader.bytes + f->from, *end = memchr(p, '\n', f->n - f->from);

	f->skipping = !end;
	f->from = end ? (size_t)(end - reader.bytes) + !f->is_json : f->n;
}

/* Finds out whether the file is CSV or JSON. */
static void format_detect(struct runfile *f)
{
	struct str text = { reader.bytes, reader.bytes + f->n };

	f->begun = true;
	if (str_skip_z(&text, "\xef\xbb\xbf"))
		f->from = 3;
	f->is_json = text.p < text.e && (*text.p == '{' || *text.p == '[');
	f->line = f->is_json;
}

/* Reads more of the file into the buffer. Returns 0 if bytes were read or the file has ended; 1 if
 * the buffer is full, which means that a record is too long; or -errno. */
static long more_read(struct runfile *f)
{
	long r;

	if (!reader.bytes && !table_has(&reader_tables.bytes, 0))
		return -ENOMEM;
	memmove(reader.bytes, reader.bytes + f->from, f->n - f->from);
	f->at += f->from;
	f->n -= f->from;
	f->from = 0;
	if (f->n == reader_tables.bytes.ready &&
	    (f->n == RUN_BYTES || !table_has(&reader_tables.bytes, f->n)))
		return 1;
	while ((r = sys_read(f->fd, reader.bytes + f->n, reader_tables.bytes.ready - f->n)) ==
		       -EINTR && !stopped)
		;
	f->n += r > 0 ? (size_t)r : 0;
	f->ended = r == 0;
	if (!f->begun && (f->n > 3 || (f->n > 0 && f->ended)))
		format_detect(f);
	return r == -EINTR ? 0 : r < 0 ? r : 0;
}

/* Finds the next row of CSV or record of JSON in the buffer, and stores its start in *p and its end
 * in *e. Returns false if the buffer does not contain all of it. */
static bool row_find(struct runfile *f, char **p, char **e)
{
	char *end, *all = reader.bytes + f->n;

	*p = reader.bytes + f->from;
	if (f->is_json)
		f->from = (size_t)((*p = json_begin(f, *p, all)) - reader.bytes);
	if (*p == all)
		return false;
	f->row_at = f->at + (u64)(*p - reader.bytes);
	end = f->is_json ? json_end(*p, all) : csv_end(*p, all);
	if (!end && !f->ended)
		return false;
	end = end ? end : all;
	f->from = (size_t)(end - reader.bytes) + (!f->is_json && end < all);
	*e = !f->is_json && end > *p && end[-1] == '\r' ? end - 1 : end;
	f->line += !f->is_json;
	return true;
}

/* Reads the next row of CSV or record of JSON, without its line break: from *p to *e, in a buffer
 * that the caller may change. Returns 1 if there is one; 0 at the end of the file or after a signal
 * that stops the run; or -errno. */
long runfile_next(struct runfile *f, char **p, char **e)
{
	for (;;) {
		long r;

		if (f->skipping)
			line_skip(f);
		if (f->begun && !f->skipping && row_find(f, p, e)) {
			if (!f->is_json || **p == '{')
				return 1;
			runfile_bad(f, ": not a record");
			continue;
		}
		if (f->ended || stopped)
			return 0;
		r = more_read(f);
		if (r < 0)
			return r;
		if (r > 0) {
			f->line += !f->is_json;
			runfile_bad(f, ": the record is too long");
			f->skipping = true;
		}
	}
}

/* Continues to read with the first line of JSON that begins at or after the offset `at` of the
 * file. Returns 0 or -errno. */
long runfile_seek(struct runfile *f, u64 at)
{
	i64 r = sys_lseek(f->fd, (i64)(at - (at > 0)), SEEK_SET);

	f->at = at - (at > 0);
	f->from = f->n = 0;
	f->ended = f->in_array = false;
	f->skipping = at > 0;
	return r < 0 ? (long)r : 0;
}

/* Prints how many rows of the file were malformed, unless each of them had a message of its own. */
void runfile_end(const struct runfile *f)
{
	if (f->bad > (f->silent ? 0 : MAX_REPORTED))
		say_number(f->bad, " malformed lines of the input file were left out");
}
