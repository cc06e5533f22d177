/* t_naming.c - unit test of commands/shared/naming.c: when names are searched for, which devices
 * a selector matches, and the hint of a message. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/naming.c"
#include "said.h"

static int doctor_run(void) { return 0; }
static const struct cmd cmds[] = {
	{ .name = "", .kind = K_DEVICE, .with = WITH_LIVE },
	{ .name = "clients", .kind = K_CLIENT, .with = WITH_LIVE },
	{ .name = "list", .kind = K_DEVICE, .with = WITH_LIST },
	{ .name = "top", .kind = K_CLIENT, .with = WITH_TOP },
	{ .name = "doctor", .kind = K_SOURCE, .with = WITH_DOCTOR, .run = doctor_run },
};
struct opts opt = { .cmds = cmds, .cmd = cmds };

static u32 finds;
static const char *found_in, *near_name;
void names_find(const char *folder) { finds++; found_in = folder; }
bool name_has(u32 device, struct str part) { return device == 1 && str_is(part, "Arc"); }

struct nearest name_nearest(struct str s)
{
	return (struct nearest){ .text = s, .name = near_name ? str_z(near_name) : (struct str){ 0 } };
}

/* Returns how often names were searched for. */
static u32 prepared(const struct cmd *cmd, const char *format)
{
	opt.cmd = cmd;
	opt.out.fmt = format_find(str_z(format));
	finds = 0;
	names_prepare();
	return finds;
}

static void t_when(void)
{
	check(prepared(&cmds[0], "line") == 0, "names are not searched for lines");
	check(prepared(&cmds[0], "json") == 1 && prepared(&cmds[0], "block") == 1,
	      "names are searched for JSON and blocks");
	check(prepared(&cmds[1], "json") == 0, "names are not searched for clients");
	check(prepared(&cmds[2], "line") == 1 && prepared(&cmds[3], "line") == 1,
	      "names are searched for list and top");
	opt.sort = LIT("name");
	check(prepared(&cmds[0], "line") == 1 && prepared(&cmds[1], "line") == 0,
	      "names are searched to sort devices by name");
	opt.sort = LIT("names");
	check(prepared(&cmds[0], "line") == 0,
	      "names are not searched to sort devices by another field");
	opt.sort = LIT("");
	opt.patterns[0] = LIT("dev");
	opt.patterns[1] = LIT("name");
	opt.out.npatterns = 1;
	check(prepared(&cmds[0], "json") == 0,
	      "names are not searched for -f without the field name");
	opt.out.npatterns = 2;
	check(prepared(&cmds[0], "line") == 1, "names are searched for -f with the field name");
	opt.oa.replay = "file";
	check(prepared(&cmds[3], "line") == 0,
	      "names are not searched for a recorded device: its records have its name");
	opt.oa.replay = NULL;
	opt.out.npatterns = 0;
	opt.ids = "/nonexistent/folder";
	check(prepared(&cmds[2], "line") == 1 && strcmp(found_in, opt.ids) == 0,
	      "names are searched in the folder of --ids");
	check(is_said("/nonexistent/folder: error\n"),
	      "a folder of --ids that cannot be opened is reported");
	check(prepared(&cmds[2], "line") == 1 && is_said(NULL),
	      "a folder of --ids that cannot be opened is reported once");
	opt.ids = NULL;
}

/* --- selectors -------------------------------------------------------------------------------- */

static bool is_node(const struct device *d, u64 index, struct str sel)
{
	(void)index;
	return str_is(sel, d->dev);
}

static void device_new(const char *dev, const char *driver, const char *pdev)
{
	u32 n = device_add();

	str_copy(devices[n].dev, sizeof(devices[n].dev), str_z(dev));
	str_copy(devices[n].driver, sizeof(devices[n].driver), str_z(driver));
	str_copy(devices[n].pdev, sizeof(devices[n].pdev), str_z(pdev));
}

static void t_selectors(void)
{
	static const struct {
		const char *sel;
		bool is_named;
		u32 finds;
	} rows[] = { /* of card0 */
		{ "", false, 1 }, { "Arc", true, 1 }, { "arc", false, 1 },
		{ "0", false, 0 }, { "03", false, 0 }, { "card0", false, 0 }, { "card1", false, 0 },
	};

	device_new("card0", "xe", "0000:03:00.0");
	device_new("card1", "i915", "0000:04:00.0");
	device_new("card2", "", "");
	for (size_t i = 0; i < LEN(rows); i++) {
		struct str sel = edge_str(rows[i].sel, strlen(rows[i].sel));

		finds = 0;
		check(named_so(1, sel, is_node) == rows[i].is_named && finds == rows[i].finds,
		      "selector '%s' matches: %d, after %u searches", rows[i].sel, rows[i].is_named,
		      rows[i].finds);
	}
}

static void t_hint(void)
{
	char text[256];
	struct buf b = BUF(text);

	put_hint(&b);
	check_str(str_of(b.p, b.n), "; looked in /sys/class/drm, class/accel, /proc/driver/nvidia",
		  "hint: the places where devices were searched for");
	b.n = 0;
	opt.ncmds = LEN(cmds);
	opt.sys = "s";
	opt.proc = "p";
	put_hint(&b);
	check_str(str_of(b.p, b.n), "; looked in s/class/drm, class/accel, p/driver/nvidia; "
		  "try: gpustat doctor",
	          "hint: places with --proc and --sys, and the command doctor");
	b.n = 0;
	opt.ndevices = 2;
	put_hint(&b);
	check_str(str_of(b.p, b.n), "", "hint: none with -d and no near name");
	near_name = "card0";
	put_hint(&b);
	check_str(str_of(b.p, b.n), "; did you mean 'card0'?", "hint: the near name with -d");
}

int main(void)
{
	t_when();
	t_selectors();
	t_hint();
	return unit_end();
}
