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
	/* source of the counter: "linux", the name of a kernel driver, or the name of the file in
	 * which a program supplies the counter */
	const KDchar *vendorName;
	const KDchar *name;
	/* description of the counter, then the capabilities required to read it, then its unit in
	 * parentheses */
	const KDchar *description;
	KDint64 minValue;
	/* largest value of the counter; KD_INFINITE_COUNTER_VAL_KHR if it has no upper limit */
	KDint64 maxValue;
	/* factor that scales a value of the counter to 0 to 100; KD_UNKNOWN_COUNTER_VAL_KHR if the
	 * values have no upper limit */
	KDfloat32 defaultScale;
} KDCounterInfoKHR;

/* Looks for new counters, and returns the number of all counters. Returns -1 on failure, with the
 * error KD_EACCES (neither /proc nor /sys can be read) or KD_ENOMEM. */
KD_API KDint KD_APIENTRY kdGetNumberOfCountersKHR(void);

/* Returns the description of the counter with this index. Returns KD_NULL on failure, with the
 * error KD_EINVAL (no such index), KD_EACCES or KD_ENOMEM. */
KD_API const KDCounterInfoKHR *KD_APIENTRY kdGetCounterInformationKHR(KDint index);

/* kdActivateCountersKHR() and kdDeactivateCountersKHR() make counters active or inactive. They
 * return 0. On failure they return -1, set the error of kdGetError(), and change no counter.
 * KD_EINVAL: an index is invalid, numindexes is negative or exceeds 2^20, or indexes is KD_NULL
 * (the specification of the extension does not define the last two cases). KD_EACCES: the kernel
 * refuses one of the counters. Two kinds of counters become active although they cannot be read,
 * and have the value KD_UNKNOWN_COUNTER_VAL_KHR: counters that this machine does not have, and
 * refused counters with a name that the extension recommends. */
KD_API KDint KD_APIENTRY kdActivateCountersKHR(const KDint *indexes, KDint numindexes);
KD_API KDint KD_APIENTRY kdDeactivateCountersKHR(const KDint *indexes, KDint numindexes);

/* kdStartSamplingKHR() sets the values of all counters to 0, even if sampling is on already; from
 * then on the active counters count. kdStopSamplingKHR() ends counting and keeps the values. A
 * counter that is activated while sampling is on starts at 0. Both functions always return 0. */
KD_API KDint KD_APIENTRY kdStartSamplingKHR(void);
KD_API KDint KD_APIENTRY kdStopSamplingKHR(void);

/* Stores the current value of the counter indexes[i] in values[i]; an index may occur more than
 * once. A rate or a percentage is computed over the time since the previous reading of the counter.
 * The value is KD_UNKNOWN_COUNTER_VAL_KHR if the counter is inactive, was never started or has
 * vanished, or if this machine does not have it. Returns 0, or -1 with an error of
 * kdActivateCountersKHR(); then values[] is unchanged. */
KD_API KDint KD_APIENTRY kdGetCounterValuesKHR(const KDint *indexes, KDint numindexes,
					       KDint64 *values);

#ifdef __cplusplus
}
#endif

#endif
