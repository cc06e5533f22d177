/* t_sampleheader.c - unit test of commands/sampleheader.c: the features of a perf.data file on
 * simulated machines: one without files, an x86 and an arm64 one, and one with truncated files.
 * SPDX-License-Identifier: MIT */
#include "folder.h"
#define replay replay_command /* unit.h has a function of this name, too */
#define VERSION "1.2"
#include "../../commands/sampleheader.c"

struct opts opt;
bool cpu_has(const struct cpuset *s, u32 cpu) { return s->w[cpu / 64] >> cpu % 64 & 1; }

struct perf_opened perf_opened;
static const struct str an_id = STR("0123456789abcdefghij"), short_id = STR("fedcba98");
bool symbols_kernel(struct prec *r)
{
	*r = (struct prec){ .name = STR("[kernel.kallsyms]_text"), .build_id = an_id };
	return true;
}
void symbols_modules(void (*each)(const struct prec *r))
{
	each(&(struct prec){ .name = STR("[odd]"), .build_id = short_id });
	each(&(struct prec){ .name = STR("[without]") });
}
void symbols_ids(void (*each)(struct str id, struct str path))
{
	each(short_id, (struct str)STR("/bin/odd"));
}

static bool no_online;
bool cpus_online(struct cpuset *cpus)
{
	*cpus = (struct cpuset){ { 5 } };
	return !no_online;
}

static char bytes[1 << 16];
static struct pdfeature made[PD_FEATURES];
static size_t nmade;
static struct perfdata file;

static void make(size_t cap)
{
	struct pdrun of = { &file, 1000, 3000 };
	struct buf b = buf_on(bytes, cap);

	nmade = sample_features(&of, &b, made);
}

/* Returns the bytes of a feature; empty: it was left out. */
static struct str feature(u8 number)
{
	for (size_t i = 0; i < nmade; i++)
		if (made[i].number == number)
			return made[i].bytes;
	return (struct str){ 0 };
}

static u64 take(struct str *s, size_t n)
{
	u64 v = 0;
	u32 half = 0;

	if (str_len(*s) < n)
		return UINT64_MAX;
	if (n == 8)
		memcpy(&v, s->p, 8);
	else
		memcpy(&half, s->p, 4);
	s->p += n;
	return n == 8 ? v : half;
}

static const char *text(struct str *s)
{
	u64 n = take(s, 4);
	const char *p = s->p;

	if (n > str_len(*s))
		return "(too short)";
	s->p += n;
	return p;
}

static void check_string(u8 which, const char *want)
{
	struct str s = feature(which);

	check(s.p < s.e && strcmp(text(&s), want) == 0 && s.p == s.e, "feature %d is %s", which, want);
}

static void check_left_out(u8 which)
{
	check(str_len(feature(which)) == 0, "feature %d is left out", which);
}

static void roots_new(const char *name)
{
	root_set(&roots.proc, in_folder("%s/proc", name));
	root_set(&roots.sys, in_folder("%s/sys", name));
}

static void put_cpu(const char *machine, int cpu, const char *leaf, const char *value)
{
	put(in_folder("%s/sys/devices/system/cpu/cpu%d/%s", machine, cpu, leaf), value);
}

/* The list of build IDs is written only if the kernel writes none in its records. */
static void t_ids(void)
{
	static const char *const names[] = { "[kernel.kallsyms]", "[odd]", "/bin/odd" };
	struct str s = feature(PD_BUILD_ID);

	for (size_t i = 0; i < LEN(names); i++, s.p += 100)
		check(str_len(s) >= 100 && strcmp(s.p + 36, names[i]) == 0 && s.p[32] == (i ? 8 : 20) &&
		      s.p[4] == (i == 2 ? PM_USER : PM_KERNEL), "the build ID of %s", names[i]);
	check(s.p == s.e, "a module without a build ID is left out");
	perf_opened.build_ids = true;
	make(sizeof(bytes));
	perf_opened.build_ids = false;
	check_left_out(PD_BUILD_ID);
}

/* No file exists: only features that need no file are written. */
static void t_nothing(void)
{
	static char name[] = "gpustat", word[] = "sample", empty[] = "", *argv[] = { name, word, empty, NULL };
	struct str s;

	roots_new("none");
	no_online = true;
	opt.argv = argv;
	make(sizeof(bytes));
	no_online = false;
	for (size_t i = 1; i < nmade; i++)
		check(made[i - 1].number < made[i].number,
		      "features are ordered: %d comes after %d", made[i].number,
		      made[i - 1].number);
	check_string(PD_VERSION, "gpustat " VERSION);
	s = feature(PD_NRCPUS);
	check(take(&s, 4) == 1 && take(&s, 4) == 1, "PD_NRCPUS: at least one CPU");
	s = feature(PD_CMDLINE);
	check(take(&s, 4) == 3 && !strcmp(text(&s), "gpustat") && !strcmp(text(&s), "sample") && !strcmp(text(&s), "") &&
	      s.p == s.e, "PD_CMDLINE: the arguments, also an empty one");
	s = feature(PD_SAMPLE_TIME);
	check(take(&s, 8) == 1000 && take(&s, 8) == 3000,
	      "PD_SAMPLE_TIME: the times of the first and the last sample");
	s = feature(PD_CLOCK_DATA);
	check(str_len(s) == 24 && take(&s, 4) == 1 && take(&s, 4) == CLOCK_MONOTONIC,
	      "PD_CLOCK_DATA: the clock is CLOCK_MONOTONIC");
	check(str_len(feature(PD_CLOCKID)) == 8 && str_len(feature(PD_HOSTNAME)) && str_len(feature(PD_ARCH)) &&
	      str_len(feature(PD_OSRELEASE)), "PD_CLOCKID and the features from uname are written");
	for (size_t i = 0; i < 8; i++)
		check_left_out((u8[]){ PD_CPUDESC, PD_CPUID, PD_TOTAL_MEM, PD_CPU_TOPOLOGY, PD_NUMA_TOPOLOGY,
				       PD_PMU_MAPPINGS, PD_CPU_PMU_CAPS, PD_PMU_CAPS }[i]);
}

/* Three CPUs may exist; CPU 1 is offline and has no folder. */
static void t_x86(void)
{
	struct str s;

	roots_new("x86");
	put(in_folder("x86/proc/cpuinfo"), "processor\t: 0\nvendor_id\t: GenuineOdd\ncpu family\t: 6\nmodel\t\t: 85\n"
	    "model name\t: Odd CPU @ 2 GHz\nstepping\t: 7\nflags\t: a");
	put(in_folder("x86/proc/meminfo"), "MemTotal:       24684092 kB\nMemFree:  7 kB\n");
	put(in_folder("x86/sys/devices/system/cpu/present"), "0-2\n");
	for (int cpu = 0; cpu < 3; cpu += 2) {
		put_cpu("x86", cpu, "topology/core_siblings_list", "0,2\n");
		put_cpu("x86", cpu, "topology/thread_siblings_list", cpu ? "2\n" : "0\n");
		put_cpu("x86", cpu, "topology/die_cpus_list", "0,2\n");
		put_cpu("x86", cpu, "topology/core_id", cpu ? "4\n" : "0\n");
		put_cpu("x86", cpu, "topology/physical_package_id", "1\n");
		put_cpu("x86", cpu, "topology/die_id", "3\n");
	}
	put(in_folder("x86/sys/devices/system/node/online"), "0,2\n");
	put(in_folder("x86/sys/devices/system/node/node0/meminfo"), "Node 0 MemTotal: 100 kB\nNode 0 MemFree:  40 kB\n");
	put(in_folder("x86/sys/devices/system/node/node0/cpulist"), "0-2\n");
	put(in_folder("x86/sys/bus/event_source/devices/odd/type"), "17\n");
	put(in_folder("x86/sys/bus/event_source/devices/broken/type"), "x\n");
	put(in_folder("x86/sys/bus/event_source/devices/odd/caps/mtc"), "1\n");
	put(in_folder("x86/sys/bus/event_source/devices/cpu/type"), "4\n");
	put(in_folder("x86/sys/bus/event_source/devices/cpu/caps/branches"), "32\n");
	put_folder(in_folder("x86/sys/bus/event_source/devices/broken/caps"));
	make(sizeof(bytes));
	check_string(PD_CPUDESC, "Odd CPU @ 2 GHz");
	check_string(PD_CPUID, "GenuineOdd,6,85,7");
	s = feature(PD_TOTAL_MEM);
	check_u64(take(&s, 8), 24684092, "PD_TOTAL_MEM: the memory in KiB");
	s = feature(PD_NRCPUS);
	check(take(&s, 4) == 3 && take(&s, 4) == 2,
	      "PD_NRCPUS: three CPUs are present, two are online");
	s = feature(PD_CPU_TOPOLOGY);
	check(take(&s, 4) == 1 && !strcmp(text(&s), "0,2"),
	      "PD_CPU_TOPOLOGY: one package with both CPUs");
	check(take(&s, 4) == 2 && !strcmp(text(&s), "0") && !strcmp(text(&s), "2"),
	      "PD_CPU_TOPOLOGY: two cores");
	check(take(&s, 4) == 0 && take(&s, 4) == 1 && take(&s, 4) == UINT32_MAX && take(&s, 4) == UINT32_MAX &&
	      take(&s, 4) == 4 && take(&s, 4) == 1,
	      "PD_CPU_TOPOLOGY: core and package of each CPU, unknown for CPU 1");
	check(take(&s, 4) == 1 && !strcmp(text(&s), "0,2") && take(&s, 4) == 3 && take(&s, 4) == UINT32_MAX &&
	      take(&s, 4) == 3 && s.p == s.e, "PD_CPU_TOPOLOGY: the dies");
	s = feature(PD_NUMA_TOPOLOGY);
	check(take(&s, 4) == 2 && take(&s, 4) == 0 && take(&s, 8) == 100 && take(&s, 8) == 40 &&
	      !strcmp(text(&s), "0-2"), "PD_NUMA_TOPOLOGY: memory and CPUs of node 0");
	check(take(&s, 4) == 2 && take(&s, 8) == 0 && take(&s, 8) == 0 && !strcmp(text(&s), "") && s.p == s.e,
	      "PD_NUMA_TOPOLOGY: node 2 has no files, all is 0");
	s = feature(PD_PMU_MAPPINGS);
	check(take(&s, 4) == 2 && str_len(s) == 2 * (4 + 4 + 64),
	      "PD_PMU_MAPPINGS: a PMU with an invalid type is left out");
	s = feature(PD_CPU_PMU_CAPS);
	check(take(&s, 4) == 1 && !strcmp(text(&s), "branches") && !strcmp(text(&s), "32") && s.p == s.e,
	      "PD_CPU_PMU_CAPS: the capabilities of the CPU's PMU");
	s = feature(PD_PMU_CAPS);
	check(take(&s, 4) == 1 && take(&s, 4) == 1 && !strcmp(text(&s), "mtc") && !strcmp(text(&s), "1") &&
	      !strcmp(text(&s), "odd") && s.p == s.e,
	      "PD_PMU_CAPS: the capabilities of each other PMU that has any");
}

static void t_arm(void)
{
	roots_new("arm");
	put(in_folder("arm/proc/cpuinfo"), "processor\t: 0\nBogoMIPS\t: 50.00\n");
	put_cpu("arm", 0, "regs/identification/midr_el1", "0x00000000410fd490\n");
	put_cpu("arm", 0, "topology/core_siblings_list", "0\n");
	put_cpu("arm", 0, "topology/thread_siblings_list", "0\n");
	make(sizeof(bytes));
	check_string(PD_CPUID, "0x00000000410fd490");
	check_left_out(PD_CPUDESC);
	check(str_len(feature(PD_CPU_TOPOLOGY)) == 2 * (4 + 4 + 64) + 3 * 8,
	      "PD_CPU_TOPOLOGY: no dies before Linux 5.2");
}

/* Consecutive events with the same number other than 0 are a group. */
static void t_groups(void)
{
	static const struct pdevent events_[] = {
		{ .group = 0 }, { .group = 0 }, { .group = 3 }, { .group = 3 }, { .group = 4 }, { .group = 5 },
		{ .group = 5 }, { .group = 5 },
	};
	struct str s;

	file = (struct perfdata){ .events = events_, .nevents = LEN(events_) };
	make(sizeof(bytes));
	s = feature(PD_GROUP_DESC);
	check(take(&s, 4) == 2, "PD_GROUP_DESC: two groups");
	check(!strcmp(text(&s), "{anon_group}") && take(&s, 4) == 2 && take(&s, 4) == 2,
	      "PD_GROUP_DESC: the first group has 2 members");
	check(!strcmp(text(&s), "{anon_group}") && take(&s, 4) == 5 && take(&s, 4) == 3 && s.p == s.e,
	      "PD_GROUP_DESC: the second group has 3 members");
	file.nevents = 2;
	make(sizeof(bytes));
	check_left_out(PD_GROUP_DESC);
}

/* A feature that does not fit into the buffer is left out as a whole. */
static void t_no_room(void)
{
	size_t wrong = 0;

	roots_new("x86");
	for (size_t cap = 0; cap < 6000; cap += 7) {
		make(cap);
		for (size_t i = 0; i < nmade; i++)
			wrong += made[i].bytes.e > bytes + cap || (str_len(made[i].bytes) & 3) != 0;
	}
	check_u64(wrong, 0, "a buffer of any size: features are complete and inside the buffer");
}

/* Truncates the files of /proc after each byte. */
static void t_cut(void)
{
	static const char cpu[] = "vendor_id\t: GenuineOdd\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Odd\nstepping\t: 7\n";

	roots_new("cut");
	for (size_t n = 0; n < sizeof(cpu); n++) {
		put_file(in_folder("cut/proc/cpuinfo"), cpu, n);
		put_file(in_folder("cut/proc/meminfo"), "MemTotal: 12345 kB\n", n % 20);
		make(sizeof(bytes));
		if ((str_len(feature(PD_CPUID)) > 0) != (n == sizeof(cpu) - 1) && n < sizeof(cpu) - 1)
			check(false, "PD_CPUID: cpuinfo of %zu bytes", n);
		if ((str_len(feature(PD_TOTAL_MEM)) > 0) != (n % 20 == 19))
			check(false, "PD_TOTAL_MEM: meminfo of %zu bytes", n % 20);
	}
	check_string(PD_CPUDESC, "Odd");
}

int main(void)
{
	folder_begin("t_sampleheader");
	t_nothing();
	t_ids();
	t_x86();
	t_arm();
	t_groups();
	t_no_room();
	t_cut();
	shell("rm -rf \"$D\"");
	return unit_end();
}
