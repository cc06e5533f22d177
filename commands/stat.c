/* stat.c - gpustat stat: counts of perf events, per interval or in total.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sys.h"

static const char *const default_events[] = {
	"task-clock,context-switches,cpu-migrations,page-faults",
	"cpu-clock,minor-faults,major-faults",
	"alignment-faults,emulation-faults,cgroup-switches",
};
static const char *const default_hardware[] = {
	"cycles,instructions,branches,branch-misses",
	"L1-dcache-loads,L1-dcache-load-misses,LLC-loads,LLC-load-misses",
	("L1-icache-loads,L1-icache-load-misses,dTLB-loads,dTLB-load-misses,"
	 "iTLB-loads,iTLB-load-misses"),
	"L1-dcache-prefetches,L1-dcache-prefetch-misses",
};
/* Default events that few PMUs have. As in perf, gpustat counts them if the PMU "cpu" lists
 * them. */
static const char *const default_stalls[] = { "stalled-cycles-frontend", "stalled-cycles-backend" };

static bool is_listed_stall(const char *name)
{
	char path[96];
	struct buf b = BUF_Z(path);

	put_z(&b, "bus/event_source/devices/cpu/events/");
	put_z(&b, name);
	return sys_has_file(roots.sys, buf_z(&b));
}

/* Adds the default events: the more options -d, the more events. Without a PMU, software events
 * take the place of hardware events. Returns false after an error message. */
static bool add_defaults(void)
{
	bool pmu = perf_has_pmu();

	for (u8 i = 0; i <= opt.detail && i < LEN(default_events); i++)
		if ((i == 0 || !pmu) && !add_events(str_z(default_events[i]), 0))
			return false;
	for (u8 i = 0; pmu && i <= opt.detail && i < LEN(default_hardware); i++)
		if (!add_events(str_z(default_hardware[i]), 0))
			return false;
	for (u8 i = 0; pmu && i < LEN(default_stalls); i++)
		if (is_listed_stall(default_stalls[i]) &&
		    !add_events(str_z(default_stalls[i]), 0))
			return false;
	return true;
}

/* --- the option --set [ID:]NAME=EVENTS@RULE of stat. RULE: a time, or overflow:EVENT:N,... ---- */

struct setspec {
	struct str name, events;
	/* the rules of the event set, joined by '@': each is a time, or an overflow of an event,
	 * after which the next set is enabled */
	struct str switching;
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
	x->switching = s;
	return x->name.p < x->name.e && x->events.p < x->events.e;
}

/* Makes the event with this name the trigger of an event set: after `times` overflows of the event,
 * the next set is enabled. Adds the event to the set if the set does not have it. Returns false
 * after an error message. */
static bool add_trigger(u16 set, struct str name, u64 times)
{
	u32 first = 1, i;

	for (i = first; i <= nrows.events; i++)
		if (events[i].set == set && text_eq(events[i].name, name))
			break;
	if (i > nrows.events && !add_events(name, set))
		return false;
	events[i].trigger = times * (events[i].period && !events[i].freq ? events[i].period : 1);
	for (u32 k = 1; k <= nrows.events; k++)
		if (k == i || (events[k].group && events[k].group == events[i].group))
			/* PERF_EVENT_IOC_REFRESH refuses events with `inherit`, and all events of a
			 * group must have the same `inherit`. */
			events[k].no_inherit = true;
	return true;
}

/* Removes the next event from a list of events with commas between them, and stores it in *piece. A
 * comma between two slashes is part of an event. Returns false if the list is empty. */
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

static bool add_switching(u16 set, struct str switching, bool asked)
{
	static const struct str overflow = STR("overflow:");
	struct str rule, piece;

	if (switching.p < switching.e ? switching.e[-1] == '@' : asked)
		return false;
	while (str_cut(&switching, '@', &rule)) {
		if (!str_skip(&rule, overflow)) {
			i64 step = sys_clock_resolution(CLOCK_MONOTONIC);

			if (!parse_interval(rule, &evsets[set].timeout))
				return false;
			/* 100 us at least: switching of sets would use up a shorter time */
			if (evsets[set].timeout < 100000)
				evsets[set].timeout = 100000;
			evsets[set].timeout = (evsets[set].timeout + step - 1) / step * step;
			continue;
		}
		while (cut_event(&rule, &piece)) {
			const char *colon = piece.e;
			u64 times = 0;

			while (colon > piece.p && colon[-1] != ':')
				colon--;
			if (colon == piece.p ||
			    scan_u64((struct str){ colon, piece.e }, &times) != piece.e ||
			    times == 0 ||
			    !add_trigger(set, (struct str){ piece.p, colon - 1 }, times))
				return false;
		}
	}
	return true;
}

static bool usage_set(struct str s)
{
	char text[256];

	str_copy(text, sizeof(text), s);
	usage("--set ", text,
	      ": use [ID:]NAME=EVENTS@10ms or ...@overflow:EVENT:N; ids: unique, 0 to 65535");
	return false;
}

/* Adds the event sets of --set in the order of their ids. A set without an id gets the next id; the
 * events of -e, if there are any, are set 0. Returns false after an error message, or if no set has
 * an event. */
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
			return usage_set(opt.sets[i]);
		if (!specs[i].has_id)
			specs[i].id = next;
		if (specs[i].id > UINT16_MAX)
			return usage_set(opt.sets[i]);
		next = specs[i].id + 1;
		while (at > 0 && specs[order_of[at - 1]].id > specs[i].id)
			at--;
		if (at > 0 && specs[order_of[at - 1]].id == specs[i].id)
			return usage_set(opt.sets[i]);
		memmove(order_of + at + 1, order_of + at, (n - at) * sizeof(order_of[0]));
		order_of[at] = (u16)i;
		n++;
	}
	if (opt.nevents && (n == 0 || specs[order_of[0]].id != 0))
		evsets[nrows.evsets++] = (struct evset){
			.name = text_put(NONE, (struct str)STR("0")), .timeout = 10000000
		};
	for (size_t i = 0; i < n; i++) {
		const struct setspec *x = &specs[order_of[i]];
		u16 set = (u16)nrows.evsets++;

		evsets[set] = (struct evset){ .name = text_put(NONE, x->name), .id = (u16)x->id };
		if (!add_events(x->events, set))
			/* a message was printed: this set has no events and is never enabled */
			continue;
		any = true;
		if (!add_switching(set, x->switching, x->events.e < x->switching.p))
			return !opt.usage_said && usage_set(opt.sets[order_of[i]]);
		if (evsets[set].timeout == 0 && x->switching.p >= x->switching.e)
			evsets[set].timeout = 10000000;
	}
	return any || opt.nevents;
}

static bool add_all_events(void)
{
	/* the events of -e come first, because they are set 0 */
	if (!add_lists() || (opt.nsets && !add_sets()))
		return false;
	if (opt.nevents || opt.nsets)
		return true;
	return opt.null_run ? add_events((struct str)STR("duration_time"), 0) : add_defaults();
}

/* Returns the number of rows of counts to pass to row_entity(). evrows[] has one row for each event
 * at each site (the CPU, core, task, cgroup and so on for which stat prints a row). If the rows of
 * the last event are not complete yet, the missing rows are included in the number. */
static u32 rows_shown(void)
{
	return (nrows.evrows + nrows.sites - 1) / nrows.sites * nrows.sites;
}

static bool state_is_denied(u8 state)
{
	static const u64 denied = 1ull << CS_DENIED | 1ull << CS_HARDENED | 1ull << CS_TRACEFS |
				  1ull << CS_UPROBE | 1ull << CS_KPROBE | 1ull << CS_LOCKDOWN |
				  1ull << CS_OTHERS;

	return denied >> state & 1;
}

/* Returns whether stat -a --per-thread leaves out this row: the thread did nothing or has ended, or
 * this user may count other threads but not this one. say_denied() reports the last case. */
static bool is_idle_thread(const struct evrow *r)
{
	static const u64 idle = 1ull << CS_NEVER_RAN | 1ull << CS_NOT_ENABLED | 1ull << CS_GONE;

	return opt.target.every &&
	       (r->state == CS_COUNTED ? !r->value : idle >> r->state & 1 ||
		(state_is_denied(r->state) && perf_countable()));
}

/* Reports how many counts of threads were denied, and why, because the rows of these threads are
 * not shown. */
static void say_denied(void)
{
	char text[256];
	struct buf b = BUF_Z(text);
	u64 n = 0;
	u8 most = 0;

	for (u32 i = 1; opt.target.every && i <= nrows.counts; i++)
		if (state_is_denied(counts[i].state)) {
			n++;
			most = counts[i].state > most ? counts[i].state : most;
		}
	put_u64(&b, n);
	put_z(&b, " counts of threads: ");
	if (n) {
		put_z(&b, state_text(most));
		say_z(buf_z(&b));
	}
}

/* Returns the i-th row to show; i begins with 1. Rows are sorted by event; with --per-core and
 * --per-socket they are sorted by core or socket, as in perf. Returns NULL if the row is not
 * shown. */
static struct entity *row_entity(u32 i)
{
	u32 nnames = rows_shown() / nrows.sites, at = i - 1;
	u32 row = opt.out.summed ? 1 + at % nnames * nrows.sites + at / nnames : i;
	struct evrow *r = &evrows[row <= nrows.evrows ? row : NONE];

	/* /sys does not list the GPU engine of this event: show it only if the kernel can count
	 * it. */
	if (events[r->event].guess && r->state == CS_UNSUPPORTED && perf_countable())
		return NULL;
	if (is_idle_thread(r))
		return NULL;
	return r->e.used && !events[r->event].hidden ? &r->e : NULL;
}

/* Returns whether a row is sorted after another row of the same event, because its count is
 * lower. */
static bool is_after(u32 row, u32 other)
{
	const struct evrow *x = &evrows[row], *y = &evrows[other];

	return x->event == y->event && (x->state != CS_COUNTED ? y->state == CS_COUNTED :
					y->state == CS_COUNTED && x->value < y->value);
}

/* Sorts the rows of --per-thread: those of each event begin with the highest count, as in perf.
 * Returns their number. */
static size_t order_rows(u32 shown)
{
	size_t n = 0;

	for (u32 i = 1; i <= shown; i++) {
		const struct entity *e = row_entity(i);

		if (e)
			order_add(&n, (u32)((const struct evrow *)(const void *)e - evrows));
	}
	for (size_t i = 1; i < n; i++) {
		u32 row = order[i];
		size_t at = i;

		for (; at > 0 && is_after(order[at - 1], row); at--)
			order[at] = order[at - 1];
		order[at] = row;
	}
	return n;
}

/* Returns the time in which the rows were counted, in us; with --repeat the mean of all runs; -1 if
 * nothing was counted. */
static i64 elapsed_us(void)
{
	const struct evrow *elapsed = &rows_times()->elapsed;

	return elapsed->state == CS_COUNTED ? (i64)(elapsed->value / 1000) : -1;
}

/* Reads the CPU time of the command that has ended. */
static void read_cpu_time(const struct measure *m)
{
	struct runtimes *t = rows_times();

	t->has_cpu = m->argv && opt.repeat == 1 && m->status >= 0;
	if (t->has_cpu)
		child_times(&t->user, &t->system);
}

/* Prints all rows of counts. whole: the rows are totals of the whole run, after the rows of its
 * intervals. Returns the exit code. */
static int print_rows(const struct measure *m, bool whole)
{
	struct recopts ro = { .raw = opt.raw || format_raw(opt.out.fmt),
			      .dt_us = elapsed_us(), .summary = whole ? "total" : NULL };
	u32 shown = nrows.sites ? rows_shown() : 0;
	bool sorted = opt.target.split == SPLIT_THREAD;
	size_t n = sorted ? order_rows(shown) : shown;

	update_offset();
	ro.time_us = format_raw(opt.out.fmt) ? (m->last - m->start) / 1000 : sample_time();
	for (int show = !out_measures(&opt.out); show < 2; show++)
		for (size_t i = 0; i < n; i++) {
			const struct entity *e = sorted ? &evrows[order[i]].e :
							  row_entity((u32)i + 1);

			if (!e)
				continue;
			record_make(&rec, e, &ro);
			if (!show)
				out_measure(&opt.out, &rec);
			else if (!append_record())
				return EX_FAIL;
		}
	if ((opt.out.once || whole) && out_has_footer(&opt.out))
		put_times(&out);
	return finish_sample();
}

static void say_failed_sets(void)
{
	for (u32 i = 0; i < nrows.evsets; i++) {
		char name[128];

		name[text_copy(evsets[i].name, name, sizeof(name) - 1)] = '\0';
		if (evsets[i].failed)
			say("event set ", name,
			    ": none of its events can be counted; it is skipped");
	}
}

/* Returns whether there are virtual counters: these read other processes and sensors during the
 * whole measurement. */
static bool has_virtual(void)
{
	for (u32 i = 1; i <= nrows.events; i++)
		if (events[i].virt)
			return true;
	return false;
}

/* The function `ready` of struct measure, which is called when all events are open. Drops
 * privileges, except if this process itself must fork the next run of the user's command: that run
 * inherits the privileges. */
static void ready(i32 child, bool again)
{
	if (again && !child_forker)
		return;
	opt.calls = (u16)((again ? CALLS_OPEN_PERF : 0) | (has_virtual() ? CALLS_WATCH : 0));
	confine(again ? 0 : child);
	keep_privileges((has_virtual() ? MAY_READ | MAY_PTRACE : 0) |
			(again ? MAY_PERF | MAY_PTRACE : 0));
}

/* Runs the shell command of --post if `after` is set, else that of --pre. Returns true if the
 * shell command succeeded; else prints a message, and stores in *code the exit code of the command,
 * or EX_FAIL if the command could not be run. */
static bool run_hook(bool after, int *code)
{
	char text[24];
	struct buf b = BUF_Z(text);
	int r = child_hook(after);

	if (r == 0)
		return true;
	put_u64(&b, (u64)r);
	say(after ? "--post COMMAND failed: " : "--pre COMMAND failed: ",
	    r < 0 ? error_text(r) : "exit code ", r < 0 ? NULL : buf_z(&b));
	*code = r < 0 ? EX_FAIL : r;
	return false;
}

/* Runs one measurement. Returns the exit code. *counted is set if at least one event could be
 * opened. */
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
			code = print_rows(m, false);
		if (code == EX_OK && (!left || --left > 0))
			continue;
		/* the user's command still runs: count until it ends, but print no more
		 * intervals */
		if (m->argv)
			m->interval = 0;
		m->stop = !m->argv;
	}
	if (m->failure)
		return code;
	if (!opt.interval)
		read_cpu_time(m);
	if (code == EX_OK && opt.repeat != 1)
		rows_repeat();
	else if (code == EX_OK && !(opt.count && left == 0 && opt.interval))
		code = print_rows(m, false);
	if (code != EX_OK || !opt.interval || !opt.totals)
		return code;
	measure_whole(m);
	read_cpu_time(m);
	return print_rows(m, true);
}

/* Runs all measurements, and stores the exit code in *result. Returns whether there are results
 * that must still be printed. */
static bool run_all(struct measure *m, bool *counted, int *result)
{
	for (u64 i = 0; (opt.repeat == 0 || i < opt.repeat) && !tasks_signal(); i++) {
		int code;

		if (i > 0)
			perf_close();
		if (!run_hook(false, result))
			return i > 0; /* if --pre failed, print the results of the earlier runs */
		m->repeats = i + 1 != opt.repeat || opt.before || opt.after;
		code = stat_once(m, counted);
		*result = command_result(m, EX_OK);
		if (code != EX_OK)
			*result = code;
		if (code != EX_OK || m->failure)
			return i > 0;
		if (!run_hook(true, result))
			break;
	}
	return true;
}

int cmd_stat(void)
{
	struct measure m = { .target = &opt.target, .argv = opt.command, .interval = opt.interval,
			     .delay = opt.delay, .timeout = opt.timeout, .control = -1, .ack = -1,
			     .scale = !opt.no_scale,
			     .ready = ready };
	bool counted = false;
	int code, result = EX_OK;

	if ((opt.before || opt.after) && !opt.command)
		return usage_z("--pre and --post require a command");
	if (opt.repeat != 1 && (!opt.command || opt.interval))
		return usage_z("--repeat requires a command and no interval");
	if (!open_roots(false))
		return EX_FAIL;
	if ((code = open_control(&m)) >= 0)
		return code;
	if (!add_all_events())
		return EX_USAGE;
	if (opt.repeat != 1 && opt.target.split == SPLIT_THREAD)
		/* the runs of the command have different threads: their counts cannot be averaged
		 * by thread */
		opt.target.split = SPLIT_NONE;
	if ((code = find_target(&opt.target)) >= 0 || (code = sink_open()) >= 0)
		return code;
	/* A measurement ends after opt.window if neither a command nor an option ends it. */
	if (!opt.command && !opt.interval && !opt.timeout && (opt.windowed || !opt.npids))
		m.timeout = opt.window;
	opt.out.once = !opt.interval;
	opt.out.sites = opt.target.split || opt.nsets ||
			(opt.target.ncgroups && !format_raw(opt.out.fmt));
	opt.out.summed = opt.target.split >= SPLIT_CORE;
	opt.out.repeats = opt.repeat != 1;
	opt.out.sets = opt.nsets;
	tasks_catch(opt.command);
	if (opt.before || opt.after)
		child_hooks(opt.command, opt.before, opt.after);
	if (!run_all(&m, &counted, &result))
		return result;
	if (opt.repeat != 1 && print_rows(&m, false) != EX_OK)
		return EX_FAIL;
	say_dropped();
	say_denied();
	if (perf_opened.user_only)
		say_user_only();
	return result != EX_OK ? result : counted ? EX_OK : EX_DENIED;
}
