/* filecounters.c - provider of counters that other programs write to files of the folder
 * $GPUSTAT_COUNTERS. The name of a file is the vendor. A line is NAME VALUE UNIT: the last word is
 * the unit; the word before it is the value, a whole number that may have a minus sign; all text
 * before that, including blanks, is the name. If the last word is a number and the word before it
 * is not, the line is NAME VALUE, without a unit. Files whose names begin with a dot are ignored: a
 * program may be writing them, to rename them when they are complete.
 *
 * Programs that can write there are not trusted: symbolic links are not followed, no call waits,
 * and malformed lines are ignored.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/catalog/catalog.h"
#include "sys.h"

enum {
	MAX_FILES = 256,
	MAX_LINES = 4096,
	VENDOR_BYTES = 64,
	NAME_BYTES = 96,
	UNIT_BYTES = 32,
	FILE_BYTES = 64 << 10, /* maximum bytes of a file of counters; a larger file is not read */
	/* maximum number of names read from the folder of counter files, so that a full folder does
	 * not take long */
	MAX_FOLDER_NAMES = 4096,
};

/* A file that supplies counters; its name is the vendor of its counters. */
struct file {
	char name[VENDOR_BYTES];
	u32 opened; /* number of open counters of this file */
};

/* A counter whose value is in one line of a file. The provider identifies the counter by its index
 * in filelist.lines[]. */
struct line {
	u32 file;
	char name[NAME_BYTES];
	u8 n;
	bool open, known;
	i64 value;
	u32 next; /* index + 1 of the next counter with the same hash of its name; 0: none */
};

static struct {
	struct file *files;
	struct line *lines;
	char *bytes; /* content of the file of counters that is being read */
	u32 nfiles;
	u32 nlines, line_bucket[256];
} filelist;
static struct {
	struct table files, lines, bytes;
} filelist_tables = {
	.files = TABLE_ROW(filelist.files, MAX_FILES, 16, "files of counters"),
	.lines = TABLE_ROW(filelist.lines, MAX_LINES, 32, "counters of files"),
	.bytes = TABLE_ROW(filelist.bytes, FILE_BYTES, 4096, "bytes of a file of counters"),
};

/* --- files ------------------------------------------------------------------------------------ */

/* Reads a file of the folder dir into filelist.bytes and sets *text to its content. Returns false
 * if the file cannot be read, is not a regular file, or is too large. */
static bool file_text(int dir, const char *name, struct str *text)
{
	long fd = sys_openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY), n;

	if (fd < 0)
		return false;
	n = sys_is_regular((int)fd) ? slurp_table_fd((int)fd, &filelist_tables.bytes) : -EINVAL;
	sys_close((int)fd);
	*text = str_read(filelist.bytes, n);
	return n >= 0 && n < (long)filelist_tables.bytes.most;
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

/* Removes the last word from *s and returns it. */
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

/* A line of a file of counters: NAME VALUE UNIT. */
struct file_value {
	struct str name, unit;
	i64 value;
};

/* Removes the next line from *text and stores it in *line. Sets *whole to true if the line ends in
 * a newline; the last line of a file may have none. Returns false if *text is empty. */
static bool value_line(struct str *text, struct str *line, bool *whole)
{
	*whole = line_next(text, line);
	if (!*whole) {
		*line = *text;
		text->p = text->e;
	}
	return *whole || line->p < line->e;
}

/* Reads the next valid line of a file of counters, stores its name, value and unit in *t, and
 * removes it from *text. Returns false if there are no more valid lines. A line without a newline
 * may be incomplete: its value is complete only if a unit follows the value. */
static bool value_next(struct str *text, struct file_value *t)
{
	struct str line;
	bool whole;

	while (value_line(text, &line, &whole)) {
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
		if (t->name.p < t->name.e && str_len(t->name) <= NAME_BYTES &&
		    str_len(t->unit) <= UNIT_BYTES &&
		    is_printable(t->name) && is_printable(t->unit))
			return true;
	}
	return false;
}

/* --- counters --------------------------------------------------------------------------------- */

static u32 *bucket_of(u32 file, struct str name)
{
	u32 h = file * 31;

	for (; name.p < name.e; name.p++)
		h = h * 31 + (u8)*name.p;
	return &filelist.line_bucket[h % LEN(filelist.line_bucket)];
}

static struct line *line_find(u32 file, struct str name)
{
	for (u32 i = *bucket_of(file, name); i; i = filelist.lines[i - 1].next)
		if (filelist.lines[i - 1].file == file &&
		    str_eq(name, (struct str){ filelist.lines[i - 1].name,
					       filelist.lines[i - 1].name +
						       filelist.lines[i - 1].n }))
			return &filelist.lines[i - 1];
	return NULL;
}

static void line_add(u32 file, const struct file_value *t)
{
	struct counter_info n = { .vendor = str_z(filelist.files[file].name), .name = t->name,
				  .what = (struct str)STR("as reported by its program"),
				  .unit = t->unit, .rule = R_LEVEL, .is_signed = true,
				  .max = UINT64_MAX };
	u32 *bucket = bucket_of(file, t->name);
	struct line *l;

	if (!table_has(&filelist_tables.lines, filelist.nlines)) {
		registry.dropped++;
		return;
	}
	l = &filelist.lines[filelist.nlines];
	*l = (struct line){ .file = file, .n = (u8)str_len(t->name), .next = *bucket };
	memcpy(l->name, t->name.p, l->n);
	*bucket = filelist.nlines + 1;
	catalog_add(PROVIDER_FILE, filelist.nlines++, &n);
}

static u32 file_number(struct str name)
{
	for (u32 i = 0; i < filelist.nfiles; i++)
		if (str_is(name, filelist.files[i].name))
			return i;
	if (str_len(name) >= VENDOR_BYTES || !is_printable(name) ||
	    !table_has(&filelist_tables.files, filelist.nfiles)) {
		registry.dropped++;
		return MAX_FILES;
	}
	str_copy(filelist.files[filelist.nfiles].name, VENDOR_BYTES, name);
	return filelist.nfiles++;
}

static long folder_open(struct dir *d)
{
	const char *path = privilege_getenv("GPUSTAT_COUNTERS");

	return path && path[0] ? dir_adopt(d, file_open(path, O_RDONLY | O_DIRECTORY)) : -ENOENT;
}

static void list_files(void)
{
	struct dir d;
	struct str text;
	struct file_value t;
	const char *name;
	u32 nnames = 0;

	if (folder_open(&d) < 0)
		return;
	while ((name = dir_next(&d))) {
		if (nnames++ == MAX_FOLDER_NAMES) {
			registry.dropped++;
			break;
		}
		/* Files whose names begin with a dot are not read: a program may be writing such a
		 * file, to rename it when it is complete. */
		bool readable = name[0] != '.' && file_text(d.fd, name, &text);
		u32 file = readable ? file_number(str_z(name)) : MAX_FILES;

		while (file < MAX_FILES && value_next(&text, &t))
			if (!line_find(file, t.name))
				line_add(file, &t);
	}
	dir_close(&d);
}

/* --- readings --------------------------------------------------------------------------------- */

static long line_open(u32 at)
{
	filelist.lines[at].open = true;
	filelist.lines[at].known = false;
	filelist.files[filelist.lines[at].file].opened++;
	return 0;
}

static void line_close(u32 at)
{
	filelist.lines[at].open = false;
	filelist.files[filelist.lines[at].file].opened--;
}

static void file_sample(int dir, u32 file)
{
	struct str text;
	struct file_value t;

	if (!file_text(dir, filelist.files[file].name, &text))
		return;
	while (value_next(&text, &t)) {
		struct line *l = line_find(file, t.name);

		if (!l || l->known)
			continue;
		l->value = t.value;
		l->known = true;
	}
}

static void sample_files(bool due)
{
	struct dir d;

	(void)due;
	for (u32 i = 0; i < filelist.nlines; i++)
		filelist.lines[i].known = false;
	if (folder_open(&d) < 0)
		return;
	for (u32 i = 0; i < filelist.nfiles; i++)
		if (filelist.files[i].opened)
			file_sample(d.fd, i);
	dir_close(&d);
}

static long line_read(u32 at, u64 *v, u64 *total)
{
	(void)total;
	*v = (u64)filelist.lines[at].value;
	return filelist.lines[at].known ? 0 : -ENOENT;
}

const struct provider provider_file = {
	.find = { [FIND_ALL] = list_files },
	.open = line_open, .close = line_close, .sample = sample_files, .read = line_read,
};
