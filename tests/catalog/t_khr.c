/* t_khr.c - unit test of sources/catalog/khr.c: the arguments and errors of each function of
 * KHR_perfcounter.h, on a catalogue of four counters. SPDX-License-Identifier: MIT */
#include "../../sources/catalog/khr.c"

#include "tests/unit.h"

static struct named counters[] = {
	{ .vendor = "linux", .name = "share", .what = "a share (%)", .max = 100 },
	{ .vendor = "linux", .name = "large", .max = INT64_MAX, .known = true, .value = 7 },
	{ .vendor = "i915", .name = "signed", .min = INT64_MIN, .max = 0 },
	{ .vendor = "i915", .name = "refused", .max = 8 },
};

u32 nnamed;
static bool denied, empty;
static u32 activated, deactivated, samples, running;

long catalog_reach(u32 i)
{
	if (denied)
		return -EACCES;
	nnamed = empty ? 0 : LEN(counters);
	return i < nnamed ? 0 : -EINVAL;
}

long catalog_refresh(u32 providers)
{
	return providers == ALL_PROVIDERS ? catalog_reach(0) == -EACCES ? -EACCES : 0 : -EINVAL;
}

const struct named *catalog_at(u32 i)
{
	return &counters[i];
}

long catalog_activate(const u32 *is, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (is[i] == 3)
			return -EACCES;
	activated += (u32)n;
	return 0;
}

void catalog_deactivate(u32 i)
{
	deactivated += 1 + i;
}

void catalog_start(void) { running = 1; }
void catalog_stop(void) { running = 0; }
void catalog_sample(void) { samples++; }

/* True if a call returned -1 and set this error. */
static bool fails(KDint r, KDint e)
{
	bool is = r == -1 && kdGetError() == e;

	kdSetError(0);
	return is;
}

static void t_count(void)
{
	check(kdGetNumberOfCountersKHR() == 4, "four counters are listed");
	empty = true;
	check(fails(kdGetNumberOfCountersKHR(), KD_ENOMEM), "an empty list is the error KD_ENOMEM");
	denied = true;
	check(fails(kdGetNumberOfCountersKHR(), KD_EACCES), "without /proc and /sys: KD_EACCES");
	denied = empty = false;
}

static void t_information(void)
{
	const KDCounterInfoKHR *i = kdGetCounterInformationKHR(0);

	check(i && strcmp(i->vendorName, "linux") == 0 && strcmp(i->name, "share") == 0 &&
	      strcmp(i->description, "a share (%)") == 0 && i->minValue == 0 && i->maxValue == 100,
	      "the texts and limits of a counter");
	check(i->defaultScale == 1, "a share of at most 100 has the scale 1");
	check(kdGetCounterInformationKHR(0) == i,
	      "the pointer to the information of a counter does not change");
	i = kdGetCounterInformationKHR(1);
	check(i && i->defaultScale == KD_UNKNOWN_COUNTER_VAL_KHR,
	      "a counter without a limit has no scale");
	i = kdGetCounterInformationKHR(2);
	check(i && i->defaultScale == KD_UNKNOWN_COUNTER_VAL_KHR && i->minValue == INT64_MIN,
	      "a counter with the limit 0 has no scale");
	i = kdGetCounterInformationKHR(3);
	check(i && i->defaultScale == 12.5f, "a counter with the limit 8 has the scale 12.5");
	check(!kdGetCounterInformationKHR(4) && kdGetError() == KD_EINVAL,
	      "an index that is too large is KD_EINVAL");
	kdSetError(0);
	check(!kdGetCounterInformationKHR(-1) && kdGetError() == KD_EINVAL,
	      "a negative index is KD_EINVAL");
	kdSetError(0);
}

static void t_arguments(void)
{
	static const KDint good[] = { 0, 1, 0 }, bad[] = { 0, 4 }, negative[] = { 1, -1 };
	KDint64 v[4] = { 42, 42, 42, 42 };

	check(kdActivateCountersKHR(good, 3) == 0 && activated == 3,
	      "three counters are activated");
	check(kdActivateCountersKHR(NULL, 0) == 0 && kdDeactivateCountersKHR(NULL, 0) == 0 &&
	      kdGetCounterValuesKHR(NULL, 0, NULL) == 0 && samples == 0,
	      "an empty list of indexes is no error");
	check(fails(kdActivateCountersKHR(NULL, 1), KD_EINVAL),
	      "activate: a null pointer is KD_EINVAL");
	check(fails(kdActivateCountersKHR(good, -1), KD_EINVAL),
	      "activate: a negative number of indexes is KD_EINVAL");
	check(fails(kdActivateCountersKHR(good, MAX_INDEXES + 1), KD_EINVAL),
	      "activate: too many indexes are KD_EINVAL");
	check(fails(kdActivateCountersKHR(bad, 2), KD_EINVAL) && activated == 3,
	      "activate: an index that is too large is KD_EINVAL");
	check(fails(kdActivateCountersKHR(negative, 2), KD_EINVAL),
	      "activate: a negative index is KD_EINVAL");
	check(fails(kdActivateCountersKHR(&(KDint){ 3 }, 1), KD_EACCES),
	      "activate: a counter that is refused is KD_EACCES");
	check(fails(kdDeactivateCountersKHR(bad, 2), KD_EINVAL) && deactivated == 0,
	      "deactivate: an invalid index deactivates no counter");
	check(kdDeactivateCountersKHR(good, 3) == 0 && deactivated == 1 + 2 + 1,
	      "three counters are deactivated");
	check(fails(kdGetCounterValuesKHR(good, 3, NULL), KD_EINVAL) && samples == 0,
	      "values: a null pointer is KD_EINVAL");
	check(fails(kdGetCounterValuesKHR(bad, 2, v), KD_EINVAL) && samples == 0 && v[0] == 42,
	      "values: an invalid index writes no value");
	check(kdGetCounterValuesKHR(good, 3, v) == 0 && samples == 1,
	      "values: one reading for all counters");
	check(v[0] == KD_UNKNOWN_COUNTER_VAL_KHR && v[1] == 7 && v[2] == v[0] && v[3] == 42,
	      "values: an unknown value and a known one");
	denied = true;
	check(fails(kdActivateCountersKHR(good, -1), KD_EACCES),
	      "activate without /proc and /sys: KD_EACCES");
	denied = false;
}

int main(void)
{
	t_count();
	t_information();
	t_arguments();
	check(kdStartSamplingKHR() == 0 && running == 1, "sampling starts");
	check(kdStopSamplingKHR() == 0 && running == 0, "sampling stops");
	return unit_end();
}
