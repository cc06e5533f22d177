/*
 * work: the workload that the emulated machine measures. It has no libc, so a run executes only a
 * few dozen instructions beside the workload, the same in every run: the loop has two instructions.
 *
 *	work loop N	N iterations of a loop of two instructions in user space
 *	work fork K N	K children, one after the other, each with N iterations
 *	work fault P	writes to each of P new pages
 *	work call N	N system calls
 *	work sleep MS	sleeps
 *	work cpu N	takes the second processor offline (0) or online (1)
 *	work offline MS	sleeps, takes it offline, sleeps again
 *	work exit S	exits with status S
 */
#include <asm/unistd.h>

static long call(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d, x4 __asm__("x4") = e, x5 __asm__("x5") = f;

	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}

static void leave(long status, long unused)
{
	(void)unused;
	for (;;)
		call(__NR_exit_group, status, 0, 0, 0, 0, 0);
}

__attribute__((noinline)) static void loop(long n, long unused)
{
	(void)unused;
	if (n > 0)
		__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
}

static void children(long k, long n)
{
	while (k--) {
		long pid = call(__NR_clone, 17 /* SIGCHLD */, 0, 0, 0, 0, 0);

		if (!pid) {
			loop(n, 0);
			leave(0, 0);
		}
		call(__NR_wait4, pid, 0, 0, 0, 0, 0);
	}
}

static void fault(long pages, long unused)
{
	/* read and write; private, anonymous */
	volatile char *p = (char *)call(__NR_mmap, 0, pages * 4096, 3, 0x22, -1, 0);

	(void)unused;
	for (long i = 0; i < pages; i++)
		p[i * 4096] = 1;
}

static void calls(long n, long unused)
{
	(void)unused;
	while (n--)
		call(__NR_getppid, 0, 0, 0, 0, 0, 0);
}

static void nap(long ms, long unused)
{
	long ts[2] = { ms / 1000, ms % 1000 * 1000000 };

	(void)unused;
	call(__NR_nanosleep, (long)ts, 0, 0, 0, 0, 0);
}

static void cpu(long on, long unused)
{
	long fd = call(__NR_openat, -100 /* AT_FDCWD */, (long)"/sys/devices/system/cpu/cpu1/online", 1, 0, 0, 0);

	(void)unused;
	if (call(__NR_write, fd, (long)(on ? "1" : "0"), 1, 0, 0, 0) != 1)
		leave(3, 0);
}

static void offline(long ms, long unused)
{
	nap(ms, unused);
	cpu(0, 0);
	nap(ms, unused);
}

static const struct {
	const char *name;
	void (*run)(long a, long b);
} works[] = {
	{ "loop", loop }, { "fork", children }, { "fault", fault }, { "call", calls }, { "sleep", nap },
	{ "cpu", cpu }, { "offline", offline }, { "exit", leave },
};

static long number(const char *s)
{
	long n = 0;

	while (*s)
		n = 10 * n + *s++ - '0';
	return n;
}

static int same(const char *a, const char *b)
{
	for (; *a && *a == *b; a++)
		b++;
	return *a == *b;
}

__attribute__((used)) void begin(long *sp)
{
	char **v = (char **)(sp + 1);
	long a = sp[0] > 2 ? number(v[2]) : 0, b = sp[0] > 3 ? number(v[3]) : 0;

	for (unsigned i = 0; sp[0] > 1 && i < sizeof(works) / sizeof(works[0]); i++)
		if (same(v[1], works[i].name)) {
			works[i].run(a, b);
			leave(0, 0);
		}
	leave(2, 0);
}

__asm__(".globl _start\n_start:\n\tmov x0, sp\n\tb begin\n");
