/* sensors.c - of the catalogue: hwmon sensors that are no GPU's. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum { MAX_SENSED = 1024 /* servers have some 300 */ };

static struct sensed {
	char dir[32], chip[32]; /* hwmon3 may be another one's some day */
	char chan[16];
	int fd, state; /* the channel; its device's runtime_status; or -1 */
} *senses;
static TABLE(senses, MAX_SENSED, 32, "hwmon sensors");
static u32 nsenses;

static bool is_gpus(const char *dir)
{
	struct stat st;

	return sys_fstatat(root_sys, hwmon_path(dir, S("device/drm"), ""), &st) == 0 ||
	       sys_fstatat(root_sys, hwmon_path(dir, S("device/accel"), ""), &st) == 0;
}

static bool is_sensed(const char *dir, struct str chip, struct str chan)
{
	for (u32 i = 0; i < nsenses; i++)
		if (strcmp(senses[i].dir, dir) == 0 && str_is(chip, senses[i].chip) &&
		    str_is(chan, senses[i].chan))
			return true;
	return false;
}

/* hwmon/CHIP/CHANNEL/WHAT; the second chip of a name is told apart by its folder. */
static void sense(const char *dir, struct str chip, struct str chan, const struct channel *c)
{
	char name[HOST_NAME + 160], what[128], label[64];
	struct buf n = BUF(name), w = BUF(what);
	struct sensed *to = &senses[nsenses];
	struct naming naming = { .vendor = S("linux"), .unit = str_z(c->small), .max = UINT64_MAX,
				 .rule = c->rule == EV_LEVEL ? R_LEVEL : R_COUNT, .is_signed = c->rule == EV_LEVEL && c->point == 3 };
	struct str text;

	put_z(&n, "hwmon/");
	put_text(&n, chip);
	for (u32 i = 0; i < 2; i++) {
		size_t n_chip = n.n;

		put_c(&n, '/');
		put_str(&n, chan);
		put_c(&n, '/');
		put_z(&n, c->what);
		naming.name = (struct str){ name, name + n.n };
		if (i || !catalog_has(naming.vendor, naming.name))
			break;
		n.n = n_chip;
		put_c(&n, '.');
		put_z(&n, dir);
	}
	put_z(&w, c->what);
	if (slurp_line(root_sys, hwmon_path(dir, chan, "_label"), label, sizeof(label), &text)) {
		put_z(&w, ": ");
		put_str(&w, text);
	}
	naming.what = (struct str){ what, what + w.n };
	device_set(to->dir, sizeof(to->dir), str_z(dir));
	device_set(to->chip, sizeof(to->chip), chip);
	device_set(to->chan, sizeof(to->chan), chan);
	to->fd = to->state = -1;
	catalog_add(SUP_HWMON, nsenses++, &naming);
}

static void sense_chip(const char *dir)
{
	char b[128];
	struct str chip;
	struct dir d;
	const char *leaf;

	if (is_gpus(dir) || !slurp_line(root_sys, hwmon_path(dir, S("name"), ""), b, sizeof(b), &chip) ||
	    str_len(chip) >= sizeof(senses[0].chip) || dir_open(&d, root_sys, hwmon_path(dir, S("."), "")) < 0)
		return;
	while ((leaf = dir_next(&d))) {
		struct str s = str_z(leaf), chan;
		const struct channel *c;

		str_cut(&s, '_', &chan);
		c = channel_of(chan);
		if (!c || !(str_is(s, "input") || str_is(s, "average")) || is_sensed(dir, chip, chan))
			continue;
		if (str_len(chan) >= sizeof(senses[0].chan) || !table_has(&senses_table, nsenses))
			reg_dropped++;
		else
			sense(dir, chip, chan, c);
	}
	dir_close(&d);
}

static void senses_list(void)
{
	struct dir d;
	const char *dir;

	if (dir_open(&d, root_sys, "class/hwmon") < 0)
		return;
	while ((dir = dir_next(&d)))
		if (strlen(dir) < sizeof(senses[0].dir))
			sense_chip(dir);
	dir_close(&d);
}

static long sense_open(u32 at)
{
	struct sensed *s = &senses[at];
	char b[128];
	struct str chip;

	if (!slurp_line(root_sys, hwmon_path(s->dir, S("name"), ""), b, sizeof(b), &chip) || !str_is(chip, s->chip))
		return -ENOENT;
	s->fd = channel_open(s->dir, str_z(s->chan));
	if (s->fd < 0)
		return s->fd;
	s->state = (int)sys_openat(root_sys, hwmon_path(s->dir, S("device/power/runtime_status"), ""), O_RDONLY | O_NONBLOCK);
	return 0;
}

static void sense_close(u32 at)
{
	struct sensed *s = &senses[at];

	if (s->fd >= 0)
		sys_close(s->fd);
	if (s->state >= 0)
		sys_close(s->state);
	s->fd = s->state = -1;
}

static long sense_read(u32 at, u64 *v, u64 *of)
{
	(void)of;
	return senses[at].fd >= 0 && channel_read(senses[at].fd, senses[at].state, v) ? 0 : -ENOENT;
}

const struct supplier sup_hwmon = {
	.prefix = STR("hwmon/"), .list = senses_list,
	.open = sense_open, .close = sense_close, .read = sense_read,
};
