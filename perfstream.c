/* perfstream.c - records that the kernel hands out in binary, and what lies between two readings of a
 * counter. Pure: bytes in, values out. SPDX-License-Identifier: MIT */
#include "gpustat.h"

/* a*b/c, rounded down, in 128 bits; UINT64_MAX where it does not fit or c is 0. By hand, since 32-bit
 * targets have no 128-bit type. */
u64 muldiv(u64 a, u64 b, u64 c)
{
	u64 al = (u32)a, ah = a >> 32, bl = (u32)b, bh = b >> 32;
	u64 mid = ah * bl + (al * bl >> 32), mid2 = al * bh + (u32)mid;
	u64 hi = ah * bh + (mid >> 32) + (mid2 >> 32), lo = a * b, q = 0;

	if (hi >= c)
		return UINT64_MAX;
	if (hi == 0)
		return lo / c;
	for (int i = 0; i < 64; i++) {
		bool over = hi >> 63;

		hi = hi << 1 | lo >> 63;
		lo <<= 1;
		q <<= 1;
		if (over || hi >= c) {
			hi -= c;
			q |= 1;
		}
	}
	return q;
}

/* What was added between two readings; false where that cannot be known. */
bool course_delta(u8 course, u64 was, u64 now, u64 *d)
{
	*d = now - was;
	if (now >= was)
		return true;
	if (course == CO_WRAP32)
		*d = now + (1ull << 32) - was;
	else
		*d = 0;
	/* A value that 32 bits did not hold has not wrapped. */
	return course == CO_PEAK || (course == CO_WRAP32 && was <= UINT32_MAX);
}

/* From which value the next delta counts. */
u64 course_base(u8 course, u64 was, u64 now)
{
	return course == CO_PEAK && now < was ? was : now;
}

/* --- amdgpu's gpu_metrics ------------------------------------------------------------------------
 * struct gpu_metrics_v* of drivers/gpu/drm/amd/include/kgd_pp_interface.h, little endian: u16 size, u8
 * format revision, u8 content revision, then by revision what the rows below say. A field whose bits
 * are all set is not supported. Values: degrees C, %, W, MHz, 0.1 GT/s in v1; 1/100 of the first two
 * and mW in v2 and v3, but for v2's socket power, which newer firmware gives in W: hwmon has it right.
 * The registry keeps the first value that it gets for an instance: hwmon's and sysfs' come first. */

static const struct metricrow {
	u8 format, first, last; /* revisions */
	u16 offset;
	u8 width;
	u8 desc;
	const char *inst;
	u32 times;
} metricrows[] = {
	{ 1, 0, 0, 16, 2, D_TEMP, "edge", 1000 },
	{ 1, 0, 0, 18, 2, D_TEMP, "junction", 1000 },
	{ 1, 0, 0, 20, 2, D_TEMP, "mem", 1000 },
	{ 1, 0, 0, 22, 2, D_TEMP, "vrgfx", 1000 },
	{ 1, 0, 0, 24, 2, D_TEMP, "vrsoc", 1000 },
	{ 1, 0, 0, 26, 2, D_TEMP, "vrmem", 1000 },
	{ 1, 0, 0, 28, 2, D_GPU_BUSY, "", 1000 },
	{ 1, 0, 0, 30, 2, D_LOAD, "mem", 1000 },
	{ 1, 0, 0, 32, 2, D_LOAD, "mm", 1000 },
	{ 1, 0, 0, 34, 2, D_POWER, "PPT", 1000000 },
	{ 1, 0, 0, 54, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 1, 0, 0, 56, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 1, 0, 0, 58, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 1, 0, 0, 60, 2, D_FREQ_CUR, "vclk", 1000000 },
	{ 1, 0, 0, 62, 2, D_FREQ_CUR, "dclk", 1000000 },
	{ 1, 0, 0, 72, 2, D_FAN, "fan1", 1 },
	{ 1, 0, 0, 74, 1, D_LINK_WIDTH, "", 1 },
	{ 1, 0, 0, 75, 1, D_LINK_SPEED, "", 1 },

	{ 1, 1, 3, 4, 2, D_TEMP, "edge", 1000 },
	{ 1, 1, 3, 6, 2, D_TEMP, "junction", 1000 },
	{ 1, 1, 3, 8, 2, D_TEMP, "mem", 1000 },
	{ 1, 1, 3, 10, 2, D_TEMP, "vrgfx", 1000 },
	{ 1, 1, 3, 12, 2, D_TEMP, "vrsoc", 1000 },
	{ 1, 1, 3, 14, 2, D_TEMP, "vrmem", 1000 },
	{ 1, 1, 3, 16, 2, D_GPU_BUSY, "", 1000 },
	{ 1, 1, 3, 18, 2, D_LOAD, "mem", 1000 },
	{ 1, 1, 3, 20, 2, D_LOAD, "mm", 1000 },
	{ 1, 1, 3, 22, 2, D_POWER, "PPT", 1000000 },
	{ 1, 1, 3, 54, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 1, 1, 3, 56, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 1, 1, 3, 58, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 1, 1, 3, 60, 2, D_FREQ_CUR, "vclk", 1000000 },
	{ 1, 1, 3, 62, 2, D_FREQ_CUR, "dclk", 1000000 },
	{ 1, 1, 3, 72, 2, D_FAN, "fan1", 1 },
	{ 1, 1, 3, 74, 2, D_LINK_WIDTH, "", 1 },
	{ 1, 1, 3, 76, 2, D_LINK_SPEED, "", 1 },
	{ 1, 3, 3, 104, 2, D_VOLT, "vddsoc", 1 },
	{ 1, 3, 3, 106, 2, D_VOLT, "vddgfx", 1 },
	{ 1, 3, 3, 108, 2, D_VOLT, "vddmem", 1 },

	{ 1, 4, 5, 4, 2, D_TEMP, "junction", 1000 },
	{ 1, 4, 5, 6, 2, D_TEMP, "mem", 1000 },
	{ 1, 4, 5, 8, 2, D_TEMP, "vrsoc", 1000 },
	{ 1, 4, 5, 10, 2, D_POWER, "PPT", 1000000 },
	{ 1, 4, 5, 12, 2, D_GPU_BUSY, "", 1000 },
	{ 1, 4, 5, 14, 2, D_LOAD, "mem", 1000 },
	{ 1, 4, 5, 16, 2, D_LOAD, "vcn", 1000 },
	{ 1, 4, 4, 24, 8, D_ENERGY, "PPT", 1 },
	{ 1, 5, 5, 88, 8, D_ENERGY, "PPT", 1 },
	{ 1, 4, 4, 48, 2, D_LINK_WIDTH, "", 1 },
	{ 1, 4, 4, 50, 2, D_LINK_SPEED, "", 1 },
	{ 1, 4, 4, 240, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 1, 4, 4, 280, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 1, 5, 5, 112, 2, D_LINK_WIDTH, "", 1 },
	{ 1, 5, 5, 114, 2, D_LINK_SPEED, "", 1 },
	{ 1, 5, 5, 312, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 1, 5, 5, 352, 2, D_FREQ_CUR, "mclk", 1000000 },

	{ 2, 0, 0, 16, 2, D_TEMP, "edge", 10 },
	{ 2, 0, 0, 18, 2, D_TEMP, "soc", 10 },
	{ 2, 0, 0, 40, 2, D_GPU_BUSY, "", 10 },
	{ 2, 0, 0, 42, 2, D_LOAD, "mm", 10 },
	{ 2, 0, 0, 50, 2, D_POWER, "gfx", 1000 },
	{ 2, 0, 0, 80, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 2, 0, 0, 82, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 2, 0, 0, 84, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 2, 0, 0, 86, 2, D_FREQ_CUR, "fclk", 1000000 },
	{ 2, 0, 0, 88, 2, D_FREQ_CUR, "vclk", 1000000 },
	{ 2, 0, 0, 90, 2, D_FREQ_CUR, "dclk", 1000000 },

	{ 2, 1, 4, 4, 2, D_TEMP, "edge", 10 },
	{ 2, 1, 4, 6, 2, D_TEMP, "soc", 10 },
	{ 2, 1, 4, 28, 2, D_GPU_BUSY, "", 10 },
	{ 2, 1, 4, 30, 2, D_LOAD, "mm", 10 },
	{ 2, 1, 4, 46, 2, D_POWER, "gfx", 1000 },
	{ 2, 1, 4, 76, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 2, 1, 4, 78, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 2, 1, 4, 80, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 2, 1, 4, 82, 2, D_FREQ_CUR, "fclk", 1000000 },
	{ 2, 1, 4, 84, 2, D_FREQ_CUR, "vclk", 1000000 },
	{ 2, 1, 4, 86, 2, D_FREQ_CUR, "dclk", 1000000 },
	{ 2, 4, 4, 154, 2, D_VOLT, "vddnb", 1 },
	{ 2, 4, 4, 156, 2, D_VOLT, "vddgfx", 1 },

	{ 3, 0, 0, 4, 2, D_TEMP, "edge", 10 },
	{ 3, 0, 0, 6, 2, D_TEMP, "soc", 10 },
	{ 3, 0, 0, 112, 4, D_POWER, "PPT", 1000 },
	{ 3, 0, 0, 124, 4, D_POWER, "gfx", 1000 },
	{ 3, 0, 0, 174, 2, D_FREQ_CUR, "sclk", 1000000 },
	{ 3, 0, 0, 176, 2, D_FREQ_CUR, "socclk", 1000000 },
	{ 3, 0, 0, 186, 2, D_FREQ_CUR, "mclk", 1000000 },
	{ 3, 0, 0, 182, 2, D_FREQ_CUR, "fclk", 1000000 },
};

/* indep_throttle_status: SMU_THROTTLER_*_BIT of drivers/gpu/drm/amd/pm/swsmu/inc/amdgpu_smu.h */
static const struct {
	u8 bit;
	const char *reason;
} throttlers[] = {
	{ 0, "ppt0" },       { 1, "ppt1" },       { 2, "ppt2" },         { 3, "ppt3" },
	{ 4, "spl" },        { 5, "fppt" },       { 6, "sppt" },         { 7, "sppt_apu" },
	{ 16, "tdc_gfx" },   { 17, "tdc_soc" },   { 18, "tdc_mem" },     { 19, "tdc_vdd" },
	{ 20, "tdc_cvip" },  { 21, "edc_cpu" },   { 22, "edc_gfx" },     { 23, "apcc" },
	{ 32, "temp_gpu" },  { 33, "temp_core" }, { 34, "temp_mem" },    { 35, "temp_edge" },
	{ 36, "temp_hotspot" }, { 37, "temp_soc" }, { 38, "temp_vr_gfx" }, { 39, "temp_vr_soc" },
	{ 40, "temp_vr_mem0" }, { 41, "temp_vr_mem1" }, { 42, "temp_liquid0" }, { 43, "temp_liquid1" },
	{ 44, "vrhot0" },    { 45, "vrhot1" },    { 46, "prochot_cpu" }, { 47, "prochot_gfx" },
	{ 56, "ppm" },       { 57, "fit" },
};

/* An unsigned little-endian number; false if the blob, or the size that it states, ends before it, or if
 * all its bits are set. */
static bool le(struct str blob, size_t offset, size_t width, u64 *v)
{
	u64 x = 0;
	bool set = false;
	size_t n = str_len(blob), stated;

	if (n < 4)
		return false;
	stated = (size_t)((u8)blob.p[0] | (u8)blob.p[1] << 8);
	if (offset + width > n || offset + width > stated)
		return false;
	for (size_t i = width; i > 0; i--) {
		u8 byte = (u8)blob.p[offset + i - 1];

		x = x << 8 | byte;
		set |= byte != 0xff;
	}
	*v = x;
	return set;
}

/* Each value that this revision has, in the order of the rows; *row starts at 0. */
bool metrics_next(struct str blob, size_t *row, struct metric *m)
{
	while (str_len(blob) >= 4 && *row < LEN(metricrows)) {
		const struct metricrow *r = &metricrows[(*row)++];
		u64 v;

		if ((u8)blob.p[2] != r->format || (u8)blob.p[3] < r->first || (u8)blob.p[3] > r->last)
			continue;
		if (!le(blob, r->offset, r->width, &v))
			continue;
		/* Some SMU11 parts give the PCIe generation here, 1 to 4. */
		if (r->desc == D_LINK_SPEED && v < 10)
			continue;
		/* Energy is in 2^-16 J, which is 15625/1024 uJ; revisions before 1.4 count in a unit of their own. */
		*m = (struct metric){ r->desc, r->inst, r->desc == D_ENERGY ? muldiv(v, 15625, 1024) : v * r->times };
		return true;
	}
	return false;
}

/* Formats 2 and 3 are those of processors with a GPU in them. */
bool metrics_is_apu(struct str blob)
{
	return str_len(blob) >= 4 && ((u8)blob.p[2] == 2 || (u8)blob.p[2] == 3);
}

/* Each reason to throttle that means the same on every chip; *bit starts at 0. */
bool metrics_throttle(struct str blob, size_t *bit, const char **reason, bool *on)
{
	size_t offset = 0;
	u64 v;

	if (str_len(blob) < 4 || *bit >= LEN(throttlers))
		return false;
	if (blob.p[2] == 1 && blob.p[3] == 3)
		offset = 112;
	else if (blob.p[2] == 2 && blob.p[3] >= 2 && blob.p[3] <= 4)
		offset = 120;
	if (!offset || !le(blob, offset, 8, &v))
		return false;
	*reason = throttlers[*bit].reason;
	*on = v >> throttlers[*bit].bit & 1;
	++*bit;
	return true;
}

/* --- perf rings -----------------------------------------------------------------------------------
 * Layouts: linux/perf_event.h; order of the fields of a sample: perf_output_sample() in
 * kernel/events/core.c, since the header has the last ones in another order. */

/* n bytes from where a ring was `at` bytes long; they may lie on both sides of its end. */
static void ring_load(const struct ring *r, u64 at, char *to, size_t n)
{
	size_t from = (size_t)(at & (r->size - 1)), left = (size_t)r->size - from;

	if (n <= left) {
		memcpy(to, r->p + from, n);
		return;
	}
	memcpy(to, r->p + from, left);
	memcpy(to + left, r->p, n - left);
}

/* The size of the next record; 0 where there is none, or none that could be one. */
static size_t ring_size(const struct ring *r)
{
	u64 n = r->head - r->tail;
	u16 size;

	if (n < 8 || n > r->size || (r->size & (r->size - 1)) || r->tail % 8)
		return 0;
	ring_load(r, r->tail + 6, (char *)&size, sizeof(size));
	return size < 8 || size % 8 || size > n ? 0 : size;
}

/* The next whole record, in scratch (PERF_RECORD_BYTES) where it goes over the ring's end. Behind a header
 * that cannot be one nothing says where the next would be: the rest is passed over, and counted. */
bool ring_next(struct ring *r, char *scratch, struct str *rec)
{
	size_t n = ring_size(r), from;

	if (!n) {
		r->corrupt += r->tail != r->head;
		r->tail = r->head;
		return false;
	}
	from = (size_t)(r->tail & (r->size - 1));
	if (n > r->size - from) {
		ring_load(r, r->tail, scratch, n);
		*rec = (struct str){ scratch, scratch + n };
	} else {
		*rec = (struct str){ r->p + from, r->p + from + n };
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
	u32 type;

	*time = 0;
	if (!n)
		return false;
	ring_load(r, r->tail, (char *)&type, sizeof(type));
	at = time_at(type, n, f);
	if (at && at + 8 <= n)
		ring_load(r, r->tail + at, (char *)time, sizeof(*time));
	return true;
}

/* --- perf records ------------------------------------------------------------------------------------- */

/* Reads on until something is missing; all that follows is 0 then. */
struct cursor {
	struct str s;
	bool cut;
};

static struct str take(struct cursor *c, u64 n)
{
	struct str piece = { c->s.p, c->s.p };

	if (n > str_len(c->s)) {
		c->cut = true;
		c->s.p = c->s.e;
		return piece;
	}
	piece.e = c->s.p + n;
	c->s.p = piece.e;
	return piece;
}

static u64 take64(struct cursor *c)
{
	struct str s = take(c, 8);
	u64 v = 0;

	if (str_len(s) == sizeof(v))
		memcpy(&v, s.p, sizeof(v));
	return v;
}

static u32 take32(struct cursor *c)
{
	struct str s = take(c, 4);
	u32 v = 0;

	if (str_len(s) == sizeof(v))
		memcpy(&v, s.p, sizeof(v));
	return v;
}

static u32 take16(struct cursor *c)
{
	struct str s = take(c, 2);
	u16 v = 0;

	if (str_len(s) == sizeof(v))
		memcpy(&v, s.p, sizeof(v));
	return v;
}

/* n entries of so many bytes. */
static struct str take_n(struct cursor *c, u64 n, size_t each)
{
	return take(c, n > str_len(c->s) / each ? UINT64_MAX : n * each);
}

/* What ends at the first NUL of what is left; records pad such text with NULs. */
static struct str take_name(struct cursor *c)
{
	struct str s = c->s;
	const char *nul = s.p < s.e ? memchr(s.p, '\0', str_len(s)) : NULL;

	c->s.p = c->s.e;
	if (nul)
		s.e = nul;
	return s;
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

static void take_sample(struct cursor *c, const struct pformat *f, struct prec *r)
{
	u64 t = f->sample_type;

	r->have = t;
	if (t & PS_IDENTIFIER)
		r->id = take64(c);
	if (t & PS_IP)
		r->ip = take64(c);
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
	id.s.p = c->s.e - n;
	c->s.e = id.s.p;
	r->have = n ? f->sample_type & all : 0;
	if (r->have & PS_TID) {
		r->pid = take32(&id);
		r->tid = take32(&id);
	}
	if (r->have & PS_TIME)
		r->time = take64(&id);
	if (r->have & PS_ID)
		r->id = take64(&id);
	if (r->have & PS_STREAM_ID)
		r->stream = take64(&id);
	if (r->have & PS_CPU) {
		r->cpu = take32(&id);
		take32(&id);
	}
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

		if (str_len(id) == 24 && (u8)id.p[0] <= 20)
			r->build_id = (struct str){ id.p + 4, id.p + 4 + (u8)id.p[0] };
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
	i64 entry;
	u8 mode;
} contexts[] = {
	{ -32, PM_HV }, { -128, PM_KERNEL }, { -512, PM_USER },
	{ -2048, PM_UNKNOWN }, { -2176, PM_GUEST_KERNEL }, { -2560, PM_GUEST_USER },
};

/* The next address of a callchain, innermost first. *mode starts as the sample's. */
bool chain_next(struct str *chain, u8 *mode, u64 *ip)
{
	while (str_len(*chain) >= sizeof(*ip)) {
		memcpy(ip, chain->p, sizeof(*ip));
		chain->p += sizeof(*ip);
		if (*ip < (u64)-4095) /* PERF_CONTEXT_MAX */
			return true;
		*mode = PM_UNKNOWN;
		for (size_t i = 0; i < LEN(contexts); i++)
			if (*ip == (u64)contexts[i].entry)
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
