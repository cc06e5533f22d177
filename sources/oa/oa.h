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

struct table; /* defined in sources/os/os.h */

/* --- sources/oa/oadevice.c: GPU platforms, and variables ($NAME) of OA equations -------------- */

/* Variables ("$NAME") that the equations of OA counters use. oadevice.c has the names that they
 * have in the XML files of metric sets. */
enum oavar {
	/* Variables that are properties of the GPU, such as its number of EUs. None of them can be
	 * 0: the value 0 means that the property is unknown. */
	OV_EUS, OV_SLICES, OV_SUBSLICES, OV_TS_HZ, OV_MAX_HZ,
	OV_THREADS, OV_SQIDI, OV_L3_BANK, OV_L3_NODE, OV_GEOMETRY_PIPE, OV_DEPTH_PIPE,
	OV_COLOR_PIPE, OV_COMPUTE_ENGINE, OV_COPY_ENGINE,
	OV_CS_HZ,       /* frequency in Hz of the command streamer's clock */
	OV_VERSION,     /* version of the graphics IP times 100: 2004 is version 20.04 */
	OV_NUMBERS,
	OV_SLICE_MASK = OV_NUMBERS, OV_SUBSLICE_MASK, OV_XECORE_MASK, OV_REVISION, OV_QUERY_MODE,
	OV_GT_SLICE,    /* $GtSliceN: 1 if the GPU has slice N, else 0; the index is N */
	/* $GtSliceNXeCoreM: 1 if slice N has core M, else 0; the index is N * 4 + M */
	OV_GT_XECORE,
	/* $GtXeCoreN: 1 if the GPU has core N, counted across all slices, else 0; the index is N */
	OV_XECORE,
	OV_COUNT
};

/* Families of GPU platforms. Each family has one built-in metric set and one default report
 * format. */
enum oafam { OF_HSW, OF_GEN8, OF_GEN9, OF_GEN11, OF_GEN12, OF_XEHP, OF_XE2 };

/* A GPU platform: all GPUs that use the same metric sets. The members threads and ts_hz are 0 if
 * they are unknown. */
struct oaplatform {
	/* name of the platform in lower case: the chipset in the XML files of metric sets
	 * ("sklgt2"), or the family of a GPU whose PCI id is unknown ("xe2") */
	char name[7];
	u8 family;     /* enum oafam */
	u16 gen;       /* graphics generation times 100 */
	bool xe;       /* true if only the driver xe supports the platform, not i915 */
	u8 threads;    /* number of threads per EU */
	/* log2(clock of the OA unit / clock of the command streamer), both in Hz; used if the
	 * driver does not report both clocks */
	u8 ts_shift;
	/* frequency of the OA unit's clock in Hz, for drivers and recordings that do not report
	 * it */
	u32 ts_hz;
};

extern const struct oaplatform oaplatforms[];
extern const size_t noaplatforms;

/* A GPU: its platform, topology and equation variables, from its driver or an OA recording. */
struct oadevice {
	const struct oaplatform *platform; /* platform of the GPU; NULL if unknown */
	u32 pci;
	bool xe;                           /* true if the GPU's driver is xe, false if i915 */
	/* values of the equation variables that have no index; the subscript is an enum oavar */
	u64 var[OV_COUNT];
	/* bit mask of the slices that the GPU has, for the variables $GtSliceN */
	u64 slices;
	/* bit mask of the subslices that the GPU has, 4 bits per slice, for $GtSliceNXeCoreM */
	u64 cores;
	/* bit mask of the subslices that the GPU has, numbered across all slices, for $GtXeCoreN */
	u64 cores_all;
};

const struct oaplatform *oaplatform_by_pci(u32 pci);
const struct oaplatform *oaplatform_by_name(struct str name);
void oadevice_init(struct oadevice *d, u32 pci, const struct oaplatform *p);
bool oadevice_topology(struct oadevice *d, struct str query);
u8 oadevice_ts_shift(const struct oadevice *d);
/* The next four functions decode replies of the driver xe to the device queries GT_LIST,
 * GT_TOPOLOGY and HWCONFIG (DRM_IOCTL_XE_DEVICE_QUERY). */
void oadevice_gts(struct oadevice *d, struct str reply);
/* Stores the major version of the GT with this id, from a reply to GT_LIST, in *major; 0 means that
 * the GPU has no version register. Returns false if the reply has no such GT. */
bool oagt_version(struct str reply, u64 id, u16 *major);
void oadevice_masks(struct oadevice *d, struct str reply, u64 *subslices, u64 *eus);
void oadevice_hwconfig(struct oadevice *d, struct str reply);
/* put_oadevice() writes, and oadevice_read() reads, one record of an OA recording: a text with the
 * properties of a GPU, such as its threads per EU, that no other record contains. */
void put_oadevice(struct buf *b, const struct oadevice *d);
void oadevice_read(struct oadevice *d, struct str text);
bool oavar_find(struct str name, u8 *var, u8 *index);
bool oavar_value(const struct oadevice *d, u8 var, u8 index, u64 *value);
const char *oavar_name(unsigned var);

/* --- sources/oa/oametrics.c: metric sets (XML, packs, built-in), their equations -------------- */

enum oaorigin { OM_XML, OM_PACK, OM_BASIC /* OM_BASIC: tables of oabasic.c */ };

/* A source of metric sets: an XML file, a pack or the built-in tables. The text is mapped from a
 * file or static, and is never freed. */
struct oafile {
	struct str text;
	u8 origin; /* enum oaorigin */
};

struct oaset {
	/* file that defines the metric set; NULL if only the kernel knows the set */
	const struct oafile *file;
	/* XML attributes symbol_name and chipset; for a built-in set, chipset is the GPU family */
	struct str name, chipset;
	/* XML attribute oa_format: name of the OA report format; empty if missing */
	struct str format;
	/* GUID of the metric set in lower case; "" if it is missing or malformed */
	char guid[37];
	/* counters and registers of the set: the XML text, the bytes of the pack, or the row of the
	 * built-in table oafamilies[]; used only by oametrics.c */
	struct str body;
};

/* The definition of a counter in a metric set. Its equations are tokens (see struct oatoken) if the
 * set is from a pack, otherwise text. */
struct oadef {
	struct str name, units;
	bool is_float;
	/* equations of the value, of its maximum and of the condition under which the device has
	 * the counter; empty if the definition lacks them */
	struct str equation, max, available;
	/* text of the counter's description; empty if there is none, as in the built-in sets */
	struct str description;
};

/* Types of registers in a metric set; i915 names them mux, boolean and flex. */
enum oaregs { OREG_NOA, OREG_OA, OREG_FLEX, OREGS };

extern const struct oafile oabasic;
/* sources/oa/oabasic.c: a counter of the built-in sets. Bit i of families is set if the built-in
 * set of oafamilies[i] has this counter. */
struct oabasic_row {
	u8 families;
	bool is_float;
	/* units: index of the counter's unit in oabasic_units[]; max: index of the equation of its
	 * maximum in oabasic_max[] */
	u8 units, max;
	const char *name, *equation;
};

struct oafamily {
	char name[6], guid[37];
	const char *format;
	const u32 (*regs[OREGS])[2];
	u8 nregs[OREGS];
};

extern const char oabasic_units[][9];
/* Equations of the maximums of built-in counters; an element is NULL for counters that have no
 * maximum. */
extern const char *const oabasic_max[];
/* True if a word of an equation is an abbreviation, such as "%", which only the equations of
 * built-in counters have. Stores in *rest the text of the equation that replaces the
 * abbreviation. */
bool oabasic_expand(struct str word, struct str *rest);
extern const struct oabasic_row oabasic_rows[];
extern const size_t noabasic_rows;
extern const struct oafamily oafamilies[];
extern const size_t noafamilies;
/* the built-in pack (compact file) of metric sets; it may be empty */
extern const struct oafile oapack;

/* Returns true if the text is a pack, or complete and well-formed metric XML. Stores the text and
 * its origin (OM_PACK or OM_XML) in *f. */
bool oafile_detect(struct oafile *f, struct str text);
/* oaset_next() stores the next metric set of a file in *s, oadef_next() the next counter of a set
 * in *c. Both return false at the end. *at is the position in the file or set, and must be { 0 } at
 * the first call. */
bool oaset_next(const struct oafile *f, struct str *at, struct oaset *s);
bool oadef_next(const struct oaset *s, struct str *at, struct oadef *c);
/* Returns true if the metric set is for platform p; false if p is NULL. */
bool oaset_fits(const struct oaset *s, const struct oaplatform *p);
/* Stores in regs the address and the value of each register of one type (enum oaregs) that the
 * metric set requires on device d. Returns the number of registers, -E2BIG if there are more than
 * cap, or -EINVAL if a register or its condition is malformed. */
long oaset_regs(const struct oaset *s, const struct oadevice *d, u8 type, u32 (*regs)[2],
		size_t cap);

/* State of the writer of a pack, which is a compact file of metric sets (format: see oametrics.c).
 * In a pack of all public metric files, 874 sets take 15 KB and 10 758 heap entries take 496 KB;
 * the longest entry has 1 026 bytes. */
struct oapacker {
	/* The finished pack consists of the bytes of list (magic number, length of the heap), heap
	 * and sets, in this order. While the pack is written, list has the list of counters or of
	 * register configs of the current metric set, part has one counter or the registers of one
	 * config, and code has one equation. */
	struct buf list, heap, sets, part, code;
	/* Hash table of the pack's heap entries: 1 + the offset of an entry in the heap; 0 if the
	 * slot is free. At most half of the slots are used. */
	u32 hashes[1 << 16];
	u32 used;
	/* Memory of the buffers in this struct: list_b for list, code_b for code, part_b for part,
	 * sets_b for sets; set_b is for a local buffer with one metric set. The memory for heap is
	 * an argument of oapack_make(). part_b has room for 8 000 registers. */
	char set_b[64], list_b[1 << 14], code_b[1 << 14], part_b[1 << 16];
	char sets_b[1 << 17];
};

/* Packs all metric sets of n files; the pack is then in p->list, p->heap and p->sets. The buffer
 * heap supplies the memory for p->heap, the largest of these parts. Returns false, with the reason
 * in why, if a set cannot be packed or a buffer is full. */
bool oapack_make(struct oapacker *p, struct buf heap, const struct oafile *files, size_t n,
		 struct buf *why);

enum { MAX_OA_CODE = 16384 };

union oaval {
	u64 u;
	double f;
};

/* A counter of a compiled metric set. */
struct oacounter {
	struct str name, units, description;
	bool is_float, wanted;
	bool has_max;
	/* private: true if oaprog_eval() computes this counter: oaprog_select() selected it, or the
	 * equation of a selected counter refers to it */
	bool evaluated;
	struct oacode {
		/* from, to: index in oaprog.code of the first instruction of a compiled equation,
		 * and of the one after its last instruction */
		u16 from, to;
	/* private: the compiled equations of the counter's value (code) and of its maximum (max) */
	} code, max;
	/* private: bit i is set if an equation of this counter refers to counter i of the metric
	 * set */
	u64 needs[MAX_OA_COUNTERS / 64];
	/* Bit i is set if the counter's equation needs the variable i (enum oavar), and the value
	 * of that variable is unknown. 0 if the counter can be computed. */
	u32 unknown;
};

/* An instruction of the stack machine that evaluates equations. src says where the right operand
 * is: the constant k, a raw counter or a counter of the metric set (arg is its number), or the
 * stack. */
struct oains {
	u8 op, src;
	u16 arg;
	union oaval k;
};

/* A metric set compiled for a device, without the counters that the device does not have. */
struct oaprog {
	u32 n;
	u32 bad; /* number of malformed counters of the metric set, which are left out */
	struct oacounter counters[MAX_OA_COUNTERS];
	struct oains code[MAX_OA_CODE];
	/* slots[i]: true if the equation of a selected counter reads element i (OA_TIME, OA_CLOCK,
	 * ...) of the raw counters */
	bool slots[OA_SLOTS];
};

/* Compiles the equations of metric set s for device d. Returns false if the set has too many
 * counters. Appends to why an error message: for too many counters, or for the first malformed
 * counter. */
bool oaprog_compile(struct oaprog *p, const struct oaset *s, const struct oadevice *d,
		    struct buf *why);
/* Makes oaprog_eval() compute only the counters i for which counters[i] is true, and counters to
 * which their equations refer. NULL selects all counters, which is the default. */
void oaprog_select(struct oaprog *p, const bool *counters);
/* Computes the counters of a compiled metric set and stores their values in v[p->n]. sum has, for
 * each raw counter, the sum of its differences between reports. Values of counters that
 * oaprog_select() did not select may stay unchanged; values of counters that need an unknown
 * variable have no meaning. */
void oaprog_eval(const struct oaprog *p, const u64 *sum, union oaval *v);
/* Stores the maximum of the selected counter i in *max, as an integer or a double like the
 * counter's value. v has the values that oaprog_eval() computed from the same raw counters (sum).
 * Returns false if the metric set defines no maximum, or if the maximum needs an unknown
 * variable. */
bool oaprog_max(const struct oaprog *p, size_t i, const u64 *sum, const union oaval *v,
		union oaval *max);

/* --- sources/oa/oastream.c: OA streams of i915 and xe ----------------------------------------- */

/* Properties of an OA stream, except its metric set. */
struct oaprops {
	/* format of OA reports; NULL: the default of the metric set or platform */
	const struct oaformat *format;
	/* ns between two OA reports; 0: chosen by gpustat from the interval between two outputs */
	u64 period;
	/* ns between two outputs of gpustat; 0: output is not periodic */
	i64 interval;
	bool has_ctx, has_engine, hold, has_sseu, has_unit;
	/* number of the only GEM context (i915) or exec queue (xe) that is counted; it was created
	 * with the descriptor oalive.drm */
	u64 ctx;
	u16 engine_class, engine_instance;
	/* bit masks of the slices and subslices that option --sseu selects */
	u64 slices, subslices;
	u16 min_eus, max_eus;
	/* i915: ns between the kernel's checks for new reports; 0: the kernel's default */
	u64 poll_ns;
	u64 unit;                      /* xe: number of the OA unit that writes the reports */
	u64 buffer;                    /* xe: bytes of the OA buffer; 0: the kernel's default */
	/* xe: number of reports in the OA buffer at which the kernel wakes the reader; 0: the
	 * kernel's default */
	u32 wait_reports;
};

enum { TOPOLOGY_BYTES = 8192 };

/* An open device and its stream of OA reports or of EU stall samples. */
struct oalive {
	struct oadevice dev;
	u32 device;                    /* index in devices[] */
	/* descriptors of the DRM device node (drm) and of the stream (fd); -1 if not open */
	int drm, fd;
	u32 revision;                  /* revision of i915's perf interface */
	const struct oaformat *format;
	i32 exponent;
	const struct stallformat *stalls; /* layout of EU stall samples */
	/* period of the stream: ns between two OA reports, or GPU clocks between two EU stall
	 * samples */
	u64 period;
	/* size of the OA buffer, or of each core's buffer of EU stall samples, in bytes */
	u64 buffer;
	u64 min_hz, max_hz;
	u64 set;                       /* number by which the kernel identifies the metric set */
	/* true if this process registered the metric set with the kernel and must remove it */
	bool added;
	u64 unit;
	/* topology of the GPU in the layout of DRM_I915_QUERY, as OA recordings contain it */
	char topology[TOPOLOGY_BYTES];
	size_t topology_n;
	/* what: error message of the last call that failed, or NULL; remedy: how to fix it, or
	 * NULL */
	const char *what, *remedy;
};

long oa_attach(struct oalive *l, u32 device);
/* oa_has_set() and oa_each_registered() read from sysfs which metric sets are registered with the
 * kernel. oa_has_set() stores the kernel's number of one set in *id; oa_each_registered() calls
 * found() for each set. */
bool oa_has_set(const struct device *d, struct str guid, u64 *id);
void oa_each_registered(const struct device *d, void (*found)(struct str guid, u64 id));
/* Opens an OA stream for metric set s, which is registered with the kernel if necessary. Returns 0;
 * or -errno, with the error message in l->what and its fix in l->remedy. */
long oa_start(struct oalive *l, const struct oaset *s, const struct oaprops *p);
/* Buffer of OA_BYTES_MIN bytes or more, which all OA streams share. It can be used after
 * oa_attach() has returned 0. Each call of a function of oastream.c may overwrite it. */
enum { OA_BYTES_MIN = 64 << 10 };
extern char *oa_bytes;
extern struct table oa_bytes_table;
/* Reads whole OA records into b, in the layout of i915, also if the driver is xe. cap must be
 * OA_BYTES_MIN or more. Returns the number of bytes; 0 if there is nothing to read now; or -errno,
 * with the error message in l->what and its fix in l->remedy. */
long oa_read(struct oalive *l, char *b, size_t cap);
bool oa_correlate(const struct oalive *l, u64 *cpu_ns, u64 *gpu_ts);
void oa_stop(struct oalive *l);

/* Properties of a stream of EU stall samples. */
struct stallprops {
	u64 cycles;       /* GPU clocks between two EU stall samples; 0: the driver's default */
	u64 gt;
	/* number of EU stall samples in the buffer at which the kernel wakes the reader; 0: derived
	 * from the size of the buffer */
	u32 wait_reports;
};

/* Opens a device and its stream of EU stall samples. After success, the buffer oa_bytes can be
 * used. oa_stop() closes the stream and the device, and may also be called after a failure. */
long stalls_start(struct oalive *l, u32 device, const struct stallprops *p);
long stalls_read(struct oalive *l, char *b, size_t cap);

#endif
