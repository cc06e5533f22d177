/* sampleheader.c - what the file of `sample -o perfdata` says about the machine and the run: the
 * features that `perf report --header` shows. Their formats are in
 * tools/perf/Documentation/perf.data-file-format.txt of Linux. A feature whose files cannot be read
 * is left out. SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sys.h"

enum { ITEM_BYTES = 4096 };
static struct {
	const struct pdrun *run;
	struct buf *ids; /* the buffer to which put_ids() appends build IDs */
} header;

#define CPU_FOLDER "devices/system/cpu/"
#define PMU_FOLDER "bus/event_source/devices"

/* --- reading of small files ------------------------------------------------------------------- */

/* Reads the first cap bytes of a file into b. Returns the complete lines in these bytes; empty if
 * the file cannot be read. */
static struct str file_begin(int dir, const char *path, char *b, size_t cap)
{
	long fd = open_retry(dir, path, O_RDONLY | O_NONBLOCK), r = -1;

	if (fd >= 0) {
		r = sys_pread((int)fd, b, cap, 0);
		sys_close((int)fd);
	}
	while (r > 0 && b[r - 1] != '\n')
		r--;
	return str_of(b, r > 0 ? (size_t)r : 0);
}

/* Reads the first line of a file below /sys. Its path is lead, number and leaf:
 * "devices/system/cpu/cpu", 0, "/topology/core_id". Returns false if there is no such file, or if
 * the line is empty. */
static bool read_item(const char *lead, u32 number, const char *leaf, char b[ITEM_BYTES],
		      struct str *line)
{
	char path[96];
	struct buf p = BUF_Z(path);

	put_z(&p, lead);
	put_u64(&p, number);
	put_z(&p, leaf);
	return slurp_line(roots.sys, buf_z(&p), b, ITEM_BYTES, line) && line->p < line->e;
}

/* Returns the value of a key in lines "key : value"; empty if there is no such line. */
static struct str value_of(struct str text, const char *key)
{
	struct str line, name;

	while (str_cut(&text, '\n', &line))
		if (str_cut(&line, ':', &name) && str_is(str_trim(name), key))
			return str_trim(line);
	return (struct str){ 0 };
}

/* Reads a set of CPUs or NUMA nodes from a file below /sys. Returns false if the file has no valid
 * set. */
static bool read_set(const char *path, struct cpuset *set)
{
	char b[ITEM_BYTES];
	struct str line;

	return slurp_line(roots.sys, path, b, sizeof(b), &line) && parse_cpulist(line, set);
}

static u32 set_count(const struct cpuset *set, u32 *last)
{
	u32 n = 0;

	for (u32 i = 0; i < MAX_CPUS; i++)
		if (cpu_has(set, i)) {
			n++;
			*last = i;
		}
	return n;
}

/* Returns the highest number of a present CPU, plus 1. The lists of CPUs in a perf.data file also
 * have all lower numbers, even if no CPU has that number. */
static u32 cpus_available(void)
{
	struct cpuset set;
	u32 last = 0;

	if (!read_set(CPU_FOLDER "present", &set) && !cpus_online(&set))
		return 1;
	set_count(&set, &last);
	return last + 1;
}

/* --- functions that append the features of perf.data about the machine ------------------------ */

static bool put_name(struct buf *b, const char *name)
{
	perfdata_string(b, str_z(name));
	return *name;
}

static bool put_hostname(struct buf *b)
{
	struct utsname u;

	return sys_uname(&u) == 0 && put_name(b, u.nodename);
}

static bool put_release(struct buf *b)
{
	struct utsname u;

	return sys_uname(&u) == 0 && put_name(b, u.release);
}

static bool put_machine(struct buf *b)
{
	struct utsname u;

	return sys_uname(&u) == 0 && put_name(b, u.machine);
}

static bool put_version(struct buf *b)
{
	return put_name(b, "gpustat " VERSION);
}

static bool put_cpus(struct buf *b)
{
	struct cpuset online;
	u32 last, n = cpus_online(&online) ? set_count(&online, &last) : 0;

	perfdata_u32(b, cpus_available());
	perfdata_u32(b, n ? n : 1);
	return true;
}

static bool put_cpudesc(struct buf *b)
{
	static const char *const keys[] = { "model name", "Processor", "cpu model", "cpu",
					    "uarch" };
	char text[ITEM_BYTES];
	struct str all = file_begin(roots.proc, "cpuinfo", text, sizeof(text)), v = { 0 };

	for (size_t i = 0; i < LEN(keys) && v.p == v.e; i++)
		v = value_of(all, keys[i]);
	perfdata_string(b, v);
	return v.p < v.e;
}

/* Appends the identifier by which perf finds the event names for this model of CPU: the numbers in
 * /proc/cpuinfo, or arm64's register MIDR. Returns false if they are unknown. */
static bool put_cpuid(struct buf *b)
{
	static const struct {
		char separator;
		const char *keys[4];
	} forms[] = {
		{ ',', { "vendor_id", "cpu family", "model", "stepping" } },
		{ '-', { "mvendorid", "marchid", "mimpid" } },
	};
	char text[ITEM_BYTES], id[256];
	struct str all = file_begin(roots.proc, "cpuinfo", text, sizeof(text)), v;

	for (size_t i = 0; i < LEN(forms); i++) {
		struct buf to = BUF(id);
		bool whole = true;

		for (size_t k = 0; k < LEN(forms[i].keys) && forms[i].keys[k]; k++) {
			if (k)
				put_c(&to, forms[i].separator);
			v = value_of(all, forms[i].keys[k]);
			put_str(&to, v);
			whole &= v.p < v.e;
		}
		if (whole && !to.full) {
			perfdata_string(b, str_of(to.p, to.n));
			return true;
		}
	}
	if (!read_item(CPU_FOLDER "cpu", 0, "/regs/identification/midr_el1", text, &v))
		return false;
	perfdata_string(b, v);
	return true;
}

static bool put_memory(struct buf *b)
{
	char text[ITEM_BYTES];
	struct str v = value_of(file_begin(roots.proc, "meminfo", text, sizeof(text)), "MemTotal");
	u64 kib;

	if (!scan_u64(v, &kib))
		return false;
	perfdata_u64(b, kib);
	return true;
}

/* Stores the number n of entries of a list in front of them, at the offset `at`. If there are none,
 * removes the list and returns false. */
static bool list_end(struct buf *b, size_t at, u32 n)
{
	if (!n)
		b->n = at;
	else if (!b->full)
		memcpy(b->p + at, &n, sizeof(n));
	return n > 0;
}

/* Appends the lists of CPUs that the files `leaf` of all CPUs contain, each list once, and in front
 * of them the number of lists. Returns false if no CPU has such a file. */
static bool put_lists(struct buf *b, u32 cpus, const char *leaf)
{
	char text[ITEM_BYTES];
	size_t at = b->n;
	struct cpuset seen = { 0 };
	u32 n = 0;

	perfdata_u32(b, 0);
	for (u32 cpu = 0; cpu < cpus; cpu++) {
		struct cpuset set;
		struct str line;

		if (cpu_has(&seen, cpu) || !read_item(CPU_FOLDER "cpu", cpu, leaf, text, &line) ||
		    !parse_cpulist(line, &set))
			continue;
		for (size_t i = 0; i < LEN(seen.w); i++)
			seen.w[i] |= set.w[i];
		perfdata_string(b, line);
		n++;
	}
	return list_end(b, at, n);
}

/* Returns the number in a topology file of the CPU; UINT32_MAX if it is unknown. */
static u32 topology_number(u32 cpu, const char *leaf)
{
	char text[ITEM_BYTES];
	struct str line;
	u64 v;

	return read_item(CPU_FOLDER "cpu", cpu, leaf, text, &line) && scan_u64(line, &v) ? (u32)v :
	       UINT32_MAX;
}

static bool put_topology(struct buf *b)
{
	u32 cpus = cpus_available();
	size_t whole;

	if (!put_lists(b, cpus, "/topology/core_siblings_list") ||
	    !put_lists(b, cpus, "/topology/thread_siblings_list"))
		return false;
	for (u32 cpu = 0; cpu < cpus; cpu++) {
		perfdata_u32(b, topology_number(cpu, "/topology/core_id"));
		perfdata_u32(b, topology_number(cpu, "/topology/physical_package_id"));
	}
	whole = b->n;
	/* Linux before 5.2 has no files topology/die_cpus_list */
	if (!put_lists(b, cpus, "/topology/die_cpus_list")) {
		b->n = whole;
		return true;
	}
	for (u32 cpu = 0; cpu < cpus; cpu++)
		perfdata_u32(b, topology_number(cpu, "/topology/die_id"));
	return true;
}

/* Returns the number after a word in lines "Node 0 MemTotal: 5 kB"; 0 if there is none. */
static u64 node_memory(struct str text, const char *what)
{
	struct str line, word;
	u64 v = 0;

	while (str_cut(&text, '\n', &line))
		while (str_word(&line, &word))
			if (str_is(word, what)) {
				scan_u64(str_trim(line), &v);
				return v;
			}
	return v;
}

static bool put_nodes(struct buf *b)
{
	char path[64], text[ITEM_BYTES], list[ITEM_BYTES];
	size_t at = b->n;
	struct cpuset nodes;
	u32 n = 0;

	if (!read_set("devices/system/node/online", &nodes))
		return false;
	perfdata_u32(b, 0);
	for (u32 node = 0; node < MAX_CPUS; node++) {
		struct buf p = BUF_Z(path);
		struct str memory, cpus = { 0 };

		if (!cpu_has(&nodes, node))
			continue;
		put_z(&p, "devices/system/node/node");
		put_u64(&p, node);
		put_z(&p, "/meminfo");
		memory = file_begin(roots.sys, buf_z(&p), text, sizeof(text));
		read_item("devices/system/node/node", node, "/cpulist", list, &cpus);
		perfdata_u32(b, node);
		perfdata_u64(b, node_memory(memory, "MemTotal:"));
		perfdata_u64(b, node_memory(memory, "MemFree:"));
		perfdata_string(b, cpus);
		n++;
	}
	return list_end(b, at, n);
}

/* Appends an entry for each file folder/NAME/leaf below /sys whose first line entry() accepts, and
 * in front of them the number of entries. If there are none, appends nothing and returns false. */
static bool put_each(struct buf *b, const char *folder, const char *leaf,
		     bool (*entry)(struct buf *b, struct str name, struct str line))
{
	char path[320], text[256];
	size_t at = b->n;
	const char *name;
	struct dir d;
	u32 n = 0;

	if (dir_open(&d, roots.sys, folder) < 0)
		return false;
	perfdata_u32(b, 0);
	while ((name = dir_next(&d)) != NULL) {
		struct buf p = BUF_Z(path);
		struct str line;

		put_z(&p, folder);
		put_c(&p, '/');
		put_z(&p, name);
		put_z(&p, leaf);
		n += !p.full && *name != '.' &&
		     slurp_line(roots.sys, buf_z(&p), text, sizeof(text), &line) &&
		     entry(b, str_z(name), line);
	}
	dir_close(&d);
	return list_end(b, at, n);
}

static bool put_pmu(struct buf *b, struct str name, struct str line)
{
	u64 type;

	if (!scan_u64(line, &type))
		return false;
	perfdata_u32(b, (u32)type);
	perfdata_string(b, name);
	return true;
}

static bool put_pmus(struct buf *b)
{
	return put_each(b, PMU_FOLDER, "/type", put_pmu);
}

static bool put_capability(struct buf *b, struct str name, struct str line)
{
	perfdata_string(b, name);
	perfdata_string(b, line);
	return true;
}

static bool put_cpu_capabilities(struct buf *b)
{
	return put_each(b, PMU_FOLDER "/cpu/caps", "", put_capability);
}

/* Appends the capabilities of a PMU other than that of x86's CPUs, and its name. */
static bool put_capabilities_of(struct buf *b, struct str name, struct str unused)
{
	char path[320];
	struct buf p = BUF_Z(path);

	(void)unused;
	put_z(&p, PMU_FOLDER "/");
	put_str(&p, name);
	put_z(&p, "/caps");
	if (str_is(name, "cpu") || !put_each(b, buf_z(&p), "", put_capability))
		return false;
	perfdata_string(b, name);
	return true;
}

static bool put_other_capabilities(struct buf *b)
{
	return put_each(b, PMU_FOLDER, "/type", put_capabilities_of);
}

/* --- functions that append the features of perf.data about the run ---------------------------- */

static bool put_arguments(struct buf *b)
{
	u32 n = 0;

	while (opt.argv[n])
		n++;
	perfdata_u32(b, n);
	for (u32 i = 0; i < n; i++)
		perfdata_string(b, str_z(opt.argv[i]));
	return true;
}

static void put_file_id(struct str id, struct str path)
{
	perfdata_build_id(header.ids, PM_USER, id, path);
}

static void put_module_id(const struct prec *r)
{
	if (r->build_id.p < r->build_id.e)
		perfdata_build_id(header.ids, PM_KERNEL, r->build_id, r->name);
}

/* Appends the build IDs of the kernel, its modules and all files that were mapped, unless the
 * kernel writes build IDs in its records. Returns false if there are none. */
static bool put_ids(struct buf *b)
{
	size_t from = b->n;
	struct prec kernel;

	if (perf_opened.build_ids)
		return false;
	header.ids = b;
	if (symbols_kernel(&kernel)) {
		kernel.name = LIT("[kernel.kallsyms]");
		put_module_id(&kernel);
	}
	symbols_modules(put_module_id);
	symbols_ids(put_file_id);
	return b->n > from;
}

static bool put_descriptions(struct buf *b)
{
	/* perfdata_end() writes the descriptions of the events: nothing is appended here */
	(void)b;
	return header.run->file->nevents > 0;
}

/* Appends the groups of events: for each a name, the index of its leader and its number of
 * events. */
static bool put_groups(struct buf *b)
{
	const struct pdevent *events_ = header.run->file->events;
	size_t at = b->n;
	u32 n = 0, end;

	perfdata_u32(b, 0);
	for (u32 i = 0; i < header.run->file->nevents; i = end) {
		for (end = i + 1; end < header.run->file->nevents && events_[i].group &&
				  events_[end].group == events_[i].group; end++)
			;
		if (end - i < 2)
			continue;
		perfdata_string(b, (struct str)STR("{anon_group}"));
		perfdata_u32(b, i);
		perfdata_u32(b, end - i);
		n++;
	}
	return list_end(b, at, n);
}

/* Appends the times of the first and the last sample, in ns of the samples' clock. */
static bool put_span(struct buf *b)
{
	perfdata_u64(b, header.run->first);
	perfdata_u64(b, header.run->last);
	return header.run->first != 0;
}

/* Appends the resolution of the samples' clock, in ns. */
static bool put_clockid(struct buf *b)
{
	perfdata_u64(b, (u64)sys_clock_resolution(CLOCK_MONOTONIC));
	return true;
}

/* Appends the time of one moment on CLOCK_REALTIME and on CLOCK_MONOTONIC: perf computes the time
 * of day of each sample from these two times. */
static bool put_clocks(struct buf *b)
{
	perfdata_u32(b, 1); /* version of this feature */
	perfdata_u32(b, CLOCK_MONOTONIC);
	perfdata_u64(b, (u64)sys_now(CLOCK_REALTIME));
	perfdata_u64(b, (u64)sys_now(CLOCK_MONOTONIC));
	return true;
}

/* Other features of perf's tools/perf/util/header.h are left out. BRANCH_STACK, AUXTRACE, STAT,
 * COMPRESSED and DIR_FORMAT describe kinds of files that gpustat does not write; BPF_PROG_INFO and
 * BPF_BTF, programs whose samples it does not resolve. perf report --header prints HYBRID_TOPOLOGY,
 * CACHE and MEM_TOPOLOGY only with -I. The last two would need 576 and 640 bytes of code, while
 * tests/program/t_cost.sh limits the size of the program. */
static const struct {
	u8 number;
	/* function that appends the data of this feature; returns false if the data are unknown */
	bool (*put)(struct buf *b);
} rows[] = {
	{ PD_BUILD_ID, put_ids },
	{ PD_HOSTNAME, put_hostname }, { PD_OSRELEASE, put_release }, { PD_VERSION, put_version },
	{ PD_ARCH, put_machine }, { PD_NRCPUS, put_cpus }, { PD_CPUDESC, put_cpudesc },
	{ PD_CPUID, put_cpuid }, { PD_TOTAL_MEM, put_memory }, { PD_CMDLINE, put_arguments },
	{ PD_EVENT_DESC, put_descriptions }, { PD_CPU_TOPOLOGY, put_topology },
	{ PD_NUMA_TOPOLOGY, put_nodes }, { PD_PMU_MAPPINGS, put_pmus },
	{ PD_GROUP_DESC, put_groups }, { PD_SAMPLE_TIME, put_span },
	{ PD_CLOCKID, put_clockid }, { PD_CPU_PMU_CAPS, put_cpu_capabilities },
	{ PD_CLOCK_DATA, put_clocks }, { PD_PMU_CAPS, put_other_capabilities },
};

/* Appends the bytes of all features to b, and stores the number and the bytes of each feature in
 * `to`, in ascending order of the numbers. Returns the number of features. */
size_t sample_features(const struct pdrun *run, struct buf *b, struct pdfeature to[PD_FEATURES])
{
	size_t n = 0;

	header.run = run;
	for (size_t i = 0; i < LEN(rows); i++) {
		size_t from = b->n;

		if (rows[i].put(b) && !b->full)
			to[n++] = (struct pdfeature){ rows[i].number,
						      str_of(b->p + from, b->n - from) };
		else
			b->n = from;
		b->full = false;
	}
	return n;
}
