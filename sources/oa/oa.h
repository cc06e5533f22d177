/* oa.h - interface of sources/oa: OA streams of i915 and xe, metric sets and their equations.
 * Functions and variables that are not declared here are static. Values of OA counters are not in
 * the registry: each is an equation over the differences of a whole report, evaluated up to 100 000
 * times per second, and its name, unit and type are data of the metric set.
 * SPDX-License-Identifier: MIT */
#ifndef OA_H
#define OA_H

#include "base.h"
#include "perfstream.h"
#include "counters.h"
#include "sources/os/os.h"

/* --- sources/oa/oadevice.c: platforms, and the variables of equations ------------------------- */

/* Variables of equations. Their names in metric files are in oadevice.c. */
enum oavar {
	/* Numbers that are never 0: 0 is unknown. */
	OV_EUS, OV_SLICES, OV_SUBSLICES, OV_TS_HZ, OV_MAX_HZ,
	OV_THREADS, OV_SQIDI, OV_L3_BANK, OV_L3_NODE, OV_GEOMETRY_PIPE, OV_DEPTH_PIPE,
	OV_COLOR_PIPE, OV_COMPUTE_ENGINE, OV_COPY_ENGINE,
	OV_CS_HZ,       /* of the clock that correlations read, that of the command streamer */
	OV_VERSION,     /* of the graphics IP, times 100 */
	OV_NUMBERS,
	OV_SLICE_MASK = OV_NUMBERS, OV_SUBSLICE_MASK, OV_XECORE_MASK, OV_REVISION, OV_QUERY_MODE,
	OV_GT_SLICE,    /* index: the slice; value: 1 if present, else 0 */
	OV_GT_XECORE,   /* index: slice * 4 + core within the slice */
	OV_XECORE,      /* index: the core, numbered across all slices ($GtXeCoreN) */
	OV_COUNT
};

/* Families of platforms: each has one built-in metric set and one default report format. */
enum oafam { OF_HSW, OF_GEN8, OF_GEN9, OF_GEN11, OF_GEN12, OF_XEHP, OF_XE2 };

/* Threads and clock: 0 if unknown. */
struct oaplatform {
	char name[7];  /* "sklgt2": the chipset's in metric files, in lower case; or a family's */
	u8 family;     /* enum oafam */
	u16 gen;       /* graphics generation times 100 */
	bool xe;       /* i915 does not support it */
	u8 threads;    /* per EU */
	u8 ts_shift;   /* of oadevice_ts_shift(), if the clocks are unknown */
	u32 ts_hz;     /* of the OA unit; used if neither driver nor recording reports it */
};

extern const struct oaplatform oaplatforms[];
extern const size_t noaplatforms;

/* A GPU, as its driver or a recording describes it. */
struct oadevice {
	const struct oaplatform *platform; /* NULL: unknown */
	u32 pci;
	bool xe;                           /* driven by xe */
	u64 var[OV_COUNT];                 /* variables without an index */
	u64 slices;                        /* mask of the slices that are present: OV_GT_SLICE */
	u64 cores;                         /* mask of subslices, 4 bits per slice: OV_GT_XECORE */
	u64 cores_all;                     /* the same, numbered across all slices: OV_XECORE */
};

const struct oaplatform *oaplatform_by_pci(u32 pci);
const struct oaplatform *oaplatform_by_name(struct str name);
void oadevice_init(struct oadevice *d, u32 pci, const struct oaplatform *p);
bool oadevice_topology(struct oadevice *d, struct str query);
u8 oadevice_ts_shift(const struct oadevice *d);
/* Replies of xe to DRM_IOCTL_XE_DEVICE_QUERY: GT_LIST, GT_TOPOLOGY and HWCONFIG. */
void oadevice_gts(struct oadevice *d, struct str reply);
/* Finds the version of a GT in a reply to GT_LIST; 0: the GPU has no register for it. */
bool oagt_version(struct str reply, u64 id, u16 *major);
void oadevice_masks(struct oadevice *d, struct str reply, u64 *subslices, u64 *eus);
void oadevice_hwconfig(struct oadevice *d, struct str reply);
/* The numbers of a device that are not in other records of a recording, as text. */
void put_oadevice(struct buf *b, const struct oadevice *d);
void oadevice_read(struct oadevice *d, struct str text);
bool oavar_find(struct str name, u8 *var, u8 *index);
bool oavar_value(const struct oadevice *d, u8 var, u8 index, u64 *value);
const char *oavar_name(unsigned var);

/* --- sources/oa/oametrics.c: metric sets (XML, packs, built-in) and equations ----------------- */

enum oaorigin { OM_XML, OM_PACK, OM_BASIC /* built in, written for this program */ };

/* A source of metric sets. The text is mapped or static, and is never freed. */
struct oafile {
	struct str text;
	u8 origin; /* enum oaorigin */
};

struct oaset {
	const struct oafile *file; /* NULL: only the kernel has it */
	struct str name, chipset; /* symbol_name; for OM_BASIC, chipset is the family */
	struct str format;        /* oa_format, or empty */
	char guid[37];            /* lower case; "": missing or malformed */
	struct str body;          /* private: its counters and registers */
};

/* A counter's definition. Equations are tokens (see struct oatoken) in packs, else text. */
struct oadef {
	struct str name, units;
	bool is_float;
	struct str equation, max, available; /* empty: none */
	struct str description;              /* empty: none, as in the built-in sets */
};

enum oaregs { OREG_NOA, OREG_OA, OREG_FLEX, OREGS }; /* mux, boolean, flex */

extern const struct oafile oabasic;
/* sources/oa/oabasic.c: a counter of the built-in sets. families: bit i is set if oafamilies[i] has
 * it. */
struct oabasic_row {
	u8 families;
	bool is_float;
	u8 units, max; /* indexes of oabasic_units[] and oabasic_max[] */
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
/* Returns true if the word is an abbreviation; *rest: the equation text that replaces it. */
bool oabasic_expand(struct str word, struct str *rest);
extern const struct oabasic_row oabasic_rows[];
extern const size_t noabasic_rows;
extern const struct oafamily oafamilies[];
extern const size_t noafamilies;
extern const struct oafile oapack; /* the pack that is built in; it may be empty */

/* Returns true if the text is a pack, or complete and well-formed metric XML. *f says which. */
bool oafile_detect(struct oafile *f, struct str text);
/* Return the next set, or the next counter; false at the end. *at must be { 0 } at the first
 * call. */
bool oaset_next(const struct oafile *f, struct str *at, struct oaset *s);
bool oadef_next(const struct oaset *s, struct str *at, struct oadef *c);
/* Returns true if the set is for platform p; false if p is NULL. */
bool oaset_fits(const struct oaset *s, const struct oaplatform *p);
/* Reads the registers of a type (enum oaregs) that the device needs. Returns their number, -E2BIG
 * if it is more than cap, or -EINVAL if a register or its condition is malformed. */
long oaset_regs(const struct oaset *s, const struct oadevice *d, u8 type, u32 (*regs)[2],
		size_t cap);

/* The state of writing a pack. The public files have 874 sets in 15 KB and 10 758 entries in 496
 * KB; their longest entry has 1 026 bytes. */
struct oapacker {
	/* The finished pack is list, heap and sets, one after the other. Before that, list holds a
	 * list, part an entry of that list, and code an equation of that entry. */
	struct buf list, heap, sets, part, code;
	/* For half as many entries, by their hash: 1 + the entry's offset in the heap; 0: free. */
	u32 hashes[1 << 16];
	u32 used;
	char set_b[64], list_b[1 << 14], code_b[1 << 14], part_b[1 << 16] /* 8 000 registers */;
	char sets_b[1 << 17];
};

/* Packs all sets of these files. heap: the buffer for most of the pack. False: why says what cannot
 * be packed. */
bool oapack_make(struct oapacker *p, struct buf heap, const struct oafile *files, size_t n,
		 struct buf *why);

enum { MAX_OA_COUNTERS = 256, MAX_OA_CODE = 16384 };

union oaval {
	u64 u;
	double f;
};

/* A counter of a compiled set. */
struct oacounter {
	struct str name, units, description;
	bool is_float, wanted;
	bool has_max;
	bool evaluated;                  /* private: it, or one that refers to it, is wanted */
	struct oacode {
		u16 from, to; /* in oaprog.code */
	} code, max;                     /* private */
	u64 needs[MAX_OA_COUNTERS / 64]; /* private: bits of the counters that it refers to */
	/* Bits of the variables that its equation needs and that are unknown; 0: it has a value. */
	u32 unknown;
};

/* An instruction of the stack machine. src: where its right operand is. */
struct oains {
	u8 op, src;
	u16 arg;
	union oaval k;
};

/* A set compiled for a device, without the counters that the device does not have. */
struct oaprog {
	u32 n;
	u32 bad; /* counters left out because they are malformed */
	struct oacounter counters[MAX_OA_COUNTERS];
	struct oains code[MAX_OA_CODE];
	bool slots[OA_SLOTS]; /* slots that the wanted counters read */
};

/* Compiles a set for a device. False: the set has too many counters. why: that, or the error of the
 * first malformed counter. */
bool oaprog_compile(struct oaprog *p, const struct oaset *s, const struct oadevice *d,
		    struct buf *why);
/* Evaluates only these counters, and those they refer to, from now on; NULL: all, the default. */
void oaprog_select(struct oaprog *p, const bool *counters);
/* Computes the counters of a sum into v[n]; those that are not wanted may stay unchanged, and those
 * with an unknown variable have no meaning. */
void oaprog_eval(const struct oaprog *p, const u64 *sum, union oaval *v);
/* Computes the maximum of a wanted counter, in the counter's own type; v: the result of
 * oaprog_eval() for the sum. False: the set defines no maximum, or it is unknown. */
bool oaprog_max(const struct oaprog *p, size_t i, const u64 *sum, const union oaval *v,
		union oaval *max);

/* --- sources/oa/oastream.c: OA streams of i915 and xe ----------------------------------------- */

/* Properties of a stream, except its metric set. */
struct oaprops {
	const struct oaformat *format; /* NULL: the default of the set or of the platform */
	u64 period;                    /* ns; 0: chosen from interval */
	i64 interval;                  /* ns */
	bool has_ctx, has_engine, hold, has_sseu, has_unit;
	u64 ctx;                       /* a GEM context or exec queue of the stream's descriptor */
	u16 engine_class, engine_instance;
	u64 slices, subslices;         /* --sseu: masks */
	u16 min_eus, max_eus;
	u64 poll_ns;                   /* ns; 0: the kernel's default */
	u64 unit;                      /* xe: which OA unit */
	u64 buffer;                    /* xe: bytes; 0: the kernel's default */
	u32 wait_reports;              /* xe: reports before a wake-up */
};

enum { TOPOLOGY_BYTES = 8192 };

/* An open device and its OA stream. */
struct oalive {
	struct oadevice dev;
	u32 device;                    /* index in devices[] */
	int drm, fd;                   /* -1: not open */
	u32 revision;                  /* of i915's perf interface */
	const struct oaformat *format;
	i32 exponent;
	const struct stallformat *stalls; /* of the samples of EU stalls */
	u64 period;                    /* ns; of EU stalls: GPU clocks */
	u64 buffer;                    /* bytes of the OA buffer; of EU stalls: of each core's */
	u64 min_hz, max_hz;
	u64 set;                       /* the kernel's number of the metric set */
	bool added;                    /* this process added the set, and has to remove it */
	u64 unit;
	char topology[TOPOLOGY_BYTES]; /* as DRM_I915_QUERY returns it, for recordings */
	size_t topology_n;
	const char *what, *remedy;     /* the error of the call that failed, and its fix */
};

long oa_attach(struct oalive *l, u32 device);
/* Metric sets registered with the kernel, from sysfs: the number of one set; calls found for
 * each. */
bool oa_has_set(const struct device *d, struct str guid, u64 *id);
void oa_each_registered(const struct device *d, void (*found)(struct str guid, u64 id));
/* Registers the set if the kernel does not have it, and opens the stream. */
long oa_start(struct oalive *l, const struct oaset *s, const struct oaprops *p);
/* The buffer that all streams share, writable after oa_attach() returned 0. The next call of a
 * function of oastream.c overwrites it. */
enum { OA_BYTES_MIN = 64 << 10 };
extern char *oa_bytes;
extern struct table oa_bytes_table;
/* Reads whole records in the layout of i915, from xe too. Returns bytes; 0: nothing to read now; or
 * -errno with what and remedy. cap: OA_BYTES_MIN or more. */
long oa_read(struct oalive *l, char *b, size_t cap);
bool oa_correlate(const struct oalive *l, u64 *cpu_ns, u64 *gpu_ts);
void oa_stop(struct oalive *l);

/* Properties of a stream of EU stalls. */
struct stallprops {
	u64 cycles;       /* GPU clocks between two samples; 0: the driver's choice */
	u64 gt;
	u32 wait_reports; /* samples before a wake-up; 0: chosen from the size of the buffer */
};

/* oa_stop() ends the stream, also if it was not opened. oa_bytes is writable afterwards. */
long stalls_start(struct oalive *l, u32 device, const struct stallprops *p);
long stalls_read(struct oalive *l, char *b, size_t cap);

#endif
