/* t_out.c - records and formats: numbers, names that hold any byte, buffers that are too small, lines that
 * are too narrow. SPDX-License-Identifier: MIT */
#include "../views/out.c" /* its writers of single values are static */
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

/* --- numbers ------------------------------------------------------------------------------------------- */

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

		put_number(&b, v);
		check_str(made(&b), rows[i].exact, "number: %s", rows[i].exact);
		b = fresh();
		if (rows[i].human) {
			put_human(&b, v);
			check_str(made(&b), rows[i].human, "for people: %s%s", rows[i].exact, units[v.unit].name);
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
		check_u64(bad, 0, "200 000 numbers of any size");
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
	check_u64(bad, 0, "each day of two centuries is what libc says");
}

/* --- names that hold any byte ----------------------------------------------------------------------------- */

/* The text that a JSON string stands for; false if it is none. */
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
		if (v == 0xfffd) {
			memcpy(out + *n, "\xef\xbf\xbd", 3);
			*n += 3;
		} else if (v < 0x80) {
			out[(*n)++] = (char)v;
		} else if (v < 0xa0) {
			out[(*n)++] = (char)0xc2;
			out[(*n)++] = (char)v;
		} else {
			return false;
		}
	}
	return true;
}

/* The same text with U+FFFD for each byte that is no UTF-8. */
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

/* As put_text has to write it. */
static size_t as_text(struct str s, char *out)
{
	size_t n = 0;

	while (s.p < s.e) {
		size_t k = utf8_plain(s.p, s.e);
		bool plain = k && is_clean((struct str){ s.p, s.p + k }, false);

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

/* Whether one name comes out right in each format. */
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
	want_n = mended(in, want);
	if (!json_decode(s, got, &got_n) || got_n != want_n || memcmp(got, want, want_n) != 0)
		return false;

	b = fresh();
	put_text(&b, in);
	s = made(&b);
	want_n = as_text(in, want);
	return is_clean(s, false) && str_len(s) == want_n && memcmp(s.p, want, want_n) == 0;
}

static void t_escapes(void)
{
	static const u8 edges[] = { 0x00, 0x0a, 0x22, 0x41, 0x5c, 0x7f, 0x80, 0x85, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc2,
				    0xdf, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff };
	static const u8 leads[] = { 0xc0, 0xc1, 0xc2, 0xdf, 0xe0, 0xe1, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff };
	size_t bad = 0;

	for (unsigned i = 0; i < 256; i++)
		bad += !escapes((char[]){ (char)i }, 1);
	check_u64(bad, 0, "each single byte");
	for (unsigned i = 0; i < 65536; i++)
		bad += !escapes((char[]){ (char)(i >> 8), (char)i }, 2);
	check_u64(bad, 0, "each pair of bytes");
	for (size_t l = 0; l < LEN(leads); l++)
		for (size_t i = 0; i < LEN(edges); i++)
			for (size_t k = 0; k < LEN(edges); k++) {
				bad += !escapes((char[]){ (char)leads[l], (char)edges[i], (char)edges[k] }, 3);
				for (size_t m = 0; m < LEN(edges); m++)
					bad += !escapes((char[]){ (char)leads[l], (char)edges[i], (char)edges[k], (char)edges[m] }, 4);
			}
	check_u64(bad, 0, "sequences of three and four bytes around each limit");
	for (unsigned i = 0; i < 0x110000; i += 7) {
		char b[4] = { (char)(0xf0 | i >> 18), (char)(0x80 | (i >> 12 & 0x3f)), (char)(0x80 | (i >> 6 & 0x3f)),
			      (char)(0x80 | (i & 0x3f)) };

		bad += utf8_len(b, b + 4) != utf8_plain(b, b + 4);
		b[1] = (char)(0xe0 | (i >> 12 & 0xf));
		bad += utf8_len(b + 1, b + 4) != utf8_plain(b + 1, b + 4);
	}
	check_u64(bad, 0, "characters of all planes");
	{
		struct buf b = fresh();

		put_text(&b, S("a\x1b[2J\x9b\xc2\x9b" "caf\xc3\xa9 \xed\xa0\x80\xf0\x9f\x90\xa7"));
		check_str(made(&b), "a\\x1b[2J\\x9b\\xc2\\x9b" "caf\xc3\xa9 \\xed\\xa0\\x80\xf0\x9f\x90\xa7",
			  "a terminal's orders are shown, not obeyed");
		check(text_width(S("caf\xc3\xa9")) == 4 && text_width(S("")) == 0, "text_width counts characters");
	}
}

/* --- CSV ---------------------------------------------------------------------------------------------------- */

/* A cell as RFC 4180 reads it. */
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
	size_t bad = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		struct buf b = fresh();

		put_z(&b, "x,");
		put_z(&b, rows[i].in);
		csv_quote(&b, 2);
		check_str((struct str){ b.p + 2, b.p + b.n }, rows[i].out, "csv: '%s'", rows[i].in);
	}
	for (int i = 0; i < 200000; i++) {
		char in[16], out[64];
		size_t n = rnd() % sizeof(in), cap, got;
		struct buf b;

		for (size_t k = 0; k < n; k++)
			in[k] = "ab ,\"="[rnd() % 6];
		cap = 2 + rnd() % 40;
		b = (struct buf){ .p = edge_page(cap), .cap = cap };
		put_z(&b, "x,");
		put_str(&b, (struct str){ in, in + n });
		if (b.full)
			continue;
		csv_quote(&b, 2);
		bad += b.n > b.cap;
		if (b.full)
			continue;
		got = csv_decode((struct str){ b.p + 2, b.p + b.n }, out);
		bad += got != n || memcmp(in, out, n) != 0;
	}
	check_u64(bad, 0, "csv: 200 000 cells read back what was written, whatever the room");
}

/* --- records --------------------------------------------------------------------------------------------------- */

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

/* A machine with one device, one client, one cgroup. */
static void make_machine(void)
{
	struct entity *e;
	u32 t;

	dev = device_add();
	e = &devices[dev].e;
	device_set(devices[dev].dev, sizeof(devices[0].dev), S("card0"));
	device_set(devices[dev].driver, sizeof(devices[0].driver), S("xe"));
	device_set(devices[dev].pdev, sizeof(devices[0].pdev), S("0000:03:00.0"));
	device_set(devices[dev].state, sizeof(devices[0].state), S("active"));
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
		reg_roll(false, true);
	}
}

static const struct recopts live = { .time_us = 1763611200123456, .dt_us = 1000000 };
static const struct recopts raw = { .raw = true, .time_us = 1763611200123456, .dt_us = -1 };

static const struct entity *entity_of(u8 kind)
{
	reg_roll(kind == K_CGROUP, true);
	return kind == K_DEVICE ? &devices[dev].e : kind == K_CLIENT ? &clients[cli].e : &groups[1].e;
}

/* All that a format writes of one sample. */
static void write_all(struct out *o, struct buf *b, const struct record *r)
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

static const char *const format_list[] = { "line", "table", "csv", "json", "logfmt" };

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
			write_all(&o, &b, &rec);
			check(json_ok(made(&b), &k), "json: a record of kind %u%s is well formed", kind, bare ? " that knows nothing" : "");
			while (str_word(&words, &w)) {
				char quoted[64];

				snprintf(quoted, sizeof(quoted), "\"%.*s\"", (int)str_len(w), w.p);
				if (!str_find(made(&k), str_z(quoted)) && !bad++)
					note("no key %s in %s", quoted, show(made(&b)));
			}
			check(bad == 0, "json: a record of kind %u%s has all its keys", kind, bare ? " that knows nothing" : "");
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
		write_all(&o, &b, &rec);
		if (!check(str_find(made(&b), str_z(rows[i].holds)), "%s of kind %u: %s", rows[i].format, rows[i].kind,
			   show(str_z(rows[i].holds))))
			note("%s", show(made(&b)));
	}
	for (u8 kind = K_DEVICE; kind <= K_CGROUP; kind++)
		for (size_t f = 0; f < LEN(format_list); f++)
			for (int how = 0; how < 2; how++) {
				struct out o = out_of(format_list[f], kind);
				struct buf b = fresh();

				record_make(&rec, entity_of(kind), how ? &raw : &live);
				write_all(&o, &b, &rec);
				check(!b.full && b.n && b.p[b.n - 1] == '\n' && is_clean(made(&b), true) &&
				      (strcmp(format_list[f], "json") != 0 || json_ok(made(&b), NULL)),
				      "%s of kind %u%s: whole lines, no byte that a terminal obeys", format_list[f], kind,
				      how ? ", raw" : "");
			}
}

/* --- buffers that are too small ------------------------------------------------------------------------------------ */

static void t_full(void)
{
	size_t bad = 0;

	for (u8 kind = K_DEVICE; kind <= K_CGROUP; kind++)
		for (size_t f = 0; f < LEN(format_list); f++)
			for (int many = 0; many < 2; many++) {
				struct out o = out_of(format_list[f], kind);
				struct buf b = fresh();
				static char whole[1 << 16];
				size_t n;

				o.one_line = many && format_joins(o.fmt);
				record_make(&rec, entity_of(kind), &live);
				write_all(&o, &b, &rec);
				n = b.n;
				memcpy(whole, b.p, n);
				bad = 0;
				for (size_t cap = 0; cap < n + 64; cap++) {
					o = out_of(format_list[f], kind);
					o.one_line = many && format_joins(o.fmt);
					b = (struct buf){ .p = edge_page(cap), .cap = cap };
					write_all(&o, &b, &rec);
					/* Blanks at the end of a line take room until they are taken back. */
					bad += b.n > cap || (cap < n && !b.full) || (cap == n + 63 && b.full) ||
					       (!b.full && (b.n != n || memcmp(b.p, whole, n) != 0));
				}
				check_u64(bad, 0, "%s of kind %u%s: every room from none to enough", format_list[f], kind,
					  many ? ", one line" : "");
			}
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
	check_u64(bad, 0, "full stays full");
}

/* --- lines that are too narrow --------------------------------------------------------------------------------------- */

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
		size_t n = 1 + rnd() % (i % 8 ? 20 : 200), at = 0, shown = 0;
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
		cell_engines(&b, &rec, width);
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
	check_u64(wide, 0, "engines: never wider than the line while there is one to leave out");
	if (wide)
		note("as wide as %zu", worst);
	check_u64(lost, 0, "engines: those shown and those in +N are all");
	check_u64(disorder, 0, "engines: in the driver's order");
	check_u64(hidden, 0, "engines: at least one is shown");
}

/* Every line within the width that was asked for, header and all. */
static void t_widths(void)
{
	size_t bad = 0;

	record_make(&rec, entity_of(K_DEVICE), &live);
	for (u16 width = 80; width < 300; width++) {
		struct out o = out_of("line", K_DEVICE);
		struct buf b = fresh();
		struct str s, l;

		o.width = width;
		write_all(&o, &b, &rec);
		for (s = made(&b); line_next(&s, &l);)
			bad += text_width(l) > width;
	}
	check_u64(bad, 0, "line: within every width from 80 on");
}

/* --- more than fits ------------------------------------------------------------------------------------------------------ */

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
	      "a client that 5000 processes hold still tells its memory");

	for (u32 i = 3000; i < 5000; i++)
		holder_remove(holder_find(10000 + i, 3));
	o = out_of("line", K_CLIENT);
	o.patterns = pattern;
	o.npatterns = 1;
	o.no_header = true;
	b = fresh();
	record_make(&rec, &clients[c].e, &live);
	write_all(&o, &b, &rec);
	for (s = made(&b); str_cut(&s, ',', &w); found++)
		;
	check(b.full || found == 3000, "a cell of 3000 pids is whole, or said to be cut");
	if (!b.full && found != 3000)
		note("%zu pids, %zu bytes", found, b.n);
	client_remove(c);

	c = client_add(dev, KEY_ID, 78);
	for (unsigned i = 0; i < 5000; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "k%u:v\n", i);
	clients[c].other = text_put(NONE, (struct str){ text, text + n });
	put_client(&clients[c].e, 1, 1);
	record_make(&rec, &clients[c].e, &live);
	check(record_get(&rec, NULL, "skipped") && record_get(&rec, NULL, "dropped"),
	      "a client of 5000 unknown keys still tells what it skipped and dropped");
	b = fresh();
	o = out_of("json", K_CLIENT);
	write_all(&o, &b, &rec);
	check(json_ok(made(&b), NULL), "and is well-formed JSON");
	client_remove(c);
}

/* --- patterns --------------------------------------------------------------------------------------------------------------- */

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

		check(field_match(&f, str_z(rows[i].pattern)) == rows[i].is, "pattern '%s' of %s.%s.%s", rows[i].pattern,
		      rows[i].group, rows[i].inst, rows[i].member);
	}
	check(pattern_known(S("busy"), K_DEVICE) && pattern_known(S("engine.any.busy"), K_CLIENT) &&
	      !pattern_known(S("temp"), K_CLIENT) && !pattern_known(S("nonsense"), K_DEVICE) &&
	      !pattern_known(S(""), K_DEVICE) && !pattern_known(S("engin"), K_DEVICE), "pattern_known");
	for (u8 kind = 0; kind < K_COUNT; kind++) {
		struct buf b = fresh();

		out_fields(&b, kind);
		check(b.n && is_clean(made(&b), true), "-f help of kind %u", kind);
	}
	for (size_t i = 0; i < LEN(format_list); i++)
		check(format_find(str_z(format_list[i])) != NULL, "format %s", format_list[i]);
	check(!format_find(S("")) && !format_find(S("jso")) && !format_find(S("jsonx")), "no such format");
}

int main(void)
{
	t_numbers();
	t_dates();
	t_escapes();
	t_csv();
	make_machine();
	t_keys();
	t_records();
	t_full();
	t_engines();
	t_widths();
	t_many();
	t_patterns();
	return unit_end();
}
