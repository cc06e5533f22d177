/* host.h - interface of sources/host: counters of the machine itself, from /proc and /sys.
 * Functions that are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef HOST_H
#define HOST_H

#include "base.h"

/* --- sources/host/host.c: the machine itself, from /proc and /sys ----------------------------- */

enum { HOST_NAME = 96 };

/* A counter of the machine itself: one row of rows[] in host.c for one instance, such as a CPU or a
 * disk. */
struct hostcounter {
	/* name of the form device/instance/quantity: "cpu/cpu0/user", "memory/-/used",
	 * "disk/sda/read" */
	char name[HOST_NAME];
	/* Lists the counters of a group of rows[] for one instance. shown: the instance in the
	 * names of the counters. max: maximum of the values; UINT64_MAX: row_max() of each row. */
	const char *what;
	/* unit of the value: "%", "bytes", "bytes/s", "1/s", "Hz", "mC" (1/1000 degrees C), "uJ",
	 * "uW", "1/100", or "" (no unit) */
	const char *unit;
	/* enum rule: how the value of the counter is computed from readings */
	u8 rule;
	/* index of the counter's row in rows[] of host.c; only host.c uses it */
	u8 row;
	u8 n;                  /* number of bytes in inst; only host.c uses it */
	/* instance of the counter, such as "cpu0", "sda" or "-", without a NUL; only host.c uses
	 * it */
	char inst[32];
	u64 max;               /* maximum of the value; UINT64_MAX: no limit */
};

/* The two parts of the list of counters: the CPU times, which are the first rows of rows[], and all
 * other counters. */
enum host_part { HOST_CPUS, HOST_REST };
/* Begins a new reading and calls found() for every counter of a part, in the order of rows[]; *h is
 * valid only during this call. HOST_CPUS must be listed before HOST_REST: host_list(HOST_CPUS)
 * finds out whether /proc/stat exists, and counters of HOST_REST need that file, too. */
void host_list(enum host_part part, void (*found)(const struct hostcounter *h));
/* Begins a new reading of all counters. In a reading, each file such as /proc/stat is read at most
 * once, when the first counter needs it. Files stay open from reading to reading. */
void host_begin(void);
/* Stores the value of a counter in the current reading in *v. If the counter's rule is R_SHARE,
 * stores the denominator of the percentage in *total. Returns 0 or -errno; -ENOENT if the counter
 * does not exist (any more). */
long host_read(const struct hostcounter *h, u64 *v, u64 *total);
/* Closes the files that no counter has needed since the last host_trim(). */
void host_trim(void);
/* Access to the fields of /proc/stat, meminfo and vmstat by the kernel's names of the fields, such
 * as "ctxt", "MemAvailable" and "pgfault". file: number of the file, for procfield_read(). level:
 * true if the value of the field is shown, false if its increase per second is shown. */
bool procfield_find(struct str name, u8 *file, bool *level, const char **unit);
bool procfield_read(u8 file, struct str name, u64 *v);
void procfield_list(void (*found)(struct str name, const char *unit, bool level));

#endif
