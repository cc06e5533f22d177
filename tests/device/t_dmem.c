/* t_dmem.c - unit test of sources/device/dmem.c: regions of dmem, limits, memory and pressure in
 * cgroup files, in any form. SPDX-License-Identifier: MIT */
#include "../../sources/device/dmem.c"
#include "folder.h"

#define S(lit) ((struct str)STR(lit))
#define SLOT "0000:03:00.0"

/* --- lines of dmem ---------------------------------------------------------------------------- */

static void t_regions(void)
{
	static const struct {
		const char *text;
		bool is;
		u64 sum;
	} rows[] = {
		{ "drm/" SLOT "/vram0 5\n", true, 5 },
		{ "drm/" SLOT "/vram 0\n", true, 0 },
		{ "drm/" SLOT "/vram1 7\ndrm/0000:04:00.0/vram0 90\ndrm/" SLOT "/vram0 5\n", true, 12 },
		/* a region that is not video memory */
		{ "drm/" SLOT "/vram0 5\ndrm/" SLOT "/gtt 90\n", true, 5 },
		{ "drm/" SLOT "/vram0 5\ndrm/" SLOT "/vram1 max\n", false, 0 },
		{ "drm/" SLOT "/vram0 max\n", false, 0 },
		{ "drm/" SLOT "/vram0 18446744073709551615\n", true, UINT64_MAX },
		{ "drm/" SLOT "/vram0 18446744073709551616\n", false, 0 },
		{ "drm/" SLOT "/vram0 18446744073709551615\ndrm/" SLOT "/vram1 1\n", true,
		  UINT64_MAX }, /* the sum does not fit: it is not plausible */
		{ "drm/" SLOT "/vram0 -5\n", false, 0 }, { "drm/" SLOT "/vram0 5x\n", false, 0 },
		{ "drm/" SLOT "/vram0\n", false, 0 }, { "drm/" SLOT "/vram0 5", false, 0 },
		{ "drm/" SLOT "0/vram0 5\n", false, 0 }, { "drm/vram0 5\n", false, 0 },
		{ "x/" SLOT "/vram0 5\n", false, 0 }, { "", false, 0 }, { "\n\n \n", false, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 sum = 0;
		bool is = regions_sum(edge_str(rows[i].text, strlen(rows[i].text)), S(SLOT), &sum);

		check(is == rows[i].is && (!is || sum == rows[i].sum), "regions of row %zu", i);
	}
}

static bool feed_regions(struct str s)
{
	u64 sum;

	regions_sum(s, S(SLOT), &sum);
	return true;
}

/* --- readings --------------------------------------------------------------------------------- */

static u64 value(const struct entity *e, u8 desc, const char *inst)
{
	u64 v;

	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (c->desc == desc && str_is(inst_name(c->inst), inst) && reg_get(e, desc, c->inst, &v))
			return v;
	return UINT64_MAX;
}

static u32 device(const char *slot)
{
	u32 n = device_add();

	str_copy(devices[n].pdev, sizeof(devices[0].pdev), str_z(slot));
	return n;
}

static void t_devices(void)
{
	u32 xe = device(SLOT), amd = device("0000:0a:00.0"), soc = device("");

	dmem_read();
	check(found.absent, "without cgroup v2, the files of dmem are not searched for again");
	found.absent = false;
	put(in_folder("sys/fs/cgroup/unified/cgroup.controllers"), "memory\n");
	dmem_read();
	check(found.absent && found.root == mount_points[1],
	      "a cgroup v2 without dmem is found beside v1");
	found.absent = false;
	put(in_folder("sys/fs/cgroup/unified/dmem.capacity"), "");
	dmem_read();
	check(!found.absent,
	      "without regions, the files are read again: a driver that has some may be loaded "
	      "later");
	put(in_folder("sys/fs/cgroup/unified/dmem.capacity"),
	    "drm/" SLOT "/vram0 100\ndrm/0000:0a:00.0/vram 50\n");
	put(in_folder("sys/fs/cgroup/unified/dmem.current"),
	    "drm/" SLOT "/vram0 60\ndrm/0000:0a:00.0/vram 20\n");
	for (u32 i = xe; i <= soc; i++)
		reg_begin(&devices[i].e, 1);
	reg_put(&devices[amd].e, D_VRAM_USED, LIT(""), 7, 1);
	dmem_read();
	check(!found.absent && value(&devices[xe].e, D_VRAM_TOTAL, "") == 100 &&
	      value(&devices[xe].e, D_VRAM_USED, "") == 60,
	      "a device has the size and the use of its region");
	check(value(&devices[amd].e, D_VRAM_USED, "") == 7 &&
	      value(&devices[amd].e, D_VRAM_TOTAL, "") == 50,
	      "the use that the driver reports has priority over that of dmem");
	check(!reg_first(&devices[soc].e), "a device without a PCI slot has no region");
	put(in_folder("sys/fs/cgroup/unified/dmem.current"), "drm/" SLOT "/vram0 max\n");
	reg_begin(&devices[xe].e, 2);
	dmem_read();
	check(value(&devices[xe].e, D_VRAM_USED, "") == UINT64_MAX &&
	      value(&devices[xe].e, D_VRAM_TOTAL, "") == 100,
	      "a use that is not a number is unknown");
}

static bool all(u8 desc) { (void)desc; return true; }
static bool only_full(u8 desc) { return desc == D_CG_FULL; }

static void t_groups(void)
{
	static const char dir[] = "sys/fs/cgroup/unified/a b";
	struct group *g = group_add(1, cgroup_add(S("/a b")), NULL);

	g->clients = 1;
	cgroups_read(true, all);
	check(!reg_first(&g->e), "a cgroup without files has no value");
	put(in_folder("%s/dmem.current", dir), "drm/" SLOT "/vram0 5\n");
	put(in_folder("%s/dmem.max", dir), "drm/" SLOT "/vram0 max\n");
	put(in_folder("%s/memory.current", dir), "4096\n");
	put(in_folder("%s/cpu.pressure", dir), "some avg10=1.25 avg60=0.00 avg300=0.00 total=5\n"
	    "full avg10=100.00 avg60=0.00 avg300=0.00 total=5\n");
	put(in_folder("%s/io.pressure", dir), "some avg60=1.25\nfull\nsome avg10=1.2.5\n\n"
	    "full avg10=\nsome avg10=100.01\n");
	cgroups_read(false, all);
	check(value(&g->e, D_CG_VRAM, "") == 5 && g->e.count == 1,
	      "without -f, only the video memory of a cgroup is read; a limit of max is not a "
	      "value");
	cgroups_read(true, all);
	check(value(&g->e, D_CG_MEMORY, "") == 4096 && value(&g->e, D_CG_SOME, "cpu") == 1250 &&
	      value(&g->e, D_CG_FULL, "cpu") == 100000 && g->e.count == 4,
	      "a cgroup has its memory and pressure");
	reg_clear(&g->e);
	cgroups_read(true, only_full);
	check(value(&g->e, D_CG_FULL, "cpu") == 100000 && value(&g->e, D_CG_VRAM, "") == UINT64_MAX,
	      "only files of the displayed fields are read");
	reg_clear(&g->e);
	check(!is_below(S("/../x")) && !is_below(S("")) && !is_below(S("x")) && is_below(S("/..x/y..")),
	      "a cgroup outside the namespace is not read");
}

/* A text that fills the buffer may be cut: no part of it is used. */
static void t_cut(void)
{
	static char text[FILE_BYTES];

	memset(text, '5', sizeof(text));
	put_file(in_folder("sys/fs/cgroup/unified/long/memory.current"), text, sizeof(text));
	check_u64(str_len(cgroup_text("fs/cgroup/unified", S("/long"), "memory.current")), 0,
	          "cgroup_text() refuses a text that fills the buffer");
	put_file(in_folder("sys/fs/cgroup/unified/long/memory.current"), text, sizeof(text) - 1);
	check_u64(str_len(cgroup_text("fs/cgroup/unified", S("/long"), "memory.current")), sizeof(text) - 1,
	          "cgroup_text() returns a text that is one byte shorter than the buffer");
}

int main(void)
{
	folder_begin("t_dmem");
	root_set(&roots.sys, in_folder("sys"));
	t_regions();
	check(replay(S("drm/" SLOT "/vram0 5\ndrm/" SLOT "/vram1 max\n"), feed_regions),
	      "dmem: every truncation and change of two lines");
	t_devices();
	t_groups();
	t_cut();
	shell("rm -rf $D");
	return unit_end();
}
