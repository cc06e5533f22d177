/* hwmon.c - finds, opens and reads channels of hwmon chips, by the names of their files:
 * Documentation/hwmon/sysfs-interface.rst. All code that reads channels uses this file, except for
 * sysfs.c, which reads the sensors of GPUs itself. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

static const struct channel channels[] = {
	{ "temp", "C", "mC", 3, R_LEVEL, RG_TEMP, "temperature" },
	{ "in", "V", "mV", 3, R_LEVEL, RG_VOLT, "voltage" },
	{ "power", "W", "uW", 6, R_LEVEL, RG_POWER, "power" },
	{ "energy", "J", "uJ", 6, R_COUNT, RG_ENERGY, "energy" },
	{ "fan", "rpm", "rpm", 0, R_LEVEL, RG_FAN, "fan" },
	{ "curr", "A", "mA", 3, R_LEVEL, RG_CURRENT, "current" },
	{ "freq", "Hz", "Hz", 0, R_LEVEL, RG_CLOCK, "clock" },
	{ "humidity", "%", "1/1000 %", 3, R_LEVEL, RG_HUMIDITY, "humidity" },
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

u64 channel_limit(const char *path, struct str file)
{
	static const char *const leaves[] = { "_max", "_crit", "_emergency", "_rated_max",
					      "_cap_max" };
	struct str channel;
	u64 highest = 0;

	str_cut(&file, '_', &channel);
	for (size_t i = 0; i < LEN(leaves); i++) {
		char at[512], b[64];
		struct buf to = BUF_Z(at);
		struct str line;
		i64 v;

		put_z(&to, path);
		put_c(&to, '/');
		put_str(&to, channel);
		put_z(&to, leaves[i]);
		if (!to.full && slurp_line(roots.sys, buf_z(&to), b, sizeof(b), &line) &&
		    scan_i64(line, &v) == line.e && v > 0 && (u64)v > highest)
			highest = (u64)v;
	}
	return highest;
}

static bool is_suspended(const struct channel_file *f)
{
	char b[32];
	struct str s = str_read(b, f->state >= 0 ? slurp_fd(f->state, b, sizeof(b)) : 0);

	return str_skip_z(&s, "suspend");
}

long channel_open(struct channel_file *f, const char *dir, struct str name)
{
	const struct channel *c = channel_find(name);
	long fd = sys_openat(roots.sys, hwmon_path(dir, name, "_input"), O_RDONLY | O_NONBLOCK);
	char path[64];
	struct buf to = BUF_Z(path), text = buf_on(f->name, sizeof(f->name) - 1);

	*f = (struct channel_file){ .fd = -1, .state = -1, .range = c ? c->range : RG_ANY };
	if (fd < 0) {
		long other = sys_openat(roots.sys, hwmon_path(dir, name, "_average"),
					O_RDONLY | O_NONBLOCK);

		fd = other == -ENOENT ? fd : other;
	}
	if (fd < 0)
		return fd;
	f->fd = (int)fd;
	put_z(&text, dir);
	put_c(&text, '/');
	put_str(&text, name);
	f->state = (int)sys_openat(roots.sys,
				   hwmon_path(dir, (struct str)STR("device/power/runtime_status"),
					      ""),
				   O_RDONLY | O_NONBLOCK);
	put_z(&to, HWMON_DIR "/");
	put_z(&to, dir);
	/* The limit of the hwmon channel is not read while the device is suspended, because reading
	 * it would resume the device. */
	if (!to.full && !is_suspended(f))
		f->limit = channel_limit(buf_z(&to), name);
	return 0;
}

bool channel_read(struct channel_file *f, u64 *value)
{
	char b[64];
	i64 i;

	if (is_suspended(f) || !parse_sensor(str_read(b, slurp_fd(f->fd, b, sizeof(b))), &i))
		return false;
	if (!is_plausible(f->range, (u64)i, f->limit) ||
	    (f->range == RG_ENERGY &&
	     !energy_sum(&f->energy, (u64)i, sys_now(CLOCK_MONOTONIC), 0))) {
		count_implausible(f->name, (struct str){ 0 }, f->range, (u64)i);
		return false;
	}
	*value = f->range == RG_ENERGY ? f->energy.sum : (u64)i;
	return true;
}

void channel_close(struct channel_file *f)
{
	if (f->fd >= 0)
		sys_close(f->fd);
	if (f->state >= 0)
		sys_close(f->state);
	f->fd = f->state = -1;
}
