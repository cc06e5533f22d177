/*
 * init of the emulated machine: runs /probe and then every line of /plan, and writes their output
 * to the second serial port, separate from kernel messages. judge.py wrote the plan and judges the
 * output.
 *
 * A line of the plan is NAME<TAB>UID<TAB>PARANOID<TAB>BACKGROUND<TAB>COMMAND: with the user, and
 * the value of kernel.perf_event_paranoid, for the commands. The two commands are split at blanks;
 * "-" means none. The background command starts first, in the cgroup /g, and is killed at the end;
 * @ in COMMAND is replaced by its pid. Output:
 *
 *	@run NAME
 *	1 a line of stdout
 *	2 a line of stderr
 *	@end NAME STATUS SECONDS	exit status, or 128 + signal; duration
 *	@off				the last line
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORDS = 256, MAX_LINE = 16384, RUN_SECONDS = 20 /* of the machine's time; no run takes more than 3 */ };

static FILE *port;
static pid_t running;

static void late(int sig)
{
	(void)sig;
	kill(-running, SIGKILL);
}

static void put_file(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fprintf(port, "# init: %s: %s\n", name, strerror(errno));
	close(fd);
}

/* spawn: runs the words of line in a process group of its own. */
static pid_t spawn(const char *line, uid_t uid, pid_t at, const char *group)
{
	static char copy[MAX_LINE];
	char *argv[MAX_WORDS + 1], *save = NULL, pid[16];
	int n = 0;
	pid_t child = fork();

	if (child)
		return child;
	setpgid(0, 0);
	freopen("/dev/null", "r", stdin);
	freopen("/out", "w", stdout);
	freopen("/err", "w", stderr);
	if (group)
		put_file(group, "0");
	snprintf(pid, sizeof(pid), "%d", (int)at);
	snprintf(copy, sizeof(copy), "%s", line);
	for (char *w = strtok_r(copy, " ", &save); w && n < MAX_WORDS; w = strtok_r(NULL, " ", &save))
		argv[n++] = strcmp(w, "@") ? w : pid;
	argv[n] = NULL;
	if (uid && (setgid(uid) || setuid(uid)))
		_exit(126);
	execv(argv[0], argv);
	fprintf(stderr, "init: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static void copy_lines(int tag, const char *name)
{
	static char line[1 << 16];
	FILE *f = fopen(name, "r");

	while (f && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		fprintf(port, "%d %s\n", tag, line);
	}
	if (f)
		fclose(f);
}

static void run(const char *name, uid_t uid, const char *background, const char *command)
{
	pid_t other = strcmp(background, "-") ? spawn(background, 0, 0, "/sys/fs/cgroup/g/cgroup.procs") : 0;
	struct timespec began, ended;
	int status = 0;

	if (other)
		/* until it has executed its program */
		nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
	fprintf(port, "@run %s\n", name);
	fflush(port);
	clock_gettime(CLOCK_MONOTONIC, &began);
	running = spawn(command, uid, other, NULL);
	alarm(RUN_SECONDS);
	while (waitpid(running, &status, 0) < 0 && errno == EINTR)
		;
	alarm(0);
	clock_gettime(CLOCK_MONOTONIC, &ended);
	kill(-running, SIGKILL);	/* remaining processes of the run */
	if (other) {
		kill(-other, SIGKILL);
		waitpid(other, NULL, 0);
	}
	copy_lines(1, "/out");
	copy_lines(2, "/err");
	fprintf(port, "@end %s %d %.6f\n", name, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
		(double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9);
	fflush(port);
}

static void open_port(void)
{
	struct termios t;
	int fd;

	mkdir("/dev", 0755);
	mount("dev", "/dev", "devtmpfs", 0, NULL);
	fd = open("/dev/ttyS0", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	if (fd < 0 || !(port = fdopen(fd, "w"))) {
		printf("init: no second serial port: %s\n", strerror(errno));
		reboot(RB_POWER_OFF);
	}
	tcgetattr(fd, &t);
	cfmakeraw(&t);
	tcsetattr(fd, TCSANOW, &t);
}

int main(void)
{
	static char line[MAX_LINE];
	FILE *plan;

	freopen("/dev/console", "w", stdout);
	open_port();
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sys", "/sys", "sysfs", 0, NULL);
	mount("cgroup", "/sys/fs/cgroup", "cgroup2", 0, NULL);
	/* The root enables no controller for its children until one is named here; this also
	 * applies to perf_event, which has no files. */
	put_file("/sys/fs/cgroup/cgroup.subtree_control", "+pids");
	mkdir("/sys/fs/cgroup/g", 0755);
	/* the second CPU is needed for one test only */
	put_file("/sys/devices/system/cpu/cpu1/online", "0");
	signal(SIGALRM, late);
	run("probe", 0, "-", "/probe");
	plan = fopen("/plan", "re");
	while (plan && fgets(line, sizeof(line), plan)) {
		char *name, *uid, *paranoid, *background, *save = NULL;

		line[strcspn(line, "\n")] = '\0';
		name = strtok_r(line, "\t", &save);
		uid = strtok_r(NULL, "\t", &save);
		paranoid = strtok_r(NULL, "\t", &save);
		background = strtok_r(NULL, "\t", &save);
		if (!background)
			continue;
		put_file("/proc/sys/kernel/perf_event_paranoid", paranoid);
		run(name, (uid_t)atoi(uid), background, save);
	}
	fprintf(port, "@off\n");
	fflush(port);
	tcdrain(fileno(port));
	reboot(RB_POWER_OFF);
	return 1;
}
