/* fuzz_state.c - any bytes as the rows of a --state file: parsed at the edge of memory, put into a registry with a few
 * clients, summed up, and made into a file again. SPDX-License-Identifier: MIT */
#include "../../counters.c" /* its table of names lasts; here each input starts without any */
#include "../../sources/state.c"
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
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used)
			client_remove(i);
	reg_roll(false, true);
	reg_clear(&devices[1].e);
	devices[1].e.used = false;
	ndevices = 0;
	loaded = (struct str){ 0 };
	nnames = name_used = 0;
	memset(name_bucket, 0, sizeof(name_bucket));
}

static void use(bool filtered)
{
	u64 share;

	sums = !filtered;
	rows_apply();
	rows_before();
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used && !clients[i].kept)
			start_new(&clients[i], 5000);
	reg_clear(&clocks[1]);
	clients[1].hidden = filtered;
	for (int by_group = 0; by_group < 2; by_group++) {
		reg_roll(by_group, true);
		rows_apply();
	}
	for (u32 i = 1; i <= nclients; i++)
		for (struct counter *k = clients[i].e.used ? reg_first(&clients[i].e) : NULL; k; k = reg_next(k))
			must(!engine_busy(&clients[i].e, k->inst, &share) || share <= 100000, "busy is a share");
}

/* An input is what stands between the head and the checksum; its first byte says how it is used. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct statehead h;
	struct str file, rows;
	u64 sum;
	char *p;

	if (n < 1 || n > EDGE_BYTES / 2)
		return 0;
	reg_keeps = true;
	head_make();
	now.mono = now.boottime = 10000;
	device_set(devices[device_add()].dev, sizeof(devices[0].dev), S("card0"));
	client(1, 1, 10);
	client(1, 2, 11);
	p = edge_page(sizeof(now) + n - 1 + sizeof(sum));
	for (now.rows = 0; now.rows < 64; now.rows++) { /* as many as there are, or the file is damaged */
		memcpy(p, &now, sizeof(now));
		memcpy(p + sizeof(now), data + 1, n - 1);
		file = (struct str){ p, p + sizeof(now) + n - 1 };
		sum = hash64_more(HASH64_BEGIN, file);
		memcpy(p + sizeof(now) + n - 1, &sum, sizeof(sum));
		file.e += sizeof(sum);
		if (state_parse(file, &now, &h, &rows))
			continue;
		table_all(&loaded_bytes_table);
		memcpy(loaded_bytes, p, str_len(file));
		loaded = str_of(loaded_bytes + sizeof(h), str_len(rows));
		use(data[0] & 1);
		file = state_make();
		must(!state_parse(file, &now, &h, &rows), "what is made is good");
		break;
	}
	forget();
	return 0;
}
