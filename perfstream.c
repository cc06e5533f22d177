/* perfstream.c - records that the kernel hands out in binary. Pure: bytes in, values out.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"

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

/* The first n bytes, where it has so many; an n that no i64 holds is a negative one. Where they end is compared with where s
 * does, too: of an n that depends on where s begins a prover knows no more than how long s may be. */
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

/* --- perf rings -----------------------------------------------------------------------------------
 * Layouts: linux/perf_event.h; order of the fields of a sample: perf_output_sample() in
 * kernel/events/core.c, since the header has the last ones in another order. */

/* Where in its bytes a ring was `at` bytes long. Records and all of their fields of 8 bytes lie on 8: as long as they are of
 * so many, nothing that begins here goes over the ring's end. */
static const char *ring_at(const struct ring *r, u64 at)
{
	return r->p + (size_t)(at & (r->size - 8));
}

/* n bytes from where a ring was `at` bytes long, whole records both: they may lie on both sides of its end. */
void ring_load(const struct ring *r, u64 at, char *to, size_t n)
{
	for (const char *end = to + n; end - to >= 8; to += 8, at += 8)
		memcpy(to, ring_at(r, at), 8);
}

/* The size of the next record; 0 where there is none, or none that could be one. */
size_t ring_size(const struct ring *r)
{
	u64 n = r->head - r->tail;
	u16 size;

	if (n < 8 || n > r->size || (r->size & (r->size - 1)) || r->tail % 8)
		return 0;
	size = load16(ring_at(r, r->tail) + 6);
	return size < 8 || size % 8 || size > n ? 0 : size;
}

/* The next whole record, in scratch (PERF_RECORD_BYTES) where it goes over the ring's end. Behind a header
 * that cannot be one nothing says where the next would be: the rest is passed over, and counted. */
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

/* How many of these bits are set, each of them 8 bytes of a record. */
static size_t words(u64 bits)
{
	size_t n = 0;

	for (; bits; bits &= bits - 1)
		n++;
	return n;
}

/* Where the time of a record is: in a sample behind its header, in any other counted from its end. 0: it
 * has none. */
static size_t time_at(u32 type, size_t size, const struct pformat *f)
{
	size_t at;

	if (!(f->sample_type & PS_TIME) || (type != PR_SAMPLE && !f->id_all))
		return 0;
	if (type == PR_SAMPLE)
		return 8 + 8 * words(f->sample_type & (PS_IDENTIFIER | PS_IP | PS_TID));
	at = 8 + 8 * words(f->sample_type & (PS_ID | PS_STREAM_ID | PS_CPU | PS_IDENTIFIER));
	return size < 8 + at ? 0 : size - at;
}

/* The time of the next record, of any event that has IDENTIFIER, IP, TID, TIME, ID, STREAM_ID and CPU as f
 * has them. Records without one come first. */
bool ring_time(const struct ring *r, const struct pformat *f, u64 *time)
{
	size_t n = ring_size(r), at;

	*time = 0;
	if (!n)
		return false;
	at = time_at(load32(ring_at(r, r->tail)), n, f);
	if (at && at + 8 <= n)
		*time = load64(ring_at(r, r->tail + at));
	return true;
}

/* --- perf records ------------------------------------------------------------------------------------- */

/* Reads on until something is missing; all that follows is 0 then. */
struct cursor {
	struct str s;
	bool cut;
};

static void cut(struct cursor *c)
{
	c->cut = true;
	c->s.p = c->s.e;
}

static struct str take(struct cursor *c, u64 n)
{
	struct str piece = { c->s.p, c->s.p };

	if (str_first(c->s, (i64)n, &piece))
		c->s.p = piece.e;
	else
		cut(c);
	return piece;
}

static u64 take64(struct cursor *c)
{
	const char *p = c->s.p;

	if (c->s.e - p < 8) {
		cut(c);
		return 0;
	}
	c->s.p = p + 8;
	return load64(p);
}

static u32 take32(struct cursor *c)
{
	const char *p = c->s.p;

	if (c->s.e - p < 4) {
		cut(c);
		return 0;
	}
	c->s.p = p + 4;
	return load32(p);
}

static u32 take16(struct cursor *c)
{
	const char *p = c->s.p;

	if (c->s.e - p < 2) {
		cut(c);
		return 0;
	}
	c->s.p = p + 2;
	return load16(p);
}

/* n entries of so many bytes. */
static struct str take_n(struct cursor *c, u64 n, size_t each)
{
	return take(c, n > str_len(c->s) / each ? UINT64_MAX : n * each);
}

/* What ends at the first NUL of what is left; records pad such text with NULs. */
static struct str take_name(struct cursor *c)
{
	struct str name;

	str_cut(&c->s, '\0', &name);
	c->s.p = c->s.e;
	return name;
}

static struct str take_values(struct cursor *c, u64 format)
{
	const char *from = c->s.p;
	size_t times = words(format & (PF_ENABLED | PF_RUNNING)), each = 1 + words(format & (PF_ID | PF_LOST));

	if (format & PF_GROUP) {
		u64 n = take64(c);

		take(c, 8 * times);
		take_n(c, n, 8 * each);
	} else {
		take(c, 8 * (times + each));
	}
	return (struct str){ from, c->s.p };
}

static void take_branches(struct cursor *c, u64 branch_type)
{
	u64 n = take64(c);

	if (branch_type & PB_HW_INDEX)
		take64(c);
	take_n(c, n, 24);
	if (branch_type & PB_COUNTERS)
		take_n(c, n, 8);
}

static void take_regs(struct cursor *c, u64 mask)
{
	if (take64(c)) /* PERF_SAMPLE_REGS_ABI_NONE: no register follows */
		take(c, 8 * words(mask));
}

static void take_stack(struct cursor *c)
{
	u64 n = take64(c);

	if (n) {
		take(c, n);
		take64(c); /* how much of it was really copied */
	}
}

/* Behind the callchain: what we do not show is passed over. */
static void take_rest(struct cursor *c, const struct pformat *f, struct prec *r)
{
	u64 t = f->sample_type;

	if (t & PS_RAW)
		take(c, take32(c));
	if (t & PS_BRANCH_STACK)
		take_branches(c, f->branch_type);
	if (t & PS_REGS_USER)
		take_regs(c, f->regs_user);
	if (t & PS_STACK_USER)
		take_stack(c);
	if (t & (PS_WEIGHT | PS_WEIGHT_STRUCT))
		take64(c);
	take(c, 8 * words(t & (PS_DATA_SRC | PS_TRANSACTION)));
	if (t & PS_REGS_INTR)
		take_regs(c, f->regs_intr);
	take(c, 8 * words(t & PS_PHYS_ADDR));
	r->cgroup = t & PS_CGROUP ? take64(c) : 0;
	take(c, 8 * words(t & (PS_DATA_PAGE_SIZE | PS_CODE_PAGE_SIZE)));
	if (t & PS_AUX)
		take(c, take64(c));
}

/* What samples and struct sample_id have in the same order. */
static void take_ids(struct cursor *c, u64 t, struct prec *r)
{
	if (t & PS_TID) {
		r->pid = take32(c);
		r->tid = take32(c);
	}
	if (t & PS_TIME)
		r->time = take64(c);
	if (t & PS_ADDR)
		r->addr = take64(c);
	if (t & PS_ID)
		r->id = take64(c);
	if (t & PS_STREAM_ID)
		r->stream = take64(c);
	if (t & PS_CPU) {
		r->cpu = take32(c);
		take32(c);
	}
}

static void take_sample(struct cursor *c, const struct pformat *f, struct prec *r)
{
	u64 t = f->sample_type;

	r->have = t;
	if (t & PS_IDENTIFIER)
		r->id = take64(c);
	if (t & PS_IP)
		r->ip = take64(c);
	take_ids(c, t, r);
	if (t & PS_PERIOD)
		r->period = take64(c);
	if (t & PS_READ)
		r->values = take_values(c, f->read_format);
	if (t & PS_CALLCHAIN)
		r->chain = take_n(c, take64(c), 8);
	take_rest(c, f, r);
	r->who = r->pid;
	r->who_tid = r->tid;
}

/* struct sample_id, which ends every other record where sample_id_all is set. */
static void take_sample_id(struct cursor *c, const struct pformat *f, struct prec *r)
{
	static const u64 all = PS_TID | PS_TIME | PS_ID | PS_STREAM_ID | PS_CPU | PS_IDENTIFIER;
	size_t n = f->id_all ? 8 * words(f->sample_type & all) : 0;
	struct cursor id = { c->s, false };

	if (n > str_len(c->s)) {
		c->cut = true;
		return;
	}
	c->s = take(&id, str_len(c->s) - n);
	r->have = n ? f->sample_type & all : 0;
	take_ids(&id, r->have, r);
	if (r->have & PS_IDENTIFIER)
		r->id = take64(&id);
}

static void take_mmap(struct cursor *c, struct prec *r)
{
	r->who = take32(c);
	r->who_tid = take32(c);
	r->at = take64(c);
	r->len = take64(c);
	r->pgoff = take64(c);
	if (r->type == PR_MMAP2 && r->misc & PM_BUILD_ID) {
		struct str id = take(c, 24);
		u8 n = id.e - id.p >= 24 ? (u8)id.p[0] : UINT8_MAX;

		if (n <= 20)
			r->build_id = (struct str){ id.p + 4, id.p + 4 + n };
	} else if (r->type == PR_MMAP2) {
		r->major = take32(c);
		r->minor = take32(c);
		r->ino = take64(c);
		r->generation = take64(c);
	}
	if (r->type == PR_MMAP2) {
		r->prot = take32(c);
		r->flags = take32(c);
	}
	r->name = take_name(c);
}

static void take_task(struct cursor *c, struct prec *r)
{
	r->who = take32(c);
	r->parent = take32(c);
	r->who_tid = take32(c);
	r->parent_tid = take32(c);
	r->at = take64(c);
}

static void take_who(struct cursor *c, const struct pformat *f, struct prec *r)
{
	r->who = take32(c);
	r->who_tid = take32(c);
	if (r->type == PR_COMM) {
		r->name = take_name(c);
	} else if (r->type == PR_READ) {
		r->values = take_values(c, f->read_format);
	} else if (r->type == PR_NAMESPACES) {
		r->len = take64(c);
		take_n(c, r->len, 16);
	}
}

static void take_ksymbol(struct cursor *c, struct prec *r)
{
	r->at = take64(c);
	r->len = take32(c);
	r->prot = take16(c);
	r->flags = take16(c);
	r->name = take_name(c);
}

/* What kinds of records say, each in front of its sample_id. */
static void take_event(struct cursor *c, const struct pformat *f, struct prec *r)
{
	switch (r->type) {
	case PR_MMAP:
	case PR_MMAP2:
		take_mmap(c, r);
		break;
	case PR_FORK:
	case PR_EXIT:
		take_task(c, r);
		break;
	case PR_LOST:
		take64(c);
		r->lost = take64(c);
		break;
	case PR_LOST_SAMPLES:
		r->lost = take64(c);
		break;
	case PR_THROTTLE:
	case PR_UNTHROTTLE:
		r->at = take64(c);
		take(c, 16);
		break;
	case PR_COMM:
	case PR_SWITCH_CPU_WIDE: /* the one that is switched to, or from */
	case PR_ITRACE_START:
	case PR_READ:
	case PR_NAMESPACES:
		take_who(c, f, r);
		break;
	case PR_AUX:
		r->at = take64(c);
		r->len = take64(c);
		take64(c);
		break;
	case PR_KSYMBOL:
		take_ksymbol(c, r);
		break;
	case PR_CGROUP:
		r->cgroup = take64(c);
		r->name = take_name(c);
		break;
	case PR_TEXT_POKE:
		r->at = take64(c);
		r->len = take16(c);
		r->pgoff = take16(c);
		take(c, r->len + r->pgoff);
		break;
	default:
		break;
	}
}

static bool take_head(struct cursor *c, struct prec *r)
{
	u32 size;

	*r = (struct prec){ .raw = c->s };
	size = (u32)str_len(c->s);
	r->type = take32(c);
	r->misc = (u16)take16(c);
	r->mode = r->misc & 7;
	if (r->mode >= PM_MODES)
		r->mode = PM_UNKNOWN;
	return take16(c) == size && !c->cut;
}

/* Which event a record is of, by f's bits as ring_time(): the ID or IDENTIFIER; 0 where it has none. */
u64 prec_id(struct str rec, const struct pformat *f)
{
	struct pformat only = *f;
	struct cursor c = { rec, false };
	struct prec r;

	if (!take_head(&c, &r))
		return 0;
	if (r.type == PR_SAMPLE) {
		only.sample_type &= PS_IDENTIFIER | PS_IP | PS_TID | PS_TIME | PS_ADDR | PS_ID;
		take_sample(&c, &only, &r);
	} else {
		take_sample_id(&c, &only, &r);
	}
	return c.cut ? 0 : r.id;
}

/* A record's bytes as values; false where it ends too early. Types that we do not know are fine. */
bool prec_decode(struct str rec, const struct pformat *f, struct prec *r)
{
	struct cursor c = { rec, false };

	if (!take_head(&c, r))
		return false;
	if (r->type == PR_SAMPLE) {
		take_sample(&c, f, r);
	} else {
		take_sample_id(&c, f, r);
		take_event(&c, f, r);
	}
	return !c.cut;
}

/* PERF_CONTEXT_*: an entry that says whose the following ones are. */
static const struct {
	i16 entry;
	u8 mode;
} contexts[] = {
	{ -32, PM_HV }, { -128, PM_KERNEL }, { -512, PM_USER },
	{ -2048, PM_UNKNOWN }, { -2176, PM_GUEST_KERNEL }, { -2560, PM_GUEST_USER },
};

/* The next address of a callchain, innermost first. *mode starts as the sample's. */
bool chain_next(struct str *chain, u8 *mode, u64 *ip)
{
	while (chain->e - chain->p >= 8) {
		*ip = load64(chain->p);
		chain->p += 8;
		if (*ip < (u64)-4095) /* PERF_CONTEXT_MAX */
			return true;
		*mode = PM_UNKNOWN;
		for (size_t i = 0; i < LEN(contexts); i++)
			if ((i64)*ip == contexts[i].entry)
				*mode = contexts[i].mode;
	}
	return false;
}

/* Each counter of a reading; *i starts at 0. */
bool values_next(struct str values, u64 read_format, size_t *i, struct pvalue *v)
{
	struct cursor c = { values, false };
	size_t each = 1 + words(read_format & (PF_ID | PF_LOST));
	u64 n = read_format & PF_GROUP ? take64(&c) : 1;

	*v = (struct pvalue){ 0 };
	if (*i >= n)
		return false;
	if (!(read_format & PF_GROUP))
		v->value = take64(&c);
	v->enabled = read_format & PF_ENABLED ? take64(&c) : 0;
	v->running = read_format & PF_RUNNING ? take64(&c) : 0;
	if (read_format & PF_GROUP) {
		take_n(&c, *i, 8 * each);
		v->value = take64(&c);
	}
	v->id = read_format & PF_ID ? take64(&c) : 0;
	v->lost = read_format & PF_LOST ? take64(&c) : 0;
	++*i;
	return !c.cut;
}

/* --- OA reports -----------------------------------------------------------------------------------------
 * enum drm_i915_oa_format of drm/i915_drm.h and xe_oa_format of drivers/gpu/drm/xe/xe_oa.c; where counters
 * lie is of the i915 perf wiki page (A45, A32u40), of IGT's tests/intel/perf.c and xe/perf.c, and of Intel's
 * metrics-discovery (PEC). B and C always are 32 bits wide and side by side. Slots that a report has no
 * counter for keep what was in them. */

#define U32(slot, n, at)       { slot, n, OW_U32, 0, at }
#define U40(slot, n, at, high) { slot, n, OW_U40, high, at }
#define U64(slot, n, at)       { slot, n, OW_U64, 0, at }
#define B8_C8(at)              U32(OA_B, 16, at)
#define RUNS(...) \
	.nruns = sizeof((struct oarun[]){ __VA_ARGS__ }) / sizeof(struct oarun), .runs = (const struct oarun[]){ __VA_ARGS__ }
/* DRM_XE_OA_FMT_TYPE_*, counter select, counter size, BC report; and the number of IGT's enum
 * intel_xe_oa_format_name, lib/xe/xe_oa.h. */
#define XE(number, type, select, wide, bc) number, true, .xe = (type) | (select) << 8 | (wide) << 16 | (bc) << 24
#define NO_XE 0, false
enum { OAG = 0, OAR = 1, OAC = 3, OAM_MPEC = 4, PEC = 5 };

/* IGT's tables differ in some formats that hardly anybody uses: A12 there begins with the clock, and the A of
 * B4_C8_A16 and the B of C4_B8 begin in the counter before. C4_B8 has gen7's header there. */
const struct oaformat oaformats[] = {
	{ "A13", NULL, "A", 64, OH_GEN7, 1, NO_XE, RUNS(U32(OA_A, 13, 12)) },
	{ "A29", NULL, "A", 128, OH_GEN7, 2, NO_XE, RUNS(U32(OA_A, 29, 12)) },
	{ "A13_B8_C8", NULL, "A", 128, OH_GEN7, 3, NO_XE, RUNS(U32(OA_A, 13, 12), B8_C8(64)) },
	{ "B4_C8", NULL, "A", 64, OH_GEN7, 4, NO_XE, RUNS(U32(OA_B, 4, 16), U32(OA_C, 8, 32)) },
	{ "A45_B8_C8", NULL, "A", 256, OH_GEN7, 5, NO_XE, RUNS(U32(OA_A, 45, 12), B8_C8(192)) },
	{ "B4_C8_A16", NULL, "A", 128, OH_GEN7, 6, NO_XE,
	  RUNS(U32(OA_B, 4, 16), U32(OA_C, 8, 32), U32(OA_A + 29, 16, 64)) },
	{ "C4_B8", NULL, "A", 64, OH_GEN8, 7, XE(1, OAG, 7, 0, 0), RUNS(U32(OA_C, 4, 16), U32(OA_B, 8, 32)) },
	{ "A12", NULL, "A", 64, OH_GEN8, 8, XE(2, OAG, 0, 0, 0), RUNS(U32(OA_A + 7, 12, 16)) },
	{ "A12_B8_C8", NULL, "A", 128, OH_GEN8, 9, XE(3, OAG, 2, 0, 0), RUNS(U32(OA_A + 7, 12, 16), B8_C8(64)) },
	{ "A32u40_A4u32_B8_C8", NULL, "A", 256, OH_GEN8, 10, XE(4, OAG, 5, 0, 0),
	  RUNS(U40(OA_A, 32, 16, 160), U32(OA_A + 32, 4, 144), B8_C8(192)) },
	{ "OAR_A32u40_A4u32_B8_C8", NULL, "A", 256, OH_GEN8, 11, XE(5, OAR, 5, 0, 0),
	  RUNS(U40(OA_A, 32, 16, 160), U32(OA_A + 32, 4, 144), B8_C8(192)) },
	/* A36 and A37 lie where the high bytes of A0 to A3 and A24 to A27 would. */
	{ "A24u40_A14u32_B8_C8", "256B_GENERIC_NOA16", "A", 256, OH_GEN8, 12, XE(6, OAG, 5, 0, 0),
	  RUNS(U32(OA_A, 4, 16), U40(OA_A + 4, 20, 32, 164), U32(OA_A + 24, 4, 112), U40(OA_A + 28, 4, 128, 188),
	    U32(OA_A + 32, 5, 144), U32(OA_A + 37, 1, 184), B8_C8(192)) },
	/* Those of the compute engine's unit are called by their places: which of the A counters they are is not published
	 * for all. The two R of the second stand behind its 22 A. */
	{ "OAC_A24u64_B8_C8", NULL, "A", 320, OH_WIDE, 0, XE(7, OAC, 1, 0, 0), RUNS(U64(OA_A, 24, 32), B8_C8(224)) },
	{ "OAC_A22u32_R2u32_B8_C8", NULL, "A", 192, OH_WIDE, 0, XE(8, OAC, 2, 0, 0),
	  RUNS(U32(OA_A, 24, 32), B8_C8(128)) },
	{ "OAM_MPEC8u64_B8_C8", "192B_MPEC8LL_NOA16", "M", 192, OH_WIDE, 13, XE(9, OAM_MPEC, 1, 0, 0),
	  RUNS(U64(OA_A, 8, 32), B8_C8(96)) },
	{ "OAM_MPEC8u32_B8_C8", "128B_MPEC8_NOA16", "M", 128, OH_WIDE, 14, XE(10, OAM_MPEC, 2, 0, 0),
	  RUNS(U32(OA_A, 8, 32), B8_C8(64)) },
	{ "PEC64u64", "576B_PEC64LL", "PEC", 576, OH_WIDE, 0, XE(11, PEC, 1, 1, 0), RUNS(U64(OA_A, 64, 32)) },
	{ "PEC64u64_B8_C8", "640B_PEC64LL_NOA16", "PEC", 640, OH_WIDE, 0, XE(12, PEC, 1, 1, 1),
	  RUNS(U64(OA_A, 64, 32), B8_C8(544)) },
	{ "PEC64u32", "320B_PEC64", "PEC", 320, OH_WIDE, 0, XE(13, PEC, 1, 0, 0), RUNS(U32(OA_A, 64, 32)) },
	/* Groups: 1 is PEC0 to 31, 2 the others. */
	{ "PEC32u64_G1", NULL, "PEC", 320, OH_WIDE, 0, XE(14, PEC, 5, 1, 0), RUNS(U64(OA_A, 32, 32)) },
	{ "PEC32u32_G1", NULL, "PEC", 192, OH_WIDE, 0, XE(15, PEC, 5, 0, 0), RUNS(U32(OA_A, 32, 32)) },
	{ "PEC32u64_G2", NULL, "PEC", 320, OH_WIDE, 0, XE(16, PEC, 6, 1, 0), RUNS(U64(OA_A + 32, 32, 32)) },
	{ "PEC32u32_G2", NULL, "PEC", 192, OH_WIDE, 0, XE(17, PEC, 6, 0, 0), RUNS(U32(OA_A + 32, 32, 32)) },
	{ "PEC36u64_G1_32_G2_4", NULL, "PEC", 320, OH_WIDE, 0, XE(18, PEC, 3, 1, 0), RUNS(U64(OA_A, 36, 32)) },
	{ "PEC36u64_G1_4_G2_32", NULL, "PEC", 320, OH_WIDE, 0, XE(19, PEC, 4, 1, 0),
	  RUNS(U64(OA_A, 4, 32), U64(OA_A + 32, 32, 64)) },
};

const size_t noaformats = LEN(oaformats);

const char *const oareason_names[OA_REASONS] = {
	"unknown", "timer", "trigger1", "trigger2", "context-switch", "go-transition", "clock-ratio-change", "mmio-trigger",
};

/* By its own name, or by that of metric files. */
const struct oaformat *oaformat_named(struct str name)
{
	for (size_t i = 0; i < noaformats && str_len(name); i++)
		if (str_is(name, oaformats[i].name) || str_is(name, oaformats[i].xml))
			return &oaformats[i];
	return NULL;
}

/* By the number that DEVICE_INFO has; i915's is that of its property. */
const struct oaformat *oaformat_recorded(bool xe, u32 number)
{
	for (size_t i = 0; i < noaformats && number; i++)
		if (number == (xe ? oaformats[i].recorded : oaformats[i].i915))
			return &oaformats[i];
	return NULL;
}

/* Timestamps wrap at 2^32, those of wide headers at 2^56. */
static u64 ts_mask(const struct oaformat *f)
{
	return f->head == OH_WIDE ? ((u64)1 << 56) - 1 : UINT32_MAX;
}

HOT static u64 report_ts(const struct oaformat *f, const char *report)
{
	return (f->head == OH_WIDE ? load64(report + 8) : load32(report + 4)) & ts_mask(f);
}

/* From one timestamp to another. */
u64 oa_ts_delta(const struct oaformat *f, u64 from, u64 to)
{
	return (to - from) & ts_mask(f);
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

/* Haswell says no reason; the timer fires as its bit of the timestamp is set and the ones below are not. */
static u8 gen7_reason(i32 exponent, u64 ts)
{
	if (exponent < 0 || exponent > 31 || (ts & (((u64)2 << exponent) - 1)) == (u64)1 << exponent)
		return OA_TIMER;
	return OA_UNKNOWN;
}

/* report: 32 bytes of it are enough. */
void oareport_head(const struct oaformat *f, u16 gen, i32 exponent, const char *report, struct oareport *r)
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
	r->reason = gen < 2000 ? first_reason(id >> 19 & (gen < 1200 ? 0x3f : 0x7f)) : OA_UNKNOWN; /* nobody has said what they are there */
	/* i915 writes 0xffffffff over the contexts that are invalid, or not ours to see. From 12.55 on the bit is
	 * set by a context that switches in, only. */
	r->has_ctx = r->ctx != UINT32_MAX && (gen >= 1255 || id >> (gen < 900 ? 25 : 16) & 1);
	/* In units of 50/3 MHz. */
	r->unslice_hz = (id & 0x1ff) * (u64)50000000 / 3;
	r->slice_hz = ((id >> 9 & 3) << 7 | id >> 25) * (u64)50000000 / 3;
}

/* slots: OA_SLOTS of them, or NULL for all. */
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

/* Counters `from` to `to` of those that begin at a and b. By index, since each pointer that moved would be one more step for
 * each counter. */
HOT static void add_u32(const char *a, const char *b, size_t from, size_t to, u64 *sum)
{
	for (size_t i = from; i < to; i++)
		sum[i] += load32(b + 4 * i) - load32(a + 4 * i);
}

HOT static u64 delta_u40(const char *a, const char *ahigh, const char *b, const char *bhigh, size_t i)
{
	u64 low = (u64)load32(b + 4 * i) - load32(a + 4 * i), high = (u64)(u8)bhigh[i] - (u8)ahigh[i];

	return (low + (high << 32)) & 0xffffffffff;
}

HOT static void add_u40(const char *a, const char *ah, const char *b, const char *bh, size_t from, size_t to, u64 *sum)
{
	for (size_t i = from; i < to; i++)
		sum[i] += delta_u40(a, ah, b, bh, i);
}

HOT static void add_u64(const char *a, const char *b, size_t from, size_t to, u64 *sum)
{
	for (size_t i = from; i < to; i++)
		sum[i] += load64(b + 8 * i) - load64(a + 8 * i);
}

/* Called for each report, of which there are 100 000 in a second: a loop over neighbours for each width. That a part ends
 * with its run is asked here, where it can be seen that a run ends with the report and its slots with the sum. */
HOT void oa_add(const struct oaplan *p, const char *a, const char *b, u64 *sum)
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
				add_u40(a + r->at, a + r->high, b + r->at, b + r->high, part->from, to, sum + r->slot);
			else
				add_u64(a + r->at, b + r->at, part->from, to, sum + r->slot);
		}
	}
}

/* v: OA_SLOTS of them; 0 where the report has none. */
void oa_stored(const struct oaplan *p, const char *report, u64 *v)
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

/* The report before says whose the interval was, as in Mesa's accumulate_oa_reports(): this one may name whom
 * the context made room for. */
bool oafilter_takes(struct oafilter *f, const struct oareport *r)
{
	bool ours = f->last;

	f->last = r->has_ctx && (f->any || r->ctx == f->ctx);
	return ours;
}

/* --- OA records --------------------------------------------------------------------------------------------
 * struct drm_i915_perf_record_header; the types that only recordings have are those of IGT's lib/i915/perf_data.h
 * and lib/xe/xe_oa_data.h: u32 type, u16 padding, u16 size with these 8 bytes. */

enum { OAREC_HEAD = 8, OAREC_FILE = 1 << 16 /* i915: the first type of files */ };
enum { INFO_SET = 256, INFO_GUID = 40, INFO_BYTES = 36 + INFO_SET + INFO_GUID + 4 /* packed */ };

/* Of the types that have one; those of files follow those of the kernel. */
static u32 type_number(bool xe, u8 type)
{
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
	for (r->type = OT_SAMPLE; r->type < OT_UNKNOWN && type_number(xe, r->type) != r->number; r->type++)
		;
	return true;
}

/* A VERSION record, of whatever version, is the first. */
bool oarec_begins(struct str bytes, bool *xe)
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

/* n bytes, up to a NUL in them. */
static struct str name_of(const char *p, size_t n)
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
		name_of(p + 36, INFO_SET), name_of(p + 36 + INFO_SET, INFO_GUID),
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

static void put_zeros(struct buf *b, size_t n)
{
	while (n-- > 0)
		put_c(b, '\0');
}

/* A type of enum oatype up to OT_CORRELATION. TOPOLOGY ends on 8 bytes; a body that the size cannot hold makes
 * the buffer full. */
void put_oarec(struct buf *b, bool xe, u8 type, struct str body)
{
	size_t pad = type == OT_TOPOLOGY ? -str_len(body) % 8 : 0, size = OAREC_HEAD + str_len(body) + pad;
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

/* Text of n bytes, of which the last is NUL. */
static void put_name(struct buf *b, struct str s, size_t n)
{
	str_first(s, (i64)n - 1, &s);
	put_str(b, s);
	put_zeros(b, n - str_len(s));
}

/* The body. */
void put_oainfo(struct buf *b, const struct oainfo *i)
{
	const u32 v[] = { i->pci, i->revision, i->min_hz, i->max_hz, i->engine_class, i->engine_instance, i->format };

	put_n(b, (const char *)&i->ts_hz, sizeof(i->ts_hz));
	put_n(b, (const char *)v, sizeof(v));
	put_name(b, i->set, INFO_SET);
	put_name(b, i->guid, INFO_GUID);
	put_zeros(b, 4);
}

/* The report may lie on either side of the correlation, whose clock is a register of 36 bits, RING_TIMESTAMP:
 * what is nearest modulo what both have. */
u64 oa_cpu_time(const struct oaformat *f, u64 cpu_ns, u64 gpu_ts, u8 shift, u64 ts_hz, u64 ts)
{
	u64 mask = f->head == OH_WIDE ? ((u64)1 << 36) - 1 : UINT32_MAX;
	u64 ahead = (ts - (gpu_ts << (shift & 63))) & mask, behind = -ahead & mask, ns;

	if (!ts_hz)
		return cpu_ns;
	ns = muldiv(ahead < behind ? ahead : behind, 1000000000, ts_hz);
	if (ahead < behind)
		return cpu_ns > UINT64_MAX - ns ? UINT64_MAX : cpu_ns + ns;
	return cpu_ns < ns ? 0 : cpu_ns - ns;
}
