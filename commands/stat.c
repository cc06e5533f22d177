/* stat.c - gpustat stat: what perf events came to, per interval or in all. SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

static const char *const default_events[] = {
	"task-clock,context-switches,cpu-migrations,page-faults",
	"cpu-clock,minor-faults,major-faults",
	"alignment-faults,emulation-faults,cgroup-switches",
};
static const char *const default_hardware[] = {
	"cycles,instructions,branches,branch-misses",
	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
	"L1-icache-load-misses,dTLB-loads,dTLB-load-misses,iTLB-loads,iTLB-load-misses",
};

/* What is counted where nothing was named: software events too, so that a machine without a PMU tells something. */
static bool add_defaults(void)
{
	bool pmu = perf_has_pmu();

	for (u8 i = 0; i <= opt.detail && i < LEN(default_events); i++)
		if ((i == 0 || !pmu) && !add_events(str_z(default_events[i]), 0))
			return false;
	for (u8 i = 0; pmu && i <= opt.detail && i < LEN(default_hardware); i++)
		if (!add_events(str_z(default_hardware[i]), 0))
			return false;
	return true;
}

/* --- sets: [ID:]NAME=EVENTS@TURN, where TURN is a time or overflow:EVENT:N,... ---------------------------------- */

struct setspec {
	struct str name, events, turns;
	u64 id;
	bool has_id;
};

static bool parse_set(struct str s, struct setspec *x)
{
	struct str head, number;

	*x = (struct setspec){ 0 };
	if (!str_cut(&s, '=', &head) || head.p == head.e || s.p == s.e)
		return false;
	x->name = head;
	str_cut(&head, ':', &number);
	if (number.e < x->name.e) {
		x->has_id = scan_u64(number, &x->id) == number.e && x->id <= UINT16_MAX;
		if (!x->has_id)
			return false;
		x->name = head;
	}
	str_cut(&s, '@', &x->events);
	x->turns = s;
	return x->name.p < x->name.e && x->events.p < x->events.e;
}

/* The event of a set that is named so; it becomes one of the set where it is none. */
static bool add_trigger(u16 set, struct str name, u64 times)
{
	u32 first = 1, i;

	for (i = first; i <= nevents; i++)
		if (events[i].set == set && text_eq(events[i].name, name))
			break;
	if (i > nevents && !add_events(name, set))
		return false;
	events[i].trigger = times * (events[i].period && !events[i].freq ? events[i].period : 1);
	for (u32 k = 1; k <= nevents; k++)
		if (k == i || (events[k].group && events[k].group == events[i].group))
			events[k].no_inherit = true; /* PERF_EVENT_IOC_REFRESH refuses it, and a group is all alike */
	return true;
}

/* The next piece up to a comma that stands outside of slashes. */
static bool cut_event(struct str *list, struct str *piece)
{
	bool inside = false;
	const char *p = list->p;

	if (p >= list->e)
		return false;
	for (; p < list->e && (inside || *p != ','); p++)
		inside ^= *p == '/';
	*piece = (struct str){ list->p, p };
	list->p = p < list->e ? p + 1 : p;
	return true;
}

static bool add_turns(u16 set, struct str turns, bool asked)
{
	static const struct str overflow = STR("overflow:");
	struct str turn, piece;

	if (turns.p < turns.e ? turns.e[-1] == '@' : asked)
		return false;
	while (str_cut(&turns, '@', &turn)) {
		if (!str_skip(&turn, overflow)) {
			i64 step = sys_clock_step(CLOCK_MONOTONIC);

			if (!parse_interval(turn, &evsets[set].timeout))
				return false;
			if (evsets[set].timeout < 100000) /* a shorter turn would be spent in switching */
				evsets[set].timeout = 100000;
			evsets[set].timeout = (evsets[set].timeout + step - 1) / step * step;
			continue;
		}
		while (cut_event(&turn, &piece)) {
			const char *colon = piece.e;
			u64 times = 0;

			while (colon > piece.p && colon[-1] != ':')
				colon--;
			if (colon == piece.p || scan_u64((struct str){ colon, piece.e }, &times) != piece.e || times == 0 ||
			    !add_trigger(set, (struct str){ piece.p, colon - 1 }, times))
				return false;
		}
	}
	return true;
}

static bool wrong_set(struct str s)
{
	char text[256];

	device_set(text, sizeof(text), s);
	usage("--set ", text, ": it is [ID:]NAME=EVENTS@10ms or ...@overflow:EVENT:N; ids 0 to 65535, each once");
	return false;
}

/* Sets in the order of their ids. Those without one get the next; set 0 is of -e, where that is given. */
static bool add_sets(void)
{
	struct setspec specs[MAX_SETS];
	u16 order_of[MAX_SETS];
	size_t n = 0;
	u64 next = opt.nevents ? 1 : 0;
	bool any = false;

	for (size_t i = 0; i < opt.nsets; i++) {
		size_t at = n;

		if (!parse_set(opt.sets[i], &specs[i]))
			return wrong_set(opt.sets[i]);
		if (!specs[i].has_id)
			specs[i].id = next;
		if (specs[i].id > UINT16_MAX)
			return wrong_set(opt.sets[i]);
		next = specs[i].id + 1;
		while (at > 0 && specs[order_of[at - 1]].id > specs[i].id)
			at--;
		if (at > 0 && specs[order_of[at - 1]].id == specs[i].id)
			return wrong_set(opt.sets[i]);
		memmove(order_of + at + 1, order_of + at, (n - at) * sizeof(order_of[0]));
		order_of[at] = (u16)i;
		n++;
	}
	if (opt.nevents && (n == 0 || specs[order_of[0]].id != 0))
		evsets[nevsets++] = (struct evset){ .name = text_put(NONE, (struct str)STR("0")), .timeout = 10000000 };
	for (size_t i = 0; i < n; i++) {
		const struct setspec *x = &specs[order_of[i]];
		u16 set = (u16)nevsets++;

		evsets[set] = (struct evset){ .name = text_put(NONE, x->name), .id = (u16)x->id };
		if (!add_events(x->events, set))
			continue; /* it has been named, and takes no turn */
		any = true;
		if (!add_turns(set, x->turns, x->events.e < x->turns.p))
			return !opt.usage_said && wrong_set(opt.sets[order_of[i]]);
		if (evsets[set].timeout == 0 && x->turns.p >= x->turns.e)
			evsets[set].timeout = 10000000;
	}
	return any || opt.nevents;
}

static bool add_all_events(void)
{
	if (!add_lists() || (opt.nsets && !add_sets())) /* those of -e are set 0, and stand first */
		return false;
	if (opt.nevents || opt.nsets)
		return true;
	return opt.null_run ? add_events((struct str)STR("duration_time"), 0) : add_defaults();
}

/* How many there are to ask for. */
static u32 rows_shown(void)
{
	return (nevrows + nsites - 1) / nsites * nsites;
}

/* The i-th row to show: event by event, but cores and packages each with all of theirs, as perf has it. NULL: it is
 * not one to show. */
static struct entity *row_entity(u32 i)
{
	u32 nnames = rows_shown() / nsites, at = i - 1;
	u32 row = opt.out.summed ? 1 + at % nnames * nsites + at / nnames : i;
	struct evrow *r = &evrows[row <= nevrows ? row : NONE];

	/* An engine of which /sys does not say whether it is there is shown where it is. */
	if (events[r->event].guess && r->state == CS_UNSUPPORTED && perf_countable())
		return NULL;
	return r->e.used && !events[r->event].hidden ? &r->e : NULL;
}

/* Exit code. */
static int print_rows(const struct measure *m)
{
	struct recopts ro = { .raw = opt.raw || format_raw(opt.out.fmt), .dt_us = m->dt < 0 ? -1 : m->dt / 1000 };
	u32 n = nsites ? rows_shown() : 0;
	struct entity *e;

	update_offset();
	ro.time_us = format_raw(opt.out.fmt) ? (m->last - m->start) / 1000 : sample_time();
	for (int show = !out_measures(&opt.out); show < 2; show++)
		for (u32 i = 1; i <= n; i++) {
			if (!(e = row_entity(i)))
				continue;
			record_make(&rec, e, &ro);
			if (show)
				out_record(&opt.out, &out, &rec);
			else
				out_measure(&opt.out, &rec);
			if (!opt.out.one_line && out.n > OUT_BYTES / 2 && !flush())
				return EX_FAIL;
		}
	return finish_sample();
}

static void say_failed_sets(void)
{
	for (u32 i = 0; i < nevsets; i++) {
		char name[128];

		name[text_copy(evsets[i].name, name, sizeof(name) - 1)] = '\0';
		if (evsets[i].failed)
			say("set ", name, ": nothing of it can be counted; it takes no turn");
	}
}

/* Which look at clients and sensors as long as it is counted. */
static bool has_virtual(void)
{
	for (u32 i = 1; i <= nevents; i++)
		if (events[i].virt)
			return true;
	return false;
}

/* All is open. Where we fork the command's next process ourselves, it is to have what we have. */
static void ready(i32 child, bool again)
{
	if (again && !child_again)
		return;
	opt.calls = again ? CALLS_OPEN_PERF : 0;
	confine(again ? 0 : child);
	keep_privileges((has_virtual() ? MAY_READ | MAY_LOOK : 0) | (again ? MAY_PERF | MAY_LOOK : 0));
}

/* One measurement: exit code; *counted: something could be, now or before. */
static int stat_once(struct measure *m, bool *counted)
{
	u64 left = opt.interval ? opt.count : 0;
	int code = EX_OK;
	long r = measure_start(m);

	if (r < 0) {
		say("cannot start a process: ", error_text(r), NULL);
		return EX_FAIL;
	}
	*counted |= perf_countable();
	say_failed_sets();
	while (measure_next(m)) {
		if (code == EX_OK)
			code = print_rows(m);
		if (code == EX_OK && (!left || --left > 0))
			continue;
		if (m->argv) /* which goes on */
			m->interval = 0;
		m->stop = !m->argv;
	}
	if (m->failure)
		return code;
	if (code == EX_OK && opt.repeat != 1)
		rows_repeat();
	else if (code == EX_OK && !(opt.count && left == 0 && opt.interval))
		code = print_rows(m);
	return code;
}

int cmd_stat(void)
{
	struct measure m = { .target = &opt.target, .argv = opt.command, .interval = opt.interval, .delay = opt.delay,
			     .timeout = opt.timeout, .control = -1, .ack = -1, .scale = !opt.no_scale,
			     .ready = ready };
	bool counted = false;
	int code, result = EX_OK;

	if (opt.repeat != 1 && (!opt.command || opt.interval))
		return usage_z("--repeat goes with a command, and not with intervals");
	if (!open_roots(false))
		return EX_FAIL;
	if ((code = open_control(&m)) >= 0)
		return code;
	if (!add_all_events())
		return EX_USAGE;
	if ((code = find_target(&opt.target)) >= 0 || (code = sink_open()) >= 0)
		return code;
	/* What has no end of its own is measured over a window. */
	if (!opt.command && !opt.interval && !opt.timeout && (opt.windowed || !opt.npids))
		m.timeout = opt.window;
	opt.out.once = !opt.interval;
	opt.out.sites = opt.target.split || opt.nsets || (opt.target.ncgroups && !format_raw(opt.out.fmt));
	opt.out.summed = opt.target.split == SPLIT_CORE || opt.target.split == SPLIT_SOCKET;
	opt.out.repeats = opt.repeat != 1;
	opt.out.sets = opt.nsets;
	if (opt.repeat != 1 && opt.target.split == SPLIT_THREAD)
		opt.target.split = SPLIT_NONE; /* each run has another thread */
	tasks_hear(opt.command);
	for (u64 i = 0; (opt.repeat == 0 || i < opt.repeat) && !tasks_signal(); i++) {
		if (i > 0)
			perf_close();
		m.repeats = i + 1 != opt.repeat;
		code = stat_once(&m, &counted);
		result = command_result(&m, EX_OK);
		if (code != EX_OK)
			result = code;
		if (code != EX_OK || m.failure) {
			if (i == 0)
				return result;
			break; /* there is what the runs before came to */
		}
	}
	if (opt.repeat != 1 && print_rows(&m) != EX_OK)
		return EX_FAIL;
	say_dropped();
	if (perf_lowered)
		say_lowered();
	return result != EX_OK ? result : counted ? EX_OK : EX_DENIED;
}
