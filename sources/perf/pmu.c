/* pmu.c - perf events by name: PMUs of /sys/bus/event_source, tracepoints, events that the kernel's
 * headers define, and virtual counters. parse.c parses event lists; this file looks the names up on
 * this machine.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "gpustat/perf.h"
#include "sys.h"

#define DEVICES "bus/event_source/devices"
#define S(lit) ((struct str)STR(lit))

/* The sorted names of a folder. at[i]: byte offset of the i-th name from the start of this struct;
 * the texts follow after MAX_NAMES elements of at[]. used: bytes in use, up to the end of the
 * texts. */
struct names {
	u32 n, used;
	u32 at[];
};
enum {
	/* maximum number of names in a folder; the largest one seen, with the events of hv_24x7,
	 * has 2500 */
	MAX_NAMES = 4096,
	NAMES_HEAD = sizeof(struct names) + MAX_NAMES * sizeof(u32),
	NAMES_BYTES = NAMES_HEAD + (160 << 10),
};

/* Indexes of the lists of names, which are in use at the same time. PMU_NAMES: all PMUs; SYSTEMS:
 * the tracepoint systems, or the events of a PMU; INSIDE: the names in a folder of one system or
 * PMU. */
enum { PMU_NAMES, SYSTEMS, INSIDE, FOLDERS };
static struct {
	struct names *folders[FOLDERS];
	const struct names *pmu_names; /* the names of all PMUs; NULL before they are read */
	bool pmus_read;
	/* names of the core PMUs, one per kind of CPU; no machine has 8 kinds */
	struct str cores[8];
	u32 ncores;
	u16 rows, last_group; /* highest values of the members row and group in events[] */
	/* the member group of events[1] to events[nfinal] will not change any more */
	u32 nfinal;
	char gpu_bytes[512];
} pmulist;

#define FOLDER(i)                                                                                  \
	[i] = TABLE_OF(pmulist.folders[i], 1, NAMES_BYTES, 24 << 10, "bytes of names of events")
static struct table folder_tables[FOLDERS] = { FOLDER(PMU_NAMES), FOLDER(SYSTEMS), FOLDER(INSIDE) };

struct events_given events_given;

/* State while one item of an event list is added to events[]. Error messages begin with the text of
 * this item. */
static struct {
	struct buf *why;
	struct str item, missing; /* missing: name of the event that was not found */
	u16 set;
	long error; /* -errno of the error that the latest message reports */
} adding;

/* --- messages --------------------------------------------------------------------------------- */

static void put_short(struct buf *b, struct str s)
{
	bool cut = str_len(s) > 100;

	put_text(b, cut ? (struct str){ s.p, s.p + 100 } : s);
	put_z(b, cut ? "..." : s.p < s.e ? "" : "''");
}

/* Appends an error message to adding.why: the text of the item, the parameter what, the parameter s
 * in quotation marks (nothing if s is empty), and the parameter more. Sets adding.error to -EINVAL.
 * Returns false. */
static bool reject(const char *what, struct str s, const char *more)
{
	put_short(adding.why, adding.item);
	put_z(adding.why, ": ");
	put_z(adding.why, what);
	if (s.p < s.e) {
		put_z(adding.why, " \"");
		put_short(adding.why, s);
		put_c(adding.why, '"');
	}
	put_z(adding.why, more);
	adding.error = -EINVAL;
	return false;
}

/* Appends an error message as reject() does, but sets adding.error to -ENOENT: this machine does
 * not have the item. */
static bool reject_missing(const char *what, struct str s, const char *more)
{
	reject(what, s, more);
	adding.error = -ENOENT;
	return false;
}

/* Append an error message as reject() and reject_missing() do, but only with the parameter what. */
static bool reject_z(const char *what)
{
	return reject(what, (struct str){ 0 }, "");
}

static bool reject_missing_z(const char *what)
{
	return reject_missing(what, (struct str){ 0 }, "");
}

/* --- files ------------------------------------------------------------------------------------ */

static struct str name_at(const struct names *l, u32 i)
{
	return str_z((const char *)l + l->at[i]);
}

static void names_add(struct table *t, struct names *l, const char *name)
{
	size_t n = strlen(name) + 1;
	u32 i = l->n;

	if (l->n == MAX_NAMES || !table_has(t, l->used + n - 1)) {
		registry.dropped++;
		return;
	}
	memcpy((char *)l + l->used, name, n);
	for (; i > 0 && str_order(name_at(l, i - 1), str_z(name)) > 0; i--)
		l->at[i] = l->at[i - 1];
	l->at[i] = l->used;
	l->used += (u32)n;
	l->n++;
}

/* Reads the names in a folder below /sys (or --sys) into the list pmulist.folders[which], and
 * returns this list. It is valid until the next call with the same `which`. The list is empty if
 * the folder cannot be read. */
static const struct names *names_read(u8 which, const char *path)
{
	static struct names none;
	struct table *t = &folder_tables[which];
	struct names *l = table_has(t, NAMES_HEAD) ? pmulist.folders[which] : &none;
	struct dir d;
	const char *name;

	l->n = 0;
	l->used = NAMES_HEAD;
	if (l == &none || dir_open(&d, roots.sys, path) < 0)
		return l;
	while ((name = dir_next(&d)))
		names_add(t, l, name);
	dir_close(&d);
	return l;
}

/* True if s is a plain file name: not a path with a slash, and not a name that begins with a
 * dot. */
static bool is_leaf(struct str s)
{
	return s.p < s.e && str_len(s) < 256 && *s.p != '.' && !memchr(s.p, '/', str_len(s));
}

/* Returns the path of a file below /sys (or --sys): a/b, followed directly by the parameters c, d
 * and tail. The path is valid until the next call. If b or d is not a plain file name, returns an
 * empty path, which no file has. */
static const char *path_make(const char *a, struct str b, const char *c, struct str d,
			     const char *tail)
{
	static char path[1024];
	struct buf s = buf_on(path, sizeof(path) - 1);

	if (is_leaf(b) && (!d.p || is_leaf(d))) {
		put_z(&s, a);
		put_c(&s, '/');
		put_str(&s, b);
		put_z(&s, c);
		put_str(&s, d);
		put_z(&s, tail);
	}
	path[s.n] = '\0';
	return path;
}

static const char *pmu_path(struct str pmu, const char *file)
{
	return path_make(DEVICES, pmu, file, (struct str){ 0 }, "");
}

static bool exists(const char *path)
{
	struct stat st;

	return files_note_error(sys_fstatat(roots.sys, path, &st)) == 0;
}

/* Reads a small file into b, and stores the first line of the file in *line; the line need not end
 * with a newline. Returns 0 or -errno; -EINVAL: the file is empty or larger than b. */
static long read_line(const char *path, char *b, size_t cap, struct str *line)
{
	long n = slurp(roots.sys, path, b, cap);
	struct str text = str_read(b, n);

	if (n < 0)
		return n;
	if ((size_t)n == cap || !str_cut(&text, '\n', line))
		return -EINVAL;
	*line = str_trim(*line);
	return 0;
}

static bool read_number(const char *path, u64 *v)
{
	char b[64];
	struct str line;

	return read_line(path, b, sizeof(b), &line) == 0 && scan_u64(line, v) == line.e;
}

/* Stores the CPUs that are online in *cpus; if there is no /sys, those of this process's affinity
 * mask. False if they are unknown. */
bool cpus_online(struct cpuset *cpus)
{
	static char b[4096];
	struct str line;

	if (read_line("devices/system/cpu/online", b, sizeof(b), &line) == 0)
		return parse_cpulist(line, cpus);
	memset(cpus, 0, sizeof(*cpus));
	return roots.sys < 0 && sys_affinity(cpus, sizeof(*cpus)) > 0;
}

/* --- PMUs ------------------------------------------------------------------------------------- */

static const struct names *pmus_all(void)
{
	if (pmulist.pmus_read)
		return pmulist.pmu_names;
	pmulist.pmus_read = true;
	pmulist.ncores = 0;
	pmulist.pmu_names = names_read(PMU_NAMES, DEVICES);
	for (u32 i = 0; i < pmulist.pmu_names->n && pmulist.ncores < LEN(pmulist.cores); i++) {
		struct str name = name_at(pmulist.pmu_names, i);

		if (str_is(name, "cpu") || exists(pmu_path(name, "/cpus")))
			pmulist.cores[pmulist.ncores++] = name;
	}
	return pmulist.pmu_names;
}

static bool read_cpus(struct pmu *p, struct str name, const char *file)
{
	static char b[4096];
	struct str line = { 0 };

	/* If the file (cpumask or cpus) has only a newline, its list is empty: the PMU has no
	 * CPU. */
	if (read_line(pmu_path(name, file), b, sizeof(b), &line) != 0)
		return false;
	p->has_cpus = parse_cpulist(line, &p->cpus);
	return p->has_cpus;
}

/* Returns the index in pmus[] of the PMU with this name; adds the PMU if needed. NONE if the PMU
 * has no type in /sys, or pmus[] is full. */
static u32 pmu_open(struct str name)
{
	struct pmu *p;
	u64 type;

	for (u32 i = 1; i <= nrows.pmus; i++)
		if (str_is(name, pmus[i].name))
			return i;
	if (str_len(name) >= sizeof(p->name) || !read_number(pmu_path(name, "/type"), &type) ||
	    type > UINT32_MAX || !table_has(&pmus_table, nrows.pmus + 1))
		return NONE;
	p = &pmus[++nrows.pmus];
	*p = (struct pmu){ .type = (u32)type };
	memcpy(p->name, name.p, str_len(name));
	p->wide = read_cpus(p, name, "/cpumask");
	p->core = (!p->wide && read_cpus(p, name, "/cpus")) || str_is(name, "cpu");
	return nrows.pmus;
}

/* Returns the index of a PMU in pmus[], as pmu_open() does. If the result is NONE, writes an error
 * message. */
static u32 pmu_need(struct str name)
{
	u32 p = pmu_open(name);

	if (p == NONE)
		reject_missing("the kernel reports no type of the PMU", name, "");
	return p;
}

/* Returns the number of kinds of CPU if the machine has several, else 0. With several kinds, a
 * generic event (cycles) has the type of a core PMU in the upper half of config, which selects the
 * kind of CPU. */
static u32 hybrid_cores(void)
{
	pmus_all();
	return pmulist.ncores > 1 ? pmulist.ncores : 0;
}

/* True if a file of a PMU's folder events/ is not an event, but describes one, such as its unit. */
static bool is_detail(struct str s)
{
	static const char tails[][12] = { "?*.unit", "?*.scale", "?*.per-pkg", "?*.snapshot" };

	for (size_t i = 0; i < LEN(tails); i++)
		if (glob_match(str_z(tails[i]), s, NULL))
			return true;
	return false;
}

static const char *event_path(struct str pmu, struct str event, const char *tail)
{
	return is_detail(event) ? "" : path_make(DEVICES, pmu, "/events/", event, tail);
}

/* Appends the names in a PMU's folder (/events or /format) to the error message in adding.why. */
static void put_names(struct str pmu, const char *folder)
{
	const struct names *inside;

	put_z(adding.why, "; the ");
	put_text(adding.why, pmu);
	put_z(adding.why, " PMU has:");
	inside = names_read(INSIDE, pmu_path(pmu, folder));
	for (u32 i = 0; i < inside->n && adding.why->cap - adding.why->n > 80; i++)
		if (!is_detail(name_at(inside, i))) {
			put_c(adding.why, ' ');
			put_text(adding.why, name_at(inside, i));
		}
	put_z(adding.why, inside->n ? "" : " none");
}

/* --- terms ------------------------------------------------------------------------------------ */

enum word { W_CONFIG, W_NAME = MAX_CONFIGS, W_PERIOD, W_FREQ, W_INHERIT, W_NO_INHERIT, W_IGNORED,
	    W_REFUSED, W_PATH, W_OFFSET, W_UNKNOWN };

/* Terms that every PMU accepts: perf-list(1). */
static const struct {
	char name[16];
	u8 word;
} common[] = {
	{ "config", W_CONFIG },     { "config1", W_CONFIG + 1 },  { "config2", W_CONFIG + 2 },
	{ "config3", W_CONFIG + 3 }, { "config4", W_CONFIG + 4 },  { "name", W_NAME },
	{ "period", W_PERIOD },     { "freq", W_FREQ },           { "inherit", W_INHERIT },
	{ "no-inherit", W_NO_INHERIT }, { "percore", W_IGNORED }, { "metric-id", W_IGNORED },
	{ "overwrite", W_IGNORED }, { "no-overwrite", W_IGNORED }, { "time", W_IGNORED },
	{ "branch_type", W_REFUSED }, { "call-graph", W_REFUSED }, { "stack-size", W_REFUSED },
	{ "max-stack", W_REFUSED }, { "nr", W_REFUSED },          { "aux-output", W_REFUSED },
	{ "aux-action", W_REFUSED }, { "aux-sample-size", W_REFUSED }, { "cpu", W_REFUSED },
	{ "ratio-to-prev", W_REFUSED },
	/* terms that only the PMUs uprobe and kprobe accept */
	{ "path", W_PATH },         { "func", W_PATH },           { "offset", W_OFFSET },
};

static u8 find_word(struct str name, bool probe)
{
	for (size_t i = 0; i < LEN(common); i++)
		if (str_is(name, common[i].name))
			return common[i].word < W_PATH || probe ? common[i].word : W_UNKNOWN;
	return W_UNKNOWN;
}

static bool is_probe(struct str pmu)
{
	return str_is(pmu, "uprobe") || str_is(pmu, "kprobe");
}

static bool word_put(struct event *ev, const struct evterm *t, u8 word)
{
	bool text = word == W_NAME || word == W_PATH;
	bool bare = word == W_INHERIT || word == W_NO_INHERIT || word == W_IGNORED;

	if (word == W_REFUSED)
		return reject("unsupported term", t->name, "");
	if (!bare && !t->value.p)
		return reject("no value for the term", t->name, "");
	if (!text && !t->number && word != W_IGNORED)
		return reject("not a number:", t->value, "");
	if (word < MAX_CONFIGS)
		ev->config[word] = t->n;
	else if (word == W_NAME)
		ev->name = text_put(ev->name, t->value);
	else if (word == W_PATH) {
		ev->path = text_put(ev->path, t->value);
		ev->kernel = str_is(t->name, "func");
	} else if (word == W_OFFSET)
		ev->config[2] = t->n;
	else if ((word == W_PERIOD || word == W_FREQ) && t->n == 0)
		return reject("must be more than 0:", t->name, "");
	else if (word == W_PERIOD || word == W_FREQ) {
		ev->period = t->n;
		ev->freq = word == W_FREQ;
	} else if (word != W_IGNORED)
		ev->no_inherit = (word == W_NO_INHERIT) == (t->n != 0);
	return true;
}

static bool format_apply(struct event *ev, const struct evterm *t, struct str text)
{
	struct evformat f;

	if (!parse_format(text, &f))
		return reject("unknown kernel format of the term", t->name, "");
	if (!t->number)
		return reject("not a number:", t->value, "");
	if (format_put(&f, t->n, ev->config))
		return true;
	put_short(adding.why, adding.item);
	put_z(adding.why, ": ");
	put_text(adding.why, t->name);
	put_z(adding.why, " is at most ");
	put_u64(adding.why, format_max(&f));
	adding.error = -EINVAL;
	return false;
}

/* Applies a generic event that is the only term of a core PMU, as in cpu_core/cycles/: sets type
 * and config of the event. On hybrid machines the PMU's type is a part of config. False if the term
 * is not such an event. */
static bool generic_apply(struct event *ev, const struct evterm *t, struct str terms)
{
	u32 type;
	u64 config;

	if (!pmus[ev->pmu].core || t->value.p || !str_eq(t->name, terms) ||
	    !parse_evname(t->name, &type, &config) || type == PT_SOFTWARE)
		return false;
	ev->type = type;
	ev->config[0] = config | (hybrid_cores() ? (u64)pmus[ev->pmu].type << 32 : 0);
	return true;
}

/* Applies one term of PMU/TERM,.../ that is not the name of a file in the PMU's folder events/.
 * Later terms overwrite earlier ones. False: an error message was written. */
static bool term_apply(struct event *ev, const struct evterm *t, struct str terms)
{
	static char b[4096];
	struct str pmu = str_z(pmus[ev->pmu].name), text;
	u8 word = find_word(t->name, is_probe(pmu));
	u64 raw;
	long r;

	if (word != W_UNKNOWN)
		return word_put(ev, t, word);
	r = read_line(path_make(DEVICES, pmu, "/format/", t->name, ""), b, sizeof(b), &text);
	if (r == 0)
		return format_apply(ev, t, text);
	if (!t->value.p && parse_raw(t->name, true, &raw)) {
		ev->config[0] = raw;
		return true;
	}
	if (r == -ENOENT && generic_apply(ev, t, terms))
		return true;
	if (r != -ENOENT)
		return reject("cannot read the kernel's format of the term", t->name, "");
	reject_missing(t->value.p ? "no term" : "no event or term", t->name, "");
	put_names(pmu, t->value.p ? "/format" : "/events");
	return false;
}

static bool has_term(struct str terms, struct str name)
{
	struct evlist l = { .rest = terms };
	struct evterm t;

	while (evterm_next(&l, &t))
		if (str_eq(t.name, name) && t.value.p)
			return true;
	return false;
}

static void read_text(u32 *to, const char *path)
{
	char b[64];
	struct str line;

	if (read_line(path, b, sizeof(b), &line) == 0 && line.p < line.e)
		*to = text_put(*to, line);
}

/* Reads the unit, the scale and the rule (how the value is computed) of a PMU's event from the
 * files NAME.unit, NAME.scale, NAME.per-pkg and NAME.snapshot in the PMU's folder events/. */
static void event_details(struct event *ev, struct str pmu, struct str name)
{
	char b[512];
	struct str line;
	u64 v;

	read_text(&ev->unit, event_path(pmu, name, ".unit"));
	if (read_line(event_path(pmu, name, ".scale"), b, sizeof(b), &line) == 0 &&
	    !parse_scale(line, &ev->scale, &ev->scale_point))
		ev->scale = 0;
	ev->per_pkg |= read_number(event_path(pmu, name, ".per-pkg"), &v) && v;
	if (read_number(event_path(pmu, name, ".snapshot"), &v) && v)
		ev->rule = R_LEVEL;
	/* Frequency events: i915_pmu.c of Linux counts MHz integrated over time; xe_pmu.c adds the
	 * present MHz to the count at each read. */
	if (glob_match(S("i915*"), pmu, NULL) && glob_match(S("*-frequency*"), name, NULL)) {
		ev->rule = R_RATE;
		ev->unit = text_put(ev->unit, S("MHz"));
	} else if (glob_match(S("xe_*"), pmu, NULL) &&
		   glob_match(S("gt-*-frequency"), name, NULL)) {
		ev->rule = R_PER_READ;
		ev->unit = text_put(ev->unit, S("MHz"));
	}
}

/* Applies the terms in a file of a PMU's folder events/. The user's terms must contain each
 * parameter whose value the file leaves open (term=?). False: an error message was written. */
static bool alias_apply(struct event *ev, struct str name, struct str text, struct str terms)
{
	struct evlist l = { .rest = text };
	struct evterm t;
	bool missing = false;

	while (evterm_next(&l, &t)) {
		if (!str_is(t.value, "?")) {
			if (!missing && !term_apply(ev, &t, text))
				return false;
		} else if (!has_term(terms, t.name)) {
			if (!missing)
				reject_z("required terms:");
			put_c(adding.why, ' ');
			put_text(adding.why, t.name);
			put_c(adding.why, '=');
			missing = true;
		}
	}
	if (l.why)
		return reject("unknown kernel terms of the event", name, "");
	return !missing;
}

/* Applies all terms of PMU/TERMS/: first those that name a file in the PMU's folder events/, then
 * the others, so that the user's terms overwrite those of the files. False: an error message was
 * written. */
static bool terms_apply(struct event *ev, struct str terms)
{
	static char b[4096];
	struct str pmu = str_z(pmus[ev->pmu].name), text;

	for (int phase = 0; phase < 2 && terms.p < terms.e; phase++) {
		struct evlist l = { .rest = terms };
		struct evterm t;

		while (evterm_next(&l, &t)) {
			const char *path = event_path(pmu, t.name, "");
			bool alias = !t.value.p && exists(path);

			if (phase == 0 && alias) {
				if (read_line(path, b, sizeof(b), &text) != 0)
					return reject("cannot read the kernel's terms "
						      "of the event", t.name, "");
				if (!alias_apply(ev, t.name, text, terms))
					return false;
				event_details(ev, pmu, t.name);
			} else if (phase == 1 && !alias && !term_apply(ev, &t, terms)) {
				return false;
			}
		}
		if (l.why)
			return reject(l.why, l.at, "");
	}
	return true;
}

/* --- events ----------------------------------------------------------------------------------- */

static struct event *event_new(struct str name)
{
	struct event *ev;

	if (pmulist.rows == UINT16_MAX || nrows.events + 1 == MAX_EVENTS ||
	    !table_has(&events_table, nrows.events + 1)) {
		reject_z(nrows.events + 1 < MAX_EVENTS ? "no memory for one more event" :
		       "more than 4096 events");
		adding.error = -ENOSPC;
		return NULL;
	}
	ev = &events[++nrows.events];
	*ev = (struct event){ .set = adding.set, .row = pmulist.rows };
	ev->name = text_put(NONE, name);
	return ev;
}

static void events_cut(u32 n)
{
	for (; nrows.events > n; nrows.events--) {
		text_free(events[nrows.events].name);
		text_free(events[nrows.events].unit);
		text_free(events[nrows.events].path);
	}
}

static bool add_instance(struct str pmu, struct str terms, u16 instance)
{
	struct event *ev;
	u32 p = pmu_need(pmu);

	ev = p == NONE ? NULL : event_new(adding.item);
	if (!ev)
		return false;
	ev->type = pmus[p].type;
	ev->pmu = p;
	ev->group = instance;
	if (is_probe(pmu) && terms.p == terms.e)
		return reject_z("requires path=FILE,offset=N or func=NAME");
	return terms_apply(ev, terms);
}

static bool add_virtual(struct str source, struct str name)
{
	struct event *ev = event_new(adding.item);

	if (ev && virtual_find(source, name, ev))
		return true;
	events_cut(nrows.events - (ev != NULL));
	return false;
}

static bool reject_pmu(struct str name)
{
	const struct names *l = pmus_all();

	reject_missing("no PMU", name, l->n ? "; there are:" : ": /sys/" DEVICES " has none");
	for (u32 i = 0; i < l->n && adding.why->cap - adding.why->n > 80; i++) {
		put_c(adding.why, ' ');
		put_text(adding.why, name_at(l, i));
	}
	return false;
}

static bool has_wild(struct str s)
{
	return s.p < s.e && (memchr(s.p, '*', str_len(s)) || memchr(s.p, '?', str_len(s)));
}

static bool add_generic(u32 type, u64 config);

/* Adds a generic event with terms that every PMU accepts: cycles/period=100000/. False: an error
 * message was written, or (without a message) the name is not that of a generic event. */
static bool add_generic_terms(struct str name, struct str terms)
{
	u32 type, first = nrows.events + 1;
	struct evlist l = { .rest = terms };
	struct evterm t;
	u64 config;

	if (!parse_evname(name, &type, &config) || !add_generic(type, config))
		return false;
	while (evterm_next(&l, &t)) {
		u8 word = find_word(t.name, false);

		if (word == W_UNKNOWN)
			return reject("no term", t.name, "; a generic event has: "
				      "name period freq inherit no-inherit config1 to config4");
		for (u32 i = first; i <= nrows.events; i++)
			if (!word_put(&events[i], &t, word))
				return false;
	}
	return l.why ? reject(l.why, l.at, "") : true;
}

/* Adds the event PMU/TERMS/ of every PMU whose name matches the pattern `pmu` and that has these
 * terms; if `pmu` is the exact name of a PMU, only of that one. */
static bool add_pmu(struct str pmu, struct str terms)
{
	const struct names *l = pmus_all();
	size_t why = adding.why->n;
	u32 first = nrows.events, tried = 0;
	bool exact = false;

	for (u32 i = 0; i < l->n; i++)
		exact |= str_eq(pmu, name_at(l, i));
	for (u32 i = 0; i < l->n; i++) {
		struct str name = name_at(l, i);
		u32 had = nrows.events;

		if (exact ? !str_eq(pmu, name) : !pmu_match(pmu, name))
			continue;
		adding.why->n = why;
		tried++;
		if (!add_instance(name, terms, (u16)(had - first)))
			events_cut(had);
	}
	if (nrows.events > first) {
		adding.why->n = why;
		return true;
	}
	if (tried)
		return false;
	if (add_virtual(pmu, terms))
		return true;
	if (add_generic_terms(pmu, terms))
		return true;
	if (adding.why->n > why)
		return false;
	if (!virtual_source(pmu))
		return reject_pmu(pmu);
	adding.missing = adding.item;
	return reject_missing_z("no such counter; gpustat events lists them");
}

/* Adds a software, hardware, cache or raw event to events[]; on a machine with several kinds of
 * CPU, one event for each kind, unless it is a software event. */
static bool add_generic(u32 type, u64 config)
{
	u32 n = type == PT_SOFTWARE ? 0 : hybrid_cores();

	for (u32 i = 0; i < n || i == 0; i++) {
		struct event *ev = event_new(adding.item);

		if (!ev)
			return false;
		ev->type = type;
		ev->config[0] = config;
		if (!n)
			break;
		ev->group = (u16)i;
		ev->pmu = pmu_need(pmulist.cores[i]);
		if (ev->pmu == NONE)
			return false;
		if (type == PT_RAW)
			ev->type = pmus[ev->pmu].type;
		else
			ev->config[0] |= (u64)pmus[ev->pmu].type << 32;
	}
	return true;
}

/* Adds an event whose PMU the user did not name, for each PMU that has it in its folder events/. */
static bool add_bare(struct str name)
{
	const struct names *l = pmus_all();
	u32 first = nrows.events;

	for (u32 i = 0; i < l->n; i++)
		if (exists(event_path(name_at(l, i), name, "")) &&
		    !add_instance(name_at(l, i), name, (u16)(nrows.events - first)))
			return false;
	if (nrows.events > first)
		return true;
	adding.missing = name;
	return reject_missing_z("no such event; gpustat events lists them");
}

/* Writes an error message that says why the address of a symbol is unknown. err: the -errno of
 * symbol_place() or symbol_kernel(); where: the file or process that was searched; NULL: the
 * kernel. Returns false. */
static bool reject_place(long err, struct str symbol, const char *where)
{
	static const struct {
		int err;
		const char *what, *more;
	} reasons[] = {
		{ ENXIO, "no such symbol:", "" },
		{ ENODATA, "no such symbol:", "; it is stripped: only symbols that other files use "
					      "are left" },
		{ ENOTUNIQ, "several symbols have this name:", "; use an address" },
		{ EADDRNOTAVAIL, "an address that is not known before the program runs:",
		  "; it is position-independent: use -p PID, or link it with -no-pie" },
		{ EFAULT, "not a function:", "" },
		{ ENOEXEC, "a symbol of a file that is not an ELF program:", "" },
		{ EACCES, "a symbol that may not be read:", "" },
		{ ENOENT, "a symbol of a file that does not exist:", "" },
	};
	size_t i = 0;

	while (i < LEN(reasons) && reasons[i].err != -err)
		i++;
	reject_missing(i < LEN(reasons) ? reasons[i].what :
		       "a symbol of a file that cannot be read:", symbol, "");
	put_z(adding.why, where ? " in " : " in the kernel");
	put_text(adding.why, str_z(where));
	put_z(adding.why, i < LEN(reasons) ? reasons[i].more : "");
	return false;
}

/* Stores the address of a breakpoint mem:SYMBOL+OFFSET in *address. The symbol is one of the kernel
 * (with the modifier :k) or of the program that is counted. False: an error message was written. */
static bool mem_address(const struct evitem *it, u64 *address)
{
	const struct events_given *given = &events_given;
	struct elf_place place = { .fixed = true };
	bool kernel = it->mods & EM_KERNEL && !(it->mods & EM_USER);
	char number[32];
	struct buf b = BUF_Z(number);
	long r;

	put_z(&b, "process ");
	put_u64(&b, given->pid);
	if (!kernel && !given->pid && !given->file)
		return reject("the address of", it->b, " requires -p PID, a command, or :k");
	r = kernel ? symbol_kernel(it->b, &place.address) :
		     symbol_place(given->pid, given->file, it->b, &place);
	if (r == 0 && !place.fixed)
		r = -EADDRNOTAVAIL;
	*address = place.address + it->x;
	return r == 0 ||
	       reject_place(r, it->b, kernel ? NULL : given->pid ? buf_z(&b) : given->file);
}

static bool add_mem(const struct evitem *it)
{
	u64 address = it->x;
	struct event *ev;

	if (str_len(it->b) && !mem_address(it, &address))
		return false;
	ev = event_new(adding.item);
	if (!ev)
		return false;
	ev->type = PT_BREAKPOINT;
	ev->bp = it->bp;
	ev->config[1] = address;
	ev->config[2] = it->y;
	return true;
}

/* Stores the file offset (bytes) of the probe uprobe:FILE:SYMBOL+OFFSET in *offset. False: an error
 * message was written. */
static bool probe_offset(const struct evitem *it, u64 *offset)
{
	char file[4096];
	struct elf_place place;
	long r;

	str_copy(file, sizeof(file), it->a);
	r = symbol_place(0, file, it->b, &place);
	if (r == 0 && !place.code)
		r = -EFAULT;
	*offset = r == 0 ? place.offset + it->x : 0;
	return r == 0 || reject_place(r, it->b, file);
}

static bool add_probe(const struct evitem *it)
{
	bool kernel = it->form == EF_KPROBE;
	struct str pmu = kernel ? S("kprobe") : S("uprobe");
	u32 p = pmu_open(pmu);
	u64 offset = it->x;
	struct event *ev;

	if (p == NONE)
		return reject_pmu(pmu);
	if (str_len(it->b) && !probe_offset(it, &offset))
		return false;
	ev = event_new(adding.item);
	if (!ev)
		return false;
	ev->type = pmus[p].type;
	ev->pmu = p;
	ev->path = text_put(NONE, it->a);
	ev->kernel = kernel;
	/* return probe: its flag, the PMU's format/retprobe, is bit 0 of config */
	ev->config[0] = it->returns;
	ev->config[2] = offset;
	return true;
}

/* --- tracepoints ------------------------------------------------------------------------------ */

/* Returns the path below /sys (or --sys) of the folder events of tracefs, or of the same folder
 * below debugfs if tracefs is mounted only there (always before Linux 4.1). Returns NULL if neither
 * can be opened, and stores the -errno in *r. */
const char *trace_root(long *r)
{
	static const char *const folders[] = { "kernel/tracing/events",
					       "kernel/debug/tracing/events" };

	*r = -ENOENT;
	for (size_t i = 0; i < LEN(folders); i++) {
		struct dir d;
		long fd = dir_open(&d, roots.sys, folders[i]);

		if (fd >= 0) {
			dir_close(&d);
			return folders[i];
		}
		if (fd == -EACCES)
			*r = fd;
	}
	return NULL;
}

/* Returns 0 if tracepoints can be found by their names, else the -errno of reading tracefs. */
long events_tracefs(void)
{
	char b[64];
	struct str line;
	long r;
	const char *root = trace_root(&r);

	if (root)
		r = read_line(path_make(root, S("sched"), "/", S("sched_switch"), "/id"), b,
			      sizeof(b), &line);
	return r > 0 || (root && r == -ENOENT) ? 0 : r;
}

/* True if the kernel denies all events to a process without CAP_SYS_ADMIN, even with CAP_PERFMON,
 * as the kernels of Debian and Ubuntu do if perf_event_paranoid is above 2. Linux itself defines no
 * such value, and ignores it. */
bool perf_hardened(void)
{
	return setting_read("sys/kernel/perf_event_paranoid", 0) > 2;
}

static bool reject_access(void)
{
	reject_z("only root can read tracefs");
	adding.error = -EACCES;
	return false;
}

/* Adds a tracepoint whose number only root may read: it cannot be counted, but the other events of
 * the list can. Returns 1, or -1 after an error message. */
static int trace_denied(struct str shown)
{
	struct event *ev;

	pmulist.rows++;
	ev = event_new(shown);
	if (!ev)
		return -1;
	ev->type = PT_TRACEPOINT;
	ev->denied = true;
	return 1;
}

/* Adds the tracepoint sys:name to events[]. shown: the name of the event in the output. Returns 1;
 * 0 if there is no such tracepoint; -1 after an error message. */
static int trace_add(const char *root, struct str sys, struct str name, struct str shown)
{
	char b[64];
	struct str line;
	struct event *ev;
	u64 id;
	long r = read_line(path_make(root, sys, "/", name, "/id"), b, sizeof(b), &line);

	if (r == -EACCES)
		return trace_denied(shown);
	if (r < 0 || scan_u64(line, &id) != line.e)
		return 0;
	pmulist.rows++;
	ev = event_new(shown);
	if (!ev)
		return -1;
	ev->type = PT_TRACEPOINT;
	ev->config[0] = id;
	return 1;
}

static int trace_system(const char *root, struct str sys, struct str pattern)
{
	const char *path = path_make(root, sys, "", (struct str){ 0 }, "");
	const struct names *inside = names_read(INSIDE, path);
	char shown[256];
	int found = 0;

	for (u32 i = 0; i < inside->n; i++) {
		struct buf b = BUF(shown);
		int r;

		if (!glob_match(pattern, name_at(inside, i), NULL))
			continue;
		put_str(&b, sys);
		put_c(&b, ':');
		put_str(&b, name_at(inside, i));
		r = trace_add(root, sys, name_at(inside, i), (struct str){ shown, shown + b.n });
		if (r < 0)
			return r;
		found |= r;
	}
	return found;
}

static bool add_found_trace(struct str sys, struct str name)
{
	int found = 0;
	long r;
	const char *root = trace_root(&r);

	if (!root && r == -EACCES && !has_wild(sys) && !has_wild(name))
		return trace_denied(adding.item) > 0;
	if (!root)
		return r == -EACCES ? reject_access() :
		       reject_missing_z("tracefs is not mounted; as root: "
					"mount -t tracefs tracefs /sys/kernel/tracing");
	if (!has_wild(sys) && !has_wild(name)) {
		found = trace_add(root, sys, name, adding.item);
	} else {
		const struct names *systems = names_read(SYSTEMS, root);

		for (u32 i = 0; i < systems->n && found >= 0; i++)
			if (glob_match(sys, name_at(systems, i), NULL)) {
				int n = trace_system(root, name_at(systems, i), name);

				found = n < 0 ? n : found | n;
			}
	}
	if (found == 0) {
		adding.missing = adding.item;
		reject_missing_z("no such tracepoint; gpustat events lists them");
	}
	return found > 0;
}

static bool add_trace(struct str sys, struct str name)
{
	/* the raised rights are safe: is_leaf() refuses names that lead out of tracefs */
	u8 was = privilege_raise(MAY_READ);
	bool found = add_found_trace(sys, name);

	privilege_lower(was);
	return found;
}

/* --- gpu-busy, gpu-freq, gpu-energy: aliases ------------------------------------ */

static bool add_list(struct str list, bool aliases);

static struct buf gpu_text(void)
{
	return BUF(pmulist.gpu_bytes);
}

static bool gpu_add(const struct buf *b)
{
	return add_list((struct str){ b->p, b->p + b->n }, false);
}

/* Adds PMU/EVENT/ for each event of an i915 PMU whose name matches the pattern. */
static bool add_i915(struct str pmu, struct str pattern)
{
	const struct names *systems = names_read(SYSTEMS, pmu_path(pmu, "/events"));

	for (u32 i = 0; i < systems->n; i++) {
		struct buf b = gpu_text();

		if (!glob_match(pattern, name_at(systems, i), NULL) ||
		    is_detail(name_at(systems, i)))
			continue;
		put_str(&b, pmu);
		put_c(&b, '/');
		put_str(&b, name_at(systems, i));
		put_c(&b, '/');
		if (!gpu_add(&b))
			return false;
	}
	return true;
}

/* include/uapi/drm/xe_drm.h: DRM_XE_ENGINE_CLASS_* */
static const char *const xe_classes[] = { "rcs", "bcs", "vcs", "vecs", "ccs" };

/* True if /sys lists this GT (a part of an xe GPU with its own engines) or, if class is not NULL,
 * engines of this class in the GT. The PMU xe_0000_03_00.0 belongs to the PCI device
 * 0000:03:00.0. */
static bool xe_has(struct str pmu, u8 gt, const char *class)
{
	char slot[32];
	size_t n = 0;

	if (!str_skip_z(&pmu, "xe_") || str_len(pmu) >= sizeof(slot))
		return false;
	for (; pmu.p < pmu.e; pmu.p++)
		slot[n++] = (char)(*pmu.p == '_' ? ':' : *pmu.p);
	for (u8 tile = 0; tile < 2; tile++) {
		char sub[32];
		struct buf b = buf_on(sub, sizeof(sub) - 1);

		put_z(&b, "/tile");
		put_u64(&b, tile);
		put_z(&b, "/gt");
		put_u64(&b, gt);
		put_z(&b, class ? "/engines/" : "");
		sub[b.n] = '\0';
		if (exists(path_make("bus/pci/devices", (struct str){ slot, slot + n }, sub,
				     str_z(class), "")))
			return true;
	}
	return false;
}

static void put_xe(struct buf *b, struct str pmu, const char *event, u8 gt, int class)
{
	put_str(b, pmu);
	put_c(b, '/');
	put_z(b, event);
	put_z(b, ",gt=");
	put_u64(b, gt);
	if (class >= 0) {
		put_z(b, ",engine_instance=0,engine_class=");
		put_u64(b, (u64)class);
		put_z(b, ",name='");
		put_str(b, pmu);
		put_c(b, '/');
		put_z(b, xe_classes[class]);
		put_z(b, gt ? "0-gt1" : "0"); /* GT 1 is the media GT */
		put_z(b, "-busy/'");
	}
	put_c(b, '/');
}

/* Adds the busy share of each engine of an xe GPU: active ticks / total ticks, in one group, since
 * they must be read together. Only instance 0 of each engine class is counted: /sys lists classes,
 * not instances. */
static bool add_xe_busy(struct str pmu)
{
	bool found = false;

	/* i == 0: engines of GT 0; i == 1: of GT 1; i == 2: /sys lists no engine, so try all
	 * classes on GT 0 */
	for (u8 i = 0; i < 3 && !(i == 2 && found); i++)
		for (int class = 0; class < (int)LEN(xe_classes); class++) {
			struct buf b = gpu_text();

			if (i < 2 && !xe_has(pmu, i, xe_classes[class]))
				continue;
			found |= i < 2;
			put_c(&b, '{');
			put_xe(&b, pmu, "engine-active-ticks", i % 2, class);
			put_c(&b, ',');
			put_xe(&b, pmu, "engine-total-ticks", i % 2, class);
			put_c(&b, '}');
			if (!gpu_add(&b))
				return false;
			events[nrows.events - 1].rule = R_SHARE;
			events[nrows.events - 1].unit =
				text_put(events[nrows.events - 1].unit, S("%"));
			events[nrows.events].hidden = true;
			events[nrows.events - 1].guess = events[nrows.events].guess = i == 2;
		}
	return true;
}

static bool add_xe_freq(struct str pmu)
{
	for (u8 gt = 0; gt < 2; gt++) {
		struct buf b = gpu_text();

		if (gt > 0 && !xe_has(pmu, gt, NULL))
			continue;
		put_xe(&b, pmu, "gt-actual-frequency", gt, -1);
		if (!gpu_add(&b))
			return false;
	}
	return true;
}

static void found_engine(void *arg, struct str event)
{
	bool *good = arg;

	*good = *good && add_list(event, false);
}

static bool add_gpu(bool freq)
{
	const struct names *l = pmus_all();
	u32 first = nrows.events;
	bool good = true;

	for (u32 i = 0; i < l->n && good; i++) {
		struct str pmu = name_at(l, i);

		if (glob_match(S("i915*"), pmu, NULL))
			good = add_i915(pmu, freq ? S("actual-frequency*") : S("*-busy*"));
		else if (glob_match(S("xe_*"), pmu, NULL))
			good = freq ? add_xe_freq(pmu) : add_xe_busy(pmu);
	}
	if (good && nrows.events == first && !freq)
		virtual_engines(found_engine, &good);
	if (!good || nrows.events > first)
		return good;
	return reject_missing_z(freq ? "no i915 or xe PMU here" :
			    "no i915 or xe PMU here, "
			    "and no DRM client with engine times");
}

static bool add_gpu_energy(void)
{
	struct buf b = gpu_text();

	if (exists(event_path(S("power"), S("energy-gpu"), "")))
		return add_list(S("power/energy-gpu/"), false);
	if (virtual_gpu_energy(&b))
		return gpu_add(&b);
	return reject_missing_z("no power/energy-gpu/ here, and no hwmon energy of a GPU");
}

/* Looks up an alias in --pmu-file, whose lines are "NAME EVENT" (# begins a comment), and stores
 * its EVENT in *event. False if the file does not have the name, or its line has no event. */
static bool file_event(struct str name, struct str *event)
{
	struct str rest = events_given.aliases, line, word;

	while (str_cut(&rest, '\n', &line)) {
		str_word(&line, &word);
		if (str_eq(word, name)) {
			*event = str_trim(line);
			return event->p < event->e;
		}
	}
	return false;
}

/* Adds the events of an alias: a name of --pmu-file, gpu-busy, gpu-freq or gpu-energy. Returns 1; 0
 * if the name is not an alias; -1 after an error message. */
static int add_alias(struct str name, bool grouped)
{
	bool busy = str_is(name, "gpu-busy"), freq = str_is(name, "gpu-freq"), good;
	struct str event;

	if (file_event(name, &event)) {
		u32 had = nrows.events;

		if (!add_list(event, false))
			return -1;
		if (nrows.events == had + 1)
			events[nrows.events].name = text_put(events[nrows.events].name, name);
		return 1;
	}
	if (!busy && !freq && !str_is(name, "gpu-energy"))
		return 0;
	if (grouped) {
		reject_z("an alias for several groups cannot be inside a group");
		return -1;
	}
	good = busy || freq ? add_gpu(freq) : add_gpu_energy();
	return good ? 1 : -1;
}

/* --- lists ------------------------------------------------------------------------------------ */

static bool add_name(struct str name)
{
	u32 type;
	u64 config;

	if (parse_evname(name, &type, &config))
		return add_generic(type, config);
	return add_virtual(S("tool"), name) || add_bare(name);
}

static bool add_item(const struct evitem *it, bool aliases)
{
	int r;

	adding.item = it->text;
	pmulist.rows++;
	switch (it->form) {
	case EF_RAW:
		return add_generic(PT_RAW, it->x);
	case EF_TYPED:
		if (!add_generic(PT_SOFTWARE, it->y))
			return false;
		events[nrows.events].type = (u32)it->x;
		return true;
	case EF_TRACE:
		return add_trace(it->a, it->b);
	case EF_MEM:
		return add_mem(it);
	case EF_PMU:
		return add_pmu(it->a, it->b);
	case EF_UPROBE: case EF_KPROBE:
		return add_probe(it);
	default:
		r = aliases ? add_alias(it->a, it->grouped) : 0;
		return r ? r > 0 : add_name(it->a);
	}
}

static void event_mods(struct event *ev, u16 mods, u8 precise)
{
	ev->mods |= mods;
	if (mods & EM_MAX_PRECISE)
		precise = 3;
	ev->precise = precise > ev->precise ? precise : ev->precise;
}

/* Sets the unit of the software events cpu-clock and task-clock, which count ns. */
static void event_unit(struct event *ev)
{
	if (ev->type == PT_SOFTWARE && ev->config[0] < 2 && !ev->virt && ev->unit == NONE)
		ev->unit = text_put(NONE, S("ns"));
}

/* Makes groups of the members of {a,b}: events[first] and all events after it. A member can exist
 * on several PMUs; before the call, .group of each event is the position of its PMU among the PMUs
 * of its member. The events of all members with the same position become one group. False: an error
 * message was written. */
static bool group_close(u32 first, const struct evitem *it)
{
	u16 last = 0;
	u32 members = 0;

	for (u32 i = first; i <= nrows.events; i++) {
		struct event ev = events[i];
		u32 k = i;

		for (; k > first && events[k - 1].group > ev.group; k--)
			events[k] = events[k - 1];
		events[k] = ev;
	}
	for (u32 i = first; i <= nrows.events; i++) {
		event_mods(&events[i], it->gmods, it->gprecise);
		last = events[i].group > last ? events[i].group : last;
		events[i].group = (u16)(pmulist.last_group + 1 + events[i].group);
	}
	pmulist.last_group = (u16)(pmulist.last_group + 1 + last);
	pmulist.nfinal = nrows.events;
	for (u32 i = first; i <= nrows.events; i++)
		members = events[i].group == pmulist.last_group ? members + 1 : members;
	return members <= MAX_GROUP ||
	       reject_z("more than 64 events in a group");
}

static bool add_list(struct str list, bool aliases)
{
	struct evlist l = { .rest = list };
	struct evitem it;
	struct str outer = adding.item;
	u32 group = nrows.events + 1;

	while (evlist_next(&l, &it)) {
		u32 first = nrows.events + 1;

		if (it.opens)
			group = first;
		if (!add_item(&it, aliases))
			return false;
		for (u32 i = first; i <= nrows.events; i++) {
			event_mods(&events[i], it.mods, it.precise);
			event_unit(&events[i]);
			if (!it.grouped && i > pmulist.nfinal)
				events[i].group = 0;
		}
		if (it.closes && !group_close(group, &it))
			return false;
	}
	adding.item = aliases ? list : outer;
	return l.why ? reject(l.why, l.at, "") : true;
}

/* A saved state of events[]: the number of events and the highest row and group numbers.
 * mark_restore() removes all events that were added after the state was saved. */
struct mark {
	u32 events;
	u16 rows, group;
};

static struct mark mark_get(void)
{
	return (struct mark){ nrows.events, pmulist.rows, pmulist.last_group };
}

static void mark_restore(struct mark m)
{
	events_cut(m.events);
	pmulist.nfinal = m.events;
	pmulist.rows = m.rows;
	pmulist.last_group = m.group;
}

/* Adds the events of an event list to events[]. set: index of their event set. False if no event
 * was added, and an error message was written to why. */
bool events_add(struct str list, u16 set, struct buf *why)
{
	struct mark m = mark_get();

	adding.why = why;
	adding.set = set;
	adding.item = list;
	adding.error = -EINVAL;
	adding.missing = (struct str){ 0 };
	if (add_list(list, true))
		return true;
	mark_restore(m);
	return false;
}

/* --- attributes -------------------------------------------------------------- */

static void put_hexed(struct buf *b, u64 v)
{
	if (v)
		put_hex64(b, v);
	else
		put_c(b, '0');
}

static void put_flag(struct buf *b, const char *name, bool on)
{
	if (!on)
		return;
	put_c(b, ' ');
	put_z(b, name);
	put_z(b, "=1");
}

/* Appends the flags of an event's perf_event_attr to b, with the names of the fields. exclude_guest
 * is not shown: perf sets it for every event without other modifiers. */
static void put_attr_flags(struct buf *b, const struct event *ev)
{
	u16 rings = ev->mods & (EM_USER | EM_KERNEL | EM_HV);

	put_flag(b, "exclude_user", rings && !(rings & EM_USER));
	put_flag(b, "exclude_kernel", rings && !(rings & EM_KERNEL));
	put_flag(b, "exclude_hv", rings && !(rings & EM_HV));
	put_flag(b, "exclude_host", (ev->mods & EM_GUEST) && !(ev->mods & EM_HOST));
	put_flag(b, "exclude_idle", ev->mods & EM_IDLE);
	if (ev->precise) {
		put_z(b, " precise_ip=");
		put_u64(b, ev->precise);
	}
	put_flag(b, "pinned", ev->mods & EM_PINNED);
	put_flag(b, "exclusive", ev->mods & EM_EXCLUSIVE);
	if (ev->period) {
		put_z(b, ev->freq ? " freq=" : " period=");
		put_u64(b, ev->period);
	}
}

static void put_attr(struct buf *b, const struct event *ev)
{
	put_z(b, " type=");
	put_u64(b, ev->type);
	for (unsigned i = 0; i < MAX_CONFIGS; i++) {
		if (i > 2 && !ev->config[i])
			continue;
		put_z(b, " config");
		if (i)
			put_u64(b, i);
		put_c(b, '=');
		put_hexed(b, ev->config[i]);
	}
	put_attr_flags(b, ev);
}

static void attr_modifiers(struct perf_event_attr *a, u16 mods, bool leader)
{
	if (mods & (EM_USER | EM_KERNEL | EM_HV)) {
		a->exclude_user = !(mods & EM_USER);
		a->exclude_kernel = !(mods & EM_KERNEL);
		a->exclude_hv = !(mods & EM_HV);
	}
	if (mods & (EM_GUEST | EM_HOST)) {
		a->exclude_guest = !(mods & EM_GUEST);
		a->exclude_host = !(mods & EM_HOST);
	}
	a->exclude_idle = !!(mods & EM_IDLE);
	/* the kernel accepts `pinned` and `exclusive` only for group leaders */
	a->pinned = leader && mods & EM_PINNED;
	a->exclusive = leader && mods & EM_EXCLUSIVE;
}

/* Fills *e with the attributes that all callers need. A group leader is opened disabled, so that
 * its group does not count yet. For a uprobe or kprobe, the caller must set config1, the address of
 * the path or function name. */
void event_attr(const struct event *ev, bool leader, struct gp_event *e)
{
	union evattr attr = { .a = { .type = ev->type, .config = ev->config[0] } };

	attr.a.config1 = ev->config[1];
	attr.a.config2 = ev->config[2];
	attr.w[EVATTR_CONFIG3] = ev->config[3];
	attr.w[EVATTR_CONFIG3 + 1] = ev->config[4];
	attr.a.bp_type = ev->bp;
	attr.a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr_modifiers(&attr.a, ev->mods, leader);
	attr.a.precise_ip = ev->precise & 3u;
	attr.a.disabled = leader;
	*e = (struct gp_event){ .precise = !!(ev->mods & EM_MAX_PRECISE),
				.wide = ev->pmu && pmus[ev->pmu].wide };
	memcpy(e->attr, &attr, sizeof(attr));
}

/* The paths of uprobes and the function names of kprobes that gp_parse() has returned, one after
 * the other, each with its NUL. */
static struct {
	char *paths;
	size_t used;
	struct table table;
} kept = {
	.table = TABLE_ROW(kept.paths, 1 << 14, 4096, "bytes of probes' paths"),
};

/* Returns a copy of a probe's path that is never freed: the kernel reads it when the event is
 * opened, and again when the process forks. NULL: the table of all paths is full. */
static const char *path_keep(u32 text)
{
	char path[4096];
	size_t n = text_copy(text, path, sizeof(path) - 1) + 1;

	path[n - 1] = '\0';
	for (const char *p = kept.paths; p < kept.paths + kept.used; p += strlen(p) + 1)
		if (strcmp(p, path) == 0)
			return p;
	if (!table_has(&kept.table, kept.used + n - 1))
		return NULL;
	memcpy(kept.paths + kept.used, path, n);
	kept.used += n;
	return kept.paths + kept.used - n;
}

/* Stores in cpus[] the CPUs on which the event must be opened, followed by -1: those of its PMU if
 * the PMU is wide (counts whole CPUs or packages), else none. */
static void event_cpus(const struct event *ev, i32 *cpus)
{
	const struct pmu *p = &pmus[ev->pmu];
	u32 n = 0;

	for (u32 cpu = 0; cpu < MAX_CPUS && n < LEN(((struct gp_event *)0)->cpus) - 1; cpu++)
		if (p->wide && p->cpus.w[cpu / 64] >> cpu % 64 & 1)
			cpus[n++] = (i32)cpu;
	cpus[n] = -1;
}

/* Fills *e for gp_parse(), from one event of events[]. Returns 0 or -errno. */
static long event_make(const struct event *ev, bool leader, bool grouped, struct gp_event *e)
{
	struct perf_event_attr *a = (struct perf_event_attr *)(void *)e->attr;
	const char *path = ev->path ? path_keep(ev->path) : NULL;

	event_attr(ev, leader, e);
	a->read_format |= PERF_FORMAT_ID | (grouped ? PERF_FORMAT_GROUP : 0u);
	a->freq = ev->freq;
	a->sample_period = ev->period;
	if (path)
		a->config1 = (u64)(uintptr_t)path;
	e->scale = ev->scale;
	e->scale_point = ev->scale_point;
	text_copy(ev->unit, e->unit, sizeof(e->unit) - 1);
	event_cpus(ev, e->cpus);
	return ev->path && !path ? -ENOSPC : ev->denied ? -EACCES : ev->virt ? -EOPNOTSUPP : 0;
}

/* Returns the number of events in the group that begins with events[from]. */
static u32 group_size(u32 from)
{
	u32 to = from + 1;

	while (to <= nrows.events && events[from].group && events[to].group == events[from].group)
		to++;
	return to - from;
}

static long attrs_make(struct mark m, struct gp_event *to, size_t cap)
{
	size_t n = 0;
	long r = 0;
	u32 lead = m.events + 1;

	for (u32 i = lead; i <= nrows.events && r == 0; i++) {
		const struct event *ev = &events[i];

		if (n == cap)
			return -ENOSPC;
		if (!ev->group || ev->group != events[lead].group)
			lead = i;
		r = event_make(ev, lead == i, group_size(lead) > 1, &to[n]);
		to[n].group = (u16)(ev->group ? ev->group - m.group : 0);
		to[n++].same = (u16)(ev->row - m.rows);
	}
	return r < 0 ? r : (long)n;
}

long events_attr(struct str list, struct gp_event *to, size_t cap, struct buf *why)
{
	struct mark m = mark_get();
	long n;

	if (!m.events)
		/* forget the PMUs, since the PMU of a driver that was loaded again may have another
		 * type number */
		nrows.pmus = 0;
	if (!events_add(list, 0, why))
		return adding.error;
	n = attrs_make(m, to, cap);
	mark_restore(m);
	if (n < 0)
		reject_z(n == -ENOSPC ? "there is no room for it" :
			 n == -EACCES ? "only root can read its number" :
		      "not an event of the kernel");
	return n;
}

int gp_parse(const char *list, struct gp_event *to, int cap, char *why, size_t nwhy)
{
	struct buf b = buf_on(why, why && nwhy ? nwhy - 1 : 0);
	long n;

	if (!list || (!to && cap > 0))
		return -EFAULT;
	sys_lock(&lib_lock);
	roots_open(); /* an error is ignored, since generic events need neither /proc nor /sys */
	/* read the list of PMUs again, since a driver may have added one after the last call */
	pmulist.pmus_read = false;
	n = events_attr(str_z(list), to, cap > 0 ? (size_t)cap : 0, &b);
	sys_unlock(&lib_lock);
	if (why && nwhy)
		why[b.n] = '\0';
	return (int)n;
}

/* Appends a line for each event of events[] to b: its name and the fields of its
 * perf_event_attr. */
void events_resolve(struct buf *b)
{
	static char name[4096];

	for (u32 i = 1; i <= nrows.events; i++) {
		const struct event *ev = &events[i];

		put_text(b, (struct str){ name, name + text_copy(ev->name, name, sizeof(name)) });
		if (ev->virt && !ev->type)
			put_z(b, " virtual");
		else
			put_attr(b, ev);
		put_c(b, '\n');
	}
}

/* --- available events ------------------------------------------------------------------------- */

static struct {
	struct str glob;
	void (*show)(struct str name, struct str unit, struct str what);
} listing;

/* Passes an event to listing.show() if its name matches listing.glob. A glob without * and ?
 * matches any name that contains it. */
static void list_one(struct str name, struct str unit, struct str what)
{
	if (has_wild(listing.glob) ? glob_match(listing.glob, name, NULL) :
	    str_find(name, listing.glob))
		listing.show(name, unit, what);
}

static void list_names(u8 type, const char *what)
{
	for (size_t i = 0; i < nevnames; i++)
		if (evnames[i].type == type)
			list_one(str_z(evnames[i].name), (struct str){ 0 }, str_z(what));
}

static void list_cache(void)
{
	for (size_t i = 0; i < CACHE_NAMES; i++) {
		char name[64];
		struct buf b = BUF(name);
		struct str w[3];

		if (!cache_name(i, w))
			continue;
		put_str(&b, w[0]);
		put_c(&b, '-');
		put_str(&b, w[1]);
		put_z(&b, w[2].p < w[2].e ? "-" : "");
		put_str(&b, w[2]);
		list_one((struct str){ name, name + b.n }, (struct str){ 0 }, S("cache event"));
	}
}

static void put_params(struct buf *b, struct str text)
{
	struct evlist l = { .rest = text };
	struct evterm t;

	while (evterm_next(&l, &t))
		if (str_is(t.value, "?")) {
			put_c(b, ',');
			put_str(b, t.name);
			put_z(b, "=?");
		}
}

static void list_event(struct str pmu, struct str name)
{
	static char text[4096], shown[1024];
	struct buf b = BUF(shown);
	struct str line = { 0 };
	struct event ev = { 0 };
	char unit[64];

	if (is_detail(name) || read_line(event_path(pmu, name, ""), text, sizeof(text), &line) != 0)
		return;
	event_details(&ev, pmu, name);
	put_text(&b, pmu);
	put_c(&b, '/');
	put_text(&b, name);
	put_params(&b, line);
	put_c(&b, '/');
	list_one((struct str){ shown, shown + b.n },
		 (struct str){ unit, unit + text_copy(ev.unit, unit, sizeof(unit)) }, line);
	text_free(ev.unit);
}

/* Lists a PMU as PMU/TERM=N,.../, with the PMU's type and the config bits of each of its terms. */
static void list_pmu(struct str pmu)
{
	char name[128], what[2048], format[256];
	struct buf n = BUF(name), w = BUF(what);
	u32 p = pmu_open(pmu);
	const struct names *inside;
	struct str bits;

	if (p == NONE)
		return;
	put_str(&n, pmu);
	put_z(&n, "/TERM=N,.../");
	put_z(&w, "PMU, type ");
	put_u64(&w, pmus[p].type);
	inside = names_read(INSIDE, pmu_path(pmu, "/format"));
	for (u32 i = 0; i < inside->n; i++)
		if (read_line(path_make(DEVICES, pmu, "/format/", name_at(inside, i), ""), format,
			      sizeof(format), &bits) == 0) {
			put_z(&w, i ? " " : ": ");
			put_str(&w, name_at(inside, i));
			put_c(&w, '=');
			put_str(&w, bits);
		}
	list_one((struct str){ n.p, n.p + n.n }, (struct str){ 0 }, (struct str){ w.p, w.p + w.n });
}

static void list_events(struct str pmu)
{
	const struct names *inside = names_read(INSIDE, pmu_path(pmu, "/events"));

	for (u32 k = 0; k < inside->n; k++)
		list_event(pmu, name_at(inside, k));
}

static void list_pmus(void)
{
	const struct names *l = pmus_all();

	for (u32 i = 0; i < l->n; i++) {
		list_pmu(name_at(l, i));
		list_events(name_at(l, i));
	}
}

/* Lists all tracepoints that have a number (in their file `id`): tracepoints without a number
 * cannot be counted. In the system ftrace, some have none; in any other system, either all have a
 * number or none has (kernel/trace/trace_events.c: event_create_dir()). `enable` and `filter` in
 * the folder of each system are files, not tracepoints. */
static void list_tracepoints(void)
{
	long r;
	u8 was = privilege_raise(MAY_READ);
	const char *root = trace_root(&r);
	const struct names *systems = names_read(SYSTEMS, root ? root : "");

	for (u32 i = 0; i < systems->n; i++) {
		const char *path = path_make(root, name_at(systems, i), "", (struct str){ 0 }, "");
		const struct names *inside = names_read(INSIDE, path);
		bool all = false; /* true: all tracepoints of this system have a number */

		for (u32 k = 0; k < inside->n; k++) {
			char name[256];
			struct buf b = BUF(name);
			struct str event = name_at(inside, k);

			if (str_is(event, "enable") || str_is(event, "filter") ||
			    (!all && !exists(path_make(root, name_at(systems, i), "/", event,
						       "/id"))))
				continue;
			all = !str_is(name_at(systems, i), "ftrace");
			put_text(&b, name_at(systems, i));
			put_c(&b, ':');
			put_text(&b, event);
			list_one((struct str){ name, name + b.n }, (struct str){ 0 },
				 (struct str){ 0 });
		}
	}
	privilege_lower(was);
}

/* Lists the names of the aliases in --pmu-file. */
static void list_file(void)
{
	struct str rest = events_given.aliases, line, word;

	while (str_cut(&rest, '\n', &line))
		if (str_word(&line, &word) && *word.p != '#')
			list_one(word, (struct str){ 0 }, str_trim(line));
}

static void list_fixed(void)
{
	if (pmulist.ncores) {
		list_names(PT_HARDWARE, "hardware event");
		list_cache();
	}
	list_names(PT_SOFTWARE, "software event");
}

/* Calls show() for each event of the kernel that needs only a name: no raw events, no probes. */
void events_named(void (*show)(struct str name, struct str unit, struct str what))
{
	const struct names *l = pmus_all();

	listing.glob = S("*");
	listing.show = show;
	list_fixed();
	for (u32 i = 0; i < l->n; i++)
		list_events(name_at(l, i));
	list_tracepoints();
}

void events_list(struct str glob, void (*show)(struct str name, struct str unit, struct str what))
{
	static const struct {
		const char *name;
		const char *what;
	} forms[] = {
		{ "gpu-busy", "busy time of each engine, from what this machine has" },
		{ "gpu-freq", "the GPU's clock" },
		{ "gpu-energy", "the GPU's energy" },
		{ "rNNN", "raw event, in hex" },
		{ "TYPE:CONFIG", "type and config of perf_event_attr" },
		{ "PMU/TERM=N,.../MODIFIERS", "raw event of a PMU: its format/ names the terms" },
		{ "mem:ADDR[/LEN][:rwx]", "hardware breakpoint" },
		{ "mem:SYMBOL[+OFFSET][/LEN][:rwx]", "of the program; :k: of the kernel" },
		{ "uprobe:FILE:OFFSET", "user space probe; uretprobe: at the return" },
		{ "uprobe:FILE:SYMBOL[+OFFSET]", "user space probe in a function" },
		{ "kprobe:FUNCTION[+OFFSET]", "kernel probe; kretprobe: at the return" },
	};

	listing.glob = glob;
	listing.show = show;
	pmus_all();
	list_file();
	list_fixed();
	list_pmus();
	for (size_t i = 0; i < LEN(forms); i++)
		list_one(str_z(forms[i].name), (struct str){ 0 }, str_z(forms[i].what));
	virtual_list(list_one);
	list_tracepoints();
}

static struct nearest meant;
static char meant_name[MAX_NEAR + 1];

static void mean_event(struct str name, struct str unit, struct str what)
{
	struct str rest = name, part;

	(void)unit;
	(void)what;
	if (str_cut(&rest, '/', &part) && str_cut(&rest, '/', &part))
		/* compare EVENT alone, too, since the user may have written EVENT instead of
		 * PMU/EVENT/ */
		nearest_try(&meant, part);
	nearest_try(&meant, name);
	if (meant.name.p && meant.name.p != meant_name) {
		str_copy(meant_name, sizeof(meant_name), meant.name);
		meant.name = str_z(meant_name);
	}
}

/* Appends the name of the event that is most similar to the one that events_add() did not find.
 * Appends nothing if some file could not be read, since the event may be in that file. */
void events_suggest(struct buf *b)
{
	/* buffer for error messages about PMUs that cannot be listed; these messages are
	 * discarded */
	struct buf scratch = *b;

	adding.why = &scratch;
	meant = (struct nearest){ .text = adding.missing };
	if (str_len(adding.missing) && !fileio.error && !tables_short)
		events_list(S("*"), mean_event);
	put_nearest(b, "", &meant);
}
