/* perfmon/perfmon_fmt.h - sampling formats of perfmon2: formats that programs register, and two
 * that are built in besides the default format. A format decides what is recorded and done at an
 * overflow. Include this header before or after perfmon/perfmon.h or perfmon/perfmon_v2.h.
 * SPDX-License-Identifier: MIT */
#ifndef PERFMON_FMT_H
#define PERFMON_FMT_H

#include <perfmon/perfmon_common.h>
#include <perfmon/perfmon_dfl_smpl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bits of ovfl_ctrl: actions of the library after fmt_handler() has returned. */
#define PFM_OVFL_CTRL_NOTIFY 0x1U /* send a message, if the PMD has PFM_REGFL_OVFL_NOTIFY */
#define PFM_OVFL_CTRL_RESET  0x2U /* reset the PMD and its reg_reset_pmds */
#define PFM_OVFL_CTRL_MASK   0x4U /* count nothing until pfm_restart() */

/* One overflow: the argument of fmt_handler(). */
typedef struct pfm_ovfl_arg {
	uint16_t ovfl_pmd;
	uint16_t active_set;
	/* out: PFM_OVFL_CTRL_*; 0 when fmt_handler() is called */
	uint32_t ovfl_ctrl;
	uint64_t pmd_last_reset;
	uint64_t pmd_eventid;                    /* reg_smpl_eventid of the PMD */
	/* values of the PMDs in reg_smpl_pmds, in ascending order of PMD */
	uint64_t smpl_pmds_values[PFM_MAX_PMDS];
	uint16_t num_smpl_pmds;
	uint16_t cpu;
	uint32_t pid, tgid;                      /* numbers of the thread and of its process */
} pfm_ovfl_arg_t;

/* The callbacks of a sampling format. They run one at a time, with all signals blocked; those after
 * fmt_init run in a thread of the library or in a thread that calls the library. They must not call
 * pfm_ functions. Each returns 0 or -errno (any other value is taken as -EINVAL); the results of
 * fmt_handler and fmt_exit are ignored. */
struct pfm_smpl_fmt {
	const char *fmt_name; /* name for v2.3; the name and the structure must stay valid */
	pfm_uuid_t fmt_uuid;  /* UUID for v2.2; not all zero */
	size_t fmt_arg_size;  /* size of smpl_arg: another size fails with EINVAL; 0: no argument */
	/* checks the argument; may be NULL */
	int (*fmt_validate)(uint32_t ctx_flags, uint16_t npmds, const void *arg);
	/* returns the size of the sampling buffer in *size; if it is NULL, the format has no
	 * buffer */
	int (*fmt_getsize)(uint32_t ctx_flags, const void *arg, size_t *size);
	/* initialises the buffer; if it is NULL, the buffer is filled with zeros */
	int (*fmt_init)(void *buf, uint32_t ctx_flags, uint16_t npmds, const void *arg);
	int (*fmt_handler)(void *buf, pfm_ovfl_arg_t *arg, uint64_t ip, uint64_t tstamp);
	/* called by pfm_restart(); may be NULL. active is not 0 if the context is not masked. Only
	 * the bits RESET and MASK of *ovfl_ctrl have an effect */
	int (*fmt_restart)(int active, uint32_t *ovfl_ctrl, void *buf);
	/* called before the buffer is freed; may be NULL */
	int (*fmt_exit)(void *buf);
};

/* Registers a sampling format. Returns 0, or -1 and sets errno. EFAULT: fmt is NULL; EINVAL: fmt
 * has no name, UUID or handler; EEXIST: another format has the name or UUID; ENOSPC: there are 16
 * formats already. */
PFM_API int pfm_register_fmt(const struct pfm_smpl_fmt *fmt);
/* Returns 0, or -1 and sets errno. EINVAL: no program has registered a format with this UUID;
 * EBUSY: a context uses the format. */
PFM_API int pfm_unregister_fmt(const pfm_uuid_t uuid);

/* The histogram format: the buffer is a table with one count per address, PMD, process and event
 * set, as OProfile keeps them, in no order. When 7 of 8 entries are in use, the table is full, and
 * the same happens as with a full buffer of the default format. */
#define PFM_HIST_SMPL_NAME "histogram"
#define PFM_HIST_SMPL_UUID \
	{ 0x5c, 0x0e, 0x9b, 0x1d, 0x3f, 0x57, 0x4e, 0x0a, \
	  0x9d, 0x21, 0x6b, 0x8e, 0x44, 0xf2, 0x17, 0xc3 }

typedef struct {
	uint64_t buf_size; /* bytes of the sampling buffer, header included */
	uint64_t reserved[7];
} pfm_hist_smpl_arg_t;

typedef struct {
	/* number of samples since the table was empty: the sum of all counts */
	uint64_t hdr_count;
	uint64_t hdr_used;      /* number of entries in use */
	uint64_t hdr_entries;   /* number of entries after this header, free ones included */
	uint64_t hdr_overflows; /* number of overflows at which the table was full */
	uint64_t hdr_buf_size;
	uint64_t hdr_reserved[11];
} pfm_hist_smpl_hdr_t;

typedef struct {
	uint64_t ip;
	uint64_t count;    /* number of samples; 0 if the entry is free */
	uint32_t tgid;
	uint16_t ovfl_pmd;
	uint16_t set;
} pfm_hist_smpl_entry_t;

/* The n-way format: the buffer has several parts, each of them a buffer of the default format. When
 * a part is full, a message is sent, and sampling continues in the next part. A call of
 * pfm_restart() means that the program has read the oldest full part. If all parts are full,
 * nothing is counted until then. */
#define PFM_NWAY_SMPL_NAME "n-way"
#define PFM_NWAY_SMPL_UUID \
	{ 0xa4, 0x72, 0x16, 0xee, 0x0b, 0x8d, 0x43, 0xb9, \
	  0x8a, 0x5f, 0xd0, 0x39, 0x91, 0x6c, 0x2e, 0x58 }
#define PFM_NWAY_MAX_PARTS 64

typedef struct {
	uint64_t buf_size;  /* bytes of the sampling buffer, headers included */
	uint32_t buf_parts; /* number of parts, 2 to PFM_NWAY_MAX_PARTS */
	uint32_t buf_flags;
	uint64_t reserved[6];
} pfm_nway_smpl_arg_t;

typedef struct {
	uint64_t hdr_parts;
	uint64_t hdr_part_size; /* bytes of one part; the first part follows this header */
	/* number of parts filled since the start; hdr_filled % hdr_parts is the part being
	 * written */
	uint64_t hdr_filled;
	/* number of parts given back since the start; hdr_read % hdr_parts is the oldest full
	 * part */
	uint64_t hdr_read;
	uint64_t hdr_overflows; /* number of overflows at which all parts were full */
	uint64_t hdr_buf_size;
	uint64_t hdr_reserved[10];
} pfm_nway_smpl_hdr_t;

#define PFM_NWAY_PART(hdr, n) \
	((pfm_dfl_smpl_hdr_t *)(void *)((char *)((hdr) + 1) + \
					(n) % (hdr)->hdr_parts * (hdr)->hdr_part_size))

#ifdef __cplusplus
}
#endif

#endif
