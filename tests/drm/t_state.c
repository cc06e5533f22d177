/* t_state.c - the registry is saved as a --state file and loaded again; damaged files are refused.
 * SPDX-License-Identifier: MIT */
#include "../../sources/drm/state.c" /* for its static buffers and parser */
#include "unit.h"

#define S(lit) ((struct str)STR(lit))

static const i64 second = 1000000000;

static void reading(u32 c, i64 t, u64 render, u64 cycles, u64 total)
{
	reg_begin(&clients[c].e, t);
	reg_put(&clients[c].e, D_BUSY_NS, S("render"), render, t);
	if (total) {
		reg_put(&clients[c].e, D_CYCLES, S("rcs"), cycles, t);
		reg_put(&clients[c].e, D_TOTAL_CYCLES, S("rcs"), total, t);
	}
}

static u32 client(u32 device, u64 key, u32 pid, u64 start)
{
	u32 c = client_add(device, KEY_ID, key), t = task_find(pid);

	if (t == NONE) {
		t = task_add(pid);
		tasks[t].start = start;
		tasks[t].cgroup = cgroup_add(S("/a.slice"));
	}
	holder_add(pid, (u32)key, t, c);
	return c;
}

static u32 gpu(const char *name)
{
	u32 d = device_add();

	str_copy(devices[d].dev, sizeof(devices[0].dev), str_z(name));
	str_copy(devices[d].driver, sizeof(devices[0].driver), S("xe"));
	return d;
}

/* Empties the registry, as at the start of a process. */
static void forget(void)
{
	for (u32 i = 1; i <= nrows.clients; i++)
		if (clients[i].e.used)
			client_remove(i);
	reg_sum_clients(false, true);
	for (u32 i = 1; i <= nrows.devices; i++)
		reg_clear(&devices[i].e);
	devices_clear(nrows.devices);
	saved.loaded = (struct str){ 0 };
	registry.all_sums = true;
}

static void at(i64 t)
{
	head_make();
	saved.now.mono = saved.now.boottime = t;
}

static u64 get(const struct entity *e, u8 desc, const char *inst)
{
	struct str want = str_z(inst);
	u64 v = 0;

	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (c->desc == desc && str_eq(inst_name(c->inst), want))
			return reg_get(e, desc, c->inst, &v) ? v : 0;
	return 0;
}

static u64 busy(const struct entity *e, const char *inst)
{
	struct str want = str_z(inst);
	u64 v = 0;

	for (struct counter *c = reg_first(e); c; c = reg_next(c))
		if (str_eq(inst_name(c->inst), want) && engine_busy(e, c->inst, &v))
			return v;
	return UINT64_MAX;
}

static const char *load(struct str s, bool filtered, i64 *age)
{
	table_all(&loaded.t);
	memcpy(loaded.rows, s.p, str_len(s));
	return state_apply((struct str){ loaded.rows, loaded.rows + str_len(s) }, filtered, age);
}

static char good_bytes[1 << 16];
static struct str good;

/* The state of a first run, 100 s after boot: two clients on one device, one on another. */
static void first_run(void)
{
	u32 a, b, c, d, e;

	forget();
	d = gpu("card0");
	e = gpu("card1");
	a = client(d, 1, 10, 5);
	b = client(d, 2, 11, 5);
	c = client(e, 1, 11, 5);
	reading(a, 100 * second, 1000, 10, 5000);
	reading(b, 100 * second, 5000, 20, 5000);
	reading(c, 100 * second, 7, 0, 0);
	reg_sum_clients(false, true);
	at(100 * second);
	good = state_make();
	memcpy(good_bytes, good.p, str_len(good));
	good = (struct str){ good_bytes, good_bytes + str_len(good) };
}

static void t_reload(void)
{
	for (int filtered = 0; filtered < 2; filtered++) {
		u32 a, c, d, e, n;
		i64 age = 0;

		first_run();
		forget();
		d = gpu("card0");
		e = gpu("card1");
		a = client(d, 1, 10, 5);
		n = client(d, 3, 12, 5); /* client 2 exited, client 4 is new */
		c = client(e, 1, 11, 5);
		reading(a, 110 * second, 1000 + 4 * (u64)second, 110, 5400);
		reading(n, 110 * second, 1 * (u64)second, 60, 5400);
		reading(c, 110 * second, 7, 0, 0);
		at(110 * second);
		check(load(good, filtered, &age) == NULL && age == 10 * second, "filtered %d: the state is loaded, and its age is 10 s", filtered);
		clients[n].hidden = filtered;
		reg_sum_clients(false, true);
		check_u64(busy(&clients[a].e, "render"), 40000, "filtered %d: busy time of a known client", filtered);
		check_u64(busy(&clients[a].e, "rcs"), 25000, "filtered %d: busy cycles of a known client", filtered);
		check_u64(busy(&clients[n].e, "render"), 10000, "filtered %d: busy time of a new client", filtered);
		check_u64(busy(&clients[n].e, "rcs"), 15000, "filtered %d: busy cycles of a new client, by the GPU clock of the others", filtered);
		check_u64(busy(&clients[c].e, "render"), 0, "filtered %d: a client with the same id on the other device", filtered);
		check_u64(get(&devices[d].e, D_SUM_NS, "render"), filtered ? 1000 + 4 * (u64)second : 6000 + 5 * (u64)second,
			  "filtered %d: the total of the displayed clients", filtered);
		check_u64(get(&devices[d].e, D_ALL_NS, "render"), 6000 + 5 * (u64)second, "filtered %d: the total of all clients", filtered);
		check(nrows.groups && get(&groups[1].e, D_ALL_NS, "render"), "filtered %d: a cgroup has a total of all clients", filtered);
		check_u64(get(&devices[d].e, D_ALL_TOTAL_CYCLES, "rcs"), 5400, "filtered %d: total cycles of the GPU clock", filtered);
	}
}

/* The start of a process is in ticks of 10 ms since boot, and the time of a state in ns: one client
 * of a process that started 5 s before the state, and one 5 s after it. */
static void t_started(void)
{
	struct statehead h = { .boottime = 100 * second };
	u32 d, before, after;

	forget();
	d = gpu("card0");
	seen_all[d] = false;
	before = client(d, 1, 20, 9500);
	after = client(d, 2, 21, 10500);
	check(!is_new(&clients[before], &h),
	      "a client of a process that started before the saved reading is a known client");
	check(is_new(&clients[after], &h),
	      "a client of a process that started after the saved reading is new");
	holder_add(20, 7, task_find(20), after);
	check(!is_new(&clients[after], &h),
	      "a client that an older process holds, too, is a known client");
}

static bool refused(struct str s)
{
	struct statehead h;
	struct str rows;

	return state_parse(s, &saved.now, &h, &rows) != NULL;
}

/* Parses the state with a valid checksum, so that the parser of the rows has to refuse it. */
static bool refused_rows(struct str s)
{
	u64 sum;

	if (str_len(s) < sizeof(sum))
		return refused(s);
	sum = hash64_more(HASH64_BEGIN, (struct str){ s.p, s.e - sizeof(sum) });
	memcpy(edge_high - sizeof(sum), &sum, sizeof(sum));
	return refused(s);
}

static bool any(struct str s)
{
	refused_rows(s);
	return true;
}

static void t_bytes(void)
{
	size_t n, bad = 0, cut = 0;

	first_run();
	n = str_len(good);
	check(!refused(edge_str(good.p, n)), "a valid state is accepted");
	for (size_t i = 0; i < n; i++) {
		bad += !refused(edge_str(good.p, i));
		cut += i >= sizeof(u64) && !refused_rows(edge_str(good.p, i));
	}
	check_u64(bad, 0, "every truncated state is refused");
	check_u64(cut, 0, "every truncated state with a valid checksum is refused");
	for (size_t i = 0; i < n * 8; i++) {
		struct str s = edge_str(good.p, n);

		edge_high[(ptrdiff_t)(i / 8) - (ptrdiff_t)n] ^= (char)(1 << i % 8);
		bad += !refused(s);
	}
	check_u64(bad, 0, "every flipped bit is refused");
	check(replay(good, any), "the parser reads no byte after the end of the state");
}

/* Loads forged rows: rates do not overflow, and the state that is saved afterwards is valid. */
static void t_forged(void)
{
	u64 seed = 1, bad = 0;
	i64 age;

	for (u32 turn = 0; turn < 3000; turn++) {
		u32 a, d;
		u64 sum;
		struct str s;

		forget();
		d = gpu("card0");
		a = client(d, 1, 10, 5);
		reading(a, 110 * second, 4 * (u64)second, 110, 5400);
		at(110 * second);
		for (u32 k = 0; k < 4; k++) {
			seed = seed * 6364136223846793005 + 1442695040888963407;
			good_bytes[sizeof(struct statehead) + (seed >> 33) % (str_len(good) - sizeof(struct statehead) - 8)] =
				(char)(seed >> 20 & 1 ? 0xff : seed >> 24);
		}
		sum = hash64_more(HASH64_BEGIN, (struct str){ good.p, good.e - sizeof(sum) });
		memcpy(good_bytes + str_len(good) - sizeof(sum), &sum, sizeof(sum));
		load(good, turn & 1, &age);
		reg_sum_clients(turn & 2, true);
		s = state_make();
		bad += refused(s);
		bad += busy(&devices[d].e, "render") > 100000 && busy(&devices[d].e, "render") != UINT64_MAX;
		if (turn % 8 == 7)
			first_run();
	}
	check_u64(bad, 0, "forged rows cause neither an overflow nor an invalid state");
}

static void t_room(void)
{
	char name[MAX_NAME];
	struct str s;
	u32 d;

	forget();
	d = gpu("card0");
	for (u32 i = 1; i < MAX_CLIENTS; i++) {
		u32 c = client(d, i, i, 5);

		reg_begin(&clients[c].e, second);
		for (u32 k = 0; k < 7; k++) {
			int n = snprintf(name, sizeof(name), "engine%u", (unsigned)k);

			reg_put(&clients[c].e, D_BUSY_NS, (struct str){ name, name + n }, i, second);
		}
	}
	reg_sum_clients(false, true);
	at(2 * second);
	s = state_make();
	check(str_len(s) > 4 << 20 && !refused(s), "the largest number of clients, with seven engines each, is saved");
	memset(name, 'x', sizeof(name));
	for (u32 i = 1; i < MAX_CLIENTS; i++) {
		reg_clear(&clients[i].e);
		reg_begin(&clients[i].e, second);
		for (char k = 0; k < 7; k++) {
			name[0] = k;
			reg_put(&clients[i].e, D_BUSY_NS, (struct str){ name, name + sizeof(name) }, i, second);
		}
	}
	check(str_len(state_make()) == 0, "a state that is larger than its buffer is refused");
	check(state_save("/nonexistent/state") == -EFBIG,
	      "saving a state that is larger than its buffer returns -EFBIG");
}

/* NVIDIA's driver reports percentages. The time that is calculated from them starts with each
 * run. */
static void t_percent(void)
{
	for (int known = 0; known < 2; known++) {
		u32 d, c;
		i64 age;

		for (int run = 0; run < 2; run++) {
			forget();
			d = gpu("card0");
			c = client(d, run && !known ? 2 : 1, 10, 5);
			reg_begin(&clients[c].e, (100 + 10 * run) * second);
			reg_put(&clients[c].e, D_BUSY_PCT, S("gr"), 63000, 1);
			reg_put(&clients[c].e, D_BUSY_NS, S("gr"), run ? 0 : (u64)second, (100 + 10 * run) * second);
			at((100 + 10 * run) * second);
			if (run)
				break;
			good = state_make();
			memcpy(good_bytes, good.p, str_len(good));
			good = (struct str){ good_bytes, good_bytes + str_len(good) };
		}
		check(load(good, false, &age) == NULL, "a state with a time of NVIDIA is loaded");
		check_u64(busy(&clients[c].e, "gr"), 63000,
		          "known %d: busy is the percentage of this run", known);
	}
}

/* The file is closed, whether its state is accepted or refused. */
static void t_closed(void)
{
	char path[512];
	unsigned before = 0, after = 0;
	struct str text;
	int fd = mkstemp(temporary_name(path, sizeof(path), "t_state"));

	for (int i = 0; i < 256; i++)
		before += fcntl(i, F_GETFD) >= 0;
	check(fd >= 0 && write(fd, "x", 1) == 1 && !state_read(path, &text) && str_len(text) == 1,
	      "a state file is read");
	fchmod(fd, 0666);
	check(state_read(path, &text) != NULL, "a state file that others may write is refused");
	for (int i = 0; i < 256; i++)
		after += fcntl(i, F_GETFD) >= 0;
	check_u64(after, before, "no state file remains open");
	close(fd);
	unlink(path);
}

int main(void)
{
	registry.all_sums = true;
	t_reload();
	t_started();
	t_bytes();
	t_forged();
	t_room();
	t_percent();
	t_closed();
	return unit_end();
}
