/* run.c - gpustat run: runs a command, and says at its end what its processes took of each device.
 *
 * The command's processes are those of sources/os/tree.c. Their clients are read every 100 ms (-i),
 * and more often while a client is young: after an eighth of its age. So a client of any age loses
 * about a tenth of its use at most, if it ends before the next reading. Nothing can be read later:
 * a process that ends closes its descriptors before anybody can notice. A duplicate from
 * pidfd_getfd(2) could still be read, but it would keep the client's buffers and its master lock
 * beyond their end, and a command must not run differently because it is measured. A ptrace(2) stop
 * at each exit would change it even more. What is lost is counted and reported instead.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"
#include "sys.h"

#include <poll.h>

/* SHORTEST_WAIT: least time between two readings. IDLE_SHARE: each wait is at least 4 times as long
 * as the reading before, so that readings take at most a fifth of a CPU. AGE_PART: a young client
 * is read again after an eighth of its age. */
enum { SHORTEST_WAIT = 1000000 /* ns */, IDLE_SHARE = 4, AGE_PART = 8 };

/* A client of the command at the last reading. */
struct seen {
	/* serial: number of the client; 0: the row has no client. device: index in devices[] */
	u32 serial, device;
	i64 read;           /* time of the last reading of the client, ns */
};

static struct {
	/* totals of each device; the index is the same as in devices[]; on a machine without a
	 * device, row 0 has the totals */
	struct run *runs;
	struct seen *seen; /* state of each client; the index is the same as in clients[] */
	i64 begun, ended;  /* times of the command's start and end, in ns */
	i64 last, sensors; /* times of the last reading of the clients and of the devices, in ns */
	/* last time at which a new client appeared or a device node was opened, in ns */
	i64 newest;
	/* Times in ns: the clients are read next at the time `due`, or earlier if a device node is
	 * opened, but not before the time `first`. */
	i64 first, due;
	u64 readings;
	/* opens: number of opens of device nodes (nodes_opens) at the start. found: number of
	 * holders of clients (holders_found) at the last reading. */
	u32 opens, found;
	int status;
} command;
static struct {
	struct table runs, seen;
} command_tables = {
	.runs = TABLE_ROW(command.runs, MAX_DEVICES, 4, "devices"),
	.seen = TABLE_ROW(command.seen, MAX_CLIENTS, 64, "clients"),
};

/* --- totals of each device -------------------------------------------------------------------- */

/* Returns the totals of a device; adds a row if the device has none yet. device: index in
 * devices[], or NONE on a machine without a device. Returns NULL if the table is full. */
static struct run *run_of_device(u32 device)
{
	struct run *x;

	if (!table_has(&command_tables.runs, device))
		return NULL;
	x = &command.runs[device];
	if (x->e.used)
		return x;
	x->e.used = true;
	x->e.kind = x->first.kind = x->level.kind = K_RUN;
	x->device = device;
	reg_begin(&x->e, command.begun);
	return x;
}

static void total_add(struct run *x, u8 desc, u16 inst, u64 v)
{
	u64 was;

	if (reg_get(&x->e, desc, inst, &was))
		reg_add(&x->e, desc, inst_name(inst), v);
	else
		reg_put(&x->e, desc, inst_name(inst), v, command.begun);
}

static void total_raise(struct run *x, u8 desc, u16 inst, u64 v)
{
	u64 was;

	if (!reg_get(&x->e, desc, inst, &was))
		total_add(x, desc, inst, v);
	else if (v > was)
		total_add(x, desc, inst, v - was);
}

/* Adds the energy that a hwmon channel counted since the last reading; if the channel does not
 * count energy, adds the product of its power and the time. */
static void energy_add(struct run *x, const struct entity *e, const struct counter *k, u64 ns)
{
	u64 d, dt;

	if (k->desc == D_ENERGY && reg_rate(e, D_ENERGY, k->inst, &d, &dt)) {
		total_add(x, D_ENERGY, k->inst, d);
	} else if (k->desc == D_POWER && !reg_find(e, D_ENERGY, k->inst)) {
		total_add(x, D_ENERGY, k->inst, muldiv(reg_now(k), ns, 1000000000));
		x->estimated = true;
	}
}

static void energies_add(u32 device, u64 ns)
{
	const struct entity *e = &devices[device].e;
	struct run *x = run_of_device(device);

	for (struct counter *k = reg_first(e); x && k; k = reg_next(k))
		if (k->flags & CF_SEEN)
			energy_add(x, e, k, ns);
}

/* Adds the busy time of the whole device in an interval of `ns` nanoseconds. This busy time
 * includes work that the driver counts for no client, such as that of amdgpu's user queues. */
static void busy_add(u32 device, u64 ns)
{
	struct run *x = run_of_device(device);
	u64 busy;

	if (!x || !device_busy(&devices[device], &busy))
		return;
	x->busy += muldiv(busy, ns, 100000);
	x->measured += ns;
}

/* Adds the busy time of an engine in an interval of ns. Old drivers report only the busy share of
 * an interval. */
static void share_add(struct run *x, const struct entity *e, const struct counter *k, u64 ns)
{
	if (!reg_find(e, D_SUM_NS, k->inst) && !reg_find(e, D_SUM_CYCLES, k->inst))
		total_add(x, D_BUSY_NS, k->inst, muldiv(reg_now(k), ns, 1000000000));
}

/* Adds a reading of a device and of its clients to the totals. ns: the time since the reading
 * before. */
static void reading_add(u32 device, i64 now, u64 ns)
{
	struct run *x = run_of_device(device);
	const struct entity *e = &devices[device].e;
	u64 base, used;

	if (!x)
		return;
	reg_begin(&x->level, now);
	for (struct counter *k = reg_first(e); k; k = reg_next(k)) {
		struct str name = inst_name(k->inst);

		/* UINT64_MAX is not plausible: the region's size is unknown in x->level, too. */
		if (k->desc == D_SUM_RESIDENT && k->flags & CF_UNKNOWN)
			reg_put(&x->level, D_RESIDENT, name, UINT64_MAX, now);
		if (!(k->flags & CF_SEEN))
			continue;
		/* The command may have inherited clients: their use before the first reading is not
		 * counted. */
		base = command.readings ? 0 : reg_now(k);
		if (k->desc == D_SUM_NS || k->desc == D_SUM_CYCLES)
			reg_put(&x->first, k->desc == D_SUM_NS ? D_BUSY_NS : D_CYCLES, name, base,
				now);
		else if (k->desc == D_CAPACITY)
			total_raise(x, D_CAPACITY, k->inst, reg_now(k));
		else if (k->desc == D_SUM_BUSY)
			share_add(x, e, k, ns);
		else if (k->desc == D_SUM_RESIDENT) {
			reg_put(&x->level, D_RESIDENT, name, reg_now(k), now);
			total_raise(x, D_RESIDENT, k->inst, reg_now(k));
		}
	}
	if (!entity_used(&x->level, devices[device].apu, &used))
		return;
	x->has_used = true;
	x->used = used > x->used ? used : x->used;
}

/* Some engines are counted in cycles of a GPU clock: stores in x->first the first and the last
 * reading of that clock. */
static void clock_note(struct run *x, const struct client *c)
{
	for (struct counter *k = reg_first(&c->e); k; k = reg_next(k)) {
		struct counter *at;
		struct history *h;

		if (k->desc != D_TOTAL_CYCLES || !(k->flags & CF_SEEN))
			continue;
		h = reg_history(k);
		if (reg_put(&x->first, D_TOTAL_CYCLES, inst_name(k->inst), h->now, h->t) &&
		    (at = reg_find(&x->first, D_TOTAL_CYCLES, k->inst))) {
			if (!(at->flags & CF_BASE))
				reg_baseline(at, h->now, h->t);
			else if (h->now > reg_history(at)->now) {
				reg_history(at)->now = h->now;
				reg_history(at)->t = h->t;
			}
		}
	}
}

/* Counts the clients that are new, and those that have ended since the last reading. */
static void clients_note(i64 now)
{
	for (u32 n = 1; n <= nrows.clients && table_has(&command_tables.seen, n); n++) {
		const struct client *c = &clients[n];
		struct seen *s = &command.seen[n];
		bool is = c->e.used && c->holders && !c->hidden && c->keykind != KEY_KFD;
		struct run *x;

		if (s->serial && (!is || s->serial != c->e.serial)) {
			command.runs[s->device].facts[RUN_ENDED]++;
			command.runs[s->device].facts[RUN_UNREAD] += (u64)(now - s->read);
			s->serial = 0;
		}
		if (!is || !(x = run_of_device(c->device)))
			continue;
		x->facts[RUN_CLIENTS] += s->serial == 0;
		*s = (struct seen){ c->e.serial, c->device, c->e.t ? c->e.t : now };
		clock_note(x, c);
	}
}

/* Returns whether the devices must be read, too: at each interval because of their sensors; more
 * often while a device sleeps, because its clients can be read only after it wakes up. */
static bool sensors_due(i64 now)
{
	bool asleep = false;

	for (u32 i = NONE; (i = device_next(i, false)) != NONE;)
		asleep |= !devices[i].awake;
	return command.ended ||
	       now - command.sensors >= opt.interval / (asleep ? AGE_PART : 1);
}

/* Reads the clients as sources_sample() does, but not the devices. */
static void clients_sample(void)
{
	u8 was = privilege_raise(MAY_READ | MAY_PTRACE);

	registry.dropped = registry.transient = 0;
	src_sysfs.scan();
	src_fdinfo.scan();
	src_fdinfo.sample();
	privilege_lower(was);
}

/* Sets the earliest and the latest time of the next reading. began: time at which the last reading
 * began, in ns. */
static void reading_plan(i64 began)
{
	i64 now = sys_now(CLOCK_MONOTONIC), wait = IDLE_SHARE * (now - began);
	i64 age = (now - command.newest) / AGE_PART;

	wait = wait > SHORTEST_WAIT ? wait : SHORTEST_WAIT;
	command.first = now + wait;
	age = age < opt.interval ? age : opt.interval;
	command.due = now + (wait > age ? wait : age);
}

static void reading_take(void)
{
	i64 began = sys_now(CLOCK_MONOTONIC), now;
	bool sensors = sensors_due(began);

	if (sensors)
		sources_sample(true);
	else
		clients_sample();
	now = sys_now(CLOCK_MONOTONIC);
	choose_devices();
	hide_clients();
	reg_sum_clients(false, true);
	for (size_t i = 0; i < norder; i++) {
		reading_add(order[i], now, command.readings ? (u64)(now - command.last) : 0);
		if (!sensors || !command.readings)
			continue;
		energies_add(order[i], (u64)(now - command.sensors));
		busy_add(order[i], (u64)(now - command.sensors));
	}
	clients_note(command.ended ? command.ended : now);
	if (nodes_opened() || holders_found != command.found)
		command.newest = now;
	command.found = holders_found;
	command.last = now;
	command.sensors = sensors ? now : command.sensors;
	command.readings++;
	reading_plan(began);
}

/* --- functions that report what the user's command used --------------------------------------- */

/* Computes the use of the engines from the sums over the clients, which contain the clients that
 * have ended. */
static void engines_total(struct run *x)
{
	const struct entity *e = &devices[x->device].e;

	for (struct counter *k = reg_first(e); k; k = reg_next(k)) {
		u64 base = 0, v = reg_now(k), d = 0, dt = 0, hz = 0;

		if (!(k->flags & CF_SEEN) || (k->desc != D_SUM_NS && k->desc != D_SUM_CYCLES))
			continue;
		reg_get(&x->first, k->desc == D_SUM_NS ? D_BUSY_NS : D_CYCLES, k->inst, &base);
		v = v > base ? v - base : 0;
		if (k->desc == D_SUM_NS) {
			total_add(x, D_BUSY_NS, k->inst, v);
			continue;
		}
		total_add(x, D_CYCLES, k->inst, v);
		if (reg_find(e, D_SUM_NS, k->inst))
			continue;
		reg_rate(&x->first, D_TOTAL_CYCLES, k->inst, &d, &dt);
		reg_get(e, D_MAXFREQ, k->inst, &hz);
		if (v == 0 || d)
			total_add(x, D_BUSY_NS, k->inst, v ? muldiv(v, dt, d) : 0);
		else if (hz)
			total_add(x, D_BUSY_NS, k->inst, muldiv(v, 1000000000, hz));
	}
}

/* Stores in f[] the facts about the command that are the same in the records of all devices. */
static void facts_get(u64 f[RUN_FACTS])
{
	u32 running = 0, all = tree_size(&running);
	bool listed = rescan_facts().scanned, watched = nodes_fd() >= 0;

	f[RUN_STATUS] = (u64)opt.command_exit;
	if (sys_rusage_children(&f[RUN_USER], &f[RUN_SYSTEM]) < 0)
		f[RUN_USER] = f[RUN_SYSTEM] = UINT64_MAX;
	f[RUN_PROCESSES] = listed ? all : UINT64_MAX;
	f[RUN_RUNNING] = listed ? running : UINT64_MAX;
	f[RUN_READINGS] = command.readings;
	f[RUN_OPENS] = watched ? nodes_opens - command.opens : UINT64_MAX;
}

/* Adds to the totals of a device what is known only after the command has ended: the facts about
 * the command (common[], indexed by RUN_*), and the averages of rates over its run time. */
static void totals_end(struct run *x, const u64 common[RUN_FACTS])
{
	memcpy(x->facts, common, RUN_CLIENTS * sizeof(common[0]));
	if (x->device)
		engines_total(x);
	for (struct counter *k = reg_first(&x->e); k; k = reg_next(k))
		if (k->flags & CF_RATE) {
			reg_history(k)->t = command.ended;
			reg_baseline(k, 0, command.begun);
		}
	x->e.t = command.ended;
}

/* Appends a time in seconds with three decimals. */
static void put_seconds(struct buf *b, u64 ns)
{
	put_dec(b, ns / 1000000, 3, 3);
	put_z(b, " s");
}

static void put_counted(struct buf *b, u64 n, const char *what)
{
	put_u64(b, n);
	put_z(b, what);
	put_z(b, n == 1 ? "" : "s");
}

/* Appends the text `what`, the number n and a newline. Appends nothing if n is 0. */
static void put_line(struct buf *b, const char *what, u64 n)
{
	if (n == 0)
		return;
	put_z(b, what);
	put_u64(b, n);
	put_c(b, '\n');
}

/* Appends the command, its exit status, and the wall time and CPU time that it took. */
static void put_command(struct buf *b, const struct run *x)
{
	const u64 *f = x->facts;

	put_z(b, "gpustat run: ");
	put_text(b, x->command);
	put_z(b, "\n  exit status ");
	put_u64(b, f[RUN_STATUS]);
	put_z(b, ", wall time ");
	put_seconds(b, (u64)(command.ended - command.begun));
	if (f[RUN_USER] != UINT64_MAX) {
		put_z(b, ", CPU time ");
		put_seconds(b, f[RUN_USER]);
		put_z(b, " user, ");
		put_seconds(b, f[RUN_SYSTEM]);
		put_z(b, " system");
	}
	put_z(b, "\n");
	if (f[RUN_RUNNING] != UINT64_MAX)
		put_line(b, "  its processes that still run, whose CPU time is not included: ",
			 f[RUN_RUNNING]);
	put_line(b, "  its processes whose clients may not be read: ", registry.unreadable);
}

static bool put_engine(struct buf *b, const struct run *x, const struct counter *k)
{
	size_t from;
	u64 busy;

	if (k->desc != D_BUSY_NS && (k->desc != D_CYCLES || reg_find(&x->e, D_BUSY_NS, k->inst)))
		return false;
	put_z(b, "  ");
	from = b->n;
	put_text(b, inst_name(k->inst));
	put_columns(b, from, 12);
	if (k->desc == D_CYCLES) {
		put_u64(b, reg_now(k));
		put_z(b, " cycles of an unknown clock\n");
		return true;
	}
	put_seconds(b, reg_now(k));
	if (engine_busy(&x->e, k->inst, &busy)) {
		put_z(b, ", ");
		put_human(b, (struct val){ .type = V_INT, .unit = U_PERCENT, .n = busy });
		put_z(b, " busy");
	}
	put_c(b, '\n');
	return true;
}

static void put_energy(struct buf *b, const struct run *x, const struct counter *k)
{
	u64 d, dt;

	if (k->desc != D_ENERGY || !reg_rate(&x->e, D_ENERGY, k->inst, &d, &dt))
		return;
	put_z(b, "  energy of the device ");
	put_z(b, x->estimated ? "about " : "");
	put_dec(b, (d + 50000) / 100000, 1, 1);
	put_z(b, " J, mean power ");
	put_dec(b, (muldiv(d, 1000000000, dt) + 50000) / 100000, 1, 1);
	put_z(b, " W (");
	put_text(b, inst_name(k->inst));
	put_z(b, ")\n");
}

/* Appends how many clients ended between two readings, and for how long their use is unknown. */
static void put_ended(struct buf *b, const u64 *f)
{
	if (!f[RUN_ENDED])
		return;
	put_z(b, "  ");
	put_u64(b, f[RUN_ENDED]);
	put_z(b, " of ");
	put_counted(b, f[RUN_CLIENTS], " client");
	put_z(b, " ended between two readings: the use in their last ");
	put_seconds(b, f[RUN_UNREAD]);
	put_z(b, " at most is unknown\n");
}

/* Appends how much of a device the command used: time of engines, memory and energy. */
static void put_device(struct buf *b, const struct run *x)
{
	const struct device *d = &devices[x->device];
	bool any = false;

	put_text(b, str_z(d->dev));
	put_c(b, ' ');
	put_text(b, str_z(d->driver));
	put_z(b, x->facts[RUN_CLIENTS] ? "\n" : ": no client seen\n");
	for (struct counter *k = reg_first(&x->e); k && x->facts[RUN_CLIENTS]; k = reg_next(k))
		any |= put_engine(b, x, k);
	if (!any && x->facts[RUN_CLIENTS]) {
		put_z(b, "  its driver reports no use per client");
		put_z(b, d->no_engines ? ": " : "");
		put_z(b, d->no_engines ? d->no_engines : "");
		put_c(b, '\n');
	}
	if (x->has_used && x->facts[RUN_CLIENTS]) {
		put_z(b, "  most memory ");
		put_human(b, (struct val){ .type = V_INT, .unit = U_BYTES, .n = x->used });
		put_c(b, '\n');
	}
	if (x->measured) {
		put_z(b, "  the whole device ");
		put_human(b, (struct val){ .type = V_INT, .unit = U_PERCENT, .n = run_busy(x) });
		put_z(b, " busy\n");
	}
	for (struct counter *k = reg_first(&x->e); k; k = reg_next(k))
		put_energy(b, x, k);
	put_ended(b, x->facts);
}

/* Appends how many opens of device nodes belong to no client that was seen. */
static void put_opens(struct buf *b)
{
	u64 opens = command.runs[order[0]].facts[RUN_OPENS], known = 0;

	for (size_t i = 0; i < norder; i++)
		known += command.runs[order[i]].facts[RUN_CLIENTS];
	if (opens == UINT64_MAX || opens <= known || opt.ndevices)
		return;
	put_counted(b, opens - known, " open");
	put_z(b, " of GPU nodes without a client: by other programs, or by processes that ended "
		 "too soon\n");
}

/* Returns the words of the command, joined by blanks. A command that is too long is cut. */
static struct str command_text(void)
{
	static char text[4096];
	struct buf b = { .p = text, .cap = sizeof(text) };

	for (char **word = opt.command; *word; word++) {
		size_t left = b.cap - b.n, n = str_len(str_z(*word));

		if (word > opt.command && left)
			put_c(&b, ' ');
		left = b.cap - b.n;
		put_str(&b, str_of(*word, n < left ? n : left));
	}
	return str_of(text, b.n);
}

static void put_report(struct buf *b)
{
	put_command(b, &command.runs[order[0]]);
	for (size_t i = 0; i < norder && order[i] != NONE; i++)
		put_device(b, &command.runs[order[i]]);
	if (order[0] == NONE)
		put_z(b, "  no GPU here: /sys lists no DRM or accel device\n");
	else
		put_opens(b);
}

/* Prints the report as text, or as a record per device. Returns the exit code. */
static int report(void)
{
	struct recopts ro = { .both = true, .time_us = sample_time(),
			      .dt_us = (command.ended - command.begun) / 1000 };
	bool text = opt.out.fmt == format_find((struct str)STR("line")) && !opt.out.npatterns;
	u64 common[RUN_FACTS];
	struct str words = command_text();

	choose_devices();
	if (norder == 0 && order)
		order[norder++] = NONE;
	facts_get(common);
	for (size_t i = 0; i < norder; i++) {
		struct run *x = run_of_device(order[i]);

		if (!x)
			/* no room for the totals: a message names the table that is full */
			return EX_FAIL;
		x->command = words;
		totals_end(x, common);
	}
	update_offset();
	if (text && norder)
		put_report(&out);
	for (int show = !out_measures(&opt.out); show < 2 && !text; show++)
		for (size_t i = 0; i < norder; i++) {
			record_make(&rec, &command.runs[order[i]].e, &ro);
			if (show)
				out_record(&opt.out, &out, &rec);
			else
				out_measure(&opt.out, &rec);
		}
	return finish_sample();
}

/* --- functions that start the user's command and wait for it ---------------------------------- */

/* Waits for the next reading. Returns whether the command has ended. */
static bool reading_wait(void)
{
	for (;;) {
		struct pollfd fd = { .fd = nodes_fd(), .events = POLLIN };
		i64 now = sys_now(CLOCK_MONOTONIC);
		bool soon = now < command.first;

		if (now >= command.due)
			return false;
		tasks_wait(&fd, soon ? 0 : 1, soon ? command.first : command.due);
		if (children_ended(&command.status)) {
			command.ended = sys_now(CLOCK_MONOTONIC);
			return true;
		}
		if (fd.revents)
			return false;
	}
}

/* Returns whether a quantity that is read only to be displayed (sensing.filter) is read. Only power
 * is: the energy of a device without an energy counter is computed from the power. Energy itself is
 * always read. */
static bool is_read(u8 desc)
{
	return desc == D_POWER;
}

/* Prepares the readings, and takes the first one. Returns an exit code, or -1 to continue. */
static int readings_begin(void)
{
	/* process_filter admits only the command's few processes: rescan all of them each time */
	rescan.budget = RESCAN_ALL;
	registry.repeats = true;
	sensing.filter = is_read;
	tree_begin();
	process_filter = tree_has;
	opt.interval = opt.interval ? opt.interval : 100000000;
	sources_start();
	fdinfo_scope.tasks = false;
	command.opens = nodes_opens;
	choose_devices();
	return norder == 0 && opt.ndevices && nrows.devices ? no_device() : -1;
}

int cmd_run(void)
{
	long pid, failure;
	int code;

	if (!opt.command || !opt.command[0])
		return usage_z("run requires a command: gpustat run -- COMMAND");
	if (opt.proc)
		return usage_z("run excludes --proc: the command's processes are in /proc");
	if (!open_roots(false))
		return EX_FAIL;
	if ((code = sink_open()) >= 0)
		return code;
	tasks_catch(true);
	files_raise();
	if ((code = readings_begin()) >= 0)
		return code;
	pid = child_start(opt.command, false);
	if (pid < 0) {
		say("cannot start a process: ", error_text(pid), NULL);
		return EX_FAIL;
	}
	confine((i32)pid);
	keep_privileges(MAY_READ | MAY_PTRACE);
	command.begun = command.newest = sys_now(CLOCK_MONOTONIC);
	reading_take();
	command.begun = command.newest = sys_now(CLOCK_MONOTONIC);
	failure = child_release();
	while (!reading_wait())
		reading_take();
	if (failure == 0)
		failure = child_failure();
	code = command_code(failure, command.status);
	if (failure < 0)
		return code;
	/* reaps the processes that the command has not waited for */
	children_ended(&(int){ 0 });
	reading_take();
	return report() != EX_OK && code == EX_OK ? EX_FAIL : code;
}
