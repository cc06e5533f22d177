/* t_record.c - unit test of views/record.c: the fields of each kind of record and their order,
 * modes, unknown values, sums, full buffers, selection by -f. t_out.c tests how they are
 * written. SPDX-License-Identifier: MIT */
#include "../../views/record.c"
#include "child.h"
#include "sys.h"

#define S(lit) ((struct str)STR(lit))
enum { NS_PER_S = 1000000000 };

static struct record rec;
static u32 dev, cli; /* the device and its client */

static const struct recopts live = { .time_us = 7000000, .dt_us = 1000000 };
static const struct recopts raw = { .raw = true, .time_us = 7000000, .dt_us = -1, .file = "f" };
static const struct recopts list = { .list = true, .time_us = -1, .dt_us = -1 };
static const struct recopts both = { .both = true, .time_us = -1, .dt_us = 1000000 };

static void put_val(struct buf *b, const struct field *f)
{
	char text[48];

	if (f->empty)
		put_z(b, "{}");
	else if (f->v.type == V_NULL)
		put_c(b, '?');
	else if (f->v.type == V_TEXT || f->v.type == V_DIGITS)
		put_str(b, f->v.s);
	if (f->v.type != V_INT && f->v.type != V_TIME)
		return;
	snprintf(text, sizeof(text), "%s%" PRIu64, f->v.neg ? "-" : "", f->v.n);
	put_z(b, text);
	snprintf(text, sizeof(text), "/%u", f->v.point);
	put_z(b, f->v.point ? text : "");
}

/* Returns the fields from the first one with this group or member on: GROUP.INSTANCE.MEMBER=VALUE;
 * ? is null, {} an empty group. NULL: all, except schema and kind. */
static struct str shown(const char *from)
{
	static char text[32 << 10];
	struct buf b = BUF(text);
	bool begun = false;

	for (size_t i = 0; i < rec.n; i++) {
		const struct field *f = &rec.f[i];
		struct str parts[3] = { str_z(f->col->group), f->inst, str_z(f->col->member) };

		begun = begun || (from ? str_is(parts[0], from) || str_is(parts[2], from) :
					 i > 1);
		if (!begun)
			continue;
		put_z(&b, b.n ? " " : "");
		for (size_t k = f->col->group ? 0 : 2, had = b.n; k < 3; k++) {
			if (str_len(parts[k]) && b.n > had)
				put_c(&b, '.');
			put_str(&b, parts[k]);
		}
		put_c(&b, '=');
		put_val(&b, f);
	}
	return str_of(b.p, b.n);
}

static void check_record(const struct entity *e, const struct recopts *o, const char *want,
			 const char *name)
{
	record_make(&rec, e, o);
	check_str(shown(NULL), want, "%s", name);
}

/* --- devices, clients, cgroups ---------------------------------------------------------------- */

/* by_cgroup: the sums are those of the cgroups, else those of the device. */
static void make_machine(bool by_cgroup)
{
	struct device *d;
	u32 t;

	dev = device_add();
	d = &devices[dev];
	str_copy(d->dev, sizeof(d->dev), S("card0"));
	str_copy(d->driver, sizeof(d->driver), S("xe"));
	str_copy(d->state, sizeof(d->state), S("active"));
	d->card = 0;
	d->render = 128;
	d->accel = -1;
	d->awake = true;
	d->no_sensors = "no fan here";
	d->facts = text_put(NONE, S("vendor:8086\nrev:1\nvendor:8087\n"));
	cli = client_add(dev, KEY_ID, 42);
	t = task_add(4242);
	tasks[t].start = 1;
	memcpy(tasks[t].comm, "glxgears", tasks[t].comm_len = 8);
	tasks[t].has_comm = true;
	tasks[t].cgroup = cgroup_add(S("/user.slice"));
	holder_add(4242, 5, t, cli);
	holder_add(4100, 6, task_add(4100), cli);
	holder_add(4100, 7, task_find(4100), cli);
	tasks[task_find(4100)].start = 2;
	clients[cli].name = text_put(NONE, S("xterm"));
	clients[cli].other = text_put(NONE, S("pasid:1\njobs:5 jobs\npasid:2\n"));
	clients[cli].skipped = 3;
	for (u64 k = 1; k < 3; k++) {
		struct entity *e = &clients[cli].e;
		i64 now = (i64)k * NS_PER_S;

		reg_begin(e, now);
		reg_put(e, D_BUSY_NS, S("render"), k * 125000000, now);
		reg_put(e, D_CYCLES, S("ccs"), k * 1000, now);
		reg_put(e, D_TOTAL_CYCLES, S("ccs"), k * 4000, now);
		reg_put(e, D_MAXFREQ, S("render"), 9, now);
		reg_put(e, D_RESIDENT, S("vram0"), 4096, now);
		reg_put(e, D_TOTAL, S("vram0"), 8192, now);
		e = &d->e;
		reg_begin(e, now);
		reg_put(e, D_TEMP, S("edge"), (u64)-5500, now);
		reg_put(e, D_ENERGY, S("pkg"), k * 5000000, now);
		reg_put(e, D_FREQ_CUR, S("gt0"), 1300, now);
		reg_put(e, D_FREQ_RP0, S("gt0"), 2000, now);
		reg_put(e, D_THROTTLE, S("pl1"), 1, now);
		reg_put(e, D_THROTTLE, S("thermal"), 0, now);
		reg_put(e, D_LINK_SPEED, S(""), 160, now);
		reg_put(e, D_VRAM_USED, S(""), 7, now);
		reg_sum_clients(by_cgroup, true);
	}
}

static void t_client(void)
{
	const struct entity *e = &clients[cli].e;

	check_record(e, &live, "time=7000000 dt=1000000 dev=card0 driver=xe pdev=? client=42 "
		     "name=xterm pid=4242 comm=glxgears pids=4100 pids=4242 cgroup=/user.slice "
		     "container=? used=4096 engine.render.busy=12500 engine.render.capacity=1 "
		     "engine.render.util=? engine.render.freq=? engine.render.maxfreq=9 "
		     "engine.ccs.busy=25000 engine.ccs.capacity=1 engine.ccs.util=? "
		     "engine.ccs.freq=? memory.vram0.total=8192 memory.vram0.shared=? "
		     "memory.vram0.resident=4096 memory.vram0.purgeable=? memory.vram0.active=? "
		     "other.jobs=5 jobs other.pasid=2 skipped=3 dropped=0",
		     "a client: fields and order; the last of two equal keys; processes sorted, "
		     "each once");
	check_record(e, &raw, "time=7000000 dt=? dev=card0 driver=xe pdev=? client=42 name=xterm "
		     "pid=4242 comm=glxgears pids=4100 pids=4242 cgroup=/user.slice container=? "
		     "used=4096 engine.render.busy_ns=250000000 engine.render.capacity=1 "
		     "engine.render.maxfreq=9 engine.ccs.cycles=2000 engine.ccs.total_cycles=8000 "
		     "engine.ccs.capacity=1 memory.vram0.total=8192 memory.vram0.shared=? "
		     "memory.vram0.resident=4096 memory.vram0.purgeable=? memory.vram0.active=? "
		     "other.jobs=5 jobs other.pasid=2 skipped=3 dropped=0",
		     "a client, raw: counters instead of rates, no dt");
	record_make(&rec, e, &both);
	check(str_find(shown(NULL), S("engine.render.busy=12500 engine.render.busy_ns=250000000 ")),
	      "a client with rates and totals");
	check_u64(rec.owner ? rec.owner->pid : 0, 4242, "the owner is the oldest process");
	clients[cli].e.t_was = 0;
	record_make(&rec, e, &live);
	check(!record_get(&rec, NULL, "dt"), "a client that was read once has no dt");
	clients[cli].e.t_was = NS_PER_S;
	clients[cli].keykind = KEY_PID;
	record_make(&rec, e, &live);
	check(!record_get(&rec, NULL, "client"), "a key that is not a client id is not shown");
	clients[cli].keykind = KEY_ID;
}

#define DEVICE "dev=card0 driver=xe pdev=? name=? state=active "
#define DEVICE_SUMS "clients=1 unreadable=0 dropped=0 busy=? idle=? used=7 "
#define MEMORY "memory.vram0.total=8192 memory.vram0.shared=? memory.vram0.resident=4096 " \
	"memory.vram0.purgeable=? memory.vram0.active=? "
#define ENGINES(render, ccs) "engine.render.busy=" render " engine.render.capacity=1 " \
	"engine.render.util=? engine.render.freq=? engine.render.maxfreq=9 engine.ccs.busy=" ccs \
	" engine.ccs.capacity=1 engine.ccs.util=? engine.ccs.freq=? "
#define SENSORS(rp0) "vram.total=? vram.used=7 freq.gt0.cur=1300 freq.gt0.max=? " rp0 \
	"temp.edge=-5500 power.pkg=5000000 energy.pkg=10000000 fan={} volt={} throttle=pl1 " \
	"link.speed=160 link.width=?"
#define COUNTED(ns, cycles) "engine.render.busy_ns=" ns " engine.render.capacity=1 " \
	"engine.render.maxfreq=9 engine.ccs.cycles=" cycles " engine.ccs.total_cycles=8000 " \
	"engine.ccs.capacity=1 "

static void t_device(void)
{
	const struct entity *e = &devices[dev].e;
	struct device bare = { .e = { .kind = K_DEVICE }, .card = -1, .render = -1, .accel = -1 };

	check_record(e, &live, "time=7000000 dt=1000000 " DEVICE DEVICE_SUMS
		     ENGINES("12500", "25000") MEMORY SENSORS(""),
		     "a device: sums over its clients, power from energy, active throttle reasons");
	check_record(e, &raw, "time=7000000 dt=? " DEVICE DEVICE_SUMS
		     COUNTED("250000000", "2000") MEMORY SENSORS(""),
		     "a device, raw: counters instead of rates");
	check_record(e, &list, "time=? dt=? " DEVICE "nodes=card0 nodes=renderD128 " DEVICE_SUMS
		     ENGINES("?", "?") MEMORY SENSORS("freq.gt0.rp0=2000 ") " link.max_speed=? "
		     "link.max_width=? facts.rev=1 facts.vendor=8087 missing.fan=no fan here",
		     "list: no rates, but limits, facts and what is missing");
	check_record(&bare.e, &live, "time=7000000 dt=1000000 dev=? driver=? pdev=? name=? state=? "
		     "clients=0 unreadable=0 dropped=0 busy=? idle=? engine.busy={} "
		     "memory.total={} vram.total=? vram.used=? freq.cur={} temp={} power={} "
		     "energy={} fan={} volt={} throttle=? link.speed=? link.width=?",
		     "a device without counters: its values are unknown, not 0");
	bare.anonymous = 1;
	record_make(&rec, &bare.e, &live);
	check(!record_get(&rec, NULL, "clients"),
	      "a device with clients without an id: the number of clients is unknown");
	registry.unreadable = 4;
	registry.dropped = 5;
	bare.e.dropped = 6;
	record_make(&rec, &bare.e, &live);
	check(record_get(&rec, NULL, "unreadable")->n == 4 &&
	      record_get(&rec, NULL, "dropped")->n == 11,
	      "a device with values that could not be read: they are counted");
	registry.unreadable = registry.dropped = 0;
}

static int run_cgroup(void)
{
	make_machine(true);
	record_make(&rec, &groups[1].e, &live);
	puts(show(shown(NULL)));
	record_make(&rec, &groups[1].e, &raw);
	puts(show(shown(NULL)));
	return fflush(stdout);
}

#define GROUP "dev=card0 cgroup=/user.slice container=? clients=1 used=4096 "

/* In a child process: a run sums either for devices or for cgroups. */
static void t_cgroup(void)
{
	child_check(run_cgroup, 0, "time=7000000 dt=1000000 " GROUP ENGINES("12500", "25000") MEMORY
		    "dropped=0\ntime=7000000 dt=? " GROUP COUNTED("250000000", "2000") MEMORY
		    "dropped=0\n", NULL, "a cgroup: sums over its clients; raw");
}

static void t_fdinfo(void)
{
	struct client c = clients[cli];

	c.e.kind = K_FDINFO;
	check_record(&c.e, &raw, "file=f driver=xe pdev=? client=42 name=xterm used=4096 "
		     COUNTED("250000000", "2000") "memory.vram0.total=8192 "
		     "memory.vram0.resident=4096 other.jobs=5 jobs other.pasid=2 skipped=3 "
		     "dropped=0",
		     "a dump: memory keys that it does not have are left out");
}

/* A device's own counter replaces the sum over its clients, also when its value is unknown. */
static void t_own(void)
{
	struct entity *e = &devices[dev].e;

	reg_begin(e, 3ll * NS_PER_S);
	reg_put(e, D_RESIDENT, S("vram0"), 99, 3ll * NS_PER_S);
	reg_put(e, D_RESIDENT, S("gtt"), 0, 3ll * NS_PER_S);
	reg_put(e, D_BUSY_NS, S("render"), 1, 3ll * NS_PER_S);
	reg_sum_clients(false, true);
	record_make(&rec, e, &raw);
	check(str_find(shown("engine"), S("engine.render.busy_ns=1 ")) &&
	      str_find(shown("engine"), S("memory.vram0.resident=99 ")),
	      "own counters replace sums");
	check(str_find(shown("engine"), S("memory.vram0.total=8192 ")),
	      "values without a counter of the device are sums");
	check(str_find(shown("memory"), S("memory.gtt.resident=0 ")), "a value of 0 is known");
	check(str_find(shown("temp"), S("temp.edge=? ")) &&
	      str_find(shown("throttle"), S("throttle=? ")),
	      "values that were not read are unknown");
	reg_begin(e, 4ll * NS_PER_S);
	reg_put(e, D_THROTTLE, S("pl1"), 0, 4ll * NS_PER_S);
	reg_sum_clients(false, true);
	record_make(&rec, e, &raw);
	check(str_find(shown("memory"), S("memory.vram0.resident=? ")),
	      "an own counter that was not read is unknown, and not the sum");
	check(str_find(shown("throttle"), S("throttle={} ")),
	      "no active throttle reason: an empty list");
}

/* --- the other kinds -------------------------------------------------------------------------- */

static void make_event(u32 n, const char *name)
{
	table_all(&events_table);
	table_all(&sites_table);
	events[n] = (struct event){ .name = text_put(NONE, str_z(name)) };
	sites[0] = (struct site){ SITE_ALL };
	sites[1] = (struct site){ SITE_ALL, .cgroup = text_put(NONE, S("/a")) };
	sites[1].cpu = sites[1].socket = 0;
	sites[1].core = 2;
	sites[2] = (struct site){ SITE_ALL, .pid = 12,
				  .tid = 13, .comm = text_put(NONE, S("sh")) };
}

#define EVROW(...) &(struct evrow){ .e = { .kind = K_EVENT }, .event = 1, __VA_ARGS__ }.e

static void t_event(void)
{
	make_event(1, "cycles");
	check_record(EVROW(.value = 0, .share = 100000, .sum = { 5, 9, 9 }, .places = 1), &live,
		     "time=7000000 dt=1000000 event=cycles set=? cpu=? pid=? value=0 unit= "
		     "running=100000 reason=?", "an event: 0 is known; sparse fields are left out");
	check_record(EVROW(.state = CS_PINNED, .value = 7), &live, "time=7000000 dt=1000000 "
		     "event=cycles set=? cpu=? pid=? value=? unit= running=? reason=not counted: "
		     "pinned, and no counter was free", "an event without a value: the reason");
	check_record(EVROW(.site = 1, .value = 25, .point = 1, .neg = true, .share = 50000,
			   .places = 2, .sum = { 5, 8, 4 }, .repeats = 2), &raw,
		     "time=7000000 dt=? event=cycles set=? cpu=0 core=2 socket=0 pid=? cgroup=/a "
		     "value=-25/1 unit= running=50000 reason=? deviation=0 repeats=2 cpus=2 "
		     "count=5 "
		     "enabled=8 runtime=4", "an event, raw: counts and times");
	check_str(rec.f[2].inst, "cycles@CPU0-S0-C2 /a", "an event: its name and its place");
	record_make(&rec, EVROW(.site = 2, .value = 25), &live);
	check_str(shown("set"), "set=? cpu=? pid=12 tid=13 comm=sh value=25 unit= running=? "
		  "reason=?",
		  "an event of a thread");
	check_str(rec.f[2].inst, "cycles@sh-13", "an event of a thread: its name and the thread");
	sites[2] = (struct site){ SITE_ALL };
	sites[2].socket = sites[2].die = 1;
	sites[2].level = 3;
	sites[2].cache = 8;
	record_make(&rec, EVROW(.site = 2, .value = 25), &live);
	check_str(shown("cpu"), "cpu=? socket=1 die=1 cache=8 pid=? value=25 unit= running=? reason=?",
		  "an event of a cache");
	check_str(rec.f[2].inst, "cycles@S1-D1-L3-ID8", "an event of a cache: its name in perf");
	sites[2] = (struct site){ SITE_ALL };
	sites[2].node = 4;
	record_make(&rec, EVROW(.site = 2, .value = 25), &live);
	check_str(rec.f[2].inst, "cycles@N4", "an event of a node");
	sites[2] = (struct site){ SITE_ALL };
	sites[2].socket = sites[2].die = 0;
	sites[2].cluster = 16;
	record_make(&rec, EVROW(.site = 2, .value = 25), &live);
	check_str(shown("cpu"), "cpu=? socket=0 die=0 cluster=16 pid=? value=25 unit= running=? reason=?",
		  "an event of a cluster");
	events[1].rule = R_LEVEL;
	record_make(&rec, EVROW(.value = 25, .sum = { 5, 8, 4 }), &raw);
	check(!record_get(&rec, NULL, "count") && record_get(&rec, NULL, "value"),
	      "a level has no count");
	evsets[1] = (struct evset){ .name = text_put(NONE, S("alu")), .id = 3, .timeout = 10,
				    .turns = 5, .turns_was = 2, .active = 300, .active_was = 50 };
	events[1].set = 1;
	record_make(&rec, EVROW(.value = 25), &live);
	check_str(shown("set"), "set=alu set_id=3 cpu=? pid=? value=25 unit= running=? reason=? "
		  "runs=3 active=250 timeout=10", "an event of a set: its turns in this interval");
}

static void t_sample(void)
{
	static struct prec full = { .have = PS_IP | PS_TID | PS_ADDR | PS_CPU, .mode = PM_USER,
				    .pid = 42, .tid = 43, .cpu = 3, .ip = 0x401010, .addr = 0x7f00,
				    .lost = 7 };
	static struct prec bare;
	static const struct tpfield fields[] = {
		{ .name = STR("common_pid"), .size = 4, .each = 4, .common = true },
		{ .name = STR("pid"), .size = 4, .each = 4, .is_signed = true },
		{ .name = STR("bytes"), .at = 4, .size = 2, .each = 1, .form = TP_ARRAY },
		{ .name = STR("name"), .at = 6, .size = 6, .each = 1, .form = TP_TEXT },
		{ .name = STR("ptr"), .at = 12, .size = 1, .each = 1, .form = TP_POINTER },
		{ .name = STR("id"), .at = 12, .size = 1, .each = 1 },
		{ .name = STR("late"), .at = 13, .size = 1, .each = 1 },
	};
	static struct sample s = { .e = { .kind = K_SAMPLE }, .r = &full, .event = 1, .period = 5,
				   .comm = STR("sh"), .nchain = 2, .ngroup = 1 };

	make_event(1, "cycles");
	s.at = (struct frame){ .ip = full.ip, .offset = 0x10, .symbol = S("main"),
			       .module = S("/bin/sh") };
	s.chain[0] = s.at;
	s.chain[1] = (struct frame){ .ip = 0x402000 };
	s.group[0].event = 1;
	s.group[0].count = UINT64_MAX;
	check_record(&s.e, &live, "time=7000000 event=cycles cpu=3 pid=42 tid=43 comm=sh mode=user "
		     "ip=0x401010 addr=0x7f00 symbol=main+0x10 module=/bin/sh period=5 lost=7 "
		     "group.cycles=18446744073709551615 callchain=main+0x10 callchain=0x402000",
		     "a sample");
	check_str(rec.f[2].inst, "cycles@CPU3", "a sample: its event and its CPU");
	full.have = PS_RAW;
	full.payload = str_of("\377\377\377\377\1\2bash\0\0\11", 13);
	full.lost = 0;
	s = (struct sample){ .e = { .kind = K_SAMPLE }, .r = &full, .fields = fields, .nfields = LEN(fields) };
	check_record(&s.e, &live, "time=7000000 event=? cpu=? pid=? tid=? comm=? mode=? ip=? addr=? symbol=? "
		     "module=? period=? field.pid=-1 field.bytes=0102 field.name=bash field.ptr=0x9 "
		     "field.id=9 field.late=? callchain={}", "a sample of a tracepoint");
	s.common = true;
	check_record(&s.e, &live, "time=7000000 event=? cpu=? pid=? tid=? comm=? mode=? ip=? addr=? symbol=? "
		     "module=? period=? field.common_pid=4294967295 field.pid=-1 field.bytes=0102 "
		     "field.name=bash field.ptr=0x9 field.id=9 field.late=? callchain={}",
		     "a sample of a tracepoint, with the fields that all tracepoints have");
	s = (struct sample){ .e = { .kind = K_SAMPLE }, .r = &bare };
	check_record(&s.e, &live, "time=7000000 event=? cpu=? pid=? tid=? comm=? mode=? ip=? "
		     "addr=? symbol=? module=? period=? callchain={}",
		     "a sample without any known value");
}

static void t_others(void)
{
	static const struct profrow row = { .name = STR("main"), .module = STR("/bin/sh"),
					    .samples = 2, .period = 250 };
	static const struct named temp = { .vendor = "linux", .name = "t", .what = "temp (mC)",
					   .unit = "mC", .min = INT64_MIN, .max = INT64_MAX,
					   .known = true, .value = -5 };
	static const struct named load = { .vendor = "linux", .name = "l", .what = "load",
					   .unit = "%", .max = 3, .known = true,
					   .unmeasured = true };
	static const struct picked picked[] = {
		{ &temp, 6, STR("a/t") }, { &load, 7, STR("a/l") },
	};
	static const struct oareport head = { .id = 1, .ts = 9, .has_ticks = true };
	static const u64 slots[OA_SLOTS] = { [OA_TIME] = 4, [OA_CLOCK] = 8 };
	static struct probed probed = { .e = { .kind = K_SOURCE }, .status = PROBE_DENIED,
					.source = "perf" };

	profile_sums.period[PROF_SYMBOL] = 1500;
	check_record(&(struct profile){ { .kind = K_PROFILE }, PROF_SYMBOL, &row }.e, &live,
		     "by=symbol name=main ip=? module=/bin/sh period=250 samples=2 percent=16667",
		     "a profile: the rounded share");
	check_record(&(struct reading){ { .kind = K_COUNTER }, picked, 1 }.e, &live,
		     "time=7000000 dt=1000000 vendor=linux name=t value=-5 unit=mC", "a counter");
	check_record(&(struct reading){ { .kind = K_COUNTER }, picked + 1, 1 }.e, &list,
		     "time=? dt=? index=7 vendor=linux name=l value=? unit=% min=0 max=3 "
		     "scale=333333321/7 description=load",
		     "a counter of a list, not measured: its limits");
	check_record(&(struct reading){ { .kind = K_COUNTERS }, picked, 2 }.e, &live,
		     "time=7000000 dt=1000000 counter.a/t=-5 counter.a/l=?",
		     "all counters in one record");
	check(rec.steady, "records of counters always have the same fields");
	check_record(&(struct oarow){ .e = { .kind = K_OA }, .dev = S("card0"), .index = 3,
				      .reports = 2, .head = &head, .sum = true, .ts_hz = 100,
				      .slots = slots }.e, &live,
		     "time=7000000 dt=1000000 dev=card0 set=? index=3 reason=? ctx=? ts=9 "
		     "cpu_time=? ticks=8 freq=200 lost=0 reports=2", "a sum of OA reports");
	check_record(&probed.e, &live, "source=perf status=denied ok=0 detail=? remedy=?",
		     "a source of values");
	probed.status = PROBE_ABSENT;
	record_make(&rec, &probed.e, &live);
	check(!record_get(&rec, NULL, "ok"), "a source that is absent: ok is unknown");
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Numbers, and what printf writes for them, without zeros at the end. */
static struct { double f; char want[328]; } floats[5000] = {
	{ .f = 0 }, { .f = 0.5 }, { .f = -0.25 }, { .f = 1.0000005 }, { .f = 2.5e-7 },
	{ .f = 5e-7 }, { .f = 1.5e-6 }, { .f = 9e12 }, { .f = 1e13 + 0.5 },
	{ .f = 18446744073709551616.0 }, { .f = -1e300 }, { .f = 1.7976931348623157e308 },
};
enum { NAMED_FLOATS = 12 };

static void want_make(size_t i)
{
	double f = floats[i].f;
	char *want = floats[i].want;

	snprintf(want, sizeof(floats[i].want), "%.6f", f < 0 ? -f : f);
	for (size_t n = strlen(want); want[n - 1] == '0' && want[n - 2] != '.'; n--)
		want[n - 1] = '\0';
}

static bool float_is(size_t i)
{
	char text[328];
	struct val v = { 0 };
	struct buf b = BUF(text);

	rec.text_n = 0;
	set_float(&rec, &v, floats[i].f);
	if (v.type == V_DIGITS)
		put_str(&b, v.s);
	else
		put_dec(&b, v.n, 6, 1);
	return v.neg == (floats[i].f < 0) && str_eq(str_of(b.p, b.n), str_z(floats[i].want));
}

static void t_floats(void)
{
	struct val v = { 0 };
	size_t wrong = 0;

	for (size_t i = 0; i < LEN(floats); i++) {
		if (i >= NAMED_FLOATS)
			floats[i].f = (double)(i64)rnd() / (double)(1ull << rnd_of(64));
		want_make(i);
	}
	sys_fpu_double(); /* as the program does; on i386 musl's printf would be wrong after it */
	for (size_t i = 0; i < NAMED_FLOATS; i++)
		if (!check(float_is(i), "number %zu has the digits of printf", i))
			note("want %s", floats[i].want);
	for (size_t i = NAMED_FLOATS; i < LEN(floats); i++)
		wrong += !float_is(i);
	check_u64(wrong, 0, "5000 random numbers have the digits of printf");
	set_float(&rec, &v, 1e308 * 10);
	check(v.type == V_NULL, "infinity is an unknown value");
	set_float(&rec, &v, __builtin_nan(""));
	check(v.type == V_NULL, "a value that is not a number is unknown");
}

/* --- no room ---------------------------------------------------------------------------------- */

static void t_lost(void)
{
	static struct picked picked[9000];
	static const struct named one = { .name = "n", .unit = "", .known = true };
	static char symbol[200];
	static struct prec p;
	static struct sample s = { .e = { .kind = K_SAMPLE }, .r = &p, .event = 1,
				   .nchain = MAX_FRAMES };
	const size_t most = MAX_FIELDS - ncolumns;

	for (size_t i = 0; i < LEN(picked); i++)
		picked[i] = (struct picked){ &one, 0, S("t") };
	record_make(&rec, &(struct reading){ { .kind = K_COUNTERS }, picked, LEN(picked) }.e,
		    &live);
	check_u64(rec.n, most, "9000 counters: the record has the largest number of fields");
	check_u64(rec.lost, LEN(picked) + 4 - most,
	          "9000 counters: those without room are counted as lost");
	memset(symbol, 'x', sizeof(symbol));
	for (size_t i = 0; i < MAX_FRAMES; i++)
		s.chain[i].symbol = str_of(symbol, sizeof(symbol));
	record_make(&rec, &s.e, &live);
	check(rec.text_n <= REC_TEXT && rec.lost == MAX_FRAMES - (rec.n - 14) && rec.lost > 100,
	      "texts without room: their fields are left out and counted");
	record_make(&rec, &clients[cli].e, &live);
	check(rec.lost == 0 && record_get(&rec, NULL, "dropped")->n == 0,
	      "after a full record, the next one is complete");
	holder_remove(holder_find(4100, 7));
	for (u32 i = 0; i < MAX_PIDS_SHOWN + 10u; i++)
		holder_add(10000 + i, 5, task_add(10000 + i), cli);
	record_make(&rec, &clients[cli].e, &live);
	check_u64(rec.lost, 12, "4096 processes are shown, the others are counted as lost");
	check_u64(record_get(&rec, NULL, "dropped")->n, 12,
	          "the field `dropped` has the number of processes without room");
}

/* Makes a record with memory for so many fields; -1: without any memory. */
static int with_fields(long n)
{
	storage_table.most = (u32)(n < 0 ? 0 : (long)offsetof(struct storage, f) + n * (long)sizeof(struct field));
	make_machine(false);
	record_make(&rec, &clients[cli].e, &live);
	return rec.n <= (n < 0 ? 0 : (size_t)n) && rec.lost + rec.n >= 34 ? (int)rec.n : 99;
}

static int run_none(void) { return with_fields(-1); }
static int run_five(void) { return with_fields(5); }

/* --- selection -------------------------------------------------------------------------------- */

static const struct str *chosen;
static size_t nchosen;
static u32 when;
enum { IDS = W_LABEL | W_ID };

static int run_selected(void)
{
	make_machine(false);
	record_select(K_CLIENT, chosen, nchosen, when);
	record_make(&rec, &clients[cli].e, &live);
	puts(show(shown(when & W_ID ? "dev" : "comm")));
	printf("%d%d%d", record_shows(D_RESIDENT), record_shows(D_MAXFREQ), record_shows(D_TEMP));
	record_make(&rec, &devices[dev].e, &live);
	printf("%d\n", record_get(&rec, "vram", "used") != NULL);
	return fflush(stdout);
}

static void t_selected(void)
{
	static const struct {
		struct str patterns[2];
		size_t n;
		u32 when;
		const char *fields, *name;
	} rows[] = {
		{ { STR("used"), STR("name") }, 2, IDS,
		  "name=xterm pid=4242 comm=glxgears cgroup=/user.slice used=4096\n0001\n",
		  "scalars: only these, and those that identify the client" },
		{ { STR("memory.vram0.resident") }, 1, IDS,
		  "pid=4242 comm=glxgears cgroup=/user.slice " MEMORY "\n1001\n",
		  "a group is selected as a whole" },
		{ { STR("engine.render") }, 1, IDS, "pid=4242 comm=glxgears cgroup=/user.slice "
		  ENGINES("12500", "25000") "\n0101\n", "the engines" },
		{ { STR("engine.busy") }, 1, IDS, "pid=4242 comm=glxgears cgroup=/user.slice "
		  "engine.render.busy=12500 engine.ccs.busy=25000\n0001\n",
		  "a member of a group is selected for all instances" },
		{ { { 0 } }, 0, W_TABLE | IDS, "pid=4242 comm=glxgears cgroup=/user.slice "
		  "engine.render.busy=12500 engine.ccs.busy=25000 memory.vram0.resident=4096\n"
		  "1001\n", "the columns of a table" },
		{ { STR("engin") }, 1, IDS, "pid=4242 comm=glxgears cgroup=/user.slice\n0001\n",
		  "part of a name" },
		{ { STR("used"), STR("comm") }, 2, 0, "comm=glxgears used=4096\n0001\n",
		  "without the columns that identify the client" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		char want[1024], *end;

		chosen = rows[i].patterns;
		nchosen = rows[i].n;
		when = rows[i].when;
		snprintf(want, sizeof(want), "%s%s",
			 when & W_ID ? "dev=card0 driver=xe pdev=? client=42 " : "", rows[i].fields);
		end = strstr(want, " \n"); /* of the macros */
		if (end)
			memmove(end, end + 1, strlen(end));
		child_check(run_selected, 0, want, NULL, rows[i].name);
	}
}

int main(void)
{
	t_selected(); /* in child processes: they need the state of a new process */
	child_check(run_none, 0, NULL, NULL, "no memory: a record without fields, all are lost");
	child_check(run_five, 5, NULL, NULL, "memory for five fields: the others are lost");
	t_cgroup();
	make_machine(false);
	t_client();
	t_device();
	t_fdinfo();
	t_own();
	t_event();
	t_sample();
	t_others();
	t_floats();
	t_lost();
	return unit_end();
}
