/* t_plot.c - `plot`: numbers and times, the readers of CSV and of JSON (commands/shared/runfile.c),
 * hostile input. Reads of the file and what is drawn are simulated. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static long fake_read(int fd, void *b, size_t n);
static void begin_seen(i64 time, i64 dt);
static void unit_seen(struct str unit);
static void value_seen(const struct plotids *id, const struct column *c, struct str inst,
		       const struct val *v, bool chosen);
#define sys_read fake_read
#define svg_begin begin_seen
#define svg_unit unit_seen
#define svg_put value_seen
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/shared/runfile.c"
#include "../../commands/plot.c"
#undef replay

struct opts opt;
volatile sig_atomic_t stopped;

static char log_bytes[1 << 16], said_bytes[1 << 12];
static struct buf seen, said; /* what is drawn; messages */

static struct {
	struct str text;
	size_t piece; /* a read returns at most this number of bytes */
	long error;   /* returned at the end of the text */
	bool interrupted, interrupts; /* interrupts: every other read returns EINTR */
	bool stops;   /* a signal comes after the first read */
} file;

static long fake_read(int fd, void *b, size_t n)
{
	size_t left = str_len(file.text);

	(void)fd;
	file.interrupted = !file.interrupted;
	if (file.interrupts && file.interrupted)
		return -EINTR;
	if (!left)
		return file.error;
	n = n < file.piece ? n : file.piece;
	n = n < left ? n : left;
	memcpy(b, file.text.p, n);
	file.text.p += n;
	stopped = file.stops;
	return (long)n;
}

static void begin_seen(i64 time, i64 dt)
{
	char text[64];

	snprintf(text, sizeof(text), "[%" PRId64 " %" PRId64 "]", time, dt);
	put_z(&seen, text);
}

static void unit_seen(struct str unit)
{
	put_z(&seen, "unit ");
	put_str(&seen, unit);
	put_c(&seen, ';');
}

static void value_seen(const struct plotids *id, const struct column *c, struct str inst,
		       const struct val *v, bool chosen)
{
	const struct str parts[] = { id->text[ID_DEV], str_z(c->group), inst, str_z(c->member) };
	char text[64];

	for (size_t i = 0; i < LEN(parts); i++) {
		put_c(&seen, i ? '.' : ' ');
		put_str(&seen, parts[i]);
	}
	snprintf(text, sizeof(text), "=%s%" PRIu64 "/%u%s;", v->neg ? "-" : "", v->n, v->point,
		 chosen ? "!" : "");
	put_z(&seen, text);
}

void say(const char *a, const char *b, const char *c)
{
	put_z(&said, a);
	put_z(&said, b);
	put_z(&said, c);
	put_c(&said, '\n');
}

void say_number(u64 n, const char *what)
{
	put_u64(&said, n);
	say(what, NULL, NULL);
}

void say_error(const char *who, long err) { say(who, ": ", error_text(err)); }
const char *error_text(long err) { return err == -EIO ? "EIO" : "error"; }
int usage_z(const char *z) { return say(z, NULL, NULL), EX_USAGE; }
int sink_open(void) { return -1; }
void confine_to_opened(void) { }

static void clear(struct str text)
{
	memset(&in, 0, sizeof(in));
	if (header.cells)
		memset(header.cells, 0, header_tables.cells.ready * sizeof(*header.cells));
	header.n = header.ncells = 0;
	header.is_long = false;
	plain = false;
	stopped = 0;
	in.name = "file";
	memset(&file, 0, sizeof(file));
	file.text = text;
	file.piece = SIZE_MAX;
	seen = BUF_Z(log_bytes);
	said = BUF_Z(said_bytes);
}

static struct str drawn(void)
{
	return str_of(seen.p, seen.n);
}

/* --- numbers and times ------------------------------------------------------------------------ */

static void t_numbers(void)
{
	static const struct { const char *text; u64 n; u8 point; bool neg; } good[] = {
		{ "0", 0, 0, false }, { "-0", 0, 0, true }, { "12.5", 125, 1, false },
		{ "7", 7, 0, false },
		{ "-3.25", 325, 2, true }, { "1e3", 1000, 0, false }, { "1E+3", 1000, 0, false },
		{ "1.5e-3", 15, 4, false }, { "100e-2", 100, 2, false },
		{ "0.000001", 1, 6, false },
		{ "1e400", UINT64_MAX, 0, false }, { "1e-400", 0, 0, false },
		{ "0e999999999", 0, 0, false },
		{ "1e18", 1000000000000000000, 0, false }, { "1e20", UINT64_MAX, 0, false },
		{ "12345678901234567890", 12345678901234567890u, 0, false },
		{ "1234567890123456789.99", 1234567890123456789, 0, false },
		{ "0.10", 10, 2, false }, { "1.5e2", 150, 0, false },
	};
	static const char *const bad[] = {
		"", "-", "+1", "00", "01", "1.", ".5", "1e", "1e+", "--1", "1 ", " 1", "1,5", "0x1",
		"1.5.2", "nan", "inf", "-.5", "1e1.5", "1\n",
	};
	struct val v;

	for (size_t i = 0; i < LEN(good); i++)
		check(scan_value(str_z(good[i].text), &v) && v.n == good[i].n &&
		      v.neg == good[i].neg && v.point == good[i].point,
		      "scan_value: '%s' is a number",
		      good[i].text);
	for (size_t i = 0; i < LEN(bad); i++)
		check(!scan_value(str_z(bad[i]), &v),
		      "scan_value: '%s' is not a number", show(str_z(bad[i])));
}

static void t_times(void)
{
	static const struct { const char *text; i64 us; } rows[] = {
		{ "0", 0 }, { "1763611200.123456", 1763611200123456 }, { "5", 5000000 },
		{ "1970-01-01T00:00:00Z", 0 }, { "2025-11-20T04:00:00.123456Z", 1763611200123456 },
		{ "2000-02-29T23:59:60Z", 951868800000000 },
		{ "1999-12-31T23:59:59.5Z", 946684799500000 },
		{ "2100-03-01T00:00:00Z", 4107542400000000 },
		{ "9999-12-31T23:59:59Z", 253402300799000000 },
		{ "", -1 }, { "x", -1 }, { "2025-13-20T04:00:00Z", -1 },
		{ "2025-00-20T04:00:00Z", -1 },
		{ "2025-11-32T04:00:00Z", -1 }, { "2025-11-20T24:00:00Z", -1 }, { "-5", -1 },
		{ "2025-11-20T04:60:00Z", -1 }, { "2025-11-20T04:00:61Z", -1 },
		{ "1969-11-20T04:00:00Z", -1 },
		{ "2025-11-20 04:00:00Z", -1 }, { "2025-11-20T04:00:00", -1 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		i64 us = time_parse(str_z(rows[i].text));

		if (!check(us == rows[i].us, "time_parse: '%s'", rows[i].text))
			note("got %" PRId64 ", want %" PRId64, us, rows[i].us);
	}
}

/* --- CSV -------------------------------------------------------------------------------------- */

#define LONG "time,dt,kind,dev,client,comm,field,instance,value\n"
#define FIRST "1.5,0.5,device,card0,,,engine.busy,render,12.5\n"
#define FIRST_SEEN "[1500000 500000] card0.engine.render.busy=125/1;"
#define WIDE "time,dev,engine.busy,temp.edge,clock.a,b c\n"

static const struct filecase {
	const char *text, *seen;
	u64 bad;
	const char *name;
} csvcases[] = {
	{ LONG FIRST, FIRST_SEEN, 0, "CSV, one value per row: a value" },
	{ LONG FIRST "2,0.5,device,card0,,,temp,\"a \"\"b\"\", c\",-5\n",
	  FIRST_SEEN "[2000000 500000] card0.temp.a \"b\", c.=-5/0;", 0,
	  "CSV, one value per row: quoted cells" },
	{ LONG "2,0.5,device,'-x,,,temp,'=b,-5\n2,0.5,device,'x,,,temp,',-5\n",
	  "[2000000 500000] -x.temp.=b.=-5/0;[2000000 500000] 'x.temp.'.=-5/0;", 0,
	  "CSV: the ' before a text that a spreadsheet would take for a formula is removed" },
	{ "\xef\xbb\xbf" LONG FIRST, FIRST_SEEN, 0, "CSV: a byte order mark is skipped" },
	{ LONG "1.5,0.5,device,card0,,,engine.busy,render,12.5\r\n\r\n\n", FIRST_SEEN, 0,
	  "CSV: lines that end in CR LF, and empty lines" },
	{ LONG "1.5,0.5,device,card0,,,engine.busy,render,12.5", FIRST_SEEN, 0,
	  "CSV: no line break at the end" },
	{ LONG FIRST LONG FIRST, FIRST_SEEN FIRST_SEEN, 0, "CSV: a second header is skipped" },
	{ LONG FIRST "1,2\n" FIRST, FIRST_SEEN FIRST_SEEN, 1,
	  "CSV: a row with too few cells is malformed" },
	{ LONG "1,2,3,4,5,6,7,8,9,10\n" FIRST, FIRST_SEEN, 1,
	  "CSV: a row with too many cells is malformed" },
	{ LONG FIRST "2,0.5,device,card0,,,temp,\"a,3\n", FIRST_SEEN, 1,
	  "CSV: a quote that is not closed is malformed" },
	{ LONG "1,,device,card0,,,temp,\"a\"b,3\n" FIRST, FIRST_SEEN, 1,
	  "CSV: a text after a closing quote is malformed" },
	{ LONG "1,,device,card0,,,temp,\"a\nb\",3\n", "[1000000 -1] card0.temp.a\nb.=3/0;", 0,
	  "CSV: a line break in quotes belongs to the cell" },
	{ LONG "1,,device,card0,,,temp,a,\n2,,device,card0,,,temp,a,x\n",
	  "[1000000 -1][2000000 -1]", 0,
	  "CSV: unknown values and texts are not drawn" },
	{ LONG "1,,device,card0,,,nonsense,a,3\n1,,device,card0,,,driver,,3\n",
	  "[1000000 -1][1000000 -1]", 0,
	  "CSV: unknown fields and fields that identify an entity are not drawn" },
	{ LONG "1,,counter,,,,unit,,bytes\n1,,counter,,,,value,,7\n",
	  "[1000000 -1]unit bytes;[1000000 -1] ...value=7/0;", 0,
	  "CSV: the unit of a counter is read before its value" },
	{ LONG "1,1,device,card0,,,temp.min,a,1\n1,1,device,card0,,,temp.avg,a,2\n",
	  "[1000000 1000000] card0.temp.a.=2/0;", 0, "CSV: only the means of --inner are drawn" },
	{ LONG FIRST "1,1,device,card0,,,temp.avg,a,2\n", FIRST_SEEN, 0,
	  "CSV: a summary after the samples is not drawn" },
	{ WIDE "1.5,card0,render=12.5 copy=0.0,61,7,-1e1\n",
	  "[1500000 -1] card0.engine.render.busy=125/1!;"
	  " card0.engine.copy.busy=0/0!; card0.temp.edge.=61/0!; card0.counter.clock.a.=7/0!;"
	  " card0.counter.b c.=-10/0!;", 0,
	  "CSV, one column per field: lists, instances, counters" },
	{ WIDE "1.5,card0,5,-,,\n", "[1500000 -1] card0.engine..busy=5/0!;", 0,
	  "CSV, one column per field: a field with one value" },
};

static void cases(const struct filecase *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct filecase *r = &rows[i];
		size_t differs = 0;

		clear(str_z(r->text));
		check(read_all(0) == 0, "%s: the file is read to its end", r->name);
		check_u64(in.bad, r->bad, "%s: the number of malformed records", r->name);
		check_str(drawn(), r->seen, "%s: these values are drawn", r->name);
		for (size_t piece = 1; piece < 60; piece++) {
			clear(str_z(r->text));
			file.piece = piece;
			file.interrupts = piece & 1;
			differs += read_all(0) != 0 || in.bad != r->bad ||
				!str_eq(drawn(), str_z(r->seen));
		}
		check_u64(differs, 0,
			  "%s: the same result when the file is read in pieces", r->name);
	}
}

/* --- JSON ------------------------------------------------------------------------------------- */

#define REC "{\"kind\":\"device\",\"time\":1.5,\"dt\":0.5,\"dev\":\"card0\",\"clients\":2}"
#define REC_SEEN "[1500000 500000] card0...clients=2/0;"
#define DEV "{\"kind\":\"device\",\"dev\":\"c\","
#define NONE_SEEN "[-1 -1]"

static const struct filecase jsoncases[] = {
	{ REC "\n" REC "\n", REC_SEEN REC_SEEN, 0, "JSON: one record on each line" },
	{ REC REC " " REC, REC_SEEN REC_SEEN REC_SEEN, 0, "JSON: several records on one line" },
	{ "[" REC ",\n " REC "]\n", REC_SEEN REC_SEEN, 0, "JSON: an array of records" },
	{ "{ \"kind\" : \"device\" ,\t\"clients\" : 2 }\r\n", NONE_SEEN " ...clients=2/0;", 0,
	  "JSON: blanks between the tokens" },
	{ "{\"clients\":3,\"dev\":\"c\",\"kind\":\"device\"}\n", NONE_SEEN " c...clients=3/0;", 0,
	  "JSON: the device is named after the values" },
	{ DEV "\"engine\":{\"render\":{\"busy\":12.5,\"freq\":null}}}\n",
	  NONE_SEEN " c.engine.render.busy=125/1;", 0, "JSON: a group of three levels" },
	{ DEV "\"temp\":{\"a\\\"\\u00e9\\n\":-5},\"link\":{\"width\":16}}\n",
	  NONE_SEEN " c.temp.a\"\xc3\xa9\n.=-5/0; c.link..width=16/0;", 0,
	  "JSON: groups of two levels, and escapes in texts" },
	{ DEV "\"temp\":{\"\\ud800\":1,\"\\uzzzz\":2}}\n",
	  NONE_SEEN " c.temp.\xef\xbf\xbd.=1/0; c.temp.\xef\xbf\xbd.=2/0;", 0,
	  "JSON: invalid escapes become U+FFFD" },
	{ DEV
	  "\"x\":[{\"clients\":[1,\"]\"]}],\"y\":{\"a\":{\"b\":{\"clients\":1}}},\"clients\":4}\n",
	  NONE_SEEN " c...clients=4/0;", 0, "JSON: arrays and deep objects are skipped" },
	{ "{\"summary\":\"max\",\"clients\":1}\n{\"summary\":\"avg\",\"clients\":2}\n" REC "\n"
	  "{\"summary\":\"avg\",\"clients\":3}\n", NONE_SEEN " ...clients=2/0;" REC_SEEN, 0,
	  "JSON: means are drawn only if no sample precedes them" },
	{ REC "\n{\"clients\":1,}\n" REC "\n", REC_SEEN REC_SEEN, 1,
	  "JSON: no value of a malformed record is drawn" },
	{ "{\"a\":[1}]}\n{\"a\":[{]},\"clients\":9}\n{\"a\":tru}\n{\"a\" 1}\n{\"a\":01}\n{1:2}\n"
	  REC, REC_SEEN, 6, "JSON: six malformed records" },
	{ REC "\n{\"clients\":1", REC_SEEN, 1, "JSON: a truncated last record" },
	{ REC "\nnonsense\n" REC, REC_SEEN REC_SEEN, 1, "JSON: a line that is not a record" },
	{ "{\"a\":\"x\ty\"}\n" REC, REC_SEEN, 1,
	  "JSON: a control character in a text is malformed" },
};

/* --- hostile input ---------------------------------------------------------------------------- */

static bool file_fed(struct str s)
{
	long r;

	clear(s);
	file.piece = 7;
	r = read_all(0);
	return (r == -ENOEXEC || (r == 0 && str_len(file.text) == 0)) && !seen.full && !said.full;
}

static void t_hostile(void)
{
	static char text[5 << 20];
	struct buf b = BUF(text);

	check(replay(LIT(LONG FIRST "2,,device,c,,,temp,\"a \"\"\",-5e3\n"), file_fed),
	      "hostile CSV, one value per row: each file is read or refused");
	check(replay(LIT(WIDE "1.5,card0,a=1 b=2,\"6\",7,\n"), file_fed),
	      "hostile CSV, one column per field: each file is read or refused");
	check(replay(LIT("[" REC "," DEV
			 "\"engine\":{\"r\\u00e9\":{\"busy\":1e3}},\"x\":[{}]}]\n"), file_fed),
	      "hostile JSON: each file is read or refused");
	for (size_t levels = 63; levels < 65; levels++) {
		bool good = levels == 63;

		b.n = 0;
		put_z(&b, DEV "\"x\":");
		for (size_t i = 0; i < levels; i++)
			put_c(&b, '[');
		for (size_t i = 0; i < levels; i++)
			put_c(&b, ']');
		put_z(&b, "}\n" REC "\n");
		clear(str_of(b.p, b.n));
		check(read_all(0) == 0 && in.bad == !good &&
		      str_eq(drawn(), str_z(good ? NONE_SEEN REC_SEEN : REC_SEEN)),
		      "JSON: %zu levels of arrays are %s", levels, good ? "read" : "too many");
	}
	for (int json = 0; json < 2; json++) {
		const char *row = json ? REC "\n" : FIRST;

		b.n = 0;
		put_z(&b, json ? REC "\n{\"x\":\"" : LONG FIRST "1,");
		memset(text + b.n, 'x', 4 << 20);
		b.n += 4 << 20;
		put_z(&b, "\n");
		put_z(&b, row);
		clear(str_of(b.p, b.n));
		check(read_all(0) == 0 && in.bad == 1, "%s: a record of 4 MiB is left out",
		      json ? "JSON" : "CSV");
		check_str(drawn(), json ? REC_SEEN REC_SEEN : FIRST_SEEN FIRST_SEEN,
			  "%s: the records before and after it are drawn", json ? "JSON" : "CSV");
		check(str_find(str_of(said.p, said.n), str_z(": the record is too long\n")),
		      "%s: a message tells that a record is too long", json ? "JSON" : "CSV");
	}
}

/* CSV files with the maximum number of columns and with one more; JSON texts at their limit. */
static void t_full(void)
{
	enum { UNESCAPED = 128 << 10 }; /* bytes of texts of a record */
	static char text[256 << 10];
	const struct table *full;
	u32 n;

	while (table_full(&n))
		;
	for (u32 cells = MAX_COLUMNS; cells <= MAX_COLUMNS + 1; cells++) {
		struct buf b = BUF(text);
		long r;

		put_z(&b, "time,dev,engine.busy");
		for (u32 i = 3; i < cells; i++) {
			put_z(&b, ",temp.t");
			put_u64(&b, i);
		}
		put_z(&b, "\n1.5,card0,12.5");
		for (u32 i = 3; i < cells; i++)
			put_z(&b, ",7");
		put_z(&b, "\n");
		clear(str_of(b.p, b.n));
		r = read_all(0);
		full = table_full(&n);
		if (cells == MAX_COLUMNS)
			check(r == 0 && in.bad == 0 && !full && str_find(drawn(), LIT("t1023")), "1024 columns are drawn");
		else
			check(r == -ENOEXEC && str_len(drawn()) == 0 && full && strcmp(full->name, "columns of a CSV file") == 0,
			      "1025 columns: the file is refused, and the table is reported");
	}
	for (u32 more = 0; more < 2; more++) {
		struct buf b = BUF(text);

		put_z(&b, REC "\n" DEV "\"name\":\"\\n");
		memset(text + b.n, 'x', UNESCAPED - 1 + more);
		b.n += UNESCAPED - 1 + more;
		put_z(&b, "\"}\n" REC "\n");
		clear(str_of(b.p, b.n));
		check(read_all(0) == 0 && in.bad == more,
		      "JSON: escaped texts of at most 131072 bytes: %u bytes", UNESCAPED + more);
	}
}

/* --- the command ------------------------------------------------------------------------------ */

static int plot(const char *text, const char *name)
{
	static char word[64];
	static char *words[] = { word };

	clear(str_z(text));
	opt.words = words;
	opt.nwords = 1;
	str_copy(word, sizeof(word), str_z(name));
	return cmd_plot();
}

static bool is_said(const char *text)
{
	return str_find(str_of(said.p, said.n), str_z(text));
}

static void t_command(void)
{
	static struct str patterns[] = { STR("engine.render") };

	check(plot(LONG FIRST, "-") == EX_OK && said.n == 0 && opt.out.headed,
	      "-: standard input is read, exit code 0");
	check(plot(LONG, "/nonexistent") == EX_FAIL && is_said("/nonexistent: "),
	      "no such file: exit code 1");
	check(plot("a,b\n1,2\n", "-") == EX_FAIL && is_said("-: the file is neither CSV nor JSON output of gpustat\n"),
	      "another CSV file: exit code 1");
	check(plot("", "-") == EX_OK && seen.n == 0, "an empty file: exit code 0");
	check(plot(LONG "1\n2\n3\n4\n5\n", "-") == EX_FAIL &&
	      is_said("-: line 4: the row does not match") &&
	      !is_said("line 5") && is_said("5 malformed lines of the input file were left out\n"),
	      "5 malformed lines: exit code 1, 3 messages and their number");
	opt.nwords = 0;
	check(cmd_plot() == EX_USAGE, "no file name: exit code 2");
	clear(str_z(LONG FIRST));
	file.error = -EIO;
	check(read_all(0) == -EIO, "a read error is returned");
	clear(str_z(LONG FIRST FIRST));
	file.stops = true;
	file.piece = strlen(LONG FIRST);
	check(read_all(0) == 0 && str_eq(drawn(), str_z(FIRST_SEEN)),
	      "a signal: the rows that were read are drawn");
	opt.patterns[0] = patterns[0];
	opt.out.npatterns = 1;
	clear(str_z(LONG FIRST "1.5,0.5,device,card0,,,engine.busy,copy,1\n"));
	check(read_all(0) == 0 && str_eq(drawn(), str_z("[1500000 500000]"
							" card0.engine.render.busy=125/1!;"
							"[1500000 500000]")),
							"-f selects the values to draw");
}

int main(void)
{
	t_numbers();
	t_times();
	cases(csvcases, LEN(csvcases));
	cases(jsoncases, LEN(jsoncases));
	t_hostile();
	t_full();
	t_command();
	return unit_end();
}
