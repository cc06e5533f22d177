/* vcio.c - Raspberry Pi: clocks, temperature, voltage and throttling of the VideoCore, which its
 * firmware reports through /dev/vcio. Only requests that change nothing are made.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

#include <linux/magic.h>

/* A request to the firmware is an array of u32 with one tag; the answer overwrites the array. The
 * format is on the page "Mailbox property interface" of the wiki of raspberrypi/firmware.
 * drivers/char/broadcom/vcio.c of Raspberry Pi's kernel passes the request on. A word 0 after the
 * value of the tag ends the list of tags. */
enum { W_SIZE, W_CODE, W_TAG, W_VALUE_SIZE, W_VALUE_CODE, W_VALUE, W_MOST = W_VALUE + 3 };
/* Bit 31 of a word in the firmware's answer. In the word W_CODE, it means that the request was
 * handled. In the word W_VALUE_CODE, it means that the tag was answered; the other bits are the
 * length of the value in bytes. In the value of a clock, temperature or voltage, it means that the
 * firmware does not have this clock or sensor. */
#define ANSWERED (UINT32_C(1) << 31)

/* Values that the firmware is asked for, each with one request: the firmware may reject a whole
 * list of tags because of one. */
static const struct property {
	u32 tag;
	/* words: number of words of the value; if there are two, the first one is `id`, the number
	 * of the clock, voltage or temperature sensor */
	u8 id, words;
	u8 desc;
	/* number of bits that the value can have; a clock, temperature or voltage with more bits is
	 * an error */
	u8 bits;
	/* inst: instance of the counter; name: name of the output field, for messages */
	char inst[5], name[10];
} properties[] = {
	/* Tag of the firmware's measured clocks. GET_CLOCK_RATE (0x00030002) would return the clock
	 * that was set. */
	{ 0x00030047, 5, 2, D_FREQ_CUR, 31, "v3d", "freq.v3d" },
	{ 0x00030047, 4, 2, D_FREQ_CUR, 31, "core", "freq.core" },
	{ 0x00030006, 0, 2, D_TEMP, 18, "soc", "temp.soc" },
	{ 0x00030003, 1, 2, D_VOLT, 24, "core", "volt.core" },
	/* Tag of the throttle value. In the request, the value is a mask of reasons to clear: 0
	 * clears none. */
	{ 0x00030046, 0, 1, D_THROTTLE, 32, "", "throttle" },
};

/* Bits 0 to 3 of the throttle value are the reasons that are active now. Bits 16 to 19 are set if
 * the same reason was active since the boot, or since another program cleared the bit. */
static const char reasons[][24] = {
	"undervoltage", "arm-frequency-capped", "throttled", "soft-temperature-limit"
};
enum { SINCE_BOOT = 16 };

static struct {
	long fd;          /* descriptor of /dev/vcio, or -errno; 0: not opened yet */
	/* own: true if /sys is that of this machine, and not a captured tree; known: true once
	 * `own` is set */
	bool known, own;
	bool asked;       /* true if there is a device to which the firmware's values belong */
	/* errors[i]: result of the last request for properties[i]: 0, -errno or NO_VALUE */
	long errors[LEN(properties)];
} vcio;
/* errors[i] is NO_VALUE if the firmware has answered, but without a valid value */
enum { NO_VALUE = 1 };

/* --- requests to the firmware ----------------------------------------------------------------- */

static void request_fill(u32 w[W_MOST], const struct property *p)
{
	memset(w, 0, W_MOST * sizeof(*w));
	w[W_SIZE] = (W_VALUE + p->words + 1u) * sizeof(*w);
	w[W_TAG] = p->tag;
	w[W_VALUE_SIZE] = p->words * (u32)sizeof(*w);
	w[W_VALUE] = p->id;
}

/* Stores the value of a property in *v from the firmware's answer w. False if the answer has no
 * valid value. A newer firmware may return more words than the buffer holds; the first words mean
 * the same. A clock or voltage of 0 means that there is none. */
static bool answer_value(const u32 w[W_MOST], const struct property *p, u32 *v)
{
	u32 bytes = p->words * (u32)sizeof(*w);

	*v = w[W_VALUE + p->words - 1];
	if (w[W_CODE] != ANSWERED || w[W_TAG] != p->tag || w[W_VALUE_SIZE] != bytes ||
	    !(w[W_VALUE_CODE] & ANSWERED) || (w[W_VALUE_CODE] & ~ANSWERED) < bytes ||
	    (p->words == 2 && w[W_VALUE] != p->id))
		return false;
	return p->desc == D_THROTTLE || (!(*v >> p->bits) && (*v || p->desc == D_TEMP));
}

/* Reads a property from the firmware into *v. Returns 0, -errno or NO_VALUE. */
static long property_read(const struct property *p, u32 *v)
{
	_Alignas(16) u32 w[W_MOST];
	long r;

	request_fill(w, p);
	r = sys_ioctl((int)vcio.fd, VCIO_REQUEST, (unsigned long)w);
	return r < 0 ? r : answer_value(w, p, v) ? 0 : NO_VALUE;
}

static void throttle_put(struct entity *e, u32 bits, i64 t)
{
	for (size_t i = 0; i < 2 * LEN(reasons); i++) {
		char name[40];
		struct buf b = BUF(name);
		bool past = i >= LEN(reasons);
		size_t bit = past ? i - LEN(reasons) + SINCE_BOOT : i;

		put_z(&b, reasons[i % LEN(reasons)]);
		put_z(&b, past ? "-since-boot" : "");
		reg_put(e, D_THROTTLE, str_of(name, b.n), bits >> bit & 1, t);
	}
}

static void value_put(struct entity *e, const struct property *p, u32 v, i64 t)
{
	if (p->desc == D_THROTTLE)
		throttle_put(e, v, t);
	else /* the firmware's voltages are in uV and are converted to mV */
		reg_put(e, p->desc, str_z(p->inst), p->desc == D_VOLT ? (v + 500) / 1000 : v, t);
}

/* --- the device to which the firmware's values belong ----------------------------------------- */

/* Opens /dev/vcio at the first call, with the user's own privileges: requests on it can also set
 * clocks, and the mode of the file restricts who may do that. Returns its descriptor, which stays
 * open until the program ends, or -errno. */
i32 vcio_fd(void)
{
	u8 was;

	if (vcio.fd)
		return (i32)vcio.fd;
	was = privilege_raise(0);
	privilege_lower(0);
	vcio.fd = open_retry(AT_FDCWD, "/dev/vcio", O_RDONLY | O_NONBLOCK);
	privilege_lower(was);
	return (i32)vcio.fd;
}

/* Returns the device to which the firmware's values belong: that of the driver v3d, or vc4, which
 * is the GPU before Raspberry Pi 4. NONE if there is no such device, or if --sys names the files of
 * another machine. */
static u32 vcio_device(void)
{
	struct statfs fs;
	u32 found = NONE;

	if (!vcio.known)
		vcio.own = sys_fstatfs(roots.sys, &fs) == 0 && (u32)fs.f_type == SYSFS_MAGIC;
	vcio.known = true;
	for (u32 i = NONE; vcio.own && (i = device_next(i, false)) != NONE;) {
		struct str driver = str_z(devices[i].driver);

		if (str_is(driver, "v3d"))
			return i;
		if (found == NONE && glob_match((struct str)STR("vc4*"), driver, NULL))
			found = i;
	}
	return found;
}

static void vcio_sample(void)
{
	u32 device = vcio_device(), v = 0;

	vcio.asked |= device != NONE;
	for (size_t i = 0; device != NONE && vcio_fd() >= 0 && i < LEN(properties); i++) {
		const struct property *p = &properties[i];

		/* Do not request again a tag that the firmware has rejected, because the kernel
		 * logs each rejected request. */
		if ((sensing.filter && !sensing.filter(p->desc)) || vcio.errors[i] == -EINVAL)
			continue;
		vcio.errors[i] = property_read(p, &v);
		if (vcio.errors[i] == 0)
			value_put(&devices[device].e, p, v, sys_now(CLOCK_MONOTONIC));
	}
	if (sensing.listing && device != NONE && vcio_reason())
		devices[device].no_sensors = vcio_reason();
}

bool vcio_asked(void)
{
	return vcio.asked;
}

const char *vcio_reason(void)
{
	static char text[160];
	struct buf b = BUF_Z(text);

	if (!vcio.asked || vcio.fd == -ENOENT)
		return NULL;
	if (vcio.fd < 0)
		return vcio.fd == -EACCES || vcio.fd == -EPERM ?
		       "/dev/vcio: permission denied; the group video may read it" :
		       "/dev/vcio cannot be opened";
	for (size_t i = 0; i < LEN(properties); i++) {
		long error = vcio.errors[i];

		if (!error)
			continue;
		put_z(&b, b.n ? ", " : "/dev/vcio: no ");
		put_z(&b, properties[i].name);
		if (error == -EINVAL || error == NO_VALUE) {
			put_z(&b, " (refused)");
			continue;
		}
		put_z(&b, " (error ");
		put_u64(&b, (u64)-error);
		put_c(&b, ')');
	}
	return b.n ? buf_z(&b) : NULL;
}

/* Does nothing, because the source vcio has no devices of its own; struct source requires a scan
 * function. */
static void vcio_scan(void)
{
}

const struct source src_vcio = {
	.name = "vcio",
	.start = vcio_sample,
	.sample = vcio_sample,
	.scan = vcio_scan,
};
