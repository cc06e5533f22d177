/* naming.c - decides when the names of device models are searched for: if they are shown, and if -d
 * may contain one.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

#pragma weak boards_start /* boards_start is NULL if gpustat is built without the feature boards */

/* True if this command shows the names of devices, or sorts by them. */
static bool shows_names(void)
{
	bool shows = opt.cmd->with & (WITH_LIST | WITH_TOP) || str_is(opt.sort, "name");

	for (size_t i = 0; i < opt.out.npatterns; i++)
		shows |= str_is(opt.patterns[i], "name");
	/* format block shows the name in the title of each device */
	shows |= opt.out.fmt == format_find((struct str)STR("block"));
	shows |= opt.cmd->with & WITH_LIVE && !opt.out.npatterns && format_has_names(opt.out.fmt);
	return shows && (opt.cmd->with & WITH_TOP || opt.cmd->kind == K_DEVICE);
}

/* Prints an error if the folder of --ids cannot be opened. The run continues with the names of
 * devices that are found in other places. */
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

/* Searches for the names of all devices. With --replay nothing is searched: a recorded device has
 * the name in its records. */
static void find_names(void)
{
	if (opt.oa.replay)
		return;
	check_ids();
	names_find(opt.ids);
}

/* Searches for the names of new devices, but only if this run shows names: reading pci.ids, a large
 * file, is not needed in most runs. */
void names_prepare(void)
{
	if (shows_names())
		find_names();
}

/* Returns whether `sel`, a selector of -d, is a part of the device's product name. Names are read
 * and compared only if sel is not a number and is() returns false for all devices: most runs do not
 * need names. is(): returns true if sel selects a device by its number, node, address or driver. */
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

/* Appends to a message the folders in which devices were searched for. */
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

/* Appends a hint to the message that no device was found: with -d the nearest name of a device,
 * without -d the folders in which devices were searched for. */
void put_hint(struct buf *b)
{
	struct nearest near = { 0 };

	for (size_t k = 0; k < opt.ndevices && !near.name.p; k++)
		near = name_nearest(opt.devices[k]);
	put_nearest(b, "", &near);
	if (opt.ndevices == 0)
		put_searched(b);
}
