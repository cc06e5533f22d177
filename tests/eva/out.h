/* out.h - for the harnesses of views/out.c: any record, any options, a buffer with any fill level.
 * A record has fewer than MAX_FIELDS fields (add() of record.c); each has a column of columns[],
 * its texts lie in one object, its unit is one of units[], and it has at most 25 decimals more than
 * the unit (set_scale() of record.c: 25; scan_value() of runfile.c: 19; row_unit() of
 * counters.c: 9). make_record() of t_out.c checks this for every record made there. FIELDS fields
 * are sufficient unless a harness defines another number: each field is formatted independently.
 * SPDX-License-Identifier: MIT */
#include "tests/rooms.h"

#ifndef FIELDS
#define FIELDS 4
#endif
static struct field rec_fields[MAX_FIELDS];
static char rec_text[REC_TEXT];
static struct record rec = { .f = rec_fields, .text = rec_text };
#define OWN_TEXTS rec_text
#include "text.h"

#define record_site real_record_site
#define record_ratio real_record_ratio
#define record_stall_ratio real_record_stall_ratio
#include "../../views/record.c"
#undef record_site
#undef record_ratio
#undef record_stall_ratio
void record_site(struct buf *b, const struct entity *e, bool cgroup)
{
	(void)e, (void)cgroup;
	put_text(b, str_z("cgroup"));
}
static const struct ratio *any_ratio(void)
{
	static struct ratio x;

	x = (struct ratio){ any(), (u8)any_to(6), any_bool(), any_bool(), "metric" };
	return any_bool() ? &x : NULL;
}
/* not called: the library's functions would be linked with its put_ratio() */
bool ratio_find(const struct entity *e, struct ratio *x) { return (void)e, (void)x, false; }
bool ratio_stalls(const struct entity *e, struct ratio *x) { return (void)e, (void)x, false; }
const struct ratio *record_ratio(const struct record *r) { return (void)r, any_ratio(); }
const struct ratio *record_stall_ratio(const struct record *r) { return (void)r, any_ratio(); }
void put_ratio(struct buf *b, const struct ratio *x, const char *between)
{
	put_dec(b, x->micros, x->decimals, x->decimals);
	put_z(b, between);
	put_z(b, x->words);
}
#include "../../views/out.c"

enum { PATTERNS = 4, BUF_CAP = 1 << 16 };
static struct out o;
static struct str patterns[PATTERNS];
static char to[BUF_CAP];

static struct str any_text(void)
{
	struct str s = ANY_IN(rec_text);

	s.e = any_place(s.p, s.e);
	return s;
}

static void any_field(struct field *f)
{
	f->col = &columns[any_to(ncolumns - 1)];
	f->inst = any_text();
	f->v = (struct val){ (u8)any_to(V_DIGITS), (u8)any_to(UNITS - 1), any_bool(), (u8)any_to(25), any(), any_text() };
	f->empty = any_bool();
}

static void any_out(void)
{
	o.patterns = patterns;
	//@ loop unroll 4;
	for (size_t i = 0; i < PATTERNS; i++)
		patterns[i] = any_text();
	o.npatterns = any_to(PATTERNS);
	o.no_header = any_bool();
	o.one_line = any_bool();
	o.once = any_bool();
	o.inner = any_bool();
	o.sites = any_bool();
	o.summed = any_bool();
	o.repeats = any_bool();
	o.separator = any_bool() ? NULL : any_bool() ? ";" : "abc";
	o.unmarked = any_bool();
	o.time = (u8)any_to(T_MONO);
	o.offset = (i32)(u32)any();
	o.headed = any_bool();
	o.line_records = (u8)any_to(2);
	o.width = (u16)any();
	o.height = (u16)any();
	o.lines = any();
	o.sample_lines = any();
}

/* A record that differs from call to call, and a buffer with any content. */
static struct buf any_start(void)
{
	struct buf b = { to, 0, any_to(BUF_CAP), any_bool() };

	b.n = any_to(b.cap);
	any_bytes(to, sizeof(to));
	any_out();
	rec.kind = (u8)any_to(K_COUNT - 1);
	rec.steady = any_bool();
	rec.memory_size = any();
	//@ loop unroll FIELDS;
	for (size_t i = 0; i < FIELDS; i++)
		any_field(&rec.f[i]);
	rec.n = any_to(FIELDS);
	return b;
}
