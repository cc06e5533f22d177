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
#include <sched.h> /* defines struct timespec, even if the compiler is in C99 mode */

#ifdef __cplusplus
extern "C" {
#endif

#define PFM_VERSION_MIN 2U

typedef struct {
	/* UUID of the sampling format; all bytes 0: the context has no sampling format */
	pfm_uuid_t ctx_smpl_buf_id;
	uint32_t ctx_flags;
	int ctx_fd; /* output: descriptor of the new context, which the program closes */
	/* output: size in bytes of the sampling buffer, which the program can map */
	size_t ctx_smpl_buf_size;
	uint64_t ctx_reserved3[4];
} pfarg_ctx_t;

typedef struct {
	uint16_t set_id;
	/* with PFM_SETFL_EXPL_NEXT: id of the event set that becomes active after this set */
	uint16_t set_id_next;
	uint32_t set_flags;
	/* with PFM_SETFL_TIME_SWITCH: time after which the next set becomes active; output: this
	 * time, rounded up to timer ticks */
	struct timespec set_timeout;
	off_t set_mmap_offset;        /* output: always 0, because sets cannot be mapped */
	uint64_t reserved[5];
} pfarg_setdesc_t;

typedef struct {
	uint16_t set_id;
	uint16_t set_id_next;
	uint32_t set_flags;
	/* bit vector of the PMDs that overflowed at the last overflow of the set */
	uint64_t set_ovfl_pmds[PFM_PMD_BV];
	/* number of times that the set became active since the context was loaded */
	uint64_t set_runs;
	struct timespec set_timeout;
	/* time in ns for which the set was active since the context was loaded (the original
	 * perfmon2 has cycles: see perfmon(3)) */
	uint64_t set_act_duration;
	off_t set_mmap_offset;
	uint64_t reserved[4];
} pfarg_setinfo_t;

/* A message about an overflow. A read(2) of the context's descriptor returns exactly one
 * message. */
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
	uint32_t type; /* PFM_MSG_OVFL or PFM_MSG_END: type of the message */
	pfm_ovfl_msg_t pfm_ovfl_msg;
} pfm_msg_t;

/* Creates a context. Returns its descriptor, and stores it in ctx->ctx_fd; on failure returns -1
 * and sets errno. smpl_arg, of smpl_size bytes, is the argument for the sampling format that
 * ctx->ctx_smpl_buf_id selects. EINVAL: unknown UUID, unsupported flag or wrong smpl_size; EFAULT:
 * a null pointer; ENOMEM: a table is full or the buffer is too large. */
PFM_API int pfm_create_context(pfarg_ctx_t *ctx, void *smpl_arg, size_t smpl_size);
PFM_API int pfm_create_evtsets(int fd, pfarg_setdesc_t *sets, int count);
PFM_API int pfm_delete_evtsets(int fd, pfarg_setdesc_t *sets, int count);
PFM_API int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *infos, int count);

#ifdef __cplusplus
}
#endif

#endif
