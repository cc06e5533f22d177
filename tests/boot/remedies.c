/*
 * remedies: makes the kernel refuse calls for each reason that the program knows, checks the reason
 * and the remedy that gpustat prints, applies the remedy in this machine, and checks that the call
 * then succeeds. remedies.h has the lists of the reasons.
 */
static int worker(const char *word);
#define WORKER(word) worker(word)
#include "play.h"
#include "remedies.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

static const struct dev devs[DEVS] = {
	{ "i915:oa", "card0", "i915", "/dev/dri/renderD128" },
	{ "panfrost:profiling", "card1", "panfrost", "/dev/dri/renderD129" },
};

#include "users.h"

enum { VIDEO = 44 };

#define LEVEL "/proc/sys/kernel/perf_event_paranoid"
#define RAPL "/sys/class/powercap"
#define WATCHDOG "/proc/sys/kernel/nmi_watchdog"

/* ---- who runs gpustat ---- */

static struct {
	bool user; /* an ordinary user; false: root */
	bool no_new_privs;
	int group; /* 0: no supplementary group */
	int filter; /* errno of perf_event_open(2) from a filter of system calls; 0: no filter */
	int files; /* limit of open files; 0: the usual one */
} who;

/* Makes perf_event_open(2) fail, as the filter of a container does. */
static void filter_install(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { LEN(code), code };

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(125);
}

static void become_who(void)
{
	gid_t group = who.group;

	if (who.files)
		setrlimit(RLIMIT_NOFILE, &(struct rlimit){ who.files, who.files });
	if (who.filter)
		filter_install(who.filter);
	if (chdir(FOLDER))
		_exit(124);
	if (who.user && (setgroups(group != 0, &group) || setresgid(NOBODY, NOBODY, NOBODY) ||
			 setresuid(NOBODY, NOBODY, NOBODY)))
		_exit(126);
	if (who.no_new_privs)
		prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/* ---- applying a remedy ---- */

static unsigned long long caps_named(const char *list)
{
	static const struct {
		const char *name;
		int cap;
	} names[] = {
		{ "cap_dac_read_search", CAP_DAC_READ_SEARCH },
		{ "cap_sys_ptrace", CAP_SYS_PTRACE },
		{ "cap_sys_admin", CAP_SYS_ADMIN },
		{ "cap_perfmon", CAP_PERFMON },
		{ "cap_bpf", CAP_BPF },
	};
	unsigned long long caps = 0;
	char copy[128], *save, *w;

	snprintf(copy, sizeof copy, "%.*s", (int)strcspn(list, "+ "), list);
	for (w = strtok_r(copy, ",", &save); w; w = strtok_r(NULL, ",", &save)) {
		unsigned long long was = caps;

		for (size_t i = 0; i < LEN(names); i++)
			caps |= strcmp(w, names[i].name) ? 0 : CAP(names[i].cap);
		want(caps != was, "unknown capability %s", w);
	}
	return caps;
}

/* Executes "sysctl NAME=VALUE". */
static void sysctl_set(const char *p)
{
	char path[128], *eq;

	snprintf(path, sizeof path, "/proc/sys/%.*s", (int)strcspn(p, " ,"), p);
	eq = strchr(path, '=');
	if (!want(eq, "no value in sysctl %s", p))
		return;
	*eq++ = 0;
	for (char *dot = path + strlen("/proc/sys/"); (dot = strchr(dot, '.'));)
		*dot = '/';
	want(!put(path, eq), "%s: cannot write %s", path, eq);
}

/* Executes the commands in the text of a remedy, for which this machine has no programs. as_root:
 * chooses one of two alternatives. Returns false if the text has no command known here. */
static bool apply(const char *remedy, bool as_root)
{
	char words[3][128];
	const char *p;
	bool done = false;

	if (as_root) {
		memset(&who, 0, sizeof who);
		return true;
	}
	if ((p = strstr(remedy, "sysctl "))) {
		sysctl_set(p + strlen("sysctl "));
		done = true;
	}
	if ((p = strstr(remedy, "setcap "))) {
		file_caps(caps_named(p + strlen("setcap ")));
		done = true;
	}
	if (sscanf(remedy, "mount -t %127s %127s %127s", words[0], words[1], words[2]) == 3) {
		want(!mount(words[1], words[2], words[0], 0, NULL), "mount %s: %s", words[2],
		     strerror(errno));
		done = true;
	}
	if (sscanf(remedy, "echo %127s >%127s", words[0], words[1]) == 2) {
		must_put(words[1], words[0]);
		done = true;
	}
	if (sscanf(remedy, "usermod -aG %127s %127s", words[0], words[1]) == 2) {
		want(!strcmp(words[0], "video") && !strcmp(words[1], "nobody"),
		     "another group or user");
		who.group = VIDEO;
		done = true;
	}
	if (!strncmp(remedy, "sudo ", 5)) {
		memset(&who, 0, sizeof who);
		done = true;
	}
	if (!strcmp(remedy, "modprobe DRIVER")) {
		load_devs();
		done = true;
	}
	return done;
}

/* ---- perf_event_open(2) ---- */

static pid_t other, zombie;

struct trial {
	const char *args; /* $: the pid of the other user's process or of one that has ended */
	bool user;
	int filter, files;
	const char *level; /* perf_event_paranoid; NULL: 2 */
	void (*state)(bool on);
	/* the reason that gpustat prints; what follows "; " is the remedy */
	const char *reason;
	/* where the reason has no remedy: the arguments that the kernel accepts; NULL: the same */
	const char *accepted;
};

#define ONE " -o json --log-fd 1 -- /init end"
#define WIDE " -o json -w 0.05"
#define AS_ROOT "as root, or: setcap cap_perfmon+ep gpustat"
#define NO_FUNCTION \
	"not supported: the kernel has no such function, or several, or no probe may be in it"
#define BREAKPOINT \
	"not supported: a breakpoint has 1, 2, 4 or 8 bytes, and begins at a multiple of that"
#define LOCKDOWN "denied: a kernel in lockdown, or a security module, refuses probes"
#define TRACEFS "denied: only root can read its number in tracefs; run as root"
#define UPROBE "denied: user space probes require CAP_SYS_ADMIN; run as root"
/* clang-format off */
#define TEN(s) s "," s "," s "," s "," s "," s "," s "," s "," s "," s
#define FIFTY(s) TEN(s) "," TEN(s) "," TEN(s) "," TEN(s) "," TEN(s)
#define FOUR "mem:0x1000:w,mem:0x2000:w,mem:0x3000:w,mem:0x4000:w"
/* clang-format on */

static void file_missing(bool on)
{
	if (on)
		unlink(FOLDER "/probed");
	else
		copy("/init", FOLDER "/probed", 0755);
}

static void cpu_off(bool on)
{
	must_put("/sys/devices/system/cpu/cpu1/online", on ? "0" : "1");
}

/* Leaves the machine room for a few open files. root may exceed the limit. */
static void files_scarce(bool on)
{
	static char was[32];
	char limit[32];

	if (on)
		snprintf(was, sizeof was, "%s", text("/proc/sys/fs/file-max"));
	snprintf(limit, sizeof limit, "%ld", strtol(text("/proc/sys/fs/file-nr"), NULL, 10) + 90);
	must_put("/proc/sys/fs/file-max", on ? limit : was);
}

static const struct trial
	uprobe_no_file = { "stat -e uprobe:" FOLDER "/probed:0x1000" ONE, .state = file_missing,
			   .reason = "not supported: no such file" },
	uprobe_denied = { "stat -e uprobe:/init:0x1000" ONE, .user = true, .reason = UPROBE },
	uprobe_filtered = { "stat -e uprobe:/init:0x1000" ONE, .user = true, .filter = EPERM,
			    .reason = UPROBE },
	kprobe_none = { "stat -e kprobe:no_such_function" ONE, .reason = NO_FUNCTION,
			.accepted = "stat -e kprobe:do_sys_openat2" ONE },
	kprobe_several = { "stat -e kprobe:type_show" ONE, .reason = NO_FUNCTION,
			   .accepted = "stat -e kprobe:vfs_read" ONE },
	kprobe_barred = { "stat -e kprobe:asm_exc_page_fault" ONE, .reason = NO_FUNCTION,
			  .accepted = "stat -e kprobe:vfs_read" ONE },
	kprobe_denied = { "stat -e kprobe:vfs_read" ONE, .user = true,
			  .reason = "denied: kernel probes require CAP_PERFMON; " AS_ROOT },
	kprobe_filtered = { "stat -e kprobe:vfs_read" ONE, .filter = EPERM, .reason = LOCKDOWN },
	hardened = { "stat -a -e cpu-clock" WIDE, .user = true, .level = "3",
		     .reason = "denied: kernel.perf_event_paranoid is above 2; "
			       "as root, or: sysctl kernel.perf_event_paranoid=2 "
			       "and setcap cap_perfmon+ep gpustat" },
	software_unknown = { "stat -e software/config=0x99/" ONE,
			     .reason = "not supported: the kernel has no such software event",
			     .accepted = "stat -e software/config=0x2/" ONE },
	breakpoint_odd = { "stat -e mem:0x1001/4:w" ONE, .reason = BREAKPOINT,
			   .accepted = "stat -e mem:0x1000/4:w" ONE },
	breakpoint_refused = { "stat -e mem:0x1000/4:w" ONE, .filter = EOPNOTSUPP,
			       .reason = BREAKPOINT },
	breakpoint_none = { "stat -e mem:0x1000/4:w" ONE, .filter = ENOENT, .reason = BREAKPOINT },
	tracefs_private = { "stat -e sched:sched_switch" ONE, .user = true, .reason = TRACEFS },
	others_denied = { "stat -e task-clock -p $" WIDE, .user = true,
			  .reason = "denied: it is a process of another user; " AS_ROOT },
	others_filtered = { "stat -e task-clock -p $" WIDE, .user = true, .filter = EPERM,
			    .reason = "denied: it is a process of another user; " AS_ROOT },
	wide_denied = { "stat -a -e cpu-clock" WIDE, .user = true,
			.reason = "denied: kernel.perf_event_paranoid; " AS_ROOT },
	wide_filtered = { "stat -a -e cpu-clock" WIDE, .user = true, .filter = EPERM,
			  .reason = "denied: kernel.perf_event_paranoid; " AS_ROOT },
	process_gone = { "stat -e task-clock -p $" WIDE,
			 .reason = "not counted: the process is gone" },
	cpu_offline = { "stat -a -C 1 -e cpu-clock" WIDE, .state = cpu_off,
			.reason = "not counted: the CPU is offline or absent" },
	breakpoints_all_used = { "stat -e " FOUR ",mem:0x5000:w" ONE,
				 .reason = "not counted: no slot is free for it",
				 .accepted = "stat -e " FOUR ONE },
	files_of_process = { "stat -e " FIFTY("dummy:u") ONE, .user = true, .files = 40,
			     .reason = "not counted: too many open files" },
	files_of_machine = { "stat -a -e " FIFTY("dummy") "," FIFTY("dummy") WIDE, .user = true,
			     .level = "-1", .state = files_scarce,
			     .reason = "not counted: too many open files" },
	settings_refused = { "stat -a -e msr/event=0x63/" WIDE,
			     .reason = "not supported: the kernel refuses these settings",
			     .accepted = "stat -a -e msr/tsc/" WIDE },
	settings_too_big = { "stat -e page-faults:u" ONE, .filter = E2BIG,
			     .reason = "not supported: the kernel refuses these settings" },
	no_memory = { "stat -e page-faults:u" ONE, .filter = ENOMEM,
		      .reason = "not counted: the kernel has no memory for it" },
	no_perf = { "stat -e page-faults:u" ONE, .filter = ENOSYS,
		    .reason = "not supported: this kernel has no perf events" };

static const struct {
	const char *kind, *error, *state;
	const struct trial *trial;
} rows[] = {
#define ROW(kind, error, state, trial) { #kind, #error, #state, &trial },
	PERF_ERRORS(ROW)
#undef ROW
};

/* Runs gpustat; $ in the arguments is replaced by pid. */
static struct run *run_with(const char *args, pid_t pid)
{
	static char b[4096];
	const char *mark = strchr(args, '$');

	if (!mark)
		return run(args, become_who);
	snprintf(b, sizeof b, "%.*s%d%s", (int)(mark - args), args, pid, mark + 1);
	return run(b, become_who);
}

/* Returns the number of events without a value in the output, and stores that of all events. */
static int refused(const struct run *r, const char *reason, int *all)
{
	int n = 0;

	*all = 0;
	for each_record(v, r) {
		bool has_value = !isnan(num(v, "value"));

		++*all;
		n += !has_value;
		if (reason)
			want(has_value || is(v, "reason", reason), "another reason");
	}
	return n;
}

static void want_accepted(const char *args, const char *after)
{
	int all;
	struct run *r = run_with(args, other);

	want(r->status == 0 && !refused(r, NULL, &all) && all, "%s, the call is refused", after);
	close_run(r);
}

static void trial_user(const struct trial *t)
{
	memset(&who, 0, sizeof who);
	who.user = t->user;
	must_put(LEVEL, t->level ? t->level : "2");
	file_caps(0);
}

static void try_row(const struct trial *t, const char *name)
{
	const char *remedy = strstr(t->reason, "; ");
	struct run *r;
	int all;

	begin(name);
	trial_user(t);
	who.filter = t->filter;
	who.files = t->files;
	if (t->state)
		t->state(true);
	r = run_with(t->args, t == &process_gone ? zombie : other);
	want(refused(r, t->reason, &all), "the call is not refused");
	close_run(r);
	if (t->state)
		t->state(false);
	trial_user(t);
	if (!remedy)
		want_accepted(t->accepted ? t->accepted : t->args,
			      "without the state that causes it");
	if (remedy && strstr(remedy, "as root")) {
		apply(remedy, true);
		want_accepted(t->args, "as root");
		trial_user(t);
	}
	if (remedy && (strstr(remedy, "setcap ") || strstr(remedy, "sysctl "))) {
		want(apply(remedy, false), "not applied: %s", remedy);
		want_accepted(t->args, "after the remedy");
	}
	end();
}

static void t_perf(void)
{
	int filtered = 0;

	for (size_t i = 0; i < LEN(rows); i++) {
		char name[160];

		snprintf(name, sizeof name, "%s, %s: %s, and the call succeeds after the remedy",
			 rows[i].kind, rows[i].error, rows[i].state);
		try_row(rows[i].trial, name);
		filtered += rows[i].trial->filter != 0;
	}
	printf("# perf_event_open: %zu rows tried, %d of them with a filter of system calls\n",
	       LEN(rows), filtered);
	fflush(stdout);
}

/* No remedy ends a lockdown, so that this is the last test. */
static void t_lockdown(void)
{
	int all;
	struct run *r;

	begin("a kernel in lockdown: kprobes are refused, with this reason");
	trial_user(&kprobe_filtered);
	want_accepted(kprobe_filtered.args, "before");
	mount("sec", "/sys/kernel/security", "securityfs", 0, NULL);
	must_put("/sys/kernel/security/lockdown", "confidentiality");
	r = run_with(kprobe_filtered.args, other);
	want(refused(r, kprobe_filtered.reason, &all), "the call is not refused");
	close_run(r);
	end();
}

/* ---- gpustat doctor ---- */

enum place {
#define ROW(function, name, reason) name,
	DOCTOR_REMEDIES(ROW)
#undef ROW
		PLACES
};

static const char *const untried[] = {
#define ROW(function, name, reason) reason,
	DOCTOR_REMEDIES(ROW)
#undef ROW
};
static const char *const functions[] = {
#define ROW(function, name, reason) #function ", " #name,
	DOCTOR_REMEDIES(ROW)
#undef ROW
};
static int applied[PLACES];

static void hidden(bool on)
{
	if (mount("proc", "/proc", "proc", MS_REMOUNT, on ? "hidepid=2" : "hidepid=0"))
		die("/proc");
}

/* The emulated processor has neither an energy counter nor a hardware counter for the watchdog:
 * files with the same names and rights stand for them. */
static void rapl_here(bool on)
{
	if (!on) {
		umount2(RAPL, MNT_DETACH);
		return;
	}
	if (mount("tmp", RAPL, "tmpfs", 0, NULL) || mkdir(RAPL "/intel-rapl:0", 0755))
		die(RAPL);
	close(open(RAPL "/intel-rapl:0/energy_uj", O_CREAT | O_WRONLY, 0400));
	must_put(RAPL "/intel-rapl:0/energy_uj", "1");
}

static void watchdog_on(bool on)
{
	if (!on) {
		umount2(WATCHDOG, MNT_DETACH);
		return;
	}
	close(open("/tmp/watchdog", O_CREAT | O_WRONLY, 0644));
	must_put("/tmp/watchdog", "1");
	if (mount("/tmp/watchdog", WATCHDOG, NULL, MS_BIND, NULL))
		die(WATCHDOG);
}

static void no_new_privs(bool on)
{
	who.no_new_privs = on;
}

static void oa_denied(bool on)
{
	no_new_privs(on);
	must_put("/proc/sys/dev/i915/perf_stream_paranoid", "1");
}

/* Lets the ordinary user's group read tracefs. */
static void tracefs_open(bool on)
{
	if (mount("tracefs", "/sys/kernel/tracing", "tracefs", MS_REMOUNT,
		  on ? "mode=750,gid=65534" : "mode=700,gid=0"))
		die("/sys/kernel/tracing");
}

static void no_instances(bool on)
{
	must_put("/proc/sys/fs/inotify/max_user_instances", on ? "0" : "128");
}

static void no_watches(bool on)
{
	must_put("/proc/sys/fs/inotify/max_user_watches", on ? "0" : "8192");
}

static void node_of_video(bool on)
{
	if (chown(devs[0].node, 0, on ? VIDEO : 0) || chmod(devs[0].node, on ? 0660 : 0666))
		die(devs[0].node);
}

#define PERFMON "setcap cap_perfmon+ep "
#define SUDO "sudo "
#define LEVEL_IS "sysctl kernel.perf_event_paranoid="
#define INOTIFY "sysctl fs.inotify."
#define PROFILING "echo 1 >/sys/class/drm/card1/device/profiling"
#define ITERATOR "setcap cap_sys_ptrace,cap_perfmon,cap_bpf+ep "
#define STREAM "sysctl dev.i915.perf_stream_paranoid=0"

static const struct check {
	enum place place;
	const char *source, *remedy; /* the row's name and the begin of its remedy */
	bool user;
	const char *level; /* perf_event_paranoid; NULL: 2 */
	void (*state)(bool on);
} first_checks[] = { /* before anything is loaded or mounted */
	{ AT_MOUNT, "tracefs", "mount -t tracefs tracefs /sys/kernel/tracing", false },
	{ AT_MOUNT, "debugfs", "mount -t debugfs debugfs /sys/kernel/debug", false },
	{ AT_DRIVER, "devices", "modprobe DRIVER", false },
}, checks[] = {
	{ AT_PROCESSES, "fdinfo of others", "setcap cap_sys_ptrace+ep ", true },
	{ AT_PROCESSES, "fd of others", SUDO, true },
	{ AT_HIDEPID, "pid namespace", "setcap cap_sys_ptrace+ep ", true, NULL, hidden },
	{ AT_ITERATOR, "iterator", ITERATOR, true },
	{ AT_PERF_LEVEL, "perf own", LEVEL_IS "2", true, "3" },
	{ AT_PERF_LEVEL, "perf kernel", LEVEL_IS "1", true, "3" },
	{ AT_PERF_LEVEL, "perf cpu-wide", LEVEL_IS "0", true, "3" },
	{ AT_PERF_LEVEL, "perf tracepoints", LEVEL_IS "-1", true, "3", tracefs_open },
	{ AT_PERF_LEVEL, "perf kernel", LEVEL_IS "1", true, "2", no_new_privs },
	{ AT_PERF_CAPABILITY, "perf kernel", PERFMON, true, "2" },
	{ AT_PERF_CAPABILITY, "perf cpu-wide", PERFMON, true, "1" },
	{ AT_PERF_CAPABILITY, "perf tracepoints", PERFMON, true, "0", tracefs_open },
	{ AT_TRACEPOINTS, "perf tracepoints", SUDO, true },
	{ AT_WATCHDOG, "NMI watchdog", "sysctl kernel.nmi_watchdog=0", false, NULL, watchdog_on },
	{ AT_OA_SETTING, "OA i915", STREAM, true, NULL, oa_denied },
	{ AT_OA_CAPABILITY, "OA i915", PERFMON, true },
	{ AT_MOUNT_DENIED, "tracefs", SUDO, true },
	{ AT_MOUNT_DENIED, "debugfs", SUDO, true },
	{ AT_RAPL, "RAPL", SUDO, true, NULL, rapl_here },
	{ AT_GROUP, "/dev/dri/renderD128", "usermod -aG video nobody", true, NULL, node_of_video },
	{ AT_PROFILING, "card1 profiling", PROFILING, false },
	{ AT_INSTANCES, "inotify", INOTIFY "max_user_instances=1024", true, NULL, no_instances },
	{ AT_WATCHES, "inotify", INOTIFY "max_user_watches=65536", true, NULL, no_watches },
};

static struct view doctor_row(const struct run *r, const char *source)
{
	for each_record(v, r)
		if (is(v, "source", source))
			return v;
	return (struct view){ NULL, NULL };
}

static void try_check(const struct check *c)
{
	char name[160], remedy[512] = "";
	struct run *r;
	struct view v;

	snprintf(name, sizeof name,
		 "doctor: %s, perf_event_paranoid %s: the row is ok after \"%s\"", c->source,
		 c->level ? c->level : "2", c->remedy);
	begin(name);
	memset(&who, 0, sizeof who);
	who.user = c->user;
	file_caps(0);
	must_put(LEVEL, c->level ? c->level : "2");
	if (c->state)
		c->state(true);
	r = run("doctor -o json", become_who);
	v = json_get(doctor_row(r, c->source), "remedy");
	if (want(v.p && *v.p == '"', "the row %s has no remedy", c->source))
		snprintf(remedy, sizeof remedy, "%.*s", (int)(v.e - v.p - 2), v.p + 1);
	want(!strncmp(remedy, c->remedy, strlen(c->remedy)), "the remedy is: %s", remedy);
	want(!is(doctor_row(r, c->source), "status", "ok"), "the row is ok before the remedy");
	close_run(r);
	if (*remedy && want(apply(remedy, false), "not applied: %s", remedy)) {
		r = run("doctor -o json", become_who);
		want(is(doctor_row(r, c->source), "status", "ok"),
		     "the row is not ok after the remedy");
		applied[c->place] += test_ok;
		close_run(r);
	}
	if (c->state)
		c->state(false);
	end();
}

static void t_places(void)
{
	int tried = 0;

	begin("each remedy of doctor was applied, or the list has the reason why not");
	for (int i = 0; i < PLACES; i++) {
		want(!applied[i] == !!untried[i], "%s: applied %d times", functions[i], applied[i]);
		tried += applied[i] != 0;
	}
	end();
	printf("# doctor: %d of %d places with a remedy tried\n", tried, PLACES);
	for (int i = 0; i < PLACES; i++)
		if (untried[i])
			printf("# doctor: not tried: %s: %s\n", functions[i], untried[i]);
	fflush(stdout);
}

/* ---- the machine ---- */

static void accounts(void)
{
	static const char group[] = "root:x:0:\nvideo:x:44:\nnogroup:x:65534:\n";
	static const char passwd[] = "root:x:0:0::/:/init\nnobody:x:65534:65534::/:/init\n";

	if (mkdir("/etc", 0755) && errno != EEXIST)
		die("/etc");
	close(open("/etc/group", O_CREAT | O_WRONLY, 0644));
	close(open("/etc/passwd", O_CREAT | O_WRONLY, 0644));
	must_put("/etc/group", group);
	must_put("/etc/passwd", passwd);
}

static int scenarios(void)
{
	program_place();
	accounts();
	if (mkdir(FOLDER, 0755))
		die(FOLDER);
	for (size_t i = 0; i < LEN(first_checks); i++)
		try_check(&first_checks[i]);
	rmdir(FOLDER);
	other = other_start();
	zombie = fork();
	if (!zombie)
		_exit(0);
	chmod("/dev/dri", 0755);
	chmod(devs[0].node, 0666);
	for (size_t i = 0; i < LEN(checks); i++)
		try_check(&checks[i]);
	t_places();
	t_perf();
	t_lockdown();
	reap(other);
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
