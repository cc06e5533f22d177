/* oacounters.c - provider of the counters of Intel's OA units: oa/DEVICE/SET/COUNTER. A GPU has one
 * OA stream, which counts the metric set of the counter that was opened first. Counters of other
 * metric sets of the GPU are unknown; they can be opened when all counters of that set are closed.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/oa/oa.h"
#include "sources/catalog/catalog.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))

enum {
	/* maximum number of metric sets; the metric files of a GPU have some 60 */
	MAX_SETS_LISTED = 1024,
	MAX_OA_SLOTS = 8192,
	/* maximum number of Intel GPUs with an OA stream; each stream has 290 KiB, most of which
	 * are never used */
	MAX_STREAMS = 4,
	NAME_CAP = 256,
	/* time in ns between readings of OA streams, from which the interval of OA reports is
	 * derived */
	READ_INTERVAL = 100000000,
};

/* --- the list --------------------------------------------------------------------------------- */

/* A metric set, and the number of the GPU that has it. */
struct listed {
	u32 gpu;
	struct oaset set;
};

/* A counter of an OA metric set. The provider identifies the counter by its index in
 * oalist.slots[]. If choices is not NULL, the counter is the first one in this list of names that a
 * metric set of the GPU has. */
struct oaslot {
	u32 gpu, set;
	struct str name;
	/* names of OA counters separated by blanks, from which one is chosen when the counter is
	 * opened; or NULL */
	const char *choices;
	u32 opened;
	/* true if opening the counter succeeded: the counter is one of those that keep the GPU's OA
	 * stream open */
	bool uses_stream;
	bool known;
	/* value of the counter at the last reading; with the rule R_COUNT, the sum of all increases
	 * since the counter was opened */
	u64 value;
};

/* The OA stream of a GPU, with the equations of its metric set. */
struct stream {
	/* number of open counters that use the stream; 0: this element of streams[] is unused */
	u32 opened;
	u32 gpu, set;
	struct oalive live;
	struct oaprog prog;
	struct oaplan plan;
	u64 sum[OA_SLOTS];
	/* result of oa_longest(): longest time between two reports, in timestamp ticks, at which
	 * their difference is known */
	u64 longest;
	bool has_last;
	char last[OA_REPORT_BYTES];
	u64 deltas;
};

static struct {
	struct listed *sets;
	u32 nsets;
	bool seen[MAX_DEVICES]; /* seen[i]: true if the metric sets of GPU number i were listed */
	struct oaslot *slots;
	u32 nslots;
	struct stream *streams; /* number of elements: oalist_tables.streams.ready */
	/* reason why the kernel denied access when an OA stream was last opened, and the remedy; ""
	 * if access was not denied */
	char refusal[192];
} oalist;
static struct {
	struct table sets, slots, streams;
} oalist_tables = {
	.sets = TABLE_ROW(oalist.sets, MAX_SETS_LISTED, 34, "OA metric sets"),
	.slots = TABLE_ROW(oalist.slots, MAX_OA_SLOTS, 85, "OA counters"),
	.streams = TABLE_ROW(oalist.streams, MAX_STREAMS, 1, "OA streams"),
};

u32 oa_slot(u32 gpu, const char *counters)
{
	for (u32 i = 0; i < oalist.nslots; i++)
		if (oalist.slots[i].choices == counters && oalist.slots[i].gpu == gpu)
			return i;
	if (!table_has(&oalist_tables.slots, oalist.nslots))
		return MAX_OA_SLOTS;
	oalist.slots[oalist.nslots] = (struct oaslot){ .gpu = gpu, .choices = counters };
	return oalist.nslots++;
}

static u8 rule_of(struct str unit)
{
	return str_is(unit, "percent") ? R_PERCENT : str_is(unit, "hz") ? R_LEVEL : R_COUNT;
}

/* Adds the OA counter c of a device to the list of counters, with the name oa/DEVICE/SET/COUNTER.
 * set: index of the counter's metric set in oalist.sets[]. */
static void list_counter(const struct device *d, u32 set, const struct oadef *c)
{
	char name[NAME_CAP];
	struct buf b = BUF(name);
	struct counter_info n = { .vendor = str_z(d->driver),
				  .what = S("counter of an OA metric set"), .unit = c->units,
				  .rule = rule_of(c->units), .max = UINT64_MAX };

	put_z(&b, "oa/");
	put_text(&b, str_z(d->dev));
	put_c(&b, '/');
	put_text(&b, oalist.sets[set].set.name);
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
	if (!table_has(&oalist_tables.slots, oalist.nslots)) {
		registry.dropped++;
		return;
	}
	oalist.slots[oalist.nslots] = (struct oaslot){
		.gpu = oalist.sets[set].gpu, .set = set, .name = c->name
	};
	catalog_add(PROVIDER_OA, oalist.nslots++, &n);
}

static void list_file(const struct oafile *f, u32 gpu, const struct device *d,
		      const struct oaplatform *p)
{
	struct oaset s;
	struct str at = { 0 };

	while (oaset_next(f, &at, &s)) {
		struct oadef c;
		struct str in = { 0 };

		if (!oaset_fits(&s, p))
			continue;
		if (!table_has(&oalist_tables.sets, oalist.nsets)) {
			registry.dropped++;
			return;
		}
		oalist.sets[oalist.nsets] = (struct listed){ gpu, s };
		while (oadef_next(&s, &in, &c))
			list_counter(d, oalist.nsets, &c);
		oalist.nsets++;
	}
}

/* Stores the PCI device id of a GPU, from /sys, in *id. Returns false if it is unknown. The GPU's
 * device node is not opened, because that may wake the device. */
static bool pci_id(const struct device *d, u64 *id)
{
	char path[96], b[64];
	struct buf to = buf_on(path, sizeof(path) - 1);
	struct str line;

	put_z(&to, "class/drm/card");
	put_u64(&to, (u64)d->card);
	put_z(&to, "/device/device");
	path[to.n] = '\0';
	return slurp_line(roots.sys, path, b, sizeof(b), &line) &&
	       /* e.g. the line 0x9a49 */
	       scan_num(line, id) == line.e && *id <= UINT16_MAX;
}

static const struct oaplatform *platform_of(const struct device *d)
{
	static struct oalive asked;
	const struct oaplatform *p = NULL;
	bool known;
	u64 id;

	if (d->card < 0 || (strcmp(d->driver, "i915") != 0 && strcmp(d->driver, "xe") != 0))
		return NULL;
	known = pci_id(d, &id);
	if (known)
		p = oaplatform_by_pci((u32)id);
	/* If no known hardware platform has the GPU's PCI id, the driver xe is asked for the GPU's
	 * hardware version. */
	if (p || !d->awake || (known && strcmp(d->driver, "xe") != 0))
		return p;
	/* use the platform that oa_attach() has found, even if oa_attach() fails */
	oa_attach(&asked, (u32)(d - devices));
	oa_stop(&asked);
	return asked.dev.platform;
}

/* Adds the counters of all metric sets of each GPU to the list of counters, once for each GPU. */
static void list_sets(void)
{
	for (u32 gpu = 0; gpu < MAX_DEVICES; gpu++) {
		const struct device *d = oalist.seen[gpu] ? NULL : gpu_device(gpu);
		const struct oaplatform *p = d ? platform_of(d) : NULL;

		oalist.seen[gpu] |= d != NULL;
		if (p) {
			list_file(&oapack, gpu, d, p);
			list_file(&oabasic, gpu, d, p);
		}
	}
}

/* --- streams ---------------------------------------------------------------------------------- */

static struct stream *stream_of(u32 gpu)
{
	for (u32 i = 0; i < oalist_tables.streams.ready; i++)
		if (oalist.streams[i].opened && oalist.streams[i].gpu == gpu)
			return &oalist.streams[i];
	return NULL;
}

/* Opens the OA stream of a GPU for a metric set (index in oalist.sets[]). Returns 0 or -errno. */
static long stream_begin(struct stream *s, u32 gpu, u32 set)
{
	const struct oaprops props = { .interval = READ_INTERVAL };
	const struct device *d = gpu_device(gpu);
	struct buf why = { .cap = 0 };
	long r = d ? oa_attach(&s->live, (u32)(d - devices)) : -ENODEV;

	if (!d)
		return r;
	if (r == 0 && !oaprog_compile(&s->prog, &oalist.sets[set].set, &s->live.dev, &why))
		r = -EINVAL;
	if (r == 0)
		r = oa_start(&s->live, &oalist.sets[set].set, &props);
	if (r < 0) {
		struct buf b = BUF_Z(oalist.refusal);

		if (r == -EACCES && s->live.what) {
			put_z(&b, s->live.what);
			put_z(&b, s->live.remedy ? "; " : "");
			put_z(&b, s->live.remedy ? s->live.remedy : "");
		}
		buf_z(&b);
		oa_stop(&s->live);
		return r;
	}
	oaplan_make(&s->plan, s->live.format, s->prog.slots);
	s->longest = oa_longest(s->live.format, s->live.dev.var[OV_TS_HZ], s->live.max_hz);
	s->gpu = gpu;
	s->set = set;
	s->has_last = false;
	return 0;
}

/* Adds the difference between a report and the report before it to the sums of a stream. A
 * difference that is unknown is left out. body: the bytes of the report. */
static void report_add(struct stream *s, struct str body)
{
	u8 step;

	if (str_len(body) < s->plan.bytes || s->plan.bytes > sizeof(s->last)) {
		s->has_last = false;
		return;
	}
	step = oa_step(s->live.format, s->has_last ? s->last : NULL, body.p, s->longest);
	if (step == STEP_UNWRITTEN || step == STEP_BACKWARD) {
		s->has_last = false;
		return;
	}
	if (s->has_last && step == STEP_KNOWN) {
		oa_add(&s->plan, s->last, body.p, s->sum);
		s->deltas++;
	}
	memcpy(s->last, body.p, s->plan.bytes);
	s->has_last = true;
}

/* Reads the reports that are in the OA buffer now, at most as many as the buffer can hold, and sums
 * up the differences of the raw counters in s->sum. Returns false if the stream has failed. */
static bool stream_read(struct stream *s)
{
	u64 nread = 0;
	long n = 0;

	memset(s->sum, 0, sizeof(s->sum));
	s->deltas = 0;
	for (; nread < s->live.buffer &&
	     (n = oa_read(&s->live, oa_bytes, oa_bytes_table.ready)) > 0; nread += (u64)n) {
		struct str rest = str_of(oa_bytes, (size_t)n);
		struct oarec r;

		while (oarec_next(&rest, false, &r) && r.type != OT_CORRUPT) {
			if (r.type == OT_BUFFER_LOST)
				/* the difference between the last report before the loss and the
				 * next report is unknown */
				s->has_last = false;
			else if (r.type == OT_SAMPLE)
				report_add(s, r.body);
		}
	}
	return n >= 0;
}

/* --- readings --------------------------------------------------------------------------------- */

/* Returns the index of a counter in the compiled equations of the stream's metric set; s->prog.n if
 * the set does not have the counter. */
static u32 program_index(const struct stream *s, const struct oaslot *at)
{
	u32 i = 0;

	while (i < s->prog.n && !str_eq(s->prog.counters[i].name, at->name))
		i++;
	return i;
}

/* Converts the value of an OA counter to a whole number, and percentages to 1/1000 %. Returns false
 * if the value is negative or not a number. */
static bool to_whole(const struct oacounter *c, union oaval v, u64 *n)
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

/* Computes the equations of the stream's metric set from s->sum, and updates the values of the open
 * counters of the set. */
static void values_update(struct stream *s)
{
	static union oaval values[MAX_OA_COUNTERS];

	oaprog_eval(&s->prog, s->sum, values);
	for (u32 i = 0; i < oalist.nslots; i++) {
		struct oaslot *at = &oalist.slots[i];
		u32 c = at->opened && at->gpu == s->gpu && at->set == s->set ?
			program_index(s, at) : s->prog.n;
		u64 n = 0;

		if (c == s->prog.n)
			continue;
		at->known = !s->prog.counters[c].unknown &&
			    to_whole(&s->prog.counters[c], values[c], &n);
		if (at->known)
			at->value = rule_of(s->prog.counters[c].units) == R_COUNT ?
				    at->value + n : n;
	}
}

static void values_forget(u32 gpu)
{
	for (u32 i = 0; i < oalist.nslots; i++)
		if (oalist.slots[i].gpu == gpu)
			oalist.slots[i].known = false;
}

/* Takes a reading of all OA streams. If no report came since the previous reading, the values of
 * counters do not change; the next report includes the counts since then. */
static void streams_sample(bool due)
{
	for (u32 i = 0; i < oalist_tables.streams.ready && due; i++) {
		struct stream *s = &oalist.streams[i];

		if (!s->opened)
			continue;
		if (!stream_read(s))
			values_forget(s->gpu);
		if (s->deltas)
			values_update(s);
	}
}

static long slot_read(u32 at, u64 *v, u64 *total)
{
	(void)total;
	if (at >= oalist.nslots || !oalist.slots[at].known)
		return -ENOENT;
	*v = oalist.slots[at].value;
	return 0;
}

/* --- open ------------------------------------------------------------------------------------- */

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

/* Sets at->name to the first of the names at->choices that a metric set of the GPU has, and at->set
 * to this metric set. If several sets have the name, prefers the set that the GPU's stream counts
 * already. Returns false if no set has any of the names. */
static bool choice_find(struct oaslot *at)
{
	const struct stream *s = stream_of(at->gpu);
	struct str names = str_z(at->choices), name;
	bool found = false;

	while (!found && str_word(&names, &name))
		for (u32 i = 0; i < oalist.nsets; i++)
			if (oalist.sets[i].gpu == at->gpu && (!found || (s && s->set == i)) &&
			    set_has(&oalist.sets[i].set, name, &at->name)) {
				at->set = i;
				found = true;
			}
	return found;
}

static long slot_open(u32 at)
{
	struct oaslot *c;
	struct stream *s;
	long r;

	if (at >= oalist.nslots)
		return -ENOENT;
	c = &oalist.slots[at];
	if (c->opened++)
		return 0;
	c->known = false;
	c->value = 0;
	if (c->choices && !choice_find(c)) {
		c->set = MAX_SETS_LISTED;
		return -ENOENT;
	}
	s = stream_of(c->gpu);
	if (s && s->set != c->set)
		return -EBUSY;
	if (!s) {
		u32 i = 0;

		while (i < oalist_tables.streams.ready && oalist.streams[i].opened)
			i++;
		if (!table_has(&oalist_tables.streams, i))
			return -ENOSPC;
		s = &oalist.streams[i];
		r = stream_begin(s, c->gpu, c->set);
		if (r < 0)
			return r;
	}
	s->opened++;
	c->uses_stream = true;
	/* known from now on if the metric set has the counter: the value is 0 until the first OA
	 * reports come */
	c->known = program_index(s, c) < s->prog.n;
	return 0;
}

static void slot_close(u32 at)
{
	struct oaslot *c;
	struct stream *s;

	if (at >= oalist.nslots || --oalist.slots[at].opened)
		return;
	c = &oalist.slots[at];
	c->known = false;
	if (!c->uses_stream)
		return;
	c->uses_stream = false;
	s = stream_of(c->gpu);
	if (!s || --s->opened)
		return;
	oa_stop(&s->live);
	values_forget(s->gpu);
}

/* Returns the reason why the kernel denied access to an OA stream at the last attempt to open one,
 * if this counter could not be opened; NULL if access was not denied. */
static const char *slot_reason(u32 at)
{
	const struct oaslot *c = at < oalist.nslots ? &oalist.slots[at] : NULL;

	return c && !c->uses_stream && oalist.refusal[0] ? oalist.refusal : NULL;
}

const struct provider provider_oa = {
	.prefix = STR("oa/"), .find = { [FIND_ALL] = list_sets },
	.open = slot_open, .close = slot_close, .sample = streams_sample, .read = slot_read,
	.reason = slot_reason,
};
