/* catalog.c - every counter by its name: which there are, which are active, and how readings become values.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "gpustat.h"
#include "sys.h"

enum {
	NAME_BUCKETS = 4096,
	ALL_TEXT = 256 * MAX_NAMED,    /* names and descriptions of some 100 bytes each, with room */
	TEXT_BYTES = 1024,             /* of one text: longer ones are cut */
	SOON = 10000000, /* ns: /proc/stat ticks at 100 Hz, so that shares of less time mean nothing */
	FULL_PERCENT = 100000, /* in 1/1000 % */
};

u32 nnamed;
static struct named *named;
static TABLE(named, MAX_NAMED, 256, "counters");
static u16 buckets[NAME_BUCKETS]; /* index + 1 */
static u32 nactive;
static bool sampling;

/* --- texts ------------------------------------------------------------------------------------------ */

static char *texts;
static TABLE(texts, ALL_TEXT, 16384, "bytes of counters' names");
static size_t texts_used;

/* A copy for ever, with its NUL; NULL where there is no room. Vendors and units are few, names are many. */
static const char *keep(struct str s, const char *last)
{
	size_t n = str_len(s);
	char *p;

	if (last && str_is(s, last))
		return last;
	if (!table_has(&texts_table, texts_used + n))
		return NULL;
	p = texts + texts_used;
	if (n)
		memcpy(p, s.p, n);
	texts_used += n + 1; /* the next byte is 0 */
	return p;
}

static const char *keep_what(const struct naming *n)
{
	char text[TEXT_BYTES];
	struct buf b = BUF(text);

	put_text(&b, str_len(n->what) < TEXT_BYTES / 8 ? n->what : (struct str){ n->what.p, n->what.p + TEXT_BYTES / 8 });
	if (n->is_signed)
		put_z(&b, "; -1 is shown as 0");
	if (n->unit.p < n->unit.e) {
		put_z(&b, " (");
		put_text(&b, n->unit);
		put_c(&b, ')');
	}
	return keep((struct str){ text, text + b.n }, nnamed ? named[nnamed - 1].what : NULL);
}

/* --- the list --------------------------------------------------------------------------------------- */

static u16 *bucket_of(struct str name)
{
	return &buckets[hash_more(HASH_BEGIN, name) % NAME_BUCKETS];
}

bool catalog_has(struct str vendor, struct str name)
{
	for (u32 i = *bucket_of(name); i; i = named[i - 1].next)
		if (str_is(name, named[i - 1].name) && str_is(vendor, named[i - 1].vendor))
			return true;
	return false;
}

struct str catalog_numbered(char *b, size_t cap, struct str s, u64 x)
{
	struct buf to = buf_on(b, cap);

	for (; s.p < s.e; s.p++)
		if (*s.p == 'X')
			put_u64(&to, x);
		else
			put_c(&to, *s.p);
	return (struct str){ b, b + to.n };
}

bool catalog_find(struct str name, u32 *i)
{
	bool found = false;

	for (u32 k = *bucket_of(name); k; k = named[k - 1].next)
		if (str_is(name, named[k - 1].name) && (!found || k - 1 < *i)) {
			*i = k - 1;
			found = true;
		}
	return found;
}

const struct named *catalog_at(u32 i)
{
	return &named[i];
}

void catalog_add(u8 supplier, u32 at, const struct naming *n)
{
	struct named *to, *last = nnamed ? &named[nnamed - 1] : NULL;
	u16 *bucket = bucket_of(n->name);

	if (catalog_has(n->vendor, n->name))
		return;
	if (!table_has(&named_table, nnamed)) {
		reg_dropped++;
		return;
	}
	to = &named[nnamed];
	*to = (struct named){ .supplier = supplier, .at = at, .rule = n->rule, .min = n->is_signed ? INT64_MIN : 0,
			      .max = n->max > INT64_MAX || n->max == 0 ? INT64_MAX : (i64)n->max };
	to->vendor = keep(n->vendor, last ? last->vendor : NULL);
	to->name = keep(n->name, NULL);
	to->unit = keep(n->unit, last ? last->unit : NULL);
	to->what = keep_what(n);
	if (!to->vendor || !to->name || !to->unit || !to->what) {
		reg_dropped++;
		return;
	}
	to->next = *bucket;
	*bucket = (u16)++nnamed;
}

/* --- who tells them --------------------------------------------------------------------------------------- */

#if HAS(counters) && !HAS(oa)
static void list_none(void)
{
}

static const struct supplier sup_none = { .list = list_none };
#endif

static const struct supplier *suppliers[] = {
	[SUP_HOST] = &sup_host,
#if HAS(counters)
	[SUP_GPU] = &sup_gpu, [SUP_HWMON] = &sup_hwmon, [SUP_EVENT] = &sup_event,
	[SUP_FILE] = &sup_file,
#if HAS(oa)
	[SUP_OA] = &sup_oa,
#else
	[SUP_OA] = &sup_none,
#endif
#endif
};

/* The text in front of the first character that may stand for others. */
static struct str literal(struct str word)
{
	struct str s = { word.p, word.p };

	while (s.e < word.e && *s.e != '*' && *s.e != '?')
		s.e++;
	return s;
}

enum { GPUS = 1 << SUP_GPU | 1 << SUP_OA }; /* neither can do without the other */

/* A file may hold any name. */
u32 catalog_tellers(struct str word)
{
	struct str head = literal(word);
	u32 tellers = 1 << SUP_FILE;
	bool native = false;

	for (size_t i = 0; i < LEN(suppliers); i++) {
		struct str prefix = suppliers[i]->prefix, rest = head;
		bool below = prefix.p && str_skip(&rest, prefix);

		native |= below;
		if (below || (prefix.p && head.e < word.e && str_skip(&prefix, head)))
			tellers |= 1u << i;
	}
	if (!native)
		tellers |= 1 << SUP_HOST | 1 << SUP_GPU;
	return tellers & GPUS ? tellers | GPUS : tellers;
}

/* Whose files are the kernel's, and not in a folder that the user named. */
static u8 raise_for(size_t supplier)
{
	return privilege_raise(supplier == SUP_FILE ? 0 : MAY_READ | MAY_LOOK);
}

long catalog_refresh(u32 tellers)
{
	roots_open();
	if (root_proc < 0 && root_sys < 0)
		return -EACCES;
	for (size_t i = 0; i < LEN(suppliers); i++)
		if (tellers >> i & 1 && suppliers[i]->scan)
			suppliers[i]->scan();
	for (size_t i = 0; i < LEN(suppliers); i++)
		if (tellers >> i & 1 && suppliers[i]->recommend)
			suppliers[i]->recommend();
	for (size_t i = 0; i < LEN(suppliers); i++)
		if (tellers >> i & 1) {
			u8 was = raise_for(i);

			suppliers[i]->list();
			privilege_lower(was);
		}
	return 0;
}

/* --- from readings to values ------------------------------------------------------------------------------ */

static i64 clamp(u64 v)
{
	return v > INT64_MAX ? INT64_MAX : (i64)v;
}

/* The first reading is what later ones are compared with: until then it is what the start made it. */
static bool is_first(struct named *n, u64 v, u64 of, i64 t)
{
	bool first = !n->based;

	if (first) {
		n->based = true;
		n->was = v;
		n->of_was = of;
		n->t_was = t;
	}
	return first;
}

/* The first reading, or too soon behind the one before: nothing is measured. */
static bool too_early(struct named *n, u64 v, u64 of, i64 t)
{
	bool first = is_first(n, v, of, t);

	n->unmeasured |= first;
	return first || t - n->t_was < SOON;
}

static void set_level(struct named *n, u64 v, u64 of, i64 t)
{
	(void)of;
	(void)t;
	n->value = n->min < 0 ? (i64)v : clamp(v);
	n->value += n->value == -1; /* which would mean unknown */
	n->known = true;
}

static void set_count(struct named *n, u64 v, u64 of, i64 t)
{
	n->known = is_first(n, v, of, t) || v >= n->was;
	if (n->known)
		n->value = clamp((u64)n->value + (v - n->was > INT64_MAX ? INT64_MAX : v - n->was));
	n->was = v;
}

static void set_rate(struct named *n, u64 v, u64 of, i64 t)
{
	if (too_early(n, v, of, t))
		return;
	n->known = v >= n->was;
	if (n->known)
		n->value = clamp(muldiv(v - n->was, 1000000000, (u64)(t - n->t_was)));
	n->was = v;
	n->t_was = t;
	n->unmeasured = false;
}

static void set_share(struct named *n, u64 v, u64 of, i64 t)
{
	/* That the other one stands still says nothing: what was is kept until it goes on. */
	if (too_early(n, v, of, t) || (of == n->of_was && v >= n->was))
		return;
	n->known = v >= n->was && of > n->of_was;
	if (n->known) {
		u64 twice = muldiv(v - n->was, 200, of - n->of_was);

		n->value = twice >= 200 ? 100 : (i64)((twice + 1) / 2);
	}
	n->was = v;
	n->of_was = of;
	n->t_was = t;
	n->unmeasured = false;
}

static void set_percent(struct named *n, u64 v, u64 of, i64 t)
{
	if (too_early(n, v, of, t))
		return;
	n->value = v >= FULL_PERCENT ? 100 : (i64)((v + 500) / 1000);
	n->known = true;
	n->t_was = t;
	n->unmeasured = false;
}

/* The counter at this place of those that are active. */
static struct named *active(u32 place)
{
	return &named[named[place].active_there];
}

static void take(struct named *n, i64 t)
{
	static void (*const set[])(struct named *n, u64 v, u64 of, i64 t) = {
		[R_LEVEL] = set_level, [R_COUNT] = set_count, [R_RATE] = set_rate, [R_SHARE] = set_share,
		[R_PERCENT] = set_percent,
	};
	u64 v, of = 0;

	if (suppliers[n->supplier]->read(n->at, &v, &of) < 0)
		n->known = false;
	else
		set[n->rule](n, v, of, t);
}

/* One reading of what is active from that place on. */
static void take_from(u32 place, bool anew)
{
	static i64 last;
	i64 t = sys_now(CLOCK_MONOTONIC);
	bool asked[SUPPLIERS] = { false };

	anew |= t - last >= SOON;
	if (anew)
		last = t;
	for (u32 i = place; i < nactive; i++)
		asked[active(i)->supplier] = true;
	asked[SUP_OA] |= asked[SUP_GPU]; /* some of whose it tells */
	for (size_t i = 0; i < LEN(suppliers); i++)
		if (asked[i] && suppliers[i]->sample) {
			u8 was = raise_for(i);

			suppliers[i]->sample(anew);
			privilege_lower(was);
		}
	for (u32 i = place; i < nactive; i++)
		take(active(i), t);
}

/* All that is active from that place on becomes 0 and runs from now on. */
static void begin_from(u32 place)
{
	for (u32 i = place; i < nactive; i++) {
		struct named *n = active(i);

		n->value = 0;
		n->known = true;
		n->based = n->unmeasured = false;
	}
	if (place < nactive)
		take_from(place, true);
}

void catalog_start(void)
{
	sampling = true;
	begin_from(0);
}

void catalog_stop(void)
{
	catalog_sample();
	sampling = false;
}

void catalog_sample(void)
{
	if (sampling && nactive)
		take_from(0, false);
}

/* --- activation --------------------------------------------------------------------------------------------- */

static bool is_refusal(long r)
{
	return r == -EACCES || r == -EPERM;
}

long catalog_activate(const u32 *is, size_t n)
{
	u32 had = nactive;

	for (size_t i = 0; i < n; i++) {
		struct named *c = &named[is[i]];
		bool refused;
		u8 was;

		if (c->active)
			continue;
		c->active = true;
		c->known = false;
		c->place = nactive;
		named[nactive++].active_there = is[i];
		was = raise_for(c->supplier);
		refused = is_refusal(suppliers[c->supplier]->open(c->at));
		privilege_lower(was);
		if (refused) {
			while (nactive > had)
				catalog_deactivate(named[nactive - 1].active_there);
			return -EACCES;
		}
	}
	if (sampling)
		begin_from(had);
	return 0;
}

void catalog_deactivate(u32 i)
{
	struct named *c = &named[i];

	if (!c->active)
		return;
	suppliers[c->supplier]->close(c->at);
	c->active = c->known = false;
	named[c->place].active_there = named[--nactive].active_there;
	active(c->place)->place = c->place;
}
