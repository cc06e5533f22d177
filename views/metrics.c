/* metrics.c - fields as metric families, for programs that keep time series: prom, openmetrics, influx, graphite,
 * statsd, collectd; and the line of the kernel's log. Names are derived from columns[]. Pure but for what is kept of
 * the sample in hand. SPDX-License-Identifier: MIT */
#include "gpustat.h"

/* --- names ---------------------------------------------------------------------------------------------- */

/* What prometheus.io calls our units, how many decimals theirs have more, and the word that members say already. */
static const struct base {
	const char *name, *own;
	u8 shift;
	const char *type; /* collectd: types.db; its numbers are in our unit */
} bases[UNITS] = {
	[U_PERCENT] = { "ratio", "percent", 2, "percent" }, [U_SHARE] = { "ratio", NULL, 2, "percent" },
	[U_BYTES] = { "bytes", NULL, 0, "memory" },         [U_HZ] = { "hertz", NULL, 0, "frequency" },
	[U_NS] = { "seconds", "ns", 9, NULL },              [U_CELSIUS] = { "celsius", NULL, 0, "temperature" },
	[U_WATT] = { "watts", NULL, 0, "power" },           [U_JOULE] = { "joules", NULL, 0, "energy" },
	[U_VOLT] = { "volts", NULL, 0, "voltage" },         [U_AMPERE] = { "amperes", NULL, 0, "current" },
	[U_RPM] = { "rpm", NULL, 0, "fanspeed" },           [U_GTS] = { "transfers_per_second", NULL, 0, NULL },
	[U_SECONDS] = { "seconds", NULL, 0, NULL },         [U_MS] = { "seconds", NULL, 0, NULL },
	[U_NANO] = { "seconds", NULL, 0, NULL },
};

/* The label that tells the instances of a group apart, and the items of a list; of all others "sensor". */
static const struct {
	const char *group, *label;
} instances[] = {
	{ "engine", "engine" }, { "memory", "region" }, { "freq", "domain" }, { "counter", "counter" }, { "group", "counter" },
	{ "throttle", "reason" }, { "nodes", "node" }, { "pids", "holder" }, { "callchain", "frame" },
	{ "facts", "key" }, { "missing", "key" }, { "other", "key" },
};

static struct str instance_label(const struct column *c)
{
	for (size_t i = 0; i < LEN(instances); i++)
		if (strcmp(instances[i].group, c->group) == 0)
			return str_z(instances[i].label);
	return (struct str)STR("sensor");
}

/* One more word of a name that begins at `from`. */
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

/* The member, less its own word for the unit; the base unit; "total". */
static void make_rest(struct buf *b, const struct column *c)
{
	const struct base *base = &bases[c->unit];
	size_t n = c->member ? strlen(c->member) : 0, own = base->own ? strlen(base->own) : 0;

	if (own && n >= own && memcmp(c->member + n - own, base->own, own) == 0)
		n -= own;
	n -= n && c->member[n - 1] == '_';
	put_part(b, 0, c->member, n);
	if (c->member && strcmp(c->member, "count") == 0)
		put_z(b, "ed"); /* OpenMetrics keeps _count for histograms */
	put_word(b, 0, base->name);
	put_word(b, 0, c->when & W_TOTAL ? "total" : NULL);
}

/* The same behind what a name begins with; made once for each column. */
static void put_rest(struct buf *b, size_t from, const struct column *c)
{
	static struct rest {
		u8 n;
		bool made;
		char text[46]; /* the longest has 30 */
	} rests[256];
	struct rest *r = &rests[c - columns];
	struct buf text = { .p = r->text, .cap = sizeof(r->text) };

	if (!r->made) {
		make_rest(&text, c);
		r->n = (u8)text.n;
		r->made = true;
	}
	put_part(b, from, r->text, r->n);
}

/* promtool takes "counter" in a name for a type. */
static const char *no_type(const char *word)
{
	return word && strcmp(word, "counter") == 0 ? "value" : word;
}

static void put_family(struct buf *b, u8 kind, const struct column *c)
{
	size_t from = b->n;

	put_z(b, "gpustat");
	if (kind != K_DEVICE && kind != K_COUNTER && kind != K_COUNTERS)
		put_word(b, from, kind_names[kind]);
	put_word(b, from, no_type(c->group));
	put_rest(b, from, c);
}

/* --- text and numbers ------------------------------------------------------------------------------------ */

/* Names may hold any byte: what is no text becomes '?', what means something there gets a backslash. */
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

/* In the base unit. */
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
	put_u64(b, v->n); /* tenths of 10^9 transfers; statsd knows no exponents */
	put_z(b, v->n ? "00000000" : "");
}

/* --- what of a record is shown, and under which labels ---------------------------------------------------- */

enum { MAX_LABELS = 16 };

static struct label {
	struct str name, value;
} labels[MAX_LABELS];
static size_t nlabels;
static char label_digits[MAX_LABELS][24];

/* Whether a field that is no label is wanted, known or not. */
static bool is_wanted(const struct out *o, const struct field *f)
{
	return !f->empty && !(f->col->when & (W_LABEL | W_META)) &&
	       (o->npatterns ? out_selects(o, f) : !(f->col->when & W_ASKED));
}

static bool is_shown(const struct out *o, const struct field *f)
{
	return f->v.type != V_NULL && is_wanted(o, f);
}

/* Functions rather than addresses tell samples apart: symbol+0x1f is symbol. */
static struct str without_offset(struct str s)
{
	for (const char *p = s.e; p - s.p > 3; p--)
		if (memcmp(p - 3, "+0x", 3) == 0)
			return (struct str){ s.p, p - 3 };
	return s;
}

static void take_label(const struct record *r, const struct field *f)
{
	struct label *l = &labels[nlabels];
	struct buf b = { .p = label_digits[nlabels], .cap = sizeof(label_digits[0]) };

	l->name = str_z(f->col->when & W_META ? "stat" : f->col->member);
	l->value = f->v.s;
	if (r->kind == K_SAMPLE && strcmp(f->col->member, "symbol") == 0)
		l->value = without_offset(f->v.s);
	if (f->v.type == V_INT) {
		put_u64(&b, f->v.n);
		l->value = (struct str){ b.p, b.p + b.n };
	}
	nlabels += l->value.p < l->value.e;
}

static void take_labels(const struct record *r)
{
	nlabels = 0;
	for (size_t i = 0; i < r->n && nlabels < MAX_LABELS; i++)
		if (r->f[i].col->when & W_LABEL && r->f[i].v.type != V_NULL)
			take_label(r, &r->f[i]);
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

/* --- prom and openmetrics: the series of a sample ----------------------------------------------------------- */

enum {
	MAX_SERIES = 1 << 19,       /* 50 of each of 10 000 clients: amdgpu has 40 */
	SERIES_TEXT = 48 << 20,     /* 96 bytes each; the labels of a record are there once */
	BUCKETS_LEAST = 1 << 10,
	ROOM = 16 << 10, /* names, paths and numbers of a field */
	VALUE = 512,     /* a double has up to 309 digits before its point */
	FAMILIES = 256 + 2,         /* one a column; info; how many samples there were */
	F_INFO = 256, F_SAMPLES,
};

static struct series {
	u32 next, hash, chain; /* chain: another one of its bucket */
	u32 base, base_n, inst, inst_n; /* labels: of the record, of the instance */
	u32 value, value_n;
	u16 family;
	u64 sum; /* where there is no value */
} *series;

static struct {
	u32 first, last;
	bool headed;
} families[FAMILIES];

static u32 nseries, nbuckets, *buckets; /* nbuckets: a power of two */
static char *series_text;
static TABLE(series, MAX_SERIES, 170, "series of a sample");
static TABLE(buckets, MAX_SERIES, BUCKETS_LEAST, "buckets of series");
static TABLE(series_text, SERIES_TEXT, 1, "bytes of series");
static struct buf texts;
static struct span {
	u32 at, n, hash; /* in texts */
} of_record, of_inst; /* the labels in hand */
static u8 series_kind;

/* What texts holds from there on. */
static struct str texts_from(u32 at)
{
	return (struct str){ series_text + at, series_text + texts.n };
}

static bool same_text(u32 a, u32 n, u32 b, u32 m)
{
	return n == m && (a == b || memcmp(series_text + a, series_text + b, n) == 0);
}

/* For what one field takes: so many bytes of texts, which escapes make twice as long, twice, and names. What takes more all the
 * same is cut, and then dropped. */
static bool has_room(struct out *o, size_t n)
{
	bool has = table_has(&series_text_table, texts.n + 4 * n + ROOM);

	texts.p = series_text;
	texts.cap = series_text_table.ready;
	o->lost += !has;
	return has;
}

static const struct field *inst_of; /* whose instance it is that is in hand, where others may have it, too */

/* What texts ends with, from there on. */
static struct span span_from(u32 at)
{
	return (struct span){ at, (u32)texts.n - at, hash_more(HASH_BEGIN, texts_from(at)) };
}

/* The labels in hand are not those of a series: there is no such, or another has the same. */
static void drop_inst(void)
{
	if (of_inst.at + of_inst.n == texts.n)
		texts.n = of_inst.at;
	texts.full = false;
	of_inst.n = 0;
	inst_of = NULL;
}

static u32 *bucket_of(u32 hash)
{
	return &buckets[hash & (nbuckets - 1)];
}

static void chain(u32 i)
{
	u32 *bucket = bucket_of(series[i].hash);

	series[i].chain = *bucket;
	*bucket = i;
}

/* Twice as many buckets where each has a series; without memory for them, chains are longer. False: there is none. */
static bool has_bucket(void)
{
	size_t n = nbuckets ? (size_t)2 * nbuckets : BUCKETS_LEAST;

	if (nseries >= nbuckets && table_has(&buckets_table, n - 1)) {
		nbuckets = (u32)n;
		memset(buckets, 0, n * sizeof(*buckets));
		for (u32 i = 1; i <= nseries; i++)
			chain(i);
	}
	buckets_table.dropped = 0; /* nothing is lost */
	return nbuckets > 0;
}

/* The series of the labels in hand. NULL: no room. */
static struct series *series_at(struct out *o, u16 family)
{
	u32 h = (of_record.hash + family * 2654435761u) ^ of_inst.hash;
	struct series *s;

	for (u32 i = nseries ? *bucket_of(h) : 0; i; i = s->chain) {
		s = &series[i];
		if (s->hash == h && s->family == family && same_text(s->base, s->base_n, of_record.at, of_record.n) &&
		    same_text(s->inst, s->inst_n, of_inst.at, of_inst.n)) {
			drop_inst();
			return s;
		}
	}
	if (texts.full || texts.cap - texts.n < VALUE || !has_bucket() || !table_has(&series_table, nseries + 1)) {
		drop_inst();
		o->lost++;
		return NULL;
	}
	s = &series[++nseries];
	*s = (struct series){ .hash = h, .base = of_record.at, .base_n = of_record.n, .inst = of_inst.at, .inst_n = of_inst.n,
			      .family = family };
	if (families[family].first)
		series[families[family].last].next = nseries;
	else
		families[family].first = nseries;
	families[family].last = nseries;
	chain(nseries);
	return s;
}

/* Its value is what texts ends with. Of two values of one series the last counts. */
static void series_set(struct series *s, u32 at)
{
	u32 n = (u32)texts.n - at;

	if (s && s->value_n < n) {
		s->value = at;
		s->value_n = n;
		return;
	}
	texts.n = at;
	if (!s)
		return;
	memmove(series_text + s->value, series_text + at, n);
	s->value_n = n;
}

/* The fields of one instance stand behind each other. */
static void take_inst(const struct field *f)
{
	const struct column *c = f->col;
	bool item = c->shape == S_LIST, text = f->v.type == V_TEXT;
	char digits[400]; /* a double has up to 309 before its point */
	struct buf v = { .p = digits, .cap = sizeof(digits) };
	u32 at = (u32)texts.n;

	if (inst_of && !item && !text && c->group == inst_of->col->group && f->inst.p == inst_of->inst.p && f->inst.e == inst_of->inst.e)
		return;
	if (item && !text) {
		put_value(&v, &f->v);
		put_label(&texts, at, instance_label(c), (struct str){ v.p, v.p + v.n });
	} else if (item) {
		put_label(&texts, at, instance_label(c), f->v.s);
	} else if (f->inst.p < f->inst.e && c->group) {
		put_label(&texts, at, instance_label(c), f->inst);
		if (text)
			put_label(&texts, at, (struct str)STR("value"), f->v.s);
	}
	of_inst = span_from(at);
	inst_of = item || text ? NULL : f;
}

/* No instance, or labels that stand for one from `at` on. */
static void take_other(u32 at)
{
	of_inst = span_from(at);
	inst_of = NULL;
}

static void take_field(struct out *o, const struct record *r, const struct field *f)
{
	struct series *s;
	u32 at;

	take_inst(f);
	s = series_at(o, (u16)(f->col - columns));
	at = (u32)texts.n;
	if (f->col->shape == S_LIST || f->v.type == V_TEXT) {
		put_c(&texts, '1');
		series_set(s, at);
	} else if (r->kind == K_SAMPLE && f->col->when & W_TOTAL) {
		if (s)
			s->sum += f->v.n;
	} else {
		put_value(&texts, &f->v);
		series_set(s, at);
	}
}

/* Texts that are no label stand together: gpustat_device_info{...} 1 */
static void take_info(struct out *o, const struct record *r)
{
	u32 from = (u32)texts.n;
	struct series *s;

	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (f->v.type == V_TEXT && f->col->shape == S_SCALAR && f->v.s.p < f->v.s.e && is_shown(o, f))
			put_label(&texts, from, str_z(f->col->member), f->v.s);
	}
	if (texts.n == from)
		return;
	take_other(from);
	s = series_at(o, F_INFO);
	from = (u32)texts.n;
	put_c(&texts, '1');
	series_set(s, from);
}

void prom_record(struct out *o, struct buf *b, const struct record *r)
{
	u32 from = (u32)texts.n;
	struct series *s;

	(void)b; /* what belongs together comes one record after the other: see prom_end */
	if (!has_room(o, r->text_n))
		return;
	take_labels(r);
	series_kind = r->kind;
	for (size_t i = 0; i < nlabels; i++)
		put_label(&texts, from, labels[i].name, labels[i].value);
	of_record = span_from(from);
	inst_of = NULL;
	if (texts.full) {
		take_other(from);
		drop_inst();
		o->lost++;
		return;
	}
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (is_shown(o, f) && !(f->col->when & W_RUN) && (f->col->shape != S_SCALAR || f->v.type != V_TEXT) && has_room(o, r->text_n))
			take_field(o, r, f);
	}
	if (has_room(o, r->text_n))
		take_info(o, r);
	if (r->kind == K_SAMPLE && !o->npatterns) {
		take_other((u32)texts.n);
		s = series_at(o, F_SAMPLES);
		if (s)
			s->sum++;
	}
}

/* HELP, TYPE and, where there is one, UNIT. OpenMetrics knows families without what their samples end with. */
static void put_head(struct buf *b, struct str name, const char *end, const char *unit, const char *help, bool open)
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
		put_n(b, series_text + s->base, s->base_n);
		if (s->base_n && s->inst_n)
			put_c(b, ',');
		put_n(b, series_text + s->inst, s->inst_n);
		put_c(b, '}');
	}
	put_c(b, ' ');
	if (s->value_n)
		put_n(b, series_text + s->value, s->value_n);
	else
		put_u64(b, s->sum);
	put_c(b, '\n');
}

/* Of columns that are one family in different modes, the first: its HELP must always be the same. */
static const struct column *first_named(const struct column *c)
{
	while (c > columns && c->group && c[-1].group && strcmp(c->group, c[-1].group) == 0 && c->member && c[-1].member &&
	       strcmp(c->member, c[-1].member) == 0)
		c--;
	return c;
}

/* What is left of a family. False: there is more. */
static bool put_families(struct buf *b, u16 i, bool open)
{
	char text[128];
	struct buf name = { .p = text, .cap = sizeof(text) };
	const struct column *c = i < ncolumns ? &columns[i] : NULL;
	u32 *at = &families[i].first;
	bool total = i == F_SAMPLES || (c && c->when & W_TOTAL);

	if (!*at)
		return true;
	if (c) {
		put_family(&name, series_kind, c);
	} else {
		put_z(&name, "gpustat_");
		put_z(&name, no_type(kind_names[series_kind]));
		put_z(&name, i == F_INFO ? "_info" : "_samples_total");
	}
	if (!families[i].headed)
		put_head(b, (struct str){ text, text + name.n }, total ? "_total" : i == F_INFO ? "_info" : "",
			 c ? bases[c->unit].name : NULL,
			 c ? first_named(c)->help : i == F_INFO ? "what is known in words" : "how many", open);
	families[i].headed = true;
	for (; *at && b->n <= b->cap / 2; *at = series[*at].next)
		put_series(b, (struct str){ text, text + name.n }, &series[*at]);
	return !*at;
}

static bool is_asked(const struct out *o, const char *member)
{
	for (size_t i = 0; i < o->npatterns; i++)
		if (str_eq(o->patterns[i], str_z(member)))
			return true;
	return o->npatterns == 0;
}

/* What is of the run has no label: the kind stands in its name, so that files of two kinds can lie side by side. Its
 * `dropped` beside that of a kind's records is self_dropped. */
static void put_run(const struct out *o, struct buf *b, bool open)
{
	static const struct {
		const char *name, *other, *end, *unit, *help; /* other: where it is not of devices */
		const char *member; /* which -f asks for it */
		u8 point;
		bool live; /* only of what has clients */
	} rows[] = {
		{ "unreadable_processes", "unreadable_processes", "", NULL, "processes that may not be read", "unreadable", 0, true },
		{ "dropped", "self_dropped", "", NULL, "clients, engines, regions and series beyond the tables", "dropped", 0, true },
		{ "self_cpu_seconds_total", "self_cpu_seconds_total", "_total", "seconds", "CPU time of gpustat itself", "", 9, false },
		{ "self_resident_bytes", "self_resident_bytes", "", "bytes", "memory of gpustat itself", "", 0, false },
	};
	const u64 values[LEN(rows)] = { reg_unreadable, reg_dropped + o->lost, o->self_ns, o->self_bytes };

	for (size_t i = 0; i < LEN(rows); i++) {
		bool known = rows[i].live ? 1u << o->kind & (W_DEVICE | W_CLIENT | W_CGROUP) : values[i];
		char text[64];
		struct buf name = { .p = text, .cap = sizeof(text) };

		if (!known || !is_asked(o, rows[i].member))
			continue;
		put_z(&name, "gpustat");
		put_word(&name, 0, o->kind == K_DEVICE ? NULL : no_type(kind_names[o->kind]));
		put_word(&name, 0, o->kind == K_DEVICE ? rows[i].name : rows[i].other);
		put_head(b, (struct str){ text, text + name.n }, rows[i].end, rows[i].unit, rows[i].help, open);
		put_n(b, text, name.n);
		put_c(b, ' ');
		put_dec(b, values[i], rows[i].point, 1);
		put_c(b, '\n');
	}
}

/* Family by family, a piece of b's half at most; then the table is empty for the next sample. */
static bool put_exposition(const struct out *o, struct buf *b, bool open)
{
	for (unsigned i = 0; i < FAMILIES; i++)
		if (!put_families(b, (u16)i, open))
			return true;
	put_run(o, b, open);
	for (u32 i = 1; i <= nseries; i++)
		*bucket_of(series[i].hash) = 0;
	memset(families, 0, sizeof(families));
	nseries = 0;
	texts.n = 0;
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

/* --- what stands before the fields of a record, made once: tags, or a path ----------------------------------------- */

static char *path_text;
static TABLE(path_text, 2 * REC_TEXT + 4096, 1, "bytes of a path"); /* escapes make the record's texts twice as long */
static struct buf path;

static void begin_line(const struct record *r)
{
	take_labels(r);
	path = table_buf(&path_text_table);
}

/* --- influx --------------------------------------------------------------------------------------------------- */

static size_t tag_ends[MAX_LABELS]; /* in path, of the tag of each label */

static void put_tag(struct buf *b, struct str name, struct str value)
{
	put_c(b, ',');
	put_str(b, name);
	put_c(b, '=');
	put_escaped(b, value, ",= ");
	if (b->n && b->p[b->n - 1] == '\\') /* would take the blank behind it, however it is written */
		b->p[b->n - 1] = '_';
}

/* Tags in their order, that of an instance or of a list's item among them. */
static void put_tags(struct buf *b, struct str name, struct str value)
{
	size_t i = 0, at;

	while (i < nlabels && name.p < name.e && str_order(labels[i].name, name) <= 0)
		i++;
	at = i ? tag_ends[i - 1] : 0;
	put_n(b, path.p, at);
	if (value.p < value.e)
		put_tag(b, name, value);
	put_n(b, path.p + at, path.n - at);
	b->full |= path.full;
}

/* Names of labels have no digits. */
static void sort_labels(void)
{
	for (size_t i = 1; i < nlabels; i++)
		for (size_t k = i; k > 0 && *labels[k].name.p <= *labels[k - 1].name.p && str_order(labels[k].name, labels[k - 1].name) < 0; k--) {
			struct label l = labels[k];

			labels[k] = labels[k - 1];
			labels[k - 1] = l;
		}
}

static void begin_tags(const struct record *r)
{
	begin_line(r);
	sort_labels();
	for (size_t i = 0; i < nlabels; i++) {
		put_tag(&path, labels[i].name, labels[i].value);
		tag_ends[i] = path.n;
	}
}

/* Whether two fields of groups are fields of one line. */
static bool same_point(const struct field *a, const struct field *b)
{
	return a && a->col->shape != S_LIST && a->col->group && b->col->group && strcmp(a->col->group, b->col->group) == 0 &&
	       str_eq(a->inst, b->inst);
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

	put_rest(b, from, f->col);
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

/* Nanoseconds since 1970; nothing where -t has another clock, or none. */
static void influx_finish(const struct out *o, struct buf *b, const struct val *time)
{
	if (time && o->time != T_MONO) {
		put_c(b, ' ');
		put_u64(b, time->n);
		put_z(b, "000");
	}
	put_c(b, '\n');
}

/* A line of all scalars, and one of each instance of a group. All numbers are floats, so that no field ever is of two
 * types. */
void influx_record(struct out *o, struct buf *b, const struct record *r)
{
	const struct val *time = record_get(r, NULL, "time");

	begin_tags(r);
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

/* --- graphite, statsd, collectd: a line for each value --------------------------------------------------------- */

enum { NODE_BYTES = 255 /* of a file name */, PART_BYTES = 127 /* collectd: DATA_MAX_NAME_LEN less the NUL */ };

static const struct str dev_label = STR("dev"), stat_label = STR("stat"), unit_label = STR("unit");

/* Makes what stands behind `from` one piece of a path: letters, digits, - and _, and dots where these do not separate.
 * A longer one is cut, and ends with a number made of all of it. */
static void end_node(struct buf *b, size_t from, size_t most, bool dots)
{
	u32 h = b->n - from > most ? hash_more(HASH_BEGIN, (struct str){ b->p + from, b->p + b->n }) : 0;

	if (b->n == from)
		put_c(b, '_');
	for (size_t i = from; i < b->n; i++) {
		char c = b->p[i];

		if ((u8)((c | 32) - 'a') >= 26 && (u8)(c - '0') >= 10 && c != '-' && c != '_' && !(dots && c == '.'))
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
	end_node(b, from, NODE_BYTES, false);
}

/* The labels that name the entity, one behind the other. */
static void put_identity(struct buf *b, size_t from)
{
	for (size_t i = 0; i < nlabels; i++) {
		if (str_eq(labels[i].name, dev_label) || str_eq(labels[i].name, stat_label) || str_eq(labels[i].name, unit_label))
			continue;
		if (b->n > from)
			put_c(b, '-');
		put_str(b, labels[i].value);
	}
}

static struct str label_named(struct str name)
{
	for (size_t i = 0; i < nlabels; i++)
		if (str_eq(labels[i].name, name))
			return labels[i].value;
	return (struct str){ 0 };
}

/* gpustat.HOST.DEV[.KIND.ID] */
static void begin_path(const struct out *o, const struct record *r)
{
	struct str dev;
	size_t from;

	begin_line(r);
	dev = label_named(dev_label);
	put_z(&path, "gpustat");
	put_node(&path, o->host ? str_z(o->host) : (struct str)STR("localhost"));
	if (dev.p < dev.e)
		put_node(&path, dev);
	if (r->kind == K_DEVICE)
		return;
	put_node(&path, str_z(kind_names[r->kind]));
	put_c(&path, '.');
	from = path.n;
	put_identity(&path, from);
	if (path.n == from)
		path.n -= !path.full;
	else
		end_node(&path, from, NODE_BYTES, false);
}

/* The instance, or a list's item. */
static struct str item_of(const struct field *f, struct buf *number)
{
	if (f->col->shape != S_LIST)
		return f->col->group ? f->inst : (struct str){ 0 };
	if (f->v.type == V_TEXT)
		return f->v.s;
	put_value(number, &f->v);
	return (struct str){ number->p, number->p + number->n };
}

/* [.GROUP][.INSTANCE].MEMBER_UNIT[.STAT] */
static void put_path(struct buf *b, const struct field *f)
{
	char text[24];
	struct buf number = { .p = text, .cap = sizeof(text) };
	struct str item = item_of(f, &number), stat = label_named(stat_label);
	size_t from;

	put_n(b, path.p, path.n);
	if (f->col->group)
		put_node(b, str_z(f->col->group));
	if (item.p < item.e)
		put_node(b, item);
	put_c(b, '.');
	from = b->n;
	put_rest(b, from, f->col);
	if (b->n == from)
		put_z(b, "value");
	if (stat.p < stat.e)
		put_node(b, stat);
}

/* Texts have no place where all is numbers; a list's items are 1. */
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

/* A total; of samples what those under this path add up to so far, since a second has but one value. */
static u64 total_of(struct out *o, const struct record *r, const struct field *f)
{
	u32 from = (u32)texts.n, n = nseries;
	struct series *s;

	if (r->kind != K_SAMPLE || !has_room(o, path.n))
		return f->v.n;
	put_n(&texts, path.p, path.n);
	of_record = span_from(from);
	take_other((u32)texts.n);
	s = series_at(o, (u16)(f->col - columns));
	if (nseries == n)
		texts.n = from;
	return s ? s->sum += f->v.n : f->v.n;
}

void graphite_record(struct out *o, struct buf *b, const struct record *r)
{
	begin_path(o, r);
	for (size_t i = 0; i < r->n; i++) {
		if (!is_numeric(o, &r->f[i]))
			continue;
		put_path(b, &r->f[i]);
		put_c(b, ' ');
		if (r->kind == K_SAMPLE && r->f[i].col->when & W_TOTAL)
			put_u64(b, total_of(o, r, &r->f[i]));
		else
			put_numeric(b, &r->f[i]);
		put_c(b, ' ');
		put_u64(b, (u64)o->now / 1000000000);
		put_c(b, '\n');
	}
}

/* All is a gauge but what samples add up to. A sign would change a gauge rather than set it: 0 goes first. */
void statsd_record(struct out *o, struct buf *b, const struct record *r)
{
	begin_path(o, r);
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

/* types.db has derive for whole numbers only: totals stay in the kernel's own unit. */
static void put_type(struct buf *b, const struct field *f)
{
	const struct column *c = f->col;
	const char *type = bases[c->unit].type;
	bool derive = !type && c->when & W_TOTAL;
	char text[24];
	struct buf number = { .p = text, .cap = sizeof(text) };
	struct str item = item_of(f, &number);
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
		put_rest(b, b->n, c);
	end_node(b, from, PART_BYTES, true);
}

static void collectd_value(struct out *o, struct buf *b, const struct record *r, const struct field *f)
{
	if (f->v.type == V_NULL)
		put_c(b, 'U');
	else if (bases[f->col->unit].type)
		put_number(b, &f->v);
	else if (f->col->when & W_TOTAL)
		put_u64(b, total_of(o, r, f));
	else
		put_numeric(b, f);
}

/* HOST/gpustat-DEV[-KIND-ID][-STAT] */
static void begin_plugin(const struct out *o, const struct record *r)
{
	const struct str host = o->host ? str_z(o->host) : (struct str)STR("localhost");
	const struct str pieces[] = { label_named(dev_label), label_named(stat_label) };
	size_t from;

	put_str(&path, host);
	end_node(&path, 0, PART_BYTES, true);
	put_c(&path, '/');
	from = path.n;
	put_z(&path, "gpustat");
	for (size_t i = 0; i < LEN(pieces); i++) {
		put_z(&path, pieces[i].p < pieces[i].e ? "-" : "");
		put_str(&path, pieces[i]);
		if (i || r->kind == K_DEVICE)
			continue;
		put_c(&path, '-');
		put_z(&path, kind_names[r->kind]);
		put_c(&path, '-');
		put_identity(&path, path.n);
	}
	end_node(&path, from, PART_BYTES, true);
}

void collectd_record(struct out *o, struct buf *b, const struct record *r)
{
	begin_line(r);
	begin_plugin(o, r);
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		/* What has no unit may be a text that is not known. */
		if (!is_numeric(o, f) && (f->v.type != V_NULL || f->col->unit == U_NONE || !is_wanted(o, f)))
			continue;
		put_z(b, "PUTVAL \"");
		put_n(b, path.p, path.n);
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

/* --- kmsg -------------------------------------------------------------------------------------------------------- */

enum { KMSG_BYTES = 976 /* LOG_LINE_MAX of older kernels, with the prefix */ };

static char kmsg_text[KMSG_BYTES];
static struct buf kmsg_line = { .p = kmsg_text, .cap = KMSG_BYTES - sizeof(" ...\n") + 1 };
static bool kmsg_cut;

/* What a table shows, or -f; the log has its own clock. */
static bool in_kmsg(const struct out *o, const struct field *f)
{
	bool sum = f->col->when & W_META && f->col->when & W_LABEL; /* which of -S */

	return out_selects(o, f) && (sum || !(f->col->when & W_META)) && (sum || o->npatterns || (f->col->when & W_TABLE && f->v.type != V_TIME));
}

void kmsg_record(struct out *o, struct buf *b, const struct record *r)
{
	bool any = false;

	(void)b; /* all of a sample is one line: see kmsg_end */
	for (size_t i = 0; i < r->n && !kmsg_cut; i++) {
		size_t from = kmsg_line.n;

		if (!in_kmsg(o, &r->f[i]))
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
		kmsg_cut = kmsg_line.full;
		if (kmsg_cut)
			kmsg_line.n = from;
	}
}

/* Longer ones say that they are cut. */
bool kmsg_end(struct out *o, struct buf *b)
{
	(void)o;
	if (kmsg_line.n || kmsg_cut) {
		put_n(b, kmsg_text, kmsg_line.n);
		put_z(b, kmsg_cut ? " ...\n" : "\n");
	}
	kmsg_line.n = 0;
	kmsg_line.full = kmsg_cut = false;
	return false;
}
