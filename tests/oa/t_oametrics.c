/* t_oametrics.c - metric XML, equations, packs and the sets that are built in. If the public metric
 * files are beside the checkout, they are also tested, the built-in sets are compared with them, and
 * their values with those of a second evaluator.
 * SPDX-License-Identifier: MIT */
#include "unit.h"
#include "sys.h"

#include "../../sources/oa/oametrics.c"
#include "../../sources/oa/oapacks.c"

/* --- replacements for other sources ----------------------------------------------------------- */

static const struct {
	const char *name;
	u8 var;
} names[] = {
	{ "EuCoresTotalCount", OV_EUS }, { "VectorEngineTotalCount", OV_EUS }, { "EuSlicesTotalCount", OV_SLICES },
	{ "EuSubslicesTotalCount", OV_SUBSLICES }, { "XeCoreTotalCount", OV_SUBSLICES }, { "EuThreadsCount", OV_THREADS },
	{ "VectorEngineThreadsCount", OV_THREADS }, { "SliceMask", OV_SLICE_MASK }, { "SubsliceMask", OV_SUBSLICE_MASK },
	{ "DualSubsliceMask", OV_SUBSLICE_MASK }, { "XeCoreMask", OV_XECORE_MASK }, { "GpuTimestampFrequency", OV_TS_HZ },
	{ "GpuMaxFrequency", OV_MAX_HZ }, { "SkuRevisionId", OV_REVISION }, { "QueryMode", OV_QUERY_MODE },
	{ "SliceTotalCount", OV_SLICES }, { "SqidiTotalCount", OV_SQIDI }, { "L3BankTotalCount", OV_L3_BANK }, { "L3NodeTotalCount", OV_L3_NODE },
	{ "GeometryPipeTotalCount", OV_GEOMETRY_PIPE }, { "DepthPipeTotalCount", OV_DEPTH_PIPE },
	{ "ColorPipeTotalCount", OV_COLOR_PIPE }, { "ComputeEngineTotalCount", OV_COMPUTE_ENGINE },
	{ "CopyEngineTotalCount", OV_COPY_ENGINE },
};

bool oavar_find(struct str name, u8 *var, u8 *index)
{
	char z[64];
	unsigned a, b;
	int end = 0;

	*index = 0;
	for (size_t i = 0; i < LEN(names); i++)
		if (str_eq(name, str_z(names[i].name))) {
			*var = names[i].var;
			return true;
		}
	if (str_len(name) >= sizeof(z))
		return false;
	memcpy(z, name.p, str_len(name));
	z[str_len(name)] = '\0';
	if (sscanf(z, "GtSlice%1uXeCore%1u%n", &a, &b, &end) == 2 && !z[end]) {
		*var = OV_GT_XECORE;
		*index = (u8)(a * 4 + b);
		return true;
	}
	end = 0;
	*var = z[2] == 'S' ? OV_GT_SLICE : OV_XECORE;
	if ((sscanf(z, "GtSlice%2u%n", &a, &end) == 1 || sscanf(z, "GtXeCore%2u%n", &a, &end) == 1) && !z[end] && a < 64) {
		*index = (u8)a;
		return true;
	}
	return false;
}

bool oavar_value(const struct oadevice *d, u8 var, u8 index, u64 *value)
{
	*value = var == OV_GT_SLICE ? d->slices >> index & 1 : var == OV_GT_XECORE ? d->cores >> index & 1 :
		 var == OV_XECORE ? d->cores_all >> index & 1 : d->var[var];
	return var >= OV_NUMBERS || *value;
}

static const u32 mux[][2] = { { 0x9888, 0x166c01e0 }, { 0x9888, 0xffffffff }, { 0x0d04, 0 } }, flex[][2] = { { 0xe458, 5 } };
const struct oafamily oafamilies[] = {
	{ "hsw", "00000000-1111-2222-3333-444444444444", "A45_B8_C8", { mux, NULL, NULL }, { LEN(mux), 0, 0 } },
	{ "gen9", "aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee", "A32u40_A4u32_B8_C8", { mux, NULL, flex }, { 2, 0, LEN(flex) } },
};
const size_t noafamilies = LEN(oafamilies);
const struct oabasic_row oabasic_rows[] = {
	{ 3, false, 0, 0, "GpuTime", "GPU_TIME 0 READ 1000000000 UMUL $GpuTimestampFrequency UDIV" },
	{ 1, false, 1, 0, "OnlyOld", "C 2 READ 1 << 2 UMUL" },
	{ 2, true, 2, 1, "GpuBusy", "A 0 READ PERCENT" },
};
const char oabasic_units[][9] = { "ns", "events", "percent" };
const char *const oabasic_max[] = { NULL, "100" };

bool oabasic_expand(struct str word, struct str *rest)
{
	if (!str_eq(word, S("PERCENT")))
		return false;
	*rest = S("100 UMUL $GpuTime FDIV");
	return true;
}

const size_t noabasic_rows = LEN(oabasic_rows);
const struct oafile oabasic = { .origin = OM_BASIC };

static const struct oaplatform skl = { .name = "sklgt2", .family = 1 };
static const struct oadevice devices2[2] = {
	{ .var = { [OV_EUS] = 24, [OV_SLICES] = 1, [OV_SUBSLICES] = 3, [OV_THREADS] = 7, [OV_SLICE_MASK] = 1,
		   [OV_SUBSLICE_MASK] = 7, [OV_XECORE_MASK] = 1, [OV_TS_HZ] = 12000000, [OV_MAX_HZ] = 1150000000,
		   [OV_REVISION] = 2 },
	  .slices = 1, .cores = 7, .cores_all = 7 },
	{ .var = { [OV_EUS] = 512, [OV_SLICES] = 8, [OV_SUBSLICES] = 32, [OV_THREADS] = 8, [OV_SLICE_MASK] = 0xff,
		   [OV_SUBSLICE_MASK] = 0xfffffffff, [OV_XECORE_MASK] = 0xf, [OV_TS_HZ] = 19200000, [OV_MAX_HZ] = 2400000000,
		   [OV_REVISION] = 5, [OV_QUERY_MODE] = 1, [OV_SQIDI] = 4, [OV_L3_BANK] = 32, [OV_L3_NODE] = 4,
		   [OV_GEOMETRY_PIPE] = 8, [OV_DEPTH_PIPE] = 8, [OV_COLOR_PIPE] = 16, [OV_COMPUTE_ENGINE] = 4, [OV_COPY_ENGINE] = 9 },
	  .slices = 0xff, .cores = 0xffffffff, .cores_all = 0xffffffff },
};

/* --- tags ------------------------------------------------------------------------------------- */

/* The tags of a text: a+ opens, a- closes, a! does both, ? is invalid; then its attributes. */
static const char *tags(struct str text)
{
	static char b[4096];
	struct buf o = { .p = b, .cap = sizeof(b) - 1 };
	struct xmltag t;

	while (xml_next(&text, &t)) {
		struct str v;

		put_str(&o, t.name);
		put_z(&o, t.name.p == t.name.e ? "?" : t.opens && t.closes ? "!" : t.opens ? "+" : "-");
		for (const char *n = "abcdefg"; *n; n++) {
			if (!xml_attr(t.attrs, (struct str){ n, n + 1 }, &v))
				continue;
			put_c(&o, '[');
			put_c(&o, *n);
			put_c(&o, '=');
			put_str(&o, v);
			put_c(&o, ']');
		}
		put_c(&o, ' ');
	}
	b[o.n] = '\0';
	return b;
}

static void t_xml(void)
{
	static const char *const cases[][2] = {
		{ "", "" }, { "no tag", "" }, { "<a>", "a+ " }, { "x<a/>y", "a! " }, { "<a></a>", "a+ a- " },
		{ "<a b=\"c\">", "a+[b=c] " }, { "<a b='c\"d' e=\"f'g\"/>", "a![b=c\"d][e=f'g] " },
		{ "<a\n\tb\n=\r\n\"c\"\n>", "a+[b=c] " }, { "<a b=\"\">", "a+[b=] " }, { "<a b=\"/>\">", "a+[b=/>] " },
		{ "<a b=\"c\"d=\"e\">", "a+[b=c][d=e] " }, { "<a />", "a! " }, { "</a >", "a- " }, { "<a:b-c.d1>", "a:b-c.d1+ " },
		{ "<?xml version=\"1.0\"?><a>", "a+ " }, { "<!-- <b> -- > --><a>", "a+ " }, { "<!DOCTYPE x><a>", "a+ " },
		{ "<![CDATA[<b>]] >]]]><c>]]><a>", "c+ a+ " }, { "<!---><b>--><a>", "a+ " }, { "<!-- <b>", "" }, { "<?<b>", "" },
		{ "<![CDATA[<b>]>", "" }, { "<!<b", "" },
		{ "<", "? " }, { "<<a>", "? a+ " }, { "< a>", "? " }, { "<a", "? " }, { "<a b", "? " }, { "<a b=", "? " },
		{ "<a b=c>", "? " }, { "<a b='c>", "? " }, { "<a b='c><d e='f'>", "? d+[e=f] " }, { "<a b=\"c\" <d>", "? d+ " },
		{ "<a b><c>", "? c+ " }, { "</a/>", "? " }, { "<a/ >", "? " }, { "<a / b='c'>", "? " }, { "</>", "? " },
		{ "<a b='c' d>", "? " }, { "<a =\"b\">", "? " }, { "<a \"b\">", "? " }, { "<>", "? " },
	};

	for (size_t i = 0; i < LEN(cases); i++)
		check_str(str_z(tags(edge_str(cases[i][0], strlen(cases[i][0])))), cases[i][1], "tags: %s", show(str_z(cases[i][0])));
}

static void t_text(void)
{
	static const char *const cases[][2] = {
		{ "plain", "plain" }, { "&lt;&lt;", "<<" }, { "&amp;&amp;", "&&" }, { "&gt;&quot;&apos;", ">\"'" }, { "&amp;lt;", "&lt;" },
		{ "&#65;&#x42;&#x7f;", "AB\x7f" }, { "&#xe9;&#x20AC;&#x1F600;", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80" },
		{ "&#0;", "&#0;" }, { "&#xd800;", "&#xd800;" }, { "&#x110000;", "&#x110000;" }, { "&#x;", "&#x;" }, { "&#65", "&#65" },
		{ "&", "&" }, { "&;", "&;" }, { "&nbsp;", "&nbsp;" }, { "&#99999999999999999999;", "&#99999999999999999999;" },
		{ "&lt", "&lt" }, { "&#-1;", "&#-1;" },
	};
	char b[64];
	struct str v;

	for (size_t i = 0; i < LEN(cases); i++) {
		struct str in = edge_str(cases[i][0], strlen(cases[i][0]));
		size_t n = xml_text(in, b, sizeof(b)), want = strlen(cases[i][1]);

		check_str((struct str){ b, b + n }, cases[i][1], "entities in %s", cases[i][0]);
		in = edge_str(cases[i][0], strlen(cases[i][0]));
		check(xml_text(in, b, want) == want && xml_text(in, b, want - 1) == want,
		      "entities: the limits of the buffer for %s", cases[i][0]);
	}
	check(xml_attr(S(" a='1' b='2' b='3'"), S("b"), &v) && str_eq(v, S("2")),
	      "xml_attr: the first of two attributes with the same name");
	check(!xml_attr(S(" a='1' bb='2'"), S("b"), &v), "xml_attr: a name that is only a prefix does not match");
	check(!xml_attr(S(" a='1' junk b='2'"), S("b"), &v), "xml_attr: attributes after invalid text are not found");
}

/* --- equations -------------------------------------------------------------------------------- */

static struct oaprog prog, prog2;
static char text_b[1 << 19], why_b[256];
static struct buf why;

/* Compiles a set with these counter elements. */
static bool make(const char *counters, const struct oadevice *d)
{
	static struct oafile f;
	static struct oaset s;
	struct str at = { 0 };
	int n = snprintf(text_b, sizeof(text_b), "<metrics><set symbol_name='S' chipset='SKLGT2'>%s</set></metrics>", counters);

	why = (struct buf){ .p = why_b, .cap = sizeof(why_b) };
	return oafile_detect(&f, (struct str){ text_b, text_b + n }) && oaset_next(&f, &at, &s) && oaprog_compile(&prog, &s, d, &why);
}

/* The sums of all slots: different values, some of them large. */
static void fill(u64 *sum)
{
	for (size_t i = 0; i < OA_SLOTS; i++)
		sum[i] = 1000 + i;
	sum[OA_A + 0] = 0;
	sum[OA_A + 1] = 1;
	sum[OA_A + 2] = 10;
	sum[OA_A + 3] = 3;
	sum[OA_A + 4] = UINT64_MAX;
	sum[OA_A + 5] = UINT64_C(1) << 63;
	sum[OA_A + 6] = 64;
}

#define A(i) "A " #i " READ "

static void t_operators(void)
{
	static const struct {
		const char *eq;
		u64 u;    /* as uint64 */
		double f; /* as float */
	} cases[] = {
		{ "7", 7, 7 }, { "0x1F", 31, 31 }, { "true", 1, 1 }, { "18446744073709551615", UINT64_MAX, 0x1p64 },
		{ "  A\t2\nREAD ", 10, 10 },
		{ A(2) A(3) "UADD", 13, 13 }, { A(4) A(1) "UADD", 0, 0 }, { A(2) A(3) "USUB", 7, 7 }, { A(3) A(2) "USUB", (u64)-7, 18446744073709551616.0 },
		{ A(2) A(3) "UMUL", 30, 30 }, { A(5) A(2) "UMUL", 0, 0 }, { A(2) A(3) "UDIV", 3, 3 }, { A(2) A(0) "UDIV", 0, 0 },
		{ A(2) A(3) "FADD", 13, 13 }, { A(4) A(1) "FADD", 0, 0 }, { A(2) A(3) "FSUB", 7, 7 }, { A(3) A(2) "FSUB", 0, 0 },
		{ A(2) A(3) "FMUL", 30, 30 }, { A(5) A(2) "FMUL", 0, 0 }, { A(2) A(3) "FDIV", 3, 10.0 / 3 }, { A(2) A(0) "FDIV", 0, 0 },
		{ A(0) A(0) "FDIV", 0, 0 }, { A(2) A(3) "UMIN", 3, 3 }, { A(2) A(3) "FMAX", 10, 10 }, { A(3) A(2) "FMAX", 10, 10 },
		{ A(2) A(3) "AND", 2, 2 }, { A(2) A(3) "&amp;&amp;", 1, 1 }, { A(2) A(0) "&amp;&amp;", 0, 0 },
		{ A(2) A(3) "&lt;&lt;", 80, 80 }, { A(2) A(6) "&lt;&lt;", 0, 0 }, { A(2) "63 &lt;&lt;", 0, 0 },
		{ A(3) "63 &lt;&lt;", UINT64_C(1) << 63, 0x1p63 }, { A(2) A(3) "&gt;&gt;", 1, 1 }, { A(4) A(6) "&gt;&gt;", 0, 0 },
		{ A(4) "63 &gt;&gt;", 1, 1 }, { A(2) A(4) "&gt;&gt;", 0, 0 },
		{ A(2) A(3) "UGT", 1, 1 }, { A(3) A(2) "UGT", 0, 0 }, { A(2) A(2) "UGT", 0, 0 }, { A(2) A(2) "UGTE", 1, 1 },
		{ A(3) A(2) "UGTE", 0, 0 }, { A(2) A(3) "ULT", 0, 0 }, { A(3) A(2) "ULT", 1, 1 }, { A(2) A(2) "ULT", 0, 0 },
		{ A(2) A(2) "ULTE", 1, 1 }, { A(2) A(3) "ULTE", 0, 0 },
		/* one double makes a sum a double; the result is truncated for the operators U... */
		{ A(2) A(3) "FDIV " A(3) "UMUL", 10, 10 }, { A(2) A(3) "FDIV " A(1) "UADD", 4, 4 },
		{ A(2) A(3) "FDIV " A(1) "FADD", 4, (double)(10.0 / 3) + 1 }, { A(1) A(2) A(3) "FDIV USUB", 0, 0 }, { A(3) A(2) "FSUB", 0, 0 },
		{ A(1) A(2) A(3) "FDIV FSUB", 0, 1 - 10.0 / 3 }, { A(2) A(3) A(2) "FDIV UMUL", 3, 3 },
		/* a double is truncated before a division of integers, and before operators without
		 * a double form */
		{ A(2) A(3) "FDIV 2 UDIV", 1, 1 }, { A(2) A(3) "FDIV 7 UMIN", 3, 3 }, { A(2) "2 FDIV " A(3) "FDIV", 1, 5.0 / 3 },
		{ "7 " A(2) A(3) "FDIV UMIN", 3, 3 }, { A(2) A(3) "FDIV 1 AND", 1, 1 },
		/* out of range */
		{ A(4) A(4) "FDIV 0 FADD " A(4) "FMUL 4 FMUL", UINT64_MAX, 0x1p66 }, { A(1) A(2) "1 FDIV FSUB 5 UADD", 0, 0 },
		{ A(4) "1 FDIV 1 UADD", UINT64_MAX, 0x1p64 },
		/* sums of integers larger than a double can hold are exact until they become a
		 * double */
		{ A(5) "1 UADD", (UINT64_C(1) << 63) + 1, 0x1p63 }, { A(5) "1 FADD", UINT64_C(1) << 63, 0x1p63 },
		{ A(5) "1 FADD " A(5) "USUB", 0, 0 },
		{ A(5) "1 UADD " A(4) "UMIN", (UINT64_C(1) << 63) + 1, 0x1p63 },
		/* a product that is divided has 128 bits; the quotient is at most UINT64_MAX */
		{ A(4) A(4) "UMUL " A(4) "UDIV", UINT64_MAX, 0x1p64 }, { A(5) A(6) "UMUL 256 UDIV", UINT64_C(1) << 61, 0x1p61 },
		{ A(4) A(4) "UMUL " A(3) "UDIV", UINT64_MAX, 0x1p64 }, { A(4) A(4) "UMUL " A(0) "UDIV", 0, 0 },
		{ A(4) A(5) "UMUL " A(5) "1 UADD UDIV", UINT64_MAX - 2, 0x1p64 }, { "10 " A(5) "UMUL 20 UDIV", UINT64_C(1) << 62, 0x1p62 },
		{ A(5) A(2) A(3) "UADD UMUL " A(2) A(3) "UADD UDIV", UINT64_C(1) << 63, 0x1p63 },
		{ A(5) A(2) "UMUL " A(5) A(3) "UMUL 15 UDIV UDIV", 50, 50 },
		{ A(5) A(2) "UMUL 20 UDIV 4 UMUL 2 UDIV", UINT64_C(1) << 63, 0x1p63 },
		/* a product that is added or compared, or that becomes a double, has 64 bits */
		{ A(5) A(2) "UMUL 7 UADD 2 UDIV", 3, 3 }, { A(5) A(3) "UMUL 2 FDIV", UINT64_C(1) << 62, 0x1p62 },
		{ A(5) A(2) "FMUL 2 UDIV", 0, 0 }, { A(5) A(2) "UMUL 1 UGT", 0, 0 }, { A(2) A(5) A(2) "UMUL UDIV", 0, 0 },
		/* the order of the operands on the stack */
		{ A(2) A(3) A(1) "USUB USUB", 8, 8 }, { "100 " A(2) A(3) "UADD USUB", 87, 87 },
		{ A(2) A(3) "UMUL " A(2) A(3) "USUB USUB", 23, 23 }, { A(2) "5 1 UADD UMUL", 60, 60 }, { "5 1 UADD " A(2) "UMUL", 60, 60 },
		{ A(1) A(2) A(3) A(6) "UADD UADD UADD", 78, 78 }, { "2 3 UMUL 4 FDIV", 1, 1.5 }, { "2 3 USUB", (u64)-1, 18446744073709551616.0 }, { "7 0 UDIV", 0, 0 },
		{ "1 64 &lt;&lt;", 0, 0 }, { "3 7 FDIV 7 UMUL", 3, 3 },
		/* every letter */
		{ "GPU_TIME 0 READ", 1000, 1000 }, { "GPU_CLOCK 0 READ", 1001, 1001 }, { "A 63 READ", 1065, 1065 },
		{ "PEC 63 READ", 1065, 1065 }, { "B 0 READ", 1066, 1066 }, { "B 7 READ", 1073, 1073 }, { "C 0 READ", 1074, 1074 },
		{ "C 7 READ", 1081, 1081 }, { "A 1 1 UADD READ", 10, 10 },
		{ "$EuCoresTotalCount " A(2) "UMUL", 240, 240 }, { A(2) "$EuCoresTotalCount 2 UMUL UADD", 58, 58 },
		{ "$GtSlice0XeCore2 $GtSlice0XeCore3 UADD", 1, 1 },
	};
	u64 sum[OA_SLOTS], was[OA_SLOTS];
	union oaval v[MAX_OA_COUNTERS], max = { 0 };
	char b[512];

	fill(sum);
	memcpy(was, sum, sizeof(sum));
	for (size_t i = 0; i < LEN(cases); i++) {
		snprintf(b, sizeof(b), "<counter symbol_name='U' data_type='uint64' equation='%s'/><counter symbol_name='F' "
			 "data_type='float' equation='%s' max_equation='%s'/>", cases[i].eq, cases[i].eq, cases[i].eq);
		if (!check(make(b, &devices2[0]) && prog.n == 2 && prog.bad == 0, "equation: %s", show(str_z(cases[i].eq)))) {
			note("%u counters, %u bad, %s", prog.n, prog.bad, show((struct str){ why.p, why.p + why.n }));
			continue;
		}
		oaprog_eval(&prog, sum, v);
		check_u64(v[0].u, cases[i].u, "the equation's value as uint64");
		if (!check(memcmp(&v[1].f, &cases[i].f, sizeof(double)) == 0, "the equation's value as float"))
			note("got %.17g, want %.17g", v[1].f, cases[i].f);
		check(oaprog_max(&prog, 1, sum, v, &max) && max.u == v[1].u && !oaprog_max(&prog, 0, sum, v, &max),
		      "the equation's value as a maximum");
	}
	check(memcmp(was, sum, sizeof(sum)) == 0, "evaluation does not change the sums");
	check(make("<counter symbol_name='N' equation='A 7 READ 100 UMUL $EuCoresTotalCount UDIV'/>", &devices2[0]) &&
	      prog.counters[0].code.to - prog.counters[0].code.from == 3,
	      "a counter times one number divided by another has three instructions");
	check(make("<counter symbol_name='N' equation='2 $EuCoresTotalCount UMUL 3 FDIV 7 UADD'/>", &devices2[0]) &&
	      prog.counters[0].code.to - prog.counters[0].code.from == 1,
	      "an equation of constants has one instruction");
}

/* As many products as possible wait for their divisors: 4 * 3 / (4 * 3 / ( ... / 3)). */
static void t_deepest(void)
{
	enum { PRODUCTS = MAX_OPERANDS - 2 };
	static char b[4096];
	struct buf o = { .p = b, .cap = sizeof(b) - 1 };
	u64 sum[OA_SLOTS], want = 3;
	union oaval v[MAX_OA_COUNTERS];

	put_z(&o, "<counter symbol_name='X' equation='");
	for (int i = 0; i < PRODUCTS; i++)
		put_z(&o, "4 C 1 READ UMUL ");
	put_z(&o, "C 1 READ ");
	for (int i = 0; i < PRODUCTS; i++) {
		put_z(&o, "UDIV ");
		want = 12 / want;
	}
	put_z(&o, "'/>");
	b[o.n] = '\0';
	fill(sum);
	sum[OA_C + 1] = 3;
	if (check(make(b, &devices2[0]) && prog.n == 1, "%d products wait for their divisors", PRODUCTS))
		oaprog_eval(&prog, sum, v);
	check_u64(v[0].u, want, "%d products wait for their divisors: the value", PRODUCTS);
}

static void t_malformed(void)
{
	static const char *const eqs[] = {
		"", " ", "FOO", "$Foo", "$", "$X", "UADD", "1 UADD", "1 2", "1 2 3 UADD", "A", "A 0", "A READ", "READ", "0 READ",
		"A 64 READ", "B 8 READ", "C 8 READ", "GPU_TIME 1 READ", "PEC 64 READ", "A A 1 READ READ", "1 1 READ", "A 1 UADD", "1 A UADD",
		"A 1 2 FDIV READ", "A 1 READ READ", "18446744073709551616", "1.5", "-1", "0x", "0xg", "1UADD", "uadd", "A 1 READ A",
		"1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1", "$GtSlice0XeCore", "&nbsp;", "&#65;&#66;",
		"A 18446744073709551615 READ", "PERFCNT",
		"READREADREADREADREADREADREADREADREADREADREADREADREADREADREADREADREADREADREADREADREAD",
	};
	char b[512];

	for (size_t i = 0; i < LEN(eqs); i++) {
		snprintf(b, sizeof(b), "<counter symbol_name='X' equation='%s'/><counter symbol_name='Y' equation='1'/>", eqs[i]);
		if (!check(make(b, &devices2[0]) && prog.n == 1 && prog.bad == 1 && why.n > 4 && memcmp(why.p, "X: ", 3) == 0 &&
		      str_eq(prog.counters[0].name, S("Y")), "malformed: %s", show(str_z(eqs[i]))))
			note("%u counters, %u bad, %s", prog.n, prog.bad, show((struct str){ why.p, why.p + why.n }));
	}
	/* the counter's letter and its index take two entries */
	for (size_t depth = MAX_OPERANDS - 1; depth <= MAX_OPERANDS; depth++) {
		struct buf o = { .p = b, .cap = sizeof(b) - 1 };

		put_z(&o, "<counter symbol_name='X' equation='");
		for (size_t i = 0; i < depth; i++)
			put_z(&o, "C 1 READ ");
		for (size_t i = 1; i < depth; i++)
			put_z(&o, "UADD ");
		put_z(&o, "'/>");
		b[o.n] = '\0';
		check(make(b, &devices2[0]) && prog.n == (depth < MAX_OPERANDS) && prog.bad == (depth == MAX_OPERANDS),
		      "malformed: %zu values on the stack", depth);
	}
	t_deepest();
	check(make("<counter equation='1'/>", &devices2[0]) && prog.n == 0 && prog.bad == 1, "malformed: no name");
	check(make("<counter symbol_name='X' equation='1'/><counter symbol_name='X' equation='2'/>", &devices2[0]) &&
	      prog.n == 1 && prog.bad == 1, "malformed: a name that occurs twice");
	check(make("<counter symbol_name='X' equation='1' availability='0'/><counter symbol_name='X' equation='2'/>", &devices2[0]) &&
	      prog.n == 1 && prog.bad == 0,
	      "a name that occurs twice, but only once on this device, is accepted");
	check(make("<counter symbol_name='X'/>", &devices2[0]) && prog.n == 0 && prog.bad == 1, "malformed: no equation");
}

/* The names of the remaining counters, joined. */
static const char *left(void)
{
	static char b[256];
	struct buf o = { .p = b, .cap = sizeof(b) - 1 };

	for (u32 i = 0; i < prog.n; i++)
		put_str(&o, prog.counters[i].name);
	b[o.n] = '\0';
	return b;
}

static void t_nocase(void)
{
	check(word_eq_nocase((struct str)STR("azAZ"), (struct str)STR("AZaz")) &&
	      !word_eq_nocase((struct str)STR("@"), (struct str)STR("`")) &&
	      !word_eq_nocase((struct str)STR("["), (struct str)STR("{")),
	      "only letters are compared without case");
}

/* A reference to counter 65 is a reference to this counter alone, not to the first ones. */
static void t_refers_far(void)
{
	char text[64 * 80];
	size_t n = 0;

	for (int i = 0; i < 70; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "<counter symbol_name='N%d' equation='%d'/>", i, i);
	snprintf(text + n, sizeof(text) - n, "<counter symbol_name='L' equation='$N65 $N64 UADD'/>");
	check(make(text, &devices2[0]) && prog.n == 71 && prog.counters[70].needs[1] == 3 &&
	      prog.counters[70].needs[0] == 0, "references: to counters 64 and 65");
}

static void t_refers(void)
{
	u64 sum[OA_SLOTS];
	union oaval v[MAX_OA_COUNTERS] = { { 0 } }, max;
	bool want[MAX_OA_COUNTERS] = { false }, none = true;
	char big[42 * (MAX_OA_COUNTERS + 1)] = "";

	fill(sum);
	check(make("<counter symbol_name='A' data_type='uint64' equation='A 2 READ'/>"
		   "<counter symbol_name='B' data_type='float' equation='$A 4 FDIV'/>"
		   "<counter symbol_name='C' data_type='uint64' equation='$B 2 UMUL 10 UADD' max_equation='$A C 1 READ UMUL'/>"
		   "<counter symbol_name='D' data_type='uint64' equation='B 1 READ'/>", &devices2[0]),
		   "references: the set is compiled");
	oaprog_eval(&prog, sum, v);
	check(v[1].f > 2.49 && v[1].f < 2.51 && v[2].u == 15 && v[3].u == 1067,
	      "references: each value has its own type");
	check(oaprog_max(&prog, 2, sum, v, &max) && max.u == 10750,
	      "references: a maximum refers to another counter");
	check(prog.slots[OA_A + 2] && prog.slots[OA_B + 1] && !prog.slots[OA_A + 3],
	      "slots: those of all counters are needed");
	want[2] = true;
	oaprog_select(&prog, want);
	memset(v, 0, sizeof(v));
	oaprog_eval(&prog, sum, v);
	check(v[2].u == 15 && v[3].u == 0, "selection: referenced counters are evaluated, others are not");
	check(prog.counters[2].wanted && !prog.counters[0].wanted && !prog.counters[1].wanted,
	      "selection: only the selected counter is marked");
	check(prog.slots[OA_A + 2] && prog.slots[OA_C + 1] && !prog.slots[OA_B + 1],
	      "slots: those of the selected counter and of its maximum are needed");
	check(make("<counter symbol_name='A' data_type='uint64' equation='A 2 READ' max_equation='$SqidiTotalCount'/>"
		   "<counter symbol_name='B' data_type='float' equation='$A $L3BankTotalCount UDIV' max_equation='100'/>"
		   "<counter symbol_name='C' data_type='uint64' equation='$SqidiTotalCount $B UMUL'/>"
		   "<counter symbol_name='D' data_type='uint64' equation='$QueryMode $GtSlice1 UADD'/>", &devices2[0]),
	      "unknown variables: the set is compiled");
	check(!prog.counters[0].unknown && prog.counters[1].unknown == 1u << OV_L3_BANK &&
	      prog.counters[2].unknown == (1u << OV_L3_BANK | 1u << OV_SQIDI),
	      "unknown variables: a counter has those of its equation and of the counters to which "
	      "it refers");
	check(!oaprog_max(&prog, 0, sum, v, &max) && oaprog_max(&prog, 1, sum, v, &max),
	      "unknown variables: a maximum with an unknown variable is missing, another one is "
	      "known");
	check(!prog.counters[3].unknown, "unknown variables: a mask, a mode or a missing slice may be 0");
	check(make("<counter symbol_name='B' data_type='float' equation='1 $L3BankTotalCount UDIV'/>", &devices2[1]) &&
	      !prog.counters[0].unknown, "unknown variables: none if the device has all numbers");
	make("<counter symbol_name='A' data_type='uint64' equation='A 2 READ'/>", &devices2[0]);
	want[2] = false;
	oaprog_select(&prog, want);
	for (size_t i = 0; i < OA_SLOTS; i++)
		none = none && !prog.slots[i];
	check(none, "slots: none are needed if no counter is selected");

	make("<counter symbol_name='A' equation='$B'/><counter symbol_name='B' equation='1'/>", &devices2[0]);
	check(prog.bad == 1 && strcmp(left(), "B") == 0,
	      "references: a later counter is malformed");
	make("<counter symbol_name='A' equation='$A'/>", &devices2[0]);
	check(prog.bad == 1 && prog.n == 0, "references: the counter itself is malformed");
	make("<counter symbol_name='A' equation='FOO'/><counter symbol_name='B' equation='$A 1 UADD'/>"
	     "<counter symbol_name='C' equation='$B'/><counter symbol_name='D' equation='2'/>", &devices2[0]);
	check(prog.bad == 1 && strcmp(left(), "D") == 0,
	      "references: a counter that refers to a malformed one is left out, but is not malformed");
	make("<counter symbol_name='A' equation='PERFCNT 0 READ'/><counter symbol_name='B' equation='$A 1 UADD'/>"
	     "<counter symbol_name='C' equation='1' max_equation='$A'/>", &devices2[0]);
	check(prog.bad == 0 && strcmp(left(), "C") == 0 && !prog.counters[0].has_max,
	      "a counter that uses PERFCNT is left out");
	for (size_t i = 0; i <= MAX_OA_COUNTERS; i++)
		snprintf(big + 41 * i, sizeof(big) - 41 * i, "<counter symbol_name='%03zu' equation='1'/>", i);
	check(!make(big, &devices2[0]) && why.n > 0, "257 counters are refused");
	big[41 * MAX_OA_COUNTERS] = '\0';
	check(make(big, &devices2[0]) && prog.n == MAX_OA_COUNTERS, "256 counters are accepted");
}

/* Equations that need more instructions than there is room for. */
static void t_full(void)
{
	enum { SUMS = 80 };
	static char b[sizeof(text_b) - 200];
	struct buf o = { .p = b, .cap = sizeof(b) - 1 };
	u64 sum[OA_SLOTS], wrong = 0;
	union oaval v[MAX_OA_COUNTERS];

	for (u32 i = 0; i < MAX_OA_COUNTERS; i++) {
		put_z(&o, "<counter symbol_name='c");
		put_u64(&o, i);
		put_z(&o, "' data_type='uint64' equation='C 1 READ");
		for (int k = 0; k < SUMS; k++)
			put_z(&o, " C 1 READ UADD");
		put_z(&o, "'/>");
	}
	b[o.n] = '\0';
	fill(sum);
	sum[OA_C + 1] = 3;
	check(!o.full && make(b, &devices2[0]) && prog.n > 100 && prog.bad > 0 && prog.n + prog.bad == MAX_OA_COUNTERS,
	      "full table of instructions: %u counters, %u without room", prog.n, prog.bad);
	check(str_find(str_of(why.p, why.n), S(": no room for it")), "full table of instructions: a message");
	oaprog_eval(&prog, sum, v);
	for (u32 i = 0; i < prog.n; i++)
		wrong += v[i].u != 3 * (SUMS + 1);
	check_u64(wrong, 0, "full table of instructions: the counters before the limit are right");
}

static void t_available(void)
{
	static const struct {
		const char *eq;
		char first, second; /* on each device: 1 available, 0 not available, b malformed */
	} cases[] = {
		{ "", '1', '1' }, { "1", '1', '1' }, { "0", '0', '0' }, { "$SubsliceMask 8 AND", '0', '1' },
		{ "$SliceMask 3 1 2 UMUL &lt;&lt; AND", '0', '1' }, { "true $QueryMode &amp;&amp;", '0', '1' },
		{ "$SkuRevisionId 0x05 UGTE", '0', '1' }, { "$SkuRevisionId 0x03 ULT", '1', '0' }, { "$GtSlice1XeCore3", '0', '1' },
		{ "$GtXeCore2", '1', '1' }, { "1 2 FDIV", '0', '0' }, { "A 1 READ", 'b', 'b' }, { "$Foo", 'b', 'b' }, { "A", 'b', 'b' },
		{ "1 2", 'b', 'b' },
	};
	char b[512];

	for (size_t i = 0; i < LEN(cases); i++)
		for (size_t k = 0; k < 2; k++) {
			char want = k ? cases[i].second : cases[i].first;

			snprintf(b, sizeof(b), "<counter symbol_name='A' equation='1' availability='%s'/>"
				 "<counter symbol_name='B' equation='$A'/>", cases[i].eq);
			make(b, &devices2[k]);
			check(prog.n == (want == '1' ? 2 : 0) && prog.bad == (want == 'b'), "availability: '%s' on device %zu", cases[i].eq,
			      k);
		}
}

/* --- sets, registers, packs ------------------------------------------------------------------- */

static const char sets_xml[] =
	"<?xml version=\"1.0\"?>\n<metrics version=\"1\">\n"
	"<!-- <set symbol_name='Not'> -->\n"
	"<set name='A' chipset='SKLGT2' symbol_name='One' hw_config_guid='07B25942-d9fd-4fce-bd58-e29abd66b7de'>\n"
	"<counter symbol_name='GpuTime' description='Time: 1 &lt; 2.' data_type='uint64' units='ns' equation='GPU_TIME 0 READ 1000000000 UMUL "
	"$GpuTimestampFrequency UDIV'/>\n"
	"<counter symbol_name='Busy' data_type='float' units='percent' max_equation='100' equation='A 0 READ 100 UMUL $GpuTime FDIV' "
	"availability='$SliceMask 1 0 &lt;&lt; AND'></counter>\n"
	"<counter symbol_name='Odd' data_type='uint64' units='u' equation='A 0 READ FOO $Nobody'/>\n"
	"<register_config type='NOA' priority='0' availability='$SliceMask 1 AND'>\n"
	"<register type='NOA' address='0x00009888' value='0x166C01E0'/><register address='0x00009888' value='0xffffffff' />"
	"<register address='0xFFFFFFFC' value='0x0'/></register_config>\n"
	"<register_config type='NOA' priority='1' availability='$SliceMask 2 AND'><register address='0x1' value='0x2'/>"
	"<register address='0x0' value='0x80000000'/></register_config>\n"
	"<register_config type='FLEX'/>\n<register_config type='NEW'><register address='0x9' value='0x9'/></register_config>\n"
	"</set>\n"
	"<set chipset='x' symbol_name='Two' oa_format='576B_PEC64LL' hw_config_guid='07b25942-d9fd-4fce-bd58-e29abd66b7dx'></set>"
	"<set/></metrics>\n";

/* Writes everything that a set contains as text, equations as tokens, but no descriptions, which
 * built-in sets do not have. */
static void report_set(const struct oaset *s, struct buf *o)
{
	static u32 regs[16384][2];
	struct str in = { 0 }, conf = { 0 };
	struct oadef c;
	struct config k;

	put_str(o, s->name);
	put_c(o, ' ');
	put_str(o, s->chipset);
	put_c(o, ' ');
	put_str(o, s->format);
	put_c(o, ' ');
	put_z(o, s->guid);
	while (oadef_next(s, &in, &c)) {
		const struct str eqs[] = { c.equation, c.max, c.available };

		put_z(o, "\n  ");
		put_str(o, c.name);
		put_z(o, c.is_float ? " float " : " int ");
		put_str(o, c.units);
		for (size_t i = 0; i < LEN(eqs); i++) {
			struct str eq = eqs[i];
			struct oatoken t;

			put_z(o, " |");
			while (token_next(s->file, &eq, &t)) {
				put_c(o, ' ');
				put_u64(o, t.word);
				put_c(o, ':');
				put_u64(o, t.n);
				put_str(o, t.text);
			}
		}
	}
	while (config_next(s, &conf, &k)) {
		u32 reg[2] = { 0 };

		put_z(o, "\n  ");
		put_u64(o, k.type);
		while (register_next(s->file->origin, &k.list, reg) > 0) {
			put_c(o, ' ');
			put_hex64(o, reg[0]);
			put_c(o, '=');
			put_hex64(o, reg[1]);
		}
	}
	for (u8 d = 0; d < 2; d++)
		for (u8 type = 0; type < OREGS; type++) {
			long n = oaset_regs(s, &devices2[d], type, regs, LEN(regs));

			put_z(o, "\n  ");
			put_u64(o, (u64)n);
			for (long i = 0; i < n; i++) {
				put_c(o, ' ');
				put_u64(o, regs[i][0]);
				put_c(o, '=');
				put_u64(o, regs[i][1]);
			}
		}
	put_c(o, '\n');
}

/* Writes everything that a file contains. */
static void report(const struct oafile *f, struct buf *o)
{
	struct str at = { 0 };
	struct oaset s;

	while (oaset_next(f, &at, &s)) {
		struct str in = { 0 };
		struct oadef c;

		report_set(&s, o);
		while (oadef_next(&s, &in, &c)) {
			put_str(o, c.description);
			put_c(o, '\n');
		}
	}
}

static char pack_b[4 << 20];

static struct oapacker packer;

static struct str packed(const struct oafile *files, size_t n)
{
	static char heap[2 << 20];
	struct buf b = { .p = pack_b, .cap = sizeof(pack_b) };

	why = (struct buf){ .p = why_b, .cap = sizeof(why_b) };
	if (!oapack_make(&packer, BUF(heap), files, n, &why))
		return (struct str){ 0 };
	put_n(&b, packer.list.p, packer.list.n);
	put_n(&b, packer.heap.p, packer.heap.n);
	put_n(&b, packer.sets.p, packer.sets.n);
	return (struct str){ pack_b, pack_b + b.n };
}

static void t_sets(void)
{
	static struct oafile f;
	struct str at = { 0 }, in = { 0 };
	struct oaset s = { 0 };
	struct oadef c;
	u32 regs[4][2];

	check(oafile_detect(&f, (struct str)STR(sets_xml)) && f.origin == OM_XML, "a metric file is recognized");
	check(oaset_next(&f, &at, &s) && str_eq(s.name, S("One")) && str_eq(s.chipset, S("SKLGT2")) && s.format.p == s.format.e &&
	      strcmp(s.guid, "07b25942-d9fd-4fce-bd58-e29abd66b7de") == 0,
	      "a set has its name and chipset, and its GUID in lower case");
	check(oadef_next(&s, &in, &c) && str_eq(c.name, S("GpuTime")) && str_eq(c.units, S("ns")) && !c.is_float &&
	      c.max.p == c.max.e && str_eq(c.description, S("Time: 1 &lt; 2.")), "a counter with an integer type and a description");
	check(oadef_next(&s, &in, &c) && c.is_float && str_eq(c.max, S("100")) && str_eq(c.available, S("$SliceMask 1 0 &lt;&lt; AND")) &&
	      c.description.p == c.description.e, "a counter with a float type, a maximum, an availability and no description");
	check(oadef_next(&s, &in, &c) && !oadef_next(&s, &in, &c) && !oadef_next(&s, &in, &c),
	      "the set has three counters");
	check(oaset_fits(&s, &skl), "the set fits the platform with the name of its chipset");
	check(!oaset_fits(&s, NULL) && !oaset_fits(&s, &(struct oaplatform){ .name = "sklgt3" }),
	      "the set does not fit another platform");
	check(oaset_regs(&s, &devices2[0], OREG_NOA, regs, 4) == 3 && regs[0][0] == 0x9888 && regs[0][1] == 0x166c01e0 &&
	      regs[2][0] == 0xfffffffc && regs[2][1] == 0, "registers on a device with one slice");
	check(oaset_regs(&s, &devices2[1], OREG_NOA, regs, 4) == 2 && regs[1][0] == 0 && regs[1][1] == 0x80000000,
	      "registers on a device with two slices: those of the last available configuration");
	check(oaset_regs(&s, &devices2[0], OREG_NOA, regs, 2) == -E2BIG && oaset_regs(&s, &devices2[0], OREG_NOA, regs, 3) == 3,
	      "registers: an error if they do not fit");
	check(oaset_regs(&s, &devices2[0], OREG_FLEX, regs, 4) == 0 && oaset_regs(&s, &devices2[0], OREG_OA, regs, 4) == 0,
	      "registers: types without registers");
	check(oaset_next(&f, &at, &s) && str_eq(s.format, S("576B_PEC64LL")) && s.guid[0] == '\0',
	      "an invalid GUID is empty");
	in = (struct str){ 0 };
	check(!oadef_next(&s, &in, &c) && oaset_regs(&s, &devices2[0], OREG_NOA, regs, 4) == 0,
	      "a set without counters and registers");
	check(oaset_next(&f, &at, &s) && s.name.p == s.name.e && !oaset_next(&f, &at, &s),
	      "an empty set element is the last set");
}

static void t_files(void)
{
	static const char *const no[] = {
		"", "metrics", "<metric>", "<metrics>", "<metrics><set></set>", "<metrics><set></metrics", "<set></set>", "</metrics>",
		"<metrics><set a=b></set></metrics>", "<metrics></metrics><x/>", "gpuOA\r\n", "gpuOA\r\n\1", "gpuOA\r\n\2\1",
		"gpuOA\r\n\1\5", "gpuOA\r\n\1\1x\3yy", "gpuOA\r\n\1\x80\x80\x80\x80\x80\x80\x80\x80\x80\x02",
	};
	static const char *const bad[] = {
		"<register address='9888' value='0x1'/>", "<register address='0x9888'/>", "<register value='0x1'/>",
		"<register address='0x100000000' value='0x1'/>", "<register address='0x1' value='0x1g'/>", "<register address='0x' value='0x1'/>",
	};
	struct oafile f;
	struct oaset s;
	char b[512];
	u32 regs[4][2];

	for (size_t i = 0; i < LEN(no); i++)
		check(!oafile_detect(&f, edge_str(no[i], strlen(no[i]))), "not a metric file: %s", show(str_z(no[i])));
	check(oafile_detect(&f, S("<metrics/>")) && oafile_detect(&f, S("gpuOA\r\n\1\1x\2yy")),
	      "a metric file without sets and a pack are recognized");
	for (size_t i = 0; i < LEN(bad); i++) {
		struct str at = { 0 };

		snprintf(b, sizeof(b), "<metrics><set><register_config type='OA'>%s</register_config></set></metrics>", bad[i]);
		check(oafile_detect(&f, str_z(b)) && oaset_next(&f, &at, &s) && oaset_regs(&s, &devices2[0], OREG_OA, regs, 4) == -EINVAL &&
		      !packed(&f, 1).p && why.n > 0, "malformed: %s", bad[i]);
	}
	snprintf(b, sizeof(b), "<metrics><set><register_config type='OA' availability='$Foo'></register_config></set></metrics>");
	check(oafile_detect(&f, str_z(b)) && oaset_next(&f, &(struct str){ 0 }, &s) &&
	      oaset_regs(&s, &devices2[0], OREG_OA, regs, 4) == -EINVAL, "malformed: the availability of registers");
}

static char told[2][8 << 20];

static bool same_texts(const struct buf o[2])
{
	if (!o[0].full && o[0].n > 0 && o[0].n == o[1].n && memcmp(told[0], told[1], o[0].n) == 0)
		return true;
	for (size_t i = 0; i < o[0].n && i < o[1].n; i++)
		if (told[0][i] != told[1][i]) {
			size_t from = i > 40 ? i - 40 : 0;

			note("%s", show((struct str){ told[0] + from, told[0] + i + 40 }));
			note("%s", show((struct str){ told[1] + from, told[1] + i + 40 }));
			break;
		}
	return false;
}

/* Returns whether two files have the same contents. */
static bool same(const struct oafile *a, const struct oafile *b)
{
	struct buf o[2] = { BUF(told[0]), BUF(told[1]) };

	report(a, &o[0]);
	report(b, &o[1]);
	return same_texts(o);
}

static void t_pack(void)
{
	static char first[1 << 16], room[2 << 20];
	struct oafile xml, pack, again, both[2];
	struct oaset s;
	size_t n;
	struct str p, at = { 0 };
	struct buf small = { .p = first, .cap = 100 };

	oafile_detect(&xml, (struct str)STR(sets_xml));
	p = packed(&xml, 1);
	check(p.p && oafile_detect(&pack, p) && pack.origin == OM_PACK && same(&xml, &pack),
	      "a pack has the contents of its XML");
	memcpy(first, p.p, str_len(p));
	pack.text = (struct str){ first, first + str_len(p) };
	p = packed(&pack, 1);
	check(str_len(p) == str_len(pack.text) && memcmp(p.p, first, str_len(p)) == 0 && oafile_detect(&again, p),
	      "a pack made of a pack is identical");
	both[0] = xml;
	both[1] = oabasic;
	p = packed(both, 2);
	check(p.p && oafile_detect(&again, p), "a pack of two files is recognized");
	for (size_t i = 0; i < 5; i++)
		check(oaset_next(&again, &at, &s),
		      "the pack of two files has a set of its second file");
	check(!oaset_next(&again, &at, &s) && str_eq(s.name, S("Basic")) && str_eq(s.chipset, S("gen9")),
	      "the pack of two files has no other sets");
	why.n = 0;
	check(!oapack_make(&packer, small, &xml, 1, &why) && packer.heap.full && why.n > 0,
	      "a pack without room is an error with a message");
	check(oapack_make(&packer, BUF(room), &xml, 1, &why), "a pack with enough room is made");
	n = packer.heap.n;
	check(oapack_make(&packer, (struct buf){ .p = room, .cap = n }, &xml, 1, &why),
	      "a pack whose bytes fill the room is made");
	why.n = 0;
	check(!oapack_make(&packer, (struct buf){ .p = room, .cap = n - 1 }, &xml, 1, &why) && why.n > 0,
	      "a pack with one byte more than the room is an error with a message");
}

static void t_basic(void)
{
	struct str at = { 0 };
	struct oaset s = { 0 };
	union oaval v[MAX_OA_COUNTERS];
	u64 sum[OA_SLOTS];
	u32 regs[8][2];

	fill(sum);
	why = (struct buf){ .p = why_b, .cap = sizeof(why_b) };
	check(oaset_next(&oabasic, &at, &s) && str_eq(s.name, S("Basic")) && str_eq(s.chipset, S("hsw")) &&
	      str_eq(s.format, S("A45_B8_C8")) && !oaset_fits(&s, &skl), "built-in: the set of the first family");
	check(oaprog_compile(&prog, &s, &devices2[0], &why) && prog.n == 2 && !prog.bad && strcmp(left(), "GpuTimeOnlyOld") == 0,
	      "built-in: the counters of the first family");
	oaprog_eval(&prog, sum, v);
	check_u64(v[1].u, 4304, "built-in: the value of C 2");
	check(oaset_regs(&s, &devices2[0], OREG_NOA, regs, 8) == 3 && regs[1][1] == 0xffffffff &&
	      oaset_regs(&s, &devices2[0], OREG_OA, regs, 8) == 0, "built-in: the registers of the first family");
	check(oaset_next(&oabasic, &at, &s) && oaset_fits(&s, &skl) && strcmp(s.guid, oafamilies[1].guid) == 0,
	      "built-in: the set of the second family fits its platform");
	check(oaprog_compile(&prog, &s, &devices2[0], &why) && strcmp(left(), "GpuTimeGpuBusy") == 0 && prog.counters[1].has_max &&
	      prog.counters[1].is_float, "built-in: the counters of the second family");
	check(oaset_regs(&s, &devices2[0], OREG_FLEX, regs, 8) == 1 && regs[0][0] == 0xe458 && !oaset_next(&oabasic, &at, &s),
	      "built-in: the registers of the second family, which is the last");
}

/* --- hostile bytes ---------------------------------------------------------------------------- */

/* All texts that were read must be in the input or in the program. */
static bool feed_file(struct str text)
{
	struct oafile f;
	struct str at = { 0 };
	struct oaset s;
	u64 sum[OA_SLOTS];
	union oaval v[MAX_OA_COUNTERS];
	u32 regs[8][2];

	/* Also bytes that oafile_detect() refuses: a mapped file may have changed. */
	if (!oafile_detect(&f, text))
		f = (struct oafile){ text, str_len(text) > 5 && text.p[5] == '\r' ? OM_PACK : OM_XML };
	fill(sum);
	for (size_t sets = 0; oaset_next(&f, &at, &s); sets++) {
		struct str in = { 0 };
		struct oadef c;
		struct oadevice d = devices2[sets % 2];

		if (sets > str_len(text) || !within(s.name, text) || !within(s.chipset, text) || !within(s.body, text))
			return false;
		for (size_t n = 0; oadef_next(&s, &in, &c); n++)
			if (n > str_len(text) || !within(c.name, text) || !within(c.units, text) || !within(c.equation, text) ||
			    !within(c.description, text))
				return false;
		why = (struct buf){ .p = why_b, .cap = sizeof(why_b) };
		if (oaprog_compile(&prog, &s, &d, &why))
			oaprog_eval(&prog, sum, v);
		for (u8 type = 0; type < OREGS; type++)
			oaset_regs(&s, &d, type, regs, LEN(regs));
	}
	return true;
}

static bool feed_tags(struct str text)
{
	struct str at = text, value;
	struct xmltag t;
	char b[8];

	for (size_t n = 0; xml_next(&at, &t); n++) {
		/* An invalid tag has no name and no attributes. */
		if (n > str_len(text) || !within(t.name, text) || !within(t.attrs, text) || (t.name.p == t.attrs.p) != !str_len(t.name) ||
		    (!str_len(t.name) && (str_len(t.attrs) || t.opens || t.closes)))
			return false;
		if (xml_attr(t.attrs, S("a"), &value) && (!within(value, t.attrs) || xml_text(value, b, sizeof(b)) > sizeof(b) + 1))
			return false;
	}
	return at.p == at.e;
}

static void t_hostile(void)
{
	static char copy[8192];
	struct oafile f;
	struct str p;

	check(replay((struct str)STR(sets_xml), feed_file), "every truncation and change of a metric file");
	check(replay(S("x<a a='&lt;&#x41;' b=\"1\"/><!-- - -><b a = '1'>--><?x?><![CDATA[]]><c a='&amp'></c>"), feed_tags),
	      "every truncation and change of tags");
	oafile_detect(&f, (struct str)STR(sets_xml));
	p = packed(&f, 1);
	memcpy(copy, p.p, str_len(p));
	p = (struct str){ copy, copy + str_len(p) };
	check(replay(p, feed_file), "every truncation and change of a pack");
	for (int i = 0; i < 20000; i++) {
		struct str s = edge_str(p.p, str_len(p));

		for (u64 k = 1 + rnd() % 8; k > 0; k--)
			edge_high[-(ptrdiff_t)(1 + rnd() % (str_len(p) - 8))] = (char)rnd();
		if (!feed_file(s)) {
			check(false, "20 000 packs with some bytes changed");
			return;
		}
	}
	check(true, "20 000 packs with some bytes changed");
}

/* --- whole metric files ----------------------------------------------------------------------- */

static char dir[100], xml_b[4 << 20];

static struct str load(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n = f ? fread(xml_b, 1, sizeof(xml_b), f) : 0;

	if (f)
		fclose(f);
	return (struct str){ xml_b, xml_b + n };
}

/* Random deltas: some 0, most of them small, some with all bits. */
static void chance(u64 *sum)
{
	for (size_t i = 0; i < OA_SLOTS; i++)
		sum[i] = rnd() % 8 ? rnd() >> (rnd() % 4 ? 24 + rnd() % 40 : rnd() % 64) : 0;
}

static void write_variables(FILE *out, const struct oadevice *d)
{
	u64 v;

	for (size_t i = 0; i < LEN(names); i++)
		if (oavar_value(d, names[i].var, 0, &v))
			fprintf(out, "V %s %" PRIu64 "\n", names[i].name, v);
	for (unsigned i = 0; i < 32; i++) {
		fprintf(out, "V GtSlice%uXeCore%u %u\n", i / 4, i % 4, (unsigned)(d->cores >> i & 1));
		fprintf(out, "V GtXeCore%u %u\n", i, (unsigned)(d->cores_all >> i & 1));
		fprintf(out, "V GtSlice%u %u\n", i, (unsigned)(d->slices >> i & 1));
	}
}

/* Fills in the counts of so many seconds: those of clocks are exact, the others are random, up
 * to four times the GPU's clock. Haswell's sets have the clock in B7, C2 or C7. */
static void fill_seconds(u64 *sum, u64 seconds, const struct oadevice *d, u64 hz)
{
	for (size_t i = 0; i < OA_SLOTS; i++)
		sum[i] = rnd() % (4 * seconds * hz);
	sum[OA_TIME] = seconds * d->var[OV_TS_HZ];
	sum[OA_CLOCK] = sum[OA_B + 7] = sum[OA_C + 2] = sum[OA_C + 7] = seconds * hz;
}

/* Writes the input and results for the second evaluator. Returns whether XML and pack have equal
 * results. */
static bool evaluate(FILE *out, const u64 *sum, union oaval *v)
{
	union oaval v2[MAX_OA_COUNTERS], max = { 0 }, max2 = { 0 };

	oaprog_eval(&prog, sum, v);
	oaprog_eval(&prog2, sum, v2);
	fputs("D", out);
	for (size_t i = 0; i < OA_SLOTS; i++)
		fprintf(out, " %" PRIu64, sum[i]);
	fputc('\n', out);
	for (u32 i = 0; i < prog.n; i++) {
		bool has = oaprog_max(&prog, i, sum, v, &max), has2 = oaprog_max(&prog2, i, sum, v2, &max2);

		if (v[i].u != v2[i].u || has != has2 || (has && max.u != max2.u))
			return false;
		fprintf(out, "C %.*s ", (int)str_len(prog.counters[i].name), prog.counters[i].name.p);
		fprintf(out, prog.counters[i].unknown ? "unknown" : "%016" PRIx64, v[i].u);
		fprintf(out, has ? " %016" PRIx64 "\n" : " -\n", max.u);
	}
	fputs("E\n", out);
	return prog.n == prog2.n;
}

struct figures {
	size_t sets, counters, bad, differ, lost;
	size_t times, frequencies, wrong; /* GpuTime and AvgGpuCoreFrequency of long sums */
};

/* Evaluates sums of a report, a minute, an hour and a day. */
static void evaluate_long(FILE *out, const struct oadevice *d, struct figures *t)
{
	static const u64 seconds[] = { 1, 60, 3600, 86400 };
	union oaval v[MAX_OA_COUNTERS];
	u64 sum[OA_SLOTS], hz = 1500000000;

	for (size_t k = 0; k < LEN(seconds); k++) {
		fill_seconds(sum, seconds[k], d, hz);
		t->differ += !evaluate(out, sum, v);
		for (u32 i = 0; i < prog.n; i++) {
			struct str name = prog.counters[i].name;
			bool time = str_eq(name, S("GpuTime")), frequency = str_eq(name, S("AvgGpuCoreFrequency"));

			t->times += time;
			t->frequencies += frequency;
			t->wrong += (time && v[i].u != seconds[k] * 1000000000) || (frequency && v[i].u != hz);
		}
	}
}

/* --- the built-in sets, compared with the public files ---------------------------------------- */

static u32 nfound[256]; /* how often a file contains each built-in set */

/* Finds the built-in set that has the name of an XML's set and is for the same GPU. Returns its
 * number; LEN(nfound): there is none. */
static size_t builtin_find(const struct oaset *x, struct oaset *s)
{
	struct str at = { 0 };

	for (size_t i = 0; i < LEN(nfound) && oaset_next(&oapack, &at, s); i++)
		if (str_eq(s->name, x->name) && str_eq(s->chipset, x->chipset))
			return i;
	return LEN(nfound);
}

/* Also writes the values of the built-in set for the second evaluator, which reads the equations
 * of the XML. */
static bool builtin_same(const struct oaset *x, const struct oadevice *d, FILE *out)
{
	struct buf o[2] = { BUF(told[0]), BUF(told[1]) };
	union oaval v[MAX_OA_COUNTERS];
	u64 sum[OA_SLOTS];
	struct oaset s;
	size_t i = builtin_find(x, &s);

	if (i == LEN(nfound))
		return !str_eq(x->name, S("RenderBasic")) && !str_eq(x->name, S("ComputeBasic"));
	nfound[i]++;
	chance(sum);
	report_set(x, &o[0]);
	report_set(&s, &o[1]);
	why.n = 0;
	return same_texts(o) && oaprog_compile(&prog, x, d, &why) && oaprog_compile(&prog2, &s, d, &why) && evaluate(out, sum, v);
}

static void t_builtin(void)
{
	struct str at = { 0 };
	struct oaset s;
	struct oafile f;
	size_t n = 0, missing = 0, invalid = 0;

	check(oafile_detect(&f, oapack.text) && f.origin == OM_PACK, "the built-in sets are a complete pack");
	for (; n < LEN(nfound) && oaset_next(&oapack, &at, &s); n++) {
		missing += !nfound[n];
		invalid += !s.guid[0];
	}
	/* 22 platforms of i915 and 14 of xe, of which 7 are the same; each has both sets, but Xe_HPG
	 * has no ComputeBasic, and Ponte Vecchio no RenderBasic. */
	check_u64(n, 2 * (22 + 14 - 7) - 3 - 1, "the number of built-in sets");
	check_u64(invalid, 0, "each built-in set has a guid");
	check_u64(missing, 0, "each built-in set is also in a public metric file");
}

/* public: a file of IGT GPU Tools, whose basic sets are built in. */
static void one_file(const char *path, const char *name, bool public, FILE *out, struct figures *all)
{
	struct figures t = { 0 };
	size_t builtin_differ = 0;
	struct str text = load(path), p;
	struct oafile xml, pack;
	u64 sum[OA_SLOTS];
	union oaval v[MAX_OA_COUNTERS];

	if (!check(oafile_detect(&xml, text) && (p = packed(&xml, 1)).p && oafile_detect(&pack, p),
	           "%s: the file is read and packed", name))
		return;
	if (!check((public ? 6 : 4) * str_len(p) <= str_len(text), "%s: the pack, with descriptions, has at most a %s of its size",
	           name, public ? "sixth" : "quarter"))
		note("%zu of %zu bytes", str_len(p), str_len(text));
	check(same(&xml, &pack), "%s: the pack has the same contents", name);
	for (size_t k = 0; k < 2; k++) {
		struct str at = { 0 }, at2 = { 0 };
		struct oaset s, s2;

		fprintf(out, "F %s\n", path);
		write_variables(out, &devices2[k]);
		for (size_t i = 0; oaset_next(&xml, &at, &s) && oaset_next(&pack, &at2, &s2); i++) {
			why = (struct buf){ .p = why_b, .cap = sizeof(why_b) };
			t.lost += !oaprog_compile(&prog, &s, &devices2[k], &why) || !oaprog_compile(&prog2, &s2, &devices2[k], &why);
			t.bad += prog.bad + prog2.bad;
			t.sets += !k;
			t.counters += k ? 0 : prog.n;
			fprintf(out, "S %zu\n", i);
			for (int n = 0; n < 2; n++) {
				chance(sum);
				t.differ += !evaluate(out, sum, v);
			}
			evaluate_long(out, &devices2[k], &t);
			builtin_differ += public && !builtin_same(&s, &devices2[k], out);
		}
	}
	check(t.sets > 0 && t.lost + t.bad == 0, "%s: every set is compiled", name);
	check_u64(t.differ, 0, "%s: XML and pack have the same values", name);
	check_u64(t.wrong, 0, "%s: the time and the frequency of a second, a minute, an hour and a day", name);
	all->times += t.times;
	all->frequencies += t.frequencies;
	if (public)
		check_u64(builtin_differ, 0,
		          "%s: the basic sets of the file are built in, with the same guid, "
		          "counters and registers", name);
	all->sets += t.sets;
	all->counters += t.counters;
}

/* Metric files, and the number of their sets and counters. */
struct files {
	const char *name, *command; /* writes them to a folder, which is its argument */
	size_t files, sets, counters;
	size_t untimed; /* sets without AvgGpuCoreFrequency */
};

/* Compares the values in the file `values` of dir with those of the second evaluator. */
static void t_second(const struct files *f)
{
	char b[512];

	if (system("command -v python3 >/dev/null") != 0) {
		check(true, "the second evaluator # SKIP needs package python3");
		return;
	}
	snprintf(b, sizeof(b), "python3 -B tests/oa/oa_eval.py %s/values >%s/said", dir, dir);
	if (check(system(b) == 0, "%s: the second evaluator has the same values", f->name))
		return;
	snprintf(b, sizeof(b), "head -n 5 %s/said | sed 's/^/# /'", dir);
	if (system(b) != 0)
		note("it printed nothing");
}

static void t_metric_files(const struct files *f, bool public)
{
	struct figures all = { 0 };
	char b[512], path[256], name[64];
	FILE *list, *out;
	size_t files = 0;

	if (!check(mkdtemp(temporary_name(dir, sizeof(dir), "oametrics")), "%s: a folder is made", f->name))
		return;
	snprintf(b, sizeof(b), "%s %s && cd %s && find . -name 'oa-*.xml' | sort >list", f->command, dir, dir);
	check(system(b) == 0, "%s: the files are written to the folder", f->name);
	snprintf(path, sizeof(path), "%s/values", dir);
	out = fopen(path, "w");
	snprintf(path, sizeof(path), "%s/list", dir);
	list = fopen(path, "r");
	while (list && out && fgets(name, sizeof(name), list)) {
		name[strcspn(name, "\n")] = '\0';
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		one_file(path, name + 2, public, out, &all);
		files++;
	}
	if (list)
		fclose(list);
	if (out)
		fclose(out);
	check_u64(files, f->files, "%s: the number of metric files", f->name);
	check_u64(all.sets, f->sets, "%s: the number of metric sets", f->name);
	check(all.counters > f->counters, "%s: there are more than %zu counters", f->name, f->counters);
	check(all.times == 2 * 4 * f->sets && all.frequencies == 2 * 4 * (f->sets - f->untimed),
	      "%s: the time of all sets and the frequency of all but %zu were compared, on both devices", f->name, f->untimed);
	if (public)
		t_builtin();
	t_second(f);
	snprintf(b, sizeof(b), "rm -rf %s", dir);
	if (system(b) != 0)
		note("%s could not be removed", dir);
}

/* The metric files that tests/oa/gen_metrics.py makes, and the public ones. */
static void t_all_files(void)
{
	static const struct files invented = { "the invented metric files", "python3 -B tests/oa/gen_metrics.py", 36, 36 * 8 + 7,
					       10000, 0 };
	static const struct files public = { "the public metric files", "tar -xJf ../shared/oa/metrics-xml.tar.xz -C", 36,
					     810 + 64, 10000, 2 };

	if (system("command -v python3 >/dev/null") != 0)
		check(true, "%s # SKIP needs package python3", invented.name);
	else
		t_metric_files(&invented, false);
	if (access("../shared/oa/metrics-xml.tar.xz", R_OK) != 0)
		check(true, "%s # SKIP no ../shared/oa", public.name);
	else
		t_metric_files(&public, true);
}

int main(void)
{
	sys_fpu_double();
	t_xml();
	t_text();
	t_operators();
	t_malformed();
	t_refers();
	t_full();
	t_refers_far();
	t_nocase();
	t_available();
	t_sets();
	t_files();
	t_pack();
	t_basic();
	t_hostile();
	t_all_files();
	return unit_end();
}
