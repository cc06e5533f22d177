/* sysfs.c - devices and what their drivers tell about them without a client: state, clocks, sensors,
 * memory, device-wide busy time. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

bool sysfs_listing;
bool (*sysfs_shows)(u8 desc);

enum {
	MAX_NODES = 3 * MAX_DEVICES, /* card, renderD and accel node of each */
	MAX_SENSORS = 4096,          /* some 40 files of each device */
	FILE_BYTES = 8192,           /* trans_stat of 20 states has 3 KiB; sysfs ends at 4 */
	PATH_BYTES = 512,
	INST_BYTES = 40,
};

enum node_kind { N_CARD, N_RENDER, N_ACCEL, N_NVIDIA };
static const char *const node_names[] = { "card", "renderD", "accel", "nvidia" };

/* A device node. One that went stays, not there, as long as its device: a process may still hold it. */
static struct node {
	u32 maj, min, device;
	i32 number; /* in its name */
	u8 kind;
	bool there, seen;
} nodes[MAX_NODES];
static u32 nnodes;

/* What the registry need not know about a device. */
static struct place {
	char path[128];  /* its folder, below /sys */
	char node[48];   /* its primary node's folder: class/drm/cardN */
	int status;      /* power/runtime_status, kept open, or -1 */
	bool probed, probed_asleep;
	bool changed; /* its nodes are not those of the scan before */
	bool denied;  /* some file may not be read */
	bool profiled; /* --enable-profiling has been here */
	u32 lost, unread; /* sensors for which there was no room, or no descriptor */
} places[MAX_DEVICES];

/* What makes values of a file's text. */
enum take {
	T_NUMBER, T_MORE, T_DPM, T_LOAD, T_LINK, T_V3D, T_TRANS, T_METRICS, T_REASONS, T_RKNPU, T_PSTATE
};

/* Where an instance's name comes from, or what it is. */
enum {
	NO_INST,
	FROM_DIR,  /* the folder that the last '*' matched */
	FROM_LEAF, /* what '*' stands for in the file's name */
	FROM_CHAN, /* hwmon: the channel's label, else the channel */
	FROM_ZONE, /* the thermal zone's type, if that is a GPU's or an NPU's */
	IS_MEM, IS_VCN, IS_SCLK, IS_MCLK, IS_SOCCLK, IS_FCLK, IS_VCLK, IS_DCLK, IS_DCEFCLK, IS_MEDIA, IS_GT0,
	IS_MEMORY, IS_NPU
};
static const char insts[][8] = {
	[IS_MEM] = "mem", [IS_VCN] = "vcn", [IS_SCLK] = "sclk", [IS_MCLK] = "mclk", [IS_SOCCLK] = "socclk",
	[IS_FCLK] = "fclk", [IS_VCLK] = "vclk", [IS_DCLK] = "dclk", [IS_DCEFCLK] = "dcefclk", [IS_MEDIA] = "media",
	[IS_GT0] = "gt0", [IS_MEMORY] = "memory", [IS_NPU] = "npu"
};

enum base { B_DEVICE, B_NODE, B_SYS };
enum {
	A_ASLEEP = 1, /* cannot wake the device */
	A_LIMIT = 2,  /* for `list` only */
	A_SLOW = 4,   /* its ABI page wants a second between two reads */
	A_FIXED = 8,  /* stays as long as the driver does: read once */
};

enum {
	F_POWER, F_ANY, F_AMDGPU, F_HWMON, F_I915_GT, F_I915, F_I915_POWER, F_XE_FREQ, F_XE_IDLE, F_XE_THROTTLE,
	F_XE_MEMORY, F_DEVFREQ, F_MSM, F_V3D, F_NVGPU, F_RKNPU, F_RKNPU_OLD, F_NOUVEAU, F_VPU, F_VPU_FREQ, F_THERMAL
};

static const struct folder {
	const char *driver; /* NULL: any; "x*": those that begin so */
	u8 base;            /* enum base */
	const char *dir;
} folders[] = {
	[F_POWER]       = { NULL, B_DEVICE, "power" },
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
	[F_NVGPU]       = { "nvgpu", B_DEVICE, "" },
	[F_RKNPU]       = { "rknpu*", B_SYS, "kernel/debug/rknpu" },
	[F_RKNPU_OLD]   = { "RKNPU*", B_SYS, "kernel/debug/rknpu" },
	[F_NOUVEAU]     = { "nouveau", B_SYS, "kernel/debug/dri/#" },
	[F_VPU]         = { "intel_vpu", B_DEVICE, "" },
	[F_VPU_FREQ]    = { "intel_vpu", B_DEVICE, "freq" },
	[F_THERMAL]     = { NULL, B_SYS, "class/thermal/thermal_zone*" },
};

/* A file, or several, and what it counts. Of two for one counter the upper row wins. */
static const struct attr {
	u8 folder, take, desc, flags; /* flags: A_* */
	u8 zeros; /* that make the file's numbers those of the registry */
	u8 inst;
	const char *leaf;
} attrs[] = {
	/* PCI: include/uapi/linux/pci_regs.h by way of drivers/pci/pci-sysfs.c */
	{ F_POWER, T_NUMBER, D_ACTIVE_MS, A_ASLEEP | A_LIMIT, 0, NO_INST, "runtime_active_time" },
	{ F_POWER, T_NUMBER, D_SUSPENDED_MS, A_ASLEEP | A_LIMIT, 0, NO_INST, "runtime_suspended_time" },
	{ F_ANY, T_LINK, D_LINK_SPEED, 0, 0, NO_INST, "current_link_speed" },
	{ F_ANY, T_NUMBER, D_LINK_WIDTH, 0, 0, NO_INST, "current_link_width" },
	{ F_ANY, T_LINK, D_LINK_MAX_SPEED, A_LIMIT, 0, NO_INST, "max_link_speed" },
	{ F_ANY, T_NUMBER, D_LINK_MAX_WIDTH, A_LIMIT, 0, NO_INST, "max_link_width" },

	/* amdgpu_pm.c, amdgpu_vram_mgr.c, amdgpu_gtt_mgr.c; mem_info_* are software counts */
	{ F_AMDGPU, T_NUMBER, D_VRAM_TOTAL, A_ASLEEP | A_FIXED, 0, NO_INST, "mem_info_vram_total" },
	{ F_AMDGPU, T_NUMBER, D_VRAM_USED, A_ASLEEP, 0, NO_INST, "mem_info_vram_used" },
	{ F_AMDGPU, T_NUMBER, D_VISIBLE_TOTAL, A_ASLEEP | A_FIXED, 0, NO_INST, "mem_info_vis_vram_total" },
	{ F_AMDGPU, T_NUMBER, D_VISIBLE_USED, A_ASLEEP, 0, NO_INST, "mem_info_vis_vram_used" },
	{ F_AMDGPU, T_NUMBER, D_GTT_TOTAL, A_ASLEEP | A_FIXED, 0, NO_INST, "mem_info_gtt_total" },
	{ F_AMDGPU, T_NUMBER, D_GTT_USED, A_ASLEEP, 0, NO_INST, "mem_info_gtt_used" },
	{ F_AMDGPU, T_NUMBER, D_PREEMPT_USED, A_ASLEEP, 0, NO_INST, "mem_info_preempt_used" },
	{ F_AMDGPU, T_NUMBER, D_GPU_BUSY, 0, 3, NO_INST, "gpu_busy_percent" },
	{ F_AMDGPU, T_NUMBER, D_LOAD, 0, 3, IS_MEM, "mem_busy_percent" },
	{ F_AMDGPU, T_NUMBER, D_LOAD, 0, 3, IS_VCN, "vcn_busy_percent" },

	/* drivers/hwmon ABI: Documentation/hwmon/sysfs-interface.rst */
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

	/* i915/gt/intel_gt_sysfs_pm.c, and before 5.18 i915_sysfs.c */
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
	/* Gen6 and 7 sleep deeper in rc6p and rc6pp, which rc6 does not count; Valleyview's media sleeps by itself. */
	{ F_I915_GT, T_MORE, D_IDLE_MS, 0, 0, FROM_DIR, "rc6p_residency_ms" },
	{ F_I915_GT, T_MORE, D_IDLE_MS, 0, 0, FROM_DIR, "rc6pp_residency_ms" },
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

	/* xe_gt_freq.c, xe_gt_idle.c, xe_gt_throttle.c */
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

	/* drivers/devfreq; `load` is Rockchip's */
	{ F_DEVFREQ, T_LOAD, D_GPU_BUSY, 0, 3, FROM_DIR, "load" },
	{ F_DEVFREQ, T_NUMBER, D_FREQ_CUR, 0, 0, FROM_DIR, "cur_freq" },
	{ F_DEVFREQ, T_NUMBER, D_FREQ_TARGET, 0, 0, FROM_DIR, "target_freq" },
	{ F_DEVFREQ, T_NUMBER, D_FREQ_MIN, 0, 0, FROM_DIR, "min_freq" },
	{ F_DEVFREQ, T_NUMBER, D_FREQ_MAX, 0, 0, FROM_DIR, "max_freq" },
	{ F_DEVFREQ, T_TRANS, D_FREQ_SPENT, 0, 0, FROM_DIR, "trans_stat" },
	/* msm's card is its display controller, but the GPU is a device of its own */
	{ F_MSM, T_NUMBER, D_FREQ_CUR, 0, 0, FROM_DIR, "cur_freq" },
	{ F_MSM, T_NUMBER, D_FREQ_TARGET, 0, 0, FROM_DIR, "target_freq" },
	{ F_MSM, T_NUMBER, D_FREQ_MIN, 0, 0, FROM_DIR, "min_freq" },
	{ F_MSM, T_NUMBER, D_FREQ_MAX, 0, 0, FROM_DIR, "max_freq" },
	{ F_MSM, T_TRANS, D_FREQ_SPENT, 0, 0, FROM_DIR, "trans_stat" },

	{ F_V3D, T_V3D, D_BUSY_NS, 0, 0, NO_INST, "gpu_stats" }, /* v3d_sysfs.c */
	{ F_NVGPU, T_NUMBER, D_GPU_BUSY, 0, 2, NO_INST, "load" }, /* Jetson: per mille */
	{ F_RKNPU, T_RKNPU, D_LOAD, 0, 0, NO_INST, "load" },
	{ F_RKNPU_OLD, T_RKNPU, D_LOAD, 0, 0, NO_INST, "load" },
	{ F_NOUVEAU, T_PSTATE, D_FREQ_CUR, 0, 6, NO_INST, "pstate" },

	/* Documentation/ABI/testing/sysfs-driver-ivpu */
	{ F_VPU, T_NUMBER, D_GPU_BUSY_US, A_SLOW, 0, NO_INST, "npu_busy_time_us" },
	{ F_VPU, T_NUMBER, D_RESIDENT, 0, 0, IS_MEMORY, "npu_memory_utilization" },
	{ F_VPU_FREQ, T_NUMBER, D_FREQ_CUR, 0, 6, IS_NPU, "current_freq" },
	{ F_VPU_FREQ, T_NUMBER, D_FREQ_MAX, 0, 6, IS_NPU, "hw_max_freq" },
	{ F_VPU, T_NUMBER, D_FREQ_CUR, 0, 6, IS_NPU, "npu_current_frequency_mhz" },
	{ F_VPU, T_NUMBER, D_FREQ_MAX, 0, 6, IS_NPU, "npu_max_frequency_mhz" },

	{ F_THERMAL, T_NUMBER, D_TEMP, 0, 0, FROM_ZONE, "temp" },
};

/* Channels that their drivers leave unlabelled, though their ABI pages say what they are. */
static const struct {
	char chip[5], channel[8], label[5];
} labels[] = {
	{ "i915", "energy1", "card" }, { "i915", "power1", "card" },
	{ "xe", "energy1", "card" },   { "xe", "power1", "card" },
	{ "xe", "energy2", "pkg" },    { "xe", "power2", "pkg" },
	{ "xe", "temp2", "pkg" },      { "xe", "temp3", "vram" },  { "xe", "in1", "pkg" },
};

/* A file that is read in every sample, or as its row says. */
static struct sensor {
	const struct attr *attr;
	u32 device, rank, reads;
	int fd;
	union {
		i64 last;  /* A_SLOW: when it was read, ns */
		u64 value; /* A_FIXED: where it has been read */
	};
	char inst[INST_BYTES];
} *sensors;
static TABLE(sensors, MAX_SENSORS, 64, "sensors");
static u32 nsensors;

static char file[FILE_BYTES];

/* --- paths ------------------------------------------------------------------------------------------- */

static bool join(char *out, size_t cap, const char *a, const char *b)
{
	struct buf s = buf_on(out, cap - 1);

	put_z(&s, a);
	if (a[0] && b[0])
		put_c(&s, '/');
	put_z(&s, b);
	out[s.full ? 0 : s.n] = '\0';
	return !s.full;
}

typedef void walk_fn(void *arg, const char *path, struct str star);

/* Each folder that the pattern matches below path; star is what its last '*' component was. */
static void walk(const char *path, struct str pattern, struct str star, walk_fn *each, void *arg)
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
		device_set(part, sizeof(part), head);
		if (join(next, sizeof(next), path, part))
			walk(next, pattern, star, each, arg);
		return;
	}
	if (dir_open(&d, root_sys, path) < 0)
		return;
	while ((name = dir_next(&d)))
		if (glob_match(head, str_z(name), NULL) && join(next, sizeof(next), path, name))
			walk(next, pattern, str_z(name), each, arg);
	dir_close(&d);
}

static bool read_line(const char *dir, const char *leaf, struct str *line)
{
	char path[PATH_BYTES];

	return join(path, sizeof(path), dir, leaf) && slurp_line(root_sys, path, file, sizeof(file), line);
}

/* A name that can stand as one word in any format. */
static void set_inst(char out[INST_BYTES], struct str s)
{
	device_set(out, INST_BYTES, str_trim(s));
	for (char *p = out; *p; p++)
		if (*p <= ' ' || *p >= 0x7f || *p == ',')
			*p = '_';
}

/* --- what files say ------------------------------------------------------------------------------------ */

static struct entity *of(const struct sensor *s)
{
	return &devices[s->device].e;
}

static void put(const struct sensor *s, u8 desc, struct str inst, u64 v, i64 t)
{
	reg_put(of(s), desc, inst, v, t);
}

static u32 times(const struct sensor *s)
{
	static const u32 tens[] = { 1, 10, 100, 1000, 10000, 100000, 1000000 };

	return tens[s->attr->zeros];
}

static void take_number(const struct sensor *s, struct str text, i64 t)
{
	const struct attr *a = s->attr;
	u32 by = times(s);
	i64 v;
	u64 u;

	text = str_trim(text);
	if (text.p < text.e && *text.p == '-') {
		if (is_signed(a->desc) && scan_i64(text, &v))
			put(s, a->desc, str_z(s->inst), (u64)v, t);
	} else if (scan_u64(text, &u) && u <= UINT64_MAX / by && !(is_signed(a->desc) && u > INT64_MAX)) {
		/* An integrated GPU has no link: 0 or, where the registers read as ones, 63 and 255 lanes. */
		if ((a->desc == D_LINK_WIDTH || a->desc == D_LINK_MAX_WIDTH) && (u == 0 || u > 32))
			return;
		if (a->desc >= D_POWER_CAP && a->desc <= D_POWER_CRIT && u == 0)
			return; /* no limit */
		put(s, a->desc, str_z(s->inst), u * by, t);
	}
}

/* What comes on top of the value that an upper row took. */
static void take_more(const struct sensor *s, struct str text, i64 t)
{
	u64 v;

	(void)t;
	if (scan_u64(text, &v))
		reg_add(of(s), s->attr->desc, str_z(s->inst), v);
}

static void take_dpm(const struct sensor *s, struct str text, i64 t)
{
	u64 cur, max;

	if (!parse_dpm(text, &cur, &max))
		return;
	put(s, D_FREQ_CUR, str_z(s->inst), cur, t);
	put(s, D_FREQ_MAX, str_z(s->inst), max, t);
}

/* "37@800000000Hz" */
static void take_load(const struct sensor *s, struct str text, i64 t)
{
	u64 percent, hz;
	const char *p = scan_u64(text, &percent);

	if (!p || percent > 100)
		return;
	put(s, D_GPU_BUSY, (struct str){ 0 }, percent * times(s), t);
	if (p < text.e && *p == '@' && scan_u64((struct str){ p + 1, text.e }, &hz))
		put(s, D_FREQ_CUR, str_z(s->inst), hz, t);
}

/* "8.0 GT/s PCIe"; "Unknown" has no digits */
static void take_link(const struct sensor *s, struct str text, i64 t)
{
	u64 v;

	if (scan_dec(text, 1, &v))
		put(s, s->attr->desc, (struct str){ 0 }, v, t);
}

static void take_v3d(const struct sensor *s, struct str text, i64 t)
{
	struct str queue;
	u64 runtime;

	while (parse_v3d(&text, &queue, &runtime))
		put(s, D_BUSY_NS, queue, runtime, t);
}

static void take_trans(const struct sensor *s, struct str text, i64 t)
{
	u64 spent, ms;

	(void)t;
	if (parse_trans(text, &spent, &ms) && ms < INT64_MAX / 1000000)
		put(s, D_FREQ_SPENT, str_z(s->inst), spent, (i64)ms * 1000000);
}

static void take_metrics(const struct sensor *s, struct str text, i64 t)
{
	struct metric m;
	const char *reason;
	bool on;
	size_t row = 0, bit = 0;

	devices[s->device].apu |= metrics_is_apu(text);
	while (metrics_next(text, &row, &m))
		put(s, m.desc, str_z(m.inst), m.v, t);
	while (metrics_throttle(text, &bit, &reason, &on))
		put(s, D_THROTTLE, str_z(reason), on, t);
}

/* "none", or the reasons, separated by blanks. What the file names no longer holds. */
static void take_reasons(const struct sensor *s, struct str text, i64 t)
{
	struct str word;

	put(s, D_THROTTLE, (struct str)STR("none"), 0, t);
	while (str_word(&text, &word)) {
		char reason[INST_BYTES];

		set_inst(reason, word);
		if (strcmp(reason, "none") != 0)
			put(s, D_THROTTLE, str_z(reason), 1, t);
	}
}

static void take_rknpu(const struct sensor *s, struct str text, i64 t)
{
	struct str core;
	u64 load;

	while (parse_rknpu(&text, &core, &load))
		put(s, D_LOAD, core, load, t);
}

/* nouveau: "AC: core 324 MHz memory 648 MHz", the line without a number first is the present state. */
static void take_pstate(const struct sensor *s, struct str text, i64 t)
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
				put(s, D_FREQ_CUR, what, mhz * times(s), t);
	}
}

static void (*const takes[])(const struct sensor *s, struct str text, i64 t) = {
	[T_NUMBER] = take_number, [T_MORE] = take_more, [T_DPM] = take_dpm, [T_LOAD] = take_load, [T_LINK] = take_link,
	[T_V3D] = take_v3d, [T_TRANS] = take_trans, [T_METRICS] = take_metrics, [T_REASONS] = take_reasons,
	[T_RKNPU] = take_rknpu, [T_PSTATE] = take_pstate,
};

/* --- finding sensors -------------------------------------------------------------------------------------- */

/* temp1_input -> the text of temp1_label, or what the ABI says, or temp1. */
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
		device_set(chip, sizeof(chip), line);
	set_inst(out, channel);
	for (size_t i = 0; i < LEN(labels); i++)
		if (strcmp(chip, labels[i].chip) == 0 && str_is(channel, labels[i].channel))
			set_inst(out, str_z(labels[i].label));
}

/* A thermal zone belongs to no device; its type tells GPU from NPU, and the first platform device that
 * is one gets it. */
static bool zone_inst(char *out, const char *dir, u32 device)
{
	struct str type;
	bool npu;
	u32 owner = NONE;

	if (devices[device].pdev[0] || !read_line(dir, "type", &type))
		return false;
	npu = str_find(type, (struct str)STR("npu"));
	if (!npu && !str_find(type, (struct str)STR("gpu")))
		return false;
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;) {
		const struct device *d = &devices[i];
		bool fits = npu ? d->accel >= 0 : d->accel < 0 && (d->render >= 0 || d->card < 0);

		if (!d->pdev[0] && fits && (!owner || device_order(d, &devices[owner]) < 0))
			owner = i;
	}
	set_inst(out, type);
	return owner == device;
}

struct probe {
	const struct attr *first, *end; /* rows with the same folders */
	u32 device;
	bool asleep;
};

/* What nothing but its own column is made of. */
static bool only_shown(u8 desc)
{
	return desc == D_LOAD || desc == D_VRAM_TOTAL || desc == D_VISIBLE_TOTAL || desc == D_VISIBLE_USED ||
	       desc == D_GTT_TOTAL || desc == D_PREEMPT_USED || (desc >= D_FREQ_CUR && desc <= D_FREQ_RPN) ||
	       desc == D_TEMP || desc == D_POWER || (desc >= D_FAN && desc <= D_LINK_WIDTH);
}

static bool wanted(const struct attr *a, bool asleep)
{
	return (!(a->flags & A_LIMIT) || sysfs_listing) && !!(a->flags & A_ASLEEP) == asleep &&
	       (!sysfs_shows || !only_shown(a->desc) || sysfs_shows(a->desc));
}

/* The number in a name, 0 where there is none. */
static u32 number_in(struct str s)
{
	u64 v;

	while (s.p < s.e && (u8)(*s.p - '0') > 9)
		s.p++;
	return scan_u64(s, &v) && v < 1000 ? (u32)v : 0;
}

static void sensor_add(const struct probe *p, const struct attr *a, const char *dir, struct str leaf,
		       struct str dirstar, struct str leafstar)
{
	struct sensor *s;
	char path[PATH_BYTES], name[64];
	bool found = true;
	long fd;

	device_set(name, sizeof(name), leaf);
	if (!join(path, sizeof(path), dir, name))
		return;
	fd = files_tell(open_again(root_sys, path, O_RDONLY | O_NONBLOCK));
	if (fd < 0) {
		places[p->device].denied |= fd == -EACCES || fd == -EPERM;
		return;
	}
	if (!table_has(&sensors_table, nsensors) || fd > files_limit / 2) { /* clients need some too */
		sys_close((int)fd);
		if (fd > files_limit / 2)
			files_tell(-EMFILE); /* probe_device() counts it */
		else
			places[p->device].lost++;
		return;
	}
	s = &sensors[nsensors];
	*s = (struct sensor){ .attr = a, .device = p->device, .fd = (int)fd,
			      .rank = number_in(dirstar) * 1000 + number_in(leaf) };
	switch (a->inst) {
	case FROM_CHAN:
		channel_inst(s->inst, dir, leaf);
		break;
	case FROM_ZONE:
		found = zone_inst(s->inst, dir, p->device);
		break;
	default:
		set_inst(s->inst, a->inst == FROM_DIR ? dirstar : a->inst == FROM_LEAF ? leafstar : str_z(insts[a->inst]));
	}
	/* throttle_reason_status says whether there is any reason; it is none itself. */
	if (found && (a->desc != D_THROTTLE || strcmp(s->inst, "status") != 0))
		nsensors++;
	else
		sys_close((int)fd);
}

/* Whether a name stands for several. */
static bool is_pattern(const char *leaf)
{
	while (*leaf && *leaf != '*' && *leaf != '?')
		leaf++;
	return *leaf;
}

static void probe_dir(void *arg, const char *path, struct str star)
{
	const struct probe *p = arg;
	bool listing = false;
	struct dir d;
	const char *name;

	for (const struct attr *a = p->first; a < p->end; a++) {
		if (is_pattern(a->leaf))
			listing |= wanted(a, p->asleep);
		else if (wanted(a, p->asleep))
			sensor_add(p, a, path, str_z(a->leaf), star, (struct str){ 0 });
	}
	if (!listing || dir_open(&d, root_sys, path) < 0)
		return;
	while ((name = dir_next(&d)))
		for (const struct attr *a = p->first; a < p->end; a++) {
			struct str leafstar;

			if (is_pattern(a->leaf) && wanted(a, p->asleep) &&
			    glob_match(str_z(a->leaf), str_z(name), &leafstar))
				sensor_add(p, a, path, str_z(name), star, leafstar);
		}
	dir_close(&d);
}

static int sensor_cmp(const struct sensor *a, const struct sensor *b)
{
	if (a->attr != b->attr)
		return a->attr < b->attr ? -1 : 1;
	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return strcmp(a->inst, b->inst);
}

/* Folders are listed in no order: the sensors from `from` on in that of the table, then by number. */
static void sensors_sort(u32 from)
{
	for (u32 i = from + 1; i < nsensors; i++) {
		struct sensor s = sensors[i];
		u32 k = i;

		for (; k > from && sensor_cmp(&s, &sensors[k - 1]) < 0; k--)
			sensors[k] = sensors[k - 1];
		sensors[k] = s;
	}
}

static void probe(u32 device, bool asleep)
{
	const struct attr *a, *end = attrs + LEN(attrs);
	struct place *at = &places[device];
	struct str driver = str_z(devices[device].driver);
	u32 from = nsensors;

	for (a = attrs; a < end;) {
		struct probe p = { .first = a, .device = device, .asleep = asleep };
		const struct folder *f = &folders[a->folder];
		const char *base = f->base == B_DEVICE ? at->path : f->base == B_NODE ? at->node : "";
		struct str dir = str_z(f->dir);
		char number[32];
		bool any = false;

		for (; a < end && a->folder == p.first->folder; a++)
			any |= wanted(a, asleep);
		p.end = a;
		if (!any || (f->driver && !glob_match(str_z(f->driver), driver, NULL)) ||
		    (f->base != B_SYS && !base[0]))
			continue;
		if (dir.e > dir.p && dir.e[-1] == '#') { /* debugfs names its folders by card number */
			struct buf b = BUF(number);

			put_str(&b, (struct str){ dir.p, dir.e - 1 });
			put_u64(&b, (u64)devices[device].card);
			dir = (struct str){ number, number + b.n };
		}
		walk(base, dir, (struct str){ 0 }, probe_dir, &p);
	}
	sensors_sort(from);
}

/* i915's engines: how many of a class there are is its capacity. Names as its fdinfo has them. */
static void probe_engines(u32 device)
{
	static const char classes[][14] = { "render", "copy", "video", "video-enhance", "compute" };
	u64 count[LEN(classes)] = { 0 }, class;
	char path[PATH_BYTES], at[PATH_BYTES];
	struct dir d;
	const char *name;

	if (strcmp(devices[device].driver, "i915") != 0 ||
	    !join(path, sizeof(path), places[device].node, "engine") || dir_open(&d, root_sys, path) < 0)
		return;
	while ((name = dir_next(&d))) {
		struct str line;

		if (join(at, sizeof(at), path, name) && read_line(at, "class", &line) &&
		    scan_u64(line, &class) && class < LEN(classes))
			count[class]++;
	}
	dir_close(&d);
	for (size_t i = 0; i < LEN(classes); i++)
		if (count[i])
			reg_put(&devices[device].e, D_CAPACITY, str_z(classes[i]), count[i], 0);
}

/* --- devices ------------------------------------------------------------------------------------------------- */

static u32 device_by_ino(const struct stat *st)
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

/* Its driver, which may be bound in the place of another one, and its bus address. */
static void device_tell(u32 n)
{
	char buf[PATH_BYTES];
	struct device *d = &devices[n];
	const char *path = places[n].path;
	long len = join(buf, sizeof(buf), path, "uevent") ? slurp(root_sys, buf, file, sizeof(file)) : 0;
	struct str v, text = str_got(file, len);

	if (parse_uevent(text, (struct str)STR("DRIVER"), &v)) {
		if (!str_is(v, d->driver))
			reg_clear(&d->e); /* what the other one told */
		device_set(d->driver, sizeof(d->driver), v);
	}
	if (parse_uevent(text, (struct str)STR("PCI_SLOT_NAME"), &v))
		device_set(d->pdev, sizeof(d->pdev), v);
	if (!d->driver[0] && join(buf, sizeof(buf), path, "driver") &&
	    (len = sys_readlinkat(root_sys, buf, file, sizeof(file))) > 0)
		device_set(d->driver, sizeof(d->driver), str_base((struct str){ file, file + len }));
	if (!d->pdev[0] && (len = sys_readlinkat(root_sys, path, file, sizeof(file))) > 0 &&
	    is_pci_slot(v = str_base((struct str){ file, file + len })))
		device_set(d->pdev, sizeof(d->pdev), v);
	if (read_line(path, "product_name", &v))
		device_set(d->name, sizeof(d->name), v);
}

static long folder_error; /* of device_at(): why the folder cannot be told; 0: no room for one more device */

/* The device whose sysfs folder path names. */
static u32 device_at(const char *path)
{
	struct stat st;
	u32 n;

	folder_error = files_tell(sys_fstatat(root_sys, path, &st));
	if (folder_error == 0 && !S_ISDIR(st.st_mode))
		folder_error = -ENOTDIR;
	if (folder_error)
		return NONE;
	n = device_by_ino(&st);
	if (n != NONE)
		return n;
	n = device_add();
	if (n == NONE)
		return NONE;
	places[n] = (struct place){ .status = -1 };
	devices[n].ino = st.st_ino;
	devices[n].ino_dev = st.st_dev;
	device_set(places[n].path, sizeof(places[0].path), str_z(path));
	return n;
}

/* "renderD128" is N_RENDER, 128. */
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
	if (nnodes < MAX_NODES)
		return &nodes[nnodes++];
	reg_dropped++;
	return NULL;
}

/* The numbers of a new node: those of its `dev`, else those that its name stands for. */
static void node_fill(struct node *n, u32 device, u8 kind, i32 number, const char *dir)
{
	unsigned maj = kind == N_ACCEL ? MAJOR_ACCEL : kind == N_NVIDIA ? MAJOR_NVIDIA : MAJOR_DRM;
	unsigned min = (unsigned)number;
	struct str line;

	if (dir && read_line(dir, "dev", &line))
		parse_devno(line, &maj, &min);
	*n = (struct node){ .maj = maj, .min = min, .device = device, .number = number, .kind = kind };
}

/* A device that device_at() did not find is left out. */
static void device_lack(const char *path)
{
	if (is_untold(folder_error)) /* counted already */
		return;
	reg_dropped++;
	if (folder_error)
		files_lack(path, folder_error);
}

/* An entry of class/drm or class/accel, which may be a connector, or class/drm/version. */
static void node_seen(const char *name)
{
	char path[PATH_BYTES], dir[64];
	struct stat st;
	struct node *n = nodes;
	u32 device;
	u8 kind;
	i32 number;

	if (!parse_node(str_z(name), &kind, &number) || kind == N_NVIDIA)
		return;
	node_path(dir, sizeof(dir), kind, number);
	/* A virtual driver's node has no device below it. */
	device = join(path, sizeof(path), dir, "device") ? device_at(path) : NONE;
	if (device == NONE && sys_fstatat(root_sys, path, &st) == -ENOENT)
		device = device_at(dir);
	if (device == NONE) {
		if (kind != N_RENDER) /* the device once, not each of its nodes */
			device_lack(path);
		return;
	}
	while (n < nodes + nnodes && (n->device != device || n->kind != kind || n->number != number))
		n++;
	if (n == nodes + nnodes) {
		if (!(n = node_new()))
			return;
		node_fill(n, device, kind, number, dir);
	}
	places[device].changed |= !n->there;
	n->there = n->seen = true;
}

static void forget_sensors(u32 device)
{
	struct place *at = &places[device];
	u32 n = 0;

	for (u32 i = 0; i < nsensors; i++) {
		if (sensors[i].device == device)
			sys_close(sensors[i].fd);
		else
			sensors[n++] = sensors[i];
	}
	nsensors = n;
	if (at->status >= 0)
		sys_close(at->status);
	at->status = -1;
	at->probed = at->probed_asleep = at->denied = false;
	at->lost = 0;
}

/* dev: the primary node, else the render node, else the accel node. A DRM device that lost all is gone. */
static void device_settle(u32 device)
{
	struct device *d = &devices[device];
	i32 *const numbers[] = { &d->card, &d->render, &d->accel };
	struct stat st;

	d->card = d->render = d->accel = -1;
	for (u32 i = 0; i < nnodes; i++) {
		if (nodes[i].device != device || nodes[i].kind > N_ACCEL)
			continue;
		d->gone = true;
		if (nodes[i].there)
			*numbers[nodes[i].kind] = nodes[i].number;
	}
	forget_sensors(device);
	places[device].changed = false;
	for (u8 kind = N_CARD; kind <= N_ACCEL && d->gone; kind++) {
		char *path = places[device].node;

		if (*numbers[kind] < 0)
			continue;
		d->gone = false;
		node_path(path, sizeof(places[0].node), kind, *numbers[kind]);
		device_set(d->dev, sizeof(d->dev), str_base(str_z(path)));
		/* The way to its folder leads by a node, which may be another device's by now. */
		if (!join(places[device].path, sizeof(places[0].path), path, "device") ||
		    sys_fstatat(root_sys, places[device].path, &st) == -ENOENT)
			device_set(places[device].path, sizeof(places[0].path), str_z(path));
		device_tell(device);
	}
}

static bool has_clients(u32 device)
{
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used && clients[i].device == device)
			return true;
	return false;
}

/* A device that was unplugged, or that only a descriptor told of, stays as long as a process holds it. */
static void forget_unheld(u32 device)
{
	struct device *d = &devices[device];
	bool loose = !d->ino && !d->pdev[0];
	u32 n = 0;

	if (!(d->gone || loose) || has_clients(device) || d->anonymous)
		return;
	for (u32 i = 0; i < nnodes; i++)
		if (nodes[i].device != device)
			nodes[n++] = nodes[i];
	nnodes = n;
	reg_clear(&d->e);
	text_free(d->facts);
	d->e.used = false;
}

static bool lists = true;

bool sysfs_lists(void)
{
	return lists;
}

void untold_drop(void)
{
	static u32 was;

	reg_dropped += files_untold - was;
	reg_untold += files_untold - was;
	was = files_untold;
}

/* The nodes of a class. False: some may be there that were not seen. */
static bool scan_class(const char *path)
{
	struct dir d;
	const char *name;
	long r = dir_open(&d, root_sys, path);

	if (r == -ENOENT || r == -ENOTDIR || root_sys < 0)
		return true;
	lists &= r >= 0;
	while (r >= 0 && (name = dir_next(&d)))
		node_seen(name);
	dir_close(&d);
	r = r < 0 ? r : d.n;
	if (r < 0 && !is_untold(r)) {
		reg_dropped++;
		files_lack(path, r);
	}
	return r >= 0;
}

static void scan_nodes(void)
{
	static const char *const classes[] = { "class/drm", "class/accel" };
	bool whole = true;

	for (size_t i = 0; i < LEN(classes); i++)
		whole &= scan_class(classes[i]);
	for (u32 i = 0; i < nnodes; i++) {
		struct node *n = &nodes[i];

		if (whole && n->there && !n->seen && n->kind != N_NVIDIA) {
			n->there = false;
			places[n->device].changed = true;
		}
		n->seen = false;
	}
	for (u32 i = 1; i <= ndevices; i++)
		if (places[i].changed)
			device_settle(i);
}

/* --- GPUs that have no DRM node ---------------------------------------------------------------------------- */

static void extra_device(const char *path, struct str dev, const char *driver)
{
	u32 n = device_at(path);

	if (n == NONE)
		device_lack(path);
	if (n == NONE || devices[n].dev[0])
		return; /* known by its DRM node */
	device_tell(n);
	device_set(devices[n].dev, sizeof(devices[n].dev), dev);
	if (driver)
		device_set(devices[n].driver, sizeof(devices[n].driver), str_z(driver));
}

/* That it is there is enough: reading it could wake the device. */
static bool has_load(const char *path)
{
	char load[PATH_BYTES];
	struct stat st;

	return join(load, sizeof(load), path, "load") && sys_fstatat(root_sys, load, &st) == 0;
}

/* Jetson's own driver: a platform device with a file `load`. */
static void found_jetson(void *arg, const char *path, struct str star)
{
	(void)arg;
	(void)star;
	if (has_load(path))
		extra_device(path, str_base(str_z(path)), "nvgpu");
}

/* Rockchip's kernels: Mali's own driver and the NPU's give their load with devfreq. */
static void found_devfreq(void *arg, const char *path, struct str star)
{
	char device[PATH_BYTES];

	(void)arg;
	if (has_load(path) && join(device, sizeof(device), path, "device"))
		extra_device(device, star, NULL);
}

static const struct {
	const char *pattern;
	walk_fn *found;
} extras[] = {
	{ "devices/gpu.0", found_jetson },
	{ "devices/platform/gpu.0", found_jetson },
	{ "devices/platform/*.gpu", found_jetson },
	{ "devices/platform/bus@0/*.gpu", found_jetson },
	{ "class/devfreq/*gpu*", found_devfreq },
	{ "class/devfreq/*npu*", found_devfreq },
};

static struct str nvidia_file(const char *slot, const char *leaf)
{
	char path[PATH_BYTES], folder[64];
	long n = -1;

	if (join(folder, sizeof(folder), "driver/nvidia/gpus", slot) && join(path, sizeof(path), folder, leaf))
		n = slurp(root_proc, path, file, sizeof(file));
	return str_got(file, n);
}

/* "Model: NVIDIA ..." and "Device Minor: 0" of NVIDIA's own driver; its node is /dev/nvidiaMINOR. */
static void nvidia_information(struct device *g, u32 n, const char *slot)
{
	struct node *node;
	struct str line, key, text = nvidia_file(slot, "information");
	u64 min = 255; /* 255 is nvidiactl */

	while (line_next(&text, &line)) {
		if (!str_cut(&line, ':', &key))
			continue;
		line = str_trim(line);
		if (str_is(str_trim(key), "Model"))
			device_set(g->name, sizeof(g->name), line);
		else if (str_is(str_trim(key), "Device Minor"))
			scan_u64(line, &min);
	}
	if (min < 255 && (node = node_new())) {
		struct buf b = buf_on(g->dev, sizeof(g->dev) - 1);

		node_fill(node, n, N_NVIDIA, (i32)min, NULL);
		node->there = true;
		if (!g->dev[0]) {
			put_z(&b, node_names[N_NVIDIA]);
			put_u64(&b, min);
			g->dev[b.n] = '\0';
		}
	}
	if (!g->dev[0])
		device_set(g->dev, sizeof(g->dev), str_z(slot));
}

/* /proc/driver/nvidia/gpus/SLOT: presence and name; the rest is what PCI tells. */
static void scan_nvidia(void)
{
	char path[PATH_BYTES], slot[24];
	struct dir d;
	const char *name;

	if (dir_open(&d, root_proc, "driver/nvidia/gpus") < 0)
		return;
	while ((name = dir_next(&d))) {
		u32 n = NONE;

		device_set(slot, sizeof(slot), str_z(name));
		if (join(path, sizeof(path), "bus/pci/devices", slot))
			n = device_at(path);
		if (n == NONE && (n = device_add()) != NONE)
			places[n] = (struct place){ .status = -1 };
		if (n == NONE) {
			reg_dropped++;
			continue;
		}
		device_set(devices[n].pdev, sizeof(devices[n].pdev), str_z(slot));
		device_set(devices[n].driver, sizeof(devices[n].driver), (struct str)STR("nvidia"));
		nvidia_information(&devices[n], n, slot);
	}
	dir_close(&d);
}

/* --- readings --------------------------------------------------------------------------------------------- */

/* runtime_status: "active", "suspended", "suspending", "resuming", "error", "unsupported". */
static void read_state(struct device *d, struct place *at)
{
	char path[PATH_BYTES], b[sizeof(d->state)];
	long n = at->status;
	bool untold; /* it may sleep */

	if (n == -1 && at->path[0]) {
		n = join(path, sizeof(path), at->path, "power/runtime_status") ?
			files_tell(open_again(root_sys, path, O_RDONLY | O_NONBLOCK)) : -ENOENT;
		at->status = n >= 0 ? (int)n : is_untold(n) ? -1 : -2; /* not asked again */
	}
	n = n < 0 ? n : files_tell(slurp_fd(at->status, b, sizeof(b)));
	untold = is_untold(n);
	if (n < 0)
		n = 0;
	device_set(d->state, sizeof(d->state), str_trim((struct str){ b, n > 0 && b[n - 1] == '\n' ? b + n - 1 : b + n }));
	d->awake = !untold && (!d->state[0] || strcmp(d->state, "active") == 0 ||
			       strcmp(d->state, "unsupported") == 0 || strcmp(d->state, "error") == 0);
}

static void probe_device(u32 n)
{
	struct place *at = &places[n];
	u32 before = files_untold;

	if (!at->probed_asleep) {
		at->probed_asleep = true;
		probe_engines(n);
		probe(n, true);
	}
	if (devices[n].awake && !at->probed) {
		at->probed = true;
		probe(n, false);
	}
	at->unread += files_untold - before;
	files_unread -= files_untold - before;
	files_untold = before;
}

/* Words about a device that do not change, for `list`. None of these reads touches the hardware. */
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

	if (slurp_line(root_proc, "driver/nvidia/version", file, sizeof(file), &line))
		put_fact(b, "version", line);
	text = nvidia_file(slot, "power");
	while (line_next(&text, &line))
		if (str_cut(&line, ':', &key) && (str_is(key, "Runtime D3 status") ||
						  str_is(key, "Video Memory")))
			put_fact(b, key.p[0] == 'R' ? "runtime_d3" : "video_memory", str_trim(line));
}

static void gather_facts(struct device *d, const struct place *at)
{
	char text[1024];
	struct buf b = BUF(text);
	struct str line;

	for (size_t i = 0; i < LEN(facts) && at->path[0]; i++)
		if (read_line(at->path, facts[i], &line))
			put_fact(&b, facts[i], line);
	if (strcmp(d->driver, "nvidia") == 0)
		nvidia_facts(&b, d->pdev);
	d->facts = text_put(d->facts, (struct str){ text, text + b.n });
}

/* What a device cannot tell, and why. */
static void explain(u32 n)
{
	struct device *d = &devices[n];
	const struct place *at = &places[n];
	struct str line;

	driver_notes(str_z(d->driver), &d->no_engines, &d->no_memory);
	/* panfrost: 1; panthor: 1 cycles, 2 time. Both start with 0. */
	if (!d->no_engines && at->path[0] && read_line(at->path, "profiling", &line) &&
	    str_is(line, "0"))
		d->no_engines = "profiling is off; as root: echo 3 > /sys/class/drm/CARD/device/profiling "
				"(panfrost: 1)";
	gather_facts(d, at);
	d->no_sensors = !d->awake ? "asleep; reading could wake it" :
			at->denied ? "permission denied" : "the driver has no file for it";
}

/* One call: sysfs gives a file whole, no page is longer, and those of debugfs are one record each. Where a text ends
 * without its newline there is more of it; the metrics are no text, and asking twice makes the firmware tell them twice. */
static long sensor_read(const struct sensor *s)
{
	long n;

	if (s->attr->take != T_METRICS)
		return slurp_fd(s->fd, file, sizeof(file));
	while ((n = sys_pread(s->fd, file, sizeof(file), 0)) == -EINTR)
		;
	files_calls++;
	return n;
}

static void sensor_sample(struct sensor *s)
{
	const struct attr *a = s->attr;
	i64 t = sys_now(CLOCK_MONOTONIC);
	struct str text;
	long n;

	if (a->flags & A_FIXED && s->reads) {
		put(s, a->desc, str_z(s->inst), s->value, t);
		return;
	}
	/* The two reads that make one figure are done in any case. */
	if (a->flags & A_SLOW && s->reads++ > 1 && t - s->last < 1000000000)
		return;
	s->last = t;
	n = sensor_read(s);
	/* The driver was bound anew: its files are others now. */
	places[s->device].changed |= n == -ENODEV;
	if (n <= 0)
		return;
	text = str_got(file, n);
	takes[a->take](s, text, sys_now(CLOCK_MONOTONIC));
	if (a->flags & A_FIXED)
		s->reads = scan_u64(str_trim(text), &s->value) != NULL;
}

static void sysfs_sample(void)
{
	for (u32 i = NONE; (i = device_next(i, false)) != NONE;) {
		struct device *d = &devices[i];

		read_state(d, &places[i]);
		reg_begin(&d->e, sys_now(CLOCK_MONOTONIC));
		probe_device(i);
		reg_dropped += places[i].lost + places[i].unread;
		files_unread += places[i].unread;
		if (sysfs_listing)
			explain(i);
	}
	for (u32 i = 0; i < nsensors; i++)
		if (devices[sensors[i].device].awake || sensors[i].attr->flags & A_ASLEEP)
			sensor_sample(&sensors[i]);
}

static void sysfs_start(void)
{
	scan_nodes();
	for (size_t i = 0; i < LEN(extras); i++)
		walk("", str_z(extras[i].pattern), (struct str){ 0 }, extras[i].found, NULL);
	scan_nvidia();
	sysfs_sample();
	untold_drop();
}

/* Of devices for which there is no room each look tells. */
static void sysfs_scan(void)
{
	static u32 lost;
	u32 dropped = reg_dropped;

	if (watch_nodes()) {
		scan_nodes();
		untold_drop();
		lost = reg_dropped - dropped;
	} else {
		reg_dropped += lost;
	}
	for (u32 i = 1; i <= ndevices; i++)
		if (devices[i].e.used)
			forget_unheld(i);
}

static void sysfs_rest(void)
{
	for (u32 i = 1; i <= ndevices; i++)
		forget_sensors(i);
}

const struct source src_sysfs = {
	.name = "sysfs",
	.start = sysfs_start,
	.scan = sysfs_scan,
	.rest = sysfs_rest,
	.sample = sysfs_sample,
};

/* --- profiling -------------------------------------------------------------------------------------------------- */

/* Their fdinfo has times and cycles only while the knob is set. panfrost: 1; panthor: 1 cycles, 2 time. */
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
	char was[8]; /* as it was read */
} knobs[MAX_DEVICES];
static volatile u32 nknobs;

static long knob_turn(const char *path, const char *to)
{
	struct knob *k = &knobs[nknobs];
	struct str text, was;
	long n, r;

	k->fd = (int)sys_openat(root_sys, path, O_RDWR);
	if (k->fd < 0)
		return k->fd;
	n = slurp_fd(k->fd, k->was, sizeof(k->was));
	text = str_got(k->was, n);
	if (n > 0 && (size_t)n < sizeof(k->was) && str_cut(&text, '\n', &was) && str_is(was, "0")) {
		k->n = (u8)n;
		nknobs++; /* before it is turned: a signal may come in between */
		r = sys_pwrite(k->fd, to, 1, 0);
		if (r > 0)
			return 0;
		nknobs--;
		n = r < 0 ? r : -EIO;
	}
	sys_close(k->fd);
	return n < 0 ? n : 0; /* another value is somebody else's wish */
}

void profiling_start(void (*denied)(const char *dev, long err))
{
	char path[PATH_BYTES];

	for (u32 i = NONE; (i = device_next(i, true)) != NONE;) {
		const char *value = profiling_value(&devices[i]);
		long r;

		if (!value || places[i].profiled || !places[i].path[0] ||
		    !join(path, sizeof(path), places[i].path, "profiling"))
			continue;
		places[i].profiled = true;
		r = nknobs < LEN(knobs) ? knob_turn(path, value) : -EMFILE;
		if (r < 0)
			denied(devices[i].dev, r);
	}
}

void profiling_restore(void)
{
	for (; nknobs; nknobs--)
		sys_pwrite(knobs[nknobs - 1].fd, knobs[nknobs - 1].was, knobs[nknobs - 1].n, 0);
}

/* --- what other sources ask ---------------------------------------------------------------------------------- */

/* A node that is there comes before one of the same number that went. */
static u32 node_device(unsigned maj, unsigned min)
{
	u32 gone = NONE;

	for (u32 i = 0; i < nnodes; i++) {
		if (nodes[i].maj != maj || nodes[i].min != min)
			continue;
		if (nodes[i].there)
			return nodes[i].device;
		gone = nodes[i].device;
	}
	return gone;
}

/* A device that /sys does not have, known by a descriptor of it. */
static u32 device_loose(struct str name)
{
	u32 n = NONE;

	while ((n = device_next(n, true)) != NONE)
		if (!devices[n].ino && str_is(name, devices[n].dev))
			return n;
	n = device_add();
	if (n == NONE)
		return NONE;
	device_set(devices[n].dev, sizeof(devices[n].dev), name);
	places[n] = (struct place){ .status = -1 };
	return n;
}

/* The device behind a node's number; where /sys does not know it, one named after the number. */
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
	if (sys_fstatat(root_sys, path, &st) == 0 && (n = device_by_ino(&st)) != NONE)
		return n;
	return device_loose(number);
}

u32 sysfs_device_at_slot(struct str pdev)
{
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		if (devices[i].pdev[0] && str_is(pdev, devices[i].pdev))
			return i;
	return NONE;
}

/* Whether two names of a driver are one: sysfs has msm_dpu and amdxdna, DRM msm and amdxdna_accel_driver. */
static bool same_driver(struct str a, struct str b)
{
	return str_len(a) && str_len(b) && (str_len(a) < str_len(b) ? str_skip(&b, a) : str_skip(&a, b));
}

/* For a descriptor that may not be stat-ed: the device at its PCI slot, else the only one of its driver,
 * else one that is named after the driver. */
u32 sysfs_device_by(struct str pdev, struct str driver)
{
	u32 found = pdev.p ? sysfs_device_at_slot(pdev) : NONE, n = 0;

	for (u32 i = NONE; !pdev.p && (i = device_next(i, true)) != NONE;)
		if (same_driver(driver, str_z(devices[i].driver))) {
			found = i;
			n++;
		}
	return found != NONE && n <= 1 ? found : device_loose(driver);
}

/* The number of a node by its name, where only a link's text tells of it. */
bool sysfs_node(struct str name, unsigned *maj, unsigned *min)
{
	struct node n;
	u8 kind;
	i32 number;

	if (!parse_node(name, &kind, &number) || (kind == N_NVIDIA && number >= 255))
		return false;
	for (u32 i = 0; i < nnodes; i++)
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
