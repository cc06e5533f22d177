/* t_names.c - unit test of sources/device/names.c: lines of amdgpu.ids and pci.ids, names of vendors,
 * names from files and from the device tree, misspelt names. SPDX-License-Identifier: MIT */
#include "../../sources/device/names.c"

#include "folder.h"

/* --- the files of devices, in place of sysfs.c ------------------------------------------------ */

static const struct {
	u32 device;
	const char *leaf, *text;
} leaf_texts[] = {
	{ 1, "revision", "0xc8\n" }, { 2, "revision", "0xc9\n" },
	{ 6, "product_name", "\n" }, { 6, "gpu_model", " Model X \nsecond\n" },
	{ 7, "uevent", "DRIVER=panfrost\nOF_COMPATIBLE_0=rockchip,rk3588-mali\n" },
};

struct str sysfs_text(u32 device, const char *leaf)
{
	for (size_t i = 0; i < LEN(leaf_texts); i++)
		if (leaf_texts[i].device == device && strcmp(leaf_texts[i].leaf, leaf) == 0)
			return str_z(leaf_texts[i].text);
	return LIT("");
}

/* --- parts ------------------------------------------------------------------------------------ */

static void t_text_cut(void)
{
	check_str(text_cut(LIT("abc"), 3), "abc", "str_cut: a text that fits is complete");
	check_str(text_cut(LIT("abcd"), 3), "abc", "str_cut: a text is cut at the size");
	check_str(text_cut(LIT("ab\xc3\xa9"), 3), "ab",
	          "str_cut: no part of a character of two bytes");
	check_str(text_cut(LIT("a\xe2\x82\xac" "b"), 3), "a",
	          "str_cut: no part of a character of three bytes");
	check_str(text_cut(LIT("a\xe2\x82\xac" "b"), 4), "a\xe2\x82\xac",
	          "str_cut: a complete character of three bytes");
	check_str(text_cut(LIT("\x80\x80\x80"), 2), "", "str_cut: bytes that begin no character");
}

static void t_ids(void)
{
	static const struct {
		const char *text;
		bool is;
		u16 id;
		size_t digits;
	} rows[] = {
		{ "744C", true, 0x744c, 4 }, { "fFfF", true, 0xffff, 4 }, { "c8", true, 0xc8, 2 },
		{ "12345", false, 0x1234, 4 }, { "", false, 0, 0 }, { "g1", false, 0, 0 },
		{ "1:2", false, 1, 1 }, { "9@", false, 9, 1 }, { "a`", false, 10, 1 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct str s = edge_str(rows[i].text, strlen(rows[i].text));
		u16 id = 7, taken = 7;

		check(is_id(s, &id) == rows[i].is, "'%s' is %s hexadecimal number", rows[i].text,
		      rows[i].is ? "a" : "not a");
		check_u64(take_id(&s, &taken), rows[i].digits,
		          "hexadecimal number: value of its digits");
		check_u64(taken, rows[i].id, "hexadecimal number: count of its digits");
	}
}

static void t_makers(void)
{
	static const char *const rows[][2] = {
		{ "Advanced Micro Devices, Inc. [AMD/ATI]", "AMD/ATI" },
		{ "Intel Corporation", "Intel" }, { "Red Hat, Inc.", "Red Hat" },
		{ "NVIDIA Corporation", "NVIDIA" }, { "Corporation", "Corporation" },
		{ "Acme Widget", "Acme Widget" }, { " Acme Ltd. ", "Acme" }, { "X []", "X []" },
		{ "X [Y", "Y" }, { "", "" }, { ", Inc.", "" },
		{ "A maker of 31 bytes, exactly so", "A maker of 31 bytes" },
		{ "abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz01234" },
	};
	char maker[VENDOR_BYTES];

	for (size_t i = 0; i < LEN(rows); i++) {
		maker_set(maker, str_z(rows[i][0]));
		check_str(str_z(maker), rows[i][1], "short name of the vendor '%s'", rows[i][0]);
	}
}

/* --- devices ---------------------------------------------------------------------------------- */

static void device_is(const char *name)
{
	u32 n = device_add();

	str_copy(devices[n].name, sizeof(devices[n].name), str_z(name));
}

static void name_is(u32 device, const char *want, const char *what)
{
	check_str(str_z(devices[device].name), want, "%s", what);
}

/* A line that is longer than the buffer, and after it the device that is searched for, in a line
 * without newline. */
static void put_pci_ids(void)
{
	static char text[20000];
	int n = snprintf(text, sizeof(text),
			 "# comment\n"
			 "1002  Advanced Micro Devices, Inc. [AMD/ATI]\n"
			 "\t744c  Navi 31 [Radeon RX 7900]\n"
			 "\t\t744d 1234  A subsystem\n"
			 "\t744d  \n"
			 "C 03  Display controller\n"
			 "\t0001  A class\n"
			 "10de  NVIDIA Corporation\n"
			 "\t744d  Another vendor's\n"
			 "8086  Intel Corporation\n\t0001  ");

	memset(text + n, 'x', 10000);
	strcpy(text + n + 10000, "\n\t0002  Short and last");
	put(in_folder("pci.ids"), text);
}

static void t_find(void)
{
	device_is("1002:744c"); /* 1: revision c8 */
	device_is("1002:744c"); /* 2: revision c9 */
	device_is("1002:744d"); /* 3 */
	device_is("8086:0002"); /* 4 */
	device_is("dead:beef"); /* 5 */
	device_is("");          /* 6: its driver has a file */
	device_is("");          /* 7: of a board */
	device_is("8086:0001"); /* 8 */
	device_is("NVIDIA A2"); /* 9: the driver named it */
	device_is("8086:0002"); /* 10 */
	devices[10].left_out = true;
	put_pci_ids();
	put(in_folder("amdgpu.ids"), "1.0.0\n744C,\tC8,\tAMD Radeon RX 7900 XTX\n744C,\tC9,\t\n");
	put_file(in_folder("proc/device-tree/model"), "Rock 5\0B\n", 9);
	names_find(tmp_folder);
	name_is(1, "AMD Radeon RX 7900 XTX",
	        "amdgpu.ids names a device by its device id and revision");
	name_is(2, "AMD/ATI Navi 31 [Radeon RX 7900]",
	        "an empty name in amdgpu.ids is ignored: pci.ids has the name");
	name_is(3, "AMD/ATI 1002:744d",
	        "a device with an empty name in pci.ids has its vendor's name and its ids");
	name_is(4, "Intel Short and last", "pci.ids: a last line without newline is used");
	name_is(5, "dead:beef", "pci.ids: a device of an unknown vendor has its ids as name");
	name_is(6, "Model X",
	        "a device of a board has the first line of the first file that is not empty");
	name_is(7, "rockchip,rk3588-mali (Rock 5)", "device tree: the name of a part of a board");
	name_is(8, "Intel 8086:0001", "pci.ids: a line that is too long is skipped");
	name_is(9, "NVIDIA A2", "a name that the driver reported is kept");
	name_is(10, "8086:0002", "a device that is left out gets no name");
	check(devices[5].named && !devices[10].named, "names of devices are searched for once");
}

/* An ids file that is larger than the part that is read: a file of holes takes no space. */
static void t_endless(void)
{
	const u32 before = fileio.unread;
	const u32 device = 11;

	device_is("1234:5678");
	shell("truncate -s $((4000 * 8192)) $D/pci.ids");
	names_find(tmp_folder);
	check_u64(fileio.unread - before, 0, "an ids file of 31 MiB is read to its end");
	devices[device].named = false;
	shell("truncate -s $((4097 * 8192)) $D/pci.ids");
	names_find(tmp_folder);
	check(fileio.unread > before && fileio.error == -EFBIG &&
	      strstr(fileio.error_name, "pci.ids"),
	      "an ids file of more than 32 MiB is reported");
}

/* --- selection -------------------------------------------------------------------------------- */

static void t_has(void)
{
	static const struct {
		const char *part;
		bool has;
	} rows[] = {
		{ "AMD", true }, { "amd", true }, { "xtx", true }, { "RADEON rx", true },
		{ "7900 XTX", true }, { "7900 XTX ", false }, { "", false }, { "amdx", false },
		{ "AMD Radeon RX 7900 XTX", true }, { "AMD Radeon RX 7900 XTX.", false },
		{ "\x17" "900", false }, /* '7' and 0x17 differ in the bit that letters differ in */
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check(name_has(1, edge_str(rows[i].part, strlen(rows[i].part))) == rows[i].has,
		      "the device's name %s '%s'", rows[i].has ? "contains" :
		      "does not contain", show(str_z(rows[i].part)));
}

static void t_nearest(void)
{
	str_copy(devices[1].dev, sizeof(devices[1].dev), LIT("card1"));
	str_copy(devices[1].driver, sizeof(devices[1].driver), LIT("amdgpu"));
	str_copy(devices[1].pdev, sizeof(devices[1].pdev), LIT("0000:03:00.0"));
	devices[1].render = 128;
	str_copy(devices[2].dev, sizeof(devices[2].dev), LIT("card0"));
	devices[2].render = -1;
	check_str(name_nearest(LIT("amdgpo")).name, "amdgpu",
	          "the nearest text to a misspelt -d is a driver");
	check_str(name_nearest(LIT("renderD129")).name, "renderD128",
	          "the nearest text to a misspelt -d is a node");
	check_str(name_nearest(LIT("0000:03:00.1")).name, "0000:03:00.0",
	          "the nearest text to a misspelt -d is a PCI slot");
	check_str(name_nearest(LIT("card7")).name, "card0",
	          "of two equally near texts, the first in alphabetical order is suggested");
	check(!name_nearest(LIT("something else")).name.p, "no text is suggested if none is near");
}

int main(void)
{
	folder_begin("names");
	root_set(&roots.proc, in_folder("proc"));
	t_text_cut();
	t_ids();
	t_makers();
	t_find();
	t_endless();
	t_has();
	t_nearest();
	shell("rm -rf \"$D\"");
	return unit_end();
}
