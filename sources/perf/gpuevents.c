/* gpuevents.c - events that a GPU's driver counts for the jobs of all programs: the performance
 * monitor of v3d and the counter stream of msm, by ioctl requests of the render node. Both are
 * opened only for events that were asked for by name.
 * Layouts and numbers are those of include/uapi/drm/{drm,v3d_drm,msm_drm}.h of Linux 7.2; they are
 * repeated here because the build machine's copy may be old or missing.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))
#define ADDR(p) ((u64)(uintptr_t)(p))

struct v3d_create { u32 id, n; u8 counters[32]; };
struct v3d_values { u32 id, pad; u64 values; };
struct v3d_counter { u8 number; char name[64], category[32], what[256]; u8 reserved[7]; };
struct v3d_global { u32 flags, id; };
struct msm_param { u32 pipe, param; u64 value; u32 n, pad; };
struct msm_group { char name[16]; u32 n, pad; u64 selects; };
struct msm_config { u32 flags, n; u64 groups, period; u32 shift, stride; };

#define V3D_CREATE      _IOWR('d', 0x48, struct v3d_create)
#define V3D_DESTROY     _IOWR('d', 0x49, u32)
#define V3D_GET_VALUES  _IOWR('d', 0x4a, struct v3d_values)
#define V3D_GET_COUNTER _IOWR('d', 0x4c, struct v3d_counter)
#define V3D_SET_GLOBAL  _IOW('d', 0x4d, struct v3d_global)
#define MSM_GET_PARAM   _IOWR('d', 0x40, struct msm_param)
#define MSM_CONFIG      _IOW('d', 0x4e, struct msm_config)

_Static_assert(sizeof(struct v3d_create) == 40 && sizeof(struct v3d_values) == 16 &&
	       sizeof(struct v3d_counter) == 360 && sizeof(struct v3d_global) == 8 &&
	       sizeof(struct msm_param) == 24 && sizeof(struct msm_group) == 32 &&
	       sizeof(struct msm_config) == 32, "as in the kernel's headers");

enum { MSM_STREAM = 1, MSM_3D = 0x10 /* MSM_PIPE_3D0 */, MSM_CHIP_ID = 3 };

/* maximum number of events that one driver counts: v3d can count 32 at the same time */
enum { MOST = CNTREC_MOST };
_Static_assert(sizeof(((struct v3d_create *)0)->counters) == MOST, "events of a monitor");

/* DRAIN: ns between two readings of v3d's counters. The hardware counters have 32 bits, and the
 * driver adds them to its sums only when it is asked for the sums: a counter of bytes wraps after 4
 * GiB, for which a Raspberry Pi 5 needs at least 250 ms. PERIOD: ns between two records of msm's
 * counter stream. SHIFT: the kernel's buffer for this stream has 2^SHIFT bytes, room for the
 * records of at least 2 s. */
enum { DRAIN = 200000000, PERIOD = 10000000, SHIFT = 16 };

/* The GPU of one driver, and the events of this GPU that gpuevent_find() has found. */
struct gpu {
	/* driver of the GPU; NULL: gpu_attach() has not searched for the GPU yet */
	const struct gpudriver *driver;
	i32 node;                       /* descriptor of the GPU's render node; -1: not open */
	long error; /* reason why the GPU cannot count events, as -errno; 0: it can */
	/* started: an attempt to start counting was made; counts: the attempt succeeded */
	bool started, counts;
	bool changed; /* true: events were added since counting was last started */
	/* reason why the driver cannot list the names of its events, as -errno; 0: it can */
	long name_error;
	bool allowed; /* true: the sandbox allows the ioctl request that reads the counters */
	/* v3d: ID of the performance monitor; msm: generation of the GPU (A6XX, A7XX), 0 if
	 * unknown */
	u32 id;
	i32 stream;                     /* msm: descriptor of the counter stream */
	u32 kept; /* msm: number of bytes in records[] that belong to an incomplete record */
	char records[4096];
	/* The following arrays have one element for each event of the GPU. */
	u32 select[MOST];               /* number by which the driver selects the event */
	char group[MOST][16]; /* msm: name of the event's hardware block, padded with zeros */
	u8 slot[MOST];                  /* index of the event's sum in count.sum[] */
	/* number of users of the event: callers of gpuevent_find(); 0: the element is free */
	u16 users[MOST];
	/* the count of the event is base[] plus its element of count.sum[] */
	u64 base[MOST];
	struct cntsum count;
};

/* One event that a driver offers. name: NAME of the event SOURCE/NAME/. */
struct gpuname {
	u32 select;
	struct str name, what;
	char text[64];
	struct v3d_counter v3d;
};

/* --- v3d: include/uapi/drm/v3d_drm.h, drivers/gpu/drm/v3d/v3d_perfmon.c ----------------------- */

/* Returns the text in an array of n bytes: up to its NUL, or all n bytes if it has none. */
static struct str array_text(const char *p, size_t n)
{
	return (struct str){ p, p + strnlen(p, n) };
}

/* Stores the number, name and description of v3d's i-th event in *to. v3d can list its events since
 * Linux 6.11. Returns 0, or -errno if there are no more events. */
static long v3d_name(const struct gpu *g, u32 i, struct gpuname *to)
{
	long r = i <= UINT8_MAX ? 0 : -EINVAL;

	to->v3d = (struct v3d_counter){ .number = (u8)i };
	if (r == 0)
		r = sys_drm(g->node, V3D_GET_COUNTER, &to->v3d);
	to->select = i;
	to->name = array_text(to->v3d.name, sizeof(to->v3d.name));
	to->what = array_text(to->v3d.what, sizeof(to->v3d.what));
	return r;
}

static void v3d_stop(struct gpu *g)
{
	sys_drm(g->node, V3D_DESTROY, &g->id);
}

/* Creates a performance monitor with the events of GPU g, and makes it v3d's global monitor, which
 * counts the jobs of all programs. Returns 0 or -errno; -ENOTTY: the kernel is too old. */
static long v3d_start(struct gpu *g)
{
	struct v3d_create c = { .n = g->count.n };
	struct v3d_global all = { 0 };
	long r;

	for (u32 i = 0; i < c.n; i++) {
		c.counters[i] = (u8)g->select[i];
		g->slot[i] = (u8)i;
	}
	r = sys_drm(g->node, V3D_CREATE, &c);
	if (r < 0)
		return r;
	g->id = all.id = c.id;
	r = sys_drm(g->node, V3D_SET_GLOBAL, &all);
	if (r < 0)
		v3d_stop(g);
	if (r == 0 && !g->allowed)
		g->allowed = sandbox_ioctl(g->node, V3D_GET_VALUES);
	return r == -EINVAL ? -ENOTTY : r; /* -EINVAL: the kernel does not know the ioctl number */
}

static long v3d_read(struct gpu *g)
{
	struct v3d_values v = { .id = g->id, .values = ADDR(g->count.sum) };

	return sys_drm(g->node, V3D_GET_VALUES, &v);
}

/* --- msm: include/uapi/drm/msm_drm.h, drivers/gpu/drm/msm/msm_perfcntr.c ---------------------- */

enum { A6XX = 6, A7XX = 7, ABSENT = UINT8_MAX };

/* Events of msm: BLOCK:NAME, and the number that selects the event in its hardware block, on a6xx
 * and on a7xx GPUs. The numbers are from a6xx_perfcntrs.xml and a7xx_perfcntrs.xml in
 * drivers/gpu/drm/msm/registers/adreno of Linux. */
static const struct countable {
	char name[22];
	u8 select[2]; /* numbers on A6XX and A7XX GPUs; ABSENT: this generation lacks the event */
} countables[] = {
	{ "ccu:busy", { 0, 0 } },
	{ "cp:always", { 0, 0 } }, { "cp:busy", { 2, 2 } },
	{ "hlsq:busy", { 0, 0 } },
	{ "lrz:busy", { 0, 0 } }, { "lrz:prim-killed", { 12, 12 } },
	{ "pc:busy", { 0, 0 } }, { "pc:vertices", { 21, 20 } }, { "pc:primitives", { 22, 21 } },
	{ "pc:drawcalls-3d", { 30, 28 } },
	{ "ras:busy", { 0, 0 } },
	{ "rb:busy", { 0, 0 } }, { "rb:pixels-3d", { 29, 29 } },
	{ "sp:busy", { 0, 0 } }, { "sp:alu", { 1, 1 } }, { "sp:efu", { 2, 2 } },
	{ "sp:stall-vpc", { 3, 3 } }, { "sp:stall-tp", { 4, 4 } },
	{ "sp:stall-uche", { 5, 5 } }, { "sp:stall-rb", { 6, 6 } },
	{ "sp:vs-instructions", { 43, 43 } }, { "sp:fs-instructions", { 44, 44 } },
	{ "sp:cs-instructions", { 56, 56 } },
	{ "tp:busy", { 0, 0 } }, { "tp:stall-uche", { 1, 1 } },
	{ "tp:l1-requests", { 6, 6 } }, { "tp:l1-misses", { 7, 7 } },
	{ "tp:pixels", { 10, 10 } },
	{ "tse:busy", { 0, 0 } }, { "tse:input-prim", { 6, 6 } }, { "tse:culled", { 11, 11 } },
	{ "uche:busy", { 0, 0 } }, { "uche:read-beats-ch0", { 27, 27 } },
	{ "uche:read-beats-ch1", { 28, 28 } }, { "uche:write-beats-ch0", { ABSENT, 52 } },
	{ "uche:write-beats-ch1", { ABSENT, 53 } }, { "uche:evicts", { 18, 18 } },
	{ "vfd:busy", { 0, 0 } }, { "vfd:vertices", { 17, 17 } },
	{ "vpc:busy", { 0, 0 } }, { "vsc:busy", { 0, 0 } },
};

/* Returns the generation of an Adreno GPU from its chip ID, by the table in a6xx_catalog.c of
 * Linux; 0: unknown. A702 is an a6xx GPU, despite its number; the IDs of later a7xx GPUs begin with
 * 0x43. */
static u32 chip_generation(u64 id)
{
	if (id == 0x07000200 || id == 0x07000400 || id >> 24 == 6)
		return A6XX;
	return id >> 24 == 7 || id >> 24 == 0x43 ? A7XX : 0;
}

static void msm_attach(struct gpu *g)
{
	struct msm_param p = { .pipe = MSM_3D, .param = MSM_CHIP_ID };

	if (sys_drm(g->node, MSM_GET_PARAM, &p) == 0)
		g->id = chip_generation(p.value);
}

/* Stores the number, name and description of msm's i-th event in *to; the name is empty if this GPU
 * generation does not have the event. Returns 0, or -EINVAL if there are no more events. */
static long msm_name(const struct gpu *g, u32 i, struct gpuname *to)
{
	struct buf b = BUF(to->text);

	if (i >= LEN(countables) || !g->id)
		return -EINVAL;
	to->select = countables[i].select[g->id - A6XX];
	to->name = str_z(to->select == ABSENT ? "" : countables[i].name);
	put_z(&b, "select value ");
	put_u64(&b, to->select);
	to->what = (struct str){ to->text, to->text + b.n };
	return 0;
}

/* Stores the name of an event's hardware block in to[16], in capitals as the kernel spells it.
 * False if the name is empty or too long. */
static bool group_copy(char to[16], struct str block)
{
	if (!str_len(block) || str_len(block) >= 16)
		return false;
	memset(to, 0, 16);
	memcpy(to, block.p, str_len(block));
	for (size_t i = 0; i < str_len(block); i++)
		if (to[i] >= 'a' && to[i] <= 'z')
			to[i] = (char)(to[i] - 'a' + 'A');
	return true;
}

static void msm_stop(struct gpu *g)
{
	sys_close(g->stream);
}

/* Sorts the events by hardware block, as the kernel expects them, and opens the counter stream.
 * Returns 0 or -errno; -ENOTTY: the kernel is too old. */
static long msm_start(struct gpu *g)
{
	struct msm_group blocks[MOST] = { 0 };
	u32 selects[MOST], n = 0;
	struct msm_config none = { 0 }, c = {
		.flags = MSM_STREAM, .groups = ADDR(blocks), .period = PERIOD, .shift = SHIFT,
		.stride = sizeof(*blocks),
	};
	u8 was;
	long r;

	for (u32 i = 0; i < g->count.n; i++) {
		struct msm_group *to = &blocks[c.n];

		for (u32 k = 0; k < g->count.n; k++)
			if (memcmp(g->group[k], g->group[i], sizeof(to->name)) == 0) {
				/* the hardware block of event i is in blocks[] already */
				if (k < i)
					break;
				g->slot[k] = (u8)n;
				to->n++;
				selects[n++] = g->select[k];
			}
		memcpy(to->name, g->group[i], sizeof(to->name));
		to->selects = ADDR(selects + n - to->n);
		c.n += to->n != 0;
	}
	/* Tests if the kernel knows the ioctl: since Linux 7.2, every user may send a request that
	 * reserves no counters; an older kernel returns -EINVAL. */
	if (sys_drm(g->node, MSM_CONFIG, &none) == -EINVAL)
		return -ENOTTY;
	was = privilege_raise(MAY_PERF);
	r = sys_drm(g->node, MSM_CONFIG, &c);
	privilege_lower(was);
	if (r < 0)
		return r;
	g->stream = (i32)r;
	g->count.seqno = UINT32_MAX;
	r = sys_nonblock(g->stream);
	if (r < 0)
		msm_stop(g);
	return r;
}

/* Adds all records of msm's counter stream to g->count. Returns 0 or -errno. A read ends where the
 * kernel's buffer ends, even within a record: the next read returns the rest. While the GPU is off,
 * the stream has no records, and there is nothing to count. */
static long msm_read(struct gpu *g)
{
	size_t size = CNTREC_HEAD + g->count.n * sizeof(u64);
	long n = 1;

	/* limit the reads to twice the size of the kernel's buffer, since new records may keep
	 * coming */
	for (u32 i = 0; i < (2 << SHIFT) / sizeof(g->records) && n > 0; i++) {
		const char *p = g->records;

		n = sys_read(g->stream, g->records + g->kept, sizeof(g->records) - g->kept);
		g->kept += n > 0 ? (u32)n : 0;
		for (; g->kept >= size; g->kept -= (u32)size, p += size)
			cntrec_add(&g->count, str_of(p, size));
		memmove(g->records, p, g->kept);
	}
	return n == 0 ? -ENODEV : n == -EAGAIN || n == -EINTR || n > 0 ? 0 : n;
}

/* --- both drivers: v3d and msm ---------------------------------------------------------------- */

static const struct gpudriver {
	char source[4];     /* the driver's name: SOURCE of its events SOURCE/NAME/ */
	/* true: events are named BLOCK:NAME, or BLOCK:N with the number of the event */
	bool blocks;
	/* names of the drivers that /sys may show for the render node of the GPU, with blanks
	 * between them: the render node of msm may belong to its display driver, which has other
	 * names */
	const char *places;
	/* callback: reads the generation of a GPU whose render node was opened; NULL: not needed */
	void (*attach)(struct gpu *g);
	long (*name)(const struct gpu *g, u32 i, struct gpuname *to);
	long (*start)(struct gpu *g);                                   /* 0, or -errno */
	void (*stop)(struct gpu *g); /* callback: stops the counting that start() has started */
	long (*read)(struct gpu *g);                                    /* 0, or -errno */
} drivers[] = {
	{ "v3d", false, "v3d", NULL, v3d_name, v3d_start, v3d_stop, v3d_read },
	{ "msm", true, "msm msm_dpu msm_mdp mdp4 adreno", msm_attach, msm_name, msm_start,
	  msm_stop, msm_read },
};

i64 gpuevents_due = -1;

static struct gpu gpus[LEN(drivers)];

/* True if the driver of this render node, as /sys names it, is in the list d->places. */
static bool is_place(const struct gpudriver *d, const char *node)
{
	char path[64], link[256];
	struct buf b = BUF_Z(path);
	struct str rest = str_z(d->places), word;
	bool found = false;
	long n;

	put_z(&b, "class/drm/");
	put_z(&b, node);
	put_z(&b, "/device/driver");
	n = sys_readlinkat(roots.sys, buf_z(&b), link, sizeof(link));
	while (n > 0 && !found && str_word(&rest, &word))
		found = str_eq(word, str_base(str_of(link, (size_t)n)));
	return found;
}

/* Opens a render node of /dev/dri. Returns its descriptor, or -errno; -ENODEV if the node belongs
 * to another driver. */
static long node_open(const struct gpudriver *d, const char *node)
{
	char path[64], name[16];
	struct buf b = BUF_Z(path);
	struct drm_name v = { .n = sizeof(name), .name = name };
	long fd, r;

	put_z(&b, "/dev/dri/");
	put_z(&b, node);
	fd = sys_openat(-1, buf_z(&b), O_RDWR);
	if (fd < 0)
		return fd;
	r = sys_drm((i32)fd, DRM_VERSION, &v);
	if (r == 0 && v.n < sizeof(name) && str_is(str_of(name, v.n), d->source))
		return fd;
	sys_close((i32)fd);
	return -ENODEV;
}

/* Finds the driver's first GPU and opens its render node; no board has a second GPU of these
 * drivers. With --sys no GPU is opened, because the nodes in /dev do not belong to the folder that
 * replaces /sys. */
static void gpu_attach(struct gpu *g, const struct gpudriver *d)
{
	const char *node;
	struct dir dir;

	*g = (struct gpu){ .driver = d, .node = -1, .stream = -1, .error = -ENOENT };
	if (roots.sys_given || dir_open(&dir, roots.sys, "class/drm") < 0)
		return;
	while (g->node < 0 && (node = dir_next(&dir))) {
		struct str s = str_z(node);
		long r;

		if (!str_skip_z(&s, "renderD") || str_len(s) > 8 || !is_place(d, node))
			continue;
		r = node_open(d, node);
		g->node = (i32)(r < 0 ? -1 : r);
		g->error = r == -ENODEV ? g->error : r < 0 ? r : 0;
	}
	dir_close(&dir);
	if (g->node >= 0 && d->attach)
		d->attach(g);
}

static struct gpu *gpu_find(struct str source)
{
	for (size_t i = 0; i < LEN(drivers); i++)
		if (str_is(source, drivers[i].source)) {
			if (!gpus[i].driver)
				gpu_attach(&gpus[i], &drivers[i]);
			return &gpus[i];
		}
	return NULL;
}

/* Opens the render nodes of all drivers, and makes the sandbox allow the ioctl request that reads
 * the names of events. */
void gpuevents_prepare(void)
{
	for (size_t i = 0; i < LEN(drivers); i++) {
		gpu_find(str_z(drivers[i].source));
		if (gpus[i].node >= 0)
			sandbox_ioctl(gpus[i].node, V3D_GET_COUNTER);
	}
}

/* Stores in *select the driver's number of the event with this name; for the name BLOCK:N of an msm
 * event, the number is N. False if there is no such event. */
static bool select_find(struct gpu *g, struct str name, u32 *select)
{
	struct gpuname n;
	u64 v;
	long r = 0;

	for (u32 i = 0; r == 0 && str_len(name); i++) {
		r = g->driver->name(g, i, &n);
		if (r == 0 && str_eq(name, n.name)) {
			*select = n.select;
			return true;
		}
		/* Before Linux 6.11, v3d cannot list its events: accept any name. g->name_error
		 * says later why the event is not counted. */
		if (i == 0 && r < 0 && !g->driver->blocks) {
			g->name_error = r == -EINVAL ? -ENOTTY : r;
			*select = 0;
			return true;
		}
	}
	if (!g->driver->blocks || !str_cut(&name, ':', &n.name) || scan_u64(name, &v) != name.e ||
	    v > UINT32_MAX)
		return false;
	*select = (u32)v;
	return true;
}

static void gpu_stop(struct gpu *g)
{
	for (u32 i = 0; i < g->count.n; i++)
		g->base[i] += g->count.sum[g->slot[i]];
	g->count = (struct cntsum){ .n = g->count.n };
	g->kept = 0;
	if (g->counts)
		g->driver->stop(g);
	g->started = g->counts = g->changed = false;
}

/* Returns the index of an event in the arrays of *g, and adds one user to the event; adds the event
 * if it is new. Returns MOST if all elements are in use. */
static u32 place_get(struct gpu *g, const char group[16], u32 select)
{
	u32 i = 0, unused = MOST;

	for (; i < g->count.n && (g->select[i] != select || memcmp(g->group[i], group, 16) != 0);
	     i++)
		unused = g->users[i] ? unused : i;
	if (i == g->count.n) {
		i = unused < MOST ? unused : i;
		if (i == MOST) {
			registry.dropped++;
			return MOST;
		}
		if (i == g->count.n)
			/* a new element of count.sum[] has the value 0 */
			g->slot[g->count.n++] = (u8)i;
		/* if the element of count.sum[] was used before, it still has the sum of an earlier
		 * event: subtract this sum */
		g->base[i] = 0 - g->count.sum[g->slot[i]];
		g->select[i] = select;
		memcpy(g->group[i], group, 16);
		g->changed = true;
	}
	g->users[i]++;
	return i;
}

long gpuevent_find(struct str source, struct str name, struct str *unit)
{
	struct gpu *g = gpu_find(source);
	char group[16] = { 0 };
	struct str rest = name, block;
	u32 select = 0, i;

	if (!g || g->error == -ENOENT)
		return -1;
	*unit = str_find(name, S("-bytes-")) ? S("bytes") : (struct str){ 0 };
	if (g->node >= 0 && !select_find(g, name, &select))
		return -1;
	if (g->driver->blocks &&
	    (!str_cut(&rest, ':', &block) || !group_copy(group, block)))
		return -1;
	i = place_get(g, group, select);
	return i == MOST ? -1 : (long)((size_t)(g - gpus) * MOST + i);
}

/* Ends the use of an event by one caller of gpuevent_find(). If no event of the GPU has a user any
 * more, counting stops, and other programs can use the GPU's counters. */
void gpuevent_release(u32 number)
{
	struct gpu *g = &gpus[number / MOST];

	g->users[number % MOST]--;
	for (u32 i = 0; i < g->count.n; i++)
		if (g->users[i])
			return;
	gpu_stop(g);
	g->count.n = 0;
	gpuevents_read();
}

void gpuevents_list(struct str source,
		    void (*show)(struct str event, struct str unit, struct str what))
{
	for (size_t d = 0; d < LEN(drivers); d++) {
		bool wanted = !str_len(source) || str_is(source, drivers[d].source);
		struct gpu *g = wanted ? gpu_find(str_z(drivers[d].source)) : NULL;
		struct gpuname n;

		for (u32 i = 0; g && g->node >= 0 && drivers[d].name(g, i, &n) == 0; i++) {
			char text[96];
			struct buf b = BUF(text);

			put_z(&b, drivers[d].source);
			put_c(&b, '/');
			put_text(&b, n.name);
			put_c(&b, '/');
			if (str_len(n.name) && !b.full)
				show(str_of(text, b.n), str_find(n.name, S("-bytes-")) ?
				     S("bytes") : (struct str){ 0 }, n.what);
		}
	}
}

void gpuevents_start(void)
{
	for (size_t i = 0; i < LEN(gpus); i++) {
		struct gpu *g = &gpus[i];

		if (!g->count.n || (g->started && !g->changed))
			continue;
		gpu_stop(g);
		g->started = true;
		if (g->node >= 0)
			g->error = g->name_error ? g->name_error : g->driver->start(g);
		g->counts = g->error == 0;
		if (g->counts)
			gpuevents_due = sys_now(CLOCK_MONOTONIC) + DRAIN;
	}
}

u8 gpuevent_state(u32 number)
{
	const struct gpu *g = &gpus[number / MOST];

	if (g->error && g->node < 0)
		return g->error == -EACCES || g->error == -EPERM ? CS_GPU_NODE : CS_UNREADABLE;
	switch (-g->error) {
	case 0: return CS_COUNTED;
	case EACCES: case EPERM: return CS_GPU_DENIED;
	case EBUSY: return CS_GPU_BUSY;
	case ENOTTY: return CS_GPU_OLD;
	case E2BIG: return CS_GPU_FULL;
	case EINVAL: case ENXIO: return CS_GPU_REFUSED;
	case ENOMEM: return CS_NO_MEMORY;
	case EMFILE: case ENFILE: return CS_NO_FILES;
	default: return CS_UNREADABLE;
	}
}

void gpuevents_read(void)
{
	i64 due = -1;

	for (size_t i = 0; i < LEN(gpus); i++) {
		struct gpu *g = &gpus[i];

		if (!g->started || g->error)
			continue;
		g->error = g->driver->read(g);
		due = g->error ? due : sys_now(CLOCK_MONOTONIC) + DRAIN;
	}
	gpuevents_due = due;
}

bool gpuevent_value(u32 number, u64 *v)
{
	const struct gpu *g = &gpus[number / MOST];

	*v = g->base[number % MOST] + g->count.sum[g->slot[number % MOST]];
	return g->started && !g->error;
}
