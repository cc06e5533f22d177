/* oa.h - interface of sources/oa: OA streams of i915 and xe, metric sets and their equations.
 * Functions and variables of sources/oa that are not declared here are static. Values of OA
 * counters are not in the registry of counters.c: each value is an equation over the differences
 * between two reports, evaluated up to 100 000 times per second, and its name, unit and type come
 * from the metric set.
 * SPDX-License-Identifier: MIT */
#ifndef OA_H
#define OA_H

#include "base.h"
#include "perfstream.h"
#include "counters.h"
#include "sources/os/os.h"

/* --- sources/oa/oadevice.c: platforms, and the variables of equations ------------------------- */

/* Variables that equations use ("$NAME"). Their names in metric files are in oadevice.c. */
enum oavar {
	/* Numbers of the GPU. None of them can be 0, so the value 0 means that it is unknown. */
	OV_EUS, OV_SLICES, OV_SUBSLICES, OV_TS_HZ, OV_MAX_HZ,
	OV_THREADS, OV_SQIDI, OV_L3_BANK, OV_L3_NODE, OV_GEOMETRY_PIPE, OV_DEPTH_PIPE,
	OV_COLOR_PIPE, OV_COMPUTE_ENGINE, OV_COPY_ENGINE,
	OV_CS_HZ,       /* frequency of the command streamer's clock, which oa_correlate() reads */
	OV_VERSION,     /* version of the graphics IP, times 100 */
	OV_NUMBERS,
	OV_SLICE_MASK = OV_NUMBERS, OV_SUBSLICE_MASK, OV_XECORE_MASK, OV_REVISION, OV_QUERY_MODE,
	OV_GT_SLICE,    /* index: the slice; value: 1 if present, else 0 */
	OV_GT_XECORE,   /* index: slice * 4 + core within the slice */
	OV_XECORE,      /* index: the core, numbered across all slices ($GtXeCoreN) */
	OV_COUNT
};

/* Families of platforms. Each family has one built-in metric set and one default report format. */
enum oafam { OF_HSW, OF_GEN8, OF_GEN9, OF_GEN11, OF_GEN12, OF_XEHP, OF_XE2 };

/* A platform: GPUs that share the metric sets of one chipset. threads and ts_hz are 0 if
 * unknown. */
struct oaplatform {
	/* "sklgt2": the chipset's name in metric files, in lower case; or the name of a family */
	char name[7];
	u8 family;     /* enum oafam */
	u16 gen;       /* graphics generation times 100 */
	bool xe;       /* only xe supports the platform, not i915 */
	u8 threads;    /* number of threads per EU */
	u8 ts_shift;   /* result of oadevice_ts_shift() if the two clocks do not determine it */
	/* clock of the OA unit in Hz; used if neither driver nor recording reports it */
	u32 ts_hz;
};

extern const struct oaplatform oaplatforms[];
extern const size_t noaplatforms;

/* A GPU, as its driver or a recording describes it. */
struct oadevice {
	const struct oaplatform *platform; /* NULL if unknown */
	u32 pci;
	bool xe;                           /* the driver is xe, not i915 */
	u64 var[OV_COUNT];                 /* values of the equation variables without an index */
	/* mask of the slices that are present, for OV_GT_SLICE */
	u64 slices;
	/* mask of the subslices that are present, 4 bits per slice, for OV_GT_XECORE */
	u64 cores;
	/* mask of the subslices that are present, numbered across all slices, for OV_XECORE */
	u64 cores_all;
};

const struct oaplatform *oaplatform_by_pci(u32 pci);
const struct oaplatform *oaplatform_by_name(struct str name);
void oadevice_init(struct oadevice *d, u32 pci, const struct oaplatform *p);
bool oadevice_topology(struct oadevice *d, struct str query);
u8 oadevice_ts_shift(const struct oadevice *d);
/* The next four functions decode replies of xe to DRM_IOCTL_XE_DEVICE_QUERY: GT_LIST, GT_TOPOLOGY
 * and HWCONFIG. */
void oadevice_gts(struct oadevice *d, struct str reply);
/* Stores the major version of the GT with this id, from a reply to GT_LIST, in *major; 0 means that
 * the GPU has no version register. Returns false if the reply has no such GT. */
bool oagt_version(struct str reply, u64 id, u16 *major);
void oadevice_masks(struct oadevice *d, struct str reply, u64 *subslices, u64 *eus);
void oadevice_hwconfig(struct oadevice *d, struct str reply);
/* Write and read, as text, the numbers of a GPU that no other record of an OA recording
 * contains. */
void put_oadevice(struct buf *b, const struct oadevice *d);
void oadevice_read(struct oadevice *d, struct str text);
bool oavar_find(struct str name, u8 *var, u8 *index);
bool oavar_value(const struct oadevice *d, u8 var, u8 index, u64 *value);
const char *oavar_name(unsigned var);

/* --- sources/oa/oametrics.c: metric sets (XML, packs, built-in) and equations ----------------- */

enum oaorigin { OM_XML, OM_PACK, OM_BASIC /* tables of oabasic.c, written for this program */ };

/* A file, pack or built-in table of metric sets. The text is mapped or static, and is never
 * freed. */
struct oafile {
	struct str text;
	u8 origin; /* enum oaorigin */
};

struct oaset {
	const struct oafile *file; /* NULL if only the kernel knows the definition of the set */
	struct str name, chipset; /* attribute symbol_name; chipset, or the family for OM_BASIC */
	struct str format;        /* name of the report format (attribute oa_format), or empty */
	char guid[37];            /* in lower case; "" if it is missing or malformed */
	struct str body;          /* private to oametrics.c: encoded counters and registers */
};

/* The definition of a counter in a metric set. Its equations are tokens (see struct oatoken) if the
 * set is from a pack, otherwise text. */
struct oadef {
	struct str name, units;
	bool is_float;
	struct str equation, max, available; /* empty if the definition has none */
	struct str description;              /* empty if there is none, as in the built-in sets */
};

/* Types of registers; i915 names them mux, boolean and flex. */
enum oaregs { OREG_NOA, OREG_OA, OREG_FLEX, OREGS };

extern const struct oafile oabasic;
/* sources/oa/oabasic.c: a counter of the built-in sets. Bit i of families is set if the built-in
 * set of oafamilies[i] has this counter. */
struct oabasic_row {
	u8 families;
	bool is_float;
	u8 units, max; /* indexes in oabasic_units[] and oabasic_max[] */
	const char *name, *equation;
};

struct oafamily {
	char name[6], guid[37];
	const char *format;
	const u32 (*regs[OREGS])[2];
	u8 nregs[OREGS];
};

extern const char oabasic_units[][9];
extern const char *const oabasic_max[]; /* equation of a counter's maximum; NULL if it has none */
/* Returns true if the word of an equation is an abbreviation of oabasic.c, and stores in *rest the
 * equation text that replaces it. */
bool oabasic_expand(struct str word, struct str *rest);
extern const struct oabasic_row oabasic_rows[];
extern const size_t noabasic_rows;
extern const struct oafamily oafamilies[];
extern const size_t noafamilies;
extern const struct oafile oapack; /* the built-in pack of metric sets; it may be empty */

/* Returns true if the text is a pack, or complete and well-formed metric XML. Stores the text and
 * its origin (OM_PACK or OM_XML) in *f. */
bool oafile_detect(struct oafile *f, struct str text);
/* Store the next set of a file in *s, or the next counter of a set in *c; return false at the end.
 * *at is the position in the file or the set, and must be { 0 } at the first call. */
bool oaset_next(const struct oafile *f, struct str *at, struct oaset *s);
bool oadef_next(const struct oaset *s, struct str *at, struct oadef *c);
/* Returns true if the metric set is for platform p; false if p is NULL. */
bool oaset_fits(const struct oaset *s, const struct oaplatform *p);
/* Stores in regs the addresses and values of those registers of one type (enum oaregs) that the
 * metric set requires on device d. Returns their number, -E2BIG if there are more than cap, or
 * -EINVAL if a register or its condition is malformed. */
long oaset_regs(const struct oaset *s, const struct oadevice *d, u8 type, u32 (*regs)[2],
		size_t cap);

/* The state of writing a pack, whose format is described in oametrics.c. In a pack of all public
 * metric files, 874 sets take 15 KB and 10 758 heap entries take 496 KB; the longest entry has
 * 1 026 bytes. */
struct oapacker {
	/* The finished pack is the bytes of list, heap and sets, one after the other. While the
	 * pack is written, list collects a list of counters or register configs, part one element
	 * of that list, and code one equation of that element. */
	struct buf list, heap, sets, part, code;
	/* Hash table of the heap's entries: 1 + the offset of an entry in the heap; 0 if the slot
	 * is free. At most half of the slots are used. */
	u32 hashes[1 << 16];
	u32 used;
	/* Memory of these buffers, and of one for a set. part_b has room for 8 000 registers. */
	char set_b[64], list_b[1 << 14], code_b[1 << 14], part_b[1 << 16];
	char sets_b[1 << 17];
};

/* Packs all metric sets of n files; the pack is then in p->list, p->heap and p->sets. heap is the
 * buffer for p->heap, the largest part. Returns false, with the reason in why, if a set cannot be
 * packed or a buffer is full. */
bool oapack_make(struct oapacker *p, struct buf heap, const struct oafile *files, size_t n,
		 struct buf *why);

enum { MAX_OA_COUNTERS = 256, MAX_OA_CODE = 16384 };

union oaval {
	u64 u;
	double f;
};

/* A counter of a compiled metric set. */
struct oacounter {
	struct str name, units, description;
	bool is_float, wanted;
	bool has_max;
	/* private: this counter, or a counter that refers to it, is wanted */
	bool evaluated;
	struct oacode {
		u16 from, to; /* first instruction, and the one after the last, in oaprog.code */
	/* private: compiled equations of the value and of the maximum */
	} code, max;
	/* private: bit i is set if an equation of this counter refers to counters[i] */
	u64 needs[MAX_OA_COUNTERS / 64];
	/* Bit i is set if the equation needs the variable i (enum oavar), and the value of that
	 * variable is unknown. 0 if the counter can be computed. */
	u32 unknown;
};

/* An instruction of the stack machine that evaluates equations. src says where the right operand
 * is: in k, or in the slot or counter with number arg, or on the stack. */
struct oains {
	u8 op, src;
	u16 arg;
	union oaval k;
};

/* A metric set compiled for a device, without the counters that the device does not have. */
struct oaprog {
	u32 n;
	u32 bad; /* number of counters left out because they are malformed */
	struct oacounter counters[MAX_OA_COUNTERS];
	struct oains code[MAX_OA_CODE];
	/* true for each slot of a sum (OA_TIME, ...) that the wanted counters read */
	bool slots[OA_SLOTS];
};

/* Compiles metric set s for device d. Returns false if the set has too many counters. Appends this
 * error, or that of the first malformed counter, to why. */
bool oaprog_compile(struct oaprog *p, const struct oaset *s, const struct oadevice *d,
		    struct buf *why);
/* Makes oaprog_eval() compute only the counters i with counters[i] true, and those that they refer
 * to. NULL selects all counters, which is the default. */
void oaprog_select(struct oaprog *p, const bool *counters);
/* Computes the counters from sum, which has the summed differences of reports by slot, and stores
 * their values in v[p->n]. Values of counters that are not wanted may stay unchanged; values of
 * counters that need an unknown variable have no meaning. */
void oaprog_eval(const struct oaprog *p, const u64 *sum, union oaval *v);
/* Stores the maximum of the wanted counter i in *max, in the counter's own type. v is the result of
 * oaprog_eval() for the same sum. Returns false if the metric set defines no maximum, or if it
 * needs an unknown variable. */
bool oaprog_max(const struct oaprog *p, size_t i, const u64 *sum, const union oaval *v,
		union oaval *max);

/* --- sources/oa/oastream.c: OA streams of i915 and xe ----------------------------------------- */

/* Properties of an OA stream, except its metric set. */
struct oaprops {
	const struct oaformat *format; /* NULL: the default of the metric set or of the platform */
	u64 period;                    /* ns between two reports; 0: chosen from interval */
	i64 interval;                  /* ns between two outputs; 0 if there is no interval */
	bool has_ctx, has_engine, hold, has_sseu, has_unit;
	/* number of a GEM context (i915) or exec queue (xe) that belongs to oalive.drm */
	u64 ctx;
	u16 engine_class, engine_instance;
	u64 slices, subslices;         /* masks of option --sseu */
	u16 min_eus, max_eus;
	/* i915: ns between two checks for new reports; 0: the kernel's default */
	u64 poll_ns;
	u64 unit;                      /* xe: number of the OA unit */
	u64 buffer;                    /* xe: bytes of the OA buffer; 0: the kernel's default */
	/* xe: reports in the buffer before the kernel wakes the reader; 0: the kernel's default */
	u32 wait_reports;
};

enum { TOPOLOGY_BYTES = 8192 };

/* An open device and its stream of OA reports or of EU stall samples. */
struct oalive {
	struct oadevice dev;
	u32 device;                    /* index in devices[] */
	/* descriptors of the DRM node and of the stream; -1 if not open */
	int drm, fd;
	u32 revision;                  /* revision of i915's perf interface */
	const struct oaformat *format;
	i32 exponent;
	const struct stallformat *stalls; /* layout of EU stall samples */
	/* ns between two reports, or GPU clocks between two EU stall samples */
	u64 period;
	/* bytes of the OA buffer, or of each core's buffer of EU stall samples */
	u64 buffer;
	u64 min_hz, max_hz;
	u64 set;                       /* the kernel's number of the metric set */
	/* this process registered the set with the kernel, and has to remove it */
	bool added;
	u64 unit;
	/* topology in the layout of DRM_I915_QUERY, written to recordings */
	char topology[TOPOLOGY_BYTES];
	size_t topology_n;
	/* error message of the function that failed, or NULL; its fix, or NULL */
	const char *what, *remedy;
};

long oa_attach(struct oalive *l, u32 device);
/* These two functions read from sysfs which metric sets are registered with the kernel.
 * oa_has_set() stores the kernel's number of one set in *id; oa_each_registered() calls found() for
 * each set. */
bool oa_has_set(const struct device *d, struct str guid, u64 *id);
void oa_each_registered(const struct device *d, void (*found)(struct str guid, u64 id));
/* Registers metric set s if the kernel does not have it, and opens the OA stream. Returns 0, or
 * -errno with what and remedy. */
long oa_start(struct oalive *l, const struct oaset *s, const struct oaprops *p);
/* A buffer of OA_BYTES_MIN bytes or more that all streams share. It can be used after oa_attach()
 * returned 0. Each call of a function of oastream.c may overwrite it. */
enum { OA_BYTES_MIN = 64 << 10 };
extern char *oa_bytes;
extern struct table oa_bytes_table;
/* Reads whole OA records into b, in the layout of i915, also if the driver is xe. cap must be
 * OA_BYTES_MIN or more. Returns the number of bytes, 0 if there is nothing to read now, or -errno
 * with what and remedy. */
long oa_read(struct oalive *l, char *b, size_t cap);
bool oa_correlate(const struct oalive *l, u64 *cpu_ns, u64 *gpu_ts);
void oa_stop(struct oalive *l);

/* Properties of a stream of EU stall samples. */
struct stallprops {
	u64 cycles;       /* GPU clocks between two samples; 0: the driver's default */
	u64 gt;
	/* samples in the buffer before the kernel wakes the reader; 0: chosen from the buffer's
	 * size */
	u32 wait_reports;
};

/* Opens a device and its stream of EU stall samples. After success, oa_bytes can be used. oa_stop()
 * closes the stream and the device, and may be called after a failure, too. */
long stalls_start(struct oalive *l, u32 device, const struct stallprops *p);
long stalls_read(struct oalive *l, char *b, size_t cap);

#endif
