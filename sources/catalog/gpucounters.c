/* gpucounters.c - provider of the counters of GPUs: counters drm/DEVICE/INSTANCE/QUANTITY, whose
 * values are in the registry, and the names that KHR_perfcounter recommends for GPUs.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sources/drm/drm.h"
#include "sources/perf/perf.h"
#include "sources/catalog/catalog.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum {
	MAX_GPU_COUNTERS = MAX_NAMED,
	NAME_CAP = 512,
	/* minimum time in ns between two scans of all processes, which find DRM clients and their
	 * counters */
	SCAN_INTERVAL = 1000000000,
};

struct gpucounter;
typedef bool read_fn(const struct gpucounter *c, const struct device *d, u64 *v);

struct gpucounter {
	/* function that reads the counter's value; its argument d is the GPU, NULL if the GPU was
	 * removed or the counter belongs to no GPU */
	read_fn *read;
	/* gpu: index in gpulist.gpus[]; if KHR_perfcounter recommends the counter's name: the
	 * number of the GPU in this name, which is an index in gpulist.numbers[]. desc: the
	 * quantity (D_*), such as D_BUSY_NS */
	u16 gpu;
	u8 desc;
	u16 inst;
	/* row of the counter's name in a table of recommended names, if KHR_perfcounter recommends
	 * the name; else NULL */
	const struct recommended *recommended;
	/* provider that provider_gpu asks for the counter's value; NULL if the value comes from the
	 * registry */
	const struct provider *provider;
	/* number by which the member `provider` identifies this counter; unused if `provider` is
	 * NULL */
	u32 at;
};

/* --- devices and their numbers ---------------------------------------------------------------- */

static struct {
	/* Names ("card0") of all devices: GPUs, NPUs and display controllers. A device that is
	 * removed keeps its index, because it may come back. */
	char gpus[MAX_DEVICES][sizeof(devices[0].dev)];
	u32 ngpus;
	/* numbers[X]: index in gpus[] of the GPU that has the number X in recommended names such as
	 * "GPU X utilization" */
	u32 numbers[MAX_DEVICES], nnumbers;
	struct gpucounter *counters;
	/* nopen: number of open counters whose values come from the registry */
	u32 ncounters, nopen;
	i64 sampled; /* time in ns at which the GPUs were last read; 0: never */
} gpulist;
static struct table gpulist_table = TABLE_ROW(gpulist.counters, MAX_GPU_COUNTERS, 64,
			"counters of GPUs");

static u32 gpu_index(u32 gpu)
{
	for (u32 i = NONE; gpu < gpulist.ngpus && (i = device_next(i, false)) != NONE;)
		if (strcmp(devices[i].dev, gpulist.gpus[gpu]) == 0)
			return i;
	return NONE;
}

const struct device *gpu_device(u32 gpu)
{
	u32 i = gpu_index(gpu);

	return i == NONE ? NULL : &devices[i];
}

static bool has_place(const struct device *d)
{
	for (u32 i = 0; i < gpulist.ngpus; i++)
		if (strcmp(gpulist.gpus[i], d->dev) == 0)
			return true;
	return false;
}

/* Returns whether a device is a GPU. NPUs, and display controllers, which cannot render, are not
 * GPUs. The NPU of the driver RKNPU has the device nodes of a GPU. */
static bool is_gpu(const struct device *d)
{
	return d->accel < 0 && (d->render >= 0 || d->card < 0) && d->part < PART_NPU &&
	       strcmp(d->driver, "RKNPU") != 0;
}

static u32 number_place(u32 number)
{
	return number < gpulist.nnumbers ? gpulist.numbers[number] : MAX_DEVICES;
}

static const struct device *number_device(u32 number)
{
	return gpu_device(number_place(number));
}

static void number_add(u32 place)
{
	const struct device *d = gpu_device(place);

	for (u32 i = 0; i < gpulist.nnumbers; i++)
		if (gpulist.numbers[i] == place)
			return;
	if (d && is_gpu(d))
		gpulist.numbers[gpulist.nnumbers++] = place;
}

/* Returns the first device, in device_order(), that is not in gpulist.gpus[]; NONE if there is no
 * such device. */
static u32 new_device(void)
{
	u32 next = NONE;

	for (u32 i = NONE; (i = device_next(i, false)) != NONE;)
		if (!has_place(&devices[i]) &&
		    (next == NONE || device_order(&devices[i], &devices[next]) < 0))
			next = i;
	return next;
}

/* Appends new devices to gpulist.gpus[], in device_order(), and assigns numbers to the GPUs among
 * them. */
static void places_add(void)
{
	u32 next;

	while (gpulist.ngpus < MAX_DEVICES && (next = new_device()) != NONE)
		memcpy(gpulist.gpus[gpulist.ngpus++], devices[next].dev, sizeof(gpulist.gpus[0]));
	registry.dropped += new_device() != NONE;
	for (u32 i = 0; i < gpulist.ngpus; i++)
		number_add(i);
}

static struct str vendor_of(u32 gpu)
{
	const struct device *d = gpu_device(gpu);

	return d && d->driver[0] ? str_z(d->driver) : S("linux");
}

/* --- counters --------------------------------------------------------------------------------- */

static void files_close(void)
{
	src_sysfs.rest();
	src_fdinfo.rest();
}

static bool read_value(const struct gpucounter *c, const struct device *d, u64 *v)
{
	return d && reg_get_or_sum(&d->e, c->desc, c->inst, v);
}

static bool read_power(const struct gpucounter *c, const struct device *d, u64 *v)
{
	return d && reg_per_second(&d->e, D_ENERGY, c->inst, v);
}

static bool read_engine(const struct gpucounter *c, const struct device *d, u64 *v)
{
	return d && engine_busy(&d->e, c->inst, v);
}

static bool read_util(const struct gpucounter *c, const struct device *d, u64 *v)
{
	return d && engine_util(&d->e, c->inst, v);
}

static bool read_freq(const struct gpucounter *c, const struct device *d, u64 *v)
{
	return d && engine_freq(&d->e, c->inst, v);
}

static bool read_idle(const struct gpucounter *c, const struct device *d, u64 *v)
{
	(void)c;
	return d && device_idle(d, v);
}

static bool read_used(const struct gpucounter *c, const struct device *d, u64 *v)
{
	(void)c;
	return d && entity_used(&d->e, d->apu, v);
}

static bool read_clients(const struct gpucounter *c, const struct device *d, u64 *v)
{
	(void)c;
	return d && device_clients(d, v);
}

static bool read_nothing(const struct gpucounter *c, const struct device *d, u64 *v)
{
	(void)c;
	(void)d;
	(void)v;
	return false;
}

static bool any_engine(struct str driver, struct str engine)
{
	(void)driver;
	(void)engine;
	return true;
}

/* Stores the busy time, in 1/1000 %, of the busiest engine of a device for which match() is true.
 * Returns false if no such engine has a known busy time. */
static bool busiest_engine(const struct device *d,
			   bool (*match)(struct str driver, struct str engine), u64 *v)
{
	bool found = false;
	u64 busy;

	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c)) {
		if (!is_engine(c->desc) || !match(str_z(d->driver), inst_name(c->inst)) ||
		    !engine_busy(&d->e, c->inst, &busy))
			continue;
		*v = found && *v > busy ? *v : busy;
		found = true;
	}
	return found;
}

/* Stores the busy time of a device in 1/1000 %: the value that the kernel reports for the whole
 * device, otherwise the busy time of the device's busiest engine. Returns false if both are
 * unknown. */
static bool gpu_busy(const struct device *d, u64 *v)
{
	return device_busy(d, v) || busiest_engine(d, any_engine, v);
}

static bool read_busy(const struct gpucounter *c, const struct device *d, u64 *v)
{
	(void)c;
	return d && gpu_busy(d, v);
}

/* Engines that do only vertex work (fragment is false) or only fragment work. The strings driver
 * and engine are patterns. With drivers that are not in this table, one engine does both. */
static const struct {
	char driver[9], engine[13];
	bool fragment;
} stages[] = {
	{ "panfrost", "vertex-tiler", false }, { "panfrost", "fragment", true },
	{ "mali*", "vertex*", false },         { "mali*", "fragment*", true },
	{ "lima", "gp", false },               { "lima", "pp*", true },
	{ "v3d", "bin", false }, /* v3d's binning runs coordinate shaders, which is vertex work */
	{ "v3d", "render", true },
};

static bool is_stage(struct str driver, struct str engine, bool fragment)
{
	for (size_t i = 0; i < LEN(stages); i++)
		if (stages[i].fragment == fragment &&
		    glob_match(str_z(stages[i].driver), driver, NULL) &&
		    glob_match(str_z(stages[i].engine), engine, NULL))
			return true;
	return false;
}

static bool is_vertex(struct str driver, struct str engine)
{
	return is_stage(driver, engine, false);
}

static bool is_fragment(struct str driver, struct str engine)
{
	return is_stage(driver, engine, true);
}

static bool read_vertex(const struct gpucounter *c, const struct device *d, u64 *v)
{
	(void)c;
	return d && busiest_engine(d, is_vertex, v);
}

static bool read_fragment(const struct gpucounter *c, const struct device *d, u64 *v)
{
	(void)c;
	return d && busiest_engine(d, is_fragment, v);
}

static bool read_driver(const struct gpucounter *c, const struct device *unused, u64 *v)
{
	bool found = false;
	u64 busy;

	(void)c;
	(void)unused;
	for (u32 i = 0; i < gpulist.nnumbers; i++) {
		const struct device *d = number_device(i);

		if (!d || !gpu_busy(d, &busy))
			continue;
		*v = found && *v > busy ? *v : busy;
		found = true;
	}
	return found;
}

/* Computes the memory that all GPUs use. It is unknown if that of one GPU is unknown. A GPU without
 * values of its memory is left out. */
static bool read_memory(const struct gpucounter *c, const struct device *unused, u64 *v)
{
	bool found = false, known;
	u64 used;

	(void)c;
	(void)unused;
	*v = 0;
	for (u32 i = 0; i < gpulist.nnumbers; i++) {
		const struct device *d = number_device(i);

		if (!d)
			continue;
		known = entity_used(&d->e, d->apu, &used);
		if (!known && used)
			return false;
		*v += known ? used : 0;
		found |= known;
	}
	return found;
}

/* --- the list --------------------------------------------------------------------------------- */

static void add(const struct gpucounter *c, const struct counter_info *n)
{
	if (catalog_has(n->vendor, n->name))
		return;
	if (!table_has(&gpulist_table, gpulist.ncounters)) {
		registry.dropped++;
		return;
	}
	gpulist.counters[gpulist.ncounters] = *c;
	catalog_add(PROVIDER_GPU, gpulist.ncounters++, n);
}

/* Adds a counter with the name drm/DEVICE/INSTANCE/QUANTITY. If inst is empty, INSTANCE is "-". */
static void add_native(const struct gpucounter *c, struct str inst, struct str quantity,
		       struct counter_info *n)
{
	char name[NAME_CAP];
	struct buf b = BUF(name);

	put_z(&b, "drm/");
	put_text(&b, str_z(gpulist.gpus[c->gpu]));
	put_c(&b, '/');
	put_text(&b, inst.p < inst.e ? inst : S("-"));
	put_c(&b, '/');
	put_text(&b, quantity);
	n->vendor = vendor_of(c->gpu);
	n->name = (struct str){ name, name + b.n };
	add(c, n);
	n->name = (struct str){ 0 };
}

/* Names of the units in which the registry stores values; the index is the unit (enum unit) of the
 * output field that shows the value. */
static const char unit_names[][9] = {
	[U_NONE] = "", [U_BYTES] = "bytes", [U_HZ] = "Hz", [U_NS] = "ns", [U_PERCENT] = "%",
	[U_CELSIUS] = "mC", [U_WATT] = "uW", [U_JOULE] = "uJ", [U_RPM] = "rpm", [U_VOLT] = "mV",
	[U_AMPERE] = "mA", [U_GTS] = "0.1 GT/s", [U_MS] = "ms",
};

/* Quantities of the registry whose values are shown unchanged as named counters; other counters are
 * computed from several quantities (struct derived). */
static const struct native {
	u8 desc, limit, rule, unit;
	/* what: description of the quantity; name: QUANTITY or INSTANCE/QUANTITY of its counters,
	 * from quantities.h */
	const char *what, *name;
} natives[] = {
#define RULE(course, unit) \
	((unit) == U_PERCENT ? R_PERCENT : CO_##course == CO_LEVEL ? R_LEVEL : R_COUNT)
#define QUANTITY(id, course, sign, range, sum, limit, group, member, shape, unit, when, what, \
		 named) \
	{ D_##id, limit, RULE(course, unit), unit, what, named },
#define NAMED(id, course, range, unit, what, named) \
	{ D_##id, NONE, RULE(course, unit), unit, what, named },
#include "quantities.h"
}, power_from_energy = { D_ENERGY, NONE, R_LEVEL, U_WATT, "power, computed from energy",
			"power" };

static void list_native(const struct device *d, const struct native *q, u16 gpu)
{
	const char *slash = strchr(q->name, '/');
	struct str name = str_z(slash ? slash + 1 : q->name);
	u8 sum = quantities[q->desc].sum;

	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c)) {
		struct counter_info n = { .what = str_z(q->what),
					  .unit = str_z(unit_names[q->unit]),
					  .rule = q->rule,
					  .is_signed = is_signed(q->desc),
					  .range = quantities[q->desc].range,
					  .max = q->rule == R_PERCENT ? 100 : UINT64_MAX };
		struct gpucounter g = { .read = q == &power_from_energy ? read_power : read_value,
					.gpu = gpu, .desc = q->desc,
					.inst = c->inst };

		if (c->desc != q->desc && (sum == NONE || c->desc != sum))
			continue;
		if (q->limit != NONE && (!reg_get(&d->e, q->limit, c->inst, &n.max) || n.max == 0))
			n.max = UINT64_MAX;
		add_native(&g, slash ? (struct str){ q->name, slash } : inst_name(c->inst), name,
			   &n);
	}
}

/* Counters of a device or an engine that are computed from several values of the registry. */
static const struct derived {
	read_fn *read;
	const char *name, *unit, *what;
	u8 rule;
} device_values[] = {
	{ read_busy, "busy", "%",
	  "busy time of the device: the kernel's figure, or that of its busiest engine",
	  R_PERCENT },
	{ read_idle, "idle", "%", "time in the deepest sleep", R_PERCENT },
	{ read_used, "used", "bytes", "memory in use: video memory if it has any; all on APUs",
	  R_LEVEL },
	{ read_clients, "clients", "", "DRM clients", R_LEVEL },
}, engine_value = {
	read_engine, "busy", "%", "busy time of the engine, in percent of its capacity", R_PERCENT
}, cycles_values[] = {
	{ read_util, "util", "%", "cycles of the engine, in percent of those at its highest clock",
	  R_PERCENT },
	{ read_freq, "freq", "Hz", "mean clock of the engine while busy", R_LEVEL },
};

static void add_derived(const struct derived *t, u16 gpu, u16 inst)
{
	struct counter_info n = { .what = str_z(t->what), .unit = str_z(t->unit), .rule = t->rule,
			    .max = t->rule == R_PERCENT ? 100 : UINT64_MAX };
	struct gpucounter g = { .read = t->read, .gpu = gpu, .inst = inst };

	add_native(&g, inst_name(inst), str_z(t->name), &n);
}

static void list_gpu(u16 gpu)
{
	const struct device *d = gpu_device(gpu);

	if (!d)
		return;
	for (size_t i = 0; i < LEN(device_values); i++)
		add_derived(&device_values[i], gpu, 0);
	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c)) {
		if (is_engine(c->desc))
			add_derived(&engine_value, gpu, c->inst);
		for (size_t i = 0; i < LEN(cycles_values) && c->desc == D_SUM_CYCLES; i++)
			if (reg_find(&d->e, D_MAXFREQ, c->inst))
				add_derived(&cycles_values[i], gpu, c->inst);
	}
	for (size_t i = 0; i < LEN(natives); i++) {
		list_native(d, &natives[i], gpu);
		if (natives[i].desc == D_ENERGY)
			list_native(d, &power_from_energy, gpu);
	}
}

static void list_gpus(void)
{
	for (u32 i = 0; i < gpulist.ngpus; i++)
		list_gpu((u16)i);
}

/* --- recommended names ------------------------------------------------------------------------ */

/* Tracepoints that count displayed frames, by driver. A tracepoint counts the frames of all devices
 * of its driver together, so it is used only if exactly one of these devices has displays. */
static const struct {
	const char *driver, *events;
} frame_tracepoints[] = {
	{ "i915", "i915:intel_pipe_update_end" },
	{ "xe", "i915:intel_pipe_update_end xe:intel_pipe_update_end" },
};

/* Returns whether a device has connectors for displays in /sys/class/drm, such as
 * card0-HDMI-A-1. */
static bool has_connectors(const struct device *d)
{
	struct dir dir;
	const char *name;
	bool found = false;

	if (d->card < 0 || dir_open(&dir, roots.sys, "class/drm") < 0)
		return false;
	while (!found && (name = dir_next(&dir))) {
		struct str s = str_z(name);

		found = str_skip_z(&s, d->dev) && s.p < s.e && *s.p == '-';
	}
	dir_close(&dir);
	return found;
}

/* Returns true if this device has connectors for displays, and no other device has any; if
 * same_driver is true, no other device of the same driver. */
static bool is_only_display(const struct device *d, bool same_driver)
{
	bool only = has_connectors(d);

	for (u32 i = NONE; only && (i = device_next(i, false)) != NONE;)
		only = &devices[i] == d || !has_connectors(&devices[i]) ||
		       (same_driver && strcmp(devices[i].driver, d->driver) != 0);
	return only;
}

/* Returns the device that displays the frames of a GPU: the GPU itself, or, if the GPU has no
 * connectors for displays and is the only GPU, the first device that has connectors. */
static const struct device *display_device(const struct device *gpu)
{
	for (u32 i = NONE; gpulist.nnumbers == 1 && !has_connectors(gpu) &&
	     (i = device_next(i, false)) != NONE;)
		if (has_connectors(&devices[i]))
			return &devices[i];
	return gpu;
}

/* Returns the tracepoints that count the displayed frames of a GPU, separated by blanks; "" if
 * there are none. */
static const char *frame_events(const struct device *gpu)
{
	const struct device *d = gpu ? display_device(gpu) : NULL;

	if (!d)
		return "";
	for (size_t i = 0; i < LEN(frame_tracepoints); i++)
		if (strcmp(d->driver, frame_tracepoints[i].driver) == 0 && is_only_display(d, true))
			return frame_tracepoints[i].events;
	return is_only_display(d, false) ? "drm:drm_vblank_event_delivered" : "";
}

/* provider_oa and oa_slot are NULL if gpustat is built without the feature "oa". */
#pragma weak provider_oa
#pragma weak oa_slot

/* Returns true if a GPU may have an OA unit, that is, if the GPU's driver is one of Intel's
 * drivers. */
static bool has_oa(u32 gpu)
{
	struct str driver = vendor_of(gpu);

	return oa_slot && (str_is(driver, "i915") || str_is(driver, "xe"));
}

/* provider_v3d, provider_msm and driver_slot are NULL if gpustat is built without the feature
 * "gpuevents". */
#pragma weak provider_v3d
#pragma weak provider_msm
#pragma weak driver_slot

/* GPU drivers whose events count the work of all programs together. driver: pattern of the driver's
 * name. */
static const struct eventdriver {
	char driver[7];
	/* provider: PROVIDER_*; event: index of the driver's event in events[] of struct
	 * recommended */
	u8 provider, event;
	const struct provider *row;
} event_drivers[] = {
	{ "v3d", PROVIDER_V3D, 0, &provider_v3d },
	{ "msm*", PROVIDER_MSM, 1, &provider_msm },
	{ "adreno", PROVIDER_MSM, 1, &provider_msm },
};

static const struct eventdriver *event_driver(u32 gpu)
{
	for (size_t i = 0; driver_slot && i < LEN(event_drivers); i++)
		if (glob_match(str_z(event_drivers[i].driver), vendor_of(gpu), NULL))
			return &event_drivers[i];
	return NULL;
}

/* The names that KHR_perfcounter recommends for GPUs: those of its section 3.5, and frames, which
 * its section 1 mentions. The X in a name stands for the GPU's number. */
static const struct recommended {
	const char *name, *what, *unit;
	u8 rule;
	/* Source of the value in addition to the registry. PROVIDER_GPU: none. PROVIDER_EVENT:
	 * tracepoints of displayed frames. PROVIDER_OA: the OA unit of an Intel GPU (member oa), or
	 * events of the drivers v3d and msm (member events). */
	u8 provider;
	read_fn *read;
	/* names of OA counters of Intel's metric sets, separated by blanks, of which the first one
	 * that the GPU has is used: its name depends on the GPU's generation; NULL: none */
	const char *oa;
	/* names of the events of GPU drivers, indexed by event_drivers[].event; NULL: none */
	const char *events[2];
} driver_names[] = {
	{ "Graphic driver utilization", "busy time of the busiest GPU", "%", R_PERCENT,
	  PROVIDER_GPU, read_driver, NULL, { NULL } },
}, gpu_names[] = {
	{ "GPU X utilization",
	  "busy time of the device: the kernel's figure, or that of its busiest engine", "%",
	  R_PERCENT, PROVIDER_GPU, read_busy, NULL, { NULL } },
	{ "GPU X vertex processors utilization",
	  "time of vertex work: dedicated engines, or EUs by Intel's OA unit", "%",
	  R_PERCENT, PROVIDER_OA, read_vertex, "VsEuActive VsFpu0Active VsFpuActive",
	  { NULL } },
	{ "GPU X fragment processors utilization",
	  "time of fragment work: dedicated engines, or EUs by Intel's OA unit", "%",
	  R_PERCENT, PROVIDER_OA, read_fragment, "PsEuActive PsFpu0Active PsFpuActive",
	  { NULL } },
	{ "GPU X frames / sec", "frames shown, by tracepoints of its display", "1/s", R_RATE,
	  PROVIDER_EVENT, read_nothing, NULL, { NULL } },
}, total_names[] = {
	{ "GPU memory usage", "memory that GPUs use: video memory, else all", "bytes", R_LEVEL,
	  PROVIDER_GPU, read_memory, NULL, { NULL } },
	{ "Primitive count", "primitives drawn, by Intel's OA unit, v3d or msm", "", R_COUNT,
	  PROVIDER_OA, read_nothing, "IA_PRIMITIVE CLIPPER_PRIMITIVE_OUTPUT",
	  { "PTB-primitives-binned", "pc:primitives" } },
	{ "Culled primitive count", "primitives culled, by Intel's OA unit, v3d or msm", "",
	  R_COUNT, PROVIDER_OA, read_nothing,
	  "CLIPPER_PRIMITIVE_CULL STRIPSFAN_OBJECT_CULL",
	  { "PTB-primitives-discarded-reversed", "tse:culled" } },
};

/* Returns the bytes of video memory of all GPUs together; UINT64_MAX if a GPU has no video memory
 * or its size is unknown. The result becomes the limit of a counter, which is set when the counter
 * is added and never changes. */
static u64 vram_all(void)
{
	u64 sum = 0, v;

	for (u32 i = 0; i < gpulist.nnumbers; i++) {
		const struct device *d = number_device(i);

		if (!d || d->apu || !reg_get(&d->e, D_VRAM_TOTAL, 0, &v))
			return UINT64_MAX;
		sum += v;
	}
	return sum ? sum : UINT64_MAX;
}

/* Adds the n recommended names t (KHR_perfcounter) for one GPU to the list, except those that the
 * list has already, with whatever vendor: the names of GPU 0 are added before GPU 0 is found, and
 * only then is the vendor known. */
static void recommend(const struct recommended *t, size_t n, u32 gpu)
{
	for (; n > 0; n--, t++) {
		char name[64];
		struct counter_info to = {
			.vendor = vendor_of(number_place(gpu)),
			.what = str_z(t->what), .unit = str_z(t->unit),
			.name = catalog_numbered(name, sizeof(name), str_z(t->name), gpu),
			.rule = t->rule,
			.max = t->rule == R_PERCENT ? 100 :
			       t->read == read_memory ? vram_all() : UINT64_MAX
		};
		struct gpucounter g = { .read = t->read, .gpu = (u16)gpu, .recommended = t };
		u32 i;

		if (!catalog_find(to.name, &i))
			add(&g, &to);
	}
}

/* --- readings --------------------------------------------------------------------------------- */

static void gpus_read(void)
{
	if (gpulist.sampled)
		gpus_sample();
	else
		gpus_start();
	gpulist.sampled = sys_now(CLOCK_MONOTONIC);
	places_add();
}

static bool has_new_device(void)
{
	return gpulist.ngpus < MAX_DEVICES && new_device() != NONE;
}

/* Searches for new devices in the folders of /sys. Reads all GPUs and scans the processes for DRM
 * clients, which have values such as the busy times of engines: at the first call, if there is a
 * new device, and once a second while no counter is open or no device is known. */
static void scan_gpus(void)
{
	if (gpulist.sampled)
		src_sysfs.scan();
	if (!gpulist.sampled || has_new_device() ||
	    ((gpulist.nopen == 0 || gpulist.ngpus == 0) &&
	     sys_now(CLOCK_MONOTONIC) - gpulist.sampled > SCAN_INTERVAL))
		gpus_read();
	if (gpulist.nopen == 0)
		files_close();
}

static void recommend_gpus(void)
{
	scan_gpus();
	recommend(driver_names, LEN(driver_names), 0);
	for (u32 i = 0; i == 0 || i < gpulist.nnumbers; i++)
		recommend(gpu_names, LEN(gpu_names), i);
	recommend(total_names, LEN(total_names), 0);
}

/* Returns the index in gpulist.gpus[] of the GPU whose OA unit or driver events supply the value of
 * a counter with a recommended name. For a name without GPU number, such as "Primitive count", this
 * is the first GPU with an OA unit or with events of its driver. */
static u32 counting_gpu(const struct gpucounter *c)
{
	u32 x = c->gpu;

	while (c->read == read_nothing && !has_oa(number_place(x)) &&
	       !event_driver(number_place(x)) && x + 1 < gpulist.nnumbers)
		x++;
	return number_place(x);
}

/* Sets c->provider to the provider that has the value of a counter with a recommended name
 * (KHR_perfcounter), such as "GPU 0 utilization", on this machine; NULL: the registry has the
 * value. Called when the counter is opened. */
static void provider_select(struct gpucounter *c)
{
	const struct eventdriver *d;
	u32 gpu;

	c->provider = NULL;
	if (!c->recommended || c->recommended->provider == PROVIDER_GPU)
		return;
	if (c->recommended->provider == PROVIDER_EVENT) {
		c->provider = &provider_event;
		c->at = event_slot(frame_events(number_device(c->gpu)));
		return;
	}
	gpu = counting_gpu(c);
	if (has_oa(gpu)) {
		c->provider = &provider_oa;
		c->at = oa_slot(gpu, c->recommended->oa);
	} else if (c->recommended->events[0] && (d = event_driver(gpu))) {
		c->provider = d->row;
		c->at = driver_slot(d->provider, str_z(c->recommended->events[d->event]));
	}
}

/* Returns true if a counter of provider_gpu counts an event of the driver v3d or msm, because other
 * programs cannot count that event at the same time. */
bool gpu_counter_exclusive(u32 at)
{
	const struct gpucounter *c = &gpulist.counters[at];
	u32 gpu;

	if (!c->recommended || !c->recommended->events[0])
		return false;
	gpu = counting_gpu(c);
	return !has_oa(gpu) && event_driver(gpu);
}

static long counter_open(u32 at)
{
	struct gpucounter *c = &gpulist.counters[at];

	provider_select(c);
	gpulist.nopen += !c->provider;
	return c->provider ? c->provider->open(c->at) : 0;
}

static const char *counter_reason(u32 at)
{
	const struct gpucounter *c = &gpulist.counters[at];

	return c->provider && c->provider->reason ? c->provider->reason(c->at) : NULL;
}

static void counter_close(u32 at)
{
	struct gpucounter *c = &gpulist.counters[at];

	if (c->provider)
		c->provider->close(c->at);
	else if (--gpulist.nopen == 0)
		files_close();
}

/* Reads all GPUs if counters with values from the registry are open. While there is no device, only
 * /sys is searched: the processes are not scanned for DRM clients. */
static void sample_gpus(bool due)
{
	if (!gpulist.nopen || !due)
		return;
	if (gpulist.ngpus == 0)
		src_sysfs.scan();
	if (gpulist.ngpus || has_new_device())
		gpus_read();
}

static long counter_read(u32 at, u64 *v, u64 *total)
{
	const struct gpucounter *c = &gpulist.counters[at];

	if (c->provider)
		return c->provider->read(c->at, v, total);
	return c->read(c, c->recommended ? number_device(c->gpu) : gpu_device(c->gpu), v) ?
	       0 : -ENOENT;
}

const struct provider provider_gpu = {
	.prefix = STR("drm/"),
	.find = { [FIND_RECOMMENDED] = recommend_gpus, [FIND_ALL] = list_gpus },
	.open = counter_open, .close = counter_close, .sample = sample_gpus, .read = counter_read,
	.reason = counter_reason,
};
