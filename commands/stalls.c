/* stalls.c - gpustat oa stalls: samples of EU stalls, from a live stream or a recording, summed by
 * instruction and reason. SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sys.h"

enum { MAX_ADDRESSES = 65536 /* an instruction has 16 bytes: room for 1 MiB of shader code */ };

/* The counts of EU stalls by reason, and their sum: for one instruction, or for all
 * instructions. */
struct stallsum {
	u64 ip, sum, counts[STALL_REASONS];
	/* next: index + 1 of the next row in the same hash bucket; 0 at the end of the chain. */
	u32 next;
	/* Two tables that share the rows with the instructions but have nothing to do with the
	 * instruction in row i. bucket: index + 1 of the first row in hash bucket i; 0 if there is
	 * none. order: index of the i-th row in sorted order. */
	u32 bucket, order;
};

static struct {
	const struct stallformat *format;
	struct stallsum *rows;   /* one row per instruction */
	/* sums over all instructions in this interval; with -o folded, in the run */
	struct stallsum all;
	u32 nrows, nbuckets;
	/* start: start of the run. begun: start of the interval. last: time of the last samples.
	 * All in ns. */
	u64 start, begun, last;
	/* Used only with --replay, in ns. step: length of an interval. due: end of the current
	 * interval, as time since the start of the run. */
	u64 step, due;
	struct table table;      /* the table of `rows` */
} stalls = {
	.table = TABLE_ROW(stalls.rows, MAX_ADDRESSES, 128, "addresses of EU stalls"),
};

/* --- sums by instruction ---------------------------------------------------------------------- */

static u32 *bucket_of(u64 ip)
{
	u32 hash = (u32)(ip >> 3 ^ ip >> 35) * UINT32_C(2654435761);

	return &stalls.rows[hash % stalls.nbuckets].bucket;
}

static void address_link(u32 i)
{
	u32 *bucket = bucket_of(stalls.rows[i].ip);

	stalls.rows[i].next = *bucket;
	*bucket = i + 1;
}

/* Makes the number of hash buckets equal to the number of rows that the table has memory for. */
static void buckets_grow(void)
{
	for (u32 i = 0; i < stalls.nbuckets; i++)
		stalls.rows[i].bucket = 0;
	stalls.nbuckets = stalls.table.ready;
	for (u32 i = 0; i < stalls.nrows; i++)
		address_link(i);
}

/* Returns the row of the instruction at this address, which is added if it is new. Returns NULL if
 * the table is full. */
static struct stallsum *address_get(u64 ip)
{
	struct stallsum *a;

	for (u32 i = stalls.nbuckets ? *bucket_of(ip) : 0; i; i = stalls.rows[i - 1].next)
		if (stalls.rows[i - 1].ip == ip)
			return &stalls.rows[i - 1];
	if (!table_has(&stalls.table, stalls.nrows))
		return NULL;
	if (stalls.nbuckets != stalls.table.ready)
		buckets_grow();
	a = &stalls.rows[stalls.nrows];
	a->ip = ip;
	a->sum = 0;
	memset(a->counts, 0, sizeof(a->counts));
	address_link(stalls.nrows++);
	return a;
}

static void sum_add(struct stallsum *to, const struct stall *s)
{
	for (size_t i = 0; i < STALL_REASONS; i++) {
		to->counts[i] += s->counts[i];
		to->sum += s->counts[i];
	}
}

/* Adds a sample to the row of its instruction and to the sums over all instructions, which are
 * exact even if the table had no room for an instruction. */
static void sample_add(const struct stall *s)
{
	struct stallsum *a = opt.oa.sums ? NULL : address_get(s->ip);

	sum_add(&stalls.all, s);
	if (a)
		sum_add(a, s);
}

static void sums_clear(void)
{
	for (u32 i = 0; i < stalls.nbuckets; i++)
		stalls.rows[i].bucket = 0;
	stalls.nrows = 0;
	stalls.all = (struct stallsum){ 0 };
}

/* Returns whether row a comes before row b: rows are sorted by their sum, the highest first; then
 * by address. */
static bool is_before(u32 a, u32 b)
{
	const struct stallsum *x = &stalls.rows[a], *y = &stalls.rows[b];

	return x->sum != y->sum ? x->sum > y->sum : x->ip < y->ip;
}

static void addresses_sort(void)
{
	u32 gap = 1, n = stalls.nrows;

	for (u32 i = 0; i < n; i++)
		stalls.rows[i].order = i;
	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3) /* Shell sort with Knuth's gaps, as in profile.c */
		for (u32 i = gap; i < n; i++) {
			u32 x = stalls.rows[i].order, at = i;

			for (; at >= gap && is_before(x, stalls.rows[at - gap].order); at -= gap)
				stalls.rows[at].order = stalls.rows[at - gap].order;
			stalls.rows[at].order = x;
		}
}

/* --- records of an interval ------------------------------------------------------------------- */

static void row_show(const struct stallsum *s, bool has_ip, const struct recopts *ro)
{
	struct stallrow row = {
		.e = { .kind = K_STALL }, .dev = str_z(stream.dev_name), .has_ip = has_ip,
		.ip = s->ip, .sum = s->sum, .lost = stream.lost,
		.format = stalls.format, .counts = s->counts,
	};

	stream.failed |= !show_record(&row.e, ro);
	stream.lost = 0;
}

/* Writes the counts at an instruction as folded stacks: for each reason a line with the address,
 * the reason below it, and the count. */
static void row_fold(const struct stallsum *s)
{
	for (size_t i = 0; i < STALL_REASONS; i++) {
		if (!s->counts[i])
			continue;
		put_hex64(&out, s->ip);
		put_c(&out, ';');
		put_z(&out, stallreason_names[i]);
		put_c(&out, ' ');
		put_u64(&out, s->counts[i]);
		put_c(&out, '\n');
	}
	stream.failed |= !flush_record();
}

/* Writes the records of the interval that has ended, and begins the next one. An interval without
 * samples has one record, without an address. */
static void interval_emit(void)
{
	struct recopts ro = { .time_us = stream.live ? sample_time() : -1, .dt_us = -1 };
	bool sums = opt.oa.sums || !stalls.nrows;
	u32 n = opt.top && opt.top < stalls.nrows ? (u32)opt.top : stalls.nrows;

	if (stalls.last > stalls.begun)
		ro.dt_us = (i64)((stalls.last - stalls.begun) / 1000);
	if (stream.live)
		update_offset();
	addresses_sort();
	if (sums && !format_is_folded(opt.out.fmt))
		row_show(&stalls.all, false, &ro);
	for (u32 i = 0; i < n && !stream.failed; i++) {
		const struct stallsum *s = &stalls.rows[stalls.rows[i].order];

		if (format_is_folded(opt.out.fmt))
			row_fold(s);
		else
			row_show(s, true, &ro);
	}
	stream.failed |= finish_sample() != EX_OK;
	stalls.begun = stalls.last;
	sums_clear();
}

/* Prepares for samples of EU stalls with this layout. */
void stalls_begin(const struct stallformat *f)
{
	stalls.format = f;
	stalls.step = stream.live || format_is_folded(opt.out.fmt) ? 0 : (u64)opt.interval;
	stalls.due = stalls.step;
}

/* Sets the time of the next samples. In a recording, an interval ends when later samples come: all
 * samples that were read at once have the same time. */
static void time_set(u64 ns)
{
	u64 passed = stalls.last - stalls.start;

	if (!stream.seen++)
		stalls.start = stalls.begun = stalls.last = ns;
	if (ns <= stalls.last)
		return;
	if (stalls.step && passed >= stalls.due) {
		interval_emit();
		stalls.due = (passed / stalls.step + 1) * stalls.step;
	}
	stalls.last = ns;
}

/* Adds the samples that were read at the time ns. Returns false if the last sample is
 * incomplete. */
bool stalls_add(u64 ns, struct str samples)
{
	struct stall s;

	time_set(ns);
	while (stall_next(stalls.format, &samples, &s))
		sample_add(&s);
	return samples.p == samples.e;
}

/* Counts a loss: the GPU has dropped samples before the time ns. */
void stalls_lost(u64 ns)
{
	time_set(ns);
	stream.lost++;
}

/* Ends the output. Returns an exit code. */
int stalls_finish(void)
{
	if (stalls.format && (stalls.all.sum || stream.lost || stalls.last > stalls.begun))
		interval_emit();
	/* folded stacks have no field for losses */
	if (format_is_folded(opt.out.fmt) && stream.lost)
		say_number(stream.lost, " or more EU stall samples were lost: a buffer was full");
	return finish();
}

/* --- functions that read the live stream of a GPU --------------------------------------------- */

/* Appends a record to the file of --record, if the option was given. body: the time of reading, and
 * the samples that were read. */
static void record_stalls(u8 type, struct str body)
{
	struct buf b = buf_on(oa_bytes + oa_bytes_table.ready / 2, oa_bytes_table.ready / 2);

	if (!opt.oa.record)
		return;
	put_oarec(&b, true, type, body);
	stream.failed |= !record_bytes(b.p, b.n);
}

/* Reads the samples that are available now, but at most as many as the buffers of all cores hold:
 * samples may come faster than they can be read. Returns the result of the last stalls_read(). */
static long drain(struct oalive *l, u64 now)
{
	enum { CORES = 64, RECORD = 60 << 10 /* most bytes of samples in a record */ };
	size_t half = oa_bytes_table.ready / 2 - 2 * sizeof(now);
	char *samples = oa_bytes + sizeof(now);
	bool lost = false;
	long n = 1;

	memcpy(oa_bytes, &now, sizeof(now));
	for (u64 taken = 0; n > 0 && !stopped && !stream.failed && taken < CORES * l->buffer;
	     taken += (u64)n) {
		n = stalls_read(l, samples, half < RECORD ? half : RECORD);
		if (n > 0) {
			stalls_add(now, str_of(samples, (size_t)n));
			record_stalls(OT_STALLS, (struct str){ oa_bytes, samples + n });
		} else if (n == -EIO) {
			stalls_lost(now);
			record_stalls(OT_STALLS_LOST, (struct str){ oa_bytes, samples });
			n = lost ? 0 : 1; /* after a loss, samples can be read again at once */
			lost = true;
		}
	}
	return n < 0 ? n : 0;
}

/* Notes that there were no more samples up to the time `now`, in ns, and writes a record with this
 * time and without samples to the file of --record. */
static void time_mark(u64 now)
{
	stalls_add(now, (struct str){ 0 });
	record_stalls(OT_STALLS, (struct str){ (const char *)&now, (const char *)(&now + 1) });
}

static void say_period(const struct oalive *l)
{
	char text[80];
	struct buf b = BUF_Z(text);

	put_z(&b, "a sample every ");
	put_u64(&b, l->period);
	put_z(&b, " GPU clocks");
	if (opt.verbose || opt.oa.stalls.cycles)
		say_z(buf_z(&b));
	if (opt.verbose)
		say("while gpustat runs, the GPU does not enter RC6, and no other program can ",
		    "sample the EU stalls of this GT", NULL);
}

/* Runs the stream until COUNT intervals have passed, or until a signal or an error. Returns an exit
 * code. */
static int run_stalls(struct oalive *l)
{
	i64 start = sys_now(CLOCK_MONOTONIC), due = next_due(start, start, opt.interval);
	struct pollfd p = { .fd = l->fd, .events = POLLIN };
	u64 left = opt.count;
	long r = 0;

	time_mark((u64)start);
	while (!stopped && !stream.failed && r >= 0) {
		i64 now;

		sys_poll_until(&p, 1, due, NULL);
		now = sys_now(CLOCK_MONOTONIC);
		r = drain(l, (u64)now);
		if (now < due)
			continue;
		time_mark((u64)now);
		due = next_due(start, due, opt.interval);
		if (!format_is_folded(opt.out.fmt))
			interval_emit();
		if (opt.count && --left == 0)
			break;
	}
	if (stalls_finish() != EX_OK || stream.failed)
		return EX_FAIL;
	return r < 0 ? say_failure(l, r) : lost_record ? EX_FAIL : EX_OK;
}

static bool is_xe(const struct device *d)
{
	return strcmp(d->driver, "xe") == 0;
}

/* Leaves out the addresses of instructions if the user may not see them: they belong to programs of
 * all users. Returns an exit code if nothing else was requested; -1 to continue. */
static int addresses_restrict(void)
{
	bool only = opt.oa.record || format_is_folded(opt.out.fmt);

	if (may_see(SEE_GPU_ADDRESSES) || (opt.oa.sums && !only))
		return -1;
	say("addresses of EU stalls", " are shown only to root, or with sysctl ",
	    "dev.xe.observation_paranoid=0");
	opt.oa.sums = true;
	return only ? EX_DENIED : -1;
}

static int live(void)
{
	static struct oalive gpu;
	u32 device;
	int code = stream_device(is_xe, "no GPU with the xe driver here", &device);
	long r;

	if (code >= 0 || (code = addresses_restrict()) >= 0)
		return code;
	r = stalls_start(&gpu, device, &opt.oa.stalls);
	if (r < 0)
		code = say_failure(&gpu, r);
	keep_privileges(opt.oa.record ? MAY_WRITE : 0);
	if (code < 0) {
		struct oainfo i = {
			.ts_hz = gpu.dev.var[OV_TS_HZ], .pci = gpu.dev.pci,
			.revision = (u32)gpu.dev.var[OV_REVISION], .min_hz = (u32)gpu.min_hz,
			.max_hz = (u32)gpu.max_hz, .format = gpu.stalls->version,
		};

		say_period(&gpu);
		stalls_begin(gpu.stalls);
		code = record_open(&gpu, &i) ? -1 : EX_FAIL;
	}
	if (code < 0) {
		confine(0);
		code = run_stalls(&gpu);
	}
	oa_stop(&gpu);
	return code;
}

int cmd_stalls(void)
{
	int code = check_oa();

	if (code < 0 && opt.oa.sums && format_is_folded(opt.out.fmt))
		return usage_z("-o folded shows addresses: leave out --summary");
	opt.out.once = !opt.interval || opt.oa.replay;
	if (code >= 0 || (code = sink_open()) >= 0)
		return code;
	return opt.oa.replay ? replay() : live();
}
