/* fuzz_state.c - any bytes as the rows of a --state file: parsed at the edge of memory, put into a
 * registry with a few clients, summed, and written to a file again. SPDX-License-Identifier: MIT */
#include "../../counters.c" /* each input starts with an empty table of names */
#include "../../sources/drm/state.c"
#include "fuzz.h"

static void client(u32 device, u64 key, u32 pid)
{
	u32 c = client_add(device, KEY_ID, key), t = task_add(pid);

	tasks[t].start = 5;
	tasks[t].cgroup = cgroup_add(S("/a"));
	holder_add(pid, 3, t, c);
	reg_begin(&clients[c].e, 9000);
	reg_put(&clients[c].e, D_BUSY_NS, S("r"), 1000 * key, 9000);
	reg_put(&clients[c].e, D_CYCLES, S("c"), 500, 9000);
	reg_put(&clients[c].e, D_TOTAL_CYCLES, S("c"), 5000, 9000);
}

static void forget(void)
{
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used)
			client_remove(i);
	reg_sum_clients(false, true);
	if (nrows.devices) {
		reg_clear(&devices[1].e);
		devices[1].e.used = false;
	}
	nrows.devices = 0;
	saved.loaded = (struct str){ 0 };
	reg.nnames = reg.name_used = 0;
	memset(reg.name_bucket, 0, sizeof(reg.name_bucket));
}

static void use(bool filtered)
{
	u64 share;

	saved.sums = !filtered;
	rows_apply();
	clocks_load();
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used && !clients[i].in_all_sums)
			new_client_baseline(&clients[i], 5000);
	reg_clear(&clocks[1]);
	clients[1].hidden = filtered;
	for (int by_group = 0; by_group < 2; by_group++) {
		reg_sum_clients(by_group, true);
		rows_apply();
	}
	for (u32 i = 1; i <= nrows.clients; i++)
		for (struct counter *k = clients[i].e.used ? reg_first(&clients[i].e) : NULL; k; k = reg_next(k))
			must(!engine_busy(&clients[i].e, k->inst, &share) || share <= 100000, "busy is at most 100 %");
}

/* An input is the part between the head and the checksum; its first byte selects its use. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct statehead h;
	struct str file, rows;
	u64 sum;
	char *p;

	if (n < 1 || n > EDGE_BYTES / 2)
		return 0;
	registry.all_sums = true;
	head_make();
	saved.now.mono = saved.now.boottime = 10000;
	device_add();
	str_copy(devices[1].dev, sizeof(devices[0].dev), S("card0"));
	client(1, 1, 10);
	client(1, 2, 11);
	p = edge_page(sizeof(saved.now) + n - 1 + sizeof(sum));
	/* the number of rows in the head must match, or the file counts as damaged */
	for (saved.now.rows = 0; saved.now.rows < 64; saved.now.rows++) {
		memcpy(p, &saved.now, sizeof(saved.now));
		memcpy(p + sizeof(saved.now), data + 1, n - 1);
		file = (struct str){ p, p + sizeof(saved.now) + n - 1 };
		sum = hash64_more(HASH64_BEGIN, file);
		memcpy(p + sizeof(saved.now) + n - 1, &sum, sizeof(sum));
		file.e += sizeof(sum);
		if (state_parse(file, &saved.now, &h, &rows))
			continue;
		table_all(&loaded.t);
		memcpy(loaded.rows, p, str_len(file));
		saved.loaded = str_of(loaded.rows + sizeof(h), str_len(rows));
		use(data[0] & 1);
		file = state_make();
		must(!state_parse(file, &saved.now, &h, &rows), "a written state file can be read");
		break;
	}
	forget();
	return 0;
}
