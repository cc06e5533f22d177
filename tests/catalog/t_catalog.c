/* t_catalog.c - the catalogue: the list of counters, its order, and how readings become values; events
 * (sources/catalog/eventcounters.c). A separate process tests each machine, because the lists only
 * grow. SPDX-License-Identifier: MIT */
#include "../../sources/catalog/catalog.c"
#include "../../sources/catalog/eventcounters.c"
#include "unit.h"

#include <sys/wait.h>

static char tmp[100];

/* --- rules ------------------------------------------------------------------------------------ */

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
	is(&n, true, INT64_MAX, "a level above INT64_MAX becomes INT64_MAX");
	set_level(&n, (u64)INT64_MAX + 1, 0, 0);
	is(&n, true, INT64_MAX, "the level INT64_MAX + 1 becomes INT64_MAX");
}

static void t_counts(void)
{
	struct named n = { .known = true };

	set_count(&n, 1000, 0, 0);
	is(&n, true, 0, "a count starts at 0");
	set_count(&n, 1007, 0, 1);
	is(&n, true, 7, "a count is the increase since the start");
	set_count(&n, 3, 0, 2);
	is(&n, false, 0, "a count that decreases is unknown");
	set_count(&n, 8, 0, 3);
	is(&n, true, 12, "after a decrease the count continues from its last value");
	set_count(&n, UINT64_MAX, 0, 4);
	is(&n, true, INT64_MAX, "a count stops at INT64_MAX");
	set_count(&n, UINT64_MAX, 0, 5);
	is(&n, true, INT64_MAX, "a count at INT64_MAX stays there");
}

static void t_rates(void)
{
	struct named n = { .known = true };

	set_rate(&n, 100, 0, 1000 * MS);
	is(&n, true, 0, "a rate starts at 0");
	set_rate(&n, 400, 0, 1009 * MS);
	is(&n, true, 0, "a reading less than 10 ms later does not change the rate");
	set_rate(&n, 400, 0, 1500 * MS);
	is(&n, true, 600, "a rate covers the time since the last reading that was used");
	set_rate(&n, 399, 0, 2500 * MS);
	is(&n, false, 0, "a rate is unknown when the count decreases");
	set_rate(&n, 400, 0, 3500 * MS);
	is(&n, true, 1, "after a decrease the rate continues from the new count");
	set_rate(&n, UINT64_MAX, 0, 3510 * MS);
	is(&n, true, INT64_MAX, "a rate above INT64_MAX becomes INT64_MAX");
}

static void t_shares(void)
{
	struct named n = { .known = true };

	set_share(&n, 0, 0, 0);
	is(&n, true, 0, "a share starts at 0");
	set_share(&n, 149, 1000, 20 * MS);
	is(&n, true, 15, "a share is rounded: 14.9");
	set_share(&n, 149 + 144, 2000, 40 * MS);
	is(&n, true, 14, "a share is rounded: 14.4");
	set_share(&n, 293 + 145, 3000, 60 * MS);
	is(&n, true, 15, "a share is rounded: 14.5");
	set_share(&n, 438 + 2000, 4000, 80 * MS);
	is(&n, true, 100, "a share is at most 100");
	set_share(&n, 2438, 4000, 100 * MS);
	is(&n, true, 100, "a share stays the same when no time has passed");
	set_share(&n, 2438 + 5, 4010, 120 * MS);
	is(&n, true, 50, "a share is calculated again when time has passed");
	set_share(&n, 2442, 4020, 140 * MS);
	is(&n, false, 0, "a share is unknown when the part decreases");
	set_share(&n, 2443, 4030, 160 * MS);
	is(&n, true, 10, "after a decrease the share continues from the new values");
	set_share(&n, 2444, 4000, 180 * MS);
	is(&n, false, 0, "a share is unknown when the total decreases");
	set_share(&n, UINT64_MAX, UINT64_MAX, 200 * MS);
	is(&n, true, 100, "large parts and totals do not overflow");
}

static void t_percents(void)
{
	struct named n = { .known = true };

	set_percent(&n, 70000, 0, 0);
	is(&n, true, 0, "a share that a source reports starts at 0");
	set_percent(&n, 70000, 0, 9 * MS);
	is(&n, true, 0, "a share that a source reports stays the same for 10 ms");
	set_percent(&n, 12499, 0, 10 * MS);
	is(&n, true, 12, "a share that a source reports is rounded: 12.499");
	set_percent(&n, 12500, 0, 20 * MS);
	is(&n, true, 13, "a share that a source reports is rounded: 12.5");
	set_percent(&n, UINT64_MAX, 0, 30 * MS);
	is(&n, true, 100, "a share that a source reports is at most 100");
}

/* --- machines --------------------------------------------------------------------------------- */

/* Runs a function in a child process and adds the child's tests to the tests here. */
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
		check(false, "the process of a machine ended with status %d", status);
}

static void root(const char *proc, const char *sys)
{
	roots.proc = open(proc, O_RDONLY | O_DIRECTORY);
	roots.sys = open(sys, O_RDONLY | O_DIRECTORY);
	roots.proc_given = true;
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

/* Checks that the list has these names from position at. */
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

/* Activates all counters of the providers from..to; the others stay as they are. */
static void activate_all(u8 from, u8 to)
{
	static u32 all[MAX_NAMED];
	u32 n = 0;

	for (u32 i = 0; i < nnamed; i++)
		if (catalog_at(i)->provider >= from && catalog_at(i)->provider <= to)
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
	check(catalog_refresh(ALL_PROVIDERS) == 0 && nnamed > 30, "a machine without a GPU has counters");
	names_are(of_cpu0, 0);
	n = cpus_named();
	check(n % 3 == 0 && n > 3, "there are three counters for every CPU");
	at = names_are(of_os, n);
	at = names_are(of_driver, at);
	at = names_are(of_gpu0, at);
	at = names_are(of_gpus, at);
	check(strncmp(name_of(at), "host/", 5) == 0,
	      "the counters with gpustat's own names follow: %s", name_of(at));
	activate_all(PROVIDER_HOST, PROVIDER_HWMON);
	for (u32 i = 0; i < nnamed; i++)
		if (catalog_at(i)->known)
			check(false, "%s is known before the start", name_of(i));
	catalog_start();
	for (u32 i = at - 8; i < at; i++)
		is(catalog_at(i), false, 0, name_of(i));
	is(catalog_at(0), true, 0, "a share is 0 at the start");
	check(catalog_at(n)->known && catalog_at(n)->value > 0,
	      "a level has its value at the start: %s", name_of(n));
	is(counter("perf/software/all/cs"), false, 0, "an inactive counter is unknown");
}

static void t_texts(void)
{
	bool ends = true, once = true, utf8 = true;

	tree("mixed");
	catalog_refresh(ALL_PROVIDERS);
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
	check(utf8, "texts contain no bytes that could move a cursor");
}

static void t_two_gpus(void)
{
	u32 at;

	tree("mixed");
	catalog_refresh(ALL_PROVIDERS);
	at = names_are(of_driver, cpus_named() + (u32)LEN(of_os) - 1);
	at = names_are(of_gpu0, at);
	at = names_are(of_gpu1, at);
	check(strcmp(name_of(at), "GPU 2 utilization") == 0, "GPU 2 follows GPU 1");
	names_are(of_gpus, at + (u32)LEN(of_gpu0) - 1);
	check(strcmp(counter("GPU 0 utilization")->vendor, "i915") == 0 &&
	      strcmp(counter("GPU 1 utilization")->vendor, "amdgpu") == 0 &&
	      strcmp(counter("GPU 2 utilization")->vendor, "nvidia") == 0 &&
	      strcmp(counter("CPU 0 utilization")->vendor, "linux") == 0,
	      "a GPU's vendor is its driver; an NPU is not a GPU");
	check(catalog_has(S("intel_vpu"), S("drm/accel0/-/busy")),
	      "the NPU's counters are listed by name");
}

/* Checks which event counts a GPU's frames. */
static void frames_are(const char *name, const char *list);

static void t_display(void)
{
	u32 at;

	tree("v3d");
	catalog_refresh(ALL_PROVIDERS);
	at = names_are(of_driver, cpus_named() + (u32)LEN(of_os) - 1);
	at = names_are(of_gpu0, at);
	names_are(of_gpus, at);
	check(strcmp(counter("GPU 0 utilization")->vendor, "v3d") == 0,
	      "a display controller is not a GPU");
	check(catalog_has(S("vc4-drm"), S("drm/card1/-/used")),
	      "the display controller's counters are listed by name");
	frames_are("GPU 0 frames / sec", "drm:drm_vblank_event_delivered");
	activate_all(PROVIDER_HOST, PROVIDER_HWMON);
	catalog_start();
	pass(20);
	catalog_sample();
	is(counter("GPU 0 vertex processors utilization"), true, 0,
	   "v3d's bin engine counts as vertex work");
	is(counter("GPU 0 fragment processors utilization"), true, 0,
	   "v3d's render engine counts as fragment work");
	check(counter("GPU memory usage")->value > 0, "GPU memory usage is above 0");
	is(counter("Primitive count"), false, 0,
	   "the primitive count is unknown, because no source counts primitives");
}

/* A board whose first DRM node belongs to a display controller. */
static void t_lima(void)
{
	tree("lima");
	catalog_refresh(ALL_PROVIDERS);
	check(strcmp(counter("GPU 0 utilization")->vendor, "lima") == 0,
	      "GPU 0 is the device that renders");
	check(!catalog_has(S("sun4i-drm"), S("GPU 1 utilization")), "there is no second GPU");
	check(strcmp(counter("GPU memory usage")->vendor, "lima") == 0,
	      "GPU memory usage is the memory of the GPU, not of the display controller");
}

static void t_apu(void)
{
	tree("amdgpu-apu");
	catalog_refresh(ALL_PROVIDERS);
	activate("GPU memory usage");
	catalog_start();
	check(counter("GPU memory usage")->value > 536870912 && counter("GPU memory usage")->max == INT64_MAX,
	      "GPU memory usage of an APU has no maximum: an APU can use more than its carve-out");
}

static void t_amdgpu(void)
{
	const struct named *n;
	u32 was;

	tree("amdgpu");
	catalog_refresh(ALL_PROVIDERS);
	was = open_files();
	activate_all(PROVIDER_GPU, PROVIDER_GPU);
	check(open_files() == was, "activating GPU counters opens no file");
	catalog_start();
	check(open_files() > was, "starting to sample opens files");
	is(counter("GPU 0 utilization"), true, 0, "a share is 0 at the start");
	is(counter("drm/card0/edge/temp"), true, 52000, "temperatures are in 1/1000 C");
	is(counter("drm/card0/PPT/power"), true, 112000000, "power is in uW");
	is(counter("drm/card0/vram/used"), true, 3221225472, "memory is in bytes");
	pass(12);
	catalog_sample();
	is(counter("GPU 0 utilization"), true, 37, "after the start a share is the driver's value");
	is(counter("Graphic driver utilization"), true, 37,
	   "with one GPU the driver utilization is that GPU's utilization");
	n = counter("GPU memory usage");
	check(n->value == 3221225472 && n->max == counter("drm/card0/vram/size")->value,
	      "memory usage is the driver's value, and its maximum is the device's size");
	while (catalog.nactive)
		catalog_deactivate(catalog.named[0].active_index);
	check(open_files() == was, "inactive counters keep no file open");
	catalog_sample();
	check(open_files() == was, "sampling opens no file for inactive counters");
}

static void t_asleep(void)
{
	tree("xe-suspended");
	catalog_refresh(ALL_PROVIDERS);
	activate_all(PROVIDER_HOST, PROVIDER_HWMON);
	catalog_start();
	pass(12);
	catalog_sample();
	is(counter("GPU 0 utilization"), false, 0, "the utilization of a suspended GPU is unknown");
	for (u32 i = 0; i < nnamed; i++)
		if (glob_match(S("drm/*/temp"), str_z(name_of(i)), NULL))
			is(catalog_at(i), false, 0, name_of(i));
}

/* --- perf events and OA sets ------------------------------------------------------------------ */

static void event_is(const char *name, const char *list, const char *unit)
{
	u32 i;
	bool there = catalog_find(str_z(name), &i);

	check(there && text_eq(eventlist.slots[catalog_at(i)->at].events, str_z(list)) && strcmp(catalog_at(i)->unit, unit) == 0 &&
	      strcmp(catalog_at(i)->vendor, "linux") == 0 && catalog_at(i)->rule == R_COUNT, "%s is %s", name, list);
}

static void t_events(void)
{
	u32 had, i;

	root("tests/trees/host/proc", "tests/pmus/intel");
	catalog_refresh(ALL_PROVIDERS);
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
	check_u64(had, 0, "events with parameters, aliases and virtual events are not listed");
	had = nnamed;
	catalog_refresh(ALL_PROVIDERS);
	check_u64(nnamed, had, "each event is listed once");
	activate("perf/cpu/all/cycles");
	activate("perf/uncore_imc_0/all/cas_count_read");
}

/* Merges the result of an event on one more CPU into the result so far. */
static void t_merged(void)
{
	static const struct {
		long so_far, one, result;
	} rows[] = {
		{ 0, 0, 0 }, { 0, -ENODEV, 0 }, { 0, -ENOENT, 0 }, { 0, -EOPNOTSUPP, 0 }, { 0, -EINVAL, 0 },
		{ 0, -EMFILE, -EMFILE }, { 0, -EACCES, -EACCES }, { -ENOENT, 0, 0 },
		{ -ENOENT, -ENODEV, -ENODEV }, { -ENOENT, -EACCES, -EACCES },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check(result_merge(rows[i].so_far, rows[i].one) == rows[i].result,
		      "an event on one more CPU: %ld and %ld", rows[i].so_far, rows[i].one);
}

static void t_scaled(void)
{
	const struct cpu_event plain = { .scale = 0 }, mib = { .scale = UINT64_C(6103515625), .point = 14 };
	const struct cpu_event joules = { .scale = UINT64_C(2328306436538696289), .point = 28, .micro = true };
	const struct cpu_event whole_joules = { .scale = 2, .micro = true }, tiny = { .scale = 1, .point = 255 };

	check_u64(scaled(&plain, 12345), 12345, "a count without a scale is unchanged");
	check_u64(scaled(&mib, UINT64_C(1) << 20), 64, "cache lines are converted to MiB");
	check_u64(scaled(&joules, UINT64_C(1) << 32), 1000000,
	          "2^32 units of 2^-32 J are 1000000 uJ");
	check_u64(scaled(&joules, 5), 0, "less than 1 uJ is 0");
	check_u64(scaled(&joules, UINT64_MAX), UINT64_C(4294967296000000),
	          "the largest count is converted without overflow");
	check_u64(scaled(&whole_joules, 3), 6000000, "a scale without decimal digits");
	check_u64(scaled(&tiny, UINT64_MAX), 0, "a scale with 255 decimal digits");
}

static void t_oa(void)
{
	tree("i915");
	catalog_refresh(ALL_PROVIDERS);
	check(counter("oa/card0/Basic/GpuBusy")->rule == R_PERCENT && counter("oa/card0/Basic/GpuBusy")->max == 100 &&
	      counter("oa/card0/Basic/GpuTime")->rule == R_COUNT && counter("oa/card0/Basic/AvgGpuCoreFrequency")->rule == R_LEVEL,
	      "metric sets that fit the GPU are listed without opening the GPU");
	check(strcmp(counter("oa/card0/Basic/GpuTime")->vendor, "i915") == 0,
	      "the vendor of an OA counter is the driver");
}

/* --- devices and files that appear and disappear ---------------------------------------------- */

/* Runs a shell command; each @ stands for the temporary directory. */
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
	char proc[128], sys[128];
	u32 had, gpu;

	shell("cp -a tests/trees/amdgpu/proc tests/trees/amdgpu/sys @/ && mv @/sys/class/drm @/sys/class/off");
	snprintf(proc, sizeof(proc), "%s/proc", tmp);
	snprintf(sys, sizeof(sys), "%s/sys", tmp);
	/* no processes, because their fdinfo would reveal the device */
	shell("rm -rf @/proc/[1-9]*");
	root(proc, sys);
	catalog_refresh(ALL_PROVIDERS);
	had = nnamed;
	gpu = index_of("GPU 0 utilization");
	check(strcmp(catalog_at(gpu)->vendor, "linux") == 0,
	      "without a GPU the vendor of the GPU 0 counter is linux");
	check(catalog_refresh(ALL_PROVIDERS) == 0 && nnamed == had,
	      "a refresh without a new device adds nothing");
	activate("GPU 0 utilization");
	catalog_start();
	is(catalog_at(gpu), false, 0, "without a GPU the utilization is unknown");
	shell("mv @/sys/class/off @/sys/class/drm");
	check(catalog_refresh(ALL_PROVIDERS) == 0 && nnamed > had && index_of("drm/card0/-/busy") >= had,
	      "the counters of a new device are appended");
	check(index_of("GPU 0 utilization") == gpu, "counters that were listed keep their place");
	had = nnamed;
	pass(12);
	catalog_sample();
	pass(12);
	catalog_sample();
	is(catalog_at(gpu), true, 37, "the new device is GPU 0");
	shell("mv @/sys/class/drm @/sys/class/off");
	pass(12);
	catalog_sample();
	is(catalog_at(gpu), false, 0, "a device that was removed is unknown");
	shell("mv @/sys/class/off @/sys/class/drm");
	catalog_refresh(ALL_PROVIDERS);
	pass(12);
	catalog_sample();
	pass(12);
	catalog_sample();
	check(nnamed == had, "a device that comes back adds no new counters");
	is(catalog_at(gpu), true, 37, "a device that comes back is known again");
}

/* More devices than the table has rows, one half of them after the other. */
static void t_devices_come_and_go(void)
{
	char proc[128], sys[128];
	u32 dropped = registry.dropped;

	shell("mkdir -p @/h/sys/class/drm @/h/proc");
	snprintf(proc, sizeof(proc), "%s/h/proc", tmp);
	snprintf(sys, sizeof(sys), "%s/h/sys", tmp);
	root(proc, sys);
	shell("cd @/h/sys/class/drm && for i in $(seq 1000 1299); do mkdir card$i; done");
	catalog_refresh(ALL_PROVIDERS);
	check(catalog_has(S("linux"), S("drm/card1299/-/clients")) && registry.dropped == dropped,
	      "300 devices are listed");
	shell("cd @/h/sys/class/drm && rmdir card1??? && for i in $(seq 2000 2299); do mkdir card$i; done");
	catalog_refresh(ALL_PROVIDERS);
	catalog_refresh(ALL_PROVIDERS);
	catalog_refresh(ALL_PROVIDERS);
	check(catalog_has(S("linux"), S("drm/card2000/-/clients")),
	      "300 other devices replace them, and the first is listed");
	check(!catalog_has(S("linux"), S("drm/card2299/-/clients")) && registry.dropped > dropped,
	      "the last one does not fit, and is counted as dropped");
}

/* A device exists only between two refreshes of the list, before the other devices. */
static void t_oa_comes(void)
{
	char proc[128], sys[128];

	shell("mkdir @/o @/o/proc && cp -a tests/trees/i915/sys @/o/ && mv @/o/sys/class/drm @/o/sys/class/off");
	snprintf(proc, sizeof(proc), "%s/o/proc", tmp);
	snprintf(sys, sizeof(sys), "%s/o/sys", tmp);
	root(proc, sys);
	catalog_refresh(ALL_PROVIDERS);
	activate("Graphic driver utilization");
	catalog_start();
	shell("mkdir -p @/o/sys/class/drm/card7");
	pass(12);
	catalog_sample();
	check(gpu_device(0) && strcmp(gpu_device(0)->dev, "card7") == 0,
	      "a reading finds the new device and makes it GPU 0");
	shell("rm -r @/o/sys/class/drm && mv @/o/sys/class/off @/o/sys/class/drm");
	pass(12);
	catalog_sample();
	catalog_refresh(ALL_PROVIDERS);
	check(!gpu_device(0) && catalog_has(S("i915"), S("oa/card0/Basic/GpuBusy")),
	      "when GPU 0 is removed, the counters of later devices are still listed");
}

/* Checks the event that is opened for the frames of a GPU. list: its name; "": none. */
static void frames_are(const char *name, const char *list)
{
	u32 had = eventlist.nslots;

	activate(name);
	check(*list ? eventlist.nslots == had + 1 && text_eq(eventlist.slots[had].events, str_z(list)) : eventlist.nslots == had,
	      "%s: %s", name,
	      *list ? list : "no event counts it");
	catalog_sample();
	is(counter(name), false, 0, name);
	catalog_deactivate(index_of(name));
}

static void t_frames(void)
{
	char proc[128], sys[128];

	shell("mkdir @/f && cp -a tests/trees/mixed/proc tests/trees/mixed/sys @/f/ && rm -rf @/f/sys/class/drm/*-*-*");
	shell("mkdir @/f/sys/class/drm/card1-DP-1");
	snprintf(proc, sizeof(proc), "%s/f/proc", tmp);
	snprintf(sys, sizeof(sys), "%s/f/sys", tmp);
	root(proc, sys);
	catalog_refresh(ALL_PROVIDERS);
	catalog_start();
	frames_are("GPU 0 frames / sec", ""); /* card0 has no display */
	shell("mkdir @/f/sys/class/drm/card0-eDP-1");
	frames_are("GPU 0 frames / sec", "i915:intel_pipe_update_end");
	/* a vblank event does not say which display it belongs to */
	frames_are("GPU 1 frames / sec", "");
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
	char path[128];
	u32 had, frames;

	tree("host");
	shell("mkdir -p @/c && mkfifo @/c/fifo && mkdir @/c/folder && ln -s /etc/passwd @/c/link");
	snprintf(path, sizeof(path), "%s/c", tmp);
	setenv("GPUSTAT_COUNTERS", path, 1);
	put_file("game", "frames shown 60 1/s\nframes shown 61 1/s\nscore -5\nx y\nbad\x01name 4 u\n7 8\n\nlate -1 mC\n"
		 "wide 1 a_unit_of_more_than_thirty_two_bytes\ncut 4");
	put_file(".hidden", "hidden 1 u\n");
	put_file("other", "score 9 points\nbig 99999999999999999999 u\nlast 3 u");
	catalog_refresh(ALL_PROVIDERS);
	frames = index_of("frames shown");
	check(strcmp(catalog_at(frames)->vendor, "game") == 0 && strcmp(catalog_at(frames)->unit, "1/s") == 0,
	      "a counter name can contain spaces, and the vendor is the file name");
	check(catalog_at(nnamed - 1)->provider == PROVIDER_FILE && catalog_at(nnamed - 6)->provider == PROVIDER_FILE &&
	      catalog_at(nnamed - 7)->provider != PROVIDER_FILE, "six lines are valid");
	check(catalog_has(S("game"), S("score")) && catalog_has(S("other"), S("score")),
	      "two vendors can have a counter with the same name");
	check(!catalog_has(S(".hidden"), S("hidden")),
	      "a file whose name begins with a dot is ignored");
	check(!catalog_has(S("game"), S("cut")),
	      "a line that ends in its value can be incomplete, and is ignored");
	check(catalog_has(S("other"), S("last")), "a line that ends in its unit is complete");
	activate("frames shown");
	activate("late");
	catalog_start();
	is(catalog_at(frames), true, 60, "the first of two lines with the same name is used");
	is(counter("late"), true, 0, "-1 becomes 0");
	put_file("game", "frames shown 17 1/s\nnew 1 u\n");
	catalog_sample();
	is(catalog_at(frames), true, 17, "each sample reads the file again");
	is(counter("late"), false, 0, "a counter whose line was removed is unknown");
	had = nnamed;
	catalog_refresh(ALL_PROVIDERS);
	check(nnamed == had + 1 && strcmp(name_of(had), "new") == 0, "a new line is appended");
	shell("rm @/c/game");
	catalog_sample();
	is(catalog_at(frames), false, 0, "the counters of a file that was removed are unknown");
	shell("ln -s other @/c/game");
	catalog_sample();
	is(catalog_at(frames), false, 0, "a symbolic link is not followed");
	shell("rm @/c/game && mkfifo @/c/game");
	catalog_sample();
	is(catalog_at(frames), false, 0, "a named pipe is not read");
	shell("rm @/c/game && head -c 70000 /dev/zero | tr '\\0' '\\n' >@/c/game");
	catalog_sample();
	is(catalog_at(frames), false, 0, "a file that is too large is not read");
	shell("rm @/c/game");
	put_file("game", "frames shown 0 1/s\n");
	catalog_sample();
	is(catalog_at(frames), true, 0, "a file that comes back is known again, and 0");
	had = nnamed;
	shell("head -c 60000 /dev/urandom >@/c/noise");
	catalog_refresh(ALL_PROVIDERS);
	for (u32 i = had; i < nnamed; i++)
		if (!is_clean(str_z(catalog_at(i)->name), false) || !is_clean(str_z(catalog_at(i)->what), false))
			check(false,
			      "random bytes make an invalid name: "
			      "%s", show(str_z(catalog_at(i)->name)));
	catalog_stop();
	put_file("game", "frames shown 5 1/s\n");
	catalog_sample();
	is(catalog_at(frames), true, 0, "after stop a counter keeps its value");
	catalog_start();
	is(catalog_at(frames), true, 5, "after the next start a counter is read again");
	catalog_deactivate(frames);
	is(catalog_at(frames), false, 0, "an inactive counter is unknown");
}

/* --- providers that refuse to open ------------------------------------------------------------ */

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
	static const struct provider fake = { .open = refuse, .close = count_close, .read = no_read };
	const u32 all[] = { 0, 1, 2 }, perm[] = { 3 }, good[] = { 0, 4, 0, 1 }, recommended[] = { 5, 1 };

	providers[PROVIDER_FILE] = &fake;
	for (u32 i = 0; i < 5; i++) {
		char name[] = { (char)('a' + i), '\0' };

		catalog_add(PROVIDER_FILE, i, &(struct counter_info){ .vendor = S("v"), .name = str_z(name), .rule = R_LEVEL });
	}
	check(catalog_activate(all, 3) == -EACCES, "a refused open is an error");
	check(catalog.nactive == 0 && opens == 3 && closes == 3 && !catalog.named[0].active && !catalog.named[1].active && !catalog.named[2].active,
	      "after a refused open no counter is active");
	check(catalog_activate(perm, 1) == -EACCES, "EPERM is a refusal too");
	check(catalog_activate(good, 4) == 0 && catalog.nactive == 3,
	      "ENOENT is not a refusal; a counter that is named twice is active once");
	check(catalog_activate(all, 3) == -EACCES && catalog.nactive == 3 && catalog.named[0].active && catalog.named[1].active,
	      "counters that were active before a refusal stay active");
	catalog_start();
	is(&catalog.named[0], true, 7, "a counter that can be read is known");
	is(&catalog.named[4], false, 0, "a counter that cannot be read is unknown");
	catalog_deactivate(0);
	catalog_deactivate(0);
	check(catalog.nactive == 2 && closes == 6 && catalog.named[1].active && catalog.named[4].active,
	      "deactivating a counter twice has no further effect");
	catalog.recommends = true;
	catalog_add(PROVIDER_FILE, 2, &(struct counter_info){ .vendor = S("v"), .name = S("recommended"), .rule = R_LEVEL });
	check(catalog_activate(recommended, 2) == 0 && catalog.named[5].active && catalog.named[5].refused && !catalog.named[1].refused,
	      "a recommended counter that is refused becomes active, and says so");
}

/* --- limits ----------------------------------------------------------------------------------- */

static void t_limits(void)
{
	char name[32], text[3 * TEXT_BYTES];
	u32 dropped = registry.dropped;

	memset(text, 'w', sizeof(text));
	catalog_add(PROVIDER_FILE, 0, &(struct counter_info){ .vendor = S("v"), .name = S("long"), .what = { text, text + sizeof(text) },
						    .unit = S("u") });
	check(nnamed == 1 && strlen(catalog.named[0].what) < TEXT_BYTES && strcmp(catalog.named[0].what + strlen(catalog.named[0].what) - 4, " (u)") == 0,
	      "a long description is cut, but its unit is not");
	for (u32 i = 1; i < MAX_NAMED + 10; i++) {
		snprintf(name, sizeof(name), "counter %u", i);
		catalog_add(PROVIDER_FILE, i, &(struct counter_info){ .vendor = S("v"), .name = str_z(name), .what = S("what"), .unit = S("u") });
	}
	check(nnamed == MAX_NAMED && registry.dropped == dropped + 10,
	      "counters that do not fit are counted as dropped");
	check(strcmp(name_of(MAX_NAMED - 1), "counter 16383") == 0,
	      "the last counter in the list is the last one that fitted");
	catalog_add(PROVIDER_FILE, 0, &(struct counter_info){ .vendor = S("v"), .name = S("counter 5") });
	check(registry.dropped == dropped + 10,
	      "a counter that is already listed is not counted as dropped");
	check(counter("counter 12345")->at == 12345, "each counter is found by name");
	catalog.texts_used = ALL_TEXT - 3;
	nnamed--;
	catalog_add(PROVIDER_FILE, 0, &(struct counter_info){ .vendor = S("v"), .name = S("new"), .what = S("what"), .unit = S("u") });
	check(nnamed == MAX_NAMED - 1 && registry.dropped == dropped + 11,
	      "a counter whose texts do not fit is not listed");
}

/* A long-lived program sees PMU numbers change: the driver sets them, and it can be loaded
 * again. */
static void t_numbers(void)
{
	struct gp_event e[2];
	struct perf_event_attr *a = (struct perf_event_attr *)(void *)e[0].attr;
	struct buf why = { .cap = 0 };
	char sys[128];

	shell("mkdir -p @/pmus/bus/event_source/devices; cd @/pmus/bus/event_source/devices; mkdir -p xe_a/format un_0 un_1/format cpu_p cpu_e;"
	      " echo 41 >xe_a/type; echo 50 >un_0/type; echo 51 >un_1/type; echo 4 >cpu_p/type; echo 0 >cpu_p/cpus; echo 1 >cpu_e/cpus;"
	      " echo config:0-3 >xe_a/format/event; echo config:0-3 >un_1/format/event");
	snprintf(sys, sizeof(sys), "%s/pmus", tmp);
	root("tests/trees/host/proc", sys);
	check(events_attr(S("xe_a/event=3/"), e, 2, &why) == 1 && a->type == 41,
	      "an event gets its PMU's type number");
	shell("echo 42 >@/pmus/bus/event_source/devices/xe_a/type");
	check(events_attr(S("xe_a/event=3/"), e, 2, &why) == 1 && a->type == 42,
	      "after the driver is loaded again the PMU has a new type number");
	check(events_attr(S("un/event=16/"), e, 2, &why) == -EINVAL,
	      "a value too large for one PMU's field is invalid, whatever field another PMU lacks");
	check(events_attr(S("r1"), e, 2, &why) == -ENOENT,
	      "a raw event needs the type number of every kind of CPU");
	shell("echo 5 >@/pmus/bus/event_source/devices/cpu_e/type");
	check(events_attr(S("r1"), e, 2, &why) == 2 && a->type == 5,
	      "a raw event is opened once for each kind of CPU");
	check(gp_parse("xe_b/config=7/", e, 2, NULL, 0) == -ENOENT,
	      "a PMU that does not exist is not found");
	shell("cd @/pmus/bus/event_source/devices; mkdir xe_b; echo 43 >xe_b/type");
	check(gp_parse("xe_b/config=7/", e, 2, NULL, 0) == 1 && a->type == 43,
	      "a PMU is found after its driver was loaded");
	check(gp_parse("r1", e, 2, NULL, 0) == 2,
	      "a raw event still has one entry for each kind of CPU");
}

/* The kernel drops the events of a CPU that goes offline. When the machine sleeps, all CPUs but one
 * go offline. The time of a dropped event stands still, as that of a disabled event does. */
static void t_dropped(void)
{
	static const char name[] = "perf/software/all/cpu-clock";
	i64 was;

	root("/proc", "/sys");
	catalog_refresh(ALL_PROVIDERS);
	activate(name);
	catalog_start();
	pass(20);
	catalog_sample();
	if (!counter(name)->known) {
		for (int i = 0; i < 5; i++) /* the checks below */
			check(true, "dropped events # SKIP this machine does not allow counting");
		return;
	}
	was = counter(name)->value;
	check(was > 15 * MS, "events count");
	for (u32 i = 1; i <= eventlist.ncpu_events; i++)
		gp_disable(eventlist.cpu_events[i].fd);
	pass(20);
	catalog_sample(); /* until here the events counted a little */
	pass(20);
	catalog_sample();
	is(counter(name), false, 0, "an event that the kernel has dropped is unknown");
	pass(20);
	catalog_sample();
	check(counter(name)->known && counter(name)->value > was + 15 * MS,
	      "a dropped event is opened again, and its previous count is kept");
	was = counter(name)->value;
	catalog_sample();
	check(counter(name)->known && counter(name)->value >= was,
	      "two readings without time between them are not taken for a dropped event");
	check_u64(eventlist.slots[counter(name)->at].opened, 1, "the event was opened again once");
}

int main(void)
{
	static void (*const machines[])(void) = {
		t_no_gpu, t_texts, t_two_gpus, t_display, t_lima, t_apu, t_amdgpu, t_asleep, t_events, t_oa,
		t_device_comes, t_devices_come_and_go, t_oa_comes, t_frames, t_supplied, t_refusal, t_limits, t_numbers, t_dropped,
	};

	if (!mkdtemp(temporary_name(tmp, sizeof(tmp), "t_catalog")))
		return 1;
	unsetenv("GPUSTAT_COUNTERS");
	t_levels();
	t_counts();
	t_rates();
	t_shares();
	t_percents();
	t_merged();
	t_scaled();
	for (size_t i = 0; i < LEN(machines); i++)
		apart(machines[i]);
	shell("rm -rf @");
	return unit_end();
}
