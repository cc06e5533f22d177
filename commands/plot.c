/* plot.c - `plot`: draws a recorded run, one row or record at a time.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sys.h"

enum { HEADER_BYTES = 64 << 10, MAX_COLUMNS = 1024 };

static struct runfile in;
/* true if the file to plot has at least one record that is not a summary of -S or --inner */
static bool plain;

/* --- fields and their columns ----------------------------------------------------------------- */

/* Returns the column of a field as -f names it: "busy", "temp", "engine.busy"; if inst is not
 * NULL also "engine.render.busy" and "temp.edge", and sets *inst. */
static const struct column *field_find(struct str name, u16 kinds, struct str *inst)
{
	const struct column *c;
	struct str group, member = name;

	str_cut(&member, '.', &group);
	if (member.p >= name.e && (c = column_find((struct str){ 0 }, name, kinds)))
		return c;
	if ((c = column_find(group, member, kinds)))
		return c;
	if (!inst || member.p >= name.e)
		return NULL;
	*inst = member;
	if ((c = column_find(group, (struct str){ 0 }, kinds)))
		return c;
	while (inst->e > inst->p && inst->e[-1] != '.')
		inst->e--;
	if (inst->e == inst->p)
		return NULL;
	inst->e--;
	return column_find(group, (struct str){ inst->e + 1, name.e }, kinds);
}

static void put_value(const struct plotids *id, const struct column *c, struct str inst,
		      const struct val *v, bool chosen)
{
	struct field f = { .col = c, .inst = inst };

	if (!c || c->when & (W_ID | W_META))
		return;
	for (size_t i = 0; i < opt.out.npatterns && !chosen; i++)
		chosen = field_match(&f, opt.patterns[i]);
	if (chosen || opt.out.npatterns == 0)
		svg_put(id, c, inst, v, chosen);
}

/* Returns whether summary records (which: min, avg or max) are drawn: only the averages, and only
 * if all records are summaries, as with --inner. The summary that -S writes after the samples is
 * not drawn. */
static bool summary_is_drawn(struct str which)
{
	return !plain && str_is(which, "avg");
}

/* --- files of CSV ----------------------------------------------------------------------------- */

enum { CELL_OTHER, CELL_ID, CELL_TIME, CELL_DT, CELL_FIELD, CELL_INSTANCE, CELL_VALUE,
       CELL_COLUMN };

struct cell_column {
	u8 role, id;
	struct str name, inst;
	const struct column *col;
	struct str cell; /* text in the current row of the CSV file that belongs to this column */
};

static struct {
	size_t n, ncells;
	bool is_long;
	char *text;
	struct cell_column *cells;
} header;
static struct {
	struct table text, cells;
} header_tables = {
	.text = TABLE_ROW(header.text, HEADER_BYTES, 1, "bytes of a header"),
	.cells = TABLE_ROW(header.cells, MAX_COLUMNS, 64, "columns of a CSV file"),
};

/* Finds the cells of a row of the CSV file and removes their quotes. Returns the number of cells; 0
 * if the row is malformed. */
static size_t csv_cells(char *p, char *e)
{
	for (size_t n = 0; table_has(&header_tables.cells, n);) {
		bool quoted = p < e && *p == '"';
		char *from = p + quoted, *to = from;

		for (p = to; p < e && (quoted || *p != ','); *to++ = *p++)
			if (quoted && *p == '"' && (++p == e || *p != '"'))
				break;
			else if (quoted && p == e)
				return 0;
		if (quoted && (p == from || p[-1] != '"'))
			return 0;
		header.cells[n++].cell = csv_unguarded((struct str){ from, to });
		if (p == e)
			return n;
		if (*p++ != ',')
			return 0;
	}
	return 0;
}

/* Parses the header line of a CSV file. Returns false if it is not a header that gpustat writes. */
static bool csv_header(char *p, char *e)
{
	static const struct { struct str name; u8 role; } roles[] = {
		{ STR("time"), CELL_TIME }, { STR("dt"), CELL_DT }, { STR("field"), CELL_FIELD },
		{ STR("instance"), CELL_INSTANCE }, { STR("value"), CELL_VALUE },
	};
	size_t known = 0;

	header.n = (size_t)(e - p);
	if (!table_has(&header_tables.text, header.n))
		return false;
	memcpy(header.text, p, header.n);
	header.ncells = csv_cells(p, e);
	for (size_t i = 0; i < header.ncells; i++)
		header.is_long |= str_eq(header.cells[i].cell, roles[2].name);
	/* The names of columns must point into header.text: the row in the buffer will be
	 * overwritten. */
	for (size_t i = 0; i < header.ncells; i++) {
		struct cell_column *c = &header.cells[i];
		struct str name = str_of(header.text + (c->cell.p - p), str_len(c->cell));
		size_t id = plot_id(name);

		memcpy(header.text + (c->cell.p - p), c->cell.p, str_len(name));
		c->name = name;
		if (id < ID_COUNT) {
			c->role = CELL_ID;
			c->id = (u8)id;
		}
		for (size_t k = 0; k < LEN(roles); k++)
			if (str_eq(name, roles[k].name) && (header.is_long || k < 2))
				c->role = roles[k].role;
		if (!c->role && !header.is_long && (c->col = field_find(name, 0, &c->inst)))
			c->role = CELL_COLUMN;
		known += c->role != CELL_OTHER;
		/* the title of the column is no field, but the name of a counter of gpustat oa or
		 * host */
		if (!c->role && !header.is_long) {
			c->role = CELL_COLUMN;
			c->col = column_find((struct str)STR("counter"), (struct str){ 0 }, 0);
			c->inst = name;
		}
	}
	if (!known)
		header.ncells = 0;
	return known > 0;
}

/* Returns whether a row is a copy of the header: a second run that appends to the file writes
 * another header. */
static bool is_header(const char *p, const char *e)
{
	return (size_t)(e - p) == header.n && memcmp(p, header.text, header.n) == 0;
}

/* Draws the cell of a field of -f in a CSV row: a number, or "render=12.5 copy=0.0" for several
 * instances. */
static bool csv_list(const struct plotids *id, const struct cell_column *c)
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

	if (csv_cells(p, e) != header.ncells)
		return false;
	for (size_t i = 0; i < header.ncells; i++)
		switch (header.cells[i].role) {
		case CELL_ID:       id.text[header.cells[i].id] = header.cells[i].cell; break;
		case CELL_TIME:     time = time_parse(header.cells[i].cell); break;
		case CELL_DT:       dt = time_parse(header.cells[i].cell); break;
		case CELL_FIELD:    field = header.cells[i].cell; break;
		case CELL_INSTANCE: inst = header.cells[i].cell; break;
		case CELL_VALUE:    value = header.cells[i].cell; break;
		default:            break;
		}
	/* the cell is the name of a field; in a record of a summary, .min, .avg or .max follows
	 * it */
	if (str_len(field) && !(c = field_find(field, plot_kind(&id), NULL))) {
		const char *dot = field.e;

		while (dot > field.p && dot[-1] != '.')
			dot--;
		if (dot > field.p &&
		    (c = field_find((struct str){ field.p, dot - 1 }, plot_kind(&id), NULL)) &&
		    !summary_is_drawn((struct str){ dot, field.e }))
			return true;
	} else {
		plain = true;
	}
	svg_begin(time, dt);
	for (size_t i = 0; i < header.ncells; i++)
		if (header.cells[i].role == CELL_COLUMN)
			csv_list(&id, &header.cells[i]);
	if (str_is(field, "unit"))
		svg_unit(value);
	else if (str_len(field) && scan_value(value, &v))
		put_value(&id, c, inst, &v, false);
	return true;
}

/* --- files of JSON ---------------------------------------------------------------------------- */

static void json_put_value(struct runrec *j, const struct column *c, struct str inst,
			   const struct val *v)
{
	put_value(&j->id, c, inst, v, false);
}

static bool json_record(struct str s)
{
	struct runrec j;

	if (!runrec_read(&j, s))
		return false;
	if (j.summary.p && !summary_is_drawn(j.summary))
		return true;
	plain |= !j.summary.p;
	svg_begin(j.time, j.dt);
	runrec_values(&j, s, false, json_put_value);
	return true;
}

static long read_all(int fd)
{
	char *p, *e;
	long r;

	in.fd = fd;
	/* after a signal, the rows that were read so far are drawn */
	while ((r = runfile_next(&in, &p, &e)) > 0)
		if (in.is_json) {
			if (!json_record((struct str){ p, e }))
				runfile_bad(&in, ": not a record");
		} else if (!header.ncells) {
			if (!csv_header(p, e))
				return -ENOEXEC;
		} else if (e > p && !is_header(p, e) && !csv_row(p, e)) {
			runfile_bad(&in, ": the row does not match its header");
		}
	return r;
}

int cmd_plot(void)
{
	long fd, r;
	int code;

	if (opt.nwords != 1)
		return usage_z("plot: give one FILE; - is standard input");
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
		say(in.name, ": ",
		    r == -ENOEXEC ? "the file is neither CSV nor JSON output of gpustat" :
				    error_text(r));
		return EX_FAIL;
	}
	runfile_end(&in);
	opt.out.headed = true; /* a run without records is drawn as a picture that says so */
	return in.bad ? EX_FAIL : EX_OK;
}
