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
	/* device/instance/quantity: "cpu/cpu0/user", "memory/-/used", "disk/sda/read" */
	char name[HOST_NAME];
	const char *what;      /* description of the counter, without the unit */
	const char *unit;      /* "%", "bytes", "bytes/s", "1/s", "mC", "Hz", "uJ", "" */
	u8 rule;               /* enum rule */
	u8 row;                /* private: index in rows[] of host.c */
	u8 n;                  /* private: number of bytes in inst */
	char inst[32];         /* private: the instance, without a NUL: "cpu0", "sda", "-" */
	u64 max;               /* maximum of the value; UINT64_MAX: no limit */
};

/* The two parts of the list of counters: the CPU times, which come first in rows[], and all other
 * counters. */
enum host_part { HOST_CPUS, HOST_REST };
/* Calls found() for every counter of a part, in the order of rows[]; *h is valid only during the
 * call. The part HOST_CPUS must be listed before HOST_REST, because it tests whether /proc/stat
 * exists. Begins a new reading. */
void host_list(enum host_part part, void (*found)(const struct hostcounter *h));
/* Begins a new reading of all counters: each file, such as /proc/stat, is read at most once in a
 * reading, when the first counter needs it, and is kept open. */
void host_begin(void);
/* Stores the value of a counter in the present reading in *v, and the denominator of an R_SHARE in
 * *total. Returns 0 or -errno; -ENOENT if the value does not exist, or not any more. */
long host_read(const struct hostcounter *h, u64 *v, u64 *total);
/* Closes the files that no counter has needed since the last host_trim(). */
void host_trim(void);
/* Access to the fields of /proc/stat, meminfo and vmstat by the kernel's names: "ctxt",
 * "MemAvailable", "pgfault". file: index of the file, for procfield_read(). level: the value is
 * shown as it is; else as a rate. */
bool procfield_find(struct str name, u8 *file, bool *level, const char **unit);
bool procfield_read(u8 file, struct str name, u64 *v);
void procfield_list(void (*found)(struct str name, const char *unit, bool level));

#endif
