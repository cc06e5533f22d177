/* t_repeat.c - unit test of views/repeat.c: repeated samples: when two are equal, which facts
 * are remembered, and where the time is in a text. SPDX-License-Identifier: MIT */
#include "perfstream.h"
#include "views/views.h"
#include "unit.h"

static u64 more[PROF_TABLES], periods[PROF_TABLES];

void profile_more(u8 table, struct profrow *row, u64 period)
{
	more[table]++;
	periods[table] += period;
	row->samples++;
}

static u64 words[64];

/* A record of n words, of which word 3 is the time. */
static struct str record(u32 n, u64 ip, u64 time)
{
	memset(words, 0, sizeof(words));
	words[0] = PR_SAMPLE;
	words[1] = ip;
	words[3] = time;
	words[4] = 1000 + time;
	return str_of((const char *)words, 8 * (size_t)n);
}

enum { TIME = 3, PERIOD = 4 };

/* Before the period is ignored. */
static void t_period(void)
{
	struct repeat *a;

	check(!repeat_of(record(8, 9, 7)), "a sample whose period counts is new at first");
	check(!repeat_of(record(8, 9, 8)), "a sample with another period is new");
	a = repeat_of(record(8, 9, 8));
	words[TIME]++;
	check(a && repeat_of(str_of((const char *)words, 64)) == a,
	      "a sample with the same period at another time is a repetition");
}

static void t_equal(void)
{
	struct repeat *a;

	check(!repeat_of(record(6, 1, 5)), "the first sample is new");
	a = repeat_of(record(6, 1, 6));
	check(a != NULL, "an equal sample at another time is a repetition");
	check(repeat_of(record(6, 1, 7)) == a,
	      "the third equal sample is the same repetition");
	check(!repeat_of(record(6, 2, 7)), "a sample with another address is new");
	check(!repeat_of(record(5, 1, 7)), "a shorter sample is new");
	for (int i = 0; i < 3; i++)
		check(!repeat_of(record(33, 1, 7)),
		      "a sample that is too long is always new");
	check(!repeat_of(record(32, 1, 7)) &&
	      repeat_of(record(32, 1, 8)),
	      "a sample of the largest size is remembered");
}

static struct repeat *repeated(u64 ip)
{
	repeat_of(record(6, ip, 1));
	return repeat_of(record(6, ip, 2));
}

static void fill(struct repeat *r, struct str text, i64 time_us)
{
	repeat_fill_text(r, text, time_us < 0 ? -1 : time_us * 1000 + 999);
}

static const char *put(struct repeat *r, i64 time_us)
{
	static char text[2000];
	struct buf b = { .p = text, .cap = sizeof(text) - 1 };

	if (!repeat_put_text(r, &b, time_us * 1000 + 999))
		return "none";
	text[b.n] = '\0';
	return text;
}

static void t_texts(void)
{
	static const struct {
		const char *text;
		i64 time;
		const char *again; /* at time 7234567 */
	} rows[] = {
		{ "{\"time\":1.000005,\"ip\":1}\n", 1000005, "{\"time\":7.234567,\"ip\":1}\n" },
		{ "1.000005,a\n1.000005,b\n", 1000005, "7.234567,a\n7.234567,b\n" },
		{ "a,b\n", -1, "a,b\n" },
		/* the time is not shown, or in another form */
		{ "a,b\n", 1000005, "none" },
		{ "1.000005,1.000005\n", 1000005, "none" }, /* one of the two is a name */
		{ "{\"time\":1.000005,\"comm\":\"1.000005\"}\n", 1000005, "none" },
		{ "{\"comm\":\"\\\"time\\\":1.000005\"}\n", 1000005, "none" },
		{ "{\"time\":21.000005}\n", 21000005, "none" }, /* the other time is shorter */
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct repeat *r = repeated(100 + i);

		check(!strcmp(put(r, 7234567), "none"), "text %zu: none before it was stored", i);
		fill(r, str_z(rows[i].text), rows[i].time);
		check_str(str_z(put(r, 7234567)), rows[i].again,
		          "text %zu: the time of the repetition replaces the first one", i);
	}
}

static void t_long(void)
{
	static char text[1000], room[1000];
	struct repeat *r = repeated(200);
	struct buf small = { .p = text, .cap = 10 };

	memset(text, 'x', sizeof(text));
	fill(r, str_of(text, 896), -1);
	check_u64(strlen(put(r, 0)), 896, "a text of 896 bytes is stored");
	check(!repeat_put_text(r, &small, 0) && small.n == 0,
	      "a text is not written into a buffer without room");
	small = (struct buf){ .p = room, .cap = 1000, .n = 73 };
	check(!repeat_put_text(r, &small, 0) && small.n == 73,
	      "a text is not written into a buffer without room for 32 bytes after it");
	small = (struct buf){ .p = room, .cap = 1000, .n = 72 };
	check(repeat_put_text(r, &small, 0) && small.n == 968 && !memcmp(room + 72, text, 896),
	      "a text is written into a buffer with room for 32 bytes after it");
	fill(r, str_of(text, 897), -1);
	check_str(str_z(put(r, 0)), "none", "a text of more than 896 bytes is not stored");
	for (size_t i = 0; i < 17; i++)
		memcpy(text + 9 * i, "1.000005\n", 9);
	fill(r, str_of(text, 9 * 16), 1000005);
	check_u64(strlen(put(r, 2000000)), 9 * 16, "a text with 16 times is stored");
	fill(r, str_of(text, 9 * 17), 1000005);
	check_str(str_z(put(r, 2000000)), "none", "a text with 17 times is not stored");
	r = repeated(201);
	fill(r, str_z("1795751703.048979,a\n"), 1795751703048979);
	check_str(str_z(put(r, 1795751799999999)), "1795751799.999999,a\n",
	          "the time in a text is in seconds since 1970");
	fill(r, str_z("12345.678901,a\n"), 12345678901);
	check_str(str_z(put(r, 98765432109)), "98765.432109,a\n",
	          "the time in a text is in seconds since the boot");
}

/* Before any other time was written. */
static void t_first_second(void)
{
	struct repeat *r = repeated(401);

	fill(r, str_z("0.000001\n"), 1);
	check_str(str_z(put(r, 0)), "0.000000\n", "the first time is in the first second of a clock");
}

static void t_times(void)
{
	static const struct {
		i64 time_us;
		const char *text;
	} rows[] = {
		{ 1795751703999999, "1795751703.999999\n" }, { 1795751703000000, "1795751703.000000\n" },
		{ 1795751703000001, "1795751703.000001\n" }, { 1795751704000001, "1795751704.000001\n" },
		{ 1795751704100000, "1795751704.100000\n" }, { 1795751703100002, "1795751703.100002\n" },
		{ 999999999999, "none" }, /* shorter than the stored text */
		{ 999999000001, "none" }, { 1000000000000, "none" },
		{ 1795751703000000, "1795751703.000000\n" },
	};
	struct repeat *r = repeated(400);

	fill(r, str_z("1795751703.048979\n"), 1795751703048979);
	for (size_t i = 0; i < LEN(rows); i++)
		check_str(str_z(put(r, rows[i].time_us)), rows[i].text,
			  "time %zu: in the second of the time before, or in another one", i);
}

static void t_forget(void)
{
	struct repeat *r = repeated(300);

	fill(r, str_z("a\n"), -1);
	repeats_forget();
	check(repeat_of(record(6, 300, 9)) == r,
	      "after repeats_forget(), an equal sample is still a repetition");
	check_str(str_z(put(r, 0)), "none", "after repeats_forget(), a repetition has no text");
	fill(r, str_z("b\n"), -1);
	check_str(str_z(put(r, 0)), "b\n", "after repeats_forget(), a new text is stored");
}

static void t_sums(void)
{
	struct profrow symbol = { 0 }, ip = { 0 };
	struct repeat *r = repeated(400);

	check(!repeat_sum(r, 3), "without rows, a repetition is not summed");
	repeat_fill_row(r, PROF_SYMBOL, &symbol, 5);
	repeat_fill_row(r, PROF_IP, &ip, 5);
	check(repeat_sum(r, 0) && repeat_sum(r, 7), "with rows, repetitions are summed");
	check(symbol.samples == 2 && ip.samples == 2 && more[PROF_COMM] == 0,
	      "each row has the samples of both repetitions");
	check_u64(periods[PROF_IP], 12, "with the period of the first, or their own");
	repeat_fill_row(r, PROF_IP, NULL, 5);
	check(!repeat_sum(r, 0), "a row without room in its table is not summed");
}

int main(void)
{
	repeats_ignore(TIME);
	t_period();
	repeats_ignore(PERIOD);
	t_first_second();
	t_equal();
	t_texts();
	t_long();
	t_times();
	t_forget();
	t_sums();
	return unit_end();
}
