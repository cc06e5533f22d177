/* oacounters.c - of the catalogue: counters of Intel's OA units. A GPU has one stream, of the metric set whose counter was the
 * first to become active: those of its other sets are unknown until that one's are inactive, and they are opened again.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum {
	MAX_SETS_LISTED = 1024, /* metric files have some 60 */
	MAX_OA_SLOTS = 8192,
	MAX_STREAMS = 4,        /* GPUs of Intel's in one machine: one of them takes 290 KiB, most of it never touched */
	NAME_CAP = 256,
	USUAL = 100000000,      /* ns between two readings, by which reports are spaced */
};

/* --- what there is ------------------------------------------------------------------------------------------ */

static struct listed {
	u32 gpu;
	struct oaset set;
} *sets;
static TABLE(sets, MAX_SETS_LISTED, 34, "OA metric sets");
static u32 nsets;

/* A counter of a set; or, with wish, the first of several that some set of the GPU has. */
static struct oaslot {
	u32 gpu, set;
	struct str name;
	const char *wish; /* names separated by blanks, or NULL */
	u32 opened;
	bool holds;       /* a stream, which runs until nobody does */
	bool known;
	u64 value;        /* of R_COUNT, since it was opened */
} *slots;
static TABLE(slots, MAX_OA_SLOTS, 85, "OA counters");
static u32 nslots;

u32 oa_slot(u32 gpu, const char *counters)
{
	for (u32 i = 0; i < nslots; i++)
		if (slots[i].wish == counters && slots[i].gpu == gpu)
			return i;
	if (!table_has(&slots_table, nslots))
		return MAX_OA_SLOTS;
	slots[nslots] = (struct oaslot){ .gpu = gpu, .wish = counters };
	return nslots++;
}

static u8 rule_of(struct str unit)
{
	return str_is(unit, "percent") ? R_PERCENT : str_is(unit, "hz") ? R_LEVEL : R_COUNT;
}

/* oa/DEVICE/SET/COUNTER */
static void list_counter(const struct device *d, u32 set, const struct oadef *c)
{
	char name[NAME_CAP];
	struct buf b = BUF(name);
	struct naming n = { .vendor = str_z(d->driver), .what = S("counter of an OA metric set"), .unit = c->units,
			    .rule = rule_of(c->units), .max = UINT64_MAX };

	put_z(&b, "oa/");
	put_text(&b, str_z(d->dev));
	put_c(&b, '/');
	put_text(&b, sets[set].set.name);
	put_c(&b, '/');
	put_text(&b, c->name);
	n.name = (struct str){ name, name + b.n };
	if (n.rule == R_PERCENT) {
		n.unit = S("%");
		n.max = 100;
	} else if (n.rule == R_LEVEL) {
		n.unit = S("Hz");
	}
	if (catalog_has(n.vendor, n.name))
		return;
	if (!table_has(&slots_table, nslots)) {
		reg_dropped++;
		return;
	}
	slots[nslots] = (struct oaslot){ .gpu = sets[set].gpu, .set = set, .name = c->name };
	catalog_add(SUP_OA, nslots++, &n);
}

static void list_file(const struct oafile *f, u32 gpu, const struct device *d, const struct oaplatform *p)
{
	struct oaset s;
	struct str at = { 0 };

	while (oaset_next(f, &at, &s)) {
		struct oadef c;
		struct str in = { 0 };

		if (!oaset_fits(&s, p))
			continue;
		if (!table_has(&sets_table, nsets)) {
			reg_dropped++;
			return;
		}
		sets[nsets] = (struct listed){ gpu, s };
		while (oadef_next(&s, &in, &c))
			list_counter(d, nsets, &c);
		nsets++;
	}
}

/* What /sys says, since opening its node may wake it. */
static bool pci_id(const struct device *d, u64 *id)
{
	char path[96], b[64];
	struct buf to = buf_on(path, sizeof(path) - 1);
	struct str line;

	put_z(&to, "class/drm/card");
	put_u64(&to, (u64)d->card);
	put_z(&to, "/device/device");
	path[to.n] = '\0';
	return slurp_line(root_sys, path, b, sizeof(b), &line) && scan_num(line, id) == line.e && *id <= UINT16_MAX; /* 0x9a49 */
}

static const struct oaplatform *platform_of(const struct device *d)
{
	static struct oalive asked;
	u64 id;

	if (d->card < 0 || (strcmp(d->driver, "i915") != 0 && strcmp(d->driver, "xe") != 0))
		return NULL;
	if (pci_id(d, &id))
		return oaplatform_of((u32)id);
	if (!d->awake)
		return NULL;
	oa_attach(&asked, (u32)(d - devices)); /* what it is may be known even where it has no OA */
	oa_stop(&asked);
	return asked.dev.platform;
}

/* Once for each GPU. */
static void list_sets(void)
{
	static bool seen[MAX_DEVICES];

	for (u32 gpu = 0; gpu < MAX_DEVICES; gpu++) {
		const struct device *d = seen[gpu] ? NULL : gpu_device(gpu);
		const struct oaplatform *p = d ? platform_of(d) : NULL;

		seen[gpu] |= d != NULL;
		for (size_t i = 0; p && i < noapacks; i++)
			list_file(&oapacks[i], gpu, d, p);
		if (p)
			list_file(&oabasic, gpu, d, p);
	}
}

/* --- streams ------------------------------------------------------------------------------------------------- */

static struct stream {
	u32 opened; /* counters; 0: there is none */
	u32 gpu, set;
	struct oalive live;
	struct oaprog prog;
	struct oaplan plan;
	u64 sum[OA_SLOTS];
	bool has_last;
	char last[OA_REPORT_BYTES];
	u64 deltas;
} *streams;
static TABLE(streams, MAX_STREAMS, 1, "OA streams");

static struct stream *stream_of(u32 gpu)
{
	for (u32 i = 0; i < streams_table.ready; i++)
		if (streams[i].opened && streams[i].gpu == gpu)
			return &streams[i];
	return NULL;
}

static long stream_begin(struct stream *s, u32 gpu, u32 set)
{
	const struct oaprops props = { .interval = USUAL };
	const struct device *d = gpu_device(gpu);
	struct buf why = { .cap = 0 };
	long r = d ? oa_attach(&s->live, (u32)(d - devices)) : -ENODEV;

	if (!d)
		return r;
	if (r == 0 && !oaprog_make(&s->prog, &sets[set].set, &s->live.dev, &why))
		r = -EINVAL;
	if (r == 0)
		r = oa_start(&s->live, &sets[set].set, &props);
	if (r < 0) {
		oa_stop(&s->live);
		return r;
	}
	oaplan_make(&s->plan, s->live.format, s->prog.slots);
	s->gpu = gpu;
	s->set = set;
	s->has_last = false;
	return 0;
}

static void take_report(struct stream *s, struct str body)
{
	if (str_len(body) < s->plan.bytes || s->plan.bytes > sizeof(s->last)) {
		s->has_last = false;
		return;
	}
	if (s->has_last) {
		oa_add(&s->plan, s->last, body.p, s->sum);
		s->deltas++;
	}
	memcpy(s->last, body.p, s->plan.bytes);
	s->has_last = true;
}

/* What is there now, but no more than the OA buffer has room for. False: the stream has failed. */
static bool drain(struct stream *s)
{
	u64 taken = 0;
	long n = 0;

	memset(s->sum, 0, sizeof(s->sum));
	s->deltas = 0;
	for (; taken < s->live.buffer && (n = oa_read(&s->live, oa_bytes, oa_bytes_table.ready)) > 0; taken += (u64)n) {
		struct str rest = str_of(oa_bytes, (size_t)n);
		struct oarec r;

		while (oarec_next(&rest, false, &r) && r.type != OT_CORRUPT) {
			if (r.type == OT_BUFFER_LOST)
				s->has_last = false; /* across it nobody knows what was counted */
			else if (r.type == OT_SAMPLE)
				take_report(s, r.body);
		}
	}
	return n >= 0;
}

/* --- readings -------------------------------------------------------------------------------------------------- */

static u32 counter_of(const struct stream *s, const struct oaslot *at)
{
	u32 i = 0;

	while (i < s->prog.n && !str_eq(s->prog.counters[i].name, at->name))
		i++;
	return i;
}

/* Whole numbers: percent in thousandths. What is no number, or below zero, is unknown. */
static bool whole(const struct oacounter *c, union oaval v, u64 *n)
{
	double times = rule_of(c->units) == R_PERCENT ? 1000 : 1;

	if (!c->is_float) {
		*n = v.u > UINT64_MAX / (u64)times ? UINT64_MAX : v.u * (u64)times;
		return true;
	}
	if (!(v.f >= 0 && v.f * times < 1e18))
		return false;
	*n = (u64)(v.f * times + 0.5);
	return true;
}

static void share_out(struct stream *s)
{
	static union oaval values[MAX_OA_COUNTERS];

	oaprog_eval(&s->prog, s->sum, values);
	for (u32 i = 0; i < nslots; i++) {
		struct oaslot *at = &slots[i];
		u32 c = at->opened && at->gpu == s->gpu && at->set == s->set ? counter_of(s, at) : s->prog.n;
		u64 n;

		if (c == s->prog.n)
			continue;
		at->known = whole(&s->prog.counters[c], values[c], &n);
		if (at->known)
			at->value = rule_of(s->prog.counters[c].units) == R_COUNT ? at->value + n : n;
	}
}

static void forget(u32 gpu)
{
	for (u32 i = 0; i < nslots; i++)
		if (slots[i].gpu == gpu)
			slots[i].known = false;
}

/* Without a report since the reading before, what was stays: counts go on with the next one. */
static void sample_streams(bool anew)
{
	for (u32 i = 0; i < streams_table.ready && anew; i++) {
		struct stream *s = &streams[i];

		if (!s->opened)
			continue;
		if (!drain(s))
			forget(s->gpu);
		if (s->deltas)
			share_out(s);
	}
}

static long read_counter(u32 at, u64 *v, u64 *of)
{
	(void)of;
	if (at >= nslots || !slots[at].known)
		return -ENOENT;
	*v = slots[at].value;
	return 0;
}

/* --- open ---------------------------------------------------------------------------------------------------------- */

static bool set_has(const struct oaset *s, struct str name, struct str *found)
{
	struct oadef c;
	struct str at = { 0 };

	while (oadef_next(s, &at, &c))
		if (str_eq(c.name, name)) {
			*found = c.name;
			return true;
		}
	return false;
}

/* The first name that some set has; if that set runs already, so much the better. */
static bool find_wish(struct oaslot *at)
{
	const struct stream *s = stream_of(at->gpu);
	struct str names = str_z(at->wish), name;
	bool found = false;

	while (!found && str_word(&names, &name))
		for (u32 i = 0; i < nsets; i++)
			if (sets[i].gpu == at->gpu && (!found || (s && s->set == i)) && set_has(&sets[i].set, name, &at->name)) {
				at->set = i;
				found = true;
			}
	return found;
}

static long open_counter(u32 at)
{
	struct oaslot *c;
	struct stream *s;
	long r;

	if (at >= nslots)
		return -ENOENT;
	c = &slots[at];
	if (c->opened++)
		return 0;
	c->known = false;
	c->value = 0;
	if (c->wish && !find_wish(c)) {
		c->set = MAX_SETS_LISTED;
		return -ENOENT;
	}
	s = stream_of(c->gpu);
	if (s && s->set != c->set)
		return -EBUSY;
	if (!s) {
		u32 i = 0;

		while (i < streams_table.ready && streams[i].opened)
			i++;
		if (!table_has(&streams_table, i))
			return -ENOSPC;
		s = &streams[i];
		r = stream_begin(s, c->gpu, c->set);
		if (r < 0)
			return r;
	}
	s->opened++;
	c->holds = true;
	c->known = counter_of(s, c) < s->prog.n; /* 0 until the first reports */
	return 0;
}

static void close_counter(u32 at)
{
	struct oaslot *c;
	struct stream *s;

	if (at >= nslots || --slots[at].opened)
		return;
	c = &slots[at];
	c->known = false;
	if (!c->holds)
		return;
	c->holds = false;
	s = stream_of(c->gpu);
	if (!s || --s->opened)
		return;
	oa_stop(&s->live);
	forget(s->gpu);
}

const struct supplier sup_oa = {
	.prefix = STR("oa/"), .list = list_sets,
	.open = open_counter, .close = close_counter, .sample = sample_streams, .read = read_counter,
};
