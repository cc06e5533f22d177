/* t_drivercounters.c - unit test of sources/catalog/drivercounters.c: names, numbers, and when an event
 * is found, read and released. The events of the drivers are simulated.
 * SPDX-License-Identifier: MIT */
#include "../../sources/catalog/drivercounters.c"

#include "listed.h"

static u32 finds, starts, reads, releases;
static u8 state = CS_COUNTED;
static bool has_value = true;

void gpuevents_list(struct str source, void (*found)(struct str, struct str, struct str))
{
	static const char longest[] = "msm/a.name.of.more.than.96.bytes.a.name.of.more.than.96.bytes."
				      "a.name.of.more.than.96.bytes.a.name/";

	if (str_is(source, "v3d")) {
		found(LIT("v3d/QPU-total/"), LIT("cycles"), LIT("all of it"));
		found(LIT("v3d/second"), LIT(""), LIT("no slash at its end"));
		found(LIT("nothing"), LIT(""), LIT("no slash"));
		return;
	}
	found(LIT("msm/pc:primitives/"), LIT(""), LIT("primitives"));
	found(str_z(longest), LIT(""), LIT("too long"));
}

long gpuevent_find(struct str source, struct str name, struct str *unit)
{
	*unit = LIT("");
	finds++;
	return str_is(source, "v3d") && str_is(name, "QPU-total") ? 5 : -ENOENT;
}

void gpuevents_start(void) { starts++; }
void gpuevents_read(void) { reads++; }
void gpuevent_release(u32 number) { releases += number; }
u8 gpuevent_state(u32 number) { return number == 5 ? state : CS_GPU_REFUSED; }

bool gpuevent_value(u32 number, u64 *v)
{
	*v = number + 95;
	return has_value;
}

static void t_names(void)
{
	provider_v3d.find[FIND_ALL]();
	check(listed_has("0 linux: v3d/all/QPU-total (cycles) count - all of it\n") &&
	      listed_provider == PROVIDER_V3D, "an event of v3d is listed");
	check(!str_find(str_of(listed.p, listed.n), LIT("nothing")),
	      "an event without a name is not listed");
	provider_msm.find[FIND_ALL]();
	check(listed_has(" linux: msm/all/pc:primitives () count - primitives\n") &&
	      listed_provider == PROVIDER_MSM, "an event of msm is listed");
	check(!str_find(str_of(listed.p, listed.n), LIT("too long")),
	      "an event whose name is too long is not listed");
}

static void t_slots(void)
{
	u32 v3d = driver_slot(PROVIDER_V3D, LIT("QPU-total"));

	check_u64(v3d, 0, "an event keeps its number");
	check(driver_slot(PROVIDER_MSM, LIT("QPU-total")) != v3d,
	      "the same event of another driver has another number");
	check(provider_v3d.open(99) == -ENOENT, "open: an unknown number is an error");
	check(provider_v3d.open(v3d) == 0 && starts == 1 && finds == 1,
	      "open: an event is found and started");
	check(provider_v3d.open(v3d) == 0 && finds == 1 && starts == 1,
	      "open: an event that is open is not started again");
}

static void t_values(void)
{
	u64 v = 0, total;
	u32 gone = driver_slot(PROVIDER_MSM, LIT("gone"));

	provider_v3d.sample(true);
	check(provider_v3d.read(0, &v, &total) == 0 && v == 100 && reads == 1,
	      "read: the value of an open event");
	has_value = false;
	check(provider_v3d.read(0, &v, &total) == -ENOENT,
	      "read: an event without a value in this reading");
	check(provider_v3d.read(99, &v, &total) == -ENOENT && !provider_v3d.reason(99),
	      "read: an unknown number is an error");
	check(!provider_v3d.reason(0), "reason: none for an event that is counted");
	state = CS_GPU_BUSY;
	check(provider_v3d.reason(0) == state_text(CS_GPU_BUSY),
	      "reason: the state of an event that is not counted");
	check(provider_msm.open(gone) == -ENOENT && provider_msm.open(gone) == -ENOENT && finds == 2,
	      "an event that the driver does not have is searched only once");
	provider_msm.close(gone);
	provider_msm.close(gone);
	provider_v3d.close(0);
	check_u64(releases, 0, "close: an event that is still open elsewhere is not released");
	provider_v3d.close(0);
	check_u64(releases, 5, "close: the last close releases the event");
}

static void t_errors(void)
{
	static const struct {
		u8 state;
		long error;
	} rows[] = {
		{ CS_COUNTED, 0 }, { CS_GPU_DENIED, -EACCES }, { CS_GPU_NODE, -EACCES },
		{ CS_GPU_BUSY, -EBUSY }, { CS_GPU_OLD, -EBUSY },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		state = rows[i].state;
		check(provider_v3d.open(0) == rows[i].error, "open: state %u is error %ld", state,
		      -rows[i].error);
		provider_v3d.close(0);
	}
}

static void t_full(void)
{
	u32 had = driverlist.n, bad = 0, n;
	const struct table *full;
	char name[32];

	for (u32 i = had; i < MAX_DRIVER_EVENTS; i++) {
		snprintf(name, sizeof(name), "event %u", (unsigned)i);
		bad += driver_slot(PROVIDER_MSM, str_z(name)) != i;
	}
	check(!bad && driver_slot(PROVIDER_MSM, LIT("event 511")) == 511, "full table: the events before the limit are found");
	check(driver_slot(PROVIDER_MSM, LIT("one more")) == MAX_DRIVER_EVENTS && provider_msm.open(MAX_DRIVER_EVENTS) == -ENOENT,
	      "full table: one more event has no number, and is not opened");
	listed.n = 0;
	event_add(LIT("msm/another/"), LIT(""), LIT("no room"));
	full = table_full(&n);
	check(listed.n == 0 && full && n == 2 && strcmp(full->name, "counters of GPU drivers") == 0,
	      "full table: it is reported by its name");
}

int main(void)
{
	t_names();
	t_slots();
	t_values();
	t_errors();
	t_full();
	return unit_end();
}
