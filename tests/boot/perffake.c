// SPDX-License-Identifier: GPL-2.0
/*
 * perffake: the OA part of gpufake's devices with the flag "oa": the perf streams of i915, and
 * those of xe where the kernel's headers define them. The ioctls follow the kernel's own
 * definitions, with the checks of the real drivers in the same order. Reports are written
 * periodically, with the period that the exponent sets. Report k of a stream, counted from k = 0:
 *
 *	counter i	start + k * (i + 1) * 1000, where i counts A's, then B's, then C's;
 *			start: just below the wrap of the counter
 *	timestamp	ts0 + (k + 1) << (exponent + 1)
 *	ticks		k * 500
 *	reason		timer; every 8th: context switch; context 0x1000 + k / 16 % 3, valid
 *
 * xe also has streams of EU stalls, as from Linux 6.15 on. Its GPU has a clock of 1 MHz. Sample k:
 *
 *	address		0x100 + k % 4 * 8
 *	counts		1, 2, 3 .. 10, in the order of their bits
 *
 * The platform device's file `oa` reports the requests that the driver received, and accepts lines:
 *
 *	KNOB VALUE		see the table of knobs
 *	event KIND AT VALUE	when report AT is due; see enum kind
 *	reset			clears knobs, events and the log
 *	forget			removes all metric sets
 *	set UUID		a metric set that another program has added
 */
#include <linux/version.h>
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/ctype.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kobject.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/sysctl.h>
#include <linux/sysfs.h>
#include <linux/uaccess.h>
#include <linux/wait.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <uapi/drm/i915_drm.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#include <uapi/drm/xe_drm.h>
#define HAVE_XE 1
#else
#define HAVE_XE 0
#endif

#include "perffake.h"

#define MAX_OAS 4
#define MAX_SETS 16
#define MAX_EVENTS 8
#define MAX_REPORT 640
#define LOG 3072

/* EU stalls: include/uapi/drm/xe_drm.h of Linux 6.15. */
#define OBSERVATION_STALLS 1
#define QUERY_STALLS 10
#define STALL_BYTES 64
#define STALL_BUFFER (512 << 10)	/* of each core */
#define STALL_CORES 8

enum kind {
	PE_NONE,
	PE_REPORT_LOST,	/* a record; xe: status bits VALUE */
	PE_BUFFER_LOST,	/* a record; on xe: status bits VALUE */
	PE_UNKNOWN,	/* a record, and the counters continue from another value */
	PE_SIZE,	/* a sample record of VALUE bytes */
	PE_ERROR,	/* every read fails with VALUE from then on */
	PE_ENOSPC,	/* one read fails */
	PE_END,		/* read returns 0 bytes, poll reports a hangup */
	PE_HALF,	/* a record of VALUE bytes that claims 264 */
	PE_SPOILED,	/* one more report before it: its first 16 bytes are VALUE, the others 0 */
};

enum knob {
	K_PCI, K_REVISION, K_PERF_REVISION, K_OA_HZ, K_CS_HZ, K_QUERY, K_OPEN, K_ADD, K_FORMATS, K_REG_READ, K_UNITS, K_CAPS,
	K_GTS, K_L3, K_HWCONFIG, K_STALLS, K_VERSION,
	KNOBS
};

/* 0 means "this kernel does not know it" if a parameter can be unknown. open, add: the errno that
 * the call returns. */
static const struct {
	const char *name;
	u64 i915, xe;
} knobs[KNOBS] = {
	[K_PCI]           = { "pci", 0x1916, 0x64a0 },		/* Skylake GT2, Lunar Lake */
	[K_REVISION]      = { "revision", 7, 4 },
	[K_PERF_REVISION] = { "perf_revision", 7, 0 },
	[K_OA_HZ]         = { "oa_hz", 12000000, 19200000 },
	[K_CS_HZ]         = { "cs_hz", 12000000, 19200000 },
	[K_QUERY]         = { "query", 1, 1 },
	[K_OPEN]          = { "open", 0, 0 },
	[K_ADD]           = { "add", 0, 0 },
	[K_FORMATS]       = { "formats", 1 << 5 | 1 << 10, 0 },	/* bits: enum drm_i915_oa_format */
	[K_REG_READ]      = { "reg_read", 1, 1 },
	[K_UNITS]         = { "units", 0, 2 },
	[K_CAPS]          = { "caps", 0, 1 },
	[K_GTS]           = { "gts", 0, 2 },
	[K_L3]            = { "l3", 0, 0xff },			/* mask of L3 banks */
	[K_HWCONFIG]      = { "hwconfig", 0, 1 },
	[K_STALLS]        = { "stalls", 0, 7 },			/* number of sampling periods */
	[K_VERSION]       = { "version", 0, 20 },		/* of the graphics: Xe2 */
};

/* Layouts of reports: section 4 of the reference. high: the first high byte of the 40-bit counters,
 * for i = 0. */
struct layout {
	u32 format;
	u16 size;
	u8 head;	/* 7: no ticks; 8, 64: all fields have 64 bits */
	u8 n, width;	/* number of A's, or of PEC's; width 32, 40 or 64 bits */
	u16 at, high;
	u16 b, c;	/* 0: absent */
};

static const struct layout layouts[] = {
	{ I915_OA_FORMAT_A45_B8_C8, 256, 7, 45, 32, 12, 0, 192, 224 },
	/* A32-35: 32 bits */
	{ I915_OA_FORMAT_A32u40_A4u32_B8_C8, 256, 8, 36, 40, 16, 160, 192, 224 },
	/* xe: PEC64u64 */
	{ 5 | 1 << 8 | 1 << 16, 576, 64, 64, 64, 32, 0, 0, 0 },
};
static const struct layout stall_layout = { .size = STALL_BYTES };

struct set {
	char uuid[40];
	u64 id;
	struct kobject *dir;
	struct kobj_attribute attr;
};

struct event {
	enum kind kind;
	u64 at, value;
};

struct oa_dev;

struct stream {
	struct oa_dev *oa;
	const struct layout *l;
	bool enabled;
	u32 exponent;
	u64 period, started, next;	/* in ns, in ns, number of the next report */
	u64 ts0, jump;			/* added to k */
	u64 set;
	u64 status;			/* xe only */
	u64 buffer, wait_reports;	/* bytes; reports before a wake-up */
	int events;			/* events already played */
	struct hrtimer poll;
	wait_queue_head_t wait;
};

struct oa_dev {
	struct drm_device *drm;
	bool xe;
	struct mutex lock;
	u64 knob[KNOBS];
	struct event event[MAX_EVENTS];
	int nevents;
	struct set sets[MAX_SETS];
	u64 last_id;
	struct kobject *metrics;
	bool taken, stalls_taken;
	u32 opens, closes, adds, removes;
	char log[LOG];
	size_t nlog;
};

static struct oa_dev oas[MAX_OAS];
static int noas;

static int oa_max_sample_rate = 100000, i915_paranoid = 1, xe_paranoid = 1;

__printf(2, 3) static void say(struct oa_dev *oa, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	oa->nlog += vscnprintf(oa->log + oa->nlog, LOG - oa->nlog, fmt, ap);
	va_end(ap);
}

static struct oa_dev *oa_of(struct drm_device *drm)
{
	int i;

	for (i = 0; i < noas && oas[i].drm != drm; i++)
		;
	return &oas[i];
}

/* The clock of the OA unit, here also that of the command streamer: its low 32 bits wrap 1 s after
 * the module was loaded. */
static u64 clock_now(const struct oa_dev *oa, u64 now)
{
	static u64 first;

	if (!first)
		first = now;
	return (1ull << 32) - oa->knob[K_OA_HZ] + mul_u64_u64_div_u64(now - first, oa->knob[K_OA_HZ], NSEC_PER_SEC);
}

/* ---- reports ---- */

static u64 counter(const struct stream *s, int i, u64 k, int width)
{
	u64 start = width == 64 ? 0 - 5000ull : (1ull << width) - 5000;

	return start + (k + s->jump) * (i + 1) * 1000;
}

static void put32(u8 *p, u64 v)
{
	u32 w = (u32)v;

	memcpy(p, &w, 4);
}

/* struct xe_eu_stall_data_xe2 of drivers/gpu/drm/xe/xe_eu_stall.c: the address has 29 bits, and each
 * of the ten counts has 8. */
static void put_stall(u64 k, u8 *p)
{
	u64 low = 0x20 + k % 4, high = 0;
	int i;

	for (i = 0; i < 10; i++) {
		int at = 29 + 8 * i;
		u64 count = i + 1;

		if (at < 64)
			low |= count << at;
		if (at > 56)
			high |= at < 64 ? count >> (64 - at) : count << (at - 64);
	}
	memset(p, 0, STALL_BYTES);
	memcpy(p, &low, 8);
	memcpy(p + 8, &high, 8);
}

static void put_report(const struct stream *s, u64 k, u8 *p)
{
	const struct layout *l = s->l;
	u64 ts = s->ts0 + ((k + 1) << (s->exponent + 1)), ctx = 0x1000 + k / 16 % 3, ticks = k * 500;
	u32 reason = k % 8 == 7 ? 8 : 1, id = reason << 19 | 1 << 16 | 40;
	int i;

	if (l == &stall_layout) {
		put_stall(k, p);
		return;
	}
	memset(p, 0, l->size);
	if (l->head == 64) {
		u64 wide[4] = { id, ts, ctx, ticks };

		memcpy(p, wide, sizeof(wide));
	} else {
		put32(p, id);
		put32(p + 4, ts);
		if (l->head == 8) {
			put32(p + 8, ctx);
			put32(p + 12, ticks);
		}
	}
	for (i = 0; i < l->n; i++) {
		int width = l->width == 40 && i >= 32 ? 32 : l->width;
		u64 v = counter(s, i, k, width);

		if (width == 64)
			memcpy(p + l->at + 8 * i, &v, 8);
		else
			put32(p + l->at + 4 * i, v);
		if (width == 40)
			p[l->high + i] = (u8)(v >> 32);
	}
	for (i = 0; l->b && i < 16; i++)
		put32(p + (i < 8 ? l->b + 4 * i : l->c + 4 * (i - 8)), counter(s, l->n + i, k, 32));
}

static u64 due(const struct stream *s)
{
	return s->enabled ? div64_u64(ktime_get_ns() - s->started, s->period) : s->next;
}

static enum hrtimer_restart stream_poll_timer(struct hrtimer *t)
{
	struct stream *s = container_of(t, struct stream, poll);

	if (due(s) >= s->next + s->wait_reports)
		wake_up(&s->wait);
	hrtimer_forward_now(t, ns_to_ktime(5 * NSEC_PER_MSEC));
	return HRTIMER_RESTART;
}

static void stream_enable(struct stream *s, bool on)
{
	s->enabled = on;
	s->started = ktime_get_ns();
	s->ts0 = clock_now(s->oa, s->started);
	s->next = 0;
}

static bool stream_ended(const struct stream *s)
{
	return s->events && s->oa->event[s->events - 1].kind == PE_END;
}

static __poll_t stream_poll(struct file *file, poll_table *wait)
{
	struct stream *s = file->private_data;

	poll_wait(file, &s->wait, wait);
	return stream_ended(s) ? EPOLLIN | EPOLLHUP : due(s) >= s->next + s->wait_reports ? EPOLLIN : 0;
}

struct out {
	char __user *to;
	size_t n, cap;
};

static int put(struct out *o, const void *p, size_t n)
{
	if (n > o->cap - o->n)
		return -ENOSPC;
	if (copy_to_user(o->to + o->n, p, n))
		return -EFAULT;
	o->n += n;
	return 0;
}

static int put_record(struct out *o, u32 type, const void *body, u16 n, u16 claimed)
{
	u8 b[8 + MAX_REPORT + 64] = { 0 };
	struct drm_i915_perf_record_header h = { .type = type, .size = claimed };

	memcpy(b, &h, sizeof(h));
	if (body)
		memcpy(b + sizeof(h), body, n);
	return put(o, b, sizeof(h) + n);
}

/* After an overflow the buffer starts empty. */
static int overflow(struct stream *s, struct out *o)
{
	u64 now = due(s);

	if (now - s->next <= div64_u64(s->buffer, s->l->size))
		return 1;
	s->next = now - 1;
	s->jump += 1000000;
	if (s->oa->xe) {
		s->status = 2;
		return -EIO;
	}
	return put_record(o, DRM_I915_PERF_RECORD_OA_BUFFER_LOST, NULL, 0, 8) ? -ENOSPC : 1;
}

/* Plays the events due before report k. Returns 2 if an event was played, 1 if the read continues,
 * 0 if it ends here, or -errno. */
static int play(struct stream *s, struct out *o, const u8 *report)
{
	const struct event *e = &s->oa->event[s->events];
	u8 spoiled[MAX_REPORT] = { 0 };
	int ret = 0;

	if (s->events == s->oa->nevents || e->at > s->next)
		return 1;
	if (o->n && (e->kind == PE_ERROR || e->kind == PE_ENOSPC || e->kind == PE_END ||
		     (s->oa->xe && e->kind == PE_REPORT_LOST)))
		return 0;
	switch (e->kind) {
	case PE_REPORT_LOST:
		if (s->oa->xe) {
			s->status = e->value;
			s->events++;
			return -EIO;
		}
		ret = put_record(o, DRM_I915_PERF_RECORD_OA_REPORT_LOST, NULL, 0, 8);
		break;
	case PE_BUFFER_LOST:
		s->jump += 1000000;
		ret = put_record(o, DRM_I915_PERF_RECORD_OA_BUFFER_LOST, NULL, 0, 8);
		break;
	case PE_UNKNOWN:
		ret = put_record(o, e->value, report, 16, 24);
		break;
	case PE_SIZE:
		ret = put_record(o, DRM_I915_PERF_RECORD_SAMPLE, report, e->value < 8 ? 0 : e->value - 8, e->value);
		break;
	case PE_HALF:
		ret = put_record(o, DRM_I915_PERF_RECORD_SAMPLE, report, e->value - 8, 264);
		break;
	case PE_SPOILED:
		memset(spoiled, (int)e->value, 16);
		ret = s->oa->xe ? put(o, spoiled, s->l->size) :
			put_record(o, DRM_I915_PERF_RECORD_SAMPLE, spoiled, s->l->size, 8 + s->l->size);
		break;
	case PE_ERROR:
		return -(int)e->value;	/* permanently */
	case PE_ENOSPC:
		s->events++;
		return -ENOSPC;
	case PE_END:
		s->events++;
		return 0;
	default:
		break;
	}
	s->events += !ret;
	return ret ? ret : 2;
}

static ssize_t stream_read(struct file *file, char __user *to, size_t cap, loff_t *at)
{
	struct stream *s = file->private_data;
	struct out o = { to, 0, cap };
	u8 report[MAX_REPORT];
	int ret = 1;

	if (!s->enabled)
		return s->oa->xe ? -EINVAL : -EIO;
	if (!(file->f_flags & O_NONBLOCK))
		return -EDEADLK;	/* no caller may block here */
	if (stream_ended(s))
		return 0;
	mutex_lock(&s->oa->lock);
	if (s->next < due(s))
		ret = overflow(s, &o);
	while (ret > 0 && s->next < due(s)) {
		put_report(s, s->next, report);
		do
			ret = play(s, &o, report);
		while (ret == 2);
		if (ret <= 0)
			break;
		put_report(s, s->next, report);	/* rebuilt: the counters may have jumped */
		ret = s->oa->xe ? put(&o, report, s->l->size) :
				  put_record(&o, DRM_I915_PERF_RECORD_SAMPLE, report, s->l->size, 8 + s->l->size);
		if (ret)
			break;
		s->next++;
		ret = 1;
	}
	mutex_unlock(&s->oa->lock);
	if (o.n)
		return o.n;
	return ret < 0 ? ret : ret == 0 && stream_ended(s) ? 0 : -EAGAIN;
}

static long stream_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct stream *s = file->private_data;
	u64 was = s->set;

	switch (cmd) {
	case I915_PERF_IOCTL_ENABLE:
		stream_enable(s, true);
		return 0;
	case I915_PERF_IOCTL_DISABLE:
		stream_enable(s, false);
		return 0;
	case I915_PERF_IOCTL_CONFIG:
		if (s->oa->xe)
			return -EINVAL;
		s->set = arg;
		return was;
#if HAVE_XE
	case DRM_XE_OBSERVATION_IOCTL_STATUS:
	case DRM_XE_OBSERVATION_IOCTL_INFO: {
		u64 v[5] = { 0, cmd == DRM_XE_OBSERVATION_IOCTL_STATUS ? s->status : 16 << 20 };

		if (!s->oa->xe || s->l == &stall_layout)
			return -EINVAL;
		s->status = 0;
		return copy_to_user((void __user *)arg, v, sizeof(v)) ? -EFAULT : 0;
	}
#endif
	default:
		return -EINVAL;
	}
}

/* An OA unit has one stream at a time, and the EUs have another one. */
static bool *taken_by(struct stream *s)
{
	return s->l == &stall_layout ? &s->oa->stalls_taken : &s->oa->taken;
}

static int stream_release(struct inode *inode, struct file *file)
{
	struct stream *s = file->private_data;

	hrtimer_cancel(&s->poll);
	*taken_by(s) = false;
	s->oa->closes++;
	kfree(s);
	return 0;
}

static const struct file_operations stream_fops = {
	.owner = THIS_MODULE,
	.release = stream_release,
	.poll = stream_poll,
	.read = stream_read,
	.unlocked_ioctl = stream_ioctl,
	.compat_ioctl = stream_ioctl,
};

/* ---- metric sets ---- */

static struct set *set_find(struct oa_dev *oa, const char *uuid, u64 id)
{
	int i;

	for (i = 0; i < MAX_SETS; i++)
		if (oa->sets[i].id && (uuid ? !strcmp(oa->sets[i].uuid, uuid) : oa->sets[i].id == id))
			return &oa->sets[i];
	return NULL;
}

static ssize_t id_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%llu\n", container_of(attr, struct set, attr)->id);
}

static int set_add(struct oa_dev *oa, const char *uuid36, u64 first)
{
	struct set *s;
	char uuid[40] = { 0 };
	int i, ret;

	memcpy(uuid, uuid36, 36);
	for (i = 0; i < 36; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23 ? uuid[i] != '-' : !isxdigit(uuid[i]))
			return -EINVAL;
	if (set_find(oa, uuid, 0))
		return -EADDRINUSE;
	for (s = oa->sets; s < oa->sets + MAX_SETS && s->id; s++)
		;
	if (s == oa->sets + MAX_SETS)
		return -ENOMEM;
	strscpy(s->uuid, uuid, sizeof(s->uuid));
	s->dir = kobject_create_and_add(uuid, oa->metrics);
	if (!s->dir)
		return -ENOMEM;
	sysfs_attr_init(&s->attr.attr);
	s->attr.attr.name = "id";
	s->attr.attr.mode = 0444;
	s->attr.show = id_show;
	ret = sysfs_create_file(s->dir, &s->attr.attr);
	if (ret)
		return ret;
	if (oa->last_id < first - 1)
		oa->last_id = first - 1;
	s->id = ++oa->last_id;
	return (int)s->id;
}

static void set_remove(struct set *s)
{
	sysfs_remove_file(s->dir, &s->attr.attr);
	kobject_put(s->dir);
	s->id = 0;
}

/* Logs the number of registers, and the sum of all addresses and values, each multiplied by its
 * position. */
static int regs_say(struct oa_dev *oa, const char *name, u64 ptr, u32 n)
{
	u32 reg[2], i;
	u64 sum = 0;

	for (i = 0; i < n; i++) {
		if (copy_from_user(reg, u64_to_user_ptr(ptr + i * sizeof(reg)), sizeof(reg)))
			return -EFAULT;
		if (reg[0] & 3)
			return -EINVAL;
		sum += (i + 1) * ((u64)reg[0] + reg[1]);
	}
	say(oa, "regs %s %u %llx\n", name, n, sum);
	return 0;
}

static bool denied(const struct oa_dev *oa)
{
	return (oa->xe ? xe_paranoid : i915_paranoid) && !perfmon_capable();
}

/* ---- opening ---- */

struct wish {
	u64 set, format, exponent, ctx, poll, class, instance, unit;
	bool sample, has_ctx, has_exponent, hold, sseu, has_class, has_instance, has_poll;
};

/* Returns the descriptor of a stream, which has its layout. On failure the stream is freed. */
static int stream_file(struct stream *s, const char *name, int flags)
{
	int fd;

	init_waitqueue_head(&s->wait);
	hrtimer_init(&s->poll, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	s->poll.function = stream_poll_timer;
	fd = anon_inode_getfd(name, &stream_fops, s, flags | O_RDONLY);
	if (fd < 0) {
		kfree(s);
		return fd;
	}
	*taken_by(s) = true;
	s->oa->opens++;
	hrtimer_start(&s->poll, ns_to_ktime(5 * NSEC_PER_MSEC), HRTIMER_MODE_REL);
	return fd;
}

static int oa_open(struct oa_dev *oa, const struct wish *w, int flags)
{
	const struct layout *l = NULL;
	struct stream *s;
	int i;

	for (i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].format == w->format)
			l = &layouts[i];
	if (denied(oa))
		return -EACCES;
	if (oa->taken)
		return -EBUSY;
	if (oa->knob[K_OPEN])
		return -(int)oa->knob[K_OPEN];
	if (!l || !set_find(oa, NULL, w->set) || !w->has_exponent)
		return -EINVAL;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->oa = oa;
	s->l = l;
	s->set = w->set;
	s->exponent = w->exponent;
	s->period = div64_u64((2ull << w->exponent) * NSEC_PER_SEC, oa->knob[K_OA_HZ]);
	s->buffer = 16 << 20;
	s->wait_reports = 1;
	stream_enable(s, true);
	return stream_file(s, oa->xe ? "[xe_oa]" : "[i915_perf]", flags);
}

static int i915_prop(struct oa_dev *oa, struct wish *w, u64 id, u64 v)
{
	static const u8 revisions[] = { 0, 1, 1, 1, 1, 1, 3, 4, 5, 6, 6 };
	struct drm_i915_gem_context_param_sseu sseu;

	if (!id || id >= ARRAY_SIZE(revisions) || revisions[id] > max(oa->knob[K_PERF_REVISION], 1ull))
		return -EINVAL;
	switch (id) {
	case DRM_I915_PERF_PROP_CTX_HANDLE:
		w->has_ctx = true;
		w->ctx = v;
		break;
	case DRM_I915_PERF_PROP_SAMPLE_OA:
		w->sample = v;
		break;
	case DRM_I915_PERF_PROP_OA_METRICS_SET:
		w->set = v;
		return v ? 0 : -EINVAL;
	case DRM_I915_PERF_PROP_OA_FORMAT:
		w->format = v;
		return v && v < 64 && oa->knob[K_FORMATS] >> v & 1 ? 0 : -EINVAL;
	case DRM_I915_PERF_PROP_OA_EXPONENT:
		if (v > 31)
			return -EINVAL;
		w->has_exponent = true;
		w->exponent = v;
		if (div64_u64(oa->knob[K_OA_HZ], 2ull << v) > oa_max_sample_rate && !perfmon_capable())
			return -EACCES;
		break;
	case DRM_I915_PERF_PROP_HOLD_PREEMPTION:
		w->hold = v;
		break;
	case DRM_I915_PERF_PROP_GLOBAL_SSEU:
		if (oa->knob[K_PCI] >> 8 == 0x56)	/* DG2 */
			return -ENODEV;
		if (copy_from_user(&sseu, u64_to_user_ptr(v), sizeof(sseu)))
			return -EFAULT;
		say(oa, "sseu %llx %llx %u %u\n", sseu.slice_mask, sseu.subslice_mask, sseu.min_eus_per_subslice,
		    sseu.max_eus_per_subslice);
		w->sseu = true;
		break;
	case DRM_I915_PERF_PROP_POLL_OA_PERIOD:
		return v < 100000 ? -EINVAL : 0;
	case 9:
		w->has_class = true;
		w->class = v;
		break;
	case 10:
		w->has_instance = true;
		w->instance = v;
		break;
	}
	return 0;
}

static int i915_open(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct oa_dev *oa = oa_of(drm);
	struct drm_i915_perf_open_param *p = data;
	struct wish w = { 0 };
	u64 prop[2];
	u32 i;
	int ret;

	if (oa->knob[K_OPEN] == 524)
		return -524;
	if (p->flags & ~(I915_PERF_FLAG_FD_CLOEXEC | I915_PERF_FLAG_FD_NONBLOCK | I915_PERF_FLAG_DISABLED))
		return -EINVAL;
	if (!p->num_properties || p->num_properties > 10)
		return -EINVAL;
	say(oa, "open %x", p->flags);
	for (i = 0; i < p->num_properties; i++) {
		if (copy_from_user(prop, u64_to_user_ptr(p->properties_ptr + i * sizeof(prop)), sizeof(prop)))
			return -EFAULT;
		if (prop[0] == DRM_I915_PERF_PROP_GLOBAL_SSEU)
			say(oa, " %llu=...", prop[0]);
		else
			say(oa, " %llu=%llu", prop[0], prop[1]);
	}
	say(oa, "\n");
	for (i = 0; i < p->num_properties; i++) {
		if (copy_from_user(prop, u64_to_user_ptr(p->properties_ptr + i * sizeof(prop)), sizeof(prop)))
			return -EFAULT;
		ret = i915_prop(oa, &w, prop[0], prop[1]);
		if (ret)
			return ret;
	}
	if (w.has_class != w.has_instance || (w.has_class && (w.class || w.instance)))
		return -EINVAL;
	if (w.hold && !w.has_ctx)
		return -EINVAL;
	if (w.has_ctx && w.ctx != 1)
		return -ENOENT;
	if (!w.sample)
		return -EINVAL;
	return oa_open(oa, &w, (p->flags & I915_PERF_FLAG_FD_CLOEXEC ? O_CLOEXEC : 0) |
				   (p->flags & I915_PERF_FLAG_FD_NONBLOCK ? O_NONBLOCK : 0));
}

static int i915_add(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct oa_dev *oa = oa_of(drm);
	struct drm_i915_perf_oa_config *c = data;
	int ret;

	if (denied(oa))
		return -EACCES;
	if (oa->knob[K_ADD])
		return -(int)oa->knob[K_ADD];
	if (!c->n_mux_regs && !c->n_boolean_regs && !c->n_flex_regs)
		return -EINVAL;
	ret = regs_say(oa, "mux", c->mux_regs_ptr, c->n_mux_regs);
	if (!ret)
		ret = regs_say(oa, "boolean", c->boolean_regs_ptr, c->n_boolean_regs);
	if (!ret)
		ret = regs_say(oa, "flex", c->flex_regs_ptr, c->n_flex_regs);
	if (!ret)
		ret = set_add(oa, c->uuid, 2);
	oa->adds += ret > 0;
	return ret;
}

static int set_forget(struct oa_dev *oa, u64 id)
{
	struct set *s = set_find(oa, NULL, id);

	if (denied(oa))
		return -EACCES;
	if (!s)
		return -ENOENT;
	set_remove(s);
	oa->removes++;
	return 0;
}

static int i915_remove(struct drm_device *drm, void *data, struct drm_file *file)
{
	return set_forget(oa_of(drm), *(u64 *)data);
}

static int i915_getparam(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct oa_dev *oa = oa_of(drm);
	struct drm_i915_getparam *p = data;
	/* A 32-bit program has its pointer directly after the number: i915_ioc32.c. */
	int __user *to = in_compat_syscall() ? compat_ptr(((u32 *)data)[1]) : p->value;
	u64 v;

	switch (p->param) {
	case I915_PARAM_CHIPSET_ID:
		v = oa->knob[K_PCI];
		break;
	case I915_PARAM_REVISION:
		v = oa->knob[K_REVISION];
		break;
	case I915_PARAM_PERF_REVISION:
		v = oa->knob[K_PERF_REVISION];
		break;
	case I915_PARAM_CS_TIMESTAMP_FREQUENCY:
		v = oa->knob[K_CS_HZ];
		break;
	case 57:	/* OA_TIMESTAMP_FREQUENCY */
		v = oa->knob[K_PERF_REVISION] >= 6 ? oa->knob[K_OA_HZ] : 0;
		break;
	case I915_PARAM_SLICE_MASK:
		v = 1;
		break;
	case I915_PARAM_SUBSLICE_MASK:
		v = 7;
		break;
	case I915_PARAM_SUBSLICE_TOTAL:
		v = 3;
		break;
	case I915_PARAM_EU_TOTAL:
		v = 23;
		break;
	default:
		v = 0;
	}
	return v ? put_user((int)v, to) : -EINVAL;
}

/* One slice with three subslices of eight EUs; one EU is fused off. */
static const struct {
	struct drm_i915_query_topology_info t;
	u8 data[5];
} topology = {
	{ .max_slices = 1, .max_subslices = 3, .max_eus_per_subslice = 8, .subslice_offset = 1, .subslice_stride = 1,
	  .eu_offset = 2, .eu_stride = 1 },
	{ 1, 7, 0xff, 0x7f, 0xff },
};

static int i915_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	const size_t size = offsetof(struct drm_i915_query_topology_info, data) + sizeof(topology.data);
	struct drm_i915_query *q = data;
	struct drm_i915_query_item item;
	u8 bytes[64];
	u32 i;

	if (!oa_of(drm)->knob[K_QUERY] || q->flags)
		return -EINVAL;
	memcpy(bytes, &topology.t, sizeof(topology.t));
	memcpy(bytes + offsetof(struct drm_i915_query_topology_info, data), topology.data, sizeof(topology.data));
	for (i = 0; i < q->num_items; i++) {
		struct drm_i915_query_item __user *to = u64_to_user_ptr(q->items_ptr + i * sizeof(item));

		if (copy_from_user(&item, to, sizeof(item)))
			return -EFAULT;
		if (item.query_id != DRM_I915_QUERY_TOPOLOGY_INFO || item.flags)
			item.length = -EINVAL;
		else if (item.length && item.length < size)
			item.length = -EINVAL;
		else if (item.length && copy_to_user(u64_to_user_ptr(item.data_ptr), bytes, size))
			item.length = -EFAULT;
		else
			item.length = size;
		if (put_user(item.length, &to->length))
			return -EFAULT;
	}
	return 0;
}

static int i915_reg_read(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct oa_dev *oa = oa_of(drm);
	struct drm_i915_reg_read *r = data;

	if (!oa->knob[K_REG_READ] || r->offset != (0x2358 | I915_REG_READ_8B_WA))
		return -EINVAL;
	r->val = clock_now(oa, ktime_get_ns()) & ((1ull << 36) - 1);
	return 0;
}

static const struct drm_ioctl_desc i915_ioctls[] = {
	DRM_IOCTL_DEF_DRV(I915_GETPARAM, i915_getparam, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(I915_REG_READ, i915_reg_read, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(I915_PERF_OPEN, i915_open, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(I915_PERF_ADD_CONFIG, i915_add, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(I915_PERF_REMOVE_CONFIG, i915_remove, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(I915_QUERY, i915_query, DRM_RENDER_ALLOW),
};

/* ---- xe ---- */

#if HAVE_XE

static int xe_prop(struct oa_dev *oa, struct wish *w, u32 id, u64 v)
{
	switch (id) {
	case DRM_XE_OA_PROPERTY_OA_UNIT_ID:
		w->unit = v;
		return v < oa->knob[K_UNITS] ? 0 : -EINVAL;
	case DRM_XE_OA_PROPERTY_SAMPLE_OA:
		w->sample = v;
		return 0;
	case DRM_XE_OA_PROPERTY_OA_METRIC_SET:
		w->set = v;
		return 0;
	case DRM_XE_OA_PROPERTY_OA_FORMAT:
		w->format = v;
		return 0;
	case DRM_XE_OA_PROPERTY_OA_PERIOD_EXPONENT:
		w->has_exponent = true;
		w->exponent = v;
		return v > 31 ? -EINVAL : 0;
	case DRM_XE_OA_PROPERTY_EXEC_QUEUE_ID:
		return v == 1 ? 0 : -ENOENT;
	case DRM_XE_OA_PROPERTY_OA_ENGINE_INSTANCE:
	case DRM_XE_OA_PROPERTY_NO_PREEMPT:
		return 0;
	case 12:	/* OA_BUFFER_SIZE */
		return oa->knob[K_CAPS] & 4 && is_power_of_2(v) && v >= 128 << 10 && v <= 128 << 20 ? 0 : -EINVAL;
	case 13:	/* WAIT_NUM_REPORTS */
		return oa->knob[K_CAPS] & 8 && v ? 0 : -EINVAL;
	}
	return -EINVAL;
}

static int xe_open(struct oa_dev *oa, u64 at)
{
	struct drm_xe_ext_set_property props[16];
	struct wish w = { 0 };
	int n, i, ret;

	say(oa, "open");
	for (n = 0; at && n < ARRAY_SIZE(props); n++) {
		if (copy_from_user(&props[n], u64_to_user_ptr(at), sizeof(*props)))
			return -EFAULT;
		if (props[n].base.name || props[n].pad)
			return -EINVAL;
		say(oa, " %u=%llu", props[n].property, props[n].value);
		at = props[n].base.next_extension;
	}
	say(oa, "\n");
	for (i = 0; i < n; i++) {
		ret = xe_prop(oa, &w, props[i].property, props[i].value);
		if (ret)
			return ret;
	}
	return w.sample ? oa_open(oa, &w, O_CLOEXEC) : -EINVAL;
}

static int xe_add(struct oa_dev *oa, u64 at)
{
	struct drm_xe_oa_config c;
	int ret;

	if (denied(oa))
		return -EACCES;
	if (oa->knob[K_ADD])
		return -(int)oa->knob[K_ADD];
	if (copy_from_user(&c, u64_to_user_ptr(at), sizeof(c)))
		return -EFAULT;
	if (c.extensions || !c.regs_ptr || !c.n_regs)
		return -EINVAL;
	ret = regs_say(oa, "all", c.regs_ptr, c.n_regs);
	if (!ret)
		ret = set_add(oa, c.uuid, 1);
	oa->adds += ret > 0;
	return ret;
}

/* The checks of xe_eu_stall_stream_open() of drivers/gpu/drm/xe/xe_eu_stall.c. GT 1 is the media GT,
 * which has no EUs. */
static int stalls_open(struct oa_dev *oa, u64 at)
{
	enum { GT = 1, PERIOD, WAIT };
	u64 v[] = { [GT] = U64_MAX, [PERIOD] = 4 * 251, [WAIT] = 1 };
	struct drm_xe_ext_set_property prop;
	struct stream *s;

	if (oa->knob[K_VERSION] < 20)
		return -ENODEV;
	if (denied(oa))
		return -EACCES;
	say(oa, "stalls");
	for (; at; at = prop.base.next_extension) {
		if (copy_from_user(&prop, u64_to_user_ptr(at), sizeof(prop)))
			return -EFAULT;
		if (prop.base.name || prop.base.pad || prop.pad || !prop.property || prop.property > WAIT)
			return -EINVAL;
		say(oa, " %u=%llu", prop.property, prop.value);
		v[prop.property] = prop.value;
	}
	say(oa, "\n");
	if (v[PERIOD] < 251 || v[PERIOD] >= 8 * 251 || v[GT] > 1)
		return -EINVAL;
	if (oa->stalls_taken)
		return -EBUSY;
	if (v[GT] == 1 || !v[WAIT] || v[WAIT] > STALL_CORES * STALL_BUFFER / STALL_BYTES)
		return -EINVAL;
	if (oa->knob[K_OPEN])
		return -(int)oa->knob[K_OPEN];
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->oa = oa;
	s->l = &stall_layout;
	s->period = v[PERIOD] / 251 * 251 * NSEC_PER_USEC;
	s->buffer = STALL_CORES * STALL_BUFFER;
	s->wait_reports = v[WAIT];
	return stream_file(s, "[xe_eu_stall]", 0);
}

static int xe_observation(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct oa_dev *oa = oa_of(drm);
	struct drm_xe_observation_param *p = data;
	u64 id;

	if (!p->extensions && p->observation_type == OBSERVATION_STALLS && oa->knob[K_STALLS] &&
	    p->observation_op == DRM_XE_OBSERVATION_OP_STREAM_OPEN)
		return stalls_open(oa, p->param);
	if (p->extensions || p->observation_type != DRM_XE_OBSERVATION_TYPE_OA)
		return -EINVAL;
	if (oa->knob[K_OPEN] == ENODEV)
		return -ENODEV;
	switch (p->observation_op) {
	case DRM_XE_OBSERVATION_OP_STREAM_OPEN:
		return xe_open(oa, p->param);
	case DRM_XE_OBSERVATION_OP_ADD_CONFIG:
		return xe_add(oa, p->param);
	case DRM_XE_OBSERVATION_OP_REMOVE_CONFIG:
		return get_user(id, (u64 __user *)u64_to_user_ptr(p->param)) ? -EFAULT : set_forget(oa, id);
	}
	return -EINVAL;
}

/* The media GT, which must be ignored, and the main GT: 20.04 in Lunar Lake. */
static size_t xe_gts(const struct oa_dev *oa, u8 *b)
{
	const struct drm_xe_query_gt_list head = { .num_gt = oa->knob[K_GTS] };
	const struct drm_xe_gt gts[] = {
		{ .type = DRM_XE_QUERY_GT_TYPE_MEDIA, .gt_id = 1, .reference_clock = 1, .ip_ver_major = 13, .ip_ver_minor = 1 },
		{ .type = DRM_XE_QUERY_GT_TYPE_MAIN, .reference_clock = oa->knob[K_CS_HZ],
		  .ip_ver_major = oa->knob[K_VERSION], .ip_ver_minor = 4 },
	};
	size_t n = min_t(size_t, oa->knob[K_GTS], ARRAY_SIZE(gts)) * sizeof(*gts);

	memcpy(b, &head, sizeof(head));
	memcpy(b + sizeof(head), gts, n);
	return sizeof(head) + n;
}

/* Lunar Lake: 8 cores of 8 EUs. Four bytes for each mask, the size that the kernel returns; the mask of
 * L3 banks is absent if the kernel cannot find it out. */
static size_t xe_topology(const struct oa_dev *oa, u8 *b)
{
	const struct {
		u16 gt, type;
		u32 n;
		u8 mask[4];
	} masks[] = {
		{ 0, DRM_XE_TOPO_DSS_GEOMETRY, 4, { 0xff } },
		{ 0, DRM_XE_TOPO_DSS_COMPUTE, 4, { 0xff } },
		{ 0, 5, 4, { 0xff } },
		{ 1, DRM_XE_TOPO_DSS_GEOMETRY, 4, { 0xff, 0xff } },	/* media: must be ignored */
		{ 0, 3, 4, { oa->knob[K_L3] } },
	};
	size_t n = sizeof(masks) - (oa->knob[K_L3] ? 0 : sizeof(*masks));

	memcpy(b, masks, n);
	return n;
}

/* GuC's table: key, number of values, values. */
static size_t xe_hwconfig(u8 *b)
{
	static const u32 table[] = {
		1, 1, 2,	/* MAX_SLICES_SUPPORTED */
		70, 2, 4, 4,	/* a key of two values, which look like another key */
		4, 1, 3,	/* NUM_PIXEL_PIPES */
		15, 1, 8,	/* NUM_THREADS_PER_EU */
		63, 1, 1,	/* GEOMETRY_PIPES_PER_SLICE */
	};

	memcpy(b, table, sizeof(table));
	return sizeof(table);
}

/* Unit 0 counts for the render engine and a compute engine; unit 1 is the media unit, with a clock
 * 1.5 times as fast. */
static size_t xe_units(const struct oa_dev *oa, u8 *b)
{
	struct drm_xe_query_oa_units head = { .num_oa_units = oa->knob[K_UNITS] };
	struct drm_xe_oa_unit u = { .oa_unit_id = 0, .oa_unit_type = DRM_XE_OA_UNIT_TYPE_OAG,
		.capabilities = oa->knob[K_CAPS], .oa_timestamp_freq = oa->knob[K_OA_HZ], .num_engines = 2 };
	const struct drm_xe_engine_class_instance gpu[] = { { 0, 0, 0 }, { 4, 0, 0 } }, media[] = { { 2, 0, 1 } };
	u8 *p = b;

	memcpy(p, &head, sizeof(head));
	p += sizeof(head);
	if (oa->knob[K_UNITS] > 0) {
		memcpy(p, &u, sizeof(u));
		memcpy(p + sizeof(u), gpu, sizeof(gpu));
		p += sizeof(u) + sizeof(gpu);
	}
	if (oa->knob[K_UNITS] > 1) {
		u.oa_unit_id = 1;
		u.oa_unit_type = DRM_XE_OA_UNIT_TYPE_OAM;
		u.num_engines = 1;
		memcpy(p, &u, sizeof(u));
		memcpy(p + sizeof(u), media, sizeof(media));
		p += sizeof(u) + sizeof(media);
	}
	return p - b;
}

/* struct drm_xe_query_eu_stall. Each period is a multiple of 251 clocks. */
static size_t xe_stalls(const struct oa_dev *oa, u8 *b)
{
	u64 answer[10 + 7] = { 0, 1, STALL_BYTES, STALL_BUFFER, [9] = oa->knob[K_STALLS] };
	u64 i, n = min(oa->knob[K_STALLS], 7ull);

	for (i = 0; i < n; i++)
		answer[10 + i] = 251 * (i + 1);
	memcpy(b, answer, sizeof(answer));
	return (10 + n) * sizeof(u64);
}

static int xe_cycles(const struct oa_dev *oa, struct drm_xe_device_query *q)
{
	struct drm_xe_query_engine_cycles c;

	if (!oa->knob[K_REG_READ] || q->size != sizeof(c) || copy_from_user(&c, u64_to_user_ptr(q->data), sizeof(c)))
		return -EINVAL;
	if (c.clockid != CLOCK_MONOTONIC || c.eci.engine_class)
		return -EINVAL;
	c.cpu_timestamp = ktime_get_ns();
	c.cpu_delta = 100;
	c.engine_cycles = mul_u64_u64_div_u64(clock_now(oa, c.cpu_timestamp), oa->knob[K_CS_HZ], oa->knob[K_OA_HZ]);
	c.width = 36;
	return copy_to_user(u64_to_user_ptr(q->data), &c, sizeof(c)) ? -EFAULT : 0;
}

static int xe_query(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct oa_dev *oa = oa_of(drm);
	struct drm_xe_device_query *q = data;
	u64 config[] = { 5, oa->knob[K_PCI] | oa->knob[K_REVISION] << 16, 0, 4096, 48, 2 };
	u8 b[512];
	size_t n;

	switch (q->query) {
	case DRM_XE_DEVICE_QUERY_CONFIG:
		memcpy(b, config, n = sizeof(config));
		break;
	case DRM_XE_DEVICE_QUERY_GT_LIST:
		if (!oa->knob[K_GTS])
			return -EINVAL;
		n = xe_gts(oa, b);
		break;
	case DRM_XE_DEVICE_QUERY_GT_TOPOLOGY:
		n = xe_topology(oa, b);
		break;
	case DRM_XE_DEVICE_QUERY_HWCONFIG:
		if (!oa->knob[K_HWCONFIG])
			return -ENODEV;
		n = xe_hwconfig(b);
		break;
	case DRM_XE_DEVICE_QUERY_OA_UNITS:
		n = xe_units(oa, b);
		break;
	case QUERY_STALLS:
		if (!oa->knob[K_STALLS])
			return -EINVAL;
		if (oa->knob[K_VERSION] < 20)
			return -ENODEV;
		n = xe_stalls(oa, b);
		break;
	case DRM_XE_DEVICE_QUERY_ENGINE_CYCLES:
		return xe_cycles(oa, q);
	default:
		return -EINVAL;
	}
	if (!q->size) {
		q->size = n;
		return 0;
	}
	return q->size != n ? -EINVAL : copy_to_user(u64_to_user_ptr(q->data), b, n) ? -EFAULT : 0;
}

static const struct drm_ioctl_desc xe_ioctls[] = {
	DRM_IOCTL_DEF_DRV(XE_DEVICE_QUERY, xe_query, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(XE_OBSERVATION, xe_observation, DRM_RENDER_ALLOW),
};

#endif

/* ---- files ---- */

static struct oa_dev *oa_at(struct device *dev)
{
	int i;

	for (i = 0; i < noas && oas[i].drm->dev != dev; i++)
		;
	return &oas[i];
}

static ssize_t oa_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct oa_dev *oa = oa_at(dev);

	return sysfs_emit(buf, "opens %u closes %u adds %u removes %u\n%.*s", oa->opens, oa->closes, oa->adds, oa->removes,
			  (int)oa->nlog, oa->log);
}

static void oa_reset(struct oa_dev *oa)
{
	int i;

	for (i = 0; i < KNOBS; i++)
		oa->knob[i] = oa->xe ? knobs[i].xe : knobs[i].i915;
	oa->nevents = 0;
	oa->nlog = 0;
	oa->opens = oa->closes = oa->adds = oa->removes = 0;
}

static ssize_t oa_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t len)
{
	struct oa_dev *oa = oa_at(dev);
	char word[64];
	u64 a, b, c;
	int i;

	if (sscanf(buf, "event %llu %llu %llu", &a, &b, &c) == 3) {
		if (oa->nevents == MAX_EVENTS)
			return -ENOSPC;
		oa->event[oa->nevents++] = (struct event){ a, b, c };
		return len;
	}
	if (sscanf(buf, "set %36s", word) == 1) {
		i = set_add(oa, word, 2);
		return i < 0 ? i : len;
	}
	if (sscanf(buf, "%31s %lli", word, &a) == 2) {
		for (i = 0; i < KNOBS; i++)
			if (!strcmp(knobs[i].name, word)) {
				oa->knob[i] = a;
				return len;
			}
		return -EINVAL;
	}
	if (!strncmp(buf, "reset", 5)) {
		oa_reset(oa);
	} else if (!strncmp(buf, "forget", 6)) {
		for (i = 0; i < MAX_SETS; i++)
			if (oa->sets[i].id)
				set_remove(&oa->sets[i]);
	} else {
		return -EINVAL;
	}
	return len;
}
static DEVICE_ATTR_RW(oa);

static ssize_t mhz_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", strstr(attr->attr.name, "min") ? 300 : 1150);
}
static DEVICE_ATTR(gt_min_freq_mhz, 0444, mhz_show, NULL);
static DEVICE_ATTR(gt_max_freq_mhz, 0444, mhz_show, NULL);

static ssize_t freq_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%d\n", strstr(attr->attr.name, "min") ? 400 : 2050);
}
static struct kobj_attribute xe_min = __ATTR(min_freq, 0444, freq_show, NULL);
static struct kobj_attribute xe_max = __ATTR(max_freq, 0444, freq_show, NULL);

static int files_xe(struct device *dev)
{
	struct kobject *dir = &dev->kobj;
	static const char *const names[] = { "tile0", "gt0", "freq0" };
	int i, ret;

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		dir = kobject_create_and_add(names[i], dir);
		if (!dir)
			return -ENOMEM;
	}
	ret = sysfs_create_file(dir, &xe_min.attr);
	return ret ? ret : sysfs_create_file(dir, &xe_max.attr);
}

static struct ctl_table i915_table[] = {
	{ .procname = "perf_stream_paranoid", .data = &i915_paranoid, .maxlen = sizeof(int), .mode = 0644,
	  .proc_handler = proc_dointvec },
	{ .procname = "oa_max_sample_rate", .data = &oa_max_sample_rate, .maxlen = sizeof(int), .mode = 0644,
	  .proc_handler = proc_dointvec },
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	{ }
#endif
};
static struct ctl_table xe_table[] = {
	{ .procname = "observation_paranoid", .data = &xe_paranoid, .maxlen = sizeof(int), .mode = 0644,
	  .proc_handler = proc_dointvec },
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
	{ }
#endif
};

void perffake_driver(struct drm_driver *driver)
{
#if HAVE_XE
	if (!strcmp(driver->name, "xe")) {
		driver->ioctls = xe_ioctls;
		driver->num_ioctls = ARRAY_SIZE(xe_ioctls);
		return;
	}
#endif
	driver->ioctls = i915_ioctls;
	driver->num_ioctls = ARRAY_SIZE(i915_ioctls);
}

/* Called once the device is registered. */
int perffake_start(struct drm_device *drm)
{
	struct device *card = drm->primary->kdev;
	struct oa_dev *oa = &oas[noas];
	int ret;

	if (noas == MAX_OAS - 1)
		return -ENOSPC;
	if (!HAVE_XE && !strcmp(drm->driver->name, "xe"))
		/* its file `oa` is then missing, by which the tests detect this kernel */
		return -ENODEV;
	mutex_init(&oa->lock);
	oa->drm = drm;
	oa->xe = !strcmp(drm->driver->name, "xe");
	oa_reset(oa);
	oa->metrics = kobject_create_and_add("metrics", &card->kobj);
	if (!oa->metrics)
		return -ENOMEM;
	ret = device_create_file(drm->dev, &dev_attr_oa);
	if (!ret && oa->xe)
		ret = files_xe(drm->dev);
	if (!ret && !oa->xe)
		ret = device_create_file(card, &dev_attr_gt_min_freq_mhz);
	if (!ret && !oa->xe)
		ret = device_create_file(card, &dev_attr_gt_max_freq_mhz);
	if (ret)
		return ret;
	if (!(oa->xe ? register_sysctl("dev/xe", xe_table) : register_sysctl("dev/i915", i915_table)))
		return -ENOMEM;
	noas++;
	return 0;
}
