// SPDX-License-Identifier: GPL-2.0
/*
 * gpufake: emulated GPUs, with exactly the parts that a monitor can read. For tests in a disposable
 * virtual machine only.
 *
 *	insmod fake.ko devs=i915:hwmon,xe,xe:pm:hwmon,intel_vpu:accel,i915:oa
 *
 * makes one platform device per word, each with a DRM device of that driver name, and a primary and
 * a render node, or an accel node. The DRM core's own code opens them and prints their fdinfo; the
 * ioctls of gpufake.h set what each client appears to do. Flags:
 *
 *	accel	DRIVER_COMPUTE_ACCEL: major 261 instead of 226
 *	pm	runtime PM, suspended at the start. As with the real drivers, reading the fdinfo
 *		of a driver named "xe", or any hwmon file, takes a reference and wakes the device
 *	hwmon	temp1 "edge" 45 C, power1 "card" 4.2 W
 *	oa	the real driver's OA ioctls (perffake.c) instead of those of gpufake.h
 *	profiling	the file `profiling` of panfrost and panthor
 *
 * Files beside the platform device's own: `resumes` (number of wake-ups), `unplug` (write:
 * drm_dev_unplug). A word written to /sys/module/fake/parameters/add creates one more device.
 * The module can be unloaded while no descriptor of its devices is open; a monitor must not prevent
 * that. With an oa device it cannot be unloaded, because the files and timers of perffake.c have no
 * cleanup.
 */
#include <linux/version.h>
#include <linux/atomic.h>
#include <linux/hwmon.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/platform_device.h>
#include <linux/pm_runtime.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <drm/drm_device.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_ioctl.h>
#include <drm/drm_print.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 2, 0) && IS_ENABLED(CONFIG_DRM_ACCEL)
#include <drm/drm_accel.h>
#define HAVE_ACCEL 1
#else
#define HAVE_ACCEL 0
#endif
/* Since 6.5 the core prints drm-driver and drm-client-id and calls drm_driver.show_fdinfo. */
#define HAVE_DRM_SHOW_FDINFO (LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0))

#include "gpufake.h"
#include "perffake.h"

#define MAX_DEVS 16
#define AUTOSUSPEND_MS 100

static char *devs[MAX_DEVS];
static int ndevs;
module_param_array(devs, charp, &ndevs, 0444);
MODULE_PARM_DESC(devs, "NAME[:accel][:pm][:hwmon][:oa][:profiling],...");

struct fake_dev {
	char name[32];
	bool accel, pm, hwmon, oa, profiling;
	struct platform_device *pdev;
	struct drm_driver driver;
	struct drm_device *drm;
	struct device *hw;
	atomic_t resumes;
};

/* One platform driver per name, so that .../device/driver ends in "xe" like the real one. */
struct fake_bus_driver {
	struct platform_driver pd;
	char name[32];
};

static struct fake_dev fakes[MAX_DEVS];
static struct fake_bus_driver bus_drivers[MAX_DEVS];

struct engine {
	struct fake_engine set;
	u64 busy;	/* capacity-weighted busy time in ns, up to `since` */
	u64 total;	/* total time in ns, up to `since` */
	u64 since;	/* ktime of the last FAKE_IOC_ENGINE */
};

struct client {
	struct mutex lock;
	struct fake_dev *dev;
	bool held;
	int nengines;
	struct engine engine[FAKE_ENGINES];
	struct fake_shift shift;
	char text[FAKE_TEXT];
#if !HAVE_DRM_SHOW_FDINFO
	u64 id;
#endif
};

/* Exact for busy times up to 100 days: whole seconds are scaled separately, so that no product
 * exceeds 64 bits. */
static u64 scale(u64 ns, u64 hz)
{
	return ns / NSEC_PER_SEC * hz + ns % NSEC_PER_SEC * hz / NSEC_PER_SEC;
}

static u64 moved(u64 v, s64 by)
{
	return by < 0 && (u64)-by > v ? 0 : v + by;
}

static u64 engine_busy(const struct engine *e, u64 now)
{
	return e->busy + (now - e->since) * e->set.capacity / 1000000 * e->set.ppm +
	       (now - e->since) * e->set.capacity % 1000000 * e->set.ppm / 1000000;
}

static void show_engine(struct drm_printer *p, const struct engine *e, const struct fake_shift *by, u64 now)
{
	u64 busy = engine_busy(e, now), total = e->total + (now - e->since);
	const char *name = e->set.name;

	if (e->set.keys & FAKE_NS)
		drm_printf(p, "drm-engine-%s:\t%llu ns\n", name, moved(busy, by->ns));
	if (e->set.keys & FAKE_TOTAL)
		drm_printf(p, "drm-total-cycles-%s:\t%llu\n", name, moved(scale(total, e->set.freq), by->total));
	if (e->set.keys & FAKE_CYCLES)
		drm_printf(p, "drm-cycles-%s:\t%llu\n", name, moved(scale(busy, e->set.freq), by->cycles));
	if (e->set.keys & FAKE_MAXFREQ)
		drm_printf(p, "drm-maxfreq-%s:\t%llu Hz\n", name, e->set.maxfreq);
	if (e->set.keys & FAKE_CURFREQ)
		drm_printf(p, "drm-curfreq-%s:\t%llu Hz\n", name, e->set.freq);
	if (e->set.capacity > 1)
		drm_printf(p, "drm-engine-capacity-%s:\t%u\n", name, e->set.capacity);
}

static void show_fdinfo(struct drm_printer *p, struct drm_file *file)
{
	struct client *c = file->driver_priv;
	struct device *dev = &c->dev->pdev->dev;
	bool wake = c->dev->pm && !strcmp(c->dev->name, "xe");
	u64 now;
	int i;

	if (wake && pm_runtime_get_sync(dev) < 0)
		drm_printf(p, "gpufake: resume failed\n");
	mutex_lock(&c->lock);
	now = ktime_get_ns();
	for (i = 0; i < c->nengines; i++)
		show_engine(p, &c->engine[i], &c->shift, now);
	drm_printf(p, "%s", c->text);
	mutex_unlock(&c->lock);
	if (wake) {
		pm_runtime_mark_last_busy(dev);
		pm_runtime_put_autosuspend(dev);
	}
}

static int ioctl_engine(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct client *c = file->driver_priv;
	struct fake_engine *set = data;
	struct engine *e;
	u64 now;
	int i, ret = 0;

	set->name[sizeof(set->name) - 1] = 0;
	if (!set->capacity)
		return -EINVAL;
	mutex_lock(&c->lock);
	now = ktime_get_ns();
	for (i = 0; i < c->nengines && strcmp(c->engine[i].set.name, set->name); i++)
		;
	if (i == FAKE_ENGINES) {
		ret = -ENOSPC;
		goto out;
	}
	e = &c->engine[i];
	if (i == c->nengines) {
		c->nengines++;
	} else {
		e->busy = engine_busy(e, now);
		e->total += now - e->since;
	}
	e->since = now;
	e->set = *set;
out:
	mutex_unlock(&c->lock);
	return ret;
}

static int ioctl_shift(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct client *c = file->driver_priv;

	mutex_lock(&c->lock);
	c->shift = *(struct fake_shift *)data;
	mutex_unlock(&c->lock);
	return 0;
}

static int ioctl_text(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct client *c = file->driver_priv;

	mutex_lock(&c->lock);
	memcpy(c->text, data, FAKE_TEXT);
	c->text[FAKE_TEXT - 1] = 0;
	mutex_unlock(&c->lock);
	return 0;
}

static void hold(struct client *c, bool on)
{
	struct device *dev = &c->dev->pdev->dev;

	if (!c->dev->pm || on == c->held)
		return;
	c->held = on;
	if (on) {
		pm_runtime_get_sync(dev);
	} else {
		pm_runtime_mark_last_busy(dev);
		pm_runtime_put_autosuspend(dev);
	}
}

static int ioctl_hold(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct client *c = file->driver_priv;

	mutex_lock(&c->lock);
	hold(c, ((struct fake_hold *)data)->on);
	mutex_unlock(&c->lock);
	return 0;
}

static const struct drm_ioctl_desc ioctls[] = {
	[0] = { .cmd = FAKE_IOC_ENGINE, .func = ioctl_engine, .flags = DRM_RENDER_ALLOW, .name = "engine" },
	[1] = { .cmd = FAKE_IOC_SHIFT, .func = ioctl_shift, .flags = DRM_RENDER_ALLOW, .name = "shift" },
	[2] = { .cmd = FAKE_IOC_TEXT, .func = ioctl_text, .flags = DRM_RENDER_ALLOW, .name = "text" },
	[3] = { .cmd = FAKE_IOC_HOLD, .func = ioctl_hold, .flags = DRM_RENDER_ALLOW, .name = "hold" },
};

static int client_open(struct drm_device *drm, struct drm_file *file)
{
#if !HAVE_DRM_SHOW_FDINFO
	static atomic64_t ids;
#endif
	struct client *c = kzalloc(sizeof(*c), GFP_KERNEL);

	if (!c)
		return -ENOMEM;
	mutex_init(&c->lock);
	c->dev = dev_get_drvdata(drm->dev);
#if !HAVE_DRM_SHOW_FDINFO
	c->id = atomic64_inc_return(&ids);
#endif
	file->driver_priv = c;
	return 0;
}

static void client_close(struct drm_device *drm, struct drm_file *file)
{
	struct client *c = file->driver_priv;

	hold(c, false);
	kfree(c);
}

#if !HAVE_DRM_SHOW_FDINFO
static void drm_show_fdinfo(struct seq_file *m, struct file *f)
{
	struct drm_file *file = f->private_data;
	struct client *c = file->driver_priv;
	struct drm_printer p = drm_seq_file_printer(m);
	int idx;

	if (!drm_dev_enter(file->minor->dev, &idx))
		return;
	drm_printf(&p, "drm-driver:\t%s\ndrm-client-id:\t%llu\n", c->dev->name, c->id);
	show_fdinfo(&p, file);
	drm_dev_exit(idx);
}
#endif

static const struct file_operations gpu_fops = {
	.owner = THIS_MODULE,
	.open = drm_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.show_fdinfo = drm_show_fdinfo,
#ifdef FOP_UNSIGNED_OFFSET
	.fop_flags = FOP_UNSIGNED_OFFSET,
#endif
};

#if HAVE_ACCEL
static const struct file_operations accel_fops = {
	.owner = THIS_MODULE,
	.open = accel_open,
	.release = drm_release,
	.unlocked_ioctl = drm_ioctl,
	.compat_ioctl = drm_compat_ioctl,
	.poll = drm_poll,
	.read = drm_read,
	.llseek = noop_llseek,
	.show_fdinfo = drm_show_fdinfo,
#ifdef FOP_UNSIGNED_OFFSET
	.fop_flags = FOP_UNSIGNED_OFFSET,
#endif
};
#endif

/* A drm_driver holds the driver's name, so each device has its own copy. */
static const struct drm_driver template = {
	.driver_features = DRIVER_RENDER,
	.open = client_open,
	.postclose = client_close,
#if HAVE_DRM_SHOW_FDINFO
	.show_fdinfo = show_fdinfo,
#endif
	.ioctls = ioctls,
	.num_ioctls = ARRAY_SIZE(ioctls),
	.fops = &gpu_fops,
	.desc = "test-only device without hardware",
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
	.date = "20250101",
#endif
	.major = 1,
};

static umode_t sensor_visible(const void *data, enum hwmon_sensor_types type, u32 attr, int channel)
{
	return 0444;
}

static int sensor_read(struct device *dev, enum hwmon_sensor_types type, u32 attr, int channel, long *val)
{
	struct fake_dev *f = dev_get_drvdata(dev);

	if (f->pm)
		pm_runtime_get_sync(&f->pdev->dev);
	*val = type == hwmon_temp ? 45000 : 4200000;
	if (f->pm) {
		pm_runtime_mark_last_busy(&f->pdev->dev);
		pm_runtime_put_autosuspend(&f->pdev->dev);
	}
	return 0;
}

static int sensor_label(struct device *dev, enum hwmon_sensor_types type, u32 attr, int channel, const char **str)
{
	*str = type == hwmon_temp ? "edge" : "card";
	return 0;
}

static const struct hwmon_ops sensor_ops = {
	.is_visible = sensor_visible,
	.read = sensor_read,
	.read_string = sensor_label,
};

/* Not const twice: Linux 6.1 requires the type `const struct hwmon_channel_info **`. */
static const struct hwmon_channel_info *sensor_info[] = {
	HWMON_CHANNEL_INFO(temp, HWMON_T_INPUT | HWMON_T_LABEL),
	HWMON_CHANNEL_INFO(power, HWMON_P_INPUT | HWMON_P_LABEL),
	NULL
};

static const struct hwmon_chip_info sensor_chip = {
	.ops = &sensor_ops,
	.info = sensor_info,
};

static ssize_t resumes_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct fake_dev *f = dev_get_drvdata(dev);

	return sysfs_emit(buf, "%d\n", atomic_read(&f->resumes));
}
static DEVICE_ATTR_RO(resumes);

static ssize_t unplug_store(struct device *dev, struct device_attribute *attr, const char *buf, size_t len)
{
	struct fake_dev *f = dev_get_drvdata(dev);

	drm_dev_unplug(f->drm);
	return len;
}
static DEVICE_ATTR_WO(unplug);

static struct attribute *fake_attrs[] = {
	&dev_attr_resumes.attr,
	&dev_attr_unplug.attr,
	NULL
};
ATTRIBUTE_GROUPS(fake);

static int fake_suspend(struct device *dev)
{
	return 0;
}

static int fake_resume(struct device *dev)
{
	struct fake_dev *f = dev_get_drvdata(dev);

	atomic_inc(&f->resumes);
	return 0;
}

static const struct dev_pm_ops fake_pm = {
	.runtime_suspend = fake_suspend,
	.runtime_resume = fake_resume,
};

/* The file that panfrost and panthor have: times of jobs are counted while it is not 0. */
static bool profiling;

static ssize_t profiling_show(struct device *dev, struct device_attribute *attr, char *b)
{
	return sysfs_emit(b, "%d\n", profiling);
}

static ssize_t profiling_store(struct device *dev, struct device_attribute *attr, const char *b, size_t n)
{
	int ret = kstrtobool(b, &profiling);

	return ret ? ret : n;
}
static DEVICE_ATTR_RW(profiling);

static int fake_probe(struct platform_device *pdev)
{
	struct fake_dev *f = *(struct fake_dev **)dev_get_platdata(&pdev->dev);
	int ret;

	f->pdev = pdev;
	platform_set_drvdata(pdev, f);
	f->driver = template;
	f->driver.name = f->name;
#if HAVE_ACCEL
	if (f->accel) {
		f->driver.driver_features = DRIVER_COMPUTE_ACCEL;
		f->driver.fops = &accel_fops;
	}
#endif
	if (f->oa)
		perffake_driver(&f->driver);
	f->drm = drm_dev_alloc(&f->driver, &pdev->dev);
	if (IS_ERR(f->drm))
		return PTR_ERR(f->drm);
	if (f->pm) {
		pm_runtime_set_autosuspend_delay(&pdev->dev, AUTOSUSPEND_MS);
		pm_runtime_use_autosuspend(&pdev->dev);
		pm_runtime_enable(&pdev->dev);
	}
	if (f->hwmon) {
		f->hw = hwmon_device_register_with_info(&pdev->dev, "gpufake", f, &sensor_chip, NULL);
		if (IS_ERR(f->hw))
			return PTR_ERR(f->hw);
	}
	ret = f->profiling ? device_create_file(&pdev->dev, &dev_attr_profiling) : 0;
	if (ret)
		return ret;
	ret = drm_dev_register(f->drm, 0);
	return ret || !f->oa ? ret : perffake_start(f->drm);
}

/* Returns the bus driver with this name; the first use registers it. */
static int bus_driver_get(const char *name)
{
	struct fake_bus_driver *b = bus_drivers;

	for (; b->name[0]; b++)
		if (!strcmp(b->name, name))
			return 0;
	strscpy(b->name, name, sizeof(b->name));
	b->pd.probe = fake_probe;
	b->pd.driver.name = b->name;
	b->pd.driver.pm = &fake_pm;
	b->pd.driver.dev_groups = fake_groups;
	b->pd.driver.suppress_bind_attrs = true;
	return platform_driver_register(&b->pd);
}

static int fake_add(int id, char *spec)
{
	struct fake_dev *f = &fakes[id];
	struct platform_device *pdev;
	char *flag = spec, *name = strsep(&flag, ":"), *word;
	int ret;

	strscpy(f->name, name, sizeof(f->name));
	while ((word = strsep(&flag, ":"))) {
		if (!strcmp(word, "accel") && HAVE_ACCEL)
			f->accel = true;
		else if (!strcmp(word, "pm"))
			f->pm = true;
		else if (!strcmp(word, "hwmon"))
			f->hwmon = true;
		else if (!strcmp(word, "profiling"))
			f->profiling = true;
		else if (!strcmp(word, "oa") && (f->oa || try_module_get(THIS_MODULE)))
			f->oa = true;
		else
			return -EINVAL;
	}
	ret = bus_driver_get(f->name);
	if (ret)
		return ret;
	pdev = platform_device_register_data(NULL, f->name, id, &f, sizeof(f));
	return PTR_ERR_OR_ZERO(pdev);
}

static int add_set(const char *spec, const struct kernel_param *kp)
{
	char b[64];

	if (ndevs == MAX_DEVS || strscpy(b, spec, sizeof(b)) < 0)
		return -ENOSPC;
	return fake_add(ndevs++, strim(b));
}

static const struct kernel_param_ops add_ops = { .set = add_set };
module_param_cb(add, &add_ops, NULL, 0200);

static int __init gpufake_init(void)
{
	int i, ret;

	for (i = 0; i < ndevs; i++) {
		ret = fake_add(i, devs[i]);
		/* No error return: the test notices the missing device and reports it. */
		if (ret)
			pr_err("gpufake: %s: %d\n", fakes[i].name, ret);
	}
	return 0;
}
module_init(gpufake_init);

static void fake_remove(struct fake_dev *f)
{
	if (!drm_dev_is_unplugged(f->drm))
		drm_dev_unplug(f->drm);
	if (f->hwmon)
		hwmon_device_unregister(f->hw);
	if (f->pm) {
		pm_runtime_dont_use_autosuspend(&f->pdev->dev);
		pm_runtime_disable(&f->pdev->dev);
	}
	drm_dev_put(f->drm);
	platform_device_unregister(f->pdev);
}

static void __exit gpufake_exit(void)
{
	struct fake_bus_driver *b;
	int i;

	for (i = 0; i < ndevs; i++)
		if (!IS_ERR_OR_NULL(fakes[i].drm))
			fake_remove(&fakes[i]);
	for (b = bus_drivers; b->name[0]; b++)
		platform_driver_unregister(&b->pd);
}
module_exit(gpufake_exit);

MODULE_DESCRIPTION("GPUs without hardware, for tests");
MODULE_LICENSE("GPL");
