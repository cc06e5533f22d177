/* sysfs.c - devices, and the values that their drivers report in sysfs without a client: state,
 * clocks, sensors, memory, device-wide busy time. SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

/* dmem_read() belongs to an optional feature: its address is NULL if the feature is left out. */
#pragma weak dmem_read

struct sensing sensing;
struct failed sysfs_failed;

/* Functions of the optional feature boards: if it is left out, they are NULL and are not called. */
#pragma weak boards_start
#pragma weak boards_probe
#pragma weak board_store

enum {
	/* each device can have a node card, a node renderD and a node accel */
	MAX_NODES = 3 * MAX_DEVICES,
	MAX_SENSORS = 40 * MAX_DEVICES,
	/* bytes of the longest text of a file: devfreq's trans_stat with 20 states has 3 KiB, other
	 * sysfs files at most 4 KiB */
	FILE_BYTES = 8192,
	PATH_BYTES = 512,
	INST_BYTES = 80,
};

enum node_kind { N_CARD, N_RENDER, N_ACCEL, N_NVIDIA };
static const char *const node_names[] = { "card", "renderD", "accel", "nvidia" };

/* A device node. If the node is removed, its row is kept with there = false until its device is
 * removed from devices[], because a process may still have the node open. */
struct node {
	u32 maj, min, device;
	i32 number; /* the number in the node's name, for example 128 in renderD128 */
	u8 kind;
	/* there: the node exists; seen: the current scan of /sys has found the node */
	bool there, seen;
};

/* State of a device that only sysfs.c uses; other files use struct device. */
struct sysdir {
	char path[128];  /* sysfs folder of the device, relative to /sys; empty if there is none */
	/* sysfs folder of the device's primary node (card), otherwise of its render or accel node,
	 * such as class/drm/card0 */
	char node[48];
	/* descriptor of the open file power/runtime_status; -1: not open; -2: cannot be opened */
	int status;
	/* probed: the device's files whose reading may wake the device were opened; probed_asleep:
	 * the device's other files were opened */
	bool probed, probed_asleep;
	/* true if the device must be updated by device_update(): a node of the device was added or
	 * removed, or a file that was open does not exist any more */
	bool changed;
	bool denied;  /* true if permission to open a file of the device was denied */
	/* true after profiling_start() has handled the device (--enable-profiling) */
	bool profiled;
	/* true if an NVIDIA GPU was asleep when it was found: the driver's /proc file about the GPU
	 * is not read until the GPU is awake, because reading this file would wake the GPU */
	bool slept;
	/* lost: number of the device's files (sensors) that had no room in the table sensors;
	 * unread: number of transient errors when files of the device were opened */
	u32 lost, unread;
};

static struct node *nodes;
/* row i describes devices[i]; it is valid if that device is in use */
static struct sysdir *sysdirs;
static struct {
	struct table nodes, sysdirs;
} sysfs_tables = {
	.nodes = TABLE_ROW(nodes, MAX_NODES, 64, "nodes of devices"),
	.sysdirs = TABLE_ROW(sysdirs, MAX_DEVICES, 16, "folders of devices"),
};

static const char insts[][8] = {
	[IS_MEM] = "mem", [IS_VCN] = "vcn", [IS_SCLK] = "sclk", [IS_MCLK] = "mclk",
	[IS_SOCCLK] = "socclk", [IS_FCLK] = "fclk", [IS_VCLK] = "vclk",
	[IS_DCLK] = "dclk", [IS_DCEFCLK] = "dcefclk",
	[IS_MEDIA] = "media", [IS_GT0] = "gt0", [IS_MEMORY] = "memory", [IS_NPU] = "npu",
	[IS_GPU] = "gpu"
};

/* The folder to which struct folder.dir is relative: the device's folder, the folder of its primary
 * node, or /sys. */
enum base { B_DEVICE, B_NODE, B_SYS };

enum {
	F_POWER, F_LINK, F_ANY, F_AMDGPU, F_HWMON, F_I915_GT, F_I915, F_I915_POWER, F_XE_FREQ,
	F_XE_IDLE,
	F_XE_THROTTLE, F_XE_MEMORY, F_DEVFREQ, F_MSM, F_V3D, F_NOUVEAU, F_VPU, F_VPU_FREQ,
	F_THERMAL
};

static const struct folder {
	/* name of the driver that has the folder; NULL: any driver; "x*": any name that begins with
	 * x */
	const char *driver;
	u8 base;            /* enum base: the folder to which the path `dir` is relative */
	/* path of the folder, relative to its base; '*': any name, '#': the number of the card */
	const char *dir;
} folders[] = {
	[F_POWER]       = { NULL, B_DEVICE, "power" },
	/* files of the PCI link: in the device's folder, and in those of the PCIe ports above the
	 * device, which links_each() finds */
	[F_LINK]        = { NULL, B_DEVICE, "" },
	[F_ANY]         = { NULL, B_DEVICE, "" },
	[F_AMDGPU]      = { "amdgpu", B_DEVICE, "" },
	[F_HWMON]       = { NULL, B_DEVICE, "hwmon/hwmon*" },
	[F_I915_GT]     = { "i915", B_NODE, "gt/gt*" },
	[F_I915]        = { "i915", B_NODE, "" },
	[F_I915_POWER]  = { "i915", B_NODE, "power" },
	[F_XE_FREQ]     = { "xe", B_DEVICE, "tile*/gt*/freq0" },
	[F_XE_IDLE]     = { "xe", B_DEVICE, "tile*/gt*/gtidle" },
	[F_XE_THROTTLE] = { "xe", B_DEVICE, "tile*/gt*/freq0/throttle" },
	[F_XE_MEMORY]   = { "xe", B_DEVICE, "tile*/memory/freq0" },
	[F_DEVFREQ]     = { NULL, B_DEVICE, "devfreq/*" },
	[F_MSM]         = { "msm*", B_SYS, "class/devfreq/*.gpu" },
	[F_V3D]         = { "v3d", B_DEVICE, "" },
	[F_NOUVEAU]     = { "nouveau", B_SYS, "kernel/debug/dri/#" },
	[F_VPU]         = { "intel_vpu", B_DEVICE, "" },
	[F_VPU_FREQ]    = { "intel_vpu", B_DEVICE, "freq" },
	[F_THERMAL]     = { NULL, B_SYS, "class/thermal/thermal_zone*" },
};

/* The files of devices that are read. If two rows have the same counter, the first one is used. */
static const struct attr attrs[] = {
	/* Runtime power management, and the PCI link: drivers/pci/pci-sysfs.c prints the registers
	 * of include/uapi/linux/pci_regs.h. */
	{ F_POWER, T_NUMBER, D_ACTIVE_MS, A_ASLEEP | A_LIMIT, 0, NO_INST, "runtime_active_time" },
	{ F_POWER, T_NUMBER, D_SUSPENDED_MS, A_ASLEEP | A_LIMIT, 0, NO_INST,
	  "runtime_suspended_time" },
	{ F_LINK, T_LINK, D_LINK_SPEED, 0, 0, NO_INST, "current_link_speed" },
	{ F_LINK, T_LINK, D_LINK_WIDTH, 0, 0, NO_INST, "current_link_width" },
	{ F_ANY, T_LINK, D_LINK_MAX_SPEED, A_LIMIT, 0, NO_INST, "max_link_speed" },
	{ F_ANY, T_NUMBER, D_LINK_MAX_WIDTH, A_LIMIT, 0, NO_INST, "max_link_width" },

	/* amdgpu: files of amdgpu_pm.c, amdgpu_vram_mgr.c, amdgpu_gtt_mgr.c. The driver counts
	 * mem_info_* in software, so reading them does not wake the GPU. */
	{ F_AMDGPU, T_NUMBER, D_VRAM_TOTAL, A_ASLEEP | A_FIXED, 0, NO_INST, "mem_info_vram_total" },
	{ F_AMDGPU, T_NUMBER, D_VRAM_USED, A_ASLEEP, 0, NO_INST, "mem_info_vram_used" },
	{ F_AMDGPU, T_NUMBER, D_VISIBLE_TOTAL, A_ASLEEP | A_FIXED, 0, NO_INST,
	  "mem_info_vis_vram_total" },
	{ F_AMDGPU, T_NUMBER, D_VISIBLE_USED, A_ASLEEP, 0, NO_INST, "mem_info_vis_vram_used" },
	{ F_AMDGPU, T_NUMBER, D_GTT_TOTAL, A_ASLEEP | A_FIXED, 0, NO_INST, "mem_info_gtt_total" },
	{ F_AMDGPU, T_NUMBER, D_GTT_USED, A_ASLEEP, 0, NO_INST, "mem_info_gtt_used" },
	{ F_AMDGPU, T_NUMBER, D_PREEMPT_USED, A_ASLEEP, 0, NO_INST, "mem_info_preempt_used" },
	{ F_AMDGPU, T_NUMBER, D_GPU_BUSY, 0, 3, NO_INST, "gpu_busy_percent" },
	{ F_AMDGPU, T_NUMBER, D_LOAD, 0, 3, IS_MEM, "mem_busy_percent" },
	{ F_AMDGPU, T_NUMBER, D_LOAD, 0, 3, IS_VCN, "vcn_busy_percent" },

	/* hwmon chips of GPUs: files of Documentation/hwmon/sysfs-interface.rst */
	{ F_HWMON, T_NUMBER, D_TEMP, 0, 0, FROM_CHAN, "temp*_input" },
	{ F_HWMON, T_NUMBER, D_TEMP_MAX, A_LIMIT, 0, FROM_CHAN, "temp*_max" },
	{ F_HWMON, T_NUMBER, D_TEMP_CRIT, A_LIMIT, 0, FROM_CHAN, "temp*_crit" },
	{ F_HWMON, T_NUMBER, D_TEMP_EMERGENCY, A_LIMIT, 0, FROM_CHAN, "temp*_emergency" },
	{ F_HWMON, T_NUMBER, D_POWER, 0, 0, FROM_CHAN, "power*_average" },
	{ F_HWMON, T_NUMBER, D_POWER, 0, 0, FROM_CHAN, "power*_input" },
	{ F_HWMON, T_NUMBER, D_POWER_CAP, A_LIMIT, 0, FROM_CHAN, "power*_cap" },
	{ F_HWMON, T_NUMBER, D_POWER_MAX, A_LIMIT, 0, FROM_CHAN, "power*_cap_max" },
	{ F_HWMON, T_NUMBER, D_POWER_MAX, A_LIMIT, 0, FROM_CHAN, "power*_max" },
	{ F_HWMON, T_NUMBER, D_POWER_DEFAULT, A_LIMIT, 0, FROM_CHAN, "power*_cap_default" },
	{ F_HWMON, T_NUMBER, D_POWER_RATED, A_LIMIT, 0, FROM_CHAN, "power*_rated_max" },
	{ F_HWMON, T_NUMBER, D_POWER_CRIT, A_LIMIT, 0, FROM_CHAN, "power*_crit" },
	{ F_HWMON, T_NUMBER, D_ENERGY, 0, 0, FROM_CHAN, "energy*_input" },
	{ F_HWMON, T_NUMBER, D_FAN, 0, 0, FROM_CHAN, "fan*_input" },
	{ F_HWMON, T_NUMBER, D_FAN_MAX, A_LIMIT, 0, FROM_CHAN, "fan*_max" },
	{ F_HWMON, T_NUMBER, D_PWM, 0, 0, FROM_CHAN, "pwm?" },
	{ F_HWMON, T_NUMBER, D_VOLT, 0, 0, FROM_CHAN, "in*_input" },
	{ F_HWMON, T_NUMBER, D_CURRENT, 0, 0, FROM_CHAN, "curr*_input" },
	{ F_HWMON, T_NUMBER, D_FREQ_CUR, 0, 0, FROM_CHAN, "freq*_input" },

	{ F_AMDGPU, T_DPM, D_FREQ_CUR, 0, 0, IS_SCLK, "pp_dpm_sclk" },
	{ F_AMDGPU, T_DPM, D_FREQ_CUR, 0, 0, IS_MCLK, "pp_dpm_mclk" },
	{ F_AMDGPU, T_DPM, D_FREQ_CUR, 0, 0, IS_SOCCLK, "pp_dpm_socclk" },
	{ F_AMDGPU, T_DPM, D_FREQ_CUR, 0, 0, IS_FCLK, "pp_dpm_fclk" },
	{ F_AMDGPU, T_DPM, D_FREQ_CUR, 0, 0, IS_VCLK, "pp_dpm_vclk" },
	{ F_AMDGPU, T_DPM, D_FREQ_CUR, 0, 0, IS_DCLK, "pp_dpm_dclk" },
	{ F_AMDGPU, T_DPM, D_FREQ_CUR, 0, 0, IS_DCEFCLK, "pp_dpm_dcefclk" },
	{ F_AMDGPU, T_METRICS, 0, 0, 0, NO_INST, "gpu_metrics" },

	/* i915: files of gt/intel_gt_sysfs_pm.c, and for kernels before Linux 5.18 files of
	 * i915_sysfs.c */
	{ F_I915_GT, T_NUMBER, D_FREQ_ACT, 0, 6, FROM_DIR, "rps_act_freq_mhz" },
	{ F_I915_GT, T_NUMBER, D_FREQ_CUR, 0, 6, FROM_DIR, "rps_cur_freq_mhz" },
	{ F_I915_GT, T_NUMBER, D_FREQ_TARGET, 0, 6, FROM_DIR, "punit_req_freq_mhz" },
	{ F_I915_GT, T_NUMBER, D_FREQ_MIN, 0, 6, FROM_DIR, "rps_min_freq_mhz" },
	{ F_I915_GT, T_NUMBER, D_FREQ_MAX, 0, 6, FROM_DIR, "rps_max_freq_mhz" },
	{ F_I915_GT, T_NUMBER, D_FREQ_BOOST, A_LIMIT, 6, FROM_DIR, "rps_boost_freq_mhz" },
	{ F_I915_GT, T_NUMBER, D_FREQ_RP0, A_LIMIT, 6, FROM_DIR, "rps_RP0_freq_mhz" },
	{ F_I915_GT, T_NUMBER, D_FREQ_RP1, A_LIMIT, 6, FROM_DIR, "rps_RP1_freq_mhz" },
	{ F_I915_GT, T_NUMBER, D_FREQ_RPN, A_LIMIT, 6, FROM_DIR, "rps_RPn_freq_mhz" },
	{ F_I915_GT, T_NUMBER, D_IDLE_MS, 0, 0, FROM_DIR, "rc6_residency_ms" },
	/* Intel's GPUs of Gen6 and Gen7 have the deeper idle states rc6p and rc6pp, whose times are
	 * not part of that of rc6: the format T_ADD adds them. Valleyview's media engines have an
	 * idle state of their own. */
	{ F_I915_GT, T_ADD, D_IDLE_MS, 0, 0, FROM_DIR, "rc6p_residency_ms" },
	{ F_I915_GT, T_ADD, D_IDLE_MS, 0, 0, FROM_DIR, "rc6pp_residency_ms" },
	{ F_I915_GT, T_NUMBER, D_IDLE_MS, 0, 0, IS_MEDIA, "media_rc6_residency_ms" },
	{ F_I915_GT, T_NUMBER, D_THROTTLE, 0, 0, FROM_LEAF, "throttle_reason_*" },
	{ F_I915, T_NUMBER, D_FREQ_ACT, 0, 6, IS_GT0, "gt_act_freq_mhz" },
	{ F_I915, T_NUMBER, D_FREQ_CUR, 0, 6, IS_GT0, "gt_cur_freq_mhz" },
	{ F_I915, T_NUMBER, D_FREQ_MIN, 0, 6, IS_GT0, "gt_min_freq_mhz" },
	{ F_I915, T_NUMBER, D_FREQ_MAX, 0, 6, IS_GT0, "gt_max_freq_mhz" },
	{ F_I915, T_NUMBER, D_FREQ_BOOST, A_LIMIT, 6, IS_GT0, "gt_boost_freq_mhz" },
	{ F_I915, T_NUMBER, D_FREQ_RP0, A_LIMIT, 6, IS_GT0, "gt_RP0_freq_mhz" },
	{ F_I915, T_NUMBER, D_FREQ_RP1, A_LIMIT, 6, IS_GT0, "gt_RP1_freq_mhz" },
	{ F_I915, T_NUMBER, D_FREQ_RPN, A_LIMIT, 6, IS_GT0, "gt_RPn_freq_mhz" },
	{ F_I915_POWER, T_NUMBER, D_IDLE_MS, 0, 0, IS_GT0, "rc6_residency_ms" },

	/* xe: files of xe_gt_freq.c, xe_gt_idle.c, xe_gt_throttle.c */
	{ F_XE_FREQ, T_NUMBER, D_FREQ_ACT, 0, 6, FROM_DIR, "act_freq" },
	{ F_XE_FREQ, T_NUMBER, D_FREQ_CUR, 0, 6, FROM_DIR, "cur_freq" },
	{ F_XE_FREQ, T_NUMBER, D_FREQ_MIN, 0, 6, FROM_DIR, "min_freq" },
	{ F_XE_FREQ, T_NUMBER, D_FREQ_MAX, 0, 6, FROM_DIR, "max_freq" },
	{ F_XE_FREQ, T_NUMBER, D_FREQ_RP0, A_LIMIT, 6, FROM_DIR, "rp0_freq" },
	{ F_XE_FREQ, T_NUMBER, D_FREQ_RPA, A_LIMIT, 6, FROM_DIR, "rpa_freq" },
	{ F_XE_FREQ, T_NUMBER, D_FREQ_RPE, A_LIMIT, 6, FROM_DIR, "rpe_freq" },
	{ F_XE_FREQ, T_NUMBER, D_FREQ_RPN, A_LIMIT, 6, FROM_DIR, "rpn_freq" },
	{ F_XE_IDLE, T_NUMBER, D_IDLE_MS, 0, 0, FROM_DIR, "idle_residency_ms" },
	{ F_XE_THROTTLE, T_REASONS, D_THROTTLE, 0, 0, NO_INST, "reasons" },
	{ F_XE_THROTTLE, T_NUMBER, D_THROTTLE, 0, 0, FROM_LEAF, "reason_*" },
	{ F_XE_MEMORY, T_NUMBER, D_FREQ_MIN, 0, 6, IS_MEMORY, "min_freq" },
	{ F_XE_MEMORY, T_NUMBER, D_FREQ_MAX, 0, 6, IS_MEMORY, "max_freq" },

	/* devfreq: files of drivers/devfreq */
	{ F_DEVFREQ, T_NUMBER, D_FREQ_CUR, 0, 0, FROM_DIR, "cur_freq" },
	{ F_DEVFREQ, T_NUMBER, D_FREQ_TARGET, 0, 0, FROM_DIR, "target_freq" },
	{ F_DEVFREQ, T_NUMBER, D_FREQ_MIN, 0, 0, FROM_DIR, "min_freq" },
	{ F_DEVFREQ, T_NUMBER, D_FREQ_MAX, 0, 0, FROM_DIR, "max_freq" },
	{ F_DEVFREQ, T_TRANS, D_FREQ_SPENT, 0, 0, FROM_DIR, "trans_stat" },
	/* msm: the DRM device may be the display controller. The GPU is then a separate platform
	 * device, and the files with the clock belong to the GPU. */
	{ F_MSM, T_NUMBER, D_FREQ_CUR, 0, 0, FROM_DIR, "cur_freq" },
	{ F_MSM, T_NUMBER, D_FREQ_TARGET, 0, 0, FROM_DIR, "target_freq" },
	{ F_MSM, T_NUMBER, D_FREQ_MIN, 0, 0, FROM_DIR, "min_freq" },
	{ F_MSM, T_NUMBER, D_FREQ_MAX, 0, 0, FROM_DIR, "max_freq" },
	{ F_MSM, T_TRANS, D_FREQ_SPENT, 0, 0, FROM_DIR, "trans_stat" },

	{ F_V3D, T_V3D, D_BUSY_NS, 0, 0, NO_INST, "gpu_stats" }, /* v3d: files of v3d_sysfs.c */
	{ F_NOUVEAU, T_PSTATE, D_FREQ_CUR, 0, 6, NO_INST, "pstate" },

	/* intel_vpu: files of Documentation/ABI/testing/sysfs-driver-ivpu */
	{ F_VPU, T_NUMBER, D_GPU_BUSY_US, A_SLOW, 0, NO_INST, "npu_busy_time_us" },
	{ F_VPU, T_NUMBER, D_RESIDENT, 0, 0, IS_MEMORY, "npu_memory_utilization" },
	{ F_VPU_FREQ, T_NUMBER, D_FREQ_CUR, 0, 6, IS_NPU, "current_freq" },
	{ F_VPU_FREQ, T_NUMBER, D_FREQ_MAX, 0, 6, IS_NPU, "hw_max_freq" },
	{ F_VPU, T_NUMBER, D_FREQ_CUR, 0, 6, IS_NPU, "npu_current_frequency_mhz" },
	{ F_VPU, T_NUMBER, D_FREQ_MAX, 0, 6, IS_NPU, "npu_max_frequency_mhz" },

	{ F_THERMAL, T_NUMBER, D_TEMP, 0, 0, FROM_ZONE, "temp" },
};

/* Labels of hwmon channels for which the driver has no label file, from the kernel's ABI pages. */
static const struct {
	char chip[5], channel[8], label[5];
} labels[] = {
	{ "i915", "energy1", "card" }, { "i915", "power1", "card" },
	{ "xe", "energy1", "card" },   { "xe", "power1", "card" },
	{ "xe", "energy2", "pkg" },    { "xe", "power2", "pkg" },
	{ "xe", "temp2", "pkg" },      { "xe", "temp3", "vram" },  { "xe", "in1", "pkg" },
};

/* An open file of a device, with its value: a "sensor". The file is read in every sample, or less
 * often if the flags (A_*) of its struct attr say so. */
struct sensor {
	const struct attr *attr;
	/* rank: sort key among the sensors with the same attr: 1000 times the number in the
	 * folder's name plus the number in the file's name */
	u32 device, rank, reads;
	/* number that text_put() has returned for the file's path, relative to /sys or /proc; NONE:
	 * the table of texts had no room */
	u32 path;
	int fd;
	/* misses: ENODEV errors in a row; wait: samples to skip before the file is opened again */
	u8 misses, wait;
	u8 place; /* sort key before all others: place of the probe that found the file */
	u8 clash; /* BY_* bits: the parts that were added to the sensor's name to make it unique */
	bool in_proc;    /* true if the path is relative to /proc, false if to /sys */
	char folder[16]; /* part of the folder's name that matched '*', such as hwmon3 or gt0 */
	union {
		i64 last;  /* for files with A_SLOW: time of the last read, ns */
		u64 value; /* for files with A_FIXED: the value, valid if `reads` is not 0 */
	};
	/* part of the file's path that matched '*' in the row of folders[], such as hwmon3 or
	 * gt0 */
	u64 limit;
	char inst[INST_BYTES];
};
static TABLE(struct sensor, sensors, MAX_SENSORS, 64, "sensors");

/* --- paths of folders and files --------------------------------------------------------------- */

bool path_join(char *out, size_t cap, const char *a, const char *b)
{
	struct buf s = buf_on(out, cap - 1);

	put_z(&s, a);
	if (a[0] && b[0])
		put_c(&s, '/');
	put_z(&s, b);
	out[s.full ? 0 : s.n] = '\0';
	return !s.full;
}

/* for files with A_SLOW: CLOCK_MONOTONIC time in ns of the last read */
void match_folders(int root, const char *path, struct str pattern, struct str star,
		   folder_fn *each, void *arg)
{
	char next[PATH_BYTES], part[64];
	struct str head;
	struct dir d;
	const char *name;

	if (!str_cut(&pattern, '/', &head)) {
		each(arg, path, star);
		return;
	}
	if (!memchr(head.p, '*', str_len(head))) {
		str_copy(part, sizeof(part), head);
		if (path_join(next, sizeof(next), path, part))
			match_folders(root, next, pattern, star, each, arg);
		return;
	}
	if (dir_open(&d, root, path) < 0)
		return;
	while ((name = dir_next(&d)))
		if (glob_match(head, str_z(name), NULL) &&
		    path_join(next, sizeof(next), path, name))
			match_folders(root, next, pattern, str_z(name), each, arg);
	dir_close(&d);
}

static struct {
	u32 nnodes;
	u32 nsensors;
	/* for files with A_FIXED: the value, which is valid after the first successful read
	 * (`reads` is not 0) */
	long device_error;
	bool readable;
	volatile u32 nknobs;
} sysfs = { .readable = true };

static char file[FILE_BYTES]; /* the text of the device file that was read last */

/* Returns the text of the file dir/leaf; empty if it cannot be read. The text is valid until the
 * next file is read. */
static struct str read_text(int root, const char *dir, const char *leaf)
{
	char path[PATH_BYTES];

	return str_read(file, path_join(path, sizeof(path), dir, leaf) ?
			slurp(root, path, file, sizeof(file)) : 0);
}

struct str sysfs_text(u32 device, const char *leaf)
{
	const char *dir = sysdirs[device].path;

	return read_text(dir[0] ? roots.sys : -1, dir, leaf);
}

static bool read_line(const char *dir, const char *leaf, struct str *line)
{
	struct str text = read_text(roots.sys, dir, leaf);
	bool has = str_cut(&text, '\n', line);

	*line = str_trim(*line);
	return has;
}

/* Stores s in out as the name of an instance. Blanks, commas and bytes that are not printable ASCII
 * become '_', so that the name is one word in every output format. */
static void set_inst(char out[INST_BYTES], struct str s)
{
	str_copy(out, INST_BYTES, str_trim(s));
	for (char *p = out; *p; p++)
		if (*p <= ' ' || *p >= 0x7f || *p == ',')
			*p = '_';
}

/* --- parsing of files ------------------------------------------------------------------------- */

/* Stores in sysfs_failed, for --verbose, why the value of a file is unknown. error: -errno, or 0 if
 * the text is invalid. */
static void file_failed(u32 device, const struct attr *a, long error)
{
	sysfs_failed = (struct failed){ devices[device].dev, a->leaf, error };
}

static struct entity *sensor_entity(const struct sensor *s)
{
	return &devices[s->device].e;
}

static void sensor_put(const struct sensor *s, u8 desc, struct str inst, u64 v, i64 t)
{
	/* PUT_LAST replaces the value of another GT: a throttle reason is active for the device if
	 * it is active for at least one of its GTs */
	if (desc == D_THROTTLE && v)
		reg_put_as(sensor_entity(s), desc, inst, v, t, PUT_LAST);
	else
		reg_put_limited(sensor_entity(s), desc, inst, v, t, s->limit);
}

static u32 sensor_factor(const struct sensor *s)
{
	static const u32 tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };

	return tens[s->attr->zeros];
}

static void store_number(const struct sensor *s, struct str text, i64 t)
{
	const struct attr *a = s->attr;
	u32 by = sensor_factor(s);
	struct str word;
	i64 i;
	u64 v;

	if (is_signed(a->desc)) {
		if (parse_sensor(text, &i))
			sensor_put(s, a->desc, str_z(s->inst), (u64)i, t);
	} else if (str_word(&text, &word) && scan_u64(word, &v) == word.e && v <= UINT64_MAX / by) {
		/* An integrated GPU has no PCIe link: its width is 0 or, where the registers read
		 * as ones, 63 or 255 lanes. */
		if ((a->desc == D_LINK_WIDTH || a->desc == D_LINK_MAX_WIDTH) && (v == 0 || v > 32))
			return;
		if (a->desc >= D_POWER_CAP && a->desc <= D_POWER_CRIT && v == 0)
			/* not stored: a power limit of 0 in hwmon means that there is no limit */
			return;
		sensor_put(s, a->desc, str_z(s->inst), v * by, t);
	}
}

/* Adds the number in the file of a sensor to the value that an earlier row of attrs[] stored for
 * the same counter. */
static void store_sum(const struct sensor *s, struct str text, i64 t)
{
	u64 v;

	(void)t;
	if (scan_u64(text, &v))
		reg_add(sensor_entity(s), s->attr->desc, str_z(s->inst), v);
}

static void store_dpm(const struct sensor *s, struct str text, i64 t)
{
	u64 cur, max;
	bool known = parse_dpm(text, &cur, &max);

	if (known)
		sensor_put(s, D_FREQ_CUR, str_z(s->inst), cur, t);
	if (known || max)
		sensor_put(s, D_FREQ_MAX, str_z(s->inst), max, t);
}

/* Parses the speed of a PCI link in 0.1 GT/s ("8.0 GT/s PCIe"), or its width in lanes ("16"). False
 * if there is no link: an unknown speed has no digits, and an integrated GPU has a width of 0 or,
 * where the registers read as ones, 63 or 255. */
static bool scan_link(struct str text, u8 desc, u64 *v)
{
	if (desc == D_LINK_WIDTH)
		return scan_u64(text, v) && *v - 1 < 32;
	return scan_dec(text, 1, v);
}

/* Stores the speed or the width of a PCI link: the lowest value of the device and of the ports
 * above it. The device's file is read before those of the ports: if the device has no link, no
 * value of a port is stored. */
static void store_link(const struct sensor *s, struct str text, i64 t)
{
	u8 desc = s->attr->desc;
	u64 v, lowest;

	if (!scan_link(text, desc, &v))
		return;
	if (s->rank == 0)
		sensor_put(s, desc, (struct str){ 0 }, v, t);
	else if (reg_get(sensor_entity(s), desc, 0, &lowest) && v < lowest)
		reg_put_as(sensor_entity(s), desc, (struct str){ 0 }, v, t, PUT_LAST);
}

static void store_v3d(const struct sensor *s, struct str text, i64 t)
{
	struct str queue;
	u64 runtime;

	while (parse_v3d(&text, &queue, &runtime))
		sensor_put(s, D_BUSY_NS, queue, runtime, t);
}

static void store_trans(const struct sensor *s, struct str text, i64 t)
{
	u64 spent, ms;

	(void)t;
	if (parse_trans(text, &spent, &ms) && ms < INT64_MAX / 1000000)
		sensor_put(s, D_FREQ_SPENT, str_z(s->inst), spent, (i64)ms * 1000000);
}

static void store_metrics(const struct sensor *s, struct str text, i64 t)
{
	struct metric m;
	const char *reason;
	bool on;
	size_t row = 0, bit = 0;

	devices[s->device].apu |= metrics_is_apu(text);
	while (metrics_next(text, &row, &m))
		sensor_put(s, m.desc, str_z(m.inst), m.v, t);
	while (metrics_throttle(text, &bit, &reason, &on))
		sensor_put(s, D_THROTTLE, str_z(reason), on, t);
}

/* Stores the throttle reasons from xe's file `reasons`, which contains "none" or the active
 * reasons, separated by blanks. A reason that the file does not name is not active. */
static void store_reasons(const struct sensor *s, struct str text, i64 t)
{
	struct str word;

	sensor_put(s, D_THROTTLE, (struct str)STR("none"), 0, t);
	while (str_word(&text, &word)) {
		char reason[INST_BYTES];

		set_inst(reason, word);
		if (strcmp(reason, "none") != 0)
			sensor_put(s, D_THROTTLE, str_z(reason), 1, t);
	}
}

/* Stores the current clocks from nouveau's file pstate: "AC: core 324 MHz memory 648 MHz". The line
 * with the label AC or DC describes the current state; the other lines, with numbers as labels, are
 * possible states. */
static void store_pstate(const struct sensor *s, struct str text, i64 t)
{
	struct str line, label, what, n;
	u64 mhz;

	while (line_next(&text, &line)) {
		if (!str_cut(&line, ':', &label) ||
		    (!str_is(label, "AC") && !str_is(label, "DC")))
			continue;
		while (str_word(&line, &what))
			if (str_word(&line, &n) && scan_u64(n, &mhz) == n.e && mhz < 1u << 20 &&
			    str_word(&line, &n))
				sensor_put(s, D_FREQ_CUR, what, mhz * sensor_factor(s), t);
	}
}

/* Stores the value from a vendor's file, which a row of places[] in boards.c describes. */
static void store_board(const struct sensor *s, struct str text, i64 t)
{
	if (!board_store(s->attr, sensor_entity(s), str_z(s->inst), text, t))
		file_failed(s->device, s->attr, 0);
}

static void (*const stores[])(const struct sensor *s, struct str text, i64 t) = {
	[T_NUMBER] = store_number, [T_ADD] = store_sum, [T_DPM] = store_dpm,
	[T_LINK] = store_link, [T_V3D] = store_v3d, [T_TRANS] = store_trans,
	[T_METRICS] = store_metrics, [T_REASONS] = store_reasons, [T_PSTATE] = store_pstate,
	[T_BOARD] = store_board,
};

/* --- discovery of sensors --------------------------------------------------------------------- */

/* Stores in out the instance name of an hwmon file. For temp1_input it is the text of temp1_label,
 * otherwise the label in labels[], otherwise temp1. */
static void channel_inst(char *out, const char *dir, struct str leaf)
{
	char label[64], chip[32] = "";
	struct buf b = buf_on(label, sizeof(label) - 1);
	struct str channel = leaf, line;
	const char *cut = memchr(leaf.p, '_', str_len(leaf));

	if (cut)
		channel.e = cut;
	put_str(&b, channel);
	put_z(&b, "_label");
	label[b.n] = '\0';
	if (!b.full && read_line(dir, label, &line) && line.p < line.e) {
		set_inst(out, line);
		return;
	}
	if (read_line(dir, "name", &line))
		str_copy(chip, sizeof(chip), line);
	set_inst(out, channel);
	for (size_t i = 0; i < LEN(labels); i++)
		if (strcmp(chip, labels[i].chip) == 0 && str_is(channel, labels[i].channel))
			set_inst(out, str_z(labels[i].label));
}

/* Returns the device to which the link `device` in a sysfs folder points; NONE if the folder has no
 * such link, or if the link points to something else than a known device. */
static u32 folder_owner(const char *dir)
{
	char path[PATH_BYTES];
	struct stat st;

	return path_join(path, sizeof(path), dir, "device") &&
	       sys_fstatat(roots.sys, path, &st) == 0 ? device_by_ino(&st) : NONE;
}

/* Returns the device to which a thermal zone belongs that has no link to a device. type: type of
 * the zone, which tells whether the zone is that of a GPU or of an NPU. Returns the first such
 * device, in device_order(), that is not a PCI device. NONE if there is none. */
static u32 zone_owner(struct str type)
{
	bool npu = str_find(type, (struct str)STR("npu"));
	u32 owner = NONE;

	/* Thermal zones of GPUs have types such as GPU-therm (Jetson Xavier) and G3D (Exynos). */
	if (!npu && !str_find(type, (struct str)STR("gpu")) &&
	    !str_find(type, (struct str)STR("GPU")) && !str_is(type, "G3D"))
		return NONE;
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;) {
		const struct device *d = &devices[i];
		bool fits = npu ? d->accel >= 0 || d->part == PART_NPU :
			    d->accel < 0 && d->part < PART_NPU &&
				    (d->render >= 0 || d->card < 0);

		if (!d->pdev[0] && d->ino && fits &&
		    (!owner || device_order(d, &devices[owner]) < 0))
			owner = i;
	}
	return owner;
}

/* Stores the type of the thermal zone in the sysfs folder dir in out, as the name of the counter's
 * instance. True if the zone belongs to the device. */
static bool zone_inst(char *out, const char *dir, u32 device)
{
	u32 owner = folder_owner(dir);
	struct str type;

	if ((owner == NONE ? devices[device].pdev[0] : owner != device) ||
	    !read_line(dir, "type", &type))
		return false;
	set_inst(out, type);
	return (owner == NONE ? zone_owner(type) : owner) == device;
}

/* True if the values of a quantity are only displayed: gpustat computes no other values from
 * them. */
static bool display_only(u8 desc)
{
	return desc == D_LOAD || desc == D_VISIBLE_TOTAL || desc == D_VISIBLE_USED ||
	       desc == D_PREEMPT_USED || (desc >= D_FREQ_CUR && desc <= D_FREQ_RPN) ||
	       desc == D_TEMP || desc == D_POWER || (desc >= D_FAN && desc <= D_LINK_WIDTH);
}

static bool attr_enabled(const struct attr *a, bool asleep)
{
	return (!(a->flags & A_LIMIT) || sensing.listing) && !!(a->flags & A_ASLEEP) == asleep &&
	       (!sensing.filter || !display_only(a->desc) || sensing.filter(a->desc));
}

/* Stores the name of the hwmon chip of a sensor in chip; an empty text if the sensor's file is not
 * in the folder of a chip. */
static void sensor_chip(const struct sensor *s, char chip[INST_BYTES])
{
	char path[PATH_BYTES], *end;
	struct str line;

	path[text_copy(s->path, path, sizeof(path) - 1)] = chip[0] = '\0';
	end = strrchr(path, '/');
	if (end)
		*end = '\0';
	if (s->attr->inst == FROM_CHAN && end && read_line(path, "name", &line))
		set_inst(chip, line);
}

enum { BY_CHIP = 1, BY_FOLDER = 2, BY_CHANNEL = 4 };

/* If the sensors a and b would have the same counter, sets the BY_* bits in a->clash: the parts to
 * add to the instance name of a, so that the name becomes unique. */
static void clash_find(struct sensor *a, const struct sensor *b)
{
	char one[INST_BYTES], other[INST_BYTES];

	if (a == b || a->attr != b->attr || !a->inst[0] || strcmp(a->inst, b->inst) != 0 ||
	    a->attr->format == T_BOARD || a->attr->desc == D_THROTTLE)
		return;
	if (strcmp(a->folder, b->folder) == 0) {
		a->clash |= BY_CHANNEL;
		return;
	}
	sensor_chip(a, one);
	sensor_chip(b, other);
	a->clash |= strcmp(one, other) == 0 ? BY_CHIP | BY_FOLDER : BY_CHIP;
}

/* Sets the instance name of a sensor to CHIP_NAME_FOLDER_CHANNEL. Leaves out each of CHIP, FOLDER
 * and CHANNEL whose BY_* bit is not set in s->clash. */
static void clash_rename(struct sensor *s)
{
	char name[2 * INST_BYTES + 64], path[PATH_BYTES];
	struct buf b = BUF_Z(name);
	struct str leaf = str_base(str_of(path, text_copy(s->path, path, sizeof(path)))), channel;

	str_cut(&leaf, '_', &channel);
	if (s->clash & BY_CHIP)
		sensor_chip(s, name);
	b.n = s->clash & BY_CHIP ? strlen(name) : 0;
	if (b.n)
		put_c(&b, '_');
	put_z(&b, s->inst);
	if (s->clash & BY_FOLDER) {
		put_c(&b, '_');
		put_z(&b, s->folder);
	}
	if (s->clash & BY_CHANNEL) {
		put_c(&b, '_');
		put_str(&b, channel);
	}
	set_inst(s->inst, str_z(buf_z(&b)));
}

/* Gives other instance names to those sensors, from index `from` on, that would have the same
 * counter: two chips of one device can have channels with equal names. If the file with the value
 * of a channel gets a new name, the file with its limit gets the same one; a new name of a limit
 * does not change the name of the value. */
static void names_separate(u32 from)
{
	struct sensor *all = sensors.rows;

	for (u32 i = from; i < sysfs.nsensors; i++)
		for (u32 k = from; k < sysfs.nsensors; k++)
			clash_find(&all[i], &all[k]);
	for (u32 i = from; i < sysfs.nsensors; i++)
		for (u32 k = from; k < sysfs.nsensors; k++)
			if (all[k].attr->inst == FROM_CHAN && all[i].attr->inst == FROM_CHAN &&
			    !(all[k].attr->flags & A_LIMIT) &&
			    strcmp(all[i].folder, all[k].folder) == 0 &&
			    strcmp(all[i].inst, all[k].inst) == 0)
				all[i].clash |= all[k].clash;
	for (u32 i = from; i < sysfs.nsensors; i++)
		if (all[i].clash)
			clash_rename(&all[i]);
}

/* Returns the first number in a name; 0 if there is none, or if the number is 1000 or more. */
static u32 name_number(struct str s)
{
	u64 v;

	while (s.p < s.e && (u8)(*s.p - '0') > 9)
		s.p++;
	return scan_u64(s, &v) && v < 1000 ? (u32)v : 0;
}

static void sensor_add(const struct probe *p, const struct attr *a, const char *dir,
		       struct str leaf, struct str dirstar, struct str leafstar)
{
	struct sensor *s;
	char path[PATH_BYTES], name[64];
	bool found = true;
	long fd;

	str_copy(name, sizeof(name), leaf);
	if (!path_join(path, sizeof(path), dir, name))
		return;
	fd = files_note_error(open_retry(p->root, path, O_RDONLY | O_NONBLOCK));
	if (fd < 0) {
		if (fd == -EACCES || fd == -EPERM) {
			sysdirs[p->device].denied = true;
			file_failed(p->device, a, fd);
		}
		return;
	}
	/* Keep a file open only if less than half of the permitted descriptors are in use: the
	 * other half is for the fdinfo files of clients. */
	if (!table_has(&sensors.t, sysfs.nsensors) || fd > fileio.limit / 2) {
		sys_close((int)fd);
		if (fd > fileio.limit / 2)
			/* count the error -EMFILE; probe_device() moves this count to the device's
			 * `unread` */
			files_note_error(-EMFILE);
		else
			sysdirs[p->device].lost++;
		return;
	}
	s = &sensors.rows[sysfs.nsensors];
	*s = (struct sensor){ .attr = a, .device = p->device, .fd = (int)fd,
			      .in_proc = p->root == roots.proc, .place = p->place,
			      .rank = name_number(dirstar) * 1000 + name_number(leaf) };
	switch (a->inst) {
	case FROM_CHAN:
		channel_inst(s->inst, dir, leaf);
		if (ranges[quantities[a->desc].range].times && !(a->flags & A_LIMIT))
			s->limit = channel_limit(dir, leaf);
		break;
	case FROM_ZONE:
		found = zone_inst(s->inst, dir, p->device);
		break;
	default:
		set_inst(s->inst, a->inst == FROM_DIR ? dirstar :
				  a->inst == FROM_LEAF ? leafstar : str_z(insts[a->inst]));
	}
	/* i915's file throttle_reason_status is 1 if any throttle reason is active; it is not a
	 * reason itself. */
	if (!found || (a->desc == D_THROTTLE && strcmp(s->inst, "status") == 0)) {
		sys_close((int)fd);
		return;
	}
	s->path = text_put(NONE, str_z(path));
	str_copy(s->folder, sizeof(s->folder), dirstar);
	sysfs.nsensors++;
}

/* True if the file name in a row of attrs[] is a pattern (with '*'), which can match several
 * files. */
static bool is_pattern(const char *leaf)
{
	while (*leaf && *leaf != '*' && *leaf != '?')
		leaf++;
	return *leaf;
}

void probe_dir(void *arg, const char *path, struct str star)
{
	const struct probe *p = arg;
	bool listing = false;
	struct dir d;
	const char *name;

	for (const struct attr *a = p->first; a < p->end; a++) {
		if (is_pattern(a->leaf))
			listing |= attr_enabled(a, p->asleep);
		else if (attr_enabled(a, p->asleep))
			sensor_add(p, a, path, str_z(a->leaf), star, (struct str){ 0 });
	}
	if (!listing || dir_open(&d, p->root, path) < 0)
		return;
	while ((name = dir_next(&d)))
		for (const struct attr *a = p->first; a < p->end; a++) {
			struct str leafstar = { 0 };

			if (is_pattern(a->leaf) && attr_enabled(a, p->asleep) &&
			    glob_match(str_z(a->leaf), str_z(name), &leafstar) &&
			    /* Skip power1_rated_max: it matches the pattern power*_max, but is
			     * another limit. */
			    (a->inst != FROM_CHAN || !str_find(leafstar, (struct str)STR("_"))))
				sensor_add(p, a, path, str_z(name), star, leafstar);
		}
	dir_close(&d);
}

static int sensor_cmp(const struct sensor *a, const struct sensor *b)
{
	if (a->place != b->place)
		return a->place - b->place;
	if (a->attr != b->attr)
		return a->attr < b->attr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->inst, b->inst);
}

/* Sorts the sensors from index `from` on by their row in attrs[], or in places[] of boards.c, then
 * by the numbers in their paths, because the kernel lists the files of a folder in no particular
 * order. */
static void sensors_sort(u32 from)
{
	for (u32 i = from + 1; i < sysfs.nsensors; i++) {
		struct sensor s = sensors.rows[i];
		u32 k = i;

		for (; k > from && sensor_cmp(&s, &sensors.rows[k - 1]) < 0; k--)
			sensors.rows[k] = sensors.rows[k - 1];
		sensors.rows[k] = s;
	}
}

/* Returns the device of the Adreno GPU whose clock is in the folder `path` of class/devfreq: the
 * device to which the folder's link `device` points, if that is a known device; otherwise the first
 * device of the driver msm that has a render node. */
static u32 msm_owner(const char *path)
{
	u32 owner = folder_owner(path), first = NONE;

	for (u32 i = NONE; owner == NONE && (i = device_next(i, true)) != NONE;)
		if (devices[i].render >= 0 && glob_match(str_z(folders[F_MSM].driver),
							 str_z(devices[i].driver), NULL) &&
		    (first == NONE || device_order(&devices[i], &devices[first]) < 0))
			first = i;
	return owner != NONE ? owner : first;
}

static void probe_msm(void *arg, const char *path, struct str star)
{
	if (msm_owner(path) == ((const struct probe *)arg)->device)
		probe_dir(arg, path, star);
}

/* Calls each() for the sysfs folder of a device, then for the folder of each PCIe port above the
 * device, until each() returns false. star: "0" for the device, "1" for the first port above it,
 * and so on. A path has room for some 150 ports; if there are more, one file is counted as lost. */
static void links_each(u32 device, bool (*each)(void *arg, const char *path, struct str star),
		       void *arg)
{
	enum { ROOM = sizeof("/current_link_speed") };
	char path[PATH_BYTES], number[8];

	str_copy(path, sizeof(path), str_z(sysdirs[device].path));
	for (u32 i = 0; path[0]; i++) {
		struct buf b = BUF_Z(number);

		put_u64(&b, i);
		if (!each(arg, path, str_z(buf_z(&b))))
			return;
		b = (struct buf){ .p = path, .n = strlen(path), .cap = sizeof(path) - ROOM };
		put_z(&b, "/..");
		buf_z(&b);
		if (b.full) {
			sysdirs[device].lost++;
			return;
		}
	}
}

static bool link_probe(void *arg, const char *path, struct str star)
{
	u32 before = sysfs.nsensors;

	probe_dir(arg, path, star);
	return sysfs.nsensors > before;
}

/* The lowest link speed or width (desc) among the links of a device and of the PCIe ports above it,
 * while links_each() calls link_compare(); path: the sysfs folder with this lowest value. */
struct lowest {
	u8 desc;
	u64 v;
	char path[PATH_BYTES];
};

static bool link_compare(void *arg, const char *path, struct str star)
{
	struct lowest *low = arg;
	u64 v;
	bool has = scan_link(read_text(roots.sys, path, low->desc == D_LINK_WIDTH ?
			     "current_link_width" : "current_link_speed"), low->desc, &v);

	if (has && (*star.p == '0' || v < low->v)) {
		low->v = v;
		str_copy(low->path, sizeof(low->path), str_z(path));
	}
	return has;
}

static void probe(u32 device, bool asleep)
{
	const struct attr *a, *end = attrs + LEN(attrs);
	struct sysdir *at = &sysdirs[device];
	struct str driver = str_z(devices[device].driver);
	u32 from = sysfs.nsensors;

	for (a = attrs; a < end;) {
		struct probe p = { .first = a, .device = device, .root = roots.sys,
				   .asleep = asleep };
		const struct folder *f = &folders[a->folder];
		const char *base = f->base == B_DEVICE ? at->path :
				   f->base == B_NODE ? at->node : "";
		struct str dir = str_z(f->dir);
		char number[32];
		bool any = false;

		for (; a < end && a->folder == p.first->folder; a++)
			any |= attr_enabled(a, asleep);
		p.end = a;
		if (!any || (f->driver && !glob_match(str_z(f->driver), driver, NULL)) ||
		    (f->base != B_SYS && !base[0]))
			continue;
		/* nouveau's folder in debugfs is named after the number of the card */
		if (dir.e > dir.p && dir.e[-1] == '#') {
			struct buf b = BUF(number);

			put_str(&b, (struct str){ dir.p, dir.e - 1 });
			put_u64(&b, (u64)devices[device].card);
			dir = (struct str){ number, number + b.n };
		}
		if (p.first->folder == F_LINK)
			links_each(device, link_probe, &p);
		else
			match_folders(roots.sys, base, dir, (struct str){ 0 },
				      p.first->folder == F_MSM ? probe_msm : probe_dir, &p);
	}
	if (HAS(boards))
		boards_probe(device, asleep);
	names_separate(from);
	sensors_sort(from);
}

/* Sets the capacity of each engine class of i915: the number of its engines. The class names are
 * those in i915's fdinfo. */
static void probe_engines(u32 device)
{
	static const char classes[][14] = { "render", "copy", "video", "video-enhance", "compute" };
	u64 count[LEN(classes)] = { 0 }, class;
	char path[PATH_BYTES], at[PATH_BYTES];
	struct dir d;
	const char *name;

	if (strcmp(devices[device].driver, "i915") != 0 ||
	    !path_join(path, sizeof(path), sysdirs[device].node, "engine") ||
	    dir_open(&d, roots.sys, path) < 0)
		return;
	while ((name = dir_next(&d))) {
		struct str line;

		if (path_join(at, sizeof(at), path, name) && read_line(at, "class", &line) &&
		    scan_u64(line, &class) && class < LEN(classes))
			count[class]++;
	}
	dir_close(&d);
	for (size_t i = 0; i < LEN(classes); i++)
		if (count[i])
			reg_put(&devices[device].e, D_CAPACITY, str_z(classes[i]), count[i], 0);
}

/* --- devices ---------------------------------------------------------------------------------- */

u32 device_by_ino(const struct stat *st)
{
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		if (devices[i].ino == st->st_ino && devices[i].ino_dev == st->st_dev)
			return i;
	return NONE;
}

static bool is_pci_slot(struct str s)
{
	return str_len(s) >= 12 && s.e[-2] == '.' && s.e[-5] == ':' && s.e[-8] == ':';
}

/* Reads the driver, the PCI slot and the PCI ID of a device from its sysfs folder. The driver may
 * have changed since the last call. */
void device_identify(u32 n)
{
	char buf[PATH_BYTES];
	struct device *d = &devices[n];
	const char *path = sysdirs[n].path;
	struct str v, text = read_text(roots.sys, path, "uevent");
	long len;

	if (parse_uevent(text, (struct str)STR("DRIVER"), &v)) {
		if (!str_is(v, d->driver))
			/* remove the values that were read from the previous driver */
			reg_clear(&d->e);
		str_copy(d->driver, sizeof(d->driver), v);
	}
	if (parse_uevent(text, (struct str)STR("PCI_SLOT_NAME"), &v))
		str_copy(d->pdev, sizeof(d->pdev), v);
	if (!d->name[0] && parse_uevent(text, (struct str)STR("PCI_ID"), &v)) {
		str_copy(d->name, sizeof(d->name), v);
		for (char *c = d->name; *c; c++)
			*c |= 32; /* lower case, as in pci.ids: 1002:744C becomes 1002:744c */
	}
	if (!d->driver[0] && path_join(buf, sizeof(buf), path, "driver") &&
	    (len = sys_readlinkat(roots.sys, buf, file, sizeof(file))) > 0)
		str_copy(d->driver, sizeof(d->driver), str_base((struct str){ file, file + len }));
	if (!d->pdev[0] && (len = sys_readlinkat(roots.sys, path, file, sizeof(file))) > 0 &&
	    is_pci_slot(v = str_base((struct str){ file, file + len })))
		str_copy(d->pdev, sizeof(d->pdev), v);
}

/* Adds a device. Returns its index, or NONE if a table is full. */
static u32 device_new(void)
{
	u32 n = device_add();

	if (n != NONE && !table_has(&sysfs_tables.sysdirs, n)) {
		devices[n].e.used = false;
		n = NONE;
	}
	if (n != NONE)
		sysdirs[n] = (struct sysdir){ .status = -1 };
	return n;
}

/* Returns the device with the sysfs folder `path` (relative to root), and adds it if it is new. If
 * the result is NONE, sysfs.device_error has the reason. */
u32 device_in_folder(int root, const char *path)
{
	struct stat st;
	u32 n;

	sysfs.device_error = files_note_error(sys_fstatat(root, path, &st));
	if (sysfs.device_error == 0 && !S_ISDIR(st.st_mode))
		sysfs.device_error = -ENOTDIR;
	if (sysfs.device_error)
		return NONE;
	n = device_by_ino(&st);
	if (n != NONE)
		return n;
	n = device_new();
	if (n == NONE)
		return NONE;
	devices[n].ino = st.st_ino;
	devices[n].ino_dev = st.st_dev;
	if (root == roots.sys)
		str_copy(sysdirs[n].path, sizeof(sysdirs[0].path), str_z(path));
	return n;
}

/* Parses the name of a device node: "renderD128" is the kind N_RENDER and the number 128. False if
 * the name is not that of a GPU's node. */
static bool parse_node(struct str name, u8 *kind, i32 *number)
{
	for (*kind = N_CARD; *kind <= N_NVIDIA; ++*kind) {
		struct str digits = name;
		u64 v;

		if (str_skip_z(&digits, node_names[*kind]) && scan_u64(digits, &v) == digits.e &&
		    v <= INT32_MAX) {
			*number = (i32)v;
			return true;
		}
	}
	return false;
}

static void node_path(char *out, size_t cap, u8 kind, i32 number)
{
	struct buf b = buf_on(out, cap - 1);

	put_z(&b, kind == N_ACCEL ? "class/accel/" : "class/drm/");
	put_z(&b, node_names[kind]);
	put_u64(&b, (u64)number);
	out[b.n] = '\0';
}

static struct node *node_new(void)
{
	if (table_has(&sysfs_tables.nodes, sysfs.nnodes))
		return &nodes[sysfs.nnodes++];
	registry.dropped++;
	return NULL;
}

/* Initializes the row of a new node. Its device numbers are read from its file `dev` in /sys;
 * without that file, they are the major number of its kind and the number in its name. */
static void node_fill(struct node *n, u32 device, u8 kind, i32 number, const char *dir)
{
	unsigned maj = kind == N_ACCEL ? MAJOR_ACCEL : kind == N_NVIDIA ? MAJOR_NVIDIA : MAJOR_DRM;
	unsigned min = (unsigned)number;
	struct str line;

	if (dir && read_line(dir, "dev", &line))
		parse_devno(line, &maj, &min);
	*n = (struct node){ .maj = maj, .min = min, .device = device, .number = number,
			    .kind = kind };
}

/* Counts a device as dropped because device_in_folder() has returned NONE for the folder `path`. */
void device_missing(const char *path)
{
	if (!sysfs.device_error) {
		device_lost();
	} else if (!is_transient_error(sysfs.device_error)) {
		/* A transient error was already counted by files_note_error(); count the other
		 * errors here. */
		registry.dropped++;
		files_note_missing(path, sysfs.device_error);
	}
}

static void folder_found(void *found, const char *path, struct str star)
{
	(void)path;
	(void)star;
	*(bool *)found = true;
}

/* Returns true if find() accepts a folder or file below `path` whose path matches `pattern`. find()
 * is called with the address of `found`, and sets it to true if it accepts the file. */
static bool folder_exists(const char *path, const char *pattern, folder_fn *find)
{
	bool found = false;

	match_folders(roots.sys, path, str_z(pattern), (struct str){ 0 }, find, &found);
	return found;
}

/* Registers an entry of class/drm or class/accel if it is a device node. Other entries are
 * connectors and class/drm/version. */
static void node_register(const char *name)
{
	char path[PATH_BYTES], dir[64];
	struct stat st;
	struct node *n = NULL;
	u32 device;
	u8 kind;
	i32 number;

	if (!parse_node(str_z(name), &kind, &number) || kind == N_NVIDIA)
		return;
	node_path(dir, sizeof(dir), kind, number);
	/* The node of a virtual driver has no link `device`: use the node's own folder as the
	 * device's folder. */
	device = path_join(path, sizeof(path), dir, "device") ?
		device_in_folder(roots.sys, path) : NONE;
	if (device == NONE && sys_fstatat(roots.sys, path, &st) == -ENOENT)
		device = device_in_folder(roots.sys, dir);
	if (device == NONE) {
		/* Count a device that could not be added only once: not again for its render node
		 * if it has a primary node. */
		if (kind != N_RENDER || !folder_exists(path, "drm/card*", folder_found))
			device_missing(path);
		return;
	}
	for (u32 i = 0; !n && i < sysfs.nnodes; i++)
		if (nodes[i].device == device && nodes[i].kind == kind && nodes[i].number == number)
			n = &nodes[i];
	if (!n) {
		if (!(n = node_new()))
			return;
		node_fill(n, device, kind, number, dir);
	}
	sysdirs[device].changed |= !n->there;
	n->there = n->seen = true;
}

static void sensors_close(u32 device)
{
	struct sysdir *at = &sysdirs[device];
	u32 n = 0;

	for (u32 i = 0; i < sysfs.nsensors; i++) {
		if (sensors.rows[i].device == device) {
			text_free(sensors.rows[i].path);
			sys_close(sensors.rows[i].fd);
		} else
			sensors.rows[n++] = sensors.rows[i];
	}
	sysfs.nsensors = n;
	if (at->status >= 0)
		sys_close(at->status);
	at->status = -1;
	at->probed = at->probed_asleep = at->denied = false;
	at->lost = at->unread = 0;
}

/* Updates a device after its nodes have changed. d->dev becomes the name of its primary node,
 * otherwise of its render node, otherwise of its accel node. A device without nodes is marked as
 * gone. */
static void device_update(u32 device)
{
	struct device *d = &devices[device];
	i32 *const numbers[] = { &d->card, &d->render, &d->accel };
	struct stat st;
	bool nvidia = false;

	d->card = d->render = d->accel = -1;
	for (u32 i = 0; i < sysfs.nnodes; i++) {
		if (nodes[i].device != device)
			continue;
		d->gone = true;
		if (nodes[i].there && nodes[i].kind == N_NVIDIA)
			nvidia = true;
		else if (nodes[i].there)
			*numbers[nodes[i].kind] = nodes[i].number;
	}
	sensors_close(device);
	sysdirs[device].changed = false;
	for (u8 kind = N_CARD; kind <= N_ACCEL && d->gone; kind++) {
		char *path = sysdirs[device].node;

		if (*numbers[kind] < 0)
			continue;
		d->gone = false;
		node_path(path, sizeof(sysdirs[0].node), kind, *numbers[kind]);
		str_copy(d->dev, sizeof(d->dev), str_base(str_z(path)));
		/* Set the path of the device's folder again: it contains the name of a node
		 * (class/drm/card0/device), which may belong to another device now. */
		if (!path_join(sysdirs[device].path, sizeof(sysdirs[0].path), path, "device") ||
		    sys_fstatat(roots.sys, sysdirs[device].path, &st) == -ENOENT)
			str_copy(sysdirs[device].path, sizeof(sysdirs[0].path), str_z(path));
		device_identify(device);
	}
	d->gone &= !nvidia;
}

/* Marks a device as gone, and closes its files. Its row in devices[] remains until device_forget()
 * finds that no client of the device is left. */
void device_end(u32 n)
{
	devices[n].gone = true;
	sensors_close(n);
}

static bool has_clients(u32 device)
{
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used && clients[i].device == device)
			return true;
	return false;
}

/* Removes a device that was unplugged, or that is known only from the descriptor of a process, when
 * no client of it is left. */
static void device_forget(u32 device)
{
	struct device *d = &devices[device];
	u32 n = 0;

	if (!(d->gone || d->unlisted) || has_clients(device) || d->anonymous)
		return;
	for (u32 i = 0; i < sysfs.nnodes; i++)
		if (nodes[i].device != device)
			nodes[n++] = nodes[i];
	sysfs.nnodes = n;
	reg_clear(&d->e);
	text_free(d->facts);
	d->e.used = false;
}

bool sysfs_readable(void)
{
	return sysfs.readable;
}

void transient_errors_count(void)
{
	static u32 was;

	registry.dropped += fileio.transient - was;
	registry.transient += fileio.transient - was;
	was = fileio.transient;
}

/* Registers all nodes in a class folder of /sys, such as class/drm. False if the list of nodes may
 * be incomplete. */
static bool scan_class(const char *path)
{
	struct dir d;
	const char *name;
	long r = dir_open(&d, roots.sys, path);

	if (r == -ENOENT || r == -ENOTDIR || roots.sys < 0)
		return true;
	sysfs.readable &= r >= 0;
	while (r >= 0 && (name = dir_next(&d)))
		node_register(name);
	dir_close(&d);
	r = r < 0 ? r : d.n;
	if (r < 0 && !is_transient_error(r)) {
		registry.dropped++;
		files_note_missing(path, r);
	}
	return r >= 0;
}

/* --- power state ------------------------------------------------------------------------------ */

/* Reads the power state of a device from power/runtime_status ("active", "suspended", "suspending",
 * "resuming", "error", "unsupported"), and sets d->awake. */
static void read_state(struct device *d, struct sysdir *at)
{
	char path[PATH_BYTES], b[sizeof(d->state)];
	long n = at->status;
	/* true if reading runtime_status failed with a transient error: the device is then regarded
	 * as asleep */
	bool unknown;

	if (n == -1 && at->path[0]) {
		n = path_join(path, sizeof(path), at->path, "power/runtime_status") ?
			files_note_error(open_retry(roots.sys, path, O_RDONLY | O_NONBLOCK)) :
			-ENOENT;
		/* status becomes -2 after an error that is not transient: runtime_status is not
		 * opened again */
		at->status = n >= 0 ? (int)n : is_transient_error(n) ? -1 : -2;
	}
	n = n < 0 ? n : files_note_error(slurp_fd(at->status, b, sizeof(b)));
	unknown = is_transient_error(n);
	if (n < 0)
		n = 0;
	str_copy(d->state, sizeof(d->state),
		 str_trim((struct str){ b, n > 0 && b[n - 1] == '\n' ? b + n - 1 : b + n }));
	d->awake = !unknown && (!d->state[0] || strcmp(d->state, "active") == 0 ||
				 strcmp(d->state, "unsupported") == 0 ||
				 strcmp(d->state, "error") == 0);
}

/* --- NVIDIA's own driver ---------------------------------------------------------------------- */

static struct str nvidia_file(const char *slot, const char *leaf)
{
	char folder[64];

	path_join(folder, sizeof(folder), "driver/nvidia/gpus", slot);
	return read_text(roots.proc, folder, leaf);
}

/* Marks the node /dev/nvidiaN of a device as found in the current scan of /proc and /sys. False if
 * the device has no such node. */
static bool nvidia_seen(u32 device)
{
	for (u32 i = 0; i < sysfs.nnodes; i++)
		if (nodes[i].kind == N_NVIDIA && nodes[i].device == device && nodes[i].there)
			return nodes[i].seen = true;
	return false;
}

/* Reads the name of a GPU and the number of its node from a /proc file of NVIDIA's driver: "Model:
 * NVIDIA ..." and "Device Minor: 0", which is /dev/nvidia0. Returns the number, or NVIDIA_CTL if it
 * is unknown. */
static i32 nvidia_information(struct device *g)
{
	struct str line, key, text = nvidia_file(g->pdev, "information");
	u64 min = NVIDIA_CTL;

	while (line_next(&text, &line)) {
		if (!str_cut(&line, ':', &key))
			continue;
		line = str_trim(line);
		if (str_is(str_trim(key), "Model"))
			str_copy(g->name, sizeof(g->name), line);
		else if (str_is(str_trim(key), "Device Minor"))
			scan_u64(line, &min);
	}
	return min < NVIDIA_CTL ? (i32)min : NVIDIA_CTL;
}

/* Adds the node /dev/nvidiaN of a GPU that NVIDIA's driver lists. */
static void nvidia_found(struct device *g, u32 n)
{
	struct sysdir *at = &sysdirs[n];
	struct node *node;
	i32 min;

	if (HAS(nvidia)) {
		read_state(g, at);
		at->slept = !g->awake && nvidia_covers(n);
	}
	min = HAS(nvidia) && at->slept ? nvidia_minor(n) : nvidia_information(g);
	if ((node = node_new())) {
		node_fill(node, n, N_NVIDIA, min, NULL);
		node->there = node->seen = at->changed = true;
	}
	if (min < NVIDIA_CTL && !g->dev[0]) {
		struct buf b = buf_on(g->dev, sizeof(g->dev) - 1);

		put_z(&b, node_names[N_NVIDIA]);
		put_u64(&b, (u64)min);
		g->dev[b.n] = '\0';
	}
	if (!g->dev[0])
		str_copy(g->dev, sizeof(g->dev), str_z(g->pdev));
}

/* Reads the driver's /proc file about a GPU that was asleep when it was found, and is awake now. */
static void nvidia_awoke(struct device *g, u32 n)
{
	i32 min = nvidia_information(g);

	sysdirs[n].slept = false;
	for (u32 i = 0; i < sysfs.nnodes && min < NVIDIA_CTL; i++)
		if (nodes[i].kind == N_NVIDIA && nodes[i].device == n)
			nodes[i].min = (unsigned)(nodes[i].number = min);
}

/* Finds the GPUs of NVIDIA's driver: the driver has a folder /proc/driver/nvidia/gpus/SLOT for
 * each; /sys has other values in the folder of the PCI device. The driver's files about a GPU are
 * read only once, and not while the GPU sleeps, because reading them wakes it
 * (rm_ref_dynamic_power() in nv_procfs_read_gpu_info() of NVIDIA's nv-procfs.c). False if the list
 * of GPUs may be incomplete. */
static bool scan_nvidia(void)
{
	char path[PATH_BYTES], slot[24];
	struct dir d;
	const char *name;
	long r = dir_open(&d, roots.proc, "driver/nvidia/gpus");

	if (r < 0)
		return r == -ENOENT || r == -ENOTDIR;
	while ((name = dir_next(&d))) {
		u32 n = NONE;

		str_copy(slot, sizeof(slot), str_z(name));
		if (path_join(path, sizeof(path), "bus/pci/devices", slot))
			n = device_in_folder(roots.sys, path);
		if (n == NONE)
			n = sysfs_device_at_slot(str_z(slot));
		if (HAS(nvidia) && n != NONE && nvidia_seen(n))
			continue;
		if (n == NONE && (n = device_new()) == NONE) {
			device_lost();
			continue;
		}
		str_copy(devices[n].pdev, sizeof(devices[n].pdev), str_z(slot));
		str_copy(devices[n].driver, sizeof(devices[n].driver), (struct str)STR("nvidia"));
		nvidia_found(&devices[n], n);
	}
	dir_close(&d);
	return d.n >= 0;
}

/* --- search for all devices ------------------------------------------------------------------- */

/* Finds new and removed device nodes. changed: true: also searches for devices of vendors' drivers
 * (boards.c), which otherwise happens only if a node was added or removed. nvidia: true: also
 * searches for GPUs of NVIDIA's driver. */
static void scan_devices(bool changed, bool nvidia)
{
	static const char *const classes[] = { "class/drm", "class/accel" };
	bool whole = true;

	for (size_t i = 0; i < LEN(classes); i++)
		whole &= scan_class(classes[i]);
	nvidia = nvidia && scan_nvidia();
	for (u32 i = 0; i < sysfs.nnodes; i++) {
		struct node *n = &nodes[i];

		if (n->there && !n->seen && (n->kind == N_NVIDIA ? nvidia : whole)) {
			n->there = false;
			sysdirs[n->device].changed = true;
		}
		n->seen = false;
	}
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		if (sysdirs[i].changed) {
			device_update(i);
			changed = true;
		}
	if (HAS(boards) && changed)
		boards_start();
}

/* Sets for each device whether an option excludes it (left_out), and whether the fdinfo of its
 * clients must not be read (no_fdinfo), because that can crash the kernel and the user has not
 * named the driver. */
static void devices_decide(void)
{
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;) {
		u8 choice = sensing.choice ? sensing.choice(i) : 0;

		devices[i].left_out = choice & DEVICE_LEFT_OUT;
		devices[i].no_fdinfo = !(choice & DEVICE_BY_DRIVER) &&
				       driver_find(str_z(devices[i].driver))->crashes;
	}
}

/* --- reading the files of devices ------------------------------------------------------------- */

static void vddnb_find(void *found, const char *path, struct str star)
{
	struct str line;

	(void)star;
	*(bool *)found |= read_line(path, "", &line) && str_is(line, "vddnb");
}

static bool device_number(u32 n, const char *leaf, u64 *v)
{
	return scan_u64(sysfs_text(n, leaf), v);
}

/* Returns whether an amdgpu device is part of an APU, a processor with an integrated GPU, according
 * to its sysfs files. Only APUs have a voltage with the label vddnb (amdgpu_pm.c). Without hwmon
 * labels: an APU has a video memory of at most 1 GiB and at most half of the GTT size, whose vendor
 * is unknown. A graphics card of unknown memory vendor (before GCN 3, or a virtual function) has a
 * PCI link, a fan, a power limit, or more video memory. An APU whose memory is all GTT (MI300A) has
 * 0 bytes of video memory, and may have a PCI link and a power limit. */
static bool is_apu(u32 n)
{
	const char *path = sysdirs[n].path;
	u64 vram, gtt, lanes;
	struct str line;

	return folder_exists(path, "hwmon/hwmon*/in*_label", vddnb_find) ||
	       (device_number(n, "mem_info_vram_total", &vram) &&
		device_number(n, "mem_info_gtt_total", &gtt) &&
		vram <= 1 << 30 && vram <= gtt / 2 &&
		(!vram ||
		 (!(read_line(path, "mem_info_vram_vendor", &line) && !str_is(line, "unknown")) &&
		  !scan_link(sysfs_text(n, "current_link_width"), D_LINK_WIDTH, &lanes) &&
		  !folder_exists(path, "hwmon/hwmon*/fan*", folder_found) &&
		  !folder_exists(path, "hwmon/hwmon*/pwm*", folder_found) &&
		  !folder_exists(path, "hwmon/hwmon*/power*_cap", folder_found))));
}

static void probe_device(u32 n)
{
	struct sysdir *at = &sysdirs[n];
	u32 before = fileio.transient;

	if (!at->probed_asleep) {
		at->probed_asleep = true;
		probe_engines(n);
		probe(n, true);
	}
	if (HAS(nvidia) && devices[n].awake && at->slept)
		nvidia_awoke(&devices[n], n);
	if (devices[n].awake && !at->probed) {
		at->probed = true;
		probe(n, false);
		devices[n].apu |= strcmp(devices[n].driver, "amdgpu") == 0 && is_apu(n);
	}
	at->unread += fileio.transient - before;
	fileio.unread -= fileio.transient - before;
	fileio.transient = before;
}

/* Names of sysfs files with constant properties of a device, which `list` shows. Reading them does
 * not access the hardware. */
static const char *const facts[] = { "power_state", "vendor", "device", "boot_vga", "numa_node",
				     "mem_info_vram_vendor", "unique_id" };

static void put_fact(struct buf *b, const char *name, struct str value)
{
	if (value.p == value.e)
		return;
	put_z(b, name);
	put_c(b, ':');
	put_str(b, value);
	put_c(b, '\n');
}

static void nvidia_facts(struct buf *b, const char *slot)
{
	struct str line, key, text;

	if (slurp_line(roots.proc, "driver/nvidia/version", file, sizeof(file), &line))
		put_fact(b, "version", line);
	text = nvidia_file(slot, "power");
	while (line_next(&text, &line))
		if (str_cut(&line, ':', &key) && (str_is(key, "Runtime D3 status") ||
						  str_is(key, "Video Memory")))
			put_fact(b, key.p[0] == 'R' ? "runtime_d3" : "video_memory",
				 str_trim(line));
}

/* Appends the fact `name` to b: the PCI slot of the PCIe port above a device that has the lowest
 * link speed or width (desc). Appends nothing if the link of the device itself is as slow or
 * narrow. */
static void link_fact(struct buf *b, u32 n, u8 desc, const char *name)
{
	struct lowest low = { .desc = desc };
	struct str slot;

	links_each(n, link_compare, &low);
	if (low.path[0] && strcmp(low.path, sysdirs[n].path) != 0 &&
	    parse_uevent(read_text(roots.sys, low.path, "uevent"),
			 (struct str)STR("PCI_SLOT_NAME"), &slot))
		put_fact(b, name, slot);
}

static void gather_facts(u32 n)
{
	struct device *d = &devices[n];
	const struct sysdir *at = &sysdirs[n];
	char text[1024];
	struct buf b = BUF(text);
	struct str line;

	for (size_t i = 0; i < LEN(facts) && at->path[0]; i++)
		if (read_line(at->path, facts[i], &line))
			put_fact(&b, facts[i], line);
	if (d->awake) {
		link_fact(&b, n, D_LINK_SPEED, "link_speed_at");
		link_fact(&b, n, D_LINK_WIDTH, "link_width_at");
	}
	if (strcmp(d->driver, "nvidia") == 0)
		nvidia_facts(&b, d->pdev);
	d->facts = text_put(d->facts, (struct str){ text, text + b.n });
}

/* Sets the texts of a device that the command `list` shows as reasons for missing values. */
static void explain_missing(u32 n)
{
	struct device *d = &devices[n];
	const struct sysdir *at = &sysdirs[n];
	const struct driver *driver = driver_find(str_z(d->driver));
	bool silent = d->no_fdinfo || !driver->crashes;
	struct str line;

	d->no_engines = silent ? driver->engines : NULL;
	d->no_memory = silent ? driver->memory : NULL;
	/* The sysfs file `profiling` has the value 0 at first. With 1, panfrost counts cycles and
	 * time; in panthor, bit 0 of the value enables cycles and bit 1 time. */
	if (!d->no_engines && at->path[0] && read_line(at->path, "profiling", &line) &&
	    str_is(line, "0"))
		d->no_engines = "profiling is off; as root: "
				"echo 3 > /sys/class/drm/CARD/device/profiling (panfrost: 1)";
	gather_facts(n);
	d->no_sensors = !d->awake ? "asleep; reading could wake it" :
			at->denied ? "permission denied" : "the driver has no file for it";
}

/* Reads the file of a sensor. Returns the length of the text, or -errno. gpu_metrics (T_METRICS) is
 * read with a single read(2): a sysfs file fits in a page, so one read returns the whole file, and
 * a second read would make the firmware produce the table again. Other files are read by
 * slurp_fd(), which reads on if a text does not end with a newline. */
static long sensor_read(const struct sensor *s)
{
	long n;

	if (s->attr->format != T_METRICS)
		return slurp_fd(s->fd, file, sizeof(file));
	while ((n = sys_pread(s->fd, file, sizeof(file), 0)) == -EINTR)
		;
	fileio.calls++;
	return n;
}

/* Opens the file of a sensor again after the error -ENODEV, and reads it, because the driver may
 * have been bound to the device again. Returns the same as sensor_read(). If -ENODEV remains, the
 * number of samples until the next attempt doubles, up to 64. If the file does not exist any more,
 * the next scan opens all files of the device again. */
static long sensor_reopen(struct sensor *s)
{
	char path[PATH_BYTES];
	long fd, n = -ENODEV;

	if (s->wait) {
		s->wait--;
		return n;
	}
	path[text_copy(s->path, path, sizeof(path) - 1)] = '\0';
	fd = path[0] ? open_retry(s->in_proc ? roots.proc : roots.sys, path,
				  O_RDONLY | O_NONBLOCK) : -ENOENT;
	if (fd >= 0) {
		sys_close(s->fd);
		s->fd = (int)fd;
		n = sensor_read(s);
	}
	sysdirs[s->device].changed |= fd == -ENOENT;
	s->misses = (u8)(n != -ENODEV ? 0 : s->misses < 6 ? s->misses + 1 : 6);
	s->wait = (u8)(n == -ENODEV ? 1 << s->misses : 0);
	return n;
}

static void sensor_sample(struct sensor *s)
{
	const struct attr *a = s->attr;
	i64 t = sys_now(CLOCK_MONOTONIC);
	struct str text;
	long n;

	if (a->flags & A_FIXED && s->reads) {
		sensor_put(s, a->desc, str_z(s->inst), s->value, t);
		return;
	}
	/* Read a file with A_SLOW at most once per second, except for the first two reads, which a
	 * rate needs. The limit is 0.99 s, because a sample may be a little early. */
	if (a->flags & A_SLOW && s->reads++ > 1 && t - s->last < 990000000)
		return;
	s->last = t;
	n = sensor_read(s);
	if (n == -ENODEV)
		n = sensor_reopen(s);
	if (n <= 0 && (n < 0 || a->format == T_BOARD))
		file_failed(s->device, a, n);
	/* Count the error if the value is that of a memory region: without it, the sum over the
	 * regions is too low. */
	if (is_region(a->desc))
		files_note_error(n);
	if (n <= 0)
		return;
	text = str_read(file, n);
	stores[a->format](s, text, sys_now(CLOCK_MONOTONIC));
	if (a->flags & A_FIXED)
		s->reads = scan_u64(str_trim(text), &s->value) &&
			   is_plausible(quantities[a->desc].range, s->value, 0);
}

static bool sensor_may_be_read(const struct sensor *s)
{
	const struct device *d = &devices[s->device];

	if (d->left_out)
		return false;
	return s->attr->flags & A_ASLEEP ||
	       (d->awake && (!(s->attr->flags & A_ON) || strcmp(d->state, "active") == 0));
}

static void sysfs_sample(void)
{
	for (u32 i = NONE; (i = device_next(i, false)) != NONE;) {
		struct device *d = &devices[i];

		read_state(d, &sysdirs[i]);
		reg_begin(&d->e, sys_now(CLOCK_MONOTONIC));
		d->implausible = 0;
		probe_device(i);
		registry.dropped += sysdirs[i].lost + sysdirs[i].unread;
		fileio.unread += sysdirs[i].unread;
		if (sensing.listing)
			explain_missing(i);
	}
	for (u32 i = 0; i < sysfs.nsensors; i++)
		if (sensor_may_be_read(&sensors.rows[i]))
			sensor_sample(&sensors.rows[i]);
	if (dmem_read)
		dmem_read();
}

static void sysfs_start(void)
{
	scan_devices(true, true);
	devices_decide();
	sysfs_sample();
	transient_errors_count();
}

/* Searches for new and removed devices if nodes_changed() is true. All that the last search could
 * not register is counted as dropped in every sample. */
static void sysfs_scan(void)
{
	static u32 lost;
	u32 dropped = registry.dropped;

	if (nodes_changed()) {
		scan_devices(HAS(boards) && nodes_vendors(),
			     HAS(nvidia) && nodes_nvidia());
		devices_decide();
		transient_errors_count();
		lost = registry.dropped - dropped;
	} else {
		registry.dropped += lost;
	}
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		device_forget(i);
}

static void sysfs_rest(void)
{
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		sensors_close(i);
}

const struct source src_sysfs = {
	.name = "sysfs",
	.start = sysfs_start,
	.scan = sysfs_scan,
	.rest = sysfs_rest,
	.sample = sysfs_sample,
};

/* --- the sysfs file profiling ----------------------------------------------------------------- */

/* Drivers whose fdinfo has times and cycles only while the sysfs file `profiling` is not 0, and the
 * value that enables all of them: 1 for panfrost, 3 for panthor (1 for cycles + 2 for time). */
static const struct {
	const char *driver, *all;
} profilers[] = {
	{ "panfrost", "1" },
	{ "panthor", "3" },
};

const char *profiling_value(const struct device *d)
{
	for (size_t i = 0; i < LEN(profilers); i++)
		if (strcmp(d->driver, profilers[i].driver) == 0)
			return profilers[i].all;
	return NULL;
}

static struct knob {
	int fd;
	u8 n;
	char old[8]; /* text of the file `profiling` before it was set, to restore it */
} knobs[MAX_DEVICES];

static long knob_set(const char *path, const char *to)
{
	struct knob *k = &knobs[sysfs.nknobs];
	struct str text, old;
	long n, r;

	k->fd = (int)sys_openat(roots.sys, path, O_RDWR);
	if (k->fd < 0)
		return k->fd;
	n = slurp_fd(k->fd, k->old, sizeof(k->old));
	text = str_read(k->old, n);
	if (n > 0 && (size_t)n < sizeof(k->old) && str_cut(&text, '\n', &old) && str_is(old, "0")) {
		k->n = (u8)n;
		/* increase nknobs, the number of changed files, before the write: a signal handler
		 * may call profiling_restore() at any time */
		sysfs.nknobs++;
		r = sys_pwrite(k->fd, to, 1, 0);
		if (r > 0)
			return 0;
		sysfs.nknobs--;
		n = r < 0 ? r : -EIO;
	}
	sys_close(k->fd);
	/* another program has set `profiling` to a value other than 0: do not change it */
	return n < 0 ? n : 0;
}

void profiling_start(void (*denied)(const char *dev, long err))
{
	char path[PATH_BYTES];

	for (u32 i = NONE; (i = device_next(i, true)) != NONE;) {
		const char *value = profiling_value(&devices[i]);
		long r;

		if (!value || devices[i].left_out || sysdirs[i].profiled || !sysdirs[i].path[0] ||
		    !path_join(path, sizeof(path), sysdirs[i].path, "profiling"))
			continue;
		sysdirs[i].profiled = true;
		r = sysfs.nknobs < LEN(knobs) ? knob_set(path, value) : -EMFILE;
		if (r < 0)
			denied(devices[i].dev, r);
	}
}

void profiling_restore(void)
{
	for (; sysfs.nknobs; sysfs.nknobs--)
		sys_pwrite(knobs[sysfs.nknobs - 1].fd, knobs[sysfs.nknobs - 1].old,
			   knobs[sysfs.nknobs - 1].n, 0);
}

/* --- device lookup for other sources ---------------------------------------------------------- */

/* Returns the device of the node with these device numbers; NONE if there is none. If a removed
 * node had the same numbers as an existing one, returns the device of the existing node. */
static u32 node_device(unsigned maj, unsigned min)
{
	u32 gone = NONE;

	for (u32 i = 0; i < sysfs.nnodes; i++) {
		if (nodes[i].maj != maj || nodes[i].min != min)
			continue;
		if (nodes[i].there)
			return nodes[i].device;
		gone = nodes[i].device;
	}
	return gone;
}

/* Returns the device with the name `name` among those that are not in /sys and are known only from
 * descriptors of processes; adds the device if it is new. NONE if the device table is full. */
static u32 device_unlisted(struct str name)
{
	u32 n = NONE;

	while ((n = device_next(n, true)) != NONE)
		if (!devices[n].ino && str_is(name, devices[n].dev))
			return n;
	n = device_new();
	if (n == NONE) {
		device_lost();
		return NONE;
	}
	str_copy(devices[n].dev, sizeof(devices[n].dev), name);
	devices[n].unlisted = true;
	devices_decide();
	return n;
}

/* Returns the device of the node with these device numbers. If /sys does not list it, a device is
 * added that is named after the numbers. NONE if the table is full. */
u32 sysfs_device(unsigned maj, unsigned min)
{
	char path[64];
	struct buf b = buf_on(path, sizeof(path) - 1);
	struct str number = { path + sizeof("dev/char"), NULL };
	struct stat st;
	u32 n = node_device(maj, min);

	if (n != NONE)
		return n;
	put_z(&b, "dev/char/");
	put_u64(&b, maj);
	put_c(&b, ':');
	put_u64(&b, min);
	number.e = path + b.n;
	put_z(&b, "/device");
	path[b.n] = '\0';
	if (sys_fstatat(roots.sys, path, &st) == 0 && (n = device_by_ino(&st)) != NONE)
		return n;
	return device_unlisted(number);
}

/* Returns the device in /sys with this PCI slot; NONE if there is none. */
u32 sysfs_device_at_slot(struct str pdev)
{
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		if (!devices[i].unlisted && devices[i].pdev[0] && str_is(pdev, devices[i].pdev))
			return i;
	return NONE;
}

/* Returns whether two names mean the same driver, which is so if one begins with the other: sysfs
 * has msm_dpu and amdxdna, DRM has msm and amdxdna_accel_driver. */
static bool same_driver(struct str a, struct str b)
{
	return str_len(a) && str_len(b) &&
	       (str_len(a) < str_len(b) ? str_skip(&b, a) : str_skip(&a, b));
}

/* Returns the device of a descriptor for which stat(2) is not permitted, from the fdinfo: the
 * device at the PCI slot pdev or, if fdinfo has no PCI slot, the only device of this driver. If
 * there is no such device: a device that is named after the driver. */
u32 sysfs_device_by(struct str pdev, struct str driver)
{
	u32 found = pdev.p ? sysfs_device_at_slot(pdev) : NONE, n = 0;

	for (u32 i = NONE; !pdev.p && (i = device_next(i, true)) != NONE;)
		if (same_driver(driver, str_z(devices[i].driver))) {
			found = i;
			n++;
		}
	return found != NONE && n <= 1 ? found : device_unlisted(driver);
}

/* Stores the device numbers of the node `name`, such as renderD128. Used for a descriptor for which
 * only the text of its link is known. False if `name` is not the name of a GPU's node. */
bool sysfs_node(struct str name, unsigned *maj, unsigned *min)
{
	struct node n;
	u8 kind;
	i32 number;

	if (!parse_node(name, &kind, &number) || (kind == N_NVIDIA && number >= 255))
		return false;
	for (u32 i = 0; i < sysfs.nnodes; i++)
		if (nodes[i].there && nodes[i].kind == kind && nodes[i].number == number) {
			*maj = nodes[i].maj;
			*min = nodes[i].min;
			return true;
		}
	node_fill(&n, NONE, kind, number, NULL);
	*maj = n.maj;
	*min = n.min;
	return true;
}
