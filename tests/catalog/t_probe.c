/* t_probe.c - unit test of sources/catalog/probe.c: properties of this process, and the remedy of
 * each row for each state of the process. t_doctor.py tests whole reports.
 * SPDX-License-Identifier: MIT */
#include <stdbool.h>

#include "sys.h"

static bool has_markers;      /* the marker files of a container are there */
static const char *inner_one; /* the namespace that is not the initial one; NULL: the real ones */
#define sys_fstatat(dir, path, st) (has_markers ? 0 : sys_fstatat(dir, path, st))
#define namespace_is_inner fake_inner
#include "../../sources/catalog/probe.c"
#undef namespace_is_inner

#include "folder.h"

#define PTRACE CAP(CAP_SYS_PTRACE)
#define SEARCH CAP(CAP_DAC_READ_SEARCH)
#define PERFMON CAP(CAP_PERFMON)

int namespace_is_inner(int proc, const char *link, const char *initial);

int fake_inner(int proc, const char *link, const char *initial)
{
	return inner_one ? strstr(link, inner_one) != NULL : namespace_is_inner(proc, link, initial);
}

/* No device was found: outside a container, a driver can be loaded. */
static void t_no_device(void)
{
	for (int inside = 0; inside < 2; inside++) {
		self.container = inside;
		probe_devices();
		check_str(str_z(probe.latest->p.remedy), inside ? "" : "modprobe DRIVER",
			  "devices: the remedy without a device %s a container",
			  inside ? "in" : "outside of");
	}
	self.container = false;
}

/* A container has a marker file, and one of three namespaces that is not the initial one. */
static void t_container(void)
{
	static const struct { const char *inner; bool is; } rows[] = {
		{ "none", false }, { "ns/pid", true }, { "ns/uts", true }, { "ns/ipc", true },
	};

	has_markers = true;
	for (size_t i = 0; i < LEN(rows); i++) {
		inner_one = rows[i].inner;
		check(in_container() == rows[i].is, "inner namespace: %s", rows[i].inner);
	}
	has_markers = false;
	inner_one = NULL;
}

static void t_status(void)
{
	static const struct {
		const char *text;
		u64 value;
	} rows[] = {
		{ "CapEff:\t0000000000000000\n", 0 }, { "CapEff:\t000001ffffffffff\n", 0x1ffffffffff },
		{ "Name:\tx\nCapInh:\t1\nCapEff:\tFf\nCapEff:\t1\n", 0xff },
		{ "CapEff:\tffffffffffffffff\n", UINT64_MAX }, { "CapEff:\n", 0 },
		{ "CapEffx:\t1\n", 77 }, { "xCapEff:\t1\n", 77 }, { "CapEff:\t1", 77 }, { "", 77 },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check_u64(status_value(edge_str(rows[i].text, strlen(rows[i].text)), "CapEff", 77),
			  rows[i].value, "status %zu", i);
}

static void t_rights(void)
{
	self.effective = PTRACE | SEARCH;
	self.perfmon = CAP_PERFMON;
	check(has(PTRACE) && has(PTRACE | SEARCH) && !has(PTRACE | PERFMON) && has(0),
	      "has: all given capabilities are required");
	check(!may_perfmon(), "may_perfmon: neither capability of perf");
	self.effective = CAP(CAP_SYS_ADMIN);
	check(may_perfmon(), "may_perfmon: CAP_SYS_ADMIN includes CAP_PERFMON");
	self.user_ns = true;
	check(!has(CAP(CAP_SYS_ADMIN)) && !may_perfmon(),
	      "capabilities of a user namespace do not count");
	self.user_ns = false;
}

/* --- rows ------------------------------------------------------------------------------------- */

static void t_counts(void)
{
	struct probed *p = row_add("a", "b", PROBE_OK, "all but ");

	check_str(str_z(p->source), "ab", "row_add: the source has both parts");
	put_count(p, 3, 75, " processes");
	check_str(str_z(p->detail), "all but 3 of 75 processes", "put_count: some of all");
	p = row_add("c", "", PROBE_OK, "");
	put_count(p, 74, 75, " chips");
	check_str(str_z(p->detail), "74 of 75 chips", "put_count: all but one");
	p = row_add("c", "", PROBE_OK, "");
	put_count(p, 75, 75, " chips");
	check_str(str_z(p->detail), "75 chips", "put_count: all");
	roots.proc = -1;
	root_select(true);
	p = row_add("d", "", PROBE_OK, "good");
	put_count(p, 1, 1, " chip");
	check(p->status == PROBE_ABSENT, "put_count: without /proc the row is absent");
	check_str(str_z(p->detail), "not known without /proc",
		  "put_count: without /proc the detail has the reason");
	probe.root_missing = NULL;
	check(status_of(0) == PROBE_OK && status_of(-EACCES) == PROBE_DENIED &&
	      status_of(-EPERM) == PROBE_DENIED && status_of(-ENOENT) == PROBE_ABSENT,
	      "status of the results of system calls");
}

/* Checks the row for four processes, of which `refused` may not be read. */
static void processes_are(u32 refused, u8 status, const char *detail, u64 needed)
{
	for (u32 i = 1; i <= 4; i++)
		chmod(in_folder("proc/%u/fdinfo", i), i <= refused ? 0 : 0755);
	rights_drop(true);
	probe_processes("x", "fdinfo", false, PTRACE);
	rights_drop(false);
	check(probe.latest->p.status == status && probe.latest->needed_caps == needed,
	      "%u of four may not be read: status %u", refused, status);
	check_str(str_z(probe.latest->p.detail), detail,
		  "the detail tells how many may not be read");
}

static void t_processes(void)
{
	for (u32 i = 1; i <= 4; i++)
		put(in_folder("proc/%u/fdinfo/3", i), "");
	put_folder(in_folder("proc/self"));
	root_set(&roots.proc, in_folder("proc"));
	processes_are(0, PROBE_OK, "4 processes", 0);
	processes_are(1, PROBE_DENIED, "1 of 4 processes", PTRACE);
	self.effective = PTRACE;
	processes_are(1, PROBE_OK, "all but 1 of 4 processes", 0);
	processes_are(2, PROBE_DENIED, "2 of 4 processes", PTRACE);
	self.effective = 0;
	for (u32 i = 1; i <= 4; i++)
		chmod(in_folder("proc/%u/fdinfo", i), 0755);
	close(roots.proc);
	roots.proc = -1;
}

/* perf_event_paranoid, the process, and the remedy if an event of the kernel is refused. */
static void t_perf(void)
{
	static const struct {
		i64 level;
		bool has_level, container, no_new_privs, may;
		const char *remedy; /* NULL: a capability is required */
		u64 caps;
		bool refused; /* refused by a security module or a filter of system calls */
	} rows[] = {
		{ 2, true, false, false, false, NULL, PERFMON, false },
		{ 2, true, false, true, false, "sysctl kernel.perf_event_paranoid=1", 0, false },
		{ 3, true, false, false, false, "sysctl kernel.perf_event_paranoid=1", 0, false },
		{ 1, true, false, false, false, "", 0, true },
		{ 2, true, false, false, true, "", 0, true },
		{ 2, true, true, false, false, NULL, PERFMON, false },
		{ 3, true, true, false, false, NULL, CAP(CAP_SYS_ADMIN), false },
		{ 3, true, true, false, true, "", 0, true },
		{ 0, false, false, false, false, "", 0, false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		self.paranoid = rows[i].level;
		self.has_level = rows[i].has_level;
		self.container = rows[i].container;
		self.no_new_privs = rows[i].no_new_privs;
		self.effective = rows[i].may ? PERFMON : 0;
		SET(self.level, "N");
		perf_row(&perf_kinds[1], -EACCES);
		check_u64(probe.latest->needed_caps, rows[i].caps, "row %zu: capabilities", i);
		check_str(str_z(probe.latest->p.remedy), rows[i].remedy ? rows[i].remedy : "",
			  "row %zu: remedy", i);
		check_str(str_z(probe.latest->p.detail), rows[i].refused ?
			  "refused by a security module or a filter of system calls" :
			  "perf_event_paranoid N", "row %zu: detail", i);
	}
	perf_row(&perf_kinds[4], -ENOENT);
	check_str(str_z(probe.latest->p.detail), "this machine has none",
		  "no such event: the detail");
	perf_row(&perf_kinds[0], -ENOSYS);
	check_str(str_z(probe.latest->p.detail), "this kernel has no perf events",
		  "a kernel without perf events: the detail");
	memset(&self, 0, sizeof(self));
}

/* --- remedies --------------------------------------------------------------------------------- */

static void t_words(void)
{
	static const char *const rows[][2] = {
		{ "/usr/bin/gpustat", "/usr/bin/gpustat" }, { "./gpu_stat-1", "./gpu_stat-1" },
		{ "a b", "'a b'" }, { "it's", "'it'\\''s'" }, { "$(x)", "'$(x)'" },
		{ "a@b", "'a@b'" }, { "a[", "'a['" }, { "a:", "'a:'" }, { "a,b", "'a,b'" },
		{ "\xc3\xa9", "'\xc3\xa9'" }, { "", "" },
	};
	char text[64];

	for (size_t i = 0; i < LEN(rows); i++) {
		struct buf b = BUF(text);

		put_word(&b, rows[i][0]);
		check_str(str_of(b.p, b.n), rows[i][1],
			  "put_word: %s is quoted if the shell requires it", rows[i][0]);
	}
}

#define FOR_GROUP " # for members of a group only: make setcap"

static const struct state {
	bool container, user_ns, no_new_privs, no_suid, no_bounding;
	u64 effective, needed;
	u8 docker;
	const char *remedy, *detail;
} states[] = {
	{ .needed = PTRACE, .remedy = "setcap cap_sys_ptrace+ep ./g" FOR_GROUP, .detail = "d" },
	/* every user who may run the program could then read every file */
	{ .needed = PTRACE | SEARCH, .remedy = "sudo ./g", .detail = "d" },
	{ .needed = PTRACE, .no_suid = true, .remedy = "sudo ./g", .detail = "d" },
	{ .needed = PTRACE, .effective = PTRACE, .remedy = "",
	  .detail = "d; denied even with the capability" },
	{ .needed = PTRACE, .user_ns = true, .effective = PTRACE, .remedy = "",
	  .detail = "d; capabilities of a user namespace do not count" },
	{ .needed = PTRACE, .no_new_privs = true, .remedy = "",
	  .detail = "d; no_new_privs disables file capabilities" },
	{ .needed = PTRACE, .no_bounding = true, .remedy = "", .detail = "d; not in the bounding set" },
	{ .needed = PTRACE, .container = true, .remedy = "setcap cap_sys_ptrace+ep ./g" FOR_GROUP, .detail = "d" },
	{ .needed = PTRACE, .container = true, .no_bounding = true, .detail = "d", .remedy =
	  "docker run --pid=host --device=/dev/dri --user=0 --cap-add=SYS_PTRACE IMAGE" },
	{ .docker = DOCKER_PID, .container = true, .detail = "d", .remedy =
	  "docker run --pid=host --device=/dev/dri --user=0 --cap-add=SYS_PTRACE IMAGE" },
	{ .docker = DOCKER_PID, .remedy = "", .detail = "d" },
};

/* A reason that does not fit into the detail is left out. */
static void t_no_room(void)
{
	struct probe_row row = { .needed_caps = PTRACE };
	size_t cap = sizeof(row.p.detail);

	memset(row.p.detail, 'd', cap - 1);
	self.bounding = self.effective = UINT64_MAX;
	remedy_make(&row, "./g", 0, 0);
	check(memchr(row.p.detail, '\0', cap) == row.p.detail + cap - 1 && row.p.detail[cap - 2] == 'd' && !row.p.remedy[0],
	      "a full detail is not changed");
	memset(&self, 0, sizeof(self));
}

static void t_remedies(void)
{
	for (size_t i = 0; i < LEN(states); i++) {
		const struct state *s = &states[i];
		struct probe_row row = { .p = { .detail = "d" }, .needed_caps = s->needed,
					 .needed_docker = s->docker };

		self.container = s->container;
		self.user_ns = s->user_ns;
		self.no_new_privs = s->no_new_privs;
		self.no_suid = s->no_suid;
		self.bounding = s->no_bounding ? 0 : UINT64_MAX;
		self.effective = s->effective;
		remedy_make(&row, "./g", PTRACE | SEARCH, DOCKER_PID | DOCKER_DRI);
		check_str(str_z(row.p.remedy), s->remedy, "remedy %zu", i);
		check_str(str_z(row.p.detail), s->detail, "detail %zu", i);
	}
	memset(&self, 0, sizeof(self));
}

/* --- files ------------------------------------------------------------------------------------ */

static void t_id_name(void)
{
	char name[8] = "-";

	put(in_folder("group"), "root:x:0:\nvideo:x:44:ann\nrender:x:104:\nlong.name:x:105:\ncut:x:106:");
	check(id_name(in_folder("group"), 44, name, sizeof(name)) && strcmp(name, "video") == 0,
	      "id_name: the name of a group");
	check(id_name(in_folder("group"), 105, name, sizeof(name)) && strcmp(name, "long.na") == 0,
	      "id_name: a long name is cut");
	check(!id_name(in_folder("group"), 10, name, sizeof(name)),
	      "id_name: no group has the number");
	check(!id_name(in_folder("group"), 106, name, sizeof(name)),
	      "id_name: a line without an end is not read");
	check(!id_name(in_folder("none"), 0, name, sizeof(name)), "id_name: no such file");
}

static void t_mounts(void)
{
	probe_mount("debugfs", "kernel/debug", NULL, DOCKER_DEBUG);
	check_str(str_z(probe.latest->p.detail), "this kernel has none",
		  "debugfs: the kernel has none");
	put_folder(in_folder("kernel/debug"));
	probe_mount("debugfs", "kernel/debug", NULL, DOCKER_DEBUG);
	check_str(str_z(probe.latest->p.remedy), "mount -t debugfs debugfs /sys/kernel/debug",
		  "debugfs: an empty folder has the mount command as remedy");
	check_u64(probe.latest->needed_docker, 0,
		  "debugfs: no option of docker outside of a container");
	self.container = true;
	probe_mount("debugfs", "kernel/debug", NULL, DOCKER_DEBUG);
	check_u64(probe.latest->needed_docker, DOCKER_DEBUG,
		  "debugfs: an option of docker in a container");
	put(in_folder("kernel/debug/x"), "1\n");
	probe_mount("debugfs", "kernel/debug", "x", DOCKER_DEBUG);
	check(probe.latest->p.status == PROBE_OK, "debugfs: its file can be read");
	probe_mount("debugfs", "kernel/debug", "y", DOCKER_DEBUG);
	check(probe.latest->p.status == PROBE_OK,
	      "debugfs: it is mounted, although the file does not exist");
	self.lockdown = true;
	probe_mount("debugfs", "kernel/debug", NULL, DOCKER_DEBUG);
	check_str(str_z(probe.latest->p.detail), "locked down",
		  "debugfs: a locked down kernel is named");
	check(probe.latest->p.status == PROBE_DENIED && !probe.latest->needed_caps,
	      "debugfs: no capability is a remedy for a locked down kernel");
}

static void t_full(void)
{
	const struct probed *p;
	const struct table *full;
	u32 n;

	while (table_full(&n))
		;
	table_all(&probe_table);
	probe.nrows = MAX_PROBED - 1;
	p = row_add("last", "", PROBE_ABSENT, "x");
	check(p == &probe.rows[MAX_PROBED - 1].p && strcmp(p->source, "last") == 0,
	      "full table: the last row is added");
	p = row_add("more", "", PROBE_ABSENT, "x");
	full = table_full(&n);
	check(p == &probe.spare.p && probe.nrows == MAX_PROBED && strcmp(probe.rows[MAX_PROBED - 1].p.source, "last") == 0 && full &&
	      n == 1 && strcmp(full->name, "rows of doctor") == 0,
	      "full table: one more row is left out, and the table is reported");
	probe.nrows = 0;
}

int main(void)
{
	folder_begin("probe");
	root_set(&roots.sys, tmp_folder);
	t_status();
	t_no_device();
	t_container();
	t_rights();
	t_processes();
	t_counts();
	t_perf();
	t_words();
	t_remedies();
	t_no_room();
	t_id_name();
	t_mounts();
	t_full();
	shell("rm -rf \"$D\"");
	return unit_end();
}
