/* khr.c - KD_KHR_perfcounter: the functions of KD/KHR_perfcounter.h over the catalogue.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#include <KD/KHR_perfcounter.h>

static _Thread_local KDint error;

KDint KD_APIENTRY kdGetError(void)
{
	return error;
}

void KD_APIENTRY kdSetError(KDint e)
{
	error = e;
}

static KDint fail(KDint e)
{
	error = e;
	return -1;
}

enum { MAX_INDEXES = 1 << 20 /* each counter 64 times: a longer list is a length gone wrong */ };

/* With the lock held. The list is made by whichever function is called first. 0, or the error. */
static KDint check(const KDint *indexes, KDint n)
{
	if (nnamed == 0 && catalog_refresh(ALL_SUPPLIERS) < 0)
		return KD_EACCES;
	if (n < 0 || n > MAX_INDEXES || (n > 0 && !indexes))
		return KD_EINVAL;
	for (KDint i = 0; i < n; i++)
		if (indexes[i] < 0 || (u32)indexes[i] >= nnamed)
			return KD_EINVAL;
	return 0;
}

KDint KD_APIENTRY kdGetNumberOfCountersKHR(void)
{
	KDint n;

	sys_lock(&lib_lock);
	n = catalog_refresh(ALL_SUPPLIERS) < 0 ? -1 : (KDint)nnamed;
	sys_unlock(&lib_lock);
	return n > 0 ? n : fail(n < 0 ? KD_EACCES : KD_ENOMEM); /* those that are recommended are everywhere */
}

static KDCounterInfoKHR *infos;
static TABLE(infos, MAX_NAMED, 64, "descriptions of counters");

/* NULL: there is no room. */
static const KDCounterInfoKHR *info_of(u32 i)
{
	const struct named *n = catalog_at(i);
	KDCounterInfoKHR *info;

	if (!table_has(&infos_table, i))
		return NULL;
	info = &infos[i];
	if (!info->name)
		*info = (KDCounterInfoKHR){
			.vendorName = n->vendor, .name = n->name, .description = n->what, .minValue = n->min, .maxValue = n->max,
			.defaultScale = n->max == INT64_MAX || n->max <= 0 ? KD_UNKNOWN_COUNTER_VAL_KHR : 100 / (KDfloat32)n->max,
		};
	return info;
}

const KDCounterInfoKHR *KD_APIENTRY kdGetCounterInformationKHR(KDint index)
{
	const KDCounterInfoKHR *info = NULL;
	KDint e;

	sys_lock(&lib_lock);
	e = check(&index, 1);
	if (e == 0 && !(info = info_of((u32)index)))
		e = KD_ENOMEM;
	sys_unlock(&lib_lock);
	if (e)
		fail(e);
	return info;
}

_Static_assert(sizeof(KDint) == sizeof(u32), "indexes that were checked are the catalogue's");

KDint KD_APIENTRY kdActivateCountersKHR(const KDint *indexes, KDint numindexes)
{
	KDint e;

	sys_lock(&lib_lock);
	e = check(indexes, numindexes);
	if (e == 0 && catalog_activate((const u32 *)indexes, (size_t)numindexes) < 0)
		e = KD_EACCES;
	sys_unlock(&lib_lock);
	return e ? fail(e) : 0;
}

KDint KD_APIENTRY kdDeactivateCountersKHR(const KDint *indexes, KDint numindexes)
{
	KDint e;

	sys_lock(&lib_lock);
	e = check(indexes, numindexes);
	for (KDint i = 0; e == 0 && i < numindexes; i++)
		catalog_deactivate((u32)indexes[i]);
	sys_unlock(&lib_lock);
	return e ? fail(e) : 0;
}

KDint KD_APIENTRY kdStartSamplingKHR(void)
{
	sys_lock(&lib_lock);
	catalog_start();
	sys_unlock(&lib_lock);
	return 0;
}

KDint KD_APIENTRY kdStopSamplingKHR(void)
{
	sys_lock(&lib_lock);
	catalog_stop();
	sys_unlock(&lib_lock);
	return 0;
}

KDint KD_APIENTRY kdGetCounterValuesKHR(const KDint *indexes, KDint numindexes, KDint64 *values)
{
	KDint e;

	sys_lock(&lib_lock);
	e = check(indexes, numindexes);
	if (e == 0 && numindexes > 0 && !values)
		e = KD_EINVAL;
	if (e == 0 && numindexes > 0)
		catalog_sample();
	for (KDint i = 0; e == 0 && i < numindexes; i++) {
		const struct named *n = catalog_at((u32)indexes[i]);

		values[i] = n->known ? n->value : KD_UNKNOWN_COUNTER_VAL_KHR;
	}
	sys_unlock(&lib_lock);
	return e ? fail(e) : 0;
}
