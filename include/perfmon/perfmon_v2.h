/* perfmon/perfmon_v2.h - version 2.3 of the perfmon2 interface, for which the last programs with
 * perfmon2 were written, over perf_event_open(2). Link with libperfmon2.a, libgpustat.a and
 * -lpthread; no initialisation is needed. perfmon(3) explains the differences.
 * SPDX-License-Identifier: MIT */
#ifndef PERFMON_PERFMON_V2_H
#define PERFMON_PERFMON_V2_H
#ifdef PERFMON_PERFMON_H
#error "perfmon/perfmon.h and perfmon/perfmon_v2.h have structures of the same names: include one"
#endif

#include <perfmon/perfmon_common.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PFM_VERSION_MIN 3U

typedef struct {
	uint32_t ctx_flags;
	uint32_t ctx_reserved1;
	uint64_t ctx_reserved3[7];
} pfarg_ctx_t;

typedef struct {
	uint16_t set_id;
	uint16_t set_reserved1;
	uint32_t set_flags;
	/* with PFM_SETFL_TIME_SWITCH: time in ns after which the next set becomes active; output:
	 * this time, rounded up to timer ticks */
	uint64_t set_timeout;
	uint64_t reserved[6];
} pfarg_setdesc_t;

typedef struct {
	uint16_t set_id;
	uint16_t set_reserved1;
	uint32_t set_flags;
	/* bit vector of the PMDs that overflowed at the last overflow of the set */
	uint64_t set_ovfl_pmds[PFM_PMD_BV];
	/* number of times that the set became active since the context was loaded */
	uint64_t set_runs;
	uint64_t set_timeout;               /* time in ns until the next set becomes active */
	/* time in ns for which the set was active since the context was loaded */
	uint64_t set_act_duration;
	uint64_t set_avail_pmcs[PFM_PMC_BV];
	uint64_t set_avail_pmds[PFM_PMD_BV];
	uint64_t set_reserved3[6];
} pfarg_setinfo_t;

/* A message about an overflow. A read(2) of the context's descriptor returns exactly one
 * message. */
typedef struct {
	uint32_t msg_type;
	uint32_t msg_ovfl_pid;
	uint16_t msg_active_set;
	uint16_t msg_ovfl_cpu;
	uint32_t msg_ovfl_tid;
	uint64_t msg_ovfl_ip;
	uint64_t msg_ovfl_pmds[PFM_PMD_BV];
} pfarg_ovfl_msg_t;

typedef union {
	uint32_t type; /* PFM_MSG_OVFL or PFM_MSG_END: type of the message */
	pfarg_ovfl_msg_t pfm_ovfl_msg;
} pfarg_msg_t;

/* The functions below exist in v2.2, too, with other arguments. So the library has the functions of
 * v2.3 under other names, which these macros select. */
#define pfm_create_context  pfm_v23_create_context
#define pfm_create_evtsets  pfm_v23_create_evtsets
#define pfm_delete_evtsets  pfm_v23_delete_evtsets
#define pfm_getinfo_evtsets pfm_v23_getinfo_evtsets

/* Creates a context and returns its descriptor, which the program closes; on failure returns -1 and
 * sets errno. smpl_name is the name of a sampling format; NULL: the context has none. smpl_arg, of
 * smpl_size bytes, is the argument for the format. EINVAL: unknown name, unsupported flag or wrong
 * smpl_size; EFAULT: a null pointer; ENOMEM: a table is full or the buffer is too large. */
PFM_API int pfm_create_context(pfarg_ctx_t *ctx, char *smpl_name, void *smpl_arg, size_t smpl_size);
PFM_API int pfm_create_evtsets(int fd, pfarg_setdesc_t *sets, int count);
PFM_API int pfm_delete_evtsets(int fd, pfarg_setdesc_t *sets, int count);
PFM_API int pfm_getinfo_evtsets(int fd, pfarg_setinfo_t *infos, int count);

#ifdef __cplusplus
}
#endif

#endif
