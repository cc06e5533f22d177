/* perfmon/perfmon.h - version 2.2 of the perfmon2 interface, which the overview of perfmon2
 * describes, over perf_event_open(2). Link with libperfmon2.a, libgpustat.a and -lpthread; no
 * initialisation is needed. perfmon(3) explains the differences. Programs written for v2.3 include
 * perfmon/perfmon_v2.h instead, or define PFM_V23 before this header.
 * SPDX-License-Identifier: MIT */
#ifdef PFM_V23
#include <perfmon/perfmon_v2.h>
#elif !defined(PERFMON_PERFMON_H)
#define PERFMON_PERFMON_H
#ifdef PERFMON_PERFMON_V2_H
#error "perfmon/perfmon.h and perfmon/perfmon_v2.h have structures of the same names: include one"
#endif

#include <perfmon/perfmon_common.h>
#include <sched.h> /* defines struct timespec, also in C99 mode of the compiler */

#ifdef __cplusplus
extern "C" {
#endif

#define PFM_VERSION_MIN 2U

typedef struct {
	pfm_uuid_t ctx_smpl_buf_id;   /* UUID of the sampling format; all zero: no format */
	uint32_t ctx_flags;
	int ctx_fd;                   /* out: descriptor of the context */
	size_t ctx_smpl_buf_size;     /* out: bytes of the sampling buffer, to be mapped */
	uint64_t ctx_reserved3[4];
} pfarg_ctx_t;

typedef struct {
	uint16_t set_id;
	uint16_t set_id_next;         /* with PFM_SETFL_EXPL_NEXT: the set that follows this one */
	uint32_t set_flags;
	struct timespec set_timeout;  /* with PFM_SETFL_TIME_SWITCH; out: the rounded timeout */
	off_t set_mmap_offset;        /* out: always 0 */
	uint64_t reserved[5];
} pfarg_setdesc_t;

typedef struct {
	uint16_t set_id;
	uint16_t set_id_next;
	uint32_t set_flags;
	uint64_t set_ovfl_pmds[PFM_PMD_BV]; /* PMDs that overflowed last */
	uint64_t set_runs;                  /* number of times that the set became active */
	struct timespec set_timeout;
	/* time for which the set was active, in ns; in cycles in the original perfmon2: see
	 * perfmon(3) */
	uint64_t set_act_duration;
	off_t set_mmap_offset;
	uint64_t reserved[4];
} pfarg_setinfo_t;

/* A message of a context. read(2) on the descriptor of the context returns one whole message per
 * call. */
typedef struct {
	uint32_t msg_type;
	pid_t msg_ovfl_pid;
	uint64_t msg_ovfl_pmds[PFM_HW_PMD_BV];
	uint16_t msg_active_set;
	uint16_t msg_ovfl_cpu;
	pid_t msg_ovfl_tid;
	uint64_t msg_ovfl_ip;
} pfm_ovfl_msg_t;

typedef union {
	uint32_t type; /* PFM_MSG_OVFL or PFM_MSG_END */
	pfm_ovfl_msg_t pfm_ovfl_msg;
} pfm_msg_t;

/* Returns the descriptor of a new context, and stores it in ctx_fd. smpl_arg, of smpl_size bytes,
 * is the argument of the sampling format. */
PFM_API int pfm_create_context(pfarg_ctx_t *ctx, void *smpl_arg, size_t smpl_size);
PFM_API int pfm_create_evtsets(int fd, pfarg_setdesc_t *sets, int count);
PFM_API int pfm_delete_evtsets(int fd, pfarg_setdesc_t *sets, int count);
PFM_API int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *infos, int count);

#ifdef __cplusplus
}
#endif

#endif
