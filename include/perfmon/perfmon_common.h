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

/* Upper limits of register numbers: registers of a PMU (HW), and 64 virtual registers after
 * them. */
#define PFM_MAX_HW_PMCS 256
#define PFM_MAX_HW_PMDS 256
#define PFM_MAX_PMCS    (PFM_MAX_HW_PMCS + 64)
#define PFM_MAX_PMDS    (PFM_MAX_HW_PMDS + 64)

#define PFM_BVSIZE(x)   (((x) + 63) / 64)
#define PFM_HW_PMD_BV   PFM_BVSIZE(PFM_MAX_HW_PMDS)
#define PFM_PMD_BV      PFM_BVSIZE(PFM_MAX_PMDS)
#define PFM_PMC_BV      PFM_BVSIZE(PFM_MAX_PMCS)

/* Flags of ctx_flags in pfarg_ctx_t. */
#define PFM_FL_NOTIFY_BLOCK 0x01 /* fails with EINVAL: Linux blocks no thread at an overflow */
#define PFM_FL_SYSTEM_WIDE  0x02
#define PFM_FL_MAP_SETS     0x10 /* fails with EINVAL: see perfmon(3) */
#define PFM_FL_OVFL_NO_MSG  0x80

/* Bits 0 to 15 of reg_flags: what the program requests. NO_EMUL64 fails with PFM_REG_RETFL_EINVAL:
 * see perfmon(3). */
#define PFM_REGFL_OVFL_NOTIFY 0x1
#define PFM_REGFL_RANDOM      0x2
#define PFM_REGFL_NO_EMUL64   0x4

/* Bits 24 to 31 of reg_flags and set_flags: if a call fails with EINVAL, the error of each element
 * of the array that was passed. NOTAVAIL: the register exists, but is not available now. EINVAL: no
 * such register, or a flag or vector that it cannot have. NOSET: no such set. */
#define PFM_REG_RETFL_NOTAVAIL 0x80000000U
#define PFM_REG_RETFL_EINVAL   0x40000000U
#define PFM_REG_RETFL_NOSET    0x20000000U
#define PFM_REG_RETFL_MASK \
	(PFM_REG_RETFL_NOTAVAIL | PFM_REG_RETFL_EINVAL | PFM_REG_RETFL_NOSET)
#define PFM_REG_HAS_ERROR(flags) (((flags) & PFM_REG_RETFL_MASK) != 0)

/* Flags of set_flags. EXPL_NEXT exists only in v2.2, where a set can name the event set that
 * follows it. */
#define PFM_SETFL_OVFL_SWITCH 0x1
#define PFM_SETFL_TIME_SWITCH 0x2
#define PFM_SETFL_EXPL_NEXT   0x4
#define PFM_SETFL_EXCL_IDLE   0x8

#define PFM_MSG_OVFL 1 /* a PMD with PFM_REGFL_OVFL_NOTIFY overflowed, or the buffer is full */
#define PFM_MSG_END  2 /* the monitored thread ended */

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

/* A PMD: its value, and what happens when it overflows. In vectors, register n is bit n % 64 of
 * word n / 64. */
typedef struct {
	uint16_t reg_num;
	uint16_t reg_set;
	uint32_t reg_flags;
	uint64_t reg_value;                  /* value of the PMD; -p for a sampling period of p */
	/* value that pfm_restart() sets after an overflow with a message */
	uint64_t reg_long_reset;
	/* value that is set after an overflow without a message */
	uint64_t reg_short_reset;
	uint64_t reg_last_reset_val;         /* out: value from which the PMD last started */
	/* with PFM_SETFL_OVFL_SWITCH: number of overflows after which the next event set becomes
	 * active; 0: this PMD never causes that */
	uint64_t reg_ovfl_switch_cnt;
	uint64_t reg_reset_pmds[PFM_PMD_BV]; /* other PMDs to reset when this one overflows */
	uint64_t reg_smpl_pmds[PFM_PMD_BV];  /* other PMDs to record when this one overflows */
	uint64_t reg_smpl_eventid;           /* any number; the sampling format gets it */
	/* with PFM_REGFL_RANDOM: each reset sets the reset value - (random number &
	 * reg_random_mask) */
	uint64_t reg_random_mask;
	uint32_t reg_random_seed;            /* 0: the library chooses the seed */
	uint32_t reg_reserved2[7];
} pfarg_pmd_t;

typedef struct {
	uint16_t start_set;
	uint16_t start_reserved1;
	uint32_t start_reserved2;
	uint64_t reserved3[3];
} pfarg_start_t;

typedef struct {
	uint32_t load_pid; /* thread; with PFM_FL_SYSTEM_WIDE the CPU (v2.3), or unused (v2.2) */
	uint16_t load_set;
	uint16_t load_reserved1;
	uint64_t load_reserved2[3];
} pfarg_load_t;

/* The functions up to pfm_unload_context() return 0, or -1 and set errno. */
PFM_API int pfm_write_pmcs(int fd, pfarg_pmc_t *pmcs, int count);
PFM_API int pfm_write_pmds(int fd, pfarg_pmd_t *pmds, int count);
PFM_API int pfm_read_pmds(int fd, pfarg_pmd_t *pmds, int count);
PFM_API int pfm_load_context(int fd, pfarg_load_t *load);
PFM_API int pfm_start(int fd, pfarg_start_t *start); /* start may be NULL */
PFM_API int pfm_stop(int fd);
PFM_API int pfm_restart(int fd);
PFM_API int pfm_unload_context(int fd);

/* Does mmap(2); for the descriptor of a context it maps the sampling buffer. That descriptor is a
 * socket, which the kernel does not map: so that a program written for perfmon2 gets its buffer
 * with mmap(), the name mmap is a macro. Both MAP_PRIVATE and MAP_SHARED show samples as they
 * arrive. A program that does not want this macro defines PFM_NO_MMAP before it includes the
 * header. */
PFM_API void *pfm_mmap(void *addr, size_t length, int prot, int flags, int fd, off_t offset);
#ifndef PFM_NO_MMAP
#define mmap(addr, length, prot, flags, fd, offset) pfm_mmap(addr, length, prot, flags, fd, offset)
#endif

#ifdef __cplusplus
}
#endif

#endif
