/* boards.c - devices of vendors' drivers that are not part of Linux: GPUs and NPUs without a DRM
 * node, and additional files of GPUs and NPUs with one. The formats of the files are from the
 * drivers' sources and from reports; the comments of the rows name them.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

enum { PATH_BYTES = 512 };

/* Format of the text in a vendor's file. Multiplied by 10^zeros (struct attr.zeros), the number in
 * the text is in the unit of the registry. */
enum form {
	/* utilisation of the device, as in "37", "37 %", "37@800000000Hz", "37 40 23" or "gpu=37
	 * [Freq : 598000]" */
	SHARE,
	/* text of Rockchip's NPU driver with the utilisation of each core: "NPU load:  Core0: 12%,
	 * Core1:  0%," */
	CORES,
	/* text of the driver galcore with the utilisation of each core: lines "core : 0" and "load
	 * : 37.12%" */
	GC_CORES,
	/* text of PowerVR's driver with several lines; "GPU Utilisation: 37%" has the
	 * utilisation */
	STATUS,
	/* text with a clock, such as "800000000"; the unit (Hz, kHz or MHz) is in the row of
	 * places[] */
	CLOCK,
	/* text with a clock in MHz, kHz or Hz; the unit is recognised by the size of the number:
	 * "800", "800000" or "800000000" */
	ANY_CLOCK,
	OPP_CLOCK, /* text "INDEX KHZ": the index of a clock in a table, and the clock in kHz */
	CELSIUS,   /* text with a temperature in 1/1000 degrees C: "45000" */
};

/* Initializers of a struct attr in FILES(): `flags` are A_* bits, `zeros` is the power of
 * ten that converts the file's number to the registry's unit, and `leaf` is the file's name. */
#define FILE_OF(form, desc, flags, zeros, inst, leaf) \
	{ form, T_BOARD, desc, flags, zeros, inst, leaf }
#define BUSY(flags, zeros, leaf) FILE_OF(SHARE, D_GPU_BUSY, flags, zeros, IS_GPU, leaf)
#define FREQ(form, flags, zeros, leaf) FILE_OF(form, D_FREQ_CUR, flags, zeros, IS_GPU, leaf)
#define TEMP(desc, flags, inst, leaf) FILE_OF(CELSIUS, desc, flags, 0, inst, leaf)
/* power of ten that converts the utilisation in a file to the registry's unit, 1/1000 %: PERCENT
 * from %, PER_MILLE from tenths of a percent */
enum { PERCENT = 3, PER_MILLE = 2 };
enum { HZ = 0, KHZ = 3 };            /* power of ten that converts a clock to Hz */
/* Initializers of the members files and nfiles of struct place: an array of its own for each row,
 * because most rows have fewer files than the longest one. */
#define FILES(...) \
	.files = (const struct attr[]){ __VA_ARGS__ }, \
	.nfiles = sizeof((const struct attr[]){ __VA_ARGS__ }) / sizeof(struct attr)

/* A place: one or more folders in which a vendor's driver has files about a GPU or an NPU. A row of
 * places[] says how to find the folders, the device and the files. */
static const struct place {
	/* Paths of the folders to search for, separated by blanks; '*' matches any characters of a
	 * folder's name. */
	const char *where;
	/* Path of the device's sysfs folder, relative to a folder that matched `where`. NULL if the
	 * device has no folder: the files belong to the chip's only GPU or NPU. */
	const char *device;
	u8 part;            /* enum chip_part: the device is a GPU, an NPU or a card */
	/* true if the row only adds files to a device that is known otherwise: from DRM, or from
	 * another row of places[] */
	bool extra;
	u8 nfiles; /* number of elements of files[] */
	/* name of a file in the folder; a folder without this file is not used; NULL: every folder
	 * is used */
	const char *needs;
	/* name of the driver; NULL if the device's file uevent names the driver */
	const char *driver;
	/* name of the device (struct device.dev); NULL: the name of the folder that matched
	 * `where` */
	const char *name;
	/* name of the file with the device's model name; NULL if there is none */
	const char *model;
	const struct attr *files;
} places[] = {
	/* Qualcomm, drivers/gpu/msm/kgsl_pwrctrl.c of Linux 4.19. Reading gpu_busy_percentage or
	 * temp does not access the GPU. The file gpubusy is never read: a read resets its counts
	 * for all programs. */
	{ .where = "/sys/class/kgsl/kgsl-*", .device = "device", .part = PART_GPU,
	  .driver = "kgsl", .model = "gpu_model",
	  FILES(BUSY(A_ASLEEP, PERCENT, "gpu_busy_percentage"), FREQ(CLOCK, 0, HZ, "gpuclk"),
		FILE_OF(CLOCK, D_FREQ_MAX, 0, HZ, IS_GPU, "max_gpuclk"),
		TEMP(D_TEMP, A_ASLEEP, IS_GPU, "temp")) },
	/* NVIDIA Jetson, driver nvgpu. Newer releases have no link gpu.0, so the folder of the
	 * platform device is found by its name, such as 17000000.gv11b. */
	{ .where = "/sys/devices/gpu.0 /sys/devices/platform/gpu.0 /sys/devices/*.g* "
		   "/sys/devices/platform/*.g* /sys/devices/platform/bus@0/*.g* "
		   "/sys/devices/platform/*host1x/*.g* "
		   "/sys/devices/platform/bus@0/*host1x/*.g* "
		   "/sys/bus/platform/devices/*.g*",
	  .device = "", .part = PART_GPU, .needs = "load", .driver = "nvgpu",
	  FILES(BUSY(0, PER_MILLE, "load")) },
	/* GPUs with devfreq, of any vendor's driver. Rockchip's kernels add the file `load`. */
	{ .where = "/sys/class/devfreq/*gpu /sys/class/devfreq/*mali", .device = "device",
	  .part = PART_GPU, .needs = "cur_freq",
	  FILES(FILE_OF(SHARE, D_GPU_BUSY, 0, PERCENT, FROM_DIR, "load")) },
	/* NPUs with devfreq. Their file `load` is not read: it is always 0, because
	 * npu_devfreq_get_dev_status() of the driver does not set it. */
	{ .where = "/sys/class/devfreq/*npu*", .device = "device", .part = PART_NPU,
	  .needs = "load" },
	/* Rockchip's NPU, rknpu_debugger.c of the driver: the file `load` is in debugfs, and with
	 * CONFIG_ROCKCHIP_RKNPU_PROC_FS also in /proc. */
	{ .where = "/sys/kernel/debug/rknpu /proc/rknpu", .part = PART_NPU, .needs = "load",
	  .driver = "rknpu", .name = "rknpu",
	  FILES(FILE_OF(CORES, D_LOAD, 0, 0, NO_INST, "load")) },
	/* MediaTek: ged_sysfs.c and ged_hal.c of the driver ged. Its files have the utilisation and
	 * the clock that the governor of the GPU's clock measured last. */
	{ .where = "/sys/kernel/ged/hal", .part = PART_GPU, .driver = "ged", .name = "ged",
	  FILES(BUSY(A_ASLEEP, PERCENT, "gpu_utilization"),
		FREQ(OPP_CLOCK, A_ASLEEP, KHZ, "current_freqency")) },
	/* Mali GPUs with Arm's drivers kbase or utgard: makers of chips add the files
	 * `utilization`, `utilisation`, `utilization_gp_pp` and `clock` to the device's folder. */
	{ .where = "/sys/class/misc/mali*", .device = "device", .part = PART_GPU,
	  .driver = "mali", .model = "device/gpuinfo",
	  FILES(BUSY(0, PERCENT, "device/utilization"),
		BUSY(0, PERCENT, "device/utilisation"),
		BUSY(0, PERCENT, "device/utilization_gp_pp"),
		FREQ(ANY_CLOCK, 0, HZ, "device/clock")) },
	{ .where = "/sys/class/misc/mali*/device/devfreq/*", .device = "../..", .part = PART_GPU,
	  .needs = "load",
	  FILES(FILE_OF(SHARE, D_GPU_BUSY, 0, PERCENT, FROM_DIR, "load")) },
	/* Mali GPUs of Exynos and Allwinner chips with older kernels */
	{ .where = "/sys/devices/platform/*.mali /sys/devices/platform/soc/*.mali", .device = "",
	  .part = PART_GPU, .needs = "utilization", .driver = "mali", .model = "gpuinfo",
	  FILES(BUSY(0, PERCENT, "utilization"), FREQ(ANY_CLOCK, 0, HZ, "clock")) },
	/* Mali GPUs of MediaTek chips: utilization_seq_show() of MediaTek's platform code in
	 * kbase */
	{ .where = "/proc/mtk_mali /proc/mali", .part = PART_GPU, .needs = "utilization",
	  .driver = "mali", .name = "mali",
	  FILES(BUSY(A_ASLEEP, PERCENT, "utilization")) },
	/* Mali GPUs of Amlogic chips, mpgpu.c of the driver. Some kernels print the index of the
	 * clock instead of the clock; clock_hz() rejects such small numbers. */
	{ .where = "/sys/class/mpgpu", .part = PART_GPU, .driver = "mali", .name = "mpgpu",
	  FILES(BUSY(A_ASLEEP, PERCENT, "utilization"),
		FREQ(ANY_CLOCK, A_ASLEEP, HZ, "cur_freq")) },
	/* Vivante GPUs with the driver galcore (NXP), gc_hal_kernel_debugfs.c: a read of `load`
	 * powers all cores on and waits for 100 ms. `idle` is not read, because a read resets its
	 * counts for all programs. */
	{ .where = "/sys/bus/platform/drivers/galcore/*", .device = "", .part = PART_GPU,
	  .needs = "driver", .driver = "galcore" },
	{ .where = "/sys/kernel/debug/gc", .part = PART_GPU, .needs = "load",
	  .driver = "galcore", .name = "galcore",
	  FILES(FILE_OF(GC_CORES, D_LOAD, A_ON | A_SLOW, PERCENT, NO_INST, "load")) },
	/* PowerVR GPUs (TI, Renesas, StarFive, SpacemiT): DebugStatusDIShow() in debug_common.c of
	 * the driver prints the file `status`. */
	{ .where = "/sys/bus/platform/drivers/pvrsrvkm/*", .device = "", .part = PART_GPU,
	  .needs = "driver", .driver = "pvrsrvkm" },
	{ .where = "/sys/kernel/debug/pvr /sys/kernel/debug/pvr/*", .part = PART_GPU,
	  .driver = "pvrsrvkm", .name = "pvr",
	  FILES(FILE_OF(STATUS, D_GPU_BUSY, 0, PERCENT, IS_GPU, "status"),
		FILE_OF(STATUS, D_GPU_BUSY, 0, PERCENT, IS_GPU, "utilisation_stats")) },
	/* Coral, apex_driver.c: the device throttles when it reaches the temperature of a trip
	 * point */
	{ .where = "/sys/class/apex/apex_*", .device = "device", .part = PART_CARD,
	  .driver = "apex",
	  FILES(TEMP(D_TEMP, 0, IS_NPU, "temp"),
		TEMP(D_TEMP_CRIT, A_LIMIT, IS_NPU, "trip_point0_temp")) },
	{ .where = "/sys/class/hailo_chardev/hailo*", .device = "", .part = PART_CARD,
	  .driver = "hailo" },
	/* AWS Neuron: the files are documented in the Neuron Sysfs User Guide */
	{ .where = "/sys/devices/virtual/neuron_device/neuron*", .device = "", .part = PART_CARD,
	  .driver = "neuron", .model = "info/architecture/device_name" },
	{ .where = "/sys/devices/virtual/neuron_device/neuron*/neuron_core*/stats/memory_usage/"
		   "device_mem",
	  .device = "../../../..", .part = PART_CARD, .extra = true,
	  FILES({ 0, T_NUMBER, D_RESIDENT, 0, 0, FROM_DIR, "present" }) },
};

/* has_place[i]: true if the last boards_start() found a folder of a vendor's driver that belongs to
 * devices[i] */
static bool has_place[MAX_DEVICES];
/* bit i: the last boards_start() found a folder that matches places[i] */
static u32 places_found;
_Static_assert(LEN(places) <= 32, "a row has a bit in places_found");

/* --- parsing of the texts in vendors' files --------------------------------------------------- */

/* Parses a utilisation into *v, in 1/1000 %. A number at the end of a longer text is rejected,
 * because it may have been cut; a text that is only a number is accepted, because some drivers
 * print no newline. Returns the text after the number; its p is NULL if there is no valid
 * number. */
static struct str scan_share(struct str s, u8 zeros, u64 *v)
{
	const char *begin = s.p, *p = memchr(s.p, '=', str_len(s));

	if (p)
		s.p = p + 1;
	while (s.p < s.e && *s.p == ' ')
		s.p++;
	p = s.p;
	s.p = scan_dec(s, zeros, v);
	if ((s.p == s.e && p != begin) || (s.p && *v > 100000))
		s.p = NULL;
	p = s.p;
	while (p && p < s.e && *p == ' ')
		p++;
	/* A number before another unit, as in "37 MHz", is not a utilisation. */
	if (p && p < s.e && ((u8)((*p | 32) - 'a') < 26 || *p == '-' || *p == '.'))
		s.p = NULL;
	return s;
}

/* Converts the clock *v, a number from a vendor's file, to Hz. With the format ANY_CLOCK, the size
 * of the number shows its unit, because GPU clocks are between 10 MHz and 10 GHz. False if the
 * number cannot be a clock: a number below 10 is the index of a clock. */
static bool clock_hz(u8 form, u8 zeros, u64 *v)
{
	static const u32 by[] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };

	if (form == ANY_CLOCK) {
		if (*v < 10)
			return false;
		zeros = *v < 10000 ? 6 : *v < 10000000 ? 3 : 0;
	}
	if (*v == 0 || *v > UINT64_C(100000000000) / by[zeros])
		return false;
	*v *= by[zeros];
	return true;
}

static bool scan_clock(struct str s, u8 form, u8 zeros, u64 *v)
{
	struct str word;
	const char *p;

	if (form == OPP_CLOCK)
		str_word(&s, &word);
	while (s.p < s.e && *s.p == ' ')
		s.p++;
	p = scan_u64(s, v);
	return p && (p < s.e || form != OPP_CLOCK) && clock_hz(form, zeros, v);
}

/* Parses a temperature into *v, in 1/1000 degrees C. False if it is not plausible: drivers print 0
 * if there is no sensor, and a value below one degree is probably in another unit. */
static bool scan_celsius(struct str text, i64 *v)
{
	return parse_sensor(text, v) && *v > -60000 && *v < 200000 && (*v >= 1000 || *v <= -1000);
}

/* Returns the rest of the line "GPU Utilisation:" of a PowerVR status file, after the colon and
 * with the newline; empty if there is no such line. */
static struct str find_status(struct str text)
{
	struct str line, key;

	while (line_next(&text, &line))
		if (str_find(line, LIT("GPU Utili")) && str_cut(&line, ':', &key))
			return (struct str){ line.p, text.p };
	return (struct str){ text.p, text.p };
}

/* State of the parser of a text with the utilisation of each core of a device. any: a value was
 * stored; most: highest utilisation of a core, in 1/1000 %. At the end, most is stored as the
 * utilisation of the device if any is true and the text of every core was valid. */
struct cores {
	struct entity *e;
	i64 t;
	u64 most;
	bool any;
};

static void core_put(struct cores *c, struct str name, u64 v)
{
	if (v <= 100000)
		c->any |= reg_put(c->e, D_LOAD, name, v, c->t);
	c->most = v > c->most ? v : c->most;
}

static bool cores_end(struct cores *c)
{
	return c->any && c->most <= 100000 &&
	       reg_put(c->e, D_GPU_BUSY, (struct str){ 0 }, c->most, c->t);
}

static bool store_gc(struct entity *e, u8 zeros, struct str text, i64 t)
{
	struct cores c = { .e = e, .t = t };
	struct str piece, word;
	char core[16];
	struct buf b = BUF(core);
	u64 v;

	put_z(&b, "core");
	while (str_cut(&text, ':', &piece)) {
		struct str rest = text, key = piece;

		while (str_word(&piece, &word))
			key = word;
		if (str_is(key, "core") && str_word(&rest, &word)) {
			b.n = sizeof("core") - 1;
			put_str(&b, word);
		}
		if (str_is(key, "load"))
			core_put(&c, (struct str){ core, core + b.n },
				 scan_share(rest, zeros, &v).p ? v : UINT64_MAX);
	}
	return cores_end(&c);
}

static bool store_cores(struct entity *e, struct str text, i64 t)
{
	struct cores c = { .e = e, .t = t };
	struct str core;
	u64 v;

	while (parse_rknpu(&text, &core, &v))
		core_put(&c, core, v);
	return cores_end(&c);
}

/* Stores the utilisation of a GPU, and the clock if it follows: "37@800000000Hz". */
static bool store_share(const struct attr *a, struct entity *e, struct str inst, struct str text,
			i64 t)
{
	u64 v;
	struct str rest = scan_share(text, a->zeros, &v);

	if (!rest.p)
		return false;
	reg_put(e, D_GPU_BUSY, (struct str){ 0 }, v, t);
	if (str_skip_z(&rest, "@") && memchr(rest.p, 'H', str_len(rest)) &&
	    scan_clock(rest, CLOCK, HZ, &v))
		reg_put(e, D_FREQ_CUR, inst, v, t);
	return true;
}

bool board_store(const struct attr *a, struct entity *e, struct str inst, struct str text, i64 t)
{
	u64 v = 0;
	i64 celsius = 0;
	bool valid;

	switch (a->folder) {
	case SHARE:
		return store_share(a, e, inst, text, t);
	case STATUS:
		return store_share(a, e, inst, find_status(text), t);
	case CORES:
		return store_cores(e, text, t);
	case GC_CORES:
		return store_gc(e, a->zeros, text, t);
	case CELSIUS:
		valid = scan_celsius(text, &celsius);
		v = (u64)celsius;
		break;
	default:
		valid = scan_clock(text, a->folder, a->zeros, &v);
	}
	return valid && reg_put(e, a->desc, inst, v, t);
}

/* --- folders of vendors' files ---------------------------------------------------------------- */

/* The argument of the callbacks of match_folders(): the row of places[] whose folders are searched
 * for. place_probe() opens the files of the device probe.device. */
struct finding {
	const struct place *place;
	folder_fn *each;
	struct probe probe;
};

/* Name patterns of the DRM drivers that the only GPU, or the only NPU, of a chip can have, indexed
 * by enum chip_part. Some of the drivers are not in the Linux kernel. */
static const char *const chip_drivers[] = {
	[PART_GPU] = "msm* mali* panfrost panthor lima etnaviv powervr pvrsrvkm",
	[PART_NPU] = "rknpu* RKNPU*",
};

/* Returns the device that is the chip's GPU or NPU (part: enum chip_part), preferably one with a
 * DRM driver. NONE if there is no such device. */
static u32 part_find(u8 part)
{
	u32 vendor = NONE;

	for (u32 i = NONE; part != PART_CARD && (i = device_next(i, true)) != NONE;) {
		struct str drivers = str_z(chip_drivers[part]), pattern;

		if (devices[i].gone)
			continue;
		if (devices[i].part == part && vendor == NONE)
			vendor = i;
		/* A device without a folder in /sys (ino is 0) is known only from a process's
		 * descriptor and disappears with it: no vendor folder is assigned to it. */
		while (devices[i].ino && !devices[i].pdev[0] && !devices[i].clientless &&
		       str_word(&drivers, &pattern))
			if (glob_match(pattern, str_z(devices[i].driver), NULL))
				return i;
	}
	return vendor;
}

/* Stores in path and *st the sysfs folder of the device to which the vendor folder `at` belongs:
 * the target of the link p->device, or `at` itself if the link cannot be followed. False if
 * p->device is NULL, or if neither folder can be read. */
static bool device_folder(const struct place *p, int root, const char *at, char *path,
			  struct stat *st)
{
	return p->device && ((path_join(path, PATH_BYTES, at, p->device) &&
			      files_note_error(sys_fstatat(root, path, st)) == 0) ||
			     (path_join(path, PATH_BYTES, at, "") &&
			      files_note_error(sys_fstatat(root, path, st)) == 0));
}

/* Returns the known device to which the vendor folder `at` belongs: the device with the same sysfs
 * folder, otherwise the chip's GPU or NPU. If a device was added only for vendor files and the
 * chip's DRM device has appeared since, the former is removed. */
static u32 place_device(const struct place *p, int root, const char *at)
{
	char path[PATH_BYTES];
	struct stat st;
	u32 n = NONE, part;

	if (device_folder(p, root, at, path, &st))
		n = device_by_ino(&st);
	if (n != NONE && !devices[n].clientless)
		return n;
	part = part_find(p->part);
	if (n != NONE && (part == NONE || devices[part].clientless))
		return n;
	if (n != NONE)
		device_end(n);
	return part;
}

static void model_find(const struct place *p, int root, const char *at, u32 n)
{
	struct device *d = &devices[n];
	char path[PATH_BYTES], text[128];
	struct str line;

	if (sensing.choice && sensing.choice(n) & DEVICE_LEFT_OUT)
		return;
	if (p->model && !d->name[0] && path_join(path, sizeof(path), at, p->model) &&
	    slurp_line(root, path, text, sizeof(text), &line))
		str_copy(d->name, sizeof(d->name), line);
}

/* Adds a device for the vendor folder `at`. Returns NONE if the device table is full or the folder
 * cannot be read. */
static u32 place_add(const struct place *p, int root, const char *at)
{
	char path[PATH_BYTES];
	struct stat st;
	u32 n = device_in_folder(root, device_folder(p, root, at, path, &st) ? path : at);
	struct device *d = &devices[n];

	if (n == NONE) {
		device_missing(at);
		return NONE;
	}
	if (root == roots.sys)
		device_identify(n);
	d->part = p->part;
	d->clientless = true;
	str_copy(d->dev, sizeof(d->dev), p->name ? str_z(p->name) : str_base(str_z(at)));
	if (p->driver)
		str_copy(d->driver, sizeof(d->driver), str_z(p->driver));
	return n;
}

/* Callback for each vendor folder `at`: finds the device to which the folder belongs, or adds a
 * device for the folder. */
static void place_found(void *arg, const char *at, struct str star)
{
	struct finding *f = arg;
	const struct place *p = f->place;
	char path[PATH_BYTES];
	struct stat st;
	u32 n;

	(void)star;
	if (!path_join(path, sizeof(path), at, p->needs ? p->needs : "") ||
	    files_note_error(sys_fstatat(f->probe.root, path, &st)) < 0)
		return;
	n = place_device(p, f->probe.root, at);
	if (n == NONE && !p->extra)
		n = place_add(p, f->probe.root, at);
	if (n == NONE)
		return;
	has_place[n] = true;
	places_found |= 1u << (p - places);
	model_find(p, f->probe.root, at, n);
}

/* Callback for each vendor folder `at`: if the folder belongs to the device f->probe.device, opens
 * the files in the folder that the row f->place lists. */
static void place_probe(void *arg, const char *at, struct str star)
{
	struct finding *f = arg;

	if (place_device(f->place, f->probe.root, at) == f->probe.device)
		probe_dir(&f->probe, at, star);
}

static void each_folder(struct finding *f)
{
	struct str where = str_z(f->place->where), word;

	while (str_word(&where, &word)) {
		f->probe.root = str_skip_z(&word, "/sys/") ? roots.sys : roots.proc;
		str_skip_z(&word, "/proc/");
		match_folders(f->probe.root, "", word, (struct str){ 0 }, f->each, f);
	}
}

/* Removes the devices that were added for vendor folders and have none any more: the vendor's
 * driver was unloaded. */
static void places_end(void)
{
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		if (devices[i].clientless && !devices[i].gone && !has_place[i])
			device_end(i);
}

void boards_start(void)
{
	u32 errors = fileio.transient;

	places_found = 0;
	memset(has_place, 0, sizeof(has_place));
	/* Rows of places[] with a path to the device's folder (member device) come first: they add
	 * the devices, and files of the other rows belong to these devices. */
	for (size_t i = 0; i < 2 * LEN(places); i++) {
		const struct place *p = &places[i % LEN(places)];

		if (!p->device == (i >= LEN(places)) && (nrows.devices || !p->extra))
			each_folder(&(struct finding){ .place = p, .each = place_found });
	}
	/* Remove devices only if no transient error occurred: then the search was complete, and a
	 * device that was not found is really gone. */
	if (errors == fileio.transient)
		places_end();
}

void boards_probe(u32 device, bool asleep)
{
	for (size_t i = 0; i < LEN(places); i++) {
		const struct place *p = &places[i];
		struct finding f = { .place = p, .each = place_probe };

		if (!(places_found >> i & 1) || !p->nfiles)
			continue;
		f.probe = (struct probe){ .first = p->files, .end = p->files + p->nfiles,
					  .device = device, .asleep = asleep,
					  .place = (u8)(i + 1) };
		each_folder(&f);
	}
}
