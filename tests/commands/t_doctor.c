/* t_doctor.c - unit test of commands/doctor.c: the path of the program, the order of its steps,
 * errors of the output. The sources of values are simulated. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static long link_n;
static long fake_readlink(char *b, size_t cap)
{
	for (long i = 0; i < link_n && i < (long)cap; i++)
		b[i] = 'p';
	return link_n > (long)cap ? (long)cap : link_n;
}
#define sys_readlinkat(dir, path, b, cap) fake_readlink(b, cap)
#define replay replay_command /* unit.h has functions of these names, too */
#define show doctor_show
#include "../../commands/doctor.c"
#undef replay
#undef show

struct opts opt;
struct record rec;

static char steps[64], path[1024];
static u32 shown, measured, fails_at;
static bool with_roots, full, end_fails;

static void step(const char *name) { strncat(steps, name, sizeof(steps) - strlen(steps) - 1); }

bool open_roots(bool needed) { return !needed && with_roots; }
void probe_self(const char *program) { str_copy(path, sizeof(path), str_z(program)); step("self "); }
void confine(i32 child) { step(child ? "child " : "confine "); }
void sources_start(void) { step("start "); }
bool say_full(void) { return full; }
int finish_sample(void) { step("end"); return end_fails ? EX_FAIL : EX_OK; }

bool show_record(const struct entity *e, const struct recopts *ro)
{
	measured += opt.out.ncells > 0;
	return e->kind == K_SOURCE && ro->dt_us < 0 && ro->time_us < 0 && ++shown != fails_at;
}

const struct probed *probed_row(size_t i)
{
	static const struct probed rows[3] = { { .e = { .kind = K_SOURCE } },
		{ .e = { .kind = K_SOURCE } }, { .e = { .kind = K_SOURCE } } };

	return &rows[i];
}

size_t probe_all(const char *program)
{
	step(strcmp(program, path) == 0 ? "all " : "other ");
	return 3;
}

static int run(long n, u32 bad)
{
	link_n = n;
	fails_at = bad;
	shown = measured = 0;
	steps[0] = path[0] = '\0';
	with_roots = true;
	return cmd_doctor();
}

int main(void)
{
	opt.out.fmt = format_find((struct str)STR("line"));
	check(run(5, 0) == EX_OK && strcmp(path, "ppppp") == 0 && shown == 3,
	      "program: its path is shown");
	check_str(str_z(steps), "self confine start all end",
		  "steps: sources that need privileges are probed before confine()");
	check(opt.out.once, "steps: one sample");
	check(run(-ENOENT, 0) == EX_OK && strcmp(path, "gpustat") == 0,
	      "program: its name is shown without /proc");
	check(run(0, 0) == EX_OK && strcmp(path, "gpustat") == 0,
	      "program: its name is shown if the link is empty");
	check(run(5000, 0) == EX_OK && strlen(path) == 511,
	      "program: a long path is cut at its beginning");
	check(run(5, 2) == EX_FAIL && shown == 2,
	      "output: after an error no other record is shown");
	check(measured == 0, "output: line shows each row before the next one is measured");
	opt.out = (struct out){ .fmt = format_find((struct str)STR("table")), .kind = K_SOURCE };
	check(run(5, 0) == EX_OK && measured == 3 && shown == 3,
	      "output: table shows the first row after all rows were measured");
	end_fails = true;
	check(run(5, 0) == EX_FAIL, "output: an error at the end is an exit code");
	end_fails = false;
	full = true;
	check(run(5, 0) == EX_FAIL, "output: rows that exceed the table");
	full = false;
	link_n = 5;
	with_roots = false;
	steps[0] = '\0';
	check(cmd_doctor() == EX_FAIL && !steps[0], "without /proc and /sys, nothing is probed");
	return unit_end();
}
