/* t_proc.c - sources/host/host.c: host counters, read from tests/trees/host and from a copy of it that
 * changes. SPDX-License-Identifier: MIT */
#include "../../sources/host/host.c"
#include "unit.h"

#define TREE "tests/trees/host"

static char base[100];
static struct hostcounter list[16384];
static size_t nlist;

static void keep(const struct hostcounter *h)
{
	if (nlist < LEN(list))
		list[nlist++] = *h;
}

/* Runs a command in which $D is the folder of the copy. */
static void shell(const char *command)
{
	if (system(command) != 0)
		check(false, "%s", command);
}

/* Writes the bytes to a file of the copy in place, so that open descriptors read them. */
static void put_bytes(const char *path, const char *bytes, size_t n)
{
	char b[512];
	FILE *f;

	snprintf(b, sizeof(b), "%s/%s", base, path);
	f = fopen(b, "w");
	if (!f) {
		*strrchr(b, '/') = '\0';
		mkdir(b, 0755);
		snprintf(b, sizeof(b), "%s/%s", base, path);
		f = fopen(b, "w");
	}
	if (!f || fwrite(bytes, 1, n, f) != n || fclose(f) != 0)
		check(false, "%s is written", path);
}

static void put(const char *path, const char *text)
{
	put_bytes(path, text, strlen(text));
}

static void list_all(void)
{
	host_list(HOST_CPUS, keep);
	host_list(HOST_REST, keep);
}

/* Resets all state, as in a new process, and lists the counters of the machine in this folder. */
static void start(const char *dir)
{
	char b[512];

	host_trim();
	host_trim();
	if (roots.proc >= 0) {
		close(roots.proc);
		close(roots.sys);
	}
	table_all(&host_tables.cpus); /* before cpus is read */
	memset(host.cpus, 0, host_tables.cpus.ready * sizeof(*host.cpus));
	memset(buckets.smalls, 0, sizeof(buckets.smalls));
	host.nsmalls = 0;
	memset(buckets.procs, 0, sizeof(buckets.procs));
	memset(host.disks_sum, 0, sizeof(host.disks_sum));
	host.io_sum[0] = host.io_sum[1] = 0;
	host.ndisks = host.last_disk = host.nprocs = host.io_seen = 0;
	snprintf(b, sizeof(b), "%s/proc", dir);
	roots.proc = open(b, O_RDONLY | O_DIRECTORY);
	snprintf(b, sizeof(b), "%s/sys", dir);
	roots.sys = open(b, O_RDONLY | O_DIRECTORY);
	host_begin();
	nlist = 0;
	list_all();
}

static void copy(void)
{
	shell("rm -rf $D/proc $D/sys && cp -a " TREE "/. $D");
	start(base);
}

static const struct hostcounter *find(const char *name)
{
	for (size_t i = 0; i < nlist; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

struct value {
	long error;
	u64 v, of;
};

static struct value get(const char *name)
{
	const struct hostcounter *h = find(name);
	struct value x = { .error = -1 };

	if (!h) {
		check(false, "%s is listed", name);
		return x;
	}
	x.error = host_read(h, &x.v, &x.of);
	return x;
}

static bool is_value(const char *name, u64 want)
{
	struct value x = get(name);

	if (check(x.error == 0 && x.v == want, "%s is %" PRId64, name, (i64)want))
		return true;
	note("error %ld, %" PRId64, x.error, (i64)x.v);
	return false;
}

static void is_error(const char *name, long want, const char *why)
{
	struct value x = get(name);

	if (!check(x.error == want, "%s: %s", name, why))
		note("error %ld, %" PRId64, x.error, (i64)x.v);
}

static unsigned fds_open(void)
{
	unsigned n = 0;

	for (int fd = 0; fd < 512; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* --- every row -------------------------------------------------------------------------------- */

#define NO UINT64_MAX

static const struct {
	const char *name, *unit;
	u8 rule;
	u64 v, of, max;
} expects[] = {
	{ "cpu/all/util", "%", R_SHARE, 19450, 296550, 100 },
	{ "cpu/cpu0/util", "%", R_SHARE, 7200, 98700, 100 },
	{ "cpu/cpu0/user", "%", R_SHARE, 5200, 98700, 100 },
	{ "cpu/cpu0/kernel", "%", R_SHARE, 1950, 98700, 100 },
	{ "cpu/cpu0/idle", "%", R_SHARE, 90000, 98700, 100 },
	{ "cpu/cpu0/iowait", "%", R_SHARE, 1500, 98700, 100 },
	{ "cpu/cpu0/irq", "%", R_SHARE, 150, 98700, 100 },
	{ "cpu/cpu0/steal", "%", R_SHARE, 50, 98700, 100 },
	{ "cpu/cpu3/util", "%", R_SHARE, 6130, 99330, 100 },
	{ "cpu/cpu0/freq", "Hz", R_LEVEL, 1416000000, 0, 1800000000 },
	{ "cpu/cpu3/freq", "Hz", R_LEVEL, 1992250000, 0, NO },
	{ "cpu/all/switches", "1/s", R_RATE, 91234567, 0, NO },
	{ "cpu/all/interrupts", "1/s", R_RATE, 48123456, 0, NO },
	{ "memory/-/total", "bytes", R_LEVEL, UINT64_C(4136108032), 0, NO },
	{ "memory/-/used", "bytes", R_LEVEL, 1734133760, 0, UINT64_C(4136108032) },
	{ "memory/-/available", "bytes", R_LEVEL, UINT64_C(2401974272), 0, UINT64_C(4136108032) },
	{ "memory/-/cached", "bytes", R_LEVEL, 1580247040, 0, UINT64_C(4136108032) },
	{ "memory/-/committed", "bytes", R_LEVEL, UINT64_C(3059357696), 0, UINT64_C(3141791744) },
	{ "swap/-/total", "bytes", R_LEVEL, 1073737728, 0, NO },
	{ "swap/-/used", "bytes", R_LEVEL, 134213632, 0, 1073737728 },
	{ "vm/-/faults", "1/s", R_RATE, 51234567, 0, NO },
	{ "vm/-/major_faults", "1/s", R_RATE, 4321, 0, NO },
	{ "disk/sda/read", "bytes/s", R_RATE, UINT64_C(9876540) * 512, 0, NO },
	{ "disk/sda/write", "bytes/s", R_RATE, UINT64_C(12345678) * 512, 0, NO },
	{ "disk/mmcblk0/write", "bytes/s", R_RATE, 234560 * 512, 0, NO },
	{ "disk/dm-0/read", "bytes/s", R_RATE, UINT64_C(9860000) * 512, 0, NO },
	{ "disk/zram0/write", "bytes/s", R_RATE, 45424 * 512, 0, NO },
	{ "disk/all/read", "bytes/s", R_RATE, (UINT64_C(9876540) + 123450) * 512, 0, NO },
	{ "disk/all/write", "bytes/s", R_RATE, (UINT64_C(12345678) + 234560) * 512, 0, NO },
	{ "file/all/read", "bytes/s", R_RATE, 0, 0, NO },
	{ "file/all/write", "bytes/s", R_RATE, 0, 0, NO },
	{ "processes/-/count", "", R_LEVEL, 5, 0, NO },
	{ "processes/-/running", "", R_LEVEL, 3, 0, NO },
	{ "processes/-/blocked", "", R_LEVEL, 1, 0, NO },
	{ "processes/-/forks", "1/s", R_RATE, 23451, 0, NO },
	{ "threads/-/count", "", R_LEVEL, 187, 0, NO },
	{ "load/-/1", "1/100", R_LEVEL, 107, 0, NO },
	{ "load/-/5", "1/100", R_LEVEL, 64, 0, NO },
	{ "load/-/15", "1/100", R_LEVEL, 35, 0, NO },
	{ "thermal/cpu-thermal/temp", "mC", R_LEVEL, 48250, 0, NO },
	{ "thermal/acpitz/temp", "mC", R_LEVEL, (u64)-4500, 0, NO },
	{ "thermal/acpitz#2/temp", "mC", R_LEVEL, 27800, 0, NO },
	{ "thermal/soc_top_1/temp", "mC", R_LEVEL, 51000, 0, NO },
	{ "energy/package-0/energy", "uJ", R_COUNT, UINT64_C(123456789012), 0, NO },
	{ "energy/package-0/power", "uW", R_RATE, UINT64_C(123456789012), 0, NO },
	{ "energy/package-0-core/energy", "uJ", R_COUNT, UINT64_C(98765432109), 0, NO },
	{ "energy/package-0-uncore/energy", "uJ", R_COUNT, UINT64_C(262143000000), 0, NO },
};

static void t_rows(void)
{
	u64 page = sys_page_size();

	start(TREE);
	for (size_t i = 0; i < LEN(expects); i++) {
		const struct hostcounter *h = find(expects[i].name);
		struct value x = get(expects[i].name);

		if (!check(h && x.error == 0 && x.v == expects[i].v && x.of == expects[i].of && h->rule == expects[i].rule &&
			   h->max == expects[i].max && strcmp(h->unit, expects[i].unit) == 0 && *h->what, "%s", expects[i].name) && h)
			note("error %ld, %" PRIu64 " of %" PRIu64 ", rule %d, max %" PRIu64 " %s", x.error, x.v, x.of, h->rule,
			     h->max, h->unit);
	}
	is_value("vm/-/swap_in", 1234 * page);
	is_value("vm/-/swap_out", 5678 * page);
	is_error("cpu/cpu2/util", -ENOENT, "an offline CPU has no utilization");
	is_error("cpu/cpu2/freq", -ENOENT, "an offline CPU has no clock frequency");
	check(!find("disk/sda1/read"), "a partition is not listed as a disk");
}

static void t_names(void)
{
	size_t same = 0, long_ = 0;

	for (size_t i = 0; i < nlist; i++) {
		struct str s = str_z(list[i].name), device, instance;

		same += find(list[i].name) != &list[i];
		long_ += !str_cut(&s, '/', &device) || !str_cut(&s, '/', &instance) || s.p == s.e || str_find(s, S("/"));
	}
	check(same == 0, "no name is listed twice");
	check(long_ == 0 && nlist > 80, "each name is device/instance/quantity");
}

/* Shares of elapsed time, measured by this process's clock. */
static void t_elapsed(void)
{
	static const struct {
		const char *name;
		u64 v, ns;
	} shares[] = {
		{ "pressure/cpu/some", 31234567, 1000 }, { "pressure/cpu/full", 0, 1000 },
		{ "pressure/memory/some", 234567, 1000 }, { "pressure/memory/full", 123456, 1000 },
		{ "pressure/io/some", 9876543, 1000 }, { "pressure/io/full", 8765432, 1000 },
		{ "disk/sda/util", 65432, 1000000 }, { "disk/mmcblk0/util", 8765, 1000000 },
	};

	for (size_t i = 0; i < LEN(shares); i++) {
		u64 before = (u64)sys_now(CLOCK_MONOTONIC) / shares[i].ns, after;
		struct value x;

		host_begin();
		x = get(shares[i].name);
		after = (u64)sys_now(CLOCK_MONOTONIC) / shares[i].ns;
		check(x.error == 0 && x.v == shares[i].v && x.of >= before && x.of <= after && find(shares[i].name)->max == 100,
		      "%s is a share of elapsed time", shares[i].name);
	}
}

/* --- readings --------------------------------------------------------------------------------- */

static void t_once(void)
{
	unsigned had;

	copy();
	had = fds_open();
	is_value("load/-/1", 107);
	is_value("thermal/acpitz/temp", (u64)-4500);
	check(fds_open() == had + 2, "the files of a reading stay open");
	put("proc/loadavg", "2.00 1.00 0.50 1/200 3\n");
	put("sys/class/thermal/thermal_zone1/temp", "1000\n");
	is_value("load/-/1", 107);
	is_value("thermal/acpitz/temp", (u64)-4500);
	host_begin();
	is_value("load/-/1", 200);
	is_value("thermal/acpitz/temp", 1000);
	check(fds_open() == had + 2, "two files are open after the second reading");
	host_trim();
	check(fds_open() == had + 2, "host_trim() closes no file that was read since the last trim");
	host_begin();
	is_value("load/-/5", 100);
	host_trim();
	check(fds_open() == had + 1, "host_trim() closes the zone's file, which was not read again");
	host_trim();
	check(fds_open() == had, "host_trim() closes loadavg, which was not read again");
	list_all();
	check(fds_open() == had, "listing the counters leaves no file open");
}

static u64 percent(struct value a, struct value b)
{
	return b.of > a.of ? (b.v - a.v) * 100 / (b.of - a.of) : NO;
}

static void t_cpu_deltas(void)
{
	static const char *const parts[] = { "user", "kernel", "idle", "iowait", "steal" };
	struct value was[LEN(parts)], now, util;
	u64 sum = 0;

	copy();
	put("proc/stat", "cpu0 1000 0 1000 1000 1000 0 0 0 500 0\n");
	host_begin();
	util = get("cpu/cpu0/util");
	for (size_t i = 0; i < LEN(parts); i++) {
		char name[64];

		snprintf(name, sizeof(name), "cpu/cpu0/%s", parts[i]);
		was[i] = get(name);
	}
	put("proc/stat", "cpu0 1040 0 1010 1020 1010 5 5 10 540 0\n");
	host_begin();
	check_u64(percent(util, get("cpu/cpu0/util")), 70, "the CPU is busy for 70 of 100 jiffies: guest time is part of user time");
	for (size_t i = 0; i < LEN(parts); i++) {
		static const u64 want[] = { 40, 20, 20, 10, 10 };
		char name[64];

		snprintf(name, sizeof(name), "cpu/cpu0/%s", parts[i]);
		now = get(name);
		check_u64(percent(was[i], now), want[i], "%s has its share of the interval", name);
		sum += percent(was[i], now);
		was[i] = now;
	}
	check_u64(sum, 100, "the shares add up to 100 %%");
	util = get("cpu/cpu0/util");
	put("proc/stat", "cpu0 1050 0 1010 1000 1000 5 5 10 540 0\n");
	host_begin();
	check_u64(percent(util, get("cpu/cpu0/util")), 100, "decreased idle and iowait add no time");
	now = get("cpu/cpu0/idle");
	check(now.v == was[2].v && now.of == was[2].of + 10, "idle keeps its value when it decreases");
	now = get("cpu/cpu0/iowait");
	check(now.v == was[3].v, "iowait keeps its value when it decreases");
	was[2] = get("cpu/cpu0/idle");
	put("proc/stat", "cpu0 1050 0 1010 1010 1000 5 5 10 540 0\n");
	host_begin();
	check_u64(percent(was[2], get("cpu/cpu0/idle")), 100, "idle continues from its value after the decrease");
}

static void t_cpu_comes(void)
{
	copy();
	put("proc/stat", "cpu 1 1 1 1\ncpu0 1 2 3 4\ncpu2 5 6 7 8 9\n");
	host_begin();
	is_value("cpu/cpu2/user", 11);
	is_value("cpu/cpu2/iowait", 9);
	is_value("cpu/cpu0/kernel", 3);
	is_error("cpu/cpu0/iowait", -ENOENT, "kernels before 2.5.41 have no iowait");
	is_error("cpu/cpu2/steal", -ENOENT, "this CPU has no steal column");
	is_error("cpu/cpu1/util", -ENOENT, "a CPU that disappeared has no utilization");
	shell("rm $D/sys/devices/system/cpu/present");
	start(base);
	check(find("cpu/cpu2/util") && !find("cpu/cpu1/util"), "without the file `present`, the CPUs in /proc/stat are listed");
}

/* cpu/all/util, in percent, since the reading before. */
static u64 all_util(const char *stat)
{
	static struct value was;
	struct value before = was;

	put("proc/stat", stat);
	host_begin();
	was = get("cpu/all/util");
	return percent(before, was);
}

static void t_cpu_goes(void)
{
	copy();
	all_util("cpu 200 0 0 3000\ncpu0 100 0 0 1000\ncpu1 100 0 0 2000\n");
	check_u64(all_util("cpu 230 0 0 3170\ncpu0 130 0 0 1070\ncpu1 100 0 0 2100\n"), 15, "two CPUs: 30 of 200 jiffies");
	check_u64(all_util("cpu 250 0 0 1160\ncpu0 150 0 0 1150\n"), 20, "a CPU disappears with its idle time: 20 of 100 of the other one");
	check_u64(all_util("cpu 300 0 0 1210\ncpu0 200 0 0 1200\n"), 50, "the remaining CPU: 50 of 100");
	check_u64(all_util("cpu 390 0 0 3310\ncpu0 290 0 0 1210\ncpu1 100 0 0 2100\n"), 90, "the CPU returns: 90 of 100 of the other one");
	check_u64(all_util("cpu 410 0 0 3490\ncpu0 300 0 0 1300\ncpu1 110 0 0 2190\n"), 10, "both CPUs: 20 of 200");
	check_u64(all_util("cpu 510 0 0 3590\ncpu2 100 0 0 100\n"), NO, "a third CPU replaces both: unknown");
	put("proc/stat", "");
	host_begin();
	is_error("cpu/all/util", -ENOENT, "an empty /proc/stat has no utilization");
	check_u64(all_util("cpu 530 0 0 3670\ncpu2 120 0 0 180\n"), 20, "after an empty /proc/stat: 20 of 100");
}

static void t_big(void)
{
	static char b[1 << 20];
	size_t n = (size_t)snprintf(b, sizeof(b), "cpu 1 2 3 4 5 6 7 8 9 10\n");

	copy();
	for (int i = 0; i < 1024; i++)
		n += (size_t)snprintf(b + n, sizeof(b) - n, "cpu%d 10000000%04d 2345678 3456789 9876543210 45678 0 56789 0 0 0\n", i, i);
	n += (size_t)snprintf(b + n, sizeof(b) - n, "intr 123456");
	for (int i = 0; i < 60000; i++)
		n += (size_t)snprintf(b + n, sizeof(b) - n, " 0");
	snprintf(b + n, sizeof(b) - n, "\nctxt 4711\n");
	put("proc/stat", b);
	put("sys/devices/system/cpu/present", "0-1023\n");
	start(base);
	is_value("cpu/cpu1023/user", UINT64_C(100000001023) + 2345678);
	is_value("cpu/all/switches", 4711);
	check(find("cpu/cpu999/irq") != NULL, "1024 CPUs are listed");
}

static void t_memory(void)
{
	copy();
	put("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nBuffers: 20 kB\nCached: 30 kB\n");
	host_begin();
	is_value("memory/-/available", 150 * 1024);
	is_value("memory/-/used", 850 * 1024);
	is_error("swap/-/used", -ENOENT, "meminfo without a swap line");
	put("proc/meminfo", "MemTotal: 1000 kB\nMemFree: 100 kB\nMemAvailable: 1001 kB\nSwapTotal: 18446744073709551615 kB\n");
	host_begin();
	is_error("memory/-/used", -ENOENT, "more memory available than total");
	is_error("swap/-/total", -ENOENT, "a size beyond 64 bits");
}

static void t_pressure(void)
{
	copy();
	put("proc/pressure/cpu", "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n");
	put("proc/pressure/io", "");
	host_begin();
	is_value("pressure/cpu/some", 77);
	is_error("pressure/cpu/full", -ENOENT, "kernels before 5.13 have no such line");
	is_error("pressure/io/some", -ENOENT, "an empty pressure file");
	shell("rm -r $D/proc/pressure");
	is_error("pressure/memory/some", -ENOENT, "kernels before 4.20 have no pressure");
	start(base);
	check(!find("pressure/memory/some") && !find("pressure/cpu/full"), "without /proc/pressure, no pressure is listed");
}

/* --- disks ------------------------------------------------------------------------------------ */

static void t_disks(void)
{
	static const char tail[] = " 8 0 mmcblk0 0 0 100 0 0 0 200 0 0 5\n 253 0 dm-0 0 0 1000 0 0 0 2000 0 0 0\n";
	char b[1000];
	u64 total;

	copy();
	snprintf(b, sizeof(b), " 8 0 sda 0 0 10 0 0 0 20 0 0 4294967290\n 8 1 sda1 0 0 10 0 0 0 20 0 0 0\n%s", tail);
	put("proc/diskstats", b);
	start(base);
	is_value("disk/all/read", 110 * 512);
	is_value("disk/sda/util", UINT64_C(4294967290));
	snprintf(b, sizeof(b), " 8 0 sda 0 0 15 0 0 0 20 0 0 4\n 8 1 sda1 0 0 15 0 0 0 20 0 0 0\n%s", tail);
	put("proc/diskstats", b);
	host_begin();
	is_value("disk/all/read", 115 * 512);
	is_value("disk/all/write", 220 * 512);
	is_value("disk/sda/util", UINT64_C(4294967300));
	put("proc/diskstats", tail);
	host_begin();
	is_error("disk/sda/read", -ENOENT, "a disk that was removed");
	is_value("disk/all/read", 115 * 512);
	snprintf(b, sizeof(b), "%s 8 0 sda 0 0 2 0 0 0 0 0 0 0\n", tail);
	put("proc/diskstats", b);
	host_begin();
	total = get("disk/all/read").v;
	check(total >= 115 * 512 && total <= 117 * 512, "a new disk with the name of a removed one does not lower the total");
}

static void t_disk_names(void)
{
	copy();
	shell("mkdir -p $D/sys/block/cciss'!'c0d0 $D/sys/block/'a\x01z' $D/sys/block/nvme0n1 && "
	      "echo 1 >$D/sys/block/nvme0n1/hidden && echo 0 >$D/sys/block/loop0/size");
	put("proc/diskstats", " 1 0 cciss/c0d0 0 0 1 0 0 0 0 0 0 0\n 1 0 a\x01z 0 0 2 0 0 0 0 0 0 0\n 7 0 loop0 0 0 4 0 0 0 0 0 0 0\n"
	    " 9 0 nvme0n1 0 0 8 0 0 0 0 0 0 0\n 9 0 .. 0 0 16 0 0 0 0 0 0 0\n 9 0 unknown 0 0 32 0 0 0 0 0 0 0\n");
	start(base);
	is_value("disk/cciss_c0d0/read", 512);
	is_value("disk/a_z/read", 1024);
	check(!find("disk/loop0/read"), "a loop device without a file is not listed");
	check(!find("disk/../read") && !find("disk/unknown/read"), "a disk that is not in /sys/block is not listed");
	is_value("disk/all/read", 3 * 512);
}

/* --- I/O of processes ------------------------------------------------------------------------- */

static void process(u32 pid, u32 parent, u64 began, i64 rchar)
{
	char path[64], b[512];

	snprintf(path, sizeof(path), "proc/%u/stat", pid);
	snprintf(b, sizeof(b), "%u (a) b) S %u 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 %" PRIu64 " 0 0\n", pid, parent, began);
	put(path, b);
	snprintf(path, sizeof(path), "proc/%u/io", pid);
	snprintf(b, sizeof(b), rchar < 0 ? "denied\n" : "rchar: %" PRId64 "\nwchar: %" PRId64 "\nsyscr: 1\n", rchar, rchar);
	put(path, b);
}

static void ends(const char *pid)
{
	char b[64];

	snprintf(b, sizeof(b), "rm -r $D/proc/%s", pid);
	shell(b);
}

static void io_is(u64 want, const char *what)
{
	host_begin();
	check_u64(get("file/all/read").v, want, "file/all/read: %s", what);
}

static void t_io(void)
{
	copy();
	shell("rm -r $D/proc/2 $D/proc/57 $D/proc/812 $D/proc/2301");
	process(1, 0, 10, 1000);
	process(50, 1, 20, 5000);
	process(60, 1, 20, -1);
	start(base);
	io_is(0, "existing processes count from the first reading");
	process(1, 0, 10, 1100);
	process(70, 50, 30, 40);
	io_is(140, "a new process counts from 0");
	process(60, 1, 20, 99999);
	io_is(140, "a process that becomes readable counts from that reading");
	ends("60");
	process(70, 50, 30, 45);
	io_is(145, "an exited process does not lower the total");
	ends("70");
	process(50, 1, 20, 5000 + 50);
	io_is(150, "the counts that a parent inherits are not counted twice");
	process(50, 1, 25, 600);
	io_is(750, "a reused PID is a new process");
	process(80, 50, 31, 10);
	process(81, 80, 32, 20);
	io_is(780, "a child and a grandchild");
	ends("80");
	ends("81");
	process(50, 1, 25, 600 + 33);
	io_is(783, "both exit, and the parent inherits their counts and adds three bytes");
	process(50, 1, 25, 600);
	io_is(783, "a decreased count");
	ends("50");
	io_is(783, "a process that exited without a waiting parent");
	is_value("file/all/write", 783);
	process(90, 1, 40, 0);
	process(91, 90, 41, 7);
	io_is(790, "a child of a new process");
	ends("91");
	process(90, 1, 40, 7);
	io_is(790, "a parent that inherits exactly the counts of its child adds nothing");
}

static void t_io_hostile(void)
{
	copy();
	process(812, 2301, 5, 10);
	process(2301, 812, 6, 10);
	io_is(0, "two processes that are each other's parents");
	ends("812");
	ends("2301");
	io_is(0, "two processes that were each other's parents exit");
	put("proc/900/io", "rchar: 1\nwchar: 1\n");
	put("proc/900/stat", "900 (x S 1\n");
	put("proc/901/stat", "901 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 77 0 0\n");
	put("proc/901/io", "rchar: 18446744073709551615\nwchar: 1\n");
	put("proc/902/stat", "902 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 0 0 1 0 77 0 0\n");
	put("proc/902/io", "rchar: 5\n");
	io_is(0, "processes with invalid stat or io are left out");
}

static void t_denied(void)
{
	bool root = geteuid() == 0;

	copy();
	shell("chmod 755 $D; chmod -R a+rX $D/proc $D/sys; chmod 0 $D/proc/[0-9]*/io; "
	      "chmod 0 $D/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj");
	if (root && seteuid(65534) != 0)
		check(false, "root's rights are dropped");
	start(base);
	is_error("file/all/read", -EACCES, "the I/O of no process is readable");
	is_error("energy/package-0/energy", -EACCES, "energy is readable only for root");
	is_value("energy/package-0-core/energy", UINT64_C(98765432109));
	if (root && seteuid(0) != 0)
		check(false, "root's rights are restored");
	host_begin();
	shell("chmod 644 $D/proc/812/io");
	if (root)
		is_value("file/all/read", 0);
	else
		is_error("file/all/read", -EACCES, "the sum over a user's own processes is not that of all");
	shell("chmod 644 $D/sys/devices/virtual/powercap/intel-rapl/intel-rapl:0/energy_uj");
	is_value("energy/package-0/energy", UINT64_C(123456789012));
}

static void t_why(void)
{
	static const struct {
		long error, want;
	} whys[] = {
		{ -EAGAIN, -ENOENT }, { -ENODATA, -ENOENT }, { -ENODEV, -ENOENT }, { -EOPNOTSUPP, -ENOENT }, { -EIO, -ENOENT },
		{ -ESRCH, -ENOENT }, { -EPERM, -EACCES }, { -EACCES, -EACCES }, { -EMFILE, -EMFILE },
	};

	for (size_t i = 0; i < LEN(whys); i++)
		check(error_simplify(whys[i].error) == whys[i].want, "error_simplify() of errno in row %zu", i);
}

/* --- temperature, energy, clock frequency ----------------------------------------------------- */

static void t_energy(void)
{
	const char *file = "sys/class/powercap/intel-rapl:0:1/energy_uj", *name = "energy/package-0-uncore/energy";

	copy();
	is_value(name, UINT64_C(262143000000));
	put(file, "262143328000\n");
	host_begin();
	is_value(name, UINT64_C(262143328000));
	put(file, "150\n");
	host_begin();
	is_value(name, UINT64_C(262143328850) + 150);
	is_value("energy/package-0-uncore/power", UINT64_C(262143328850) + 150);
	put(file, "250\n");
	host_begin();
	is_value(name, UINT64_C(262143328850) + 250);
	put(file, "-1\n");
	host_begin();
	is_error(name, -ENOENT, "a negative energy");
	put(file, "251\n");
	host_begin();
	is_value(name, UINT64_C(262143328850) + 251);
	put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "1000\n");
	start(base);
	is_value("energy/package-0/energy", UINT64_C(123456789012));
	put("sys/class/powercap/intel-rapl:0/energy_uj", "5\n");
	host_begin();
	is_error("energy/package-0/energy", -ENOENT, "a decrease beyond the range is no wrap");
	put("sys/class/powercap/intel-rapl:0/energy_uj", "8\n");
	host_begin();
	is_value("energy/package-0/energy", UINT64_C(123456789015));
	put("sys/class/powercap/intel-rapl:0/max_energy_range_uj", "262143328850\n");
	start(base);
	is_value("energy/package-0/energy", 8);
	put("sys/class/powercap/intel-rapl:0/energy_uj", "7\n");
	host_begin();
	is_error("energy/package-0/energy", -ENOENT, "a decrease that 262 kJ would explain is no wrap");
	put("sys/class/thermal/thermal_zone1/temp", "-256000\n");
	host_begin();
	is_error("thermal/acpitz/temp", -ENOENT, "a temperature that is not plausible is unknown");
}

static void t_zones(void)
{
	copy();
	shell("cd $D/sys/class/thermal && mkdir thermal_zone10 thermal_zone4 thermal_zonex thermal_zone");
	put("sys/class/thermal/thermal_zone10/type", "cpu-thermal\n");
	put("sys/class/thermal/thermal_zone10/temp", "1\n");
	put("sys/class/thermal/thermal_zone4/temp", "9223372036854775808\n");
	put("sys/class/thermal/thermal_zone2/type", "a b\tc\x7f" "0123456789012345678901234567890123456789\n");
	put("sys/class/thermal/thermal_zone0/temp", "");
	start(base);
	is_value("thermal/cpu-thermal#10/temp", 1);
	is_error("thermal/cpu-thermal/temp", -ENOENT, "a sensor without a value");
	is_error("thermal/zone4/temp", -ENOENT, "a temperature beyond 64 bits");
	is_value("thermal/a_b_c_0123456789012345678901234/temp", 27800);
	check(!find("thermal/zone/temp") && !find("thermal/zonex/temp"), "a folder without a number is not a thermal zone");
}

static void t_clocks(void)
{
	copy();
	put("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "<unknown>\n");
	host_begin();
	is_value("cpu/cpu0/freq", 1399998000);
	is_value("cpu/cpu1/freq", 800000000);
	put("sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq", "9223372036854775807\n");
	put("proc/cpuinfo", "processor : 1\nBogoMIPS : 5\n\ncpu MHz : 7\nprocessor : x\ncpu MHz : 9\nprocessor : 9999\ncpu MHz : 1\n");
	host_begin();
	is_error("cpu/cpu0/freq", -ENOENT, "a frequency beyond 64 bits");
	is_value("cpu/cpu1/freq", 7000000);
	put("proc/cpuinfo", "processor : 0\n");
	start(base);
	check(!find("cpu/cpu3/freq") && find("cpu/cpu0/freq"), "a CPU without cpufreq and `cpu MHz` has no frequency in the list");
}

/* --- invalid bytes ---------------------------------------------------------------------------- */

static void t_hostile(void)
{
	static const struct {
		const char *file, *text, *name;
	} bad[] = {
		{ "proc/stat", "cpu0\n", "cpu/cpu0/util" },
		{ "proc/stat", "cpu0 1 2 3\n", "cpu/cpu0/util" },
		{ "proc/stat", "cpu0 1 2 3 x\n", "cpu/cpu0/user" },
		{ "proc/stat", "cpu0 1 2 3 4 -5\n", "cpu/cpu0/user" },
		{ "proc/stat", "cpu0 18446744073709551615 2 3 4\n", "cpu/cpu0/user" },
		{ "proc/stat", "cpu0 99999999999999999999 2 3 4\n", "cpu/cpu0/user" },
		{ "proc/stat", "cpu00000000000000000000000000000 1 2 3\n", "cpu/cpu0/user" },
		{ "proc/stat", "ctxt -1\n", "cpu/all/switches" },
		{ "proc/stat", "ctxt 1x\n", "cpu/all/switches" },
		{ "proc/stat", "ctxt\n\n \n", "cpu/all/switches" },
		{ "proc/vmstat", "pswpin 18446744073709551615\n", "vm/-/swap_in" },
		{ "proc/loadavg", "\n", "load/-/1" },
		{ "proc/loadavg", "1.0x 1 1 1/1 1\n", "load/-/1" },
		{ "proc/loadavg", "1 1 1 2 3\n", "threads/-/count" },
		{ "proc/loadavg", "1 1 1 2/x 3\n", "threads/-/count" },
		{ "proc/loadavg", "999999999999999999.99 1 1\n", "load/-/1" },
		{ "proc/pressure/io", "some total=\nsome\nsome total=99999999999999999999\n", "pressure/io/some" },
		{ "proc/diskstats", " 8 0 sda 1 2 3 4 5 6 7 8 9\n", "disk/sda/read" },
		{ "proc/diskstats", " 8 0 sda 1 2 18446744073709551615 4 5 6 7 8 9 10\n", "disk/sda/read" },
		{ "proc/diskstats", " 8 0 sda 1 2 3 4 5 6 7 8 9 99999999999999999999\n", "disk/sda/util" },
	};

	for (size_t i = 0; i < LEN(bad); i++) {
		char why[64];

		copy();
		put(bad[i].file, bad[i].text);
		host_begin();
		snprintf(why, sizeof(why), "no value from invalid text in row %zu", i);
		is_error(bad[i].name, -ENOENT, why);
	}
}

/* A sum: it may be lower if a file is truncated. */
static bool is_sum(const char *name)
{
	return strncmp(name, "disk/all/", 9) == 0;
}

/* The number of counters that have neither their value in `whole` nor none. */
static size_t wrong_values(const struct value *whole, size_t n)
{
	size_t wrong = 0;

	for (size_t i = 0; i < n; i++) {
		struct value x;

		x.error = host_read(&list[i], &x.v, &x.of);
		if (x.error && whole[i].error)
			continue;
		if (x.error == 0 && (is_sum(list[i].name) ? x.v > whole[i].v : x.v != whole[i].v)) {
			note("%s: %" PRIu64 ", not %" PRIu64, list[i].name, x.v, whole[i].v);
			wrong++;
		}
	}
	return wrong;
}

static void forget(void)
{
	memset(host.cpus, 0, sizeof(host.cpus[0]) * (CPU_FIRST + 8));
	for (size_t i = 0; i < host.nsmalls; i++)
		host.smalls[i].energy.has_reading = false;
	memset(host.disks_sum, 0, sizeof(host.disks_sum));
	memset(buckets.procs, 0, sizeof(buckets.procs));
	host.io_sum[0] = host.io_sum[1] = 0;
	host.ndisks = host.nprocs = host.io_seen = 0;
	host_begin();
}

static void truncated(const char *path, const struct value *whole, size_t n)
{
	static char b[1 << 14], full[512];
	size_t wrong = 0, bytes;
	FILE *f;

	snprintf(full, sizeof(full), "%s/%s", base, path);
	f = fopen(full, "r");
	bytes = f ? fread(b, 1, sizeof(b), f) : 0;
	if (f)
		fclose(f);
	for (size_t cut = 0; cut <= bytes; cut++) {
		put_bytes(path, b, cut);
		forget();
		wrong += wrong_values(whole, n);
	}
	check(bytes > 0 && wrong == 0, "%s, truncated after each byte, results in no wrong value", path);
}

static void t_truncated(void)
{
	static const char *const files[] = {
		"proc/stat", "proc/meminfo", "proc/vmstat", "proc/diskstats", "proc/loadavg", "proc/cpuinfo", "proc/pressure/cpu",
		"proc/pressure/memory", "proc/pressure/io", "proc/812/io", "proc/812/stat",
		"sys/class/thermal/thermal_zone1/temp", "sys/class/powercap/intel-rapl:0/energy_uj",
		"sys/class/powercap/intel-rapl:0/max_energy_range_uj", "sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq",
	};
	static struct value whole[512];
	size_t n;

	copy();
	put("proc/cpuinfo", "processor : 3\ncpu MHz : 1992.250\n"); /* a CPU whose frequency is not in cpufreq */
	start(base);
	n = nlist < LEN(whole) ? nlist : LEN(whole);
	for (size_t i = 0; i < n; i++)
		whole[i].error = host_read(&list[i], &whole[i].v, &whole[i].of);
	check(wrong_values(whole, n) == 0, "a second reading has the same values");
	for (size_t i = 0; i < LEN(files); i++)
		truncated(files[i], whole, n);
}

/* Files that are read only to list the counters. */
static void t_truncated_lists(void)
{
	static const char *const files[] = {
		"sys/devices/system/cpu/present", "sys/class/thermal/thermal_zone3/type", "sys/class/powercap/intel-rapl:0/name",
		"sys/devices/system/cpu/cpufreq/policy0/cpuinfo_max_freq", "sys/block/loop0/size",
	};

	copy();
	for (size_t i = 0; i < LEN(files); i++) {
		char full[512], b[256];
		size_t bytes, had = nlist, least = SIZE_MAX;
		FILE *f;

		snprintf(full, sizeof(full), "%s/%s", base, files[i]);
		f = fopen(full, "r");
		bytes = f ? fread(b, 1, sizeof(b), f) : 0;
		if (f)
			fclose(f);
		for (size_t cut = 0; cut <= bytes; cut++) {
			put_bytes(files[i], b, cut);
			host_begin();
			nlist = 0;
			list_all();
			least = nlist < least ? nlist : least;
			for (size_t k = 0; k < nlist; k++)
				if (strcmp(list[k].name, "cpu/cpu0/freq") == 0 && list[k].max != NO && list[k].max != 1800000000)
					check(false, "a truncated maximum frequency: %" PRIu64, list[k].max);
		}
		check(bytes > 0 && nlist == had && least > 60, "%s, truncated after each byte: the other counters are still listed", files[i]);
	}
}

static void t_fields(void)
{
	const char *unit = "";
	bool level = false;
	u64 v = 0;
	u8 file;

	start(TREE);
	check(procfield_find(S("MemAvailable"), &file, &level, &unit) && level && strcmp(unit, "bytes") == 0 &&
	      procfield_read(file, S("MemAvailable"), &v) && v == UINT64_C(2345678) * 1024, "a field of meminfo");
	check(procfield_find(S("ctxt"), &file, &level, &unit) && !level && !unit && procfield_read(file, S("ctxt"), &v) &&
	      v == 91234567, "a field of stat");
	check(procfield_find(S("nr_free_pages"), &file, &level, &unit) && level && !unit, "a level of vmstat");
	check(procfield_find(S("pgfault"), &file, &level, &unit) && !level, "a count of vmstat");
	check(!procfield_find(S("btime"), &file, &level, &unit) && !procfield_find(S("cpu0"), &file, &level, &unit) &&
	      !procfield_find(S(""), &file, &level, &unit), "fields that are not offered are not found");
}

/* Returns how many rows of the table with this name were left out since the last call. */
static u32 left_out(const char *name)
{
	const struct table *t;
	u32 n, sum = 0;

	while ((t = table_full(&n)))
		sum += strcmp(t->name, name) == 0 ? n : 0;
	return sum;
}

/* Fills each table and adds one row: those before the limit are right, the others are counted. */
static void t_full(void)
{
	static char b[1 << 20], c[1 << 20];
	struct buf all = BUF(b), one = BUF(c);
	const struct small_file *f;
	char name[64];
	u32 dropped, bad = 0;
	u64 total;

	copy();
	for (u32 i = 0; i <= MAX_DISKS; i++) {
		put_z(&all, "8 0 sd");
		put_u64(&all, i);
		put_z(&all, " 0 0 2 0 0 0 1 0 0 5\n");
	}
	dropped = registry.dropped;
	host.ndisks = 0;
	disks_parse(str_of(all.p, all.n));
	check(!all.full && host.ndisks == MAX_DISKS && registry.dropped == dropped + 1 && left_out("disks") == 1,
	      "full table of disks: one more is counted");
	for (u32 i = 0; i < MAX_DISKS; i++) {
		snprintf(name, sizeof(name), "sd%u", (unsigned)i);
		bad += disk_find(str_z(name)) != i || host.disks[i].seen != host.reading || host.disks[i].was[DK_READ] != 2;
	}
	snprintf(name, sizeof(name), "sd%u", (unsigned)MAX_DISKS);
	check(!bad && disk_find(str_z(name)) == MAX_DISKS && disk_read(&(struct row){ .arg = DK_READ }, str_z(name), &total, &total) == -ENOENT,
	      "full table of disks: those before the limit are right, one more is unknown");

	shell("mkdir -p $D/sys/many");
	for (u32 i = 0; i <= MAX_ZONES; i++) {
		snprintf(name, sizeof(name), "sys/many/zone%u", (unsigned)i);
		put(name, "");
	}
	dropped = registry.dropped;
	zones_find("many", S("zone"));
	for (u32 i = 1; i < MAX_ZONES; i++)
		bad += str_order(zone_inst(&host.zones[i - 1]), zone_inst(&host.zones[i])) >= 0;
	check(!bad && host.nzones == MAX_ZONES && registry.dropped == dropped + 1 && left_out("thermal and energy zones") == 1,
	      "full table of zones: those before the limit are sorted, one more is counted");

	memset(buckets.procs, 0, sizeof(buckets.procs));
	host.nprocs = 0;
	dropped = registry.dropped;
	for (u32 pid = 1; pid <= MAX_PROCS; pid++)
		bad += proc_add(pid, 7) != &host.procs[pid];
	check(!bad && !proc_add(MAX_PROCS + 1, 7) && registry.dropped == dropped + 1 && left_out("processes with I/O") == 1,
	      "full table of processes: one more is counted");
	for (u32 pid = 1; pid <= MAX_PROCS; pid++)
		bad += proc_find(pid, 7) != pid;
	check(!bad && !proc_find(MAX_PROCS + 1, 7), "full table of processes: those before the limit are found");
	memset(buckets.procs, 0, sizeof(buckets.procs));
	host.nprocs = 0;

	memset(buckets.smalls, 0, sizeof(buckets.smalls));
	host.nsmalls = 0;
	dropped = registry.dropped;
	for (u32 i = 0; i < MAX_SMALL; i++) {
		snprintf(name, sizeof(name), "cpu%u", (unsigned)i);
		bad += small_find(SM_CLOCK, str_z(name)) != &host.smalls[i];
	}
	check(!bad && small_get(SM_CLOCK, S("cpu4096"), &f) == -ENOENT && registry.dropped == dropped + 1 &&
	      left_out("files of one number") == 1, "full table of files: one more is unknown, and counted");
	check(small_find(SM_CLOCK, S("cpu4095")) == &host.smalls[MAX_SMALL - 1], "full table of files: the last one is found");
	memset(buckets.smalls, 0, sizeof(buckets.smalls));
	host.nsmalls = 0;

	snprintf(name, sizeof(name), "cpu%u", (unsigned)MAX_CPUS - 1);
	check(cpu_row(str_z(name), &bad) && bad == CPU_FIRST + MAX_CPUS - 1, "the last CPU that Linux can have has a row");
	snprintf(name, sizeof(name), "cpu%u", (unsigned)MAX_CPUS);
	check(!cpu_row(str_z(name), &bad), "a CPU with a number that Linux cannot have has none");

	for (u32 i = 0; i < sizeof(c) / 6; i++)
		put_z(&one, "a 1 b\n");
	host.text_used = host_tables.text_bytes.most - text_sources[F_STAT].cap / 2;
	dropped = registry.dropped;
	put_bytes("proc/stat", one.p, one.n);
	texts[F_STAT].reading = host.reading - 1;
	text_fill(&texts[F_STAT], &text_sources[F_STAT]);
	check(texts[F_STAT].n == 0 && left_out("bytes of /proc") == 1, "full table of texts: the file is not read, and counted");
	host.text_used = 0;
	put_bytes("proc/loadavg", one.p, TEXT_PART - 1);
	text_fill(&texts[F_LOADAVG], &text_sources[F_LOADAVG]);
	check(texts[F_LOADAVG].n == TEXT_PART - 1 && registry.dropped == dropped, "a file as large as its buffer, less one byte");
	host.text_used = 0;
	put_bytes("proc/loadavg", one.p, TEXT_PART);
	text_fill(&texts[F_LOADAVG], &text_sources[F_LOADAVG]);
	check(registry.dropped == dropped + 1, "a file that fills its buffer is counted, because it may be longer");
}

static void t_nothing(void)
{
	shell("rm -rf $D/proc $D/sys && mkdir $D/proc $D/sys");
	start(base);
	for (size_t i = 0; i < nlist; i++) {
		u64 v, of;

		check(host_read(&list[i], &v, &of) == -ENOENT, "a machine with empty /proc and /sys has no %s", list[i].name);
	}
	check(nlist <= 20, "a machine with empty /proc and /sys lists at most 20 counters");
}

int main(void)
{
	/* In memory: rewriting files on a disk would be slow. */
	if (!mkdtemp(temporary_name(base, sizeof(base), "t_proc")) || setenv("D", base, 1) != 0)
		return 1;
	t_rows();
	t_names();
	t_elapsed();
	t_once();
	t_cpu_deltas();
	t_cpu_comes();
	t_cpu_goes();
	t_big();
	t_memory();
	t_pressure();
	t_disks();
	t_disk_names();
	t_io();
	t_io_hostile();
	t_denied();
	t_why();
	t_energy();
	t_zones();
	t_clocks();
	t_hostile();
	t_truncated();
	t_truncated_lists();
	t_fields();
	t_full();
	t_nothing();
	shell("rm -rf $D");
	return unit_end();
}
