/* t_sysfs.c - unit test of sources/device/sysfs.c: values in sysfs files, each format with
 * hostile contents; labels; which files are read and when; denied files; limits of tables.
 * SPDX-License-Identifier: MIT */
#include "folder.h"
#include "sys.h"

static int64_t fake_now(clockid_t clock);
#define sys_now fake_now
static long fake_slurp_fd(int fd, char *b, size_t cap);
#define slurp_fd fake_slurp_fd
#include "../../sources/device/sysfs.c"

#define PCI "devices/pci0000:00/0000:03:00.0"

static const u64 none = 0xdeadbeefdeadbeef; /* the counter has no value */

static i64 stopped_at; /* ns; 0: the clock is not stopped */

static int64_t fake_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return stopped_at ? stopped_at : (i64)t.tv_sec * 1000000000 + t.tv_nsec;
}

static bool no_device; /* reads of temp1_input fail with ENODEV */
static u32 no_device_reads;

#undef slurp_fd
static long fake_slurp_fd(int fd, char *b, size_t cap)
{
	char link[64], path[512] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (!no_device || readlink(link, path, sizeof(path) - 1) < 0 || !strstr(path, "temp1_input"))
		return slurp_fd(fd, b, cap);
	no_device_reads++;
	return -ENODEV;
}

/* --- machines --------------------------------------------------------------------------------- */

static const char *in_sys(const char *dir, const char *leaf)
{
	return in_folder("sys/%s/%s", dir, leaf);
}

static void forget_devices(void)
{
	src_sysfs.rest();
	for (u32 i = 1; i <= nrows.devices; i++) {
		reg_clear(&devices[i].e);
		devices[i].e.used = false;
		sysdirs[i] = (struct sysdir){ .status = -1 };
	}
	nrows.devices = sysfs.nnodes = 0;
}

/* Forgets all devices, and makes an empty /sys. */
static void reset(void)
{
	forget_devices();
	sensing.listing = false;
	shell("rm -rf $D/sys");
	root_set(&roots.sys, in_folder("sys"));
}

/* Adds the device of card0, with the power state `state`. */
static void machine(const char *driver, const char *state)
{
	char text[128];

	reset();
	snprintf(text, sizeof(text), "DRIVER=%s\nPCI_SLOT_NAME=0000:03:00.0\n", driver);
	put(in_sys(PCI, "uevent"), text);
	put(in_sys(PCI, "power/runtime_status"), state);
	put(in_sys("class/drm/card0", "dev"), "226:0\n");
	put_link(in_sys("class/drm/card0", "device"), "../../../" PCI);
}

static void file_put(const char *leaf, const char *text)
{
	put(in_sys(PCI, leaf), text);
}

/* Returns the value of the last reading, or none. */
static u64 get(u8 desc, const char *inst)
{
	u64 v;

	for (struct counter *c = reg_first(&devices[1].e); c; c = reg_next(c))
		if (c->desc == desc && str_is(inst_name(c->inst), inst))
			return reg_get(&devices[1].e, desc, c->inst, &v) ? v : none;
	return none;
}

/* --- formats ---------------------------------------------------------------------------------- */

static const struct attr *attr_of(const char *leaf)
{
	for (size_t i = 0; i < LEN(attrs); i++)
		if (strcmp(attrs[i].leaf, leaf) == 0)
			return &attrs[i];
	check(false, "the file %s is read", leaf);
	return &attrs[0];
}

#define TRANS_HEAD "     From  :   To\n           : 200000000 400000000   time(ms)\n"
#define DPM "0: 300Mhz\n1: 2100Mhz *\n2: 2500Mhz\n"
#define THIRTY "000000000000000000000000000000"

static const struct text {
	const char *leaf, *text;
	u8 desc;
	const char *inst;
	u64 want;
} texts[] = {
	{ "mem_info_vram_used", "123\n", D_VRAM_USED, "x", 123 },
	{ "mem_info_vram_used", "0\n", D_VRAM_USED, "x", 0 },
	{ "mem_info_vram_used", " 12 \r\n", D_VRAM_USED, "x", 12 },
	{ "mem_info_vram_used", THIRTY THIRTY "7\n", D_VRAM_USED, "x", 7 },
	{ "mem_info_vram_used", "4503599627370496\n", D_VRAM_USED, "x", 1ull << 52 },
	{ "mem_info_vram_used", "4503599627370497\n", D_VRAM_USED, "x", none },
	{ "mem_info_vram_used", "9223372036854775807\n", D_VRAM_USED, "x", none },
	{ "mem_info_vram_used", "18446744073709551615\n", D_VRAM_USED, "x", none },
	{ "mem_info_vram_used", "18446744073709551616\n", D_VRAM_USED, "x", none },
	{ "mem_info_vram_used", "-1\n", D_VRAM_USED, "x", none },
	{ "mem_info_vram_used", "\n", D_VRAM_USED, "x", none },
	{ "mem_info_vram_used", "", D_VRAM_USED, "x", none },
	{ "mem_info_vram_used", "N/A\n", D_VRAM_USED, "x", none },
	{ "mem_info_vram_used", "0x10\n", D_VRAM_USED, "x", none },
	{ "gpu_busy_percent", "37\n", D_GPU_BUSY, "x", 37000 },
	{ "gpu_busy_percent", "1000\n", D_GPU_BUSY, "x", 100000 },
	{ "gpu_busy_percent", "65535\n", D_GPU_BUSY, "x", none },
	{ "gpu_busy_percent", "18446744073709551\n", D_GPU_BUSY, "x", none },
	{ "gpu_busy_percent", "18446744073709552\n", D_GPU_BUSY, "x", none },
	{ "temp*_input", "-5000\n", D_TEMP, "x", (u64)-5000 },
	{ "temp*_input", "45000\n", D_TEMP, "x", 45000 },
	{ "temp*_input", "45000", D_TEMP, "x", none },
	{ "temp*_input", "45000\r\n", D_TEMP, "x", none },
	{ "temp*_input", "0x2d\n", D_TEMP, "x", none },
	{ "temp*_input", "9223372036854775808\n", D_TEMP, "x", none },
	{ "power*_cap", "15000000\n", D_POWER_CAP, "x", 15000000 },
	{ "power*_cap", "0\n", D_POWER_CAP, "x", none },
	{ "current_link_width", "16\n", D_LINK_WIDTH, "", 16 },
	{ "current_link_width", "32\n", D_LINK_WIDTH, "", 32 },
	{ "current_link_width", "0\n", D_LINK_WIDTH, "", none },
	{ "current_link_width", "33\n", D_LINK_WIDTH, "", none },
	{ "max_link_width", "255\n", D_LINK_MAX_WIDTH, "x", none },
	{ "current_link_speed", "8.0 GT/s PCIe\n", D_LINK_SPEED, "", 80 },
	{ "current_link_speed", "2.5 GT/s\n", D_LINK_SPEED, "", 25 },
	{ "current_link_speed", "Unknown\n", D_LINK_SPEED, "", none },
	{ "current_link_speed", "99999999999999999999.0\n", D_LINK_SPEED, "", none },
	{ "pp_dpm_sclk", DPM, D_FREQ_CUR, "x", 2100000000 },
	{ "pp_dpm_sclk", DPM, D_FREQ_MAX, "x", UINT64_C(2500000000) },
	{ "pp_dpm_sclk", "0: 300Mhz\n1: 200Mhz\n", D_FREQ_MAX, "x", 300000000 },
	{ "pp_dpm_sclk", "0: 300Mhz\n1: 200Mhz\n", D_FREQ_CUR, "x", none },
	{ "pp_dpm_sclk", "0: 0Mhz *\n", D_FREQ_MAX, "x", 0 },
	{ "pp_dpm_sclk", "", D_FREQ_MAX, "x", none },
	{ "pp_dpm_sclk", "0: 300Mhz *", D_FREQ_CUR, "x", none },
	{ "pp_dpm_sclk", "0: -300Mhz *\n", D_FREQ_CUR, "x", none },
	{ "pp_dpm_sclk", "0: 18446744073710Mhz *\n", D_FREQ_CUR, "x", none },
	{ "pp_dpm_sclk", "0: 300Mhz *\r\n", D_FREQ_CUR, "x", 300000000 },
	{ "rc6p_residency_ms", "70\n", D_IDLE_MS, "x", 100 }, /* 30 are there, see below */
	{ "rc6p_residency_ms", "-70\n", D_IDLE_MS, "x", 30 },
	{ "rc6p_residency_ms", "", D_IDLE_MS, "x", 30 },
	{ "gpu_stats", "queue timestamp jobs runtime\nbin 5 2 900\nx 5 2 800\n", D_BUSY_NS,
	  "bin", 900 },
	{ "gpu_stats", "bin 5 2 900\nrender 5 2 800\n", D_BUSY_NS, "render", 800 },
	{ "gpu_stats", "bin 5 2\nbin x 2 900\nbin 5 2 -9\n", D_BUSY_NS, "bin", none },
	{ "trans_stat", TRANS_HEAD "*  200000000: 0 5 1000\n 400000000: 5 0 3000\nTotal : 10\n",
	  D_FREQ_SPENT, "x", 1400000000 },
	{ "trans_stat", TRANS_HEAD "*  200000000: 0 5 0\n", D_FREQ_SPENT, "x", none },
	{ "trans_stat", "200000000: 9223372036853\n", D_FREQ_SPENT,
	  "x", UINT64_C(1844674407370600000) },
	{ "trans_stat", "200000000: 9223372036854\n", D_FREQ_SPENT, "x", none },
	{ "trans_stat", "200000: 9223372036855\n", D_FREQ_SPENT, "x", none },
	{ "trans_stat", "200000000: -5\n", D_FREQ_SPENT, "x", none },
	{ "reasons", "none\n", D_THROTTLE, "none", 0 },
	{ "reasons", "pl1 thermal,hot\n", D_THROTTLE, "none", 0 },
	{ "reasons", "pl1 thermal,hot\n", D_THROTTLE, "pl1", 1 },
	{ "reasons", "pl1 thermal,hot\n", D_THROTTLE, "thermal_hot", 1 },
	{ "reasons", "", D_THROTTLE, "none", 0 },
	{ "pstate", "07: core 900 MHz\nAC: core 324 MHz memory 648 MHz\n", D_FREQ_CUR,
	  "core", 324000000 },
	{ "pstate", "AC: core 324 MHz memory 648 MHz\n", D_FREQ_CUR, "memory", 648000000 },
	{ "pstate", "07: core 900 MHz\n", D_FREQ_CUR, "core", none },
	{ "pstate", "DC: core -3 MHz core 1048576 MHz\n", D_FREQ_CUR, "core", none },
	{ "pstate", "AC: core 5 MHz", D_FREQ_CUR, "core", none },
	{ "pstate", "AC: core 5\n", D_FREQ_CUR, "core", none },
	{ "gpu_metrics", "", D_TEMP, "edge", none },
	{ "gpu_metrics", "\x50\0\1\0", D_TEMP, "edge", none },
};

static void store(const struct attr *a, struct str text)
{
	struct sensor s = { .attr = a, .device = 1, .inst = "x" };

	reg_clear(&devices[1].e);
	reg_begin(&devices[1].e, 1000);
	if (a->format == T_ADD)
		sensor_put(&s, a->desc, str_z(s.inst), 30, 1000);
	stores[a->format](&s, text, 1000);
}

static const struct attr *replayed;

static bool store_any(struct str text)
{
	store(replayed, text);
	return true;
}

static void t_formats(void)
{
	reset();
	device_new();
	for (size_t i = 0; i < LEN(texts); i++) {
		const struct text *t = &texts[i];
		const struct attr *a = attr_of(t->leaf);

		store(a, edge_str(t->text, strlen(t->text)));
		if (!check(get(t->desc, t->inst) == t->want, "%s: value of text %zu", t->leaf, i))
			note("%s: %" PRId64 ", want %" PRId64, show(str_z(t->text)),
			     (i64)get(t->desc, t->inst), (i64)t->want);
		replayed = a;
		if (!replay(str_z(t->text), store_any))
			check(false, "%s: text %zu truncated and changed", t->leaf, i);
	}
}

/* The file counts 1 s at 200 MHz and 3 s at 400 MHz: all of the 4 s. */
static void t_mean_clock(void)
{
	const struct attr *a = attr_of("trans_stat");
	struct sensor s = { .attr = a, .device = 1, .inst = "x" };
	struct entity *e = &devices[1].e;
	u64 d = 0, dt = 0;

	store(a, str_z("200000000: 0 0 5000\n400000000: 0 0 7000\n"));
	reg_begin(e, 2000);
	stores[T_TRANS](&s, str_z("200000000: 0 0 6000\n400000000: 0 0 10000\n"), 2000);
	check(reg_rate(e, D_FREQ_SPENT, reg_first(e)->inst, &d, &dt),
	      "trans_stat: there is a mean clock");
	check_u64(dt, UINT64_C(4000000000), "trans_stat: the time is that of the file, in ns");
	check_u64(muldiv(d, 1000000000, dt), 350000000, "trans_stat: the mean clock, in Hz");
}

/* --- names ------------------------------------------------------------------------------------ */

static void t_labels(void)
{
	static const struct {
		const char *leaf, *text;
		u8 desc;
		const char *inst;
	} rows[] = {
		{ "temp1_label", "edge\n", D_TEMP, "edge" },
		{ "temp2_label", " a,b c\x7f\xc3\n", D_TEMP, "a_b_c__" },
		{ "temp3_label", "\n", D_TEMP, "vram" },   /* the label of the ABI page */
		{ "temp4_label", "", D_TEMP, "temp4" },
		{ "temp10_label", THIRTY THIRTY THIRTY "\n", D_TEMP,
		  THIRTY THIRTY "0000000000000000000" },
		{ "energy1_input", "5\n", D_ENERGY, "card" },
		{ "energy2_input", "5\n", D_ENERGY, "pkg" },
		{ "energy3_input", "5\n", D_ENERGY, "energy3" },
		{ "pwm1", "5\n", D_PWM, "pwm1" },
	};

	machine("xe", "active\n");
	file_put("hwmon/hwmon7/name", "xe\n");
	for (size_t i = 0; i < LEN(rows); i++) {
		char b[64];

		snprintf(b, sizeof(b), "hwmon/hwmon7/%s", rows[i].leaf);
		file_put(b, rows[i].text);
		snprintf(b, sizeof(b), "hwmon/hwmon7/temp%d_input", atoi(rows[i].leaf + 4));
		if (strstr(rows[i].leaf, "_label"))
			file_put(b, "5\n");
	}
	file_put("hwmon/hwmon7/pwm1_enable", "2\n");
	file_put("tile0/gt1/freq0/throttle/reason_pl1", "1\n");
	file_put("tile0/gt1/freq0/throttle/reason_status", "1\n");
	file_put("tile0/gt1/freq0/cur_freq", "300\n");
	src_sysfs.start();
	for (size_t i = 0; i < LEN(rows); i++)
		check_u64(get(rows[i].desc, rows[i].inst), 5, "%s: %s", rows[i].leaf, rows[i].inst);
	check(get(D_THROTTLE, "pl1") == 1 && get(D_THROTTLE, "status") == none,
	      "the status of throttling is not listed as a reason");
	check_u64(get(D_FREQ_CUR, "gt1"), 300000000, "label: the name of a folder");
	check_u64(sysfs.nsensors, LEN(rows) + 2, "label: number of files that stay open");
}

static void t_nodes(void)
{
	static const struct {
		const char *name;
		i32 kind, number;
	} rows[] = {
		{ "card0", N_CARD, 0 }, { "renderD128", N_RENDER, 128 }, { "accel3", N_ACCEL, 3 },
		{ "nvidia254", N_NVIDIA, 254 }, { "card2147483647", N_CARD, INT32_MAX },
		{ "card2147483648", -1, 0 }, { "card", -1, 0 }, { "card-1", -1, 0 },
		{ "card0-DP-1", -1, 0 }, { "version", -1, 0 }, { "", -1, 0 }, { "0", -1, 0 },
		{ "renderD", -1, 0 }, { "Card0", -1, 0 }, { "card 0", -1, 0 },
	};
	unsigned maj = 0, min = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		u8 kind = 0;
		i32 number = 0;
		bool ok = parse_node(edge_str(rows[i].name, strlen(rows[i].name)), &kind, &number);

		check(ok == (rows[i].kind >= 0) &&
		      (!ok || (kind == rows[i].kind && number == rows[i].number)),
		      "device of the node '%s'", rows[i].name);
	}
	machine("i915", "active\n");
	put(in_sys("class/drm/card0", "dev"), "300:17\n");
	src_sysfs.start();
	check(sysfs_node(str_z("card0"), &maj, &min) && maj == 300 && min == 17 &&
	      sysfs_device(300, 17) == 1, "the numbers of a node are those in its file dev");
	check(sysfs_node(str_z("renderD129"), &maj, &min) && maj == MAJOR_DRM && min == 129 &&
	      !sysfs_node(str_z("nvidia255"), &maj, &min),
	      "the numbers of a node that is not listed belong to no device");
	check(sysfs_device_at_slot(str_z("0000:03:00.0")) == 1 &&
	      sysfs_device_at_slot(str_z("0000:03:00.1")) == NONE,
	      "the device at a PCI slot is found");
	check(sysfs_device_by((struct str){ 0 }, str_z("i915")) == 1,
	      "the only device of a driver is found");
	check(sysfs_device(226, 5) == 2 && sysfs_device(226, 5) == 2 &&
	      strcmp(devices[2].dev, "226:5") == 0,
	      "a device that is not listed is named after its number");
}

/* --- what is read, and when ------------------------------------------------------------------- */

static void t_awake(void)
{
	static const struct {
		const char *state;
		bool awake;
	} states[] = {
		{ "active\n", true }, { "suspended\n", false }, { "suspending\n", false },
		{ "unsupported\n", true }, { "error\n", true }, { "", true }, { "\n", true },
		{ "active", true }, { "activeactiveactiveactive\n", false }, { "act\0ive\n",
		  false },
	};
	u32 calls, few;

	machine("amdgpu", "suspended\n");
	file_put("mem_info_vram_used", "50\n");
	file_put("gpu_busy_percent", "7\n");
	src_sysfs.start();
	check(get(D_VRAM_USED, "") == 50 && get(D_GPU_BUSY, "") == none && sysfs.nsensors == 1,
	      "while a device is suspended, only files that cannot wake it are opened");
	for (size_t i = 0; i < LEN(states); i++) {
		file_put("power/runtime_status", states[i].state);
		src_sysfs.sample();
		check(devices[1].awake == states[i].awake &&
		      (get(D_GPU_BUSY, "") == 7000) == states[i].awake && get(D_VRAM_USED,
		      "") == 50,
		      "power state %zu: the device is %s", i, states[i].awake ? "awake" : "asleep");
	}
	file_put("power/runtime_status", "active\n");
	calls = fileio.calls;
	src_sysfs.sample();
	few = fileio.calls - calls;
	check_u64(few, 3, "an active device is read with one call for each file");
	file_put("power/runtime_status", "suspended\n");
	calls = fileio.calls;
	src_sysfs.sample();
	check_u64(fileio.calls - calls, few - 1, "a suspended device is read with one call less");
}

static void t_fixed(void)
{
	u32 calls;

	machine("amdgpu", "active\n");
	file_put("mem_info_vram_total", "x\n");
	src_sysfs.start();
	check_u64(get(D_VRAM_TOTAL, ""), none, "a constant without a valid number has no value");
	file_put("mem_info_vram_total", "800\n");
	src_sysfs.sample();
	check_u64(get(D_VRAM_TOTAL, ""), 800, "a constant without a valid number is read again");
	file_put("mem_info_vram_total", "900\n");
	calls = fileio.calls;
	src_sysfs.sample();
	check(get(D_VRAM_TOTAL, "") == 800 && fileio.calls - calls == 1,
	      "a constant with a valid number is read once");
	src_sysfs.rest();
	src_sysfs.sample();
	check_u64(get(D_VRAM_TOTAL, ""), 900, "a constant is read again after its file was closed");
}

static void t_slow(void)
{
	u32 calls;

	machine("intel_vpu", "active\n");
	file_put("npu_busy_time_us", "1\n");
	src_sysfs.start();
	file_put("npu_busy_time_us", "2\n");
	src_sysfs.sample();
	check_u64(get(D_GPU_BUSY_US, ""), 2,
	          "a slow file is read again at once after its first reading");
	stopped_at = sensors.rows[0].last + 989999999;
	calls = fileio.calls;
	src_sysfs.sample();
	check(get(D_GPU_BUSY_US, "") == none && fileio.calls - calls == 1,
	      "a slow file is not read again within a second");
	file_put("npu_busy_time_us", "3\n");
	stopped_at++; /* the interval of a second may end a little early */
	src_sysfs.sample();
	check_u64(get(D_GPU_BUSY_US, ""), 3, "a slow file is read again after a second");
	stopped_at += 500000000;
	src_sysfs.sample();
	check(get(D_GPU_BUSY_US, "") == none,
	      "the second of a slow file begins at its last reading");
	stopped_at = 0;
}

static bool hides_temp(u8 desc)
{
	return desc != D_TEMP;
}

static void t_listing(void)
{
	machine("i915", "active\n");
	file_put("hwmon/hwmon0/temp1_input", "5\n");
	file_put("hwmon/hwmon0/temp1_crit", "100\n");
	file_put("hwmon/hwmon0/energy1_input", "6\n");
	src_sysfs.start();
	check(get(D_TEMP, "temp1") == 5 && get(D_TEMP_CRIT, "temp1") == none,
	      "a live command does not read limits");
	src_sysfs.rest();
	sensing.listing = true;
	src_sysfs.sample();
	check_u64(get(D_TEMP_CRIT, "temp1"), 100, "a list of devices reads limits");
	src_sysfs.rest();
	reg_clear(&devices[1].e);
	sensing.filter = hides_temp;
	src_sysfs.sample();
	check(get(D_TEMP, "temp1") == none && get(D_ENERGY, "energy1") == 6,
	      "a value that the filter hides and that is only displayed is not read");
	sensing.filter = NULL;
}

/* --- errors and limits ------------------------------------------------------------------------ */

static void t_denied(void)
{
	machine("amdgpu", "active\n");
	file_put("gpu_busy_percent", "7\n");
	file_put("mem_busy_percent", "8\n");
	chmod(in_sys(PCI, "gpu_busy_percent"), 0);
	sensing.listing = true;
	rights_drop(true);
	src_sysfs.start();
	rights_drop(false);
	check(get(D_GPU_BUSY, "") == none && get(D_LOAD, "mem") == 8000,
	      "a file without permission has no value; a readable one has");
	check_str(str_z(devices[1].no_sensors), "permission denied",
	          "the missing value has the reason that permission was denied");
	machine("amdgpu", "active\n");
	sensing.listing = true;
	src_sysfs.start();
	check_str(str_z(devices[1].no_sensors), "the driver has no file for it",
		  "a missing file has the reason that the driver has none");
	machine("amdgpu", "suspended\n");
	sensing.listing = true;
	src_sysfs.start();
	check_str(str_z(devices[1].no_sensors), "asleep; reading could wake it",
		  "a suspended device has the reason that reading could wake it");
}

/* A machine of amdgpu with four files of values. */
static void four_files(void)
{
	machine("amdgpu", "active\n");
	file_put("gpu_busy_percent", "1\n");
	file_put("mem_busy_percent", "2\n");
	file_put("vcn_busy_percent", "3\n");
	file_put("mem_info_vram_used", "4\n");
}

static void t_room(void)
{
	u32 ready, most, dropped;
	long limit = fileio.limit;
	int fds[3];

	four_files();
	src_sysfs.start();
	check_u64(sysfs.nsensors, 4, "the four files of a device are open");
	src_sysfs.rest();
	ready = sensors.t.ready;
	most = sensors.t.most;
	sensors.t.ready = sensors.t.most = 2;
	for (int i = 0; i < 3; i++) {
		dropped = registry.dropped;
		src_sysfs.sample();
		check(registry.dropped - dropped == 2 && sysfs.nsensors == 2,
		      "a full table of sensors: sample %d counts two sensors as dropped", i);
	}
	sensors.t.ready = ready;
	sensors.t.most = most;
	src_sysfs.rest();
	fileio.limit = 2;
	for (int i = 0; i < 3; i++) {
		dropped = registry.dropped;
		src_sysfs.sample();
		check(registry.dropped - dropped == 4 && sysfs.nsensors == 0,
		      "half of the descriptors are for clients: sample %d counts four sensors as "
		      "dropped",
		      i);
	}
	four_files();
	for (size_t i = 0; i < LEN(fds); i++) /* the lowest three: of power/runtime_status, ... */
		fds[i] = dup(roots.sys);
	fileio.limit = 2 * fds[2];
	for (size_t i = 0; i < LEN(fds); i++)
		close(fds[i]);
	dropped = registry.dropped;
	src_sysfs.start();
	check(registry.dropped - dropped == 2 && sysfs.nsensors == 2,
	      "sensors use at most half of the descriptors");
	fileio.limit = limit;
	src_sysfs.rest();
	dropped = registry.dropped;
	src_sysfs.sample();
	check(registry.dropped == dropped && sysfs.nsensors == 4,
	      "after the limit was raised, no sensor counts as dropped");
	src_sysfs.rest();
	reset();
}

static void t_devices(void)
{
	enum { LEFT_OUT = 3, CARDS = MAX_DEVICES - 1 + LEFT_OUT };
	const struct table *full;
	u32 left, before = registry.dropped, bad = 0;

	reset();
	for (u32 i = 0; i < CARDS; i++) {
		put(in_folder("sys/devices/pci/%u/uevent", (unsigned)i), "DRIVER=xe\n");
		put_link(in_folder("sys/class/drm/card%u/device", (unsigned)i),
			 in_folder("sys/devices/pci/%u", (unsigned)i));
		put_folder(in_folder("sys/devices/pci/%u/drm/card%u", (unsigned)i, (unsigned)i));
		put_link(in_folder("sys/class/drm/renderD%u/device", (unsigned)i + 128),
			 in_folder("sys/devices/pci/%u", (unsigned)i));
	}
	nodes_stop();
	nodes_start();
	src_sysfs.start();
	check(registry.dropped - before == LEFT_OUT && nrows.devices == MAX_DEVICES - 1,
	      "devices without room are counted once, not once for each node");
	do
		full = table_full(&left);
	while (full && strcmp(full->name, "devices") != 0);
	check(full && full->ready == MAX_DEVICES &&
	      left == LEFT_OUT,
	      "table_full() returns the table of devices and the number of devices without room");
	for (u32 i = 0; i < 5; i++) {
		before = registry.dropped;
		src_sysfs.scan();
		bad += registry.dropped - before != LEFT_OUT;
	}
	check_u64(bad, 0,
	          "each later scan counts the devices without room, also if it does not read /sys");
	nodes_stop();
	/* Partitions of accelerators have render nodes only. */
	shell("rm -r $D/sys/class/drm/card* $D/sys/devices/pci/*/drm");
	forget_devices();
	before = registry.dropped;
	src_sysfs.start();
	check(registry.dropped - before == LEFT_OUT && nrows.devices == MAX_DEVICES - 1,
	      "devices with only a render node are counted as dropped");
}

static void t_full_nodes(void)
{
	u32 had = sysfs.nnodes, dropped = registry.dropped, n;
	const struct table *full;

	while (table_full(&n))
		;
	table_all(&sysfs_tables.nodes);
	sysfs.nnodes = MAX_NODES - 1;
	check(node_new() == &nodes[MAX_NODES - 1] && !node_new() && registry.dropped == dropped + 1,
	      "full table of nodes: one more is counted");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "nodes of devices") == 0, "full table of nodes: its name");
	sysfs.nnodes = had;
}

/* Scans after a restart of the watches, so that /sys is read. */
static void scan(void)
{
	nodes_stop();
	src_sysfs.scan();
}

static void t_unplugged(void)
{
	u32 held, other;

	machine("i915", "active\n");
	file_put("hwmon/hwmon0/temp1_input", "5\n");
	src_sysfs.start();
	check(nrows.devices == 1 && strcmp(devices[1].dev, "card0") == 0 &&
	      strcmp(devices[1].pdev, "0000:03:00.0") == 0, "a device has its node and its slot");
	file_put("uevent", "DRIVER=xe\n");
	shell("mv $D/sys/class/drm/card0 $D/sys/class/drm/card1");
	scan();
	check(strcmp(devices[1].dev, "card1") == 0 && strcmp(devices[1].driver, "xe") == 0 &&
	      get(D_TEMP, "temp1") == none,
	      "a device with another driver loses the values of the first driver");
	file_put("hwmon/hwmon0/temp1_input", "6\n");
	devices[1].anonymous = 1;
	shell("rm -r $D/sys/class/drm/card1");
	scan();
	check(devices[1].e.used && devices[1].gone,
	      "a device that was unplugged is kept while a descriptor is open");
	devices[1].anonymous = 0;
	held = client_add(1, KEY_ID, 1);
	scan();
	check(devices[1].e.used,
	      "a device that was unplugged is kept while one of its clients is known");
	client_remove(held);
	other = device_new();
	held = client_add(other, KEY_ID, 1);
	reg_begin(&devices[1].e, 1000);
	reg_put(&devices[1].e, D_TEMP, LIT("x"), 5, 1000);
	scan();
	check(!reg_first(&devices[1].e), "a device that was removed loses its values");
	client_remove(held);
	devices[other].e.used = false;
	check(!devices[1].e.used && sysfs.nnodes == 0 && sysfs.nsensors == 0,
	      "a device that was removed leaves no row, node or open sensor");
}

static void t_nvidia(void)
{
	machine("nvidia", "active\n");
	put_link(in_sys("bus/pci/devices", "0000:03:00.0"), "../../../" PCI);
	shell("rm -r $D/sys/class");
	put(in_folder("proc/driver/nvidia/gpus/0000:03:00.0/information"),
	    "Model: \t\t NVIDIA X 1\nDevice Minor: \t 4\n");
	put(in_folder("proc/driver/nvidia/gpus/0000:04:00.0/information"), "Device Minor: 255\n");
	src_sysfs.start();
	for (u32 i = 1; i <= 2; i++) {
		bool first = strcmp(devices[i].pdev, "0000:03:00.0") == 0;

		check(nrows.devices == 2 && strcmp(devices[i].dev,
		      first ? "nvidia4" : "0000:04:00.0") == 0,
		      "NVIDIA's device is named after its %s", first ? "minor" : "slot");
		check_str(str_z(devices[i].name), first ? "NVIDIA X 1" : "",
		          "NVIDIA's device has the model of its information file");
	}
	shell("rm -r $D/proc/driver");
	reset();
}

/* --- names, owners, links --------------------------------------------------------------------- */

static void chip(const char *folder, const char *name, const char *energy)
{
	put(in_folder("sys/" PCI "/hwmon/%s/name", folder), name);
	put(in_folder("sys/" PCI "/hwmon/%s/energy1_input", folder), energy);
}

static void t_equal_names(void)
{
	machine("i915", "active\n");
	chip("hwmon3", "i915\n", "9\n");
	chip("hwmon4", "i915_gt0\n", "3\n");
	chip("hwmon5", "i915_gt1\n", "5\n");
	src_sysfs.start();
	check(get(D_ENERGY, "card") == 9 && get(D_ENERGY, "i915_gt0_energy1") == 3 &&
	      get(D_ENERGY, "i915_gt1_energy1") == 5 && get(D_ENERGY, "energy1") == none,
	      "equal channels of two chips have the names of their chips");
	chip("hwmon5", "i915_gt0\n", "5\n");
	src_sysfs.rest();
	src_sysfs.sample();
	check(get(D_ENERGY, "i915_gt0_energy1_hwmon4") == 3 &&
	      get(D_ENERGY, "i915_gt0_energy1_hwmon5") == 5,
	      "equal channels of equal chips have the names of their folders");
	machine("xe", "active\n");
	file_put("hwmon/hwmon1/temp2_input", "2\n");
	file_put("hwmon/hwmon1/temp2_label", "vram\n");
	file_put("hwmon/hwmon1/temp3_input", "3\n");
	file_put("hwmon/hwmon1/temp3_label", "vram\n");
	file_put("hwmon/hwmon1/power1_average", "4\n");
	file_put("hwmon/hwmon1/power1_input", "5\n");
	file_put("tile0/memory/freq0/max_freq", "6\n");
	file_put("tile1/memory/freq0/max_freq", "7\n");
	src_sysfs.start();
	check(get(D_TEMP, "vram_temp2") == 2 && get(D_TEMP, "vram_temp3") == 3,
	      "equal labels have the names of their channels");
	check(get(D_POWER, "power1") == 4, "two files of one channel are one value");
	check(get(D_FREQ_MAX, "memory_tile0") == 6000000 &&
	      get(D_FREQ_MAX, "memory_tile1") == 7000000,
	      "equal clocks of two tiles have the names of their tiles");
	machine("xe", "active\n");
	file_put("hwmon/hwmon1/power1_rated_max", "8\n");
	sensing.listing = true;
	src_sysfs.start();
	check(get(D_POWER_MAX, "power1") == none && get(D_POWER_RATED, "power1") == 8,
	      "power1_rated_max is not power1_max");
}

static void t_throttle(void)
{
	machine("i915", "active\n");
	put(in_sys("class/drm/card0/gt/gt0", "throttle_reason_pl1"), "0\n");
	put(in_sys("class/drm/card0/gt/gt1", "throttle_reason_pl1"), "1\n");
	src_sysfs.start();
	check_u64(get(D_THROTTLE, "pl1"), 1,
	          "a reason for throttling of the second GT is reported");
}

/* The device is behind a switch, whose slot is slower. */
static void t_link(void)
{
	static const char *const ports[] = { "..", "../.." };
	static const struct { const char *speed, *width, *device; u64 want_speed, want_width; } rows[] = {
		{ "8.0 GT/s PCIe\n", "8\n", "16\n", 80, 8 },
		{ "32.0 GT/s PCIe\n", "16\n", "4\n", 160, 4 },
		{ "Unknown\n", "0\n", "16\n", 160, 16 },
		{ "8.0 GT/s PCIe\n", "8\n", "0\n", 80, none },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		machine("amdgpu", "active\n");
		shell("rm $D/sys/class/drm/card0/device; mkdir -p $D/sys/devices/p0/p1/d; "
		      "ln -s ../../../devices/p0/p1/d $D/sys/class/drm/card0/device");
		put(in_folder("sys/devices/p0/p1/d/current_link_speed"), "16.0 GT/s PCIe\n");
		put(in_folder("sys/devices/p0/p1/d/current_link_width"), rows[i].device);
		put(in_folder("sys/devices/p0/p1/d/%s/current_link_speed", ports[0]), "16.0 GT/s PCIe\n");
		put(in_folder("sys/devices/p0/p1/d/%s/current_link_width", ports[0]), "16\n");
		put(in_folder("sys/devices/p0/p1/d/%s/current_link_speed", ports[1]), rows[i].speed);
		put(in_folder("sys/devices/p0/p1/d/%s/current_link_width", ports[1]), rows[i].width);
		put(in_folder("sys/devices/p0/uevent"), "PCI_SLOT_NAME=0000:00:03.1\n");
		sensing.listing = true;
		src_sysfs.start();
		check(get(D_LINK_SPEED, "") == rows[i].want_speed &&
		      get(D_LINK_WIDTH, "") == rows[i].want_width,
		      "speed and width of the link: row %zu", i);
		if (i < 2) {
			char text[256];
			struct str t = str_of(text, text_copy(devices[1].facts, text, sizeof(text)));

			check(str_find(t, LIT("link_speed_at:0000:00:03.1")) == !i,
			      "the place of the slowest link is reported if it is not the "
			      "device's: row %zu", i);
		}
	}
}

/* A device behind more ports than a path has room for. */
static void t_ports(void)
{
	machine("amdgpu", "active\n");
	shell("rm $D/sys/class/drm/card0/device; p=$D/sys/devices; "
	      "for i in $(seq 200); do p=$p/p; mkdir -p $p; done; cd $D/sys/devices; "
	      "for i in $(seq 200); do cd p; echo 16 >current_link_width; done; "
	      "ln -s \"../../../devices${p#$D/sys/devices}\" $D/sys/class/drm/card0/device");
	src_sysfs.start();
	check(get(D_LINK_WIDTH, "") == 16 && sysdirs[1].lost == 1,
	      "PCIe ports that no path reaches are counted as lost");
}

static void t_apu(void)
{
	static const struct { const char *leaf, *text; bool apu; } rows[] = {
		{ "power/control", "auto\n", true },
		{ "mem_info_vram_vendor", "unknown\n", true },
		{ "mem_info_vram_vendor", "hynix\n", false },
		{ "current_link_width", "16\n", false },
		{ "hwmon/hwmon1/fan1_input", "0\n", false },
		{ "hwmon/hwmon1/pwm1", "0\n", false },
		{ "hwmon/hwmon1/power1_cap", "0\n", false },
		{ "mem_info_vram_total", "2147483648\n", false },
		{ "mem_info_gtt_total", "1073741823\n", false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		machine("amdgpu", "active\n");
		file_put("mem_info_vram_total", "536870912\n");
		file_put("mem_info_gtt_total", "8589934592\n");
		file_put(rows[i].leaf, rows[i].text);
		src_sysfs.start();
		check(devices[1].apu == rows[i].apu,
		      "whether amdgpu is an APU if %s is %s", rows[i].leaf, rows[i].text);
	}
	machine("amdgpu", "active\n");
	file_put("mem_info_vram_total", "8589934592\n");
	file_put("hwmon/hwmon1/in1_label", "vddnb\n");
	src_sysfs.start();
	check(devices[1].apu, "amdgpu with the voltage of a north bridge is an APU");
}

/* MI300A: all its memory is GTT. kfd lists its CPUs and its GPU as separate nodes, so that kfd does
 * not report an APU. Since Linux 6.18, amdgpu has no file of video memory on it. */
static void t_mi300a(void)
{
	const u64 gtt = 134972432384, used = 5368709120;
	u64 v = 1;

	machine("amdgpu", "active\n");
	file_put("mem_info_vram_total", "0\n");
	file_put("mem_info_vram_used", "0\n");
	file_put("mem_info_gtt_total", "134972432384\n");
	file_put("mem_info_gtt_used", "5368709120\n");
	file_put("current_link_width", "16\n");
	file_put("hwmon/hwmon1/power1_cap", "550000000\n");
	src_sysfs.start();
	src_sysfs.sample();
	check(devices[1].apu, "MI300A: an APU, though it has a PCI link and a power limit");
	check(entity_used(&devices[1].e, devices[1].apu, &v) && v == used,
	      "MI300A: the memory in use is that of GTT");
	check_u64(device_memory_size(&devices[1]), gtt, "MI300A: the memory size is that of GTT");
	machine("amdgpu", "active\n");
	file_put("mem_info_gtt_total", "134972432384\n");
	file_put("mem_info_gtt_used", "5368709120\n");
	src_sysfs.start();
	src_sysfs.sample();
	check(!entity_used(&devices[1].e, devices[1].apu, &v) &&
	      device_memory_size(&devices[1]) == 0,
	      "MI300A, Linux 6.18: without files of video memory, the memory is unknown, not 0");
	machine("amdgpu", "active\n");
	file_put("mem_info_vram_total", "4503599627370496\n");
	file_put("mem_info_gtt_total", "4096\n");
	file_put("mem_info_gtt_used", "5\n");
	src_sysfs.start();
	src_sysfs.sample();
	devices[1].apu = true;
	check_u64(device_memory_size(&devices[1]), 0,
	          "the memory size of an APU is unknown if it exceeds 2^52 bytes");
}

/* Two cards of msm: the first has a display controller only. */
static void t_owner(void)
{
	reset();
	for (u32 i = 0; i < 2; i++) {
		put(in_folder("sys/devices/soc/d%u/uevent", (unsigned)i), "DRIVER=msm_dpu\n");
		put_link(in_folder("sys/class/drm/card%u/device", (unsigned)i),
			 in_folder("sys/devices/soc/d%u", (unsigned)i));
	}
	put_link(in_folder("sys/class/drm/renderD128/device"), in_folder("sys/devices/soc/d1"));
	put(in_folder("sys/devices/soc/gpu/devfreq/5.gpu/cur_freq"), "7\n");
	put_link(in_folder("sys/devices/soc/gpu/devfreq/5.gpu/device"), in_folder("sys/devices/soc/gpu"));
	put_link(in_folder("sys/class/devfreq/5.gpu"), in_folder("sys/devices/soc/gpu/devfreq/5.gpu"));
	src_sysfs.start();
	for (u32 i = 1; i <= 2; i++)
		check(!!reg_find(&devices[i].e, D_FREQ_CUR, reg_first(&devices[i].e) ?
		      reg_first(&devices[i].e)->inst : 0) == (devices[i].render >= 0),
		      "the device with a render node has the clock, the other one has none: row %u",
		      (unsigned)i);
	shell("rm $D/sys/devices/soc/gpu/devfreq/5.gpu/device");
	put_link(in_folder("sys/devices/soc/gpu/devfreq/5.gpu/device"), in_folder("sys/devices/soc/d0"));
	for (u32 i = 1; i <= 2; i++)
		reg_clear(&devices[i].e);
	src_sysfs.rest();
	src_sysfs.sample();
	for (u32 i = 1; i <= 2; i++)
		check(!!reg_first(&devices[i].e) == (devices[i].render < 0),
		      "the clock belongs to the known device that its link names: row %u", (unsigned)i);
}

/* A sensor that fails with ENODEV is opened again, without the others, at growing intervals. */
static void t_no_device(void)
{
	u32 opens = 0;
	int other;

	machine("i915", "active\n");
	file_put("hwmon/hwmon0/temp1_input", "5\n");
	file_put("hwmon/hwmon0/temp2_input", "6\n");
	src_sysfs.start();
	other = sensors.rows[1].fd;
	no_device = true;
	src_sysfs.sample();
	check(no_device_reads == 2 && get(D_TEMP, "temp1") == none && get(D_TEMP, "temp2") == 6 &&
	      sensors.rows[1].fd == other && !sysdirs[1].changed,
	      "only the sensor that failed with ENODEV is opened again");
	for (u32 i = 0; i < 400; i++) {
		u32 was = no_device_reads;

		src_sysfs.sample();
		opens += no_device_reads - was > 1;
	}
	check(opens > 4 && opens < 14,
	      "in 400 samples, the failed sensor is opened %u times", (unsigned)opens);
	no_device = false;
	src_sysfs.sample();
	check(get(D_TEMP, "temp1") == 5, "the sensor has a value when its file can be read again");
	no_device = true;
	shell("rm $D/sys/" PCI "/hwmon/hwmon0/temp1_input");
	for (u32 i = 0; i < 100; i++)
		src_sysfs.sample();
	check(sysdirs[1].changed,
	      "after the file of a sensor was removed, all files of the device are opened again");
	no_device = false;
}

/* --- profiling -------------------------------------------------------------------------------- */

static long denied_error;

static void denied(const char *dev, long error)
{
	denied_error = strcmp(dev, "card0") == 0 ? error : 1;
}

static void knob_is(const char *want, const char *what)
{
	char b[16];
	long n = slurp(roots.sys, PCI "/profiling", b, sizeof(b));

	check_str(str_read(b, n), want, "%s", what);
}

static void t_profiling(void)
{
	machine("panthor", "active\n");
	file_put("profiling", "0\n");
	src_sysfs.start();
	profiling_start(denied);
	knob_is("3\n", "the profiling knob is set");
	profiling_restore();
	knob_is("0\n", "the profiling knob is restored");
	machine("panthor", "active\n");
	file_put("profiling", "1\n");
	src_sysfs.start();
	profiling_start(denied);
	knob_is("1\n", "a profiling knob that another program has set is not changed");
	profiling_restore();
	knob_is("1\n", "a profiling knob that another program has set is not restored");
	machine("i915", "active\n");
	file_put("profiling", "0\n");
	src_sysfs.start();
	profiling_start(denied);
	knob_is("0\n", "the profiling knob of another driver is not changed");
	check(denied_error == 0, "no error is reported for a driver without a profiling knob");
	machine("panfrost", "active\n");
	file_put("profiling", "0\n");
	chmod(in_sys(PCI, "profiling"), 0444);
	src_sysfs.start();
	rights_drop(true);
	profiling_start(denied);
	rights_drop(false);
	check(denied_error == -EACCES, "a profiling knob that may not be set is reported");
	knob_is("0\n", "a profiling knob that may not be set is not changed");
	profiling_restore();
}

int main(void)
{
	static char proc_name[512];

	registry.repeats = true;
	folder_begin("t_sysfs");
	snprintf(proc_name, sizeof(proc_name), "%s/proc", tmp_folder);
	roots.proc_given = true;
	roots.proc_name = proc_name;
	put_folder(in_folder("proc/1/root/dev/dri"));
	root_set(&roots.proc, proc_name);
	t_formats();
	t_mean_clock();
	t_labels();
	t_nodes();
	t_awake();
	t_fixed();
	t_slow();
	t_listing();
	t_denied();
	t_room();
	t_full_nodes();
	t_devices();
	t_unplugged();
	t_nvidia();
	t_equal_names();
	t_throttle();
	t_link();
	t_ports();
	t_apu();
	t_mi300a();
	t_owner();
	t_no_device();
	t_profiling();
	shell("rm -rf $D");
	return unit_end();
}
