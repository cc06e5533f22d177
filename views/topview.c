/* topview.c - draws the live screen: devices with bars and a graph, and a table of clients.
 * Pure: no system calls. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "views/views.h"
#include "sources/os/os.h"

enum { MAX_GAUGES = 255, UNKNOWN_BUSY = 255, MAX_GAUGE_ROWS = 16, GRAPH_ROWS = 3, GAUGE_WIDTH = 44,
       GAUGE_NAME = 13,
       GAUGE_VALUE = 9, TEXT = 256,
       /* a time in seconds below this number is a time since boot, not a date */
       DATES_FROM = 1000000000,
       /* minimum width in cells of a cut name, or of a PCI slot such as 03:00.0 */
       LEAST_NAME = 7 };

/* --- values of a device that the screen shows ------------------------------------------------- */

struct gauge {
	struct str name;
	struct val now;
	/* maximum of a gauge in bytes; 0: unknown. Not used for a gauge in per cent, whose maximum
	 * is 100 %. */
	u64 max;
};

/* The texts, gauges and graph of a device on the screen, from its most recent samples. They are
 * stored so that a key press can redraw the screen without making the record of the device again,
 * which may have 200 engines. */
struct devview {
	/* serial: serial number of the device's entity; n: number of samples that were added to the
	 * graph */
	u32 serial, n;
	bool known;        /* true: in at least one sample it was known how busy the device is */
	u8 busy[HISTORY];  /* ring buffer for the graph: how busy, in per cent, or UNKNOWN_BUSY */
	u16 ngauges; /* number of gauges of the device; gauges[] has the first MAX_GAUGES of them */
	struct gauge gauges[MAX_GAUGES];
	u16 nfacts;        /* number of bytes used in facts[] */
	/* Facts about the device: texts that each end with a NUL. The first one is how busy it is,
	 * the second one its memory in use; the others follow by importance. */
	char facts[TEXT];
};
static TABLE(struct devview, devviews, MAX_DEVICES, 1, "devices on the screen");

static void add_gauge(struct devview *p, struct str name, const struct val *now,
		      const struct val *max)
{
	if (p->ngauges < MAX_GAUGES)
		p->gauges[p->ngauges] = (struct gauge){ name, *now, max ? max->n : 0 };
	p->ngauges++;
}

/* Stores the values of a device's gauges from its record: memory, engines, other loads. */
static void gauges_read(struct devview *p, const struct record *r)
{
	static const char memory[][5] = { "vram", "gtt" };
	const struct val *used = record_get(r, NULL, "used");

	p->ngauges = 0;
	if (used && !record_get(r, "vram", "used"))
		add_gauge(p, (struct str)STR("memory"), used, NULL);
	for (size_t i = 0; i < LEN(memory); i++)
		if ((used = record_get(r, memory[i], "used")))
			add_gauge(p, str_z(memory[i]), used, record_get(r, memory[i], "total"));
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (!f->empty && (field_match(f, (struct str)STR("engine.busy")) ||
				  field_match(f, (struct str)STR("load"))))
			add_gauge(p, f->inst, &f->v, NULL);
	}
}

/* Removes the text from byte n on, which was added last, if the whole text is longer than `room`
 * bytes. */
static void undo_if_longer(struct buf *b, size_t n, size_t room)
{
	if (b->n > room)
		b->n = n;
}

static void put_val(struct buf *b, const struct val *v)
{
	if (!v || v->type == V_NULL)
		put_c(b, '-');
	else if (v->type == V_TEXT)
		put_text(b, v->s);
	else
		put_human(b, *v);
}

/* Returns the first field with this name, such as freq.max, that has a value. domain: a field of
 * the clock domain to which the field must belong; NULL: any domain. Returns NULL if there is
 * none. */
static const struct field *freq_find(const struct record *r, struct str name,
				     const struct field *domain)
{
	for (size_t i = 0; i < r->n; i++)
		if (field_match(&r->f[i], name) && r->f[i].v.type == V_INT &&
		    (!domain || str_eq(r->f[i].inst, domain->inst)))
			return &r->f[i];
	return NULL;
}

static void put_clock(struct buf *b, const struct record *r)
{
	const struct field *now = freq_find(r, (struct str)STR("freq.act"), NULL), *max;

	if (!now)
		now = freq_find(r, (struct str)STR("freq.cur"), NULL);
	if (!now)
		return;
	put_human(b, now->v);
	max = freq_find(r, (struct str)STR("freq.max"), now);
	if (max) {
		b->n -= 3; /* remove the unit MHz */
		put_c(b, '/');
		put_human(b, max->v);
	}
	put_c(b, '\0');
}

/* Values of fact.which: the fields with the name fact.field that the fact shows. FIRST: the first
 * one; BEGIN: the first one, and the next fact continues the same text; REST: all but the first,
 * each after its instance; ALL: all of them. */
enum which { FIRST, BEGIN, REST, ALL };

static const struct fact {
	char word[12], field[11];
	u8 which;
} facts[] = {
	{ "", "temp", FIRST }, { "", "power", FIRST }, { "", "fan", FIRST },
	{ "idle ", "idle", FIRST }, { "throttled: ", "throttle", ALL },
	{ "", "temp", REST }, { "", "link.speed", BEGIN }, { "x", "link.width", FIRST },
};

static void put_fact(struct buf *b, const struct record *r, const struct fact *fact)
{
	for (size_t i = 0, k = 0; i < r->n && (k == 0 || fact->which > BEGIN); i++) {
		const struct field *f = &r->f[i];

		if (f->empty || f->v.type == V_NULL || !field_match(f, str_z(fact->field)) ||
		    (k++ == 0 && fact->which == REST))
			continue;
		if (fact->which == REST) {
			put_text(b, f->inst);
			put_c(b, ' ');
		} else if (k == 1) {
			put_z(b, fact->word);
		}
		put_val(b, &f->v);
		put_c(b, fact->which == BEGIN ? ' ' : '\0');
	}
}

static void facts_read(struct devview *p, const struct record *r, const struct val *busy)
{
	struct buf b = BUF(p->facts);

	put_val(&b, busy);
	put_c(&b, '\0');
	put_val(&b, record_get(r, NULL, "used"));
	put_c(&b, '\0');
	put_clock(&b, r);
	for (size_t i = 0; i < LEN(facts); i++)
		put_fact(&b, r, &facts[i]);
	while (b.n && b.p[b.n - 1])
		/* the buffer was full: remove the bytes of the last fact, which is incomplete */
		b.n--;
	p->nfacts = (u16)b.n;
}

/* Clears the graphs of all devices. Called when the next sample does not directly follow the
 * previous one in time, as after a jump in a recorded run. */
void top_forget(void)
{
	for (u32 i = 0; i < devviews.t.ready; i++)
		devviews.rows[i].n = devviews.rows[i].known = 0;
}

/* Stores a sample of a device for the screen. first: the first sample of a run, which has no rates
 * and is not added to the graph. Returns false if there is no memory for the device. */
bool top_device(const struct record *r, bool first)
{
	size_t device = (size_t)((const struct device *)(const void *)r->e - devices);
	struct devview *p;
	struct val busy = { .type = V_INT, .unit = U_PERCENT };
	bool known = record_busy(r, &busy.n);

	if (!table_has(&devviews.t, device))
		return false;
	p = &devviews.rows[device];
	if (p->serial != r->e->serial) {
		p->n = 0;
		p->known = false;
	}
	p->serial = r->e->serial;
	p->known |= known;
	gauges_read(p, r);
	facts_read(p, r, known ? &busy : NULL);
	if (!first)
		p->busy[p->n++ % HISTORY] = known ? (u8)((busy.n + 999) / 1000) : UNKNOWN_BUSY;
	return true;
}

/* --- parts of a screen ------------------------------------------------------------------------ */

/* Writes a text in which each '#' is replaced by the next number of n[]. */
static void put_template(struct buf *b, const char *form, const u64 *n)
{
	for (; *form; form++)
		if (*form == '#')
			put_u64(b, *n++);
		else
			put_c(b, *form);
}

static u8 level_style(u64 percent)
{
	return percent < 50 ? GREEN : percent < 80 ? YELLOW : RED;
}

static int put(struct screen *s, int row, int col, u8 style, const char *z)
{
	return screen_put(s, row, col, SCREEN_COLS, style, str_z(z));
}

/* Puts the ASCII text in b on the screen, right-aligned: its last character is in column end -
 * 1. */
static void put_right(struct screen *s, int row, int end, u8 style, const struct buf *b)
{
	screen_put(s, row, end - (int)b->n, (int)b->n, style, (struct str){ b->p, b->p + b->n });
}

static void fill(struct screen *s, int row, int col, int width, u8 style, u32 c)
{
	for (; width > 0; width--)
		screen_char(s, row, col++, style, c);
}

/* Draws a bar that is filled to n/max, in steps of half a cell; in ASCII, in whole cells. */
static void put_bar(struct screen *s, int row, int col, int width, u64 n, u64 max, u8 style)
{
	int halves;

	if (s->ascii) {
		screen_char(s, row, col++, 0, '[');
		screen_char(s, row, col + (width -= 2), 0, ']');
	}
	if (width <= 0)
		return;
	halves = max ? (int)muldiv(n < max ? n : max, 2 * (u64)width, max) : 0;
	/* draw at least half a cell for a value that is printed as 0.1 % or more */
	halves += max && n && !halves && n >= max / 2000;
	for (int i = 0; i < width; i++)
		if (2 * i + 1 < halves)
			screen_char(s, row, col + i, style, s->ascii ? '|' : 0x2588);
		else if (2 * i < halves)
			screen_char(s, row, col + i, style, s->ascii ? '|' : 0x258c);
		else
			screen_char(s, row, col + i, GREY, s->ascii ? ' ' : 0x2591);
}

/* Draws the graph of a device: how busy it was in its last samples, with the newest at the right. A
 * value above 0 is at least an eighth of a cell high. */
static void put_graph(struct screen *s, int row, int col, int width, int height,
		      const struct devview *p)
{
	static const char ascii[] = "_.:-=+*#@";
	u32 n = p->n, have = n < HISTORY ? n : HISTORY;

	for (int x = 0; x < width && (u32)x < have; x++) {
		u8 busy = p->busy[(n - 1 - (u32)x) % HISTORY];
		int eighths = (busy * height * 8 + 99) / 100;

		for (int y = 0; y < height && busy != UNKNOWN_BUSY; y++) {
			int e = eighths - 8 * y > 8 ? 8 : eighths - 8 * y;

			if (e > 0 || y == 0)
				screen_char(s, row + height - 1 - y, col + width - 1 - x,
					    e > 0 ? level_style(busy) : GREY,
					    s->ascii ? (u8)ascii[e] :
					    e > 0 ? 0x2580 + (u32)e : 0x2581);
		}
	}
}

static void put_gauge(struct screen *s, int row, int col, int width, int name,
		      const struct gauge *g)
{
	bool memory = g->now.unit == U_BYTES;
	int bar = width - name - 1 - (memory || width > 30 ? GAUGE_VALUE : 6) - 1;
	char text[TEXT];
	struct buf b = BUF(text);
	u64 max = memory ? g->max : 100000;

	if (bar < 4) {
		name = width > GAUGE_VALUE + 1 ? width - GAUGE_VALUE - 1 : 0;
		bar = 0;
	}
	screen_put(s, row, col, name, 0, g->name);
	put_val(&b, &g->now);
	if (memory && max) {
		put_c(&b, '/');
		put_human(&b, (struct val){ .type = V_INT, .unit = U_BYTES, .n = max });
	}
	if (bar && (!memory || max))
		put_bar(s, row, col + name + 1, bar, g->now.n, max,
			memory ? CYAN : level_style(g->now.n / 1000));
	put_right(s, row, col + width, g->now.type == V_NULL ? GREY : 0, &b);
}

/* --- devices ---------------------------------------------------------------------------------- */

/* Writes the facts of a device that fit in `room` bytes. The first two, how busy it is and its
 * memory, are right-aligned. brief: true to write the memory, because a screen with one line per
 * device has no gauges; false to leave it out. */
static void put_facts(struct buf *b, const struct devview *p, size_t room, bool brief)
{
	struct str rest = { p->facts, p->facts + p->nfacts };

	for (size_t i = 0, n, from; rest.p < rest.e; rest.p += n + 1, i++) {
		n = strlen(rest.p);
		if (i == 1 && !brief)
			continue; /* skip the memory in use: a gauge shows it */
		from = b->n;
		if (i)
			put_z(b, "  ");
		for (size_t k = n; i < 2 && k < 6; k++)
			put_c(b, ' ');
		put_z(b, rest.p);
		undo_if_longer(b, from, room);
	}
}

/* True if the name of a device consists of its ids, VENDOR:DEVICE, because no file has a name for
 * them. */
static bool has_ids_only(const struct device *d)
{
	return strlen(d->name) == 9 && d->name[4] == ':';
}

/* Returns the text that distinguishes a device from the others: the name of its model; or its PCI
 * slot if another device has the same name, or if the name is unknown. */
static struct str identity(const struct device *d)
{
	bool same = !d->name[0] || (d->pdev[0] && has_ids_only(d));

	for (u32 i = 1; i <= nrows.devices; i++)
		same |= &devices[i] != d && devices[i].e.used &&
			strcmp(devices[i].name, d->name) == 0;
	return str_z(same ? d->pdev : d->name);
}

/* Returns the text that distinguishes a device from the others (see identity()), cut to `room`
 * cells. A name is cut at its end. Only the domain 0000 is removed from a PCI slot; if the slot is
 * still too long, the result is empty, because a part of a slot would be misleading. */
static struct str identity_cut(const struct device *d, struct str id, int room)
{
	bool slot = id.p == d->pdev;

	if ((int)str_len(id) > room && slot)
		str_skip_z(&id, "0000:");
	if ((int)str_len(id) > room)
		id.e = slot || room < LEAST_NAME ? id.p : id.p + room;
	while (id.e > id.p && !slot && ((u8)*id.e & 0xc0) == 0x80)
		id.e--; /* do not cut within a UTF-8 character */
	return id;
}

/* Draws the first line of a device: its node and identity, which are always shown, and its facts
 * from column `from` on. brief: true for a screen with one line per device; then the graph is
 * between the identity and the facts. */
static void put_device_line(struct screen *s, int row, u32 device, int from, bool brief)
{
	const struct device *d = &devices[device];
	bool usual = strcmp(d->state, "active") == 0 || strcmp(d->state, "unsupported") == 0;
	struct str id = identity(d), words[] = {
		str_z(usual ? "" : d->state), str_z(d->driver), id,
		str_z(id.p == d->pdev ? "" : d->pdev),
	};
	char text[TEXT];
	struct buf b = BUF(text);
	int graph = s->cols / (s->cols < 60 ? 5 : 4), brief_id = s->cols < 60 ? 7 : 12, end, x;
	int least = brief ? 10 + brief_id + graph :
		    (int)(strlen(d->dev) + strlen(d->driver) +
			  str_len(identity_cut(d, id, LEAST_NAME))) + 3;

	put_facts(&b, &devviews.rows[device],
		  s->cols > least + 8 ? (size_t)(s->cols - least - 1) : 6, brief);
	from = brief || from < least ? least : from;
	from = from + (int)b.n < s->cols ? from : s->cols - (int)b.n;
	end = from - 1;
	x = screen_put(s, row, 0, end, BOLD, str_z(d->dev)) + 1;
	screen_put(s, row, from, s->cols, BOLD, (struct str){ b.p, b.p + b.n });
	if (brief) {
		id = identity_cut(d, id, brief_id);
		screen_put(s, row, 9, end - 9, 0, id);
		x = 10 + brief_id;
		put_graph(s, row, x, graph < end - x ? graph : end - x, 1, &devviews.rows[device]);
		return;
	}
	for (size_t i = 0; i < LEN(words); i++) {
		/* number of cells to keep free after words[i] for the identity of the device
		 * (words[2]), which may be cut to LEAST_NAME cells */
		struct str least_id = identity_cut(d, id, LEAST_NAME), word = words[i];
		int after = i < 2 ? (int)str_len(least_id) + (id.p < id.e) : 0;

		if (i >= 2)
			word = identity_cut(d, word, end - x);
		if (word.p < word.e && x + (int)str_len(word) + after <= end)
			x += screen_put(s, row, x, end - x,
					i == 0 ? BOLD | MAGENTA : i == 3 ? GREY : 0, word) + 1;
	}
}

/* Positions of a device's graph and gauges in screen columns. The graph has the columns from 0 to
 * graph - 1. From column `from` on there are `across` gauges side by side, each `width` columns
 * wide. */
struct gauge_layout {
	int graph, from, across, width;
};

static struct gauge_layout gauge_layout_get(const struct screen *s)
{
	struct gauge_layout p = { .graph = s->cols < 60 ? s->cols * 3 / 8 : s->cols / 2 - 1 };

	p.from = p.graph + 1;
	p.across = (s->cols - p.from) / GAUGE_WIDTH;
	p.across = p.across ? p.across : 1;
	p.width = (s->cols - p.from + 1) / p.across - 1;
	return p;
}

static int device_rows(const struct devview *p, int across, int most)
{
	int n = (p->ngauges + across - 1) / across;
	int graph = !p->known ? 0 : most < MAX_GAUGE_ROWS ? 1 : GRAPH_ROWS;

	n = n > graph ? n : graph;
	return n < most ? n : most;
}

static void put_device(struct screen *s, int row, int height, u32 device,
		       const struct gauge_layout *p)
{
	const struct gauge *g = devviews.rows[device].gauges;
	size_t n = devviews.rows[device].ngauges, room = (size_t)height * (size_t)p->across;
	size_t shown = n <= room ? n : room > 1 ? room - 1 : 1;
	size_t name = 6;

	put_device_line(s, row++, device, p->from, false);
	put_graph(s, row, 0, p->graph, height, &devviews.rows[device]);
	for (size_t i = 0; i < shown; i++)
		name = str_len(g[i].name) > name ? str_len(g[i].name) : name;
	name = name < GAUGE_NAME ? name : GAUGE_NAME;
	for (size_t i = 0; i < shown && i < room; i++)
		put_gauge(s, row + (int)i / p->across,
			  p->from + (int)i % p->across * (p->width + 1), p->width, (int)name,
			  &g[i]);
	if (shown < n && room > 1) {
		char text[TEXT];
		struct buf b = BUF(text);

		put_template(&b, "+# more", (u64[]){ n - shown });
		put_right(s, row + height - 1, s->cols, 0, &b);
	}
}

/* Draws the devices into at most `rows` rows of the screen, from row `row` on. Returns the number
 * of rows used. */
static int put_devices(struct screen *s, struct top *t, int row, int rows)
{
	struct gauge_layout p = gauge_layout_get(s);
	int most = MAX_GAUGE_ROWS, need, from = row;

	do {
		need = 0;
		for (size_t i = 0; i < t->ndevs; i++)
			need += 1 + device_rows(&devviews.rows[t->devs[i]], p.across, most);
	} while (need > rows && --most > 0);
	t->dev_page = t->ndevs;
	if (most == 0)
		t->dev_page = (size_t)rows < t->ndevs ? (size_t)rows : t->ndevs;
	if (t->dev_first > t->ndevs - t->dev_page)
		t->dev_first = t->ndevs - t->dev_page;
	for (size_t i = t->dev_first; i < t->dev_first + t->dev_page; i++) {
		int high = most ? device_rows(&devviews.rows[t->devs[i]], p.across, most) : 0;

		if (most)
			put_device(s, row, high, t->devs[i], &p);
		else
			put_device_line(s, row, t->devs[i], 0, true);
		row += 1 + high;
	}
	return row - from;
}

/* --- clients ---------------------------------------------------------------------------------- */

static const struct topcol {
	/* field: name of the field that the column shows, for option -s; "" if the column shows
	 * several fields, so that clients cannot be sorted by it */
	char title[10], field[12];
	u8 width;
	char key;
	bool right;
} topcols[] = {
	{ "PID", "pid", 7, 'N', true },
	{ "DEV", "dev", 7, 'D', false },
	{ "GPU%", "engine.busy", 6, 'P', true },
	{ "MEM", "used", 6, 'M', true },
	{ "COMMAND", "comm", 16, 'C', false },
	{ "ENGINES", "", 24, 0, false },
	{ "CGROUP", "cgroup", 40, 'G', false },
	{ "CLIENT", "client", 8, 0, true },
	{ "DRIVER", "driver", 8, 0, false },
	{ "CONTAINER", "container", 12, 0, false },
};

const u8 top_ncolumns = LEN(topcols);

/* Returns the name, as for option -s, of the field that a column of clients shows; "" if clients
 * cannot be sorted by the column. */
struct str top_field(u8 column)
{
	return str_z(column < LEN(topcols) ? topcols[column].field : "");
}

u8 top_column(struct str field)
{
	u8 i = 0;

	while (i < LEN(topcols) && !str_eq(field, str_z(topcols[i].field)))
		i++;
	return i;
}

u8 top_column_of_key(u16 key)
{
	u8 i = 0;

	while (i < LEN(topcols) && !(topcols[i].key && (u8)topcols[i].key == key))
		i++;
	return i;
}

static u8 lower(char c)
{
	return (u8)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static bool contains(struct str s, const char *what, size_t n)
{
	for (; str_len(s) >= n; s.p++) {
		size_t i = 0;

		while (i < n && lower(s.p[i]) == lower(what[i]))
			i++;
		if (i == n)
			return true;
	}
	return false;
}

/* True if a client matches the filter that the user has typed: the filter is a part of the name,
 * PID or cgroup of the client's owner. Upper and lower case are the same. */
bool top_match(const struct top *t, const struct record *r)
{
	static const char fields[][7] = { "comm", "pid", "cgroup" };
	bool is = !t->filter_n;

	for (size_t i = 0; i < LEN(fields) && !is; i++) {
		const struct val *v = record_get(r, NULL, fields[i]);
		char digits[DIGITS];
		struct buf b = BUF(digits);

		if (!v)
			continue;
		if (v->type == V_INT)
			put_u64(&b, v->n);
		is = contains(v->type == V_TEXT ? v->s : str_of(b.p, b.n), t->filter, t->filter_n);
	}
	return is;
}

/* Writes the engines of a client that are at least 0.05 % busy, each with its busy share in per
 * cent. */
static void put_engines(struct buf *b, const struct record *r)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct field *f = &r->f[i];

		if (!field_match(f, (struct str)STR("engine.busy")) || f->v.type != V_INT ||
		    f->v.n < 50)
			continue;
		if (b->n)
			put_c(b, ' ');
		put_text(b, f->inst);
		put_c(b, ' ');
		put_human(b, f->v);
	}
}

enum { LEAST_TEXT = 12 /* minimum width of a text column, in cells */ };

/* Returns the width in cells of the column topcols[i] of the clients, if it starts at cell x; 0 if
 * it does not fit. The last column that fits gets the rest of the line. */
static int width_at(const struct screen *s, size_t i, int x)
{
	const struct topcol *c = &topcols[i], *next = c + 1;
	int left = s->cols - x;

	if (left <= 0 || (c->right && left < c->width))
		return 0;
	if (i == LEN(topcols) - 1 ||
	    (!c->right && left - c->width - 1 <
			  (next->right || next->width < LEAST_TEXT ? next->width : LEAST_TEXT)))
		return left;
	return c->width < left ? c->width : left;
}

static void put_client(struct screen *s, int row, const struct top *t, const struct record *r,
		       bool chosen)
{
	u8 mark = chosen ? REVERSE : 0;
	int x = 0, width;

	if (chosen)
		fill(s, row, 0, s->cols, REVERSE, ' ');
	for (size_t i = t->left; i < LEN(topcols) && (width = width_at(s, i, x)) > 0;
	     x += width + 1, i++) {
		const struct topcol *c = &topcols[i];
		const struct val *v = record_get(r, NULL, c->field);
		char text[TEXT];
		struct buf b = BUF(text);
		u8 style = mark;
		u64 busy;

		if (!*c->field) {
			put_engines(&b, r);
		} else if (c->key == 'P') {
			if (record_busy(r, &busy)) {
				put_dec(&b, (busy + 50) / 100, 1, 1);
				/* green and yellow are not used, because they are unreadable on a
				 * white screen */
				style |= busy >= 50 && !chosen ?
					 BOLD | (busy >= 80000 ? RED : 0) : 0;
			} else {
				put_c(&b, '-');
			}
		} else if (v && v->type == V_TEXT) {
			screen_put(s, row, x, width, style, v->s);
			continue;
		} else {
			put_val(&b, v);
		}
		if (c->right)
			put_right(s, row, x + width, style, &b);
		else
			screen_put(s, row, x, width, style, (struct str){ b.p, b.p + b.n });
	}
}

static void put_titles(struct screen *s, int row, const struct top *t)
{
	int x = 0, width;

	fill(s, row, 0, s->cols, REVERSE | GREEN, ' ');
	for (size_t i = t->left; i < LEN(topcols) && (width = width_at(s, i, x)) > 0;
	     x += width + 1, i++) {
		int n = (int)strlen(topcols[i].title);
		int at = topcols[i].right && width > n ? x + width - n : x;
		bool sorted = i == t->sort;

		at -= sorted && at > x && topcols[i].right;
		n = screen_put(s, row, at, width, REVERSE | (sorted ? CYAN : GREEN),
			       str_z(topcols[i].title));
		if (sorted)
			screen_char(s, row, at + n, REVERSE | CYAN,
				    s->ascii ? (t->inverted ? '^' : 'v') :
				    t->inverted ? 0x25b2 : 0x25bc);
	}
}

static void put_clients(struct screen *s, struct top *t, int row, int rows, struct record *r)
{
	t->page = rows > 0 ? (size_t)rows : 0;
	if (t->at >= t->nrows)
		t->at = t->nrows ? t->nrows - 1 : 0;
	if (t->first > t->at)
		t->first = t->at;
	if (t->page && t->first + t->page <= t->at)
		t->first = t->at - t->page + 1;
	if (t->first + t->page > t->nrows)
		t->first = t->nrows > t->page ? t->nrows - t->page : 0;
	for (size_t i = 0; i < t->page && t->first + i < t->nrows; i++) {
		t->row_make(r, t->rows[t->first + i]);
		put_client(s, row + (int)i, t, r, t->first + i == t->at && !t->on_devices);
	}
	if (t->nrows || rows <= 0)
		return;
	put(s, row, 1, 0, t->nall ? "no client matches by name, pid or cgroup" : "no client");
	if (registry.unreadable && !t->nall)
		put(s, row + 1, 1, BOLD,
		    "processes of other users cannot be read; "
		    "run as root, or: setcap cap_sys_ptrace+ep gpustat");
}

/* --- sort menu, help and frame of the screen -------------------------------------------------- */

static void put_menu(struct screen *s, const struct top *t, int row)
{
	int high = (int)LEN(topcols) + 1, end = s->rows - 1, width = 20, skip;

	if (row + high > end)
		row = end - high > 1 ? end - high : 1;
	skip = t->choice + 2 > end - row ? t->choice + 2 - (end - row) : 0;
	fill(s, row, 0, width, REVERSE | GREEN, ' ');
	put(s, row++, 1, REVERSE | GREEN, "sort by");
	for (int i = skip; i < (int)LEN(topcols) && row < end; i++) {
		u8 style = i == t->choice ? REVERSE | CYAN : *topcols[i].field ? 0 : GREY;

		fill(s, row, 0, width, style, ' ');
		screen_char(s, row, 1, style, topcols[i].key ? (u8)topcols[i].key : ' ');
		put(s, row++, 3, style, topcols[i].title);
	}
}

static const char help[] =
	"\n"
	" q F10 ^C       quit              ^Z              suspend\n"
	" arrows jk      move, columns     PgUp PgDn       a page\n"
	" Home End gG    first, last       Tab             devices or clients\n"
	" Space p        freeze            r               read now\n"
	" s F6 < >       choose sorting    I               invert it\n"
	" P M N C D      by GPU%, memory, pid, command, device\n"
	" / F4           filter by name, pid, cgroup;      Esc clears\n"
	" + -            longer, shorter   ^L              redraw\n"
	" h ? F1         this help\n"
	"\n"
	" GPU%     of a client: its busiest engine. Of a device: the kernel's\n"
	"          own figure, else its busiest engine.\n"
	" MEM      resident: in video memory if the GPU has any.\n"
	" -        unknown, which is not 0.\n"
	" graph    of the device, one sample a column.\n";

enum { HELP_LINES = 16, REPLAY_LINES = 5 };

static const char replay_help[] =
	"\n"
	" Space p        pause, play       + -             faster, slower\n"
	" . r            next sample       ,               the one before\n"
	" 0              first sample      $               the last one\n"
	" These keys are for a recorded run. Those for any screen:\n";

static void put_help(struct screen *s, struct top *t)
{
	static char both[sizeof(help) + sizeof(replay_help)];
	struct buf b = BUF(both);
	struct str rest, line;
	size_t n = HELP_LINES + (t->replay ? REPLAY_LINES : 0);

	if (t->replay)
		put_z(&b, replay_help);
	put_z(&b, help);
	rest = (struct str){ b.p, b.p + b.n };

	t->help_page = s->rows > 2 ? (size_t)s->rows - 2 : 1;
	if (t->help_first + t->help_page > n)
		t->help_first = n > t->help_page ? n - t->help_page : 0;
	for (size_t i = 0; str_cut(&rest, '\n', &line) && i < t->help_first + t->help_page; i++)
		if (i >= t->help_first)
			screen_put(s, 1 + (int)(i - t->help_first), 0, SCREEN_COLS, 0, line);
}

static void put_interval(struct buf *b, i64 ns)
{
	if (ns % 1000000000)
		put_dec(b, (u64)ns / 1000000, 3, 1);
	else
		put_u64(b, (u64)ns / 1000000000);
	put_c(b, 's');
}

/* Writes a number of objects such as "  2 devices", unless the whole text would then be longer than
 * `room` bytes. what: the text with '#' in place of the number n; if n is 1, an 's' at its end is
 * left out. */
static void put_count(struct buf *b, size_t room, u64 n, const char *what)
{
	size_t from = b->n;

	put_template(b, what, &n);
	if (n == 1 && b->p[b->n - 1] == 's')
		b->n--;
	undo_if_longer(b, from, room);
}

/* Writes the time of a recorded sample: a date; or seconds since boot if the time is too small for
 * a date. Writes nothing if the time is negative, which means unknown. */
static void put_time(struct buf *b, i64 us)
{
	size_t from = b->n;

	if (us >= (i64)DATES_FROM * 1000000) {
		put_iso(b, (u64)us);
		b->p[from + 10] = ' ';
		/* The last six characters are removed, so that tenths of seconds remain: 2025-11-20
		 * 04:00:00.1. */
		b->n -= 6;
	} else if (us >= 0) {
		put_dec(b, (u64)us / 1000, 3, 3);
		put_c(b, 's');
	}
}

/* Writes at the right end of the title: the time of a recorded sample, its position in the file in
 * per cent, and the speed of the replay. The position is left out if the text does not fit after
 * column x. */
static void put_replay(struct screen *s, const struct top *t, int x)
{
	char text[TEXT];
	struct buf b = BUF(text);
	size_t time;
	u64 speed = 1ull << (t->speed < 0 ? -t->speed : t->speed);
	const char *state = t->ended ? " END " : t->frozen ? " PAUSED " : NULL;
	int end = s->cols;

	if (!state)
		put_template(&b, t->speed < 0 ? "x1/#" : "x#", &speed);
	else
		put_z(&b, state);
	put_right(s, 0, end, state ? REVERSE | YELLOW : GREY, &b);
	end -= (int)b.n + 1;
	b.n = 0;
	put_time(&b, t->time);
	time = b.n;
	put_template(&b, "  #%", (u64[]){ t->percent });
	undo_if_longer(&b, time, end > x ? (size_t)(end - x) : 0);
	put_right(s, 0, end, BOLD, &b);
}

static void put_title(struct screen *s, const struct top *t)
{
	char text[TEXT];
	struct buf b = BUF(text);
	int x = put(s, 0, 0, BOLD, "gpustat");
	size_t room = (size_t)(s->cols - x);

	put_count(&b, room, t->ndevs, "  # devices");
	put_count(&b, room, t->nall, "  # clients");
	if (t->nrows != t->nall)
		put_count(&b, room, t->nrows, "  # shown");
	if (registry.unreadable)
		put_count(&b, room, registry.unreadable, "  # unreadable");
	if (registry.dropped)
		put_count(&b, room, registry.dropped, "  # dropped");
	if (t->malformed)
		put_count(&b, room, t->malformed, "  # malformed");
	x += screen_put(s, 0, x, SCREEN_COLS, 0, (struct str){ b.p, b.p + b.n });
	b.n = 0;
	put_interval(&b, t->interval);
	if (t->replay)
		put_replay(s, t, x + 1);
	else if (t->frozen)
		put_right(s, 0, s->cols, REVERSE | YELLOW,
			  &(struct buf){ .p = (char[]){ " FROZEN " }, .n = 8 });
	else if (x + 1 + (int)b.n <= s->cols)
		put_right(s, 0, s->cols, GREY, &b);
}

/* Hints about keys for each mode, in the last line of the screen: pairs of words, a key and its
 * action. */
static const char *const hints[] = {
	[TOP_LIST] = "F1 Help F4 Filter F6 Sort F10 Quit Space Freeze",
	[TOP_REPLAY] = "F1 Help Space Pause + Faster - Slower . Next , Back 0 Begin $ End F10 Quit",
	[TOP_FILTER] = "Enter Done Esc Clear",
	[TOP_SORT] = "Enter Sort Esc Back", [TOP_HELP] = "Esc Back PgDn More",
};

static void put_footer(struct screen *s, const struct top *t)
{
	int row = s->rows - 1, x = 0;
	char text[TEXT];
	struct buf b = BUF(text);
	bool filter = t->mode == TOP_FILTER;

	if (filter || t->filter_n) {
		x += put(s, row, x, BOLD, "Filter: ");
		x += screen_put(s, row, x, 24, 0,
				(struct str){ t->filter, t->filter + t->filter_n });
		if (filter)
			screen_char(s, row, x, REVERSE, ' ');
		x += 2;
	}
	if (t->wide)
		put_template(&b, "#x# of #x# used ", (u64[]){ s->cols, s->rows, t->wide, t->high });
	if (t->dev_page < t->ndevs)
		put_template(&b, " devices #-#",
			     (u64[]){ t->dev_first + 1, t->dev_first + t->dev_page });
	if (t->page < t->nrows && t->mode != TOP_HELP)
		put_template(&b, " #-#/#", (u64[]){ t->first + 1, t->first + t->page, t->nrows });
	put_right(s, row, s->cols, t->on_devices ? BOLD : 0, &b);
	for (struct str rest = str_z(hints[t->replay && t->mode == TOP_LIST ? TOP_REPLAY :
								     t->mode]), key, what;
	     str_word(&rest, &key) && str_word(&rest, &what);) {
		if (x + (int)(str_len(key) + str_len(what) + b.n) > s->cols)
			break;
		x += screen_put(s, row, x, SCREEN_COLS, 0, key);
		x += screen_put(s, row, x, SCREEN_COLS, REVERSE | CYAN, what) + 1;
	}
}

/* Draws a frame of the screen into the grid. r: memory for the record of a client; only one record
 * is used at a time. */
void top_draw(struct screen *s, struct top *t, struct record *r)
{
	bool titles = s->rows >= 5, footer = s->rows >= 4;
	int row = 1, rows = s->rows - 1 - titles - footer;

	screen_clear(s);
	if (t->mode == TOP_HELP)
		put_help(s, t);
	else if (t->ndevs == 0 && rows > 0)
		put(s, row + rows / 3, 1, BOLD, t->replay ? "no device in this sample" :
		    "no DRM or accel device here; still looking");
	if (t->mode != TOP_HELP && rows > 0) {
		/* Reserve up to half of the rows for clients. With few clients, the number of
		 * reserved rows changes in steps of four, so that the screen does not move with
		 * each new client. */
		int want = t->nall < (size_t)rows ? (int)(t->nall + 4) / 4 * 4 : rows;
		int took = put_devices(s, t, row, rows - (want < rows / 2 ? want : rows / 2));

		row += took;
		if (titles && t->ndevs)
			put_titles(s, row++, t);
		if (t->ndevs)
			put_clients(s, t, row, rows - took, r);
		if (t->mode == TOP_SORT)
			put_menu(s, t, row - titles);
	}
	put_title(s, t);
	if (footer)
		put_footer(s, t);
}
