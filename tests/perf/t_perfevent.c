/* t_perfevent.c - unit test of sources/perf/perfevent.c: how perf events are opened and read:
 * the attributes of each kind of event, groups, fallbacks, the states of events that fail, and
 * reading of groups. A simulated kernel handles the calls, except in the last tests.
 * SPDX-License-Identifier: MIT */
#define gp_open    fake_open
#define gp_read    fake_read
#define gp_filter  fake_filter
#define gp_enable  fake_enable
#define gp_disable fake_disable
#define gp_refresh fake_refresh
#define gp_recover fake_recover
#define gp_output  fake_output
#include "../../sources/perf/perfevent.c" /* for its static functions, and those names */
#undef gp_open
#undef gp_read
#undef gp_filter
#undef gp_enable
#undef gp_disable
#undef gp_refresh
#undef gp_recover
#undef gp_output
#include "folder.h"
#include "boot/remedies.h"

int gp_open(struct gp_event *e, int pid, int cpu, int group);
int gp_read(int fd, uint64_t read_format, struct gp_count *counts_read, int cap);
int gp_enable(int fd);
int gp_disable(int fd);

/* --- the test's kernel ------------------------------------------------------------------------ */

enum { FIRST_FD = 5000 };

static struct opened {
	struct perf_event_attr a;
	int pid, cpu, group, fd;
	bool cgroup;
} opened[256];
static int nopened;
static long (*kernel)(const struct opened *o); /* -errno, or 0: the kernel opens the event */
static bool real;                              /* the calls reach the machine's kernel */
static char calls[200];                        /* of the last test: "e5000 d5000 r5001" */
static struct gp_count values[MAX_GROUP];
static int nvalues;
static u64 format_read;

static int call_add(char what, int fd)
{
	size_t n = strlen(calls);

	snprintf(calls + n, sizeof(calls) - n, "%s%c%d", n ? " " : "", what, fd - FIRST_FD);
	return 0;
}

int fake_open(struct gp_event *e, int pid, int cpu, int group)
{
	struct opened *o = &opened[nopened < (int)LEN(opened) ? nopened++ : 0];
	long error;

	if (real)
		return gp_open(e, pid, cpu, group);
	*o = (struct opened){ .pid = pid, .cpu = cpu, .group = group, .cgroup = e->cgroup };
	memcpy(&o->a, e->attr, sizeof(o->a));
	error = kernel ? kernel(o) : 0;
	o->fd = error ? (int)error : FIRST_FD + nopened - 1;
	return o->fd;
}

int fake_read(int fd, uint64_t read_format, struct gp_count *to, int cap)
{
	if (real)
		return gp_read(fd, read_format, to, cap);
	format_read = read_format;
	if (nvalues > 0 && nvalues <= cap)
		memcpy(to, values, (size_t)nvalues * sizeof(*to));
	return nvalues;
}

int fake_filter(int fd, const char *filter)
{
	(void)fd;
	return strcmp(filter, "good") == 0 ? 0 : -EINVAL;
}

int fake_enable(int fd)
{
	return real ? gp_enable(fd) : call_add('e', fd);
}

int fake_disable(int fd)
{
	return real ? gp_disable(fd) : call_add('d', fd);
}

int fake_recover(int fd)
{
	return call_add('c', fd);
}

int fake_output(int fd, int ring_fd)
{
	return fd == FIRST_FD + 1 && ring_fd == FIRST_FD ? 42 : -EBADF;
}

int fake_refresh(int fd, int n)
{
	return n == 1 ? call_add('r', fd) : -EINVAL;
}

/* --- events ----------------------------------------------------------------------------------- */

static struct member task = { 77, 77 };
static const struct target of_task = { .tasks = &task, .ntasks = 1 };

static void reset(long (*with)(const struct opened *o))
{
	nrows.events = nrows.counts = nrows.sites = nrows.evrows = 0;
	memset(evrows, 0, evrows_table.ready * sizeof(*evrows));
	kernel = with;
	nopened = 0;
	calls[0] = '\0';
}

static struct event *event(u32 type, u64 config)
{
	table_has(&events_table, nrows.events + 1);
	events[++nrows.events] = (struct event){ .type = type, .config = { config } };
	return &events[nrows.events];
}

/* Adds events by name, opens them for a target, and returns the first attribute. */
static const struct perf_event_attr *open_list(const char *list, const struct target *t)
{
	char why[200];
	struct buf b = BUF(why);

	reset(NULL);
	if (!events_add(str_z(list), 0, &b))
		note("%s: %.*s", list, (int)b.n, b.p);
	perf_open(t);
	return &opened[0].a;
}

static void test_attributes(void)
{
	const struct target on_exec = {
		.tasks = &task, .ntasks = 1, .on_exec = true, .no_inherit = true
	};
	const struct target user = { .all = true, .user_only = true };
	const struct target kernel_only = { .all = true, .kernel_only = true };
	const struct perf_event_attr *a = open_list("page-faults:u", &of_task);

	check(nopened == 1 && opened[0].pid == 77 && opened[0].cpu == -1 && opened[0].group == -1 &&
	      !opened[0].cgroup, "an event of a task is opened on all CPUs");
	check(a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_PAGE_FAULTS &&
	      a->exclude_kernel && a->exclude_hv && !a->exclude_user && a->disabled && a->inherit,
	      "page-faults:u is disabled, inherited, and counts user space");
	check(a->read_format == (PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING) &&
		      !a->enable_on_exec && !a->sample_period && !a->sample_type,
	      "page-faults:u is read with its times");
	a = open_list("cycles:k", &on_exec);
	check(a->type == PERF_TYPE_HARDWARE && a->config == PERF_COUNT_HW_CPU_CYCLES &&
		      a->exclude_user && a->enable_on_exec && !a->inherit,
	      "cycles:k counts from the exec, without children");
	a = open_list("cycles", &user);
	check(a->exclude_kernel && a->exclude_hv && !a->inherit && opened[0].pid == -1,
	      "user only: the kernel and the hypervisor are excluded");
	a = open_list("cycles", &kernel_only);
	check(a->exclude_user && a->exclude_hv && !a->exclude_kernel,
	      "kernel only: user space and the hypervisor are excluded");
	a = open_list("r1a,mem:4096/2:w", &of_task);
	check(a->type == PERF_TYPE_RAW && a->config == 0x1a &&
		      opened[1].a.type == PERF_TYPE_BREAKPOINT && opened[1].a.bp_addr == 4096 &&
		      opened[1].a.bp_len == 2 && opened[1].a.bp_type == 2,
	      "the values of a raw event and of a breakpoint");
}

/* The attribute that a target gives to one event, without opening it. */
static struct gp_event made;

static const struct perf_event_attr *make(const struct event *ev, const struct target *t,
					  bool leader, bool grouped)
{
	attr_make(&made, ev, t, leader, grouped, leader);
	return gp_attr(&made);
}

static void test_attr_members(void)
{
	struct event ev = { .type = PERF_TYPE_TRACEPOINT, .trigger = 9, .mods = EM_PINNED };
	struct target t = { .tasks = &task, .ntasks = 1, .on_exec = true };
	const struct perf_event_attr *a = make(&ev, &t, true, false);

	check(a->sample_period == 9 && a->wakeup_events == 1 && !a->inherit && a->pinned &&
		      a->enable_on_exec,
	      "a trigger samples and is not inherited");
	ev = (struct event){ .type = PERF_TYPE_HARDWARE, .mods = EM_PINNED };
	a = make(&ev, &t, false, true);
	check(!a->disabled && !a->pinned && !a->enable_on_exec && a->inherit &&
		      a->read_format & PERF_FORMAT_GROUP,
	      "a member of a group is switched with its leader");
	ev.set = 1;
	check(!make(&ev, &t, true, false)->enable_on_exec,
	      "an event of a later set is not enabled at the exec");
	ev.no_inherit = true;
	check(!make(&ev, &t, true, false)->inherit,
	      "an event that the user excludes is not inherited");
	ev = (struct event){ .type = 9, .path = text_put(NONE, str_z("/bin/x")) };
	a = make(&ev, &t, true, false);
	check(strcmp((const char *)(uintptr_t)a->config1, "/bin/x") == 0 && !a->inherit,
	      "a uprobe has the path of its file, and is not inherited");
	table_has(&pmus_table, nrows.pmus + 1);
	pmus[nrows.pmus + 1] = (struct pmu){ .name = "power", .type = 9, .wide = true };
	ev = (struct event){ .type = 9, .pmu = nrows.pmus + 1, .trigger = 5 };
	t.user_only = true;
	a = make(&ev, &t, true, false);
	check(!a->exclude_kernel && !a->inherit && !a->enable_on_exec && !a->sample_period,
	      "an event of whole CPUs has no settings of tasks");
}

static void test_sampling(void)
{
	struct perf_event_attr inherited;
	struct event ev = { .type = PERF_TYPE_SOFTWARE, .config = { PERF_COUNT_SW_CPU_CLOCK } };
	struct target t = {
		.tasks = &task, .ntasks = 1, .sampling = true, .freq = 99, .wakeup = 3,
		.fields = PS_IP | PS_TID
	};
	const struct perf_event_attr *a;
	u32 was = nrows.events;

	nrows.events = 2;
	a = make(&ev, &t, true, true);
	check(a->sample_type == (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD |
				 PERF_SAMPLE_IDENTIFIER),
	      "samples have the fields of the target, and with several events a number");
	nrows.events = 1;
	a = make(&ev, &t, true, true);
	check(a->sample_type == (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_PERIOD),
	      "samples of a single event have no number");
	nrows.events = was;

	check(a->freq && a->sample_freq == 99 && a->sample_type & PERF_SAMPLE_PERIOD &&
	      !(a->sample_type & PERF_SAMPLE_CALLCHAIN) && a->wakeup_events == 3 && !a->watermark,
	      "sampling with the frequency of the command");
	check(a->use_clockid && a->clockid == CLOCK_MONOTONIC && a->sample_id_all &&
	      a->read_format == (PERF_FORMAT_ID | PERF_FORMAT_LOST),
	      "samples have the monotonic clock; lost samples are counted, without times");
	check(a->mmap && a->mmap2 && a->comm && a->comm_exec && a->task && a->ksymbol,
	      "the ring gets the records of maps and names");
	t = (struct target){ .all = true,
			     .sampling = true,
			     .period = 1000,
			     .callchain = true,
			     .wakeup = 4096,
			     .watermark = true };
	a = make(&ev, &t, false, true);
	check(!a->freq && a->sample_period == 1000 && !(a->sample_type & PERF_SAMPLE_PERIOD) &&
		      a->sample_type & PERF_SAMPLE_CALLCHAIN && a->watermark &&
		      a->wakeup_watermark == 4096 && !a->mmap,
	      "a software event with a period of the command: no period in its samples");
	ev = (struct event){
		.type = PERF_TYPE_HARDWARE, .period = 7, .freq = true, .mods = EM_READ
	};
	a = make(&ev, &t, true, true);
	check(a->freq && a->sample_freq == 7 && a->sample_type & PERF_SAMPLE_READ &&
		      a->read_format == (PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_LOST),
	      "an event's own frequency; its samples hold the group, without times");
	inherited = *a;
	inherited.inherit = 1;
	check(attr_reduce(&inherited, false, -EINVAL) && !inherited.inherit && !attr_reduce(&inherited, false, -EINVAL),
	      "a kernel from 4.13 to 6.11 refuses such samples of inherited events: they are not "
	      "inherited");
	a = make(&ev, &t, false, true);
	check(!a->freq && !a->sample_period && !(a->sample_type & PERF_SAMPLE_PERIOD),
	      "a member of a sampling group does not sample");
	ev = (struct event){ .type = PERF_TYPE_HARDWARE };
	for (int varies = 0; varies < 2; varies++)
		for (ev.period = 0; ev.period < 2; ev.period++) {
			t.period_varies = varies;
			a = make(&ev, &t, true, true);
			check(!(a->sample_type & PERF_SAMPLE_PERIOD) == !(varies && !ev.period),
			      "samples have a period only if it varies: %d, own period: %d", varies,
			      (int)ev.period);
		}
	t.limit = 5;
	t.ntasks = 1;
	check(!make(&ev, &t, true, false)->inherit, "a limited number of samples is not inherited");
}

/* --- states and fallbacks --------------------------------------------------------------------- */

static void test_states(void)
{
	static const struct {
		int error;
		u8 state;
	} rows[] = {
		{ EACCES, CS_DENIED },
		{ EPERM, CS_DENIED },
		{ ESRCH, CS_GONE },
		{ ENODEV, CS_OFFLINE },
		{ ENOSPC, CS_NO_SLOT },
		{ EMFILE, CS_NO_FILES },
		{ ENFILE, CS_NO_FILES },
		{ EINVAL, CS_REFUSED },
		{ E2BIG, CS_REFUSED },
		{ ENOMEM, CS_NO_MEMORY },
		{ ENOSYS, CS_NO_PERF },
		{ ENOENT, CS_UNSUPPORTED },
		{ EOPNOTSUPP, CS_UNSUPPORTED },
		{ EBUSY, CS_UNSUPPORTED },
	};
	const struct event plain = { .type = PERF_TYPE_RAW },
			   software = { .type = PERF_TYPE_SOFTWARE };
	const struct event probe = { .type = 9, .path = 1 }, kprobe = { .type = 8, .path = 1, .kernel = true },
			   point = { .type = PERF_TYPE_BREAKPOINT },
			   named = { .type = PERF_TYPE_TRACEPOINT, .denied = true };

	for (size_t i = 0; i < LEN(rows); i++)
		check_u64(state_from_error(-rows[i].error, &plain, 0), rows[i].state,
			  "the state after error %zu of the list", i);
	check_u64(state_from_error(-ENOENT, &software, 0), CS_NO_SOFTWARE,
		  "the state after ENOENT of a software event");
	check_u64(state_from_error(-ENOENT, &probe, 0), CS_NO_FILE,
		  "the state after ENOENT of a uprobe: no such file");
	check(state_from_error(-ENOENT, &kprobe, 0) == CS_NO_FUNCTION && state_from_error(-EINVAL, &kprobe, 0) == CS_NO_FUNCTION &&
	      state_from_error(-EADDRNOTAVAIL, &kprobe, 0) == CS_NO_FUNCTION && state_from_error(-EACCES, &kprobe, 0) == CS_KPROBE,
	      "the state of a kprobe of a function that cannot have one");
	check(state_from_error(-EACCES, &probe, 0) == CS_UPROBE && state_from_error(-EPERM, &probe, 0) == CS_UPROBE &&
		      state_from_error(-EINVAL, &probe, 0) == CS_REFUSED,
	      "the state of a uprobe that is denied; other errors are as for all events");
	check(state_from_error(-EACCES, &named, 0) == CS_TRACEFS && state_from_error(-EACCES, &point, 0) == CS_DENIED,
	      "the state of a tracepoint that tracefs denies, and of a breakpoint that is denied");
	check(state_from_error(-ENOENT, &point, 0) == CS_BREAKPOINT &&
		      state_from_error(-EINVAL, &point, 0) == CS_BREAKPOINT &&
		      state_from_error(-EOPNOTSUPP, &point, 0) == CS_BREAKPOINT &&
		      state_from_error(-ENOSPC, &point, 0) == CS_NO_SLOT,
	      "the states after errors of a breakpoint");
}

/* Returns the state of an event that fails on a machine with this perf_event_paranoid. */
static u8 denied_at(const char *level, const struct event *ev, long err)
{
	int was = roots.proc;
	u8 state;

	put(in_folder("proc/sys/kernel/perf_event_paranoid"), level);
	roots.proc = open(in_folder("proc"), O_PATH | O_DIRECTORY);
	state = state_from_error(err, ev, 0);
	close(roots.proc);
	roots.proc = was;
	return state;
}

/* tests/boot/remedies.c makes a kernel refuse events for the reason of each row, and applies the
 * remedy. */
static void test_trials(void)
{
	static const struct {
		u8 kind, err, state;
	} tried[] = {
#define ROW(kind, error, state, trial) { kind, error, state },
		PERF_ERRORS(ROW)
#undef ROW
	};

	check_u64(LEN(tried), LEN(errors),
		  "each row of errors[] has a trial in an emulated machine");
	for (size_t i = 0; i < LEN(tried) && i < LEN(errors); i++)
		check(tried[i].kind == errors[i].kind && tried[i].err == errors[i].err &&
		      tried[i].state == errors[i].state,
		      "row %zu of errors[]: its trial is for the same error and state", i);
}

/* The kernels of Debian and Ubuntu have values above 2, which deny each event; kernel probes require
 * a capability whatever the value is. */
static void test_hardened(void)
{
	static const struct {
		const char *level;
		u8 plain, kprobe;
	} rows[] = {
		{ "-1\n", CS_DENIED, CS_KPROBE }, { "2\n", CS_DENIED, CS_KPROBE },
		{ "3\n", CS_HARDENED, CS_HARDENED }, { "4\n", CS_HARDENED, CS_HARDENED },
		{ "", CS_DENIED, CS_KPROBE }, { "x3\n", CS_DENIED, CS_KPROBE },
		{ "99999999999999999999\n", CS_DENIED, CS_KPROBE },
	};
	struct event plain = { .type = PERF_TYPE_SOFTWARE }, kprobe = { .type = 8, .path = 1, .kernel = true },
		     uprobe = { .type = 9, .path = 1 },
		     named = { .type = PERF_TYPE_TRACEPOINT, .denied = true };

	folder_begin("perfevent");
	for (size_t i = 0; i < LEN(rows); i++) {
		check_u64(denied_at(rows[i].level, &plain, -EACCES), rows[i].plain,
			  "perf_event_paranoid, row %zu: state of an event", i);
		check_u64(denied_at(rows[i].level, &kprobe, -EACCES), rows[i].kprobe,
			  "perf_event_paranoid, row %zu: state of a kprobe", i);
		check_u64(denied_at(rows[i].level, &uprobe, -EACCES), CS_UPROBE,
			  "perf_event_paranoid, row %zu: a uprobe requires root", i);
		check_u64(denied_at(rows[i].level, &named, -EACCES), CS_TRACEFS,
			  "perf_event_paranoid, row %zu: state of a tracepoint without a number",
			  i);
		check_u64(denied_at(rows[i].level, &plain, -EPERM), CS_DENIED,
			  "perf_event_paranoid, row %zu: EPERM is not caused by the level", i);
		check_u64(denied_at(rows[i].level, &kprobe, -EPERM), CS_LOCKDOWN,
			  "perf_event_paranoid, row %zu: state of a kprobe after EPERM", i);
		check_u64(denied_at(rows[i].level, &kprobe, -ENOENT), CS_NO_FUNCTION,
			  "perf_event_paranoid, row %zu: state of a kprobe of an unknown function",
			  i);
	}
	shell("rm -rf \"$D\"");
}

static long user_only_kernel(const struct opened *o)
{
	return o->a.exclude_kernel ? 0 : -EACCES;
}

static long denied_kernel(const struct opened *o)
{
	return o->a.exclude_kernel ? -EINVAL : -EPERM;
}

static long few_files_kernel(const struct opened *o)
{
	(void)o;
	return -EMFILE;
}

/* Opens one event; returns the state of its count. */
static u8 open_state(u32 type, u64 config, const struct target *t,
		     long (*with)(const struct opened *o))
{
	reset(with);
	event(type, config);
	perf_open(t);
	return counts[1].state;
}

static void test_fallbacks(void)
{
	const struct target all = { .all = true };

	perf_opened.user_only = false;
	check(open_state(PERF_TYPE_HARDWARE, 0, &of_task, NULL) == CS_COUNTED && !perf_opened.user_only,
	      "an event is opened");
	check(open_state(PERF_TYPE_HARDWARE, 0, &all, user_only_kernel) == CS_DENIED &&
		      nopened == 3,
	      "without capabilities, an event of a CPU is denied");
	check(open_state(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, &of_task,
			 user_only_kernel) == CS_DENIED &&
		      nopened == 1,
	      "without capabilities, an event that only the kernel triggers is denied");
	check(!perf_opened.user_only, "denied events are not opened for user space only");
	check(open_state(PERF_TYPE_HARDWARE, 0, &of_task, user_only_kernel) == CS_COUNTED &&
		      nopened == 2 && opened[1].a.exclude_hv && perf_opened.user_only,
	      "without capabilities, an event of a task counts user space only");
	check(open_state(PERF_TYPE_HARDWARE, 0, &of_task, denied_kernel) == CS_DENIED &&
		      nopened == 2,
	      "the state is that of the missing capability, not of the later error");
	check(open_state(PERF_TYPE_HARDWARE, 0, &of_task, few_files_kernel) == CS_NO_FILES &&
		      nopened == 2,
	      "without free descriptors, the limit is raised, and the event is opened");
	check(open_state(PERF_TYPE_HARDWARE, 0, &of_task, few_files_kernel) == CS_NO_FILES &&
		      nopened == 1,
	      "the limit of descriptors is raised only once");
	check(fileio.error == -EMFILE && fileio.unread == 2,
	      "each missing descriptor or capability is counted for the exit status");
	reset(NULL);
	event(PERF_TYPE_TRACEPOINT, 0)->denied = true;
	perf_open(&of_task);
	check(counts[1].state == CS_TRACEFS && nopened == 0,
	      "an event whose number is unknown is denied");
}

/* --- groups ----------------------------------------------------------------------------------- */

static long old_kernel(const struct opened *o) /* before Linux 4.13 */
{
	return o->a.inherit && o->a.read_format & PERF_FORMAT_GROUP ? -EINVAL : 0;
}

static long no_member_kernel(const struct opened *o)
{
	return o->group >= 0 && o->a.config == 2 ? -EINVAL : 0;
}

static long no_leader_kernel(const struct opened *o)
{
	return o->a.config == 1 ? -ENOSPC : 0;
}

static void add_three(u32 type, u16 group, u16 mods)
{
	for (u64 i = 1; i <= 3; i++) {
		struct event *ev = event(type, i);

		ev->group = group;
		ev->mods = mods;
	}
}

static void test_groups(void)
{
	reset(NULL);
	add_three(PERF_TYPE_SOFTWARE, 0, 0);
	perf_open(&of_task);
	check(opened[0].group == -1 && opened[1].group == FIRST_FD && opened[2].group == FIRST_FD &&
		      opened[2].a.read_format & PERF_FORMAT_GROUP && counts[3].leader == 1 &&
		      counts[1].members,
	      "consecutive software events are one group");
	reset(NULL);
	add_three(PERF_TYPE_HARDWARE, 0, 0);
	perf_open(&of_task);
	check(opened[1].group == -1 && counts[2].leader == 2 &&
		      !(opened[1].a.read_format & PERF_FORMAT_GROUP),
	      "hardware events without a group are opened alone");
	reset(old_kernel);
	add_three(PERF_TYPE_SOFTWARE, 0, 0);
	perf_open(&of_task);
	check(nopened == 4 && opened[1].group == -1 && opened[3].group == -1 && counts[3].fd >= 0 &&
		      counts[3].leader == 3,
	      "on a kernel that cannot read inherited groups, each event is opened alone");
	reset(no_member_kernel);
	add_three(PERF_TYPE_SOFTWARE, 0, 0);
	perf_open(&of_task);
	check(counts[2].fd >= 0 && counts[2].leader == 2 && counts[3].leader == 1,
	      "a member that does not fit is opened alone");
	reset(no_member_kernel);
	add_three(PERF_TYPE_HARDWARE, 4, 0);
	perf_open(&of_task);
	check(counts[2].fd < 0 && counts[2].state == CS_NO_GROUP && counts[3].leader == 1,
	      "a member of the user's group that does not fit is not counted");
	reset(no_member_kernel);
	add_three(PERF_TYPE_HARDWARE, 4, EM_WEAK);
	perf_open(&of_task);
	check(counts[2].fd >= 0 && counts[2].leader == 2,
	      "a weak member that does not fit is opened alone");
	reset(no_leader_kernel);
	add_three(PERF_TYPE_HARDWARE, 4, 0);
	perf_open(&of_task);
	check(counts[1].state == CS_NO_SLOT && counts[2].state == CS_NO_LEADER && nopened == 1,
	      "without the leader the members are not opened");
	reset(NULL);
	for (int i = 0; i < MAX_GROUP + 1; i++)
		event(PERF_TYPE_SOFTWARE, 1);
	perf_open(&of_task);
	check(counts[MAX_GROUP].leader == 1 && counts[MAX_GROUP + 1].leader == MAX_GROUP + 1,
	      "a group has at most the largest size");
	reset(NULL);
	event(PERF_TYPE_TRACEPOINT, 1)->filter = text_put(NONE, str_z("good"));
	event(PERF_TYPE_HARDWARE, 1);
	event(PERF_TYPE_TRACEPOINT, 1)->filter = text_put(NONE, str_z("bad"));
	perf_open(&of_task);
	check(counts[1].state == CS_COUNTED && counts[3].state == CS_FILTER && counts[3].fd < 0,
	      "a tracepoint whose filter the kernel refuses is not counted");
	reset(NULL);
	event(PERF_TYPE_TRACEPOINT, 1);
	event(PERF_TYPE_TRACEPOINT, 2)->filter = text_put(NONE, str_z("bad"));
	perf_open(&of_task);
	check(counts[1].state == CS_COUNTED && opened[1].group == FIRST_FD &&
	      counts[2].state == CS_FILTER,
	      "the reason of a tracepoint that is a group member is its filter, too");
}

/* --- reading and switching -------------------------------------------------------------------- */

static void test_reading(void)
{
	reset(NULL);
	add_three(PERF_TYPE_SOFTWARE, 0, 0);
	perf_open(&of_task);
	nvalues = 3;
	for (u64 i = 0; i < 3; i++)
		values[i] = (struct gp_count){ .value = 10 + i, .enabled = 100, .running = 50 };
	perf_read(1);
	check(format_read == (PF_ENABLED | PF_RUNNING | PF_GROUP), "a group is read with one call");
	check(counts[1].now.value == 10 && counts[2].now.value == 11 && counts[3].now.value == 12 &&
		      counts[3].now.enabled == 100 && counts[3].now.running == 50,
	      "each member gets its count and the times");
	counts[2].fd = -1; /* the event could not be opened */
	nvalues = 2;
	perf_read(1);
	check(counts[3].now.value == 11, "an event that is not open has no place in the group");
	nvalues = -ENODEV;
	perf_read(1);
	check(counts[1].state == CS_OFFLINE && counts[3].state == CS_OFFLINE,
	      "an error is stored as the state of the whole group");
	calls[0] = '\0';
	nvalues = 0;
	perf_read(1);
	check(counts[3].state == CS_PINNED && strcmp(calls, "c0") == 0,
	      "a pinned group without a counter is tried again");
	counts[1].cpu = 0;
	counts[1].pid = 0;
	counts[1].was.enabled = 100;
	nvalues = 2;
	perf_read(1);
	check(counts[1].state == CS_RETURNED,
	      "an event of a CPU whose time does not change was removed by the kernel");
	counts[1].cpu = 3;
	perf_read(1);
	check(counts[1].state == CS_OFFLINE,
	      "an event whose time does not change on an offline CPU has the same state");
	counts[1].cpu = 0;
	sites[counts[1].site].cgroup = 1;
	perf_read(1);
	check(counts[1].state == CS_COUNTED,
	      "an event of a cgroup whose time does not change is counted");
	sites[counts[1].site].cgroup = NONE;
	counts[1].off = true;
	perf_read(1);
	check(counts[1].state == CS_COUNTED,
	      "a disabled event whose time does not change is counted");
	events[1].rule = R_PER_READ;
	perf_baseline();
	check(counts[1].was.value == 10 && counts[3].was.value == 0,
	      "counts that each read increases start from a baseline");
}

static void test_switching(void)
{
	reset(NULL);
	add_three(PERF_TYPE_SOFTWARE, 0, 0);
	event(PERF_TYPE_HARDWARE, 7)->set = 1;
	event(PERF_TYPE_HARDWARE, 8)->trigger = 50;
	perf_open(&of_task);
	check(opened[4].a.sample_period == 50 && counts[5].fd == FIRST_FD + 4,
	      "a trigger is opened");
	perf_enable(0, true, false);
	check(strcmp(calls, "e0 r4") == 0, "leaders are enabled, a trigger for one overflow: %s",
	      calls);
	check(!counts[1].off && counts[5].armed && perf_fired(FIRST_FD) == NULL,
	      "a trigger is not an event that samples");
	check(perf_fired(FIRST_FD + 4) == &counts[5] && !counts[5].armed,
	      "a trigger has overflowed");
	calls[0] = '\0';
	perf_enable(0, false, false);
	perf_enable(1, true, false);
	check(strcmp(calls, "d0 d4 e3") == 0 && counts[2].off,
	      "sets are switched by their leaders: %s", calls);
	calls[0] = '\0';
	perf_enable(0, true, true);
	check(strcmp(calls, "") == 0, "the kernel enables the events of a task at its exec");
	perf_enable(1, true, true);
	check(strcmp(calls, "e3") == 0,
	      "the kernel does not enable the events of other sets at the exec");
	check(perf_countable(), "after perf_open(), events are open");
	perf_close();
	check(nrows.counts == 0 && !perf_countable(), "after perf_close(), no event is open");
}

/* --- places ----------------------------------------------------------------------------------- */

static char folder[90];

static void sys_put(const char *path, const char *text)
{
	i32 fd = openat(roots.sys, path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		note("%s: no file", path);
	close(fd);
}

/* A machine with four CPUs in two packages. CPU 3 is offline. */
static void make_machine(void)
{
	static const char *const folders[] = { "devices", "devices/system", "devices/system/cpu" };
	char path[100];

	roots.sys = mkdtemp(temporary_name(folder, sizeof(folder), "t_perfevent")) ? open(folder, O_RDONLY | O_DIRECTORY) : -1;
	for (size_t i = 0; i < LEN(folders); i++)
		mkdirat(roots.sys, folders[i], 0700);
	sys_put("devices/system/cpu/online", "0-2\n");
	for (int i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "devices/system/cpu/cpu%d", i);
		mkdirat(roots.sys, path, 0700);
		strcat(path, "/topology");
		mkdirat(roots.sys, path, 0700);
		strcat(path, "/physical_package_id");
		sys_put(path, i < 2 ? "0\n" : "1\n");
		strcpy(strrchr(path, '/'), "/core_id");
		sys_put(path, i < 2 ? "5\n" : "6\n");
		strcpy(strrchr(path, '/'), "/cluster_id");
		sys_put(path, i == 1 ? "32\n" : "16\n");
		snprintf(path, sizeof(path), "devices/system/cpu/cpu%d/node%d", i, i < 2 ? 0 : 7);
		mkdirat(roots.sys, path, 0700);
		strcpy(strrchr(path, '/'), "/cache");
		mkdirat(roots.sys, path, 0700);
		/* two caches of level 1: one of CPU 0, which CPU 1 shares, and another one */
		for (int k = 0; k < 3; k++) {
			snprintf(path, sizeof(path), "devices/system/cpu/cpu%d/cache/index%d", i, k);
			mkdirat(roots.sys, path, 0700);
			strcat(path, "/level");
			sys_put(path, k == 2 ? "2\n" : "1\n");
			strcpy(strrchr(path, '/'), "/shared_cpu_list");
			sys_put(path, k == 2 && i < 2 ? "0-1\n" : i == 0 ? "0\n" : i == 1 ? "1\n" : "2-3\n");
		}
	}
}

static void remove_machine(void)
{
	char command[100];

	snprintf(command, sizeof(command), "rm -r %s", folder);
	if (system(command))
		note("%s is left", folder);
}

static u8 level; /* of SPLIT_CACHE */

/* Opens one event for all CPUs and returns the number of sites. */
static u32 sites_of(u8 split, bool per_pkg)
{
	const struct target t = { .all = true, .split = split, .level = level };

	reset(NULL);
	event(PERF_TYPE_RAW, 1)->per_pkg = per_pkg;
	perf_open(&t);
	return nrows.sites;
}

/* An event that exists only on other CPUs is opened on the CPUs that were not chosen. */
static void test_elsewhere(void)
{
	struct target t = { .all = true, .has_cpus = true, .cpus = { .w = { 1 << 0 } }, .sampling = true, .period = 1 };
	u32 cpus = 0;

	reset(NULL);
	event(PERF_TYPE_SOFTWARE, 9)->elsewhere = true;
	perf_open(&t);
	for (int i = 0; i < nopened; i++)
		cpus |= 1u << opened[i].cpu;
	check(nopened > 0 && cpus && !(cpus & 1),
	      "events only on CPUs that were not chosen (%x)", cpus);
	check(opened[0].a.comm && opened[0].a.mmap2 && opened[0].a.task && !opened[0].a.build_id && !perf_opened.build_ids,
	      "an event on CPUs that were not chosen records names and maps");
	t.build_ids = true;
	reset(NULL);
	event(PERF_TYPE_SOFTWARE, 9);
	perf_open(&t);
	check(opened[0].a.build_id && perf_opened.build_ids,
	      "an event on CPUs that were not chosen has maps with build IDs");
	perf_opened.build_ids = false;
}

static void test_places(void)
{
	struct target t = { .all = true, .has_cpus = true, .cpus = { .w = { 1 << 1 | 1 << 3 } } };

	check(sites_of(SPLIT_NONE, false) == 1 && nrows.counts == 3 && nrows.evrows == 1 &&
		      opened[2].cpu == 2 && sites[0].cpu == -1,
	      "an event is opened on each online CPU, and has one sum");
	check(sites_of(SPLIT_CPU, false) == 3 && sites[2].cpu == 2 && nrows.evrows == 3,
	      "one row for each CPU");
	check(sites_of(SPLIT_CORE, false) == 2 && sites[1].core == 6 && sites[1].socket == 1 &&
		      sites[1].die == 0,
	      "one row for each core");
	check(sites_of(SPLIT_SOCKET, false) == 2 && sites[1].socket == 1 && sites[1].core == -1 &&
		      counts[2].site == 0,
	      "one row for each socket");
	check(sites_of(SPLIT_DIE, false) == 2 && sites[1].socket == 1 && sites[1].die == 0 &&
		      sites[1].core == -1,
	      "one row for each die; a die without a number is 0");
	check(sites_of(SPLIT_CLUSTER, false) == 3 && sites[1].cluster == 32 && sites[1].die == 0 &&
		      sites[2].cluster == 16 && sites[2].socket == 1,
	      "one row for each cluster of a package");
	check(sites_of(SPLIT_CACHE, false) == 2 && sites[0].level == 2 && sites[0].cache == 0 &&
		      sites[1].cache == 2 && sites[1].socket == 1,
	      "one row for each cache of the last level");
	level = 1;
	check(sites_of(SPLIT_CACHE, false) == 3 && sites[1].level == 1 && sites[1].cache == 1,
	      "one row for each cache of level 1");
	level = 4;
	check(sites_of(SPLIT_CACHE, false) == 2 && sites[0].level == -1 && sites[0].cache == -1,
	      "by a cache level that no CPU has: one row for each die, without a cache");
	level = 0;
	check(sites_of(SPLIT_NODE, false) == 2 && sites[0].node == 0 && sites[1].node == 7 &&
		      sites[1].socket == -1,
	      "one row for each node");
	check(sites_of(SPLIT_NONE, true) == 1 && nrows.counts == 2 && opened[1].cpu == 2,
	      "an event of packages is opened once per package");
	check(sites_of(SPLIT_CPU, true) == 3,
	      "with a row for each CPU, an event of packages is opened on each CPU");
	for (u8 split = SPLIT_SOCKET; split <= SPLIT_NODE; split++)
		check(sites_of(split, true) == 2 && nrows.counts == 2,
		      "with rows of several CPUs, an event of packages is opened once, because its "
		      "counts are added");
	reset(no_leader_kernel);
	event(PERF_TYPE_RAW, 1);
	perf_open(&t);
	check(nrows.counts == 2 && counts[1].state == CS_NO_SLOT && counts[2].cpu == 3 &&
		      counts[2].state == CS_OFFLINE,
	      "a chosen CPU that is offline is reported");
	t.cpus.w[0] |= 1;
	sys_put("devices/system/cpu/online", "1-2\n");
	reset(no_leader_kernel);
	event(PERF_TYPE_RAW, 1);
	perf_open(&t);
	check(counts[1].cpu == 0 && counts[1].state == CS_OFFLINE,
	      "CPU 0 is offline, and is not opened");
	t.cpus.w[0] &= ~UINT64_C(1);
	sys_put("devices/system/cpu/online", "0-2\n");
	reset(NULL);
	event(PERF_TYPE_RAW, 1)->pmu = nrows.pmus + 1;
	pmus[nrows.pmus + 1] = (struct pmu){ .has_cpus = true, .cpus = { .w = { 1 } } };
	perf_open(&t);
	check(nrows.counts == 1 && counts[1].state == CS_ELSEWHERE && counts[1].fd < 0,
	      "an event of a PMU without any of the chosen CPUs is not opened");
	check(!cpu_has(&t.cpus, 0) && cpu_has(&t.cpus, 3) && !cpu_has(&t.cpus, MAX_CPUS),
	      "sets of CPUs: union and intersection");
	t = (struct target){ .tasks = &task, .ntasks = 1, .split = SPLIT_THREAD };
	reset(NULL);
	event(PERF_TYPE_RAW, 1);
	perf_open(&t);
	check(sites[0].tid == 77 && sites[0].pid == 77 && counts[1].pid == 77,
	      "one row for each thread");
}

/* All counts of a CPU, also of CPU 0, share the ring of the first one; each task has a separate
 * ring. */
static void test_shared_ring(void)
{
	struct count *c = counts + 1;

	reset(NULL);
	event(PERF_TYPE_SOFTWARE, 0);
	event(PERF_TYPE_SOFTWARE, 1);
	perf_open(&of_task);
	c[0] = (struct count){ .fd = FIRST_FD, .cpu = 0, .pid = 5, .ring = true };
	c[1] = (struct count){ .fd = FIRST_FD + 1, .cpu = 0, .pid = 6 };
	check(ring_assign(c + 1, 1) == 42 && !c[1].ring, "counts of CPU 0 share a ring");
	c[0].cpu = c[1].cpu = -1;
	check(ring_assign(c + 1, 1) != 42, "counts of two tasks have separate rings");
	nrows.counts = 0;
}

/* --- the machine's own kernel ----------------------------------------------------------------- */

static void test_real(void)
{
	static const char *const names[] = { "page faults", "context switches", "task clock" };
	struct member self = { (u32)getpid(), (u32)getpid() };
	const struct target t = { .tasks = &self, .ntasks = 1 };
	size_t n = 64 * (size_t)sysconf(_SC_PAGESIZE);
	i64 until;
	char *p;

	real = true;
	reset(NULL);
	event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES);
	event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
	perf_open(&t);
	if (counts[1].fd < 0 || counts[2].fd < 0) {
		for (size_t i = 0; i < LEN(names) + 1; i++)
			check(true, "%s # SKIP perf_event_open: %s", i ? names[i - 1] :
			      "an event of this machine counts",
			      state_text(counts[counts[1].fd < 0 ? 1 : 2].state));
		return;
	}
	perf_read(1);
	check(counts[1].now.value == 0 && counts[1].now.enabled == 0 && counts[1].now.running == 0,
	      "an event of this machine counts nothing before it is enabled");
	perf_enable(0, true, false);
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; p != MAP_FAILED && i < n; i += n / 64)
		p[i] = 1;
	usleep(1000);
	until = sys_now(CLOCK_THREAD_CPUTIME_ID) + 2000000;
	while (sys_now(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	perf_enable(0, false, false);
	perf_read(2);
	check(counts[1].now.value >= 1 && counts[1].now.value < 100000,
	      "events of this machine: %s are counted", names[0]);
	check(counts[2].now.value >= 1 && counts[2].now.value < 100000,
	      "events of this machine: %s are counted", names[1]);
	check(counts[3].now.value >= 2000000 && counts[3].now.enabled >= counts[3].now.value / 2 &&
	      counts[3].now.running == counts[3].now.enabled,
	      "events of this machine: %s is counted", names[2]);
	perf_close();
}

/* Returns how many rows of the table with this name were left out since the last call. */
static u32 left_out(const char *name)
{
	const struct table *t;
	u32 n, sum = 0;

	while ((t = table_full(&n)))
		sum += strcmp(t->name, name) == 0 ? n : 0;
	return sum;
}

/* Fills each table and adds one row: those before the limit are right, the others are counted. */
static void test_full(void)
{
	static struct member two[] = { { 1000001, 1000001 }, { 1000002, 1000002 } };
	struct target t = { .tasks = two, .ntasks = 2, .split = SPLIT_THREAD };
	const struct scope at = { .cpu = -1, .task = 1 };
	u32 dropped = registry.dropped;
	struct count *c;

	reset(NULL);
	left_out("");
	event(PERF_TYPE_SOFTWARE, 1);
	table_all(&sites_table);
	for (u32 i = 0; i + 1 < MAX_SITES; i++)
		sites[i] = (struct site){ SITE_ALL, .pid = i + 1, .tid = i + 1 };
	nrows.sites = MAX_SITES - 1;
	check(site_get(&t, -1, 1, 0) == MAX_SITES - 1 && sites[MAX_SITES - 1].tid == 1000001 && site_get(&t, -1, 1, 0) == MAX_SITES - 1,
	      "full table of sites: the last one is found");
	check(site_get(&t, -1, 2, 0) == MAX_SITES && !count_new(1, &t, &(struct scope){ .cpu = -1, .task = 2 }) &&
	      registry.dropped == dropped + 1 && left_out("CPUs or tasks") == 2, "full table of sites: a count of one more is counted as dropped");
	table_all(&counts_table);
	nrows.counts = MAX_COUNTS - 2;
	c = count_new(1, &t, &at);
	check(c == &counts[MAX_COUNTS - 1] && c->site == MAX_SITES - 1, "full table of counts: the last one is right");
	check(!count_new(1, &t, &at) && registry.dropped == dropped + 2 && left_out("events on CPUs or tasks") == 1,
	      "full table of counts: one more is counted");
	nrows.counts = 0;
	c = count_new(1, &t, &at);
	for (u32 i = 2; i <= 3; i++) {
		event(PERF_TYPE_SOFTWARE, i);
		count_new(i, &t, &at);
	}
	rows_make(false);
	check(counts[1].row == MAX_SITES && evrows[MAX_SITES].site == MAX_SITES - 1 && counts[2].row == 0 && counts[3].row == 0 &&
	      registry.dropped == dropped + 4 && left_out("rows of events") == 2, "full table of rows: each count without a row is counted");
	memset(evrows, 0, evrows_table.ready * sizeof(*evrows));
	nrows.counts = nrows.evrows = nrows.sites = 0;
}

int main(void)
{
	make_machine();
	test_states();
	test_trials();
	test_hardened();
	test_attributes();
	test_attr_members();
	test_sampling();
	test_fallbacks();
	test_groups();
	test_reading();
	test_switching();
	test_places();
	test_elsewhere();
	test_shared_ring();
	test_full();
	test_real();
	remove_machine();
	return unit_end();
}
