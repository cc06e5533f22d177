/* dmem.c - values of cgroup files: the video memory of devices and of cgroups, as the controller
 * dmem counts it, and the memory and the pressure of cgroups. Reading them wakes no device.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

/* Possible mount points of cgroup v2, relative to /sys: the first if it is used alone, the second
 * beside cgroup v1. */
static const char *const mount_points[] = { "fs/cgroup", "fs/cgroup/unified" };

enum {
	/* room for the mount point, the path of a cgroup (up to 4096 bytes) and the name of a
	 * file */
	PATH_BYTES = 4096 + 64,
	/* size of the largest file that can be read; each memory region has a line of about 40
	 * bytes */
	FILE_BYTES = 8192,
};

static char where[PATH_BYTES], file[FILE_BYTES];

/* Returns the text of a cgroup's file, which is valid until the next call. Its p is NULL if the
 * file cannot be read. The text is empty if the file exceeds the buffer, because the sum over some
 * of its regions would be too low. */
static struct str cgroup_text(const char *root, struct str cgroup, const char *leaf)
{
	struct buf b = BUF_Z(where);
	long n;

	put_z(&b, root);
	put_str(&b, cgroup);
	put_c(&b, '/');
	put_z(&b, leaf);
	n = b.full ? 0 : slurp(roots.sys, buf_z(&b), file, sizeof(file));
	return str_read(n < 0 ? NULL : file, n < (long)sizeof(file) ? n : 0);
}

static struct {
	const char *root; /* mount point of cgroup v2, relative to /sys; NULL: not found yet */
	/* true if the kernel does not have the controller dmem, which cannot be loaded later */
	bool absent;
} found;

static void root_find(void)
{
	for (size_t i = 0; i < LEN(mount_points) && !found.root; i++)
		if (cgroup_text(mount_points[i], (struct str){ 0 }, "cgroup.controllers").p)
			found.root = mount_points[i];
}

/* Parses a line "drm/SLOT/REGION BYTES" of dmemcg_limit_show() in kernel/cgroup/dmem.c, Linux 6.14
 * to 7.2. BYTES is "max" if there is no limit. xe names its regions vram0 and vram1, amdgpu vram.
 * False if the line is not about video memory. *known is true if the line has a number, which is
 * stored in *v. */
static bool region_parse(struct str line, struct str *slot, u64 *v, bool *known)
{
	struct str region;

	if (!str_word(&line, &region) || !str_skip_z(&region, "drm/") ||
	    !str_cut(&region, '/', slot) || !str_skip_z(&region, "vram"))
		return false;
	line = str_trim(line);
	*known = line.p < line.e && scan_u64(line, v) == line.e;
	return true;
}

/* Stores in *sum the bytes of all video memory regions of the device at a PCI slot. False if the
 * text has no such region, or if a region has "max" instead of a number. */
static bool regions_sum(struct str text, struct str slot, u64 *sum)
{
	struct str line, at;
	bool any = false, known = true, has;
	u64 v;

	*sum = 0;
	while (known && line_next(&text, &line)) {
		if (!region_parse(line, &at, &v, &has) || !str_eq(at, slot))
			continue;
		any = true;
		known = has;
		*sum = v <= UINT64_MAX - *sum ? *sum + v : UINT64_MAX;
	}
	return any && known;
}

/* For each device whose driver reports no video memory, stores the total and the used video memory
 * from the files of the cgroup controller dmem. These files are empty until the first driver with
 * memory regions is loaded. */
void dmem_read(void)
{
	static const struct {
		const char *leaf;
		u8 desc;
	} files[] = { { "dmem.capacity", D_VRAM_TOTAL }, { "dmem.current", D_VRAM_USED } };
	u32 transient = fileio.transient;
	u64 v;

	if (found.absent)
		return;
	root_find();
	for (size_t k = 0; k < LEN(files) && found.root && !found.absent; k++) {
		struct str text = cgroup_text(found.root, (struct str){ 0 }, files[k].leaf);

		found.absent |= k == 0 && !text.p && fileio.transient == transient;
		for (u32 i = NONE; text.p < text.e && (i = device_next(i, false)) != NONE;)
			if (devices[i].pdev[0] && regions_sum(text, str_z(devices[i].pdev), &v))
				reg_put(&devices[i].e, files[k].desc, LIT(""), v,
					sys_now(CLOCK_MONOTONIC));
	}
	found.absent |= !found.root && fileio.transient == transient;
}

/* --- cgroups ---------------------------------------------------------------------------------- */

static void put_regions(struct group *g, struct str text, u8 desc, const char *inst)
{
	u64 v;

	if (devices[g->device].pdev[0] && regions_sum(text, str_z(devices[g->device].pdev), &v))
		reg_put(&g->e, desc, str_z(inst), v, 0);
}

static void put_memory(struct group *g, struct str text, u8 desc, const char *inst)
{
	struct str line;
	u64 v;

	if (line_next(&text, &line) && scan_u64(line, &v) == line.e)
		reg_put(&g->e, desc, str_z(inst), v, 0);
}

/* Stores the values of a pressure file of a cgroup, in 1/1000 %: the share of the last 10 s in
 * which some tasks (desc), and in which all tasks (desc + 1), waited for a resource. The lines are
 * "some avg10=0.12 avg60=0.08 avg300=0.05 total=123" and "full ..."
 * (Documentation/accounting/psi.rst). */
static void put_pressure(struct group *g, struct str text, u8 desc, const char *inst)
{
	struct str line, word;
	u64 v;

	while (line_next(&text, &line)) {
		u8 which = desc;

		if (!str_word(&line, &word))
			continue;
		which += str_is(word, "full");
		if (str_word(&line, &word) && str_skip_z(&word, "avg10=") &&
		    scan_dec(word, 3, &v) == word.e && v <= 100000)
			reg_put(&g->e, which, str_z(inst), v, 0);
	}
}

_Static_assert(D_CG_FULL == D_CG_SOME + 1, "see put_pressure()");

static const struct cgroupfile {
	const char *leaf, *inst;
	void (*put)(struct group *g, struct str text, u8 desc, const char *inst);
	u8 desc;
	bool asked; /* true if the file is read only when the option -f names fields */
} cgroupfiles[] = {
	{ "dmem.current", "", put_regions, D_CG_VRAM, false },
	{ "dmem.max", "", put_regions, D_CG_VRAM_MAX, false },
	{ "memory.current", "", put_memory, D_CG_MEMORY, true },
	{ "cpu.pressure", "cpu", put_pressure, D_CG_SOME, true },
	{ "memory.pressure", "memory", put_pressure, D_CG_SOME, true },
	{ "io.pressure", "io", put_pressure, D_CG_SOME, true },
};

/* True if a cgroup is below the root of this process's cgroup namespace. The path of a cgroup
 * outside of the namespace begins with "/..". */
static bool is_below(struct str cgroup)
{
	return cgroup.p < cgroup.e && *cgroup.p == '/' && !str_find(cgroup, LIT("/../"));
}

/* Stores the values of cgroup files in the cgroups of the registry (struct group). The caller has
 * computed the sums over the clients of each cgroup before. asked: true if the option -f names
 * fields; shows(): returns true if the output shows the quantity `desc`. */
void cgroups_read(bool asked, bool (*shows)(u8 desc))
{
	static char text[PATH_BYTES];

	root_find();
	for (u32 i = 1; found.root && i <= nrows.groups; i++) {
		struct group *g = &groups[i];
		struct str cgroup = { text, text };

		if (!g->e.used || g->e.kind != K_CGROUP || !g->clients)
			continue;
		cgroup.e += text_copy(cgroups[g->cgroup].path, text, sizeof(text));
		for (size_t k = 0; k < LEN(cgroupfiles) && is_below(cgroup); k++) {
			const struct cgroupfile *f = &cgroupfiles[k];

			if ((f->asked ? asked : !found.absent) &&
			    (shows(f->desc) || (f->put == put_pressure && shows(D_CG_FULL))))
				f->put(g, cgroup_text(found.root, cgroup, f->leaf), f->desc,
				       f->inst);
		}
	}
}
