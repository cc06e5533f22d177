/* t_stallscommand.c - commands/stalls.c, `oa stalls`: sums by address and their order, more addresses
 * than there is room for, the intervals of recordings and of streams, losses, folded stacks. The driver
 * is simulated. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static i64 clock_now; /* ns */
static i64 fake_now(void) { return clock_now; }
static long fake_poll(const void *fds, i64 until)
{
	clock_now = until;
	return fds ? 0 : -1;
}
#define sys_now(clock) fake_now()
#define sys_poll_until(fds, n, until, signals) fake_poll(fds, until)
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/stalls.c"
#include "said.h"

static const struct cmd oa_stalls = { .kind = K_STALL, .with = WITH_STALLS };
struct opts opt = { .cmd = &oa_stalls };
struct buf out;
volatile sig_atomic_t stopped;
bool lost_record;
struct oastream stream;
char *oa_bytes;
struct table oa_bytes_table = TABLE_ROW(oa_bytes, 320 << 10, 1, "bytes");

static char shown_bytes[4096], out_bytes[4096];
static struct buf shown; /* records: ADDRESS=SUM or all=SUM; '!': a loss; '|': the end */
static u32 records;
static i64 last_dt;
static long queue[8]; /* results of stalls_read(): samples, or -errno */
static u32 nqueue;
static char steps[128], recorded[64];
static bool from_file; /* the program's file gave the capabilities, and the kernel denies users the addresses */

static void step(const char *name) { strcat(steps, name); }

bool show_record(const struct entity *e, const struct recopts *ro)
{
	const struct stallrow *r = (const struct stallrow *)(const void *)e;

	records++;
	last_dt = ro->dt_us;
	if (r->has_ip)
		put_u64(&shown, r->ip);
	else
		put_z(&shown, "all");
	put_c(&shown, '=');
	put_u64(&shown, r->sum);
	for (u64 i = 0; i < r->lost; i++)
		put_c(&shown, '!');
	put_c(&shown, ' ');
	return true;
}

int finish_sample(void) { put_z(&shown, "| "); return EX_OK; }
int finish(void) { return EX_OK; }
bool flush_record(void) { return true; }
i64 sample_time(void) { return 1; }
void update_offset(void) {}
i64 next_due(i64 start, i64 due, i64 s) { (void)start; return due + s; }
int check_oa(void) { return -1; }
int sink_open(void) { step("sink "); return -1; }
int replay(void) { step("replay "); return EX_OK; }
bool may_see(u8 what) { return what != SEE_GPU_ADDRESSES || !from_file; }
void keep_privileges(u8 may) { step(may == MAY_WRITE ? "keep-write " : "keep "); }
void confine(i32 child) { step(child ? "child " : "confine "); }
int say_failure(const struct oalive *l, long r) { (void)l; return r == -EACCES ? EX_DENIED : EX_FAIL; }
void oa_stop(struct oalive *l) { step(l->buffer ? "stop " : "stop-none "); }
bool record_open(const struct oalive *l, const struct oainfo *i) { step(l->stalls->version == i->format ? "record " : "other "); return true; }

bool record_bytes(const char *p, size_t n)
{
	strcat(recorded, p && n > 24 ? "S" : "T");
	return true;
}

int stream_device(bool (*fits)(const struct device *d), const char *none, u32 *device)
{
	struct device xe = { .driver = "xe" }, i915 = { .driver = "i915" };

	*device = 1;
	stream.live = true;
	return fits(&xe) && !fits(&i915) && none ? -1 : EX_NODEVICE;
}

static long start_result;

long stalls_start(struct oalive *l, u32 device, const struct stallprops *p)
{
	l->stalls = stallformat_of(20);
	l->buffer = 4096;
	l->period = p->cycles + device;
	return start_result;
}

/* A sample of Xe2: an address, in units of 8 bytes, and one count for it. */
static size_t sample_put(char *b, u64 ip, u8 count)
{
	const struct stallformat *f = stallformat_of(20);
	u64 low = (ip >> 3 & ((1 << 29) - 1)) | (u64)count << f->at[ST_TDR];

	memset(b, 0, STALL_BYTES);
	for (size_t i = 0; i < 8; i++)
		b[i] = (char)(low >> 8 * i);
	return STALL_BYTES;
}

long stalls_read(struct oalive *l, char *b, size_t cap)
{
	long r = nqueue < LEN(queue) ? queue[nqueue] : 0, n = 0;

	(void)l;
	if (nqueue < LEN(queue))
		nqueue++;
	for (long i = 0; i < r && (size_t)(n + STALL_BYTES) <= cap; i++)
		n += (long)sample_put(b + n, 800, 1);
	return r < 0 ? r : n;
}

/* Adds one sample at a time. */
static bool add(u64 ns, u64 ip, u8 count)
{
	char b[STALL_BYTES];

	return stalls_add(ns, str_of(b, sample_put(b, ip, count)));
}

static void begin(bool folded, i64 interval)
{
	sums_clear();
	stream = (struct oastream){ 0 };
	opt.interval = interval;
	opt.top = 0;
	opt.out.fmt = format_find(folded ? LIT("folded") : LIT("line"));
	shown = BUF(shown_bytes);
	out = BUF(out_bytes);
	stalls_begin(stallformat_of(20));
	records = 0;
}

static void shown_are(const char *want, const char *what)
{
	check_str(str_of(shown.p, shown.n), want, "%s", what);
	shown.n = 0;
}

/* --- sums ------------------------------------------------------------------------------------- */

static void t_order(void)
{
	begin(false, 0);
	add(10, 800, 2);
	add(10, 80, 5);
	add(10, 1600, 3);
	add(10, 800, 1);
	add(10, 160, 3);
	check(stalls_finish() == EX_OK, "sums: samples of one time");
	shown_are("80=5 160=3 800=3 1600=3 | ", "the highest sum first, then by address");
	check(stalls_finish() == EX_OK && !shown.n, "sums: a second end prints nothing");
	begin(false, 0);
	opt.top = 2;
	add(10, 8, 1);
	add(10, 16, 2);
	add(2000010, 24, 3);
	stalls_finish();
	shown_are("24=3 16=2 | ", "--top 2");
	check(last_dt == 2000, "sums: the interval is in us");
	opt.top = 0;
	opt.oa.sums = true;
	begin(false, 0);
	add(10, 8, 1);
	add(10, 16, 2);
	stalls_finish();
	shown_are("all=3 | ", "--summary: only the sum");
	opt.oa.sums = false;
	check(!stalls_add(10, LIT("cut")), "sums: a truncated sample is refused");
}

static void t_many(void)
{
	u64 sum = 0, wrong = 0;

	begin(false, 0);
	for (u64 i = 0; i <= MAX_ADDRESSES; i++)
		add(10, 8 * i, 1);
	check_u64(stalls.nrows, MAX_ADDRESSES,
	          "full table: it has the largest number of addresses");
	check_u64(stalls.all.sum, MAX_ADDRESSES + 1,
	          "full table: the sum of all addresses is exact");
	add(10, 8 * (MAX_ADDRESSES - 1), 2);
	for (u32 i = 0; i < stalls.nrows; i++) {
		sum += stalls.rows[i].sum;
		wrong += stalls.rows[i].ip != 8 * (u64)i;
	}
	check(sum == MAX_ADDRESSES + 2 && wrong == 0,
	      "full table: addresses with room are found again");
	addresses_sort();
	check(stalls.rows[0].order == MAX_ADDRESSES - 1 && stalls.rows[1].order == 0 &&
	      stalls.rows[MAX_ADDRESSES - 1].order == MAX_ADDRESSES - 2, "full table: all addresses are sorted");
	sums_clear();
	check(add(10, 8, 1) && stalls.nrows == 1 && stalls.all.sum == 1,
	      "full table: after sums_clear() there is room again");
	sums_clear();
}

/* --- recordings ------------------------------------------------------------------------------- */

static void t_intervals(void)
{
	begin(false, 1000);
	add(5000, 8, 1);
	add(5500, 8, 1);
	add(6000, 16, 1);
	shown_are("", "an interval ends when later samples come");
	add(6000, 16, 1);
	add(6001, 24, 1);
	shown_are("8=2 16=2 | ", "all samples of one time are in one interval");
	add(8100, 24, 1);
	shown_are("", "the second interval has not ended");
	add(8200, 32, 1);
	shown_are("24=2 | ", "now it has");
	stalls_lost(8300);
	stalls_finish();
	shown_are("32=1! | ", "the last one, with a loss");
	begin(false, 1000);
	stalls_lost(10);
	stalls_lost(10);
	stalls_finish();
	shown_are("all=0!! | ", "only losses");
	begin(false, 1000);
	stalls_add(10, (struct str){ 0 });
	stalls_add(3000010, (struct str){ 0 });
	stalls_finish();
	shown_are("all=0 | ", "no samples in some time");
	check(last_dt == 3000, "without samples, the interval is that of the record");
}

static void t_folded(void)
{
	begin(true, 1000);
	add(5000, 800, 2);
	add(9000, 80, 5);
	add(9000, 80, 1);
	stalls_lost(9000);
	check(stalls_finish() == EX_OK && records == 0, "folded stacks: no record is printed");
	check_str(str_of(out.p, out.n), "0x50;tdr 6\n0x320;tdr 2\n",
	          "folded stacks: those of the whole run are printed");
	check(is_said("1 or more EU stall samples were lost: a buffer was full\n"),
	      "folded stacks: a loss is reported at the end");
	begin(true, 0);
	stalls_lost(1);
	stalls_lost(2);
	stalls_finish();
	check(is_said("2 or more EU stall samples were lost: a buffer was full\n"),
	      "folded stacks: two losses are reported once, with their number");
}

/* --- streams ---------------------------------------------------------------------------------- */

static int run(u64 count, const char *record, const long *results, size_t n)
{
	begin(false, 1000000);
	memset(queue, 0, sizeof(queue));
	for (size_t i = 0; i < n; i++)
		queue[i] = results[i];
	nqueue = 0;
	steps[0] = recorded[0] = '\0';
	opt.count = count;
	opt.oa.record = record;
	clock_now = 1000;
	return cmd_stalls();
}

static void t_live(void)
{
	check(run(1, NULL, (const long[]){ 3, 0 }, 2) == EX_OK, "stream: one interval");
	shown_are("800=3 | ", "stream: the samples of one interval");
	check(strcmp(steps, "sink keep record confine stop ") == 0,
	      "stream: order of the steps: %s", steps);
	check(run(2, NULL, (const long[]){ 3, 0, 1, -EIO, 2, 0 }, 6) == EX_OK,
	      "stream: two intervals");
	shown_are("800=3 | 800=3! | ", "stream: a loss in the second of two intervals");
	check(run(1, NULL, (const long[]){ -EIO, -EIO, -EIO }, 3) == EX_OK,
	      "stream: endless losses do not prevent the end");
	shown_are("all=0!! | ", "stream: endless losses are read twice");
	check(run(0, NULL, (const long[]){ 1, -ENODEV }, 2) == EX_FAIL,
	      "stream: a removed device is an error");
	shown_are("800=1 | ", "stream: samples from before the device was removed are printed");
	check(run(1, "file", (const long[]){ 1, 0 }, 2) == EX_OK && strcmp(recorded, "TST") == 0,
	      "stream: a recording has times and samples");
	check(strcmp(steps, "sink keep-write record confine stop ") == 0,
	      "stream: the file of a recording stays open in the sandbox");
	start_result = -EACCES;
	check(run(1, NULL, NULL, 0) == EX_DENIED && strcmp(steps, "sink keep stop ") == 0,
	      "stream: without permission, exit code 4");
	start_result = 0;
	opt.verbose = true;
	run(1, NULL, NULL, 0);
	check(is_said("a sample every 1 GPU clocks\nwhile gpustat runs, the GPU does not enter RC6"), "-v");
	opt.verbose = false;
}

/* A program whose file has capabilities shows the sums of all addresses only. */
static void t_restricted(void)
{
	static const char message[] = "addresses of EU stalls are shown only to root, or with "
				      "sysctl dev.xe.observation_paranoid=0\n";

	from_file = true;
	check(run(1, NULL, (const long[]){ 3, 0 }, 2) == EX_OK && is_said(message),
	      "without permission for addresses: a message");
	shown_are("all=3 | ", "without permission for addresses: only the sum is printed");
	opt.oa.sums = false;
	check(run(1, "file", (const long[]){ 3, 0 }, 2) == EX_DENIED && strcmp(steps, "sink ") == 0,
	      "without permission for addresses: --record is denied");
	opt.oa.sums = false;
	opt.oa.record = NULL;
	begin(true, 1000000);
	steps[0] = '\0';
	check(cmd_stalls() == EX_DENIED && strcmp(steps, "sink ") == 0,
	      "without permission for addresses: folded stacks are denied");
	from_file = opt.oa.sums = false;
}

static void t_start(void)
{
	opt.oa.replay = "file";
	check(run(1, NULL, NULL, 0) == EX_OK && strcmp(steps, "sink replay ") == 0,
	      "--replay reads a recording");
	opt.oa.replay = NULL;
	opt.oa.sums = true;
	opt.out.fmt = format_find(LIT("folded"));
	steps[0] = '\0';
	check(cmd_stalls() == EX_USAGE && !steps[0] &&
	      is_said("-o folded shows addresses: leave out --summary"), "folded stacks with --summary are an error of usage");
	opt.oa.sums = false;
}

int main(void)
{
	table_all(&oa_bytes_table);
	t_order();
	t_many();
	t_intervals();
	t_folded();
	t_live();
	t_restricted();
	t_start();
	return unit_end();
}
