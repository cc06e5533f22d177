/* t_virtual.c - perf events and software counters: what events_add() stores in its tables, and the
 * values of virtual_read().
 * SPDX-License-Identifier: MIT */
/* PMUs are read only once: the test resets this for each machine */
#include "../../sources/perf/pmu.c"
#include "unit.h"

static char why_bytes[1000];

static const char *add(const char *list)
{
	struct buf why = { .p = why_bytes, .cap = sizeof(why_bytes) - 1 };

	why_bytes[0] = '\0';
	if (!events_add(str_z(list), 7, &why))
		why_bytes[why.n] = '\0';
	return why_bytes;
}

static bool is(u32 text, const char *z)
{
	return *z ? text_eq(text, str_z(z)) : text == NONE;
}

static void t_fields(void)
{
	const struct event *e;

	table_all(&events_table);
	e = events + nrows.events + 1;
	check(!*add("power/energy-pkg/,i915/rcs0-busy/,gpu-freq,imc/cas_count_read/u,cpu/slots,no-inherit/"), "events are added: %s",
	      why_bytes);
	check(is(e[0].unit, "Joules") && e[0].scale == UINT64_C(2328306436538696289) && e[0].scale_point == 28 && e[0].set == 7,
	      "energy: unit, scale and set");
	check(pmus[e[0].pmu].wide && pmus[e[0].pmu].cpus.w[0] == 1 && !pmus[e[0].pmu].core,
	      "the power PMU counts packages");
	check(is(e[1].unit, "ns") && e[1].rule == R_COUNT && e[1].row != e[0].row,
	      "the unit and rule of i915's busy time");
	check(is(e[2].unit, "MHz") && e[2].rule == R_RATE && is(e[2].name, "i915/actual-frequency/"),
	      "gpu-freq is in MHz, averaged over time");
	check(e[3].row == e[6].row && e[3].row != e[7].row && e[6].type == 40 && e[3].group == 0 && e[6].mods == EM_USER &&
	      is(e[6].unit, "MiB"), "the instances of a PMU share a row, in order");
	check(e[7].no_inherit && e[7].scale == 2 && pmus[e[7].pmu].core && !pmus[e[7].pmu].wide,
	      "the fields of an event of a core PMU");
	e = events + nrows.events + 1;
	check(!*add("{imc/cas_count_read/,imc/cas_count_write/}:D,{cycles,cs},energy-pkg"), "groups are added: %s", why_bytes);
	check(e[0].group && e[0].group == e[1].group && e[2].group == e[3].group && e[2].group == e[0].group + 1 &&
	      e[0].row == e[6].row && e[0].row != e[1].row && e[7].mods == EM_PINNED,
	      "each instance of a PMU has its own group");
	check(e[8].group == e[9].group && e[8].group == e[6].group + 1 && e[10].group == 0, "groups are numbered");
	e = events + nrows.events + 1;
	check(!*add("uprobe:/bin/x:0x10,mem:1:w,cpu/event=1,freq=99/") && is(e[0].path, "/bin/x") && e[1].bp == 2 && e[2].freq &&
	      e[2].period == 99, "the fields of a uprobe, a breakpoint and a frequency");
}

static void t_nothing_half(void)
{
	static const char *const lists[] = { "cycles,nosuch", "{cycles,cs", "imc/cas_count_read/,cpu/event=256/", "cs,cs:z", "gpu-energy,," };
	u32 had = nrows.events;

	for (size_t i = 0; i < LEN(lists); i++)
		check(*add(lists[i]) && nrows.events == had, "an invalid list adds no event: %s: %s", lists[i], why_bytes);
}

static void t_xe(void)
{
	const struct event *e = events + nrows.events + 1;
	u64 v = 0;

	check(!*add("gpu-busy,gpu-freq,gpu-energy,hwmon_xe/temp2/,hwmon3/power1/"),
	      "xe: events are added: %s", why_bytes);
	check(e[0].rule == R_SHARE && is(e[0].unit, "%") && !e[0].hidden && e[1].hidden && e[0].group && e[0].group == e[1].group &&
	      e[2].group == e[0].group + 1 && !e[0].guess, "xe: active and total ticks are in a group for each engine");
	check(e[6].rule == R_PER_READ && is(e[6].unit, "MHz") && e[6].group == 0, "xe: each read adds a frequency");
	check(virtual_read(&e[8], &v) && v == 123456789 && e[8].scale == 1 && e[8].scale_point == 6 && e[8].rule == R_COUNT &&
	      is(e[8].unit, "J"), "hwmon: energy in uJ");
	check(virtual_read(&e[9], &v) && (i64)v == -4500 && e[9].rule == R_LEVEL && is(e[9].unit, "C"),
	      "hwmon: a temperature of -4.5 degrees");
	check(virtual_read(&e[10], &v) && v == 4200000 && is(e[10].unit, "W"), "hwmon: average power");
}

static void t_proc(void)
{
	const struct event *e = events + nrows.events + 1;
	u64 v[6] = { 0 }, w = 0;

	check(!*add("proc/ctxt/,proc/MemTotal/,proc/nr_free_pages/,proc/procs_running/,tool/duration_time/,user_time"),
	      "proc: events are added: %s",
	      why_bytes);
	virtual_sample();
	for (int i = 0; i < 6; i++)
		check(virtual_read(&e[i], &v[i]) && (v[i] > 0 || i == 5), "/proc: value %d is read", i);
	check(v[1] % 1024 == 0 && is(e[1].unit, "bytes") && e[1].rule == R_LEVEL && e[0].rule == R_COUNT && e[2].rule == R_LEVEL &&
	      e[3].rule == R_LEVEL, "/proc: memory is in bytes; values are levels or counters");
	check(virtual_read(&e[0], &w) && w == v[0], "/proc: values do not change within one reading");
	virtual_sample();
	check(virtual_read(&e[4], &w) && w > v[4] && virtual_read(&e[0], &w) && w >= v[0],
	      "/proc: times and counters increase with the next reading");
}

static void t_engines(void)
{
	const struct event *e = events + nrows.events + 1;
	u64 v = 0;

	check(!*add("gpu0/render/,gpu0/nosuch/"), "engines: events are added: %s", why_bytes);
	virtual_sample();
	check(virtual_read(&e[0], &v) && v > 0 && is(e[0].unit, "ns"), "an engine's busy time, in ns");
	check(!virtual_read(&e[1], &v), "an engine without clients has no value, not 0");
}

/* Fills the table of virtual counters and adds one. */
static void t_full(void)
{
	u32 dropped = registry.dropped, n, first = nrows.events + 1;
	const struct table *full;
	u64 v;

	for (n = 0; n < 2000 && !*add("duration_time"); n++)
		;
	check(n > 900 && n <= 1024 && registry.dropped == dropped + 1 && nrows.events == first + n - 1,
	      "full table of counters: one more is counted, and no event is added (%u)", (unsigned)n);
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "counters of our own") == 0, "full table of counters: its name");
	check(events[first].virt && virtual_read(&events[first], &v) && virtual_read(&events[nrows.events], &v),
	      "full table of counters: the first and the last one can be read");
}

static void machine(const char *sys, const char *proc)
{
	pmulist.pmus_read = false;
	pmulist.ncores = nrows.pmus = 0;
	roots.sys = open(sys, O_RDONLY | O_DIRECTORY);
	roots.proc = open(proc, O_RDONLY | O_DIRECTORY);
}

int main(void)
{
	machine("tests/pmus/intel", "/proc");
	t_fields();
	t_nothing_half();
	t_proc();
	machine("tests/pmus/xe", "/proc");
	t_xe();
	machine("tests/trees/i915/sys", "tests/trees/i915/proc");
	t_engines();
	t_full();
	return unit_end();
}
