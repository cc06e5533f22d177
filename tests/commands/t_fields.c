/* t_fields.c - unit test of commands/shared/fields.c: fields that no record has, values after the header,
 * the columns and the end of a file that is appended to. SPDX-License-Identifier: MIT */
#include "folder.h"
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/fields.c"
#include "said.h"

static const struct cmd live = { .kind = K_DEVICE, .with = WITH_LIVE };
struct opts opt = { .cmd = &live };
int out_fd = 1;

/* --- names ------------------------------------------------------------------------------------ */

static const struct column *column(const char *group, const char *member)
{
	for (const struct column *c = columns; c < columns + ncolumns; c++)
		if (c->when & W_DEVICE && c->when & W_LIVE && c->group && c->member &&
		    strcmp(c->group, group) == 0 && strcmp(c->member, member) == 0)
			return c;
	puts("Bail out! no such column");
	exit(1);
}

static struct field few[3];

/* Makes a record with the engines render and copy. */
static struct record engines(void)
{
	few[0] = (struct field){ .col = column("engine", "busy"), .inst = LIT("render"),
				 .v = { .type = V_INT, .n = 1 } };
	few[1] = few[0];
	few[1].inst = LIT("copy");
	return (struct record){ .kind = K_DEVICE, .f = few, .n = 2 };
}

/* Returns the state of one pattern after a record. */
static u8 state_of(const char *pattern, const struct record *r)
{
	memset(&named, 0, sizeof(named));
	opt.out.patterns = opt.patterns;
	opt.patterns[0] = str_z(pattern);
	opt.out.npatterns = 1;
	pattern_note(0, r);
	return named.found[0];
}

static void t_patterns(void)
{
	static const struct {
		const char *pattern;
		u8 state;
		const char *nearest;
	} rows[] = {
		{ "engine", PATTERN_FOUND, NULL }, { "engine.render", PATTERN_FOUND, NULL },
		{ "engine.busy", PATTERN_FOUND, NULL }, { "engine.copy.busy", PATTERN_FOUND, NULL },
		{ "engine.busy_ns", PATTERN_FOUND, NULL }, /* a field of --raw */
		{ "engine.render.busy_ns", PATTERN_FOUND, NULL },
		{ "engine.rendr", PATTERN_WRONG, "engine.render" },
		{ "engine.copi", PATTERN_WRONG, "engine.copy" },
		{ "engine.copi.busy", PATTERN_WRONG, "engine.copy.busy" },
		{ "engine.bussy", PATTERN_WRONG, "engine.busy" },
		{ "temp", PATTERN_NEW, NULL }, { "temp.edge", PATTERN_NEW, NULL }, { "engines", PATTERN_NEW, NULL },
	};
	struct record r = engines();

	for (size_t i = 0; i < LEN(rows); i++) {
		check(state_of(rows[i].pattern, &r) == rows[i].state,
		      "-f %s in a record: %s", rows[i].pattern,
		      rows[i].state == PATTERN_WRONG ?
		      "no device has the field" : "the field is not reported");
		if (rows[i].nearest)
			check_str(str_z(named.nearest[0].name), rows[i].nearest,
			          "the nearest name to a misspelt field is found");
	}
	few[0].empty = few[1].empty = true;
	check(state_of("engine.rendr", &r) == PATTERN_NEW,
	      "a field of a group without values is not reported");
}

static void t_said(void)
{
	struct record r = engines();
	const struct cmd other = { .kind = K_CLIENT };

	state_of("engine.rendr", &r);
	check(fields_say(), "a wrong field: the run has failed");
	check(is_said("'engine.rendr': no device has this field; the nearest name is engine.render\n"),
	      "the message about a wrong field");
	check(fields_say() && is_said(NULL), "the message is printed once");
	fields_note(&opt.out, &r);
	check(fields_say() && is_said(NULL), "another record without the field changes nothing");
	few[0].inst = LIT("rendr");
	fields_note(&opt.out, &r);
	check(!fields_say(), "a later record with the field: the run has not failed");
	r = engines();
	state_of("engine.render", &r);
	opt.sort = LIT("engine.coppy");
	fields_note(&opt.out, &r);
	check(fields_say() && is_said("'engine.coppy': no device has this field; the nearest name is engine.copy\n"),
	      "a wrong field of -s, after the fields of -f");
	opt.sort = (struct str){ 0 };
	r = engines();
	state_of("engine.rendr", &r);
	named.nearest[0].name[0] = '\0';
	opt.cmd = &other;
	fields_say();
	check(is_said("'engine.rendr': no record has this field; -f help lists the groups\n"),
	      "a message about records of another kind, without a near name");
	opt.cmd = &live;
}

/* --- late values ------------------------------------------------------------------------------ */

static void t_late(void)
{
	struct record r = engines();

	memset(&named, 0, sizeof(named));
	opt.patterns[0] = LIT("engine");
	opt.out.fmt = format_find(LIT("csv"));
	opt.out.headed = true;
	fields_note(&opt.out, &r);
	fields_say();
	check(is_said("the header has no column for engine.render.busy "
		      "engine.copy.busy; run again to get it\n"),
	      "late values: a message names two fields without a column");
	fields_note(&opt.out, &r);
	fields_say();
	check(is_said(NULL), "late values: the message about two fields is printed once");
	few[1].inst = LIT("video");
	late.file = "file";
	fields_note(&opt.out, &r);
	fields_say();
	check(is_said("the header has no column for engine.video.busy; "
		      "use a new file to get it\n"),
	      "late values: a message about a third field names only this field");
	late.file = NULL;
	for (u32 i = 0; i < 60; i++) {
		char inst[16];

		snprintf(inst, sizeof(inst), "engine-%u", i);
		few[1].inst = str_z(inst);
		fields_note(&opt.out, &r);
	}
	check_u64(said.n, strlen("some fields were left out: the header has no column for them\n"),
	          "late values: one message about names without room");
	check(is_said("some fields were left out: the header has no column for them\n"),
	      "late values: the message says that fields were left out");
	check(late.n <= sizeof(late.names), "late values: the names do not exceed the buffer");
	fields_say();
	said.n = 0;
	opt.out.headed = false;
}

/* --- files ------------------------------------------------------------------------------------ */

static void t_cells(void)
{
	static const struct {
		const char *row, *cells; /* cells: with '|' after each cell */
	} rows[] = {
		{ "a,b", "a|b|" }, { "a", "a|" }, { "", "|" }, { "a,", "a||" }, { ",a", "|a|" },
		{ "\"a,b\",c", "a,b|c|" }, { "\"a\"\"b\"", "a\"b|" }, { "\"\"", "|" }, { "\"a", "a|" },
		{ "a\"b", "a\"b|" }, { "\"a\"b,c", "ab|c|" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		size_t n = strlen(rows[i].row);
		char *at = edge_page(n), text[64];
		const char *end = at + n;
		struct buf b = BUF(text);
		struct str cell;

		memcpy(at, rows[i].row, n);
		while (cell_next(&at, end, &cell)) {
			put_str(&b, cell);
			put_c(&b, '|');
		}
		check_str(str_of(b.p, b.n), rows[i].cells,
		          "CSV: cells of the row '%s'", rows[i].row);
	}
}

static void header(const char *text, size_t npatterns)
{
	long fd;

	put(in_folder("csv"), text);
	opt.output = "csv";
	opt.patterns[0] = LIT("dev");
	opt.patterns[1] = LIT("my *");
	opt.out.npatterns = npatterns;
	opt.out.ncells = opt.out.lost = 0;
	opt.out.headed = false;
	fd = open(in_folder("csv"), O_RDONLY);
	columns_take(fd);
	close((int)fd);
}

static void t_headers(void)
{
	header("dev,temp.edge,\"x\"\r\n1\n", 2);
	check(opt.out.headed && opt.out.ncells == 3 && is_said(NULL) && late.file,
	      "header: columns of devices are used");
	check_str(opt.out.cells[1].title, "temp.edge", "header: name of the second column");
	check_str(opt.out.cells[2].title, "x",
	          "header: name of the last column, without quotes and the end of the line");
	header("\xef\xbb\xbf" "dev\n", 2);
	check(opt.out.headed && opt.out.ncells == 1, "header: a byte order mark is accepted");
	check_str(opt.out.cells[0].title, "dev",
	          "header: a byte order mark is not part of the name");
	header("dev,'=x,\"'-\"\"\",'x\n", 2);
	check(opt.out.headed && opt.out.ncells == 4,
	      "header: names that a spreadsheet would take for formulas are accepted");
	check_str(opt.out.cells[1].title, "=x",
	          "header: the apostrophe before a formula is removed");
	check_str(opt.out.cells[2].title, "-\"",
	          "header: the apostrophe before a quoted formula is removed");
	check_str(opt.out.cells[3].title, "'x",
	          "header: an apostrophe before another name is kept");
	header("my counter\n", 2);
	check(opt.out.headed, "header: a counter that -f selects is used");
	header("other,counter\n", 2);
	check(!opt.out.headed && opt.out.ncells == 0 && !late.file &&
	      is_said("csv: gpustat appends a new header, because: no column of the file is a field of the records\n"),
	      "header: columns that are no fields are refused with a message");
	header("time,dev,field,instance,value\n", 2);
	check(!opt.out.headed && is_said("the file and this run differ in the use of -f\n"),
	      "header: one without -f is refused with -f");
	header("time,dev,field,instance,value\n", 0);
	check(!opt.out.headed && is_said(NULL), "header: one without -f is accepted without -f");
	header("dev\n", 0);
	check(!opt.out.headed && is_said("the file and this run differ in the use of -f\n"),
	      "header: one with -f is refused without -f");
	header("dev", 2);
	check(!opt.out.headed && is_said("the header line is too long or has no end\n"),
	      "header: a line without an end is refused with a message");
	columns_take(-EACCES);
	check(is_said("gpustat appends a new header, because: error\n"),
	      "header: a file that cannot be read has a message");
}

static void t_ends(void)
{
	char b[16];

	opt.out.fmt = format_find(LIT("line"));
	opt.output = in_folder("log");
	put(opt.output, "cut");
	out_fd = open(opt.output, O_WRONLY | O_APPEND);
	append_begin();
	append_line();
	append_line();
	check_str(str_of(b, (size_t)file_slurp(opt.output, b, sizeof(b))), "cut\n",
	          "append: a line that was cut is ended once");
	append_begin();
	append_line();
	check_str(str_of(b, (size_t)file_slurp(opt.output, b, sizeof(b))), "cut\n",
	          "append: a complete line is not ended");
	close(out_fd);
	put(opt.output, "cut");
	out_fd = open(opt.output, O_WRONLY);
	append_begin();
	check(!is_cut, "append: a file that is overwritten is not ended");
	close(out_fd);
}

int main(void)
{
	folder_begin("fields");
	t_patterns();
	t_said();
	t_late();
	t_cells();
	t_headers();
	t_ends();
	shell("rm -rf \"$D\"");
	return unit_end();
}
