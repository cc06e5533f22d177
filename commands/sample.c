/* sample.c - gpustat sample: each overflow of perf events, or what they sum up to. SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

static i64 clock_offset; /* of the clock of -t from that of the samples */
static u64 nsamples;
static bool sample_failed;
static u64 period_now; /* of what has none of its own; 0: the kernel chooses */

static void name_frame(struct frame *f, u32 pid)
{
	symbol_find(pid, f->ip, f->mode, &f->symbol, &f->module, &f->offset);
}

/* The callers: the first address of a chain is the sample's own. */
static void name_chain(struct sample *s)
{
	struct str chain = s->r->chain;
	struct frame f = { 0 };
	bool own = true;

	s->nchain = 0;
	while (s->nchain < MAX_FRAMES && chain_next(&chain, &f.mode, &f.ip)) {
		if (!own) {
			struct frame *to = &s->chain[s->nchain++];

			*to = f;
			name_frame(to, s->r->pid);
		}
		own = false;
	}
}

static bool makes_perfdata(void)
{
	return format_is_perfdata(opt.out.fmt);
}

static void profile_stack(const struct sample *s, u64 period)
{
	static char text[64 << 10];
	struct buf b = BUF(text);

	folded_comm(&b, s->comm.p < s->comm.e ? s->comm : (struct str)STR("[unknown]"));
	for (u32 i = s->nchain; i > 0; i--)
		folded_frame(&b, s->chain[i - 1].symbol, s->chain[i - 1].module, s->chain[i - 1].mode);
	folded_frame(&b, s->at.symbol, s->at.module, s->at.mode);
	profile_add(PROF_STACK, &(struct profrow){ .name = { b.p, b.p + b.n }, .samples = 1, .period = period });
}

static void profile_sample(const struct sample *s)
{
	u64 period = s->period ? s->period : 1;
	struct profrow row = { .samples = 1, .period = period, .name = s->comm };

	if (format_folds(opt.out.fmt)) {
		profile_stack(s, period);
		return;
	}
	if (opt.profile & 1 << PROF_COMM)
		profile_add(PROF_COMM, &row);
	row.name = s->at.symbol;
	row.module = s->at.module;
	if (opt.profile & 1 << PROF_SYMBOL)
		profile_add(PROF_SYMBOL, &row);
	row.ip = s->r->ip;
	if (opt.profile & 1 << PROF_IP)
		profile_add(PROF_IP, &row);
}

static void show_sample(const struct sample *s)
{
	struct recopts ro = { .dt_us = -1, .time_us = -1 };

	if (opt.out.time != T_NONE && s->r->have & PS_TIME)
		ro.time_us = ((i64)s->r->time + clock_offset) / 1000;
	sample_failed |= !show_record(&s->e, &ro);
}

/* --- perf.data -------------------------------------------------------------------------------------------- */

enum { MAX_PDEVENTS = 1024 };

static struct perfdata pdata;
static struct room {
	char bytes[256 << 10];
	struct pdevent events[MAX_PDEVENTS];
	char names[MAX_PDEVENTS][128];
	u64 ids[MAX_COUNTS];
} *room;
static TABLE(room, 1, 1, "perf.data");

static long pdata_write(const char *p, size_t n)
{
	return write_all(out_fd, p, n);
}

static long pdata_patch(u64 at, const char *p, size_t n)
{
	while (n > 0) {
		long r = sys_pwrite(out_fd, p, n, at);

		if (r <= 0 && r != -EINTR)
			return r < 0 ? r : -EIO;
		r = r < 0 ? 0 : r;
		p += r;
		at += (u64)r;
		n -= (size_t)r;
	}
	return 0;
}

static void pdata_found(const struct prec *r)
{
	perfdata_made(&pdata, r);
}

/* Which events there are, and by which numbers the kernel knows them. */
static void pdata_begin(void)
{
	struct room *to = room;
	u32 ids = 0;

	pdata = (struct perfdata){ .b = BUF(to->bytes), .write = pdata_write,
				   .patch = pdata_patch, .events = to->events, .format = *perf_format(0) };
	for (u32 ev = 1; ev <= nevents && pdata.nevents < MAX_PDEVENTS; ev++) {
		struct pdevent *e = &to->events[pdata.nevents];
		char *name = to->names[pdata.nevents];

		*e = (struct pdevent){ .attr = perf_attr(ev), .ids = to->ids + ids };
		for (u32 i = 1; i <= ncounts; i++)
			if (counts[i].event == ev && counts[i].fd >= 0) {
				to->ids[ids++] = counts[i].id;
				e->nids++;
			}
		e->name = str_of(name, text_copy(events[ev].name, name, sizeof(to->names[0])));
		pdata.nevents += e->nids > 0;
	}
	perfdata_begin(&pdata);
}

/* The kernel's text, and the tasks that were there before us: their maps come with their first sample. */
static void pdata_premise(void)
{
	static struct prec kernel;

	if (symbols_kernel(&kernel))
		perfdata_made(&pdata, &kernel);
	perfdata_round(&pdata);
	symbols_found = pdata_found;
	for (u32 i = 0; i < opt.target.ntasks; i++)
		symbols_task(opt.target.tasks[i].leader, opt.target.tasks[i].tid);
}

static bool pdata_end(void)
{
	static struct utsname name;
	static struct str args[64];
	struct pdmeta meta = { .cpus_online = 1, .cpus = 1, .args = args };
	struct cpuset online;
	long r;

	sys_uname(&name);
	meta.release = str_z(name.release);
	meta.machine = str_z(name.machine);
	if (cpus_online(&online)) {
		meta.cpus_online = 0;
		for (u32 cpu = 0; cpu < MAX_CPUS; cpu++)
			if (cpu_has(&online, cpu)) {
				meta.cpus_online++;
				meta.cpus = cpu + 1;
			}
	}
	for (char **a = opt.argv; *a && meta.nargs < LEN(args); a++)
		args[meta.nargs++] = str_z(*a);
	r = perfdata_end(&pdata, &meta);
	if (r < 0)
		say_error(opt.output, r);
	return r >= 0;
}

/* --- records ------------------------------------------------------------------------------------------------ */

/* The values of the sample's group; since the last ones where that is asked for. */
static void take_group(struct sample *s)
{
	struct pvalue v;
	size_t i = 0;

	s->ngroup = 0;
	while (s->ngroup < MAX_GROUP && values_next(s->r->values, perf_format(s->r->id)->read_format, &i, &v)) {
		struct count *c = &counts[count_find(v.id)];
		u64 base = opt.reset_on_overflow ? c->was.value : 0;

		if (c == counts)
			continue;
		c->was.value = v.value;
		s->group[s->ngroup].event = c->event;
		s->group[s->ngroup++].count = v.value - base;
	}
}

static void take_record(const struct prec *r)
{
	static struct sample s; /* 30 KB: a stack may be small */

	s.e = (struct entity){ .kind = K_SAMPLE };
	symbols_feed(r);
	if (makes_perfdata()) {
		if (r->type == PR_SAMPLE)
			symbols_task(r->pid, r->tid);
		perfdata_record(&pdata, r->raw);
		nsamples += r->type == PR_SAMPLE;
		return;
	}
	if (r->type != PR_SAMPLE && !r->lost)
		return;
	if (sample_failed || (opt.count && nsamples == opt.count))
		return;
	s.r = r;
	s.event = r->type == PR_SAMPLE ? counts[count_find(r->id)].event : NONE;
	s.comm = s.event ? symbols_comm(r->pid, r->tid) : (struct str){ 0 };
	s.at = (struct frame){ .ip = r->ip, .mode = r->mode };
	s.nchain = s.ngroup = 0; /* a loss has none of what the sample before had */
	s.period = 0;
	if (s.event) {
		nsamples++;
		s.period = r->have & PS_PERIOD ? r->period : events[s.event].period && !events[s.event].freq ?
								     events[s.event].period : period_now;
		take_group(&s);
		if (r->have & PS_IP)
			name_frame(&s.at, r->pid);
		name_chain(&s);
	}
	if (!opt.profile)
		show_sample(&s);
	else if (s.event)
		profile_sample(&s);
	s.r = NULL; /* it is the caller's */
}

static bool print_profile(void)
{
	static struct profile p = { .e = { .kind = K_PROFILE, .used = true } };
	struct recopts ro = { .dt_us = -1, .time_us = -1 };

	for (p.table = 0; p.table < PROF_TABLES; p.table++) {
		size_t n = opt.profile >> p.table & 1 ? profile_sort(p.table) : 0;

		n = opt.top && n > opt.top ? (size_t)opt.top : n;
		for (size_t i = 0; i < n; i++) {
			p.row = profile_row(p.table, i);
			if (p.table == PROF_STACK)
				folded_row(&out, p.row);
			else if (!show_record(&p.e, &ro))
				return false;
			if (out.n > OUT_BYTES / 2 && !flush())
				return false;
		}
	}
	return flush();
}

/* The next period: long after a ring was full, short otherwise, with random bits. */
static void vary_period(const struct measure *m)
{
	u64 period = m->woken && opt.long_period ? opt.long_period : opt.short_period ? opt.short_period : opt.target.period;

	if (!opt.random_mask && !opt.long_period && !opt.short_period)
		return;
	opt.seed = opt.seed % 0x7fffffff ? opt.seed : 1;
	opt.seed = 16807 * (opt.seed & 0x7fffffff) % 0x7fffffff; /* Carta's generator, as perfmon2 has it */
	period += opt.seed & opt.random_mask;
	if (period && period != period_now)
		perf_period(period_now = period);
}

/* What lies in the rings: all of it at the end, and where one is about to be full; otherwise what no other CPU can
 * still precede. */
static void drain(bool all)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	clock_offset = opt.out.time == T_MONO ? 0 : sys_now(CLOCK_REALTIME) - now; /* as it is: a clock may jump */
	rings_drain(all ? UINT64_MAX : (u64)now - 1000000, perf_format, take_record);
	if (makes_perfdata())
		perfdata_round(&pdata);
	else if (!sample_failed && !flush())
		sample_failed = true;
}

/* Losses of which no record could tell any more. */
static void take_rest(u64 lost)
{
	struct prec r = { .type = PR_LOST_SAMPLES, .lost = lost - rings_lost, .have = PS_TIME,
			  .time = (u64)sys_now(CLOCK_MONOTONIC) };

	if (lost <= rings_lost)
		return;
	if (makes_perfdata())
		perfdata_made(&pdata, &r);
	else
		take_record(&r);
	rings_lost = lost;
}

static void sample_loop(struct measure *m)
{
	while (measure_next(m)) {
		drain(m->woken);
		vary_period(m);
		if (m->limit && !m->argv && nsamples + rings_lost >= m->limit)
			m->stop = true; /* nobody else would end it */
		if (sample_failed || (opt.count && nsamples == opt.count))
			m->stop = true;
	}
	drain(true);
	take_rest(perf_lost());
	if (!sample_failed && !makes_perfdata() && !flush())
		sample_failed = true;
}

static const char *sample_default(void)
{
	return perf_has_pmu() ? "cycles" : "cpu-clock";
}

static int sample_options(struct target *t)
{
	if (t->period && t->freq)
		return usage_z("--freq and --sample-period exclude each other");
	if ((opt.random_mask || opt.long_period || opt.short_period) && !t->period)
		return usage_z("periods change from a --sample-period");
	if (opt.profile && format_folds(opt.out.fmt) && opt.profile == ALL_SUMS)
		opt.profile = 0; /* --summary -o folded: the sums are those of stacks */
	if (opt.profile && (format_folds(opt.out.fmt) || makes_perfdata()))
		return usage_z("--summary is for formats of records: neither folded nor perfdata");
	if (format_folds(opt.out.fmt))
		opt.profile = 1 << PROF_STACK;
	if (opt.profile)
		opt.out.kind = K_PROFILE;
	else if (opt.top)
		return usage_z("--top is of --summary");
	opt.out.once = opt.profile;
	if (makes_perfdata() && !opt.output)
		return usage_z("-o perfdata wants a file: -O FILE");
	t->sampling = true;
	t->no_inherit |= opt.reset_on_overflow; /* inherited, each thread counts for itself */
	period_now = t->period;
	if (!t->period && !t->freq)
		t->freq = 4000;
	opt.pages = opt.pages ? opt.pages : 128;
	if (!t->wakeup && (t->limit || opt.random_mask)) {
		t->wakeup = 1; /* they are few, and the last one ends it; each is to have its own period */
	} else if (!t->wakeup) {
		t->watermark = true;
		t->wakeup = opt.pages * 2048;
	}
	return -1;
}

static void say_sample_end(void)
{
	say_dropped();
	if (perf_lowered)
		say_lowered();
	if (rings_lost)
		say_number(rings_lost, " samples were lost: the rings were full; --mmap-pages makes them larger");
	if (rings_corrupt)
		say_number(rings_corrupt, " records made no sense");
	if (symbols_hidden && opt.verbose)
		say_z("the kernel hides its symbols: kernel.kptr_restrict");
	if (symbols_far)
		say_number(symbols_far, " files of FUSE or network mounts were not read for symbols; gpustat run there reads them");
	if (symbols_dropped || profile_dropped)
		say_number(symbols_dropped + profile_dropped, " names or rows found no room");
}

/* The highest rate that the kernel allows, where it was asked for more. */
static bool say_rate(void)
{
	char text[32];
	struct str line;
	u64 most;

	if (!opt.target.freq || !slurp_line(root_proc, "sys/kernel/perf_event_max_sample_rate", text, sizeof(text), &line) ||
	    scan_u64(line, &most) != line.e || opt.target.freq <= most)
		return false;
	text[line.e - text] = '\0';
	say("--freq: kernel.perf_event_max_sample_rate is ", line.p, NULL);
	return true;
}

/* " on CPU 7" where that is what an event lacks. */
static void put_lack(struct buf *b, const struct count *c)
{
	if (c->state != CS_OFFLINE)
		return;
	put_z(b, " on CPU ");
	put_u64(b, (u64)c->cpu);
}

/* Which events give no samples, in part or at all, and why. False: none gives any. */
static bool say_events(void)
{
	bool any = false;

	for (u32 ev = 1; ev <= nevents; ev++) {
		char name[256];
		struct buf b = { .p = name, .n = text_copy(events[ev].name, name, 200), .cap = sizeof(name) - 1 };
		u8 state = CS_COUNTED;
		bool some = false;

		for (u32 i = 1; i <= ncounts; i++) {
			if (counts[i].event != ev)
				continue;
			some |= counts[i].fd >= 0;
			if (counts[i].fd >= 0 || counts[i].state == CS_GONE || counts[i].state <= state)
				continue;
			state = counts[i].state;
			put_lack(&b, &counts[i]);
		}
		any |= some;
		name[b.n] = '\0';
		if (state == CS_REFUSED && !say_rate())
			say(name, some ? ": in part " : ": ", "not supported: the kernel refuses these settings; it may only count");
		else if (state != CS_REFUSED && (state || !some))
			say(name, some ? ": in part " : ": ", state_text(state ? state : CS_GONE));
	}
	return any;
}

/* Exit code or -1. */
static int check_events(void)
{
	if (makes_perfdata() && nevents > MAX_PDEVENTS)
		return usage_z("-o perfdata is for 1024 events at most");
	for (u32 i = 1; i <= nevents; i++) {
		if (events[i].virt)
			return usage_z("only perf events overflow: counters of our own cannot be sampled");
		if (makes_perfdata() && events[i].type == PT_TRACEPOINT)
			return usage_z("-o perfdata is not for tracepoints: their fields would have to go with it");
	}
	return -1;
}

static int open_sample_output(void)
{
	bool file = makes_perfdata();
	int code = sink_open();

	if (code < 0 && file && !sys_is_regular(out_fd))
		return usage_z("-o perfdata wants a regular file: its head is written last");
	if (code < 0 && file && !table_all(&room_table)) {
		say_error(opt.output, -ENOMEM);
		return EX_FAIL;
	}
	return code;
}

/* All that comes before the first sample. Exit code or -1. */
static int sample_prepare(struct measure *m)
{
	int code = sample_options(&opt.target);

	if (code >= 0)
		return code;
	m->pages = opt.pages;
	if (!open_roots(false))
		return EX_FAIL;
	if ((code = open_control(m)) >= 0)
		return code;
	if (!add_lists() || (opt.nevents == 0 && !add_events(str_z(sample_default()), 0)))
		return EX_USAGE;
	if ((code = check_events()) >= 0 || (code = find_target(&opt.target)) >= 0)
		return code;
	return open_sample_output();
}

static int sample_finish(const struct measure *m, bool any)
{
	int code = command_result(m, any ? EX_OK : EX_DENIED);

	if (m->failure) /* nothing ran, which is no sample to take a file's place */
		return code;
	if (sample_failed || (any && opt.profile && !print_profile()))
		return EX_FAIL;
	say_sample_end();
	rings_close();
	return finish_sample() == EX_OK ? code : EX_FAIL;
}

/* Whether some event is counted in the kernel, whose symbols take some 50 ms to read: time in which a ring overflows. */
static bool has_kernel(void)
{
	for (u32 i = 1; i <= nevents; i++)
		if (!opt.target.user_only && (events[i].mods & (EM_USER | EM_KERNEL | EM_HV)) != EM_USER)
			return true;
	return false;
}

static void ready(i32 child, bool again)
{
	(void)again;
	record_room();
	if (opt.profile)
		profile_begin(opt.profile);
	if (has_kernel()) /* after the fork, which would count their memory twice in overcommit mode 2 */
		symbols_preload();
	confine(child);
}

int cmd_sample(void)
{
	struct measure m = { .target = &opt.target, .argv = opt.command, .interval = 100000000, .delay = opt.delay,
			     .timeout = opt.timeout, .control = -1, .ack = -1, .sampling = true, .ready = ready };
	int code = sample_prepare(&m);
	bool any;
	long r;

	if (code >= 0)
		return code;
	if (opt.windowed && !opt.timeout)
		m.timeout = opt.window;
	update_offset();
	tasks_hear(opt.command);
	r = measure_start(&m);
	if (r < 0) {
		say(m.rings < 0 ? "no ring: " : "cannot start a process: ", error_text(r),
		    m.rings < 0 ? "; --mmap-pages makes them smaller, kernel.perf_event_mlock_kb says how large they may be" : NULL);
		return EX_FAIL;
	}
	keep_privileges(MAY_READ | MAY_LOOK | MAY_SYMBOLS); /* of tasks that are met for the first time */
	any = say_events();
	if (makes_perfdata()) {
		pdata_begin();
		pdata_premise();
	}
	sample_loop(&m);
	if (makes_perfdata() && !pdata_end())
		return EX_FAIL;
	return sample_finish(&m, any);
}
