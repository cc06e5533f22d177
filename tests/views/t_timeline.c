/* t_timeline.c - timelines: the encoding of protobuf messages, numbers and names, and the events that
 * records become. The expected bytes are written by hand from protobuf.dev, "Encoding".
 * SPDX-License-Identifier: MIT */
#include "../../views/timeline.c" /* for its static functions */
#include "unit.h"

#define S(lit) ((struct str)STR(lit))

static char text[64 << 10];
static struct out o;

static struct buf empty(void)
{
	return buf_on(text, sizeof(text));
}

static bool holds(const struct buf *b, struct str want)
{
	return !b->full && str_eq(str_of(b->p, b->n), want);
}

/* --- messages --------------------------------------------------------------------------------- */

static void t_varint(void)
{
	static const struct {
		u64 n;
		struct str bytes;
	} rows[] = {
		{ 0, STR("\0") }, { 1, STR("\x01") }, { 127, STR("\x7f") }, { 128, STR("\x80\x01") },
		{ 150, STR("\x96\x01") }, { 16384, STR("\x80\x80\x01") },
		{ UINT64_MAX, STR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01") },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct buf b = empty();

		put_varint(&b, rows[i].n);
		check(holds(&b, rows[i].bytes), "varint %llu", (unsigned long long)rows[i].n);
	}
}

static void t_fields(void)
{
	struct buf b = empty();
	size_t m;

	put_integer(&b, 1, 150);
	check(holds(&b, S("\x08\x96\x01")), "protobuf: an integer");
	b = empty();
	put_integer(&b, 58, 3);
	check(holds(&b, S("\xd0\x03\x03")), "protobuf: a field number of two bytes");
	b = empty();
	put_double(&b, 44, -2.5);
	check(holds(&b, S("\xe1\x02\0\0\0\0\0\0\x04\xc0")),
	      "protobuf: a double, lowest byte first");
	b = empty();
	m = message_begin(&b, 3);
	put_integer(&b, 1, 150);
	message_end(&b, m);
	check(holds(&b, S("\x1a\x03\x08\x96\x01")), "protobuf: a message in a message");
}

static void t_lengths(void)
{
	for (size_t n = 126; n < 20000; n = n * 3 / 2) {
		struct buf b = empty();
		size_t from = message_begin(&b, 2), head = n < 128 ? 2 : n < 16384 ? 3 : 4;

		for (size_t i = 0; i < n; i++)
			put_c(&b, (char)('a' + i % 26));
		message_end(&b, from);
		check(b.n == head + n && text[0] == 0x12 && (u8)text[1] == (n < 128 ? n : n % 128 + 128) &&
		   text[head] == 'a' && text[b.n - 1] == (char)('a' + (n - 1) % 26),
		   "protobuf: a message of %zu bytes has its length before its bytes", n);
	}
}

static void t_cut(void)
{
	for (size_t cap = 0; cap < 140; cap++) {
		struct buf b = buf_on(text, cap);
		size_t from = message_begin(&b, 2);

		put_string(&b, 3, S("twenty bytes of text"));
		for (size_t i = 0; i < 120; i++)
			put_c(&b, 'x');
		message_end(&b, from);
		if (!b.full || b.n > cap) {
			check(false,
			      "protobuf: a message that does not fit in %zu bytes marks the buffer "
			      "full", cap);
			return;
		}
	}
	check(true, "protobuf: a message that does not fit writes no byte after the buffer");
}

static void t_strings(void)
{
	static const struct {
		struct str in, out;
	} rows[] = {
		{ STR("Xorg"), STR("\x0a\x04Xorg") },
		{ STR(""), STR("\x0a\0") },
		{ STR("a\xff" "b"), STR("\x0a\x05" "a\xef\xbf\xbd" "b") },
		{ STR("\xc3"), STR("\x0a\x03\xef\xbf\xbd") },
		{ STR("\xed\xa0\x80"), STR("\x0a\x09\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd") },
		{ STR("h\xc3\xa9\n\x1b"), STR("\x0a\x05h\xc3\xa9\n\x1b") },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct buf b = empty();

		put_string(&b, 1, rows[i].in);
		check(holds(&b, rows[i].out), "string %zu: invalid bytes become U+FFFD", i);
	}
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void t_numbers(void)
{
	static const struct {
		struct val v;
		double want;
		bool whole;
	} rows[] = {
		{ { .type = V_INT, .n = 7 }, 7, true },
		{ { .type = V_INT, .n = INT64_MAX, .neg = true }, -9223372036854775807.0, true },
		{ { .type = V_INT, .n = UINT64_MAX }, 18446744073709551615.0, false },
		{ { .type = V_INT, .unit = U_PERCENT, .n = 12345 }, 12.345, false },
		{ { .type = V_INT, .unit = U_CELSIUS, .n = 45000, .neg = true }, -45.0, false },
		{ { .type = V_INT, .unit = U_WATT, .n = 4200000 }, 4.2, false },
		{ { .type = V_INT, .point = 2, .n = 150 }, 1.5, false },
		{ { .type = V_DIGITS, .s = STR("18446744073709551616.25") }, 18446744073709551616.25, false },
		{ { .type = V_DIGITS, .s = STR("1000000000000000000000"), .neg = true }, -1e21, false },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check(number(&rows[i].v) >= rows[i].want && number(&rows[i].v) <= rows[i].want &&
		   is_integer(&rows[i].v) == rows[i].whole, "number %zu is %g", i, rows[i].want);
}

/* --- what is described ------------------------------------------------------------------------ */

static void t_described(void)
{
	const u64 h = 5;
	size_t again = 0;

	check(!is_described(h) && is_described(h), "a track is new at its first use");
	for (u64 i = 1; i < PROBES; i++)
		again += is_described(h + i * MAX_DESCRIBED);
	check(again == 0 && is_described(h), "tracks with the same hash have separate places");
	again = is_described(h + PROBES * (u64)MAX_DESCRIBED);
	check(!again && !is_described(h) && is_described(h),
	      "another track with the same hash replaces the first one, which is new at its next "
	      "use");
	forget_described();
	check(!is_described(h), "after a lost record, all tracks are new");
}

/* --- records ---------------------------------------------------------------------------------- */

static const struct column *column_of(u8 kind, const char *group, const char *member)
{
	for (size_t i = 0; i < ncolumns; i++)
		if (columns[i].when >> kind & 1 && str_eq(str_z(columns[i].group), str_z(group)) &&
		    str_eq(str_z(columns[i].member), str_z(member)))
			return &columns[i];
	return NULL;
}

static void add(struct record *r, const char *group, const char *member, struct str inst, struct val v)
{
	record_put(r, column_of(r->kind, group, member), inst, &v);
}

static struct val word(const char *z)
{
	return (struct val){ .type = V_TEXT, .s = str_z(z) };
}

static struct val whole(u64 n)
{
	return (struct val){ .type = V_INT, .n = n };
}

static struct str chrome(const struct record *r)
{
	struct buf b = empty();

	chrome_record(&o, &b, r);
	return str_of(b.p, b.n);
}

static bool says(struct str all, const char *part)
{
	return str_find(all, str_z(part));
}

static void t_device(void)
{
	static const struct entity e = { .kind = K_DEVICE };
	struct record r;
	struct str got;

	o = (struct out){ .run = 7 };
	forget_described();
	record_clear(&r, &e);
	add(&r, NULL, "time", S(""), (struct val){ .type = V_TIME, .n = 1500001 });
	add(&r, NULL, "dev", S(""), word("card0"));
	add(&r, NULL, "driver", S(""), word("i915"));
	add(&r, NULL, "busy", S(""), (struct val){ 0 });
	add(&r, "engine", "busy", S("ren\"d\xff"), (struct val){ .type = V_INT, .unit = U_PERCENT, .n = 12500 });
	add(&r, "temp", NULL, S("edge"), (struct val){ .type = V_INT, .unit = U_CELSIUS, .n = 1500, .neg = true });
	got = chrome(&r);
	check(*got.p == '[' && says(got, "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":"),
	                  "the first event is the title, after an opening bracket");
	check(says(got, "\"args\":{\"name\":\"card0\"}}\n"), "the title of a device is its node");
	check(says(got, "\n,{\"name\":\"engine.ren\\\"d\\ufffd.busy\",\"ph\":\"C\",\"pid\":") && says(got, ",\"ts\":1500001.0,\"args\":{\"%\":12.5}}\n"),
	   "a counter has the name and the unit of the field, and the time in us");
	check(says(got, "\"temp.edge\"") && says(got, "{\"C\":-1.5}}"),
	      "a negative value of a counter");
	check(!says(got, "\"busy\"") && !says(got, "i915") && !says(got, "\"time\""),
	      "unknown values, texts and the time are not counters");
	got = chrome(&r);
	check(*got.p == ',' && !says(got, "process_name") && says(got, "12.5"),
	      "the second record of a device has only counters");
	o.headed = false;
	o.no_header = true;
	check(*chrome(&r).p == ',', "a file that is appended to has one opening bracket");
}

static void t_client(void)
{
	static const struct client c = { .e.kind = K_CLIENT, .keykind = KEY_FILE, .key = (u64)4321 << 32 | 9 };
	struct record r;
	struct str got;

	o = (struct out){ .run = 7 };
	forget_described();
	record_clear(&r, &c.e);
	add(&r, NULL, "dev", S(""), word("card0"));
	add(&r, NULL, "pid", S(""), whole(4321));
	add(&r, NULL, "comm", S(""), word("app"));
	add(&r, "memory", "resident", S("vram0"), (struct val){ .type = V_INT, .unit = U_BYTES, .n = 4096 });
	got = chrome(&r);
	check(says(got, "\"pid\":4321,\"args\":{\"name\":\"app\"}}\n"),
	      "the process of a client has a name");
	check(says(got, ",{\"name\":\"memory.vram0.resident\",\"ph\":\"C\",\"pid\":4321,") && says(got, "\"id\":\"card0 fd 9\",\"args\":{\"bytes\":4096}}\n"),
	   "a counter of a client belongs to its process; without drm-client-id the descriptor distinguishes it");
}

static void t_lost(void)
{
	static const struct entity e = { .kind = K_DEVICE };
	struct record r;
	struct buf b = buf_on(text, 40);

	o = (struct out){ .run = 7 };
	forget_described();
	record_clear(&r, &e);
	add(&r, NULL, "dev", S(""), word("card0"));
	add(&r, NULL, "clients", S(""), whole(1));
	perfetto_record(&o, &b, &r);
	check(b.full && !o.headed,
	      "a record without room does not write the beginning of the file");
	b = empty();
	perfetto_record(&o, &b, &r);
	check(!b.full && o.headed && says(str_of(b.p, b.n), "card0") && says(str_of(b.p, b.n), "clients"),
	      "the first record with room has the beginning of the file and all descriptions");
}

static void t_ids(void)
{
	static const struct entity e = { .kind = K_DEVICE };
	struct record r;
	u64 a, b;

	o = (struct out){ .run = 7 };
	record_clear(&r, &e);
	add(&r, NULL, "dev", S(""), word("card0"));
	add(&r, "engine", "busy", S("a"), whole(1));
	add(&r, "engine", "busy", S("b"), whole(1));
	place_find(&o, &r);
	a = counter_id(&r.f[1]);
	b = counter_id(&r.f[2]);
	check(a != b && a != place.owner, "counters of two engines have different track ids");
	place_find(&o, &r);
	check(counter_id(&r.f[1]) == a, "a counter has the same track id in each record");
	r.f[0].v = word("card1");
	place_find(&o, &r);
	check(counter_id(&r.f[1]) != a, "the same field of another device has another track id");
}

int main(void)
{
	t_varint();
	t_fields();
	t_lengths();
	t_cut();
	t_strings();
	t_numbers();
	t_described();
	t_device();
	t_client();
	t_lost();
	t_ids();
	return unit_end();
}
