/* check.c - gpustat check: a monitoring plugin, with one line of output and the exit codes of the
 * Monitoring Plugins Development Guidelines. SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"
#include "sys.h"

/* Functions of an optional feature. They are NULL if the feature is not built in. */
#pragma weak fields_note
#pragma weak fields_nearest
#pragma weak fields_say

enum {
	/* most bytes of a plugin's output that NRPE, the agent of Nagios, transfers */
	LINE_BYTES = 4096,
	/* largest part of the output line for the text before the perfdata, in bytes */
	SHOWN_BYTES = 1024,
	MAX_METRICS_CHECKED = 32,
	MAX_CHECKED = 1024,
	LABEL_CHARS = 19,
	NAME_BYTES = MAX_NAME + 96
};

enum state { ST_OK, ST_WARNING, ST_CRITICAL, ST_UNKNOWN };
static const char *const states[] = { "OK", "WARNING", "CRITICAL", "UNKNOWN" };

/* One limit of a range: the number whole + frac / 10^9, negative if neg is set. Unlike a float, it
 * is exact for a number of bytes and for millionths of a watt. open: the range has no limit at this
 * end. */
struct edge {
	bool open, neg;
	u32 frac; /* billionths of the unit */
	u64 whole;
};

/* A range of a monitoring plugin: "10", "10:", "~:10", "10:20" or "@10:20". A value outside of low
 * to high is an alert; if the range begins with @ (inside), a value from low to high is an
 * alert. */
struct range {
	struct str text; /* text of the range in -w or -c; empty if there is no range */
	bool inside;
	struct edge low, high;
};

struct metric_check {
	struct str pattern;
	struct range warning, critical;
	bool known; /* at least one device has a value of this field */
};

/* A value that is checked. The values in verdict.found have the order of the devices and fields. */
struct checked {
	char label[LABEL_CHARS + 1]; /* label of the perfdata; empty if the value has no perfdata */
	struct str name; /* name of the value; its characters are in text[] */
	char text[NAME_BYTES];
	struct val v;
	const struct metric_check *m;
	u8 state;
};

static struct {
	struct metric_check metrics[MAX_METRICS_CHECKED];
	struct checked *found;
	size_t nmetrics;
	size_t nfound, nlost;
	u8 worst; /* the worst state of all checked values */
	bool refused, asleep;
} verdict;
static struct table verdict_table = TABLE_ROW(verdict.found, MAX_CHECKED, 16,
			"values that are checked");

/* --- functions that print the plugin's line or end the process after a timeout ---------------- */

/* Prints the JSON record of check. values: the texts that put_json_value() has written into the
 * second half of the memory of `out`. Returns the exit code: the state, or UNKNOWN if the record
 * cannot be written. */
static int json_print(u8 state, struct str text, struct str values)
{
	struct buf b = { .p = out.p, .cap = out.cap / 2 };

	put_z(&b, "{\"schema\":1,\"kind\":\"check\"");
	put_text_member(&b, "state", str_z(states[state]));
	put_text_member(&b, "message", text);
	put_z(&b, ",\"values\":[");
	return write_all(1, b.p, b.n) < 0 || write_all(1, values.p, str_len(values)) < 0 ||
	       write_all(1, "]}\n", 3) < 0 ? ST_UNKNOWN : state;
}

/* Prints the output line of the plugin. Returns the exit code: the state, or UNKNOWN if the line
 * cannot be written. */
static int check_print(u8 state, struct str text, struct str perfdata)
{
	static char line[LINE_BYTES];
	struct buf b = BUF_Z(line);

	/* from here on SIGALRM is ignored: on_alarm(), which runs at the timeout, must not print a
	 * second line */
	sys_ignore(SIGALRM);
	if (opt.check.json)
		return json_print(state, text, perfdata);
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

/* Handles SIGALRM: ends the process after the timeout, because a read of a kernel file can block
 * for ever. The handler makes only async-signal-safe calls. */
static _Noreturn void on_alarm(int sig)
{
	(void)sig;
	profiling_restore();
	check_unknown("timeout");
	_exit(ST_UNKNOWN);
}

/* Sends SIGALRM to this process at the time t (ns on CLOCK_MONOTONIC). A kernel without
 * CONFIG_POSIX_TIMERS has clock_nanosleep(2), but neither setitimer(2) nor alarm(2)
 * (kernel/time/posix-stubs.c): there a child process sleeps and sends the signal, and the kernel
 * kills the child if its parent ends first. */
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

/* --- functions that parse and compare the ranges of -w and -c --------------------------------- */

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
		/* scan_dec() accepts ".5", but not "." */
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
		/* a range without a colon is from 0 to this number */
		return parse_edge(rest, &r->high);
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
	int d = a->whole < b->whole ? -1 : a->whole > b->whole ? 1 :
		a->frac < b->frac ? -1 : a->frac > b->frac;

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

static bool is_alert(const struct range *r, const struct edge *v)
{
	bool in = (r->low.open || edge_order(v, &r->low) >= 0) &&
		  (r->high.open || edge_order(v, &r->high) <= 0);

	return r->text.p < r->text.e && in == r->inside;
}

static bool range_is_whole(const struct range *r)
{
	return r->low.open || r->high.open || edge_order(&r->low, &r->high) <= 0;
}

/* Returns whether the numbers from low to high of range a contain those of range b; @ is
 * ignored. */
static bool range_covers(const struct range *a, const struct range *b)
{
	return (a->low.open || (!b->low.open && edge_order(&a->low, &b->low) <= 0)) &&
	       (a->high.open || (!b->high.open && edge_order(&b->high, &a->high) <= 0));
}

/* Returns whether every number is between low and high of range a or of range b; @ is ignored. */
static bool ranges_fill(const struct range *a, const struct range *b)
{
	bool low = a->low.open || (b->low.open &&
				   (b->high.open || edge_order(&b->high, &a->low) >= 0));
	bool high = a->high.open || (b->high.open &&
				     (b->low.open || edge_order(&b->low, &a->high) <= 0));

	return low && high;
}

/* Returns whether the intervals from low to high of two ranges do not overlap. The prefix @, which
 * inverts a range, is ignored. */
static bool ranges_disjoint(const struct range *a, const struct range *b)
{
	return (!a->high.open && !b->low.open && edge_order(&a->high, &b->low) < 0) ||
	       (!b->high.open && !a->low.open && edge_order(&b->high, &a->low) < 0);
}

/* Returns whether every alert of the warning range w is also an alert of the critical range c, and
 * not the other way round: WARNING would never be reported. That is so if the values of -w and -c
 * were exchanged. Two equal ranges, and a warning range without alerts, are accepted: some
 * configurations have no warning. */
static bool is_exchanged(const struct range *w, const struct range *c)
{
	bool same = w->inside == c->inside && range_covers(w, c) && range_covers(c, w);
	bool none = !w->inside && w->low.open && w->high.open;

	if (w->text.p == w->text.e || c->text.p == c->text.e || same || none)
		return false;
	if (w->inside)
		return c->inside ? range_covers(c, w) : ranges_disjoint(w, c);
	return c->inside ? ranges_fill(w, c) : range_covers(w, c);
}

static int say_exchanged(const struct metric_check *m)
{
	char text[256];
	struct buf b = BUF_Z(text);

	put_z(&b, "-w ");
	put_text(&b, m->warning.text);
	put_z(&b, " -c ");
	put_text(&b, m->critical.text);
	return usage(buf_z(&b), ": WARNING would never be reported, "
		     "because all its values are CRITICAL", NULL);
}

/* Removes the next range from `list`, the value of -w or -c, and stores it in *r. An empty range
 * means that the field has no range. Returns an exit code after a usage error, or -1 to
 * continue. */
static int range_next(const char *option, struct str *list, struct range *r)
{
	struct str piece;
	char text[128];

	str_cut(list, ',', &piece);
	if (parse_range(piece, r) && range_is_whole(r))
		return -1;
	str_copy(text, sizeof(text), piece);
	return usage("invalid range '", text, option);
}

#define RANGES "use 10, 10:, ~:10, 10:20 or @10:20"

/* Parses the fields of -m and the ranges of -w and -c: the nth range is for the nth field. Returns
 * an exit code, or -1 to continue. */
static int metrics_parse(void)
{
	struct str warning = opt.check.warning, critical = opt.check.critical;
	struct str list = opt.check.metric, piece = { 0 };

	do {
		struct metric_check *m = &verdict.metrics[verdict.nmetrics];

		*m = (struct metric_check){ 0 };
		if (list.p && (!str_cut(&list, ',', &piece) || !pattern_known(piece, K_DEVICE)))
			return no_field(piece);
		m->pattern = opt.patterns[verdict.nmetrics] = piece;
		opt.out.npatterns = list.p ? verdict.nmetrics + 1 : 0;
		if (range_next("' for --warning: " RANGES, &warning, &m->warning) >= 0 ||
		    range_next("' for --critical: " RANGES, &critical, &m->critical) >= 0)
			return EX_USAGE;
		if (is_exchanged(&m->warning, &m->critical))
			return say_exchanged(m);
	} while (++verdict.nmetrics < LEN(verdict.metrics) && list.p < list.e);
	if (list.p < list.e || warning.p < warning.e || critical.p < critical.e)
		return usage_z(list.p < list.e ? "-m: too many fields" :
			       "more ranges than fields in -m");
	return -1;
}

/* --- functions that collect and print the values to check ------------------------------------- */

/* Makes the perfdata label of a name: invalid characters become '_'. A label that is not the whole
 * name ends in a hash of the name, which is the same in every run. attempt: number of earlier
 * attempts, whose labels were in use. */
static void label_make(char *to, struct str name, u32 attempt)
{
	u32 hash = hash_more(HASH_BEGIN + attempt, name);
	bool plain = str_len(name) <= LABEL_CHARS && !attempt;
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

static bool label_used(const char *label)
{
	for (size_t i = 0; i < verdict.nfound; i++)
		if (strcmp(verdict.found[i].label, label) == 0)
			return true;
	return false;
}

static void value_add(struct metric_check *m, struct str name, const struct val *v)
{
	struct checked *c;
	struct edge e = edge_of(v);
	u8 state = is_alert(&m->critical, &e) ? ST_CRITICAL :
		   is_alert(&m->warning, &e) ? ST_WARNING : ST_OK;
	u32 attempt = 0;

	m->known = true;
	verdict.worst = state > verdict.worst ? state : verdict.worst;
	if (!table_has(&verdict_table, verdict.nfound)) {
		verdict.nlost++;
		return;
	}
	c = &verdict.found[verdict.nfound];
	c->name = str_of(memcpy(c->text, name.p, str_len(name)), str_len(name));
	c->v = *v;
	c->m = m;
	c->state = state;
	do
		label_make(c->label, name, attempt++);
	while (label_used(c->label));
	verdict.nfound++;
}

/* Returns whether clients of the device may be invisible to this user, because processes are
 * unreadable or hidden. A few processes that not even root can read do not count. */
static bool is_blind(const struct device *d)
{
	bool seen = registry.saw_others && (d->clients || d->anonymous);

	return (registry.unreadable && !registry.saw_others) || (!seen && proc_hidden_reason());
}

/* Returns whether this field is a sum over the clients of a device. Such a sum is not the value of
 * the whole device if some clients are invisible (is_blind()), and a device without clients does
 * not have the field. */
static bool is_client_sum(struct str name)
{
	return str_among(name, "engine memory clients used") < 4;
}

/* Returns whether this field is checked without -m: the kernel's busy time of the device; if the
 * device has none, the busy time of each engine. */
static bool is_default(const struct field *f)
{
	static const struct str device = STR("busy"), engine = STR("engine.busy");
	const struct val *own = record_get(&rec, NULL, "busy");

	return field_match(f, own ? device : engine);
}

/* Adds the value 0 % to the checked values, for a device that is asleep or has no clients. The
 * value has no perfdata, because the names of the device's engines are unknown. */
static void idle_add(const struct device *d)
{
	char text[128];
	struct buf b = BUF(text);
	size_t at = verdict.nfound;

	put_z(&b, d->dev);
	put_z(&b, d->awake ? " no client" : " asleep");
	value_add(&verdict.metrics[0], (struct str){ text, text + b.n },
		  &(struct val){ .type = V_INT, .unit = U_PERCENT });
	if (verdict.nfound > at)
		verdict.found[at].label[0] = '\0';
}

static void values_add(const struct device *d)
{
	char text[NAME_BYTES];
	size_t before = verdict.nfound;
	bool blind = is_blind(d);

	if (fields_note)
		fields_note(&opt.out, &rec);
	for (size_t m = 0; m < verdict.nmetrics; m++)
		for (size_t i = 0; i < rec.n; i++) {
			const struct metric_check *metric = &verdict.metrics[m];
			const struct field *f = &rec.f[i];
			struct buf b = BUF(text);

			if (!(metric->pattern.p ? field_match(f, metric->pattern) : is_default(f)))
				continue;
			if (blind && is_client_sum(str_z(f->col->group ? f->col->group :
								 f->col->member))) {
				verdict.refused = true;
			} else if (f->v.type == V_INT) {
				field_name(&b, d->dev, f);
				value_add(&verdict.metrics[m], str_of(text, b.n), &f->v);
			}
		}
	if (verdict.nfound == before && !verdict.metrics[0].pattern.p &&
	    (!d->awake || (!d->clients && !d->anonymous && !blind && !registry.transient)))
		idle_add(d);
	verdict.asleep |= !d->awake;
	verdict.nlost += d->e.dropped + rec.lost;
	verdict.refused |= verdict.nfound == before && blind;
}

/* --- the output line -------------------------------------------------------------------------- */

static void put_value(struct buf *b, const struct val *v)
{
	put_z(b, v->neg ? "-" : "");
	put_dec(b, v->n, (u8)(units[v->unit].point + v->point), 0);
	if (b->n && b->p[b->n - 1] == '.')
		b->n--;
}

/* The unit of measurement in perfdata. The guidelines for monitoring plugins allow only: none, s,
 * %, B and c. */
static const char *unit_text(const struct checked *c)
{
	return c->v.unit == U_PERCENT ? "%" : c->v.unit == U_BYTES ? "B" :
	       c->v.unit == U_SECONDS ? "s" : "";
}

static void put_item(struct buf *b, const struct checked *c)
{
	const char *unit = unit_text(c);

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

/* Appends a value as a JSON object. Its members unit, warning and critical are null if the value
 * has no unit or no such range. */
static void put_json_value(struct buf *b, const struct checked *c)
{
	const char *unit = unit_text(c);

	put_z(b, b->n ? ",{\"value\":" : "{\"value\":");
	put_value(b, &c->v);
	put_text_member(b, "unit", str_z(unit[0] ? unit : units[c->v.unit].name));
	put_text_member(b, "name", c->name);
	put_text_member(b, "state", str_z(states[c->state]));
	put_text_member(b, "warning", c->m->warning.text);
	put_text_member(b, "critical", c->m->critical.text);
	put_c(b, '}');
}

/* Appends 'label'=value[UOM];warn;crit;min;max. */
static void put_perfdata(struct buf *b, const struct checked *c)
{
	put_z(b, " '");
	put_z(b, c->label);
	put_z(b, "'=");
	put_value(b, &c->v);
	put_z(b, unit_text(c));
	put_c(b, ';');
	put_str(b, c->m->warning.text);
	put_c(b, ';');
	put_str(b, c->m->critical.text);
	put_z(b, c->v.unit == U_PERCENT ? ";0;100" :
		 c->v.neg || c->v.unit == U_CELSIUS || c->v.unit == U_VOLT ||
		 c->v.unit == U_AMPERE ? "" : ";0");
	while (b->n && b->p[b->n - 1] == ';')
		b->n--;
}

static void put_counted(struct buf *b, u64 n, const char *what)
{
	if (!n)
		return;
	put_z(b, "; ");
	put_u64(b, n);
	put_z(b, what);
}

/* Appends the fields of -m that no device has; each of them turns the state OK into UNKNOWN. Sums
 * over clients are left out, because a device has them only with clients. If a device is asleep,
 * all fields are left out, because the device may have them when it is awake. */
static void put_missing(struct buf *b)
{
	for (size_t i = 0; i < verdict.nmetrics; i++) {
		struct str rest = verdict.metrics[i].pattern, group;

		str_cut(&rest, '.', &group);
		if (verdict.metrics[i].known || verdict.asleep || !rest.p || is_client_sum(group))
			continue;
		put_z(b, "; ");
		put_str(b, verdict.metrics[i].pattern);
		put_z(b, " unknown");
		if (fields_nearest && fields_nearest(i)[0]) {
			put_z(b, ", the nearest name is ");
			put_z(b, fields_nearest(i));
		}
		verdict.worst = verdict.worst == ST_OK ? ST_UNKNOWN : verdict.worst;
	}
}

/* Appends the checked values, those with the worst state first. */
static void put_items(struct buf *b)
{
	u64 left = 0;

	for (u8 state = verdict.worst + 1u; state-- > ST_OK; )
		for (size_t i = 0; i < verdict.nfound; i++) {
			if (verdict.found[i].state != state)
				continue;
			if (b->n > SHOWN_BYTES) {
				left++;
				continue;
			}
			put_z(b, b->n ? ", " : "");
			put_item(b, &verdict.found[i]);
			if (state != ST_OK)
				put_z(b, state == ST_CRITICAL ? " (critical)" : " (warning)");
		}
	put_counted(b, left, " more");
}

static int print_found(void)
{
	static char text[SHOWN_BYTES + 512], perf[LINE_BYTES - sizeof(text) - 32];
	struct buf t = BUF(text), p = BUF(perf);
	bool json = opt.check.json;
	/* say_missing_devices() prints no message in the command check, but stores it in
	 * last_message */
	bool missing = say_missing_devices();

	if (json)
		p = (struct buf){ .p = out.p + out.cap / 2, .cap = out.cap / 2 };
	for (size_t i = 0; i < verdict.nfound; i++) {
		size_t n = p.n;

		if (verdict.found[i].label[0])
			(json ? put_json_value : put_perfdata)(&p, &verdict.found[i]);
		if (p.full) {
			verdict.nlost++;
			p.n = n;
			p.full = false;
		}
	}
	/* The state is UNKNOWN instead of OK if values are missing: one of them might be an
	 * alert. */
	if ((registry.dropped || missing) && verdict.worst == ST_OK)
		verdict.worst = ST_UNKNOWN;
	put_items(&t);
	put_missing(&t);
	put_z(&t, missing ? "; " : "");
	put_z(&t, missing ? last_message : "");
	put_counted(&t, verdict.nlost + without_room(),
			    " values were left out: gpustat's tables are full");
	put_counted(&t, registry.dropped - without_room(), " files could not be read: ");
	if (registry.dropped > without_room())
		put_z(&t, error_text(fileio.error));
	if (opt.verbose)
		put_counted(&t, registry.unreadable, " processes unreadable");
	return check_print(verdict.worst, (struct str){ text, text + t.n }, str_of(p.p, p.n));
}

static int check(void)
{
	struct recopts ro = { .dt_us = -1 };
	int code;

	if (metrics_parse() >= 0 || (code = live_measure(&ro)) == EX_FAIL)
		return -1;
	if (code == EX_NODEVICE && fileio.unread)
		say_unread_files();
	else if (code == EX_NODEVICE)
		no_device();
	else if (code >= 0)
		say_z("a signal ended the check before it had a result");
	if (code >= 0)
		return -1;
	for (size_t i = 0; i < norder; i++) {
		record_make(&rec, entity_at(K_DEVICE, order[i]), &ro);
		values_add(&devices[order[i]]);
	}
	if (!live_save())
		return -1;
	if (verdict.nfound)
		return print_found();
	if (verdict.refused)
		say_unread();
	else if (fileio.unread)
		say_unread_files();
	else if (!fields_say || !fields_say())
		say_z("no value was measured; run gpustat list to see why");
	return -1;
}

int cmd_check(void)
{
	/* The empty signal set is not const, so that it is in .bss and needs no bytes in the
	 * program's file. */
	static sigset_t none;
	i64 timeout = opt.check.timeout ? opt.check.timeout : 10000000000;
	int code;

	sys_signal_persistent(SIGALRM, on_alarm);
	sys_unblock(&none);
	alarm_at(sys_now(CLOCK_MONOTONIC) + timeout);
	confine(0);
	code = check();
	return code < 0 ? check_unknown(last_message) : code;
}
