/* t_kfd.c - unit test of sources/drm/kfd.c: GPUs and processes of a class/kfd made of files.
 * SPDX-License-Identifier: MIT */
#include "../../sources/drm/kfd.c"

#include "folder.h"

struct fdinfo_scope fdinfo_scope;

static char slots[128]; /* the devices that were requested, by slot */

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

/* A path that does not fit is not written past the end of its buffer, which ends at an
 * inaccessible page: the names of nodes come from a folder. */
static void t_path(void)
{
	char *path = edge_page(128), name[256];
	size_t wrong = 0;

	for (size_t n = 0; n < sizeof(name); n++) {
		memset(name, 'n', n);
		name[n] = '\0';
		wrong += strlen(kfd_path(path, "", name, "", 0, "")) != (n < 128 ? n : 0);
	}
	check_u64(wrong, 0, "a path of kfd is at most 127 bytes long");
	check_str(str_z(kfd_path(path, "a/", "b", "/c_", 12, "_d")), "a/b/c_12_d",
	          "a path of kfd contains the number");
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

		check(has == rows[i].has && (!has || v == rows[i].v),
		      "a property of a node: row %zu", i);
	}
}

static void t_none(void)
{
	check(!kfd_scan(found), "without the folder kfd, kfd_scan() finds no driver");
	file_is("topology/nodes/0/gpu_id", "0\n");
	check(!kfd_scan(found) && !found_text[0], "a node of a CPU is not a GPU");
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
	check(!kfd_scan(found), "without the folder of processes, kfd_scan() fails");
	file_is("proc/42/vram_7", "4096\n");
	file_is("proc/42/vram_9", "1\n");
	file_is("proc/43/vram_7", "0\n");
	file_is("proc/2147483648/vram_7", "1\n");
	file_is("proc/x/vram_7", "1\n");
	slots[0] = '\0';
	check(kfd_scan(found), "with the folder of processes, kfd_scan() succeeds");
	check(strstr(slots, "0000:03:00.0 ") != NULL,
	      "the PCI address of a node without a domain is in domain 0");
	check(strstr(slots, "00ab:ff:1f.7 ") != NULL,
	      "the PCI address of the largest location in another domain");
	check_u64(ngpus, 2, "a node without location is left out");
	if (gpus[0].id == 9) {
		gpu7 = 1;
		gpu9 = 0;
	}
	check(strstr(found_text, "42:1:") && strstr(found_text, "42:2:"),
	      "a process that uses two GPUs is found on both");
	check_u64(strlen(found_text), 14,
	          "a process without memory or with an invalid pid is left out");
	check(gpus[gpu7].device == 1 && gpus[gpu9].device == 2, "each GPU has its device");
	check(!devices[1].apu && devices[2].apu,
	      "the device of a node with CPUs and SIMDs is an APU");
	file_is("topology/nodes/2/properties", "location_id 768\ndrm_render_minor 129\n");
	devices[2].render = 129;
	check(kfd_scan(found) && gpus[gpu7].device == 1 && gpus[gpu9].device == 2,
	      "partitions at one address are matched by their render nodes");
	devices[2].render = 130;
	check(kfd_scan(found) && gpus[gpu9].device == NONE,
	      "a node whose render node is not in /sys has no device");
}

static void t_room(void)
{
	u32 before;

	shell("cd $D/class/kfd/kfd/topology/nodes && for i in $(seq 4 520); do mkdir $i; "
	      "echo $i >$i/gpu_id; printf 'location_id 1\\ndrm_render_minor 999\\n' >$i/properties; done");
	before = registry.dropped;
	kfd_scan(found);
	check(ngpus == LEN(gpus) && registry.dropped == before + 1,
	      "nodes that exceed the table of GPUs are counted as dropped");
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

	check(kfd_read(c, 42, 1000), "kfd_read() of a process succeeds");
	check_u64(value(&c->e, D_RESIDENT, "vram"), 4096, "a process has its memory");
	check_u64(value(&c->e, D_BUSY_NS, "sdma"), 12345,
	          "without the file sdma_*, the time is unknown");
	file_is("proc/42/sdma_7", "18446744073709551\n");
	file_is("proc/42/stats_7/cu_occupancy", "3\n");
	check(kfd_read(c, 42, 2000), "kfd_read() of a process with a large time succeeds");
	check_u64(value(&c->e, D_BUSY_NS, "sdma"), 12345,
	          "a time that exceeds 64 bits in ns is unknown");
	check(c->other == NONE, "other facts are not stored by default");
	file_is("proc/42/sdma_7", "18446744073709550\n");
	fdinfo_scope.others = devices[1].awake = true;
	check(kfd_read(c, 42, 3000), "kfd_read() of a process with the largest time succeeds");
	check_u64(value(&c->e, D_BUSY_NS, "sdma"), 18446744073709550000u,
	          "the time is converted from us to ns");
	check_str(str_of(text, text_copy(c->other, text, sizeof(text))), "cu_occupancy:3\n",
		  "other facts are stored if requested");
	devices[1].awake = false;
	check(kfd_read(c, 42, 4000) && text_copy(c->other, text, sizeof(text)) == 0,
	      "stats of a suspended device are not read");
	check(!kfd_read(c, 44, 5000), "kfd_read() of a process without files fails");
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
