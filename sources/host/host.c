/* host.c - counters of the machine itself: CPUs, memory, disks, processes, pressure, temperature
 * and energy. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/host/host.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

static struct str inst_of(const struct hostcounter *h)
{
	return (struct str){ h->inst, h->inst + h->n };
}

/* Converts -errno of a system call to the error that host_read() returns: -EACCES if a permission
 * is missing, the same error if descriptors or memory are short, and -ENOENT (the value does not
 * exist) for all others. Sensors of sleeping devices return EAGAIN, ENODATA, EIO and others. */
static long error_simplify(long error)
{
	switch (error) {
	case -EPERM:
	case -EACCES:
		return -EACCES;
	case -EMFILE:
	case -ENFILE:
	case -ENOMEM:
		return error;
	default:
		return -ENOENT;
	}
}

/* files with many values: read at most once in each reading, when a counter needs them */

enum file {
	/* files that procfield_read(), procfield_find() and procfield_list() use */
	F_STAT, F_MEMINFO, F_VMSTAT,
	F_DISKSTATS, F_LOADAVG, F_CPUINFO, F_PSI_CPU, F_PSI_MEMORY, F_PSI_IO,
	FILES, F_NONE = FILES,
};

enum { TEXT_PART = 4096 /* minimum number of free bytes in text_bytes before each read(2) */ };

static void cpus_parse(struct str text);
static void disks_parse(struct str text);
static void clocks_parse(struct str text);

static const struct source_text {
	const char *path;
	void (*parse)(struct str text);
	u32 cap;
	/* true if the file has many records, so that one read(2) may return only some of them */
	bool many;
} text_sources[FILES] = {
	/* size of the buffer for /proc/stat: room for 128 bytes for each of MAX_CPUS, and 2 bytes
	 * for each interrupt */
	[F_STAT]       = { "stat", cpus_parse, 1 << 20, false },
	[F_MEMINFO]    = { "meminfo", NULL, 128 << 10, false },
	[F_VMSTAT]     = { "vmstat", NULL, 128 << 10, true },
	/* size of the buffer for diskstats: room for 4000 disks and partitions */
	[F_DISKSTATS]  = { "diskstats", disks_parse, 512 << 10, true },
	[F_LOADAVG]    = { "loadavg", NULL, TEXT_PART, false },
	/* size of the buffer for cpuinfo: room for 1000 CPUs, whose lists of flags are long */
	[F_CPUINFO]    = { "cpuinfo", clocks_parse, 2 << 20, true },
	[F_PSI_CPU]    = { "pressure/cpu", NULL, TEXT_PART, false },
	[F_PSI_MEMORY] = { "pressure/memory", NULL, TEXT_PART, false },
	[F_PSI_IO]     = { "pressure/io", NULL, TEXT_PART, false },
};

/* indexes of the values of a disk: sectors read, sectors written, ms busy */
enum { DK_READ, DK_WRITE, DK_BUSY, DK_FIELDS };

/* All variables of this file except texts[], buckets and host_tables. */
static struct {
	/* number of the current reading, counted from 1; each file is read at most once in a
	 * reading */
	u32 reading;
	/* true while host_list() runs: files that are opened then do not count as needed, and are
	 * closed at its end */
	bool listing;
	/* contents of the files that were read in the current reading, one after the other */
	char *text_bytes;
	size_t text_used;
	struct small_file *smalls;
	u16 nsmalls;
	long smalls_open;
	struct cpu *cpus;
	/* cpus_reading: number of the last reading in which /proc/stat was parsed; ncpus: number of
	 * CPUs that /proc/stat had in that reading */
	u32 cpus_reading, ncpus;
	struct disk *disks;
	u32 ndisks, last_disk;
	u32 disks_reading; /* number of the last reading in which diskstats was parsed */
	i64 disks_t;       /* time in ns of the reading disks_reading, when diskstats was read */
	/* sums of all increases of the values of physical disks, without partitions and virtual
	 * disks */
	u64 disks_sum[DK_FIELDS];
	struct proc *procs;
	u32 nprocs, io_seen;
	u64 io_sum[2];
	long io_error;
	/* number of processes in /proc, counted in the reading with the number processes_seen */
	u64 processes;
	u32 processes_seen;
	bool cpuinfo_has_clocks;
	struct zone *zones;
	u32 nzones;
} host = { .reading = 1 };

/* Descriptions of the growing tables in `host`, initialized at the end of this file, where the
 * sizes of all row structures are known. */
static struct host_tables {
	struct table text_bytes, smalls, cpus, disks, procs, zones;
} host_tables;

enum { IO_BUCKETS = 4096 };
static struct {
	/* first element of each hash chain; 0: the chain is empty. smalls: index + 1 in
	 * host.smalls[]; procs: index in host.procs[], which begins with 1 */
	u16 smalls[256], procs[IO_BUCKETS];
} buckets;

static struct text {
	int fd;
	bool open;
	bool used;  /* true if a counter has needed this file since the last host_trim() */
	bool listed; /* true if the file existed when host_list() ran */
	u32 reading; /* number of the reading in which the file was read last */
	long error;
	size_t at, n; /* offset and length of the file's content in text_bytes */
	i64 t;       /* time at which the file was read last, in ns */
} texts[FILES];

static void text_close(struct text *f)
{
	if (f->open)
		sys_close(f->fd);
	f->open = false;
}

/* Reads a file of /proc to its end, and appends it to host.text_bytes. Returns the length of the
 * file, or -errno. If the file has one record, read(2) returns all that fits into the buffer. If it
 * has many records, read(2) returns as many whole records as fit into a page, and more may
 * follow. */
static long read_all(int fd, const struct source_text *from)
{
	size_t n = 0, room;
	long r;
	char *b;

	do {
		if (!table_has(&host_tables.text_bytes, host.text_used + n + TEXT_PART - 1))
			return -ENOMEM;
		b = host.text_bytes + host.text_used + n;
		room = host_tables.text_bytes.ready - host.text_used - n;
		room = room < from->cap - n ? room : from->cap - n;
		r = sys_pread(fd, b, room, n);
		n += r > 0 ? (size_t)r : 0;
	} while (n < from->cap &&
		 (r == -EINTR ||
		  (r > 0 && (from->many || (size_t)r == room || b[r - 1] != '\n'))));
	return r < 0 ? r : (long)n;
}

static struct str text_of(const struct text *f)
{
	return f->n ? str_of(host.text_bytes + f->at, f->n) : LIT("");
}

static void text_fill(struct text *f, const struct source_text *from)
{
	long n = 0;

	if (!f->open) {
		n = sys_openat(roots.proc, from->path, O_RDONLY | O_NONBLOCK);
		f->fd = (int)n;
		f->open = n >= 0;
	}
	if (n >= 0)
		n = read_all(f->fd, from);
	if (n < 0)
		text_close(f);
	f->error = n < 0 ? error_simplify(n) : 0;
	f->n = n > 0 ? (size_t)n : 0;
	f->at = host.text_used;
	host.text_used += f->n;
	registry.dropped += f->n == from->cap;
	f->reading = host.reading;
	f->t = sys_now(CLOCK_MONOTONIC);
	if (from->parse)
		from->parse(text_of(f));
}

static long text_get(u8 file, struct str *text)
{
	struct text *f = &texts[file];

	f->used |= !host.listing;
	if (f->reading != host.reading)
		text_fill(f, &text_sources[file]);
	*text = text_of(f);
	return f->error;
}

/* --- fields of the files stat, meminfo and vmstat --------------------------------------------- */

static const struct {
	char name[14];
	bool level;
} stats[] = {
	{ "ctxt", false }, { "processes", false }, { "intr", false }, { "softirq", false },
	{ "procs_running", true }, { "procs_blocked", true },
};

/* Finds the next line "NAME NUMBER" in a text. Stores the name, without the colon that meminfo has,
 * and the number; kB are converted to bytes. Returns false if there are no more such lines. */
static bool field_next(struct str *text, struct str *name, u64 *v)
{
	struct str line, word;

	while (line_next(text, &line)) {
		if (!str_word(&line, name) || !str_word(&line, &word) ||
		    scan_u64(word, v) != word.e)
			continue;
		if (name->e[-1] == ':')
			name->e--;
		if (str_word(&line, &word) && str_is(word, "kB")) {
			if (*v > UINT64_MAX / 1024)
				continue;
			*v *= 1024;
		}
		return true;
	}
	return false;
}

static long field_get(u8 file, struct str name, u64 *v)
{
	struct str text, at;
	long error = text_get(file, &text);
	u64 n;

	while (field_next(&text, &at, &n))
		if (str_eq(at, name)) {
			*v = n;
			return 0;
		}
	return error ? error : -ENOENT;
}

bool procfield_read(u8 file, struct str name, u64 *v)
{
	return field_get(file, name, v) == 0;
}

/* Returns true if gpustat offers the field `name` of a file as a counter. Sets *level to true if
 * the field's value is shown, to false if its increase per second is shown. */
static bool field_shown(u8 file, struct str name, bool *level)
{
	*level = file == F_MEMINFO || glob_match(S("nr_*"), name, NULL);
	for (size_t i = 0; i < LEN(stats) && file == F_STAT; i++)
		if (str_is(name, stats[i].name)) {
			*level = stats[i].level;
			return true;
		}
	return file != F_STAT;
}

static const char *field_unit(u8 file, struct str name)
{
	return file == F_MEMINFO && !glob_match(S("HugePages_*"), name, NULL) ? "bytes" : NULL;
}

/* Finds the first of the files stat, meminfo and vmstat that has a field `name`, and stores its
 * number in *file. Sets *level to true if the field's value is shown, to false if its increase per
 * second is shown; *unit: "bytes", or NULL if there is no unit. Returns false if no file has the
 * field. */
bool procfield_find(struct str name, u8 *file, bool *level, const char **unit)
{
	u64 v;

	for (*file = F_STAT; *file <= F_VMSTAT; ++*file)
		if (field_shown(*file, name, level) && procfield_read(*file, name, &v)) {
			*unit = field_unit(*file, name);
			return true;
		}
	return false;
}

void procfield_list(void (*found)(struct str name, const char *unit, bool level))
{
	struct str text, name;
	bool level;
	u64 v;

	for (unsigned i = F_STAT; i <= F_VMSTAT; i++) {
		u8 file = (u8)i;

		text_get(file, &text);
		while (field_next(&text, &name, &v))
			if (field_shown(file, name, &level))
				found(name, field_unit(file, name), level);
	}
}

/* --- files that contain one number: the clock of a CPU, the value of a thermal or energy zone - */

enum small { SM_CLOCK, SM_TEMP, SM_ENERGY };

static const struct {
	const char *before, *after;
} small_paths[] = {
	[SM_CLOCK]  = { "devices/system/cpu/", "/cpufreq/scaling_cur_freq" },
	[SM_TEMP]   = { "class/thermal/", "/temp" },
	[SM_ENERGY] = { "class/powercap/", "/energy_uj" },
};

/* maximum number of files with one number: clocks of 3500 CPUs, thermal zones, energy zones */
enum { MAX_SMALL = 4096 };

struct small_file {
	bool used; /* true if a counter has needed this file since the last host_trim() */
	/* kind: enum small, the kind of the file; n: number of bytes in inst, the name of the CPU
	 * or zone */
	u8 kind, n;
	/* index + 1 in host.smalls[] of the next file in the hash chain; 0: end of the chain */
	u16 next;
	char inst[32];
	int fd;
	u32 reading;
	long error;
	i64 value;
	/* for SM_ENERGY: highest value of the kernel's energy counter in uJ; 0 if unknown */
	u64 range;
	struct energy energy;
};

static const char *join(const char *a, struct str b, const char *c)
{
	static char path[256];
	struct buf to = buf_on(path, sizeof(path) - 1);

	put_z(&to, a);
	put_str(&to, b);
	put_z(&to, c);
	path[to.n] = '\0';
	return path;
}

static const char *small_path(u8 kind, struct str inst)
{
	return join(small_paths[kind].before, inst, small_paths[kind].after);
}

/* Returns the row of host.smalls[] for a kind of file (enum small) and an instance (a CPU or a
 * zone), and adds the row if it is new. Returns NULL if the table is full. */
static struct small_file *small_find(u8 kind, struct str inst)
{
	u16 *bucket = &buckets.smalls[hash_more(kind, inst) % LEN(buckets.smalls)];
	struct small_file *f;

	for (u16 i = *bucket; i; i = f->next) {
		f = &host.smalls[i - 1];
		if (f->kind == kind && str_eq(inst, str_of(f->inst, f->n)))
			return f;
	}
	if (!table_has(&host_tables.smalls, host.nsmalls))
		return NULL;
	f = &host.smalls[host.nsmalls++];
	*f = (struct small_file){ .kind = kind, .fd = -1, .n = (u8)str_len(inst), .next = *bucket };
	memcpy(f->inst, inst.p, f->n);
	*bucket = host.nsmalls;
	return f;
}

static void small_close(struct small_file *f)
{
	if (f->fd >= 0) {
		sys_close(f->fd);
		host.smalls_open--;
	}
	f->fd = -1;
}

static bool number_at(int root, const char *path, i64 *v)
{
	char b[64];
	long n = slurp(root, path, b, sizeof(b));

	return n > 0 && parse_sensor((struct str){ b, b + n }, v);
}

/* Adds the energy that a zone has used since the previous reading to f->energy.sum. The kernel's
 * counter begins again at 0 after the value in max_energy_range_uj:
 * Documentation/power/powercap/powercap.rst. Returns false if the energy of this reading is not
 * plausible. */
static bool zone_energy(struct small_file *f, struct str zone)
{
	if (!f->energy.has_reading) {
		const char *path = join(small_paths[SM_ENERGY].before, zone,
					"/max_energy_range_uj");
		i64 range;

		f->range = number_at(roots.sys, path, &range) && range > 0 ? (u64)range : 0;
	}
	return energy_sum(&f->energy, (u64)f->value, sys_now(CLOCK_MONOTONIC), f->range);
}

static long small_fill(struct small_file *f, struct str inst)
{
	u8 range = f->kind == SM_TEMP ? RG_TEMP : f->kind == SM_CLOCK ? RG_CLOCK : RG_ENERGY;
	u64 scale = f->kind == SM_CLOCK ? 1000 : 1; /* cpufreq's file scaling_cur_freq is in kHz */
	char b[64];
	long n = f->fd;

	if (f->fd < 0) {
		n = sys_openat(roots.sys, small_path(f->kind, inst), O_RDONLY | O_NONBLOCK);
		f->fd = (int)n;
		host.smalls_open += n >= 0;
	}
	if (n >= 0)
		n = slurp_fd(f->fd, b, sizeof(b));
	/* Close a file that cannot be read, because a new file with the same name may appear. Also
	 * close it if a quarter of all permitted descriptors is in use for files of this kind: perf
	 * events need descriptors, too. */
	if (n < 0 || host.smalls_open > fileio.limit / 4)
		small_close(f);
	if (n < 0)
		return error_simplify(n);
	if (!parse_sensor((struct str){ b, b + n }, &f->value) ||
	    (f->kind != SM_TEMP && f->value < 0))
		return -ENOENT;
	if (!(f->kind == SM_ENERGY ? zone_energy(f, inst) :
	      is_plausible(range, (u64)f->value * scale, 0))) {
		count_implausible(small_path(f->kind, inst), (struct str){ 0 }, range,
				  (u64)f->value);
		return -ENOENT;
	}
	return 0;
}

static long small_get(u8 kind, struct str inst, const struct small_file **at)
{
	struct small_file *f = small_find(kind, inst);

	if (!f) {
		registry.dropped++;
		return -ENOENT;
	}
	f->used |= !host.listing;
	if (f->reading != host.reading) {
		f->error = small_fill(f, inst);
		f->reading = host.reading;
	}
	*at = f;
	return f->error;
}

/* --- CPUs: proc_stat(5) ----------------------------------------------------------------------- */

/* Indexes of the fields in a CPU's line of /proc/stat, whose unit is jiffies. The fields guest and
 * guest_nice of the file are not used, because user and nice include them. */
enum { J_USER, J_NICE, J_SYSTEM, J_IDLE, J_IOWAIT, J_IRQ, J_SOFTIRQ, J_STEAL, J_FIELDS };
#define J(field) (1u << J_##field)
enum { J_ALL = (1 << J_FIELDS) - 1 };

struct cpu {
	u64 was[J_FIELDS];
	/* sums of all increases of the fields; they never decrease, although the kernel's values of
	 * idle and iowait can */
	u64 sum[J_FIELDS];
	u64 hz;
	/* seen: number of the last reading with the CPU's times in /proc/stat; clocked: number of
	 * the last reading with the CPU's clock (hz) in cpuinfo */
	u32 seen, clocked;
	u8 n; /* number of fields in the CPU's line of /proc/stat; old kernels have only 4 */
};
/* rows of cpus[]: CPU_ALL has the sum over all CPUs, CPU_FIRST is cpu0 */
enum { CPU_ALL, CPU_FIRST };

/* Stores in *row the row of cpus[] for an instance: the row of the CPU for "cpu" and a number,
 * CPU_ALL for "cpu" alone. Returns false if the name is not that of a CPU, or if the table is
 * full. */
static bool cpu_row(struct str inst, u32 *row)
{
	u64 n;

	*row = CPU_ALL;
	if (!str_skip_z(&inst, "cpu"))
		return false;
	if (inst.p < inst.e) {
		if (scan_u64(inst, &n) != inst.e || n >= MAX_CPUS)
			return false;
		*row = CPU_FIRST + (u32)n;
	}
	return table_has(&host_tables.cpus, *row);
}

/* Reads the fields of a CPU's line in /proc/stat into j[]. Returns the number of fields; 0 if a
 * field is malformed. */
static u8 jiffies_scan(struct str line, u64 *j)
{
	struct str word;
	u8 n = 0;

	for (; n < J_FIELDS && str_word(&line, &word); n++)
		/* Reject a field of 2^60 or more, so that the sum of the fields cannot overflow. */
		if (scan_u64(word, &j[n]) != word.e || j[n] >> 60)
			return 0;
	return n > J_IDLE ? n : 0;
}

/* Adds the increases of n fields of a CPU's line in /proc/stat since the previous reading to
 * c->sum[], the sums of the CPU, and to more[]. j: the values of the fields in this reading. */
static void cpu_grow(struct cpu *c, const u64 *j, u8 n, u64 *more)
{
	for (u8 i = 0; i < n; i++) {
		u64 by = i >= c->n ? j[i] : j[i] > c->was[i] ? j[i] - c->was[i] : 0;

		c->sum[i] += by;
		more[i] += by;
		c->was[i] = j[i];
	}
	c->n = n > c->n ? n : c->n;
	c->seen = host.reading;
}

/* Parses /proc/stat. The first line of the file, the sum over all CPUs, lacks the idle time of CPUs
 * that are offline (get_idle_time() of fs/proc/stat.c). So if a CPU went offline or came online
 * since the previous reading, the increase for all CPUs is the sum over those CPUs that are in both
 * readings. */
static void cpus_parse(struct str text)
{
	u64 all[J_FIELDS], stayed[J_FIELDS] = { 0 }, none[J_FIELDS] = { 0 };
	u32 here = 0, staying = 0;
	struct str line, name;
	u8 nall = 0;

	while (line_next(&text, &line)) {
		u64 j[J_FIELDS];
		u32 at;
		u8 n;

		if (!str_word(&line, &name) || !cpu_row(name, &at) ||
		    host.cpus[at].seen == host.reading || !(n = jiffies_scan(line, j)))
			continue;
		if (at == CPU_ALL) {
			memcpy(all, j, sizeof(all));
			nall = n;
			continue;
		}
		here++;
		staying += host.cpus[at].seen == host.cpus_reading;
		cpu_grow(&host.cpus[at], j, n,
			 host.cpus[at].seen == host.cpus_reading ? stayed : none);
	}
	if (!nall)
		return;
	for (u8 i = 0; i < nall && (staying < here || here < host.ncpus); i++)
		host.cpus[CPU_ALL].was[i] = all[i] - stayed[i];
	cpu_grow(&host.cpus[CPU_ALL], all, nall, none);
	host.cpus_reading = host.reading;
	host.ncpus = here;
}

/* --- disks: Documentation/admin-guide/iostats.rst --------------------------------------------- */

enum {
	SECTOR = 512,    /* bytes of a sector in diskstats, the same for every disk */
	/* maximum number of disks and partitions: 1000 disks with three partitions each */
	MAX_DISKS = 4096
};

struct disk {
	char name[32];  /* name of the disk; the kernel limits it to DISK_NAME_LEN bytes */
	u8 n;
	bool whole;     /* true for a whole disk, false for a partition */
	bool physical;  /* false for a virtual disk, such as a dm, md or loop device */
	u32 seen;       /* number of the last reading in which diskstats contained the disk */
	/* values in the previous reading: sectors read, sectors written, ms busy */
	u64 was[DK_FIELDS];
	/* sums of all increases of the values in was[]; they never decrease, even if a value wraps
	 * or the disk is replaced */
	u64 sum[DK_FIELDS];
};

/* Name patterns of virtual disks. A dm device is recognised by its name, because its folder slaves
 * is empty while it is being created. loop, ram and zram devices exist before they are used: see
 * disk_unused(). */
static const char not_physical[][6] = { "loop*", "ram*", "zram*", "dm-*", "md*" };

static bool disk_is(u32 i, struct str name)
{
	return i < host.ndisks &&
	       str_eq(name, (struct str){ host.disks[i].name,
					  host.disks[i].name + host.disks[i].n });
}

/* Returns the index of a disk in host.disks[]; host.ndisks if the disk is not in the table. The
 * search takes one step if disks are searched for in the order in which they were added, the order
 * of diskstats. */
static u32 disk_find(struct str name)
{
	u32 i = 0;

	if (disk_is(host.last_disk + 1, name))
		return ++host.last_disk;
	while (i < host.ndisks && !disk_is(i, name))
		i++;
	host.last_disk = i;
	return i;
}

/* Returns the path of a file of a disk below /sys/block, where '!' replaces a '/' in the disk's
 * name. */
static const char *disk_path(struct str name, const char *leaf)
{
	char b[32];
	size_t n = str_len(name) < sizeof(b) ? str_len(name) : sizeof(b);

	for (size_t i = 0; i < n; i++)
		b[i] = (char)(name.p[i] == '/' ? '!' : name.p[i]);
	return join("block/", (struct str){ b, b + n }, leaf);
}

static bool disk_physical(struct str name)
{
	struct dir d;
	i64 hidden;
	bool stacked;

	for (size_t i = 0; i < LEN(not_physical); i++)
		if (glob_match(str_z(not_physical[i]), name, NULL))
			return false;
	/* A disk with the attribute `hidden` is not counted: it is only one of several paths to
	 * another disk. */
	if (number_at(roots.sys, disk_path(name, "/hidden"), &hidden) && hidden)
		return false;
	if (dir_open(&d, roots.sys, disk_path(name, "/slaves")) < 0)
		return true;
	stacked = dir_next(&d) != NULL;
	dir_close(&d);
	return !stacked;
}

static struct disk *disk_add(struct str name)
{
	struct disk *d;

	if (!table_has(&host_tables.disks, host.ndisks)) {
		registry.dropped++;
		return NULL;
	}
	d = &host.disks[host.ndisks];
	*d = (struct disk){ .n = (u8)str_len(name) };
	memcpy(d->name, name.p, d->n);
	d->whole = files_note_error(sys_faccess(roots.sys, disk_path(name, ""), F_OK)) == 0;
	d->physical = d->whole && disk_physical(name);
	host.last_disk = host.ndisks++;
	return d;
}

/* Adds the increases of a disk's values since the previous reading to d->sum[] and, for a physical
 * disk, to host.disks_sum[]. Busy times wrap at 32 bits in every kernel, numbers of sectors at the
 * size of a long. Nothing is added if the previous reading did not have the disk: it may be another
 * one with the same name. */
static void disk_grow(struct disk *d, const u64 *now)
{
	for (int i = 0; i < DK_FIELDS; i++) {
		u8 course = i == DK_BUSY || sizeof(long) == 4 ? CO_WRAP32 : CO_RESET;
		u64 ns = (u64)(texts[F_DISKSTATS].t - host.disks_t);
		u64 most = i == DK_BUSY ? most_in(RG_IDLE, ns) : UINT64_MAX;
		u64 more = now[i];

		if (d->seen && (d->seen != host.disks_reading ||
				!course_delta(course, d->was[i], now[i], most, &more)))
			more = 0;
		d->was[i] = now[i];
		d->sum[i] += more;
		if (d->physical)
			host.disks_sum[i] += more;
	}
	d->seen = host.reading;
}

/* Parses a line of diskstats: major, minor, name, reads, merged reads, sectors read, ms reading,
 * the same four for writes, requests in flight, ms busy. Returns false if the line is malformed. */
static bool disk_scan(struct str line, struct str *name, u64 *now)
{
	struct str word;
	u64 f[10];

	if (!str_word(&line, &word) || !str_word(&line, &word) || !str_word(&line, name) ||
	    str_len(*name) > 31 || name->p[0] == '.')
		return false;
	for (size_t i = 0; i < LEN(f); i++)
		if (!str_word(&line, &word) || scan_u64(word, &f[i]) != word.e)
			return false;
	now[DK_READ] = f[2];
	now[DK_WRITE] = f[6];
	now[DK_BUSY] = f[9];
	/* 2^50 sectors are half an exabyte: no disk has transferred so much */
	return ((f[2] | f[6]) >> 50) == 0 && f[9] >> 50 == 0;
}

static void disks_parse(struct str text)
{
	struct str line, name;
	u64 now[DK_FIELDS];

	while (line_next(&text, &line))
		if (disk_scan(line, &name, now)) {
			u32 i = disk_find(name);
			struct disk *d = i < host.ndisks ? &host.disks[i] : disk_add(name);

			if (d && d->seen != host.reading)
				disk_grow(d, now);
		}
	host.disks_reading = host.reading;
	host.disks_t = texts[F_DISKSTATS].t;
}

/* --- I/O of processes: proc_pid_io(5) --------------------------------------------------------- */

enum {
	/* maximum number of processes in host.procs: the default of kernel.pid_max */
	MAX_PROCS = 32768,
	MAX_DEPTH = 32, /* maximum number of ancestors that are checked when a process has ended */
};

/* A process, identified by PID and start time. */
struct proc {
	u32 pid, parent, next;
	u32 seen;      /* number of the last reading that contained the process */
	u64 start;     /* start time of the process, in clock ticks since boot */
	bool has_io;   /* true if io[] has the values of an earlier reading */
	/* rchar and wchar of /proc/PID/io: bytes that the process has read and written */
	u64 io[2];
	u64 increase[2]; /* increases of io[] in the current reading, in bytes */
};

static u32 proc_find(u32 pid, u64 start)
{
	u32 i = buckets.procs[pid % IO_BUCKETS];

	while (i && (host.procs[i].pid != pid || host.procs[i].start != start))
		i = host.procs[i].next;
	return i;
}

/* Returns the index in host.procs[] of a process with this PID; 0 if there is none. If several rows
 * have the PID, returns that of the process that still runs. */
static u32 proc_find_any(u32 pid)
{
	u32 found = 0;

	for (u32 i = buckets.procs[pid % IO_BUCKETS]; i; i = host.procs[i].next)
		if (host.procs[i].pid == pid && (!found || host.procs[i].seen == host.reading))
			found = i;
	return found;
}

static void proc_chain(u32 i)
{
	u16 *first = &buckets.procs[host.procs[i].pid % IO_BUCKETS];

	host.procs[i].next = *first;
	*first = (u16)i;
}

static long proc_slurp(u32 pid, const char *leaf, char *b, size_t cap)
{
	char number[16];
	struct buf to = BUF(number);

	put_u64(&to, pid);
	return slurp(roots.proc, join("", (struct str){ number, number + to.n }, leaf), b, cap);
}

static bool proc_stat(u32 pid, u64 *start, u32 *parent)
{
	char b[1024];
	long n = proc_slurp(pid, "/stat", b, sizeof(b));
	struct str s = str_read(b, n), word;
	const char *p;
	u64 v;

	if (n <= 0 || s.e[-1] != '\n' || !parse_stat_start(s, start))
		return false;
	for (p = s.e; p[-1] != ')'; p--)
		;
	s.p = p;
	if (!str_word(&s, &word) || !str_word(&s, &word) || scan_u64(word, &v) != word.e ||
	    v > UINT32_MAX)
		return false;
	*parent = (u32)v;
	return true;
}

static long proc_io(u32 pid, u64 io[2])
{
	static const char names[][6] = { "rchar", "wchar" };
	char b[512];
	long n = proc_slurp(pid, "/io", b, sizeof(b));
	struct str text, name;
	unsigned found = 0;
	u64 v;

	if (n < 0)
		return n;
	text = (struct str){ b, b + n };
	while (field_next(&text, &name, &v))
		for (unsigned i = 0; i < LEN(names); i++)
			if (str_is(name, names[i]) && v >> 60 == 0) {
				io[i] = v;
				found |= 1u << i;
			}
	return found == 3 ? 0 : -ENOENT;
}

static struct proc *proc_add(u32 pid, u64 start)
{
	if (!table_has(&host_tables.procs, host.nprocs + 1)) {
		registry.dropped++;
		return NULL;
	}
	host.procs[++host.nprocs] =
		(struct proc){ .pid = pid, .start = start, .has_io = host.io_seen != 0 };
	proc_chain(host.nprocs);
	return &host.procs[host.nprocs];
}

/* Reads the I/O of a process (/proc/PID/io) and computes its increase since the previous reading.
 * If the process has started since then, all its I/O counts; if it existed but could not be read,
 * only I/O from now on counts. If the user may not read some processes, sets host.io_error to
 * -EACCES, because the sum is too low; but not for root, who cannot read only a few processes,
 * which have more capabilities than root has in a container. */
static void proc_update(u32 pid)
{
	u64 start, io[2];
	u32 parent, i;
	struct proc *p;
	long error;

	if (!proc_stat(pid, &start, &parent))
		return;
	i = proc_find(pid, start);
	p = i ? &host.procs[i] : proc_add(pid, start);
	if (!p || p->seen == host.reading)
		return;
	p->seen = host.reading;
	p->parent = parent;
	p->increase[0] = p->increase[1] = 0;
	error = proc_io(pid, io);
	if (error) {
		p->has_io &= i != 0;
		if (error_simplify(error) == -EACCES &&
		    (host.io_error == -ENOENT || sys_euid() != 0))
			host.io_error = -EACCES;
		return;
	}
	if (host.io_error != -EACCES || sys_euid() == 0)
		host.io_error = 0;
	for (int k = 0; k < 2; k++) {
		p->increase[k] = p->has_io && io[k] > p->io[k] ? io[k] - p->io[k] : 0;
		p->io[k] = io[k];
	}
	p->has_io = true;
}

/* Corrects the increases of other processes after the process `gone` has ended. The kernel adds the
 * I/O of an ended process to the process that waited for it (wait_task_zombie() of kernel/exit.c),
 * but earlier readings have already counted it. So it is subtracted from the nearest running
 * ancestor whose increase is large enough: this is taken to be the process that waited. */
static void proc_ended(const struct proc *gone)
{
	u32 pid = gone->parent;

	for (int depth = 0; pid && depth < MAX_DEPTH; depth++) {
		u32 i = proc_find_any(pid);
		struct proc *p = &host.procs[i];

		if (!i)
			return;
		if (p->seen == host.reading && p->increase[0] >= gone->io[0] &&
		    p->increase[1] >= gone->io[1]) {
			p->increase[0] -= gone->io[0];
			p->increase[1] -= gone->io[1];
			return;
		}
		pid = p->parent;
	}
}

/* Adds the increases of all processes to host.io_sum, and removes the processes that have ended. */
static void procs_sum(void)
{
	u32 n = 0;

	for (u32 i = 1; i <= host.nprocs; i++)
		if (host.procs[i].seen != host.reading && host.procs[i].has_io)
			proc_ended(&host.procs[i]);
	memset(buckets.procs, 0, sizeof(buckets.procs));
	for (u32 i = 1; i <= host.nprocs; i++)
		if (host.procs[i].seen == host.reading) {
			host.io_sum[0] += host.procs[i].increase[0];
			host.io_sum[1] += host.procs[i].increase[1];
			host.procs[++n] = host.procs[i];
			proc_chain(n);
		}
	host.nprocs = n;
}

/* Calls visit() for each process in /proc; visit NULL: only counts them. Returns the number of
 * processes. */
static u64 procs_each(void (*visit)(u32 pid))
{
	struct dir d;
	const char *name;
	u64 pid, n = 0;

	if (dir_open(&d, roots.proc, ".") < 0)
		return 0;
	while ((name = dir_next(&d))) {
		struct str s = str_z(name);

		if (scan_u64(s, &pid) != s.e || pid > UINT32_MAX)
			continue;
		n++;
		if (visit)
			visit((u32)pid);
	}
	dir_close(&d);
	return n;
}

/* --- clocks without cpufreq: /proc/cpuinfo ---------------------------------------------------- */

static void clocks_parse(struct str text)
{
	struct str line, key;
	u64 cpu = MAX_CPUS, hz;

	while (line_next(&text, &line)) {
		str_cut(&line, ':', &key);
		key = str_trim(key);
		line = str_trim(line);
		if (str_is(key, "processor"))
			cpu = scan_u64(line, &cpu) == line.e ? cpu : MAX_CPUS;
		if (cpu < MAX_CPUS && str_is(key, "cpu MHz") && scan_dec(line, 6, &hz) == line.e &&
		    table_has(&host_tables.cpus, CPU_FIRST + (size_t)cpu)) {
			host.cpus[CPU_FIRST + cpu].hz = hz;
			host.cpus[CPU_FIRST + cpu].clocked = host.reading;
		}
	}
}

/* --- functions that read the values of counters ----------------------------------------------- */

enum row_group { G_ONE, G_IO, G_CPU, G_CLOCK, G_DISK, G_ZONE, G_RAPL };
enum method {
	H_CPU, H_FIELD, H_MEMORY, H_LOAD, H_PRESSURE, H_DISK, H_DISKS, H_IO, H_PROCESSES, H_CLOCK,
	H_ZONE
};

/* A row of rows[]: a kind of counter of the host. Each instance, such as a CPU or a disk, has one
 * counter of this kind. */
struct row {
	/* name: name of the counter, with a '*' in place of the instance; what: description of the
	 * counter */
	const char *name, *what;
	/* name of the field in the file from which the value comes; NULL if the value is not a
	 * named field */
	const char *key;
	/* enum amount: less: field of meminfo that is subtracted from the value; limit: field of
	 * meminfo that is the maximum of the value; M_NONE: no such field */
	u8 less, limit;
	u8 unit, rule, group, method, file, arg;
};

/* Fields of /proc/meminfo that a row of rows[] can name in its members less and limit. */
enum amount { M_NONE, M_TOTAL, M_AVAILABLE, M_COMMIT, M_SWAP, M_SWAP_FREE };
static const char *const amounts[] = {
	[M_TOTAL] = "MemTotal", [M_AVAILABLE] = "MemAvailable", [M_COMMIT] = "CommitLimit",
	[M_SWAP] = "SwapTotal", [M_SWAP_FREE] = "SwapFree",
};

static long cpu_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	struct str text;
	long error = text_get(F_STAT, &text);
	const struct cpu *c;
	u32 at;

	if (error || !cpu_row(inst, &at))
		return error ? error : -ENOENT;
	c = &host.cpus[at];
	if (c->seen != host.reading || !(r->arg & ((1u << c->n) - 1)))
		return -ENOENT;
	*v = *total = 0;
	for (u8 i = 0; i < c->n; i++) {
		*total += c->sum[i];
		*v += r->arg >> i & 1 ? c->sum[i] : 0;
	}
	return 0;
}

/* Stores the field r->key of stat, meminfo or vmstat in *v. r->arg: 1 if the field is a number of
 * pages, which is converted to bytes; else 0. */
static long field_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	long error = field_get(r->file, str_z(r->key), v);

	(void)inst, (void)total;
	if (error || !r->arg)
		return error;
	if (*v > UINT64_MAX / sys_page_size())
		return -ENOENT;
	*v *= sys_page_size();
	return 0;
}

/* Stores a field of meminfo in *v, in bytes. Kernels before 3.14 have no field MemAvailable: it is
 * estimated as MemFree + Buffers + Cached. */
static long memory_get(struct str name, u64 *v)
{
	static const char parts[][8] = { "MemFree", "Buffers", "Cached" };
	long error = field_get(F_MEMINFO, name, v);
	u64 part;

	if (error != -ENOENT || !str_is(name, "MemAvailable"))
		return error;
	*v = 0;
	for (size_t i = 0; i < LEN(parts); i++) {
		error = field_get(F_MEMINFO, str_z(parts[i]), &part);
		if (error || part > UINT64_MAX - *v)
			return error ? error : -ENOENT;
		*v += part;
	}
	return 0;
}

static long memory_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	u64 less = 0;
	long error = memory_get(str_z(r->key), v);

	(void)inst, (void)total;
	if (!error && r->less)
		error = memory_get(str_z(amounts[r->less]), &less);
	if (error || less > *v)
		return error ? error : -ENOENT;
	*v -= less;
	return 0;
}

/* Stores a value of /proc/loadavg in *v. The file is "0.52 0.41 0.38 2/1234 65432". r->arg: 0 to 2:
 * the load average with this index, in 1/100; 3: the number of threads, after the slash. */
static long load_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	struct str text, line, word = { 0 }, running;
	long error = text_get(F_LOADAVG, &text);

	(void)inst, (void)total;
	if (error || !line_next(&text, &line))
		return error ? error : -ENOENT;
	for (u8 i = 0; i <= r->arg; i++)
		if (!str_word(&line, &word))
			return -ENOENT;
	if (r->arg < 3)
		return scan_dec(word, 2, v) == word.e ? 0 : -ENOENT;
	return str_cut(&word, '/', &running) && scan_u64(word, v) == word.e ? 0 : -ENOENT;
}

/* Stores in *v the total waiting time in us from a pressure file: from its line r->key ("some" or
 * "full"), which is like "some avg10=0.12 avg60=0.08 avg300=0.05 total=12345678". Stores the time
 * of the reading in us in *total. */
static long pressure_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	struct str text, line, word;
	long error = text_get(r->file, &text);

	(void)inst;
	while (line_next(&text, &line)) {
		if (!str_word(&line, &word) || !str_is(word, r->key))
			continue;
		while (str_word(&line, &word))
			if (str_skip_z(&word, "total=") && scan_u64(word, v) == word.e) {
				*total = (u64)texts[r->file].t / 1000;
				return 0;
			}
	}
	return error ? error : -ENOENT;
}

static long disk_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	struct str text;
	long error = text_get(F_DISKSTATS, &text);
	u32 i = disk_find(inst);

	if (error || i == host.ndisks || host.disks[i].seen != host.reading)
		return error ? error : -ENOENT;
	*v = host.disks[i].sum[r->arg] * (r->arg == DK_BUSY ? 1 : SECTOR);
	*total = r->arg == DK_BUSY ? (u64)texts[F_DISKSTATS].t / 1000000 : 0;
	return 0;
}

static long disks_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	struct str text;
	long error = text_get(F_DISKSTATS, &text);

	(void)inst, (void)total;
	*v = host.disks_sum[r->arg] * SECTOR;
	return error ? error : host.ndisks ? 0 : -ENOENT;
}

static long io_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	(void)inst, (void)total;
	if (host.io_seen != host.reading) {
		host.io_error = -ENOENT;
		procs_each(proc_update);
		procs_sum();
		host.io_seen = host.reading;
	}
	*v = host.io_sum[r->arg];
	return host.io_error;
}

static long processes_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	(void)r, (void)inst, (void)total;
	if (host.processes_seen != host.reading)
		host.processes = procs_each(NULL);
	host.processes_seen = host.reading;
	*v = host.processes;
	return host.processes ? 0 : -ENOENT;
}

static long clock_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	const struct small_file *f = NULL;
	struct str text;
	long error = small_get(SM_CLOCK, inst, &f);
	u32 at;

	(void)r, (void)total;
	if (!error && f->value <= INT64_MAX / 1000) {
		*v = (u64)f->value * 1000;
		return 0;
	}
	if (text_get(F_CPUINFO, &text) < 0 || !cpu_row(inst, &at) ||
	    host.cpus[at].clocked != host.reading)
		return error ? error : -ENOENT;
	*v = host.cpus[at].hz;
	return 0;
}

/* Stores in *v the temperature of a thermal zone in 1/1000 degrees C, if negative as two's
 * complement, or the sum of the energy of an energy zone in uJ. */
static long zone_read(const struct row *r, struct str inst, u64 *v, u64 *total)
{
	const struct small_file *f = NULL;
	long error = small_get(r->arg, inst, &f);

	(void)total;
	if (!error)
		*v = r->arg == SM_ENERGY ? f->energy.sum : (u64)f->value;
	return error;
}

/* --- the table of counters -------------------------------------------------------------------- */

enum {
	NO_UNIT, PERCENT, HZ, PER_S, BYTES, BYTES_PER_S, CENTI, MILLIC, MICROJ, MICROW
};
static const char unit_names[][8] = {
	[NO_UNIT] = "", [PERCENT] = "%", [HZ] = "Hz", [PER_S] = "1/s", [BYTES] = "bytes",
	[BYTES_PER_S] = "bytes/s", [CENTI] = "1/100", [MILLIC] = "mC", [MICROJ] = "uJ",
	[MICROW] = "uW"
};

static long (*const row_readers[])(const struct row *r, struct str inst, u64 *v, u64 *total) = {
	[H_CPU] = cpu_read, [H_FIELD] = field_read, [H_MEMORY] = memory_read, [H_LOAD] = load_read,
	[H_PRESSURE] = pressure_read, [H_DISK] = disk_read, [H_DISKS] = disks_read,
	[H_IO] = io_read, [H_PROCESSES] = processes_read, [H_CLOCK] = clock_read,
	[H_ZONE] = zone_read
};

#define CPU_SHARE(name, what, mask) \
	{ "cpu/*/" name, what, NULL, 0, 0, PERCENT, R_SHARE, G_CPU, H_CPU, F_STAT, mask }
#define ONE(name, unit, what, rule, file, arg, method, key) \
	{ name, what, key, 0, 0, unit, rule, G_ONE, method, file, arg }
#define MEMORY(name, what, key, less, limit) \
	{ name, what, key, M_##less, M_##limit, BYTES, R_LEVEL, G_ONE, H_MEMORY, F_MEMINFO, 0 }
#define PRESSURE(name, what, file, key) \
	ONE("pressure/" name, PERCENT, what, R_SHARE, file, 0, H_PRESSURE, key)
#define DISK(name, unit, what, rule, arg) \
	{ "disk/*/" name, what, NULL, 0, 0, unit, rule, G_DISK, H_DISK, F_DISKSTATS, arg }
#define ROW(group, name, unit, what, rule, arg, method) \
	{ name, what, NULL, 0, 0, unit, rule, group, method, F_NONE, arg }

/* All kinds of counters of the host. Rows of the same group are adjacent, because list_instance()
 * lists all rows of a group for each instance. */
static const struct row rows[] = {
	CPU_SHARE("util", "time that the CPU is not idle", J_ALL & ~(J(IDLE) | J(IOWAIT))),
	CPU_SHARE("user", "time in user space, guests' included", J(USER) | J(NICE)),
	CPU_SHARE("kernel", "time in the kernel, interrupts included",
		  J(SYSTEM) | J(IRQ) | J(SOFTIRQ)),
	CPU_SHARE("idle", "idle time without pending I/O", J(IDLE)),
	CPU_SHARE("iowait", "idle time with pending I/O", J(IOWAIT)),
	CPU_SHARE("irq", "time in hard and soft interrupts", J(IRQ) | J(SOFTIRQ)),
	CPU_SHARE("steal", "time that the hypervisor gave to other guests", J(STEAL)),
	ROW(G_CLOCK, "cpu/*/freq", HZ, "clock", R_LEVEL, 0, H_CLOCK),
	ONE("cpu/all/switches", PER_S, "context switches", R_RATE, F_STAT, 0, H_FIELD, "ctxt"),
	ONE("cpu/all/interrupts", PER_S, "interrupts", R_RATE, F_STAT, 0, H_FIELD, "intr"),
	MEMORY("memory/-/total", "memory that the kernel manages", "MemTotal", NONE, NONE),
	MEMORY("memory/-/used", "memory that is not available", "MemTotal", AVAILABLE, TOTAL),
	MEMORY("memory/-/available", "memory that could be had without swapping", "MemAvailable",
	       NONE, TOTAL),
	MEMORY("memory/-/cached", "page cache", "Cached", NONE, TOTAL),
	MEMORY("memory/-/committed", "memory promised to programs", "Committed_AS", NONE, COMMIT),
	MEMORY("swap/-/total", "swap space", "SwapTotal", NONE, NONE),
	MEMORY("swap/-/used", "swap space in use", "SwapTotal", SWAP_FREE, SWAP),
	ONE("vm/-/faults", PER_S, "page faults", R_RATE, F_VMSTAT, 0, H_FIELD, "pgfault"),
	ONE("vm/-/major_faults", PER_S, "page faults that needed I/O", R_RATE, F_VMSTAT, 0, H_FIELD,
	    "pgmajfault"),
	ONE("vm/-/swap_in", BYTES_PER_S, "read from swap", R_RATE, F_VMSTAT, 1, H_FIELD, "pswpin"),
	ONE("vm/-/swap_out", BYTES_PER_S, "written to swap", R_RATE, F_VMSTAT, 1, H_FIELD,
	    "pswpout"),
	DISK("read", BYTES_PER_S, "read from the disk", R_RATE, DK_READ),
	DISK("write", BYTES_PER_S, "written to the disk", R_RATE, DK_WRITE),
	DISK("util", PERCENT, "time with I/O under way", R_SHARE, DK_BUSY),
	ONE("disk/all/read", BYTES_PER_S, "read from physical disks", R_RATE, F_DISKSTATS, DK_READ,
	    H_DISKS, NULL),
	ONE("disk/all/write", BYTES_PER_S, "written to physical disks", R_RATE, F_DISKSTATS,
	    DK_WRITE, H_DISKS, NULL),
	ROW(G_IO, "file/all/read", BYTES_PER_S, "read by processes, from whatever", R_RATE, 0,
	    H_IO),
	ROW(G_IO, "file/all/write", BYTES_PER_S, "written by processes, to whatever", R_RATE, 1,
	    H_IO),
	ONE("processes/-/count", NO_UNIT, "processes", R_LEVEL, F_NONE, 0, H_PROCESSES, NULL),
	ONE("processes/-/running", NO_UNIT, "threads that run or could", R_LEVEL, F_STAT, 0,
	    H_FIELD, "procs_running"),
	ONE("processes/-/blocked", NO_UNIT, "threads that wait for I/O", R_LEVEL, F_STAT, 0,
	    H_FIELD, "procs_blocked"),
	ONE("processes/-/forks", PER_S, "processes and threads started", R_RATE, F_STAT, 0, H_FIELD,
	    "processes"),
	ONE("threads/-/count", NO_UNIT, "threads, the kernel's included", R_LEVEL, F_LOADAVG, 3,
	    H_LOAD, NULL),
	ONE("load/-/1", CENTI, "load average of a minute", R_LEVEL, F_LOADAVG, 0, H_LOAD, NULL),
	ONE("load/-/5", CENTI, "load average of five minutes", R_LEVEL, F_LOADAVG, 1, H_LOAD, NULL),
	ONE("load/-/15", CENTI, "load average of a quarter of an hour", R_LEVEL, F_LOADAVG, 2,
	    H_LOAD, NULL),
	PRESSURE("cpu/some", "time that some task waited for a CPU", F_PSI_CPU, "some"),
	PRESSURE("cpu/full", "time that all tasks waited for a CPU", F_PSI_CPU, "full"),
	PRESSURE("memory/some", "time that some task waited for memory", F_PSI_MEMORY, "some"),
	PRESSURE("memory/full", "time that all tasks waited for memory", F_PSI_MEMORY, "full"),
	PRESSURE("io/some", "time that some task waited for I/O", F_PSI_IO, "some"),
	PRESSURE("io/full", "time that all tasks waited for I/O", F_PSI_IO, "full"),
	ROW(G_ZONE, "thermal/*/temp", MILLIC, "temperature of a thermal zone", R_LEVEL, SM_TEMP,
	    H_ZONE),
	ROW(G_RAPL, "energy/*/energy", MICROJ, "energy used", R_COUNT, SM_ENERGY, H_ZONE),
	ROW(G_RAPL, "energy/*/power", MICROW, "power", R_RATE, SM_ENERGY, H_ZONE),
};

/* --- the list of counters --------------------------------------------------------------------- */

struct listing {
	/* first: index in rows[] of the first row of a group (enum row_group); n: number of rows of
	 * the group */
	size_t first, n;
	void (*found)(const struct hostcounter *h);
};

/* Appends at most 31 bytes of a name that the kernel reports to the name of a counter. Blanks, '/',
 * control characters and malformed UTF-8 become '_'. */
static void put_clean(struct buf *b, struct str name)
{
	const char *end = str_len(name) < 31 ? name.e : name.p + 31;
	size_t n;

	for (; name.p < end; name.p += n) {
		n = utf8_len(name.p, end);
		if (n == 0 || *name.p == ' ' || *name.p == '/' || is_control(name.p, n)) {
			n += n == 0;
			put_c(b, '_');
		} else {
			put_n(b, name.p, n);
		}
	}
}

static u64 row_max(const struct row *r)
{
	u64 max = r->rule == R_SHARE ? 100 : UINT64_MAX;

	if (r->limit && field_get(F_MEMINFO, str_z(amounts[r->limit]), &max) < 0)
		max = UINT64_MAX;
	return max;
}

/* Lists the counters of a group of rows for one instance. shown: the instance as it is written in
 * the names of the counters. max: maximum of the values; UINT64_MAX: each row has its own
 * maximum. */
static void list_instance(const struct listing *l, struct str inst, struct str shown, u64 max)
{
	for (size_t i = l->first; i < l->first + l->n; i++) {
		const struct row *r = &rows[i];
		struct hostcounter h = { .what = r->what, .unit = unit_names[r->unit],
					 .rule = r->rule, .row = (u8)i };
		struct buf b = buf_on(h.name, sizeof(h.name) - 1);
		struct str tail = str_z(r->name), head;

		if (r->file != F_NONE && !texts[r->file].listed)
			continue;
		str_cut(&tail, '*', &head);
		put_str(&b, head);
		if (str_len(head) < strlen(r->name))
			put_str(&b, shown);
		put_str(&b, tail);
		h.n = (u8)str_len(inst);
		memcpy(h.inst, inst.p, h.n);
		h.max = max != UINT64_MAX ? max : row_max(r);
		l->found(&h);
	}
}

static void list_one(const struct listing *l)
{
	list_instance(l, S("-"), S("-"), UINT64_MAX);
}

/* Lists the counters of the I/O of processes, if /proc/PID/io exists: it requires
 * CONFIG_TASK_IO_ACCOUNTING. */
static void list_io(const struct listing *l)
{
	if (sys_has_file(roots.proc, "self/io") || sys_has_file(roots.proc, "1/io"))
		list_one(l);
}

/* Stores in *set the numbers of the CPUs that are present, from /sys if possible, otherwise from
 * /proc/stat. */
static void cpus_present(struct cpuset *set)
{
	static char b[4096];
	struct str line, text;

	if (slurp_line(roots.sys, "devices/system/cpu/present", b, sizeof(b), &line) &&
	    line.p < line.e && parse_cpulist(line, set))
		return;
	memset(set, 0, sizeof(*set));
	text_get(F_STAT, &text);
	for (u32 i = 0; CPU_FIRST + i < host_tables.cpus.ready; i++)
		if (host.cpus[CPU_FIRST + i].seen == host.reading)
			set->w[i / 64] |= UINT64_C(1) << i % 64;
}

static void cpus_each(const struct listing *l,
		      void (*visit)(const struct listing *l, struct str cpu))
{
	static struct cpuset set;

	cpus_present(&set);
	for (u32 i = 0; i < MAX_CPUS; i++)
		if (set.w[i / 64] >> i % 64 & 1) {
			char name[16];
			struct buf b = BUF(name);

			put_z(&b, "cpu");
			put_u64(&b, i);
			visit(l, (struct str){ name, name + b.n });
		}
}

static void list_cpu(const struct listing *l, struct str cpu)
{
	list_instance(l, cpu, cpu, UINT64_MAX);
}

static void list_cpus(const struct listing *l)
{
	list_instance(l, S("cpu"), S("all"), UINT64_MAX);
	cpus_each(l, list_cpu);
}

static void list_clock(const struct listing *l, struct str cpu)
{
	const char *path = small_path(SM_CLOCK, cpu);
	i64 khz;
	bool known;

	if (!host.cpuinfo_has_clocks && !sys_has_file(roots.sys, path))
		return;
	path = join(small_paths[SM_CLOCK].before, cpu, "/cpufreq/cpuinfo_max_freq");
	known = number_at(roots.sys, path, &khz) && khz > 0 && khz < INT64_MAX / 1000;
	list_instance(l, cpu, cpu, known ? (u64)khz * 1000 : UINT64_MAX);
}

/* Lists the clocks of all CPUs. To find out whether cpuinfo has clocks, only its start is read:
 * reading the whole file may take 20 ms for each CPU. */
static void list_clocks(const struct listing *l)
{
	static char b[4096];
	long n = slurp(roots.proc, "cpuinfo", b, sizeof(b));

	host.cpuinfo_has_clocks = n > 0 && str_find((struct str){ b, b + n }, S("cpu MHz"));
	cpus_each(l, list_clock);
}

/* Returns whether a disk is a loop, ram or zram device that is not in use: the size of such a
 * device is 0. */
static bool disk_unused(struct str name)
{
	i64 size;

	for (size_t i = 0; i < 3; i++)
		if (glob_match(str_z(not_physical[i]), name, NULL))
			return number_at(roots.sys, disk_path(name, "/size"), &size) && size == 0;
	return false;
}

static void list_disks(const struct listing *l)
{
	struct str text;

	text_get(F_DISKSTATS, &text);
	for (u32 i = 0; i < host.ndisks; i++) {
		struct str name = { host.disks[i].name, host.disks[i].name + host.disks[i].n };
		char shown[32];
		struct buf b = BUF(shown);

		put_clean(&b, name);
		if (host.disks[i].seen == host.reading && host.disks[i].whole && !disk_unused(name))
			list_instance(l, name, (struct str){ shown, shown + b.n }, UINT64_MAX);
	}
}

enum { MAX_ZONES = 256 /* number of thermal or energy zones; large servers have several dozens */ };

struct zone {
	char inst[32], shown[64 + 24];
	u8 n, len;
};

static struct str zone_inst(const struct zone *z)
{
	return (struct str){ z->inst, z->inst + z->n };
}

static struct str zone_shown(const struct zone *z)
{
	return (struct str){ z->shown, z->shown + z->len };
}

static void zone_put(struct str name)
{
	u32 i = host.nzones;

	if (!table_has(&host_tables.zones, host.nzones)) {
		registry.dropped++;
		return;
	}
	for (; i > 0 && str_order(name, zone_inst(&host.zones[i - 1])) < 0; i--)
		host.zones[i] = host.zones[i - 1];
	host.zones[i].n = (u8)str_len(name);
	memcpy(host.zones[i].inst, name.p, host.zones[i].n);
	host.nzones++;
}

/* Finds the folders in dir whose names are the prefix followed by numbers ("intel-rapl:0:1"), and
 * stores them, sorted by name, in host.zones[]. */
static void zones_find(const char *dir, struct str prefix)
{
	struct dir d;
	const char *name;

	host.nzones = 0;
	if (dir_open(&d, roots.sys, dir) < 0)
		return;
	while ((name = dir_next(&d))) {
		struct str s = str_z(name), at = s;

		if (!str_skip(&at, prefix) || str_len(s) > sizeof(host.zones[0].inst))
			continue;
		while (at.p < at.e && ((*at.p >= '0' && *at.p <= '9') ||
				       (*at.p == ':' && at.p + 1 < at.e)))
			at.p++;
		if (at.p == at.e && at.p[-1] != prefix.e[-1])
			zone_put(s);
	}
	dir_close(&d);
}

/* Returns the number at the end of the kernel's name of a zone: "3" for "thermal_zone3". */
static struct str zone_number(const struct zone *z)
{
	struct str s = zone_inst(z);

	s.p = s.e;
	while (s.p > z->inst && s.p[-1] >= '0' && s.p[-1] <= '9')
		s.p--;
	return s;
}

/* Appends the name of a thermal or energy zone: the first line of the zone's file `leaf`, such as
 * "type"; or "zone" and the zone's number if the file cannot be read. */
static void zone_name(struct buf *b, const struct zone *z, const char *dir, const char *leaf)
{
	char line[128];
	struct str name;

	if (slurp_line(roots.sys, join(dir, zone_inst(z), leaf), line, sizeof(line), &name) &&
	    name.p < name.e) {
		put_clean(b, name);
		return;
	}
	put_z(b, "zone");
	put_str(b, zone_number(z));
}

/* Lists the counters of all zones in host.zones[]. leaf: name of the file in a zone's folder with
 * the name of the zone. If an earlier zone has the same name, '#' and the number of the zone are
 * appended to it. */
static void list_zones(const struct listing *l, const char *dir, const char *leaf)
{
	for (u32 i = 0; i < host.nzones; i++) {
		struct zone *z = &host.zones[i], outer = *z;
		struct buf b = BUF(z->shown);
		struct str rest = zone_inst(z), part;
		u32 same = 0;

		/* The name of a zone such as intel-rapl:0:1 begins with that of the zone
		 * intel-rapl:0, of which it is a part. */
		if (str_cut(&rest, ':', &part) && str_cut(&rest, ':', &part) &&
		    rest.p && rest.p < rest.e) {
			outer.n = (u8)(part.e - z->inst);
			zone_name(&b, &outer, dir, leaf);
			put_c(&b, '-');
		}
		zone_name(&b, z, dir, leaf);
		z->len = (u8)b.n;
		while (same < i && !str_eq(zone_shown(&host.zones[same]), zone_shown(z)))
			same++;
		if (same < i) {
			put_c(&b, '#');
			put_str(&b, zone_number(z));
			z->len = (u8)b.n;
		}
		list_instance(l, zone_inst(z), zone_shown(z), UINT64_MAX);
	}
}

static void list_thermal(const struct listing *l)
{
	zones_find("class/thermal", S("thermal_zone"));
	list_zones(l, small_paths[SM_TEMP].before, "/type");
}

static void list_rapl(const struct listing *l)
{
	zones_find("class/powercap", S("intel-rapl:"));
	list_zones(l, small_paths[SM_ENERGY].before, "/name");
}

static void (*const list_group[])(const struct listing *l) = {
	[G_ONE] = list_one, [G_IO] = list_io, [G_CPU] = list_cpus, [G_CLOCK] = list_clocks,
	[G_DISK] = list_disks, [G_ZONE] = list_thermal, [G_RAPL] = list_rapl,
};

/* Closes the files that no counter has needed since the last host_trim(). */
static void close_unused(void)
{
	for (size_t i = 0; i < FILES; i++)
		if (!texts[i].used)
			text_close(&texts[i]);
	for (size_t i = 0; i < host.nsmalls; i++)
		if (!host.smalls[i].used)
			small_close(&host.smalls[i]);
}

void host_begin(void)
{
	host.reading++;
	host.text_used = 0;
}

void host_list(enum host_part part, void (*found)(const struct hostcounter *h))
{
	struct listing l = { .found = found };
	size_t first = part == HOST_CPUS ? 0 : F_STAT + 1;
	size_t end = part == HOST_CPUS ? F_STAT + 1 : FILES;

	host_begin();
	host.listing = true;
	for (size_t i = first; i < end; i++)
		texts[i].listed = sys_has_file(roots.proc, text_sources[i].path);
	for (; l.first < LEN(rows); l.first += l.n) {
		l.n = 1;
		while (l.first + l.n < LEN(rows) &&
		       rows[l.first + l.n].group == rows[l.first].group)
			l.n++;
		if ((rows[l.first].group == G_CPU) == (part == HOST_CPUS))
			list_group[rows[l.first].group](&l);
	}
	host.listing = false;
	close_unused();
}

long host_read(const struct hostcounter *h, u64 *v, u64 *total)
{
	const struct row *r = &rows[h->row];

	*v = *total = 0;
	return row_readers[r->method](r, inst_of(h), v, total);
}

void host_trim(void)
{
	close_unused();
	for (size_t i = 0; i < FILES; i++)
		texts[i].used = false;
	for (size_t i = 0; i < host.nsmalls; i++)
		host.smalls[i].used = false;
}

static struct host_tables host_tables = {
	/* 4 MiB: enough for the sum of all text_sources[].cap, the maximum sizes of the files, plus
	 * TEXT_PART */
	.text_bytes = TABLE_ROW(host.text_bytes, 4 << 20, 16 << 10,
			  "bytes of /proc"),
	.smalls = TABLE_ROW(host.smalls, MAX_SMALL, 16, "files of one number"),
	.cpus = TABLE_ROW(host.cpus, CPU_FIRST + MAX_CPUS, 26, "CPUs"),
	.disks = TABLE_ROW(host.disks, MAX_DISKS, 16, "disks"),
	.procs = TABLE_ROW(host.procs, MAX_PROCS + 1, 128, "processes with I/O"),
	.zones = TABLE_ROW(host.zones, MAX_ZONES, 16, "thermal and energy zones"),
};
