/* t_hwmoncounters.c - unit test of sources/catalog/hwmoncounters.c: names of channels, chips with the
 * same name, chips of GPUs, and a chip that changes. SPDX-License-Identifier: MIT */
#include "../../sources/catalog/hwmoncounters.c"

#include "folder.h"
#include "listed.h"

static void file_is(const char *name, const char *text)
{
	put(in_folder("class/hwmon/%s", name), text);
}

static void t_list(void)
{
	provider_hwmon.find[FIND_ALL]();
	check(listed.n == 0, "without the folder there is no sensor");
	file_is("hwmon0/name", "acpi\n");
	file_is("hwmon0/temp1_input", "-500\n");
	file_is("hwmon0/temp1_label", " core \n");
	file_is("hwmon0/power1_average", "7\n");
	file_is("hwmon0/energy1_input", "9\n");
	file_is("hwmon0/temp1_max", "100\n");
	file_is("hwmon0/temp_input", "1\n");
	file_is("hwmon0/tempx_input", "1\n");
	file_is("hwmon1/name", "amdgpu\n");
	file_is("hwmon1/temp1_input", "1\n");
	put_folder(in_folder("class/hwmon/hwmon1/device/drm"));
	file_is("hwmon2/temp1_input", "1\n"); /* the chip has no name */
	file_is("hwmon3/name", "a.name.of.more.than.32.bytes.in.it\n");
	file_is("hwmon3/temp1_input", "1\n");
	provider_hwmon.find[FIND_ALL]();
	check(listed_has(" linux: hwmon/acpi/temp1/temperature (mC) signed level - "
			 "temperature: core\n"), "a temperature is signed, with its label");
	check(listed_has(" linux: hwmon/acpi/power1/power (uW) level - power\n"),
	      "the value of power can be an average");
	check(listed_has(" linux: hwmon/acpi/energy1/energy (uJ) count - energy\n"), "energy is counted");
	check_u64(hwmonlist.n, 3,
		  "no limits, no chips of GPUs, no chips without a name or with a long one");
	check(listed_provider == PROVIDER_HWMON, "sensors belong to the provider hwmon");
}

static void t_again(void)
{
	size_t n = listed.n;

	provider_hwmon.find[FIND_ALL]();
	check(listed.n == n && hwmonlist.n == 3, "sensors that are listed are not added again");
	file_is("hwmon7/name", "acpi\n");
	file_is("hwmon7/temp1_input", "31000\n");
	provider_hwmon.find[FIND_ALL]();
	check(listed_has("3 linux: hwmon/acpi.hwmon7/temp1/temperature (mC) signed level - temperature\n"),
	      "another chip of the same name has its folder in the name");
}

static void t_read(void)
{
	u64 v = 0, total;

	check(provider_hwmon.read(3, &v, &total) == -ENOENT,
	      "a sensor that is not open has no value");
	check(provider_hwmon.open(3) == 0 && provider_hwmon.read(3, &v, &total) == 0 && v == 31000,
	      "an open sensor has a value");
	file_is("hwmon7/temp1_input", "-1500\n");
	check(provider_hwmon.read(3, &v, &total) == 0 && (i64)v == -1500,
	      "a negative value is read");
	file_is("hwmon7/temp1_input", "N/A\n");
	check(provider_hwmon.read(3, &v, &total) == -ENOENT,
	      "a file without a number has no value");
	provider_hwmon.close(3);
	check(hwmonlist.sensors[3].file.fd == -1 && hwmonlist.sensors[3].file.state == -1,
	      "a sensor is closed");
	file_is("hwmon7/temp1_input", "1\n");
	file_is("hwmon7/device/power/runtime_status", "suspended\n");
	check(provider_hwmon.open(3) == 0 && provider_hwmon.read(3, &v, &total) == -ENOENT,
	      "a device that is suspended is not read");
	provider_hwmon.close(3);
	file_is("hwmon7/name", "other\n");
	check(provider_hwmon.open(3) == -ENOENT,
	      "the folder belongs to another chip now: the sensor is not opened");
	file_is("hwmon7/name", "acpi\n");
	shell("rm \"$D/class/hwmon/hwmon7/temp1_input\"");
	check(provider_hwmon.open(3) == -ENOENT, "the channel is gone: the sensor is not opened");
}

static void t_full(void)
{
	u32 had = hwmonlist.n, dropped = registry.dropped, n, bad = 0;
	const struct table *full;

	file_is("hwmon9/name", "many\n");
	for (u32 i = 0; i <= MAX_SENSORS; i++)
		put(in_folder("class/hwmon/hwmon9/in%u_input", (unsigned)i), "7\n");
	listed.n = 0;
	provider_hwmon.find[FIND_ALL]();
	check(hwmonlist.n == MAX_SENSORS && registry.dropped - dropped >= had + 1,
	      "full table: each sensor without room is counted");
	full = table_full(&n);
	check(full && n == registry.dropped - dropped && strcmp(full->name, "hwmon sensors") == 0,
	      "full table: the table is reported");
	for (u32 i = had; i < MAX_SENSORS; i++)
		bad += strcmp(hwmonlist.sensors[i].dir, "hwmon9") != 0 ||
		       strncmp(hwmonlist.sensors[i].chan, "in", 2) != 0;
	check_u64(bad, 0, "full table: the sensors before the limit are listed");
	for (u32 i = MAX_SENSORS - 1; i < MAX_SENSORS; i++) {
		u64 v = 0, total;

		check(provider_hwmon.open(i) == 0 && provider_hwmon.read(i, &v, &total) == 0 && v == 7,
		      "full table: the last sensor can be read");
		provider_hwmon.close(i);
	}
}

int main(void)
{
	folder_begin("hwmoncounters");
	root_set(&roots.sys, tmp_folder);
	t_list();
	t_again();
	t_read();
	t_full();
	shell("rm -rf \"$D\"");
	return unit_end();
}
