/* tpfields.c - the fields of a tracepoint: parses its format file, and finds the values in a
 * sample. Pure: no system call, no state.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "sources/perf/perf.h"

/* --- format files ----------------------------------------------------------------------------- */

/* Returns the size in bytes of a C type from the words of its name, for example "unsigned long"; 0
 * if unknown. The kernel's long is assumed to be as large as that of this program. */
static u8 type_size(struct str type)
{
	static const struct {
		char word[12];
		u8 size;
	} sizes[] = {
		{ "64", 8 }, { "long long", 8 }, { "32", 4 }, { "16", 2 }, { "char", 1 },
		{ "u8", 1 }, { "s8", 1 }, { "int8", 1 }, { "bool", 1 }, { "short", 2 },
		{ "long", sizeof(long) }, { "int", 4 }, { "pid_t", 4 },
		{ "cpumask_t", sizeof(long) },
	};

	for (size_t i = 0; i < LEN(sizes); i++)
		if (str_find(type, str_z(sizes[i].word)))
			return sizes[i].size;
	return 0;
}

/* Parses the declaration of a tracepoint's field, such as "__data_loc char[] name" or "unsigned
 * long args[6]", into *f. Stores the number of array elements in *n; 0 if unknown. False if the
 * declaration has no type or no name. */
static bool read_declaration(struct str s, struct tpfield *f, u64 *n)
{
	const char *name;
	struct str type, rest;
	bool array, bytes;

	s = str_trim(s);
	f->place = str_skip_z(&s, "__data_loc ") ? TP_DATA_LOC :
		   str_skip_z(&s, "__rel_loc ") ? TP_REL_LOC : TP_HERE;
	array = f->place != TP_HERE;
	rest = s;
	if (!array) {
		str_cut(&rest, '[', &s);
		array = s.e < rest.e;
	}
	*n = 0;
	scan_u64(rest, n);
	for (name = s.e; name > s.p && name[-1] != ' ' && name[-1] != '*' && name[-1] != '\t';)
		name--;
	f->name = (struct str){ name, s.e };
	type = (struct str){ s.p, name };
	f->each = type_size(type);
	bytes = str_find(type, LIT("unsigned char")) || !str_find(type, LIT("char"));
	f->form = array && f->each == 1 && !bytes ? TP_TEXT : array ? TP_ARRAY :
		  str_find(type, LIT("*")) ? TP_POINTER : TP_NUMBER;
	return name > s.p && name < s.e;
}

/* Corrects f->each, the size in bytes of a number or an array element. The number of array elements
 * (n) and the size of the whole field are more reliable than the name of the type. */
static void set_each(struct tpfield *f, u64 n)
{
	if (f->form == TP_ARRAY && f->place == TP_HERE && n && f->size % n == 0)
		f->each = (u8)(f->size / n > 8 ? 1 : f->size / n);
	else if (f->form == TP_ARRAY)
		f->each = f->each ? f->each : 1;
	else if (f->form != TP_TEXT)
		f->each = f->size > 8 ? 0 : (u8)f->size;
}

/* Parses a part such as "offset:8;" at the start of *s: stores the number in *v and removes the
 * part from *s. name: the word before the number, such as "offset:". False if *s does not begin
 * with this word. */
static bool read_part(struct str *s, const char *name, u32 *v)
{
	u64 n;
	const char *p;

	*s = str_trim(*s);
	if (!str_skip_z(s, name))
		return false;
	p = scan_u64(*s, &n);
	if (!p || p == s->e || *p != ';' || n > UINT16_MAX)
		return false;
	s->p = p + 1;
	*v = (u32)n;
	return true;
}

/* Parses the next field of a tracepoint's format file into *f and removes it from *format. False if
 * there are no more fields. A line that cannot be understood is skipped. */
bool tpfield_next(struct str *format, struct tpfield *f)
{
	struct str line;

	while (line_next(format, &line)) {
		struct str rest = str_trim(line), declaration;
		u32 is_signed = 0;
		u64 n;

		if (str_skip_z(&rest, "print fmt:")) {
			format->p = format->e;
			return false;
		}
		*f = (struct tpfield){ 0 };
		if (!str_skip_z(&rest, "field:") || !str_cut(&rest, ';', &declaration) ||
		    !read_declaration(declaration, f, &n))
			continue;
		if (!read_part(&rest, "offset:", &f->at) || !read_part(&rest, "size:", &f->size))
			continue;
		/* format files have no part "signed:" before Linux 2.6.32 */
		read_part(&rest, "signed:", &is_signed);
		f->is_signed = is_signed != 0;
		set_each(f, n);
		rest = f->name;
		f->common = str_skip_z(&rest, "common_");
		return true;
	}
	return false;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Reads a number of 1, 2, 4 or 8 bytes at p, in the machine's byte order, and stores it in *v.
 * False if the size is not one of these. */
static bool load_number(const char *p, u32 size, bool is_signed, i64 *v)
{
	u8 n8;
	u16 n16;
	u32 n32;

	switch (size) {
	case 1:
		memcpy(&n8, p, 1);
		*v = is_signed ? (int8_t)n8 : n8;
		return true;
	case 2:
		memcpy(&n16, p, 2);
		*v = is_signed ? (i16)n16 : n16;
		return true;
	case 4:
		memcpy(&n32, p, 4);
		*v = is_signed ? (i32)n32 : (i64)n32;
		return true;
	case 8:
		memcpy(v, p, 8);
		return true;
	default:
		return false;
	}
}

/* Returns the bytes of a field in a sample's payload; .p is NULL if the sample is too short. */
struct str tpfield_bytes(const struct tpfield *f, struct str payload)
{
	size_t n = str_len(payload), at = f->at, size = f->size;
	u32 place;

	if (at > n || size > n - at)
		return (struct str){ 0 };
	if (f->place != TP_HERE) {
		if (size != sizeof(place))
			return (struct str){ 0 };
		memcpy(&place, payload.p + at, sizeof(place));
		at = (place & 0xffff) + (f->place == TP_REL_LOC ? at + size : 0);
		size = place >> 16;
		if (at > n || size > n - at)
			return (struct str){ 0 };
	}
	return str_of(payload.p + at, size);
}

/* Stores the value of a field that is a number or a pointer in *v. False if the field is a text or
 * an array, or the sample is too short. An unsigned 64-bit number is stored with the same bits. */
bool tpfield_number(const struct tpfield *f, struct str payload, i64 *v)
{
	struct str b = tpfield_bytes(f, payload);

	return f->form != TP_TEXT && f->form != TP_ARRAY && b.p &&
	       load_number(b.p, (u32)str_len(b), f->is_signed, v);
}

/* Returns the text of a field, up to its NUL, as a view of the sample's payload; .p is NULL if the
 * sample is too short. */
struct str tpfield_text(const struct tpfield *f, struct str payload)
{
	struct str b = tpfield_bytes(f, payload), text;

	str_cut(&b, '\0', &text);
	return text;
}

/* Appends the elements of an array field to b: numbers with blanks between them; bytes in
 * hexadecimal, without blanks. */
void tpfield_array(struct buf *b, const struct tpfield *f, struct str bytes)
{
	i64 v;

	for (const char *p = bytes.p; p < bytes.e && f->each <= bytes.e - p; p += f->each) {
		if (f->each == 1) {
			put_c(b, "0123456789abcdef"[(u8)*p >> 4]);
			put_c(b, "0123456789abcdef"[(u8)*p & 15]);
			continue;
		}
		if (!load_number(p, f->each, f->is_signed, &v))
			return;
		put_z(b, p > bytes.p ? " " : "");
		if (f->is_signed)
			put_i64(b, v);
		else
			put_u64(b, (u64)v);
	}
}
