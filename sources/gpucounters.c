/* gpucounters.c - of the catalogue: what the registry knows of GPUs, and what the extension recommends to tell of them.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum {
	MAX_GPU_COUNTERS = 8192, /* 64 devices with 128 each */
	NAME_CAP = 512,
	LATELY = 1000000000,     /* ns: how often the list looks for what clients bring along */
};

/* --- devices and their numbers ------------------------------------------------------------------------------ */

/* GPUs, NPUs and display controllers. One that went has its place still, for when it comes again. */
static char gpus[MAX_DEVICES][sizeof(devices[0].dev)];
static u32 ngpus;

/* GPU number X is the one at this place. */
static u32 numbers[MAX_DEVICES], nnumbers;

static u32 gpu_index(u32 gpu)
{
	for (u32 i = NONE; gpu < ngpus && (i = device_next(i, false)) != NONE;)
		if (strcmp(devices[i].dev, gpus[gpu]) == 0)
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
	for (u32 i = 0; i < ngpus; i++)
		if (strcmp(gpus[i], d->dev) == 0)
			return true;
	return false;
}

/* Not a display controller, which cannot render, nor an NPU, of which one has the nodes of a GPU. */
static bool is_gpu(const struct device *d)
{
	return d->accel < 0 && (d->render >= 0 || d->card < 0) && strcmp(d->driver, "RKNPU") != 0;
}

static u32 place_of(u32 number)
{
	return number < nnumbers ? numbers[number] : MAX_DEVICES;
}

static const struct device *gpu_of(u32 number)
{
	return gpu_device(place_of(number));
}

static void number(u32 place)
{
	const struct device *d = gpu_device(place);

	for (u32 i = 0; i < nnumbers; i++)
		if (numbers[i] == place)
			return;
	if (d && is_gpu(d))
		numbers[nnumbers++] = place;
}

/* The first of those that have none; NONE: there is no other. */
static u32 next_new(void)
{
	u32 next = NONE;

	for (u32 i = NONE; (i = device_next(i, false)) != NONE;)
		if (!has_place(&devices[i]) &&
		    (next == NONE || device_order(&devices[i], &devices[next]) < 0))
			next = i;
	return next;
}

/* New ones in their order behind those that have their place. */
static void place_gpus(void)
{
	u32 next;

	while (ngpus < MAX_DEVICES && (next = next_new()) != NONE)
		memcpy(gpus[ngpus++], devices[next].dev, sizeof(gpus[0]));
	reg_dropped += next_new() != NONE;
	for (u32 i = 0; i < ngpus; i++)
		number(i);
}

static struct str vendor_of(u32 gpu)
{
	const struct device *d = gpu_device(gpu);

	return d && d->driver[0] ? str_z(d->driver) : S("linux");
}

/* --- what a counter is ---------------------------------------------------------------------------------------- */

struct gpucounter;
typedef bool read_fn(const struct gpucounter *c, const struct device *d, u64 *v);

static struct gpucounter {
	read_fn *read; /* d: the GPU's; NULL: it went, or is none */
	u8 gpu, desc, wins;            /* gpu: its place; the number of those that are recommended */
	u16 inst;
	const struct graphic *graphic; /* of those that are recommended */
	const struct supplier *by;     /* who tells it, and as what: NULL: the registry */
	u32 at;
} *counters;
static TABLE(counters, MAX_GPU_COUNTERS, 64, "counters of GPUs");
static u32 ncounters, nopen; /* of nopen the registry tells */
static i64 sampled; /* ns */

static void rest(void)
{
	src_sysfs.rest();
	src_fdinfo.rest();
}

/* What the kernel says of the whole device comes before the sum over clients, which is no answer where that is unknown. */
static bool read_value(const struct gpucounter *c, const struct device *d, u64 *v)
{
	u8 wins = (u8)(c->wins - 1);

	return d && reg_get(&d->e, c->wins && reg_find(&d->e, wins, c->inst) ? wins : c->desc, c->inst, v);
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

/* The busiest engine of those that are meant. */
static bool busiest(const struct device *d, bool (*meant)(struct str driver, struct str engine), u64 *v)
{
	bool found = false;
	u64 busy;

	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c)) {
		if (!is_engine(c->desc) || !meant(str_z(d->driver), inst_name(c->inst)) || !engine_busy(&d->e, c->inst, &busy))
			continue;
		*v = found && *v > busy ? *v : busy;
		found = true;
	}
	return found;
}

/* The kernel's figure for all of it; else that of its busiest engine. */
static bool gpu_busy(const struct device *d, u64 *v)
{
	return device_busy(d, v) || busiest(d, any_engine, v);
}

static bool read_busy(const struct gpucounter *c, const struct device *d, u64 *v)
{
	(void)c;
	return d && gpu_busy(d, v);
}

/* Engines that do vertex or fragment work only, as drivers call them; elsewhere one engine does both. */
static const struct {
	char driver[9], engine[13];
	bool fragment;
} stages[] = {
	{ "panfrost", "vertex-tiler", false }, { "panfrost", "fragment", true },
	{ "mali*", "vertex*", false },         { "mali*", "fragment*", true },
	{ "lima", "gp", false },               { "lima", "pp*", true },
	{ "v3d", "bin", false }, /* binning runs the coordinate shaders */
	{ "v3d", "render", true },
};

static bool is_stage(struct str driver, struct str engine, bool fragment)
{
	for (size_t i = 0; i < LEN(stages); i++)
		if (stages[i].fragment == fragment && glob_match(str_z(stages[i].driver), driver, NULL) &&
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
	return d && busiest(d, is_vertex, v);
}

static bool read_fragment(const struct gpucounter *c, const struct device *d, u64 *v)
{
	(void)c;
	return d && busiest(d, is_fragment, v);
}

static bool read_driver(const struct gpucounter *c, const struct device *unused, u64 *v)
{
	bool found = false;
	u64 busy;

	(void)c;
	(void)unused;
	for (u32 i = 0; i < nnumbers; i++) {
		const struct device *d = gpu_of(i);

		if (!d || !gpu_busy(d, &busy))
			continue;
		*v = found && *v > busy ? *v : busy;
		found = true;
	}
	return found;
}

static bool read_memory(const struct gpucounter *c, const struct device *unused, u64 *v)
{
	bool found = false;
	u64 used;

	(void)c;
	(void)unused;
	*v = 0;
	for (u32 i = 0; i < nnumbers; i++) {
		const struct device *d = gpu_of(i);

		if (!d || !entity_used(&d->e, d->apu, &used))
			continue;
		*v = *v + used < used ? UINT64_MAX : *v + used;
		found = true;
	}
	return found;
}

/* --- the list --------------------------------------------------------------------------------------------------- */

static void add(const struct gpucounter *c, const struct naming *n)
{
	if (catalog_has(n->vendor, n->name))
		return;
	if (!table_has(&counters_table, ncounters)) {
		reg_dropped++;
		return;
	}
	counters[ncounters] = *c;
	catalog_add(SUP_GPU, ncounters++, n);
}

/* drm/DEVICE/INSTANCE/QUANTITY */
static void add_native(const struct gpucounter *c, struct str inst, const char *quantity, struct naming *n)
{
	char name[NAME_CAP];
	struct buf b = BUF(name);

	put_z(&b, "drm/");
	put_text(&b, str_z(gpus[c->gpu]));
	put_c(&b, '/');
	put_text(&b, inst.p < inst.e ? inst : S("-"));
	put_c(&b, '/');
	put_z(&b, quantity);
	n->vendor = vendor_of(c->gpu);
	n->name = (struct str){ name, name + b.n };
	add(c, n);
	n->name = (struct str){ 0 };
}

enum {
	IN_NOTHING, IN_BYTES, IN_HZ, IN_NS, IN_PERCENT, IN_MS, IN_MILLIC, IN_MICROW, IN_MICROJ, IN_RPM, IN_MILLIV, IN_MILLIA, IN_GTS
};
static const char units_of[][9] = {
	[IN_NOTHING] = "", [IN_BYTES] = "bytes", [IN_HZ] = "Hz", [IN_NS] = "ns", [IN_PERCENT] = "%", [IN_MS] = "ms",
	[IN_MILLIC] = "mC", [IN_MICROW] = "uW", [IN_MICROJ] = "uJ", [IN_RPM] = "rpm", [IN_MILLIV] = "mV", [IN_MILLIA] = "mA",
	[IN_GTS] = "0.1 GT/s",
};

/* What is read as it is. wins: of the same name, where there is one, the desc + 1. */
static const struct quantity {
	u8 desc, wins;
	u8 max; /* desc that is its limit; 0: none */
	u8 rule;
	bool is_signed;
	u8 unit;
	const char *name, *what;
	char inst[8]; /* "": the counter's own */
} quantities[] = {
	{ D_SUM_NS, D_BUSY_NS + 1, 0, R_COUNT, false, IN_NS, "busy_time", "busy time of the engine", "" },
	{ D_BUSY_NS, 0, 0, R_COUNT, false, IN_NS, "busy_time", "busy time of the engine", "" },
	{ D_SUM_CYCLES, D_CYCLES + 1, 0, R_COUNT, false, IN_NOTHING, "cycles", "busy cycles of the engine", "" },
	{ D_CYCLES, 0, 0, R_COUNT, false, IN_NOTHING, "cycles", "busy cycles of the engine", "" },
	{ D_CAPACITY, 0, 0, R_LEVEL, false, IN_NOTHING, "capacity", "engines of this kind", "" },
	{ D_MAXFREQ, 0, 0, R_LEVEL, false, IN_HZ, "maxfreq", "highest clock of the engine", "" },
	{ D_CURFREQ, 0, 0, R_LEVEL, false, IN_HZ, "curfreq", "present clock of the engine", "" },
	{ D_SUM_TOTAL, D_TOTAL + 1, 0, R_LEVEL, false, IN_BYTES, "total", "all buffers in this memory", "" },
	{ D_SUM_SHARED, D_SHARED + 1, 0, R_LEVEL, false, IN_BYTES, "shared", "buffers that several clients share", "" },
	{ D_SUM_RESIDENT, D_RESIDENT + 1, 0, R_LEVEL, false, IN_BYTES, "resident", "buffers in this memory now", "" },
	{ D_SUM_PURGEABLE, D_PURGEABLE + 1, 0, R_LEVEL, false, IN_BYTES, "purgeable", "buffers that may be dropped", "" },
	{ D_SUM_ACTIVE, D_ACTIVE + 1, 0, R_LEVEL, false, IN_BYTES, "active", "buffers that an engine uses", "" },
	{ D_RESIDENT, 0, 0, R_LEVEL, false, IN_BYTES, "resident", "buffers in this memory now", "" },
	{ D_VRAM_TOTAL, 0, 0, R_LEVEL, false, IN_BYTES, "size", "video memory", "vram" },
	{ D_VRAM_USED, 0, D_VRAM_TOTAL, R_LEVEL, false, IN_BYTES, "used", "video memory in use", "vram" },
	{ D_VISIBLE_TOTAL, 0, 0, R_LEVEL, false, IN_BYTES, "size", "video memory that the CPU can reach", "visible" },
	{ D_VISIBLE_USED, 0, D_VISIBLE_TOTAL, R_LEVEL, false, IN_BYTES, "used", "the same in use", "visible" },
	{ D_GTT_TOTAL, 0, 0, R_LEVEL, false, IN_BYTES, "size", "main memory for the GPU", "gtt" },
	{ D_GTT_USED, 0, D_GTT_TOTAL, R_LEVEL, false, IN_BYTES, "used", "main memory that the GPU uses", "gtt" },
	{ D_PREEMPT_USED, 0, 0, R_LEVEL, false, IN_BYTES, "used", "buffers of preempted work", "preempt" },
	{ D_FREQ_CUR, 0, 0, R_LEVEL, false, IN_HZ, "freq", "present clock; i915, xe: requested", "" },
	{ D_FREQ_ACT, 0, 0, R_LEVEL, false, IN_HZ, "freq_act", "actual clock, 0 while asleep", "" },
	{ D_FREQ_TARGET, 0, 0, R_LEVEL, false, IN_HZ, "freq_target", "clock that the governor asked for", "" },
	{ D_FREQ_MIN, 0, 0, R_LEVEL, false, IN_HZ, "freq_min", "lower limit of the clock", "" },
	{ D_FREQ_MAX, 0, 0, R_LEVEL, false, IN_HZ, "freq_max", "upper limit of the clock", "" },
	{ D_LOAD, 0, 0, R_PERCENT, false, IN_PERCENT, "load", "load of a part of the device", "" },
	{ D_IDLE_MS, 0, 0, R_COUNT, false, IN_MS, "idle_time", "time in the deepest sleep", "" },
	{ D_TEMP, 0, 0, R_LEVEL, true, IN_MILLIC, "temp", "temperature", "" },
	{ D_POWER, 0, 0, R_LEVEL, false, IN_MICROW, "power", "power", "" },
	{ D_ENERGY, 0, 0, R_COUNT, false, IN_MICROJ, "energy", "energy", "" },
	{ D_ENERGY, 0, 0, R_RATE, false, IN_MICROW, "power", "power, from energy", "" },
	{ D_FAN, 0, 0, R_LEVEL, false, IN_RPM, "fan", "fan speed", "" },
	{ D_PWM, 0, 0, R_LEVEL, false, IN_NOTHING, "pwm", "fan control, 0 to 255", "" },
	{ D_VOLT, 0, 0, R_LEVEL, true, IN_MILLIV, "volt", "voltage", "" },
	{ D_CURRENT, 0, 0, R_LEVEL, true, IN_MILLIA, "current", "current", "" },
	{ D_THROTTLE, 0, 0, R_LEVEL, false, IN_NOTHING, "throttle", "1: this reason to throttle holds now", "" },
	{ D_LINK_SPEED, 0, 0, R_LEVEL, false, IN_GTS, "speed", "PCIe link", "link" },
	{ D_LINK_WIDTH, 0, 0, R_LEVEL, false, IN_NOTHING, "width", "PCIe lanes", "link" },
};

static void list_quantity(const struct device *d, const struct quantity *q, u8 gpu)
{
	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c)) {
		struct naming n = { .what = str_z(q->what), .unit = str_z(units_of[q->unit]), .rule = q->rule, .is_signed = q->is_signed,
				    .max = UINT64_MAX };
		struct gpucounter g = { .read = read_value, .gpu = gpu, .desc = q->desc, .wins = q->wins, .inst = c->inst };

		if (c->desc != q->desc)
			continue;
		if (q->rule == R_PERCENT)
			n.max = 100;
		else if (q->max && (!reg_get(&d->e, q->max, c->inst, &n.max) || n.max == 0))
			n.max = UINT64_MAX;
		add_native(&g, q->inst[0] ? str_z(q->inst) : inst_name(c->inst), q->name, &n);
	}
}

/* What follows from several counters. */
static const struct derived {
	read_fn *read;
	const char *name, *unit, *what;
	u8 rule;
} of_device[] = {
	{ read_busy, "busy", "%", "busy time: the kernel's figure for the device, or that of its busiest engine", R_PERCENT },
	{ read_idle, "idle", "%", "time in the deepest sleep", R_PERCENT },
	{ read_used, "used", "bytes", "memory in use: video memory if it has any; all on APUs", R_LEVEL },
	{ read_clients, "clients", "", "DRM clients", R_LEVEL },
}, of_engine = { read_engine, "busy", "%", "busy time of the engine, of its capacity", R_PERCENT },
  of_cycles[] = {
	{ read_util, "util", "%", "cycles of the engine, of those at its highest clock", R_PERCENT },
	{ read_freq, "freq", "Hz", "mean clock of the engine while busy", R_LEVEL },
};

static void add_derived(const struct derived *t, u8 gpu, u16 inst)
{
	struct naming n = { .what = str_z(t->what), .unit = str_z(t->unit), .rule = t->rule,
			    .max = t->rule == R_PERCENT ? 100 : UINT64_MAX };
	struct gpucounter g = { .read = t->read, .gpu = gpu, .inst = inst };

	add_native(&g, inst_name(inst), t->name, &n);
}

static void list_gpu(u8 gpu)
{
	const struct device *d = gpu_device(gpu);

	if (!d)
		return;
	for (size_t i = 0; i < LEN(of_device); i++)
		add_derived(&of_device[i], gpu, 0);
	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c)) {
		if (is_engine(c->desc))
			add_derived(&of_engine, gpu, c->inst);
		for (size_t i = 0; i < LEN(of_cycles) && c->desc == D_SUM_CYCLES; i++)
			if (reg_find(&d->e, D_MAXFREQ, c->inst))
				add_derived(&of_cycles[i], gpu, c->inst);
	}
	for (size_t i = 0; i < LEN(quantities); i++)
		list_quantity(d, &quantities[i], gpu);
}

static void list_gpus(void)
{
	for (u32 i = 0; i < ngpus; i++)
		list_gpu((u8)i);
}

/* --- what the extension recommends -------------------------------------------------------------------------------- */

/* Frames that were shown: tracepoints that count whichever device, so that it must be the only one. */
static const struct {
	const char *driver, *events;
} flips[] = {
	{ "i915", "i915:intel_pipe_update_end" },
	{ "xe", "i915:intel_pipe_update_end xe:intel_pipe_update_end" },
};

/* Whether /sys/class/drm has card0-HDMI-A-1 and its like. */
static bool has_connectors(const struct device *d)
{
	struct dir dir;
	const char *name;
	bool found = false;

	if (d->card < 0 || dir_open(&dir, root_sys, "class/drm") < 0)
		return false;
	while (!found && (name = dir_next(&dir))) {
		struct str s = str_z(name);

		found = str_skip_z(&s, d->dev) && s.p < s.e && *s.p == '-';
	}
	dir_close(&dir);
	return found;
}

static bool is_only(const struct device *d, bool of_driver)
{
	for (u32 i = NONE; (i = device_next(i, false)) != NONE;)
		if (&devices[i] != d && has_connectors(&devices[i]) &&
		    (!of_driver || strcmp(devices[i].driver, d->driver) == 0))
			return false;
	return has_connectors(d);
}

/* What shows its frames: where it has no connectors, a display controller, if there is no other GPU. */
static const struct device *display_of(const struct device *gpu)
{
	for (u32 i = NONE; nnumbers == 1 && !has_connectors(gpu) && (i = device_next(i, false)) != NONE;)
		if (has_connectors(&devices[i]))
			return &devices[i];
	return gpu;
}

/* Empty: none tells. */
static const char *frame_events(const struct device *gpu)
{
	const struct device *d = gpu ? display_of(gpu) : NULL;

	if (!d)
		return "";
	for (size_t i = 0; i < LEN(flips); i++)
		if (strcmp(d->driver, flips[i].driver) == 0 && is_only(d, true))
			return flips[i].events;
	return is_only(d, false) ? "drm:drm_vblank_event_delivered" : "";
}

/* Of the feature oa: NULL where it is left out. */
#pragma weak sup_oa
#pragma weak oa_slot

/* Intel's OA units tell what the others do not. */
static bool has_oa(u32 gpu)
{
	struct str driver = vendor_of(gpu);

	return oa_slot && (str_is(driver, "i915") || str_is(driver, "xe"));
}

/* Section 3.5 of the extension, and frames, which it counts in section 1. X: the GPU's number. */
static const struct graphic {
	const char *name, *what, *unit;
	u8 rule;
	u8 by;          /* who tells it, too: SUP_OA, SUP_EVENT */
	read_fn *read;
	const char *oa; /* counters of OA sets, of old hardware and of new */
} first[] = {
	{ "Graphic driver utilization", "busy time of the busiest GPU", "%", R_PERCENT, SUP_GPU, read_driver, NULL },
}, of_gpu[] = {
	{ "GPU X utilization", "busy time of the GPU: the kernel's figure, or that of its busiest engine", "%", R_PERCENT, SUP_GPU,
	  read_busy, NULL },
	{ "GPU X vertex processors utilization", "time of vertex work: engines that do no other, or EUs by Intel's OA unit", "%",
	  R_PERCENT, SUP_OA, read_vertex, "VsEuActive VsFpu0Active VsFpuActive" },
	{ "GPU X fragment processors utilization", "time of fragment work: engines that do no other, or EUs by Intel's OA unit", "%",
	  R_PERCENT, SUP_OA, read_fragment, "PsEuActive PsFpu0Active PsFpuActive" },
	{ "GPU X frames / sec", "frames shown, by tracepoints of its display", "1/s", R_RATE, SUP_EVENT, read_nothing, NULL },
}, last[] = {
	{ "GPU memory usage", "memory that GPUs use: video memory, else all", "bytes", R_LEVEL, SUP_GPU, read_memory, NULL },
	{ "Primitive count", "primitives drawn, by Intel's OA unit", "", R_COUNT, SUP_OA, read_nothing,
	  "IA_PRIMITIVE CLIPPER_PRIMITIVE_OUTPUT" },
	{ "Culled primitive count", "primitives culled, by Intel's OA unit", "", R_COUNT, SUP_OA, read_nothing,
	  "CLIPPER_PRIMITIVE_CULL STRIPSFAN_OBJECT_CULL" },
};

/* The total where every GPU has one: what it is at first stays the limit. */
static u64 vram_all(void)
{
	u64 sum = 0, v;

	for (u32 i = 0; i < nnumbers; i++) {
		const struct device *d = gpu_of(i);

		if (!d || d->apu || !reg_get(&d->e, D_VRAM_TOTAL, 0, &v))
			return UINT64_MAX;
		sum += v;
	}
	return sum ? sum : UINT64_MAX;
}

/* GPU 0's are there from the first, whichever driver it turns out to have. */
static void recommend(const struct graphic *t, size_t n, u32 gpu)
{
	for (; n > 0; n--, t++) {
		char name[64];
		struct naming to = { .vendor = vendor_of(place_of(gpu)), .what = str_z(t->what), .unit = str_z(t->unit),
				     .name = catalog_numbered(name, sizeof(name), str_z(t->name), gpu), .rule = t->rule,
				     .max = t->rule == R_PERCENT ? 100 : t->read == read_memory ? vram_all() : UINT64_MAX };
		struct gpucounter g = { .read = t->read, .gpu = (u8)gpu, .graphic = t };
		u32 i;

		if (!catalog_find(to.name, &i))
			add(&g, &to);
	}
}

static void recommend_gpus(void)
{
	recommend(first, LEN(first), 0);
	for (u32 i = 0; i == 0 || i < nnumbers; i++)
		recommend(of_gpu, LEN(of_gpu), i);
	recommend(last, LEN(last), 0);
}

/* --- readings ----------------------------------------------------------------------------------------------------- */

static void read_gpus(void)
{
	if (sampled)
		gpus_sample();
	else
		gpus_start();
	sampled = sys_now(CLOCK_MONOTONIC);
	place_gpus();
}

static bool is_new(void)
{
	return ngpus < MAX_DEVICES && next_new() != NONE;
}

/* Folders of devices are looked at each time; processes, for what clients bring along, only once in a while. */
static void scan_gpus(void)
{
	if (sampled)
		src_sysfs.scan();
	if (!sampled || is_new() || ((nopen == 0 || ngpus == 0) && sys_now(CLOCK_MONOTONIC) - sampled > LATELY))
		read_gpus();
	if (nopen == 0)
		rest();
}

/* Who tells it instead of the registry, from now on. */
static void delegate(struct gpucounter *c)
{
	u32 x = c->gpu, gpu;

	c->by = NULL;
	if (!c->graphic || c->graphic->by == SUP_GPU)
		return;
	if (c->graphic->by == SUP_EVENT) {
		c->by = &sup_event;
		c->at = event_slot(frame_events(gpu_of(x)));
		return;
	}
	while (c->read == read_nothing && !has_oa(place_of(x)) && x + 1 < nnumbers)
		x++; /* of the first GPU that can tell */
	gpu = place_of(x);
	if (has_oa(gpu)) {
		c->by = &sup_oa;
		c->at = oa_slot(gpu, c->graphic->oa);
	}
}

static long open_gpu(u32 at)
{
	struct gpucounter *c = &counters[at];

	delegate(c);
	nopen += !c->by;
	return c->by ? c->by->open(c->at) : 0;
}

static void close_gpu(u32 at)
{
	struct gpucounter *c = &counters[at];

	if (c->by)
		c->by->close(c->at);
	else if (--nopen == 0)
		rest();
}

/* Where there is no GPU, no process is searched for its clients. */
static void sample_gpus(bool anew)
{
	if (!nopen || !anew)
		return;
	if (ngpus == 0)
		src_sysfs.scan();
	if (ngpus || is_new())
		read_gpus();
}

static long value_of(u32 at, u64 *v, u64 *of)
{
	const struct gpucounter *c = &counters[at];

	if (c->by)
		return c->by->read(c->at, v, of);
	return c->read(c, c->graphic ? gpu_of(c->gpu) : gpu_device(c->gpu), v) ? 0 : -ENOENT;
}

const struct supplier sup_gpu = {
	.prefix = STR("drm/"), .scan = scan_gpus, .recommend = recommend_gpus, .list = list_gpus,
	.open = open_gpu, .close = close_gpu, .sample = sample_gpus, .read = value_of,
};
