/* t_v22.c - unit test of perfmon/v22.c: messages, sampling formats by number, times and flags of event
 * sets, vectors that fail in the middle. SPDX-License-Identifier: MIT */
#include "../../perfmon/v22.c"

#include "unit.h"

#include "context.h"

static void t_message(void)
{
	static const struct msg m = { .type = 1, .pid = 2, .tid = 3, .set = 4, .cpu = 5, .ip = 6,
				      .pmds = { 7, 8 } };
	char b[MSG_SIZE];
	pfm_ovfl_msg_t o;

	memset(b, 0xff, sizeof(b));
	check(msg_v22(&m, b) == sizeof(pfm_msg_t), "the size of a message");
	memcpy(&o, b, sizeof(o));
	check(o.msg_type == 1 && o.msg_ovfl_pid == 2 && o.msg_ovfl_tid == 3 && o.msg_active_set == 4 &&
	      o.msg_ovfl_cpu == 5 && o.msg_ovfl_ip == 6 && o.msg_ovfl_pmds[0] == 7 &&
	      o.msg_ovfl_pmds[1] == 8, "the fields of a message");
	check(sizeof(pfm_msg_t) <= sizeof(o) || b[sizeof(pfm_msg_t) - 1] == 0,
	      "the rest of a message is zero");
}

static void t_context(void)
{
	pfarg_ctx_t c = { .ctx_flags = 3 };
	char arg[8] = "";

	check(pfm_create_context(NULL, arg, 8) == -1 && errno == EFAULT && entered == 0,
	      "create: no argument is EFAULT");
	check(pfm_create_context(&c, arg, 8) == 5 && c.ctx_fd == 5 && c.ctx_smpl_buf_size == 16 &&
	      created_flags == 3 && !created_v23 && !created_fmt,
	      "create: a context without a format");
	c.ctx_smpl_buf_id[15] = 1;
	check(pfm_create_context(&c, arg, 8) == 5 && created_fmt == &a_format,
	      "create: a context with a format");
	c.ctx_smpl_buf_id[15] = 2;
	check(pfm_create_context(&c, arg, 8) == -1 && errno == EINVAL,
	      "create: an unknown format is EINVAL");
	c.ctx_smpl_buf_id[15] = 1;
	c.ctx_fd = 99;
	check(pfm_create_context(&c, NULL, 8) == -1 && errno == EFAULT && c.ctx_fd == 99,
	      "create: an error does not change the argument");
	check(entered == 4 && left == 4, "the lock is released each time");
}

static void t_times(void)
{
	static const struct {
		struct timespec t;
		bool is;
		u64 ns;
	} rows[] = {
		{ { 0, 0 }, true, 0 }, { { 1, 5 }, true, 1000000005 }, { { 0, 999999999 }, true, 999999999 },
		{ { 0, 1000000000 }, false, 0 }, { { 0, -1 }, false, 0 }, { { -1, 0 }, false, 0 },
		{ { INT32_MAX, 0 }, false, 0 }, { { INT32_MAX - 1, 0 }, true, UINT64_C(2147483646000000000) },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 ns = 0;
		bool is = timespec_ns(&rows[i].t, &ns);
		struct timespec back = ns_timespec(ns);

		check(is == rows[i].is && (!is || ns == rows[i].ns),
		      "time %zu is converted to ns", i);
		check(!is || (back.tv_sec == rows[i].t.tv_sec && back.tv_nsec == rows[i].t.tv_nsec),
		      "a valid time is converted back from ns");
	}
}

static void t_sets(void)
{
	pfarg_setdesc_t d[3] = {
		{ .set_id = 1, .set_id_next = 2, .set_flags = 1u | PFM_REG_RETFL_EINVAL,
		  .set_timeout = { 1, 999999999 }, .set_mmap_offset = 5 },
		{ .set_id = 9, .set_timeout = { 3, 0 } }, { .set_id = 3 },
	};

	check(pfm_create_evtsets(5, d, 3) == -1 && errno == EINVAL && nmade == 1, "the second set fails");
	check(made[0].id == 1 && made[0].id_next == 2 && made[0].flags == 1 &&
	      made[0].timeout == 1999999999,
	      "the first set is made, without the flag of an old error");
	check(d[0].set_flags == 3 && d[0].set_timeout.tv_sec == 2 && d[0].set_timeout.tv_nsec == 0 &&
	      d[0].set_mmap_offset == 0, "the timeout of the first set is rounded");
	check(d[1].set_flags == PFM_REG_RETFL_EINVAL && d[1].set_timeout.tv_sec == 3,
	      "the second set is marked");
	check(d[2].set_flags == 0 && nmade == 1, "the third set is not tried");
	d[1] = (pfarg_setdesc_t){ .set_id = 8 };
	check(pfm_create_evtsets(5, d + 1, 1) == -1 && errno == EBUSY && d[1].set_flags == 0,
	      "another error marks no set");
	d[1] = (pfarg_setdesc_t){ .set_id = 1, .set_timeout = { -1, 0 } };
	check(pfm_create_evtsets(5, d + 1, 1) == -1 && errno == EINVAL && nmade == 1,
	      "a negative timeout is EINVAL");
	check(pfm_create_evtsets(4, d, 1) == -1 && errno == EBADF, "no context is EBADF");
	d[1] = (pfarg_setdesc_t){ .set_id = 9 };
	check(pfm_delete_evtsets(5, d, 3) == -1 && errno == EINVAL && d[0].set_flags == 7 &&
	      d[1].set_flags == 4 && d[2].set_flags == 0,
	      "sets are deleted until one fails");
}

static void t_infos(void)
{
	pfarg_setinfo_t i[2] = { { .set_id = 1 }, { .set_id = 9, .set_runs = 42 } };

	check(pfm_getinfo_evtsets(5, i, 2) == -1 && errno == EINVAL, "the second set fails");
	check(i[0].set_flags == 8 && i[0].set_id_next == 77 && i[0].set_runs == 3 &&
	      i[0].set_act_duration == 4 && i[0].set_ovfl_pmds[0] == 5 &&
	      i[0].set_timeout.tv_sec == 1 && i[0].set_timeout.tv_nsec == 500000001,
	      "the information of the first set");
	check(i[1].set_flags == 8 && i[1].set_runs == 42,
	      "only the flags of the second set are written");
	check(entered == left, "the lock is released each time");
}

int main(void)
{
	t_message();
	t_context();
	t_times();
	t_sets();
	t_infos();
	return unit_end();
}
