/* t_hostcounters.c - unit test of sources/catalog/hostcounters.c: the recommended names of a machine
 * with and without each host counter, their order, and no name twice. The counters of the host are
 * simulated. SPDX-License-Identifier: MIT */
#define measure measure_of /* perf.h has a type of this name */
#include "../../sources/catalog/hostcounters.c"
#undef measure

#include "listed.h"

static u32 trims, begins;

static void report(void (*found)(const struct hostcounter *h), const char *name, const char *unit,
		 u8 rule, u64 max)
{
	struct hostcounter h = { .what = "text", .unit = unit, .rule = rule, .max = max };

	str_copy(h.name, sizeof(h.name), str_z(name));
	found(&h);
}

void host_list(enum host_part part, void (*found)(const struct hostcounter *h))
{
	if (part == HOST_CPUS) {
		report(found, "cpu/all/util", "%", R_SHARE, 100);
		report(found, "cpu/cpu7/util", "%", R_SHARE, 100);
		report(found, "cpu/cpu7/user", "%", R_SHARE, 100);
		report(found, "cpu/cpu/util", "%", R_SHARE, 100);
		report(found, "cpu/cpu7x/util", "%", R_SHARE, 100);
		return;
	}
	report(found, "memory/-/used", "bytes", R_LEVEL, 4096);
	report(found, "thermal/zone0/temp", "mC", R_LEVEL, UINT64_MAX);
}

long host_read(const struct hostcounter *h, u64 *v, u64 *total)
{
	*v = strlen(h->name);
	*total = 1000;
	return h->unit[0] == 'm' ? -EACCES : 0;
}

void host_trim(void) { trims++; }
void host_begin(void) { begins++; }

struct str catalog_numbered(char *b, size_t cap, struct str s, u64 x)
{
	struct buf to = buf_on(b, cap);

	for (; s.p < s.e; s.p++)
		if (*s.p == 'X')
			put_u64(&to, x);
		else
			put_c(&to, *s.p);
	return str_of(b, to.n);
}

static void t_cpu_numbers(void)
{
	static const struct {
		const char *name;
		bool is;
		u64 x;
	} rows[] = {
		{ "cpu/cpu0/util", true, 0 }, { "cpu/cpu8191/util", true, 8191 },
		{ "cpu/all/util", false, 0 }, { "cpu/cpu/util", false, 0 },
		{ "cpu/cpu0/user", false, 0 }, { "cpu/cpu0/utils", false, 0 },
		{ "cpu/cpu0", false, 0 }, { "cpu/cpu18446744073709551616/util", false, 0 },
		{ "xcpu/cpu0/util", false, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 x = 0;
		bool is = cpu_number(edge_str(rows[i].name, strlen(rows[i].name)), &x);

		check(is == rows[i].is && (!is || x == rows[i].x), "%s %s a CPU's number",
		      rows[i].name, is ? "has" : "has not");
	}
}

static void t_first(void)
{
	provider_host.find[FIND_FIRST]();
	check_str(str_of(listed.p, listed.n),
		  "1 linux: CPU 7 utilization (%) share 100 time that the CPU was busy\n"
		  "2 linux: CPU 7 user mode utilization (%) share 100 "
		  "time that the CPU spent in user mode\n"
		  "8192 linux: CPU 7 kernel mode utilization (%) share 100 "
		  "time that the CPU spent in the kernel\n", "the recommended names of a CPU");
	listed.n = 0;
}

static void t_recommended(void)
{
	provider_host.find[FIND_RECOMMENDED]();
	check(listed_has("5 linux: Physical memory usage (bytes) level 4096 "),
	      "a recommended name has the limit of its host counter");
	check(listed_has("8192 linux: Threads amount () level - "),
	      "a recommended name without a host counter has no limit");
	check(listed_has("8192 linux: Context switched / sec (1/s) rate - "),
	      "the last recommended name is listed");
	check(!str_find(str_of(listed.p, listed.n), LIT("host/")),
	      "recommended names are before the other names");
}

static void t_all(void)
{
	size_t n;

	provider_host.find[FIND_ALL]();
	check(listed_has("0 linux: host/cpu/all/util (%) share 100 text\n"),
	      "the name of a host counter is listed");
	check(listed_has("6 linux: host/thermal/zone0/temp (mC) signed level - text\n"),
	      "a temperature is signed");
	n = listed.n;
	provider_host.find[FIND_FIRST]();
	provider_host.find[FIND_ALL]();
	check(hostlist.n == 7 && !str_find(str_of(listed.p + n, listed.n - n), LIT("host/")),
	      "names that are listed are not added again");
}

static void t_read(void)
{
	u64 v = 0, total = 0;

	check(provider_host.open(0) == 0 && provider_host.open(6) == -EACCES,
	      "open reads once, because the file may be refused");
	check(provider_host.open(8192) == -ENOENT && provider_host.read(8192, &v, &total) == -ENOENT,
	      "a recommended name without a host counter has no value");
	provider_host.sample(false);
	check(begins == 1 && provider_host.read(0, &v, &total) == 0 && v == 12 && total == 1000,
	      "a reading has the value of the host counter");
	provider_host.close(0);
	check_u64(trims, 2, "files are closed with the last counter");
}

static void t_full(void)
{
	u32 dropped = registry.dropped, n, bad = 0;
	struct hostcounter h = { .what = "text", .unit = "", .rule = R_LEVEL };
	const struct table *full;

	listed.n = 0;
	while (table_full(&n))
		;
	for (u32 i = hostlist.n; i < MAX_HOST_COUNTERS; i++) {
		snprintf(h.name, sizeof(h.name), "disk/d%u/read", (unsigned)i);
		host_found(&h);
		bad += hostlist.n != i + 1 || strcmp(hostlist.counters[i].name, h.name) != 0;
	}
	check(!bad && registry.dropped == dropped,
	      "full table: the counters before the limit are listed");
	str_copy(h.name, sizeof(h.name), LIT("disk/more/read"));
	host_found(&h);
	full = table_full(&n);
	check(hostlist.n == MAX_HOST_COUNTERS && registry.dropped == dropped + 1 && full && n == 1 &&
	      strcmp(full->name, "counters of the host") == 0,
	      "full table: one more counter is left out, and the table is reported");
}

int main(void)
{
	t_cpu_numbers();
	t_first();
	t_recommended();
	t_all();
	t_read();
	t_full();
	return unit_end();
}
