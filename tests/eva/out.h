/* out.h - for the harnesses of views/out.c: any record, any options, a buffer of any fill.
 * A record: its fields are below n, which is below MAX_FIELDS (add() of record.c); each is of a column of columns[], its texts
 * lie in one object, its unit is one of units[], and it has at most 25 digits more behind the point than that (set_scale() of
 * record.c: 25; scan_value() of commands/plot.c: 19; row_unit() of counters.c: 9). make_record() of t_out.c sees to it of every
 * record that is made there. FIELDS of them are enough where a harness says nothing else: each is looked at by itself.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"

#ifndef FIELDS
#define FIELDS 4
#endif
static struct field rec_fields[MAX_FIELDS];
static char rec_text[REC_TEXT];
static struct record rec = { .f = rec_fields, .text = rec_text };
#define OWN_TEXTS rec_text
#include "text.h"

#define record_site real_record_site
#include "../../views/record.c"
#undef record_site
void record_site(struct buf *b, const struct entity *e, bool cgroup)
{
	(void)e, (void)cgroup;
	put_text(b, str_z("cgroup"));
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
	o.separator = (char)any();
	o.time = (u8)any_to(T_MONO);
	o.offset = (i32)(u32)any();
	o.headed = any_bool();
	o.joined = (u8)any_to(2);
}

/* A record that is not always the same one, and a buffer with any bytes in it. */
static struct buf any_start(void)
{
	struct buf b = { to, 0, any_to(BUF_CAP), any_bool() };

	b.n = any_to(b.cap);
	any_bytes(to, sizeof(to));
	any_out();
	rec.kind = (u8)any_to(K_COUNT - 1);
	rec.steady = any_bool();
	//@ loop unroll FIELDS;
	for (size_t i = 0; i < FIELDS; i++)
		any_field(&rec.f[i]);
	rec.n = any_to(FIELDS);
	return b;
}
