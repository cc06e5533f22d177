/* hostcounters.c - of the catalogue: what the machine itself tells, and what of it the extension recommends.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum { MAX_HOSTS = MAX_NAMED / 2 };

static struct hostcounter *hosts;
static TABLE(hosts, MAX_HOSTS, 128, "counters of the host");
static u32 nhosts, new_hosts; /* those from new_hosts on are not listed yet */

enum { NATIVE_BYTES = HOST_NAME + 8 };

static struct str native_name(char *b, struct str name)
{
	struct buf to = buf_on(b, NATIVE_BYTES);

	put_z(&to, "host/");
	put_str(&to, name);
	return (struct str){ b, b + to.n };
}

static void found(const struct hostcounter *h)
{
	char b[NATIVE_BYTES];

	if (catalog_has(S("linux"), native_name(b, str_z(h->name))))
		return;
	if (table_has(&hosts_table, nhosts))
		hosts[nhosts++] = *h;
	else
		reg_dropped++;
}

static void scan_host(void)
{
	new_hosts = nhosts;
	host_list(found);
}

static void add(struct str name, const struct hostcounter *h, struct str what)
{
	struct naming n = { .vendor = S("linux"), .name = name, .what = what, .unit = str_z(h->unit), .rule = h->rule,
			    .is_signed = strcmp(h->unit, "mC") == 0, .max = h->max };

	catalog_add(SUP_HOST, (u32)(h - hosts), &n);
}

static void list_new(void)
{
	char b[NATIVE_BYTES];

	for (u32 i = new_hosts; i < nhosts; i++)
		add(native_name(b, str_z(hosts[i].name)), &hosts[i], str_z(hosts[i].what));
}

/* Section 3 of the extension, in its order. X: the CPU's number. */
static const struct recommended {
	const char *name, *host; /* ours; that of the host counter that it is */
	const char *what;
	char unit[8];
	u8 rule;
} of_cpu[] = {
	{ "CPU X utilization", "cpu/cpuX/util", "time that the CPU was busy", "%", R_SHARE },
	{ "CPU X user mode utilization", "cpu/cpuX/user", "time that the CPU spent in user mode", "%", R_SHARE },
	{ "CPU X kernel mode utilization", "cpu/cpuX/kernel", "time that the CPU spent in the kernel", "%", R_SHARE },
}, of_host[] = {
	{ "Physical memory usage", "memory/-/used", "main memory in use: all that is not available", "bytes", R_LEVEL },
	{ "Virtual memory usage", "memory/-/committed", "memory that was promised to programs", "bytes", R_LEVEL },
	{ "Cache pages fault / sec", "vm/-/faults", "page faults", "1/s", R_RATE },
	{ "File read bytes / sec", "file/all/read", "what programs read from files", "bytes/s", R_RATE },
	{ "File write bytes / sec", "file/all/write", "what programs wrote to files", "bytes/s", R_RATE },
	{ "I/O read bytes / sec", "disk/all/read", "what was read from disks", "bytes/s", R_RATE },
	{ "I/O write bytes / sec", "disk/all/write", "what was written to disks", "bytes/s", R_RATE },
	{ "Processes amount", "processes/-/count", "processes", "", R_LEVEL },
	{ "Threads amount", "threads/-/count", "threads", "", R_LEVEL },
	{ "Context switched / sec", "cpu/all/switches", "context switches", "1/s", R_RATE },
};

static const struct hostcounter *host_named(struct str name)
{
	for (u32 i = 0; i < nhosts; i++)
		if (str_is(name, hosts[i].name))
			return &hosts[i];
	return NULL;
}

/* Listed also where this machine does not tell it: without a host counter it is unknown. */
static void add_recommended(const struct recommended *r, u64 x)
{
	char name[64], host[HOST_NAME];
	const struct hostcounter *h = host_named(catalog_numbered(host, sizeof(host), str_z(r->host), x));
	struct naming n = { .vendor = S("linux"), .name = catalog_numbered(name, sizeof(name), str_z(r->name), x), .what = str_z(r->what),
			    .unit = str_z(r->unit), .rule = r->rule, .max = r->rule == R_SHARE ? 100 : h ? h->max : UINT64_MAX };

	catalog_add(SUP_HOST, h ? (u32)(h - hosts) : MAX_HOSTS, &n);
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

static void recommend(void)
{
	u64 x;

	for (u32 i = new_hosts; i < nhosts; i++)
		for (size_t k = 0; k < LEN(of_cpu) && cpu_number(str_z(hosts[i].name), &x); k++)
			add_recommended(&of_cpu[k], x);
	for (size_t k = 0; k < LEN(of_host); k++)
		add_recommended(&of_host[k], 0);
}

/* Its file is opened, to see whether that is allowed. */
static long open_host(u32 at)
{
	u64 v, of;

	return at < nhosts ? host_read(&hosts[at], &v, &of) : -ENOENT;
}

static void close_host(u32 at)
{
	(void)at;
	host_trim(); /* twice: what the others need is opened again */
	host_trim();
}

static void sample_host(bool anew)
{
	(void)anew;
	host_begin();
}

static long read_host(u32 at, u64 *v, u64 *of)
{
	return at < nhosts ? host_read(&hosts[at], v, of) : -ENOENT;
}

const struct supplier sup_host = {
	.prefix = STR("host/"), .scan = scan_host, .recommend = recommend, .list = list_new,
	.open = open_host, .close = close_host, .sample = sample_host, .read = read_host,
};
