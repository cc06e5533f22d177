/* pmumap.h - the table that maps logical PMC and PMD registers to perf events.
 * SPDX-License-Identifier: MIT */
#ifndef PMUMAP_H
#define PMUMAP_H

#include <gpustat/perf.h>
#include <stdbool.h>

enum {
	PMU_REGS = 320,    /* PFM_MAX_PMCS, PFM_MAX_PMDS */
	PMU_VIRTUAL = 256, /* PFM_MAX_HW_PMDS: virtual PMDs begin here */
	/* bytes of the events and names of one table; built-in tables have less than 1 KiB */
	PMU_TEXT = 1 << 14
};

enum pmureg_kind {
	REG_NONE,
	REG_PMC,     /* configures PMDs */
	REG_COUNTER, /* a PMD that counts events */
	REG_VIRTUAL  /* a read-only PMD: a counter of the catalogue */
};

struct pmureg {
	uint8_t kind;
	uint8_t npmcs;       /* PMD: number of PMCs that configure it */
	uint16_t pmcs[4];    /* PMD: their numbers */
	uint64_t mask;       /* PMC: bits that may be set */
	uint64_t dflt;       /* PMC: its value in a new set */
	const char *counter; /* REG_VIRTUAL: its name in the catalogue */
	/* REG_COUNTER, private */
	const char *event;   /* in the syntax of gp_parse(), with {fields} of the PMC */
	uint64_t enable;     /* disabled while all these bits are 0; 0: always enabled */
	uint8_t user, kernel; /* bits that enable user and kernel mode: see mode_enabled() */
};

/* Must not be copied: it has pointers into its own text. */
struct pmumap {
	const char *name;
	/* error in the text; no register is valid then. NULL: no error */
	const char *why;
	uint32_t line;    /* line of the error; 0: it has no line */
	/* events that a machine must have, and machine:GLOB, one per line; "": any machine */
	const char *fits;
	struct pmureg pmc[PMU_REGS], pmd[PMU_REGS];
	size_t ntext;     /* private */
	char text[PMU_TEXT];
};

/* Returns the active table: that of $GPUSTAT_PMU_MAP, else the one that fits this machine's PMU,
 * else software events. NULL: no memory; otherwise the same pointer for the life of the process.
 * why is not NULL if $GPUSTAT_PMU_MAP is wrong. Like gp_parse(), it may run in one thread at a
 * time. */
const struct pmumap *pmumap(void);

/* Finds the event that a PMD counts with these PMC values (pmcs has PMU_REGS values). 1: it is in
 * *e; 0: the PMC disables the PMD; -errno. */
int pmumap_event(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct gp_event *e);

struct buf;
struct str;

/* Parses the first table of a text into m; *text moves past it, and *line counts its lines. False:
 * there is no table. m->why is set if the table is wrong. */
bool pmumap_next(struct str *text, uint32_t *line, struct pmumap *m);
/* Writes the event that pmumap_event() passes to gp_parse(). 1: it is in b; 0: the PMC disables the
 * PMD; -EINVAL: the table is wrong, pmd does not count events, or a bit is set outside its PMC's
 * mask; -E2BIG: b is full. */
int pmumap_text(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct buf *b);
/* Writes the table as a text from which pmumap_next() makes the same table, one line per register;
 * with its "fits" lines if fits. */
void pmumap_put(const struct pmumap *map, bool fits, struct buf *b);
/* Writes the table as perfmon2's file /proc/perfmon_map: a line NAME:DEFAULT:MASK:DESCRIPTION per
 * register, the PMCs first. A bit that is 0 in the mask is reserved. */
void pmumap_put_perfmon(const struct pmumap *map, struct buf *b);
/* The built-in tables, one text each, without the virtual registers; the last one fits any
 * machine. */
extern const char *const pmumap_builtin[];
extern const size_t npmumap_builtin;

#endif
