/* t_run.c - `run`: use of each device by a command, from readings of devices and clients; clients
 * that end between two readings; the time of the next reading; the report. Readings are simulated.
 * SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static i64 clock_now; /* ns */
static i64 fake_now(void) { return clock_now; }
static long cpu_times = 1500000000; /* ns of user time; -errno: unknown */
static long fake_rusage(u64 *user, u64 *system)
{
	*user = (u64)cpu_times;
	*system = 250000000;
	return cpu_times < 0 ? cpu_times : 0;
}
#define sys_now(clock) fake_now()
#define sys_rusage_children(user, system) fake_rusage(user, system)
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has a function of this name, too */
#include "../../commands/run.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
volatile sig_atomic_t stopped;
u32 row_list[8], *order = row_list;
size_t norder;
u32 nodes_opens, holders_found;
struct rescan rescan;
bool (*process_filter)(u32 pid);
struct sensing sensing;
struct fdinfo_scope fdinfo_scope;

static char bytes[OUT_BYTES], step_bytes[512];
static struct buf steps;

static struct {
	u32 devices;           /* number of devices that choose_devices() finds */
	void (*fill)(void);    /* puts the values of a reading */
	i64 takes;             /* ns that a reading takes */
	bool opened, no_roots, unwatched, unscanned, node_event;
	u32 full_samples, all, running;
	u32 ends_after;        /* waits until the command ends */
	u32 waits;
	size_t watched[2];     /* number of descriptors of the first two calls of tasks_wait() */
	long start, release, failure;
	i32 status;
	bool finish_fails;
	u8 kept;
	i32 confined;
} fake;

static void step(const char *name) { put_z(&steps, name); put_c(&steps, ' '); }

static void fill(void)
{
	if (fake.fill)
		fake.fill();
	clock_now += fake.takes;
}

static void nothing(void) { }
const struct source src_sysfs = { .scan = nothing }, src_fdinfo = { .scan = nothing, .sample = fill };
void sources_sample(bool scan) { fake.full_samples += scan; fill(); }
void sources_start(void) { step("start"); }
void hide_clients(void) { }
bool nodes_opened(void) { return fake.opened; }
i32 nodes_fd(void) { return fake.unwatched ? -1 : 8; }
u32 tree_size(u32 *living) { *living = fake.running; return fake.all; }
void tree_begin(void) { step("tree"); }
bool tree_has(u32 pid) { return pid; }
struct rescan_facts rescan_facts(void) { return (struct rescan_facts){ .scanned = !fake.unscanned }; }
bool open_roots(bool needed) { return !needed && !fake.no_roots; }
int sink_open(void) { step("sink"); return -1; }
int no_device(void) { say_z("no device"); return EX_NODEVICE; }
void tasks_catch(bool command_too) { step(command_too ? "catch" : "catch-less"); }
void files_raise(void) { }
void confine(i32 child) { fake.confined = child; step("confine"); }
void keep_privileges(u8 may) { fake.kept = may; }
long child_release(void) { step("release"); return fake.release; }
long child_failure(void) { return fake.failure; }
i64 sample_time(void) { return 1; }
void update_offset(void) { }
int command_code(long failure, int status) { return failure < 0 ? 127 : (opt.command_exit = status); }
int finish_sample(void) { step("end"); return fake.finish_fails ? EX_FAIL : EX_OK; }

long child_start(char **argv, bool repeats)
{
	step("fork");
	return fake.start ? fake.start : argv[0] && !repeats ? 55 : -EINVAL;
}

bool children_ended(int *status)
{
	*status = fake.status;
	return fake.waits >= fake.ends_after;
}

long tasks_wait(struct pollfd *fds, size_t n, i64 until)
{
	if (fake.waits < LEN(fake.watched))
		fake.watched[fake.waits] = n;
	fake.waits++;
	fds->revents = fake.node_event ? POLLIN : 0;
	clock_now = fake.node_event ? clock_now + 1 : until > clock_now ? until : clock_now;
	return 0;
}

void choose_devices(void)
{
	norder = fake.devices;
	for (u32 i = 0; i < norder; i++)
		order[i] = i + 1;
}

enum { MS = 1000000, S = 1000 * MS };

static char word[] = "make", *words[] = { word, (char[]){ "-j2" }, NULL };

static void clear(void)
{
	for (u32 n = 1; n <= nrows.clients; n++)
		if (clients[n].e.used)
			client_remove(n);
	for (u32 i = 0; i <= 3; i++) {
		reg_clear(&devices[i].e);
		memset(&devices[i], 0, sizeof(devices[i]));
		if (i)
			devices[i].e = (struct entity){ .used = true, .kind = K_DEVICE };
		snprintf(devices[i].dev, sizeof(devices[i].dev), "card%u", i - 1);
		str_copy(devices[i].driver, sizeof(devices[i].driver), LIT("xe"));
		devices[i].awake = true;
		if (table_has(&command_tables.runs, i)) {
			reg_clear(&command.runs[i].e);
			reg_clear(&command.runs[i].first);
			reg_clear(&command.runs[i].level);
			memset(&command.runs[i], 0, sizeof(command.runs[i]));
		}
	}
	nrows.devices = 3;
	table_has(&command_tables.seen, 8);
	memset(command.seen, 0, 9 * sizeof(*command.seen));
	memset(&command.begun, 0, sizeof(command) - offsetof(__typeof__(command), begun));
	memset(&opt, 0, sizeof(opt));
	opt.out.fmt = format_find((struct str)STR("line"));
	opt.command = words;
	opt.interval = 100 * MS;
	memset(&fake, 0, sizeof(fake));
	fake.devices = 1;
	clock_now += 1000 * (i64)S;
	command.begun = command.newest = clock_now;
	cpu_times = 1500000000;
	nodes_opens = holders_found = registry.unreadable = 0;
	said.n = 0;
	out = buf_on(bytes, sizeof(bytes));
	steps = BUF(step_bytes);
}

/* --- readings --------------------------------------------------------------------------------- */

static struct client *client(u64 id)
{
	u32 n = client_find(1, KEY_ID, id);

	if (!n) {
		n = client_add(1, KEY_ID, id);
		holder_add(100 + (u32)id, 3, task_add(100 + (u32)id), n);
	}
	return &clients[n];
}

static u64 busy, cycles, total_cycles, resident;

/* Makes client 1 with the values of the variables above. */
static void one_client(void)
{
	struct client *c = client(1);

	reg_begin(&c->e, clock_now);
	reg_put(&c->e, D_BUSY_NS, LIT("render"), busy, clock_now);
	if (cycles) {
		reg_put(&c->e, D_CYCLES, LIT("copy"), cycles, clock_now);
		reg_put(&c->e, D_TOTAL_CYCLES, LIT("copy"), total_cycles, clock_now);
	}
	if (resident)
		reg_put(&c->e, D_RESIDENT, LIT("vram0"), resident, clock_now);
}

static u64 total(u8 desc, const char *inst)
{
	for (struct counter *k = reg_first(&command.runs[1].e); k; k = reg_next(k))
		if (k->desc == desc && str_is(inst_name(k->inst), inst))
			return reg_now(k);
	return UINT64_MAX;
}

static void take(i64 after)
{
	clock_now += after;
	reading_take();
}

static void end(void)
{
	u64 common[RUN_FACTS];

	command.ended = clock_now;
	facts_get(common);
	totals_end(run_of_device(1), common);
}

static void t_busy(void)
{
	clear();
	fake.fill = one_client;
	busy = 5 * (u64)S;
	take(0);
	busy = 7 * (u64)S;
	take(S);
	busy = 7 * (u64)S + 500 * MS;
	take(S);
	end();
	check_u64(total(D_BUSY_NS, "render"), 2500 * (u64)MS,
		  "busy time of an inherited client: only its increase since the first reading");
	clear();
	busy = 4 * (u64)S;
	take(0);
	fake.fill = one_client;
	take(S);
	end();
	check_u64(total(D_BUSY_NS, "render"), 4 * (u64)S, "busy time of a new client: all of it");
	clear();
	fake.fill = one_client;
	take(0);
	fake.fill = NULL;
	client_remove(client_find(1, KEY_ID, 1));
	take(S);
	end();
	check_u64(total(D_BUSY_NS, "render"), 0,
		  "busy time of a client that ended: the sum of its readings stays");
}

static void t_cycles(void)
{
	static const struct { u64 from, to, clock_from, clock_to, want; } rows[] = {
		/* a quarter of the clock's cycles of two seconds */
		{ 100, 350, 1000, 2000, 500 * (u64)MS }, { 100, 100, 1000, 2000, 0 },
		{ 100, 100, 1000, 1000, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		fake.fill = one_client;
		cycles = rows[i].from;
		total_cycles = rows[i].clock_from;
		take(0);
		cycles = rows[i].to;
		total_cycles = rows[i].clock_to;
		take(2 * (i64)S);
		end();
		check_u64(total(D_CYCLES, "copy"), rows[i].to - rows[i].from,
			  "cycles %zu: the increase between the readings", i);
		check_u64(total(D_BUSY_NS, "copy"), rows[i].want,
			  "busy time of cycles: by the share of the clock's cycles");
	}
	cycles = total_cycles = 0;
}

static void maxfreq(void)
{
	struct client *c = client(1);

	reg_begin(&c->e, clock_now);
	reg_put(&c->e, D_CYCLES, LIT("gpu"), cycles, clock_now);
	reg_put(&c->e, D_MAXFREQ, LIT("gpu"), 2000000000, clock_now);
}

static void t_frequency(void)
{
	clear();
	fake.fill = maxfreq;
	cycles = 1000;
	take(0);
	cycles = 3000001000;
	take(2 * (i64)S);
	end();
	check_u64(total(D_BUSY_NS, "gpu"), 1500 * (u64)MS,
		  "cycles without a clock: busy time at the highest frequency");
	cycles = 0;
}

static void two_regions(void)
{
	one_client();
	reg_put(&client(1)->e, D_RESIDENT, LIT("system0"), 7000, clock_now);
}

static void t_memory(void)
{
	static const u64 sizes[] = { 100, 900, 300 };
	u32 implausible;

	clear();
	fake.fill = one_client;
	for (size_t i = 0; i < LEN(sizes); i++) {
		resident = sizes[i];
		take(S);
	}
	end();
	check(total(D_RESIDENT, "vram0") == 900 && command.runs[1].has_used && command.runs[1].used == 900,
	      "memory: the largest reading");
	clear();
	fake.fill = two_regions;
	resident = 100;
	take(S);
	resident = UINT64_MAX;
	implausible = registry.implausible.total;
	take(S);
	end();
	check(command.runs[1].used == 100 && total(D_RESIDENT, "system0") == 7000,
	      "memory: with an unknown size, the used memory is not that of the other region");
	check(registry.implausible.total == implausible + 1 && !command.runs[2].e.used &&
	      strcmp(registry.implausible.where, "card0 vram0") == 0,
	      "memory: the size is counted once, as one of the device");
	resident = 0;
}

static u64 energy, power;

static void sensors(void)
{
	reg_begin(&devices[1].e, clock_now);
	if (energy)
		reg_put(&devices[1].e, D_ENERGY, LIT("card"), energy, clock_now);
	if (power)
		reg_put(&devices[1].e, D_POWER, LIT("card"), power, clock_now);
}

static void t_energy(void)
{
	clear();
	fake.fill = sensors;
	energy = 1000;
	power = 77;
	take(0);
	energy = 5000;
	take(S);
	energy = 6000;
	take(S);
	end();
	check(total(D_ENERGY, "card") == 5000 && !command.runs[1].estimated,
	      "energy: the increase of the counter");
	clear();
	fake.fill = sensors;
	energy = 0;
	power = 4000000;
	take(0);
	take(S);
	power = 2000000;
	take(2 * (i64)S);
	end();
	check(total(D_ENERGY, "card") == 8000000 && command.runs[1].estimated,
	      "energy without a counter: estimated from the power");
	power = 0;
	check(is_read(D_POWER) && !is_read(D_TEMP),
	      "is_read: sensors of power, not of temperature");
}

static u64 whole; /* 1/1000 % */

static void whole_device(void)
{
	reg_begin(&devices[1].e, clock_now);
	if (whole)
		reg_put(&devices[1].e, D_GPU_BUSY, (struct str){ 0 }, whole, clock_now);
}

static void t_whole_device(void)
{
	clear();
	fake.fill = whole_device;
	whole = 90000; /* before the command */
	take(0);
	whole = 40000;
	take(S);
	whole = 100000;
	take(2 * (i64)S);
	whole = 0; /* unknown */
	take(4 * (i64)S);
	end();
	check_u64(command.runs[1].busy, 2400000000,
		  "busy time of the whole device: readings after the start of the command");
	check_u64(command.runs[1].measured, 3 * (u64)S,
		  "busy time of the whole device: intervals without a value do not count");
}

static void share(void)
{
	struct client *c = client(1);

	reg_begin(&c->e, clock_now);
	reg_put(&c->e, D_BUSY_PCT, LIT("gfx"), 25000, clock_now); /* 1/1000 % */
}

static void t_share(void)
{
	clear();
	fake.fill = share;
	take(0);
	take(2 * (i64)S);
	end();
	check_u64(total(D_BUSY_NS, "gfx"), 500 * (u64)MS,
		  "busy time of a driver that reports a percentage");
}

/* --- clients that come and go ----------------------------------------------------------------- */

static u32 present; /* a bit for each client */

static void some_clients(void)
{
	for (u64 id = 1; id <= 3; id++) {
		u32 n = client_find(1, KEY_ID, id);

		if (present >> id & 1)
			reg_begin(&client(id)->e, clock_now);
		else if (n)
			client_remove(n);
	}
}

static void t_ended(void)
{
	clear();
	fake.fill = some_clients;
	present = 6;
	take(0);
	check(command.runs[1].facts[RUN_CLIENTS] == 2 && command.runs[1].facts[RUN_ENDED] == 0,
	      "two clients are counted");
	take(50 * MS);
	check(command.runs[1].facts[RUN_CLIENTS] == 2, "two clients: counted once in two readings");
	present = 2;
	take(30 * MS);
	check(command.runs[1].facts[RUN_ENDED] == 1 && command.runs[1].facts[RUN_UNREAD] == 30 * (u64)MS,
	      "a client that ended: the time since its last reading is unread");
	present = 12;
	take(20 * MS);
	check(command.runs[1].facts[RUN_CLIENTS] == 4 && command.runs[1].facts[RUN_ENDED] == 2 &&
	      command.runs[1].facts[RUN_UNREAD] == 50 * (u64)MS,
	      "new clients in the rows of ended ones are counted");
	clear();
	fake.fill = some_clients;
	present = 2;
	take(0);
	command.ended = clock_now + 5 * MS;
	present = 0;
	take(90 * MS);
	check(command.runs[1].facts[RUN_UNREAD] == 5 * (u64)MS,
	      "a client that ended with the command: unread until the end of the command");
	clear();
	fake.fill = some_clients;
	fake.takes = 5 * MS;
	present = 2;
	take(0);
	clients[client_find(1, KEY_ID, 1)].hidden = true;
	take(20 * MS);
	check(command.runs[1].facts[RUN_ENDED] == 1 && command.runs[1].facts[RUN_UNREAD] == 30 * (u64)MS,
	      "a client that is hidden now: unread since its own reading");
	clear();
	fake.fill = some_clients;
	present = 2;
	some_clients();
	clients[client_find(1, KEY_ID, 1)].hidden = true;
	take(0);
	check(!command.runs[1].e.used || command.runs[1].facts[RUN_CLIENTS] == 0,
	      "a client that is always hidden is not counted");
}

/* --- the times of readings -------------------------------------------------------------------- */

static void t_plan(void)
{
	static const struct { i64 took, age, first, due; } rows[] = { /* ms */
		{ 0, 0, 1, 1 }, { 0, 80, 1, 10 }, { 0, 8000, 1, 100 }, { 10, 80, 40, 40 },
		{ 2, 400, 8, 50 }, { 50, 8000, 200, 200 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		command.newest = clock_now - rows[i].age * MS;
		reading_plan(clock_now - rows[i].took * MS);
		if (!check(command.first - clock_now == rows[i].first * MS &&
			   command.due - clock_now == rows[i].due * MS,
			   "reading_plan: clients of %" PRId64 " ms, a reading of %" PRId64 " ms",
			   rows[i].age,
			   rows[i].took))
			note("first %" PRId64 ", due %" PRId64, command.first - clock_now,
			     command.due - clock_now);
	}
}

static void t_sensors(void)
{
	clear();
	command.sensors = clock_now - 99 * MS;
	check(!sensors_due(clock_now), "sensors are not due before the interval is over");
	command.sensors = clock_now - 100 * MS;
	check(sensors_due(clock_now), "sensors are due after the interval");
	command.sensors = clock_now - 13 * MS;
	devices[2].awake = false;
	check(sensors_due(clock_now), "sensors are due sooner while a device sleeps");
	devices[2].gone = true;
	check(!sensors_due(clock_now), "sensors are not due sooner if the sleeping device is gone");
	command.ended = clock_now;
	check(sensors_due(clock_now), "sensors are due when the command has ended");
	clear();
	take(0);
	take(50 * MS);
	take(60 * MS);
	check(fake.full_samples == 2 && command.readings == 3,
	      "between two readings of sensors only clients are read");
}

static void t_new(void)
{
	clear();
	command.newest = clock_now - 10 * (i64)S;
	take(0);
	check(command.newest != clock_now, "no new client: the time of the newest one stays");
	fake.opened = true;
	take(S);
	check(command.newest == clock_now, "a GPU node was opened: a client may be new");
	fake.opened = false;
	holders_found = 3;
	take(S);
	check(command.newest == clock_now && command.found == 3,
	      "a new descriptor of a client: the client is new");
	take(S);
	check(command.newest != clock_now, "a new descriptor counts once");
}

static void t_wait(void)
{
	clear();
	fake.ends_after = 99;
	command.first = clock_now + 5 * MS;
	command.due = clock_now + 50 * MS;
	check(!reading_wait() && fake.waits == 2 && fake.watched[0] == 0 && fake.watched[1] == 1,
	      "reading_wait: the first wait ignores opens of nodes, the second does not");
	clear();
	fake.ends_after = 99;
	fake.node_event = true;
	command.first = clock_now - 1;
	command.due = clock_now + 50 * MS;
	check(!reading_wait() && fake.waits == 1 && clock_now < command.due,
	      "reading_wait: an open of a node ends the second wait");
	clear();
	fake.ends_after = 1;
	fake.status = 3;
	command.first = command.due = clock_now + 5 * MS;
	check(reading_wait() && command.ended == clock_now && command.status == 3,
	      "reading_wait: the end of the command, and its status");
}

/* --- the report ------------------------------------------------------------------------------- */

static void t_facts(void)
{
	u64 f[RUN_FACTS];

	clear();
	opt.command_exit = 4;
	fake.all = 9;
	fake.running = 2;
	command.readings = 7;
	nodes_opens = 12;
	command.opens = 10;
	facts_get(f);
	check(f[RUN_STATUS] == 4 && f[RUN_USER] == 1500000000 && f[RUN_SYSTEM] == 250000000 &&
	      f[RUN_PROCESSES] == 9 && f[RUN_RUNNING] == 2 && f[RUN_READINGS] == 7 &&
	      f[RUN_OPENS] == 2, "facts_get: status, times, processes, readings and opens");
	cpu_times = -EINVAL;
	fake.unscanned = fake.unwatched = true;
	facts_get(f);
	check(f[RUN_USER] == UINT64_MAX && f[RUN_SYSTEM] == UINT64_MAX &&
	      f[RUN_PROCESSES] == UINT64_MAX && f[RUN_RUNNING] == UINT64_MAX &&
	      f[RUN_OPENS] == UINT64_MAX, "facts_get: unknown values");
}

static void check_report(const char *want, const char *name)
{
	out.n = 0;
	put_report(&out);
	check_str(str_of(out.p, out.n), want, "%s", name);
}

#define HEAD "gpustat run: make -j2\n  exit status 0, wall time 4.000 s, CPU time 1.500 s user, " \
	"0.250 s system\n"

static void report_begin(void)
{
	u64 f[RUN_FACTS];

	clear();
	command.begun = clock_now;
	command.ended = clock_now + 4 * (i64)S;
	facts_get(f);
	order[0] = 1;
	norder = 1;
	run_of_device(1)->command = command_text();
	memcpy(command.runs[1].facts, f, sizeof(f[0]) * RUN_CLIENTS);
}

static void t_report(void)
{
	report_begin();
	check_report(HEAD "card0 xe: no client seen\n", "report: no client");
	command.runs[1].facts[RUN_RUNNING] = 2;
	registry.unreadable = 3;
	check_report(HEAD "  its processes that still run, whose CPU time is not included: 2\n"
		     "  its processes whose clients may not be read: 3\ncard0 xe: no client seen\n",
		     "report: processes that still run, processes that may not be read");
	report_begin();
	command.runs[1].facts[RUN_USER] = UINT64_MAX;
	check_report("gpustat run: make -j2\n  exit status 0, wall time 4.000 s\n"
		     "card0 xe: no client seen\n", "report: unknown CPU times are left out");
	report_begin();
	command.runs[1].facts[RUN_CLIENTS] = 1;
	check_report(HEAD "card0 xe\n  its driver reports no use per client\n",
	"report: a driver without values per client");
	devices[1].no_engines = "because";
	check_report(HEAD "card0 xe\n  its driver reports no use per client: because\n",
	"report: the reason why a driver has no values per client");
	report_begin();
	command.runs[1].facts[RUN_CLIENTS] = 3;
	command.runs[1].facts[RUN_ENDED] = 2;
	command.runs[1].facts[RUN_UNREAD] = 15 * (u64)MS;
	command.runs[1].has_used = true;
	command.runs[1].used = 3 << 20;
	total_add(&command.runs[1], D_BUSY_NS, 0, 0);
	reg_clear(&command.runs[1].e);
	reg_begin(&command.runs[1].e, command.begun);
	reg_put(&command.runs[1].e, D_BUSY_NS, LIT("render"), S, command.begun);
	reg_put(&command.runs[1].e, D_CYCLES, LIT("render"), 5, command.begun);
	reg_put(&command.runs[1].e, D_CYCLES, LIT("odd"), 77, command.begun);
	reg_put(&command.runs[1].e, D_ENERGY, LIT("card"), 8000000, command.begun);
	command.runs[1].estimated = true;
	command.runs[1].busy = 1500000000;
	command.runs[1].measured = 4 * (u64)S;
	totals_end(&command.runs[1], command.runs[1].facts);
	check_report(HEAD "card0 xe\n  render      1.000 s, 25.0% busy\n"
		     "  odd         77 cycles of an unknown clock\n  most memory 3.0M\n"
		     "  the whole device 37.5% busy\n"
		     "  energy of the device about 8.0 J, mean power 2.0 W (card)\n"
		     "  2 of 3 clients ended between two readings: the use in their last 0.015 s at most "
		     "is unknown\n", "report: all values");
	report_begin();
	order[0] = NONE;
	command.runs[0] = command.runs[1];
	check_report(HEAD "  no GPU here: /sys lists no DRM or accel device\n", "report: no GPU");
}

static void t_opens(void)
{
	static const struct { u64 opens, seen; size_t chosen; const char *start; } rows[] = {
		{ 5, 3, 0, "2 opens of GPU nodes without a client: by other programs" },
		{ 4, 3, 0, "1 open of GPU nodes" }, { 3, 3, 0, NULL }, { 2, 3, 0, NULL },
		{ UINT64_MAX, 3, 0, NULL }, { 5, 3, 1, NULL },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		report_begin();
		command.runs[1].facts[RUN_OPENS] = rows[i].opens;
		command.runs[1].facts[RUN_CLIENTS] = rows[i].seen;
		opt.ndevices = rows[i].chosen;
		put_opens(&out);
		check(rows[i].start ? str_find(str_of(out.p, out.n), str_z(rows[i].start)) : out.n == 0,
		      "report: opens of GPU nodes without a client, row %zu", i);
	}
}

static void t_words(void)
{
	static char text[5000], *list[] = { word, text, word, NULL };
	struct str s;

	memset(text, 'x', sizeof(text) - 1);
	clear();
	check_str(command_text(), "make -j2", "the text of the command has its arguments");
	opt.command = list;
	s = command_text();
	check(str_len(s) == 4096 && memcmp(s.p, "make xxx", 8) == 0,
	      "the text of the command has at most 4096 bytes");
}

/* --- the command ------------------------------------------------------------------------------ */

static int run(void) { return cmd_run(); }

static void t_command(void)
{
	clear();
	opt.command = NULL;
	check(run() == EX_USAGE && is_said("run requires a command"),
	      "without a command: a usage error");
	opt.command = words + 2;
	check(run() == EX_USAGE && is_said("run requires a command"),
	      "an empty command: a usage error");
	clear();
	opt.proc = "/x";
	check(run() == EX_USAGE && is_said("run excludes --proc"), "--proc: a usage error");
	clear();
	fake.no_roots = true;
	check(run() == EX_FAIL && steps.n == 0, "without /proc: exit code 1, nothing is started");
	clear();
	fake.ends_after = 3;
	fake.status = 7;
	opt.interval = 0;
	check(run() == 7 && opt.interval == 100 * MS && rescan.budget == RESCAN_ALL &&
	      process_filter == tree_has && sensing.filter == is_read,
	      "the exit code is that of the command");
	check_str(str_of(steps.p, steps.n), "sink catch tree start fork confine release end ",
		  "the command starts after the first reading");
	check(fake.confined == 55 && fake.kept == (MAY_READ | MAY_PTRACE),
	      "privileges: reading of other processes is kept");
	check(out.n > 16 && str_is(str_of(out.p + out.n - 16, 16), " no client seen\n"),
	      "default output: a report without records");
	clear();
	fake.start = -EIO;
	check(run() == EX_FAIL && is_said("cannot start a process: EIO"),
	      "the process cannot be started: exit code 1");
	clear();
	fake.ends_after = 1;
	fake.failure = -ENOENT;
	check(run() == 127 && out.n == 0,
	      "the command cannot be executed: exit code 127, no report");
	clear();
	fake.ends_after = 1;
	fake.release = -EIO;
	check(run() == 127 && out.n == 0,
	      "the command cannot be released: exit code 127, no report");
	clear();
	fake.ends_after = 1;
	fake.finish_fails = true;
	check(run() == EX_FAIL, "the report cannot be written: exit code 1");
	clear();
	fake.ends_after = 1;
	fake.finish_fails = true;
	fake.status = 7;
	check(run() == 7, "an error of the command has priority over a write error");
	clear();
	fake.devices = 0;
	opt.ndevices = 1;
	check(run() == EX_NODEVICE && is_said("no device"), "-d: no such device");
	clear();
	fake.devices = 0;
	fake.ends_after = 1;
	check(run() == EX_OK && str_find(str_of(out.p, out.n), LIT("no GPU here")),
	      "no device: the command runs, the report tells it");
	clear();
	fake.devices = 2;
	fake.ends_after = 1;
	opt.out.fmt = format_find((struct str)STR("json"));
	run();
	check(json_ok(str_of(out.p, out.n), NULL) &&
	      str_find(str_of(out.p, out.n), LIT("\"command\":\"make -j2\"")),
	      "-o json: records with the command");
}

int main(void)
{
	devices_clear(3);
	t_busy();
	t_cycles();
	t_frequency();
	t_memory();
	t_energy();
	t_whole_device();
	t_share();
	t_ended();
	t_plan();
	t_sensors();
	t_new();
	t_wait();
	t_facts();
	t_report();
	t_opens();
	t_words();
	t_command();
	return unit_end();
}
