/* bench.c - measures the cost of commands. SPDX-License-Identifier: MIT
 *
 *	bench N CPU COMMAND...
 *		runs the commands alternately, N times each, on CPU (-: any), and prints for
 *		each a line WALL Q1 Q3 CPU OWN in microseconds: median and quartiles of the time
 *		from start to exit, median of the CPU time with that of its children, and without
 *	bench rss COMMAND...	the peak resident size of each in KiB, without its children
 *	bench records FILE	the number of samples in a perf.data, and the number lost
 *	bench spin SECONDS	uses this amount of CPU time
 *	bench window SECONDS HZ COMMAND
 *		starts a busy process on the last CPU and COMMAND with its PID as the last argument on
 *		another one, and waits, at most 90 s, until that uses less than 5 % of a CPU for 3 s and a
 *		ring buffer of 512 KiB was filled once. Then prints COMMAND's CPU time in ns, divided by the
 *		samples of HZ of the CPU time of the busy process, both within SECONDS
 *	bench read FILE		reads a file in blocks of 1 MiB and ignores the data
 *	bench copy HZ BYTES FILE PID
 *		writes texts of BYTES to FILE until SIGINT, one for each sample of HZ that `sample` would take
 *		of PID, in writes of 256 KiB after each 256 KiB in the ring buffer, as `sample` does. It only
 *		copies the texts in memory: the minimum cost of a sampler that writes text
 *
 * A COMMAND is one argument, split at blanks. Its stdout is /dev/null, its stderr is ours. */
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { MAX_COMMANDS = 8, MAX_WORDS = 64, MAX_RUNS = 5000 };
enum { WALL, CPU, OWN, NFIGURES };

struct command {
	char *words[MAX_WORDS + 1];
	long us[NFIGURES][MAX_RUNS];
};
static struct command commands[MAX_COMMANDS];

__attribute__((noreturn)) static void die(const char *what)
{
	fprintf(stderr, "bench: %s\n", what);
	exit(1);
}

static int64_t now_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	return clock_gettime(clock, &t) ? -1 : t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static long time_us(struct timeval t)
{
	return t.tv_sec * 1000000L + t.tv_usec;
}

static void split(struct command *c, char *text)
{
	size_t n = 0;

	for (char *w = strtok(text, " "); w; w = strtok(NULL, " ")) {
		if (n == MAX_WORDS)
			die("too many words in a command");
		c->words[n++] = w;
	}
	if (!n)
		die("an empty command");
}

/* gpustat exits with status 3 if there is no device. */
static bool is_good(int status)
{
	return WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3);
}

static void run(struct command *c, int i)
{
	posix_spawn_file_actions_t to_null;
	clockid_t own;
	struct rusage used;
	siginfo_t ended;
	int64_t from, own_ns = -1;
	pid_t pid;
	int status;

	if (posix_spawn_file_actions_init(&to_null) ||
	    posix_spawn_file_actions_addopen(&to_null, 1, "/dev/null", O_WRONLY, 0))
		die("posix_spawn_file_actions");
	from = now_ns(CLOCK_MONOTONIC);
	if (posix_spawnp(&pid, c->words[0], &to_null, NULL, c->words, environ))
		die(c->words[0]);
	/* The CPU clock of a process, which counts all its threads and no children, can be read
	 * until waitpid(). */
	if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOWAIT))
		die("waitid");
	c->us[WALL][i] = (long)((now_ns(CLOCK_MONOTONIC) - from) / 1000);
	if (!clock_getcpuclockid(pid, &own))
		own_ns = now_ns(own);
	if (wait4(pid, &status, 0, &used) != pid)
		die("wait4");
	if (!is_good(status))
		die("a command failed");
	c->us[CPU][i] = time_us(used.ru_utime) + time_us(used.ru_stime);
	c->us[OWN][i] = own_ns < 0 ? -1 : (long)(own_ns / 1000);
	posix_spawn_file_actions_destroy(&to_null);
}

static int by_value(const void *a, const void *b)
{
	long x = *(const long *)a, y = *(const long *)b;

	return (x > y) - (x < y);
}

static void report(struct command *c, int n)
{
	for (int f = 0; f < NFIGURES; f++)
		qsort(c->us[f], (size_t)n, sizeof(long), by_value);
	printf("%ld %ld %ld %ld %ld\n", c->us[WALL][n / 2], c->us[WALL][n / 4], c->us[WALL][n - 1 - n / 4],
	       c->us[CPU][n / 2], c->us[OWN][n / 2]);
}

/* The number after a key of /proc/PID/NAME; 0: key not found. */
static long proc_kib(pid_t pid, const char *name, const char *key)
{
	char path[64], line[256];
	size_t n = strlen(key);
	long v = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/%s", (long)pid, name);
	f = fopen(path, "r");
	if (!f)
		return 0;
	while (!v && fgets(line, sizeof(line), f))
		if (!strncmp(line, key, n))
			v = strtol(line + n, NULL, 10);
	fclose(f);
	return v;
}

/* ru_maxrss is unsuitable: it is never less than the parent's size at the exec, and since Linux 6.2
 * it omits per-CPU counts not yet added up. A process stopped at its exit still has its memory. */
static long rss_kib(char **words)
{
	long held = 0, peak = 0;
	int status;
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		if (null >= 0 && dup2(null, 1) == 1 && !ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			execvp(words[0], words);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(uintptr_t)(PTRACE_O_TRACEEXIT | PTRACE_O_EXITKILL)))
		die("ptrace");
	while (WIFSTOPPED(status)) {
		int sig = WSTOPSIG(status);

		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXIT << 8)) {
			held = proc_kib(pid, "smaps_rollup", "Rss:");
			peak = proc_kib(pid, "status", "VmHWM:");
		}
		if (ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)(sig == SIGTRAP ? 0 : sig)) ||
		    waitpid(pid, &status, 0) != pid)
			die("ptrace");
	}
	if (!is_good(status))
		die("a command failed");
	return held > peak ? held : peak;
}

/* A perf.data file has a header, with the offset of the records, and records, each with a type and
 * a size. */
static int count_records(const char *name)
{
	enum { DATA_AT = 40, LOST = 2, SAMPLE = 9, LOST_SAMPLES = 13 };
	struct { uint32_t type; uint16_t misc, size; } r;
	uint64_t data[2], lost[2], samples = 0, missed = 0;
	FILE *f = fopen(name, "rb");

	if (!f || fseek(f, DATA_AT, SEEK_SET) || fread(data, sizeof(data), 1, f) != 1)
		die(name);
	for (uint64_t at = 0; at < data[1]; at += r.size) {
		if (fseek(f, (long)(data[0] + at), SEEK_SET) || fread(&r, sizeof(r), 1, f) != 1 || r.size < sizeof(r))
			die("a truncated perf.data");
		memset(lost, 0, sizeof(lost));
		if ((r.type == LOST || r.type == LOST_SAMPLES) && fread(lost, r.type == LOST ? 16 : 8, 1, f) != 1)
			die("a truncated perf.data");
		samples += r.type == SAMPLE;
		missed += lost[r.type == LOST];
	}
	fclose(f);
	printf("%llu %llu\n", (unsigned long long)samples, (unsigned long long)missed);
	return 0;
}

static int spin(const char *seconds)
{
	int64_t end = strtol(seconds, NULL, 10) * INT64_C(1000000000);

	while (now_ns(CLOCK_PROCESS_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 100000; i++)
			;
	return 0;
}

static void pin(const char *cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((size_t)strtol(cpu, NULL, 10), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("sched_setaffinity");
}

/* Starts a process on that CPU: a busy one, or the command. */
static pid_t start(const char *cpu, struct command *c)
{
	pid_t pid = fork();

	if (pid < 0)
		die("fork");
	if (pid)
		return pid;
	pin(cpu);
	if (!c)
		_exit(spin("1000000"));
	if (open("/dev/null", O_WRONLY) != 3 || dup2(3, 1) != 1)
		_exit(126);
	close(3);
	execvp(c->words[0], c->words);
	_exit(127);
}

/* The CPU time of both processes, in ns. */
static void cpu_times(const clockid_t *clocks, int64_t *ns)
{
	for (int i = 0; i < 2; i++)
		if ((ns[i] = now_ns(clocks[i])) < 0)
			die("a command ended within its window");
}

static int window(const char *seconds, const char *hz, struct command *c)
{
	/* number of samples of 40 bytes, a few more than fill the ring: the window begins when each
	 * page of the ring was touched once, because that costs more the first time */
	const double ring_samples = 14000;
	int64_t quiet_since = 0;
	char last[24], pid[24];
	clockid_t clocks[2];
	int64_t from[2], to[2] = { 0 };
	pid_t busy, sampler;
	int status;

	snprintf(last, sizeof(last), "%ld", sysconf(_SC_NPROCESSORS_ONLN) - 1);
	busy = start(last, NULL);
	snprintf(pid, sizeof(pid), "%ld", (long)busy);
	for (int i = 0; i < MAX_WORDS; i++)
		if (!c->words[i]) {
			c->words[i] = pid;
			break;
		}
	sampler = start("0", c);
	if (clock_getcpuclockid(busy, &clocks[0]) || clock_getcpuclockid(sampler, &clocks[1]))
		die("clock_getcpuclockid");
	/* on a busy machine it takes seconds to start */
	for (int i = 0, quiet = 0; quiet < 3 || (double)(to[0] - quiet_since) / 1e9 * strtod(hz, NULL) < ring_samples; i++) {
		cpu_times(clocks, from);
		sleep(1);
		cpu_times(clocks, to);
		quiet = to[1] - from[1] < 50000000 ? quiet + 1 : 0;
		quiet_since = quiet > 1 ? quiet_since : to[0];
		if (i == 90)
			die("no quiet window, or too few samples to fill a ring buffer");
	}
	memcpy(from, to, sizeof(from));
	sleep((unsigned)strtoul(seconds, NULL, 10));
	cpu_times(clocks, to);
	kill(sampler, SIGINT);
	kill(busy, SIGKILL);
	if (waitpid(sampler, &status, 0) != sampler || waitpid(busy, NULL, 0) != busy)
		die("waitpid");
	printf("%.1f\n", (double)(to[1] - from[1]) / ((double)(to[0] - from[0]) / 1e9 * strtod(hz, NULL)));
	return 0;
}

static int copy_texts(const char *hz, const char *bytes, const char *name)
{
	enum { WRITE = 256 << 10, RING_HALF = 256 << 10, SAMPLE = 48, TEXTS = 20, MAX_TEXT = 1 << 12 };
	static char texts[TEXTS][MAX_TEXT], b[WRITE];
	const size_t n = strtoul(bytes, NULL, 10), samples = RING_HALF / SAMPLE;
	const useconds_t pause = (useconds_t)((double)samples / strtod(hz, NULL) * 1e6);
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	if (fd < 0 || !n || n > MAX_TEXT)
		die(name);
	memset(texts, 'x', sizeof(texts));
	for (;;) {
		size_t used = 0;

		usleep(pause);
		for (size_t i = 0; i < samples; i++) {
			if (used + n > sizeof(b)) {
				if (write(fd, b, used) < 0)
					die("write");
				used = 0;
			}
			memcpy(b + used, texts[i % TEXTS], n);
			used += n;
		}
		if (write(fd, b, used) < 0)
			die("write");
	}
}

static int read_all(const char *name)
{
	static char b[1 << 20];
	int fd = open(name, O_RDONLY);
	ssize_t n;

	if (fd < 0)
		die(name);
	while ((n = read(fd, b, sizeof(b))) > 0)
		;
	close(fd);
	return n < 0;
}

int main(int argc, char **argv)
{
	bool rss = argc > 2 && !strcmp(argv[1], "rss");
	int first = rss ? 2 : 3, n = argc - first, runs;

	if (argc == 3 && !strcmp(argv[1], "spin"))
		return spin(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "records"))
		return count_records(argv[2]);
	if (argc == 3 && !strcmp(argv[1], "read"))
		return read_all(argv[2]);
	if (argc == 6 && !strcmp(argv[1], "copy"))
		return copy_texts(argv[2], argv[3], argv[4]);
	if (argc == 5 && !strcmp(argv[1], "window")) {
		split(&commands[0], argv[4]);
		return window(argv[2], argv[3], &commands[0]);
	}
	runs = rss ? 1 : argc > 3 ? (int)strtol(argv[1], NULL, 10) : 0;
	if (runs < 1 || runs > MAX_RUNS || n > MAX_COMMANDS)
		die("usage: bench N CPU|- COMMAND... | bench rss COMMAND... | bench records|spin|read WHAT | bench copy HZ BYTES FILE PID | bench window SECONDS HZ COMMAND");
	for (int i = 0; i < n; i++)
		split(&commands[i], argv[first + i]);
	for (int i = 0; rss && i < n; i++)
		printf("%ld\n", rss_kib(commands[i].words));
	if (rss)
		return 0;
	if (strcmp(argv[2], "-"))
		pin(argv[2]);
	for (int i = 0; i < runs; i++)
		for (int j = 0; j < n; j++)
			run(&commands[j], i);
	for (int i = 0; i < n; i++)
		report(&commands[i], runs);
	return 0;
}
