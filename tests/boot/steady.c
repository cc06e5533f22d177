/*
 * steady: the system calls of a long run, and its completeness. Processes of this test ("puppets")
 * open, duplicate, pass, inherit and close DRM descriptors exactly between two samples: the run is
 * traced (ptrace(2)) and stopped meanwhile. The test also counts the run's system calls per sample.
 */
#include "guest.h"
#include "gpufake.h"

#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/sysmacros.h>

enum {
	BUSY = 25,		/* percent: the load of each client */
	CLIENTS = 150,
	HOLDERS = 50,		/* number of processes with clients */
	/* the documented bound: calls of a sample in which no process opened a device */
	QUIET_CALLS = 250,
	/* beyond one stat per process: listing one process's descriptors, and reading its name
	 * once */
	FOUND_CALLS = 100,
	/* the documented bound: calls from start to exit without a device */
	START_CALLS = 112,
	ENOUGH = 400,		/* samples: more than any rescan cycle in this test takes */
};

static const char *node = "/dev/dri/renderD128";

/* ---- a run, sample by sample ---- */

enum { CALLS = 512 };		/* more than the kernel has */

struct trace {
	struct run *r;
	bool over;
	int status;			/* then: its exit status; -1: killed by a signal */
	unsigned calls, by[CALLS];	/* calls of the last sample; the same by call number */
	size_t from;			/* offset in the output at which it starts */
	/* its /proc/PID/syscall, open during the whole trace, because the run counts our
	 * descriptors too */
	int where;
};

static bool is_sleep(unsigned long call)
{
	return call == SYS_clock_nanosleep || call == SYS_restart_syscall;
}

/* A stop of the traced run that is not a system-call stop; returns the signal to deliver. */
static int other_stop(struct trace *t, int status)
{
	int sig = WSTOPSIG(status);

	t->over = !WIFSTOPPED(status);
	return t->over || sig == SIGTRAP || sig == SIGSTOP || status >> 16 ? 0 : sig;
}

/* Continues to the next sleep. False: the run has ended. */
static bool step(struct trace *t)
{
	int status, sig = 0;

	t->calls = 0;
	memset(t->by, 0, sizeof t->by);
	t->from = t->r->n[0];
	while (!t->over && !ptrace(PTRACE_SYSCALL, t->r->pid, 0, sig) && waitpid(t->r->pid, &status, 0) > 0) {
		struct __ptrace_syscall_info call = { 0 };

		if (!WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80)) {
			sig = other_stop(t, status);
			t->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
			continue;
		}
		sig = 0;
		ptrace(PTRACE_GET_SYSCALL_INFO, t->r->pid, sizeof call, &call);
		if (call.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (is_sleep(call.entry.nr))
			break;
		t->calls++;
		t->by[call.entry.nr < CALLS ? call.entry.nr : 0]++;
	}
	for (struct pollfd p = { t->r->fd[0], POLLIN, 0 }; p.fd >= 0 && poll(&p, 1, 0) > 0; p.fd = t->r->fd[0])
		drain(t->r, 0);
	return !t->over;
}

/* Notes the most frequent calls of the last sample, to explain a failure. */
static void note_calls(const struct trace *t, const char *what)
{
	static const struct { int nr; const char *name; } names[] = {
		{ SYS_pread64, "pread" }, { SYS_newfstatat, "stat" }, { SYS_statx, "statx" }, { SYS_fstat, "fstat" }, { SYS_openat, "open" },
		{ SYS_getdents64, "getdents" }, { SYS_read, "read" }, { SYS_close, "close" }, { SYS_write, "write" },
	};
	char b[200];
	int n = 0;

	for (size_t i = 0; i < LEN(names); i++)
		if (t->by[names[i].nr])
			n += snprintf(b + n, sizeof b - n, " %s %u", names[i].name, t->by[names[i].nr]);
	note("%s: %u calls:%.*s", what, t->calls, n, b);
}

static void steps(struct trace *t, int n)
{
	while (n-- > 0)
		step(t);
}

static bool sleeps(const struct trace *t)
{
	char b[32] = "";

	return pread(t->where, b, sizeof b - 1, 0) > 0 && is_sleep((unsigned long)atol(b));
}

/* watch: starts a run, lets it do its first full scan untraced, and traces it from the sleep before
 * its first sample. */
static struct trace watch(const char *args, void (*before)(void))
{
	struct trace t = { .r = start(args, before) };
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/syscall", t.r->pid);
	t.where = open(path, O_RDONLY | O_CLOEXEC);
	for (double until = now() + RUN_SECONDS; !sleeps(&t); nap(0.005))
		if (now() > until || waitpid(t.r->pid, NULL, WNOHANG) != 0) {
			finish(t.r);
			note("gpustat %s: does not reach its first sample: %.300s", args, t.r->text[1]);
			test_ok = false;
			t.over = true;
			return t;
		}
	if (ptrace(PTRACE_SEIZE, t.r->pid, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) ||
	    ptrace(PTRACE_INTERRUPT, t.r->pid, 0, 0) || waitpid(t.r->pid, NULL, 0) < 0)
		die("ptrace");
	step(&t); /* up to the call that the stop has interrupted */
	return t;
}

static void trace_me(void)
{
	if (ptrace(PTRACE_TRACEME, 0, 0, 0) || raise(SIGSTOP))
		_exit(126);
}

/* all_calls: the number of calls of a run from its start to its exit. */
static unsigned all_calls(const char *args, int status)
{
	struct trace t = { .r = start(args, trace_me) };
	unsigned calls = 0;

	if (waitpid(t.r->pid, NULL, 0) < 0 || ptrace(PTRACE_SETOPTIONS, t.r->pid, 0, PTRACE_O_TRACESYSGOOD))
		die("ptrace");
	while (step(&t))
		calls += t.calls + 1; /* plus the sleep */
	calls += t.calls - 1; /* execve(2) belongs to the caller */
	finish(t.r);
	t.r->status = t.status;
	ended(t.r, status);
	note_calls(&t, args);
	drop(t.r);
	return calls;
}

/* leave: ends the run as a user does with ^C. */
static void leave(struct trace *t)
{
	if (!t->over) {
		kill(t->r->pid, SIGINT);
		ptrace(PTRACE_DETACH, t->r->pid, 0, 0);
		t->r->began = now();
		finish(t->r);
		ended(t->r, 0);
	}
	if (!test_ok)
		note("  stderr: %.400s", t->r->text[1] ? t->r->text[1] : "");
	close(t->where);
	drop(t->r);
}

/* The first record of the last sample. */
static struct view last(const struct trace *t)
{
	struct view v = { NULL, NULL };

	if (t->r->n[0] > t->from) {
		t->r->text[0][t->r->n[0]] = 0;
		v.p = t->r->text[0] + t->from;
		v.e = strchr(v.p, '\n');
	}
	return v.e ? v : (struct view){ NULL, NULL };
}

/* The record of a client in the last sample. */
static struct view shown(const struct trace *t, long long id)
{
	struct view v = last(t);

	while (v.p && num(v, "client") != id)
		v = next(v);
	return v;
}

static int records(const struct trace *t)
{
	int n = 0;

	for (size_t i = t->from; i < t->r->n[0]; i++)
		n += t->r->text[0][i] == '\n';
	return n;
}

/* Checks that the client is shown with a rate, so its previous reading was kept. */
static bool want_shown(const struct trace *t, long long id, pid_t pid, const char *when)
{
	struct view v = shown(t, id);
	double busy = num(v, "engine/render/busy");

	if (!want(v.p, "%s: client %lld is not shown", when, id))
		return false;
	want(num(v, "pid") == pid, "%s: client %lld: pid %.0f, not %d", when, id, num(v, "pid"), pid);
	/* A traced run is stopped between a reading and its timestamp, sometimes for longer than
	 * the interval. */
	return want(busy > BUSY / 20. && busy < BUSY * 20, "%s: client %lld is %.3f %% busy, not %d", when, id, busy, BUSY);
}

static void want_gone(const struct trace *t, long long id, const char *when)
{
	want(!shown(t, id).p, "%s: client %lld is still shown", when, id);
}

/* Steps until pid is among the client's pids; returns the number of steps. keeps_bound() checks
 * this number against the bound that -v prints at the end. */
static int until_shown(struct trace *t, long long id, pid_t pid)
{
	for (int n = 1; n <= ENOUGH && step(t); n++)
		if (has(shown(t, id), "pids", pid))
			return n;
	return ENOUGH + 1;
}

enum { UNTOLD, TOLD };

/* Ends the run as leave() does, and checks that the number of samples is within the bound that -v
 * prints. told: whether opens under /dev/dri are notified; -v must agree. */
static void keeps_bound(struct trace *t, int samples, bool told)
{
	struct run *r = t->r;
	const char *p;
	int most;

	if (!t->over) {
		kill(r->pid, SIGINT);
		ptrace(PTRACE_DETACH, r->pid, 0, 0);
		r->began = now();
		finish(r);
		t->over = true;
	}
	p = strstr(r->text[1], "in at most ");
	most = p ? atoi(p + strlen("in at most ")) : 0;
	want(most > 0, "-v prints no bound");
	want(samples <= most, "found after %d samples, not within %d", samples, most);
	want(!strstr(r->text[1], "opens of /dev/dri failed") == told, "-v is wrong about notified opens");
	note("found after %d samples; %.*s", samples, (int)strcspn(r->text[1], "\n"), r->text[1]);
	leave(t);
}

static void set_limit(const char *name, int n)
{
	char path[64], b[16];
	int fd, len = snprintf(b, sizeof b, "%d", n);

	snprintf(path, sizeof path, "/proc/sys/%s", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, b, len) != len)
		die(path);
	close(fd);
}

/* ---- puppets ---- */

enum { OPEN, GROW, DUP, CLOSE, FORK, SEND, TAKE, PIPE_AT, OPEN_AT, EXEC, NOBODYS };

struct order {
	int op, n;
	char path[40];
};

struct puppet {
	pid_t pid;
	int line;
};

static int post[2];		/* socket pair for passing descriptors */
static struct puppet crew[HOLDERS];

static int open_client(const char *path)
{
	struct fake_engine e = { .name = "render", .keys = FAKE_DIALECT_NS, .ppm = BUSY * 10000, .capacity = 1 };
	int fd = open(path, O_RDWR);

	return fd >= 0 && ioctl(fd, FAKE_IOC_ENGINE, &e) ? -1 : fd;
}

static int send_fd(int fd)
{
	union { struct cmsghdr head; char b[CMSG_SPACE(sizeof fd)]; } c = { 0 };
	struct iovec byte = { &(char){ 0 }, 1 };
	struct msghdr m = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c };

	c.head.cmsg_level = SOL_SOCKET;
	c.head.cmsg_type = SCM_RIGHTS;
	c.head.cmsg_len = CMSG_LEN(sizeof fd);
	memcpy(CMSG_DATA(&c.head), &fd, sizeof fd);
	return (int)sendmsg(post[0], &m, 0);
}

static int take_fd(void)
{
	union { struct cmsghdr head; char b[CMSG_SPACE(sizeof(int))]; } c = { 0 };
	struct iovec byte = { &(char){ 0 }, 1 };
	struct msghdr m = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = &c, .msg_controllen = sizeof c };
	int fd = -1;

	if (recvmsg(post[1], &m, 0) == 1)
		memcpy(&fd, CMSG_DATA(&c.head), sizeof fd);
	return fd;
}

static int move_to(int fd, int at)
{
	int r = dup2(fd, at);

	close(fd);
	return r;
}

static int pipe_at(int at)
{
	int p[2];

	if (pipe(p))
		return -1;
	close(p[1]);
	return move_to(p[0], at);
}

/* Duplicates up to n descriptors. */
static int grow(int n)
{
	struct rlimit l = { n + 100, n + 100 };
	int fd = 0;

	if (setrlimit(RLIMIT_NOFILE, &l))
		return -1;
	while (fd >= 0 && fd < n - 1)
		fd = dup(2);
	return fd;
}

static int fork_idle(void)
{
	pid_t pid = fork();

	while (!pid)
		pause();
	return pid;
}

/* Replaces the process by a program with another name that keeps running and inherits the
 * descriptors. */
static int exec_other(void)
{
	int null = open("/dev/null", O_RDWR);

	dup2(null, 1);
	return execl("/gpustat", "gpustat", "host", "-q", "1000", NULL);
}

/* After a change of user, /proc/PID belongs to root unless the process is dumpable. */
static int become_nobody(void)
{
	nobody();
	return prctl(PR_SET_DUMPABLE, 1);
}

static int order_run(const struct order *o)
{
	int fd = -1;

	switch (o->op) {
	case OPEN:
		for (int i = 0; i < o->n; i++)
			fd = open_client(o->path);
		return fd;
	case GROW: return grow(o->n);
	case DUP: return dup(o->n);
	case CLOSE: return close(o->n);
	case FORK: return fork_idle();
	case SEND: return send_fd(o->n);
	case TAKE: return take_fd();
	case PIPE_AT: return pipe_at(o->n);
	case OPEN_AT: return move_to(open_client(o->path), o->n);
	case EXEC: return exec_other();
	case NOBODYS: return become_nobody();
	}
	return -1;
}

static struct puppet puppet(void)
{
	struct puppet p;
	struct order o;
	int line[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, line) || (p.pid = fork()) < 0)
		die("puppet");
	if (!p.pid) {
		close(line[0]);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(line[1], &o, sizeof o) == sizeof o) {
			r = order_run(&o);
			if (write(line[1], &r, sizeof r) != sizeof r)
				break;
		}
		_exit(0);
	}
	close(line[1]);
	p.line = line[0];
	return p;
}

/* Returns the result of the operation; EXEC returns no answer, only the closed socket. */
static int ask(struct puppet p, int op, int n, const char *path)
{
	struct order o = { .op = op, .n = n };
	int r = -1;

	snprintf(o.path, sizeof o.path, "%s", path ? path : "");
	if (write(p.line, &o, sizeof o) != sizeof o || (read(p.line, &r, sizeof r) <= 0) != (op == EXEC) ||
	    (r < 0 && op != EXEC))
		die("a puppet does not answer");
	return r;
}

static void end_puppet(struct puppet p)
{
	reap(p.pid);
	close(p.line);
}

static long long client_id(pid_t pid, int fd)
{
	char b[64];
	const char *p;

	snprintf(b, sizeof b, "/proc/%d/fdinfo/%d", pid, fd);
	p = strstr(text(b), "drm-client-id:");
	return p ? strtoll(p + strlen("drm-client-id:"), NULL, 10) : -1;
}

/* Creates a puppet with one client. */
static struct puppet holder(int *fd, long long *id)
{
	struct puppet p = puppet();

	*fd = ask(p, OPEN, 1, node);
	*id = client_id(p.pid, *fd);
	return p;
}

/* ---- crowds: idle processes that share every resource that separate processes can share ---- */

enum { CROWD_STACK = 2048 };

static int crowd_member(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return 0;
}

struct crowd {
	int n, descriptors;	/* number of processes, and of descriptors of each */
};

static int crowd_setup(void *arg)
{
	struct crowd *c = arg;
	char *stacks = mmap(NULL, (size_t)c->n * CROWD_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = 0;

	for (int i = 0; i < HOLDERS; i++)
		close(crew[i].line);
	while (fd >= 0 && fd < c->descriptors - 1)
		fd = dup(2);
	for (int i = 1; i < c->n; i++)
		if (clone(crowd_member, stacks + (size_t)i * CROWD_STACK, CLONE_VM | SIGCHLD, NULL) < 0)
			die("a crowd");
	return 0;
}

/* Returns the number of processes in the machine. */
static int processes(void)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;

	while ((e = readdir(d)))
		n += isdigit((unsigned char)e->d_name[0]) != 0;
	closedir(d);
	return n;
}

static bool counts_told(void)
{
	struct stat st;

	return !stat("/proc/self/fd", &st) && st.st_size > 0;
}

/* ---- cost ---- */

/* Runs before a driver is loaded: /sys lists no device, so gpustat does not search for clients. */
static void t_nothing(void)
{
	static const char *const runs[] = { "-w 0.1", "clients -w 0.1", "0.1 2" };

	begin("no DRM device: no full scan of /proc, at most 112 calls from start to exit");
	for (size_t i = 0; i < LEN(runs); i++) {
		unsigned calls = all_calls(runs[i], 3);

		want(calls <= START_CALLS, "gpustat %s: %u calls", runs[i], calls);
	}
	want(processes() > 20, "control: %d processes are too few for this check", processes());
	end();
}

static void crew_start(void)
{
	for (int i = 0; i < HOLDERS; i++) {
		crew[i] = puppet();
		ask(crew[i], OPEN, CLIENTS / HOLDERS, node);
	}
}

static void crew_end(void)
{
	for (int i = 0; i < HOLDERS; i++)
		end_puppet(crew[i]);
}

static void want_clients(const struct trace *t, int n)
{
	double shown = num(last(t), "clients");

	want(shown == n, "the device has %.0f clients, not %d", shown, n);
}

/* Returns the largest number of calls among some samples in which no process does anything. */
static unsigned quiet_calls(struct trace *t, int samples)
{
	struct trace dearest = { .calls = 0 };

	while (samples-- > 0) {
		step(t);
		if (t->calls > dearest.calls)
			dearest = *t;
	}
	note_calls(&dearest, "the most expensive quiet sample");
	return dearest.calls;
}

/* Fills the machine up to n processes, the new ones with the given number of descriptors each; 150
 * clients are among them. Returns the calls of a quiet sample. */
static unsigned cost(int n, int descriptors)
{
	struct crowd c = { n - processes(), descriptors };
	static char name[160];
	unsigned quiet, found;
	struct trace t;
	int all, fd;

	/* never ended: ending thousands of processes takes longer than the whole test */
	child(crowd_setup, &c, NULL);
	all = processes();
	snprintf(name, sizeof name, "%d clients, %d processes, %d descriptors: at most %d calls in a quiet sample", CLIENTS, n,
		 n * descriptors, QUIET_CALLS);
	begin(name);
	/* enough for the full scan on any machine */
	t = watch("-d driver:i915 -o json --sweep 80 0.1", NULL);
	steps(&t, 2);
	quiet = quiet_calls(&t, 4);
	want(quiet <= QUIET_CALLS, "%u calls", quiet);
	want_clients(&t, CLIENTS);
	end();
	/* a full scan, which takes long when traced */
	if (!counts_told() && descriptors * n > 50000) {
		leave(&t);
		return quiet;
	}

	snprintf(name, sizeof name, "a process opens the device: one stat per process more, found in that sample");
	begin(name);
	fd = ask(crew[HOLDERS / 2], OPEN, 1, node);
	step(&t);
	found = t.calls;
	note_calls(&t, "the sample after the open");
	want_clients(&t, CLIENTS + 1);
	if (counts_told())
		want(found <= quiet + (unsigned)all + FOUND_CALLS, "%u calls, %d processes", found, all);
	ask(crew[HOLDERS / 2], CLOSE, fd, NULL);
	steps(&t, 2);
	want(quiet_calls(&t, 2) <= QUIET_CALLS, "too many calls in the next quiet sample");
	want_clients(&t, CLIENTS);
	leave(&t);
	end();
	return quiet;
}

static void few_descriptors(void)
{
	struct rlimit l = { 64, 64 };

	if (setrlimit(RLIMIT_NOFILE, &l))
		_exit(126);
}

static void t_limit(void)
{
	struct trace t;

	begin("a hard limit of 64 descriptors: each sample has all 150 clients");
	t = watch("clients -o json 0.1", few_descriptors);
	for (int i = 0; i < 4 && step(&t); i++)
		want(records(&t) == CLIENTS, "%d clients", records(&t));
	note_calls(&t, "a sample");
	leave(&t);
	end();
}

/* Returns the number of voluntary context switches: each is a sleep that ended. */
static long wakeups(pid_t pid)
{
	char path[64];
	const char *p;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	p = strstr(text(path), "\nvoluntary_ctxt_switches:");
	return p ? atol(p + strlen("\nvoluntary_ctxt_switches:")) : -1;
}

static void t_idle(void)
{
	struct run *r = start("-d driver:i915 -o json 0.2", NULL);
	char path[64];
	double began;
	long before, after, ticks;
	long long slack;

	begin("between samples only the timer wakes the run, and the timer may be late");
	snprintf(path, sizeof path, "/proc/%d/timerslack_ns", r->pid);
	await(r);
	nap(0.1);
	began = now();
	before = wakeups(r->pid);
	nap(2);
	after = wakeups(r->pid);
	ticks = lround((now() - began) / 0.2);
	want(before > 0 && after - before <= ticks + 1, "%ld wakeups, %ld samples", after - before, ticks);
	slack = atoll(text(path));
	want(slack > 50000 && slack <= 2000000, "the timer's slack is %lld ns", slack);
	note("%ld wakeups, %ld samples, slack %lld ns", after - before, ticks, slack);
	kill(r->pid, SIGINT);
	finish(r);
	ended(r, 0);
	close_run(r);
	end();
}

static void t_cost(void)
{
	unsigned small, large;

	set_limit("kernel/threads-max", 20000); /* the default depends on the memory size */
	crew_start();
	t_limit();
	t_idle();
	small = cost(505, 25);
	large = cost(5000, 20);
	begin("a quiet sample among 5000 processes costs at most 20 % more calls than among 505");
	want(large <= small * 1.2, "%u and %u calls", small, large);
	note("%u and %u calls", small, large);
	end();
	crew_end();
}

/* ---- changes between two samples; --sweep 0 where they must be noticed ---- */

#define NOTICED "clients -o json --sweep 0 0.1"
#define SWEPT   "clients -o json -v --sweep 20 0.05"

static void t_dup(void)
{
	long long id;
	int fd, copy;
	struct puppet p = holder(&fd, &id);
	struct trace t = watch(NOTICED, NULL);

	begin("a duplicate: one client; it continues after the first descriptor is closed");
	step(&t);
	copy = ask(p, DUP, fd, NULL);
	step(&t);
	want_shown(&t, id, p.pid, "duplicated");
	want(records(&t) == 1, "%d clients", records(&t));
	ask(p, CLOSE, fd, NULL);
	step(&t);
	want_shown(&t, id, p.pid, "after the first close");
	fd = ask(p, DUP, copy, NULL);
	ask(p, CLOSE, copy, NULL);
	step(&t);
	want_shown(&t, id, p.pid, "after a move within one interval");
	ask(p, CLOSE, fd, NULL);
	step(&t);
	want_gone(&t, id, "after the last close");
	leave(&t);
	end();
	end_puppet(p);
}

static void t_fork(void)
{
	long long id;
	int fd;
	struct puppet p = holder(&fd, &id);
	struct trace t = watch(NOTICED, NULL);
	pid_t heir;

	begin("inherited by a child that outlives its parent: the client and its rate continue");
	step(&t);
	heir = ask(p, FORK, 0, NULL);
	step(&t);
	want_shown(&t, id, p.pid, "forked");
	end_puppet(p);
	for (int i = 0; i < 3; i++) {
		step(&t);
		want_shown(&t, id, heir, i ? "later" : "after the parent's exit");
	}
	kill(heir, SIGKILL);
	for (int i = 0; i < 200 && !kill(heir, 0); i++) /* pid 1 reaps it */
		nap(0.01);
	step(&t);
	want_gone(&t, id, "after the child's exit");
	leave(&t);
	end();
}

static void t_fork_exit(void)
{
	long long id;
	int fd;
	struct puppet p = holder(&fd, &id);
	struct trace t = watch(NOTICED, NULL);
	pid_t heir;

	begin("inherited within one interval by a child that outlives its parent: the client and its rate continue");
	step(&t);
	heir = ask(p, FORK, 0, NULL);
	end_puppet(p);
	for (int i = 0; i < 3; i++) {
		step(&t);
		want_shown(&t, id, heir, i ? "later" : "at once");
	}
	leave(&t);
	end();
	kill(heir, SIGKILL);
}

static void t_passed(void)
{
	long long id;
	int fd;
	struct puppet p = holder(&fd, &id), q = puppet();
	struct trace t = watch(NOTICED, NULL);

	begin("passed to a running process and closed by the sender: the client and its rate continue");
	step(&t);
	ask(p, SEND, fd, NULL);
	ask(q, TAKE, 0, NULL);
	ask(p, CLOSE, fd, NULL);
	for (int i = 0; i < 3; i++) {
		step(&t);
		want_shown(&t, id, q.pid, i ? "later" : "at once");
	}
	leave(&t);
	end();
	end_puppet(p);
	end_puppet(q);
}

/* The receiver closed as many descriptors as it received: only a listing of its descriptors reveals
 * the change. */
static void t_passed_equal(void)
{
	long long id;
	int fd, other;
	struct puppet p = holder(&fd, &id), q = puppet();
	struct trace t;
	int n;

	begin("passed to a process whose descriptor count stays the same: the rescan finds it within the bound");
	other = ask(q, DUP, 0, NULL);
	t = watch(SWEPT, NULL);
	step(&t);
	ask(q, CLOSE, other, NULL);
	ask(p, SEND, fd, NULL);
	ask(q, TAKE, 0, NULL);
	ask(p, CLOSE, fd, NULL);
	n = until_shown(&t, id, q.pid);
	step(&t);
	step(&t);
	want_shown(&t, id, q.pid, "later");
	keeps_bound(&t, n, TOLD);
	end();
	end_puppet(p);
	end_puppet(q);
}

static void t_passed_shared(void)
{
	long long id;
	int fd, n;
	struct puppet p = holder(&fd, &id), q = puppet();
	struct trace t = watch(SWEPT, NULL);

	begin("passed, and the sender keeps its own: one client; the rescan finds the second process within the bound");
	step(&t);
	ask(p, SEND, fd, NULL);
	ask(q, TAKE, 0, NULL);
	step(&t);
	want(records(&t) == 1, "%d clients", records(&t));
	n = until_shown(&t, id, q.pid) + 1;
	want(records(&t) == 1, "%d clients", records(&t));
	want(has(shown(&t, id), "pids", p.pid), "the first process is missing");
	keeps_bound(&t, n, TOLD);
	end();
	end_puppet(p);
	end_puppet(q);
}

static void t_same_number(void)
{
	long long id, second;
	int fd;
	struct puppet p = holder(&fd, &id);
	struct trace t = watch(NOTICED, NULL);

	begin("closed and opened again under the same number: another client, in that sample");
	step(&t);
	ask(p, OPEN_AT, fd, node);
	second = client_id(p.pid, fd);
	want(second != id, "control: the id is the same");
	step(&t);
	want_gone(&t, id, "replaced");
	want(shown(&t, second).p, "the new client is not shown");
	step(&t);
	want_shown(&t, second, p.pid, "later");
	want_gone(&t, id, "later");
	want(records(&t) == 1, "%d clients", records(&t));
	leave(&t);
	end();
	end_puppet(p);
}

/* As a program that closes its device and opens it again: the number of descriptors is the same. */
static void t_other_number(void)
{
	long long id, second;
	int fd, other;
	struct puppet p = holder(&fd, &id);
	struct trace t;

	begin("closed and opened again under another number: another client, in that sample");
	other = ask(p, DUP, 0, NULL);
	t = watch(NOTICED, NULL);
	step(&t);
	ask(p, CLOSE, other, NULL);
	ask(p, OPEN_AT, other + 1, node);
	second = client_id(p.pid, other + 1);
	ask(p, CLOSE, fd, NULL);
	ask(p, DUP, 0, NULL);
	step(&t);
	want_gone(&t, id, "closed");
	want(shown(&t, second).p, "the new client is not shown");
	step(&t);
	want_shown(&t, second, p.pid, "later");
	leave(&t);
	end();
	end_puppet(p);
}

static void t_pipe(void)
{
	long long id;
	int fd;
	struct puppet p = holder(&fd, &id);
	struct trace t = watch(NOTICED, NULL);

	begin("closed, and a pipe reuses the number: the client is gone, and no other appears");
	step(&t);
	ask(p, PIPE_AT, fd, NULL);
	for (int i = 0; i < 3; i++) {
		step(&t);
		want(!records(&t), "%d clients", records(&t));
	}
	leave(&t);
	end();
	end_puppet(p);
}

static void t_exec(void)
{
	long long id;
	int fd;
	struct puppet p = holder(&fd, &id);
	struct trace t = watch(NOTICED, NULL);

	begin("exec with an open descriptor: the same client");
	step(&t);
	ask(p, EXEC, 0, NULL);
	for (int i = 0; i < 3; i++) {
		step(&t);
		want_shown(&t, id, p.pid, "after exec");
	}
	leave(&t);
	end();
	end_puppet(p);
}

static struct puppet puppet_as(pid_t pid)
{
	struct puppet p;

	set_limit("kernel/ns_last_pid", pid - 1);
	p = puppet();
	want(p.pid == pid, "control: pid %d, not %d", p.pid, pid);
	return p;
}

static void t_pid_reused(void)
{
	long long id, second;
	int fd;
	struct puppet p = holder(&fd, &id);
	struct trace t = watch(NOTICED, NULL);

	begin("a process exits and another gets its pid, first without, then with a client: a new client each time");
	step(&t);
	end_puppet(p);
	p = puppet_as(p.pid);
	step(&t);
	want(!records(&t), "%d clients of the second process", records(&t));
	second = client_id(p.pid, ask(p, OPEN, 1, node));
	step(&t);
	want(shown(&t, second).p, "its client is not shown");
	step(&t);
	want_shown(&t, second, p.pid, "the second process");
	end_puppet(p);
	p = puppet_as(p.pid);
	/* the same pid and the same descriptor number in one interval */
	id = client_id(p.pid, ask(p, OPEN, 1, node));
	step(&t);
	want_gone(&t, second, "the third process");
	want(shown(&t, id).p, "the third process's client is not shown");
	step(&t);
	want_shown(&t, id, p.pid, "the third process");
	leave(&t);
	end();
	end_puppet(p);
}

static void t_mknod(void)
{
	struct puppet p = puppet();
	struct trace t;
	struct stat st;
	int fd, n;

	begin("a device node outside /dev/dri: no notification; the rescan finds the client within the bound");
	if (stat(node, &st) || mknod("/node", S_IFCHR | 0666, st.st_rdev))
		die("mknod");
	t = watch(SWEPT, NULL);
	step(&t);
	fd = ask(p, OPEN, 1, "/node");
	n = until_shown(&t, client_id(p.pid, fd), p.pid);
	keeps_bound(&t, n, TOLD);
	unlink("/node");
	end();
	end_puppet(p);
}

static void t_bind(void)
{
	struct puppet p = puppet();
	struct trace t;
	int fd;

	begin("the node bound to another path, as in containers: noticed");
	close(open("/bound", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	if (mount(node, "/bound", NULL, MS_BIND, NULL))
		die("bind");
	t = watch(NOTICED, NULL);
	step(&t);
	fd = ask(p, OPEN, 1, "/bound");
	step(&t);
	want(shown(&t, client_id(p.pid, fd)).p, "its client is not shown");
	leave(&t);
	end();
	end_puppet(p);
	umount("/bound");
	unlink("/bound");
}

static void t_equal_count(void)
{
	struct puppet p = puppet();
	struct trace t;
	int fd, other, n;

	begin("one descriptor closed, one opened: the same count; the rescan finds the client within the bound");
	other = ask(p, DUP, 0, NULL);
	t = watch(SWEPT, NULL);
	step(&t);
	ask(p, CLOSE, other, NULL);
	fd = ask(p, OPEN, 1, node);
	n = until_shown(&t, client_id(p.pid, fd), p.pid);
	keeps_bound(&t, n, TOLD);
	end();
	end_puppet(p);
}

static void t_others(void)
{
	struct puppet own = puppet(), theirs = puppet();
	struct trace t;
	int fd;

	begin("unprivileged: the user's own new client is noticed; root's is not found and costs no calls");
	chmod(node, 0666);
	ask(own, NOBODYS, 0, NULL);
	t = watch(NOTICED, nobody);
	step(&t);
	fd = ask(own, OPEN, 1, node);
	ask(theirs, OPEN, 1, node);
	step(&t);
	want(shown(&t, client_id(own.pid, fd)).p, "its client is not shown");
	want(records(&t) == 1, "%d clients", records(&t));
	steps(&t, 2);
	want_shown(&t, client_id(own.pid, fd), own.pid, "later");
	want(t.calls < 40, "%u calls in a quiet sample", t.calls);
	note_calls(&t, "a quiet sample");
	leave(&t);
	chmod(node, 0600);
	end();
	end_puppet(own);
	end_puppet(theirs);
}

static void t_no_inotify(void)
{
	static const char *const limits[] = { "fs/inotify/max_user_instances", "fs/inotify/max_user_watches" };
	struct puppet p = puppet();

	for (size_t i = 0; i < LEN(limits); i++) {
		char name[160], path[64];
		struct trace t;
		int fd, n, was;

		snprintf(name, sizeof name, "%s is 0: -v reports it, and the rescan finds a new client within the bound", limits[i]);
		snprintf(path, sizeof path, "/proc/sys/%s", limits[i]);
		begin(name);
		was = atoi(text(path));
		set_limit(limits[i], 0);
		t = watch(SWEPT, NULL);
		step(&t);
		fd = ask(p, OPEN, 1, node);
		n = until_shown(&t, client_id(p.pid, fd), p.pid);
		keeps_bound(&t, n, UNTOLD);
		set_limit(limits[i], was);
		end();
	}
	end_puppet(p);
}

/* More descriptors than one sample examines: a few samples are needed, and none of them starves the
 * other processes. */
static void t_many(void)
{
	struct puppet p = puppet();
	struct trace t;
	unsigned most = 0;
	int fd, n = 0;

	begin("a process with 9000 descriptors opens the device: found within 4 samples, each with less than half of them examined");
	ask(p, GROW, 9000, NULL);
	t = watch(NOTICED, NULL);
	steps(&t, 2);
	fd = ask(p, OPEN, 1, node);
	do {
		step(&t);
		most = t.calls > most ? t.calls : most;
	} while (++n < ENOUGH && !shown(&t, client_id(p.pid, fd)).p);
	want(n <= 4, "found after %d samples", n);
	want(most < 9000 / 2 || !counts_told(), "%u calls in one sample", most);
	note("found after %d samples of at most %u calls", n, most);
	leave(&t);
	end();
	end_puppet(p);
}

/* ---- random operations ---- */

enum { PLAYERS = 6, HELD = 8, ROUNDS = 2, ACTS = 40 };

static struct player {
	struct puppet p;
	int fd[HELD], n;
} players[PLAYERS];
static pid_t heirs[ROUNDS * ACTS];
static int nheirs;

static unsigned dice(unsigned n)
{
	static unsigned long long x = 7;	/* the same sequence each time */

	x = x * 6364136223846793005ull + 1442695040888963407ull;
	return (unsigned)(x >> 33) % n;
}

static void player_new(struct player *a)
{
	*a = (struct player){ .p = puppet() };
}

static void act_pass(struct player *a, int k)
{
	struct player *b = &players[dice(PLAYERS)];

	if (b == a || b->n == HELD)
		return;
	ask(a->p, SEND, a->fd[k], NULL);
	b->fd[b->n++] = ask(b->p, TAKE, 0, NULL);
}

/* Performs one operation with one of the process's descriptors. */
static void act_with(struct player *a, int k)
{
	switch (dice(6)) {
	case 0:
		if (a->n < HELD)
			a->fd[a->n++] = ask(a->p, DUP, a->fd[k], NULL);
		break;
	case 1: ask(a->p, OPEN_AT, a->fd[k], node); break;
	case 2: act_pass(a, k); break;
	case 3: act_pass(a, k); /* and closes it after passing it */ __attribute__((fallthrough));
	case 4: ask(a->p, CLOSE, a->fd[k], NULL); a->fd[k] = a->fd[--a->n]; break;
	case 5: ask(a->p, PIPE_AT, a->fd[k], NULL); a->fd[k] = a->fd[--a->n]; break;
	}
}

static void act(void)
{
	struct player *a = &players[dice(PLAYERS)];
	unsigned what = dice(16);

	if (what == 0) {
		heirs[nheirs++] = ask(a->p, FORK, 0, NULL);
	} else if (what == 1) {
		end_puppet(a->p);
		player_new(a);
	} else if (what == 2 && nheirs) {
		kill(heirs[--nheirs], SIGKILL);
	} else if (a->n && (what < 12 || a->n == HELD)) {
		act_with(a, (int)dice((unsigned)a->n));
	} else {
		a->fd[a->n++] = ask(a->p, OPEN, 1, node);
	}
}

static bool same(struct view a, struct view b, const char *path)
{
	a = json_get(a, path);
	b = json_get(b, path);
	return a.p && b.p && a.e - a.p == b.e - b.p && !memcmp(a.p, b.p, a.e - a.p);
}

/* Checks that the run shows what a new run shows. */
static void want_truth(const struct trace *t, int round)
{
	struct run *r = run("clients -r -o json", NULL);
	int n = 0;

	ended(r, 0);
	for each_record(v, r) {
		struct view got = shown(t, (long long)num(v, "client"));

		n++;
		if (want(got.p, "step %d: client %.0f of pid %.0f is not shown", round, num(v, "client"), num(v, "pid")))
			want(same(v, got, "pid") && same(v, got, "pids"), "step %d: client %.0f: %.*s, not %.*s", round,
			     num(v, "client"), (int)strcspn(strstr(got.p, "\"pids\""), "]"), strstr(got.p, "\"pids\""),
			     (int)strcspn(strstr(v.p, "\"pids\""), "]"), strstr(v.p, "\"pids\""));
	}
	want(records(t) == n, "step %d: %d clients, not %d", round, records(t), n);
	want(n > 0, "control: no process has a client");
	drop(r);
}

static void t_whatever(void)
{
	struct trace t;

	begin("descriptors opened, duplicated, passed, inherited, replaced and closed in random order: the run finds the true state");
	for (int i = 0; i < PLAYERS; i++)
		player_new(&players[i]);
	players[0].fd[players[0].n++] = ask(players[0].p, OPEN, 1, node);
	t = watch("clients -o json --sweep 200 0.05", NULL);
	for (int round = 1; round <= ROUNDS; round++) {
		for (int i = 0; i < ACTS; i++) {
			act();
			if (dice(4) == 0)
				step(&t);
		}
		steps(&t, 10); /* for the changes without a notification */
		want_truth(&t, round);
	}
	leave(&t);
	end();
	for (int i = 0; i < PLAYERS; i++)
		end_puppet(players[i].p);
	while (nheirs)
		kill(heirs[--nheirs], SIGKILL);
}

static bool device_shown(const struct trace *t, const char *dev)
{
	struct view v = last(t);

	while (v.p && !is(v, "dev", dev))
		v = next(v);
	return v.p;
}

static void t_hotplug(void)
{
	struct trace t;
	unsigned quiet;

	begin("devices appear and disappear during a run: /sys is read when their nodes change");
	t = watch("-o json 0.1", NULL);
	steps(&t, 3);
	quiet = t.calls;
	want(records(&t) == 1 + !access("/dev/accel", F_OK), "control: %d devices are shown", records(&t));
	must_put("/sys/module/fake/parameters/add", "xe");
	steps(&t, 2);
	want(device_shown(&t, "card1"), "card1 is not shown");
	must_put("/sys/devices/platform/xe.2/unplug", "1");
	steps(&t, 2);
	want(!device_shown(&t, "card1"), "card1 is still shown");
	steps(&t, 2);
	want(t.calls < quiet + 40, "%u calls in the next quiet sample, %u before", t.calls, quiet);
	leave(&t);
	end();
}

/* The folders of the nodes disappear with the last node, and are new folders when they reappear. */
static void t_folders(void)
{
	static const struct { const char *unplug, *add, *node; } gpus[] = {
		{ "/sys/devices/platform/i915.0/unplug", "i915", "/dev/dri/renderD" },
		{ "/sys/devices/platform/intel_vpu.1/unplug", "intel_vpu:accel", "/dev/accel/accel" },
	};
	static char nodes[LEN(gpus)][40];
	struct puppet p = puppet();
	struct trace t;

	begin("/dev/dri and /dev/accel disappear and reappear: opens are still noticed");
	t = watch(NOTICED, NULL);
	steps(&t, 2);
	for (size_t i = 0; i < LEN(gpus); i++)
		if (!access(gpus[i].unplug, F_OK)) {
			must_put(gpus[i].unplug, "1");
			want(i || access("/dev/dri", F_OK), "control: /dev/dri is still there");
			must_put("/sys/module/fake/parameters/add", gpus[i].add);
		}
	steps(&t, 2);
	for (size_t i = 0; i < LEN(gpus); i++) {
		int fd, n = 0;

		do /* a number is not reused until the former device is fully released */
			snprintf(nodes[i], sizeof nodes[i], "%s%d", gpus[i].node, n);
		while (access(nodes[i], F_OK) && ++n < 192);
		if (access(nodes[i], F_OK)) {
			want(access(gpus[i].unplug, F_OK), "control: %s is missing", gpus[i].node);
			continue;
		}
		fd = ask(p, OPEN, 1, nodes[i]);
		step(&t);
		want(shown(&t, client_id(p.pid, fd)).p, "a client of %s is not shown", nodes[i]);
	}
	leave(&t);
	end();
	end_puppet(p);
	node = nodes[0];
}

static int scenarios(void)
{
	t_nothing();
	load("/modules", "devs=i915,intel_vpu:accel");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, post))
		die("socketpair");
	t_dup();
	t_fork();
	t_fork_exit();
	t_passed();
	t_passed_equal();
	t_passed_shared();
	t_same_number();
	t_other_number();
	t_pipe();
	t_exec();
	t_pid_reused();
	t_mknod();
	t_bind();
	t_equal_count();
	t_others();
	t_no_inotify();
	t_many();
	t_whatever();
	t_hotplug();
	t_folders();
	t_cost();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
