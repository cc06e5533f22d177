/* fuzz_pmu.c - any bytes as the files of PMUs in /sys (type, format, events with their scales and
 * units, cpumask), and as requests: the first line is a list of events, the files follow. A parsed
 * event is written as raw numbers of its PMU, which must parse to the same event. The file "names"
 * is that of --pmu-file. SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"
#include "commands/commands.h"
#include "gpustat/perf.h"

static char why_b[4096], text_b[1 << 16];

static void put_term(struct buf *b, const char *name, u64 v)
{
	if (b->p[b->n - 1] != '/')
		put_c(b, ',');
	put_z(b, name);
	put_c(b, '=');
	put_u64(b, v);
}

/* Writes an event as raw numbers of its PMU. False: it has no such text. */
static bool put_event(struct buf *b, const struct event *ev)
{
	static const char *const configs[] = { "config", "config1", "config2", "config3", "config4" };
	static const char letters[] = "ukhIGHPSDeWbRX";
	const char *name = pmus[ev->pmu].name;

	if (!ev->pmu || ev->path || ev->virt || ev->bp || ev->type != pmus[ev->pmu].type || pmus[ev->pmu].type < 6 ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") != strlen(name) || strcmp(name, "uprobe") == 0 ||
	    strcmp(name, "kprobe") == 0 || (name[0] >= '0' && name[0] <= '9'))
		return false;
	put_z(b, name);
	put_c(b, '/');
	for (size_t i = 0; i < MAX_CONFIGS; i++)
		put_term(b, configs[i], ev->config[i]);
	if (ev->period)
		put_term(b, ev->freq ? "freq" : "period", ev->period);
	if (ev->no_inherit)
		put_z(b, ",no-inherit");
	put_c(b, '/');
	for (size_t i = 0; letters[i]; i++)
		if (ev->mods >> i & 1)
			put_c(b, letters[i]);
	for (u8 i = 0; i < ev->precise; i++)
		put_c(b, 'p');
	return true;
}

static void event_again(const struct event *ev)
{
	struct buf why = BUF(why_b), b = BUF(text_b);
	struct gp_event a, c;
	u32 was = nrows.events;
	bool any = false;

	if (!put_event(&b, ev))
		return;
	if (!events_add((struct str){ b.p, b.p + b.n }, 0, &why)) {
		fprintf(stderr, "%.*s: %.*s\n", (int)b.n, b.p, (int)why.n, why.p);
		must(false, "the raw numbers of an event can be parsed");
	}
	event_attr(ev, true, &a);
	for (u32 i = was + 1; i <= nrows.events; i++) {
		event_attr(&events[i], true, &c);
		any |= memcmp(a.attr, c.attr, sizeof(a.attr)) == 0 && a.precise == c.precise && events[i].mods == ev->mods &&
		       events[i].period == ev->period && events[i].freq == ev->freq && events[i].no_inherit == ev->no_inherit;
	}
	if (!any)
		fprintf(stderr, "%.*s\n", (int)b.n, b.p);
	must(any, "the raw numbers of an event are the same event");
}

static void listed(struct str name, struct str unit, struct str what)
{
	must(name.p <= name.e && unit.p <= unit.e && what.p <= what.e, "a listed event has valid views");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = { (const char *)data, (const char *)data + n }, list = { 0 };
	struct buf why = BUF(why_b), b = BUF(text_b);
	u32 made;

	if (n > 1 << 15 || !str_cut(&s, '\n', &list))
		return 0;
	program_reset();
	files_set(s);
	opt.pmu_file = "names"; /* an input without this file has no names */
	if (!read_events_file())
		must(files_warned > 0 && events_given.aliases.p == events_given.aliases.e, "a file that cannot be read has a message, and is not used");
	if (!events_add(list, 0, &why))
		must(why.n > 0 && is_clean((struct str){ why_b, why_b + why.n }, false) && nrows.events == 0, "a rejected list has a reason in clean text");
	made = nrows.events;
	events_resolve(&b);
	must(b.full || is_clean((struct str){ text_b, text_b + b.n }, true), "output is clean text");
	for (u32 i = 1; i <= made && i <= 8; i++)
		event_again(&events[i]);
	events_list(list, listed);
	events_named(listed);
	/* twice: the last listed counter still counts as requested after the first call */
	host_trim();
	host_trim();
	src_sysfs.rest(); /* listed counters of a GPU keep its sensors open until this call */
	must(files_open() == 0, "no file stays open");
	return 0;
}
