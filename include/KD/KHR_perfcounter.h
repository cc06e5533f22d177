/* KD/KHR_perfcounter.h - the OpenKODE extension KD_KHR_perfcounter, version 5: performance counters
 * of this machine's CPUs, GPUs and kernel, and of programs that supply counters. Link with
 * libgpustat.a; no initialisation is needed.
 *
 * There is one list of counters, which `gpustat counters -v` prints: first the counters with the
 * names that the extension recommends, then all others, named source/device/instance/quantity. An
 * index means the same counter as long as the process lives; kdGetNumberOfCountersKHR() looks for
 * new counters and appends them. A value is an integer. The description ends with the unit in
 * parentheses; before the unit, "; requires CAP_PERFMON" names a right that reading the counter
 * requires. Counters that a machine cannot read are listed too, and are unknown.
 *
 * Any thread may call any function: one call runs at a time. All threads share the counters:
 * whether a counter is active, and whether sampling is on, applies to the whole process. Each
 * thread has its own error indicator. A child of fork() starts with the counters of its parent, and
 * has its own counters from then on; its counters of perf events still count for the sampling of
 * the parent. While another thread is in a call, use fork() only together with execve().
 * SPDX-License-Identifier: MIT */
#ifndef KD_KHR_PERFCOUNTER_H
#define KD_KHR_PERFCOUNTER_H

#include <KD/kd.h>
#include <gpustat/version.h>

#define KD_KHR_perfcounter 1

#ifdef __cplusplus
extern "C" {
#endif

#define KD_INFINITE_COUNTER_VAL_KHR KDINT64_MAX
#define KD_UNKNOWN_COUNTER_VAL_KHR  (-1)

/* Description of one counter. The texts keep their content and address as long as the process
 * lives. */
typedef struct KDCounterInfoKHR {
	const KDchar *vendorName;   /* "linux", a driver, or a file with a program's counters */
	const KDchar *name;
	/* text, rights that reading requires, and the unit in parentheses */
	const KDchar *description;
	KDint64 minValue;
	KDint64 maxValue;           /* KD_INFINITE_COUNTER_VAL_KHR if there is no upper limit */
	/* value * defaultScale is between 0 and 100. KD_UNKNOWN_COUNTER_VAL_KHR if the values have
	 * no upper limit */
	KDfloat32 defaultScale;
} KDCounterInfoKHR;

/* Looks for new counters, and returns the number of all counters. Returns -1 on failure, with the
 * error KD_EACCES (neither /proc nor /sys can be read) or KD_ENOMEM. */
KD_API KDint KD_APIENTRY kdGetNumberOfCountersKHR(void);

/* Returns the description of the counter with this index. Returns KD_NULL on failure, with the
 * error KD_EINVAL (no such index), KD_EACCES or KD_ENOMEM. */
KD_API const KDCounterInfoKHR *KD_APIENTRY kdGetCounterInformationKHR(KDint index);

/* These two functions make counters active or inactive. They return 0, or -1 with an error, and
 * then no counter is changed. KD_EINVAL: an invalid index, a negative number of indexes or no array
 * (undefined in the text of the extension), or more than 2^20 indexes; KD_EACCES: the kernel
 * refuses one of the counters. A counter that this machine cannot read, or that is refused and has
 * a recommended name, becomes active, and is unknown. */
KD_API KDint KD_APIENTRY kdActivateCountersKHR(const KDint *indexes, KDint numindexes);
KD_API KDint KD_APIENTRY kdDeactivateCountersKHR(const KDint *indexes, KDint numindexes);

/* kdStartSamplingKHR() sets the values of all counters to 0, also if sampling was on; the active
 * counters count from then on. After kdStopSamplingKHR() all values stay as they are. A counter
 * that is activated while sampling is on starts at 0. */
KD_API KDint KD_APIENTRY kdStartSamplingKHR(void);
KD_API KDint KD_APIENTRY kdStopSamplingKHR(void);

/* Stores the current values of counters in values[], in the order of the indexes; an index may
 * occur more than once. Rates and shares apply to the time since the previous reading. The value is
 * KD_UNKNOWN_COUNTER_VAL_KHR if the counter is inactive, was never started or has vanished, or if
 * this machine does not have it. Errors are those of kdActivateCountersKHR(); values[] is not
 * changed then. */
KD_API KDint KD_APIENTRY kdGetCounterValuesKHR(const KDint *indexes, KDint numindexes,
					       KDint64 *values);

#ifdef __cplusplus
}
#endif

#endif
