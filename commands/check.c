/* check.c - a monitoring plugin: one line, and an exit code of its own. The rules are those of the Monitoring Plugins
 * Development Guidelines. SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

enum { LINE_BYTES = 4096 /* NRPE */, SHOWN_BYTES = 1024 /* of them for people */, MAX_METRICS_CHECKED = 32,
       MAX_CHECKED = 1024, LABEL_CHARS = 19, NAME_BYTES = MAX_NAME + 96 };

enum state { ST_OK, ST_WARNING, ST_CRITICAL, ST_UNKNOWN };
static const char *const states[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

/* A threshold: whole numbers of bytes and millionths of a watt, neither of them rounded. */
struct edge {
	bool open, neg;
	u32 frac; /* 10^-9 */
	u64 whole;
};

/* "10", "10:", "~:10", "10:20", "@10:20": outside of low to high is an alert, with @ inside. */
struct range {
	struct str text; /* empty: none */
	bool inside;
	struct edge low, high;
};

static struct metric_check {
	struct str pattern;
	struct range warning, critical;
	bool known; /* a value of it was found */
} metrics[MAX_METRICS_CHECKED];
static size_t nmetrics;

/* A value that was found, in the order of devices and fields. */
static struct checked {
	char label[LABEL_CHARS + 1]; /* "": it has no perfdata */
	struct str name; /* in text */
	char text[NAME_BYTES];
	struct val v;
	const struct metric_check *m;
	u8 state;
} *found;
static size_t nfound, nlost;
static u8 worst; /* of them all */
static TABLE(found, MAX_CHECKED, 16, "values that are checked");

/* --- what went wrong ---------------------------------------------------------------------------------------- */

/* The exit code: nobody heard of a state whose line could not be written. */
static int check_print(u8 state, struct str text, struct str perfdata)
{
	static char line[LINE_BYTES];
	struct buf b = BUF_Z(line);

	sys_ignore(SIGALRM); /* one line, not two */
	put_z(&b, "GPU ");
	put_z(&b, states[state]);
	put_z(&b, " - ");
	for (const char *p = text.p; p < text.e && b.n < LINE_BYTES / 2; p++)
		put_c(&b, (char)(*p == '|' || (u8)*p < ' ' ? '_' : *p));
	if (perfdata.p < perfdata.e) {
		put_z(&b, " |");
		put_str(&b, perfdata);
	}
	line[b.n++] = '\n';
	return write_all(1, line, b.n) < 0 ? ST_UNKNOWN : state;
}

int check_unknown(const char *why)
{
	return check_print(ST_UNKNOWN, str_z(why), (struct str){ 0 });
}

/* A read in the kernel may take for ever. Nothing here but calls that a handler may make. */
static _Noreturn void on_alarm(int sig)
{
	(void)sig;
	profiling_restore();
	check_unknown("timeout");
	_exit(ST_UNKNOWN);
}

/* SIGALRM at that time. A kernel without CONFIG_POSIX_TIMERS has neither setitimer(2) nor alarm(2), but clock_nanosleep(2)
 * (kernel/time/posix-stubs.c): there a child process sleeps and sends it; the kernel kills the child when we end first. */
static void alarm_at(i64 t)
{
	i32 us = (i32)sys_pid();

	if (sys_alarm(t - sys_now(CLOCK_MONOTONIC)) >= 0 || sys_fork(0, NULL) != 0)
		return;
	privilege_keep(0);
	if (sys_die_with_parent() == us && sleep_until(t))
		sys_kill(us, SIGALRM);
	_exit(0);
}

/* --- ranges --------------------------------------------------------------------------------------------------- */

static bool parse_edge(struct str s, struct edge *e)
{
	u64 frac = 0;

	if (str_skip_z(&s, "-"))
		e->neg = true;
	else
		str_skip_z(&s, "+");
	if (s.p == s.e || str_is(s, ".") || (*s.p != '.' && !(s.p = scan_u64(s, &e->whole))))
		return false;
	if (s.p < s.e) {
		/* to scan_dec ".5" is a number, "." is none */
		if (*s.p != '.' || (s.p + 1 < s.e && scan_dec(s, 9, &frac) != s.e))
			return false;
		e->frac = (u32)frac;
	}
	return true;
}

static bool parse_range(struct str s, struct range *r)
{
	struct str low, rest = s;

	r->text = s;
	if (s.p == s.e)
		return true;
	r->inside = str_skip_z(&rest, "@");
	if (!memchr(rest.p, ':', str_len(rest)))
		return parse_edge(rest, &r->high); /* 0 to high */
	str_cut(&rest, ':', &low);
	if (str_is(low, "~"))
		r->low.open = true;
	else if (low.p < low.e && !parse_edge(low, &r->low))
		return false;
	r->high.open = rest.p == rest.e;
	return r->high.open || parse_edge(rest, &r->high);
}

static int edge_order(const struct edge *a, const struct edge *b)
{
	bool zero = !(a->whole | a->frac | b->whole | b->frac);
	int d = a->whole < b->whole ? -1 : a->whole > b->whole ? 1 : a->frac < b->frac ? -1 : a->frac > b->frac;

	if (a->neg != b->neg && !zero)
		return a->neg ? -1 : 1;
	return a->neg ? -d : d;
}

static struct edge edge_of(const struct val *v)
{
	u8 point = (u8)(units[v->unit].point + v->point);
	u64 tens = 1, frac;
	struct edge e = { .neg = v->neg };

	for (u8 i = 0; i < point; i++)
		tens *= 10;
	e.whole = v->n / tens;
	for (frac = v->n % tens; point < 9; point++)
		frac *= 10;
	e.frac = (u32)frac;
	return e;
}

static bool alerts(const struct range *r, const struct edge *v)
{
	bool in = (r->low.open || edge_order(v, &r->low) >= 0) && (r->high.open || edge_order(v, &r->high) <= 0);

	return r->text.p < r->text.e && in == r->inside;
}

static bool range_is_whole(const struct range *r)
{
	return r->low.open || r->high.open || edge_order(&r->low, &r->high) <= 0;
}

/* The next of a list of ranges; what is empty is none. Exit code, or -1. */
static int take_range(const char *option, struct str *list, struct range *r)
{
	struct str piece;

	str_cut(list, ',', &piece);
	if (parse_range(piece, r) && range_is_whole(r))
		return -1;
	return usage(option, ": no range; 10, 10:, ~:10, 10:20 or @10:20", NULL);
}

/* -m, and the ranges of each field by its place. Exit code, or -1. */
static int take_metrics(void)
{
	struct str warning = opt.check.warning, critical = opt.check.critical, list = opt.check.metric, piece = { 0 };

	do {
		struct metric_check *m = &metrics[nmetrics];

		*m = (struct metric_check){ 0 };
		if (list.p && (!str_cut(&list, ',', &piece) || !pattern_known(piece, K_DEVICE)))
			return usage_z("-m: no such field; gpustat -f help lists them");
		m->pattern = piece;
		if (take_range("-w", &warning, &m->warning) >= 0 || take_range("-c", &critical, &m->critical) >= 0)
			return EX_USAGE;
	} while (++nmetrics < LEN(metrics) && list.p < list.e);
	if (list.p < list.e || warning.p < warning.e || critical.p < critical.e)
		return usage_z(list.p < list.e ? "-m: too many fields" : "more ranges than fields of -m");
	return -1;
}

/* --- values ------------------------------------------------------------------------------------------------------ */

/* What a label may hold; a name that may not stand there whole ends in its hash, in every run the same. */
static void label_make(char *to, struct str name, u32 again)
{
	u32 hash = hash_more(HASH_BEGIN + again, name);
	bool plain = str_len(name) <= LABEL_CHARS && !again;
	struct buf b = { .p = to, .cap = LABEL_CHARS };

	for (const char *p = name.p; p < name.e; p++) {
		bool good = *p >= ' ' && *p <= '~' && !memchr("=\'|;", *p, 5);

		plain &= good;
		put_c(&b, (char)(good ? *p : '_'));
	}
	if (!plain) {
		b.n = b.n < LABEL_CHARS - 5 ? b.n : LABEL_CHARS - 5;
		put_c(&b, '~');
		put_hex(&b, (u8)(hash >> 8));
		put_hex(&b, (u8)hash);
	}
	to[b.n] = '\0';
}

static bool label_taken(const char *label)
{
	for (size_t i = 0; i < nfound; i++)
		if (strcmp(found[i].label, label) == 0)
			return true;
	return false;
}

static void find_one(struct metric_check *m, struct str name, const struct val *v)
{
	struct checked *c;
	struct edge e = edge_of(v);
	u8 state = alerts(&m->critical, &e) ? ST_CRITICAL : alerts(&m->warning, &e) ? ST_WARNING : ST_OK;
	u32 again = 0;

	m->known = true;
	worst = state > worst ? state : worst;
	if (!table_has(&found_table, nfound)) {
		nlost++;
		return;
	}
	c = &found[nfound];
	c->name = str_of(memcpy(c->text, name.p, str_len(name)), str_len(name));
	c->v = *v;
	c->m = m;
	c->state = state;
	do
		label_make(c->label, name, again++);
	while (label_taken(c->label));
	nfound++;
}

/* Whether its clients may be others than those that are seen. One process of many that refuses even root is borne. */
static bool is_blind(const struct device *d)
{
	bool seen = reg_saw_others && (d->clients || d->anonymous);

	return (reg_unreadable && !reg_saw_others) || (!seen && look_unseen());
}

/* Of clients: not the device's where it is_blind(), and gone with the last of them. */
static bool is_sum(struct str name)
{
	return str_among(name, "engine memory clients used") < 4;
}

/* Without -m: the kernel's own figure, else that of each engine. */
static bool is_default(const struct field *f)
{
	static const struct str device = STR("busy"), engine = STR("engine.busy");
	const struct val *own = record_get(&rec, NULL, "busy");

	return field_match(f, own ? device : engine);
}

/* 0 %, but of no engine that has a name, and so without perfdata. */
static void find_idle(const struct device *d)
{
	char text[128];
	struct buf b = BUF(text);
	size_t at = nfound;

	put_z(&b, d->dev);
	put_z(&b, d->awake ? " no client" : " asleep");
	find_one(&metrics[0], (struct str){ text, text + b.n }, &(struct val){ .type = V_INT, .unit = U_PERCENT });
	if (nfound > at)
		found[at].label[0] = '\0';
}

static bool refused, asleep;

static void find_values(const struct device *d)
{
	char text[NAME_BYTES];
	size_t before = nfound;
	bool blind = is_blind(d);

	for (size_t m = 0; m < nmetrics; m++)
		for (size_t i = 0; i < rec.n; i++) {
			const struct field *f = &rec.f[i];
			struct buf b = BUF(text);

			if (!(metrics[m].pattern.p ? field_match(f, metrics[m].pattern) : is_default(f)))
				continue;
			if (blind && is_sum(str_z(f->col->group ? f->col->group : f->col->member))) {
				refused = true;
			} else if (f->v.type == V_INT) {
				field_name(&b, d->dev, f);
				find_one(&metrics[m], (struct str){ text, text + b.n }, &f->v);
			}
		}
	if (nfound == before && !metrics[0].pattern.p && (!d->awake || (!d->clients && !d->anonymous && !blind && !reg_untold)))
		find_idle(d);
	asleep |= !d->awake;
	nlost += d->e.dropped + rec.lost;
	refused |= nfound == before && blind;
}

/* --- the line ------------------------------------------------------------------------------------------------------ */

static void put_value(struct buf *b, const struct val *v)
{
	put_z(b, v->neg ? "-" : "");
	put_dec(b, v->n, (u8)(units[v->unit].point + v->point), 0);
	if (b->n && b->p[b->n - 1] == '.')
		b->n--;
}

/* The guidelines know no other units: none, s, %, B and c. */
static const char *uom(const struct checked *c)
{
	return c->v.unit == U_PERCENT ? "%" : c->v.unit == U_BYTES ? "B" : c->v.unit == U_SECONDS ? "s" : "";
}

static void put_item(struct buf *b, const struct checked *c)
{
	const char *unit = uom(c);

	put_str(b, c->name);
	if (!c->label[0])
		return;
	put_c(b, ' ');
	put_value(b, &c->v);
	if (!unit[0] && units[c->v.unit].name[0]) {
		put_c(b, ' ');
		unit = units[c->v.unit].name;
	}
	put_z(b, unit);
}

/* 'label'=value[UOM];warn;crit;min;max */
static void put_perfdata(struct buf *b, const struct checked *c)
{
	put_z(b, " '");
	put_z(b, c->label);
	put_z(b, "'=");
	put_value(b, &c->v);
	put_z(b, uom(c));
	put_c(b, ';');
	put_str(b, c->m->warning.text);
	put_c(b, ';');
	put_str(b, c->m->critical.text);
	put_z(b, c->v.unit == U_PERCENT ? ";0;100" : c->v.neg || c->v.unit == U_CELSIUS || c->v.unit == U_VOLT ||
		 c->v.unit == U_AMPERE ? "" : ";0");
	while (b->n && b->p[b->n - 1] == ';')
		b->n--;
}

static void put_lost(struct buf *b, u64 n, const char *what)
{
	if (!n)
		return;
	put_z(b, "; ");
	put_u64(b, n);
	put_z(b, what);
}

/* Fields of -m that no device has. Not those of clients that went, nor what a device tells when it wakes up. */
static void put_missing(struct buf *b)
{
	for (size_t i = 0; i < nmetrics; i++) {
		struct str rest = metrics[i].pattern, group;

		str_cut(&rest, '.', &group);
		if (metrics[i].known || asleep || !rest.p || is_sum(group))
			continue;
		put_z(b, "; ");
		put_str(b, metrics[i].pattern);
		put_z(b, " unknown");
		worst = worst == ST_OK ? ST_UNKNOWN : worst;
	}
}

/* The worst come first. */
static void put_items(struct buf *b)
{
	u64 left = 0;

	for (u8 state = worst + 1u; state-- > ST_OK; )
		for (size_t i = 0; i < nfound; i++) {
			if (found[i].state != state)
				continue;
			if (b->n > SHOWN_BYTES) {
				left++;
				continue;
			}
			put_z(b, b->n ? ", " : "");
			put_item(b, &found[i]);
			if (state != ST_OK)
				put_z(b, state == ST_CRITICAL ? " (critical)" : " (warning)");
		}
	put_lost(b, left, " more");
}

static int print_found(void)
{
	static char text[SHOWN_BYTES + 512], perf[LINE_BYTES - sizeof(text) - 32];
	struct buf t = BUF(text), p = BUF(perf);

	for (size_t i = 0; i < nfound; i++) {
		size_t n = p.n;

		if (found[i].label[0])
			put_perfdata(&p, &found[i]);
		if (p.full) {
			nlost++;
			p.n = n;
			p.full = false;
		}
	}
	if (reg_dropped && worst == ST_OK) /* what was not read may be worse */
		worst = ST_UNKNOWN;
	put_items(&t);
	put_missing(&t);
	put_lost(&t, nlost + no_room(), " values had no room");
	put_lost(&t, reg_dropped - no_room(), " files could not be read: ");
	if (reg_dropped > no_room())
		put_z(&t, error_text(files_error));
	if (opt.verbose)
		put_lost(&t, reg_unreadable, " processes unreadable");
	return check_print(worst, (struct str){ text, text + t.n }, (struct str){ perf, perf + p.n });
}

static int check(void)
{
	struct recopts ro = { .dt_us = -1 };
	int code;

	if (take_metrics() >= 0 || (code = live_measure(&ro)) == EX_FAIL)
		return -1;
	if (code == EX_NODEVICE && files_unread)
		say_unread_files();
	else if (code == EX_NODEVICE)
		no_device();
	else if (code >= 0)
		say_z("stopped by a signal");
	if (code >= 0)
		return -1;
	for (size_t i = 0; i < norder; i++) {
		record_make(&rec, entity_at(K_DEVICE, order[i]), &ro);
		find_values(&devices[order[i]]);
	}
	if (!live_keep())
		return -1;
	if (nfound)
		return print_found();
	if (refused)
		say_unread();
	else if (files_unread)
		say_unread_files();
	else
		say_z("nothing was measured; gpustat list says why");
	return -1;
}

int cmd_check(void)
{
	static sigset_t none; /* not const, which would be bytes of the program */
	i64 timeout = opt.check.timeout ? opt.check.timeout : 10000000000;
	int code;

	sys_signal_stays(SIGALRM, on_alarm);
	sys_unblock(&none);
	alarm_at(sys_now(CLOCK_MONOTONIC) + timeout);
	confine(0);
	code = check();
	return code < 0 ? check_unknown(said) : code;
}
