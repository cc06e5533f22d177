/* fuzz_equation.c - any words as an equation of a counter, and as its maximum, compared with a
 * recursive evaluator, which uses no stack, constants or code. Words are separated by bytes up to a
 * blank. SPDX-License-Identifier: MIT */
#include "oasets.h"

enum { MAX_TOKENS = 256, MAX_NUMBER = 24 /* bytes: sources/oa/oametrics.c rejects longer words as numbers */ };

struct value {
	bool ok, is_float;
	u64 u;
	double f;
};

static struct str tokens[MAX_TOKENS];
static size_t ntokens, left; /* the number of tokens not yet used, from the front */

static double as_double(struct value v)
{
	return v.is_float ? v.f : (double)v.u;
}

static u64 clamped(double f)
{
	return f >= 18446744073709551616.0 ? UINT64_MAX : f > 0 ? (u64)f : 0;
}

static u64 as_u64(struct value v)
{
	return v.is_float ? clamped(v.f) : v.u;
}

static struct value of_u64(u64 u)
{
	return (struct value){ .ok = true, .u = u };
}

static struct value of_double(double f)
{
	return (struct value){ .ok = true, .is_float = true, .f = f };
}

static double ratio(double a, double b)
{
	return b < 0 || b > 0 ? a / b : 0;
}

static struct value evaluate(int depth);

/* Called after "READ" has been consumed: "A 7" remains. */
static struct value read_slot(void)
{
	static const struct { const char *name; size_t slot, n; } groups[] = {
		{ "A", OA_A, 64 }, { "B", OA_B, 8 }, { "C", OA_C, 8 }, { "PEC", OA_A, 64 }, { "GPU_TIME", OA_TIME, 1 },
		{ "GPU_CLOCK", OA_CLOCK, 1 },
	};
	static bool in_index;
	struct value index = { 0 };

	if (in_index)
		return index; /* an index is a number or a device variable, never a counter */
	in_index = true;
	index = evaluate(1);
	in_index = false;
	if (!index.ok || index.is_float || left == 0)
		return (struct value){ 0 };
	left--;
	for (size_t i = 0; i < LEN(groups); i++)
		if (str_is(tokens[left], groups[i].name) && index.u < groups[i].n)
			return of_u64(sum[groups[i].slot + index.u]);
	return (struct value){ 0 };
}

/* Applies an operator to the two operands before it. */
static struct value operate(struct str op, struct value a, struct value b)
{
	bool whole = !a.is_float && !b.is_float;
	char kind = *op.p;

	if (op.e - op.p == 4 && (kind == 'U' || kind == 'F') && !str_is(op, "ULTE") && !str_is(op, "UGTE")) {
		struct str name = { op.p + 1, op.e };
		struct value v = { 0 };

		if (str_is(name, "ADD"))
			v = whole ? of_u64(a.u + b.u) : of_double(as_double(a) + as_double(b));
		if (str_is(name, "SUB"))
			v = !whole ? of_double(as_double(a) - as_double(b)) : kind == 'F' && a.u < b.u ? of_u64(0) : of_u64(a.u - b.u);
		if (str_is(name, "MUL"))
			v = whole ? of_u64(a.u * b.u) : of_double(as_double(a) * as_double(b));
		if (v.ok)
			return kind == 'F' ? of_double(as_double(v)) : of_u64(as_u64(v));
		if (str_is(op, "FDIV"))
			return of_double(ratio(as_double(a), as_double(b)));
		if (str_is(op, "FMAX"))
			return of_double(as_double(a) > as_double(b) ? as_double(a) : as_double(b));
	}
	a.u = as_u64(a);
	b.u = as_u64(b);
	if (str_is(op, "UDIV"))
		return of_u64(b.u ? a.u / b.u : 0);
	if (str_is(op, "UMIN"))
		return of_u64(a.u < b.u ? a.u : b.u);
	if (str_is(op, "AND"))
		return of_u64(a.u & b.u);
	if (str_is(op, "&&"))
		return of_u64(a.u != 0 && b.u != 0);
	if (str_is(op, "<<"))
		return of_u64(b.u < 64 ? a.u << b.u : 0);
	if (str_is(op, ">>"))
		return of_u64(b.u < 64 ? a.u >> b.u : 0);
	if (str_is(op, "UGT") || str_is(op, "UGTE"))
		return of_u64(a.u > b.u || (op.e - op.p == 4 && a.u == b.u));
	return of_u64(a.u < b.u || (op.e - op.p == 4 && a.u == b.u));
}

static bool any_unknown; /* the expression has an unknown variable */

/* The value of the expression that ends at the last remaining token. */
static struct value evaluate(int depth)
{
	static const char opers[] = "UADD USUB UMUL UDIV FADD FSUB FMUL FDIV UMIN FMAX AND && << >> UGT UGTE ULT ULTE";
	static const struct oadevice d = { .var = { 0, 1, 2, 3, 64, UINT64_MAX, 1000000000 } };
	struct value a, b;
	struct str t;
	u8 var, index;
	u64 n;

	if (left == 0 || depth > MAX_TOKENS)
		return (struct value){ 0 };
	t = tokens[--left];
	if (str_is(t, "READ"))
		return read_slot();
	if (str_is(t, "true"))
		return of_u64(1);
	if (*t.p == '$') {
		if (!oavar_find((struct str){ t.p + 1, t.e }, &var, &index))
			return (struct value){ 0 };
		any_unknown |= !oavar_value(&d, var, index, &n);
		return of_u64(n);
	}
	if (str_len(t) <= MAX_NUMBER && scan_num(t, &n) == t.e)
		return of_u64(n);
	if (str_among(t, opers) >= 18)
		return (struct value){ 0 };
	b = evaluate(depth + 1);
	a = b.ok ? evaluate(depth + 1) : b;
	return a.ok ? operate(t, a, b) : a;
}

static void put_escaped(struct buf *b, struct str s)
{
	for (; s.p < s.e; s.p++) {
		static const char what[] = "&<>'\"", *const how[] = { "&amp;", "&lt;", "&gt;", "&apos;", "&quot;" };
		const char *at = *s.p ? memchr(what, *s.p, 5) : NULL;

		if (at)
			put_z(b, how[at - what]);
		else
			put_c(b, *s.p);
	}
}

static struct str words_of(const char *p, size_t n)
{
	static char text[1 << 16];
	struct str s = { text, text + n }, word;

	for (size_t i = 0; i < n; i++)
		text[i] = (u8)p[i] <= ' ' ? ' ' : p[i];
	ntokens = 0;
	for (struct str rest = s; str_word(&rest, &word) && ntokens < MAX_TOKENS; ntokens++)
		tokens[ntokens] = word;
	return s;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char xml[1 << 19];
	union oaval v[MAX_OA_COUNTERS], max;
	struct buf b = BUF(xml);
	struct oafile f = { .origin = OM_XML };
	struct oaset s;
	struct str text, at = { 0 };
	struct value want;
	bool is_float = n && data[0] & 1, made;

	if (n > 1 << 14)
		return 0;
	sum_fill();
	text = words_of((const char *)data, n);
	put_z(&b, "<set symbol_name='s'><counter symbol_name='x' data_type='");
	put_z(&b, is_float ? "float" : "uint64");
	put_z(&b, "' equation='");
	put_escaped(&b, text);
	put_z(&b, "' max_equation='");
	put_escaped(&b, text);
	put_z(&b, "'/></set>");
	f.text = (struct str){ xml, xml + b.n };
	run_file(&f);
	must(oaset_next(&f, &at, &s), "a set");
	made = make(&prog, &s);
	if (ntokens == MAX_TOKENS)
		return 0;
	left = ntokens;
	any_unknown = false;
	want = evaluate(0);
	want.ok &= left == 0;
	must(!made || prog.n == 0 || want.ok, "an accepted text is an equation");
	must(!want.ok || ntokens > 30 || prog.n == 1, "a valid equation is accepted");
	if (!made || prog.n == 0)
		return 0;
	oaprog_eval(&prog, sum, v);
	if (is_float) {
		double w = as_double(want);

		must(memcmp(&v[0].f, &w, sizeof(w)) == 0 || (w != w && v[0].f != v[0].f), "the float value equals the evaluator's");
	} else {
		must(v[0].u == as_u64(want), "the integer value equals the evaluator's");
	}
	must(!prog.counters[0].unknown == !any_unknown, "a counter with an unknown variable is marked");
	must(oaprog_max(&prog, 0, sum, v, &max) == !any_unknown, "a maximum, unless a variable is unknown");
	must(any_unknown || max.u == v[0].u || is_float, "value and maximum of the same equation are equal");
	return 0;
}
