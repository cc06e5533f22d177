/* timing.c - gpustat sample --latency and --syscalls: sums of the times that tasks wait for a CPU,
 * and of those that they spend in system calls.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sys.h"

enum role { WAKEUP, NEW, SWITCH, ENTER, EXIT, ROLES };

/* The tracepoint of each role (enum role), and the names of its fields that are read.
 * timing.fields[][] has the same order. */
enum { MAX_READ = 5 };
static const struct {
	const char *event;
	const char *fields[MAX_READ];
} roles[ROLES] = {
	[WAKEUP] = { "sched:sched_wakeup", { "pid", "comm" } },
	[NEW] = { "sched:sched_wakeup_new", { "pid", "comm" } },
	[SWITCH] = { "sched:sched_switch",
		     { "prev_pid", "prev_comm", "prev_state", "next_pid", "next_comm" } },
	[ENTER] = { "raw_syscalls:sys_enter", { "id" } },
	[EXIT] = { "raw_syscalls:sys_exit", { "id", "ret" } },
};

static struct {
	const struct tpfield *fields[ROLES][MAX_READ];
	/* true if only the waits of the user's command and of its child tasks are summed up */
	bool command_only;
} timing;

bool timing_is_on(void)
{
	return opt.latency || opt.syscalls;
}

/* Checks the options of --latency and --syscalls, and sets what they imply. Returns the exit code,
 * or -1 to continue. */
int timing_options(struct target *t)
{
	const char *other =
		opt.latency && opt.syscalls ? " exclude each other" :
		opt.nevents || opt.profile || t->callchain ? " exclude -e, --summary and -g" :
		format_is_folded(opt.out.fmt) || format_is_perfdata(opt.out.fmt) ?
		" exclude -o folded and -o perfdata" :
		t->period || t->freq || t->limit || opt.long_period || opt.short_period ||
		opt.random_mask ? " exclude options of periods and limits" :
		t->has_cpus ? " exclude -C: tasks change their CPU" : NULL;

	if (other)
		return usage("--latency and --syscalls", other, NULL);
	if (opt.latency && t->ncgroups)
		return usage_z("--latency excludes -G");
	opt.out.kind = opt.latency ? K_LATENCY : K_SYSCALL;
	t->period = 1;
	t->raw = true;
	return -1;
}

/* Returns the list of tracepoints to sample, in the order of enum role. */
const char *timing_events(void)
{
	return opt.latency ? "sched:sched_wakeup,sched:sched_wakeup_new,sched:sched_switch" :
			     "raw_syscalls:sys_enter,raw_syscalls:sys_exit";
}

/* Sets which tasks are sampled. --latency samples the whole machine: when the kernel switches to a
 * task, that task is not running yet, so that an event which belongs to the task would not count
 * the switch. */
void timing_target(struct target *t)
{
	if (!opt.latency)
		return;
	for (u32 i = 0; i < t->ntasks; i++)
		waits_want(t->tasks[i].tid);
	timing.command_only = opt.command && !t->all && !t->ntasks;
	t->all = true;
}

static u8 role_of(u32 event)
{
	return (u8)(event - 1 + (opt.latency ? WAKEUP : ENTER));
}

/* Finds the fields of the tracepoints that are read. Returns false after a message if one is
 * missing. */
bool timing_fields(void)
{
	for (u32 i = 1; i <= nrows.events; i++) {
		u8 role = role_of(i);

		for (size_t k = 0; k < MAX_READ && roles[role].fields[k]; k++) {
			timing.fields[role][k] = tracepoint_find(i, roles[role].fields[k]);
			if (timing.fields[role][k] || events[i].denied)
				continue;
			say(roles[role].event, ": this tracepoint has no field ",
			    roles[role].fields[k]);
			return false;
		}
	}
	return true;
}

/* Prepares the sums of --latency or --syscalls. child: PID of the process that will execute the
 * user's command, and that waits before its exec. */
void timing_begin(i32 child)
{
	intervals_begin(opt.syscalls);
	if (timing.command_only)
		waits_want((u32)child);
}

/* --- functions that handle samples and other perf records ------------------------------------- */

/* Returns the number in a field of a tracepoint's sample; 0 if the sample is too short. field:
 * index in roles[role].fields. */
static i64 number_in(const struct prec *r, u8 role, u8 field)
{
	const struct tpfield *f = timing.fields[role][field];
	i64 v = 0;

	return f && tpfield_number(f, r->payload, &v) ? v : 0;
}

static struct str comm_in(const struct prec *r, u8 role, u8 field)
{
	const struct tpfield *f = timing.fields[role][field];

	return f ? tpfield_text(f, r->payload) : (struct str){ 0 };
}

static void switch_handle(const struct prec *r)
{
	/* The state of a runnable task is R, which is 0. If the task was preempted, a bit above all
	 * states is set: TASK_REPORT_MAX in the kernel's include/linux/sched.h; before Linux 4.14,
	 * TASK_STATE_MAX. */
	enum { STATES = 0xff };

	waits_out((u32)number_in(r, SWITCH, 0), comm_in(r, SWITCH, 1),
		  !(number_in(r, SWITCH, 2) & STATES), r->time);
	waits_in((u32)number_in(r, SWITCH, 3), comm_in(r, SWITCH, 4), r->time);
}

static void sample_handle(const struct prec *r)
{
	enum { MAX_ERRNO = 4095 };
	u32 event = perf_event_of(r);
	u8 role = role_of(event);
	i64 result;

	if (event == NONE || !str_len(r->payload))
		return;
	switch (role) {
	case WAKEUP:
	case NEW:
		waits_wakeup((u32)number_in(r, role, 0), comm_in(r, role, 1), r->time);
		return;
	case SWITCH:
		switch_handle(r);
		return;
	case ENTER:
		calls_enter(r->tid, (u64)number_in(r, ENTER, 0), r->time);
		return;
	default:
		result = number_in(r, EXIT, 1);
		calls_exit(r->tid, (u64)number_in(r, EXIT, 0),
			   result < 0 && result >= -MAX_ERRNO, r->time);
	}
}

void timing_handle(const struct prec *r)
{
	if (r->lost)
		intervals_lost();
	else if (r->type == PR_SAMPLE)
		sample_handle(r);
	else if (r->type == PR_FORK && opt.latency)
		waits_fork(r->parent_tid, r->who_tid);
	else if (r->type == PR_EXIT && opt.syscalls)
		calls_end(r->who_tid);
}

/* Prints the sums of --latency or --syscalls, at most as many as --top allows. Returns false if the
 * output failed. */
bool timing_print(void)
{
	struct timesum x = { .e = { .kind = opt.out.kind, .used = true } };
	struct recopts ro = { .dt_us = -1, .time_us = -1 };
	size_t n = intervals_sort();

	n = opt.top && n > opt.top ? (size_t)opt.top : n;
	for (size_t i = 0; i < n; i++) {
		x.sum = intervals_row(i);
		if (!show_record(&x.e, &ro) || !flush_record())
			return false;
	}
	if (intervals_dropped())
		say_number(intervals_dropped(),
			   " CPU waits or system calls were left out: gpustat's table is full");
	return flush();
}
