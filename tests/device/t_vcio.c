/* t_vcio.c - unit test of sources/device/vcio.c: values of a Raspberry Pi's firmware: the
 * requests, the decoding of answers, every errno and every malformed answer, and which device
 * has the values. The firmware of this test follows the wiki of raspberrypi/firmware.
 * SPDX-License-Identifier: MIT */
#include "folder.h"
#include "sys.h"

#include <linux/magic.h>

static long play_open(int dir, const char *path, int flags);
static long play_ioctl(int fd, unsigned long request, unsigned long arg);
static long play_fstatfs(int fd, struct statfs *st);
#define open_retry play_open
#define sys_ioctl play_ioctl
#define sys_fstatfs play_fstatfs
#include "../../sources/device/vcio.c"

static const u64 none = 0xdeadbeefdeadbeef; /* the counter has no value */

/* --- the firmware ----------------------------------------------------------------------------- */

/* Sizes in bytes, and positions of words, of a request with one tag. */
enum { PLACE_CODE = 1, PLACE_TAG, PLACE_SIZE, PLACE_TAG_CODE, PLACE_VALUE };

static struct {
	long open, error;    /* of open() and of each request: 0, or -errno */
	u32 magic;           /* file system of the root */
	u32 spoil_tag;       /* tag whose answer is malformed; 0: all */
	u32 spoil_at, spoil; /* one word of the answer has this value; 0: none has */
	u32 value[2];        /* of the tag spoil_tag, if spoil_at is 0 */
	u32 throttled;
	unsigned opens, requests, unknown, sets, malformed;
} play;

static long play_open(int dir, const char *path, int flags)
{
	play.opens++;
	if (dir != AT_FDCWD || strcmp(path, "/dev/vcio") != 0 || (flags & O_ACCMODE) != O_RDONLY)
		play.malformed++;
	return play.open ? play.open : 77;
}

static long play_fstatfs(int fd, struct statfs *st)
{
	(void)fd;
	memset(st, 0, sizeof(*st));
	st->f_type = play.magic;
	return 0;
}

/* Answers the known tags; a value buffer that is too short is filled up to its size. */
static u32 firmware_answer(u32 tag, u32 *value, u32 bytes)
{
	u32 id = value[0];

	switch (tag) {
	case 0x00030047: /* measured clock */
		if (bytes >= 8)
			value[1] = id == 5 ? 500000992 : id == 4 ? 250000496 : 0;
		return 8;
	case 0x00030006:
		if (bytes >= 8)
			value[1] = id == 0 ? 48312 : ANSWERED;
		return 8;
	case 0x00030003:
		if (bytes >= 8)
			value[1] = id == 1 ? 868800 : ANSWERED;
		return 8;
	case 0x00030046:
		play.sets += value[0] != 0; /* it clears bits */
		value[0] = play.throttled;
		return 4;
	default:
		return 0;
	}
}

static long play_ioctl(int fd, unsigned long request, unsigned long arg)
{
	u32 *w = (u32 *)arg, size = w[0], bytes = w[PLACE_SIZE], long_is;

	play.requests++;
	if (fd != 77 || request != _IOWR('d', 0, char *) || arg % 16 || size % 4 || size < 24 ||
	    size != 24 + bytes || w[PLACE_CODE] || w[PLACE_TAG_CODE] || w[size / 4 - 1])
		play.malformed++;
	play.sets += (w[PLACE_TAG] & 0x8000) != 0;
	if (play.error)
		return play.error;
	long_is = firmware_answer(w[PLACE_TAG], w + PLACE_VALUE, bytes);
	play.unknown += long_is == 0;
	w[PLACE_CODE] = ANSWERED;
	if (long_is)
		w[PLACE_TAG_CODE] = ANSWERED | long_is;
	if (play.spoil_tag && w[PLACE_TAG] != play.spoil_tag)
		return 0;
	if (play.spoil_at)
		w[play.spoil_at] = play.spoil;
	else if (play.spoil_tag)
		memcpy(w + PLACE_VALUE, play.value, bytes);
	return 0;
}

/* --- machines --------------------------------------------------------------------------------- */

static void device_make(const char *driver)
{
	u32 n = device_add();

	str_copy(devices[n].driver, sizeof(devices[n].driver), str_z(driver));
	reg_begin(&devices[n].e, 1);
}

/* Removes all devices, and makes a machine with these two. */
static void machine(const char *first, const char *second)
{
	for (u32 i = 1; i <= nrows.devices; i++) {
		reg_clear(&devices[i].e);
		devices[i].e.used = false;
	}
	nrows.devices = 0;
	memset(&vcio, 0, sizeof(vcio));
	memset(&play, 0, sizeof(play));
	play.magic = SYSFS_MAGIC;
	sensing.listing = false;
	sensing.filter = NULL;
	device_make(first);
	device_make(second);
}

/* Takes another sample. */
static void sample(void)
{
	for (u32 i = 1; i <= nrows.devices; i++) {
		reg_begin(&devices[i].e, sys_now(CLOCK_MONOTONIC));
		devices[i].no_sensors = NULL;
	}
	src_vcio.sample();
}

static u64 get(u32 device, u8 desc, const char *inst)
{
	u64 v;

	for (struct counter *c = reg_first(&devices[device].e); c; c = reg_next(c))
		if (c->desc == desc && str_is(inst_name(c->inst), inst))
			return reg_get(&devices[device].e, desc, c->inst, &v) ? v : none;
	return none;
}

/* Returns the number of values that a device has in the last reading. */
static unsigned values(u32 device)
{
	unsigned n = 0;
	u64 v;

	for (struct counter *c = reg_first(&devices[device].e); c; c = reg_next(c))
		n += reg_get(&devices[device].e, c->desc, c->inst, &v);
	return n;
}

enum { ALL_VALUES = 12 };

/* --- tests ------------------------------------------------------------------------------------ */

static void t_values(void)
{
	machine("vc4-drm", "v3d");
	play.throttled = 0x50005;
	src_vcio.start();
	check_u64(get(2, D_FREQ_CUR, "v3d"), 500000992, "measured clock of v3d, in Hz");
	check_u64(get(2, D_FREQ_CUR, "core"), 250000496, "measured clock of the core, in Hz");
	check_u64(get(2, D_TEMP, "soc"), 48312, "temperature, in thousandths of a degree");
	check_u64(get(2, D_VOLT, "core"), 869, "voltage in mV, rounded");
	check_u64(get(2, D_THROTTLE, "undervoltage"), 1, "bit 0 is set: undervoltage");
	check_u64(get(2, D_THROTTLE, "arm-frequency-capped"), 0,
	          "bit 1 is not set: the clock is not capped");
	check_u64(get(2, D_THROTTLE, "throttled"), 1, "bit 2 is set: throttled");
	check_u64(get(2, D_THROTTLE, "soft-temperature-limit"), 0,
	          "bit 3 is not set: the temperature is below the limit");
	check_u64(get(2, D_THROTTLE, "undervoltage-since-boot"), 1,
	          "bit 16 is set: undervoltage since boot");
	check_u64(get(2, D_THROTTLE, "arm-frequency-capped-since-boot"), 0,
	          "bit 17 is not set: the clock was never capped");
	check_u64(get(2, D_THROTTLE, "throttled-since-boot"), 1,
	          "bit 18 is set: throttled since boot");
	check_u64(get(2, D_THROTTLE, "soft-temperature-limit-since-boot"), 0,
	          "bit 19 is not set: the temperature was never above the limit");
	check_u64(values(1), 0, "vc4 has no values if there is a v3d");
	check(!vcio_reason(), "no reason if no value is missing");
	play.throttled = 0xfff0a;
	sample();
	check(get(2, D_THROTTLE, "undervoltage") == 0 &&
	      get(2, D_THROTTLE, "arm-frequency-capped") == 1 &&
	      get(2, D_THROTTLE, "soft-temperature-limit") == 1,
	      "throttling bits of the next reading");
	check_u64(values(2), ALL_VALUES, "bits without a meaning are not reported");
	check_u64(play.opens, 1, "/dev/vcio is opened once");
	check_u64(play.requests, 10, "each reading makes five requests");
	check_u64(play.malformed, 0, "all requests are well-formed");
	check_u64(play.unknown, 0, "all requests have tags that the firmware knows");
	check_u64(play.sets, 0, "no request sets or clears a value");
	for (size_t i = 0; i < LEN(properties); i++)
		check(!(properties[i].tag & 0x8000),
		      "tag 0x%08x is one that reads", properties[i].tag);
}

static void t_device(void)
{
	machine("vc4-drm", "vc4-drm");
	sample();
	check(values(1) == ALL_VALUES && values(2) == 0, "without v3d, vc4 has the values");
	machine("v3d", "vc4-drm");
	devices[1].gone = true;
	sample();
	check(values(1) == 0 && values(2) == ALL_VALUES,
	      "a removed device has no values, the other one has them");
	machine("i915", "amdgpu");
	sample();
	check(values(1) + values(2) == 0 && play.requests + play.opens == 0,
	      "without v3d and vc4, /dev/vcio is not opened");
	machine("v3d", "i915");
	play.magic = TMPFS_MAGIC;
	sample();
	check(values(1) == 0 && play.opens == 0 && !vcio_reason(),
	      "another machine's devices have no values of this machine's firmware");
	machine("v3d", "i915");
	check(vcio_fd() == 77 && vcio_fd() == 77 && play.opens == 1,
	      "vcio_fd() opens one descriptor");
}

static bool shows_temperature(u8 desc)
{
	return desc == D_TEMP;
}

static void t_filter(void)
{
	machine("v3d", "i915");
	sensing.filter = shows_temperature;
	sample();
	check(play.requests == 1 && values(1) == 1 && get(1, D_TEMP, "soc") == 48312,
	      "only values that records show are requested");
}

/* Opens /dev/vcio with an error. */
static void t_open(void)
{
	static const struct {
		long error;
		const char *reason;
	} rows[] = {
		{ -ENOENT, NULL },
		{ -EACCES, "/dev/vcio: permission denied; the group video may read it" },
		{ -EPERM, "/dev/vcio: permission denied; the group video may read it" },
		{ -EMFILE, "/dev/vcio cannot be opened" },
		{ -ENODEV, "/dev/vcio cannot be opened" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		machine("v3d", "i915");
		play.open = rows[i].error;
		sensing.listing = true;
		sample();
		sample();
		check_str(vcio_reason() ? str_z(vcio_reason()) : LIT("none"),
			  rows[i].reason ? rows[i].reason : "none",
		          "reason if the open fails with %ld",
			  rows[i].error);
		check(values(1) == 0 && play.opens == 1 && play.requests == 0 &&
		      devices[1].no_sensors == vcio_reason(),
		      "after a failed open there are no values and no requests");
	}
}

/* After any errno the values are unknown, and known again after the next answer; a tag that the
 * firmware refuses is not requested again. */
static void t_errors(void)
{
	unsigned bad = 0;

	for (int e = 1; e < 134; e++) {
		bool asks = e != EINVAL;

		machine("v3d", "i915");
		sample();
		play.error = -e;
		sample();
		bad += values(1) != 0 || !vcio_reason();
		play.requests = 0;
		play.error = 0;
		sample();
		bad += play.requests != (asks ? 5 : 0) || values(1) != (asks ? ALL_VALUES : 0);
		bad += asks == !!vcio_reason();
	}
	check_u64(bad, 0, "each errno makes the values of that reading unknown");
	machine("v3d", "i915");
	play.error = -EINVAL;
	sensing.listing = true;
	sample();
	check_str(str_z(devices[1].no_sensors), "/dev/vcio: no freq.v3d (refused), "
		  "freq.core (refused), temp.soc (refused), volt.core (refused), "
		  "throttle (refused)", "the reason names all refused values");
	machine("v3d", "i915");
	play.error = -ETIMEDOUT;
	sample();
	check(str_find(str_z(vcio_reason()), (struct str)STR("no freq.v3d (error ")),
	      "the reason has the number of an unknown error");
}

static void t_malformed(void)
{
	static const struct {
		u32 tag, at, word;
		const char *what;
		bool known;
	} rows[] = {
		{ 0x00030006, PLACE_CODE, 0x80000001, "the request failed", false },
		{ 0x00030006, PLACE_CODE, 0x80000000, "the request was handled", true },
		{ 0x00030006, PLACE_TAG, 0x00030007, "another tag", false },
		{ 0x00030006, PLACE_SIZE, 4, "a shorter buffer", false },
		{ 0x00030006, PLACE_TAG_CODE, 8, "no response bit", false },
		{ 0x00030006, PLACE_TAG_CODE, 0x80000000, "an answer without bytes", false },
		{ 0x00030006, PLACE_TAG_CODE, 0x80000004, "an answer that is cut", false },
		{ 0x00030006, PLACE_TAG_CODE, 0x8000000c, "a longer answer begins alike", true },
		{ 0x00030006, PLACE_VALUE, 3, "another sensor", false },
		{ 0x00030006, PLACE_VALUE + 1, 0x80000000, "no such sensor", false },
		{ 0x00030006, PLACE_VALUE + 1, 0xffffffff, "all bits are one", false },
		{ 0x00030006, PLACE_VALUE + 1, 0x3ffff, "the highest temperature", true },
		{ 0x00030006, PLACE_VALUE + 1, 0x40000, "an impossible temperature", false },
		{ 0x00030003, PLACE_VALUE + 1, 0x80000000, "no such voltage", false },
		{ 0x00030003, PLACE_VALUE + 1, 0x1000000, "an impossible voltage", false },
	};
	bool known;

	for (size_t i = 0; i < LEN(rows); i++) {
		machine("v3d", "i915");
		play.spoil_tag = rows[i].tag;
		play.spoil_at = rows[i].at;
		play.spoil = rows[i].word;
		sample();
		known = values(1) == ALL_VALUES;
		check(known == rows[i].known && values(1) + !known == ALL_VALUES &&
		      known == !vcio_reason(), "%s: %s", rows[i].what, known ? "known" : "unknown");
	}
	machine("v3d", "i915");
	play.spoil_tag = 0x00030047;
	play.value[0] = 4;
	sample();
	check(get(1, D_FREQ_CUR, "core") == none && get(1, D_FREQ_CUR, "v3d") == none,
	      "a clock of 0 is unknown");
	machine("v3d", "i915");
	play.spoil_tag = 0x00030006;
	sample();
	check_u64(get(1, D_TEMP, "soc"), 0, "a temperature of 0 is known");
	machine("v3d", "i915");
	play.spoil_at = PLACE_TAG_CODE;
	sample();
	check(values(1) == 0 && str_find(str_z(vcio_reason()), (struct str)STR("volt.core (refused)")),
	      "a firmware that answers no tag leaves all values unknown");
	play.spoil_at = 0;
	sample();
	check(values(1) == ALL_VALUES && !vcio_reason(),
	      "the values are known when the firmware answers all tags");
}

/* Answers with random words: an answer is refused, or has the value of its last word. */
static void t_random(void)
{
	static const u32 often[] = { 0, 1, 4, 5, 8, ANSWERED, ANSWERED | 4, ANSWERED | 8, 0x30047 };
	unsigned bad = 0, good = 0;

	for (unsigned i = 0; i < 200000; i++) {
		const struct property *p = &properties[i % LEN(properties)];
		u32 *w = (u32 *)(void *)edge_page(W_MOST * sizeof(u32)), v;

		request_fill(w, p);
		w[W_CODE] = ANSWERED;
		w[W_VALUE_CODE] = ANSWERED | 8;
		w[W_VALUE + p->words - 1] = (u32)rnd();
		for (size_t k = rnd_of(3); k; k--)
			w[rnd_of(W_MOST)] = rnd_of(2) ? often[rnd_of(LEN(often))] : (u32)rnd();
		if (!answer_value(w, p, &v))
			continue;
		good++;
		bad += v != w[W_VALUE + p->words - 1] || w[W_CODE] != ANSWERED;
	}
	check(bad == 0 && good > 1000,
	      "random answers are refused, or have the value of their last word");
}

int main(void)
{
	t_values();
	t_device();
	t_filter();
	t_open();
	t_errors();
	t_malformed();
	t_random();
	return unit_end();
}
