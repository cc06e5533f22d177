/*
 * small: the first program of a machine with as little memory as its kernel can boot with, and no
 * swap. Each command of gpustat runs and prints a real result, in each overcommit mode of the
 * kernel; in the strict mode three copies run at once.
 */
#include "commands.h"

/* A kernel without sysctls has only the first mode. */
static void t_mode(char mode)
{
	char name[256];
	int copies;

	if (put("/proc/sys/vm/overcommit_memory", (char[]){ mode, 0 }) && mode != '0')
		return;
	printf("# overcommit mode %c: %llu KiB of %llu are committed\n", mode, number_in("/proc/meminfo", "Committed_AS:"),
	       number_in("/proc/meminfo", "CommitLimit:"));
	for (int i = 0; i < nrows; i++) {
		/* a process forked from it is charged the same again */
		if (mode == '2' && rows[i].large)
			continue;
		/* stat -r 3 forks three by itself */
		copies = mode == '2' && strncmp(rows[i].args, "stat -r 3 ", 10) ? COPIES : 1;
		snprintf(name, sizeof name, "overcommit mode %c, %d at once: gpustat %s", mode, copies, rows[i].args);
		begin(name);
		try_row(&rows[i], copies, NULL);
		end();
	}
}

static void t_no_device(void)
{
	static const char *const commands[] = { "-w 0.1", "clients -w 0.1", "list", "munin" };

	begin("without a GPU, each command that requires one reports that");
	for (size_t i = 0; i < LEN(commands); i++) {
		struct run *r = run(commands[i], NULL);

		want(r->status == 3 && strstr(r->text[1], "no GPU was found; looked in /sys/class/drm"), "gpustat %s: exit %d: %s", r->args, r->status,
		     r->text[1]);
		close_run(r);
	}
	end();
}

static void t_killed(void)
{
	begin("the kernel's OOM killer killed no process; the machine has no swap");
	want(!number_in("/proc/meminfo", "SwapTotal:"), "there is swap");
	want(!number_in("/proc/vmstat", "oom_kill "), "%llu processes were killed", number_in("/proc/vmstat", "oom_kill "));
	end();
}

static int scenarios(void)
{
	mkdir("/dev/pts", 0755);
	mount("devpts", "/dev/pts", "devpts", 0, NULL);
	load_rows();
	printf("# %llu KiB of memory, of which %llu are available\n", number_in("/proc/meminfo", "MemTotal:"), number_in("/proc/meminfo", "MemAvailable:"));
	make_inputs();
	for (char mode = '0'; mode <= '2'; mode++)
		t_mode(mode);
	t_no_device();
	t_killed();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
