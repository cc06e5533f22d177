/* t_catalog.c - the catalogue: which counters there are, in which order, and how readings become values. Each machine is
 * looked at by a process of its own, since lists only grow. SPDX-License-Identifier: MIT */
#include "../sources/catalog.c"
#include "../sources/eventcounters.c"
#include "unit.h"

#include <sys/wait.h>

static char tmp[] = "/tmp/t_catalog.XXXXXX";

/* --- rules ------------------------------------------------------------------------------------------------ */

#define MS INT64_C(1000000)

static void is(const struct named *n, bool known, i64 value, const char *what)
{
	if (!check(n->known == known && (!known || n->value == value), "%s", what))
		note("known %d, %" PRId64, n->known, n->value);
}

static void t_levels(void)
{
	struct named n = { .min = INT64_MIN };

	set_level(&n, (u64)-40, 0, 0);
	is(&n, true, -40, "a level may be negative");
	set_level(&n, (u64)-1, 0, 0);
	is(&n, true, 0, "-1 would mean unknown: 0");
	n.min = 0;
	set_level(&n, UINT64_MAX, 0, 0);
	is(&n, true, INT64_MAX, "a level beyond what has room is the largest there is");
	set_level(&n, (u64)INT64_MAX + 1, 0, 0);
	is(&n, true, INT64_MAX, "and so is the first one beyond");
}

static void t_counts(void)
{
	struct named n = { .known = true };

	set_count(&n, 1000, 0, 0);
	is(&n, true, 0, "a count begins at 0");
	set_count(&n, 1007, 0, 1);
	is(&n, true, 7, "and is what was added");
	set_count(&n, 3, 0, 2);
	is(&n, false, 0, "one that falls is unknown");
	set_count(&n, 8, 0, 3);
	is(&n, true, 12, "and goes on from there");
	set_count(&n, UINT64_MAX, 0, 4);
	is(&n, true, INT64_MAX, "it ends at the largest there is");
	set_count(&n, UINT64_MAX, 0, 5);
	is(&n, true, INT64_MAX, "and stays there");
}

static void t_rates(void)
{
	struct named n = { .known = true };

	set_rate(&n, 100, 0, 1000 * MS);
	is(&n, true, 0, "a rate begins at 0");
	set_rate(&n, 400, 0, 1009 * MS);
	is(&n, true, 0, "less than 10 ms leave it as it is");
	set_rate(&n, 400, 0, 1500 * MS);
	is(&n, true, 600, "it is of the time since the reading that counted");
	set_rate(&n, 399, 0, 2500 * MS);
	is(&n, false, 0, "one that falls is unknown");
	set_rate(&n, 400, 0, 3500 * MS);
	is(&n, true, 1, "and goes on from there");
	set_rate(&n, UINT64_MAX, 0, 3510 * MS);
	is(&n, true, INT64_MAX, "more a second than has room is the largest there is");
}

static void t_shares(void)
{
	struct named n = { .known = true };

	set_share(&n, 0, 0, 0);
	is(&n, true, 0, "a share begins at 0");
	set_share(&n, 149, 1000, 20 * MS);
	is(&n, true, 15, "it is rounded: 14.9");
	set_share(&n, 149 + 144, 2000, 40 * MS);
	is(&n, true, 14, "14.4");
	set_share(&n, 293 + 145, 3000, 60 * MS);
	is(&n, true, 15, "14.5");
	set_share(&n, 438 + 2000, 4000, 80 * MS);
	is(&n, true, 100, "it is 100 at most");
	set_share(&n, 2438, 4000, 100 * MS);
	is(&n, true, 100, "where no time has passed it stays");
	set_share(&n, 2438 + 5, 4010, 120 * MS);
	is(&n, true, 50, "until some has");
	set_share(&n, 2442, 4020, 140 * MS);
	is(&n, false, 0, "a part that falls: unknown");
	set_share(&n, 2443, 4030, 160 * MS);
	is(&n, true, 10, "it goes on from there");
	set_share(&n, 2444, 4000, 180 * MS);
	is(&n, false, 0, "the whole that falls: unknown");
	set_share(&n, UINT64_MAX, UINT64_MAX, 200 * MS);
	is(&n, true, 100, "large ones do not overflow");
}

static void t_percents(void)
{
	struct named n = { .known = true };

	set_percent(&n, 70000, 0, 0);
	is(&n, true, 0, "a source's share is of the time since the start");
	set_percent(&n, 70000, 0, 9 * MS);
	is(&n, true, 0, "for 10 ms");
	set_percent(&n, 12499, 0, 10 * MS);
	is(&n, true, 12, "and rounded: 12.499");
	set_percent(&n, 12500, 0, 20 * MS);
	is(&n, true, 13, "12.5");
	set_percent(&n, UINT64_MAX, 0, 30 * MS);
	is(&n, true, 100, "100 at most");
}

/* --- machines ---------------------------------------------------------------------------------------------- */

/* Runs it in a child; its tests count here. */
static void apart(void (*run)(void))
{
	static unsigned *told;
	int status;

	if (!told)
		told = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	fflush(stdout);
	told[0] = told[1] = 0;
	if (fork() == 0) {
		run();
		told[0] = unit_ran;
		told[1] = unit_failed;
		fflush(stdout);
		_exit(0);
	}
	wait(&status);
	if (told[0] > unit_ran) {
		unit_ran = told[0];
		unit_failed = told[1];
	}
	if (status)
		check(false, "a machine's process ended with status %d", status);
}

static void root(const char *proc, const char *sys)
{
	root_proc = open(proc, O_RDONLY | O_DIRECTORY);
	root_sys = open(sys, O_RDONLY | O_DIRECTORY);
	root_proc_given = true;
}

static void tree(const char *name)
{
	char proc[128], sys[128];

	snprintf(proc, sizeof(proc), "tests/trees/%s/proc", name);
	snprintf(sys, sizeof(sys), "tests/trees/%s/sys", name);
	root(proc, sys);
}

static const char *name_of(u32 i)
{
	return i < nnamed ? catalog_at(i)->name : "(none)";
}

/* The list begins with these. */
static u32 names_are(const char *const *names, u32 at)
{
	for (; *names; names++, at++)
		if (!check(strcmp(name_of(at), *names) == 0, "%u: %s", at, *names))
			note("is %s", name_of(at));
	return at;
}

static u32 index_of(const char *name)
{
	u32 i = UINT32_MAX;

	if (!catalog_find(str_z(name), &i))
		check(false, "there is no %s", name);
	return i;
}

static const struct named *counter(const char *name)
{
	static const struct named none;
	u32 i;

	return catalog_find(str_z(name), &i) ? catalog_at(i) : &none;
}

static void activate(const char *name)
{
	u32 i = index_of(name);

	check(i != UINT32_MAX && catalog_activate(&i, 1) == 0, "%s becomes active", name);
}

/* Everything that is of another supplier stays as it is. */
static void activate_all(u8 from, u8 to)
{
	static u32 all[MAX_NAMED];
	u32 n = 0;

	for (u32 i = 0; i < nnamed; i++)
		if (catalog_at(i)->supplier >= from && catalog_at(i)->supplier <= to)
			all[n++] = i;
	check(n > 0 && catalog_activate(all, n) == 0, "%u counters become active", n);
}

static void pass(long ms)
{
	usleep((useconds_t)ms * 1000);
}

static u32 open_files(void)
{
	struct dir d;
	u32 n = 0;

	if (dir_open(&d, AT_FDCWD, "/proc/self/fd") < 0)
		return 0;
	while (dir_next(&d))
		n++;
	dir_close(&d);
	return n;
}

static const char *const of_cpu0[] = { "CPU 0 utilization", "CPU 0 user mode utilization", "CPU 0 kernel mode utilization", NULL };
static const char *const of_os[] = {
	"Physical memory usage", "Virtual memory usage", "Cache pages fault / sec", "File read bytes / sec",
	"File write bytes / sec", "I/O read bytes / sec", "I/O write bytes / sec", "Processes amount", "Threads amount",
	"Context switched / sec", NULL,
};
static const char *const of_driver[] = { "Graphic driver utilization", NULL };
static const char *const of_gpu0[] = {
	"GPU 0 utilization", "GPU 0 vertex processors utilization", "GPU 0 fragment processors utilization",
	"GPU 0 frames / sec", NULL,
};
static const char *const of_gpu1[] = {
	"GPU 1 utilization", "GPU 1 vertex processors utilization", "GPU 1 fragment processors utilization",
	"GPU 1 frames / sec", NULL,
};
static const char *const of_gpus[] = { "GPU memory usage", "Primitive count", "Culled primitive count", NULL };

static u32 cpus_named(void)
{
	u32 n = 0;

	while (glob_match(S("CPU *"), str_z(name_of(n)), NULL))
		n++;
	return n;
}

static void t_no_gpu(void)
{
	u32 at, n;

	tree("host");
	check(catalog_refresh(ALL_SUPPLIERS) == 0 && nnamed > 30, "a machine without a GPU has counters");
	names_are(of_cpu0, 0);
	n = cpus_named();
	check(n % 3 == 0 && n > 3, "three for every CPU");
	at = names_are(of_os, n);
	at = names_are(of_driver, at);
	at = names_are(of_gpu0, at);
	at = names_are(of_gpus, at);
	check(strncmp(name_of(at), "host/", 5) == 0, "then what has names of its own: %s", name_of(at));
	activate_all(SUP_HOST, SUP_HWMON);
	for (u32 i = 0; i < nnamed; i++)
		if (catalog_at(i)->known)
			check(false, "%s is known before the start", name_of(i));
	catalog_start();
	for (u32 i = at - 8; i < at; i++)
		is(catalog_at(i), false, 0, name_of(i));
	is(catalog_at(0), true, 0, "a share is 0 at the start");
	check(catalog_at(n)->known && catalog_at(n)->value > 0, "and a level is what it is: %s", name_of(n));
	is(counter("perf/software/all/cs"), false, 0, "what is inactive is unknown");
}

static void t_texts(void)
{
	bool ends = true, once = true, utf8 = true;

	tree("mixed");
	catalog_refresh(ALL_SUPPLIERS);
	for (u32 i = 0; i < nnamed; i++) {
		const struct named *n = catalog_at(i);
		struct str what = str_z(n->what), unit = str_z(n->unit);
		char end[128];

		snprintf(end, sizeof(end), " (%s)", n->unit);
		ends &= unit.p == unit.e || (str_len(what) > strlen(end) && strcmp(what.e - strlen(end), end) == 0);
		utf8 &= is_clean(str_z(n->name), false) && is_clean(what, false) && is_clean(str_z(n->vendor), false) && *n->name;
		for (u32 k = 0; k < i; k++)
			once &= strcmp(catalog_at(k)->name, n->name) != 0 || strcmp(catalog_at(k)->vendor, n->vendor) != 0;
	}
	check(ends, "descriptions end with the unit");
	check(once, "no counter is listed twice");
	check(utf8, "texts have nothing in them that could move a cursor");
}

static void t_two_gpus(void)
{
	u32 at;

	tree("mixed");
	catalog_refresh(ALL_SUPPLIERS);
	at = names_are(of_driver, cpus_named() + (u32)LEN(of_os) - 1);
	at = names_are(of_gpu0, at);
	at = names_are(of_gpu1, at);
	check(strcmp(name_of(at), "GPU 2 utilization") == 0, "and the third");
	names_are(of_gpus, at + (u32)LEN(of_gpu0) - 1);
	check(strcmp(counter("GPU 0 utilization")->vendor, "i915") == 0 &&
	      strcmp(counter("GPU 1 utilization")->vendor, "amdgpu") == 0 &&
	      strcmp(counter("GPU 2 utilization")->vendor, "nvidia") == 0 &&
	      strcmp(counter("CPU 0 utilization")->vendor, "linux") == 0, "a GPU's vendor is its driver; an NPU is none");
	check(catalog_has(S("intel_vpu"), S("drm/accel0/-/busy")), "it has its counters by name");
}

/* Whether a GPU's frames are counted by this event. */
static void frames_are(const char *name, const char *list);

static void t_display(void)
{
	u32 at;

	tree("v3d");
	catalog_refresh(ALL_SUPPLIERS);
	at = names_are(of_driver, cpus_named() + (u32)LEN(of_os) - 1);
	at = names_are(of_gpu0, at);
	names_are(of_gpus, at);
	check(strcmp(counter("GPU 0 utilization")->vendor, "v3d") == 0, "a display controller is no GPU");
	check(catalog_has(S("vc4-drm"), S("drm/card1/-/used")), "it has its counters by name");
	frames_are("GPU 0 frames / sec", "drm:drm_vblank_event_delivered");
	activate_all(SUP_HOST, SUP_HWMON);
	catalog_start();
	pass(20);
	catalog_sample();
	is(counter("GPU 0 vertex processors utilization"), true, 0, "v3d's binning is vertex work");
	is(counter("GPU 0 fragment processors utilization"), true, 0, "its rendering is fragment work");
	check(counter("GPU memory usage")->value > 0, "there is memory in use");
	is(counter("Primitive count"), false, 0, "nobody counts primitives");
}

/* Of a board whose first node is a display's. */
static void t_lima(void)
{
	tree("lima");
	catalog_refresh(ALL_SUPPLIERS);
	check(strcmp(counter("GPU 0 utilization")->vendor, "lima") == 0, "GPU 0 is what renders");
	check(!catalog_has(S("sun4i-drm"), S("GPU 1 utilization")), "and the only one");
	check(strcmp(counter("GPU memory usage")->vendor, "lima") == 0, "whose memory is that of GPUs");
}

static void t_apu(void)
{
	tree("amdgpu-apu");
	catalog_refresh(ALL_SUPPLIERS);
	activate("GPU memory usage");
	catalog_start();
	check(counter("GPU memory usage")->value > 536870912 && counter("GPU memory usage")->max == INT64_MAX,
	      "an APU may use more than its carve-out: no limit");
}

static void t_amdgpu(void)
{
	const struct named *n;
	u32 was;

	tree("amdgpu");
	catalog_refresh(ALL_SUPPLIERS);
	was = open_files();
	activate_all(SUP_GPU, SUP_GPU);
	check(open_files() == was, "activating opens no file of GPUs yet");
	catalog_start();
	check(open_files() > was, "sampling does");
	is(counter("GPU 0 utilization"), true, 0, "a share is 0 at the start");
	is(counter("drm/card0/edge/temp"), true, 52000, "temperatures are in 1/1000 C");
	is(counter("drm/card0/PPT/power"), true, 112000000, "power is in uW");
	is(counter("drm/card0/vram/used"), true, 3221225472, "memory in bytes");
	pass(12);
	catalog_sample();
	is(counter("GPU 0 utilization"), true, 37, "then what the driver says");
	is(counter("Graphic driver utilization"), true, 37, "of one GPU the same");
	n = counter("GPU memory usage");
	check(n->value == 3221225472 && n->max == counter("drm/card0/vram/size")->value, "memory: the driver's figure, of all it has");
	while (nactive)
		catalog_deactivate(named[0].active_there);
	check(open_files() == was, "what is not active holds no file open");
	catalog_sample();
	check(open_files() == was, "and none is opened for it");
}

static void t_asleep(void)
{
	tree("xe-suspended");
	catalog_refresh(ALL_SUPPLIERS);
	activate_all(SUP_HOST, SUP_HWMON);
	catalog_start();
	pass(12);
	catalog_sample();
	is(counter("GPU 0 utilization"), false, 0, "a GPU that sleeps: unknown");
	for (u32 i = 0; i < nnamed; i++)
		if (glob_match(S("drm/*/temp"), str_z(name_of(i)), NULL))
			is(catalog_at(i), false, 0, name_of(i));
}

/* --- perf events and OA sets ---------------------------------------------------------------------------------------- */

static void event_is(const char *name, const char *list, const char *unit)
{
	u32 i;
	bool there = catalog_find(str_z(name), &i);

	check(there && text_eq(slots[catalog_at(i)->at].events, str_z(list)) && strcmp(catalog_at(i)->unit, unit) == 0 &&
	      strcmp(catalog_at(i)->vendor, "linux") == 0 && catalog_at(i)->rule == R_COUNT, "%s is %s", name, list);
}

static void t_events(void)
{
	u32 had, i;

	root("tests/trees/host/proc", "tests/pmus/intel");
	catalog_refresh(ALL_SUPPLIERS);
	event_is("perf/cpu/all/cycles", "cycles", "");
	event_is("perf/cpu/all/LLC-load-misses", "LLC-load-misses", "");
	event_is("perf/software/all/context-switches", "context-switches", "");
	event_is("perf/software/all/cpu-clock", "cpu-clock", "ns");
	event_is("perf/power/all/energy-pkg", "power/energy-pkg/", "uJ");
	event_is("perf/uncore_imc_0/all/cas_count_read", "uncore_imc_0/cas_count_read/", "MiB");
	event_is("perf/tracepoint/sched/sched_switch", "sched:sched_switch", "");
	for (i = 0, had = 0; i < nnamed; i++)
		had += str_find(str_z(name_of(i)), S("?")) || str_find(str_z(name_of(i)), S("gpu-busy")) ||
		       str_find(str_z(name_of(i)), S("TERM")) || str_find(str_z(name_of(i)), S("duration_time"));
	check_u64(had, 0, "what takes parameters, aliases and virtual events are none of them");
	had = nnamed;
	catalog_refresh(ALL_SUPPLIERS);
	check_u64(nnamed, had, "events are listed once");
	activate("perf/cpu/all/cycles");
	activate("perf/uncore_imc_0/all/cas_count_read");
}

static void t_scaled(void)
{
	const struct place plain = { .scale = 0 }, mib = { .scale = UINT64_C(6103515625), .point = 14 };
	const struct place joules = { .scale = UINT64_C(2328306436538696289), .point = 28, .micro = true };
	const struct place whole_joules = { .scale = 2, .micro = true }, tiny = { .scale = 1, .point = 255 };

	check_u64(scaled(&plain, 12345), 12345, "a count without a scale is itself");
	check_u64(scaled(&mib, UINT64_C(1) << 20), 64, "cache lines to MiB");
	check_u64(scaled(&joules, UINT64_C(1) << 32), 1000000, "2^32 units of 2^-32 J are a million uJ");
	check_u64(scaled(&joules, 5), 0, "less than a uJ is none");
	check_u64(scaled(&joules, UINT64_MAX), UINT64_C(4294967296000000), "the largest count");
	check_u64(scaled(&whole_joules, 3), 6000000, "a scale without digits behind the point");
	check_u64(scaled(&tiny, UINT64_MAX), 0, "one with 255 of them");
}

static void t_oa(void)
{
	tree("i915");
	catalog_refresh(ALL_SUPPLIERS);
	check(counter("oa/card0/Basic/GpuBusy")->rule == R_PERCENT && counter("oa/card0/Basic/GpuBusy")->max == 100 &&
	      counter("oa/card0/Basic/GpuTime")->rule == R_COUNT && counter("oa/card0/Basic/AvgGpuCoreFrequency")->rule == R_LEVEL,
	      "sets that fit the GPU are listed without opening it");
	check(strcmp(counter("oa/card0/Basic/GpuTime")->vendor, "i915") == 0, "its vendor is the driver");
}

/* --- what comes and goes -------------------------------------------------------------------------------------- */

/* Each @ stands for our folder. */
static void shell(const char *text)
{
	char command[512];
	struct buf b = { .p = command, .cap = sizeof(command) - 1 };

	for (; *text; text++)
		if (*text == '@')
			put_z(&b, tmp);
		else
			put_c(&b, *text);
	command[b.n] = '\0';
	if (b.full || system(command) != 0)
		check(false, "%s", command);
}

static void t_device_comes(void)
{
	char proc[64], sys[64];
	u32 had, gpu;

	shell("cp -a tests/trees/amdgpu/proc tests/trees/amdgpu/sys @/ && mv @/sys/class/drm @/sys/class/off");
	snprintf(proc, sizeof(proc), "%s/proc", tmp);
	snprintf(sys, sizeof(sys), "%s/sys", tmp);
	/* without processes that would tell of the device */
	shell("rm -rf @/proc/[1-9]*");
	root(proc, sys);
	catalog_refresh(ALL_SUPPLIERS);
	had = nnamed;
	gpu = index_of("GPU 0 utilization");
	check(strcmp(catalog_at(gpu)->vendor, "linux") == 0, "without a GPU its counter is Linux's");
	check(catalog_refresh(ALL_SUPPLIERS) == 0 && nnamed == had, "nothing new: nothing is added");
	activate("GPU 0 utilization");
	catalog_start();
	is(catalog_at(gpu), false, 0, "and unknown");
	shell("mv @/sys/class/off @/sys/class/drm");
	check(catalog_refresh(ALL_SUPPLIERS) == 0 && nnamed > had && index_of("drm/card0/-/busy") >= had, "a device that comes is appended");
	check(index_of("GPU 0 utilization") == gpu, "what was listed stays where it is");
	had = nnamed;
	pass(12);
	catalog_sample();
	pass(12);
	catalog_sample();
	is(catalog_at(gpu), true, 37, "it is GPU 0");
	shell("mv @/sys/class/drm @/sys/class/off");
	pass(12);
	catalog_sample();
	is(catalog_at(gpu), false, 0, "one that goes is unknown");
	shell("mv @/sys/class/off @/sys/class/drm");
	catalog_refresh(ALL_SUPPLIERS);
	pass(12);
	catalog_sample();
	pass(12);
	catalog_sample();
	check(nnamed == had, "when it comes again it is the same");
	is(catalog_at(gpu), true, 37, "and known again");
}

/* More in the life of the process than have places, though never more at once. */
static void t_devices_come_and_go(void)
{
	char proc[64], sys[64];
	u32 dropped = reg_dropped;

	shell("mkdir -p @/h/sys/class/drm @/h/proc");
	snprintf(proc, sizeof(proc), "%s/h/proc", tmp);
	snprintf(sys, sizeof(sys), "%s/h/sys", tmp);
	root(proc, sys);
	shell("cd @/h/sys/class/drm && for i in $(seq 100 139); do mkdir card$i; done");
	catalog_refresh(ALL_SUPPLIERS);
	check(catalog_has(S("linux"), S("drm/card139/-/clients")) && reg_dropped == dropped, "40 devices");
	shell("cd @/h/sys/class/drm && rmdir card1?? && for i in $(seq 200 239); do mkdir card$i; done");
	catalog_refresh(ALL_SUPPLIERS);
	catalog_refresh(ALL_SUPPLIERS);
	catalog_refresh(ALL_SUPPLIERS);
	check(catalog_has(S("linux"), S("drm/card200/-/clients")), "then others");
	check(!catalog_has(S("linux"), S("drm/card239/-/clients")) && reg_dropped > dropped, "for the last of which there is no room");
}

/* The first one is there only between two looks at the list. */
static void t_oa_comes(void)
{
	char proc[64], sys[64];

	shell("mkdir @/o @/o/proc && cp -a tests/trees/i915/sys @/o/ && mv @/o/sys/class/drm @/o/sys/class/off");
	snprintf(proc, sizeof(proc), "%s/o/proc", tmp);
	snprintf(sys, sizeof(sys), "%s/o/sys", tmp);
	root(proc, sys);
	catalog_refresh(ALL_SUPPLIERS);
	activate("Graphic driver utilization");
	catalog_start();
	shell("mkdir -p @/o/sys/class/drm/card7");
	pass(12);
	catalog_sample();
	check(gpu_device(0) && strcmp(gpu_device(0)->dev, "card7") == 0, "a device that a reading finds has its place");
	shell("rm -r @/o/sys/class/drm && mv @/o/sys/class/off @/o/sys/class/drm");
	pass(12);
	catalog_sample();
	catalog_refresh(ALL_SUPPLIERS);
	check(!gpu_device(0) && catalog_has(S("i915"), S("oa/card0/Basic/GpuBusy")), "those behind one that went are listed");
}

/* "": none. */
static void frames_are(const char *name, const char *list)
{
	u32 had = nslots;

	activate(name);
	check(*list ? nslots == had + 1 && text_eq(slots[had].events, str_z(list)) : nslots == had, "%s: %s", name,
	      *list ? list : "nobody tells");
	catalog_sample();
	is(counter(name), false, 0, name);
	catalog_deactivate(index_of(name));
}

static void t_frames(void)
{
	char proc[64], sys[64];

	shell("mkdir @/f && cp -a tests/trees/mixed/proc tests/trees/mixed/sys @/f/ && rm -rf @/f/sys/class/drm/*-*-*");
	shell("mkdir @/f/sys/class/drm/card1-DP-1");
	snprintf(proc, sizeof(proc), "%s/f/proc", tmp);
	snprintf(sys, sizeof(sys), "%s/f/sys", tmp);
	root(proc, sys);
	catalog_refresh(ALL_SUPPLIERS);
	catalog_start();
	frames_are("GPU 0 frames / sec", ""); /* it has no display */
	shell("mkdir @/f/sys/class/drm/card0-eDP-1");
	frames_are("GPU 0 frames / sec", "i915:intel_pipe_update_end");
	frames_are("GPU 1 frames / sec", ""); /* vblanks are those of any display */
	shell("rmdir @/f/sys/class/drm/card0-eDP-1");
	frames_are("GPU 1 frames / sec", "drm:drm_vblank_event_delivered");
}

static void put_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/c/%s", tmp, name);
	f = fopen(path, "w");
	if (!f || fputs(text, f) < 0)
		check(false, "%s cannot be written", path);
	if (f)
		fclose(f);
}

static void t_supplied(void)
{
	char path[64];
	u32 had, frames;

	tree("host");
	shell("mkdir -p @/c && mkfifo @/c/fifo && mkdir @/c/folder && ln -s /etc/passwd @/c/link");
	snprintf(path, sizeof(path), "%s/c", tmp);
	setenv("GPUSTAT_COUNTERS", path, 1);
	put_file("game", "frames shown 60 1/s\nframes shown 61 1/s\nscore -5\nx y\nbad\x01name 4 u\n7 8\n\nlate -1 mC\n"
		 "wide 1 a_unit_of_more_than_thirty_two_bytes\ncut 4");
	put_file(".hidden", "hidden 1 u\n");
	put_file("other", "score 9 points\nbig 99999999999999999999 u\nlast 3 u");
	catalog_refresh(ALL_SUPPLIERS);
	frames = index_of("frames shown");
	check(strcmp(catalog_at(frames)->vendor, "game") == 0 && strcmp(catalog_at(frames)->unit, "1/s") == 0,
	      "a name has blanks, the vendor is the file");
	check(catalog_at(nnamed - 1)->supplier == SUP_FILE && catalog_at(nnamed - 6)->supplier == SUP_FILE &&
	      catalog_at(nnamed - 7)->supplier != SUP_FILE, "six lines make sense");
	check(catalog_has(S("game"), S("score")) && catalog_has(S("other"), S("score")), "two vendors may have one name");
	check(!catalog_has(S(".hidden"), S("hidden")), "a file whose name begins with a dot is none");
	check(!catalog_has(S("game"), S("cut")), "a line that ends in its value may be half written: none");
	check(catalog_has(S("other"), S("last")), "one that ends in its unit is whole");
	activate("frames shown");
	activate("late");
	catalog_start();
	is(catalog_at(frames), true, 60, "of two lines the first counts");
	is(counter("late"), true, 0, "-1 is 0");
	put_file("game", "frames shown 17 1/s\nnew 1 u\n");
	catalog_sample();
	is(catalog_at(frames), true, 17, "a file is read again");
	is(counter("late"), false, 0, "a line that went is unknown");
	had = nnamed;
	catalog_refresh(ALL_SUPPLIERS);
	check(nnamed == had + 1 && strcmp(name_of(had), "new") == 0, "a line that comes is appended");
	shell("rm @/c/game");
	catalog_sample();
	is(catalog_at(frames), false, 0, "a file that went: unknown");
	shell("ln -s other @/c/game");
	catalog_sample();
	is(catalog_at(frames), false, 0, "no link is followed");
	shell("rm @/c/game && mkfifo @/c/game");
	catalog_sample();
	is(catalog_at(frames), false, 0, "no pipe is waited for");
	shell("rm @/c/game && head -c 70000 /dev/zero | tr '\\0' '\\n' >@/c/game");
	catalog_sample();
	is(catalog_at(frames), false, 0, "too large a file is not read");
	shell("rm @/c/game");
	put_file("game", "frames shown 0 1/s\n");
	catalog_sample();
	is(catalog_at(frames), true, 0, "it may come again: known, and 0");
	had = nnamed;
	shell("head -c 60000 /dev/urandom >@/c/noise");
	catalog_refresh(ALL_SUPPLIERS);
	for (u32 i = had; i < nnamed; i++)
		if (!is_clean(str_z(catalog_at(i)->name), false) || !is_clean(str_z(catalog_at(i)->what), false))
			check(false, "noise makes a name: %s", show(str_z(catalog_at(i)->name)));
	catalog_stop();
	put_file("game", "frames shown 5 1/s\n");
	catalog_sample();
	is(catalog_at(frames), true, 0, "stopped, it stays as it is");
	catalog_start();
	is(catalog_at(frames), true, 5, "until the next start");
	catalog_deactivate(frames);
	is(catalog_at(frames), false, 0, "inactive, it is unknown");
}

/* --- refusal ------------------------------------------------------------------------------------------------------- */

static u32 opens, closes;
static long refuse(u32 at)
{
	opens++;
	return at == 2 ? -EACCES : at == 3 ? -EPERM : at == 4 ? -ENOENT : 0;
}

static void count_close(u32 at)
{
	(void)at;
	closes++;
}

static long no_read(u32 at, u64 *v, u64 *of)
{
	*v = *of = 7;
	return at == 4 ? -ENOENT : 0;
}

static void t_refusal(void)
{
	static const struct supplier fake = { .open = refuse, .close = count_close, .read = no_read };
	const u32 all[] = { 0, 1, 2 }, perm[] = { 3 }, good[] = { 0, 4, 0, 1 };

	suppliers[SUP_FILE] = &fake;
	for (u32 i = 0; i < 5; i++) {
		char name[] = { (char)('a' + i), '\0' };

		catalog_add(SUP_FILE, i, &(struct naming){ .vendor = S("v"), .name = str_z(name), .rule = R_LEVEL });
	}
	check(catalog_activate(all, 3) == -EACCES, "a refusal is an error");
	check(nactive == 0 && opens == 3 && closes == 3 && !named[0].active && !named[1].active && !named[2].active,
	      "and nothing half is done");
	check(catalog_activate(perm, 1) == -EACCES, "EPERM is a refusal, too");
	check(catalog_activate(good, 4) == 0 && nactive == 3, "ENOENT is none; what is named twice is active once");
	check(catalog_activate(all, 3) == -EACCES && nactive == 3 && named[0].active && named[1].active,
	      "what was active before stays active");
	catalog_start();
	is(&named[0], true, 7, "what can be read is known");
	is(&named[4], false, 0, "what cannot is not");
	catalog_deactivate(0);
	catalog_deactivate(0);
	check(nactive == 2 && closes == 6 && named[1].active && named[4].active, "deactivated twice is deactivated");
}

/* --- limits -------------------------------------------------------------------------------------------------------- */

static void t_limits(void)
{
	char name[32], text[3 * TEXT_BYTES];
	u32 dropped = reg_dropped;

	memset(text, 'w', sizeof(text));
	catalog_add(SUP_FILE, 0, &(struct naming){ .vendor = S("v"), .name = S("long"), .what = { text, text + sizeof(text) },
						    .unit = S("u") });
	check(nnamed == 1 && strlen(named[0].what) < TEXT_BYTES && strcmp(named[0].what + strlen(named[0].what) - 4, " (u)") == 0,
	      "a long description is cut, its unit is not");
	for (u32 i = 1; i < MAX_NAMED + 10; i++) {
		snprintf(name, sizeof(name), "counter %u", i);
		catalog_add(SUP_FILE, i, &(struct naming){ .vendor = S("v"), .name = str_z(name), .what = S("what"), .unit = S("u") });
	}
	check(nnamed == MAX_NAMED && reg_dropped == dropped + 10, "what finds no room is counted");
	check(strcmp(name_of(MAX_NAMED - 1), "counter 16383") == 0, "the last one is the last that had room");
	catalog_add(SUP_FILE, 0, &(struct naming){ .vendor = S("v"), .name = S("counter 5") });
	check(reg_dropped == dropped + 10, "one that is there already is none that was dropped");
	check(counter("counter 12345")->at == 12345, "each is found");
	texts_used = ALL_TEXT - 3;
	nnamed--;
	catalog_add(SUP_FILE, 0, &(struct naming){ .vendor = S("v"), .name = S("new"), .what = S("what"), .unit = S("u") });
	check(nnamed == MAX_NAMED - 1 && reg_dropped == dropped + 11, "nor is one listed whose texts find no room");
}

/* PMUs as a long-lived program finds them: their numbers are of a driver, which may come anew. */
static void t_numbers(void)
{
	struct gp_event e[2];
	struct perf_event_attr *a = (struct perf_event_attr *)(void *)e[0].attr;
	struct buf why = { .cap = 0 };
	char sys[64];

	shell("mkdir -p @/pmus/bus/event_source/devices; cd @/pmus/bus/event_source/devices; mkdir -p xe_a/format un_0 un_1/format cpu_p cpu_e;"
	      " echo 41 >xe_a/type; echo 50 >un_0/type; echo 51 >un_1/type; echo 4 >cpu_p/type; echo 0 >cpu_p/cpus; echo 1 >cpu_e/cpus;"
	      " echo config:0-3 >xe_a/format/event; echo config:0-3 >un_1/format/event");
	snprintf(sys, sizeof(sys), "%s/pmus", tmp);
	root("tests/trees/host/proc", sys);
	check(events_attr(S("xe_a/event=3/"), e, 2, &why) == 1 && a->type == 41, "a PMU's number");
	shell("echo 42 >@/pmus/bus/event_source/devices/xe_a/type");
	check(events_attr(S("xe_a/event=3/"), e, 2, &why) == 1 && a->type == 42, "another one, where its driver came anew");
	check(events_attr(S("un/event=16/"), e, 2, &why) == -EINVAL, "what has no room in one's field is wrong, whatever another one lacks");
	check(events_attr(S("r1"), e, 2, &why) == -ENOENT, "a raw event is none of a kind of CPU that has no number");
	shell("echo 5 >@/pmus/bus/event_source/devices/cpu_e/type");
	check(events_attr(S("r1"), e, 2, &why) == 2 && a->type == 5, "and is one of each that has");
	check(gp_parse("xe_b/config=7/", e, 2, NULL, 0) == -ENOENT, "a PMU that is not there");
	shell("cd @/pmus/bus/event_source/devices; mkdir xe_b; echo 43 >xe_b/type");
	check(gp_parse("xe_b/config=7/", e, 2, NULL, 0) == 1 && a->type == 43, "and is, once its driver has come");
	check(gp_parse("r1", e, 2, NULL, 0) == 2, "of kinds of CPU there are no more than before");
}

/* The kernel drops the events of a CPU that goes offline, and with it all but one do when the machine sleeps: their time stands
 * still then, as that of those which are switched off. */
static void t_dropped(void)
{
	static const char name[] = "perf/software/all/cpu-clock";
	i64 was;

	root("/proc", "/sys");
	catalog_refresh(ALL_SUPPLIERS);
	activate(name);
	catalog_start();
	pass(20);
	catalog_sample();
	if (!counter(name)->known) {
		for (int i = 0; i < 5; i++) /* checks */
			check(true, "events that the kernel has dropped # SKIP none may be counted here");
		return;
	}
	was = counter(name)->value;
	check(was > 15 * MS, "events count");
	for (u32 i = 1; i <= nplaces; i++)
		gp_disable(places[i].fd);
	pass(20);
	catalog_sample(); /* up to here they counted a little */
	pass(20);
	catalog_sample();
	is(counter(name), false, 0, "events that the kernel has dropped tell nothing");
	pass(20);
	catalog_sample();
	check(counter(name)->known && counter(name)->value > was + 15 * MS, "and are opened anew: what they had counted stays");
	was = counter(name)->value;
	catalog_sample();
	check(counter(name)->known && counter(name)->value >= was, "a reading right behind another one is no sign of that");
	check_u64(slots[counter(name)->at].opened, 1, "nothing else has changed");
}

int main(void)
{
	static void (*const machines[])(void) = {
		t_no_gpu, t_texts, t_two_gpus, t_display, t_lima, t_apu, t_amdgpu, t_asleep, t_events, t_oa,
		t_device_comes, t_devices_come_and_go, t_oa_comes, t_frames, t_supplied, t_refusal, t_limits, t_numbers, t_dropped,
	};

	if (!mkdtemp(tmp))
		return 1;
	unsetenv("GPUSTAT_COUNTERS");
	t_levels();
	t_counts();
	t_rates();
	t_shares();
	t_percents();
	t_scaled();
	for (size_t i = 0; i < LEN(machines); i++)
		apart(machines[i]);
	shell("rm -rf @");
	return unit_end();
}
