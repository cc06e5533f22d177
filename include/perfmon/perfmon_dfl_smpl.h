/* perfmon/perfmon_dfl_smpl.h - the default sampling format of perfmon2: a buffer with one entry per
 * overflow, one after another. When the buffer is full, a message is sent, and nothing is counted
 * until pfm_restart() empties it.
 * SPDX-License-Identifier: MIT */
#ifndef PERFMON_DFL_SMPL_H
#define PERFMON_DFL_SMPL_H

#include <stdint.h>

#define PFM_DFL_SMPL_NAME "default"
#define PFM_DFL_SMPL_UUID \
	{ 0xd1, 0x39, 0xb2, 0x9e, 0x62, 0xe8, 0x40, 0xe4, \
	  0xb4, 0x02, 0x73, 0x07, 0x87, 0x92, 0xe9, 0x37 }

/* The argument for the default sampling format: smpl_arg of pfm_create_context() points to it. */
typedef struct {
	/* requested size in bytes of the sampling buffer, including its header */
	uint64_t buf_size;
	uint32_t buf_flags;
	uint32_t res1;
	uint64_t reserved[6];
} pfm_dfl_smpl_arg_t;

/* The header at the start of the sampling buffer. The first entry follows it directly. */
typedef struct {
	uint64_t hdr_count;         /* number of entries in the sampling buffer */
	uint64_t hdr_cur_offs;      /* bytes of the buffer that are in use, including this header */
	uint64_t hdr_overflows;     /* number of times that the sampling buffer became full */
	uint64_t hdr_buf_size;      /* size in bytes of the whole sampling buffer */
	/* size in bytes of the largest possible entry: if fewer bytes are free, the buffer is
	 * full */
	uint64_t hdr_min_buf_space;
	uint32_t hdr_version;
	uint32_t hdr_buf_flags;     /* copy of buf_flags of the argument */
	uint64_t hdr_reserved[10];
} pfm_dfl_smpl_hdr_t;

/* An entry of the sampling buffer, for one overflow. The values of the PMDs in reg_smpl_pmds follow
 * it, 64 bits each, in ascending order of the PMD's number. */
typedef struct {
	uint32_t pid;            /* thread id of the monitored thread */
	uint16_t ovfl_pmd;
	uint16_t reserved;
	/* value to which the PMD ovfl_pmd was last reset before this overflow */
	uint64_t last_reset_val;
	uint64_t ip;
	uint64_t tstamp;         /* time of the overflow on CLOCK_MONOTONIC, in ns */
	uint16_t cpu;
	uint16_t set;            /* id of the event set that was active */
	uint32_t tgid;           /* process id of the monitored thread */
} pfm_dfl_smpl_entry_t;

#define PFM_DFL_SMPL_VERSION_MAJ 1U
#define PFM_DFL_SMPL_VERSION_MIN 0U
#define PFM_DFL_SMPL_VERSION \
	(((PFM_DFL_SMPL_VERSION_MAJ & 0xffff) << 16) | (PFM_DFL_SMPL_VERSION_MIN & 0xffff))

#endif
