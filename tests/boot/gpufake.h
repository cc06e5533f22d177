/* SPDX-License-Identifier: GPL-2.0 OR MIT */
/* The ioctls with which init.c sets the values that fake.ko reports for one client. */
#ifndef GPUFAKE_H
#define GPUFAKE_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#include <linux/types.h>
typedef __u32 fake_u32;
typedef __s64 fake_s64;
typedef __u64 fake_u64;
#else
#include <stdint.h>
#include <sys/ioctl.h>
typedef uint32_t fake_u32;
typedef int64_t fake_s64;
typedef uint64_t fake_u64;
#endif

#define FAKE_ENGINES 8
#define FAKE_TEXT 1024

/* Which keys an engine prints; the three dialects of real drivers are combinations of these. */
#define FAKE_NS       1u	/* drm-engine-X: N ns */
#define FAKE_CYCLES   2u	/* drm-cycles-X */
#define FAKE_TOTAL    4u	/* drm-total-cycles-X */
#define FAKE_MAXFREQ  8u	/* drm-maxfreq-X */
#define FAKE_CURFREQ 16u	/* drm-curfreq-X */

#define FAKE_DIALECT_NS  FAKE_NS			/* i915, amdgpu, v3d */
#define FAKE_DIALECT_XE  (FAKE_CYCLES | FAKE_TOTAL)
#define FAKE_DIALECT_MSM (FAKE_NS | FAKE_CYCLES | FAKE_MAXFREQ)

/*
 * From this call on, the engine is busy for `ppm` millionths of capacity x time. The counters are
 * computed from the clock when they are read, so they are exact to the nanosecond. A second call
 * for the same name keeps the accumulated values and changes the rate.
 */
struct fake_engine {
	char name[32];
	fake_u32 keys;		/* FAKE_NS | ... */
	fake_u32 ppm;
	fake_u32 capacity;	/* printed when above 1 */
	fake_u32 pad;
	/* Hz: of the busy cycles (with FAKE_TOTAL: of the total cycles, busy or not) */
	fake_u64 freq;
	fake_u64 maxfreq;	/* Hz */
};

/* Offsets added to the printed ns, cycles and total cycles (results stay at or above 0): used for
 * counters that go backwards. */
struct fake_shift {
	fake_s64 ns, cycles, total;
};

/* Lines that fdinfo prints verbatim after the engines: memory, driver-specific, nonsense. */
struct fake_text {
	char text[FAKE_TEXT];
};

/* on: keeps the device awake, as running work does. Closing the client ends it. */
struct fake_hold {
	fake_u32 on;
};

#define FAKE_IOC(nr, type) _IOW('d', 0x40 + (nr), type)	/* 0x40: DRM_COMMAND_BASE */
#define FAKE_IOC_ENGINE FAKE_IOC(0, struct fake_engine)
#define FAKE_IOC_SHIFT  FAKE_IOC(1, struct fake_shift)
#define FAKE_IOC_TEXT   FAKE_IOC(2, struct fake_text)
#define FAKE_IOC_HOLD   FAKE_IOC(3, struct fake_hold)

#endif
