/* nodes.c - device nodes: inotify(7) reports when one is opened, created or removed.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

enum {
	EVENT_BYTES = 4096,
	/* size of an inotify event whose name has the maximum length, NAME_MAX */
	EVENT_MAX = sizeof(struct inotify_event) + 256,
	NODE_CHANGES = IN_CREATE | IN_DELETE | IN_MOVE | IN_DELETE_SELF,
};

/* Folders that are watched with inotify(7), which reports opens of all nodes in a watched folder:
 * also of nodes that this process may not open, that are created later, or that are bind-mounted
 * elsewhere. */
static const struct {
	const char *name;
	u32 mask;
} folders[] = {
	/* /dev itself: the kernel reports when one of the other folders is created in it. Opens in
	 * /dev are not requested, because terminals are opened often. */
	{ "", NODE_CHANGES | IN_ONLYDIR },
	{ "/dri", NODE_CHANGES | IN_OPEN | IN_ONLYDIR },
	{ "/accel", NODE_CHANGES | IN_OPEN | IN_ONLYDIR },
	{ "/kfd", IN_OPEN },
};
static const struct str gpu_nodes[] = { STR("dri"), STR("accel"), STR("kfd"), STR("nvidia") };
/* Prefixes of the names of device nodes of the vendors' drivers in boards.c. A driver creates its
 * nodes when it is loaded, and removes them when it is unloaded. */
static const struct str vendor_nodes[] = { STR("kgsl"), STR("mali"), STR("galcore"), STR("apex"),
					   STR("hailo"), STR("neuron") };

/* Longest time between two searches for devices, in ns. In a container, inotify may report nothing
 * when the host gets a new device, because /dev does not show the new node. */
static const i64 scan_interval = 5000000000;

static struct {
	int inotify_fd;
	bool started;
	/* why inotify does not report opens of device nodes: -errno; 0 if it does */
	long watch_error;
	/* folder_error[i]: -errno if folders[i] could not be watched; 0 if it is watched, or does
	 * not exist */
	long folder_error[LEN(folders)];
	i32 dev_wd;            /* inotify's watch descriptor of /dev, or -errno */
	/* true if watched_dev has the device nodes of the machine whose /sys is read */
	bool dev_matches_sys;
	bool opened; /* true if a device node was opened since the last call of nodes_opened() */
	/* number of searches for devices that nodes_changed() still has to request, one for each
	 * call */
	u8 scans_due;
	/* number of searches that still have to include the devices of vendors' drivers
	 * (boards.c) */
	u8 vendors_due;
	/* times in ns of the last search for devices, and of the last search for NVIDIA's GPUs */
	i64 last_scan, last_nvidia;
	bool nvidia_due;
} watch = { .inotify_fd = -1, .watch_error = -ENOENT, .dev_wd = -1 };

u32 nodes_opens;
/* path of the folder whose device nodes are watched: "/dev", or with --proc the /dev of the machine
 * to which the --proc folder belongs */
static char watched_dev[256];

static long watch_path(const char *name, u64 number, u32 mask)
{
	char path[300];
	struct buf b = BUF_Z(path);

	put_z(&b, watched_dev);
	put_z(&b, name);
	if (number != UINT64_MAX)
		put_u64(&b, number);
	return sys_inotify_add(watch.inotify_fd, buf_z(&b), mask);
}

static bool has_nvidia(void)
{
	for (u32 i = 1; i <= nrows.devices; i++)
		if (devices[i].e.used && strcmp(devices[i].driver, "nvidia") == 0)
			return true;
	return false;
}

/* Watches each node /dev/nvidiaN for opens, as these nodes have no folder of their own. Returns the
 * number of watched nodes, or -errno. */
static long watch_nvidia(void)
{
	long n = 0, r = 0;

	while (r >= 0 && n < 255 && has_nvidia())
		if ((r = watch_path("/nvidia", (u64)n, IN_OPEN)) >= 0)
			n++;
	return r < 0 && r != -ENOENT ? r : n;
}

static void watch_all(void)
{
	long watched = watch_nvidia();

	watch.watch_error = watched < 0 ? watched : 0;
	for (size_t i = 0; i < LEN(folders); i++) {
		long r = watch_path(folders[i].name, UINT64_MAX, folders[i].mask);

		watch.folder_error[i] = r < 0 && r != -ENOENT ? r : 0;
		if (i == 0) {
			watch.dev_wd = (i32)r;
			continue;
		}
		if (watch.folder_error[i])
			watch.watch_error = r;
		watched += r >= 0;
	}
	if (!watch.watch_error && watched <= 0)
		watch.watch_error = -ENOENT;
}

/* Sets watched_dev, the folder with the device nodes. If --proc names the host's /proc inside a
 * container, the folder 1/root/dev in that /proc has the host's nodes. */
static void find_dev(void)
{
	struct buf b = BUF_Z(watched_dev);

	watch.dev_matches_sys = roots.proc_given || !roots.sys_given;
	if (roots.proc_given && roots.proc_name && sys_has_file(roots.proc, "1/root/dev")) {
		put_z(&b, roots.proc_name);
		put_z(&b, "/1/root");
	} else if (roots.proc_given) {
		watch.dev_matches_sys = false;
	}
	put_z(&b, "/dev");
	watched_dev[b.full ? 0 : b.n] = '\0';
}

void nodes_start(void)
{
	long fd = sys_inotify();

	watch.started = true;
	watch.inotify_fd = (int)fd;
	watch.watch_error = fd < 0 ? fd : 0;
	watch.opened = false;
	watch.scans_due = 1;
	if (fd < 0)
		return;
	find_dev();
	watch_all();
}

static bool begins_with(const char *name, const struct str *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct str s = str_z(name);

		if (str_skip(&s, words[i]))
			return true;
	}
	return false;
}

/* Handles one inotify event of a folder of device nodes. True if the watches have to be set up
 * again. */
static bool event_handle(const struct inotify_event *e)
{
	bool at_dev = e->wd == watch.dev_wd, node = !(e->mask & IN_OPEN);

	if (e->mask & IN_Q_OVERFLOW) {
		watch.opened = true;
		watch.scans_due = watch.vendors_due = 2;
		return true;
	}
	if (HAS(boards) && at_dev && e->len &&
	    begins_with(e->name, vendor_nodes, LEN(vendor_nodes)))
		watch.scans_due = watch.vendors_due = 2;
	if (at_dev ? !e->len || !begins_with(e->name, gpu_nodes, LEN(gpu_nodes)) :
		     e->mask & IN_ISDIR && !node)
		return false;
	watch.opened |= !node || at_dev;
	nodes_opens += !node;
	/* Search for devices twice: after a device node is removed, the device's links in /sys stay
	 * for a short time, so that the first search may still find the device. */
	if (node)
		watch.scans_due = 2;
	return at_dev || e->mask & IN_IGNORED;
}

static void events_read(void)
{
	_Alignas(struct inotify_event) static char b[EVENT_BYTES];
	bool rewatch = false;
	long n;

	do {
		n = watch.inotify_fd < 0 ? -ENOSYS : sys_read(watch.inotify_fd, b, sizeof(b));
		for (long at = 0; at < n;) {
			const struct inotify_event *e =
				(const struct inotify_event *)(const void *)(b + at);

			rewatch |= event_handle(e);
			at += (long)(sizeof(*e) + e->len);
		}
	} while (n > EVENT_BYTES - (long)EVENT_MAX);
	if (rewatch)
		watch_all();
}

/* Reads the inotify events since the last call. True if the caller has to search for new and
 * removed devices. */
bool nodes_changed(void)
{
	i64 now = sys_now(CLOCK_MONOTONIC);
	bool reliable;

	/* Start inotify again if nodes_stop() was called since the previous search for devices. */
	if (registry.repeats && !watch.started) {
		nodes_start();
		watch.opened = true;
	}
	events_read();
	reliable = watch.inotify_fd >= 0 && watch.dev_matches_sys && watch.dev_wd >= 0 &&
		   !watch.folder_error[1] && !watch.folder_error[2];
	if (reliable && !watch.scans_due && now - watch.last_scan < scan_interval)
		return false;
	watch.nvidia_due = watch.scans_due || now - watch.last_nvidia >= scan_interval;
	watch.last_nvidia = watch.nvidia_due ? now : watch.last_nvidia;
	if (watch.scans_due)
		watch.scans_due--;
	watch.last_scan = now;
	if (watch.inotify_fd >= 0)
		watch_nvidia();
	return true;
}

bool nodes_vendors(void)
{
	bool due = watch.vendors_due != 0;

	watch.vendors_due -= due;
	return due;
}

bool nodes_nvidia(void)
{
	return watch.nvidia_due;
}

bool nodes_opened(void)
{
	bool was = watch.opened;

	watch.opened = false;
	return was;
}

i32 nodes_fd(void)
{
	return watch.inotify_fd;
}

void nodes_stop(void)
{
	if (watch.inotify_fd >= 0)
		sys_close(watch.inotify_fd);
	watch.inotify_fd = -1;
	watch.started = false;
}

const char *nodes_folder(long *why)
{
	*why = watch.watch_error;
	return watched_dev[0] ? watched_dev : "/dev";
}
