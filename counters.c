/* counters.c - the registry: what is measured, about whom, how much. Sources put values in; here alone
 * rates and sums are made of them. SPDX-License-Identifier: MIT */
#include "gpustat.h"

struct device devices[MAX_DEVICES];
struct client *clients;
struct holder *holders;
struct task *tasks;
/* Row NONE of these is read where there is no other: before the first row is used it is all that there is. */
static struct cgroup no_cgroup;
static struct pmu no_pmu;
static struct evrow no_evrow;
struct cgroup *cgroups = &no_cgroup;
struct group *groups;
static TABLE(clients, MAX_CLIENTS, 64, "clients");
static TABLE(holders, MAX_HOLDERS, 128, "descriptors of clients");
static TABLE(tasks, MAX_TASKS, 64, "processes with clients");
static TABLE(cgroups, MAX_CGROUPS, 128, "cgroups");
static TABLE(groups, MAX_GROUPS, 64, "cgroups on devices");
u32 ndevices, nclients, nholders, ntasks, ncgroups, ngroups;
u32 reg_dropped, reg_untold, reg_unreadable;
bool reg_saw_others, reg_keeps;
struct pmu *pmus = &no_pmu;
struct event *events;
struct count *counts;
struct evrow *evrows = &no_evrow;
struct site *sites;
TABLE(pmus, MAX_PMUS, 16, "PMUs");
TABLE(events, MAX_EVENTS, 32, "events");
TABLE(counts, MAX_COUNTS, 32, "events on CPUs or tasks");
TABLE(evrows, MAX_ROWS, 32, "rows of events");
TABLE(sites, MAX_SITES, 128, "CPUs or tasks");
struct evset evsets[MAX_SETS];
u32 npmus, nevents, ncounts, nevrows, nsites, nevsets;
static u32 serials; /* given to entities so far */

/* Which descs are counters of which rates are made, and how they go on. The others are gauges. */
static const struct {
	bool rate;
	u8 course;
} descs[D_COUNT] = {
	[D_BUSY_NS] = { true, CO_PEAK },       [D_CYCLES] = { true, CO_PEAK },
	[D_TOTAL_CYCLES] = { true, CO_RESET }, [D_GPU_BUSY_US] = { true, CO_PEAK },
	[D_IDLE_MS] = { true, CO_WRAP32 }, /* i915 prints its rc6 residency as 32 bits */
	[D_ENERGY] = { true, CO_RESET },       [D_FREQ_SPENT] = { true, CO_RESET },
};

/* The number of an unused row: the first of the freed ones, else the next new one, else NONE. */
static u32 row_new(u32 freed, u32 *count, struct table *t)
{
	if (freed != NONE)
		return freed;
	if (table_has(t, *count + 1))
		return ++*count;
	reg_dropped++;
	return NONE;
}

/* --- names of instances ------------------------------------------------------------------------- */

enum { NAME_BYTES = 64 << 10 };

static struct instance {
	u32 at;
	u16 next;
	u8 n;
} *names;
static char *name_bytes;
static TABLE(names, MAX_INSTANCES, 512, "names of engines, regions and sensors");
static TABLE(name_bytes, NAME_BYTES, 4096, "bytes of names");
static u32 nnames, name_used;
static u16 name_bucket[256];

struct str inst_name(u16 inst)
{
	return inst ? str_of(name_bytes + names[inst].at, names[inst].n) : LIT("");
}

/* The number of a name, which it keeps; 0 for the empty one; MAX_INSTANCES where there is no room. */
static u16 inst_id(struct str s, bool add)
{
	u16 *bucket = &name_bucket[hash_more(HASH_BEGIN, s) % LEN(name_bucket)], i;
	size_t n = str_len(s);

	if (n == 0)
		return 0;
	for (i = *bucket; i; i = names[i].next)
		if (str_eq(inst_name(i), s))
			return i;
	if (!add || n > MAX_NAME || !table_has(&names_table, nnames + 1) || !table_has(&name_bytes_table, name_used + n))
		return MAX_INSTANCES;
	i = (u16)++nnames;
	memcpy(name_bytes + name_used, s.p, n);
	names[i].at = name_used;
	names[i].n = (u8)n;
	names[i].next = *bucket;
	*bucket = i;
	name_used += (u32)n;
	return i;
}

/* --- counters ------------------------------------------------------------------------------------ */

enum {
	SLOTS = 7,
	MAX_LINES = 8 * MAX_CLIENTS,  /* amdgpu, which tells most, fills six */
	MAX_TRACKS = 8 * MAX_CLIENTS, /* engines: some five */
	NEW_KEYSETS = 4,              /* that one more counter makes at most: those of a line parted in two, and what is put in */
	MAX_KEYSETS = MAX_LINES + NEW_KEYSETS,
};

/* What stands in the slots of a line: lines of clients of one driver share it. */
static struct keyset {
	struct slots {
		u16 inst[SLOTS];
		u8 desc[SLOTS], n;
	} k;
	u32 next, refs;
	/* Where its regions are summed up: in tracks of the entity with this serial, as long as no tracks were given back. */
	u32 into, clears, sums[SLOTS];
} *keysets;

/* Counters of one entity stand in lines of some. v: the value, or the number of its track. */
static struct line {
	u32 next, keys;
	u8 flags[SLOTS + 1];
	u32 v[SLOTS];
} *lines;

static struct track *tracks;
static TABLE(keysets, MAX_KEYSETS, 64, "layouts of values");
static TABLE(lines, MAX_LINES, 256, "lines of values");
static TABLE(tracks, MAX_TRACKS, 256, "values with rates");
static u32 keys_bucket[1024], nkeysets, free_keyset;
static u32 nlines, ntracks, free_line, free_track, clears;

static u32 *keys_link(const struct slots *k)
{
	u32 *link = &keys_bucket[hash_quick((struct str){ (const char *)k, (const char *)(k + 1) }) % LEN(keys_bucket)];

	while (*link != NONE && memcmp(&keysets[*link].k, k, sizeof(*k)) != 0)
		link = &keysets[*link].next;
	return link;
}

static void line_set(struct line *l, const struct slots *k)
{
	u32 was = l->keys, *link, n;

	l->keys = NONE;
	if (k->n) {
		link = keys_link(k);
		n = *link != NONE ? *link : free_keyset != NONE ? free_keyset : ++nkeysets;
		if (*link == NONE) {
			free_keyset = n == free_keyset ? keysets[n].next : free_keyset;
			keysets[n] = (struct keyset){ .k = *k };
			*link = n;
		}
		keysets[n].refs++;
		l->keys = n;
	}
	if (was == NONE || --keysets[was].refs)
		return;
	*keys_link(&keysets[was].k) = keysets[was].next;
	keysets[was].next = free_keyset;
	free_keyset = was;
}

/* What looks for a counter asks this of each line on its way. */
static inline __attribute__((always_inline)) const struct slots *keys_of(u32 line)
{
	return &keysets[lines[line].keys].k;
}

static struct counter *counter_at(struct counter *c, u32 line, u8 slot)
{
	const struct slots *k;

	if (line == NONE)
		return NULL;
	k = keys_of(line);
	*c = (struct counter){ line, k->inst[slot], k->desc[slot], lines[line].flags[slot], slot };
	return c;
}

struct counter *counter_first(const struct entity *e, struct counter *c)
{
	return counter_at(c, e->first, 0);
}

struct counter *reg_next(struct counter *c)
{
	if (c->slot + 1 < keys_of(c->line)->n)
		return counter_at(c, c->line, (u8)(c->slot + 1));
	return counter_at(c, lines[c->line].next, 0);
}

HOT struct counter *counter_find(const struct entity *e, u8 desc, u16 inst, struct counter *c)
{
	if (!(e->has >> desc % 32 & 1))
		return NULL;
	for (u32 line = e->first; line != NONE; line = lines[line].next) {
		const struct slots *k = keys_of(line);

		for (u8 i = 0; i < k->n; i++)
			if (k->inst[i] == inst && k->desc[i] == desc)
				return counter_at(c, line, i);
	}
	return NULL;
}

static void set_flags(struct counter *c, u8 flags)
{
	c->flags = lines[c->line].flags[c->slot] = flags;
}

static bool has_track(u8 flags)
{
	return flags & (CF_WIDE | CF_BIG);
}

struct track *reg_track(const struct counter *c)
{
	return &tracks[lines[c->line].v[c->slot]];
}

static u32 line_alloc(void)
{
	u32 n = free_line;

	if (n != NONE)
		free_line = lines[n].next;
	else if (table_has(&lines_table, nlines + 1))
		n = ++nlines;
	if (n != NONE)
		lines[n] = (struct line){ 0 };
	return n;
}

static u32 track_alloc(void)
{
	u32 n = free_track;

	if (n != NONE)
		free_track = (u32)tracks[n].now;
	else if (table_has(&tracks_table, ntracks + 1))
		n = ++ntracks;
	if (n != NONE)
		tracks[n] = (struct track){ 0 };
	return n;
}

static void track_free(u32 n)
{
	tracks[n].now = free_track;
	free_track = n;
}

HOT static inline u64 slot_now(const struct line *l, u8 slot)
{
	if (has_track(l->flags[slot]))
		return tracks[l->v[slot]].now;
	return l->flags[slot] & CF_KIB ? (u64)l->v[slot] << 10 : l->v[slot];
}

u64 reg_now(const struct counter *c)
{
	return slot_now(&lines[c->line], c->slot);
}

/* What has 32 bits, or as many of KiB, is kept where it stands: most memory is. False: no room. */
static bool set_now(struct counter *c, u64 v)
{
	u32 *at = &lines[c->line].v[c->slot], n;
	u8 flags = c->flags & (u8)~CF_KIB;

	if (has_track(flags)) {
		tracks[*at].now = v;
		return true;
	}
	if (v <= UINT32_MAX) {
		*at = (u32)v;
	} else if (v >> 42 == 0 && v % 1024 == 0) {
		*at = (u32)(v >> 10);
		flags |= CF_KIB;
	} else if ((n = track_alloc()) != NONE) {
		*at = n;
		flags |= CF_BIG;
		tracks[n].now = v;
	} else {
		return false;
	}
	set_flags(c, flags);
	return true;
}

/* What stands in slot i of a line with the slots k goes to slot j of another. */
static void slot_move(struct line *to, struct slots *tok, u8 j, const struct line *l, struct slots *k, u8 i)
{
	to->flags[j] = l->flags[i];
	to->v[j] = l->v[i];
	tok->inst[j] = k->inst[i];
	tok->desc[j] = k->desc[i];
	k->inst[i] = k->desc[i] = 0; /* keys are compared with all their slots */
}

/* What stands in the slots from `slot` on goes to an empty line. */
static void line_part(struct line *l, u8 slot, struct line *to)
{
	struct slots low = keysets[l->keys].k, high = { 0 };

	for (; low.n > slot; high.n++) {
		low.n--;
		slot_move(to, &high, (u8)(low.n - slot), l, &low, low.n);
	}
	line_set(to, &high);
	line_set(l, &low);
}

/* Room for one more at a slot of a line that is not full. */
static void line_open(struct line *l, u8 slot, u8 desc, u16 inst)
{
	struct slots k = keysets[l->keys].k;

	for (u8 i = k.n++; i > slot; i--)
		slot_move(l, &k, i, l, &k, (u8)(i - 1));
	k.inst[slot] = inst;
	k.desc[slot] = desc;
	line_set(l, &k);
}

enum { AT = 8 }; /* entity.at: line * AT + slot */

/* Behind the last put, or before all others; a line that is full is parted there. NULL: no room. */
static struct counter *counter_insert(struct entity *e, u8 desc, u16 inst, struct counter *c)
{
	u32 line = e->at ? e->at / AT : e->first, new;
	u8 slot = e->at ? (u8)(e->at % AT + 1) : 0;

	if (line == NONE || keys_of(line)->n == SLOTS) {
		if ((new = line_alloc()) == NONE)
			return NULL;
		if (line != NONE) {
			line_part(&lines[line], slot, &lines[new]);
			lines[new].next = lines[line].next;
		}
		*(line == NONE ? &e->first : &lines[line].next) = new;
		if (line == NONE || slot == SLOTS) {
			line = new;
			slot = 0;
		}
	}
	line_open(&lines[line], slot, desc, inst);
	e->at = line * AT + slot;
	e->count++;
	e->has |= 1u << desc % 32;
	return counter_at(c, line, slot);
}

/* Sums are added to for each client: none of them ever has to move. */
static bool is_sum(u8 desc)
{
	return desc >= D_SUM_BUSY && desc <= D_KEPT_TOTAL_CYCLES;
}

static struct counter *counter_make(struct entity *e, u8 desc, u16 inst, struct counter *c)
{
	bool tracked = descs[desc].rate || is_sum(desc);
	u32 track = NONE;

	if (e->count == MAX_COUNTERS || !table_has(&keysets_table, nkeysets + NEW_KEYSETS) ||
	    (tracked && (track = track_alloc()) == NONE))
		return NULL;
	if (!counter_insert(e, desc, inst, c)) {
		if (tracked)
			track_free(track);
		return NULL;
	}
	lines[c->line].v[c->slot] = track;
	set_flags(c, descs[desc].rate ? CF_WIDE : tracked ? CF_BIG : 0);
	return c;
}

/* The one behind the last put: that of the next, since a file's lines come in the same order each time. */
static struct counter *counter_behind(const struct entity *e, struct counter *c)
{
	if (e->at == NONE)
		return counter_first(e, c);
	c->line = e->at / AT;
	c->slot = (u8)(e->at % AT);
	return reg_next(c) ? c : counter_first(e, c);
}

/* The counter (desc, inst) of e; made behind the last put if it is new, so that the order stays the file's. */
static struct counter *counter_of(struct entity *e, u8 desc, u16 inst, struct counter *c)
{
	if ((!counter_behind(e, c) || c->inst != inst || c->desc != desc) && !counter_find(e, desc, inst, c))
		return counter_make(e, desc, inst, c);
	e->at = c->line * AT + c->slot;
	return c;
}

static struct counter *counter_get(struct entity *e, u8 desc, struct str name, struct counter *c)
{
	u16 inst;

	if (counter_behind(e, c) && c->desc == desc && str_eq(inst_name(c->inst), name)) {
		e->at = c->line * AT + c->slot;
		return c;
	}
	inst = inst_id(name, true);
	return inst == MAX_INSTANCES ? NULL : counter_of(e, desc, inst, c);
}

static void drop(struct entity *e)
{
	if (e->dropped < UINT16_MAX)
		e->dropped++;
}

/* What the next reading does not have to tell again: hardware does not change, sums go on. */
static bool is_lasting(u8 desc)
{
	return desc == D_CAPACITY || (desc >= D_SUM_NS && desc <= D_SUM_TOTAL_CYCLES) ||
	       (desc >= D_KEPT_NS && desc <= D_KEPT_TOTAL_CYCLES);
}

/* A counter of rates was in the reading before: from there on the next one counts. */
static void make_base(struct counter *c)
{
	struct track *k = reg_track(c);

	k->was = reg_base(c);
	k->t_was = k->t;
}

/* A new reading of e begins: what is known now becomes the baseline. */
void reg_begin(struct entity *e, i64 t)
{
	for (struct counter *c = reg_first(e); c; c = reg_next(c)) {
		if (!(c->flags & CF_WIDE)) {
			if (!is_lasting(c->desc))
				set_flags(c, c->flags & (u8)~CF_SEEN);
		} else if (c->flags & CF_SEEN) {
			make_base(c);
			set_flags(c, CF_WIDE | CF_BASE | CF_OLD);
		}
	}
	e->t_was = e->t;
	e->t = t;
	e->at = NONE;
	e->dropped = 0;
	e->fell = false;
	e->fresh = true;
}

/* As reg_begin() and puts of all that the reading before had, where that neither fell nor dropped anything. */
void reg_again(struct entity *e, i64 t)
{
	for (u32 line = e->first; line != NONE; line = lines[line].next)
		for (u8 i = 0; i < keys_of(line)->n; i++) {
			struct counter c;

			if ((lines[line].flags[i] & (CF_WIDE | CF_SEEN)) != (CF_WIDE | CF_SEEN))
				continue;
			make_base(counter_at(&c, line, i));
			set_flags(&c, c.flags | CF_BASE | CF_OLD);
			reg_track(&c)->t = t;
		}
	e->t_was = e->t;
	e->t = t;
	e->fresh = true;
}

/* What a lower value than the one before means. */
static void check_fall(struct entity *e, struct counter *c)
{
	struct counter *cycles;

	if ((c->flags & (CF_WIDE | CF_SEEN | CF_BASE)) != (CF_WIDE | CF_SEEN | CF_BASE) ||
	    reg_track(c)->now >= reg_track(c)->was)
		return;
	e->fell |= descs[c->desc].course == CO_PEAK;
	/* "drm-total-cycles" went back: the GPU's clock was reset, and its cycles count anew with it. */
	if (c->desc == D_TOTAL_CYCLES && (cycles = reg_find(e, D_CYCLES, c->inst)))
		set_flags(cycles, cycles->flags & (u8)~CF_BASE);
}

/* A value read at t. The first of several for one counter in a reading stays. False: no room. */
bool reg_put(struct entity *e, u8 desc, struct str inst, u64 v, i64 t)
{
	u32 behind = e->at;
	struct counter at, *c = counter_get(e, desc, inst, &at);

	if (c && c->flags & CF_SEEN) {
		if (desc == D_THROTTLE)
			set_now(c, reg_now(c) | v); /* of several GTs each counts */
		if (is_region(desc)) /* amdgpu tells memory twice: what follows is not to part the line of the first */
			e->at = behind;
		return true;
	}
	if (!c || !set_now(c, v)) {
		drop(e);
		return false;
	}
	set_flags(c, c->flags | CF_SEEN);
	if (c->flags & CF_WIDE) {
		reg_track(c)->t = t;
		check_fall(e, c);
	}
	return true;
}

/* More of what this reading already has: a value that the kernel tells in parts. */
void reg_add(struct entity *e, u8 desc, struct str inst, u64 v)
{
	struct counter at, *c = counter_get(e, desc, inst, &at);

	if (c && c->flags & CF_SEEN && !set_now(c, reg_now(c) + v))
		drop(e);
}

/* As if a reading before the last one had been taken, at t, and had given v; what lasts is as it was. Once all of that
 * reading is in, reg_compare() follows. */
void reg_was(struct entity *e, u8 desc, struct str inst, u64 v, i64 t)
{
	struct counter at, *c = counter_get(e, desc, inst, &at);
	bool seen = c && c->flags & CF_SEEN;

	if (!c || (!seen && !set_now(c, v))) {
		drop(e);
		return;
	}
	if (!(c->flags & CF_WIDE)) {
		set_flags(c, c->flags | CF_SEEN);
		return;
	}
	if (!seen)
		reg_track(c)->t = t;
	reg_baseline(c, v, t);
	set_flags(c, lines[c->line].flags[c->slot] | CF_OLD);
}

/* A counter of rates had the value v at t. */
void reg_baseline(const struct counter *c, u64 v, i64 t)
{
	reg_track(c)->was = v;
	reg_track(c)->t_was = t;
	lines[c->line].flags[c->slot] |= CF_BASE;
}

/* What the last reading says of the one that reg_was() put before it. */
void reg_compare(struct entity *e)
{
	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		check_fall(e, c);
}

/* The readings before the last one were of another that had its name. */
void reg_forget(struct entity *e)
{
	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		set_flags(c, c->flags & (u8)~(CF_BASE | CF_OLD));
	e->fell = false;
	e->t_was = 0;
}

/* From which value the next reading of a counter of rates counts. */
u64 reg_base(const struct counter *c)
{
	const struct track *k = reg_track(c);

	if (!(c->flags & CF_SEEN))
		return k->was;
	return course_base(descs[c->desc].course, c->flags & CF_BASE ? k->was : k->now, k->now);
}

/* Gives all counters of e back. */
void reg_clear(struct entity *e)
{
	static const struct slots none;
	u32 line = e->first;

	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (has_track(c->flags))
			track_free(lines[c->line].v[c->slot]);
	while (line != NONE) {
		u32 next = lines[line].next;

		line_set(&lines[line], &none);
		lines[line].next = free_line;
		free_line = line;
		line = next;
	}
	clears++;
	e->first = e->at = NONE;
	e->count = 0;
	e->has = 0;
	e->t = e->t_was = 0;
}

/* The value of this reading; of a counter that may not go back the largest so far. */
bool reg_get(const struct entity *e, u8 desc, u16 inst, u64 *v)
{
	struct counter *c = reg_find(e, desc, inst);

	if (!c || !(c->flags & CF_SEEN))
		return false;
	*v = c->flags & CF_BASE ? reg_base(c) : reg_now(c);
	return true;
}

static bool rate_of(const struct counter *c, u64 *d, u64 *dt)
{
	const struct track *k;

	if (!c || (c->flags & (CF_SEEN | CF_BASE)) != (CF_SEEN | CF_BASE))
		return false;
	k = reg_track(c);
	if (k->t <= k->t_was || !course_delta(descs[c->desc].course, k->was, k->now, d))
		return false;
	*dt = (u64)(k->t - k->t_was);
	return true;
}

/* What was added since the baseline, and in how many ns. */
bool reg_rate(const struct entity *e, u8 desc, u16 inst, u64 *d, u64 *dt)
{
	return rate_of(reg_find(e, desc, inst), d, dt);
}

bool is_engine(u8 desc)
{
	return desc <= D_BUSY_PCT || (desc >= D_SUM_BUSY && desc <= D_SUM_TOTAL_CYCLES);
}

bool is_signed(u8 desc)
{
	return desc == D_TEMP || desc == D_VOLT || desc == D_CURRENT;
}

bool is_region(u8 desc)
{
	return (desc >= D_TOTAL && desc <= D_ACTIVE) || (desc >= D_SUM_TOTAL && desc <= D_SUM_ACTIVE);
}

/* --- what follows from counters ------------------------------------------------------------------- */

/* Shares of a capacity are made and added as billionths of it, and rounded when asked for. */
enum { FULL = 1000000000, PERCENT_PER_MIL = 10000 };

static u64 capacity(const struct entity *e, u16 inst)
{
	u64 cap;

	return reg_get(e, D_CAPACITY, inst, &cap) && cap > 0 && cap < 1u << 16 ? cap : 1;
}

/* Busy share of the engine's capacity, not clamped: cycles against the GPU's own clock, else ns,
 * else cycles against those of the highest frequency. */
static bool engine_share(const struct entity *e, u16 inst, u64 *v)
{
	u64 cap = capacity(e, inst), d, dt, total, hz;

	if (reg_find(e, D_TOTAL_CYCLES, inst)) {
		if (!reg_rate(e, D_CYCLES, inst, &d, &dt) || !reg_rate(e, D_TOTAL_CYCLES, inst, &total, &dt))
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
	/* The kernel's own count of a device, be it unknown now, is not mixed with what its clients say. */
	return !reg_find(e, D_BUSY_NS, inst) && reg_get(e, D_SUM_BUSY, inst, v);
}

/* A share in 1/1000 %, 100 % at the most. */
static u64 percent(u64 share)
{
	return ((share < FULL ? share : FULL) + PERCENT_PER_MIL / 2) / PERCENT_PER_MIL;
}

bool engine_busy(const struct entity *e, u16 inst, u64 *v)
{
	u64 share = 0;
	bool ok = engine_share(e, inst, &share);

	*v = percent(share);
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

/* Work done, in 1/1000 %, of what the highest frequency would do all the time. */
bool engine_util(const struct entity *e, u16 inst, u64 *v)
{
	u64 share = 0;
	bool ok = util_share(e, inst, &share);

	*v = percent(share);
	return ok;
}

/* Mean clock while busy, Hz: cycles per ns. */
bool engine_freq(const struct entity *e, u16 inst, u64 *v)
{
	u64 cycles = 0, ns = 0, dt, hz;

	if (!(reg_get(e, D_MAXFREQ, inst, &hz) && reg_rate(e, D_CYCLES, inst, &cycles, &dt) &&
	      reg_rate(e, D_BUSY_NS, inst, &ns, &dt)) &&
	    !(reg_get(e, D_SUM_DCYCLES, inst, &cycles) && reg_get(e, D_SUM_DNS, inst, &ns)))
		return false;
	if (ns == 0)
		return false;
	*v = muldiv(cycles, 1000000000, ns);
	return true;
}

/* How busy the kernel says that the whole device is: its own figure, time, or the busiest queue of
 * which it counts the time for all clients. */
bool device_busy(const struct device *d, u64 *v)
{
	u64 delta, dt;
	bool found = false;

	if (reg_get(&d->e, D_GPU_BUSY, 0, v)) {
		*v = *v < FULL / PERCENT_PER_MIL ? *v : FULL / PERCENT_PER_MIL;
		return true;
	}
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

/* Time asleep (rc6) in 1/1000 %: of several GTs the one that slept least. */
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
			continue; /* the counter was reset, which looks like a wrap of 32 bits */
		share = percent(share);
		found = true;
		if (share < *v)
			*v = share;
	}
	return found;
}

static bool starts(struct str s, struct str lead)
{
	return str_skip(&s, lead);
}

/* amdgpu's small stores on the chip: no memory that anyone runs out of. */
static bool is_chip_region(struct str r)
{
	static const struct str exact[] = { STR("gds"), STR("gws"), STR("oa"), STR("doorbell"),
					    STR("mmioremap") };

	for (size_t i = 0; i < LEN(exact); i++)
		if (str_eq(r, exact[i]))
			return true;
	return false;
}

static bool is_vram_region(struct str r)
{
	return starts(r, (struct str)STR("vram")) || starts(r, (struct str)STR("local"));
}

/* Memory in use: the driver's own count; else what is resident in video memory; else in main memory. Where
 * video memory is a piece of main memory, both. */
bool entity_used(const struct entity *e, bool apu, u64 *v)
{
	u64 vram = 0, rest = 0, gtt = 0;
	bool any_vram = false, any = false;

	if (reg_find(e, D_VRAM_USED, 0)) {
		bool shares = apu && reg_find(e, D_GTT_USED, 0);

		/* The other figure is no answer where this one cannot be read for once. */
		if (!reg_get(e, D_VRAM_USED, 0, v) || (shares && !reg_get(e, D_GTT_USED, 0, &gtt)))
			return false;
		*v += gtt;
		return true;
	}
	for (struct counter *c = reg_first(e); c; c = reg_next(c)) {
		if ((c->desc != D_RESIDENT && c->desc != D_SUM_RESIDENT) || !(c->flags & CF_SEEN) ||
		    (c->desc == D_SUM_RESIDENT && reg_find(e, D_RESIDENT, c->inst)))
			continue; /* a device's own count comes before the sum */
		if (is_chip_region(inst_name(c->inst)))
			continue;
		any = true;
		if (is_vram_region(inst_name(c->inst))) {
			any_vram = true;
			vram += reg_now(c);
		} else {
			rest += reg_now(c);
		}
	}
	*v = !any_vram ? rest : apu ? vram + rest : vram;
	return any;
}

/* --- sums over clients ----------------------------------------------------------------------------- */

static u64 add_sat(u64 a, u64 b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void sum_add(struct entity *e, u8 desc, u16 inst, u64 v)
{
	struct counter at, *c = counter_of(e, desc, inst, &at);
	u64 *now;

	if (!c) {
		drop(e);
		return;
	}
	now = &reg_track(c)->now;
	*now = c->flags & CF_SEEN ? add_sat(*now, v) : v; /* no driver counts so far: one that underflowed */
	set_flags(c, c->flags | CF_SEEN);
}

static void sum_max(struct entity *e, u8 desc, u16 inst, u64 v)
{
	struct counter at, *c = counter_of(e, desc, inst, &at);

	if (c && (!(c->flags & CF_SEEN) || reg_now(c) < v) && !set_now(c, v))
		return;
	if (c)
		set_flags(c, c->flags | CF_SEEN);
}

/* What a counter gained since it was added to a sum, if it was: such sums never fall, though clients go. */
static u64 gained(struct counter *c, bool added)
{
	const struct track *k = reg_track(c);
	u64 d = k->now;

	if (!added && c->flags & CF_BASE)
		return course_base(descs[c->desc].course, k->was, d);
	if (!added || !(c->flags & CF_OLD))
		return d;
	return c->flags & CF_BASE && course_delta(descs[c->desc].course, k->was, k->now, &d) ? d : 0;
}

static void roll_engine(struct entity *into, const struct entity *e, struct counter *c, bool rates, bool added)
{
	u64 v, ns, cycles, dt;

	switch (c->desc) {
	case D_BUSY_NS:
		sum_add(into, D_SUM_NS, c->inst, gained(c, added));
		break;
	case D_CYCLES:
		sum_add(into, D_SUM_CYCLES, c->inst, gained(c, added));
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
	/* ns and cycles of one engine tell its busy time once. */
	if (c->desc == D_CYCLES && reg_find(e, D_BUSY_NS, c->inst))
		return;
	if (rates && engine_share(e, c->inst, &v))
		sum_add(into, D_SUM_BUSY, c->inst, v);
}

static u8 sum_of(u8 desc)
{
	return (u8)(desc - D_TOTAL + D_SUM_TOTAL);
}

/* What of a client's values is on its way into sums. */
struct roll {
	struct entity *into;
	const struct entity *e;
	u8 desc;           /* of the region that was added last: a sum that is new stands behind it; D_COUNT: that is so */
	u16 inst, shared_inst;
	u64 shared;        /* of the region shared_inst */
};

static void roll_order(struct roll *r)
{
	struct counter c;

	if (r->desc != D_COUNT)
		counter_of(r->into, sum_of(r->desc), r->inst, &c);
	r->desc = D_COUNT;
}

/* Where the region in a slot is summed up is found once for all clients of a driver that follow each other. False: no room. */
static bool roll_place(struct roll *r, struct keyset *k, u8 slot)
{
	struct counter at, *c;

	roll_order(r);
	c = counter_of(r->into, sum_of(k->k.desc[slot]), k->k.inst[slot], &at);
	if (!c) {
		drop(r->into);
		return false;
	}
	k->sums[slot] = lines[c->line].v[c->slot];
	return true;
}

static inline void roll_region(struct roll *r, struct keyset *k, u8 slot, u64 v)
{
	u16 inst = k->k.inst[slot];
	struct track *sum;

	if (k->k.desc[slot] == D_SHARED) {
		r->shared_inst = inst;
		r->shared = v;
	}
	/* A buffer that two clients share is resident once. */
	if (k->k.desc[slot] == D_RESIDENT && (r->shared_inst == inst || reg_get(r->e, D_SHARED, inst, &r->shared))) {
		r->shared_inst = inst;
		v = v > r->shared ? v - r->shared : 0;
	}
	if (k->sums[slot] == NONE && !roll_place(r, k, slot))
		return;
	r->desc = k->k.desc[slot];
	r->inst = inst;
	sum = &tracks[k->sums[slot]];
	sum->now = add_sat(sum->now, v);
	sum->t = 1; /* see roll_end */
}

static void roll_client(struct entity *into, const struct client *c, bool rates)
{
	struct roll r = { .into = into, .e = &c->e, .desc = D_COUNT, .shared_inst = MAX_INSTANCES };

	for (u32 line = c->e.first; line != NONE; line = lines[line].next) {
		struct keyset *k = &keysets[lines[line].keys];

		if (k->into != into->serial || k->clears != clears) {
			memset(k->sums, 0, sizeof(k->sums));
			k->into = into->serial;
			k->clears = clears;
		}
		for (u8 i = 0; i < k->k.n; i++) {
			struct counter at;

			if (!(lines[line].flags[i] & CF_SEEN))
				continue;
			if (k->k.desc[i] >= D_TOTAL && k->k.desc[i] <= D_ACTIVE) {
				roll_region(&r, k, i, slot_now(&lines[line], i));
			} else if (is_engine(k->k.desc[i])) {
				roll_order(&r);
				roll_engine(into, &c->e, counter_at(&at, line, i), rates, c->rolled);
			}
		}
	}
	roll_order(&r);
}

static void roll_kept(struct entity *into, const struct client *c)
{
	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k)) {
		if (!(k->flags & CF_SEEN) || k->desc > D_TOTAL_CYCLES)
			continue;
		if (k->desc == D_TOTAL_CYCLES)
			sum_max(into, D_KEPT_TOTAL_CYCLES, k->inst, reg_now(k));
		else
			sum_add(into, (u8)(D_KEPT_NS + k->desc), k->inst, gained(k, c->kept));
	}
}

static void roll_start(struct entity *e)
{
	if (e->kind == K_CGROUP)
		e->dropped = 0; /* a device's reading does that */
	for (struct counter *c = reg_first(e); c; c = reg_next(c)) {
		if ((c->desc >= D_SUM_BUSY && c->desc <= D_SUM_DNS) || c->desc == D_MAXFREQ ||
		    c->desc == D_CURFREQ || (c->desc >= D_SUM_TOTAL && c->desc <= D_SUM_ACTIVE))
			set_flags(c, c->flags & (u8)~CF_SEEN);
		if (is_region(c->desc) && is_sum(c->desc)) {
			reg_track(c)->now = 0;
			reg_track(c)->t = 0;
		}
	}
}

/* Regions to which something was added are known. */
static void roll_end(struct entity *e)
{
	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (is_region(c->desc) && is_sum(c->desc) && reg_track(c)->t)
			set_flags(c, c->flags | CF_SEEN);
}

static u32 group_bucket[256];

/* NULL: no room. */
struct group *group_add(u32 device, u32 cgroup)
{
	u32 *bucket = &group_bucket[(device * 31 + cgroup) % LEN(group_bucket)], n;

	for (n = *bucket; n; n = groups[n].next)
		if (groups[n].device == device && groups[n].cgroup == cgroup)
			return &groups[n];
	for (n = 1; n <= ngroups && groups[n].e.used; n++)
		;
	if (n > ngroups && (n = row_new(NONE, &ngroups, &groups_table)) == NONE)
		return NULL;
	groups[n] = (struct group){ .e = { .used = true, .kind = K_CGROUP, .serial = ++serials }, .device = device,
				    .cgroup = cgroup, .next = *bucket };
	cgroups[cgroup].refs++;
	*bucket = n;
	return &groups[n];
}

static void group_free(struct group *g)
{
	u32 *link = &group_bucket[(g->device * 31 + g->cgroup) % LEN(group_bucket)];

	while (&groups[*link] != g)
		link = &groups[*link].next;
	*link = g->next;
	reg_clear(&g->e);
	cgroup_unref(g->cgroup);
	g->e.used = false;
}

/* Engines that no client uses are idle, not unknown, where all clients could be seen. */
static void roll_idle(struct device *d)
{
	if (d->clients || d->anonymous || !d->awake || reg_unreadable)
		return;
	for (struct counter *c = reg_first(&d->e); c; c = reg_next(c))
		if (c->desc == D_CAPACITY || c->desc == D_SUM_NS || c->desc == D_SUM_CYCLES)
			sum_add(&d->e, D_SUM_BUSY, c->inst, 0);
}

/* Sums the clients' last readings into their devices, or into the cgroups on them. Without rates only
 * what one reading tells. */
void reg_roll(bool by_cgroup, bool rates)
{
	for (u32 i = 1; i <= ndevices; i++) {
		devices[i].clients = devices[i].waiting = 0;
		roll_start(&devices[i].e);
	}
	for (u32 i = 1; i <= ngroups; i++) {
		groups[i].clients = groups[i].members = 0;
		roll_start(&groups[i].e);
	}
	for (u32 i = 1; i <= nclients; i++) {
		struct client *c = &clients[i];
		struct device *d = &devices[c->device];
		const struct task *owner;
		struct group *g = NULL;
		bool shown = c->e.used && !c->hidden;

		/* What a compute process holds is its DRM client's too. */
		if (!(shown || (c->e.used && reg_keeps)) || c->keykind == KEY_KFD)
			continue;
		owner = by_cgroup || reg_keeps ? client_owner(c) : NULL;
		if (owner && owner->cgroup)
			g = group_add(c->device, owner->cgroup);
		if (g)
			g->members++;
		if (g && shown)
			g->clients++;
		d->clients += shown;
		d->waiting += shown && !c->holders;
		if (!c->e.fresh)
			continue;
		if (reg_keeps) {
			roll_kept(&d->e, c);
			if (g)
				roll_kept(&g->e, c);
			c->kept = true;
		}
		if (shown && (g || !by_cgroup)) {
			roll_client(by_cgroup ? &g->e : &d->e, c, rates);
			c->rolled = true;
		}
	}
	for (u32 i = 1; i <= ngroups; i++) {
		roll_end(&groups[i].e);
		if (groups[i].e.used && !groups[i].members)
			group_free(&groups[i]);
	}
	for (u32 i = 1; i <= ndevices; i++) {
		roll_end(&devices[i].e);
		if (rates)
			roll_idle(&devices[i]);
	}
}

/* --- texts: strings of any length that come and go ------------------------------------------------- */

enum { MAX_TEXTS = 128 << 10 };

static struct text {
	u32 next;
	u8 n;
	char b[27]; /* most are names: half a cache line */
} *texts;
static TABLE(texts, MAX_TEXTS, 128, "texts of 27 bytes");
static u32 ntexts, free_texts;

void text_free(u32 t)
{
	while (t != NONE) {
		u32 next = texts[t].next;

		texts[t].next = free_texts;
		free_texts = t;
		t = next;
	}
}

bool text_eq(u32 t, struct str s)
{
	if (t == NONE)
		return false;
	for (; t != NONE; t = texts[t].next) {
		if (!str_skip(&s, (struct str){ texts[t].b, texts[t].b + texts[t].n }))
			return false;
	}
	return s.p == s.e;
}

/* Stores s in the place of old, which may be NONE. NONE where there is no room. */
u32 text_put(u32 old, struct str s)
{
	u32 first = NONE, *link = &first;

	if (text_eq(old, s))
		return old;
	text_free(old);
	do {
		u32 t = free_texts;
		size_t n = str_len(s);

		if (t != NONE)
			free_texts = texts[t].next;
		else if (table_has(&texts_table, ntexts + 1))
			t = ++ntexts;
		if (t == NONE) {
			text_free(first);
			reg_dropped++;
			return NONE;
		}
		if (n > sizeof(texts[t].b))
			n = sizeof(texts[t].b);
		texts[t].next = NONE;
		texts[t].n = (u8)n;
		memcpy(texts[t].b, s.p, n);
		s.p += n;
		*link = t;
		link = &texts[t].next;
	} while (s.p < s.e);
	return first;
}

/* Its bytes, as many as cap holds; how many. */
size_t text_copy(u32 t, char *b, size_t cap)
{
	size_t n = 0;

	for (; t != NONE; t = texts[t].next) {
		size_t k = texts[t].n;

		if (k > cap - n)
			k = cap - n;
		memcpy(b + n, texts[t].b, k);
		n += k;
	}
	return n;
}

/* How many clients of it have a record in this sample. False: not known, as there are but such as have no name or wait, or not
 * all that may have some was read. */
bool device_clients(const struct device *d, u64 *v)
{
	*v = d->clients - d->waiting;
	return *v || !(d->anonymous || d->waiting || reg_untold);
}

/* --- clients and who holds them --------------------------------------------------------------------- */

/* Chains of rows, of which no table has more than 16 bits count. */
static u16 client_bucket[4096], holder_bucket[4096], task_bucket[4096];
static u32 cgroup_bucket[1024];
_Static_assert(MAX_CLIENTS <= 1 << 16 && MAX_HOLDERS <= 1 << 16 && MAX_TASKS <= 1 << 16, "16 bits count their rows");
static u32 free_client, free_holder, free_task, free_cgroup;

static u16 *client_link(u32 device, u8 keykind, u64 key)
{
	u64 h = (key + device + ((u64)keykind << 32)) * 0x9e3779b97f4a7c15; /* Knuth's multiplicative hash */
	u16 *link = &client_bucket[h >> 40 & (LEN(client_bucket) - 1)];

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
	u32 n = row_new(free_client, &nclients, &clients_table);

	if (n == NONE)
		return NONE;
	if (n == free_client)
		free_client = clients[n].next;
	clients[n] = (struct client){ .e = { .used = true, .kind = K_CLIENT, .serial = ++serials }, .key = key,
				      .device = device, .keykind = keykind };
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
	*c = (struct client){ .next = (u16)free_client };
	free_client = n;
}

static bool is_broker(const struct task *t)
{
	static const struct str comms[] = { STR("systemd-logind"), STR("elogind-daemon"), STR("seatd") };

	if (t->pid == 1)
		return true;
	for (size_t i = 0; i < LEN(comms); i++)
		if (str_eq((struct str){ t->comm, t->comm + t->comm_len }, comms[i]))
			return true;
	return false;
}

/* Its oldest holder that did not open it for another: not pid 1, logind or seatd; of equally old ones
 * that with the lowest pid. NULL: no holder. */
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
	u16 *link = &holder_bucket[(pid * 31u + fd) % LEN(holder_bucket)];

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
	u32 n = row_new(free_holder, &nholders, &holders_table), *tail;

	if (n == NONE)
		return NONE;
	if (n == free_holder)
		free_holder = holders[n].next;
	holders[n] = (struct holder){ .pid = pid, .fd = fd, .task = task, .client = client, .io = -1 };
	*link = (u16)n;
	/* Behind the first one, through which the client is read. */
	tail = &clients[client].holders;
	if (*tail)
		tail = &holders[*tail].next_client;
	holders[n].next_client = *tail;
	*tail = n;
	tasks[task].refs++;
	return n;
}

/* Forgets one holder; its client stays, perhaps without any. The caller closed io. */
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
	*h = (struct holder){ .next = (u16)free_holder };
	free_holder = n;
}

static u16 *task_link(u32 pid)
{
	u16 *link = &task_bucket[pid % LEN(task_bucket)];

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
	u32 n = row_new(free_task, &ntasks, &tasks_table);

	if (n == NONE)
		return NONE;
	if (n == free_task)
		free_task = tasks[n].next;
	tasks[n] = (struct task){ .pid = pid, .start = UINT64_MAX };
	*link = (u16)n;
	return n;
}

/* Forgets a task that holds nothing. */
void task_prune(u32 n)
{
	struct task *t = &tasks[n];

	if (t->refs)
		return;
	*task_link(t->pid) = t->next;
	if (t->cgroup)
		cgroup_unref(t->cgroup);
	*t = (struct task){ .next = (u16)free_task };
	free_task = n;
}

/* The number of a cgroup, with one reference more; NONE where there is no room. */
u32 cgroup_add(struct str path)
{
	u32 h = hash_more(HASH_BEGIN, path), *link = &cgroup_bucket[h % LEN(cgroup_bucket)], n;

	while (*link && (cgroups[*link].hash != h || !text_eq(cgroups[*link].path, path)))
		link = &cgroups[*link].next;
	n = *link;
	if (n == NONE) {
		n = row_new(free_cgroup, &ncgroups, &cgroups_table);
		if (n == NONE)
			return NONE;
		if (n == free_cgroup)
			free_cgroup = cgroups[n].next;
		cgroups[n] = (struct cgroup){ .hash = h, .path = text_put(NONE, path) };
		*link = n;
	}
	cgroups[n].refs++;
	return n;
}

void cgroup_unref(u32 n)
{
	struct cgroup *c = &cgroups[n];
	u32 *link = &cgroup_bucket[c->hash % LEN(cgroup_bucket)];

	if (--c->refs)
		return;
	while (*link != n)
		link = &cgroups[*link].next;
	*link = c->next;
	text_free(c->path);
	*c = (struct cgroup){ .next = free_cgroup };
	free_cgroup = n;
}

/* --- devices ------------------------------------------------------------------------------------------ */

/* A device's label: cut to its field, which the kernel's own names fit. */
void device_set(char *field, size_t cap, struct str s)
{
	size_t n = str_len(s) < cap - 1 ? str_len(s) : cap - 1;

	if (n)
		memcpy(field, s.p, n);
	field[n] = '\0';
}

/* The one behind another, in no order, or the first; NONE at the end. gone: also one that is unplugged. */
u32 device_next(u32 i, bool gone)
{
	while (++i <= ndevices)
		if (devices[i].e.used && (gone || !devices[i].gone))
			return i;
	return NONE;
}

u32 device_add(void)
{
	u32 n;

	for (n = 1; n < MAX_DEVICES && devices[n].e.used; n++)
		;
	if (n == MAX_DEVICES)
		return NONE;
	devices[n] = (struct device){ .e = { .used = true, .kind = K_DEVICE, .serial = ++serials }, .card = -1, .render = -1,
				      .accel = -1, .awake = true };
	if (n > ndevices)
		ndevices = n;
	return n;
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

/* By primary node, then render nodes, then accel nodes, then those without any, by name. */
int device_order(const struct device *a, const struct device *b)
{
	u64 x = device_rank(a), y = device_rank(b);

	return x != y ? (x < y ? -1 : 1) : strcmp(a->dev, b->dev);
}

/* --- perf events ------------------------------------------------------------------------------------- */

const char *state_text(u8 state)
{
	static const char *const words[CS_STATES] = {
		[CS_NEVER_RAN] = "not counted: it never ran",
		[CS_NO_ROOM] = "not counted: no counter was free for it, or its group is larger than the PMU",
		[CS_NOT_ENABLED] = "not counted: it was not enabled, or its task did not run",
		[CS_PINNED] = "not counted: pinned, and no counter was free",
		[CS_GONE] = "not counted: the process is gone",
		[CS_OFFLINE] = "not counted: the CPU is offline or absent",
		[CS_RETURNED] = "not counted: the CPU has been offline, which ended it",
		[CS_NO_LEADER] = "not supported: its group leader cannot be counted",
		[CS_NO_SLOT] = "not counted: no slot is free for it",
		[CS_NO_FILES] = "not counted: too many open files",
		[CS_NO_GROUP] = "not counted: it does not fit into its group",
		[CS_UNREADABLE] = "not counted: it cannot be read",
		[CS_BACKWARDS] = "not counted: it went backwards",
		[CS_ELSEWHERE] = "not counted: its PMU counts on other CPUs",
		[CS_FILTER] = "not supported: its filter is refused: no such field, or the syntax",
		[CS_BREAKPOINT] = "not supported: a breakpoint has 1, 2, 4 or 8 bytes, and begins at a multiple of that",
		[CS_NO_FILE] = "not supported: no such file",
		[CS_NO_SOFTWARE] = "not supported: the kernel has no such software event",
		[CS_DENIED] = "denied: kernel.perf_event_paranoid; as root, or: setcap cap_perfmon+ep gpustat",
		[CS_NO_MEMORY] = "not counted: the kernel has no memory for it",
		[CS_REFUSED] = "not supported: the kernel refuses these settings",
		[CS_NO_PERF] = "not supported: this kernel has no perf events",
		[CS_UNSUPPORTED] = "not supported: no PMU here has it",
	};

	return words[state];
}

static u32 id_bucket[4096]; /* counts, by the kernel's number for them */

void count_number(u32 i, u64 id)
{
	u32 *bucket = &id_bucket[id % LEN(id_bucket)];

	counts[i].id = id;
	counts[i].next_id = *bucket;
	*bucket = i;
}

/* The count that the kernel calls id; NONE where it is nobody's. */
u32 count_find(u64 id)
{
	u32 i = id_bucket[id % LEN(id_bucket)];

	while (i && counts[i].id != id)
		i = counts[i].next_id;
	return i;
}

/* What was counted since the reading before. */
static struct tally tally_delta(const struct count *c)
{
	return (struct tally){ c->now.value - c->was.value, c->now.enabled - c->was.enabled,
			       c->now.running - c->was.running };
}

/* A new interval: what is counted in it goes on from the last reading. */
void rows_begin(void)
{
	for (u32 i = 1; i <= ncounts; i++)
		counts[i].was = counts[i].now;
	for (u32 i = 0; i < nevsets; i++) {
		evsets[i].turns_was = evsets[i].turns;
		evsets[i].active_was = evsets[i].active;
	}
}

/* Adds one count to its row. A count that ran for a part of its time is taken to have gone on alike: each for
 * itself, since CPUs differ. */
static void row_add(struct evrow *r, const struct count *c, i64 dt, bool scale)
{
	const struct event *ev = &events[c->event];
	struct tally d = tally_delta(c);
	bool slept = c->pid && c->now.enabled; /* has run before, and not since: that is 0 */
	u8 state = c->state;

	if (state == CS_COUNTED && d.enabled == 0 && !slept)
		state = ev->mods & EM_PINNED ? CS_PINNED : CS_NOT_ENABLED;
	else if (state == CS_COUNTED && d.running == 0 && d.enabled && ev->rule != EV_LEVEL)
		state = ev->group ? CS_NO_ROOM : CS_NEVER_RAN;
	if (state == CS_NO_FILES)
		r->cut = true;
	if (state != CS_COUNTED) {
		r->sum.enabled += state == CS_RETURNED && dt > 0 ? (u64)dt : d.enabled; /* it is missing in the sum */
		r->state = r->places == 0 && state > r->state ? state : r->state;
		return;
	}
	r->state = CS_COUNTED;
	r->places++;
	if (ev->rule == EV_LEVEL) {
		r->neg = c->virt && c->now.value > INT64_MAX; /* degrees */
		r->value = r->neg ? -c->now.value : c->now.value;
		r->sum = (struct tally){ c->now.value, r->sum.enabled + d.enabled, r->sum.running + d.running };
		return;
	}
	r->sum.value = add_sat(r->sum.value, d.value);
	r->sum.enabled += d.enabled;
	r->sum.running += d.running;
	r->value = add_sat(r->value, scale && ev->rule == EV_COUNT && d.running < d.enabled ?
			   muldiv(d.value, d.enabled, d.running) : d.value);
}

/* As a fixed-point number with at most nine decimals, as many as fit. */
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

/* A set that had its turns for a part of the time is taken to have gone on alike. */
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

	if (r->cut) /* a part of the sum is none */
		r->state = CS_NO_FILES;
	r->share = r->sum.enabled ? muldiv(r->sum.running, 100000, r->sum.enabled) : 0;
	if (r->state != CS_COUNTED) /* the mean of runs before keeps its point */
		return;
	r->point = 0;
	if (ev->rule == EV_PER_SECOND) {
		dt = evsets[ev->set].name ? evsets[ev->set].active - evsets[ev->set].active_was : dt;
		r->value = dt > 0 ? muldiv(r->value, 10000000000, (u64)dt) : 0;
		r->point = 1;
	} else if (ev->rule == EV_SHARE) {
		size_t next = (size_t)(r - evrows) + nsites; /* the row of the event that follows, at the same place */
		u64 all = next <= nevrows ? evrows[next].sum.value : 0;

		if (all == 0)
			r->state = CS_NEVER_RAN;
		r->value = muldiv(r->sum.value, 100000, all);
		r->point = 3;
	} else if (ev->rule == EV_COUNT && evsets[ev->set].name) {
		row_set(r, &evsets[ev->set], dt, scale);
	}
	if (ev->scale)
		row_unit(r, ev->scale, ev->scale_point);
}

/* The rows of the interval of dt ns that the last reading ended. */
void rows_sum(i64 dt, bool scale)
{
	for (u32 i = 1; i <= nevrows; i++) {
		evrows[i].places = 0;
		evrows[i].neg = evrows[i].cut = false;
		evrows[i].value = 0;
		evrows[i].state = CS_NEVER_RAN; /* until a count says otherwise: a repetition may have none */
		evrows[i].sum = (struct tally){ 0 };
	}
	for (u32 i = 1; i <= ncounts; i++)
		row_add(&evrows[counts[i].row], &counts[i], dt, scale);
	for (u32 i = 1; i <= nevrows; i++)
		row_finish(&evrows[i], dt, scale);
}

/* The mean so far: exact while the sum of all fits. */
static void row_mean(struct evrow *r)
{
	double mean = r->mean < 0 ? -r->mean : r->mean;

	r->neg = r->mean < 0;
	r->value = r->total != UINT64_MAX && !r->neg ? r->total / r->repeats + (r->total % r->repeats * 2 >= r->repeats) :
		   mean >= 18446744073709551615.0 ? UINT64_MAX : (u64)(mean + 0.5);
}

/* One repetition more: mean and spread by Welford's method. */
void rows_repeat(void)
{
	for (u32 i = 1; i <= nevrows; i++) {
		struct evrow *r = &evrows[i];
		double v = r->neg ? -(double)r->value : (double)r->value, d = v - r->mean;

		if (r->state == CS_COUNTED) {
			r->repeats++;
			r->mean += d / r->repeats;
			r->m2 += d * (v - r->mean);
			r->total = r->neg ? UINT64_MAX : add_sat(r->total, r->value);
		}
		if (r->repeats) { /* a run without a value leaves the mean of the others */
			r->state = CS_COUNTED;
			row_mean(r);
		}
	}
}

/* The standard error of the mean, as a share of it: what perf stat -r prints as +-. */
double row_deviation(const struct evrow *r)
{
	double v = r->repeats > 1 ? r->m2 / (r->repeats - 1) / r->repeats : 0, x = v;

	for (int i = 0; i < 64 && x > 0; i++) /* Newton: the square root */
		x = (x + v / x) / 2;
	return r->mean > 0 ? x / r->mean : 0;
}
