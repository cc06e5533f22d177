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

/* Bits of ovfl_ctrl: a format's fmt_handler() sets them, to tell the library what to do after the
 * overflow. */
/* send a message, if the PMD that overflowed has PFM_REGFL_OVFL_NOTIFY */
#define PFM_OVFL_CTRL_NOTIFY 0x1U
/* reset the PMD that overflowed, and the PMDs in its reg_reset_pmds */
#define PFM_OVFL_CTRL_RESET  0x2U
#define PFM_OVFL_CTRL_MASK   0x4U /* mask the context: it counts nothing until pfm_restart() */

/* An overflow of a PMD, as it is passed to the callback fmt_handler() of a sampling format. */
typedef struct pfm_ovfl_arg {
	uint16_t ovfl_pmd;
	uint16_t active_set;
	/* output: PFM_OVFL_CTRL_* bits, which fmt_handler() sets; 0 before the call */
	uint32_t ovfl_ctrl;
	uint64_t pmd_last_reset;
	uint64_t pmd_eventid;                    /* reg_smpl_eventid of the PMD that overflowed */
	/* values of the PMDs in reg_smpl_pmds, num_smpl_pmds of them, in ascending order of the
	 * PMD's number */
	uint64_t smpl_pmds_values[PFM_MAX_PMDS];
	uint16_t num_smpl_pmds;
	uint16_t cpu;
	uint32_t pid, tgid; /* thread id of the monitored thread, and id of its process */
} pfm_ovfl_arg_t;

/* The callbacks of a sampling format. Only one callback runs at a time, with all signals blocked.
 * Callbacks other than fmt_validate, fmt_getsize and fmt_init run in a thread of the library, or in
 * a thread that calls the library. A callback must not call pfm_ functions. It returns 0 or -errno;
 * the library treats any other value as -EINVAL, and ignores the results of fmt_handler and
 * fmt_exit. */
struct pfm_smpl_fmt {
	/* name of the format, for v2.3. The string and this structure must stay valid until the
	 * format is unregistered. */
	const char *fmt_name;
	pfm_uuid_t fmt_uuid;  /* UUID of the format, for v2.2; at least one byte is not 0 */
	/* size in bytes of the format's argument: pfm_create_context() fails with EINVAL if
	 * smpl_size differs; 0: the format has no argument */
	size_t fmt_arg_size;
	/* checks the argument of a new context; may be NULL. npmds: number of PMDs that an entry
	 * can record */
	int (*fmt_validate)(uint32_t ctx_flags, uint16_t npmds, const void *arg);
	/* stores the size in bytes of the sampling buffer in *size; NULL if the format has no
	 * buffer */
	int (*fmt_getsize)(uint32_t ctx_flags, const void *arg, size_t *size);
	/* initialises the buffer, which is filled with zeros before; may be NULL */
	int (*fmt_init)(void *buf, uint32_t ctx_flags, uint16_t npmds, const void *arg);
	int (*fmt_handler)(void *buf, pfm_ovfl_arg_t *arg, uint64_t ip, uint64_t tstamp);
	/* Called by pfm_restart(); may be NULL. active is 0 if the context is masked, else 1. The
	 * callback sets PFM_OVFL_CTRL_RESET and PFM_OVFL_CTRL_MASK in *ovfl_ctrl; other bits have
	 * no effect. */
	int (*fmt_restart)(int active, uint32_t *ovfl_ctrl, void *buf);
	/* called before the sampling buffer is freed; may be NULL */
	int (*fmt_exit)(void *buf);
};

/* Registers a sampling format. Returns 0, or -1 and sets errno. EFAULT: fmt is NULL; EINVAL: fmt
 * has no name, UUID or fmt_handler; EEXIST: another format has the same name or UUID; ENOSPC: 16
 * formats, the limit, are registered, including the three built-in ones. */
PFM_API int pfm_register_fmt(const struct pfm_smpl_fmt *fmt);
/* Unregisters the sampling format with this UUID. Returns 0, or -1 and sets errno. EINVAL: no
 * program has registered such a format; EBUSY: a context uses the format. */
PFM_API int pfm_unregister_fmt(const pfm_uuid_t uuid);

/* The histogram format: the sampling buffer is an unordered table with one entry per address, PMD,
 * process and event set, which counts the samples with this key (like OProfile). The table is full
 * when 7/8 of its entries are in use: then a message is sent, and nothing is counted until
 * pfm_restart() empties the table. */
#define PFM_HIST_SMPL_NAME "histogram"
#define PFM_HIST_SMPL_UUID \
	{ 0x5c, 0x0e, 0x9b, 0x1d, 0x3f, 0x57, 0x4e, 0x0a, \
	  0x9d, 0x21, 0x6b, 0x8e, 0x44, 0xf2, 0x17, 0xc3 }

typedef struct {
	/* requested size in bytes of the sampling buffer, including its header */
	uint64_t buf_size;
	uint64_t reserved[7];
} pfm_hist_smpl_arg_t;

typedef struct {
	/* number of samples since the table was last emptied: the sum of all counts */
	uint64_t hdr_count;
	uint64_t hdr_used;      /* number of entries of the table in use */
	uint64_t hdr_entries;   /* number of all entries that follow this header, free or in use */
	uint64_t hdr_overflows; /* number of overflows at which the table was full */
	uint64_t hdr_buf_size;
	uint64_t hdr_reserved[11];
} pfm_hist_smpl_hdr_t;

typedef struct {
	uint64_t ip;
	uint64_t count;    /* number of samples with this key; 0: the entry is free */
	uint32_t tgid;
	uint16_t ovfl_pmd;
	uint16_t set;
} pfm_hist_smpl_entry_t;

/* The n-way format: the sampling buffer consists of several parts, and each part is a buffer of the
 * default format. When a part is full, a message is sent, and sampling continues in the next part.
 * The program calls pfm_restart() when it has read the oldest full part. If all parts are full,
 * nothing is counted until that call. */
#define PFM_NWAY_SMPL_NAME "n-way"
#define PFM_NWAY_SMPL_UUID \
	{ 0xa4, 0x72, 0x16, 0xee, 0x0b, 0x8d, 0x43, 0xb9, \
	  0x8a, 0x5f, 0xd0, 0x39, 0x91, 0x6c, 0x2e, 0x58 }
#define PFM_NWAY_MAX_PARTS 64

typedef struct {
	/* requested size in bytes of the sampling buffer, including all headers */
	uint64_t buf_size;
	uint32_t buf_parts; /* number of parts of the buffer, 2 to PFM_NWAY_MAX_PARTS */
	uint32_t buf_flags;
	uint64_t reserved[6];
} pfm_nway_smpl_arg_t;

typedef struct {
	uint64_t hdr_parts;
	/* size in bytes of each part; the first part follows this header directly */
	uint64_t hdr_part_size;
	/* number of parts that became full since the start; the part number hdr_filled % hdr_parts
	 * is the one being written */
	uint64_t hdr_filled;
	/* number of full parts that the program has released with pfm_restart() since the start;
	 * the part number hdr_read % hdr_parts is the oldest full one */
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
