/* drivercounters.c - providers of the events that the GPU drivers v3d and msm count for all
 * programs together: counters v3d/all/NAME and msm/all/BLOCK:NAME. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sources/catalog/catalog.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum { MAX_DRIVER_EVENTS = 512 };

/* An event of a GPU driver. The provider identifies the event's counter by the event's index in
 * driverlist.slots[]. */
struct slot {
	/* number that text_put() has returned for the event's name: NAME or BLOCK:NAME, without the
	 * name of the driver */
	u32 event;
	u32 number; /* while the event is open: its number, which gpuevent_find() has returned */
	u16 opened; /* number of open counters of this event */
	u8 provider;
	bool found;
};

static struct {
	struct slot *slots;
	u32 n;
	/* PROVIDER_* of the provider whose events are being added to the list of counters */
	u8 listing;
	struct table table;
} driverlist = {
	.table = TABLE_ROW(driverlist.slots, MAX_DRIVER_EVENTS, 64, "counters of GPU drivers"),
};

static struct str source_of(u8 provider)
{
	return provider == PROVIDER_V3D ? S("v3d") : S("msm");
}

/* Returns the index in driverlist.slots[] of the event with this name of a provider (PROVIDER_V3D
 * or PROVIDER_MSM); adds the event if it is new. Returns MAX_DRIVER_EVENTS if the table is full. */
u32 driver_slot(u8 provider, struct str event)
{
	for (u32 i = 0; i < driverlist.n; i++)
		if (driverlist.slots[i].provider == provider &&
		    text_eq(driverlist.slots[i].event, event))
			return i;
	if (!table_has(&driverlist.table, driverlist.n))
		return MAX_DRIVER_EVENTS;
	driverlist.slots[driverlist.n] = (struct slot){ .event = text_put(NONE, event),
							.provider = provider };
	return driverlist.n++;
}

static void event_add(struct str event, struct str unit, struct str what)
{
	char name[96];
	struct buf b = BUF(name);
	struct counter_info n = { .vendor = S("linux"), .what = what, .unit = unit,
				  .rule = R_COUNT, .max = UINT64_MAX };
	struct str rest = event, source, leaf;
	u32 at;

	if (!str_cut(&rest, '/', &source) || !str_cut(&rest, '/', &leaf))
		return;
	put_str(&b, source);
	put_z(&b, "/all/");
	put_str(&b, leaf);
	n.name = str_of(name, b.n);
	at = driver_slot(driverlist.listing, leaf);
	if (!b.full && at < MAX_DRIVER_EVENTS)
		catalog_add(driverlist.listing, at, &n);
}

static void list_events(u8 provider)
{
	driverlist.listing = provider;
	gpuevents_list(source_of(provider), event_add);
}

static void list_v3d(void)
{
	list_events(PROVIDER_V3D);
}

static void list_msm(void)
{
	list_events(PROVIDER_MSM);
}

static long slot_open(u32 at)
{
	struct slot *s;
	char name[96];
	struct str unit;
	long number;
	u8 state;

	if (at >= driverlist.n)
		return -ENOENT;
	s = &driverlist.slots[at];
	if (s->opened++)
		return s->found ? 0 : -ENOENT;
	number = gpuevent_find(source_of(s->provider),
			       str_of(name, text_copy(s->event, name, sizeof(name))), &unit);
	s->found = number >= 0;
	if (!s->found)
		return -ENOENT;
	s->number = (u32)number;
	gpuevents_start();
	state = gpuevent_state(s->number);
	return state == CS_COUNTED ? 0 : state == CS_GPU_DENIED || state == CS_GPU_NODE ? -EACCES :
	       -EBUSY;
}

static void slot_close(u32 at)
{
	struct slot *s = &driverlist.slots[at];

	if (at < driverlist.n && --s->opened == 0 && s->found)
		gpuevent_release(s->number);
}

static void events_sample(bool due)
{
	(void)due;
	gpuevents_read();
}

static long slot_read(u32 at, u64 *v, u64 *total)
{
	const struct slot *s = &driverlist.slots[at];

	(void)total;
	return at < driverlist.n && s->found && gpuevent_value(s->number, v) ? 0 : -ENOENT;
}

static const char *slot_reason(u32 at)
{
	const struct slot *s = &driverlist.slots[at];
	u8 state = at < driverlist.n && s->found ? gpuevent_state(s->number) : CS_COUNTED;

	return state == CS_COUNTED ? NULL : state_text(state);
}

const struct provider provider_v3d = {
	.prefix = STR("v3d/"), .find = { [FIND_ALL] = list_v3d }, .open = slot_open,
	.close = slot_close, .sample = events_sample, .read = slot_read, .reason = slot_reason,
};

/* provider_msm has no function sample(): sample() of provider_v3d reads the events of both
 * drivers. */
const struct provider provider_msm = {
	.prefix = STR("msm/"), .find = { [FIND_ALL] = list_msm }, .open = slot_open,
	.close = slot_close, .read = slot_read, .reason = slot_reason,
};
