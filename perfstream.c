/* perfstream.c - decodes the kernel's binary records: perf rings, OA reports, OA records. Pure:
 * bytes in, values out.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"

static inline u16 load16(const char *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u32 load32(const char *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline u64 load64(const char *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Sets *first to the first n bytes of s. Returns false if s is shorter, or if n is negative, which
 * includes a u64 above INT64_MAX. The comparison of e with s.e is for a static prover: it knows the
 * length of s, but not where s begins. */
static bool str_first(struct str s, i64 n, struct str *first)
{
	const char *e;

	if (n < 0 || n > s.e - s.p)
		return false;
	e = s.p + n;
	if (s.e - e < 0)
		return false;
	*first = (struct str){ s.p, e };
	return true;
}

/* --- perf rings ---------------------------------------------------------------------------------
 * Layouts of records: linux/perf_event.h. The order of the fields of a sample is that of
 * perf_output_sample() in kernel/events/core.c; the header lists the last fields in another
 * order. */

/* Returns the address of byte `at` of a perf ring buffer; `at` counts all bytes that were ever
 * written, so it is taken modulo the size of the ring. Records and their 8-byte fields are aligned
 * to 8, so 8 bytes at this address never cross the end of the ring. */
static const char *ring_at(const struct ring *r, u64 at)
{
	return r->p + (size_t)(at & (r->size - 8));
}

/* Copies n bytes of the ring, from byte `at` on; at the end of the ring, copying continues at its
 * start. n and `at` are multiples of 8. */
void ring_load(const struct ring *r, u64 at, char *to, size_t n)
{
	for (const char *end = to + n; end - to >= 8; to += 8, at += 8)
		memcpy(to, ring_at(r, at), 8);
}

/* Returns the size of the next record in the ring; 0 if there is no record, or if its header is
 * invalid. */
size_t ring_size(const struct ring *r)
{
	u64 n = r->head - r->tail;
	u16 size;

	if (n < 8 || n > r->size || (r->size & (r->size - 1)) || r->tail % 8)
		return 0;
	size = load16(ring_at(r, r->tail) + 6);
	return size < 8 || size % 8 || size > n ? 0 : size;
}

/* Returns the type of the next record in the ring. The caller has checked that ring_size() is not
 * 0. */
u32 ring_type(const struct ring *r)
{
	return load32(ring_at(r, r->tail));
}

/* Stores the next whole record of the ring in *rec. If the record wraps at the end of the ring, it
 * is copied to the buffer `scratch`, which must have PERF_RECORD_BYTES bytes. Returns false if
 * there is no record. After an invalid header the next record cannot be found: the rest of the ring
 * is skipped, and r->corrupt is increased. */
bool ring_next(struct ring *r, char *scratch, struct str *rec)
{
	size_t n = ring_size(r);

	if (!n) {
		r->corrupt += r->tail != r->head;
		r->tail = r->head;
		return false;
	}
	if (!str_first((struct str){ ring_at(r, r->tail), r->p + (size_t)r->size }, (i64)n, rec)) {
		ring_load(r, r->tail, scratch, n);
		*rec = (struct str){ scratch, scratch + n };
	}
	r->tail += n;
	return true;
}

/* Returns the number of bits that are set in a mask. */
size_t bit_count(u64 bits)
{
	size_t n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

/* Returns the offset of the time in a perf record: in a sample, it is near the start; in other
 * records, at a fixed distance from the end. 0 if the record has no time. */
static size_t time_at(u32 type, size_t size, const struct pformat *f)
{
	size_t at;

	if (!(f->sample_type & PS_TIME) || (type != PR_SAMPLE && !f->id_all))
		return 0;
	if (type == PR_SAMPLE)
		return 8 + 8 * bit_count(f->sample_type & (PS_IDENTIFIER | PS_IP | PS_TID));
	at = 8 + 8 * bit_count(f->sample_type & (PS_ID | PS_STREAM_ID | PS_CPU | PS_IDENTIFIER));
	return size < 8 + at ? 0 : size - at;
}

/* Returns the time of a record of at least 8 bytes, which may belong to any event for which the
 * bits IDENTIFIER, IP, TID, TIME, ID, STREAM_ID and CPU of sample_type are as in *f. 0 for a record
 * without a time, so that the caller sorts it first. */
u64 prec_time(struct str rec, const struct pformat *f)
{
	size_t at = time_at(load32(rec.p), str_len(rec), f);

	return at && at + 8 <= str_len(rec) ? load64(rec.p + at) : 0;
}

/* Returns the time of the next record of the ring, as prec_time() does; 0 if there is none. */
u64 ring_time(const struct ring *r, const struct pformat *f)
{
	size_t n = ring_size(r), at = n ? time_at(ring_type(r), n, f) : 0;

	return at && at + 8 <= n ? load64(ring_at(r, r->tail + at)) : 0;
}

/* --- perf records ----------------------------------------------------------------------------- */

/* A read position in a perf record: s is the part of the record that was not read yet. After a read
 * beyond the end of the record, `truncated` is true, and this and all later reads return 0. */
struct cursor {
	struct str s;
	bool truncated;
};

static void cursor_truncate(struct cursor *c)
{
	c->truncated = true;
	c->s.p = c->s.e;
}

static struct str read_bytes(struct cursor *c, u64 n)
{
	struct str piece = { c->s.p, c->s.p };

	if (str_first(c->s, (i64)n, &piece))
		c->s.p = piece.e;
	else
		cursor_truncate(c);
	return piece;
}

static u64 read64(struct cursor *c)
{
	const char *p = c->s.p;

	if (c->s.e - p < 8) {
		cursor_truncate(c);
		return 0;
	}
	c->s.p = p + 8;
	return load64(p);
}

static u32 read32(struct cursor *c)
{
	const char *p = c->s.p;

	if (c->s.e - p < 4) {
		cursor_truncate(c);
		return 0;
	}
	c->s.p = p + 4;
	return load32(p);
}

static u32 read16(struct cursor *c)
{
	const char *p = c->s.p;

	if (c->s.e - p < 2) {
		cursor_truncate(c);
		return 0;
	}
	c->s.p = p + 2;
	return load16(p);
}

/* Reads an array of n entries, each of which has `each` bytes. */
static struct str read_array(struct cursor *c, u64 n, size_t each)
{
	return read_bytes(c, n > str_len(c->s) / each ? UINT64_MAX : n * each);
}

/* Reads the name at the end of a record, up to the first NUL, and skips the NULs that pad the
 * record. */
static struct str read_name(struct cursor *c)
{
	struct str name;

	str_cut(&c->s, '\0', &name);
	c->s.p = c->s.e;
	return name;
}

static struct str read_values(struct cursor *c, u64 format)
{
	const char *from = c->s.p;
	size_t times = bit_count(format & (PF_ENABLED | PF_RUNNING));
	size_t each = 1 + bit_count(format & (PF_ID | PF_LOST));

	if (format & PF_GROUP) {
		u64 n = read64(c);

		read_bytes(c, 8 * times);
		read_array(c, n, 8 * each);
	} else {
		read_bytes(c, 8 * (times + each));
	}
	return (struct str){ from, c->s.p };
}

static void skip_branches(struct cursor *c, u64 branch_type)
{
	u64 n = read64(c);

	if (branch_type & PB_HW_INDEX)
		read64(c);
	read_array(c, n, 24);
	if (branch_type & PB_COUNTERS)
		read_array(c, n, 8);
}

static void skip_regs(struct cursor *c, u64 mask)
{
	if (read64(c)) /* 0 is PERF_SAMPLE_REGS_ABI_NONE: no registers follow */
		read_bytes(c, 8 * bit_count(mask));
}

static void skip_stack(struct cursor *c)
{
	u64 n = read64(c);

	if (n) {
		read_bytes(c, n);
		/* after the bytes of the stack, skips the number of bytes that were really
		 * copied */
		read64(c);
	}
}

/* Reads the fields of a sample after the callchain. Fields that this program does not show are
 * skipped. */
static void read_after_callchain(struct cursor *c, const struct pformat *f, struct prec *r)
{
	u64 t = f->sample_type;

	if (t & PS_RAW)
		r->payload = read_bytes(c, read32(c));
	if (t & PS_BRANCH_STACK)
		skip_branches(c, f->branch_type);
	if (t & PS_REGS_USER)
		skip_regs(c, f->regs_user);
	if (t & PS_STACK_USER)
		skip_stack(c);
	if (t & (PS_WEIGHT | PS_WEIGHT_STRUCT))
		read64(c);
	read_bytes(c, 8 * bit_count(t & (PS_DATA_SRC | PS_TRANSACTION)));
	if (t & PS_REGS_INTR)
		skip_regs(c, f->regs_intr);
	read_bytes(c, 8 * bit_count(t & PS_PHYS_ADDR));
	r->cgroup = t & PS_CGROUP ? read64(c) : 0;
	read_bytes(c, 8 * bit_count(t & (PS_DATA_PAGE_SIZE | PS_CODE_PAGE_SIZE)));
	if (t & PS_AUX)
		read_bytes(c, read64(c));
}

/* Reads the fields that have the same order in samples and in struct sample_id. */
static void read_ids(struct cursor *c, u64 t, struct prec *r)
{
	if (t & PS_TID) {
		r->pid = read32(c);
		r->tid = read32(c);
	}
	if (t & PS_TIME)
		r->time = read64(c);
	if (t & PS_ADDR)
		r->addr = read64(c);
	if (t & PS_ID)
		r->id = read64(c);
	if (t & PS_STREAM_ID)
		r->stream = read64(c);
	if (t & PS_CPU) {
		r->cpu = read32(c);
		read32(c);
	}
}

static void read_sample_body(struct cursor *c, const struct pformat *f, struct prec *r)
{
	u64 t = f->sample_type;

	r->have = t;
	if (t & PS_IDENTIFIER)
		r->id = read64(c);
	if (t & PS_IP)
		r->ip = read64(c);
	read_ids(c, t, r);
	if (t & PS_PERIOD)
		r->period = read64(c);
	if (t & PS_READ)
		r->values = read_values(c, f->read_format);
	if (t & PS_CALLCHAIN)
		r->chain = read_array(c, read64(c), 8);
	read_after_callchain(c, f, r);
	r->who = r->pid;
	r->who_tid = r->tid;
}

/* Returns the fields of struct sample_id, which is at the end of every record that is not a sample,
 * if sample_id_all is set. */
static u64 sample_id_fields(const struct pformat *f)
{
	const u64 all = PS_TID | PS_TIME | PS_ID | PS_STREAM_ID | PS_CPU | PS_IDENTIFIER;

	return f->id_all ? f->sample_type & all : 0;
}

size_t sample_id_bytes(const struct pformat *f)
{
	return 8 * bit_count(sample_id_fields(f));
}

static void read_sample_id(struct cursor *c, const struct pformat *f, struct prec *r)
{
	size_t n = sample_id_bytes(f);
	struct cursor id = { c->s, false };

	if (n > str_len(c->s)) {
		c->truncated = true;
		return;
	}
	c->s = read_bytes(&id, str_len(c->s) - n);
	r->have = sample_id_fields(f);
	read_ids(&id, r->have, r);
	if (r->have & PS_IDENTIFIER)
		r->id = read64(&id);
}

/* Reads a 32-bit number of an ELF file. big: the file is big-endian. */
static u32 read_word(struct cursor *c, bool big)
{
	u32 v = read32(c);

	if (big == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__))
		return v;
	return v >> 24 | (v >> 8 & 0xff00) | (v & 0xff00) << 8 | v << 24;
}

/* Skips the padding before the next address that is a multiple of `align` bytes after `begin`, but
 * not beyond the end of the data. */
static void skip_padding(struct cursor *c, const char *begin, u8 align)
{
	size_t n = (size_t)(begin - c->s.p) & (align - 1u);

	read_bytes(c, n < str_len(c->s) ? n : str_len(c->s));
}

/* Finds the build ID in ELF notes (elf(5)). big: the file is big-endian; align: alignment of names
 * and descriptions in bytes, 4 or 8. Returns an empty text if there is no build ID, or if it is
 * longer than 20 bytes, for which a perf record has room. */
struct str note_build_id(struct str notes, bool big, u8 align)
{
	enum { NT_GNU_BUILD_ID = 3, ID_BYTES = 20 };
	static const char gnu[4] = "GNU";
	struct cursor c = { notes, false };

	while (c.s.p < c.s.e) {
		const char *begin = c.s.p;
		u32 name_n = read_word(&c, big), n = read_word(&c, big);
		u32 type = read_word(&c, big);
		struct str name = read_bytes(&c, name_n), id;

		skip_padding(&c, begin, align);
		id = read_bytes(&c, n);
		if (c.truncated)
			break;
		if (type == NT_GNU_BUILD_ID && n && n <= ID_BYTES &&
		    str_eq(name, str_of(gnu, sizeof(gnu))))
			return id;
		skip_padding(&c, begin, align);
	}
	return (struct str){ 0 };
}

/* Reads the fields of a record MMAP or MMAP2. If no event asks for build IDs (no_build_ids), the
 * bit PM_BUILD_ID of the record is cleared. The kernel may have set it by mistake: it leaves the
 * bit that it has set for another event that gets the same record (perf_event_mmap_output() of
 * Linux 6.18). */
static void read_mmap(struct cursor *c, const struct pformat *f, struct prec *r)
{
	r->misc &= f->no_build_ids ? (u16)~PM_BUILD_ID : UINT16_MAX;
	r->who = read32(c);
	r->who_tid = read32(c);
	r->at = read64(c);
	r->len = read64(c);
	r->pgoff = read64(c);
	if (r->type == PR_MMAP2 && r->misc & PM_BUILD_ID) {
		struct str id = read_bytes(c, 24);
		u8 n = id.e - id.p >= 24 ? (u8)id.p[0] : UINT8_MAX;

		if (n <= 20)
			r->build_id = (struct str){ id.p + 4, id.p + 4 + n };
	} else if (r->type == PR_MMAP2) {
		r->major = read32(c);
		r->minor = read32(c);
		r->ino = read64(c);
		r->generation = read64(c);
	}
	if (r->type == PR_MMAP2) {
		r->prot = read32(c);
		r->flags = read32(c);
	}
	r->name = read_name(c);
}

static void read_task(struct cursor *c, struct prec *r)
{
	r->who = read32(c);
	r->parent = read32(c);
	r->who_tid = read32(c);
	r->parent_tid = read32(c);
	r->at = read64(c);
}

static void read_pid_tid(struct cursor *c, const struct pformat *f, struct prec *r)
{
	r->who = read32(c);
	r->who_tid = read32(c);
	if (r->type == PR_COMM) {
		r->name = read_name(c);
	} else if (r->type == PR_READ) {
		r->values = read_values(c, f->read_format);
	} else if (r->type == PR_NAMESPACES) {
		r->len = read64(c);
		read_array(c, r->len, 16);
	}
}

static void read_ksymbol(struct cursor *c, struct prec *r)
{
	r->at = read64(c);
	r->len = read32(c);
	r->prot = read16(c);
	r->flags = read16(c);
	r->name = read_name(c);
}

/* Reads the fields of records that are not samples. struct sample_id follows after these fields. */
static void read_body(struct cursor *c, const struct pformat *f, struct prec *r)
{
	switch (r->type) {
	case PR_MMAP:
	case PR_MMAP2:
		read_mmap(c, f, r);
		break;
	case PR_FORK:
	case PR_EXIT:
		read_task(c, r);
		break;
	case PR_LOST:
		read64(c);
		r->lost = read64(c);
		break;
	case PR_LOST_SAMPLES:
		r->lost = read64(c);
		break;
	case PR_THROTTLE:
	case PR_UNTHROTTLE:
		r->at = read64(c);
		read_bytes(c, 16);
		break;
	case PR_COMM:
	/* PR_SWITCH_CPU_WIDE has the pid and tid of the task to which, or from which, the CPU
	 * switched. */
	case PR_SWITCH_CPU_WIDE:
	case PR_ITRACE_START:
	case PR_READ:
	case PR_NAMESPACES:
		read_pid_tid(c, f, r);
		break;
	case PR_AUX:
		r->at = read64(c);
		r->len = read64(c);
		read64(c);
		break;
	case PR_KSYMBOL:
		read_ksymbol(c, r);
		break;
	case PR_CGROUP:
		r->cgroup = read64(c);
		r->name = read_name(c);
		break;
	case PR_TEXT_POKE:
		r->at = read64(c);
		r->len = read16(c);
		r->pgoff = read16(c);
		read_bytes(c, r->len + r->pgoff);
		break;
	default:
		break;
	}
}

static bool read_header(struct cursor *c, struct prec *r)
{
	u32 size;

	*r = (struct prec){ .raw = c->s };
	size = (u32)str_len(c->s);
	r->type = read32(c);
	r->misc = (u16)read16(c);
	r->mode = r->misc & 7;
	if (r->mode >= PM_MODES)
		r->mode = PM_UNKNOWN;
	return read16(c) == size && !c->truncated;
}

/* Returns the ID or IDENTIFIER of the event to which a record belongs; 0 if the record has none. f
 * may be the format of any event with the same ID bits in sample_type, as in prec_time(). */
u64 prec_id(struct str rec, const struct pformat *f)
{
	struct pformat only = *f;
	struct cursor c = { rec, false };
	struct prec r;

	if (!read_header(&c, &r))
		return 0;
	if (r.type == PR_SAMPLE) {
		only.sample_type &= PS_IDENTIFIER | PS_IP | PS_TID | PS_TIME | PS_ADDR | PS_ID;
		read_sample_body(&c, &only, &r);
	} else {
		read_sample_id(&c, &only, &r);
	}
	return c.truncated ? 0 : r.id;
}

/* Decodes a perf record into *r. Returns false if the record is too short. A record of unknown type
 * is accepted. */
bool prec_decode(struct str rec, const struct pformat *f, struct prec *r)
{
	struct cursor c = { rec, false };

	if (!read_header(&c, r))
		return false;
	if (r->type == PR_SAMPLE) {
		read_sample_body(&c, f, r);
	} else {
		read_sample_id(&c, f, r);
		read_body(&c, f, r);
	}
	return !c.truncated;
}

/* PERF_CONTEXT_*: entries of a callchain that are not addresses: they set the mode (user, kernel,
 * ...) of the entries after them. */
static const struct {
	i16 entry;
	u8 mode;
} contexts[] = {
	{ -32, PM_HV }, { -128, PM_KERNEL }, { -512, PM_USER },
	{ -2048, PM_UNKNOWN }, { -2176, PM_GUEST_KERNEL }, { -2560, PM_GUEST_USER },
};

/* Stores the next address of a callchain in *ip and its mode in *mode, innermost function first.
 * Before the first call, the caller sets *mode to the mode of the sample. Returns false at the end
 * of the callchain. */
bool chain_next(struct str *chain, u8 *mode, u64 *ip)
{
	while (chain->e - chain->p >= 8) {
		*ip = load64(chain->p);
		chain->p += 8;
		if (*ip < (u64)-4095) /* (u64)-4095 is PERF_CONTEXT_MAX */
			return true;
		*mode = PM_UNKNOWN;
		for (size_t i = 0; i < LEN(contexts); i++)
			if ((i64)*ip == contexts[i].entry)
				*mode = contexts[i].mode;
	}
	return false;
}

/* Stores the next count from the values of a read in *v. The caller sets *i to 0 before the first
 * call. Returns false after the last count. */
bool values_next(struct str values, u64 read_format, size_t *i, struct pvalue *v)
{
	struct cursor c = { values, false };
	size_t each = 1 + bit_count(read_format & (PF_ID | PF_LOST));
	u64 n = read_format & PF_GROUP ? read64(&c) : 1;

	*v = (struct pvalue){ 0 };
	if (*i >= n)
		return false;
	if (!(read_format & PF_GROUP))
		v->value = read64(&c);
	v->enabled = read_format & PF_ENABLED ? read64(&c) : 0;
	v->running = read_format & PF_RUNNING ? read64(&c) : 0;
	if (read_format & PF_GROUP) {
		read_array(&c, *i, 8 * each);
		v->value = read64(&c);
	}
	v->id = read_format & PF_ID ? read64(&c) : 0;
	v->lost = read_format & PF_LOST ? read64(&c) : 0;
	++*i;
	return !c.truncated;
}

/* --- OA reports ---------------------------------------------------------------------------------
 * enum drm_i915_oa_format of drm/i915_drm.h and xe_oa_format of drivers/gpu/drm/xe/xe_oa.c; the
 * offsets of counters are from the i915 perf wiki page (A45, A32u40), IGT's tests/intel/perf.c and
 * xe/perf.c, and Intel's metrics-discovery (PEC). B and C counters are always 32 bits wide and
 * adjacent. A sum whose counter is not in a report is not changed by that report. */

#define U32(slot, n, at)       { slot, n, OW_U32, 0, at }
#define U40(slot, n, at, high) { slot, n, OW_U40, high, at }
#define U64(slot, n, at)       { slot, n, OW_U64, 0, at }
#define B8_C8(at)              U32(OA_B, 16, at)
#define RUNS(...) \
	.nruns = sizeof((struct oarun[]){ __VA_ARGS__ }) / sizeof(struct oarun), \
	.runs = (const struct oarun[]){ __VA_ARGS__ }
/* XE() sets the members of a format that the driver xe supports: the number of the format in IGT's
 * enum intel_xe_oa_format_name (lib/xe/xe_oa.h), and the parts of the property
 * DRM_XE_OA_PROPERTY_OA_FORMAT: DRM_XE_OA_FMT_TYPE_*, counter select, counter size, BC report. */
#define XE(number, type, select, wide, bc) \
	number, true, .xe = (type) | (select) << 8 | (wide) << 16 | (bc) << 24
#define NO_XE 0, false
enum { OAG = 0, OAR = 1, OAC = 3, OAM_MPEC = 4, PEC = 5 };

/* The formats of OA reports. IGT's tables differ in some rarely used formats. There, A12 begins
 * with the clock, the A counters of B4_C8_A16 and the B counters of C4_B8 begin one counter
 * earlier, and C4_B8 has the header of gen7. */
const struct oaformat oaformats[] = {
	{ "A13", NULL, "A", 64, OH_GEN7, 1, NO_XE, RUNS(U32(OA_A, 13, 12)) },
	{ "A29", NULL, "A", 128, OH_GEN7, 2, NO_XE, RUNS(U32(OA_A, 29, 12)) },
	{ "A13_B8_C8", NULL, "A", 128, OH_GEN7, 3, NO_XE, RUNS(U32(OA_A, 13, 12), B8_C8(64)) },
	{ "B4_C8", NULL, "A", 64, OH_GEN7, 4, NO_XE, RUNS(U32(OA_B, 4, 16), U32(OA_C, 8, 32)) },
	{ "A45_B8_C8", NULL, "A", 256, OH_GEN7, 5, NO_XE, RUNS(U32(OA_A, 45, 12), B8_C8(192)) },
	{ "B4_C8_A16", NULL, "A", 128, OH_GEN7, 6, NO_XE,
	  RUNS(U32(OA_B, 4, 16), U32(OA_C, 8, 32), U32(OA_A + 29, 16, 64)) },
	{ "C4_B8", NULL, "A", 64, OH_GEN8, 7, XE(1, OAG, 7, 0, 0),
	  RUNS(U32(OA_C, 4, 16), U32(OA_B, 8, 32)) },
	{ "A12", NULL, "A", 64, OH_GEN8, 8, XE(2, OAG, 0, 0, 0), RUNS(U32(OA_A + 7, 12, 16)) },
	{ "A12_B8_C8", NULL, "A", 128, OH_GEN8, 9, XE(3, OAG, 2, 0, 0),
	  RUNS(U32(OA_A + 7, 12, 16), B8_C8(64)) },
	{ "A32u40_A4u32_B8_C8", NULL, "A", 256, OH_GEN8, 10, XE(4, OAG, 5, 0, 0),
	  RUNS(U40(OA_A, 32, 16, 160), U32(OA_A + 32, 4, 144), B8_C8(192)) },
	{ "OAR_A32u40_A4u32_B8_C8", NULL, "A", 256, OH_GEN8, 11, XE(5, OAR, 5, 0, 0),
	  RUNS(U40(OA_A, 32, 16, 160), U32(OA_A + 32, 4, 144), B8_C8(192)) },
	/* In this format, A36 and A37 are where other formats have the high bytes of A0 to A3 and
	 * of A24 to A27: these eight counters have only 32 bits here. */
	{ "A24u40_A14u32_B8_C8", "256B_GENERIC_NOA16", "A", 256, OH_GEN8, 12, XE(6, OAG, 5, 0, 0),
	  RUNS(U32(OA_A, 4, 16), U40(OA_A + 4, 20, 32, 164), U32(OA_A + 24, 4, 112),
	       U40(OA_A + 28, 4, 128, 188),
	    U32(OA_A + 32, 5, 144), U32(OA_A + 37, 1, 184), B8_C8(192)) },
	/* Formats of OAC, the OA unit of the compute engine. The counters are named after their
	 * positions in the report, because Intel has not published which A counters they are. In
	 * OAC_A22u32_R2u32_B8_C8, two R counters follow after 22 A counters. */
	{ "OAC_A24u64_B8_C8", NULL, "A", 320, OH_WIDE, 0, XE(7, OAC, 1, 0, 0),
	  RUNS(U64(OA_A, 24, 32), B8_C8(224)) },
	{ "OAC_A22u32_R2u32_B8_C8", NULL, "A", 192, OH_WIDE, 0, XE(8, OAC, 2, 0, 0),
	  RUNS(U32(OA_A, 24, 32), B8_C8(128)) },
	{ "OAM_MPEC8u64_B8_C8", "192B_MPEC8LL_NOA16", "M", 192, OH_WIDE, 13,
	  XE(9, OAM_MPEC, 1, 0, 0),
	  RUNS(U64(OA_A, 8, 32), B8_C8(96)) },
	{ "OAM_MPEC8u32_B8_C8", "128B_MPEC8_NOA16", "M", 128, OH_WIDE, 14,
	  XE(10, OAM_MPEC, 2, 0, 0),
	  RUNS(U32(OA_A, 8, 32), B8_C8(64)) },
	{ "PEC64u64", "576B_PEC64LL", "PEC", 576, OH_WIDE, 0, XE(11, PEC, 1, 1, 0),
	  RUNS(U64(OA_A, 64, 32)) },
	{ "PEC64u64_B8_C8", "640B_PEC64LL_NOA16", "PEC", 640, OH_WIDE, 0, XE(12, PEC, 1, 1, 1),
	  RUNS(U64(OA_A, 64, 32), B8_C8(544)) },
	{ "PEC64u32", "320B_PEC64", "PEC", 320, OH_WIDE, 0, XE(13, PEC, 1, 0, 0),
	  RUNS(U32(OA_A, 64, 32)) },
	/* In the names of the formats PEC32... and PEC36..., G1 means the counters PEC0 to PEC31,
	 * and G2 the other PEC counters. */
	{ "PEC32u64_G1", NULL, "PEC", 320, OH_WIDE, 0, XE(14, PEC, 5, 1, 0),
	  RUNS(U64(OA_A, 32, 32)) },
	{ "PEC32u32_G1", NULL, "PEC", 192, OH_WIDE, 0, XE(15, PEC, 5, 0, 0),
	  RUNS(U32(OA_A, 32, 32)) },
	{ "PEC32u64_G2", NULL, "PEC", 320, OH_WIDE, 0, XE(16, PEC, 6, 1, 0),
	  RUNS(U64(OA_A + 32, 32, 32)) },
	{ "PEC32u32_G2", NULL, "PEC", 192, OH_WIDE, 0, XE(17, PEC, 6, 0, 0),
	  RUNS(U32(OA_A + 32, 32, 32)) },
	{ "PEC36u64_G1_32_G2_4", NULL, "PEC", 320, OH_WIDE, 0, XE(18, PEC, 3, 1, 0),
	  RUNS(U64(OA_A, 36, 32)) },
	{ "PEC36u64_G1_4_G2_32", NULL, "PEC", 320, OH_WIDE, 0, XE(19, PEC, 4, 1, 0),
	  RUNS(U64(OA_A, 4, 32), U64(OA_A + 32, 32, 64)) },
};

const size_t noaformats = LEN(oaformats);

const char *const oareason_names[OA_REASONS] = {
	"unknown", "timer", "trigger1", "trigger2", "context-switch", "go-transition",
	"clock-ratio-change", "mmio-trigger",
};

/* Returns the OA report format with this name: oaformat.name, or the oa_format of metric files.
 * NULL if there is none. */
const struct oaformat *oaformat_by_name(struct str name)
{
	for (size_t i = 0; i < noaformats && str_len(name); i++)
		if (str_is(name, oaformats[i].name) || str_is(name, oaformats[i].xml))
			return &oaformats[i];
	return NULL;
}

/* Returns the OA report format with this number in the record DEVICE_INFO of a recording. For i915,
 * it is the number in enum drm_i915_oa_format. NULL if there is none. */
const struct oaformat *oaformat_by_number(bool xe, u32 number)
{
	for (size_t i = 0; i < noaformats && number; i++)
		if (number == (xe ? oaformats[i].recorded : oaformats[i].i915))
			return &oaformats[i];
	return NULL;
}

/* Returns the mask of the bits of an OA timestamp: timestamps wrap at 2^32, in reports with wide
 * headers at 2^56. */
static u64 ts_mask(const struct oaformat *f)
{
	return f->head == OH_WIDE ? ((u64)1 << 56) - 1 : UINT32_MAX;
}

static u64 report_ts(const struct oaformat *f, const char *report)
{
	return (f->head == OH_WIDE ? load64(report + 8) : load32(report + 4)) & ts_mask(f);
}

/* Returns the ticks from one OA timestamp to another, modulo the width of timestamps. */
u64 oa_ts_delta(const struct oaformat *f, u64 from, u64 to)
{
	return (to - from) & ts_mask(f);
}

/* Returns the largest number of ticks between two OA timestamps that is taken as a step forward. A
 * larger difference is ambiguous: more than half the range of timestamps is a step backward, and in
 * a longer time the 32-bit counter of the GPU's clock, which never stops, can wrap; that clock has
 * max_hz, or at most 3 GHz if max_hz is unknown. In reports in which the counter has 64 bits, the
 * limit is 2^40 ticks: 16 hours at 19.2 MHz. */
u64 oa_longest(const struct oaformat *f, u64 ts_hz, u64 max_hz)
{
	u64 half = ts_mask(f) / 2, ticks;

	if (f->head == OH_WIDE)
		return (u64)1 << 40;
	ticks = muldiv((u64)1 << 32, ts_hz, max_hz ? max_hz : 3000000000);
	return ticks && ticks < half ? ticks : half;
}

/* Compares the OA reports a and b. A report is unwritten if its id and timestamp are 0: the drivers
 * set them to 0 after a report was read, to detect reports that the hardware has not written yet
 * (oa_report_id_clear() and oa_timestamp_clear() in i915_perf.c and xe_oa.c). */
u8 oa_step(const struct oaformat *f, const char *a, const char *b, u64 longest)
{
	u64 ts = report_ts(f, b), ticks;

	if (!ts && !(f->head == OH_WIDE ? load64(b) : load32(b)))
		return STEP_UNWRITTEN;
	if (!a)
		return STEP_KNOWN;
	ticks = oa_ts_delta(f, report_ts(f, a), ts);
	if (ticks <= longest)
		return STEP_KNOWN;
	return ticks > ts_mask(f) / 2 ? STEP_BACKWARD : STEP_GAP;
}

static u8 first_reason(u32 bits)
{
	u8 reason = OA_TIMER;

	if (!bits)
		return OA_UNKNOWN;
	for (; !(bits & 1); bits >>= 1)
		reason++;
	return reason;
}

/* Returns why a Haswell GPU wrote a report, which the report itself does not tell: it was the timer
 * if in the timestamp the bit `exponent` is set and all lower bits are 0. */
static u8 gen7_reason(i32 exponent, u64 ts)
{
	if (exponent < 0 || exponent > 31 ||
	    (ts & (((u64)2 << exponent) - 1)) == (u64)1 << exponent)
		return OA_TIMER;
	return OA_UNKNOWN;
}

/* Decodes the head of an OA report: its first 32 bytes, which the caller must provide. */
void oareport_head(const struct oaformat *f, u16 gen, i32 exponent, const char *report,
		   struct oareport *r)
{
	bool wide = f->head == OH_WIDE;
	u32 id = load32(report);

	*r = (struct oareport){ .id = wide ? load64(report) : id, .ts = report_ts(f, report) };
	if (gen < 800 || f->head == OH_GEN7) {
		r->reason = gen7_reason(exponent, r->ts);
		return;
	}
	r->ctx = load32(report + (wide ? 16 : 8));
	r->ticks = wide ? load64(report + 24) : load32(report + 12);
	r->has_ticks = true;
	/* The reason of a report has six bits of its id. Gen12 has a seventh bit:
	 * oa_report_reason() of i915_perf.c. From Xe2 on there are six again, in the low half of
	 * the 64-bit id: OAREPORT_REASON_MASK of IGT's tests/intel/xe_oa.c. */
	r->reason = first_reason(id >> 19 & (gen >= 1200 && gen < 2000 ? 0x7f : 0x3f));
	/* i915 replaces the context of a report by 0xffffffff if the context is invalid, or if the
	 * process may not see it. On GPUs before version 12.55, a bit of the report's id tells
	 * whether the context is valid. From 12.55 on this bit is not used, because it is set only
	 * in the report of a context that starts to run. */
	r->has_ctx = r->ctx != UINT32_MAX && (gen >= 1255 || id >> (gen < 900 ? 25 : 16) & 1);
	/* The id of a report contains the clocks of the slices and of the rest of the GPU, in units
	 * of 50/3 MHz. */
	r->unslice_hz = (id & 0x1ff) * (u64)50000000 / 3;
	r->slice_hz = ((id >> 9 & 3) << 7 | id >> 25) * (u64)50000000 / 3;
}

/* Makes a plan *p that reads the counters i for which slots[i] is true. slots has OA_SLOTS
 * elements; if it is NULL, all counters are read. */
void oaplan_make(struct oaplan *p, const struct oaformat *f, const bool *slots)
{
	u8 n = 0, nruns = f->nruns;

	memset(p, 0, sizeof(*p));
	p->format = f;
	for (u8 i = 0; i < nruns; i++) {
		const struct oarun *r = &f->runs[i];
		size_t end = r->at + r->n * (r->width == OW_U64 ? 8u : 4u);

		if (p->bytes < end)
			p->bytes = (u16)end;
		for (u8 k = 0, from = 0; k < r->n; from = ++k) {
			while (k < r->n && (!slots || slots[r->slot + k]))
				k++;
			if (from < k && n < OA_SLOTS)
				p->parts[n++] = (struct oapart){ i, from, k };
		}
	}
	p->nparts = n;
}

/* Adds to sum[] the increases of the counters number `from` to `to` - 1 of a run, which are
 * adjacent counters of the same width. `a` is the start of the run in the earlier report, `b` in
 * the later one. An index is used because advancing pointers would cost one more instruction per
 * counter and pointer. */
static void add_u32(const char *a, const char *b, size_t from, size_t to, u64 *sum)
{
	for (size_t i = from; i < to; i++)
		sum[i] += load32(b + 4 * i) - load32(a + 4 * i);
}

static u64 delta_u40(const char *a, const char *ahigh, const char *b, const char *bhigh,
			 size_t i)
{
	u64 low = (u64)load32(b + 4 * i) - load32(a + 4 * i);
	u64 high = (u64)(u8)bhigh[i] - (u8)ahigh[i];

	return (low + (high << 32)) & 0xffffffffff;
}

static void add_u40(const char *a, const char *ah, const char *b, const char *bh, size_t from,
		    size_t to, u64 *sum)
{
	for (size_t i = from; i < to; i++)
		sum[i] += delta_u40(a, ah, b, bh, i);
}

static void add_u64(const char *a, const char *b, size_t from, size_t to, u64 *sum)
{
	for (size_t i = from; i < to; i++)
		sum[i] += load64(b + 8 * i) - load64(a + 8 * i);
}

/* Adds the increases from the OA report a to the report b to sum[]. It runs up to 100 000 times per
 * second, so each width of counters has its own loop over adjacent counters. The end of each part
 * of a run is compared with the end of the run, so that a static prover sees that no read is
 * outside of the report and no write outside of sum[]. */
void oa_add(const struct oaplan *p, const char *a, const char *b, u64 *sum)
{
	const struct oaformat *f = p->format;
	const struct oapart *part = p->parts, *end = part + p->nparts;
	u8 nruns = f->nruns;

	sum[OA_TIME] += oa_ts_delta(f, report_ts(f, a), report_ts(f, b));
	if (f->head == OH_WIDE)
		sum[OA_CLOCK] += load64(b + 24) - load64(a + 24);
	else if (f->head == OH_GEN8)
		sum[OA_CLOCK] += load32(b + 12) - load32(a + 12);
	for (u8 i = 0; i < nruns; i++) {
		const struct oarun *r = &f->runs[i];

		for (; part < end && part->run == i; part++) {
			size_t to = part->to < r->n ? part->to : r->n;

			if (r->width == OW_U32)
				add_u32(a + r->at, b + r->at, part->from, to, sum + r->slot);
			else if (r->width == OW_U40)
				add_u40(a + r->at, a + r->high, b + r->at, b + r->high, part->from,
					to, sum + r->slot);
			else
				add_u64(a + r->at, b + r->at, part->from, to, sum + r->slot);
		}
	}
}

/* Stores the raw values of an OA report in v, which has OA_SLOTS elements. Elements without a
 * counter in the report become 0. */
void oa_raw_values(const struct oaplan *p, const char *report, u64 *v)
{
	const char nothing[OA_REPORT_BYTES] = { 0 };

	memset(v, 0, OA_SLOTS * sizeof(*v));
	oa_add(p, nothing, report, v);
}

bool oaslot_name(const struct oaformat *f, size_t slot, struct buf *b)
{
	for (size_t i = 0; i < f->nruns; i++) {
		if (slot < f->runs[i].slot || slot - f->runs[i].slot >= f->runs[i].n)
			continue;
		put_z(b, slot < OA_B ? f->letter : slot < OA_C ? "B" : "C");
		put_u64(b, slot - (slot < OA_B ? OA_A : slot < OA_C ? OA_B : OA_C));
		return true;
	}
	return false;
}

/* Returns whether the interval that ends with report r belongs to the context of the filter. The
 * report before r decides, as in Mesa's accumulate_oa_reports(), because r may already name the
 * next context. */
bool oafilter_match(struct oafilter *f, const struct oareport *r)
{
	bool matches = f->last;

	f->last = r->has_ctx && (f->any || r->ctx == f->ctx);
	return matches;
}

/* --- OA records ---------------------------------------------------------------------------------
 * A record begins with struct drm_i915_perf_record_header: u32 type, u16 padding, u16 size of the
 * record including this header of 8 bytes. The types that exist only in recordings are those of
 * IGT's lib/i915/perf_data.h and lib/xe/xe_oa_data.h. */

/* OAREC_HEAD: bytes of the header of a record; OAREC_FILE: number of the first record type of i915
 * that exists only in recordings */
enum { OAREC_HEAD = 8, OAREC_FILE = 1 << 16 };
/* The number of the first record type that only this program writes: IGT's readers skip such
 * records. */
enum { OAREC_OWN = 1 << 17 };
/* Sizes of the fields in a record DEVICE_INFO, which is a packed structure. */
enum { INFO_SET = 256, INFO_GUID = 40, INFO_BYTES = 36 + INFO_SET + INFO_GUID + 4 };

/* Returns the number that stands for a type of record (enum oatype) in streams and recordings. In
 * xe, the types that exist only in recordings are numbered after those of the kernel. */
static u32 type_number(bool xe, u8 type)
{
	if (type >= OT_STALLS)
		return (u32)OAREC_OWN + type - OT_STALLS;
	return xe || type < OT_VERSION ? type + 1u : (u32)OAREC_FILE + type - OT_VERSION;
}

bool oarec_next(struct str *bytes, bool xe, struct oarec *r)
{
	const char *p = bytes->p;
	u16 size;

	if (bytes->e - p < OAREC_HEAD)
		return false;
	size = load16(p + 6);
	*r = (struct oarec){ OT_CORRUPT, load32(p), { p, p } };
	if (size < OAREC_HEAD) {
		bytes->p = bytes->e;
		return true;
	}
	if (!str_first(*bytes, size, &r->body))
		return false;
	bytes->p = r->body.e;
	r->body.p += OAREC_HEAD;
	for (r->type = OT_SAMPLE;
	     r->type < OT_UNKNOWN && type_number(xe, r->type) != r->number; r->type++)
		;
	return true;
}

/* Returns whether the bytes are the start of a recording: it begins with a record VERSION, of any
 * version. */
bool oarec_is_recording(struct str bytes, bool *xe)
{
	for (int i = 0; i < 2; i++) {
		struct str s = bytes;
		struct oarec r;

		*xe = i;
		if (oarec_next(&s, *xe, &r) && r.type == OT_VERSION && str_len(r.body) == 8)
			return true;
	}
	return false;
}

bool oarec_version(struct str body, u32 *version)
{
	if (body.e - body.p < 8)
		return false;
	*version = load32(body.p);
	return true;
}

/* Returns the text in the n bytes at p, up to the first NUL. */
static struct str str_until_nul(const char *p, size_t n)
{
	struct str s = { p, p + n }, name;

	str_cut(&s, '\0', &name);
	return name;
}

bool oarec_info(struct str body, struct oainfo *i)
{
	const char *p = body.p;
	u32 v[7];

	if (body.e - p < INFO_BYTES)
		return false;
	memcpy(v, p + 8, sizeof(v));
	*i = (struct oainfo){
		load64(p), v[0], v[1], v[2], v[3], v[4], v[5], v[6],
		str_until_nul(p + 36, INFO_SET), str_until_nul(p + 36 + INFO_SET, INFO_GUID),
	};
	return true;
}

bool oarec_correlation(struct str body, u64 *cpu_ns, u64 *gpu_ts)
{
	if (body.e - body.p < 16)
		return false;
	*cpu_ns = load64(body.p);
	*gpu_ts = load64(body.p + 8);
	return true;
}

bool oarec_stalls(struct str body, u64 *ns, struct str *samples)
{
	struct str time;

	if (!str_first(body, sizeof(*ns), &time))
		return false;
	*ns = load64(time.p);
	*samples = (struct str){ time.e, body.e };
	return true;
}

static void put_zeros(struct buf *b, size_t n)
{
	while (n-- > 0)
		put_c(b, '\0');
}

/* Appends a record of an OA stream or of a recording. type: an enum oatype up to OT_NUMBERS.
 * Records TOPOLOGY and NUMBERS are padded to a multiple of 8 bytes. If the body is too long for the
 * size field, b->full becomes true. */
void put_oarec(struct buf *b, bool xe, u8 type, struct str body)
{
	size_t pad = type == OT_TOPOLOGY || type == OT_NUMBERS ? -str_len(body) % 8 : 0;
	size_t size = OAREC_HEAD + str_len(body) + pad;
	u32 number = type_number(xe, type);
	u16 rest[2] = { 0, (u16)size };

	if (size > UINT16_MAX) {
		b->full = true;
		return;
	}
	put_n(b, (const char *)&number, sizeof(number));
	put_n(b, (const char *)rest, sizeof(rest));
	put_str(b, body);
	put_zeros(b, pad);
}

/* Appends a text as n bytes: it is cut or padded with NULs, and the last byte is NUL. */
static void put_name(struct buf *b, struct str s, size_t n)
{
	str_first(s, (i64)n - 1, &s);
	put_str(b, s);
	put_zeros(b, n - str_len(s));
}

/* Appends the body of a record DEVICE_INFO. */
void put_oainfo(struct buf *b, const struct oainfo *i)
{
	const u32 v[] = { i->pci, i->revision, i->min_hz, i->max_hz, i->engine_class,
		i->engine_instance, i->format };

	put_n(b, (const char *)&i->ts_hz, sizeof(i->ts_hz));
	put_n(b, (const char *)v, sizeof(v));
	put_name(b, i->set, INFO_SET);
	put_name(b, i->guid, INFO_GUID);
	put_zeros(b, 4);
}

/* Returns the CPU time in ns of an OA report with the timestamp ts. cpu_ns and gpu_ts are readings
 * of both clocks at the same moment; gpu_ts is the register RING_TIMESTAMP, which has 36 bits. The
 * report may be before or after that moment: the smaller distance is used, modulo the width of the
 * narrower clock. */
u64 oa_cpu_time(const struct oaformat *f, u64 cpu_ns, u64 gpu_ts, u8 shift, u64 ts_hz, u64 ts)
{
	u64 mask = f->head == OH_WIDE ? ((u64)1 << 36) - 1 : UINT32_MAX;
	u64 after = (ts - (gpu_ts << (shift & 63))) & mask, before = -after & mask, ns;

	if (!ts_hz)
		return cpu_ns;
	ns = muldiv(after < before ? after : before, 1000000000, ts_hz);
	if (after < before)
		return cpu_ns > UINT64_MAX - ns ? UINT64_MAX : cpu_ns + ns;
	return cpu_ns < ns ? 0 : cpu_ns - ns;
}

/* --- samples of EU stalls -----------------------------------------------------------------------
 * The layouts of samples are those of drivers/gpu/drm/xe/xe_eu_stall.c (Linux 6.15; the layout of
 * Xe3p is newer), which chooses one by the version of the GPU's graphics. Addresses (ip_addr in the
 * driver) are multiplied by 8, as in iaprof, a profiler by Intel. */

const char *const stallreason_names[STALL_REASONS] = {
	[ST_ACTIVE] = "active", [ST_TDR] = "tdr", [ST_OTHER] = "other", [ST_CONTROL] = "control",
	[ST_PIPESTALL] = "pipestall", [ST_SEND] = "send", [ST_DIST_ACC] = "dist_acc",
	[ST_SBID] = "sbid", [ST_SYNC] = "sync", [ST_INST_FETCH] = "inst_fetch",
};

/* Layouts of samples of EU stalls, those of the newest GPUs first. */
static const struct stallformat stallformats[] = {
	{ 35, 61, { [ST_TDR] = 61, [ST_OTHER] = 69, [ST_CONTROL] = 77, [ST_PIPESTALL] = 85,
		    [ST_SEND] = 93, [ST_DIST_ACC] = 101, [ST_SBID] = 109, [ST_SYNC] = 117,
		    [ST_INST_FETCH] = 125, [ST_ACTIVE] = 133 } }, /* layout for GPUs with Xe3p */
	{ 20, 29, { [ST_TDR] = 29, [ST_OTHER] = 37, [ST_CONTROL] = 45, [ST_PIPESTALL] = 53,
		    [ST_SEND] = 61, [ST_DIST_ACC] = 69, [ST_SBID] = 77, [ST_SYNC] = 85,
		    /* layout for GPUs with Xe2 or Xe3 */
		    [ST_INST_FETCH] = 93, [ST_ACTIVE] = 101 } },
	{ 0, 29, { [ST_ACTIVE] = 29, [ST_OTHER] = 37, [ST_CONTROL] = 45, [ST_PIPESTALL] = 53,
		   [ST_SEND] = 61, [ST_DIST_ACC] = 69, [ST_SBID] = 77, [ST_SYNC] = 85,
		   /* layout for Ponte Vecchio, the only GPU before Xe2 that has samples of EU
		    * stalls */
		   [ST_INST_FETCH] = 93 } },
};

const struct stallformat *stallformat_of(u32 version)
{
	const struct stallformat *f = stallformats;

	while (f->version > version)
		f++;
	return f;
}

bool stall_next(const struct stallformat *f, struct str *samples, struct stall *s)
{
	struct str bytes;

	if (!str_first(*samples, STALL_BYTES, &bytes))
		return false;
	samples->p = bytes.e;
	s->ip = (load64(bytes.p) & UINT64_MAX >> (64 - f->address_bits)) << 3;
	for (size_t i = 0; i < STALL_REASONS; i++) {
		u32 count = load16(bytes.p + f->at[i] / 8) >> f->at[i] % 8 & 0xff;

		s->counts[i] = (u8)(f->at[i] ? count : 0);
	}
	return true;
}

/* --- counter streams of msm: struct drm_msm_perfcntr_config of include/uapi/drm/msm_drm.h ----- */

/* Reads a u64 at the start of *s and moves *s past it. Returns false if *s is shorter. */
static bool take64(struct str *s, u64 *v)
{
	struct str first;

	if (!str_first(*s, sizeof(*v), &first))
		return false;
	*v = load64(first.p);
	s->p = first.e;
	return true;
}

/* Adds to sum[] what the counters have counted from the previous record to this one. A record is a
 * u64 time, u32 seqno, u32 0, then a u64 for each counter. seqno is 0 after a gap: the GPU was off
 * and lost its counters, or the stream was not read in time. Counts during a gap are not added; the
 * values after the gap are the new baseline. A record that is too short is treated like a gap. */
void cntrec_add(struct cntsum *s, struct str record)
{
	size_t n = s->n < CNTREC_MOST ? s->n : CNTREC_MOST;
	struct str head;
	u64 v = 0;
	bool follows;
	u32 seqno;

	if (str_len(record) < CNTREC_HEAD + n * sizeof(v) ||
	    !str_first(record, CNTREC_HEAD, &head)) {
		s->seqno = UINT32_MAX;
		return;
	}
	seqno = load32(head.p + 8);
	follows = seqno && seqno == s->seqno + 1;
	s->seqno = seqno;
	record.p = head.e;
	for (size_t i = 0; i < n && take64(&record, &v); i++) {
		s->sum[i] += follows && v >= s->was[i] ? v - s->was[i] : 0;
		s->was[i] = v;
	}
}
