/*
 * showcase: the first program of the emulated machine that the README shows: seven devices, all of
 * them at work. It runs /gpustat once, and `gpustat top` on a terminal, and sends both outputs out
 * of the machine; showcase.sh compares the first with the README, and makes the picture of the
 * second. It also captures the machine; showcase.sh shows the capture as that machine.
 */
#include "play.h"

static const struct dev devs[DEVS] = {
	{ "i915:hwmon",      "card0",  "i915",      "/dev/dri/renderD128" },
	{ "xe:hwmon",        "card1",  "xe",        "/dev/dri/renderD129" },
	{ "msm",             "card2",  "msm",       "/dev/dri/renderD130" },
	{ "amdgpu:hwmon",    "card3",  "amdgpu",    "/dev/dri/renderD131" },
	{ "panfrost",        "card4",  "panfrost",  "/dev/dri/renderD132" },
	{ "v3d",             "card5",  "v3d",       "/dev/dri/renderD133" },
	{ "intel_vpu:accel", "accel0", "intel_vpu", "/dev/accel/accel0" },
};

/* A process with one client that uses two engines. */
static struct work {
	const char *comm, *region;
	unsigned mib;
	struct play first, second;
	pid_t pid;
} works[] = {
	{ "sway", "system0", 96,
	  { 0, "render", FAKE_DIALECT_NS, 12.5, 1 }, { 0, "copy", FAKE_DIALECT_NS, 2, 1 } },
	{ "firefox", "system0", 320,
	  { 0, "render", FAKE_DIALECT_NS, 50, 1 }, { 0, "video", FAKE_DIALECT_NS, 45, 2 } },
	{ "ffmpeg", "vram0", 768,
	  { 1, "vcs", FAKE_DIALECT_XE, 90, 2, 19200000 },
	  { 1, "bcs", FAKE_DIALECT_XE, 10, 1, 19200000 } },
	{ "blender", "vram0", 6144,
	  { 1, "rcs", FAKE_DIALECT_XE, 62.5, 1, 19200000 },
	  { 1, "ccs", FAKE_DIALECT_XE, 25, 4, 19200000 } },
	{ "supertuxkart", "memory", 210,
	  { 2, "gpu", FAKE_DIALECT_MSM, 60, 1, 400 * MHZ, 800 * MHZ } },
	{ "python3", "vram", 12288,
	  { 3, "compute", FAKE_DIALECT_NS, 100, 1 }, { 3, "gfx", FAKE_DIALECT_NS, 75, 1 } },
	{ "kiosk", "memory", 64,
	  { 4, "fragment", FAKE_DIALECT_MSM, 35, 1, 500 * MHZ, 800 * MHZ },
	  { 4, "vertex-tiler", FAKE_DIALECT_MSM, 20, 1, 500 * MHZ, 800 * MHZ } },
	{ "labwc", "memory", 48,
	  { 5, "render", FAKE_DIALECT_NS, 30, 1 }, { 5, "bin", FAKE_DIALECT_NS, 15, 1 } },
	{ "benchmark_app", "memory", 128, { 6, "npu", FAKE_DIALECT_NS, 40, 1 } },
};

static struct work *mine; /* in the process of a work */
static int mine_fd;

/* Changes the work of an engine from time to time, so that the graphs of top have a shape. It never
 * returns: the process has nothing else to do. */
static void vary(int sig)
{
	struct play p = mine->first;
	unsigned i = (unsigned)(mine - works);

	(void)sig;
	for (unsigned step = 0;; step++) {
		p.duty = mine->first.duty * (0.55 + 0.45 * sin(step / (3.0 + i) + i));
		play_engine(mine_fd, &p);
		nap(0.5);
	}
}

static int setup_work(void *arg)
{
	struct work *w = arg;
	struct fake_text t;
	int fd;

	prctl(PR_SET_NAME, w->comm);
	fd = play_open(&w->first);
	if (w->second.engine)
		play_engine(fd, &w->second);
	snprintf(t.text, sizeof t.text, "drm-total-%s:\t%u MiB\ndrm-resident-%s:\t%u MiB\n", w->region, w->mib,
		 w->region, w->mib);
	if (ioctl(fd, FAKE_IOC_TEXT, &t))
		die("text ioctl");
	mine = w;
	mine_fd = fd;
	signal(SIGUSR1, vary);
	return fd;
}

static int terminal;

static void on_terminal(void)
{
	struct winsize size = { .ws_row = 30, .ws_col = 100 };
	int fd;

	setsid();
	fd = ioctl(terminal, TIOCGPTPEER, O_RDWR);
	ioctl(terminal, TIOCSWINSZ, &size);
	for (int i = 0; i < 3; i++)
		dup2(fd, i);
	setenv("TERM", "xterm-256color", 1);
	setenv("LANG", "C.UTF-8", 1);
}

/* Runs top for a while, and sends what it wrote before its end: the screen still has its frame. */
static void t_top(void)
{
	static char screen[1 << 20];
	size_t n = 0;
	ssize_t got;
	double until;
	struct run *r;

	begin("top: the screen is sent out of the machine");
	terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0 || ioctl(terminal, TIOCSPTLCK, &(int){ 0 }))
		die("/dev/ptmx");
	for (size_t i = 0; i < LEN(works); i++)
		kill(works[i].pid, SIGUSR1);
	r = start("top 0.5", on_terminal);
	fcntl(terminal, F_SETFL, O_NONBLOCK);
	for (until = now() + 25; now() < until; nap(0.05))
		while (n < sizeof screen - 4096 && (got = read(terminal, screen + n, 4096)) > 0)
			n += (size_t)got;
	kill(r->pid, SIGKILL);
	finish(r);
	want(n > 5000, "%zu bytes", n);
	bring_out("screen", screen, n);
	close_run(r);
	close(terminal);
	end();
}

static void t_line(void)
{
	struct run *r = run("-w 1", NULL);

	begin("a line for each of the seven devices is sent out of the machine");
	ended(r, 0);
	bring_out("lines", r->text[0], r->n[0]);
	close_run(r);
	end();
}

static void t_capture(void)
{
	struct run *r = run("capture", NULL);

	begin("a capture of the seven devices is sent out of the machine");
	ended(r, 0);
	want(r->n[0] > 1024 && strstr(r->text[1], "10 commands"), "%zu bytes: %s", r->n[0], r->text[1]);
	bring_out("capture.tar", r->text[0], r->n[0]);
	close_run(r);
	end();
}

static int scenarios(void)
{
	load_devs();
	mkdir("/dev/pts", 0755);
	if (mount("pts", "/dev/pts", "devpts", 0, "ptmxmode=0666"))
		die("/dev/pts");
	for (size_t i = 0; i < LEN(works); i++)
		works[i].pid = child(setup_work, &works[i], NULL);
	t_line();
	t_capture();
	t_top();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
