/*
 * nvidia: NVIDIA's GPUs on a machine with the stand-in nvfake.c, which is loaded while gpustat runs:
 * the values of each release, values of processes, GPUs that are opened and GPUs that stay asleep,
 * failures, and formats.
 */
static int work(const char *word);
#define WORKER(word) work(word)
#include "guest.h"

#include <sys/sysmacros.h>

static const char fake[] = "/proc/driver/nvidia/fake";
static char devices[2][64]; /* the PCI folders */

/* set: sends one line to the stand-in. */
__attribute__((format(printf, 1, 2))) static void set(const char *fmt, ...)
{
	char line[128];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	must_put(fake, line);
}

/* tells: the number after a name in the file of the stand-in, for example after "opens0". */
static long tells(const char *name)
{
	char b[4096], *save, *w;

	snprintf(b, sizeof b, "%s", text(fake));
	for (w = strtok_r(b, " ", &save); w; w = strtok_r(NULL, " ", &save))
		if (!strcmp(w, name))
			return atol(strtok_r(NULL, " ", &save));
	die(name);
	return -1;
}

static void power(int gpu, const char *control)
{
	char path[128];

	snprintf(path, sizeof path, "%s/power/control", devices[gpu]);
	must_put(path, control);
}

static bool sleeps(int gpu)
{
	char path[128];

	snprintf(path, sizeof path, "%s/power/runtime_status", devices[gpu]);
	return !strcmp(text(path), "suspended");
}

static void await_sleep(int gpu)
{
	for (int i = 0; i < 50 && !sleeps(gpu); i++)
		nap(0.1);
}

/* The command of `gpustat run`: a process that keeps the first GPU busy for a second. */
static int work(const char *word)
{
	int fd = open("/dev/nvidia0", O_RDWR | O_CLOEXEC);

	(void)word;
	if (fd < 0)
		return 1;
	set("0 work 1 10000 10 %d", getpid());
	set("0 proc %d %d 0 0", getpid(), 64 << 20);
	nap(2);
	set("0 work 1 0 10 0");
	return 0;
}

/* ---- processes ---- */

static int hold_node(void *arg)
{
	int fd;

	(void)arg;
	fd = open("/dev/nvidia0", O_RDWR | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static pid_t users[2];

static void begin_gpus(const char *control)
{
	for (int i = 0; i < 2; i++) {
		set("%d reset", i);
		power(i, control);
	}
	set("0 work 0 3000 10 0");
	set("0 work 1 6300 10 %d", users[0]);
	set("0 work 2 2000 10 %d", users[1]);
	set("0 work 3 1000 10 %d", users[0]);
	set("0 work 4 500 10 0");
	set("0 work 5 400 10 0");
	set("0 proc %d %d %d %d", users[0], 100 << 20, 20 << 20, 3 << 20);
	set("0 proc %d %d 0 0", users[1], 1 << 20);
}

static struct view device_record(const struct run *r, const char *dev, int last)
{
	struct view found = { NULL, NULL };

	for each_record(v, r)
		if (is(v, "dev", dev) && (!found.p || last))
			found = v;
	return found;
}

static bool exact(double got, double truth)
{
	return fabs(got - truth) <= 0.01 * truth;
}

static void want_exact(struct view v, const char *path, double truth)
{
	want(exact(num(v, path), truth), "%s: %g, not %g", path, num(v, path), truth);
}

/* ---- scenarios ---- */

static void t_values(void)
{
	static const int numbers[] = { 515, 525, 535, 550, 570, 595 };
	char name[128];

	for (int i = 0; i < (int)LEN(numbers); i++) {
		struct run *r;
		struct view v;

		snprintf(name, sizeof name, "release %d: busy of each engine within 1 %%, memory, errors", numbers[i]);
		begin(name);
		begin_gpus("on");
		set("0 release %d", i);
		r = run("-w 0.7 -o json", NULL);
		ended(r, 0);
		v = device_record(r, "nvidia0", 1);
		want_exact(v, "engine/gr/busy", 63);
		want_exact(v, "busy", 63);
		want_exact(v, "engine/nvenc/busy", 20);
		want_exact(v, "engine/nvdec/busy", 10);
		if (numbers[i] >= 550) {
			want_exact(v, "engine/nvjpg/busy", 5);
			want_exact(v, "engine/nvofa/busy", 4);
			want_exact(v, "pstate/current", 2);
		}
		if (numbers[i] >= 575) {
			want_exact(v, "temp/gpu", 61);
			want_exact(v, "temp/memory", 70);
		}
		want_exact(v, "load/mem", 30);
		want_exact(v, "vram/total", 8.0 * (1 << 30));
		want_exact(v, "vram/used", 2.0 * (1 << 30));
		want_exact(v, "ecc/corrected", 4);
		want_exact(v, "ecc/uncorrected", 1);
		want(isnan(num(v, "power/gpu")) && isnan(num(v, "fan/fan1")), "watts or a fan");
		want(!tells("wrong"), "%ld calls that a reader must not make", tells("wrong"));
		/* two GPUs, two samples: 2 + 3 to begin, 12 at most */
		want(tells("calls") <= 48, "%ld calls", tells("calls"));
		want(tells("opens0") == 1, "%ld opens", tells("opens0"));
		want(!tells("open1"), "a node is still open");
		want(tells("open0") == 2, "%ld have a node open, not the two processes", tells("open0"));
		close_run(r);
		end();
	}
}

static void t_processes(void)
{
	struct run *r;
	bool found[2] = { false, false };

	begin("processes: use of each engine and memory of each process, for an unprivileged user");
	begin_gpus("on");
	r = run("procs -w 0.7 -o json", nobody);
	ended(r, 0);
	for each_record(v, r)
		for (int i = 0; i < 2; i++)
			if (num(v, "pid") == users[i]) {
				found[i] = true;
				want_exact(v, "engine/gr/busy", i ? 0 : 63);
				want_exact(v, "engine/nvenc/busy", i ? 20 : 0);
				want_exact(v, "memory/vram/resident", i ? 1 << 20 : 123 << 20);
			}
	want(found[0] && found[1], "a process is missing");
	close_run(r);
	end();

	begin("clients: each process is one, also if /proc shows its node; gpustat is none");
	begin_gpus("on");
	r = run("clients 0.4 3 -o json", NULL);
	ended(r, 0);
	int n = 0;
	for each_record(v, r) {
		n++;
		want(num(v, "pid") == users[0] || num(v, "pid") == users[1], "another process");
	}
	want(n == 6, "%d records, not 6", n);
	close_run(r);
	end();

	begin("cgroups: the sum of both processes");
	begin_gpus("on");
	r = run("cgroups -w 0.7 -o json", NULL);
	ended(r, 0);
	want_exact(record(r, 0), "engine/gr/busy", 63);
	want_exact(record(r, 0), "memory/vram/resident", 124 << 20);
	close_run(r);
	end();

	begin("run: the use of the GPU by a command");
	begin_gpus("on");
	r = run("run -i 0.2 -o json -- /init work", NULL);
	want(r->status == 0, "exit %d", r->status);
	struct view v = { r->text[1], r->text[1] + r->n[1] };
	want(!(num(v, "engine/nvenc/busy_ns") > 0), "work of another process");
	want(num(v, "engine/gr/busy_ns") > 1e9 && num(v, "engine/gr/busy_ns") < 3e9, "gr: %g ns", num(v, "engine/gr/busy_ns"));
	close_run(r);
	end();
}

static void t_formats(void)
{
	static const char *const runs[] = {
		"-w 0.3", "-w 0.3 -o prom", "-w 0.3 -o csv", "-w 0.3 -o logfmt", "-w 0.3 -o influx", "-w 0.3 -o table", "top -d 0.2 -n 2",
		"check -w 90 -c 95", "munin", "counters drm/nvidia0/gr/busy_time -w 0.3", "list", "doctor",
	};

	for (size_t i = 0; i < LEN(runs); i++) {
		struct run *r;
		char name[128];

		snprintf(name, sizeof name, "gpustat %s shows the GPU", runs[i]);
		begin(name);
		begin_gpus("on");
		r = run(runs[i], NULL);
		ended(r, 0);
		want(strstr(r->text[0], "nvidia0") || strstr(r->text[0], "GPU"), "no GPU: %.200s", r->text[0]);
		want(!tells("wrong"), "%ld calls that a reader must not make", tells("wrong"));
		close_run(r);
		end();
	}
}

static void t_sleep(void)
{
	struct run *r;
	struct view v;

	begin("a sleeping GPU is not opened, and stays asleep");
	begin_gpus("auto");
	await_sleep(1);
	want(sleeps(1), "it does not sleep");
	set("1 reset");
	r = run("0.2 12 -o json", NULL);
	ended(r, 0);
	v = device_record(r, "nvidia1", 1);
	want(is(v, "state", "suspended"), "its state");
	want(isnan(num(v, "engine/gr/busy")) && isnan(num(v, "vram/used")), "values of a sleeping GPU");
	want(!tells("opens1") && !tells("resumes1"), "%ld opens, %ld wake-ups", tells("opens1"), tells("resumes1"));
	close_run(r);
	r = run("list -o json", NULL);
	ended(r, 0);
	v = device_record(r, "nvidia1", 1);
	want(!is(v, "name", "NVIDIA Stand-in"), "its name is known, which only a file has that wakes it");
	want(!tells("resumes1"), "list: %ld wake-ups", tells("resumes1"));
	close_run(r);
	end();

	begin("a GPU that slept at the start has its name once it is awake");
	r = start("0.2 15 -f dev,name,state,kind -o json", NULL);
	nap(1);
	power(1, "on");
	finish(r);
	ended(r, 0);
	want(!is(device_record(r, "nvidia1", 0), "name", "NVIDIA Stand-in"), "it has a name while it sleeps");
	want(is(device_record(r, "nvidia1", 1), "name", "NVIDIA Stand-in"), "it has no name");
	close_run(r);
	end();

	begin("an idle GPU is read once and then falls asleep, in a run with short intervals");
	begin_gpus("on");
	nap(0.2);
	power(1, "auto");
	set("1 reset");
	power(1, "on");
	power(1, "auto");
	r = start("0.2 20 -o json", NULL);
	finish(r);
	ended(r, 0);
	v = device_record(r, "nvidia1", 1);
	want(is(v, "state", "suspended"), "it did not fall asleep");
	want(tells("opens1") == 1, "%ld opens", tells("opens1"));
	close_run(r);
	end();

	begin("a GPU that another process holds is read in every sample");
	begin_gpus("auto");
	r = run("0.3 8 -o json", NULL);
	ended(r, 0);
	v = device_record(r, "nvidia0", 1);
	want_exact(v, "engine/gr/busy", 63);
	want(tells("opens0") == 1, "%ld opens", tells("opens0"));
	close_run(r);
	end();
}

static void reason_is(const char *words, const char *set_line)
{
	struct run *r;
	char name[128];

	static const char *const runs[] = { "list -o json", "doctor", "-w 0.3 -v" };

	snprintf(name, sizeof name, "list, doctor and -v say why: %s", words);
	begin(name);
	for (size_t i = 0; i < LEN(runs); i++) {
		begin_gpus("on");
		set("%s", set_line);
		r = run(runs[i], NULL);
		ended(r, 0);
		want(strstr(r->text[i == 2], words), "%s: no reason", runs[i]);
		close_run(r);
	}
	end();
}

static void t_failures(void)
{
	struct run *r;

	reason_is("MIG is on", "0 mig 1");
	reason_is("tegrastats", "0 on_chip 1");
	reason_is("a virtual GPU (vGPU)", "0 vgpu 1");
	reason_is("NVreg_EnableGpuFirmware=1", "0 no_gsp 1");
	reason_is("the GPU is lost", "0 lost 1");
	reason_is("an unknown release", "0 release 6");
	reason_is("denies it", "0 fail 0x20802096 0x1b");
	begin("an error of the ring of samples does not affect the memory");
	begin_gpus("on");
	set("0 fail 0x20802096 -5");
	r = run("-w 0.3 -o json", NULL);
	ended(r, 0);
	want(isnan(num(device_record(r, "nvidia0", 1), "engine/gr/busy")), "busy of a failing ring");
	want_exact(device_record(r, "nvidia0", 1), "vram/used", 2.0 * (1 << 30));
	close_run(r);
	end();
}

static void make_nodes(void)
{
	char path[32];

	mknod("/dev/nvidiactl", S_IFCHR, makedev(195, 255));
	chmod("/dev/nvidiactl", 0666);
	for (unsigned i = 0; i < 2; i++) {
		snprintf(path, sizeof path, "/dev/nvidia%u", i);
		mknod(path, S_IFCHR, makedev(195, i));
		chmod(path, 0666);
	}
}

static void find_devices(void)
{
	struct dirent *e;
	DIR *d = opendir("/proc/driver/nvidia/gpus");
	int n = 0;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.' && n < 2)
			snprintf(devices[n++], sizeof devices[0], "/sys/bus/pci/devices/%s", e->d_name);
	if (n != 2)
		die("two GPUs");
	if (strcmp(devices[0], devices[1]) > 0) {
		char was[64];

		memcpy(was, devices[0], sizeof was);
		memcpy(devices[0], devices[1], sizeof was);
		memcpy(devices[1], was, sizeof was);
	}
	closedir(d);
}

/* A GPU of another driver exists from the start, because gpustat ends if there is none. */
static void t_loaded_late(void)
{
	struct run *r;

	begin("the driver is loaded while gpustat runs: its GPUs appear with their values");
	load("/modules", "devs=i915");
	r = start("0.5 16 -o json", NULL);
	await(r);
	load("/modules.nvidia", "");
	make_nodes();
	finish(r);
	ended(r, 0);
	want(is(record(r, 1), "dev", "card0"), "another device in the first sample");
	want_exact(device_record(r, "nvidia1", 1), "vram/used", 2.0 * (1 << 30));
	close_run(r);
	want(!syscall(SYS_delete_module, "fake", O_NONBLOCK), "fake.ko stays: %s", strerror(errno));
	end();
}

static int scenarios(void)
{
	mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL); /* /proc/PID/cgroup is empty without */
	t_loaded_late();
	find_devices();
	for (int i = 0; i < 2; i++)
		users[i] = child(hold_node, NULL, NULL);
	t_values();
	t_processes();
	t_formats();
	t_sleep();
	t_failures();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
