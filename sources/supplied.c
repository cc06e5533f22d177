/* supplied.c - of the catalogue: what other programs tell, in files of the folder $GPUSTAT_COUNTERS. A file's name is the
 * vendor; a line is NAME VALUE UNIT: the last word is the unit, the one before it the value, a whole number with or without a
 * sign, and what stands in front of that, blanks and all, the name. A line of a name and a value only has no unit; so has one
 * that ends in a number, unless the word before it is a number too. Files whose names begin with a dot are passed over: they
 * may be on the way to be renamed.
 *
 * Whoever can write there is not trusted: no link of it is followed, nothing is waited for, and what makes no sense is passed over.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

enum {
	MAX_FILES = 256,
	MAX_LINES = 4096,
	VENDOR_BYTES = 64,
	NAME_BYTES = 96,
	UNIT_BYTES = 32,
	FILE_BYTES = 64 << 10, /* a larger file is not read */
	MAX_LOOKED = 4096,     /* names in the folder: whoever fills it does not stop us */
};

static struct file {
	char name[VENDOR_BYTES];
	u32 opened; /* counters of it that are active */
} *files;
static TABLE(files, MAX_FILES, 16, "files of counters");
static u32 nfiles;

static struct line {
	u32 file;
	char name[NAME_BYTES];
	u8 n;
	bool open, known;
	i64 value;
	u32 next; /* in its bucket, + 1 */
} *lines;
static TABLE(lines, MAX_LINES, 32, "counters of files");
static u32 nlines, line_bucket[256];

static char *bytes;
static TABLE(bytes, FILE_BYTES, 4096, "bytes of a file of counters");

/* --- files ------------------------------------------------------------------------------------------------- */

/* What the file holds; false: it is none, or none of ours. */
static bool file_text(int dir, const char *name, struct str *text)
{
	long fd = sys_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), n;

	if (fd < 0)
		return false;
	n = sys_is_regular((int)fd) ? slurp_table_fd((int)fd, &bytes_table) : -EINVAL;
	sys_close((int)fd);
	*text = str_got(bytes, n);
	return n >= 0 && n < (long)bytes_table.most;
}

static bool is_printable(struct str s)
{
	while (s.p < s.e) {
		size_t n = utf8_len(s.p, s.e);

		if (n == 0 || is_control(s.p, n))
			return false;
		s.p += n;
	}
	return true;
}

static bool is_number(struct str s, i64 *v)
{
	return scan_i64(s, v) == s.e;
}

/* The last word, which is cut off. */
static struct str last_word(struct str *s)
{
	struct str w;

	*s = str_trim(*s);
	w = (struct str){ s->e, s->e };
	while (w.p > s->p && w.p[-1] != ' ' && w.p[-1] != '\t')
		w.p--;
	s->e = w.p;
	*s = str_trim(*s);
	return w;
}

struct told {
	struct str name, unit;
	i64 value;
};

/* The next line; the last one may lack its newline. */
static bool told_line(struct str *text, struct str *line, bool *whole)
{
	*whole = line_next(text, line);
	if (!*whole) {
		*line = *text;
		text->p = text->e;
	}
	return *whole || line->p < line->e;
}

/* Where a line may not be whole yet, its value is if the unit stands behind it. */
static bool told_next(struct str *text, struct told *t)
{
	struct str line;
	bool whole;

	while (told_line(text, &line, &whole)) {
		struct str last = last_word(&line), rest = line, value = last_word(&rest);

		if (is_number(value, &t->value) && rest.p < rest.e) {
			t->name = rest;
			t->unit = last;
		} else if (whole && is_number(last, &t->value)) {
			t->name = line;
			t->unit = (struct str){ 0 };
		} else {
			continue;
		}
		if (t->name.p < t->name.e && str_len(t->name) <= NAME_BYTES && str_len(t->unit) <= UNIT_BYTES &&
		    is_printable(t->name) && is_printable(t->unit))
			return true;
	}
	return false;
}

/* --- what they have told ------------------------------------------------------------------------------------------ */

static u32 *bucket_of(u32 file, struct str name)
{
	u32 h = file * 31;

	for (; name.p < name.e; name.p++)
		h = h * 31 + (u8)*name.p;
	return &line_bucket[h % LEN(line_bucket)];
}

static struct line *line_find(u32 file, struct str name)
{
	for (u32 i = *bucket_of(file, name); i; i = lines[i - 1].next)
		if (lines[i - 1].file == file && str_eq(name, (struct str){ lines[i - 1].name, lines[i - 1].name + lines[i - 1].n }))
			return &lines[i - 1];
	return NULL;
}

static void line_add(u32 file, const struct told *t)
{
	struct naming n = { .vendor = str_z(files[file].name), .name = t->name, .what = (struct str)STR("as its program tells it"),
			    .unit = t->unit, .rule = R_LEVEL, .is_signed = true, .max = UINT64_MAX };
	u32 *bucket = bucket_of(file, t->name);
	struct line *l;

	if (!table_has(&lines_table, nlines)) {
		reg_dropped++;
		return;
	}
	l = &lines[nlines];
	*l = (struct line){ .file = file, .n = (u8)str_len(t->name), .next = *bucket };
	memcpy(l->name, t->name.p, l->n);
	*bucket = nlines + 1;
	catalog_add(SUP_FILE, nlines++, &n);
}

static u32 file_number(struct str name)
{
	for (u32 i = 0; i < nfiles; i++)
		if (str_is(name, files[i].name))
			return i;
	if (str_len(name) >= VENDOR_BYTES || !is_printable(name) || !table_has(&files_table, nfiles)) {
		reg_dropped++;
		return MAX_FILES;
	}
	device_set(files[nfiles].name, VENDOR_BYTES, name);
	return nfiles++;
}

static long folder_open(struct dir *d)
{
	const char *path = privilege_getenv("GPUSTAT_COUNTERS");

	return path && path[0] ? dir_take(d, file_open(path, O_RDONLY | O_DIRECTORY)) : -ENOENT;
}

static void list_files(void)
{
	struct dir d;
	struct str text;
	struct told t;
	const char *name;
	u32 looked = 0;

	if (folder_open(&d) < 0)
		return;
	while ((name = dir_next(&d)) && looked++ < MAX_LOOKED) {
		/* A dot in front: a file that is being written, to be renamed when it is whole. */
		bool ours = name[0] != '.' && file_text(d.fd, name, &text);
		u32 file = ours ? file_number(str_z(name)) : MAX_FILES;

		while (file < MAX_FILES && told_next(&text, &t))
			if (!line_find(file, t.name))
				line_add(file, &t);
	}
	dir_close(&d);
}

/* --- readings ------------------------------------------------------------------------------------------------------- */

static long open_line(u32 at)
{
	lines[at].open = true;
	lines[at].known = false;
	files[lines[at].file].opened++;
	return 0;
}

static void close_line(u32 at)
{
	lines[at].open = false;
	files[lines[at].file].opened--;
}

static void file_sample(int dir, u32 file)
{
	struct str text;
	struct told t;

	if (!file_text(dir, files[file].name, &text))
		return;
	while (told_next(&text, &t)) {
		struct line *l = line_find(file, t.name);

		if (!l || l->known)
			continue;
		l->value = t.value;
		l->known = true;
	}
}

static void sample_files(bool anew)
{
	struct dir d;

	(void)anew;
	for (u32 i = 0; i < nlines; i++)
		lines[i].known = false;
	if (folder_open(&d) < 0)
		return;
	for (u32 i = 0; i < nfiles; i++)
		if (files[i].opened)
			file_sample(d.fd, i);
	dir_close(&d);
}

static long read_line(u32 at, u64 *v, u64 *of)
{
	(void)of;
	*v = (u64)lines[at].value;
	return lines[at].known ? 0 : -ENOENT;
}

const struct supplier sup_file = {
	.list = list_files,
	.open = open_line, .close = close_line, .sample = sample_files, .read = read_line,
};
