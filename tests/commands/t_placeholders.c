/* t_placeholders.c - unit test of commands/placeholders.c: names in each kind of captured file,
 * and arbitrary bytes. SPDX-License-Identifier: MIT */
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/placeholders.c"
#undef replay

#include "tests/unit.h"

static char bytes[MADE_BYTES];

/* Returns the text of a file after its names were replaced. */
static const char *file_of(const char *path, struct str text)
{
	size_t n = str_len(text);

	memcpy(bytes, text.p, n);
	n = placeholders_put(str_z(path), bytes, n, sizeof(bytes) - 1);
	bytes[n] = '\0';
	return bytes;
}

static void t_files(void)
{
	static const struct {
		const char *path, *text, *want;
	} files[] = {
		{ "proc/7/comm", "Xorg\n", "command1\n" },
		{ "proc/8/comm", "bash\n", "command2\n" },
		{ "proc/9/comm", "Xorg\n", "command1\n" },
		{ "proc/9/comm", "systemd-logind\n", "systemd-logind\n" },
		{ "proc/9/comm", "seatd\n", "seatd\n" },
		{ "proc/9/comm", "seatd\nx\n", "command3\n" },
		{ "proc/9/comm", "\n", "\n" },
		{ "proc/9/comm", "", "" },
		{ "proc/7/stat", "7 (Xorg) S 1 7\n", "7 (command1) S 1 7\n" },
		{ "proc/7/stat", "7 (a) S 1 (b) S 1 7\n", "7 (command4) S 1 7\n" },
		{ "proc/7/stat", "7 () S\n", "7 () S\n" },
		/* the addresses of the process: fields 26 to 30, 35 and 45 to 51 */
		{ "proc/7/stat", "7 (Xorg) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 "
		  "31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52\n",
		  "7 (command1) R 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 0 0 0 0 0 "
		  "31 32 33 34 0 36 37 38 39 40 41 42 43 44 0 0 0 0 0 0 0 52\n" },
		{ "proc/7/stat", "7 (Xorg) R  4", "7 (command1) R  4" },
		{ "proc/7/stat", "7 (Xorg) R \t4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25  26 27 28 29\n",
		  "7 (command1) R \t4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25  0 0 0 0\n" },
		{ "proc/7/stat", "7 (no end", "7 " },
		{ "proc/7/stat", "7) (1 2", "7) (1 2" },
		{ "proc/stat", "cpu 1 2 3\n", "cpu 1 2 3\n" },
		{ "proc/7/status", "Name:\tXorg\nUmask:\t0022\nUid:\t0\t0\n",
		  "Name:\tcommand1\nUmask:\t0022\nUid:\t0\t0\n" },
		{ "proc/7/fdinfo/4", "pos:\t0\ndrm-client-name:\tme\ndrm-driver:\ti915\n",
		  "pos:\t0\ndrm-client-name:\tclient1\ndrm-driver:\ti915\n" },
		{ "proc/7/fdinfo/4", "drm-client-name:\t\n", "drm-client-name:\t\n" },
		{ "proc/7/fdinfo/4", "drm-client-name:\tno newline",
		  "drm-client-name:\tclient2" },
		{ "proc/7/cgroup", "0::/user.slice/user-1000.slice/session-2.scope\n",
		  "0::/user.slice/user-1000.slice/session-2.scope\n" },
		{ "proc/7/cgroup", "0::/system.slice/bob.service\n1:cpu:/a/b\n",
		  "0::/system.slice/group1.service\n1:cpu:/group2/group3\n" },
		{ "proc/7/cgroup", "0::/lxc.payload.bob/init.scope\n",
		  "0::/lxc.payload.group1/init.scope\n" },
		{ "proc/7/cgroup", "0::/machine.slice/machine-qemu\\x2d1\\x2dbob\\x2dpc.scope\n",
		  "0::/machine.slice/machine-qemu\\x2d1\\x2dgroup1\\x2dgroup4.scope\n" },
		{ "proc/7/cgroup", "0::/machine.slice/systemd-nspawn@bob.service/payload\n",
		  "0::/machine.slice/systemd-nspawn@group1.service/payload\n" },
		{ "proc/7/cgroup", "0::/kubelet.slice/kubelet-kubepods.slice\n",
		  "0::/kubelet.slice/kubelet-kubepods.slice\n" },
		{ "proc/7/cgroup", "0::/\n", "0::/\n" },
		{ "proc/7/cgroup", "no colon", "no colon" },
		{ "proc/7/cgroup", "0::/docker/8f3c8f3c8f3c8f3c8f3c8f3c8f3c8f3c8f3c8f3c8f3c8f3c\n",
		  "0::/docker/000000000000000000000000000000000000000000000001\n" },
		{ "sys/devices/a/unique_id", "0123456789abcdef\n", "0000000000000002\n" },
		{ "sys/devices/serial8250/type", "A\n", "A\n" },
		{ "proc/driver/nvidia/gpus/0/information",
		  "Model:\tA 1\nGPU UUID:\tGPU-0b5c1d2e-3f40\nIRQ:\t7\n",
		  "Model:\tA 1\nGPU UUID:\tGPU-00000000-0003\nIRQ:\t7\n" },
		{ "sys/class/kfd/kfd/topology/nodes/1/properties",
		  "simd_count 192\nunique_id 12345678901234567\nnum_xcc 1\n",
		  "simd_count 192\nunique_id 00000000000000004\nnum_xcc 1\n" },
		{ "sys/devices/a/uevent", "DRIVER=i915\n", "DRIVER=i915\n" },
	};

	for (size_t i = 0; i < LEN(files); i++) {
		const char *got = file_of(files[i].path, str_z(files[i].text));

		if (!check(strcmp(got, files[i].want) == 0,
			   "%s, row %u: names are replaced", files[i].path,
			   (unsigned)i))
			note("got %s", got);
	}
	check(strcmp(file_of("proc/7/cmdline", LIT("/usr/bin/Xorg\0-auth\0/home/me\0")),
		     "command1") == 0,
		     "a command line is replaced by the placeholder of its process");
	check(strcmp(file_of("proc/7/cmdline", LIT("/opt/averyverylongname\0")),
		     file_of("proc/7/comm", LIT("averyverylongna"))) == 0,
		     "a long command name has the placeholder of its first 15 bytes");
}

static void t_links(void)
{
	static const struct {
		const char *path, *text, *want;
	} links[] = {
		{ "proc/7/fd/4", "/dev/dri/card0", "/dev/dri/card0" },
		{ "proc/7/fd/5", "/home/me/a", "/path1" },
		{ "proc/8/fd/5", "/home/me/b", "/path2" },
		{ "proc/9/fd/5", "/home/me/a", "/path1" },
		{ "proc/9/fd/6", "/dev/shm/me", "/path3" },
		{ "proc/9/fd/7", "anon_inode:[eventfd]", "anon_inode:[eventfd]" },
		{ "proc/9/fd/8", "pipe:[77]", "pipe:[77]" },
		{ "proc/9/fd/9", "/memfd:me (deleted)", "/path4" },
		{ "proc/9/fd/10", "/dev/hugepages/libvirt/qemu/1-me", "/path5" },
		{ "proc/9/fd/11", "/dev/nvidia0", "/dev/nvidia0" },
		{ "proc/9/fd/12", "/dev/accel/accel0", "/dev/accel/accel0" },
		{ "sys/class/drm/card0", "../../devices/a", "../../devices/a" },
	};

	for (size_t i = 0; i < LEN(links); i++) {
		size_t n = strlen(links[i].text);

		memcpy(bytes, links[i].text, n);
		n = placeholders_put_link(str_z(links[i].path), bytes, n, sizeof(bytes));
		check(str_is(str_of(bytes, n), links[i].want),
		      "link %s: the target has a placeholder if it contains a name", links[i].path);
	}
}

/* The buffer is only as long as the text that was read: a placeholder may not fit. */
static void t_room(void)
{
	static const char *const paths[] = { "proc/1/comm", "proc/1/stat", "proc/1/status",
					     "proc/1/cmdline", "proc/1/cgroup", "proc/1/fdinfo/1",
					     "proc/a/information", "sys/a/unique_id" };
	static const char text[] = "Name:(drm-client-name: UUID: a)/b-0123456789abcdef0123456789"
				   "abcdef\n:\n\n0::/x\0y";
	bool good = true;

	for (size_t p = 0; p < LEN(paths); p++)
		for (size_t n = 0; n <= sizeof(text); n++) {
			char *b = malloc(n + 1); /* the sanitizer reports accesses after its end */

			memcpy(b, text, n);
			good &= placeholders_put(str_z(paths[p]), b, n, n) <= n;
			good &= placeholders_put_link(LIT("proc/1/fd/1"), b, n, n) <= n;
			free(b);
		}
	check(good, "any truncated text: placeholders stay within the buffer");
	check(placeholders[HIDDEN_COMMAND] > 3 && placeholders[HIDDEN_SERIAL] >= 3,
	      "the numbers of replaced names are counted");
}

/* A newline before an empty name is not part of the name. */
static void t_empty(void)
{
	char to[16];
	struct buf b = BUF(to);

	replace_comm(&b, str_of("\nx" + 1, 0));
	check_u64(b.n, 0, "replace_comm: an empty name after a newline stays empty");
}

/* The table of names is full: each further name has the number 0, and the table is reported. */
static void t_full(void)
{
	u32 had = nnames, last, n;
	const struct table *full;

	while (table_full(&n))
		;
	table_all(&names.t);
	nnames = MAX_NAMES - 1;
	last = name_number(HIDDEN_COMMAND, LIT("last"));
	check(last == placeholders[HIDDEN_COMMAND] && nnames == MAX_NAMES && name_number(HIDDEN_COMMAND, LIT("last")) == last,
	      "full table of names: the last name is found");
	check_str(str_z(file_of("proc/7/comm", LIT("more\n"))), "command0\n",
		  "full table of names: one more name is replaced by number 0");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "replaced names") == 0,
	      "full table of names: the table is reported");
	nnames = had;
}

int main(void)
{
	t_files();
	t_links();
	t_room();
	t_empty();
	t_full();
	return unit_end();
}
