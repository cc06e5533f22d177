/* catalog.c - the list of named counters: adding and finding, activation, and values from readings.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/catalog/catalog.h"
#include "sys.h"

enum {
	NAME_BUCKETS = 4096,
	/* maximum size in bytes of the texts of all counters together: 256 bytes for each counter,
	 * whose name and description have some 100 bytes each */
	ALL_TEXT = 256 * MAX_NAMED,
	/* maximum bytes of a counter's description; longer descriptions are truncated */
	TEXT_BYTES = 1024,
	/* minimum time in ns between two readings from which a rate or percentage is computed,
	 * because the times in /proc/stat have a resolution of 10 ms */
	MIN_INTERVAL = 10000000,
	/* 100 % in 1/1000 %, the unit of readings of R_PERCENT counters */
	FULL_PERCENT = 100000,
};

u32 nnamed;

static struct {
	struct named *named;
	char *texts; /* the texts of all counters, with a NUL after each text */
	/* hash table of the counters' names: index + 1 of the first counter of each chain; 0 if a
	 * chain is empty */
	u16 buckets[NAME_BUCKETS];
	u32 nactive;
	bool sampling;
	size_t texts_used;
	/* time in ns of the last reading for which the providers were asked to read new values
	 * (due) */
	i64 last_reading;
	/* next step that catalog_reach() runs to add counters to the list (a step: step_run());
	 * STEPS: no step is left */
	u8 step;
	/* true while catalog_add() is called for names that KHR_perfcounter recommends */
	bool recommends;
} catalog;
static struct {
	struct table named, texts;
} catalog_tables = {
	.named = TABLE_ROW(catalog.named, MAX_NAMED, 256, "counters"),
	.texts = TABLE_ROW(catalog.texts, ALL_TEXT, 16384, "bytes of counters' names"),
};

/* --- texts ------------------------------------------------------------------------------------ */

/* Copies a text and a NUL into catalog.texts; the copy is never freed. Returns the copy; NULL if
 * the table is full. last: the vendor, unit or description of the previous counter, which is
 * returned instead of a copy if it is equal to the text; NULL: always copy. */
static const char *text_store(struct str s, const char *last)
{
	size_t n = str_len(s);
	char *p;

	if (last && str_is(s, last))
		return last;
	if (!table_has(&catalog_tables.texts, catalog.texts_used + n))
		return NULL;
	p = catalog.texts + catalog.texts_used;
	if (n)
		memcpy(p, s.p, n);
	/* the table is filled with zeros, so the byte after the text is its NUL */
	catalog.texts_used += n + 1;
	return p;
}

/* counter_describe is NULL if gpustat is built without the feature "counters": then no command
 * shows descriptions of counters. */
#pragma weak counter_describe

static const char *description_store(const struct counter_info *n, const char *last)
{
	char text[TEXT_BYTES];
	struct buf b = BUF(text);

	if (counter_describe)
		counter_describe(n, &b);
	return text_store((struct str){ text, text + b.n }, last);
}

/* --- the list --------------------------------------------------------------------------------- */

static u16 *bucket_of(struct str name)
{
	return &catalog.buckets[hash_more(HASH_BEGIN, name) % NAME_BUCKETS];
}

bool catalog_has(struct str vendor, struct str name)
{
	for (u32 i = *bucket_of(name); i; i = catalog.named[i - 1].next)
		if (str_is(name, catalog.named[i - 1].name) &&
		    str_is(vendor, catalog.named[i - 1].vendor))
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

	for (u32 k = *bucket_of(name); k; k = catalog.named[k - 1].next)
		if (str_is(name, catalog.named[k - 1].name) && (!found || k - 1 < *i)) {
			*i = k - 1;
			found = true;
		}
	return found;
}

const struct named *catalog_at(u32 i)
{
	return &catalog.named[i];
}

void catalog_add(u8 provider, u32 at, const struct counter_info *n)
{
	struct named *to, *last = nnamed ? &catalog.named[nnamed - 1] : NULL;
	u16 *bucket = bucket_of(n->name);

	if (catalog_has(n->vendor, n->name))
		return;
	if (!table_has(&catalog_tables.named, nnamed)) {
		registry.dropped++;
		return;
	}
	to = &catalog.named[nnamed];
	*to = (struct named){ .provider = provider, .at = at, .rule = n->rule,
			      .range = n->range,
			      .recommended = catalog.recommends,
			      .min = n->is_signed ? INT64_MIN : 0,
			      .max = n->max > INT64_MAX || n->max == 0 ? INT64_MAX : (i64)n->max };
	to->vendor = text_store(n->vendor, last ? last->vendor : NULL);
	to->name = text_store(n->name, NULL);
	to->unit = text_store(n->unit, last ? last->unit : NULL);
	to->what = description_store(n, last ? last->what : NULL);
	if (!to->vendor || !to->name || !to->unit || !to->what) {
		registry.dropped++;
		return;
	}
	to->next = *bucket;
	*bucket = (u16)++nnamed;
}

/* --- providers -------------------------------------------------------------------------------- */

#if HAS(counters) && !(HAS(oa) && HAS(gpuevents))
static void no_counters(void)
{
}

static const struct provider provider_none = { .find = { [FIND_ALL] = no_counters } };
#endif

static const struct provider *providers[] = {
	[PROVIDER_HOST] = &provider_host,
#if HAS(counters)
	[PROVIDER_GPU] = &provider_gpu, [PROVIDER_HWMON] = &provider_hwmon,
	[PROVIDER_EVENT] = &provider_event, [PROVIDER_FILE] = &provider_file,
#if HAS(oa)
	[PROVIDER_OA] = &provider_oa,
#else
	[PROVIDER_OA] = &provider_none,
#endif
#if HAS(gpuevents)
	[PROVIDER_V3D] = &provider_v3d, [PROVIDER_MSM] = &provider_msm,
#else
	[PROVIDER_V3D] = &provider_none, [PROVIDER_MSM] = &provider_none,
#endif
#endif
};

/* Returns the part of a pattern before its first wildcard character. */
static struct str literal_prefix(struct str word)
{
	struct str s = { word.p, word.p };

	while (s.e < word.e && *s.e != '*' && *s.e != '?')
		s.e++;
	return s;
}

/* Bits of provider_gpu and provider_oa in the result of catalog_providers_for(): both bits are set
 * or neither, because the two providers need each other. */
enum { GPUS = 1 << PROVIDER_GPU | 1 << PROVIDER_OA };

/* The returned mask always includes PROVIDER_FILE, because a file of counters (provider_file) may
 * contain counters with any name. */
u32 catalog_providers_for(struct str word)
{
	struct str head = literal_prefix(word);
	u32 mask = 1 << PROVIDER_FILE;
	bool native = false;

	for (size_t i = 0; i < LEN(providers); i++) {
		struct str prefix = providers[i]->prefix, rest = head;
		bool has_prefix = prefix.p && str_skip(&rest, prefix);

		native |= has_prefix;
		if (has_prefix || (prefix.p && head.e < word.e && str_skip(&prefix, head)))
			mask |= 1u << i;
	}
	if (!native)
		mask |= 1 << PROVIDER_HOST | 1 << PROVIDER_GPU;
	return mask & GPUS ? mask | GPUS : mask;
}

/* Raises the privileges of this process before functions of a provider are called that read files
 * of the kernel. For PROVIDER_FILE, which reads a folder that the user named, raises nothing.
 * Returns the state for privilege_lower(). */
static u8 provider_raise(size_t provider)
{
	return privilege_raise(provider == PROVIDER_FILE ? 0 : MAY_READ | MAY_PTRACE);
}

enum { STEPS = FINDS * LEN(providers) };

/* Adds counters to the list: those that one provider has for one step (FIND_*). step: FIND_* times
 * the number of providers, plus the number of the provider (PROVIDER_*). */
static void step_run(u32 step)
{
	u32 provider = step % LEN(providers);
	void (*find)(void) = providers[provider]->find[step / LEN(providers)];
	u8 was = provider_raise(provider);

	catalog.recommends = step / LEN(providers) < FIND_ALL;
	if (find)
		find();
	privilege_lower(was);
}

static bool has_roots(void)
{
	roots_open();
	return roots.proc >= 0 || roots.sys >= 0;
}

long catalog_refresh(u32 mask)
{
	if (!has_roots())
		return -EACCES;
	for (u32 i = 0; i < STEPS; i++)
		if (mask >> i % LEN(providers) & 1)
			step_run(i);
	catalog.step = STEPS;
	return 0;
}

long catalog_reach(u32 i)
{
	if (i < nnamed)
		return 0;
	if (!has_roots())
		return -EACCES;
	while (i >= nnamed && catalog.step < STEPS)
		step_run(catalog.step++);
	return i < nnamed ? 0 : -EINVAL;
}

/* --- from readings to values ------------------------------------------------------------------ */

static i64 clamp(u64 v)
{
	return v > INT64_MAX ? INT64_MAX : (i64)v;
}

/* Returns true if v is the first reading of the counter n since catalog_start() or the counter's
 * activation. Then v becomes the baseline of later readings, and the counter's value stays 0. */
static bool is_first(struct named *n, u64 v, u64 total, i64 t)
{
	bool first = !n->has_baseline;

	if (first) {
		n->has_baseline = true;
		n->was = v;
		n->total_was = total;
		n->t_was = t;
	}
	return first;
}

/* Returns whether no rate or percentage can be computed yet: v is the first reading of the counter,
 * or was read less than MIN_INTERVAL after the previous one. */
static bool too_early(struct named *n, u64 v, u64 total, i64 t)
{
	bool first = is_first(n, v, total, t);

	n->unmeasured |= first;
	return first || t - n->t_was < MIN_INTERVAL;
}

static void set_level(struct named *n, u64 v, u64 total, i64 t)
{
	(void)total;
	(void)t;
	n->value = n->min < 0 ? (i64)v : clamp(v);
	/* a counter whose value is -1 is reported as 0, because -1 means an unknown value in KHR
	 * (KD_UNKNOWN_COUNTER_VAL_KHR) */
	n->value += n->value == -1;
	n->known = true;
}

static void set_count(struct named *n, u64 v, u64 total, i64 t)
{
	u64 d;

	is_first(n, v, total, t);
	n->known = course_delta(CO_RESET, n->was, v, UINT64_MAX, &d) &&
		   d <= most_in(n->range, (u64)(t - n->t_was));
	n->t_was = t;
	if (n->known)
		n->value = clamp((u64)n->value + (d > INT64_MAX ? INT64_MAX : d));
	n->was = v;
}

static void set_rate(struct named *n, u64 v, u64 total, i64 t)
{
	u64 d;

	if (too_early(n, v, total, t))
		return;
	n->known = course_delta(CO_RESET, n->was, v, UINT64_MAX, &d);
	if (n->known)
		n->value = clamp(muldiv(d, 1000000000, (u64)(t - n->t_was)));
	n->was = v;
	n->t_was = t;
	n->unmeasured = false;
}

static void set_share(struct named *n, u64 v, u64 total, i64 t)
{
	u64 d, all = 0;
	bool known;

	if (too_early(n, v, total, t))
		return;
	known = course_delta(CO_RESET, n->was, v, UINT64_MAX, &d) &&
		course_delta(CO_RESET, n->total_was, total, UINT64_MAX, &all);
	/* While the denominator does not change, the percentage is undefined: the counter keeps its
	 * last value. */
	if (known && all == 0)
		return;
	n->known = known;
	if (known) {
		u64 twice = muldiv(d, 200, all);

		n->value = twice >= 200 ? 100 : (i64)((twice + 1) / 2);
	}
	n->was = v;
	n->total_was = total;
	n->t_was = t;
	n->unmeasured = false;
}

static void set_percent(struct named *n, u64 v, u64 total, i64 t)
{
	if (too_early(n, v, total, t))
		return;
	n->value = v >= FULL_PERCENT ? 100 : (i64)((v + 500) / 1000);
	n->known = true;
	n->t_was = t;
	n->unmeasured = false;
}

/* Returns the counter at the position `place` in the list of active counters. */
static struct named *active(u32 place)
{
	return &catalog.named[catalog.named[place].active_index];
}

static void counter_read(struct named *n, i64 t)
{
	static void (*const set[])(struct named *n, u64 v, u64 total, i64 t) = {
		[R_LEVEL] = set_level, [R_COUNT] = set_count, [R_RATE] = set_rate,
		[R_SHARE] = set_share, [R_PERCENT] = set_percent,
	};
	u64 v, total = 0;

	if (providers[n->provider]->read(n->at, &v, &total) < 0)
		n->known = false;
	else
		set[n->rule](n, v, total, t);
}

/* Takes one reading of each active counter from the position `place` in the list of active counters
 * on. due: true if providers must read new values even if the last reading is recent. */
static void read_from(u32 place, bool due)
{
	i64 t = sys_now(CLOCK_MONOTONIC);
	bool used[PROVIDERS] = { false };

	due |= t - catalog.last_reading >= MIN_INTERVAL;
	if (due)
		catalog.last_reading = t;
	for (u32 i = place; i < catalog.nactive; i++)
		used[active(i)->provider] = true;
	/* sample() must also be called for providers that read on behalf of others: counters of
	 * provider_gpu can have their values from provider_oa, provider_v3d or provider_msm, and
	 * sample() of provider_v3d also reads the events of provider_msm */
	used[PROVIDER_OA] |= used[PROVIDER_GPU];
	used[PROVIDER_V3D] |= used[PROVIDER_MSM] || used[PROVIDER_GPU];
	for (size_t i = 0; i < LEN(providers); i++)
		if (used[i] && providers[i]->sample) {
			u8 was = provider_raise(i);

			providers[i]->sample(due);
			privilege_lower(was);
		}
	for (u32 i = place; i < catalog.nactive; i++)
		counter_read(active(i), t);
}

/* Sets each active counter from the position `place` in the list of active counters on to 0, and
 * takes its first reading. */
static void start_from(u32 place)
{
	for (u32 i = place; i < catalog.nactive; i++) {
		struct named *n = active(i);

		n->value = 0;
		n->known = true;
		n->has_baseline = n->unmeasured = false;
	}
	if (place < catalog.nactive)
		read_from(place, true);
}

void catalog_start(void)
{
	catalog.sampling = true;
	start_from(0);
}

void catalog_stop(void)
{
	catalog_sample();
	catalog.sampling = false;
}

void catalog_sample(void)
{
	if (catalog.sampling && catalog.nactive)
		read_from(0, false);
}

/* --- activation ------------------------------------------------------------------------------- */

static bool is_refusal(long r)
{
	return r == -EACCES || r == -EPERM;
}

long catalog_activate(const u32 *is, size_t n)
{
	u32 had = catalog.nactive;

	for (size_t i = 0; i < n; i++) {
		struct named *c = &catalog.named[is[i]];
		u8 was;

		if (c->active)
			continue;
		c->active = true;
		c->known = false;
		c->place = catalog.nactive;
		catalog.named[catalog.nactive++].active_index = is[i];
		was = provider_raise(c->provider);
		c->refused = is_refusal(providers[c->provider]->open(c->at));
		privilege_lower(was);
		if (c->refused && !c->recommended) {
			while (catalog.nactive > had)
				catalog_deactivate(catalog.named[catalog.nactive - 1].active_index);
			return -EACCES;
		}
	}
	if (catalog.sampling)
		start_from(had);
	return 0;
}

const char *catalog_reason(u32 i)
{
	const struct named *c = &catalog.named[i];
	const struct provider *p = providers[c->provider];

	return (c->active || c->refused) && p->reason ? p->reason(c->at) : NULL;
}

void catalog_deactivate(u32 i)
{
	struct named *c = &catalog.named[i];

	if (!c->active)
		return;
	providers[c->provider]->close(c->at);
	c->active = c->known = false;
	catalog.named[c->place].active_index = catalog.named[--catalog.nactive].active_index;
	active(c->place)->place = c->place;
}
