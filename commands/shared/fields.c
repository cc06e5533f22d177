/* fields.c - checks of the fields that -f and -s name: warns about names that no record has, and
 * about fields that appear after the header was written. When the output is appended to a file,
 * takes the columns from its header and completes its last line.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sys.h"

/* --- functions that find the patterns of -f that match no field ------------------------------- */

/* States of a pattern of -f. PATTERN_NEW: no record had the group of fields that the pattern names;
 * its fields may still appear. PATTERN_WRONG: records had the group, but no field that matches.
 * PATTERN_SAID: the same, and a message was printed. */
enum { PATTERN_NEW, PATTERN_WRONG, PATTERN_SAID, PATTERN_FOUND };
enum { MAX_NEAREST = 16, NEAREST_BYTES = 96 };

/* The state of each pattern of -f, and of the field of -s, which follows them. */
static struct {
	u8 found[MAX_PATTERNS + 1]; /* PATTERN_* */
	struct {
		u32 edits;
		/* the most similar field name; "" if there is none, or if it is too long for this
		 * array */
		char name[NEAREST_BYTES];
	/* field names most similar to the first MAX_NEAREST patterns */
	} nearest[MAX_NEAREST];
} named;

/* Returns pattern i of -f, or the field of -s if i is their number; p is NULL without -s. */
static struct str pattern(size_t i)
{
	return i < opt.out.npatterns ? opt.out.patterns[i] : opt.sort;
}

/* Stores the name of field f as the suggestion for pattern i, if the name differs in fewer
 * characters than the suggestion so far. rest: the pattern without the name of its group. */
static void nearest_put(size_t i, struct str rest, const struct field *f)
{
	const struct str parts[] = { f->inst, str_z(f->col->member) };
	char text[NEAREST_BYTES];
	struct buf b = BUF_Z(text);

	for (size_t from = 0; from < LEN(parts); from++) {
		u32 edits;
		size_t group;

		b.n = 0;
		put_z(&b, f->col->group);
		put_c(&b, '.');
		group = b.n;
		put_text(&b, parts[from]);
		if (from == 0 && str_len(parts[1]) && memchr(rest.p, '.', str_len(rest))) {
			put_c(&b, '.');
			put_text(&b, parts[1]);
		}
		edits = text_distance(rest, (struct str){ b.p + group, b.p + b.n });
		if (b.full || !str_len(parts[from]) ||
		    (named.nearest[i].name[0] && edits >= named.nearest[i].edits))
			continue;
		named.nearest[i].edits = edits;
		str_copy(named.nearest[i].name, NEAREST_BYTES, str_z(buf_z(&b)));
	}
}

/* Returns whether records of this kind can have a column with the group of the field f and the
 * member `rest`, also if this run does not show that column: rates are hidden with --raw, totals
 * without it. rest: the pattern of -f without its group. */
static bool is_of_other_mode(const struct field *f, struct str rest, u8 kind)
{
	struct str member = rest;

	if (!str_skip(&member, f->inst) || !str_skip_z(&member, "."))
		member = rest;
	for (const struct column *c = columns; c < columns + ncolumns; c++)
		if (c->when & 1u << kind && c->group && strcmp(c->group, f->col->group) == 0 &&
		    str_eq(member, str_z(c->member)))
			return true;
	return false;
}

static void pattern_note(size_t i, const struct record *r)
{
	for (size_t k = 0; k < r->n; k++) {
		const struct field *f = &r->f[k];
		struct str rest = pattern(i);

		if (field_match(f, rest)) {
			named.found[i] = PATTERN_FOUND;
			return;
		}
		if (f->empty || !f->col->group || !str_skip_z(&rest, f->col->group) ||
		    !str_skip_z(&rest, "."))
			continue;
		if (is_of_other_mode(f, rest, r->kind)) {
			named.found[i] = PATTERN_FOUND;
			return;
		}
		if (named.found[i] == PATTERN_NEW)
			named.found[i] = PATTERN_WRONG;
		if (i < MAX_NEAREST && named.found[i] == PATTERN_WRONG)
			nearest_put(i, rest, f);
	}
}

/* Returns the field name most similar to pattern i of -f, which matches no field; "" if none is
 * known. */
const char *fields_nearest(size_t i)
{
	return i < MAX_NEAREST && named.found[i] == PATTERN_WRONG ? named.nearest[i].name : "";
}

static void say_wrong(size_t i)
{
	const char *near = fields_nearest(i);
	char text[MAX_NAME + NEAREST_BYTES + 96];
	struct buf b = BUF_Z(text);

	named.found[i] = PATTERN_SAID;
	put_text(&b, pattern(i));
	put_z(&b, opt.cmd->kind == K_DEVICE ? "': no device has this field" :
					      "': no record has this field");
	put_z(&b, near[0] ? "; the nearest name is " : "; -f help lists the groups");
	put_z(&b, near);
	say("'", buf_z(&b), NULL);
}

/* --- functions for fields that first appear after the header was printed ---------------------- */

static struct {
	char names[512]; /* names of fields without a column, such as " a b c " */
	/* n: bytes in names[]; said: bytes of the names that a message has reported */
	size_t n, said;
	bool full;
	/* file whose CSV header has the columns; NULL: the header printed by this run has them */
	const char *file;
} late;

static void late_add(const struct field *f)
{
	char text[MAX_NAME + 64];
	struct buf name = BUF(text), all = { late.names, late.n, sizeof(late.names), false };

	put_c(&name, ' ');
	if (f->col->group && strcmp(f->col->group, "counter") == 0)
		put_text(&name, f->inst);
	else
		put_leaf(&name, f->col, f->inst);
	put_c(&name, ' ');
	if (str_find(str_of(late.names, late.n), str_of(name.p, name.n)))
		return;
	all.n -= all.n > 0; /* the blank after a name is also the blank before the next name */
	put_str(&all, str_of(name.p, name.n));
	if (!all.full && !name.full)
		late.n = all.n;
	else if (!late.full)
		say_z("some fields were left out: the header has no column for them");
	late.full |= all.full || name.full;
}

/* Finds the fields of a record that have no column. In the format line, adds columns and prints the
 * header again, unless headers are off. In the other formats all rows keep the columns of the first
 * header, and fields_say() reports the missing fields. */
static void late_note(struct out *o, const struct record *r)
{
	static bool full;
	bool grows = format_has_one_line(o->fmt) && !o->no_header && !o->one_line && !full;

	for (size_t i = 0; i < r->n; i++) {
		if (!out_lacks(o, &r->f[i]))
			continue;
		if (!grows) {
			late_add(&r->f[i]);
			continue;
		}
		out_measure(o, r);
		full = o->headed = out_lacks(o, &r->f[i]);
		return;
	}
}

static void say_late(void)
{
	late.names[late.n - 1] = '\0';
	say("the header has no column for", late.names + late.said, late.file ?
	    "; use a new file to get it" :
	    "; run again to get it");
	late.names[late.n - 1] = ' ';
	late.said = late.n - 1;
}

/* --- all checks ------------------------------------------------------------------------------- */

/* Checks a record against the patterns of -f and the columns of the header. Called for each record
 * before it is written. */
void fields_note(struct out *o, const struct record *r)
{
	static bool noted;

	if (r->steady && noted)
		return;
	noted = true;
	for (size_t i = 0; i < o->npatterns + !!opt.sort.p; i++)
		if (named.found[i] != PATTERN_FOUND)
			pattern_note(i, r);
	if (o->headed && o->npatterns && format_has_field_columns(o->fmt))
		late_note(o, r);
}

/* Prints messages about patterns and fields without a column that were not reported yet. Called
 * after each sample. Returns whether a pattern has matched no field so far in the run. */
bool fields_say(void)
{
	bool wrong = false;

	for (size_t i = 0; i <= opt.out.npatterns; i++) {
		if (named.found[i] == PATTERN_WRONG)
			say_wrong(i);
		wrong |= named.found[i] == PATTERN_SAID;
	}
	if (late.n > late.said + 1)
		say_late();
	return wrong;
}

/* --- functions that prepare to append to an existing output file ------------------------------ */

static void say_header(const char *why)
{
	say(opt.output, ": gpustat appends a new header, because: ", why);
}

/* Stores the next cell of a row of CSV in *cell, without its quotes, which are removed in place,
 * and without the ' before a text that a spreadsheet would take for a formula. *at: start of the
 * cell; becomes NULL after the last cell. Returns false if there are no more cells. */
static bool cell_next(char **at, const char *end, struct str *cell)
{
	char *p = *at, *to = p;
	bool quoted = p && p < end && *p == '"';

	if (!p)
		return false;
	cell->p = p;
	for (p += quoted; p < end && (quoted || *p != ','); p++) {
		if (*p == '"' && quoted && (p + 1 == end || p[1] != '"'))
			quoted = false;
		else
			*to++ = *(p += *p == '"' && quoted);
	}
	cell->e = to;
	*cell = csv_unguarded(*cell);
	*at = p < end ? p + 1 : NULL;
	return true;
}

/* Reads the header of the CSV file that the output is appended to, and uses its columns for the
 * rows of this run. fd: descriptor of the file, or -errno if it could not be opened. */
static void columns_take(long fd)
{
	struct out *o = &opt.out;
	/* The header is read into the memory of o->insts (the names of instances), which is not
	 * used yet. */
	char *text = (char *)&o->insts;
	long n = fd < 0 ? fd : sys_pread((int)fd, text, sizeof(o->insts), 0);
	const char *end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;
	bool known = false, is_long;
	struct str title;

	if (end && end > text && end[-1] == '\r')
		end--;
	if (end && end - text >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		text += 3; /* a byte order mark */
	if (!end) {
		say_header(n < 0 ? error_text(n) : "the header line is too long or has no end");
		return;
	}
	is_long = str_find((struct str){ text, end }, LIT("field,instance,value"));
	if (is_long != (o->npatterns == 0))
		say_header("the file and this run differ in the use of -f");
	if (is_long || o->npatterns == 0)
		return;
	while (cell_next(&text, end, &title)) {
		known |= pattern_known(title, opt.cmd->kind);
		/* a pattern may match the name of a counter, which pattern_known() does not know */
		for (size_t i = 0; i < o->npatterns; i++)
			known |= glob_match(o->patterns[i], title, NULL);
		out_add_title(o, title);
	}
	o->headed = known && !o->lost;
	late.file = opt.output;
	if (o->headed)
		return;
	say_header("no column of the file is a field of the records");
	o->ncells = o->lost = 0;
	late.file = NULL;
}

/* The file that the output is appended to does not end with a newline: its last record was cut, for
 * example because the disk was full. */
static bool is_cut;

/* Prepares to append to the output file if it is not empty: finds out if its last line is complete,
 * and reads the columns of a CSV header. */
void append_begin(void)
{
	char path[] = "/proc/self/fd/0", last = '\n';
	struct stat st;
	long fd;

	if ((!opt.output && out_fd > 9) || sys_fstat(out_fd, &st) < 0 ||
	    !S_ISREG(st.st_mode) || st.st_size == 0 || !(sys_fcntl(out_fd, F_GETFL, 0) & O_APPEND))
		return;
	/* Replaces the last character of /proc/self/fd/N. Without -O, out_fd has one digit here. */
	path[sizeof(path) - 2] = (char)('0' + out_fd % 10);
	fd = file_open(opt.output ? opt.output : path, O_RDONLY);
	if (fd >= 0)
		sys_pread((int)fd, &last, 1, (u64)st.st_size - 1);
	is_cut = last != '\n' && !format_is_binary(opt.out.fmt);
	if (opt.output && format_has_field_columns(opt.out.fmt) &&
	    format_has_file_header(opt.out.fmt) && !opt.out.no_header)
		columns_take(fd);
	if (fd >= 0)
		sys_close((int)fd);
}

/* Ends the last line of the output file with a newline, if it was cut. Called before each write. */
void append_line(void)
{
	if (is_cut)
		write_all(out_fd, "\n", 1);
	is_cut = false;
}
