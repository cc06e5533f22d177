/* hwmon.c - finds, opens and reads channels of hwmon chips, by the names of their files:
 * Documentation/hwmon/sysfs-interface.rst. All code that reads channels uses this file, except for
 * sysfs.c, which reads the sensors of GPUs itself. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

static const struct channel channels[] = {
	{ "temp", "C", "mC", 3, R_LEVEL, "temperature" },
	{ "in", "V", "mV", 3, R_LEVEL, "voltage" },
	{ "power", "W", "uW", 6, R_LEVEL, "power" },
	{ "energy", "J", "uJ", 6, R_COUNT, "energy" },
	{ "fan", "rpm", "rpm", 0, R_LEVEL, "fan" },
	{ "curr", "A", "mA", 3, R_LEVEL, "current" },
	{ "freq", "Hz", "Hz", 0, R_LEVEL, "clock" },
	{ "humidity", "%", "1/1000 %", 3, R_LEVEL, "humidity" },
};

const struct channel *channel_find(struct str name)
{
	for (size_t i = 0; i < LEN(channels); i++) {
		struct str s = name;
		u64 n;

		if (str_skip_z(&s, channels[i].prefix) && scan_u64(s, &n) == s.e)
			return &channels[i];
	}
	return NULL;
}

const char *hwmon_path(const char *dir, struct str leaf, const char *tail)
{
	static char path[512];
	struct buf b = buf_on(path, sizeof(path) - 1);

	put_z(&b, HWMON_DIR "/");
	put_z(&b, dir);
	put_c(&b, '/');
	put_str(&b, leaf);
	put_z(&b, tail);
	path[b.n] = '\0';
	return path;
}

int channel_open(const char *dir, struct str name)
{
	long fd = sys_openat(roots.sys, hwmon_path(dir, name, "_input"), O_RDONLY | O_NONBLOCK);
	long other;

	if (fd >= 0)
		return (int)fd;
	other = sys_openat(roots.sys, hwmon_path(dir, name, "_average"), O_RDONLY | O_NONBLOCK);
	return (int)(other == -ENOENT ? fd : other);
}

/* Stores the value of an hwmon channel in *value, a negative one as two's complement. fd: the
 * channel's open file; state: power/runtime_status of its device, open, or -1. False if there is no
 * value, or if the device is suspended: a read would resume it. */
bool channel_read(int fd, int state, u64 *value)
{
	char b[64];
	long n = state >= 0 ? slurp_fd(state, b, sizeof(b)) : 0;
	struct str s = str_read(b, n);
	i64 i;

	if (str_skip_z(&s, "suspend"))
		return false;
	n = slurp_fd(fd, b, sizeof(b));
	if (!parse_sensor(str_read(b, n), &i))
		return false;
	*value = (u64)i;
	return true;
}
