/* kfd.c - AMD's compute driver (kfd). Its processes have no DRM client of their own; /sys/class/kfd
 * reports the memory that they hold, and their times. See kfd_process.c and kfd_topology.c of
 * drivers/gpu/drm/amd/amdkfd. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"

/* The GPUs that AMD's compute driver (kfd) lists. id: kfd's gpu_id; domain: PCI domain; location:
 * kfd's location_id, which has the PCI bus, device and function. */
static struct {
	u64 id, domain, location;
	/* number N of the GPU's render node renderDN; 0 if the kernel does not report it (before
	 * Linux 5.0) */
	u64 render;
	/* true if the GPU is part of an APU, a processor with an integrated GPU: its node in kfd's
	 * topology has CPUs */
	bool apu;
	u32 device; /* index of the GPU in devices[], as of this scan; NONE: unknown */
} gpus[MAX_DEVICES - 1];
static u32 ngpus;
static char file[4096];

#define ROOT "class/kfd/kfd/"

/* Finds the line "NAME VALUE" in text, the file `properties` of a node of kfd's topology. True if
 * *v was set to the value. */
static bool property_get(struct str text, struct str name, u64 *v)
{
	struct str line, word;

	while (line_next(&text, &line))
		if (str_word(&line, &word) && str_eq(word, name) && str_word(&line, &word))
			return scan_u64(word, v) == word.e;
	return false;
}

static void put_digits(struct buf *b, u64 v, int digits)
{
	while (digits-- > 0)
		put_c(b, "0123456789abcdef"[v >> 4 * digits & 15]);
}

/* Returns the device with the render node renderD<number>; NONE if there is none. The render node
 * identifies a partition of an accelerator; the PCI address does not, because all partitions share
 * it. */
static u32 device_rendering(u64 number)
{
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		if (devices[i].render >= 0 && (u64)devices[i].render == number)
			return i;
	return NONE;
}

/* Returns the device at a PCI address; NONE if there is none. location is kfd's location_id: bus,
 * device and function, in the bits that PCI uses. */
static u32 device_at(u64 domain, u64 location)
{
	char slot[16];
	struct buf b = BUF(slot);

	put_digits(&b, domain, 4);
	put_c(&b, ':');
	put_digits(&b, location >> 8, 2);
	put_c(&b, ':');
	put_digits(&b, location >> 3 & 31, 2);
	put_c(&b, '.');
	put_u64(&b, location & 7);
	return sysfs_device_at_slot((struct str){ slot, slot + b.n });
}

static const char *kfd_path(char *out, const char *a, const char *b, const char *c, u64 id,
			    const char *tail)
{
	struct buf s = { .p = out, .cap = 127 };

	put_z(&s, a);
	put_z(&s, b);
	put_z(&s, c);
	if (id)
		put_u64(&s, id);
	put_z(&s, tail);
	out[s.n] = '\0';
	return out;
}

static bool file_u64(const char *path, u64 *v)
{
	struct str line;

	return slurp_line(roots.sys, path, file, sizeof(file), &line) &&
	       scan_u64(line, v) == line.e;
}

/* Finds the GPUs that kfd lists. This is repeated in each scan, because a GPU or its driver may be
 * added later. */
static void gpus_find(void)
{
	char path[128];
	struct dir d;
	const char *name;

	if (dir_open(&d, roots.sys, ROOT "topology/nodes") < 0)
		return;
	ngpus = 0;
	while ((name = dir_next(&d))) {
		u64 id, domain = 0, location, render = 0, cpus = 0, simds = 0;
		struct str text;
		long n;

		if (!file_u64(kfd_path(path, ROOT "topology/nodes/", name, "/gpu_id", 0, ""),
			      &id) ||
		    id == 0)
			continue; /* a node of kfd's topology with gpu_id 0 is a CPU */
		if (ngpus == LEN(gpus)) {
			registry.dropped++;
			break;
		}
		n = slurp(roots.sys,
			  kfd_path(path, ROOT "topology/nodes/", name, "/properties", 0, ""),
			  file, sizeof(file));
		text = (struct str){ file, file + (n > 0 ? n : 0) };
		property_get(text, (struct str)STR("domain"), &domain);
		if (!property_get(text, (struct str)STR("location_id"), &location))
			continue;
		property_get(text, (struct str)STR("drm_render_minor"), &render);
		gpus[ngpus].id = id;
		property_get(text, (struct str)STR("cpu_cores_count"), &cpus);
		property_get(text, (struct str)STR("simd_count"), &simds);
		gpus[ngpus].apu = cpus && simds;
		gpus[ngpus].render = render;
		gpus[ngpus].domain = domain;
		gpus[ngpus++].location = location;
	}
	dir_close(&d);
}

/* Calls found() for each process that AMD's compute driver kfd lists, and each GPU on which the
 * process has memory; slot: index of the GPU in gpus[]. False if the machine has no kfd, or kfd has
 * no GPU. */
bool kfd_scan(void (*found)(u32 pid, u32 device, u32 slot))
{
	char path[128];
	struct dir d;
	const char *name;

	gpus_find();
	if (ngpus == 0 || dir_open(&d, roots.sys, ROOT "proc") < 0)
		return false;
	for (u32 i = 0; i < ngpus; i++)
		gpus[i].device = gpus[i].render ? device_rendering(gpus[i].render) :
						  device_at(gpus[i].domain, gpus[i].location);
	for (u32 i = 0; i < ngpus; i++)
		if (gpus[i].device != NONE)
			devices[gpus[i].device].apu |= gpus[i].apu;
	while ((name = dir_next(&d)))
		for (u32 i = 0; i < ngpus; i++) {
			struct str s = str_z(name);
			u64 pid, vram;

			if (gpus[i].device != NONE && scan_u64(s, &pid) == s.e &&
			    pid <= INT32_MAX &&
			    file_u64(kfd_path(path, ROOT "proc/", name, "/vram_", gpus[i].id, ""),
				     &vram) &&
			    vram)
				found((u32)pid, gpus[i].device, i);
		}
	dir_close(&d);
	return true;
}

/* Stores the memory and the SDMA time that kfd reports for a process on the device of the client c;
 * t: time in ns. False if kfd does not list the process any more. */
bool kfd_read(struct client *c, u32 pid, i64 t)
{
	char path[128], digits[16], text[40];
	struct buf b = BUF_Z(digits), other = BUF(text);
	u64 v, id = 0;

	for (u32 i = 0; i < ngpus; i++)
		if (gpus[i].device == c->device)
			id = gpus[i].id;
	put_u64(&b, pid);
	digits[b.n] = '\0';
	if (!file_u64(kfd_path(path, ROOT "proc/", digits, "/vram_", id, ""), &v))
		return false;
	reg_begin(&c->e, t);
	reg_put(&c->e, D_RESIDENT, (struct str)STR("vram"), v, t);
	if (file_u64(kfd_path(path, ROOT "proc/", digits, "/sdma_", id, ""), &v) &&
	    v < UINT64_MAX / 1000)
		reg_put(&c->e, D_BUSY_NS, (struct str)STR("sdma"), v * 1000, t);
	if (devices[c->device].awake &&
	    file_u64(kfd_path(path, ROOT "proc/", digits, "/stats_", id, "/cu_occupancy"), &v)) {
		put_z(&other, "cu_occupancy:");
		put_u64(&other, v);
		put_c(&other, '\n');
	}
	if (fdinfo_scope.others)
		c->other = text_put(c->other, (struct str){ text, text + other.n });
	return true;
}
