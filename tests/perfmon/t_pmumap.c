/* t_pmumap.c - the tables of PMC and PMD registers. SPDX-License-Identifier: MIT */
#include "../../perfmon/pmumap.c"

#include "unit.h"

static struct pmumap map, again;
static char last[EVENT_EXPANDED + 1]; /* the text of the last gp_parse() */
static const char *machine;        /* the only event of the simulated machine; NULL: all events */

/* Replaces the function of sources/perf/perfapi.c, which requires a kernel. */
int gp_parse(const char *list, struct gp_event *found, int cap, char *why, size_t nwhy)
{
	(void)why;
	(void)nwhy;
	snprintf(last, sizeof(last), "%s", list);
	if (machine && strcmp(machine, list) != 0)
		return -ENOENT;
	memset(found, 0, sizeof(*found));
	found->group = 7;
	return cap > 0 ? 1 : -ENOSPC;
}

/* The event of a built-in table's PMD for a value of its PMC; "off", or the name of the error. */
static struct str asked(const char *table, unsigned pmd, unsigned pmc, u64 value)
{
	static char text[EVENT_EXPANDED];
	struct buf b = { .p = text, .cap = sizeof(text) };
	u64 pmcs[PMU_REGS] = { 0 };
	int r = -ENOENT;

	pmcs[pmc] = value;
	for (size_t i = 0; i < npmumap_builtin; i++) {
		struct str s = str_z(pmumap_builtin[i]);
		u32 line = 0;

		if (pmumap_next(&s, &line, &map) && strcmp(map.name, table) == 0) {
			r = pmumap_text(&map, pmd, pmcs, &b);
			break;
		}
	}
	if (r == 0)
		put_z(&b, "off");
	if (r < 0) {
		b.n = 0;
		put_z(&b, r == -EINVAL ? "EINVAL" : "an error");
	}
	return (struct str){ text, text + b.n };
}

static void test_values(void)
{
	static const struct {
		const char *table;
		unsigned pmd, pmc;
		u64 value;
		const char *want, *why;
	} rows[] = {
		{ "intel", 0, 0, 0x4300c0, "cpu/event=0xc0/", "user and kernel" },
		{ "intel", 7, 7, 0x4100c0, "cpu/event=0xc0/u", "user mode only" },
		{ "intel", 1, 1, 0x4200c0, "cpu/event=0xc0/k", "kernel mode only" },
		{ "intel", 0, 0, 0x4000c0, "off", "neither mode" },
		{ "intel", 0, 0, 0x0300c0, "off", "the EN bit is clear" },
		{ "intel", 0, 0, 0, "off", "the value in a new event set" },
		{ "intel", 0, 0, 0x6300c0, "EINVAL", "bit 21 is reserved" },
		{ "intel", 0, 0, 0x1004300c0, "EINVAL", "bit 32 is reserved" },
		{ "intel", 0, 0, 0x53412e, "cpu/event=0x2e,umask=0x41/", "the INT bit is ignored" },
		{ "intel", 0, 0, 0x1c701d1, "cpu/event=0xd1,umask=0x1,edge=0x1,inv=0x1,cmask=0x1/", "edge, inversion and counter mask" },
		{ "intel", 0, 0, 0xff4b00c0, "cpu/event=0xc0,pc=0x1,cmask=0xff/", "pin control" },
		{ "intel", 0, 0, 0x430000, "cpu/event=0x0/", "event 0 is a valid event" },
		{ "intel", 8, 8, 0x4300c0, "EINVAL", "there is no PMD 8" },
		{ "intel", 16, 16, 0x3, "cpu/event=0xc0/", "fixed counter: instructions" },
		{ "intel", 16, 16, 0x2, "cpu/event=0xc0/u", "fixed counter: user mode only" },
		{ "intel", 17, 16, 0x3, "off", "fixed counter: bits of another counter" },
		{ "intel", 17, 16, 0x10, "cpu/event=0x3c/k", "fixed counter: cycles in kernel mode" },
		{ "intel", 18, 16, 0xb00, "cpu/event=0x0,umask=0x3/", "fixed counter: reference cycles, with interrupts" },
		{ "intel", 16, 16, 0x4, "EINVAL", "the AnyThread bit is not supported" },
		{ "intel", 256, 0, 0, "EINVAL", "a virtual register has no event" },
		{ "intel", 319, 0, 0, "EINVAL", "an unused register number" },
		{ "intel", 320, 0, 0, "EINVAL", "a number after the last register" },
		{ "intel-hybrid", 3, 3, 0x4100c0, "cpu_core/event=0xc0/u", "the event is for the large cores" },
		{ "amd", 0, 0, 0x1004300c1, "cpu/event=0x1c1/", "an event in two bit fields" },
		{ "amd", 5, 5, 0x10004300c1, "EINVAL", "bits from 36 on do not belong to the event" },
		{ "amd", 5, 5, 0xf005341ff, "cpu/event=0xfff,umask=0x41/", "all bits of the event are set" },
		{ "armv8", 0, 0, 0x8, "armv8_pmuv3*/event=0x8/", "both modes" },
		{ "armv8", 5, 5, 0x80000008, "armv8_pmuv3*/event=0x8/u", "P: user mode only" },
		{ "armv8", 5, 5, 0x40000008, "armv8_pmuv3*/event=0x8/k", "U: kernel mode only" },
		{ "armv8", 5, 5, 0xc0000008, "off", "P and U: no mode" },
		{ "armv8", 5, 5, 0x08000008, "EINVAL", "NSH: a bit that is not supported" },
		{ "armv8", 31, 31, 0x80000001, "armv8_pmuv3*/event=0x11/u", "the cycle counter in user mode" },
		{ "armv8", 31, 31, 0x80000000, "off", "the cycle counter, off" },
		{ "armv8", 6, 6, 0x8, "EINVAL", "there is no PMD 6" },
		{ "armv8-cortex", 0, 0, 0x11, "armv8_cortex*/event=0x11/", "the PMU has its name in device trees" },
		{ "power", 0, 0, 0x100f2, "cpu/event=0x100f2/", "an event by its raw code" },
		{ "power", 5, 5, 0x80000000000100f2, "cpu/event=0x100f2/u", "a raw code in user mode" },
		{ "mips", 0, 0, 0x2a, "cpu/config=0x1/", "both modes, event 1" },
		{ "mips", 1, 1, 0x28, "cpu/config=0x81/u", "a counter with an odd number, in user mode" },
		{ "mips", 2, 2, 0x22, "cpu/config=0x1/k", "kernel mode only" },
		{ "mips", 2, 2, 0x20, "off", "no mode" },
		{ "software", 0, 0, 2, "1:0x2", "page faults" },
		{ "software", 7, 7, 0x80000003, "1:0x3:u", "context switches in user mode" },
		{ "software", 15, 15, 0, "1:0x0", "cpu-clock" },
		{ "software", 15, 15, 0x100, "EINVAL", "bits that belong to no event" },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check_str(asked(rows[i].table, rows[i].pmd, rows[i].pmc, rows[i].value), rows[i].want, "%s PMD %u, 0x%" PRIx64 ": %s",
			  rows[i].table, rows[i].pmd, rows[i].value, rows[i].why);
}

/* A table that is printed and read again must be printed identically. */
static void test_builtin(void)
{
	static char text[2][1 << 16];

	for (size_t i = 0; i < npmumap_builtin; i++) {
		struct str s = edge_str(pmumap_builtin[i], strlen(pmumap_builtin[i])), rest;
		struct buf b[2] = { { .p = text[0], .cap = sizeof(text[0]) }, { .p = text[1], .cap = sizeof(text[1]) } };
		u32 line = 0, more = 0;
		bool found = pmumap_next(&s, &line, &map);

		virtuals_add(&map);
		if (!check(found && !map.why && str_len(s) == 0, "built-in table %zu is valid", i)) {
			note("line %u: %s", map.line, map.why ? map.why : "");
			continue;
		}
		check((map.fits[0] == '\0') == (i + 1 == npmumap_builtin),
		      "%s: only the last table fits any machine", map.name);
		check(map.pmd[256].kind == REG_VIRTUAL && map.pmd[256].counter[0],
		      "%s: it has virtual registers", map.name);
		check_u64(map.pmc[0].kind, REG_PMC, "%s: it has PMC 0", map.name);
		check_u64(map.pmd[0].npmcs, 1, "%s: PMD 0 has one PMC", map.name);
		pmumap_put(&map, true, &b[0]);
		rest = (struct str){ text[0], text[0] + b[0].n };
		pmumap_next(&rest, &more, &again);
		pmumap_put(&again, true, &b[1]);
		check(!again.why && !b[0].full && b[0].n == b[1].n && memcmp(text[0], text[1], b[0].n) == 0,
		      "%s: the table is the same after it is printed and read", map.name);
	}
}

static void test_wrong(void)
{
	static const struct {
		const char *text;
		u32 line;
		const char *why;
	} rows[] = {
		{ "pmx 0\n", 1, "expected table" },
		{ "# a\n\n table t\n\tpmc 320\n", 4, "invalid PMC" },
		{ "pmc\n", 1, "invalid PMC" },
		{ "pmc 1-0\n", 1, "invalid PMC" },
		{ "pmc 0x1\n", 1, "invalid PMC" },
		{ "pmc 99999999999999999999\n", 1, "invalid PMC" },
		{ "pmc 0 mask\n", 1, "a value is missing" },
		{ "pmc 0 mask 64\n", 1, "mask requires" },
		{ "pmc 0 mask 1,\n", 1, "mask requires" },
		{ "pmc 0 mask 1,1\n", 1, "mask requires" },
		{ "pmc 0 default x\n", 1, "default requires" },
		{ "pmc 0 mask 0 default 2\n", 1, "default has bits" },
		{ "pmc 0 color 2\n", 1, "expected mask" },
		{ "pmc 0\npmc 0-1\n", 2, "duplicate" },
		{ "pmd 0\n", 1, "a value is missing" },
		{ "pmd 0 event\n", 1, "a value is missing" },
		{ "pmd 0 pmc 0 event x\n", 1, "without a pmc line" },
		{ "pmc 0-2\npmd 0-3 pmc 0-2 event x\n", 2, "one for each" },
		{ "pmd 0 event {0}\n", 1, "fields require a PMC" },
		{ "pmc 0\npmd 0 pmc 0 event {0\n", 2, "a { without" },
		{ "pmc 0\npmd 0 pmc 0 event a{\n", 2, "a { without" },
		{ "pmc 0\npmd 0 pmc 0 event 0}\n", 2, "a } without" },
		{ "pmc 0\npmd 0 pmc 0 event {}\n", 2, "braces require" },
		{ "pmc 0\npmd 0 pmc 0 event {0|}\n", 2, "braces require" },
		{ "pmc 0\npmd 0 pmc 0 event {0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}{0}\n", 2, "16 fields" },
		{ "pmc 0\npmd 0 pmc 0 event a enable=\n", 2, "enable requires" },
		{ "pmc 0\npmd 0 pmc 0 event a user=1-2\n", 2, "user requires" },
		{ "pmc 0\npmd 0 pmc 0 event a kernel=64\n", 2, "kernel requires" },
		{ "pmc 0\npmd 0 pmc 0 event a b\n", 2, "expected enable" },
		{ "pmd 0 counter a\n", 1, "256 to 319" },
		{ "pmd 256-257 counter a\n", 1, "256 to 319" },
		{ "pmd 256 counter\n", 1, "requires a name" },
		{ "pmd 256 event a\n", 1, "virtual" },
		{ "pmd 0 event a\npmd 0 event a\n", 2, "duplicate" },
		{ "pmd 256 counter a\npmd 256 counter b\n", 2, "duplicate" },
		{ "table\n", 1, "requires a name" },
		{ "fits\n", 1, "a value is missing" },
		{ "fits a b\n", 1, "one event" },
		{ "pmd 0 event a\nfits b\n", 2, "before registers" },
		{ "pmd 0 event a\x01\n", 1, "characters" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str s = edge_str(rows[i].text, strlen(rows[i].text)), what = str_z(rows[i].text);
		u32 line = 0;

		if (!check(pmumap_next(&s, &line, &map) && map.why && map.line == rows[i].line && strstr(map.why, rows[i].why),
			   "an error with its line: %s", show(what)))
			note("line %u: %s", map.line, map.why ? map.why : "(right)");
	}
}

/* Two tables with every keyword of the language. */
static const char all_words[] =
	"# comment\n"
	"table first one\n"
	"fits a\n"
	"fits b/c/ # and\n"
	"pmc 0-1 mask 0-7,63 default 0x80\n"
	"pmc 9 default 12\n"
	"pmd 0-1 pmc 0-1 event a/b={0-3,63},c={4|0x10},d={5}/ enable=0-3 user=6 kernel=!7\n"
	"pmd 2 event instructions\n"
	"pmd 3-4 pmc 9 event r{0-15}\n"
	"pmd 319 counter  CPU 0 utilization  \n"
	"table second\n"
	"pmd 0 event cycles";

static void test_words(void)
{
	static char text[4096];
	struct str s = edge_str(all_words, sizeof(all_words) - 1);
	struct buf b = { .p = text, .cap = sizeof(text) };
	u32 line = 0;

	check(pmumap_next(&s, &line, &map) && !map.why, "keywords: the first table is valid");
	check_str(str_z(map.name), "first one", "keywords: its name");
	check_str(str_z(map.fits), "a\nb/c/", "keywords: the events that it fits");
	check_u64(map.pmc[1].mask, 0x80000000000000ff, "keywords: a mask");
	check_u64(map.pmc[1].dflt, 0x80, "keywords: a default value");
	check_u64(map.pmc[9].mask, UINT64_MAX, "keywords: without a mask all bits are set");
	check_u64(map.pmc[2].kind, REG_NONE, "keywords: a register that is not defined");
	check_u64(map.pmd[4].pmcs[0], 9, "keywords: one PMC for two PMDs");
	check_u64(map.pmd[2].npmcs, 0, "keywords: a PMD without a PMC");
	check_str(str_z(map.pmd[319].counter), "CPU 0 utilization", "keywords: the name of a counter");
	pmumap_put(&map, false, &b);
	check(!b.full && str_find((struct str){ text, text + b.n }, (struct str)STR("pmd 1 pmc 1 event a/b={0-3,63},c={4|0x10},d={5}/ "
		"enable=0-3 user=6 kernel=!7\n")), "a line for each register");
	check(pmumap_next(&s, &line, &map) && !map.why && line == 12,
	      "keywords: the second table is valid, although its last line does not end");
	check_str(str_z(map.name), "second", "keywords: the name of the second table");
	check(map.pmc[0].kind == REG_NONE && map.pmd[1].kind == REG_NONE,
	      "keywords: the second table has no registers of the first");
	check(!pmumap_next(&s, &line, &map), "keywords: there is no third table");
}

/* Reads all tables of a text, and resolves each register with all bits and with no bits. */
static bool feed(struct str s)
{
	static char text[1 << 16];
	static u64 pmcs[2][PMU_REGS];
	u32 line = 0;

	memset(pmcs[1], 0xff, sizeof(pmcs[1]));
	while (pmumap_next(&s, &line, &map)) {
		struct buf b = { .p = text, .cap = sizeof(text) };

		if (map.why)
			return map.line == line && line > 0;
		pmumap_put(&map, true, &b);
		for (unsigned i = 0; i < 2 * PMU_REGS; i++) {
			char event[EVENT_EXPANDED];
			struct buf e = { .p = event, .cap = sizeof(event) };

			if (pmumap_text(&map, i / 2, pmcs[i % 2], &e) == -E2BIG)
				return false;
		}
	}
	return str_len(s) == 0 || line > 0;
}

static void test_full(void)
{
	static char text[1 << 17];
	struct buf b = { .p = text, .cap = sizeof(text) };
	struct str s;
	u32 line = 0;

	for (unsigned i = 0; i < 256; i++) {
		put_z(&b, "pmd ");
		put_u64(&b, i);
		put_z(&b, " event ");
		for (unsigned k = 0; k < 200; k++)
			put_c(&b, 'x');
		put_c(&b, '\n');
	}
	s = (struct str){ text, text + b.n };
	check(pmumap_next(&s, &line, &map) && map.why && strstr(map.why, "too many words") && map.line == 82,
	      "too many events: refused when the table is full");
	b.n = 0;
	put_z(&b, "pmd 0 event ");
	for (unsigned k = 0; k < 201; k++)
		put_c(&b, 'x');
	s = (struct str){ text, text + b.n };
	line = 0;
	check(pmumap_next(&s, &line, &map) && map.why && strstr(map.why, "200"),
	      "an event of 201 characters is refused");
	check(feed((struct str)STR("pmc 0\npmd 0 pmc 0 event "
		"{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63},{0-63}\n")),
	      "the longest event is accepted");
	check(!map.why, "the longest event is valid");
}

/* The environment is read only once, so each test runs in its own process. */
static void test_in_force(const char *file, const char *text, const char *fits, const char *want)
{
	char name[256];
	int fd = mkstemp(temporary_name(name, sizeof(name), "t_pmumap")), to[2];
	char got[256] = "";

	if (fd < 0 || pipe(to) || write(fd, text, strlen(text)) != (long)strlen(text)) {
		puts("Bail out! no file");
		exit(1);
	}
	close(fd);
	fflush(stdout);
	if (fork() == 0) {
		const struct pmumap *m;

		setenv("GPUSTAT_PMU_MAP", file ? file : name, 1);
		machine = fits;
		m = pmumap();
		dprintf(to[1], "%s:%u:%s", m->why ? "" : m->name, m->line, m->why ? m->why : "");
		_exit(m != pmumap());
	}
	close(to[1]);
	check(read(to[0], got, sizeof(got) - 1) > 0 && strcmp(got, want) == 0,
	      "the selected table of \"%s\" on a machine with %s", show(str_z(text)), fits);
	if (strcmp(got, want) != 0)
		note("got %s", got);
	close(to[0]);
	unlink(name);
}

static void test_event(void)
{
	struct gp_event e = { 0 };
	u64 pmcs[PMU_REGS] = { [2] = 0x80000008 };

	asked("armv8", 0, 0, 0);
	check(pmumap_event(&map, 2, pmcs, &e) == 1 && e.group == 7, "pmumap_event returns the event of gp_parse()");
	check_str(str_z(last), "armv8_pmuv3*/event=0x8/u", "pmumap_event passes the right text to gp_parse()");
	check(pmumap_event(&map, 1, pmcs, &e) == 0, "a PMC that disables the event");
	machine = "other";
	check(pmumap_event(&map, 2, pmcs, &e) == -ENOENT, "an event that the machine does not have");
	machine = NULL;
}

int main(void)
{
	struct utsname here = { 0 };

	uname(&here);
	test_builtin();
	test_values();
	test_wrong();
	test_words();
	test_full();
	test_event();
	check(replay((struct str){ all_words, all_words + sizeof(all_words) - 1 }, feed),
	      "every truncation and change of a file");
	test_in_force("", "", "cpu/event=1,cmask=1/", "intel:0:");
	test_in_force("", "", "cpu/event=0x100,cmask=1/", "amd:0:");
	test_in_force("", "", "armv8_pmuv3*/event=1/", "armv8:0:");
	test_in_force("", "", "none", "software:0:");
	test_in_force(NULL, "pmd 0 event cycles\n", "none", "own:0:");
	test_in_force(NULL, "table a\nfits x\ntable b\nfits y\ntable c\n", "y", "b:0:");
	test_in_force(NULL, "table a\nfits x\n", "y", ":0:no table fits this machine");
	test_in_force(NULL, "table a\nfits x\ntable b\nnonsense\n", "x", ":4:expected table, fits, pmc or pmd");
	test_in_force(NULL, "table a\nfits machine:nonesuch*\ntable b\nfits machine:*\nfits x\n", "x", "b:0:");
	test_in_force("", "", "cpu/config=1/", strncmp(here.machine, "mips", 4) ? "software:0:" : "mips:0:");
	test_in_force(NULL, "", "x", ":0:no table fits this machine");
	test_in_force("/nowhere", "", "x", ":0:cannot be read");
	return unit_end();
}
