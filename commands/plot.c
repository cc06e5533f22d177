/* plot.c - a recorded run as a picture: reads what -o csv and -o json wrote, a row or a record at a time.
 * SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

enum {
	PLOT_BYTES = 2 * OUT_BYTES, /* twice the longest record that is ever written */
	HEAD_BYTES = 64 << 10, MAX_COLUMNS = 1024,
	MAX_SAID = 3, /* malformed lines that are named */
};

static char *bytes;
static TABLE(bytes, PLOT_BYTES, 256 << 10, "bytes of a record to draw");

static struct {
	const char *name;
	u64 line, bad;
	bool in_array;
	bool plain; /* there was a record that sums up nothing */
	bool passing; /* within a piece that was too long */
} in;

static void malformed(const char *what)
{
	char text[64];
	struct buf b = BUF_Z(text);

	if (++in.bad > MAX_SAID)
		return;
	put_z(&b, ": line ");
	put_u64(&b, in.line);
	put_z(&b, what);
	say(in.name, buf_z(&b), NULL);
}

/* --- numbers and times ------------------------------------------------------------------------------------- */

static bool is_digit(const char *p, const char *e)
{
	return p < e && (u8)(*p - '0') < 10;
}

/* A number as JSON has it, and nothing behind it. Digits beyond 19 count for their place only. */
static bool scan_value(struct str s, struct val *v)
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

/* "2025-11-20T04:00:00.123456Z" in microseconds. Days as in put_date of out.c. */
static bool scan_iso(struct str s, i64 *us)
{
	static const struct { u8 at, n; u16 least, most; } parts[] = {
		{ 0, 4, 1970, 9999 }, { 5, 2, 1, 12 }, { 8, 2, 1, 31 }, { 11, 2, 0, 23 }, { 14, 2, 0, 59 }, { 17, 2, 0, 60 },
	};
	u64 v[LEN(parts)], micro, y, era, doy, days;

	if (str_len(s) < 20 || s.p[10] != 'T' || s.e[-1] != 'Z')
		return false;
	for (size_t i = 0; i < LEN(parts); i++) {
		struct str part = { s.p + parts[i].at, s.p + parts[i].at + parts[i].n };

		if (scan_u64(part, &v[i]) != part.e || v[i] < parts[i].least || v[i] > parts[i].most)
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

/* Seconds or a date; -1: neither. */
static i64 time_of(struct str s)
{
	i64 us;
	u64 n;

	if (scan_iso(s, &us))
		return us;
	return scan_dec(s, 6, &n) == s.e && s.p < s.e && n < INT64_MAX ? (i64)n : -1;
}

/* --- fields --------------------------------------------------------------------------------------------------- */

/* group and member as columns have them; an empty one is none. kinds 0: of any record. */
static const struct column *find_column(struct str group, struct str member, u16 kinds)
{
	static size_t last;

	for (size_t i = 0; i < ncolumns; i++) {
		size_t at = (last + i) % ncolumns;
		const struct column *c = &columns[at];

		if ((!kinds || c->when & kinds) && str_eq(str_z(c->group), group) && str_eq(str_z(c->member), member)) {
			last = at;
			return c;
		}
	}
	return NULL;
}

/* "busy", "temp", "engine.busy", and with inst also "engine.render.busy" and "temp.edge", as -f names them. */
static const struct column *find_field(struct str name, u16 kinds, struct str *inst)
{
	const struct column *c;
	struct str group, member = name;

	str_cut(&member, '.', &group);
	if (member.p >= name.e && (c = find_column((struct str){ 0 }, name, kinds)))
		return c;
	if ((c = find_column(group, member, kinds)))
		return c;
	if (!inst || member.p >= name.e)
		return NULL;
	*inst = member;
	if ((c = find_column(group, (struct str){ 0 }, kinds)))
		return c;
	while (inst->e > inst->p && inst->e[-1] != '.')
		inst->e--;
	if (inst->e == inst->p)
		return NULL;
	inst->e--;
	return find_column(group, (struct str){ inst->e + 1, name.e }, kinds);
}

static void put_value(const struct plotids *id, const struct column *c, struct str inst, const struct val *v, bool chosen)
{
	struct field f = { .col = c, .inst = inst };

	if (!c || c->when & (W_ID | W_META))
		return;
	for (size_t i = 0; i < opt.out.npatterns && !chosen; i++)
		chosen = field_match(&f, opt.patterns[i]);
	if (chosen || opt.out.npatterns == 0)
		svg_put(id, c, inst, v, chosen);
}

/* Of what --inner recorded the means are drawn; what -S put behind the samples is not. */
static bool takes_sum(struct str which)
{
	return !in.plain && str_is(which, "avg");
}

/* --- CSV -------------------------------------------------------------------------------------------------------- */

enum { CELL_OTHER, CELL_ID, CELL_TIME, CELL_DT, CELL_FIELD, CELL_INSTANCE, CELL_VALUE, CELL_COLUMN };

static struct {
	size_t n, ncells;
	bool is_long;
} head;

/* The header of a CSV file; of a JSON record, texts that had escapes. */
static char *kept;
static struct cell_column {
	u8 role, id;
	struct str name, inst;
	const struct column *col;
	struct str cell; /* of the row in hand */
} *cells;

static TABLE(kept, HEAD_BYTES, 1, "bytes of a header");
static TABLE(cells, MAX_COLUMNS, 64, "columns of a CSV file");

/* Finds the cells of a row, without their quotes. Their number; 0: malformed. */
static size_t csv_cells(char *p, char *e)
{
	for (size_t n = 0; table_has(&cells_table, n);) {
		bool quoted = p < e && *p == '"';
		char *to = p + quoted;

		cells[n].cell.p = to;
		for (p = to; p < e && (quoted || *p != ','); *to++ = *p++)
			if (quoted && *p == '"' && (++p == e || *p != '"'))
				break;
			else if (quoted && p == e)
				return 0;
		if (quoted && (p == cells[n].cell.p || p[-1] != '"'))
			return 0;
		cells[n++].cell.e = to;
		if (p == e)
			return n;
		if (*p++ != ',')
			return 0;
	}
	return 0;
}

/* False: no header of ours. */
static bool csv_head(char *p, char *e)
{
	static const struct { struct str name; u8 role; } roles[] = {
		{ STR("time"), CELL_TIME }, { STR("dt"), CELL_DT }, { STR("field"), CELL_FIELD },
		{ STR("instance"), CELL_INSTANCE }, { STR("value"), CELL_VALUE },
	};
	size_t known = 0;

	head.n = (size_t)(e - p);
	if (!table_has(&kept_table, head.n))
		return false;
	memcpy(kept, p, head.n);
	head.ncells = csv_cells(p, e);
	for (size_t i = 0; i < head.ncells; i++)
		head.is_long |= str_eq(cells[i].cell, roles[2].name);
	/* Names are kept where they were copied to: the row of the buffer goes. */
	for (size_t i = 0; i < head.ncells; i++) {
		struct cell_column *c = &cells[i];
		struct str name = str_of(kept + (c->cell.p - p), str_len(c->cell));
		size_t id = plot_id(name);

		memcpy(kept + (c->cell.p - p), c->cell.p, str_len(name));
		c->name = name;
		if (id < ID_COUNT) {
			c->role = CELL_ID;
			c->id = (u8)id;
		}
		for (size_t k = 0; k < LEN(roles); k++)
			if (str_eq(name, roles[k].name) && (head.is_long || k < 2))
				c->role = roles[k].role;
		if (!c->role && !head.is_long && (c->col = find_field(name, 0, &c->inst)))
			c->role = CELL_COLUMN;
		known += c->role != CELL_OTHER;
		if (!c->role && !head.is_long) { /* a counter of oa or host */
			c->role = CELL_COLUMN;
			c->col = find_column((struct str)STR("counter"), (struct str){ 0 }, 0);
			c->inst = name;
		}
	}
	if (!known)
		head.ncells = 0;
	return known > 0;
}

/* As a second run in the same file writes it. */
static bool is_head(const char *p, const char *e)
{
	return (size_t)(e - p) == head.n && memcmp(p, kept, head.n) == 0;
}

/* A cell of -f: a number, or "render=12.5 copy=0.0" of several instances. */
static bool csv_joined(const struct plotids *id, const struct cell_column *c)
{
	struct str cell = c->cell;
	struct str word, inst;
	struct val v;

	if (scan_value(cell, &v)) {
		put_value(id, c->col, c->inst, &v, true);
		return true;
	}
	while (str_word(&cell, &word)) {
		const char *at = word.e;

		while (at > word.p && at[-1] != '=')
			at--;
		inst = (struct str){ word.p, at > word.p ? at - 1 : at };
		if (scan_value((struct str){ at, word.e }, &v))
			put_value(id, c->col, inst, &v, true);
	}
	return true;
}

static bool csv_row(char *p, char *e)
{
	struct plotids id = { 0 };
	struct str field = { 0 }, inst = { 0 }, value = { 0 };
	const struct column *c = NULL;
	i64 time = -1, dt = -1;
	struct val v;

	if (csv_cells(p, e) != head.ncells)
		return false;
	for (size_t i = 0; i < head.ncells; i++)
		switch (cells[i].role) {
		case CELL_ID:       id.of[cells[i].id] = cells[i].cell; break;
		case CELL_TIME:     time = time_of(cells[i].cell); break;
		case CELL_DT:       dt = time_of(cells[i].cell); break;
		case CELL_FIELD:    field = cells[i].cell; break;
		case CELL_INSTANCE: inst = cells[i].cell; break;
		case CELL_VALUE:    value = cells[i].cell; break;
		default:            break;
		}
	if (str_len(field) && !(c = find_field(field, svg_kind(&id), NULL))) { /* FIELD.avg, perhaps */
		const char *dot = field.e;

		while (dot > field.p && dot[-1] != '.')
			dot--;
		if (dot > field.p && (c = find_field((struct str){ field.p, dot - 1 }, svg_kind(&id), NULL)) &&
		    !takes_sum((struct str){ dot, field.e }))
			return true;
	} else {
		in.plain = true;
	}
	svg_begin(time, dt);
	for (size_t i = 0; i < head.ncells; i++)
		if (cells[i].role == CELL_COLUMN)
			csv_joined(&id, &cells[i]);
	if (str_is(field, "unit"))
		svg_unit(value);
	else if (str_len(field) && scan_value(value, &v))
		put_value(&id, c, inst, &v, false);
	return true;
}

/* --- JSON: a small strict reader of what we write --------------------------------------------------------------- */

struct jrec {
	struct plotids id;
	i64 time, dt;
	bool put; /* it was checked before, and is known by its ids, wherever they stand */
	struct str summary;
};

static void blanks(struct str *s)
{
	while (s->p < s->e && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
}

/* Behind its first quote; text gets what stands up to the last. */
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

static struct buf plain_b; /* on kept, until the record's end */

static struct str unescape(struct str s)
{
	static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
	size_t start = plain_b.n;

	if (s.p == s.e || !memchr(s.p, '\\', str_len(s)))
		return s;
	while (s.p < s.e) {
		const char *c;
		u32 u;

		if (*s.p != '\\' || s.p + 1 >= s.e) {
			put_c(&plain_b, *s.p++);
			continue;
		}
		s.p += 2;
		if (s.p[-1] == 'u' && s.e - s.p >= 4) {
			u = hex4(s.p);
			put_utf8(&plain_b, u >= 0xd800 && u < 0xe000 ? 0xfffd : u); /* pairs: what we write as it is */
			s.p += 4;
			continue;
		}
		c = memchr(from, s.p[-1], sizeof(from) - 1);
		put_c(&plain_b, (char)(c ? to[c - from] : s.p[-1]));
	}
	return (struct str){ kept + start, kept + plain_b.n };
}

/* What stands in brackets that hold nothing for us: as many close as open. */
static bool json_skip(struct str *s)
{
	u64 kinds = 0; /* a bit for each that is open */
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

static const struct column *json_column(const struct jrec *j, const struct str *keys, size_t depth, struct str *inst)
{
	static const struct str none;
	u16 kinds = svg_kind(&j->id);
	const struct column *c;

	if (depth == 1)
		return find_column(none, keys[0], kinds);
	*inst = keys[1];
	if (depth == 3)
		return find_column(keys[0], keys[2], kinds);
	if ((c = find_column(keys[0], none, kinds)))
		return c;
	*inst = none;
	c = find_column(keys[0], keys[1], kinds);
	return c && c->shape == S_MEMBER ? c : NULL;
}

/* A text, a number or a word: of the record itself, or a value of a group. */
static bool json_scalar(struct jrec *j, struct str *s, const struct str *keys, size_t depth)
{
	bool is_text = *s->p == '"', number;
	struct str v = *s, inst = { 0 };
	size_t id = depth == 1 ? plot_id(keys[0]) : ID_COUNT;
	struct val x;

	if (is_text) {
		s->p++;
		if (!json_string(s, &v))
			return false;
	} else {
		while (s->p < s->e && *s->p != ',' && *s->p != '}' && *s->p != ' ')
			s->p++;
		v.e = s->p;
	}
	number = !is_text && scan_value(v, &x);
	if (!is_text && !number)
		return str_among(v, "null true false") < 3;
	if (!j->put && depth == 1) {
		if (id < ID_COUNT)
			j->id.of[id] = unescape(v);
		if (str_is(keys[0], "time"))
			j->time = time_of(v);
		else if (str_is(keys[0], "dt"))
			j->dt = time_of(v);
		else if (str_is(keys[0], "summary"))
			j->summary = v;
	}
	if (j->put && number)
		put_value(&j->id, json_column(j, keys, depth, &inst), inst, &x, false);
	return true;
}

/* Behind its brace. Groups are no deeper than three. */
static bool json_object(struct jrec *j, struct str *s, struct str *keys, size_t depth)
{
	for (bool first = true;; first = false) {
		blanks(s);
		if (first && s->p < s->e && *s->p == '}')
			break;
		if (s->p == s->e || *s->p++ != '"' || !json_string(s, &keys[depth]))
			return false;
		if (j->put)
			keys[depth] = unescape(keys[depth]);
		blanks(s);
		if (s->p == s->e || *s->p++ != ':')
			return false;
		blanks(s);
		if (s->p == s->e)
			return false;
		if (*s->p == '{' && depth < 2) {
			s->p++;
			if (!json_object(j, s, keys, depth + 1))
				return false;
		} else if (*s->p == '{' || *s->p == '[') {
			if (!json_skip(s))
				return false;
		} else if (!json_scalar(j, s, keys, depth + 1)) {
			return false;
		}
		blanks(s);
		if (s->p == s->e || (*s->p != ',' && *s->p != '}'))
			return false;
		if (*s->p == '}')
			break;
		s->p++;
	}
	s->p++;
	return true;
}

/* Checked as a whole before any of it is taken. */
static bool json_record(struct str s)
{
	struct jrec j = { .time = -1, .dt = -1 };
	struct str keys[3], at = { s.p + 1, s.e };

	plain_b = table_buf(&kept_table);
	if (!json_object(&j, &at, keys, 0) || at.p != s.e)
		return false;
	if (j.summary.p && !takes_sum(j.summary))
		return true;
	in.plain |= !j.summary.p;
	svg_begin(j.time, j.dt);
	j.put = true;
	at.p = s.p + 1;
	return json_object(&j, &at, keys, 0);
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* The end of a row: of CSV a line break outside of quotes, of JSON that of the line, or the brace that closes the
 * record, as -1 has many on a line. NULL: not in sight. */
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

static bool is_json;

/* One piece off the front: where it ended. NULL: the rest of it must be read first. */
static char *take_csv(char *p, char *e, bool last)
{
	char *end = csv_end(p, e), *stop;

	if (!end && !last)
		return NULL;
	end = end ? end : e;
	stop = end > p && end[-1] == '\r' ? end - 1 : end;
	in.line++;
	if (!head.ncells) {
		if (!csv_head(p, stop))
			return e; /* said by the caller: nothing is known of it */
	} else if (stop > p && !is_head(p, stop) && !csv_row(p, stop)) {
		malformed(": no row like its header");
	}
	return end < e ? end + 1 : end;
}

static char *take_json(char *p, char *e, bool last)
{
	char *end;

	if (*p == '\n' || *p == ' ' || *p == '\t' || *p == '\r' || (in.in_array && *p == ',')) {
		in.line += *p == '\n';
		return p + 1;
	}
	if (*p == (in.in_array ? ']' : '[')) {
		in.in_array = !in.in_array;
		return p + 1;
	}
	end = json_end(p, e);
	if (!end && !last)
		return NULL;
	end = end ? end : e;
	if (*p == '{' && json_record((struct str){ p, end }))
		return end;
	while (end < e && *end != '\n')
		end++;
	if (end == e && !last)
		return NULL; /* nothing of that line is taken */
	malformed(": no record");
	in.in_array = false;
	return end;
}

/* Too long a piece: up to the end of its line, or of what is there. */
static size_t pass_line(size_t n)
{
	char *end = memchr(bytes, '\n', n);

	if (!in.passing) {
		in.line += !is_json;
		malformed(": longer than any record");
	}
	in.passing = !end;
	return end ? (size_t)(end - bytes) + !is_json : n;
}

static long read_all(int fd)
{
	size_t n = 0;
	bool begun = false;
	long r = 1;

	in.line = 0;
	if (!table_has(&bytes_table, 0))
		return -ENOMEM;
	while ((r > 0 || n > 0) && !stopped) { /* a picture of what there is by then */
		size_t at = 0;
		char *next;

		if (n < bytes_table.ready && r > 0) {
			r = sys_read(fd, bytes + n, bytes_table.ready - n);
			if (r == -EINTR) {
				r = 1;
				continue;
			}
			if (r < 0)
				return r;
			n += (size_t)r;
		}
		if (!begun && (n > 3 || (n > 0 && r == 0))) {
			struct str text = { bytes, bytes + n };

			begun = true;
			if (str_skip_z(&text, "\xef\xbb\xbf"))
				memmove(bytes, text.p, n = str_len(text));
			is_json = bytes[0] == '{' || bytes[0] == '[';
			in.line = is_json;
		}
		if (in.passing)
			at = pass_line(n);
		while (begun && !in.passing && at < n && (next = (is_json ? take_json : take_csv)(bytes + at, bytes + n, r == 0)))
			at = (size_t)(next - bytes);
		if (at == 0 && n == bytes_table.ready && (n == PLOT_BYTES || !table_has(&bytes_table, n)))
			at = pass_line(n);
		memmove(bytes, bytes + at, n - at);
		n -= at;
		if (begun && !is_json && !head.ncells && at > 0)
			return -ENOEXEC;
	}
	return 0;
}

int cmd_plot(void)
{
	long fd, r;
	int code;

	if (opt.nwords != 1)
		return usage_z("plot: which FILE? one; - is standard input");
	opt.out.fmt = format_find((struct str)STR("svg"));
	in.name = opt.words[0];
	fd = strcmp(in.name, "-") == 0 ? 0 : file_open(in.name, O_RDONLY);
	if (fd < 0) {
		say_error(in.name, fd);
		return EX_FAIL;
	}
	if ((code = sink_open()) >= 0)
		return code;
	confine_to_opened();
	r = read_all((int)fd);
	if (r < 0) {
		say(in.name, ": ", r == -ENOEXEC ? "neither csv nor json of ours" : error_text(r));
		return EX_FAIL;
	}
	if (in.bad > MAX_SAID)
		say_number(in.bad, " lines are malformed and were left out");
	opt.out.headed = true; /* there may be no record, and the picture says so */
	return in.bad ? EX_FAIL : EX_OK;
}
