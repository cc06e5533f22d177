/* oastream.c - OA streams of i915 and xe: identifies the GPU, registers metric sets, reads reports.
 * Also reads xe's streams of EU stall samples. Layouts and numbers are those of
 * linux/include/uapi/drm/{drm,i915_drm,xe_drm}.h; they are repeated here because the build
 * machine's copy may be old or missing.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/oa/oa.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))
#define ADDR(p) ((u64)(uintptr_t)(p))

struct i915_param { i32 param; i32 *value; };
struct i915_reg { u64 offset, value; };
struct i915_query { u32 n, flags; u64 items; };
struct i915_item { u64 id; i32 length; u32 flags; u64 data; };
struct i915_open { u32 flags, n; u64 props; };
struct i915_config { char uuid[36]; u32 n[OREGS]; u64 regs[OREGS]; };
struct i915_sseu {
	u16 class, instance;
	u32 flags;
	u64 slices, subslices;
	u16 min_eus, max_eus;
	u32 zero;
};
struct topology {
	u16 flags, slices, subslices, eus, subslice_at, subslice_stride, eu_at, eu_stride;
};
struct xe_query { u64 more; u32 id, size; u64 data, zero[2]; };
struct xe_observe { u64 more, type, op, param; };
struct xe_prop { u64 next; u32 name, pad, property, pad2; u64 value, zero[2]; };
struct xe_config { u64 more; char uuid[36]; u32 n; u64 regs; };
struct xe_status { u64 more, value, zero[3]; }; /* argument of xe's stream ioctls STATUS and INFO */
struct xe_units { u64 more; u32 n, pad; };
struct xe_unit { u64 more; u32 id, type; u64 caps, ts_hz, zero[4], engines; };
struct xe_engine { u16 class, instance, gt, pad; };
struct xe_cycles { struct xe_engine engine; i32 clock; u32 width; u64 cycles, cpu_ns, cpu_delta; };
/* Start of xe's reply to the query XE_STALLS; n sampling periods follow, u64 in GPU clocks. */
struct xe_stalls { u64 more, caps, record, buffer, zero[5], n; };

_Static_assert(sizeof(struct i915_config) == 72 && sizeof(struct i915_sseu) == 32 &&
	       sizeof(struct xe_query) == 40 && sizeof(struct xe_prop) == 48 &&
	       sizeof(struct xe_config) == 56 && sizeof(struct xe_unit) == 72 &&
	       sizeof(struct xe_cycles) == 40 && sizeof(struct xe_status) == 40 &&
	       sizeof(struct xe_stalls) == 80,
	       "as in the kernel's headers");

#define I915_GETPARAM      _IOWR('d', 0x46, struct i915_param)
#define I915_REG_READ      _IOWR('d', 0x71, struct i915_reg)
#define I915_OPEN          _IOW('d', 0x76, struct i915_open)
#define I915_ADD_CONFIG    _IOW('d', 0x77, struct i915_config)
#define I915_REMOVE_CONFIG _IOW('d', 0x78, u64)
#define I915_QUERY         _IOWR('d', 0x79, struct i915_query)
#define XE_DEVICE_QUERY    _IOWR('d', 0x40, struct xe_query)
#define XE_OBSERVATION     _IOW('d', 0x4b, struct xe_observe)
#define XE_STREAM_ENABLE   _IO('i', 0)
#define XE_STREAM_STATUS   _IO('i', 3)
#define XE_STREAM_INFO     _IO('i', 4)

enum { PARAM_PCI = 4, PARAM_REVISION = 32, PARAM_SUBSLICES = 33, PARAM_EUS = 34,
       PARAM_SLICE_MASK = 46, PARAM_SUBSLICE_MASK = 47, PARAM_CS_HZ = 51,
       PARAM_PERF_REVISION = 54, PARAM_OA_HZ = 57 };
enum { QUERY_TOPOLOGY = 1, QUERY_GEOMETRY = 6 };
enum { XE_CONFIG = 2, XE_GTS, XE_HWCONFIG, XE_TOPOLOGY, XE_CYCLES, XE_UNITS = 8, XE_STALLS = 10 };
enum { XE_OPEN, XE_ADD, XE_REMOVE };
enum { OBSERVE_OA, OBSERVE_STALLS };             /* enum drm_xe_observation_type */
enum { STALL_GT = 1, STALL_PERIOD, STALL_WAIT }; /* enum drm_xe_eu_stall_property_id */
enum { XE_DECODE = 2, XE_ENHANCE, XE_COMPUTE };  /* DRM_XE_ENGINE_CLASS_* */
enum { I915_NONBLOCK = 1 | 2 /* I915_PERF_FLAG_FD_CLOEXEC and _NONBLOCK */ };
enum { HEADER = 8 /* size of the header of an OA record in bytes */ };
enum { BUFFER = 16 << 20 /* bytes of the OA buffer: fixed (i915), by default (xe) */ };

/* Properties of an OA stream: indexes in props[]. */
enum { P_UNIT, P_SAMPLE, P_SET, P_FORMAT, P_EXPONENT, P_CTX, P_HOLD, P_SSEU, P_POLL, P_CLASS,
       P_INSTANCE, P_BUFFER, P_WAIT,
       PROPS,
       /* The A_ values are not properties, but other conditions for a row of failures[]. A_XE: the
	* driver is xe; A_RATE: i915 allows this rate of reports only with privileges; A_OTHER: the
	* device has a driver that the command does not support. */
       A_XE = PROPS, A_RATE, A_OTHER };
#define BIT(p) (1u << (p))

static const struct {
	/* i915: number of the property in i915's interface, 0 if it has none; revision: first
	 * revision of i915's perf interface with the property */
	u8 i915, revision;
	/* xe: number of the property in xe's interface, 0 if it has none; cap: capability bits of
	 * the OA unit that the property requires, or 0 */
	u8 xe, cap;
	const char *option;
} props[PROPS] = {
	[P_UNIT]     = { 0, 0, 1, 0, "--oa-unit" },
	[P_SAMPLE]   = { 2, 1, 2, 0, "" },
	[P_SET]      = { 3, 1, 3, 0, "" },
	[P_FORMAT]   = { 4, 1, 4, 0, "" },
	[P_EXPONENT] = { 5, 1, 5, 0, "" },
	[P_CTX]      = { 1, 1, 7, 0, "--ctx" },
	[P_HOLD]     = { 6, 3, 9, 0, "--hold-preemption" },
	[P_SSEU]     = { 7, 4, 0, 0, "--sseu" },
	[P_POLL]     = { 8, 5, 0, 0, "--poll-period" },
	[P_CLASS]    = { 9, 6, 0, 0, "--engine" },
	[P_INSTANCE] = { 10, 6, 8, 0, "--engine" },
	[P_BUFFER]   = { 0, 0, 12, 4, "--buffer-size" },
	[P_WAIT]     = { 0, 0, 13, 8, "--wait-reports" },
};

/* --- error messages --------------------------------------------------------------------------- */

enum { C_NODE, C_DRIVER, C_CLOCK, C_UNIT, C_SET, C_FORMAT, C_ADD, C_OPEN,
       C_STALLS, C_GT, C_OPEN_STALLS, C_READ_STALLS, C_READ };

#define CAPABLE "setcap cap_perfmon+ep gpustat"
static const char no_oa[] = "the driver has no OA for this GPU";

/* Error messages for failed calls. The first matching row applies: its call and error match, all of
 * its requested properties (bits P_ and A_) were requested, and none of its not_requested
 * properties was. */
static const struct failure {
	u8 call;
	u16 error; /* errno; 0 matches any */
	u16 requested, not_requested;
	const char *what, *remedy;
} failures[] = {
	{ C_NODE, ENOENT, 0, 0, "the GPU has no node in /dev/dri", "mount -t devtmpfs dev /dev" },
	{ C_NODE, EACCES, 0, 0, "no permission to open the GPU's node in /dev/dri",
	  "join the group that owns it: render or video" },
	{ C_NODE, 0, 0, 0, "the GPU's node in /dev/dri cannot be opened", NULL },
	{ C_DRIVER, 0, BIT(A_OTHER), 0,
	  "only i915 and xe have OA streams; this device has another driver", NULL },
	{ C_DRIVER, 0, 0, 0, "the driver does not say which GPU it is", NULL },
	{ C_CLOCK, 0, 0, 0, "the clock frequency of the OA unit is unknown", NULL },
	{ C_UNIT, 0, BIT(P_UNIT), 0, "the GPU has no OA unit of this number",
	  "leave out --oa-unit" },
	{ C_UNIT, 0, BIT(P_CLASS), 0, "no OA unit counts for that engine", "leave out --engine" },
	{ C_UNIT, 0, 0, 0, "this kernel's xe has no OA units", "use Linux 6.12 or later" },
	{ C_SET, 0, 0, 0, "the metric set has registers that cannot be read", NULL },
	{ C_FORMAT, EINVAL, 0, 0, "the driver has no such report format",
	  "use another -o" },
	{ C_FORMAT, 0, 0, 0, "the report format of this GPU is unknown",
	  "use -o A32u40_A4u32_B8_C8, or another" },

	{ C_ADD, EACCES, BIT(A_XE), 0, "adding a metric set is denied",
	  "sysctl dev.xe.observation_paranoid=0, or " CAPABLE },
	{ C_ADD, EACCES, 0, 0, "adding a metric set is denied",
	  "sysctl dev.i915.perf_stream_paranoid=0, or " CAPABLE },
	{ C_ADD, EINVAL, 0, 0, "the kernel refuses the metric set: a register is not allowed"
	  " on this GPU, there is none, or the guid is invalid", "use another metric set" },
	{ C_ADD, EADDRINUSE, 0, 0,
	  "the kernel has the metric set already, but /sys does not show its number",
	  "mount -t sysfs sys /sys" },
	{ C_ADD, ENOTSUPP, 0, 0, no_oa, NULL },
	{ C_ADD, ENODEV, 0, 0, no_oa, NULL },
	{ C_ADD, 0, 0, 0, "the kernel refuses the metric set", NULL },

	{ C_OPEN, ENOTSUPP, 0, 0, no_oa, NULL },
	{ C_OPEN, ENODEV, BIT(P_SSEU), BIT(A_XE),
	  "the slices of this GPU cannot be chosen: DG2 and later", "leave out --sseu" },
	{ C_OPEN, ENODEV, BIT(A_XE), 0,
	  "xe has no OA here: it requires a GPU of Gen12 or later, and GuC", NULL },
	{ C_OPEN, ENODEV, 0, 0, "the GPU is gone, or has no OA", NULL },
	{ C_OPEN, EACCES, BIT(A_RATE), 0, "this report rate is denied",
	  "use a longer --period, sysctl"
	  " dev.i915.oa_max_sample_rate=REPORTS, or " CAPABLE },
	{ C_OPEN, EACCES, BIT(A_XE), 0, "counting for the whole GPU is denied",
	  "sysctl dev.xe.observation_paranoid=0, or " CAPABLE },
	{ C_OPEN, EACCES, 0, 0, "counting for the whole GPU is denied",
	  "sysctl dev.i915.perf_stream_paranoid=0, or " CAPABLE },
	{ C_OPEN, ENOENT, BIT(P_CTX), 0,
	  "there is no such context: the kernel knows those of one descriptor only",
	  "leave out --ctx" },
	{ C_OPEN, ENOENT, 0, 0, "the kernel has lost the metric set", "try again" },
	{ C_OPEN, EINVAL, BIT(P_HOLD), BIT(P_CTX), "--hold-preemption requires one context",
	  "use --ctx" },
	{ C_OPEN, EINVAL, BIT(P_POLL), 0,
	  "the kernel refuses: --poll-period has to be 100us or more",
	  "use a longer --poll-period" },
	{ C_OPEN, EINVAL, BIT(P_BUFFER), 0,
	  "the kernel refuses: --buffer-size has to be a power of two from 128K to 128M",
	  "use another --buffer-size" },
	{ C_OPEN, EINVAL, BIT(P_WAIT), 0, "the kernel refuses the stream, probably --wait-reports",
	  "use fewer --wait-reports" },
	{ C_OPEN, EINVAL, BIT(P_CLASS), 0,
	  "the kernel refuses: there is no such engine, no OA unit counts for it, or"
	  " media C6 is on (Meteor Lake)", "leave out --engine" },
	{ C_OPEN, EINVAL, BIT(P_SSEU), 0, "the kernel refuses the stream, probably --sseu",
	  "leave out --sseu" },
	{ C_OPEN, EINVAL, BIT(P_CTX), 0, "the kernel refuses the stream, probably --ctx",
	  "leave out --ctx" },
	{ C_OPEN, EINVAL, 0, 0,
	  "the kernel refuses: the report format or the metric set is not for this GPU",
	  "use another metric set, or another -o" },
	{ C_OPEN, ENOMEM, 0, 0, "the kernel has no memory for the OA buffer", NULL },
	{ C_OPEN, 0, 0, 0, "the kernel refuses the stream", NULL },

	{ C_STALLS, 0, BIT(A_OTHER), 0, "only xe samples EU stalls; this device has another driver",
	  NULL },
	{ C_STALLS, EINVAL, 0, 0, "this kernel's xe does not sample EU stalls",
	  "use Linux 6.15 or later" },
	{ C_STALLS, ENODEV, 0, 0,
	  "this GPU does not sample EU stalls: it has to be Ponte Vecchio, or Xe2 or later", NULL },
	{ C_STALLS, 0, 0, 0, "the driver does not say how it samples EU stalls", NULL },
	{ C_GT, 0, 0, 0, "the GPU has no GT of this number", "leave out --gt" },
	{ C_OPEN_STALLS, EACCES, 0, 0, "sampling the whole GPU is denied",
	  "sysctl dev.xe.observation_paranoid=0, or " CAPABLE },
	{ C_OPEN_STALLS, EINVAL, BIT(P_WAIT), 0,
	  "the kernel refuses the stream, probably --wait-reports", "use fewer --wait-reports" },
	{ C_OPEN_STALLS, EINVAL, 0, 0,
	  "the kernel refuses the stream: this GT has no EUs, or not this period",
	  "leave out --gt and --sample-period" },
	{ C_OPEN_STALLS, ENOMEM, 0, 0, "the kernel has no memory for the buffer of samples", NULL },
	{ C_OPEN_STALLS, 0, 0, 0, "the kernel refuses the stream", NULL },
	{ C_READ_STALLS, ENODEV, 0, 0, "the GPU was reset, which ends the samples, or is gone",
	  "start again" },
	{ C_READ_STALLS, 0, 0, 0, "the samples cannot be read", NULL },

	{ C_READ, EIO, 0, 0, "the driver has stopped the stream", NULL },
	{ C_READ, ENOSPC, 0, 0, "a record is larger than any report", NULL },
	{ C_READ, ENODEV, 0, 0, "the GPU is gone", NULL },
	{ C_READ, 0, 0, 0, "the stream cannot be read", NULL },
};

/* Stores the error message for a failed call, and how to fix the error, from the table failures[]
 * in l->what and l->remedy. Returns the parameter error. */
static long fail(struct oalive *l, u8 call, u32 requested, long error)
{
	const struct failure *f = failures;

	if (l->dev.xe)
		requested |= BIT(A_XE);
	while (f->call != call || (f->error && f->error != -error) ||
	       (f->requested & requested) != f->requested || (f->not_requested & requested))
		/* the search ends, because the last row for each call in failures[] matches every
		 * error */
		f++;
	l->what = f->what;
	l->remedy = f->remedy;
	return error;
}

/* Returns the path made of the parameters a, number, b, c and d, without separators; empty if it is
 * too long. The result is valid until the next call of path_format(). */
static const char *path_format(const char *a, u64 number, const char *b, struct str c,
			       const char *d)
{
	static char path[256];
	struct buf p = buf_on(path, sizeof(path) - 1);

	put_z(&p, a);
	put_u64(&p, number);
	put_z(&p, b);
	put_str(&p, c);
	put_z(&p, d);
	path[p.full ? 0 : p.n] = '\0';
	return path;
}

/* Returns the path of a sysfs file of the device: class/drm/cardN of its primary node, followed by
 * the parameters a, b and c. The path is relative to roots.sys, and valid until the next call of
 * path_format(). */
static const char *card_path(const struct device *d, const char *a, struct str b, const char *c)
{
	return path_format("class/drm/card", d->card < 0 ? UINT32_MAX : (u64)d->card, a, b, c);
}

/* buffer for an error message that contains names of options or processes */
static char error_message[512];

/* Makes l->what point to the buffer error_message, and writes the start of the message, the
 * parameter begins, to this buffer. Returns the buffer, to which the caller appends the rest of the
 * message. */
static struct buf message_begin(struct oalive *l, const char *begins)
{
	struct buf b = buf_on(error_message, sizeof(error_message) - 1);

	l->what = error_message;
	l->remedy = NULL;
	put_z(&b, begins);
	return b;
}

/* Returns true if the process has a stream open: a descriptor whose link in /proc/PID/fd has the
 * target `link`. */
static bool holds_stream(u64 pid, const char *link)
{
	const char *fd;
	bool found = false;
	char text[32];
	struct dir d;

	if (dir_open(&d, roots.proc, path_format("", pid, "/fd", S(""), "")) < 0)
		return false;
	while (!found && (fd = dir_next(&d))) {
		long n = sys_readlinkat(d.fd, fd, text, sizeof(text));

		found = str_is(str_read(text, n), link);
	}
	dir_close(&d);
	return found;
}

/* Returns -EBUSY, because the kernel allows one stream of this kind at a time. Stores an error
 * message in l->what: the parameter what, followed by the PIDs and names of the processes that may
 * have the stream open. They have a descriptor whose link in /proc/PID/fd has the target `link`. */
static long fail_busy(struct oalive *l, const char *what, const char *link)
{
	struct buf b = message_begin(l, what);
	const char *lead = ": process ", *name;
	struct dir d;

	dir_open(&d, roots.proc, ".");
	while (d.fd >= 0 && b.n < sizeof(error_message) - 128 && (name = dir_next(&d))) {
		char text[32];
		struct str comm;
		u64 pid;

		if (!scan_u64(str_z(name), &pid) || !holds_stream(pid, link))
			continue;
		put_z(&b, lead);
		put_u64(&b, pid);
		if (slurp_line(roots.proc, path_format("", pid, "/comm", S(""), ""), text,
			       sizeof(text), &comm)) {
			put_z(&b, " (");
			put_text(&b, comm);
			put_c(&b, ')');
		}
		lead = ", ";
	}
	dir_close(&d);
	error_message[b.n] = '\0';
	l->remedy = "end it, or wait until it has ended";
	return -EBUSY;
}

/* --- information about the GPU from its driver ------------------------------------------------ */

/* The buffer oa_bytes is used for several things in turn: a reply of xe (a few hundred bytes so
 * far), the registers of a metric set (the largest public set has 676), and then the reports of a
 * stream, or the bytes of a recording. */
char *oa_bytes;
struct table oa_bytes_table =
	TABLE_ROW(oa_bytes, 320 << 10 /* bytes: 256 KiB of one read + a partial record */, 1,
		  "bytes of OA reports");

static bool param_get(const struct oalive *l, i32 number, u64 *v)
{
	i32 value = 0;
	struct i915_param p = { number, &value };

	if (sys_drm(l->drm, I915_GETPARAM, &p) < 0)
		return false;
	*v = (u32)value;
	return true;
}

/* Reads xe's reply to a device query into the buffer oa_bytes. Returns the length of the reply in
 * bytes, or -errno; -EFBIG if the buffer is too small. */
static long xe_query(const struct oalive *l, u32 id)
{
	struct xe_query q = { .id = id };
	long r = sys_drm(l->drm, XE_DEVICE_QUERY, &q), n = (long)q.size;

	if (r < 0 || q.size > oa_bytes_table.ready)
		return r < 0 ? r : -EFBIG;
	q.data = ADDR(oa_bytes);
	r = sys_drm(l->drm, XE_DEVICE_QUERY, &q);
	return r < 0 ? r : n;
}

static bool number_read(int root, const char *path, u64 *v)
{
	char text[32];
	struct str s;

	return slurp_line(root, path, text, sizeof(text), &s) && scan_u64(s, v) == s.e && s.p < s.e;
}

/* Returns the frequency in Hz from the first of four sysfs files (with values in MHz) that can be
 * read; 0 if none can be read. */
static u64 frequency_read(const struct oalive *l, const char *const files[4])
{
	u64 mhz;

	for (size_t i = 0; i < 4; i++)
		if (number_read(roots.sys, card_path(&devices[l->device], "/", str_z(files[i]), ""),
				&mhz))
			return mhz > UINT32_MAX ? 0 : mhz * 1000000;
	return 0;
}

static void frequencies_read(struct oalive *l)
{
	static const char *const min[] = { "gt_min_freq_mhz", "gt/gt0/rps_min_freq_mhz",
		"device/tile0/gt0/freq0/min_freq", "device/tile0/gt0/freq0/rpn_freq" };
	static const char *const max[] = { "gt_max_freq_mhz", "gt/gt0/rps_max_freq_mhz",
		"device/tile0/gt0/freq0/max_freq", "device/tile0/gt0/freq0/rp0_freq" };

	l->min_hz = frequency_read(l, min);
	l->max_hz = frequency_read(l, max);
	l->dev.var[OV_MAX_HZ] = l->max_hz;
}

static void topology_set(struct oalive *l, size_t n)
{
	l->topology_n = n;
	oadevice_topology(&l->dev, (struct str){ l->topology, l->topology + n });
}

static void put_mask(u8 *to, u64 bits)
{
	for (; bits; bits >>= 8)
		*to++ |= (u8)bits;
}

/* Builds a topology in the layout of DRM_I915_QUERY, for drivers that do not report one. All slices
 * get the same subslices, and each subslice gets an EU mask with the lowest eus bits set. Callers
 * pass masks of up to 8 slices of 8 subslices, or 1 slice of 64, so l->topology has room. */
static void topology_build(struct oalive *l, u64 slice_mask, u64 subslice_mask, u64 eus)
{
	struct topology t = { .slices = 1, .subslices = 1, .eus = (u16)(eus < 64 ? eus : 64),
		.subslice_at = 1 };
	u8 *data = (u8 *)l->topology + sizeof(t);

	while (t.slices < 8 && slice_mask >> t.slices)
		t.slices++;
	while (t.subslices < 64 && subslice_mask >> t.subslices)
		t.subslices++;
	t.subslice_stride = (u16)((t.subslices + 7) / 8);
	t.eu_at = (u16)(1 + t.slices * t.subslice_stride);
	t.eu_stride = (u16)((t.eus + 7) / 8);
	memcpy(l->topology, &t, sizeof(t));
	data[0] = (u8)slice_mask;
	for (u32 s = 0; s < t.slices; s++) {
		put_mask(data + t.subslice_at + (size_t)s * t.subslice_stride, subslice_mask);
		for (u32 i = 0; i < t.subslices; i++)
			if (subslice_mask >> i & 1)
				put_mask(data + t.eu_at +
					 ((size_t)s * t.subslices + i) * t.eu_stride,
					 t.eus ? UINT64_MAX >> (64 - t.eus) : 0);
	}
	topology_set(l, sizeof(t) + t.eu_at + (size_t)t.slices * t.subslices * t.eu_stride);
}

static long i915_query(struct oalive *l, u64 id)
{
	struct i915_item item = { .id = id, .length = (i32)sizeof(l->topology),
		.data = ADDR(l->topology) };
	struct i915_query q = { .n = 1, .items = ADDR(&item) };
	long r = sys_drm(l->drm, I915_QUERY, &q);

	return r < 0 ? r : item.length;
}

/* Reads the topology of a GPU with the driver i915. Linux 4.17 and later report the whole topology;
 * earlier kernels report the subslices of the first slice and the number of EUs. */
static void i915_topology(struct oalive *l, u16 gen)
{
	u64 slices = 0, subslices = 0, n = 0, eus = 0;
	long r = gen >= 1255 ? i915_query(l, QUERY_GEOMETRY) : -EINVAL;

	if (r <= 0)
		r = i915_query(l, QUERY_TOPOLOGY);
	if (r > 0 && r <= (long)sizeof(l->topology)) {
		topology_set(l, (size_t)r);
	} else if (param_get(l, PARAM_SLICE_MASK, &slices) &&
		   param_get(l, PARAM_SUBSLICE_MASK, &subslices) &&
		   param_get(l, PARAM_SUBSLICES, &n) && param_get(l, PARAM_EUS, &eus) && n > 0) {
		topology_build(l, slices & 0xff, subslices & 0xff, (eus + n - 1) / n);
		/* the exact number of EUs from the kernel: topology_build() assumed that each
		 * subslice has the same number of EUs */
		l->dev.var[OV_EUS] = eus;
	}
}

static long i915_attach(struct oalive *l)
{
	const struct oaplatform *p;
	u64 pci, v;

	if (!param_get(l, PARAM_PCI, &pci))
		return fail(l, C_DRIVER, 0, -ENODEV);
	p = oaplatform_by_pci((u32)pci);
	oadevice_init(&l->dev, (u32)pci, p);
	if (param_get(l, PARAM_REVISION, &v))
		l->dev.var[OV_REVISION] = v;
	l->revision = param_get(l, PARAM_PERF_REVISION, &v) ? (u32)v : 1;
	if (param_get(l, PARAM_CS_HZ, &v))
		l->dev.var[OV_CS_HZ] = v;
	if (param_get(l, PARAM_OA_HZ, &v) && v > 0)
		l->dev.var[OV_TS_HZ] = v;
	else if (l->dev.var[OV_CS_HZ])
		l->dev.var[OV_TS_HZ] = l->dev.var[OV_CS_HZ] << (p ? p->ts_shift : 0);
	i915_topology(l, p ? p->gen : 0);
	return 0;
}

/* Returns true if the OA unit that counts for engine e must be used: e is the requested engine, or
 * no engine is requested, media is set, and e is a video engine. */
static bool engine_wanted(const struct oaprops *p, bool media, const struct xe_engine *e)
{
	if (p->has_engine)
		return e->class == p->engine_class && e->instance == p->engine_instance;
	return media && (e->class == XE_DECODE || e->class == XE_ENHANCE);
}

/* Chooses an OA unit of xe and stores it in *unit: the requested unit, that of the requested
 * engine, or the first one that counts for a video engine (if media is set) or for the whole GPU.
 * Returns 0; or -errno, with the error message in l->what and its fix in l->remedy. */
static long xe_unit(struct oalive *l, const struct oaprops *p, bool media, struct xe_unit *unit)
{
	long n = xe_query(l, XE_UNITS);
	size_t at = sizeof(struct xe_units);

	while (n >= (long)(at + sizeof(*unit))) {
		bool fits;

		memcpy(unit, oa_bytes + at, sizeof(*unit));
		at += sizeof(*unit);
		if (unit->engines > ((size_t)n - at) / sizeof(struct xe_engine))
			break;
		fits = p->has_unit ? unit->id == p->unit :
		       !p->has_engine && !media && unit->type == 0;
		l->dev.var[OV_COMPUTE_ENGINE] = 0;
		for (u64 i = 0; i < unit->engines; i++, at += sizeof(struct xe_engine)) {
			struct xe_engine e;

			memcpy(&e, oa_bytes + at, sizeof(e));
			fits |= !p->has_unit && engine_wanted(p, media, &e);
			l->dev.var[OV_COMPUTE_ENGINE] += e.class == XE_COMPUTE;
		}
		if (fits) {
			l->unit = unit->id;
			l->dev.var[OV_TS_HZ] = unit->ts_hz;
			return 0;
		}
	}
	n = n < 0 && n != -EINVAL ? n : p->has_unit || p->has_engine ? -EINVAL : -ENODEV;
	return fail(l, C_UNIT,
		    (p->has_unit ? BIT(P_UNIT) : 0) | (p->has_engine ? BIT(P_CLASS) : 0), n);
}

/* Returns xe's reply to a device query; empty if the query fails. The reply is valid until the next
 * query. */
static struct str xe_reply(const struct oalive *l, u32 id)
{
	return str_read(oa_bytes, xe_query(l, id));
}

/* Builds the topology of a GPU with the driver xe: one slice with all subslices, as i915 reports it
 * for Xe_HP and as recordings of xe have it (IGT's xe_oa.c). */
static void xe_topology(struct oalive *l)
{
	u64 subslices, eus;

	oadevice_masks(&l->dev, xe_reply(l, XE_TOPOLOGY), &subslices, &eus);
	if (subslices)
		topology_build(l, 1, subslices, (u64)bit_count(eus));
}

static long xe_identify(struct oalive *l)
{
	/* start of xe's reply to the query CONFIG: id[0] is the number of values, id[1] has the PCI
	 * device id and revision */
	u64 id[2];

	if (xe_query(l, XE_CONFIG) < (long)sizeof(id))
		return fail(l, C_DRIVER, 0, -ENODEV);
	memcpy(id, oa_bytes, sizeof(id));
	oadevice_init(&l->dev, id[1] & 0xffff, oaplatform_by_pci(id[1] & 0xffff));
	l->dev.xe = true;
	oadevice_gts(&l->dev, xe_reply(l, XE_GTS));
	l->dev.var[OV_REVISION] = id[1] >> 16 & 0xff;
	xe_topology(l);
	oadevice_hwconfig(&l->dev, xe_reply(l, XE_HWCONFIG));
	return 0;
}

static long xe_attach(struct oalive *l)
{
	const struct oaprops any = { 0 };
	struct xe_unit unit;
	long r = xe_identify(l);

	return r < 0 ? r : xe_unit(l, &any, false, &unit);
}

static long open_node(const struct device *d)
{
	static const char *const names[] = { "/dev/dri/renderD", "/dev/dri/card" };
	const i32 numbers[] = { d->render, d->card };
	long r = -ENOENT;

	for (size_t i = 0; i < LEN(names) && r == -ENOENT; i++)
		if (numbers[i] >= 0)
			r = sys_openat(-1, path_format(names[i], (u64)numbers[i], "", S(""), ""),
				       O_RDWR);
	return r;
}

/* Opens the device's node in /dev/dri, and finds out whether its driver is i915 or xe. Returns 0;
 * or -errno, with the error message in l->what and its fix in l->remedy. */
static long device_open(struct oalive *l, u32 device)
{
	char name[16];
	struct drm_name v = { .n = sizeof(name), .name = name };
	struct str driver;
	long r;

	memset(l, 0, sizeof(*l));
	l->device = device;
	l->drm = l->fd = -1;
	l->exponent = -1;
	if (table_all(&oa_bytes_table) < OA_BYTES_MIN)
		return -ENOMEM;
	r = open_node(&devices[device]);
	l->drm = r < 0 ? -1 : (int)r;
	if (r < 0)
		return fail(l, C_NODE, 0, r);
	r = sys_drm(l->drm, DRM_VERSION, &v);
	driver = (struct str){ name, name + (r < 0 ? 0 : v.n < sizeof(name) ? v.n : sizeof(name)) };
	l->dev.xe = str_is(driver, "xe");
	if (!l->dev.xe && !str_is(driver, "i915"))
		return fail(l, C_DRIVER, BIT(A_OTHER), -ENODEV);
	return 0;
}

/* Opens the device and identifies the GPU. Returns 0; or -errno, with the error message in l->what
 * and its fix in l->remedy. */
long oa_attach(struct oalive *l, u32 device)
{
	long r = device_open(l, device);

	if (r == 0)
		r = l->dev.xe ? xe_attach(l) : i915_attach(l);
	if (r < 0)
		return r;
	frequencies_read(l);
	if (!l->dev.var[OV_TS_HZ] && l->dev.platform)
		l->dev.var[OV_TS_HZ] = l->dev.platform->ts_hz;
	return l->dev.var[OV_TS_HZ] ? 0 : fail(l, C_CLOCK, 0, -ENODEV);
}

/* --- metric sets registered with the kernel --------------------------------------------------- */

bool oa_has_set(const struct device *d, struct str guid, u64 *id)
{
	return number_read(roots.sys, card_path(d, "/metrics/", guid, "/id"), id);
}

void oa_each_registered(const struct device *d, void (*found)(struct str guid, u64 id))
{
	struct dir dir;
	const char *guid;
	u64 id;

	if (dir_open(&dir, roots.sys, card_path(d, "/metrics", S(""), "")) < 0)
		return;
	while ((guid = dir_next(&dir)))
		if (oa_has_set(d, str_z(guid), &id))
			found(str_z(guid), id);
	dir_close(&dir);
}

static bool set_registered(struct oalive *l, const struct oaset *s)
{
	return oa_has_set(&devices[l->device], str_z(s->guid), &l->set);
}

/* Registers a metric set with the kernel. regs: the set's registers, by type in the order of
 * enum oaregs; n: number of registers of each type. Returns the kernel's number of the set, or
 * -errno. */
static long add_config(const struct oalive *l, const struct oaset *s, u32 (*regs)[2],
		       const u32 n[OREGS])
{
	if (l->dev.xe) {
		struct xe_config c = { .n = n[0] + n[1] + n[2], .regs = ADDR(regs) };
		struct xe_observe o = { .op = XE_ADD, .param = ADDR(&c) };

		memcpy(c.uuid, s->guid, sizeof(c.uuid));
		return sys_drm(l->drm, XE_OBSERVATION, &o);
	} else {
		struct i915_config c;

		memcpy(c.uuid, s->guid, sizeof(c.uuid));
		for (u32 i = 0; i < OREGS; regs += n[i++]) {
			c.n[i] = n[i];
			c.regs[i] = ADDR(regs);
		}
		return sys_drm(l->drm, I915_ADD_CONFIG, &c);
	}
}

/* Registers a metric set unless the kernel has it already, and stores the kernel's number of the
 * set in l->set. Returns 0; or -errno, with the error message in l->what and its fix in
 * l->remedy. */
static long register_set(struct oalive *l, const struct oaset *s)
{
	u32 (*regs)[2] = (void *)oa_bytes, n[OREGS], all = 0;
	long r;

	if (set_registered(l, s))
		return 0;
	if (!s->file)
		return fail(l, C_OPEN, 0, -ENOENT);
	for (u8 type = 0; type < OREGS; type++, all += (u32)r) {
		r = oaset_regs(s, &l->dev, type, regs + all,
			       oa_bytes_table.ready / sizeof(*regs) - all);
		if (r < 0)
			return fail(l, C_SET, 0, r);
		n[type] = (u32)r;
	}
	r = add_config(l, s, regs, n);
	/* not an error: another process registered the same metric set in the meantime */
	if (r == -EADDRINUSE && set_registered(l, s))
		return 0;
	if (r < 0)
		return fail(l, C_ADD, 0, r);
	l->set = (u64)r;
	l->added = true;
	return 0;
}

static void unregister_set(struct oalive *l)
{
	struct xe_observe o = { .op = XE_REMOVE, .param = ADDR(&l->set) };

	if (!l->added)
		return;
	if (l->dev.xe)
		sys_drm(l->drm, XE_OBSERVATION, &o);
	else
		sys_drm(l->drm, I915_REMOVE_CONFIG, &l->set);
	l->added = false;
	l->set = 0;
}

/* --- the stream ------------------------------------------------------------------------------- */

/* Returns the period of reports in ns, for an exponent of the OA timer with ts_hz ticks per second.
 * Documentation/gpu/i915: the timer counts to 2^(exponent + 1). */
static u64 exponent_period(i32 exponent, u64 ts_hz)
{
	u64 ns = muldiv(UINT64_C(2) << exponent, 1000000000, ts_hz);

	return ns ? ns : 1;
}

/* Returns the exponent of the longest period of reports that does not exceed the requested period,
 * in ns; 0 if all periods exceed it. */
static i32 period_exponent(u64 period, u64 ts_hz)
{
	i32 e = 31;

	while (e > 0 && exponent_period(e, ts_hz) > period)
		e--;
	return e;
}

/* Returns the reports per second that i915 allows without privileges; 0 if there is no limit. */
static u64 max_rate(const struct oalive *l)
{
	u64 hz = 0;

	if (!l->dev.xe)
		number_read(roots.proc, "sys/dev/i915/oa_max_sample_rate", &hz);
	return hz;
}

/* Chooses the exponent and the period of the OA timer. A period that the user requests is limited
 * to oa_longest(). Without a request, there are 100 reports per interval, but the period is at most
 * 20 ms on Haswell and 100 ms on later GPUs (longer if max_rate() requires it), because counters
 * must not wrap twice between two reports. The 32-bit counters of Haswell's 40 EUs, at 1.25 GHz,
 * wrap every 85 ms; the fast counters of later GPUs have 40 bits. */
static void choose_period(struct oalive *l, const struct oaprops *p, u32 *requested)
{
	bool gen7 = l->dev.platform && l->dev.platform->gen < 800;
	u64 hz = l->dev.var[OV_TS_HZ], rate = max_rate(l);
	u64 most = p->period ? muldiv(oa_longest(l->format, hz, l->max_hz), 1000000000, hz) :
		   gen7 ? 20000000 : 100000000;
	u64 wish = p->period ? p->period : p->interval > 0 ? (u64)p->interval / 100 : most;

	l->exponent = period_exponent(wish < most ? wish : most, hz);
	if (!p->period)
		while (rate && l->exponent < 31 &&
		       1000000000 / exponent_period(l->exponent, hz) > rate)
			l->exponent++;
	l->period = exponent_period(l->exponent, hz);
	if (rate && 1000000000 / l->period > rate)
		*requested |= BIT(A_RATE);
}

static long choose_format(struct oalive *l, const struct oaset *s, const struct oaprops *p)
{
	l->format = p->format;
	if (!l->format && s->format.p < s->format.e)
		l->format = oaformat_by_name(s->format);
	if (!l->format && l->dev.platform)
		l->format = oaformat_by_name(str_z(oafamilies[l->dev.platform->family].format));
	if (!l->format)
		return fail(l, C_FORMAT, 0, -ENOENT);
	return (l->dev.xe ? l->format->has_xe : l->format->i915 != 0) ? 0 :
		fail(l, C_FORMAT, 0, -EINVAL);
}

/* Checks that this kernel's driver has every requested property of a stream (bits P_). caps: the
 * capability bits of xe's OA unit. Returns 0; or -EINVAL, with the error message in l->what. */
static long check_props(struct oalive *l, u32 requested, u64 caps)
{
	for (u32 i = 0; i < PROPS; i++) {
		bool known = l->dev.xe ? props[i].xe && !(props[i].cap & ~caps) :
			props[i].i915 && props[i].revision <= l->revision;
		struct buf b;

		if (!(requested >> i & 1) || known)
			continue;
		b = message_begin(l, props[i].option);
		put_z(&b, (l->dev.xe ? props[i].xe : props[i].i915) ? ": this kernel's " :
		      ": not supported by ");
		put_z(&b, l->dev.xe ? "xe" : "i915");
		if (!l->dev.xe && props[i].i915) {
			put_z(&b, " is at revision ");
			put_u64(&b, l->revision);
			put_z(&b, " of its perf interface, the option requires ");
			put_u64(&b, props[i].revision);
		} else if (l->dev.xe && props[i].xe) {
			put_z(&b, " does not support it");
		}
		error_message[b.n] = '\0';
		return -EINVAL;
	}
	return 0;
}

static long open_i915(const struct oalive *l, u32 requested, const u64 v[PROPS])
{
	u64 list[PROPS][2];
	struct i915_open o = { .flags = I915_NONBLOCK, .props = ADDR(list) };

	for (u32 i = 0; i < PROPS; i++)
		if (requested >> i & 1) {
			list[o.n][0] = props[i].i915;
			list[o.n++][1] = v[i];
		}
	return sys_drm(l->drm, I915_OPEN, &o);
}

/* Opens a stream of xe with the n properties v, each of which is a number and a value. type is
 * OBSERVE_OA or OBSERVE_STALLS. Returns the descriptor of the stream, or -errno. */
static long observe(const struct oalive *l, u64 type, u64 (*v)[2], u32 n)
{
	struct xe_prop list[PROPS] = { { 0 } };
	struct xe_observe o = { .type = type, .op = XE_OPEN };
	long r, set;

	for (u32 i = 0; i < n; i++) {
		list[i] = (struct xe_prop){ .next = o.param, .property = (u32)v[i][0],
			.value = v[i][1] };
		o.param = ADDR(&list[i]);
	}
	r = sys_drm(l->drm, XE_OBSERVATION, &o);
	set = r < 0 ? 0 : sys_nonblock((int)r);
	if (set < 0)
		sys_close((int)r);
	return set < 0 ? set : r;
}

static long open_xe(const struct oalive *l, u32 requested, const u64 v[PROPS])
{
	u64 list[PROPS][2];
	u32 n = 0;

	for (u32 i = 0; i < PROPS; i++)
		if (requested >> i & 1) {
			list[n][0] = props[i].xe;
			list[n++][1] = v[i];
		}
	return observe(l, OBSERVE_OA, list, n);
}

static long open_stream(struct oalive *l, const struct oaprops *p, u32 requested, u64 caps)
{
	struct i915_sseu sseu = { .class = p->engine_class, .instance = p->engine_instance,
		.slices = p->slices, .subslices = p->subslices, .min_eus = p->min_eus,
		.max_eus = p->max_eus };
	const u64 v[PROPS] = {
		[P_UNIT] = l->unit, [P_SAMPLE] = 1, [P_SET] = l->set,
		[P_FORMAT] = l->dev.xe ? l->format->xe : l->format->i915,
		[P_EXPONENT] = (u64)l->exponent, [P_CTX] = p->ctx, [P_HOLD] = 1,
		[P_SSEU] = ADDR(&sseu), [P_POLL] = p->poll_ns,
		[P_CLASS] = p->engine_class, [P_INSTANCE] = p->engine_instance,
		[P_BUFFER] = p->buffer, [P_WAIT] = p->wait_reports,
	};
	struct xe_status info = { 0 };
	long r = check_props(l, requested, caps);

	if (r < 0)
		return r;
	r = l->dev.xe ? open_xe(l, requested, v) : open_i915(l, requested, v);
	if (r < 0)
		return r == -EBUSY ?
			fail_busy(l, "another program uses this OA unit",
				  l->dev.xe ? "anon_inode:[xe_oa]" : "anon_inode:[i915_perf]") :
			fail(l, C_OPEN, requested, r);
	l->fd = (int)r;
	l->buffer = p->buffer ? p->buffer : BUFFER;
	if (l->dev.xe && sys_drm(l->fd, XE_STREAM_INFO, &info) == 0 && info.value)
		l->buffer = info.value;
	return 0;
}

/* Registers the metric set, opens the OA stream and removes the set from the kernel again. Returns
 * 0; or -errno, with the error message in l->what and its fix in l->remedy. */
long oa_start(struct oalive *l, const struct oaset *s, const struct oaprops *p)
{
	struct xe_unit unit = { 0 };
	u8 was;
	u32 requested = BIT(P_SAMPLE) | BIT(P_SET) | BIT(P_FORMAT) | BIT(P_EXPONENT);
	long r = choose_format(l, s, p);

	requested |= p->has_ctx ? BIT(P_CTX) : 0;
	requested |= p->hold ? BIT(P_HOLD) : 0;
	requested |= p->has_sseu ? BIT(P_SSEU) : 0;
	requested |= p->poll_ns ? BIT(P_POLL) : 0;
	requested |= p->buffer ? BIT(P_BUFFER) : 0;
	requested |= p->wait_reports ? BIT(P_WAIT) : 0;
	requested |= p->has_unit || l->dev.xe ? BIT(P_UNIT) : 0;
	/* On xe the engine that the user requests determines the OA unit; the engine instance is a
	 * property of the stream only with an exec queue (has_ctx). */
	requested |= !p->has_engine ? 0 : !l->dev.xe ? BIT(P_CLASS) | BIT(P_INSTANCE) :
		p->has_ctx ? BIT(P_INSTANCE) : 0;
	/* The low byte of xe's format number is the type of the format: 2 is OAM and 4 OAM_MPEC,
	 * the formats of OA units for media. */
	if (r == 0 && l->dev.xe)
		r = xe_unit(l, p, (l->format->xe & 0xff) == 2 || (l->format->xe & 0xff) == 4,
			    &unit);
	if (r < 0)
		return r;
	choose_period(l, p, &requested);
	was = privilege_raise(MAY_PERF);
	r = register_set(l, s);
	if (r == 0)
		r = open_stream(l, p, requested, unit.caps);
	/* An open stream keeps using its metric set. The set is removed from the kernel now, so
	 * that it does not remain registered if this process is killed. */
	unregister_set(l);
	privilege_lower(was);
	return r;
}

/* --- records ---------------------------------------------------------------------------------- */

enum { REC_SAMPLE = 1, REC_REPORT_LOST, REC_BUFFER_LOST }; /* enum drm_i915_perf_record_type */

static void put_header(char *to, u32 type, size_t body)
{
	/* layout of a record's header: u32 type, u16 padding, u16 size of the whole record */
	const u32 h[2] = { type, (u32)(HEADER + body) << 16 };

	memcpy(to, h, sizeof(h));
}

/* Writes to b the records that report lost data, after a read of an xe stream has failed with EIO:
 * one record for each bit that the STATUS ioctl of the stream returns, in the order of the bits. A
 * counter overflow and a full queue of triggers (bits 2 and 3) are reported as lost reports.
 * Returns the number of bytes written, or -EIO. */
static long xe_lost(const struct oalive *l, char *b)
{
	static const u8 types[] = { REC_REPORT_LOST, REC_BUFFER_LOST, REC_REPORT_LOST,
		REC_REPORT_LOST };
	struct xe_status s = { 0 };
	long n = 0;

	if (sys_drm(l->fd, XE_STREAM_STATUS, &s) < 0)
		return -EIO;
	for (size_t i = 0; i < LEN(types); i++)
		if (s.value >> i & 1) {
			put_header(b + n, types[i], 0);
			n += HEADER;
		}
	return n ? n : -EIO;
}

/* Reads OA reports of xe, which have no record headers, to the end of b; then moves them to the
 * start of b one by one, each after a record header as i915 writes it. Returns the number of bytes
 * of these records, or -errno. */
static long xe_read(const struct oalive *l, char *b, size_t cap)
{
	const size_t size = l->format->size;
	const size_t n = cap / (HEADER + size);
	char *from = b + cap - n * size;
	long r = sys_read(l->fd, from, n * size);

	if (r <= 0)
		return r == -EIO ? xe_lost(l, b) : r;
	for (size_t i = 0; i < (size_t)r / size; i++, b += HEADER + size) {
		memmove(b + HEADER, from + i * size, size);
		put_header(b, REC_SAMPLE, size);
	}
	return (long)((size_t)r / size * (HEADER + size));
}

long oa_read(struct oalive *l, char *b, size_t cap)
{
	long r = l->dev.xe ? xe_read(l, b, cap) : sys_read(l->fd, b, cap);

	if (r == -EAGAIN || r == -EINTR)
		return 0;
	/* No driver returns 0 bytes at the end of an OA stream, so a result of 0 is an error. */
	return r > 0 ? r : fail(l, C_READ, 0, r < 0 ? r : -ENODEV);
}

/* Stores the clock of the GPU's command streamer in *gpu_ts, and CLOCK_MONOTONIC at the same time
 * in *cpu_ns. On i915 the GPU's register is read five times, each time between two readings of
 * CLOCK_MONOTONIC, and the try whose two readings are closest is used; xe does the same in the
 * kernel. Returns false if the GPU's clock cannot be read. */
bool oa_correlate(const struct oalive *l, u64 *cpu_ns, u64 *gpu_ts)
{
	struct xe_cycles c = { .clock = CLOCK_MONOTONIC };
	struct xe_query q = { .id = XE_CYCLES, .size = sizeof(c), .data = ADDR(&c) };
	/* GPU timestamp register; with the flag I915_REG_READ_8B_WA (1), i915 reads its 36 bits at
	 * once */
	struct i915_reg reg = { .offset = 0x2358 | 1 };
	i64 best = INT64_MAX;

	if (l->dev.xe) {
		if (sys_drm(l->drm, XE_DEVICE_QUERY, &q) < 0)
			return false;
		*cpu_ns = c.cpu_ns + c.cpu_delta / 2;
		*gpu_ts = c.cycles;
		return true;
	}
	for (int i = 0; i < 5; i++) {
		i64 from = sys_now(CLOCK_MONOTONIC), took;

		if (sys_drm(l->drm, I915_REG_READ, &reg) < 0)
			return false;
		took = sys_now(CLOCK_MONOTONIC) - from;
		if (took < best) {
			best = took;
			*cpu_ns = (u64)(from + took / 2);
			*gpu_ts = reg.value;
		}
	}
	return true;
}

/* Closes the stream and the device, and removes the metric set from the kernel if this process
 * registered it. */
void oa_stop(struct oalive *l)
{
	if (l->fd >= 0)
		sys_close(l->fd);
	if (l->drm >= 0) {
		unregister_set(l);
		sys_close(l->drm);
	}
	l->fd = l->drm = -1;
}

/* --- EU stalls -------------------------------------------------------------------------------- */

/* Sets l->stalls to the layout of EU stall samples of this GT. Returns 0; or -errno, with the error
 * message in l->what and its fix in l->remedy. */
static long stalls_layout(struct oalive *l, u64 gt)
{
	u16 major;
	long n = xe_query(l, XE_GTS);

	if (n < 0 || !oagt_version(str_of(oa_bytes, (size_t)n), gt, &major))
		return fail(l, C_GT, 0, n < 0 ? n : -EINVAL);
	l->stalls = stallformat_of(major);
	return 0;
}

/* Sets l->period to the sampling period of EU stalls that the GPU supports and that is nearest to
 * the parameter cycles, in GPU clocks; to the shorter one if two are equally near. With cycles 0,
 * 1004 clocks are requested, the default of the driver. Returns 0; or -errno, with the error
 * message in l->what and its fix in l->remedy. */
static long stalls_period(struct oalive *l, u64 cycles)
{
	u64 wish = cycles ? cycles : 1004, best = UINT64_MAX;
	long n = xe_query(l, XE_STALLS);
	struct xe_stalls s = { 0 };

	if (n >= (long)sizeof(s))
		memcpy(&s, oa_bytes, sizeof(s));
	/* if the query has failed, s.n (number of sampling periods) is 0 */
	for (size_t i = 0; i < s.n && sizeof(s) + (i + 1) * sizeof(u64) <= (size_t)n; i++) {
		u64 period, off;

		memcpy(&period, oa_bytes + sizeof(s) + i * sizeof(u64), sizeof(period));
		off = period < wish ? wish - period : period - wish;
		if (period && (off < best || (off == best && period < l->period))) {
			best = off;
			l->period = period;
		}
	}
	if (n < 0 || !l->period || s.record != STALL_BYTES || s.buffer < STALL_BYTES)
		return fail(l, C_STALLS, 0, n < 0 ? n : -EPROTO);
	l->buffer = s.buffer;
	return 0;
}

/* Opens the stream of EU stall samples. By default the kernel wakes this program when a quarter of
 * the smallest buffer, which is that of one core, may be full. Returns the descriptor of the
 * stream, or -errno. */
static long stalls_open(const struct oalive *l, const struct stallprops *p)
{
	u64 wait = p->wait_reports ? p->wait_reports : (l->buffer / STALL_BYTES + 3) / 4;
	u64 list[][2] = { { STALL_GT, p->gt }, { STALL_PERIOD, l->period }, { STALL_WAIT, wait } };
	u8 was = privilege_raise(MAY_PERF);
	long r = observe(l, OBSERVE_STALLS, list, LEN(list));

	privilege_lower(was);
	return r;
}

/* Opens the device and its stream of EU stall samples, and starts the stream. Returns 0; or -errno,
 * with the error message in l->what and its fix in l->remedy. */
long stalls_start(struct oalive *l, u32 device, const struct stallprops *p)
{
	long r = device_open(l, device);

	if (r == 0)
		r = l->dev.xe ? xe_identify(l) : fail(l, C_STALLS, BIT(A_OTHER), -ENODEV);
	if (r < 0 || (r = stalls_period(l, p->cycles)) < 0 || (r = stalls_layout(l, p->gt)) < 0)
		return r;
	frequencies_read(l);
	r = stalls_open(l, p);
	if (r == -EBUSY)
		return fail_busy(l, "another program samples the EU stalls of this GPU",
				 "anon_inode:[xe_eu_stall]");
	l->fd = r < 0 ? -1 : (int)r;
	if (r >= 0)
		r = sys_drm(l->fd, XE_STREAM_ENABLE, NULL);
	return r < 0 ? fail(l, C_OPEN_STALLS, p->wait_reports ? BIT(P_WAIT) : 0, r) : 0;
}

/* Reads whole EU stall samples. Returns the number of bytes; 0 if there is nothing to read now;
 * -EIO if the GPU dropped samples because a buffer was full (the stream continues); or another
 * -errno, with the error message in l->what and its fix in l->remedy. */
long stalls_read(struct oalive *l, char *b, size_t cap)
{
	long r = sys_read(l->fd, b, cap - cap % STALL_BYTES);

	if (r == -EAGAIN || r == -EINTR)
		return 0;
	/* The driver xe does not return 0 bytes at the end of a stream, so a result of 0 is an
	 * error. */
	return r > 0 || r == -EIO ? r : fail(l, C_READ_STALLS, 0, r < 0 ? r : -ENODEV);
}
