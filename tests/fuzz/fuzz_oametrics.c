/* fuzz_oametrics.c - any bytes as metric XML, as a pack, as an equation. The first byte tells which; what follows it ends
 * at a page that faults. SPDX-License-Identifier: MIT */
#include "unit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define S(lit) ((struct str)STR(lit))

/* What must hold, or the fuzzer has found something. */
static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* A device whose variables are called a to z. */
bool oavar_find(struct str name, u8 *var, u8 *index)
{
	*index = 0;
	*var = str_len(name) == 1 ? (u8)(*name.p - 'a') : OV_COUNT;
	return *var < OV_COUNT;
}

u64 oavar_value(const struct oadevice *d, u8 var, u8 index)
{
	return d->var[var] + index;
}

static const u32 mux[][2] = { { 0x9888, 5 } };
const struct oafamily oafamilies[] = { { "gen9", "", "", { mux, NULL, NULL }, { 1, 0, 0 } } };
const size_t noafamilies = 1;
const struct oabasic_row oabasic_rows[] = { { 1, false, 0, 0, "One", "1" } };
const char oabasic_units[][9] = { "" };
const char *const oabasic_max[] = { NULL };
const size_t noabasic_rows = 1;

bool oabasic_end(struct str word, struct str *rest)
{
	(void)word;
	(void)rest;
	return false;
}


static struct oaprog prog, prog2;
static char why_b[4096];
static u64 sum[OA_SLOTS];

static bool make(struct oaprog *p, const struct oaset *s)
{
	static const struct oadevice d = { .var = { 0, 1, 2, 3, 64, UINT64_MAX, 1000000000 } };
	struct buf why = { .p = why_b, .cap = sizeof(why_b) };

	return oaprog_make(p, s, &d, &why);
}

static bool same(struct str a, struct str b)
{
	return str_eq(a, b);
}

/* Two programs of the same set do the same. */
static void compare(const struct oaset *a, const struct oaset *b)
{
	union oaval v[MAX_OA_COUNTERS], w[MAX_OA_COUNTERS], m = { 0 }, k = { 0 };
	bool made = make(&prog, a);

	must(made == make(&prog2, b) && prog.n == prog2.n && prog.bad == prog2.bad, "as many counters");
	if (!made)
		return;
	oaprog_eval(&prog, sum, v);
	oaprog_eval(&prog2, sum, w);
	for (u32 i = 0; i < prog.n; i++) {
		must(same(prog.counters[i].name, prog2.counters[i].name) && v[i].u == w[i].u, "the same values");
		must(oaprog_max(&prog, i, sum, v, &m) == oaprog_max(&prog2, i, sum, w, &k) && m.u == k.u, "the same maxima");
	}
}

static void registers(const struct oaset *s)
{
	static const struct oadevice d = { .var = { 1 } };
	u32 regs[16][2];

	for (u8 type = 0; type < OREGS; type++)
		must(oaset_regs(s, &d, type, regs, LEN(regs)) <= (long)LEN(regs), "registers have room");
}

static void run_file(struct oafile *f)
{
	static char pack_b[1 << 20];
	struct buf b = { .p = pack_b, .cap = sizeof(pack_b) }, why = { .p = why_b, .cap = sizeof(why_b) };
	struct str at = { 0 }, at2 = { 0 };
	struct oaset s = { 0 }, s2 = { 0 };
	struct oafile pack;
	bool packs = oapack_put(&b, f, 1, &why);

	must(!packs || oafile_is(&pack, (struct str){ pack_b, pack_b + b.n }), "a pack is one");
	for (size_t n = 0; oaset_next(f, &at, &s); n++) {
		struct str in = { 0 };
		struct oadef c;

		must(n <= str_len(f->text) && within(s.name, f->text) && within(s.chipset, f->text) && within(s.body, f->text), "a set");
		for (size_t k = 0; oadef_next(&s, &in, &c); k++)
			must(k <= str_len(f->text) && within(c.name, f->text) && within(c.equation, f->text), "a counter");
		registers(&s);
		if (!packs)
			make(&prog, &s);
		else if (must(oaset_next(&pack, &at2, &s2), "as many sets"), same(s.name, s2.name))
			compare(&s, &s2);
		else
			must(false, "the same sets");
	}
	must(!packs || !oaset_next(&pack, &at2, &s2), "no more sets");
}

static void run_tags(struct str s)
{
	struct str at = s, value;
	struct xmltag t;
	char b[16];

	for (size_t n = 0; xml_next(&at, &t); n++) {
		must(n <= str_len(s) && within(t.name, s) && within(t.attrs, s), "a tag lies in its text");
		if (!xml_attr(t.attrs, S("a"), &value))
			continue;
		must(within(value, t.attrs) && !memchr(value.p, '<', str_len(value)), "a value lies in its tag");
		must(xml_text(value, b, sizeof(b)) <= str_len(value), "entities do not grow");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char xml[3 * EDGE_BYTES];
	struct oafile f;
	struct str s;

	if (n < 1 || n > EDGE_BYTES / 2)
		return 0;
	for (size_t i = 0; i < OA_SLOTS; i++)
		sum[i] = i < 9 ? i : UINT64_MAX / i;
	s = edge_str((const char *)data + 1, n - 1);
	switch (data[0] % 4) {
	case 0:
		run_tags(s);
		break;
	case 1:
		f = (struct oafile){ s, OM_XML };
		run_file(&f);
		break;
	case 2:
		f = (struct oafile){ s, OM_PACK };
		run_file(&f);
		break;
	default:
		f.origin = OM_XML;
		f.text = (struct str){ xml, xml + snprintf(xml, sizeof(xml), "<set><counter symbol_name='x' data_type='float' equation='%.*s' "
							   "max_equation='%.*s'/></set>", (int)(n - 1), s.p, (int)(n - 1), s.p) };
		run_file(&f);
	}
	return 0;
}

#ifdef FUZZ_MAIN
static const char *const fuzz_words[] = {
	"<set symbol_name='a'>", "</set>", "<counter symbol_name='", "' equation='", "' max_equation='", "' availability='", "'/>",
	"<register_config type='NOA'>", "</register_config>", "<register address='0x", "' value='0x", "<!--", "-->", "<![CDATA[", "]]>",
	"&lt;", "&#x41;", "A ", " READ ", "UADD ", "USUB ", "UMUL ", "UDIV ", "FADD ", "FSUB ", "FMUL ", "FDIV ", "UMIN ", "FMAX ",
	"AND ", "&amp;&amp; ", "&lt;&lt; ", ">> ", "UGT ", "ULTE ", "$a ", "$b ", "$e ", "$f ", "B ", "PEC ", "PERFCNT ", "GPU_TIME ",
	"18446744073709551615 ", "true ", "gpuOA\r\n\1", "\x80", "\xff\xff\xff\xff",
};
#endif
#include "fuzz.h"
