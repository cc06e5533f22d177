/* t_descriptions.c - unit test of sources/catalog/descriptions.c: the text, the right that a counter
 * requires, and its unit. SPDX-License-Identifier: MIT */
#include "../../sources/catalog/descriptions.c"

#include "tests/unit.h"

static const struct {
	const char *vendor, *name, *what, *unit, *text;
	bool is_signed;
} rows[] = {
	{ "linux", "x", "load", "", "load", false },
	{ "linux", "x", "load", "%", "load (%)", false },
	{ "linux", "x", "heat", "mC", "heat; -1 is shown as 0 (mC)", true },
	{ "linux", "perf/cpu/cycles", "cycles", "", "cycles; requires CAP_PERFMON", false },
	{ "any", "perf/", "p", "", "p; requires CAP_PERFMON", false },
	{ "linux", "perf", "p", "", "p", false },
	{ "any", "oa/A", "a", "ns", "a; requires CAP_PERFMON (ns)", false },
	{ "xe", "GPU 3 vertex processors utilization", "v", "%", "v; requires CAP_PERFMON (%)", false },
	{ "v3d", "GPU 3 vertex processors utilization", "v", "%", "v (%)", false },
	{ "v3d", "GPU 0 frames / sec", "f", "1/s", "f; requires CAP_PERFMON (1/s)", false },
	{ "i915", "Culled primitive count", "p", "", "p; requires CAP_PERFMON", false },
	{ "i915", "Primitive count", "p", "", "p; requires CAP_PERFMON", false },
	{ "msm", "Primitive count", "p", "", "p", false },
	{ "linux", "File read bytes / sec", "r", "", "r; requires CAP_SYS_PTRACE", false },
	{ "other", "File read bytes / sec", "r", "", "r", false },
	{ "linux", "host/file/all/read", "r", "", "r; requires CAP_SYS_PTRACE", false },
	{ "linux", "host/energy/pkg", "e", "uJ", "e; requires CAP_DAC_READ_SEARCH (uJ)", false },
};

static struct counter_info info(const char *what)
{
	return (struct counter_info){ .vendor = LIT("linux"), .name = LIT("x"), .what = str_z(what),
				      .unit = LIT("") };
}

int main(void)
{
	char text[256], what[130];
	struct counter_info n;
	struct buf b;

	for (size_t i = 0; i < LEN(rows); i++) {
		b = BUF(text);
		n = (struct counter_info){ .vendor = str_z(rows[i].vendor),
			.name = str_z(rows[i].name), .what = str_z(rows[i].what),
			.unit = str_z(rows[i].unit), .is_signed = rows[i].is_signed };
		counter_describe(&n, &b);
		check_str(str_of(b.p, b.n), rows[i].text, "%s of %s", rows[i].name, rows[i].vendor);
	}
	memset(what, 'x', sizeof(what));
	what[128] = '\0';
	b = BUF(text);
	n = info(what);
	counter_describe(&n, &b);
	check_str(str_of(b.p, b.n), what, "a description of 128 bytes is not cut");
	what[128] = 'y';
	what[129] = '\0';
	b = BUF(text);
	n = info(what);
	counter_describe(&n, &b);
	check_u64(b.n, 128, "a description of 129 bytes is cut");
	b = BUF(text);
	n = info("a\nb\033c");
	counter_describe(&n, &b);
	check(is_clean(str_of(b.p, b.n), false),
	      "control characters of a description are not copied");
	return unit_end();
}
