/* oametrics_eval.c - sources/oa/oametrics.c: evaluation of compiled equations, for any report.
 * The program is as oaprog_compile() leaves it: its code and that of its counters lie in their
 * tables. The code itself is arbitrary: any instruction at any operand position.
 * eva: -eva-precision 1 -eva-plevel 256 -warn-special-float none -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "text.h"
#include "../../sources/oa/oametrics.c"
#include "../../sources/oa/oabasic.c"

static struct oaprog prog;

static void any_code(struct oacode *c)
{
	c->to = (u16)any_to(MAX_OA_CODE);
	c->from = (u16)any_to(c->to);
}

static void any_program(void)
{
	any_bytes(prog.code, sizeof(prog.code));
	//@ loop unroll 256;
	for (size_t i = 0; i < MAX_OA_COUNTERS; i++) {
		struct oacounter *c = &prog.counters[i];

		c->wanted = any_bool();
		c->has_max = any_bool();
		c->evaluated = any_bool();
		any_code(&c->code);
		any_code(&c->max);
		//@ loop unroll 4;
		for (size_t w = 0; w < LEN(c->needs); w++)
			c->needs[w] = any();
	}
	prog.n = (u32)any_to(MAX_OA_COUNTERS);
}

int main(void)
{
	//@ widen_hints global:"all", 255, 256, 16383, 16384;
	static bool wanted[MAX_OA_COUNTERS];
	u64 sum[OA_SLOTS];
	union oaval v[MAX_OA_COUNTERS], max;

	any_program();
	//@ loop unroll 256;
	for (size_t i = 0; i < LEN(wanted); i++)
		wanted[i] = any_bool();
	any_bytes(sum, sizeof(sum));
	any_bytes(v, sizeof(v));
	oaprog_select(&prog, any_bool() ? wanted : NULL);
	oaprog_eval(&prog, sum, v);
	if (prog.n)
		oaprog_max(&prog, any_to(prog.n - 1), sum, v, &max);
	return 0;
}
