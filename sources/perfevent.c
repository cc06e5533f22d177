/* perfevent.c - opens what events[] says for a target, by perf.c, reads it and switches it.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "gpustat/perf.h"
#include "sys.h"

enum { SW_CGROUP_SWITCHES = 11 }; /* linux/perf_event.h since Linux 5.13 */

bool perf_lowered;

bool cpu_has(const struct cpuset *s, u32 cpu)
{
	return cpu < MAX_CPUS && s->w[cpu / 64] >> cpu % 64 & 1;
}

/* --- sites ------------------------------------------------------------------------------------------ */

static i32 topology(u32 cpu, const char *what)
{
	char path[96], text[24];
	struct buf b = buf_on(path, sizeof(path) - 1);
	struct str line;
	i64 v;

	put_z(&b, "devices/system/cpu/cpu");
	put_u64(&b, cpu);
	put_z(&b, "/topology/");
	put_z(&b, what);
	path[b.n] = '\0';
	return slurp_line(root_sys, path, text, sizeof(text), &line) && scan_i64(line, &v) ? (i32)v : -1;
}

static i32 package_of(u32 cpu)
{
	static i16 *known; /* package + 2; 0: not read yet */
	static TABLE(known, MAX_CPUS, 2048, "packages of CPUs");

	if (!table_has(&known_table, cpu))
		return -1;
	if (!known[cpu])
		known[cpu] = (i16)(topology(cpu, "physical_package_id") + 2);
	return known[cpu] - 2;
}

/* The site of what is counted on this CPU or of this task; MAX_SITES: it has no room. */
static u32 site_of(const struct target *t, i32 cpu, u32 task, u32 cgroup)
{
	struct site p = { .cpu = -1, .core = -1, .die = -1, .socket = -1, .cgroup = cgroup };
	u32 i;

	if (t->split == SPLIT_THREAD && task) {
		p.tid = t->tasks[task - 1].tid;
		p.pid = t->tasks[task - 1].leader;
		p.comm = task_comm(p.tid);
	} else if (t->split == SPLIT_CPU && cpu >= 0) {
		p.cpu = cpu;
	} else if ((t->split == SPLIT_CORE || t->split == SPLIT_SOCKET) && cpu >= 0) {
		p.socket = package_of((u32)cpu);
		if (t->split == SPLIT_CORE) {
			p.core = topology((u32)cpu, "core_id");
			p.die = topology((u32)cpu, "die_id");
			p.die = p.die < 0 ? 0 : p.die; /* before Linux 5.3 */
		}
	}
	for (i = 0; i < nsites; i++)
		if (sites[i].cpu == p.cpu && sites[i].core == p.core && sites[i].die == p.die && sites[i].socket == p.socket &&
		    sites[i].tid == p.tid && sites[i].cgroup == p.cgroup)
			return i;
	if (!table_has(&sites_table, i))
		return MAX_SITES;
	sites[nsites++] = p;
	return i;
}

/* --- attributes -------------------------------------------------------------------------------------- */

static const char *path_text(u32 text)
{
	static char path[4096];

	path[text_copy(text, path, sizeof(path) - 1)] = '\0';
	return path;
}

static struct perf_event_attr *attr_of(struct gp_event *e)
{
	return (struct perf_event_attr *)(void *)e->attr;
}

static bool is_wide(const struct event *ev)
{
	return ev->pmu && pmus[ev->pmu].wide;
}

/* Members of a group that is read with each sample only count. */
static bool is_sampled(const struct event *ev, bool leader)
{
	return leader || !(ev->mods & EM_READ);
}

/* What the kernel counts itself would give a sample for each hit, with their number as the period, once that is asked
 * for (perf_swevent_event()); and the period of its clocks is that of the beginning for ever. */
static bool has_own_period(const struct event *ev)
{
	return ev->type != PERF_TYPE_SOFTWARE && ev->type != PERF_TYPE_TRACEPOINT && ev->type != PERF_TYPE_BREAKPOINT &&
	       !ev->path;
}

static void attr_sampling(struct perf_event_attr *a, const struct event *ev, const struct target *t, bool leader,
			  bool tracks)
{
	if (is_sampled(ev, leader)) {
		a->freq = ev->period ? ev->freq : t->freq != 0;
		a->sample_period = ev->period ? ev->period : t->freq ? t->freq : t->period;
	}
	a->sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
			 PERF_SAMPLE_CPU;
	if (a->freq || has_own_period(ev))
		a->sample_type |= PERF_SAMPLE_PERIOD;
	if (t->callchain)
		a->sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (ev->mods & EM_READ) {
		a->sample_type |= PERF_SAMPLE_READ;
		a->read_format |= PERF_FORMAT_ID;
	}
	a->read_format |= PERF_FORMAT_LOST;
	a->sample_id_all = 1;
	a->use_clockid = 1; /* so that we know what time it is on the samples' clock */
	a->clockid = CLOCK_MONOTONIC;
	if (tracks)
		a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = a->ksymbol = 1;
	a->watermark = t->watermark;
	a->wakeup_events = t->wakeup; /* or wakeup_watermark: a union */
}

static void attr_make(struct gp_event *e, const struct event *ev, const struct target *t, bool leader, bool grouped,
		      bool tracks)
{
	struct perf_event_attr *a;

	event_attr(ev, leader, e);
	a = attr_of(e);
	if (grouped && (!t->sampling || ev->mods & EM_READ))
		a->read_format |= PERF_FORMAT_GROUP;
	if (ev->path) {
		const char *path = path_text(ev->path);

		a->config1 = (u64)(uintptr_t)path;
	}
	if (is_wide(ev))
		return;
	if (t->user_only)
		a->exclude_kernel = a->exclude_hv = 1;
	if (t->kernel_only)
		a->exclude_user = a->exclude_hv = 1;
	a->enable_on_exec = leader && t->on_exec && ev->set == 0;
	/* fork(2) reads an inherited probe's path anew, in the forking task: it fails where that is not us. */
	a->inherit = t->ntasks && !t->no_inherit && !ev->no_inherit && !t->limit && !ev->path;
	if (ev->trigger) {
		a->sample_period = ev->trigger;
		a->wakeup_events = 1;
		a->inherit = 0; /* PERF_EVENT_IOC_REFRESH refuses it */
	}
	if (t->sampling)
		attr_sampling(a, ev, t, leader, tracks);
}

static u8 state_of(long err, const struct event *ev)
{
	if (-err == ENOENT && ev->path)
		return CS_NO_FILE;
	if (-err == ENOENT && ev->type == PERF_TYPE_SOFTWARE)
		return CS_NO_SOFTWARE;
	if ((-err == EINVAL || -err == EOPNOTSUPP || -err == ENOENT) && ev->type == PERF_TYPE_BREAKPOINT)
		return CS_BREAKPOINT;
	switch (-err) {
	case EACCES: case EPERM: return CS_DENIED;
	case ESRCH:  return CS_GONE;
	case ENODEV: return CS_OFFLINE;
	case ENOSPC: return CS_NO_SLOT;
	case EMFILE: case ENFILE: return CS_NO_FILES;
	case EINVAL: case E2BIG: return CS_REFUSED;
	case ENOMEM: return CS_NO_MEMORY;
	case ENOSYS: return CS_NO_PERF;
	default: return CS_UNSUPPORTED;
	}
}

/* Of events that are sampled, which go with events[]. Row NONE: the format that all have in common. */
static struct sampled {
	union evattr attr; /* as the kernel took it */
	struct pformat format;
} *sampled;
static TABLE(sampled, MAX_EVENTS, 16, "sampled events");

static struct cpuset online;

/* --- opening ------------------------------------------------------------------------------------------- */

/* Where one count is to be opened. */
struct spot {
	i32 cpu;
	u32 task;      /* index + 1 into the target's; 0: all */
	u32 cgroup;    /* text */
	i32 cgroup_fd; /* -1: none */
};

/* Whether some event there is told of maps and names already: one is enough. */
static bool is_tracked(const struct target *t, const struct spot *at)
{
	u32 pid = at->task ? t->tasks[at->task - 1].tid : 0;

	for (u32 i = ncounts; i > 0; i--)
		if (counts[i].tracks && counts[i].fd >= 0 && counts[i].cpu == at->cpu && counts[i].pid == pid)
			return true;
	return false;
}

/* Whether the kernel alone makes it happen: without the right to count there it would be 0 for ever. */
static bool is_kernels(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_TRACEPOINT ||
	       (a->type == PERF_TYPE_SOFTWARE &&
		(a->config == PERF_COUNT_SW_CONTEXT_SWITCHES || a->config == PERF_COUNT_SW_CPU_MIGRATIONS ||
		 a->config == SW_CGROUP_SWITCHES));
}

static struct sys_limit files_were; /* before they were raised; {0}: nobody said */

/* In the child that becomes a command: as if we had opened nothing. */
void perf_limits_back(void)
{
	if (files_were.hard)
		sys_set_nofile(&files_were);
}

/* The next thing to do without where the kernel refuses; false: there is none left. */
static bool do_without(struct perf_event_attr *a, bool task, long err)
{
	static bool raised;

	if (err == -EMFILE && !raised) {
		raised = true;
		sys_raise_nofile(&files_were);
		return true;
	}
	if ((err != -EACCES && err != -EPERM) || !task || a->exclude_kernel || a->exclude_user || is_kernels(a))
		return false;
	a->exclude_kernel = a->exclude_hv = 1; /* the user's own code may always be counted */
	return true;
}

/* Opens one descriptor. */
static long open_one(const struct event *ev, const struct target *t, const struct spot *at, i32 leader, bool grouped)
{
	bool cgroup = at->cgroup_fd >= 0, all;
	int pid = cgroup ? at->cgroup_fd : at->task ? (int)t->tasks[at->task - 1].tid : -1;
	struct gp_event e;
	struct perf_event_attr *a;
	long fd, denied = 0; /* what it came to first says more than what it does without that right */

	if (ev->denied)
		return -EACCES;
	attr_make(&e, ev, t, leader < 0, grouped, t->sampling && !is_tracked(t, at));
	a = attr_of(&e);
	e.cgroup = cgroup;
	all = !a->exclude_kernel;
	while ((fd = gp_open(&e, pid, at->cpu, leader)) < 0) {
		denied = fd == -EACCES || fd == -EPERM ? fd : denied;
		if (!do_without(a, at->task != 0, fd))
			return denied ? denied : fd;
	}
	perf_lowered |= all && a->exclude_kernel;
	if (t->sampling) {
		union evattr *kept = &sampled[ev - events].attr;

		memcpy(kept, e.attr, sizeof(*kept));
		kept->a.size = PERF_ATTR_SIZE_VER7; /* what every reader of perf.data knows */
	}
	return fd;
}

static struct count *count_new(u32 ev, const struct target *t, const struct spot *at)
{
	struct count *c;
	u32 site = site_of(t, at->cpu, at->task, at->cgroup);

	if (site == MAX_SITES || !table_has(&counts_table, ncounts + 1) ||
	    (t->sampling && !table_has(&sampled_table, ev))) {
		reg_dropped++;
		return NULL;
	}
	c = &counts[++ncounts];
	*c = (struct count){ .event = ev, .site = site, .fd = -1, .cpu = at->cpu, .leader = ncounts,
			     .pid = at->task ? t->tasks[at->task - 1].tid : 0 };
	return c;
}

/* The descriptor with its event's filter; -errno where the kernel does not take that. */
static long filtered(long fd, const struct event *ev)
{
	long r = fd >= 0 && ev->filter ? gp_filter((int)fd, path_text(ev->filter)) : 0;

	if (r < 0)
		sys_close((int)fd);
	return r < 0 ? r : fd;
}

/* Opens events from..to at one spot: as one group that the user asked for, or in one to save reads. */
static void open_group(u32 from, u32 to, const struct target *t, const struct spot *at)
{
	bool asked = events[from].group != 0, grouped = to - from > 1;
	struct count *leader = NULL, *c;

	for (u32 i = from; i < to && (c = count_new(i, t, at)); i++) {
		bool refused; /* only because of its filter */
		long fd;

		if (asked && !leader && i > from && !(events[i].mods & EM_WEAK)) {
			c->state = CS_NO_LEADER;
			continue;
		}
		fd = open_one(&events[i], t, at, leader ? leader->fd : -1, grouped);
		if (fd == -EINVAL && grouped && !asked && !leader)
			fd = open_one(&events[i], t, at, -1, grouped = false); /* before Linux 4.13 inherited groups cannot be read */
		if (fd < 0 && leader && (!asked || events[i].mods & EM_WEAK))
			fd = open_one(&events[i], t, at, -1, false);
		else if (fd >= 0 && leader)
			c->leader = leader->leader;
		refused = fd >= 0;
		fd = filtered(fd, &events[i]);
		refused &= fd < 0;
		c->fd = fd < 0 ? -1 : (i32)fd;
		c->tracks = fd >= 0;
		if (fd >= 0 && events[i].trigger)
			tasks_notify(c->fd);
		c->state = fd >= 0 ? CS_COUNTED : at->cpu >= 0 && !cpu_has(&online, (u32)at->cpu) ? CS_OFFLINE :
			   leader && fd == -EINVAL ? CS_NO_GROUP : refused ? CS_FILTER : state_of(fd, &events[i]);
		if (fd >= 0 && grouped && !leader) {
			leader = c;
			c->members = true;
		}
	}
}

static bool is_bare(const struct event *ev)
{
	return (ev->type == PERF_TYPE_SOFTWARE || ev->type == PERF_TYPE_TRACEPOINT) && !ev->pmu && !ev->virt && !ev->group &&
	       !ev->trigger && !(ev->mods & (EM_PINNED | EM_EXCLUSIVE));
}

/* The end of the events that are opened in one group with `from`: the user's, or software events, which always
 * find room and cost but one read so. */
static u32 run_end(u32 from, const struct target *t)
{
	const struct event *first = &events[from];
	u32 to = from + 1;

	while (to <= nevents && to - from < MAX_GROUP && events[to].set == first->set &&
	       (first->group ? events[to].group == first->group : !t->sampling && is_bare(first) && is_bare(&events[to])))
		to++;
	return to;
}

/* Whether these events are opened on this CPU. */
static bool cpu_wanted(const struct event *ev, const struct target *t, u32 cpu, struct cpuset *packages)
{
	const struct pmu *pmu = &pmus[ev->pmu];
	i32 package;

	if ((t->has_cpus && !cpu_has(&t->cpus, cpu)) || (ev->pmu && pmu->has_cpus && !cpu_has(&pmu->cpus, cpu)))
		return false;
	if (!ev->per_pkg || t->split == SPLIT_CPU || t->split == SPLIT_CORE || (package = package_of(cpu)) < 0)
		return true;
	if (cpu_has(packages, (u32)package))
		return false;
	packages->w[package / 64] |= 1ull << package % 64;
	return true;
}

static void open_cpus(u32 from, u32 to, const struct target *t, struct spot *at)
{
	static struct cpuset packages;
	const struct cpuset *all = t->has_cpus ? &t->cpus : &online; /* those that are offline say so */

	bool any = false;

	packages = (struct cpuset){ 0 };
	for (u32 cpu = 0; cpu < MAX_CPUS; cpu++)
		if (cpu_has(all, cpu) && cpu_wanted(&events[from], t, cpu, &packages)) {
			at->cpu = (i32)cpu;
			open_group(from, to, t, at);
			any = true;
		}
	at->cpu = -1;
	for (u32 i = from; i < to && !any; i++) { /* none of those that were asked for */
		struct count *c = count_new(i, t, at);

		if (c)
			c->state = CS_ELSEWHERE;
	}
}

static void open_run(u32 from, u32 to, const struct target *t, struct spot *at)
{
	const struct event *ev = &events[from];
	struct count *c;

	if (ev->virt) {
		c = count_new(from, t, at);
		if (c)
			c->virt = c->off = true;
	} else if (is_wide(ev) || t->all || at->cgroup_fd >= 0) {
		open_cpus(from, to, t, at);
	} else {
		for (at->task = 1; at->task <= t->ntasks; at->task++)
			if (t->has_cpus || (t->sampling && !t->no_inherit && !t->limit))
				open_cpus(from, to, t, at); /* an inherited ring must be of one CPU */
			else
				open_group(from, to, t, at);
		at->task = 0;
	}
}

/* With -A the instances of a PMU are no longer one event: each gets its own name. */
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

/* Rows stand event by event; those of one event place by place. */
static void make_rows(bool apart)
{
	u16 n = 0;

	for (u32 i = 1; i <= nevents; i++) {
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
	for (u32 i = 1; i <= ncounts; i++) {
		struct count *c = &counts[i];
		size_t row = 1 + (size_t)events[c->event].sum * nsites + c->site;

		if (!table_has(&evrows_table, row)) {
			reg_dropped++;
			continue;
		}
		c->row = (u32)row;
		nevrows = c->row > nevrows ? c->row : nevrows;
		if (!evrows[row].e.used)
			evrows[row] = (struct evrow){ .e = { .kind = K_EVENT, .used = true }, .event = c->event, .site = c->site };
	}
}

/* Where perf_event is a hierarchy of version 1 it is no part of that of version 2. */
static i32 open_cgroup(u32 text)
{
	static const char *const roots[] = { "fs/cgroup/perf_event/", "fs/cgroup/unified/", "fs/cgroup/", "" };
	char path[4096 + 32];

	for (size_t i = 0; i < LEN(roots); i++) {
		struct buf b = buf_on(path, sizeof(path) - 1);
		const char *name = path_text(text);
		long fd;

		put_z(&b, roots[i]);
		if (!roots[i][0] && strncmp(name, "/sys/", 5) != 0)
			continue;
		put_z(&b, roots[i][0] ? name + (name[0] == '/') : name + 5); /* the folder itself, too */
		path[b.n] = '\0';
		fd = sys_openat(root_sys, path, O_RDONLY | O_DIRECTORY);
		if (fd >= 0 && sys_has_file((int)fd, "cgroup.procs")) /* not the tmpfs that hierarchies are mounted in */
			return (i32)fd;
		if (fd >= 0)
			sys_close((int)fd);
	}
	return -1;
}

/* Whether t's cgroups are there; if not, the one that is missing. */
bool perf_cgroups(const struct target *t, const char **missing)
{
	for (u32 i = 0; i < t->ncgroups; i++) {
		i32 fd = open_cgroup(t->cgroups[i]);

		if (fd < 0) {
			*missing = path_text(t->cgroups[i]);
			return false;
		}
		sys_close(fd);
	}
	return true;
}

void perf_open(const struct target *t)
{
	if (!cpus_online(&online))
		online.w[0] = 1;
	for (u32 g = 0; g < (t->ncgroups ? t->ncgroups : 1); g++) {
		struct spot at = { .cpu = -1, .cgroup_fd = -1 };

		if (t->ncgroups) {
			at.cgroup = t->cgroups[g];
			at.cgroup_fd = open_cgroup(at.cgroup);
			if (at.cgroup_fd < 0)
				continue; /* it went since the repetition before: what it did is not what all do */
		}
		for (u32 from = 1, to; from <= nevents; from = to) {
			to = run_end(from, t);
			open_run(from, to, t, &at);
		}
		if (at.cgroup_fd >= 0)
			sys_close(at.cgroup_fd);
	}
	make_rows(t->split == SPLIT_CPU);
}

void perf_close(void)
{
	for (u32 i = 1; i <= ncounts; i++)
		if (counts[i].fd >= 0)
			sys_close(counts[i].fd);
	ncounts = 0;
}

/* Whether anything can be counted at all. */
bool perf_countable(void)
{
	for (u32 i = 1; i <= ncounts; i++)
		if (counts[i].fd >= 0 || counts[i].virt)
			return true;
	return false;
}

/* --- counting -------------------------------------------------------------------------------------------- */

static bool is_leader(u32 i)
{
	return counts[i].fd >= 0 && counts[i].leader == i;
}

static i64 sampled_at; /* when our own counters were all read; 0: not for this reading */

/* What a counter of our own has now; it is counted from its first reading on, while it is switched on. */
static bool take_virtual(struct count *c, i64 t)
{
	u64 v;

	if (!sampled_at) {
		virtual_sample();
		sampled_at = t;
	}
	if (!virtual_read(&events[c->event], &v)) {
		c->state = CS_UNREADABLE;
		return false;
	}
	c->state = CS_COUNTED;
	if (events[c->event].rule == EV_LEVEL) {
		c->now.value = v;
		return true;
	}
	if (!c->live) {
		c->live = true;
		c->state = CS_UNREADABLE; /* until there is something to compare with */
		c->on_since = t;
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
	if (c->off || !take_virtual(c, t))
		return;
	c->now.enabled = c->now.running += (u64)(t - c->on_since);
	c->on_since = t;
}

static void switch_virtual(struct count *c, bool on)
{
	i64 t = sys_now(CLOCK_MONOTONIC);

	if (!on)
		read_virtual(c, t);
	c->off = !on;
	c->live = false;
	if (on && take_virtual(c, t))
		c->state = CS_COUNTED;
	c->on_since = t;
}

/* A trigger fires once, and is off then until its next turn. */
static void enable_trigger(struct count *c)
{
	if (c->armed)
		gp_enable(c->fd);
	else
		gp_refresh(c->fd, 1);
	c->armed = true;
}

/* All counts of a set; where exec does it for the task's own, only the others. */
void perf_enable(u32 set, bool on, bool exec)
{
	sampled_at = 0;
	for (u32 i = 1; i <= ncounts; i++) {
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

/* The trigger behind a descriptor that has overflowed; NULL: it is none. */
const struct count *perf_fired(i32 fd)
{
	for (u32 i = 1; i <= ncounts; i++)
		if (counts[i].fd == fd && events[counts[i].event].trigger) {
			counts[i].armed = false;
			return &counts[i];
		}
	return NULL;
}

/* Whether this machine has a CPU whose cycles can be counted. */
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

/* Whether that CPU went away; asked only of one that counts nothing any more. */
static bool is_offline(i32 cpu)
{
	static struct cpuset now;

	return cpus_online(&now) && !cpu_has(&now, (u32)cpu);
}

/* Why it stands still though it is switched on. The kernel drops the events of a CPU that goes, and leaves them dropped when
 * it is back; those of a cgroup stand still while none of its tasks is there. */
static u8 still_state(const struct count *c)
{
	if (is_offline(c->cpu))
		return CS_OFFLINE;
	return c->now.enabled && !sites[c->site].cgroup ? CS_RETURNED : CS_COUNTED;
}

/* What is said of all that one read would have given. */
static void group_fails(u32 leader, int error)
{
	struct count *c = &counts[leader];

	for (u32 i = leader; i <= ncounts; i++)
		if (counts[i].leader == leader)
			counts[i].state = error ? state_of(error, &events[c->event]) : CS_PINNED;
	if (!error)
		gp_recover(c->fd); /* another try for the next interval */
}

/* One read gives the values of the leader and its members, in the order in which they were opened. */
static void read_group(u32 leader)
{
	struct gp_count now[MAX_GROUP];
	struct count *c = &counts[leader];
	int n = gp_read(c->fd, PF_ENABLED | PF_RUNNING | (c->members ? PF_GROUP : 0u), now, MAX_GROUP), at = 0;

	if (n <= 0) {
		group_fails(leader, n);
		return;
	}
	for (u32 i = leader; i <= ncounts && at < n; i++) {
		const struct gp_count *v = &now[at];

		if (counts[i].leader != leader || counts[i].fd < 0) {
			if (events[counts[i].event].set != events[c->event].set || counts[i].cpu != c->cpu)
				break;
			continue;
		}
		at++;
		counts[i].now = (struct tally){ v->value, v->enabled, v->running };
		counts[i].state = CS_COUNTED;
		if (v->enabled == counts[i].was.enabled && !c->off && c->cpu >= 0 && !c->pid)
			counts[i].state = still_state(&counts[i]);
	}
}

/* xe's frequencies: each read adds the present one. */
void perf_baseline(void)
{
	for (u32 i = 1; i <= ncounts; i++)
		if (!counts[i].virt && events[counts[i].event].rule == EV_PER_READ && is_leader(i)) {
			read_group(i);
			counts[i].was = counts[i].now;
		}
}

void perf_read(i64 t)
{
	sampled_at = 0;
	for (u32 i = 1; i <= ncounts; i++)
		if (counts[i].virt)
			read_virtual(&counts[i], t);
		else if (is_leader(i))
			read_group(i);
}

/* --- sampling ---------------------------------------------------------------------------------------------- */

static bool is_source(const struct count *c)
{
	return c->fd >= 0 && is_sampled(&events[c->event], counts[c->leader].fd == c->fd);
}

static long make_id(u32 i)
{
	u64 id = 0;
	int r = gp_id(counts[i].fd, &id);

	if (r >= 0)
		count_number(i, id);
	return r;
}

/* The ring of a count: its CPU's, or where it follows a task its own. */
static long give_ring(struct count *c, u32 *pages)
{
	long r;

	for (u32 i = 1; &counts[i] < c; i++)
		if (counts[i].ring && counts[i].cpu == c->cpu && (c->cpu >= 0 || counts[i].pid == c->pid))
			return gp_output(c->fd, counts[i].fd);
	while ((r = rings_add(c->fd, *pages)) == -EPERM && *pages > 1)
		*pages /= 2; /* perf_event_mlock_kb */
	c->ring = r >= 0;
	return r;
}

/* Rings of 2^n pages for everything that is sampled. 0, or -errno. */
long perf_rings(u32 pages)
{
	u8 was = privilege_raise(MAY_PERF);
	long r = table_has(&sampled_table, NONE) ? 0 : -ENOMEM;

	for (u32 i = 1; i <= ncounts && r >= 0; i++) {
		struct count *c = &counts[i];
		struct sampled *s = &sampled[c->event];

		if (c->fd < 0)
			continue;
		s->format = sampled[NONE].format = (struct pformat){ .sample_type = s->attr.a.sample_type,
								     .read_format = s->attr.a.read_format, .id_all = true };
		r = make_id(i);
		if (r >= 0 && is_source(c))
			r = give_ring(c, &pages);
	}
	privilege_lower(was);
	return r < 0 ? r : 0;
}

const struct pformat *perf_format(u64 id)
{
	return &sampled[id ? counts[count_find(id)].event : NONE].format;
}

struct str perf_attr(u32 event)
{
	const char *p = (const char *)&sampled[event].attr;

	return (struct str){ p, p + PERF_ATTR_SIZE_VER7 };
}

/* Descriptors that wake a poll when a ring has filled up. */
size_t perf_pollfds(struct pollfd *fds, size_t cap)
{
	size_t n = 0;

	for (u32 i = 1; i <= ncounts && n < cap; i++)
		if (counts[i].ring)
			fds[n++] = (struct pollfd){ .fd = counts[i].fd, .events = POLLIN };
	return n;
}

/* Another event that writes into the ring of fd, whose task has ended; -1: there is none. */
i32 perf_ring_mate(i32 fd)
{
	u32 i = 1;

	while (i <= ncounts && counts[i].fd != fd)
		i++;
	for (u32 k = i + 1; k <= ncounts; k++)
		if (is_source(&counts[k]) && counts[k].cpu == counts[i].cpu && counts[k].cpu >= 0)
			return counts[k].fd;
	return -1;
}

/* The next period of everything that is sampled. */
void perf_period(u64 period)
{
	for (u32 i = 1; i <= ncounts; i++)
		if (is_source(&counts[i]) && !events[counts[i].event].period) /* what has its own keeps it */
			gp_period(counts[i].fd, period);
}

/* Samples that found no room, as the kernel counts them: also those after which it never could say so. */
u64 perf_lost(void)
{
	u64 lost = 0;

	for (u32 i = 1; i <= ncounts; i++) {
		struct gp_count now[MAX_GROUP];
		u64 format = sampled[counts[i].event].format.read_format;

		if (is_leader(i) && format & PF_LOST && gp_read(counts[i].fd, format, now, MAX_GROUP) > 0)
			lost += now[0].lost;
	}
	return lost;
}

/* So many overflows each, and no more; of all together. What waits for its exec keeps what it was given. */
u64 perf_limit(u32 n, bool exec)
{
	u64 all = 0;

	for (u32 i = 1; i <= ncounts; i++)
		if (is_source(&counts[i])) {
			gp_refresh(counts[i].fd, (int)n);
			if (exec)
				gp_disable(counts[i].fd);
			all += n;
		}
	return all;
}
