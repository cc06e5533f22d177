/* t_nodes.c - unit test of sources/device/nodes.c: notices of opened, created and removed device
 * nodes, in a /dev made of files. SPDX-License-Identifier: MIT */
#include "../../sources/device/nodes.c"
#include "folder.h"

#define DEV "proc/1/root/dev"

static char proc_name[512];

static void dev_folder(const char *name)
{
	put_folder(in_folder(DEV "/%s", name));
}

/* Creates a node as a file, without opening it. */
static void node_make(const char *name)
{
	if (mknod(in_folder(DEV "/%s", name), S_IFREG | 0644, 0) != 0)
		check(false, "node %s is created", name);
}

static void node_remove(const char *name)
{
	if (remove(in_folder(DEV "/%s", name)) != 0)
		check(false, "node %s is removed", name);
}

static void node_open(const char *name)
{
	int fd = open(in_folder(DEV "/%s", name), O_RDONLY);

	if (fd < 0 || close(fd) != 0)
		check(false, "node %s is opened", name);
}

/* Starts to watch a new /dev that has these folders; NULL: none. */
static void start(const char *a, const char *b)
{
	nodes_stop();
	shell("rm -rf $D/" DEV "; mkdir -p $D/" DEV);
	if (a)
		dev_folder(a);
	if (b)
		dev_folder(b);
	nodes_start();
}

static long why(void)
{
	long error;

	nodes_folder(&error);
	return error;
}

/* Reads the notices, and checks how many searches for devices follow (0, 1 or 2), and whether a
 * process opened a node. */
static void notices(unsigned searches, bool opened, const char *what)
{
	unsigned n = 0;
	bool open;

	while (n < 4 && nodes_changed())
		n++;
	open = nodes_opened();
	if (!check(n == searches && open == opened, "%s: %u searches, %s", what, searches,
		   opened ? "an open" : "no open"))
		note("%u searches, %s", n, open ? "an open" : "no open");
	if (nodes_opened())
		check(false, "%s: an open is reported once", what);
}

/* --- which folders are watched ---------------------------------------------------------------- */

static void t_folder(void)
{
	char name[300];
	long error;

	start("dri", NULL);
	check_str(str_z(nodes_folder(&error)), in_folder(DEV),
		  "the watched folder is the /dev of pid 1 in the given /proc");
	check(error == 0, "opens of nodes are reported");
	roots.proc_name = NULL;
	start("dri", NULL);
	check_str(str_z(nodes_folder(&error)), "/dev",
	          "without a given /proc, the watched folder is /dev");
	check(nodes_changed() && nodes_changed() && nodes_changed(),
	      "each call searches if the watched /dev is not that of the given /sys");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	roots.proc_name = name;
	start("dri", NULL);
	check(!watched_dev[0], "a path of a folder that is too long is refused, not cut");
	roots.proc_name = proc_name;
	shell("rm -r $D/proc/1/root");
	nodes_stop();
	nodes_start();
	check(!watch.dev_matches_sys,
	      "without the /dev of the given /proc, the watched folder does not match /sys");
}

/* Returns how many of the next searches include vendors' devices. */
static unsigned vendors(void)
{
	unsigned n = 0;

	while (nodes_changed())
		n += nodes_vendors();
	return n;
}

static void t_vendors(void)
{
	start("dri", NULL);
	check(vendors() == 0, "the search at the start includes vendors' devices");
	node_make("dri/card0");
	node_make("nvidia0");
	node_make("tty9");
	check(vendors() == 0, "nodes of other drivers cause no search for vendors' devices");
	nodes_opened();
	node_make("mali0");
	check(vendors() == 2,
	      "a created node of a vendor's driver causes a search for vendors' devices");
	node_open("mali0");
	check(vendors() == 0 && !nodes_opened(),
	      "an opened node of a vendor's driver causes no search for vendors' devices");
	node_remove("mali0");
	check(vendors() == 2,
	      "a removed node of a vendor's driver causes a search for vendors' devices");
	for (unsigned i = 0; i < 20000; i++) { /* more than fs.inotify.max_queued_events */
		node_make("kgsl-3d0");
		node_remove("kgsl-3d0");
	}
	check(vendors() == 2, "lost notices cause a search for vendors' devices");
	nodes_opened();
}

static void t_missing(void)
{
	start(NULL, NULL);
	check(why() == -ENOENT, "without a folder of nodes, opens are not reported");
	notices(1, false, "the first search without folders of nodes");
	dev_folder("dri");
	notices(2, true, "dri appears");
	check(why() == 0, "the folder dri is watched as soon as it exists");
	node_make("dri/card0");
	notices(2, false, "a node is created in the new folder dri");
	node_open("dri/card0");
	notices(0, true, "the node in the new folder dri is opened");
	node_remove("dri/card0");
	notices(2, false, "the node in the new folder dri is removed");
	shell("rmdir $D/" DEV "/dri");
	notices(2, true, "the folder dri is removed");
	check(why() == -ENOENT, "after dri was removed, no folder of nodes is watched");
	dev_folder("dri");
	node_make("dri/card1");
	notices(2, true, "the folder dri and a node are created again");
	node_open("dri/card1");
	notices(0, true, "the node in the second dri is opened");
}

static void t_not_folders(void)
{
	start(NULL, NULL);
	node_make("dri");
	nodes_stop();
	nodes_start();
	check(why() == -ENOTDIR, "a file named dri is not watched");
	check(nodes_changed() && nodes_changed() && nodes_changed(),
	      "a folder that cannot be watched is searched in each sample");
	start("dri", "accel");
	chmod(in_folder(DEV "/accel"), 0);
	rights_drop(true);
	nodes_stop();
	nodes_start();
	check(why() == -EACCES, "the folder accel may not be watched");
	check(nodes_changed() && nodes_changed() && nodes_changed(),
	      "a folder that may not be watched is searched in each sample");
	rights_drop(false);
	chmod(in_folder(DEV "/accel"), 0755);
}

/* --- which notices count ---------------------------------------------------------------------- */

static void t_notices(void)
{
	start("dri", "accel");
	notices(1, false, "the first search of two folders");
	notices(0, false, "no event since the last call");
	node_make("dri/renderD128");
	notices(2, false, "a node is created");
	node_open("dri/renderD128");
	node_open("dri/renderD128");
	notices(0, true, "a node is opened twice");
	node_open("dri");
	notices(0, false, "the folder of nodes is listed");
	if (rename(in_folder(DEV "/dri/renderD128"), in_folder(DEV "/dri/renderD129")) != 0)
		check(false, "the node is renamed");
	notices(2, false, "a node is renamed");
	put(in_folder(DEV "/accel/accel0"), "");
	notices(2, true, "a node is created and opened at once");
	node_make("tty9");
	node_open("tty9");
	node_make("drm_dp_aux0");
	notices(0, false, "nodes of other devices are created and opened");
	node_make("kfd");
	notices(2, true, "kfd appears");
	node_open("kfd");
	notices(0, true, "kfd is opened");
	check(nodes_opened() == false, "an open of kfd is reported once");
}

static void t_nvidia(void)
{
	u32 d = device_add();

	start("dri", NULL);
	notices(1, false, "the first search with nodes of NVIDIA");
	node_make("nvidia0");
	notices(2, true, "nvidia0 appears");
	node_open("nvidia0");
	notices(0, false, "nvidia0 is opened, but no device has this driver");
	strcpy(devices[d].driver, "nvidia");
	watch.last_scan -= scan_interval;
	notices(1, false, "a search finds a device of this driver");
	node_open("nvidia0");
	notices(0, true, "nvidia0 is opened, and watched since that search");
	node_make("nvidia1");
	node_make("nvidia3");
	notices(2, true, "nvidia1 and nvidia3 appear");
	node_open("nvidia1");
	notices(0, true, "nvidia1 is opened");
	node_open("nvidia3");
	notices(0, false, "nvidia3 is not watched: the numbers have a gap");
	node_remove("nvidia0");
	notices(2, true, "nvidia0 is removed");
	start(NULL, NULL);
	check(why() == -ENOENT, "without a node of NVIDIA, nothing is watched");
	node_make("nvidia0");
	notices(2, true, "nvidia0 is the only node");
	check(why() == 0, "opens of the only node of NVIDIA are reported");
	devices[d].e.used = false;
}

static void t_many(void)
{
	char b[64];

	start("dri", NULL);
	notices(1, false, "the first search before 20 KiB of notices");
	for (int i = 0; i < 100; i++) {
		char name[220];

		snprintf(name, sizeof(name), "dri/%0200d", i);
		node_make(name);
	}
	check(nodes_changed(), "20 KiB of notices are written");
	check(sys_read(watch.inotify_fd, b, sizeof(b)) == -EAGAIN,
	      "one call reads 20 KiB of notices");
	notices(1, false, "20 KiB of notices cause one more search");
}

/* --- when devices are searched ---------------------------------------------------------------- */

static void t_overflow(void)
{
	start("dri", NULL);
	notices(1, false, "the first search before lost notices");
	check(event_handle(&(struct inotify_event){ .wd = -1, .mask = IN_Q_OVERFLOW }),
	      "after an overflow of the queue, the watches are set again");
	notices(2, true, "notices were lost");
	check(!event_handle(&(struct inotify_event){ .wd = watch.dev_wd, .mask = IN_CREATE }),
	      "a notice of /dev without a name is ignored");
	notices(0, false, "a notice without a name");
}

static void t_time(void)
{
	start("dri", NULL);
	notices(1, false, "the first search before the interval");
	watch.last_scan -= scan_interval / 10;
	notices(0, false, "a tenth of the interval between searches has passed");
	watch.last_scan -= scan_interval;
	notices(1, false, "the interval between searches has passed");
	notices(0, false, "the next interval between searches begins");
}

static void t_restart(void)
{
	unsigned had;

	start("dri", NULL);
	notices(1, false, "the first search before nodes_stop()");
	had = fds_open();
	nodes_stop();
	check(fds_open() == had - 1, "nodes_stop() closes the inotify descriptor");
	registry.repeats = false;
	check(nodes_changed() && nodes_changed() && !nodes_opened(),
	      "with a single reading, each call searches, because nothing is watched");
	check(fds_open() == had - 1, "with a single reading, no inotify descriptor is open");
	registry.repeats = true;
	notices(1, true, "after nodes_stop(), all events since then are unknown");
	check(fds_open() == had, "nodes_start() watches the nodes again after nodes_stop()");
	nodes_stop();
	descriptors_forbid(true);
	nodes_start();
	check(why() == -EMFILE, "the test leaves no descriptor open");
	check(nodes_changed() && nodes_changed() && nodes_changed() && !nodes_opened(),
	      "without a free descriptor, each call searches");
	descriptors_forbid(false);
	nodes_stop();
}

int main(void)
{
	long fd = sys_inotify();

	if (fd < 0) {
		puts("1..0 # SKIP this kernel has no inotify");
		return 0;
	}
	sys_close((int)fd);
	registry.repeats = true;
	folder_begin("t_nodes");
	snprintf(proc_name, sizeof(proc_name), "%s/proc", tmp_folder);
	roots.proc_given = true;
	roots.proc_name = proc_name;
	root_set(&roots.proc, proc_name);
	t_folder();
	t_vendors();
	t_missing();
	t_not_folders();
	t_notices();
	t_nvidia();
	t_many();
	t_overflow();
	t_time();
	t_restart();
	shell("rm -rf $D");
	return unit_end();
}
