/* khr.c - tests KD_KHR_perfcounter sentence by sentence, and the additions of KD/KHR_perfcounter.h.
 * Prints TAP. A black-box test: it includes the header, links libgpustat.a and works with the
 * hardware of this machine. SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* sched_setaffinity, setgroups, madvise */
#include <KD/KHR_perfcounter.h>

#include <dirent.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LEN(a) (int)(sizeof(a) / sizeof(*(a)))
#define UNKNOWN KD_UNKNOWN_COUNTER_VAL_KHR

enum {
	NOBODY = 65534,
	PATIENCE = 240, /* s: afterwards the test counts as hung */
	TRIES = 40,     /* for delays on a busy machine that exceed a clock tick */
	THREADS = 8,
	MANY = 20000
};

/* --- TAP -------------------------------------------------------------------------------------- */

static int ran, failed;

static int ok(int cond, const char *name)
{
	printf("%sok %d - %s\n", cond ? "" : "not ", ++ran, name);
	fflush(stdout);
	failed += !cond;
	return cond;
}

static void skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++ran, name, why);
	fflush(stdout);
}

/* As ok(), for a test in a child process: status 0 is passed, 77 is skipped. */
static void ok_child(int (*test)(void), const char *name, const char *why)
{
	int status = -1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(test());
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		skip(name, why);
	else if (!ok(status == 0, name))
		printf("# wait status %d\n", status);
}

/* --- helpers ---------------------------------------------------------------------------------- */

static int is_error(KDint got, KDint error)
{
	KDint had = kdGetError();

	kdSetError(0);
	return got == -1 && had == error;
}

/* The index of a counter; -1: not found. */
static KDint find(const char *vendor, const char *name)
{
	KDint n = kdGetNumberOfCountersKHR(), i;

	for (i = 0; i < n; i++) {
		const KDCounterInfoKHR *c = kdGetCounterInformationKHR(i);

		if (c && strcmp(c->name, name) == 0 && (!vendor || strcmp(c->vendorName, vendor) == 0))
			return i;
	}
	return -1;
}

static KDint64 value_of(KDint i)
{
	KDint64 v = -77;

	return kdGetCounterValuesKHR(&i, 1, &v) == 0 ? v : -77;
}

static int activate(KDint i)
{
	return kdActivateCountersKHR(&i, 1);
}

static int deactivate(KDint i)
{
	return kdDeactivateCountersKHR(&i, 1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Keeps the pinned CPU busy. */
static void burn(double seconds)
{
	double end = now() + seconds;
	volatile unsigned x = 0;

	while (now() < end)
		x++;
}

static int open_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	if (!d)
		return -1;
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int exists(const char *path)
{
	return access(path, F_OK) == 0;
}

/* --- section 3: names ------------------------------------------------------------------------- */

struct name {
	const char *text; /* %d: the number of the CPU */
	const char *unit;
	int gpu, share;
};

static const struct name of_cpu[] = {
	{ "CPU %d utilization", "(%)", 0, 1 },
	{ "CPU %d user mode utilization", "(%)", 0, 1 },
	{ "CPU %d kernel mode utilization", "(%)", 0, 1 },
}, of_gpu[] = {
	{ "GPU %d utilization", "(%)", 1, 1 },
	{ "GPU %d vertex processors utilization", "(%)", 1, 1 },
	{ "GPU %d fragment processors utilization", "(%)", 1, 1 },
}, of_all[] = {
	{ "Physical memory usage", "(bytes)", 0, 0 },
	{ "Virtual memory usage", "(bytes)", 0, 0 },
	{ "Cache pages fault / sec", "(1/s)", 0, 0 },
	{ "File read bytes / sec", "(bytes/s)", 0, 0 },
	{ "File write bytes / sec", "(bytes/s)", 0, 0 },
	{ "I/O read bytes / sec", "(bytes/s)", 0, 0 },
	{ "I/O write bytes / sec", "(bytes/s)", 0, 0 },
	{ "Processes amount", "", 0, 0 },
	{ "Threads amount", "", 0, 0 },
	{ "Context switched / sec", "(1/s)", 0, 0 },
	{ "Graphic driver utilization", "(%)", 1, 1 },
	{ "GPU memory usage", "(bytes)", 1, 0 },
	{ "Primitive count", "", 1, 0 },
	{ "Culled primitive count", "", 1, 0 },
};

static char dir[64]; /* folder of counter files; "": none */
static int has_gpu;
static int cpus[4096], ncpus; /* from /proc/stat */
static int pinned = -1;       /* the CPU of this test */
static KDint busy, memory, switches;

static void find_cpus(void)
{
	FILE *f = fopen("/proc/stat", "r");
	char line[4096];

	while (f && fgets(line, sizeof(line), f))
		if (line[3] != ' ' && sscanf(line, "cpu%d ", &cpus[ncpus]) == 1 && ncpus < LEN(cpus) - 1)
			ncpus++;
	if (f)
		fclose(f);
}

static cpu_set_t allowed;

static void pin(void)
{
	cpu_set_t set;
	int i;

	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	for (i = 0; i < CPU_SETSIZE && !CPU_ISSET(i, &allowed); i++)
		;
	CPU_ZERO(&set);
	CPU_SET(i, &set);
	if (sched_setaffinity(0, sizeof(set), &set) == 0)
		pinned = i;
}

static int ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);

	return n >= k && strcmp(s + n - k, end) == 0;
}

/* Returns whether the counter of the row is listed, with its unit and the limits for that unit. */
static int is_listed(const struct name *row, int x)
{
	char name[128];
	const KDCounterInfoKHR *c;

	snprintf(name, sizeof(name), row->text, x);
	c = kdGetCounterInformationKHR(find(NULL, name));
	if (!c || !ends_with(c->description, row->unit))
		printf("# %s\n", name);
	if (!c || !ends_with(c->description, row->unit))
		return 0;
	return !row->share || (c->minValue == 0 && c->maxValue == 100 && c->defaultScale == 1.0f);
}

static void test_names(void)
{
	char test[160];
	int i, k, all;

	for (k = 0; k < LEN(of_cpu); k++) {
		for (all = ncpus > 0, i = 0; i < ncpus; i++)
			all &= is_listed(&of_cpu[k], cpus[i]);
		snprintf(test, sizeof(test), "3.1: \"%s\" for every CPU X: whole percent, scale 1", of_cpu[k].text);
		ok(all, test);
	}
	for (k = 0; k < LEN(of_gpu); k++) {
		snprintf(test, sizeof(test), "3.5: \"%s\" for every GPU X: whole percent, scale 1", of_gpu[k].text);
		if (has_gpu || find(NULL, "GPU 0 utilization") >= 0)
			ok(is_listed(&of_gpu[k], 0), test);
		else
			skip(test, "no GPU");
	}
	for (k = 0; k < LEN(of_all); k++) {
		snprintf(test, sizeof(test), "3.2-3.5: \"%s\" is listed, with its unit%s", of_all[k].text,
			 of_all[k].gpu ? ", on every machine" : "");
		ok(is_listed(&of_all[k], 0), test);
	}
}

/* --- sections 4 and 5 ------------------------------------------------------------------------- */

static int is_recommended(const char *name)
{
	int k;

	if (strncmp(name, "GPU ", 4) == 0 || strncmp(name, "CPU ", 4) == 0)
		return 1;
	for (k = 0; k < LEN(of_all); k++)
		if (strcmp(name, of_all[k].text) == 0)
			return 1;
	return 0;
}

static int is_native(const char *name)
{
	int n = 0;

	for (; *name; name++)
		n += *name == '/';
	return n >= 3;
}

static void test_info(void)
{
	KDint n = kdGetNumberOfCountersKHR(), i;
	int vendors = 1, names = 1, texts = 1, limits = 1, scales = 1, spelled = 1, whole = n > 0;

	for (i = 0; i < n; i++) {
		const KDCounterInfoKHR *c = kdGetCounterInformationKHR(i);
		int endless = c && c->maxValue == KD_INFINITE_COUNTER_VAL_KHR;

		whole &= c != KD_NULL;
		if (!c)
			continue;
		vendors &= c->vendorName && *c->vendorName;
		names &= c->name && *c->name;
		texts &= c->description && strlen(c->description) > 1;
		limits &= c->minValue <= c->maxValue;
		scales &= endless ? c->defaultScale == (KDfloat32)UNKNOWN :
			  c->defaultScale == (KDfloat32)UNKNOWN ||
			  (c->defaultScale >= 0 && (double)c->defaultScale * (double)c->maxValue <= 100.001);
		spelled &= is_recommended(c->name) || is_native(c->name) || strcmp(c->vendorName, "farm") == 0;
	}
	ok(whole, "6.2: indices are 0-based: 0 to the number less 1 have information");
	ok(vendors, "5.1: every counter has a vendor name");
	ok(names, "5.1: every counter has a name");
	ok(texts, "5.1: every counter has a description");
	ok(limits, "5.1: no minimum is above the maximum");
	ok(scales, "5.1: the scale converts the value to 0..100, or is unknown; it is unknown without a limit");
	ok(spelled, "3: all other counters are named source/device/instance/quantity");
}

static void test_constants(void)
{
	ok(KD_KHR_perfcounter == 1, "2: only the header has to be included, and it defines KD_KHR_perfcounter");
	ok(KD_INFINITE_COUNTER_VAL_KHR == KDINT64_MAX && KDINT64_MAX == 0x7fffffffffffffff,
	   "4: an infinite value is KDINT64_MAX");
	ok(KD_UNKNOWN_COUNTER_VAL_KHR == -1, "4: an unknown value is -1");
	ok(sizeof(KDint) >= 4 && sizeof(KDint64) == 8 && sizeof(KDuint64) == 8 && sizeof(KDfloat32) == 4,
	   "5: types have the sizes that OpenKODE defines");
}

/* --- section 6 -------------------------------------------------------------------------------- */

/* Runs in a process without earlier calls: no function requires another one to be called first. */
static int child_uninitialised(void)
{
	KDint i = 0;

	return !(kdGetError() == 0 && kdGetCounterInformationKHR(0) && kdActivateCountersKHR(&i, 1) == 0 &&
		 kdStartSamplingKHR() == 0 && value_of(0) >= UNKNOWN);
}

static int child_rootless(void)
{
	if (geteuid() != 0 || !*dir || chroot(dir) || chdir("/"))
		return 77;
	return !is_error(kdGetNumberOfCountersKHR(), KD_EACCES);
}

static void test_listing(void)
{
	KDint n = kdGetNumberOfCountersKHR(), bad[] = { 0, -1, -2, KDINT_MIN, KDINT_MAX }, i;
	const KDCounterInfoKHR *c = kdGetCounterInformationKHR(0);
	char name[256];
	int refused = 1;

	snprintf(name, sizeof(name), "%s", c ? c->name : "");
	ok(n >= LEN(of_all), "6.1: the number of counters is at least that of the recommended ones");
	ok(kdGetNumberOfCountersKHR() >= n && kdGetCounterInformationKHR(0) == c && c && strcmp(c->name, name) == 0,
	   "6.1: counters keep their indices and texts when they are listed again");
	bad[0] = kdGetNumberOfCountersKHR();
	for (i = 0; i < LEN(bad); i++)
		refused &= kdGetCounterInformationKHR(bad[i]) == KD_NULL && is_error(-1, KD_EINVAL);
	ok(refused, "6.2: KD_NULL and KD_EINVAL for the number itself, -1, -2, KDINT_MIN, KDINT_MAX");
}

/* Calls one of the functions that take a list of indexes. */
static KDint call(int which, const KDint *is, KDint n, KDint64 *values)
{
	return which == 0 ? kdActivateCountersKHR(is, n) : which == 1 ? kdDeactivateCountersKHR(is, n) :
	       kdGetCounterValuesKHR(is, n, values);
}

static void test_bad_lists(void)
{
	static const char *const names[] = { "6.3 kdActivateCountersKHR", "6.4 kdDeactivateCountersKHR",
					     "6.7 kdGetCounterValuesKHR" };
	KDint n = kdGetNumberOfCountersKHR(), bad[] = { 0, -1, KDINT_MIN, KDINT_MAX }, list[3], which, i;
	KDint64 values[3];
	char test[160];
	int refused, untouched;

	bad[0] = n;
	for (which = 0; which < LEN(names); which++) {
		for (refused = untouched = 1, i = 0; i < LEN(bad); i++) {
			list[0] = memory;
			list[1] = bad[i];
			list[2] = switches;
			values[0] = values[1] = values[2] = -77;
			refused &= is_error(call(which, list, 3, values), KD_EINVAL);
			untouched &= values[0] == -77 && values[1] == -77 && values[2] == -77;
		}
		snprintf(test, sizeof(test), "%s: KD_EINVAL for a bad index in the middle", names[which]);
		ok(refused && untouched, test);
		snprintf(test, sizeof(test), "%s: KD_EINVAL for a negative count", names[which]);
		list[1] = memory;
		ok(is_error(call(which, list, -1, values), KD_EINVAL) &&
		   is_error(call(which, list, KDINT_MIN, values), KD_EINVAL), test);
		snprintf(test, sizeof(test), "%s: KD_EINVAL without an array", names[which]);
		ok(is_error(call(which, KD_NULL, 1, values), KD_EINVAL), test);
		snprintf(test, sizeof(test), "%s: KD_EINVAL for KDINT_MAX indexes of which the first is bad", names[which]);
		list[0] = -1;
		ok(is_error(call(which, list, KDINT_MAX, values), KD_EINVAL), test);
		list[0] = memory;
		snprintf(test, sizeof(test), "%s: KD_EINVAL for KDINT_MAX indexes of which the first is good", names[which]);
		ok(is_error(call(which, list, KDINT_MAX, values), KD_EINVAL), test);
		snprintf(test, sizeof(test), "%s: an empty list of indexes is not an error", names[which]);
		ok(call(which, list, 0, values) == 0, test);
	}
	ok(is_error(kdGetCounterValuesKHR(list, 1, KD_NULL), KD_EINVAL), "6.7: KD_EINVAL without an array for the values");
	ok(values[0] == -77 && values[2] == -77, "6.7: a failed call leaves the values unchanged");
}

static void test_activation(void)
{
	KDint two[2], bad[3];

	two[0] = memory;
	two[1] = switches;
	bad[0] = memory;
	bad[1] = -1;
	bad[2] = switches;
	ok(value_of(memory) == UNKNOWN, "6.7: an inactive counter is unknown");
	ok(kdStartSamplingKHR() == 0, "6.5: sampling can be started without an active counter");
	ok(value_of(memory) == UNKNOWN, "6.7: an inactive counter is unknown while sampling is on");
	ok(is_error(kdActivateCountersKHR(bad, 3), KD_EINVAL) && value_of(memory) == UNKNOWN &&
	   value_of(switches) == UNKNOWN, "6.3: no counter is activated if one index is bad");
	ok(kdActivateCountersKHR(two, 1) == 0 && value_of(memory) > 0 && value_of(switches) == UNKNOWN,
	   "6.3: only the first numindexes counters become active");
	ok(kdActivateCountersKHR(two, 2) == 0 && value_of(memory) > 0 && value_of(switches) >= 0,
	   "6.3: an active counter stays active");
	ok(is_error(kdDeactivateCountersKHR(bad, 3), KD_EINVAL) && value_of(memory) > 0 && value_of(switches) >= 0,
	   "6.4: no counter is deactivated if one index is bad");
	ok(kdDeactivateCountersKHR(two, 1) == 0 && value_of(memory) == UNKNOWN && value_of(switches) >= 0,
	   "6.4: only the first numindexes counters become inactive");
	ok(kdDeactivateCountersKHR(two, 2) == 0 && value_of(switches) == UNKNOWN, "6.4: an inactive counter stays inactive");
	two[1] = memory;
	ok(kdActivateCountersKHR(two, 2) == 0 && value_of(memory) > 0 && kdDeactivateCountersKHR(two, 2) == 0 &&
	   value_of(memory) == UNKNOWN, "6.3, 6.4: an index may occur twice");
	ok(kdStopSamplingKHR() == 0, "6.6: sampling stops");
	ok(kdStopSamplingKHR() == 0, "6.6: sampling may be stopped twice");
	ok(activate(memory) == 0 && value_of(memory) == UNKNOWN, "6.7: an active counter is unknown before the first start");
	ok(deactivate(memory) == 0, "6.4: a counter can be deactivated while sampling is stopped");
}

static void test_gpu_names(void)
{
	KDint n = kdGetNumberOfCountersKHR(), i;
	int unknown = 1, seen = 0;

	kdStartSamplingKHR();
	for (i = 0; i < n; i++) {
		const char *name = kdGetCounterInformationKHR(i)->name;
		KDint64 v, later;

		if (strncmp(name, "GPU ", 4) && strncmp(name, "Graphic ", 8) && !strstr(name, "rimitive count"))
			continue;
		seen++;
		unknown &= activate(i) == 0;
		v = value_of(i);
		burn(0.03);
		later = value_of(i);
		if (has_gpu ? v < UNKNOWN || later < UNKNOWN : v != UNKNOWN || later != UNKNOWN) {
			printf("# %s: %d, %d\n", name, (int)v, (int)later);
			unknown = 0;
		}
		unknown &= deactivate(i) == 0;
	}
	kdStopSamplingKHR();
	ok(unknown && seen >= 4, has_gpu ? "6.3: counters of GPUs can be activated, whether this machine has values for them or not" :
	   "6.3, 6.7: on a machine without a GPU GPU counters can be activated, and are unknown, never 0");
}

/* Returns whether a counter of the busy CPU that was above 0 is 0 after calling what(). Tried
 * repeatedly, because a reading may be delayed. */
static int zeroed(void (*what)(void))
{
	int i;

	for (i = 0; i < TRIES; i++) {
		burn(0.05);
		value_of(busy);
		what();
		if (value_of(busy) == 0)
			return 1;
	}
	return 0;
}

static void reactivate(void)
{
	deactivate(busy);
	activate(busy);
}

static void start(void)
{
	kdStartSamplingKHR();
}

static void test_utilisation(void)
{
	KDint64 v, least = 100, most = 0;
	int i;

	activate(busy);
	kdStartSamplingKHR();
	burn(0.2);
	v = value_of(busy);
	printf("# CPU %d: %d %%\n", pinned, (int)v);
	ok(v >= 50 && v <= 100, "3.1: the utilization of a busy CPU is 50 to 100");
	for (i = 0; i < 40; i++) {
		burn(0.005);
		v = value_of(busy);
		least = v < least ? v : least;
		most = v > most ? v : most;
	}
	ok(least >= 0 && most <= 100, "3.1: utilization stays within 0..100 for any rate of readings");
	ok(zeroed(start), "6.5: a start sets the values to 0, also while sampling is on");
	burn(0.1);
	ok(value_of(busy) > 0, "6.5: active counters run after the start");
	ok(zeroed(reactivate), "6.3: a counter activated while sampling is on starts at 0");
	burn(0.1);
	ok(value_of(busy) > 0, "6.3: a counter activated while sampling is on runs");
	kdStopSamplingKHR();
	deactivate(busy);
}

static void test_stop(void)
{
	KDint list[3];
	KDint64 was[3], is[3];

	list[0] = memory;
	list[1] = switches;
	list[2] = busy;
	kdActivateCountersKHR(list, 3);
	kdStartSamplingKHR();
	burn(0.1);
	kdStopSamplingKHR();
	kdGetCounterValuesKHR(list, 3, was);
	burn(0.1);
	kdGetNumberOfCountersKHR();
	kdGetCounterValuesKHR(list, 3, is);
	ok(memcmp(was, is, sizeof(is)) == 0 && was[0] > 0 && was[1] >= 0 && was[2] >= 0,
	   "6.6: after a stop the values stay unchanged");
	kdStartSamplingKHR();
	burn(0.1);
	ok(value_of(busy) > 0, "6.5: sampling starts again");
	kdStopSamplingKHR();
	kdDeactivateCountersKHR(list, 3);
}

static void test_values(void)
{
	static KDint many[MANY];
	static KDint64 values[MANY + 1];
	KDint list[4], i;
	KDint64 got[5] = { -77, -77, -77, -77, -77 };
	int right = 1;

	list[0] = list[2] = memory;
	list[1] = switches;
	list[3] = find(NULL, "Processes amount");
	activate(memory);
	activate(list[3]);
	kdStartSamplingKHR();
	ok(kdGetCounterValuesKHR(list, 4, got) == 0 && got[1] == UNKNOWN && got[0] > 4096 && got[3] > 0 && got[3] < got[0],
	   "6.7: values are in the order of the indexes");
	ok(got[0] == got[2], "6.7: both values of an index that occurs twice are equal");
	ok(got[4] == -77, "6.7: no value is written after the last one");
	for (i = 0; i < MANY; i++)
		many[i] = i % 2 ? memory : switches;
	values[MANY] = -77;
	ok(kdGetCounterValuesKHR(many, MANY, values) == 0, "6.7: a list may be longer than there are counters");
	for (i = 0; i < MANY; i++)
		right &= i % 2 ? values[i] > 4096 : values[i] == UNKNOWN;
	ok(right && values[MANY] == -77, "6.7: a list longer than the number of counters has all values, in order");
	ok(kdActivateCountersKHR(many, MANY) == 0 && value_of(switches) >= 0 && kdDeactivateCountersKHR(many, MANY) == 0 &&
	   value_of(memory) == UNKNOWN, "6.3, 6.4: activation and deactivation accept such a list");
	deactivate(list[3]);
	kdStopSamplingKHR();
}

static void test_cost(void)
{
	KDint n = kdGetNumberOfCountersKHR(), i, k;
	int had = open_files(), idle, after;

	kdStartSamplingKHR();
	value_of(memory);
	for (i = 0; i < n && i < 100; i++)
		value_of(i);
	idle = open_files();
	for (k = 0; k < LEN(of_all); k++)
		activate(find(NULL, of_all[k].text));
	value_of(memory);
	for (k = 0; k < LEN(of_all); k++)
		deactivate(find(NULL, of_all[k].text));
	after = open_files();
	kdStopSamplingKHR();
	printf("# files: %d, %d while inactive, %d afterwards\n", had, idle, after);
	if (had < 0) {
		skip("an inactive counter opens no file", "no /proc/self/fd");
		return;
	}
	ok(idle == had, "1: an inactive counter opens no file");
	ok(after == had, "6.4: after deactivation the opened files are closed");
}

/* --- values of host counters ------------------------------------------------------------------ */

/* Touches this number of pages for the first time: one fault for each. */
static void touch(int pages)
{
	char *p = mmap(NULL, 256 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	if (p == MAP_FAILED)
		return;
	madvise(p, 256 * 4096, MADV_NOHUGEPAGE);
	for (i = 0; i < pages; i++) {
		if (i % 256 == 0)
			madvise(p, 256 * 4096, MADV_DONTNEED);
		p[i % 256 * 4096] = 1;
	}
	munmap(p, 256 * 4096);
}

static KDint find_end(const char *end)
{
	KDint n = kdGetNumberOfCountersKHR(), i;

	for (i = 0; i < n && !ends_with(kdGetCounterInformationKHR(i)->name, end); i++)
		;
	return i < n ? i : -1;
}

/* Tests a cumulative counter of the whole machine; other processes also increase it. */
static void test_count(void)
{
	static const char test[] = "6.5: a count contains only the events since the start";
	KDint faults = find_end("/page-faults");
	KDint64 v = 0, least = KDINT64_MAX;
	int rose = 1, i;

	if (faults < 0 || activate(faults)) {
		skip(test, "page faults are not counted here, or not permitted");
		return;
	}
	for (i = 0; i < 10; i++) {
		kdStartSamplingKHR();
		touch(2000);
		rose &= value_of(faults) >= 2000;
		kdStopSamplingKHR();
		touch(20000);
		kdStartSamplingKHR();
		v = value_of(faults);
		least = v < least ? v : least;
		kdStopSamplingKHR();
	}
	if (!ok(rose && least >= 0 && least < 10000, test))
		printf("# %ld at least\n", (long)least);
	deactivate(faults);
}

/* The number of processes: names in /proc that are numbers. */
static int processes(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] >= '1' && e->d_name[0] <= '9';
	if (d)
		closedir(d);
	return n;
}

/* Does the work that these counters count, for some time. */
static void work(const char *path)
{
	static char block[1 << 16];
	struct timespec nap = { 0, 1000000 };
	double end = now() + 0.1;

	while (now() < end) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), i;

		for (i = 0; p != MAP_FAILED && i < 1 << 20; i += 4096)
			p[i] = 1;
		munmap(p, 1 << 20);
		if (fd >= 0 && (write(fd, block, sizeof(block)) < 0 || pread(fd, block, sizeof(block), 0) < 0))
			printf("# %s cannot be written\n", path);
		close(fd);
		nanosleep(&nap, NULL);
	}
	unlink(path);
}

/* Tests a rate while work() runs. */
static void test_rate(const char *name, const char *path, const char *test)
{
	KDint i = find(NULL, name);
	KDint64 v = 0;
	int k;

	activate(i);
	kdStartSamplingKHR();
	for (k = 0; k < TRIES && v <= 0; k++) {
		work(path);
		v = value_of(i);
	}
	kdStopSamplingKHR();
	deactivate(i);
	if (!ok(v > 0, test))
		printf("# %s: %ld\n", name, (long)v);
}

/* Reads a file through a mapping after its pages were dropped from the page cache. Returns the
 * number of major faults of this process, which the kernel counts by itself. */
static long fault(const char *path)
{
	enum { BYTES = 4 << 20 };
	static char block[1 << 16];
	struct rusage was, is;
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), i;
	volatile char *p;

	for (i = 0; i < BYTES; i += (int)sizeof(block))
		if (write(fd, block, sizeof(block)) < 0)
			break;
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	getrusage(RUSAGE_SELF, &was);
	p = mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0);
	madvise((void *)(size_t)p, BYTES, MADV_RANDOM);
	for (i = 0; p != MAP_FAILED && i < BYTES; i += 4096)
		(void)p[i];
	getrusage(RUSAGE_SELF, &is);
	munmap((void *)(size_t)p, BYTES);
	close(fd);
	unlink(path);
	return is.ru_majflt - was.ru_majflt;
}

/* Page faults that the page cache serves are not counted. */
static void test_cache_faults(const char *path)
{
	const char *test = "3.2: \"Cache pages fault / sec\" increases while a task reads a file that is not in the cache";
	KDint i = find(NULL, "Cache pages fault / sec");
	KDint64 v = 0;
	long faults = 0;
	int k;

	activate(i);
	kdStartSamplingKHR();
	for (k = 0; k < TRIES && v <= 0; k++) {
		faults += fault(path);
		burn(0.02);
		v = value_of(i);
	}
	kdStopSamplingKHR();
	deactivate(i);
	if (!faults)
		skip(test, "this file system keeps all pages");
	else
		ok(v > 0, test);
}

static void test_host(const char *path)
{
	KDint list[4], i;
	KDint64 v[4];
	int near = 0, within = 1;

	list[0] = memory;
	list[1] = find(NULL, "Virtual memory usage");
	list[2] = find(NULL, "Processes amount");
	list[3] = find(NULL, "Threads amount");
	kdActivateCountersKHR(list, 4);
	kdStartSamplingKHR();
	for (i = 0; i < TRIES && !near; i++) {
		int n = processes();

		kdGetCounterValuesKHR(list, 4, v);
		near = v[2] >= n && v[2] <= processes();
	}
	kdStopSamplingKHR();
	kdDeactivateCountersKHR(list, 4);
	ok(near, "3.4: \"Processes amount\" is the number of processes in /proc");
	ok(v[3] >= v[2], "3.4: \"Threads amount\" is not below \"Processes amount\"");
	ok(v[0] > 1 << 20 && v[1] > 1 << 20, "3.2: memory usage is in bytes");
	for (i = 0; i < 4; i++) {
		const KDCounterInfoKHR *c = kdGetCounterInformationKHR(list[i]);

		within &= v[i] >= c->minValue && v[i] <= c->maxValue;
	}
	ok(within, "5.1: values are between minimum and maximum");
	test_rate("Context switched / sec", path, "3.4: \"Context switched / sec\" increases while a task sleeps repeatedly");
	test_cache_faults(path);
	if (access("/proc/self/io", R_OK) == 0) {
		test_rate("File write bytes / sec", path, "3.3: \"File write bytes / sec\" increases while a task writes");
		test_rate("File read bytes / sec", path, "3.3: \"File read bytes / sec\" increases while a task reads");
	} else {
		skip("3.3: \"File write bytes / sec\" and read", "this kernel has no /proc/self/io");
	}
}

/* --- KD_EACCES -------------------------------------------------------------------------------- */

static KDint refused(KDint n)
{
	KDint i;

	for (i = 0; i < n; i++)
		if (activate(i) == 0)
			deactivate(i);
		else
			return kdGetError() == KD_EACCES ? i : -1;
	return -1;
}

/* As an unprivileged user: a counter of perf events is denied, unless there is none. */
static int child_refused(void)
{
	KDint list[3];

	if (geteuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		return 77;
	list[0] = memory;
	list[1] = refused(kdGetNumberOfCountersKHR());
	if (list[1] >= 0 && (is_recommended(kdGetCounterInformationKHR(list[1])->name) ||
			     !strstr(kdGetCounterInformationKHR(list[1])->description, "; requires CAP_")))
		return 1;
	list[2] = switches;
	if (list[1] < 0)
		return 77;
	kdStartSamplingKHR();
	return !(is_error(kdActivateCountersKHR(list, 3), KD_EACCES) && value_of(memory) == UNKNOWN &&
		 value_of(switches) == UNKNOWN && value_of(list[1]) == UNKNOWN && activate(memory) == 0 &&
		 value_of(memory) > 0);
}

/* As an unprivileged user: all recommended names can be activated together. Those that may not be
 * read are unknown. */
static int child_recommended(void)
{
	KDint list[64], n = 0, i;
	KDint64 values[64];
	const KDCounterInfoKHR *c;
	int any = 0;

	if (geteuid() == 0 && (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY)))
		return 77;
	for (i = 0; n < LEN(list) && (c = kdGetCounterInformationKHR(i)) && is_recommended(c->name); i++)
		list[n++] = i;
	if (kdActivateCountersKHR(list, n) || kdStartSamplingKHR())
		return 1;
	burn(0.05);
	if (kdGetCounterValuesKHR(list, n, values))
		return 2;
	for (i = 0; i < n; i++)
		any += values[i] >= 0;
	return any >= 8 ? kdDeactivateCountersKHR(list, n) : 3;
}

/* All counters of the machine can be activated together. */
static int child_all(void)
{
	KDint n = kdGetNumberOfCountersKHR(), *list = calloc((size_t)n, sizeof(*list)), i;

	if (geteuid() != 0)
		return 77;
	for (i = 0; i < n; i++)
		list[i] = i;
	return kdActivateCountersKHR(list, n) || kdStartSamplingKHR() || value_of(memory) <= 0;
}

/* Names are found without kdGetNumberOfCountersKHR(), as far as they are asked for, at the indexes
 * that the whole list has. */
static int child_found(void)
{
	const KDCounterInfoKHR *c;
	KDint i = 0, n;
	char first[64];

	while ((c = kdGetCounterInformationKHR(i)) && strcmp(c->name, "Context switched / sec") != 0)
		i++;
	if (!c || activate(i) || kdStartSamplingKHR())
		return 1;
	snprintf(first, sizeof(first), "%s", kdGetCounterInformationKHR(0)->name);
	n = kdGetNumberOfCountersKHR();
	if (n <= i || kdGetCounterInformationKHR(i) != c || strcmp(kdGetCounterInformationKHR(0)->name, first) != 0)
		return 2;
	while (kdGetCounterInformationKHR(i))
		i++;
	return i == n && kdGetNumberOfCountersKHR() == n ? 0 : 3;
}

/* --- the error indicator, threads, fork ------------------------------------------------------- */

static void *other_thread(void *arg)
{
	KDint *seen = arg;

	seen[0] = kdGetError();
	kdGetCounterInformationKHR(-1);
	seen[1] = kdGetError();
	return NULL;
}

static void test_errors(void)
{
	KDint seen[2] = { -1, -1 };
	pthread_t t;

	kdSetError(KD_EBUSY);
	ok(kdGetError() == KD_EBUSY && kdGetError() == KD_EBUSY, "6: kdGetError returns the last stored error");
	activate(memory);
	kdStartSamplingKHR();
	value_of(memory);
	kdGetCounterInformationKHR(memory);
	kdGetNumberOfCountersKHR();
	kdStopSamplingKHR();
	deactivate(memory);
	ok(kdGetError() == KD_EBUSY, "6: a successful call does not change the error");
	if (pthread_create(&t, NULL, other_thread, seen) == 0)
		pthread_join(t, NULL);
	ok(seen[0] == 0 && seen[1] == KD_EINVAL && kdGetError() == KD_EBUSY, "6: each thread has its own error");
	kdSetError(0);
}

static int halt; /* shared by the threads: atomic */

/* All functions at once, in each thread: returns 0, or the line of the failure. */
static void *hammer(void *arg)
{
	KDint list[4], bad = -1;
	KDint64 v[4];
	intptr_t wrong = 0;

	(void)arg;
	list[0] = busy;
	list[1] = memory;
	list[2] = switches;
	list[3] = busy;
	while (!wrong && !__atomic_load_n(&halt, __ATOMIC_RELAXED)) {
		wrong = kdActivateCountersKHR(list, 3) ? __LINE__ : wrong;
		wrong = kdStartSamplingKHR() ? __LINE__ : wrong;
		wrong = kdGetCounterValuesKHR(list, 4, v) ? __LINE__ : wrong;
		wrong = v[0] < UNKNOWN || v[0] > 100 || v[0] != v[3] || v[1] < UNKNOWN || v[2] < UNKNOWN ? __LINE__ : wrong;
		wrong = is_error(kdActivateCountersKHR(&bad, 1), KD_EINVAL) ? wrong : __LINE__;
		wrong = kdGetCounterInformationKHR(memory) ? wrong : __LINE__;
		wrong = kdStopSamplingKHR() ? __LINE__ : wrong;
		wrong = kdDeactivateCountersKHR(list + 1, 2) ? __LINE__ : wrong;
	}
	return (void *)wrong;
}

static void test_threads(void)
{
	pthread_t t[THREADS];
	void *wrong[THREADS] = { NULL };
	int made = 0, right = 1, i;

	sched_setaffinity(0, sizeof(allowed), &allowed);
	for (; made < THREADS && pthread_create(&t[made], NULL, hammer, NULL) == 0; made++)
		;
	for (i = 0; i < 5; i++) {
		burn(0.1);
		kdGetNumberOfCountersKHR();
	}
	__atomic_store_n(&halt, 1, __ATOMIC_RELAXED);
	for (i = 0; i < made; i++) {
		pthread_join(t[i], &wrong[i]);
		if (wrong[i])
			printf("# thread %d: line %d\n", i, (int)(intptr_t)wrong[i]);
		right &= !wrong[i];
	}
	ok(made == THREADS && right, "threads: eight threads call all functions at the same time, and all results are correct");
	deactivate(busy);
	ok(activate(memory) == 0 && kdStartSamplingKHR() == 0 && value_of(memory) > 0, "threads: the counters still work afterwards");
	deactivate(memory);
	kdStopSamplingKHR();
}

static int child_forked(void)
{
	int right = value_of(memory) > 0 && value_of(switches) == UNKNOWN && activate(switches) == 0 &&
		    value_of(switches) >= 0;

	kdStopSamplingKHR();
	return !(right && deactivate(memory) == 0 && value_of(memory) == UNKNOWN);
}

static void test_fork(void)
{
	activate(memory);
	kdStartSamplingKHR();
	ok_child(child_forked, "fork: the child has a copy of the counters, independent from then on", "");
	ok(value_of(memory) > 0 && value_of(switches) == UNKNOWN, "fork: changes in the child do not affect the parent");
	deactivate(memory);
	kdStopSamplingKHR();
}

/* --- section 1: other programs as providers --------------------------------------------------- */

static void put_file(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (f) {
		fputs(text, f);
		fclose(f);
	}
}

static void drop_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	unlink(path);
}

/* Before any call: where files of counters are. */
static int make_dir(void)
{
	static const char *const places[] = { "/tmp", "/dev/shm", "/run", "." };
	int i;

	for (i = 0; i < LEN(places); i++) {
		snprintf(dir, sizeof(dir), "%s/khrXXXXXX", places[i]);
		if (mkdtemp(dir))
			return setenv("GPUSTAT_COUNTERS", dir, 1) == 0;
	}
	*dir = '\0';
	return 0;
}

static void test_provider(void)
{
	KDint jobs = find("farm", "jobs"), heat = find("farm", "heat"), n, later;
	const KDCounterInfoKHR *c = kdGetCounterInformationKHR(heat);

	ok(jobs >= 0 && heat >= 0, "1: a file with lines NAME VALUE UNIT provides counters, and the file's name is their vendor name");
	ok(c && ends_with(c->description, "(watts)"), "1: counters of a file have their unit");
	ok(activate(jobs) == 0 && activate(heat) == 0 && kdStartSamplingKHR() == 0 && value_of(jobs) == 12 &&
	   value_of(heat) == 55, "1: counters of a file have their value");
	n = kdGetNumberOfCountersKHR();
	put_file("farm", "jobs 13\nheat 56 watts\nlate 7 s\n");
	ok(value_of(jobs) == 13 && value_of(heat) == 56, "1: the file is read again for each value");
	ok(kdGetCounterInformationKHR(n) == KD_NULL, "6.1: a new counter is listed after the next kdGetNumberOfCountersKHR");
	later = find("farm", "late");
	ok(later >= n && find("farm", "jobs") == jobs && find("farm", "heat") == heat,
	   "6.1: a new counter comes after all others, which keep their indices");
	kdStopSamplingKHR();
	put_file("farm", "jobs 14\nheat 57 watts\nlate 8 s\n");
	ok(value_of(jobs) == 13 && value_of(heat) == 56, "6.6: after a stop the values stay, although the file has new ones");
	kdStartSamplingKHR();
	ok(value_of(jobs) == 14, "6.5: after a start the values are updated again");
	put_file("farm", "heat 58 watts\n");
	ok(value_of(jobs) == UNKNOWN && value_of(heat) == 58, "6.7: a counter that has disappeared from its file is unknown, the others are not");
	drop_file("farm");
	ok(value_of(heat) == UNKNOWN && kdGetCounterInformationKHR(heat) == c, "6.7: a counter whose file has disappeared is unknown and keeps its index");
	put_file("farm", "jobs 15\nheat 59 watts\n");
	ok(find("farm", "jobs") == jobs && value_of(jobs) == 15 && value_of(heat) == 59, "6.7: a counter that has reappeared has its value again");
	activate(later);
	ok(value_of(later) == UNKNOWN, "6.3: a counter that is missing from its file can be activated, and is unknown");
	kdStopSamplingKHR();
	deactivate(jobs);
	deactivate(heat);
	deactivate(later);
}

/* Files in such a folder that are not counter files. */
static void test_strange_files(void)
{
	char path[128], target[160];
	KDint jobs = find("farm", "jobs");

	snprintf(path, sizeof(path), "%s/pipe", dir);
	ok(mkfifo(path, 0600) == 0 && kdGetNumberOfCountersKHR() > 0, "1: a FIFO in the folder does not block");
	drop_file("pipe");
	snprintf(path, sizeof(path), "%s/link", dir);
	snprintf(target, sizeof(target), "%s/farm", dir);
	ok(symlink(target, path) == 0 && find("link", "jobs") < 0 && find("link", "heat") < 0,
	   "1: a symbolic link is ignored");
	drop_file("link");
	put_file(".farm", "jobs 1\n");
	ok(find(".farm", "jobs") < 0, "1: a file whose name begins with a dot is ignored, because it is incomplete");
	drop_file(".farm");
	put_file("wild", "a\nb x\n\n   \nc 99999999999999999999999 s\n\001\377 1 \n fine 3 s\nfine2 4 s\n");
	ok(find("wild", "fine2") >= 0 && find("wild", "a") < 0 && find("wild", "b") < 0,
	   "1: invalid lines are skipped, the others are read");
	activate(jobs);
	kdStartSamplingKHR();
	drop_file("farm");
	snprintf(path, sizeof(path), "%s/farm", dir);
	ok(mkfifo(path, 0600) == 0 && value_of(jobs) == UNKNOWN,
	   "6.7: a FIFO in place of a counter file does not block, and its counters are unknown");
	kdStopSamplingKHR();
	deactivate(jobs);
}

static void remove_dir(void)
{
	static const char *const files[] = { "farm", ".farm", "wild", "pipe", "link", ".work" };
	int i;

	for (i = 0; i < LEN(files); i++)
		drop_file(files[i]);
	rmdir(dir);
}

/* Finds the counters that most tests use. */
static int find_counters(void)
{
	char name[64];

	memory = find(NULL, "Physical memory usage");
	switches = find(NULL, "Context switched / sec");
	snprintf(name, sizeof(name), "CPU %d utilization", pinned);
	busy = find(NULL, name);
	return memory >= 0 && switches >= 0 && busy >= 0;
}

static void test_section_6(int files)
{
	char path[128];

	test_bad_lists();
	test_activation();
	test_gpu_names();
	test_utilisation();
	test_stop();
	test_values();
	test_cost();
	test_count();
	snprintf(path, sizeof(path), "%s/.work", files ? dir : "/dev");
	test_host(path);
	ok_child(child_refused, "6.3: -1 and KD_EACCES if the kernel denies a counter, and no counter is activated",
		 "no counter here is denied, or root is required to change the user");
	ok_child(child_recommended, "6.3: recommended names are never refused", "needs root to change the user");
	ok_child(child_all, "6.3: root can activate all counters together", "needs root");
	test_errors();
	test_threads();
	test_fork();
	if (files) {
		test_provider();
		test_strange_files();
	} else {
		skip("1: files of other programs' counters", "no folder can be written");
	}
}

int main(void)
{
	int files = make_dir();

	alarm(PATIENCE);
	if (files)
		put_file("farm", "jobs 12\nheat 55 watts\n");
	has_gpu = exists("/sys/class/drm/card0") || exists("/sys/class/drm/renderD128");
	ok(kdGetError() == 0, "6: the error indicator is 0 at first");
	ok_child(child_uninitialised, "2: no initialization is required: any call may be the first", "");
	ok_child(child_found, "2: a program can search for names from index 0 on, without kdGetNumberOfCountersKHR", "");
	ok_child(child_rootless, "6.1: -1 and KD_EACCES if neither /proc nor /sys can be read", "needs root and a folder");
	find_cpus();
	pin();
	test_constants();
	test_listing();
	test_names();
	test_info();
	if (ok(find_counters(), "3: the counters used by the following tests are listed"))
		test_section_6(files);
	if (files)
		remove_dir();
	printf("1..%d\n", ran);
	return failed != 0;
}
