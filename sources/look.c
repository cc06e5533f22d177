/* look.c - whom to look at, and when: all of /proc once, then those of whom something tells, and the sweep for the rest.
 * SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

enum {
	LOOK_MAX = 4096,       /* calls in one sample on those who are due since a notice came: 10 ms */
};

static bool walked;       /* all of /proc was, once */
static bool unopened;     /* /proc could not be opened, once at least: nothing is sure to be found in time */
static u64 round_names;   /* descriptors of all processes, when they were looked at last */
static u64 round_calls;   /* that took them */
static struct loss {
	u32 dropped, untold; /* of reg_dropped and reg_untold */
} lost; /* what looks found no room for: it stays so in the samples until somebody looks there again */
static const i64 rename_ns = 5000000000; /* a process may change its name or cgroup: read anew after this */

/* False: /proc cannot be opened. */
static bool pass_start(bool at_once)
{
	do
		pass_begin(at_once);
	while (!pass_is_open() && looks_rest());
	unopened |= !pass_is_open();
	return pass_is_open();
}

/* Through the first holder of a client it is read. */
static bool is_second(u32 n)
{
	return holders[n].client && holders[n].fd <= INT32_MAX && clients[holders[n].client].holders != n;
}

/* A walk meets a known descriptor by its number and device: what else it stands for is asked of those that are not read. */
static void verify_seconds(void)
{
	for (u32 n = 1; n <= nholders; n++)
		if (is_second(n))
			holder_verify(n);
}

/* Each of its descriptors is one call; through its pidfd, three. */
static u64 calls_of(const struct look *l)
{
	return (u64)l->n * (l->blind ? 3 : 1);
}

/* Every descriptor of every process. What was not met is forgotten, unless it could not be looked everywhere. */
static void walk(void)
{
	static struct look l;
	u32 pid, no = walk_begin();
	bool cut = false, again = walked;

	walked = true;
	reg_unreadable = 0;
	if (!pass_start(true))
		return;
	round_names = round_calls = 0;
	while ((pid = pass_next(process_gone)) != NONE) {
		look_begin(&l, pid, scan_names->fds, sizeof(scan_names->fds));
		while (look_step(&l))
			;
		look_end(&l, true);
		cut |= l.cut;
		round_names += l.n;
		round_calls += calls_of(&l);
	}
	compute_scan();
	if (!cut)
		walk_forget(no);
	if (again)
		verify_seconds();
}

static struct look looks[WATCH_QUEUES]; /* at who waits */

/* A piece of a look at those who wait, one after the other. False: there is nobody. */
static bool look_on(u8 queue)
{
	struct look *l = &looks[queue];
	u32 pid;

	if (!l->open) {
		pid = watch_due(queue);
		if (pid != NONE)
			look_begin(l, pid, l->d.b, sizeof(l->d.b));
		return pid != NONE;
	}
	if (!look_step(l)) {
		look_end(l, true);
		look_forget(l);
	}
	return true;
}

/* --- what a notice tells ------------------------------------------------------------------------------------ */

static i32 looks_left;     /* of LOOK_MAX */
static bool looked_around; /* in this sample */

/* Descriptors that tell no client by themselves: without a sweep none of them would ever be found closed, or be counted once. */
static bool recount(void)
{
	u32 n = 0;

	for (u32 i = 1; i <= ndevices && !watch_sweep; i++)
		n += devices[i].anonymous;
	if (n)
		anonymous_settle();
	return n;
}

/* Somebody may hold what nobody is known to hold: who changed since he was looked at is due. That takes a stat per process;
 * where the kernel tells no counts, it is everybody. */
static void look_around(void)
{
	bool all = recount() || !watch_counts();
	u32 pid;

	looked_around = true;
	pass_start(true);
	while ((pid = pass_next(process_gone)) != NONE)
		if (all || watch_changed(pid, true))
			watch_later(pid, true);
	compute_scan();
}

/* Those come first in the next sample for whom there is no time in this one. */
static void look_at_due(void)
{
	for (u32 before = files_calls; looks_left > 0 && look_on(WATCH_TOLD); before = files_calls)
		looks_left -= (i32)(files_calls - before);
}

/* Who is new, as far as something tells of it. */
static void look_for_told(void)
{
	static bool again;
	u32 before = holders_found;
	bool opened = watch_opened();

	if (fdinfo_woke())
		watch_woke();
	if (opened || again)
		look_around();
	look_at_due();
	/* The notice comes before the opener has its descriptor, which only a count tells. */
	again = opened && !watch_counts() && holders_found == before;
}

/* --- the sweep: what no notice tells of --------------------------------------------------------------------- */

static i64 sweep_began; /* ns */

/* The next row of a table behind *at for which is() holds, going round once from where the sample began. */
struct turn {
	u32 at, left;
};

static u32 turn_next(struct turn *t, u32 n, bool (*is)(u32))
{
	while (t->left) {
		t->left--;
		t->at = t->at >= n ? 1 : t->at + 1;
		if (is(t->at))
			return t->at;
	}
	return NONE;
}

static struct turn task_turn, holder_turn;

static bool is_old(u32 n)
{
	return fdinfo_tasks && tasks[n].refs && sweep_began - tasks[n].read > rename_ns;
}

/* A process may have changed its name, or be in another cgroup. */
static bool sweep_task(void)
{
	u32 n = turn_next(&task_turn, ntasks, is_old);

	if (n != NONE)
		task_describe(&tasks[n]);
	return n != NONE;
}

static bool sweep_holder(void)
{
	u32 n = turn_next(&holder_turn, nholders, is_second);

	if (n != NONE)
		holder_verify(n);
	return n != NONE;
}

static bool passed; /* all processes, in this sample */

/* A process that is new, or has another number of descriptors. */
static bool sweep_process(void)
{
	u32 pid;

	if (!pass_is_open())
		return !passed && pass_start(false);
	pid = pass_next(process_gone);
	passed = pid == NONE;
	if (pid != NONE && watch_changed(pid, false))
		watch_later(pid, false);
	return pid != NONE;
}

static bool sweep_new(void)
{
	return look_on(WATCH_NEW);
}

static bool sweep_changed(void)
{
	return look_on(WATCH_CHANGED);
}

static struct look tour;

static bool look_rest(struct look *l)
{
	if (!l->open || l->d.fd < 0)
		return false;
	dir_rest(&l->d);
	return l->resting = true;
}

bool looks_rest(void)
{
	for (size_t i = 0; i < LEN(looks); i++)
		if (look_rest(&looks[i]))
			return true;
	return look_rest(&tour);
}

static u32 tour_pid;
static u64 tour_names, tour_calls; /* so far */
static struct loss tour_lost;
static bool round_over; /* in this sample */

/* All descriptors of all processes have had their turn. */
static void round_end(void)
{
	round_over = true;
	anonymous_settle();
	round_names = tour_names;
	round_calls = tour_calls;
	lost = tour_lost;
	tour_names = tour_calls = 0;
	tour_lost = (struct loss){ 0 };
}

/* A descriptor more of all. False: that was the last one. What is known of its process holds, unless it proves nothing. */
static bool tour_on(void)
{
	if (!tour.open) {
		tour_pid = watch_after(tour_pid);
		tour.in_round = true;
		if (tour_pid != NONE)
			look_begin(&tour, tour_pid, tour.d.b, sizeof(tour.d.b));
		return tour_pid != NONE;
	}
	if (!look_step(&tour)) {
		tour_names += tour.n;
		tour_calls += calls_of(&tour);
		look_end(&tour, watch_is_stale(tour_pid));
	}
	return true;
}

static struct loss loss_so_far(void)
{
	untold_drop();
	return (struct loss){ reg_dropped, reg_untold };
}

static void loss_add(struct loss *l, struct loss before)
{
	struct loss now = loss_so_far();

	l->dropped += now.dropped - before.dropped;
	l->untold += now.untold - before.untold;
}

static bool sweep_descriptor(void)
{
	struct loss before = loss_so_far();
	bool more = tour_on();

	loss_add(&tour_lost, before);
	reg_dropped = before.dropped;
	reg_untold = before.untold;
	if (!more)
		round_end();
	return more;
}

enum { SHARES = 20, SCALE = 18 /* a multiple of each share */, NEW_SHARE = 3, TOUR_SHARE = 9 };

/* Each has its share of the calls as long as it has something to do. */
static struct part {
	bool (*step)(void); /* false: there is nothing more to do in this sample */
	u8 share;           /* of SHARES */
	u8 most;            /* calls of a step that finds nothing new */
	bool over;
	u64 had;            /* calls so far, times SCALE / share: who had least is next */
} parts[] = {
	{ .step = sweep_task, .share = 2, .most = 6 },
	{ .step = sweep_holder, .share = 2, .most = 3 },
	{ .step = sweep_process, .share = NEW_SHARE, .most = 2 },
	{ .step = sweep_new, .share = 2, .most = 5 },
	{ .step = sweep_changed, .share = 2, .most = 5 },
	{ .step = sweep_descriptor, .share = TOUR_SHARE, .most = 5 },
};

static struct part *next_part(void)
{
	struct part *next = NULL;

	for (struct part *p = parts; p < parts + LEN(parts); p++)
		if (!p->over && (!next || p->had < next->had))
			next = p;
	return next;
}

/* How many calls it took. */
static u32 part_step(struct part *p)
{
	static u64 latest; /* had, of who was next */
	u32 before = files_calls;

	p->over = !p->step();
	if (p->step == sweep_process) /* it may have found somebody for those behind it */
		p[1].over = p[2].over = false;
	/* Who had nothing to do for a while does not make up for that. */
	latest = p->had = p->had > latest ? p->had : latest;
	p->had += (u64)(files_calls - before) * (SCALE / p->share);
	return files_calls - before;
}

static const i64 sweep_ns = 200000;
static u32 quiet_calls; /* files_calls at the end of the sample before */
static u64 cut_calls, cut_samples; /* where the sweep did not come to the round's end */

/* What devices' own files took is not spent once more, but for half of it: a sample costs what it may, whatever a device has
 * of sensors. */
static u32 sweep_calls(void)
{
	u32 before = files_calls - quiet_calls, least = watch_sweep / 2;

	if (!watch_sweep_timed)
		return watch_sweep;
	return before < watch_sweep - least ? watch_sweep - before : least;
}

static void sweep(void)
{
	static i64 left; /* calls; below 0: a step that found something took more than there were */
	u32 calls = sweep_calls(), began = files_calls;
	struct part *p;

	sweep_began = sys_now(CLOCK_MONOTONIC);
	left = left < 0 ? left + calls : calls;
	task_turn.left = ntasks;
	holder_turn.left = nholders;
	passed = false;
	for (size_t i = 0; i < LEN(parts); i++)
		parts[i].over = false;
	while ((p = next_part()) && left > 0 && left >= (p->most < calls ? p->most : calls)) {
		left -= part_step(p);
		if (watch_sweep_timed && sys_now(CLOCK_MONOTONIC) - sweep_began > sweep_ns)
			break;
	}
	if (!round_over) {
		cut_calls += files_calls - began;
		cut_samples++;
	}
}

struct round_facts round_facts(void)
{
	struct watch_facts w;
	struct round_facts f = { .descriptors = round_names, .looked = walked };
	u64 calls = watch_sweep, round;

	watch_facts(&w);
	if (unopened)
		return f;
	if (watch_sweep == SWEEP_ALL || (watch_sweep && !cut_samples)) {
		f.samples = 1;
		return f;
	}
	if (watch_sweep_timed && cut_calls < calls * cut_samples) {
		calls = cut_calls / cut_samples;
		f.paced = true;
	}
	/* Of a process that was looked at before, folder and all: whether it is the same, 3; opened, asked for its size, listed by
	 * two calls at least, closed. One that is new has to be met before. */
	round = (round_calls + round_names / 64 + 8 * (u64)w.processes) * SHARES / TOUR_SHARE +
		(u64)w.processes * SHARES / NEW_SHARE;
	f.samples = watch_sweep ? round / (calls ? calls : 1) + 1 : 0;
	return f;
}

/* --- the source ------------------------------------------------------------------------------------------------ */

/* Where /sys lists no device, no process can hold one: one that does not tell, or nodes that stand there all the same, are
 * another thing. */
static bool any_device(void)
{
	static const char *const nodes[] = { "/dev/dri/card0", "/dev/dri/renderD128", "/dev/accel/accel0", "/dev/nvidiactl" };
	bool any = root_proc_given || !sysfs_lists();

	for (u32 i = 1; i <= ndevices; i++)
		any |= devices[i].e.used;
	for (size_t i = 0; i < LEN(nodes) && !any; i++)
		any = sys_has_file(AT_FDCWD, nodes[i]);
	return any;
}

static void look_for_new(void)
{
	static i64 compute_read; /* ns */
	i64 now = sys_now(CLOCK_MONOTONIC);

	look_for_told();
	if (now - compute_read > rename_ns) {
		compute_read = now;
		compute_scan();
	}
	if (watch_sweep)
		sweep();
}

static void fdinfo_scan(void)
{
	bool anew = !tour.open && tour_pid == NONE; /* a round begins */
	struct loss before;

	if (!walked && !any_device())
		return;
	before = loss_so_far();
	round_over = false;
	looks_left = LOOK_MAX;
	looked_around = !walked || !fdinfo_repeats || watch_sweep == SWEEP_ALL;
	if (looked_around) {
		lost = (struct loss){ 0 };
		walk();
		clients_drop(false);
	} else {
		look_for_new();
	}
	if (fdinfo_repeats)
		reg_unreadable = watch_refused();
	if (!round_over || !anew) /* what one that began here has counted itself */
		loss_add(&lost, before);
	reg_dropped = before.dropped + lost.dropped + watch_unlisted();
	reg_untold = before.untold + lost.untold;
}

/* A client that has lost its last holder may be held by another process, or through another number: first those who held one
 * are looked at, then everybody; as long as some of them wait for their look, it may be theirs. */
static void fdinfo_sample(void)
{
	clients_read();
	if (fdinfo_repeats && clients_orphaned()) {
		look_at_due();
		clients_read();
	}
	if (fdinfo_repeats && clients_orphaned() && !looked_around) {
		look_around();
		look_at_due();
		clients_read();
	}
	clients_drop(watch_waits());
	clients_tick();
	untold_drop();
	quiet_calls = files_calls;
}

static void fdinfo_start(void)
{
	if (fdinfo_repeats)
		watch_start();
	fdinfo_begin();
	fdinfo_scan();
	clients_tick();
}

static void look_stop(struct look *l)
{
	if (l->open)
		look_end(l, false);
}

static void fdinfo_rest(void)
{
	fdinfo_close();
	for (size_t i = 0; i < LEN(looks); i++)
		look_stop(&looks[i]);
	look_stop(&tour);
	watch_stop();
}

const struct source src_fdinfo = {
	.name = "fdinfo",
	.start = fdinfo_start,
	.scan = fdinfo_scan,
	.rest = fdinfo_rest,
	.sample = fdinfo_sample,
};

/* --- whom /proc does not show ------------------------------------------------------------------------------ */

/* Whether it is another one than the machine began with: PROC_*_INIT_INO of linux/proc_ns.h. Negative: not known. */
int look_is_inner(int proc, const char *link, const char *first)
{
	char b[32];
	long n = sys_readlinkat(proc, link, b, sizeof(b));

	return n <= 0 ? -1 : !str_is((struct str){ b, b + n }, first);
}

const char look_hidden[] = "/proc is mounted with hidepid: processes of others are not seen; with CAP_SYS_PTRACE they are";
static const char inner_pids[] = "in a pid namespace: processes outside of it are not seen; --proc reads another /proc";

/* Pid 1 is in every /proc that hides none, and tells which namespace it shows; nobody but root may ask it that. It may
 * hide from those who see most others. */
const char *look_unseen(void)
{
	static const char first[] = "pid:[4026531836]";
	u8 was = privilege_raise(MAY_LOOK);
	struct statfs fs;
	struct stat st;
	int inner = look_is_inner(root_proc, "1/ns/pid", first);
	bool none = !reg_saw_others && sys_fstatat(root_proc, "1", &st) == -ENOENT;

	privilege_lower(was);
	if (none &&
	    sys_fstatfs(root_proc, &fs) == 0 && (u32)fs.f_type == PROC_SUPER_MAGIC)
		return look_hidden;
	if (inner < 0 && !root_proc_given)
		inner = look_is_inner(root_proc, "self/ns/pid", first);
	return inner > 0 ? inner_pids : NULL;
}
