/*
 * guest.h: functions that all first programs of the emulated machine share: TAP output, JSON,
 * running /gpustat, start and shutdown of the machine. The including file defines static int
 * scenarios(void).
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
#define RUN_SECONDS 30		/* no run of gpustat here is requested to last longer than 4 s */
#define TOLERANCE 0.02		/* relative: the documented accuracy, which is under test */

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
	/* one comment line, even if a name contains newlines */
	for (size_t i = from; i < nwhy; i++)
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

/* want: notes a reason for each expectation that does not hold. */
#define want(cond, ...) ((cond) ? true : (note(__VA_ARGS__), test_ok = false))

/* ---- helpers ---- */

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

/* die: the emulated machine cannot continue. No plan is printed then, so the run counts as
 * failed. */
static void die(const char *what)
{
	printf("# init: %s: %s\n", what, strerror(errno));
	fflush(stdout);
	_exit(1);
}

/* text: the content of a small file without its last newline; "" if it cannot be read. */
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

/* ---- JSON: a parser that rejects invalid records and finds the value at a path ---- */

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

/* json_value: one past the value that starts at p, or NULL if no value starts there. Records
 * contain no blanks. */
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

/* json_get: the value at path ("engine/render/busy") of an object; .p is NULL where there is
 * none. */
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

/* num: a number; NaN for null, for a string and for an absent value. */
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

/* has: whether the array of numbers at path contains x. */
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

/* count: the number of elements of the array at path. */
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
	int fd[2];		/* the pipes of its stdout and stderr; -1: at end of file */
	size_t n[2], cap[2];
	char *text[2];
	double began, took;
	int status;		/* exit status, 128 + signal, or -1 if it had to be killed */
};

/* start: runs /gpustat with args, split at blanks. before runs in the child before exec. */
static struct run *start(const char *args, void (*before)(void))
{
	struct run *r = calloc(1, sizeof *r);
	int out[2], err[2];

	if (!r || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		die("start");
	/* large enough that nothing must be read before the run ends */
	fcntl(out[1], F_SETPIPE_SZ, 1 << 20);
	r->args = args;
	r->began = now();
	r->pid = fork();
	if (r->pid < 0)
		die("fork");
	if (!r->pid) {
		char copy[4096], *argv[64] = { "gpustat" }, *save, *w;
		int n = 1;

		snprintf(copy, sizeof copy, "%s", args);
		for (w = strtok_r(copy, " ", &save); w && n < 63; w = strtok_r(NULL, " ", &save)) {
			argv[n++] = w;
			while ((w = strchr(w, '~'))) /* a blank within a word */
				*w = ' ';
		}
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

/* drain: one read of the available bytes from one of its two pipes. */
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

/* Waits until the run has printed something: its first sample. */
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

/* record: line i of the output; .p is NULL after the last. */
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

/* ended: checks that the run exited with status and that each line of its output is one JSON
 * object. */
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
			good = want(false, "gpustat %s: the last line has no newline", r->args);
	}
	return good;
}

/* quote: notes the output of a run that failed a check. */
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

/* near: whether got equals truth within the tolerance. */
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
 * child: a process that calls setup(arg) and then waits to be killed; it is ready when this
 * returns. setup returns the descriptor of the client, for callers that inspect it.
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

/* ---- the user of a run ---- */

/* group: a supplementary group, or 0. */
static void nobody_in(gid_t group)
{
	if (setgroups(group != 0, &group) || setresgid(NOBODY, NOBODY, NOBODY) ||
	    setresuid(NOBODY, NOBODY, NOBODY))
		_exit(126);
}

static void nobody(void)
{
	nobody_in(0);
}

/* capable_in: an unprivileged user with one capability that survives exec: permitted, effective,
 * inheritable and ambient. group: a supplementary group, or 0. */
static void capable_in(int cap, gid_t group)
{
	struct { unsigned version; int pid; } head = { 0x20080522, 0 };
	struct { unsigned effective, permitted, inheritable; } data[2] = { 0 };

	data[cap / 32].effective = data[cap / 32].permitted = data[cap / 32].inheritable = 1u << cap % 32;
	prctl(PR_SET_KEEPCAPS, 1);
	nobody_in(group);
	if (syscall(SYS_capset, &head, data) || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0))
		_exit(125);
}

static void capable(int cap)
{
	capable_in(cap, 0);
}

/* ---- start and shutdown of the machine ---- */

/* load: loads the modules that a file lists, in that order; the last one gets the parameters
 * params. */
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

/* Sends a file through the third serial line, as "SIZE NAME" and its content; the script of
 * the machine checks it outside. */
static void bring_out(const char *name, const char *p, size_t n)
{
	struct termios t;
	int fd = open("/dev/ttyS2", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	ssize_t r = 1;

	want(fd >= 0, "/dev/ttyS2: %s", strerror(errno));
	if (fd < 0)
		return;
	if (!tcgetattr(fd, &t)) {
		cfmakeraw(&t);
		tcsetattr(fd, TCSANOW, &t);
	}
	dprintf(fd, "%zu %s\n", n, name);
	for (; n && r > 0; p += r, n -= r)
		r = write(fd, p, n);
	want(!n, "%s: %s", name, strerror(errno));
	tcdrain(fd);
	close(fd);
}

static int scenarios(void);

/* Opens the serial line for TAP, a separate one or the console of the kernel's command line, in raw
 * mode, so that TAP leaves unchanged. */
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

/* WORKER(word): what this program does as a command that the machine's gpustat runs. */
#ifndef WORKER
#define WORKER(word) 126
#endif

int main(int argc, char **argv)
{
	pid_t pid, gone;

	if (argc > 1 && getpid() != 1) /* the kernel passes its unknown parameters to init */
		return WORKER(argv[1]);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	tap_open();
	printf("# init\n");	/* first output, before anything can fail */
	fflush(stdout);
	/* The scenarios do not run in pid 1: the owner of a client is never pid 1, and a crash must
	 * not panic the kernel. */
	pid = fork();
	if (!pid)
		_exit(scenarios());
	do
		gone = wait(NULL);
	while (gone != pid && (gone > 0 || errno == EINTR));
	tcdrain(1);
	sync();
	reboot(RB_AUTOBOOT); /* a reboot ends qemu, even with a kernel that cannot power off */
	for (;;)
		pause();
}

#endif
