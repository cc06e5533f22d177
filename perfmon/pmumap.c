/* pmumap.c - the tables that map logical PMC and PMD registers to perf events, and their parser. A
 * table is a text of lines. '#' begins a comment; RANGE is N or N-M; BITS is a list of such ranges,
 * the lowest bit is 0; NUMBER is decimal or 0x hexadecimal:
 *
 *   table NAME             begins a table; the first one that fits the machine is active
 *   fits EVENT             the table fits a machine on which gp_parse() knows the events of all
 *                          such lines; a table without fits lines fits every machine
 *   fits machine:GLOB      the table fits only if `uname -m` matches GLOB
 *   pmc RANGE [mask BITS] [default NUMBER]
 *                          configuration registers, the bits of them that may be set, and their
 *                          first value
 *   pmd RANGE [pmc RANGE] event EVENT [enable=BITS] [user=[!]BIT] [kernel=[!]BIT]
 *                          PMDs that count events. Each PMD has its own PMC, or one PMC
 *                          configures all.
 *                          In EVENT, {BITS} is replaced by these bits of the PMC's value, lowest
 *                          bits first; {BITS|NUMBER} sets more bits. A term whose fields are all 0
 *                          is left out unless it is the first. The PMD is disabled while all bits
 *                          of enable are 0. It counts in user or kernel mode only while the bit of
 *                          user= or kernel= is 1, or 0 after !
 *   pmd NUMBER counter NAME
 *                          a virtual PMD, from 256 on: its value is that of the named counter NAME
 *
 * SPDX-License-Identifier: MIT */
#include "pmumap.h"
#include "parse.h"
#include "sources/os/os.h"
#include "sys.h"

#include <stdlib.h>

enum {
	/* largest size in bytes of the file $GPUSTAT_PMU_MAP: enough for several lines per
	 * register */
	MAP_BYTES = 1 << 16,
	/* largest length of an event in characters: an i915 event with every field has 150 */
	EVENT_TEXT = 200,
	EVENT_FIELDS = 16, /* largest number of fields {BITS} in one event: a POWER event has 16 */
	/* largest length in characters of an event after its fields were replaced by their
	 * values */
	EVENT_EXPANDED = EVENT_TEXT + EVENT_FIELDS * 18 + 4,
	/* largest number of PMUs that know the same event: one PMU for each kind of CPU core */
	EVENT_PMUS = 16,
	/* special values of the members user and kernel of struct pmureg; bit_parse() explains
	 * them */
	BIT_ALWAYS = 0xff, BIT_CLEAR = 0x40,
};

/* Lines of a table of registers that describe the virtual registers, whose values are those of
 * KHR_perfcounter counters. pmumap() adds these lines to a built-in table. */
static const char virtual_lines[] =
	"pmd 256 counter CPU 0 utilization\n"
	"pmd 257 counter CPU 0 user mode utilization\n"
	"pmd 258 counter CPU 0 kernel mode utilization\n"
	"pmd 259 counter Physical memory usage\n"
	"pmd 260 counter Context switched / sec\n"
	"pmd 261 counter Graphic driver utilization\n"
	"pmd 262 counter GPU 0 utilization\n"
	"pmd 263 counter GPU memory usage\n";

/* Sources of the built-in tables. Software events: PERF_COUNT_SW_* of linux/perf_event.h, which are
 * numbered from 0. Intel: SDM 3B, "Performance Monitoring". AMD: APM 2, "PerfEvtSeln". Arm: Arm
 * ARM, PMEVTYPER<n>_EL0 and PMCCFILTR_EL0. MIPS: MIPS32 PRA, "Performance Counter Control", with
 * event numbers of 7 bits; the raw event code of Linux is the event number for counters 0 and 2,
 * and the event number plus 128 for counters 1 and 3 (arch/mips/kernel/perf_event_mipsxx.c). The
 * CPUs P5600, P6600, I6400 and I6500 have event numbers of 8 bits, which the table does not
 * describe. POWER has no configuration register like the other CPUs: a PMC of its table is the raw
 * event code, and its two highest bits, which no event code uses, exclude user mode or kernel
 * mode. */
#define INTEL(pmu) \
	"pmc 0-7 mask 0-20,22-31\n" \
	"pmc 16 mask 0-1,3-5,7-9,11\n" \
	"pmd 0-7 pmc 0-7 event " pmu "/event={0-7},umask={8-15},edge={18},pc={19},inv={23}," \
	"cmask={24-31}/ enable=22 user=16 kernel=17\n" \
	"pmd 16 pmc 16 event " pmu "/event=0xc0/ enable=0-1 user=1 kernel=0\n" \
	"pmd 17 pmc 16 event " pmu "/event=0x3c/ enable=4-5 user=5 kernel=4\n" \
	"pmd 18 pmc 16 event " pmu "/event=0x0,umask=0x3/ enable=8-9 user=9 kernel=8\n"
#define PMUV3(pmu) \
	"pmc 0-5 mask 0-15,30-31\n" \
	"pmc 31 mask 0,30-31\n" \
	"pmd 0-5 pmc 0-5 event " pmu "/event={0-15}/ enable=0-15 user=!30 kernel=!31\n" \
	"pmd 31 pmc 31 event " pmu "/event=0x11/ enable=0 user=!30 kernel=!31\n"

const char *const pmumap_builtin[] = {
	"table amd\n"
	"fits cpu/event=0x100,cmask=1/\n"
	"pmc 0-5 mask 0-18,20,22-35\n"
	"pmd 0-5 pmc 0-5 event cpu/event={0-7,32-35},umask={8-15},edge={18},inv={23},"
	"cmask={24-31}/ enable=22 user=16 kernel=17\n",
	"table intel\n"
	"fits cpu/event=1,cmask=1/\n"
	INTEL("cpu"),
	"table intel-hybrid\n"
	"fits cpu_core/event=1,cmask=1/\n"
	INTEL("cpu_core"),
	"table armv8\n"
	"fits armv8_pmuv3*/event=1/\n"
	PMUV3("armv8_pmuv3*"),
	"table armv8-cortex\n"
	"fits armv8_cortex*/event=1/\n"
	PMUV3("armv8_cortex*"),
	"table power\n"
	"fits machine:ppc*\n"
	"fits cpu/pmcxsel=1/\n"
	"pmc 0-5 mask 0-59,62-63\n"
	"pmd 0-5 pmc 0-5 event cpu/event={0-59}/ enable=0-59 user=!62 kernel=!63\n",
	"table mips\n"
	/* this table is only for MIPS: RISC-V, Alpha and SPARC also have a PMU named cpu, without
	 * the fields of MIPS */
	"fits machine:mips*\n"
	"fits cpu/config=1/\n"
	"pmc 0-3 mask 0-11\n"
	"pmd 0 pmc 0 event cpu/config={5-11}/ enable=1,3 user=3 kernel=1\n"
	"pmd 1 pmc 1 event cpu/config={5-11|0x80}/ enable=1,3 user=3 kernel=1\n"
	"pmd 2 pmc 2 event cpu/config={5-11}/ enable=1,3 user=3 kernel=1\n"
	"pmd 3 pmc 3 event cpu/config={5-11|0x80}/ enable=1,3 user=3 kernel=1\n",
	"table software\n"
	"pmc 0-15 mask 0-7,30-31\n"
	"pmd 0-15 pmc 0-15 event 1:{0-7} user=!30 kernel=!31\n",
};
const size_t npmumap_builtin = LEN(pmumap_builtin);

/* --- bits of registers ------------------------------------------------------------------------ */

/* Parses N or N-M into *lo and *hi. Returns false if s has another form, or if a number is above
 * max. */
static bool range_parse(struct str s, u64 max, u64 *lo, u64 *hi)
{
	const char *p = scan_u64(s, lo);

	*hi = p ? *lo : 0;
	if (p && p < s.e && *p == '-')
		p = scan_u64((struct str){ p + 1, s.e }, hi);
	return p == s.e && p && *lo <= *hi && *hi <= max;
}

/* Returns a mask of bits lo to hi. */
static u64 ones(u64 lo, u64 hi)
{
	return (hi - lo == 63 ? UINT64_MAX : (UINT64_C(1) << (hi - lo + 1)) - 1) << lo;
}

/* Parses a list of bits such as "0-7,32-35" and stores their mask in *mask. Stores these bits of v
 * in *cut, one range after another, without the bits between the ranges. Returns false if bits is
 * not such a list. */
static bool bits_extract(struct str bits, u64 v, u64 *mask, u64 *cut)
{
	struct str range;
	u64 lo, hi, at = 0;

	*mask = *cut = 0;
	if (bits.p < bits.e && bits.e[-1] == ',')
		return false;
	while (str_cut(&bits, ',', &range)) {
		if (!range_parse(range, 63, &lo, &hi) || *mask & ones(lo, hi) || at > 63)
			return false;
		*mask |= ones(lo, hi);
		*cut |= (v & ones(lo, hi)) >> lo << at;
		at += hi - lo + 1;
	}
	return *mask != 0;
}

/* Calculates the value of a field {BITS} or {BITS|NUMBER} of an event, for the PMC value v. Returns
 * false if the field is malformed. */
static bool field_value(struct str field, u64 v, u64 *value)
{
	struct str bits;
	u64 mask, more;

	if (!str_cut(&field, '|', &bits) || !bits_extract(bits, v, &mask, value))
		return false;
	if (bits.e == field.e)
		return true;
	if (scan_num(field, &more) != field.e)
		return false;
	*value |= more;
	return true;
}

/* Parses the value of user= or kernel= into *bit: the number of a PMC bit, plus BIT_CLEAR if "!"
 * precedes it. (A PMD without user= or kernel= has BIT_ALWAYS in place of this value.) */
static bool bit_parse(struct str s, u8 *bit)
{
	bool clear = str_skip_z(&s, "!");
	u64 n, same;

	if (!range_parse(s, 63, &n, &same) || n != same)
		return false;
	*bit = (u8)(n | (clear ? BIT_CLEAR : 0));
	return true;
}

/* Returns true if the PMC value v enables counting in the mode (user or kernel) that bit controls.
 * bit is a value that bit_parse() has stored. */
static bool mode_enabled(u8 bit, u64 v)
{
	return bit == BIT_ALWAYS || (v >> (bit & 63) & 1) != (bit & BIT_CLEAR ? 1 : 0);
}

/* --- parsing the lines of a table of registers ------------------------------------------------ */

static bool map_error(struct pmumap *m, const char *why)
{
	m->why = why;
	return false;
}

/* Copies s and a NUL into the text of the table m, and returns the copy. If there is no room,
 * returns NULL and sets the error message m->why. */
static const char *text_keep(struct pmumap *m, struct str s)
{
	size_t n = str_len(s);
	char *p = m->text + m->ntext;

	if (n >= sizeof(m->text) - m->ntext) {
		map_error(m, "too many words in this table");
		return NULL;
	}
	memcpy(p, s.p, n);
	p[n] = '\0';
	m->ntext += n + 1;
	return p;
}

/* Returns true if all bytes of s are printable ASCII. */
static bool is_plain(struct str s)
{
	for (; s.p < s.e; s.p++)
		if (*s.p < ' ' || *s.p > '~')
			return false;
	return true;
}

/* Checks the event in a line of a table of registers: its length, its characters, and that each
 * pair of braces contains a valid field. If the event is wrong, returns false and sets the error
 * message m->why. */
static bool event_check(struct pmumap *m, struct str s)
{
	struct str piece, field;
	u64 value;
	unsigned n = 0;

	if (str_len(s) == 0 || str_len(s) > EVENT_TEXT || !is_plain(s))
		return map_error(m, "event requires 1 to 200 characters");
	while (str_cut(&s, '{', &piece)) {
		if (memchr(piece.p, '}', str_len(piece)))
			return map_error(m, "a } without a {");
		if (piece.e == s.e)
			return true;
		if (!str_cut(&s, '}', &field) || s.p[-1] != '}')
			return map_error(m, "a { without a }");
		if (!field_value(field, 0, &value))
			return map_error(m, "braces require bits as 0-7,32-35, and |NUMBER");
		if (++n > EVENT_FIELDS)
			return map_error(m, "more than 16 fields");
	}
	return true;
}

/* Stores the next word of a line of a table of registers in *value. If the line has no more words,
 * returns false and sets the error message m->why. */
static bool value_next(struct pmumap *m, struct str *line, struct str *value)
{
	return str_word(line, value) || map_error(m, "a value is missing");
}

static bool pmc_parse(struct pmumap *m, struct str *line)
{
	struct pmureg r = { .kind = REG_PMC, .mask = UINT64_MAX };
	struct str word, value = { 0 };
	u64 lo, hi, cut;

	if (!str_word(line, &word) || !range_parse(word, PMU_REGS - 1, &lo, &hi))
		return map_error(m, "invalid PMC; use N or N-M, up to 319");
	while (str_word(line, &word)) {
		if (!value_next(m, line, &value))
			return false;
		if (str_is(word, "mask")) {
			if (!bits_extract(value, 0, &r.mask, &cut))
				return map_error(m, "mask requires bits as 0-7,32-35");
		} else if (str_is(word, "default")) {
			if (scan_num(value, &r.dflt) != value.e)
				return map_error(m, "default requires a number");
		} else {
			return map_error(m, "expected mask or default");
		}
	}
	if (r.dflt & ~r.mask)
		return map_error(m, "the default has bits outside the mask");
	for (; lo <= hi; lo++) {
		if (m->pmc[lo].kind)
			return map_error(m, "a duplicate PMC");
		m->pmc[lo] = r;
	}
	return true;
}

static bool virtual_parse(struct pmumap *m, u64 n, u64 last, struct str *line)
{
	struct str name = str_trim(*line);

	if (n < PMU_VIRTUAL || n != last)
		return map_error(m, "counter requires one PMD, 256 to 319");
	if (str_len(name) == 0 || !is_plain(name))
		return map_error(m, "counter requires a name");
	if (m->pmd[n].kind)
		return map_error(m, "a duplicate PMD");
	m->pmd[n].counter = text_keep(m, name);
	m->pmd[n].kind = REG_VIRTUAL;
	return m->pmd[n].counter;
}

/* Parses one word of a line that begins with "pmd", in a table of registers: enable=BITS,
 * user=[!]BIT or kernel=[!]BIT. */
static bool pmd_bits_parse(struct pmumap *m, struct pmureg *r, struct str word)
{
	u64 cut;

	if (str_skip_z(&word, "enable="))
		return bits_extract(word, 0, &r->enable, &cut) ||
		       map_error(m, "enable requires bits as 0-7,32-35");
	if (str_skip_z(&word, "user="))
		return bit_parse(word, &r->user) || map_error(m, "user requires a bit, or !BIT");
	if (str_skip_z(&word, "kernel="))
		return bit_parse(word, &r->kernel) ||
		       map_error(m, "kernel requires a bit, or !BIT");
	return map_error(m, "expected enable=, user= or kernel=");
}

/* Parses the RANGE after the word "pmc" in a line that begins with "pmd": one PMC for each PMD, or
 * one PMC for all PMDs. Stores the number of the first PMC in *pmc. Stores in *step the difference
 * of the PMC numbers of consecutive PMDs: 1, or 0 if all PMDs have the same PMC. */
static bool pmd_pmcs_parse(struct pmumap *m, struct str *line, u64 npmds, u64 *pmc, u64 *step)
{
	struct str value;
	u64 last;

	if (!value_next(m, line, &value))
		return false;
	if (!range_parse(value, PMU_REGS - 1, pmc, &last))
		return map_error(m, "invalid PMC; use N or N-M, up to 319");
	*step = last > *pmc;
	if (last - *pmc + 1 != npmds && *step)
		return map_error(m, "expected one PMC, or one for each PMD");
	for (u64 i = *pmc; i <= last; i++)
		if (!m->pmc[i].kind)
			return map_error(m, "a PMC without a pmc line");
	return true;
}

static bool pmd_parse(struct pmumap *m, struct str *line)
{
	struct pmureg r = { .kind = REG_COUNTER, .user = BIT_ALWAYS, .kernel = BIT_ALWAYS };
	struct str word;
	u64 lo, hi, pmc = 0, step = 0;

	if (!str_word(line, &word) || !range_parse(word, PMU_REGS - 1, &lo, &hi))
		return map_error(m, "invalid PMD; use N or N-M, up to 319");
	if (!value_next(m, line, &word))
		return false;
	if (str_is(word, "counter"))
		return virtual_parse(m, lo, hi, line);
	if (str_is(word, "pmc")) {
		if (!pmd_pmcs_parse(m, line, hi - lo + 1, &pmc, &step) ||
		    !value_next(m, line, &word))
			return false;
		r.npmcs = 1;
	}
	if (!str_is(word, "event"))
		return map_error(m, "expected pmc, event or counter");
	if (!value_next(m, line, &word) || !event_check(m, word))
		return false;
	if (!r.npmcs && memchr(word.p, '{', str_len(word)))
		return map_error(m, "fields require a PMC");
	r.event = text_keep(m, word);
	while (r.event && str_word(line, &word))
		if (!pmd_bits_parse(m, &r, word))
			return false;
	if (hi >= PMU_VIRTUAL)
		return map_error(m, "PMDs from 256 on are virtual: counter NAME");
	for (; r.event && lo <= hi; lo++, pmc += step) {
		if (m->pmd[lo].kind)
			return map_error(m, "a duplicate PMD");
		r.pmcs[0] = (u16)pmc;
		m->pmd[lo] = r;
	}
	return r.event;
}

/* Parses a line that begins with "fits", in a table of registers. The conditions of all fits lines
 * are stored as one string, separated by newlines. This string can grow only while it is the last
 * string in m->text, so the fits lines must come before the lines of registers. */
static bool fits_parse(struct pmumap *m, struct str *line)
{
	struct str event = { 0 }, more;

	if (!value_next(m, line, &event))
		return false;
	if (str_word(line, &more))
		return map_error(m, "fits requires one event");
	if (m->fits + strlen(m->fits) + 1 != m->text + m->ntext)
		return map_error(m, "fits must come before registers");
	m->ntext--;
	if (m->fits[0])
		m->text[m->ntext++] = '\n';
	return event_check(m, event) && text_keep(m, event);
}

static bool line_parse(struct pmumap *m, struct str line)
{
	static const struct {
		struct str word;
		bool (*parse)(struct pmumap *m, struct str *line);
	} words[] = { { STR("pmc"), pmc_parse }, { STR("pmd"), pmd_parse },
		      { STR("fits"), fits_parse } };
	struct str word;

	if (!str_word(&line, &word))
		return true;
	for (size_t i = 0; i < LEN(words); i++)
		if (str_eq(word, words[i].word))
			return words[i].parse(m, &line);
	return map_error(m, "expected table, fits, pmc or pmd");
}

static void virtuals_add(struct pmumap *m)
{
	struct str all = str_z(virtual_lines), line;

	while (str_cut(&all, '\n', &line))
		line_parse(m, line);
}

static bool map_begin(struct pmumap *m, struct str name)
{
	memset(m, 0, sizeof(*m));
	if (str_len(name) == 0 || str_len(name) > EVENT_TEXT || !is_plain(name))
		return map_error(m, "table requires a name");
	m->name = text_keep(m, name);
	m->fits = text_keep(m, (struct str)STR(""));
	return true;
}

bool pmumap_next(struct str *text, u32 *line, struct pmumap *m)
{
	struct str rest = *text, whole, code, word;
	bool begun = false;

	while (str_cut(&rest, '\n', &whole)) {
		if (!str_cut(&whole, '#', &code))
			code = whole;
		code = str_trim(code);
		whole = code;
		if (str_word(&whole, &word) && str_is(word, "table")) {
			if (begun)
				return true;
			begun = true;
			map_begin(m, str_trim(whole));
		} else if (str_len(code)) {
			if (!begun)
				map_begin(m, (struct str)STR("own"));
			begun = true;
			line_parse(m, code);
		}
		*text = rest;
		++*line;
		if (begun && m->why) {
			m->line = *line;
			return true;
		}
	}
	return begun;
}

/* --- finding the perf event that a PMD counts, for given PMC values --------------------------- */

/* Removes the next piece from the event text s and returns it: the text up to '/' or ',' outside of
 * braces, or up to the end. */
static struct str piece_next(struct str *s)
{
	struct str piece = *s;
	bool inside = false;

	for (; s->p < s->e && (inside || (*s->p != '/' && *s->p != ',')); s->p++)
		inside = *s->p == '{' || (inside && *s->p != '}');
	piece.e = s->p;
	return piece;
}

/* Appends a piece of an event text to b, in which the bits of the PMC value v replace each field
 * {BITS}. Returns true if the piece has fields and all their values are 0. */
static bool put_piece(struct buf *b, struct str s, u64 v)
{
	struct str plain, field;
	u64 value, all = 0;
	bool has = false;

	while (str_cut(&s, '{', &plain)) {
		put_str(b, plain);
		if (!str_cut(&s, '}', &field) || !field_value(field, v, &value))
			break;
		put_hex64(b, value);
		all |= value;
		has = true;
	}
	return has && all == 0;
}

static void put_event(struct buf *b, struct str s, u64 v)
{
	char lead = '\0';

	while (s.p < s.e) {
		size_t from = b->n;

		if (lead)
			put_c(b, lead);
		if (put_piece(b, piece_next(&s), v) && lead == ',')
			b->n = from;
		lead = (char)(s.p < s.e ? *s.p++ : '\0');
	}
	if (lead)
		put_c(b, lead);
}

int pmumap_text(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct buf *b)
{
	const struct pmureg *r = &map->pmd[pmd < PMU_REGS ? pmd : 0];
	u64 v = r->npmcs ? pmcs[r->pmcs[0]] : 0;
	bool user, kernel;

	if (map->why || pmd >= PMU_REGS || r->kind != REG_COUNTER ||
	    (r->npmcs && v & ~map->pmc[r->pmcs[0]].mask))
		return -EINVAL;
	user = mode_enabled(r->user, v);
	kernel = mode_enabled(r->kernel, v);
	if ((r->enable && !(v & r->enable)) || (!user && !kernel))
		return 0;
	put_event(b, str_z(r->event), v);
	if (user != kernel) {
		put_z(b, b->n && b->p[b->n - 1] == '/' ? "" : ":");
		put_c(b, user ? 'u' : 'k');
	}
	return b->full ? -E2BIG : 1;
}

/* Parses an event text with gp_parse(), and stores the event in *e. If several PMUs have the event,
 * stores that of the first PMU. Returns 1 or -errno. */
static int event_find(const char *text, struct gp_event *e)
{
	struct gp_event found[EVENT_PMUS];
	int n = gp_parse(text, found, EVENT_PMUS, NULL, 0);

	if (n > 0)
		*e = found[0];
	return n > 0 ? 1 : n < 0 ? n : -ENOENT;
}

int pmumap_event(const struct pmumap *map, unsigned pmd, const uint64_t *pmcs, struct gp_event *e)
{
	char text[EVENT_EXPANDED + 1];
	struct buf b = buf_on(text, EVENT_EXPANDED);
	int r = pmumap_text(map, pmd, pmcs, &b);

	text[b.n] = '\0';
	return r == 1 ? event_find(text, e) : r;
}

/* --- choosing the active table of registers --------------------------------------------------- */

/* Returns true if the pattern glob matches the name of this machine's architecture (uname -m). */
static bool machine_fits(struct str glob)
{
	struct utsname name = { 0 };

	return sys_uname(&name) == 0 && glob_match(glob, str_z(name.machine), NULL);
}

/* Returns true if this machine satisfies all fits lines of the table. */
static bool map_fits(const struct pmumap *m)
{
	struct str all = str_z(m->fits), event;
	struct gp_event e;
	char z[EVENT_TEXT + 1];

	while (str_cut(&all, '\n', &event)) {
		if (str_skip_z(&event, "machine:")) {
			if (!machine_fits(event))
				return false;
			continue;
		}
		memcpy(z, event.p, str_len(event));
		z[str_len(event)] = '\0';
		if (event_find(z, &e) != 1)
			return false;
	}
	return true;
}

/* Parses the tables in a text one after another into *m, until a table fits this machine, and
 * returns true. If no table fits, returns false and sets the error message m->why. */
static bool map_choose(struct pmumap *m, struct str text)
{
	u32 line = 0;

	while (pmumap_next(&text, &line, m))
		if (map_fits(m))
			return true;
	return map_error(m, "no table fits this machine");
}

struct active_map {
	struct pmumap map;
	/* content of the file that the environment variable GPUSTAT_PMU_MAP names */
	char text[MAP_BYTES];
};
static TABLE(struct active_map, active_map, 1, 1, "tables of registers");

/* Reads a file of tables of registers into memory, and stores the first table that fits this
 * machine in *m. All tables of the file are parsed first, so that an error in any of them is found.
 * After an error, returns false and sets the error message m->why. */
static bool map_read(struct pmumap *m, const char *name)
{
	long n = file_slurp(name, active_map.rows->text, MAP_BYTES);
	struct str s = str_read(active_map.rows->text, n), all = s;
	u32 line = 0;

	if (n < 0)
		return map_error(m, "cannot be read");
	if (n == MAP_BYTES)
		return map_error(m, "longer than 64 KiB");
	while (pmumap_next(&s, &line, m))
		if (m->why)
			return false;
	return map_choose(m, all);
}

const struct pmumap *pmumap(void)
{
	const char *name = secure_getenv("GPUSTAT_PMU_MAP");
	struct pmumap *map;

	if (active_map.rows)
		return &active_map.rows->map;
	if (!table_has(&active_map.t, 0))
		return NULL;
	map = &active_map.rows->map;
	if (name && *name) {
		map_read(map, name);
		return map;
	}
	for (size_t i = 0; i < npmumap_builtin && !map_choose(map, str_z(pmumap_builtin[i])); i++)
		;
	virtuals_add(map);
	return map;
}

/* --- writing a table of registers as text ----------------------------------------------------- */

static void put_bits(struct buf *b, u64 mask)
{
	for (unsigned lo = 0, hi; lo < 64; lo = hi + 1) {
		hi = lo;
		if (!(mask >> lo & 1))
			continue;
		while (hi < 63 && mask >> (hi + 1) & 1)
			hi++;
		if (mask & (ones(0, lo) >> 1))
			put_c(b, ',');
		put_u64(b, lo);
		if (hi > lo) {
			put_c(b, '-');
			put_u64(b, hi);
		}
	}
}

static void put_bit(struct buf *b, const char *word, u8 bit)
{
	if (bit == BIT_ALWAYS)
		return;
	put_z(b, word);
	put_z(b, bit & BIT_CLEAR ? "!" : "");
	put_u64(b, bit & 63);
}

static void put_register(struct buf *b, const char *name, u64 n)
{
	put_z(b, name);
	put_u64(b, n);
}

static void put_pmc(struct buf *b, u64 n, const struct pmureg *r)
{
	put_register(b, "pmc ", n);
	put_z(b, " mask ");
	put_bits(b, r->mask);
	if (r->dflt) {
		put_z(b, " default ");
		put_hex64(b, r->dflt);
	}
	put_c(b, '\n');
}

static void put_pmd(struct buf *b, u64 n, const struct pmureg *r)
{
	put_register(b, "pmd ", n);
	if (r->kind == REG_VIRTUAL) {
		put_z(b, " counter ");
		put_z(b, r->counter);
	} else {
		if (r->npmcs)
			put_register(b, " pmc ", r->pmcs[0]);
		put_z(b, " event ");
		put_z(b, r->event);
		if (r->enable) {
			put_z(b, " enable=");
			put_bits(b, r->enable);
		}
		put_bit(b, " user=", r->user);
		put_bit(b, " kernel=", r->kernel);
	}
	put_c(b, '\n');
}

void pmumap_put(const struct pmumap *m, bool fits, struct buf *b)
{
	struct str all = str_z(m->fits), event;

	put_z(b, "table ");
	put_z(b, m->name);
	put_c(b, '\n');
	while (fits && str_cut(&all, '\n', &event)) {
		put_z(b, "fits ");
		put_str(b, event);
		put_c(b, '\n');
	}
	for (size_t i = 0; i < PMU_REGS; i++)
		if (m->pmc[i].kind)
			put_pmc(b, i, &m->pmc[i]);
	for (size_t i = 0; i < PMU_REGS; i++)
		if (m->pmd[i].kind)
			put_pmd(b, i, &m->pmd[i]);
}

/* Appends the start of a register's line in the format of perfmon2's file perfmon_map, up to the
 * register's description (perfmon2, perfmon/perfmon_sysfs.c: mappings_show()). */
static void put_mapping(struct buf *b, const char *name, u64 n, const struct pmureg *r, u64 mask)
{
	put_register(b, name, n);
	put_c(b, ':');
	put_hex64(b, r->dflt);
	put_c(b, ':');
	put_hex64(b, mask);
	put_c(b, ':');
}

/* Appends the description of a PMC for the file perfmon_map: the list of PMDs that the PMC
 * configures. */
static void put_configured(const struct pmumap *m, size_t pmc, struct buf *b)
{
	put_z(b, "configures");
	for (size_t i = 0; i < PMU_REGS; i++)
		if (m->pmd[i].npmcs && m->pmd[i].pmcs[0] == pmc)
			put_register(b, " PMD", i);
}

void pmumap_put_perfmon(const struct pmumap *m, struct buf *b)
{
	for (size_t i = 0; i < PMU_REGS; i++)
		if (m->pmc[i].kind) {
			put_mapping(b, "PMC", i, &m->pmc[i], m->pmc[i].mask);
			put_configured(m, i, b);
			put_c(b, '\n');
		}
	for (size_t i = 0; i < PMU_REGS; i++) {
		const struct pmureg *r = &m->pmd[i];

		if (!r->kind)
			continue;
		put_mapping(b, "PMD", i, r, UINT64_MAX);
		put_z(b, r->kind == REG_VIRTUAL ? r->counter : r->event);
		put_c(b, '\n');
	}
}
