/* t_kfd.c - unit test of sources/drm/kfd.c: GPUs and processes of a class/kfd made of files.
 * SPDX-License-Identifier: MIT */
#include "../../sources/drm/kfd.c"

#include "folder.h"

struct fdinfo_wants fdinfo_wants;

static char slots[128]; /* those that were asked for */

/* The second device is not in /sys. */
u32 sysfs_device_at_slot(struct str pdev)
{
	strncat(slots, pdev.p, str_len(pdev));
	strcat(slots, " ");
	return str_is(pdev, "0000:03:00.0") ? 1 : str_is(pdev, "00ab:ff:1f.7") ? 2 : NONE;
}

static char found_text[256];

static void found(u32 pid, u32 device, u32 slot)
{
	size_t n = strlen(found_text);

	snprintf(found_text + n, sizeof(found_text) - n, "%u:%u:%u ", (unsigned)pid,
		 (unsigned)device, (unsigned)slot);
}

static void file_is(const char *name, const char *text)
{
	put(in_folder("class/kfd/kfd/%s", name), text);
}

/* A path that does not fit is not written past the end of its buffer, which ends at a page: the
 * names of nodes are from a folder. */
static void t_path(void)
{
	char *path = edge_page(128), name[256];
	size_t wrong = 0;

	for (size_t n = 0; n < sizeof(name); n++) {
		memset(name, 'n', n);
		name[n] = '\0';
		wrong += strlen(kfd_path(path, "", name, "", 0, "")) != (n < 128 ? n : 0);
	}
	check_u64(wrong, 0, "a path has at most 127 bytes");
	check_str(str_z(kfd_path(path, "a/", "b", "/c_", 12, "_d")), "a/b/c_12_d", "a path with a number");
}

static void t_properties(void)
{
	static const struct {
		const char *text;
		bool has;
		u64 v;
	} rows[] = {
		{ "domain 5\n", true, 5 }, { "x 1\ndomain 5\ndomain 6\n", true, 5 },
		{ "domain 18446744073709551615\n", true, UINT64_MAX },
		{ "domain 18446744073709551616\n", false, 0 }, { "domains 5\n", false, 0 },
		{ "domain\n", false, 0 }, { "domain 5x\n", false, 0 }, { "domain 5", false, 0 },
		{ "", false, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str s = edge_str(rows[i].text, strlen(rows[i].text));
		u64 v = 0;
		bool has = property_get(s, LIT("domain"), &v);

		check(has == rows[i].has && (!has || v == rows[i].v), "properties of row %zu", i);
	}
}

static void t_none(void)
{
	check(!kfd_scan(found), "without the folder there is no such driver");
	file_is("topology/nodes/0/gpu_id", "0\n");
	check(!kfd_scan(found) && !found_text[0], "a CPU is no GPU");
}

/* location_id has the bus in bits 8 to 15, the device in bits 3 to 7, the function in bits 0 to 2. */
static void t_scan(void)
{
	u32 gpu7 = 0, gpu9 = 1;

	file_is("topology/nodes/1/gpu_id", "7\n");
	file_is("topology/nodes/1/properties", "cpu_cores_count 0\nsimd_count 8\nvendor_id 4098\nlocation_id 768\n");
	file_is("topology/nodes/2/gpu_id", "9\n");
	file_is("topology/nodes/2/properties", "domain 171\nlocation_id 65535\ncpu_cores_count 8\nsimd_count 8\n");
	file_is("topology/nodes/3/gpu_id", "11\n");
	file_is("topology/nodes/3/properties", "domain 0\n");
	check(!kfd_scan(found), "without the folder of processes there is nothing to scan");
	file_is("proc/42/vram_7", "4096\n");
	file_is("proc/42/vram_9", "1\n");
	file_is("proc/43/vram_7", "0\n");
	file_is("proc/2147483648/vram_7", "1\n");
	file_is("proc/x/vram_7", "1\n");
	slots[0] = '\0';
	check(kfd_scan(found), "there is such a driver");
	check(strstr(slots, "0000:03:00.0 ") != NULL, "a PCI address without its domain");
	check(strstr(slots, "00ab:ff:1f.7 ") != NULL, "the largest location, in another domain");
	check_u64(ngpus, 2, "a node without location is left out");
	if (gpus[0].id == 9) {
		gpu7 = 1;
		gpu9 = 0;
	}
	check(strstr(found_text, "42:1:") && strstr(found_text, "42:2:"), "a process on two GPUs");
	check_u64(strlen(found_text), 14, "a process without memory or with an invalid pid is none");
	check(gpus[gpu7].device == 1 && gpus[gpu9].device == 2, "each GPU has its device");
	check(!devices[1].apu && devices[2].apu, "a node with CPUs and SIMDs is an APU");
	file_is("topology/nodes/2/properties", "location_id 768\ndrm_render_minor 129\n");
	devices[2].render = 129;
	check(kfd_scan(found) && gpus[gpu7].device == 1 && gpus[gpu9].device == 2,
	      "partitions at one address have their own render nodes");
	devices[2].render = 130;
	check(kfd_scan(found) && gpus[gpu9].device == NONE, "a render node that is not here");
}

static void t_room(void)
{
	u32 before;

	shell("cd $D/class/kfd/kfd/topology/nodes && for i in $(seq 4 520); do mkdir $i; "
	      "echo $i >$i/gpu_id; printf 'location_id 1\\ndrm_render_minor 999\\n' >$i/properties; done");
	before = registry.dropped;
	kfd_scan(found);
	check(ngpus == LEN(gpus) && registry.dropped == before + 1, "too many GPUs are counted");
}

static u64 value(const struct entity *e, u8 desc, const char *inst)
{
	u64 v;

	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (c->desc == desc && str_is(inst_name(c->inst), inst) &&
		    reg_get(e, desc, c->inst, &v))
			return v;
	return 12345;
}

static void t_read(void)
{
	u32 n = client_add(1, KEY_KFD, 42);
	struct client *c = &clients[n];
	char text[64];

	check(kfd_read(c, 42, 1000), "a reading");
	check_u64(value(&c->e, D_RESIDENT, "vram"), 4096, "its memory");
	check_u64(value(&c->e, D_BUSY_NS, "sdma"), 12345, "without the file there is no time");
	file_is("proc/42/sdma_7", "18446744073709551\n");
	file_is("proc/42/stats_7/cu_occupancy", "3\n");
	check(kfd_read(c, 42, 2000), "a second reading");
	check_u64(value(&c->e, D_BUSY_NS, "sdma"), 12345, "more ns than 64 bits hold are no value");
	check(c->other == NONE, "other facts are not kept");
	file_is("proc/42/sdma_7", "18446744073709550\n");
	fdinfo_wants.others = devices[1].awake = true;
	check(kfd_read(c, 42, 3000), "a third reading");
	check_u64(value(&c->e, D_BUSY_NS, "sdma"), 18446744073709550000u, "us become ns");
	check_str(str_of(text, text_copy(c->other, text, sizeof(text))), "cu_occupancy:3\n",
		  "other facts are kept if asked for");
	devices[1].awake = false;
	check(kfd_read(c, 42, 4000) && text_copy(c->other, text, sizeof(text)) == 0,
	      "stats of a device that sleeps are not read");
	check(!kfd_read(c, 44, 5000), "a process that holds nothing");
}

int main(void)
{
	folder_begin("kfd");
	root_set(&roots.sys, tmp_folder);
	device_add();
	device_add();
	t_path();
	t_properties();
	t_none();
	t_scan();
	t_read();
	t_room();
	shell("rm -rf \"$D\"");
	return unit_end();
}
