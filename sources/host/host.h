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
	const char *what;      /* description of the counter, without the unit */
	/* unit of the value: "%", "bytes", "bytes/s", "1/s", "mC", "Hz", "uJ", "" */
	const char *unit;
	u8 rule;               /* enum rule: how a sample is computed from readings */
	u8 row;                /* index in rows[] of host.c; used only there */
	u8 n;                  /* number of bytes in inst; used only in host.c */
	char inst[32]; /* instance without a NUL, such as "cpu0", "sda", "-"; used only in host.c */
	u64 max;               /* maximum of the value; UINT64_MAX: no limit */
};

/* The two parts of the list of counters: the CPU times, which are the first rows of rows[], and all
 * other counters. */
enum host_part { HOST_CPUS, HOST_REST };
/* Begins a new reading and calls found() for every counter of a part, in the order of rows[]; *h is
 * valid only during the call. The part HOST_CPUS must be listed before HOST_REST, because it checks
 * whether /proc/stat exists. */
void host_list(enum host_part part, void (*found)(const struct hostcounter *h));
/* Begins a new reading of all counters. In a reading, each file such as /proc/stat is read at most
 * once, when the first counter needs it. The files stay open. */
void host_begin(void);
/* Stores in *v the value of a counter in the current reading and, if its rule is R_SHARE, the
 * denominator in *total. Returns 0 or -errno; -ENOENT if the counter does not exist, or exists no
 * more. */
long host_read(const struct hostcounter *h, u64 *v, u64 *total);
/* Closes the files that no counter has needed since the last host_trim(). */
void host_trim(void);
/* Access to the fields of /proc/stat, meminfo and vmstat by the kernel's names: "ctxt",
 * "MemAvailable", "pgfault". file: number of the file, for procfield_read(). level: true if the
 * value itself is shown, false if its rate is shown. */
bool procfield_find(struct str name, u8 *file, bool *level, const char **unit);
bool procfield_read(u8 file, struct str name, u64 *v);
void procfield_list(void (*found)(struct str name, const char *unit, bool level));

#endif
