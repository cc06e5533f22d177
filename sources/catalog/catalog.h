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
	/* detail: explanation of the status, or ""; remedy: command that makes the source readable,
	 * or "" */
	char source[64], detail[160], remedy[512];
};

enum probe_status { PROBE_OK, PROBE_DENIED, PROBE_ABSENT };

/* probe_self() reads the capabilities of this process, and must be called before the sandbox
 * restricts them. probe_all() makes the rows of gpustat doctor and returns their number;
 * probed_row() returns row i. program: path of the executable, for the setcap command in the
 * remedies. */
void probe_self(const char *program);
size_t probe_all(const char *program);
const struct probed *probed_row(size_t i);

/* --- sources/catalog/catalog.c: the list of all counters, by name, of all providers ----------- */

/* Maximum number of named counters: some 2500 tracepoints, 8 for each of 256 CPUs, and reserve. */
enum { MAX_NAMED = 16384 };

/* A named counter: an element of the list of all counters. Its texts, min and max never change. */
struct named {
	/* what: description of the counter, which ends in the unit in parentheses, if there is a
	 * unit */
	const char *vendor, *name, *what, *unit;
	i64 min, max;       /* limits of value; max is INT64_MAX if there is no upper limit */
	/* active: catalog_activate() has selected the counter; known: the member `value` is
	 * valid */
	bool active, known;
	/* true if KHR_perfcounter recommends the counter's name; such a counter can be active even
	 * without the permission to open it */
	bool recommended;
	/* true if the permission to open the counter was missing at the last activation */
	bool refused;
	/* true if the counter is started, but its value cannot be computed yet, because that needs
	 * a second reading: the value is 0, as KHR_perfcounter requires */
	bool unmeasured;
	/* value of the counter at its last reading; catalog_stop() takes a last reading */
	i64 value;
	/* provider: PROVIDER_*; rule: enum rule (how readings become the value). Only catalog.c
	 * uses these two members and all members after them. */
	u8 provider, rule;
	/* enum sensor_range: how fast a count can plausibly increase; if it increases faster, the
	 * counter's value is unknown */
	u8 range;
	u32 at;             /* number by which the provider identifies the counter */
	/* true if the counter was read since it was started: was and total_was have the result of
	 * an earlier reading */
	bool has_baseline;
	u64 was, total_was;
	i64 t_was;         /* time in ns of the reading whose values are in was and total_was */
	/* index + 1 of the next counter with the same hash of its name; 0: none */
	u32 next;
	u32 place;         /* position of this counter in the list of active counters */
	/* The active_index members of all elements of named[] are together the list of active
	 * counters: named[k].active_index is the index of the active counter at position k. */
	u32 active_index;
};

enum {
	PROVIDER_HOST, PROVIDER_GPU, PROVIDER_HWMON, PROVIDER_EVENT, PROVIDER_OA, PROVIDER_FILE,
	PROVIDER_V3D, PROVIDER_MSM,
	PROVIDERS
};

/* The steps in which each provider adds its counters to the list, in this order: names that
 * KHR_perfcounter recommends for CPUs, all other recommended names, all other names. */
enum { FIND_FIRST, FIND_RECOMMENDED, FIND_ALL, FINDS };

/* A source of named counters. Values can be read only for counters that were opened. */
struct provider {
	/* prefix of the names of all counters that the provider adds in the step FIND_ALL; {0} if
	 * they have no common prefix */
	struct str prefix;
	/* find[step]: function that calls catalog_add() for each of the provider's counters of that
	 * step, even if the list has the counter already. NULL: the provider has no counters for
	 * the step. */
	void (*find[FINDS])(void);
	/* Opens a counter. Returns 0; -EACCES or -EPERM if the permission is missing; or another
	 * -errno if the counter cannot be read on this machine. */
	long (*open)(u32 at);
	/* Closes a counter. It is called once for each call of open(), even if open() failed. */
	void (*close)(u32 at);
	/* Takes a reading of all open counters of the provider. due: false if less than 10 ms have
	 * passed since the last reading, too short a time to compute percentages: the provider may
	 * keep the values of that reading. The member is NULL if read() itself reads each
	 * counter. */
	void (*sample)(bool due);
	/* Stores the value of an open counter at the last reading in *v and, for a counter with the
	 * rule R_SHARE, the denominator of the percentage in *total. Returns 0 or -errno. */
	long (*read)(u32 at, u64 *v, u64 *total);
	/* Returns the reason why an open counter has no value; NULL if it can have a value. The
	 * member is NULL if the provider never has a reason to report. */
	const char *(*reason)(u32 at);
};

extern const struct provider provider_host, provider_gpu, provider_hwmon, provider_event;
extern const struct provider provider_oa, provider_file, provider_v3d, provider_msm;

/* The description of a counter for catalog_add(), which copies the texts. */
struct counter_info {
	struct str vendor, name, what, unit;
	u8 rule;       /* enum rule: how the value is computed from readings */
	u8 range;      /* enum sensor_range: how fast a count can plausibly increase */
	bool is_signed;
	u64 max;       /* maximum of the counter's value; 0 or UINT64_MAX: no limit */
};

/* Appends a counter to the list, unless the list has a counter with the same vendor and name. at:
 * the number by which the provider identifies the counter. */
void catalog_add(u8 provider, u32 at, const struct counter_info *n);
bool catalog_has(struct str vendor, struct str name);
/* number by which the counter's provider identifies the counter */
struct str catalog_numbered(char *b, size_t cap, struct str s, u64 x);
/* Returns the number by which provider_event identifies a counter of perf events. events: names of
 * perf events separated by blanks; the counter counts the first event that exists. */
u32 event_slot(const char *events);
/* Returns whether an open counter of provider_gpu prevents other programs from counting. */
bool gpu_counter_exclusive(u32 at);
/* Returns the number by which provider_v3d or provider_msm identifies the counter of a driver's
 * event. */
u32 driver_slot(u8 provider, struct str event);
/* Returns the number by which provider_oa identifies a counter of GPU number gpu. counters: names
 * of OA counters separated by blanks, of which the first one that a metric set of the GPU has is
 * used. The string must remain valid, and is compared by address. */
u32 oa_slot(u32 gpu, const char *counters);
/* Returns the device with this GPU number; NULL if the device was removed, or no device has the
 * number. Numbers never change: the devices of the first scan are numbered in device_order(), new
 * devices get the next numbers. */
const struct device *gpu_device(u32 gpu);

extern u32 nnamed; /* number of counters in the list; their indexes are 0 .. nnamed - 1 */

enum { ALL_PROVIDERS = (1 << PROVIDERS) - 1 };

/* Appends the counters of some providers to the list, unless the list has them already. providers:
 * bit mask, 1 << PROVIDER_*. Returns 0, or -EACCES if neither /proc nor /sys may be read. The
 * counters have the indexes of KHR_perfcounter only if each call includes all providers. */
long catalog_refresh(u32 providers);
/* Adds counters to the list until it has a counter with index i. Returns 0; -EACCES if neither
 * /proc nor /sys may be read; -EINVAL if there are too few counters. */
long catalog_reach(u32 i);
/* Returns a bit mask (1 << PROVIDER_*) of the providers that may have a counter with the name
 * `word`. If `word` is a pattern with * and ?: of the providers that may have a counter whose name
 * matches the pattern. */
u32 catalog_providers_for(struct str word);
const struct named *catalog_at(u32 i);
/* Finds a counter by name and stores its index in *i. If several vendors have a counter with this
 * name, the first one in the list is used. */
bool catalog_find(struct str name, u32 *i);
/* Activates the n counters with the indexes is[], and returns 0. If a provider has no permission to
 * open one of them, activates none of them and returns -EACCES. Exception: counters whose names
 * KHR_perfcounter recommends are activated even without permission; their values are unknown. */
long catalog_activate(const u32 *is, size_t n);
void catalog_deactivate(u32 i);
/* Returns the reason why a counter that is active, or that could not be activated for lack of
 * permission, has no value, and what fixes that; NULL if it can have a value, or if the reason is
 * not known. */
const char *catalog_reason(u32 i);
void catalog_start(void);
void catalog_stop(void);
/* Takes one reading of all active counters. Has an effect only between catalog_start() and
 * catalog_stop(). */
void catalog_sample(void);

/* --- sources/catalog/descriptions.c ----------------------------------------------------------- */

/* Appends the description of a counter to b: "TEXT; requires CAPABILITY (UNIT)". */
void counter_describe(const struct counter_info *n, struct buf *b);

#endif
