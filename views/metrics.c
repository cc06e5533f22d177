/* metrics.c - formats for time series databases: prom, openmetrics, influx, graphite, statsd,
 * collectd; and kmsg, the line of the kernel log. Names are derived from columns[]. It makes no
 * system calls except for memory, and keeps state of the current sample.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "views/views.h"
#include "sources/os/os.h"

/* --- names of metrics ------------------------------------------------------------------------- */

/* Names of each unit (enum unit) for time series databases. name: the base unit that prometheus.io
 * recommends, such as "seconds"; the name of a metric ends with it, or with it and "_total". */
static const struct base {
	const char *name;
	/* suffix of the field's name that is left out of the metric's name, such as "ns" of
	 * busy_ns; NULL if there is none */
	const char *own;
	/* number of decimal places to add when a value is converted to the base unit: 9 for ns to
	 * seconds */
	u8 shift;
	/* type in collectd's types.db for values that are not converted to the base unit; NULL if
	 * there is none */
	const char *type;
} bases[UNITS] = {
	[U_PERCENT] = { "ratio", "percent", 2, "percent" },
	[U_SHARE] = { "ratio", NULL, 2, "percent" },
	[U_BYTES] = { "bytes", NULL, 0, "memory" },
	[U_HZ] = { "hertz", NULL, 0, "frequency" },
	[U_NS] = { "seconds", "ns", 9, NULL },
	[U_CELSIUS] = { "celsius", NULL, 0, "temperature" },
	[U_WATT] = { "watts", NULL, 0, "power" },
	[U_JOULE] = { "joules", NULL, 0, "energy" },
	[U_VOLT] = { "volts", NULL, 0, "voltage" },
	[U_AMPERE] = { "amperes", NULL, 0, "current" },
	[U_RPM] = { "rpm", NULL, 0, "fanspeed" },
	[U_GTS] = { "transfers_per_second", NULL, 0, NULL },
	[U_SECONDS] = { "seconds", NULL, 0, NULL },         [U_MS] = { "seconds", NULL, 0, NULL },
	[U_NANO] = { "seconds", NULL, 0, NULL },
};

/* Names of the labels for the instance of a group (such as an engine) or an item of a list. Groups
 * that are not in this table have the label "sensor". */
static const struct {
	const char *group, *label;
} instances[] = {
	{ "engine", "engine" }, { "memory", "region" }, { "freq", "domain" },
	{ "counter", "counter" }, { "group", "counter" },
	{ "throttle", "reason" }, { "nodes", "node" }, { "pids", "holder" },
	{ "callchain", "frame" },
	{ "facts", "key" }, { "missing", "key" }, { "other", "key" },
};

static struct str instance_label(const struct column *c)
{
	for (size_t i = 0; i < LEN(instances); i++)
		if (strcmp(instances[i].group, c->group) == 0)
			return str_z(instances[i].label);
	return (struct str)STR("sensor");
}

/* Appends a word of n bytes to the name of a metric, which begins at offset `from` of b. Writes '_'
 * before the word if it is not the first word of the name. */
static void put_part(struct buf *b, size_t from, const char *z, size_t n)
{
	if (n == 0)
		return;
	if (b->n > from)
		put_c(b, '_');
	put_n(b, z, n);
}

static void put_word(struct buf *b, size_t from, const char *z)
{
	put_part(b, from, z, z ? strlen(z) : 0);
}

/* Writes the end of a metric's name for a column: the member of the column without the suffix of
 * its unit, then the base unit, then "total" if the column is a total (W_TOTAL). */
static void format_suffix(struct buf *b, const struct column *c)
{
	const struct base *base = &bases[c->unit];
	size_t n = c->member ? strlen(c->member) : 0, own = base->own ? strlen(base->own) : 0;

	if (own && n >= own && memcmp(c->member + n - own, base->own, own) == 0)
		n -= own;
	n -= n && c->member[n - 1] == '_';
	put_part(b, 0, c->member, n);
	if (c->member && strcmp(c->member, "count") == 0)
		/* a member "count" becomes "counted" in the metric's name, because OpenMetrics
		 * reserves the suffix _count for histograms */
		put_z(b, "ed");
	put_word(b, 0, base->name);
	put_word(b, 0, c->when & W_TOTAL ? "total" : NULL);
}

/* Appends the end of a metric's name (see format_suffix()) to the name that begins at offset `from`
 * of b. The end is formatted only once for each column. */
static void put_suffix(struct buf *b, size_t from, const struct column *c)
{
	static struct suffix {
		u8 n;
		bool ready;
		/* the end of a metric's name; the longest one, max_speed_transfers_per_second, has
		 * 30 bytes */
		char text[46];
	} suffixes[256];
	struct suffix *r = &suffixes[c - columns];
	struct buf text = { .p = r->text, .cap = sizeof(r->text) };

	if (!r->ready) {
		format_suffix(&text, c);
		r->n = (u8)text.n;
		r->ready = true;
	}
	put_part(b, from, r->text, r->n);
}

/* Returns the part `word` of a metric's name, or "value" if it is "counter": promtool reports a
 * name that contains a type of metrics, such as counter. */
static const char *avoid_type(const char *word)
{
	return word && strcmp(word, "counter") == 0 ? "value" : word;
}

static void put_family(struct buf *b, u8 kind, const struct column *c)
{
	size_t from = b->n;

	put_z(b, "gpustat");
	if (kind != K_DEVICE && kind != K_COUNTER && kind != K_COUNTERS)
		put_word(b, from, kind_names[kind]);
	put_word(b, from, avoid_type(c->group));
	put_suffix(b, from, c);
}

/* --- text and numbers ------------------------------------------------------------------------- */

/* Writes a text that may contain any bytes: control characters and invalid UTF-8 become '?', and
 * characters in `specials` get a backslash before them. */
static void put_escaped(struct buf *b, struct str s, const char *specials)
{
	const u8 where = *specials == ',' ? CLEAN_TAG : CLEAN_STRING;

	for (size_t n; s.p < s.e; s.p += n) {
		n = clean_len(s, where);
		if (!n) {
			n = utf8_len(s.p, s.e);
			if (n && !is_control(s.p, n) && strchr(specials, *s.p))
				put_c(b, '\\');
		}
		if (n && !is_control(s.p, n))
			put_n(b, s.p, n);
		else
			put_c(b, '?');
		n = n ? n : 1;
	}
}

/* Writes a value, converted to the base unit of its unit (bases[]), such as ns to seconds. */
static void put_value(struct buf *b, const struct val *v)
{
	if (v->type != V_INT) {
		put_number(b, v);
		return;
	}
	if (v->neg)
		put_c(b, '-');
	if (v->unit != U_GTS) {
		put_dec(b, v->n, (u8)(units[v->unit].point + v->point + bases[v->unit].shift), 1);
		return;
	}
	/* v->n is in 10^8 transfers/s: it is multiplied by appending eight zeros, because statsd
	 * cannot read exponents */
	put_u64(b, v->n);
	put_z(b, v->n ? "00000000" : "");
}

/* --- choice of the fields and labels of a record that are written ----------------------------- */

enum { MAX_LABELS = 16 };

struct label {
	struct str name, value;
};

/* Returns whether the field becomes a metric: -f selects it, or without -f it is shown by default;
 * it is not a label, not about the record itself (W_META), and not the placeholder of an empty
 * group. Its value may be unknown. */
static bool is_wanted(const struct out *o, const struct field *f)
{
	return !f->empty && !(f->col->when & (W_LABEL | W_META)) &&
	       (o->npatterns ? out_selects(o, f) : !(f->col->when & W_EXPLICIT));
}

static bool is_shown(const struct out *o, const struct field *f)
{
	return f->v.type != V_NULL && is_wanted(o, f);
}

enum {
	/* maximum number of series in a sample: 50 for each of 10 000 clients; a client of amdgpu
	 * has 40 */
	MAX_SERIES = 1 << 19,
	/* maximum size in bytes of the texts of all series: 96 bytes per series, because the labels
	 * of a record are stored once for all its series */
	SERIES_TEXT = 48 << 20,
	MIN_BUCKETS = 1 << 10,
	ROOM = 16 << 10, /* bytes reserved for the names, paths and numbers of one field */
	VALUE = 512, /* bytes reserved for a value: a double has up to 309 digits before '.' */
	/* number of elements of expo.families[]: up to 256 columns of the schema, then F_INFO
	 * (texts of the records) and F_SAMPLES (number of perf samples) */
	FAMILIES = 256 + 2,
	F_INFO = 256, F_SAMPLES,
};

struct series {
	/* next: index in expo.series of the next series of the same metric family; hash: hash of
	 * the family and the labels; chain: index of the next series in the same hash bucket; 0:
	 * none */
	u32 next, hash, chain;
	/* base, base_n: offset and length in expo.texts of the labels of the record; inst, inst_n:
	 * those of the labels of the instance */
	u32 base, base_n, inst, inst_n;
	u32 value, value_n;             /* offset and length of the value in expo.texts */
	u16 family;
	/* sum of the values of all perf samples with the same labels; the series has this value if
	 * it has no value as text (value_n is 0) */
	u64 sum;
};

struct span {
	u32 at, n, hash; /* offset, length and hash of a part of expo.texts */
};

static struct {
	struct label labels[MAX_LABELS];
	size_t nlabels;
	char label_digits[MAX_LABELS][24];
	struct buf texts;
	u8 series_kind;
	struct buf path;
	char *path_text;
	/* format influx: offset in expo.path of the end of each label's tag */
	size_t tag_ends[MAX_LABELS];
	bool kmsg_cut;
	/* The members below store the metric series of the current sample. They are used mainly by
	 * the formats prom and openmetrics. */
	struct series *series;
	/* nbuckets: number of elements of buckets[], the hash index of series[]; a power of two */
	u32 nseries, nbuckets, *buckets;
	char *series_text;
	/* parts of expo.texts: the labels of the current record, and of the current instance (such
	 * as an engine) of one of its groups */
	struct span record_labels, inst_labels;
	/* Last field whose labels are in inst_labels. The next field uses the same labels if it has
	 * the same group and instance. NULL if inst_labels has no labels that can be used again. */
	const struct field *inst_field;
	struct {
		u32 first, last;
		bool headed;
	} families[FAMILIES];
} expo;
static struct {
	struct table series, buckets, series_text, path;
} expo_tables = {
	.series = TABLE_ROW(expo.series, MAX_SERIES, 170, "series of a sample"),
	.buckets = TABLE_ROW(expo.buckets, MAX_SERIES, MIN_BUCKETS, "buckets of series"),
	.series_text = TABLE_ROW(expo.series_text, SERIES_TEXT, 1, "bytes of series"),
	/* REC_TEXT is the maximum size of the texts of a record; escaping can double it */
	.path = TABLE_ROW(expo.path_text, 2 * REC_TEXT + 4096, 1, "bytes of a path"),
};

static void label_add(const struct record *r, const struct field *f)
{
	struct label *l = &expo.labels[expo.nlabels];
	struct buf b = { .p = expo.label_digits[expo.nlabels],
			 .cap = sizeof(expo.label_digits[0]) };

	l->name = str_z(f->col->when & W_META ? "stat" : f->col->member);
	l->value = f->v.s;
	if (r->kind == K_SAMPLE && strcmp(f->col->member, "symbol") == 0)
		l->value = symbol_name(f->v.s);
	if (f->v.type == V_INT) {
		put_u64(&b, f->v.n);
		l->value = (struct str){ b.p, b.p + b.n };
	}
	expo.nlabels += l->value.p < l->value.e;
}

/* Adds the label "fd", the number of a file descriptor, to a client without drm-client-id. Without
 * this label, all such clients of a process would be one series. */
static void label_fd(const struct record *r)
{
	static const struct column fd = { .member = "fd" };
	struct field f = { .col = &fd, .v = { .type = V_INT } };

	if (record_descriptor(r, &f.v.n))
		label_add(r, &f);
}

static void labels_read(const struct record *r)
{
	expo.nlabels = 0;
	for (size_t i = 0; i < r->n && expo.nlabels < MAX_LABELS; i++)
		if (r->f[i].col->when & W_LABEL && r->f[i].v.type != V_NULL)
			label_add(r, &r->f[i]);
	label_fd(r);
}

static void put_label(struct buf *b, size_t from, struct str name, struct str value)
{
	if (b->n > from)
		put_c(b, ',');
	put_str(b, name);
	put_z(b, "=\"");
	put_escaped(b, value, "\\\"");
	put_c(b, '"');
}

/* --- formats prom and openmetrics: the metric series of a sample ------------------------------ */

/* Returns the part of expo.texts from offset `at` to the end. */
static struct str text_since(u32 at)
{
	return (struct str){ expo.series_text + at, expo.series_text + expo.texts.n };
}

static bool same_text(u32 a, u32 n, u32 b, u32 m)
{
	return n == m && (a == b || memcmp(expo.series_text + a, expo.series_text + b, n) == 0);
}

/* Makes room in expo.texts for the labels and names of one field: 4 * n bytes for two labels of up
 * to n bytes each, which escaping can make twice as long, and ROOM bytes for names. Returns false
 * and counts the loss in o->lost if there is no memory. */
static bool text_reserve(struct out *o, size_t n)
{
	bool has = table_has(&expo_tables.series_text, expo.texts.n + 4 * n + ROOM);

	expo.texts.p = expo.series_text;
	expo.texts.cap = expo_tables.series_text.ready;
	o->lost += !has;
	return has;
}

/* Returns the part of expo.texts from offset `at` to the end, with its hash. */
static struct span text_span(u32 at)
{
	return (struct span){ at, (u32)expo.texts.n - at, hash_more(HASH_BEGIN, text_since(at)) };
}

/* Removes the labels of the current instance (expo.inst_labels) from expo.texts. Called when no
 * series uses them: the new series could not be added, or a series with the same labels existed
 * already. */
static void inst_clear(void)
{
	if (expo.inst_labels.at + expo.inst_labels.n == expo.texts.n)
		expo.texts.n = expo.inst_labels.at;
	expo.texts.full = false;
	expo.inst_labels.n = 0;
	expo.inst_field = NULL;
}

static u32 *bucket_of(u32 hash)
{
	return &expo.buckets[hash & (expo.nbuckets - 1)];
}

static void chain(u32 i)
{
	u32 *bucket = bucket_of(expo.series[i].hash);

	expo.series[i].chain = *bucket;
	*bucket = i;
}

/* Doubles the number of hash buckets when there are as many series as buckets. Without memory for
 * that, the chains get longer instead. Returns false if there are no buckets at all. */
static bool buckets_grow(void)
{
	size_t n = expo.nbuckets ? (size_t)2 * expo.nbuckets : MIN_BUCKETS;

	if (expo.nseries >= expo.nbuckets && table_has(&expo_tables.buckets, n - 1)) {
		expo.nbuckets = (u32)n;
		memset(expo.buckets, 0, n * sizeof(*expo.buckets));
		for (u32 i = 1; i <= expo.nseries; i++)
			chain(i);
	}
	/* A failed allocation of buckets is not reported as a loss: with too few buckets no series
	 * is lost, only the search is slower. */
	expo_tables.buckets.dropped = 0;
	return expo.nbuckets > 0;
}

/* Returns the series of a metric family with the current labels, and adds it if there is none yet.
 * Returns NULL and counts the loss in o->lost if there is no room. */
static struct series *series_get(struct out *o, u16 family)
{
	u32 h = (expo.record_labels.hash + family * 2654435761u) ^ expo.inst_labels.hash;
	struct series *s;

	for (u32 i = expo.nseries ? *bucket_of(h) : 0; i; i = s->chain) {
		s = &expo.series[i];
		if (s->hash == h && s->family == family &&
		    same_text(s->base, s->base_n, expo.record_labels.at, expo.record_labels.n) &&
		    same_text(s->inst, s->inst_n, expo.inst_labels.at, expo.inst_labels.n)) {
			inst_clear();
			return s;
		}
	}
	if (expo.texts.full || expo.texts.cap - expo.texts.n < VALUE || !buckets_grow() ||
	    !table_has(&expo_tables.series, expo.nseries + 1)) {
		inst_clear();
		o->lost++;
		return NULL;
	}
	s = &expo.series[++expo.nseries];
	*s = (struct series){ .hash = h, .base = expo.record_labels.at,
			      .base_n = expo.record_labels.n,
			      .inst = expo.inst_labels.at, .inst_n = expo.inst_labels.n,
			      .family = family };
	if (expo.families[family].first)
		expo.series[expo.families[family].last].next = expo.nseries;
	else
		expo.families[family].first = expo.nseries;
	expo.families[family].last = expo.nseries;
	chain(expo.nseries);
	return s;
}

/* Sets the value of a series, replacing an earlier value. The value is the text in expo.texts from
 * offset `at` on. Removes this text if s is NULL. */
static void series_set(struct series *s, u32 at)
{
	u32 n = (u32)expo.texts.n - at;

	if (s && s->value_n < n) {
		s->value = at;
		s->value_n = n;
		return;
	}
	expo.texts.n = at;
	if (!s)
		return;
	memmove(expo.series_text + s->value, expo.series_text + at, n);
	s->value_n = n;
}

/* Sets expo.inst_labels to the labels for the instance of a field. Consecutive fields of the same
 * instance share them. */
static void inst_set(const struct field *f)
{
	const struct column *c = f->col;
	bool item = c->shape == S_LIST, text = f->v.type == V_TEXT;
	/* a value as text: a double has up to 309 digits before its decimal point */
	char digits[400];
	struct buf v = { .p = digits, .cap = sizeof(digits) };
	u32 at = (u32)expo.texts.n;

	if (expo.inst_field && !item && !text && c->group == expo.inst_field->col->group &&
	    f->inst.p == expo.inst_field->inst.p && f->inst.e == expo.inst_field->inst.e)
		return;
	if (item && !text) {
		put_value(&v, &f->v);
		put_label(&expo.texts, at, instance_label(c), (struct str){ v.p, v.p + v.n });
	} else if (item) {
		put_label(&expo.texts, at, instance_label(c), f->v.s);
	} else if (f->inst.p < f->inst.e && c->group) {
		put_label(&expo.texts, at, instance_label(c), f->inst);
		if (text)
			put_label(&expo.texts, at, (struct str)STR("value"), f->v.s);
	}
	expo.inst_labels = text_span(at);
	expo.inst_field = item || text ? NULL : f;
}

/* Uses the text in expo.texts from offset `at` on, which may be empty, as the labels of the current
 * instance (expo.inst_labels). */
static void inst_set_text(u32 at)
{
	expo.inst_labels = text_span(at);
	expo.inst_field = NULL;
}

static void series_add(struct out *o, const struct record *r, const struct field *f)
{
	struct series *s;
	u32 at;

	inst_set(f);
	s = series_get(o, (u16)(f->col - columns));
	at = (u32)expo.texts.n;
	if (f->col->shape == S_LIST || f->v.type == V_TEXT) {
		put_c(&expo.texts, '1');
		series_set(s, at);
	} else if (r->kind == K_SAMPLE && f->col->when & W_TOTAL) {
		if (s)
			s->sum += f->v.n;
	} else {
		put_value(&expo.texts, &f->v);
		series_set(s, at);
	}
}

/* Adds the metric "info", such as gpustat_device_info{...} 1. Its labels are the texts of the
 * record that are not labels of the record's other metrics. */
static void info_add(struct out *o, const struct record *r)
{
	u32 from = (u32)expo.texts.n;
	struct series *s;

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (f->v.type == V_TEXT && f->col->shape == S_SCALAR && f->v.s.p < f->v.s.e &&
		    is_shown(o, f))
			put_label(&expo.texts, from, str_z(f->col->member), f->v.s);
	}
	if (expo.texts.n == from)
		return;
	inst_set_text(from);
	s = series_get(o, F_INFO);
	from = (u32)expo.texts.n;
	put_c(&expo.texts, '1');
	series_set(s, from);
}

void prom_record(struct out *o, struct buf *b, const struct record *r)
{
	u32 from = (u32)expo.texts.n;
	struct series *s;

	/* nothing is written to b yet: prom_end() writes the series, sorted by metric family */
	(void)b;
	if (!text_reserve(o, r->text_n))
		return;
	labels_read(r);
	expo.series_kind = r->kind;
	for (size_t i = 0; i < expo.nlabels; i++)
		put_label(&expo.texts, from, expo.labels[i].name, expo.labels[i].value);
	expo.record_labels = text_span(from);
	expo.inst_field = NULL;
	if (expo.texts.full) {
		inst_set_text(from);
		inst_clear();
		o->lost++;
		return;
	}
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (is_shown(o, f) && !(f->col->when & W_RUN) &&
		    (f->col->shape != S_SCALAR || f->v.type != V_TEXT) &&
		    text_reserve(o, r->text_n))
			series_add(o, r, f);
	}
	if (text_reserve(o, r->text_n))
		info_add(o, r);
	if (r->kind == K_SAMPLE && !o->npatterns) {
		inst_set_text((u32)expo.texts.n);
		s = series_get(o, F_SAMPLES);
		if (s)
			s->sum++;
	}
}

/* Writes the lines HELP and TYPE of a metric family, and for OpenMetrics (open) the line UNIT if
 * the family has a unit. `end` is the suffix of the sample names, such as _total; in OpenMetrics,
 * the name of the family does not have this suffix. */
static void put_header(struct buf *b, struct str name, const char *end, const char *unit,
		       const char *help, bool open)
{
	bool total = strcmp(end, "_total") == 0, info = strcmp(end, "_info") == 0;

	if (open && (total || info))
		name.e -= strlen(end);
	put_z(b, "# HELP ");
	put_str(b, name);
	put_c(b, ' ');
	put_escaped(b, str_z(help), open ? "\\\"" : "\\");
	put_z(b, "\n# TYPE ");
	put_str(b, name);
	put_z(b, total ? " counter\n" : info && open ? " info\n" : " gauge\n");
	if (!open || !unit)
		return;
	put_z(b, "# UNIT ");
	put_str(b, name);
	put_c(b, ' ');
	put_z(b, unit);
	put_c(b, '\n');
}

static void put_series(struct buf *b, struct str name, const struct series *s)
{
	put_str(b, name);
	if (s->base_n + s->inst_n) {
		put_c(b, '{');
		put_n(b, expo.series_text + s->base, s->base_n);
		if (s->base_n && s->inst_n)
			put_c(b, ',');
		put_n(b, expo.series_text + s->inst, s->inst_n);
		put_c(b, '}');
	}
	put_c(b, ' ');
	if (s->value_n)
		put_n(b, expo.series_text + s->value, s->value_n);
	else
		put_u64(b, s->sum);
	put_c(b, '\n');
}

/* A metric family may have two adjacent columns, of which one is shown with option -r and the other
 * one without it. Returns the first of the two, so that the HELP text is the same in both cases. */
static const struct column *family_column(const struct column *c)
{
	while (c > columns && c->group && c[-1].group && strcmp(c->group, c[-1].group) == 0 &&
	       c->member && c[-1].member && strcmp(c->member, c[-1].member) == 0)
		c--;
	return c;
}

/* Writes the header and the series of metric family i until b is half full; the next call
 * continues. Returns false if series are left to write. */
static bool put_families(struct buf *b, u16 i, bool open)
{
	char text[128];
	struct buf name = { .p = text, .cap = sizeof(text) };
	const struct column *c = i < ncolumns ? &columns[i] : NULL;
	u32 *at = &expo.families[i].first;
	bool total = i == F_SAMPLES || (c && c->when & W_TOTAL);

	if (!*at)
		return true;
	if (c) {
		put_family(&name, expo.series_kind, c);
	} else {
		put_z(&name, "gpustat_");
		put_z(&name, avoid_type(kind_names[expo.series_kind]));
		put_z(&name, i == F_INFO ? "_info" : "_samples_total");
	}
	if (!expo.families[i].headed)
		put_header(b, (struct str){ text, text + name.n },
			   total ? "_total" : i == F_INFO ? "_info" : "",
			   c ? bases[c->unit].name : NULL,
			   c ? family_column(c)->help :
			   i == F_INFO ? "values that are text" : "number of samples", open);
	expo.families[i].headed = true;
	for (; *at && b->n <= b->cap / 2; *at = expo.series[*at].next)
		put_series(b, (struct str){ text, text + name.n }, &expo.series[*at]);
	return !*at;
}

static bool is_requested(const struct out *o, const char *member)
{
	for (size_t i = 0; i < o->npatterns; i++)
		if (str_eq(o->patterns[i], str_z(member)))
			return true;
	return o->npatterns == 0;
}

/* Writes the metrics that are about the run, not about one record. They have no labels. Their names
 * contain the kind of record, so that the files of two commands can be used together. The metric
 * `dropped` has the name self_dropped for kinds whose records have a field `dropped`. */
static void put_run_metrics(const struct out *o, struct buf *b, bool open)
{
	static const struct {
		/* name: name of the metric if the records of the run are devices; other: its name
		 * if they are of another kind */
		const char *name, *other, *end, *unit, *help;
		/* pattern of -f that selects the metric; without -f, the metric is always shown */
		const char *member;
		u8 point;
		/* true: the metric is shown only if the records are devices, clients, cgroups or
		 * processes */
		bool live;
	} rows[] = {
		{ "unreadable_processes", "unreadable_processes", "", NULL,
		  "processes that cannot be read", "unreadable", 0, true },
		{ "dropped", "self_dropped", "", NULL,
		  "clients, engines, regions and series that did not fit", "dropped", 0, true },
		{ "self_cpu_seconds_total", "self_cpu_seconds_total", "_total", "seconds",
		  "CPU time of gpustat itself", "", 9, false },
		{ "self_resident_bytes", "self_resident_bytes", "", "bytes",
		  "memory of gpustat itself", "", 0, false },
	};
	const u64 values[LEN(rows)] = { registry.unreadable, registry.dropped + o->lost, o->self_ns,
					o->self_bytes };

	for (size_t i = 0; i < LEN(rows); i++) {
		bool known = rows[i].live ?
			1u << o->kind & (W_DEVICE | W_CLIENT | W_CGROUP | W_PROCESS) : values[i];
		char text[64];
		struct buf name = { .p = text, .cap = sizeof(text) };

		if (!known || !is_requested(o, rows[i].member))
			continue;
		put_z(&name, "gpustat");
		put_word(&name, 0, o->kind == K_DEVICE ? NULL : avoid_type(kind_names[o->kind]));
		put_word(&name, 0, o->kind == K_DEVICE ? rows[i].name : rows[i].other);
		put_header(b, (struct str){ text, text + name.n }, rows[i].end, rows[i].unit,
			   rows[i].help, open);
		put_n(b, text, name.n);
		put_c(b, ' ');
		put_dec(b, values[i], rows[i].point, 1);
		put_c(b, '\n');
	}
}

/* Writes the series of the sample, one metric family after another, until b is half full. Returns
 * true if there is more to write. At the end it removes all series, for the next sample. */
static bool put_exposition(const struct out *o, struct buf *b, bool open)
{
	for (unsigned i = 0; i < FAMILIES; i++)
		if (!put_families(b, (u16)i, open))
			return true;
	put_run_metrics(o, b, open);
	for (u32 i = 1; i <= expo.nseries; i++)
		*bucket_of(expo.series[i].hash) = 0;
	memset(expo.families, 0, sizeof(expo.families));
	expo.nseries = 0;
	expo.texts.n = 0;
	return false;
}

bool prom_end(struct out *o, struct buf *b)
{
	return put_exposition(o, b, false);
}

bool openmetrics_end(struct out *o, struct buf *b)
{
	bool more = put_exposition(o, b, true);

	if (!more)
		put_z(b, "# EOF\n");
	return more;
}

/* --- tags (influx) or path (graphite, statsd) of a record ------------------------------------- */

static void line_begin(const struct record *r)
{
	labels_read(r);
	expo.path = table_buf(&expo_tables.path);
}

/* --- format influx ---------------------------------------------------------------------------- */

static void put_tag(struct buf *b, struct str name, struct str value)
{
	put_c(b, ',');
	put_str(b, name);
	put_c(b, '=');
	put_escaped(b, value, ",= ");
	/* A '\' at the end of a tag is replaced: influx has no escape for it, and it would escape
	 * the next character. */
	if (b->n && b->p[b->n - 1] == '\\')
		b->p[b->n - 1] = '_';
}

/* Writes the tags of the record (expo.path), which are sorted by name. Inserts the tag name=value,
 * for an instance or an item of a list, at its place in this order, unless `value` is empty. */
static void put_tags(struct buf *b, struct str name, struct str value)
{
	size_t i = 0, at;

	while (i < expo.nlabels && name.p < name.e && str_order(expo.labels[i].name, name) <= 0)
		i++;
	at = i ? expo.tag_ends[i - 1] : 0;
	put_n(b, expo.path.p, at);
	if (value.p < value.e)
		put_tag(b, name, value);
	put_n(b, expo.path.p + at, expo.path.n - at);
	b->full |= expo.path.full;
}

/* Sorts expo.labels by name with str_order(), which compares numbers within the names as numbers;
 * the names of labels have none. */
static void sort_labels(void)
{
	for (size_t i = 1; i < expo.nlabels; i++)
		for (size_t k = i; k > 0 && *expo.labels[k].name.p <= *expo.labels[k - 1].name.p &&
		     str_order(expo.labels[k].name, expo.labels[k - 1].name) < 0; k--) {
			struct label l = expo.labels[k];

			expo.labels[k] = expo.labels[k - 1];
			expo.labels[k - 1] = l;
		}
}

static void tags_begin(const struct record *r)
{
	line_begin(r);
	sort_labels();
	for (size_t i = 0; i < expo.nlabels; i++) {
		put_tag(&expo.path, expo.labels[i].name, expo.labels[i].value);
		expo.tag_ends[i] = expo.path.n;
	}
}

/* Returns whether two fields are written on the same line of format influx: they have the same
 * group and instance, and are not items of a list. */
static bool same_point(const struct field *a, const struct field *b)
{
	return a && a->col->shape != S_LIST && a->col->group && b->col->group &&
	       strcmp(a->col->group, b->col->group) == 0 && str_eq(a->inst, b->inst);
}

static void influx_begin(struct buf *b, const struct record *r, const struct field *f)
{
	const struct column *c = f->col;
	char text[32];
	struct buf number = { .p = text, .cap = sizeof(text) };
	struct str inst = f->inst;

	put_z(b, "gpustat");
	if (!c->group || (r->kind != K_DEVICE && r->kind != K_COUNTERS)) {
		put_c(b, '_');
		put_z(b, kind_names[r->kind]);
	}
	if (c->group) {
		put_c(b, '_');
		put_z(b, c->group);
	}
	if (c->shape == S_LIST && f->v.type == V_INT) {
		put_u64(&number, f->v.n);
		inst = (struct str){ text, text + number.n };
	} else if (c->shape == S_LIST) {
		inst = f->v.s;
	}
	if (c->group && inst.p < inst.e)
		put_tags(b, instance_label(c), inst);
	else
		put_tags(b, (struct str){ 0 }, (struct str){ 0 });
	put_c(b, ' ');
}

static void influx_field(struct buf *b, const struct field *f)
{
	size_t from = b->n;

	put_suffix(b, from, f->col);
	put_z(b, b->n == from ? "value=" : "=");
	if (f->col->shape == S_LIST) {
		put_c(b, '1');
	} else if (f->v.type == V_TEXT) {
		put_c(b, '"');
		put_escaped(b, f->v.s, "\"\\");
		put_c(b, '"');
	} else {
		put_value(b, &f->v);
	}
}

/* Ends a line of format influx. Before the end it writes the record's time in nanoseconds since
 * 1970, unless the time is unknown or -t mono is used. */
static void influx_finish(const struct out *o, struct buf *b, const struct val *time)
{
	if (time && o->time != T_MONO) {
		put_c(b, ' ');
		put_u64(b, time->n);
		put_z(b, "000");
	}
	put_c(b, '\n');
}

/* Format influx: writes one line for all scalars and one for each instance of a group. All numbers
 * are written as floats, because in InfluxDB a field must not change its type. */
void influx_record(struct out *o, struct buf *b, const struct record *r)
{
	const struct val *time = record_get(r, NULL, "time");

	tags_begin(r);
	for (int grouped = 0; grouped < 2; grouped++) {
		const struct field *was = NULL;

		for (size_t i = 0; i < r->n; i++) {
			const struct field *f = &r->f[i];

			if (!is_shown(o, f) || (f->col->shape != S_SCALAR) != grouped)
				continue;
			if (was && (!grouped || same_point(was, f))) {
				put_c(b, ',');
			} else {
				if (was)
					influx_finish(o, b, time);
				influx_begin(b, r, f);
			}
			influx_field(b, f);
			was = f;
		}
		if (was)
			influx_finish(o, b, time);
	}
}

/* --- formats graphite, statsd and collectd: one line for each value --------------------------- */

enum {
	/* maximum length in bytes of a component of a graphite path, which graphite uses as the
	 * name of a file or folder */
	NODE_BYTES = 255,
	/* maximum length in bytes of a name in collectd: DATA_MAX_NAME_LEN without the NUL */
	PART_BYTES = 127,
};

static const struct str dev_label = STR("dev"), stat_label = STR("stat"), unit_label = STR("unit");

/* Turns the text of b from offset `from` on into a component of a graphite path or of a name in
 * collectd: characters that are not letters, digits, '-' or '_' become '_'; so does an empty text.
 * dots: true to keep '.', if it does not separate components. A text longer than `most` bytes is
 * cut and then ends with a hash of the whole text. */
static void node_end(struct buf *b, size_t from, size_t most, bool dots)
{
	u32 h = b->n - from > most ?
		hash_more(HASH_BEGIN, (struct str){ b->p + from, b->p + b->n }) : 0;

	if (b->n == from)
		put_c(b, '_');
	for (size_t i = from; i < b->n; i++) {
		char c = b->p[i];

		if ((u8)((c | 32) - 'a') >= 26 && (u8)(c - '0') >= 10 && c != '-' && c != '_' &&
		    !(dots && c == '.'))
			b->p[i] = '_';
	}
	if (b->n - from > most) {
		b->n = from + most - 11;
		put_c(b, '_');
		put_hex64(b, h);
	}
}

static void put_node(struct buf *b, struct str s)
{
	size_t from;

	if (b->n)
		put_c(b, '.');
	from = b->n;
	put_str(b, s);
	node_end(b, from, NODE_BYTES, false);
}

/* Writes the values of a record's labels, except dev, stat and unit, separated by '-'. They
 * identify the entity among those of its device. */
static void put_identity(struct buf *b, size_t from)
{
	for (size_t i = 0; i < expo.nlabels; i++) {
		if (str_eq(expo.labels[i].name, dev_label) ||
		    str_eq(expo.labels[i].name, stat_label) ||
		    str_eq(expo.labels[i].name, unit_label))
			continue;
		if (b->n > from)
			put_c(b, '-');
		put_str(b, expo.labels[i].value);
	}
}

static struct str label_find(struct str name)
{
	for (size_t i = 0; i < expo.nlabels; i++)
		if (str_eq(expo.labels[i].name, name))
			return expo.labels[i].value;
	return (struct str){ 0 };
}

/* Sets expo.path to the beginning of the paths of all values of a record, for graphite and statsd:
 * gpustat.HOST.DEV[.KIND.ID] */
static void path_begin(const struct out *o, const struct record *r)
{
	struct str dev;
	size_t from;

	line_begin(r);
	dev = label_find(dev_label);
	put_z(&expo.path, "gpustat");
	put_node(&expo.path, o->host ? str_z(o->host) : (struct str)STR("localhost"));
	if (dev.p < dev.e)
		put_node(&expo.path, dev);
	if (r->kind == K_DEVICE)
		return;
	put_node(&expo.path, str_z(kind_names[r->kind]));
	put_c(&expo.path, '.');
	from = expo.path.n;
	put_identity(&expo.path, from);
	if (expo.path.n == from)
		expo.path.n -= !expo.path.full;
	else
		node_end(&expo.path, from, NODE_BYTES, false);
}

/* Returns the name of a field's instance; for a field in a list, returns the list item as text.
 * number: buffer for the digits of an item that is a number. */
static struct str item_text(const struct field *f, struct buf *number)
{
	if (f->col->shape != S_LIST)
		return f->col->group ? f->inst : (struct str){ 0 };
	if (f->v.type == V_TEXT)
		return f->v.s;
	put_value(number, &f->v);
	return (struct str){ number->p, number->p + number->n };
}

/* Writes the path of a value, for graphite and statsd: expo.path, then
 * [.GROUP][.INSTANCE].MEMBER_UNIT[.STAT] */
static void put_path(struct buf *b, const struct field *f)
{
	char text[24];
	struct buf number = { .p = text, .cap = sizeof(text) };
	struct str item = item_text(f, &number), stat = label_find(stat_label);
	size_t from;

	put_n(b, expo.path.p, expo.path.n);
	if (f->col->group)
		put_node(b, str_z(f->col->group));
	if (item.p < item.e)
		put_node(b, item);
	put_c(b, '.');
	from = b->n;
	put_suffix(b, from, f->col);
	if (b->n == from)
		put_z(b, "value");
	if (stat.p < stat.e)
		put_node(b, stat);
}

/* Returns whether a field is shown and can be written as a number. An item of a list is written as
 * the number 1, and the item itself becomes a part of the path. */
static bool is_numeric(const struct out *o, const struct field *f)
{
	return is_shown(o, f) && (f->v.type != V_TEXT || f->col->shape == S_LIST);
}

static void put_numeric(struct buf *b, const struct field *f)
{
	if (f->col->shape == S_LIST)
		put_c(b, '1');
	else
		put_value(b, &f->v);
}

/* Returns the value of the field f, which is a total. If the record is a perf sample, returns the
 * sum over all samples so far with the same path, because a path can have only one value per
 * second. */
static u64 running_total(struct out *o, const struct record *r, const struct field *f)
{
	u32 from = (u32)expo.texts.n, n = expo.nseries;
	struct series *s;

	if (r->kind != K_SAMPLE || !text_reserve(o, expo.path.n))
		return f->v.n;
	put_n(&expo.texts, expo.path.p, expo.path.n);
	expo.record_labels = text_span(from);
	inst_set_text((u32)expo.texts.n);
	s = series_get(o, (u16)(f->col - columns));
	if (expo.nseries == n)
		expo.texts.n = from;
	return s ? s->sum += f->v.n : f->v.n;
}

void graphite_record(struct out *o, struct buf *b, const struct record *r)
{
	path_begin(o, r);
	for (size_t i = 0; i < r->n; i++) {
		if (!is_numeric(o, &r->f[i]))
			continue;
		put_path(b, &r->f[i]);
		put_c(b, ' ');
		if (r->kind == K_SAMPLE && r->f[i].col->when & W_TOTAL)
			put_u64(b, running_total(o, r, &r->f[i]));
		else
			put_numeric(b, &r->f[i]);
		put_c(b, ' ');
		put_u64(b, (u64)o->now / 1000000000);
		put_c(b, '\n');
	}
}

/* Format statsd: writes values as gauges, and the totals of perf samples as counters. In statsd, a
 * number with a sign changes a gauge instead of setting it, so a gauge is set to 0 before a
 * negative value is written. */
void statsd_record(struct out *o, struct buf *b, const struct record *r)
{
	path_begin(o, r);
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (!is_numeric(o, f))
			continue;
		if (f->v.neg) {
			put_path(b, f);
			put_z(b, ":0|g\n");
		}
		put_path(b, f);
		put_c(b, ':');
		put_numeric(b, f);
		put_z(b, r->kind == K_SAMPLE && f->col->when & W_TOTAL ? "|c\n" : "|g\n");
	}
}

/* Writes collectd's type and type instance of a field. Totals without a type in bases[] have the
 * type `derive`, which takes only whole numbers: they are written in the kernel's unit. */
static void put_type(struct buf *b, const struct field *f)
{
	const struct column *c = f->col;
	const char *type = bases[c->unit].type;
	bool derive = !type && c->when & W_TOTAL;
	char text[24];
	struct buf number = { .p = text, .cap = sizeof(text) };
	struct str item = item_text(f, &number);
	size_t from = b->n;

	put_z(b, derive ? "derive-" : type ? type : "gauge-");
	put_z(b, type && (c->group || c->member) ? "-" : "");
	if (c->group) {
		put_z(b, c->group);
		put_z(b, item.p < item.e ? "-" : "");
		put_str(b, item);
		put_z(b, c->member ? "-" : "");
	}
	if (derive || type)
		put_z(b, c->member ? c->member : "");
	else
		put_suffix(b, b->n, c);
	node_end(b, from, PART_BYTES, true);
}

static void collectd_value(struct out *o, struct buf *b, const struct record *r,
			   const struct field *f)
{
	if (f->v.type == V_NULL)
		put_c(b, 'U');
	else if (bases[f->col->unit].type)
		put_number(b, &f->v);
	else if (f->col->when & W_TOTAL)
		put_u64(b, running_total(o, r, f));
	else
		put_numeric(b, f);
}

/* Sets expo.path to collectd's host, plugin and plugin instance of a record:
 * HOST/gpustat-DEV[-KIND-ID][-STAT] */
static void plugin_begin(const struct out *o, const struct record *r)
{
	const struct str host = o->host ? str_z(o->host) : (struct str)STR("localhost");
	const struct str pieces[] = { label_find(dev_label), label_find(stat_label) };
	size_t from;

	put_str(&expo.path, host);
	node_end(&expo.path, 0, PART_BYTES, true);
	put_c(&expo.path, '/');
	from = expo.path.n;
	put_z(&expo.path, "gpustat");
	for (size_t i = 0; i < LEN(pieces); i++) {
		put_z(&expo.path, pieces[i].p < pieces[i].e ? "-" : "");
		put_str(&expo.path, pieces[i]);
		if (i || r->kind == K_DEVICE)
			continue;
		put_c(&expo.path, '-');
		put_z(&expo.path, kind_names[r->kind]);
		put_c(&expo.path, '-');
		put_identity(&expo.path, expo.path.n);
	}
	node_end(&expo.path, from, PART_BYTES, true);
}

void collectd_record(struct out *o, struct buf *b, const struct record *r)
{
	line_begin(r);
	plugin_begin(o, r);
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		/* Format collectd: an unknown value is written as U, but only if the column has a
		 * unit. The values of a column without a unit may be texts. */
		if (!is_numeric(o, f) &&
		    (f->v.type != V_NULL || f->col->unit == U_NONE || !is_wanted(o, f)))
			continue;
		put_z(b, "PUTVAL \"");
		put_n(b, expo.path.p, expo.path.n);
		put_c(b, '/');
		put_type(b, f);
		put_c(b, '"');
		if (o->interval) {
			put_z(b, " interval=");
			put_dec(b, (u64)o->interval, 9, 1);
		}
		put_z(b, " N:");
		collectd_value(o, b, r, f);
		put_c(b, '\n');
	}
}

/* --- format kmsg ------------------------------------------------------------------------------ */

/* Maximum length in bytes of a line that format kmsg writes to the kernel log, with "<6>" and the
 * newline: LOG_LINE_MAX of older kernels, 1024 - 48. */
enum { KMSG_BYTES = 976 };

static char kmsg_text[KMSG_BYTES];
static struct buf kmsg_line = { .p = kmsg_text, .cap = KMSG_BYTES - sizeof(" ...\n") + 1 };

/* Returns whether format kmsg shows the field. With -f, it shows the fields that -f selects;
 * without -f, the fields of format table except the time, since the kernel log has its own time. */
static bool kmsg_shows(const struct out *o, const struct field *f)
{
	/* true for the field "summary" (min, avg or max), which option -S adds */
	bool sum = f->col->when & W_META && f->col->when & W_LABEL;

	return out_selects(o, f) && (sum || !(f->col->when & W_META)) &&
	       (sum || o->npatterns || (f->col->when & W_TABLE && f->v.type != V_TIME));
}

void kmsg_record(struct out *o, struct buf *b, const struct record *r)
{
	bool any = false;

	(void)b; /* nothing is written to b yet: kmsg_end() writes the whole sample as one line */
	for (size_t i = 0; i < r->n && !expo.kmsg_cut; i++) {
		size_t from = kmsg_line.n;

		if (!kmsg_shows(o, &r->f[i]))
			continue;
		if (!any)
			put_z(&kmsg_line, from ? " | " : "<6>gpustat: ");
		if (!put_logfmt(&kmsg_line, o, r, i, !any)) {
			kmsg_line.n = from;
			continue;
		}
		any = true;
		for (size_t k = from; k < kmsg_line.n; k++)
			if ((u8)kmsg_text[k] >= 0x80)
				kmsg_text[k] = '?';
		expo.kmsg_cut = kmsg_line.full;
		if (expo.kmsg_cut)
			kmsg_line.n = from;
	}
}

/* Format kmsg: writes the sample as one line of the kernel log. A line that was cut ends with "
 * ...". */
bool kmsg_end(struct out *o, struct buf *b)
{
	(void)o;
	if (kmsg_line.n || expo.kmsg_cut) {
		put_n(b, kmsg_text, kmsg_line.n);
		put_z(b, expo.kmsg_cut ? " ...\n" : "\n");
	}
	kmsg_line.n = 0;
	kmsg_line.full = expo.kmsg_cut = false;
	return false;
}
