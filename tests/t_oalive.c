/* t_oalive.c - sources/oa.c before a driver that lies: answers cut short, too long, and full of nonsense; and the
 * arithmetic of periods. What a driver that tells the truth gets is judged in tests/boot/oa.c.
 * SPDX-License-Identifier: MIT */
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static long driver(long nr, ...);

#define syscall driver
#include "../sources/oa.c"
#include "unit.h"

/* The driver's answer to what is asked of it. */
static struct {
	const char *p; /* of DEVICE_QUERY, or of QUERY */
	size_t n;
	i32 length;    /* what QUERY says of its length */
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
	return (long)cap; /* there never is room for the next type's */
}

/* --- periods ------------------------------------------------------------------------------------------ */

static void test_periods(void)
{
	static const u32 clocks[] = { 1, 2, 3, 12000000, 12500000, 19200000, 38400000, 1000000000, UINT32_MAX };
	u32 bad = 0;

	check_u64(period_of(0, 12500000), 160, "12.5 MHz: the shortest period is 160 ns");
	check_u64(period_of(15, 12000000), 5461333, "12 MHz, exponent 15: 5.46 ms");
	check_u64(period_of(31, 12000000), 357913941333, "12 MHz: the longest is 358 s");
	check_u64((u64)exponent_of(5461333, 12000000), 15, "a period that there is is taken");
	check_u64((u64)exponent_of(5461332, 12000000), 14, "one that is shorter by 1 ns takes the next");
	check_u64((u64)exponent_of(0, 12000000), 0, "none is shorter than that of exponent 0");
	check_u64((u64)exponent_of(UINT64_MAX, 12000000), 31, "none is longer than that of exponent 31");
	for (size_t i = 0; i < LEN(clocks); i++)
		for (i32 e = 0; e < 32; e++) {
			u64 p = period_of(e, clocks[i]);

			bad += p == 0 || period_of(exponent_of(p, clocks[i]), clocks[i]) > p || (e && p < period_of(e - 1, clocks[i]));
		}
	check_u64(bad, 0, "for every clock: no period is 0, they ascend, and the one asked for is not exceeded");
}

/* --- answers of xe ------------------------------------------------------------------------------------ */

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
		for (int left = 0; left < 2; left++) { /* by an earlier answer */
			memset(oa_bytes, left ? 0xff : 0, OA_BYTES_LEAST);
			found += xe_unit(&l, &any, false, &unit) == 0;
			found += xe_unit(&l, &of_video, false, &unit) == 0 && answer.n < n ? 1000 : 0;
		}
	check_u64(found, 2 * (n + 1 - first), "OA units: each is found once it is there whole, and not before");
	answer.n = n;
	check(xe_unit(&l, &of_video, false, &unit) == 0 && l.unit == 7, "the unit of an engine");
	check(xe_unit(&l, &any, true, &unit) == 0 && l.unit == 7 && l.dev.var[OV_TS_HZ] == 38400000, "the unit of the media");
	put_unit(text + sizeof(struct xe_units), 3, 0, 19200000, UINT64_MAX / 8 + 2);
	check(xe_unit(&l, &any, false, &unit) == -ENODEV && l.what, "a unit of more engines than there are bytes");
	answer.n = oa_bytes_table.ready + 1;
	check(xe_unit(&l, &any, false, &unit) == -EFBIG, "an answer that is too long");
}

static void test_topology(void)
{
	static char text[64];
	const struct xe_mask masks[] = { { 0, MASK_GEOMETRY, 4 }, { 0, MASK_EUS16, 4 } };
	const u8 bits[] = { 0x0f, 0, 0, 0, 0xff, 0, 0, 0 };
	size_t n = 0, changes = 0, was = 0;
	struct xe_mask huge = { 0, MASK_GEOMETRY, UINT32_MAX };

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
	check_u64(changes, 2, "topology: it grows with each mask that is there whole");
	check_u64(l.topology_n, 16 + 1 + 1 + 4, "a slice, four cores of eight EUs: 22 bytes");
	check(l.dev.var[OV_SUBSLICES] == 4 && l.dev.var[OV_EUS] == 32, "and that is what is made of them");
	memcpy(text, &huge, sizeof(huge));
	l.topology_n = 0;
	xe_topology(&l);
	check_u64(l.topology_n, 0, "a mask longer than the answer");
	memset(l.topology, 0, sizeof(l.topology));
	topology_made(&l, 1, UINT64_MAX, 64);
	check_u64(l.topology_n, 16 + 1 + 8 + 64 * 8, "64 cores of 64 EUs: all fit");
	memset(l.topology, 0, sizeof(l.topology));
	topology_made(&l, 0xff, 0xff, UINT64_MAX);
	check(l.topology_n <= sizeof(l.topology), "8 slices of 8, of countless EUs: no more than fit");
}

/* --- answers of i915 ---------------------------------------------------------------------------------- */

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
	check_u64(taken, 0, "QUERY: an error, nothing, or more than there is room for are no topology");
	answer.length = (i32)sizeof(l.topology);
	i915_topology(&l, 900);
	check_u64(l.topology_n, sizeof(l.topology), "what just fits is one");
}

/* --- what is read ------------------------------------------------------------------------------------- */

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
	l.format = oaformat_named(S("PEC64u64"));
	check(pipe(fds) == 0 && write(fds[1], reports, sizeof(reports)) == sizeof(reports), "a stream of four bare reports");
	l.fd = fds[0];
	n = oa_read(&l, b, sizeof(b));
	check_u64((u64)n, 4 * (SIZE + 8), "each gets a header");
	rest = (struct str){ b, b + n };
	while (oarec_next(&rest, false, &r))
		good += r.type == OT_SAMPLE && str_len(r.body) == SIZE && memcmp(r.body.p, reports + good * SIZE, SIZE) == 0;
	check(good == 4 && rest.p == rest.e, "and is what it was, in its place");

	/* As many as there is room for, to the byte: headers go where reports were. */
	check(write(fds[1], reports, sizeof(reports)) == sizeof(reports), "four more");
	n = oa_read(&l, b, 4 * (SIZE + 8) - 1);
	check_u64((u64)n, 3 * (SIZE + 8), "a byte too little for the fourth: three");
	check(memcmp(b + 2 * (SIZE + 8) + 8, reports + 2 * SIZE, SIZE) == 0, "the last of them is whole");
	check_u64((u64)oa_read(&l, b, SIZE + 8), SIZE + 8, "the fourth");
	check(memcmp(b + 8, reports + 3 * SIZE, SIZE) == 0, "is whole");
	close(fds[1]);
	check(oa_read(&l, b, sizeof(b)) == -ENODEV && l.what, "a stream that ends: the GPU is gone");
	close(fds[0]);
	l.fd = fds[0];
	check(oa_read(&l, b, sizeof(b)) == -EBADF && l.what && !l.remedy, "an error that nobody foresaw has words, too");
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
	check_u64(bad, 0, "EIO: a record for each bit of the status; without one it stays an error");
	answer.status = ~(u64)15;
	check(xe_lost(&l, b) == -EIO, "bits of a kernel to come say nothing");
	answer.has_status = false;
	check(xe_lost(&l, b) == -EIO, "nor does a status that cannot be had");
}

/* --- words -------------------------------------------------------------------------------------------- */

static void test_words(void)
{
	static const struct oafile file;
	struct oaset s = { .file = &file, .guid = "5f3a11d2-0c3c-4e5e-9c1b-6d2f7a81e0aa" };
	u32 without = 0;

	for (u8 call = C_NODE; call <= C_READ; call++)
		for (long e = 1; e < 600; e++)
			for (u32 asked = 0; asked < PROPS + 3; asked++) {
				l.what = NULL;
				without += fails(&l, call, BIT(asked), -e) != -e || !l.what;
			}
	check_u64(without, 0, "every error of every call has words");
	check(register_set(&l, &s) == -EINVAL && !l.added && l.what, "a set of too many registers is refused by the driver, not by us");
	s.file = NULL;
	check(register_set(&l, &s) == -ENOENT && !l.added, "a set that only the kernel had, and has no more");
}

int main(void)
{
	devices[0].card = devices[0].render = -1;
	check(oa_attach(&l, 0) == -ENOENT && l.drm == -1 && l.what && l.remedy, "a device without nodes");
	oa_stop(&l);
	l.drm = 8;
	l.dev.xe = true;
	test_periods();
	test_units();
	test_topology();
	test_query();
	test_read();
	test_lost();
	test_words();
	return unit_end();
}
