/* eventcounters.c - provider of perf events: counters perf/CLASS/INSTANCE/EVENT, which count an
 * event on every CPU. SPDX-License-Identifier: MIT */
#include "gpustat/perf.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "built.h"
#include "sources/catalog/catalog.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum {
	MAX_SLOTS = 8192,       /* maximum number of counters of perf events */
	/* maximum number of open descriptors of perf events: 64 events on 256 CPUs */
	MAX_CPU_EVENTS = 16384,
	/* maximum number of PMUs that can count the same event, for example memory controllers */
	MAX_EVENT_PMUS = 64,
	NAME_CAP = 320,
	/* time in ns that an event may be enabled without running; after a longer time, the value
	 * of its counter is unknown */
	MAX_NOT_RUNNING = 10000000,
	/* decimal places of counters in Joules, whose values are stored in millionths of a Joule */
	MICRO = 6,
};

/* A perf event that is open on one CPU. */
struct cpu_event {
	int fd;
	u32 next; /* index in cpu_events[] of the next open event of the same counter; 0: none */
	u64 read_format, scale;
	/* time_enabled of the event in ns at the last check of slot_read(): if it has not increased
	 * at the next check, the kernel has dropped the event */
	u64 enabled;
	u8 point;
	bool micro;
};

/* A counter of perf events. The provider identifies it by its index in eventlist.slots[]. */
struct slot {
	/* names of events separated by blanks, of which the first one that exists is counted;
	 * stored by text_put() */
	u32 events;
	u32 opened;  /* number of calls that opened this counter and were not followed by a close */
	u32 first;   /* index in cpu_events[] of the counter's first open event; 0: none */
	/* enum cstate: missing permission because of which the counter could not be opened;
	 * CS_COUNTED: no permission was missing */
	u8 refusal;
	/* time in ns of the last check whether the kernel has dropped events of this counter */
	i64 t;
	/* value of the counter when its events were last opened again, because the kernel had
	 * dropped some of them when a CPU went offline; 0 if they were never opened again */
	u64 base;
	/* value of the counter: the highest sum over all CPUs so far, because the scaled sum can
	 * decrease a little with multiplexing */
	u64 highest;
};

/* --- the list --------------------------------------------------------------------------------- */

static struct {
	struct cpu_event *cpu_events;
	u32 ncpu_events, free_cpu_event;
	struct slot *slots;
	u32 nslots;
	bool listed; /* true if list_events() has added all perf events to the list of counters */
	/* attributes of the perf event that is being opened: one element for each PMU that has the
	 * event */
	struct gp_event *pmu_events;
} eventlist;
static struct {
	struct table cpu_events, slots, pmu_events;
} eventlist_tables = {
	.cpu_events = TABLE_ROW(eventlist.cpu_events, MAX_CPU_EVENTS, 16,
					"counters' events on CPUs"),
	.slots = TABLE_ROW(eventlist.slots, MAX_SLOTS, 16, "counters of events"),
	.pmu_events = TABLE_ROW(eventlist.pmu_events, MAX_EVENT_PMUS, 1, "PMUs of an event"),
};

static u32 slot_new(struct str list)
{
	if (!table_has(&eventlist_tables.slots, eventlist.nslots))
		return MAX_SLOTS;
	eventlist.slots[eventlist.nslots] = (struct slot){ .events = text_put(NONE, list) };
	return eventlist.nslots++;
}

u32 event_slot(const char *list)
{
	for (u32 i = 0; i < eventlist.nslots; i++)
		if (text_eq(eventlist.slots[i].events, str_z(list)))
			return i;
	return list[0] ? slot_new(str_z(list)) : MAX_SLOTS;
}

/* Appends the name of a perf event's counter: perf/CLASS/INSTANCE/EVENT. */
static void put_name(struct buf *b, struct str event)
{
	struct str rest = event, part;
	u32 type = PT_HARDWARE;
	u64 config;

	put_z(b, "perf/");
	if (memchr(event.p, '/', str_len(event)) && str_cut(&rest, '/', &part)) {
		put_str(b, part);
		put_z(b, "/all/");
		str_cut(&rest, '/', &part);
		put_str(b, part);
	} else if (memchr(event.p, ':', str_len(event)) && str_cut(&rest, ':', &part)) {
		put_z(b, "tracepoint/");
		put_str(b, part);
		put_c(b, '/');
		put_str(b, rest);
	} else {
		parse_evname(event, &type, &config);
		put_z(b, type == PT_SOFTWARE ? "software/all/" : "cpu/all/");
		put_str(b, event);
	}
}

/* Adds a counter for this event to the list of counters. Adds none for an event with parameters
 * that the user must supply ("=?" in its name), and none for ftrace:function. Only for this
 * tracepoint, which counts all calls of kernel functions, perf_event_open(2) asks the security
 * module even if no samples are taken (perf_trace_event_perm() of
 * kernel/trace/trace_event_perf.c), and some kernels refuse it even to root. */
static void event_add(struct str event, struct str unit, struct str what)
{
	char name[NAME_CAP];
	struct buf b = BUF(name);
	struct counter_info n = {
		.vendor = S("linux"),
		.what = what.p < what.e ? what : S("tracepoint: number of hits"),
		.unit = str_is(unit, "Joules") ? S("uJ") : unit, .rule = R_COUNT, .max = UINT64_MAX
	};
	u32 at, type;
	u64 config;

	put_name(&b, event);
	if (parse_evname(event, &type, &config) && type == PT_SOFTWARE && config < 2)
		n.unit = S("ns"); /* unit of the software events cpu-clock and task-clock */
	if (str_is(unit, "MHz"))
		/* i915's frequency events add up the frequency in MHz over time, so their rate is
		 * the mean frequency in MHz */
		n.rule = R_RATE;
	n.name = (struct str){ name, name + b.n };
	if (b.full || str_find(event, S("=?")) || str_is(event, "ftrace:function") ||
	    catalog_has(n.vendor, n.name))
		return;
	at = slot_new(event);
	if (at == MAX_SLOTS)
		registry.dropped++;
	else
		catalog_add(PROVIDER_EVENT, at, &n);
}

/* Adds all perf events to the list of counters. Later calls do nothing, because there are some 2500
 * tracepoints. */
static void list_events(void)
{
	if (!eventlist.listed)
		events_named(event_add);
	eventlist.listed = true;
}

/* --- open ------------------------------------------------------------------------------------- */

static u32 cpu_event_new(void)
{
	u32 i = eventlist.free_cpu_event;

	if (i)
		eventlist.free_cpu_event = eventlist.cpu_events[i].next;
	else if (table_has(&eventlist_tables.cpu_events, eventlist.ncpu_events + 1))
		i = ++eventlist.ncpu_events;
	else
		registry.dropped++;
	return i;
}

static void cpu_events_close(struct slot *s)
{
	while (s->first) {
		u32 i = s->first;

		sys_close(eventlist.cpu_events[i].fd);
		s->first = eventlist.cpu_events[i].next;
		eventlist.cpu_events[i].next = eventlist.free_cpu_event;
		eventlist.free_cpu_event = i;
	}
}

/* Opens a perf event on one CPU, enables it, and adds it to the open events of the counter s.
 * Returns 0 or -errno. */
static long cpu_event_open(struct slot *s, struct gp_event *e, i32 cpu)
{
	int fd = gp_open(e, -1, cpu, -1);
	u32 i = fd < 0 ? 0 : cpu_event_new();
	const struct perf_event_attr *attr = (const struct perf_event_attr *)(const void *)e->attr;

	if (fd < 0)
		return fd;
	if (!i) {
		sys_close(fd);
		return -ENOSPC;
	}
	eventlist.cpu_events[i] = (struct cpu_event){ .fd = fd, .next = s->first, .scale = e->scale,
					    .point = e->scale_point,
					    .read_format = attr->read_format,
					    .micro = strcmp(e->unit, "Joules") == 0 };
	s->first = i;
	return gp_enable(fd);
}

/* Returns whether the error r (-errno) means only that a CPU does not have the event, or is
 * offline. Any other error makes the whole counter fail: if descriptors run out, for example, a
 * count of only some CPUs would be wrong. */
static bool is_cpu_error(long r)
{
	return r == -ENODEV || r == -ENOENT || r == -EOPNOTSUPP || r == -EINVAL;
}

/* Returns the combined result of opening an event on several CPUs: 0 if the event was opened on any
 * CPU and is_cpu_error() is true for all errors, else -errno. r: result for the CPUs so far; one:
 * result for the next CPU. */
static long result_merge(long r, long one)
{
	return r == 0 && (one == 0 || is_cpu_error(one)) ? 0 : one;
}

/* Opens a perf event on every CPU that can count it. Returns 0 if at least one CPU can count it,
 * else the last -errno. */
static long cpu_events_open(struct slot *s, struct gp_event *e)
{
	static struct cpuset all;
	long r = -ENOENT;

	for (size_t i = 0; e->wide && i < LEN(e->cpus) && e->cpus[i] >= 0 &&
	     (r == 0 || is_cpu_error(r)); i++)
		r = result_merge(r, cpu_event_open(s, e, e->cpus[i]));
	if (e->wide || !cpus_online(&all))
		return r;
	for (u32 cpu = 0; cpu < MAX_CPUS && (r == 0 || is_cpu_error(r)); cpu++)
		if (cpu_has(&all, cpu))
			r = result_merge(r, cpu_event_open(s, e, (i32)cpu));
	return r;
}

static long event_open(struct slot *s, struct str event)
{
	/* a buffer with room for 0 bytes, because the error message of events_attr() is not
	 * needed */
	struct buf why = { .p = (char *)s };
	/* table_all() must be called first, because it sets the pointer eventlist.pmu_events */
	size_t cap = table_all(&eventlist_tables.pmu_events);
	long n = events_attr(event, eventlist.pmu_events, cap, &why), r = n < 0 ? n : -ENOENT;

	for (long i = 0; i < n && (r == 0 || is_cpu_error(r)); i++)
		r = result_merge(r, cpu_events_open(s, &eventlist.pmu_events[i]));
	/* -EACCES: the event is a tracepoint, and the file in tracefs with the tracepoint's number
	 * may not be read; perf_event_open(2) was not called */
	if (n == -EACCES)
		s->refusal = CS_TRACEFS;
	else if (r == -EACCES || r == -EPERM)
		s->refusal = HAS(perf) && perf_hardened() ? CS_HARDENED : CS_DENIED;
	if (r < 0)
		cpu_events_close(s);
	return r;
}

static long slot_open(struct slot *s)
{
	char text[NAME_CAP];
	struct str rest = { text, text + text_copy(s->events, text, sizeof(text)) }, event;
	long r = -ENOENT;

	s->t = sys_now(CLOCK_MONOTONIC);
	while (!s->first && is_cpu_error(r) && str_word(&rest, &event))
		r = event_open(s, event);
	return r;
}

static long slot_acquire(u32 at)
{
	struct slot *s;

	if (at >= eventlist.nslots)
		return -ENOENT;
	s = &eventlist.slots[at];
	if (s->opened++)
		return s->first ? 0 : -ENOENT;
	s->base = s->highest = 0;
	s->refusal = CS_COUNTED;
	return slot_open(s);
}

static void slot_release(u32 at)
{
	if (at < eventlist.nslots && --eventlist.slots[at].opened == 0)
		cpu_events_close(&eventlist.slots[at]);
}

/* --- readings --------------------------------------------------------------------------------- */

static u64 pow10_of(u8 n)
{
	u64 v = 1;

	while (n--)
		v *= 10;
	return v;
}

/* Returns a count multiplied by the event's scale and rounded, in the event's unit, or in
 * millionths of Joules. A scale has up to 19 digits, and can have more than 19 decimal places: the
 * scale of RAPL's energy is 2.3e-10 Joules, truncated after the 28th decimal place. */
static u64 scaled(const struct cpu_event *p, u64 count)
{
	enum { MOST = 19 };
	u8 point = p->point;

	if (p->micro && point >= MICRO)
		point = (u8)(point - MICRO);
	else if (p->micro)
		count = muldiv(count, pow10_of(MICRO), 1);
	if (!p->scale)
		return count;
	count = muldiv(count, p->scale, pow10_of(point < MOST ? point : MOST));
	if (point <= MOST || point > 2 * MOST)
		return point <= MOST ? count : 0;
	point = (u8)(point - MOST);
	return count / pow10_of(point) + (count % pow10_of(point) >= pow10_of(point) / 2);
}

/* time in ns between two checks whether the kernel has dropped events; it exceeds 10 ms, because a
 * kernel without high-resolution clocks updates time_enabled only 100 times a second */
enum { CHECK_INTERVAL = 15000000 };

/* Reads the value of a counter of perf events: the sum over all CPUs. The kernel drops the events
 * of a CPU that goes offline, and does not restore them when the CPU is online again; all CPUs but
 * one go offline while the machine sleeps. So if time_enabled of an event has not advanced, all
 * events of the counter are opened again. */
static long slot_read(u32 at, u64 *v, u64 *total)
{
	struct slot *s = at < eventlist.nslots ? &eventlist.slots[at] : NULL;
	u64 sum;
	i64 now = sys_now(CLOCK_MONOTONIC);
	bool due, not_running = false, dropped = false;

	(void)total;
	if (!s || !s->first)
		return -ENOENT;
	sum = s->base;
	due = now - s->t >= CHECK_INTERVAL;
	s->t = due ? now : s->t;
	for (u32 i = s->first; i; i = eventlist.cpu_events[i].next) {
		struct gp_count c;
		u64 one;

		if (gp_read(eventlist.cpu_events[i].fd, eventlist.cpu_events[i].read_format, &c,
			    1) != 1)
			return -EIO;
		if (due) {
			dropped |= c.enabled == eventlist.cpu_events[i].enabled;
			eventlist.cpu_events[i].enabled = c.enabled;
		}
		not_running |= !c.running && c.enabled > MAX_NOT_RUNNING;
		one = scaled(&eventlist.cpu_events[i], gp_scaled(&c));
		sum = sum + one < sum ? UINT64_MAX : sum + one;
	}
	s->highest = not_running || sum < s->highest ? s->highest : sum;
	if (dropped) {
		s->base = s->highest;
		cpu_events_close(s);
		slot_open(s);
	}
	*v = s->highest;
	return not_running || dropped ? -EBUSY : 0;
}

static const char *slot_reason(u32 at)
{
	const struct slot *s = at < eventlist.nslots ? &eventlist.slots[at] : NULL;

	return s && s->refusal != CS_COUNTED ? state_text(s->refusal) : NULL;
}

const struct provider provider_event = {
	.prefix = STR("perf/"), .find = { [FIND_ALL] = list_events },
	.open = slot_acquire, .close = slot_release, .read = slot_read, .reason = slot_reason,
};
