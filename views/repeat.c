/* repeat.c - cache for samples that differ from an earlier one only in their time: a busy function
 * gives the same sample again and again. The result for the earlier one, a text or rows of sums, is
 * used again. Pure: no system calls. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"
#include "views/views.h"
#include "sources/os/os.h"

enum {
	REPEATS = 512, /* number of samples in the cache, which needs 600 KB */
	/* maximum size of a perf record that is cached, in words of 8 bytes: enough for 20
	 * callers */
	REPEAT_WORDS = 32,
	/* maximum size in bytes of a sample's text that is cached, a multiple of COPY_STEP; in long
	 * CSV a sample has 500 to 800 bytes */
	REPEAT_TEXT = 896,
	/* number of bytes in which a text is copied at a time: compiled for size, a memcpy() of
	 * unknown length is a slow string instruction */
	COPY_STEP = 32,
	/* maximum number of places at which the text of a sample has its time; in long CSV, each
	 * line has the time once */
	REPEAT_TIMES = 16,
};

struct repeat {
	u64 words[REPEAT_WORDS]; /* the record; UINT64_MAX for words that repeat_of() ignores */
	/* run: value of repeats.run when the text or the profile rows were stored; 0: none are
	 * stored */
	u32 nwords, run;
	struct profrow *rows[PROF_TABLES];
	u64 period;
	u32 text_n, ntimes, time_n;
	u16 times[REPEAT_TIMES]; /* offsets of the sample's time in text[] */
	char text[REPEAT_TEXT];
};

static struct {
	struct repeat *rows;
	/* number that repeats_forget() increases; a text or profile rows that were stored with an
	 * earlier number are invalid */
	u32 run;
	/* the last time that time_text() wrote: its second in ns, its text and the length of this
	 * text; 0: it has written none */
	u64 second;
	char time[DIGITS + FILL_BEHIND];
	size_t time_n;
	struct table table;
} repeats = {
	.run = 1,
	.table = TABLE_ROW(repeats.rows, REPEATS, 16, "samples that are repeated"),
};

/* for each word of a record: UINT64_MAX if repeat_of() ignores it */
static u64 repeat_ignored[REPEAT_WORDS];

/* Invalidates the stored texts and profile rows of all samples. Called when the names of tasks or
 * the maps of processes have changed: the same sample may now have another text or belong to other
 * rows. */
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

/* Lets repeat_of() ignore a word of all records: those that differ only in it count as equal. */
void repeats_ignore(u8 word)
{
	repeat_ignored[word] = UINT64_MAX;
}

/* Returns the row of the cache for a perf record (rec) that has occurred before. The caller then
 * uses repeat_put_text() or repeat_sum(). If these return false, the caller stores the text with
 * repeat_fill_text(), or the profile rows with repeat_fill_row(). Returns NULL if the record is new
 * (then it gets a row for its next occurrence), if it is too long, or if there is no memory. */
struct repeat *repeat_of(struct str rec)
{
	u32 n = (u32)(str_len(rec) / 8);
	u64 words[REPEAT_WORDS], hash = 0, differ = 0;
	struct repeat *to;

	if (!repeats.table.begun)
		table_all(&repeats.table);
	/* the record is longer than a row of the cache, or there is no memory for the cache */
	if (n > REPEAT_WORDS || !repeats.table.ready)
		return NULL;
	for (u32 i = 0; i < n; i++) {
		words[i] = word_at(rec, i) | repeat_ignored[i];
		hash = (hash << 7 | hash >> 57) ^ words[i];
	}
	/* This factor is a constant of MurmurHash3's fmix64. Each bit of the words changes the
	 * highest bits of the hash, which select the row. */
	hash *= 0xff51afd7ed558ccd;
	to = &repeats.rows[(hash >> 32) * repeats.table.ready >> 32];
	for (u32 i = 0; i < n; i++)
		differ |= words[i] ^ to->words[i];
	if (!differ && to->nwords == n)
		return to;
	memcpy(to->words, words, 8 * (size_t)n);
	to->nwords = n;
	to->run = 0;
	to->text_n = 0;
	memset(to->rows, 0, sizeof(to->rows));
	return NULL;
}

/* --- texts ------------------------------------------------------------------------------------ */

/* True if the digits at the position `at` of a record's text are its field "time", and not a part
 * of another field: they are at the start of a line (the first cell of CSV) or after "time":
 * (JSON). A text in JSON cannot contain "time":, since its quotation marks have backslashes. */
static bool is_time_field(struct str text, const char *at)
{
	struct str before = { text.p, at };
	static const struct str member = STR("\"time\":");

	return at == text.p || at[-1] == '\n' ||
	       (str_len(before) >= str_len(member) &&
		memcmp(at - str_len(member), member.p, str_len(member)) == 0);
}

/* Writes a time, given in ns, to the DIGITS bytes at `to` as put_number() does: in seconds with six
 * decimals, 8 to 18 bytes. Returns the length in bytes. */
static size_t time_put(char *to, i64 time)
{
	struct buf b = { .p = to, .cap = DIGITS };

	put_dec(&b, (u64)time / 1000, 6, 6);
	return b.n;
}

/* Stores the text of a perf sample's record in the cache, and the offsets at which the text has the
 * time of the record. time: this time in ns; -1 if the text has none. Stores nothing if the text
 * is too long, or if the digits of the time are also a part of another field. */
void repeat_fill_text(struct repeat *to, struct str text, i64 time)
{
	char now[DIGITS];
	size_t n = time < 0 ? 0 : time_put(now, time);

	to->text_n = 0;
	to->ntimes = 0;
	for (const char *p = text.p; n && (size_t)(text.e - p) >= n; p++) {
		if (*p != now[0] || memcmp(p, now, n) != 0)
			continue;
		if (to->ntimes == REPEAT_TIMES || !is_time_field(text, p))
			return;
		to->times[to->ntimes++] = (u16)(p - text.p);
	}
	if ((time >= 0 && !to->ntimes) || str_len(text) > REPEAT_TEXT)
		return;
	memcpy(to->text, text.p, str_len(text));
	to->text_n = (u32)str_len(text);
	to->time_n = (u32)n;
	to->run = repeats.run;
}

/* Writes a time, given in ns, to repeats.time as time_put() does. Most samples have the same second
 * as the sample before: then only the six decimals are written. */
static void time_text(i64 time)
{
	const u64 billion = 1000000000;
	u64 ns = (u64)time - repeats.second;
	char *e = repeats.time + repeats.time_n;

	if (repeats.time_n && ns < billion) {
		/* This multiplication divides by 1000: a division instruction would be slow. */
		fill_digits(e - 6, e, ns * 274877907 >> 38);
		return;
	}
	repeats.time_n = time_put(repeats.time, time);
	repeats.second = (u64)time - (u64)time % billion;
}

/* Copies repeats.time to each place at which the copy `to` of a stored text has its time: as three
 * words of 8 bytes that may overlap, since a time has 8 to 18 bytes. */
static void times_copy(const struct repeat *from, char *to)
{
	size_t n = from->time_n, mid = n < 16 ? n - 8 : 8;
	u64 first, middle, last;

	memcpy(&first, repeats.time, 8);
	memcpy(&middle, repeats.time + mid, 8);
	memcpy(&last, repeats.time + n - 8, 8);
	for (u32 i = 0; i < from->ntimes; i++) {
		char *p = to + from->times[i];

		memcpy(p, &first, 8);
		memcpy(p + mid, &middle, 8);
		memcpy(p + n - 8, &last, 8);
	}
}

/* Appends the stored text of a sample to b, with the time replaced by `time`, which is in ns.
 * Returns false and appends nothing if no valid text is stored, if the text does not fit in b, or
 * if the new time has another length. */
bool repeat_put_text(const struct repeat *from, struct buf *b, i64 time)
{
	char *to = b->p + b->n;

	if (from->run != repeats.run || !from->text_n || from->text_n + COPY_STEP > b->cap - b->n)
		return false;
	if (from->ntimes)
		time_text(time);
	if (from->ntimes && repeats.time_n != from->time_n)
		return false;
	for (size_t i = 0; i < from->text_n; i += COPY_STEP)
		memcpy(to + i, from->text + i, COPY_STEP);
	if (from->ntimes)
		times_copy(from, to);
	b->n += from->text_n;
	return true;
}

/* --- sums ------------------------------------------------------------------------------------- */

/* Stores in the cache the row of a profile table to which a sample was added. row: NULL if the
 * table was full; then the cache is not used for this sample. period: the period of the sample. */
void repeat_fill_row(struct repeat *to, u8 table, struct profrow *row, u64 period)
{
	to->rows[table] = row;
	to->period = period;
	to->run = row ? repeats.run : 0;
}

/* Adds a perf sample to the profile rows that the cache stored when an equal sample came before.
 * period: period of this sample; 0 to use the period of the earlier, equal sample. Returns false if
 * the cache has no valid rows for it. */
bool repeat_sum(const struct repeat *from, u64 period)
{
	if (from->run != repeats.run)
		return false;
	for (u32 table = 0; table < PROF_TABLES; table++)
		if (from->rows[table])
			profile_more((u8)table, from->rows[table], period ? period : from->period);
	return true;
}
