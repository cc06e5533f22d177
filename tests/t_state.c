/* t_state.c - the registry into the bytes of --state and back, and bytes that are none.
 * SPDX-License-Identifier: MIT */
#include "../sources/state.c" /* its buffers, and the parser */
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

	device_set(devices[d].dev, sizeof(devices[0].dev), str_z(name));
	device_set(devices[d].driver, sizeof(devices[0].driver), S("xe"));
	return d;
}

/* As a new process has it. */
static void forget(void)
{
	for (u32 i = 1; i <= nclients; i++)
		if (clients[i].e.used)
			client_remove(i);
	reg_roll(false, true);
	for (u32 i = 1; i <= ndevices; i++)
		reg_clear(&devices[i].e);
	memset(devices, 0, sizeof(devices));
	ndevices = 0;
	loaded = (struct str){ 0 };
	reg_keeps = true;
}

static void at(i64 t)
{
	head_make();
	now.mono = now.boottime = t;
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
	table_all(&loaded_bytes_table);
	memcpy(loaded_bytes, s.p, str_len(s));
	return state_take((struct str){ loaded_bytes, loaded_bytes + str_len(s) }, filtered, age);
}

static char good_bytes[1 << 16];
static struct str good;

/* Two clients of a device, one of another; 100 s after the boot. */
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
	reg_roll(false, true);
	at(100 * second);
	good = state_make();
	memcpy(good_bytes, good.p, str_len(good));
	good = (struct str){ good_bytes, good_bytes + str_len(good) };
}

static void t_round(void)
{
	for (int filtered = 0; filtered < 2; filtered++) {
		u32 a, c, d, e, n;
		i64 age = 0;

		first_run();
		forget();
		d = gpu("card0");
		e = gpu("card1");
		a = client(d, 1, 10, 5);
		n = client(d, 3, 12, 5); /* b went, this came */
		c = client(e, 1, 11, 5);
		reading(a, 110 * second, 1000 + 4 * (u64)second, 110, 5400);
		reading(n, 110 * second, 1 * (u64)second, 60, 5400);
		reading(c, 110 * second, 7, 0, 0);
		at(110 * second);
		check(load(good, filtered, &age) == NULL && age == 10 * second, "filtered %d: it is loaded, 10 s old", filtered);
		clients[n].hidden = filtered;
		reg_roll(false, true);
		check_u64(busy(&clients[a].e, "render"), 40000, "filtered %d: a client's time", filtered);
		check_u64(busy(&clients[a].e, "rcs"), 25000, "filtered %d: a client's cycles", filtered);
		check_u64(busy(&clients[n].e, "render"), 10000, "filtered %d: time of a new one", filtered);
		check_u64(busy(&clients[n].e, "rcs"), 15000, "filtered %d: cycles of a new one, by the clock of others", filtered);
		check_u64(busy(&clients[c].e, "render"), 0, "filtered %d: the other device's has the same number", filtered);
		check_u64(get(&devices[d].e, D_SUM_NS, "render"), filtered ? 1000 + 4 * (u64)second : 6000 + 5 * (u64)second,
			  "filtered %d: the total that is shown", filtered);
		check_u64(get(&devices[d].e, D_KEPT_NS, "render"), 6000 + 5 * (u64)second, "filtered %d: that of all", filtered);
		check(ngroups && get(&groups[1].e, D_KEPT_NS, "render"), "filtered %d: groups have theirs", filtered);
		check_u64(get(&devices[d].e, D_KEPT_TOTAL_CYCLES, "rcs"), 5400, "filtered %d: the GPU's clock", filtered);
	}
}

static bool refused(struct str s)
{
	struct statehead h;
	struct str rows;

	return state_parse(s, &now, &h, &rows) != NULL;
}

/* The same with its checksum put right: what the rows' parser has to find. */
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
	check(!refused(edge_str(good.p, n)), "what is made is taken");
	for (size_t i = 0; i < n; i++) {
		bad += !refused(edge_str(good.p, i));
		cut += i >= sizeof(u64) && !refused_rows(edge_str(good.p, i));
	}
	check_u64(bad, 0, "every truncation is found");
	check_u64(cut, 0, "and by the rows alone");
	for (size_t i = 0; i < n * 8; i++) {
		struct str s = edge_str(good.p, n);

		edge_high[(ptrdiff_t)(i / 8) - (ptrdiff_t)n] ^= (char)(1 << i % 8);
		bad += !refused(s);
	}
	check_u64(bad, 0, "every flipped bit is found");
	check(replay(good, any), "nothing is read beyond any of them");
}

/* Rows that nobody wrote, put in: nothing is left, nothing overflows; what is saved then is good. */
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
		reg_roll(turn & 2, true);
		s = state_make();
		bad += refused(s);
		bad += busy(&devices[d].e, "render") > 100000 && busy(&devices[d].e, "render") != UINT64_MAX;
		if (turn % 8 == 7)
			first_run();
	}
	check_u64(bad, 0, "forged rows do no harm");
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
	reg_roll(false, true);
	at(2 * second);
	s = state_make();
	check(str_len(s) > 4 << 20 && !refused(s), "all clients that there is room for, with seven engines each");
	memset(name, 'x', sizeof(name));
	for (u32 i = 1; i < MAX_CLIENTS; i++) {
		reg_clear(&clients[i].e);
		reg_begin(&clients[i].e, second);
		for (char k = 0; k < 7; k++) {
			name[0] = k;
			reg_put(&clients[i].e, D_BUSY_NS, (struct str){ name, name + sizeof(name) }, i, second);
		}
	}
	check(str_len(state_make()) == 0, "more than there is room for is none at all");
	check(state_save("/nonexistent/state") == -EFBIG, "and says so");
}

int main(void)
{
	reg_keeps = true;
	t_round();
	t_bytes();
	t_forged();
	t_room();
	return unit_end();
}
