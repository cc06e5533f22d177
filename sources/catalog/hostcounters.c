/* hostcounters.c - provider of the counters of the machine itself (sources/host): host/NAME, and
 * the names that KHR_perfcounter recommends for them. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/host/host.h"
#include "sources/catalog/catalog.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum { MAX_HOST_COUNTERS = MAX_NAMED / 2 };

static struct {
	struct hostcounter *counters;
	u32 n;
	/* number of counters in counters[] that host_find_all() has added to the list of counters,
	 * with names that begin with "host/"; these are the first ones */
	u32 nlisted;
	struct table table;
} hostlist = {
	.table = TABLE_ROW(hostlist.counters, MAX_HOST_COUNTERS, 128, "counters of the host"),
};

enum { NATIVE_BYTES = HOST_NAME + 8 };

static struct str native_name(char *b, struct str name)
{
	struct buf to = buf_on(b, NATIVE_BYTES);

	put_z(&to, "host/");
	put_str(&to, name);
	return (struct str){ b, b + to.n };
}

static void host_found(const struct hostcounter *h)
{
	char b[NATIVE_BYTES];

	if (catalog_has(S("linux"), native_name(b, str_z(h->name))))
		return;
	if (table_has(&hostlist.table, hostlist.n))
		hostlist.counters[hostlist.n++] = *h;
	else
		registry.dropped++;
}

static void host_add(struct str name, const struct hostcounter *h, struct str what)
{
	struct counter_info n = { .vendor = S("linux"), .name = name, .what = what,
				  .unit = str_z(h->unit), .rule = h->rule,
				  .is_signed = strcmp(h->unit, "mC") == 0, .max = h->max };

	catalog_add(PROVIDER_HOST, (u32)(h - hostlist.counters), &n);
}

static void host_find_all(void)
{
	char b[NATIVE_BYTES];

	for (; hostlist.nlisted < hostlist.n; hostlist.nlisted++) {
		const struct hostcounter *h = &hostlist.counters[hostlist.nlisted];

		host_add(native_name(b, str_z(h->name)), h, str_z(h->what));
	}
}

enum measure { SHARE, BYTES, AMOUNT, RATE, BYTE_RATE };

static const struct {
	char unit[8];
	u8 rule;
} measures[] = {
	[SHARE] = { "%", R_SHARE }, [BYTES] = { "bytes", R_LEVEL }, [AMOUNT] = { "", R_LEVEL },
	[RATE] = { "1/s", R_RATE }, [BYTE_RATE] = { "bytes/s", R_RATE },
};

/* The names that section 3 of KHR_perfcounter recommends for the CPUs and the machine, in the order
 * of that section. The X in a name stands for the CPU's number. */
static const struct recommended {
	/* name: name that KHR_perfcounter recommends; host: name of the host counter (host.c) that
	 * has the value */
	const char *name, *host;
	const char *what;
	/* enum measure: index of the row of measures[] with the counter's unit and rule */
	u8 measure;
} cpu_names[] = {
	{ "CPU X utilization", "cpu/cpuX/util", "time that the CPU was busy", SHARE },
	{ "CPU X user mode utilization", "cpu/cpuX/user", "time that the CPU spent in user mode",
	  SHARE },
	{ "CPU X kernel mode utilization", "cpu/cpuX/kernel",
	  "time that the CPU spent in the kernel", SHARE },
}, host_names[] = {
	{ "Physical memory usage", "memory/-/used", "main memory in use: all that is not available",
	  BYTES },
	{ "Virtual memory usage", "memory/-/committed", "memory committed to programs", BYTES },
	/* number of major page faults only: a minor fault reads no disk, because its page is in the
	 * page cache, or is a new page */
	{ "Cache pages fault / sec", "vm/-/major_faults", "page faults that needed I/O", RATE },
	{ "File read bytes / sec", "file/all/read", "bytes that programs read from files",
	  BYTE_RATE },
	{ "File write bytes / sec", "file/all/write", "bytes that programs wrote to files",
	  BYTE_RATE },
	{ "I/O read bytes / sec", "disk/all/read", "bytes read from disks", BYTE_RATE },
	{ "I/O write bytes / sec", "disk/all/write", "bytes written to disks", BYTE_RATE },
	{ "Processes amount", "processes/-/count", "processes", AMOUNT },
	{ "Threads amount", "threads/-/count", "threads", AMOUNT },
	{ "Context switched / sec", "cpu/all/switches", "context switches", RATE },
};

static const struct hostcounter *host_find(struct str name)
{
	for (u32 i = 0; i < hostlist.n; i++)
		if (str_is(name, hostlist.counters[i].name))
			return &hostlist.counters[i];
	return NULL;
}

/* Adds a name that KHR_perfcounter recommends to the list, with the number x in place of X. If this
 * machine does not have the host counter r->host, the name is added nevertheless, with an unknown
 * value. */
static void recommended_add(const struct recommended *r, u64 x)
{
	char name[64], host[HOST_NAME];
	const struct hostcounter *h = host_find(catalog_numbered(host, sizeof(host),
								 str_z(r->host), x));
	struct counter_info n = {
		.vendor = S("linux"),
		.name = catalog_numbered(name, sizeof(name), str_z(r->name), x),
		.what = str_z(r->what),
		.unit = str_z(measures[r->measure].unit), .rule = measures[r->measure].rule,
		.max = r->measure == SHARE ? 100 : h ? h->max : UINT64_MAX
	};

	catalog_add(PROVIDER_HOST, h ? (u32)(h - hostlist.counters) : MAX_HOST_COUNTERS, &n);
}

static bool cpu_number(struct str name, u64 *x)
{
	const char *end;

	if (!str_skip_z(&name, "cpu/cpu"))
		return false;
	end = scan_u64(name, x);
	name.p = end;
	return end && str_is(name, "/util");
}

static void host_find_first(void)
{
	u64 x;

	host_list(HOST_CPUS, host_found);
	for (u32 i = hostlist.nlisted; i < hostlist.n; i++)
		if (cpu_number(str_z(hostlist.counters[i].name), &x))
			for (size_t k = 0; k < LEN(cpu_names); k++)
				recommended_add(&cpu_names[k], x);
}

static void host_find_recommended(void)
{
	host_list(HOST_REST, host_found);
	for (size_t k = 0; k < LEN(host_names); k++)
		recommended_add(&host_names[k], 0);
}

/* Opens a host counter, that is, reads it once to find out whether its file may be read. Returns 0
 * or -errno. */
static long host_open(u32 at)
{
	u64 v, total;

	return at < hostlist.n ? host_read(&hostlist.counters[at], &v, &total) : -ENOENT;
}

static void host_close(u32 at)
{
	(void)at;
	/* close all files of host counters: host_trim() closes the files that no counter has needed
	 * since the previous host_trim(), and no counter is read between these two calls */
	host_trim();
	host_trim();
}

static void host_sample(bool due)
{
	(void)due;
	host_begin();
}

static long host_counter_read(u32 at, u64 *v, u64 *total)
{
	return at < hostlist.n ? host_read(&hostlist.counters[at], v, total) : -ENOENT;
}

const struct provider provider_host = {
	.prefix = STR("host/"),
	.find = { host_find_first, host_find_recommended, host_find_all },
	.open = host_open, .close = host_close, .sample = host_sample,
	.read = host_counter_read,
};
