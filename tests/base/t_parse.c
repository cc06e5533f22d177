/* t_parse.c - every function of parse.c: inputs and their correct values, then each input truncated
 * everywhere and with each byte changed, in memory that ends at a page that faults.
 * SPDX-License-Identifier: MIT */
#include "unit.h"
#include <errno.h>
#include <linux/perf_event.h>

#define S(lit) ((struct str)STR(lit))

/* --- text ------------------------------------------------------------------------------------- */

static void t_same(void)
{
	static const struct { const char *a, *b; bool same, slot; } rows[] = {
		{ "", "", true, true }, { "a", "", false, false }, { "xe", "XE", true, true },
		{ "x[", "x{", false, false }, { "x@", "x`", false, false }, { "k1", "k\x11", false, false },
		{ "0000:03:00.0", "0:3:0.0", false, true }, { "00000000:0B:00.0", "0000:0b:00.0", false, true },
		{ "03:00.0", "3:00.0", false, true }, { "30:00.0", "3:00.0", false, false },
		{ "10000:e1:00.0", "0000:e1:00.0", false, false }, { "0:3:0.0", "0:3:0.", false, false },
		{ "0:3:0.0", "0:3::0", false, false }, { "0", "000", false, true }, { "0:", "00:", false, true },
		{ "0:3:0.0", "3:0.0", false, false },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		for (int turn = 0; turn < 2; turn++) {
			const char *a = turn ? rows[i].b : rows[i].a, *b = turn ? rows[i].a : rows[i].b;
			struct str x = edge_str(a, strlen(a)), y = str_z(b);

			check(str_same(x, y, false) == rows[i].same, "'%s' and '%s': %s", a, b,
			      rows[i].same ? "equal" : "not equal");
			check(str_same(x, y, true) == rows[i].slot, "'%s' and '%s': %s", a, b,
			      rows[i].slot ? "one address" : "two addresses");
		}
}

static void t_contains(void)
{
	static const struct { const char *s, *part; bool has; } rows[] = {
		{ "CPU 0 utilization", "CPU", true }, { "CPU 0 utilization", "UTILIZATION", true }, { "CPU 0", "cpu 0", true },
		{ "CPU 0", "cpu 00", false }, { "aab", "ab", true }, { "ab", "aab", false }, { "a", "b", false },
		{ "a", "", false }, { "", "", false }, { "", "a", false }, { "x[", "{", false },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check(str_contains(edge_str(rows[i].s, strlen(rows[i].s)), str_z(rows[i].part)) == rows[i].has,
		      "'%s' contains '%s': %s", rows[i].s, rows[i].part, rows[i].has ? "yes" : "no");
}

static void t_str(void)
{
	struct str s, w, empty = { 0 };

	check(str_eq(S("a"), S("a")) && !str_eq(S("a"), S("b")) && !str_eq(S("a"), S("ab")), "str_eq");
	check(str_eq(empty, S("")) && str_eq(S("a\0b"), S("a\0b")) && !str_eq(S("a\0b"), S("a\0c")),
	      "str_eq: empty strings and NUL bytes");

	s = S("drm-x");
	check(str_skip(&s, S("drm-")) && str_eq(s, S("x")), "str_skip");
	check(!str_skip(&s, S("xy")) && str_eq(s, S("x")),
	      "str_skip: longer than the rest of the text");
	check(str_skip(&s, S("")) && str_skip(&s, S("x")) && s.p == s.e,
	      "str_skip: an empty prefix, and the whole text");

	s = S("a,,b");
	check(str_cut(&s, ',', &w) && str_eq(w, S("a")) && str_cut(&s, ',', &w) && str_eq(w, S("")) &&
	      str_cut(&s, ',', &w) && str_eq(w, S("b")) && !str_cut(&s, ',', &w) && w.p == s.e && w.e == s.e, "str_cut");
	s = S("a,");
	check(str_cut(&s, ',', &w) && str_eq(w, S("a")) && !str_cut(&s, ',', &w),
	      "str_cut: no field after the last separator");
	check(!str_cut(&empty, ',', &w), "str_cut: an empty text");

	s = S(" \t a\vb \n c\r\n");
	check(str_word(&s, &w) && str_eq(w, S("a")) && str_word(&s, &w) && str_eq(w, S("b")) &&
	      str_word(&s, &w) && str_eq(w, S("c")) && !str_word(&s, &w), "str_word");
	check(!str_word(&empty, &w), "str_word: an empty text");

	check_str(str_trim(S(" \t\r\v\fa b\r ")), "a b", "str_trim");
	check_str(str_trim(S("  ")), "", "str_trim: only spaces");
	check_str(str_base(S("/a/b")), "b", "str_base");
	check_str(str_base(S("b")), "b", "str_base: no slash");
	check_str(str_base(S("a/")), "", "str_base: slash last");

	check(str_find(S("xaab"), S("ab")) && str_find(S("ab"), S("ab")) && str_find(S("a"), S("")) &&
	      !str_find(S("aab"), S("abc")) && !str_find(S(""), S("a")), "str_find");

	s = S("a\n\nb");
	check(line_next(&s, &w) && str_eq(w, S("a")) && line_next(&s, &w) && str_eq(w, S("")) &&
	      !line_next(&s, &w),
	      "line_next: a last line without a newline is truncated, and not returned");
	check(!line_next(&empty, &w), "line_next: an empty text");
}

/* A simple reference implementation of patterns. */
static bool plain_glob(struct str pat, struct str s)
{
	if (pat.p == pat.e)
		return s.p == s.e;
	if (*pat.p == '*') {
		pat.p++;
		for (; s.p <= s.e; s.p++)
			if (plain_glob(pat, s))
				return true;
		return false;
	}
	if (s.p == s.e || (*pat.p != '?' && *pat.p != *s.p))
		return false;
	pat.p++;
	s.p++;
	return plain_glob(pat, s);
}

/* The n-th text over an alphabet; shorter texts come first. */
static struct str nth(char *b, unsigned n, const char *alphabet)
{
	unsigned base = (unsigned)strlen(alphabet);
	size_t len = 0;

	for (; n > 0; n = (n - 1) / base)
		b[len++] = alphabet[(n - 1) % base];
	return (struct str){ b, b + len };
}

static void t_glob(void)
{
	static const struct {
		const char *pat, *s, *star; /* NULL: no match */
	} rows[] = {
		{ "temp*_input", "temp1_input", "1" }, { "temp*_input", "temp_input", "" },
		{ "temp*_input", "temp1_label", NULL }, { "*.gpu", "3d00000.gpu", "3d00000" },
		{ "throttle_reason_*", "throttle_reason_pl1", "pl1" }, { "pwm?", "pwm1", "" },
		{ "pwm?", "pwm1_enable", NULL }, { "pwm?", "pwm", NULL }, { "*", "", "" }, { "", "", "" },
		{ "", "a", NULL }, { "*", "abc", "abc" }, { "a*b*c", "a1b2b3c", "2b3" }, { "gt*", "gt", "" },
		{ "*a", "aaa", "aa" }, { "**", "x", "" }, { "tile*", "tile10", "10" },
	};
	unsigned bad = 0, bad_star = 0, bad_null = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str star = { 0 };
		bool is = glob_match(str_z(rows[i].pat), str_z(rows[i].s), &star);

		check(is == !!rows[i].star, "glob %s of '%s'", rows[i].pat, rows[i].s);
		if (rows[i].star && strcmp(rows[i].pat, "**") != 0)
			check_str(star, rows[i].star,
			          "glob %s of '%s': the text of the star", rows[i].pat, rows[i].s);
	}
	for (unsigned i = 0; i < 1 + 4 + 16 + 64 + 256 + 1024; i++)
		for (unsigned k = 0; k < 63; k++) {
			char a[8], b[8];
			struct str pat = nth(a, i, "*?ab"), s = nth(b, k, "ab"), star = { 0 }, head, tail;
			bool is = glob_match(pat, s, &star);
			const char *at = NULL;

			bad += is != plain_glob(pat, s);
			bad_null += is != glob_match(pat, s, NULL);
			for (const char *p = pat.p; p < pat.e; p++)
				if (*p == '*')
					at = p;
			if (!is || !at)
				continue;
			head = (struct str){ pat.p, at };
			tail = (struct str){ at + 1, pat.e };
			bad_star += !within(star, s) || !plain_glob(head, (struct str){ s.p, star.p }) ||
				    !plain_glob(tail, (struct str){ star.e, s.e });
		}
	check_u64(bad, 0, "glob_match agrees with the reference for 85 995 pairs");
	check_u64(bad_star, 0, "glob_match reports the text that the last '*' matches");
	check_u64(bad_null, 0,
	          "glob_match returns the same when the caller does not request the star");
}

/* --- numbers ---------------------------------------------------------------------------------- */

static void t_scan(void)
{
	static const struct {
		const char *s;
		u64 v;
		const char *rest; /* NULL: no number */
	} u64s[] = {
		{ "0", 0, "" }, { "007x", 7, "x" }, { "12abc", 12, "abc" },
		{ "18446744073709551615", UINT64_MAX, "" }, { "18446744073709551616", 0, NULL },
		{ "18446744073709551620", 0, NULL }, { "99999999999999999999999", 0, NULL },
		{ "0000000000000000000000000000018446744073709551615", UINT64_MAX, "" },
		{ "", 0, NULL }, { "-1", 0, NULL }, { "+1", 0, NULL }, { " 1", 0, NULL }, { "x", 0, NULL },
		{ "0x10", 0, "x10" }, { "1.5", 1, ".5" }, { "\xb2", 0, NULL },
	};
	static const struct {
		const char *s;
		i64 v;
		const char *rest;
	} i64s[] = {
		{ "-5", -5, "" }, { "5 ", 5, " " }, { "-0", 0, "" }, { "9223372036854775807", INT64_MAX, "" },
		{ "-9223372036854775807", -INT64_MAX, "" }, { "9223372036854775808", 0, NULL },
		{ "-9223372036854775808", 0, NULL }, { "-", 0, NULL }, { "--1", 0, NULL }, { "", 0, NULL },
		{ "- 1", 0, NULL }, { "-40000\n", -40000, "\n" },
	};
	static const struct {
		const char *s;
		unsigned point;
		u64 v;
		const char *rest;
	} decs[] = {
		{ "8.0 GT/s PCIe", 1, 80, " GT/s PCIe" }, { "2.5", 1, 25, "" }, { "16", 1, 160, "" },
		{ "0.05", 1, 0, "" }, { "1.999", 1, 19, "" }, { "1.", 3, 1000, "" }, { "1.x", 3, 1000, "x" },
		{ "1.5.5", 1, 15, ".5" }, { "5.7", 0, 5, "" }, { ".5", 1, 5, "" }, { ".", 1, 0, NULL }, { "", 1, 0, NULL },
		{ "Unknown", 1, 0, NULL }, { "18446744073709551615", 0, UINT64_MAX, "" },
		{ "18446744073709551615", 1, 0, NULL }, { "1844674407370955161.5", 1, UINT64_MAX, "" },
		{ "1844674407370955161.6", 1, 0, NULL }, { "0.000000001", 9, 1, "" },
		{ "1.0000000000000000000000000000000000000001", 2, 100, "" },
	};

	for (size_t i = 0; i < LEN(u64s); i++) {
		u64 v = 77;
		struct str s = edge_str(u64s[i].s, strlen(u64s[i].s));
		const char *p = scan_u64(s, &v);

		if (u64s[i].rest)
			check(p && v == u64s[i].v && str_eq((struct str){ p, s.e }, str_z(u64s[i].rest)),
			      "scan_u64 '%s'", show(s));
		else
			check(!p && v == 77,
			      "scan_u64 '%s': no number, and nothing written", show(s));
	}
	for (size_t i = 0; i < LEN(i64s); i++) {
		i64 v = 77;
		struct str s = edge_str(i64s[i].s, strlen(i64s[i].s));
		const char *p = scan_i64(s, &v);

		if (i64s[i].rest)
			check(p && v == i64s[i].v && str_eq((struct str){ p, s.e }, str_z(i64s[i].rest)),
			      "scan_i64 '%s'", show(s));
		else
			check(!p && v == 77,
			      "scan_i64 '%s': no number, and nothing written", show(s));
	}
	for (size_t i = 0; i < LEN(decs); i++) {
		u64 v = 77;
		struct str s = edge_str(decs[i].s, strlen(decs[i].s));
		const char *p = scan_dec(s, decs[i].point, &v);

		if (decs[i].rest)
			check(p && v == decs[i].v && str_eq((struct str){ p, s.e }, str_z(decs[i].rest)),
			      "scan_dec '%s' with %u", show(s), decs[i].point);
		else
			check(!p && v == 77,
			      "scan_dec '%s' with %u: no number, and nothing written", show(s),
			      decs[i].point);
	}
}

static bool feed_numbers(struct str s)
{
	u64 v;
	i64 i;
	const char *p[] = { scan_u64(s, &v), scan_i64(s, &i), scan_dec(s, 0, &v), scan_dec(s, 9, &v),
			    scan_dec(s, 30, &v) };
	bool ok = true;

	for (size_t k = 0; k < LEN(p); k++)
		ok &= !p[k] || (p[k] > s.p && p[k] <= s.e);
	i = 1;
	return ok && (!parse_interval(s, &i) || i > 0);
}

static void t_interval(void)
{
	static const struct {
		const char *s;
		i64 ns; /* 0: invalid */
	} rows[] = {
		{ "1", 1000000000 }, { "1s", 1000000000 }, { "1.5s", 1500000000 }, { "100ms", 100000000 },
		{ "0.1ms", 100000 }, { "5us", 5000 }, { "7ns", 7 }, { "2m", 120000000000 },
		{ "2min", 120000000000 }, { "1h", 3600000000000 }, { "0.25h", 900000000000 }, { "0.5", 500000000 },
		{ "1.", 1000000000 }, { "0.000000001", 1 }, { "0.0000000009", 0 }, { "0.4ns", 0 }, { "0", 0 },
		{ "0s", 0 }, { "0.0", 0 }, { "", 0 }, { "s", 0 }, { "-1", 0 }, { "+1", 0 }, { ".5", 500000000 }, { ".", 0 },
		{ "1 s", 0 }, { " 1", 0 }, { "1s ", 0 }, { "1S", 0 }, { "1x", 0 }, { "1e3", 0 }, { "1d", 0 },
		{ "1.5.5", 0 }, { "0x1", 0 }, { "nan", 0 }, { "inf", 0 }, { "2305843009", 2305843009000000000 },
		{ "2305843010", 0 }, { "18446744073", 0 }, { "18446744074", 0 }, { "18446744073h", 0 },
		{ "18446744073709551616", 0 }, { "99999999999999999999999999h", 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		i64 ns = 0;
		bool is = parse_interval(edge_str(rows[i].s, strlen(rows[i].s)), &ns);

		check(is == !!rows[i].ns && ns == rows[i].ns, "interval '%s'", rows[i].s);
	}
	check(replay(S("18446744073.709551615min"), feed_numbers),
	      "numbers: every truncation and change");
	check(replay(S("-9223372036854775807.5"), feed_numbers),
	      "signed numbers: every truncation and change");
}

/* --- fdinfo ----------------------------------------------------------------------------------- */

static const char *const fdnames[] = {
	[FD_NONE] = "-", [FD_BAD] = "bad", [FD_DRIVER] = "driver", [FD_PDEV] = "pdev", [FD_CLIENT] = "client",
	[FD_NAME] = "name", [FD_PASID] = "pasid", [FD_BUSY_NS] = "ns", [FD_CYCLES] = "cycles",
	[FD_TOTAL_CYCLES] = "total_cycles", [FD_CAPACITY] = "capacity", [FD_MAXFREQ] = "maxfreq",
	[FD_CURFREQ] = "curfreq", [FD_BUSY_PCT] = "percent", [FD_TOTAL] = "total", [FD_SHARED] = "shared",
	[FD_RESIDENT] = "resident", [FD_MEMORY] = "memory", [FD_PURGEABLE] = "purgeable",
	[FD_ACTIVE] = "active", [FD_OTHER] = "other",
};

static const struct {
	struct str line;
	u8 key;
	const char *name;
	u64 n;
} lines[] = {
	/* the three dialects */
	{ STR("drm-engine-render:\t9288864723 ns"), FD_BUSY_NS, "render", 9288864723 },
	{ STR("drm-cycles-rcs:\t28257900"), FD_CYCLES, "rcs", 28257900 },
	{ STR("drm-total-cycles-rcs:\t7655183225"), FD_TOTAL_CYCLES, "rcs", 7655183225 },
	{ STR("drm-maxfreq-gpu:\t800000000 Hz"), FD_MAXFREQ, "gpu", 800000000 },
	{ STR("drm-curfreq-panthor:\t1000000000 Hz"), FD_CURFREQ, "panthor", 1000000000 },
	{ STR("drm-engine-capacity-video:\t2"), FD_CAPACITY, "video", 2 },
	{ STR("drm-engine-capacity-vcs:\t0"), FD_CAPACITY, "vcs", 1 }, /* "Zero capacity is not allowed" */
	/* names with dashes, and names that look like keys */
	{ STR("drm-engine-video-enhance:\t5 ns"), FD_BUSY_NS, "video-enhance", 5 },
	{ STR("drm-engine-capacity-video-enhance:\t3"), FD_CAPACITY, "video-enhance", 3 },
	{ STR("drm-engine-enc_1:\t5 ns"), FD_BUSY_NS, "enc_1", 5 },
	{ STR("drm-cycles-vertex-tiler:\t5"), FD_CYCLES, "vertex-tiler", 5 },
	{ STR("drm-total-stolen-system0:\t8 KiB"), FD_TOTAL, "stolen-system0", 8192 },
	{ STR("drm-engine-drm-engine-x:\t5 ns"), FD_BUSY_NS, "drm-engine-x", 5 },
	{ STR("drm-engine-a\"\\,=%n{}:\t5 ns"), FD_BUSY_NS, "a\"\\,=%n{}", 5 },
	/* space around the value */
	{ STR("drm-engine-x:5 ns"), FD_BUSY_NS, "x", 5 },
	{ STR("drm-engine-x: \t 5 \t ns \t"), FD_BUSY_NS, "x", 5 },
	{ STR("drm-engine-x:\t5ns"), FD_BUSY_NS, "x", 5 },
	{ STR("drm-engine-x:\t5 ns\r"), FD_BUSY_NS, "x", 5 },
	{ STR("drm-engine-x:\t5"), FD_BUSY_NS, "x", 5 },
	{ STR("drm-engine-x:\t0 ns"), FD_BUSY_NS, "x", 0 },
	/* units of time: a unit of another dialect is ignored, not an error */
	{ STR("drm-engine-x:\t5 us"), FD_NONE, "x", 0 },
	{ STR("drm-engine-x:\t5 ms"), FD_NONE, "x", 0 },
	{ STR("drm-engine-x:\t5 s"), FD_NONE, "x", 0 },
	{ STR("drm-engine-x:\t5 parsecs"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t5 NS"), FD_BAD, "x", 0 },
	/* units of size */
	{ STR("drm-total-gtt:\t0"), FD_TOTAL, "gtt", 0 },
	{ STR("drm-total-gtt:\t4097"), FD_TOTAL, "gtt", 4097 },
	{ STR("drm-total-gtt:\t1 B"), FD_TOTAL, "gtt", 1 },
	{ STR("drm-shared-gtt:\t192 KiB"), FD_SHARED, "gtt", 196608 },
	{ STR("drm-resident-gtt:\t16 MiB"), FD_RESIDENT, "gtt", 16777216 },
	{ STR("drm-purgeable-gtt:\t12 GiB"), FD_PURGEABLE, "gtt", 12884901888 },
	{ STR("drm-active-gtt:\t1 kB"), FD_ACTIVE, "gtt", 1024 },
	{ STR("drm-memory-vram: 2068 KiB"), FD_MEMORY, "vram", 2117632 },
	{ STR("drm-memory-cpu: 0 KiB"), FD_MEMORY, "cpu", 0 },
	{ STR("drm-total-gtt:\t7 QiB"), FD_BAD, "gtt", 0 },
	{ STR("drm-total-gtt:\t7 kib"), FD_BAD, "gtt", 0 },
	{ STR("drm-total-gtt:\t7 KB"), FD_BAD, "gtt", 0 },
	/* units of frequency: by 1000 */
	{ STR("drm-maxfreq-x:\t5"), FD_MAXFREQ, "x", 5 },
	{ STR("drm-maxfreq-x:\t1200 KHz"), FD_MAXFREQ, "x", 1200000 },
	{ STR("drm-maxfreq-x:\t1200 MHz"), FD_MAXFREQ, "x", 1200000000 },
	{ STR("drm-maxfreq-x:\t5 GHz"), FD_BAD, "x", 0 },
	{ STR("drm-maxfreq-x:\t5 ns"), FD_BAD, "x", 0 },
	/* counts have no unit */
	{ STR("drm-cycles-x:\t5 ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-capacity-x:\t2 engines"), FD_BAD, "x", 0 },
	/* 64 bits */
	{ STR("drm-engine-x:\t18446744073709551615 ns"), FD_BUSY_NS, "x", UINT64_MAX },
	{ STR("drm-engine-x:\t18446744073709551616 ns"), FD_BAD, "x", 0 },
	{ STR("drm-cycles-x:\t18446744073709551615"), FD_CYCLES, "x", UINT64_MAX },
	{ STR("drm-cycles-x:\t184467440737095516150"), FD_BAD, "x", 0 },
	{ STR("drm-total-x:\t18014398509481983 KiB"), FD_TOTAL, "x", 18446744073709550592u },
	{ STR("drm-total-x:\t18014398509481984 KiB"), FD_TOTAL, "x", UINT64_MAX },
	{ STR("drm-total-x:\t17592186044415 MiB"), FD_TOTAL, "x", 18446744073708503040u },
	{ STR("drm-total-x:\t17592186044416 MiB"), FD_TOTAL, "x", UINT64_MAX },
	{ STR("drm-total-x:\t17179869184 GiB"), FD_TOTAL, "x", UINT64_MAX },
	{ STR("drm-maxfreq-x:\t18446744073709552 KHz"), FD_BAD, "x", 0 },
	{ STR("drm-resident-x:\t99999999999999999999999 KiB"), FD_BAD, "x", 0 },
	{ STR("drm-client-id:\t18446744073709551615"), FD_CLIENT, "drm-client-id", UINT64_MAX },
	/* driver, device and client */
	{ STR("drm-driver:\ti915"), FD_DRIVER, "drm-driver", 0 },
	{ STR("drm-driver:xe"), FD_DRIVER, "drm-driver", 0 },
	{ STR("drm-pdev:\t0000:00:02.0"), FD_PDEV, "drm-pdev", 0 },
	{ STR("drm-client-id:\t7"), FD_CLIENT, "drm-client-id", 7 },
	{ STR("drm-client-name:\ta:b\"c\\d"), FD_NAME, "drm-client-name", 0 },
	{ STR("pasid:\t32784"), FD_PASID, "pasid", 0 },
	{ STR("drm-driver:\t"), FD_BAD, "drm-driver", 0 },
	{ STR("drm-driver:"), FD_BAD, "drm-driver", 0 },
	{ STR("drm-pdev: \t "), FD_BAD, "drm-pdev", 0 },
	{ STR("drm-client-id:\t-1"), FD_BAD, "drm-client-id", 0 },
	{ STR("drm-client-id:\t7 ns"), FD_BAD, "drm-client-id", 0 },
	{ STR("drm-client-id:\t"), FD_BAD, "drm-client-id", 0 },
	/* malformed lines */
	{ STR("drm-engine-:\t5 ns"), FD_BAD, "", 0 },
	{ STR("drm-engine-capacity-:\t5"), FD_BAD, "", 0 },
	{ STR("drm-total-:\t5"), FD_BAD, "", 0 },
	{ STR("drm-engine-x:\t"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t12abc ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t-5 ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t+5 ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t0x5 ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t5.5 ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t1 2 ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t5 ns ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t5:5 ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t5\0 ns"), FD_BAD, "x", 0 },
	{ STR("drm-engine-x:\t\0"), FD_BAD, "x", 0 },
	{ STR("no colon here"), FD_BAD, "", 0 },
	{ STR("\0"), FD_BAD, "", 0 },
	/* a key is printable ASCII without spaces */
	{ STR("drm-engine-caf\xc3\xa9:\t5 ns"), FD_BAD, "", 0 },
	{ STR("drm-engine-\xff:\t5 ns"), FD_BAD, "", 0 },
	{ STR("drm-engine-\x1b:\t5 ns"), FD_BAD, "", 0 },
	{ STR("drm-engine-\x7f:\t5 ns"), FD_BAD, "", 0 },
	{ STR("drm-driver\0:\ty"), FD_BAD, "", 0 },
	{ STR("drm-eng\0ine-x:\t5 ns"), FD_BAD, "", 0 },
	{ STR("drm-engine-a b:\t5 ns"), FD_BAD, "drm-engine-a b", 0 },
	{ STR(" drm-engine-x:\t5 ns"), FD_BAD, " drm-engine-x", 0 },
	{ STR("drm-engine-x :\t5 ns"), FD_BAD, "drm-engine-x ", 0 },
	/* lines without data for gpustat */
	{ STR(""), FD_NONE, "", 0 }, { STR("\r"), FD_NONE, "", 0 }, { STR(" \t "), FD_NONE, "", 0 },
	{ STR(":\t5"), FD_NONE, "", 0 }, { STR(":"), FD_NONE, "", 0 },
	{ STR("pos:\t0"), FD_NONE, "pos", 0 }, { STR("flags:\t02400002"), FD_NONE, "flags", 0 },
	{ STR("mnt_id:\t24"), FD_NONE, "mnt_id", 0 }, { STR("ino:\t209"), FD_NONE, "ino", 0 },
	{ STR("lock:\t1: POSIX  ADVISORY  WRITE 1 00:01:2 0 EOF"), FD_NONE, "lock", 0 },
	{ STR("pos:"), FD_NONE, "pos", 0 },
	/* keys of drivers, and keys of future kernels */
	{ STR("v3d-jobs-bin:\t19576 jobs"), FD_OTHER, "v3d-jobs-bin", 0 },
	{ STR("amd-evicted-vram:\t0 KiB"), FD_OTHER, "amd-evicted-vram", 0 },
	{ STR("panthor-resident-memory:\t10396 KiB"), FD_OTHER, "panthor-resident-memory", 0 },
	{ STR("drm-future-key:\thello world"), FD_OTHER, "drm-future-key", 0 },
	{ STR("DRM-engine-x:\t1 ns"), FD_OTHER, "DRM-engine-x", 0 },
	{ STR("drm-driverx:\ty"), FD_OTHER, "drm-driverx", 0 },
	{ STR("drm-client-id2:\t5"), FD_OTHER, "drm-client-id2", 0 },
	{ STR("exp_name:\tdrm"), FD_OTHER, "exp_name", 0 },
}, old_lines[] = {
	{ STR("pdev:\t0000:03:00.0"), FD_PDEV, "pdev", 0 },
	{ STR("pasid:\t32771"), FD_PASID, "pasid", 0 },
	{ STR("vram mem:\t109756 kB"), FD_RESIDENT, "vram", 112390144 },
	{ STR("gtt mem:\t8192 kB"), FD_RESIDENT, "gtt", 8388608 },
	{ STR("cpu mem:\t0 kB"), FD_RESIDENT, "cpu", 0 },
	{ STR("vram mem:\tmuch"), FD_BAD, "vram", 0 },
	/* printed with "%d.%d": 23.5 is 23.05 */
	{ STR("gfx0:\t23.50%"), FD_BUSY_PCT, "gfx0", 23500 },
	{ STR("gfx0:\t23.5%"), FD_BUSY_PCT, "gfx0", 23050 },
	{ STR("gfx0:\t0.0%"), FD_BUSY_PCT, "gfx0", 0 },
	{ STR("compute0:\t100.0%"), FD_BUSY_PCT, "compute0", 100000 },
	{ STR("compute0:\t100.0 %"), FD_OTHER, "compute0", 0 },
	{ STR("dma0:\t1.100%"), FD_OTHER, "dma0", 0 },
	{ STR("dma0:\t1.%"), FD_OTHER, "dma0", 0 },
	{ STR("dma0:\t.5%"), FD_OTHER, "dma0", 0 },
	{ STR("dma0:\t5%"), FD_OTHER, "dma0", 0 },
	{ STR("dma0:\t18446744073709551615.5%"), FD_OTHER, "dma0", 0 },
	{ STR("new mem:\t5 kB"), FD_BAD, "new mem", 0 },
	{ STR("flags:\t02"), FD_NONE, "flags", 0 },
};

static void check_line(struct str line, bool old, u8 key, const char *name, u64 n)
{
	char b[256];
	size_t len = str_len(line);
	struct str text;
	struct fdline l = { .n = 1 };
	bool got, names, counted;

	memcpy(b, line.p, len);
	b[len] = '\n';
	text = edge_str(b, len + 1);
	got = fdinfo_next(&text, old, &l) && text.p == text.e;
	/* The name of a line that is not used is unspecified. */
	names = l.key == FD_NONE || l.key == FD_BAD || str_eq(l.name, str_z(name));
	counted = l.n == n || key < FD_CLIENT || (key > FD_CLIENT && key < FD_BUSY_NS) || key == FD_OTHER;
	if (!check(got && l.key == key && names && counted, "fdinfo%s: %s", old ? " before 5.19" : "", show(line)))
		note("got %s '%s' %" PRIu64 ", want %s '%s' %" PRIu64, fdnames[l.key], show(l.name), l.n,
		     fdnames[key], name, n);
}

/* Writes a whole dump as one line of words. */
static struct str decode(struct str text, char *b, size_t cap)
{
	struct fdhead h;
	struct fdline l;
	struct str all = text;
	bool is = fdinfo_head(text, &h);
	size_t n = 0;

#define OUT(...) (n += (size_t)snprintf(b + n, cap - n, __VA_ARGS__))
#define VIEW(s) (int)str_len(s), (s).p ? (s).p : ""
	if (!is) {
		OUT("none");
		return (struct str){ b, b + n };
	}
	OUT("%.*s", VIEW(h.driver));
	if (h.pdev.p)
		OUT(" pdev=%.*s", VIEW(h.pdev));
	if (h.has_client)
		OUT(" client=%" PRIu64, h.client);
	if (h.name.p)
		OUT(" name=%.*s", VIEW(h.name));
	if (h.has_pasid)
		OUT(" pasid=%" PRIu64, h.pasid);
	if (h.old)
		OUT(" old");
	while (fdinfo_next(&all, h.old, &l)) {
		if (l.key == FD_BAD)
			OUT(" bad");
		else if (l.key == FD_OTHER)
			OUT(" %.*s='%.*s'", VIEW(l.name), VIEW(l.text));
		else if (l.key >= FD_BUSY_NS)
			OUT(" %.*s.%s=%" PRIu64, VIEW(l.name), fdnames[l.key], l.n);
	}
	return (struct str){ b, b + n };
}

#define HEAD "pos:\t0\nflags:\t02100002\nmnt_id:\t26\nino:\t500\n"

static const struct {
	const char *name;
	struct str text;
	const char *want;
} dumps[] = {
	{ "i915: one line per engine, followed by its capacity",
	  STR(HEAD "drm-driver:\ti915\ndrm-client-id:\t12\ndrm-pdev:\t0000:00:02.0\n"
	      "drm-total-system0:\t5 MiB\ndrm-shared-system0:\t4 KiB\ndrm-active-system0:\t0\n"
	      "drm-resident-system0:\t5 MiB\ndrm-purgeable-system0:\t1 MiB\n"
	      "drm-engine-render:\t25662044495 ns\ndrm-engine-copy:\t0 ns\ndrm-engine-video:\t7 ns\n"
	      "drm-engine-capacity-video:\t2\ndrm-engine-video-enhance:\t1 ns\n"),
	  "i915 pdev=0000:00:02.0 client=12 system0.total=5242880 system0.shared=4096 system0.active=0 "
	  "system0.resident=5242880 system0.purgeable=1048576 render.ns=25662044495 copy.ns=0 video.ns=7 "
	  "video.capacity=2 video-enhance.ns=1" },
	{ "xe: cycles, but no time",
	  STR(HEAD "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t0000:03:00.0\ndrm-total-vram0:\t23 MiB\n"
	      "drm-cycles-vcs:\t9\ndrm-total-cycles-vcs:\t7655183225\ndrm-engine-capacity-vcs:\t2\n"),
	  "xe pdev=0000:03:00.0 client=3 vram0.total=24117248 vcs.cycles=9 vcs.total_cycles=7655183225 "
	  "vcs.capacity=2" },
	{ "msm: time and cycles, no pdev",
	  STR(HEAD "drm-driver:\tmsm\ndrm-client-id:\t7\ndrm-engine-gpu:\t1734371319 ns\n"
	      "drm-cycles-gpu:\t1153645024\ndrm-maxfreq-gpu:\t800000000 Hz\ndrm-resident-memory:\t12 KiB\n"),
	  "msm client=7 gpu.ns=1734371319 gpu.cycles=1153645024 gpu.maxfreq=800000000 memory.resident=12288" },
	{ "panthor: its own keys between the standard keys",
	  STR(HEAD "drm-driver:\tpanthor\ndrm-client-id:\t10\ndrm-engine-panthor:\t5 ns\n"
	      "drm-curfreq-panthor:\t1000 MHz\npanthor-active-memory:\t10 KiB\ndrm-shared-memory:\t0\n"),
	  "panthor client=10 panthor.ns=5 panthor.curfreq=1000000000 panthor-active-memory='10 KiB' memory.shared=0" },
	{ "v3d: a space before the tab, jobs",
	  STR(HEAD "drm-driver: \tv3d\ndrm-client-id: \t44\ndrm-engine-bin: \t5 ns\nv3d-jobs-bin: \t1 jobs\n"),
	  "v3d client=44 bin.ns=5 v3d-jobs-bin='1 jobs'" },
	{ "amdgpu: resident and memory are one number, pasid is first",
	  STR(HEAD "pasid:\t32785\ndrm-driver:\tamdgpu\ndrm-pdev:\t0000:04:00.0\ndrm-client-id:\t30\n"
	      "drm-client-name:\tfire: fox\ndrm-resident-vram:\t8 KiB\ndrm-memory-vram:\t8 KiB\n"
	      "amd-evicted-vram:\t0 KiB\ndrm-engine-gfx:\t19 ns\ndrm-engine-enc_1:\t2 ns\n"),
	  "amdgpu pdev=0000:04:00.0 client=30 name=fire: fox pasid=32785 vram.resident=8192 vram.memory=8192 "
	  "amd-evicted-vram='0 KiB' gfx.ns=19 enc_1.ns=2" },
	{ "amdgpu before 5.19",
	  STR("pos:\t0\nflags:\t02\nmnt_id:\t2\npdev:\t0000:03:00.0\npasid:\t32771\nvram mem:\t8 kB\n"
	      "gtt mem:\t4 kB\ncpu mem:\t0 kB\ngfx0:\t23.5%\ndma0:\t0.0%\n"),
	  "amdgpu pdev=0000:03:00.0 pasid=32771 old vram.resident=8192 gtt.resident=4096 cpu.resident=0 "
	  "gfx0.percent=23050 dma0.percent=0" },
	{ "amdgpu before 5.19: an empty pdev", STR("pos:\t0\npdev:\npasid:\t1\nvram mem:\t8 kB\n"),
	  "amdgpu pdev= pasid=1 old bad vram.resident=8192" },
	{
	  "looks like amdgpu before 5.19, but has no "
	  "pasid", STR("pdev:\tx\nvram mem:\t8 kB\n"), "none" },
	{
	  "amdgpu before 5.19: truncated in the line that identifies "
	  "it", STR("pos:\t0\npdev:\tx\npasid:\t1\nvram mem:\t8 k"), "none" },
	{
	  "looks like amdgpu before 5.19, but has no "
	  "memory", STR("pdev:\tx\npasid:\t1\n"), "none" },
	{ "two client ids: the last one is used (pvrsrvkm)",
	  STR("drm-driver:\tpvrsrvkm\ndrm-client-id:\t5\ndrm-client-id:\t6\n"), "pvrsrvkm client=6" },
	{ "a malformed second id leaves the first one",
	  STR("drm-driver:\tx\ndrm-client-id:\t5\ndrm-client-id:\tsix\n"), "x client=5 bad" },
	{ "any order: capacity before its engine, driver in the last line",
	  STR("drm-engine-capacity-x:\t2\ndrm-engine-x:\t1 ns\ndrm-client-id:\t1\ndrm-driver:\td\n"),
	  "d client=1 x.capacity=2 x.ns=1" },
	{ "CRLF",
	  STR("drm-driver:\ti915\r\ndrm-client-id:\t5\r\n\r\ndrm-engine-x:\t5 ns\r\ndrm-total-m:\t5 KiB\r\n"),
	  "i915 client=5 x.ns=5 m.total=5120" },
	{ "a truncated last line is not used",
	  STR("drm-driver:\ti915\ndrm-client-id:\t1\ndrm-engine-x:\t12"), "i915 client=1" },
	{ "a truncated driver name", STR("drm-driver:\ti9"), "none" },
	{ "a bad line does not affect the other lines",
	  STR("drm-driver:\td\ndrm-engine-a:\t1 ns\nrubbish\n\0\0\n\xff\xfe:\xfd\ndrm-engine-b:\tx\n"
	      "drm-engine-c:\t3 ns\n"),
	  "d a.ns=1 bad bad bad bad c.ns=3" },
	{
	  "a file read in NMI-safe context: only a client "
	  "id", STR("drm-driver:\td\ndrm-client-id:\t0\n"), "d client=0" },
	{ "nouveau: without keys", STR(HEAD), "none" },
	{ "a dma-buf", STR(HEAD "size:\t4096\ncount:\t2\nexp_name:\tdrm\n"), "none" },
	{ "a timer", STR(HEAD "clockid: 1\nticks: 0\nsettime flags: 00\nit_value: (0, 0)\n"), "none" },
	{ "after an unplug: a pasid that is not a number",
	  STR("drm-driver:\tamdgpu\npasid:\tnone\n"), "amdgpu" },
	{ "nothing", STR(""), "none" },
	{ "newlines only", STR("\n\n\n"), "none" },
};

static bool feed_fdinfo(struct str s)
{
	struct fdhead h;
	struct fdline l;
	bool ok = true, is = fdinfo_head(s, &h);
	size_t newlines = 0;

	for (const char *p = s.p; p < s.e; p++)
		newlines += *p == '\n';
	for (int old = 0; old < 2; old++) {
		struct str text = s;
		size_t n = 0;

		for (; fdinfo_next(&text, old, &l); n++)
			ok &= within(l.name, s) && within(l.text, s) && within(text, s) && l.key <= FD_OTHER &&
			      (old || l.key != FD_BUSY_PCT) && !(l.key == FD_CAPACITY && l.n == 0) &&
			      !(l.key >= FD_BUSY_NS && l.key <= FD_ACTIVE && l.name.p == l.name.e);
		ok &= n == newlines;
	}
	if (is)
		ok &= (h.old || within(h.driver, s)) && h.driver.p < h.driver.e && within(h.pdev, s) &&
		      within(h.name, s) && (!h.old || h.has_pasid);
	return ok;
}

/* Lines made at random, so that their values are known. Each is after another line and ends at a
 * page that faults. */
static void t_fdmade(void)
{
	enum { TIMES = 1, SIZES = 2, FREQS = 4, LATER = 8 /* a unit that is ignored,
	       which is not an error */ };
	static const struct {
		const char *key;
		u8 field, units;
	} keys[] = {
		{ "drm-engine-", FD_BUSY_NS, TIMES }, { "drm-engine-capacity-", FD_CAPACITY, 0 },
		{ "drm-cycles-", FD_CYCLES, 0 }, { "drm-total-cycles-", FD_TOTAL_CYCLES, 0 },
		{ "drm-maxfreq-", FD_MAXFREQ, FREQS }, { "drm-curfreq-", FD_CURFREQ, FREQS },
		{ "drm-total-", FD_TOTAL, SIZES }, { "drm-shared-", FD_SHARED, SIZES }, { "drm-resident-", FD_RESIDENT, SIZES },
		{ "drm-memory-", FD_MEMORY, SIZES }, { "drm-purgeable-", FD_PURGEABLE, SIZES }, { "drm-active-", FD_ACTIVE, SIZES },
	};
	static const struct {
		const char *unit;
		u8 of;
		u64 times;
	} units_[] = {
		{ "", 255, 1 }, { " ns", TIMES, 1 }, { " us", TIMES | LATER, 1 }, { " s", TIMES | LATER, 1 }, { " KiB", SIZES, 1 << 10 },
		{ " MiB", SIZES, 1 << 20 }, { " GiB", SIZES, 1 << 30 }, { " kB", SIZES, 1 << 10 }, { "B", SIZES, 1 }, { " Hz", FREQS, 1 },
		{ " MHz", FREQS, 1000000 }, { " KHz", FREQS, 1000 }, { " TiB", 0, 1 }, { " iiB", 0, 1 }, { " nss", 0, 1 }, { " .", 0, 1 },
	};
	static const char *const blanks[] = { "\t", "\t", "", " ", " \t ", "\v" };
	size_t bad = 0;

	for (u32 turn = 0; turn < 200000; turn++) {
		size_t k = rnd_of(LEN(keys)), u = rnd_of(LEN(units_)), n = 0, len = 1 + rnd_of(20), digits = 1 + rnd_of(turn % 4 ? 6 : 22);
		char b[128], name[24];
		u64 v;
		bool over; /* the product with the unit exceeds 64 bits: that is valid for sizes */
		u8 want = keys[k].field;
		struct str text;
		struct fdline l;

		for (size_t i = 0; i < len; i++)
			do
				name[i] = (char)('!' + rnd() % 94);
			while (name[i] == ':');
		n = (size_t)snprintf(b, sizeof(b), "pos:\t0\n%s%.*s:%s", keys[k].key, (int)len, name, blanks[rnd() % LEN(blanks)]);
		for (size_t i = 0; i <= digits; i++)
			b[n + i] = (char)(i < digits ? '0' + rnd() % 10 : '\0');
		errno = 0;
		v = strtoull(b + n, NULL, 10);
		n += digits;
		n += (size_t)snprintf(b + n, sizeof(b) - n, "%s%s\n", units_[u].unit, rnd() % 8 ? "" : " ");
		over = v > UINT64_MAX / units_[u].times;
		if (errno || (over && keys[k].units != SIZES) || (units_[u].of != 255 && !(units_[u].of & keys[k].units)))
			want = FD_BAD;
		else if (units_[u].of & LATER && units_[u].of != 255)
			want = FD_NONE;
		v = want == FD_CAPACITY && v == 0 ? 1 : over ? UINT64_MAX : v * units_[u].times;
		text = edge_str(b, n);
		fdinfo_next(&text, false, &l);
		if (!fdinfo_next(&text, false, &l) || text.p != text.e || l.key != want ||
		    (want != FD_BAD && want != FD_NONE && (l.n != v || !str_eq(l.name, (struct str){ name, name + len }))))
			if (bad++ == 0)
				note("%s: got %s %" PRIu64, show((struct str){ b, b + n }), fdnames[l.key], l.n);
	}
	check_u64(bad, 0, "fdinfo: 200 000 random lines are parsed as they were made");
}

static void t_fdinfo(void)
{
	struct fdhead h;

	for (size_t i = 0; i < LEN(lines); i++)
		check_line(lines[i].line, false, lines[i].key, lines[i].name, lines[i].n);
	for (size_t i = 0; i < LEN(old_lines); i++)
		check_line(old_lines[i].line, true, old_lines[i].key, old_lines[i].name, old_lines[i].n);
	for (size_t i = 0; i < LEN(dumps); i++) {
		char b[2048];
		struct str in = edge_str(dumps[i].text.p, str_len(dumps[i].text));

		check_str(decode(in, b, sizeof(b)), dumps[i].want, "fdinfo: %s", dumps[i].name);
		check(replay(dumps[i].text, feed_fdinfo),
		      "fdinfo: %s: every truncation and change", dumps[i].name);
	}
	check(!fdinfo_head(S(HEAD), &h) && !h.driver.p && !h.has_client,
	      "fdinfo: a file that is not a DRM file names no driver");
}

/* --- /proc/PID -------------------------------------------------------------------------------- */

#define STAT_TAIL " S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 "

static bool feed_stat(struct str s)
{
	u64 v;

	parse_stat_start(s, &v);
	parse_stat_field(s, 4, &v);
	return true;
}

static void t_stat(void)
{
	static const struct {
		struct str s;
		bool is;
		u64 v;
	} rows[] = {
		{ STR("1234 (Xorg)" STAT_TAIL "8675309 1 2 3\n"), true, 8675309 },
		{ STR("1234 (Xorg)" STAT_TAIL "8675309"), true, 8675309 },
		{ STR("1 (a) b) (c)" STAT_TAIL "42 0\n"), true, 42 },
		{ STR("1 ())" STAT_TAIL "42 0\n"), true, 42 },
		{ STR("1 ()" STAT_TAIL "42 0\n"), true, 42 },
		{ STR("1 (a\nb\0c)" STAT_TAIL "42 0\n"), true, 42 },
		{ STR("1 (x 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3)" STAT_TAIL "42 0\n"), true, 42 },
		{ STR("1 (x)" STAT_TAIL "18446744073709551615 0\n"), true, UINT64_MAX },
		{ STR("1 (x)" STAT_TAIL "18446744073709551616 0\n"), false, 0 },
		{ STR("1 (x)" STAT_TAIL "-1 0\n"), false, 0 },
		{ STR("1 (x)" STAT_TAIL "4x2 0\n"), false, 0 },
		{ STR("1 (x)" STAT_TAIL), false, 0 },
		{ STR("1 (x) S 1 2"), false, 0 },
		{ STR("no comm 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23"), false, 0 },
		{ STR(")"), false, 0 }, { STR(""), false, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 v = 0;
		bool is = parse_stat_start(edge_str(rows[i].s.p, str_len(rows[i].s)), &v);

		check(is == rows[i].is && (!is || v == rows[i].v), "stat: %s", show(rows[i].s));
		check(replay(rows[i].s, feed_stat),
		      "stat: every truncation and change of row %zu", i);
	}
	for (int field = 2; field < 26; field++) {
		u64 v = 0;
		bool is = parse_stat_field(S("1 (a 9) 8)" STAT_TAIL "19 20 21\n"), field, &v);

		check(is == (field > 3 && field < 25) && (!is || v == (u64)field - 3), "stat: field %d", field);
	}
}

#define ID64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define ID64B "fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210"

static bool feed_cgroup(struct str s)
{
	struct str path = { 0 };
	struct container c;

	if (!parse_cgroup(s, &path))
		return true;
	c = parse_container(path);
	return within(path, s) && path.p < path.e && within(c.id, path) && within(c.pod, path) &&
	       (!c.id.p || c.id.p < c.id.e) && (!c.pod.p || c.pod.p < c.pod.e) &&
	       !memchr(path.p, '\n', str_len(path));
}

static void t_cgroup(void)
{
	static const struct {
		const char *s, *path; /* NULL: no path */
	} rows[] = {
		{ "0::/user.slice/user-1000.slice/session-2.scope\n", "/user.slice/user-1000.slice/session-2.scope" },
		{ "0::/\n", "/" },
		/* hybrid: systemd has its own hierarchy, and v2 contains only itself */
		{ "2:memory:/user.slice\n1:name=systemd:/user.slice/x.scope\n0::/user.slice/y.scope\n",
		  "/user.slice/y.scope" },
		{ "2:memory:/docker/abc\n1:name=systemd:/user.slice/x.scope\n0::/\n", "/user.slice/x.scope" },
		/* v1 */
		{ "3:cpu,cpuacct:/a\n2:memory:/b\n1:name=systemd:/c\n", "/c" },
		{ "3:cpu,cpuacct:/a\n2:memory:/b\n1:name=systemd:/\n", "/b" },
		{ "4:cpuset:/z\n3:cpu,cpuacct:/a\n2:memory:/\n1:name=systemd:/\n", "/z" },
		{ "3:cpu,cpuacct:/\n2:memory:/\n1:name=systemd:/\n", "/" },
		/* a container's path has priority over all others */
		{ "2:memory:/docker/" ID64 "\n1:name=systemd:/user.slice/x.scope\n0::/user.slice/y.scope\n", "/docker/" ID64 },
		{ "3:pids:/docker/" ID64 "\n2:memory:/docker/" ID64B "\n1:name=systemd:/x\n0::/\n", "/docker/" ID64B },
		{ "12:memory:/x:y:z\n", "/x:y:z" },
		{ "0::/a b\n", "/a b" }, { "0::/../outside\n", "/../outside" }, { "0::/x (deleted)\n", "/x (deleted)" },
		{ "0::/whole\n0::/cut", "/whole" }, { "0::/cut", NULL },
		{ "\n\nrubbish\n0:\n0::\n0::/a\n", "/a" }, { "", NULL }, { "0\n", NULL }, { "0:x\n", NULL },
	};
	static const struct {
		const char *path, *id, *kind, *pod; /* "": none */
	} ids[] = {
		{ "/docker/" ID64, ID64, "docker", "" },
		{ "/system.slice/docker-" ID64 ".scope", ID64, "docker", "" },
		{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod1cd3ee03_8d1f_4a2c_9a47_1f0b5c5d9e10.slice/cri-containerd-" ID64 ".scope", ID64, "containerd", "1cd3ee03_8d1f_4a2c_9a47_1f0b5c5d9e10" },
		{ "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod1_2.slice/crio-" ID64 ".scope", ID64, "crio", "1_2" },
		{ "/kubepods/besteffort/pod1cd3ee03-8d1f-4a2c-9a47-1f0b5c5d9e10/" ID64, ID64, "", "1cd3ee03-8d1f-4a2c-9a47-1f0b5c5d9e10" },
		{ "/kubepods/podab/crio-" ID64, ID64, "crio", "ab" },
		{ "/kubepods.slice/kubepods-besteffort.slice", "", "", "" },
		{ "/podman/podab", "", "", "" },
		{ "/machine.slice/libpod-" ID64 ".scope/container", ID64, "podman", "" },
		{ "/machine.slice/libpod-conmon-" ID64 ".scope", "", "", "" },
		{ "/machine.slice/crio-conmon-" ID64 ".scope", "", "", "" },
		{ "/kubepods.slice/crio-" ID64 ".scope", ID64, "crio", "" },
		{ "/default/nerdctl-" ID64 ".scope", ID64, "containerd", "" },
		{ "/docker/" ID64 "/docker/" ID64B, ID64B, "docker", "" },
		{ "/lxc.payload.web/system.slice/x.service", "web", "lxc", "" },
		{ "/lxc.payload.web/docker/" ID64, ID64, "docker", "" },
		{ "/lxc/web", "web", "lxc", "" },
		{ "/lxc/web/init.scope", "web", "lxc", "" },
		{ "/lxc/", "", "", "" },
		{ "/lxc.monitor.web", "", "", "" },
		{ "/lxc.payload.", "", "", "" },
		{ "/xlxc/web", "", "", "" },
		{ "/machine.slice/machine-web.scope/payload/system.slice/nginx.service", "web", "nspawn", "" },
		{ "/machine.slice/systemd-nspawn@web.service/payload", "web", "nspawn", "" },
		{ "/machine.slice/machine-qemu\\x2d7\\x2dwin\\x2d11.scope/libvirt/emulator", "win\\x2d11", "vm", "" },
		{ "/machine.slice/machine-lxc\\x2d7\\x2dweb.scope", "web", "lxc", "" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/app-flatpak-org.mozilla.firefox-12345.scope", "org.mozilla.firefox", "flatpak", "" },
		{ "/app-flatpak-x.scope", "", "", "" },
		{ "/user.slice/user-1000.slice/user@1000.service/app.slice/snap.firefox.firefox-0f.scope", "firefox", "snap", "" },
		{ "/system.slice/snap.lxd.daemon.service", "lxd", "snap", "" },
		{ "/ecs/0123/0123456789abcdef0123456789abcdef-1234567890", "0123456789abcdef0123456789abcdef-1234567890", "ecs", "" },
		{ "/ecs/cluster/0123/" ID64, ID64, "ecs", "" },
		{ "/ecs/x", "", "", "" },
		{ "/garden/abc-def", "abc-def", "garden", "" },
		{ "/system.slice/ollama.service", "", "service", "" },
		{ "/system.slice/docker.service/docker/" ID64, ID64, "docker", "" },
		{ "/user.slice/user-1000.slice/user@1000.service", "", "", "" },
		{ "/docker/" ID64 "0", "", "", "" },
		{ "/docker/0123", "", "", "" },
		{ "/docker/0123456789ABCDEF0123456789abcdef0123456789abcdef0123456789abcdef", "", "", "" },
		{ "/x/g" ID64, ID64, "", "" },
		{ "/user.slice/user-1000.slice/session-2.scope", "", "", "" },
		{ "/", "", "", "" },
		{ "", "", "", "" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str path = { 0 }, in = edge_str(rows[i].s, strlen(rows[i].s));
		bool is = parse_cgroup(in, &path);

		if (check(is == !!rows[i].path, "cgroup: %s", show(str_z(rows[i].s))) && is)
			check_str(path, rows[i].path, "cgroup: the path of row %zu is right", i);
		check(replay(str_z(rows[i].s), feed_cgroup),
		      "cgroup: every truncation and change of row %zu", i);
	}
	for (size_t i = 0; i < LEN(ids); i++) {
		char b[512];
		struct container c = parse_container(edge_str(ids[i].path, strlen(ids[i].path)));

		check_str(c.id, ids[i].id, "container: %s", ids[i].path);
		check_str(c.kind, ids[i].kind, "container: the kind of %s", ids[i].path);
		check_str(c.pod, ids[i].pod, "container: the pod of %s", ids[i].path);
		snprintf(b, sizeof(b), "0::%s\n", ids[i].path);
		check(replay(str_z(b), feed_cgroup),
		      "container: every truncation and change of row %zu", i);
	}
}

/* --- sysfs ------------------------------------------------------------------------------------ */

static bool feed_sysfs(struct str s)
{
	struct str t = s, v = { 0 };
	unsigned a, b;
	u64 x, y;
	bool ok = true;
	size_t n = 0;

	ok &= !parse_uevent(s, S("PCI_ID"), &v) || within(v, s);
	parse_devno(s, &a, &b);
	ok &= !parse_dpm(s, &x, &y) || x <= y;
	for (; parse_v3d(&t, &v, &x); n++)
		ok &= within(v, s) && within(t, s) && v.p < v.e;
	ok &= n <= str_len(s);
	ok &= !parse_trans(s, &x, &y) || y > 0;
	t = s;
	for (n = 0; parse_rknpu(&t, &v, &x); n++)
		ok &= within(v, s) && within(t, s) && v.p < v.e && x % 1000 == 0;
	return ok && n <= str_len(s);
}

static void t_uevent(void)
{
	static const char text[] = "DRIVER=i915\nPCI_CLASS=30000\nPCI_ID=8086:9A49\nEMPTY=\nA=b=c\nPCI_ID=second\nCUT=x";
	static const struct {
		const char *key, *value;
	} rows[] = {
		{ "DRIVER", "i915" }, { "PCI_ID", "8086:9A49" }, { "EMPTY", "" }, { "A", "b=c" }, { "PCI", NULL },
		{ "RIVER", NULL }, { "CUT", NULL }, { "NONE", NULL }, { "8086", NULL }, { "DRIVER=i915", NULL },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str v = { 0 };
		bool is = parse_uevent(edge_str(text, sizeof(text) - 1), str_z(rows[i].key), &v);

		if (check(is == !!rows[i].value, "uevent: %s", rows[i].key) && is)
			check_str(v, rows[i].value, "uevent: the value is right");
	}
	check(replay(str_z(text), feed_sysfs), "uevent: every truncation and change");
}

static void t_devno(void)
{
	static const struct {
		struct str s;
		bool is;
		unsigned maj, min;
	} rows[] = {
		{ STR("226:128"), true, 226, 128 }, { STR("226:0\n"), true, 226, 0 }, { STR("261:63\n"), true, 261, 63 },
		{ STR("4294967295:4294967295"), true, UINT32_MAX, UINT32_MAX }, { STR("4294967296:0"), false, 0, 0 },
		{ STR("0:4294967296"), false, 0, 0 }, { STR("226"), false, 0, 0 }, { STR("226:"), false, 0, 0 },
		{ STR(":128"), false, 0, 0 }, { STR(""), false, 0, 0 }, { STR("226:128x"), false, 0, 0 },
		{ STR("226:12a\n"), false, 0, 0 }, { STR("226:128:0"), false, 0, 0 }, { STR("-1:0"), false, 0, 0 },
		{ STR("226 :0"), false, 0, 0 }, { STR("18446744073709551616:0"), false, 0, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		unsigned a = 0, b = 0;
		bool is = parse_devno(edge_str(rows[i].s.p, str_len(rows[i].s)), &a, &b);

		check(is == rows[i].is && (!is || (a == rows[i].maj && b == rows[i].min)), "devno: '%s'",
		      show(rows[i].s));
		check(replay(rows[i].s, feed_sysfs),
		      "devno: every truncation and change of row %zu", i);
	}
}

static void t_dpm(void)
{
	static const struct {
		const char *s;
		bool is;
		u64 cur, max; /* MHz */
	} rows[] = {
		{ "0: 500Mhz \n1: 800Mhz *\n2: 2100Mhz \n", true, 800, 2100 },
		{ "0: 500Mhz *\n", true, 500, 500 },
		{ "S: 19Mhz *\n0: 500Mhz \n1: 2575Mhz \n", true, 19, 2575 },
		{ "0: 2100Mhz \n1: 500Mhz *\n", true, 500, 2100 },
		{ "0: 500Mhz \n1: 2100Mhz \n", false, 0, 2100 },
		{ "0: 2100Mhz \n1: 500Mhz \n", false, 0, 2100 },
		{ "0: 0Mhz *\n", true, 0, 0 },
		{ "0: 2.5GT/s, x8 310Mhz \n1: 16.0GT/s, x16 619Mhz *\n", false, 0, 0 },
		{ "0: 500Mhz \n1: 800Mhz *", false, 0, 500 },
		{ "0: Mhz *\n", false, 0, 0 }, { "500Mhz *\n", false, 0, 0 }, { ":\n*\n", false, 0, 0 }, { "", false, 0, 0 },
		{ "0: 18446744073709551615Mhz *\n1: 5Mhz *\n", true, 5, 5 },
		{ "0: 99999999999999999999Mhz *\n", false, 0, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 cur = 0, max = 1;
		bool is = parse_dpm(edge_str(rows[i].s, strlen(rows[i].s)), &cur, &max);

		check(is == rows[i].is && cur == rows[i].cur * 1000000 && max == rows[i].max * 1000000,
		      "dpm: %s", show(str_z(rows[i].s)));
		check(replay(str_z(rows[i].s), feed_sysfs),
		      "dpm: every truncation and change of row %zu", i);
	}
}

static void t_v3d(void)
{
	static const char text[] = "queue\ttimestamp\tjobs\truntime\nbin\t239043069420\t22620\t17438164056\n"
				   "render\t239043069420\t22619\t27284814161\nbad\tx\t1\t2\nshort\t1\t2\n"
				   "over\t18446744073709551616\t1\t2\ncpu\t7\tjobs\t0\tmore\ncut\t1\t2\t3";
	struct str t = edge_str(text, sizeof(text) - 1), q;
	u64 run;

	check(parse_v3d(&t, &q, &run) && str_eq(q, S("bin")) && run == 17438164056,
	      "v3d: the first queue after the title is read");
	check(parse_v3d(&t, &q, &run) && str_eq(q, S("render")) && run == 27284814161,
	      "v3d: the second queue is read");
	check(parse_v3d(&t, &q, &run) && str_eq(q, S("cpu")) && run == 0,
	      "v3d: malformed rows are skipped, additional columns ignored");
	check(!parse_v3d(&t, &q, &run), "v3d: a row without a newline is truncated, and not used");
	check(replay(str_z(text), feed_sysfs), "v3d: every truncation and change");
}

static void t_trans(void)
{
	static const char text[] =
		"     From  :   To\n"
		"           : 200000000 400000000 800000000   time(ms)\n"
		"  200000000:         0         5         1    123456\n"
		"* 400000000:         4         0         2       200\n"
		"  800000000:         2         1         0        44\n"
		"Total transition : 15\n";
	static const struct {
		const char *s;
		bool is;
		u64 khz_ms, ms;
	} rows[] = {
		{ text, true, 200000ull * 123456 + 400000ull * 200 + 800000ull * 44, 123456 + 200 + 44 },
		{ "*200000000: 0 5\n", true, 1000000, 5 },
		{ "  200000000: 0 x\n  100000000: 7\n", true, 700000, 7 },
		{ "  200000000: 0\n", false, 0, 0 },
		{ "  200000000:\n", false, 0, 0 },
		{ "  200000000: 5", false, 0, 0 },
		{ "Transition table is too large\n", false, 0, 0 }, { "", false, 0, 0 },
		{ "Not Supported.\n", false, 0, 0 },
		{ "  999: 5\n", true, 0, 5 },
		{ "  18446744073709551615: 18446744073709551615\n  1000: 5\n", true, 5, 5 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 a = 0, b = 0;
		bool is = parse_trans(edge_str(rows[i].s, strlen(rows[i].s)), &a, &b);

		if (!check(is == rows[i].is && (!is || (a == rows[i].khz_ms && b == rows[i].ms)), "trans_stat: %s",
			   show(str_z(rows[i].s))))
			note("got %d %" PRIu64 " %" PRIu64, is, a, b);
		check(replay(str_z(rows[i].s), feed_sysfs),
		      "trans_stat: every truncation and change of row %zu", i);
	}
	{
		/* Each of the two states fits, but not their sum: no sum is better than a wrong
		 * one. */
		const char *s = "  18446744073709551000: 900\n  18446744073709551000: 900\n";
		u64 a = 0, b = 0;
		bool is = parse_trans(str_z(s), &a, &b);

		check(!is || a >= 18446744073709551ull * 900,
		      "trans_stat: a sum that exceeds 64 bits does not wrap");
	}
}

static void t_rknpu(void)
{
	static const char text[] = "NPU load:  Core0: 12%, Core1:  0%, Core2: 100%,\n";
	struct str t = edge_str(text, sizeof(text) - 1), core;
	u64 load;

	check(parse_rknpu(&t, &core, &load) && str_eq(core, S("Core0")) && load == 12000,
	      "rknpu: the first core is read");
	check(parse_rknpu(&t, &core, &load) && str_eq(core, S("Core1")) && load == 0,
	      "rknpu: the second core is read");
	check(parse_rknpu(&t, &core, &load) && str_eq(core, S("Core2")) && load == 100000,
	      "rknpu: the third core is read");
	check(!parse_rknpu(&t, &core, &load), "rknpu: there are no more cores");
	t = S("NPU load:  37%\n");
	check(parse_rknpu(&t, &core, &load) && core.p < core.e && load == 37000 && !parse_rknpu(&t, &core, &load),
	      "rknpu: a single core without a name is read");
	t = S("Core0: 12, Core1: x%, Core3: 99999999999999999999%, Core4: 7%");
	check(parse_rknpu(&t, &core, &load) && str_eq(core, S("Core4")) && load == 7000,
	      "rknpu: a value that is not a percentage is skipped");
	check(replay(str_z(text), feed_sysfs), "rknpu: every truncation and change");
}

/* --- time zones ------------------------------------------------------------------------------- */

struct tz {
	char b[512];
	size_t n;
};

static void tz_put(struct tz *z, u64 v, size_t n)
{
	while (n-- > 0)
		z->b[z->n++] = (char)(v >> 8 * n);
}

static void tz_block(struct tz *z, char version, size_t size, const i64 *times, const u8 *types, size_t n,
		     const i32 *offsets, size_t noffsets)
{
	memcpy(z->b + z->n, "TZif", 4);
	z->b[z->n + 4] = version;
	memset(z->b + z->n + 5, 0, 15);
	z->n += 20;
	tz_put(z, 0, 4);
	tz_put(z, 0, 4);
	tz_put(z, 1, 4); /* leap seconds */
	tz_put(z, n, 4);
	tz_put(z, noffsets, 4);
	tz_put(z, 4, 4); /* characters */
	for (size_t i = 0; i < n; i++)
		tz_put(z, (u64)times[i], size);
	for (size_t i = 0; i < n; i++)
		tz_put(z, types[i], 1);
	for (size_t i = 0; i < noffsets; i++) {
		tz_put(z, (u64)(u32)offsets[i], 4);
		tz_put(z, 0, 2);
	}
	tz_put(z, 0x41424300, 4);
	tz_put(z, 78796800, size);
	tz_put(z, 1, 4);
}

/* Offset from UTC in seconds; 0 if the file is not a zone file. */
static i32 tzif(struct str f, i64 now)
{
	i32 east = 0;

	return parse_tzif(f, now, &east) ? east : 0;
}

static bool feed_tz(struct str s)
{
	static const i64 when[] = { 0, 1700000000, INT64_MAX, INT64_MIN, -1 };

	for (size_t i = 0; i < LEN(when); i++)
		tzif(s, when[i]);
	return true;
}

static void t_tzif(void)
{
	static const i64 times[] = { 1000000000, 1500000000, 5000000000 };
	static const u8 types[] = { 1, 0, 2 };
	static const i32 offsets[] = { 3600, 7200, -12600 };
	struct tz v1 = { .n = 0 }, v2 = { .n = 0 };

	tz_block(&v1, '\0', 4, times, types, 2, offsets, 3);
	tz_block(&v2, '2', 4, NULL, NULL, 0, (i32[]){ 0 }, 1);
	tz_block(&v2, '2', 8, times, types, 3, offsets, 3);
	for (int i = 0; i < 2; i++) {
		struct tz *z = i ? &v2 : &v1;
		struct str f = edge_str(z->b, z->n);

		check_u64((u64)tzif(f, 0), 3600, "tzif %d: before the first transition", i + 1);
		check_u64((u64)tzif(f, 999999999), 3600,
		          "tzif %d: one second before the first transition", i + 1);
		check_u64((u64)tzif(f, 1000000000), 7200,
		          "tzif %d: at the first transition", i + 1);
		check_u64((u64)tzif(f, 1499999999), 7200,
		          "tzif %d: before the second transition", i + 1);
		check_u64((u64)tzif(f, 1500000000), 3600,
		          "tzif %d: at the second transition", i + 1);
	}
	check_u64((u64)tzif(edge_str(v2.b, v2.n), 5000000000), (u64)-12600,
		  "tzif 2: a time that exceeds 32 bits, west of Greenwich");
	check(tzif(S(""), 0) == 0 && tzif(S("TZif"), 0) == 0 && tzif(str_z("UTC0\n"), 0) == 0,
	      "tzif: an invalid file has no offset");
	check(replay((struct str){ v1.b, v1.b + v1.n }, feed_tz),
	      "tzif 1: every truncation and change");
	check(replay((struct str){ v2.b, v2.b + v2.n }, feed_tz),
	      "tzif 2: every truncation and change");
	memset(v1.b + 20, 0xff, 24);
	check(feed_tz(edge_str(v1.b, v1.n)) && tzif(edge_str(v1.b, v1.n), 0) == 0,
	      "tzif: counts of 2^32-1 are refused");
}

/* --- perf events ------------------------------------------------------------------------------ */

static bool feed_events(struct str s)
{
	struct evlist l = { .rest = s };
	struct evitem ev;
	struct evterm t;
	struct evformat f;
	static struct cpuset cpus;
	size_t n = 0;
	u64 v = 0, configs[MAX_CONFIGS] = { 0 };
	u32 type;
	u16 mods;
	u8 small;
	bool good = true;

	while (evlist_next(&l, &ev)) {
		struct evlist terms = { .rest = ev.b };

		good &= ++n <= str_len(s) && within(ev.text, s) && within(ev.a, s) && within(ev.b, s) && ev.text.p < ev.text.e &&
			ev.precise <= 3 && (ev.form != EF_MEM || (ev.bp > 0 && ev.bp < 8));
		for (size_t k = 0; ev.form == EF_PMU && ev.b.p < ev.b.e && evterm_next(&terms, &t); k++)
			good &= k <= str_len(ev.b) && within(t.name, ev.b) && within(t.value, ev.b) && t.name.p < t.name.e;
	}
	good &= !l.why || within(l.at, s);
	good &= within((struct str){ s.p, scan_mods(s, &mods, &small) }, s);
	if (parse_format(s, &f))
		good &= f.n > 0 && f.n <= 64 && f.config < MAX_CONFIGS && format_put(&f, format_max(&f), configs) &&
			(format_max(&f) == UINT64_MAX || !format_put(&f, format_max(&f) + 1, configs));
	if (parse_scale(s, &v, &small))
		good &= v > 0;
	parse_cpulist(s, &cpus);
	parse_raw(s, true, &v);
	parse_evname(s, &type, &v);
	good &= scan_num(s, &v) <= s.e;
	good &= str_order(s, s) == 0;
	pmu_match(s, S("uncore_imc_0"));
	pmu_match(S("imc"), s);
	return good;
}

/* The terms of a PMU's event: a name alone is 1. */
static void t_evterms(void)
{
	struct evlist terms = { .rest = S("any,edge=0,umask=0x1f,name=x") };
	struct evterm t;

	check(evterm_next(&terms, &t) && str_is(t.name, "any") && t.number && t.n == 1 && !t.value.p,
	      "a term without a value is 1");
	check(evterm_next(&terms, &t) && t.number && t.n == 0 && str_is(t.value, "0"), "a term that is 0");
	check(evterm_next(&terms, &t) && t.number && t.n == 0x1f, "a term in hex");
	check(evterm_next(&terms, &t) && !t.number && str_is(t.value, "x"), "a term with a text");
}

/* Items of event lists: form, a, b, numbers, modifiers. */
static void t_evlist(void)
{
	static const struct {
		const char *in, *a, *b;
		u64 x, y;
		u16 mods;
		u8 form, precise;
	} rows[] = {
		{ "cycles", "cycles", "", 0, 0, 0, EF_NAME, 0 },
		{ "cycles:", "cycles", "", 0, 0, 0, EF_NAME, 0 },
		{ "cycles:ukpp", "cycles", "", 0, 0, EM_USER | EM_KERNEL, EF_NAME, 2 },
		{ "rcs0-busy:D", "rcs0-busy", "", 0, 0, EM_PINNED, EF_NAME, 0 },
		{ "r1a8:u", "r1a8", "", 0x1a8, 0, EM_USER, EF_RAW, 0 },
		{ "r0x1a8", "r0x1a8", "", 0, 0, 0, EF_NAME, 0 },
		{ "r11112222333344445", "r11112222333344445", "", 0, 0, 0, EF_NAME, 0 },
		{ "4:0x3c", "4", "", 4, 0x3c, 0, EF_TYPED, 0 },
		{ "1:1:k", "1", "", 1, 1, EM_KERNEL, EF_TYPED, 0 },
		{ "sched:sched_switch", "sched", "sched_switch", 0, 0, 0, EF_TRACE, 0 },
		{ "sched:*:u", "sched", "*", 0, 0, EM_USER, EF_TRACE, 0 },
		{ "mem:0x1000", "", "", 0x1000, 4, 0, EF_MEM, 0 },
		{ "mem:0x1000:x", "", "", 0x1000, sizeof(long), 0, EF_MEM, 0 },
		{ "mem:4096/8:rw:u", "", "", 4096, 8, EM_USER, EF_MEM, 0 },
		{ "mem:0x10:u", "", "", 16, 4, EM_USER, EF_MEM, 0 },
		{ "mem:counter", "", "counter", 0, 4, 0, EF_MEM, 0 },
		{ "mem:_n.0+0x10/8:w:u", "", "_n.0", 16, 8, EM_USER, EF_MEM, 0 },
		{ "mem:main:x:k", "", "main", 0, sizeof(long), EM_KERNEL, EF_MEM, 0 },
		{ "cpu//", "cpu", "", 0, 0, 0, EF_PMU, 0 },
		{ "xe_0000_03_00.0/a,gt=1/u", "xe_0000_03_00.0", "a,gt=1", 0, 0, EM_USER, EF_PMU, 0 },
		{ "perf-pmu-test/test-event/:R", "perf-pmu-test", "test-event", 0, 0, EM_RETIRED, EF_PMU, 0 },
		{ "cpu/name='a/b,c}',event=1/", "cpu", "name='a/b,c}',event=1", 0, 0, 0, EF_PMU, 0 },
		{ "uprobe/path=/bin/x,offset=0x10/", "uprobe", "path=/bin/x,offset=0x10", 0, 0, 0, EF_PMU, 0 },
		{ "uprobe/offset=0x10,path=/bin/x/k", "uprobe", "offset=0x10,path=/bin/x", 0, 0, EM_KERNEL, EF_PMU, 0 },
		{ "uprobe:/bin/x:0x1234", "/bin/x", "", 0x1234, 0, 0, EF_UPROBE, 0 },
		{ "uprobe:/a:b/c:7:u", "/a:b/c", "", 7, 0, EM_USER, EF_UPROBE, 0 },
		{ "uprobe:/bin/x:main", "/bin/x", "main", 0, 0, 0, EF_UPROBE, 0 },
		{ "uprobe:/bin/x:main+0x8:ku", "/bin/x", "main", 8, 0, EM_USER | EM_KERNEL, EF_UPROBE, 0 },
		{ "uprobe:/bin/x:u", "/bin/x", "u", 0, 0, 0, EF_UPROBE, 0 },
		{ "uprobe:/bin/x:u:u", "/bin/x", "u", 0, 0, EM_USER, EF_UPROBE, 0 },
		{ "uprobe:/a:b/c:k", "/a:b/c", "k", 0, 0, 0, EF_UPROBE, 0 },
		{ "uprobe:/x:y:z", "/x:y", "z", 0, 0, 0, EF_UPROBE, 0 },
		{ "uretprobe:/bin/x:main", "/bin/x", "main", 0, 0, 0, EF_UPROBE, 0 },
		{ "kprobe:do_exit", "do_exit", "", 0, 0, 0, EF_KPROBE, 0 },
		{ "kprobe:do_exit+0x10:k", "do_exit", "", 16, 0, EM_KERNEL, EF_KPROBE, 0 },
		{ "kretprobe:do_exit", "do_exit", "", 0, 0, 0, EF_KPROBE, 0 },
	};
	static const char *const bad[] = {
		"", ",", "a,", ",a", "a,,b", "{}", "{", "{a", "{a,", "{a,}", "a}", "{a}b", "{a}:z", "{a}:uu", "{{a}}", ":u", "/x/",
		"cycles:uu", "cycles:pppp", "cycles:z", "r1:z", "1:x", "1:1:z", "5000000000:1", "mem:", "mem:9z", "mem:+8", "mem:x+", "mem:x+/8",
		"mem:0x1000/", "mem:1/x", "mem:1:rr", "mem:1:rz", "mem:1:z", "cpu/", "cpu/a", "cpu/a/z", "cpu/'a/", "uprobe:/x",
		"uprobe:/x:1:z", "uprobe:/x:main+", "uprobe::main", "uprobe:", "kprobe:", "kprobe:9", "kprobe:a:z",
		"kprobe:a+:k", "a:b:c:d",
	};
	struct evlist returns = { .rest = STR("uprobe:a:f,uretprobe:a:f,kprobe:f,kretprobe:f,mem:f") };
	struct evitem ev;

	for (int i = 0; i < 5; i++)
		check(evlist_next(&returns, &ev) && ev.returns == (i == 1 || i == 3), "event %d: at the return or not", i);
	for (size_t i = 0; i < LEN(rows); i++) {
		struct evlist l = { .rest = str_z(rows[i].in) };

		check(evlist_next(&l, &ev) && ev.form == rows[i].form && str_eq(ev.text, str_z(rows[i].in)) &&
		      (ev.form == EF_MEM || str_eq(ev.a, str_z(rows[i].a))) && str_eq(ev.b, str_z(rows[i].b)) &&
		      ev.mods == rows[i].mods && ev.precise == rows[i].precise && ev.y == rows[i].y &&
		      (ev.form == EF_NAME || ev.x == rows[i].x) && !evlist_next(&l, &ev) && !l.why, "event %s", rows[i].in);
		check(replay(str_z(rows[i].in), feed_events),
		      "event %s: every truncation and change", rows[i].in);
	}
	for (size_t i = 0; i < LEN(bad); i++) {
		struct evlist l = { .rest = str_z(bad[i]) };

		while (evlist_next(&l, &ev))
			;
		check(l.why != NULL, "event list '%s' is refused", bad[i]);
	}
}

static void t_groups(void)
{
	struct evlist l = { .rest = S("a,g{b:u,cpu/c/}:Spp,{d},sched:*") };
	struct evitem ev;
	char seen[64];
	size_t n = 0;

	while (evlist_next(&l, &ev) && n < 40) {
		seen[n++] = ev.opens ? '{' : '.';
		seen[n++] = *ev.text.p;
		seen[n++] = ev.closes ? '}' : ev.grouped ? '|' : '.';
		if (ev.closes && n < 10)
			check(ev.gmods == EM_READ && ev.gprecise == 2,
			      "the last member of a group has the group's modifiers");
	}
	check_str((struct str){ seen, seen + n }, ".a.{b|.c}{d}.s.",
	          "groups open and close at the right members");
	check(!l.why && replay(S("a,g{b:u,cpu/c/}:Spp,{d},sched:*"), feed_events),
	      "groups: every truncation and change");
}

/* Each name of perf list, by the numbers of the kernel's header. */
static void t_kernel_names(void)
{
	static const struct {
		const char *names;
		u32 type, config;
	} rows[] = {
		{ "cpu-cycles cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
		{ "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS },
		{ "cache-references", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_REFERENCES },
		{ "cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES },
		{ "branches branch-instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS },
		{ "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES },
		{ "bus-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BUS_CYCLES },
		{ "stalled-cycles-frontend idle-cycles-frontend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND },
		{ "stalled-cycles-backend idle-cycles-backend", PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND },
		{ "ref-cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_REF_CPU_CYCLES },
		{ "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
		{ "task-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK },
		{ "page-faults faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS },
		{ "context-switches cs", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES },
		{ "cpu-migrations migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS },
		{ "minor-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN },
		{ "major-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MAJ },
		{ "alignment-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_ALIGNMENT_FAULTS },
		{ "emulation-faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_EMULATION_FAULTS },
		{ "dummy", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY },
		{ "bpf-output", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT },
		{ "cgroup-switches", PERF_TYPE_SOFTWARE, 11 }, /* Linux 5.13 */
	};
	size_t names = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str rest = str_z(rows[i].names), name;
		u64 config = UINT64_MAX;
		u32 type = UINT32_MAX;

		for (; str_word(&rest, &name); names++)
			check(parse_evname(name, &type, &config) && type == rows[i].type &&
			      config == rows[i].config, "event name %.*s has the kernel's number",
			      (int)str_len(name), name.p);
	}
	check_u64(names, nevnames, "each event name that is no cache is compared");
}

static void t_evnames(void)
{
	static const struct {
		const char *name;
		u64 config;
		u32 type;
	} rows[] = {
		{ "cycles", 0, 0 }, { "idle-cycles-backend", 8, 0 }, { "ref-cycles", 9, 0 }, { "cs", 3, 1 },
		{ "cgroup-switches", 11, 1 }, { "L1-dcache", 0, 3 }, { "l1d-loads", 0, 3 }, { "LLC-prefetches", 0x202, 3 },
		{ "L1-dcache-load-miss", 0x10000, 3 }, { "node-write-misses", 0x10106, 3 }, { "LLC-misses", 0x10002, 3 },
		{ "L1-icache-speculative-read-misses", 0x10201, 3 }, { "branch-load-misses", 0x10005, 3 },
		{ "Data-TLB-store-Reference", 0x103, 3 }, { "btb", 5, 3 }, { "LLC-misses-loads", 0x10002, 3 },
	};
	static const char *const bad[] = { "", "cycle", "L1-icache-stores", "iTLB-stores", "bpu-prefetches", "LLC-", "LLC-x",
					   "LLC-loads-loads", "LLC-loads-misses-", "L1", "l1-dx", "iTLB-prefetch-misses" };
	u64 config;
	u32 type;
	unsigned possible = 0, wrong = 0;

	for (size_t i = 0; i < LEN(rows); i++)
		check(parse_evname(str_z(rows[i].name), &type, &config) && type == rows[i].type && config == rows[i].config,
		      "event name %s is known", rows[i].name);
	for (size_t i = 0; i < LEN(bad); i++)
		check(!parse_evname(str_z(bad[i]), &type, &config),
		      "event name '%s' is refused", bad[i]);
	for (size_t i = 0; i < CACHE_NAMES + 6; i++) {
		char b[64];
		struct str w[3];

		if (!cache_name(i, w))
			continue;
		possible++;
		snprintf(b, sizeof(b), "%.*s-%.*s%s%.*s", (int)str_len(w[0]), w[0].p, (int)str_len(w[1]), w[1].p,
			 w[2].p < w[2].e ? "-" : "", (int)str_len(w[2]), w[2].p);
		wrong += !parse_evname(str_z(b), &type, &config) || type != PT_HW_CACHE ||
			 config != (i / 6 | (i / 2 % 3) << 8 | (i % 2) << 16);
	}
	check(possible == 32 && wrong == 0,
	      "all 32 cache names are parsed as they are listed: %u, %u wrong", possible, wrong);
}

static void t_formats(void)
{
	static const struct {
		const char *text;
		u64 max, v, config;
		u8 n;
	} rows[] = {
		{ "config:0-7", 255, 0x3c, 0x3c, 0 },          { "config2:3-3", 1, 1, 8, 2 },
		{ "config1:0-63", UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - 1, 1 },
		{ "config:0-7,32-35", 0xfff, 0x120, 0x100000020, 0 }, { "config4:5", 1, 1, 32, 4 },
		{ "config:32-35,0-7", 0xfff, 0x123, 0x300000012, 0 }, { "config3:62-63,0-1", 15, 9, 0x4000000000000002, 3 },
	};
	static const char *const bad[] = { "", "config", "config:", "config5:0", "config0:0", "config:64", "config:3-1",
					   "config:0,", "config:,0", "config:0-63,1", "config:x", "config:0-", "conf:0", "config1 :0" };
	struct evformat f;

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 c[MAX_CONFIGS] = { 0 };

		check(parse_format(str_z(rows[i].text), &f) && format_max(&f) == rows[i].max &&
		      format_put(&f, rows[i].max, c) && format_put(&f, rows[i].v, c) && c[rows[i].n] == rows[i].config &&
		      f.config == rows[i].n,
		      "format %s: a new value replaces the old one", rows[i].text);
		check(rows[i].max == UINT64_MAX || !format_put(&f, rows[i].max + 1, c),
		      "format %s: a value that is too large is refused", rows[i].text);
		check(replay(str_z(rows[i].text), feed_events),
		      "format %s: every truncation and change", rows[i].text);
	}
	for (size_t i = 0; i < LEN(bad); i++)
		check(!parse_format(str_z(bad[i]), &f), "format '%s' is refused", bad[i]);
}

static void t_cpulist(void)
{
	static struct cpuset c;

	check(parse_cpulist(S("0,28"), &c) && c.w[0] == (1 | 1 << 28), "cpulist 0,28 is parsed");
	check(parse_cpulist(S("0-3,63-64,8191"), &c) && c.w[0] == (15 | UINT64_C(1) << 63) && c.w[1] == 1 &&
	      c.w[MAX_CPUS / 64 - 1] == UINT64_C(1) << 63, "cpulist 0-3,63-64,8191 is parsed");
	check(parse_cpulist(S(""), &c) && c.w[0] == 0, "cpulist: an empty list is valid");
	check(!parse_cpulist(S("8192"), &c) && !parse_cpulist(S("3-1"), &c) && !parse_cpulist(S("0,"), &c) &&
	      !parse_cpulist(S("0-18446744073709551615"), &c) && !parse_cpulist(S("x"), &c) && !parse_cpulist(S("1-"), &c),
	      "invalid cpulists are refused");
	check(replay(S("0-3,63-64,8191"), feed_events), "cpulist: every truncation and change");
}

static void t_scale(void)
{
	static const struct {
		const char *text;
		u64 m;
		u8 point;
	} rows[] = {
		{ "4", 4, 0 }, { "2.0", 2, 0 }, { "6.103515625e-5", 6103515625, 14 }, { "1e6", 1000000, 0 }, { "1.5e+1", 15, 0 },
		{ "2.3283064365386962890625e-10", UINT64_C(2328306436538696289), 28 }, { "0.001", 1, 3 }, { ".5", 5, 1 },
		{ "10000000000000000000", UINT64_C(10000000000000000000), 0 },
	};
	static const char *const bad[] = { "", ".", "0", "-1", "e5", "1e", "1e400", "1e-400", "1x", "0x1", "1e30", "nan" };
	u64 m;
	u8 point;

	for (size_t i = 0; i < LEN(rows); i++)
		check(parse_scale(str_z(rows[i].text), &m, &point) && m == rows[i].m &&
		      point == rows[i].point,
		      "scale %s is parsed",
		      rows[i].text);
	for (size_t i = 0; i < LEN(bad); i++)
		check(!parse_scale(str_z(bad[i]), &m, &point), "scale '%s' is refused", bad[i]);
	check(replay(S("2.3283064365386962890625e-10"), feed_events),
	      "scale: every truncation and change");
}

static void t_pmus(void)
{
	check(pmu_match(S("uncore_imc"), S("uncore_imc_0")) && pmu_match(S("imc"), S("uncore_imc_10")) &&
	      pmu_match(S("imc_1"), S("uncore_imc_1")) && pmu_match(S("uncore_imc_*"), S("uncore_imc_3")) &&
	      pmu_match(S("ddr_pmu"), S("ddr_pmu_87e1b0000000")) && pmu_match(S("cpu"), S("cpu")),
	      "pmu_match accepts the PMUs that a name stands for");
	check(!pmu_match(S("cpu"), S("cpu_core")) && !pmu_match(S("uncore_imc"), S("uncore_imc_free_running_0")) &&
	      !pmu_match(S("a"), S("a_be")) && !pmu_match(S("imc"), S("imc_")) && !pmu_match(S("uncore_imc_1"), S("uncore_imc_10")),
	      "pmu_match refuses other PMUs");
	check(str_order(S("a_2"), S("a_10")) < 0 && str_order(S("a_10"), S("a_2")) > 0 && str_order(S("a"), S("ab")) < 0 &&
	      str_order(S("b"), S("a9")) > 0 && str_order(S("a01"), S("a1")) != 0,
	      "str_order compares numbers in names by value");
	check(str_order(edge_str("a", 1), S("ab")) < 0 && str_order(S("ab"), edge_str("a", 1)) > 0 &&
	      str_order((struct str){ 0 }, S("a")) < 0, "str_order ends with the shorter name");
}

/* --- all parsers together --------------------------------------------------------------------- */

static bool feed_all(struct str s)
{
	return feed_numbers(s) && feed_fdinfo(s) && feed_stat(s) && feed_cgroup(s) && feed_sysfs(s) && feed_tz(s) &&
	       feed_events(s);
}

/* Words of the formats in random order. */
static void t_random(void)
{
	static const char *const words[] = {
		"drm-", "engine-", "capacity-", "total-", "cycles-", "driver", "client-id", "pdev", "memory-", ":", ": ",
		"\t", " ", "\n", "\n", "\n", "0", "9", "18446744073709551615", "ns", " KiB", " MiB", "vram mem", "pasid", "%",
		"gfx0", ".", "Mhz", "*", "(", ")", "/", "0::", "=", "PCI_ID", "\r", "\xff", ",", "S", "TZif2", "\xc2\x85",
		"{", "}", "cpu", "'", "-", "config", "r1a", "mem", "uprobe:/", "path=/", "0x", "u", "cycles", "LLC",
	};
	unsigned bad = 0;

	for (unsigned i = 0; i < 100000; i++) {
		char b[512];
		size_t n = 0, want = rnd_of(40);

		for (size_t k = 0; k < want; k++) {
			const char *w = words[rnd() % LEN(words)];

			memcpy(b + n, w, strlen(w));
			n += strlen(w);
			if (rnd() % 16 == 0)
				b[n++] = (char)rnd();
			if (n > sizeof(b) - 64)
				break;
		}
		bad += !feed_all(edge_str(b, n));
	}
	check_u64(bad, 0, "100 000 texts of words in random order have no impossible result");
}

/* Faults that Frama-C's Eva found in this file. */
static void t_proven(void)
{
	char b[4 + DIGITS + 8], want[DIGITS];
	struct buf full = buf_on(b, 4), twice = BUF(b);
	size_t bad = 0;
	i64 now;

	put_columns(&full, 0, 9);
	check(full.n == 4 && full.full, "put_columns stops at the end of the buffer");
	put_columns(&full, 9, 9);
	check(full.n == 4 && full.full,
	      "put_columns writes nothing into a full buffer, wherever the columns began");

	/* No unit has that many decimals: put_dec omits the digits after DIGITS - 2 decimals,
	 * whether or not there is room for more. */
	for (u8 point = DIGITS - 2; point < UINT8_MAX; point++) {
		memset(b, '#', sizeof(b));
		memset(want, '0', sizeof(want));
		want[1] = '.';
		twice = BUF(b);
		put_dec(&twice, point == DIGITS - 2 ? 0 : 9, point, UINT8_MAX);
		bad += twice.full || twice.n != DIGITS || memcmp(b, want, DIGITS) != 0 || b[DIGITS] != '#';
		twice = buf_on(b, DIGITS);
		twice.n = 1;
		put_dec(&twice, 9, point, UINT8_MAX);
		bad += !twice.full || twice.n != 1;
	}
	check_u64(bad, 0, "numbers with more decimals than fit are truncated");

	bad = 0;
	for (now = INT64_MAX; now > (i64)1 << 50; now /= 3)
		bad += parse_tz(str_z("CET-1CEST,M3.5.0,M10.5.0/3"), now) / 3600 > 2 ||
		       parse_tz(str_z("CET-1CEST,M3.5.0,M10.5.0/3"), -now) / 3600 < 1;
	bad += parse_tz(str_z("X-1Y,J1,J2"), INT64_MIN) / 3600 > 2;
	check_u64(bad, 0, "time zones at times that no calendar has");
}

/* --- distance of two texts -------------------------------------------------------------------- */

/* The definition of the optimal string alignment, without a table. */
static u32 plain_distance(struct str a, struct str b)
{
	u32 least, d;
	size_t na = str_len(a), nb = str_len(b);

	if (!na || !nb)
		return (u32)(na + nb);
	least = plain_distance((struct str){ a.p, a.e - 1 }, (struct str){ b.p, b.e - 1 }) + ((a.e[-1] | 32) != (b.e[-1] | 32));
	if ((d = plain_distance((struct str){ a.p, a.e - 1 }, b) + 1) < least)
		least = d;
	if ((d = plain_distance(a, (struct str){ b.p, b.e - 1 }) + 1) < least)
		least = d;
	if (na > 1 && nb > 1 && (a.e[-1] | 32) == (b.e[-2] | 32) && (a.e[-2] | 32) == (b.e[-1] | 32) &&
	    (d = plain_distance((struct str){ a.p, a.e - 2 }, (struct str){ b.p, b.e - 2 }) + 1) < least)
		least = d;
	return least;
}

static bool feed_distance(struct str s)
{
	return text_distance(s, S("engine.render.busy")) <= 40 && text_distance(S("temp"), s) <= 40;
}

static void nearest_of(const char *list, const char *text, const char *want)
{
	struct str rest = str_z(list), word;
	struct nearest n = { .text = str_z(text) };
	char put[64];
	struct buf b = BUF(put);

	while (str_word(&rest, &word))
		nearest_try(&n, word);
	put_nearest(&b, "", &n);
	check_str((struct str){ put, put + b.n }, want, "the name that is nearest to %s", text);
}

static void t_distance(void)
{
	static const struct {
		const char *a, *b;
		u32 d;
	} pairs[] = {
		{ "", "", 0 }, { "", "abc", 3 }, { "abc", "", 3 }, { "json", "json", 0 },
		{ "jsn", "json", 1 }, { "JSON", "json", 0 }, { "jsonx", "json", 1 }, { "jzon", "json", 1 },
		{ "rendre", "render", 1 }, { "porcs", "procs", 1 }, { "kitten", "sitting", 3 },
		{ "ca", "abc", 3 }, /* 2 if a substring could be edited twice */
		{ "[", "{", 1 }, { "@", "`", 1 }, { "\xc4", "\xe4", 1 }, /* not letters of ASCII */
	};
	static char most[MAX_NEAR + 1];
	u64 bad = 0;
	char a[16], b[16];

	for (size_t i = 0; i < LEN(pairs); i++)
		check_u64(text_distance(str_z(pairs[i].a), str_z(pairs[i].b)), pairs[i].d,
			  "the distance of '%s' and '%s'", pairs[i].a, pairs[i].b);
	memset(most, 'y', sizeof(most));
	check_u64(text_distance(str_of(most, MAX_NEAR), S("x")), MAX_NEAR, "the distance of a text of MAX_NEAR bytes");
	check(text_distance(str_of(most, sizeof(most)), S("x")) == UINT32_MAX &&
	      text_distance(S("x"), str_of(most, sizeof(most))) == UINT32_MAX, "a longer text is similar to none");
	for (unsigned i = 0; i < 120; i++)
		for (unsigned j = 0; j < 120; j++) {
			struct str s = nth(a, i, "aBc"), t = nth(b, j, "Abc");

			bad += text_distance(s, t) != plain_distance(s, t) || text_distance(s, t) != text_distance(t, s);
		}
	check_u64(bad, 0, "all short texts have the distance of the definition");
	check(replay(S("engine.rendre.busy"), feed_distance), "text_distance: truncated and changed texts");
	nearest_of("procs list top", "porcs", "; did you mean 'procs'?");
	nearest_of("procs list top", "toq", "; did you mean 'top'?");
	nearest_of("stat sample state", "stae", "; did you mean 'stat'?");
	nearest_of("json csv", "xml", "");
	nearest_of("i c n", "z", "");
	nearest_of("ab xy", "ax", "; did you mean 'ab'?");
	nearest_of("engine.render.busy", "enginge.rendr.bsy", "; did you mean 'engine.render.busy'?");
	nearest_of("perf/software/all/alignment-faults", "perf/software/all/aligment-faluts",
		   "; did you mean 'perf/software/all/alignment-faults'?");
	nearest_of("procs", "", "");
	nearest_of("", "procs", "");
	nearest_of("a\033b", "a\033c", "; did you mean 'a\\x1bb'?");
}

/* --- muldiv ----------------------------------------------------------------------------------- */

static void t_muldiv(void)
{
	static const u64 edges[] = {
		0, 1, 2, 3, 5, 7, 10, 1000, 100000, 65535, 65536, 1000000000, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff,
		0x100000000, 0x100000001, 0x1ffffffff, 1000000000000, 0x7fffffffffffffff, 0x8000000000000000,
		0x8000000000000001, 0xffffffff00000000, 0xfffffffeffffffff, 0xaaaaaaaaaaaaaaaa, 0x5555555555555555,
		UINT64_MAX - 1, UINT64_MAX,
	};
	u64 bad = 0;

	for (size_t i = 0; i < LEN(edges); i++)
		for (size_t k = 0; k < LEN(edges); k++)
			for (size_t m = 0; m < LEN(edges); m++)
				if (muldiv(edges[i], edges[k], edges[m]) != plain_muldiv(edges[i], edges[k], edges[m]) &&
				    !bad++)
					note("muldiv(%" PRIu64 ", %" PRIu64 ", %" PRIu64 ") is %" PRIu64, edges[i],
					     edges[k], edges[m], muldiv(edges[i], edges[k], edges[m]));
	check_u64(bad, 0, "muldiv: 24 389 triples of edge values");
	bad = 0;
	for (int i = 0; i < 1000000; i++) {
		/* The size is random, so that small and large values are combined. */
		u64 a = rnd() >> rnd() % 64, b = rnd() >> rnd() % 64, c = rnd() >> rnd() % 64;
		u64 high = plain_high(a, b);

		bad += muldiv(a, b, c) != plain_muldiv(a, b, c);
		/* Quotients that just fit, and quotients that just do not fit. */
		if (b)
			bad += muldiv(a, b, high) != plain_muldiv(a, b, high);
		bad += muldiv(a, b, high + 1) != plain_muldiv(a, b, high + 1);
	}
	check_u64(bad, 0, "muldiv: 3 000 000 random triples");
	check_u64(muldiv(500123456, 100000, 1000000000), 50012, "muldiv: rounded down");
	check_u64(muldiv(1, 1, 0), UINT64_MAX, "muldiv: division by 0");
	check_u64(muldiv(0, 0, 0), UINT64_MAX, "muldiv: 0 divided by 0");
}

/* --- counter behaviour: peak, reset, wrap ----------------------------------------------------- */

static void t_course(void)
{
	static const struct {
		const char *name;
		u8 course;
		u64 was, now;
		bool known;
		u64 d, base;
	} rows[] = {
		{ "peak: an increase", CO_PEAK, 5, 9, true, 4, 9 },
		{ "peak: no change", CO_PEAK, 5, 5, true, 0, 5 },
		{ "peak: a decrease keeps the larger value", CO_PEAK, 9, 5, true, 0, 9 },
		{ "peak: a decrease to 0", CO_PEAK, UINT64_MAX, 0, true, 0, UINT64_MAX },
		{
		  "peak: the largest "
		  "increase", CO_PEAK, 0, UINT64_MAX, true, UINT64_MAX, UINT64_MAX },
		{ "reset: an increase", CO_RESET, 5, 9, true, 4, 9 },
		{ "reset: no change", CO_RESET, 5, 5, true, 0, 5 },
		{ "reset: a decrease starts again", CO_RESET, 9, 5, false, 0, 5 },
		{ "reset: a decrease to 0", CO_RESET, 9, 0, false, 0, 0 },
		{ "wrap: an increase", CO_WRAP32, 5, 9, true, 4, 9 },
		{ "wrap: no change", CO_WRAP32, 9, 9, true, 0, 9 },
		{ "wrap: at 2^32", CO_WRAP32, 0xffffffff, 0, true, 1, 0 },
		{ "wrap: past 2^32", CO_WRAP32, 0xfffffff0, 0x10, true, 0x20, 0x10 },
		{ "wrap: the largest increase", CO_WRAP32, 1, 0, true, 0xffffffff, 0 },
		{
		  "wrap: a value that exceeds 32 bits does not "
		  "wrap", CO_WRAP32, 0xffffffff, 0x100000000, true, 1, 0x100000000 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 d = 77;
		bool known = course_delta(rows[i].course, rows[i].was, rows[i].now, UINT64_MAX, &d);

		check(known == rows[i].known && (!known || d == rows[i].d), "course %s", rows[i].name);
		check_u64(course_base(rows[i].course, rows[i].was, rows[i].now), rows[i].base,
			  "course %s: the next base value is right", rows[i].name);
	}
	{
		/* The sum of the deltas of a random course equals the increase of the counter. */
		u64 was = 0, sum = 0, peak = 0, bad = 0;

		for (int i = 0; i < 100000; i++) {
			u64 now = rnd() % 1000 + (u64)i, d;

			bad += !course_delta(CO_PEAK, was, now, UINT64_MAX, &d);
			was = course_base(CO_PEAK, was, now);
			sum += d;
			peak = now > peak ? now : peak;
		}
		check(!bad && sum == peak, "course peak: the deltas add up to the largest value");
		was = sum = 0;
		for (u64 real = 0; real < 1ull << 36;) {
			u64 step = rnd() % 0xffffffff, d;

			real += step;
			course_delta(CO_WRAP32, was, (u32)real, UINT64_MAX, &d);
			was = course_base(CO_WRAP32, was, (u32)real);
			sum += d;
			bad += sum != real;
		}
		check_u64(bad, 0, "course wrap: the deltas add up over 16 wraps");
	}
}

static void t_plausible(void)
{
	static const struct {
		u8 range;
		u64 v, limit;
		bool ok;
	} rows[] = {
		{ RG_TEMP, 500000, 0, true }, { RG_TEMP, 500001, 0, false },
		{ RG_TEMP, (u64)-100000, 0, true }, { RG_TEMP, (u64)-100001, 0, false },
		{ RG_TEMP, 0, 0, true }, { RG_TEMP, UINT32_MAX, 0, false },
		{ RG_TEMP, (u64)INT64_MIN, 0, false }, { RG_TEMP, INT64_MAX, 0, false },
		{ RG_TEMP, 195000, 95000, true }, { RG_TEMP, 195001, 95000, false },
		{ RG_TEMP, (u64)-5000, 95000, true }, { RG_TEMP, 300000, UINT64_MAX, true },
		{ RG_POWER, 20000000000, 0, true }, { RG_POWER, 20000000001, 0, false },
		{ RG_POWER, UINT32_MAX, 0, false }, { RG_POWER, UINT32_MAX - 1, 0, true },
		{ RG_POWER, 100, 10, true }, { RG_POWER, 101, 10, false },
		{ RG_POWER, 0, 10, true }, { RG_POWER, (u64)-1, 0, false },
		{ RG_FAN, 60000, 0, true }, { RG_FAN, 65535, 0, false },
		{ RG_FAN, 4, 1, true }, { RG_FAN, 5, 1, false },
		{ RG_BYTE, 255, 0, true }, { RG_BYTE, 256, 0, false },
		{ RG_VOLT, (u64)-1000000, 0, true }, { RG_VOLT, 1000001, 0, false },
		{ RG_CURRENT, 10000000, 0, true }, { RG_CURRENT, (u64)-10000001, 0, false },
		{ RG_CLOCK, 100000000000, 0, true }, { RG_CLOCK, 100000000001, 0, false },
		{ RG_LOAD, 1000000, 0, true }, { RG_LOAD, 65535000, 0, false },
		{ RG_BYTES, 1ull << 52, 0, true }, { RG_BYTES, (1ull << 52) + 1, 0, false },
		{ RG_BYTES, INT64_MAX, 0, false }, { RG_BYTES, UINT64_MAX, 0, false },
		{ RG_BYTES, UINT32_MAX, 0, true }, { RG_BYTES, 0, 0, true },
		{ RG_LINK, 1280, 0, true }, { RG_LINK, 65535, 0, false },
		{ RG_HUMIDITY, 100000, 0, true }, { RG_HUMIDITY, 100001, 0, false },
		{ RG_ANY, UINT64_MAX, 0, true }, { RG_ANY, 0, 1, true },
	};
	u64 d;

	for (size_t i = 0; i < LEN(rows); i++)
		check(is_plausible(rows[i].range, rows[i].v, rows[i].limit) == rows[i].ok,
		      "plausible: %s %" PRId64 " with the limit %" PRIu64 ": %s",
		      ranges[rows[i].range].what, (i64)rows[i].v, rows[i].limit,
		      rows[i].ok ? "yes" : "no");
	check_u64(most_in(RG_ENERGY, 1000000000), 20000000000, "20 kJ are possible in a second");
	check_u64(most_in(RG_ENERGY, 1), 2000000000, "a counter may lag by 0.1 s");
	check_u64(most_in(RG_TEMP, 1), UINT64_MAX, "no rate is known");
	check(course_delta(CO_WRAP32, UINT32_MAX - 9, 90, 100, &d) && d == 100,
	      "a wrap with the largest possible increase");
	check(!course_delta(CO_WRAP32, UINT32_MAX - 9, 91, 100, &d),
	      "a decrease that no possible wrap explains is none");
}

/* Readings of an energy counter once per second, in J: what each is, and the mean power in W. */
static void t_meter(void)
{
	enum { K = METER_KNOWN, J = METER_JUMP, U = METER_UNKNOWN };
	static const struct {
		const char *name;
		size_t n;
		struct {
			u32 joule;
			u8 meter;
			u32 watt;
		} at[8];
	} rows[] = {
		{ "steady", 3,
		  { { 1000000, K, 0 }, { 1000050, K, 50 }, { 1000100, K, 50 } } },
		{ "a dip", 4,
		  { { 1000000, K, 0 }, { 200, U, 0 }, { 1000100, K, 50 }, { 1000150, K, 50 } } },
		{ "a dip of two readings that stand still", 4,
		  { { 1000000, K, 0 }, { 200, U, 0 }, { 200, U, 0 }, { 1000150, K, 50 } } },
		{ "a dip of three readings that count", 5,
		  { { 1000000, K, 0 }, { 200, U, 0 }, { 250, K, 50 }, { 1000150, J, 0 },
		    { 1000200, K, 50 } } },
		{ "a restart", 4,
		  { { 1000000, K, 0 }, { 10, U, 0 }, { 60, K, 50 }, { 110, K, 50 } } },
		{ "a restart that stands still", 7,
		  { { 9000000, K, 0 }, { 0, U, 0 }, { 0, U, 0 }, { 0, U, 0 }, { 0, J, 0 },
		    { 0, K, 0 }, { 50, K, 50 } } },
		{ "a small dip", 3,
		  { { 1000, K, 0 }, { 10, U, 0 }, { 1050, K, 25 } } },
		{ "a jump", 3,
		  { { 1000000, K, 0 }, { 1262144, J, 0 }, { 1262194, K, 50 } } },
		{ "a dip and a jump", 4,
		  { { 1000000, K, 0 }, { 10, U, 0 }, { 9000000, J, 0 }, { 9000050, K, 50 } } },
		{ "a second decrease", 4,
		  { { 1000000, K, 0 }, { 900, U, 0 }, { 10, U, 0 }, { 60, K, 50 } } },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 first = rows[i].at[0].joule * UINT64_C(1000000);
		struct history h = { .now = first, .was = first, .t = 1000000000,
				     .t_was = 1000000000 };
		bool ok = true;

		for (size_t k = 1; k < rows[i].n; k++) {
			u64 last = h.now;
			i64 t_last = h.t;
			u8 meter;

			h.now = rows[i].at[k].joule * UINT64_C(1000000);
			h.t += 1000000000;
			meter = meter_step(&h, last, t_last, RG_ENERGY);
			ok &= meter == rows[i].at[k].meter;
			if (meter == K)
				ok &= muldiv(h.now - h.was, 1000, (u64)(h.t - h.t_was)) ==
				      rows[i].at[k].watt;
			if (meter != U) {
				h.was = h.now;
				h.t_was = h.t;
			}
			if (!ok) {
				note("reading %zu: %d", k, meter);
				break;
			}
		}
		check(ok, "meter: %s", rows[i].name);
	}
}

/* An energy counter that continues from 0 after 262143 J: sums of readings once per second. */
static void t_energy(void)
{
	struct energy e = { 0 };
	u64 wrap = 262143000000, from = 262100000000;

	check(energy_sum(&e, from, 1000000000, wrap) && e.sum == from, "energy: the first reading");
	check(energy_sum(&e, 7000000, 2000000000, wrap) && e.sum == wrap + 7000000,
	      "energy: a wrap that 50 W reach");
	check(energy_sum(&e, 57000000, 3000000000, wrap) && e.sum == wrap + 57000000,
	      "energy: after the wrap");
	check(!energy_sum(&e, 1000000, 4000000000, wrap),
	      "energy: a decrease that 20 kW do not explain is no wrap");
	check(energy_sum(&e, 51000000, 5000000000, wrap) && e.sum == wrap + 107000000,
	      "energy: one interval is missing");
	check(energy_sum(&e, 101000000, 6000000000, wrap) && e.sum == wrap + 157000000,
	      "energy: it counts on");
	e = (struct energy){ 0 };
	check(energy_sum(&e, from, 1000000000, 0) && !energy_sum(&e, 7000000, 2000000000, 0),
	      "energy: a counter whose range is unknown does not wrap");
}

int main(void)
{
	t_plausible();
	t_meter();
	t_energy();
	t_str();
	t_same();
	t_contains();
	t_proven();
	t_glob();
	t_scan();
	t_interval();
	t_fdinfo();
	t_fdmade();
	t_stat();
	t_cgroup();
	t_uevent();
	t_devno();
	t_dpm();
	t_v3d();
	t_trans();
	t_rknpu();
	t_tzif();
	t_evlist();
	t_groups();
	t_kernel_names();
	t_evterms();
	t_evnames();
	t_formats();
	t_cpulist();
	t_scale();
	t_pmus();
	t_random();
	t_distance();
	t_muldiv();
	t_course();
	return unit_end();
}
