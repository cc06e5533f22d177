/* t_filecounters.c - unit test of sources/catalog/filecounters.c: valid and invalid lines, all
 * types of files, and values that appear and disappear. SPDX-License-Identifier: MIT */
#include "../../sources/catalog/filecounters.c"

#include "folder.h"
#include "listed.h"

/* --- lines ------------------------------------------------------------------------------------ */

static void t_lines(void)
{
	static const struct {
		const char *text, *name, *unit; /* name: NULL if the line has no value */
		i64 value;
	} rows[] = {
		{ "Frames shown 60 1/s\n", "Frames shown", "1/s", 60 }, { "x 5\n", "x", "", 5 },
		{ "x -5 C\n", "x", "C", -5 }, { "x +5\n", NULL, NULL, 0 },
		{ "x 5 6\n", "x", "6", 5 },        /* the last word is the unit */
		{ "a b\t 7 \n", "a b", "", 7 }, { "x 9223372036854775807\n", "x", "", INT64_MAX },
		{ "x -9223372036854775807\n", "x", "", -INT64_MAX },
		{ "x -9223372036854775808\n", NULL, NULL, 0 },
		{ "x 9223372036854775808\n", NULL, NULL, 0 }, { "x 1.5\n", NULL, NULL, 0 },
		{ "5\n", NULL, NULL, 0 }, { "5 C\n", NULL, NULL, 0 }, { "x\n", NULL, NULL, 0 },
		{ "\n", NULL, NULL, 0 }, { "", NULL, NULL, 0 }, { "x 5", NULL, NULL, 0 },
		{ "x 5 C", "x", "C", 5 }, { "a\033b 5\n", NULL, NULL, 0 },
		{ "a\xff" "b 5\n", NULL, NULL, 0 }, { "bad\nx 5\n", "x", "", 5 },
		{ "x 5 a.unit.of.more.than.32.bytes.in.it\n", NULL, NULL, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str s = edge_str(rows[i].text, strlen(rows[i].text));
		struct file_value v = { .value = 0 };
		bool is = value_next(&s, &v);

		check(is == (rows[i].name != NULL) && (!is || v.value == rows[i].value),
		      "row %zu %s a value", i, is ? "has" : "has not");
		if (is && rows[i].name) {
			check_str(v.name, rows[i].name, "the name of a value");
			check_str(v.unit, rows[i].unit, "the unit of a value");
		}
	}
}

static bool feed(struct str s)
{
	struct str all = s;
	struct file_value v;
	bool good = true;

	while (value_next(&s, &v))
		good = good && within(v.name, all) && within(v.unit, all) &&
		       str_len(v.name) - 1 < NAME_BYTES && is_clean(v.name, false);
	return good;
}

static void t_names(void)
{
	char text[NAME_BYTES + 8];
	struct file_value v;
	struct str s;

	memset(text, 'n', NAME_BYTES + 1);
	strcpy(text + NAME_BYTES + 1, " 5\n");
	s = str_z(text);
	check(!value_next(&s, &v), "a name of 97 bytes is too long");
	s = str_z(text + 1);
	check(value_next(&s, &v) && str_len(v.name) == NAME_BYTES, "a name of 96 bytes is valid");
	check(replay(LIT("a b 5 C\nx -6\n\ny 7"), feed),
	      "any changed or truncated text gives no invalid name");
}

/* --- files ------------------------------------------------------------------------------------ */

static void t_files(void)
{
	static char large[FILE_BYTES + 8];

	setenv("GPUSTAT_COUNTERS", in_folder("none"), 1);
	provider_file.find[FIND_ALL]();
	check(listed.n == 0, "a folder that does not exist has no counters");
	setenv("GPUSTAT_COUNTERS", in_folder("counters"), 1);
	put(in_folder("counters/game"), "Frames 60 1/s\nFrames 61\nlevel -3\n");
	put(in_folder("counters/.game"), "hidden 1\n");
	put_link(in_folder("counters/link"), "game");
	put_folder(in_folder("counters/folder"));
	mkfifo(in_folder("counters/fifo"), 0600);
	memset(large, '\n', sizeof(large));
	strcpy(large, "large 1");
	large[7] = '\n';
	put_file(in_folder("counters/large"), large, FILE_BYTES);
	put_file(in_folder("counters/fits"), large, FILE_BYTES - 1);
	provider_file.find[FIND_ALL]();
	check(listed_has(" game: Frames (1/s) signed level - as reported by its program\n"),
	      "the counter of a file is listed");
	check(listed_has(" game: level () signed level - "), "a counter without a unit is listed");
	check(listed_has(" fits: large () "), "a counter of a file of 65535 bytes is listed");
	check_u64(filelist.nlines, 3, "no name twice; no link, FIFO, folder, large or hidden file");
	check_u64(filelist.nfiles, 2, "two files have counters");
}

static u32 number_of(const char *file, struct str name)
{
	struct line *l = line_find(file_number(str_z(file)), name);

	return (u32)(l - filelist.lines);
}

static void t_values(void)
{
	u32 frames = number_of("game", LIT("Frames")), level = number_of("game", LIT("level"));
	u64 v = 0, total;

	check(!line_find(file_number(LIT("fits")), LIT("level")), "a counter belongs to its file");
	check(provider_file.read(frames, &v, &total) == -ENOENT, "no value before the first reading");
	provider_file.open(frames);
	provider_file.open(level);
	provider_file.sample(true);
	check(provider_file.read(frames, &v, &total) == 0 && v == 60,
	      "two lines with the same name: the first value is read");
	check(provider_file.read(level, &v, &total) == 0 && (i64)v == -3,
	      "a negative value is read");
	put(in_folder("counters/game"), "level 4\nnew 5\n");
	provider_file.sample(true);
	check(provider_file.read(frames, &v, &total) == -ENOENT,
	      "a line that was removed has no value");
	check(provider_file.read(level, &v, &total) == 0 && v == 4,
	      "a line that changed has the new value");
	provider_file.close(level);
	provider_file.close(frames);
	put(in_folder("counters/game"), "level 5\n");
	provider_file.sample(true);
	check(provider_file.read(level, &v, &total) == -ENOENT, "a file without open counters is not read");
	unsetenv("GPUSTAT_COUNTERS");
	provider_file.open(level);
	provider_file.sample(true);
	check(provider_file.read(level, &v, &total) == -ENOENT,
	      "without GPUSTAT_COUNTERS there is no value");
}

/* Fills the tables: 4096 counters, 256 files, and a folder of 4096 names. */
static void t_full(void)
{
	static char lines[FILE_BYTES];
	struct buf b = BUF(lines);
	u32 had = filelist.nlines, dropped = registry.dropped, n, bad = 0;
	const struct table *full;

	setenv("GPUSTAT_COUNTERS", in_folder("lines"), 1);
	for (u32 i = 0; i <= MAX_LINES; i++) {
		put_c(&b, 'n');
		put_u64(&b, i);
		put_z(&b, " 1\n");
	}
	put_file(in_folder("lines/all"), lines, b.n);
	provider_file.find[FIND_ALL]();
	check(filelist.nlines == MAX_LINES && registry.dropped - dropped == had + 1,
	      "full table of counters: each counter without room is counted");
	check(number_of("all", LIT("n0")) == had && number_of("all", LIT("n4000")) == had + 4000,
	      "full table of counters: the counters before the limit are found");
	full = table_full(&n);
	check(full && n == had + 1 && strcmp(full->name, "counters of files") == 0,
	      "full table of counters: the table is reported");
	had = filelist.nfiles;
	dropped = registry.dropped;
	setenv("GPUSTAT_COUNTERS", in_folder("files"), 1);
	for (u32 i = 0; i <= MAX_FILES; i++)
		put(in_folder("files/f%u", (unsigned)i), "\n");
	provider_file.find[FIND_ALL]();
	check(filelist.nfiles == MAX_FILES && registry.dropped - dropped == had + 1,
	      "full table of files: each file without room is counted");
	for (u32 i = 0; i < MAX_FILES; i++)
		bad += file_number(str_z(filelist.files[i].name)) != i;
	full = table_full(&n);
	check(!bad && full && n == had + 1 && strcmp(full->name, "files of counters") == 0,
	      "full table of files: files before the limit are found, the table is reported");
	dropped = registry.dropped;
	setenv("GPUSTAT_COUNTERS", in_folder("names"), 1);
	for (u32 i = 0; i < MAX_FOLDER_NAMES; i++)
		put(in_folder("names/.%u", (unsigned)i), "");
	provider_file.find[FIND_ALL]();
	check(registry.dropped == dropped, "a folder of 4096 names is read completely");
	put(in_folder("names/.last"), "");
	provider_file.find[FIND_ALL]();
	check(registry.dropped == dropped + 1,
	      "a folder of 4097 names: the names that were not read are counted");
}

int main(void)
{
	folder_begin("filecounters");
	t_lines();
	t_names();
	t_files();
	t_values();
	t_full();
	shell("rm -rf \"$D\"");
	return unit_end();
}
