/* fuzz_proc.c - any bytes as the files of /proc and /sys that tell of the machine: stat, meminfo, vmstat, diskstats, loadavg,
 * cpuinfo, pressure, processes, thermal zones, energy. All counters of them are listed and read twice; behind a line "%%" the
 * input goes on with the files of the second reading. SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

#include <errno.h>

enum { MAX_LISTED = 2048 };

static struct {
	struct hostcounter h[MAX_LISTED];
	size_t n, fields;
} *all;

static void found(const struct hostcounter *h)
{
	must(memchr(h->name, '\0', HOST_NAME) != NULL && h->n <= sizeof(h->inst), "names end");
	must(is_clean(str_z(h->name), false), "names are clean");
	must(h->what && h->unit && h->rule <= R_PERCENT, "a counter is described");
	if (all->n < MAX_LISTED)
		all->h[all->n++] = *h;
}

static void field(struct str name, const char *unit, bool level)
{
	const char *unit2;
	bool level2;
	u8 file;
	u64 v;

	all->fields++;
	if (!procfield_find(name, &file, &level2, &unit2))
		return; /* the same name, of another file */
	(void)level;
	(void)unit;
	procfield_read(file, name, &v);
}

static void read_all(void)
{
	host_begin();
	for (size_t i = 0; i < all->n; i++) {
		u64 v = 0, of = 0;
		long r = host_read(&all->h[i], &v, &of);

		must(r <= 0, "0, or -errno");
		must(r < 0 || all->h[i].rule != R_PERCENT || v <= 100000, "a share of the time is no more than all of it");
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str rest = { (const char *)data, (const char *)data + n }, s = take_first(&rest);

	if (n > 1 << 16)
		return 0;
	if (!all && !(all = calloc(1, sizeof(*all))))
		abort();
	program_reset();
	all->n = all->fields = 0;
	files_set(s);
	host_list(found);
	procfield_list(field);
	read_all();
	if (rest.p)
		files_change(rest);
	read_all();
	host_trim();
	host_trim();
	must(files_open() == 0, "what nobody asks for is closed");
	return 0;
}
