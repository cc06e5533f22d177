/* doctor.c - gpustat doctor: which sources can be read here, and the commands that fix the others.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sys.h"

static bool failed;

static void show(const struct probed *p)
{
	struct recopts ro = { .dt_us = -1, .time_us = -1 };

	failed |= !failed && !show_record(&p->e, &ro);
}

int cmd_doctor(void)
{
	char program[512];
	long n = sys_readlinkat(AT_FDCWD, "/proc/self/exe", program, sizeof(program) - 1);

	if (!open_roots(false))
		return EX_FAIL;
	if (n <= 0)
		str_copy(program, sizeof(program), str_z("gpustat"));
	else
		program[n] = '\0';
	opt.out.once = true;
	probe_self(program);
	confine(0);
	sources_start();
	probe_all(program, show);
	failed |= finish_sample() != EX_OK;
	return say_full() || failed ? EX_FAIL : EX_OK;
}
