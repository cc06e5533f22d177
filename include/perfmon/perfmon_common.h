/* perfmon/perfmon_common.h - the common part of perfmon/perfmon.h (v2.2) and perfmon/perfmon_v2.h
 * (v2.3). Include one of those.
 * SPDX-License-Identifier: MIT */
#ifndef PERFMON_COMMON_H
#define PERFMON_COMMON_H

#include <stddef.h>
#include <gpustat/version.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PFM_API __attribute__((__visibility__("default")))

/* Limits of register numbers. PFM_MAX_HW_*: numbers of PMCs and PMDs of a PMU. After these there
 * are 64 numbers for virtual registers. */
#define PFM_MAX_HW_PMCS 256
#define PFM_MAX_HW_PMDS 256
#define PFM_MAX_PMCS    (PFM_MAX_HW_PMCS + 64)
#define PFM_MAX_PMDS    (PFM_MAX_HW_PMDS + 64)

#define PFM_BVSIZE(x)   (((x) + 63) / 64)
#define PFM_HW_PMD_BV   PFM_BVSIZE(PFM_MAX_HW_PMDS)
#define PFM_PMD_BV      PFM_BVSIZE(PFM_MAX_PMDS)
#define PFM_PMC_BV      PFM_BVSIZE(PFM_MAX_PMCS)

/* Flags for the member ctx_flags of pfarg_ctx_t. SYSTEM_WIDE: the context counts all threads of one
 * CPU. OVFL_NO_MSG: an overflow sends SIGIO, but no message. */
/* not supported: fails with EINVAL, because Linux cannot block a thread at an overflow */
#define PFM_FL_NOTIFY_BLOCK 0x01
#define PFM_FL_SYSTEM_WIDE  0x02
#define PFM_FL_MAP_SETS     0x10 /* not supported: fails with EINVAL, see perfmon(3) */
#define PFM_FL_OVFL_NO_MSG  0x80

/* Bits 0 to 15 of reg_flags, which the caller sets. OVFL_NOTIFY: an overflow of the PMD sends a
 * message. RANDOM: reset values are random, see reg_random_mask. NO_EMUL64 is not supported: the
 * register gets PFM_REG_RETFL_EINVAL, see perfmon(3). */
#define PFM_REGFL_OVFL_NOTIFY 0x1
#define PFM_REGFL_RANDOM      0x2
#define PFM_REGFL_NO_EMUL64   0x4

/* Bits 24 to 31 of reg_flags and set_flags, which the library sets. If a call fails with EINVAL,
 * they are the error of each element of the array that was passed. NOTAVAIL: the register exists,
 * but is not available now. EINVAL: no such register, or it cannot have this flag or bit vector.
 * NOSET: no such event set. */
#define PFM_REG_RETFL_NOTAVAIL 0x80000000U
#define PFM_REG_RETFL_EINVAL   0x40000000U
#define PFM_REG_RETFL_NOSET    0x20000000U
#define PFM_REG_RETFL_MASK \
	(PFM_REG_RETFL_NOTAVAIL | PFM_REG_RETFL_EINVAL | PFM_REG_RETFL_NOSET)
#define PFM_REG_HAS_ERROR(flags) (((flags) & PFM_REG_RETFL_MASK) != 0)

/* Flags for set_flags of an event set. OVFL_SWITCH: the next set becomes active at an overflow, see
 * reg_ovfl_switch_cnt. TIME_SWITCH: the next set becomes active after the time set_timeout.
 * EXPL_NEXT, only in v2.2: the next set is set_id_next. EXCL_IDLE: the set does not count while the
 * CPU is idle. */
#define PFM_SETFL_OVFL_SWITCH 0x1
#define PFM_SETFL_TIME_SWITCH 0x2
#define PFM_SETFL_EXPL_NEXT   0x4
#define PFM_SETFL_EXCL_IDLE   0x8

/* type of a message: a PMD with PFM_REGFL_OVFL_NOTIFY overflowed, or the sampling buffer is full */
#define PFM_MSG_OVFL 1
#define PFM_MSG_END  2 /* type of a message: the monitored thread has ended */

#define PFM_VERSION_MAJ      2U
#define PFM_VERSION          (((PFM_VERSION_MAJ & 0xffff) << 16) | (PFM_VERSION_MIN & 0xffff))
#define PFM_VERSION_MAJOR(x) (((x) >> 16) & 0xffff)
#define PFM_VERSION_MINOR(x) ((x) & 0xffff)

typedef unsigned char pfm_uuid_t[16];

typedef struct {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	uint64_t reg_value;
	uint64_t reg_reserved2[4];
} pfarg_pmc_t;

/* A PMD, a register that counts: its value, and what happens when the value overflows at 2^64. In
 * the bit vectors of PMDs, PMD n is bit n % 64 of word n / 64. */
typedef struct {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	/* value of the PMD; the program sets it to -p for a sampling period of p counts */
	uint64_t reg_value;
	/* value to which pfm_restart() resets the PMD, after an overflow at which counting
	 * stopped */
	uint64_t reg_long_reset;
	/* value to which the PMD is reset at an overflow after which counting continues */
	uint64_t reg_short_reset;
	uint64_t reg_last_reset_val; /* output: value to which the PMD was last set or reset */
	/* if the set has PFM_SETFL_OVFL_SWITCH: number of overflows of this PMD after which the
	 * next event set becomes active; 0: overflows of this PMD never cause that */
	uint64_t reg_ovfl_switch_cnt;
	/* bit vector of other PMDs that are reset when this PMD overflows */
	uint64_t reg_reset_pmds[PFM_PMD_BV];
	/* bit vector of PMDs that are recorded when this PMD overflows */
	uint64_t reg_smpl_pmds[PFM_PMD_BV];
	/* number chosen by the program; the library passes it to the sampling format
	 * (pmd_eventid) */
	uint64_t reg_smpl_eventid;
	/* with PFM_REGFL_RANDOM: bit mask of the random number that is subtracted from the reset
	 * value at each reset */
	uint64_t reg_random_mask;
	uint32_t reg_random_seed; /* seed of the random numbers; 0: the library chooses one */
	uint32_t reg_reserved2[7];
} pfarg_pmd_t;

typedef struct {
	uint16_t start_set;
	uint16_t start_reserved1;
	uint32_t start_reserved2;
	uint64_t reserved3[3];
} pfarg_start_t;

typedef struct {
	/* thread to monitor; with PFM_FL_SYSTEM_WIDE the CPU in v2.3; in v2.2 it is not used, and
	 * the context monitors the CPU on which the call runs */
	uint32_t load_pid;
	uint16_t load_set;
	uint16_t load_reserved1;
	uint64_t load_reserved2[3];
} pfarg_load_t;

/* The functions from here to pfm_unload_context() return 0, or -1 and set errno. EBADF: fd is no
 * context; EFAULT: a null pointer; EINVAL: count is not in 1 to 4096, an element of the array has
 * an error in its flags (PFM_REG_RETFL_*), or the context must be loaded for this call; EBUSY: the
 * context is loaded already, or pfm_restart() has nothing to restart. perfmon(3) lists the other
 * errors. */
PFM_API int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int count);
PFM_API int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int count);
PFM_API int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int count);
PFM_API int pfm_load_context(int fd, pfarg_load_t *load);
/* start->start_set is the event set that counts first; start = NULL: the set that is active */
PFM_API int pfm_start(int fd, pfarg_start_t *start);
PFM_API int pfm_stop(int fd);
PFM_API int pfm_restart(int fd);
PFM_API int pfm_unload_context(int fd);

/* Calls mmap(2). If fd is a context, the context's sampling buffer is mapped instead, for reading
 * only, and both MAP_PRIVATE and MAP_SHARED show samples as they arrive. The macro mmap() calls
 * this function, so that programs written for perfmon2 can map their buffer with mmap(): the
 * descriptor of a context is a socket, which the kernel does not map. A program that does not want
 * the macro defines PFM_NO_MMAP before it includes this header. */
PFM_API void *pfm_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
#ifndef PFM_NO_MMAP
#define mmap(addr, length, prot, flags, fd, offset) pfm_mmap(addr, length, prot, flags, fd, offset)
#endif

#ifdef __cplusplus
}
#endif

#endif
