/* svg.c - draws a run as a picture: its values over time, as self-contained SVG. Values are stored
 * in slots, which are columns of the time axis. Slots get wider as the run gets longer; each keeps
 * the minimum and the maximum. Pure: no system calls. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "views/views.h"
#include "sources/os/os.h"

enum {
	PLOT_W = 640,           /* width of the time axis in pixels */
	/* maximum number of slots on the time axis; if more are needed, slots are merged until each
	 * is as wide as a pixel */
	SLOTS = 2 * PLOT_W,
	/* maximum number of lines in all panels together: 8 lines in 8 panels for each of 8 GPUs;
	 * the values of a line need 10 KiB */
	MAX_SERIES = 512,
	MAX_PANELS = 96, /* maximum number of panels: 96 panels are a picture 12 000 pixels high */
	/* maximum number of lines shown in a panel: more colours would be hard to distinguish */
	SHOWN = 8,
	/* maximum length of a line's name in bytes; the legend shows only the part for which it has
	 * room */
	LABEL = 64,
	DEFAULT_POINT = 6,      /* number of decimals of stored values that have no unit */
	LEFT = 60, /* pixels left of the time axis, reserved for the numbers of the vertical axis */
	LEGEND = LEFT + PLOT_W + 14, NAMES = 198, NUMBER = 48,
	WIDTH = LEGEND + 20 + NAMES + 3 * NUMBER + 14,
	ROW = 16,
	/* maximum number of slots that remain after merging. At first, slots before and after a gap
	 * in time are not merged with each other; if more than MAX_KEPT slots remain, they are. */
	MAX_KEPT = SLOTS * 3 / 4,
};

/* --- panels and series ------------------------------------------------------------------------ */

/* Fields that are drawn without -f, in the order of their panels. Fields with the same title
 * share a panel. */
static const struct drawn {
	/* what: text at the end of the name of a line, after the instance; NULL: none */
	const char *field, *title, *what;
	/* bits W_*: kinds of records for which the field is drawn; 0: all kinds */
	u16 kinds;
	bool separate; /* true: each instance of the field gets a panel of its own */
} drawn_fields[] = {
	{ "engine.busy", "engines busy", NULL, 0, false },
	{ "busy", "engines busy", "whole device", 0, false },
	{ "memory.resident", "memory", NULL, W_DEVICE, false },
	{ "vram.used", "memory", "vram, driver's", 0, false },
	{ "gtt.used", "memory", "gtt, driver's", 0, false },
	{ "used", "memory", NULL, W_CLIENT | W_CGROUP | W_PROCESS, false },
	{ "freq.cur", "clock", NULL, 0, false },
	{ "freq.act", "clock", "actual", 0, false },
	{ "power", "power", NULL, 0, false },
	{ "temp", "temperature", NULL, 0, false },
	{ "fan", "fan", NULL, 0, false },
	{ "clients", "clients", NULL, W_DEVICE, false },
	{ "cpu", "CPU", NULL, W_PROCESS, false },
	{ "rss", "main memory", NULL, W_PROCESS, false },
	{ "value", NULL, NULL, W_EVENT | W_COUNTER, true },
	{ "period", NULL, "period", W_SAMPLE, true },
	{ "counter", NULL, NULL, W_OA | W_COUNTERS, true },
};

/* A panel: a chart with several lines. The values of its lines are stored as whole numbers of
 * 2^shift/10^point of the unit. At first, `point` is the number of decimals of the unit and `shift`
 * is 0. A value above MAX_FIXED decreases `point`; a number that does not fit in 32 bits increases
 * `shift`. */
struct panel {
	u64 key, dev;
	size_t rank; /* sort key of panels: first by device, then by quantity */
	const struct column *col;
	u8 point, shift;
	bool fine; /* true if the panel has a value that is not a whole number of the unit */
	char title[2 * LABEL], unit[LABEL];
	u8 title_n, unit_n;
	struct series *shown[SHOWN];
	/* nshown: number of lines in shown[]; more: number of lines of the panel that are not
	 * shown; both are set when the picture is drawn */
	size_t nshown, more;
};

/* The values of one line in a panel. */
struct series {
	u64 key, sample; /* sample: number of the last sample with a value of this line */
	/* hash of the texts that identify the client, process or other entity; the same in all
	 * panels */
	u64 entity;
	struct panel *panel;
	size_t from, to;
	i64 sum, n;
	i32 min, max;
	char name[LABEL];
	u8 name_n;
	bool shown;
	u8 colour; /* index of the line's colour, plus 1; 0: none yet */
	/* minimum and maximum in each slot; lo > hi if no value is known */
	i32 lo[SLOTS], hi[SLOTS];
};

/* A column of the time axis. Times are in microseconds since the first sample. */
struct slot {
	i64 from, to;
	bool broken; /* true: there is a gap in time between the previous slot and this one */
};

static struct {
	size_t n; /* number of slots of the time axis in use */
	/* All in us. first, last: times of the first and the last sample as in the records,
	 * negative if unknown; step: time between the last two samples; end: time of the last
	 * sample on the time axis, which starts at 0. */
	i64 first, last, step, end;
	/* width of a slot in us after slots were merged; 0 before: each sample has a slot of its
	 * own */
	i64 width;
	/* samples: number of samples; went_back: number of times that the clock went back; dropped:
	 * number of values that were too large, or for which no panel or line was free, even if
	 * they replaced another line */
	u64 samples, went_back, dropped;
	/* any: there was at least one sample; counted: the records have no times, so samples are
	 * drawn at distances of 1 s */
	bool any, counted;
	i64 dt; /* interval of the rates of the current record, in us; negative if unknown */
} axis;

static struct {
	struct panel *panels;
	struct series *series;
	struct slot *slots;
	size_t nseries, npanels;
	struct series *last_series;
	struct panel *last_panel;
	/* panels in the order of the picture, from top to bottom */
	struct panel *placed[MAX_PANELS];
	size_t next_panel;
} drawing;
static struct {
	struct table panels, series, slots;
} drawing_tables = {
	.panels = TABLE_ROW(drawing.panels, MAX_PANELS, 13, "panels"),
	.series = TABLE_ROW(drawing.series, MAX_SERIES, 8, "lines in panels"),
	.slots = TABLE_ROW(drawing.slots, SLOTS, SLOTS, "columns of time"),
};

/* Maximum value that is drawn, in 10^-point of its unit. Ten times this value fits in 64 bits. */
static const u64 MAX_FIXED = 1000000000000000000;

/* --- time ------------------------------------------------------------------------------------- */

static bool is_known(const struct series *s, size_t i)
{
	return i >= s->from && i <= s->to && s->lo[i] <= s->hi[i];
}

static void slot_clear(struct series *s, size_t i)
{
	s->lo[i] = INT32_MAX;
	s->hi[i] = INT32_MIN;
}

static void slot_extend(struct series *s, size_t i, i32 lo, i32 hi)
{
	s->lo[i] = lo < s->lo[i] ? lo : s->lo[i];
	s->hi[i] = hi > s->hi[i] ? hi : s->hi[i];
}

static void series_merge_slots(struct series *s, const u16 *to)
{
	size_t was = SLOTS;

	for (size_t i = s->from; i <= s->to; i++) {
		i32 lo = s->lo[i], hi = s->hi[i];

		if (to[i] != was)
			slot_clear(s, to[i]);
		was = to[i];
		slot_extend(s, was, lo, hi);
	}
	s->from = to[s->from];
	s->to = to[s->to];
}

/* Merges slots of the time axis, so that each slot is as wide as a pixel. gaps: true to keep the
 * slots before and after a gap in time apart; if more than MAX_KEPT slots are left then, merges
 * these, too. */
static void widen_slots(bool gaps)
{
	static u16 to[SLOTS];
	size_t n = 0;

	axis.width = axis.end / PLOT_W + 1;
	for (size_t i = 0; i < axis.n; i++) {
		if (n == 0 || (gaps && drawing.slots[i].broken) ||
		    drawing.slots[i].from / axis.width != drawing.slots[n - 1].from / axis.width) {
			drawing.slots[n].from = drawing.slots[i].from;
			drawing.slots[n++].broken = drawing.slots[i].broken;
		}
		drawing.slots[n - 1].to = drawing.slots[i].to;
		to[i] = (u16)(n - 1);
	}
	for (struct series *s = drawing.series; s < drawing.series + drawing.nseries; s++)
		series_merge_slots(s, to);
	axis.n = n;
	if (n > MAX_KEPT)
		widen_slots(false);
}

static void slot_open(i64 step, bool broken)
{
	axis.samples++;
	axis.end += axis.end < INT64_MAX / 4 ? step : 0;
	if (axis.n && !broken && axis.width &&
	    axis.end / axis.width == drawing.slots[axis.n - 1].from / axis.width) {
		drawing.slots[axis.n - 1].to = axis.end;
		return;
	}
	if (axis.n == SLOTS)
		widen_slots(true);
	drawing.slots[axis.n].from = drawing.slots[axis.n].to = axis.end;
	drawing.slots[axis.n++].broken = broken;
}

/* Begins the next sample. A gap is shown before it if the clock went back, or if the time since the
 * previous sample is more than three times the usual one. */
static void sample_begin(i64 time)
{
	i64 usual = axis.dt > 0 ? axis.dt : axis.step > 0 ? axis.step : 1000000, delta = usual;
	bool broken = false;

	if (!axis.any) {
		axis.any = true;
		axis.first = time;
		delta = 0;
	} else if (time < 0 && axis.dt <= 0) {
		axis.counted = true;
	} else if (time >= 0 && axis.last >= 0 && time < axis.last) {
		axis.went_back++;
		broken = true;
	} else if (time >= 0 && axis.last >= 0) {
		delta = time - axis.last;
		broken = axis.dt > 0 && delta / 3 > (axis.step > axis.dt ? axis.step : axis.dt);
		axis.step = delta;
	}
	axis.last = time;
	slot_open(delta, broken);
}

/* Begins a record. Records with the same time belong to one sample. time: time of the record; dt:
 * interval of its rates; both in microseconds, negative if unknown. */
void svg_begin(i64 time, i64 dt)
{
	time = time > INT64_MAX / 8 ? -1 : time;
	if (!table_has(&drawing_tables.slots, SLOTS - 1) || !table_has(&drawing_tables.panels, 0) ||
	    !table_has(&drawing_tables.series, 0))
		return;
	axis.dt = dt;
	if (!axis.any || (time >= 0 && time != axis.last))
		sample_begin(time);
}

/* --- names ------------------------------------------------------------------------------------ */

/* Continues the hash h with a text and with a value that marks the end of the text, and returns the
 * new hash. */
static u64 text_hash(u64 h, struct str s)
{
	return (hash64_more(h, s) ^ 0x1ff) * HASH64_PRIME;
}

/* Writes a text, in which invalid bytes and characters that XML forbids become U+FFFD. */
static void put_clean(struct buf *b, struct str s)
{
	static const struct str nonchars = STR("\xef\xbf");

	while (s.p < s.e && !b->full) {
		size_t n = utf8_len(s.p, s.e);
		struct str rest = s;
		bool bad = n == 0 || is_control(s.p, n) ||
			   (str_skip(&rest, nonchars) && (u8)*rest.p >= 0xbe);

		put_str(b, bad ? (struct str)STR("\xef\xbf\xbd") : (struct str){ s.p, s.p + n });
		s.p += n ? n : 1;
	}
}

/* Returns the last 40 bytes of a path, because its end is more specific than its beginning. */
static struct str tail(struct str s)
{
	const char *from = str_len(s) > 40 ? s.e - 40 : s.p;

	while (from < s.e && ((u8)*from & 0xc0) == 0x80)
		from++;
	return (struct str){ from, s.e };
}

static void put_word(struct buf *b, const char *lead, struct str s)
{
	if (s.p == s.e)
		return;
	if (b->n)
		put_c(b, ' ');
	put_z(b, lead);
	put_clean(b, s);
}

/* Splits the instance in a row of long CSV from `stat`, "SET:EVENT@SITE", since long CSV has no
 * columns for the event and its site. Returns "SET:EVENT". Stores in *site the site, or an empty
 * text if there is none. */
static struct str event_split(struct str inst, struct str *site)
{
	const char *at = inst.e;

	while (at > inst.p && at[-1] != '@')
		at--;
	*site = at > inst.p ? (struct str){ at, inst.e } : (struct str){ inst.e, inst.e };
	return (struct str){ inst.p, at > inst.p ? at - 1 : inst.e };
}

/* Splits the name of a counter, such as "host/disk/sda/read". Returns the name of the panel,
 * "host/disk/read". Stores in *which the name of the line, "sda". */
static struct str counter_split(struct str name, struct str *which)
{
	static char text[4 * LABEL];
	struct buf b = BUF(text);
	const char *last = name.e, *from;

	while (last > name.p && (last == name.e || *last != '/'))
		last--;
	for (from = last; from > name.p && from[-1] != '/';)
		from--;
	if (from == name.p || last == name.p)
		return name;
	put_str(&b, (struct str){ name.p, from });
	put_str(&b, (struct str){ last + 1, name.e });
	*which = (struct str){ from, last };
	/* in the name of a counter, "-" stands for the sum of all instances */
	if (str_is(*which, "-"))
		*which = (struct str){ 0 };
	return b.full ? name : (struct str){ b.p, b.p + b.n };
}

static const struct drawn *drawn_of(const struct column *c, u16 kind)
{
	for (size_t i = 0; i < LEN(drawn_fields); i++) {
		const struct drawn *q = &drawn_fields[i];
		struct str f = str_z(q->field);

		if (q->kinds && kind && !(q->kinds & kind))
			continue;
		if (c->group && (!str_skip_z(&f, c->group) || (c->member && !str_skip_z(&f, "."))))
			continue;
		if (str_eq(f, str_z(c->member)))
			return q;
	}
	return NULL;
}

/* --- values ----------------------------------------------------------------------------------- */

static struct panel *panel_find(const struct plotids *id, const struct column *c,
				const struct drawn *q, struct str separate, u16 kind)
{
	static const struct str dot = STR(" \xc2\xb7 ");
	u64 dev = text_hash(1, id->text[ID_DEV]), key = text_hash(dev, separate);
	struct panel *p;
	struct buf b;

	key = q && q->title ? text_hash(key, str_z(q->title)) :
		text_hash(text_hash(key, str_z(c->group)), str_z(c->member));
	key = text_hash(key, id->text[ID_KIND]);
	for (p = drawing.panels; p < drawing.panels + drawing.npanels; p++)
		if (p->key == key)
			return p;
	if (!table_has(&drawing_tables.panels, drawing.npanels))
		return NULL;
	p = &drawing.panels[drawing.npanels++];
	p->key = key;
	p->dev = dev;
	p->col = c;
	p->point = c->unit ? units[c->unit].point : DEFAULT_POINT;
	while (drawing.panels[p->rank].dev != dev)
		p->rank++;
	p->rank = p->rank * 2 * LEN(drawn_fields) +
		  (q ? (size_t)(q - drawn_fields) : LEN(drawn_fields));
	b = (struct buf){ .p = p->title, .cap = sizeof(p->title) };
	put_clean(&b, id->text[ID_DEV]);
	if (b.n)
		put_str(&b, dot);
	if (str_len(separate)) {
		put_clean(&b, separate);
	} else if (q && q->title) {
		put_z(&b, q->title);
	} else {
		put_z(&b, c->group ? c->group : c->member);
		if (c->group && c->member) {
			put_c(&b, ' ');
			put_z(&b, c->member);
		}
	}
	put_z(&b, kind == W_CLIENT  ? " by client" :
		  kind == W_CGROUP  ? " by cgroup" :
		  kind == W_PROCESS ? " by process" : "");
	p->title_n = (u8)b.n;
	return p;
}

static u64 power_of_ten(unsigned n)
{
	u64 ten = 1;

	while (n-- > 0)
		ten *= 10;
	return ten;
}

/* Stores in *to the value v, as a whole number of 10^-point of its unit. Returns false if it is
 * above MAX_FIXED. */
static bool to_fixed(const struct val *v, unsigned point, i64 *to)
{
	int places = (int)point - units[v->unit].point - v->point;
	u64 n = v->n;

	for (; places > 0 && n <= MAX_FIXED; places--)
		n *= 10;
	for (; places < 0; places++)
		n = n / 10 + (places == -1 && n % 10 >= 5);
	*to = v->neg ? -(i64)n : (i64)n;
	return n <= MAX_FIXED;
}

static void panel_divide(const struct panel *p, i32 by)
{
	for (struct series *s = drawing.series; s < drawing.series + drawing.nseries; s++) {
		if (s->panel != p)
			continue;
		s->sum /= by;
		s->min /= by;
		s->max /= by;
		for (size_t i = s->from; i <= s->to; i++)
			if (is_known(s, i)) {
				s->lo[i] /= by;
				s->hi[i] /= by;
			}
	}
}

/* Stores in *to the value v as a whole number in the panel's scaling (`point` and `shift`). If v is
 * too large for it, first changes the scaling, and with it all values that the panel already has.
 * Returns false if v is too large for any scaling. */
static bool panel_fit(struct panel *p, const struct val *v, i32 *to)
{
	i64 x;

	for (; !to_fixed(v, p->point, &x); p->point--) {
		if (p->point == 0)
			return false;
		panel_divide(p, 10);
	}
	p->fine |= x % (i64)power_of_ten(p->point) != 0;
	for (; (x < 0 ? -x : x) >> p->shift > INT32_MAX; p->shift++)
		panel_divide(p, 2);
	*to = (i32)(x / ((i64)1 << p->shift));
	return true;
}

/* Returns memory for a new line (series) of panel p, whose first value is v. If the table of lines
 * is full, returns the line of this panel with the smallest sum, which the caller replaces,
 * provided that this sum is smaller than v; otherwise NULL. */
static struct series *series_new(const struct panel *p, i32 v)
{
	struct series *least = NULL;

	if (table_has(&drawing_tables.series, drawing.nseries))
		return &drawing.series[drawing.nseries++];
	for (struct series *s = drawing.series; s < drawing.series + drawing.nseries; s++)
		if (s->panel == p && s->sum < v && (!least || s->sum < least->sum))
			least = s;
	return least;
}

static struct series *series_find(u64 key)
{
	struct series *s = drawing.last_series;

	for (size_t i = 0; i < drawing.nseries;
	     i++) { /* a fast path: lines come in the same order in each sample */
		if (++s >= drawing.series + drawing.nseries)
			s = drawing.series;
		if (s->key == key)
			return drawing.last_series = s;
	}
	return NULL;
}

static void series_name(struct series *s, const struct plotids *id, const struct drawn *q,
			struct str inst, u16 kind)
{
	static const enum plotid where[] = { ID_NODE, ID_SOCKET, ID_DIE, ID_CLUSTER, ID_CACHE,
					     ID_CORE, ID_CPU };
	static const char *const letters[] = { "N", "S", "D", "CLS", "cache ", "C", "CPU" };
	struct buf b = { .p = s->name, .cap = sizeof(s->name) };

	if (kind == W_CGROUP)
		put_word(&b, "", tail(id->text[ID_CGROUP]));
	if (kind & (W_CLIENT | W_PROCESS | W_EVENT | W_SAMPLE)) {
		for (size_t i = 0; i < LEN(where) && !(kind & (W_CLIENT | W_PROCESS)); i++)
			put_word(&b, letters[i], id->text[where[i]]);
		if (kind != W_SAMPLE) {
			put_word(&b, "", id->text[ID_COMM]);
			put_word(&b, "", id->text[str_len(id->text[ID_TID]) ? ID_TID : ID_PID]);
		}
		if (kind == W_CLIENT && b.n == 0)
			put_word(&b, "client ", id->text[ID_CLIENT]);
		if (kind == W_EVENT)
			put_word(&b, "", tail(id->text[ID_CGROUP]));
	}
	put_word(&b, "", inst);
	if (q && q->what)
		put_word(&b, "", str_z(q->what));
	if (b.n == 0)
		put_z(&b, "all");
	s->name_n = (u8)b.n;
}

static void series_put(struct series *s, i32 v)
{
	size_t at = axis.n - 1;

	if (s->n == 0) {
		s->from = at;
		s->to = at - 1;
		s->min = s->max = v;
	}
	while (s->to + 1 <= at)
		slot_clear(s, ++s->to);
	slot_extend(s, at, v, v);
	s->min = v < s->min ? v : s->min;
	s->max = v > s->max ? v : s->max;
	s->sum += v;
	s->n++;
	s->sample = axis.samples;
}

/* Returns the name of the panel of a counter or perf event, because each has its own panel; a NULL
 * text for other fields. The name is taken from the record or from the field's instance. *name:
 * first the instance of the field, on return the name of the line in the panel. */
static struct str separate_name(const struct plotids *id, const struct column *c,
				const struct drawn *q, u16 kind, struct str *name)
{
	struct str inst = *name;

	if (!q || !q->separate)
		return (struct str){ 0 };
	*name = (struct str){ 0 };
	if (kind & (W_EVENT | W_SAMPLE))
		return str_len(id->text[ID_EVENT]) ? id->text[ID_EVENT] : event_split(inst, name);
	return counter_split(c->shape == S_SCALAR && str_len(id->text[ID_NAME]) ?
			     id->text[ID_NAME] : inst, name);
}

/* Sets the unit of the panel to which svg_put() added the last value, if the record has a unit.
 * This is a function of its own, because rows of long CSV have the unit after the value. */
void svg_unit(struct str unit)
{
	struct panel *p = drawing.last_panel;
	struct buf b = { .cap = LABEL };

	if (!p || p->unit_n || !unit.p)
		return;
	/* forget the panel: the next unit may belong to a value that is not drawn, and must not
	 * change it */
	drawing.last_panel = NULL;
	b.p = p->unit;
	put_clean(&b, unit);
	p->unit_n = (u8)b.n;
}

/* Adds a value of the current record to the picture. id: texts that identify the record's entity.
 * chosen: true if -f names the field; then it is drawn even if it is not in drawn_fields[]. */
void svg_put(const struct plotids *id, const struct column *c, struct str inst, const struct val *v,
	     bool chosen)
{
	u16 kind = plot_kind(id);
	const struct drawn *q = drawn_of(c, kind);
	struct str name = inst, separate;
	struct series *s = NULL;
	struct panel *p;
	u64 key, entity = 0;
	i32 n;

	drawing.last_panel = NULL;
	if ((!q && !chosen) || axis.n == 0)
		return;
	separate = separate_name(id, c, q, kind, &name);
	p = drawing.last_panel = panel_find(id, c, q, separate, kind);
	if (!p || !panel_fit(p, v, &n)) {
		axis.dropped++;
		return;
	}
	/* ID_COMM and ID_NAME do not identify an entity here, because names may change */
	for (size_t i = ID_CLIENT; i < ID_COUNT; i++)
		if (str_len(id->text[i]) && (i != ID_PID || !str_len(id->text[ID_CLIENT])))
			entity = text_hash(entity + i, id->text[i]);
	key = text_hash(text_hash(text_hash(p->key + entity, str_z(c->group)), str_z(c->member)),
			name);
	s = series_find(key);
	if (!s) {
		s = series_new(p, n);
		if (!s || s->n)
			axis.dropped++;
		if (!s)
			return;
		s->key = key;
		s->entity = entity ? entity : text_hash(0, name);
		s->panel = p;
		s->sum = s->n = 0;
		s->sample = 0;
		series_name(s, id, q, name, kind);
		drawing.last_series = s;
	}
	if (axis.last < 0 && s->sample == axis.samples && s->n)
		/* records without times: a second value for the same line begins a new sample */
		sample_begin(-1);
	series_put(s, n);
	svg_unit(id->text[ID_UNIT]);
}

/* --- records ---------------------------------------------------------------------------------- */

/* Adds a record to the picture: with -f, the numbers that -f names; without -f, those in
 * drawn_fields[]. */
void svg_record(struct out *o, struct buf *b, const struct record *r)
{
	static char text[ID_COUNT][DIGITS];
	const struct val *time = record_get(r, NULL, "time"), *dt = record_get(r, NULL, "dt");
	struct plotids id = { 0 };

	(void)b;
	o->headed = true;
	svg_begin(time ? (i64)time->n : -1, dt ? (i64)dt->n : -1);
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		size_t n = f->col->group ? (size_t)ID_COUNT : plot_id(str_z(f->col->member));

		if (n < ID_COUNT && f->v.type == V_INT) {
			struct buf t = { .p = text[n], .cap = DIGITS };

			put_u64(&t, f->v.n);
			id.text[n] = (struct str){ t.p, t.p + t.n };
		} else if (n < ID_COUNT && f->v.type == V_TEXT) {
			id.text[n] = f->v.s;
		}
	}
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];
		bool chosen = o->npatterns && out_selects(o, f);

		if (f->v.type == V_INT && !(f->col->when & (W_ID | W_META)) &&
		    (chosen || o->npatterns == 0))
			svg_put(&id, f->col, f->col->group ? f->inst : (struct str){ 0 }, &f->v,
				chosen);
	}
}

/* --- scales ----------------------------------------------------------------------------------- */

/* Scale of the vertical axis of a panel. Values are in 10^-point of the unit. */
struct scale {
	i64 bottom, top, step;
	u64 div; /* value, in 10^-point of the unit, for which the axis has the number 1 */
	u8 digits;               /* number of decimals of the numbers at the axis */
	const char *lead, *unit; /* prefix and unit, such as "G" and "Hz" */
};

/* Returns the distance between two grid lines, so that there are at most four such steps in
 * `range`. The step is 1, 2, 2.5 or 5 times a power of ten, times `least`, the smallest step; for
 * bytes it is `least` times a power of two. */
static i64 nice_step(i64 range, bool bytes, i64 least)
{
	static const u8 steps[] = { 10, 20, 25, 50 };
	i64 step = least;

	if (bytes) {
		while (step < range / 4)
			step *= 2;
		return step;
	}
	for (;; least *= 10)
		for (size_t i = 0; i < LEN(steps); i++)
			if ((step = least * steps[i] / 10) * 4 >= range)
				return step;
}

static i64 round_down(i64 v, i64 step)
{
	return v - (v % step + step) % step;
}

static void scale_unit(struct scale *s, u8 unit)
{
	static const char leads[][6][10] = {
		{ "", "thousand ", "million ", "billion ", "10\xc2\xb9\xc2\xb2 ",
		  "10\xc2\xb9\xe2\x81\xb5 " },
		{ "", "Ki", "Mi", "Gi", "Ti", "Pi" },
		{ "", "k", "M", "G", "T", "P" },
		{ "n", "\xc2\xb5", "m", "", "thousand ", "million " },
	};
	bool bytes = unit == U_BYTES || unit == U_RATE;
	size_t row = bytes ? 1 : unit == U_HZ ? 2 : unit == U_NS ? 3 : 0, i = 0;
	u64 base = bytes ? 1024 : 1000, from = row ? 1 : 100;
	u64 high = (u64)(s->top > -s->bottom ? s->top : -s->bottom);

	s->unit = unit == U_BYTES ? "B" :
		  unit == U_RATE ? "B/s" :
		  unit == U_CELSIUS ? "\xc2\xb0" "C" :
		  unit == U_NS ? "s" : units[unit].name;
	/* The first prefix is used for values of at least `base * from`. from is 1, but 100 for a
	 * unit without SI prefixes: 25 000 is written in full, and "thousand" is used from 100
	 * thousand on. */
	for (; i + 1 < LEN(leads[0]) && high / s->div >= base * from; i++) {
		s->div *= base;
		from = 1;
	}
	s->lead = leads[row][i];
}

static struct scale scale_of(i64 min, i64 max, u8 unit, unsigned point, bool fine)
{
	i64 one = (i64)power_of_ten(point), far = unit == U_CELSIUS ? 5 * one : one;
	struct scale s = { .bottom = min, .top = max, .div = (u64)one };

	if (unit == U_PERCENT && min >= 0 && max <= 100 * one + one / 2)
		s.top = 100 * one;
	/* The scale of a temperature does not start at 0 C, but covers at least 10 degrees, so that
	 * a change of one degree does not fill the height of the panel. */
	if (unit != U_CELSIUS || s.top - s.bottom >= 2 * far) {
		s.bottom = min < 0 || unit == U_CELSIUS ? min : 0;
		s.top = s.top > 0 || unit == U_CELSIUS ? s.top : 0;
		s.top += s.top == s.bottom ? far : 0;
	} else {
		s.bottom -= far;
		s.top += far + one;
	}
	s.step = nice_step(s.top - s.bottom, unit == U_BYTES || unit == U_RATE, fine ? 1 : one);
	s.bottom = round_down(s.bottom, s.step);
	s.top = -round_down(-s.top, s.step);
	scale_unit(&s, unit);
	for (u64 rest = (u64)s.step % s.div; rest && s.digits < 3; s.digits++)
		rest = rest * 10 % s.div;
	return s;
}

static void put_fixed(struct buf *b, i64 v, u64 div, u8 digits)
{
	u64 n = muldiv((u64)(v < 0 ? -v : v), 2 * power_of_ten(digits), div);

	n = n / 2 + (n & 1);
	if (v < 0 && n > 0)
		put_c(b, '-');
	put_dec(b, n, digits, digits);
}

/* Writes v / div with three significant digits; a whole number is written with all its digits. */
static void put_short(struct buf *b, i64 v, u64 div)
{
	u64 a = (u64)(v < 0 ? -v : v), n = muldiv(a, 10000, div);

	put_fixed(b, v, div,
		  n >= 999500 || n < 5 || a % div == 0 ? 0 : n >= 99950 ? 1 : n >= 995 ? 2 : 3);
}

/* --- SVG text of the picture ------------------------------------------------------------------ */

/* Writes `text`, in which each '%' is replaced by the next number of n[]. */
static void put_numbered(struct buf *b, const char *text, const i64 *n)
{
	for (; *text; text++)
		if (*text == '%')
			put_i64(b, *n++);
		else
			put_c(b, *text);
}

/* Writes a text escaped for XML, cut to `room` character widths. Characters of three bytes or more
 * are counted as two, because they may be wide. */
static void put_xml(struct buf *b, struct str s, size_t room)
{
	static const struct { char c; const char *as; } escapes[] = {
		{ '<', "&lt;" }, { '>', "&gt;" }, { '&', "&amp;" },
	};

	while (s.p < s.e) {
		size_t n = utf8_len(s.p, s.e), width = n > 2 ? 2 : 1, k = 0;

		/* the text ends within a UTF-8 character, or has an invalid byte: the rest is left
		 * out */
		if (n == 0)
			return;
		if (room < width + (s.p + n < s.e)) {
			put_z(b, "\xe2\x80\xa6");
			return;
		}
		while (k < LEN(escapes) && escapes[k].c != *s.p)
			k++;
		if (k < LEN(escapes))
			put_z(b, escapes[k].as);
		else
			put_n(b, s.p, n);
		s.p += n;
		room -= width;
	}
}

static void text_at(struct buf *b, const char *class, i64 x, i64 y)
{
	put_numbered(b, "<text x=\"%\" y=\"%\" class=\"", (const i64[]){ x, y });
	put_z(b, class);
	put_z(b, "\">");
}

/* Returns the x coordinate of a time, in tenths of a pixel from the start of the time axis. */
static i64 time_to_x(i64 t)
{
	i64 span = axis.end;

	return span ? (i64)muldiv((u64)t, (u64)PLOT_W * 10, (u64)span) : (i64)PLOT_W * 5;
}

struct pen {
	struct buf *b;
	i64 x, y;
	bool down, drawn;
};

static void pen_to(struct pen *p, i64 x, i64 y)
{
	i64 by = p->down ? y - p->y : y;

	put_c(p->b, p->down ? 'l' : 'M');
	put_numbered(p->b, by < 0 ? "%%" : "%,%", (const i64[]){ p->down ? x - p->x : x, by });
	p->drawn = p->down;
	p->down = true;
	p->x = x;
	p->y = y;
}

/* Ends a line of a chart (an SVG path). A single point is drawn as a short line. */
static void pen_up(struct pen *p)
{
	if (p->down && !p->drawn)
		put_z(p->b, "l-20,0h40");
	p->down = p->drawn = false;
}

/* Draws a vertical line from the minimum to the maximum of the values in one column of pixels. The
 * line starts at the end that is nearer to the previous point. */
static void draw_column(struct pen *p, i64 x, i64 low, i64 high)
{
	i64 to_low = p->y > low ? p->y - low : low - p->y;
	i64 to_high = p->y > high ? p->y - high : high - p->y;
	bool low_first = p->down && to_low < to_high;

	pen_to(p, x, low_first ? low : high);
	if (low != high)
		pen_to(p, x, low_first ? high : low);
}

/* Scale and height of the chart of a panel, to convert values to y coordinates. pixels: height of
 * the chart in pixels; shift: that of the panel, see struct panel. */
struct chart {
	struct scale scale;
	i64 pixels;
	u8 shift;
};

/* Returns the y coordinate of a value, measured from the top of the panel in tenths of a pixel. */
static i64 value_to_y(const struct chart *f, i32 v)
{
	const struct scale *s = &f->scale;

	return (i64)(muldiv((u64)(s->top - v * ((i64)1 << f->shift)), (u64)f->pixels * 20,
			    (u64)(s->top - s->bottom)) + 1) / 2;
}

static void draw_line(struct buf *b, const struct series *s, const struct chart *f)
{
	struct pen pen = { .b = b };
	i64 at = -1;
	i32 lo = 0, hi = 0;

	for (size_t i = s->from; i <= s->to + 1; i++) {
		const struct slot *t = &drawing.slots[i];
		bool known = is_known(s, i);
		i64 x = i < axis.n ? time_to_x(t->from + (t->to - t->from) / 2) : 0;

		if (at >= 0 && !(known && !t->broken && x / 10 == at / 10)) {
			draw_column(&pen, at, value_to_y(f, lo), value_to_y(f, hi));
			at = -1;
		}
		if (!known || drawing.slots[i].broken)
			pen_up(&pen);
		if (!known)
			continue;
		lo = at < 0 || s->lo[i] < lo ? s->lo[i] : lo;
		hi = at < 0 || s->hi[i] > hi ? s->hi[i] : hi;
		at = at < 0 ? x : at;
	}
	pen_up(&pen);
}

/* --- panels ----------------------------------------------------------------------------------- */

/* Chooses the lines that a panel shows: all if there are at most SHOWN, otherwise those with the
 * largest sums. If the panel has more than SHOWN / 2 lines, those that were always 0 are not shown;
 * if all were, only the first one is shown. */
static void choose_shown(struct panel *p)
{
	struct series *end = drawing.series + drawing.nseries, *best;
	size_t n = 0;

	for (struct series *s = drawing.series; s < end; s++)
		n += s->panel == p;
	do {
		best = NULL;
		for (struct series *s = drawing.series; s < end; s++) {
			if (s->panel != p || s->shown ||
			    (n > SHOWN / 2 && s->min == 0 && s->max == 0))
				continue;
			if (!best || (n > SHOWN && s->sum > best->sum))
				best = s;
		}
		for (struct series *s = drawing.series; s < end && !best && p->nshown == 0; s++)
			best = s->panel == p ? s : NULL;
		if (best) {
			best->shown = true;
			p->shown[p->nshown++] = best;
		}
	} while (best && p->nshown < SHOWN);
	p->more = n - p->nshown;
}

/* Returns the index of the colour that the entity has in another panel; SHOWN if it has no colour
 * yet. */
static u8 colour_of(u64 entity)
{
	for (struct series *s = drawing.series; s < drawing.series + drawing.nseries; s++)
		if (s->entity == entity && s->colour)
			return s->colour - 1;
	return SHOWN;
}

/* Assigns colours to the lines of a panel. A line gets the colour that its entity has in other
 * panels, unless another line of this panel has this colour already. */
static void choose_colours(const struct panel *p)
{
	unsigned taken = 0;

	for (int again = 0; again < 2; again++)
		for (size_t i = 0; i < p->nshown; i++) {
			struct series *s = p->shown[i];
			u8 colour = again ? 0 : colour_of(s->entity);

			while (again && taken >> colour & 1)
				colour++;
			if (s->colour || colour == SHOWN || taken >> colour & 1)
				continue;
			taken |= 1u << colour;
			s->colour = colour + 1;
		}
}

static i64 plot_height(const struct panel *p)
{
	i64 rows = (i64)(p->nshown + (p->more > 0)) * ROW;

	return rows > 84 ? rows : 84;
}

static i64 panel_height(const struct panel *p)
{
	return plot_height(p) + 50;
}

static void place_panels(void)
{
	for (size_t i = 0; i < drawing.npanels; i++) {
		struct panel *p = &drawing.panels[i];
		size_t k = i;

		choose_shown(p);
		for (; k > 0 && p->rank < drawing.placed[k - 1]->rank; k--)
			drawing.placed[k] = drawing.placed[k - 1];
		drawing.placed[k] = p;
	}
}

static void draw_legend(struct buf *b, const struct panel *p, const struct scale *scale, i64 y)
{
	static const char heads[][4] = { "min", "avg", "max" };
	i64 right = LEGEND + 20 + NAMES;

	for (size_t i = 0; i < LEN(heads); i++) {
		text_at(b, "m e", right + NUMBER * (i64)(i + 1), y - 10);
		put_z(b, heads[i]);
		put_z(b, "</text>");
	}
	put_c(b, '\n');
	for (size_t i = 0; i < p->nshown; i++) {
		const struct series *s = p->shown[i];
		const i64 numbers[] = { s->min, s->sum / s->n, s->max };
		struct str name = { s->name, s->name + s->name_n };
		i64 at = y + ROW * (i64)i + 12;

		put_z(b, "<g clip-path=\"url(#c)\">");
		text_at(b, "n", LEGEND + 20, at);
		/* the end of the name may be hidden: add a tooltip with the name */
		if (str_len(name) > 24) {
			put_z(b, "<title>");
			put_xml(b, name, (size_t)2 * LABEL);
			put_z(b, "</title>");
		}
		put_xml(b, name, 32);
		put_z(b, "</text></g>");
		for (size_t k = 0; k < LEN(numbers); k++) {
			text_at(b, "e", right + NUMBER * (i64)(k + 1), at);
			put_short(b, numbers[k] * ((i64)1 << p->shift), scale->div);
			put_z(b, "</text>");
		}
		put_c(b, '\n');
	}
	if (!p->more)
		return;
	text_at(b, "m", LEGEND + 20, y + ROW * (i64)p->nshown + 12);
	put_numbered(b, "and % more, with lower values</text>\n", (const i64[]){ (i64)p->more });
}

/* Steps between the marks of the time axis, in seconds. Shorter steps, steps of several days, and
 * steps in numbers of samples are not in the table: they are 1, 2 or 5 times a power of ten. */
static const u32 time_steps[] = {
	1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400,
};

static i64 time_step(i64 span)
{
	i64 most = span ? span / 10 + 1 : 1000000, ten = axis.counted ? 1000000 : 1;

	for (size_t i = 0; i < LEN(time_steps) && most > 500000 && !axis.counted; i++)
		if (time_steps[i] * (i64)1000000 >= most)
			return time_steps[i] * (i64)1000000;
	if (most > 1000000 && !axis.counted)
		ten = 86400000000;
	for (;; ten *= 10)
		for (i64 k = 1; k <= 5; k += k == 1 ? 1 : 3)
			if (k * ten >= most)
				return k * ten;
}

/* Writes the time us. Its unit (d, h, min, s, ms, us) is the largest one that is not larger than
 * the time `by`. */
static void put_time(struct buf *b, i64 us, i64 by)
{
	static const struct { i64 us; char name[4]; } in[] = {
		{ 86400000000, "d" }, { 3600000000, "h" }, { 60000000, "min" }, { 1000000, "s" },
		{ 1000, "ms" }, { 1, "\xc2\xb5s" },
	};
	size_t i = 0;

	while (i + 1 < LEN(in) && by < in[i].us)
		i++;
	put_short(b, us, (u64)in[i].us);
	put_c(b, ' ');
	put_z(b, in[i].name);
}

static void draw_grid(struct buf *b, const struct scale *s, i64 y, i64 pixels)
{
	i64 step = time_step(axis.end), lines = (s->top - s->bottom) / s->step;

	put_z(b, "<path class=\"g\" d=\"");
	for (i64 i = 0; i <= lines; i++)
		put_numbered(b, "M% %h%", (const i64[]){ LEFT, y + pixels * i / lines, PLOT_W });
	for (i64 t = 0; t <= axis.end; t += step)
		put_numbered(b, "M% %v%", (const i64[]){ LEFT + time_to_x(t) / 10, y, pixels + 4 });
	put_z(b, "\"/>\n");
	for (i64 i = 0; i <= lines; i++) {
		text_at(b, "m e", LEFT - 8, y + pixels * i / lines + 4);
		put_fixed(b, s->top - s->step * i, s->div, s->digits);
		put_z(b, "</text>");
	}
	put_c(b, '\n');
	for (i64 t = 0; t <= axis.end; t += step) {
		text_at(b, "m c", LEFT + time_to_x(t) / 10, y + pixels + 17);
		if (axis.counted)
			put_u64(b, (u64)t / 1000000 + 1);
		else
			put_time(b, t, step);
		put_z(b, "</text>");
	}
	put_c(b, '\n');
}

/* Returns the unit of a panel (enum unit): the unit in the records, if it is one of units[];
 * otherwise the unit of the column. */
static u8 unit_of(struct panel *p)
{
	for (u8 u = 0; u < UNITS && p->unit_n; u++)
		if (str_eq((struct str){ p->unit, p->unit + p->unit_n }, str_z(units[u].name))) {
			p->unit_n = 0;
			return u;
		}
	return p->col->unit;
}

static void draw_panel(struct buf *b, struct panel *p, i64 y)
{
	u8 unit = unit_of(p);
	struct chart c = { .pixels = plot_height(p), .shift = p->shift };
	i32 min = INT32_MAX, max = INT32_MIN;

	choose_colours(p);
	for (size_t i = 0; i < p->nshown; i++) {
		const struct series *s = p->shown[i];

		min = s->min < min ? s->min : min;
		max = s->max > max ? s->max : max;
	}
	c.scale = scale_of(min * ((i64)1 << p->shift), max * ((i64)1 << p->shift), unit, p->point,
			   p->fine);
	text_at(b, "h", LEFT, y + 14);
	put_xml(b, (struct str){ p->title, p->title + p->title_n }, (size_t)2 * LABEL);
	if (c.scale.lead[0] || c.scale.unit[0] || p->unit_n) {
		put_z(b, "<tspan class=\"m\">, ");
		put_z(b, c.scale.lead);
		put_z(b, c.scale.unit);
		put_xml(b, (struct str){ p->unit, p->unit + p->unit_n }, LABEL);
		put_z(b, "</tspan>");
	}
	put_z(b, "</text>\n");
	y += 24;
	draw_grid(b, &c.scale, y, c.pixels);
	put_numbered(b, "<g transform=\"translate(% %)scale(.1)\">\n", (const i64[]){ LEFT, y });
	/* The lines are drawn in reverse order, so that the first line is on top. The SVG path of a
	 * line begins with the short line beside its name in the legend. */
	for (size_t i = p->nshown; i-- > 0;) {
		const struct series *s = p->shown[i];

		put_numbered(b, "<path class=\"s%\" d=\"M%,%h140",
			     (const i64[]){ s->colour - 1, (i64)10 * (LEGEND - LEFT),
					    (i64)10 * ROW * (i64)i + 85 });
		draw_line(b, s, &c);
		put_z(b, "\"/>\n");
	}
	put_z(b, "</g>\n");
	draw_legend(b, p, &c.scale, y);
}

/* Style sheet of the picture. The colours are those of Okabe and Ito, which colour-blind people can
 * distinguish; a little darker on white, lighter on black. In print, each line also has a dash
 * pattern of its own. */
static const char style[] =
	"<style>svg{font:11px system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif;"
	"font-variant-numeric:tabular-nums;max-width:100%;height:auto}"
	".b{fill:#fff}text{fill:#24292f}.m{fill:#626a73}"
	".h{font-weight:600;font-size:12px}.t{font-weight:600;font-size:15px}"
	".e{text-anchor:end}.c{text-anchor:middle}path.g{stroke:#e4e7eb;stroke-width:1}"
	"tspan.m{font-weight:400}.s{font-size:12px}"
	"path{fill:none;stroke-width:17;stroke-linejoin:round;stroke-linecap:round}"
	".s0{stroke:#0072b2}.s1{stroke:#d55e00;--d:70 40}.s2{stroke:#009e73;--d:10 40}"
	".s3{stroke:#cc79a7;--d:90 30 10 30}.s4{stroke:#e69f00;--d:120 50}"
	".s5{stroke:#56b4e9;--d:40}.s6{stroke:#7b3fa0;--d:90 30 10 30 10 30}"
	".s7{stroke:#666;--d:20}\n"
	"@media(prefers-color-scheme:dark){.b{fill:#14171c}text{fill:#e6e9ed}.m{fill:#9aa4af}"
	"path.g{stroke:#2a3038}"
	".s0{stroke:#4aa8e8}.s1{stroke:#ff7f2a}.s2{stroke:#1fc795}.s3{stroke:#e9a3c9}"
	".s4{stroke:#f5c242}.s5{stroke:#9edcff}.s6{stroke:#b48ae0}.s7{stroke:#b0b0b0}}\n"
	"@media print{path{stroke-dasharray:var(--d)}}</style>\n";

static void put_count(struct buf *b, u64 n, const char *what)
{
	put_u64(b, n);
	put_z(b, what);
	if (n != 1)
		put_c(b, 's');
}

/* Writes the subtitle of the picture: the date, the number of samples, the duration, and what the
 * picture does not show. */
static void put_summary(struct buf *b)
{
	if (!axis.any) {
		put_z(b, "no samples");
		return;
	}
	/* A time above 31 years is a date and not the time since boot. Only years with four digits
	 * are written. */
	if (axis.first >= 1000000000000000 && axis.first < 253402300800000000) {
		put_iso(b, (u64)axis.first);
		b->n -= strlen(".000000Z");
		b->p[b->n - strlen("T00:00:00")] = ' ';
		put_z(b, " UTC, ");
	}
	put_count(b, axis.samples, " sample");
	if (axis.samples > 1 && !axis.counted) {
		put_z(b, " in ");
		put_time(b, axis.end, axis.end / 2);
	}
	if (axis.width)
		put_z(b, ", drawn by minimum and maximum");
	if (drawing.npanels == 0)
		put_z(b, "; none of them can be drawn");
	if (axis.went_back) {
		put_z(b, "; the clock went back ");
		put_count(b, axis.went_back, " time");
	}
	if (axis.dropped) {
		put_z(b, "; ");
		put_count(b, axis.dropped, " value");
		put_z(b, " had no room");
	}
}

static void put_header(struct buf *b)
{
	i64 height = 56;

	for (size_t i = 0; i < drawing.npanels; i++)
		height += panel_height(&drawing.panels[i]);
	put_numbered(b,
		     "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%\" height=\"%\" "
		     "viewBox=\"0 0 % %\" role=\"img\" xml:space=\"preserve\">\n<title>gpustat: ",
		     (const i64[]){ WIDTH, height, WIDTH, height });
	put_summary(b);
	put_z(b, "</title>\n");
	put_z(b, style);
	put_numbered(b,
		     "<clipPath id=\"c\"><path d=\"M% 0h%v%h%z\"/></clipPath>\n"
		     "<rect class=\"b\" width=\"%\" height=\"%\"/>\n",
		     (const i64[]){ LEGEND, NAMES + 20, height, -(NAMES + 20), WIDTH, height });
	text_at(b, "t", LEFT, 27);
	put_z(b, "gpustat<tspan class=\"m s\" dx=\"10\">");
	put_summary(b);
	put_z(b, "</tspan></text>\n");
}

/* Writes the next part of the picture, which is one panel; the first call also writes the head of
 * the file. Returns true if there are more panels, so that the caller must call it again. */
bool svg_end(struct out *o, struct buf *b)
{
	static i64 y;

	(void)o;
	if (drawing.next_panel == 0) {
		place_panels();
		put_header(b);
		y = 42;
	}
	if (drawing.next_panel < drawing.npanels) {
		draw_panel(b, drawing.placed[drawing.next_panel], y);
		y += panel_height(drawing.placed[drawing.next_panel]);
	}
	if (++drawing.next_panel < drawing.npanels)
		return true;
	put_z(b, "</svg>\n");
	return false;
}
