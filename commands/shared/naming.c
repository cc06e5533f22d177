/* naming.c - when names of devices are searched for: to show them, and for -d.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/device/device.h"
#include "sys.h"

#pragma weak boards_start /* NULL if it is left out */

/* Returns whether this command shows the names of devices. */
static bool shows_names(void)
{
	bool shows = opt.cmd->with & (WITH_LIST | WITH_TOP) || str_is(opt.sort, "name");

	for (size_t i = 0; i < opt.out.npatterns; i++)
		shows |= str_is(opt.patterns[i], "name");
	/* a block has it in its title */
	shows |= opt.out.fmt == format_find((struct str)STR("block"));
	shows |= opt.cmd->with & WITH_LIVE && !opt.out.npatterns && format_has_names(opt.out.fmt);
	return shows && (opt.cmd->with & WITH_TOP || opt.cmd->kind == K_DEVICE);
}

/* Reports a folder of --ids that cannot be opened: the names are then those without it. */
static void check_ids(void)
{
	static bool checked;
	long fd;

	if (checked || !opt.ids)
		return;
	checked = true;
	fd = file_open(opt.ids, O_PATH | O_DIRECTORY);
	if (fd < 0)
		say_error(opt.ids, fd);
	else
		sys_close((i32)fd);
}

/* A recorded device has the name that its records have. */
static void find_names(void)
{
	if (opt.oa.replay)
		return;
	check_ids();
	names_find(opt.ids);
}

/* Finds the names of new devices if they are shown: pci.ids is large, and most runs do not need
 * it. */
void names_prepare(void)
{
	if (shows_names())
		find_names();
}

/* Returns whether a selector is a part of the device's name. It is no part of a name if it is a
 * number, or if it selects any device otherwise: most runs need no names. is(): whether it selects
 * a device otherwise. */
bool named_so(u32 device, struct str sel, device_test *is)
{
	u64 n;

	if (scan_u64(sel, &n) == sel.e)
		return false;
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		if (is(&devices[i], 0, sel))
			return false;
	find_names();
	return name_has(device, sel);
}

/* Appends the name of a folder without the slashes at its end. */
static void put_folder(struct buf *b, const char *dir)
{
	struct str s = str_z(dir);

	while (str_len(s) && s.e[-1] == '/')
		s.e--;
	put_str(b, s);
}

/* Appends where devices were searched for. */
static void put_searched(struct buf *b)
{
	put_z(b, "; looked in ");
	put_folder(b, opt.sys ? opt.sys : "/sys");
	put_z(b, "/class/drm, class/accel, ");
	put_folder(b, opt.proc ? opt.proc : "/proc");
	put_z(b, "/driver/nvidia");
	put_z(b, boards_start ? ", files of vendor drivers" : "");
	for (size_t i = 0; i < opt.ncmds; i++)
		if (opt.cmds[i].run && strcmp(opt.cmds[i].name, "doctor") == 0)
			put_z(b, "; try: gpustat doctor");
}

/* Appends to the message that there is no device: what -d may have meant, or where devices were
 * searched for. */
void put_hint(struct buf *b)
{
	struct nearest near = { 0 };

	for (size_t k = 0; k < opt.ndevices && !near.name.p; k++)
		near = name_nearest(opt.devices[k]);
	put_nearest(b, "", &near);
	if (opt.ndevices == 0)
		put_searched(b);
}
