/* pmu.c - perf events by their names: PMUs of /sys/bus/event_source, tracepoints, what the kernel's headers
 * fix, and our own. The grammar is parse.c's; here is what there is on this machine.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "gpustat/perf.h"
#include "sys.h"

#define DEVICES "bus/event_source/devices"
#define S(lit) ((struct str)STR(lit))

/* The names in a folder, in order: where they stand, in bytes from here. They lie behind all that there can be of at[]. */
struct names {
	u32 n, used;
	u32 at[];
};
enum {
	MAX_NAMES = 4096, /* a folder of 2500 was seen: hv_24x7 */
	NAMES_HEAD = sizeof(struct names) + MAX_NAMES * sizeof(u32),
	NAMES_BYTES = NAMES_HEAD + (160 << 10),
};

/* Those of one folder of PMUs or tracepoints, and of folders in it, are in use at the same time. */
enum { PMU_NAMES, SYSTEMS, INSIDE, FOLDERS };
static struct names *folders[FOLDERS];
#define FOLDER(i) [i] = TABLE_OF(folders[i], 1, NAMES_BYTES, 24 << 10, "bytes of names of events")
static struct table folder_tables[FOLDERS] = { FOLDER(PMU_NAMES), FOLDER(SYSTEMS), FOLDER(INSIDE) };

struct str events_file;
static const struct names *pmu_names;
static bool pmus_read;
static struct str cores[8]; /* PMUs that are a CPU's own: so many kinds of CPU no machine has */
static u32 ncores;
static u16 rows, last_group; /* numbers given so far */
static u32 settled;      /* events up to this one have the .group that they keep */

/* What is being added: messages begin with it. */
static struct {
	struct buf *why;
	struct str item;
	u16 set;
	long error; /* of the latest message: -ENOENT where what was asked for is not here */
} now;

/* --- messages ------------------------------------------------------------------------------------------ */

static void put_short(struct buf *b, struct str s)
{
	bool cut = str_len(s) > 100;

	put_text(b, cut ? (struct str){ s.p, s.p + 100 } : s);
	put_z(b, cut ? "..." : s.p < s.e ? "" : "''");
}

/* Says `ITEM: what "s"more`, without s where it is empty; false. */
static bool wrong(const char *what, struct str s, const char *more)
{
	put_short(now.why, now.item);
	put_z(now.why, ": ");
	put_z(now.why, what);
	if (s.p < s.e) {
		put_z(now.why, " \"");
		put_short(now.why, s);
		put_c(now.why, '"');
	}
	put_z(now.why, more);
	now.error = -EINVAL;
	return false;
}

/* The same of what this machine does not have. */
static bool absent(const char *what, struct str s, const char *more)
{
	wrong(what, s, more);
	now.error = -ENOENT;
	return false;
}

/* These, where no word of it is to be shown. */
static bool refuse(const char *what)
{
	return wrong(what, (struct str){ 0 }, "");
}

static bool lack(const char *what)
{
	return absent(what, (struct str){ 0 }, "");
}

/* --- files ----------------------------------------------------------------------------------------------- */

static struct str name_at(const struct names *l, u32 i)
{
	return str_z((const char *)l + l->at[i]);
}

static void names_add(struct table *t, struct names *l, const char *name)
{
	size_t n = strlen(name) + 1;
	u32 i = l->n;

	if (l->n == MAX_NAMES || !table_has(t, l->used + n - 1)) {
		reg_dropped++;
		return;
	}
	memcpy((char *)l + l->used, name, n);
	for (; i > 0 && str_order(name_at(l, i - 1), str_z(name)) > 0; i--)
		l->at[i] = l->at[i - 1];
	l->at[i] = l->used;
	l->used += (u32)n;
	l->n++;
}

/* What a folder holds, until the next one is read into the same list; nothing where it cannot be read. */
static const struct names *names_read(u8 which, const char *path)
{
	static struct names none;
	struct table *t = &folder_tables[which];
	struct names *l = table_has(t, NAMES_HEAD) ? folders[which] : &none;
	struct dir d;
	const char *name;

	l->n = 0;
	l->used = NAMES_HEAD;
	if (l == &none || dir_open(&d, root_sys, path) < 0)
		return l;
	while ((name = dir_next(&d)))
		names_add(t, l, name);
	dir_close(&d);
	return l;
}

/* A name that stands for a file of its folder and for nothing else. */
static bool is_leaf(struct str s)
{
	return s.p < s.e && str_len(s) < 256 && *s.p != '.' && !memchr(s.p, '/', str_len(s));
}

/* a/b/c/d below --sys; good until the next call. Empty, which is no file, where b or d is no leaf. */
static const char *path_of(const char *a, struct str b, const char *c, struct str d, const char *tail)
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
	return path_of(DEVICES, pmu, file, (struct str){ 0 }, "");
}

static bool exists(const char *path)
{
	struct stat st;

	return files_tell(sys_fstatat(root_sys, path, &st)) == 0;
}

/* The line that a small file holds, with or without a newline behind it. 0, or -errno. */
static long read_line(const char *path, char *b, size_t cap, struct str *line)
{
	long n = slurp(root_sys, path, b, cap);
	struct str text = str_got(b, n);

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

/* Without /sys: those that we may run on. */
bool cpus_online(struct cpuset *cpus)
{
	static char b[4096];
	struct str line;

	if (read_line("devices/system/cpu/online", b, sizeof(b), &line) == 0)
		return parse_cpulist(line, cpus);
	memset(cpus, 0, sizeof(*cpus));
	return root_sys < 0 && sys_affinity(cpus, sizeof(*cpus)) > 0;
}

/* --- PMUs --------------------------------------------------------------------------------------------- */

static const struct names *pmus_all(void)
{
	if (pmus_read)
		return pmu_names;
	pmus_read = true;
	ncores = 0;
	pmu_names = names_read(PMU_NAMES, DEVICES);
	for (u32 i = 0; i < pmu_names->n && ncores < LEN(cores); i++) {
		struct str name = name_at(pmu_names, i);

		if (str_is(name, "cpu") || exists(pmu_path(name, "/cpus")))
			cores[ncores++] = name;
	}
	return pmu_names;
}

static bool read_cpus(struct pmu *p, struct str name, const char *file)
{
	static char b[4096];
	struct str line = { 0 };

	/* An empty list ends in its newline: no CPU. */
	if (read_line(pmu_path(name, file), b, sizeof(b), &line) != 0)
		return false;
	p->has_cpus = parse_cpulist(line, &p->cpus);
	return p->has_cpus;
}

/* The PMU's row; NONE where it has no type or there is no room. */
static u32 pmu_open(struct str name)
{
	struct pmu *p;
	u64 type;

	for (u32 i = 1; i <= npmus; i++)
		if (str_is(name, pmus[i].name))
			return i;
	if (str_len(name) >= sizeof(p->name) || !read_number(pmu_path(name, "/type"), &type) || type > UINT32_MAX ||
	    !table_has(&pmus_table, npmus + 1))
		return NONE;
	p = &pmus[++npmus];
	*p = (struct pmu){ .type = (u32)type };
	memcpy(p->name, name.p, str_len(name));
	p->wide = read_cpus(p, name, "/cpumask");
	p->core = (!p->wide && read_cpus(p, name, "/cpus")) || str_is(name, "cpu");
	return npmus;
}

/* The same, which says so. */
static u32 pmu_need(struct str name)
{
	u32 p = pmu_open(name);

	if (p == NONE)
		absent("the kernel gives no type for the PMU", name, "");
	return p;
}

/* Kinds of CPU, where there are several: their events are told apart by the PMU's type. */
static u32 hybrid(void)
{
	pmus_all();
	return ncores > 1 ? ncores : 0;
}

/* Whether a name in events/ tells something of another one there. */
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
	return is_detail(event) ? "" : path_of(DEVICES, pmu, "/events/", event, tail);
}

/* Appends what a folder of the PMU holds. */
static void put_names(struct str pmu, const char *folder)
{
	const struct names *inside;

	put_z(now.why, "; the ");
	put_text(now.why, pmu);
	put_z(now.why, " PMU has:");
	inside = names_read(INSIDE, pmu_path(pmu, folder));
	for (u32 i = 0; i < inside->n && now.why->cap - now.why->n > 80; i++)
		if (!is_detail(name_at(inside, i))) {
			put_c(now.why, ' ');
			put_text(now.why, name_at(inside, i));
		}
	put_z(now.why, inside->n ? "" : " none");
}

/* --- terms ---------------------------------------------------------------------------------------------- */

enum word { W_CONFIG, W_NAME = MAX_CONFIGS, W_PERIOD, W_FREQ, W_INHERIT, W_NO_INHERIT, W_IGNORED, W_REFUSED,
	    W_PATH, W_OFFSET, W_UNKNOWN };

/* What every PMU takes, perf-list(1). */
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
	/* of uprobe and kprobe only */
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
	bool text = word == W_NAME || word == W_PATH, bare = word == W_INHERIT || word == W_NO_INHERIT || word == W_IGNORED;

	if (word == W_REFUSED)
		return wrong("there is no use here for the term", t->name, "");
	if (!bare && !t->value.p)
		return wrong("no value for the term", t->name, "");
	if (!text && !t->number && word != W_IGNORED)
		return wrong("not a number:", t->value, "");
	if (word < MAX_CONFIGS)
		ev->config[word] = t->n;
	else if (word == W_NAME)
		ev->name = text_put(ev->name, t->value);
	else if (word == W_PATH)
		ev->path = text_put(ev->path, t->value);
	else if (word == W_OFFSET)
		ev->config[2] = t->n;
	else if ((word == W_PERIOD || word == W_FREQ) && t->n == 0)
		return wrong("must be more than 0:", t->name, "");
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
		return wrong("the kernel's format is not understood, of the term", t->name, "");
	if (!t->number)
		return wrong("not a number:", t->value, "");
	if (format_put(&f, t->n, ev->config))
		return true;
	put_short(now.why, now.item);
	put_z(now.why, ": ");
	put_text(now.why, t->name);
	put_z(now.why, " is at most ");
	put_u64(now.why, format_max(&f));
	now.error = -EINVAL;
	return false;
}

/* A core PMU's generic event, alone between its slashes: on hybrid machines its type says which. */
static bool generic_apply(struct event *ev, const struct evterm *t, struct str terms)
{
	u32 type;
	u64 config;

	if (!pmus[ev->pmu].core || t->value.p || !str_eq(t->name, terms) || !parse_evname(t->name, &type, &config) ||
	    type == PT_SOFTWARE)
		return false;
	ev->type = type;
	ev->config[0] = config | (hybrid() ? (u64)pmus[ev->pmu].type << 32 : 0);
	return true;
}

/* One term but an alias; later ones overwrite earlier ones. */
static bool term_apply(struct event *ev, const struct evterm *t, struct str terms)
{
	static char b[4096];
	struct str pmu = str_z(pmus[ev->pmu].name), text;
	u8 word = find_word(t->name, is_probe(pmu));
	u64 raw;
	long r;

	if (word != W_UNKNOWN)
		return word_put(ev, t, word);
	r = read_line(path_of(DEVICES, pmu, "/format/", t->name, ""), b, sizeof(b), &text);
	if (r == 0)
		return format_apply(ev, t, text);
	if (!t->value.p && parse_raw(t->name, true, &raw)) {
		ev->config[0] = raw;
		return true;
	}
	if (r == -ENOENT && generic_apply(ev, t, terms))
		return true;
	if (r != -ENOENT)
		return wrong("the kernel's format cannot be read, of the term", t->name, "");
	absent(t->value.p ? "no term" : "no event or term", t->name, "");
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

/* What the kernel says of an event beside its code. */
static void details(struct event *ev, struct str pmu, struct str name)
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
		ev->rule = EV_LEVEL;
	/* i915_pmu.c integrates MHz over time; xe_pmu.c adds the present MHz at each read. */
	if (glob_match(S("i915*"), pmu, NULL) && glob_match(S("*-frequency*"), name, NULL)) {
		ev->rule = EV_PER_SECOND;
		ev->unit = text_put(ev->unit, S("MHz"));
	} else if (glob_match(S("xe_*"), pmu, NULL) && glob_match(S("gt-*-frequency"), name, NULL)) {
		ev->rule = EV_PER_READ;
		ev->unit = text_put(ev->unit, S("MHz"));
	}
}

/* The terms of an events/ file; the parameters that it leaves open must be among the user's. */
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
				refuse("these must be given:");
			put_c(now.why, ' ');
			put_text(now.why, t.name);
			put_c(now.why, '=');
			missing = true;
		}
	}
	if (l.why)
		return wrong("the kernel's terms are not understood, of the event", name, "");
	return !missing;
}

/* All terms: aliases first, so that what the user wrote takes the place of what they set. */
static bool terms_apply(struct event *ev, struct str terms)
{
	static char b[4096];
	struct str pmu = str_z(pmus[ev->pmu].name), text;

	for (int pass = 0; pass < 2 && terms.p < terms.e; pass++) {
		struct evlist l = { .rest = terms };
		struct evterm t;

		while (evterm_next(&l, &t)) {
			const char *path = event_path(pmu, t.name, "");
			bool alias = !t.value.p && exists(path);

			if (pass == 0 && alias) {
				if (read_line(path, b, sizeof(b), &text) != 0)
					return wrong("the kernel's terms cannot be read, of the event", t.name, "");
				if (!alias_apply(ev, t.name, text, terms))
					return false;
				details(ev, pmu, t.name);
			} else if (pass == 1 && !alias && !term_apply(ev, &t, terms)) {
				return false;
			}
		}
		if (l.why)
			return wrong(l.why, l.at, "");
	}
	return true;
}

/* --- events ----------------------------------------------------------------------------------------------- */

static struct event *event_new(struct str name)
{
	struct event *ev;

	if (rows == UINT16_MAX || nevents + 1 == MAX_EVENTS || !table_has(&events_table, nevents + 1)) {
		refuse(nevents + 1 < MAX_EVENTS ? "there is no memory for one more event" :
		       "that would be more events than the 4096 that have room");
		now.error = -ENOSPC;
		return NULL;
	}
	ev = &events[++nevents];
	*ev = (struct event){ .set = now.set, .row = rows };
	ev->name = text_put(NONE, name);
	return ev;
}

static void events_cut(u32 n)
{
	for (; nevents > n; nevents--) {
		text_free(events[nevents].name);
		text_free(events[nevents].unit);
		text_free(events[nevents].path);
	}
}

static bool add_instance(struct str pmu, struct str terms, u16 instance)
{
	struct event *ev;
	u32 p = pmu_need(pmu);

	ev = p == NONE ? NULL : event_new(now.item);
	if (!ev)
		return false;
	ev->type = pmus[p].type;
	ev->pmu = p;
	ev->group = instance;
	if (is_probe(pmu) && terms.p == terms.e)
		return refuse("no path=FILE,offset=N or func=NAME");
	return terms_apply(ev, terms);
}

static bool add_virtual(struct str source, struct str name)
{
	struct event *ev = event_new(now.item);

	if (ev && virtual_find(source, name, ev))
		return true;
	events_cut(nevents - (ev != NULL));
	return false;
}

static bool no_pmu(struct str name)
{
	const struct names *l = pmus_all();

	absent("no PMU", name, l->n ? "; there are:" : ": /sys/" DEVICES " has none");
	for (u32 i = 0; i < l->n && now.why->cap - now.why->n > 80; i++) {
		put_c(now.why, ' ');
		put_text(now.why, name_at(l, i));
	}
	return false;
}

static bool has_wild(struct str s)
{
	return s.p < s.e && (memchr(s.p, '*', str_len(s)) || memchr(s.p, '?', str_len(s)));
}

static bool add_generic(u32 type, u64 config);

/* A generic event with terms of no PMU, cycles/period=100000/. False, and nothing said: the name is none. */
static bool add_termed(struct str name, struct str terms)
{
	u32 type, first = nevents + 1;
	struct evlist l = { .rest = terms };
	struct evterm t;
	u64 config;

	if (!parse_evname(name, &type, &config) || !add_generic(type, config))
		return false;
	while (evterm_next(&l, &t)) {
		u8 word = find_word(t.name, false);

		if (word == W_UNKNOWN)
			return wrong("no term", t.name, "; a generic event has: name period freq inherit no-inherit config1 to config4");
		for (u32 i = first; i <= nevents; i++)
			if (!word_put(&events[i], &t, word))
				return false;
	}
	return l.why ? wrong(l.why, l.at, "") : true;
}

/* PMU/TERMS/: on every instance that the name stands for and that has the terms; one that is named in full
 * is meant alone. */
static bool add_pmu(struct str pmu, struct str terms)
{
	static const char ours[][7] = { "gpu?*", "hwmon*", "proc", "tool" };
	const struct names *l = pmus_all();
	size_t why = now.why->n;
	u32 first = nevents, tried = 0;
	bool exact = false;

	for (u32 i = 0; i < l->n; i++)
		exact |= str_eq(pmu, name_at(l, i));
	for (u32 i = 0; i < l->n; i++) {
		struct str name = name_at(l, i);
		u32 had = nevents;

		if (exact ? !str_eq(pmu, name) : !pmu_match(pmu, name))
			continue;
		now.why->n = why;
		tried++;
		if (!add_instance(name, terms, (u16)(had - first)))
			events_cut(had);
	}
	if (nevents > first) {
		now.why->n = why;
		return true;
	}
	if (tried)
		return false;
	if (add_virtual(pmu, terms))
		return true;
	if (add_termed(pmu, terms))
		return true;
	if (now.why->n > why)
		return false;
	for (size_t i = 0; i < LEN(ours); i++)
		if (glob_match(str_z(ours[i]), pmu, NULL))
			return lack("no such counter; gpustat events lists what there is");
	return no_pmu(pmu);
}

/* Hardware, cache and raw events: where CPUs differ, on each kind of them. */
static bool add_generic(u32 type, u64 config)
{
	u32 n = type == PT_SOFTWARE ? 0 : hybrid();

	for (u32 i = 0; i < n || i == 0; i++) {
		struct event *ev = event_new(now.item);

		if (!ev)
			return false;
		ev->type = type;
		ev->config[0] = config;
		if (!n)
			break;
		ev->group = (u16)i;
		ev->pmu = pmu_need(cores[i]);
		if (ev->pmu == NONE)
			return false;
		if (type == PT_RAW)
			ev->type = pmus[ev->pmu].type;
		else
			ev->config[0] |= (u64)pmus[ev->pmu].type << 32;
	}
	return true;
}

/* A name alone that some PMU's events/ holds. */
static bool add_bare(struct str name)
{
	const struct names *l = pmus_all();
	u32 first = nevents;

	for (u32 i = 0; i < l->n; i++)
		if (exists(event_path(name_at(l, i), name, "")) &&
		    !add_instance(name_at(l, i), name, (u16)(nevents - first)))
			return false;
	return nevents > first || lack("no such event; gpustat events lists what there is");
}

static bool add_mem(const struct evitem *it)
{
	struct event *ev = event_new(now.item);

	if (!ev)
		return false;
	ev->type = PT_BREAKPOINT;
	ev->bp = it->bp;
	ev->config[1] = it->x;
	ev->config[2] = it->y;
	return true;
}

static bool add_uprobe(const struct evitem *it)
{
	u32 p = pmu_open(S("uprobe"));
	struct event *ev = p != NONE ? event_new(now.item) : NULL;

	if (p == NONE)
		return no_pmu(S("uprobe"));
	if (!ev)
		return false;
	ev->type = pmus[p].type;
	ev->pmu = p;
	ev->path = text_put(NONE, it->a);
	ev->config[2] = it->x;
	return true;
}

/* --- tracepoints ------------------------------------------------------------------------------------------- */

/* tracefs; before Linux 4.1, and where it is mounted nowhere else, below debugfs. NULL: r says why not. */
static const char *trace_root(long *r)
{
	static const char *const roots[] = { "kernel/tracing/events", "kernel/debug/tracing/events" };

	*r = -ENOENT;
	for (size_t i = 0; i < LEN(roots); i++) {
		struct dir d;
		long fd = dir_open(&d, root_sys, roots[i]);

		if (fd >= 0) {
			dir_close(&d);
			return roots[i];
		}
		if (fd == -EACCES)
			*r = fd;
	}
	return NULL;
}

static bool no_access(void)
{
	refuse("tracefs may be read by root only");
	now.error = -EACCES;
	return false;
}

/* One that only root may know: it is counted by nobody else, but the others are. */
static int trace_denied(struct str shown)
{
	struct event *ev;

	rows++;
	ev = event_new(shown);
	if (!ev)
		return -1;
	ev->type = PT_TRACEPOINT;
	ev->denied = true;
	return 1;
}

/* 1, 0: no such one, -1: message. */
static int trace_add(const char *root, struct str sys, struct str name, struct str shown)
{
	char b[64];
	struct str line;
	struct event *ev;
	u64 id;
	long r = read_line(path_of(root, sys, "/", name, "/id"), b, sizeof(b), &line);

	if (r == -EACCES)
		return trace_denied(shown);
	if (r < 0 || scan_u64(line, &id) != line.e)
		return 0;
	rows++;
	ev = event_new(shown);
	if (!ev)
		return -1;
	ev->type = PT_TRACEPOINT;
	ev->config[0] = id;
	return 1;
}

static int trace_system(const char *root, struct str sys, struct str pattern)
{
	const struct names *inside = names_read(INSIDE, path_of(root, sys, "", (struct str){ 0 }, ""));
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
		return trace_denied(now.item) > 0;
	if (!root)
		return r == -EACCES ? no_access() :
				      lack("tracefs is not mounted; as root: mount -t tracefs tracefs /sys/kernel/tracing");
	if (!has_wild(sys) && !has_wild(name)) {
		found = trace_add(root, sys, name, now.item);
	} else {
		const struct names *systems = names_read(SYSTEMS, root);

		for (u32 i = 0; i < systems->n && found >= 0; i++)
			if (glob_match(sys, name_at(systems, i), NULL)) {
				int n = trace_system(root, name_at(systems, i), name);

				found = n < 0 ? n : found | n;
			}
	}
	if (found == 0)
		lack("no such tracepoint; gpustat events lists what there is");
	return found > 0;
}

static bool add_trace(struct str sys, struct str name)
{
	u8 was = privilege_raise(MAY_READ); /* names here are leaves: nothing beside tracefs can be meant */
	bool found = add_found_trace(sys, name);

	privilege_lower(was);
	return found;
}

/* --- gpu-busy, gpu-freq, gpu-energy: what this machine has --------------------------------------------- */

static bool add_list(struct str list, bool aliases);

static char gpu_bytes[512];

static struct buf gpu_text(void)
{
	return BUF(gpu_bytes);
}

static bool gpu_add(const struct buf *b)
{
	return add_list((struct str){ b->p, b->p + b->n }, false);
}

/* PMU/EVENT/ for each event of the i915's PMU that matches. */
static bool add_i915(struct str pmu, struct str pattern)
{
	const struct names *systems = names_read(SYSTEMS, pmu_path(pmu, "/events"));

	for (u32 i = 0; i < systems->n; i++) {
		struct buf b = gpu_text();

		if (!glob_match(pattern, name_at(systems, i), NULL) || is_detail(name_at(systems, i)))
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

/* Whether /sys tells of the gt, or of engines of that class on it. xe_0000_03_00.0 is at 0000:03:00.0. */
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
		if (exists(path_of("bus/pci/devices", (struct str){ slot, slot + n }, sub, str_z(class), "")))
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
		put_z(b, gt ? "0-gt1" : "0"); /* the media gt */
		put_z(b, "-busy/'");
	}
	put_c(b, '/');
}

/* Busy is active ticks of total ticks, which must be read together. /sys names classes, not instances. */
static bool add_xe_busy(struct str pmu)
{
	bool told = false;

	for (u8 i = 0; i < 3 && !(i == 2 && told); i++) /* gt 0, gt 1, then gt 0 without /sys */
		for (int class = 0; class < (int)LEN(xe_classes); class++) {
			struct buf b = gpu_text();

			if (i < 2 && !xe_has(pmu, i, xe_classes[class]))
				continue;
			told |= i < 2;
			put_c(&b, '{');
			put_xe(&b, pmu, "engine-active-ticks", i % 2, class);
			put_c(&b, ',');
			put_xe(&b, pmu, "engine-total-ticks", i % 2, class);
			put_c(&b, '}');
			if (!gpu_add(&b))
				return false;
			events[nevents - 1].rule = EV_SHARE;
			events[nevents - 1].unit = text_put(events[nevents - 1].unit, S("%"));
			events[nevents].hidden = true;
			events[nevents - 1].guess = events[nevents].guess = i == 2;
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
	u32 first = nevents;
	bool good = true;

	for (u32 i = 0; i < l->n && good; i++) {
		struct str pmu = name_at(l, i);

		if (glob_match(S("i915*"), pmu, NULL))
			good = add_i915(pmu, freq ? S("actual-frequency*") : S("*-busy*"));
		else if (glob_match(S("xe_*"), pmu, NULL))
			good = freq ? add_xe_freq(pmu) : add_xe_busy(pmu);
	}
	if (good && nevents == first && !freq)
		virtual_engines(found_engine, &good);
	if (!good || nevents > first)
		return good;
	return lack(freq ? "neither an i915 nor an xe PMU is here" :
			    "neither an i915 or xe PMU nor a DRM client that tells of its engines is here");
}

static bool add_gpu_energy(void)
{
	struct buf b = gpu_text();

	if (exists(event_path(S("power"), S("energy-gpu"), "")))
		return add_list(S("power/energy-gpu/"), false);
	if (virtual_gpu_energy(&b))
		return gpu_add(&b);
	return lack("neither power/energy-gpu/ nor a GPU's hwmon energy is here");
}

/* A name of --pmu-file, whose lines are "NAME EVENT"; # begins a comment. */
static bool file_event(struct str name, struct str *event)
{
	struct str rest = events_file, line, word;

	while (str_cut(&rest, '\n', &line)) {
		str_word(&line, &word);
		if (str_eq(word, name)) {
			*event = str_trim(line);
			return event->p < event->e;
		}
	}
	return false;
}

/* 1: it was one of these aliases; 0: it was not; -1: message. */
static int add_alias(struct str name, bool grouped)
{
	bool busy = str_is(name, "gpu-busy"), freq = str_is(name, "gpu-freq"), good;
	struct str event;

	if (file_event(name, &event)) {
		u32 had = nevents;

		if (!add_list(event, false))
			return -1;
		if (nevents == had + 1)
			events[nevents].name = text_put(events[nevents].name, name);
		return 1;
	}
	if (!busy && !freq && !str_is(name, "gpu-energy"))
		return 0;
	if (grouped) {
		refuse("an alias for several groups cannot stand in one");
		return -1;
	}
	good = busy || freq ? add_gpu(freq) : add_gpu_energy();
	return good ? 1 : -1;
}

/* --- lists --------------------------------------------------------------------------------------------------- */

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

	now.item = it->text;
	rows++;
	switch (it->form) {
	case EF_RAW:
		return add_generic(PT_RAW, it->x);
	case EF_TYPED:
		if (!add_generic(PT_SOFTWARE, it->y))
			return false;
		events[nevents].type = (u32)it->x;
		return true;
	case EF_TRACE:
		return add_trace(it->a, it->b);
	case EF_MEM:
		return add_mem(it);
	case EF_PMU:
		return add_pmu(it->a, it->b);
	case EF_UPROBE:
		return add_uprobe(it);
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

/* cpu-clock and task-clock count time. */
static void event_unit(struct event *ev)
{
	if (ev->type == PT_SOFTWARE && ev->config[0] < 2 && !ev->virt && ev->unit == NONE)
		ev->unit = text_put(NONE, S("ns"));
}

/* Makes groups of the members from `first` on, whose .group is the number of their instance: the i-th
 * instances of all members are one group. */
static bool group_close(u32 first, const struct evitem *it)
{
	u16 last = 0;
	u32 members = 0;

	for (u32 i = first; i <= nevents; i++) {
		struct event ev = events[i];
		u32 k = i;

		for (; k > first && events[k - 1].group > ev.group; k--)
			events[k] = events[k - 1];
		events[k] = ev;
	}
	for (u32 i = first; i <= nevents; i++) {
		event_mods(&events[i], it->gmods, it->gprecise);
		last = events[i].group > last ? events[i].group : last;
		events[i].group = (u16)(last_group + 1 + events[i].group);
	}
	last_group = (u16)(last_group + 1 + last);
	settled = nevents;
	for (u32 i = first; i <= nevents; i++)
		members = events[i].group == last_group ? members + 1 : members;
	return members <= MAX_GROUP ||
	       refuse("more than the 64 events that one group may have");
}

static bool add_list(struct str list, bool aliases)
{
	struct evlist l = { .rest = list };
	struct evitem it;
	struct str outer = now.item;
	u32 group = nevents + 1;

	while (evlist_next(&l, &it)) {
		u32 first = nevents + 1;

		if (it.opens)
			group = first;
		if (!add_item(&it, aliases))
			return false;
		for (u32 i = first; i <= nevents; i++) {
			event_mods(&events[i], it.mods, it.precise);
			event_unit(&events[i]);
			if (!it.grouped && i > settled)
				events[i].group = 0;
		}
		if (it.closes && !group_close(group, &it))
			return false;
	}
	now.item = aliases ? list : outer;
	return l.why ? wrong(l.why, l.at, "") : true;
}

/* How far the tables were filled, to go back there. */
struct mark {
	u32 events;
	u16 rows, group;
};

static struct mark mark_here(void)
{
	return (struct mark){ nevents, rows, last_group };
}

static void mark_back(struct mark m)
{
	events_cut(m.events);
	settled = m.events;
	rows = m.rows;
	last_group = m.group;
}

/* Adds the events of a list to the set. False: none of them, and why says what is wrong. */
bool events_add(struct str list, u16 set, struct buf *why)
{
	struct mark m = mark_here();

	now.why = why;
	now.set = set;
	now.item = list;
	now.error = -EINVAL;
	if (add_list(list, true))
		return true;
	mark_back(m);
	return false;
}

/* --- what they are to the kernel --------------------------------------------------------------------------- */

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

/* As perf names them. exclude_guest is not shown: perf sets it for every event that asks for nothing else. */
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
	a->pinned = leader && mods & EM_PINNED; /* the kernel takes both of leaders only */
	a->exclusive = leader && mods & EM_EXCLUSIVE;
}

/* What all have in common who open it: off at first, and so its group. A probe's path is theirs to give. */
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
	*e = (struct gp_event){ .precise = !!(ev->mods & EM_MAX_PRECISE), .wide = ev->pmu && pmus[ev->pmu].wide };
	memcpy(e->attr, &attr, sizeof(attr));
}

/* The kernel reads a probe's path when it is opened, and again when the process forks: it stays. Up to cap bytes of all
 * that were ever asked for. NULL: no room. */
static const char *path_keep(u32 text)
{
	static char *kept;
	static TABLE(kept, 1 << 14, 4096, "bytes of probes' paths");
	static size_t used;
	char path[4096];
	size_t n = text_copy(text, path, sizeof(path) - 1) + 1;

	path[n - 1] = '\0';
	for (const char *p = kept; p < kept + used; p += strlen(p) + 1)
		if (strcmp(p, path) == 0)
			return p;
	if (!table_has(&kept_table, used + n - 1))
		return NULL;
	memcpy(kept + used, path, n);
	used += n;
	return kept + used - n;
}

/* Where it counts whole CPUs: on which. */
static void event_cpus(const struct event *ev, i32 *cpus)
{
	const struct pmu *p = &pmus[ev->pmu];
	u32 n = 0;

	for (u32 cpu = 0; cpu < MAX_CPUS && n < LEN(((struct gp_event *)0)->cpus) - 1; cpu++)
		if (p->wide && p->cpus.w[cpu / 64] >> cpu % 64 & 1)
			cpus[n++] = (i32)cpu;
	cpus[n] = -1;
}

/* 0, or -errno. */
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

/* How many of the events from `from` on stand in one group. */
static u32 group_size(u32 from)
{
	u32 to = from + 1;

	while (to <= nevents && events[from].group && events[to].group == events[from].group)
		to++;
	return to - from;
}

static long make_all(struct mark m, struct gp_event *to, size_t cap)
{
	size_t n = 0;
	long r = 0;
	u32 lead = m.events + 1;

	for (u32 i = lead; i <= nevents && r == 0; i++) {
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
	struct mark m = mark_here();
	long n;

	if (!m.events)
		npmus = 0; /* a driver that came anew may have another number */
	if (!events_add(list, 0, why))
		return now.error;
	n = make_all(m, to, cap);
	mark_back(m);
	if (n < 0)
		refuse(n == -ENOSPC ? "there is no room for it" : n == -EACCES ? "only root may know its number" :
		      "not one of the kernel's");
	return n;
}

int gp_parse(const char *list, struct gp_event *to, int cap, char *why, size_t nwhy)
{
	struct buf b = buf_on(why, why && nwhy ? nwhy - 1 : 0);
	long n;

	if (!list || (!to && cap > 0))
		return -EFAULT;
	sys_lock(&lib_lock);
	roots_open(); /* generic events need none */
	pmus_read = false; /* a driver may have come since */
	n = events_attr(str_z(list), to, cap > 0 ? (size_t)cap : 0, &b);
	sys_unlock(&lib_lock);
	if (why && nwhy)
		why[b.n] = '\0';
	return (int)n;
}

/* A line for each event. */
void events_resolve(struct buf *b)
{
	static char name[4096];

	for (u32 i = 1; i <= nevents; i++) {
		const struct event *ev = &events[i];

		put_text(b, (struct str){ name, name + text_copy(ev->name, name, sizeof(name)) });
		if (ev->virt && !ev->type)
			put_z(b, " virtual");
		else
			put_attr(b, ev);
		put_c(b, '\n');
	}
}

/* --- what is offered --------------------------------------------------------------------------------------- */

static struct {
	struct str glob;
	void (*show)(struct str name, struct str unit, struct str what);
} listing;

/* A word without * and ? is looked for anywhere. */
static void list_one(struct str name, struct str unit, struct str what)
{
	if (has_wild(listing.glob) ? glob_match(listing.glob, name, NULL) : str_find(name, listing.glob))
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
	details(&ev, pmu, name);
	put_text(&b, pmu);
	put_c(&b, '/');
	put_text(&b, name);
	put_params(&b, line);
	put_c(&b, '/');
	list_one((struct str){ shown, shown + b.n }, (struct str){ unit, unit + text_copy(ev.unit, unit, sizeof(unit)) },
		 line);
	text_free(ev.unit);
}

/* A PMU itself: its number, and which field of which config each term is. */
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
		if (read_line(path_of(DEVICES, pmu, "/format/", name_at(inside, i), ""), format, sizeof(format), &bits) == 0) {
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

static void list_tracepoints(void)
{
	long r;
	u8 was = privilege_raise(MAY_READ);
	const char *root = trace_root(&r);
	const struct names *systems = names_read(SYSTEMS, root ? root : "");

	for (u32 i = 0; i < systems->n; i++) {
		const struct names *inside = names_read(INSIDE, path_of(root, name_at(systems, i), "", (struct str){ 0 }, ""));

		for (u32 k = 0; k < inside->n; k++) {
			char name[256];
			struct buf b = BUF(name);

			if (!exists(path_of(root, name_at(systems, i), "/", name_at(inside, k), "/id")))
				continue;
			put_text(&b, name_at(systems, i));
			put_c(&b, ':');
			put_text(&b, name_at(inside, k));
			list_one((struct str){ name, name + b.n }, (struct str){ 0 }, (struct str){ 0 });
		}
	}
	privilege_lower(was);
}

/* The names of --pmu-file. */
static void list_file(void)
{
	struct str rest = events_file, line, word;

	while (str_cut(&rest, '\n', &line))
		if (str_word(&line, &word) && *word.p != '#')
			list_one(word, (struct str){ 0 }, str_trim(line));
}

static void list_fixed(void)
{
	if (ncores) {
		list_names(PT_HARDWARE, "hardware event");
		list_cache();
	}
	list_names(PT_SOFTWARE, "software event");
}

/* The kernel's own, as far as a name is all that it takes. */
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
		{ "TYPE:CONFIG", "perf_event_attr's own numbers" },
		{ "PMU/TERM=N,.../MODIFIERS", "raw event of a PMU: its format/ names the terms" },
		{ "mem:ADDR[/LEN][:rwx]", "hardware breakpoint" },
		{ "uprobe:FILE:OFFSET", "user space probe" },
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
