/* pmumap.h - which perf events the logical PMC and PMD registers are: a text table, as data.
 * SPDX-License-Identifier: MIT */
#ifndef PMUMAP_H
#define PMUMAP_H

#include <gpustat/perf.h>
#include <stdbool.h>

enum {
	PMU_REGS = 320,    /* PFM_MAX_PMCS, PFM_MAX_PMDS */
	PMU_VIRTUAL = 256, /* PFM_MAX_HW_PMDS: virtual PMDs begin here */
	PMU_TEXT = 1 << 14 /* events and names of one table; those that are built in have less than 1 KiB */
};

enum pmureg_kind {
	REG_NONE,
	REG_PMC,     /* configures */
	REG_COUNTER, /* a PMD that counts events */
	REG_VIRTUAL  /* a PMD that is a counter of the catalogue: read only */
};

struct pmureg {
	uint8_t kind;
	uint8_t npmcs;       /* PMD: how many PMCs configure it */
	uint16_t pmcs[4];    /* PMD: which */
	uint64_t mask;       /* PMC: bits that may be set */
	uint64_t dflt;       /* PMC: its value in a new set */
	const char *counter; /* REG_VIRTUAL: its name in the catalogue */
	/* REG_COUNTER, private */
	const char *event;   /* as gp_parse() wants it, with {fields} of the PMC */
	uint64_t enable;     /* off while all these bits are 0; 0: always on */
	uint8_t user, kernel; /* the bit that says whether it counts there, see bit_says() */
};

/* Its pointers lie in itself: not to be copied. */
struct pmumap {
	const char *name;
	const char *why;  /* what is wrong with the text: then no register means anything; NULL: nothing */
	uint32_t line;    /* where; 0: nowhere in particular */
	const char *fits; /* events that a machine with this PMU has, a line each; "": any machine */
	struct pmureg pmc[PMU_REGS], pmd[PMU_REGS];
	size_t ntext;     /* private */
	char text[PMU_TEXT];
};

/* The table in force: that of $GPUSTAT_PMU_MAP, else what fits this machine's PMU, else software events. NULL: no memory; else the same
 * for the life of the process. why is not NULL where $GPUSTAT_PMU_MAP is wrong. As gp_parse(): by one thread at a time. */
const struct pmumap *pmumap(void);

/* What that PMD counts with these PMC values (pmcs: of all PMU_REGS): 1: *e; 0: its PMC has it disabled; -errno. */
int pmumap_event(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct gp_event *e);

struct buf;
struct str;

/* The first table of a text, which moves past it, and *line with it: false: there was none. m->why: it is wrong. */
bool pmumap_next(struct str *text, uint32_t *line, struct pmumap *m);
/* The event that pmumap_event() has gp_parse() make sense of. */
int pmumap_text(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct buf *b);
/* The table as a text that makes the same one again, a line for each register; fits: and when it would. */
void pmumap_put(const struct pmumap *map, bool fits, struct buf *b);
/* The tables that are built in, a text each, without their virtual registers; the last one fits any machine. */
extern const char *const pmumap_builtin[];
extern const size_t npmumap_builtin;

#endif
