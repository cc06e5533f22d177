/* fuzz_events.c - any bytes as perf events written by users, and as the kernel's descriptions of
 * their encoding. The first byte selects which; the rest ends at a page that faults.
 * SPDX-License-Identifier: MIT */
#include "fuzz.h"

static void run_terms(struct str s)
{
	struct evlist l = { .rest = s };
	struct evterm t;
	u64 raw;

	for (size_t n = 0; evterm_next(&l, &t); n++) {
		must(n <= str_len(s), "the list of terms ends");
		must(within(t.name, s) && within(t.value, s) && t.name.p < t.name.e, "a term lies in its text");
		must(t.value.p || (t.number && t.n == 1), "a term without a value is 1");
		parse_raw(t.name, true, &raw);
	}
	must(!l.why || within(l.at, s), "the position of an error lies in the text");
}

static void run_list(struct str s)
{
	struct evlist l = { .rest = s };
	struct evitem ev;
	bool open = false;
	size_t n = 0;

	while (evlist_next(&l, &ev)) {
		u32 type;
		u64 config;

		must(n++ <= str_len(s) && ev.text.p < ev.text.e && within(ev.text, s), "an event lies in the list");
		must(within(ev.a, s) && within(ev.b, s) && ev.precise <= 3 && ev.gprecise <= 3, "the parts of an event lie in the list");
		must(!(open && ev.opens) && ev.grouped == (open || ev.opens), "groups do not nest");
		open = ev.grouped && !ev.closes;
		if (ev.form == EF_PMU && ev.b.p < ev.b.e)
			run_terms(ev.b);
		parse_evname(ev.a, &type, &config);
		pmu_match(ev.a, S("uncore_imc_10"));
	}
	must(l.why ? within(l.at, s) : n > 0 && !open, "a list has an event, or an error");
}

static void run_format(struct str s)
{
	struct evformat f;
	u64 c[MAX_CONFIGS] = { 0 }, max;

	if (!parse_format(s, &f))
		return;
	max = format_max(&f);
	must(f.n > 0 && f.config < MAX_CONFIGS && max > 0, "a field has bits");
	must(format_put(&f, max, c) && c[f.config] != 0, "the largest value fits into the field");
	must(max == UINT64_MAX || !format_put(&f, max + 1, c), "a larger value does not fit into the field");
	must(format_put(&f, 0, c) && c[f.config] == 0, "zero clears all bits of the field");
}

static void run_other(struct str s)
{
	static struct cpuset cpus;
	struct str a = s, b = { 0 };
	u64 m = 0;
	u16 mods;
	u8 small = 0;

	parse_cpulist(s, &cpus);
	must(!parse_scale(s, &m, &small) || m > 0, "a scale is positive");
	must(within((struct str){ s.p, scan_mods(s, &mods, &small) }, s) && small <= 3, "modifiers end in the text");
	if (str_cut(&a, '\n', &b)) {
		int order = str_order(a, b);

		must(order == 0 || (order < 0) != (str_order(b, a) < 0), "the order is antisymmetric");
		pmu_match(a, b);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s;

	if (n < 1 || n > EDGE_BYTES / 2)
		return 0;
	s = edge_str((const char *)data + 1, n - 1);
	switch (data[0] % 4) {
	case 0:
		run_list(s);
		break;
	case 1:
		run_terms(s);
		break;
	case 2:
		run_format(s);
		break;
	default:
		run_other(s);
	}
	return 0;
}
