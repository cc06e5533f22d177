/* t_hwmon.c - unit test of sources/device/hwmon.c: names, files and values of the channels of
 * hwmon chips. SPDX-License-Identifier: MIT */
#include "../../sources/device/hwmon.c"
#include "folder.h"

#define S(lit) ((struct str)STR(lit))

/* --- names ------------------------------------------------------------------------------------ */

static const struct {
	const char *name, *prefix, *unit, *raw_unit;
	u8 point, rule;
} expects[] = {
	{ "temp1", "temp", "C", "mC", 3, R_LEVEL },
	{ "temp0", "temp", "C", "mC", 3, R_LEVEL },
	{ "temp12", "temp", "C", "mC", 3, R_LEVEL },
	{ "in0", "in", "V", "mV", 3, R_LEVEL },
	{ "power1", "power", "W", "uW", 6, R_LEVEL },
	{ "energy2", "energy", "J", "uJ", 6, R_COUNT },
	{ "fan1", "fan", "rpm", "rpm", 0, R_LEVEL },
	{ "curr1", "curr", "A", "mA", 3, R_LEVEL },
	{ "freq1", "freq", "Hz", "Hz", 0, R_LEVEL },
	{ "humidity1", "humidity", "%", "1/1000 %", 3, R_LEVEL },
	{ "temp18446744073709551615", "temp", "C", "mC", 3, R_LEVEL },
};

static void t_names(void)
{
	static const char *const none[] = {
		"", "1", "temp", "temp1_input", "temp1 ", "temp 1", "temp-1", "temp+1", "temp1x",
		"Temp1", "pwm1", "intrusion0", "temptemp1", "temp18446744073709551616", "in",
	};

	for (size_t i = 0; i < LEN(expects); i++) {
		const struct channel *c = channel_find(str_z(expects[i].name));

		check(c && strcmp(c->prefix, expects[i].prefix) == 0 &&
		      strcmp(c->unit, expects[i].unit) == 0 &&
		      strcmp(c->raw_unit, expects[i].raw_unit) == 0 &&
		      c->point == expects[i].point && c->rule == expects[i].rule && *c->what,
		      "%s is a channel in %s", expects[i].name, expects[i].unit);
	}
	for (size_t i = 0; i < LEN(none); i++)
		check(!channel_find(edge_str(none[i], strlen(none[i]))), "'%s' is not a channel",
		      none[i]);
}

static void t_paths(void)
{
	char name[600];

	check_str(str_z(hwmon_path("hwmon3", S("temp1"), "_label")),
		  "class/hwmon/hwmon3/temp1_label", "the path of a channel's label");
	check_str(str_z(hwmon_path("hwmon0", (struct str){ 0 }, "name")), "class/hwmon/hwmon0/name",
		  "the path of the chip's own file");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	check(strlen(hwmon_path(name, S("temp1"), "_input")) < 512,
	      "the name of a folder that is too long does not exceed the buffer");
	check(strlen(hwmon_path("hwmon3", str_z(name), "_input")) < 512,
	      "the name of a channel that is too long does not exceed the buffer");
}

/* --- files ------------------------------------------------------------------------------------ */

static const char *chip_file(const char *leaf)
{
	return in_folder("sys/class/hwmon/hwmon0/%s", leaf);
}

/* Returns whether the channel opens, and has this value. */
static bool has_value(const char *name, u64 want)
{
	struct channel_file f;
	u64 v = want + 1;
	bool ok = channel_open(&f, "hwmon0", str_z(name)) == 0 && channel_read(&f, &v) && v == want;

	channel_close(&f);
	return ok;
}

static void t_open(void)
{
	struct channel_file f;

	put(chip_file("temp1_input"), "41000\n");
	put(chip_file("power1_input"), "1\n");
	put(chip_file("power1_average"), "2\n");
	put(chip_file("power2_average"), "3\n");
	put(chip_file("power3_cap"), "4\n");
	check(has_value("temp1", 41000), "a channel with the file _input has a value");
	check(has_value("power1", 1), "_input is preferred to _average");
	check(has_value("power2", 3), "a channel with only the file _average has a value");
	check(channel_open(&f, "hwmon0", S("power3")) == -ENOENT, "a limit is not a channel's value");
	check(channel_open(&f, "hwmon1", S("temp1")) == -ENOENT,
	      "a channel of a missing chip does not open");
	/* Opening a pipe that has no writer would block without O_NONBLOCK. */
	check(mkfifo(chip_file("temp9_input"), 0644) == 0 && !has_value("temp9", 0),
	      "a FIFO in place of a channel's file does not block");
	put(chip_file("power4_input"), "6\n");
	put(chip_file("power4_average"), "7\n");
	chmod(chip_file("power4_input"), 0);
	rights_drop(true);
	check(has_value("power4", 7), "a denied _input is replaced by _average");
	rights_drop(false);
	chmod(chip_file("power4_average"), 0);
	rights_drop(true);
	check(channel_open(&f, "hwmon0", S("power4")) == -EACCES,
	      "a channel does not open if both _input and _average are denied");
	rights_drop(false);
}

/* --- values ----------------------------------------------------------------------------------- */

#define ZEROS "0000000000000000000000000000000000000000000000000000000000000"

static void t_values(void)
{
	static const struct {
		const char *text;
		bool ok;
		i64 v;
	} texts[] = {
		{ "42000\n", true, 42000 }, { "-5000\n", true, -5000 }, { "0\n", true, 0 },
		{ "-0\n", true, 0 }, { "007\n", true, 7 }, { "1\n2\n", true, 1 },
		{ "1000000\n", true, 1000000 }, { "-1000000\n", true, -1000000 },
		{ "1000001\n", false, 0 }, { "-1000001\n", false, 0 },
		{ "4294967295\n", false, 0 },
		{ "9223372036854775807\n", false, 0 }, { "-9223372036854775807\n", false, 0 },
		{ ZEROS "12\n", true, 12 }, /* 64 bytes */
		{ ZEROS "123\n", false, 0 },
		{ "9223372036854775808\n", false, 0 }, { "-9223372036854775808\n", false, 0 },
		{ "18446744073709551615\n", false, 0 }, { "99999999999999999999\n", false, 0 },
		{ "", false, 0 }, { "\n", false, 0 }, { "42000", false, 0 }, { "-\n", false, 0 },
		{ "--5\n", false, 0 }, { "+5\n", false, 0 }, { " 5\n", false, 0 },
		{ "5 \n", false, 0 }, { "12\r\n", false, 0 }, { "0x10\n", false, 0 },
		{ "1.5\n", false, 0 }, { "N/A\n", false, 0 }, { "\n5\n", false, 0 },
	};
	struct channel_file f;

	put(chip_file("in0_input"), "1\n");
	channel_open(&f, "hwmon0", S("in0"));
	for (size_t i = 0; i < LEN(texts); i++) {
		u64 v = 77;
		bool ok;

		put(chip_file("in0_input"), texts[i].text);
		ok = channel_read(&f, &v);
		if (!check(ok == texts[i].ok && v == (ok ? (u64)texts[i].v : 77),
			   "hwmon text %zu has %s value", i, texts[i].ok ? "the right" : "no"))
			note("%s: %d, %" PRId64, show(str_z(texts[i].text)), ok, (i64)v);
	}
	channel_close(&f);
	check(f.fd == -1 && f.state == -1, "a channel that is closed has no descriptor");
	check(!channel_read(&f, &(u64){ 0 }), "a channel that is not open has no value");
}

/* --- plausible values ------------------------------------------------------------------------- */

static void t_limits(void)
{
	static const struct {
		const char *limits[2][2], *channel, *reading;
		bool ok;
	} rows[] = {
		{ { { "temp2_crit", "100000\n" } }, "temp2", "200000\n", true },
		{ { { "temp2_crit", "100000\n" } }, "temp2", "255000\n", false },
		{ { { "temp2_crit", "100000\n" }, { "temp2_emergency", "160000\n" } }, "temp2",
		  "255000\n", true },
		{ { { "temp2_crit", "0\n" } }, "temp2", "255000\n", true },
		{ { { "temp2_crit", "-1\n" } }, "temp2", "255000\n", true },
		{ { { "temp2_crit", "text\n" } }, "temp2", "255000\n", true },
		{ { { "fan2_max", "3300\n" } }, "fan2", "13200\n", true },
		{ { { "fan2_max", "3300\n" } }, "fan2", "13204\n", false },
		{ { { "power5_rated_max", "300000000\n" } }, "power5", "2999000000\n", true },
		{ { { "power5_rated_max", "300000000\n" } }, "power5", "3001000000\n", false },
		{ { { "power5_cap_max", "300000000\n" }, { "power5_max", "50000000\n" } },
		  "power5", "2999000000\n", true },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct channel_file f;
		char name[32];
		u32 before = registry.implausible.total;
		u64 v;
		bool ok;

		for (size_t k = 0; k < 2 && rows[i].limits[k][0]; k++)
			put(chip_file(rows[i].limits[k][0]), rows[i].limits[k][1]);
		snprintf(name, sizeof(name), "%s_input", rows[i].channel);
		put(chip_file(name), rows[i].reading);
		ok = channel_open(&f, "hwmon0", str_z(rows[i].channel)) == 0 && channel_read(&f, &v);
		check(ok == rows[i].ok && registry.implausible.total - before == !ok,
		      "channel %s %s beside %s %s is %s",
		      rows[i].channel, show(str_z(rows[i].reading)),
		      rows[i].limits[0][0], show(str_z(rows[i].limits[0][1])),
		      rows[i].ok ? "plausible" : "not plausible, and is counted");
		channel_close(&f);
		for (size_t k = 0; k < 2 && rows[i].limits[k][0]; k++)
			unlink(chip_file(rows[i].limits[k][0]));
	}
	check_str(str_z(registry.implausible.where), "hwmon0/power5",
	          "the implausible reading is reported with the name of its channel");
}

/* A limit of a suspended device is not read: that would resume it. */
static void t_asleep(void)
{
	struct channel_file f;
	u64 v;

	put(chip_file("temp7_input"), "255000\n");
	put(chip_file("temp7_crit"), "100000\n");
	shell("mkdir -p $D/sys/class/hwmon/hwmon0/device/power");
	put(chip_file("device/power/runtime_status"), "suspended\n");
	check(channel_open(&f, "hwmon0", S("temp7")) == 0 && f.limit == 0 && !channel_read(&f, &v),
	      "neither limits nor values of a suspended device are read");
	channel_close(&f);
	put(chip_file("device/power/runtime_status"), "active\n");
	check(channel_open(&f, "hwmon0", S("temp7")) == 0 && f.limit == 100000 && !channel_read(&f, &v),
	      "the limit of an active device is read");
	channel_close(&f);
	put(chip_file("in7_input"), "1280\n");
	put(chip_file("in7_max"), "90\n");
	check(channel_open(&f, "hwmon0", S("in7")) == 0 && channel_read(&f, &v) && v == 1280,
	      "limits of voltages are not compared");
	channel_close(&f);
}

static void t_energy(void)
{
	struct channel_file f;
	u64 v;

	put(chip_file("energy1_input"), "5000000000\n");
	check(channel_open(&f, "hwmon0", S("energy1")) == 0 && channel_read(&f, &v) &&
	      v == 5000000000, "energy: the first reading");
	put(chip_file("energy1_input"), "7\n");
	check(!channel_read(&f, &v), "energy: a reading in a dip is unknown");
	put(chip_file("energy1_input"), "5000001000\n");
	check(channel_read(&f, &v) && v == 5000001000, "energy: the count continues after the dip");
	put(chip_file("energy1_input"), "267144001000\n");
	check(channel_read(&f, &v) && v == 5000000999,
	      "energy: a jump of 262 kJ is not counted, and looks like a reset");
	channel_close(&f);
}

static void t_suspended(void)
{
	static const struct {
		const char *text;
		bool reads;
	} states[] = {
		{ "active\n", true }, { "suspended\n", false }, { "suspending\n", false },
		{ "resuming\n", true }, { "unsupported\n", true }, { "error\n", true },
		{ "", true }, { "suspend", false }, { "susp", true },
	};
	struct channel_file f;

	put(chip_file("fan1_input"), "1200\n");
	put(in_folder("state"), "active\n");
	channel_open(&f, "hwmon0", S("fan1"));
	f.state = open(in_folder("state"), O_RDONLY);
	for (size_t i = 0; i < LEN(states); i++) {
		u64 v = 0;
		u32 before;
		bool ok;

		put(in_folder("state"), states[i].text);
		before = fileio.calls;
		ok = channel_read(&f, &v);
		check(ok == states[i].reads && v == (ok ? 1200 : 0),
		      "state '%s': the channel is %s",
		      show(str_z(states[i].text)), states[i].reads ? "read" : "not read");
		if (states[i].text[0] && strchr(states[i].text, '\n'))
			check_u64(fileio.calls - before, ok ? 2 : 1,
			          "state '%s': number of system calls",
				  show(str_z(states[i].text)));
	}
	close(f.state);
	f.state = -1;
	check(channel_read(&f, &(u64){ 0 }), "a device without a power state is read");
	channel_close(&f);
}

int main(void)
{
	folder_begin("t_hwmon");
	root_set(&roots.sys, in_folder("sys"));
	t_names();
	t_paths();
	t_open();
	t_values();
	t_limits();
	t_energy();
	t_asleep();
	t_suspended();
	shell("rm -rf $D");
	return unit_end();
}
