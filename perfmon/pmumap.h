/* pmumap.h - the table that maps logical PMC and PMD registers to perf events.
 * SPDX-License-Identifier: MIT */
#ifndef PMUMAP_H
#define PMUMAP_H

#include <gpustat/perf.h>
#include <stdbool.h>

enum {
	/* number of PMCs, and number of PMDs: equal to PFM_MAX_PMCS and PFM_MAX_PMDS */
	PMU_REGS = 320,
	PMU_VIRTUAL = 256, /* number of the first virtual PMD: equal to PFM_MAX_HW_PMDS */
	/* bytes for the event texts and names of one table; built-in tables need less than 1 KiB */
	PMU_TEXT = 1 << 14
};

enum pmureg_kind {
	REG_NONE,
	REG_PMC,     /* PMC, a register that configures PMDs */
	REG_COUNTER, /* PMD that counts a perf event */
	REG_VIRTUAL  /* read-only PMD with the value of a KHR_perfcounter counter */
};

struct pmureg {
	uint8_t kind;
	uint8_t npmcs;       /* for a PMD: number of PMCs that configure it */
	uint16_t pmcs[4];    /* for a PMD: numbers of the PMCs that configure it */
	uint64_t mask;       /* for a PMC: mask of the bits that a program may set */
	uint64_t dflt;       /* for a PMC: its value in a new event set */
	const char *counter; /* for REG_VIRTUAL: name of the KHR_perfcounter counter */
	/* The following members are used only by pmumap.c, and only for PMDs of the type
	 * REG_COUNTER. */
	/* event in the syntax of gp_parse(), in which the values of PMC bits replace {BITS} */
	const char *event;
	/* mask of PMC bits: the PMD is disabled while all these bits are 0; mask 0: the PMD is
	 * always enabled */
	uint64_t enable;
	/* numbers of the PMC bits that enable counting in user mode and in kernel mode, in the form
	 * that bit_parse() stores */
	uint8_t user, kernel;
};

/* A table of registers. A struct pmumap must not be copied, because some members point into the
 * member text[]. */
struct pmumap {
	const char *name;
	/* error message if the text of the table has an error (then no register is valid); NULL if
	 * it has none */
	const char *why;
	/* number of the line with the error; 0 if the error is in no particular line */
	uint32_t line;
	/* Conditions for using the table on a machine, one per line: an event that the machine must
	 * have, or machine:GLOB for its name. "" fits any machine. */
	const char *fits;
	struct pmureg pmc[PMU_REGS], pmd[PMU_REGS];
	size_t ntext;     /* number of bytes of text[] that are in use; only for pmumap.c */
	char text[PMU_TEXT];
};

/* Returns the active table of registers: the first table in the file $GPUSTAT_PMU_MAP that fits
 * this machine; without this variable, the built-in table that fits this machine's PMU, or the
 * table of software events if none fits. All calls return the same pointer, or NULL if there is no
 * memory. If the file has an error, the member why of the table is set. Only one thread at a time
 * may call pmumap(), as with gp_parse(). */
const struct pmumap *pmumap(void);

/* Finds the event that the PMD counts if the PMCs have the values in pmcs[PMU_REGS]. Stores the
 * event in *e and returns 1; returns 0 if the PMC disables the PMD, or -errno. */
int pmumap_event(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct gp_event *e);

struct buf;
struct str;

/* Parses the first table of *text into *m, moves *text past the table, and adds the number of lines
 * of the table to *line. m->why is set if the table has an error. Returns false if the text has no
 * table. */
bool pmumap_next(struct str *text, uint32_t *line, struct pmumap *m);
/* Appends to b the text of the event that the PMD counts; pmumap_event() passes this text to
 * gp_parse(). Returns 1; 0 if the PMC disables the PMD; -EINVAL if the table has an error, if the
 * PMD does not count events, or if the PMC has a bit set outside its mask; -E2BIG if b is full. */
int pmumap_text(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct buf *b);
/* Appends the table to b as text, one line per register, from which pmumap_next() would make the
 * same table. fits: the text includes the table's fits lines. */
void pmumap_put(const struct pmumap *map, bool fits, struct buf *b);
/* Appends the table to b in the format of perfmon2's file /proc/perfmon_map: a line
 * NAME:DEFAULT:MASK:DESCRIPTION per register, PMCs first. A bit that is 0 in MASK is reserved. */
void pmumap_put_perfmon(const struct pmumap *map, struct buf *b);
/* The built-in tables, one text each, without virtual registers. The last table fits any
 * machine. */
extern const char *const pmumap_builtin[];
extern const size_t npmumap_builtin;

#endif
