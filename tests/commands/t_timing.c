/* t_timing.c - `sample --latency` and `--syscalls`: options, the fields that are needed, what each
 * record adds, cut samples, the tasks of a command, the printed rows. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/timing.c"
#undef replay
#include "said.h"

struct opts opt;
struct buf out;
int out_fd = 1;

static struct {
	const char *missing; /* a field that no tracepoint has */
	u32 event;           /* of the next record */
	bool show_fails;
	char rows[1024];
	struct buf shown;
} fake;

/* All fields are numbers of 8 bytes or, with "comm" in the name, texts of 8 bytes: in their order. */
static struct tpfield field_of[16];
static u32 nfields;

const struct tpfield *tracepoint_find(u32 event, const char *name)
{
	static const char *last;
	static u32 last_event, at;

	if (fake.missing && strcmp(fake.missing, name) == 0)
		return NULL;
	at = event != last_event || !last ? 0 : at + 8;
	last = name;
	last_event = event;
	field_of[nfields] = (struct tpfield){ .at = at, .size = 8, .each = 8, .is_signed = true,
					      .form = strstr(name, "comm") ? TP_TEXT : TP_NUMBER };
	return &field_of[nfields++];
}

u32 perf_event_of(const struct prec *r) { return r->id ? fake.event : NONE; }
bool flush(void) { return true; }
bool flush_record(void) { return true; }

bool show_record(const struct entity *e, const struct recopts *ro)
{
	const struct interval *x = ((const struct timesum *)(const void *)e)->sum;
	char text[128];

	snprintf(text, sizeof(text), "%u %" PRIu64 " %s: %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", e->kind == K_LATENCY,
		 x->key, x->comm, x->count, x->errors, x->total, x->max);
	put_z(&fake.shown, text);
	return !fake.show_fails && ro->time_us == -1;
}

static void clear(bool latency)
{
	memset(&opt, 0, sizeof(opt));
	memset(&fake, 0, sizeof(fake));
	memset(&timing, 0, sizeof(timing));
	fake.shown = BUF(fake.rows);
	opt.out.fmt = format_find(LIT("json"));
	opt.latency = latency;
	opt.syscalls = !latency;
	opt.out.kind = latency ? K_LATENCY : K_SYSCALL;
	said.n = nfields = 0;
	table_has(&events_table, 4);
	nrows.events = latency ? 3 : 2;
	memset(events, 0, 5 * sizeof(*events));
}

static void t_options(void)
{
	static char *argv[] = { NULL };
	struct target *t = &opt.target;

	for (int i = 0; i < 14; i++) {
		static const char *const why[] = {
			"exclude each other", "-e, --summary", "-e, --summary", "-e, --summary", "folded", "perfdata",
			"periods", "periods", "periods", "periods", "periods", "periods", "exclude -C", "excludes -G",
		};

		clear(true);
		opt.syscalls = i == 0;
		opt.nevents = i == 1;
		opt.profile = i == 2;
		t->callchain = i == 3;
		opt.out.fmt = format_find(i == 4 ? LIT("folded") : i == 5 ? LIT("perfdata") : LIT("json"));
		t->period = i == 6;
		t->freq = i == 7;
		t->limit = i == 8;
		opt.long_period = i == 9;
		opt.short_period = i == 10;
		opt.random_mask = i == 11;
		t->has_cpus = i == 12;
		t->ncgroups = i == 13;
		check(timing_options(t) == EX_USAGE && is_said(why[i]), "an option that does not fit: %s", why[i]);
	}
	clear(false);
	t->ncgroups = 1;
	opt.command = argv;
	check(timing_options(t) == -1 && t->period == 1 && t->raw && opt.out.kind == K_SYSCALL, "system calls of a cgroup");
	clear(false);
	check(!strstr(timing_events(), "sched") && timing_is_on(), "the events of system calls");
	timing_target(t);
	check(!t->all, "system calls are those of the target");
	clear(true);
	check(!strstr(timing_events(), "sys_enter") && timing_is_on(), "the events of waits");
	opt.latency = false;
	check(!timing_is_on(), "neither");
}

static void t_fields(void)
{
	clear(true);
	check(timing_fields() && nfields == 2 + 2 + 5, "all fields of waits");
	clear(true);
	fake.missing = "next_pid";
	check(!timing_fields() && is_said("sched:sched_switch: this tracepoint has no field next_pid"), "a missing field");
	events[3].denied = true;
	check(timing_fields(), "fields of a tracepoint that only root may read");
	clear(false);
	check(timing_fields() && nfields == 3, "all fields of system calls");
}

/* Handles a sample of an event with these words. */
static void sample(u32 event, u32 tid, u64 time, const u64 *words, size_t bytes)
{
	struct prec r = { .type = PR_SAMPLE, .id = 1, .tid = tid, .time = time,
			  .payload = str_of((const char *)words, bytes) };

	fake.event = event;
	timing_handle(&r);
}

static u64 name(const char *z)
{
	u64 v = 0;

	memcpy(&v, z, strlen(z));
	return v;
}

static void wake(u32 event, u64 tid, u64 time) { sample(event, 1, time, (u64[]){ tid, name("woken") }, 16); }

static void change(u64 from, u64 state, u64 to, u64 time)
{
	sample(3, 1, time, (u64[]){ from, name("from"), state, to, name("to") }, 40);
}

static struct str rows(void)
{
	fake.shown.n = 0;
	check(timing_print(), "rows are printed");
	return str_of(fake.rows, fake.shown.n);
}

static void t_latency(void)
{
	static char *argv[] = { NULL };
	struct member one = { 30, 30 };

	clear(true);
	opt.command = argv;
	timing_target(&opt.target);
	check(opt.target.all && timing_fields(), "waits: the target is the whole machine");
	timing_begin(20);
	wake(2, 20, 10);
	change(7, 1, 20, 15);
	change(20, 0x100, 7, 20);
	change(7, 0x400, 20, 40);
	change(20, 1, 7, 50);
	timing_handle(&(struct prec){ .type = PR_FORK, .parent = 20, .parent_tid = 20, .who = 21, .who_tid = 21 });
	timing_handle(&(struct prec){ .type = PR_FORK, .parent = 7, .parent_tid = 7, .who = 8, .who_tid = 8 });
	wake(1, 21, 60);
	wake(1, 8, 60);
	change(20, 1, 21, 67);
	change(20, 1, 8, 67);
	change(9, 1, 20, 90);
	check_str(rows(), "1 20 to: 2 0 25 20\n1 21 to: 1 0 7 7\n",
	          "waits: rows of the command and its descendants");
	timing_handle(&(struct prec){ .type = PR_LOST_SAMPLES, .lost = 1 });
	wake(1, 20, 100);
	timing_handle(&(struct prec){ .type = PR_LOST, .lost = 1 });
	change(9, 1, 20, 200);
	sample(3, 1, 300, (u64[]){ 20, name("x"), 0 }, 24);
	sample(1, 1, 300, NULL, 0);
	sample(NONE, 1, 300, (u64[]){ 20 }, 8);
	opt.top = 1;
	check_str(rows(), "1 20 x: 2 0 25 20\n",
	          "waits: lost and truncated samples add nothing; --top 1 prints one row");
	fake.show_fails = true;
	check(!timing_print(), "waits: an error of the output is returned");
	clear(true);
	opt.target.tasks = &one;
	opt.target.ntasks = 1;
	timing_target(&opt.target);
	check(timing_fields(), "fields");
	timing_begin(40);
	wake(1, 30, 10);
	wake(1, 40, 10);
	change(7, 1, 30, 15);
	change(7, 1, 40, 15);
	check(strstr(rows().p, "1 30 to: 1 0 5 5") && !strstr(fake.rows, "1 40 "),
	      "waits: rows of the tasks of -p only");
}

static void t_syscalls(void)
{
	clear(false);
	check(timing_fields(), "fields");
	timing_begin(20);
	sample(1, 5, 10, (u64[]){ 3 }, 8);
	sample(2, 5, 14, (u64[]){ 3, 0 }, 16);
	sample(1, 5, 20, (u64[]){ 3 }, 8);
	sample(2, 5, 26, (u64[]){ 3, (u64)-4095 }, 16);
	sample(1, 5, 30, (u64[]){ 9 }, 8);
	sample(2, 5, 31, (u64[]){ 9, (u64)-4096 }, 16);
	sample(1, 5, 40, (u64[]){ 3 }, 8);
	timing_handle(&(struct prec){ .type = PR_EXIT, .who_tid = 5 });
	sample(2, 5, 50, (u64[]){ 3, 0 }, 16);
	check_str(rows(), "0 3 : 2 1 10 6\n0 9 : 1 0 1 1\n",
	          "system calls: counts and errors, a result that looks like an error, a task that ends");
}

int main(void)
{
	t_options();
	t_fields();
	t_latency();
	t_syscalls();
	return unit_end();
}
