/* sample.c - gpustat sample: samples of perf events, one record each or summed up.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sys.h"

static void name_frame(struct frame *f, u32 pid)
{
	symbol_find(pid, f->ip, f->mode, &f->symbol, &f->module, &f->offset);
}

/* Finds the symbols of the frames in a sample's call chain. The first address of the chain is that
 * of the sample itself, and is skipped. hidden: bits 1 << enum pmode; frames of these modes are
 * left out. */
static void name_chain(struct sample *s, u32 hidden)
{
	struct str chain = s->r->chain;
	struct frame f = { 0 };
	bool own = true;

	s->nchain = 0;
	while (s->nchain < MAX_FRAMES && chain_next(&chain, &f.mode, &f.ip)) {
		if (!own && !(hidden >> f.mode & 1)) {
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

static struct sampling {
	/* ns to add to the time of a sample, which is on CLOCK_MONOTONIC, for the clock of
	 * --time */
	i64 clock_offset;
	u64 nsamples;
	u64 nhidden; /* number of samples whose address this user may not see */
	u64 nskid;   /* number of samples for which is_skid() was true */
	bool sample_failed;
	/* period of the events without a period of their own; 0 if the kernel chooses it */
	u64 period_now;
	struct perfdata pdata;
	struct ring_reader reader;
	/* row in which the current sample is remembered, so that a later equal sample need not be
	 * decoded; NULL if the sample is not remembered */
	struct repeat *repeat;
	struct str tracing; /* description of the tracepoints in the perf.data file (-o perfdata) */
	/* true if -f selects a field that all tracepoints have: common_pid and others */
	bool common;
	/* Indices of the time and of the period in a sample, in words of 8 bytes. period_word is 0
	 * if only samples with the same period count as equal. */
	u8 time_word, period_word;
	/* the sample that is decoded; not on the stack, because its 30 KB are too large for a small
	 * stack */
	struct sample current;
} sampling;

/* Adds `row` to a table of sums (enum proftable), and remembers the row of the table, to which
 * later equal samples are added without decoding. */
static void profile_put(u8 table, const struct profrow *row)
{
	struct profrow *to = profile_add(table, row);

	if (sampling.repeat)
		repeat_fill_row(sampling.repeat, table, to, row->period);
	sampling.repeat = to ? sampling.repeat : NULL;
}

static void profile_stack(const struct sample *s, u64 period)
{
	static char text[64 << 10];
	struct buf b = BUF(text);

	folded_comm(&b, s->comm.p < s->comm.e ? s->comm : (struct str)STR("[unknown]"));
	for (u32 i = s->nchain; i > 0; i--)
		folded_frame(&b, s->chain[i - 1].symbol, s->chain[i - 1].module,
			     s->chain[i - 1].mode);
	folded_frame(&b, s->at.symbol, s->at.module, s->at.mode);
	profile_put(PROF_STACK,
		    &(struct profrow){ .name = { b.p, b.p + b.n }, .samples = 1,
				       .period = period });
}

static void profile_sample(const struct sample *s)
{
	u64 period = s->period ? s->period : 1;
	struct profrow row = { .samples = 1, .period = period, .name = s->comm };

	if (format_is_folded(opt.out.fmt)) {
		profile_stack(s, period);
		return;
	}
	if (opt.profile & 1 << PROF_COMM)
		profile_put(PROF_COMM, &row);
	row.name = s->at.symbol;
	row.module = s->at.module;
	if (opt.profile & 1 << PROF_SYMBOL)
		profile_put(PROF_SYMBOL, &row);
	row.ip = s->r->ip;
	if (opt.profile & 1 << PROF_IP)
		profile_put(PROF_IP, &row);
}

/* Converts the time of a sample, in ns on CLOCK_MONOTONIC, to ns on the clock of --time. Returns -1
 * if the output shows no times. */
static i64 shown_time(u64 time)
{
	return opt.out.time == T_NONE ? -1 : (i64)time + sampling.clock_offset;
}

static const struct recopts untimed = { .dt_us = -1, .time_us = -1 };

/* Chooses the columns for the fields of all tracepoints before the first sample is printed, because
 * a sample has only the fields of its own tracepoint. */
static void columns_prepare(void)
{
	static const struct prec none;
	struct sample *s = &sampling.current;

	s->e.kind = K_SAMPLE;
	s->r = &none;
	s->common = sampling.common;
	for (u32 ev = 1; ev <= nrows.events; ev++) {
		s->fields = tracepoint_fields(ev, &s->nfields);
		measure_record(&s->e, &untimed);
	}
}

static void show_sample(const struct sample *s)
{
	struct recopts ro = untimed;
	size_t from = out.n;
	i64 time = s->r->have & PS_TIME ? shown_time(s->r->time) : -1;

	if (time >= 0)
		ro.time_us = time / 1000;
	sampling.sample_failed |= !show_record(&s->e, &ro);
	if (sampling.repeat && out.n > from)
		repeat_fill_text(sampling.repeat, str_of(out.p + from, out.n - from), time);
}

/* --- functions that write a perf.data file ---------------------------------------------------- */

enum { MAX_PDEVENTS = 1024 };

struct pdbufs {
	char bytes[256 << 10];
	struct pdevent events[MAX_PDEVENTS];
	char names[MAX_PDEVENTS][128];
	u64 ids[MAX_COUNTS];
	char machine[PD_MACHINE_BYTES];
};
static TABLE(struct pdbufs, pdbufs, 1, 1, "perf.data");

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

/* Writes a record of a task's name or of a map to the perf.data file. Readers older than Linux 5.12
 * expect build IDs only in the header of the file, as kernels of that age do not write them: on
 * such a kernel the record loses its build ID. */
static void pdata_map(const struct prec *r)
{
	struct prec plain = *r;

	if (!perf_opened.build_ids && r->misc & PM_BUILD_ID && r->type == PR_MMAP2) {
		plain.misc &= (u16)~PM_BUILD_ID;
		plain.type = plain.mode == PM_KERNEL ? PR_MMAP : PR_MMAP2;
	}
	perfdata_synthesize(&sampling.pdata, &plain);
}

/* Writes the name or a map of a task that was found in /proc. Its time is that of the earliest
 * record that was copied with the task's first sample, because the task may have samples in several
 * rings. */
static void pdata_found(const struct prec *r)
{
	struct prec first = *r;

	/* reader.first: time of the earliest record of this reading; 0 if there is none, because
	 * all records are already written */
	if (sampling.reader.first)
		first.time = sampling.reader.first;
	pdata_map(&first);
}

/* Reads the build ID of an executable file that a record of the kernel maps, if the record has
 * none: kernels before Linux 5.12 write none. It becomes a part of the header of the perf.data
 * file. */
static void pdata_file(const struct prec *r)
{
	if (!perf_opened.build_ids && r->type == PR_MMAP2 && r->mode == PM_USER && r->prot & 4 &&
	    !(r->misc & PM_EXEC))
		symbols_file(r);
}

/* Returns whether the names and maps of all sampled tasks are known: each task existed when the
 * measurement began, or the kernel writes records of its name and maps. */
static bool has_known_tasks(const struct target *t)
{
	return !t->all && !t->ncgroups;
}

/* Writes a record to the perf.data file without the addresses that the user may not see. */
static void pdata_restricted(const struct prec *r)
{
	u32 hidden = symbols_feed(r);
	bool sample = r->type == PR_SAMPLE;

	if (sample && hidden == ALL_MODES)
		symbols_comm(r->pid, r->tid);
	else if (sample)
		symbols_task(r->pid, r->tid);
	else if (hidden >> r->mode & 1)
		return;
	pdata_file(r);
	perfdata_record(&sampling.pdata, r, hidden);
	sampling.nsamples += sample;
	if (sample && !sampling.reader.first_sample)
		sampling.reader.first_sample = r->time;
	if (sample)
		sampling.reader.last_sample = r->time;
	sampling.nhidden += sample && hidden >> r->mode & 1;
}

static void pdata_handle(const struct prec *r)
{
	pdata_file(r);
	if (has_known_tasks(&opt.target))
		return;
	symbols_feed(r);
	if (r->type == PR_SAMPLE)
		symbols_task(r->pid, r->tid);
}

static void pdata_copy(struct str records)
{
	perfdata_records(&sampling.pdata, records);
}

/* Begins the perf.data file with its list of events, each with the IDs by which the kernel
 * identifies its counts. */
static void pdata_begin(void)
{
	struct pdbufs *to = pdbufs.rows;
	u32 ids = 0;

	sampling.pdata = (struct perfdata){ .b = BUF(to->bytes), .write = pdata_write,
				   .patch = pdata_patch, .events = to->events,
				   .format = *perf_format(0) };
	sampling.reader = (struct ring_reader){ .format = perf_format,
		.handle = symbols_restricted() ? pdata_restricted : pdata_handle,
		.copy = pdata_copy };
	for (u32 ev = 1; ev <= nrows.events && sampling.pdata.nevents < MAX_PDEVENTS; ev++) {
		struct pdevent *e = &to->events[sampling.pdata.nevents];
		char *name = to->names[sampling.pdata.nevents];

		*e = (struct pdevent){ .attr = perf_attr(ev), .ids = to->ids + ids,
				       .group = events[ev].group };
		for (u32 i = 1; i <= nrows.counts; i++)
			if (counts[i].event == ev && counts[i].fd >= 0) {
				to->ids[ids++] = counts[i].id;
				e->nids++;
			}
		e->name = str_of(name, text_copy(events[ev].name, name, sizeof(to->names[0])));
		sampling.pdata.nevents += e->nids > 0;
	}
	perfdata_begin(&sampling.pdata);
}

/* Writes the records of the kernel's text and modules to the perf.data file. The names and maps of
 * tasks that started before the measurement are written when they are read from /proc: those of the
 * target at once, others with their first sample. */
static void pdata_preamble(void)
{
	static struct prec kernel;
	static const struct prec others = { .type = PR_COMM, .name = STR("[unknown]") };

	/* Adds the name [unknown] for tasks of other PID namespaces, which have TID 0 here: perf
	 * would call them swapper. */
	if (symbols_in_pid_namespace())
		pdata_map(&others);
	if (symbols_kernel(&kernel))
		pdata_map(&kernel);
	symbols_modules(pdata_map);
	perfdata_finish_round(&sampling.pdata);
	symbols.found = pdata_found;
	symbols.build_ids = true;
}

/* Returns the number of online CPUs, and stores the highest number of such a CPU in *last. */
static u32 cpus_count(u32 *last)
{
	struct cpuset online;
	u32 n = 0;

	if (!cpus_online(&online))
		return 1;
	for (u32 cpu = 0; cpu < MAX_CPUS; cpu++)
		if (cpu_has(&online, cpu)) {
			n++;
			*last = cpu;
		}
	return n ? n : 1;
}

static bool pdata_end(void)
{
	struct pdrun run = { &sampling.pdata, sampling.reader.first_sample,
			     sampling.reader.last_sample };
	struct buf b = BUF(pdbufs.rows->machine);
	struct pdfeature features[1 + PD_FEATURES] = { { PD_TRACING_DATA, sampling.tracing } };
	size_t first = str_len(sampling.tracing) == 0;
	size_t n = 1 + sample_features(&run, &b, features + 1);
	long r = perfdata_end(&sampling.pdata, features + first, n - first);

	if (r < 0)
		say_error(opt.output, r);
	return r >= 0;
}

/* --- --latency, --syscalls -------------------------------------------------------------------- */

static bool is_done(void);

static void timing_record(const struct prec *r)
{
	if (r->type == PR_SAMPLE && is_done())
		return;
	sampling.nsamples += r->type == PR_SAMPLE;
	timing_handle(r);
}

/* --- functions that handle the records in the ring buffers ------------------------------------ */

/* Stores the counts of the sample's group of events in s->group; with --reset-on-overflow their
 * differences from the sample before. */
static void group_read(struct sample *s)
{
	struct pvalue v;
	size_t i = 0;

	s->ngroup = 0;
	while (s->ngroup < MAX_GROUP &&
	       values_next(s->r->values, perf_format(s->r->id)->read_format, &i, &v)) {
		struct count *c = &counts[count_find(v.id)];
		u64 base = opt.reset_on_overflow ? c->was.value : 0;

		if (c == counts)
			continue;
		c->was.value = v.value;
		s->group[s->ngroup].event = c->event;
		s->group[s->ngroup++].count = v.value - base;
	}
}

/* Returns whether no more samples are to be shown: the output failed, or there were COUNT
 * samples. */
static bool is_done(void)
{
	return sampling.sample_failed || (opt.count && sampling.nsamples >= opt.count);
}

/* Returns the i-th word of 8 bytes of a sample; 0 if the sample is shorter. */
static u64 sample_word(struct str sample, u8 i)
{
	u64 v = 0;

	if (str_len(sample) / 8 > i)
		memcpy(&v, sample.p + (size_t)8 * i, 8);
	return v;
}

/* Prints a sample, or adds it to the sums, if it equals an earlier sample except for its time, and
 * for its period if that varies. Returns false if there is no such earlier sample: the caller has
 * to decode this one. */
static bool sample_again(struct str sample)
{
	bool done;
	u64 period = sampling.period_word ? sample_word(sample, sampling.period_word) : 0;
	i64 time = shown_time(sample_word(sample, sampling.time_word));

	sampling.repeat = repeat_of(sample);
	if (!sampling.repeat || is_done())
		return sampling.repeat;
	done = opt.profile ? repeat_sum(sampling.repeat, period) :
	       repeat_put_text(sampling.repeat, &out, time);
	sampling.nsamples += done;
	if (done && !flush_record())
		sampling.sample_failed = true;
	return done;
}

/* Returns whether the event samples kernel code. */
static bool samples_kernel(u32 ev)
{
	return !opt.target.user_only && !events[ev].hidden &&
	       (events[ev].mods & (EM_USER | EM_KERNEL | EM_HV)) != EM_USER;
}

/* Returns whether a sample is one of skid: the event excludes the kernel and overflowed in user
 * code, but the CPU entered the kernel before the sample was taken. Linux 7.3 writes address 0. */
static bool is_skid(const struct sample *s)
{
	return s->at.ip == 0 && (perf_opened.user_only || !samples_kernel(s->event));
}

/* Sets the symbol of a sample for which is_skid() is true to [skid], and counts the sample. The
 * sample is not remembered, so that equal samples are counted, too. */
static void skid_put(struct sample *s)
{
	s->at.symbol = (struct str)STR("[skid]");
	sampling.nskid++;
	sampling.repeat = NULL;
}

static void record_handle(const struct prec *r)
{
	struct sample *s = &sampling.current;
	u32 hidden = symbols_feed(r);
	bool hide = r->type == PR_SAMPLE && hidden >> r->mode & 1;
	struct prec shown = *r;

	s->e = (struct entity){ .kind = K_SAMPLE };
	s->common = sampling.common;
	/* Records other than samples may rename a task or change its maps: remembered samples are
	 * invalid then. */
	if (r->type != PR_SAMPLE) {
		repeats_forget();
		sampling.repeat = NULL;
	}
	if ((r->type != PR_SAMPLE && !r->lost) || is_done())
		return;
	sampling.nhidden += hide;
	if (hide) {
		shown.have &= ~(u64)(PS_IP | PS_ADDR | PS_RAW);
		shown.ip = 0;
	}
	s->r = &shown;
	s->event = r->type == PR_SAMPLE ? perf_event_of(r) : NONE;
	s->comm = s->event ? symbols_comm(r->pid, r->tid) : (struct str){ 0 };
	s->at = (struct frame){ .ip = shown.ip, .mode = r->mode };
	/* a record of lost samples has no call chain, counts or fields */
	s->nchain = s->ngroup = s->nfields = 0;
	s->period = 0;
	if (s->event) {
		sampling.nsamples++;
		s->period = r->have & PS_PERIOD ? r->period :
			   events[s->event].period && !events[s->event].freq ?
			   events[s->event].period : sampling.period_now;
		if (shown.have & PS_RAW)
			s->fields = tracepoint_fields(s->event, &s->nfields);
		group_read(s);
		if (s->ngroup)
			sampling.repeat = NULL;
		if (shown.have & PS_IP && is_skid(s))
			skid_put(s);
		else if (shown.have & PS_IP)
			name_frame(&s->at, r->pid);
		name_chain(s, hidden);
	}
	if (!opt.profile)
		show_sample(s);
	else if (s->event)
		profile_sample(s);
	sampling.repeat = NULL;
	/* s points to a static variable, and s->r to the local variable `shown`, which ends here */
	s->r = NULL;
}

/* Returns the index of the word of a sample before which it has these fields, of one word each. */
static u8 word_after(u64 fields)
{
	return (u8)(1 + bit_count(fields)); /* the first word of the record is its header */
}

/* Returns the number of events that can have samples. A hidden event has none: it is counted
 * because another event or the records of tasks need it. */
static u32 events_shown(void)
{
	u32 n = 0;

	for (u32 i = 1; i <= nrows.events; i++)
		n += !events[i].hidden;
	return n;
}

/* Finds the positions of the values that may differ in samples that count as equal: the time and
 * the period. Samples are not remembered if each has the counts of its group, or if the output
 * depends on earlier records. */
static void repeats_begin(void)
{
	u64 t = perf_format(0)->sample_type;

	sampling.reader = (struct ring_reader){ .format = perf_format, .handle = record_handle };
	sampling.time_word = word_after(t & (PS_IDENTIFIER | PS_IP | PS_TID));
	repeats_ignore(sampling.time_word);
	/* samples with different periods count as equal only if the output has sums of one event */
	if (opt.profile && events_shown() == 1 && t & PS_PERIOD) {
		sampling.period_word = word_after(t & (PS_IDENTIFIER | PS_IP | PS_TID | PS_TIME |
							PS_ADDR | PS_CPU));
		repeats_ignore(sampling.period_word);
	}
	if (t & PS_TIME && !(t & PS_READ) && !symbols_restricted() &&
	    (opt.profile || (format_is_stateless(opt.out.fmt) && !opt.out.one_line)))
		sampling.reader.again = sample_again;
}

static bool print_profile(void)
{
	static struct profile p = { .e = { .kind = K_PROFILE, .used = true } };

	for (p.table = 0; p.table < PROF_TABLES; p.table++) {
		size_t n = opt.profile >> p.table & 1 ? profile_sort(p.table) : 0;

		n = opt.top && n > opt.top ? (size_t)opt.top : n;
		for (size_t i = 0; i < n; i++) {
			p.row = profile_row(p.table, i);
			if (p.table == PROF_STACK)
				folded_row(&out, p.row);
			else if (!show_record(&p.e, &untimed))
				return false;
			if (!flush_record())
				return false;
		}
	}
	return flush();
}

/* Sets the next sampling period: that of --long-period after a ring reached its wakeup mark, else
 * that of --short-period or --sample-period. Adds the random bits of --period-random. */
static void vary_period(const struct measure *m)
{
	u64 period = m->woken && opt.long_period ? opt.long_period :
		     opt.short_period ? opt.short_period : opt.target.period;

	if (!opt.random_mask && !opt.long_period && !opt.short_period)
		return;
	opt.seed = opt.seed % 0x7fffffff ? opt.seed : 1;
	/* Carta's random number generator, as in perfmon2 */
	opt.seed = 16807 * (opt.seed & 0x7fffffff) % 0x7fffffff;
	period += opt.seed & opt.random_mask;
	if (!period || period == sampling.period_now)
		return;
	perf_period(sampling.period_now = period);
	repeats_forget();
}

/* Handles the records in the ring buffers. all: true at the end of the run, or if a ring is nearly
 * full: handles all records up to now. Else handles only records that are older than 1 ms, because
 * another CPU may still write a record that precedes the newer ones. */
static void drain(bool all)
{
	i64 now = sys_now(CLOCK_MONOTONIC);

	if (makes_perfdata() && symbols_restricted())
		rings_drain((u64)now - (all ? 0 : 1000000), &sampling.reader);
	else if (makes_perfdata())
		sampling.nsamples += rings_copy(&sampling.reader);
	if (makes_perfdata()) {
		perfdata_finish_round(&sampling.pdata);
		return;
	}
	/* The difference between CLOCK_REALTIME and CLOCK_MONOTONIC is computed again for each
	 * reading of the rings, because CLOCK_REALTIME may have been set. */
	sampling.clock_offset = opt.out.time == T_MONO ? 0 : sys_now(CLOCK_REALTIME) - now;
	/* With -o perfetto and -o chrome, update_offset() also reads CLOCK_MONOTONIC and
	 * CLOCK_BOOTTIME again. */
	update_offset();
	rings_drain((u64)now - (all ? 0 : 1000000), &sampling.reader);
	if (!sampling.sample_failed && !flush())
		sampling.sample_failed = true;
}

/* Reports lost samples that no record in a ring has reported. lost: number of all lost samples, as
 * the kernel counts them. */
static void losses_report(u64 lost)
{
	struct prec r = { .type = PR_LOST_SAMPLES, .lost = lost - rings_lost, .have = PS_TIME,
			  .time = (u64)sys_now(CLOCK_MONOTONIC) };

	if (lost <= rings_lost)
		return;
	if (makes_perfdata())
		perfdata_synthesize(&sampling.pdata, &r);
	else
		record_handle(&r);
	rings_lost = lost;
}

/* --- the live screen -------------------------------------------------------------------------- */

static bool live_draw(const struct measure *m)
{
	char name[64];
	struct profhead head = {
		.samples = sampling.nsamples, .lost = rings_lost,
		.seconds = (u64)(sys_now(CLOCK_MONOTONIC) - m->begun) / 1000000000,
	};
	bool good;

	head.event = str_of(name, text_copy(events[1].name, name, sizeof(name)));
	profile_draw(&terminal.screen, &head, opt.profile, opt.top);
	out.n = 0;
	screen_frame(&terminal.screen, &out);
	good = terminal_show(out.p, out.n);
	out.n = 0;
	return good;
}

static bool live_begin(const struct measure *m)
{
	unsigned rows, cols;

	terminal.keeps_stops = true;
	terminal.screen.ascii = !terminal_is_utf8();
	terminal.screen.plain = !opt.out.colour;
	terminal_catch();
	terminal_measure(&rows, &cols);
	return terminal_enter() && live_draw(m);
}

/* Reads the keys that were typed. Returns false if one of them ends the run, or if the terminal is
 * closed. */
static bool live_keys(void)
{
	char b[64];
	long n = sys_read(0, b, sizeof(b));
	bool on = n > 0 || n == -EINTR || n == -EAGAIN;

	for (long i = 0; i < n; i++) {
		u16 key = key_feed(&terminal.keys, (u8)b[i]);

		on &= key != 'q' && key != KEY_F10 && key != 3; /* ^C */
		if (key == '\f')
			terminal.screen.known = false;
	}
	return on;
}

/* Handles the keys and signals that came since the last call, and draws the screen, except if the
 * only reason for the call is that a ring is full. Returns false if the run ends. */
static bool live_update(const struct measure *m)
{
	unsigned rows, cols;

	if (m->typed && !live_keys())
		return false;
	if (terminal.suspended)
		terminal_suspend();
	if (terminal.resumed && !terminal_enter())
		return false;
	if (terminal.resumed || terminal.resized)
		terminal_measure(&rows, &cols);
	terminal.resumed = terminal.resized = 0;
	return !stopped && (m->woken || live_draw(m));
}

static void sample_loop(struct measure *m)
{
	while (measure_next(m)) {
		drain(m->woken);
		vary_period(m);
		if (opt.live && !live_update(m))
			m->stop = true;
		if (m->limit && !m->argv && sampling.nsamples + rings_lost >= m->limit)
			/* Without a user's command, whose end would end the run, the run ends at
			 * the limit of samples. */
			m->stop = true;
		if (is_done())
			m->stop = true;
	}
	drain(true);
	losses_report(perf_lost());
	if (!sampling.sample_failed && !makes_perfdata() && !flush())
		sampling.sample_failed = true;
}

/* Returns whether samples may have a data address. Those of cpu-clock and task-clock have none:
 * perf_swevent_hrtimer() in kernel/events/core.c. */
static bool has_addresses(void)
{
	for (u32 i = 1; i <= nrows.events; i++)
		if (!events[i].hidden && (events[i].type != PT_SOFTWARE ||
					  events[i].config[0] > PERF_COUNT_SW_TASK_CLOCK))
			return true;
	return false;
}

/* Returns the fields of samples that the output needs, as bits PS_*. Each field takes 8 bytes in a
 * ring. */
static u32 sample_fields(const struct target *t)
{
	if (timing_is_on())
		return PS_TID | PS_TIME;
	if (makes_perfdata()) /* A perf.data file has the fields that perf record requests. */
		return PS_IP | PS_TID | PS_TIME | (has_known_tasks(t) && !t->raw ? 0 : PS_CPU);
	return PS_IP | PS_TID | PS_TIME |
	       (opt.profile ? 0 : PS_CPU | (has_addresses() ? PS_ADDR : 0));
}

/* Returns whether an event may have a burst of samples, because its period is less than 100
 * counts. */
static bool has_bursts(const struct target *t)
{
	enum { SHORT = 100 };

	for (u32 i = 1; i <= nrows.events; i++) {
		u64 period = events[i].period ? events[i].period : t->period;

		if (!events[i].freq && period && period < SHORT)
			return true;
	}
	return false;
}

/* Returns the number of pages of each ring: 128, which any user may have; for events with bursts of
 * samples up to 4 MiB, but 8 MiB for all CPUs together. A size that the kernel refuses is
 * halved. */
static u32 pages_default(const struct target *t)
{
	enum { FEW = 128, RING_BYTES = 4 << 20, ALL_BYTES = 8 << 20 };
	u32 last, cpus = cpus_count(&last);
	u64 bytes = RING_BYTES;

	while (bytes * cpus > ALL_BYTES)
		bytes /= 2;
	bytes /= sys_page_size();
	/* With t->limit or t->no_inherit each task has a ring of its own: the rings must be
	 * small. */
	if (!has_bursts(t) || bytes < FEW || t->limit || t->no_inherit)
		return FEW;
	return (u32)bytes;
}

/* Returns the interval, in ns, at which the rings are read even if none has reached its wakeup
 * mark; 0: never. Names and maps that the kernel writes to no record must be read from /proc while
 * their task still runs. */
static i64 read_interval(const struct target *t)
{
	/* true if samples need not be shown at once, because they are summed up or go to a file */
	bool later = opt.profile || timing_is_on() || makes_perfdata() || sys_is_regular(out_fd);

	if (!later || opt.count || opt.long_period || opt.short_period)
		return 100000000;
	return makes_perfdata() && has_known_tasks(t) ? 0 : 1000000000;
}

/* Sets the intervals after which the rings are read. The first one is shorter: the names of tasks
 * that existed before the run are read with their first sample, unless the tasks have ended by
 * then. */
static void set_intervals(struct measure *m)
{
	enum { FIRST = 100000000 };

	m->interval = read_interval(&opt.target);
	m->first = m->interval ? FIRST : 0;
}

static const char *sample_default(void)
{
	return timing_is_on() ? timing_events() : perf_has_pmu() ? "cycles" : "cpu-clock";
}

/* Returns an error message if the options contain one that --live excludes, else NULL. */
static const char *live_conflict(void)
{
	if (opt.command || opt.output || opt.out.fmt != format_find((struct str)STR("line")))
		return "--live excludes a command, -o and -O: use -a, -C, -p or -t";
	return terminal_is_dumb() ? "--live requires a full-screen terminal" : NULL;
}

static int sample_options(struct target *t)
{
	int code;

	if (opt.call_graph != UNWIND_FP)
		return usage_z("--call-graph dwarf and lbr are not supported: use fp, "
			       "and compile with -fno-omit-frame-pointer");
	if (opt.live && live_conflict())
		return usage_z(live_conflict());
	if (opt.live && !opt.profile)
		opt.profile = 1 << PROF_SYMBOL;
	if (t->period && t->freq)
		return usage("--freq and --sample-period", " exclude each other", NULL);
	t->period_varies = opt.random_mask || opt.long_period || opt.short_period;
	if (t->period_varies && !t->period)
		return usage_z("--period-random, --long-period and --short-period "
			       "require --sample-period");
	if (opt.profile && format_is_folded(opt.out.fmt) && opt.profile == ALL_SUMS)
		/* With -o folded, the option --summary without a value means only the sums by call
		 * stack. */
		opt.profile = 0;
	if (timing_is_on() && (code = timing_options(t)) >= 0)
		return code;
	if (opt.profile && (format_is_folded(opt.out.fmt) || makes_perfdata()))
		return usage_z("--summary does not support -o folded and -o perfdata");
	if (format_is_folded(opt.out.fmt))
		opt.profile = 1 << PROF_STACK;
	if (opt.profile)
		opt.out.kind = K_PROFILE;
	else if (opt.top && !timing_is_on())
		return usage_z("--top requires --summary");
	opt.out.once = opt.profile || timing_is_on();
	if (makes_perfdata() && !opt.output)
		return usage_z("-o perfdata requires -O FILE");
	t->sampling = true;
	/* With --reset-on-overflow events are not inherited, because an inherited event has a
	 * separate count in each thread. */
	t->no_inherit |= opt.reset_on_overflow;
	sampling.period_now = t->period;
	if (!t->period && !t->freq)
		t->freq = 4000;
	/* Wake this process up at each sample if the measurement ends after some number of samples,
	 * or if each sample has its own period. Otherwise t->wakeup stays 0: the kernel wakes the
	 * process up when half of a ring is full, also if it allows only a smaller ring than
	 * requested: ring_buffer_init() in kernel/events/ring_buffer.c */
	if (!t->wakeup && (t->limit || opt.random_mask))
		t->wakeup = 1;
	return -1;
}

static void say_sample_end(void)
{
	say_dropped();
	if (perf_opened.user_only)
		say_user_only();
	if (rings_lost)
		say_number(rings_lost, " samples were lost: the ring buffers were full; "
				       "--mmap-pages makes them larger");
	if (rings_corrupt)
		say_number(rings_corrupt, " invalid records from the kernel were skipped");
	if (sampling.nhidden)
		say_number(sampling.nhidden,
			   " samples have no address: only root may see addresses");
	if (sampling.nskid)
		say_number(sampling.nskid,
			   " samples skidded into the kernel and have no address");
	if (symbols.hidden && opt.verbose)
		say_z("the kernel hides its function names (kernel.kptr_restrict); run as root");
	if (symbols.remote)
		say_number(symbols.remote,
			   " files on FUSE or network mounts were not read for symbols");
	if (symbols.dropped || profile_sums.dropped)
		say_number(symbols.dropped + profile_sums.dropped,
			   " function names or profile rows were left out: "
			   "gpustat's tables are full");
}

/* Prints the highest rate that the kernel allows, if --freq is higher. Returns false if it is
 * not. */
static bool say_rate(void)
{
	char text[32];
	struct str line;
	u64 most;

	if (!opt.target.freq ||
	    !slurp_line(roots.proc, "sys/kernel/perf_event_max_sample_rate", text, sizeof(text),
			&line) ||
	    scan_u64(line, &most) != line.e || opt.target.freq <= most)
		return false;
	text[line.e - text] = '\0';
	say("--freq exceeds kernel.perf_event_max_sample_rate: ", line.p, NULL);
	return true;
}

/* Appends " on CPU 7" if the CPU of a count is offline. */
static void put_cpu(struct buf *b, const struct count *c)
{
	if (c->state != CS_OFFLINE)
		return;
	put_z(b, " on CPU ");
	put_u64(b, (u64)c->cpu);
}

/* Prints the events that could not be opened on some or all CPUs or tasks, and the reasons. Returns
 * false if no event could be opened. */
static bool say_events(void)
{
	bool any = false;

	for (u32 ev = 1; ev <= nrows.events; ev++) {
		char name[256];
		struct buf b = { .p = name, .n = text_copy(events[ev].name, name, 200),
				 .cap = sizeof(name) - 1 };
		u8 state = CS_COUNTED;
		bool some = false;

		for (u32 i = 1; i <= nrows.counts; i++) {
			if (counts[i].event != ev)
				continue;
			some |= counts[i].fd >= 0;
			if (counts[i].fd >= 0 || counts[i].state == CS_GONE ||
			    counts[i].state <= state)
				continue;
			state = counts[i].state;
			put_cpu(&b, &counts[i]);
		}
		any |= some && !events[ev].hidden;
		name[b.n] = '\0';
		if (events[ev].hidden)
			continue;
		if (state == CS_REFUSED ? !say_rate() : state || !some)
			say(name, some ? ": on some CPUs or tasks " : ": ", state == CS_REFUSED ?
			    "the kernel cannot sample this event with these settings; "
			    "gpustat stat may count it" :
			    state_text(state ? state : CS_GONE));
	}
	return any;
}

/* Prints an error if there are events that cannot be sampled (gpustat's own counters), or more
 * events than a perf.data file can have. Returns an exit code, or -1 to continue. */
static int check_events(void)
{
	if (makes_perfdata() && nrows.events > MAX_PDEVENTS)
		return usage_z("-o perfdata supports at most 1024 events");
	for (u32 i = 1; i <= nrows.events; i++) {
		if (events[i].virt)
			return usage_z("only perf events can be sampled, "
				       "not gpustat's own counters");
	}
	return -1;
}

/* Without --freq and --sample-period, samples each hit of a tracepoint, a breakpoint or a probe, as
 * perf record does. With a frequency, the period that the kernel begins with would skip nearly all
 * hits of an event with few hits. */
static void periods_default(void)
{
	for (u32 i = 1; i <= nrows.events; i++)
		if (!events[i].period && (events[i].type == PT_TRACEPOINT ||
					  events[i].type == PT_BREAKPOINT || events[i].path))
			events[i].period = 1;
}

/* Returns whether the output has the fields of tracepoints, such as next_pid of sched_switch. */
static bool shows_fields(void)
{
	bool shows = makes_perfdata() || (!opt.profile && !opt.out.npatterns &&
					  format_has_all_fields(opt.out.fmt));

	for (size_t i = 0; i < opt.out.npatterns && !opt.profile; i++) {
		struct str p = opt.out.patterns[i];

		shows |= str_is(p, "field") || str_skip_z(&p, "field.");
		sampling.common |= str_skip_z(&p, "common_");
	}
	return shows;
}

/* Finds the fields of tracepoints, if the output has them. */
static void fields_prepare(struct target *t)
{
	long r = 0;

	for (u32 i = 1; i <= nrows.events && !t->raw; i++)
		t->raw = events[i].type == PT_TRACEPOINT && shows_fields();
	if (t->raw && !may_see(SEE_TRACEPOINT_FIELDS)) {
		t->raw = false;
		say("fields of tracepoints", " are shown only to root, or with sysctl ",
		    "kernel.perf_event_paranoid=-1");
	}
	if (t->raw)
		r = tracepoints_read();
	if (r < 0)
		say_error("cannot read the fields of tracepoints", r);
	if (t->raw && makes_perfdata())
		sampling.tracing = tracepoints_data();
}

static int open_sample_output(void)
{
	bool file = makes_perfdata();
	int code = sink_open();

	if (code < 0 && file && !sys_is_regular(out_fd))
		return usage_z("-o perfdata requires a regular file: its header is written last");
	if (code < 0 && file && !table_all(&pdbufs.t)) {
		say_error(opt.output, -ENOMEM);
		return EX_FAIL;
	}
	return code;
}

/* Adds a hidden event if --cpu selects only some CPUs. A sampled task may execute another program
 * on any other CPU: the hidden event counts nothing there, but makes the kernel write records of
 * the task's new name and maps. Returns false after an error message. */
static bool add_tracker(void)
{
	struct cpuset online;
	bool others = false;

	for (u32 cpu = 0; opt.target.has_cpus && cpus_online(&online) && cpu < MAX_CPUS; cpu++)
		others |= cpu_has(&online, cpu) && !cpu_has(&opt.target.cpus, cpu);
	if (!others)
		return true;
	if (!add_events(str_z("dummy"), 0))
		return false;
	events[nrows.events].hidden = events[nrows.events].elsewhere = true;
	return true;
}

/* Prepares the measurement, but does not open the events yet. Returns the exit code, or -1 to
 * continue. */
static int sample_prepare(struct measure *m)
{
	bool timed = opt.target.period || opt.target.freq;
	int code = sample_options(&opt.target);

	if (code >= 0)
		return code;
	if (!open_roots(false))
		return EX_FAIL;
	if ((code = open_control(m)) >= 0)
		return code;
	if (!add_lists() || (opt.nevents == 0 && !add_events(str_z(sample_default()), 0)) ||
	    !add_tracker())
		return EX_USAGE;
	if ((code = check_events()) >= 0 || (code = find_target(&opt.target)) >= 0)
		return code;
	if (timing_is_on())
		timing_target(&opt.target);
	if (!timed)
		periods_default();
	m->pages = opt.pages ? opt.pages : pages_default(&opt.target);
	fields_prepare(&opt.target);
	if (timing_is_on() && !timing_fields())
		return EX_FAIL;
	opt.target.fields = sample_fields(&opt.target);
	opt.target.build_ids = makes_perfdata();
	code = open_sample_output();
	set_intervals(m);
	return code;
}

static int sample_finish(const struct measure *m, bool any)
{
	int code = command_result(m, any ? EX_OK : EX_DENIED);

	if (m->failure) /* the command could not be started: keep the old output file */
		return code;
	if (sampling.sample_failed || (any && opt.profile && !opt.live && !print_profile()) ||
	    (any && timing_is_on() && !timing_print()))
		return EX_FAIL;
	say_sample_end();
	rings_close();
	return finish_sample() == EX_OK ? code : EX_FAIL;
}

/* Returns whether an event samples kernel code: then the kernel's symbols are needed. Reading
 * them takes some 50 ms, in which a ring could overflow. */
static bool has_kernel(void)
{
	for (u32 i = 1; i <= nrows.events; i++)
		if (samples_kernel(i))
			return true;
	return false;
}

static void ready(i32 child, bool again)
{
	(void)again;
	record_alloc();
	if (opt.profile)
		profile_begin(opt.profile);
	if (timing_is_on())
		timing_begin(child);
	symbols_restrict(&opt.target, child);
	/* read the kernel's symbols after the fork: with vm.overcommit_memory 2 the fork would
	 * count their memory twice */
	if (has_kernel() && !timing_is_on())
		symbols_preload();
	opt.calls |= opt.live ? CALLS_SCREEN : 0;
	confine(child);
}

int cmd_sample(void)
{
	struct measure m = { .target = &opt.target, .argv = opt.command, .delay = opt.delay,
			     .timeout = opt.timeout, .control = -1, .ack = -1, .sampling = true,
			     .ready = ready };
	int code = sample_prepare(&m);
	bool any;
	long r;

	if (code >= 0)
		return code;
	if (opt.windowed && !opt.timeout)
		m.timeout = opt.window;
	update_offset();
	tasks_catch(opt.command);
	m.keys = opt.live && sys_columns(0) >= 0;
	r = measure_start(&m);
	if (r < 0) {
		say(m.rings < 0 ? "cannot map a ring buffer: " : "cannot start a process: ",
		    error_text(r), m.rings < 0 ? "; use a smaller --mmap-pages or "
				  "a larger kernel.perf_event_mlock_kb" : NULL);
		return EX_FAIL;
	}
	/* Keep the privileges that the user has, because reading the maps of newly sampled tasks
	 * requires them. Privileges that come from the program's file (file capabilities) are
	 * dropped: a user who may execute the file would see the maps of other users' tasks. */
	keep_privileges(privilege_from_file() ? 0 : MAY_READ | MAY_PTRACE | MAY_SYMBOLS);
	any = say_events();
	if (timing_is_on()) {
		sampling.reader = (struct ring_reader){ .format = perf_format,
							.handle = timing_record };
	} else if (makes_perfdata()) {
		pdata_begin();
		pdata_preamble();
	} else {
		repeats_begin();
		if (opt.target.raw)
			columns_prepare();
	}
	/* Read the names and maps of the tasks of -p and -t now, because they may end before the
	 * first reading of the rings. */
	for (u32 i = 0; i < opt.target.ntasks; i++)
		symbols_task(opt.target.tasks[i].leader, opt.target.tasks[i].tid);
	if (opt.live && !live_begin(&m))
		m.stop = true;
	sample_loop(&m);
	if (opt.live)
		terminal_leave();
	if (makes_perfdata() && !pdata_end())
		return EX_FAIL;
	return sample_finish(&m, any);
}
