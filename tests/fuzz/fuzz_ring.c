/* fuzz_ring.c - any bytes as the kernel's perf ring, with any layout of records. An input begins
 * with struct head; the ring follows. SPDX-License-Identifier: MIT */
#include "../../counters.c" /* the runner links it for fuzzers only */

#include "../../sources/perf/symbols.c" /* its tables are reset for each input */

#include "fuzz.h"

struct head {
	u8 unused;
	u8 id_all;
	u8 read_format, branches;
	u32 sample_type;
	u16 regs_user, regs_intr;
	u16 tail;   /* in units of 8 bytes */
	u8 size;    /* size of the ring: 2^(3 + size % 13) bytes */
	u8 beyond;  /* odd: the head is beyond the written data */
};

/* --- rings ------------------------------------------------------------------------------------ */

static void forget(void)
{
	symtab.nprocs = symtab.proc_hand = symtab.nmaps = symtab.free_map = symtab.nfiles = symtab.nsyms = 0;
	memset(buckets.procs, 0, sizeof(buckets.procs));
	memset(buckets.files, 0, sizeof(buckets.files));
	symtab.text_n = 1;
}

static void run_record(struct str rec, const struct pformat *f)
{
	struct str s, m, chain;
	struct prec r;
	struct pvalue v;
	size_t i = 0, n = 0;
	u64 ip, o;
	u8 mode;

	prec_id(rec, f);
	if (!prec_decode(rec, f, &r))
		return;
	must(within(r.name, rec) && within(r.chain, rec) && within(r.values, rec) && within(r.build_id, rec),
	     "views lie in the record");
	must(r.mode < PM_MODES, "the mode is valid");
	must(!r.name.p || !memchr(r.name.p, 0, str_len(r.name)), "a name has no NUL");
	while (values_next(r.values, f->read_format, &i, &v))
		must(i <= 1 + str_len(rec) / 8, "the list of values ends");
	symbols_feed(&r);
	symbols_comm(r.pid, r.tid);
	for (chain = r.chain, mode = r.mode; chain_next(&chain, &mode, &ip); n++) {
		symbol_find(r.pid, ip, PM_USER, &s, &m, &o);
		must(mode < PM_MODES && n <= str_len(rec) / 8, "the callchain ends");
	}
	symbol_find(r.pid, r.ip, PM_USER, &s, &m, &o);
	symbol_find(r.who, r.at, PM_USER, &s, &m, &o);
}

static void run_ring(const struct head *h, const uint8_t *data, size_t n)
{
	static char scratch[PERF_RECORD_BYTES];
	struct pformat f = { .sample_type = h->sample_type, .read_format = h->read_format, .branch_type = (u64)h->branches << 16,
			     .regs_user = h->regs_user, .regs_intr = h->regs_intr, .id_all = h->id_all & 1 };
	struct ring r = { .size = 8ull << h->size % 13, .tail = 8ull * h->tail };
	char *p = edge_page((size_t)r.size);
	struct str rec, whole = { p, p + r.size };

	if (n > r.size)
		n = (size_t)r.size;
	memset(p, 0, (size_t)r.size);
	for (size_t i = 0; i < n; i++)
		p[(r.tail + i) & (r.size - 1)] = (char)data[i];
	r.p = p;
	r.head = r.tail + (h->beyond & 1 ? n + h->beyond : n & ~7ull);
	for (size_t i = 0; ; i++) {
		bool is = ring_size(&r) > 0, got;
		u64 time = ring_time(&r, &f);

		got = ring_next(&r, scratch, &rec);
		must(is == got, "a record is found if its size is valid");
		must(time == (got ? prec_time(rec, &f) : 0), "the time is the same in the ring and in the record");
		must(i <= r.size / 8, "the ring ends");
		if (!got)
			break;
		must(within(rec, whole) || (rec.p == scratch && str_len(rec) <= r.size), "records lie in the ring");
		run_record(rec, &f);
	}
	must(r.tail == r.head && r.corrupt <= 1, "the ring is empty at the end");
	forget();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct head h;

	if (n < sizeof(h) || n > EDGE_BYTES / 2)
		return 0;
	memcpy(&h, data, sizeof(h));
	run_ring(&h, data + sizeof(h), n - sizeof(h));
	return 0;
}
