/* t_oacounters.c - counters of an OA stream that has nothing to say, and of one that has failed.
 * SPDX-License-Identifier: MIT */
#include "../sources/oacounters.c"
#include "unit.h"

static long answer; /* of the driver, to each read */
char *oa_bytes;
TABLE(oa_bytes, OA_BYTES_LEAST, 1, "bytes");

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

void catalog_add(u8 supplier, u32 at, const struct naming *n)
{
	(void)supplier, (void)at, (void)n;
}

static bool tells(u32 at)
{
	u64 v, of;

	sup_oa.sample(true);
	return sup_oa.read(at, &v, &of) == 0 && v == 5;
}

int main(void)
{
	nslots = 2;
	table_all(&slots_table);
	table_has(&streams_table, 0);
	for (u32 i = 0; i < nslots; i++)
		slots[i] = (struct oaslot){ .gpu = i, .opened = 1, .known = true, .value = 5 };
	streams[0] = (struct stream){ .opened = 1, .live = { .buffer = 1 << 20 } };
	check(tells(0) && tells(0), "without a report what was stays");
	answer = -EIO;
	check(!tells(0), "what a stream that has failed told before is unknown");
	check(tells(1), "another GPU's stays");
	return unit_end();
}
