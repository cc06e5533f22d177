/* virtual.c - counters of our own that stand beside perf events: engines of DRM clients, hwmon channels, fields
 * of /proc, and what perf calls tool events. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum vkind { VK_TOOL, VK_ENGINE, VK_FILE, VK_PROC };

enum { MAX_VIRTUAL = 1025 /* descriptors are the scarcer thing */ };

static struct virt {
	u8 kind;          /* enum vkind */
	u8 which;         /* VK_TOOL: the row of its table; VK_PROC: of procfield_find() */
	int fd, state;    /* VK_FILE: the channel; its device's runtime_status, or -1 */
	u32 device;       /* VK_ENGINE */
	u8 n;
	char name[MAX_NAME]; /* VK_ENGINE, VK_PROC */
} *virts;
static TABLE(virts, MAX_VIRTUAL, 26, "counters of our own");
static u32 nvirts;

static struct virt *virt_new(u8 kind, struct str name, struct event *ev)
{
	struct virt *v;

	if (str_len(name) > sizeof(v->name) || !table_has(&virts_table, nvirts + 1)) {
		reg_dropped++;
		return NULL;
	}
	v = &virts[nvirts + 1];
	*v = (struct virt){ .kind = kind, .fd = -1, .state = -1, .n = (u8)str_len(name) };
	memcpy(v->name, name.p, str_len(name));
	ev->virt = (u16)++nvirts;
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

/* --- tool ------------------------------------------------------------------------------------------------ */

static const char tools[][14] = { "duration_time", "user_time", "system_time" };

static bool tool_find(struct str name, struct event *ev)
{
	for (size_t i = 0; i < LEN(tools); i++)
		if (str_is(name, tools[i])) {
			struct virt *v = virt_new(VK_TOOL, name, ev);

			if (!v)
				return false;
			v->which = (u8)i;
			ev->type = PT_SOFTWARE; /* perf resolves them to its dummy event */
			ev->config[0] = 9;
			set_unit(ev, "ns", 0);
			return true;
		}
	return false;
}

static bool tool_read(u8 which, u64 *v)
{
	u64 user = 0, system = 0;

	if (which == 0) {
		*v = (u64)sys_now(CLOCK_MONOTONIC);
		return true;
	}
	if (sys_rusage_children(&user, &system) < 0)
		return false;
	*v = which == 1 ? user : system;
	return true;
}

/* --- /proc ----------------------------------------------------------------------------------------------- */

static bool proc_find(struct str name, struct event *ev)
{
	const char *unit;
	struct virt *v;
	bool level;
	u8 file;

	if (!procfield_find(name, &file, &level, &unit))
		return false;
	v = virt_new(VK_PROC, name, ev);
	if (!v)
		return false;
	v->which = file;
	ev->rule = level ? EV_LEVEL : EV_COUNT;
	set_unit(ev, unit, 0);
	return true;
}

/* --- hwmon, Documentation/hwmon/sysfs-interface.rst -------------------------------------------------------- */

#define HWMON "class/hwmon"

static const struct channel channels[] = {
	{ "temp", "C", "mC", 3, EV_LEVEL, "temperature" },
	{ "in", "V", "mV", 3, EV_LEVEL, "voltage" },
	{ "power", "W", "uW", 6, EV_LEVEL, "power" },
	{ "energy", "J", "uJ", 6, EV_COUNT, "energy" },
	{ "fan", "rpm", "rpm", 0, EV_LEVEL, "fan" },
	{ "curr", "A", "mA", 3, EV_LEVEL, "current" },
	{ "freq", "Hz", "Hz", 0, EV_LEVEL, "clock" },
	{ "humidity", "%", "1/1000 %", 3, EV_LEVEL, "humidity" },
};

const struct channel *channel_of(struct str name)
{
	for (size_t i = 0; i < LEN(channels); i++) {
		struct str s = name;
		u64 n;

		if (str_skip_z(&s, channels[i].prefix) && scan_u64(s, &n) == s.e)
			return &channels[i];
	}
	return NULL;
}

const char *hwmon_path(const char *dir, struct str leaf, const char *tail)
{
	static char path[512];
	struct buf b = buf_on(path, sizeof(path) - 1);

	put_z(&b, HWMON "/");
	put_z(&b, dir);
	put_c(&b, '/');
	put_str(&b, leaf);
	put_z(&b, tail);
	path[b.n] = '\0';
	return path;
}

/* hwmon_NAME by what the chip calls itself, hwmon3 by its folder, hwmon: any. */
static bool hwmon_meant(struct str source, const char *dir)
{
	char b[128];
	struct str name;

	if (str_is(source, "hwmon") || str_is(source, dir))
		return true;
	return str_skip_z(&source, "hwmon_") && slurp_line(root_sys, hwmon_path(dir, S("name"), ""), b, sizeof(b), &name) &&
	       str_eq(source, name);
}

int channel_open(const char *dir, struct str name)
{
	long fd = sys_openat(root_sys, hwmon_path(dir, name, "_input"), O_RDONLY | O_NONBLOCK);

	if (fd < 0)
		fd = sys_openat(root_sys, hwmon_path(dir, name, "_average"), O_RDONLY | O_NONBLOCK);
	return (int)fd;
}

static bool hwmon_find(struct str source, struct str name, struct event *ev)
{
	const struct channel *c = channel_of(name);
	const char *dir;
	struct dir d;
	int fd = -1;

	if (!c || dir_open(&d, root_sys, HWMON) < 0)
		return false;
	while (fd < 0 && (dir = dir_next(&d)))
		if (hwmon_meant(source, dir) && (fd = channel_open(dir, name)) >= 0) {
			struct virt *v = virt_new(VK_FILE, name, ev);

			if (!v) {
				sys_close(fd);
				break;
			}
			v->fd = fd;
			v->state = (int)sys_openat(root_sys, hwmon_path(dir, S("device/power/runtime_status"), ""),
						   O_RDONLY | O_NONBLOCK);
			ev->rule = c->rule;
			set_unit(ev, c->unit, c->point);
		}
	dir_close(&d);
	return ev->virt != 0;
}

/* A level below zero is its two's complement. A device asleep stays so. */
bool channel_read(int fd, int state, u64 *value)
{
	char b[64];
	long n = state >= 0 ? slurp_fd(state, b, sizeof(b)) : 0;
	struct str s = str_got(b, n);
	i64 i;

	if (str_skip_z(&s, "suspend"))
		return false;
	n = slurp_fd(fd, b, sizeof(b));
	if (n <= 0 || !scan_i64((struct str){ b, b + n }, &i))
		return false;
	*value = (u64)i;
	return true;
}

/* The energy of the first GPU that has a channel for it. */
bool virtual_gpu_energy(struct buf *event)
{
	struct dir d;
	const char *dir;
	struct stat st;
	bool found = false;

	if (dir_open(&d, root_sys, HWMON) < 0)
		return false;
	while (!found && (dir = dir_next(&d)))
		if (sys_fstatat(root_sys, hwmon_path(dir, S("device/drm"), ""), &st) == 0 &&
		    sys_fstatat(root_sys, hwmon_path(dir, S("energy1_input"), ""), &st) == 0) {
			put_z(event, dir);
			put_z(event, "/energy1/");
			found = true;
		}
	dir_close(&d);
	return found;
}

/* --- engines of DRM clients --------------------------------------------------------------------------------- */

static bool gpus_started;

void gpus_start(void)
{
	u8 was;

	if (gpus_started)
		return;
	gpus_started = fdinfo_repeats = true;
	was = privilege_raise(MAY_READ | MAY_LOOK);
	src_sysfs.start();
	src_fdinfo.start();
	privilege_lower(was);
	reg_roll(false, true);
}

void gpus_sample(void)
{
	u8 was = privilege_raise(MAY_READ | MAY_LOOK);

	src_sysfs.scan();
	src_sysfs.sample();
	src_fdinfo.scan();
	src_fdinfo.sample();
	privilege_lower(was);
	reg_roll(false, true);
}

bool (*virtual_wants)(u32 device, u32 place);

/* The device's place in gpustat's order, from 0. */
static u32 gpu_place(u32 device)
{
	u32 n = 0;

	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		n += i != device && device_order(&devices[i], &devices[device]) < 0;
	return n;
}

static bool gpu_wanted(u32 device)
{
	return devices[device].e.used && (!virtual_wants || virtual_wants(device, gpu_place(device)));
}

/* Its number: the place among those that --device chose. */
static u32 gpu_number(u32 device)
{
	u32 n = 0;

	for (u32 i = 1; i <= ndevices; i++)
		n += i != device && gpu_wanted(i) && device_order(&devices[i], &devices[device]) < 0;
	return n;
}

/* A counter of the kernel for the whole device wins over the clients' sum. */
static bool engine_value(u32 device, struct str name, u64 *v)
{
	bool found = false;

	for (struct counter *c = reg_first(&devices[device].e); c; c = reg_next(c)) {
		if ((c->desc != D_SUM_NS && c->desc != D_BUSY_NS) || !str_eq(inst_name(c->inst), name))
			continue;
		*v = reg_now(c);
		found = c->flags & CF_SEEN;
		if (c->desc == D_BUSY_NS)
			break;
	}
	return found;
}

static bool gpu_find(struct str source, struct str name, struct event *ev)
{
	u64 n;

	if (!str_skip_z(&source, "gpu") || scan_u64(source, &n) != source.e || name.p == name.e)
		return false;
	gpus_start();
	for (u32 i = 1; i <= ndevices; i++)
		if (gpu_wanted(i) && gpu_number(i) == n) {
			struct virt *v = virt_new(VK_ENGINE, name, ev);

			if (!v)
				return false;
			v->device = i; /* an engine may come with its first client */
			set_unit(ev, "ns", 0);
			return true;
		}
	return false;
}

void virtual_engines(void (*found)(void *arg, struct str event), void *arg)
{
	gpus_start();
	for (u32 i = 1; i <= ndevices; i++)
		for (struct counter *c = gpu_wanted(i) ? reg_first(&devices[i].e) : NULL; c; c = reg_next(c)) {
			char text[MAX_NAME + 32];
			struct buf b = BUF(text);
			struct str name = inst_name(c->inst);

			if (c->desc != D_BUSY_NS && (c->desc != D_SUM_NS || reg_find(&devices[i].e, D_BUSY_NS, c->inst)))
				continue;
			put_z(&b, "gpu");
			put_u64(&b, gpu_number(i));
			put_c(&b, '/');
			put_str(&b, name);
			put_c(&b, '/');
			found(arg, (struct str){ text, text + b.n });
		}
}

/* --- all ------------------------------------------------------------------------------------------------------ */

/* The counter for ev; false: there is none of that name. */
bool virtual_find(struct str source, struct str name, struct event *ev)
{
	if (str_is(source, "tool"))
		return tool_find(name, ev);
	if (str_is(source, "proc"))
		return proc_find(name, ev);
	return glob_match(S("hwmon*"), source, NULL) ? hwmon_find(source, name, ev) : gpu_find(source, name, ev);
}

void virtual_sample(void)
{
	host_begin();
	if (gpus_started)
		gpus_sample();
}

/* False: there is no value now. */
bool virtual_read(const struct event *ev, u64 *v)
{
	const struct virt *at = &virts[ev->virt];

	switch (at->kind) {
	case VK_TOOL:
		return tool_read(at->which, v);
	case VK_ENGINE:
		return engine_value(at->device, virt_name(at), v);
	case VK_FILE:
		return channel_read(at->fd, at->state, v);
	default:
		return procfield_read(at->which, virt_name(at), v);
	}
}

static void (*show_event)(struct str name, struct str unit, struct str what);

static void list_in(const char *source, struct str name, const char *unit, const char *what)
{
	char text[MAX_NAME + 160];
	struct buf b = BUF(text);

	put_text(&b, str_z(source));
	put_c(&b, '/');
	put_text(&b, name);
	put_c(&b, '/');
	if (!b.full)
		show_event((struct str){ text, text + b.n }, str_z(unit), str_z(what));
}

static void list_engine(void *arg, struct str event)
{
	(void)arg;
	show_event(event, S("ns"), S("busy time of an engine, from DRM clients or the driver"));
}

static void list_hwmon(const char *dir)
{
	char b[128], source[160] = "hwmon_";
	struct buf to = { .p = source, .n = 6, .cap = sizeof(source) - 1 };
	struct str name;
	struct dir d;
	const char *leaf;

	if (!slurp_line(root_sys, hwmon_path(dir, S("name"), ""), b, sizeof(b), &name) ||
	    dir_open(&d, root_sys, hwmon_path(dir, S("."), "")) < 0)
		return;
	put_str(&to, name);
	source[to.n] = '\0';
	while ((leaf = dir_next(&d))) {
		struct str s = str_z(leaf), chan;
		const struct channel *c;

		str_cut(&s, '_', &chan);
		c = channel_of(chan);
		if (c && (str_is(s, "input") || str_is(s, "average")))
			list_in(source, chan, c->unit, c->what);
	}
	dir_close(&d);
}

static void list_proc(struct str name, const char *unit, bool level)
{
	list_in("proc", name, unit, level ? "level" : "counter");
}

void virtual_list(void (*show)(struct str name, struct str unit, struct str what))
{
	struct dir d;
	const char *dir;

	show_event = show;
	for (size_t i = 0; i < LEN(tools); i++)
		show(str_z(tools[i]), S("ns"), S("tool event"));
	virtual_engines(list_engine, NULL);
	if (dir_open(&d, root_sys, HWMON) >= 0) {
		while ((dir = dir_next(&d)))
			list_hwmon(dir);
		dir_close(&d);
	}
	procfield_list(list_proc);
}
