// SPDX-License-Identifier: GPL-2.0
/*
 * nvfake: NVIDIA's driver as a monitor sees it, without a GPU. It binds qemu's `edu` devices, so
 * that each has a PCI folder in /sys with runtime PM, and answers the ioctls of nvrm.h on the
 * character devices 195:255 and 195:N. For tests in a disposable virtual machine only.
 *
 * Opening 195:N resumes the device, and keeps it awake until it is closed, as with the real driver;
 * each control of a subdevice and each read of gpus/SLOT/information resume it for a moment. It
 * sleeps after a second. /proc/driver/nvidia has `version` and gpus/SLOT/{information,power}. The file /proc/driver/nvidia/fake sets what it answers, one
 * line per write, in lines of set_value(); a read tells how often the nodes were opened and the
 * devices resumed.
 */
#include <linux/fs.h>
#include <linux/ktime.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/pm_runtime.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/uaccess.h>

static int nvrm_in(void *to, unsigned long long from, unsigned int n)
{
	return copy_from_user(to, (void __user *)(unsigned long)from, n) != 0;
}

static int nvrm_out(unsigned long long to, const void *from, unsigned int n)
{
	return copy_to_user((void __user *)(unsigned long)to, from, n) != 0;
}

static unsigned long long nvrm_now(void)
{
	return ktime_get_ns();
}

#include "nvrm.h"

#define MAJOR_NR 195
#define CONTROL_MINOR 255
#define SLEEP_MS 1000

static DEFINE_MUTEX(lock);
static struct nvrm rm;
static struct pci_dev *pdevs[NVRM_GPUS];
static unsigned int resumes[NVRM_GPUS];
static struct proc_dir_entry *root;

/* ---- the nodes ---- */

static int gpu_of(struct inode *inode)
{
	int i;

	for (i = 0; i < rm.ngpus; i++)
		if (rm.gpus[i].minor == iminor(inode))
			return i;
	return -1;
}

static int node_open(struct inode *inode, struct file *file)
{
	int i = gpu_of(inode);

	if (iminor(inode) == CONTROL_MINOR)
		return 0;
	if (i < 0)
		return -ENODEV;
	rm.gpus[i].opens++;
	if (rm.gpus[i].lost)
		return -ENODEV;
	pm_runtime_get_sync(&pdevs[i]->dev);
	rm.gpus[i].open_now++;
	return 0;
}

static int node_release(struct inode *inode, struct file *file)
{
	int i = gpu_of(inode);

	mutex_lock(&lock);
	if (iminor(inode) == CONTROL_MINOR && file->private_data)
		nvrm_close(&rm);
	mutex_unlock(&lock);
	if (i < 0)
		return 0;
	rm.gpus[i].open_now--;
	pm_runtime_mark_last_busy(&pdevs[i]->dev);
	pm_runtime_put_autosuspend(&pdevs[i]->dev);
	return 0;
}

/* A control of a subdevice resumes its GPU for a moment. */
static void touch(const unsigned char *arg)
{
	struct nvrm_gpu *g = nvrm_object(&rm, nvrm_get32(arg + 4), 0x2080);

	if (!g)
		return;
	pm_runtime_get_sync(&pdevs[g - rm.gpus]->dev);
	pm_runtime_mark_last_busy(&pdevs[g - rm.gpus]->dev);
	pm_runtime_put_autosuspend(&pdevs[g - rm.gpus]->dev);
}

static long node_ioctl(struct file *file, unsigned int cmd, unsigned long at)
{
	static unsigned char arg[4096];
	unsigned int n = _IOC_SIZE(cmd);
	long ret;

	if (iminor(file_inode(file)) != CONTROL_MINOR || n > sizeof(arg))
		return -EINVAL;
	mutex_lock(&lock);
	file->private_data = &rm; /* its close frees the client */
	ret = copy_from_user(arg, (void __user *)at, n) ? -EFAULT : 0;
	if (!ret && cmd == 0xc020462a)
		touch(arg);
	if (!ret)
		ret = nvrm_ioctl(&rm, cmd, arg);
	if (!ret && copy_to_user((void __user *)at, arg, n))
		ret = -EFAULT;
	mutex_unlock(&lock);
	return ret;
}

static const struct file_operations node_ops = {
	.owner = THIS_MODULE,
	.open = node_open,
	.release = node_release,
	.unlocked_ioctl = node_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
};

/* ---- /proc/driver/nvidia ---- */

static int show_version(struct seq_file *s, void *unused)
{
	seq_printf(s, "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %u.99.01  Release Build  (test)\n",
		   nvrm_releases[rm.gpus[0].release].number);
	return 0;
}

static int show_information(struct seq_file *s, void *unused)
{
	struct nvrm_gpu *g = s->private;
	struct device *dev = &pdevs[g - rm.gpus]->dev;

	pm_runtime_get_sync(dev);
	pm_runtime_mark_last_busy(dev);
	pm_runtime_put_autosuspend(dev);
	seq_printf(s, "Model: \t\t NVIDIA Stand-in\nIRQ:   \t\t 0\nGPU UUID: \t GPU-00000000-1111-2222-3333-44445555666%u\n", g->minor);
	seq_printf(s, "Bus Location: \t 0000:%02x:%02x.0\nDevice Minor: \t %u\n", g->bus, g->slot, g->minor);
	seq_printf(s, "GPU Firmware: \t %s\n", g->no_gsp ? "N/A" : "570.99.01");
	return 0;
}

static int show_power(struct seq_file *s, void *unused)
{
	seq_puts(s, "Runtime D3 status:          Enabled (coarse-grained)\nVideo Memory:               Active\n");
	return 0;
}

static int show_fake(struct seq_file *s, void *unused)
{
	int i;

	seq_printf(s, "calls %u wrong %u", rm.calls, rm.wrong);
	for (i = 0; i < rm.ngpus; i++)
		seq_printf(s, " opens%d %u open%d %u resumes%d %u", i, rm.gpus[i].opens, i, rm.gpus[i].open_now, i, resumes[i]);
	seq_puts(s, "\n");
	return 0;
}

/* The GPU as it is at the start of each test, awake for five seconds. */
static void reset(struct nvrm_gpu *g)
{
	unsigned int open_now = g->open_now, bus = g->bus, slot = g->slot, i = g - rm.gpus;

	memset(g, 0, sizeof(*g));
	g->open_now = open_now;
	g->bus = bus;
	g->slot = slot;
	g->id = 0x100 * (i + 1);
	g->minor = i;
	g->instance = i + 3; /* it need not be the minor */
	g->release = ARRAY_SIZE(nvrm_releases) - 2;
	g->period = 20000000;
	g->first = 123456789;
	g->began = ktime_get_ns() - 5000000000ull;
	g->total = 8 << 20;
	g->unused = 6 << 20;
	g->pstate = 1 << 2;
	g->degrees[0] = 61;
	g->degrees[1] = 70;
	g->sbe = 4;
	g->dbe = 1;
	rm.calls = rm.wrong = 0;
	resumes[i] = 0;
}

/* "GPU NAME NUMBER..." */
static int set_value(const char *line)
{
	unsigned long long v[5] = { 0 };
	char name[16];
	unsigned int i;
	int n = sscanf(line, "%u %15s %lli %lli %lli %lli %lli", &i, name, &v[0], &v[1], &v[2], &v[3], &v[4]) - 2;
	struct nvrm_gpu *g = &rm.gpus[i < rm.ngpus ? i : 0];

	if (!strcmp(name, "reset"))
		reset(g);
	else if (!strcmp(name, "release"))
		g->release = v[0];
	else if (!strcmp(name, "work") && n == 4 && v[0] < NVRM_ENGINES)
		g->work[v[0]] = (struct nvrm_work){ v[1], v[2], v[3], 0 };
	else if (!strcmp(name, "proc") && n == 4 && g->nprocs < NVRM_PROCS)
		g->procs[g->nprocs++] = (struct nvrm_proc){ v[0], v[1], v[2], v[3] };
	else if (!strcmp(name, "fail") && n == 2)
		g->fails[0] = (struct nvrm_fail){ v[0], v[1] };
	else if (!strcmp(name, "mig"))
		g->mig = v[0];
	else if (!strcmp(name, "on_chip"))
		g->on_chip = v[0];
	else if (!strcmp(name, "vgpu"))
		g->vgpu = v[0];
	else if (!strcmp(name, "no_gsp"))
		g->no_gsp = v[0];
	else if (!strcmp(name, "lost"))
		g->lost = v[0];
	else
		return -EINVAL;
	return 0;
}

static ssize_t fake_write(struct file *file, const char __user *from, size_t n, loff_t *at)
{
	char line[128];
	int ret;

	if (n >= sizeof(line) || copy_from_user(line, from, n))
		return -EINVAL;
	line[n] = '\0';
	mutex_lock(&lock);
	ret = set_value(line);
	mutex_unlock(&lock);
	return ret ? ret : n;
}

static int fake_open(struct inode *inode, struct file *file)
{
	return single_open(file, show_fake, NULL);
}

static const struct proc_ops fake_ops = {
	.proc_open = fake_open,
	.proc_read = seq_read,
	.proc_write = fake_write,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
};

/* ---- the PCI devices ---- */

static int nvfake_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	char path[40];
	struct nvrm_gpu *g = &rm.gpus[rm.ngpus];

	if (rm.ngpus == NVRM_GPUS)
		return -ENODEV;
	pdevs[rm.ngpus++] = pdev;
	g->bus = pdev->bus->number;
	g->slot = PCI_SLOT(pdev->devfn);
	g->open_now = 0;
	reset(g);
	scnprintf(path, sizeof(path), "gpus/%s", pci_name(pdev));
	proc_mkdir(path, root);
	scnprintf(path, sizeof(path), "gpus/%s/information", pci_name(pdev));
	proc_create_single_data(path, 0444, root, show_information, g);
	scnprintf(path, sizeof(path), "gpus/%s/power", pci_name(pdev));
	proc_create_single(path, 0444, root, show_power);
	pm_runtime_set_autosuspend_delay(&pdev->dev, SLEEP_MS);
	pm_runtime_use_autosuspend(&pdev->dev);
	pm_runtime_put_autosuspend(&pdev->dev);
	return 0;
}

static void nvfake_remove(struct pci_dev *pdev)
{
	pm_runtime_get_noresume(&pdev->dev);
}

static int nvfake_suspend(struct device *dev)
{
	return 0;
}

static int nvfake_resume(struct device *dev)
{
	int i;

	for (i = 0; i < rm.ngpus; i++)
		resumes[i] += &pdevs[i]->dev == dev;
	return 0;
}

static const struct dev_pm_ops pm_ops = { .runtime_suspend = nvfake_suspend, .runtime_resume = nvfake_resume };
static const struct pci_device_id ids[] = { { PCI_DEVICE(0x1234, 0x11e8) }, { 0 } };
static struct pci_driver driver = {
	.name = "nvidia",
	.id_table = ids,
	.probe = nvfake_probe,
	.remove = nvfake_remove,
	.driver.pm = &pm_ops,
};

static int __init nvfake_init(void)
{
	int ret = register_chrdev(MAJOR_NR, "nvidia", &node_ops);

	if (ret < 0)
		return ret;
	root = proc_mkdir("driver/nvidia", NULL);
	proc_mkdir("gpus", root);
	proc_create_single("version", 0444, root, show_version);
	proc_create("fake", 0600, root, &fake_ops);
	return pci_register_driver(&driver);
}
module_init(nvfake_init);

static void __exit nvfake_exit(void)
{
	pci_unregister_driver(&driver);
	remove_proc_subtree("driver/nvidia", NULL);
	unregister_chrdev(MAJOR_NR, "nvidia");
}
module_exit(nvfake_exit);

MODULE_DESCRIPTION("NVIDIA's driver without hardware, for tests");
MODULE_LICENSE("GPL");
