/* probe.c - what may be read here, and the one command that would mend the rest. Nothing here wakes a device or changes
 * anything: what is opened is closed at once, device nodes are not opened at all. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "gpustat/perf.h"
#include "sys.h"

enum { MAX_PROBED = 24 + 3 * MAX_DEVICES }; /* rows of probe_all(), and of probe_device() */

/* linux/capability.h */
enum { CAP_DAC_READ_SEARCH = 2, CAP_SYS_PTRACE = 19, CAP_SYS_ADMIN = 21, CAP_PERFMON = 38 };
#define CAP(n) (UINT64_C(1) << (n))

static const struct {
	u8 cap;
	char name[20], docker[22];
} caps[] = {
	{ CAP_DAC_READ_SEARCH, "cap_dac_read_search", " --user=0" }, /* who has CAP_DAC_OVERRIDE there */
	{ CAP_SYS_PTRACE, "cap_sys_ptrace", " --cap-add=SYS_PTRACE" },
	{ CAP_SYS_ADMIN, "cap_sys_admin", " --cap-add=SYS_ADMIN" },
	{ CAP_PERFMON, "cap_perfmon", " --cap-add=PERFMON" },
};

/* What a container could be given beside capabilities. */
enum { DOCKER_PID = 1, DOCKER_DRI = 2, DOCKER_TRACING = 4, DOCKER_DEBUG = 8 };
static const char *const docker_flags[] = {
	" --pid=host", " --device=/dev/dri", " -v /sys/kernel/tracing:/sys/kernel/tracing", " -v /sys/kernel/debug:/sys/kernel/debug",
};

static struct shown {
	struct probed p;
	u64 wants; /* capabilities that would mend it */
	u8 gives;  /* DOCKER_ of it */
} *rows, spare, *latest;
static TABLE(rows, MAX_PROBED, 24, "rows of doctor");
static size_t nrows;

/* Of this process, from the true /proc: captured trees are not where it runs. */
static struct {
	u64 effective, bounding;
	bool no_new_privs, no_suid; /* files give no capabilities */
	bool user_ns;               /* not the first one: the kernel asks for those of the first */
	bool container;
	bool lockdown;              /* root may not either */
	u8 perfmon;                 /* before Linux 5.8 it was a part of CAP_SYS_ADMIN */
	i64 paranoid;               /* kernel.perf_event_paranoid, */
	char level[24];             /* as it is written; "unknown" */
	bool has_level;
} self;

static char file[4096];

/* --- rows ------------------------------------------------------------------------------------------------------ */

static void put_parts(char *to, size_t cap, const char *const *parts)
{
	struct buf b = buf_on(to, cap - 1);

	for (; *parts; parts++)
		put_z(&b, *parts);
	to[b.n] = '\0';
}

/* Texts, one behind the other, into an array. */
#define SET(to, ...) put_parts(to, sizeof(to), (const char *const[]){ __VA_ARGS__, NULL })

static const char *hidden_by; /* why the rows to come are not known, or NULL */

/* The rows to come are read from /proc or /sys: sets hidden_by where that is missing. */
static void rows_of(bool of_proc)
{
	hidden_by = (of_proc ? root_proc : root_sys) >= 0 ? NULL : of_proc ? "not known without /proc" : "not known without /sys";
}

static struct probed *row(const char *a, const char *b, u8 status, const char *detail)
{
	struct probed *p;

	latest = table_has(&rows_table, nrows) ? &rows[nrows++] : &spare;
	p = &latest->p;
	p->e.kind = K_SOURCE;
	p->status = hidden_by ? PROBE_ABSENT : status;
	SET(p->source, a, b);
	SET(p->detail, hidden_by ? hidden_by : detail);
	return p;
}

/* Of the row that was made last. */
static void want(u64 capabilities, u8 given)
{
	latest->wants = capabilities;
	latest->gives = given;
}

static bool is_denied(long r)
{
	return r == -EACCES || r == -EPERM;
}

static u8 status_of(long r)
{
	return r >= 0 ? PROBE_OK : is_denied(r) ? PROBE_DENIED : PROBE_ABSENT;
}

/* Where they count: perf and others ask for those of the first user namespace. */
static bool has(u64 capabilities)
{
	return !self.user_ns && (self.effective & capabilities) == capabilities;
}

/* Whether those that setcap gives are of no use. */
static bool no_file_caps(void)
{
	return self.user_ns || self.no_new_privs;
}

static bool may_perfmon(void)
{
	return has(CAP(self.perfmon)) || has(CAP(CAP_SYS_ADMIN));
}

/* "41 of 75 processes", behind what is there. */
static void put_count(struct probed *p, u64 n, u64 of, const char *what)
{
	struct buf b = { .p = p->detail, .n = strlen(p->detail), .cap = sizeof(p->detail) - 1 };

	if (hidden_by)
		return;
	if (n != of) {
		put_u64(&b, n);
		put_z(&b, " of ");
	}
	put_u64(&b, of);
	put_z(&b, what);
	p->detail[b.n] = '\0';
}

/* --- who we are -------------------------------------------------------------------------------------------------- */

/* The hexadecimal value of "KEY:\tVALUE". */
static u64 status_value(struct str text, const char *key, u64 unknown)
{
	struct str line, name;
	u64 v = 0;

	while (line_next(&text, &line))
		if (str_cut(&line, ':', &name) && str_is(name, key)) {
			for (line = str_trim(line); line.p < line.e; line.p++)
				v = v << 4 | (u64)(*line.p <= '9' ? *line.p - '0' : (*line.p | 32) - 'a' + 10);
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

	return str_got(file, n);
}

/* The engines' marks stay where an image was unpacked onto a disk; then no namespace is another one. */
static bool in_container(void)
{
	struct str path;
	struct stat st;
	bool marked = sys_fstatat(AT_FDCWD, "/.dockerenv", &st) == 0 || sys_fstatat(AT_FDCWD, "/run/.containerenv", &st) == 0 ||
		      (parse_cgroup(slurp_text(AT_FDCWD, "/proc/self/cgroup"), &path) && str_len(parse_container(path)));

	return marked && (look_is_inner(AT_FDCWD, "/proc/self/ns/pid", "pid:[4026531836]") > 0 ||
			  look_is_inner(AT_FDCWD, "/proc/self/ns/uts", "uts:[4026531838]") > 0 ||
			  look_is_inner(AT_FDCWD, "/proc/self/ns/ipc", "ipc:[4026531839]") > 0);
}

/* Before our own sandbox sets no_new_privs. */
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
	self.user_ns = look_is_inner(AT_FDCWD, "/proc/self/ns/user", "user:[4026531837]") > 0;
	self.container = in_container();
	text = slurp_text(root_sys, "kernel/security/lockdown");
	self.lockdown = str_len(text) && !str_find(text, (struct str)STR("[none]"));
	if (read_line(AT_FDCWD, "/proc/sys/kernel/cap_last_cap", &line))
		scan_u64(line, &last);
	self.perfmon = last < CAP_PERFMON ? CAP_SYS_ADMIN : CAP_PERFMON;
	SET(self.level, "unknown");
	self.has_level = read_line(root_proc, "sys/kernel/perf_event_paranoid", &line) && scan_i64(line, &self.paranoid);
	if (self.has_level)
		device_set(self.level, sizeof(self.level), line);
	privilege_lower(was);
}

/* --- processes ----------------------------------------------------------------------------------------------------- */

/* Whether PID/what may be listed, and its first entry opened; to read an fdinfo could wake the device. */
static bool may_look(const char *pid, const char *what, bool links)
{
	char path[64], b[64];
	struct dir d;
	const char *name = NULL;
	u64 number = 0;
	long r;

	scan_u64(str_z(pid), &number);
	SET(path, pid, "/", what);
	r = dir_open(&d, root_proc, path);
	reg_saw_others |= r >= 0 && task_is_others(d.fd, (u32)number);
	if (r >= 0 && (name = dir_next(&d)) && links) {
		r = sys_readlinkat(d.fd, name, b, sizeof(b));
		r = r == -EINVAL ? 0 : r; /* a captured tree may have files there */
	} else if (r >= 0 && name) {
		r = sys_openat(d.fd, name, O_RDONLY | O_NONBLOCK);
		if (r >= 0)
			sys_close((int)r);
	}
	dir_close(&d);
	return !is_denied(r);
}

static void probe_processes(const char *source, const char *what, bool links, u64 mends)
{
	u64 n = 0, refused = 0;
	struct dir d;
	const char *name;
	bool good; /* a few refuse even those who may read all: what a security module guards, or what outranks us */

	if (dir_open(&d, root_proc, ".") >= 0)
		while ((name = dir_next(&d)))
			if ((u8)(*name - '0') < 10) {
				n++;
				refused += !may_look(name, what, links);
			}
	dir_close(&d);
	good = !refused || (has(mends) && refused <= n / 4);
	put_count(row(source, "", !n ? PROBE_ABSENT : good ? PROBE_OK : PROBE_DENIED, good && refused ? "all but " : ""),
		  refused ? refused : n, n, " processes");
	if (!good)
		want(mends, 0);
}

static void probe_namespace(void)
{
	const char *why = look_unseen();

	row("pid namespace", "", why ? PROBE_DENIED : PROBE_OK, why ? why : "all processes of the machine");
	if (why)
		want(why == look_hidden ? CAP(CAP_SYS_PTRACE) : 0, why == look_hidden ? 0 : DOCKER_PID);
}

/* --- perf events ------------------------------------------------------------------------------------------------- */

static const struct perf_kind {
	char source[17], mend[3]; /* mend: the sysctl's value that gives it to all */
	u8 type, mods;
	u8 least; /* the lowest that refuses it to those without CAP_PERFMON */
	bool wide;
} perf_kinds[] = {
	{ "perf own", "2", PT_SOFTWARE, EM_USER, 3, false },
	{ "perf kernel", "1", PT_SOFTWARE, 0, 2, false },
	{ "perf cpu-wide", "0", PT_SOFTWARE, 0, 1, true },
	{ "perf tracepoints", "-1", PT_TRACEPOINT, 0, 0, false },
	{ "perf hardware", "2", PT_HARDWARE, EM_USER, 3, false },
};

/* A tracepoint is switched on where it is opened; what it holds is for those who may see everything. */
static long try_event(const struct perf_kind *k)
{
	struct event ev = { .type = k->type, .mods = k->mods };
	struct gp_event e;
	int fd;

	if (k->type == PT_TRACEPOINT)
		return may_perfmon() || self.paranoid < 0 ? 0 : self.has_level ? -EACCES : -ENODATA;
	event_attr(&ev, true, &e);
	fd = gp_open(&e, k->wide ? -1 : 0, k->wide ? 0 : -1, -1);
	if (fd >= 0)
		sys_close(fd);
	return fd;
}

static void perf_row(const struct perf_kind *k, long r)
{
	struct probed *p = row(k->source, "", status_of(r), "");

	SET(p->detail, "perf_event_paranoid ", self.level);
	if (p->status == PROBE_ABSENT && r != -ENODATA)
		SET(p->detail, r == -ENOSYS ? "this kernel has no perf events" : "this machine has none");
	if (p->status != PROBE_DENIED || !self.has_level)
		return;
	if (self.container && !may_perfmon())
		want(CAP(self.paranoid > 2 ? CAP_SYS_ADMIN : self.perfmon), 0);
	else if (self.paranoid < k->least || may_perfmon())
		SET(p->detail, "refused by a security module or a filter of system calls");
	else if (self.paranoid > 2 || no_file_caps()) /* Debian's 3 asks for more than CAP_PERFMON */
		SET(p->remedy, "sysctl kernel.perf_event_paranoid=", k->mend);
	else
		want(CAP(self.perfmon), 0);
}

static void probe_perf(void)
{
	long r = 0;

	for (size_t i = 0; i < LEN(perf_kinds) && r != -ENOSYS; i++)
		perf_row(&perf_kinds[i], r = try_event(&perf_kinds[i]));
}

static void probe_watchdog(void)
{
	struct str line;

	if (!read_line(root_proc, "sys/kernel/nmi_watchdog", &line))
		row("NMI watchdog", "", PROBE_ABSENT, "");
	else if (*line.p == '0')
		row("NMI watchdog", "", PROBE_OK, "off: takes no counter");
	else
		SET(row("NMI watchdog", "", PROBE_DENIED, "takes a hardware counter of each CPU")->remedy,
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
	if (!read_line(root_proc, path, &line)) {
		row("OA ", driver, PROBE_ABSENT, "not for this device, or not in this kernel");
		return;
	}
	refused = *line.p != '0' && !may_perfmon();
	p = row("OA ", driver, refused ? PROBE_DENIED : PROBE_OK, refused ? knob : "");
	if (refused && !self.container && no_file_caps())
		SET(p->remedy, "sysctl dev.", driver, ".", knob, "=0");
	else if (refused)
		want(CAP(self.perfmon), 0);
}

/* --- file systems and small files -------------------------------------------------------------------------------------- */

/* An empty folder is where it could be mounted. leaf: a file of it. Of debugfs a kernel that is locked down gives only what
 * all may read and nobody may write (debugfs_locked_down()). */
static void probe_mount(const char *source, const char *path, const char *leaf, u8 given)
{
	struct dir d;
	long r = dir_open(&d, root_sys, path);
	bool empty = r >= 0 && !dir_next(&d), locked;
	struct probed *p;

	if (r >= 0 && !empty)
		r = leaf ? slurp(d.fd, leaf, file, sizeof(file)) : self.lockdown ? -EPERM : 0;
	r = r == -ENOENT && d.fd >= 0 ? 0 : r; /* it is mounted, with less in it */
	dir_close(&d);
	locked = r == -EPERM && self.lockdown;
	p = row(source, "", empty ? PROBE_ABSENT : status_of(r), empty ? "not mounted" : locked ? "locked down" :
		r < 0 && !is_denied(r) ? "this kernel has none" : "");
	if (empty)
		SET(p->remedy, "mount -t ", source, " ", source, " /sys/", path);
	if (empty && self.container && !has(CAP(CAP_SYS_ADMIN)))
		want(0, given);
	else if (is_denied(r) && !locked)
		want(CAP(CAP_DAC_READ_SEARCH), 0);
}

static void probe_count(const char *source, const char *path, const char *what)
{
	struct dir d;
	u64 n = 0;
	long r = dir_open(&d, root_sys, path);

	while (r >= 0 && dir_next(&d))
		n++;
	dir_close(&d);
	put_count(row(source, "", is_denied(r) ? PROBE_DENIED : n ? PROBE_OK : PROBE_ABSENT, ""), n, n, what);
}

static void probe_rapl(void)
{
	long r = slurp(root_sys, "class/powercap/intel-rapl:0/energy_uj", file, sizeof(file));

	row("RAPL", "", status_of(r), "energy_uj");
	if (r == -EACCES)
		want(CAP(CAP_DAC_READ_SEARCH), 0);
}

/* --- devices ----------------------------------------------------------------------------------------------------------- */

/* Of lines NAME:x:ID:... */
static bool name_of(const char *path, u32 id, char *to, size_t cap)
{
	char text[64 << 10]; /* of larger files the start: groups of the system stand there */
	long n = slurp(AT_FDCWD, path, text, sizeof(text));
	struct str all = str_got(text, n), line, name, piece;
	u64 v;

	while (line_next(&all, &line))
		if (str_cut(&line, ':', &name) && str_cut(&line, ':', &piece) && str_cut(&line, ':', &piece) &&
		    scan_u64(piece, &v) == piece.e && v == id) {
			device_set(to, cap, name);
			return true;
		}
	return false;
}

static void probe_node(const struct device *d)
{
	char path[64], group[64], user[64];
	struct buf b = buf_on(path, sizeof(path) - 1);
	struct probed *p;
	struct stat st;

	if (d->card < 0 && d->render < 0 && d->accel < 0)
		return;
	put_z(&b, d->render >= 0 ? "/dev/dri/renderD" : d->card >= 0 ? "/dev/dri/card" : "/dev/accel/accel");
	put_u64(&b, (u64)(d->render >= 0 ? d->render : d->card >= 0 ? d->card : d->accel));
	path[b.n] = '\0';
	p = row(path, "", status_of(sys_faccess(AT_FDCWD, path, R_OK | W_OK)), "");
	if (p->status == PROBE_ABSENT) {
		want(0, DOCKER_DRI);
	} else if (p->status == PROBE_DENIED && sys_fstatat(AT_FDCWD, path, &st) == 0 && st.st_gid != 0 &&
		   (st.st_mode & 060) == 060 && name_of("/etc/group", st.st_gid, group, sizeof(group)) &&
		   name_of("/etc/passwd", sys_euid(), user, sizeof(user))) {
		SET(p->remedy, "usermod -aG ", group, " ", user);
	}
}

static void probe_device(const struct device *d)
{
	char path[128];
	struct str line;
	const char *value = profiling_value(d);

	row(d->dev, " runtime state", d->state[0] ? PROBE_OK : PROBE_ABSENT, d->state);
	if (!d->awake)
		SET(latest->p.detail, d->state, ": nothing is read that would wake it");
	probe_node(d);
	if (!value)
		return;
	SET(path, "class/drm/", d->dev, "/device/profiling");
	if (!read_line(root_sys, path, &line)) {
		row(d->dev, " profiling", PROBE_ABSENT, "this kernel's driver has none");
	} else if (str_is(line, "0")) {
		SET(row(d->dev, " profiling", PROBE_DENIED, "off: no busy times")->remedy, "echo ", value, " >/sys/", path);
	} else {
		row(d->dev, " profiling", PROBE_OK, "on");
	}
}

/* Where none was found: which folders were read, and which drivers make devices of the kind. */
static void probe_devices(void)
{
	u64 n = 0;
	struct probed *p;
	struct buf b;

	for (u32 i = NONE; (i = device_next(i, false)) != NONE;)
		n += devices[i].dev[0] != '\0';
	p = row("devices", "", n ? PROBE_OK : PROBE_ABSENT, n ? "" : "none in /sys/class/drm, accel, devfreq, /proc/driver/nvidia; of the drivers");
	b = (struct buf){ .p = p->detail, .n = strlen(p->detail), .cap = sizeof(p->detail) - 1 };
	if (n)
		put_u64(&b, n);
	else if (!hidden_by)
		put_drivers(&b);
	p->detail[b.n] = '\0';
}

/* Whether new clients are noticed when they open a node; else the sweep finds them. */
static void probe_notices(void)
{
	struct watch_facts f;
	struct probed *p;

	watch_start();
	watch_facts(&f);
	watch_stop();
	p = row("inotify", "", f.error ? status_of(f.error) : PROBE_OK, "");
	SET(p->detail, f.error == -ENOSYS ? "no CONFIG_INOTIFY_USER" : f.error == -ENOENT ? "no device node in " : f.error ? "" : "opens are noticed in ",
	    f.error == -ENOSYS ? "" : f.where);
	if (f.error == -EMFILE)
		SET(p->remedy, "sysctl fs.inotify.max_user_instances=1024");
	else if (f.error == -ENOSPC)
		SET(p->remedy, "sysctl fs.inotify.max_user_watches=65536");
}

/* What confines us, or why nothing does: -ECANCELED: --no-sandbox. Else it is the kernel's own word. */
static void probe_sandbox(const char *source, long r, const char *is, const char *lacks)
{
	struct probed *p = row(source, "", status_of(r), r >= 0 ? is : is_denied(r) ? "refused by a filter of system calls" : r == -ECANCELED ? "--no-sandbox" : lacks);

	if (r > 0)
		put_count(p, (u64)r, (u64)r, "");
}

/* --- remedies ------------------------------------------------------------------------------------------------------------- */

/* As a shell takes it for one word. */
static void put_word(struct buf *b, const char *s)
{
	bool plain = true;

	for (const char *p = s; *p; p++)
		plain &= (*p | 32) >= 'a' && (*p | 32) <= 'z' ? true : (*p >= '-' && *p <= '9') || *p == '_';
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

static void put_setcap(struct buf *b, u64 all, const char *program)
{
	const char *between = "";

	put_z(b, self.no_suid ? "sudo " : "setcap ");
	for (size_t i = 0; i < LEN(caps) && !self.no_suid; i++)
		if (all >> caps[i].cap & 1) {
			put_z(b, between);
			put_z(b, caps[i].name);
			between = ",";
		}
	put_z(b, self.no_suid ? "" : "+ep ");
	put_word(b, program);
}

/* A container is started anew with all that it lacks; setcap replaces what was there before, which is named again. */
static void mend(struct shown *s, const char *program, u64 all, u8 given)
{
	struct probed *p = &s->p;
	struct buf b = buf_on(p->remedy, sizeof(p->remedy) - 1);
	u64 lacks = s->wants;
	bool unbound = (self.bounding & lacks) != lacks; /* execve(2) refuses a file with such capabilities */
	const char *why = NULL;

	if (self.container && (!lacks || unbound))
		put_docker(&b, all, given);
	else if (lacks && has(lacks))
		why = "even with its capability";
	else if (lacks && (root_proc_given || root_sys_given) && privilege_is_ours())
		why = "capabilities of the program do not count below roots that were named";
	else if (lacks && self.user_ns)
		why = "capabilities of a user namespace do not count";
	else if (lacks && self.no_new_privs)
		why = "no_new_privs: files give no capabilities";
	else if (unbound)
		why = "not in the bounding set";
	else if (lacks)
		put_setcap(&b, lacks | (sys_euid() ? self.effective : 0), program);
	p->remedy[b.n] = '\0';
	if (!why)
		return;
	b = (struct buf){ .p = p->detail, .n = strlen(p->detail), .cap = sizeof(p->detail) - 1 };
	put_z(&b, b.n ? "; " : "");
	put_z(&b, why);
	p->detail[b.n] = '\0';
}

void probe_all(const char *program, void (*show)(const struct probed *p))
{
	u64 all = 0;
	u8 given = 0, was = privilege_raise(UINT8_MAX);
	long r;

	rows_of(true);
	probe_processes("fdinfo of others", "fdinfo", false, CAP(CAP_SYS_PTRACE));
	probe_processes("fd of others", "fd", true, CAP(CAP_SYS_PTRACE) | CAP(CAP_DAC_READ_SEARCH));
	probe_namespace();
	hidden_by = NULL;
	probe_notices();
	probe_perf();
	rows_of(true);
	probe_watchdog();
	probe_oa("i915", "perf_stream_paranoid");
	probe_oa("xe", "observation_paranoid");
	rows_of(false);
	probe_mount("tracefs", "kernel/tracing", "events/sched/sched_switch/id", DOCKER_TRACING);
	probe_mount("debugfs", "kernel/debug", NULL, DOCKER_DEBUG);
	probe_count("hwmon", "class/hwmon", " chips");
	probe_rapl();
	probe_count("kfd", "class/kfd/kfd/topology/nodes", " nodes");
	probe_devices();
	hidden_by = NULL;
	probe_sandbox("seccomp", sandbox.filter, "filter of system calls", "no CONFIG_SECCOMP_FILTER");
	r = sandbox.filter == -ECANCELED ? -ECANCELED : sys_landlock_abi();
	probe_sandbox("landlock", r, "ABI ", r == -EOPNOTSUPP ? "not in the kernel's lsm=" : "no CONFIG_SECURITY_LANDLOCK");
	for (u32 i = NONE; (i = device_next(i, false)) != NONE;)
		if (devices[i].dev[0])
			probe_device(&devices[i]);
	privilege_lower(was);
	for (size_t i = 0; i < nrows; i++) {
		all |= rows[i].wants;
		given |= rows[i].gives;
	}
	for (size_t i = 0; i < nrows; i++) {
		if (rows[i].wants || rows[i].gives)
			mend(&rows[i], program, all, given);
		show(&rows[i].p);
	}
}
