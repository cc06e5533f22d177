/* t_tpfields.c - unit test of sources/perf/tpfields.c: format files of tracepoints: each kind of
 * field, each truncation, malformed lines; values of hostile samples. SPDX-License-Identifier:
 * MIT */
#include "../../sources/perf/tpfields.c"
#include "unit.h"

#define S(lit) ((struct str)STR(lit))

/* The format file of a tracepoint with each kind of field. */
static const char format[] =
	"name: odd\nID: 372\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
	"\tfield:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;\n"
	"\tfield:u8 mac[6];\toffset:28;\tsize:6;\tsigned:0;\n"
	"\tfield:unsigned long args[2];\toffset:40;\tsize:16;\tsigned:0;\n"
	"\tfield:const void * caller;\toffset:56;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] name;\toffset:64;\tsize:4;\tsigned:1;\n"
	"\tfield:__rel_loc char[] other;\toffset:68;\tsize:4;\tsigned:1;\n"
	"\tfield:__data_loc s16[] list;\toffset:72;\tsize:4;\tsigned:1;\n"
	"\tfield:char old[TASK_COMM_LEN];\toffset:8;\tsize:16;\n"
	"\tfield:struct pair p;\toffset:8;\tsize:12;\tsigned:0;\n"
	"\nprint fmt: \"field:int late;\\toffset:1;\", REC->pid\n"
	"\tfield:int later;\toffset:0;\tsize:4;\tsigned:1;\n";

static const struct {
	const char *name;
	u32 at, size;
	u8 each, place, form;
	bool is_signed, common;
} want[] = {
	{ "common_type", 0, 2, 2, TP_HERE, TP_NUMBER, false, true },
	{ "common_pid", 4, 4, 4, TP_HERE, TP_NUMBER, true, true },
	{ "comm", 8, 16, 1, TP_HERE, TP_TEXT, false, false },
	{ "pid", 24, 4, 4, TP_HERE, TP_NUMBER, true, false },
	{ "mac", 28, 6, 1, TP_HERE, TP_ARRAY, false, false },
	{ "args", 40, 16, 8, TP_HERE, TP_ARRAY, false, false },
	{ "caller", 56, 8, 8, TP_HERE, TP_POINTER, false, false },
	{ "name", 64, 4, 1, TP_DATA_LOC, TP_TEXT, true, false },
	{ "other", 68, 4, 1, TP_REL_LOC, TP_TEXT, true, false },
	{ "list", 72, 4, 2, TP_DATA_LOC, TP_ARRAY, true, false },
	{ "old", 8, 16, 1, TP_HERE, TP_TEXT, false, false },
	{ "p", 8, 12, 0, TP_HERE, TP_NUMBER, false, false },
};

static struct tpfield parsed[LEN(want)];

static void t_format(void)
{
	struct str text = str_z(format);
	struct tpfield f;
	size_t n = 0;

	for (; tpfield_next(&text, &f); n++) {
		if (n == LEN(want))
			break;
		parsed[n] = f;
		check(str_is(f.name, want[n].name) && f.at == want[n].at && f.size == want[n].size &&
		      f.each == want[n].each && f.place == want[n].place && f.form == want[n].form &&
		      f.is_signed == want[n].is_signed && f.common == want[n].common,
		      "%s: %.*s at %u, %u bytes of %u, place %u, form %u, signed %d, common %d", want[n].name,
		      (int)str_len(f.name), f.name.p, f.at, f.size, f.each, f.place, f.form, f.is_signed,
		      f.common);
	}
	check_u64(n, LEN(want), "the format has all fields before the print format, and no others");
}

/* Each beginning of the file has at most the fields of the file, and no byte after it is read. */
static void t_truncated(void)
{
	size_t most = 0, bad = 0;

	for (size_t n = 0; n < sizeof(format); n++) {
		struct str text = edge_str(format, n);
		struct tpfield f;
		size_t fields = 0;

		for (; tpfield_next(&text, &f); fields++)
			bad += fields >= LEN(want) || str_len(f.name) == 0 || f.each > 8;
		bad += fields < most;
		most = fields > most ? fields : most;
	}
	check(!bad && most == LEN(want),
	      "a format that is truncated anywhere: %zu faults, %zu fields at most", bad, most);
}

/* Returns the text with a newline; it ends at the inaccessible page. */
static struct str edge_line(const char *z)
{
	char b[256];

	return edge_str(b, (size_t)snprintf(b, sizeof(b), "%s\n", z));
}

static void t_odd(void)
{
	static const char *const none[] = {
		"", "\n\n", "field:", "field:;offset:0;size:4;signed:0;", "field:int;offset:0;size:4;signed:0;",
		"field:int x;", "field:int x;offset:;size:4;", "field:int x;offset:-1;size:4;",
		"field:int x;offset:0", "field:int x;offset:0;", "field:int x;offset:0;size:70000;",
		"field:int x;offset:99999999999999999999;size:4;", "field: ;offset:0;size:4;",
		"field:__data_loc ;offset:0;size:4;", "field:[3];offset:0;size:4;", "afield:int x;offset:0;size:4;",
	};
	static const struct {
		const char *line, *name;
		u8 each, form;
	} some[] = {
		{ "field:int\tx;offset:0;size:4;signed:7;", "x", 4, TP_NUMBER },
		{ "field:char *x;offset:0;size:8;", "x", 8, TP_POINTER },
		{ "field:foo_t x[0];offset:0;size:4;", "x", 1, TP_ARRAY },
		{ "field:foo_t x[3];offset:0;size:12;", "x", 4, TP_ARRAY },
		{ "field:foo_t x[3];offset:0;size:13;", "x", 1, TP_ARRAY },
		{ "field:foo_t x[2];offset:0;size:64;", "x", 1, TP_ARRAY },
		{ "field:uint8_t x[4];offset:0;size:4;", "x", 1, TP_ARRAY },
		{ "field:unsigned char x[4];offset:0;size:4;", "x", 1, TP_ARRAY },
		{ "field:u64 x[N];offset:0;size:16;", "x", 8, TP_ARRAY },
		{ "field:__data_loc cpumask_t cpus;offset:0;size:4;", "cpus", sizeof(long), TP_ARRAY },
		{ "field:int a b c x;offset:0;size:4;signed:0;junk", "x", 4, TP_NUMBER },
	};
	struct tpfield f;

	for (size_t i = 0; i < LEN(none); i++) {
		struct str text = edge_line(none[i]);

		check(!tpfield_next(&text, &f), "a line that is not a field: %s", none[i]);
	}
	for (size_t i = 0; i < LEN(some); i++) {
		struct str text = edge_line(some[i].line);

		check(tpfield_next(&text, &f) && str_is(f.name, some[i].name) && f.each == some[i].each &&
		      f.form == some[i].form, "%s: %u bytes each, form %u", some[i].line, f.each, f.form);
	}
}

/* Makes a sample of the format above. */
static struct str sample(char b[96])
{
	static const u64 args[2] = { 7, UINT64_MAX };
	static const i16 list[3] = { 1, -2, 3 };
	const i32 pid = -5;
	const u32 name = 4 << 16 | 76, other = 3 << 16 | (80 - 72), numbers = 6 << 16 | 84;
	const u64 caller = 0xffff800000000010;

	memset(b, 0, 96);
	memcpy(b + 8, "a\xff" "b\0junk", 8);
	memcpy(b + 24, &pid, 4);
	memcpy(b + 28, "\x00\x1a\xff\x02\x03\x04", 6);
	memcpy(b + 40, args, 16);
	memcpy(b + 56, &caller, 8);
	memcpy(b + 64, &name, 4);
	memcpy(b + 68, &other, 4);
	memcpy(b + 72, &numbers, 4);
	memcpy(b + 76, "eth0xyz", 7);
	memcpy(b + 84, list, 6);
	return str_of(b, 90);
}

static const struct tpfield *field(const char *name)
{
	for (size_t i = 0; i < LEN(parsed); i++)
		if (str_is(parsed[i].name, name))
			return &parsed[i];
	abort();
}

static struct str array(const char *name, struct str payload)
{
	static char text[256];
	struct buf b = BUF(text);

	tpfield_array(&b, field(name), tpfield_bytes(field(name), payload));
	return str_of(text, b.n);
}

static void t_values(void)
{
	char b[96];
	struct str p = sample(b);
	i64 v = 0;

	check(tpfield_number(field("pid"), p, &v) && v == -5, "value of a signed number");
	check(tpfield_number(field("caller"), p, &v) && (u64)v == 0xffff800000000010,
	      "value of a pointer");
	check(!tpfield_number(field("comm"), p, &v) && !tpfield_number(field("p"), p, &v) &&
	      !tpfield_number(field("mac"), p, &v), "texts, structures and arrays have no number");
	check_str(tpfield_text(field("comm"), p), "a\xff" "b", "text: it ends at the first NUL");
	check_str(tpfield_text(field("name"), p), "eth0", "text: its place is in the sample");
	check_str(tpfield_text(field("other"), p), "xyz",
	          "text: its place is relative to its field");
	check_str(array("mac", p), "001aff020304", "array of bytes: hexadecimal");
	check_str(array("args", p), "7 18446744073709551615", "array of unsigned numbers");
	check_str(array("list", p), "1 -2 3", "array of signed numbers");
	check_str(array("p", p), "", "array whose elements have an unknown size: empty");
}

/* Samples that are shorter than the format, and places outside of the sample. */
static void t_hostile(void)
{
	char b[96];
	struct str whole = sample(b);
	static const u32 places[] = { 0xffffffff, 90u << 16, 1u << 16 | 90, 0xffff, 91, 0xffff0000 };
	size_t bad = 0;

	for (size_t n = 0; n <= str_len(whole); n++) {
		struct str p = edge_str(whole.p, n);

		for (size_t i = 0; i < LEN(parsed); i++) {
			const struct tpfield *f = &parsed[i];
			struct str got = tpfield_bytes(f, p);
			char text[256];
			struct buf out = BUF(text);
			i64 v;

			bad += got.p && (got.p < p.p || got.e > p.e);
			bad += !got.p && (tpfield_number(f, p, &v) || tpfield_text(f, p).p);
			bad += f->place == TP_HERE && !!got.p != (n >= f->at + f->size);
			tpfield_number(f, p, &v);
			tpfield_text(f, p);
			tpfield_array(&out, f, got);
		}
	}
	check_u64(bad, 0, "a truncated sample: values outside of it are unknown");
	for (size_t i = 0; i < LEN(places); i++) {
		struct str p, got;

		memcpy(b + 64, &places[i], 4);
		memcpy(b + 68, &places[i], 4);
		p = edge_str(b, 90);
		for (int k = 0; k < 2; k++) {
			got = tpfield_text(field(k ? "other" : "name"), p);
			check(!got.p || (got.p >= p.p && got.e <= p.e),
			      "text: place %#x, relative %d, is inside the sample or unknown",
			      places[i], k);
		}
	}
	for (u32 size = 0; size < 12; size++) {
		struct tpfield f = { .size = size, .each = 1, .is_signed = true };
		i64 v;

		check(tpfield_number(&f, whole, &v) == (size == 1 || size == 2 || size == 4 || size == 8),
		      "number of %u bytes: 1, 2, 4 and 8 are read", size);
	}
}

int main(void)
{
	t_format();
	t_truncated();
	t_odd();
	t_values();
	t_hostile();
	return unit_end();
}
