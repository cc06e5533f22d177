/* context.h - for unit tests of perfmon/v22.c and perfmon/v23.c: one context, and event sets of which
 * number 9 fails. SPDX-License-Identifier: MIT */
#ifndef CONTEXT_H
#define CONTEXT_H

static struct ctx the_ctx;
static struct setdesc made[4];
static u32 nmade, entered, left;
static u32 created_flags;
static bool created_v23;
static const struct pfm_smpl_fmt *created_fmt;
static const struct pfm_smpl_fmt a_format = { .fmt_name = "named" };

void lib_enter(void) { entered++; }

int ctx_leave(int error)
{
	left++;
	if (error >= 0)
		return error;
	errno = -error;
	return -1;
}

struct ctx *ctx_enter(int fd, const void *args, int count, int *error)
{
	entered++;
	*error = fd != 5 ? -EBADF : count < 1 ? -EINVAL : args ? 0 : -EFAULT;
	return *error ? NULL : &the_ctx;
}

int ctx_create(u32 flags, bool v23, const struct pfm_smpl_fmt *fmt, const void *arg, size_t narg,
	       size_t *size)
{
	created_flags = flags;
	created_v23 = v23;
	created_fmt = fmt;
	*size = narg * 2;
	return arg ? 5 : -EFAULT;
}

const struct pfm_smpl_fmt *fmt_by_name(const char *name)
{
	return strcmp(name, "named") == 0 ? &a_format : NULL;
}

const struct pfm_smpl_fmt *fmt_by_uuid(const u8 *uuid) { return uuid[15] == 1 ? &a_format : NULL; }

int ctx_create_set(struct ctx *c, struct setdesc *d)
{
	if (c != &the_ctx || d->id == 9)
		return -EINVAL;
	if (d->id == 8)
		return -EBUSY;
	made[nmade++ % 4] = *d;
	d->timeout += 1; /* it is rounded */
	d->flags |= 2;
	return 0;
}

int ctx_delete_set(struct ctx *c, struct setdesc *d)
{
	d->flags |= 4;
	return c == &the_ctx && d->id != 9 ? 0 : -EINVAL;
}

int ctx_info_set(struct ctx *c, struct setinfo *i)
{
	i->d.flags |= 8;
	if (c != &the_ctx || i->d.id == 9)
		return -EINVAL;
	i->d.id_next = 77;
	i->d.timeout = 1500000001;
	i->runs = 3;
	i->duration = 4;
	i->ovfl_pmds[0] = 5;
	i->pmcs[0] = 6;
	i->pmds[0] = 7;
	return 0;
}

#endif
