/*
 * guest.h: what the first programs of the emulated machine share: TAP, JSON, running /gpustat, the machine's start and
 * end. Whoever includes it has static int scenarios(void).
 */
#ifndef GUEST_H
#define GUEST_H

#define _GNU_SOURCE
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <math.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof *(a))
#define NOBODY 65534
#define RUN_SECONDS 30		/* no run of gpustat here asks for more than 4 s */
#define TOLERANCE 0.02		/* relative: the promise under test */

/* ---- TAP ---- */

static int tests, failed;
static const char *test_name;
static bool test_ok;
static char why[16384];
static size_t nwhy;

__attribute__((format(printf, 1, 2))) static void note(const char *fmt, ...)
{
	va_list ap;
	size_t from = nwhy;
	int n;

	if (sizeof why - nwhy < 8)
		return;
	nwhy += snprintf(why + nwhy, sizeof why - nwhy, "# ");
	va_start(ap, fmt);
	n = vsnprintf(why + nwhy, sizeof why - nwhy - 1, fmt, ap);
	va_end(ap);
	nwhy = nwhy + n < sizeof why - 2 ? nwhy + n : sizeof why - 2;
	for (size_t i = from; i < nwhy; i++)	/* one comment line, whatever a name holds */
		if (!isprint((unsigned char)why[i]))
			why[i] = '.';
	why[nwhy++] = '\n';
}

static void begin(const char *name)
{
	test_name = name;
	test_ok = true;
	nwhy = 0;
}

static void end(void)
{
	printf("%sok %d - %s\n%.*s", test_ok ? "" : "not ", ++tests, test_name, (int)nwhy, why);
	fflush(stdout);
	failed += !test_ok;
}

/* want: a reason is noted for each expectation that does not hold. */
#define want(cond, ...) ((cond) ? true : (note(__VA_ARGS__), test_ok = false))

/* ---- small things ---- */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void nap(double s)
{
	struct timespec t = { (time_t)s, (long)((s - (time_t)s) * 1e9) };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

/* die: the machine cannot play on. No plan is printed then, which is what fails the run. */
static void die(const char *what)
{
	printf("# init: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* text: what a small file holds, without its last newline; "" where it cannot be read. */
static const char *text(const char *path)
{
	static char b[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, b, sizeof b - 1);

	if (fd >= 0)
		close(fd);
	if (n > 0 && b[n - 1] == '\n')
		n--;
	b[n > 0 ? n : 0] = 0;
	return b;
}

static int put(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	int n = fd < 0 ? -1 : (int)write(fd, what, strlen(what));

	if (fd >= 0)
		close(fd);
	return n < 0 ? -errno : 0;
}

static void must_put(const char *path, const char *what)
{
	int r = put(path, what);

	if (r) {
		errno = -r;
		die(path);
	}
}

/* ---- JSON: enough to refuse what is none, and to look a path up ---- */

struct view {
	const char *p, *e;
};

static const char *json_value(const char *p, const char *e, int depth);

static const char *json_string(const char *p, const char *e)
{
	if (p == e || *p++ != '"')
		return NULL;
	for (; p < e && *p != '"'; p++) {
		if ((unsigned char)*p < ' ')
			return NULL;
		if (*p == '\\' && (++p == e || !strchr("\"\\/bfnrtu", *p)))
			return NULL;
	}
	return p < e ? p + 1 : NULL;
}

/* json_value: one past the value that starts at p, NULL if none does. No blanks: a record has none. */
static const char *json_value(const char *p, const char *e, int depth)
{
	static const char *const words[] = { "null", "true", "false" };
	bool object;

	if (p == e || depth > 16)
		return NULL;
	if (*p == '"')
		return json_string(p, e);
	if (*p == '{' || *p == '[') {
		object = *p++ == '{';
		if (p < e && *p == (object ? '}' : ']'))
			return p + 1;
		for (;;) {
			if (object && (!(p = json_string(p, e)) || p == e || *p++ != ':'))
				return NULL;
			p = json_value(p, e, depth + 1);
			if (!p || p == e)
				return NULL;
			if (*p == (object ? '}' : ']'))
				return p + 1;
			if (*p++ != ',')
				return NULL;
		}
	}
	for (size_t i = 0; i < LEN(words); i++)
		if ((size_t)(e - p) >= strlen(words[i]) && !memcmp(p, words[i], strlen(words[i])))
			return p + strlen(words[i]);
	if (*p == '-')
		p++;
	if (p == e || !isdigit((unsigned char)*p))
		return NULL;
	while (p < e && (isdigit((unsigned char)*p) || strchr(".eE+-", *p)))
		p++;
	return p;
}

/* json_get: the value at path ("engine/render/busy") of an object; .p is NULL where there is none. */
static struct view json_get(struct view v, const char *path)
{
	const struct view none = { NULL, NULL };
	size_t n;

	while (*path) {
		const char *p = v.p, *k, *q;

		n = strcspn(path, "/");
		if (!p || p == v.e || *p++ != '{')
			return none;
		for (;; p = q + 1) {
			k = p + 1;
			if (!(p = json_string(p, v.e)) || p == v.e || *p != ':' || !(q = json_value(p + 1, v.e, 0)))
				return none;
			if ((size_t)(p - 1 - k) == n && !memcmp(k, path, n)) {
				v = (struct view){ p + 1, q };
				break;
			}
			if (q == v.e || *q != ',')
				return none;
		}
		path += n + (path[n] == '/');
	}
	return v;
}

/* num: a number; NaN for null, for a string, and for what is absent. */
static double num(struct view rec, const char *path)
{
	struct view v = json_get(rec, path);
	char b[64];

	if (!v.p || v.e - v.p >= (long)sizeof b || !(*v.p == '-' || isdigit((unsigned char)*v.p)))
		return NAN;
	memcpy(b, v.p, v.e - v.p);
	b[v.e - v.p] = 0;
	return strtod(b, NULL);
}

static bool is(struct view rec, const char *path, const char *want)
{
	struct view v = json_get(rec, path);
	size_t n = strlen(want);

	return v.p && (size_t)(v.e - v.p) == n + 2 && *v.p == '"' && !memcmp(v.p + 1, want, n);
}

/* has: the array of numbers at path holds x. */
static bool has(struct view rec, const char *path, long long x)
{
	struct view v = json_get(rec, path);
	const char *p = v.p;

	while (p && p < v.e && *p != ']')
		if (strtoll(++p, NULL, 10) == x && isdigit((unsigned char)*p))
			return true;
		else
			p += strcspn(p, ",]");
	return false;
}

/* count: how many elements the array at path has. */
static int count(struct view rec, const char *path)
{
	struct view v = json_get(rec, path);
	int n = 1;

	if (!v.p || *v.p != '[' || v.p[1] == ']')
		return 0;
	for (const char *p = v.p; p < v.e; p++)
		n += *p == ',';
	return n;
}

/* ---- running gpustat ---- */

struct run {
	const char *args;
	pid_t pid;
	int fd[2];		/* its stdout and stderr; -1: at the end */
	size_t n[2], cap[2];
	char *text[2];
	double began, took;
	int status;		/* exit status, 128 + signal, -1: had to be stopped */
};

/* start: /gpustat with args, split at blanks. before runs in the child, ahead of exec. */
static struct run *start(const char *args, void (*before)(void))
{
	struct run *r = calloc(1, sizeof *r);
	int out[2], err[2];

	if (!r || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		die("start");
	fcntl(out[1], F_SETPIPE_SZ, 1 << 20);	/* so that it need not be read before the end */
	r->args = args;
	r->began = now();
	r->pid = fork();
	if (r->pid < 0)
		die("fork");
	if (!r->pid) {
		char copy[256], *argv[32] = { "gpustat" }, *save, *w;
		int n = 1;

		snprintf(copy, sizeof copy, "%s", args);
		for (w = strtok_r(copy, " ", &save); w && n < 31; w = strtok_r(NULL, " ", &save))
			argv[n++] = w;
		dup2(out[1], 1);
		dup2(err[1], 2);
		if (before)
			before();
		execv("/gpustat", argv);
		dprintf(2, "init: /gpustat: %s\n", strerror(errno));
		_exit(127);
	}
	close(out[1]);
	close(err[1]);
	r->fd[0] = out[0];
	r->fd[1] = err[0];
	return r;
}

/* drain: one read of what is ready on one of its two pipes. */
static void drain(struct run *r, int i)
{
	ssize_t n;

	if (r->cap[i] - r->n[i] < 65536) {
		r->cap[i] = 2 * r->cap[i] + 131072;
		r->text[i] = realloc(r->text[i], r->cap[i]);
		if (!r->text[i])
			die("realloc");
	}
	n = read(r->fd[i], r->text[i] + r->n[i], r->cap[i] - r->n[i] - 1);
	if (n > 0) {
		r->n[i] += n;
	} else {
		close(r->fd[i]);
		r->fd[i] = -1;
	}
}

/* Until it has printed something: its first sample. */
static void await(struct run *r)
{
	struct pollfd p = { r->fd[0], POLLIN, 0 };

	poll(&p, 1, RUN_SECONDS * 1000);
}

static void finish(struct run *r)
{
	double until = r->began + RUN_SECONDS;
	int status, left;

	while (r->fd[0] >= 0 || r->fd[1] >= 0) {
		struct pollfd p[2] = { { r->fd[0], POLLIN, 0 }, { r->fd[1], POLLIN, 0 } };

		left = (int)((until - now()) * 1000);
		if (left <= 0 || poll(p, 2, left) == 0) {
			kill(r->pid, SIGKILL);
			r->status = -1;
			break;
		}
		for (int i = 0; i < 2; i++)
			if (p[i].revents)
				drain(r, i);
	}
	waitpid(r->pid, &status, 0);
	r->took = now() - r->began;
	if (r->status != -1)
		r->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	for (int i = 0; i < 2; i++) {
		if (r->fd[i] >= 0)
			close(r->fd[i]);
		if (!r->text[i])
			r->text[i] = calloc(1, 1);
		r->text[i][r->n[i]] = 0;
	}
}

static void drop(struct run *r)
{
	free(r->text[0]);
	free(r->text[1]);
	free(r);
}

static struct run *run(const char *args, void (*before)(void))
{
	struct run *r = start(args, before);

	finish(r);
	return r;
}

/* record: line i of the output, .p NULL past the last. */
static struct view record(const struct run *r, int i)
{
	struct view v = { r->text[0], NULL };

	for (;; v.p = v.e + 1) {
		v.e = strchr(v.p, '\n');
		if (!v.e || !i--)
			return v.e ? v : (struct view){ NULL, NULL };
	}
}

#define each_record(v, r) (struct view v = record(r, 0); v.p; v = next(v))
static struct view next(struct view v)
{
	struct view n = { v.e + 1, strchr(v.e + 1, '\n') };

	return n.e ? n : (struct view){ NULL, NULL };
}

/* ended: it exited with status, and each line of its output is one JSON object. */
static bool ended(const struct run *r, int status)
{
	bool good = want(r->status == status, "gpustat %s: exit %d, not %d", r->args, r->status, status);
	int line = 0;

	if (strstr(r->args, "-o json")) {
		for each_record(v, r) {
			line++;
			if (*v.p != '{' || json_value(v.p, v.e, 0) != v.e)
				good = want(false, "gpustat %s: line %d is not JSON: %.*s", r->args, line,
					    v.e - v.p > 300 ? 300 : (int)(v.e - v.p), v.p);
		}
		if (r->n[0] && r->text[0][r->n[0] - 1] != '\n')
			good = want(false, "gpustat %s: the last line has no end", r->args);
	}
	return good;
}

/* quote: what it printed, when that did not satisfy. */
static void quote(const struct run *r)
{
	int left = 12;

	if (test_ok)
		return;
	note("gpustat %s: exit %d after %.3f s, %zu bytes", r->args, r->status, r->took, r->n[0]);
	for each_record(v, r) {
		note("  %.*s", v.e - v.p > 700 ? 700 : (int)(v.e - v.p), v.p);
		if (!--left)
			break;
	}
	if (r->n[1])
		note("  stderr: %.400s", r->text[1]);
}

static void close_run(struct run *r)
{
	quote(r);
	drop(r);
}

/* near: got is truth within the tolerance. */
static bool near(double got, double truth)
{
	return fabs(got - truth) <= TOLERANCE * truth;
}

static bool want_near(double got, double truth, const char *what, const char *engine)
{
	return want(near(got, truth), "%s %s: %.4f, not %.4f (%+.2f %%)", what, engine, got, truth,
		    100 * (got - truth) / truth);
}

/*
 * child: a process that does setup(arg) and then waits to be killed; it is ready when this returns. setup says by
 * its result which descriptor the client is, for those who want to look.
 */
static pid_t child(int (*setup)(void *), void *arg, int *fd)
{
	int ready[2], n;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) || (pid = fork()) < 0)
		die("child");
	if (!pid) {
		close(ready[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		n = setup(arg);
		if (write(ready[1], &n, sizeof n) != sizeof n)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &n, sizeof n) != sizeof n)
		die("a client did not start");
	close(ready[0]);
	if (fd)
		*fd = n;
	return pid;
}

static void reap(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* ---- who runs it ---- */

static void nobody(void)
{
	if (setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(126);
}

/* capable: nobody, but for one capability that survives exec: permitted, effective, inheritable and ambient. */
static void capable(int cap)
{
	struct { unsigned version; int pid; } head = { 0x20080522, 0 };
	struct { unsigned effective, permitted, inheritable; } data[2] = { 0 };

	data[cap / 32].effective = data[cap / 32].permitted = data[cap / 32].inheritable = 1u << cap % 32;
	prctl(PR_SET_KEEPCAPS, 1);
	nobody();
	if (syscall(SYS_capset, &head, data) || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
		_exit(125);
}

/* ---- the machine's start and end ---- */

/* load: the modules that a file lists, in that order; the last one takes params. */
static void load(const char *file, const char *params)
{
	char list[4096], path[300], *line, *save, *after;
	int fd;

	snprintf(list, sizeof list, "%s", text(file));
	for (line = strtok_r(list, "\n", &save); line; line = after) {
		after = strtok_r(NULL, "\n", &save);
		snprintf(path, sizeof path, "/lib/%s", line);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || syscall(SYS_finit_module, fd, after ? "" : params, 0))
			die(path);
		close(fd);
	}
}

static int scenarios(void);

/* A serial line of its own, or the one that the kernel's command line names, raw: TAP leaves as it was written. */
static void tap_open(void)
{
	struct termios t;
	const char *line = getenv("TAP");
	int fd = open(line ? line : "/dev/ttyS1", O_WRONLY | O_NOCTTY);

	if (fd < 0)
		return;
	if (!tcgetattr(fd, &t)) {
		cfmakeraw(&t);
		cfsetspeed(&t, B115200);
		tcsetattr(fd, TCSANOW, &t);
	}
	dup2(fd, 1);
	close(fd);
}

int main(void)
{
	pid_t pid, gone;

	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	tap_open();
	printf("# init\n");	/* a sign of life, before anything can go wrong */
	fflush(stdout);
	/* The scenarios are not pid 1: a client's owner is never pid 1, and a crash must not panic the kernel. */
	pid = fork();
	if (!pid)
		_exit(scenarios());
	do
		gone = wait(NULL);
	while (gone != pid && (gone > 0 || errno == EINTR));
	tcdrain(1);
	sync();
	reboot(RB_AUTOBOOT); /* qemu ends then, as it does not where a kernel cannot switch off */
	for (;;)
		pause();
}

#endif
