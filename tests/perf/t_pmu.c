/* t_pmu.c - unit test of sources/perf/pmu.c: PMUs and terms in a /sys made of files, messages, groups,
 * the attributes of events. t_virtual.c tests what events_add() stores for whole machines.
 * SPDX-License-Identifier: MIT */
#include "../../sources/perf/pmu.c"

#include "folder.h"

static char why_bytes[1000];

/* Returns the message of a list; empty: its events were added. */
static struct str add(const char *list)
{
	struct buf why = BUF(why_bytes);

	return events_add(str_z(list), 0, &why) ? LIT("") : str_of(why.p, why.n);
}

static void pmu_file(const char *name, const char *text)
{
	put(in_folder(DEVICES "/%s", name), text);
}

/* --- files ------------------------------------------------------------------------------------ */

static void t_leaves(void)
{
	static const struct {
		const char *name;
		bool is;
	} rows[] = {
		{ "cycles", true }, { "a.unit", true }, { "", false }, { ".", false }, { "..", false },
		{ ".hidden", false }, { "a/b", false }, { "/", false },
	};
	char name[257];

	for (size_t i = 0; i < LEN(rows); i++)
		check(is_leaf(str_z(rows[i].name)) == rows[i].is,
		      "'%s' as a name in /sys is %s", rows[i].name,
		      rows[i].is ? "a file name" : "no file name");
	memset(name, 'n', 256);
	check(is_leaf(str_of(name, 255)) && !is_leaf(str_of(name, 256)),
	      "a file name has at most 255 bytes");
	check_str(str_z(path_make("a", LIT("b"), "/", LIT("c"), ".d")), "a/b/c.d",
	          "path_make() joins a PMU and an event");
	check_str(str_z(path_make("a", LIT("../b"), "/", LIT("c"), "")), "",
	          "path_make() refuses a PMU with a slash");
	check_str(str_z(path_make("a", LIT("b"), "/", LIT(""), "")), "",
	          "path_make() refuses an empty event");
	check(is_detail(LIT("x.unit")) && is_detail(LIT("x.per-pkg")) && !is_detail(LIT(".unit")) &&
	      !is_detail(LIT("unit")) && !is_detail(LIT("x.units")),
	      "files that describe an event are recognized by their suffix");
}

static void t_names(void)
{
	const struct names *l;

	put_folder(in_folder("names/b"));
	put_folder(in_folder("names/a10"));
	put_folder(in_folder("names/a9"));
	l = names_read(INSIDE, "names");
	check_u64(l->n, 3, "a folder of three entries has three names");
	check_str(name_at(l, 0), "a9", "names are ordered by the numbers in them");
	check_str(name_at(l, 1), "a10", "names are ordered by numbers of two digits, too");
	check_str(name_at(l, 2), "b", "the last name is last in the order");
	check_u64(names_read(INSIDE, "none")->n, 0, "a missing folder has no names");
}

/* --- PMUs ------------------------------------------------------------------------------------- */

static void make_pmus(void)
{
	pmu_file("p/type", "8\n");
	pmu_file("p/cpumask", "0,64\n");
	pmu_file("p/format/ev", "config:0-7\n");
	pmu_file("p/format/wide", "config1:0-63\n");
	pmu_file("p/format/odd", "what:0-7\n");
	pmu_file("p/events/alias", "ev=0x12\n");
	pmu_file("p/events/alias.unit", "MiB\n");
	pmu_file("p/events/alias.scale", "0.25\n");
	pmu_file("p/events/open", "ev=?,wide=3\n");
	pmu_file("cpu/type", "4\n");
	pmu_file("large/type", "4294967296\n");
	pmu_file("typeless/x", "");
}

static void t_pmus(void)
{
	char name[65];
	u32 p = pmu_open(LIT("p"));

	memset(name, 'n', sizeof(name));
	check(p != NONE && pmus[p].type == 8 && pmus[p].wide && !pmus[p].core &&
	      pmus[p].cpus.w[0] == 1 && pmus[p].cpus.w[1] == 1,
	      "a PMU has its type and its CPUs 0 and 64");
	check(pmu_open(LIT("p")) == p, "a PMU is read once");
	p = pmu_open(LIT("cpu"));
	check(p != NONE && pmus[p].core && !pmus[p].wide, "the PMU of the cores is recognized");
	check(pmu_open(LIT("large")) == NONE && pmu_open(LIT("typeless")) == NONE &&
	      pmu_open(LIT("none")) == NONE,
	      "a PMU without a valid type is refused, and a missing PMU");
	check(pmu_open(str_of(name, 64)) == NONE, "a PMU with a name of 64 bytes is refused");
}

/* --- terms ------------------------------------------------------------------------------------ */

static void t_messages(void)
{
	static const char *const rows[][2] = {
		{ "p/ev=256/", "p/ev=256/: ev is at most 255" },
		{ "p/ev=x/", "p/ev=x/: not a number: \"x\"" },
		{ "p/odd=1/", "p/odd=1/: unknown kernel format of the term \"odd\"" },
		{ "p/none=1/", "p/none=1/: no term \"none\"; the p PMU has: ev odd wide" },
		{ "p/none/", "p/none/: no event or term \"none\"; the p PMU has: alias open" },
		{ "p/ev=1,cpu=0/", "p/ev=1,cpu=0/: unsupported term \"cpu\"" },
		{ "p/ev=1,period=0/", "p/ev=1,period=0/: must be more than 0: \"period\"" },
		{ "p/ev=1,name/", "p/ev=1,name/: no value for the term \"name\"" },
		{ "p/open/", "p/open/: required terms: ev=" },
		{ "large/x/", "large/x/: the kernel reports no type of the PMU \"large\"" },
		{ "q/x/", "q/x/: no PMU \"q\"; there are: cpu large p typeless" },
		{ "cycles/x=1/", "cycles/x=1/: no term \"x\"; a generic event has: "
		  "name period freq inherit no-inherit config1 to config4" },
		{ "uprobe/path=x/", "uprobe/path=x/: no PMU \"uprobe\"; there are: cpu large p typeless" },
	};
	u32 had = nrows.events;

	for (size_t i = 0; i < LEN(rows); i++) {
		check_str(add(rows[i][0]), rows[i][1], "message of %s", rows[i][0]);
		check(nrows.events == had, "a refused event is not added");
	}
}

static void t_terms(void)
{
	const struct event *e = events + nrows.events + 1;

	check_str(add("p/alias/,p/alias,ev=3/,p/ev=255,wide=0xffffffffffffffff/,p/open,ev=7/"), "",
	          "four events with terms are added");
	check(e[0].type == 8 && e[0].config[0] == 0x12 && e[0].scale == 25 && e[0].scale_point == 2 &&
	      text_eq(e[0].unit, LIT("MiB")), "an alias has its config, unit and scale");
	check(e[1].config[0] == 3, "a term of the user replaces that of the alias");
	check(e[2].config[0] == 255 && e[2].config[1] == UINT64_MAX, "the largest values of terms");
	check(e[3].config[0] == 7 && e[3].config[1] == 3,
	      "a term that the alias leaves open has the user's value");
	check(find_word(LIT("path"), false) == W_UNKNOWN && find_word(LIT("path"), true) == W_PATH &&
	      find_word(LIT("config4"), false) == 4,
	      "terms of probes are refused for other events");
	check(has_term(LIT("a=1,b"), LIT("a")) && !has_term(LIT("a=1,b"), LIT("b")),
	      "has_term() finds only terms with a value");
	check(has_wild(LIT("a*")) && has_wild(LIT("?")) && !has_wild(LIT("a")) && !has_wild(LIT("")),
	      "has_wild() finds patterns");
}

static void t_groups(void)
{
	const struct event *e = events + nrows.events + 1;
	u32 had = nrows.events;
	char list[1024] = "{cs";

	check_str(add("{cs,cs}:u,{cs,cs},cs"), "", "two groups are added");
	check(e[0].group == e[1].group && e[2].group == e[3].group && e[2].group == e[0].group + 1 &&
	      e[4].group == 0 && e[0].mods == EM_USER && e[2].mods == 0,
	      "groups have numbers, and modifiers for all members");
	check(group_size(had + 1) == 2 && group_size(had + 5) == 1, "groups have their sizes");
	for (int i = 1; i < 64; i++)
		strcat(list, ",cs");
	strcat(list, "}");
	check_str(add(list), "", "a group of 64 events is added");
	list[strlen(list) - 1] = '\0';
	strcat(list, ",cs}");
	check(str_find(add(list), LIT("more than 64 events in a group")),
	      "a group of 65 events is refused");
}

/* --- attributes ------------------------------------------------------------------------------- */

static struct perf_event_attr attr_of(const struct event *ev, bool leader)
{
	struct perf_event_attr a;
	struct gp_event e;

	event_attr(ev, leader, &e);
	memcpy(&a, e.attr, sizeof(e.attr) < sizeof(a) ? sizeof(e.attr) : sizeof(a));
	return a;
}

static void t_attributes(void)
{
	struct event ev = { .type = 1, .config = { 5, 6, 7 }, .precise = 2, .mods = EM_KERNEL | EM_PINNED };
	struct perf_event_attr a = attr_of(&ev, true);

	check(a.type == 1 && a.config == 5 && a.config1 == 6 && a.config2 == 7 && a.precise_ip == 2 &&
	      a.disabled && a.pinned && !a.exclusive, "attributes of a leader");
	check(a.exclude_user && !a.exclude_kernel && a.exclude_hv && !a.exclude_guest && !a.exclude_idle,
	      "attributes of kernel only");
	a = attr_of(&ev, false);
	check(!a.disabled && !a.pinned, "attributes of a member: neither disabled nor pinned");
	ev.mods = EM_GUEST | EM_IDLE;
	a = attr_of(&ev, true);
	check(a.exclude_host && !a.exclude_guest && a.exclude_idle && !a.exclude_user,
	      "attributes of guests only");
	ev.mods = 0;
	a = attr_of(&ev, true);
	check(!a.exclude_user && !a.exclude_kernel && !a.exclude_hv && !a.exclude_host && !a.exclude_guest,
	      "attributes without modifiers: no context is excluded");
}

static void t_resolved(void)
{
	static const struct event ev = { .type = 4, .config = { 0x1a, 0, 0, 0, 1 }, .precise = 3,
		.mods = EM_USER | EM_EXCLUSIVE, .period = 99, .freq = true };
	char text[200];
	struct buf b = BUF(text);

	put_attr(&b, &ev);
	check_str(str_of(b.p, b.n), " type=4 config=0x1a config1=0 config2=0 config4=0x1 "
		  "exclude_kernel=1 exclude_hv=1 precise_ip=3 exclusive=1 freq=99",
	          "put_attr() prints the attributes of an event");
}

static void t_parsed(void)
{
	struct gp_event e[3];
	u32 had = nrows.events;
	char why[16];

	check(gp_parse("{p/alias/,p/ev=1/},cs", e, 3, why, sizeof(why)) == 3 && !why[0],
	      "gp_parse() returns three events");
	check(e[0].group == 1 && e[1].group == 1 && e[2].group == 0 && e[0].wide && !e[2].wide &&
	      e[0].cpus[0] == 0 && e[0].cpus[1] == 64 && e[0].cpus[2] == -1 && e[2].cpus[0] == -1,
	      "gp_parse() returns the groups of events, and the CPUs of wide events");
	check(strcmp(e[0].unit, "MiB") == 0 && e[0].scale == 25,
	      "gp_parse() returns unit and scale");
	check(gp_parse("cs,cs", e, 1, why, sizeof(why)) == -ENOSPC && strlen(why) <= 15,
	      "gp_parse() with room for one of two events fails with ENOSPC");
	check(gp_parse("p/none/", e, 1, NULL, 0) == -ENOENT,
	      "gp_parse() of a missing event fails with ENOENT");
	check(gp_parse("cs:z", e, 1, NULL, 0) == -EINVAL && gp_parse(NULL, e, 1, NULL, 0) == -EFAULT &&
	      gp_parse("cs", NULL, 1, NULL, 0) == -EFAULT,
	      "gp_parse() with invalid arguments fails");
	check(nrows.events == had, "gp_parse() leaves no event in the tables");
}

/* The reason why there is no tracepoint: no tracefs, or a tracefs that may not be read. */
static void t_tracefs(void)
{
	check(str_find(add("s*:o*"), LIT("tracefs is not mounted")),
	      "without tracefs, the reason is that it is not mounted");
	put_folder(in_folder("kernel/tracing/events"));
	chmod(in_folder("kernel/tracing"), 0);
	rights_drop(true);
	check(str_find(add("s*:o*"), LIT("only root can read tracefs")),
	      "with a tracefs that may not be read, the reason names root");
	rights_drop(false);
	chmod(in_folder("kernel/tracing"), 0700);
}

static void t_descriptors(void)
{
	unsigned had = fds_open();

	put(in_folder("kernel/tracing/events/sys/one/id"), "7\n");
	check_str(add("sys:one"), "", "a tracepoint is added");
	check_str(add("s*:o*"), "", "tracepoints of a pattern are added");
	check(str_len(add("sys:none")) > 0 && trace_root(&(long){ 0 }),
	      "a missing tracepoint is refused");
	check_u64(fds_open(), had, "no folder of tracefs remains open");
}

/* Returns how many rows of the table with this name were left out since the last call. */
static u32 left_out(const char *name)
{
	const struct table *t;
	u32 n, sum = 0;

	while ((t = table_full(&n)))
		sum += strcmp(t->name, name) == 0 ? n : 0;
	return sum;
}

/* Fills each table and adds one row: those before the limit are right, the others are reported. */
static void t_full(void)
{
	u32 dropped = registry.dropped, had = nrows.pmus, bad = 0, n = 0;
	const struct names *l;
	struct names *names;
	const char *kept_path = NULL;
	char name[256];

	left_out("");
	for (u32 i = 0; i <= MAX_NAMES; i++)
		put(in_folder("many/e%u", (unsigned)i), "");
	l = names_read(INSIDE, "many");
	for (u32 i = 1; i < l->n; i++)
		bad += str_order(name_at(l, i - 1), name_at(l, i)) >= 0;
	check(!bad && l->n == MAX_NAMES && registry.dropped == dropped + 1,
	      "full list of names: those before the limit are sorted, one more is counted");
	names = pmulist.folders[INSIDE];
	names->n = 0;
	names->used = NAMES_HEAD;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (; registry.dropped == dropped + 1 && n < MAX_NAMES; n++)
		names_add(&folder_tables[INSIDE], names, name);
	check(n == (NAMES_BYTES - NAMES_HEAD) / sizeof(name) + 1 && names->n == n - 1 && left_out("bytes of names of events") == 1 &&
	      str_len(name_at(names, names->n - 1)) == 255, "full list of names: one more long name is counted");

	for (u32 i = had; i + 1 < MAX_PMUS; i++) {
		snprintf(name, sizeof(name), "q%u/type", (unsigned)i);
		pmu_file(name, "9\n");
		snprintf(name, sizeof(name), "q%u", (unsigned)i);
		bad += pmu_open(str_z(name)) != i + 1;
	}
	pmu_file("more/type", "9\n");
	check(!bad && nrows.pmus == MAX_PMUS - 1 && pmu_open(LIT("more")) == NONE && left_out("PMUs") == 1,
	      "full table of PMUs: one more is reported");
	check(pmu_open(LIT("p")) != NONE && pmu_open(str_z(name)) == MAX_PMUS - 1, "full table of PMUs: those before the limit are found");

	nrows.events = MAX_EVENTS - 2;
	check_str(add("cs"), "", "the last event");
	check(nrows.events == MAX_EVENTS - 1 && events[MAX_EVENTS - 1].type == PT_SOFTWARE && str_find(add("cs"), LIT("more than 4096 events")) &&
	      nrows.events == MAX_EVENTS - 1, "full table of events: one more is refused with a message");
	nrows.events = 0;

	for (n = 0; n == 0 || kept_path; n++) {
		snprintf(name, sizeof(name), "/bin/%0240u", (unsigned)n);
		kept_path = path_keep(text_put(NONE, str_z(name)));
		bad += kept_path && strcmp(kept_path, name) != 0;
	}
	check(!bad && n > 60 && left_out("bytes of probes' paths") == 1, "full table of paths: those before the limit are kept, one more is reported");
}

int main(void)
{
	folder_begin("pmu");
	root_set(&roots.sys, tmp_folder);
	root_set(&roots.proc, in_folder("proc"));
	table_all(&events_table);
	make_pmus();
	t_leaves();
	t_names();
	t_pmus();
	t_messages();
	t_terms();
	t_groups();
	t_attributes();
	t_resolved();
	t_parsed();
	t_tracefs();
	t_descriptors();
	t_full();
	shell("rm -rf \"$D\"");
	return unit_end();
}
