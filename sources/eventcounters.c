/* eventcounters.c - of the catalogue: perf events, counted on every CPU. SPDX-License-Identifier: MIT */
#include "gpustat/perf.h"
#include "gpustat.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum {
	MAX_SLOTS = 8192,   /* events that the catalogue can have */
	MAX_PLACES = 16384, /* descriptors: 64 events on 256 CPUs */
	MAX_KINDS = 64,     /* PMUs that one event may be on: memory controllers */
	NAME_CAP = 320,
	NEVER_RAN = 10000000, /* ns that a counter may wait for its first turn before it is said to have none */
	MICRO = 6,            /* Joules are given in millionths */
};

/* An event on one CPU. */
static struct place {
	int fd;
	u32 next; /* of the same slot; 0: the last */
	u64 read_format, scale;
	u64 enabled; /* ns, when they were looked at */
	u8 point;
	bool micro;
} *places;
static TABLE(places, MAX_PLACES, 16, "counters' events on CPUs");
static u32 nplaces, free_place;

static struct slot {
	u32 events;  /* text: one or, separated by blanks, several of which the first that there is counts */
	u32 opened;  /* by how many counters */
	u32 first;   /* place; 0: none */
	i64 t;       /* ns, when it was last looked whether its events go on */
	u64 base;    /* what was counted before it was opened anew */
	u64 highest; /* a count that is scaled for want of hardware counters may fall a little: it is kept from it */
} *slots;
static TABLE(slots, MAX_SLOTS, 16, "counters of events");
static u32 nslots;

/* --- the list --------------------------------------------------------------------------------------------- */

static u32 slot_new(struct str list)
{
	if (!table_has(&slots_table, nslots))
		return MAX_SLOTS;
	slots[nslots] = (struct slot){ .events = text_put(NONE, list) };
	return nslots++;
}

u32 event_slot(const char *list)
{
	for (u32 i = 0; i < nslots; i++)
		if (text_eq(slots[i].events, str_z(list)))
			return i;
	return list[0] ? slot_new(str_z(list)) : MAX_SLOTS;
}

/* perf/CLASS/INSTANCE/EVENT */
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

/* Parameters that only the user knows make no counter. */
static void found(struct str event, struct str unit, struct str what)
{
	char name[NAME_CAP];
	struct buf b = BUF(name);
	struct naming n = { .vendor = S("linux"), .what = what.p < what.e ? what : S("tracepoint: how often it was passed"),
			    .unit = str_is(unit, "Joules") ? S("uJ") : unit, .rule = R_COUNT, .max = UINT64_MAX };
	u32 at, type;
	u64 config;

	put_name(&b, event);
	if (parse_evname(event, &type, &config) && type == PT_SOFTWARE && config < 2)
		n.unit = S("ns"); /* cpu-clock, task-clock */
	if (str_is(unit, "MHz"))
		n.rule = R_RATE; /* i915 integrates its clocks over time */
	n.name = (struct str){ name, name + b.n };
	if (b.full || str_find(event, S("=?")) || catalog_has(n.vendor, n.name))
		return;
	at = slot_new(event);
	if (at == MAX_SLOTS)
		reg_dropped++;
	else
		catalog_add(SUP_EVENT, at, &n);
}

/* Once: there are some 2500 tracepoints. */
static void list_events(void)
{
	static bool listed;

	if (!listed)
		events_named(found);
	listed = true;
}

/* --- open -------------------------------------------------------------------------------------------------- */

static u32 place_new(void)
{
	u32 i = free_place;

	if (i)
		free_place = places[i].next;
	else if (table_has(&places_table, nplaces + 1))
		i = ++nplaces;
	else
		reg_dropped++;
	return i;
}

static void places_close(struct slot *s)
{
	while (s->first) {
		u32 i = s->first;

		sys_close(places[i].fd);
		s->first = places[i].next;
		places[i].next = free_place;
		free_place = i;
	}
}

/* 0, or -errno; a CPU that another PMU counts is not asked again. */
static long place_open(struct slot *s, struct gp_event *e, i32 cpu)
{
	int fd = gp_open(e, -1, cpu, -1);
	u32 i = fd < 0 ? 0 : place_new();
	const struct perf_event_attr *attr = (const struct perf_event_attr *)(const void *)e->attr;

	if (fd < 0)
		return fd;
	if (!i) {
		sys_close(fd);
		return -ENOSPC;
	}
	places[i] = (struct place){ .fd = fd, .next = s->first, .scale = e->scale, .point = e->scale_point,
				    .read_format = attr->read_format,
				    .micro = strcmp(e->unit, "Joules") == 0 };
	s->first = i;
	return gp_enable(fd);
}

/* Whether it says that this CPU has no such event, or is not there. Anything else concerns them all: what is counted on some
 * CPUs only, for want of descriptors, is not counted. */
static bool is_local(long r)
{
	return r == -ENODEV || r == -ENOENT || r == -EOPNOTSUPP || r == -EINVAL;
}

static long together(long r, long one)
{
	return r == 0 && (one == 0 || is_local(one)) ? 0 : one;
}

/* Wherever it can be counted: 0 where that is somewhere; else the last -errno. */
static long places_open(struct slot *s, struct gp_event *e)
{
	static struct cpuset all;
	long r = -ENOENT;

	for (size_t i = 0; e->wide && i < LEN(e->cpus) && e->cpus[i] >= 0 && (r == 0 || is_local(r)); i++)
		r = together(r, place_open(s, e, e->cpus[i]));
	if (e->wide || !cpus_online(&all))
		return r;
	for (u32 cpu = 0; cpu < MAX_CPUS && (r == 0 || is_local(r)); cpu++)
		if (cpu_has(&all, cpu))
			r = together(r, place_open(s, e, (i32)cpu));
	return r;
}

static struct gp_event *kinds;
static TABLE(kinds, MAX_KINDS, 1, "PMUs of an event");

static long event_open(struct slot *s, struct str event)
{
	struct buf why = { .p = (char *)s }; /* has no room: nobody asks */
	size_t cap = table_all(&kinds_table); /* before kinds is read */
	long n = events_attr(event, kinds, cap, &why), r = n < 0 ? n : -ENOENT;

	for (long i = 0; i < n && (r == 0 || is_local(r)); i++)
		r = together(r, places_open(s, &kinds[i]));
	if (r < 0)
		places_close(s);
	return r;
}

static long slot_open(struct slot *s)
{
	char text[NAME_CAP];
	struct str rest = { text, text + text_copy(s->events, text, sizeof(text)) }, event;
	long r = -ENOENT;

	s->t = sys_now(CLOCK_MONOTONIC);
	while (!s->first && is_local(r) && str_word(&rest, &event))
		r = event_open(s, event);
	return r;
}

static long open_slot(u32 at)
{
	struct slot *s;

	if (at >= nslots)
		return -ENOENT;
	s = &slots[at];
	if (s->opened++)
		return s->first ? 0 : -ENOENT;
	s->base = s->highest = 0;
	return slot_open(s);
}

static void close_slot(u32 at)
{
	if (at < nslots && --slots[at].opened == 0)
		places_close(&slots[at]);
}

/* --- readings ------------------------------------------------------------------------------------------------ */

static u64 pow10_of(u8 n)
{
	u64 v = 1;

	while (n--)
		v *= 10;
	return v;
}

/* In the unit, or in millionths of it, rounded. Scales have up to 19 digits, of which more than 19 may stand behind the point:
 * the energy of RAPL is 2.3e-10 Joules, cut at the 28th. */
static u64 scaled(const struct place *p, u64 count)
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

enum { GOES_ON = 15000000 /* ns: a kernel whose clock is not finer has 100 ticks a second */ };

/* The kernel drops the events of a CPU that goes, as all but one do while the machine sleeps, and leaves them dropped when it is
 * back: then they are opened anew. */
static long read_slot(u32 at, u64 *v, u64 *of)
{
	struct slot *s = at < nslots ? &slots[at] : NULL;
	u64 sum;
	i64 now = sys_now(CLOCK_MONOTONIC);
	bool later, waits = false, dropped = false;

	(void)of;
	if (!s || !s->first)
		return -ENOENT;
	sum = s->base;
	later = now - s->t >= GOES_ON;
	s->t = later ? now : s->t;
	for (u32 i = s->first; i; i = places[i].next) {
		struct gp_count c;
		u64 one;

		if (gp_read(places[i].fd, places[i].read_format, &c, 1) != 1)
			return -EIO;
		if (later) {
			dropped |= c.enabled == places[i].enabled;
			places[i].enabled = c.enabled;
		}
		waits |= !c.running && c.enabled > NEVER_RAN;
		one = scaled(&places[i], gp_scaled(&c));
		sum = sum + one < sum ? UINT64_MAX : sum + one;
	}
	s->highest = waits || sum < s->highest ? s->highest : sum;
	if (dropped) {
		s->base = s->highest;
		places_close(s);
		slot_open(s);
	}
	*v = s->highest;
	return waits || dropped ? -EBUSY : 0;
}

const struct supplier sup_event = {
	.prefix = STR("perf/"), .list = list_events,
	.open = open_slot, .close = close_slot, .read = read_slot,
};
