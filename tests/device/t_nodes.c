/* t_nodes.c - notices of opened, created and removed device nodes, in a /dev made of files.
 * SPDX-License-Identifier: MIT */
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
		check(false, "%s is created", name);
}

static void node_remove(const char *name)
{
	if (remove(in_folder(DEV "/%s", name)) != 0)
		check(false, "%s is removed", name);
}

static void node_open(const char *name)
{
	int fd = open(in_folder(DEV "/%s", name), O_RDONLY);

	if (fd < 0 || close(fd) != 0)
		check(false, "%s is opened", name);
}

/* Starts to watch a new /dev that has these folders, or NULL. */
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

/* Reads the notices, and checks how many searches for devices follow: 0, 1 or 2; and whether a
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
		  "the folder is the /dev of pid 1 of the given /proc");
	check(error == 0, "opens are reported");
	roots.proc_name = NULL;
	start("dri", NULL);
	check_str(str_z(nodes_folder(&error)), "/dev", "without the name of /proc, it is /dev");
	check(nodes_changed() && nodes_changed() && nodes_changed(),
	      "the nodes of another machine's /dev are no reason not to search");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	roots.proc_name = name;
	start("dri", NULL);
	check(!watched_dev[0], "a name that is too long is not cut to that of another folder");
	roots.proc_name = proc_name;
	shell("rm -r $D/proc/1/root");
	nodes_stop();
	nodes_start();
	check(!watch.dev_matches_sys, "a /proc without the /dev of its machine");
}

/* Returns in how many of the next searches vendors' devices are included. */
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
	check(vendors() == 0, "the first search is that of the start");
	node_make("dri/card0");
	node_make("nvidia0");
	node_make("tty9");
	check(vendors() == 0, "nodes of other drivers");
	nodes_opened();
	node_make("mali0");
	check(vendors() == 2, "a node of a vendor's driver appears");
	node_open("mali0");
	check(vendors() == 0 && !nodes_opened(), "it is opened");
	node_remove("mali0");
	check(vendors() == 2, "it disappears");
	for (unsigned i = 0; i < 20000; i++) { /* more than fs.inotify.max_queued_events */
		node_make("kgsl-3d0");
		node_remove("kgsl-3d0");
	}
	check(vendors() == 2, "notices are lost");
	nodes_opened();
}

static void t_missing(void)
{
	start(NULL, NULL);
	check(why() == -ENOENT, "no folder of nodes exists: opens are not reported");
	notices(1, false, "the first search");
	dev_folder("dri");
	notices(2, true, "dri appears");
	check(why() == 0, "dri is watched as soon as it exists");
	node_make("dri/card0");
	notices(2, false, "a node is created in the new folder");
	node_open("dri/card0");
	notices(0, true, "that node is opened");
	node_remove("dri/card0");
	notices(2, false, "that node is removed");
	shell("rmdir $D/" DEV "/dri");
	notices(2, true, "dri is removed");
	check(why() == -ENOENT, "no folder of nodes is left");
	dev_folder("dri");
	node_make("dri/card1");
	notices(2, true, "dri and a node return");
	node_open("dri/card1");
	notices(0, true, "the node that returned is opened");
}

static void t_not_folders(void)
{
	start(NULL, NULL);
	node_make("dri");
	nodes_stop();
	nodes_start();
	check(why() == -ENOTDIR, "dri is not a folder");
	check(nodes_changed() && nodes_changed() && nodes_changed(),
	      "a folder that cannot be watched is searched each time");
	start("dri", "accel");
	chmod(in_folder(DEV "/accel"), 0);
	rights_drop(true);
	nodes_stop();
	nodes_start();
	check(why() == -EACCES, "accel may not be watched");
	check(nodes_changed() && nodes_changed() && nodes_changed(),
	      "a folder that may not be watched is searched each time");
	rights_drop(false);
	chmod(in_folder(DEV "/accel"), 0755);
}

/* --- which notices count ---------------------------------------------------------------------- */

static void t_notices(void)
{
	start("dri", "accel");
	notices(1, false, "the first search");
	notices(0, false, "nothing has happened");
	node_make("dri/renderD128");
	notices(2, false, "a node is created");
	node_open("dri/renderD128");
	node_open("dri/renderD128");
	notices(0, true, "a node is opened twice");
	node_open("dri");
	notices(0, false, "the folder itself is listed");
	if (rename(in_folder(DEV "/dri/renderD128"), in_folder(DEV "/dri/renderD129")) != 0)
		check(false, "a node is renamed");
	notices(2, false, "a node is renamed");
	put(in_folder(DEV "/accel/accel0"), "");
	notices(2, true, "a node is created and opened at once");
	node_make("tty9");
	node_open("tty9");
	node_make("drm_dp_aux0");
	notices(0, false, "nodes that are not of GPUs");
	node_make("kfd");
	notices(2, true, "kfd appears");
	node_open("kfd");
	notices(0, true, "kfd is opened");
	check(nodes_opened() == false, "an open is reported once");
}

static void t_nvidia(void)
{
	u32 d = device_add();

	start("dri", NULL);
	notices(1, false, "the first search");
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
	check(why() == -ENOENT, "there is no node of NVIDIA");
	node_make("nvidia0");
	notices(2, true, "nvidia0 is the only node");
	check(why() == 0, "opens of nvidia0 are reported");
	devices[d].e.used = false;
}

static void t_many(void)
{
	char b[64];

	start("dri", NULL);
	notices(1, false, "the first search");
	for (int i = 0; i < 100; i++) {
		char name[220];

		snprintf(name, sizeof(name), "dri/%0200d", i);
		node_make(name);
	}
	check(nodes_changed(), "20 KiB of notices");
	check(sys_read(watch.inotify_fd, b, sizeof(b)) == -EAGAIN, "one call reads all notices");
	notices(1, false, "they cause one more search");
}

/* --- when devices are searched ---------------------------------------------------------------- */

static void t_overflow(void)
{
	start("dri", NULL);
	notices(1, false, "the first search");
	check(event_handle(&(struct inotify_event){ .wd = -1, .mask = IN_Q_OVERFLOW }),
	      "after an overflow, the watches are set again");
	notices(2, true, "notices were lost");
	check(!event_handle(&(struct inotify_event){ .wd = watch.dev_wd, .mask = IN_CREATE }),
	      "a notice of /dev without a name is ignored");
	notices(0, false, "a notice without a name");
}

static void t_time(void)
{
	start("dri", NULL);
	notices(1, false, "the first search");
	watch.last_scan -= scan_interval / 10;
	notices(0, false, "a tenth of the interval has passed");
	watch.last_scan -= scan_interval;
	notices(1, false, "the interval has passed");
	notices(0, false, "the next interval begins");
}

static void t_restart(void)
{
	unsigned had;

	start("dri", NULL);
	notices(1, false, "the first search");
	had = fds_open();
	nodes_stop();
	check(fds_open() == had - 1, "nodes_stop() closes its descriptor");
	registry.repeats = false;
	check(nodes_changed() && nodes_changed() && !nodes_opened(),
	      "one reading only: without watches, each call searches");
	check(fds_open() == had - 1, "one reading only: nothing is watched");
	registry.repeats = true;
	notices(1, true, "after a stop, what happened meanwhile is unknown");
	check(fds_open() == had, "after a stop, nodes are watched again");
	nodes_stop();
	descriptors_forbid(true);
	nodes_start();
	check(why() == -EMFILE, "no descriptor is left");
	check(nodes_changed() && nodes_changed() && nodes_changed() && !nodes_opened(),
	      "without a descriptor, each call searches");
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
