/* t_clients.c - unit test of sources/drm/clients.c: values of an fdinfo text, texts that exceed the
 * buffer, keys of clients, nodes, and what may be read. t_discovery.c and t_clients.py test scans.
 * SPDX-License-Identifier: MIT */
#include "../../sources/drm/clients.c"

#include "folder.h"

static const u64 none = 0xdeadbeefdeadbeef; /* the counter has no value */
static struct client *it;

static u64 value(u8 desc, const char *inst)
{
	u64 v;

	for (struct counter *c = reg_first(&it->e); c; c = reg_next(c))
		if (c->desc == desc && str_is(inst_name(c->inst), inst) &&
		    reg_get(&it->e, desc, c->inst, &v))
			return v;
	return none;
}

static void read_text(const char *text, i64 t)
{
	struct fdhead h;

	fdinfo_head(str_z(text), &h);
	fdinfo_put(it, str_z(text), &h, t);
}

static void client_new(void)
{
	static u64 key;
	u32 n = client_add(1, KEY_ID, ++key);

	it = &clients[n];
}

/* --- values ----------------------------------------------------------------------------------- */

#define HEAD "drm-driver:\ti915\ndrm-client-id:\t5\n"

static void t_put(void)
{
	char b[100];

	client_new();
	read_text(HEAD "drm-client-name:\tgame\ndrm-engine-render:\t5 ns\ndrm-engine-render:\t7 ns\n"
		  "drm-memory-vram:\t3 KiB\ndrm-resident-vram:\t4 KiB\ndrm-memory-vram:\t5 KiB\n"
		  "drm-memory-gtt:\t6 KiB\ndrm-engine-copy:\tx ns\nvendor-key:\t1 2\npasid:\t9\n", 1000);
	check_u64(value(D_BUSY_NS, "render"), 7, "the last value of a repeated key counts");
	check_u64(value(D_RESIDENT, "vram"), 4096,
	          "drm-memory-* after drm-resident-* does not replace it");
	check_u64(value(D_RESIDENT, "gtt"), 6144,
	          "drm-memory-* without drm-resident-* is the resident size");
	check_u64(value(D_BUSY_NS, "copy"), none, "a malformed line has no value");
	check_u64(it->skipped, 1, "a malformed line is counted as skipped");
	check_str(str_of(b, text_copy(it->name, b, sizeof(b))), "game",
	          "a client has the name of drm-client-name");
	check(it->other == NONE, "vendors' keys are not stored by default");
	fdinfo_scope.others = true;
	read_text(HEAD "vendor-key:\t1 2\npasid:\t9\n", 2000);
	fdinfo_scope.others = false;
	check_str(str_of(b, text_copy(it->other, b, sizeof(b))), "vendor-key:1 2\npasid:9\n",
		  "vendors' keys are stored if requested");
	check(it->name == NONE && it->skipped == 0,
	      "the name and the count of skipped lines are those of the last text");
}

static void t_same(void)
{
	static const char busy[] = HEAD "drm-engine-render:\t5 ns\n";

	client_new();
	check(!fdinfo_put_same(it, LIT(HEAD), 1000), "fdinfo_put_same() refuses the first text");
	read_text(busy, 1000);
	check(fdinfo_put_same(it, str_z(busy), 2000) && it->e.t == 2000,
	      "fdinfo_put_same() accepts the text of the last reading");
	check(!fdinfo_put_same(it, LIT(HEAD), 3000), "fdinfo_put_same() refuses another text");
	read_text(HEAD "drm-engine-render:\t4 ns\n", 3000);
	check(it->e.went_backwards, "a decreased counter is noticed");
	check(!fdinfo_put_same(it, LIT(HEAD "drm-engine-render:\t4 ns\n"), 4000),
	      "a text with a decreased counter is parsed again");
}

static void t_zero(void)
{
	static const char full[] = HEAD "drm-total-gtt:\t8\ndrm-resident-gtt:\t8\n"
				   "drm-total-vram:\t8\n";

	client_new();
	read_text(full, 1000);
	zero_absent(it, 0, 1000);
	check_u64(value(D_RESIDENT, "vram"), none, "a key that was never in the text is unknown");
	zero_absent(it, Z_RESIDENT | Z_ACTIVE, 1000);
	check_u64(value(D_RESIDENT, "vram"), 0,
	          "a missing key is 0 if the driver leaves out zeros");
	check_u64(value(D_ACTIVE, "vram"), 0,
	          "another missing key is 0 if the driver leaves out zeros");
	check_u64(value(D_PURGEABLE, "vram"), none,
	          "a missing key is unknown if the driver always prints it");
	check_u64(value(D_RESIDENT, "gtt"), 8, "a key in the text keeps its value");
	client_new();
	read_text(full, 1000);
	read_text(HEAD "drm-total-gtt:\t8\n", 2000);
	zero_absent(it, 0, 2000);
	check_u64(value(D_RESIDENT, "gtt"), 0,
	          "a key that an earlier text had is 0 if its region is still there");
	check_u64(value(D_TOTAL, "gtt"), 8, "a region has its total if drm-resident is missing");
}

/* A size that is not plausible does not become 0 as a missing one does. */
static void t_implausible(void)
{
	static const char text[] = HEAD "drm-total-vram:\t8\ndrm-resident-vram:\t18446744073709551615\n";
	u32 total = registry.implausible.total;

	client_new();
	read_text(text, 1000);
	zero_absent(it, Z_RESIDENT | Z_ACTIVE, 1000);
	check_u64(value(D_RESIDENT, "vram"), none, "a size that is not plausible stays unknown");
	check_u64(value(D_ACTIVE, "vram"), 0, "a missing size of the same region is 0");
	check(!fdinfo_put_same(it, str_z(text), 2000), "the same text is parsed again");
	read_text(text, 2000);
	zero_absent(it, 0, 2000);
	check_u64(value(D_RESIDENT, "vram"), none, "the size stays unknown in the next reading");
	check_u64(registry.implausible.total - total, 2, "each reading is counted");
	read_text(HEAD "drm-total-vram:\t8\n", 3000);
	zero_absent(it, 0, 3000);
	check_u64(value(D_RESIDENT, "vram"), 0, "when the key is missing, the size is 0");
	read_text(HEAD "drm-memory-vram:\t18446744073709551615\ndrm-resident-vram:\t4\n", 4000);
	check_u64(value(D_RESIDENT, "vram"), 4, "the new key replaces a bad value of the old key");
	read_text(HEAD "drm-memory-vram:\t4\ndrm-resident-vram:\t18446744073709551615\n", 5000);
	check_u64(value(D_RESIDENT, "vram"), none, "a bad value of the new key replaces the old key's");
	read_text(HEAD "drm-resident-vram:\t18446744073709551615\ndrm-memory-vram:\t4\n", 5000);
	check_u64(value(D_RESIDENT, "vram"), none, "the old key does not replace a bad value of the new key");
	read_text(HEAD "drm-resident-vram:\t3\ndrm-memory-vram:\t18446744073709551615\n", 5000);
	check_u64(value(D_RESIDENT, "vram"), 3, "a bad value of the old key does not replace the new key's");
	client_new();
	read_text(HEAD "drm-engine-capacity-x:\t4\n", 6000);
	read_text(HEAD "drm-engine-capacity-x:\t300\n", 7000);
	read_text(HEAD, 8000);
	check_u64(value(D_CAPACITY, "x"), 4, "a bad capacity does not replace the one of an earlier text");
	client_new();
	read_text(HEAD "drm-total-vram:\t18014398509481984 KiB\n", 6000);
	zero_absent(it, Z_RESIDENT, 6000);
	check(value(D_TOTAL, "vram") == none && it->skipped == 0,
	      "a size of 2^64 bytes is unknown, not malformed");
	check_u64(value(D_RESIDENT, "vram"), 0, "a missing size is 0, also if the total is unknown");
}

/* The id of a client is used again: its text is stored twice, and its values are counted once. */
static void t_counted_once(void)
{
	static const char text[] = HEAD "drm-engine-render:\t%d ns\ndrm-total-vram:\t%s\n";
	u32 total = registry.implausible.total;
	struct device *d = &devices[1];
	struct fdhead h;
	char b[200];

	client_new();
	snprintf(b, sizeof(b), text, 9, "8");
	fdinfo_head(str_z(b), &h);
	client_put(it, str_z(b), &h, 1000);
	d->implausible = 5;
	snprintf(b, sizeof(b), text, 4, "18446744073709551615");
	fdinfo_head(str_z(b), &h);
	client_put(it, str_z(b), &h, 2000);
	check(value(D_BUSY_NS, "render") == 4 && !it->e.went_backwards && !it->e.t_was,
	      "a client with a lower counter and no known holder is a new one");
	check(d->implausible == 6 && registry.implausible.total == total + 1,
	      "its value that is not plausible is counted once");
	d->implausible = 0;
}

static void t_baseline(void)
{
	static const struct str drivers[] = { STR("i915"), STR("amdgpu") };

	for (size_t i = 0; i < LEN(drivers); i++) {
		u64 d = 0, dt = 0;
		u16 inst = 0;

		client_new();
		read_text(HEAD, 1000);
		read_text(HEAD "drm-engine-new:\t600 ns\n", 3000);
		new_engines_baseline(it, drivers[i]);
		for (struct counter *c = reg_first(&it->e); c; c = reg_next(c))
			inst = c->desc == D_BUSY_NS ? c->inst : inst;
		check(reg_rate(&it->e, D_BUSY_NS, inst, &d, &dt) == (i == 1),
		      "a new engine of %s %s a rate", drivers[i].p, i == 1 ? "has" :
		      "does not have");
	}
	check_u64(value(D_BUSY_NS, "new"), 600,
	          "the baseline of a new engine does not change its value");
}

/* --- texts of any length ---------------------------------------------------------------------- */

static void t_locks(void)
{
	static const char *const rows[][2] = {
		{ "pos:\t0\nlock:\t1\ndrm-x: 1\n", "pos:\t0\ndrm-x: 1\n" },
		{ "lock:\t1\nlock:\t2\n", "" }, { "lock:\t1\nlock:\tcut", "lock:\tcut" },
		{ "xlock:\n\n", "xlock:\n\n" }, { "", "" }, { "cut", "cut" },
	};
	char b[64];

	for (size_t i = 0; i < LEN(rows); i++) {
		strcpy(b, rows[i][0]);
		check_str(str_of(b, drop_locks(b, strlen(b))), rows[i][1],
		          "file locks are removed from the text: row %zu", i);
	}
}

/* Writes a file with at least n bytes of lines, and the text `end` after them. */
static int long_file(const char *line, size_t n, const char *end)
{
	static char b[256 << 10];
	size_t at = 0;

	while (at < n) {
		strcpy(b + at, line);
		at += strlen(line);
	}
	strcpy(b + at, end);
	put(in_folder("long"), b);
	return open(in_folder("long"), O_RDONLY);
}

static void t_slurp(void)
{
	int fd = long_file("lock:\t1: POSIX  ADVISORY  WRITE 77 00:10:1 0 EOF\n", 200000, HEAD);
	u32 dropped = registry.dropped;
	long n = fdinfo_slurp(fd);

	check(n > 0 && str_find(str_of(buffers.rows->text, (size_t)n), LIT(HEAD)),
	      "the text after 200 kB of file locks is read");
	check(n < FD_BYTES && registry.dropped == dropped,
	      "the text after the removed locks fits, and nothing is counted as dropped");
	close(fd);
	fd = long_file("drm-engine-x:\t1 ns\n", 70000, "");
	check(fdinfo_slurp(fd) == FD_BYTES && registry.dropped == dropped + 1,
	      "70 kB of other lines are cut, and counted as dropped");
	close(fd);
}

/* --- identity --------------------------------------------------------------------------------- */

static void t_keys(void)
{
	static const struct {
		struct fdhead h;
		u8 kind;
		u64 key;
	} rows[] = {
		{ { .has_client = true, .client = 5, .has_pasid = true, .pasid = 9 }, KEY_ID, 5 },
		{ { .has_pasid = true, .pasid = 9 }, KEY_PASID, 9 },
		{ { .client = 5 }, KEY_FILE, UINT64_C(42) << 32 | 7 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 key;
		u8 kind;

		head_key(&rows[i].h, 42, 7, &kind, &key);
		check(kind == rows[i].kind && key == rows[i].key,
		      "the key of a client: row %zu", i);
	}
}

static void t_numbers(void)
{
	check_u64(fd_number("0"), 0, "fd_number() of descriptor 0");
	check_u64(fd_number("2147483647"), INT32_MAX, "fd_number() of the largest descriptor");
	check_u64(fd_number("2147483648"), UINT32_MAX,
	          "fd_number() refuses a number above INT_MAX");
	check_u64(fd_number("1x"), UINT32_MAX, "fd_number() refuses a name");
	check(holder_seen_since(&(struct holder){ .seen = 5 }, 5),
	      "a holder that was seen in this scan");
	check(!holder_seen_since(&(struct holder){ .seen = 4 }, 5),
	      "a holder that was not seen since the last scan");
	check(holder_seen_since(&(struct holder){ .seen = 1 }, UINT32_MAX),
	      "a holder that was seen after the scan number wrapped");
}

static void t_nodes(void)
{
	static const struct {
		u16 mode;
		u32 major, minor;
		bool is;
	} rows[] = {
		{ S_IFCHR, 226, 0, true }, { S_IFCHR, 226, 128, true }, { S_IFCHR, 261, 0, true },
		{ S_IFCHR, 195, 0, true }, { S_IFCHR, 195, 254, true }, { S_IFCHR, 195, 255, false },
		{ S_IFCHR, 1, 3, false }, { S_IFBLK, 226, 0, false }, { S_IFREG, 226, 0, false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct sys_statx k = { .mode = rows[i].mode };
		unsigned maj = 0, min = 0;

		k.rdev[0] = rows[i].major;
		k.rdev[1] = rows[i].minor;
		check(is_gpu_node(&k, &maj, &min) == rows[i].is, "is_gpu_node() of row %zu", i);
	}
}

static void t_links(void)
{
	int root = -1;
	unsigned maj, min;

	root_set(&root, in_folder("fds"));
	root_set(&roots.sys, in_folder("sys"));
	put_link(in_folder("fds/1"), "/dev/null");
	put_link(in_folder("fds/2"), "/dev/dri/card99");
	put_link(in_folder("fds/3"), "socket:[5]");
	put(in_folder("sys/class/drm/card99/dev"), "226:99\n");
	check(is_gpu(root, "1", &maj, &min) == 0, "a link to a device that is no GPU");
	check(is_gpu(root, "2", &maj, &min) == 1 && maj == 226 && min == 99,
	      "a link to a GPU node that exists only below the given /sys");
	check(is_gpu(root, "3", &maj, &min) == 0, "a link to a socket is not a GPU");
	check(is_gpu(root, "4", &maj, &min) == 0, "a closed descriptor is not a GPU");
	close(root);
}

static void t_may_read(void)
{
	struct device *d = &devices[1];

	str_copy(d->driver, sizeof(d->driver), LIT("xe"));
	d->awake = true;
	check(may_read(1), "fdinfo of an active device may be read");
	d->awake = false;
	check(!may_read(1), "fdinfo may not be read if a read would wake the device");
	str_copy(d->driver, sizeof(d->driver), LIT("i915"));
	check(may_read(1), "fdinfo may be read if a read does not wake the device");
	d->no_fdinfo = true;
	check(!may_read(1), "fdinfo may not be read if a read could crash the kernel");
	d->no_fdinfo = false;
	d->left_out = true;
	check(!may_read(1), "fdinfo of a device that is left out may not be read");
	d->left_out = false;
}

static void t_describe(void)
{
	struct task t = { .pid = 42 };

	put(in_folder("proc/42/comm"), "a\nname of 16 byte\n");
	put(in_folder("proc/42/cgroup"), "0::/user.slice\n");
	put(in_folder("proc/42/stat"), "42 (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 777 0 0\n");
	task_describe(&t);
	check(t.has_comm && t.read > 0, "task_describe() reads a process");
	check_str(str_of(t.comm, t.comm_len), "a\nname of 16 byt",
	          "a process name may have any bytes, and is cut at 15");
	check(t.cgroup != NONE && text_eq(cgroups[t.cgroup].path, LIT("/user.slice")),
	      "a process has its cgroup");
	check_u64(task_start(42), 777, "task_start() of a process");
	check_u64(task_start(43), UINT64_MAX, "task_start() of an ended process is unknown");
	put(in_folder("proc/42/comm"), "\n");
	task_describe(&t);
	check_u64(t.comm_len, 0, "a process name may be empty");
	cgroup_unref(t.cgroup);
}

static void process_put(u32 pid, const char *comm, unsigned start)
{
	char text[100];

	put(in_folder("proc/%u/comm", (unsigned)pid), comm);
	snprintf(text, sizeof(text), "%u (x) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0\n",
		 (unsigned)pid, start);
	put(in_folder("proc/%u/stat", (unsigned)pid), text);
}

static struct str comm_of(u32 task)
{
	return str_of(tasks[task].comm, tasks[task].comm_len);
}

/* A pid that is used again between two samples: the row has the name of the new process, and
 * none of the holders of the old one. */
static void t_reused(void)
{
	u32 n, of_old, wrong = 0;

	registry.repeats = true;
	client_new();
	of_old = (u32)(it - clients);
	process_put(50, "first\n", 100);
	scans.scan_no++;
	n = task_get(50);
	check_str(comm_of(n), "first", "a process has its name");
	holder_add(50, 3, n, of_old);
	process_put(50, "second\n", 200);
	check(task_get(50) == n && it->holders, "within one scan, a process is read once");
	scans.scan_no++;
	check(task_get(50) == n && tasks[n].start == 200,
	      "in the next scan, the new start time is read");
	check_str(comm_of(n), "second", "the new process of a used pid has its name");
	check(!it->holders, "the new process of a used pid has no holders of the old one");
	holder_add(50, 3, n, of_old);
	remove(in_folder("proc/50/stat"));
	scans.scan_no++;
	check(task_get(50) == n && tasks[n].start == 200 && it->holders,
	      "a start time that cannot be read does not change the row");
	/* many processes in turn: the name is always that of the start time */
	for (unsigned i = 0; i < 500; i++) {
		char comm[16];

		snprintf(comm, sizeof(comm), "p%u\n", i);
		process_put(50, comm, 300 + i);
		scans.scan_no++;
		n = task_get(50);
		comm[strlen(comm) - 1] = '\0';
		wrong += !str_is(comm_of(n), comm);
	}
	check(wrong == 0, "500 processes in turn with one pid: each has its name");
	registry.repeats = false;
}

/* Returns the lowest free descriptor. */
static int free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY);

	close(fd);
	return fd;
}

/* The process of the test: its descriptors are read through duplicates. */
static void t_duplicates(void)
{
	int pidfd = (int)sys_pidfd_open(sys_pid()), fd = open("/dev/null", O_RDONLY), before;
	long dup = pidfd < 0 ? pidfd : sys_pidfd_getfd(pidfd, (u32)fd);
	unsigned refused = 0;

	if (dup < 0) {
		check(true, "duplicates of descriptors # SKIP pidfd_getfd(2): error %ld", -dup);
	} else {
		close((int)dup);
		before = free_fd();
		for (int i = 0; i < 100; i++)
			refused += !descriptor_scan_fdinfo(pidfd, sys_pid(), (u32)fd);
		check(refused == 0, "a duplicate shows that a descriptor is not a GPU's");
		check(free_fd() == before, "100 duplicates are closed");
		check(descriptor_scan_fdinfo(pidfd, sys_pid(), 9999),
		      "a closed descriptor counts as scanned");
	}
	close(fd);
	close(pidfd);
}

/* If descriptors are needed for another purpose, the list of processes is closed for a while,
 * also if no scan is open. */
static void t_release(void)
{
	unsigned had = fds_open();

	put(in_folder("proc/5/comm"), "x\n");
	check(!descriptor_release(), "descriptor_release() has no descriptor to close");
	proc_list_begin(false);
	check(fds_open() == had + 1 && descriptor_release() && fds_open() == had,
	      "descriptor_release() closes the list of processes");
	proc_list_end();
}

/* A captured /proc may have a process with the PID of gpustat itself. */
static void t_own_pid(void)
{
	u32 self = sys_pid();
	bool given = roots.proc_given;

	roots.proc_given = false;
	descriptor_nvidia(self, 3, 1);
	check(client_find(1, KEY_PID, self) == NONE, "NVIDIA: gpustat is not a client in /proc");
	check(sys_euid() != 0 || !task_is_foreign(-1, self), "gpustat is its own process in /proc");
	roots.proc_given = true;
	descriptor_nvidia(self, 3, 1);
	check(client_find(1, KEY_PID, self) != NONE,
	      "NVIDIA: the process with gpustat's PID in another /proc is a client");
	check(sys_euid() != 0 || task_is_foreign(-1, self),
	      "the process with gpustat's PID in another /proc is foreign for root");
	roots.proc_given = given;
}

int main(void)
{
	folder_begin("clients");
	root_set(&roots.proc, in_folder("proc"));
	device_add();
	t_put();
	t_same();
	t_zero();
	t_implausible();
	t_counted_once();
	t_baseline();
	t_locks();
	t_slurp();
	t_keys();
	t_numbers();
	t_nodes();
	t_links();
	t_may_read();
	t_describe();
	t_reused();
	t_duplicates();
	t_release();
	t_own_pid();
	shell("rm -rf \"$D\"");
	return unit_end();
}
