/* doctor.c - gpustat doctor: which sources can be read here, and the commands that fix the others.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/catalog/catalog.h"
#include "sys.h"

/* Prints the rows of doctor as one sample. For a table, the widths of all rows are measured first.
 * In the format line, a column becomes wider only when a longer cell is printed: one long detail
 * does not shift the remedies of all rows. */
static bool show_rows(size_t n)
{
	struct recopts ro = { .dt_us = -1, .time_us = -1 };

	bool first = out_measures(&opt.out) && !format_has_one_line(opt.out.fmt);

	for (size_t i = 0; first && i < n; i++) {
		record_make(&rec, &probed_row(i)->e, &ro);
		out_measure(&opt.out, &rec);
	}
	for (size_t i = 0; i < n; i++)
		if (!show_record(&probed_row(i)->e, &ro))
			return false;
	return finish_sample() == EX_OK;
}

int cmd_doctor(void)
{
	char program[512];
	bool good;
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
	good = show_rows(probe_all(program));
	return say_full() || !good ? EX_FAIL : EX_OK;
}
