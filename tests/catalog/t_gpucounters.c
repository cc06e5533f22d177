/* t_gpucounters.c - unit test of sources/catalog/gpucounters.c: GPUs among the devices, their
 * numbers, engines of a stage, sums over GPUs, the tracepoints of their displays. The other providers
 * are simulated. SPDX-License-Identifier: MIT */
#include "../../sources/catalog/gpucounters.c"

#include "folder.h"
#include "listed.h"

static u32 rests, samples, scans, taken;
static void rest(void) { rests++; }
static void scan(void) { scans++; }
const struct source src_sysfs = { .scan = scan, .rest = rest };
const struct source src_fdinfo = { .rest = rest };
void gpus_start(void) { samples++; }
void gpus_sample(void) { samples++; }

static long event_open(u32 at) { return at == 7 ? 0 : -ENOENT; }
static void event_close(u32 at) { taken -= at; }
static long event_read(u32 at, u64 *v, u64 *total)
{
	*v = *total = at;
	return 0;
}
const struct provider provider_event = { .open = event_open, .close = event_close, .read = event_read };
static const char *event_asked;

u32 event_slot(const char *names)
{
	event_asked = names;
	return 7;
}

bool catalog_find(struct str name, u32 *i)
{
	(void)name;
	*i = 0;
	return false;
}

struct str catalog_numbered(char *b, size_t cap, struct str s, u64 x)
{
	struct buf to = buf_on(b, cap);

	for (; s.p < s.e; s.p++)
		if (*s.p == 'X')
			put_u64(&to, x);
		else
			put_c(&to, *s.p);
	return str_of(b, to.n);
}

static struct device *device_new(const char *dev, const char *driver, i32 card, i32 render, i32 accel)
{
	u32 n = device_add();
	struct device *d = &devices[n];

	str_copy(d->dev, sizeof(d->dev), str_z(dev));
	str_copy(d->driver, sizeof(d->driver), str_z(driver));
	d->card = card;
	d->render = render;
	d->accel = accel;
	return d;
}

/* --- devices ---------------------------------------------------------------------------------- */

static void t_is_gpu(void)
{
	static const struct {
		i32 card, render, accel;
		u8 part;
		const char *driver;
		bool is;
	} rows[] = {
		{ 0, 128, -1, PART_NONE, "i915", true }, { 0, -1, -1, PART_NONE, "ast", false },
		{ -1, -1, -1, PART_NONE, "mali", true }, { -1, 128, -1, PART_GPU, "x", true },
		{ -1, -1, 0, PART_NONE, "intel_vpu", false }, { -1, -1, -1, PART_NPU, "x", false },
		{ -1, -1, -1, PART_CARD, "hailo", false }, { 1, 129, -1, PART_NONE, "RKNPU", false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct device d = { .card = rows[i].card, .render = rows[i].render,
				    .accel = rows[i].accel, .part = rows[i].part };

		str_copy(d.driver, sizeof(d.driver), str_z(rows[i].driver));
		check(is_gpu(&d) == rows[i].is, "device %zu is %s GPU", i, rows[i].is ? "a" : "no");
	}
}

/* Makes these devices: card0, a display controller; card1, v3d; accel0, an NPU; card2, i915. */
static void t_numbers(void)
{
	struct device *accel = device_new("accel0", "intel_vpu", -1, -1, 0), *one, *two;

	check(!number_device(0), "without devices GPU 0 does not exist");
	one = device_new("card1", "v3d", 1, 128, -1);
	device_new("card0", "vc4", 0, -1, -1);
	places_add();
	check(gpulist.ngpus == 3 && strcmp(gpulist.gpus[0], "card0") == 0 &&
	      strcmp(gpulist.gpus[1], "card1") == 0 && gpu_device(2) == accel,
	      "devices have places in their order");
	check(gpulist.nnumbers == 1 && number_device(0) == one,
	      "only the device that renders is a GPU");
	two = device_new("card2", "i915", 2, 129, -1);
	places_add();
	check(gpu_device(3) == two && number_device(1) == two, "a new GPU has the next number");
	check(!gpu_device(4) && !number_device(2), "numbers without a device have none");
	one->e.used = false;
	check(!number_device(0) && number_device(1) == two, "a device that is gone keeps its number");
	one->e.used = true;
	places_add();
	check(gpulist.ngpus == 4 && gpulist.nnumbers == 2 && number_device(0) == one,
	      "it has the same number when it is back");
	check_str(vendor_of(1), "v3d", "the vendor of a GPU is its driver");
	check_str(vendor_of(9), "linux", "the vendor of a number without a device is linux");
}

/* --- values ----------------------------------------------------------------------------------- */

static void t_stages(void)
{
	static const struct {
		struct str driver, engine;
		bool vertex, fragment;
	} rows[] = {
		{ STR("panfrost"), STR("vertex-tiler"), true, false },
		{ STR("panfrost"), STR("fragment"), false, true },
		{ STR("panfrost"), STR("fragment2"), false, false },
		{ STR("mali_kbase"), STR("vertex-2"), true, false },
		{ STR("lima"), STR("gp"), true, false }, { STR("lima"), STR("pp0"), false, true },
		{ STR("v3d"), STR("bin"), true, false }, { STR("v3d"), STR("render"), false, true },
		{ STR("v3d"), STR("csd"), false, false }, { STR("i915"), STR("render"), false, false },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check(is_vertex(rows[i].driver, rows[i].engine) == rows[i].vertex &&
		      is_fragment(rows[i].driver, rows[i].engine) == rows[i].fragment,
		      "stage of engine, row %zu: %s of %s", i, rows[i].engine.p, rows[i].driver.p);
}

static void t_busy(void)
{
	struct device *d = &devices[gpu_index(1)];
	u64 v;

	check(!read_vertex(NULL, d, &v) && !read_busy(NULL, d, &v),
	      "without readings no value is known");
	reg_begin(&d->e, 1000);
	reg_put(&d->e, D_SUM_BUSY, LIT("bin"), 300000000, 1000);
	reg_put(&d->e, D_SUM_BUSY, LIT("render"), 500000000, 1000);
	reg_put(&d->e, D_SUM_BUSY, LIT("csd"), 100000000, 1000);
	check(read_vertex(NULL, d, &v) && v == 30000, "vertex work is 30 %%");
	check(read_fragment(NULL, d, &v) && v == 50000, "fragment work is 50 %%");
	check(read_busy(NULL, d, &v) && v == 50000, "a GPU is as busy as its busiest engine");
	check(read_driver(NULL, NULL, &v) && v == 50000,
	      "the driver utilization is that of the busiest GPU");
	reg_put(&d->e, D_GPU_BUSY, LIT(""), 12000, 1000);
	check(read_busy(NULL, d, &v) && v == 12000,
	      "the busy value of the kernel has priority over engines");
	check(!read_busy(NULL, NULL, &v), "a GPU that is gone has no value");
}

static void t_memory(void)
{
	struct device *one = &devices[gpu_index(1)], *two = &devices[gpu_index(3)];
	const u64 most = 1ull << 52; /* the largest plausible size */
	u64 v = 0;

	check(vram_all() == UINT64_MAX && !read_memory(NULL, NULL, &v),
	      "without readings no video memory is known");
	reg_put(&one->e, D_VRAM_TOTAL, LIT(""), 4000, 1000);
	check(vram_all() == UINT64_MAX, "the size is unknown if one of two GPUs has none");
	reg_begin(&two->e, 1000);
	reg_put(&two->e, D_VRAM_TOTAL, LIT(""), 8000, 1000);
	check_u64(vram_all(), 12000, "the sizes of two GPUs are added");
	two->apu = true;
	check(vram_all() == UINT64_MAX, "the size is unlimited if a GPU uses main memory");
	two->apu = false;
	reg_put(&one->e, D_VRAM_USED, LIT(""), most - 5, 1000);
	check(read_memory(NULL, NULL, &v) && v == most - 5, "the used memory of one GPU");
	reg_put(&two->e, D_VRAM_USED, LIT(""), most - 7, 1000);
	reg_put(&two->e, D_GTT_USED, LIT(""), 7, 1000);
	two->apu = true;
	check(read_memory(NULL, NULL, &v) && v == 2 * most - 5, "the used memory of two GPUs");
	two->apu = false;
	reg_begin(&two->e, 2000);
	check(!read_memory(NULL, NULL, &v), "the used memory is unknown if that of one GPU is");
	two->apu = true;
	reg_begin(&two->e, 3000);
	reg_put(&two->e, D_VRAM_USED, LIT(""), 0, 3000);
	check(!read_memory(NULL, NULL, &v), "it is unknown if the main memory of an APU is");
	two->apu = false;
	reg_begin(&two->e, 4000);
	reg_clear(&two->e);
	check(read_memory(NULL, NULL, &v) && v == most - 5, "a GPU without values of its memory is left out");
	reg_put(&two->e, D_SUM_RESIDENT, LIT("vram"), most - 1, 3000);
	reg_put(&two->e, D_SUM_RESIDENT, LIT("local"), 2, 3000);
	check(!read_memory(NULL, NULL, &v), "the used memory is unknown if that of one GPU is not plausible");
	reg_clear(&two->e);
}

/* --- frames ----------------------------------------------------------------------------------- */

static void t_frames(void)
{
	const struct device *v3d = gpu_device(1), *intel = gpu_device(3);
	u32 calls, was;

	check_str(str_z(frame_events(NULL)), "", "without a GPU there is no event of frames");
	check_str(str_z(frame_events(intel)), "", "without /sys there is no event of frames");
	put_folder(in_folder("class/drm/card0"));
	put_folder(in_folder("class/drm/card22-DP-1"));
	check_str(str_z(frame_events(intel)), "", "card22-DP-1 is not a display of card2");
	put_folder(in_folder("class/drm/card2-DP-1"));
	check_str(str_z(frame_events(intel)), "i915:intel_pipe_update_end",
		  "i915 with a display has its own event");
	check_str(str_z(frame_events(v3d)), "", "a display of another GPU does not count");
	calls = fileio.calls;
	has_connectors(v3d);
	calls = fileio.calls - calls;
	was = fileio.calls;
	check(!is_only_display(v3d, false) && fileio.calls - was == calls,
	      "without displays, the connectors of other GPUs are not searched for");
	put_folder(in_folder("class/drm/card0-HDMI-A-1"));
	check_str(str_z(frame_events(intel)), "i915:intel_pipe_update_end",
	      "a display of another driver does not matter to i915's own tracepoint");
	shell("rmdir \"$D/class/drm/card2-DP-1\"");
	check_str(str_z(frame_events(v3d)), "",
		  "two GPUs: it is unknown which one a display controller shows");
	gpulist.nnumbers = 1;
	check_str(str_z(frame_events(v3d)), "drm:drm_vblank_event_delivered",
		  "one GPU: the display controller shows it");
	gpulist.nnumbers = 2;
}

/* --- counters --------------------------------------------------------------------------------- */

static void t_provider(void)
{
	u64 v = 0, total = 0;
	u32 before;

	recommend(gpu_names, LEN(gpu_names), 0);
	check(listed_has("0 v3d: GPU 0 utilization (%) percent 100 busy time of the device"),
	      "a recommended name is listed");
	check(listed_has("3 v3d: GPU 0 frames / sec (1/s) rate - "), "frames are listed");
	check(counter_open(0) == 0 && gpulist.nopen == 1, "a counter of the registry is opened");
	check(counter_read(0, &v, &total) == 0 && v == 12000, "a counter of the registry is read");
	taken = 7;
	check(counter_open(3) == 0 && gpulist.nopen == 1 && event_asked && !*event_asked,
	      "a counter of another provider is opened by it");
	check(counter_read(3, &v, &total) == 0 && v == 7 && !counter_reason(3),
	      "a counter of another provider is read by it");
	counter_close(3);
	check(taken == 0 && rests == 0, "a counter of another provider is closed by it");
	before = samples;
	sample_gpus(false);
	check(samples == before, "a reading that is not due is not taken");
	sample_gpus(true);
	check(samples == before + 1, "a reading that is due is taken");
	counter_close(0);
	check(gpulist.nopen == 0 && rests == 2, "files are closed with the last counter");
	sample_gpus(true);
	check(samples == before + 1, "without open counters there is no reading");
	check(!gpu_counter_exclusive(0),
	      "a counter of the registry does not exclude other programs");
}

static void t_full(void)
{
	u32 dropped = registry.dropped, n;
	const struct gpucounter last = { .desc = 7, .gpu = 9 };
	const struct counter_info info = { .vendor = S("linux"), .name = S("drm/x/-/y") };
	const struct table *full;

	while (table_full(&n))
		;
	table_all(&gpulist_table);
	gpulist.ncounters = MAX_GPU_COUNTERS - 1;
	listed.n = 0;
	add(&last, &info);
	check(gpulist.ncounters == MAX_GPU_COUNTERS && memcmp(&gpulist.counters[MAX_GPU_COUNTERS - 1], &last, sizeof(last)) == 0 &&
	      listed_has("16383 linux: drm/x/-/y"), "full table: the last counter is listed");
	listed.n = 0;
	add(&last, &info);
	full = table_full(&n);
	check(gpulist.ncounters == MAX_GPU_COUNTERS && registry.dropped == dropped + 1 && listed.n == 0 && full && n == 1 &&
	      strcmp(full->name, "counters of GPUs") == 0,
	      "full table: one more counter is left out, and the table is reported");
}

int main(void)
{
	folder_begin("gpucounters");
	root_set(&roots.sys, tmp_folder);
	t_is_gpu();
	t_numbers();
	t_stages();
	t_busy();
	t_memory();
	t_frames();
	t_provider();
	t_full();
	check(scans == 0, "the folders of devices are not scanned");
	shell("rm -rf \"$D\"");
	return unit_end();
}
