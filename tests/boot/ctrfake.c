// SPDX-License-Identifier: GPL-2.0
/*
 * ctrfake: the performance counters of the drivers v3d and msm, without their GPUs. For tests in a
 * disposable virtual machine only. Requests and layouts are those of include/uapi/drm/v3d_drm.h and
 * msm_drm.h of Linux 7.2, behaviour and errors those of v3d_perfmon.c and msm_perfcntr.c there; the
 * DRM core's own code checks and copies the requests.
 *
 * Files in /sys/module/ctrfake/parameters, to write:
 *
 *	job	N: a GPU job. The 32-bit counter with number C of v3d's global monitor adds N * (C + 1)
 *	old	1: neither driver has the requests for all jobs, as before Linux 6.15 and 7.2
 *	gpu	"off", "on": the power of msm's GPU; "skip": records were lost meanwhile, and the counters
 *		went on by a billion; "full": all counters of all blocks are reserved by programs
 *	chip	msm's chip id
 *
 * While msm's GPU is on, the counter with select value S of a stream adds 1000 * (S + 1) from one
 * record to the next.
 */
#include <linux/version.h>
#include <linux/anon_inodes.h>
#include <linux/capability.h>
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/poll.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/v3d_drm.h>
#include <drm/msm_drm.h>

#include "ctrfake.h"

/* ---- v3d ---- */

#define V3D_MAX 32
#define V3D_FILE_MONITORS 4

/* The first names of V3D 7.1, and the two that show memory traffic. */
static const char *const v3d_names[][2] = {
	{ "CORE", "cycle-count" }, { "CORE", "core-active" }, { "CLE", "CLE-bin-thread-active-cycles" },
	{ "CLE", "CLE-render-thread-active-cycles" }, { "CORE", "compute-active-cycles" },
	{ "PTB", "PTB-primitives-binned" },
	{ "AXI", "AXI-write-bytes-seen-watch-0" }, { "AXI", "AXI-read-bytes-seen-watch-0" },
};

struct monitor {
	u32 n;			/* 0: not created */
	u8 counters[V3D_MAX];
	u32 hw[V3D_MAX];	/* the registers, since the last capture */
	u64 values[V3D_MAX];
};

static DEFINE_MUTEX(v3d_lock);
static struct monitor *v3d_global;

static int v3d_open(struct drm_device *drm, struct drm_file *file)
{
	file->driver_priv = kcalloc(V3D_FILE_MONITORS, sizeof(struct monitor), GFP_KERNEL);
	return file->driver_priv ? 0 : -ENOMEM;
}

/* Returns a monitor of this file by its id, from 1. */
static struct monitor *v3d_find(struct drm_file *file, u32 id)
{
	struct monitor *m = file->driver_priv;

	return id - 1 < V3D_FILE_MONITORS && m[id - 1].n ? &m[id - 1] : NULL;
}

/* With its file the monitor is destroyed, and with it the global one. */
static void v3d_close(struct drm_device *drm, struct drm_file *file)
{
	struct monitor *m = file->driver_priv;

	mutex_lock(&v3d_lock);
	if (v3d_global >= m && v3d_global < m + V3D_FILE_MONITORS)
		v3d_global = NULL;
	mutex_unlock(&v3d_lock);
	kfree(m);
}

static int v3d_param(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ctr_v3d_param *p = data;

	if (p->pad != 0)
		return -EINVAL;
	if (p->param == 10)		/* SUPPORTS_PERFMON */
		p->value = 1;
	else if (p->param == 13)	/* MAX_PERF_COUNTERS */
		p->value = ARRAY_SIZE(v3d_names);
	else
		return -EINVAL;
	return 0;
}

static int v3d_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ctr_v3d_create *c = data;
	struct monitor *m = file->driver_priv;
	u32 i, id;

	if (!c->n || c->n > V3D_MAX)
		return -EINVAL;
	for (i = 0; i < c->n; i++)
		if (c->counters[i] >= ARRAY_SIZE(v3d_names))
			return -EINVAL;
	for (id = 0; id < V3D_FILE_MONITORS && m[id].n; id++)
		;
	if (id == V3D_FILE_MONITORS)
		return -ENOMEM;
	memcpy(m[id].counters, c->counters, sizeof(c->counters));
	m[id].n = c->n;
	c->id = id + 1;
	return 0;
}

static int v3d_destroy(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct monitor *m = v3d_find(file, *(u32 *)data);

	if (!m)
		return -EINVAL;
	mutex_lock(&v3d_lock);
	if (v3d_global == m)
		v3d_global = NULL;
	memset(m, 0, sizeof(*m));
	mutex_unlock(&v3d_lock);
	return 0;
}

static int v3d_values(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ctr_v3d_values *v = data;
	struct monitor *m = v3d_find(file, v->id);
	u32 i;

	if (v->pad || !m)
		return -EINVAL;
	mutex_lock(&v3d_lock);
	for (i = 0; i < m->n; i++) {
		m->values[i] += m->hw[i];
		m->hw[i] = 0;
	}
	mutex_unlock(&v3d_lock);
	return copy_to_user(u64_to_user_ptr(v->values), m->values, m->n * sizeof(u64)) ? -EFAULT : 0;
}

static int v3d_counter(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ctr_v3d_counter *c = data;

	if (memchr_inv(c->reserved, 0, sizeof(c->reserved)) || c->counter >= ARRAY_SIZE(v3d_names))
		return -EINVAL;
	strscpy(c->category, v3d_names[c->counter][0], sizeof(c->category));
	strscpy(c->name, v3d_names[c->counter][1], sizeof(c->name));
	snprintf(c->description, sizeof(c->description), "[%s] %s", c->category, c->name);
	return 0;
}

static int v3d_set_global(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ctr_v3d_global *g = data;
	struct monitor *m = v3d_find(file, g->id);
	int ret = 0;

	if (g->flags & ~1u || !m)
		return -EINVAL;
	mutex_lock(&v3d_lock);
	if (g->flags)
		v3d_global ? (void)(v3d_global = NULL) : (void)(ret = -EINVAL);
	else if (v3d_global)
		ret = -EBUSY;
	else
		v3d_global = m;
	mutex_unlock(&v3d_lock);
	return ret;
}

static int job_set(const char *text, const struct kernel_param *kp)
{
	u32 n, i;
	int ret = kstrtou32(strim((char *)text), 0, &n);

	if (ret)
		return ret;
	mutex_lock(&v3d_lock);
	for (i = 0; v3d_global && i < v3d_global->n; i++)
		v3d_global->hw[i] += n * (v3d_global->counters[i] + 1);
	mutex_unlock(&v3d_lock);
	return 0;
}
static const struct kernel_param_ops job_ops = { .set = job_set };
module_param_cb(job, &job_ops, NULL, 0200);

#define IOCTL(nr, request, function) \
	[nr] = { .cmd = request, .func = function, .flags = DRM_RENDER_ALLOW, .name = #function }

static const struct drm_ioctl_desc v3d_ioctls[] = {
	IOCTL(0x04, CTR_V3D_GET_PARAM, v3d_param),
	IOCTL(0x08, CTR_V3D_CREATE, v3d_create),
	IOCTL(0x09, CTR_V3D_DESTROY, v3d_destroy),
	IOCTL(0x0a, CTR_V3D_GET_VALUES, v3d_values),
	IOCTL(0x0c, CTR_V3D_GET_COUNTER, v3d_counter),
	IOCTL(0x0d, CTR_V3D_SET_GLOBAL, v3d_set_global),
};

/* ---- msm ---- */

#define MSM_COUNTERS 64
#define PERIOD_MIN 1000000	/* ns: a shorter period would hang the emulated machine */

/* Blocks of a7xx, from a7xx_perfcntrs.json, and the number of their counters. */
static const struct {
	const char *name;
	u32 n;
} blocks[] = {
	{ "CP", 14 }, { "RBBM", 4 }, { "PC", 8 }, { "VFD", 8 }, { "HLSQ", 6 }, { "VPC", 6 }, { "TSE", 4 }, { "RAS", 4 },
	{ "UCHE", 12 }, { "TP", 12 }, { "SP", 24 }, { "RB", 8 }, { "VSC", 2 }, { "CCU", 5 }, { "LRZ", 4 }, { "CMP", 4 },
};

struct stream {
	struct hrtimer timer;
	spinlock_t lock;
	wait_queue_head_t wait;
	u64 period;
	u32 n, size, seqno;
	u32 select[MSM_COUNTERS];
	u64 value[MSM_COUNTERS];
	char *fifo;		/* size bytes, a power of two; one always stays free */
	u32 head, tail;
	struct mutex reading;
};

static DEFINE_MUTEX(msm_lock);
static struct stream *msm_stream;
static bool gpu_on = true, gpu_full;
static u64 chip = 0x43050a01;	/* Adreno 740 */
module_param(chip, ullong, 0600);

static void put_bytes(struct stream *s, const void *p, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++, s->head = (s->head + 1) & (s->size - 1))
		s->fifo[s->head] = ((const char *)p)[i];
}

static enum hrtimer_restart sample(struct hrtimer *timer)
{
	struct stream *s = container_of(timer, struct stream, timer);
	u64 time = ktime_get_ns() * 192 / 10000;	/* 19.2 MHz */
	u32 zero = 0, i, space;
	unsigned long flags;

	spin_lock_irqsave(&s->lock, flags);
	space = (s->tail - s->head - 1) & (s->size - 1);
	for (i = 0; gpu_on && i < s->n; i++)
		s->value[i] += 1000 * (s->select[i] + 1);
	if (16 + 8 * s->n > space) {
		s->seqno = 0;
	} else if (gpu_on) {
		put_bytes(s, &time, 8);
		put_bytes(s, &s->seqno, 4);
		put_bytes(s, &zero, 4);
		put_bytes(s, s->value, 8 * s->n);
		s->seqno++;
	}
	spin_unlock_irqrestore(&s->lock, flags);
	wake_up_all(&s->wait);
	hrtimer_forward_now(timer, ns_to_ktime(s->period));
	return HRTIMER_RESTART;
}

static ssize_t stream_read(struct file *f, char __user *to, size_t n, loff_t *pos)
{
	struct stream *s = f->private_data;
	u32 head, to_end;

	if (!(f->f_flags & O_NONBLOCK) && wait_event_interruptible(s->wait, READ_ONCE(s->head) != s->tail))
		return -ERESTARTSYS;
	mutex_lock(&s->reading);
	head = smp_load_acquire(&s->head);
	/* a read ends where the buffer ends */
	to_end = head >= s->tail ? head - s->tail : s->size - s->tail;
	n = min_t(size_t, n, to_end);
	if (n && copy_to_user(to, s->fifo + s->tail, n)) {
		mutex_unlock(&s->reading);
		return -EFAULT;
	}
	smp_store_release(&s->tail, (s->tail + n) & (s->size - 1));
	mutex_unlock(&s->reading);
	return n ? n : -EAGAIN;
}

static __poll_t stream_poll(struct file *f, poll_table *wait)
{
	struct stream *s = f->private_data;

	poll_wait(f, &s->wait, wait);
	return READ_ONCE(s->head) != s->tail ? EPOLLIN : 0;
}

static int stream_release(struct inode *inode, struct file *f)
{
	struct stream *s = f->private_data;

	mutex_lock(&msm_lock);
	hrtimer_cancel(&s->timer);
	msm_stream = NULL;
	mutex_unlock(&msm_lock);
	kfree(s->fifo);
	kfree(s);
	return 0;
}

static const struct file_operations stream_fops = {
	.owner = THIS_MODULE,
	.release = stream_release,
	.poll = stream_poll,
	.read = stream_read,
	.llseek = noop_llseek,
};

static int block_find(const char name[16])
{
	int i;

	for (i = 0; i < ARRAY_SIZE(blocks); i++)
		if (!strncmp(blocks[i].name, name, 16))
			return i;
	return -1;
}

/* Reads the groups of a request into s. */
static int groups_read(const struct ctr_msm_config *c, struct stream *s)
{
	u64 seen = 0;
	u32 i;
	int ret = 0;

	for (i = 0; i < c->n; i++) {
		struct ctr_msm_group g = { 0 };
		void __user *at = u64_to_user_ptr(c->groups + i * c->stride);
		size_t size = min_t(size_t, c->stride, sizeof(g));
		int b;
		u32 free;

		if (copy_from_user(&g, at, size))
			return -EFAULT;
		b = block_find(g.name);
		if (g.pad || b < 0 || seen >> b & 1 || g.n > blocks[b].n)
			return -EINVAL;
		seen |= 1ull << b;
		if (c->flags & 1 ? g.n && !g.countables : g.countables)
			return -EINVAL;
		free = gpu_full && c->flags & 1 ? 0 : blocks[b].n;
		if (g.n > free) {
			ret = -E2BIG;
			g.n = free;
			if (c->flags & 2 && copy_to_user(at, &g, size))
				return -EFAULT;
			continue;
		}
		if (s->n + g.n > MSM_COUNTERS)
			return -EINVAL;
		if (c->flags & 1 && copy_from_user(s->select + s->n, u64_to_user_ptr(g.countables), 4 * g.n))
			return -EFAULT;
		s->n += g.n;
	}
	return ret;
}

static int stream_begin(struct stream *s)
{
	int fd;

	s->fifo = kmalloc(s->size, GFP_KERNEL);
	if (!s->fifo)
		return -ENOMEM;
	spin_lock_init(&s->lock);
	mutex_init(&s->reading);
	init_waitqueue_head(&s->wait);
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(&s->timer, sample, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
#else
	hrtimer_init(&s->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	s->timer.function = sample;
#endif
	fd = anon_inode_getfd("[msm_perfcntrs]", &stream_fops, s, O_CLOEXEC);
	if (fd < 0)
		return fd;
	msm_stream = s;
	hrtimer_start(&s->timer, ns_to_ktime(s->period), HRTIMER_MODE_REL);
	return fd;
}

static int msm_config(struct drm_device *drm, void *data, struct drm_file *file)
{
	const struct ctr_msm_config *c = data;
	struct stream *s;
	int ret;

	if (c->flags & ~3u || (c->n && (!c->stride || !c->groups)) || c->n > ARRAY_SIZE(blocks))
		return -EINVAL;
	if (c->flags & 1 && !perfmon_capable())
		return -EPERM;
	if (c->flags & 1 ? !c->n || c->period < PERIOD_MIN || c->shift > 27 : c->period || c->shift)
		return -EINVAL;
	s = kzalloc(sizeof(*s), GFP_KERNEL);
	if (!s)
		return -ENOMEM;
	s->period = c->period;
	s->size = 1u << c->shift;
	mutex_lock(&msm_lock);
	ret = c->flags & 1 && msm_stream ? -EBUSY : groups_read(c, s);
	if (ret == 0 && c->flags & 1)
		ret = s->size <= 16 + 8 * s->n ? -EINVAL : stream_begin(s);
	mutex_unlock(&msm_lock);
	if (ret < 0)
		kfree(s->fifo);
	if (ret < 0 || !(c->flags & 1))
		kfree(s);
	return ret;
}

static int msm_param(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct ctr_msm_param *p = data;

	if (p->pipe != 0x10 || p->len || p->pad || p->param != 3)
		return -EINVAL;
	p->value = chip;
	return 0;
}

static int gpu_set(const char *text, const struct kernel_param *kp)
{
	bool off = sysfs_streq(text, "off"), skip = sysfs_streq(text, "skip");
	struct stream *s;
	u32 i;

	mutex_lock(&msm_lock);
	s = msm_stream;
	gpu_full = sysfs_streq(text, "full");
	if (s)
		spin_lock_irq(&s->lock);
	gpu_on = !off;
	if (s && (off || skip))
		s->seqno = 0;
	for (i = 0; s && i < s->n && (off || skip); i++)
		s->value[i] = off ? 0 : s->value[i] + 1000000000;
	if (s)
		spin_unlock_irq(&s->lock);
	mutex_unlock(&msm_lock);
	return 0;
}
static const struct kernel_param_ops gpu_ops = { .set = gpu_set };
module_param_cb(gpu, &gpu_ops, NULL, 0200);

static const struct drm_ioctl_desc msm_ioctls[] = {
	IOCTL(0x00, CTR_MSM_GET_PARAM, msm_param),
	IOCTL(0x0e, CTR_MSM_CONFIG, msm_config),
};

/* ---- both ---- */

static const struct file_operations node_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
#ifdef FOP_UNSIGNED_OFFSET
	.fop_flags = FOP_UNSIGNED_OFFSET,
#endif
};

/* The table also has entries between the requests: the DRM core answers EINVAL to a request without
 * a function, and to one after the end of the table. */
#define DRIVER(title, table) \
	.driver_features = DRIVER_RENDER, .ioctls = table, .num_ioctls = ARRAY_SIZE(table), .fops = &node_fops, \
	.name = title, .desc = "test-only counters without hardware", .major = 1

static struct drm_driver v3d_driver = { DRIVER("v3d", v3d_ioctls), .open = v3d_open, .postclose = v3d_close };
static struct drm_driver msm_driver = { DRIVER("msm", msm_ioctls) };

static int old_set(const char *text, const struct kernel_param *kp)
{
	bool old = sysfs_streq(text, "1");

	v3d_driver.num_ioctls = ARRAY_SIZE(v3d_ioctls) - old;
	msm_driver.num_ioctls = ARRAY_SIZE(msm_ioctls) - old;
	return 0;
}
static const struct kernel_param_ops old_ops = { .set = old_set };
module_param_cb(old, &old_ops, NULL, 0200);

static int ctr_probe(struct platform_device *pdev)
{
	struct drm_device *drm = drm_dev_alloc(strcmp(pdev->name, "v3d") ? &msm_driver : &v3d_driver, &pdev->dev);

	return IS_ERR(drm) ? PTR_ERR(drm) : drm_dev_register(drm, 0);
}

/* As on phones and laptops, the node of msm belongs to the driver of the display. */
static struct platform_driver bus_drivers[] = {
	{ .probe = ctr_probe, .driver = { .name = "v3d", .suppress_bind_attrs = true } },
	{ .probe = ctr_probe, .driver = { .name = "msm_dpu", .suppress_bind_attrs = true } },
};

/* No module_exit(): the module stays as long as the machine runs. */
static int __init ctrfake_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bus_drivers); i++)
		if (platform_driver_register(&bus_drivers[i]) ||
		    IS_ERR(platform_device_register_simple(bus_drivers[i].driver.name, -1, NULL, 0)))
			pr_err("ctrfake: no %s\n", bus_drivers[i].driver.name);
	return 0;
}
module_init(ctrfake_init);

MODULE_DESCRIPTION("performance counters without GPUs, for tests");
MODULE_LICENSE("GPL");
