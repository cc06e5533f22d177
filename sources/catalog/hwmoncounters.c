/* hwmoncounters.c - provider of hwmon channels, except those of GPUs: counters
 * hwmon/CHIP/CHANNEL/WHAT. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sources/host/host.h"
#include "sources/catalog/catalog.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum { MAX_SENSORS = 1024 /* maximum number of hwmon channels; servers have some 300 */ };

struct sensor {
	/* dir: name of the chip's folder, such as "hwmon3"; chip: name of the chip, which must be
	 * compared, because the folder may belong to another chip later */
	char dir[32], chip[32];
	char chan[16];
	struct channel_file file;
};

static struct {
	struct sensor *sensors;
	u32 n;
	struct table table;
} hwmonlist = {
	.table = TABLE_ROW(hwmonlist.sensors, MAX_SENSORS, 32, "hwmon sensors"),
};

static bool is_gpu_chip(const char *dir)
{
	struct stat st;

	return sys_fstatat(roots.sys, hwmon_path(dir, S("device/drm"), ""), &st) == 0 ||
	       sys_fstatat(roots.sys, hwmon_path(dir, S("device/accel"), ""), &st) == 0;
}

static bool is_listed(const char *dir, struct str chip, struct str chan)
{
	for (u32 i = 0; i < hwmonlist.n; i++)
		if (strcmp(hwmonlist.sensors[i].dir, dir) == 0 &&
		    str_is(chip, hwmonlist.sensors[i].chip) &&
		    str_is(chan, hwmonlist.sensors[i].chan))
			return true;
	return false;
}

/* Adds the counter hwmon/CHIP/CHANNEL/WHAT of a channel. If another chip with the same name has a
 * counter with this name, the name of the chip's folder is appended to CHIP: CHIP.hwmon3. */
static void sensor_add(const char *dir, struct str chip, struct str chan, const struct channel *c)
{
	char name[HOST_NAME + 160], what[128], label[64];
	struct buf n = BUF(name), w = BUF(what);
	struct sensor *to = &hwmonlist.sensors[hwmonlist.n];
	struct counter_info info = { .vendor = S("linux"), .unit = str_z(c->raw_unit),
				     .max = UINT64_MAX,
				     .rule = c->rule,
				     .is_signed = c->rule == R_LEVEL && c->point == 3 };
	struct str text;

	put_z(&n, "hwmon/");
	put_text(&n, chip);
	for (u32 i = 0; i < 2; i++) {
		size_t n_chip = n.n;

		put_c(&n, '/');
		put_str(&n, chan);
		put_c(&n, '/');
		put_z(&n, c->what);
		info.name = (struct str){ name, name + n.n };
		if (i || !catalog_has(info.vendor, info.name))
			break;
		n.n = n_chip;
		put_c(&n, '.');
		put_z(&n, dir);
	}
	put_z(&w, c->what);
	if (slurp_line(roots.sys, hwmon_path(dir, chan, "_label"), label, sizeof(label), &text)) {
		put_z(&w, ": ");
		put_str(&w, text);
	}
	info.what = (struct str){ what, what + w.n };
	str_copy(to->dir, sizeof(to->dir), str_z(dir));
	str_copy(to->chip, sizeof(to->chip), chip);
	str_copy(to->chan, sizeof(to->chan), chan);
	to->file.fd = to->file.state = -1;
	catalog_add(PROVIDER_HWMON, hwmonlist.n++, &info);
}

static void chip_list(const char *dir)
{
	char b[128];
	struct str chip;
	struct dir d;
	const char *leaf;

	if (is_gpu_chip(dir) ||
	    !slurp_line(roots.sys, hwmon_path(dir, S("name"), ""), b, sizeof(b), &chip) ||
	    str_len(chip) >= sizeof(hwmonlist.sensors[0].chip) ||
	    dir_open(&d, roots.sys, hwmon_path(dir, S("."), "")) < 0)
		return;
	while ((leaf = dir_next(&d))) {
		struct str s = str_z(leaf), chan;
		const struct channel *c;

		str_cut(&s, '_', &chan);
		c = channel_find(chan);
		if (!c || !(str_is(s, "input") || str_is(s, "average")) ||
		    is_listed(dir, chip, chan))
			continue;
		if (str_len(chan) >= sizeof(hwmonlist.sensors[0].chan) ||
		    !table_has(&hwmonlist.table, hwmonlist.n))
			registry.dropped++;
		else
			sensor_add(dir, chip, chan, c);
	}
	dir_close(&d);
}

static void sensors_list(void)
{
	struct dir d;
	const char *dir;

	if (dir_open(&d, roots.sys, HWMON_DIR) < 0)
		return;
	while ((dir = dir_next(&d)))
		if (strlen(dir) < sizeof(hwmonlist.sensors[0].dir))
			chip_list(dir);
	dir_close(&d);
}

static long sensor_open(u32 at)
{
	struct sensor *s = &hwmonlist.sensors[at];
	char b[128];
	struct str chip;

	if (!slurp_line(roots.sys, hwmon_path(s->dir, S("name"), ""), b, sizeof(b), &chip) ||
	    !str_is(chip, s->chip))
		return -ENOENT;
	return channel_open(&s->file, s->dir, str_z(s->chan));
}

static void sensor_close(u32 at)
{
	channel_close(&hwmonlist.sensors[at].file);
}

static long sensor_read(u32 at, u64 *v, u64 *total)
{
	(void)total;
	return hwmonlist.sensors[at].file.fd >= 0 &&
	       channel_read(&hwmonlist.sensors[at].file, v) ? 0 : -ENOENT;
}

const struct provider provider_hwmon = {
	.prefix = STR("hwmon/"), .find = { [FIND_ALL] = sensors_list },
	.open = sensor_open, .close = sensor_close, .read = sensor_read,
};
