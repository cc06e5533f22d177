/* v22.c - the calls and messages that only perfmon v2.2 has: perfmon/perfmon.h.
 * SPDX-License-Identifier: MIT */
#include "perfmon_int.h"

#include <perfmon/perfmon.h>

static const u64 SECOND = 1000000000;

_Static_assert(sizeof(pfm_msg_t) <= MSG_SIZE, "a message has room");

size_t msg_v22(const struct msg *m, void *b)
{
	pfm_ovfl_msg_t o = { .msg_type = m->type, .msg_ovfl_pid = (pid_t)m->pid,
		.msg_active_set = m->set, .msg_ovfl_cpu = m->cpu, .msg_ovfl_tid = (pid_t)m->tid,
		.msg_ovfl_ip = m->ip };

	memcpy(o.msg_ovfl_pmds, m->pmds, sizeof(o.msg_ovfl_pmds));
	memset(b, 0, sizeof(pfm_msg_t));
	memcpy(b, &o, sizeof(o));
	return sizeof(pfm_msg_t);
}

int pfm_create_context(pfarg_ctx_t *ctx, void *smpl_arg, size_t smpl_size)
{
	static const pfm_uuid_t none;
	const struct pfm_smpl_fmt *fmt = NULL;
	size_t size = 0;
	int fd;

	if (!ctx) {
		errno = EFAULT;
		return -1;
	}
	lib_enter();
	if (memcmp(ctx->ctx_smpl_buf_id, none, sizeof(none)) != 0) {
		fmt = fmt_by_uuid(ctx->ctx_smpl_buf_id);
		if (!fmt)
			return ctx_leave(-EINVAL);
	}
	fd = ctx_create(ctx->ctx_flags, false, fmt, smpl_arg, smpl_size, &size);
	if (fd >= 0) {
		ctx->ctx_fd = fd;
		ctx->ctx_smpl_buf_size = size;
	}
	return ctx_leave(fd);
}

/* Converts the struct timespec *t to ns. Returns false if the time is negative, too long or
 * malformed. */
static bool timespec_ns(const struct timespec *t, u64 *ns)
{
	*ns = (u64)t->tv_sec * SECOND + (u64)t->tv_nsec;
	return t->tv_sec >= 0 && t->tv_sec < INT32_MAX && t->tv_nsec >= 0 &&
	       (u64)t->tv_nsec < SECOND;
}

static struct timespec ns_timespec(u64 ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / SECOND), .tv_nsec = (long)(ns % SECOND) };
}

int pfm_create_evtsets(int fd, pfarg_setdesc_t *sets, int count)
{
	int error;
	struct ctx *c = ctx_enter(fd, sets, count, &error);

	for (int i = 0; c && error == 0 && i < count; i++) {
		struct setdesc d = { sets[i].set_id, sets[i].set_id_next,
				     sets[i].set_flags & ~PFM_REG_RETFL_MASK, 0 };

		error = -EINVAL;
		if (timespec_ns(&sets[i].set_timeout, &d.timeout))
			error = ctx_create_set(c, &d);
		sets[i].set_flags = d.flags | (error == -EINVAL ? PFM_REG_RETFL_EINVAL : 0);
		sets[i].set_timeout = error ? sets[i].set_timeout : ns_timespec(d.timeout);
		sets[i].set_mmap_offset = 0;
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
		infos[i].set_id_next = in.d.id_next;
		memcpy(infos[i].set_ovfl_pmds, in.ovfl_pmds, sizeof(in.ovfl_pmds));
		infos[i].set_runs = in.runs;
		infos[i].set_timeout = ns_timespec(in.d.timeout);
		infos[i].set_act_duration = in.duration;
		infos[i].set_mmap_offset = 0;
	}
	return ctx_leave(error);
}
