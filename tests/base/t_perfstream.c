/* t_perfstream.c - perf's ring buffers and records.
 * SPDX-License-Identifier: MIT */
#include "unit.h"

/* --- perf records ----------------------------------------------------------------------------- */

/* A record that is built as perf_output_sample() and similar functions do, in native byte order. */
static struct {
	char b[PERF_RECORD_BYTES];
	size_t n;
} made;

static void w(const void *p, size_t n)
{
	memcpy(made.b + made.n, p, n);
	made.n += n;
}

static void w16(u16 v)
{
	w(&v, sizeof(v));
}

static void w32(u32 v)
{
	w(&v, sizeof(v));
}

static void w64(u64 v)
{
	w(&v, sizeof(v));
}

static void w_head(u32 type, u16 misc)
{
	made.n = 0;
	w32(type);
	w16(misc);
	w16(0);
}

static void w_name(const char *name)
{
	w(name, strlen(name) + 1);
	while (made.n % 8)
		w("", 1);
}

/* Sets the size of the record, and copies it to the end of mapped memory. */
static struct str w_end(void)
{
	u16 n = (u16)made.n;

	memcpy(made.b + 6, &n, sizeof(n));
	return edge_str(made.b, made.n);
}

static void w_sample_id(const struct pformat *f)
{
	u64 t = f->id_all ? f->sample_type : 0;

	if (t & PS_TID) {
		w32(101);
		w32(102);
	}
	if (t & PS_TIME)
		w64(103);
	if (t & PS_ID)
		w64(104);
	if (t & PS_STREAM_ID)
		w64(105);
	if (t & PS_CPU) {
		w32(106);
		w32(0);
	}
	if (t & PS_IDENTIFIER)
		w64(104);
}

static bool id_is(const struct prec *r, const struct pformat *f)
{
	u64 t = f->id_all ? f->sample_type : 0;

	return (!(t & PS_TID) || (r->pid == 101 && r->tid == 102)) && (!(t & PS_TIME) || r->time == 103) &&
	       (!(t & (PS_ID | PS_IDENTIFIER)) || r->id == 104) && (!(t & PS_STREAM_ID) || r->stream == 105) &&
	       (!(t & PS_CPU) || r->cpu == 106);
}

/* Counts errors: a truncated record must be refused, whatever size its header has, and no part of a
 * decoded record may be outside of it. */
static size_t cut_wrongs(const struct pformat *f, size_t least)
{
	size_t wrong = 0;

	for (size_t n = 0; n < made.n; n++) {
		struct str s = edge_str(made.b, n);
		struct prec r;
		u16 size = (u16)n;

		wrong += prec_decode(s, f, &r);
		prec_id(s, f);
		if (n < 8)
			continue;
		memcpy(edge_page(n) + 6, &size, sizeof(size));
		wrong += prec_decode(s, f, &r) && n < least;
		wrong += !within(r.name, s) || !within(r.chain, s) || !within(r.values, s) || !within(r.build_id, s);
	}
	return wrong;
}

static const struct pformat some_ids[] = {
	{ 0 },
	{ .sample_type = PS_TID | PS_TIME, .id_all = true },
	{ .sample_type = PS_IDENTIFIER | PS_TID | PS_TIME | PS_CPU | PS_IP | PS_PERIOD, .id_all = true },
	{ .sample_type = PS_TID | PS_TIME | PS_ID | PS_STREAM_ID | PS_CPU | PS_IDENTIFIER, .id_all = true },
	{ .sample_type = PS_TIME | PS_CPU, .id_all = false },
};

static void w_body(u32 type)
{
	switch (type) {
	case PR_MMAP:
	case PR_MMAP2:
		w32(11);
		w32(12);
		w64(0x400000);
		w64(0x1000);
		w64(0x2000);
		if (type == PR_MMAP2) {
			w32(8);
			w32(1);
			w64(777);
			w64(3);
			w32(5);
			w32(2);
		}
		w_name("/bin/true");
		break;
	case PR_FORK:
	case PR_EXIT:
		w32(11);
		w32(21);
		w32(12);
		w32(22);
		w64(99);
		break;
	case PR_LOST:
		w64(5);
		w64(41);
		break;
	case PR_LOST_SAMPLES:
		w64(41);
		break;
	case PR_THROTTLE:
	case PR_UNTHROTTLE:
		w64(99);
		w64(1);
		w64(2);
		break;
	case PR_KSYMBOL:
		w64(0x400000);
		w32(0x1000);
		w16(1);
		w16(2);
		w_name("bpf_prog_x");
		break;
	case PR_CGROUP:
		w64(55);
		w_name("/user.slice");
		break;
	case PR_TEXT_POKE:
		w64(0x400000);
		w16(5);
		w16(3);
		w64(0);
		break;
	case PR_NAMESPACES:
		w32(11);
		w32(12);
		w64(2);
		for (int i = 0; i < 4; i++)
			w64(1);
		break;
	case PR_AUX:
		w64(0x400000);
		w64(0x1000);
		w64(0);
		break;
	case PR_SWITCH:
	case 99: /* a record type of a future kernel */
		break;
	default: /* COMM, SWITCH_CPU_WIDE, ITRACE_START, READ */
		w32(11);
		w32(12);
		if (type == PR_COMM)
			w_name("a b");
		if (type == PR_READ)
			w64(1234);
		break;
	}
}

static bool body_is(u32 type, const struct prec *r)
{
	static const char *const names[] = { [PR_MMAP] = "/bin/true", [PR_MMAP2] = "/bin/true", [PR_COMM] = "a b",
					     [PR_KSYMBOL] = "bpf_prog_x", [PR_CGROUP] = "/user.slice" };
	bool map = type == PR_MMAP || type == PR_MMAP2, task = type == PR_FORK || type == PR_EXIT;
	bool named = type < LEN(names) && names[type];

	return r->type == type && r->mode == PM_USER && (!named || str_eq(r->name, str_z(names[type]))) &&
	       (!(map || task || type == PR_COMM || type == PR_NAMESPACES || type == PR_SWITCH_CPU_WIDE) ||
		(r->who == 11 && r->who_tid == 12)) &&
	       (!map || (r->at == 0x400000 && r->len == 0x1000 && r->pgoff == 0x2000)) &&
	       (type != PR_MMAP2 || (r->major == 8 && r->minor == 1 && r->ino == 777 && r->generation == 3 &&
				     r->prot == 5 && r->flags == 2)) &&
	       (!task || (r->parent == 21 && r->parent_tid == 22 && r->at == 99)) &&
	       (type != PR_KSYMBOL || (r->at == 0x400000 && r->len == 0x1000 && r->prot == 1 && r->flags == 2)) &&
	       (type != PR_CGROUP || r->cgroup == 55) && (type != PR_TEXT_POKE || (r->len == 5 && r->pgoff == 3)) &&
	       r->lost == (type == PR_LOST || type == PR_LOST_SAMPLES ? 41 : 0);
}

static void t_records(void)
{
	static const u32 types[] = {
		PR_MMAP, PR_LOST, PR_COMM, PR_EXIT, PR_THROTTLE, PR_UNTHROTTLE, PR_FORK, PR_READ, PR_MMAP2, PR_AUX,
		PR_ITRACE_START, PR_LOST_SAMPLES, PR_SWITCH, PR_SWITCH_CPU_WIDE, PR_NAMESPACES, PR_KSYMBOL, PR_CGROUP,
		PR_TEXT_POKE, 99,
	};

	for (size_t k = 0; k < LEN(types); k++) {
		size_t wrong = 0, cut = 0;

		for (size_t i = 0; i < LEN(some_ids); i++) {
			struct prec r;
			struct str s;
			size_t named;

			w_head(types[k], PM_USER);
			w_body(types[k]);
			named = types[k] == PR_MMAP || types[k] == PR_MMAP2 || types[k] == PR_COMM ||
				types[k] == PR_KSYMBOL || types[k] == PR_CGROUP ? 16 : 0;
			w_sample_id(&some_ids[i]);
			s = w_end();
			wrong += !prec_decode(s, &some_ids[i], &r) || !body_is(types[k], &r) || !id_is(&r, &some_ids[i]);
			wrong += some_ids[i].sample_type & (PS_ID | PS_IDENTIFIER) && prec_id(s, &some_ids[i]) != 104;
			cut += cut_wrongs(&some_ids[i], made.n - named);
		}
		check_u64(wrong, 0, "record %u: fields and sample_id, in each of %zu layouts", types[k],
			  LEN(some_ids));
		check_u64(cut, 0, "record %u: truncated at every byte", types[k]);
	}
}

static void t_build_id(void)
{
	static const struct pformat none = { 0 };
	struct prec r;
	size_t wrong = 0;

	for (unsigned n = 0; n < 256; n++) {
		char id[24] = { (char)n, 0, 0, 0, 'i', 'd' };

		w_head(PR_MMAP2, PM_USER | PM_BUILD_ID);
		w32(1);
		w32(2);
		w64(3);
		w64(4);
		w64(5);
		w(id, sizeof(id));
		w32(5);
		w32(2);
		w_name("/x");
		wrong += !prec_decode(w_end(), &none, &r) || str_len(r.build_id) != (n <= 20 ? n : 0) || r.ino ||
			 !str_eq(r.name, (struct str)STR("/x")) || r.prot != 5;
	}
	check_u64(wrong, 0, "MMAP2 with a build ID of every length");
	check(prec_decode(w_end(), &(struct pformat){ .no_build_ids = true }, &r) && !str_len(r.build_id) &&
	      !(r.misc & PM_BUILD_ID) && r.major == 255 && r.minor != 0 && str_eq(r.name, (struct str)STR("/x")),
	      "a mark of a build ID that no event asked for is ignored");
}

/* --- samples ---------------------------------------------------------------------------------- */

static void w_values(u64 format, u64 n)
{
	if (format & PF_GROUP)
		w64(n);
	else
		w64(1000);
	if (format & PF_ENABLED)
		w64(70);
	if (format & PF_RUNNING)
		w64(71);
	for (u64 i = 0; i < (format & PF_GROUP ? n : 1); i++) {
		if (format & PF_GROUP)
			w64(1000 + i);
		if (format & PF_ID)
			w64(2000 + i);
		if (format & PF_LOST)
			w64(3000 + i);
	}
}

static size_t values_wrongs(struct str values, u64 format, u64 n)
{
	size_t i = 0, wrong = 0;
	struct pvalue v;

	for (; values_next(values, format, &i, &v); )
		wrong += v.value != 999 + i || (format & PF_ID && v.id != 1999 + i) ||
			 (format & PF_LOST && v.lost != 2999 + i) || (format & PF_ENABLED && v.enabled != 70) ||
			 (format & PF_RUNNING && v.running != 71);
	return wrong + (i != (format & PF_GROUP ? n : 1));
}

enum { LATE = 4 }; /* how many lengths of each variable field are tested */

static void w_late(const struct pformat *f, unsigned n)
{
	u64 t = f->sample_type;

	if (t & PS_RAW) {
		w32(4 + 8 * n);
		for (unsigned i = 0; i < 4 + 8 * n; i++)
			w("r", 1);
	}
	if (t & PS_BRANCH_STACK) {
		w64(n);
		if (f->branch_type & PB_HW_INDEX)
			w64(0);
		for (unsigned i = 0; i < n * (f->branch_type & PB_COUNTERS ? 4 : 3); i++)
			w64(1);
	}
	if (t & PS_REGS_USER) {
		w64(n ? 2 : 0);
		for (u64 m = n ? f->regs_user : 0; m; m &= m - 1)
			w64(1);
	}
	if (t & PS_STACK_USER) {
		w64(8 * n);
		for (unsigned i = 0; i < n + (n > 0); i++)
			w64(1);
	}
	if (t & (PS_WEIGHT | PS_WEIGHT_STRUCT))
		w64(1);
	if (t & PS_DATA_SRC)
		w64(1);
	if (t & PS_TRANSACTION)
		w64(1);
	if (t & PS_REGS_INTR) {
		w64(1);
		for (u64 m = f->regs_intr; m; m &= m - 1)
			w64(1);
	}
	if (t & PS_PHYS_ADDR)
		w64(1);
	if (t & PS_CGROUP)
		w64(88);
	if (t & PS_DATA_PAGE_SIZE)
		w64(1);
	if (t & PS_CODE_PAGE_SIZE)
		w64(1);
	if (t & PS_AUX) {
		w64(8 * n);
		for (unsigned i = 0; i < n; i++)
			w64(1);
	}
}

static struct str w_sample(const struct pformat *f, unsigned n)
{
	u64 t = f->sample_type;

	w_head(PR_SAMPLE, PM_KERNEL);
	if (t & PS_IDENTIFIER)
		w64(104);
	if (t & PS_IP)
		w64(80);
	if (t & PS_TID) {
		w32(101);
		w32(102);
	}
	if (t & PS_TIME)
		w64(103);
	if (t & PS_ADDR)
		w64(81);
	if (t & PS_ID)
		w64(104);
	if (t & PS_STREAM_ID)
		w64(105);
	if (t & PS_CPU) {
		w32(106);
		w32(0);
	}
	if (t & PS_PERIOD)
		w64(82);
	if (t & PS_READ)
		w_values(f->read_format, n);
	if (t & PS_CALLCHAIN) {
		w64(n);
		for (unsigned i = 0; i < n; i++)
			w64(500 + i);
	}
	w_late(f, n);
	return w_end();
}

static size_t sample_wrongs(const struct pformat *f, unsigned n)
{
	struct str s = w_sample(f, n);
	u64 t = f->sample_type, ip;
	struct ring ring = { .p = s.p, .size = 0 };
	u8 mode = PM_KERNEL;
	size_t wrong, chain = 0;
	struct prec r;

	wrong = !prec_decode(s, f, &r) || r.mode != PM_KERNEL || !id_is(&r, &(struct pformat){ .sample_type = t, .id_all = true });
	wrong += r.ip != (t & PS_IP ? 80 : 0) || r.addr != (t & PS_ADDR ? 81 : 0) || r.period != (t & PS_PERIOD ? 82 : 0) ||
		 r.cgroup != (t & PS_CGROUP ? 88 : 0);
	wrong += t & PS_READ && values_wrongs(r.values, f->read_format, n);
	while (chain_next(&r.chain, &mode, &ip))
		wrong += ip != 500 + chain++ || mode != PM_KERNEL;
	wrong += chain != (t & PS_CALLCHAIN ? n : 0);
	wrong += t & (PS_ID | PS_IDENTIFIER) && prec_id(s, f) != 104;
	for (ring.size = 8; ring.size < made.n; ring.size *= 2)
		;
	ring.p = made.b;
	ring.head = made.n;
	if (made.n % 8 == 0)
		wrong += ring_time(&ring, f) != (t & PS_TIME ? 103 : 0);
	wrong += prec_time(s, f) != (t & PS_TIME ? 103 : 0);
	return wrong;
}

static void t_samples(void)
{
	size_t bad = 0, cut = 0;

	for (int bit = -1; bit < 25; bit++) {
		size_t wrong = 0;

		for (unsigned n = 0; n < LATE; n++)
			for (u64 rf = 0; rf < 32; rf++) {
				struct pformat f = { .sample_type = bit < 0 ? (1u << 25) - 1 : 1u << bit, .read_format = rf,
						     .branch_type = (rf & 1 ? PB_HW_INDEX : 0) | (rf & 2 ? PB_COUNTERS : 0),
						     .regs_user = rf * 0x1111, .regs_intr = rf };

				wrong += sample_wrongs(&f, n);
				wrong += cut_wrongs(&f, made.n);
			}
		check_u64(wrong, 0, bit < 0 ? "sample: all bits" : "sample: bit %d, each read_format, truncated at every byte",
			  bit);
	}
	for (int i = 0; i < 20000; i++) {
		u64 x = rnd();
		struct pformat f = { .sample_type = x & ((1 << 25) - 1), .read_format = x >> 32 & 31,
				     .branch_type = x >> 40 & (PB_HW_INDEX | PB_COUNTERS), .regs_user = rnd() & rnd(),
				     .regs_intr = rnd() & rnd() };

		bad += sample_wrongs(&f, (unsigned)(x >> 60));
		if (i % 100 == 0)
			cut += cut_wrongs(&f, made.n);
	}
	check_u64(bad, 0, "sample: 20 000 random layouts");
	check_u64(cut, 0, "sample: 200 of them truncated at every byte");
}

/* Counts that do not fit in the record, and whose size in bytes overflows 64 bits. */
static void t_absurd(void)
{
	static const u64 numbers[] = { 1000, 1 << 16, 1ull << 32, 1ull << 60, 1ull << 61, (1ull << 61) + 1, UINT64_MAX / 8,
				       UINT64_MAX / 24 + 1, UINT64_MAX - 7, UINT64_MAX };
	static const u64 types[] = { PS_CALLCHAIN, PS_BRANCH_STACK, PS_STACK_USER, PS_AUX, PS_READ };
	size_t wrong = 0;
	struct prec r;

	for (size_t i = 0; i < LEN(numbers); i++)
		for (size_t k = 0; k < LEN(types); k++)
			for (u64 rf = PF_GROUP; rf < 32; rf++) {
				struct pformat f = { .sample_type = types[k], .read_format = rf | PF_GROUP };

				w_head(PR_SAMPLE, 0);
				w64(numbers[i]);
				for (int n = 0; n < 9; n++)
					w64(UINT64_MAX);
				wrong += prec_decode(w_end(), &f, &r);
			}
	check_u64(wrong, 0, "sample: counts larger than the record");
}

static void t_chain(void)
{
	static const u64 entries[] = { 1, (u64)-128, 2, 3, (u64)-512, 4, (u64)-32, 5, (u64)-2176, 6, (u64)-2560, 7,
				       (u64)-640, 8, (u64)-4096, (u64)-4095 };
	static const u8 modes[] = { PM_HV, PM_KERNEL, PM_KERNEL, PM_USER, PM_HV, PM_GUEST_KERNEL, PM_GUEST_USER, PM_UNKNOWN,
				    PM_UNKNOWN };
	struct str s = edge_str((const char *)entries, sizeof(entries) - 3);
	u8 mode = PM_HV;
	size_t n = 0, wrong = 0;
	u64 ip;

	for (; chain_next(&s, &mode, &ip); n++)
		wrong += n >= LEN(modes) || mode != modes[n] || ip != (n == 8 ? (u64)-4096 : n + 1);
	check(n == LEN(modes) && !wrong, "callchain: each context, an unknown context marker, half an entry");
}

/* --- rings ------------------------------------------------------------------------------------ */

enum { RING = 4096 };

static void ring_write(char *p, u64 at, const char *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[(at + i) % RING] = from[i];
}

static void t_ring(void)
{
	static const u16 sizes[] = { 8, 40, 200, 16, 3000 };
	static char scratch[PERF_RECORD_BYTES], want[PERF_RECORD_BYTES];
	char *p = edge_page(RING);
	size_t wrong = 0;

	for (u64 from = 0; from < RING; from += 8) {
		struct ring r = { .p = p, .size = RING, .tail = (u64)-RING * 3 + from, .head = (u64)-RING * 3 + from };
		struct str rec;

		for (size_t i = 0; i < LEN(sizes); i++) {
			for (size_t k = 8; k < sizes[i]; k++)
				want[k] = (char)(k * 7 + i);
			memcpy(want + 6, &sizes[i], 2);
			ring_write(p, r.head, want, sizes[i]);
			r.head += sizes[i];
		}
		for (size_t i = 0; i < LEN(sizes); i++) {
			if (!ring_next(&r, scratch, &rec) || str_len(rec) != sizes[i]) {
				wrong++;
				continue;
			}
			for (size_t k = 8; k < sizes[i]; k++)
				wrong += rec.p[k] != (char)(k * 7 + i);
		}
		wrong += ring_next(&r, scratch, &rec) || r.corrupt || r.tail != r.head;
	}
	check_u64(wrong, 0, "ring: records across its end, at every offset");
	wrong = 0;
	for (u32 size = 0; size < 1 << 16; size++) {
		struct ring r = { .p = p, .size = RING, .tail = RING - 8, .head = RING + 72 };
		bool good = size == 8 || (size % 8 == 0 && size >= 8 && size <= 80);
		u16 n = (u16)size;
		struct str rec;

		ring_write(p, r.tail + 6, (const char *)&n, 2);
		wrong += (ring_size(&r) != 0) != good || (!good && ring_time(&r, &some_ids[1]));
		wrong += ring_next(&r, scratch, &rec) != good || r.corrupt != !good || (!good && r.tail != r.head);
	}
	check_u64(wrong, 0, "ring: every size that a header can have");
	for (u64 ahead = RING + 8; ahead; ahead <<= 1) {
		struct ring r = { .p = p, .size = RING, .head = ahead };
		struct str rec;

		wrong += ring_next(&r, scratch, &rec) || r.corrupt != 1;
	}
	check_u64(wrong, 0, "ring: a head that is farther ahead than the ring is long");
}

static void counter_record(struct cntsum *s, u32 seqno, u64 value, size_t n)
{
	const u64 record[] = { 1, seqno, value };
	char *p = malloc(n); /* so that a read after the record is found */

	memcpy(p, record, n);
	cntrec_add(s, str_of(p, n));
	free(p);
}

static void t_counters(void)
{
	struct cntsum s = { .n = 1, .seqno = UINT32_MAX };

	counter_record(&s, 7, 100, 24);
	counter_record(&s, 8, 101, 24);
	check_u64(s.sum[0], 1, "counter stream: the first record is a beginning, whatever its number");
	counter_record(&s, 9, 200, 23);
	counter_record(&s, 10, 300, 24);
	check_u64(s.sum[0], 1, "counter stream: a record that is too short is a gap");
	counter_record(&s, UINT32_MAX, 400, 24);
	counter_record(&s, 0, 500, 24);
	counter_record(&s, 1, 502, 24);
	check_u64(s.sum[0], 3, "counter stream: number 0 follows nothing, not even the highest number");
	s.n = UINT32_MAX;
	counter_record(&s, 2, 600, 24);
	check_u64(s.sum[0], 3, "counter stream: a number of counters without room reads no record");
}

/* ELF notes: GNU's build ID after another note, in both byte orders and alignments, and every
 * truncation of them. */
static void t_notes(void)
{
	static const char id[] = "0123456789abcdefghij";
	char b[128];

	for (int kind = 0; kind < 4; kind++) {
		bool big = kind & 1;
		u8 align = kind & 2 ? 8 : 4;
		size_t n = 0, end = 0, wrong = 0;
		struct str got;

		memset(b, 0, sizeof(b));
		for (int note = 0; note < 2; note++) {
			u32 head[3] = { 4, note ? 20 : 5, note ? 3 : 1 };

			for (size_t i = 0; i < 12; i++)
				b[n++] = (char)(head[i / 4] >> 8 * (big ? 3 - i % 4 : i % 4));
			memcpy(b + n, "GNU", 4);
			n = (n + 4 + align - 1) / align * align;
			memcpy(b + n, id, head[1]);
			end = n + head[1];
			n = (n + head[1] + align - 1) / align * align;
		}
		got = note_build_id((struct str){ b, b + n }, big, align);
		check(str_len(got) == 20 && memcmp(got.p, id, 20) == 0, "the build ID, %s endian, aligned to %d",
		      big ? "big" : "little", align);
		for (size_t k = 0; k < n; k++)
			wrong += (str_len(note_build_id(edge_str(b, k), big, align)) == 20) != (k >= end);
		check_u64(wrong, 0, "notes that are cut at every byte");
		for (size_t k = 0; k < n; k++) {
			static const char hostile[] = { 0, 1, 0x7f, (char)0x80, (char)0xff };

			for (size_t h = 0; h < sizeof(hostile); h++) {
				char was = b[k];

				b[k] = hostile[h];
				got = note_build_id(edge_str(b, n), big, align);
				wrong += str_len(got) > 20;
				b[k] = was;
			}
		}
		check_u64(wrong, 0, "notes with a wrong byte");
	}
	check(!str_len(note_build_id((struct str)STR("\4\0\0\0\25\0\0\0\3\0\0\0GNU\0" "0123456789abcdefghijk\0\0\0"), false, 4)),
	      "a build ID of 21 bytes is none");
}

int main(void)
{
	t_records();
	t_build_id();
	t_notes();
	t_samples();
	t_absurd();
	t_chain();
	t_ring();
	t_counters();
	return unit_end();
}
