/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The requests of v3d and msm that count for all programs, as in include/uapi/drm/v3d_drm.h and
 * msm_drm.h of Linux 7.2. Where the including file has included an older header of the kernel, they
 * are compared with it. */
#ifndef CTRFAKE_H
#define CTRFAKE_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#include <linux/stddef.h>
#include <linux/types.h>
typedef __u8 ctr_u8;
typedef __u32 ctr_u32;
typedef __u64 ctr_u64;
#else
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
typedef uint8_t ctr_u8;
typedef uint32_t ctr_u32;
typedef uint64_t ctr_u64;
#endif

struct ctr_v3d_param { ctr_u32 param, pad; ctr_u64 value; };
struct ctr_v3d_create { ctr_u32 id, n; ctr_u8 counters[32]; };
struct ctr_v3d_values { ctr_u32 id, pad; ctr_u64 values; };
struct ctr_v3d_counter { ctr_u8 counter; char name[64], category[32], description[256]; ctr_u8 reserved[7]; };
struct ctr_v3d_global { ctr_u32 flags, id; };
struct ctr_msm_param { ctr_u32 pipe, param; ctr_u64 value; ctr_u32 len, pad; };
struct ctr_msm_group { char name[16]; ctr_u32 n, pad; ctr_u64 countables; };
struct ctr_msm_config { ctr_u32 flags, n; ctr_u64 groups, period; ctr_u32 shift, stride; };

/* 0x40 is DRM_COMMAND_BASE. */
#define CTR_V3D_GET_PARAM   _IOWR('d', 0x40 + 0x04, struct ctr_v3d_param)
#define CTR_V3D_CREATE      _IOWR('d', 0x40 + 0x08, struct ctr_v3d_create)
#define CTR_V3D_DESTROY     _IOWR('d', 0x40 + 0x09, ctr_u32)
#define CTR_V3D_GET_VALUES  _IOWR('d', 0x40 + 0x0a, struct ctr_v3d_values)
#define CTR_V3D_GET_COUNTER _IOWR('d', 0x40 + 0x0c, struct ctr_v3d_counter)
#define CTR_V3D_SET_GLOBAL  _IOW('d', 0x40 + 0x0d, struct ctr_v3d_global)
#define CTR_MSM_GET_PARAM   _IOWR('d', 0x40 + 0x00, struct ctr_msm_param)
#define CTR_MSM_CONFIG      _IOW('d', 0x40 + 0x0e, struct ctr_msm_config)

_Static_assert(CTR_V3D_GET_PARAM == 0xc0106444 && CTR_V3D_CREATE == 0xc0286448 && CTR_V3D_DESTROY == 0xc0046449 &&
	       CTR_V3D_GET_VALUES == 0xc010644a && CTR_V3D_GET_COUNTER == 0xc168644c && CTR_V3D_SET_GLOBAL == 0x4008644d,
	       "the numbers of v3d");
_Static_assert(CTR_MSM_GET_PARAM == 0xc0186440 && CTR_MSM_CONFIG == 0x4020644e && sizeof(struct ctr_msm_group) == 32,
	       "the numbers of msm");

#define CTR_SAME(own, kernel) _Static_assert((own) == (kernel), #kernel)
#ifdef DRM_IOCTL_V3D_PERFMON_CREATE
CTR_SAME(CTR_V3D_GET_PARAM, DRM_IOCTL_V3D_GET_PARAM);
CTR_SAME(CTR_V3D_CREATE, DRM_IOCTL_V3D_PERFMON_CREATE);
CTR_SAME(CTR_V3D_DESTROY, DRM_IOCTL_V3D_PERFMON_DESTROY);
CTR_SAME(CTR_V3D_GET_VALUES, DRM_IOCTL_V3D_PERFMON_GET_VALUES);
CTR_SAME(offsetof(struct ctr_v3d_create, counters), offsetof(struct drm_v3d_perfmon_create, counters));
CTR_SAME(offsetof(struct ctr_v3d_values, values), offsetof(struct drm_v3d_perfmon_get_values, values_ptr));
#endif
#ifdef DRM_IOCTL_V3D_PERFMON_GET_COUNTER
CTR_SAME(CTR_V3D_GET_COUNTER, DRM_IOCTL_V3D_PERFMON_GET_COUNTER);
CTR_SAME(offsetof(struct ctr_v3d_counter, name), offsetof(struct drm_v3d_perfmon_get_counter, name));
CTR_SAME(offsetof(struct ctr_v3d_counter, description), offsetof(struct drm_v3d_perfmon_get_counter, description));
#endif
#ifdef DRM_IOCTL_V3D_PERFMON_SET_GLOBAL
CTR_SAME(CTR_V3D_SET_GLOBAL, DRM_IOCTL_V3D_PERFMON_SET_GLOBAL);
CTR_SAME(offsetof(struct ctr_v3d_global, id), offsetof(struct drm_v3d_perfmon_set_global, id));
#endif
#ifdef DRM_IOCTL_MSM_GET_PARAM
CTR_SAME(CTR_MSM_GET_PARAM, DRM_IOCTL_MSM_GET_PARAM);
CTR_SAME(offsetof(struct ctr_msm_param, value), offsetof(struct drm_msm_param, value));
CTR_SAME(3, MSM_PARAM_CHIP_ID);
#endif
#ifdef DRM_IOCTL_MSM_PERFCNTR_CONFIG
CTR_SAME(CTR_MSM_CONFIG, DRM_IOCTL_MSM_PERFCNTR_CONFIG);
CTR_SAME(sizeof(struct ctr_msm_group), sizeof(struct drm_msm_perfcntr_group));
CTR_SAME(offsetof(struct ctr_msm_group, countables), offsetof(struct drm_msm_perfcntr_group, countables));
CTR_SAME(offsetof(struct ctr_msm_config, period), offsetof(struct drm_msm_perfcntr_config, period));
#endif

#endif
