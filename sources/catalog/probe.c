/* probe.c - the rows of gpustat doctor: which sources of values can be read here, and for the
 * others a remedy: the command that makes them readable. Doctor wakes no device and changes
 * nothing: it closes every file immediately, and does not open the device nodes of GPUs.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"
#include "sources/perf/perf.h"
#include "sources/catalog/catalog.h"
#include "gpustat/perf.h"
#include "sys.h"

/* Functions of optional features, declared weak: they are NULL, and are not called, if gpustat is
 * built without these features. */
#pragma weak vcio_asked
#pragma weak vcio_fd
#pragma weak vcio_reason
#pragma weak iterator_state

/* maximum number of rows that gpustat doctor prints: 26 rows of probe_all(), and 3 rows of
 * probe_device() for each device */
enum { MAX_PROBED = 26 + 3 * MAX_DEVICES };

/* Numbers of capabilities: linux/capability.h. */
enum { CAP_DAC_READ_SEARCH = 2, CAP_SYS_PTRACE = 19, CAP_SYS_ADMIN = 21, CAP_PERFMON = 38,
       CAP_BPF = 39 };
#define CAP(n) (UINT64_C(1) << (n))

static const struct {
	u8 cap;
	char name[20], docker[22];
} caps[] = {
	/* --user=0: in a container, root has CAP_DAC_OVERRIDE, which permits all that
	 * CAP_DAC_READ_SEARCH permits */
	{ CAP_DAC_READ_SEARCH, "cap_dac_read_search", " --user=0" },
	{ CAP_SYS_PTRACE, "cap_sys_ptrace", " --cap-add=SYS_PTRACE" },
	{ CAP_SYS_ADMIN, "cap_sys_admin", " --cap-add=SYS_ADMIN" },
	{ CAP_PERFMON, "cap_perfmon", " --cap-add=PERFMON" },
#if HAS(bpf)
	{ CAP_BPF, "cap_bpf", " --cap-add=BPF" },
#endif
};

/* Options of docker run that allow a container access to a source of values: bit n stands for
 * docker_flags[n]. */
enum { DOCKER_PID = 1, DOCKER_DRI = 2, DOCKER_TRACING = 4, DOCKER_DEBUG = 8 };
static const char *const docker_flags[] = {
	" --pid=host", " --device=/dev/dri", " -v /sys/kernel/tracing:/sys/kernel/tracing",
	" -v /sys/kernel/debug:/sys/kernel/debug",
};

/* A row of gpustat doctor, with the rights that the row's source requires if access to it was
 * denied. */
struct probe_row {
	struct probed p;
	u64 needed_caps;  /* bits CAP(n): capabilities that the row's source requires */
	u8 needed_docker; /* bits DOCKER_*: options of docker run that the row's source requires */
};

static struct {
	struct probe_row *rows;
	size_t nrows;
	/* row that is used instead of a new one if the table of rows is full; gpustat doctor does
	 * not print it */
	struct probe_row spare;
	struct probe_row *latest;
	/* why the status of sources in /proc or /sys is unknown: this file system could not be
	 * opened; NULL: it is open. root_select() sets it for the rows that are added next. */
	const char *root_missing;
} probe;
static struct table probe_table = TABLE_ROW(probe.rows, MAX_PROBED, 24, "rows of doctor");

/* The rights of this process and the machine's settings. The rights are read from the real /proc,
 * even with --proc. */
static struct {
	u64 effective, bounding;
	/* each is true if execve() of the program does not grant the capabilities of its file:
	 * no_new_privs is set for this process; no_suid: the file system of the program is mounted
	 * with nosuid */
	bool no_new_privs, no_suid;
	/* true if the process is in a user namespace other than the initial one: its capabilities
	 * then do not count for perf and other sources */
	bool user_ns;
	bool container;
	/* true if kernel lockdown is on: the kernel then refuses access to some of its files, such
	 * as those of debugfs, even to root */
	bool lockdown;
	/* number of the capability that perf requires: CAP_PERFMON; before Linux 5.8
	 * CAP_SYS_ADMIN */
	u8 perfmon;
	i64 paranoid;               /* value of the sysctl kernel.perf_event_paranoid */
	/* text of the sysctl kernel.perf_event_paranoid, or "unknown" */
	char level[24];
	bool has_level;             /* true if kernel.perf_event_paranoid could be read */
} self;

static char file[4096];

/* --- rows ------------------------------------------------------------------------------------- */

static void put_parts(char *to, size_t cap, const char *const *parts)
{
	struct buf b = buf_on(to, cap - 1);

	for (; *parts; parts++)
		put_z(&b, *parts);
	to[b.n] = '\0';
}

/* Stores the concatenation of the other arguments, which are strings, in the char array `to`. */
#define SET(to, ...) put_parts(to, sizeof(to), (const char *const[]){ __VA_ARGS__, NULL })

/* Sets probe.root_missing to the reason why /proc (in_proc is true) or /sys could not be opened, or
 * to NULL. Must be called before rows of sources in that file system are added. */
static void root_select(bool in_proc)
{
	probe.root_missing = (in_proc ? roots.proc : roots.sys) >= 0 ? NULL :
			     in_proc ? "not known without /proc" : "not known without /sys";
}

/* Adds a row to the output of gpustat doctor and returns it. The row's source has the name a
 * followed by b. If probe.root_missing is set, the row gets the status PROBE_ABSENT and
 * probe.root_missing as its detail instead of `status` and `detail`. */
static struct probed *row_add(const char *a, const char *b, u8 status, const char *detail)
{
	struct probed *p;

	probe.latest = table_has(&probe_table, probe.nrows) ? &probe.rows[probe.nrows++] :
							     &probe.spare;
	p = &probe.latest->p;
	p->e.kind = K_SOURCE;
	p->status = probe.root_missing ? PROBE_ABSENT : status;
	SET(p->source, a, b);
	SET(p->detail, probe.root_missing ? probe.root_missing : detail);
	return p;
}

/* Sets the rights that the source of the row added last requires: capabilities (bits CAP(n)), and
 * options of docker run (given: bits DOCKER_*). */
static void row_requires(u64 capabilities, u8 given)
{
	probe.latest->needed_caps = capabilities;
	probe.latest->needed_docker = given;
}

static bool is_denied(long r)
{
	return r == -EACCES || r == -EPERM;
}

static u8 status_of(long r)
{
	return r >= 0 ? PROBE_OK : is_denied(r) ? PROBE_DENIED : PROBE_ABSENT;
}

/* Returns whether this process has all of the given capabilities (bits CAP()) in the initial user
 * namespace, as the kernel requires for perf and other sources. */
static bool has(u64 capabilities)
{
	return !self.user_ns && (self.effective & capabilities) == capabilities;
}

/* Returns whether capabilities that setcap adds to the program's file have no effect for this
 * process. */
static bool no_file_caps(void)
{
	return self.user_ns || self.no_new_privs;
}

static bool may_perfmon(void)
{
	return has(CAP(self.perfmon)) || has(CAP(CAP_SYS_ADMIN));
}

/* Appends "N of TOTAL" and the noun `what` to the detail of a row, for example "41 of 75
 * processes". If n is equal to total, only TOTAL and the noun. */
static void put_count(struct probed *p, u64 n, u64 total, const char *what)
{
	struct buf b = { .p = p->detail, .n = strlen(p->detail), .cap = sizeof(p->detail) - 1 };

	if (probe.root_missing)
		return;
	if (n != total) {
		put_u64(&b, n);
		put_z(&b, " of ");
	}
	put_u64(&b, total);
	put_z(&b, what);
	p->detail[b.n] = '\0';
}

/* --- this process ----------------------------------------------------------------------------- */

/* Returns the hexadecimal value of the line "KEY:\tVALUE" in text, the content of /proc/PID/status.
 * unknown: the result if text has no such line. */
static u64 status_value(struct str text, const char *key, u64 unknown)
{
	struct str line, name;
	u64 v = 0;

	while (line_next(&text, &line))
		if (str_cut(&line, ':', &name) && str_is(name, key)) {
			for (line = str_trim(line); line.p < line.e; line.p++)
				v = v << 4 | (u64)(*line.p <= '9' ? *line.p - '0' :
						   (*line.p | 32) - 'a' + 10);
			return v;
		}
	return unknown;
}

static bool read_line(int dir, const char *path, struct str *line)
{
	return slurp_line(dir, path, file, sizeof(file), line);
}

static struct str slurp_text(int dir, const char *path)
{
	long n = slurp(dir, path, file, sizeof(file));

	return str_read(file, n);
}

/* Returns whether this process runs in a container: a file or cgroup that marks a container exists,
 * and at least one namespace is not the initial one. Such files alone are not enough: they also
 * exist on a machine whose disk was made from an image. */
static bool in_container(void)
{
	struct str path;
	struct stat st;
	bool marked = sys_fstatat(AT_FDCWD, "/.dockerenv", &st) == 0 ||
		      sys_fstatat(AT_FDCWD, "/run/.containerenv", &st) == 0 ||
		      (parse_cgroup(slurp_text(AT_FDCWD, "/proc/self/cgroup"), &path) &&
		       parse_container(path).id.p);

	return marked &&
	       (namespace_is_inner(AT_FDCWD, "/proc/self/ns/pid", "pid:[4026531836]") > 0 ||
		namespace_is_inner(AT_FDCWD, "/proc/self/ns/uts", "uts:[4026531838]") > 0 ||
		namespace_is_inner(AT_FDCWD, "/proc/self/ns/ipc", "ipc:[4026531839]") > 0);
}

/* Stores the rights of this process and the machine's settings in the struct `self`. Must be called
 * before sandbox_enter(), which sets no_new_privs. program: path of the executable. */
void probe_self(const char *program)
{
	struct str text, line;
	u64 last = CAP_PERFMON, all = sys_euid() == 0 ? UINT64_MAX : 0;
	struct statfs fs;
	u8 was;

	self.no_suid = sys_statfs(program, &fs) == 0 && fs.f_flags & ST_NOSUID;
	was = privilege_raise(UINT8_MAX);
	text = slurp_text(AT_FDCWD, "/proc/self/status");
	self.effective = status_value(text, "CapEff", all);
	self.bounding = status_value(text, "CapBnd", all);
	self.no_new_privs = status_value(text, "NoNewPrivs", 0);
	self.user_ns = namespace_is_inner(AT_FDCWD, "/proc/self/ns/user",
					  "user:[4026531837]") > 0;
	self.container = in_container();
	text = slurp_text(roots.sys, "kernel/security/lockdown");
	self.lockdown = str_len(text) && !str_find(text, (struct str)STR("[none]"));
	if (read_line(AT_FDCWD, "/proc/sys/kernel/cap_last_cap", &line))
		scan_u64(line, &last);
	self.perfmon = last < CAP_PERFMON ? CAP_SYS_ADMIN : CAP_PERFMON;
	SET(self.level, "unknown");
	self.has_level = read_line(roots.proc, "sys/kernel/perf_event_paranoid", &line) &&
			 scan_i64(line, &self.paranoid);
	if (self.has_level)
		str_copy(self.level, sizeof(self.level), line);
	privilege_lower(was);
}

/* --- processes -------------------------------------------------------------------------------- */

/* Returns true if this process may list the folder /proc/PID/WHAT and, if links is true, read the
 * target of the first link in it; if links is false, open the first file in it. That file is not
 * read, because reading an fdinfo file can wake the device. */
static bool may_list(const char *pid, const char *what, bool links)
{
	char path[64], b[64];
	struct dir d;
	const char *name = NULL;
	u64 number = 0;
	long r;

	scan_u64(str_z(pid), &number);
	SET(path, pid, "/", what);
	r = dir_open(&d, roots.proc, path);
	registry.saw_others |= r >= 0 && task_is_foreign(d.fd, (u32)number);
	if (r >= 0 && (name = dir_next(&d)) && links) {
		r = sys_readlinkat(d.fd, name, b, sizeof(b));
		/* in captured test data (--proc), the entries may be files instead of links */
		r = r == -EINVAL ? 0 : r;
	} else if (r >= 0 && name) {
		r = sys_openat(d.fd, name, O_RDONLY | O_NONBLOCK);
		if (r >= 0)
			sys_close((int)r);
	}
	dir_close(&d);
	return !is_denied(r);
}

static void probe_processes(const char *source, const char *what, bool links, u64 required)
{
	u64 n = 0, refused = 0;
	struct dir d;
	const char *name;
	/* True if the source is reported as readable. A few processes may be unreadable
	 * nevertheless, even with the required capabilities: a security module protects them, or
	 * they have more privileges than gpustat. */
	bool good;

	if (dir_open(&d, roots.proc, ".") >= 0)
		while ((name = dir_next(&d)))
			if ((u8)(*name - '0') < 10) {
				n++;
				refused += !may_list(name, what, links);
			}
	dir_close(&d);
	good = !refused || (has(required) && refused <= n / 4);
	put_count(row_add(source, "", !n ? PROBE_ABSENT : good ? PROBE_OK : PROBE_DENIED,
		      good && refused ? "all but " : ""),
		  refused ? refused : n, n, " processes");
	if (!good)
		row_requires(required, 0);
}

static void probe_namespace(void)
{
	const char *why = proc_hidden_reason();

	row_add("pid namespace", "", why ? PROBE_DENIED : PROBE_OK,
	    why ? why : "all processes of the machine");
	if (why)
		row_requires(why == proc_hidepid ? CAP(CAP_SYS_PTRACE) : 0,
			     why == proc_hidepid ? 0 : DOCKER_PID);
}

/* Adds the row of the BPF iterator over descriptors to gpustat doctor. Commands that scan the
 * processes only once can use this iterator instead of reading /proc. */
static void probe_iterator(void)
{
	const struct iterator_state *s = iterator_state();
	struct probed *p = row_add("iterator", "", !s->reason ? PROBE_OK :
				   s->denied || is_denied(s->error) ? PROBE_DENIED : PROBE_ABSENT,
				   s->reason ? s->reason : "finds the descriptors of processes");

	if (s->error == -ENOENT || s->error == -EINVAL || s->error == -ENOSYS)
		SET(p->detail, "not in this kernel: ", s->reason);
	if (s->denied)
		row_requires(CAP(CAP_BPF) | CAP(CAP_PERFMON) | CAP(CAP_SYS_PTRACE), 0);
}

/* --- perf events ------------------------------------------------------------------------------ */

static const struct perf_kind {
	/* permits: a value of the sysctl kernel.perf_event_paranoid at which every user may open
	 * events of this kind; a remedy of gpustat doctor sets it */
	char source[17], permits[3];
	u8 type, mods;
	/* lowest value of perf_event_paranoid at which events of this kind require CAP_PERFMON */
	u8 denied_from;
	bool wide;
} perf_kinds[] = {
	{ "perf own", "2", PT_SOFTWARE, EM_USER, 3, false },
	{ "perf kernel", "1", PT_SOFTWARE, 0, 2, false },
	{ "perf cpu-wide", "0", PT_SOFTWARE, 0, 1, true },
	{ "perf tracepoints", "-1", PT_TRACEPOINT, 0, 0, false },
	{ "perf hardware", "2", PT_HARDWARE, EM_USER, 3, false },
};

/* Tests if this process may open an event of this kind. Returns a value >= 0 if so, else -errno.
 * Tracepoints are not opened, because that would enable them in the kernel: their result is
 * computed from the rights of this process, as only privileged users may read data of
 * tracepoints. */
static long try_event(const struct perf_kind *k)
{
	struct event ev = { .type = k->type, .mods = k->mods };
	struct gp_event e;
	int fd;

	if (k->type == PT_TRACEPOINT)
		return may_perfmon() || self.paranoid < 0 ? 0 :
		       self.has_level ? -EACCES : -ENODATA;
	event_attr(&ev, true, &e);
	fd = gp_open(&e, k->wide ? -1 : 0, k->wide ? 0 : -1, -1);
	if (fd >= 0)
		sys_close(fd);
	return fd;
}

static void perf_row(const struct perf_kind *k, long r)
{
	struct probed *p = row_add(k->source, "", status_of(r), "");

	SET(p->detail, "perf_event_paranoid ", self.level);
	if (p->status == PROBE_ABSENT && r != -ENODATA)
		SET(p->detail, r == -ENOSYS ? "this kernel has no perf events" :
		    "this machine has none");
	if (p->status != PROBE_DENIED || !self.has_level)
		return;
	if (self.container && !may_perfmon())
		row_requires(CAP(self.paranoid > 2 ? CAP_SYS_ADMIN : self.perfmon), 0);
	else if (self.paranoid < k->denied_from || may_perfmon())
		SET(p->detail, "refused by a security module or a filter of system calls");
	/* CAP_PERFMON is not enough if perf_event_paranoid is above 2, as on Debian: the remedy is
	 * a lower value */
	else if (self.paranoid > 2 || no_file_caps())
		SET(p->remedy, "sysctl kernel.perf_event_paranoid=", k->permits);
	else
		row_requires(CAP(self.perfmon), 0);
}

/* Adds the row of tracepoints to gpustat doctor if tracefs could not be read, with -errno r.
 * Without tracefs, the numbers of tracepoints are unknown; only root may open its folder. */
static void tracefs_row(const struct perf_kind *k, long r)
{
	row_add(k->source, "", status_of(r),
		is_denied(r) ? "only root can read their numbers in tracefs" :
			       "their numbers are in tracefs, which is not mounted");
	if (is_denied(r))
		row_requires(CAP(CAP_DAC_READ_SEARCH), 0);
}

static void probe_perf(void)
{
	long r = 0;

	for (size_t i = 0; i < LEN(perf_kinds) && r != -ENOSYS; i++) {
		const struct perf_kind *k = &perf_kinds[i];
		long tracefs = k->type == PT_TRACEPOINT ? events_tracefs() : 0;

		r = try_event(k);
		if (tracefs < 0 && r != -ENOSYS)
			tracefs_row(k, tracefs);
		else
			perf_row(k, r);
	}
}

static void probe_watchdog(void)
{
	struct str line;

	if (!read_line(roots.proc, "sys/kernel/nmi_watchdog", &line))
		row_add("NMI watchdog", "", PROBE_ABSENT, "");
	else if (*line.p == '0')
		row_add("NMI watchdog", "", PROBE_OK, "off: takes no counter");
	else
		SET(row_add("NMI watchdog", "", PROBE_DENIED,
			    "takes a hardware counter of each CPU")->remedy,
		    "sysctl kernel.nmi_watchdog=0");
}

static bool driver_is_here(const char *driver)
{
	for (u32 i = NONE; (i = device_next(i, false)) != NONE;)
		if (strcmp(devices[i].driver, driver) == 0)
			return true;
	return false;
}

static void probe_oa(const char *driver, const char *knob)
{
	char path[64];
	struct probed *p;
	struct str line;
	bool refused;

	if (!driver_is_here(driver))
		return;
	SET(path, "sys/dev/", driver, "/", knob);
	if (!read_line(roots.proc, path, &line)) {
		row_add("OA ", driver, PROBE_ABSENT, "not for this device, or not in this kernel");
		return;
	}
	refused = *line.p != '0' && !may_perfmon();
	p = row_add("OA ", driver, refused ? PROBE_DENIED : PROBE_OK, refused ? knob : "");
	if (refused && !self.container && no_file_caps())
		SET(p->remedy, "sysctl dev.", driver, ".", knob, "=0");
	else if (refused)
		row_requires(CAP(self.perfmon), 0);
}

/* --- file systems and small files ------------------------------------------------------------- */

/* Adds the row of a file system to gpustat doctor. path: mount point of the file system, relative
 * to /sys; if this folder is empty, the file system is not mounted. leaf: name of a file that is
 * read to test the access; NULL: none. given: DOCKER_* option that mounts the file system in a
 * container. If kernel lockdown is on, a file of debugfs may be read only if all users may read and
 * none may write it (debugfs_locked_down()). */
static void probe_mount(const char *source, const char *path, const char *leaf, u8 given)
{
	struct dir d;
	long r = dir_open(&d, roots.sys, path);
	bool empty = r >= 0 && !dir_next(&d), locked;
	struct probed *p;

	if (r >= 0 && !empty)
		r = leaf ? slurp(d.fd, leaf, file, sizeof(file)) : self.lockdown ? -EPERM : 0;
	/* the file system is mounted, but has no file with the name leaf */
	r = r == -ENOENT && d.fd >= 0 ? 0 : r;
	dir_close(&d);
	locked = r == -EPERM && self.lockdown;
	p = row_add(source, "", empty ? PROBE_ABSENT : status_of(r),
		empty ? "not mounted" : locked ? "locked down" :
		r < 0 && !is_denied(r) ? "this kernel has none" : "");
	if (empty)
		SET(p->remedy, "mount -t ", source, " ", source, " /sys/", path);
	if (empty && self.container && !has(CAP(CAP_SYS_ADMIN)))
		row_requires(0, given);
	else if (is_denied(r) && !locked)
		row_requires(CAP(CAP_DAC_READ_SEARCH), 0);
}

static void probe_count(const char *source, const char *path, const char *what)
{
	struct dir d;
	u64 n = 0;
	long r = dir_open(&d, roots.sys, path);

	while (r >= 0 && dir_next(&d))
		n++;
	dir_close(&d);
	put_count(row_add(source, "",
			  is_denied(r) ? PROBE_DENIED : n ? PROBE_OK : PROBE_ABSENT, ""),
		  n, n, what);
}

static void probe_rapl(void)
{
	long r = slurp(roots.sys, "class/powercap/intel-rapl:0/energy_uj", file, sizeof(file));

	row_add("RAPL", "", status_of(r), "energy_uj");
	if (r == -EACCES)
		row_requires(CAP(CAP_DAC_READ_SEARCH), 0);
}

/* --- devices ---------------------------------------------------------------------------------- */

/* Finds the name of the user or group with a number in the file `path`, /etc/passwd or /etc/group,
 * which has lines NAME:x:ID:..., and stores the name in the buffer `to`. Returns false if no line
 * has the number. */
static bool id_name(const char *path, u32 id, char *to, size_t cap)
{
	/* only the first 64 KiB of the file are read, which include the system's groups even in a
	 * larger file */
	char text[64 << 10];
	long n = slurp(AT_FDCWD, path, text, sizeof(text));
	struct str all = str_read(text, n), line, name, piece;
	u64 v;

	while (line_next(&all, &line))
		if (str_cut(&line, ':', &name) && str_cut(&line, ':', &piece) &&
		    str_cut(&line, ':', &piece) &&
		    scan_u64(piece, &v) == piece.e && v == id) {
			str_copy(to, cap, name);
			return true;
		}
	return false;
}

/* Adds the row of a device node to gpustat doctor. r: the result of opening the node, or of
 * checking its permissions. If access is denied, the remedy adds the user to the node's group. */
static void node_row(const char *path, long r, const char *detail)
{
	char group[64], user[64];
	struct probed *p = row_add(path, "", status_of(r), detail);
	struct stat st;

	if (p->status == PROBE_DENIED && sys_fstatat(AT_FDCWD, path, &st) == 0 &&
	    st.st_gid != 0 && (st.st_mode & 060) == 060 &&
	    id_name("/etc/group", st.st_gid, group, sizeof(group)) &&
	    id_name("/etc/passwd", sys_euid(), user, sizeof(user)))
		SET(p->remedy, "usermod -aG ", group, " ", user);
}

static void probe_node(const struct device *d)
{
	char path[64];
	struct buf b = buf_on(path, sizeof(path) - 1);

	if (d->card < 0 && d->render < 0 && d->accel < 0)
		return;
	put_z(&b, d->render >= 0 ? "/dev/dri/renderD" :
	      d->card >= 0 ? "/dev/dri/card" : "/dev/accel/accel");
	put_u64(&b, (u64)(d->render >= 0 ? d->render : d->card >= 0 ? d->card : d->accel));
	path[b.n] = '\0';
	node_row(path, sys_faccess(AT_FDCWD, path, R_OK | W_OK), "");
	if (probe.latest->p.status == PROBE_ABSENT)
		row_requires(0, DOCKER_DRI);
}

/* Adds the row to gpustat doctor that says whether NVIDIA's driver reports the utilisation of a
 * device, and if not, why. */
static void probe_nvidia(const struct device *d)
{
	bool denied = false;
	const char *why = nvidia_reason((u32)(d - devices), &denied);

	row_add(d->dev, " utilisation", !why ? PROBE_OK : denied ? PROBE_DENIED : PROBE_ABSENT,
		why ? why : "from NVIDIA's driver");
}

static void probe_device(const struct device *d)
{
	char path[128];
	struct str line;
	const char *value = profiling_value(d);

	row_add(d->dev, " runtime state", d->state[0] ? PROBE_OK : PROBE_ABSENT, d->state);
	if (!d->awake)
		SET(probe.latest->p.detail, d->state, ": not read, since that would wake it");
	probe_node(d);
	if (HAS(nvidia) && nvidia_asked((u32)(d - devices)))
		probe_nvidia(d);
	if (!value)
		return;
	SET(path, "class/drm/", d->dev, "/device/profiling");
	if (!read_line(roots.sys, path, &line)) {
		row_add(d->dev, " profiling", PROBE_ABSENT, "this kernel's driver has none");
	} else if (str_is(line, "0")) {
		SET(row_add(d->dev, " profiling", PROBE_DENIED, "off: no busy times")->remedy,
		    "echo ", value, " >/sys/", path);
	} else {
		row_add(d->dev, " profiling", PROBE_OK, "on");
	}
}

/* Adds the row with the number of devices to gpustat doctor. If there are no devices, the row lists
 * the folders that were searched and the drivers that gpustat supports, and its remedy is the
 * command that loads a driver, which a container cannot execute. */
static void probe_devices(void)
{
	u64 n = 0;
	struct probed *p;
	struct buf b;

	for (u32 i = NONE; (i = device_next(i, false)) != NONE;)
		n += devices[i].dev[0] != '\0';
	p = row_add("devices", "", n ? PROBE_OK : PROBE_ABSENT, n ? "" :
		"none in /sys/class, /proc/driver; drivers:");
	b = (struct buf){ .p = p->detail, .n = strlen(p->detail), .cap = sizeof(p->detail) - 1 };
	if (n) {
		put_u64(&b, n);
	} else if (!probe.root_missing) {
		put_drivers(&b);
		if (!self.container)
			SET(p->remedy, "modprobe DRIVER");
	}
	p->detail[b.n] = '\0';
}

/* Adds the row of inotify, which says whether inotify can report that processes open device nodes;
 * if not, only the regular rescan of processes finds new clients. */
static void probe_inotify(void)
{
	const char *where;
	struct probed *p;
	long error;

	nodes_start();
	where = nodes_folder(&error);
	nodes_stop();
	p = row_add("inotify", "", error ? status_of(error) : PROBE_OK, "");
	SET(p->detail, error == -ENOSYS ? "no CONFIG_INOTIFY_USER" :
	    error == -ENOENT ? "no device node in " : error ? "" : "opens are reported in ",
	    error == -ENOSYS ? "" : where);
	if (error == -EMFILE)
		SET(p->remedy, "sysctl fs.inotify.max_user_instances=1024");
	else if (error == -ENOSPC)
		SET(p->remedy, "sysctl fs.inotify.max_user_watches=65536");
}

/* Adds the row of a part of the sandbox (the seccomp filter or Landlock) to gpustat doctor. r:
 * state of the part: < 0: -errno, or -ECANCELED with --no-sandbox; >= 0: the part works, and a
 * value above 0, such as the ABI version, is appended to the row's detail. is: detail of the row if
 * the part works; missing: detail of the row if the kernel does not have the part. */
static void probe_sandbox(const char *source, long r, const char *is, const char *missing)
{
	struct probed *p = row_add(source, "", status_of(r), r >= 0 ? is :
			       is_denied(r) ? "refused by a filter of system calls" :
			       r == -ECANCELED ? "--no-sandbox" : missing);

	if (r > 0)
		put_count(p, (u64)r, (u64)r, "");
}

/* --- remedies --------------------------------------------------------------------------------- */

/* Appends the word s to a shell command, in quotes if necessary. */
static void put_word(struct buf *b, const char *s)
{
	bool plain = true;

	for (const char *p = s; *p; p++)
		plain &= (*p | 32) >= 'a' && (*p | 32) <= 'z' ? true :
			 (*p >= '-' && *p <= '9') || *p == '_';
	put_z(b, plain ? "" : "'");
	for (; *s; s++)
		if (*s == '\'')
			put_z(b, "'\\''");
		else
			put_c(b, *s);
	put_z(b, plain ? "" : "'");
}

static void put_docker(struct buf *b, u64 all, u8 given)
{
	put_z(b, "docker run");
	for (size_t i = 0; i < LEN(docker_flags); i++)
		put_z(b, given >> i & 1 ? docker_flags[i] : "");
	for (size_t i = 0; i < LEN(caps); i++)
		put_z(b, all >> caps[i].cap & 1 ? caps[i].docker : "");
	put_z(b, " IMAGE");
}

/* Appends a command to b: setcap with the capabilities that the program has now and the needed
 * ones, or sudo, if the program's file system is mounted with nosuid or CAP_DAC_READ_SEARCH is
 * needed. That capability is not added to the program's file: all users who may execute the program
 * could then read every directory and file of the kernel's file systems. */
static void put_setcap(struct buf *b, u64 needed, const char *program)
{
	bool root = self.no_suid || needed & CAP(CAP_DAC_READ_SEARCH);
	u64 all = root ? 0 : needed | (sys_euid() ? self.effective : 0);
	const char *between = "";

	put_z(b, root ? "sudo " : "setcap ");
	for (size_t i = 0; i < LEN(caps); i++)
		if (all >> caps[i].cap & 1) {
			put_z(b, between);
			put_z(b, caps[i].name);
			between = ",";
		}
	put_z(b, root ? "" : "+ep ");
	put_word(b, program);
	/* The part after '#' is a comment of the shell, so that the whole remedy can be executed as
	 * a command. */
	if (HAS(events) && !root)
		put_z(b, " # for members of a group only: make setcap");
	if (HAS(events) && all & ~CAP(CAP_SYS_PTRACE))
		put_z(b, " PERFMON=1");
}

/* Sets the remedy of a row, or, if there is none, appends the reason to the row's detail. A remedy
 * that starts a container again has the capabilities `all` and the docker options `given`
 * (DOCKER_*), which all rows together require. */
static void remedy_make(struct probe_row *s, const char *program, u64 all, u8 given)
{
	struct probed *p = &s->p;
	struct buf b = buf_on(p->remedy, sizeof(p->remedy) - 1);
	u64 missing = s->needed_caps;
	/* true if setcap is no remedy: execve(2) refuses to execute a file with capabilities that
	 * are not in the bounding set of the process */
	bool unbound = (self.bounding & missing) != missing;
	const char *why = NULL;

	if (self.container && (!missing || unbound))
		put_docker(&b, all, given);
	else if (missing && has(missing))
		why = "denied even with the capability";
	else if (missing && (roots.proc_given || roots.sys_given) && privilege_from_file())
		why = "capabilities of the program do not count with --proc or --sys";
	else if (missing && self.user_ns)
		why = "capabilities of a user namespace do not count";
	else if (missing && self.no_new_privs)
		why = "no_new_privs disables file capabilities";
	else if (unbound)
		why = "not in the bounding set";
	else if (missing)
		put_setcap(&b, missing, program);
	p->remedy[b.n] = '\0';
	if (!why)
		return;
	b = (struct buf){ .p = p->detail, .n = strlen(p->detail), .cap = sizeof(p->detail) - 1 };
	put_z(&b, b.n ? "; " : "");
	put_z(&b, why);
	p->detail[b.n] = '\0';
}

const struct probed *probed_row(size_t i)
{
	return &probe.rows[i].p;
}

size_t probe_all(const char *program)
{
	u64 all = 0;
	u8 given = 0, was = privilege_raise(UINT8_MAX);
	long r;

	root_select(true);
	probe_processes("fdinfo of others", "fdinfo", false, CAP(CAP_SYS_PTRACE));
	probe_processes("fd of others", "fd", true, CAP(CAP_SYS_PTRACE) | CAP(CAP_DAC_READ_SEARCH));
	probe_namespace();
	if (HAS(bpf) && !roots.proc_given)
		probe_iterator();
	probe.root_missing = NULL;
	probe_inotify();
	if (HAS(events))
		probe_perf();
	root_select(true);
	if (HAS(events))
		probe_watchdog();
	if (HAS(oa)) {
		probe_oa("i915", "perf_stream_paranoid");
		probe_oa("xe", "observation_paranoid");
	}
	root_select(false);
	probe_mount("tracefs", "kernel/tracing", "events/sched/sched_switch/id", DOCKER_TRACING);
	probe_mount("debugfs", "kernel/debug", NULL, DOCKER_DEBUG);
	probe_count("hwmon", "class/hwmon", " chips");
	probe_rapl();
	probe_count("kfd", "class/kfd/kfd/topology/nodes", " nodes");
	probe_devices();
	probe.root_missing = NULL;
	probe_sandbox("seccomp", sandbox.filter, "filter of system calls",
		      "no CONFIG_SECCOMP_FILTER");
	r = sandbox.filter == -ECANCELED ? -ECANCELED : sys_landlock_abi();
	probe_sandbox("landlock", r, "ABI ", r == -EOPNOTSUPP ?
		      "not in the kernel's lsm=" : "no CONFIG_SECURITY_LANDLOCK");
	for (u32 i = NONE; (i = device_next(i, false)) != NONE;)
		if (devices[i].dev[0])
			probe_device(&devices[i]);
	if (HAS(vcio) && vcio_asked())
		node_row("/dev/vcio", vcio_fd(), vcio_reason() ? vcio_reason() : "");
	privilege_lower(was);
	for (size_t i = 0; i < probe.nrows; i++) {
		all |= probe.rows[i].needed_caps;
		given |= probe.rows[i].needed_docker;
	}
	for (size_t i = 0; i < probe.nrows; i++)
		if (probe.rows[i].needed_caps || probe.rows[i].needed_docker)
			remedy_make(&probe.rows[i], program, all, given);
	return probe.nrows;
}
