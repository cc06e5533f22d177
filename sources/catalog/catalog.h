/* catalog.h - interface of sources/catalog: the list of all named counters, their providers, the
 * library KHR_perfcounter, and the report of gpustat doctor. Functions that are not declared here
 * are static. SPDX-License-Identifier: MIT */
#ifndef CATALOG_H
#define CATALOG_H

#include "base.h"
#include "counters.h"

/* --- sources/catalog/probe.c: which sources can be read, and how to fix the others ------------ */

/* One row of gpustat doctor: whether a source of values, such as perf events or hwmon, can be read
 * here, and how to make it readable. */
struct probed {
	struct entity e; /* of kind K_SOURCE */
	u8 status;       /* enum probe_status */
	char source[64], detail[160], remedy[512]; /* detail, remedy: "" if there is none */
};

enum probe_status { PROBE_OK, PROBE_DENIED, PROBE_ABSENT };

/* probe_self() reads the capabilities of this process, before the sandbox restricts them.
 * probe_all() calls show() for each row of gpustat doctor. program: path of the executable, for the
 * setcap command in the remedies. */
void probe_self(const char *program);
size_t probe_all(const char *program); /* number of rows */
const struct probed *probed_row(size_t i);

/* --- sources/catalog/catalog.c: the list of all counters, by name, of all providers ----------- */

enum { MAX_NAMED = 16384 /* 2500 tracepoints, 8 for each of 256 CPUs, and as many again */ };

/* A named counter: an element of the list of all counters. Its texts, min and max never change. */
struct named {
	/* what: description, which ends in the unit in parentheses, if any */
	const char *vendor, *name, *what, *unit;
	i64 min, max;       /* limits of the value; max INT64_MAX: no limit */
	bool active, known; /* active: selected by catalog_activate(); known: value is valid */
	/* KHR_perfcounter recommends this name; such a counter can be active even if refused is
	 * set */
	bool recommended;
	bool refused;       /* the provider had no permission to open it at the last activation */
	/* started, but nothing is measured yet: value is 0, as KHR_perfcounter requires */
	bool unmeasured;
	i64 value;          /* value at the last reading; after catalog_stop(): at that call */
	u8 provider, rule;  /* private, like all members below: PROVIDER_*, enum rule */
	u8 range;           /* enum sensor_range: a count that increases faster is unknown */
	u32 at;             /* the provider's number for this counter */
	/* was and total_was have values of a reading since the counter was started */
	bool has_baseline;
	u64 was, total_was;
	i64 t_was;         /* ns, time of the reading that was and total_was are of */
	u32 next;          /* next counter of the hash chain: its index + 1; 0: the last */
	u32 place;         /* position in the list of active counters */
	/* the list of active counters: the active_index of named[k] is the index of the counter at
	 * position k */
	u32 active_index;
};

enum {
	PROVIDER_HOST, PROVIDER_GPU, PROVIDER_HWMON, PROVIDER_EVENT, PROVIDER_OA, PROVIDER_FILE,
	PROVIDER_V3D, PROVIDER_MSM,
	PROVIDERS
};

/* The steps in which each provider adds its counters to the list, in this order: the recommended
 * names of CPUs, all other recommended names, all other names. */
enum { FIND_FIRST, FIND_RECOMMENDED, FIND_ALL, FINDS };

/* A source of named counters. It reads values only for counters that are open. */
struct provider {
	struct str prefix; /* prefix of the names that FIND_ALL adds; {0}: they may be any names */
	/* One function for each step, which calls catalog_add() for each counter of the step, even
	 * if the list has it already. NULL: the provider has no counters for the step. */
	void (*find[FINDS])(void);
	/* opens a counter: 0; -EACCES or -EPERM: no permission; other -errno: it cannot be read
	 * here */
	long (*open)(u32 at);
	/* closes a counter; called once for each open(), even for one that failed */
	void (*close)(u32 at);
	/* Takes a reading of all open counters of the provider. due: false if the last reading was
	 * so recent that percentages of the time since then would be meaningless. The member is
	 * NULL if read() reads each counter itself. */
	void (*sample)(bool due);
	/* Stores the value of an open counter at the last reading in *v, and the denominator of an
	 * R_SHARE in *total. Returns 0 or -errno. */
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
	u8 rule;       /* enum rule: how readings become the value */
	u8 range;      /* enum sensor_range: its plausible increases */
	bool is_signed;
	u64 max;       /* maximum of the value; UINT64_MAX: no limit */
};

/* Appends a counter to the list, unless the list has one with the same vendor and name. at: the
 * provider's number for it. */
void catalog_add(u8 provider, u32 at, const struct counter_info *n);
bool catalog_has(struct str vendor, struct str name);
/* Copies a recommended name into b, with the number x in place of each letter X ("CPU X
 * utilization"). */
struct str catalog_numbered(char *b, size_t cap, struct str s, u64 x);
/* Returns provider_event's number for a counter. events: names of perf events separated by blanks;
 * the counter counts the first one that exists. */
u32 event_slot(const char *events);
/* Returns whether other programs cannot count while this counter of provider_gpu is open. */
bool gpu_counter_exclusive(u32 at);
/* Returns the number of provider_v3d or provider_msm for the counter of an event. */
u32 driver_slot(u8 provider, struct str event);
/* Returns provider_oa's number for a counter of GPU number gpu. counters: names of OA counters
 * separated by blanks, of which the first one that a metric set of the GPU has is used. The string
 * must remain valid, and is compared by address. */
u32 oa_slot(u32 gpu, const char *counters);
/* Returns the device with this GPU number; NULL if it is gone, or there is no such number. Numbers
 * never change: the devices of the first scan are numbered in device_order(), new devices get the
 * next numbers. */
const struct device *gpu_device(u32 gpu);

extern u32 nnamed; /* number of named counters: their indexes are 0 .. nnamed - 1 */

enum { ALL_PROVIDERS = (1 << PROVIDERS) - 1 };

/* Finds the counters of these providers (a bit for each) and appends new ones to the list. Returns
 * 0, or -EACCES if neither /proc nor /sys may be read. The indexes are those of KHR_perfcounter
 * only if each call includes all providers. */
long catalog_refresh(u32 providers);
/* Finds counters until the list has one with index i. Returns 0; -EACCES if neither /proc nor /sys
 * may be read; -EINVAL if there are not so many counters. */
long catalog_reach(u32 i);
/* Returns the providers (a bit for each) that may have a counter of this name, or one that matches
 * it as a pattern with * and ?. */
u32 catalog_providers_for(struct str word);
const struct named *catalog_at(u32 i);
/* Finds a counter by name; if two vendors have it, the first one in the list. Stores its index in
 * *i. */
bool catalog_find(struct str name, u32 *i);
/* Activates all of the n counters with the indexes is[], or none. Returns 0, or -EACCES if a
 * provider has no permission for one of them. Recommended counters become active even then, and are
 * unknown. */
long catalog_activate(const u32 *is, size_t n);
void catalog_deactivate(u32 i);
/* Returns why a counter that is active, or that could not be activated for lack of permission, has no
 * value, and what fixes that; NULL: it can have one, or the reason is not known. */
const char *catalog_reason(u32 i);
void catalog_start(void);
void catalog_stop(void);
/* Takes one reading of all active counters, between catalog_start() and catalog_stop(). */
void catalog_sample(void);

/* --- sources/catalog/descriptions.c ----------------------------------------------------------- */

/* Appends the description of a counter: "what; requires CAPABILITY (unit)". */
void counter_describe(const struct counter_info *n, struct buf *b);

#endif
