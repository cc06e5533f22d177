/* t_oacounters.c - counters of an OA stream without new reports, and of one that has failed.
 * SPDX-License-Identifier: MIT */
#include "../../sources/catalog/oacounters.c"
#include "folder.h"

static long answer; /* result of each read of the driver */
char *oa_bytes;
struct table oa_bytes_table = TABLE_ROW(oa_bytes, OA_BYTES_MIN, 1, "bytes");

long oa_read(struct oalive *l, char *b, size_t cap)
{
	(void)l, (void)b, (void)cap;
	return answer;
}

long oa_attach(struct oalive *l, u32 device)
{
	(void)l, (void)device;
	return -ENODEV;
}

long oa_start(struct oalive *l, const struct oaset *s, const struct oaprops *p)
{
	(void)l, (void)s, (void)p;
	return -ENODEV;
}

void oa_stop(struct oalive *l)
{
	(void)l;
}

const struct device *gpu_device(u32 gpu)
{
	(void)gpu;
	return NULL;
}

bool catalog_has(struct str vendor, struct str name)
{
	(void)vendor, (void)name;
	return false;
}

void catalog_add(u8 provider, u32 at, const struct counter_info *n)
{
	(void)provider, (void)at, (void)n;
}

static bool tells(u32 at)
{
	u64 v, of;

	provider_oa.sample(true);
	return provider_oa.read(at, &v, &of) == 0 && v == 5;
}

/* Adds a report with this timestamp, and this value in A0, to the sum of the stream. */
static void add(struct stream *s, u32 ts, u32 value)
{
	u32 words[64] = { ts ? 1u << 19 : 0, ts, 0, 0, value };

	report_add(s, (struct str){ (const char *)words, (const char *)(words + LEN(words)) });
}

static void t_spoiled(void)
{
	static struct stream s = { .longest = 1000 };

	s.live.format = oaformat_by_name((struct str)STR("A32u40_A4u32_B8_C8"));
	oaplan_make(&s.plan, s.live.format, NULL);
	add(&s, 100, 1);
	add(&s, 200, 3);
	add(&s, 0, 0); /* zeros: the GPU has not written the report */
	add(&s, 400, 100);
	add(&s, 500, 104);
	add(&s, 450, 7000); /* an earlier timestamp */
	add(&s, 600, 200);
	add(&s, 700, 208);
	add(&s, 2000, 9000); /* after a gap */
	add(&s, 2100, 9016);
	check(s.deltas == 4 && s.sum[OA_A] == 2 + 4 + 8 + 16, "differences that are unknown are left out");
}

static void t_pci_id(void)
{
	static const struct { const char *text; bool is; } rows[] = {
		{ "0x9a49\n", true }, { "0x9a49 x\n", false }, { "0x19a49\n", false }, { "\n", false },
	};
	const struct device d = { .card = 0 };
	u64 id;

	folder_begin("oacounters");
	root_set(&roots.sys, tmp_folder);
	for (size_t i = 0; i < LEN(rows); i++) {
		put(in_folder("class/drm/card0/device/device"), rows[i].text);
		id = 0;
		check(pci_id(&d, &id) == rows[i].is && (!rows[i].is || id == 0x9a49), "PCI device id %zu", i);
	}
	shell("rm -rf \"$D\"");
}

/* Fills the tables of metric sets, counters and streams. */
static void t_full(void)
{
	static const struct oaset any;
	static const char choices[MAX_OA_SLOTS + 1];
	const struct device d = { .driver = "i915", .dev = "card0" };
	const struct oadef def = { .name = STR("c") };
	const struct oaplatform *p = oaplatform_by_pci(0x9a49);
	u32 dropped = registry.dropped, n, bad = 0;
	const struct table *full;

	oalist.nsets = oalist.nslots = 0;
	for (u32 i = 0; i < MAX_OA_SLOTS; i++)
		bad += oa_slot(0, &choices[i]) != i;
	check(!bad && oa_slot(0, &choices[5]) == 5,
	      "full table of counters: the counters before the limit are found");
	check(oa_slot(0, &choices[MAX_OA_SLOTS]) == MAX_OA_SLOTS && slot_open(MAX_OA_SLOTS) == -ENOENT,
	      "full table of counters: one more counter has no number, and is not opened");
	table_has(&oalist_tables.sets, 0);
	oalist.sets[0] = (struct listed){ .set = any };
	list_counter(&d, 0, &def);
	check(registry.dropped == dropped + 1,
	      "full table of counters: a counter that cannot be listed is counted");
	full = table_full(&n);
	check(full && n == 2 && strcmp(full->name, "OA counters") == 0,
	      "full table of counters: the table is reported");
	for (n = 0; n < MAX_SETS_LISTED && registry.dropped == dropped + 1; n++) {
		oalist.nslots = 0;
		list_file(&oapack, n, &d, p);
		list_file(&oabasic, n, &d, p);
	}
	check(p && oalist.nsets == MAX_SETS_LISTED && registry.dropped > dropped + 1 && oalist.sets[0].gpu == 0 &&
	      oalist.sets[MAX_SETS_LISTED - 1].gpu == n - 1,
	      "full table of metric sets: one more metric set is left out");
	full = table_full(&n);
	check(full && strcmp(full->name, "OA metric sets") == 0,
	      "full table of metric sets: the table is reported");
	table_has(&oalist_tables.streams, MAX_STREAMS - 1);
	for (u32 i = 0; i < MAX_STREAMS; i++)
		oalist.streams[i] = (struct stream){ .opened = 1, .gpu = 100 + i };
	oalist.slots[0] = (struct oaslot){ .gpu = 7 };
	check(slot_open(0) == -ENOSPC, "full table of streams: the counter of one more GPU is not opened");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "OA streams") == 0,
	      "full table of streams: the table is reported");
	oalist.nsets = oalist.nslots = 0;
	memset(oalist.streams, 0, MAX_STREAMS * sizeof(*oalist.streams));
}

int main(void)
{
	t_full();
	t_spoiled();
	t_pci_id();
	oalist.nslots = 2;
	table_all(&oalist_tables.slots);
	table_has(&oalist_tables.streams, 0);
	for (u32 i = 0; i < oalist.nslots; i++)
		oalist.slots[i] = (struct oaslot){ .gpu = i, .opened = 1, .known = true, .value = 5 };
	oalist.streams[0] = (struct stream){ .opened = 1, .live = { .buffer = 1 << 20 } };
	check(tells(0) && tells(0), "without a new report the last value is kept");
	answer = -EIO;
	check(!tells(0), "the values of a stream that has failed are unknown");
	check(tells(1), "the values of another GPU's stream are kept");
	return unit_end();
}
