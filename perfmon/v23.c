/* v23.c - the calls and messages that only perfmon v2.3 has: perfmon/perfmon_v2.h.
 * SPDX-License-Identifier: MIT */
#include "perfmon_int.h"

#include <perfmon/perfmon_v2.h>

_Static_assert(sizeof(pfarg_msg_t) <= MSG_SIZE, "a message has room");

size_t msg_v23(const struct msg *m, void *b)
{
	pfarg_ovfl_msg_t o = { .msg_type = m->type, .msg_ovfl_pid = m->pid,
		.msg_active_set = m->set, .msg_ovfl_cpu = m->cpu, .msg_ovfl_tid = m->tid,
		.msg_ovfl_ip = m->ip };

	memcpy(o.msg_ovfl_pmds, m->pmds, sizeof(o.msg_ovfl_pmds));
	memset(b, 0, sizeof(pfarg_msg_t));
	memcpy(b, &o, sizeof(o));
	return sizeof(pfarg_msg_t);
}

int pfm_create_context(pfarg_ctx_t *ctx, char *smpl_name, void *smpl_arg, size_t smpl_size)
{
	const struct pfm_smpl_fmt *fmt = NULL;
	size_t size;

	if (!ctx) {
		errno = EFAULT;
		return -1;
	}
	lib_enter();
	if (smpl_name) {
		fmt = fmt_by_name(smpl_name);
		if (!fmt)
			return ctx_leave(-EINVAL);
	}
	return ctx_leave(ctx_create(ctx->ctx_flags, true, fmt, smpl_arg, smpl_size, &size));
}

int pfm_create_evtsets(int fd, pfarg_setdesc_t *sets, int count)
{
	int error;
	struct ctx *c = ctx_enter(fd, sets, count, &error);

	for (int i = 0; c && error == 0 && i < count; i++) {
		struct setdesc d = { sets[i].set_id, 0, sets[i].set_flags & ~PFM_REG_RETFL_MASK,
				     sets[i].set_timeout };

		error = d.flags & PFM_SETFL_EXPL_NEXT ? -EINVAL : ctx_create_set(c, &d);
		sets[i].set_flags = d.flags | (error == -EINVAL ? PFM_REG_RETFL_EINVAL : 0);
		sets[i].set_timeout = d.timeout;
	}
	return ctx_leave(error);
}

int pfm_delete_evtsets(int fd, pfarg_setdesc_t *sets, int count)
{
	int error;
	struct ctx *c = ctx_enter(fd, sets, count, &error);

	for (int i = 0; c && error == 0 && i < count; i++) {
		struct setdesc d = { .id = sets[i].set_id, .flags = sets[i].set_flags };

		error = ctx_delete_set(c, &d);
		sets[i].set_flags = d.flags;
	}
	return ctx_leave(error);
}

int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *infos, int count)
{
	int error;
	struct ctx *c = ctx_enter(fd, infos, count, &error);

	for (int i = 0; c && error == 0 && i < count; i++) {
		struct setinfo in = { .d = { .id = infos[i].set_id, .flags = infos[i].set_flags } };

		error = ctx_info_set(c, &in);
		infos[i].set_flags = in.d.flags;
		if (error)
			break;
		memcpy(infos[i].set_ovfl_pmds, in.ovfl_pmds, sizeof(in.ovfl_pmds));
		infos[i].set_runs = in.runs;
		infos[i].set_timeout = in.d.timeout;
		infos[i].set_act_duration = in.duration;
		memcpy(infos[i].set_avail_pmcs, in.pmcs, sizeof(in.pmcs));
		memcpy(infos[i].set_avail_pmds, in.pmds, sizeof(in.pmds));
	}
	return ctx_leave(error);
}
