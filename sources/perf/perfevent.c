/* perfevent.c - perf events: opens events[] for a target with gp_open(), reads their counts, and
 * enables and disables them.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "gpustat/perf.h"
#include "sys.h"

/* value of PERF_COUNT_SW_CGROUP_SWITCHES, which linux/perf_event.h defines only since Linux 5.13 */
enum { SW_CGROUP_SWITCHES = 11 };

struct perf_opened perf_opened;

bool cpu_has(const struct cpuset *s, u32 cpu)
{
	return cpu < MAX_CPUS && s->w[cpu / 64] >> cpu % 64 & 1;
}

/* --- sites ------------------------------------------------------------------------------------ */

/* Returns the first number in a file below the /sys folder of a CPU; -1 if there is none. */
static i32 cpu_number(u32 cpu, const char *folder, const char *file)
{
	char path[96], text[1024];
	struct buf b = BUF_Z(path);
	struct str line;
	u64 v;

	put_z(&b, "devices/system/cpu/cpu");
	put_u64(&b, cpu);
	put_z(&b, folder);
	put_z(&b, file);
	return slurp_line(roots.sys, buf_z(&b), text, sizeof(text), &line) &&
	       scan_u64(line, &v) && v <= INT32_MAX ? (i32)v : -1;
}

static i32 cpu_topology(u32 cpu, const char *what)
{
	return cpu_number(cpu, "/topology/", what);
}

/* Returns the NUMA node N of a CPU, whose /sys folder has a link nodeN; -1 if unknown. */
static i32 cpu_node(u32 cpu)
{
	char path[48];
	struct buf b = BUF_Z(path);
	const char *name;
	struct dir d;
	i32 node = -1;
	u64 v;

	put_z(&b, "devices/system/cpu/cpu");
	put_u64(&b, cpu);
	dir_open(&d, roots.sys, buf_z(&b));
	while (d.fd >= 0 && (name = dir_next(&d))) {
		struct str rest = str_z(name);

		if (str_skip_z(&rest, "node") && scan_u64(rest, &v) == rest.e && v <= INT32_MAX)
			node = (i32)v;
	}
	if (d.fd >= 0)
		dir_close(&d);
	return node;
}

/* Stores the level and the number of a CPU's cache in *p. wanted: the level; 0: the highest level.
 * The number of a cache is the first CPU that shares it, as in perf, because not every kernel has
 * the file `id`. */
static void cpu_cache(struct site *p, u32 cpu, u8 wanted)
{
	i32 level;

	for (u32 i = 0; i < 10; i++) {
		char folder[] = "/cache/index0/";

		folder[sizeof("/cache/index") - 1] = (char)('0' + i);
		level = cpu_number(cpu, folder, "level");
		if (level < 0)
			return;
		if (wanted ? level != wanted : level < p->level)
			continue;
		p->level = level;
		p->cache = cpu_number(cpu, folder, "shared_cpu_list");
	}
}

static i32 cpu_package(u32 cpu)
{
	/* for each CPU: number of its package (socket) + 2; 1: unknown; 0: not read yet */
	static TABLE(i16, known, MAX_CPUS, 2048, "packages of CPUs");

	if (!table_has(&known.t, cpu))
		return -1;
	if (!known.rows[cpu])
		known.rows[cpu] = (i16)(cpu_topology(cpu, "physical_package_id") + 2);
	return known.rows[cpu] - 2;
}

/* Numbers of a CPU's topology that identify a site (the CPUs of one result row). site_parts[] lists
 * them for each value of enum split. */
enum { BY_CPU = 1, BY_SOCKET = 2, BY_DIE = 4, BY_CORE = 8, BY_CLUSTER = 16, BY_CACHE = 32,
       BY_NODE = 64 };
static const u8 site_parts[] = {
	[SPLIT_CPU] = BY_CPU, [SPLIT_SOCKET] = BY_SOCKET, [SPLIT_DIE] = BY_SOCKET | BY_DIE,
	[SPLIT_CORE] = BY_SOCKET | BY_DIE | BY_CORE,
	[SPLIT_CLUSTER] = BY_SOCKET | BY_DIE | BY_CLUSTER,
	[SPLIT_CACHE] = BY_SOCKET | BY_DIE | BY_CACHE, [SPLIT_NODE] = BY_NODE,
};

/* Returns the number in a CPU's topology file `what`; 0, as in perf, if the kernel has no such
 * file: die_id exists since Linux 5.3, cluster_id since Linux 5.16. */
static i32 topology_or_0(u32 cpu, const char *what)
{
	i32 n = cpu_topology(cpu, what);

	return n < 0 ? 0 : n;
}

static void site_of_cpu(struct site *p, const struct target *t, u32 cpu)
{
	u8 parts = site_parts[t->split];

	p->cpu = parts & BY_CPU ? (i32)cpu : -1;
	p->socket = parts & BY_SOCKET ? cpu_package(cpu) : -1;
	p->die = parts & BY_DIE ? topology_or_0(cpu, "die_id") : -1;
	p->core = parts & BY_CORE ? cpu_topology(cpu, "core_id") : -1;
	p->cluster = parts & BY_CLUSTER ? topology_or_0(cpu, "cluster_id") : -1;
	p->node = parts & BY_NODE ? cpu_node(cpu) : -1;
	if (parts & BY_CACHE)
		cpu_cache(p, cpu, t->level);
}

/* Returns the index in sites[] of the site (the CPU, group of CPUs, task or cgroup of a result row)
 * to which a count belongs; adds the site if it is new. cpu: CPU of the count, or -1; task: index +
 * 1 in t->tasks, 0: none; cgroup: number of the string with the cgroup's name. Returns MAX_SITES if
 * the table is full. */
static u32 site_get(const struct target *t, i32 cpu, u32 task, u32 cgroup)
{
	struct site p = { SITE_ALL, .cgroup = cgroup };
	u32 i;

	if (t->split == SPLIT_THREAD && task) {
		p.tid = t->tasks[task - 1].tid;
		p.pid = t->tasks[task - 1].leader;
	} else if (cpu >= 0) {
		site_of_cpu(&p, t, (u32)cpu);
	}
	for (i = 0; i < nrows.sites; i++)
		if (memcmp(&sites[i], &p, offsetof(struct site, pid)) == 0 &&
		    sites[i].tid == p.tid && sites[i].cgroup == p.cgroup)
			return i;
	if (!table_has(&sites_table, i))
		return MAX_SITES;
	p.comm = p.tid ? task_comm(p.tid) : NONE;
	sites[nrows.sites++] = p;
	return i;
}

static bool is_denied(long r)
{
	return r == -EACCES || r == -EPERM;
}

/* --- attributes ------------------------------------------------------------------------------- */

static const char *text_path(u32 text)
{
	static char path[4096];

	path[text_copy(text, path, sizeof(path) - 1)] = '\0';
	return path;
}

static struct perf_event_attr *gp_attr(struct gp_event *e)
{
	return (struct perf_event_attr *)(void *)e->attr;
}

static bool is_wide(const struct event *ev)
{
	return ev->pmu && pmus[ev->pmu].wide;
}

/* True if the event writes samples. With EM_READ (modifier S) each sample of a group leader
 * contains the counts of the whole group, and the members of the group only count. */
static bool is_sampled(const struct event *ev, bool leader)
{
	return leader || !(ev->mods & EM_READ);
}

/* True if PERF_SAMPLE_PERIOD can be requested for the event. With this flag, software events ignore
 * their sampling period: they write a sample at each increment, with the increment as the period
 * (perf_swevent_event()), and clock events report their first period for ever. */
static bool has_sample_period(const struct event *ev)
{
	return ev->type != PERF_TYPE_SOFTWARE && ev->type != PERF_TYPE_TRACEPOINT &&
	       ev->type != PERF_TYPE_BREAKPOINT &&
	       !ev->path;
}

/* Sets the fields of perf_event_attr that sampling needs. tracks: the kernel shall also write
 * records of memory maps and task names to the event's ring. */
static void attr_sampling(struct perf_event_attr *a, const struct event *ev, const struct target *t,
			  bool leader, bool tracks)
{
	if (is_sampled(ev, leader)) {
		a->freq = ev->period ? ev->freq : t->freq != 0;
		a->sample_period = ev->period ? ev->period : t->freq ? t->freq : t->period;
	}
	a->sample_type = t->fields;
	if (t->raw && ev->type == PERF_TYPE_TRACEPOINT)
		a->sample_type |= PERF_SAMPLE_RAW;
	if (nrows.events > 1)
		a->sample_type |= PERF_SAMPLE_IDENTIFIER;
	if (a->freq || (t->period_varies && !ev->period && has_sample_period(ev)))
		a->sample_type |= PERF_SAMPLE_PERIOD;
	if (t->callchain)
		a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (ev->mods & EM_READ)
		a->sample_type |= PERF_SAMPLE_READ;
	/* as in `perf record`, samples need no time_enabled and time_running: clear these flags */
	a->read_format &= PERF_FORMAT_GROUP;
	a->read_format |= PERF_FORMAT_ID | PERF_FORMAT_LOST;
	a->sample_id_all = 1;
	/* sample times are on CLOCK_MONOTONIC, to be comparable with sys_now() */
	a->use_clockid = 1;
	a->clockid = CLOCK_MONOTONIC;
	if (tracks)
		a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = a->ksymbol = 1;
	a->build_id = tracks && t->build_ids;
	a->watermark = t->watermark;
	/* also sets wakeup_watermark, which is in a union with wakeup_events */
	a->wakeup_events = t->wakeup;
}

static void attr_make(struct gp_event *e, const struct event *ev, const struct target *t,
		      bool leader, bool grouped, bool tracks)
{
	struct perf_event_attr *a;

	event_attr(ev, leader, e);
	a = gp_attr(e);
	if (grouped && (!t->sampling || ev->mods & EM_READ))
		a->read_format |= PERF_FORMAT_GROUP;
	if (ev->path) {
		const char *path = text_path(ev->path);

		a->config1 = (u64)(uintptr_t)path;
	}
	if (is_wide(ev))
		return;
	if (t->user_only)
		a->exclude_kernel = a->exclude_hv = 1;
	if (t->kernel_only)
		a->exclude_user = a->exclude_hv = 1;
	a->enable_on_exec = leader && t->on_exec && ev->set == 0;
	/* Probes with a path are not inherited: fork(2) would read the path again, from the memory
	 * of the task that forks, which fails in any task but this process. */
	a->inherit = t->ntasks && !t->no_inherit && !ev->no_inherit && !t->limit && !ev->path;
	if (ev->trigger) {
		a->sample_period = ev->trigger;
		a->wakeup_events = 1;
		a->inherit = 0; /* PERF_EVENT_IOC_REFRESH refuses inherited events */
	}
	if (t->sampling)
		attr_sampling(a, ev, t, leader, tracks);
}

/* Kinds of events for which an error of perf_event_open(2) has a special meaning; KIND_ANY: all
 * other events. */
enum { KIND_ANY, KIND_UPROBE, KIND_KPROBE, KIND_HARDENED, KIND_SOFTWARE, KIND_BREAKPOINT,
       KIND_TRACEFS, KIND_OTHERS };

/* Each row has the state (enum cstate) to report for an error of perf_event_open(2); the first row
 * that fits is used. uprobes: since Linux 6.17 perf_uprobe_event_init() requires CAP_SYS_ADMIN,
 * before 6.17 CAP_PERFMON. kprobes require CAP_PERFMON, whatever perf_event_paranoid is; EPERM is
 * from __register_trace_kprobe() in a kernel that is locked down; EADDRNOTAVAIL: several functions
 * have this name (since Linux 6.6); EINVAL: the function cannot be probed. KIND_HARDENED: a
 * perf_event_paranoid of 3 or more. KIND_TRACEFS: only root may open the folder of tracefs, so that
 * the number of a tracepoint cannot be read. */
static const struct {
	u8 kind, err, state;
} errors[] = {
	{ KIND_UPROBE, ENOENT, CS_NO_FILE },
	{ KIND_UPROBE, EACCES, CS_UPROBE }, { KIND_UPROBE, EPERM, CS_UPROBE },
	{ KIND_KPROBE, ENOENT, CS_NO_FUNCTION }, { KIND_KPROBE, EADDRNOTAVAIL, CS_NO_FUNCTION },
	{ KIND_KPROBE, EINVAL, CS_NO_FUNCTION },
	{ KIND_KPROBE, EACCES, CS_KPROBE },
	{ KIND_KPROBE, EPERM, CS_LOCKDOWN }, { KIND_HARDENED, EACCES, CS_HARDENED },
	{ KIND_SOFTWARE, ENOENT, CS_NO_SOFTWARE },
	{ KIND_BREAKPOINT, EINVAL, CS_BREAKPOINT }, { KIND_BREAKPOINT, EOPNOTSUPP, CS_BREAKPOINT },
	{ KIND_BREAKPOINT, ENOENT, CS_BREAKPOINT },
	{ KIND_TRACEFS, EACCES, CS_TRACEFS },
	{ KIND_OTHERS, EACCES, CS_OTHERS }, { KIND_OTHERS, EPERM, CS_OTHERS },
	{ KIND_ANY, EACCES, CS_DENIED }, { KIND_ANY, EPERM, CS_DENIED },
	{ KIND_ANY, ESRCH, CS_GONE }, { KIND_ANY, ENODEV, CS_OFFLINE },
	{ KIND_ANY, ENOSPC, CS_NO_SLOT },
	{ KIND_ANY, EMFILE, CS_NO_FILES }, { KIND_ANY, ENFILE, CS_NO_FILES },
	{ KIND_ANY, EINVAL, CS_REFUSED }, { KIND_ANY, E2BIG, CS_REFUSED },
	{ KIND_ANY, ENOMEM, CS_NO_MEMORY }, { KIND_ANY, ENOSYS, CS_NO_PERF },
};

/* True if the user may not trace a task: then the user may not count it either, whatever the value
 * of perf_event_paranoid (perf_check_permission() in the kernel's kernel/events/core.c). */
static bool is_of_others(u32 tid)
{
	char path[TASK_PATH], b[8];

	task_path(path, tid, "/cwd");
	return is_denied(sys_readlinkat(roots.proc, path, b, sizeof(b)));
}

/* Returns the kind of event (KIND_*) to be searched for in errors[]. tid: the counted task; 0:
 * none. */
static u8 event_kind(long err, const struct event *ev, u32 tid)
{
	return ev->denied ? KIND_TRACEFS :
	       ev->path && !ev->kernel ? KIND_UPROBE :
	       err == -EACCES && perf_hardened() ? KIND_HARDENED :
	       ev->path ? KIND_KPROBE :
	       tid && is_of_others(tid) ? KIND_OTHERS :
	       ev->type == PERF_TYPE_SOFTWARE ? KIND_SOFTWARE :
	       ev->type == PERF_TYPE_BREAKPOINT ? KIND_BREAKPOINT : KIND_ANY;
}

static u8 state_from_error(long err, const struct event *ev, u32 tid)
{
	u8 kind = event_kind(err, ev, tid);

	for (size_t i = 0; i < LEN(errors); i++)
		if (-err == errors[i].err && (errors[i].kind == kind || errors[i].kind == KIND_ANY))
			return errors[i].state;
	return CS_UNSUPPORTED;
}

/* The sampling events: sampled[i] belongs to events[i]. sampled[NONE] has the record format that
 * all events have in common. */
struct sampled {
	union evattr attr; /* the perf_event_attr with which the kernel opened the event */
	struct pformat format;
};

/* All state of this file except the events and counts, which are in counters.c. */
static struct {
	struct sampled *sampled;
	struct cpuset online;
	bool raised;      /* true: the limit of open files was raised */
	/* time (ns) at which virtual_sample() was called for the current reading of all counts; 0:
	 * not called yet */
	i64 virtual_time;
} perf;
static struct table perf_table = TABLE_ROW(perf.sampled, MAX_EVENTS, 16, "sampled events");

/* --- opening ---------------------------------------------------------------------------------- */

/* The CPU, task and cgroup for which a count is opened. */
struct scope {
	i32 cpu;
	u32 task;      /* index + 1 in the target's array of tasks; 0: all tasks */
	u32 cgroup;    /* number of the string with the cgroup's name, see text_put() */
	i32 cgroup_fd; /* descriptor of the cgroup's folder; -1: none */
};

/* True if an event that is already open on this CPU and task writes the records of memory maps and
 * task names to its ring: one such event per ring is enough. */
static bool is_tracked(const struct target *t, const struct scope *at)
{
	u32 pid = at->task ? t->tasks[at->task - 1].tid : 0;

	for (u32 i = nrows.counts; i > 0; i--)
		if (counts[i].tracks && counts[i].fd >= 0 && counts[i].cpu == at->cpu &&
		    counts[i].pid == pid)
			return true;
	return false;
}

/* True if only kernel code triggers the event, so that its count would always be 0 with
 * exclude_kernel. */
static bool is_kernel_only(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_TRACEPOINT ||
	       (a->type == PERF_TYPE_SOFTWARE &&
		(a->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
		 a->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		 a->config == SW_CGROUP_SWITCHES));
}

/* Prepares another attempt after perf_event_open(2) failed with `err`: raises the limit of open
 * files (once), excludes child tasks (inherit), or excludes kernel code from an event that counts a
 * task. False if nothing is left to try. */
static bool attr_reduce(struct perf_event_attr *a, bool task, long err)
{
	if (err == -EMFILE && !perf.raised) {
		perf.raised = true;
		files_raise();
		return true;
	}
	if (err == -EINVAL && a->inherit && a->sample_type & PERF_SAMPLE_READ) {
		/* Linux 4.13 to 6.11 refuse inherit with PERF_SAMPLE_READ (perf_event_alloc()) */
		a->inherit = 0;
		return true;
	}
	if (!is_denied(err) || !task || a->exclude_kernel || a->exclude_user ||
	    is_kernel_only(a))
		return false;
	/* every user may count the user space of the user's own tasks */
	a->exclude_kernel = a->exclude_hv = 1;
	return true;
}

/* Opens one event. Returns its descriptor, or -errno; if any attempt failed for lack of rights,
 * returns that error and not the error of a later attempt. leader: the group leader's descriptor,
 * or -1; grouped: the event is read together with its group. */
static long open_one(const struct event *ev, const struct target *t, const struct scope *at,
		     i32 leader, bool grouped)
{
	bool cgroup = at->cgroup_fd >= 0, all;
	int pid = cgroup ? at->cgroup_fd : at->task ? (int)t->tasks[at->task - 1].tid : -1;
	struct gp_event e;
	struct perf_event_attr *a;
	long fd, denied = 0;

	if (ev->denied)
		return -EACCES;
	attr_make(&e, ev, t, leader < 0, grouped, t->sampling && !is_tracked(t, at));
	a = gp_attr(&e);
	e.cgroup = cgroup;
	all = !a->exclude_kernel;
	while ((fd = gp_open(&e, pid, at->cpu, leader)) < 0) {
		denied = is_denied(fd) ? fd : denied;
		if (!attr_reduce(a, at->task != 0, fd))
			return denied ? denied : fd;
	}
	perf_opened.user_only |= all && a->exclude_kernel;
	perf_opened.build_ids |= a->build_id;
	if (t->sampling) {
		union evattr *kept = &perf.sampled[ev - events].attr;

		memcpy(kept, e.attr, sizeof(*kept));
		/* size of perf_event_attr that all programs that read perf.data know */
		kept->a.size = PERF_ATTR_SIZE_VER7;
	}
	return fd;
}

static struct count *count_new(u32 ev, const struct target *t, const struct scope *at)
{
	struct count *c;
	u32 site = site_get(t, at->cpu, at->task, at->cgroup);

	if (site == MAX_SITES || !table_has(&counts_table, nrows.counts + 1) ||
	    (t->sampling && !table_has(&perf_table, ev))) {
		registry.dropped++;
		return NULL;
	}
	c = &counts[++nrows.counts];
	*c = (struct count){ .event = ev, .site = site, .fd = -1, .cpu = at->cpu,
			     .leader = nrows.counts,
			     .pid = at->task ? t->tasks[at->task - 1].tid : 0 };
	return c;
}

/* Sets the filter of a tracepoint, if the event has one. fd: the event's descriptor, or an -errno,
 * which is returned. Returns fd; closes it and returns -errno if the kernel refuses the filter. */
static long filter_set(long fd, const struct event *ev)
{
	long r = fd >= 0 && ev->filter ? gp_filter((int)fd, text_path(ev->filter)) : 0;

	if (r < 0)
		sys_close((int)fd);
	return r < 0 ? r : fd;
}

/* Opens events[from] up to, not including, events[to] as one group for one CPU, task or cgroup: a
 * group {a,b} that the user wrote, or software events that are grouped to save reads. Events that
 * cannot be opened get a state and no descriptor. */
static void open_group(u32 from, u32 to, const struct target *t, const struct scope *at)
{
	bool asked = events[from].group != 0, grouped = to - from > 1;
	struct count *leader = NULL, *c;

	for (u32 i = from; i < to && (c = count_new(i, t, at)); i++) {
		bool refused; /* true: the event was opened, but the kernel refused its filter */
		long fd;

		if (asked && !leader && i > from && !(events[i].mods & EM_WEAK)) {
			c->state = CS_NO_LEADER;
			continue;
		}
		fd = open_one(&events[i], t, at, leader ? leader->fd : -1, grouped);
		if (fd == -EINVAL && grouped && !asked && !leader)
			/* before Linux 4.13 inherited groups cannot be read: open the events
			 * without a group */
			fd = open_one(&events[i], t, at, -1, grouped = false);
		if (fd < 0 && leader && (!asked || events[i].mods & EM_WEAK))
			fd = open_one(&events[i], t, at, -1, false);
		else if (fd >= 0 && leader)
			c->leader = leader->leader;
		refused = fd >= 0;
		fd = filter_set(fd, &events[i]);
		refused &= fd < 0;
		c->fd = fd < 0 ? -1 : (i32)fd;
		c->tracks = fd >= 0;
		if (fd >= 0 && events[i].trigger)
			tasks_notify(c->fd);
		c->state = fd >= 0 ? CS_COUNTED :
			   at->cpu >= 0 && !cpu_has(&perf.online, (u32)at->cpu) ? CS_OFFLINE :
			   refused ? CS_FILTER :
			   leader && fd == -EINVAL ? CS_NO_GROUP :
			   state_from_error(fd, &events[i], c->pid);
		if (c->state == CS_NO_FILES)
			files_note_error(fd);
		if (fd >= 0 && grouped && !leader) {
			leader = c;
			c->members = true;
		}
	}
}

/* True if gpustat may group the event with others to save reads: it is a software event or a
 * tracepoint that the user put in no group. */
static bool is_groupable(const struct event *ev)
{
	return (ev->type == PERF_TYPE_SOFTWARE || ev->type == PERF_TYPE_TRACEPOINT) && !ev->pmu &&
	       !ev->virt && !ev->group &&
	       !ev->trigger && !(ev->mods & (EM_PINNED | EM_EXCLUSIVE));
}

/* Returns the index after the last event that is opened in one group with events[from]. The group
 * is one that the user wrote, or consecutive software events, which need no hardware counter and
 * cost one read as a group. */
static u32 group_end(u32 from, const struct target *t)
{
	const struct event *first = &events[from];
	u32 to = from + 1;

	while (to <= nrows.events && to - from < MAX_GROUP && events[to].set == first->set &&
	       (first->group ? events[to].group == first->group :
		!t->sampling && is_groupable(first) && is_groupable(&events[to])))
		to++;
	return to;
}

/* True if the event must be opened on this CPU. packages: the CPU packages on which an event that
 * counts whole packages (per_pkg) is already open; the package of this CPU is added to them. */
static bool cpu_selected(const struct event *ev, const struct target *t, u32 cpu,
			 struct cpuset *packages)
{
	const struct pmu *pmu = &pmus[ev->pmu];
	i32 package;

	if ((t->has_cpus && cpu_has(&t->cpus, cpu) == ev->elsewhere) ||
	    (ev->pmu && pmu->has_cpus && !cpu_has(&pmu->cpus, cpu)))
		return false;
	if (!ev->per_pkg || t->split == SPLIT_CPU || t->split == SPLIT_CORE ||
	    (package = cpu_package(cpu)) < 0)
		return true;
	if (cpu_has(packages, (u32)package))
		return false;
	packages->w[package / 64] |= 1ull << package % 64;
	return true;
}

static void open_cpus(u32 from, u32 to, const struct target *t, struct scope *at)
{
	static struct cpuset packages;
	/* chosen CPUs that are offline are included: the state of their counts reports that the CPU
	 * is offline */
	const struct cpuset *all = t->has_cpus && !events[from].elsewhere ? &t->cpus :
				   &perf.online;

	bool any = false;

	packages = (struct cpuset){ 0 };
	for (u32 cpu = 0; cpu < MAX_CPUS; cpu++)
		if (cpu_has(all, cpu) && cpu_selected(&events[from], t, cpu, &packages)) {
			at->cpu = (i32)cpu;
			open_group(from, to, t, at);
			any = true;
		}
	at->cpu = -1;
	/* none of the chosen CPUs belongs to the PMU: store counts with the state CS_ELSEWHERE */
	for (u32 i = from; i < to && !any; i++) {
		struct count *c = count_new(i, t, at);

		if (c)
			c->state = CS_ELSEWHERE;
	}
}

static void open_events(u32 from, u32 to, const struct target *t, struct scope *at)
{
	const struct event *ev = &events[from];
	struct count *c;

	if (ev->virt) {
		c = count_new(from, t, at);
		if (c) {
			c->state = virtual_state(ev);
			c->virt = c->off = c->state == CS_COUNTED;
		}
	} else if (is_wide(ev) || t->all || at->cgroup_fd >= 0) {
		open_cpus(from, to, t, at);
	} else {
		for (at->task = 1; at->task <= t->ntasks; at->task++)
			/* the kernel maps the ring of an inherited event only if the event counts
			 * on a single CPU */
			if (t->has_cpus || (t->sampling && !t->no_inherit && !t->limit))
				open_cpus(from, to, t, at);
			else
				open_group(from, to, t, at);
		at->task = 0;
	}
}

/* Replaces the text before the slash in an event's name with the name of its PMU: with -A, the
 * instances of a PMU (uncore_imc_0, uncore_imc_1) have separate rows. */
static void name_instance(struct event *ev)
{
	char name[4096];
	struct buf b = BUF(name);
	struct str old = { name, name + text_copy(ev->name, name, sizeof(name)) }, pmu;
	static char terms[4096];

	if (!str_cut(&old, '/', &pmu) || str_len(old) > sizeof(terms))
		return;
	memcpy(terms, old.p, str_len(old));
	old = (struct str){ terms, terms + str_len(old) };
	put_z(&b, pmus[ev->pmu].name);
	put_c(&b, '/');
	put_str(&b, old);
	ev->name = text_put(ev->name, (struct str){ b.p, b.p + b.n });
}

/* Fills evrows[], the result rows, sorted by event, then by site (CPU, task or cgroup), and stores
 * in each count the index of its row. apart: option -A was given, and the counts of one event on
 * several PMUs have separate rows, instead of one row with their sum. */
static void rows_make(bool apart)
{
	u16 n = 0;

	for (u32 i = 1; i <= nrows.events; i++) {
		u32 first = 1;

		while (first < i && (!events[i].row || events[first].row != events[i].row))
			first++;
		if (first < i && (apart || events[i].mods & EM_NOMERGE)) {
			name_instance(&events[first]);
			name_instance(&events[i]);
			first = i;
		}
		events[i].sum = first < i ? events[first].sum : n++;
	}
	for (u32 i = 1; i <= nrows.counts; i++) {
		struct count *c = &counts[i];
		size_t row = 1 + (size_t)events[c->event].sum * nrows.sites + c->site;

		if (!table_has(&evrows_table, row)) {
			registry.dropped++;
			continue;
		}
		c->row = (u32)row;
		nrows.evrows = c->row > nrows.evrows ? c->row : nrows.evrows;
		if (!evrows[row].e.used)
			evrows[row] = (struct evrow){ .e = { .kind = K_EVENT, .used = true },
						      .event = c->event, .site = c->site };
	}
}

/* Opens a cgroup's folder. Returns its descriptor, or -1. The version 1 hierarchy of perf_event is
 * tried first, since a controller that is used in version 1 is not available in version 2. */
static i32 open_cgroup(u32 text)
{
	static const char *const hierarchies[] = { "fs/cgroup/perf_event/", "fs/cgroup/unified/",
						   "fs/cgroup/", "" };
	char path[4096 + 32];

	for (size_t i = 0; i < LEN(hierarchies); i++) {
		struct buf b = buf_on(path, sizeof(path) - 1);
		const char *name = text_path(text);
		long fd;

		put_z(&b, hierarchies[i]);
		if (!hierarchies[i][0] && strncmp(name, "/sys/", 5) != 0)
			continue;
		/* the last hierarchy, "", is for a cgroup whose name is a path that begins with
		 * /sys/ */
		put_z(&b, hierarchies[i][0] ? name + (name[0] == '/') : name + 5);
		path[b.n] = '\0';
		fd = sys_openat(roots.sys, path, O_RDONLY | O_DIRECTORY);
		/* only a cgroup's folder has the file cgroup.procs; the tmpfs /sys/fs/cgroup, above
		 * the hierarchies of cgroup version 1, does not have it */
		if (fd >= 0 && sys_has_file((int)fd, "cgroup.procs"))
			return (i32)fd;
		if (fd >= 0)
			sys_close((int)fd);
	}
	return -1;
}

/* True if all cgroups of t exist; else stores the name of the first one that does not exist in
 * *missing. */
bool perf_cgroups(const struct target *t, const char **missing)
{
	for (u32 i = 0; i < t->ncgroups; i++) {
		i32 fd = open_cgroup(t->cgroups[i]);

		if (fd < 0) {
			*missing = text_path(t->cgroups[i]);
			return false;
		}
		sys_close(fd);
	}
	return true;
}

void perf_open(const struct target *t)
{
	if (!cpus_online(&perf.online))
		perf.online.w[0] = 1;
	virtual_start();
	for (u32 g = 0; g < (t->ncgroups ? t->ncgroups : 1); g++) {
		struct scope at = { .cpu = -1, .cgroup_fd = -1 };

		if (t->ncgroups) {
			at.cgroup = t->cgroups[g];
			at.cgroup_fd = open_cgroup(at.cgroup);
			if (at.cgroup_fd < 0)
				/* the cgroup was removed since the last repetition; open no events
				 * for it, because events without a cgroup would count all tasks */
				continue;
		}
		for (u32 from = 1, to; from <= nrows.events; from = to) {
			to = group_end(from, t);
			open_events(from, to, t, &at);
		}
		if (at.cgroup_fd >= 0)
			sys_close(at.cgroup_fd);
	}
	rows_make(t->split == SPLIT_CPU);
}

void perf_close(void)
{
	for (u32 i = 1; i <= nrows.counts; i++)
		if (counts[i].fd >= 0)
			sys_close(counts[i].fd);
	nrows.counts = 0;
}

/* Returns whether at least one count is open. */
bool perf_countable(void)
{
	for (u32 i = 1; i <= nrows.counts; i++)
		if (counts[i].fd >= 0 || counts[i].virt)
			return true;
	return false;
}

/* --- counting --------------------------------------------------------------------------------- */

static bool is_leader(u32 i)
{
	return counts[i].fd >= 0 && counts[i].leader == i;
}


/* Reads a virtual counter at the time t (ns) into c->now. If the counter is a level (R_LEVEL, such
 * as a temperature), stores its value. Otherwise adds the increase since the last reading; the
 * first reading after the counter was enabled adds nothing. False if the counter has no value
 * now. */
static bool update_virtual(struct count *c, i64 t)
{
	u64 v;

	if (!perf.virtual_time) {
		virtual_sample();
		perf.virtual_time = t;
	}
	if (!virtual_read(&events[c->event], &v)) {
		c->state = CS_UNREADABLE;
		return false;
	}
	c->state = CS_COUNTED;
	if (events[c->event].rule == R_LEVEL) {
		c->now.value = v;
		return true;
	}
	if (!c->live) {
		c->live = true;
		/* no value until the next reading: the count is the difference of two readings */
		c->state = CS_UNREADABLE;
		c->read_at = t;
	} else if (v < c->last) {
		c->state = CS_BACKWARDS;
	} else {
		c->now.value += v - c->last;
	}
	c->last = v;
	return true;
}

static void read_virtual(struct count *c, i64 t)
{
	if (c->off || !update_virtual(c, t))
		return;
	c->now.enabled = c->now.running += (u64)(t - c->read_at);
	c->read_at = t;
}

static void switch_virtual(struct count *c, bool on)
{
	i64 t = sys_now(CLOCK_MONOTONIC);

	if (!on)
		read_virtual(c, t);
	c->off = !on;
	c->live = false;
	if (on && update_virtual(c, t))
		c->state = CS_COUNTED;
	c->read_at = t;
}

/* Enables the trigger event of an event set: an event whose overflow ends the turn of the set. At
 * its next overflow, the kernel disables the trigger event until the event set is enabled again. */
static void enable_trigger(struct count *c)
{
	if (c->armed)
		gp_enable(c->fd);
	else
		gp_refresh(c->fd, 1);
	c->armed = true;
}

/* Enables or disables all counts of an event set. exec: the kernel enables the counts of tasks at
 * exec(2), and this function enables only the other counts. */
void perf_enable(u32 set, bool on, bool exec)
{
	perf.virtual_time = 0;
	for (u32 i = 1; i <= nrows.counts; i++) {
		struct count *c = &counts[i];
		const struct event *ev = &events[c->event];

		if (ev->set != set || (exec && c->pid && set == 0))
			continue;
		c->off = !on && !c->virt;
		if (c->virt)
			switch_virtual(c, on);
		else if (c->fd >= 0 && on && ev->trigger)
			enable_trigger(c);
		else if (is_leader(i) && on)
			gp_enable(c->fd);
		else if (is_leader(i))
			gp_disable(c->fd);
	}
}

/* Returns the count (element of counts[]) of the trigger event with descriptor fd, which has
 * overflowed, and records that the trigger event is no longer enabled. NULL if no trigger event has
 * this descriptor. */
const struct count *perf_fired(i32 fd)
{
	for (u32 i = 1; i <= nrows.counts; i++)
		if (counts[i].fd == fd && events[counts[i].event].trigger) {
			counts[i].armed = false;
			return &counts[i];
		}
	return NULL;
}

/* Returns whether this machine has a CPU whose cycles can be counted. */
bool perf_has_pmu(void)
{
	const struct event cycles = { .type = PERF_TYPE_HARDWARE, .mods = EM_USER };
	struct gp_event e;
	int fd;

	event_attr(&cycles, true, &e);
	fd = gp_open(&e, 0, -1, -1);

	if (fd >= 0)
		sys_close(fd);
	return fd >= 0 || fd == -EACCES || fd == -EPERM;
}

/* True if the CPU is offline now. Reads /sys: to be called only for a count that does not
 * increase. */
static bool is_offline(i32 cpu)
{
	static struct cpuset now;

	return cpus_online(&now) && !cpu_has(&now, (u32)cpu);
}

/* Returns the state of an enabled count whose time_enabled does not increase. The kernel removes
 * the events of a CPU that goes offline, and does not restore them when it is online again; the
 * events of a cgroup stop while none of its tasks runs on the CPU. */
static u8 stalled_state(const struct count *c)
{
	if (is_offline(c->cpu))
		return CS_OFFLINE;
	return c->now.enabled && !sites[c->site].cgroup ? CS_RETURNED : CS_COUNTED;
}

/* Sets the state of all counts of a group after the read of its leader failed. leader: index in
 * counts[]; error: -errno; 0: the leader is pinned and got no hardware counter. */
static void group_fail(u32 leader, int error)
{
	struct count *c = &counts[leader];

	for (u32 i = leader; i <= nrows.counts; i++)
		if (counts[i].leader == leader)
			counts[i].state = !error ? CS_PINNED :
					  state_from_error(error, &events[c->event], c->pid);
	if (!error)
		/* enable the event again, so that it may count in the next interval */
		gp_recover(c->fd);
}

/* Reads the counts of a group leader and its members with one read(2), which returns them in the
 * order in which the events were opened. leader: index in counts[]. */
static void read_group(u32 leader)
{
	struct gp_count now[MAX_GROUP];
	struct count *c = &counts[leader];
	int n = gp_read(c->fd, PF_ENABLED | PF_RUNNING | (c->members ? PF_GROUP : 0u), now,
			MAX_GROUP);
	int at = 0;

	if (n <= 0) {
		group_fail(leader, n);
		return;
	}
	for (u32 i = leader; i <= nrows.counts && at < n; i++) {
		const struct gp_count *v = &now[at];

		if (counts[i].leader != leader || counts[i].fd < 0) {
			if (events[counts[i].event].set != events[c->event].set ||
			    counts[i].cpu != c->cpu)
				break;
			continue;
		}
		at++;
		counts[i].now = (struct tally){ v->value, v->enabled, v->running };
		counts[i].state = CS_COUNTED;
		if (v->enabled == counts[i].was.enabled && !c->off && c->cpu >= 0 && !c->pid)
			counts[i].state = stalled_state(&counts[i]);
	}
}

/* Takes the first reading of events whose count increases by the present value at each read
 * (R_PER_READ: frequencies of xe); later readings are compared with the first one. */
void perf_baseline(void)
{
	for (u32 i = 1; i <= nrows.counts; i++)
		if (!counts[i].virt && events[counts[i].event].rule == R_PER_READ &&
		    is_leader(i)) {
			read_group(i);
			counts[i].was = counts[i].now;
		}
}

void perf_read(i64 t)
{
	perf.virtual_time = 0;
	for (u32 i = 1; i <= nrows.counts; i++)
		if (counts[i].virt)
			read_virtual(&counts[i], t);
		else if (is_leader(i))
			read_group(i);
}

/* --- sampling --------------------------------------------------------------------------------- */

static bool is_sampling(const struct count *c)
{
	return c->fd >= 0 && is_sampled(&events[c->event], counts[c->leader].fd == c->fd);
}

static long id_read(u32 i)
{
	u64 id = 0;
	int r = gp_id(counts[i].fd, &id);

	if (r >= 0)
		count_set_id(i, id);
	return r;
}

/* Makes a sampling event write its samples to the perf ring buffer of its CPU or, if the event
 * counts on all CPUs, of its task. The first event of a CPU or task maps the ring. Returns a
 * negative -errno on failure. */
static long ring_assign(struct count *c, u32 pages)
{
	long r;

	for (u32 i = 1; &counts[i] < c; i++)
		if (counts[i].ring && counts[i].cpu == c->cpu &&
		    (c->cpu >= 0 || counts[i].pid == c->pid))
			return gp_output(c->fd, counts[i].fd);
	r = rings_add(c->fd, pages);
	c->ring = r >= 0;
	return r;
}

static long rings_map(u32 pages)
{
	long r = 0;

	for (u32 i = 1; i <= nrows.counts && r >= 0; i++) {
		struct count *c = &counts[i];
		struct sampled *s = &perf.sampled[c->event];

		c->ring = false;
		if (c->fd < 0)
			continue;
		s->format = perf.sampled[NONE].format =
			(struct pformat){ .sample_type = s->attr.a.sample_type,
					  .read_format = s->attr.a.read_format, .id_all = true,
					  .no_build_ids = !perf_opened.build_ids };
		r = id_read(i);
		if (r >= 0 && is_sampling(c))
			r = ring_assign(c, pages);
	}
	return r < 0 ? r : 0;
}

/* Maps the rings of all counts that sample. pages: the size of each ring, a power of two. If the
 * kernel refuses this size, it is halved for all rings: else the first ring would take all memory
 * that the user may lock (perf_event_mlock_kb). Returns 0 or -errno. */
long perf_rings(u32 pages)
{
	u8 was;
	long r;

	if (!table_has(&perf_table, NONE))
		return -ENOMEM;
	was = privilege_raise(MAY_PERF);
	r = rings_map(pages);
	/* -ENOMEM: there is no memory for the number of pages that `gpustat sample` chose by
	 * default */
	while ((r == -EPERM || (r == -ENOMEM && pages <= 1024)) && pages > 1) {
		rings_close();
		r = rings_map(pages /= 2);
	}
	privilege_lower(was);
	return r;
}

/* Returns the index in events[] of the event that a record is from; NONE if unknown. If there is
 * only one event, its records have no event ID. */
u32 perf_event_of(const struct prec *r)
{
	return r->have & PS_IDENTIFIER ? counts[count_find(r->id)].event : nrows.events == 1;
}

const struct pformat *perf_format(u64 id)
{
	return &perf.sampled[id ? counts[count_find(id)].event : NONE].format;
}

struct str perf_attr(u32 event)
{
	const char *p = (const char *)&perf.sampled[event].attr;

	return (struct str){ p, p + PERF_ATTR_SIZE_VER7 };
}

/* Fills fds with the descriptors that poll(2) reports when a ring reaches its wakeup mark. Returns
 * their number, at most cap. */
size_t perf_pollfds(struct pollfd *fds, size_t cap)
{
	size_t n = 0;

	for (u32 i = 1; i <= nrows.counts && n < cap; i++)
		if (counts[i].ring)
			fds[n++] = (struct pollfd){ .fd = counts[i].fd, .events = POLLIN };
	return n;
}

/* fd: descriptor of an event whose task has ended. Returns the descriptor of another event that
 * writes to the same ring; -1 if there is none. */
i32 perf_ring_mate(i32 fd)
{
	u32 i = 1;

	while (i <= nrows.counts && counts[i].fd != fd)
		i++;
	for (u32 k = i + 1; k <= nrows.counts; k++)
		if (is_sampling(&counts[k]) && counts[k].cpu == counts[i].cpu && counts[k].cpu >= 0)
			return counts[k].fd;
	return -1;
}

/* Sets a new sampling period for all sampling events that have no period of their own. */
void perf_period(u64 period)
{
	for (u32 i = 1; i <= nrows.counts; i++)
		if (is_sampling(&counts[i]) && !events[counts[i].event].period)
			gp_period(counts[i].fd, period);
}

/* Returns the kernel's number of lost samples, which includes losses that no record in a ring
 * reports. */
u64 perf_lost(void)
{
	u64 lost = 0;

	for (u32 i = 1; i <= nrows.counts; i++) {
		struct gp_count now[MAX_GROUP];
		u64 format = perf.sampled[counts[i].event].format.read_format;

		if (is_leader(i) && format & PF_LOST &&
		    gp_read(counts[i].fd, format, now, MAX_GROUP) > 0)
			lost += now[0].lost;
	}
	return lost;
}

/* Limits each sampling event to n samples per CPU or task. Returns the maximum number of samples of
 * all events together. exec: true if the events are enabled later: setting the limit enables them,
 * so they are disabled again, and the kernel keeps the limit. */
u64 perf_limit(u32 n, bool exec)
{
	u64 all = 0;

	for (u32 i = 1; i <= nrows.counts; i++)
		if (is_sampling(&counts[i])) {
			gp_refresh(counts[i].fd, (int)n);
			if (exec)
				gp_disable(counts[i].fd);
			all += events[counts[i].event].elsewhere ? 0 : n;
		}
	return all;
}
