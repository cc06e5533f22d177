/* perfstream.h - decoders of the kernel's binary records: perf rings, OA reports, OA records.
 * Pure: no system call, no state. Functions that are not declared here are static.
 * SPDX-License-Identifier: MIT */
#ifndef PERFSTREAM_H
#define PERFSTREAM_H

#include "base.h"

/* --- perfstream.c: the records of perf rings -------------------------------------------------- */

/* Constants of linux/perf_event.h under names of this program, because the header of the build
 * machine may be older than the kernel on which the program runs. PS_*: PERF_SAMPLE_*. */
enum {
	PS_IP = 1, PS_TID = 2, PS_TIME = 4, PS_ADDR = 8, PS_READ = 16, PS_CALLCHAIN = 32,
	PS_ID = 64, PS_CPU = 128, PS_PERIOD = 256, PS_STREAM_ID = 512, PS_RAW = 1 << 10,
	PS_BRANCH_STACK = 1 << 11, PS_REGS_USER = 1 << 12, PS_STACK_USER = 1 << 13,
	PS_WEIGHT = 1 << 14, PS_DATA_SRC = 1 << 15, PS_IDENTIFIER = 1 << 16,
	PS_TRANSACTION = 1 << 17, PS_REGS_INTR = 1 << 18, PS_PHYS_ADDR = 1 << 19, PS_AUX = 1 << 20,
	PS_CGROUP = 1 << 21, PS_DATA_PAGE_SIZE = 1 << 22, PS_CODE_PAGE_SIZE = 1 << 23,
	PS_WEIGHT_STRUCT = 1 << 24,
};
/* PF_*: bits of perf_event_attr.read_format */
enum { PF_ENABLED = 1, PF_RUNNING = 2, PF_ID = 4, PF_GROUP = 8, PF_LOST = 16 };
/* PB_*: bits of perf_event_attr.branch_sample_type */
enum { PB_HW_INDEX = 1 << 17, PB_COUNTERS = 1 << 19 };
enum { /* types of perf records */
	PR_MMAP = 1, PR_LOST, PR_COMM, PR_EXIT, PR_THROTTLE, PR_UNTHROTTLE, PR_FORK, PR_READ,
	PR_SAMPLE, PR_MMAP2, PR_AUX, PR_ITRACE_START, PR_LOST_SAMPLES, PR_SWITCH,
	PR_SWITCH_CPU_WIDE, PR_NAMESPACES, PR_KSYMBOL,
	PR_BPF_EVENT, PR_CGROUP, PR_TEXT_POKE,
	/* record type that occurs only in perf.data files, never in a ring buffer */
	PR_FINISHED_ROUND = 68,
};
enum { /* bits of the member misc in a record's header; its lowest three bits are enum pmode */
	/* In a COMM record: execve() set the name. In MMAP: the mapping is data, not code. In
	 * SWITCH: the task was switched out. */
	PM_EXEC = 1 << 13,
	/* In an MMAP2 record: it contains a build ID. In SWITCH: the task was preempted. */
	PM_BUILD_ID = 1 << 14,
};
enum pmode { PM_UNKNOWN, PM_KERNEL, PM_USER, PM_HV, PM_GUEST_KERNEL, PM_GUEST_USER, PM_MODES };

/* size in bytes of the longest perf record: its size field has 16 bits */
enum { PERF_RECORD_BYTES = 1 << 16 };

/* The fields of perf_event_attr on which the layout of the event's records depends. */
struct pformat {
	u64 sample_type, read_format, branch_type, regs_user, regs_intr;
	/* perf_event_attr.sample_id_all: each record that is not a sample ends with a struct
	 * sample_id */
	bool id_all;
	/* no event requests build IDs: then the bit PM_BUILD_ID in MMAP2 records has no meaning and
	 * is ignored */
	bool no_build_ids;
};

/* A decoded perf record. Its struct str members point into the bytes of the record. */
struct prec {
	struct str raw;
	u32 type;
	u16 misc;
	u8 mode;      /* enum pmode: CPU mode in which the record was written */
	u64 have;     /* PS_* bits of the members from pid to payload that the record contains */
	u32 pid, tid, cpu;
	u64 time, id, stream;
	u64 ip, addr, period, cgroup;
	struct str chain;  /* addresses of the callchain, to be read with chain_next() */
	struct str values; /* counts in a sample with PS_READ, to be read with values_next() */
	struct str payload; /* raw data of a sample with PS_RAW: the fields of a tracepoint */

	/* The members from here on belong to records other than samples. who and who_tid name the
	 * task that a record COMM, MMAP, FORK or EXIT describes; pid and tid may name another
	 * task. */
	u32 who, who_tid, parent, parent_tid;
	/* at: an address in records MMAP, KSYMBOL and TEXT_POKE; a time in ns in FORK, EXIT and
	 * THROTTLE; an offset in bytes in AUX */
	u64 at;
	/* len and pgoff: in MMAP, the number of bytes that are mapped, and their offset in the
	 * file; in TEXT_POKE, the lengths of the old and the new code. len: in KSYMBOL and AUX, a
	 * size in bytes; in NAMESPACES, the number of namespaces. */
	u64 len, pgoff;
	u64 ino, generation, lost;
	/* prot: protection of the mapping in MMAP2; type of the symbol in KSYMBOL */
	u32 major, minor, prot, flags;
	struct str name, build_id;
};

/* The data pages of a perf ring buffer. head: number of bytes that the kernel has written so far;
 * tail: number of bytes that were read or skipped so far; size: bytes of the data pages, a power of
 * two. */
struct ring {
	const char *p;
	u64 size, head, tail;
	/* number of times that all unread bytes of the ring buffer were skipped, because they did
	 * not begin with a valid record */
	u64 corrupt;
};

void ring_load(const struct ring *r, u64 at, char *to, size_t n);
size_t ring_size(const struct ring *r);
u32 ring_type(const struct ring *r);
bool ring_next(struct ring *r, char *scratch, struct str *rec);
u64 ring_time(const struct ring *r, const struct pformat *f);
size_t bit_count(u64 bits);
size_t sample_id_bytes(const struct pformat *f);
u64 prec_time(struct str rec, const struct pformat *f);
u64 prec_id(struct str rec, const struct pformat *f);
bool prec_decode(struct str rec, const struct pformat *f, struct prec *r);
struct str note_build_id(struct str notes, bool big, u8 align);
bool chain_next(struct str *chain, u8 *mode, u64 *ip);

/* The count of one perf event in a read or sample, and the times of its whole group. */
struct pvalue {
	u64 value, id, lost;
	u64 enabled, running; /* time_enabled and time_running in ns */
};

bool values_next(struct str values, u64 read_format, size_t *i, struct pvalue *v);

/* --- perfstream.c: OA reports ----------------------------------------------------------------- */

enum { MAX_OA_COUNTERS = 256 }; /* maximum number of counters of a metric set */

/* Slots: indexes in an array of sums of raw OA counters, which has OA_SLOTS elements. An
 * instruction READ of an equation names a slot. OA_TIME is the timestamp, OA_CLOCK the ticks of the
 * GPU's clock. The A counters start at OA_A, the B counters at OA_B, the C counters at OA_C. Some
 * report formats have counters M0... or PEC0... in the slots of A0... */
enum { OA_TIME, OA_CLOCK, OA_A, OA_B = OA_A + 64, OA_C = OA_B + 8, OA_SLOTS = OA_C + 8 };

/* Width of a counter in an OA report: 32, 40 or 64 bits. A counter of 40 bits (OW_U40) is split:
 * its 32 low bits are at one offset in the report, its high byte at another. */
enum oawidth { OW_U32, OW_U40, OW_U64 };

/* A run: n counters that are adjacent in an OA report and have consecutive slots (OA_*). */
struct oarun {
	/* slot: slot of the first counter; n: number of counters; width: enum oawidth */
	u8 slot, n, width;
	/* only with OW_U40: offset in bytes in the report of the first counter's high byte */
	u8 high;
	u16 at;            /* offset in bytes in the report of the first counter */
};

enum oahead {
	/* an OA report begins with id and timestamp of 32 bits each, and has no tick counter */
	OH_GEN7,
	OH_GEN8, /* an OA report begins with id, timestamp, context and ticks, of 32 bits each */
	OH_WIDE, /* an OA report begins with id, timestamp, context and ticks, of 64 bits each */
};

enum { OA_REPORT_BYTES = 640 /* size in bytes of the longest OA report */ };

/* A format of OA reports: a value of enum drm_i915_oa_format, a format of xe, or both. */
struct oaformat {
	const char *name;  /* name of the OA report format, for example "A32u40_A4u32_B8_C8" */
	/* name of the format in metric files (attribute oa_format); NULL if no file has it */
	const char *xml;
	char letter[4]; /* letters in the names of the counters in the A slots: "A", "M" or "PEC" */
	/* size in bytes of a report as the kernel writes it; recordings may have shorter ones, see
	 * oaplan.bytes */
	u16 size;
	u8 head;           /* enum oahead: layout of the report's header */
	/* number of the format in the interface of i915; 0: i915 does not have the format */
	u8 i915;
	/* number of the format in recordings of xe's OA streams; 0: no recording has the format */
	u8 recorded;
	bool has_xe;
	u8 nruns;
	/* number of the format in the driver xe, the property DRM_XE_OA_PROPERTY_OA_FORMAT: format
	 * type | counter select << 8 | counter size << 16 | BC report << 24 */
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

/* The decoded header of an OA report. */
struct oareport {
	u64 id, ts, ctx, ticks;
	/* frequencies of the GPU's unslice and slice clocks in Hz; 0 before gen8 */
	u64 unslice_hz, slice_hz;
	u8 reason;                /* enum oareason: why the OA unit wrote the report */
	/* true if ctx is valid; false on gen7, and if the report marks its context id as invalid */
	bool has_ctx;
	bool has_ticks;
};

/* Decodes the header of an OA report into *r. gen: version of the graphics hardware, major.minor
 * times 100: 750 is Haswell (7.5), 800 Broadwell, 1255 DG2 (12.55), 1270 Meteor Lake, 2004 Lunar
 * Lake (20.04). exponent: exponent of the OA timer's period, which only gen7 needs; -1: unknown. */
void oareport_head(const struct oaformat *f, u16 gen, i32 exponent, const char *report,
		   struct oareport *r);

u64 oa_ts_delta(const struct oaformat *f, u64 from, u64 to);

/* Result of comparing the ids and timestamps of two consecutive OA reports: whether the differences
 * of their counters are known. */
enum oastep {
	STEP_KNOWN,     /* the differences of the counters are known */
	/* the GPU has not written the later report yet: its id and its timestamp are 0 */
	STEP_UNWRITTEN,
	/* the later timestamp is before the earlier one (modulo the range of timestamps, the
	 * difference is more than half of this range) */
	STEP_BACKWARD,
	/* the timestamps differ by more than oa_longest() ticks: a counter may have increased by
	 * more than its range */
	STEP_GAP,
	OA_STEPS
};

/* Returns the longest time between two OA reports, in ticks of the timestamp, for which the
 * differences of their counters are unambiguous: no counter can increase by its whole range. ts_hz:
 * frequency of the timestamp; max_hz: highest clock of the GPU; 0: unknown. */
u64 oa_longest(const struct oaformat *f, u64 ts_hz, u64 max_hz);
/* Compares the consecutive OA reports a and b, and returns an enum oastep. a is NULL if no report
 * precedes b. longest: the result of oa_longest(). */
u8 oa_step(const struct oaformat *f, const char *a, const char *b, u64 longest);

/* A plan for reading OA reports: which counters of a report format are read, all of them or those
 * in selected slots. */
struct oaplan {
	const struct oaformat *format;
	/* smallest number of bytes of a report, which includes the last counter of the format: a
	 * report in a recording may be shorter than the kernel's by the padding at its end */
	u16 bytes;
	u8 nparts;
	struct oapart {
		/* a part of the run of counters format->runs[run]: the counters number `from` to
		 * `to` - 1 of this run are read */
		u8 run, from, to;
	} parts[OA_SLOTS];
};

void oaplan_make(struct oaplan *p, const struct oaformat *f, const bool *slots);
/* Adds the difference of each counter of the plan from report a to report b to its slot in sum[]. A
 * difference is modulo the width of the counter, so one wrap is allowed. */
void oa_add(const struct oaplan *p, const char *a, const char *b, u64 *sum);
/* Stores the raw values of one OA report in the slots of v[]: its counters, timestamp and ticks.
 * Slots without a value are set to 0. */
void oa_raw_values(const struct oaplan *p, const char *report, u64 *v);
/* Appends the name of the counter in the slot, for example "A7", "PEC3" or "B0". Returns false if
 * the report format has no counter in this slot. */
bool oaslot_name(const struct oaformat *f, size_t slot, struct buf *b);

/* State of a filter for the OA reports of one context on gen8 to gen11. oafilter_match() returns
 * true if the difference between the previous report and this one belongs to the context, even if
 * this report has another or an invalid context. The caller sets ctx, or sets `any` to match every
 * valid context, and clears `last` when reports were lost. */
struct oafilter {
	u64 ctx;
	bool any;
	bool last; /* the previous report belonged to the GPU context ctx */
};

bool oafilter_match(struct oafilter *f, const struct oareport *r);

/* Types of the records in an OA stream or in a recording of one. */
enum oatype {
	OT_SAMPLE, OT_REPORT_LOST, OT_BUFFER_LOST, OT_VERSION, OT_INFO, OT_TOPOLOGY, OT_CORRELATION,
	/* samples of EU stalls, and the loss of such samples: these records occur only in
	 * recordings */
	OT_STALLS, OT_STALLS_LOST,
	/* properties of the GPU, such as its number of EUs, as put_oadevice() writes them; only in
	 * recordings by gpustat */
	OT_NUMBERS,
	OT_UNKNOWN, /* a record type that this program does not know: the record is skipped */
	OT_CORRUPT, /* a record with an invalid size: no bytes after it can be decoded */
};

struct oarec {
	u8 type;         /* enum oatype: type of the record */
	u32 number;      /* number of the record's type, as its header contains it */
	struct str body; /* the bytes of the record after its header */
};

/* Stores the next record of an OA stream in *r and moves *bytes past it. Returns false and leaves
 * *bytes unchanged if the record is incomplete. xe: true if the record types have the numbers of
 * xe, false if those of i915. */
bool oarec_next(struct str *bytes, bool xe, struct oarec *r);
/* Returns true if the bytes are the start of a recording of an OA stream. Sets *xe to true if xe is
 * the driver that was recorded, to false if i915 is. */
bool oarec_is_recording(struct str bytes, bool *xe);

/* The content of a DEVICE_INFO record of a recording: the GPU and the metric set that was
 * recorded. */
struct oainfo {
	u64 ts_hz;
	u32 pci, revision, min_hz, max_hz, engine_class, engine_instance, format;
	/* name and GUID of the metric set, without the NUL after each of them */
	struct str set, guid;
};

bool oarec_version(struct str body, u32 *version);
bool oarec_info(struct str body, struct oainfo *i);
bool oarec_correlation(struct str body, u64 *cpu_ns, u64 *gpu_ts);
/* Decodes the body of an OT_STALLS or OT_STALLS_LOST record of a recording. Stores in *ns the time
 * of CLOCK_MONOTONIC in ns at which the samples were read, and in *samples the bytes after this
 * time. Returns false if the body is too short. */
bool oarec_stalls(struct str body, u64 *ns, struct str *samples);
void put_oarec(struct buf *b, bool xe, u8 type, struct str body);
void put_oainfo(struct buf *b, const struct oainfo *i);
/* Returns the time of the CPU clock in ns that corresponds to the timestamp ts of an OA report.
 * cpu_ns and gpu_ts are simultaneous readings of the CPU's and the GPU's clock (a CORRELATION
 * record); gpu_ts must be shifted left by `shift` bits to have the unit of ts. */
u64 oa_cpu_time(const struct oaformat *f, u64 cpu_ns, u64 gpu_ts, u8 shift, u64 ts_hz, u64 ts);

/* --- samples of EU stalls of xe --------------------------------------------------------------- */

/* Reasons in an EU stall sample. Each sample of an EU adds to ST_ACTIVE if the EU executes, or to
 * each reason why one of its threads waits. The source of their meaning is Mesa's
 * src/intel/tools/intel_monitor_main.c. */
enum stallreason {
	ST_ACTIVE, ST_TDR, ST_OTHER, ST_CONTROL, ST_PIPESTALL, ST_SEND, ST_DIST_ACC, ST_SBID,
	ST_SYNC, ST_INST_FETCH,
	STALL_REASONS
};

extern const char *const stallreason_names[STALL_REASONS];

enum { STALL_BYTES = 64 /* size in bytes of an EU stall sample, the same on all GPUs */ };

/* A layout of the EU stall samples that xe returns. */
struct stallformat {
	u8 version;           /* lowest version of the graphics IP that has this layout */
	/* number of bits of the instruction address, which begins at bit 0 of the sample and has
	 * the unit 8 bytes */
	u8 address_bits;
	/* for each reason: number of the first bit of its 8-bit count in the sample; 0 if the
	 * layout does not have the reason */
	u8 at[STALL_REASONS];
};

/* A decoded EU stall sample: how often each reason occurred at one instruction, on all EUs of a
 * core, since the previous sample. */
struct stall {
	u64 ip; /* address of the instruction in bytes */
	u8 counts[STALL_REASONS];
};

const struct stallformat *stallformat_of(u32 version);
/* Decodes the next EU stall sample into *s and moves *samples past it. Returns false and leaves
 * *samples unchanged if no complete sample is left. */
bool stall_next(const struct stallformat *f, struct str *samples, struct stall *s);

/* --- counter streams of msm ------------------------------------------------------------------- */

enum {
	/* size in bytes of the header of a record of the driver msm, which its counters follow */
	CNTREC_HEAD = 16,
	CNTREC_MOST = 32, /* largest number of counters in a record of the driver msm */
};

/* Sums of the counters in a stream of records of the driver msm. The caller sets seqno to
 * UINT32_MAX before the first record. */
struct cntsum {
	u32 n, seqno; /* n: number of counters; seqno: sequence number of the last record */
	u64 was[CNTREC_MOST];  /* values of the counters in the previous record */
	u64 sum[CNTREC_MOST];
};

void cntrec_add(struct cntsum *s, struct str record);

#endif
