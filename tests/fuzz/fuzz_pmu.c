/* fuzz_pmu.c - any bytes as the files of PMUs in /sys (type, format, events with their scales and units, cpumask), and as
 * what is asked of them: the first line is a list of events, the files follow. An event made of it is written as one of its
 * PMU's numbers, and that makes the same again. The file "names" is --pmu-file's. SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"
#include "commands.h"
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

/* As raw numbers of its PMU. False: there is no such text of it. */
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
	u32 was = nevents;
	bool any = false;

	if (!put_event(&b, ev))
		return;
	if (!events_add((struct str){ b.p, b.p + b.n }, 0, &why)) {
		fprintf(stderr, "%.*s: %.*s\n", (int)b.n, b.p, (int)why.n, why.p);
		must(false, "an event that was made can be made of its numbers");
	}
	event_attr(ev, true, &a);
	for (u32 i = was + 1; i <= nevents; i++) {
		event_attr(&events[i], true, &c);
		any |= memcmp(a.attr, c.attr, sizeof(a.attr)) == 0 && a.precise == c.precise && events[i].mods == ev->mods &&
		       events[i].period == ev->period && events[i].freq == ev->freq && events[i].no_inherit == ev->no_inherit;
	}
	if (!any)
		fprintf(stderr, "%.*s\n", (int)b.n, b.p);
	must(any, "and it is the same");
}

static void listed(struct str name, struct str unit, struct str what)
{
	must(name.p <= name.e && unit.p <= unit.e && what.p <= what.e, "a listed event is one");
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
	opt.pmu_file = "names"; /* where the input has none, there are none */
	if (!read_events_file())
		must(files_warned > 0 && events_file.p == events_file.e, "what cannot be read is said, and is not used");
	if (!events_add(list, 0, &why))
		must(why.n > 0 && is_clean((struct str){ why_b, why_b + why.n }, false) && nevents == 0, "a refusal has a clean reason");
	made = nevents;
	events_resolve(&b);
	must(b.full || is_clean((struct str){ text_b, text_b + b.n }, true), "what is shown is clean");
	for (u32 i = 1; i <= made && i <= 8; i++)
		event_again(&events[i]);
	events_list(list, listed);
	events_named(listed);
	host_trim(); /* twice: what was listed last counts as asked for */
	host_trim();
	src_sysfs.rest(); /* what is listed of a GPU keeps its sensors open until then */
	must(files_open() == 0, "no file stays open");
	return 0;
}
