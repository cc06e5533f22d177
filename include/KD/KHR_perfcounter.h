/* KD/KHR_perfcounter.h - the OpenKODE extension KD_KHR_perfcounter, version 5: performance counters of this machine's CPUs,
 * GPUs and kernel, and of programs that supply some. Link with libgpustat.a; there is nothing to initialise.
 *
 * Counters stand in one list, which `gpustat counters` prints: first those with the names that the extension recommends,
 * then every other, named source/device/instance/quantity. An index means the same counter as long as the process lives;
 * kdGetNumberOfCountersKHR() looks for what is new, which is appended. A value is a whole number in the unit that the
 * description ends with, in parentheses. What a machine cannot tell is listed all the same, and unknown.
 *
 * Any thread may call any function: one call runs at a time, and all threads share the counters, which are active and
 * sampling or not for the process. The error indicator is each thread's own. A child of fork() has the counters as they
 * were; those of perf events still count for its parent's sampling. While another thread is in a call, fork() only to
 * execve().
 * SPDX-License-Identifier: MIT */
#ifndef KD_KHR_PERFCOUNTER_H
#define KD_KHR_PERFCOUNTER_H

#include <KD/kd.h>

#define KD_KHR_perfcounter 1

#ifdef __cplusplus
extern "C" {
#endif

#define KD_INFINITE_COUNTER_VAL_KHR KDINT64_MAX
#define KD_UNKNOWN_COUNTER_VAL_KHR  (-1)

/* Of one counter. The texts stay as they are, and where they are, as long as the process lives. */
typedef struct KDCounterInfoKHR {
	const KDchar *vendorName;   /* "linux", a driver, or the file of another program's counters */
	const KDchar *name;
	const KDchar *description;  /* what it is, and in parentheses the unit of its values */
	KDint64 minValue;
	KDint64 maxValue;           /* KD_INFINITE_COUNTER_VAL_KHR: no limit */
	KDfloat32 defaultScale;     /* times a value: 0 to 100; KD_UNKNOWN_COUNTER_VAL_KHR where there is no limit */
} KDCounterInfoKHR;

/* How many counters there are, with those that came since; -1: KD_EACCES, where neither /proc nor /sys may be read. */
KD_API KDint KD_APIENTRY kdGetNumberOfCountersKHR(void);

/* KD_NULL: KD_EINVAL, no such index. */
KD_API const KDCounterInfoKHR *KD_APIENTRY kdGetCounterInformationKHR(KDint index);

/* 0, or -1 and nothing is changed: KD_EINVAL, an index that is none, a negative count or no array (undefined in the text),
 * or one beyond 2^20; KD_EACCES, the kernel refuses one of them. One that this machine cannot read becomes active, and is
 * unknown. */
KD_API KDint KD_APIENTRY kdActivateCountersKHR(const KDint *indexes, KDint numindexes);
KD_API KDint KD_APIENTRY kdDeactivateCountersKHR(const KDint *indexes, KDint numindexes);

/* All values become 0 and those of active counters run from then on: also where sampling was on. Stopped, they stay as
 * they are. A counter that is activated while sampling is on starts at 0. */
KD_API KDint KD_APIENTRY kdStartSamplingKHR(void);
KD_API KDint KD_APIENTRY kdStopSamplingKHR(void);

/* The current values, in the order of the indexes, which may repeat. Rates and shares are of the time since the reading
 * before. KD_UNKNOWN_COUNTER_VAL_KHR: inactive, never started, vanished, or not to be had here. Errors as above: values is
 * left as it was. */
KD_API KDint KD_APIENTRY kdGetCounterValuesKHR(const KDint *indexes, KDint numindexes, KDint64 *values);

#ifdef __cplusplus
}
#endif

#endif
