/* t_out.c - records and formats: numbers, names that contain any byte, buffers that are too small,
 * lines that are too narrow. SPDX-License-Identifier: MIT */
#include "../../views/out.c" /* the writers of single values are static */
#include "holds.h"
#include "unit.h"

#include <time.h>

#define S(lit) ((struct str)STR(lit))

static char big[1 << 20];
static struct record rec;

static struct str made(const struct buf *b)
{
	return (struct str){ b->p, b->p + b->n };
}

static struct buf fresh(void)
{
	return (struct buf){ .p = big, .cap = sizeof(big) };
}

/* --- what the writers assume about records: tests/eva/out.h ----------------------------------- */

static size_t records, not_promised;

static void make_record(struct record *r, const struct entity *e, const struct recopts *o)
{
	record_make(r, e, o);
	records++;
	not_promised += !record_holds(r);
}
#define record_make make_record

static void t_promises(void)
{
	check(records > 0, "records were made");
	check_u64(not_promised, 0, "every record fulfils what the writers assume");
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void t_numbers(void)
{
	static const struct {
		u8 type, unit;
		bool neg;
		u64 n;
		const char *exact, *human;
	} rows[] = {
		{ V_INT, U_NONE, false, 0, "0", "0" },
		{ V_INT, U_NONE, false, UINT64_MAX, "18446744073709551615", "18446744073709551615" },
		{ V_INT, U_NONE, false, 9007199254740993, "9007199254740993", "9007199254740993" },
		{ V_INT, U_PERCENT, false, 0, "0.0", "0.0%" },
		{ V_INT, U_PERCENT, false, 12500, "12.5", "12.5%" },
		{ V_INT, U_PERCENT, false, 12345, "12.345", "12.3%" },
		{ V_INT, U_PERCENT, false, 12350, "12.35", "12.4%" },
		{ V_INT, U_PERCENT, false, 1, "0.001", "0.0%" },
		{ V_INT, U_PERCENT, false, 100000, "100.0", "100.0%" },
		{ V_INT, U_PERCENT, false, 99999, "99.999", "100.0%" },
		{ V_INT, U_BYTES, false, 1023, "1023", "1023" },
		{ V_INT, U_BYTES, false, 1024, "1024", "1.0K" },
		{ V_INT, U_BYTES, false, 1536, "1536", "1.5K" },
		{ V_INT, U_BYTES, false, 10240, "10240", "10K" },
		{ V_INT, U_BYTES, false, 536870912, "536870912", "512M" },
		{ V_INT, U_BYTES, false, 1ull << 60, "1152921504606846976", "1.0E" },
		{ V_INT, U_BYTES, false, UINT64_MAX, "18446744073709551615", "16E" },
		{ V_INT, U_HZ, false, 1300000000, "1300000000", "1300MHz" },
		{ V_INT, U_HZ, false, 499999, "499999", "0MHz" },
		{ V_INT, U_HZ, false, 500000, "500000", "1MHz" },
		{ V_INT, U_HZ, false, UINT64_MAX, "18446744073709551615", "18446744073710MHz" },
		{ V_INT, U_NS, false, 1734371319, "1734371319", "1.734s" },
		{ V_INT, U_NS, false, UINT64_MAX, "18446744073709551615", "18446744073.709s" },
		{ V_INT, U_CELSIUS, false, 45000, "45.0", "45C" },
		{ V_INT, U_CELSIUS, false, 45499, "45.499", "45C" },
		{ V_INT, U_CELSIUS, false, 45500, "45.5", "46C" },
		{ V_INT, U_CELSIUS, true, 40500, "-40.5", "-41C" },
		{ V_INT, U_CELSIUS, true, 1, "-0.001", "0C" },
		{ V_INT, U_CELSIUS, true, 1ull << 63, "-9223372036854775.808", "-9223372036854776C" },
		{ V_INT, U_WATT, false, 4200000, "4.2", "4.2W" },
		{ V_INT, U_WATT, false, 1, "0.000001", "0.0W" },
		{ V_INT, U_WATT, false, 350000000, "350.0", "350.0W" },
		{ V_INT, U_WATT, false, 1500000000, "1500.0", "1500W" },
		{ V_INT, U_WATT, false, UINT64_MAX, "18446744073709.551615", "18446744073710W" },
		{ V_INT, U_JOULE, false, 123400000, "123.4", "123J" },
		{ V_INT, U_JOULE, false, UINT64_MAX, "18446744073709.551615", "18446744073710J" },
		{ V_INT, U_VOLT, false, 800, "0.8", "0.80V" },
		{ V_INT, U_VOLT, false, 12345, "12.345", "12.345V" },
		{ V_INT, U_AMPERE, true, 1500, "-1.5", "-1.50A" },
		{ V_INT, U_RPM, false, 1200, "1200", "1200rpm" },
		{ V_INT, U_GTS, false, 80, "8.0", "8.0GT/s" },
		{ V_INT, U_GTS, false, 25, "2.5", "2.5GT/s" },
		{ V_TIME, U_SECONDS, false, 1763611200123456, "1763611200.123456", NULL },
		{ V_TIME, U_SECONDS, false, 0, "0.000000", NULL },
		{ V_TIME, U_SECONDS, false, 500000, "0.500000", NULL },
		{ V_TIME, U_SECONDS, false, INT64_MAX, "9223372036854.775807", NULL },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct val v = { .type = rows[i].type, .unit = rows[i].unit, .neg = rows[i].neg, .n = rows[i].n };
		struct buf b = fresh();

		put_number(&b, &v);
		check_str(made(&b), rows[i].exact, "number: %s", rows[i].exact);
		b = fresh();
		if (rows[i].human) {
			put_human(&b, v);
			check_str(made(&b), rows[i].human,
			          "human-readable number: %s%s", rows[i].exact, units[v.unit].name);
		}
	}
	{
		size_t bad = 0;
		char want[32];

		for (int i = 0; i < 200000; i++) {
			u64 v = rnd() >> rnd() % 64;
			struct buf b = { .p = edge_page(20), .cap = 20 };

			put_u64(&b, v);
			snprintf(want, sizeof(want), "%" PRIu64, v);
			bad += b.full || !str_eq(made(&b), str_z(want));
			b = fresh();
			put_dec(&b, v, 6, 6);
			snprintf(want, sizeof(want), "%" PRIu64 ".%06" PRIu64, v / 1000000, v % 1000000);
			bad += !str_eq(made(&b), str_z(want));
		}
		check_u64(bad, 0, "200 000 numbers of any size are written correctly");
	}
}

/* Six decimals; the seventh rounds. */
static void t_fixed(void)
{
	static const struct { u64 n; u8 point; const char *text; } rows[] = {
		{ 5, 0, "5.000000" }, { 15, 7, "0.000002" }, { 14, 7, "0.000001" }, { 149, 8, "0.000001" },
		{ 1234567, 6, "1.234567" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct buf b = fresh();

		put_fixed(&b, rows[i].n, rows[i].point);
		check_str(made(&b), rows[i].text, "six decimals: %s", rows[i].text);
	}
}

static void t_dates(void)
{
	static const struct {
		u64 us;
		const char *iso;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000000Z" },
		{ 951782400000001, "2000-02-29T00:00:00.000001Z" },
		{ 951868799999999, "2000-02-29T23:59:59.999999Z" },
		{ 951868800000000, "2000-03-01T00:00:00.000000Z" },
		{ 1709164800000000, "2024-02-29T00:00:00.000000Z" },
		{ 1763611200123456, "2025-11-20T04:00:00.123456Z" },
		{ 2147483647000000, "2038-01-19T03:14:07.000000Z" },
		{ 2147483648000000, "2038-01-19T03:14:08.000000Z" },
		{ 4107542399000000, "2100-02-28T23:59:59.000000Z" },
		{ 4107542400000000, "2100-03-01T00:00:00.000000Z" },
		{ 4294967296000000, "2106-02-07T06:28:16.000000Z" },
		{ 253402300799999999, "9999-12-31T23:59:59.999999Z" },
	};
	size_t bad = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		struct buf b = fresh();

		put_iso(&b, rows[i].us);
		check_str(made(&b), rows[i].iso, "date: %s", rows[i].iso);
	}
	for (u64 day = 0; day < 366 * 200; day++) {
		time_t t = (time_t)(day * 86400 + day % 86400);
		struct tm tm;
		char want[64];
		struct buf b = fresh();

		gmtime_r(&t, &tm);
		snprintf(want, sizeof(want), "%04d-%02d-%02dT%02d:%02d:%02d.000000Z", tm.tm_year + 1900, tm.tm_mon + 1,
			 tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec);
		put_iso(&b, (u64)t * 1000000);
		bad += !str_eq(made(&b), str_z(want));
	}
	check_u64(bad, 0, "each day of two centuries has the date that libc reports");
}

/* --- names that contain any byte -------------------------------------------------------------- */

/* Decodes a JSON string; false if it is not valid. */
static bool json_decode(struct str s, char *out, size_t *n)
{
	*n = 0;
	for (; s.p < s.e; s.p++) {
		unsigned v;

		if (*s.p != '\\') {
			out[(*n)++] = *s.p;
			continue;
		}
		if (++s.p == s.e)
			return false;
		if (*s.p == '"' || *s.p == '\\') {
			out[(*n)++] = *s.p;
			continue;
		}
		if (*s.p != 'u' || s.e - s.p < 5 || sscanf(s.p + 1, "%4x", &v) != 1)
			return false;
		s.p += 4;
		if (v < 0x80) {
			out[(*n)++] = (char)v;
		} else if (v < 0xa0 || v == 0x61c) {
			out[(*n)++] = (char)(0xc0 | v >> 6);
			out[(*n)++] = (char)(0x80 | (v & 0x3f));
		} else if (v == 0xfffd || (v >= 0x200e && v <= 0x2069)) {
			out[(*n)++] = (char)(0xe0 | v >> 12);
			out[(*n)++] = (char)(0x80 | (v >> 6 & 0x3f));
			out[(*n)++] = (char)(0x80 | (v & 0x3f));
		} else {
			return false;
		}
	}
	return true;
}

/* The same text with U+FFFD for each byte that is not UTF-8. */
static size_t mended(struct str s, char *out)
{
	size_t n = 0;

	while (s.p < s.e) {
		size_t k = utf8_plain(s.p, s.e);

		memcpy(out + n, k ? s.p : "\xef\xbf\xbd", k ? k : 3);
		n += k ? k : 3;
		s.p += k ? k : 1;
	}
	return n;
}

static void hex(char *out, u8 c)
{
	sprintf(out, "\\x%02x", c);
}

/* The text that put_text has to write. */
/* Returns whether a character of n bytes begins a line, or changes the direction of the text after
 * it: Unicode's categories Zl and Zp, and the property Bidi_Control. */
static bool moves(const char *p, size_t n)
{
	u32 c = n == 2 ? ((u32)p[0] & 0x1f) << 6 | ((u32)p[1] & 0x3f) :
		n == 3 ? ((u32)p[0] & 0xf) << 12 | ((u32)p[1] & 0x3f) << 6 | ((u32)p[2] & 0x3f) : 0;

	return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

static size_t as_text(struct str s, char *out)
{
	size_t n = 0;

	while (s.p < s.e) {
		size_t k = utf8_plain(s.p, s.e);
		bool plain = k && is_clean((struct str){ s.p, s.p + k }, false) && !moves(s.p, k);

		for (size_t i = 0; i < (k ? k : 1); i++, s.p++) {
			if (plain) {
				out[n++] = *s.p;
			} else {
				hex(out + n, (u8)*s.p);
				n += 4;
			}
		}
	}
	return n;
}

/* Returns whether one name is written correctly in each format. */
static bool escapes(const char *p, size_t n)
{
	char want[256], got[256];
	size_t want_n, got_n;
	struct str in = edge_str(p, n), s;
	struct buf b = fresh();

	put_quoted(&b, in);
	put_c(&b, '\n');
	s = made(&b);
	if (!json_ok(s, NULL))
		return false;
	s.p++;
	s.e -= 2;
	for (const char *q = s.p; q < s.e; q++)
		if (moves(q, utf8_plain(q, s.e)))
			return false;
	want_n = mended(in, want);
	if (!json_decode(s, got, &got_n) || got_n != want_n || memcmp(got, want, want_n) != 0)
		return false;

	b = fresh();
	put_text(&b, in);
	s = made(&b);
	want_n = as_text(in, want);
	return is_clean(s, false) && str_len(s) == want_n && memcmp(s.p, want, want_n) == 0;
}

/* The bytes that need no escape in each place, tested one by one and in runs. */
static void t_clean(void)
{
	static const struct {
		u8 where;
		const char *but;
	} rows[] = { { CLEAN_TEXT, "" }, { CLEAN_STRING, "\"\\" }, { CLEAN_TAG, ",= " }, { CLEAN_WORD, " =\"\\" }, { CLEAN_CELL, ",\"" } };

	for (size_t i = 0; i < LEN(rows); i++) {
		size_t bad = 0;

		for (int c = 0; c < 256; c++)
			for (size_t n = 0; n < 20; n++) {
				char text[20];
				bool clean = c >= ' ' && c < 127 && !strchr(rows[i].but, c);

				memset(text, 'a', sizeof(text));
				text[n] = (char)c;
				bad += clean_len((struct str){ text, text + 20 }, rows[i].where) != (clean ? 20 : n);
			}
		check(bad == 0,
		      "clean_len: printable bytes need no escape, except "
		      "%s", show(str_z(rows[i].but)));
	}
}

static void t_escapes(void)
{
	static const u8 edges[] = { 0x00, 0x0a, 0x22, 0x41, 0x5c, 0x7f, 0x80, 0x81, 0x85, 0x8e, 0x8f, 0x90, 0x9f, 0xa0, 0xa6, 0xa7, 0xa8, 0xa9, 0xaa, 0xae, 0xaf, 0xbf, 0xc0, 0xc2,
				    0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff };
	static const u8 leads[] = { 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xe2, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff };
	size_t bad = 0;

	for (unsigned i = 0; i < 256; i++)
		bad += !escapes((char[]){ (char)i }, 1);
	check_u64(bad, 0, "each single byte is escaped correctly");
	for (unsigned i = 0; i < 65536; i++)
		bad += !escapes((char[]){ (char)(i >> 8), (char)i }, 2);
	check_u64(bad, 0, "each pair of bytes is escaped correctly");
	for (size_t l = 0; l < LEN(leads); l++)
		for (size_t i = 0; i < LEN(edges); i++)
			for (size_t k = 0; k < LEN(edges); k++) {
				bad += !escapes((char[]){ (char)leads[l], (char)edges[i], (char)edges[k] }, 3);
				for (size_t m = 0; m < LEN(edges); m++)
					bad += !escapes((char[]){ (char)leads[l], (char)edges[i], (char)edges[k], (char)edges[m] }, 4);
			}
	check_u64(bad, 0,
	          "sequences of three and four bytes around each limit are escaped correctly");
	for (unsigned i = 0; i < 0x110000; i += 7) {
		char b[4] = { (char)(0xf0 | i >> 18), (char)(0x80 | (i >> 12 & 0x3f)), (char)(0x80 | (i >> 6 & 0x3f)),
			      (char)(0x80 | (i & 0x3f)) };

		bad += utf8_len(b, b + 4) != utf8_plain(b, b + 4);
		b[1] = (char)(0xe0 | (i >> 12 & 0xf));
		bad += utf8_len(b + 1, b + 4) != utf8_plain(b + 1, b + 4);
	}
	check_u64(bad, 0, "utf8_len is right for characters of all planes");
	{
		struct buf b = fresh();

		put_text(&b, S("a\x1b[2J\x9b\xc2\x9b" "caf\xc3\xa9 \xed\xa0\x80\xf0\x9f\x90\xa7"));
		check_str(made(&b), "a\\x1b[2J\\x9b\\xc2\\x9b" "caf\xc3\xa9 \\xed\\xa0\\x80\xf0\x9f\x90\xa7",
			  "terminal control sequences are escaped");
		check(text_width(S("caf\xc3\xa9")) == 4 && text_width(S("")) == 0, "text_width counts characters");
	}
}

/* --- CSV -------------------------------------------------------------------------------------- */

/* Decodes a cell according to RFC 4180. */
static size_t csv_decode(struct str s, char *out)
{
	size_t n = 0;

	if (s.p == s.e || *s.p != '"') {
		memcpy(out, s.p, str_len(s));
		return str_len(s);
	}
	for (s.p++; s.p < s.e - 1; s.p++) {
		if (*s.p == '"' && (s.p + 1 == s.e - 1 || *++s.p != '"'))
			return SIZE_MAX;
		out[n++] = *s.p;
	}
	return *s.p == '"' ? n : SIZE_MAX;
}

static void t_csv(void)
{
	static const struct {
		const char *in, *out;
	} rows[] = {
		{ "", "" }, { "plain", "plain" }, { "a b", "a b" }, { "a,b", "\"a,b\"" }, { "a\"b", "\"a\"\"b\"" },
		{ "\"", "\"\"\"\"" }, { "\"\"", "\"\"\"\"\"\"" }, { " a", "\" a\"" }, { "a ", "\"a \"" }, { " ", "\" \"" },
		{ ",", "\",\"" }, { "a;b", "a;b" }, { "'", "'" },
	};
	/* no formulas for a spreadsheet, unless --csv-exact is given */
	static const struct {
		const char *in, *out, *exact;
	} guarded[] = {
		{ "=1+1", "'=1+1", "=1+1" }, { "+x", "'+x", "+x" }, { "-x", "'-x", "-x" }, { "@a", "'@a", "@a" },
		{ "=a,b", "\"'=a,b\"", "\"=a,b\"" }, { "-5", "-5", "-5" }, { "-", "-", "-" }, { "a=1", "a=1", "a=1" },
	};
	static const struct out exact = { .csv_exact = true }, safe = { 0 };
	size_t bad = 0;

	for (size_t i = 0; i < LEN(guarded); i++)
		for (int k = 0; k < 2; k++) {
			struct buf b = fresh();

			put_z(&b, "x,");
			put_z(&b, guarded[i].in);
			csv_quote(&b, k ? &exact : &safe, 2);
			check_str((struct str){ b.p + 2, b.p + b.n }, k ? guarded[i].exact : guarded[i].out,
				  "csv: '%s', a formula or not", guarded[i].in);
		}

	for (size_t i = 0; i < LEN(rows); i++) {
		struct buf b = fresh();

		put_z(&b, "x,");
		put_z(&b, rows[i].in);
		csv_quote(&b, &exact, 2);
		check_str((struct str){ b.p + 2, b.p + b.n }, rows[i].out, "csv: '%s'", rows[i].in);
	}
	for (int i = 0; i < 200000; i++) {
		char in[16], out[64];
		size_t n = rnd() % sizeof(in), cap, got;
		struct buf b;

		for (size_t k = 0; k < n; k++)
			in[k] = "ab ,\"="[rnd() % 6];
		cap = 2 + rnd_of(40);
		b = (struct buf){ .p = edge_page(cap), .cap = cap };
		put_z(&b, "x,");
		put_str(&b, (struct str){ in, in + n });
		if (b.full)
			continue;
		csv_quote(&b, &exact, 2);
		bad += b.n > b.cap;
		if (b.full)
			continue;
		got = csv_decode((struct str){ b.p + 2, b.p + b.n }, out);
		bad += got != n || memcmp(in, out, n) != 0;
	}
	check_u64(bad, 0, "csv: 200 000 cells can be read back, whatever the buffer size");
}

/* --- records ---------------------------------------------------------------------------------- */

static u32 dev, cli;

static void put_client(struct entity *e, i64 t, u64 k)
{
	reg_begin(e, t);
	reg_put(e, D_BUSY_NS, S("render"), k * 125000000, t);
	reg_put(e, D_BUSY_NS, S("video-enhance"), 0, t);
	reg_put(e, D_BUSY_NS, S("dec,\"x\" \xff\n"), k * 100000000, t);
	reg_put(e, D_CYCLES, S("render"), k * 1000, t);
	reg_put(e, D_MAXFREQ, S("render"), 1000000000, t);
	reg_put(e, D_CAPACITY, S("video-enhance"), 2, t);
	reg_put(e, D_TOTAL, S("vram0"), 1 << 30, t);
	reg_put(e, D_RESIDENT, S("vram0"), 1 << 29, t);
	reg_put(e, D_RESIDENT, S("gtt"), 4096, t);
}

/* Registers one device, one client and one cgroup. */
static void make_machine(void)
{
	struct entity *e;
	u32 t;

	dev = device_add();
	e = &devices[dev].e;
	str_copy(devices[dev].dev, sizeof(devices[0].dev), S("card0"));
	str_copy(devices[dev].driver, sizeof(devices[0].driver), S("xe"));
	str_copy(devices[dev].pdev, sizeof(devices[0].pdev), S("0000:03:00.0"));
	str_copy(devices[dev].state, sizeof(devices[0].state), S("active"));
	devices[dev].card = 0;
	cli = client_add(dev, KEY_ID, UINT64_MAX);
	t = task_add(4242);
	tasks[t].start = 1;
	memcpy(tasks[t].comm, "a b\"\\,=\x1b\xff\xc3\xa9", 11);
	tasks[t].comm_len = 11;
	tasks[t].has_comm = true;
	tasks[t].cgroup = cgroup_add(S("/user.slice/a\tb,c d"));
	holder_add(4242, 5, t, cli);
	holder_add(4243, 6, task_add(4243), cli);
	holder_add(4243, 7, task_find(4243), cli);
	clients[cli].name = text_put(NONE, S("na\"me"));
	clients[cli].other = text_put(NONE, S("pasid:1\nv3d-jobs-bin:5 jobs\nx:\n"));
	for (u64 k = 1; k < 3; k++) {
		i64 now = (i64)k * 1000000000;

		put_client(&clients[cli].e, now, k);
		reg_begin(e, now);
		reg_put(e, D_TEMP, S("edge"), (u64)-5500, now);
		reg_put(e, D_POWER, S("card"), 4200000, now);
		reg_put(e, D_ENERGY, S("pkg"), k * 5000000, now);
		reg_put(e, D_FREQ_CUR, S("gt0"), 1300000000, now);
		reg_put(e, D_THROTTLE, S("pl1"), 1, now);
		reg_put(e, D_THROTTLE, S("thermal"), 0, now);
		reg_put(e, D_THROTTLE, S("pl2"), 1, now);
		reg_put(e, D_LINK_SPEED, S(""), 160, now);
		reg_put(e, D_VRAM_USED, S(""), 1 << 30, now);
		reg_sum_clients(false, true);
	}
}

static const struct recopts live = { .time_us = 1763611200123456, .dt_us = 1000000 };
static const struct recopts raw = { .raw = true, .time_us = 1763611200123456, .dt_us = -1 };

static const struct entity *odd_entity(u8 kind); /* an event, a sample or a profile line */

static const struct entity *entity_of(u8 kind)
{
	if (kind >= K_EVENT)
		return odd_entity(kind);
	reg_sum_clients(kind == K_CGROUP, true);
	return kind == K_DEVICE ? &devices[dev].e : kind == K_CLIENT ? &clients[cli].e : &groups[1].e;
}

/* Writes one sample completely in one format. */
static void put_whole(struct out *o, struct buf *b, const struct record *r)
{
	if (out_measures(o))
		out_measure(o, r);
	out_record(o, b, r);
	out_end(o, b);
}

static struct out out_of(const char *format, u8 kind)
{
	return (struct out){ .fmt = format_find(str_z(format)), .kind = kind, .width = 100 };
}

static const char *const format_list[] = { "line", "table", "plain", "csv", "json", "logfmt" };

static void t_keys(void)
{
	/* "A key shown above is always present: null when unknown." */
	static const struct {
		u8 kind;
		const char *keys;
	} rows[] = {
		{ K_DEVICE, "schema kind time dt dev driver pdev name state clients unreadable dropped busy idle engine memory "
			    "vram freq temp power energy fan volt throttle link" },
		{ K_CLIENT, "schema kind time dt dev driver pdev client name pid comm pids cgroup container engine memory other" },
		{ K_CGROUP, "schema kind time dt dev cgroup container clients engine memory" },
	};
	static const char *const fdinfo = "schema kind file driver pdev client name engine memory other skipped";
	static char keys[4096];

	for (size_t i = 0; i <= LEN(rows); i++)
		for (int bare = 0; bare < 2; bare++) {
			struct str words = str_z(i < LEN(rows) ? rows[i].keys : fdinfo), w;
			u8 kind = i < LEN(rows) ? rows[i].kind : K_FDINFO;
			struct out o = out_of("json", kind);
			struct buf b = fresh(), k = { .p = keys, .cap = sizeof(keys) };
			struct device nd = { .e = { .kind = K_DEVICE } };
			struct client nc = { .e = { .kind = kind } };
			struct group ng = { .e = { .kind = K_CGROUP } };
			size_t bad = 0;

			if (!bare && kind == K_FDINFO)
				continue;
			record_make(&rec, !bare ? entity_of(kind) : kind == K_DEVICE ? &nd.e : kind == K_CGROUP ? &ng.e : &nc.e,
				    kind == K_FDINFO ? &raw : &live);
			put_whole(&o, &b, &rec);
			check(json_ok(made(&b), &k),
			      "json: a record of kind %u%s is well formed", kind, bare ?
			      " without values" : "");
			while (str_word(&words, &w)) {
				char quoted[64];

				snprintf(quoted, sizeof(quoted), "\"%.*s\"", (int)str_len(w), w.p);
				if (!str_find(made(&k), str_z(quoted)) && !bad++)
					note("no key %s in %s", quoted, show(made(&b)));
			}
			check(bad == 0, "json: a record of kind %u%s has all its keys", kind, bare ?
			      " without values" : "");
		}
}

static void t_records(void)
{
	static const struct {
		u8 kind;
		const char *format, *holds;
	} rows[] = {
		{ K_DEVICE, "json", "\"temp\":{\"edge\":-5.5}" },
		{ K_DEVICE, "json", "\"power\":{\"card\":4.2,\"pkg\":5.0}" },
		{ K_DEVICE, "json", "\"throttle\":[\"pl1\",\"pl2\"]" },
		{ K_DEVICE, "json", "\"link\":{\"speed\":16.0,\"width\":null}" },
		{ K_DEVICE, "json", "\"render\":{\"busy\":12.5,\"capacity\":1," },
		{ K_DEVICE, "json", "\"dec,\\\"x\\\" \\ufffd\\u000a\":{\"busy\":10.0" },
		{ K_CLIENT, "json", "\"client\":18446744073709551615" },
		{ K_CLIENT, "json", "\"comm\":\"a b\\\"\\\\,=\\u001b\\ufffd\xc3\xa9\"" },
		{ K_CLIENT, "json", "\"pids\":[4242,4243]" },
		{ K_CLIENT, "json", "\"cgroup\":\"/user.slice/a\\u0009b,c d\"" },
		{ K_CLIENT, "json", "\"other\":{\"pasid\":\"1\",\"v3d-jobs-bin\":\"5 jobs\",\"x\":\"\"}" },
		{ K_CLIENT, "json", "\"video-enhance\":{\"busy\":0.0,\"capacity\":2,\"util\":null,\"freq\":null}" },
		{ K_CLIENT, "csv", "\"a b\"\"\\,=\\x1b\\xff\xc3\xa9\"" },
		{ K_CLIENT, "csv", "pids,,4242 4243\n" },
		{ K_CLIENT, "csv", "engine.busy,\"dec,\"\"x\"\" \\xff\\x0a\",10.0\n" },
		{ K_CLIENT, "logfmt", "comm=\"a b\\\"\\\\,=\\u001b\\ufffd\xc3\xa9\"" },
		{ K_CLIENT, "logfmt", "engine.video_enhance.busy=0.0" },
		{ K_CLIENT, "logfmt", "pids=4242,4243 " },
		{ K_CLIENT, "line", "a b\"\\,=\\x1b\\xff\xc3\xa9" },
		{ K_CGROUP, "line", "/user.slice/a\\x09b,c d" },
		{ K_CGROUP, "json", "\"clients\":1," },
		{ K_CGROUP, "json", "\"engine\":{\"render\":{\"busy\":12.5" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct out o = out_of(rows[i].format, rows[i].kind);
		struct buf b = fresh();

		record_make(&rec, entity_of(rows[i].kind), &live);
		put_whole(&o, &b, &rec);
		if (!check(str_find(made(&b), str_z(rows[i].holds)),
		           "%s of kind %u contains %s", rows[i].format, rows[i].kind,
			   show(str_z(rows[i].holds))))
			note("%s", show(made(&b)));
	}
	for (u8 kind = K_DEVICE; kind <= K_CGROUP; kind++)
		for (size_t f = 0; f < LEN(format_list); f++)
			for (int how = 0; how < 2; how++) {
				struct out o = out_of(format_list[f], kind);
				struct buf b = fresh();

				record_make(&rec, entity_of(kind), how ? &raw : &live);
				put_whole(&o, &b, &rec);
				check(!b.full && b.n && b.p[b.n - 1] == '\n' && is_clean(made(&b), true) &&
				      (strcmp(format_list[f], "json") != 0 || json_ok(made(&b), NULL)),
				      "%s of kind %u%s: whole lines without terminal control "
				      "bytes", format_list[f], kind,
				      how ? ", raw" : "");
			}
}

/* A record overwrites an older one in the same memory: null values contain nothing of the older
 * record. */
static void t_stale(void)
{
	for (u8 kind = K_DEVICE; kind <= K_CGROUP; kind++)
		for (int how = 0; how < 2; how++) {
			size_t nulls = 0, stale = 0;

			record_make(&rec, entity_of(kind), how ? &raw : &live);
			memset(rec.f, 0xa5, rec.n * sizeof(rec.f[0]));
			record_make(&rec, entity_of(kind), how ? &raw : &live);
			for (size_t i = 0; i < rec.n; i++) {
				const struct val *v = &rec.f[i].v;

				nulls += v->type == V_NULL;
				stale += v->type == V_NULL && (v->n || v->s.p || v->s.e || v->neg || v->point || v->unit);
			}
			check(nulls && !stale,
			      "kind %u%s: %zu values are null, and completely "
			      "cleared", kind, how ? ", raw" : "", nulls);
		}
}

/* --- perf events, samples, profiles ----------------------------------------------------------- */

enum { E_CYCLES = 1, E_CLOCK, E_ODD, E_ENERGY, E_SET, E_TEMP, E_DURATION };
enum { P_ALL, P_CPU0, P_CORE, P_ODD, P_CGROUP, P_THREAD, P_SOCKET, PLACES };

#define ODD_COMM "a\x1b[2J\",\n\xff\xc3\xa9"
#define ODD_EVENT "cpu/event=0x3c,\"q\"\x1b\n\xff\xc3\xa9/"

static void make_events(void)
{
	static const struct {
		const char *name, *unit;
		u16 set;
	} names[] = { [E_CYCLES] = { "cycles", NULL, 0 }, [E_CLOCK] = { "task-clock", "ns", 0 }, [E_ODD] = { ODD_EVENT, NULL, 0 },
		      [E_ENERGY] = { "power/energy-pkg/", "Joules", 0 }, [E_SET] = { "instructions", NULL, 1 },
		      [E_TEMP] = { "gpu-temp", "C", 0 }, [E_DURATION] = { "duration_time", "ns", 0 } };

	table_all(&events_table);
	table_all(&sites_table);
	for (u32 i = 1; i < LEN(names); i++)
		events[i] = (struct event){ .name = text_put(NONE, str_z(names[i].name)), .set = names[i].set,
					    .unit = names[i].unit ? text_put(NONE, str_z(names[i].unit)) : NONE };
	events[E_TEMP].rule = R_LEVEL;
	events[E_CLOCK].type = PT_SOFTWARE;
	events[E_CLOCK].config[0] = 1; /* PERF_COUNT_SW_TASK_CLOCK */
	nrows.events = LEN(names) - 1;
	evsets[1] = (struct evset){ .name = text_put(NONE, S("alu")), .timeout = 10000000, .turns = 5, .turns_was = 2,
				    .active = 300000000, .active_was = 50000000 };
	nrows.evsets = 2;
	for (u32 i = 0; i < PLACES; i++)
		sites[i] = (struct site){ SITE_ALL };
	sites[P_CPU0].cpu = sites[P_CGROUP].cpu = 0;
	sites[P_CORE].core = 2;
	sites[P_CORE].socket = sites[P_SOCKET].socket = 0;
	sites[P_CGROUP].cgroup = text_put(NONE, S("/user.slice"));
	sites[P_ODD].pid = 4242;
	sites[P_ODD].tid = 4243;
	sites[P_ODD].comm = text_put(NONE, S(ODD_COMM));
	sites[P_THREAD].pid = sites[P_THREAD].tid = 12;
	sites[P_THREAD].comm = text_put(NONE, S("sh"));
	nrows.sites = PLACES;
}

#define EVROW(ev, at, ...) { .e = { .kind = K_EVENT, .used = true }, .event = ev, .site = at, __VA_ARGS__ }
#define RAN(part, whole) .share = 100000 * part / whole, .sum = { 123, whole, part }

enum { R_PLAIN, R_CPU = 3, R_RENAMED = 10, R_SET = 12 };

/* One record of each kind of row: the JSON after "dt", and the value line of long CSV. */
static const struct rowcase {
	struct evrow row;
	const char *json, *csv;
} rowcases[] = {
	{ EVROW(E_CYCLES, P_ALL, .value = 123, RAN(400, 400)),
	  "\"event\":\"cycles\",\"set\":null,\"cpu\":null,\"pid\":null,\"value\":123,\"unit\":\"\",\"running\":100.0,\"reason\":null",
	  ",,,,value,cycles,123" },
	{ EVROW(E_CYCLES, P_ALL, .state = CS_UNSUPPORTED),
	  "\"event\":\"cycles\",\"set\":null,\"cpu\":null,\"pid\":null,\"value\":null,\"unit\":\"\",\"running\":null,"
	  "\"reason\":\"not supported: no PMU here has it\"",
	  ",,,,reason,cycles,not supported: no PMU here has it" },
	{ EVROW(E_CLOCK, P_ALL, .value = 77, .state = CS_NEVER_RAN, .sum = { 0, 400, 0 }),
	  "\"event\":\"task-clock\",\"set\":null,\"cpu\":null,\"pid\":null,\"value\":null,\"unit\":\"ns\",\"running\":0.0,"
	  "\"reason\":\"not counted: it never ran\"",
	  ",,,,value,task-clock," },
	{ EVROW(E_CLOCK, P_CPU0, .value = UINT64_MAX, RAN(100, 300)),
	  "\"event\":\"task-clock\",\"set\":null,\"cpu\":0,\"pid\":null,\"value\":18446744073709551615,\"unit\":\"ns\","
	  "\"running\":33.333,\"reason\":null",
	  ",,,,value,task-clock@CPU0,18446744073709551615" },
	{ EVROW(E_CYCLES, P_CORE, .value = 1, RAN(1, 1)),
	  "\"event\":\"cycles\",\"set\":null,\"cpu\":null,\"core\":2,\"socket\":0,\"pid\":null,\"value\":1,\"unit\":\"\","
	  "\"running\":100.0,\"reason\":null",
	  ",,,,value,cycles@S0-C2,1" },
	{ EVROW(E_CYCLES, P_SOCKET, .value = 1, RAN(1, 1)),
	  "\"event\":\"cycles\",\"set\":null,\"cpu\":null,\"socket\":0,\"pid\":null,\"value\":1,\"unit\":\"\",\"running\":100.0,"
	  "\"reason\":null",
	  ",,,,value,cycles@S0,1" },
	{ EVROW(E_CYCLES, P_ODD, .value = 1, RAN(1, 1)),
	  "\"event\":\"cycles\",\"set\":null,\"cpu\":null,\"pid\":4242,\"tid\":4243,"
	  "\"comm\":\"a\\u001b[2J\\\",\\u000a\\ufffd\xc3\xa9\",\"value\":1,\"unit\":\"\",\"running\":100.0,\"reason\":null",
	  ",4242,\"a\\x1b[2J\"\",\\x0a\\xff\xc3\xa9\",,value,\"cycles@a\\x1b[2J\"\",\\x0a\\xff\xc3\xa9-4243\",1" },
	{ EVROW(E_CYCLES, P_CGROUP, .value = 1, RAN(1, 1)),
	  "\"event\":\"cycles\",\"set\":null,\"cpu\":0,\"pid\":null,\"cgroup\":\"/user.slice\",\"value\":1,\"unit\":\"\","
	  "\"running\":100.0,\"reason\":null",
	  ",,,/user.slice,value,cycles@CPU0 /user.slice,1" },
	{ EVROW(E_CYCLES, P_THREAD, .value = 1, RAN(1, 1)),
	  "\"event\":\"cycles\",\"set\":null,\"cpu\":null,\"pid\":12,\"tid\":12,\"comm\":\"sh\",\"value\":1,\"unit\":\"\","
	  "\"running\":100.0,\"reason\":null",
	  ",12,sh,,value,cycles@sh-12,1" },
	{ EVROW(E_ODD, P_CPU0, .value = 1, RAN(1, 1)),
	  "\"event\":\"cpu/event=0x3c,\\\"q\\\"\\u001b\\u000a\\ufffd\xc3\xa9/\",\"set\":null,\"cpu\":0,\"pid\":null,\"value\":1,"
	  "\"unit\":\"\",\"running\":100.0,\"reason\":null",
	  ",,,,value,\"cpu/event=0x3c,\"\"q\"\"\\x1b\\x0a\\xff\xc3\xa9/@CPU0\",1" },
	{ EVROW(E_ENERGY, P_ALL, .value = 999999999, .point = 9, RAN(1, 1)),
	  "\"event\":\"power/energy-pkg/\",\"set\":null,\"cpu\":null,\"pid\":null,\"value\":0.999999999,\"unit\":\"Joules\","
	  "\"running\":100.0,\"reason\":null",
	  ",,,,value,power/energy-pkg/,0.999999999" },
	{ EVROW(E_TEMP, P_ALL, .value = 5500, .point = 3, .neg = true),
	  "\"event\":\"gpu-temp\",\"set\":null,\"cpu\":null,\"pid\":null,\"value\":-5.5,\"unit\":\"C\",\"running\":null,"
	  "\"reason\":null",
	  ",,,,value,gpu-temp,-5.5" },
	{ EVROW(E_SET, P_CPU0, .value = 400, .share = 25000, .sum = { 100, 250, 250 }),
	  "\"event\":\"instructions\",\"set\":\"alu\",\"set_id\":0,\"cpu\":0,\"pid\":null,\"value\":400,\"unit\":\"\",\"running\":25.0,"
	  "\"reason\":null,\"runs\":3,\"active\":0.25,\"timeout\":0.01",
	  ",,,,value,alu:instructions@CPU0,400" },
	{ EVROW(E_CYCLES, P_ALL, .value = 12, .repeats = 3, .mean = 12, .m2 = 8, RAN(1, 1)),
	  "\"event\":\"cycles\",\"set\":null,\"cpu\":null,\"pid\":null,\"value\":12,\"unit\":\"\",\"running\":100.0,"
	  "\"reason\":null,\"deviation\":9.623,\"repeats\":3",
	  ",,,,deviation,cycles,9.623" },
};

static void t_rows(void)
{
	static const char *const lead = "{\"schema\":1,\"kind\":\"event\",\"time\":1763611200.123456,\"dt\":1.000000,";
	char want[1024];

	for (size_t i = 0; i < LEN(rowcases); i++) {
		const struct rowcase *c = &rowcases[i];
		struct out o = out_of("json", K_EVENT);
		struct buf b = fresh();
		struct str text;

		record_make(&rec, &c->row.e, &live);
		put_whole(&o, &b, &rec);
		snprintf(want, sizeof(want), "%s%s}\n", lead, c->json);
		check_str(made(&b), want, "event %zu: the JSON is right", i);
		check(json_ok(made(&b), NULL), "event %zu: the JSON is well formed", i);

		o = out_of("csv", K_EVENT);
		b = fresh();
		put_whole(&o, &b, &rec);
		snprintf(want, sizeof(want), "\n1763611200.123456,1.000000,event,,,,%s\n", c->csv);
		if (!check(str_find(made(&b), str_z(want)),
		           "event %zu: long csv contains %s", i, show(str_z(c->csv))))
			note("%s", show(made(&b)));
		text = made(&b);
		check(str_skip(&text, S("time,dt,kind,dev,driver,pdev,client,pid,comm,cgroup,field,instance,value\n")) &&
		      !str_find(text, S("time,dt")),
		      "event %zu: long csv has one header", i);
	}

	/* With -r the values that were read are written too, and values that need two readings (dt)
	 * are not. */
	{
		static const struct evrow plain = EVROW(E_CYCLES, P_CPU0, .value = 246, .share = 50000, .sum = { 123, 400, 200 });
		static const struct evrow level = EVROW(E_TEMP, P_ALL, .value = 45);
		static const struct evrow none = EVROW(E_CYCLES, P_ALL, .state = CS_NEVER_RAN, .sum = { 0, 400, 0 });
		struct out o = out_of("json", K_EVENT);
		struct buf b = fresh();

		record_make(&rec, &plain.e, &raw);
		put_whole(&o, &b, &rec);
		check_str(made(&b), "{\"schema\":1,\"kind\":\"event\",\"time\":1763611200.123456,\"dt\":null,\"event\":\"cycles\","
			  "\"set\":null,\"cpu\":0,\"pid\":null,\"value\":246,\"unit\":\"\",\"running\":50.0,\"reason\":null,"
			  "\"cpus\":0,\"count\":123,\"enabled\":400,\"runtime\":200}\n",
			  "event, raw: the JSON is right");
		b = fresh();
		record_make(&rec, &none.e, &raw);
		put_whole(&o, &b, &rec);
		check(str_find(made(&b), S(",\"count\":null,\"enabled\":400,\"runtime\":0}")),
		      "event, raw: an event that never ran has no count");
		b = fresh();
		record_make(&rec, &level.e, &raw);
		put_whole(&o, &b, &rec);
		check(!str_find(made(&b), S("\"count\":0,")), "event, raw: the count of a level of 45 is not 0");
	}
}

/* One record in one format, with the output settings of the whole run. */
static void check_row(const char *format, const struct out *like, const struct entity *e, const struct recopts *ro,
		      const char *want, const char *what)
{
	struct out o = like ? *like : (struct out){ .once = true };
	struct buf b = fresh();

	o.fmt = format_find(str_z(format));
	o.kind = e->kind;
	o.width = 100;
	record_make(&rec, e, ro);
	put_whole(&o, &b, &rec);
	check_str(made(&b), want, "%s: %s", format, what);
	check(is_clean(made(&b), true), "%s: %s: no terminal control bytes", format, what);
}

static const struct out in_places = { .once = true, .sites = true, .no_header = true };
static const struct out no_head = { .once = true, .no_header = true };

static void t_row_formats(void)
{
	static const struct str few[] = { STR("event"), STR("cpu"), STR("value"), STR("unit"), STR("running"), STR("reason") };
	static const struct evrow clock = EVROW(E_CLOCK, P_ALL, .value = 385846, RAN(1, 1));
	static const struct evrow round = EVROW(E_CLOCK, P_ALL, .value = 9999999, RAN(1, 1));
	static const struct out chosen = { .patterns = few, .npatterns = LEN(few), .once = true };
	static const struct out repeated = { .repeats = true, .no_header = true, .once = true };
	static const struct out in_sets = { .sites = true, .sets = true, .no_header = true, .once = true };

	check_row("logfmt", NULL, &rowcases[R_PLAIN].row.e, &live, "schema=1 kind=event time=1763611200.123456 dt=1.000000 "
		  "event=cycles value=123 unit=\"\" running=100.0\n", "a count");
	check_row("logfmt", NULL, &rowcases[1].row.e, &live, "schema=1 kind=event time=1763611200.123456 dt=1.000000 event=cycles "
		  "unit=\"\" reason=\"not supported: no PMU here has it\"\n",
		  "no value, and the reason");
	check_row("logfmt", NULL, &rowcases[6].row.e, &live, "schema=1 kind=event time=1763611200.123456 dt=1.000000 event=cycles "
		  "pid=4242 tid=4243 comm=\"a\\u001b[2J\\\",\\u000a\\ufffd\xc3\xa9\" value=1 unit=\"\" running=100.0\n", "odd bytes");
	check_row("logfmt", NULL, &rowcases[9].row.e, &live, "schema=1 kind=event time=1763611200.123456 dt=1.000000 "
		  "event=\"cpu/event=0x3c,\\\"q\\\"\\u001b\\u000a\\ufffd\xc3\xa9/\" cpu=0 value=1 unit=\"\" running=100.0\n",
		  "an event name with odd bytes");

	check_row("csv", &chosen, &rowcases[R_CPU].row.e, &live, "event,cpu,value,unit,running,reason\n"
		  "task-clock,0,18446744073709551615,ns,33.333,\n", "-f");
	check_row("csv", &chosen, &rowcases[1].row.e, &live, "event,cpu,value,unit,running,reason\n"
		  "cycles,,,,,not supported: no PMU here has it\n", "-f, without a value");
	check_row("csv", &chosen, &rowcases[9].row.e, &live, "event,cpu,value,unit,running,reason\n"
		  "\"cpu/event=0x3c,\"\"q\"\"\\x1b\\x0a\\xff\xc3\xa9/\",0,1,,100.0,\n",
		  "-f, an event name with odd bytes");

	check_row("line", NULL, &rowcases[R_PLAIN].row.e, &live,
		  "EVENT                       VALUE UNIT    RUN METRIC REASON\n"
		  "cycles                        123      100.0%\n", "a count");
	check_row("line", &no_head, &clock.e, &live, "task-clock                   0.39 msec 100.0%\n", "ns are shown in ms");
	check_row("line", &no_head, &round.e, &live, "task-clock                  10.00 msec 100.0%\n", "ns are rounded");
	check_row("line", &no_head, &rowcases[2].row.e, &live,
		  "task-clock                      - msec   0.0%        not counted: it never ran\n",
		  "no value, and the reason");
	check_row("line", &no_head, &rowcases[R_RENAMED].row.e, &live, "power/energy-pkg/     0.999999999 Joules 100.0%\n", "energy");
	check_row("line", &no_head, &rowcases[11].row.e, &live,
	          "gpu-temp                    -5.50 C         -\n",
	          "a value below 0");
	check_row("line", &in_places, &rowcases[4].row.e, &live,
	          "S0-C2 cycles                          1      100.0%\n",
	          "the event of a core");
	check_row("line", &in_places, &rowcases[7].row.e, &live,
		  "CPU0 /user.slice cycles                          1      100.0%\n",
		  "the event of a cgroup");
	check_row("line", &in_places, &rowcases[6].row.e, &live,
		  "a\\x1b[2J\",\\x0a\\xff\xc3\xa9-4243 cycles                          1      100.0%\n",
		  "the event of a thread with odd bytes");
	check_row("line", &in_sets, &rowcases[R_SET].row.e, &live,
		  "alu CPU0 instructions                  400         3  25.0%\n",
		  "the event of a set");
	check_row("line", &repeated, &rowcases[13].row.e, &live,
		  "cycles                         12      9.6% 100.0%\n",
		  "a mean and its deviation");
}

static void t_row_table(void)
{
	static const struct evrow rows[] = { EVROW(E_CYCLES, P_ALL, .value = 123, RAN(1, 1)),
					     EVROW(E_CLOCK, P_ALL, .value = 385846, RAN(100, 300)) };
	static const struct evrow cpus[] = { EVROW(E_CYCLES, P_CPU0, .value = 1, RAN(1, 1)),
					     EVROW(E_CYCLES, P_CORE, .value = 1, RAN(1, 1)) };
	static const struct str few[] = { STR("value"), STR("event") };
	struct out o = out_of("table", K_EVENT);
	struct buf b = fresh();
	struct str s, head, first, second;

	for (int turn = 0; turn < 4; turn++) {
		if (turn == 2) {
			out_end(&o, &b);
			check_str(made(&b), "time     event       value unit running\n"
				  "04:00:00 cycles        123 -     100.0%\n"
				  "04:00:00 task-clock 385846 ns     33.3%\n",
				  "table: events are aligned in columns");
			b = fresh();
			o = out_of("table", K_EVENT);
			o.patterns = few;
			o.npatterns = LEN(few);
		}
		for (size_t i = 0; i < LEN(rows); i++) {
			record_make(&rec, &rows[i].e, &live);
			if (turn % 2 == 0)
				out_measure(&o, &rec);
			else
				out_record(&o, &b, &rec);
		}
	}
	check_str(made(&b), " value event\n   123 cycles\n385846 task-clock\n",
	          "table: events with -f");

	b = fresh();
	o = out_of("table", K_EVENT);
	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < LEN(cpus); i++) {
			record_make(&rec, &cpus[i].e, &live);
			if (turn == 0)
				out_measure(&o, &rec);
			else
				out_record(&o, &b, &rec);
		}
	s = made(&b);
	line_next(&s, &head);
	line_next(&s, &first);
	line_next(&s, &second);
	check(!str_eq(first, second), "table: the row shows its CPU");
}

/* The output of perf stat -x. The order is that of printout() in tools/perf/util/stat-display.c:
 * value, unit, event, cgroup, noise, running. */
static void t_perf_csv(void)
{
	static const struct evrow clock = EVROW(E_CLOCK, P_ALL, .value = 385846, .share = 100000, .sum = { 385846, 385846, 385846 });
	static const struct evrow cpu = EVROW(E_CLOCK, P_CPU0, .value = 101727321, .share = 100000, .sum = { 0, 101727321, 101727321 });
	static const struct evrow none = EVROW(E_CYCLES, P_ALL, .state = CS_UNSUPPORTED);
	static const struct evrow denied = EVROW(E_CYCLES, P_ALL, .state = CS_DENIED);
	static const struct evrow never = EVROW(E_CYCLES, P_ALL, .state = CS_NEVER_RAN, .sum = { 0, 1000, 0 });
	static const struct evrow asleep = EVROW(E_CYCLES, P_ALL, .state = CS_NOT_ENABLED);
	static const struct evrow shared = EVROW(E_CYCLES, P_ALL, .value = 2000, .share = 25000, .sum = { 500, 4000, 1000 });
	static const struct evrow mean = EVROW(E_CYCLES, P_ALL, .value = 12, .repeats = 3, .mean = 12, .m2 = 8, .share = 100000,
					     .sum = { 12, 500, 500 });
	static const struct evrow wall = EVROW(E_DURATION, P_ALL, .value = 1009478, .share = 100000, .sum = { 1009478, 1009478, 1009478 });
	static const struct evrow joules = EVROW(E_ENERGY, P_ALL, .value = 342, .point = 2, .share = 100000, .sum = { 5, 700, 700 });
	static const struct recopts early = { .raw = true, .time_us = 100154, .dt_us = 100154 };
	static const struct recopts late = { .raw = true, .time_us = 123456789001, .dt_us = 100000 };
	static const struct recopts total = { .raw = true, .time_us = 100154, .dt_us = 100154, .summary = "total" };
	static const struct out semicolon = { .once = true, .separator = ";" };
	static const struct out interval = { .separator = "," };
	static const struct out unmarked = { .separator = ",", .unmarked = true };
	static const struct out both = { .sites = true };
	static const struct out repeated = { .once = true, .repeats = true };

	rows_sum(100154000, true);
	check_row("perf-csv", NULL, &clock.e, &early, "0.39,msec,task-clock,385846,100.00,0.004,CPUs utilized\n", "task-clock");
	check_row("perf-csv", NULL, &none.e, &early, "<not supported>,,cycles,0,100.00,,\n", "not supported");
	check_row("perf-csv", NULL, &denied.e, &early, "<not supported>,,cycles,0,100.00,,\n", "denied");
	check_row("perf-csv", NULL, &asleep.e, &early, "<not counted>,,cycles,0,100.00,,\n", "not enabled");
	check_row("perf-csv", NULL, &never.e, &early, "<not counted>,,cycles,0,0.00,,\n",
	          "enabled, but never ran");
	check_row("perf-csv", NULL, &shared.e, &early, "2000,,cycles,1000,25.00,,\n",
	          "counted a quarter of the time");
	check_row("perf-csv", NULL, &joules.e, &early, "3.42,Joules,power/energy-pkg/,700,100.00,,\n", "energy");
	check_row("perf-csv", NULL, &wall.e, &early, "1009478,ns,duration_time,1009478,100.00,,\n", "duration_time is in ns");
	check_row("perf-csv", &semicolon, &shared.e, &early, "2000;;cycles;1000;25.00;;\n", "another separator");
	check_row("perf-csv", &interval, &shared.e, &early, "     0.100154000,2000,,cycles,1000,25.00,,\n", "an interval");
	check_row("perf-csv", &interval, &none.e, &late, "123456.789001000,<not supported>,,cycles,0,100.00,,\n", "a late interval");
	check_row("perf-csv", &interval, &shared.e, &total, "         summary,2000,,cycles,1000,25.00,,\n", "the whole run");
	check_row("perf-csv", &unmarked, &shared.e, &total, "2000,,cycles,1000,25.00,,\n",
	"the whole run, without the word summary");
	check_row("perf-csv", &unmarked, &shared.e, &early, "     0.100154000,2000,,cycles,1000,25.00,,\n",
		  "an interval, without the word summary");
	check_row("perf-csv", &in_places, &cpu.e, &early, "CPU0,101.73,msec,task-clock,101727321,100.00,1.016,CPUs utilized\n", "a CPU");
	check_row("perf-csv", &both, &cpu.e, &early, "     0.100154000,CPU0,101.73,msec,task-clock,101727321,100.00,1.016,CPUs utilized\n",
		  "a CPU in an interval");
	check_row("perf-csv", &in_places, &rowcases[8].row.e, &early, "sh-12,1,,cycles,1,100.00,,\n", "a thread");
	check_row("perf-csv", &in_places, &rowcases[6].row.e, &early,
		  "a\\x1b[2J\",\\x0a\\xff\xc3\xa9-4243,1,,cycles,1,100.00,,\n", "a thread with odd bytes");
	check_row("perf-csv", &in_places, &rowcases[7].row.e, &early, "CPU0,1,,cycles,/user.slice,1,100.00,,\n",
		  "the cgroup follows the event");
	check_row("perf-csv", &repeated, &mean.e, &early, "12,,cycles,9.62%,500,100.00,,\n", "repetitions");
	check_row("perf-csv", &repeated, &none.e, &early,
	          "<not supported>,,cycles,0.00%,0,100.00,,\n",
	          "repetitions without a value");
	rows_sum(-1, true);
}

static struct sample full_sample, bare_sample;
static struct profile some_profiles[3];

static void make_samples(void)
{
	static struct prec full = { .have = PS_IP | PS_TID | PS_ADDR | PS_CPU | PS_PERIOD, .mode = PM_KERNEL, .pid = 4242,
				    .tid = 4243, .cpu = 3, .ip = 0xffffffff81000010, .addr = 0x7f00, .period = UINT64_MAX, .lost = 7 };
	static struct prec bare;
	static const struct profrow rows[3] = {
		{ .name = STR(ODD_COMM), .samples = 2, .period = 250 },
		{ .name = STR("do,\"x\"\n\xff"), .module = STR("[kernel]"), .samples = 3, .period = 333 },
		{ .name = STR("main"), .module = STR("/bin/a b"), .ip = 0x401000, .samples = 1, .period = UINT64_MAX },
	};
	static const u8 tables[3] = { PROF_COMM, PROF_SYMBOL, PROF_IP };
	static const u64 all[3] = { 1000, 1000, UINT64_MAX };
	struct sample *s = &full_sample;

	*s = (struct sample){ .e = { .kind = K_SAMPLE }, .r = &full, .event = E_CYCLES, .period = UINT64_MAX, .comm = S(ODD_COMM), .nchain = 3, .ngroup = 2 };
	s->at = (struct frame){ .ip = full.ip, .offset = 0x10, .mode = PM_KERNEL, .symbol = S("do,\"x\"\n\xff"),
				.module = S("[kernel]") };
	s->chain[0] = s->at;
	s->chain[1] = (struct frame){ .ip = 0x401000, .mode = PM_USER };
	s->chain[2] = (struct frame){ .ip = 0x402000, .mode = PM_USER, .symbol = S("main") };
	s->group[0].event = E_CYCLES;
	s->group[0].count = 5;
	s->group[1].event = E_ODD;
	s->group[1].count = UINT64_MAX;
	bare_sample = (struct sample){ .e = { .kind = K_SAMPLE }, .r = &bare };
	for (size_t i = 0; i < LEN(rows); i++) {
		profile_sums.period[tables[i]] = all[i];
		some_profiles[i] = (struct profile){ .e = { .kind = K_PROFILE }, .table = tables[i], .row = &rows[i] };
	}
}

#define ODD_JSON "a\\u001b[2J\\\",\\u000a\\ufffd\xc3\xa9"
#define ODD_TEXT "a\\x1b[2J\",\\x0a\\xff\xc3\xa9"

static void t_samples(void)
{
	static const struct str few[] = { STR("comm"), STR("ip"), STR("symbol"), STR("group"), STR("callchain") };
	static const struct out chosen = { .patterns = few, .npatterns = LEN(few), .no_header = true, .once = true };
	struct out o = out_of("csv", K_SAMPLE);
	struct buf b = fresh();

	check_row("json", NULL, &full_sample.e, &live,
		  "{\"schema\":1,\"kind\":\"sample\",\"time\":1763611200.123456,\"event\":\"cycles\",\"cpu\":3,\"pid\":4242,\"tid\":4243,"
		  "\"comm\":\"" ODD_JSON "\",\"mode\":\"kernel\",\"ip\":\"0xffffffff81000010\",\"addr\":\"0x7f00\","
		  "\"symbol\":\"do,\\\"x\\\"\\u000a\\ufffd+0x10\",\"module\":\"[kernel]\",\"period\":18446744073709551615,\"lost\":7,"
		  "\"group\":{\"cycles\":5,\"cpu/event=0x3c,\\\"q\\\"\\u001b\\u000a\\ufffd\xc3\xa9/\":18446744073709551615},"
		  "\"callchain\":[\"do,\\\"x\\\"\\u000a\\ufffd+0x10\",\"0x401000\",\"main\"]}\n", "a sample");
	check_row("json", NULL, &bare_sample.e, &live,
		  "{\"schema\":1,\"kind\":\"sample\",\"time\":1763611200.123456,\"event\":null,\"cpu\":null,\"pid\":null,\"tid\":null,"
		  "\"comm\":null,\"mode\":null,\"ip\":null,\"addr\":null,\"symbol\":null,\"module\":null,\"period\":null,"
		  "\"callchain\":[]}\n", "a sample without values");
	check_row("logfmt", NULL, &full_sample.e, &live,
		  "schema=1 kind=sample time=1763611200.123456 event=cycles cpu=3 pid=4242 tid=4243 comm=\"" ODD_JSON "\" "
		  "mode=kernel ip=0xffffffff81000010 addr=0x7f00 symbol=\"do,\\\"x\\\"\\u000a\\ufffd+0x10\" module=[kernel] "
		  "period=18446744073709551615 lost=7 group.cycles=5 "
		  "group.cpu_event_0x3c__q__x1b_x0a_xff___=18446744073709551615 "
		  "callchain=\"do,\\\"x\\\"\\u000a\\ufffd+0x10\",0x401000,main\n", "a sample");
	check_row("logfmt", NULL, &bare_sample.e, &live, "schema=1 kind=sample time=1763611200.123456 callchain=none\n",
		  "a sample without values");
	check_row("csv", &chosen, &full_sample.e, &live,
		  "\"a\\x1b[2J\"\",\\x0a\\xff\xc3\xa9\",0xffffffff81000010,\"do,\"\"x\"\"\\x0a\\xff+0x10\","
		  "5,18446744073709551615,"
		  "\"do,\"\"x\"\"\\x0a\\xff+0x10 0x401000 main\"\n", "a sample with -f");
	check_row("csv", &chosen, &bare_sample.e, &live, ",,,,none\n",
	          "a sample without values, with -f");
	check_row("line", &no_head, &full_sample.e, &live,
		  "  3    4243 " ODD_TEXT " cycles     18446744073709551615 kernel 0xffffffff81000010 do,\"x\"\\x0a\\xff+0x10 "
		  "addr=0x7f00 lost=7 cycles=5 cpu/event=0x3c,\"q\"\\x1b\\x0a\\xff\xc3\xa9/=18446744073709551615 "
		  "< do,\"x\"\\x0a\\xff+0x10 < 0x401000 < main\n", "a sample");
	check_row("line", NULL, &bare_sample.e, &live,
		  "CPU     TID COMM            EVENT         PERIOD MODE   IP                 SYMBOL\n"
		  "  -       - -               -                  - -      -                  -\n",
		  "a sample without values");

	record_make(&rec, &full_sample.e, &live);
	put_whole(&o, &b, &rec);
	if (!check(str_find(made(&b), S("cycles@CPU3,")) || str_find(made(&b), S(",event,,cycles\n")),
		   "long csv shows the event of a sample"))
		note("%s", show(made(&b)));
	check(str_find(made(&b), S("@CPU3,")) || str_find(made(&b), S(",cpu,,3\n")),
	      "long csv shows the CPU of a sample");
	check(str_find(made(&b), S(",callchain,,\"do,\"\"x\"\"\\x0a\\xff+0x10 0x401000 main\"\n")) ||
	      str_find(made(&b), S("\"do,\"\"x\"\"\\x0a\\xff+0x10 0x401000 main\"\n")),
	      "long csv shows the call chain");

	/* Modes are written by name; a record of lost samples has no mode, whatever the mode field
	 * says. */
	{
		static const char *const modes[PM_MODES] = { NULL, "kernel", "user", "hypervisor", "guest-kernel", "guest-user" };
		struct prec p = { .have = PS_IP, .ip = 0 };
		struct sample s = { .e = { .kind = K_SAMPLE }, .r = &p, .event = E_CYCLES };

		for (u8 m = 0; m <= PM_MODES; m++) {
			const char *want = m < PM_MODES ? modes[m] : NULL;
			const struct val *v;

			p.mode = m;
			record_make(&rec, &s.e, &live);
			v = record_get(&rec, NULL, "mode");
			check(want ? v && str_eq(v->s, str_z(want)) : !v,
			      "the name of mode %u is right", m);
		}
		check(record_get(&rec, NULL, "ip") &&
		      str_eq(record_get(&rec, NULL, "ip")->s, S("0x0")),
		      "address 0 is written as an address");
	}
}

/* Names of any length: a name that does not fit is not replaced by a wrong one. */
static void t_deep(void)
{
	static struct sample s;
	static char name[4096];
	static struct prec p = { .have = PS_IP, .ip = 1 };
	size_t bad = 0, n = 0;

	memset(name, 'n', sizeof(name));
	for (size_t len = 1; len <= sizeof(name); len *= 4) {
		s = (struct sample){ .e = { .kind = K_SAMPLE }, .r = &p, .event = E_CYCLES, .nchain = MAX_FRAMES };
		for (u32 i = 0; i < MAX_FRAMES; i++)
			s.chain[i] = (struct frame){ .ip = 0x401000 + i, .offset = 0x10, .symbol = { name, name + len } };
		record_make(&rec, &s.e, &live);
		bad = n = 0;
		for (size_t i = 0; i < rec.n; i++) {
			struct str v = rec.f[i].v.s;

			if (!rec.f[i].col->group || strcmp(rec.f[i].col->group, "callchain") != 0)
				continue;
			n++;
			bad += !(str_len(v) == len + 5 && memcmp(v.p, name, len) == 0) &&
			       !(str_len(v) == 8 && memcmp(v.p, "0x401", 5) == 0);
		}
		check(n + rec.lost == MAX_FRAMES,
		      "a call chain of %d names of %zu bytes: each frame is written, or counted as "
		      "lost",
		      MAX_FRAMES, len);
		check_u64(bad, 0,
		          "a call chain of names of %zu bytes: each frame is a complete name or "
		          "address", len);
	}
}

static const struct entity *odd_entity(u8 kind)
{
	return kind == K_EVENT ? &rowcases[6].row.e : kind == K_SAMPLE ? &full_sample.e : &some_profiles[1].e;
}

static void t_profiles(void)
{
	static const struct str few[] = { STR("by"), STR("name"), STR("ip"), STR("percent") };
	static const struct out chosen = { .patterns = few, .npatterns = LEN(few), .once = true };

	check_row("json", NULL, &some_profiles[0].e, &live,
		  "{\"schema\":1,\"kind\":\"profile\",\"by\":\"comm\",\"name\":\"" ODD_JSON "\",\"ip\":null,\"module\":null,"
		  "\"period\":250,\"samples\":2,\"percent\":25.0}\n", "a profile of programs");
	check_row("json", NULL, &some_profiles[1].e, &live,
		  "{\"schema\":1,\"kind\":\"profile\",\"by\":\"symbol\",\"name\":\"do,\\\"x\\\"\\u000a\\ufffd\",\"ip\":null,"
		  "\"module\":\"[kernel]\",\"period\":333,\"samples\":3,\"percent\":33.3}\n",
		  "a profile of symbols");
	check_row("json", NULL, &some_profiles[2].e, &live,
		  "{\"schema\":1,\"kind\":\"profile\",\"by\":\"ip\",\"name\":\"main\",\"ip\":\"0x401000\",\"module\":\"/bin/a b\","
		  "\"period\":18446744073709551615,\"samples\":1,\"percent\":100.0}\n",
		  "a profile of addresses");
	check_row("logfmt", NULL, &some_profiles[2].e, &live, "schema=1 kind=profile by=ip name=main ip=0x401000 module=\"/bin/a b\" "
		  "period=18446744073709551615 samples=1 percent=100.0\n",
		  "a profile of addresses");
	check_row("logfmt", NULL, &some_profiles[0].e, &live, "schema=1 kind=profile by=comm name=\"" ODD_JSON "\" period=250 "
		  "samples=2 percent=25.0\n", "a profile of programs");
	check_row("csv", &chosen, &some_profiles[1].e, &live, "by,name,ip,percent\n"
		  "symbol,\"do,\"\"x\"\"\\x0a\\xff\",,33.3\n", "a profile of symbols with -f");
	check_row("csv", NULL, &some_profiles[2].e, &live,
		  "time,dt,kind,dev,driver,pdev,client,pid,comm,cgroup,field,instance,value\n"
		  ",,profile,,,,,,,,by,,ip\n,,profile,,,,,,,,name,,main\n,,profile,,,,,,,,ip,,0x401000\n"
		  ",,profile,,,,,,,,module,,/bin/a b\n,,profile,,,,,,,,period,,18446744073709551615\n"
		  ",,profile,,,,,,,,samples,,1\n,,profile,,,,,,,,percent,,100.0\n",
		  "a profile of addresses");
	check_row("line", NULL, &some_profiles[0].e, &live, " SHARE SAMPLES BY     NAME                     MODULE\n"
		  " 25.0%       2 comm   " ODD_TEXT "      -\n", "a profile of programs");
	check_row("line", &no_head, &some_profiles[2].e, &live, "100.0%       1 ip     0x401000 main            /bin/a b\n",
		  "a profile of addresses");
	check_row("table", NULL, &some_profiles[1].e, &live, "by     name           module   period samples percent\n"
		  "symbol do,\"x\"\\x0a\\xff [kernel]    333       3   33.3%\n",
		  "a profile of symbols");
}

/* --- buffers that are too small --------------------------------------------------------------- */

/* Writes one record into buffers of every possible size. */
static void fit(const struct entity *e, const char *format, bool many)
{
	static char whole[1 << 16];
	struct out o = out_of(format, e->kind);
	struct buf b = fresh();
	size_t n, bad = 0;

	o.one_line = many && format_has_one_line(o.fmt);
	o.sites = true;
	record_make(&rec, e, &live);
	put_whole(&o, &b, &rec);
	n = b.n;
	memcpy(whole, b.p, n);
	for (size_t cap = 0; cap < n + 64; cap++) {
		o = out_of(format, e->kind);
		o.one_line = many && format_has_one_line(o.fmt);
		o.sites = true;
		b = (struct buf){ .p = edge_page(cap), .cap = cap };
		put_whole(&o, &b, &rec);
		/* Spaces at the end of a line need room until they are removed. */
		bad += b.n > cap || (cap < n && !b.full) || (cap == n + 63 && b.full) ||
		       (!b.full && (b.n != n || memcmp(b.p, whole, n) != 0));
	}
	check_u64(bad, 0,
	          "%s of kind %u%s: buffers of every size, from empty to large "
	          "enough", format, e->kind, many ? ", one line" : "");
}

static void t_full(void)
{
	size_t bad = 0;

	for (u8 kind = K_DEVICE; kind < K_COUNT; kind++)
		for (size_t f = 0; f < LEN(format_list); f++)
			for (int many = 0; many < 2 && kind != K_FDINFO; many++)
				fit(entity_of(kind), format_list[f], many);
	fit(entity_of(K_EVENT), "perf-csv", false);
	for (size_t cap = 0; cap < 64; cap++) {
		struct buf b = { .p = edge_page(cap), .cap = cap };

		put_text(&b, S("a\x01\xff" "b\xc3\xa9\n0123456789"));
		bad += b.n > cap || b.full != (cap < 4 * 3 + 14);
		put_z(&b, "0123456789012345678901234567890123456789012345678901234567890123456789");
		bad += !b.full;
		put_str(&b, (struct str){ 0 });
		put_c(&b, 'x');
		bad += !b.full;
	}
	check_u64(bad, 0, "a buffer that is full stays full");
}

/* --- lines that are too narrow ---------------------------------------------------------------- */

static const struct column *column_of(const char *group, const char *member)
{
	const struct column *c = columns;

	while (!c->group || strcmp(c->group, group) != 0 || strcmp(c->member, member) != 0)
		c++;
	return c;
}

static void t_engines(void)
{
	static const char *const names[] = { "gfx", "compute", "dma", "dec", "enc", "enc_1", "jpeg", "vpe", "video-enhance",
					     "caf\xc3\xa9", "x\x1b", "rcs", "bcs", "vcs", "vecs", "ccs", "other", "a", "bb", "c" };
	size_t wide = 0, lost = 0, disorder = 0, hidden = 0, worst = 0;

	for (int i = 0; i < 50000; i++) {
		size_t n = 1 + rnd_of(i % 8 ? 20 : 200), at = 0, shown = 0;
		u16 width = (u16)(10 + rnd() % 150);
		struct buf b = fresh();
		struct str s, w, v;
		u64 more = 0;

		rec.n = n;
		for (size_t k = 0; k < n; k++)
			rec.f[k] = (struct field){ .col = column_of("engine", "busy"),
						   .inst = str_z(names[(k + (size_t)i) % LEN(names)]),
						   .v = { .type = rnd() % 8 ? V_INT : V_NULL, .unit = U_PERCENT,
							  .n = rnd() % 2 ? 0 : rnd() % 100001 } };
		for (size_t k = 0; k < n; k++)
			if (rec.f[k].v.type == V_NULL)
				rec.f[k].v.n = 0;
		cell_engines(&b, &rec, (struct cellargs){ .width = width });
		s = made(&b);
		if (text_width(s) > width)
			worst = text_width(s);
		while (str_word(&s, &w)) {
			char escaped[64];
			bool found = false;

			if (*w.p == '+') {
				scan_u64((struct str){ w.p + 1, w.e }, &more);
				break;
			}
			str_word(&s, &v);
			for (; at < n && !found; at++) {
				size_t k = as_text(rec.f[at].inst, escaped);

				found = str_eq(w, (struct str){ escaped, escaped + k });
			}
			disorder += !found;
			shown++;
		}
		lost += shown + more != n;
		hidden += shown == 0;
		wide += shown > 1 && text_width(made(&b)) > width;
	}
	check_u64(wide, 0, "engines: never wider than the line, while an engine can be left out");
	if (wide)
		note("maximum width %zu", worst);
	check_u64(lost, 0, "engines: those shown and those counted in +N are all engines");
	check_u64(disorder, 0, "engines: shown in the driver's order");
	check_u64(hidden, 0, "engines: at least one is shown");
}

/* As many engines as an entity can have: all are shown, or counted in "+N". */
static void t_engines_full(void)
{
	static char text[MAX_COUNTERS * 16];
	static struct field all[MAX_COUNTERS];
	const struct record r = { .f = all, .n = MAX_COUNTERS };
	struct buf b = { .p = text, .cap = sizeof(text) };
	struct str s, w, v, last = { 0 };
	size_t shown = 0;
	u64 more = 0;

	for (size_t k = 0; k < r.n; k++)
		all[k] = (struct field){ .col = column_of("engine", "busy"), .inst = str_z(k + 1 < r.n ? "e" : "z"),
					 .v = { .type = V_INT, .unit = U_PERCENT, .n = 100 } };
	cell_engines(&b, &r, (struct cellargs){ .width = UINT16_MAX });
	for (s = made(&b); str_word(&s, &w) && str_word(&s, &v); shown++)
		last = w;
	check(!b.full && shown == MAX_COUNTERS && str_is(last, "z"), "1024 engines: all are shown");
	b.n = 0;
	cell_engines(&b, &r, (struct cellargs){ .width = 40 });
	for (s = made(&b), shown = 0; str_word(&s, &w) && *w.p != '+' && str_word(&s, &v);)
		shown++;
	check(*w.p == '+' && scan_u64((struct str){ w.p + 1, w.e }, &more) == w.e && shown + more == MAX_COUNTERS,
	      "1024 engines: those shown and those counted in +N are all engines");
}

/* Every line, with its header, fits in the requested width. */
static void t_widths(void)
{
	size_t bad = 0;

	record_make(&rec, entity_of(K_DEVICE), &live);
	for (u16 width = 80; width < 300; width++) {
		struct out o = out_of("line", K_DEVICE);
		struct buf b = fresh();
		struct str s, l;

		o.width = width;
		put_whole(&o, &b, &rec);
		for (s = made(&b); line_next(&s, &l);)
			bad += text_width(l) > width;
	}
	check_u64(bad, 0, "line: fits in every width from 80");
}

/* Columns without a value are the first to be left out, among those that may be; one that was left out has no width. */
static void t_left_out(void)
{
	struct out o = out_of("line", K_DEVICE);
	struct buf b = fresh();
	size_t known = 0, seen = 0, before, after;
	struct cell *c;

	record_make(&rec, entity_of(K_DEVICE), &live);
	put_whole(&o, &b, &rec);
	rec.n /= 2;
	for (size_t i = 0; i < o.ncells; i++)
		cell_at(&o, i)->known = false;
	measure_cells(&o, &rec);
	for (size_t i = 0; i < o.ncells; i++) {
		b = cell_buf();
		c = cell_at(&o, i);
		line_cell(&b, &o, &rec, c, UINT16_MAX);
		known += c->known;
		seen += !(b.n == 1 && b.p[0] == '-');
	}
	check(seen > 0 && seen < o.ncells && known == seen, "%zu of %zu columns have a value, %zu are known", seen, o.ncells,
	      known);
	before = width_of_others(&o);
	c = optional_cell(&o);
	check(c && !c->known, "a column without a value is left out first");
	if (!c)
		return;
	c->hidden = true;
	after = width_of_others(&o);
	check_u64(before - after, c->width + 1u, "a column that is left out has no width");
}

/* --- records with too many values ------------------------------------------------------------- */

static void t_many(void)
{
	u32 c = client_add(dev, KEY_ID, 77);
	struct out o;
	struct buf b;
	static char text[60000];
	static struct str pattern[] = { STR("pids") };
	size_t n = 0, found = 0;
	struct str s, w;

	for (u32 i = 0; i < 5000; i++)
		holder_add(10000 + i, 3, task_add(10000 + i), c);
	put_client(&clients[c].e, 1, 1);
	record_make(&rec, &clients[c].e, &live);
	check(record_get(&rec, "memory", "resident") && record_get(&rec, NULL, "skipped"),
	      "a client that 5000 processes hold still has its memory in the record");

	for (u32 i = 3000; i < 5000; i++)
		holder_remove(holder_find(10000 + i, 3));
	o = out_of("line", K_CLIENT);
	o.patterns = pattern;
	o.npatterns = 1;
	o.no_header = true;
	b = fresh();
	record_make(&rec, &clients[c].e, &live);
	put_whole(&o, &b, &rec);
	for (s = made(&b); str_cut(&s, ',', &w); found++)
		;
	check(b.full || found == 3000,
	      "a cell of 3000 PIDs is complete, or the buffer is marked full");
	if (!b.full && found != 3000)
		note("%zu pids, %zu bytes", found, b.n);
	client_remove(c);

	c = client_add(dev, KEY_ID, 78);
	for (unsigned i = 0; i < 5000; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "k%u:v\n", i);
	clients[c].other = text_put(NONE, (struct str){ text, text + n });
	put_client(&clients[c].e, 1, 1);
	record_make(&rec, &clients[c].e, &live);
	for (size_t i = n = 0; i < rec.n; i++)
		n += rec.f[i].col->group && strcmp(rec.f[i].col->group, "other") == 0;
	check(n == 512 && rec.lost == 5000 - 512, "the first 512 unknown keys are fields, the others are counted");
	check(record_get(&rec, NULL, "skipped") && record_get(&rec, NULL, "dropped"),
	      "a client with 5000 unknown keys still reports skipped and dropped keys");
	b = fresh();
	o = out_of("json", K_CLIENT);
	put_whole(&o, &b, &rec);
	check(json_ok(made(&b), NULL), "a client with 5000 unknown keys is well-formed JSON");
	client_remove(c);
}

/* --- patterns --------------------------------------------------------------------------------- */

/* Counters of the catalogue: limits, scale, values below 0 and unknown values, in records of one
 * and of several counters. */
static void t_counters(void)
{
	static const struct {
		i64 min, max;
		const char *limits;
	} rows[] = {
		{ 0, 100, "min=0 max=100 scale=1 " }, { 0, 1, "min=0 max=1 scale=100 " }, { -5, 3, "min=-5 max=3 scale=33.3333321 " },
		{ 0, 200, "min=0 max=200 scale=0.5 " }, { 0, 0, "min=0 max=0 " }, { 0, INT64_MAX, "min=0 " },
		{ INT64_MIN, INT64_MAX, "" }, { 0, INT64_MAX - 1, "min=0 max=9223372036854775806 scale=0.0000000000000000108420217 " },
		{ 0, 16777217, "min=0 max=16777217 scale=0.00000596046448 " },
	};
	static const struct {
		const char *unit;
		i64 value;
		const char *human;
	} cells[] = {
		{ "%", 12, "12%" }, { "%", 100, "100%" }, { "bytes", 1 << 20, "1.0M" }, { "bytes/s", 5000000000, "4.7G" },
		{ "mC", -12345, "-12C" }, { "mC", -400, "0C" }, { "Hz", 1500000000, "1500MHz" }, { "uJ", 2500000, "3J" },
		{ "1/100", 107, "1.07" }, { "1/100", 5, "0.05" }, { "1/s", 123456, "123456" }, { "", INT64_MAX, "9223372036854775807" },
		{ "mV", -812, "-0.812V" }, { "uW", 4200000, "4.2W" }, { "strange", -7, "-7" }, { "%", INT64_MIN, "-9223372036854775808%" },
	};
	static const struct recopts listing = { .list = true, .time_us = -1, .dt_us = -1 }, sampling = { .time_us = -1, .dt_us = -1 };
	struct named n = { .vendor = "v", .name = "a \033b", .what = "w", .unit = "" };
	struct picked p = { .counter = &n, .index = 7, .title = S("A") };
	struct reading one = { .e.kind = K_COUNTER, .picked = &p, .n = 1 }, several = { .e.kind = K_COUNTERS, .picked = &p, .n = 1 };
	char want[300];

	for (size_t i = 0; i < LEN(rows); i++) {
		struct out o = out_of("logfmt", K_COUNTER);
		struct buf b = fresh();

		n.min = rows[i].min;
		n.max = rows[i].max;
		record_make(&rec, &one.e, &listing);
		out_record(&o, &b, &rec);
		snprintf(want, sizeof(want), "schema=1 kind=counter index=7 vendor=v name=\"a \\u001bb\" unit=\"\" %sdescription=w\n",
			 rows[i].limits);
		check_str(made(&b), want, "counter: limits and scale are right");
	}
	for (size_t i = 0; i < LEN(cells) * 2; i++) {
		struct out o = out_of("line", K_COUNTERS);
		struct buf b = fresh();

		n.unit = cells[i / 2].unit;
		n.value = cells[i / 2].value;
		n.known = i % 2 == 0;
		o.time = T_NONE;
		o.one_line = true;
		record_make(&rec, &several.e, &sampling);
		put_whole(&o, &b, &rec);
		snprintf(want, sizeof(want), "%s\n", n.known ? cells[i / 2].human : "-");
		check_str(made(&b), want, "counters on a line: the human-readable value is right");
		o = out_of("json", K_COUNTER);
		b = fresh();
		record_make(&rec, &one.e, &sampling);
		put_whole(&o, &b, &rec);
		if (n.known)
			snprintf(want, sizeof(want), "\"value\":%lld,\"unit\":\"%s\"}\n", (long long)n.value, n.unit);
		else
			snprintf(want, sizeof(want), "\"value\":null,\"unit\":\"%s\"}\n", n.unit);
		check(str_find(made(&b), str_z(want)), "counter: the complete integer: %s", want);
	}
	p.counter = NULL;
	record_make(&rec, &several.e, &sampling);
	check(rec.n == 5 && rec.f[4].v.type == V_NULL && str_eq(rec.f[4].inst, p.title),
	      "a column without a counter is null");
}

static void t_patterns(void)
{
	static const struct {
		const char *group, *member, *inst, *pattern;
		bool is;
	} rows[] = {
		{ "engine", "busy", "render", "engine", true }, { "engine", "busy", "render", "engine.render", true },
		{ "engine", "busy", "render", "engine.busy", true }, { "engine", "busy", "render", "engine.render.busy", true },
		{ "engine", "busy", "render", "engine.rend", false }, { "engine", "busy", "render", "engin", false },
		{ "engine", "busy", "render", "engine.copy", false }, { "engine", "busy", "render", "engine.render.util", false },
		{ "engine", "busy", "render", "busy", false }, { "engine", "busy", "a.b", "engine.a.b.busy", true },
		{ "engine", "busy", "busy", "engine.busy.busy", true }, { "engine", "busy", "render", "engine.render.busy.x", false },
		{ "engine", "busy", "render", "", false }, { "engine", "busy", "render", "enginex", false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct field f = { .col = column_of(rows[i].group, rows[i].member), .inst = str_z(rows[i].inst) };

		check(field_match(&f, str_z(rows[i].pattern)) == rows[i].is,
		      "pattern '%s' and field %s.%s.%s", rows[i].pattern,
		      rows[i].group, rows[i].inst, rows[i].member);
	}
	check(pattern_known(S("busy"), K_DEVICE) && pattern_known(S("engine.any.busy"), K_CLIENT) &&
	      !pattern_known(S("temp"), K_CLIENT) && !pattern_known(S("nonsense"), K_DEVICE) &&
	      !pattern_known(S(""), K_DEVICE) && !pattern_known(S("engin"), K_DEVICE), "pattern_known");
	for (u8 kind = 0; kind < K_COUNT; kind++) {
		struct buf b = fresh();

		out_fields(&b, kind);
		check(b.n && is_clean(made(&b), true), "-f help lists the fields of kind %u", kind);
	}
	for (size_t i = 0; i < LEN(format_list); i++)
		check(format_find(str_z(format_list[i])) != NULL,
		      "format %s exists", format_list[i]);
	check(!format_find(S("")) && !format_find(S("jso")) && !format_find(S("jsonx")),
	      "unknown formats are refused");
}

int main(void)
{
	t_numbers();
	t_fixed();
	t_dates();
	t_escapes();
	t_clean();
	t_csv();
	make_machine();
	t_keys();
	t_records();
	t_stale();
	make_events();
	make_samples();
	t_rows();
	t_row_formats();
	t_row_table();
	t_perf_csv();
	t_samples();
	t_deep();
	t_profiles();
	t_full();
	t_engines();
	t_engines_full();
	t_widths();
	t_left_out();
	t_many();
	t_counters();
	t_patterns();
	t_promises();
	return unit_end();
}
