/* perfmon/perfmon.h - the perfmon2 interface as its overview describes it (v2.2), over
 * perf_event_open(2). Link with libperfmon2.a, libgpustat.a and -lpthread; no initialisation is
 * needed. perfmon(3) explains the differences. Programs written for v2.3 include
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
#include <sched.h> /* struct timespec, also with a compiler in C99 mode */

#ifdef __cplusplus
extern "C" {
#endif

#define PFM_VERSION_MIN 2U

typedef struct {
	pfm_uuid_t ctx_smpl_buf_id;   /* the sampling format; all zero: none */
	uint32_t ctx_flags;
	int ctx_fd;                   /* out */
	size_t ctx_smpl_buf_size;     /* out: bytes of the sampling buffer, to be mapped */
	uint64_t ctx_reserved3[4];
} pfarg_ctx_t;

typedef struct {
	uint16_t set_id;
	uint16_t set_id_next;         /* PFM_SETFL_EXPL_NEXT: the set after this one */
	uint32_t set_flags;
	struct timespec set_timeout;  /* PFM_SETFL_TIME_SWITCH; out: the rounded timeout */
	off_t set_mmap_offset;        /* out: 0 */
	uint64_t reserved[5];
} pfarg_setdesc_t;

typedef struct {
	uint16_t set_id;
	uint16_t set_id_next;
	uint32_t set_flags;
	uint64_t set_ovfl_pmds[PFM_PMD_BV]; /* PMDs that overflowed last */
	uint64_t set_runs;                  /* number of times it became the active set */
	struct timespec set_timeout;
	uint64_t set_act_duration;          /* ns; cycles in the original: see perfmon(3) */
	off_t set_mmap_offset;
	uint64_t reserved[4];
} pfarg_setinfo_t;

/* A message. read(2) returns one whole message per call. */
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
	uint32_t type; /* PFM_MSG_ */
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
