/* virtual.c - virtual counters, which gpustat reads itself and lists like perf events: engines of
 * DRM clients, hwmon channels, fields of /proc, perf's tool events, and the events of GPU drivers.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"
#include "sources/perf/perf.h"
#include "sources/host/host.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

/* weak symbol, because vcio.c (Raspberry Pi) can be left out of the binary */
#pragma weak src_vcio

/* maximum number of virtual counters: more than the usual limit of open files, since each hwmon
 * counter needs a file */
enum { MAX_VIRTUAL = 1025 };

struct virt {
	const struct vkind *kind;
	/* number of the counter within its kind: for tool events the index in tools[]; for /proc
	 * the number of the file from procfield_find(); for events of GPU drivers the number from
	 * gpuevent_find() */
	u16 which;
	struct channel_file channel; /* hwmon: the open file of the channel */
	u32 device;       /* GPU engines: index of the GPU in devices[] */
	u8 n;             /* length of the text in name[], in bytes */
	char name[MAX_NAME]; /* NAME in the event SOURCE/NAME/: engines and /proc are read by it */
};

/* One kind of virtual counters, for example hwmon or /proc. */
struct vkind {
	char source[7]; /* pattern that SOURCE of the kind's events SOURCE/NAME/ matches */
	/* Adds the counter SOURCE/NAME/ with virt_new(), and fills in ev. False: there is no such
	 * counter. */
	bool (*find)(struct str source, struct str name, struct event *ev);
	/* stores the value of the counter; returns false if the counter has no value now */
	bool (*read)(struct virt *v, u64 *value);
	/* The following members may be NULL. */
	/* opens the files that list() needs; called before the process enters its sandbox */
	void (*prepare)(void);
	void (*list)(void); /* calls virtuals.show_event() for each counter of this kind */
	void (*start)(void); /* prepares the kind's counters; is called before the first reading */
	/* reads the source of all counters of the kind; is called once per reading */
	void (*sample)(void);
	/* reads the GPU's counters before they wrap around; is called at the time *due */
	void (*drain)(void);
	const i64 *due; /* time of the next call of drain(): ns of CLOCK_MONOTONIC; -1: never */
	/* returns an enum cstate: CS_COUNTED, or the reason why the counter is not counted */
	u8 (*state)(const struct virt *v);
};

static struct {
	struct virt *rows; /* rows of all virtual counters; the first row has index 1 */
	u32 n;
	const struct vkind *finding; /* the kind of counter whose find() runs now */
	bool gpus_started;
	/* Callback of virtual_list(), which is called with each counter that is listed. */
	void (*show_event)(struct str name, struct str unit, struct str what);
	struct table table;
} virtuals = {
	.table = TABLE_ROW(virtuals.rows, MAX_VIRTUAL, 26, "counters of our own"),
};

static struct virt *virt_new(struct str name, struct event *ev)
{
	struct virt *v;

	if (str_len(name) > sizeof(v->name) || !table_has(&virtuals.table, virtuals.n + 1)) {
		registry.dropped++;
		return NULL;
	}
	v = &virtuals.rows[virtuals.n + 1];
	*v = (struct virt){ .kind = virtuals.finding, .channel = { .fd = -1, .state = -1 },
			    .n = (u8)str_len(name) };
	if (name.p)
		memcpy(v->name, name.p, str_len(name));
	ev->virt = (u16)++virtuals.n;
	return v;
}

static struct str virt_name(const struct virt *v)
{
	return (struct str){ v->name, v->name + v->n };
}

static void set_unit(struct event *ev, const char *unit, u8 point)
{
	if (unit)
		ev->unit = text_put(ev->unit, str_z(unit));
	ev->scale = point ? 1 : 0;
	ev->scale_point = point;
}

static void list_in(const char *source, struct str name, const char *unit, const char *what)
{
	char text[MAX_NAME + 160];
	struct buf b = BUF(text);

	put_text(&b, str_z(source));
	put_c(&b, '/');
	put_text(&b, name);
	put_c(&b, '/');
	if (!b.full)
		virtuals.show_event((struct str){ text, text + b.n }, str_z(unit), str_z(what));
}

/* --- tool events, as in perf ------------------------------------------------------------------ */

static const char tools[][14] = { "duration_time", "user_time", "system_time" };

static bool tool_find(struct str source, struct str name, struct event *ev)
{
	(void)source;
	for (size_t i = 0; i < LEN(tools); i++)
		if (str_is(name, tools[i])) {
			struct virt *v = virt_new(name, ev);

			if (!v)
				return false;
			v->which = (u16)i;
			/* as in perf: tool events have the type and config of the dummy event */
			ev->type = PT_SOFTWARE;
			ev->config[0] = 9;
			set_unit(ev, "ns", 0);
			return true;
		}
	return false;
}

static bool tool_read(struct virt *at, u64 *v)
{
	u64 user = 0, system = 0;

	if (at->which == 0) {
		*v = (u64)sys_now(CLOCK_MONOTONIC);
		return true;
	}
	if (sys_rusage_children(&user, &system) < 0)
		return false;
	*v = at->which == 1 ? user : system;
	return true;
}

static void tool_list(void)
{
	for (size_t i = 0; i < LEN(tools); i++)
		virtuals.show_event(str_z(tools[i]), S("ns"), S("tool event"));
}

/* --- /proc ------------------------------------------------------------------------------------ */

static bool proc_find(struct str source, struct str name, struct event *ev)
{
	const char *unit;
	struct virt *v;
	bool level;
	u8 file;

	(void)source;
	if (!procfield_find(name, &file, &level, &unit))
		return false;
	v = virt_new(name, ev);
	if (!v)
		return false;
	v->which = file;
	ev->rule = level ? R_LEVEL : R_COUNT;
	set_unit(ev, unit, 0);
	return true;
}

static bool proc_read(struct virt *at, u64 *v)
{
	return procfield_read((u8)at->which, virt_name(at), v);
}

static void list_proc(struct str name, const char *unit, bool level)
{
	list_in("proc", name, unit, level ? "level" : "counter");
}

static void proc_list(void)
{
	procfield_list(list_proc);
}

/* --- hwmon, Documentation/hwmon/sysfs-interface.rst ------------------------------------------- */

/* True if SOURCE of an event SOURCE/NAME/ selects the hwmon chip in folder dir. SOURCE can be
 * "hwmon_NAME" with the chip's name, the name of the folder, such as "hwmon3", or "hwmon" for any
 * chip. */
static bool hwmon_matches(struct str source, const char *dir)
{
	char b[128];
	struct str name;

	if (str_is(source, "hwmon") || str_is(source, dir))
		return true;
	return str_skip_z(&source, "hwmon_") &&
	       slurp_line(roots.sys, hwmon_path(dir, S("name"), ""), b, sizeof(b), &name) &&
	       str_eq(source, name);
}

/* True if SOURCE of an event also selects an hwmon chip other than that in folder dir: several
 * chips may have the same name. */
static bool hwmon_others(struct str source, const char *dir)
{
	struct dir d;
	const char *other;
	bool found = false;

	if (dir_open(&d, roots.sys, HWMON_DIR) < 0)
		return false;
	while (!found && (other = dir_next(&d)))
		found = strcmp(other, dir) != 0 && hwmon_matches(source, other);
	dir_close(&d);
	return found;
}

static bool hwmon_find(struct str source, struct str name, struct event *ev)
{
	const struct channel *c = channel_find(name);
	const char *dir;
	struct dir d;
	struct channel_file file = { .fd = -1 };

	if (!c || dir_open(&d, roots.sys, HWMON_DIR) < 0)
		return false;
	while (file.fd < 0 && (dir = dir_next(&d)))
		if (hwmon_matches(source, dir) && channel_open(&file, dir, name) == 0) {
			struct virt *v = virt_new(name, ev);

			if (!v) {
				channel_close(&file);
				break;
			}
			v->channel = file;
			ev->rule = c->rule;
			set_unit(ev, c->unit, c->point);
		}
	dir_close(&d);
	return ev->virt != 0;
}

static bool hwmon_read(struct virt *at, u64 *v)
{
	return channel_read(&at->channel, v);
}

static void list_hwmon(const char *dir)
{
	char b[128], source[160] = "hwmon_";
	struct buf to = { .p = source, .n = 6, .cap = sizeof(source) - 1 };
	struct str name;
	struct dir d;
	const char *leaf;

	if (!slurp_line(roots.sys, hwmon_path(dir, S("name"), ""), b, sizeof(b), &name) ||
	    dir_open(&d, roots.sys, hwmon_path(dir, S("."), "")) < 0)
		return;
	put_str(&to, name);
	source[to.n] = '\0';
	if (hwmon_others(str_z(source), dir))
		str_copy(source, sizeof(source), str_z(dir));
	while ((leaf = dir_next(&d))) {
		struct str s = str_z(leaf), chan;
		const struct channel *c;

		str_cut(&s, '_', &chan);
		c = channel_find(chan);
		if (c && (str_is(s, "input") || str_is(s, "average")))
			list_in(source, chan, c->unit, c->what);
	}
	dir_close(&d);
}

static void hwmon_list(void)
{
	struct dir d;
	const char *dir;

	if (dir_open(&d, roots.sys, HWMON_DIR) < 0)
		return;
	while ((dir = dir_next(&d)))
		list_hwmon(dir);
	dir_close(&d);
}

/* Appends the name of the energy event of the first GPU that has a hwmon energy channel, for
 * example hwmon3/energy1/. False if no GPU has one. */
bool virtual_gpu_energy(struct buf *event)
{
	struct dir d;
	const char *dir;
	struct stat st;
	bool found = false;

	if (dir_open(&d, roots.sys, HWMON_DIR) < 0)
		return false;
	while (!found && (dir = dir_next(&d)))
		if (sys_fstatat(roots.sys, hwmon_path(dir, S("device/drm"), ""), &st) == 0 &&
		    sys_fstatat(roots.sys, hwmon_path(dir, S("energy1_input"), ""), &st) == 0) {
			put_z(event, dir);
			put_z(event, "/energy1/");
			found = true;
		}
	dir_close(&d);
	return found;
}

/* --- engines of DRM clients ------------------------------------------------------------------- */


void gpus_start(void)
{
	u8 was;

	if (virtuals.gpus_started)
		return;
	virtuals.gpus_started = registry.repeats = true;
	was = privilege_raise(MAY_READ | MAY_PTRACE);
	src_sysfs.start();
	if (HAS(vcio))
		src_vcio.start();
	src_fdinfo.start();
	privilege_lower(was);
	reg_sum_clients(false, true);
}

void gpus_sample(void)
{
	u8 was = privilege_raise(MAY_READ | MAY_PTRACE);

	src_sysfs.scan();
	src_sysfs.sample();
	if (HAS(vcio))
		src_vcio.sample();
	src_fdinfo.scan();
	src_fdinfo.sample();
	privilege_lower(was);
	reg_sum_clients(false, true);
}

bool (*virtual_filter)(u32 device, u32 place);

/* Returns the device's position in the order in which gpustat lists devices, from 0. */
static u32 gpu_place(u32 device)
{
	u32 n = 0;

	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		n += i != device && device_order(&devices[i], &devices[device]) < 0;
	return n;
}

static bool gpu_selected(u32 device)
{
	return devices[device].e.used && !devices[device].left_out &&
	       (!virtual_filter || virtual_filter(device, gpu_place(device)));
}

/* Returns N of the event source gpuN: the device's position among those that --device chose, from
 * 0. */
static u32 gpu_number(u32 device)
{
	u32 n = 0;

	for (u32 i = 1; i <= nrows.devices; i++)
		n += i != device && gpu_selected(i) &&
		     device_order(&devices[i], &devices[device]) < 0;
	return n;
}

/* Stores the busy time of an engine in *v: the kernel's counter for the whole device if there is
 * one, else the sum over the device's clients. False if the latest reading has no value. */
static bool engine_read(struct virt *at, u64 *v)
{
	bool found = false;

	for (struct counter *c = reg_first(&devices[at->device].e); c; c = reg_next(c)) {
		if ((c->desc != D_SUM_NS && c->desc != D_BUSY_NS) ||
		    !str_eq(inst_name(c->inst), virt_name(at)))
			continue;
		*v = reg_now(c);
		found = c->flags & CF_SEEN;
		if (c->desc == D_BUSY_NS)
			break;
	}
	return found;
}

static bool engine_find(struct str source, struct str name, struct event *ev)
{
	u64 n;

	if (!str_skip_z(&source, "gpu") || scan_u64(source, &n) != source.e || name.p == name.e)
		return false;
	gpus_start();
	for (u32 i = 1; i <= nrows.devices; i++)
		if (gpu_selected(i) && gpu_number(i) == n) {
			struct virt *v = virt_new(name, ev);

			if (!v)
				return false;
			/* accept an engine name that no client of the GPU has shown yet: engines
			 * are known only from the fdinfo of clients */
			v->device = i;
			set_unit(ev, "ns", 0);
			return true;
		}
	return false;
}

void virtual_engines(void (*found)(void *arg, struct str event), void *arg)
{
	gpus_start();
	for (u32 i = 1; i <= nrows.devices; i++)
		for (struct counter *c = gpu_selected(i) ? reg_first(&devices[i].e) : NULL; c;
		     c = reg_next(c)) {
			char text[MAX_NAME + 32];
			struct buf b = BUF(text);
			struct str name = inst_name(c->inst);

			if (c->desc != D_BUSY_NS &&
			    (c->desc != D_SUM_NS || reg_find(&devices[i].e, D_BUSY_NS, c->inst)))
				continue;
			put_z(&b, "gpu");
			put_u64(&b, gpu_number(i));
			put_c(&b, '/');
			put_str(&b, name);
			put_c(&b, '/');
			found(arg, (struct str){ text, text + b.n });
		}
}

static void list_engine(void *arg, struct str event)
{
	(void)arg;
	virtuals.show_event(event, S("ns"),
			    S("busy time of an engine, from DRM clients or the driver"));
}

static void engine_list(void)
{
	virtual_engines(list_engine, NULL);
}

static void engine_sample(void)
{
	if (virtuals.gpus_started)
		gpus_sample();
}

/* --- events that GPU drivers count: see gpuevents.c ------------------------------------------- */

FEATURED static bool gpuevent_add(struct str source, struct str name, struct event *ev)
{
	struct str unit;
	long number = gpuevent_find(source, name, &unit);
	struct virt *v = number < 0 ? NULL : virt_new((struct str){ 0 }, ev);

	if (!v)
		return false;
	v->which = (u16)number;
	ev->unit = str_len(unit) ? text_put(ev->unit, unit) : ev->unit;
	return true;
}

FEATURED static bool driver_read(struct virt *at, u64 *v)
{
	return gpuevent_value(at->which, v);
}

FEATURED static u8 driver_state(const struct virt *at)
{
	return gpuevent_state(at->which);
}

FEATURED static void list_driver(struct str event, struct str unit, struct str what)
{
	virtuals.show_event(event, unit, what);
}

FEATURED static void driver_list(void)
{
	gpuevents_list((struct str){ 0 }, list_driver);
}

/* --- virtual counters of all kinds ------------------------------------------------------------ */

static const struct vkind kinds[] = {
	{ "tool", .find = tool_find, .read = tool_read, .list = tool_list },
	{ "gpu?*", .find = engine_find, .read = engine_read, .prepare = gpus_start,
	  .list = engine_list, .sample = engine_sample },
	{ "hwmon*", .find = hwmon_find, .read = hwmon_read, .list = hwmon_list },
	{ "proc", .find = proc_find, .read = proc_read, .list = proc_list, .sample = host_begin },
#if HAS(gpuevents)
	{ "v3d", .find = gpuevent_add, .read = driver_read, .prepare = gpuevents_prepare,
	  .list = driver_list, .start = gpuevents_start, .sample = gpuevents_read,
	  .drain = gpuevents_read, .due = &gpuevents_due, .state = driver_state },
	{ "msm", .find = gpuevent_add, .read = driver_read, .state = driver_state },
#endif
};

static const struct vkind *kind_find(struct str source)
{
	for (size_t i = 0; i < LEN(kinds); i++)
		if (glob_match(str_z(kinds[i].source), source, NULL))
			return &kinds[i];
	return NULL;
}

bool virtual_source(struct str source)
{
	return kind_find(source);
}

/* Finds the virtual counter SOURCE/NAME/ and fills *ev. False if there is no such counter, or the
 * table is full. */
bool virtual_find(struct str source, struct str name, struct event *ev)
{
	virtuals.finding = kind_find(source);
	return virtuals.finding && virtuals.finding->find(source, name, ev);
}

void virtual_start(void)
{
	for (size_t i = 0; i < LEN(kinds); i++)
		if (kinds[i].start)
			kinds[i].start();
}

void virtual_sample(void)
{
	for (size_t i = 0; i < LEN(kinds); i++)
		if (kinds[i].sample)
			kinds[i].sample();
}

i64 virtual_due(void)
{
	i64 due = -1;

	for (size_t i = 0; i < LEN(kinds); i++)
		if (kinds[i].due && *kinds[i].due >= 0 && (due < 0 || *kinds[i].due < due))
			due = *kinds[i].due;
	return due;
}

void virtual_drain(void)
{
	for (size_t i = 0; i < LEN(kinds); i++)
		if (kinds[i].drain)
			kinds[i].drain();
}

/* Returns CS_COUNTED, or the reason (enum cstate) why a virtual counter cannot be counted. */
u8 virtual_state(const struct event *ev)
{
	const struct virt *at = &virtuals.rows[ev->virt];

	return at->kind->state ? at->kind->state(at) : CS_COUNTED;
}

/* Stores the present value of a virtual counter in *v. False if it has no value now. */
bool virtual_read(const struct event *ev, u64 *v)
{
	struct virt *at = &virtuals.rows[ev->virt];

	return at->kind->read(at, v);
}

void virtual_prepare(void)
{
	for (size_t i = 0; i < LEN(kinds); i++)
		if (kinds[i].prepare)
			kinds[i].prepare();
}

void virtual_list(void (*show)(struct str name, struct str unit, struct str what))
{
	virtuals.show_event = show;
	for (size_t i = 0; i < LEN(kinds); i++)
		if (kinds[i].list)
			kinds[i].list();
}
