/* parse.h - parse.c: converts text that the kernel prints to values. Pure: no system call, no
 * state. Names that are not in this file are static. SPDX-License-Identifier: MIT */
#ifndef PARSE_H
#define PARSE_H

#include "base.h"

/* --- parse.c: text buffers -------------------------------------------------------------------- */

/* buf_on() returns an empty buffer that stores its text in the cap bytes at p. BUF(array) returns
 * an empty buffer that stores its text in the array; with a pointer instead of an array it does not
 * compile. */
struct buf buf_on(char *p, size_t cap);
#define ARRAY_BYTES(array) \
	(sizeof(array) + \
	 0 * sizeof(char[1 - 2 * __builtin_types_compatible_p(__typeof__(array), \
							      __typeof__(&(array)[0]))]))
#define BUF(array) buf_on(array, ARRAY_BYTES(array))
void put_n(struct buf *b, const char *p, size_t n);
void put_c(struct buf *b, char c);
void put_str(struct buf *b, struct str s);
void put_z(struct buf *b, const char *z);
void put_columns(struct buf *b, size_t from, size_t to);
void put_utf8(struct buf *b, u32 c);
/* Largest number of bytes that put_dec() appends: the digits of a u64, a decimal point, and as many
 * leading zeros as any unit has decimal places. */
enum { DIGITS = 40 };

/* bytes behind the end of its digits that fill_digits() may overwrite */
enum { FILL_BEHIND = 7 };
void fill_digits(char *p, char *e, u64 v);
char *digits_before(char *e, u64 v, size_t n);
void put_dec(struct buf *b, u64 n, u8 point, u8 keep);
void put_u64(struct buf *b, u64 v);
void put_i64(struct buf *b, i64 v);
void put_hex64(struct buf *b, u64 v);
void put_hex(struct buf *b, u8 c);
/* Output contexts for clean_end(): the bytes with a special meaning in that context. clean_end()
 * returns the end of a run of printable bytes without special meaning, which the caller copies
 * unchanged. */
enum {
	CLEAN_TEXT = 1,
	CLEAN_STRING = 2, /* bytes with a special meaning in a quoted string: " and \ */
	CLEAN_TAG = 4,    /* bytes with a special meaning in a tag: comma, = and blank */
	CLEAN_WORD = 8,   /* bytes with a special meaning in a word: " \ = and blank */
	CLEAN_CELL = 16,  /* bytes with a special meaning in a table cell: comma and " */
};
const char *clean_end(struct str s, u8 where);
static inline size_t clean_len(struct str s, u8 where)
{
	return (size_t)(clean_end(s, where) - s.p);
}
void put_text(struct buf *b, struct str s);
/* Returns an empty buffer that stores its text in the array, and keeps the last byte free for the
 * NUL that buf_z() appends. */
#define BUF_Z(array) buf_on(array, ARRAY_BYTES(array) - 1)
const char *buf_z(const struct buf *b);
const char *utf8_end(const char *p, const char *e);
u32 utf8_value(struct str s);
static inline size_t utf8_len(const char *p, const char *e)
{
	return (size_t)(utf8_end(p, e) - p);
}
bool control_is(struct str c);
static inline bool is_control(const char *p, size_t n)
{
	return control_is((struct str){ p, p + n });
}

/* --- parse.c: text to values ------------------------------------------------------------------ */

struct unitword {
	char word[4];
	/* number of base units (bytes, Hz, ns) in one unit with this name, for example 1024 for
	 * KiB */
	u64 factor;
};

struct str str_z(const char *z);
bool str_eq(struct str a, struct str b);
bool str_is(struct str s, const char *z);
bool str_same(struct str a, struct str b, bool slot);
bool str_contains(struct str s, struct str part);
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

/* Search for the name that is most similar to a text, for messages with "did you mean". Initialise
 * the structure with { .text = text }, and call nearest_try() for each name of the list. name.p is
 * NULL if no name is similar. The names must stay valid as long as the structure is used. */
enum { MAX_NEAR = 128 };
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

/* FD_*: keys of the lines of an fdinfo file (Documentation/gpu/drm-usage-stats.rst). */
enum fdfield {
	FD_NONE, /* a key of fdinfo that this program does not use, for example pos */
	FD_BAD,  /* a malformed line of fdinfo, which is skipped and counted */
	FD_DRIVER, FD_PDEV, FD_CLIENT, FD_NAME, FD_PASID,
	/* keys of engine values; fdline.name is the name of the engine */
	FD_BUSY_NS, FD_CYCLES, FD_TOTAL_CYCLES, FD_CAPACITY, FD_MAXFREQ, FD_CURFREQ, FD_BUSY_PCT,
	/* keys of memory values in bytes; fdline.name is the name of the region. FD_MEMORY is the
	 * old spelling of FD_RESIDENT. */
	FD_TOTAL, FD_SHARED, FD_RESIDENT, FD_MEMORY, FD_PURGEABLE, FD_ACTIVE,
	FD_OTHER, /* a key of fdinfo that drm-usage-stats.rst does not define */
};

struct fdline {
	u8 key;          /* enum fdfield: the key of the fdinfo line */
	/* name of the engine or region that the key of the fdinfo line contains; for other keys,
	 * the key itself */
	struct str name;
	struct str text; /* value of the fdinfo line as text, without blanks at its start and end */
	u64 n; /* value of the fdinfo line as a number of ns, cycles, Hz, bytes or 1/1000 % */
};

struct fdhead {
	struct str driver, pdev, name;
	u64 client, pasid;
	bool has_client, has_pasid;
	bool old; /* fdinfo has the format that amdgpu printed before Linux 5.19 */
};

bool fdinfo_head(struct str text, struct fdhead *h);
bool fdinfo_next(struct str *text, bool old, struct fdline *l);

bool parse_stat_field(struct str stat, int field, u64 *v);
bool parse_stat_start(struct str stat, u64 *ticks);
bool parse_cgroup(struct str text, struct str *path);

struct container {
	/* container id, pod id and kind of container, as parts of the path of its cgroup; p is NULL
	 * if the part is unknown */
	struct str id, pod, kind;
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

/* --- parse.c: arithmetic of readings: the increase from one reading to the next --------------- */

u64 muldiv(u64 a, u64 b, u64 c);

/* Courses: how a value changes with time. For a counter, the enumerator defines the meaning of a
 * reading that is lower than the previous one. */
enum course {
	/* a value that is no counter: it may increase or decrease, and no increase is computed */
	CO_LEVEL,
	/* a counter: lower readings are ignored until a reading exceeds the highest one
	 * (drm-usage-stats) */
	CO_PEAK,
	CO_RESET,  /* a counter: a lower reading means that it was reset */
	/* a counter of 32 bits: a lower reading means that it wrapped, if the increase is possible
	 * in the time since the previous reading */
	CO_WRAP32,
	/* a hardware counter: meter_step() decides whether a lower reading is a temporary dip or a
	 * restart */
	CO_METER,
};

/* Stores in *d the increase from the reading `was` of a counter to its reading `now`. Returns false
 * if the increase is unknown. most: for CO_WRAP32, the largest possible increase between the two
 * readings; UINT64_MAX: no limit is known. */
bool course_delta(u8 course, u64 was, u64 now, u64 most, u64 *d);
u64 course_base(u8 course, u64 was, u64 now);

/* The current reading of a counter, and the earlier one from which its increase is computed. */
struct history {
	u64 now, was;
	i64 t, t_was; /* times in ns of the readings `now` and `was` */
	/* For CO_PEAK: time in ns of the first reading that was lower than `was`. For CO_METER:
	 * number of such readings. 0: the last reading was not lower. */
	i64 below;
};

/* Results of meter_step(): whether the increase of a CO_METER counter is known. */
enum meter {
	METER_KNOWN,   /* the increase is now - was */
	/* the increase is unknown: it is larger than a device can cause in the time between the
	 * readings, or the counter was restarted */
	METER_JUMP,
	/* the increase is unknown: the reading is lower than earlier ones, and only the next
	 * readings will show whether this is a dip or a restart */
	METER_UNKNOWN,
};
u8 meter_step(struct history *h, u64 last, i64 t_last, u8 range);

/* State for a file in which the kernel counts energy: its last reading, and the sum of its
 * increases. */
struct energy {
	/* last and earlier reading of the file; each time the file's counter wraps, the value at
	 * which it wraps is added to all later readings */
	struct history h;
	/* the first reading plus all increases since then, in uJ. An increase that is not known
	 * decreases the sum by 1, so that its readers notice the gap. */
	u64 sum;
	u64 wrapped;
	bool has_reading;
};
bool energy_sum(struct energy *e, u64 v, i64 t, u64 wrap);

/* --- parse.c: plausible readings of sensors --------------------------------------------------- */

/* Ranges of plausible readings of sensors: indexes in ranges[]. */
enum sensor_range {
	RG_ANY, RG_TEMP, RG_POWER, RG_ENERGY, RG_FAN, RG_BYTE, RG_VOLT, RG_CURRENT, RG_CLOCK,
	RG_LOAD, RG_BYTES, RG_LINK, RG_IDLE, RG_HUMIDITY,
	RANGES
};

struct bounds {
	const char *what;
	/* lowest and highest plausible reading, in the unit of the registry (for example 1/1000
	 * degree Celsius) */
	i64 low, high;
	u64 per_second; /* for a counter: largest plausible increase per second; 0: unknown */
	/* A reading greater than times * limit + more is not plausible, where `limit` is the
	 * highest limit that the driver reports for the sensor. times 0: the reading is not
	 * compared with it. */
	u32 times, more;
};
extern const struct bounds ranges[RANGES];

bool is_plausible(u8 range, u64 v, u64 limit);
u64 most_in(u8 range, u64 ns);

/* --- parse.c: perf events as users name them -------------------------------------------------- */

enum {
	/* number of config members of perf_event_attr: config, config1 to config4 */
	MAX_CONFIGS = 5,
	MAX_CPUS = 8192, /* greatest NR_CPUS with which Linux can be built */
};

struct cpuset {
	u64 w[MAX_CPUS / 64];
};

/* Modifiers: the letters after the ':' of an event, see perf-list(1). */
enum evmod {
	/* letters u, k and h: count only in user space, in the kernel, in the hypervisor */
	EM_USER = 1, EM_KERNEL = 2, EM_HV = 4,
	EM_IDLE = 8,                           /* letter I: do not count while the CPU is idle */
	EM_GUEST = 16, EM_HOST = 32, /* letters G and H: count only in guests, only in the host */
	/* letter P: use the highest precise_ip that the event supports */
	EM_MAX_PRECISE = 64,
	EM_READ = 128, /* letter S: each sample holds the counts of the event's group */
	EM_PINNED = 256, EM_EXCLUSIVE = 512,   /* letters D and e: attr.pinned and attr.exclusive */
	/* letter W: open the event without its group if the PMU has no room for the group */
	EM_WEAK = 1024,
	/* letters b, R and X, see perf-list(1) */
	EM_BPF = 2048, EM_RETIRED = 4096, EM_NOMERGE = 8192,
};

enum evform { EF_NAME, EF_RAW, EF_TYPED, EF_TRACE, EF_MEM, EF_PMU, EF_UPROBE,
	      EF_KPROBE };

/* One event of a list, split into the parts that the user has written. */
struct evitem {
	struct str text;  /* text of the event, without the braces of its group */
	/* texts by form of the event. Plain event: a is its name. Tracepoint: a is the system, b
	 * the name. PMU event: a is the PMU, b its terms. uprobe: a is the file, b the symbol.
	 * kprobe: a is the function. mem: b is the symbol. */
	struct str a, b;
	/* numbers by form of the event. EF_RAW: x is config. EF_TYPED: x is the type, y is config.
	 * EF_MEM: x is the address, or the offset in the symbol, y the length in bytes. Probes: x
	 * is the offset. */
	u64 x, y;
	/* EM_* bits of enum evmod: mods are the modifiers of the event; gmods are those after the }
	 * of its group, stored in the last event of the group */
	u16 mods, gmods;
	u8 precise, gprecise;
	u8 form;          /* enum evform: form in which the event is written */
	u8 bp; /* EF_MEM: bits of the accesses that are counted: 1 read, 2 write, 4 execute */
	/* uprobe or kprobe: the probe is at the return from the function, not at its entry */
	bool returns;
	/* grouped: the event is in a group {...}; opens: it is the first event of the group;
	 * closes: it is the last one */
	bool grouped, opens, closes;
};

/* State of parsing a list of events, or of the terms of an event. Initialise the structure with {
 * .rest = text }. After an error, the member `why` is the reason, and `at` is the wrong part of the
 * text. */
struct evlist {
	struct str rest, at;
	const char *why;
	bool in_group, end;
};

/* A term of an event such as pmu/term,term/, written as NAME or NAME=VALUE. */
struct evterm {
	struct str name, value; /* value.p is NULL if the term is a NAME without a value */
	u64 n;
	/* true if the value is a number, which is stored in n; a term without a value has n = 1 */
	bool number;
};

/* A field in the config members of perf_event_attr, as a PMU's format/ folder describes it. The
 * bits of a value fill the ranges r[] in their order, the lowest bits first. */
struct evformat {
	u8 config, n;
	struct {
		u8 lo, hi;
	} r[64];
};

/* A name of an event, with the PERF_TYPE_* and the config that linux/perf_event.h defines for
 * it. */
struct evname {
	char name[24];
	u8 type, config;
};

/* PERF_TYPE_* constants of linux/perf_event.h */
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

/* A tag of an XML element. Comments, declarations, CDATA and the text between tags are skipped. The
 * struct str members point into the text; attribute values are not decoded: see xml_text(). */
struct xmltag {
	/* name of the element; empty if a '<' at name.p does not begin a valid tag */
	struct str name;
	struct str attrs; /* text of all attributes of the XML tag, in which xml_attr() finds one */
	bool opens, closes; /* <a> opens the element; </a> closes it; <a/> does both */
};

bool xml_next(struct str *text, struct xmltag *t);
bool xml_attr(struct str attrs, struct str name, struct str *value);
size_t xml_text(struct str value, char *to, size_t cap);

#endif
