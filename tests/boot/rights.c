/*
 * rights: what an ordinary user sees of root's and of another user's processes, for each variant of
 * `make setcap` and each value of kernel.perf_event_paranoid and kernel.kptr_restrict. Every output
 * is searched for addresses of the kernel, and for the address, the path and the name of a program
 * that another user runs. Prints the matrix of SECURITY.md's table.
 */
static int worker(const char *word);
#define WORKER(word) worker(word)
#include "play.h"

#include <sys/xattr.h>

static const struct dev devs[DEVS] = { { "i915", "card0", "i915", "/dev/dri/renderD128" } };

enum { OTHER = 1001, CAP_SYS_PTRACE = 19, CAP_PERFMON = 38 };

#define SPIN_AT 0x5a5a5a5a5000ull		/* the address at which the other user's program spins */
#define SECRET "/home/other/hidden-prog"	/* its path, in a folder of mode 0700 */
#define DATA "/tmp/user/perf.data"

/* ---- the other user's program ---- */

static int spin(void)
{
#ifdef __aarch64__
	static const unsigned char loop[] = { 0, 0, 0, 0x14 };
#else
	static const unsigned char loop[] = { 0xeb, 0xfe };
#endif
	void *at = mmap((void *)SPIN_AT, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);

	if (at == MAP_FAILED)
		return 1;
	memcpy(at, loop, sizeof loop);
	__builtin___clear_cache(at, (char *)at + sizeof loop);
	if (mprotect(at, 4096, PROT_READ | PROT_EXEC))
		return 1;
	((void (*)(void))at)();
	return 0;
}

static int worker(const char *word)
{
	return strcmp(word, "spin") == 0 ? spin() : 126;
}

static void become(int id)
{
	if (setgroups(0, NULL) || setresgid(id, id, id) || setresuid(id, id, id))
		_exit(126);
}

static void copy(const char *from, const char *to, int mode)
{
	static char b[1 << 20];
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	ssize_t n;

	if (in < 0 || out < 0)
		die(to);
	while ((n = read(in, b, sizeof b)) > 0)
		if (write(out, b, n) != n)
			die(to);
	close(in);
	close(out);
}

/* Starts the other user's program, which also holds a client of the GPU. */
static pid_t other_start(void)
{
	pid_t pid;

	if (mkdir("/home", 0755) || mkdir("/home/other", 0700) || mkdir("/tmp/user", 0755) ||
	    chown("/home/other", OTHER, OTHER) || chown("/tmp/user", NOBODY, NOBODY))
		die("folders");
	copy("/init", SECRET, 0755);
	chown(SECRET, OTHER, OTHER);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (open(devs[0].node, O_RDWR) < 0)
			_exit(1);
		become(OTHER);
		execl(SECRET, "hidden-prog", "spin", NULL);
		_exit(127);
	}
	return pid;
}

/* ---- the variants ---- */

static const struct variant {
	const char *name;
	bool ptrace, perfmon;
} variants[] = {
	{ "no capability", false, false }, { "make setcap", true, false }, { "PERFMON=1", true, true },
};

/* Sets the capabilities of the file, as setcap(8) does: a vfs_cap_data of revision 2, effective. */
static void variant_set(const struct variant *v)
{
	struct { unsigned magic; struct { unsigned permitted, inheritable; } data[2]; } caps = { 0x02000001, { { 0, 0 }, { 0, 0 } } };

	removexattr("/gpustat", "security.capability");
	if (v->ptrace)
		caps.data[0].permitted |= 1u << CAP_SYS_PTRACE;
	if (v->perfmon)
		caps.data[1].permitted |= 1u << (CAP_PERFMON - 32);
	if (v->ptrace && setxattr("/gpustat", "security.capability", &caps, sizeof caps, 0))
		die("security.capability");
}

/* ---- what an output shows ---- */

struct seen {
	bool others, kernel, address, path, symbols; /* samples of others; addresses of the kernel and of others; ... */
};

static bool contains(const char *p, size_t n, const char *what)
{
	return memmem(p, n, what, strlen(what)) != NULL;
}

/* Searches text, and bytes: addresses in perf.data are 8 bytes at any multiple of 8. */
static void look_at(const char *p, size_t n, struct seen *s)
{
	s->others |= contains(p, n, "hidden-prog");
	s->path |= contains(p, n, SECRET);
	s->address |= contains(p, n, "0x5a5a5a5a5");
	s->symbols |= contains(p, n, "do_syscall_64") || contains(p, n, "do_idle") || contains(p, n, "asm_sysvec");
	for (const char *at = p; (at = memmem(at, n - (at - p), "0xffff", 6)); at++)
		s->kernel |= strspn(at + 2, "0123456789abcdef") == 16 && strncmp(at, "0xfffffffffffff", 15) != 0;
}

static void look_at_data(struct seen *s)
{
	static char b[4 << 20];
	int fd = open(DATA, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, b, sizeof b);

	close(fd);
	if (n <= 0)
		return;
	s->others |= contains(b, n, "hidden-prog");
	s->path |= contains(b, n, SECRET);
	for (ssize_t i = 0; i + 8 <= n; i += 8) {
		unsigned long long v;

		memcpy(&v, b + i, 8);
		s->address |= v >> 12 == SPIN_AT >> 12;
		/* below PERF_CONTEXT_MAX, which marks the parts of a call chain */
		s->kernel |= v >= 0xffff800000000000ull && v < 0xfffffffffffff000ull;
	}
}

/* ---- one cell of the matrix ---- */

static void user(void)
{
	if (chdir("/tmp/user"))
		_exit(126);
	nobody();
}

static void cell(const struct variant *v, int level, int kptr)
{
	static const char *const samples[] = {
		"sample -a -e cpu-clock -F 1000 -g --timeout 60 -o json", "sample -a -e cpu-clock -F 1000 --timeout 60 -o csv",
		"sample -a -e cpu-clock -F 1000 -g --timeout 60 -o folded", "sample -a -e cpu-clock -F 1000 --timeout 60 --summary",
		"sample -a -e cpu-clock -F 1000 -g --timeout 60 -o perfdata -O " DATA,
	};
	static const char *const looks[] = { "procs -r -o json", "clients -r -o csv", "cgroups -r -o json", "-r -o prom" };
	char number[8], name[96];
	bool counts = level <= 0 || (v->perfmon && level < 3), other_client;
	struct seen s = { 0 }, gpu = { 0 };

	snprintf(number, sizeof number, "%d", level);
	must_put("/proc/sys/kernel/perf_event_paranoid", number);
	snprintf(number, sizeof number, "%d", kptr);
	must_put("/proc/sys/kernel/kptr_restrict", number);
	snprintf(name, sizeof name, "%s, perf_event_paranoid %d, kptr_restrict %d", v->name, level, kptr);
	begin(name);
	for (size_t i = 0; i < LEN(samples); i++) {
		struct run *r = run(samples[i], user);

		want((r->status == 0) == counts, "gpustat %s: exit %d: %.200s", samples[i], r->status, r->text[1] ? r->text[1] : "");
		look_at(r->text[0] ? r->text[0] : "", r->n[0], &s);
		look_at(r->text[1] ? r->text[1] : "", r->n[1], &s);
		drop(r);
	}
	look_at_data(&s);
	unlink(DATA);
	for (size_t i = 0; i < LEN(looks); i++) {
		struct run *r = run(looks[i], user);

		look_at(r->text[0] ? r->text[0] : "", r->n[0], &gpu);
		drop(r);
	}
	other_client = gpu.others;
	want(other_client == v->ptrace, "the client of the other user: %d", other_client);
	want(s.others == counts, "samples of the other user: %d", s.others);
	want(!s.kernel || level <= 1, "addresses of the kernel");
	want(!s.address || level <= 0, "addresses of the other user's program");
	want(s.address || level > 0, "no addresses of the other user's program");
	want(!s.path || level <= 0, "the path of the other user's program");
	want(!s.symbols || (kptr == 0 && level <= 1), "symbols of the kernel");
	want(!gpu.kernel && !gpu.address && !gpu.path, "addresses or paths beside GPU clients");
	end();
	printf("# %-14s paranoid %2d kptr %d: GPU clients of others %s, samples of others %s, kernel addresses %s, kernel symbols %s, "
	       "others' addresses %s, others' paths %s\n", v->name, level, kptr, other_client ? "yes" : "no", s.others ? "yes" : "no",
	       s.kernel ? "yes" : "no", s.symbols ? "yes" : "no", s.address ? "yes" : "no", s.path ? "yes" : "no");
	fflush(stdout);
}

static int scenarios(void)
{
	pid_t other;

	load_devs();
	if (mkdir("/tmp", 0755) && errno != EEXIST)
		die("/tmp");
	if (mount("tmp", "/tmp", "tmpfs", 0, NULL))
		die("tmpfs");
	copy("/gpustat", "/tmp/gpustat", 0750);
	if (chown("/tmp/gpustat", 0, NOBODY) || mount("/tmp/gpustat", "/gpustat", NULL, MS_BIND, NULL))
		die("bind");
	other = other_start();
	for (size_t i = 0; i < LEN(variants); i++) {
		variant_set(&variants[i]);
		for (int level = -1; level <= 3; level++)
			for (int kptr = 0; kptr <= 2; kptr++)
				cell(&variants[i], level, kptr);
	}
	reap(other);
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
