/*
 * bpf: the kernel's iterator of descriptors. A single reading finds clients with it, or with a scan
 * of /proc if it may not be used. Both must print the same bytes with any processes: threads with
 * separate descriptors, processes of other namespaces, descriptors that were duplicated or passed,
 * processes that start and end meanwhile. The counters of the clients do not change, so that two
 * readings can be compared.
 */
#include "play.h"

#include <pthread.h>
#include <sys/socket.h>

enum { D_ONE, D_TWO };

static const struct dev devs[DEVS] = {
	[D_ONE] = { "i915", "card0", "i915", "/dev/dri/renderD128" },
	[D_TWO] = { "xe", "card1", "xe", "/dev/dri/renderD129" },
};

enum {
	CROWD = 505, DESCRIPTORS = 25,	/* of each process of the crowd */
	LOOKS = 3,
	CAP_DAC_READ_SEARCH = 2, CAP_SYS_PTRACE = 19, CAP_PERFMON = 38, CAP_BPF = 39,
};

static pid_t crowd[CROWD];

static int opens_none(void *arg)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	while (dup(null) < *(int *)arg - 1)
		;
	return 0;
}

static int opens(void *arg)
{
	static const struct play idle = { .engine = "render", .keys = FAKE_DIALECT_NS, .capacity = 1 };
	int fd = play_at(&idle, arg);

	shift(fd, 1000000 + getpid(), 0, 0);
	return fd;
}

/* ---- comparing ---- */

static bool uses_iterator(const struct run *r)
{
	return strstr(r->text[1], "descriptors: the kernel's iterator");
}

/* Compares the bytes of a reading with those of a scan of /proc. iterator: it must be used. */
static void compare(const char *command, void (*before)(void), bool iterator)
{
	char args[128], scan[128];
	struct run *a, *b;

	snprintf(args, sizeof args, "%s -v -t none -o json", command);
	snprintf(scan, sizeof scan, "%s --proc /proc", args);
	a = run(args, before);
	b = run(scan, before);
	want(uses_iterator(a) == iterator, "gpustat %s: %.200s", args, a->text[1]);
	want(!uses_iterator(b), "gpustat %s: %.200s", scan, b->text[1]);
	want(a->status == b->status && a->n[0] == b->n[0] && memcmp(a->text[0], b->text[0], a->n[0]) == 0,
	     "gpustat %s: exit %d and %d, %zu and %zu bytes", args, a->status, b->status, a->n[0], b->n[0]);
	if (!test_ok)
		quote(b);
	close_run(a);
	drop(b);
}

static void compare_all(void (*before)(void), bool iterator)
{
	static const char *const commands[] = { "-r", "procs -r", "clients -r", "cgroups -r" };

	for (size_t i = 0; i < LEN(commands); i++)
		compare(commands[i], before, iterator);
}

/* The number of client records that name the process. */
static int held_by(pid_t pid)
{
	struct run *r = run("clients -r -o json", NULL);
	int n = 0;

	for each_record(v, r)
		n += has(v, "pids", pid);
	drop(r);
	return n;
}

/* ---- processes ---- */

static void t_plain(void)
{
	pid_t one = child(opens, (char *)devs[D_ONE].node, NULL), two = child(opens, (char *)devs[D_TWO].node, NULL);

	begin("clients of two devices: the iterator finds what a scan finds");
	want(held_by(one) == 1 && held_by(two) == 1, "they are not both found");
	compare_all(NULL, true);
	compare("list", NULL, true);
	compare("procs -r --no-sandbox", NULL, true);
	end();
	reap(one);
	reap(two);
}

static int opens_twice(void *arg)
{
	int fd = opens(arg);

	if (dup(fd) < 0 || open(arg, O_PATH | O_CLOEXEC) < 0)
		die("dup");
	fcntl(fd, F_SETFD, 0);
	if (fork() == 0)
		for (;;)
			pause();
	return fd;
}

static void t_duplicates(void)
{
	int ends[2], got = -1;
	char control[CMSG_SPACE(sizeof(int))] = "";
	struct iovec byte = { &(char){ 0 }, 1 };
	struct msghdr m = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control };
	pid_t twice, passer;

	begin("descriptors that were duplicated, inherited, opened as a path or passed through a socket");
	twice = child(opens_twice, (char *)devs[D_ONE].node, NULL);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends))
		die("socketpair");
	passer = fork();
	if (!passer) {
		int fd = opens((char *)devs[D_TWO].node);
		struct cmsghdr *c = CMSG_FIRSTHDR(&m);

		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof fd);
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
		_exit(sendmsg(ends[1], &m, 0) != 1);
	}
	waitpid(passer, NULL, 0);
	if (recvmsg(ends[0], &m, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&m))
		die("recvmsg");
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof got);
	want(held_by(getpid()) == 1, "the passed descriptor is not found");
	want(held_by(twice) >= 1, "the duplicated one is not found");
	compare_all(NULL, true);
	end();
	close(got);
	close(ends[0]);
	close(ends[1]);
	reap(twice);
}

static void *own_files(void *node)
{
	if (unshare(CLONE_FILES) || open(node, O_RDWR | O_CLOEXEC) < 0)
		die("thread");
	for (;;)
		pause();
	return NULL;
}

static int opens_threads(void *node)
{
	pthread_t t;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t, NULL, own_files, node))
			die("pthread_create");
	nap(0.1);
	return opens(node);
}

static int opens_in_thread_only(void *node)
{
	pthread_t t;

	if (pthread_create(&t, NULL, own_files, node))
		die("pthread_create");
	nap(0.1);
	return 0;
}

static void t_threads(void)
{
	pid_t both, only;

	begin("threads that do not share the descriptors of their process: /proc/PID/fd shows the process's");
	both = child(opens_threads, (char *)devs[D_ONE].node, NULL);
	only = child(opens_in_thread_only, (char *)devs[D_ONE].node, NULL);
	want(held_by(both) == 1, "the client of the process is not found, or those of its threads are");
	want(held_by(only) == 0, "the client of a thread is found");
	compare_all(NULL, true);
	end();
	reap(both);
	reap(only);
}

/* ---- namespaces ---- */

static void own_pids(void)
{
	if (unshare(CLONE_NEWPID))
		die("unshare");
}

static void in_container(void)
{
	int status = 126;
	pid_t pid;

	own_pids();
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(126);
	pid = fork();
	if (pid) {
		waitpid(pid, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
	}
	if (mount("proc", "/proc", "proc", 0, NULL))
		_exit(126);
}

static void in_namespace(void)
{
	int status = 126;
	pid_t pid;

	own_pids();
	pid = fork();
	if (!pid)
		return;
	waitpid(pid, &status, 0);
	_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 125);
}

static int opens_elsewhere(void *node)
{
	own_pids();
	if (fork() == 0) {
		opens(node);
		for (;;)
			pause();
	}
	nap(0.1);
	return 0;
}

static void t_namespaces(void)
{
	pid_t pid;

	begin("a client in another pid namespace, read from there with the /proc of either one");
	pid = child(opens_elsewhere, (char *)devs[D_ONE].node, NULL);
	compare_all(NULL, true);
	compare("clients -r", in_container, false);
	compare("clients -r", in_namespace, false);
	end();
	reap(pid);
}

/* ---- rights ---- */

/* A user without rights but these capabilities. */
static void capable_of(const int *caps, size_t n)
{
	struct { unsigned version; int pid; } head = { 0x20080522, 0 };
	struct { unsigned effective, permitted, inheritable; } data[2] = { 0 };

	for (size_t i = 0; i < n; i++) {
		data[caps[i] / 32].permitted |= 1u << caps[i] % 32;
		data[caps[i] / 32].effective = data[caps[i] / 32].inheritable = data[caps[i] / 32].permitted;
	}
	prctl(PR_SET_KEEPCAPS, 1);
	nobody();
	if (syscall(SYS_capset, &head, data))
		_exit(125);
	for (size_t i = 0; i < n; i++)
		if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, caps[i], 0, 0))
			_exit(125);
}

static void with_bpf(void)
{
	static const int caps[] = { CAP_BPF, CAP_PERFMON };

	capable_of(caps, LEN(caps));
}

static void with_ptrace(void)
{
	static const int caps[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE };

	capable_of(caps, LEN(caps));
}

static void with_perfmon_only(void)
{
	static const int caps[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_PERFMON };

	capable_of(caps, LEN(caps));
}

static void with_all(void)
{
	static const int caps[] = { CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_BPF, CAP_PERFMON };

	capable_of(caps, LEN(caps));
}

static void t_rights(void)
{
	pid_t root = child(opens, (char *)devs[D_ONE].node, NULL);
	struct run *r;

	begin("nobody: the iterator with CAP_BPF, CAP_PERFMON and the right to read all, otherwise a scan");
	compare_all(nobody, false);
	compare_all(with_bpf, false);
	compare_all(with_ptrace, false);
	compare_all(with_perfmon_only, false);
	compare_all(with_all, true);
	r = run("doctor -o json", NULL);
	for each_record(v, r)
		if (is(v, "source", "iterator"))
			want(is(v, "status", "ok"), "doctor: %.*s", (int)(v.e - v.p), v.p);
	want(strstr(r->text[0], "\"source\":\"iterator\""), "doctor has no row");
	drop(r);
	r = run("doctor -o json", with_ptrace);
	for each_record(v, r)
		if (is(v, "source", "iterator"))
			want(is(v, "status", "denied"), "doctor: %.*s", (int)(v.e - v.p), v.p);
	close_run(r);
	end();
	reap(root);
}

static void t_hidepid(void)
{
	pid_t pid = child(opens, (char *)devs[D_ONE].node, NULL);

	begin("/proc with hidepid");
	if (mount("proc", "/proc", "proc", MS_REMOUNT, "hidepid=2"))
		die("hidepid");
	compare_all(NULL, true);
	compare_all(nobody, false);
	compare_all(with_bpf, false);
	compare_all(with_all, true);
	if (mount("proc", "/proc", "proc", MS_REMOUNT, "hidepid=0"))
		die("hidepid");
	end();
	reap(pid);
}

/* ---- processes that come and go ---- */

/* Starts and ends processes, of which each second one is a client. */
static pid_t stirs(void)
{
	pid_t pid = fork(), one;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 0;; i++) {
		one = fork();
		if (!one) {
			if (i % 2)
				opens((char *)devs[D_TWO].node);
			_exit(0);
		}
		waitpid(one, NULL, 0);
	}
}

static void t_churn(void)
{
	pid_t stays = child(opens, (char *)devs[D_ONE].node, NULL), stirring = stirs();

	begin("processes that start and end meanwhile: other clients are found once each");
	for (int i = 0; i < LOOKS; i++) {
		struct run *r = run("clients -r -v -o json", NULL);
		int n = 0;

		ended(r, 0);
		want(uses_iterator(r), "%.200s", r->text[1]);
		for each_record(v, r)
			n += num(v, "pid") == stays && is(v, "dev", "card0");
		want(n == 1, "look %d: %d records of the client that stays", i, n);
		close_run(r);
		compare("clients -r -d card0", NULL, true);
	}
	end();
	reap(stirring);
	reap(stays);
}

/* ---- cost ---- */

/* The minimum for a monitor without the iterator: it reads each descriptor of each process. */
static int bare_scan(void)
{
	DIR *proc = opendir("/proc"), *fds;
	struct dirent *p, *f;
	struct stat st;
	char path[64];
	int found = 0;

	while (proc && (p = readdir(proc))) {
		snprintf(path, sizeof path, "/proc/%.20s/fd", p->d_name);
		if (!isdigit((unsigned char)p->d_name[0]) || !(fds = opendir(path)))
			continue;
		while ((f = readdir(fds)))
			found += fstatat(dirfd(fds), f->d_name, &st, 0) == 0 && S_ISCHR(st.st_mode) && st.st_rdev >> 8 == 226;
		closedir(fds);
	}
	closedir(proc);
	return found;
}

/* The CPU time of a child, in seconds. */
static double cpu_of(const char *args)
{
	struct rusage u, was;
	pid_t pid;

	getrusage(RUSAGE_CHILDREN, &was);
	if (args) {
		drop(run(args, NULL));
	} else {
		pid = fork();
		if (!pid)
			_exit(bare_scan() < 0);
		waitpid(pid, NULL, 0);
	}
	getrusage(RUSAGE_CHILDREN, &u);
	return u.ru_utime.tv_sec - was.ru_utime.tv_sec + u.ru_stime.tv_sec - was.ru_stime.tv_sec +
	       (u.ru_utime.tv_usec - was.ru_utime.tv_usec + u.ru_stime.tv_usec - was.ru_stime.tv_usec) / 1e6;
}

static void t_cost(void)
{
	static const char *const args[] = { "procs -r -o json", "procs -r -o json --proc /proc", NULL };
	double best[LEN(args)] = { 1e9, 1e9, 1e9 };

	begin("the cost of one reading of 505 processes with 12 600 descriptors");
	for (int turn = 0; turn < LOOKS; turn++)
		for (size_t i = 0; i < LEN(args); i++)
			best[i] = fmin(best[i], cpu_of(args[i]));
	note("CPU time: the iterator %.1f ms, a scan %.1f ms, a bare scan %.1f ms: %.2f of it", best[0] * 1e3, best[1] * 1e3,
	     best[2] * 1e3, best[0] / best[2]);
	end();
}

static int scenarios(void)
{
	int files = DESCRIPTORS;

	if (mount("cgroup", "/sys/fs/cgroup", "cgroup2", 0, NULL))
		die("cgroup2");
	load_devs();
	for (int i = 0; i < CROWD; i++)
		crowd[i] = child(opens_none, &files, NULL);
	t_plain();
	t_duplicates();
	t_threads();
	t_namespaces();
	t_rights();
	t_hidepid();
	t_churn();
	t_cost();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
