/* host.h - interface of sources/host: counters of the machine itself, from /proc and /sys.
 * Functions that are not declared here are static. SPDX-License-Identifier: MIT */
#ifndef HOST_H
#define HOST_H

#include "base.h"

/* --- sources/host/host.c: the machine itself, from /proc and /sys ----------------------------- */

enum { HOST_NAME = 96 };

/* One counter of the host: one row of the table of host.c for one instance. */
struct hostcounter {
	/* device/instance/quantity: "cpu/cpu0/user", "memory/-/used", "disk/sda/read" */
	char name[HOST_NAME];
	const char *what;      /* description, without the unit */
	const char *unit;      /* "%", "bytes", "bytes/s", "1/s", "mC", "Hz", "uJ", "" */
	u8 rule;               /* enum rule */
	u8 row;                /* private: number in the table */
	u8 n;                  /* private: length of inst in bytes */
	char inst[32];         /* private: "cpu0", "sda", "-" */
	u64 max;               /* of the value; UINT64_MAX: no limit */
};

/* The counters of CPU times, which come first in the table, and all others. */
enum host_part { HOST_CPUS, HOST_REST };
/* Calls found() for every counter of a part, in the order of the table; *h is valid only during the
 * call. HOST_CPUS, which looks for /proc/stat, comes before HOST_REST. Begins a new reading. */
void host_list(enum host_part part, void (*found)(const struct hostcounter *h));
/* Begins a reading of /proc/stat, meminfo, ...: each file is read once, when the first counter
 * needs it, and is kept open. */
void host_begin(void);
/* 0, or -errno; -ENOENT: does not exist (any more). total: the denominator of an R_SHARE. */
long host_read(const struct hostcounter *h, u64 *v, u64 *total);
/* Closes the files that no counter has needed since the last call. */
void host_trim(void);
/* Fields of stat, meminfo and vmstat, by the kernel's names: "ctxt", "MemAvailable", "pgfault". */
bool procfield_find(struct str name, u8 *file, bool *level, const char **unit);
bool procfield_read(u8 file, struct str name, u64 *v);
void procfield_list(void (*found)(struct str name, const char *unit, bool level));

#endif
