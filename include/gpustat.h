/* gpustat.h - the program's inner interfaces, a section per file, in layer order: values, text
 * (parse.c), records (perfstream.c), files and sources, registry (counters.c), views.
 * What is not named here is static. SPDX-License-Identifier: MIT */
#ifndef GPUSTAT_H
#define GPUSTAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* What each sample does for each line and counter of each client: made to be fast, though all else is made to be small:
 * with what the Makefile leaves out elsewhere. */
#if defined(__GNUC__) && !defined(__clang__)
#define HOT __attribute__((optimize("O2", "inline-functions-called-once", "tree-dominator-opts", "tree-loop-im", \
				   "move-loop-invariants", "caller-saves")))
#else
#define HOT
#endif

/* A view of text: p up to, not including, e. Whoever owns the bytes outlives it. */
struct str {
	const char *p, *e;
};

/* As an initialiser; LIT("x") as a value, with the text written once: nothing says that two of it are the same object. */
#define STR(lit) { (lit), (lit) + sizeof(lit) - 1 }
#define LIT(lit) str_of(lit, sizeof(lit) - 1)

static inline struct str str_of(const char *p, size_t n)
{
	return (struct str){ p, p + n };
}

static inline size_t str_len(struct str s)
{
	return (size_t)(s.e - s.p);
}

struct str str_z(const char *z);

/* --- sources/tables.c: memory by need -------------------------------------------------------------- */

/* Rows of one type behind a pointer of their owner, which is NULL before the first row is used. Rows begin as zeros. */
struct table {
	void *rows;          /* where the owner's pointer lies */
	const char *name;    /* what the rows are, for messages: "clients" */
	u32 size : 20;       /* bytes of a row */
	u32 first : 10;      /* pages of 4 KiB of the first step; each further step adds half of what there is */
	u32 begun : 1;       /* it has address space */
	u32 cut : 1;         /* less of it than `most` rows want: address space is short */
	u32 most;            /* rows at most; less once it has begun, where it is cut */
	u32 ready;           /* rows that may be used now */
	u32 dropped;         /* rows that had no room since table_full() returned it last */
};

#define TABLE_OF(owner, row_bytes, most_rows, first_bytes, what) \
	{ .rows = &(owner), .name = (what), .size = (row_bytes), .first = ((first_bytes) + 4095) >> 12, .most = (most_rows) }
#define TABLE(pointer, most_rows, first_rows, what) \
	struct table pointer##_table = TABLE_OF(pointer, sizeof(*(pointer)), most_rows, (first_rows) * sizeof(*(pointer)), what)

/* The same, of the bytes of one object: it is used up to some byte. */
#define TABLE_BYTES(pointer, first_bytes, what) \
	struct table pointer##_table = TABLE_OF(pointer, 1, sizeof(*(pointer)), first_bytes, what)

/* Reserves the address space of all tables, which the first use of one does otherwise: before system calls are filtered. */
void tables_reserve(void);
/* Makes the row usable. False: there is no room, which is counted. */
bool table_has(struct table *t, size_t row);
/* Makes all rows usable, or as many as there is room for: how many. For buffers that are handed out as a whole. */
size_t table_all(struct table *t);
/* Memory or address space ended before a table had a row that was wanted: what was not found may be what had no room. */
extern bool tables_short;
/* The next table that dropped rows since it was returned last, and how many; NULL: none. */
const struct table *table_full(u32 *dropped);

/* --- parse.c: text to values -------------------------------------------------------------------- */

struct unitword {
	char word[4];
	u64 times; /* what one of it is in the base unit */
};

bool str_eq(struct str a, struct str b);
bool str_is(struct str s, const char *z);
bool str_skip(struct str *s, struct str lead);
bool str_skip_z(struct str *s, const char *lead);
bool str_cut(struct str *s, char sep, struct str *piece);
bool str_word(struct str *s, struct str *word);
size_t str_among(struct str s, const char *words);
bool str_find(struct str s, struct str what);
struct str str_trim(struct str s);
struct str str_base(struct str path);
struct str str_got(const char *b, long n);
bool line_next(struct str *text, struct str *line);
bool glob_match(struct str pat, struct str s, struct str *star);
int str_cmp(struct str a, struct str b);
int str_order(struct str a, struct str b);
u32 hash_more(u32 h, struct str s);
#define HASH64_BEGIN UINT64_C(0xcbf29ce484222325)
#define HASH64_TIMES UINT64_C(0x100000001b3)
u64 hash64_more(u64 h, struct str s);
u64 hash_quick(struct str s);
#define HASH_BEGIN UINT32_C(2166136261)

const char *scan_u64(struct str s, u64 *v);
const char *scan_i64(struct str s, i64 *v);
const char *scan_dec(struct str s, unsigned point, u64 *v);
bool parse_interval(struct str s, i64 *ns);

/* One line of an fdinfo file, Documentation/gpu/drm-usage-stats.rst. */
enum fdfield {
	FD_NONE, /* nothing for us */
	FD_BAD,  /* malformed: skipped and counted */
	FD_DRIVER, FD_PDEV, FD_CLIENT, FD_NAME, FD_PASID,
	/* of the engine `name` */
	FD_BUSY_NS, FD_CYCLES, FD_TOTAL_CYCLES, FD_CAPACITY, FD_MAXFREQ, FD_CURFREQ, FD_BUSY_PCT,
	/* of the region `name`, in bytes; FD_MEMORY is the old spelling of FD_RESIDENT */
	FD_TOTAL, FD_SHARED, FD_RESIDENT, FD_MEMORY, FD_PURGEABLE, FD_ACTIVE,
	FD_OTHER, /* a key that the standard does not know */
};

struct fdline {
	u8 key;          /* enum fdfield */
	struct str name; /* engine or region; otherwise the key */
	struct str text; /* the value as printed, trimmed */
	u64 n;           /* the value as a number: ns, cycles, Hz, bytes, 1/1000 % */
};

struct fdhead {
	struct str driver, pdev, name;
	u64 client, pasid;
	bool has_client, has_pasid;
	bool old; /* amdgpu's form before 5.19 */
};

bool fdinfo_head(struct str text, struct fdhead *h);
bool fdinfo_next(struct str *text, bool old, struct fdline *l);

bool parse_stat_start(struct str stat, u64 *ticks);
bool parse_cgroup(struct str text, struct str *path);
struct str parse_container(struct str path);
bool parse_uevent(struct str text, struct str key, struct str *value);
bool parse_devno(struct str s, unsigned *maj, unsigned *min);
bool parse_dpm(struct str text, u64 *cur_hz, u64 *max_hz);
bool parse_v3d(struct str *text, struct str *queue, u64 *runtime_ns);
bool parse_trans(struct str text, u64 *khz_ms, u64 *ms);
bool parse_tzif(struct str file, i64 now, i32 *east);
i32 parse_tz(struct str rule, i64 now);
bool parse_rknpu(struct str *text, struct str *core, u64 *millipercent);

/* --- parse.c: what is read, and from one reading to the next ------------------------------------- */

u64 muldiv(u64 a, u64 b, u64 c);

/* How a counter may go on from one reading to the next. */
enum course {
	CO_PEAK,   /* a lower value is kept out until the larger one is passed (drm-usage-stats) */
	CO_RESET,  /* a lower value starts anew */
	CO_WRAP32, /* 32 bits wide: a lower value has wrapped */
};

bool course_delta(u8 course, u64 was, u64 now, u64 *d);
u64 course_base(u8 course, u64 was, u64 now);

/* --- parse.c: text being put together -------------------------------------------------------------- */

/* Bytes being put together; full sticks, so that no formatter needs an error path. */
struct buf {
	char *p;
	size_t n, cap;
	bool full;
};

/* An empty one on so many bytes, or on an array. */
struct buf buf_on(char *p, size_t cap);
#define ARRAY_BYTES(array) \
	(sizeof(array) + 0 * sizeof(char[1 - 2 * __builtin_types_compatible_p(__typeof__(array), __typeof__(&(array)[0]))]))
#define BUF(array) buf_on(array, ARRAY_BYTES(array))
/* An empty one on all bytes of a table: on as many as there is room for. */
struct buf table_buf(struct table *t);
void put_n(struct buf *b, const char *p, size_t n);
void put_c(struct buf *b, char c);
void put_str(struct buf *b, struct str s);
void put_z(struct buf *b, const char *z);
void put_columns(struct buf *b, size_t from, size_t to);
void put_utf8(struct buf *b, u32 c);
enum { DIGITS = 40 }; /* those of a u64, a point, and as many zeros before them as any unit has behind its point */

char *digits_before(char *e, u64 v, size_t n);
void put_dec(struct buf *b, u64 n, u8 point, u8 keep);
void put_u64(struct buf *b, u64 v);
void put_hex64(struct buf *b, u64 v);
void put_hex(struct buf *b, u8 c);
/* Where bytes have a meaning of their own: a run of those that have none is copied as it is. */
enum { CLEAN_TEXT = 1, CLEAN_STRING = 2 /* " \ */, CLEAN_TAG = 4 /* , = blank */, CLEAN_WORD = 8 /* " \ = blank */,
       CLEAN_CELL = 16 /* , " */ };
const char *clean_end(struct str s, u8 where);
static inline size_t clean_len(struct str s, u8 where)
{
	return (size_t)(clean_end(s, where) - s.p);
}
void put_text(struct buf *b, struct str s);
#define BUF_Z(array) buf_on(array, ARRAY_BYTES(array) - 1) /* for buf_z() */
const char *buf_z(const struct buf *b);
const char *utf8_end(const char *p, const char *e);
static inline size_t utf8_len(const char *p, const char *e)
{
	return (size_t)(utf8_end(p, e) - p);
}
bool control_is(struct str c);
static inline bool is_control(const char *p, size_t n)
{
	return control_is((struct str){ p, p + n });
}

/* --- parse.c: perf events as users name them ------------------------------------------------------- */

enum { MAX_CONFIGS = 5 /* config, config1..4: linux/perf_event.h */, MAX_CPUS = 8192 /* NR_CPUS at most */ };

struct cpuset {
	u64 w[MAX_CPUS / 64];
};

/* The letters behind an event, perf-list(1). */
enum evmod {
	EM_USER = 1, EM_KERNEL = 2, EM_HV = 4, /* u k h: count only there */
	EM_IDLE = 8,                           /* I: not while idle */
	EM_GUEST = 16, EM_HOST = 32,           /* G H: count only there */
	EM_MAX_PRECISE = 64,                   /* P */
	EM_READ = 128,                         /* S: the group's values in each sample */
	EM_PINNED = 256, EM_EXCLUSIVE = 512,   /* D e */
	EM_WEAK = 1024,                        /* W: without its group where that does not fit */
	EM_BPF = 2048, EM_RETIRED = 4096, EM_NOMERGE = 8192, /* b R X */
};

enum evform { EF_NAME, EF_RAW, EF_TYPED, EF_TRACE, EF_MEM, EF_PMU, EF_UPROBE };

/* One event of a list, as it is written. */
struct evitem {
	struct str text;  /* all of it, without braces */
	struct str a, b;  /* the name; a tracepoint's system and name; PMU and terms; uprobe's file */
	u64 x, y;         /* config; type, config; address, length; offset */
	u16 mods, gmods;  /* enum evmod: its own; those behind the group that it closes */
	u8 precise, gprecise;
	u8 form;          /* enum evform */
	u8 bp;            /* mem: 1 read, 2 write, 4 execute */
	bool grouped, opens, closes; /* in braces: the first, the last there */
};

/* A list on the way: { .rest = text } at first. why: what is wrong, and at: with which words. */
struct evlist {
	struct str rest, at;
	const char *why;
	bool in_group, end;
};

/* NAME, or NAME=VALUE, between the slashes. */
struct evterm {
	struct str name, value; /* value.p is NULL where there is none */
	u64 n;
	bool number; /* n is its value; 1 where none is written */
};

/* A field of perf_event_attr's configs; the value's low bits fill the ranges in the order listed. */
struct evformat {
	u8 config, n;
	struct {
		u8 lo, hi;
	} r[64];
};

/* A name that the kernel's headers fix: PERF_TYPE_*, and config. */
struct evname {
	char name[24];
	u8 type, config;
};

enum { PT_HARDWARE, PT_SOFTWARE, PT_TRACEPOINT, PT_HW_CACHE, PT_RAW, PT_BREAKPOINT }; /* linux/perf_event.h */

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

/* --- parse.c: the XML of metric files ---------------------------------------------------------------- */

/* An element's tag; comments, declarations, CDATA and text between tags are skipped. Views lie in the text, values as
 * they are written: see xml_text. */
struct xmltag {
	struct str name;  /* empty: what stands there is no tag, at name.p */
	struct str attrs; /* all of them, see xml_attr */
	bool opens, closes; /* <a>, </a>; both: <a/> */
};

bool xml_next(struct str *text, struct xmltag *t);
bool xml_attr(struct str attrs, struct str name, struct str *value);
size_t xml_text(struct str value, char *to, size_t cap);

/* --- perfstream.c: the records of perf rings ------------------------------------------------------ */

/* linux/perf_event.h, whose copy on the building machine may be older than the kernel that runs. */
enum {
	PS_IP = 1, PS_TID = 2, PS_TIME = 4, PS_ADDR = 8, PS_READ = 16, PS_CALLCHAIN = 32, PS_ID = 64, PS_CPU = 128,
	PS_PERIOD = 256, PS_STREAM_ID = 512, PS_RAW = 1 << 10, PS_BRANCH_STACK = 1 << 11, PS_REGS_USER = 1 << 12,
	PS_STACK_USER = 1 << 13, PS_WEIGHT = 1 << 14, PS_DATA_SRC = 1 << 15, PS_IDENTIFIER = 1 << 16,
	PS_TRANSACTION = 1 << 17, PS_REGS_INTR = 1 << 18, PS_PHYS_ADDR = 1 << 19, PS_AUX = 1 << 20,
	PS_CGROUP = 1 << 21, PS_DATA_PAGE_SIZE = 1 << 22, PS_CODE_PAGE_SIZE = 1 << 23, PS_WEIGHT_STRUCT = 1 << 24,
};
enum { PF_ENABLED = 1, PF_RUNNING = 2, PF_ID = 4, PF_GROUP = 8, PF_LOST = 16 }; /* read_format */
enum { PB_HW_INDEX = 1 << 17, PB_COUNTERS = 1 << 19 };                          /* branch_sample_type */
enum { /* types of records */
	PR_MMAP = 1, PR_LOST, PR_COMM, PR_EXIT, PR_THROTTLE, PR_UNTHROTTLE, PR_FORK, PR_READ, PR_SAMPLE, PR_MMAP2,
	PR_AUX, PR_ITRACE_START, PR_LOST_SAMPLES, PR_SWITCH, PR_SWITCH_CPU_WIDE, PR_NAMESPACES, PR_KSYMBOL,
	PR_BPF_EVENT, PR_CGROUP, PR_TEXT_POKE,
	PR_FINISHED_ROUND = 68, /* in files only */
};
enum { /* misc; the first three bits are the mode */
	PM_EXEC = 1 << 13,     /* PR_COMM: by execve; PR_MMAP: data; PR_SWITCH: out */
	PM_BUILD_ID = 1 << 14, /* PR_MMAP2; PR_SWITCH: preempted */
};
enum pmode { PM_UNKNOWN, PM_KERNEL, PM_USER, PM_HV, PM_GUEST_KERNEL, PM_GUEST_USER, PM_MODES };

enum { PERF_RECORD_BYTES = 1 << 16 }; /* its size has 16 bits */

/* What of perf_event_attr says how records are laid out. */
struct pformat {
	u64 sample_type, read_format, branch_type, regs_user, regs_intr;
	bool id_all; /* sample_id_all: every record ends with who, when and where */
};

/* A record. Views lie in its bytes. */
struct prec {
	struct str raw;
	u32 type;
	u16 misc;
	u8 mode;      /* enum pmode */
	u64 have;     /* PS_ bits of what follows, up to the blank line */
	u32 pid, tid, cpu;
	u64 time, id, stream;
	u64 ip, addr, period, cgroup;
	struct str chain;  /* see chain_next */
	struct str values; /* see values_next */

	u32 who, who_tid, parent, parent_tid; /* COMM, MMAP, FORK, EXIT, ... are about this task, not pid */
	u64 at;         /* MMAP, KSYMBOL, TEXT_POKE: address; FORK, EXIT, THROTTLE: time; AUX: offset */
	u64 len, pgoff; /* bytes mapped; where in the file; NAMESPACES: len of them */
	u64 ino, generation, lost;
	u32 major, minor, prot, flags; /* KSYMBOL: its type is in prot */
	struct str name, build_id;
};

/* The data pages of a ring: head and tail are bytes since its start, size is a power of two. */
struct ring {
	const char *p;
	u64 size, head, tail;
	u64 corrupt; /* times that what was left made no sense */
};

void ring_load(const struct ring *r, u64 at, char *to, size_t n);
size_t ring_size(const struct ring *r);
bool ring_next(struct ring *r, char *scratch, struct str *rec);
bool ring_time(const struct ring *r, const struct pformat *f, u64 *time);
u64 prec_id(struct str rec, const struct pformat *f);
bool prec_decode(struct str rec, const struct pformat *f, struct prec *r);
bool chain_next(struct str *chain, u8 *mode, u64 *ip);

/* Of one counter, and of all of its group. */
struct pvalue {
	u64 value, id, lost;
	u64 enabled, running; /* ns */
};

bool values_next(struct str values, u64 read_format, size_t *i, struct pvalue *v);

/* --- perfstream.c: OA reports ----------------------------------------------------------------------- */

/* The slots of a sum: what equations READ. Counters of one letter stand one behind the other; those of a format's
 * "A" slots are called M0.. or PEC0.. where its letter says so. */
enum { OA_TIME, OA_CLOCK, OA_A, OA_B = OA_A + 64, OA_C = OA_B + 8, OA_SLOTS = OA_C + 8 };

enum oawidth { OW_U32, OW_U40 /* a low word and, elsewhere, a high byte */, OW_U64 };

/* n counters that lie one behind the other, in slots that do, too. */
struct oarun {
	u8 slot, n, width; /* enum oawidth */
	u8 high;           /* bytes from the report's start: of the first high byte; */
	u16 at;            /* of the first word */
};

enum oahead {
	OH_GEN7, /* u32 id, timestamp; no ticks */
	OH_GEN8, /* u32 id, timestamp, context, ticks */
	OH_WIDE, /* u64 of the same */
};

enum { OA_REPORT_BYTES = 640 /* the longest */ };

/* How a report is laid out: enum drm_i915_oa_format, and xe's formats. */
struct oaformat {
	const char *name;  /* "A32u40_A4u32_B8_C8" */
	const char *xml;   /* oa_format of metric files, or NULL */
	char letter[4];    /* of the counters in the slots from OA_A on: "A", "M" or "PEC" */
	u16 size;          /* bytes, as the kernel has them: see oaplan's */
	u8 head;           /* enum oahead */
	u8 i915;           /* its number there; 0: none */
	u8 recorded;       /* its number in xe recordings; 0: none */
	bool has_xe;
	u8 nruns;
	u32 xe;            /* DRM_XE_OA_PROPERTY_OA_FORMAT: type | select << 8 | size << 16 | bc << 24 */
	const struct oarun *runs;
};

extern const struct oaformat oaformats[];
extern const size_t noaformats;

const struct oaformat *oaformat_named(struct str name);
const struct oaformat *oaformat_recorded(bool xe, u32 number);

enum oareason {
	OA_UNKNOWN, OA_TIMER, OA_TRIGGER1, OA_TRIGGER2, OA_CONTEXT_SWITCH, OA_GO_TRANSITION, OA_CLOCK_RATIO, OA_MMIO,
	OA_REASONS
};

extern const char *const oareason_names[OA_REASONS];

/* What stands in front of a report's counters. */
struct oareport {
	u64 id, ts, ctx, ticks;
	u64 unslice_hz, slice_hz; /* gen8 on */
	u8 reason;                /* enum oareason */
	bool has_ctx;             /* ctx is that of a context: not on gen7, not where the report says it is not */
	bool has_ticks;
};

/* Of a graphics generation, times 100: 750 Haswell, 800, 900, ... 1255 DG2, 1270 Meteor Lake, 2000, ... exponent: of the
 * timer, or -1 where it is not known (only gen7 asks). */
void oareport_head(const struct oaformat *f, u16 gen, i32 exponent, const char *report, struct oareport *r);

u64 oa_ts_delta(const struct oaformat *f, u64 from, u64 to);

/* Which counters of a format are read: all, or those of the slots that are wanted. */
struct oaplan {
	const struct oaformat *format;
	u16 bytes; /* that a report must have: up to its last counter, since recordings may lack the padding */
	u8 nparts;
	struct oapart {
		u8 run, from, to; /* of the format's; its counters, up to, not including, the second */
	} parts[OA_SLOTS];
};

void oaplan_make(struct oaplan *p, const struct oaformat *f, const bool *slots);
/* Adds what was counted from report a to report b, each counter modulo its width. */
void oa_add(const struct oaplan *p, const char *a, const char *b, u64 *sum);
/* The counters as they are stored, the timestamp and the ticks; 0 in the other slots. */
void oa_stored(const struct oaplan *p, const char *report, u64 *v);
/* The name of a slot's counter in that format: "A7", "PEC3", "B0". False: it has none there. */
bool oaslot_name(const struct oaformat *f, size_t slot, struct buf *b);

/* Whether what was counted between two reports is ours, gen8 to gen11: the later report may be labelled invalid, or
 * another's. State: { .ctx = ID }, or { .any = true } for every valid one; last is false again where reports are lost. */
struct oafilter {
	u64 ctx;
	bool any;
	bool last; /* the last report matched */
};

bool oafilter_takes(struct oafilter *f, const struct oareport *r);

/* The records of a stream or of a recording. */
enum oatype {
	OT_SAMPLE, OT_REPORT_LOST, OT_BUFFER_LOST, OT_VERSION, OT_INFO, OT_TOPOLOGY, OT_CORRELATION,
	OT_UNKNOWN, /* to be skipped */
	OT_CORRUPT, /* its size cannot be: nothing behind it can be read */
};

struct oarec {
	u8 type;         /* enum oatype */
	u32 number;      /* the type as it is stored */
	struct str body; /* behind the header */
};

/* The next record; false, and *bytes as it was, where it is not there whole. xe: the numbers of xe recordings. */
bool oarec_next(struct str *bytes, bool xe, struct oarec *r);
/* Whether a recording begins there, and whether one of xe. */
bool oarec_begins(struct str bytes, bool *xe);

/* DEVICE_INFO of a recording. */
struct oainfo {
	u64 ts_hz;
	u32 pci, revision, min_hz, max_hz, engine_class, engine_instance, format;
	struct str set, guid; /* up to their NUL */
};

bool oarec_version(struct str body, u32 *version);
bool oarec_info(struct str body, struct oainfo *i);
bool oarec_correlation(struct str body, u64 *cpu_ns, u64 *gpu_ts);
void put_oarec(struct buf *b, bool xe, u8 type, struct str body);
void put_oainfo(struct buf *b, const struct oainfo *i);
/* ns of the CPU's clock at a report's timestamp; shift: how many bits the correlation's clock is behind. */
u64 oa_cpu_time(const struct oaformat *f, u64 cpu_ns, u64 gpu_ts, u8 shift, u64 ts_hz, u64 ts);

/* --- counters.c: the registry ------------------------------------------------------------------- */

/* What is measured. Unless said otherwise: of the instance that the counter names. */
enum desc {
	/* engines of a client, or of a device whose kernel counts for all */
	D_BUSY_NS, D_CYCLES, D_TOTAL_CYCLES,
	D_CAPACITY, D_MAXFREQ, D_CURFREQ, /* -, Hz, Hz */
	D_BUSY_PCT,                       /* 1/1000 %, where the kernel gives no more */
	/* memory regions: bytes */
	D_TOTAL, D_SHARED, D_RESIDENT, D_PURGEABLE, D_ACTIVE,
	/* sums over the clients of a device or of a cgroup */
	D_SUM_BUSY, D_SUM_UTIL,       /* 10^-9 of the capacity */
	D_SUM_DCYCLES, D_SUM_DNS,     /* of this interval */
	D_SUM_NS, D_SUM_CYCLES, D_SUM_TOTAL_CYCLES, /* since the first reading; never less */
	D_SUM_TOTAL, D_SUM_SHARED, D_SUM_RESIDENT, D_SUM_PURGEABLE, D_SUM_ACTIVE,
	D_KEPT_NS, D_KEPT_CYCLES, D_KEPT_TOTAL_CYCLES, /* as D_SUM_NS and so on, with the clients that a filter hides */
	/* devices */
	D_GPU_BUSY,    /* 1/1000 % */
	D_GPU_BUSY_US, /* us */
	D_LOAD,        /* 1/1000 %: other meters of the device */
	D_IDLE_MS,     /* ms asleep (rc6, gtidle) */
	D_ACTIVE_MS, D_SUSPENDED_MS, /* ms in these runtime states */
	D_VRAM_TOTAL, D_VRAM_USED, D_VISIBLE_TOTAL, D_VISIBLE_USED, D_GTT_TOTAL, D_GTT_USED, D_PREEMPT_USED,
	D_FREQ_CUR, D_FREQ_ACT, D_FREQ_TARGET, D_FREQ_MIN, D_FREQ_MAX, /* Hz */
	D_FREQ_BOOST, D_FREQ_RP0, D_FREQ_RP1, D_FREQ_RPA, D_FREQ_RPE, D_FREQ_RPN, /* Hz: what the hardware allows */
	D_FREQ_SPENT,  /* kHz x ms; its clock is the time in all states */
	D_TEMP,        /* 1/1000 degree C, signed */
	D_POWER,       /* uW */
	D_ENERGY,      /* uJ */
	D_FAN,         /* rpm */
	D_PWM,         /* 0..255 */
	D_VOLT,        /* mV, signed */
	D_CURRENT,     /* mA, signed */
	D_THROTTLE,    /* 1: this reason holds now */
	D_LINK_SPEED, D_LINK_WIDTH, D_LINK_MAX_SPEED, D_LINK_MAX_WIDTH, /* 0.1 GT/s, lanes */
	D_POWER_CAP, D_POWER_MAX, D_POWER_DEFAULT, D_POWER_RATED, D_POWER_CRIT, /* uW */
	D_TEMP_MAX, D_TEMP_CRIT, D_TEMP_EMERGENCY,                              /* 1/1000 C */
	D_FAN_MAX,     /* rpm */
	D_COUNT
};

#define NONE 0u /* no counter, text, device, ...: every table starts at 1 */

/* A counter of an entity, as reg_first(), reg_next() or reg_find() met it; good until another is added to that entity. */
struct counter {
	u32 line; /* where it stands */
	u16 inst;
	u8 desc, flags, slot;
};
enum {
	CF_SEEN = 1, /* in this reading */
	CF_BASE = 2, /* has a baseline */
	CF_WIDE = 4, /* rates are made of it: it has a track */
	CF_OLD = 8,  /* was in an earlier reading, with or without a baseline now */
	CF_BIG = 16, /* 32 bits do not hold it: it has a track, of which only `now` counts */
	CF_KIB = 32, /* kept in KiB */
};

struct track {
	u64 now, was;
	i64 t, t_was; /* ns, when now and was were read */
};

/* Whom counters are about. Owned by the tables below. */
struct entity {
	u32 first, at; /* counters: the first line of them, and where the last put was */
	u16 count;
	u16 dropped;   /* values that found no room in the last reading */
	u8 kind;       /* enum kind */
	bool used;
	bool fresh;    /* read in this sample */
	bool fell;     /* some counter that should not have was lower in this reading */
	i64 t, t_was;  /* ns, last reading and the one before; 0: none */
	u32 has;       /* a bit for each desc modulo 32: where it is not set, there is no such counter */
	u32 serial;    /* of two entities never the same */
};

enum kind { K_DEVICE, K_CLIENT, K_CGROUP, K_FDINFO, K_EVENT, K_SAMPLE, K_PROFILE, K_OA, K_COUNTER, K_COUNTERS, K_SOURCE, K_COUNT };

/* A GPU or NPU. */
struct device {
	struct entity e;
	u64 ino, ino_dev; /* identity of its sysfs folder; 0: /sys has none */
	char dev[32], driver[64], pdev[32], state[16], name[64]; /* "": unknown */
	i32 card, render, accel; /* numbers in its nodes' names, or -1 */
	u32 clients, waiting;    /* seen in this sample; of these, whose new holder is not found yet */
	u32 anonymous;           /* descriptors whose client the driver does not name: about so many */
	bool awake;              /* nothing that could wake it is touched while this is false */
	bool apu;                /* its video memory is a piece of main memory */
	bool gone;               /* unplugged, but still held open */
	u32 facts;               /* text: lines name:value of what does not change */
	const char *no_engines, *no_memory, *no_sensors; /* why it tells nothing of them; NULL: it could */
};

/* A process that holds a client. */
struct task {
	u32 pid, refs, cgroup;
	u16 next;      /* in its bucket */
	u32 checked;   /* scan in which it was known to be the same process */
	u64 start;     /* clock ticks since boot; UINT64_MAX: unknown */
	i64 read;      /* ns, when what follows was read */
	char comm[16]; /* TASK_COMM_LEN: any bytes but NUL */
	u8 comm_len;
	bool has_comm;
};

/* One descriptor through which a process holds a client. */
struct holder {
	u32 pid, fd, task, client;
	u32 next_client;       /* of the same client */
	u16 next;              /* in its bucket */
	u32 seen;              /* scan in which it was seen last */
	u32 born;              /* sample in which it was seen first */
	int io; /* its fdinfo file, kept open, or -1 */
};

/* What names a client: drm-client-id, pasid, the process of NVIDIA's driver, that of AMD's compute driver. */
enum keykind { KEY_ID, KEY_PASID, KEY_PID, KEY_KFD };

struct client {
	struct entity e;
	u64 key;
	u64 told; /* hash of the text that was read last; 0: none */
	u32 device, holders;
	u32 name, other;           /* texts */
	u32 skipped;               /* malformed lines */
	u32 tick;                  /* the sample in which it was read last */
	u16 next;    /* in its bucket */
	u8 keykind;
	bool hidden; /* a filter leaves it out */
	bool rolled, kept; /* what it came to so far is in D_SUM_*; in D_KEPT_* */
};

struct cgroup {
	u32 path; /* text */
	u32 hash, refs, next;
};

struct group { /* the clients of one cgroup on one device */
	struct entity e;
	u32 device, cgroup, next;
	u32 clients, members; /* in this sample: that are shown; all */
};

enum {
	MAX_DEVICES = 65,      /* DRM had 64 minors of a kind for decades */
	/* 10 000 clients and room; their rows and those of holders and tasks are counted in 16 bits */
	MAX_CLIENTS = 16385,
	MAX_HOLDERS = 32769,
	MAX_TASKS = 16385,
	MAX_CGROUPS = 4097,
	MAX_GROUPS = 4097,
	MAX_COUNTERS = 1024,   /* of one entity: 200 engines with all their keys */
	MAX_INSTANCES = 4096,  /* different engine, region and channel names */
	MAX_NAME = 128,        /* bytes of such a name; the longest in any kernel has 20 */
};

extern struct device devices[MAX_DEVICES];
/* Tables, of which only rows in use may be touched. */
extern struct client *clients;
extern struct holder *holders;
extern struct task *tasks;
extern struct cgroup *cgroups;
extern struct group *groups;
extern u32 ndevices, nclients, nholders, ntasks, ncgroups, ngroups; /* highest index in use */
extern u32 reg_dropped;    /* things that found no room, or could not be read, since the start */
extern u32 reg_untold;     /* files of processes and devices of these, which a later look may read */
extern u32 reg_unreadable; /* processes that refused in the last scan */
extern bool reg_saw_others; /* some process of another user did not */
extern bool reg_keeps;     /* D_KEPT_* are wanted, of devices and of groups */

void reg_begin(struct entity *e, i64 t);
void reg_again(struct entity *e, i64 t);
bool reg_put(struct entity *e, u8 desc, struct str inst, u64 v, i64 t);
void reg_add(struct entity *e, u8 desc, struct str inst, u64 v);
void reg_was(struct entity *e, u8 desc, struct str inst, u64 v, i64 t);
void reg_compare(struct entity *e);
void reg_forget(struct entity *e);
u64 reg_now(const struct counter *c);
u64 reg_base(const struct counter *c);
struct track *reg_track(const struct counter *c);
void reg_clear(struct entity *e);
void reg_baseline(const struct counter *c, u64 v, i64 t);
struct counter *counter_first(const struct entity *e, struct counter *c);
struct counter *counter_find(const struct entity *e, u8 desc, u16 inst, struct counter *c);
struct counter *reg_next(struct counter *c);
/* NULL: there is none. What they met lasts as long as the block that they stand in. */
#define reg_first(e) counter_first((e), &(struct counter){ 0 })
#define reg_find(e, desc, inst) counter_find((e), (desc), (inst), &(struct counter){ 0 })
bool reg_get(const struct entity *e, u8 desc, u16 inst, u64 *v);
bool reg_rate(const struct entity *e, u8 desc, u16 inst, u64 *d, u64 *dt);
struct str inst_name(u16 inst);
bool is_engine(u8 desc);
bool is_region(u8 desc);
bool is_signed(u8 desc);

bool engine_busy(const struct entity *e, u16 inst, u64 *v);
bool engine_util(const struct entity *e, u16 inst, u64 *v);
bool engine_freq(const struct entity *e, u16 inst, u64 *v);
bool device_busy(const struct device *d, u64 *v);
bool device_idle(const struct device *d, u64 *v);
bool device_clients(const struct device *d, u64 *v);
bool entity_used(const struct entity *e, bool apu, u64 *v);
void reg_roll(bool by_cgroup, bool rates);

u32 text_put(u32 old, struct str s);
void text_free(u32 text);
size_t text_copy(u32 text, char *b, size_t cap);
bool text_eq(u32 text, struct str s);

u32 client_find(u32 device, u8 keykind, u64 key);
u32 client_add(u32 device, u8 keykind, u64 key);
void client_remove(u32 client);
const struct task *client_owner(const struct client *c);
u32 holder_find(u32 pid, u32 fd);
u32 holder_add(u32 pid, u32 fd, u32 task, u32 client);
void holder_remove(u32 holder);
u32 task_find(u32 pid);
u32 task_add(u32 pid);
void task_prune(u32 task);
u32 cgroup_add(struct str path);
void cgroup_unref(u32 cgroup);
struct group *group_add(u32 device, u32 cgroup);
void device_set(char *field, size_t cap, struct str s);
u32 device_add(void);
u32 device_next(u32 i, bool gone);
int device_order(const struct device *a, const struct device *b);

/* --- counters.c: perf events ---------------------------------------------------------------------- */

/* A PMU of /sys/bus/event_source/devices. */
struct pmu {
	char name[64];
	u32 type;
	bool wide;         /* has a cpumask: counts whole CPUs or packages, never tasks */
	bool core;         /* a CPU's own: cpu, cpu_core, armv8_*; with `cpus` where these are not all */
	bool has_cpus;     /* cpus is what cpumask or cpus says; otherwise all that are online */
	struct cpuset cpus;
};

/* How what was counted becomes the value that is shown. */
enum evrule {
	EV_COUNT,      /* the increase, scaled to the time that it was enabled */
	EV_PER_SECOND, /* i915's frequencies: the increase over the seconds that passed */
	EV_PER_READ,   /* xe's frequencies: each read adds the present one, so the increase is it */
	EV_LEVEL,      /* as read: .snapshot, and virtual gauges, which may be negative: an i64 */
	EV_SHARE,      /* percent of what the event that follows in the group counted (xe's ticks) */
};

/* One event to be opened: a perf_event_attr to be, or a virtual counter of our own. */
struct event {
	u32 name;      /* text: as records show it */
	u32 unit;      /* text, or NONE */
	u32 type;      /* perf_event_attr: type */
	u32 pmu;       /* in pmus[], NONE: none of them decides where it can be opened */
	u64 config[MAX_CONFIGS];
	u64 period;    /* sample_period, or Hz where freq is set; 0: as the command says */
	u64 scale;     /* a count is worth scale x 10^-scale_point units; 0: just one */
	u8 scale_point;
	u8 rule;       /* enum evrule */
	u8 precise;    /* 0..3 */
	bool denied;   /* nobody but root may know its number */
	bool freq, per_pkg, no_inherit, hidden; /* hidden: counted for another one's sake, not shown */
	bool guess;    /* from an alias that cannot know whether there is such an engine: ENOENT is no error */
	u8 bp;         /* breakpoint: attr.bp_type */
	u16 mods;      /* enum evmod */
	u16 group;     /* events of one group stand together, leader first; 0: of no group */
	u16 set;       /* event set: index, not id */
	u16 row;       /* events with the same row are one event on several PMUs: summed */
	u16 sum;       /* sources/perfevent.c: which of the rows that they are summed in */
	u64 trigger;   /* counts after which the turn of its set ends; 0: it does not */
	u16 virt;      /* sources/virtual.c: which counter; 0: a perf event */
	u32 path;      /* text for config1 to point at (uprobe's file), or NONE */
	u32 filter;    /* text: which of a tracepoint's hits count; NONE: all */
};

enum {
	MAX_PMUS = 513,    /* the largest servers have some 250 */
	MAX_EVENTS = 4097, /* all tracepoints of a kernel are some 2500 */
};

extern struct table pmus_table, events_table, counts_table, evrows_table, sites_table;
extern struct pmu *pmus;
extern struct event *events;
extern u32 npmus, nevents; /* highest index in use */

/* What the kernel says of a counter: the count, and for how long (ns) it was enabled and did run. */
struct tally {
	u64 value, enabled, running;
};

/* Why there is no value, in the order of how much it explains. */
enum cstate {
	CS_COUNTED, CS_NEVER_RAN, CS_NO_ROOM, CS_NOT_ENABLED, CS_PINNED, CS_GONE, CS_OFFLINE, CS_RETURNED,
	CS_NO_LEADER, CS_NO_SLOT, CS_NO_FILES, CS_NO_GROUP, CS_UNREADABLE, CS_BACKWARDS, CS_ELSEWHERE, CS_FILTER,
	CS_BREAKPOINT, CS_NO_FILE, CS_NO_SOFTWARE, CS_DENIED, CS_NO_MEMORY, CS_REFUSED, CS_NO_PERF, CS_UNSUPPORTED,
	CS_STATES
};

/* One event on one CPU or of one task: an open descriptor, or why there is none. */
struct count {
	u32 event, row;
	i32 fd;          /* -1: none */
	i32 cpu;         /* -1: wherever the task runs */
	u32 pid;         /* the task; 0: all */
	u32 leader;      /* the count in whose group it is read */
	u32 site;
	bool members;    /* one read gives those of its group too */
	bool virt;       /* a counter of our own */
	bool armed;      /* a trigger that has not fired yet */
	bool tracks;     /* its ring is told of maps and names, too */
	bool live;       /* virtual: switched on, and read since */
	bool off;        /* not switched on */
	u64 last;        /* virtual: the latest reading */
	i64 on_since;    /* virtual: ns */
	bool ring;       /* its ring is mapped; others of this CPU write there too */
	u64 id;          /* the kernel's, in samples */
	u32 next_id;
	u8 state;        /* enum cstate */
	struct tally now, was;
};

/* What rows are told apart by, beside the event. */
struct site {
	i32 cpu, core, die, socket; /* -1: all */
	u32 pid, tid;          /* 0: all */
	u32 comm, cgroup;      /* texts, or NONE */
};

/* An event's value at one place: the sum of its counts there. */
struct evrow {
	struct entity e; /* K_EVENT */
	u32 event, site;
	u32 places;      /* counts that came to something */
	u8 state;        /* enum cstate */
	u8 point;        /* value is in 10^-point of the unit */
	bool neg;        /* minus value */
	bool cut;        /* some of its counts found no descriptor */
	u64 value;
	u64 share;       /* 1/1000 %: of the time, how much it was counted */
	struct tally sum; /* of this interval; value: unscaled */
	double mean, m2;  /* over repetitions, of value */
	u64 total;        /* their sum, while it fits: exact */
	u32 repeats;
};

/* An event set: perfmon2's. Set 0 always exists. */
struct evset {
	u32 name;       /* text, or NONE: no sets were asked for */
	u16 id;
	i64 timeout;    /* ns; 0: switched by overflow alone */
	u64 turns, turns_was;
	i64 active, active_was; /* ns */
	bool failed;    /* nothing of it can be counted: it takes no turn */
};

enum {
	MAX_COUNTS = 1 << 15, /* 128 events on 256 CPUs */
	MAX_ROWS = 1 << 14,   /* 64 events with -A on 256 CPUs */
	MAX_SITES = MAX_CPUS + 1,
	MAX_SETS = 65,
};

extern struct count *counts;
extern struct evrow *evrows;
extern struct site *sites;
extern struct evset evsets[MAX_SETS];
extern u32 ncounts, nevrows, nsites, nevsets; /* highest index in use; sets and places begin at 0 */

void rows_begin(void);
void rows_sum(i64 dt, bool scale);
void rows_repeat(void);
double row_deviation(const struct evrow *r);
const char *state_text(u8 state);
void count_number(u32 count, u64 id);
u32 count_find(u64 id);

/* --- sources/privilege.c: what we may do and our user may not ------------------------------------- */

enum {
	MAY_READ = 1,    /* what the kernel's files let root alone read */
	MAY_WRITE = 2,   /* files and folders of others */
	MAY_LOOK = 4,    /* into processes of others */
	MAY_PERF = 8,    /* count whatever and whoever it is */
	MAY_SYMBOLS = 16, /* the kernel's addresses */
	MAY_KILL = 32,   /* whoever it is */
};

long privilege_begin(u8 may, u8 here, bool starts);
long privilege_keep(u8 may);
u8 privilege_raise(u8 may);
void privilege_lower(u8 was);
void privilege_end(void);
bool privilege_is_ours(void);
bool privilege_has(u8 may);
const char *privilege_getenv(const char *name);

/* --- sources/sandbox.c: what may be asked of the kernel from then on ------------------------------------------- */

/* The calls of a command. */
enum {
	CALLS_FILES = 1,     /* to look for files and to read them */
	CALLS_REPLACE = 2,   /* to make a file, and put it in another's place */
	CALLS_WRITE = 4,     /* to write those that are there */
	CALLS_WATCH = 8,     /* who has a device open */
	CALLS_PERF = 16,     /* to read perf events, */
	CALLS_OPEN_PERF = 32, /* and to open some */
	CALLS_DRM = 64,      /* ioctls of devices and OA streams */
	CALLS_NET = 128,     /* on a connection */
	CALLS_CHILD = 256,   /* to have a command begin, and to wait for it */
	CALLS_SCREEN = 1024, /* a terminal's modes */
	CALLS_BLIND = 2048,  /* what a device is open by, where it cannot be looked up */
};

struct sandbox {
	long filter;   /* 0, or -errno: why there is none; -ECANCELED: nobody wanted one */
	long landlock; /* its ABI's version, or -errno */
};
extern struct sandbox sandbox;

void sandbox_close_files(void);
void sandbox_folder(i32 fd, bool write);
bool sandbox_file(const char *path, bool write);
void sandbox_enter(u16 who, i32 child);

/* --- sources/files.c: small files below the two roots --------------------------------------------- */

extern int root_proc, root_sys; /* descriptors of --proc and --sys */
extern long files_limit;         /* descriptors that may be open */
extern bool root_proc_given;    /* pids below it need not be those of this system */
extern bool root_sys_given;
extern const char *root_proc_name; /* NULL: /proc */
extern u32 files_calls;         /* system calls made on folders and small files, modulo 2^32 */
extern i32 files_own;           /* descriptors that come and go with what we look at */
extern u32 files_untold;        /* times that something may be there and could not be looked at */
extern u32 files_unread;        /* what could not be read, of all the run; a part of it is in reg_dropped */
extern char files_what[80];     /* ": NAME: " of the last of these, or ": " */
extern long files_error;        /* of the last of those, or of a file that could not be read; 0: none */
/* An error that says nothing of what was asked: no descriptor is left or no memory, a signal came, the medium failed. */
bool is_untold(long r);
void files_lack(const char *name, long error); /* counts what is left out for that */
long files_tell(long r); /* counts it where it is one; r */

struct dir {
	int fd;
	int n, at; /* bytes in p: 0 at its end, -errno where it vanished; where the next name is */
	char *p;
	size_t cap;
	i64 place; /* where it was, while it rests */
	_Alignas(8) char b[2048];
};

long open_again(int at, const char *path, int flags); /* whatever signals come */
long dir_open(struct dir *d, int at, const char *path);
long dir_take(struct dir *d, long fd); /* of a folder that was opened, or -errno */
void dir_rest(struct dir *d);
bool dir_resume(struct dir *d, int at, const char *path);
/* With names of many calls at a time in p, which lasts as long as d. */
long dir_open_in(struct dir *d, int at, const char *path, char *p, size_t cap);
const char *dir_next(struct dir *d);
void dir_close(struct dir *d);
long slurp(int dir, const char *path, char *b, size_t cap);
long slurp_fd(int fd, char *b, size_t cap);
long slurp_table_fd(int fd, struct table *t); /* bytes become writable as they are read */
bool slurp_line(int dir, const char *path, char *b, size_t cap, struct str *line);
enum { TASK_PATH = 32 };
void task_path(char path[TASK_PATH], u32 id, const char *leaf);
extern const int stop_signals[3]; /* what ends a run, with what it has so far */
extern volatile bool write_hurries; /* the run has been stopped: who does not read has no more than two seconds */
long write_all(int fd, const char *p, size_t n);

/* Of the libraries: one call that touches tables at a time; /proc and /sys where nobody has opened the roots. */
extern int lib_lock;
long roots_open(void);

/* --- sources/replace.c: a file that another takes the place of, whole or not at all ------------------ */

struct replacing {
	int dir, fd; /* fd: of the file beside it; -1 while there is none */
	const char *base;
	char name[256];
};

long file_open(const char *path, int flags);
long file_slurp(const char *path, char *b, size_t cap);
long file_slurp_table(const char *path, struct table *t);
long replace_begin(struct replacing *f, const char *path);
long replace_open(struct replacing *f, u32 mode);
long replace_settle(struct replacing *f, long r);

/* --- sources/: each turns one kernel interface into counters -------------------------------------- */

struct source {
	const char *name;
	void (*start)(void);  /* find what there is, take the first reading */
	void (*sample)(void); /* one reading more */
	void (*scan)(void);   /* look for what is new; NULL: nothing ever is */
	void (*rest)(void);   /* close what is kept open from reading to reading, which the next one opens anew */
};

extern const struct source src_sysfs, src_fdinfo;
extern bool sysfs_listing;      /* read limits too, and find out what a device cannot tell */
extern bool (*sysfs_shows)(u8 desc); /* what records show; nothing else is read. NULL: all */

/* Where the driver counts for clients only if told to: it is told, until profiling_restore(), which a signal's handler may
 * call. denied: of a device where that may not be. */
void profiling_start(void (*denied)(const char *dev, long err));
void profiling_restore(void);
const char *profiling_value(const struct device *d); /* that switches all of it on; NULL: it has no such knob */
u32 sysfs_device(unsigned maj, unsigned min);
u32 sysfs_device_at_slot(struct str pdev);
u32 sysfs_device_by(struct str pdev, struct str driver);
bool sysfs_node(struct str name, unsigned *maj, unsigned *min);
bool kfd_scan(void (*found)(u32 pid, u32 device, u32 slot)); /* false: there is no such driver */
bool kfd_read(struct client *c, u32 pid, i64 t);
bool sysfs_lists(void); /* /sys can be read: a device that it does not list is none */
void untold_drop(void); /* adds to reg_dropped what files_untold counted since the last call */

/* --- sources/gpumetrics.c: amdgpu's gpu_metrics to values ------------------------------------------ */

/* One value of amdgpu's gpu_metrics blob: what the registry calls it. */
struct metric {
	u8 desc;
	const char *inst;
	u64 v;
};

bool metrics_next(struct str blob, size_t *row, struct metric *m);
bool metrics_is_apu(struct str blob);
bool metrics_throttle(struct str blob, size_t *bit, const char **reason, bool *on);

/* --- sources/fdinfo.c: which descriptors of a process hold a DRM client, and what their files say ------------ */

extern bool fdinfo_repeats; /* several samples will follow: remember who was looked at */
extern bool fdinfo_tasks;  /* names and cgroups of processes are wanted */
extern bool fdinfo_others; /* keep keys that the standard does not know */
void fdinfo_take(struct client *c, struct str text, const struct fdhead *h, i64 t);
void fdinfo_late(struct client *c, struct str driver);
u64 task_start(u32 pid);
bool task_is_others(int dir, u32 pid);
void driver_notes(struct str name, const char **engines, const char **memory);

/* A look at all descriptors of a process, which may be interrupted. */
struct look {
	struct dir d;
	struct stat st; /* of fd/ when it began; and how many descriptors were our own then */
	i32 own;
	u32 pid, no;
	u32 n, met;     /* names so far; of holders that are known */
	bool open, over, refused;
	bool resting;   /* its folder is closed, for a more urgent use */
	bool cut;       /* not all of it could be looked at: there were no descriptors left, or no memory */
	bool blind;     /* by way of fdinfo/: fd/ is closed to us */
	bool asleep;    /* some descriptor was left alone, lest its device wake up */
	bool in_round;  /* it is the sweep's, which counts descriptors that tell no client by itself */
	int pidfd;      /* blind, where some device sleeps that a look into fdinfo could wake; or -1 */
};

void look_begin(struct look *l, u32 pid, char *names, size_t cap);
bool look_step(struct look *l);
void look_end(struct look *l, bool stands); /* stands: what it found holds for the process from now on */
void look_forget(const struct look *l);
u32 walk_begin(void);
void walk_forget(u32 walk); /* holders that none of its looks met */
void process_gone(u32 pid);
void compute_scan(void);
void task_describe(struct task *t);
void holder_verify(u32 n);
void clients_read(void);
void clients_drop(bool waits);
void clients_tick(void);
bool clients_orphaned(void);
void anonymous_settle(void);
bool fdinfo_woke(void);
void fdinfo_begin(void);
void fdinfo_close(void);
extern u32 holders_found; /* since the start */

/* --- sources/look.c: whom to look at, and when --------------------------------------------------------------- */

/* What a round of the sweep takes: descriptors, and samples at most. */
struct round_facts {
	u64 descriptors, samples; /* 0 samples: there is no sweep */
	bool paced;               /* samples are what they are at the pace so far */
	bool looked;              /* /proc was looked at */
};

struct round_facts round_facts(void);
bool looks_rest(void); /* the folder of a look that waits is closed until it goes on. False: there is none */
/* Whether a namespace is another one than the machine began with; negative: not known. */
int look_is_inner(int proc, const char *link, const char *first);
/* Why this /proc does not show the processes of the whole machine, or NULL: it does. */
const char *look_unseen(void);
extern const char look_hidden[]; /* one of these */

/* --- sources/watch.c: who may have opened a device, and whom to look at next -------------------------------- */

#define SWEEP_ALL UINT32_MAX

extern u32 watch_sweep;        /* system calls per sample for what no notice tells of; SWEEP_ALL: look everywhere */
extern bool watch_sweep_timed; /* and no more than 0.2 ms */

/* Which ways tell of new clients, and what the sweep goes round. */
struct watch_facts {
	const char *where; /* the folder of nodes whose opens are told */
	long error;        /* why they are not: -errno; 0: they are */
	bool counts;       /* the kernel tells how many descriptors a process has */
	u32 processes;
};

void put_drivers(struct buf *b); /* sources/fdinfo.c: those that are known to it */
void watch_facts(struct watch_facts *f);
void watch_start(void);
void watch_stop(void);
bool watch_nodes(void);  /* whether to look for devices that came or went */
bool watch_opened(void); /* whether somebody opened one since the last call */

/* Where a process waits to be looked at: a notice says so; it is new; it has another number of descriptors, perhaps many. */
enum watch_queue { WATCH_TOLD, WATCH_NEW, WATCH_CHANGED, WATCH_QUEUES };

/* Buffers for the names in folders of /proc, many by one call. They exist once pass_begin(true) has opened /proc. */
extern struct scan_names {
	char proc[32 << 10]; /* 1000 processes */
	char fds[32 << 10];  /* 1300 descriptors of one */
} *scan_names;

void pass_begin(bool at_once);
bool pass_is_open(void);
u32 pass_next(void (*gone)(u32 pid));
bool pass_rest(void);
bool watch_changed(u32 pid, bool notice);
void watch_later(u32 pid, bool notice);
u32 watch_due(u8 queue);
bool watch_waits(void); /* for a look that a notice asked for */
u32 watch_after(u32 pid);
bool watch_is_stale(u32 pid);
void watch_woke(void);

bool watch_counts(void); /* whether the kernel tells how many descriptors a process has */
/* A look at a process' descriptors is over: there were n; st is of its fd/ when it began, own was files_own then. */
void watch_looked(u32 pid, const struct stat *st, i32 own, u32 n, bool refused, bool asleep);
u32 watch_refused(void);  /* processes that did */
u32 watch_unlisted(void); /* processes for which there was no room */

/* --- sources/probe.c: what may be read here, and what would mend the rest ----------------------------------- */

/* One source of numbers: "" where a text has nothing to say. */
struct probed {
	struct entity e; /* K_SOURCE */
	u8 status;       /* enum probe_status */
	char source[64], detail[160], remedy[512];
};

enum probe_status { PROBE_OK, PROBE_DENIED, PROBE_ABSENT };

void probe_self(const char *program);
void probe_all(const char *program, void (*show)(const struct probed *p));

/* --- sources/state.c: what the last run read, in a file ------------------------------------------------------- */

const char *state_load(const char *path, bool filtered, i64 *age);
void state_sample(void);
long state_save(const char *path);

/* --- sources/pmu.c: which perf events there are --------------------------------------------------------- */

extern struct str events_file; /* the text of --pmu-file: a line "NAME EVENT" each */

struct gp_event;

bool events_add(struct str list, u16 set, struct buf *why);
void event_attr(const struct event *ev, bool leader, struct gp_event *e);
/* As gp_parse() of gpustat/perf.h, for who has the lock and the roots. */
long events_attr(struct str list, struct gp_event *to, size_t cap, struct buf *why);
void events_resolve(struct buf *b);
/* What is offered, of names that match glob. */
void events_list(struct str glob, void (*show)(struct str name, struct str unit, struct str what));
void events_named(void (*show)(struct str name, struct str unit, struct str what));
bool cpus_online(struct cpuset *cpus);

/* --- sources/perf.c: the thin layer of gpustat/perf.h --------------------------------------- */

u64 ring_head(void *page, u64 was);
void ring_give(void *page, u64 tail);

/* --- sources/perfevent.c: perf_event_open(2) ------------------------------------------------------------ */

struct pollfd;

/* By what rows are kept apart. */
enum split { SPLIT_NONE, SPLIT_CPU, SPLIT_CORE, SPLIT_SOCKET, SPLIT_THREAD };

struct member {
	u32 tid, leader; /* a thread, its process */
};

/* Whose events are counted, and how. */
struct target {
	bool all;                     /* every CPU, whoever runs there */
	bool has_cpus;                /* only there */
	bool on_exec;                 /* from the task's exec on */
	bool no_inherit;              /* not what the tasks start */
	bool user_only, kernel_only;
	bool sampling;
	const struct member *tasks;   /* of one target at a time */
	u32 ntasks;
	bool whole, threads;          /* the tasks are all threads of processes; some of them: not both */
	struct cpuset cpus;
	u32 cgroups[16];              /* texts */
	u32 ncgroups;
	u8 split;                     /* enum split */
	u64 period, freq;             /* sampling, where the event does not say */
	u32 wakeup;                   /* samples, or bytes where watermark is set */
	bool watermark, callchain;
	u32 limit;                    /* samples each; 0: none */
};

extern bool perf_lowered; /* some event counts user space only, for want of rights */

bool cpu_has(const struct cpuset *s, u32 cpu);
bool perf_cgroups(const struct target *t, const char **missing);
void perf_open(const struct target *t);
void perf_close(void);
bool perf_countable(void);
void perf_enable(u32 set, bool on, bool exec);
i32 perf_ring_mate(i32 fd);
void perf_baseline(void);
void perf_read(i64 t);
const struct count *perf_fired(i32 fd);
bool perf_has_pmu(void);
long perf_rings(u32 pages);
const struct pformat *perf_format(u64 id);
struct str perf_attr(u32 event);
size_t perf_pollfds(struct pollfd *fds, size_t cap);
void perf_period(u64 period);
u64 perf_lost(void);
u64 perf_limit(u32 n, bool exec);

/* --- sources/task.c: a command that is started, and tasks that run ---------------------------------------- */

extern i32 tasks_wake;

void perf_limits_back(void);
void tasks_hear(bool command);
long tasks_wait(struct pollfd *fds, size_t n, i64 until);
int tasks_signal(void);
i32 tasks_overflow(void);
i64 next_due(i64 start, i64 due, i64 step);
extern bool child_again; /* a process of its own starts and stops the command's, run after run: we need not be able to */
long child_start(char **argv, bool repeats);
long child_go(void);
void child_abort(void);
bool child_ended(int *status);
void child_stop(bool at_once);
void tasks_notify(i32 fd);
long child_failure(void);
bool target_ended(const struct target *t);
u32 task_comm(u32 tid);
bool target_thread(struct target *t, u32 tid);
bool target_process(struct target *t, u32 pid);

/* --- sources/virtual.c: counters of our own that stand beside perf events ------------------------------- */

/* What the GPUs and their clients tell: the first reading, unless there was one; one more. */
void gpus_start(void);
void gpus_sample(void);
void virtual_sample(void); /* once per reading, before virtual_read() */
extern bool (*virtual_wants)(u32 device, u32 place); /* which GPUs there are; NULL: all */

/* A kind of channel of hwmon chips, whose folders are class/hwmon/DIR. */
struct channel {
	char prefix[9], unit[4], small[9]; /* small: the kernel's unit, a thousandth or a millionth */
	u8 point, rule; /* enum evrule */
	const char *what;
};

const struct channel *channel_of(struct str name);
const char *hwmon_path(const char *dir, struct str leaf, const char *tail);
int channel_open(const char *dir, struct str name);
bool channel_read(int fd, int state, u64 *value);

bool virtual_find(struct str source, struct str name, struct event *ev);
bool virtual_read(const struct event *ev, u64 *v);
void virtual_list(void (*show)(struct str name, struct str unit, struct str what));
void virtual_engines(void (*found)(void *arg, struct str event), void *arg);
bool virtual_gpu_energy(struct buf *event);

/* --- sources/proc.c: the machine itself, from /proc and /sys ----------------------------------------------- */

/* How a reading becomes a value. */
enum rule {
	R_LEVEL, /* as read */
	R_COUNT, /* the increase since the start */
	R_RATE,  /* the increase per second since the reading before */
	R_SHARE, /* the increase of one as percent of that of another, since the reading before; 0 to 100 */
	R_PERCENT, /* as read, in 1/1000 %: a source's own share of the time since the reading before */
};

enum { HOST_NAME = 96 };

/* One thing that the host tells: a row of proc.c's table at one instance. */
struct hostcounter {
	char name[HOST_NAME];  /* device/instance/quantity: "cpu/cpu0/user", "memory/-/used", "disk/sda/read" */
	const char *what;      /* description, without the unit */
	const char *unit;      /* "%", "bytes", "bytes/s", "1/s", "mC", "Hz", "uJ", "" */
	u8 rule;               /* enum rule */
	u8 row;                /* private: of the table */
	u8 n;                  /* private: bytes of inst */
	char inst[32];         /* private: "cpu0", "sda", "-" */
	u64 max;               /* of the value; UINT64_MAX: no limit */
};

/* Everything that this machine has, in the order of the table; found: may copy it. It is a reading of its own. */
void host_list(void (*found)(const struct hostcounter *h));
/* One reading of /proc/stat, meminfo, ... : each file is read when the first counter asks, and kept open. */
void host_begin(void);
/* 0, or -errno; -ENOENT: it is not there (any more). of: the other one of R_SHARE. */
long host_read(const struct hostcounter *h, u64 *v, u64 *of);
/* Closes what no counter has asked for since the last call of it. */
void host_trim(void);
/* Fields of stat, meminfo and vmstat as the kernel names them: "ctxt", "MemAvailable", "pgfault". */
bool procfield_find(struct str name, u8 *file, bool *level, const char **unit);
bool procfield_read(u8 file, struct str name, u64 *v);
void procfield_list(void (*found)(struct str name, const char *unit, bool level));

/* --- sources/catalog.c: every counter by its name, whoever tells it ------------------------------------------ */

enum { MAX_NAMED = 16384 /* 2500 tracepoints, 256 CPUs with 8 each, and as many again */ };

/* A counter that has a name. What is not private stays as it is as long as the process lives. */
struct named {
	const char *vendor, *name, *what, *unit; /* what: with the unit in parentheses at its end, where there is one */
	i64 min, max;      /* INT64_MAX: no limit */
	bool active, known; /* known: value means something */
	bool unmeasured;    /* what it means is that it was started: 0, as KHR_perfcounter has it */
	i64 value;         /* of the last reading, or frozen */
	u8 supplier, rule; /* private, as all that follows; enum supplier, enum rule */
	u32 at;            /* of the supplier */
	bool based;        /* was and of_was are of a reading since the start */
	u64 was, of_was;
	i64 t_was;         /* ns */
	u32 next;          /* in its bucket */
	u32 place;         /* of those that are active */
	u32 active_there;  /* the index of the one at the place of this one's index */
};

enum { SUP_HOST, SUP_GPU, SUP_HWMON, SUP_EVENT, SUP_OA, SUP_FILE, SUPPLIERS };

/* Who tells values. Only counters that are open cost something. */
struct supplier {
	struct str prefix;    /* of the names that list() adds; {0}: any name */
	void (*scan)(void);   /* looks for what is there; NULL: list() does */
	void (*recommend)(void); /* catalog_add() for names that the extension recommends, which stand first; NULL: none */
	void (*list)(void);   /* catalog_add() for each that is there: also those that are listed already */
	long (*open)(u32 at); /* 0; -EACCES, -EPERM: refused; any other -errno: cannot be read here */
	void (*close)(u32 at); /* of each that was to be opened */
	/* A reading for all that are open; not anew: so soon that shares of the time mean nothing. NULL: each is read when it is
	 * asked for. */
	void (*sample)(bool anew);
	long (*read)(u32 at, u64 *v, u64 *of); /* of the last reading: 0, or -errno; of: R_SHARE's other one */
};

extern const struct supplier sup_host, sup_gpu, sup_hwmon, sup_event, sup_oa, sup_file;

/* A counter to be named; texts are copied. */
struct naming {
	struct str vendor, name, what, unit;
	u8 rule;       /* enum rule */
	bool is_signed;
	u64 max;       /* UINT64_MAX: no limit */
};

/* Appends it where there is none of that vendor and name. */
void catalog_add(u8 supplier, u32 at, const struct naming *n);
bool catalog_has(struct str vendor, struct str name);
/* A recommended name, X being a number. */
struct str catalog_numbered(char *b, size_t cap, struct str s, u64 x);
/* A counter of these suppliers: events one behind the other, of which the first that there is counts; the first of these
 * counters that some OA set of GPU number gpu has. */
u32 event_slot(const char *events);
u32 oa_slot(u32 gpu, const char *counters);
/* GPUs keep their number: in device_order at first, then as they come. NULL: it went, or is none. */
const struct device *gpu_device(u32 gpu);

extern u32 nnamed; /* how many: 0 .. nnamed - 1 */

enum { ALL_SUPPLIERS = (1 << SUPPLIERS) - 1 };

/* Looks for what these suppliers (a bit each) have; what is new is appended. 0, or -EACCES where neither /proc nor /sys may
 * be read. The places in the list are those of C where all suppliers were asked. */
long catalog_refresh(u32 suppliers);
/* Who may have a counter that is called so, or that a word with * and ? matches. */
u32 catalog_tellers(struct str word);
const struct named *catalog_at(u32 i);
/* By name; where two vendors have one, the first. */
bool catalog_find(struct str name, u32 *i);
/* All of them, or none: 0, or -EACCES. */
long catalog_activate(const u32 *is, size_t n);
void catalog_deactivate(u32 i);
void catalog_start(void);
void catalog_stop(void);
/* One reading of all that are active, where sampling is on. */
void catalog_sample(void);

/* --- sources/ring.c: the rings of perf events ------------------------------------------------------------- */

enum { MAX_RINGS = MAX_CPUS }; /* one a CPU */

extern u64 rings_lost;    /* samples and records that the kernel had no room for */
extern u64 rings_corrupt; /* records that made no sense, and rings cut short by one */

long rings_add(int fd, u32 pages);
u64 rings_drain(u64 until, const struct pformat *(*format)(u64 id), void (*take)(const struct prec *r));
void rings_close(void);

/* --- sources/symbols.c: whose code an address is ---------------------------------------------------------- */

extern u32 symbols_dropped; /* tasks, maps, files and symbols that found no room */
extern u32 symbols_far;     /* files that were not read, since a server that may not answer has them */
extern bool symbols_hidden; /* the kernel gives no addresses of its symbols: kptr_restrict */
/* Told what /proc says of tasks that were there before, as the kernel's records would have; with the time of
 * the last record that was fed. */
extern void (*symbols_found)(const struct prec *r);

void symbols_preload(void);
void symbols_feed(const struct prec *r);
void symbols_task(u32 pid, u32 tid);
struct str symbols_comm(u32 pid, u32 tid);
bool symbols_kernel(struct prec *r);
bool symbol_find(u32 pid, u64 ip, u8 mode, struct str *symbol, struct str *module, u64 *offset);

/* --- sources/measure.c: a measurement from its start to its end --------------------------------------------- */

struct measure {
	struct target *target;
	char **argv;           /* the command, or NULL */
	bool repeats;          /* which is to be started again */
	i64 interval, timeout; /* ns; 0: none */
	i64 delay;             /* ns; negative: until control says so */
	int control, ack;      /* descriptors, or -1 */
	bool scale;
	bool sampling;         /* measure_next() returns when there are samples to drain, or interval has passed */
	u32 pages;             /* of each ring */
	long rings;            /* -errno where they could not be had */
	u64 limit;             /* samples that all may give together; 0: no end */
	bool woken;            /* some ring has filled up to where it wakes us */
	void (*ready)(i32 child, bool repeats); /* all is open, and the command waits to be let go; or NULL */
	/* its state: times are ns of CLOCK_MONOTONIC, 0 before there is one */
	i64 begun, start, last, dt, due, set_since, set_due, stopped;
	u32 set;
	bool on, stop;
	int status;            /* of the command, as wait(2) has it */
	long failure;          /* -errno where it could not be run */
};

long measure_start(struct measure *m);
bool measure_next(struct measure *m);

/* --- sources/oadevice.c: what equations ask of a GPU --------------------------------------------------------- */

/* The variables of equations, by the names that metric files have for them. */
enum oavar {
	OV_EUS, OV_SLICES, OV_SUBSLICES, OV_THREADS, OV_SLICE_MASK, OV_SUBSLICE_MASK, OV_XECORE_MASK,
	OV_GT_SLICE,    /* index: the slice; 1 or 0 */
	OV_GT_XECORE,   /* index: slice * 4 + core within it */
	OV_XECORE,      /* index: the core of all ($GtXeCoreN) */
	OV_TS_HZ, OV_MAX_HZ, OV_REVISION, OV_QUERY_MODE,
	OV_SQIDI, OV_L3_BANK, OV_L3_NODE, OV_GEOMETRY_PIPE, OV_DEPTH_PIPE, OV_COLOR_PIPE, OV_COMPUTE_ENGINE, OV_COPY_ENGINE,
	OV_COUNT
};

/* Platforms that have one built-in set, and one format of reports by default. */
enum oafam { OF_HSW, OF_GEN8, OF_GEN9, OF_GEN11, OF_GEN12, OF_XEHP, OF_XE2 };

struct oaplatform {
	char name[7];  /* "sklgt2": what metric files call the chipset, in small letters */
	u8 family;     /* enum oafam */
	u16 gen;       /* times 100 */
	bool xe;       /* no i915 drives it */
	u8 threads;    /* of an EU */
	u8 ts_shift;   /* bits that the clock of correlations is behind that of reports */
	u32 ts_hz;     /* of the OA unit, where nobody says */
};

extern const struct oaplatform oaplatforms[];
extern const size_t noaplatforms;

/* A GPU, as its driver or a recording describes it. Counts that nobody told are 0. */
struct oadevice {
	const struct oaplatform *platform; /* NULL: unknown */
	u32 pci;
	bool xe;                           /* driven by xe */
	u64 var[OV_COUNT];                 /* those without an index */
	u64 slices;                        /* bits of those that are there: OV_GT_SLICE */
	u64 cores;                         /* the same of subslices, stride 4 a slice: OV_GT_XECORE; of all: OV_XECORE */
	u64 cores_all;
};

const struct oaplatform *oaplatform_of(u32 pci);
const struct oaplatform *oaplatform_named(struct str name);
void oadevice_init(struct oadevice *d, u32 pci, const struct oaplatform *p);
bool oadevice_topology(struct oadevice *d, struct str query);
bool oavar_find(struct str name, u8 *var, u8 *index);
u64 oavar_value(const struct oadevice *d, u8 var, u8 index);

/* --- sources/oametrics.c: metric sets: XML, packs, what is built in; equations ------------------------------- */

enum oaorigin { OM_XML, OM_PACK, OM_BASIC /* built in, written for this program */ };

/* Where sets are from. The text is mapped, or static: it stays. */
struct oafile {
	struct str text;
	u8 origin; /* enum oaorigin */
};

struct oaset {
	const struct oafile *file; /* NULL: only the kernel has it */
	struct str name, chipset; /* symbol_name; of OM_BASIC: the family */
	struct str format;        /* oa_format, or empty */
	char guid[37];            /* in small letters; "": none, or malformed */
	struct str body;          /* private: its counters and registers */
};

/* A counter as it is written. Equations lie in tokens (see oatoken) or, in XML, as text. */
struct oadef {
	struct str name, units;
	bool is_float;
	struct str equation, max, available; /* empty: none */
};

enum oaregs { OREG_NOA, OREG_OA, OREG_FLEX, OREGS }; /* mux, boolean, flex */

extern const struct oafile oabasic;
/* sources/oabasic.c: a counter of the sets that are built in, one for each family. families: bits of oafamilies[]. */
struct oabasic_row {
	u8 families;
	bool is_float;
	u8 units, max; /* in the tables below */
	const char *name, *equation;
};

struct oafamily {
	char name[6], guid[37];
	const char *format;
	const u32 (*regs[OREGS])[2];
	u8 nregs[OREGS];
};

extern const char oabasic_units[][9];
extern const char *const oabasic_max[]; /* NULL: none */
/* Whether a word stands for others, which take its place. */
bool oabasic_end(struct str word, struct str *rest);
extern const struct oabasic_row oabasic_rows[];
extern const size_t noabasic_rows;
extern const struct oafamily oafamilies[];
extern const size_t noafamilies;
/* Packs that were built in: of OA_XML. */
extern const struct oafile *const oapacks;
extern const size_t noapacks;

/* Whether a text is metric XML, whole and well formed, or a pack: which one *f says. */
bool oafile_is(struct oafile *f, struct str text);
/* The next set, and the next counter; *at is empty, { 0 }, at first. */
bool oaset_next(const struct oafile *f, struct str *at, struct oaset *s);
bool oadef_next(const struct oaset *s, struct str *at, struct oadef *c);
bool oaset_fits(const struct oaset *s, const struct oaplatform *p);
/* How many registers of a type (enum oaregs) the device needs; -E2BIG beyond cap; -EINVAL where they are malformed. */
long oaset_regs(const struct oaset *s, const struct oadevice *d, u8 type, u32 (*regs)[2], size_t cap);

/* A pack being made. The public files have 874 sets in 15 KB and 9 495 entries in 390 KB; their longest entry has 1 026 bytes. */
struct oapacker {
	/* The pack is list, heap and sets, one behind the other. Before that, list, part and code are a list, an entry of it,
	 * and an equation of that. */
	struct buf list, heap, sets, part, code;
	u32 hashes[1 << 16]; /* for half as many entries, by their hash: 1 + where they begin */
	u32 used;
	char set_b[64], list_b[1 << 14], code_b[1 << 14], part_b[1 << 16] /* 8 000 registers */, sets_b[1 << 17];
};

/* Packs all sets of these files. heap: where most of it goes. why: what cannot be packed. */
bool oapack_make(struct oapacker *p, struct buf heap, const struct oafile *files, size_t n, struct buf *why);

enum { MAX_OA_COUNTERS = 256, MAX_OA_CODE = 16384 };

union oaval {
	u64 u;
	double f;
};

/* A counter of the set in hand. */
struct oacounter {
	struct str name, units;
	bool is_float, wanted;
	bool has_max;
	bool runs;                       /* private: is wanted, or one that is wanted refers to it */
	struct oacode {
		u16 from, to; /* in oaprog.code */
	} code, max;                     /* private */
	u64 needs[MAX_OA_COUNTERS / 64]; /* private: counters that it refers to */
};

/* An instruction of the stack machine: its operand is the top of the stack, or what src names. */
struct oains {
	u8 op, src;
	u16 arg;
	union oaval k;
};

/* A set made ready for a device: counters that it cannot have are left out. */
struct oaprog {
	u32 n;
	u32 bad; /* counters left out because their equations make no sense */
	struct oacounter counters[MAX_OA_COUNTERS];
	struct oains code[MAX_OA_CODE];
	bool slots[OA_SLOTS]; /* that the wanted counters read */
};

/* False: the set has too many counters. why: that, or what is wrong with the first bad one. */
bool oaprog_make(struct oaprog *p, const struct oaset *s, const struct oadevice *d, struct buf *why);
/* Only these from now on, and what they refer to; NULL: all, as at first. */
void oaprog_want(struct oaprog *p, const bool *counters);
/* The counters of a sum into v[n]; those that are not wanted may be left as they were. */
void oaprog_eval(const struct oaprog *p, const u64 *sum, union oaval *v);
/* What a counter that is wanted reaches at most, of its own type; v: what oaprog_eval() made of the sum. False: not said. */
bool oaprog_max(const struct oaprog *p, size_t i, const u64 *sum, const union oaval *v, union oaval *max);

/* --- sources/oa.c: OA streams of i915 and xe ------------------------------------------------------------------ */

/* What a stream is asked for, beyond its metric set. */
struct oaprops {
	const struct oaformat *format; /* NULL: the set's, or the platform's */
	u64 period;                    /* ns; 0: none was asked for: interval decides */
	i64 interval;                  /* ns */
	bool has_ctx, has_engine, hold, has_sseu, has_unit;
	u64 ctx;                       /* a GEM context or an exec queue of the stream's own descriptor */
	u16 engine_class, engine_instance;
	u64 slices, subslices;         /* --sseu: masks */
	u16 min_eus, max_eus;
	u64 poll_ns;                   /* 0: the kernel's */
	u64 unit;                      /* xe: which OA unit */
	u64 buffer;                    /* xe: bytes; 0: the kernel's */
	u32 wait_reports;              /* xe: wake for so many */
};

enum { TOPOLOGY_BYTES = 8192 };

struct oalive {
	struct oadevice dev;
	u32 device;                    /* of the registry */
	int drm, fd;                   /* -1: not open */
	u32 revision;                  /* of i915's perf interface */
	const struct oaformat *format;
	i32 exponent;
	u64 period, buffer;            /* ns; bytes of the OA buffer */
	u64 min_hz, max_hz;
	u64 set;                       /* the kernel's number */
	bool added;                    /* by us: removed as soon as the stream is open */
	u64 unit;
	char topology[TOPOLOGY_BYTES]; /* as QUERY has it, for recordings */
	size_t topology_n;
	const char *what, *remedy;     /* of the call that failed: what it means, what would mend it */
};

long oa_attach(struct oalive *l, u32 device);
/* Sets that the kernel has, from sysfs: the number of one; each. */
bool oa_has_set(const struct device *d, struct str guid, u64 *id);
void oa_registered(const struct device *d, void (*found)(struct str guid, u64 id));
/* Registers the set where the kernel lacks it, and opens the stream. */
long oa_start(struct oalive *l, const struct oaset *s, const struct oaprops *p);
/* The buffer of all streams, writable after oa_attach() returned 0. Its content is lost at the next call of a function here. */
enum { OA_BYTES_LEAST = 64 << 10 };
extern char *oa_bytes;
extern struct table oa_bytes_table;
/* Whole records as i915 has them, also from xe: bytes; 0: nothing now. cap: OA_BYTES_LEAST or more. */
long oa_read(struct oalive *l, char *b, size_t cap);
bool oa_correlate(const struct oalive *l, u64 *cpu_ns, u64 *gpu_ts);
void oa_stop(struct oalive *l);

/* --- views/profile.c: samples summed up ------------------------------------------------------------------ */

enum proftable { PROF_COMM, PROF_SYMBOL, PROF_IP, PROF_STACK, PROF_TABLES };

struct profrow {
	struct str name;   /* comm, symbol or folded stack */
	struct str module; /* of symbols and ips */
	u64 ip;
	u64 samples, period;
};

extern u64 profile_samples[PROF_TABLES], profile_period[PROF_TABLES]; /* all, with what found no room */
extern u64 profile_dropped;                                             /* samples that did not */
void profile_begin(u8 sums); /* makes room for first rows of these, 1 << enum proftable each */

void profile_add(u8 table, const struct profrow *r);
size_t profile_sort(u8 table);
const struct profrow *profile_row(u8 table, size_t i);
void folded_frame(struct buf *b, struct str symbol, struct str module, u8 mode);
void folded_comm(struct buf *b, struct str comm);
void folded_row(struct buf *b, const struct profrow *r);

/* --- views/perfdata.c: the file that `perf report` reads --------------------------------------------------- */

struct pdevent {
	struct str attr; /* struct perf_event_attr, as it was given to the kernel: all of the same size */
	struct str name;
	const u64 *ids;
	u32 nids;
};

struct pdmeta {
	struct str release, machine; /* uname */
	u32 cpus_online, cpus;
	const struct str *args; /* the command line */
	u32 nargs;
};

struct perfdata {
	struct buf b; /* the caller's, 128 KiB or more: two records */
	long (*write)(const char *p, size_t n);         /* all of it: 0, or -errno */
	long (*patch)(u64 at, const char *p, size_t n); /* the same, over what was written */
	const struct pdevent *events;
	u32 nevents;
	struct pformat format; /* of the first event: how made records end */
	u64 attrs_at, data_at, written;
	long error; /* the first -errno */
};

void perfdata_begin(struct perfdata *d);
void perfdata_record(struct perfdata *d, struct str raw);
void perfdata_made(struct perfdata *d, const struct prec *r);
void perfdata_round(struct perfdata *d);
long perfdata_end(struct perfdata *d, const struct pdmeta *m);

/* --- views/record.c: samples ------------------------------------------------------------------------------- */

/* A place in the code. */
struct frame {
	u64 ip, offset;
	u8 mode;                  /* enum pmode */
	struct str symbol, module; /* empty: unknown */
};

enum { MAX_GROUP = 64 }; /* counts that one read gives: no PMU has so many counters */
enum { MAX_FRAMES = 512 }; /* kernel.perf_event_max_stack is 127 by default */

/* One overflow of an event, and who was there. */
struct sample {
	struct entity e; /* K_SAMPLE */
	const struct prec *r;
	u32 event; /* NONE: unknown, or what was lost */
	u64 period; /* 0: unknown */
	struct str comm;
	struct frame at;
	struct frame chain[MAX_FRAMES];
	u32 nchain;
	struct {
		u32 event;
		u64 count;
	} group[MAX_GROUP]; /* :S */
	u32 ngroup;
};

/* One line of a profile. */
struct profile {
	struct entity e; /* K_PROFILE */
	u8 table;        /* enum proftable */
	const struct profrow *row;
};

/* What an OA unit counted from one report on: to the next one, or over several. */
struct oarow {
	struct entity e;              /* K_OA */
	struct str dev, set;          /* empty: unknown */
	u64 index;                    /* of the report, or of the sum */
	u64 reports;                  /* deltas that are in it */
	u64 lost;                     /* records of losses since the row before */
	const struct oareport *head;  /* of the report; of a sum only its timestamp means something */
	bool sum, has_cpu_time, has_ctx;
	u64 cpu_time, ctx;
	u64 ts_hz;                    /* 0: unknown */
	const u64 *slots;             /* OA_SLOTS; NULL: nothing was counted */
	bool stored;                  /* slots are as the report has them */
	const struct oaprog *prog;
	const union oaval *values;    /* of prog's counters */
	const struct oaplan *raw;     /* instead of prog: whose slots are shown */
};

/* A counter of the catalogue, at its index; title: what a column of it is called. */
struct picked {
	const struct named *counter;
	u32 index;
	struct str title;
};

/* One of them (K_COUNTER), or all of a sample in one record (K_COUNTERS). */
struct reading {
	struct entity e;
	const struct picked *picked;
	size_t n;
};

/* --- views/record.c: the schema; from an entity to the fields of its record ---------------------- */

enum unit {
	U_NONE, U_PERCENT, U_BYTES, U_HZ, U_NS, U_CELSIUS, U_WATT, U_JOULE, U_VOLT, U_AMPERE, U_RPM,
	U_GTS, U_SECONDS, U_MS, U_NANO, U_MICRO,
	U_SHARE, U_CENTI, U_RATE, U_MILLIC, U_MICROJ, U_MICROW, U_MILLIV, U_MILLIA, /* whole numbers, as counters have them in C */
	UNITS
};

extern const struct unitinfo {
	const char *name;
	u8 point; /* the kernel's unit is 10^-point of this one */
} units[UNITS];

enum vtype { V_NULL, V_INT, V_TEXT, V_TIME, V_DIGITS /* a number that no V_INT holds, as text */ };

struct val {
	u8 type;  /* enum vtype */
	u8 unit;  /* enum unit */
	bool neg; /* V_INT: minus n */
	u8 point; /* V_INT: more digits behind the point than the unit has */
	u64 n;    /* V_INT: in 10^-point of the unit; V_TIME: microseconds */
	struct str s;
};

enum shape {
	S_SCALAR, /* "member": value */
	S_MEMBER, /* "group": { "member": value } */
	S_INST,   /* "group": { "instance": value } */
	S_BOTH,   /* "group": { "instance": { "member": value } } */
	S_LIST,   /* "group": [ value, ... ] */
};

/* When a column is in a record. */
enum {
	W_DEVICE = 1 << K_DEVICE, W_CLIENT = 1 << K_CLIENT, W_CGROUP = 1 << K_CGROUP,
	W_FDINFO = 1 << K_FDINFO, W_EVENT = 1 << K_EVENT, W_SAMPLE = 1 << K_SAMPLE,
	W_PROFILE = 1 << K_PROFILE, W_OA = 1 << K_OA, W_COUNTER = 1 << K_COUNTER,
	W_COUNTERS = 1 << K_COUNTERS, W_SOURCE = 1 << K_SOURCE,
	W_LIVE = 1 << 16,    /* not under -r */
	W_RAW = 1 << 17,    /* under -r, and in fdinfo records */
	W_LIST = 1 << 18,   /* only for `list` */
	W_SPARSE = 1 << 19, /* left out rather than null */
	W_TABLE = 1 << 20,  /* shown by `table` without -f */
	W_ID = 1 << 21,     /* a column of its own in long CSV, or part of its instance */
	W_META = 1 << 22,   /* says something of the record; no row of long CSV */
	W_TOTAL = 1 << 23,  /* counted since the start: never less while the program runs */
	W_LABEL = 1 << 24,  /* metrics: tells series apart */
	W_ASKED = 1 << 25,  /* metrics: only where -f names it */
	W_RUN = 1 << 26,    /* metrics: of the run, not of the record: expositions have it once */
};

struct column {
	const char *group, *member;
	u8 shape, unit;
	u8 id;    /* what fills it: enum desc, or enum label */
	u32 when; /* W_* */
	const char *help;
};

extern const struct column columns[];
extern const size_t ncolumns;

struct field {
	const struct column *col;
	struct str inst;
	struct val v;
	bool empty; /* stands for a group or list that has nothing in it */
};

enum {
	MAX_FIELDS = 8192, /* all counters of an entity, each in several columns, and what follows */
	MAX_PIDS_SHOWN = MAX_FIELDS / 2,
	REC_TEXT = 64 << 10,
};

struct record {
	u8 kind;
	bool steady; /* all such records of this run have the same fields, in the same places */
	const struct entity *e;
	const struct task *owner; /* of a client, or NULL */
	struct str cgroup;        /* of what has one */
	u32 lost; /* fields that found no room */
	size_t n, text_n;
	struct field *f; /* in record.c's table, which all records share: there is one at a time */
	char *text;      /* REC_TEXT bytes there, for texts that nothing lasting holds */
};

/* How records are made: of one sample, the same for all. */
struct recopts {
	bool raw, list;
	bool both;    /* rates, and the totals of -r beside them */
	i64 time_us;  /* on the clock of -t; negative: none */
	i64 dt_us;    /* since the sample before; negative: none */
	const char *file;    /* fdinfo */
	const char *summary; /* "min", "avg", "max" of -S, or NULL */
};

extern const char *const kind_names[K_COUNT];

bool record_room(void); /* makes room for a first record, as record_make() does. False: there is none */
void record_make(struct record *r, const struct entity *e, const struct recopts *o);
void record_choose(u8 kind, const struct str *patterns, size_t n);
bool record_shows(u8 desc);
void record_site(struct buf *b, const struct entity *e, bool cgroup);
const struct val *record_get(const struct record *r, const char *group, const char *member);
bool field_match(const struct field *f, struct str pattern);
void field_name(struct buf *b, const char *dev, const struct field *f);
bool pattern_known(struct str pattern, u8 kind);

/* --- views/summary.c: min, avg and max ------------------------------------------------------------ */

void summary_add(const struct record *r);
void summary_reset(void);
void summary_apply(struct record *r, const char *which);

/* --- views/out.c: formats ---------------------------------------------------------- */

enum timefmt { T_DEFAULT, T_NONE, T_EPOCH, T_ISO, T_MONO };

enum { MAX_PATTERNS = MAX_OA_COUNTERS + 64 /* all counters of a metric set, and all else */, MAX_CELLS = MAX_PATTERNS };

/* A column of `line` or `table`. */
struct cell {
	struct str group, title;
	const struct column *col; /* table: with inst, what stands in it */
	char *inst; /* one of insts */
	u8 inst_n;
	const struct str *pattern; /* -f */
	u16 order;          /* table: which pattern */
	const struct lay *lay; /* line */
	u16 width, want; /* in characters */
	bool right;
};

struct out {
	const struct format *fmt;
	const struct str *patterns; /* -f */
	size_t npatterns;
	bool no_header, one_line, colour, list, summary;
	bool once;     /* no series: the time says nothing */
	bool inner;    /* each sample is a summary, at its own time */
	bool sites, summed, repeats, sets; /* event records: what tells them apart */
	bool reports, contexts; /* oa records: each of a report; of a context */
	char separator; /* perf-csv */
	u16 width; /* of a line, in characters */
	u8 time;   /* enum timefmt */
	i32 offset; /* of local time, in seconds east */
	/* metrics */
	const char *host; /* graphite, statsd, collectd: this machine; NULL: unknown */
	i64 now;          /* ns on CLOCK_REALTIME: of this sample */
	i64 interval;     /* ns, collectd; 0: unknown */
	u64 self_ns, self_bytes; /* CPU time and resident memory of this program so far; 0: unknown */
	/* kept between records */
	bool headed, ran;
	u8 joined; /* records on this line so far, at most 2 */
	u8 kind;
	u16 places[MAX_PATTERNS]; /* of steady records: the only field of each pattern, plus 1 */
	size_t ncells, lost; /* columns; those beyond the table */
	u16 shown[MAX_CELLS];    /* which cell stands there, from left to right */
	struct cell cells[MAX_CELLS];
	char insts[MAX_CELLS][MAX_NAME];
};

const struct format *format_find(struct str name);
const char *format_left_out(struct str name);
void format_names(struct buf *b, int kind, size_t indent);
void put_iso(struct buf *b, u64 us);
bool format_shows(const struct format *f, u8 kind);
bool format_raw(const struct format *f);
bool format_folds(const struct format *f);
bool format_is_perfdata(const struct format *f);
bool format_joins(const struct format *f);
bool format_spreads(const struct format *f);
bool format_replaces(const struct format *f);
bool format_measures_totals(const struct format *f);
bool format_is_lone(const struct format *f);
bool format_heads_file(const struct format *f);
bool format_is_of_run(const struct format *f);
bool format_sends(const struct format *f);
bool format_is_whole(const struct format *f);
void put_number(struct buf *b, const struct val *v);
bool put_logfmt(struct buf *b, const struct out *o, const struct record *r, size_t i, bool first);
bool out_selects(const struct out *o, const struct field *f);
enum { MAX_WORDS = 16 /* a line has ten columns */ };
size_t out_words(const struct out *o, struct str words[MAX_WORDS]);
bool out_measures(const struct out *o);
void out_measure(struct out *o, const struct record *r);
void out_record(struct out *o, struct buf *b, const struct record *r);
bool out_end(struct out *o, struct buf *b);
void out_fields(struct buf *b, u8 kind);
void put_human(struct buf *b, struct val v);

/* --- views/metrics.c: fields as metric families, for programs that keep time series ---------------------- */

/* Formats of which a sample is a whole of its own: families in their order, each series once. */
void prom_record(struct out *o, struct buf *b, const struct record *r);
bool prom_end(struct out *o, struct buf *b);
bool openmetrics_end(struct out *o, struct buf *b);
/* Formats of lines. */
void influx_record(struct out *o, struct buf *b, const struct record *r);
void graphite_record(struct out *o, struct buf *b, const struct record *r);
void statsd_record(struct out *o, struct buf *b, const struct record *r);
void collectd_record(struct out *o, struct buf *b, const struct record *r);
/* All of a sample in one line of the kernel's log. */
void kmsg_record(struct out *o, struct buf *b, const struct record *r);
bool kmsg_end(struct out *o, struct buf *b);

/* --- views/screen.c: a terminal: what it shows, what its keys send ------------------------------------------ */

enum { SCREEN_ROWS = 200, SCREEN_COLS = 500 /* beyond what fonts leave readable on any wall */ };

/* How a cell is drawn: one of 8 colours, and what is added. */
enum style { RED = 1, GREEN, YELLOW, BLUE, MAGENTA, CYAN, GREY, BOLD = 8, REVERSE = 16 };
enum { COLOUR = 7 /* mask of the first seven */ };

struct screen {
	u16 rows, cols;
	bool ascii, plain; /* no character beyond ASCII; no colour */
	bool known;        /* the terminal shows `was` */
	struct screen_row {
		u32 now[SCREEN_COLS], was[SCREEN_COLS];
	} *grid; /* the caller's: as many as `rows` */
};

void screen_size(struct screen *s, size_t rows, size_t cols);
void screen_clear(struct screen *s);
void screen_char(struct screen *s, int row, int col, u8 style, u32 c);
int screen_put(struct screen *s, int row, int col, int width, u8 style, struct str text);
void screen_frame(struct screen *s, struct buf *b);

/* Keys that are no character; those that are stand for themselves. F1 to F10 follow each other. */
enum key {
	KEY_ESC = 033, KEY_FIRST = 0x100, KEY_UP = KEY_FIRST, KEY_DOWN, KEY_RIGHT, KEY_LEFT, KEY_HOME, KEY_END, KEY_PGUP,
	KEY_PGDN, KEY_F1, KEY_F2, KEY_F3, KEY_F4, KEY_F5, KEY_F6, KEY_F7, KEY_F8, KEY_F9, KEY_F10,
};

struct keys {
	u8 state, n; /* n: first number of the sequence in hand */
	bool more;   /* others behind it */
};

u16 key_take(struct keys *k, u8 c);
u16 key_pause(struct keys *k);

/* --- views/top.c: what the live screen shows ------------------------------------------------------------------ */

enum { HISTORY = 512 /* samples: more than the widest graph has */, FILTER_BYTES = 64 };
enum topmode { TOP_LIST, TOP_FILTER, TOP_SORT, TOP_HELP };

struct top {
	/* what there is to show */
	const u32 *devs, *rows; /* devices and clients, in their order; the view adds nothing and leaves out nothing */
	size_t ndevs, nrows, nall; /* nall: clients before the filter */
	i64 interval;
	size_t wide, high;      /* what the terminal has, where the grid is smaller */
	/* what the user chose */
	u8 mode, sort, choice;  /* enum topmode; the column; that under the cursor of the menu */
	bool inverted, frozen, on_devices;
	size_t at, first, left, dev_first, help_first; /* the row under the cursor; the first ones shown; columns left out */
	char filter[FILTER_BYTES];
	u8 filter_n;
	/* what the last frame had room for */
	size_t page, dev_page, help_page;
};

extern const u8 top_ncolumns;

bool top_device(const struct record *r, bool first);
bool top_match(const struct top *t, u32 client);
struct str top_field(u8 column);
u8 top_column(struct str field);
u8 top_column_of_key(u16 key);
void top_draw(struct screen *s, struct top *t, struct record *r, const struct recopts *o);

/* --- views/svg.c: a run as a picture ---------------------------------------------------------------------- */

/* What tells who a value is about: texts of its record, as they were written. From client on: whoever differs in one
 * is another. */
enum plotid {
	ID_KIND, ID_DEV, ID_EVENT, ID_COMM, ID_NAME, ID_UNIT, ID_CLIENT, ID_PID, ID_CGROUP, ID_SET, ID_CPU, ID_CORE,
	ID_SOCKET, ID_TID, ID_COUNT
};

struct plotids {
	struct str of[ID_COUNT];
};

size_t plot_id(struct str name);
u16 svg_kind(const struct plotids *id);
void svg_begin(i64 time_us, i64 dt_us);
void svg_put(const struct plotids *id, const struct column *c, struct str inst, const struct val *v, bool chosen);
void svg_unit(struct str unit);
void svg_record(struct out *o, struct buf *b, const struct record *r);
bool svg_end(struct out *o, struct buf *b);

#endif
