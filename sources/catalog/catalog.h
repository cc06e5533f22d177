/* catalog.h - interface of sources/catalog: counters by name, their providers, KHR_perfcounter, and
 * the report of gpustat doctor. Functions that are not declared here are static.
 * SPDX-License-Identifier: MIT */
#ifndef CATALOG_H
#define CATALOG_H

#include "base.h"
#include "counters.h"

/* --- sources/catalog/probe.c: which sources can be read, and how to fix the others ------------ */

/* The state of one source of values. */
struct probed {
	struct entity e; /* K_SOURCE */
	u8 status;       /* enum probe_status */
	char source[64], detail[160], remedy[512]; /* detail, remedy: "": none */
};

enum probe_status { PROBE_OK, PROBE_DENIED, PROBE_ABSENT };

/* program: path of the executable, for the setcap command of the remedies. */
void probe_self(const char *program);
void probe_all(const char *program, void (*show)(const struct probed *p));

/* --- sources/catalog/catalog.c: the list of all counters, by name, of all providers ----------- */

enum { MAX_NAMED = 16384 /* 2500 tracepoints, 256 CPUs with 8 each, and as many again */ };

/* A counter with a name. The texts, min and max never change. */
struct named {
	const char *vendor, *name, *what, *unit; /* what: ends in the unit in parentheses, if any */
	i64 min, max;       /* INT64_MAX: no limit */
	bool active, known; /* known: value is valid */
	bool recommended;   /* by KHR_perfcounter; it can be active though it is refused */
	bool refused;       /* at the last activation */
	bool unmeasured;    /* only started, not measured yet: value is 0, by KHR_perfcounter */
	i64 value;          /* of the last reading; after catalog_stop(): of that call */
	u8 provider, rule;  /* private, like all members below; enum provider, enum rule */
	u32 at;             /* the provider's number for it */
	bool has_baseline;  /* was and total_was are of a reading since the start */
	u64 was, total_was;
	i64 t_was;         /* ns */
	u32 next;          /* in its hash chain */
	u32 place;         /* in the list of active counters */
	u32 active_index;  /* element of that list: named[i].active_index is for place i */
};

enum {
	PROVIDER_HOST, PROVIDER_GPU, PROVIDER_HWMON, PROVIDER_EVENT, PROVIDER_OA, PROVIDER_FILE,
	PROVIDER_V3D, PROVIDER_MSM,
	PROVIDERS
};

/* The steps that find counters, in the order of the list: the recommended names of CPUs, all other
 * recommended names, all other names. */
enum { FIND_FIRST, FIND_RECOMMENDED, FIND_ALL, FINDS };

/* A source of named counters. It reads values only for counters that are open. */
struct provider {
	struct str prefix;    /* of the names that FIND_ALL adds; {0}: any name */
	/* Call catalog_add() for each counter of their step, already listed or not; NULL: there is
	 * none. */
	void (*find[FINDS])(void);
	long (*open)(u32 at); /* 0; -EACCES, -EPERM: refused; other -errno: cannot be read here */
	void (*close)(u32 at); /* called once for each open(), even if that failed */
	/* Takes a reading of all open counters. due: false if the last reading is so recent that
	 * percentages of the time would be meaningless. NULL: read() reads each counter itself. */
	void (*sample)(bool due);
	/* The value in the last reading: 0, or -errno. total: the denominator of an R_SHARE. */
	long (*read)(u32 at, u64 *v, u64 *total);
	/* Returns why an open counter has no value; NULL: it can have one. The member is NULL if
	 * the provider knows no reasons. */
	const char *(*reason)(u32 at);
};

extern const struct provider provider_host, provider_gpu, provider_hwmon, provider_event;
extern const struct provider provider_oa, provider_file, provider_v3d, provider_msm;

/* The description of a counter for catalog_add(), which copies the texts. */
struct counter_info {
	struct str vendor, name, what, unit;
	u8 rule;       /* enum rule */
	bool is_signed;
	u64 max;       /* UINT64_MAX: no limit */
};

/* Appends a counter, unless there is one of the same vendor and name. */
void catalog_add(u8 provider, u32 at, const struct counter_info *n);
bool catalog_has(struct str vendor, struct str name);
/* Copies a recommended name into b with the number x instead of each X. */
struct str catalog_numbered(char *b, size_t cap, struct str s, u64 x);
/* The number of a counter of provider_event: the first of these events, separated by blanks, that
 * exists. The string must remain valid. */
u32 event_slot(const char *events);
/* Returns whether reading this counter of provider_gpu keeps other programs from counting. */
bool gpu_counter_exclusive(u32 at);
/* The number of a counter of provider_v3d or provider_msm. */
u32 driver_slot(u8 provider, struct str event);
/* The number of a counter of provider_oa: the first of these counters, separated by blanks, that a
 * metric set of GPU number gpu has. The string must remain valid, and is compared by address. */
u32 oa_slot(u32 gpu, const char *counters);
/* The device with this number. Numbers never change: those of the first scan are in device_order(),
 * new devices follow. NULL: the device is gone, or there is no such number. */
const struct device *gpu_device(u32 gpu);

extern u32 nnamed; /* number of counters: their indexes are 0 .. nnamed - 1 */

enum { ALL_PROVIDERS = (1 << PROVIDERS) - 1 };

/* Finds the counters of these providers (one bit each) and appends new ones. 0, or -EACCES if
 * neither /proc nor /sys may be read. Indexes are those of KHR_perfcounter only if all providers
 * were asked at each call. */
long catalog_refresh(u32 providers);
/* Finds counters only until there is one with this index. 0; -EACCES: as above; -EINVAL: there is
 * no such index. */
long catalog_reach(u32 i);
/* The providers (one bit each) that may have a counter of this name, or one that matches it as a
 * pattern with * and ?. */
u32 catalog_providers_for(struct str word);
const struct named *catalog_at(u32 i);
/* Finds a counter by name; if two vendors have it, the first one. */
bool catalog_find(struct str name, u32 *i);
/* Activates all of these counters, or none: 0, or -EACCES. Recommended ones that are refused become
 * active, and are unknown. */
long catalog_activate(const u32 *is, size_t n);
void catalog_deactivate(u32 i);
/* Returns why an active counter has no value; NULL: it can have one, or the reason is not known. */
const char *catalog_reason(u32 i);
void catalog_start(void);
void catalog_stop(void);
/* Takes one reading of all active counters, between catalog_start() and catalog_stop(). */
void catalog_sample(void);

/* --- sources/catalog/descriptions.c ----------------------------------------------------------- */

/* Appends the description of a counter: "what; requires CAPABILITY (unit)". */
void counter_describe(const struct counter_info *n, struct buf *b);

#endif
