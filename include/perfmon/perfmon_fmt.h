/* perfmon/perfmon_fmt.h - sampling formats of perfmon2: one's own, and two that are built in besides the default one.
 * A format says what becomes of an overflow. Include it with perfmon/perfmon.h or perfmon/perfmon_v2.h, before or after.
 * SPDX-License-Identifier: MIT */
#ifndef PERFMON_FMT_H
#define PERFMON_FMT_H

#include <perfmon/perfmon_common.h>
#include <perfmon/perfmon_dfl_smpl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ovfl_ctrl: what is to be done behind the handler. */
#define PFM_OVFL_CTRL_NOTIFY 0x1U /* a message, where the PMD has PFM_REGFL_OVFL_NOTIFY */
#define PFM_OVFL_CTRL_RESET  0x2U /* reset the PMD, and its reg_reset_pmds */
#define PFM_OVFL_CTRL_MASK   0x4U /* count nothing until pfm_restart() */

/* One overflow. */
typedef struct pfm_ovfl_arg {
	uint16_t ovfl_pmd;
	uint16_t active_set;
	uint32_t ovfl_ctrl;                      /* out; 0 when the handler is called */
	uint64_t pmd_last_reset;
	uint64_t pmd_eventid;                    /* its reg_smpl_eventid */
	uint64_t smpl_pmds_values[PFM_MAX_PMDS]; /* of reg_smpl_pmds, by index */
	uint16_t num_smpl_pmds;
	uint16_t cpu;
	uint32_t pid, tgid;                      /* thread, process */
} pfm_ovfl_arg_t;

/* Callbacks run one at a time with all signals blocked, those behind fmt_init in a thread of the library's or in one that calls
 * it; none may call pfm_ functions. Each returns 0 or -errno (anything else is taken for -EINVAL); what fmt_handler and
 * fmt_exit return is not looked at. Those with (null) may be NULL. */
struct pfm_smpl_fmt {
	const char *fmt_name; /* for v2.3; it and all else must stay */
	pfm_uuid_t fmt_uuid;  /* for v2.2; not all zero */
	size_t fmt_arg_size;  /* of smpl_arg: another size is EINVAL; 0: no argument */
	int (*fmt_validate)(uint32_t ctx_flags, uint16_t npmds, const void *arg);         /* (null) */
	int (*fmt_getsize)(uint32_t ctx_flags, const void *arg, size_t *size);            /* (null): no buffer */
	int (*fmt_init)(void *buf, uint32_t ctx_flags, uint16_t npmds, const void *arg);  /* (null): the buffer is zero */
	int (*fmt_handler)(void *buf, pfm_ovfl_arg_t *arg, uint64_t ip, uint64_t tstamp);
	int (*fmt_restart)(int active, uint32_t *ovfl_ctrl, void *buf); /* (null) active: not masked; RESET and MASK count */
	int (*fmt_exit)(void *buf);                                     /* (null) */
};

/* 0, or -1 and errno: EINVAL, no name, UUID or handler; EEXIST, name or UUID are taken; ENOSPC: 16 are there. */
PFM_API int pfm_register_fmt(const struct pfm_smpl_fmt *fmt);
/* EINVAL: no such format of a program; EBUSY: a context uses it. */
PFM_API int pfm_unregister_fmt(const pfm_uuid_t uuid);

/* Counts per place, PMD and process, as OProfile keeps them: a table in which a key stands anywhere. With 7 of 8 entries
 * in use it is full, as the default format is. */
#define PFM_HIST_SMPL_NAME "histogram"
#define PFM_HIST_SMPL_UUID { 0x5c, 0x0e, 0x9b, 0x1d, 0x3f, 0x57, 0x4e, 0x0a, 0x9d, 0x21, 0x6b, 0x8e, 0x44, 0xf2, 0x17, 0xc3 }

typedef struct {
	uint64_t buf_size; /* bytes, header included */
	uint64_t reserved[7];
} pfm_hist_smpl_arg_t;

typedef struct {
	uint64_t hdr_count;     /* samples since it was empty: the sum of all counts */
	uint64_t hdr_used;      /* entries in use */
	uint64_t hdr_entries;   /* that follow this header */
	uint64_t hdr_overflows; /* times it was full */
	uint64_t hdr_buf_size;
	uint64_t hdr_reserved[11];
} pfm_hist_smpl_hdr_t;

typedef struct {
	uint64_t ip;
	uint64_t count;    /* 0: a free entry */
	uint32_t tgid;
	uint16_t ovfl_pmd;
	uint16_t set;
} pfm_hist_smpl_entry_t;

/* The buffer in parts, each one as the default format has it. A part that is full sends a message, and sampling goes on in
 * the next: pfm_restart() says that the oldest full part was read. Only when all are full nothing is counted until then. */
#define PFM_NWAY_SMPL_NAME "n-way"
#define PFM_NWAY_SMPL_UUID { 0xa4, 0x72, 0x16, 0xee, 0x0b, 0x8d, 0x43, 0xb9, 0x8a, 0x5f, 0xd0, 0x39, 0x91, 0x6c, 0x2e, 0x58 }
#define PFM_NWAY_MAX_PARTS 64

typedef struct {
	uint64_t buf_size;  /* bytes, headers included */
	uint32_t buf_parts; /* 2 to PFM_NWAY_MAX_PARTS */
	uint32_t buf_flags;
	uint64_t reserved[6];
} pfm_nway_smpl_arg_t;

typedef struct {
	uint64_t hdr_parts;
	uint64_t hdr_part_size; /* bytes; the first part follows this header */
	uint64_t hdr_filled;    /* parts filled since the start: hdr_filled % hdr_parts is being written */
	uint64_t hdr_read;      /* parts given back since: hdr_read % hdr_parts is the oldest full one */
	uint64_t hdr_overflows; /* times all were full */
	uint64_t hdr_buf_size;
	uint64_t hdr_reserved[10];
} pfm_nway_smpl_hdr_t;

#define PFM_NWAY_PART(hdr, n) \
	((pfm_dfl_smpl_hdr_t *)(void *)((char *)((hdr) + 1) + (n) % (hdr)->hdr_parts * (hdr)->hdr_part_size))

#ifdef __cplusplus
}
#endif

#endif
