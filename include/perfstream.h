/* perfstream.h - decoders of the kernel's binary records: perf rings, OA reports, OA records.
 * Pure: no system call, no state. Functions that are not declared here are static.
 * SPDX-License-Identifier: MIT */
#ifndef PERFSTREAM_H
#define PERFSTREAM_H

#include "base.h"

/* --- perfstream.c: the records of perf rings -------------------------------------------------- */

/* Constants of linux/perf_event.h: the build machine's copy may be older than the running
 * kernel. */
enum {
	PS_IP = 1, PS_TID = 2, PS_TIME = 4, PS_ADDR = 8, PS_READ = 16, PS_CALLCHAIN = 32,
	PS_ID = 64, PS_CPU = 128, PS_PERIOD = 256, PS_STREAM_ID = 512, PS_RAW = 1 << 10,
	PS_BRANCH_STACK = 1 << 11, PS_REGS_USER = 1 << 12, PS_STACK_USER = 1 << 13,
	PS_WEIGHT = 1 << 14, PS_DATA_SRC = 1 << 15, PS_IDENTIFIER = 1 << 16,
	PS_TRANSACTION = 1 << 17, PS_REGS_INTR = 1 << 18, PS_PHYS_ADDR = 1 << 19, PS_AUX = 1 << 20,
	PS_CGROUP = 1 << 21, PS_DATA_PAGE_SIZE = 1 << 22, PS_CODE_PAGE_SIZE = 1 << 23,
	PS_WEIGHT_STRUCT = 1 << 24,
};
/* bits of perf_event_attr.read_format */
enum { PF_ENABLED = 1, PF_RUNNING = 2, PF_ID = 4, PF_GROUP = 8, PF_LOST = 16 };
/* bits of perf_event_attr.branch_sample_type */
enum { PB_HW_INDEX = 1 << 17, PB_COUNTERS = 1 << 19 };
enum { /* types of perf records */
	PR_MMAP = 1, PR_LOST, PR_COMM, PR_EXIT, PR_THROTTLE, PR_UNTHROTTLE, PR_FORK, PR_READ,
	PR_SAMPLE, PR_MMAP2, PR_AUX, PR_ITRACE_START, PR_LOST_SAMPLES, PR_SWITCH,
	PR_SWITCH_CPU_WIDE, PR_NAMESPACES, PR_KSYMBOL,
	PR_BPF_EVENT, PR_CGROUP, PR_TEXT_POKE,
	PR_FINISHED_ROUND = 68, /* only in files perf.data, not in rings */
};
enum { /* bits of misc in the header of a record; its lowest three bits are enum pmode */
	/* PR_COMM: the name was set by execve; PR_MMAP: data, not code; PR_SWITCH: switched out */
	PM_EXEC = 1 << 13,
	/* PR_MMAP2: the record has a build ID; PR_SWITCH: the task was preempted */
	PM_BUILD_ID = 1 << 14,
};
enum pmode { PM_UNKNOWN, PM_KERNEL, PM_USER, PM_HV, PM_GUEST_KERNEL, PM_GUEST_USER, PM_MODES };

enum { PERF_RECORD_BYTES = 1 << 16 }; /* the longest record: its size field has 16 bits */

/* The fields of perf_event_attr that determine the layout of records. */
struct pformat {
	u64 sample_type, read_format, branch_type, regs_user, regs_intr;
	bool id_all; /* sample_id_all: every record ends with a struct sample_id */
	bool no_build_ids; /* MMAP2 never has a build ID, whatever its misc says */
};

/* A decoded record. Its views point into the bytes of the record. */
struct prec {
	struct str raw;
	u32 type;
	u16 misc;
	u8 mode;      /* enum pmode */
	u64 have;     /* PS_* bits: which of the members up to the blank line are set */
	u32 pid, tid, cpu;
	u64 time, id, stream;
	u64 ip, addr, period, cgroup;
	struct str chain;  /* the callchain, for chain_next() */
	struct str values; /* the counts of a read, for values_next() */
	struct str payload; /* with PS_RAW: the fields of a tracepoint */

	/* The members from here on are those of other records than samples. who is the task that a
	 * record COMM, MMAP, FORK, EXIT, ... describes; pid may be another task. */
	u32 who, who_tid, parent, parent_tid;
	/* by record type: MMAP, KSYMBOL, TEXT_POKE: address; FORK, EXIT, THROTTLE: time; AUX:
	 * offset */
	u64 at;
	/* bytes mapped, and offset in the file; NAMESPACES: len is the number of namespaces */
	u64 len, pgoff;
	u64 ino, generation, lost;
	u32 major, minor, prot, flags; /* KSYMBOL: prot is the type of the symbol */
	struct str name, build_id;
};

/* The data pages of a ring. head and tail count bytes since the ring's start; size is a power of
 * two. */
struct ring {
	const char *p;
	u64 size, head, tail;
	/* number of times that the rest of the ring was skipped, because it was not a valid
	 * record */
	u64 corrupt;
};

void ring_load(const struct ring *r, u64 at, char *to, size_t n);
size_t ring_size(const struct ring *r);
u32 ring_type(const struct ring *r);
bool ring_next(struct ring *r, char *scratch, struct str *rec);
bool ring_time(const struct ring *r, const struct pformat *f, u64 *time);
u64 prec_id(struct str rec, const struct pformat *f);
bool prec_decode(struct str rec, const struct pformat *f, struct prec *r);
struct str note_build_id(struct str notes, bool big, u8 align);
bool chain_next(struct str *chain, u8 *mode, u64 *ip);

/* The value of one counter, and the times of its whole group. */
struct pvalue {
	u64 value, id, lost;
	u64 enabled, running; /* time_enabled and time_running in ns */
};

bool values_next(struct str values, u64 read_format, size_t *i, struct pvalue *v);

/* --- perfstream.c: OA reports ----------------------------------------------------------------- */

/* The slots of a sum of reports, an array of OA_SLOTS values; the operation READ of an equation
 * names a slot. The A, B and C counters are in consecutive slots. In formats with another letter,
 * the counters in the A slots are named M0... or PEC0... */
enum { OA_TIME, OA_CLOCK, OA_A, OA_B = OA_A + 64, OA_C = OA_B + 8, OA_SLOTS = OA_C + 8 };

/* The width of a counter in a report. An OW_U40 has its 32 low bits in one place, and its high byte
 * in another. */
enum oawidth { OW_U32, OW_U40, OW_U64 };

/* A run: n counters that are consecutive in the report and in the slots. */
struct oarun {
	u8 slot, n, width; /* enum oawidth */
	u8 high;           /* OW_U40: offset of the first high byte in the report */
	u16 at;            /* offset of the first counter in the report */
};

enum oahead {
	OH_GEN7, /* a report begins with u32 id, timestamp; it has no ticks */
	OH_GEN8, /* a report begins with u32 id, timestamp, context, ticks */
	OH_WIDE, /* a report begins with u64 id, timestamp, context, ticks */
};

enum { OA_REPORT_BYTES = 640 /* size of the longest report */ };

/* A format of OA reports: one of enum drm_i915_oa_format, one of xe, or both. */
struct oaformat {
	const char *name;  /* for example "A32u40_A4u32_B8_C8" */
	const char *xml;   /* the name (oa_format) in metric files, or NULL */
	char letter[4];    /* letter of the counters in the A slots: "A", "M" or "PEC" */
	u16 size;          /* bytes of a report as the kernel writes it; see also oaplan.bytes */
	u8 head;           /* enum oahead */
	u8 i915;           /* number of the format in i915; 0: i915 does not have it */
	u8 recorded;       /* number of the format in recordings of xe; 0: none */
	bool has_xe;
	u8 nruns;
	/* value of DRM_XE_OA_PROPERTY_OA_FORMAT: type | select << 8 | size << 16 | bc << 24 */
	u32 xe;
	const struct oarun *runs;
};

extern const struct oaformat oaformats[];
extern const size_t noaformats;

const struct oaformat *oaformat_by_name(struct str name);
const struct oaformat *oaformat_by_number(bool xe, u32 number);

enum oareason {
	OA_UNKNOWN, OA_TIMER, OA_TRIGGER1, OA_TRIGGER2, OA_CONTEXT_SWITCH, OA_GO_TRANSITION,
	OA_CLOCK_RATIO, OA_MMIO,
	OA_REASONS
};

extern const char *const oareason_names[OA_REASONS];

/* The decoded header of a report. */
struct oareport {
	u64 id, ts, ctx, ticks;
	u64 unslice_hz, slice_hz; /* clocks in Hz, from gen8 on */
	u8 reason;                /* enum oareason */
	/* ctx is valid; false on gen7, and if the report marks it invalid */
	bool has_ctx;
	bool has_ticks;
};

/* Decodes a report's header. gen: the graphics generation times 100: 750 Haswell, 800, 900, ...
 * 1255 DG2, 1270 Meteor Lake, 2000, ... exponent: that of the period of the OA timer; -1: unknown
 * (only gen7 needs it). */
void oareport_head(const struct oaformat *f, u16 gen, i32 exponent, const char *report,
		   struct oareport *r);

u64 oa_ts_delta(const struct oaformat *f, u64 from, u64 to);

/* The step from one report to the next, as the id and the timestamps show it. */
enum oastep {
	STEP_KNOWN,     /* the difference of the counters is known */
	STEP_UNWRITTEN, /* the later report was not yet written: its id and its timestamp are 0 */
	STEP_BACKWARD,  /* the timestamp advances by more than half the range of timestamps */
	/* the timestamp advances by more than oa_longest(): counters may have wrapped */
	STEP_GAP,
	OA_STEPS
};

/* Returns the largest number of timestamp ticks between two reports at which their difference is
 * known. ts_hz: frequency of timestamps; max_hz: highest clock of the GPU; 0: unknown. */
u64 oa_longest(const struct oaformat *f, u64 ts_hz, u64 max_hz);
/* Compares the consecutive reports a and b; a is NULL if there is no report before b. longest: the
 * result of oa_longest(). Returns an enum oastep. */
u8 oa_step(const struct oaformat *f, const char *a, const char *b, u64 longest);

/* The counters of a format that are read: all, or those of the selected slots. */
struct oaplan {
	const struct oaformat *format;
	/* least size of a report: up to the last counter. Recordings may lack the padding after
	 * it */
	u16 bytes;
	u8 nparts;
	struct oapart {
		/* run: index in format->runs; the part has the counters `from` to `to` - 1 of that
		 * run */
		u8 run, from, to;
	} parts[OA_SLOTS];
};

void oaplan_make(struct oaplan *p, const struct oaformat *f, const bool *slots);
/* Adds to sum[] the difference of each counter from report a to report b, modulo the width of the
 * counter. */
void oa_add(const struct oaplan *p, const char *a, const char *b, u64 *sum);
/* Stores in v[] the counters of one report as they are, its timestamp and its ticks; 0 in the other
 * slots. */
void oa_raw_values(const struct oaplan *p, const char *report, u64 *v);
/* Appends the name of the counter in this slot of the format: "A7", "PEC3", "B0". Returns false if
 * the format has no counter in the slot. */
bool oaslot_name(const struct oaformat *f, size_t slot, struct buf *b);

/* State of the filter for one context on gen8 to gen11: oafilter_match() tells whether the
 * difference between two reports belongs to the context. The later report may have an invalid
 * context, or another one. The caller sets ctx, or `any` to match every valid context, and clears
 * `last` when reports are lost. */
struct oafilter {
	u64 ctx;
	bool any;
	bool last; /* the last report belonged to the context */
};

bool oafilter_match(struct oafilter *f, const struct oareport *r);

/* Types of the records in an OA stream or in a recording of one. */
enum oatype {
	OT_SAMPLE, OT_REPORT_LOST, OT_BUFFER_LOST, OT_VERSION, OT_INFO, OT_TOPOLOGY, OT_CORRELATION,
	OT_STALLS, OT_STALLS_LOST, /* samples of EU stalls, and their loss: only in recordings */
	/* numbers of the GPU, as put_oadevice() writes them; only in recordings of this program */
	OT_NUMBERS,
	OT_UNKNOWN, /* a type that this program does not know: the record is skipped */
	OT_CORRUPT, /* the record's size is invalid: nothing after it can be read */
};

struct oarec {
	u8 type;         /* enum oatype */
	u32 number;      /* the type as it is stored in the header */
	struct str body; /* the bytes after the header */
};

/* Stores the next record in *r and moves *bytes past it. Returns false, with *bytes unchanged, if
 * the record is incomplete. xe: the types have the numbers of xe. */
bool oarec_next(struct str *bytes, bool xe, struct oarec *r);
/* Returns true if the bytes are the beginning of a recording; sets *xe to true if it is a recording
 * of xe, to false if of i915. */
bool oarec_is_recording(struct str bytes, bool *xe);

/* The content of a record DEVICE_INFO: the GPU and the metric set of a recording. */
struct oainfo {
	u64 ts_hz;
	u32 pci, revision, min_hz, max_hz, engine_class, engine_instance, format;
	struct str set, guid; /* texts up to their NUL: name and GUID of the metric set */
};

bool oarec_version(struct str body, u32 *version);
bool oarec_info(struct str body, struct oainfo *i);
bool oarec_correlation(struct str body, u64 *cpu_ns, u64 *gpu_ts);
/* Reads the body of a record OT_STALLS or OT_STALLS_LOST. Stores in *ns when the samples were read,
 * in ns of CLOCK_MONOTONIC, and the bytes after that in *samples. */
bool oarec_stalls(struct str body, u64 *ns, struct str *samples);
void put_oarec(struct buf *b, bool xe, u8 type, struct str body);
void put_oainfo(struct buf *b, const struct oainfo *i);
/* Returns the time of the CPU clock in ns at the timestamp ts of a report. cpu_ns and gpu_ts are
 * the times of both clocks at one moment (a record CORRELATION); gpu_ts is shifted left by `shift`
 * bits to have the unit of timestamps. */
u64 oa_cpu_time(const struct oaformat *f, u64 cpu_ns, u64 gpu_ts, u8 shift, u64 ts_hz, u64 ts);

/* --- samples of EU stalls of xe --------------------------------------------------------------- */

/* A sample of an EU counts for ST_ACTIVE, or for each reason why some thread waits while the EU is
 * stalled. src/intel/tools/intel_monitor_main.c of Mesa explains them. */
enum stallreason {
	ST_ACTIVE, ST_TDR, ST_OTHER, ST_CONTROL, ST_PIPESTALL, ST_SEND, ST_DIST_ACC, ST_SBID,
	ST_SYNC, ST_INST_FETCH,
	STALL_REASONS
};

extern const char *const stallreason_names[STALL_REASONS];

enum { STALL_BYTES = 64 /* size of a sample, the same for all GPUs */ };

/* A layout of samples of EU stalls. */
struct stallformat {
	u8 version;           /* the first version of the graphics that has this layout */
	u8 address_bits;      /* bits of the address, which is at the start, in units of 8 bytes */
	u8 at[STALL_REASONS]; /* bit at which the 8-bit count of a reason begins; 0: none */
};

/* A decoded sample: counts at one instruction, of all EUs of a core, since its previous sample. */
struct stall {
	u64 ip; /* address of the instruction in bytes */
	u8 counts[STALL_REASONS];
};

const struct stallformat *stallformat_of(u32 version);
/* Decodes the next sample of an EU stall and moves *samples past it. Returns false, with *samples
 * unchanged, if no whole sample is left. */
bool stall_next(const struct stallformat *f, struct str *samples, struct stall *s);

/* --- counter streams of msm ------------------------------------------------------------------- */

enum {
	CNTREC_HEAD = 16, /* size of the head of a record, before the counters */
	CNTREC_MOST = 32, /* largest number of counters in a record */
};

/* The state of adding up the counters of a stream of msm. The caller sets seqno to UINT32_MAX
 * before the first record. */
struct cntsum {
	u32 n, seqno;          /* number of counters; seqno of the last record */
	u64 was[CNTREC_MOST];  /* values of the counters in the last record */
	u64 sum[CNTREC_MOST];
};

void cntrec_add(struct cntsum *s, struct str record);

#endif
