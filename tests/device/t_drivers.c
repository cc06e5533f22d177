/* t_drivers.c - unit test of sources/device/drivers.c: which row a driver's name finds, and the
 * list of names in a buffer of any size. SPDX-License-Identifier: MIT */
#include "../../sources/device/drivers.c"

#include "tests/unit.h"

static const struct row {
	/* engines: the beginning of the reason; NULL: the driver reports them */
	const char *name, *engines;
	bool quiet, crashes;
	u8 zero;
} rows[] = {
	{ "amdgpu", NULL, true, false, 0 },
	{ "i915", NULL, true, false, 0 },
	{ "xe", NULL, false, false, 0 },
	{ "msm", NULL, true, false, Z_ALL },
	{ "msm_dpu", NULL, true, false, Z_ALL },
	{ "etnaviv", "the driver counts no engine time", true, false, Z_RESIDENT | Z_ACTIVE },
	{ "amdxdna_accel_driver", "the driver counts no engine time", true, false, Z_ALL },
	{ "pvrsrvkm", CRASHES, false, true, 0 },
	{ "pvrsrvkm_1_15", CRASHES, false, true, 0 },
	{ "nvidia", NVIDIA, false, false, 0 },
	{ "galcore", "its file `load`", false, false, 0 },
	{ "nouveau", NO_STATS, false, false, 0 },
	{ "virtio_gpu", NO_STATS, false, false, 0 },
	{ "simple-framebuffer", NO_STATS, false, false, 0 },
	{ "starfive", NO_STATS, false, false, 0 },
	{ "kgsl", NO_CLIENTS, false, false, 0 },
	{ "neuron", NO_CLIENTS, false, false, 0 },
	/* no row: the keys of the standard apply */
	{ "", NULL, false, false, 0 },
	{ "amdgp", NULL, false, false, 0 },
	{ "amdgpus", NULL, false, false, 0 },
	{ "I915", NULL, false, false, 0 },
	{ "xen", NULL, false, false, 0 },
	{ "ms", NULL, false, false, 0 },
	{ "nouveau radeon", NULL, false, false, 0 },
};

static void t_find(const struct row *row)
{
	const struct driver *d = driver_find(edge_str(row->name, strlen(row->name)));

	check(d->quiet == row->quiet && d->crashes == row->crashes, "driver '%s': quiet, crashes",
	      row->name);
	check_u64(d->zero, row->zero, "driver '%s': keys for which 0 means unknown", row->name);
	if (row->engines)
		check(d->engines && strncmp(d->engines, row->engines, strlen(row->engines)) == 0,
		      "'%s': %s", row->name, row->engines);
	else
		check(!d->engines && !d->memory,
		      "driver '%s': keys that it does not report", row->name);
}

/* Returns whether a list has only complete names of another list, in the same order. */
static bool names_are_of(struct str part, struct str whole)
{
	struct str name, other;

	while (str_word(&part, &name)) {
		do
			if (!str_word(&whole, &other))
				return false;
		while (!str_eq(name, other));
	}
	return true;
}

static void t_list(void)
{
	char whole[1024], part[1024];
	struct buf all = BUF(whole);
	size_t wrong = 0;

	put_drivers(&all);
	check(!all.full && all.n > 100 && all.n < sizeof(whole),
	      "the list of all drivers fits into the buffer");
	check(str_find(str_of(whole, all.n), LIT(" amdgpu i915 msm* ")),
	      "the list begins with the names of the table");
	check_str(str_of(whole + all.n - 13, 13), " hailo neuron",
		  "the list ends with the drivers without clients");
	for (size_t cap = 0; cap <= all.n; cap++) {
		struct buf b = buf_on(part, cap);

		put_drivers(&b);
		wrong += b.full || !names_are_of(str_of(part, b.n), str_of(whole, all.n)) ||
			 (cap == all.n) != (b.n == all.n);
	}
	check_u64(wrong, 0,
	          "a list in a shorter buffer has fewer names, and each name is complete");
}

int main(void)
{
	for (size_t i = 0; i < LEN(rows); i++)
		t_find(&rows[i]);
	t_list();
	return unit_end();
}
