/*
 * command: gpustat run on a machine with emulated GPUs. Its commands are this program again, with a
 * word that selects their work: clients of known busy time, daemons, and storms of short processes.
 * A client is busy from its ioctl until its process ends. gpustat sample writes files that the
 * host's perf reads (command.sh).
 */
static int work(const char *word);
#define WORKER(word) work(word)
#include "play.h"

enum { D_NS, D_XE, D_MSM, D_IDLE, D_ASLEEP };

static const struct dev devs[DEVS] = {
	[D_NS]   = { "i915:hwmon", "card0", "i915", "/dev/dri/renderD128" },
	[D_XE]   = { "xe",         "card1", "xe",   "/dev/dri/renderD129" },
	[D_MSM]  = { "msm",        "card2", "msm",  "/dev/dri/renderD130" },
	[D_IDLE] = { "v3d",        "card3", "v3d",  "/dev/dri/renderD131" },
	[D_ASLEEP] = { "xe:pm",    "card4", "xe",   "/dev/dri/renderD132" },
};

/* ---- the commands ---- */

enum { STORM = 100, CALLS = 1000 };

static void set_memory(int fd, int mib)
{
	struct fake_text t;

	snprintf(t.text, sizeof t.text, "drm-total-system0:\t%d MiB\ndrm-resident-system0:\t%d MiB\n", mib, mib);
	if (ioctl(fd, FAKE_IOC_TEXT, &t))
		die("text ioctl");
}

static void use(int dev, const char *engine, fake_u32 keys, double duty, double seconds)
{
	struct play p = { dev, engine, keys, duty, 1, 19200000, 0 };
	int fd = play_open(&p);

	nap(seconds);
	close(fd);
}

static void storm(double seconds)
{
	for (int i = 0; i < STORM; i++) {
		pid_t pid = fork();

		if (!pid) {
			use(D_NS, "render", FAKE_DIALECT_NS, 100, seconds);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

/* Uses CPU time, and makes system calls that the tracepoint of t_perfdata() counts. */
static void spin(void)
{
	double end = now() + 0.3;

	for (int i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	while (now() < end)
		for (volatile int i = 0; i < 10000; i++)
			;
}

static int work(const char *word)
{
	struct play p = { D_NS, "render", FAKE_DIALECT_NS, 50, 1 };
	int fd;

	if (!strcmp(word, "memory")) {
		fd = play_open(&p);
		set_memory(fd, 10);
		nap(0.5);
		set_memory(fd, 64);
		nap(0.5);
		set_memory(fd, 20);
		nap(1);
	} else if (!strcmp(word, "xe")) {
		use(D_XE, "rcs", FAKE_DIALECT_XE, 25, 2);
	} else if (!strcmp(word, "wakes")) {
		p = (struct play){ D_ASLEEP, "rcs", FAKE_DIALECT_XE, 50, 1, 19200000 };
		nap(0.5);
		fd = play_open(&p);
		nap(0.5);
		hold(fd, true);
		nap(1);
	} else if (!strcmp(word, "storm")) {
		storm(0.02);
	} else if (!strcmp(word, "flashes")) {
		storm(0);
	} else if (!strcmp(word, "daemon")) {
		/* its parent ends before it opens the device, and it has a session of its own */
		if (!fork()) {
			setsid();
			if (!fork()) {
				nap(0.3);
				use(D_MSM, "gpu", FAKE_DIALECT_MSM, 50, 1);
				nap(5);
			}
			_exit(0);
		}
		wait(NULL);
		nap(2);
	} else if (!strcmp(word, "inherited")) {
		nap(1);
	} else if (!strcmp(word, "spin")) {
		spin();
	} else if (!strcmp(word, "killed")) {
		raise(SIGKILL);
	} else {
		return 125;
	}
	return 7;
}

/* ---- the scenarios ---- */

/* command: runs gpustat run with a command; the records, which are on stderr, are moved to where
 * record() finds them. */
static struct run *command(const char *args, void (*before)(void))
{
	struct run *r = run(args, before);
	char *text = r->text[0];
	size_t n = r->n[0];

	r->text[0] = r->text[1];
	r->n[0] = r->n[1];
	r->text[1] = text;
	r->n[1] = n;
	return r;
}

/* taken: the record of a device. */
static struct view taken(const struct run *r, int dev)
{
	for each_record(v, r)
		if (is(v, "kind", "run") && is(v, "dev", devs[dev].dev))
			return v;
	return (struct view){ NULL, NULL };
}

/* want_use: the busy time in s is the real one, less the time after the last reading: not
 * more than a tenth of its life, or the interval. */
static void want_use(struct view v, const char *engine, double truth)
{
	char path[64];
	double got;

	snprintf(path, sizeof path, "engine/%s/busy_ns", engine);
	got = num(v, path) / 1e9;
	want(got >= truth * 0.85 && got <= truth * 1.03, "%s: %.4f s, not %.4f", engine, got, truth);
}

static void t_use(void)
{
	struct play other = { D_NS, "render", FAKE_DIALECT_NS, 30, 1 };
	pid_t pid = child(setup_play, &other, NULL);
	struct run *r = command("run -o json -- /init memory", NULL);
	struct view v = taken(r, D_NS), none = taken(r, D_IDLE);

	begin("run: busy time, its share, most memory and energy of a command's client; other clients do not count");
	ended(r, 7);
	want_use(v, "render", 1);
	want(fabs(num(v, "engine/render/busy") - 50) < 8, "busy is %f", num(v, "engine/render/busy"));
	want(fabs(num(v, "dt") - 2) < 0.2, "wall time is %f", num(v, "dt"));
	want(num(v, "used") == 64 << 20, "most memory is %f", num(v, "used"));
	want(num(v, "memory/system0/resident") == 64 << 20, "resident is %f", num(v, "memory/system0/resident"));
	want(fabs(num(v, "energy/card") - 4.2 * num(v, "dt")) < 1, "energy is %f", num(v, "energy/card"));
	want(fabs(num(v, "power/card") - 4.2) < 0.5, "power is %f", num(v, "power/card"));
	want(num(v, "status") == 7, "status is %f", num(v, "status"));
	want(num(v, "clients") == 1, "clients is %f", num(v, "clients"));
	want(num(v, "ended") == 1, "ended is %f", num(v, "ended"));
	want(num(v, "unread") >= 0 && num(v, "unread") < 0.25, "unread is %f", num(v, "unread"));
	want(num(v, "processes") == 1, "processes is %f", num(v, "processes"));
	want(num(none, "clients") == 0, "the idle device has %f clients", num(none, "clients"));
	close_run(r);
	end();
	reap(pid);
}

static void t_cycles(void)
{
	struct run *r = command("run -o json -d card1 -- /init xe", NULL);
	struct view v = taken(r, D_XE);

	begin("run: busy time of a driver that counts cycles of the GPU's clock; -d selects the device");
	ended(r, 7);
	want_use(v, "rcs", 0.5);
	want(!taken(r, D_NS).p, "there is a record of card0");
	close_run(r);
	end();
}

static int resumes(void)
{
	return atoi(text(sysfile(D_ASLEEP, "resumes")));
}

static void t_asleep(void)
{
	int before = resumes();
	struct run *r = command("run -o json -d card4 -- /init wakes", NULL);
	struct view v = taken(r, D_ASLEEP);

	begin("run: a sleeping device is not woken; its client is counted once it is awake");
	ended(r, 7);
	want_use(v, "rcs", 0.75);
	want(resumes() == before + 1, "%d resumes, not 1", resumes() - before);
	close_run(r);
	end();
}

static void t_daemon(void)
{
	struct run *r = command("run -o json -- /init daemon", NULL);
	struct view v = taken(r, D_MSM);

	begin("run: a daemon of the command with a separate session is counted");
	ended(r, 7);
	want_use(v, "gpu", 0.5);
	want(num(v, "processes") >= 2, "processes is %f", num(v, "processes"));
	want(num(v, "running") == 1, "running is %f", num(v, "running"));
	close_run(r);
	end();
}

/* The report has an upper bound of the time not counted: the counted busy time and the unread time
 * together are at least the real busy time. */
static void t_storm(void)
{
	struct run *r = command("run -o json -- /init storm", NULL);
	struct view v = taken(r, D_NS);
	double busy = num(v, "engine/render/busy_ns") / 1e9, unread = num(v, "unread");

	begin("run: a storm of 100 processes that use the GPU for 20 ms each");
	ended(r, 7);
	note("busy %.3f s, unread %.3f s, clients %.0f, opens %.0f, readings %.0f, wall %.3f s", busy, unread,
	     num(v, "clients"), num(v, "opens"), num(v, "readings"), num(v, "dt"));
	want(num(v, "clients") >= STORM * 0.95 && num(v, "clients") <= STORM, "%f clients", num(v, "clients"));
	want(num(v, "ended") == num(v, "clients"), "%f ended", num(v, "ended"));
	want(busy >= STORM * 0.02 * 0.4 && busy <= num(v, "dt"), "busy %f s", busy);
	want(busy + unread >= STORM * 0.02 * 0.95, "busy and unread are %f s", busy + unread);
	close_run(r);
	end();

	r = command("run -o json -- /init flashes", NULL);
	v = taken(r, D_NS);
	begin("run: processes that end before they can be read are reported as opens of GPU nodes");
	ended(r, 7);
	note("clients %.0f, opens %.0f", num(v, "clients"), num(v, "opens"));
	want(num(v, "opens") > 0, "opens is %f", num(v, "opens"));
	close_run(r);
	end();
}

static void inherit(void)
{
	struct play p = { D_NS, "render", FAKE_DIALECT_NS, 50, 1 };
	int fd = play_open(&p);

	fcntl(fd, F_SETFD, 0);
	nap(1);
}

static void t_inherited(void)
{
	struct run *r = command("run -o json -- /init inherited", inherit);

	begin("run: an inherited client is counted only from the start of the command");
	ended(r, 7);
	want_use(taken(r, D_NS), "render", 0.5);
	close_run(r);
	end();
}

static void t_status(void)
{
	struct run *r = command("run -- /init killed", NULL);

	begin("run: the exit status of a command that a signal ended is that of a shell: 128 + 9");
	ended(r, 137);
	want(strstr(r->text[0], "exit status 137"), "the report does not say so");
	close_run(r);
	end();
}

/* Sends a file out of the machine. */
static void bring_file(const char *path)
{
	static char b[4 << 20];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1, size = 0;

	while (fd >= 0 && n > 0)
		if ((n = read(fd, b + size, sizeof b - size)) > 0)
			size += n;
	close(fd);
	want(size > 8 && !memcmp(b, "PERFILE2", 8), "%s has %zd bytes", path, size);
	bring_out(strrchr(path, '/') + 1, b, size);
}

static void t_perfdata(void)
{
	const char *release = text("/proc/sys/kernel/osrelease");
	struct run *r;

	begin("sample -o perfdata: files of a command and of the machine are sent out of the machine");
	if (mount("tracefs", "/sys/kernel/tracing", "tracefs", 0, NULL))
		die("no tracefs");
	bring_out("release", release, strlen(release));
	r = run("sample -e cpu-clock,raw_syscalls:sys_enter -o perfdata -O /command.data -- /init spin", NULL);
	ended(r, 7);
	drop(r);
	bring_file("/command.data");
	r = run("sample -a -g -e cpu-clock -F 1000 -o perfdata -O /machine.data -- /init spin", NULL);
	ended(r, 7);
	drop(r);
	bring_file("/machine.data");
	umount("/sys/kernel/tracing");
	end();
}

/* Prints the report as a user sees it. */
static void show(const char *args)
{
	struct run *r = command(args, NULL);

	printf("# $ gpustat %s\n", args);
	for each_record(v, r)
		printf("# %.*s\n", (int)(v.e - v.p), v.p);
	drop(r);
}

static int scenarios(void)
{
	load_devs();
	t_use();
	t_cycles();
	t_asleep();
	t_daemon();
	t_storm();
	t_inherited();
	t_status();
	t_perfdata();
	show("run -- /init memory");
	show("run -- /init storm");
	show("run -- /init flashes");
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
