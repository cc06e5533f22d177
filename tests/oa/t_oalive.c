/* t_oalive.c - unit test of sources/oa/oastream.c with a driver whose answers are truncated, too
 * long or invalid; arithmetic of sampling periods; streams of EU stalls. tests/boot/oa.c tests
 * correct answers. SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static long driver(long nr, ...);

#define syscall driver
#include "../../sources/oa/oastream.c"
#include "unit.h"
#include "boot/remedies.h"

/* The driver's answer to a query. */
static struct {
	const char *p; /* the answer to DEVICE_QUERY or QUERY */
	size_t n;
	i32 length;    /* the length that QUERY reports */
	u64 status;
	bool has_status;
} answer;

static long driver(long nr, ...)
{
	unsigned long request;
	va_list ap;
	void *arg;
	int fd;

	if (nr != SYS_ioctl) {
		errno = ENOSYS;
		return -1;
	}
	va_start(ap, nr);
	fd = va_arg(ap, int);
	request = va_arg(ap, unsigned long);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (fd == 9 && request == XE_STREAM_STATUS && answer.has_status) {
		memcpy((char *)arg + 8, &answer.status, sizeof(answer.status));
		return 0;
	}
	if (request == XE_DEVICE_QUERY) {
		struct xe_query *q = arg;

		if (q->data)
			memcpy((void *)(uintptr_t)q->data, answer.p, answer.n);
		q->size = (u32)answer.n;
		return 0;
	}
	if (request == I915_QUERY) {
		struct i915_item item;

		memcpy(&item, (const void *)(uintptr_t)((struct i915_query *)arg)->items, sizeof(item));
		memcpy((void *)(uintptr_t)item.data, answer.p, answer.n);
		item.length = answer.length;
		memcpy((void *)(uintptr_t)((struct i915_query *)arg)->items, &item, sizeof(item));
		return 0;
	}
	errno = EINVAL;
	return -1;
}

long oaset_regs(const struct oaset *s, const struct oadevice *d, u8 type, u32 (*regs)[2], size_t cap)
{
	(void)s;
	(void)d;
	(void)type;
	memset(regs, 0xff, cap * sizeof(*regs));
	return (long)cap; /* so that there is no space for the registers of the next type */
}

/* The numbers of parameters, which are those of the kernel's i915_drm.h. */
static void test_params(void)
{
	static const u32 own[] = { PARAM_PCI, PARAM_REVISION, PARAM_SUBSLICES, PARAM_EUS, PARAM_SLICE_MASK, PARAM_SUBSLICE_MASK,
				    PARAM_CS_HZ, PARAM_PERF_REVISION, PARAM_OA_HZ };
	static const u32 kernel[] = { 4, 32, 33, 34, 46, 47, 51, 54, 57 };

	check(LEN(own) == LEN(kernel) && memcmp(own, kernel, sizeof(kernel)) == 0,
	      "the parameters have the numbers of the kernel's i915_drm.h");
}

/* --- periods ---------------------------------------------------------------------------------- */

/* Returns the period that is used for a requested one; max_hz: of the GPU's clock. */
static u64 chosen(u64 period, u64 max_hz)
{
	static struct oalive live;
	const struct oaprops p = { .period = period };
	u32 requested = 0;

	live.dev.xe = true; /* no limit of the kernel */
	live.dev.var[OV_TS_HZ] = 12000000;
	live.max_hz = max_hz;
	live.format = oaformat_by_name(LIT("A32u40_A4u32_B8_C8"));
	choose_period(&live, &p, &requested);
	return live.period;
}

static void test_periods(void)
{
	static const u32 clocks[] = { 1, 2, 3, 12000000, 12500000, 19200000, 38400000, 1000000000, UINT32_MAX };
	u32 bad = 0;

	check_u64(exponent_period(0, 12500000), 160, "12.5 MHz: the shortest period is 160 ns");
	check_u64(exponent_period(15, 12000000), 5461333, "12 MHz, exponent 15: the period is 5.46 ms");
	check_u64(exponent_period(31, 12000000), 357913941333, "12 MHz: the longest period is 358 s");
	check_u64((u64)period_exponent(5461333, 12000000), 15, "an exact period has its own exponent");
	check_u64((u64)period_exponent(5461332, 12000000), 14,
	          "a period that is 1 ns shorter has the next lower exponent");
	check_u64((u64)period_exponent(0, 12000000), 0, "the lowest exponent is 0");
	check_u64((u64)period_exponent(UINT64_MAX, 12000000), 31, "the highest exponent is 31");
	for (size_t i = 0; i < LEN(clocks); i++)
		for (i32 e = 0; e < 32; e++) {
			u64 p = exponent_period(e, clocks[i]);

			bad += p == 0 || exponent_period(period_exponent(p, clocks[i]), clocks[i]) > p || (e && p < exponent_period(e - 1, clocks[i]));
		}
	check_u64(bad, 0, "for every clock: no period is 0, periods ascend, and the requested period is not exceeded");
	check_u64(chosen(100000000, 0), 87381333, "12 MHz: the period of 100 ms is 87.4 ms");
	check_u64(chosen(60000000000, 1200000000), 2796202666, "1.2 GHz wraps after 3.58 s: a longer period is 2.8 s");
	check_u64(chosen(60000000000, 0), 1398101333, "an unknown clock may wrap after 1.43 s: a longer period is 1.4 s");
}

/* --- answers of xe ---------------------------------------------------------------------------- */

static struct oalive l = { .drm = 8, .fd = 9, .dev.xe = true };

static size_t put_unit(char *to, u32 id, u32 type, u64 hz, u64 engines)
{
	const struct xe_unit u = { .id = id, .type = type, .ts_hz = hz, .engines = engines };

	memcpy(to, &u, sizeof(u));
	return sizeof(u);
}

static void test_units(void)
{
	static char text[512];
	const struct xe_engine video = { 2, 1, 1, 0 };
	const struct oaprops any = { 0 }, of_video = { .has_engine = true, .engine_class = 2, .engine_instance = 1 };
	struct xe_unit unit;
	size_t n = sizeof(struct xe_units), first, found = 0;

	n += put_unit(text + n, 3, 0, 19200000, 1);
	n += sizeof(struct xe_engine);
	first = n;
	n += put_unit(text + n, 7, 1, 38400000, 1);
	memcpy(text + n, &video, sizeof(video));
	n += sizeof(video);
	answer.p = text;
	for (answer.n = 0; answer.n <= n; answer.n++)
		for (int left = 0; left < 2; left++) { /* bytes of an earlier answer */
			memset(oa_bytes, left ? 0xff : 0, OA_BYTES_MIN);
			found += xe_unit(&l, &any, false, &unit) == 0;
			found += xe_unit(&l, &of_video, false, &unit) == 0 && answer.n < n ? 1000 : 0;
		}
	check_u64(found, 2 * (n + 1 - first), "OA units: each is found only when it is complete in the answer");
	answer.n = n;
	check(xe_unit(&l, &of_video, false, &unit) == 0 && l.unit == 7,
	      "OA units: the unit of an engine is found");
	check_u64(l.dev.var[OV_COMPUTE_ENGINE], 0,
	          "OA units: the unit of an engine counts for no compute engine");
	check(xe_unit(&l, &any, true, &unit) == 0 && l.unit == 7 && l.dev.var[OV_TS_HZ] == 38400000,
	      "OA units: the unit of the media engines is found");
	put_unit(text + sizeof(struct xe_units), 3, 0, 19200000, UINT64_MAX / 8 + 2);
	check(xe_unit(&l, &any, false, &unit) == -ENODEV && l.what,
	      "OA units: a unit with more engines than the answer has bytes is refused");
	answer.n = oa_bytes_table.ready + 1;
	check(xe_unit(&l, &any, false, &unit) == -EFBIG,
	      "OA units: an answer that is too long is refused");
}

/* The units of a GPU with two media slices: one for the system agent, which counts for no engine,
 * then one for each slice. */
static void test_media_units(void)
{
	static const struct xe_engine engines[] = { { XE_COMPUTE, 0, 0, 0 }, { 2, 0, 1, 0 }, { 3, 0, 1, 0 }, { 2, 1, 1, 0 } };
	static const struct {
		u32 id, type, from, n;
	} row[] = { { 0, 0, 0, 1 }, { 1, 2, 0, 0 }, { 2, 1, 1, 2 }, { 3, 1, 3, 1 } };
	static char text[1024];
	const struct oaprops any = { 0 }, second = { .has_engine = true, .engine_class = 2, .engine_instance = 1 };
	const struct oaprops enhance = { .has_engine = true, .engine_class = 3 }, absent = { .has_engine = true, .engine_class = 1 };
	const struct oaprops agent = { .has_unit = true, .unit = 1, .has_engine = true, .engine_class = 2 };
	struct xe_unit unit;
	size_t n = sizeof(struct xe_units);

	for (size_t i = 0; i < LEN(row); i++) {
		n += put_unit(text + n, row[i].id, row[i].type, 38400000, row[i].n);
		memcpy(text + n, engines + row[i].from, row[i].n * sizeof(*engines));
		n += row[i].n * sizeof(*engines);
	}
	answer.p = text;
	answer.n = n;
	check(xe_unit(&l, &any, true, &unit) == 0 && l.unit == 2,
	      "media: the unit of the first video engine, not the first one that is not OAG");
	check(xe_unit(&l, &any, false, &unit) == 0 && l.unit == 0, "render: the unit of the whole GPU");
	check_u64(l.dev.var[OV_COMPUTE_ENGINE], 1,
	          "render: the unit of the whole GPU counts for one compute engine");
	check(xe_unit(&l, &second, true, &unit) == 0 && l.unit == 3, "media: the unit that counts for the requested engine");
	check(xe_unit(&l, &enhance, true, &unit) == 0 && l.unit == 2, "media: the unit of a video enhancement engine");
	check(xe_unit(&l, &absent, true, &unit) == -EINVAL && l.remedy, "media: no unit counts for that engine");
	check(xe_unit(&l, &agent, true, &unit) == 0 && l.unit == 1, "media: a requested unit is used whatever it counts");
	answer.n = sizeof(struct xe_units) + 2 * sizeof(struct xe_unit) + sizeof(*engines);
	check(xe_unit(&l, &any, true, &unit) == -ENODEV, "media: a GPU without a unit of a video engine");
}

static void test_topology(void)
{
	static char text[64];
	const struct mask { /* struct drm_xe_query_topology_mask */
		u16 gt, type;
		u32 n;
	} masks[] = { { 0, 1 /* DRM_XE_TOPO_DSS_GEOMETRY */, 4 }, { 0, 5 /* SIMD16_EU_PER_DSS */, 4 } };
	const u8 bits[] = { 0x0f, 0, 0, 0, 0xff, 0, 0, 0 };
	size_t n = 0, changes = 0, was = 0;
	const struct mask huge = { 0, 1, UINT32_MAX };

	for (size_t i = 0; i < 2; i++) {
		memcpy(text + n, &masks[i], sizeof(masks[i]));
		memcpy(text + n + sizeof(masks[i]), bits + 4 * i, 4);
		n += sizeof(masks[i]) + 4;
	}
	answer.p = text;
	for (answer.n = 0; answer.n <= n; answer.n++) {
		memset(l.topology, 0, sizeof(l.topology));
		l.topology_n = 0;
		xe_topology(&l);
		changes += l.topology_n != was;
		was = l.topology_n;
	}
	check_u64(changes, 2, "topology: the text grows with each complete mask");
	check_u64(l.topology_n, 16 + 1 + 1 + 4, "topology: one slice with four cores of eight EUs has 22 bytes");
	check(l.dev.var[OV_SUBSLICES] == 4 && l.dev.var[OV_EUS] == 32,
	      "topology: one slice with four cores of eight EUs has four subslices and 32 EUs");
	memcpy(text, &huge, sizeof(huge));
	l.topology_n = 0;
	xe_topology(&l);
	check_u64(l.topology_n, 0, "topology: a mask longer than the answer is ignored");
	memset(l.topology, 0, sizeof(l.topology));
	topology_build(&l, 1, UINT64_MAX, 64);
	check_u64(l.topology_n, 16 + 1 + 8 + 64 * 8, "topology: 64 cores of 64 EUs fit");
	memset(l.topology, 0, sizeof(l.topology));
	topology_build(&l, 0xff, 0xff, UINT64_MAX);
	check(l.topology_n <= sizeof(l.topology), "topology: 8 slices of 8 cores with too many EUs are truncated");
}

/* --- answers of i915 -------------------------------------------------------------------------- */

static void test_query(void)
{
	static const i32 lengths[] = { INT32_MIN, -22, 0, sizeof(l.topology) + 1, INT32_MAX };
	static const char noise[16] = { 1, 2, 3 };
	size_t taken = 0;

	answer.p = noise;
	answer.n = sizeof(noise);
	for (size_t i = 0; i < LEN(lengths); i++) {
		answer.length = lengths[i];
		l.topology_n = 0;
		i915_topology(&l, 1255);
		taken += l.topology_n;
	}
	check_u64(taken, 0, "QUERY: an error, an empty answer or one that is too long is not a topology");
	answer.length = (i32)sizeof(l.topology);
	i915_topology(&l, 900);
	check_u64(l.topology_n, sizeof(l.topology), "QUERY: an answer that fills the buffer is a topology");
}

/* --- reading a stream ------------------------------------------------------------------------- */

static void test_read(void)
{
	enum { SIZE = 576 };
	static char b[1 << 16], reports[4 * SIZE];
	struct str rest;
	struct oarec r;
	u32 good = 0;
	int fds[2];
	long n;

	for (size_t i = 0; i < sizeof(reports); i++)
		reports[i] = (char)(i / SIZE * 7 + i % 251);
	l.format = oaformat_by_name(S("PEC64u64"));
	check(pipe(fds) == 0 && write(fds[1], reports, sizeof(reports)) == sizeof(reports),
	      "setup: a stream of four reports without headers");
	l.fd = fds[0];
	n = oa_read(&l, b, sizeof(b));
	check_u64((u64)n, 4 * (SIZE + 8), "oa_read adds a header to each report");
	rest = (struct str){ b, b + n };
	while (oarec_next(&rest, false, &r))
		good += r.type == OT_SAMPLE && str_len(r.body) == SIZE && memcmp(r.body.p, reports + good * SIZE, SIZE) == 0;
	check(good == 4 && rest.p == rest.e,
	      "oa_read keeps the contents and the order of the reports");

	/* As many reports as fit are read: headers are inserted between the reports. */
	check(write(fds[1], reports, sizeof(reports)) == sizeof(reports), "setup: four more reports");
	n = oa_read(&l, b, 4 * (SIZE + 8) - 1);
	check_u64((u64)n, 3 * (SIZE + 8), "a buffer one byte too small for four reports gets three");
	check(memcmp(b + 2 * (SIZE + 8) + 8, reports + 2 * SIZE, SIZE) == 0,
	      "the last of the three reports that fit is complete");
	check_u64((u64)oa_read(&l, b, SIZE + 8), SIZE + 8,
	          "the next oa_read reads the fourth report");
	check(memcmp(b + 8, reports + 3 * SIZE, SIZE) == 0, "the fourth report is complete");
	close(fds[1]);
	check(oa_read(&l, b, sizeof(b)) == -ENODEV && l.what, "the end of the stream is reported as a removed GPU");
	close(fds[0]);
	l.fd = fds[0];
	check(oa_read(&l, b, sizeof(b)) == -EBADF && l.what && !l.remedy, "an unexpected error has a message");
}

static void test_lost(void)
{
	static const u8 want[] = { 0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4 };
	char b[64];
	u32 bad = 0;

	l.fd = 9;
	answer.has_status = true;
	for (answer.status = 0; answer.status < 16; answer.status++) {
		long n = xe_lost(&l, b);
		struct str rest = { b, b + (n > 0 ? n : 0) };
		struct oarec r;
		u32 records = 0, buffers = 0;

		while (oarec_next(&rest, false, &r)) {
			records++;
			buffers += r.type == OT_BUFFER_LOST;
		}
		bad += records != want[answer.status] || buffers != (answer.status >> 1 & 1) || (!records && n != -EIO);
	}
	check_u64(bad, 0, "EIO: a record for each bit of the status; without a bit it remains an error");
	answer.status = ~(u64)15;
	check(xe_lost(&l, b) == -EIO, "EIO: unknown status bits are ignored");
	answer.has_status = false;
	check(xe_lost(&l, b) == -EIO, "EIO: without a status it remains an error");
}

/* --- EU stalls -------------------------------------------------------------------------------- */

/* struct drm_xe_gt, after a head of 8 bytes: include/uapi/drm/xe_drm.h */
struct gt {
	u16 type, tile, id, pad[3];
	u32 clock;
	u64 near_regions, far_regions;
	u16 major, minor, revision, pad2;
	u64 reserved[7];
};

static void test_stalls_layout(void)
{
	static const struct gt gts[] = { { .id = 0, .major = 20 }, { .id = 1, .type = 1, .major = 13 }, { .id = 2, .major = 35 } };
	static char text[8 + sizeof(gts)];
	size_t found = 0, other = 0;

	memcpy(text + 8, gts, sizeof(gts));
	answer.p = text;
	for (answer.n = 0; answer.n <= sizeof(text); answer.n++) {
		memset(oa_bytes, 0, OA_BYTES_MIN);
		found += stalls_layout(&l, 2) == 0;
		other += stalls_layout(&l, 3) == -EINVAL && l.what && l.remedy;
	}
	check_u64(found, 1, "EU stalls: a GT is found only when it is complete in the answer");
	check_u64(other, sizeof(text) + 1, "EU stalls: a GT that the GPU does not have is an error with a remedy");
	answer.n = sizeof(text);
	check(stalls_layout(&l, 0) == 0 && l.stalls->address_bits == 29 && stalls_layout(&l, 2) == 0 && l.stalls->address_bits == 61,
	      "EU stalls: the version of the GT decides the layout");
}

/* Makes the driver's answer with all rates of drivers/gpu/drm/xe/xe_eu_stall.c. n: the number of
 * rates that the answer states. */
static void answer_rates(u64 record, u64 buffer, u64 n)
{
	static char text[sizeof(struct xe_stalls) + 7 * sizeof(u64)];
	struct xe_stalls s = { .record = record, .buffer = buffer, .n = n };

	memcpy(text, &s, sizeof(s));
	for (u64 i = 0; i < 7; i++)
		memcpy(text + sizeof(s) + i * sizeof(u64), &(u64){ 251 * (i + 1) }, sizeof(u64));
	answer.p = text;
	answer.n = sizeof(text);
}

static u64 period_chosen(u64 cycles)
{
	l.period = 0;
	return stalls_period(&l, cycles) == 0 ? l.period : 0;
}

static void test_stalls_period(void)
{
	static const u64 periods[][2] = { { 0, 1004 }, { 1, 251 }, { 376, 251 }, { 377, 502 }, { 1004, 1004 }, { UINT64_MAX, 1757 } };
	u64 halves[] = { 0, 0, 64, 512 << 10, 0, 0, 0, 0, 0, 4, 200, 0, 100, 400 };
	size_t bad = 0;

	for (size_t i = 0; i < LEN(periods); i++) {
		answer_rates(64, 512 << 10, 7);
		check_u64(period_chosen(periods[i][0]), periods[i][1],
		          "EU stalls: the period for a requested one of %llu clocks",
		          (unsigned long long)periods[i][0]);
	}
	check_u64(l.buffer, 512 << 10, "EU stalls: size of the buffer of a core");
	for (size_t n = 0; n <= 7 * sizeof(u64); n++) {
		answer_rates(64, 512 << 10, UINT64_MAX);
		answer.n = sizeof(struct xe_stalls) + n;
		bad += period_chosen(UINT64_MAX) != 251 * (n / sizeof(u64));
	}
	check_u64(bad, 0, "EU stalls: only the periods that are in the answer are chosen");
	answer.p = (const char *)halves;
	answer.n = sizeof(halves);
	check_u64(period_chosen(150), 100,
	          "EU stalls: of two equally near periods the shorter one is chosen, but never 0");
	answer_rates(64, 512 << 10, 0);
	check(!period_chosen(0) && l.what, "EU stalls: an answer without periods is an error");
	answer_rates(32, 512 << 10, 7);
	check(!period_chosen(0), "EU stalls: samples of another size are refused");
	answer_rates(64, 0, 7);
	check(!period_chosen(0), "EU stalls: a buffer without room for a sample is refused");
}

static void test_stalls_read(void)
{
	static char b[1 << 12], samples[4 * STALL_BYTES];
	int fds[2];

	for (size_t i = 0; i < sizeof(samples); i++)
		samples[i] = (char)(i / STALL_BYTES * 7 + i % 61);
	check(pipe(fds) == 0 && write(fds[1], samples, sizeof(samples)) == sizeof(samples), "setup: a stream of four samples");
	l.fd = fds[0];
	check_u64((u64)stalls_read(&l, b, 2 * STALL_BYTES - 1), STALL_BYTES, "EU stalls: as many samples are read as fit");
	check(stalls_read(&l, b, sizeof(b)) == 3 * STALL_BYTES && memcmp(b, samples + STALL_BYTES, 3 * STALL_BYTES) == 0,
	      "EU stalls: the next read has the other samples, unchanged");
	check(fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0 && stalls_read(&l, b, sizeof(b)) == 0,
	      "EU stalls: a read without new samples returns nothing");
	close(fds[1]);
	check(stalls_read(&l, b, sizeof(b)) == -ENODEV && l.what && l.remedy, "EU stalls: the end of the stream is an error with a remedy");
	close(fds[0]);
	check(stalls_read(&l, b, sizeof(b)) == -EBADF && l.what && !l.remedy, "EU stalls: an unexpected error has a message");
}

/* --- messages --------------------------------------------------------------------------------- */

/* Returns the remedy in the user's message, or NULL. The bits stand for the options that were
 * given. */
static void test_remedies(void)
{
	static const struct {
		u8 call;
		u16 error;
		u32 asked;
		bool xe;
		const char *remedy;
	} cases[] = {
		{ C_NODE, ENOENT, 0, false, "mount -t devtmpfs dev /dev" },
		{ C_NODE, EACCES, 0, false, "join the group that owns it: render or video" },
		{ C_NODE, EMFILE, 0, false, NULL },
		{ C_DRIVER, ENODEV, BIT(A_OTHER), false, NULL },
		{ C_UNIT, ENODEV, BIT(P_UNIT), true, "leave out --oa-unit" },
		{ C_UNIT, ENODEV, BIT(P_CLASS), true, "leave out --engine" },
		{ C_UNIT, ENODEV, 0, true, "use Linux 6.12 or later" },
		{ C_FORMAT, EINVAL, 0, false, "use another -o" },
		{ C_FORMAT, ENOENT, 0, false, "use -o A32u40_A4u32_B8_C8, or another" },
		{ C_ADD, EACCES, 0, true, "sysctl dev.xe.observation_paranoid=0, or " CAPABLE },
		{ C_ADD, EACCES, 0, false, "sysctl dev.i915.perf_stream_paranoid=0, or " CAPABLE },
		{ C_ADD, EINVAL, 0, false, "use another metric set" },
		{ C_ADD, EADDRINUSE, 0, true, "mount -t sysfs sys /sys" },
		{ C_ADD, ENOMEM, 0, true, NULL },
		{ C_OPEN, ENODEV, BIT(P_SSEU), false, "leave out --sseu" },
		{ C_OPEN, ENODEV, BIT(P_SSEU), true, NULL },
		{ C_OPEN, EACCES, BIT(A_RATE), false,
		  "use a longer --period, sysctl dev.i915.oa_max_sample_rate=REPORTS, or " CAPABLE },
		{ C_OPEN, EACCES, 0, true, "sysctl dev.xe.observation_paranoid=0, or " CAPABLE },
		{ C_OPEN, EACCES, 0, false, "sysctl dev.i915.perf_stream_paranoid=0, or " CAPABLE },
		{ C_OPEN, ENOENT, BIT(P_CTX), false, "leave out --ctx" },
		{ C_OPEN, ENOENT, 0, false, "try again" },
		{ C_OPEN, EINVAL, BIT(P_HOLD), false, "use --ctx" },
		{ C_OPEN, EINVAL, BIT(P_HOLD) | BIT(P_CTX), false, "leave out --ctx" },
		{ C_OPEN, EINVAL, BIT(P_POLL), false, "use a longer --poll-period" },
		{ C_OPEN, EINVAL, BIT(P_BUFFER), true, "use another --buffer-size" },
		{ C_OPEN, EINVAL, BIT(P_WAIT), true, "use fewer --wait-reports" },
		{ C_OPEN, EINVAL, BIT(P_CLASS) | BIT(P_INSTANCE), false, "leave out --engine" },
		{ C_OPEN, EINVAL, BIT(P_SSEU), false, "leave out --sseu" },
		{ C_OPEN, EINVAL, 0, true, "use another metric set, or another -o" },
		{ C_OPEN, ENOMEM, 0, false, NULL },
		{ C_STALLS, ENODEV, BIT(A_OTHER), false, NULL },
		{ C_STALLS, EINVAL, 0, true, "use Linux 6.15 or later" },
		{ C_STALLS, ENODEV, 0, true, NULL },
		{ C_GT, EINVAL, 0, true, "leave out --gt" },
		{ C_OPEN_STALLS, EACCES, 0, true, "sysctl dev.xe.observation_paranoid=0, or " CAPABLE },
		{ C_OPEN_STALLS, EINVAL, BIT(P_WAIT), true, "use fewer --wait-reports" },
		{ C_OPEN_STALLS, EINVAL, 0, true, "leave out --gt and --sample-period" },
		{ C_OPEN_STALLS, ENOMEM, 0, true, NULL },
		{ C_READ_STALLS, ENODEV, 0, true, "start again" },
		{ C_READ, EIO, 0, true, NULL },
	};
	bool was = l.dev.xe;

	for (size_t i = 0; i < LEN(cases); i++) {
		const char *want = cases[i].remedy;

		l.dev.xe = cases[i].xe;
		l.remedy = want ? NULL : "remedy of an earlier error";
		fail(&l, cases[i].call, cases[i].asked, -cases[i].error);
		if (!check(want ? l.remedy && !strcmp(l.remedy, want) : !l.remedy, "%s, call %u, row %zu: %s",
			   cases[i].xe ? "xe" : "i915", cases[i].call, i, want ? want : "no remedy"))
			note("got %s; %s", l.what, l.remedy ? l.remedy : "(none)");
	}
	l.dev.xe = true;
	fail(&l, C_ADD, 0, -ENODEV);
	check(!strcmp(l.what, no_oa), "a set for a GPU without OA: %s", l.what);
	l.dev.xe = false;
	fail(&l, C_STALLS, BIT(A_OTHER) | 1, -ENODEV);
	check(strstr(l.what, "only xe samples EU stalls") == l.what,
	      "EU stalls of another driver are refused, whatever is requested: %s", l.what);
	l.dev.xe = was;
}

/* tests/boot/oa.c makes an emulated driver fail for the reason of each row, and applies the
 * remedy. */
static void test_trials(void)
{
	static const struct {
		u8 call;
		u16 error, requested, not_requested;
	} tried[] = {
#define ROW(call, error, requested, not_requested, name, reason) \
		{ call, error, requested, not_requested },
		OA_FAILURES(ROW)
#undef ROW
	};

	check_u64(LEN(tried), LEN(failures),
		  "each row of failures[] has a trial in an emulated machine");
	for (size_t i = 0; i < LEN(tried) && i < LEN(failures); i++)
		check(tried[i].call == failures[i].call && tried[i].error == failures[i].error &&
		      tried[i].requested == failures[i].requested &&
		      tried[i].not_requested == failures[i].not_requested,
		      "row %zu of failures[]: its trial is for the same call and error", i);
}

static void test_words(void)
{
	static const struct oafile file;
	struct oaprops p = { 0 };
	struct oaset s = { .file = &file, .guid = "5f3a11d2-0c3c-4e5e-9c1b-6d2f7a81e0aa" };
	u32 without = 0;

	for (u8 call = C_NODE; call <= C_READ; call++)
		for (long e = 1; e < 600; e++)
			for (u32 asked = 0; asked < PROPS + 3; asked++) {
				l.what = NULL;
				without += fail(&l, call, BIT(asked), -e) != -e || !l.what;
			}
	check_u64(without, 0, "every error of every call has a message");
	check(register_set(&l, &s) == -EINVAL && !l.added && l.what,
	      "a set with too many registers is refused by the driver, not by gpustat");
	s.file = NULL;
	check(register_set(&l, &s) == -ENOENT && !l.added,
	      "a set that only the kernel had and that was removed is an error");
	l.dev.xe = false;
	p.format = oaformat_by_name((struct str)STR("A32u40_A4u32_B8_C8"));
	check(oa_start(&l, &s, &p) == -ENOENT, "a stream is not opened without its set");
	l.dev.xe = true;
}

int main(void)
{
	devices[0].card = devices[0].render = -1;
	check(oa_attach(&l, 0) == -ENOENT && l.drm == -1 && l.what && l.remedy,
	      "a device without device nodes is an error with a message and a remedy");
	oa_stop(&l);
	l.drm = 8;
	l.dev.xe = true;
	test_params();
	test_periods();
	test_units();
	test_media_units();
	test_topology();
	test_query();
	test_read();
	test_lost();
	test_stalls_layout();
	test_stalls_period();
	test_stalls_read();
	test_remedies();
	test_trials();
	test_words();
	return unit_end();
}
