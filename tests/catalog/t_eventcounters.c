/* t_eventcounters.c - unit test of sources/catalog/eventcounters.c: full tables. The events and the
 * kernel are simulated; t_catalog.c counts real events. SPDX-License-Identifier: MIT */
#define gp_open   fake_open
#define gp_enable fake_enable
#define gp_read   fake_read
#define gp_scaled fake_scaled
#include "../../sources/catalog/eventcounters.c"

#include "listed.h"

static long nattrs = 1;

int fake_open(struct gp_event *e, int pid, int cpu, int group)
{
	(void)e, (void)pid, (void)cpu, (void)group;
	return 100000;
}

int fake_enable(int fd) { return fd == 100000 ? 0 : -EBADF; }

int fake_read(int fd, uint64_t format, struct gp_count *c, int cap)
{
	(void)fd, (void)format;
	*c = (struct gp_count){ .value = 1, .enabled = 1, .running = 1 };
	return cap;
}

uint64_t fake_scaled(const struct gp_count *c) { return c->value; }

void events_named(void (*found)(struct str, struct str, struct str))
{
	static const char *const names[] = { "ftrace:function", "cycles", "ftrace:print", "hv/a,lpar=?/" };

	for (size_t i = 0; i < LEN(names); i++)
		found(str_z(names[i]), LIT(""), LIT(""));
}

bool perf_hardened(void) { return false; }
bool cpu_has(const struct cpuset *s, u32 cpu) { return s->w[cpu / 64] >> cpu % 64 & 1; }

bool cpus_online(struct cpuset *cpus)
{
	*cpus = (struct cpuset){ .w = { 3 } };
	return true;
}

long events_attr(struct str list, struct gp_event *to, size_t cap, struct buf *why)
{
	(void)list, (void)why;
	if ((size_t)nattrs > cap)
		return -ENOSPC;
	memset(to, 0, (size_t)nattrs * sizeof(*to));
	return nattrs;
}

/* Returns the number of rows of this table that were left out since the last call. */
static u32 left_out(const char *name)
{
	const struct table *t;
	u32 n, sum = 0;

	while ((t = table_full(&n)))
		sum += strcmp(t->name, name) == 0 ? n : 0;
	return sum;
}

int main(void)
{
	u32 dropped, at;
	u64 v = 0, total;

	list_events();
	check(listed_has("linux: perf/cpu/all/cycles") && listed_has("linux: perf/tracepoint/ftrace/print") && eventlist.nslots == 2,
	      "each event is a counter, except ftrace:function and events with parameters");
	listed.n = 0;
	eventlist.listed = false;
	at = event_slot("a");

	check(slot_acquire(at) == 0 && eventlist.ncpu_events == 2 && slot_read(at, &v, &total) == 0 && v == 2,
	      "the count of an event is the sum over two CPUs");
	slot_release(at);
	dropped = registry.dropped;
	table_all(&eventlist_tables.cpu_events);
	eventlist.ncpu_events = MAX_CPU_EVENTS - 2;
	eventlist.free_cpu_event = 0;
	check(slot_acquire(at) == -ENOSPC && eventlist.slots[at].first == 0 && eventlist.ncpu_events == MAX_CPU_EVENTS - 1 &&
	      registry.dropped == dropped + 1 && left_out("counters' events on CPUs") == 1,
	      "full table of open events: a counter without room on one CPU has no event, and is counted");
	slot_release(at);
	nattrs = MAX_EVENT_PMUS;
	eventlist.ncpu_events = eventlist.free_cpu_event = 0;
	check(slot_acquire(at) == 0 && eventlist.ncpu_events == 2 * MAX_EVENT_PMUS,
	      "an event of 64 PMUs is opened on each of them");
	slot_release(at);
	nattrs++;
	check(slot_acquire(at) == -ENOSPC && !eventlist.slots[at].first, "an event of 65 PMUs is not opened in part");
	slot_release(at);
	table_all(&eventlist_tables.slots);
	eventlist.nslots = MAX_SLOTS - 1;
	check(slot_new(LIT("last")) == MAX_SLOTS - 1 && slot_new(LIT("more")) == MAX_SLOTS && slot_acquire(MAX_SLOTS) == -ENOENT,
	      "full table of counters: one more event has no number");
	list_events();
	check(!listed_has("cycles") && listed.n == 0 && registry.dropped == dropped + 3 && left_out("counters of events") == 3,
	      "full table of counters: each event that cannot be listed is counted");
	return unit_end();
}
