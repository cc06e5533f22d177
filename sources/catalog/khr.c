/* khr.c - the library for KD_KHR_perfcounter: the functions of KD/KHR_perfcounter.h, on top of
 * catalog.c. SPDX-License-Identifier: MIT */
#include "sources/os/os.h"
#include "sources/catalog/catalog.h"
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

/* Maximum length of the array of counter indexes that a caller passes to a function of the library.
 * An array may name a counter several times: 64 times as many as there can be counters. */
enum { MAX_INDEXES = 64 * MAX_NAMED };

/* Checks the array of n counter indexes that was passed to a function of the library. Returns 0 or
 * a KD_E* error. The list of counters is filled only up to the highest index in the array. The
 * caller holds lib_lock. */
static KDint arguments_check(const KDint *indexes, KDint n)
{
	if (catalog_reach(0) == -EACCES)
		return KD_EACCES;
	if (n < 0 || n > MAX_INDEXES || (n > 0 && !indexes))
		return KD_EINVAL;
	for (KDint i = 0; i < n; i++)
		if (indexes[i] < 0 || catalog_reach((u32)indexes[i]) < 0)
			return KD_EINVAL;
	return 0;
}

KDint KD_APIENTRY kdGetNumberOfCountersKHR(void)
{
	KDint n;

	sys_lock(&lib_lock);
	/* If the list of counters was begun by catalog_reach(), complete it by catalog_reach(), so
	 * that the order of counters does not depend on the order in which the library's functions
	 * are called. */
	if (nnamed)
		catalog_reach(UINT32_MAX);
	n = catalog_refresh(ALL_PROVIDERS) < 0 ? -1 : (KDint)nnamed;
	sys_unlock(&lib_lock);
	/* KHR_perfcounter's recommended names are in the list on every machine: an empty list means
	 * that no memory was left. */
	return n > 0 ? n : fail(n < 0 ? KD_EACCES : KD_ENOMEM);
}

static TABLE(KDCounterInfoKHR, infos, MAX_NAMED, 64, "descriptions of counters");

/* Returns the description of the counter with index i for the library's caller; NULL if the table
 * infos has no room. */
static const KDCounterInfoKHR *info_get(u32 i)
{
	const struct named *n = catalog_at(i);
	KDCounterInfoKHR *info;

	if (!table_has(&infos.t, i))
		return NULL;
	info = &infos.rows[i];
	if (!info->name)
		*info = (KDCounterInfoKHR){
			.vendorName = n->vendor, .name = n->name, .description = n->what,
			.minValue = n->min, .maxValue = n->max,
			.defaultScale = n->max == INT64_MAX || n->max <= 0 ?
				KD_UNKNOWN_COUNTER_VAL_KHR : 100 / (KDfloat32)n->max,
		};
	return info;
}

const KDCounterInfoKHR *KD_APIENTRY kdGetCounterInformationKHR(KDint index)
{
	const KDCounterInfoKHR *info = NULL;
	KDint e;

	sys_lock(&lib_lock);
	e = arguments_check(&index, 1);
	if (e == 0 && !(info = info_get((u32)index)))
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
	e = arguments_check(indexes, numindexes);
	if (e == 0 && catalog_activate((const u32 *)indexes, (size_t)numindexes) < 0)
		e = KD_EACCES;
	sys_unlock(&lib_lock);
	return e ? fail(e) : 0;
}

KDint KD_APIENTRY kdDeactivateCountersKHR(const KDint *indexes, KDint numindexes)
{
	KDint e;

	sys_lock(&lib_lock);
	e = arguments_check(indexes, numindexes);
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
	e = arguments_check(indexes, numindexes);
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
