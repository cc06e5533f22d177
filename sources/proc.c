/* proc.c - the machine itself: CPUs, memory, disks, processes, pressure, heat and energy.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

static u32 reading = 1; /* of host_begin(): what was read in it is not read again */
static bool listing;    /* what is opened for a list is not kept */

static struct str inst_of(const struct hostcounter *h)
{
	return (struct str){ h->inst, h->inst + h->n };
}

/* What cannot be read for other reasons than rights, or want of descriptors, is not there: sleeping sensors answer
 * EAGAIN, ENODATA, EIO, ... */
static long why_not(long error)
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

/* --- files with many values: read once in a reading, when the first counter asks --------------------------- */

enum file {
	F_STAT, F_MEMINFO, F_VMSTAT, /* those of procfield_*() */
	F_DISKSTATS, F_LOADAVG, F_CPUINFO, F_PSI_CPU, F_PSI_MEMORY, F_PSI_IO,
	FILES, F_NONE = FILES,
};

enum { TEXT_PART = 4096 /* there is so much room before more is read */ };

static void cpus_take(struct str text);
static void disks_take(struct str text);
static void clocks_take(struct str text);

static const struct source_text {
	const char *path;
	void (*take)(struct str text);
	u32 cap;
	bool many; /* records */
} text_sources[FILES] = {
	[F_STAT]       = { "stat", cpus_take, 1 << 20, false }, /* 128 bytes for each CPU, of MAX_CPUS, 2 for each interrupt */
	[F_MEMINFO]    = { "meminfo", NULL, 128 << 10, false },
	[F_VMSTAT]     = { "vmstat", NULL, 128 << 10, true },
	[F_DISKSTATS]  = { "diskstats", disks_take, 512 << 10, true }, /* 4000 disks and partitions */
	[F_LOADAVG]    = { "loadavg", NULL, TEXT_PART, false },
	[F_CPUINFO]    = { "cpuinfo", clocks_take, 2 << 20, true }, /* 1000 CPUs; most of it are flags */
	[F_PSI_CPU]    = { "pressure/cpu", NULL, TEXT_PART, false },
	[F_PSI_MEMORY] = { "pressure/memory", NULL, TEXT_PART, false },
	[F_PSI_IO]     = { "pressure/io", NULL, TEXT_PART, false },
};

/* The texts of a reading stand one behind the other. */
static char *text_bytes;
static TABLE(text_bytes, 4 << 20 /* all caps and a part */, 16 << 10, "bytes of /proc");
static size_t text_used;

static struct text {
	int fd;
	bool open;
	bool asked;  /* since host_trim() */
	bool listed; /* was there for host_list() */
	u32 reading; /* in which it was read last */
	long error;
	size_t at, n; /* in text_bytes */
	i64 t;       /* ns, when */
} texts[FILES];

static void text_close(struct text *f)
{
	if (f->open)
		sys_close(f->fd);
	f->open = false;
}

/* To the end, behind text_used: of a seq_file of many records a read gives those that a page holds, whole ones, though more
 * follow; of one record it gives all that there is room for. Length, or -errno. */
static long read_all(int fd, const struct source_text *from)
{
	size_t n = 0, room;
	long r;
	char *b;

	do {
		if (!table_has(&text_bytes_table, text_used + n + TEXT_PART - 1))
			return -ENOMEM;
		b = text_bytes + text_used + n;
		room = text_bytes_table.ready - text_used - n;
		room = room < from->cap - n ? room : from->cap - n;
		r = sys_pread(fd, b, room, n);
		n += r > 0 ? (size_t)r : 0;
	} while (n < from->cap && (r == -EINTR || (r > 0 && (from->many || (size_t)r == room || b[r - 1] != '\n'))));
	return r < 0 ? r : (long)n;
}

static struct str text_of(const struct text *f)
{
	return f->n ? str_of(text_bytes + f->at, f->n) : LIT("");
}

static void text_fill(struct text *f, const struct source_text *from)
{
	long n = 0;

	if (!f->open) {
		n = sys_openat(root_proc, from->path, O_RDONLY | O_NONBLOCK);
		f->fd = (int)n;
		f->open = n >= 0;
	}
	if (n >= 0)
		n = read_all(f->fd, from);
	if (n < 0)
		text_close(f);
	f->error = n < 0 ? why_not(n) : 0;
	f->n = n > 0 ? (size_t)n : 0;
	f->at = text_used;
	text_used += f->n;
	reg_dropped += f->n == from->cap;
	f->reading = reading;
	f->t = sys_now(CLOCK_MONOTONIC);
	if (from->take)
		from->take(text_of(f));
}

static long text_get(u8 file, struct str *text)
{
	struct text *f = &texts[file];

	f->asked |= !listing;
	if (f->reading != reading)
		text_fill(f, &text_sources[file]);
	*text = text_of(f);
	return f->error;
}

/* --- fields of stat, meminfo and vmstat -------------------------------------------------------------------- */

static const struct {
	char name[14];
	bool level;
} stats[] = {
	{ "ctxt", false }, { "processes", false }, { "intr", false }, { "softirq", false },
	{ "procs_running", true }, { "procs_blocked", true },
};

/* A line's name, without the colon of meminfo, and number; kB are made bytes. */
static bool field_next(struct str *text, struct str *name, u64 *v)
{
	struct str line, word;

	while (line_next(text, &line)) {
		if (!str_word(&line, name) || !str_word(&line, &word) || scan_u64(word, v) != word.e)
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

/* Whether what a file calls so is shown, and how. */
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

/* unit: NULL where it has none. */
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

/* --- files with one number: of a CPU, a thermal zone, an energy zone --------------------------------------- */

enum small { SM_CLOCK, SM_TEMP, SM_ENERGY };

static const struct {
	const char *before, *after;
} small_paths[] = {
	[SM_CLOCK]  = { "devices/system/cpu/", "/cpufreq/scaling_cur_freq" },
	[SM_TEMP]   = { "class/thermal/", "/temp" },
	[SM_ENERGY] = { "class/powercap/", "/energy_uj" },
};

enum { MAX_SMALL = 4096 /* the clocks of 3500 CPUs, and their zones */ };

static struct small_file {
	bool asked;
	bool based; /* SM_ENERGY: was is of an earlier reading */
	u8 kind, n; /* enum small */
	u16 next;   /* in its bucket; 0: the last */
	char inst[32];
	int fd;
	u32 reading;
	long error;
	i64 value;
	u64 was, sum, range; /* SM_ENERGY, uJ */
} *smalls;
static TABLE(smalls, MAX_SMALL, 16, "files of one number");
static u16 nsmalls, small_bucket[256]; /* row + 1 */
static long smalls_open;

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

/* NULL: there is no room. */
static struct small_file *small_of(u8 kind, struct str inst)
{
	u16 *bucket = &small_bucket[hash_more(kind, inst) % LEN(small_bucket)];
	struct small_file *f;

	for (u16 i = *bucket; i; i = f->next) {
		f = &smalls[i - 1];
		if (f->kind == kind && str_eq(inst, str_of(f->inst, f->n)))
			return f;
	}
	if (!table_has(&smalls_table, nsmalls))
		return NULL;
	f = &smalls[nsmalls++];
	*f = (struct small_file){ .kind = kind, .fd = -1, .n = (u8)str_len(inst), .next = *bucket };
	memcpy(f->inst, inst.p, f->n);
	*bucket = nsmalls;
	return f;
}

static void small_close(struct small_file *f)
{
	if (f->fd >= 0) {
		sys_close(f->fd);
		smalls_open--;
	}
	f->fd = -1;
}

static bool whole_number(struct str text, i64 *v)
{
	struct str line;

	return line_next(&text, &line) && scan_i64(line, v) == line.e;
}

static bool number_at(int root, const char *path, i64 *v)
{
	char b[64];
	long n = slurp(root, path, b, sizeof(b));

	return n > 0 && whole_number((struct str){ b, b + n }, v);
}

/* The energy starts anew behind max_energy_range_uj: Documentation/power/powercap/powercap.rst. */
static void energy_take(struct small_file *f, struct str zone)
{
	u64 now = (u64)f->value;

	if (!f->based) {
		const char *path = join(small_paths[SM_ENERGY].before, zone, "/max_energy_range_uj");
		i64 range;

		f->range = number_at(root_sys, path, &range) && range > 0 ? (u64)range : 0;
		f->sum = now;
	} else if (now >= f->was) {
		f->sum += now - f->was;
	} else if (f->was <= f->range) {
		f->sum += f->range - f->was + now;
	}
	f->was = now;
	f->based = true;
}

static long small_fill(struct small_file *f, struct str inst)
{
	char b[64];
	long n = f->fd;

	if (f->fd < 0) {
		n = sys_openat(root_sys, small_path(f->kind, inst), O_RDONLY | O_NONBLOCK);
		f->fd = (int)n;
		smalls_open += n >= 0;
	}
	if (n >= 0)
		n = slurp_fd(f->fd, b, sizeof(b));
	/* What is gone may come back under its name. Perf events need descriptors, too. */
	if (n < 0 || smalls_open > files_limit / 4)
		small_close(f);
	if (n < 0)
		return why_not(n);
	if (!whole_number((struct str){ b, b + n }, &f->value) || (f->kind != SM_TEMP && f->value < 0))
		return -ENOENT;
	if (f->kind == SM_ENERGY)
		energy_take(f, inst);
	return 0;
}

static long small_get(u8 kind, struct str inst, const struct small_file **at)
{
	struct small_file *f = small_of(kind, inst);

	if (!f) {
		reg_dropped++;
		return -ENOENT;
	}
	f->asked |= !listing;
	if (f->reading != reading) {
		f->error = small_fill(f, inst);
		f->reading = reading;
	}
	*at = f;
	return f->error;
}

/* --- CPUs: proc_stat(5) ------------------------------------------------------------------------------------ */

/* Fields of a line, jiffies. guest and guest_nice follow: they are within user and nice. */
enum { J_USER, J_NICE, J_SYSTEM, J_IDLE, J_IOWAIT, J_IRQ, J_SOFTIRQ, J_STEAL, J_FIELDS };
#define J(field) (1u << J_##field)
enum { J_ALL = (1 << J_FIELDS) - 1 };

/* sum goes on where a field goes back: idle and iowait do. */
static struct cpu {
	u64 was[J_FIELDS], sum[J_FIELDS];
	u64 hz;
	u32 seen, clocked; /* the readings of its times and of hz */
	u8 n; /* fields; old kernels have 4 */
} *cpus;
enum { CPU_ALL, CPU_FIRST }; /* rows */
static TABLE(cpus, CPU_FIRST + MAX_CPUS, 26, "CPUs");

/* The row of "cpu" and a number, CPU_ALL without one; false where it has none. */
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
	return table_has(&cpus_table, *row);
}

/* How many fields: 0 where one makes no sense. */
static u8 jiffies_scan(struct str line, u64 *j)
{
	struct str word;
	u8 n = 0;

	for (; n < J_FIELDS && str_word(&line, &word); n++)
		if (scan_u64(word, &j[n]) != word.e || j[n] >> 60) /* the sum of all has room */
			return 0;
	return n > J_IDLE ? n : 0;
}

static u32 cpus_taken, ncpus; /* the reading before, and of how many CPUs it was */

/* more: what it grew by is added there. */
static void cpu_grow(struct cpu *c, const u64 *j, u8 n, u64 *more)
{
	for (u8 i = 0; i < n; i++) {
		u64 by = i >= c->n ? j[i] : j[i] > c->was[i] ? j[i] - c->was[i] : 0;

		c->sum[i] += by;
		more[i] += by;
		c->was[i] = j[i];
	}
	c->n = n > c->n ? n : c->n;
	c->seen = reading;
}

/* In the line of all the idle time of a CPU goes, and comes back, with that CPU (get_idle_time() of fs/proc/stat.c): then
 * it grows by what those did that were there before, too. */
static void cpus_take(struct str text)
{
	u64 all[J_FIELDS], stayed[J_FIELDS] = { 0 }, none[J_FIELDS] = { 0 };
	u32 here = 0, staying = 0;
	struct str line, name;
	u8 nall = 0;

	while (line_next(&text, &line)) {
		u64 j[J_FIELDS];
		u32 at;
		u8 n;

		if (!str_word(&line, &name) || !cpu_row(name, &at) || cpus[at].seen == reading || !(n = jiffies_scan(line, j)))
			continue;
		if (at == CPU_ALL) {
			memcpy(all, j, sizeof(all));
			nall = n;
			continue;
		}
		here++;
		staying += cpus[at].seen == cpus_taken;
		cpu_grow(&cpus[at], j, n, cpus[at].seen == cpus_taken ? stayed : none);
	}
	if (!nall)
		return;
	for (u8 i = 0; i < nall && (staying < here || here < ncpus); i++)
		cpus[CPU_ALL].was[i] = all[i] - stayed[i];
	cpu_grow(&cpus[CPU_ALL], all, nall, none);
	cpus_taken = reading;
	ncpus = here;
}

/* --- disks: Documentation/admin-guide/iostats.rst ---------------------------------------------------------- */

enum { DK_READ, DK_WRITE, DK_BUSY, DK_FIELDS };

enum { SECTOR = 512 /* whatever the disk's are */, MAX_DISKS = 4096 /* 1000 disks with three partitions */ };

/* sum goes on where a value wraps, or the disk is another one of that name. */
static struct disk {
	char name[32];  /* DISK_NAME_LEN */
	u8 n;
	bool whole;     /* no partition */
	bool physical;  /* below no other */
	u32 seen;
	u64 was[DK_FIELDS], sum[DK_FIELDS]; /* sectors, sectors, ms */
} *disks;
static TABLE(disks, MAX_DISKS, 16, "disks");
static u32 ndisks, last_disk;
static u64 disks_sum[DK_FIELDS];
static u32 disks_taken; /* the reading in which the file was read before */

/* By name: a device mapper's has no slaves yet while it is made. The first three are there before they are used. */
static const char not_physical[][6] = { "loop*", "ram*", "zram*", "dm-*", "md*" };

static bool disk_is(u32 i, struct str name)
{
	return i < ndisks && str_eq(name, (struct str){ disks[i].name, disks[i].name + disks[i].n });
}

/* Its place, or ndisks. They are asked for in the order of the file. */
static u32 disk_find(struct str name)
{
	u32 i = 0;

	if (disk_is(last_disk + 1, name))
		return ++last_disk;
	while (i < ndisks && !disk_is(i, name))
		i++;
	last_disk = i;
	return i;
}

/* Below /sys/block: '/' is '!' there. */
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
	if (number_at(root_sys, disk_path(name, "/hidden"), &hidden) && hidden) /* a path of another one */
		return false;
	if (dir_open(&d, root_sys, disk_path(name, "/slaves")) < 0)
		return true;
	stacked = dir_next(&d) != NULL;
	dir_close(&d);
	return !stacked;
}

static struct disk *disk_add(struct str name)
{
	struct disk *d;

	if (!table_has(&disks_table, ndisks)) {
		reg_dropped++;
		return NULL;
	}
	d = &disks[ndisks];
	*d = (struct disk){ .n = (u8)str_len(name) };
	memcpy(d->name, name.p, d->n);
	d->whole = files_tell(sys_faccess(root_sys, disk_path(name, ""), F_OK)) == 0;
	d->physical = d->whole && disk_physical(name);
	last_disk = ndisks++;
	return d;
}

/* io_ticks has 32 bits in every kernel, sectors where long has. What was gone in between may be another disk: there a
 * number that is less has not wrapped. */
static void disk_grow(struct disk *d, const u64 *now)
{
	for (int i = 0; i < DK_FIELDS; i++) {
		u8 course = i == DK_BUSY || sizeof(long) == 4 ? CO_WRAP32 : CO_RESET;
		u64 more = now[i];

		if (d->seen && (d->seen != disks_taken || !course_delta(course, d->was[i], now[i], &more)))
			more = 0;
		d->was[i] = now[i];
		d->sum[i] += more;
		if (d->physical)
			disks_sum[i] += more;
	}
	d->seen = reading;
}

/* major minor name, then: reads, merged, sectors, ms, the same for writes, in flight, ms busy. */
static bool disk_scan(struct str line, struct str *name, u64 *now)
{
	struct str word;
	u64 f[10];

	if (!str_word(&line, &word) || !str_word(&line, &word) || !str_word(&line, name) || str_len(*name) > 31 ||
	    name->p[0] == '.')
		return false;
	for (size_t i = 0; i < LEN(f); i++)
		if (!str_word(&line, &word) || scan_u64(word, &f[i]) != word.e)
			return false;
	now[DK_READ] = f[2];
	now[DK_WRITE] = f[6];
	now[DK_BUSY] = f[9];
	return ((f[2] | f[6]) >> 50) == 0 && f[9] >> 50 == 0; /* an exabyte is 2^51 sectors: no disk has moved that */
}

static void disks_take(struct str text)
{
	struct str line, name;
	u64 now[DK_FIELDS];

	while (line_next(&text, &line))
		if (disk_scan(line, &name, now)) {
			u32 i = disk_find(name);
			struct disk *d = i < ndisks ? &disks[i] : disk_add(name);

			if (d && d->seen != reading)
				disk_grow(d, now);
		}
	disks_taken = reading;
}

/* --- what processes read and write: proc_pid_io(5) --------------------------------------------------------- */

enum {
	MAX_PROCS = 32768, /* the kernel's pid_max unless someone raised it */
	IO_BUCKETS = 4096,
	MAX_DEPTH = 32,    /* of parents */
};

/* A process whose pid is used again has another start. */
static struct proc {
	u32 pid, parent, next;
	u32 seen;
	u64 start;     /* ticks since boot */
	bool has;      /* io is known */
	u64 io[2];     /* rchar, wchar, bytes */
	u64 grown[2];  /* since the reading before */
} *procs;
static TABLE(procs, MAX_PROCS + 1, 128, "processes with I/O");
static u16 io_bucket[IO_BUCKETS];
static u32 nprocs, io_seen;
static u64 io_sum[2];
static long io_error;

static u32 proc_find(u32 pid, u64 start)
{
	u32 i = io_bucket[pid % IO_BUCKETS];

	while (i && (procs[i].pid != pid || procs[i].start != start))
		i = procs[i].next;
	return i;
}

/* By pid alone: the one that lives, if any. */
static u32 proc_find_any(u32 pid)
{
	u32 found = 0;

	for (u32 i = io_bucket[pid % IO_BUCKETS]; i; i = procs[i].next)
		if (procs[i].pid == pid && (!found || procs[i].seen == reading))
			found = i;
	return found;
}

static void proc_chain(u32 i)
{
	u16 *first = &io_bucket[procs[i].pid % IO_BUCKETS];

	procs[i].next = *first;
	*first = (u16)i;
}

static long proc_slurp(u32 pid, const char *leaf, char *b, size_t cap)
{
	char number[16];
	struct buf to = BUF(number);

	put_u64(&to, pid);
	return slurp(root_proc, join("", (struct str){ number, number + to.n }, leaf), b, cap);
}

static bool proc_stat(u32 pid, u64 *start, u32 *parent)
{
	char b[1024];
	long n = proc_slurp(pid, "/stat", b, sizeof(b));
	struct str s = str_got(b, n), word;
	const char *p;
	u64 v;

	if (n <= 0 || s.e[-1] != '\n' || !parse_stat_start(s, start))
		return false;
	for (p = s.e; p[-1] != ')'; p--)
		;
	s.p = p;
	if (!str_word(&s, &word) || !str_word(&s, &word) || scan_u64(word, &v) != word.e || v > UINT32_MAX)
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
	if (!table_has(&procs_table, nprocs + 1)) {
		reg_dropped++;
		return NULL;
	}
	procs[++nprocs] = (struct proc){ .pid = pid, .start = start, .has = io_seen != 0 };
	proc_chain(nprocs);
	return &procs[nprocs];
}

/* One that began since the last reading counts whole; one that could not be read then, from now. A sum over one's own
 * processes is not that of all: refused. From root only few are hidden, which have rights that it lacks in a container. */
static void proc_take(u32 pid)
{
	u64 start, io[2];
	u32 parent, i;
	struct proc *p;
	long error;

	if (!proc_stat(pid, &start, &parent))
		return;
	i = proc_find(pid, start);
	p = i ? &procs[i] : proc_add(pid, start);
	if (!p || p->seen == reading)
		return;
	p->seen = reading;
	p->parent = parent;
	p->grown[0] = p->grown[1] = 0;
	error = proc_io(pid, io);
	if (error) {
		p->has &= i != 0;
		if (why_not(error) == -EACCES && (io_error == -ENOENT || sys_euid() != 0))
			io_error = -EACCES;
		return;
	}
	if (io_error != -EACCES || sys_euid() == 0)
		io_error = 0;
	for (int k = 0; k < 2; k++) {
		p->grown[k] = p->has && io[k] > p->io[k] ? io[k] - p->io[k] : 0;
		p->io[k] = io[k];
	}
	p->has = true;
}

/* Whoever waits for a child that ended has its I/O added to its own (wait_task_zombie() of kernel/exit.c): what of it
 * was counted already does not count again. Its parent may have ended, too. */
static void proc_gone(const struct proc *gone)
{
	u32 pid = gone->parent;

	for (int depth = 0; pid && depth < MAX_DEPTH; depth++) {
		u32 i = proc_find_any(pid);
		struct proc *p = &procs[i];

		if (!i)
			return;
		if (p->seen == reading && p->grown[0] >= gone->io[0] && p->grown[1] >= gone->io[1]) {
			p->grown[0] -= gone->io[0];
			p->grown[1] -= gone->io[1];
			return;
		}
		pid = p->parent;
	}
}

static void procs_settle(void)
{
	u32 n = 0;

	for (u32 i = 1; i <= nprocs; i++)
		if (procs[i].seen != reading && procs[i].has)
			proc_gone(&procs[i]);
	memset(io_bucket, 0, sizeof(io_bucket));
	for (u32 i = 1; i <= nprocs; i++)
		if (procs[i].seen == reading) {
			io_sum[0] += procs[i].grown[0];
			io_sum[1] += procs[i].grown[1];
			procs[++n] = procs[i];
			proc_chain(n);
		}
	nprocs = n;
}

/* Calls visit for each process; how many. visit may be NULL. */
static u64 procs_walk(void (*visit)(u32 pid))
{
	struct dir d;
	const char *name;
	u64 pid, n = 0;

	if (dir_open(&d, root_proc, ".") < 0)
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

/* --- clocks where there is no cpufreq: /proc/cpuinfo ------------------------------------------------------- */

static void clocks_take(struct str text)
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
		    table_has(&cpus_table, CPU_FIRST + (size_t)cpu)) {
			cpus[CPU_FIRST + cpu].hz = hz;
			cpus[CPU_FIRST + cpu].clocked = reading;
		}
	}
}

/* --- how each value is read -------------------------------------------------------------------------------- */

enum whose { G_ONE, G_IO, G_CPU, G_CLOCK, G_DISK, G_ZONE, G_RAPL };
enum how { H_CPU, H_FIELD, H_MEMORY, H_LOAD, H_PRESSURE, H_DISK, H_DISKS, H_IO, H_PROCESSES, H_CLOCK, H_ZONE };

/* name: '*' is the instance. */
struct row {
	const char *name, *what;
	const char *key; /* of the file: */
	u8 less, limit;  /* less that one; at most that one: enum amount */
	u8 unit, rule, group, how, file, arg;
};

/* Other fields of meminfo than keys, or the same. */
enum amount { M_NONE, M_TOTAL, M_AVAILABLE, M_COMMIT, M_SWAP, M_SWAP_FREE };
static const char *const amounts[] = {
	[M_TOTAL] = "MemTotal", [M_AVAILABLE] = "MemAvailable", [M_COMMIT] = "CommitLimit", [M_SWAP] = "SwapTotal",
	[M_SWAP_FREE] = "SwapFree",
};

static long cpu_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	struct str text;
	long error = text_get(F_STAT, &text);
	const struct cpu *c;
	u32 at;

	if (error || !cpu_row(inst, &at))
		return error ? error : -ENOENT;
	c = &cpus[at];
	if (c->seen != reading || !(r->arg & ((1u << c->n) - 1)))
		return -ENOENT;
	*v = *of = 0;
	for (u8 i = 0; i < c->n; i++) {
		*of += c->sum[i];
		*v += r->arg >> i & 1 ? c->sum[i] : 0;
	}
	return 0;
}

/* arg: 1 where the field counts pages. */
static long field_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	long error = field_get(r->file, str_z(r->key), v);

	(void)inst, (void)of;
	if (error || !r->arg)
		return error;
	if (*v > UINT64_MAX / sys_page())
		return -ENOENT;
	*v *= sys_page();
	return 0;
}

/* Kernels before 3.14 do not say what is available. */
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

static long memory_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	u64 less = 0;
	long error = memory_get(str_z(r->key), v);

	(void)inst, (void)of;
	if (!error && r->less)
		error = memory_get(str_z(amounts[r->less]), &less);
	if (error || less > *v)
		return error ? error : -ENOENT;
	*v -= less;
	return 0;
}

/* "0.52 0.41 0.38 2/1234 65432"; arg: the word. */
static long load_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	struct str text, line, word = { 0 }, running;
	long error = text_get(F_LOADAVG, &text);

	(void)inst, (void)of;
	if (error || !line_next(&text, &line))
		return error ? error : -ENOENT;
	for (u8 i = 0; i <= r->arg; i++)
		if (!str_word(&line, &word))
			return -ENOENT;
	if (r->arg < 3)
		return scan_dec(word, 2, v) == word.e ? 0 : -ENOENT;
	return str_cut(&word, '/', &running) && scan_u64(word, v) == word.e ? 0 : -ENOENT;
}

/* "some avg10=0.12 avg60=0.08 avg300=0.05 total=12345678": us. */
static long pressure_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	struct str text, line, word;
	long error = text_get(r->file, &text);

	(void)inst;
	while (line_next(&text, &line)) {
		if (!str_word(&line, &word) || !str_is(word, r->key))
			continue;
		while (str_word(&line, &word))
			if (str_skip_z(&word, "total=") && scan_u64(word, v) == word.e) {
				*of = (u64)texts[r->file].t / 1000;
				return 0;
			}
	}
	return error ? error : -ENOENT;
}

static long disk_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	struct str text;
	long error = text_get(F_DISKSTATS, &text);
	u32 i = disk_find(inst);

	if (error || i == ndisks || disks[i].seen != reading)
		return error ? error : -ENOENT;
	*v = disks[i].sum[r->arg] * (r->arg == DK_BUSY ? 1 : SECTOR);
	*of = r->arg == DK_BUSY ? (u64)texts[F_DISKSTATS].t / 1000000 : 0;
	return 0;
}

static long disks_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	struct str text;
	long error = text_get(F_DISKSTATS, &text);

	(void)inst, (void)of;
	*v = disks_sum[r->arg] * SECTOR;
	return error ? error : ndisks ? 0 : -ENOENT;
}

static long io_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	(void)inst, (void)of;
	if (io_seen != reading) {
		io_error = -ENOENT;
		procs_walk(proc_take);
		procs_settle();
		io_seen = reading;
	}
	*v = io_sum[r->arg];
	return io_error;
}

static long processes_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	static u64 n;
	static u32 seen;

	(void)r, (void)inst, (void)of;
	if (seen != reading)
		n = procs_walk(NULL);
	seen = reading;
	*v = n;
	return n ? 0 : -ENOENT;
}

static long clock_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	const struct small_file *f = NULL;
	struct str text;
	long error = small_get(SM_CLOCK, inst, &f);
	u32 at;

	(void)r, (void)of;
	if (!error && f->value <= INT64_MAX / 1000) {
		*v = (u64)f->value * 1000;
		return 0;
	}
	if (text_get(F_CPUINFO, &text) < 0 || !cpu_row(inst, &at) || cpus[at].clocked != reading)
		return error ? error : -ENOENT;
	*v = cpus[at].hz;
	return 0;
}

/* A temperature below zero is its two's complement. */
static long zone_read(const struct row *r, struct str inst, u64 *v, u64 *of)
{
	const struct small_file *f = NULL;
	long error = small_get(r->arg, inst, &f);

	(void)of;
	if (!error)
		*v = r->arg == SM_ENERGY ? f->sum : (u64)f->value;
	return error;
}

/* --- the table --------------------------------------------------------------------------------------------- */

enum {
	NO_UNIT, PERCENT, HZ, PER_S, BYTES, BYTES_PER_S, CENTI, MILLIC, MICROJ, MICROW
};
static const char unit_names[][8] = {
	[NO_UNIT] = "", [PERCENT] = "%", [HZ] = "Hz", [PER_S] = "1/s", [BYTES] = "bytes", [BYTES_PER_S] = "bytes/s",
	[CENTI] = "1/100", [MILLIC] = "mC", [MICROJ] = "uJ", [MICROW] = "uW"
};

static long (*const reads[])(const struct row *r, struct str inst, u64 *v, u64 *of) = {
	[H_CPU] = cpu_read, [H_FIELD] = field_read, [H_MEMORY] = memory_read, [H_LOAD] = load_read,
	[H_PRESSURE] = pressure_read, [H_DISK] = disk_read, [H_DISKS] = disks_read, [H_IO] = io_read,
	[H_PROCESSES] = processes_read, [H_CLOCK] = clock_read, [H_ZONE] = zone_read
};

#define CPU_SHARE(name, what, mask) \
	{ "cpu/*/" name, what, NULL, 0, 0, PERCENT, R_SHARE, G_CPU, H_CPU, F_STAT, mask }
#define ONE(name, unit, what, rule, file, arg, how, key) \
	{ name, what, key, 0, 0, unit, rule, G_ONE, how, file, arg }
#define MEMORY(name, what, key, less, limit) \
	{ name, what, key, M_##less, M_##limit, BYTES, R_LEVEL, G_ONE, H_MEMORY, F_MEMINFO, 0 }
#define PRESSURE(name, what, file, key) ONE("pressure/" name, PERCENT, what, R_SHARE, file, 0, H_PRESSURE, key)
#define DISK(name, unit, what, rule, arg) \
	{ "disk/*/" name, what, NULL, 0, 0, unit, rule, G_DISK, H_DISK, F_DISKSTATS, arg }
#define OF(group, name, unit, what, rule, arg, how) \
	{ name, what, NULL, 0, 0, unit, rule, group, how, F_NONE, arg }

/* Rows of one group stand together: each instance has them all. */
static const struct row rows[] = {
	CPU_SHARE("util", "time that the CPU is not idle", J_ALL & ~(J(IDLE) | J(IOWAIT))),
	CPU_SHARE("user", "time in user space, guests' included", J(USER) | J(NICE)),
	CPU_SHARE("kernel", "time in the kernel, interrupts included", J(SYSTEM) | J(IRQ) | J(SOFTIRQ)),
	CPU_SHARE("idle", "time idle, with no I/O waited for", J(IDLE)),
	CPU_SHARE("iowait", "time idle while I/O was waited for", J(IOWAIT)),
	CPU_SHARE("irq", "time in hard and soft interrupts", J(IRQ) | J(SOFTIRQ)),
	CPU_SHARE("steal", "time that a hypervisor gave to others", J(STEAL)),
	OF(G_CLOCK, "cpu/*/freq", HZ, "clock", R_LEVEL, 0, H_CLOCK),
	ONE("cpu/all/switches", PER_S, "context switches", R_RATE, F_STAT, 0, H_FIELD, "ctxt"),
	ONE("cpu/all/interrupts", PER_S, "interrupts", R_RATE, F_STAT, 0, H_FIELD, "intr"),
	MEMORY("memory/-/total", "memory that the kernel manages", "MemTotal", NONE, NONE),
	MEMORY("memory/-/used", "memory that is not available", "MemTotal", AVAILABLE, TOTAL),
	MEMORY("memory/-/available", "memory that could be had without swapping", "MemAvailable", NONE, TOTAL),
	MEMORY("memory/-/cached", "page cache", "Cached", NONE, TOTAL),
	MEMORY("memory/-/committed", "memory promised to programs", "Committed_AS", NONE, COMMIT),
	MEMORY("swap/-/total", "swap space", "SwapTotal", NONE, NONE),
	MEMORY("swap/-/used", "swap space in use", "SwapTotal", SWAP_FREE, SWAP),
	ONE("vm/-/faults", PER_S, "page faults", R_RATE, F_VMSTAT, 0, H_FIELD, "pgfault"),
	ONE("vm/-/major_faults", PER_S, "page faults that needed I/O", R_RATE, F_VMSTAT, 0, H_FIELD, "pgmajfault"),
	ONE("vm/-/swap_in", BYTES_PER_S, "read from swap", R_RATE, F_VMSTAT, 1, H_FIELD, "pswpin"),
	ONE("vm/-/swap_out", BYTES_PER_S, "written to swap", R_RATE, F_VMSTAT, 1, H_FIELD, "pswpout"),
	DISK("read", BYTES_PER_S, "read from the disk", R_RATE, DK_READ),
	DISK("write", BYTES_PER_S, "written to the disk", R_RATE, DK_WRITE),
	DISK("util", PERCENT, "time with I/O under way", R_SHARE, DK_BUSY),
	ONE("disk/all/read", BYTES_PER_S, "read from physical disks", R_RATE, F_DISKSTATS, DK_READ, H_DISKS, NULL),
	ONE("disk/all/write", BYTES_PER_S, "written to physical disks", R_RATE, F_DISKSTATS, DK_WRITE, H_DISKS, NULL),
	OF(G_IO, "file/all/read", BYTES_PER_S, "read by processes, from whatever", R_RATE, 0, H_IO),
	OF(G_IO, "file/all/write", BYTES_PER_S, "written by processes, to whatever", R_RATE, 1, H_IO),
	ONE("processes/-/count", NO_UNIT, "processes", R_LEVEL, F_NONE, 0, H_PROCESSES, NULL),
	ONE("processes/-/running", NO_UNIT, "threads that run or could", R_LEVEL, F_STAT, 0, H_FIELD, "procs_running"),
	ONE("processes/-/blocked", NO_UNIT, "threads that wait for I/O", R_LEVEL, F_STAT, 0, H_FIELD, "procs_blocked"),
	ONE("processes/-/forks", PER_S, "processes and threads started", R_RATE, F_STAT, 0, H_FIELD, "processes"),
	ONE("threads/-/count", NO_UNIT, "threads, the kernel's included", R_LEVEL, F_LOADAVG, 3, H_LOAD, NULL),
	ONE("load/-/1", CENTI, "load average of a minute", R_LEVEL, F_LOADAVG, 0, H_LOAD, NULL),
	ONE("load/-/5", CENTI, "load average of five minutes", R_LEVEL, F_LOADAVG, 1, H_LOAD, NULL),
	ONE("load/-/15", CENTI, "load average of a quarter of an hour", R_LEVEL, F_LOADAVG, 2, H_LOAD, NULL),
	PRESSURE("cpu/some", "time that some task waited for a CPU", F_PSI_CPU, "some"),
	PRESSURE("cpu/full", "time that all tasks waited for a CPU", F_PSI_CPU, "full"),
	PRESSURE("memory/some", "time that some task waited for memory", F_PSI_MEMORY, "some"),
	PRESSURE("memory/full", "time that all tasks waited for memory", F_PSI_MEMORY, "full"),
	PRESSURE("io/some", "time that some task waited for I/O", F_PSI_IO, "some"),
	PRESSURE("io/full", "time that all tasks waited for I/O", F_PSI_IO, "full"),
	OF(G_ZONE, "thermal/*/temp", MILLIC, "temperature of a thermal zone", R_LEVEL, SM_TEMP, H_ZONE),
	OF(G_RAPL, "energy/*/energy", MICROJ, "energy used", R_COUNT, SM_ENERGY, H_ZONE),
	OF(G_RAPL, "energy/*/power", MICROW, "power", R_RATE, SM_ENERGY, H_ZONE),
};

/* --- what there is ----------------------------------------------------------------------------------------- */

struct listing {
	size_t first, n; /* rows */
	void (*found)(const struct hostcounter *h);
};

/* A name as part of ours. */
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

/* max: UINT64_MAX where the row knows better. */
static void list_instance(const struct listing *l, struct str inst, struct str shown, u64 max)
{
	for (size_t i = l->first; i < l->first + l->n; i++) {
		const struct row *r = &rows[i];
		struct hostcounter h = { .what = r->what, .unit = unit_names[r->unit], .rule = r->rule, .row = (u8)i };
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

/* CONFIG_TASK_IO_ACCOUNTING */
static void list_io(const struct listing *l)
{
	if (sys_has_file(root_proc, "self/io") || sys_has_file(root_proc, "1/io"))
		list_one(l);
}

/* Those that the machine has room for, else those that run. */
static void cpus_present(struct cpuset *set)
{
	static char b[4096];
	struct str line, text;

	if (slurp_line(root_sys, "devices/system/cpu/present", b, sizeof(b), &line) && line.p < line.e &&
	    parse_cpulist(line, set))
		return;
	memset(set, 0, sizeof(*set));
	text_get(F_STAT, &text);
	for (u32 i = 0; CPU_FIRST + i < cpus_table.ready; i++)
		if (cpus[CPU_FIRST + i].seen == reading)
			set->w[i / 64] |= UINT64_C(1) << i % 64;
}

static void cpus_each(const struct listing *l, void (*visit)(const struct listing *l, struct str cpu))
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

static bool cpuinfo_tells; /* clocks */

static void list_clock(const struct listing *l, struct str cpu)
{
	const char *path = small_path(SM_CLOCK, cpu);
	i64 khz;
	bool told;

	if (!cpuinfo_tells && !sys_has_file(root_sys, path))
		return;
	path = join(small_paths[SM_CLOCK].before, cpu, "/cpufreq/cpuinfo_max_freq");
	told = number_at(root_sys, path, &khz) && khz > 0 && khz < INT64_MAX / 1000;
	list_instance(l, cpu, cpu, told ? (u64)khz * 1000 : UINT64_MAX);
}

/* The whole of cpuinfo may take 20 ms a CPU: the first ones tell as much. */
static void list_clocks(const struct listing *l)
{
	static char b[4096];
	long n = slurp(root_proc, "cpuinfo", b, sizeof(b));

	cpuinfo_tells = n > 0 && str_find((struct str){ b, b + n }, S("cpu MHz"));
	cpus_each(l, list_clock);
}

/* Of a loop, ram or zram device, which has no size then. */
static bool disk_unused(struct str name)
{
	i64 size;

	for (size_t i = 0; i < 3; i++)
		if (glob_match(str_z(not_physical[i]), name, NULL))
			return number_at(root_sys, disk_path(name, "/size"), &size) && size == 0;
	return false;
}

static void list_disks(const struct listing *l)
{
	struct str text;

	text_get(F_DISKSTATS, &text);
	for (u32 i = 0; i < ndisks; i++) {
		struct str name = { disks[i].name, disks[i].name + disks[i].n };
		char shown[32];
		struct buf b = BUF(shown);

		put_clean(&b, name);
		if (disks[i].seen == reading && disks[i].whole && !disk_unused(name))
			list_instance(l, name, (struct str){ shown, shown + b.n }, UINT64_MAX);
	}
}

enum { MAX_ZONES = 256 /* large servers have some dozens */ };

static struct zone {
	char inst[32], shown[64 + 24];
	u8 n, len;
} *zones;
static TABLE(zones, MAX_ZONES, 16, "thermal and energy zones");
static u32 nzones;

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
	u32 i = nzones;

	if (!table_has(&zones_table, nzones)) {
		reg_dropped++;
		return;
	}
	for (; i > 0 && str_order(name, zone_inst(&zones[i - 1])) < 0; i--)
		zones[i] = zones[i - 1];
	zones[i].n = (u8)str_len(name);
	memcpy(zones[i].inst, name.p, zones[i].n);
	nzones++;
}

/* Those folders whose name is prefix and numbers, in order. */
static void zones_find(const char *dir, struct str prefix)
{
	struct dir d;
	const char *name;

	nzones = 0;
	if (dir_open(&d, root_sys, dir) < 0)
		return;
	while ((name = dir_next(&d))) {
		struct str s = str_z(name), at = s;

		if (!str_skip(&at, prefix) || str_len(s) > sizeof(zones[0].inst))
			continue;
		while (at.p < at.e && ((*at.p >= '0' && *at.p <= '9') || (*at.p == ':' && at.p + 1 < at.e)))
			at.p++;
		if (at.p == at.e && at.p[-1] != prefix.e[-1])
			zone_put(s);
	}
	dir_close(&d);
}

/* The number at the end of what the kernel calls it. */
static struct str zone_number(const struct zone *z)
{
	struct str s = zone_inst(z);

	s.p = s.e;
	while (s.p > z->inst && s.p[-1] >= '0' && s.p[-1] <= '9')
		s.p--;
	return s;
}

/* What of it a file says, "zone" and its number where none does. */
static void zone_name(struct buf *b, const struct zone *z, const char *dir, const char *leaf)
{
	char line[128];
	struct str name;

	if (slurp_line(root_sys, join(dir, zone_inst(z), leaf), line, sizeof(line), &name) && name.p < name.e) {
		put_clean(b, name);
		return;
	}
	put_z(b, "zone");
	put_str(b, zone_number(z));
}

static void list_zones(const struct listing *l, const char *dir, const char *leaf)
{
	for (u32 i = 0; i < nzones; i++) {
		struct zone *z = &zones[i], outer = *z;
		struct buf b = BUF(z->shown);
		struct str rest = zone_inst(z), part;
		u32 same = 0;

		/* intel-rapl:0:1 is within intel-rapl:0. */
		if (str_cut(&rest, ':', &part) && str_cut(&rest, ':', &part) && rest.p && rest.p < rest.e) {
			outer.n = (u8)(part.e - z->inst);
			zone_name(&b, &outer, dir, leaf);
			put_c(&b, '-');
		}
		zone_name(&b, z, dir, leaf);
		z->len = (u8)b.n;
		while (same < i && !str_eq(zone_shown(&zones[same]), zone_shown(z)))
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
	[G_ONE] = list_one, [G_IO] = list_io, [G_CPU] = list_cpus, [G_CLOCK] = list_clocks, [G_DISK] = list_disks,
	[G_ZONE] = list_thermal, [G_RAPL] = list_rapl,
};

/* What nothing asked for since the last host_trim(). */
static void close_unasked(void)
{
	for (size_t i = 0; i < FILES; i++)
		if (!texts[i].asked)
			text_close(&texts[i]);
	for (size_t i = 0; i < nsmalls; i++)
		if (!smalls[i].asked)
			small_close(&smalls[i]);
}

void host_begin(void)
{
	reading++;
	text_used = 0;
}

void host_list(void (*found)(const struct hostcounter *h))
{
	struct listing l = { .found = found };

	host_begin();
	listing = true;
	for (size_t i = 0; i < FILES; i++)
		texts[i].listed = sys_has_file(root_proc, text_sources[i].path);
	for (; l.first < LEN(rows); l.first += l.n) {
		l.n = 1;
		while (l.first + l.n < LEN(rows) && rows[l.first + l.n].group == rows[l.first].group)
			l.n++;
		list_group[rows[l.first].group](&l);
	}
	listing = false;
	close_unasked();
}

long host_read(const struct hostcounter *h, u64 *v, u64 *of)
{
	const struct row *r = &rows[h->row];

	*v = *of = 0;
	return reads[r->how](r, inst_of(h), v, of);
}

void host_trim(void)
{
	close_unasked();
	for (size_t i = 0; i < FILES; i++)
		texts[i].asked = false;
	for (size_t i = 0; i < nsmalls; i++)
		smalls[i].asked = false;
}
