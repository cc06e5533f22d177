/* pmumap.h - the table that maps logical PMC and PMD registers to perf events.
 * SPDX-License-Identifier: MIT */
#ifndef PMUMAP_H
#define PMUMAP_H

#include <gpustat/perf.h>
#include <stdbool.h>

enum {
	PMU_REGS = 320,    /* number of PMCs, and of PMDs: PFM_MAX_PMCS, PFM_MAX_PMDS */
	PMU_VIRTUAL = 256, /* number of the first virtual PMD: PFM_MAX_HW_PMDS */
	/* bytes of the events and names of one table; built-in tables have less than 1 KiB */
	PMU_TEXT = 1 << 14
};

enum pmureg_kind {
	REG_NONE,
	REG_PMC,     /* a register that configures PMDs */
	REG_COUNTER, /* a PMD that counts events */
	REG_VIRTUAL  /* a read-only PMD: its value is that of a named counter */
};

struct pmureg {
	uint8_t kind;
	uint8_t npmcs;       /* PMD: number of PMCs that configure it */
	uint16_t pmcs[4];    /* PMD: numbers of the PMCs that configure it */
	uint64_t mask;       /* PMC: bits that may be set */
	uint64_t dflt;       /* PMC: value of the register in a new event set */
	const char *counter; /* REG_VIRTUAL: name of the named counter */
	/* private to pmumap.c, for REG_COUNTER only */
	/* event in the syntax of gp_parse(); {fields} are replaced by bits of the PMC */
	const char *event;
	/* mask of PMC bits: the PMD is disabled while all of them are 0; 0 if it is always
	 * enabled */
	uint64_t enable;
	/* PMC bits that enable counting in user and kernel mode, as bit_parse() stores them */
	uint8_t user, kernel;
};

/* A table of registers. It must not be copied, because it has pointers into its member text. */
struct pmumap {
	const char *name;
	/* error in the text of the table, so that no register is valid; NULL if there is no
	 * error */
	const char *why;
	uint32_t line;    /* line of the error; 0 if the error belongs to no line */
	/* conditions for a machine that the table fits, one per line: an event that the machine
	 * must have, or machine:GLOB; "" fits any machine */
	const char *fits;
	struct pmureg pmc[PMU_REGS], pmd[PMU_REGS];
	size_t ntext;     /* private: bytes of text in use */
	char text[PMU_TEXT];
};

/* Returns the active table: that of the file $GPUSTAT_PMU_MAP, otherwise the built-in one that fits
 * this machine's PMU, otherwise that of software events. All calls in a process return the same
 * pointer, or NULL if there is no memory. The member why is set if $GPUSTAT_PMU_MAP is wrong. Like
 * gp_parse(), this function may run in only one thread at a time. */
const struct pmumap *pmumap(void);

/* Finds the event that a PMD counts with these PMC values (pmcs has PMU_REGS values). Returns 1 and
 * stores the event in *e; 0 if the PMC disables the PMD; or -errno. */
int pmumap_event(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct gp_event *e);

struct buf;
struct str;

/* Parses the first table of a text into *m, moves *text past the table, and adds its number of
 * lines to *line. m->why is set if the table is wrong. Returns false if the text has no table. */
bool pmumap_next(struct str *text, uint32_t *line, struct pmumap *m);
/* Appends the text of the event that a PMD counts, which pmumap_event() passes to gp_parse(), to b.
 * Returns 1; 0 if the PMC disables the PMD; -EINVAL if the table is wrong, if pmd does not count
 * events, or if a bit is set outside its PMC's mask; -E2BIG if b is full. */
int pmumap_text(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct buf *b);
/* Writes the table as a text from which pmumap_next() makes the same table, with one line per
 * register, and with the "fits" lines of the table if fits is true. */
void pmumap_put(const struct pmumap *map, bool fits, struct buf *b);
/* Writes the table as perfmon2's file /proc/perfmon_map: a line NAME:DEFAULT:MASK:DESCRIPTION per
 * register, the PMCs first. A bit that is 0 in the mask is reserved. */
void pmumap_put_perfmon(const struct pmumap *map, struct buf *b);
/* The built-in tables, one text each, without the virtual registers; the last one fits any
 * machine. */
extern const char *const pmumap_builtin[];
extern const size_t npmumap_builtin;

#endif
