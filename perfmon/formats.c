/* formats.c - sampling formats of perfmon2: the built-in ones (default, histogram, n-way), and the
 * list of these and of the formats that programs register.
 * SPDX-License-Identifier: MIT */
#include "perfmon_int.h"

enum {
	FULL = PFM_OVFL_CTRL_NOTIFY | PFM_OVFL_CTRL_MASK,
	MAX_FMTS = 16
};

int fmt_error(int r)
{
	enum { MAX_ERRNO = 4095 }; /* largest errno of the kernel, as in linux/err.h */

	return r > 0 || r < -MAX_ERRNO ? -EINVAL : r;
}

/* --- the default sampling format: entries one after another ----------------------------------- */

/* Returns the size in bytes of the largest entry of the default format: an entry with the values of
 * npmds PMDs. */
static u64 entry_max(u16 npmds)
{
	return sizeof(pfm_dfl_smpl_entry_t) + npmds * sizeof(u64);
}

static int dfl_validate(u32 flags, u16 npmds, const void *arg)
{
	const pfm_dfl_smpl_arg_t *a = arg;

	(void)flags;
	return a->buf_size < sizeof(pfm_dfl_smpl_hdr_t) + entry_max(npmds) ? -EINVAL : 0;
}

static int dfl_size(u32 flags, const void *arg, size_t *size)
{
	const pfm_dfl_smpl_arg_t *a = arg;

	(void)flags;
	*size = a->buf_size > SIZE_MAX ? SIZE_MAX : (size_t)a->buf_size;
	return 0;
}

static void dfl_start(pfm_dfl_smpl_hdr_t *h, u64 size, u32 flags, u16 npmds)
{
	*h = (pfm_dfl_smpl_hdr_t){ .hdr_cur_offs = sizeof(*h), .hdr_buf_size = size,
		.hdr_min_buf_space = entry_max(npmds), .hdr_version = PFM_DFL_SMPL_VERSION,
		.hdr_buf_flags = flags };
}

static int dfl_init(void *buf, u32 flags, u16 npmds, const void *arg)
{
	const pfm_dfl_smpl_arg_t *a = arg;

	(void)flags;
	dfl_start(buf, a->buf_size, a->buf_flags, npmds);
	return 0;
}

/* Adds 1 to a count in the sampling buffer, so that a reader which sees the new count also sees all
 * earlier writes. A fence and a plain store are used: on mips and old arm, a store of 64 bits with
 * release order would call libatomic, which programs that use this library need not link. */
static void publish(u64 *count)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	*(volatile u64 *)count = *count + 1;
}

static bool dfl_has_room(const pfm_dfl_smpl_hdr_t *h)
{
	return h->hdr_buf_size - h->hdr_cur_offs >= h->hdr_min_buf_space;
}

/* Adds an entry for an overflow to a buffer of the default format. Returns true if the buffer has
 * room for another entry after the new one. Returns false without adding the entry if the buffer
 * was full before: a context may be loaded again while its buffer is full. The numbers in the
 * buffer can be trusted, because the program can map the buffer only for reading. */
static bool dfl_add(pfm_dfl_smpl_hdr_t *h, const pfm_ovfl_arg_t *o, u64 ip, u64 tstamp)
{
	pfm_dfl_smpl_entry_t e = { .pid = o->pid, .ovfl_pmd = o->ovfl_pmd,
		.last_reset_val = o->pmd_last_reset, .ip = ip, .tstamp = tstamp, .cpu = o->cpu,
		.set = o->active_set, .tgid = o->tgid };
	size_t values = o->num_smpl_pmds * sizeof(u64);
	char *to = (char *)h + h->hdr_cur_offs;

	if (!dfl_has_room(h))
		return false;
	memcpy(to, &e, sizeof(e));
	memcpy(to + sizeof(e), o->smpl_pmds_values, values);
	h->hdr_cur_offs += sizeof(e) + values;
	publish(&h->hdr_count);
	return dfl_has_room(h);
}

static int dfl_handler(void *buf, pfm_ovfl_arg_t *o, u64 ip, u64 tstamp)
{
	pfm_dfl_smpl_hdr_t *h = buf;

	o->ovfl_ctrl = PFM_OVFL_CTRL_RESET;
	if (dfl_add(h, o, ip, tstamp))
		return 0;
	h->hdr_overflows++;
	o->ovfl_ctrl = FULL;
	return 0;
}

static void dfl_empty(pfm_dfl_smpl_hdr_t *h)
{
	h->hdr_count = 0;
	h->hdr_cur_offs = sizeof(*h);
}

static int dfl_restart(int active, u32 *ctrl, void *buf)
{
	(void)active;
	dfl_empty(buf);
	*ctrl = PFM_OVFL_CTRL_RESET;
	return 0;
}

/* --- the histogram sampling format: a hash table with open addressing ------------------------- */

static int hist_validate(u32 flags, u16 npmds, const void *arg)
{
	const pfm_hist_smpl_arg_t *a = arg;

	(void)flags;
	(void)npmds;
	return a->buf_size < sizeof(pfm_hist_smpl_hdr_t) + 4 * sizeof(pfm_hist_smpl_entry_t) ?
	       -EINVAL : 0;
}

static int hist_size(u32 flags, const void *arg, size_t *size)
{
	const pfm_hist_smpl_arg_t *a = arg;

	(void)flags;
	*size = a->buf_size > SIZE_MAX ? SIZE_MAX : (size_t)a->buf_size;
	return 0;
}

static int hist_init(void *buf, u32 flags, u16 npmds, const void *arg)
{
	const pfm_hist_smpl_arg_t *a = arg;
	pfm_hist_smpl_hdr_t *h = buf;

	(void)flags;
	(void)npmds;
	h->hdr_buf_size = a->buf_size;
	h->hdr_entries = (a->buf_size - sizeof(*h)) / sizeof(pfm_hist_smpl_entry_t);
	return 0;
}

static u64 hist_hash(const pfm_hist_smpl_entry_t *k)
{
	u64 x = k->ip ^ (u64)k->tgid << 40 ^ (u64)k->ovfl_pmd << 20 ^ k->set;

	/* multiplier of Knuth's hash: 2^64 / the golden ratio */
	x = (x ^ x >> 31) * 0x9e3779b97f4a7c15U;
	return x ^ x >> 32;
}

/* Returns the entry of the histogram whose key (ip, tgid, ovfl_pmd, set) is that of k, or a free
 * entry for this key; NULL if all entries have other keys. */
static pfm_hist_smpl_entry_t *hist_find(pfm_hist_smpl_hdr_t *h, const pfm_hist_smpl_entry_t *k)
{
	pfm_hist_smpl_entry_t *table = (void *)(h + 1);
	u64 n = h->hdr_entries, at = hist_hash(k) % n;

	for (u64 i = 0; i < n; i++, at = (at + 1) % n) {
		pfm_hist_smpl_entry_t *e = &table[at];

		if (e->count == 0 ||
		    (e->ip == k->ip && e->tgid == k->tgid && e->ovfl_pmd == k->ovfl_pmd &&
		     e->set == k->set))
			return e;
	}
	return NULL;
}

static int hist_handler(void *buf, pfm_ovfl_arg_t *o, u64 ip, u64 tstamp)
{
	pfm_hist_smpl_hdr_t *h = buf;
	pfm_hist_smpl_entry_t k = { .ip = ip, .tgid = o->tgid, .ovfl_pmd = o->ovfl_pmd,
				    .set = o->active_set };
	pfm_hist_smpl_entry_t *e = hist_find(h, &k);

	(void)tstamp;
	if (e && e->count == 0) {
		*e = k;
		h->hdr_used++;
	}
	if (e) {
		e->count++;
		h->hdr_count++;
	}
	/* The histogram counts as full when 7 of 8 entries are in use. With more entries in use a
	 * search becomes long (Knuth, 6.4: 32 entries), and without a free entry a new key would be
	 * lost. */
	o->ovfl_ctrl = PFM_OVFL_CTRL_RESET;
	if (h->hdr_used < h->hdr_entries - h->hdr_entries / 8)
		return 0;
	h->hdr_overflows++;
	o->ovfl_ctrl = FULL;
	return 0;
}

static int hist_restart(int active, u32 *ctrl, void *buf)
{
	pfm_hist_smpl_hdr_t *h = buf;

	(void)active;
	memset(h + 1, 0, (size_t)h->hdr_entries * sizeof(pfm_hist_smpl_entry_t));
	h->hdr_count = h->hdr_used = 0;
	*ctrl = PFM_OVFL_CTRL_RESET;
	return 0;
}

/* --- the n-way sampling format: several buffers of the default format in turn ----------------- */

/* Returns the size in bytes of one part of an n-way buffer, rounded down to a multiple of 8. */
static u64 part_size(const pfm_nway_smpl_arg_t *a)
{
	return (a->buf_size - sizeof(pfm_nway_smpl_hdr_t)) / a->buf_parts & ~(u64)7;
}

static int nway_validate(u32 flags, u16 npmds, const void *arg)
{
	const pfm_nway_smpl_arg_t *a = arg;

	(void)flags;
	if (a->buf_parts < 2 || a->buf_parts > PFM_NWAY_MAX_PARTS ||
	    a->buf_size < sizeof(pfm_nway_smpl_hdr_t))
		return -EINVAL;
	return part_size(a) < sizeof(pfm_dfl_smpl_hdr_t) + entry_max(npmds) ? -EINVAL : 0;
}

static int nway_size(u32 flags, const void *arg, size_t *size)
{
	const pfm_nway_smpl_arg_t *a = arg;

	(void)flags;
	*size = a->buf_size > SIZE_MAX ? SIZE_MAX : (size_t)a->buf_size;
	return 0;
}

static int nway_init(void *buf, u32 flags, u16 npmds, const void *arg)
{
	const pfm_nway_smpl_arg_t *a = arg;
	pfm_nway_smpl_hdr_t *h = buf;

	(void)flags;
	*h = (pfm_nway_smpl_hdr_t){ .hdr_parts = a->buf_parts, .hdr_part_size = part_size(a),
		.hdr_buf_size = a->buf_size };
	for (u64 i = 0; i < h->hdr_parts; i++)
		dfl_start(PFM_NWAY_PART(h, i), h->hdr_part_size, a->buf_flags, npmds);
	return 0;
}

static int nway_handler(void *buf, pfm_ovfl_arg_t *o, u64 ip, u64 tstamp)
{
	pfm_nway_smpl_hdr_t *h = buf;
	pfm_dfl_smpl_hdr_t *part = PFM_NWAY_PART(h, h->hdr_filled);

	o->ovfl_ctrl = PFM_OVFL_CTRL_RESET;
	if (dfl_add(part, o, ip, tstamp))
		return 0;
	part->hdr_overflows++;
	/* Add the part to hdr_filled, the number of parts that became full, unless all parts were
	 * full before this overflow: then hdr_filled includes the part already. */
	if (h->hdr_filled - h->hdr_read < h->hdr_parts)
		publish(&h->hdr_filled);
	o->ovfl_ctrl |= PFM_OVFL_CTRL_NOTIFY;
	if (h->hdr_filled - h->hdr_read < h->hdr_parts)
		return 0;
	h->hdr_overflows++;
	o->ovfl_ctrl = FULL;
	return 0;
}

static int nway_restart(int active, u32 *ctrl, void *buf)
{
	pfm_nway_smpl_hdr_t *h = buf;

	(void)active;
	if (h->hdr_read == h->hdr_filled)
		return -EBUSY;
	dfl_empty(PFM_NWAY_PART(h, h->hdr_read));
	h->hdr_read++;
	*ctrl = PFM_OVFL_CTRL_RESET;
	return 0;
}

/* --- the list of sampling formats ------------------------------------------------------------- */

static const struct pfm_smpl_fmt builtin[] = {
	{ PFM_DFL_SMPL_NAME, PFM_DFL_SMPL_UUID, sizeof(pfm_dfl_smpl_arg_t), dfl_validate, dfl_size,
	  dfl_init, dfl_handler, dfl_restart, NULL },
	{ PFM_HIST_SMPL_NAME, PFM_HIST_SMPL_UUID, sizeof(pfm_hist_smpl_arg_t), hist_validate,
	  hist_size, hist_init, hist_handler, hist_restart, NULL },
	{ PFM_NWAY_SMPL_NAME, PFM_NWAY_SMPL_UUID, sizeof(pfm_nway_smpl_arg_t), nway_validate,
	  nway_size, nway_init, nway_handler, nway_restart, NULL },
};
static const struct pfm_smpl_fmt *fmts[MAX_FMTS] = { &builtin[0], &builtin[1], &builtin[2] };

static const struct pfm_smpl_fmt **fmt_find(const char *name, const u8 *uuid)
{
	for (size_t i = 0; i < MAX_FMTS; i++) {
		const struct pfm_smpl_fmt *f = fmts[i];

		if (f &&
		    ((name && strcmp(f->fmt_name, name) == 0) ||
		     (uuid && memcmp(f->fmt_uuid, uuid, sizeof(pfm_uuid_t)) == 0)))
			return &fmts[i];
	}
	return NULL;
}

const struct pfm_smpl_fmt *fmt_by_uuid(const u8 *uuid)
{
	const struct pfm_smpl_fmt **f = fmt_find(NULL, uuid);

	return f ? *f : NULL;
}

const struct pfm_smpl_fmt *fmt_by_name(const char *name)
{
	const struct pfm_smpl_fmt **f = fmt_find(name, NULL);

	return f ? *f : NULL;
}

int pfm_register_fmt(const struct pfm_smpl_fmt *fmt)
{
	static const pfm_uuid_t none;

	lib_enter();
	if (!fmt)
		return ctx_leave(-EFAULT);
	if (!fmt->fmt_name || !fmt->fmt_handler || memcmp(fmt->fmt_uuid, none, sizeof(none)) == 0)
		return ctx_leave(-EINVAL);
	if (fmt_find(fmt->fmt_name, fmt->fmt_uuid))
		return ctx_leave(-EEXIST);
	for (size_t i = 0; i < MAX_FMTS; i++)
		if (!fmts[i]) {
			fmts[i] = fmt;
			return ctx_leave(0);
		}
	return ctx_leave(-ENOSPC);
}

int pfm_unregister_fmt(const pfm_uuid_t uuid)
{
	const struct pfm_smpl_fmt **f;

	lib_enter();
	ctxs_reap();
	f = uuid ? fmt_find(NULL, uuid) : NULL;
	if (!f || f < fmts + sizeof(builtin) / sizeof(*builtin))
		return ctx_leave(-EINVAL);
	for (const struct ctx *c = ctxs.rows; c < ctxs_end(); c++)
		if (c->state != ST_FREE && c->fmt == *f)
			return ctx_leave(-EBUSY);
	*f = NULL;
	return ctx_leave(0);
}
