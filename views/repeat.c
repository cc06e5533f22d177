/* repeat.c - samples that equal an earlier one but for their time: a busy function gives the same
 * sample again and again. What was made of the earlier one, a text or rows of sums, is used again.
 * Pure. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"
#include "views/views.h"
#include "sources/os/os.h"

enum {
	REPEATS = 512, /* samples that are remembered: 600 KB */
	REPEAT_WORDS = 32, /* of a record: a callchain of 20 addresses */
	REPEAT_TEXT = 900, /* bytes; the long form of CSV has 600 to 800 */
	REPEAT_TIMES = 16, /* lines of the long form */
	MAX_TIME = 24,
};

struct repeat {
	u64 words[REPEAT_WORDS];
	u32 nwords, run; /* run: that of repeats.run when it was filled */
	struct profrow *rows[PROF_TABLES];
	u64 period;
	u32 text_n, ntimes, time_n;
	u16 times[REPEAT_TIMES]; /* where the time is in the text */
	char text[REPEAT_TEXT];
};

static struct {
	struct repeat *rows;
	u32 run; /* what was remembered in an earlier run is forgotten */
	struct table table;
} repeats = {
	.run = 1,
	.table = TABLE_ROW(repeats.rows, REPEATS, 16, "samples that are repeated"),
};

/* Forgets all samples: names or maps have changed. */
void repeats_forget(void)
{
	repeats.run++;
}

static u64 word_at(struct str rec, u32 i)
{
	u64 v;

	memcpy(&v, rec.p + 8 * (size_t)i, 8);
	return v;
}

/* Returns where a sample is remembered; to be filled unless repeat_put_text() or repeat_sum() finds
 * it filled. NULL: it is new (it is remembered now, to be filled when it comes again), it is too
 * long, or there is no memory. ignored: bit i is set if word i of the record may differ. */
struct repeat *repeat_of(struct str rec, u64 ignored)
{
	u32 n = (u32)(str_len(rec) / 8), i = 0;
	u64 hash = 0;
	struct repeat *to;

	if (!repeats.table.begun)
		table_all(&repeats.table);
	if (n > REPEAT_WORDS || !repeats.table.ready) /* with few rows it is only slower */
		return NULL;
	for (; i < n; i++)
		if (!(ignored >> i & 1))
			/* a constant of MurmurHash3's fmix64 */
			hash = (hash ^ hash >> 29 ^ word_at(rec, i)) * 0xff51afd7ed558ccd;
	to = &repeats.rows[(hash >> 32) % repeats.table.ready];
	for (i = 0; i < n && (ignored >> i & 1 || to->words[i] == word_at(rec, i)); i++)
		;
	if (i == n && to->nwords == n)
		return to;
	memcpy(to->words, rec.p, 8 * (size_t)n);
	to->nwords = n;
	to->run = 0;
	to->text_n = 0;
	memset(to->rows, 0, sizeof(to->rows));
	return NULL;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* Returns whether a time at that place of a text is the field of the record: a cell in front of a
 * line of CSV, or a member of JSON, in whose texts each quotation mark has a backslash. */
static bool is_time_field(struct str text, const char *at)
{
	struct str before = { text.p, at };
	static const struct str member = STR("\"time\":");

	return at == text.p || at[-1] == '\n' ||
	       (str_len(before) >= str_len(member) &&
		memcmp(at - str_len(member), member.p, str_len(member)) == 0);
}

/* Writes a time as put_number() does, with six decimals: at least 8 bytes. Returns its length; 0:
 * it is longer than MAX_TIME. */
static size_t time_put(char *to, i64 time_us)
{
	struct buf b = { .p = to, .cap = MAX_TIME };

	put_dec(&b, (u64)time_us, 6, 6);
	return b.full ? 0 : b.n;
}

/* Remembers the text of a record and where the record's time is in it; time_us: -1: it has none.
 * The text is not remembered if the time is also a part of another field. */
void repeat_fill_text(struct repeat *to, struct str text, i64 time_us)
{
	char now[MAX_TIME];
	size_t n = time_us < 0 ? 0 : time_put(now, time_us);

	to->text_n = 0;
	to->ntimes = 0;
	for (const char *p = text.p; n && (size_t)(text.e - p) >= n; p++) {
		if (*p != now[0] || memcmp(p, now, n) != 0)
			continue;
		if (to->ntimes == REPEAT_TIMES || !is_time_field(text, p))
			return;
		to->times[to->ntimes++] = (u16)(p - text.p);
	}
	if ((time_us >= 0 && !to->ntimes) || str_len(text) > REPEAT_TEXT)
		return;
	memcpy(to->text, text.p, str_len(text));
	to->text_n = (u32)str_len(text);
	to->time_n = (u32)n;
	to->run = repeats.run;
}

/* Copies a time of 8 to 24 bytes: three words that may overlap are faster than a loop. */
static void time_copy(char *to, const char *now, size_t n)
{
	size_t mid = n < 16 ? n - 8 : 8;

	memcpy(to, now, 8);
	memcpy(to + mid, now + mid, 8);
	memcpy(to + n - 8, now + n - 8, 8);
}

/* Appends the text with another time. False: there is none, or its time is not as long. */
bool repeat_put_text(const struct repeat *from, struct buf *b, i64 time_us)
{
	char now[MAX_TIME];
	char *to = b->p + b->n;

	if (from->run != repeats.run || !from->text_n || from->text_n > b->cap - b->n)
		return false;
	if (from->ntimes && time_put(now, time_us) != from->time_n)
		return false;
	memcpy(to, from->text, from->text_n);
	for (u32 i = 0; i < from->ntimes; i++)
		time_copy(to + from->times[i], now, from->time_n);
	b->n += from->text_n;
	return true;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Remembers the row of a table to which the sample was added; NULL: it had no room, so that the
 * sample is not remembered at all. */
void repeat_fill_row(struct repeat *to, u8 table, struct profrow *row, u64 period)
{
	to->rows[table] = row;
	to->period = period;
	to->run = row ? repeats.run : 0;
}

/* Adds a sample to the remembered rows; period: 0: that of the earlier sample. False: there are
 * none. */
bool repeat_sum(const struct repeat *from, u64 period)
{
	if (from->run != repeats.run)
		return false;
	for (u32 table = 0; table < PROF_TABLES; table++)
		if (from->rows[table])
			profile_more((u8)table, from->rows[table], period ? period : from->period);
	return true;
}
