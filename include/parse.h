/* parse.h - parse.c: converts text that the kernel prints to values. Pure: no system call, no
 * state. Names that are not in this file are static. SPDX-License-Identifier: MIT */
#ifndef PARSE_H
#define PARSE_H

#include "base.h"

/* --- parse.c: text to values ------------------------------------------------------------------ */

struct unitword {
	char word[4];
	u64 factor; /* number of base units in one of this unit */
};

bool str_eq(struct str a, struct str b);
bool str_is(struct str s, const char *z);
bool str_same(struct str a, struct str b, bool slot);
bool str_skip(struct str *s, struct str lead);
bool str_skip_z(struct str *s, const char *lead);
bool str_cut(struct str *s, char sep, struct str *piece);
bool str_word(struct str *s, struct str *word);
size_t str_among(struct str s, const char *words);
bool str_find(struct str s, struct str what);
struct str str_trim(struct str s);
struct str str_base(struct str path);
struct str str_read(const char *b, long n);
bool line_next(struct str *text, struct str *line);
bool glob_match(struct str pat, struct str s, struct str *star);
int str_cmp(struct str a, struct str b);
int str_order(struct str a, struct str b);

/* The name in a list that is nearest to a text, for messages with "did you mean". Initialise it
 * with { .text = text }. name.p is NULL if no name is near. The names must live as long as the
 * structure. */
enum { MAX_NEAR = 32 };
struct nearest {
	struct str text, name;
	u32 distance;
};

u32 text_distance(struct str a, struct str b);
void nearest_try(struct nearest *n, struct str name);
void put_nearest(struct buf *b, const char *lead, const struct nearest *n);

u32 hash_more(u32 h, struct str s);
#define HASH64_BEGIN UINT64_C(0xcbf29ce484222325)
#define HASH64_PRIME UINT64_C(0x100000001b3)
u64 hash64_more(u64 h, struct str s);
u64 hash_quick(struct str s);
#define HASH_BEGIN UINT32_C(2166136261)

const char *scan_u64(struct str s, u64 *v);
const char *scan_i64(struct str s, i64 *v);
bool parse_sensor(struct str text, i64 *v);
const char *scan_dec(struct str s, unsigned point, u64 *v);
bool parse_interval(struct str s, i64 *ns);

/* One line of an fdinfo file, Documentation/gpu/drm-usage-stats.rst. */
enum fdfield {
	FD_NONE, /* a key that is not used */
	FD_BAD,  /* a malformed line: skipped and counted */
	FD_DRIVER, FD_PDEV, FD_CLIENT, FD_NAME, FD_PASID,
	/* keys of values of an engine, which fdline.name names */
	FD_BUSY_NS, FD_CYCLES, FD_TOTAL_CYCLES, FD_CAPACITY, FD_MAXFREQ, FD_CURFREQ, FD_BUSY_PCT,
	/* keys of values of a memory region, in bytes; FD_MEMORY is the old spelling of
	 * FD_RESIDENT */
	FD_TOTAL, FD_SHARED, FD_RESIDENT, FD_MEMORY, FD_PURGEABLE, FD_ACTIVE,
	FD_OTHER, /* a key that drm-usage-stats does not define */
};

struct fdline {
	u8 key;          /* enum fdfield */
	struct str name; /* name of the engine or region; for other keys the key itself */
	struct str text; /* the value as printed, trimmed */
	u64 n;           /* the value as a number: ns, cycles, Hz, bytes, 1/1000 % */
};

struct fdhead {
	struct str driver, pdev, name;
	u64 client, pasid;
	bool has_client, has_pasid;
	bool old; /* the file has the form that amdgpu printed before Linux 5.19 */
};

bool fdinfo_head(struct str text, struct fdhead *h);
bool fdinfo_next(struct str *text, bool old, struct fdline *l);

bool parse_stat_field(struct str stat, int field, u64 *v);
bool parse_stat_start(struct str stat, u64 *ticks);
bool parse_cgroup(struct str text, struct str *path);

struct container {
	struct str id, pod, kind; /* p is NULL if unknown */
};

struct container parse_container(struct str path);
bool parse_uevent(struct str text, struct str key, struct str *value);
bool parse_devno(struct str s, unsigned *maj, unsigned *min);
bool parse_dpm(struct str text, u64 *cur_hz, u64 *max_hz);
bool parse_v3d(struct str *text, struct str *queue, u64 *runtime_ns);
bool parse_trans(struct str text, u64 *khz_ms, u64 *ms);
bool parse_tzif(struct str file, i64 now, i32 *east);
i32 parse_tz(struct str rule, i64 now);
bool parse_rknpu(struct str *text, struct str *core, u64 *millipercent);

/* --- parse.c: arithmetic of readings: increase from one to the next --------------------------- */

u64 muldiv(u64 a, u64 b, u64 c);

/* How a value changes with time. A level goes up and down. For a counter, the enumerator tells what
 * it means if a reading is lower than the reading before. */
enum course {
	CO_LEVEL,  /* not a counter: it has no increase */
	/* lower values are ignored until the counter exceeds its highest value (drm-usage-stats) */
	CO_PEAK,
	CO_RESET,  /* a lower value means that the counter was reset */
	/* a lower value means that the counter, which has 32 bits, has wrapped, if it can have
	 * increased so much since the previous reading */
	CO_WRAP32,
	CO_METER,  /* a lower value is a dip or a restart: meter_step() decides */
};

/* most: the largest increase that is possible between the two readings; UINT64_MAX: unknown */
bool course_delta(u8 course, u64 was, u64 now, u64 most, u64 *d);
u64 course_base(u8 course, u64 was, u64 now);

/* Readings of a counter with a rate. */
struct history {
	u64 now, was;
	i64 t, t_was; /* ns, when `now` and `was` were read */
	/* CO_PEAK: the reading since which the counter is lower than `was`, ns; CO_METER: number of
	 * readings since then. 0: it is not lower. */
	i64 below;
};

/* The result of meter_step(): what a reading of a CO_METER counter means. */
enum meter {
	METER_KNOWN,   /* the increase from `was` to `now` */
	METER_JUMP,    /* more than the device can have used: no increase */
	METER_UNKNOWN, /* lower than before: neither value nor increase are known yet */
};
u8 meter_step(struct history *h, u64 last, i64 t_last, u8 range);

/* A file that counts energy, and the sum of its increases. */
struct energy {
	struct history h; /* of the counter without its wraps */
	u64 sum;          /* uJ; decreases by 1 where an increase is not known */
	u64 wrapped;
	bool has_reading;
};
bool energy_sum(struct energy *e, u64 v, i64 t, u64 wrap);

/* --- parse.c: plausible readings of sensors --------------------------------------------------- */

/* Ranges of plausible readings, rows of ranges[]. */
enum sensor_range {
	RG_ANY, RG_TEMP, RG_POWER, RG_ENERGY, RG_FAN, RG_PWM, RG_VOLT, RG_CURRENT, RG_CLOCK,
	RG_LOAD, RG_BYTES, RG_LINK, RG_IDLE, RG_HUMIDITY,
	RANGES
};

struct bounds {
	const char *what;
	i64 low, high;  /* in the unit of the registry, for example 1/1000 degree Celsius */
	u64 per_second; /* largest increase of a counter; 0: unknown */
	/* A reading of more than `times` the highest of the limits that the driver states for the
	 * sensor, plus `more`, is not plausible. times 0: limits are not compared. */
	u32 times, more;
};
extern const struct bounds ranges[RANGES];

bool is_plausible(u8 range, u64 v, u64 limit);
u64 most_in(u8 range, u64 ns);

/* --- parse.c: perf events as users name them -------------------------------------------------- */

enum {
	MAX_CONFIGS = 5, /* config, config1 to config4 of perf_event_attr */
	MAX_CPUS = 8192, /* largest NR_CPUS of Linux */
};

struct cpuset {
	u64 w[MAX_CPUS / 64];
};

/* Modifiers: the letters after an event, perf-list(1). */
enum evmod {
	/* u k h: count only in user space, in the kernel, in the hypervisor */
	EM_USER = 1, EM_KERNEL = 2, EM_HV = 4,
	EM_IDLE = 8,                           /* I: do not count while the CPU is idle */
	EM_GUEST = 16, EM_HOST = 32,           /* G H: count only in guests, only in the host */
	/* P: use the highest precise_ip that the event supports */
	EM_MAX_PRECISE = 64,
	EM_READ = 128,                         /* S: each sample holds the values of the group */
	EM_PINNED = 256, EM_EXCLUSIVE = 512,   /* D e: attr.pinned, attr.exclusive */
	/* W: open the event without its group if the group does not fit on the PMU */
	EM_WEAK = 1024,
	EM_BPF = 2048, EM_RETIRED = 4096, EM_NOMERGE = 8192, /* letters b R X of perf-list(1) */
};

enum evform { EF_NAME, EF_RAW, EF_TYPED, EF_TRACE, EF_MEM, EF_PMU, EF_UPROBE,
	      EF_KPROBE };

/* One event of a list, split into the parts that the user wrote. */
struct evitem {
	struct str text;  /* the whole event, without braces */
	/* a is the name of the event; tracepoint: system, name; PMU: name, terms; uprobe: file,
	 * symbol; kprobe: a is the function; mem: b is the symbol */
	struct str a, b;
	/* EF_RAW: x is config; EF_TYPED: type, config; EF_MEM: address or offset, length; probes: x
	 * is the offset */
	u64 x, y;
	u16 mods, gmods;  /* enum evmod: of the event; of the group whose last event it is */
	u8 precise, gprecise;
	u8 form;          /* enum evform */
	u8 bp;            /* EF_MEM: accesses that trigger it: 1 read, 2 write, 4 execute */
	bool returns;     /* uprobe, kprobe: the probe is at the return of the function */
	/* the event is in a group; is its first event; is its last event */
	bool grouped, opens, closes;
};

/* The state of parsing a list of events or of terms; initialise it with { .rest = text }. After an
 * error, why is the reason, and at is the part of the text that is wrong. */
struct evlist {
	struct str rest, at;
	const char *why;
	bool in_group, end;
};

/* A term of an event pmu/term,term/: NAME or NAME=VALUE. */
struct evterm {
	struct str name, value; /* value.p is NULL if no value is written */
	u64 n;
	bool number; /* the value is a number, n; n is 1 if no value is written */
};

/* A field of perf_event_attr's config members. The low bits of a value fill the ranges in the order
 * listed. */
struct evformat {
	u8 config, n;
	struct {
		u8 lo, hi;
	} r[64];
};

/* A name with the PERF_TYPE_* and config that the headers of the kernel define for it. */
struct evname {
	char name[24];
	u8 type, config;
};

/* PERF_TYPE_* of linux/perf_event.h */
enum { PT_HARDWARE, PT_SOFTWARE, PT_TRACEPOINT, PT_HW_CACHE, PT_RAW, PT_BREAKPOINT };

extern const struct evname evnames[];
extern const size_t nevnames;

enum { CACHE_NAMES = 42 };

const char *scan_num(struct str s, u64 *v);
const char *scan_mods(struct str s, u16 *mods, u8 *precise);
bool parse_raw(struct str s, bool inside, u64 *v);
bool parse_evname(struct str s, u32 *type, u64 *config);
bool cache_name(size_t i, struct str words[3]);
bool evlist_next(struct evlist *l, struct evitem *ev);
bool evterm_next(struct evlist *terms, struct evterm *t);
bool parse_format(struct str text, struct evformat *f);
u64 format_max(const struct evformat *f);
bool format_put(const struct evformat *f, u64 v, u64 *configs);
bool parse_cpulist(struct str s, struct cpuset *cpus);
bool parse_scale(struct str s, u64 *mantissa, u8 *point);
bool pmu_match(struct str pattern, struct str name);

/* --- parse.c: the XML of metric files --------------------------------------------------------- */

/* The tag of an XML element. Comments, declarations, CDATA and text between tags are skipped. The
 * views point into the text; values are as they are written: see xml_text(). */
struct xmltag {
	struct str name;  /* name of the element; empty if the text at name.p is not a tag */
	struct str attrs; /* all attributes, see xml_attr() */
	bool opens, closes; /* the tag is <a>; is </a>; both are true for <a/> */
};

bool xml_next(struct str *text, struct xmltag *t);
bool xml_attr(struct str attrs, struct str name, struct str *value);
size_t xml_text(struct str value, char *to, size_t cap);

#endif
