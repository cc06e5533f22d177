/* t_boards.c - devices of vendor drivers: each form of a file with hostile contents, and places that
 * are the same device. SPDX-License-Identifier: MIT */
#include "folder.h"
#include "sys.h"

#include "../../sources/device/boards.c"

static const u64 none = 0xdeadbeefdeadbeef; /* the counter has no value */
static u32 shown; /* the device of the values below */

static u64 get(u8 desc, const char *inst)
{
	u64 v;

	for (struct counter *c = reg_first(&devices[shown].e); c; c = reg_next(c))
		if (c->desc == desc && str_is(inst_name(c->inst), inst))
			return reg_get(&devices[shown].e, desc, c->inst, &v) ? v : none;
	return none;
}

/* --- forms ------------------------------------------------------------------------------------ */

static const struct text {
	u8 form, zeros, desc;
	const char *text, *inst;
	u64 want;
} texts[] = {
	{ SHARE, 3, D_GPU_BUSY, "37\n", "", 37000 },
	{ SHARE, 3, D_GPU_BUSY, "34 %\n", "", 34000 },
	{ SHARE, 3, D_GPU_BUSY, "34%\n", "", 34000 },
	{ SHARE, 3, D_GPU_BUSY, " 5 %\r\n", "", 5000 },
	{ SHARE, 3, D_GPU_BUSY, "34 %", "", 34000 },
	{ SHARE, 3, D_GPU_BUSY, "12.5%\n", "", 12500 },
	{ SHARE, 3, D_GPU_BUSY, "0\n", "", 0 },
	{ SHARE, 3, D_GPU_BUSY, "100 %\n", "", 100000 },
	{ SHARE, 3, D_GPU_BUSY, "101 %\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "100.001 %\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "-1 %\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "37", "", 37000 },
	{ SHARE, 3, D_GPU_BUSY, "101", "", none },
	{ SHARE, 3, D_GPU_BUSY, "37@8", "", 37000 },
	{ SHARE, 3, D_GPU_BUSY, "gpu=37", "", none },
	{ SHARE, 3, D_GPU_BUSY, "", "", none },
	{ SHARE, 3, D_GPU_BUSY, "\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "%\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "N/A\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "37 MHz\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "37-40\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "0x25\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "18446744073709551616\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "18446744073709551615\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "37 40 23\n", "", 37000 }, /* LOAD BLOCK IDLE */
	{ SHARE, 3, D_GPU_BUSY, "101 0 0\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "gpu/cljs0/cljs1=37/20/0 [Freq : 598000]\n", "", 37000 },
	{ SHARE, 3, D_GPU_BUSY, "gpu/cljs0/cljs1=37/20/0, frequency=598000(kHz)\n", "", 37000 },
	{ SHARE, 3, D_GPU_BUSY, "gpu=0 [Freq : 598000]\n", "", 0 },
	{ SHARE, 3, D_GPU_BUSY, "ACTIVE=37\n", "", 37000 },
	{ SHARE, 3, D_GPU_BUSY, "gpu=\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "GPU DVFS doesn't support\n", "", none },
	{ SHARE, 2, D_GPU_BUSY, "473\n", "", 47300 },
	{ SHARE, 2, D_GPU_BUSY, "1000\n", "", 100000 },
	{ SHARE, 2, D_GPU_BUSY, "1001\n", "", none },
	{ SHARE, 3, D_GPU_BUSY, "37@800000000Hz\n", "", 37000 },
	{ SHARE, 3, D_FREQ_CUR, "37@800000000Hz\n", "x", 800000000 },
	{ SHARE, 3, D_FREQ_CUR, "37@800000000", "x", none }, /* the file may have been cut */
	{ SHARE, 3, D_GPU_BUSY, "37@0Hz\n", "", 37000 },
	{ SHARE, 3, D_FREQ_CUR, "37@0Hz\n", "x", none },
	{ SHARE, 3, D_FREQ_CUR, "37@\n", "x", none },
	{ SHARE, 3, D_FREQ_CUR, "101@800000000Hz\n", "x", none },
	{ SHARE, 3, D_GPU_BUSY, "-1@8Hz\n", "", none },
	{ CORES, 0, D_LOAD, "NPU load:  Core0: 12%, Core1:  0%, Core2:  7%,\n", "Core2", 7000 },
	{ CORES, 0, D_LOAD, "NPU load:  Core0: 12%, Core1:  0%, Core2:  7%,\n", "Core1", 0 },
	{ CORES, 0, D_GPU_BUSY, "NPU load:  Core0: 12%, Core1:  0%, Core2:  7%,\n", "", 12000 },
	{ CORES, 0, D_LOAD, "NPU load:  Core0: 101%, Core1: -1%,\n", "Core0", none },
	{ CORES, 0, D_LOAD, "NPU load:  Core0: 101%, Core1: -1%,\n", "Core1", none },
	{ CORES, 0, D_GPU_BUSY, "NPU load:  Core0: 101%, Core1:  3%,\n", "", none },
	{ CORES, 0, D_LOAD, "NPU load:  37%\n", "load", 37000 },
	{ CORES, 0, D_LOAD, "NPU load:  Core0: 1", "Core0", none },
	{ GC_CORES, 3, D_LOAD, "core : 0\nload : 37%\n\ncore : 1\nload : 5%\n", "core0", 37000 },
	{ GC_CORES, 3, D_LOAD, "core : 0\nload : 37%\n\ncore : 1\nload : 5%\n", "core1", 5000 },
	{ GC_CORES, 3, D_GPU_BUSY, "core : 0\nload : 37%\n\ncore : 1\nload : 5%\n", "", 37000 },
	{ GC_CORES, 3, D_LOAD, "device        : 0\n    core      : 0\n    load      : 37.12%\n",
	  "core0", 37120 },
	{ GC_CORES, 3, D_LOAD, "core : 0 load : 37%", "core0", 37000 },
	{ GC_CORES, 3, D_LOAD, "load : 37%\n", "core", 37000 },
	{ GC_CORES, 3, D_LOAD, "core : 0\nload : 101%\n", "core0", none },
	{ GC_CORES, 3, D_GPU_BUSY, "core : 0\nload : 101%\n", "", none },
	{ GC_CORES, 3, D_GPU_BUSY, "core : 0\nload : 4%\n\ncore : 1\nload : 101%\n", "", none },
	{ GC_CORES, 3, D_GPU_BUSY, "core : 0\nload : 4%\n\ncore : 1\nload : 9", "", none },
	{ GC_CORES, 3, D_LOAD, "core : 0\nload : 3", "core0", none },
	{ GC_CORES, 3, D_LOAD, "The current HW doesn't support use AHB register\n", "core0", none },
	{ STATUS, 3, D_GPU_BUSY, "Driver Status:   OK\n\nGPU Utilisation: 37%\n", "", 37000 },
	{ STATUS, 3, D_GPU_BUSY, "GPU Utilization: 5%\nDM Utilisation:  VM0\n", "", 5000 },
	{ STATUS, 3, D_GPU_BUSY, "GPU Utilisation: 37\n", "", 37000 },
	{ STATUS, 3, D_GPU_BUSY, "GPU Utilisation: -\n", "", none },
	{ STATUS, 3, D_GPU_BUSY, "GPU Utilisation:\n37%\n", "", none },
	{ STATUS, 3, D_GPU_BUSY, "GPU Utilisation: 101%\n", "", none },
	{ STATUS, 3, D_GPU_BUSY, "GPU Utilisation: 3", "", none },
	{ STATUS, 3, D_GPU_BUSY, "Driver Status:   OK\n", "", none },
	{ CLOCK, 0, D_FREQ_CUR, "587000000\n", "x", 587000000 },
	{ CLOCK, 6, D_FREQ_CUR, "587\n", "x", 587000000 },
	{ CLOCK, 0, D_FREQ_CUR, "0\n", "x", none },
	{ CLOCK, 0, D_FREQ_CUR, "587000000", "x", 587000000 },
	{ CLOCK, 0, D_FREQ_CUR, "-587000000\n", "x", none },
	{ CLOCK, 0, D_FREQ_CUR, "100000000000\n", "x", UINT64_C(100000000000) },
	{ CLOCK, 0, D_FREQ_CUR, "100000000001\n", "x", none },
	{ CLOCK, 6, D_FREQ_CUR, "18446744073709551615\n", "x", none },
	{ ANY_CLOCK, 0, D_FREQ_CUR, "800\n", "x", 800000000 },
	{ ANY_CLOCK, 0, D_FREQ_CUR, "800000\n", "x", 800000000 },
	{ ANY_CLOCK, 0, D_FREQ_CUR, "800000000\n", "x", 800000000 },
	{ ANY_CLOCK, 0, D_FREQ_CUR, "800 MHz\n", "x", 800000000 },
	{ ANY_CLOCK, 0, D_FREQ_CUR, "4\n", "x", none }, /* an index */
	{ ANY_CLOCK, 0, D_FREQ_CUR, "0\n", "x", none },
	{ OPP_CLOCK, 3, D_FREQ_CUR, "12 836000\n", "x", 836000000 },
	{ OPP_CLOCK, 3, D_FREQ_CUR, "0 836000\n", "x", 836000000 },
	{ OPP_CLOCK, 3, D_FREQ_CUR, "836000\n", "x", none },
	{ OPP_CLOCK, 3, D_FREQ_CUR, "12 0\n", "x", none },
	{ OPP_CLOCK, 3, D_FREQ_CUR, "12 8", "x", none },
	{ CELSIUS, 0, D_TEMP, "47500\n", "x", 47500 },
	{ CELSIUS, 0, D_TEMP, "-5000\n", "x", (u64)-5000 },
	{ CELSIUS, 0, D_TEMP, "0\n", "x", none },
	{ CELSIUS, 0, D_TEMP, "47\n", "x", none },
	{ CELSIUS, 0, D_TEMP, "47500", "x", none },
	{ CELSIUS, 0, D_TEMP, "200000\n", "x", none },
	{ CELSIUS, 0, D_TEMP, "-274000\n", "x", none },
};

static struct attr stored;

static bool store(struct str text)
{
	reg_clear(&devices[shown].e);
	reg_begin(&devices[shown].e, 1000);
	return board_store(&stored, &devices[shown].e, LIT("x"), text, 1000);
}

/* Every value that is stored is possible. */
static bool store_any(struct str text)
{
	u64 v;

	store(text);
	for (struct counter *c = reg_first(&devices[shown].e); c; c = reg_next(c))
		if (!reg_get(&devices[shown].e, c->desc, c->inst, &v) ||
		    (c->desc == D_TEMP && ((i64)v < -60000 || (i64)v > 200000)) ||
		    ((c->desc == D_GPU_BUSY || c->desc == D_LOAD) && v > 100000) ||
		    (c->desc == D_FREQ_CUR && (v == 0 || v > UINT64_C(100000000000))))
			return false;
	return true;
}

static void t_forms(void)
{
	shown = device_add();
	for (size_t i = 0; i < LEN(texts); i++) {
		const struct text *t = &texts[i];
		bool any;

		stored = (struct attr){ .folder = t->form, .format = T_BOARD, .desc = t->desc,
					.zeros = t->zeros };
		any = store(edge_str(t->text, strlen(t->text)));
		if (!check(get(t->desc, t->inst) == t->want, "value file of form %u: %s", t->form,
			   show(str_z(t->text))))
			note("got %" PRId64 ", want %" PRId64, (i64)get(t->desc, t->inst),
			     (i64)t->want);
		if (t->desc != D_FREQ_CUR || t->form != SHARE)
			check(any == (t->want != none),
			      "value file of form %u: the text is accepted or refused as expected",
			      t->form);
		if (!replay(str_z(t->text), store_any))
			check(false,
			      "value file of form %u: text %zu truncated and changed", t->form, i);
	}
	reg_clear(&devices[shown].e);
	devices[shown].e.used = false;
	nrows.devices = 0;
}

/* --- places ----------------------------------------------------------------------------------- */

static const char *in_sys(const char *dir, const char *leaf)
{
	return in_folder("sys/%s/%s", dir, leaf);
}

static void reset(void)
{
	src_sysfs.rest();
	for (u32 i = 1; i <= nrows.devices; i++) {
		reg_clear(&devices[i].e);
		devices[i].e.used = false;
	}
	nrows.devices = 0;
	shown = 1;
	shell("rm -rf $D/sys $D/proc");
	root_set(&roots.sys, in_folder("sys"));
	root_set(&roots.proc, in_folder("proc"));
}

static u32 count(void)
{
	u32 n = 0;

	for (u32 i = NONE; (i = device_next(i, true)) != NONE; n++)
		shown = i;
	return n;
}

#define SOC "devices/platform/soc"

/* A platform device with the class device that a vendor driver adds. */
static void class_device(const char *device, const char *class, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "class/%s", class);
	put_link(in_sys(path, name), in_folder("sys/" SOC "/%s/%s/%s", device, class, name));
	put_link(in_folder("sys/" SOC "/%s/%s/%s/device", device, class, name), "../../");
}

static void put_kgsl(void)
{
	put(in_sys(SOC "/3d00000.qcom,kgsl-3d0", "uevent"), "DRIVER=kgsl-3d\n");
	class_device("3d00000.qcom,kgsl-3d0", "kgsl", "kgsl-3d0");
	put(in_sys("class/kgsl/kgsl-3d0", "gpu_busy_percentage"), "34 %\n");
	put(in_sys("class/kgsl/kgsl-3d0", "gpubusy"), "7 9\n");
	put(in_sys("class/kgsl/kgsl-3d0", "gpuclk"), "587000000\n");
	put(in_sys("class/kgsl/kgsl-3d0", "max_gpuclk"), "670000000\n");
	put(in_sys("class/kgsl/kgsl-3d0", "temp"), "47500\n");
	put(in_sys("class/kgsl/kgsl-3d0", "gpu_model"), "Adreno650v2\n");
}

static void t_kgsl(void)
{
	reset();
	put_kgsl();
	put_folder(in_sys("class/kgsl", "kgsl/proc"));
	src_sysfs.start();
	check_u64(count(), 1, "KGSL is listed as one device");
	check(strcmp(devices[shown].dev, "kgsl-3d0") == 0 &&
		      strcmp(devices[shown].driver, "kgsl") == 0 &&
		      strcmp(devices[shown].name, "Adreno650v2") == 0,
	      "KGSL has its name, driver and model");
	check_u64(get(D_GPU_BUSY, ""), 34000, "KGSL has its busy share");
	check_u64(get(D_FREQ_CUR, "gpu"), 587000000, "KGSL has its current clock");
	check_u64(get(D_FREQ_MAX, "gpu"), 670000000, "KGSL has its highest clock");
	check_u64(get(D_TEMP, "gpu"), 47500, "KGSL has its temperature");

	/* While the device is suspended, only files that do not access the GPU are read. */
	put(in_sys(SOC "/3d00000.qcom,kgsl-3d0", "power/runtime_status"), "suspended\n");
	src_sysfs.rest();
	src_sysfs.sample();
	check(get(D_GPU_BUSY, "") == 34000 && get(D_TEMP, "gpu") == 47500 &&
		      get(D_FREQ_CUR, "gpu") == none,
	      "a suspended KGSL keeps its busy share and temperature, and has no clock");

	/* The files are empty or have no valid value, as after the driver was unloaded. */
	put(in_sys(SOC "/3d00000.qcom,kgsl-3d0", "power/runtime_status"), "active\n");
	put(in_sys("class/kgsl/kgsl-3d0", "gpu_busy_percentage"), "");
	put(in_sys("class/kgsl/kgsl-3d0", "gpuclk"), "0\n");
	sysfs_failed.leaf = NULL;
	src_sysfs.sample();
	check(count() == 1 && get(D_GPU_BUSY, "") == none && get(D_FREQ_CUR, "gpu") == none,
	      "a device whose files are empty stays without values");
	check(sysfs_failed.leaf && strcmp(sysfs_failed.leaf, "gpuclk") == 0 &&
		      sysfs_failed.error == 0 && strcmp(sysfs_failed.dev, "kgsl-3d0") == 0,
	      "sysfs_failed names the device and the file without a valid value");
}

static void t_links(void)
{
	reset();
	put_link(in_sys("class/kgsl", "kgsl-3d0"), "../../nowhere");
	put_link(in_sys("devices", "gpu.0"), "platform/nowhere");
	put_link(in_sys("class/misc", "mali0"), "mali0");
	put(in_sys("class/apex", "apex_0"), "a file\n");
	src_sysfs.start();
	check_u64(count(), 0, "a link to a missing folder is not a device");
	reset();
	put(in_sys("class/apex/apex_0", "temp"), "47500\n");
	put_link(in_sys("class/apex/apex_0", "device"), "../../../nowhere");
	src_sysfs.start();
	check(count() == 1 && get(D_TEMP, "npu") == 47500,
	      "a device with a broken link to its folder is listed with its temperature");
	check(devices[shown].part == PART_CARD && strcmp(devices[shown].dev, "apex_0") == 0,
	      "a device with a broken link to its folder has its name");
}

/* Replaces the descriptor of a file with that of a folder, so that a read fails. */
static void make_unreadable(const char *leaf)
{
	char path[64], target[512];
	int dir = open(tmp_folder, O_RDONLY | O_DIRECTORY);

	for (int fd = 3; fd < 512; fd++) {
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, target, sizeof(target) - 1);
		target[n > 0 ? n : 0] = '\0';
		if (n > 0 && str_is(str_base(str_z(target)), leaf))
			dup2(dir, fd);
	}
	close(dir);
}

/* The driver's module is unloaded; later the DRM driver of the same GPU is loaded. */
static void t_changes(void)
{
	reset();
	put_kgsl();
	src_sysfs.start();
	make_unreadable("gpu_busy_percentage");
	sysfs_failed.leaf = NULL;
	src_sysfs.sample();
	check(count() == 1 && get(D_GPU_BUSY, "") == none && get(D_FREQ_CUR, "gpu") == 587000000,
	      "the device and its other values stay when one file cannot be read any more");
	check(sysfs_failed.leaf && strcmp(sysfs_failed.leaf, "gpu_busy_percentage") == 0 &&
		      sysfs_failed.error == -EISDIR,
	      "sysfs_failed has the file and the error");
	src_sysfs.rest();
	src_sysfs.sample();
	check_u64(get(D_GPU_BUSY, ""), 34000, "the file has a value again after it was reopened");
	shell("cd $D/sys/class; mkdir -p drm/card9/device; echo 226:9 >drm/card9/dev;"
	      "echo DRIVER=msm_drm >drm/card9/device/uevent");
	src_sysfs.scan();
	src_sysfs.sample();
	check(count() == 1 && strcmp(devices[shown].dev, "card9") == 0 &&
		      get(D_GPU_BUSY, "") == 34000,
	      "a DRM device that appears later has the values of the vendor's device");
	shell("rm -r $D/sys/class/drm/card9");
	src_sysfs.scan();
	src_sysfs.scan();
	src_sysfs.sample();
	check(count() == 1 && strcmp(devices[shown].dev, "kgsl-3d0") == 0 &&
		      get(D_GPU_BUSY, "") == 34000,
	      "the vendor's device is listed again after the DRM device has gone");
}

/* A machine whose files are made by a shell script in the folder $D; the expected number of its
 * devices; name, driver and busy share of its last device. Each node has another number, because
 * nodes are remembered from one machine to the next. */
static const struct machine {
	const char *what, *shell;
	u32 devices;
	const char *dev, *driver;
	u64 busy;
} machines[] = {
	{ "GED and mali0",
	  "mkdir -p sys/kernel/ged/hal sys/class/misc/mali0/device;"
	  "echo 37 40 23 >sys/kernel/ged/hal/gpu_utilization;"
	  "echo 12 >sys/class/misc/mali0/device/utilization", 1, "mali0", "mali", 37000 },
	{ "GED alone", "mkdir -p sys/kernel/ged/hal", 1, "ged", "ged", none },
	{ "mpgpu and mali0",
	  "mkdir -p sys/class/mpgpu sys/class/misc/mali0/device;"
	  "echo 37 >sys/class/mpgpu/utilization", 1, "mali0", "mali", 37000 },
	{ "mali of /proc alone", "mkdir -p proc/mtk_mali; echo ACTIVE=37 >proc/mtk_mali/utilization",
	  1, "mali", "mali", 37000 },
	{ "/proc/mali and mali0",
	  "mkdir -p proc/mali sys/class/misc/mali0/device; echo gpu=5 >proc/mali/utilization",
	  1, "mali0", "mali", 5000 },
	{ "gpu.0 and another folder",
	  "mkdir -p sys/devices/gpu.0 sys/devices/platform/17000000.ga10b;"
	  "echo 473 | tee sys/devices/gpu.0/load >sys/devices/platform/17000000.ga10b/load",
	  1, "gpu.0", "nvgpu", 47300 },
	{ "gpu.0 as a link",
	  "mkdir -p sys/devices/platform/bus@0/17000000.gpu;"
	  "ln -s platform/bus@0/17000000.gpu sys/devices/gpu.0; echo 473 >sys/devices/gpu.0/load",
	  1, "gpu.0", "nvgpu", 47300 },
	{ "Jetson without gpu.0",
	  "d=sys/devices/platform/13e00000.host1x/17000000.gv11b; mkdir -p $d; echo 5 >$d/load",
	  1, "17000000.gv11b", "nvgpu", 500 },
	{ "old Jetson", "d=sys/devices/57000000.gpu; mkdir -p $d; echo 5 >$d/load", 1,
	  "57000000.gpu", "nvgpu", 500 },
	{ "another device of host1x",
	  "d=sys/devices/platform/13e00000.host1x/15340000.vic; mkdir -p $d; echo 5 >$d/load", 0,
	  NULL, NULL, none },
	{ "msm and KGSL",
	  "d=sys/class/drm/card0; mkdir -p $d/device; echo 226:0 >$d/dev;"
	  "echo DRIVER=msm_drm >$d/device/uevent; k=sys/class/kgsl/kgsl-3d0; mkdir -p $k/device;"
	  "echo 34 % >$k/gpu_busy_percentage", 1, "card0", "msm_drm", 34000 },
	{ "panfrost and mali0 of the same folder",
	  "d=sys/class/drm/card1; mkdir -p $d sys/class/misc/mali0 sys/gpu; echo 226:1 >$d/dev;"
	  "ln -s ../../../gpu $d/device; ln -s ../../../gpu sys/class/misc/mali0/device;"
	  "echo DRIVER=panfrost >sys/gpu/uevent; echo 37 >sys/gpu/utilisation",
	  1, "card1", "panfrost", 37000 },
	{ "Rockchip's display controller and mali0",
	  "d=sys/class/drm/card2; mkdir -p $d/device sys/class/misc/mali0/device;"
	  "echo 226:2 >$d/dev; echo DRIVER=rockchip-drm >$d/device/uevent;"
	  "echo 37 >sys/class/misc/mali0/device/utilization", 2, "mali0", "mali", 37000 },
	{ "Rockchip's NPU, of /proc",
	  "mkdir -p proc/rknpu; echo 'NPU load:  Core0: 12%, Core1:  0%,' >proc/rknpu/load", 1,
	  "rknpu", "rknpu", 12000 },
	{ "Exynos",
	  "d=sys/devices/platform/17500000.mali; mkdir -p $d; echo 37 >$d/utilization;"
	  "echo 702000 >$d/clock", 1, "17500000.mali", "mali", 37000 },
	{ "Allwinner",
	  "d=sys/class/devfreq/1800000.gpu; mkdir -p $d/device/devfreq; echo 6 >$d/cur_freq", 1,
	  "1800000.gpu", "", none },
	{ "galcore, whose power state is unknown",
	  "d=sys/bus/platform/drivers/galcore; mkdir -p sys/gc/driver $d/module sys/kernel/debug/gc;"
	  "ln -s ../../../../gc $d/80000000.gpu;"
	  "printf 'core : 0\\nload : 37%%\\n' >sys/kernel/debug/gc/load", 1, "80000000.gpu",
	  "galcore", none },
	{ "galcore, powered on",
	  "d=sys/bus/platform/drivers/galcore; mkdir -p sys/gc/driver sys/gc/power $d sys/kernel/debug/gc;"
	  "ln -s ../../../../gc $d/80000000.gpu; echo active >sys/gc/power/runtime_status;"
	  "printf 'core : 0\\nload : 37%%\\n' >sys/kernel/debug/gc/load", 1, "80000000.gpu",
	  "galcore", 37000 },
	{ "PowerVR",
	  "d=sys/bus/platform/drivers/pvrsrvkm; mkdir -p sys/pvr/driver $d sys/kernel/debug/pvr;"
	  "ln -s ../../../../pvr $d/4e20000000.gpu;"
	  "echo 'GPU Utilisation: 37%' >sys/kernel/debug/pvr/status", 1, "4e20000000.gpu",
	  "pvrsrvkm", 37000 },
	{ "debugfs of PowerVR alone", "mkdir -p sys/kernel/debug/pvr sys/kernel/debug/gc;"
	  "echo 'GPU Utilisation: 37%' >sys/kernel/debug/pvr/status", 1, "pvr", "pvrsrvkm", 37000 },
	{ "debugfs of galcore alone", "mkdir -p sys/kernel/debug/gc;"
	  "echo 'core : 0\nload : 37%' >sys/kernel/debug/gc/load", 1, "galcore", "galcore", none },
	{ "an empty folder gc", "mkdir -p sys/kernel/debug/gc", 0, NULL, NULL, none },
	{ "devfreq below the node of Mali", "mkdir -p sys/class/misc/mali0/device/devfreq/fb.gpu;"
	  "echo 37@800000000Hz >sys/class/misc/mali0/device/devfreq/fb.gpu/load", 1, "mali0",
	  "mali", 37000 },
	{ "Jetson, found by its bus", "mkdir -p sys/devices/platform/a/b/17000000.ga10b"
	  " sys/bus/platform/devices;"
	  "ln -s ../../../devices/platform/a/b/17000000.ga10b sys/bus/platform/devices;"
	  "echo 473 >sys/devices/platform/a/b/17000000.ga10b/load", 1, "17000000.ga10b", "nvgpu",
	  47300 },
	{ "two Hailos", "mkdir -p sys/class/hailo_chardev/hailo0 sys/class/hailo_chardev/hailo1", 2,
	  NULL, NULL, none },
	{ "bandwidth of KGSL's bus",
	  "mkdir -p sys/class/kgsl/kgsl-3d0/device sys/class/devfreq/soc:qcom,gpubw/device", 1,
	  "kgsl-3d0", "kgsl", none },
};

static void t_machines(void)
{
	char text[1024];

	for (size_t i = 0; i < LEN(machines); i++) {
		const struct machine *m = &machines[i];

		reset();
		snprintf(text, sizeof(text), "cd $D; %s", m->shell);
		shell(text);
		src_sysfs.start();
		check_u64(count(), m->devices, "machine with %s: number of devices", m->what);
		if (!m->dev)
			continue;
		check(strcmp(devices[shown].dev, m->dev) == 0 &&
			      strcmp(devices[shown].driver, m->driver) == 0,
		      "machine with %s: device %s of driver %s",
		      m->what, devices[shown].dev, devices[shown].driver);
		check_u64(get(D_GPU_BUSY, ""), m->busy, "machine with %s: busy share", m->what);
	}
}

static void t_neuron(void)
{
	reset();
	shell("cd $D; for c in 0 1; do d=sys/devices/virtual/neuron_device/neuron0/neuron_core$c/"
	      "stats/memory_usage/device_mem; mkdir -p $d; echo 4096$c >$d/present; done;"
	      "mkdir -p sys/devices/virtual/neuron_device/neuron0/info/architecture;"
	      "echo Trainium1 >sys/devices/virtual/neuron_device/neuron0/info/architecture/device_name");
	src_sysfs.start();
	check(count() == 1 && strcmp(devices[shown].name, "Trainium1") == 0,
	      "Neuron has its model");
	check(get(D_RESIDENT, "neuron_core0") == 40960 && get(D_RESIDENT, "neuron_core1") == 40961,
	      "Neuron has the memory of each core");
}

int main(void)
{
	folder_begin("t_boards");
	tables_reserve();
	t_forms();
	t_kgsl();
	t_links();
	t_changes();
	t_machines();
	t_neuron();
	reset();
	shell("rm -rf $D");
	return unit_end();
}
