/* t_v23.c - unit test of perfmon/v23.c: messages, sampling formats by name, flags of event sets, vectors
 * that fail in the middle. SPDX-License-Identifier: MIT */
#include "../../perfmon/v23.c"

#include "unit.h"

#include "context.h"

static void t_message(void)
{
	static const struct msg m = { .type = 1, .pid = 2, .tid = 3, .set = 4, .cpu = 5, .ip = 6,
				      .pmds = { 7, 8 } };
	char b[MSG_SIZE];
	pfarg_ovfl_msg_t o;

	memset(b, 0xff, sizeof(b));
	check(msg_v23(&m, b) == sizeof(pfarg_msg_t), "the size of a message");
	memcpy(&o, b, sizeof(o));
	check(o.msg_type == 1 && o.msg_ovfl_pid == 2 && o.msg_ovfl_tid == 3 && o.msg_active_set == 4 &&
	      o.msg_ovfl_cpu == 5 && o.msg_ovfl_ip == 6 && o.msg_ovfl_pmds[0] == 7 &&
	      o.msg_ovfl_pmds[1] == 8, "the fields of a message");
}

static void t_context(void)
{
	static char name[] = "named", other[] = "other", arg[8];
	pfarg_ctx_t c = { .ctx_flags = 3 };

	check(pfm_create_context(NULL, name, arg, 8) == -1 && errno == EFAULT && entered == 0,
	      "create: no argument is EFAULT");
	check(pfm_create_context(&c, NULL, arg, 8) == 5 && created_flags == 3 && created_v23 &&
	      !created_fmt, "create: a context without a format");
	check(pfm_create_context(&c, name, arg, 8) == 5 && created_fmt == &a_format,
	      "create: a context with a format");
	check(pfm_create_context(&c, other, arg, 8) == -1 && errno == EINVAL,
	      "create: an unknown format is EINVAL");
	check(pfm_create_context(&c, name, NULL, 8) == -1 && errno == EFAULT,
	      "create: an error of the format is returned");
	check(entered == 4 && left == 4, "the lock is released each time");
}

static void t_sets(void)
{
	pfarg_setdesc_t d[3] = {
		{ .set_id = 1, .set_flags = 1u | PFM_REG_RETFL_EINVAL, .set_timeout = 1999 },
		{ .set_id = 9, .set_timeout = 3 }, { .set_id = 3 },
	};

	check(pfm_create_evtsets(5, d, 3) == -1 && errno == EINVAL && nmade == 1, "the second set fails");
	check(made[0].id == 1 && made[0].id_next == 0 && made[0].flags == 1 && made[0].timeout == 1999,
	      "the first set is made, without the flag of an old error");
	check(d[0].set_flags == 3 && d[0].set_timeout == 2000,
	      "the timeout of the first set is rounded");
	check(d[1].set_flags == PFM_REG_RETFL_EINVAL && d[1].set_timeout == 3,
	      "the second set is marked");
	check(d[2].set_flags == 0, "the third set is not tried");
	d[1] = (pfarg_setdesc_t){ .set_id = 8 };
	check(pfm_create_evtsets(5, d + 1, 1) == -1 && errno == EBUSY && d[1].set_flags == 0,
	      "another error marks no set");
	d[1] = (pfarg_setdesc_t){ .set_id = 1, .set_flags = PFM_SETFL_EXPL_NEXT };
	check(pfm_create_evtsets(5, d + 1, 1) == -1 && errno == EINVAL && nmade == 1,
	      "v2.3 has no explicit next set");
	check(pfm_create_evtsets(4, d, 1) == -1 && errno == EBADF, "no context is EBADF");
	check(pfm_create_evtsets(5, d, 0) == -1 && errno == EINVAL,
	      "a call without a set is EINVAL");
	d[0] = (pfarg_setdesc_t){ .set_id = 1 };
	d[1] = (pfarg_setdesc_t){ .set_id = 9 };
	check(pfm_delete_evtsets(5, d, 3) == -1 && errno == EINVAL && d[0].set_flags == 4 &&
	      d[1].set_flags == 4 && d[2].set_flags == 0, "sets are deleted until one fails");
}

static void t_infos(void)
{
	pfarg_setinfo_t i[2] = { { .set_id = 1 }, { .set_id = 9, .set_runs = 42 } };

	check(pfm_getinfo_evtsets(5, i, 2) == -1 && errno == EINVAL, "the second set fails");
	check(i[0].set_flags == 8 && i[0].set_runs == 3 && i[0].set_act_duration == 4 &&
	      i[0].set_ovfl_pmds[0] == 5 && i[0].set_timeout == 1500000001 &&
	      i[0].set_avail_pmcs[0] == 6 && i[0].set_avail_pmds[0] == 7,
	      "the information of the first set");
	check(i[1].set_flags == 8 && i[1].set_runs == 42,
	      "only the flags of the second set are written");
	check(entered == left, "the lock is released each time");
}

int main(void)
{
	t_message();
	t_context();
	t_sets();
	t_infos();
	return unit_end();
}
