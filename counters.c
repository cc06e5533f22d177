/* counters.c - the registry: quantities, the entities that they are about, and their values.
 * Sources store values; rates and sums are computed only here. SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"

/* The name of an engine, a region or a sensor: `at` and `n` are its offset and its length in
 * name_bytes. */
struct instance {
	u32 at;
	u16 next;
	/* region: kind (IN_*) of the memory region with this name; without meaning for engines and
	 * sensors */
	u8 n, region;
};
/* Kinds of memory regions: main memory, video memory, memory on the chip. region_kind() determines
 * the kind by the region's name. */
enum { IN_MAIN, IN_VRAM, IN_CHIP };

enum {
	SLOTS = 7,
	/* limit of the number of lines (struct line, up to 7 counters each): 8 lines per client; a
	 * client of amdgpu, which has the most counters, needs six */
	MAX_LINES = 8 * MAX_CLIENTS,
	/* limit of the number of histories (struct history; a counter with a rate needs one): 8 per
	 * client; the engines of a client need about five */
	MAX_HISTORIES = 8 * MAX_CLIENTS,
	/* Limit of the number of layouts (struct layout) that are created when one counter is
	 * added: a full line is split into two lines, and one of these then gets the counter. */
	NEW_LAYOUTS = 4,
	MAX_LAYOUTS = MAX_LINES + NEW_LAYOUTS,
	NAME_BYTES = 64 << 10,
	MAX_TEXTS = 128 << 10,
};

/* A layout: the quantity and the instance (engine, region or sensor) of the counter in each slot of
 * a line (struct line). Lines with the same counters share a layout: usually all clients of a
 * driver do. Without layouts, with quantities and instances in each line, the resident size with
 * 1 000 clients of amdgpu would be 1336 KiB instead of 1228, and a client whose text does not
 * change would take 17 700 instructions per sample instead of 12 300. */
struct layout {
	struct slots {
		u16 inst[SLOTS];
		u8 desc[SLOTS], n;
	} slots;
	u32 next, refs;
	/* bit q % 32 is set if a slot of the layout has a counter of quantity q (enum desc) */
	u32 has;
	/* slots_of[class]: bit i is set if the counter in slot i has a quantity of this class
	 * (DESC_*) */
	u8 slots_of[DESC_CLASSES];
	/* A cache for sum_client(), which adds the values of a client to sums: sums[i] is the index
	 * in reg.histories[] of the sum to which the value in slot i, a size in a memory region, is
	 * added. `into` is the serial number of the entity that has the sums. The cache is valid
	 * while `clears` equals reg.clears: then no history was freed. */
	u32 into, clears, sums[SLOTS];
};

/* A line: up to SLOTS counters of one entity; `next` is the next line of the same entity. v[i] is
 * the value of the counter in slot i or, with CF_RATE or CF_HISTORY, the index of its struct
 * history. This saves memory: the 35 values of a client of amdgpu, three of them with rates, take
 * 340 bytes. In a list with one struct for each value, which contains its history, they would take
 * 1680 bytes, and the resident size with 1 000 such clients would be 2540 KiB instead of 1228; with
 * 64 bits in v[] it would be 1368 KiB. But the first two readings of a client take 31 000
 * instructions more than with such a list (callgrind, x86-64, -Oz). */
struct line {
	u32 next, layout;
	u8 flags[SLOTS + 1];
	u32 v[SLOTS];
};

/* A text is a linked list of parts of up to 27 bytes. */
struct text {
	u32 next;
	u8 n;
	/* bytes of this part of a text; most texts are names that need only one part, which is half
	 * a cache line */
	char b[27];
};

struct client *clients;
struct holder *holders;
struct task *tasks;
static struct {
	/* Row 0 (NONE) of devices[], cgroups[], pmus[] and evrows[]: empty rows, which may be read.
	 * Until a table needs memory for another row, its pointer points to its row 0 here. */
	struct device no_device;
	struct cgroup no_cgroup;
	struct pmu no_pmu;
	struct evrow no_evrow;
	/* times of a measurement of perf events (elapsed time, CPU time), which rows_times()
	 * returns */
	struct runtimes times;
	struct instance *names;
	char *name_bytes;
	struct layout *layouts;
	struct line *lines;
	struct history *histories;
	struct text *texts;
	u32 serials; /* number of serial numbers that were assigned to entities so far */
	u32 nnames, name_used;
	u16 name_bucket[256];
	u32 layout_bucket[1024], nlayouts, free_layout;
	u32 nlines, nhistories, free_line, free_history;
	u32 clears; /* number of calls of reg_clear() so far */
	u32 group_bucket[256];
	u32 ntexts, free_texts;
	/* Hash tables of clients[], holders[] and tasks[]: number of the first row of each hash
	 * chain. 16 bits are enough for the row numbers of these three tables. */
	u16 client_bucket[4096], holder_bucket[4096], task_bucket[4096];
	u32 cgroup_bucket[1024];
	u32 free_client, free_holder, free_task, free_cgroup, free_group;
	/* hash table of counts[] by the kernel's id of an event: index of the first count of each
	 * chain */
	u32 id_bucket[4096];
} reg;

struct device *devices = &reg.no_device;
struct cgroup *cgroups = &reg.no_cgroup;
struct group *groups;
struct taskinfo *taskinfos;
static struct {
	struct table devices, clients, holders, tasks, cgroups, groups;
	struct table names, name_bytes, layouts, lines, histories, texts;
} reg_tables = {
	.devices = TABLE_ROW(devices, MAX_DEVICES, 8, "devices"),
	.clients = TABLE_ROW(clients, MAX_CLIENTS, 64, "clients"),
	.holders = TABLE_ROW(holders, MAX_HOLDERS, 128, "descriptors of clients"),
	.tasks = TABLE_ROW(tasks, MAX_TASKS, 64, "processes with clients"),
	.cgroups = TABLE_ROW(cgroups, MAX_CGROUPS, 128, "cgroups"),
	.groups = TABLE_ROW(groups, MAX_GROUPS, 64, "cgroups or processes on devices"),
	.names = TABLE_ROW(reg.names, MAX_INSTANCES, 512, "names of engines, regions and sensors"),
	.name_bytes = TABLE_ROW(reg.name_bytes, NAME_BYTES, 4096, "bytes of names"),
	.layouts = TABLE_ROW(reg.layouts, MAX_LAYOUTS, 64, "layouts of values"),
	.lines = TABLE_ROW(reg.lines, MAX_LINES, 256, "lines of values"),
	.histories = TABLE_ROW(reg.histories, MAX_HISTORIES, 256, "values with rates"),
	.texts = TABLE_ROW(reg.texts, MAX_TEXTS, 128, "texts of 27 bytes"),
};
struct table taskinfos_table = TABLE_ROW(taskinfos, MAX_TASKS, 64, "facts of processes");
struct row_counts nrows;
struct registry registry;
struct pmu *pmus = &reg.no_pmu;
struct event *events;
struct count *counts;
struct evrow *evrows = &reg.no_evrow;
struct site *sites;
struct table pmus_table = TABLE_ROW(pmus, MAX_PMUS, 16, "PMUs");
struct table events_table = TABLE_ROW(events, MAX_EVENTS, 32, "events");
struct table counts_table = TABLE_ROW(counts, MAX_COUNTS, 32, "events on CPUs or tasks");
struct table evrows_table = TABLE_ROW(evrows, MAX_ROWS, 32, "rows of events");
struct table sites_table = TABLE_ROW(sites, MAX_SITES, 128, "CPUs or tasks");
struct evset evsets[MAX_SETS];

enum { UNSIGNED, SIGNED };
const struct quantity quantities[D_COUNT] = {
#define STORED(id, course, sign, range, sum) [D_##id] = { CO_##course, sign, RG_##range, sum },
#include "quantities.h"
};

/* Returns the number of an unused row of the table t: `freed`, its first freed row, if there is
 * one, otherwise the next new row; NONE if the table is full. */
static u32 row_new(u32 freed, u32 *count, struct table *t)
{
	if (freed != NONE)
		return freed;
	if (table_has(t, *count + 1))
		return ++*count;
	registry.dropped++;
	return NONE;
}

/* --- names of instances ----------------------------------------------------------------------- */

struct str inst_name(u16 inst)
{
	return inst ? str_of(reg.name_bytes + reg.names[inst].at, reg.names[inst].n) : LIT("");
}

/* Returns the kind of a memory region (IN_*), by its name. amdgpu's small on-chip memories
 * (IN_CHIP) are not counted as memory in use. */
static u8 region_kind(struct str name)
{
	if (str_among(name, "gds gws oa doorbell mmioremap") < 5)
		return IN_CHIP;
	return str_skip_z(&name, "vram") || str_skip_z(&name, "local") ? IN_VRAM : IN_MAIN;
}

/* Returns the number of the name of an instance (an engine, a memory region or a sensor); a name
 * keeps its number. Returns 0 for the empty name, and MAX_INSTANCES if the name is new and cannot
 * be added: `add` is false, the name is too long, or the table of names is full. */
static u16 inst_id(struct str s, bool add)
{
	u16 *bucket = &reg.name_bucket[hash_more(HASH_BEGIN, s) % LEN(reg.name_bucket)], i;
	size_t n = str_len(s);

	if (n == 0)
		return 0;
	for (i = *bucket; i; i = reg.names[i].next)
		if (str_eq(inst_name(i), s))
			return i;
	if (!add || n > MAX_NAME || !table_has(&reg_tables.names, reg.nnames + 1) ||
	    !table_has(&reg_tables.name_bytes, reg.name_used + n))
		return MAX_INSTANCES;
	i = (u16)++reg.nnames;
	reg.names[i].region = region_kind(s);
	memcpy(reg.name_bytes + reg.name_used, s.p, n);
	reg.names[i].at = reg.name_used;
	reg.names[i].n = (u8)n;
	reg.names[i].next = *bucket;
	*bucket = i;
	reg.name_used += (u32)n;
	return i;
}

/* Returns a copy of a name, which stays valid until the program ends; an empty text if the name is
 * too long or the table of names is full. */
struct str inst_keep(struct str s)
{
	u16 i = inst_id(s, true);

	return inst_name(i < MAX_INSTANCES ? i : 0);
}

/* --- counters --------------------------------------------------------------------------------- */

static u32 *layout_link(const struct slots *k)
{
	struct str bytes = { (const char *)k, (const char *)(k + 1) };
	u32 *link = &reg.layout_bucket[hash_quick(bytes) % LEN(reg.layout_bucket)];

	while (*link != NONE && memcmp(&reg.layouts[*link].slots, k, sizeof(*k)) != 0)
		link = &reg.layouts[*link].next;
	return link;
}

/* For each class of quantities (DESC_*): the first and the last quantity of the class in enum desc,
 * and the first and the last of the D_SUM_* quantities, which are their sums over clients. */
static const struct {
	u8 first, last, first_sum, last_sum;
} classes[DESC_CLASSES] = {
	[DESC_ANY] = { 0, D_COUNT - 1, D_COUNT, D_COUNT },
	[DESC_ENGINE] = { D_BUSY_PCT, D_CURFREQ, D_SUM_BUSY, D_SUM_TOTAL_CYCLES },
	[DESC_REGION] = { D_TOTAL, D_ACTIVE, D_SUM_TOTAL, D_SUM_ACTIVE },
	[DESC_RESIDENT] = { D_RESIDENT, D_RESIDENT, D_SUM_RESIDENT, D_SUM_RESIDENT },
};

static bool has_class(u8 desc, enum desc_class class)
{
	return (desc >= classes[class].first && desc <= classes[class].last) ||
	       (desc >= classes[class].first_sum && desc <= classes[class].last_sum);
}

static void layout_classify(struct layout *l)
{
	_Static_assert(SLOTS <= 8, "slots_of has a bit for each");

	for (u32 i = 0; i < l->slots.n; i++) {
		l->has |= 1u << l->slots.desc[i] % 32;
		for (u32 class = 0; class < DESC_CLASSES; class++)
			if (has_class(l->slots.desc[i], class))
				l->slots_of[class] |= (u8)(1u << i);
	}
}

static void line_set_layout(struct line *l, const struct slots *k)
{
	u32 was = l->layout, *link, n;

	l->layout = NONE;
	if (k->n) {
		link = layout_link(k);
		n = *link != NONE             ? *link
		    : reg.free_layout != NONE ? reg.free_layout
					      : ++reg.nlayouts;
		if (*link == NONE) {
			reg.free_layout = n == reg.free_layout ? reg.layouts[n].next :
					  reg.free_layout;
			reg.layouts[n] = (struct layout){ .slots = *k };
			layout_classify(&reg.layouts[n]);
			*link = n;
		}
		reg.layouts[n].refs++;
		l->layout = n;
	}
	if (was == NONE || --reg.layouts[was].refs)
		return;
	*layout_link(&reg.layouts[was].slots) = reg.layouts[was].next;
	reg.layouts[was].next = reg.free_layout;
	reg.free_layout = was;
}

/* line_layout() and line_slots() return the layout of a line of counters. They are always inlined,
 * because each search for a counter calls them for each line of an entity. */
static inline __attribute__((always_inline)) const struct layout *line_layout(u32 line)
{
	return &reg.layouts[reg.lines[line].layout];
}

static inline __attribute__((always_inline)) const struct slots *line_slots(u32 line)
{
	return &line_layout(line)->slots;
}

static struct counter *counter_at(struct counter *c, u32 line, u8 slot)
{
	const struct slots *k;

	if (line == NONE)
		return NULL;
	k = line_slots(line);
	*c = (struct counter){ line, k->inst[slot], k->desc[slot], reg.lines[line].flags[slot],
			       slot };
	return c;
}

/* Finds the next counter whose quantity belongs to `class`: from slot `slot` of a line of counters
 * on, then in the lines after this line. Stores the counter in *c and returns c; NULL if there is
 * none. */
static struct counter *counter_of(struct counter *c, u32 line, u32 slot, enum desc_class class)
{
	for (; line != NONE; line = reg.lines[line].next, slot = 0) {
		u32 slots = (u32)line_layout(line)->slots_of[class] >> slot;

		if (slots)
			return counter_at(c, line, (u8)(slot + (u32)__builtin_ctz(slots)));
	}
	return NULL;
}

struct counter *counter_first_of(const struct entity *e, struct counter *c, enum desc_class class)
{
	return counter_of(c, e->first, 0, class);
}

struct counter *reg_next_of(struct counter *c, enum desc_class class)
{
	return counter_of(c, c->line, c->slot + 1u, class);
}

struct counter *reg_next(struct counter *c)
{
	return reg_next_of(c, DESC_ANY);
}

struct counter *counter_find(const struct entity *e, u8 desc, u16 inst, struct counter *c)
{
	if (!(e->has >> desc % 32 & 1))
		return NULL;
	for (u32 line = e->first; line != NONE; line = reg.lines[line].next) {
		const struct slots *k = line_slots(line);

		if (!(line_layout(line)->has >> desc % 32 & 1))
			continue;
		for (u8 i = 0; i < k->n; i++)
			if (k->inst[i] == inst && k->desc[i] == desc)
				return counter_at(c, line, i);
	}
	return NULL;
}

static void set_flags(struct counter *c, u8 flags)
{
	c->flags = reg.lines[c->line].flags[c->slot] = flags;
}

static bool has_history(u8 flags)
{
	return flags & (CF_RATE | CF_HISTORY);
}

struct history *reg_history(const struct counter *c)
{
	return &reg.histories[reg.lines[c->line].v[c->slot]];
}

static u32 line_alloc(void)
{
	u32 n = reg.free_line;

	if (n != NONE)
		reg.free_line = reg.lines[n].next;
	else if (table_has(&reg_tables.lines, reg.nlines + 1))
		n = ++reg.nlines;
	if (n != NONE)
		reg.lines[n] = (struct line){ 0 };
	return n;
}

static u32 history_alloc(void)
{
	u32 n = reg.free_history;

	if (n != NONE)
		reg.free_history = (u32)reg.histories[n].now;
	else if (table_has(&reg_tables.histories, reg.nhistories + 1))
		n = ++reg.nhistories;
	if (n != NONE)
		reg.histories[n] = (struct history){ 0 };
	return n;
}

static void history_free(u32 n)
{
	reg.histories[n].now = reg.free_history;
	reg.free_history = n;
}

static inline u64 slot_now(const struct line *l, u8 slot)
{
	if (has_history(l->flags[slot]))
		return reg.histories[l->v[slot]].now;
	return l->flags[slot] & CF_KIB ? (u64)l->v[slot] << 10 : l->v[slot];
}

u64 reg_now(const struct counter *c)
{
	return slot_now(&reg.lines[c->line], c->slot);
}

/* Stores v as the value of the counter c. Its line (struct line) has 32 bits for a value: a value
 * below 2^32 is stored there as it is, a multiple of 1024 below 2^42, as most memory sizes are, in
 * KiB. Any other value is stored in a struct history, as are all values of a counter that already
 * has one. Returns false if no history is free. */
static bool set_now(struct counter *c, u64 v)
{
	u32 *at = &reg.lines[c->line].v[c->slot], n;
	u8 flags = c->flags & (u8)~CF_KIB;

	if (has_history(flags)) {
		reg.histories[*at].now = v;
		return true;
	}
	if (v <= UINT32_MAX) {
		*at = (u32)v;
	} else if (v >> 42 == 0 && v % 1024 == 0) {
		*at = (u32)(v >> 10);
		flags |= CF_KIB;
	} else if ((n = history_alloc()) != NONE) {
		*at = n;
		flags |= CF_HISTORY;
		reg.histories[n].now = v;
	} else {
		return false;
	}
	set_flags(c, flags);
	return true;
}

/* Moves a counter from slot i of the line l to slot j of the line `to`; both are lines of counters
 * (struct line). k and to_k are the slots of their layouts, which are changed, too. */
static void slot_move(struct line *to, struct slots *to_k, u8 j,
		      const struct line *l, struct slots *k, u8 i)
{
	to->flags[j] = l->flags[i];
	to->v[j] = l->v[i];
	to_k->inst[j] = k->inst[i];
	to_k->desc[j] = k->desc[i];
	/* an unused slot of a layout must be 0, because layouts are compared with memcmp */
	k->inst[i] = k->desc[i] = 0;
}

/* Splits a line of counters: moves the counters from slot `slot` of the line l on to the empty line
 * `to`. */
static void line_split(struct line *l, u8 slot, struct line *to)
{
	struct slots low = reg.layouts[l->layout].slots, high = { 0 };

	for (; low.n > slot; high.n++) {
		low.n--;
		slot_move(to, &high, (u8)(low.n - slot), l, &low, low.n);
	}
	line_set_layout(to, &high);
	line_set_layout(l, &low);
}

/* Makes slot `slot` of the line of counters l empty, for the counter with quantity desc and
 * instance inst: the counters from this slot on move up by one slot. The line must not be full. */
static void line_open_slot(struct line *l, u8 slot, u8 desc, u16 inst)
{
	struct slots k = reg.layouts[l->layout].slots;

	for (u8 i = k.n++; i > slot; i--)
		slot_move(l, &k, i, l, &k, (u8)(i - 1));
	k.inst[slot] = inst;
	k.desc[slot] = desc;
	line_set_layout(l, &k);
}

/* entity.at is LINE * AT_SLOTS + SLOT, the number of a line of counters and of a slot in this
 * line */
enum { AT_SLOTS = 8 };

/* Adds the counter with quantity desc and instance inst to the entity e: after the counter whose
 * value was stored last, or before all others if the current reading has stored no value yet. A
 * full line of counters is split at that place. Stores the new counter in *c and returns c; NULL if
 * the table of lines is full. */
static struct counter *counter_insert(struct entity *e, u8 desc, u16 inst, struct counter *c)
{
	u32 line = e->at ? e->at / AT_SLOTS : e->first, new;
	u8 slot = e->at ? (u8)(e->at % AT_SLOTS + 1) : 0;

	if (line == NONE || line_slots(line)->n == SLOTS) {
		if ((new = line_alloc()) == NONE)
			return NULL;
		if (line != NONE) {
			line_split(&reg.lines[line], slot, &reg.lines[new]);
			reg.lines[new].next = reg.lines[line].next;
		}
		*(line == NONE ? &e->first : &reg.lines[line].next) = new;
		if (line == NONE || slot == SLOTS) {
			line = new;
			slot = 0;
		}
	}
	line_open_slot(&reg.lines[line], slot, desc, inst);
	e->at = line * AT_SLOTS + slot;
	e->count++;
	e->has |= 1u << desc % 32;
	return counter_at(c, line, slot);
}

/* Returns true if a quantity is a sum over clients (D_SUM_*, D_ALL_*). The counter of a sum has a
 * struct history from the start, so that its value is not moved while values of clients are added
 * to it. */
static bool is_sum(u8 desc)
{
	return desc >= D_SUM_BUSY && desc <= D_ALL_TOTAL_CYCLES;
}

static struct counter *counter_add(struct entity *e, u8 desc, u16 inst, struct counter *c)
{
	bool needs_history = quantities[desc].course || is_sum(desc);
	u32 history = NONE;

	if (e->count == MAX_COUNTERS ||
	    !table_has(&reg_tables.layouts, reg.nlayouts + NEW_LAYOUTS) ||
	    (needs_history && (history = history_alloc()) == NONE))
		return NULL;
	if (!counter_insert(e, desc, inst, c)) {
		if (needs_history)
			history_free(history);
		return NULL;
	}
	reg.lines[c->line].v[c->slot] = history;
	set_flags(c, quantities[desc].course ? CF_RATE : needs_history ? CF_HISTORY : 0);
	return c;
}

/* Stores in *c the counter after the one whose value was stored last (or the first counter), and
 * returns c; NULL if the entity has no counter. This is probably the counter of the next value,
 * because the kernel prints the lines of a file in the same order each time. */
static struct counter *counter_expected(const struct entity *e, struct counter *c)
{
	if (e->at == NONE)
		return counter_first_of(e, c, DESC_ANY);
	c->line = e->at / AT_SLOTS;
	c->slot = (u8)(e->at % AT_SLOTS);
	return reg_next(c) ? c : counter_first_of(e, c, DESC_ANY);
}

/* Finds or adds the counter with quantity desc and instance inst of the entity e. A new counter is
 * added after the counter whose value was stored last, so that the counters have the order of the
 * lines in the file that is read. Stores the counter in *c and returns c; NULL if a new counter has
 * no room. */
static struct counter *counter_ensure(struct entity *e, u8 desc, u16 inst, struct counter *c)
{
	if ((!counter_expected(e, c) || c->inst != inst || c->desc != desc) &&
	    !counter_find(e, desc, inst, c))
		return counter_add(e, desc, inst, c);
	e->at = c->line * AT_SLOTS + c->slot;
	return c;
}

static struct counter *counter_put(struct entity *e, u8 desc, struct str name, struct counter *c)
{
	u16 inst;

	if (counter_expected(e, c) && c->desc == desc && str_eq(inst_name(c->inst), name)) {
		e->at = c->line * AT_SLOTS + c->slot;
		return c;
	}
	inst = inst_id(name, true);
	return inst == MAX_INSTANCES ? NULL : counter_ensure(e, desc, inst, c);
}

static void count_dropped(struct entity *e)
{
	if (e->dropped < UINT16_MAX)
		e->dropped++;
}

/* Returns true if a counter keeps its value in readings that do not contain it: the capacity of an
 * engine, because hardware does not change, and sums over clients that never decrease. */
static bool is_persistent(u8 desc)
{
	return desc == D_CAPACITY || (desc >= D_SUM_NS && desc <= D_SUM_TOTAL_CYCLES) ||
	       (desc >= D_ALL_NS && desc <= D_ALL_TOTAL_CYCLES);
}

/* Makes the last reading of the counter c its baseline, from which the next increase is
 * computed. */
static void baseline_advance(struct counter *c)
{
	struct history *k = reg_history(c);

	k->was = reg_base(c);
	k->t_was = k->t;
}

/* Begins a new reading of the entity e at the time t: for counters with a rate, the last reading
 * becomes the baseline, from which the next increase is computed. */
void reg_begin(struct entity *e, i64 t)
{
	for (struct counter *c = reg_first(e); c; c = reg_next(c)) {
		if (!(c->flags & CF_RATE)) {
			if (!is_persistent(c->desc))
				set_flags(c, c->flags & (u8)~(CF_SEEN | CF_UNKNOWN));
		} else if (c->flags & CF_SEEN) {
			baseline_advance(c);
			set_flags(c, CF_RATE | CF_BASE | CF_OLD);
		}
	}
	e->t_was = e->t;
	e->t = t;
	e->at = NONE;
	e->dropped = 0;
	e->went_backwards = false;
	e->fresh = true;
}

/* Stores a reading of the entity e at the time t in which all values equal those of the reading
 * before. It has the same effect as reg_begin() and then reg_put() for each value. The caller
 * guarantees that in the reading before, no value went backwards and no value was dropped. */
void reg_put_same(struct entity *e, i64 t)
{
	for (u32 line = e->first; line != NONE; line = reg.lines[line].next)
		for (u8 i = 0; i < line_slots(line)->n; i++) {
			struct counter c;

			if ((reg.lines[line].flags[i] & (CF_RATE | CF_SEEN)) != (CF_RATE | CF_SEEN))
				continue;
			baseline_advance(counter_at(&c, line, i));
			set_flags(&c, c.flags | CF_BASE | CF_OLD);
			reg_history(&c)->t = t;
		}
	e->t_was = e->t;
	e->t = t;
	e->fresh = true;
}

enum { FULL_LOAD = 100000 /* in 1/1000 % */ };

/* Time in ns. If a counter that must not decrease stays below its largest value for this time, the
 * driver has restarted the counter: the next increase is computed from the lower value. */
static const i64 restart_ns = 10000000000;

/* Counts a reading of a sensor that is not plausible, and keeps its description for --verbose: the
 * value or the rate is unknown in this sample. Parameters `where` and `sensor`: the device and its
 * sensor, or the folder and its hwmon channel. */
void count_implausible(const char *where, struct str sensor, u8 range, u64 v)
{
	struct implausible *i = &registry.implausible;
	struct buf b = buf_on(i->where, sizeof(i->where) - 1);

	i->total++;
	i->range = range;
	i->v = (i64)v;
	put_z(&b, where);
	if (sensor.p < sensor.e) {
		put_c(&b, ' ');
		put_str(&b, sensor);
	}
	buf_z(&b);
}

static void device_implausible(struct entity *e, u8 desc, u16 inst, u64 v)
{
	struct device *d = (struct device *)e;

	if (e->kind == K_CLIENT || e->kind == K_FDINFO) {
		struct client *c = (struct client *)e;

		d = &devices[c->device];
		c->text_hash = 0; /* read the same text again, to count the same value again */
	} else if (HAS(dmem) && e->kind == K_CGROUP) {
		d = &devices[((struct group *)e)->device];
	} else if (e->kind != K_DEVICE) {
		return; /* the other kinds have no readings of their own */
	}
	d->implausible++;
	count_implausible(d->dev, inst_name(inst), quantities[desc].range, v);
}

/* Decides whether the new reading of a hardware counter (CO_METER, for example energy) is
 * plausible. If only its increase is unknown, CF_BASE is cleared: the counter has no baseline. If
 * the reading itself may be wrong, CF_SEEN is cleared: the counter has no value in this reading.
 * last, t_last: value and time of the reading before. */
static void check_meter(struct entity *e, struct counter *c, u64 last, i64 t_last)
{
	struct history *k = reg_history(c);
	u8 meter;

	if ((c->flags & (CF_SEEN | CF_BASE)) != (CF_SEEN | CF_BASE))
		return;
	meter = meter_step(k, last, t_last, quantities[c->desc].range);
	if (meter == METER_KNOWN)
		return;
	set_flags(c, c->flags & (u8)~(meter == METER_JUMP ? CF_BASE : CF_SEEN));
	device_implausible(e, c->desc, c->inst, k->now);
}

/* Checks whether the value of a counter of the entity e is lower than in the reading before. If so,
 * determines whether the counter went backwards or was restarted. */
static void check_decrease(struct entity *e, struct counter *c)
{
	struct counter *cycles;
	struct history *k;

	if ((c->flags & (CF_RATE | CF_SEEN)) != (CF_RATE | CF_SEEN))
		return;
	k = reg_history(c);
	if (!(c->flags & CF_BASE) || k->now >= k->was) {
		k->below = 0;
		return;
	}
	if (quantities[c->desc].course == CO_PEAK) {
		if (k->below && k->t - k->below >= restart_ns) {
			k->was = k->now;
			k->below = 0;
			return;
		}
		k->below = k->below ? k->below : k->t;
		e->went_backwards = true;
	}
	/* If "drm-total-cycles" went backwards, the GPU's clock was reset, and the cycles of this
	 * engine were reset, too. */
	if (c->desc == D_TOTAL_CYCLES && (cycles = reg_find(e, D_CYCLES, c->inst))) {
		set_flags(cycles, cycles->flags & (u8)~CF_BASE);
		reg_history(cycles)->below = 0;
	}
}

/* Stores v, read at the time t, as the value of the counter with quantity desc and instance inst of
 * the entity e. If the counter already has a value in this reading, `stays` (PUT_*) selects which
 * of the two is kept. limit: highest limit that the driver has for a sensor, 0 if none. A value
 * that is not plausible is counted, and the counter is unknown in this reading, also if it already
 * had a value. Returns false if a table is full. */
static bool put_reading(struct entity *e, u8 desc, struct str inst, u64 v, i64 t, u8 stays,
			u64 limit)
{
	u32 last_put = e->at;
	struct counter at, *c = counter_put(e, desc, inst, &at);
	const struct quantity *q = &quantities[desc];
	struct history last = { 0 };

	if (c && c->flags & (CF_SEEN | CF_UNKNOWN)) {
		if (desc == D_THROTTLE)
			/* a throttle reason is active if it is active for any GT of the device */
			set_now(c, reg_now(c) | v);
		/* amdgpu prints the resident memory of a region under two keys: drm-memory-NAME and
		 * drm-resident-NAME. The second key does not change the place where the next new
		 * counter is inserted (e->at): otherwise new counters would be inserted between
		 * older ones, and would split a line of counters. */
		if (is_region(desc))
			e->at = last_put;
		if (stays == PUT_WEAK ? !(c->flags & CF_WEAK) :
		    stays == PUT_FIRST && c->flags & CF_SEEN)
			return true;
	}
	/* Most values belong to clients: counters of engines, which have no range of plausible
	 * values (RG_ANY), and sizes of less than 4 GiB. is_plausible() is not called for these. */
	if (q->range != RG_ANY && (q->range != RG_BYTES || v >> 32) &&
	    !is_plausible(q->range, v, limit)) {
		device_implausible(e, desc, c ? c->inst : 0, v);
		if (c && !is_persistent(desc))
			set_flags(c, (c->flags & (u8)~(CF_SEEN | CF_WEAK)) | CF_UNKNOWN |
				  (stays == PUT_WEAK ? CF_WEAK : 0));
		return true;
	}
	if (q->range == RG_LOAD && v > FULL_LOAD)
		v = FULL_LOAD;
	if (q->course == CO_METER && c)
		last = *reg_history(c);
	if (!c || !set_now(c, v)) {
		count_dropped(e);
		return false;
	}
	set_flags(c, (c->flags & (u8)~(CF_WEAK | CF_UNKNOWN)) | CF_SEEN |
		  (stays == PUT_WEAK ? CF_WEAK : 0));
	if (c->flags & CF_RATE) {
		reg_history(c)->t = t;
		if (q->course == CO_METER)
			check_meter(e, c, last.now, last.t);
		else
			check_decrease(e, c);
	}
	return true;
}

bool reg_put_as(struct entity *e, u8 desc, struct str inst, u64 v, i64 t, u8 stays)
{
	return put_reading(e, desc, inst, v, t, stays, 0);
}

bool reg_put(struct entity *e, u8 desc, struct str inst, u64 v, i64 t)
{
	return put_reading(e, desc, inst, v, t, PUT_FIRST, 0);
}

/* Does the same as reg_put(), for a reading of a sensor. limit: the highest limit that the driver
 * reports for the sensor, 0 if none. A reading far above this limit is not stored, so the value is
 * unknown. */
void reg_put_limited(struct entity *e, u8 desc, struct str inst, u64 v, i64 t, u64 limit)
{
	put_reading(e, desc, inst, v, t, PUT_FIRST, limit);
}

/* Adds v to the value that a counter of the entity e already has in this reading, because the
 * kernel prints the value in several parts. */
void reg_add(struct entity *e, u8 desc, struct str inst, u64 v)
{
	struct counter at, *c = counter_put(e, desc, inst, &at);

	if (c && c->flags & CF_SEEN && !set_now(c, reg_now(c) + v))
		count_dropped(e);
}

/* Adds an earlier reading of a counter of the entity e: the value v at the time t, before the last
 * reading. It becomes the baseline of a counter with a rate. A value of the last reading is not
 * replaced. below: as in struct history. After all values of the earlier reading, the caller calls
 * reg_compare(). */
void reg_put_previous(struct entity *e, u8 desc, struct str inst, u64 v, i64 t, i64 below)
{
	struct counter at, *c = counter_put(e, desc, inst, &at);
	bool seen = c && c->flags & CF_SEEN;

	if (!c || (!seen && !set_now(c, v))) {
		count_dropped(e);
		return;
	}
	if (!(c->flags & CF_RATE)) {
		set_flags(c, c->flags | CF_SEEN);
		return;
	}
	if (!seen)
		reg_history(c)->t = t;
	reg_baseline(c, v, t);
	reg_history(c)->below = below;
	set_flags(c, reg.lines[c->line].flags[c->slot] | CF_OLD);
}

/* Sets the baseline of a counter, from which its next increase is computed, to the value v at the
 * time t. */
void reg_baseline(const struct counter *c, u64 v, i64 t)
{
	reg_history(c)->was = v;
	reg_history(c)->t_was = t;
	reg.lines[c->line].flags[c->slot] |= CF_BASE;
}

/* Compares the last reading of the entity e with the earlier one that reg_put_previous() stored:
 * checks whether counters decreased or increased more than is plausible. */
void reg_compare(struct entity *e)
{
	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (quantities[c->desc].course == CO_METER)
			check_meter(e, c, reg_history(c)->was, reg_history(c)->t_was);
		else
			check_decrease(e, c);
}

/* Discards all readings of the entity e except the last one: the earlier ones belong to another
 * entity that had the same name. */
void reg_forget(struct entity *e)
{
	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		set_flags(c, c->flags & (u8)~(CF_BASE | CF_OLD));
	e->went_backwards = false;
	e->t_was = 0;
}

/* Returns the value from which the next increase of a counter with a rate is computed. */
u64 reg_base(const struct counter *c)
{
	const struct history *k = reg_history(c);

	if (!(c->flags & CF_SEEN))
		return k->was;
	return course_base(quantities[c->desc].course, c->flags & CF_BASE ? k->was : k->now,
			   k->now);
}

/* Frees all counters of the entity e and discards its readings. */
void reg_clear(struct entity *e)
{
	static const struct slots none;
	u32 line = e->first;

	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (has_history(c->flags))
			history_free(reg.lines[c->line].v[c->slot]);
	while (line != NONE) {
		u32 next = reg.lines[line].next;

		line_set_layout(&reg.lines[line], &none);
		reg.lines[line].next = reg.free_line;
		reg.free_line = line;
		line = next;
	}
	reg.clears++;
	e->first = e->at = NONE;
	e->count = 0;
	e->has = 0;
	e->t = e->t_was = 0;
}

/* Stores in *v the value of the counter (desc, inst) of the entity e in this reading; for a counter
 * that must not decrease, the largest value so far. Returns false if this reading has no value of
 * the counter. */
bool reg_get(const struct entity *e, u8 desc, u16 inst, u64 *v)
{
	struct counter *c = reg_find(e, desc, inst);

	if (!c || !(c->flags & CF_SEEN))
		return false;
	*v = c->flags & CF_BASE ? reg_base(c) : reg_now(c);
	return true;
}

static bool counter_rate(const struct counter *c, u64 *d, u64 *dt)
{
	const struct history *k;

	if (!c || (c->flags & (CF_SEEN | CF_BASE)) != (CF_SEEN | CF_BASE))
		return false;
	k = reg_history(c);
	if (k->t <= k->t_was)
		return false;
	*dt = (u64)(k->t - k->t_was);
	return course_delta(quantities[c->desc].course, k->was, k->now,
			    most_in(quantities[c->desc].range, *dt), d);
}

/* Stores in *v the value of the counter (desc, inst) of the entity e or, if e has no such counter,
 * the sum of this quantity over its clients. If the counter exists but has no value now, the sum is
 * not used: a total that switches between counter and sum would decrease. */
bool reg_get_or_sum(const struct entity *e, u8 desc, u16 inst, u64 *v)
{
	u8 sum = quantities[desc].sum;

	return reg_get(e, desc, inst, v) ||
	       (sum != NONE && !reg_find(e, desc, inst) && reg_get(e, sum, inst, v));
}

/* Does the same as reg_get_or_sum(), but tries the counter *near first, to save a search. If *near
 * is the counter (desc, inst) and has a value, *near becomes the next counter of the entity: the
 * counters of one instance usually follow each other. */
bool reg_get_near(const struct entity *e, struct counter *near, u8 desc, u16 inst, u64 *v)
{
	if (near->desc != desc || near->inst != inst || !(near->flags & CF_SEEN))
		return reg_get_or_sum(e, desc, inst, v);
	*v = near->flags & CF_BASE ? reg_base(near) : reg_now(near);
	if (!reg_next(near))
		near->flags = 0;
	return true;
}

/* Stores in *d the increase of the counter (desc, inst) of the entity e since its baseline, and in
 * *dt the time since the baseline in ns. Returns false if the increase is unknown. */
bool reg_rate(const struct entity *e, u8 desc, u16 inst, u64 *d, u64 *dt)
{
	return counter_rate(reg_find(e, desc, inst), d, dt);
}

/* No device has a higher power in uW, or a higher mean clock in Hz. */
static const u64 most_per_second = 20000000000;

/* Stores in *v the increase per second of the counter (desc, inst) of the entity e. Returns false
 * if it is unknown or not plausible: in an interval of a few ms, the increase that a driver makes
 * in 100 ms is a rate that no device has. */
bool reg_per_second(const struct entity *e, u8 desc, u16 inst, u64 *v)
{
	u64 d, dt;

	if (!reg_rate(e, desc, inst, &d, &dt))
		return false;
	*v = muldiv(d, 1000000000, dt);
	return *v <= most_per_second;
}

bool is_engine(u8 desc)
{
	return has_class(desc, DESC_ENGINE);
}

bool is_signed(u8 desc)
{
	return desc < D_COUNT && quantities[desc].is_signed;
}

bool is_region(u8 desc)
{
	return has_class(desc, DESC_REGION);
}

/* --- values computed from counters ------------------------------------------------------------ */

/* Shares of an engine's capacity are computed and added in units of 10^-9, and rounded on
 * output. */
enum { FULL = 1000000000, PERCENT_PER_MIL = 10000 };

static u64 capacity(const struct entity *e, u16 inst)
{
	u64 cap;

	return reg_get(e, D_CAPACITY, inst, &cap) && cap ? cap : 1;
}

/* Stores in *v the busy share of the engine's capacity in 10^-9, not limited to 100 %. The share is
 * computed from the first of these values that is known: cycles relative to those of the GPU's
 * clock, busy ns, cycles relative to those at the highest frequency, the driver's percentage, the
 * sum over clients. */
static bool engine_share(const struct entity *e, u16 inst, u64 *v)
{
	u64 cap = capacity(e, inst), d, dt, total, hz;

	if (reg_find(e, D_TOTAL_CYCLES, inst)) {
		if (!reg_rate(e, D_CYCLES, inst, &d, &dt) ||
		    !reg_rate(e, D_TOTAL_CYCLES, inst, &total, &dt))
			return false;
		*v = muldiv(d, FULL, total) / cap;
		return total > 0;
	}
	if (reg_rate(e, D_BUSY_NS, inst, &d, &dt)) {
		*v = muldiv(d, FULL, dt) / cap;
		return true;
	}
	if (!reg_find(e, D_BUSY_NS, inst) && reg_rate(e, D_CYCLES, inst, &d, &dt) &&
	    reg_get(e, D_MAXFREQ, inst, &hz)) {
		total = muldiv(hz, dt, 1000000000);
		*v = muldiv(d, FULL, total) / cap;
		return total > 0;
	}
	if (reg_get(e, D_BUSY_PCT, inst, v)) {
		*v *= PERCENT_PER_MIL;
		return true;
	}
	/* If the kernel counts the busy time of this engine for the whole device (D_BUSY_NS), the
	 * sum over the clients is never used, even if the kernel's value is unknown now. */
	return !reg_find(e, D_BUSY_NS, inst) && reg_get(e, D_SUM_BUSY, inst, v);
}

/* Converts a share in 10^-9 to 1/1000 %, at most 100 %. */
static u64 percent(u64 share)
{
	return ((share < FULL ? share : FULL) + PERCENT_PER_MIL / 2) / PERCENT_PER_MIL;
}

bool engine_busy(const struct entity *e, u16 inst, u64 *v)
{
	bool ok = engine_share(e, inst, v);

	*v = ok ? percent(*v) : 0;
	return ok;
}

static bool util_share(const struct entity *e, u16 inst, u64 *v)
{
	u64 d, dt, hz, total;

	if (!reg_get(e, D_MAXFREQ, inst, &hz) || !reg_rate(e, D_CYCLES, inst, &d, &dt))
		return reg_get(e, D_SUM_UTIL, inst, v);
	total = muldiv(hz, dt, 1000000000);
	*v = muldiv(d, FULL, total) / capacity(e, inst);
	return total > 0;
}

/* Computes the work that an engine has done, in 1/1000 % of the work that it could do at its
 * highest frequency in the whole interval. */
bool engine_util(const struct entity *e, u16 inst, u64 *v)
{
	bool ok = util_share(e, inst, v);

	*v = ok ? percent(*v) : 0;
	return ok;
}

/* Computes the mean clock of an engine while it was busy, in Hz: its cycles divided by its busy
 * time. */
bool engine_freq(const struct entity *e, u16 inst, u64 *v)
{
	u64 cycles = 0, ns = 0, dt;

	if (!(reg_get(e, D_MAXFREQ, inst, &dt) && reg_rate(e, D_CYCLES, inst, &cycles, &dt) &&
	      reg_rate(e, D_BUSY_NS, inst, &ns, &dt)) &&
	    !(reg_get(e, D_SUM_DCYCLES, inst, &cycles) && reg_get(e, D_SUM_DNS, inst, &ns)))
		return false;
	*v = ns ? muldiv(cycles, 1000000000, ns) : UINT64_MAX;
	return *v <= most_per_second;
}

/* Computes how busy the whole device is, in 1/1000 %: from the kernel's percentage, otherwise from
 * its busy time, otherwise as the share of the busiest queue for which the kernel counts the time
 * of all clients. */
bool device_busy(const struct device *d, u64 *v)
{
	u64 delta, dt;
	bool found = false;

	if (reg_get(&d->e, D_GPU_BUSY, 0, v))
		return true;
	if (reg_rate(&d->e, D_GPU_BUSY_US, 0, &delta, &dt)) {
		*v = percent(muldiv(delta, (u64)FULL * 1000, dt));
		return true;
	}
	*v = 0;
	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c)) {
		if (c->desc != D_BUSY_NS || !reg_rate(&d->e, D_BUSY_NS, c->inst, &delta, &dt))
			continue;
		found = true;
		delta = percent(muldiv(delta, FULL, dt));
		if (delta > *v)
			*v = delta;
	}
	return found;
}

/* Computes the share of the interval in which a device was asleep (rc6), in 1/1000 %. If the device
 * has several GTs, the lowest share of a GT is used. */
bool device_idle(const struct device *d, u64 *v)
{
	bool found = false;

	*v = FULL / PERCENT_PER_MIL;
	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c)) {
		u64 ms, dt, share;

		if (c->desc != D_IDLE_MS || !reg_rate(&d->e, D_IDLE_MS, c->inst, &ms, &dt))
			continue;
		share = muldiv(ms, (u64)FULL * 1000000, dt);
		if (share > 2ull * FULL)
			/* a share above 200 % is impossible: the counter was reset, and the
			 * decrease was taken for a wrap at 32 bits */
			continue;
		share = percent(share);
		found = true;
		if (share < *v)
			*v = share;
	}
	return found;
}

static u64 add_sat(u64 a, u64 b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* Returns the value of a counter in this reading; UINT64_MAX if it is not plausible: a sum that
 * contains it is then not plausible either. Always inlined, because it is called for each memory
 * size of each client. */
static inline __attribute__((always_inline)) u64 known_now(const struct line *l, u8 slot)
{
	return l->flags[slot] & CF_SEEN ? slot_now(l, slot) : UINT64_MAX;
}

/* Bytes of resident memory, and whether there is any; index: ELSEWHERE or IN_VIDEO. */
enum { ELSEWHERE, IN_VIDEO };
struct resident {
	u64 bytes[2];
	bool any[2];
};

static void add_resident(struct resident *sum, const struct entity *e, u32 line, u8 slot)
{
	const struct slots *k = line_slots(line);
	const struct line *l = &reg.lines[line];
	u16 inst = k->inst[slot];
	u8 region = inst ? reg.names[inst].region : IN_MAIN;
	u8 place = region == IN_VRAM ? IN_VIDEO : ELSEWHERE;

	if (!(l->flags[slot] & (CF_SEEN | CF_UNKNOWN)) || region == IN_CHIP ||
	    (k->desc[slot] == D_SUM_RESIDENT && reg_find(e, D_RESIDENT, inst)))
		/* the device's own resident bytes of a region are used instead of the sum over its
		 * clients */
		return;
	sum->any[place] = true;
	sum->bytes[place] = add_sat(sum->bytes[place], known_now(l, slot));
}

/* Computes the memory that an entity uses, in bytes: the driver's own count, otherwise the resident
 * video memory, otherwise the resident main memory. If video memory is a part of main memory (apu),
 * it is the sum of both. Returns false if the memory is unknown in this reading (then *v is not 0),
 * or if the entity has no values of its memory (*v is 0). */
bool entity_used(const struct entity *e, bool apu, u64 *v)
{
	struct resident sum = { 0 };
	u64 gtt = 0;

	if (reg_find(e, D_VRAM_USED, 0)) {
		bool shares = apu && reg_find(e, D_GTT_USED, 0);
		u64 vram;

		/* If the driver's own value could not be read this time, the memory in use is
		 * unknown. */
		*v = UINT64_MAX;
		if (!reg_get(e, D_VRAM_USED, 0, &vram) ||
		    (shares && !reg_get(e, D_GTT_USED, 0, &gtt)))
			return false;
		*v = vram + gtt;
		return is_plausible(RG_BYTES, *v, 0);
	}
	for (u32 line = e->first; line != NONE; line = reg.lines[line].next)
		for (u32 bits = line_layout(line)->slots_of[DESC_RESIDENT]; bits; bits &= bits - 1)
			add_resident(&sum, e, line, (u8)__builtin_ctz(bits));
	*v = add_sat(sum.bytes[IN_VIDEO], sum.any[IN_VIDEO] && !apu ? 0 : sum.bytes[ELSEWHERE]);
	return (sum.any[IN_VIDEO] || sum.any[ELSEWHERE]) && is_plausible(RG_BYTES, *v, 0);
}

/* Returns the size in bytes of the memory that entity_used() counts for a device; 0 if unknown. */
u64 device_memory_size(const struct device *d)
{
	u64 size = 0, gtt = 0;

	if (reg_get(&d->e, D_VRAM_TOTAL, 0, &size) && d->apu && reg_find(&d->e, D_GTT_USED, 0))
		size = reg_get(&d->e, D_GTT_TOTAL, 0, &gtt) ? size + gtt : 0;
	return is_plausible(RG_BYTES, size, 0) ? size : 0;
}

/* --- sums over clients ------------------------------------------------------------------------ */

static void sum_add(struct entity *e, u8 desc, u16 inst, u64 v)
{
	struct counter at, *c = counter_ensure(e, desc, inst, &at);
	u64 *now;

	if (!c) {
		count_dropped(e);
		return;
	}
	now = &reg_history(c)->now;
	/* A sum of times or cycles exceeds 64 bits only if a driver reported a negative value as a
	 * huge one. */
	*now = c->flags & CF_SEEN ? add_sat(*now, v) : v;
	set_flags(c, c->flags | CF_SEEN);
}

static void sum_max(struct entity *e, u8 desc, u16 inst, u64 v)
{
	struct counter at, *c = counter_ensure(e, desc, inst, &at);

	if (c && (!(c->flags & CF_SEEN) || reg_now(c) < v) && !set_now(c, v))
		return;
	if (c)
		set_flags(c, c->flags | CF_SEEN);
}

/* Returns the amount that the counter c of a client adds to a sum over clients: its increase since
 * the client was last added or, if the client was not added before (added is false), its whole
 * value. Such a sum does not decrease when a client ends. */
static u64 sum_increase(struct counter *c, bool added)
{
	const struct history *k = reg_history(c);
	u64 d = k->now;

	if (!added && c->flags & CF_BASE)
		return course_base(quantities[c->desc].course, k->was, d);
	if (!added || !(c->flags & CF_OLD))
		return d;
	return c->flags & CF_BASE &&
	       course_delta(quantities[c->desc].course, k->was, k->now, UINT64_MAX, &d) ? d : 0;
}

static void sum_engine(struct entity *into, const struct entity *e, struct counter *c, bool rates,
		       bool added)
{
	u64 v, ns, cycles, dt;

	switch (c->desc) {
	case D_BUSY_NS:
		sum_add(into, D_SUM_NS, c->inst, sum_increase(c, added));
		break;
	case D_CYCLES:
		sum_add(into, D_SUM_CYCLES, c->inst, sum_increase(c, added));
		if (rates && util_share(e, c->inst, &v))
			sum_add(into, D_SUM_UTIL, c->inst, v);
		if (rates && reg_rate(e, D_CYCLES, c->inst, &cycles, &dt) &&
		    reg_rate(e, D_BUSY_NS, c->inst, &ns, &dt)) {
			sum_add(into, D_SUM_DCYCLES, c->inst, cycles);
			sum_add(into, D_SUM_DNS, c->inst, ns);
		}
		break;
	case D_TOTAL_CYCLES:
		sum_max(into, D_SUM_TOTAL_CYCLES, c->inst, reg_now(c));
		return;
	case D_BUSY_PCT:
		break;
	case D_CAPACITY:
	case D_MAXFREQ:
	case D_CURFREQ:
		sum_max(into, c->desc, c->inst, reg_now(c));
		return;
	default:
		return;
	}
	/* If a client has both busy ns and cycles or a percentage of an engine, its busy share is
	 * added only once, for the busy ns. */
	if (c->desc != D_BUSY_NS && reg_find(e, D_BUSY_NS, c->inst))
		return;
	if (rates && engine_share(e, c->inst, &v))
		sum_add(into, D_SUM_BUSY, c->inst, v);
}

static u8 sum_desc(u8 desc)
{
	return quantities[desc].sum;
}

/* State while the values of one client (e) are added to the sums of a device or a group (into). */
struct summing {
	struct entity *into;
	const struct entity *e;
	/* The counter that sum_region() added last: quantity desc of the memory region inst. desc
	 * is D_COUNT if sum_set_position() has already moved into->at, the place where the next new
	 * sum is inserted, to the sum of that counter. */
	u8 desc;
	u16 inst, shared_inst;
	/* bytes of the client in the memory region shared_inst that it shares with others
	 * (D_SHARED); 0 if there are none */
	u64 shared;
};

static void sum_set_position(struct summing *r)
{
	struct counter c;

	if (r->desc != D_COUNT)
		counter_ensure(r->into, sum_desc(r->desc), r->inst, &c);
	r->desc = D_COUNT;
}

/* Finds or adds the sum over clients for the memory region in slot `slot` of the layout k, and
 * stores the index of its history in k->sums[slot]. sum_region() finds it there for the next client
 * with the same layout. Returns false if a table is full. */
static bool sum_place(struct summing *r, struct layout *k, u8 slot)
{
	struct counter at, *c;

	sum_set_position(r);
	c = counter_ensure(r->into, sum_desc(k->slots.desc[slot]), k->slots.inst[slot], &at);
	if (!c) {
		count_dropped(r->into);
		return false;
	}
	k->sums[slot] = reg.lines[c->line].v[c->slot];
	return true;
}

/* Splits the size v of a client's buffers in a region: returns the size of the private buffers, and
 * stores that of the shared buffers in *shared. Returns UINT64_MAX, which makes the sum unknown, if
 * the size of the shared buffers is not plausible. */
static inline u64 split_shared(struct summing *r, u16 inst, u64 v, u64 *shared)
{
	if (r->shared_inst != inst) {
		const struct counter *c = reg_find(r->e, D_SHARED, inst);

		r->shared = c && c->flags & CF_UNKNOWN ? UINT64_MAX : 0;
		reg_get(r->e, D_SHARED, inst, &r->shared);
		r->shared_inst = inst;
	}
	*shared = r->shared < v ? r->shared : v;
	return r->shared == UINT64_MAX ? UINT64_MAX : v - *shared;
}

/* Adds the size v of a client's buffers in a region to the sum over clients. Shared buffers must
 * not be counted for each client: the sum has all private parts, and only the largest shared part
 * of any client. The member t in the history of such a sum is no time: it is 1 + the shared part
 * that the sum contains, or 0 if no client was added yet. */
static inline void sum_region(struct summing *r, struct layout *k, u8 slot, u64 v)
{
	u16 inst = k->slots.inst[slot];
	u8 desc = k->slots.desc[slot];
	u64 shared = 0, had;
	struct history *sum;

	if (desc == D_RESIDENT || desc == D_TOTAL)
		v = split_shared(r, inst, v, &shared);
	if (k->sums[slot] == NONE && !sum_place(r, k, slot))
		return;
	r->desc = desc;
	r->inst = inst;
	sum = &reg.histories[k->sums[slot]];
	had = sum->t ? (u64)sum->t - 1 : 0;
	if (shared > had) {
		v = add_sat(v, shared - had);
		had = shared;
	}
	sum->now = add_sat(sum->now, v);
	sum->t = had < INT64_MAX ? (i64)(had + 1) : INT64_MAX;
}

static void sum_client(struct entity *into, const struct client *c, bool rates)
{
	struct summing r = { .into = into, .e = &c->e, .desc = D_COUNT,
			     .shared_inst = MAX_INSTANCES };

	for (u32 line = c->e.first; line != NONE; line = reg.lines[line].next) {
		struct layout *k = &reg.layouts[reg.lines[line].layout];

		if (k->into != into->serial || k->clears != reg.clears) {
			memset(k->sums, 0, sizeof(k->sums));
			k->into = into->serial;
			k->clears = reg.clears;
		}
		for (u8 i = 0; i < k->slots.n; i++) {
			u8 flags = reg.lines[line].flags[i];
			struct counter at;

			if (!(flags & (CF_SEEN | CF_UNKNOWN)))
				continue;
			if (k->slots.desc[i] >= D_TOTAL && k->slots.desc[i] <= D_ACTIVE) {
				sum_region(&r, k, i, known_now(&reg.lines[line], i));
			} else if (flags & CF_SEEN && is_engine(k->slots.desc[i])) {
				sum_set_position(&r);
				sum_engine(into, &c->e, counter_at(&at, line, i), rates,
					   c->in_sums);
			}
		}
	}
	sum_set_position(&r);
}

static void sum_unfiltered(struct entity *into, const struct client *c)
{
	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k)) {
		if (!(k->flags & CF_SEEN) || k->desc < D_BUSY_NS || k->desc > D_TOTAL_CYCLES)
			continue;
		if (k->desc == D_TOTAL_CYCLES)
			sum_max(into, D_ALL_TOTAL_CYCLES, k->inst, reg_now(k));
		else
			sum_add(into, (u8)(D_ALL_NS + k->desc - D_BUSY_NS), k->inst,
				sum_increase(k, c->in_all_sums));
	}
}

static void sums_begin(struct entity *e)
{
	if (e->kind != K_DEVICE)
		e->dropped = 0; /* reg_begin() has already set `dropped` of a device to 0 */
	for (struct counter *c = reg_first(e); c; c = reg_next(c)) {
		if ((c->desc >= D_SUM_BUSY && c->desc <= D_SUM_DNS) || c->desc == D_MAXFREQ ||
		    c->desc == D_CURFREQ || (c->desc >= D_SUM_TOTAL && c->desc <= D_SUM_ACTIVE) ||
		    (c->desc >= D_CG_VRAM && c->desc <= D_CG_FULL))
			set_flags(c, c->flags & (u8)~(CF_SEEN | CF_UNKNOWN));
		if (is_region(c->desc) && is_sum(c->desc)) {
			reg_history(c)->now = 0;
			reg_history(c)->t = 0;
		}
	}
}

/* Ends the computation of sums over clients for the entity e: sets CF_SEEN, which means that the
 * sum has a value in this reading, for each sum of a memory region to which at least one client was
 * added, or CF_UNKNOWN if the sum is not plausible. */
static void sums_end(struct entity *e)
{
	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (is_region(c->desc) && is_sum(c->desc) && reg_history(c)->t) {
			reg_history(c)->t = 1;
			set_flags(c, c->flags | (is_plausible(RG_BYTES, reg_now(c), 0) ?
						 CF_SEEN : CF_UNKNOWN));
		}
}

static u32 *group_bucket(u32 device, u32 cgroup, u32 pid)
{
	return &reg.group_bucket[(device * 31 + cgroup + pid) % LEN(reg.group_bucket)];
}

/* Returns the row of groups[] for the clients of a cgroup on a device, or for the clients of the
 * process t on a device. A new row is added if necessary; NULL if the table is full. */
struct group *group_add(u32 device, u32 cgroup, const struct task *t)
{
	u32 pid = HAS(procs) && t ? t->pid : 0, *bucket = group_bucket(device, cgroup, pid), n;
	u64 start = HAS(procs) && t ? t->start : 0;

	for (n = *bucket; n; n = groups[n].next)
		if (groups[n].device == device && groups[n].cgroup == cgroup &&
		    (!HAS(procs) || (groups[n].pid == pid && groups[n].start == start)))
			return &groups[n];
	if ((n = row_new(reg.free_group, &nrows.groups, &reg_tables.groups)) == NONE)
		return NULL;
	if (n == reg.free_group)
		reg.free_group = groups[n].next;
	groups[n] = (struct group){ .e = { .used = true,
					   .kind = HAS(procs) && t ? K_PROCESS : K_CGROUP,
					   .serial = ++reg.serials },
				    .device = device,
				    .cgroup = cgroup,
				    .pid = pid,
				    .start = start,
				    .next = *bucket };
	if (!HAS(procs) || cgroup)
		cgroups[cgroup].refs++;
	*bucket = n;
	return &groups[n];
}

static void group_free(struct group *g)
{
	u32 *link = group_bucket(g->device, g->cgroup, HAS(procs) ? g->pid : 0), n;

	while (&groups[*link] != g)
		link = &groups[*link].next;
	n = *link;
	*link = g->next;
	reg_clear(&g->e);
	if (!HAS(procs) || g->cgroup)
		cgroup_unref(g->cgroup);
	*g = (struct group){ .next = reg.free_group };
	reg.free_group = n;
}

static void group_count(struct group *g, bool shown)
{
	if (g) {
		g->members++;
		g->clients += shown;
	}
}

/* Sets the busy share of engines that no client uses to 0 if all clients could be read: the engines
 * are idle, and not unknown. */
static void sum_idle_engines(struct device *d)
{
	if (d->clients || d->anonymous || !d->awake || registry.unreadable)
		return;
	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c))
		if (c->desc == D_CAPACITY || c->desc == D_SUM_NS || c->desc == D_SUM_CYCLES)
			sum_add(&d->e, D_SUM_BUSY, c->inst, 0);
}

/* Computes sums of the last readings of all clients: for each device or, if by_group is true, for
 * each group of clients on a device (the clients of a cgroup, or the groups that
 * registry.group_of() returns). If rates is false, no sums of rates, which need two readings, are
 * computed. */
void reg_sum_clients(bool by_group, bool rates)
{
	bool other = HAS(procs) && by_group && registry.group_of;

	for (u32 i = 1; i <= nrows.devices; i++) {
		devices[i].clients = devices[i].waiting = 0;
		sums_begin(&devices[i].e);
	}
	for (u32 i = 1; i <= nrows.groups; i++) {
		groups[i].clients = groups[i].members = 0;
		sums_begin(&groups[i].e);
	}
	for (u32 i = 1; i <= nrows.clients; i++) {
		struct client *c = &clients[i];
		struct device *d = &devices[c->device];
		const struct task *owner;
		struct group *g = NULL;
		bool shown = c->e.used && !c->hidden;

		/* Clients with KEY_KFD are not added: they are compute processes, whose values are
		 * also in their DRM clients. */
		if (!(shown || (c->e.used && registry.all_sums)) || c->keykind == KEY_KFD)
			continue;
		owner = (by_group && !other) || registry.all_sums ? client_owner(c) : NULL;
		if (owner && owner->cgroup)
			g = group_add(c->device, owner->cgroup, NULL);
		group_count(g, shown);
		d->clients += shown;
		d->waiting += shown && !c->holders;
		if (c->e.fresh && registry.all_sums) {
			sum_unfiltered(&d->e, c);
			if (g)
				sum_unfiltered(&g->e, c);
			c->in_all_sums = true;
		}
		if (other)
			group_count(g = registry.group_of(c), shown);
		if (c->e.fresh && shown && (g || !by_group)) {
			sum_client(by_group ? &g->e : &d->e, c, rates);
			c->in_sums = true;
		}
	}
	for (u32 i = 1; i <= nrows.groups; i++) {
		sums_end(&groups[i].e);
		if (groups[i].e.used && !groups[i].members && !(HAS(procs) && groups[i].keep))
			group_free(&groups[i]);
	}
	for (u32 i = 1; i <= nrows.devices; i++) {
		sums_end(&devices[i].e);
		if (rates)
			sum_idle_engines(&devices[i]);
	}
}

/* --- functions for texts: strings of any length ----------------------------------------------- */

void text_free(u32 t)
{
	while (t != NONE) {
		u32 next = reg.texts[t].next;

		reg.texts[t].next = reg.free_texts;
		reg.free_texts = t;
		t = next;
	}
}

bool text_eq(u32 t, struct str s)
{
	if (t == NONE)
		return false;
	for (; t != NONE; t = reg.texts[t].next) {
		if (!str_skip(&s, (struct str){ reg.texts[t].b, reg.texts[t].b + reg.texts[t].n }))
			return false;
	}
	return s.p == s.e;
}

/* Stores the text s instead of the text `old`, which may be NONE. Returns the number of the new
 * text; NONE if the table of texts is full. */
u32 text_put(u32 old, struct str s)
{
	u32 first = NONE, *link = &first;

	if (text_eq(old, s))
		return old;
	text_free(old);
	do {
		u32 t = reg.free_texts;
		size_t n = str_len(s);

		if (t != NONE)
			reg.free_texts = reg.texts[t].next;
		else if (table_has(&reg_tables.texts, reg.ntexts + 1))
			t = ++reg.ntexts;
		if (t == NONE) {
			text_free(first);
			registry.dropped++;
			return NONE;
		}
		if (n > sizeof(reg.texts[t].b))
			n = sizeof(reg.texts[t].b);
		reg.texts[t].next = NONE;
		reg.texts[t].n = (u8)n;
		memcpy(reg.texts[t].b, s.p, n);
		s.p += n;
		*link = t;
		link = &reg.texts[t].next;
	} while (s.p < s.e);
	return first;
}

/* Copies the bytes of the text t, at most cap bytes, to b. Returns the number of bytes. */
size_t text_copy(u32 t, char *b, size_t cap)
{
	size_t n = 0;

	for (; t != NONE; t = reg.texts[t].next) {
		size_t k = reg.texts[t].n;

		if (k > cap - n)
			k = cap - n;
		memcpy(b + n, reg.texts[t].b, k);
		n += k;
	}
	return n;
}

/* Computes the number of clients of the device d that have a record in this sample. Returns false
 * if the number is unknown: it is 0, but there are clients without an id or without a known
 * process, the driver does not list clients, or a file could not be read this time. */
bool device_clients(const struct device *d, u64 *v)
{
	*v = d->clients - d->waiting;
	return *v || !(d->anonymous || d->waiting || d->clientless || registry.transient);
}

/* --- clients and their holders ---------------------------------------------------------------- */

_Static_assert(MAX_CLIENTS <= 1 << 16 && MAX_HOLDERS <= 1 << 16 && MAX_TASKS <= 1 << 16,
	       "16 bits count their rows");

static u16 *client_link(u32 device, u8 keykind, u64 key)
{
	/* Knuth's multiplicative hash */
	u64 h = (key + device + ((u64)keykind << 32)) * 0x9e3779b97f4a7c15;
	u16 *link = &reg.client_bucket[h >> 40 & (LEN(reg.client_bucket) - 1)];

	while (*link && (clients[*link].key != key || clients[*link].device != device ||
			 clients[*link].keykind != keykind))
		link = &clients[*link].next;
	return link;
}

u32 client_find(u32 device, u8 keykind, u64 key)
{
	return *client_link(device, keykind, key);
}

u32 client_add(u32 device, u8 keykind, u64 key)
{
	u16 *link = client_link(device, keykind, key);
	u32 n = row_new(reg.free_client, &nrows.clients, &reg_tables.clients);

	if (n == NONE)
		return NONE;
	if (n == reg.free_client)
		reg.free_client = clients[n].next;
	clients[n] =
		(struct client){ .e = { .used = true, .kind = K_CLIENT, .serial = ++reg.serials },
				 .key = key,
				 .device = device,
				 .keykind = keykind };
	*link = (u16)n;
	return n;
}

void client_remove(u32 n)
{
	struct client *c = &clients[n];
	u16 *link = client_link(c->device, c->keykind, c->key);

	*link = c->next;
	while (c->holders)
		holder_remove(c->holders);
	reg_clear(&c->e);
	text_free(c->name);
	text_free(c->other);
	*c = (struct client){ .next = (u16)reg.free_client };
	reg.free_client = n;
}

static bool is_broker(const struct task *t)
{
	static const struct str comms[] = { STR("systemd-logind"), STR("elogind-daemon"),
					    STR("seatd") };

	if (t->pid == 1)
		return true;
	for (size_t i = 0; i < LEN(comms); i++)
		if (str_eq((struct str){ t->comm, t->comm + t->comm_len }, comms[i]))
			return true;
	return false;
}

/* Returns the owner of a client: of the processes that hold the client, the one that was started
 * first; of several, the one with the lowest PID. Processes that open devices for others (pid 1,
 * logind, seatd) are chosen last. Returns NULL if no process holds the client. */
const struct task *client_owner(const struct client *c)
{
	const struct task *best = NULL;

	for (u32 h = c->holders; h; h = holders[h].next_client) {
		const struct task *t = &tasks[holders[h].task];
		int better = !best ? 1 : is_broker(best) - is_broker(t);

		if (!better)
			better = t->start != best->start ? (t->start < best->start ? 1 : -1) :
							   (t->pid < best->pid ? 1 : -1);
		if (better > 0)
			best = t;
	}
	return best;
}

static u16 *holder_link(u32 pid, u32 fd)
{
	u16 *link = &reg.holder_bucket[(pid * 31u + fd) % LEN(reg.holder_bucket)];

	while (*link && (holders[*link].pid != pid || holders[*link].fd != fd))
		link = &holders[*link].next;
	return link;
}

u32 holder_find(u32 pid, u32 fd)
{
	return *holder_link(pid, fd);
}

u32 holder_add(u32 pid, u32 fd, u32 task, u32 client)
{
	u16 *link = holder_link(pid, fd);
	u32 n = row_new(reg.free_holder, &nrows.holders, &reg_tables.holders), *tail;

	if (n == NONE)
		return NONE;
	if (n == reg.free_holder)
		reg.free_holder = holders[n].next;
	holders[n] = (struct holder){ .pid = pid, .fd = fd, .task = task, .client = client,
				      .io = -1 };
	*link = (u16)n;
	/* The new holder (one more descriptor of the client) is inserted as the second one: the
	 * fdinfo of the client is read through the first holder, which must not change. */
	tail = &clients[client].holders;
	if (*tail)
		tail = &holders[*tail].next_client;
	holders[n].next_client = *tail;
	*tail = n;
	tasks[task].refs++;
	return n;
}

/* Removes a holder: one descriptor through which a process holds a client. The row of the client is
 * kept, even if it has no holder left. The caller must have closed the member `io` of the
 * holder. */
void holder_remove(u32 n)
{
	struct holder *h = &holders[n];
	u32 *link = &clients[h->client].holders;

	*holder_link(h->pid, h->fd) = h->next;
	while (*link != n)
		link = &holders[*link].next_client;
	*link = h->next_client;
	tasks[h->task].refs--;
	task_prune(h->task);
	*h = (struct holder){ .next = (u16)reg.free_holder };
	reg.free_holder = n;
}

static u16 *task_link(u32 pid)
{
	u16 *link = &reg.task_bucket[pid % LEN(reg.task_bucket)];

	while (*link && tasks[*link].pid != pid)
		link = &tasks[*link].next;
	return link;
}

u32 task_find(u32 pid)
{
	return *task_link(pid);
}

u32 task_add(u32 pid)
{
	u16 *link = task_link(pid);
	u32 n = row_new(reg.free_task, &nrows.tasks, &reg_tables.tasks);

	if (n == NONE)
		return NONE;
	if (n == reg.free_task)
		reg.free_task = tasks[n].next;
	tasks[n] = (struct task){ .pid = pid, .start = UINT64_MAX };
	*link = (u16)n;
	return n;
}

/* Removes a process from tasks[] if no descriptor of this process holds a client. */
void task_prune(u32 n)
{
	struct task *t = &tasks[n];

	if (t->refs)
		return;
	*task_link(t->pid) = t->next;
	if (t->cgroup)
		cgroup_unref(t->cgroup);
	*t = (struct task){ .next = (u16)reg.free_task };
	reg.free_task = n;
}

/* Largest plausible CPU time of a process, in 1/1000 % of one CPU: all of 8192 CPUs, which is the
 * most that Linux supports. A larger value is an error of the kernel. */
#define MOST_CPU (UINT64_C(8192) * 100000)

/* Computes the CPU time of a process in the last interval, in 1/1000 % of one CPU. USER_HZ, the
 * unit of the times in /proc/PID/stat, is 100 on all supported architectures. */
bool process_cpu(const struct taskinfo *i, u64 *v)
{
	if (!i->t || !i->t_was || i->t <= i->t_was || i->ticks < i->ticks_was)
		return false;
	*v = muldiv(i->ticks - i->ticks_was, 1000000000000, (u64)(i->t - i->t_was));
	return *v < MOST_CPU;
}

/* Returns the row in tasks[] of the process with the pid and start time of the group g; NULL if the
 * process is unknown or has ended. */
const struct task *group_task(const struct group *g)
{
	u32 n = task_find(g->pid);

	return n != NONE && tasks[n].start == g->start ? &tasks[n] : NULL;
}

/* Returns the facts from /proc about the process of the group g of clients; NULL if none were
 * read. */
const struct taskinfo *taskinfo_of(const struct group *g)
{
	u32 n = task_find(g->pid);

	return n != NONE && n < taskinfos_table.ready && taskinfos[n].pid == g->pid &&
			       taskinfos[n].start == g->start ?
		       &taskinfos[n] : NULL;
}

/* Finds the cgroup with this path, or adds it, and increases its number of references. Returns its
 * row number; NONE if the table is full. */
u32 cgroup_add(struct str path)
{
	u32 h = hash_more(HASH_BEGIN, path), *link = &reg.cgroup_bucket[h % LEN(reg.cgroup_bucket)],
	    n;

	while (*link && (cgroups[*link].hash != h || !text_eq(cgroups[*link].path, path)))
		link = &cgroups[*link].next;
	n = *link;
	if (n == NONE) {
		n = row_new(reg.free_cgroup, &nrows.cgroups, &reg_tables.cgroups);
		if (n == NONE)
			return NONE;
		if (n == reg.free_cgroup)
			reg.free_cgroup = cgroups[n].next;
		cgroups[n] = (struct cgroup){ .hash = h, .path = text_put(NONE, path) };
		*link = n;
	}
	cgroups[n].refs++;
	return n;
}

void cgroup_unref(u32 n)
{
	struct cgroup *c = &cgroups[n];
	u32 *link = &reg.cgroup_bucket[c->hash % LEN(reg.cgroup_bucket)];

	if (--c->refs)
		return;
	while (*link != n)
		link = &cgroups[*link].next;
	*link = c->next;
	text_free(c->path);
	*c = (struct cgroup){ .next = reg.free_cgroup };
	reg.free_cgroup = n;
}

/* --- devices ---------------------------------------------------------------------------------- */

/* Copies s as a C string to field, which has cap bytes; a longer text is cut. Names that the kernel
 * prints are short enough. */
void str_copy(char *field, size_t cap, struct str s)
{
	size_t n = str_len(s) < cap - 1 ? str_len(s) : cap - 1;

	if (n)
		memcpy(field, s.p, n);
	field[n] = '\0';
}

/* Returns the number of the next device after row i of devices[], in no special order; with i =
 * NONE, the first device; NONE at the end. If `gone` is true, unplugged devices and those that
 * --not excludes are returned, too. */
u32 device_next(u32 i, bool gone)
{
	while (++i <= nrows.devices)
		if (devices[i].e.used && (gone || !(devices[i].gone || devices[i].left_out)))
			return i;
	return NONE;
}

/* Adds a row to devices[] and returns its number; NONE if there is no room. The caller then calls
 * device_lost(), only once per device, even if it tries to add the same device several times. */
u32 device_add(void)
{
	u32 n;

	for (n = 1; n <= nrows.devices && devices[n].e.used; n++)
		;
	if (n == MAX_DEVICES || !table_has(&reg_tables.devices, n))
		return NONE;
	devices[n] =
		(struct device){ .e = { .used = true, .kind = K_DEVICE, .serial = ++reg.serials },
				 .card = -1,
				 .render = -1,
				 .accel = -1,
				 .awake = true };
	if (n > nrows.devices)
		nrows.devices = n;
	return n;
}

/* Counts a device for which devices[] has no free row. */
void device_lost(void)
{
	reg_tables.devices.dropped++;
	registry.dropped++;
}

static u64 device_rank(const struct device *d)
{
	if (d->card >= 0)
		return (u64)d->card;
	if (d->render >= 0)
		return 1ull << 32 | (u32)d->render;
	if (d->accel >= 0)
		return 2ull << 32 | (u32)d->accel;
	return 3ull << 32;
}

/* Compares two devices for sorting: devices with a primary node come first, then those with a
 * render node, then those with an accel node, then the others by name. */
int device_order(const struct device *a, const struct device *b)
{
	u64 x = device_rank(a), y = device_rank(b);

	return x != y ? (x < y ? -1 : 1) : strcmp(a->dev, b->dev);
}

/* --- perf events ------------------------------------------------------------------------------ */

static const char *const state_words[CS_STATES] = {
	[CS_NEVER_RAN] = "not counted: it never ran",
	[CS_NO_ROOM] = ("not counted: no counter was free for it, "
			"or its group is larger than the PMU"),
	[CS_NOT_ENABLED] = "not counted: it was not enabled, or its task did not run",
	[CS_PINNED] = "not counted: pinned, and no counter was free",
	[CS_GONE] = "not counted: the process is gone",
	[CS_OFFLINE] = "not counted: the CPU is offline or absent",
	[CS_RETURNED] = "not counted: the CPU went offline during the run",
	[CS_NO_LEADER] = "not supported: its group leader cannot be counted",
	[CS_NO_SLOT] = "not counted: no slot is free for it",
	[CS_NO_FILES] = "not counted: too many open files",
	[CS_NO_GROUP] = "not counted: it does not fit into its group",
	[CS_UNREADABLE] = "not counted: it cannot be read",
	[CS_BACKWARDS] = "not counted: it went backwards",
	[CS_ELSEWHERE] = "not counted: its PMU counts on other CPUs",
	[CS_NO_FILE] = "not supported: no such file",
	[CS_NO_SOFTWARE] = "not supported: the kernel has no such software event",
	[CS_DENIED] = ("denied: kernel.perf_event_paranoid; "
		       "as root, or: setcap cap_perfmon+ep gpustat"),
	[CS_OTHERS] = ("denied: it is a process of another user; "
		       "as root, or: setcap cap_perfmon+ep gpustat"),
	[CS_NO_MEMORY] = "not counted: the kernel has no memory for it",
	[CS_REFUSED] = "not supported: the kernel refuses these settings",
	[CS_NO_PERF] = "not supported: this kernel has no perf events",
	[CS_UNSUPPORTED] = "not supported: no PMU here has it",
#if HAS(perf) || HAS(counters)
	[CS_FILTER] = "not supported: its filter is refused: unknown field or wrong syntax",
	[CS_BREAKPOINT] = ("not supported: a breakpoint has 1, 2, 4 or 8 bytes, "
			   "and begins at a multiple of that"),
	[CS_TRACEFS] = "denied: only root can read its number in tracefs; run as root",
	[CS_UPROBE] = "denied: user space probes require CAP_SYS_ADMIN; run as root",
#endif
#if HAS(perf)
	[CS_NO_FUNCTION] = ("not supported: the kernel has no such function, or several, "
			    "or no probe may be in it"),
	[CS_HARDENED] = ("denied: kernel.perf_event_paranoid is above 2; "
			 "as root, or: sysctl kernel.perf_event_paranoid=2 "
			 "and setcap cap_perfmon+ep gpustat"),
	[CS_KPROBE] = ("denied: kernel probes require CAP_PERFMON; "
		       "as root, or: setcap cap_perfmon+ep gpustat"),
	[CS_LOCKDOWN] = "denied: a kernel in lockdown, or a security module, refuses probes",
#endif
#if HAS(gpuevents)
	[CS_GPU_DENIED] = "denied: as root, or: setcap cap_perfmon+ep gpustat",
	[CS_GPU_NODE] = ("denied: the GPU's render node cannot be opened; "
			 "join the group that owns it: render or video"),
	[CS_GPU_BUSY] = "not counted: another program counts the jobs of this GPU",
	[CS_GPU_OLD] = ("not supported: this kernel has no counters for all jobs; "
			"Linux 6.15 has them for v3d, 7.2 for msm"),
	[CS_GPU_FULL] = ("not counted: programs that use the GPU have reserved "
			 "counters that it needs"),
	[CS_GPU_REFUSED] = ("not supported: the GPU has no such counters, or its block "
			    "has fewer than were asked for"),
#endif
};

const char *state_text(u8 state)
{
	return state_words[state];
}

void count_set_id(u32 i, u64 id)
{
	u32 *bucket = &reg.id_bucket[id % LEN(reg.id_bucket)];

	counts[i].id = id;
	counts[i].next_id = *bucket;
	*bucket = i;
}

/* Returns the index in counts[] of the event with this id of the kernel (PERF_EVENT_IOC_ID); NONE
 * if there is none. */
u32 count_find(u64 id)
{
	u32 i = reg.id_bucket[id % LEN(reg.id_bucket)];

	while (i && counts[i].id != id)
		i = counts[i].next_id;
	return i;
}

/* Returns what a perf event has counted in the current interval: the differences of its count and
 * its times between the last reading and the start of the interval. */
static struct tally tally_delta(const struct count *c)
{
	return (struct tally){ c->now.value - c->was.value, c->now.enabled - c->was.enabled,
			       c->now.running - c->was.running };
}

struct runtimes *rows_times(void)
{
	return &reg.times;
}

/* Begins a new interval of all counts of perf events: it starts at the time of their last
 * reading. */
void rows_begin(void)
{
	for (u32 i = 1; i <= nrows.counts; i++)
		counts[i].was = counts[i].now;
	for (u32 i = 0; i < nrows.evsets; i++) {
		evsets[i].turns_was = evsets[i].turns;
		evsets[i].active_was = evsets[i].active;
	}
}

/* Makes the current interval of all counts of perf events begin at the start of the measurement.
 * Events with the rule R_PER_READ keep the interval between their last two readings: the kernel
 * adds the present frequency to their count at each read. */
void rows_begin_whole(void)
{
	for (u32 i = 1; i <= nrows.counts; i++)
		if (events[counts[i].event].rule != R_PER_READ)
			counts[i].was = (struct tally){ 0 };
	for (u32 i = 0; i < nrows.evsets; i++)
		evsets[i].turns_was = (u64)(evsets[i].active_was = 0);
}

/* Adds one count of a perf event to the row of the event in the output of `stat`. If the event was
 * enabled longer than it ran (multiplexing) and `scale` is true, the count is extrapolated to the
 * whole time, separately for each CPU or task. */
static void row_add(struct evrow *r, const struct count *c, i64 dt, bool scale)
{
	const struct event *ev = &events[c->event];
	struct tally d = tally_delta(c);
	/* true if the task has run before: without time enabled in this interval, the task slept,
	 * and the count is 0 */
	bool slept = c->pid && c->now.enabled;
	u8 state = c->state;

	if (state == CS_COUNTED && d.enabled == 0 && !slept)
		state = ev->mods & EM_PINNED ? CS_PINNED : CS_NOT_ENABLED;
	else if (state == CS_COUNTED && d.running == 0 && d.enabled && ev->rule != R_LEVEL)
		state = ev->group ? CS_NO_ROOM : CS_NEVER_RAN;
	if (state == CS_NO_FILES)
		r->cut = true;
	if (state != CS_COUNTED) {
		/* The time of a count without a value is added, too: then the share of the row is
		 * below 100 % and shows that the sum lacks a count. */
		r->sum.enabled += state == CS_RETURNED && dt > 0 ? (u64)dt : d.enabled;
		r->state = r->places == 0 && state > r->state ? state : r->state;
		return;
	}
	r->state = CS_COUNTED;
	r->places++;
	if (ev->rule == R_LEVEL) {
		/* values above INT64_MAX are negative: only virtual counters of temperatures have
		 * such values */
		r->neg = c->virt && c->now.value > INT64_MAX;
		r->value = r->neg ? -c->now.value : c->now.value;
		r->sum = (struct tally){ c->now.value, r->sum.enabled + d.enabled,
					 r->sum.running + d.running };
		return;
	}
	r->sum.value = add_sat(r->sum.value, d.value);
	r->sum.enabled += d.enabled;
	r->sum.running += d.running;
	r->value = add_sat(r->value, scale && ev->rule == R_COUNT && d.running < d.enabled ?
			   muldiv(d.value, d.enabled, d.running) : d.value);
}

/* Converts the value of a row of `stat` to the unit of its event by multiplication with scale /
 * 10^scale_point. The result is value / 10^point with up to nine decimals, as many as fit in 64
 * bits. */
static void row_unit(struct evrow *r, u64 scale, u8 scale_point)
{
	unsigned point = scale_point + r->point;
	static const u64 e19 = 10000000000000000000ull;
	u64 v = r->value;

	for (r->point = point < 9 ? (u8)point : 9;; r->point--) {
		unsigned cut = point - r->point;
		u64 ten = 1;

		for (unsigned k = cut > 19 ? cut - 19 : cut; k > 0 && ten < e19; k--)
			ten *= 10;
		r->value = cut > 19 ? muldiv(v, scale, e19) / ten : muldiv(v, scale, ten);
		if (r->value != UINT64_MAX || r->point == 0)
			return;
	}
}

/* For a row whose event set was active for only a part of the interval of dt ns: reduces the share
 * of the row accordingly and, if `scale` is true, extrapolates its value to the whole interval. */
static void row_set(struct evrow *r, const struct evset *s, i64 dt, bool scale)
{
	i64 active = s->active - s->active_was;

	r->share = dt > 0 && active < dt ? muldiv(r->share, (u64)active, (u64)dt) : r->share;
	if (active <= 0 && r->state == CS_COUNTED)
		r->state = CS_NOT_ENABLED;
	if (scale && active > 0 && active < dt)
		r->value = muldiv(r->value, (u64)dt, (u64)active);
}

static void row_finish(struct evrow *r, i64 dt, bool scale)
{
	const struct event *ev = &events[r->event];

	/* some counts of the row were not opened: a sum without them is not a valid value */
	if (r->cut) {
		r->state = CS_NO_FILES;
		r->sum = (struct tally){ 0 };
	}
	r->share = r->sum.enabled ? muldiv(r->sum.running, 100000, r->sum.enabled) : 0;
	/* A row without a value in this repetition keeps r->point: rows_repeat() sets its value to
	 * the mean of earlier repetitions, which has these decimals. */
	if (r->state != CS_COUNTED)
		return;
	r->point = 0;
	if (ev->rule == R_RATE) {
		dt = evsets[ev->set].name ?
		     evsets[ev->set].active - evsets[ev->set].active_was : dt;
		r->value = dt > 0 ? muldiv(r->value, 10000000000, (u64)dt) : 0;
		r->point = 1;
	} else if (ev->rule == R_SHARE) {
		/* index in evrows[] of the row for the next event at the same site (CPU, task,
		 * ...) */
		size_t next = (size_t)(r - evrows) + nrows.sites;
		u64 all = next <= nrows.evrows ? evrows[next].sum.value : 0;

		if (all == 0)
			r->state = CS_NEVER_RAN;
		r->value = muldiv(r->sum.value, 100000, all);
		r->point = 3;
	} else if (ev->rule == R_COUNT && evsets[ev->set].name) {
		row_set(r, &evsets[ev->set], dt, scale);
	}
	if (ev->scale)
		row_unit(r, ev->scale, ev->scale_point);
}

/* Computes the values of all rows of `stat` for the interval of dt ns that ended with the last
 * reading of the counts. dt is negative if there is no interval. */
void rows_sum(i64 dt, bool scale)
{
	for (u32 i = 1; i <= nrows.evrows; i++) {
		evrows[i].places = 0;
		evrows[i].neg = evrows[i].cut = false;
		evrows[i].value = 0;
		/* initial state, which remains if no count belongs to the row in this repetition */
		evrows[i].state = CS_NEVER_RAN;
		evrows[i].sum = (struct tally){ 0 };
	}
	for (u32 i = 1; i <= nrows.counts; i++)
		row_add(&evrows[counts[i].row], &counts[i], dt, scale);
	for (u32 i = 1; i <= nrows.evrows; i++)
		row_finish(&evrows[i], dt, scale);
	reg.times.elapsed.state = dt < 0 ? CS_NOT_ENABLED : CS_COUNTED;
	reg.times.elapsed.value = dt < 0 ? 0 : (u64)dt;
}

/* Sets the value of a row of `stat -r` to the mean of its repetitions so far. The mean is computed
 * from the exact sum of the values if this sum fits in 64 bits, otherwise in floating point. */
static void row_mean(struct evrow *r)
{
	double mean = r->mean < 0 ? -r->mean : r->mean;

	r->neg = r->mean < 0;
	r->value = r->total != UINT64_MAX && !r->neg ?
		   r->total / r->repeats + (r->total % r->repeats * 2 >= r->repeats) :
		   mean >= 18446744073709551615.0 ? UINT64_MAX : (u64)(mean + 0.5);
}

/* Adds the unscaled count and the times of one repetition of `stat -r` to the totals of a row, from
 * which row_mean_times() computes the means. */
static void row_times(struct evrow *r)
{
	r->all.value = add_sat(r->all.value, r->sum.value);
	r->all.enabled = add_sat(r->all.enabled, r->sum.enabled);
	r->all.running = add_sat(r->all.running, r->sum.running);
}

static void row_mean_times(struct evrow *r)
{
	r->sum = (struct tally){ r->all.value / r->repeats, r->all.enabled / r->repeats,
				 r->all.running / r->repeats };
	/* For an event in an event set, the share of the last repetition is kept: it also depends
	 * on how long the set was active. */
	if (!evsets[events[r->event].set].name)
		r->share = r->all.enabled ?
			   muldiv(r->all.running, 100000, r->all.enabled) : 0;
}

/* Adds one repetition of `stat -r` to a row: updates mean and variance of its values by Welford's
 * method. */
static void row_repeat(struct evrow *r)
{
	double v = r->neg ? -(double)r->value : (double)r->value, d = v - r->mean;

	if (r->state == CS_COUNTED) {
		r->repeats++;
		r->mean += d / r->repeats;
		r->m2 += d * (v - r->mean);
		r->total = r->neg ? UINT64_MAX : add_sat(r->total, r->value);
		row_times(r);
	}
	if (r->repeats) { /* a repetition without a value does not change the mean of the row */
		r->state = CS_COUNTED;
		row_mean(r);
		row_mean_times(r);
	}
}

void rows_repeat(void)
{
	for (u32 i = 1; i <= nrows.evrows; i++)
		row_repeat(&evrows[i]);
	row_repeat(&reg.times.elapsed);
}

/* Returns the standard error of the mean, divided by the mean: perf stat -r prints it after
 * "+-". */
double row_deviation(const struct evrow *r)
{
	double v = r->repeats > 1 ? r->m2 / (r->repeats - 1) / r->repeats : 0, x = v;

	for (int i = 0; i < 64 && x > 0; i++) /* square root by Newton's method */
		x = (x + v / x) / 2;
	return r->mean > 0 ? x / r->mean : 0;
}
