/* fuzz_proc.c - any bytes as the files of /proc and /sys about the machine: stat, meminfo, vmstat,
 * diskstats, loadavg, cpuinfo, pressure, processes, thermal zones, energy. All counters of them are
 * listed and read twice, and most are compared with the results of a simple reader of the same
 * text; after a line "%%" the input has the files of the second reading.
 * SPDX-License-Identifier: MIT */
#include "files.h"
#include "fuzz.h"

#include <errno.h>
#include <limits.h>
#include <unistd.h>

enum { MAX_LISTED = 2048, MAX_LOOKED_UP = 256 /* each look-up searches the file */ };

static struct {
	struct hostcounter h[MAX_LISTED];
	struct first_energy {
		bool known, ranged;
		u64 uj, range;
	} first[MAX_LISTED];     /* values of the first reading */
	/* whether its small file was reached by a link: it is kept open, and later reads are from
	 * that file */
	bool linked[MAX_LISTED];
	bool again;              /* whether this is the second reading */
	size_t n, fields;
} *all;
static bool has_cpufreq;
static struct str first_text[2]; /* stat and diskstats at the first reading; empty: not readable */

static void found(const struct hostcounter *h)
{
	must(memchr(h->name, '\0', HOST_NAME) != NULL && h->n <= sizeof(h->inst), "names are terminated");
	must(is_clean(str_z(h->name), false), "names are clean");
	must(h->what && h->unit && h->rule <= R_PERCENT, "a counter is described");
	if (all->n < MAX_LISTED)
		all->h[all->n++] = *h;
}

/* --- a simple reader of the same files -------------------------------------------------------- */

/* The words of a line; only the first ones if there are more. */
struct words {
	struct str w[24];
	size_t n;
};

/* Returns the next complete line. */
static bool words_next(struct str *text, struct words *l)
{
	const char *end = text->p < text->e ? memchr(text->p, '\n', str_len(*text)) : NULL, *p = text->p;

	if (!end)
		return false;
	for (l->n = 0; p < end && l->n < LEN(l->w); l->n++) {
		while (p < end && strchr(" \t\r\v\f", *p) && *p)
			p++;
		l->w[l->n].p = p;
		while (p < end && (!strchr(" \t\r\v\f", *p) || !*p))
			p++;
		l->w[l->n].e = p;
		if (l->w[l->n].p == p)
			break;
	}
	text->p = end + 1;
	return true;
}

/* Returns whether the whole text is a number that fits. */
static bool digits(struct str s, u64 *v)
{
	unsigned __int128 x = 0;

	for (const char *p = s.p; p < s.e; p++) {
		if (*p < '0' || *p > '9')
			return false;
		x = 10 * x + (unsigned)(*p - '0');
		if (x > UINT64_MAX)
			return false;
	}
	*v = (u64)x;
	return s.p < s.e;
}

/* The number after "cpu". */
static bool cpu_of(struct str name, u64 *cpu)
{
	return str_skip(&name, S("cpu")) && digits(name, cpu);
}

/* The value of "NAME: 12 kB" in bytes, or of "name 12". */
static bool plain_field(struct str text, struct str name, u64 *v)
{
	struct words l;

	while (words_next(&text, &l)) {
		bool kb = l.n > 2 && str_is(l.w[2], "kB");
		struct str is = l.w[0];
		u64 n;

		if (l.n < 2 || !digits(l.w[1], &n) || (kb && n >= UINT64_C(1) << 54))
			continue;
		is.e -= is.e[-1] == ':';
		if (str_len(is) != str_len(name) || memcmp(is.p, name.p, str_len(is)) != 0)
			continue;
		*v = kb ? n * 1024 : n;
		return true;
	}
	return false;
}

static bool plain_available(struct str text, u64 *v)
{
	u64 parts[3];

	if (plain_field(text, S("MemAvailable"), v))
		return true;
	if (!plain_field(text, S("MemFree"), &parts[0]) || !plain_field(text, S("Buffers"), &parts[1]) ||
	    !plain_field(text, S("Cached"), &parts[2]))
		return false;
	*v = parts[0] + parts[1];
	if (*v < parts[0] || *v + parts[2] < *v)
		return false;
	*v += parts[2];
	return true;
}

static bool plain_memory(struct str text, const char *key, u64 *v)
{
	return strcmp(key, "MemAvailable") == 0 ? plain_available(text, v) : plain_field(text, str_z(key), v);
}

/* Counters that are one field, or the difference of two. */
static const struct {
	const char *name, *file, *key, *less;
	bool pages;
} plains[] = {
	{ "memory/-/total", "proc/meminfo", "MemTotal", NULL, false },
	{ "memory/-/used", "proc/meminfo", "MemTotal", "MemAvailable", false },
	{ "memory/-/available", "proc/meminfo", "MemAvailable", NULL, false },
	{ "memory/-/cached", "proc/meminfo", "Cached", NULL, false },
	{ "memory/-/committed", "proc/meminfo", "Committed_AS", NULL, false },
	{ "swap/-/total", "proc/meminfo", "SwapTotal", NULL, false },
	{ "swap/-/used", "proc/meminfo", "SwapTotal", "SwapFree", false },
	{ "cpu/all/switches", "proc/stat", "ctxt", NULL, false },
	{ "cpu/all/interrupts", "proc/stat", "intr", NULL, false },
	{ "processes/-/running", "proc/stat", "procs_running", NULL, false },
	{ "processes/-/blocked", "proc/stat", "procs_blocked", NULL, false },
	{ "processes/-/forks", "proc/stat", "processes", NULL, false },
	{ "vm/-/faults", "proc/vmstat", "pgfault", NULL, false },
	{ "vm/-/major_faults", "proc/vmstat", "pgmajfault", NULL, false },
	{ "vm/-/swap_in", "proc/vmstat", "pswpin", NULL, true },
	{ "vm/-/swap_out", "proc/vmstat", "pswpout", NULL, true },
};

static void check_plain(const struct hostcounter *h, long r, u64 v)
{
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < LEN(plains); i++) {
		struct str text;
		u64 want = 0, less = 0;
		bool known;

		if (strcmp(h->name, plains[i].name) != 0 || !files_text(plains[i].file, &text))
			continue;
		known = plain_memory(text, plains[i].key, &want) && (!plains[i].less || plain_memory(text, plains[i].less, &less)) &&
			less <= want && (!plains[i].pages || want <= UINT64_MAX / page);
		must(known == (r == 0), "an existing field is read");
		must(!known || v == (want - less) * (plains[i].pages ? page : 1), "a field has the value in the file");
	}
}

/* Two decimals, of which the counter has three. */
static void check_load(const struct hostcounter *h, long r, u64 v)
{
	static const char *const names[] = { "load/-/1", "load/-/5", "load/-/15" };
	struct words l;
	struct str text;

	for (size_t i = 0; i < LEN(names); i++)
		if (strcmp(h->name, names[i]) == 0 && files_text("proc/loadavg", &text) && str_len(text) < 4096 &&
		    words_next(&text, &l) && l.n > i) {
			struct str w = l.w[i];
			u64 whole, part;

			if (str_len(w) > 3 && str_len(w) < 12 && w.e[-3] == '.' && digits((struct str){ w.p, w.e - 3 }, &whole) &&
			    digits((struct str){ w.e - 2, w.e }, &part))
				must(r == 0 && v == 100 * whole + part, "a load average has the value in the file");
		}
}

static void check_pressure(const struct hostcounter *h, long r, u64 v)
{
	char path[32];
	struct str text, kind;
	struct words l;
	u64 total;
	int of;

	if (strncmp(h->name, "pressure/", 9) != 0)
		return;
	kind = str_z(strrchr(h->name, '/') + 1);
	of = (int)(kind.p - 1 - h->name);
	snprintf(path, sizeof(path), "proc/%.*s", of, h->name);
	if (!files_text(path, &text) || str_len(text) >= 4096)
		return;
	while (words_next(&text, &l) && l.n < LEN(l.w))
		for (size_t i = 1; i < l.n && str_is(l.w[0], kind.p); i++)
			if (str_skip(&l.w[i], S("total=")) && digits(l.w[i], &total)) {
				must(r == 0 && v == total, "a pressure has the value in the file");
				return;
			}
	must(r < 0 || l.n == LEN(l.w), "a missing pressure has no value");
}

/* The only number of a small file. */
static bool plain_number(const char *before, const struct hostcounter *h, const char *after, u64 *n)
{
	char path[128], full[PATH_MAX];
	struct str text, line;
	bool *linked = &all->linked[h - all->h];

	snprintf(path, sizeof(path), "sys/%s/%.*s/%s", before, (int)h->n, h->inst, after);
	if (!all->again)
		*linked |= files_behind(path, full, &text) && strcmp(path, full) != 0;
	return !*linked && !memchr(h->inst, '/', h->n) && files_text(path, &text) && str_len(text) < 64 && line_next(&text, &line) &&
	       digits(line, n) && *n <= INT64_MAX;
}

/* Reads "cpu MHz" from the block of a CPU, the form of x86, if only one block has it. */
static bool plain_mhz(const struct hostcounter *h, u64 *hz)
{
	u64 cpu = 0, is = MAX_CPUS, whole, part;
	struct str text, line;
	bool found = false;

	if (has_cpufreq || !cpu_of((struct str){ h->inst, h->inst + h->n }, &cpu) || !files_text("proc/cpuinfo", &text))
		return false;
	while (line_next(&text, &line)) {
		struct str value = line;

		if (str_skip(&value, S("processor\t: "))) {
			if (!digits(value, &is))
				return false;
		} else if (str_skip(&value, S("cpu MHz\t\t: "))) {
			const char *dot = value.p < value.e ? memchr(value.p, '.', str_len(value)) : NULL;

			if (!dot || dot - value.p > 6 || value.e - dot != 4 || !digits((struct str){ value.p, dot }, &whole) ||
			    !digits((struct str){ dot + 1, value.e }, &part) || (is == cpu && found))
				return false;
			if (is == cpu) {
				*hz = whole * 1000000 + part * 1000;
				found = true;
			}
		} else if (str_find(line, S("MHz")) || str_find(line, S("processor"))) {
			return false;
		}
	}
	return found;
}

/* Temperatures and clocks have the values in their files. */
static void check_small(const struct hostcounter *h, long r, u64 v)
{
	u64 n;

	if (strncmp(h->name, "thermal/", 8) == 0 && plain_number("class/thermal", h, "temp", &n))
		must(r == 0 && v == n, "a temperature has the value in its file");
	if (strncmp(h->name, "cpu/cpu", 7) != 0 || !strstr(h->name, "/freq"))
		return;
	if (plain_number("devices/system/cpu", h, "cpufreq/scaling_cur_freq", &n)) {
		if (n <= INT64_MAX / 1000)
			must(r == 0 && v == 1000 * n, "a clock has the value in its file");
	} else if (plain_mhz(h, &n)) {
		must(r == 0 && v == n, "a clock has the value in cpuinfo");
	}
}

/* Between two readings energy increases, or wraps after its maximum. */
static void check_energy(const struct hostcounter *h, long r, u64 v)
{
	struct first_energy *was = &all->first[h - all->h];
	u64 now;

	if (strncmp(h->name, "energy/", 7) != 0 || !plain_number("class/powercap", h, "energy_uj", &now) || (all->again && !was->known))
		return;
	if (!all->again) {
		was->known = true;
		was->ranged = plain_number("class/powercap", h, "max_energy_range_uj", &was->range);
		was->uj = now;
	}
	if (now >= was->uj)
		must(r == 0 && v == (now - was->uj <= 2000000000 ? now : was->uj - (was->uj > 0)),
		     "energy increases by at most 20 kW");
	else if (was->ranged && was->uj <= was->range && was->range - was->uj + now <= 2000000000)
		must(r == 0 && v == was->range + now, "energy continues across a wrap");
	else
		must(r == -ENOENT, "a decrease that no wrap explains is unknown");
}

/* The sums of a line of proc/stat or proc/diskstats over the readings. */
struct plain {
	u64 was[10], sum[10];
	size_t n; /* number of fields */
	bool sure, here;
};

enum { USER = 1, NICE = 2, SYSTEM = 4, IDLE = 8, IOWAIT = 16, IRQ = 32, SOFTIRQ = 64, STEAL = 128, ALL_TIME = 255 };

static const struct {
	const char *leaf;
	u32 fields;
} times[] = {
	{ "/util", ALL_TIME & ~(IDLE | IOWAIT) }, { "/user", USER | NICE }, { "/kernel", SYSTEM | IRQ | SOFTIRQ }, { "/idle", IDLE },
	{ "/iowait", IOWAIT }, { "/irq", IRQ | SOFTIRQ }, { "/steal", STEAL },
};

/* Adds the only line of a CPU. With several lines the result is unknown. */
static void grow_cpu(struct plain *c, struct str text, u64 cpu)
{
	struct words l;
	u64 j[8], is;

	c->here = false;
	while (words_next(&text, &l)) {
		size_t n = 0;

		if (l.n == 0 || !cpu_of(l.w[0], &is) || is != cpu)
			continue;
		while (n < 8 && n + 1 < l.n && digits(l.w[n + 1], &j[n]) && j[n] < UINT64_C(1) << 60)
			n++;
		if (n < 4 || (n < 8 && n + 1 < l.n)) /* a field is not a number */
			continue;
		c->sure &= !c->here;
		c->here = true;
		for (size_t i = 0; i < n; i++) {
			u64 was = i < c->n ? c->was[i] : 0;

			c->sum[i] += j[i] > was ? j[i] - was : 0;
			c->was[i] = j[i];
		}
		c->n = n > c->n ? n : c->n;
	}
}

/* Checks both readings of a CPU. */
static void check_cpu(const struct hostcounter *h, long r, u64 v, u64 of)
{
	struct plain c = { .sure = true };
	u64 cpu, part = 0, all = 0;
	struct str text;
	u32 mask = 0;

	if (strncmp(h->name, "cpu/cpu", 7) != 0 || !cpu_of((struct str){ h->inst, h->inst + h->n }, &cpu))
		return;
	for (size_t i = 0; i < LEN(times); i++)
		if (strcmp(strrchr(h->name, '/'), times[i].leaf) == 0)
			mask = times[i].fields;
	if (!mask || !files_text("proc/stat", &text) || !first_text[0].p)
		return;
	grow_cpu(&c, first_text[0], cpu);
	grow_cpu(&c, text, cpu);
	if (!c.sure)
		return;
	for (size_t i = 0; i < c.n; i++) {
		all += c.sum[i];
		part += mask >> i & 1 ? c.sum[i] : 0;
	}
	must((r == 0) == (c.here && (mask & ((1u << c.n) - 1))), "the time of a CPU is known if the file has its line");
	must(r < 0 || (v == part && of == all), "the time of a CPU matches its line");
}

/* Reads sectors read, sectors written and ms busy from the only line of a disk. */
static void take_disk(struct plain *d, struct str text, struct str name)
{
	static const u8 fields[] = { 5, 9, 12 };
	struct words l;
	u64 now[3], f;

	d->here = false;
	while (words_next(&text, &l)) {
		bool ok = l.n >= 13 && str_len(l.w[2]) == str_len(name) && memcmp(l.w[2].p, name.p, str_len(name)) == 0;

		for (size_t i = 3; ok && i < 13; i++)
			ok = digits(l.w[i], &f);
		for (size_t i = 0; ok && i < 3; i++)
			ok = digits(l.w[fields[i]], &now[i]) && now[i] < UINT64_C(1) << 50;
		if (!ok)
			continue;
		d->sure &= !d->here;
		d->here = true;
		for (size_t i = 0; i < 3; i++) {
			/* the counter wrapped, or belongs to another disk */
			d->sure &= now[i] >= d->was[i];
			d->sum[i] += now[i] - d->was[i];
			d->was[i] = now[i];
		}
	}
}

static void check_disk(const struct hostcounter *h, long r, u64 v)
{
	static const char *const leaves[] = { "/read", "/write", "/util" };
	struct str name = { h->inst, h->inst + h->n }, text;
	struct plain d = { .sure = true };

	if (strncmp(h->name, "disk/", 5) != 0 || strncmp(h->name, "disk/all/", 9) == 0 || !files_text("proc/diskstats", &text) ||
	    !first_text[1].p)
		return;
	take_disk(&d, first_text[1], name);
	d.sure &= d.here;
	take_disk(&d, text, name);
	if (!d.sure)
		return;
	must((r == 0) == d.here, "a disk is known if the file has its line");
	for (size_t i = 0; i < LEN(leaves) && d.here; i++)
		if (strcmp(strrchr(h->name, '/'), leaves[i]) == 0)
			must(v == d.sum[i] * (i < 2 ? 512 : 1), "the activity of a disk matches its lines");
}

/* The value of a field is that of its first occurrence. */
static void field(struct str name, const char *unit, bool level)
{
	static const char *const paths[] = { "proc/stat", "proc/meminfo", "proc/vmstat" };
	struct str text;
	const char *unit2;
	u64 v = 0, want;
	bool level2;
	u8 file;

	if (all->fields++ >= MAX_LOOKED_UP)
		return;
	must(procfield_find(name, &file, &level2, &unit2), "a listed field is found");
	must(procfield_read(file, name, &v), "a listed field is read");
	must(file < LEN(paths), "a field belongs to a file that has fields");
	if (!files_text(paths[file], &text))
		return;
	must(plain_field(text, name, &want) && v == want, "a listed field has the value in the file");
	(void)unit;
	(void)level;
}

static void read_all(void)
{
	host_begin();
	for (size_t i = 0; i < all->n; i++) {
		const struct hostcounter *h = &all->h[i];
		u64 v = 0, of = 0;
		long r = host_read(h, &v, &of);

		must(r <= 0, "the result is 0 or -errno");
		if (r == -EMFILE)
			continue;
		must(r < 0 || h->rule != R_PERCENT || v <= 100000, "a share of the time is at most 100 %");
		check_plain(h, r, v);
		check_load(h, r, v);
		check_pressure(h, r, v);
		check_small(h, r, v);
		check_energy(h, r, v);
		check_cpu(h, r, v, of);
		check_disk(h, r, v);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str rest = { (const char *)data, (const char *)data + n }, s = take_first(&rest);

	if (n > 1 << 16)
		return 0;
	if (!all && !(all = calloc(1, sizeof(*all))))
		abort();
	program_reset();
	memset(all->first, 0, sizeof(all->first));
	memset(all->linked, 0, sizeof(all->linked));
	all->again = false;
	all->n = all->fields = 0;
	has_cpufreq = n > 0 && memmem(data, n, "cpufreq", 7);
	files_set(s);
	for (size_t i = 0; i < LEN(first_text); i++)
		if (!files_text(i ? "proc/diskstats" : "proc/stat", &first_text[i]))
			first_text[i] = (struct str){ 0 };
	host_list(HOST_CPUS, found);
	host_list(HOST_REST, found);
	procfield_list(field);
	read_all();
	if (rest.p)
		files_change(rest);
	all->again = true;
	read_all();
	host_trim();
	host_trim();
	must(files_open() == 0, "files of unused counters are closed");
	return 0;
}
