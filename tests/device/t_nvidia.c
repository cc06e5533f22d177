/* t_nvidia.c - unit test of sources/device/nvidia.c: which calls are made and when, each
 * failure, and values from the answers of a stand-in of NVIDIA's driver.
 * SPDX-License-Identifier: MIT */
#include "folder.h"
#include "sys.h"

static u64 clock_ns;

static u64 nvrm_now(void)
{
	return clock_ns;
}

static bool copy_fails; /* the next copy from or to the caller's memory fails */

static int nvrm_in(void *to, u64 from, size_t n)
{
	if (!copy_fails)
		memcpy(to, (const void *)(uintptr_t)from, n);
	return copy_fails;
}

static int nvrm_out(u64 to, const void *from, size_t n)
{
	memcpy((void *)(uintptr_t)to, from, n);
	return 0;
}

#include "boot/nvrm.h"

enum { CTL = 900, NODE = 1001, LATE = 1000, FIRST = 61250 /* 49 of the last 72 of 160 samples have 90 % */ };
#define PERIOD 125000000ll
static const i64 second = 1000000000;
static struct nvrm rm;
static struct nvrm_gpu *const gpu = &rm.gpus[0];
static const char *control_text, *power_text, *namespace_text, *information_text;
static bool loaded, full; /* full: no more requests can be admitted */
static long ctl_error, node_error, ioctl_error;
/* descriptor of the open control node; number of the first free descriptor */
static int ctl_number, first_free;
static unsigned ctl_opens, bad_closes, admitted, interrupts;
static unsigned calls_most; /* ioctls of one sample */
static unsigned fail_at;    /* this ioctl fails, counted from 1; 0: none */
static long fail_how;       /* -errno, or the driver's status */

static long fake_ioctl(int fd, unsigned long request, unsigned long arg)
{
	if (fd != ctl_number) {
		rm.wrong++;
		return -ENOTTY;
	}
	if (interrupts) {
		interrupts--;
		return -EINTR;
	}
	if (ioctl_error)
		return ioctl_error;
	if (fail_at && rm.calls + 1 == fail_at) {
		rm.calls++;
		fail_at = 0;
		if (fail_how > 0 && (request == 0xc020462a || request == 0xc020462b))
			nvrm_put32((unsigned char *)(uintptr_t)arg + 28, (unsigned)fail_how);
		if (fail_how > 0 && request == 0xc020462b) /* a handle that does not exist */
			nvrm_put32((unsigned char *)(uintptr_t)arg + 8, 0xbad);
		return fail_how > 0 ? 0 : fail_how;
	}
	return nvrm_ioctl(&rm, (unsigned)request, (unsigned char *)(uintptr_t)arg);
}

static long fake_open(int at, const char *path, int flags)
{
	if (at == AT_FDCWD && strcmp(path, "/dev/nvidiactl") == 0 && (flags & O_ACCMODE) == O_RDONLY) {
		ctl_opens++;
		if (!ctl_error)
			ctl_number = CTL;
		return ctl_error ? ctl_error : CTL;
	}
	if (at != AT_FDCWD || strcmp(path, "/dev/nvidia3") != 0 || (flags & 3) != O_RDONLY)
		return -ENOENT;
	gpu->opens++;
	if (node_error)
		return node_error;
	gpu->open_now++;
	return NODE;
}

static long fake_close(int fd)
{
	if (fd == NODE && gpu->open_now)
		gpu->open_now--;
	else if (fd == ctl_number && fd >= 0) {
		nvrm_close(&rm);
		ctl_number = -1;
	} else if (fd != CTL)
		bad_closes++;
	return 0;
}

/* F_DUPFD, of which the copy alone is used on. */
static long fake_fcntl(int fd, int cmd, long least)
{
	if (fd != CTL || cmd != F_DUPFD || first_free < 0)
		return -EINVAL;
	ctl_number = least > first_free ? (int)least : first_free;
	return ctl_number;
}

static int fake_has(int dir, const char *name)
{
	return loaded && dir == AT_FDCWD && strcmp(name, "/proc/driver/nvidia/version") == 0;
}

static i64 fake_now(clockid_t which)
{
	(void)which;
	return (i64)clock_ns;
}

static struct str fake_text(u32 device, const char *leaf)
{
	return device == 1 && strcmp(leaf, "power/control") == 0 ? str_z(control_text) : (struct str){ 0 };
}

static long fake_slurp(int dir, const char *path, char *b, size_t cap)
{
	char version[80];
	const char *text;

	(void)dir;
	snprintf(version, sizeof(version), "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %u.99.01  Release\n",
		 nvrm_releases[gpu->release].number);
	text = strcmp(path, "driver/nvidia/version") == 0 ? version :
	       strcmp(path, "driver/nvidia/gpus/0000:41:00.0/power") == 0 ? power_text :
	       strcmp(path, "driver/nvidia/gpus/0000:41:00.0/information") == 0 ? information_text : NULL;
	if (!text || strlen(text) > cap)
		return -ENOENT;
	memcpy(b, text, strlen(text));
	return (long)strlen(text);
}

static long fake_readlink(int dir, const char *path, char *b, size_t cap)
{
	(void)dir;
	if (strcmp(path, "self/ns/pid") != 0 || strlen(namespace_text) > cap)
		return -ENOENT;
	memcpy(b, namespace_text, strlen(namespace_text));
	return (long)strlen(namespace_text);
}

static bool fake_admit(i32 fd, u32 request)
{
	admitted += fd == (loaded ? CTL : LATE) && (request >> 8 & 255) == 'F';
	return !full;
}

#define sys_ioctl fake_ioctl
#define open_retry fake_open
#define sys_close fake_close
#define sys_fcntl fake_fcntl
#define sys_has_file fake_has
#define sys_now fake_now
#define sysfs_text fake_text
#define slurp fake_slurp
#define sys_readlinkat fake_readlink
#define sandbox_ioctl fake_admit
#include "../../sources/device/nvidia.c"

/* --- the machine ------------------------------------------------------------------------------ */

static const u64 none = 0xdeadbeefdeadbeef;

/* Makes a machine with one GPU of a release, which has been awake for 20 s. */
static void machine(unsigned release)
{
	static const struct nvrm_work work[NVRM_ENGINES] = { { 3000, 10, 0, 0 }, { 9000, 7, 1234, 0 }, { 2000, 5, 77, 0 }, { 10000, 1, 77, 0 },
							     { 500, 10, 5, 0 }, { 4000, 2, 0, 0 } };

	nvidia_rest();
	for (u32 i = 1; i <= nrows.devices; i++) {
		reg_clear(&devices[i].e);
		devices[i].e.used = false;
	}
	nrows.devices = 0;
	memset(&rm, 0, sizeof(rm));
	ctl = (__typeof__(ctl)){ .fd = -1 };
	clock_ns = 100 * (u64)second;
	rm.ngpus = 1;
	*gpu = (struct nvrm_gpu){ .id = 0x4100, .minor = 3, .bus = 0x41, .instance = 5, .release = release, .period = PERIOD,
				  .first = 777, .began = clock_ns - 20 * (u64)second, .total = 8 << 20, .unused = 6 << 20,
				  .pstate = 1 << 2, .degrees = { 61, 70 }, .sbe = 4, .dbe = 1, .nprocs = 2 };
	memcpy(gpu->work, work, sizeof(work));
	gpu->procs[0] = (struct nvrm_proc){ 1234, 100 << 20, 20 << 20, 3 << 20 };
	gpu->procs[1] = (struct nvrm_proc){ 77, 1 << 20, 0, 0 };
	control_text = "on\n";
	power_text = "Runtime D3 status:          Disabled by default\n";
	information_text = "Model: \t\t NVIDIA Stand-in\nGPU Firmware: \t 570.99.01\nGPU Excluded:\t No\n";
	namespace_text = "pid:[4026531836]";
	loaded = true;
	full = copy_fails = false;
	ctl_number = -1;
	first_free = 3;
	fail_at = 0;
	ctl_error = node_error = ioctl_error = 0;
	ctl_opens = bad_closes = admitted = interrupts = calls_most = 0;
	device_add();
	strcpy(devices[1].driver, "nvidia");
	strcpy(devices[1].pdev, "0000:41:00.0");
	devices[1].awake = true;
}

/* Takes a sample after this many ns. */
static bool sample(i64 after)
{
	unsigned before = rm.calls;
	bool changed;

	clock_ns += (u64)after;
	reg_begin(&devices[1].e, (i64)clock_ns);
	changed = nvidia_sample();
	if (rm.calls - before > calls_most)
		calls_most = rm.calls - before;
	return changed;
}

static u64 value_of(const struct entity *e, u8 desc, const char *inst)
{
	u64 v;

	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (c->desc == desc && str_is(inst_name(c->inst), inst))
			return reg_get(e, desc, c->inst, &v) ? v : none;
	return none;
}

static u64 get(u8 desc, const char *inst)
{
	return value_of(&devices[1].e, desc, inst);
}

/* Busy time of an engine in 1/1000 %, as records show it. */
static u64 busy(const struct entity *e, const char *inst)
{
	u64 v;

	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (c->desc == D_BUSY_PCT && str_is(inst_name(c->inst), inst))
			return engine_busy(e, c->inst, &v) ? v : none;
	return none;
}

static unsigned objects(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < NVRM_OBJECTS; i++)
		n += rm.objects[i].handle != 0;
	return n;
}

/* --- tests ------------------------------------------------------------------------------------ */

static void t_values(void)
{
	for (unsigned i = 0; i + 1 < LEN(nvrm_releases); i++) {
		const struct nvrm_release *r = &nvrm_releases[i];

		machine(i);
		sample(0);
		sample(10 * PERIOD);
		note("release %u", r->number);
		check_u64(busy(&devices[1].e, "gr"), 63000,
		          "graphics busy: 7 of 10 samples with 90 %%");
		check_u64(get(D_GPU_BUSY, ""), 63000,
		          "busy time of the whole GPU, as the driver counts it");
		check_u64(get(D_BUSY_NS, "gr"), 10ull * PERIOD * 63 / 100,
		          "busy time of graphics since the start");
		check_u64(busy(&devices[1].e, "nvenc"), 10000, "busy time of nvenc");
		check_u64(busy(&devices[1].e, "nvdec"), 10000, "busy time of nvdec");
		check_u64(busy(&devices[1].e, "nvjpg"), r->engines == 6 ? 5000 : none,
		          "busy time of nvjpg, from release 550 on");
		check_u64(busy(&devices[1].e, "nvofa"), r->engines == 6 ? 8000 : none,
		          "busy time of nvofa, from release 550 on");
		check_u64(get(D_LOAD, "mem"), 30000, "load of the memory controller");
		check_u64(get(D_VRAM_TOTAL, ""), 8ull << 30, "total video memory");
		check_u64(get(D_VRAM_USED, ""), 2ull << 30, "used video memory");
		check_u64(get(D_PSTATE, ""), r->pstate ? 2 : none,
		          "performance state, from release 550 on");
		check_u64(get(D_TEMP, "gpu"), r->thermal ? 61000 : none,
		          "temperature, from release 575 on");
		check_u64(get(D_ECC_CORRECTED, ""), 4, "number of corrected errors");
		check_u64(get(D_ECC_UNCORRECTED, ""), 1, "number of uncorrected errors");
		check(calls_most <= 12 && rm.wrong == 0 && gpu->opens == 1 && ctl_opens == 1,
		      "a sample makes at most 12 calls and opens a node at most once; no call "
		      "changes the GPU");
		nvidia_rest();
		check(gpu->open_now == 0 && objects() == 0 && bad_closes == 0,
		      "at the end the node is closed and all objects are freed");
	}
}

/* Uses only the numbers of the last sample, whatever the interval. */
static void t_intervals(void)
{
	machine(5);
	sample(0);
	check_u64(busy(&devices[1].e, "gr"), FIRST, "the first reading has the mean over the ring");
	sample(10 * PERIOD);
	gpu->work[NVRM_GR] = (struct nvrm_work){ 2500, 10, 1234, 0 };
	gpu->first += 3 * PERIOD; /* a pause of the sampling, which is not counted */
	sample(1);
	check_u64(busy(&devices[1].e, "gr"), 25000,
	          "a busy share covers the samples since the last reading, and no earlier ones");
	sample(PERIOD / 3);
	check_u64(busy(&devices[1].e, "gr"), 25000,
	          "without a new sample, the last busy share is kept");
	gpu->period = 1000000000; /* as if it took no more samples */
	gpu->began = clock_ns;
	gpu->first = nvrm_time(gpu, 0);
	sample(3 * second);
	machine(5);
	gpu->first = 0 - 18 * (u64)second;
	sample(0);
	sample(20 * PERIOD);
	check_u64(busy(&devices[1].e, "gr"), 63000,
	          "the busy share is right when the driver's clock wraps");
	gpu->restart = nvrm_taken(gpu) + 5;
	sample(40 * PERIOD);
	check(busy(&devices[1].e, "gr") != none,
	      "the busy share is known when the driver's clock starts again");
	sample(10 * PERIOD);
	check_u64(busy(&devices[1].e, "gr"), 63000,
	          "the busy share is right after the driver's clock started again");
}

static u32 found[64][3], nfound;

static void note_found(u32 pid, u32 device, u32 slot)
{
	found[nfound][0] = pid;
	found[nfound][1] = device;
	found[nfound++ % 60][2] = slot;
}

/* The mean over a whole ring, of which 7 of 10 samples have 90 %: 49 to 52 of 72. */
static bool is_of_ring(u64 v)
{
	return v >= FIRST && v <= 65000;
}

static void t_processes(void)
{
	u32 client;

	machine(4);
	gpu->nprocs = 3;
	gpu->procs[2] = (struct nvrm_proc){ sys_pid(), 5 << 20, 0, 0 };
	check(sample(0), "the first reading reports that processes were found");
	nfound = 0;
	check(nvidia_scan(note_found) && nfound == 2 && found[0][0] == 1234 && found[1][0] == 77 && found[0][1] == 1 &&
	      found[0][2] == NV_SLOT + 1, "the scan finds two processes, and not the test itself");
	client = client_add(1, KEY_PID, 1234);
	check(nvidia_read(&clients[client], 1), "nvidia_read() of a process succeeds");
	check(!sample(10 * PERIOD), "a sample with the same processes requires no scan");
	nvidia_read(&clients[client], 2);
	check_u64(busy(&clients[client].e, "gr"), 63000, "process: share of graphics");
	check_u64(busy(&clients[client].e, "nvenc"), 0, "process: share of the encoder");
	check_u64(value_of(&clients[client].e, D_RESIDENT, "vram"), 123 << 20,
	          "process: resident memory");
	check_u64(value_of(&clients[client].e, D_SHARED, "vram"), 23 << 20,
	          "process: shared memory");
	nvidia_rest();
	fail_at = rm.calls + 2; /* after the client was made */
	fail_how = -EIO;
	check(sample(10 * PERIOD) && !nvidia_read(&clients[client], 3) && get(D_VRAM_USED, "") == none,
	      "after one failed call, neither the device nor the process has values");
	nfound = 0;
	check(nvidia_scan(note_found) && nfound == 0,
	      "after one failed call, the scan finds no process");
	check(sample(10 * second) && nvidia_read(&clients[client], 4),
	      "nvidia_read() succeeds at the next sample that the driver answers");
	check(is_of_ring(busy(&clients[client].e, "gr")),
	      "process: share of graphics after a failed sample");
	devices[1].awake = false;
	check(sample(second) && !nvidia_read(&clients[client], 5),
	      "a suspended GPU has no values of processes");
	devices[1].awake = true;
	check(sample(20 * second) && nvidia_read(&clients[client], 6) && is_of_ring(busy(&clients[client].e, "gr")),
	      "process: share of graphics after the GPU was suspended");
	gpu->nprocs = 1;
	gpu->procs[0].pid = 55;
	check(sample(PERIOD) && !nvidia_read(&clients[client], 3),
	      "nvidia_read() of an ended process fails");
	client_remove(client);
	gpu->nprocs = 250;
	for (u32 i = 0; i < 250; i++)
		gpu->procs[i] = (struct nvrm_proc){ 5000 + i, (u64)i << 20, 0, 0 };
	calls_most = 0;
	sample(PERIOD);
	client = client_add(1, KEY_PID, 5249);
	nvidia_read(&clients[client], 4);
	check_u64(value_of(&clients[client].e, D_RESIDENT, "vram"), 249 << 20,
	          "process: the last of 250 processes has its memory");
	check(calls_most <= 12, "a sample with 250 processes makes at most 12 calls");
	client_remove(client);
}

/* In a container, pids of the ring are translated from release 570 on, and only those of the
 * container. */
static void t_container(void)
{
	for (unsigned i = 3; i < 5; i++) {
		u32 client;

		machine(i);
		gpu->inner = 1;
		gpu->work[NVRM_NVENC] = (struct nvrm_work){ 2000, 10, 1234, .foreign = 1 };
		namespace_text = "pid:[4026532999]";
		sample(0);
		sample(10 * PERIOD);
		client = client_add(1, KEY_PID, 1234);
		nvidia_read(&clients[client], 1);
		check_u64(busy(&devices[1].e, "nvenc"), 20000,
		          "container, release %u: busy time of the device",
		          nvrm_releases[i].number);
		check_u64(busy(&clients[client].e, "gr"), i < 4 ? none : 63000,
		          "container: share of graphics of a process in the same container, from "
		          "release 570 on");
		check_u64(busy(&clients[client].e, "nvenc"), i < 4 ? none : 0,
		          "container: no share of a process that has the same pid in another "
		          "container");
		check_u64(value_of(&clients[client].e, D_RESIDENT, "vram"), 123 << 20,
		          "container: memory of a process in the same container");
		client_remove(client);
	}
}

/* A process that is found in three ways: by its descriptor of the driver's node, by its
 * descriptor of a DRM node, whose fdinfo has the keys of other drivers, and by the driver's
 * list. */
static void t_one_client(void)
{
	char proc[128];
	const struct client *c = NULL;
	struct stat st;
	u32 n = 0, held = 0;

	folder_begin("t_nvidia");
	put(in_folder("sys/dev/char/195:3/device/driver"), "");
	put(in_folder("sys/dev/char/226:128/x"), "");
	put_link(in_folder("sys/dev/char/226:128/device"), "../195:3/device");
	put_link(in_folder("proc/1234/fd/3"), "/dev/dri/renderD128");
	put(in_folder("proc/1234/fdinfo/3"), "drm-driver:\tnvidia-drm\ndrm-client-id:\t7\ndrm-pdev:\t0000:41:00.0\ndrm-engine-gr:\t5 ns\n");
	put_link(in_folder("proc/1234/fd/4"), "/dev/nvidia3");
	put(in_folder("proc/1234/fdinfo/4"), "pos:\t0\n");
	machine(5);
	stat(in_folder("sys/dev/char/195:3/device"), &st);
	devices[1].ino = st.st_ino;
	devices[1].ino_dev = st.st_dev;
	snprintf(proc, sizeof(proc), "%s", in_folder("proc"));
	root_set(&roots.proc, proc);
	root_set(&roots.sys, in_folder("sys"));
	roots.proc_given = roots.sys_given = false;
	reg_begin(&devices[1].e, (i64)clock_ns);
	src_fdinfo.start();
	for (u32 i = 1; i <= nrows.clients; i++) {
		n += clients[i].e.used;
		if (clients[i].e.used && clients[i].key == 1234)
			c = &clients[i];
	}
	for (u32 h = c ? c->holders : 0; h; h = holders[h].next_client)
		held++;
	check(n == 2 && c && c->keykind == KEY_PID && held == 3,
	      "one process found in three ways: %u clients, one of them with %u holders",
	      (unsigned)n, (unsigned)held);
	check_u64(c ? value_of(&c->e, D_RESIDENT, "vram") : 0, 123 << 20,
	          "the client has the memory that the driver reports");
	shell("rm $D/proc/1234/fd/3; rm $D/proc/1234/fd/4");
	gpu->nprocs = 0;
	sample(second);
	src_fdinfo.scan();
	src_fdinfo.sample();
	for (n = 0, held = 1; held <= nrows.clients; held++)
		n += clients[held].e.used;
	check_u64(n, 0, "the clients are removed after the process has closed its descriptors");
	src_fdinfo.rest();
	shell("rm -rf $D");
}

static void t_sleep(void)
{
	machine(5);
	devices[1].awake = false;
	sample(0);
	sample(60 * second);
	check(gpu->opens == 0 && rm.calls == 1,
	      "a suspended GPU is not accessed; the one call makes the client");
	devices[1].awake = true;
	control_text = "auto\n";
	sample(second);
	check(gpu->opens == 1 && gpu->open_now == 0 && objects() == 0 && busy(&devices[1].e, "gr") == FIRST + 1250,
	      "power/control auto: the GPU is read once, and the node is closed");
	for (int i = 0; i < 7; i++)
		sample(second);
	check(gpu->opens == 1 && get(D_VRAM_USED, "") == 2ull << 30 && busy(&devices[1].e, "gr") == FIRST + 1250,
	      "power/control auto: the GPU is not read for 7 s, and the values stay");
	sample(second);
	check(gpu->opens == 2 && gpu->open_now == 0,
	      "power/control auto: a GPU that is awake after 8 s is read again");
	devices[1].awake = false;
	sample(second);
	check(gpu->opens == 2 && get(D_VRAM_USED, "") == none && busy(&devices[1].e, "gr") == none,
	      "a suspended GPU has no values, and is not accessed");
	devices[1].awake = true;
	control_text = "on\n";
	sample(10 * second);
	sample(second);
	check(gpu->opens == 3 && gpu->open_now == 1, "power/control on: the node stays open");
	control_text = "auto\n";
	sample(second);
	check(gpu->open_now == 0 && objects() == 0,
	      "power/control changes to auto: the node is closed");
	control_text = "on\n";
	sample(9 * second);
	devices[1].awake = false;
	sample(second);
	check(gpu->open_now == 0 && objects() == 0,
	      "the GPU is suspended although power/control is on: the node is closed");
}

static void t_held(void)
{
	u32 client, task;

	machine(5);
	control_text = "auto\n";
	task = task_add(4000);
	client = client_add(1, KEY_PID, 4000);
	holder_add(4000, 7, task, client);
	sample(0);
	sample(second);
	check(gpu->opens == 1 && gpu->open_now == 1,
	      "the node stays open while another process has it open");
	power_text = "Runtime D3 status:          Enabled (fine-grained)\n";
	gpus.rows[1].serial = 0;
	nvidia_rest();
	machine(5);
	control_text = "auto\n";
	power_text = "Runtime D3 status:          Enabled (fine-grained)\n";
	sample(0);
	sample(second);
	check(gpu->opens == 1 && gpu->open_now == 0,
	      "the node is closed if the GPU may be suspended although another process has it "
	      "open");
	nvidia_rest();
	machine(5);
	control_text = "auto\n";
	power_text = NULL;
	sample(0);
	sample(second);
	check(gpu->opens == 1 && gpu->open_now == 0,
	      "the node is closed if it is unknown whether the GPU may be suspended");
	holder_remove(holder_find(4000, 7));
	client_remove(client);
}

/* The system call filter admits requests only on descriptors that were known at the start. */
static void t_loaded_late(void)
{
	static const struct { bool admit; int first_free; const char *what; } rows[] = {
		{ false, 3, "without a filter" }, { true, 3, "with a filter" }, { true, LATE + 1,
		                                                                 "with a filter, "
		                                                                 "and the "
		                                                                 "descriptor "
		                                                                 "number is "
		                                                                 "used" }, { true, -1, "with a filter, and the descriptor number is too high" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		bool answers = rows[i].first_free == 3;

		machine(5);
		loaded = false;
		devices[1].gone = true;
		if (rows[i].admit)
			nvidia_admit();
		sample(0);
		check(rm.calls == 0 && admitted == 4 * rows[i].admit,
		      "before the driver is loaded, no call is made, %s", rows[i].what);
		loaded = true;
		devices[1].gone = false;
		first_free = rows[i].first_free;
		sensing.listing = true;
		sample(second);
		sample(second);
		check(ctl_opens == 1 && ctl_number == (!answers ? -1 : rows[i].admit ? LATE : CTL) && get(D_VRAM_USED, "") == (answers ? 2ull << 30 : none) &&
		      (answers || strstr(devices[1].no_engines, "restart gpustat")),
		      "after the driver is loaded, values are known or the reason says to restart, "
		      "%s", rows[i].what);
		sensing.listing = false;
		nvidia_rest();
		check(ctl_number == (answers && rows[i].admit ? LATE : -1) && bad_closes == 0,
		      "the control node stays open only where its requests are admitted");
	}
}

static void t_absent(void)
{
	machine(5);
	loaded = false;
	sample(0);
	sample(second);
	check(ctl_opens == 0 && rm.calls == 0 && get(D_VRAM_USED, "") == none,
	      "without the driver, no node is opened");
	sensing.listing = true;
	sample(second);
	check(ctl_opens == 0 && strstr(devices[1].no_engines, "/proc/driver/nvidia is missing"),
	      "without the driver, the reason names /proc/driver/nvidia");
	machine(5);
	ctl_error = -ENOENT;
	sample(second);
	check(rm.calls == 0 && strstr(devices[1].no_engines, "node is missing"),
	      "a driver without its control node: the reason says that the node is missing");
	ctl_error = 0;
	sample(second);
	check(get(D_VRAM_USED, "") == 2ull << 30,
	      "values are known after the control node was created");
	machine(5);
	full = true;
	nvidia_admit();
	sample(second);
	check(ctl_opens == 1 && ctl_number < 0 && strstr(devices[1].no_engines, "permission denied"),
	      "the control node is closed if its requests cannot be admitted");
	sensing.listing = false;
	machine(5);
	strcpy(devices[1].driver, "nouveau");
	sample(0);
	check(ctl_opens == 0 && rm.calls == 0, "a device of another driver is not accessed");
	machine(5);
	devices[1].left_out = true;
	sample(0);
	check(ctl_opens == 0 && rm.calls == 0, "a device that --not leaves out is not accessed");
	machine(5);
	roots.sys_given = true;
	sample(0);
	check(ctl_opens == 0 && rm.calls == 0,
	      "a device of another machine's /sys is not accessed");
	roots.sys_given = false;
	machine(5);
	ctl_error = -EACCES;
	sensing.listing = true;
	sample(0);
	check(ctl_opens == 1 && strstr(devices[1].no_engines, "permission denied"),
	      "/dev/nvidiactl may not be opened: the reason is permission denied");
	machine(5);
	nvidia_admit();
	check(admitted == 4 && ctl_opens == 1,
	      "nvidia_admit() admits four requests on one descriptor");
	sample(0);
	check(ctl_opens == 1 && get(D_VRAM_USED, "") == 2ull << 30,
	      "the control node is opened once, by nvidia_admit()");
	nvidia_rest();
	sample(second);
	check(ctl_opens == 1 && get(D_VRAM_USED, "") == 2ull << 30,
	      "the control node stays open between readings if its requests are admitted");
	machine(5);
	sample(0);
	nvidia_rest();
	check(gpu->open_now == 0 && rm.client == 0,
	      "the control node is closed between readings without a filter");
	sample(second);
	check(ctl_opens == 2 && get(D_VRAM_USED, "") == 2ull << 30,
	      "the control node is opened again for the next reading");
	devices[1].gone = true;
	sample(second);
	check(gpu->open_now == 0 && objects() == 0,
	      "after a device was removed, its node is closed and its objects are freed");
	t_loaded_late();
}

/* Runs two samples with a control that fails. */
static void t_failures(void)
{
	static const unsigned commands[] = { 0x205, 0x20802096, 0x20801301, 0x2080018d, 0x2080018e, 0x2080012f, 0x20800513, 0x20802068 };
	static const int results[] = { 0x0f, 0x1b, 0x1f, 0x3a, 0x56, 0xffff, -EIO, -EINVAL, -EFAULT, -EPERM, -ENOMEM, -EBUSY, -ENODEV };
	bool good = true;

	for (size_t i = 1; i < LEN(commands); i++)
		for (size_t k = 0; k < LEN(results); k++) {
			machine(5);
			gpu->fails[0] = (struct nvrm_fail){ commands[i], results[k] };
			sample(0);
			sample(10 * PERIOD);
			good &= (commands[i] == 0x20802096) == (busy(&devices[1].e, "gr") == none);
			good &= (commands[i] == 0x20801301) == (get(D_VRAM_USED, "") == none);
			good &= (commands[i] == 0x20800513) == (get(D_TEMP, "gpu") == none);
			good &= (commands[i] == 0x20802068) == (get(D_PSTATE, "") == none);
			good &= (commands[i] == 0x2080012f) == (get(D_ECC_CORRECTED, "") == none);
			/* three more calls, once, if the driver does not support the ring */
			good &= calls_most <= (commands[i] == 0x20802096 && results[k] == 0x56 ? 15 : 12) && rm.wrong == 0;
			if (!good) {
				note("command %x, result %d", commands[i], results[k]);
				break;
			}
		}
	check(good, "a control that fails makes only its own values unknown");
	machine(5);
	ioctl_error = -EIO;
	sample(0);
	sample(second);
	check(get(D_VRAM_USED, "") == none && gpu->open_now == 0,
	      "if every ioctl fails, values are unknown and the node is closed");
	ioctl_error = 0;
	sample(10 * second);
	check(get(D_VRAM_USED, "") != none, "values are known again when ioctls succeed");
	machine(5);
	interrupts = 2;
	sample(0);
	check(get(D_VRAM_USED, "") != none, "a call that a signal interrupts is made again");
	machine(5);
	copy_fails = true;
	sample(0);
	check(get(D_VRAM_USED, "") == none && gpu->open_now == 0,
	      "if the driver cannot copy, values are unknown and the node is closed");
}

static const char *reason(void)
{
	return devices[1].no_engines ? devices[1].no_engines : "none";
}

/* The driver returns the same status in each case; the answers to other requests have the
 * reason. */
static void t_unsupported(void)
{
	static const struct { size_t member; const char *what, *words; } rows[] = {
		{ offsetof(struct nvrm_gpu, mig), "MIG", "MIG is on" },
		{ offsetof(struct nvrm_gpu, on_chip), "Tegra", "tegrastats" },
		{ offsetof(struct nvrm_gpu, vgpu), "vGPU", "by its host" },
		{ offsetof(struct nvrm_gpu, no_gsp), "no GSP", "NVreg_EnableGpuFirmware=1" },
	};
	bool denied = true;

	for (size_t i = 0; i < 2 * LEN(rows); i++) {
		unsigned release = i < LEN(rows) ? 0 : 5, calls;

		machine(release);
		information_text = i % LEN(rows) == 3 ? "GPU Firmware: \t N/A\n" : information_text;
		*(unsigned *)(void *)((char *)gpu + rows[i % LEN(rows)].member) = 1;
		sample(0);
		calls = rm.calls;
		sample(second);
		check(strstr(reason(), rows[i % LEN(rows)].words) && !devices[1].no_memory && get(D_VRAM_USED, "") == 2ull << 30 &&
		      busy(&devices[1].e, "gr") == none,
		      "%s, release %u: busy is unknown with the right reason, and memory is known",
		      rows[i % LEN(rows)].what,
		      nvrm_releases[release].number);
		check(nvidia_asked(1) && nvidia_reason(1, &denied) == devices[1].no_engines && !denied,
		      "doctor and -v report the same reason");
		check(rm.calls - calls <= 7 && calls_most <= 15,
		      "the reason is searched for once, with at most three calls");
	}
	machine(5);
	gpu->mig = gpu->vgpu = 1;
	sample(0);
	check(strstr(reason(), "by its host"),
	      "a virtual machine's part of a GPU with MIG: the reason names the host");
	machine(5);
	gpu->mig = 1;
	sample(0);
	gpu->mig = 0;
	sample(second);
	check(strcmp(reason(), "none") == 0 && busy(&devices[1].e, "gr") != none && !nvidia_reason(1, &denied),
	      "after MIG is switched off, busy is known without a reason");
	machine(5);
	gpu->fails[0] = (struct nvrm_fail){ 0x20802096, 0x56 };
	sample(0);
	check(strstr(reason(), "does not measure it on this GPU"),
	      "busy is not supported, and no reason is known");
	gpu->fails[0].result = 0x1b;
	sample(second);
	check(nvidia_reason(1, &denied) && denied,
	      "busy is denied: nvidia_reason() returns true in *denied");
	devices[1].awake = false;
	check(!nvidia_asked(1) && !nvidia_asked(2),
	      "nvidia_asked() is false for a suspended GPU and for a missing one");
}

/* Domains of VMD have more than four digits: a card of another one has the same last four. */
static void t_domains(void)
{
	machine(5);
	gpu->domain = 0x10000;
	sample(0);
	check(gpu->opens == 0 && get(D_VRAM_USED, "") == none, "a GPU of domain 10000 is not that of domain 0000");
	machine(5);
	gpu->domain = 0x10000;
	strcpy(devices[1].pdev, "10000:41:00.0");
	sample(0);
	check(gpu->opens == 1 && get(D_VRAM_USED, "") == 2ull << 30,
	      "a GPU of domain 10000 has its values");
	machine(5);
	gpu->domain = 0xfedcba98;
	strcpy(devices[1].pdev, "fedcba98:41:00.0");
	sample(0);
	check(gpu->opens == 1, "a GPU with the longest domain is opened");
}

static void t_reasons(void)
{
	sensing.listing = true;
	machine(5);
	sample(0);
	check(strcmp(reason(), "none") == 0 && !devices[1].no_memory,
	      "no reason if no value is missing");
	t_unsupported();
	machine(6);
	sample(0);
	sample(second);
	sample(second);
	check(strstr(reason(), "unknown release") && busy(&devices[1].e, "gr") == none && get(D_VRAM_USED, "") != none && calls_most <= 12,
	      "unknown later release: only values whose size is unknown are unknown");
	machine(5);
	sample(0);
	gpu->lost = 1;
	sample(second);
	check(strstr(reason(), "lost") && gpu->open_now == 0 && get(D_VRAM_USED, "") == none,
	      "a GPU that fell off the bus: values are unknown, the node is closed, the reason is "
	      "that it was lost");
	node_error = -ENODEV;
	for (int i = 0; i < 7; i++)
		sample(second);
	check(gpu->opens == 1, "a GPU that fell off the bus is not opened for 8 s");
	sample(2 * second);
	check(gpu->opens == 2 && strstr(reason(), "lost"),
	      "a GPU that fell off the bus is opened once after 8 s");
	machine(5);
	node_error = -EACCES;
	sample(0);
	check(strstr(reason(), "permission denied"),
	      "the GPU's node may not be opened: the reason is permission denied");
	machine(5);
	devices[1].awake = false;
	sample(0);
	check(strstr(reason(), "asleep"), "a suspended GPU: the reason is that it is asleep");
	machine(5);
	strcpy(devices[1].pdev, "0000:42:00.0");
	sample(0);
	check(get(D_VRAM_USED, "") == none && gpu->opens == 0,
	      "a GPU that the driver does not list has no values, and is not opened");
	sensing.listing = false;
}

/* Fails one call of a run of three samples with an errno, or with a status. */
static bool one_fails(unsigned which, long how)
{
	u64 used, work;
	bool good = true;

	machine(5);
	fail_at = which;
	fail_how = how;
	for (int i = 0; i < 3; i++) {
		sample(i ? 10 * PERIOD : 0);
		used = get(D_VRAM_USED, "");
		work = busy(&devices[1].e, "gr");
		good &= used == none || used == 2ull << 30;
		good &= work == none || work == 63000 || work == FIRST;
		good &= gpu->open_now <= 1;
	}
	fail_at = 0;
	sample(10 * second); /* all samples in the ring are new, and all values are known again */
	good &= get(D_VRAM_USED, "") == 2ull << 30 && busy(&devices[1].e, "gr") != none && get(D_TEMP, "gpu") == 61000;
	nvidia_rest();
	return good && gpu->open_now == 0 && rm.wrong == 0 && calls_most <= (how == 0x56 ? 15 : 12) && bad_closes == 0;
}

static void t_each_call(void)
{
	static const long hows[] = { -EIO, -EPERM, -EINVAL, -ENODEV, -EFAULT, -ENOMEM, -EBUSY, 0x0f, 0x1b, 0x56, 0x57, 0x40 };
	bool good = true;

	for (unsigned which = 1; which < 32 && good; which++)
		for (size_t i = 0; i < LEN(hows) && good; i++)
			if (!one_fails(which, hows[i])) {
				note("call %u: %ld", which, hows[i]);
				good = false;
			}
	check(good,
	      "after any failure of any single call, each value is right or unknown, no node stays "
	      "open, and the next reading is complete");
}

/* An object that cannot be freed does not prevent the next reading. */
static void t_free_fails(void)
{
	static const long hows[] = { -EIO, 0x22 };

	for (size_t i = 0; i < LEN(hows); i++) {
		unsigned calls;

		machine(5);
		control_text = "auto\n";
		sample(0);
		calls = rm.calls;
		sample(10 * second);
		fail_at = 2 * rm.calls - calls; /* the last call of a sample */
		fail_how = hows[i];
		sample(10 * second);
		check(!fail_at && objects() > 0 && gpu->open_now == 0,
		      "freeing fails with %ld: the object remains, and the node is closed",
		      hows[i]);
		sample(10 * second);
		check(gpu->opens == 4 && get(D_VRAM_USED, "") == 2ull << 30 && get(D_TEMP, "gpu") == 61000,
		      "after freeing failed, the next reading is complete");
	}
}

/* Returns the bytes of a table's pages that are in memory. */
static size_t bytes_present(void *rows, size_t bytes)
{
	static unsigned char present[64];
	size_t page = sys_page_size(), n = 0;

	if (bytes > page * sizeof(present) || mincore(rows, bytes, present) != 0)
		return SIZE_MAX;
	for (size_t i = 0; i < (bytes + page - 1) / page; i++)
		n += present[i] & 1 ? page : 0;
	return n;
}

/* The first sample of a process writes to the pages of the answers, and to a row for each GPU
 * and process. This test runs first, because pages stay in memory. */
static void t_memory(void)
{
	size_t answers, rows;

	machine(5);
	sample(0);
	answers = bytes_present(answer.rows, NV_ANSWER);
	rows = 2 * sizeof(*gpus.rows) + ctl.nprocs * sizeof(*procs.rows);
	check(busy(&devices[1].e, "gr") == FIRST && ctl.nprocs == 2,
	      "the first sample is complete");
	check(answers >= NV_ANSWER && (answers + rows <= 60 << 10 || sys_page_size() > 4096),
	      "a sample touches at most 60 KiB: %u bytes of answers, %u of rows", (unsigned)answers, (unsigned)rows);
	check_u64(bytes_present(gpus.rows, gpus.t.ready * sizeof(*gpus.rows)), sys_page_size(),
	          "one page of the table of GPUs is in memory");
	check_u64(bytes_present(procs.rows, procs.t.ready * sizeof(*procs.rows)), sys_page_size(),
	          "one page of the table of processes is in memory");
}

static void t_minor(void)
{
	machine(5);
	check(nvidia_minor(1) == 3, "nvidia_minor() returns the number of a GPU's node");
	machine(5);
	ioctl_error = -EIO;
	check(nvidia_minor(1) == NVIDIA_CTL,
	      "nvidia_minor() returns NVIDIA_CTL if the driver does not answer");
	ioctl_error = 0;
	machine(5);
	ctl_error = -ENOENT;
	check(nvidia_minor(1) == NVIDIA_CTL,
	      "nvidia_minor() returns NVIDIA_CTL without the control node");
	ctl_error = 0;
}

/* For a driver of unknown version, the rows are tried in their order, over several samples. */
static void t_tries(void)
{
	machine(1);
	ctl.release = 0;
	sample(0);
	gpus.rows[1].ring = gpus.rows[1].ecc = (struct nvchoice){ 0 };
	calls_most = 0;
	for (int i = 0; i < 6; i++)
		sample(2 * PERIOD);
	check(calls_most <= 12 && busy(&devices[1].e, "gr") != none && get(D_ECC_CORRECTED, "") == 4,
	      "rows are tried until the driver accepts one, with at most 12 calls in a sample");
}

static void t_full(void)
{
	u32 dropped = registry.dropped, n, bad = 0;
	const struct table *table;

	while (table_full(&n))
		;
	ctl.nprocs = 0;
	for (u32 i = 0; i <= MAX_PROCS; i++)
		proc_note(1, 1 << 20 | i);
	for (u32 i = 0; i < MAX_PROCS; i++)
		bad += proc_find(1, 1 << 20 | i) != &procs.rows[i];
	check(!bad && ctl.nprocs == MAX_PROCS && !proc_find(1, 1 << 20 | MAX_PROCS) && registry.dropped == dropped + 1,
	      "full table of processes: those before the limit are found, one more is counted");
	table = table_full(&n);
	check(table && n == 1 && strcmp(table->name, "processes of NVIDIA GPUs") == 0, "full table of processes: its name");
	ctl.nprocs = 0;
}

int main(void)
{
	t_memory();
	t_values();
	t_intervals();
	t_processes();
	t_container();
	t_one_client();
	t_sleep();
	t_held();
	t_absent();
	t_failures();
	t_reasons();
	t_domains();
	t_each_call();
	t_free_fails();
	t_tries();
	t_minor();
	t_full();
	return unit_end();
}
