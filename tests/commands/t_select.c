/* t_select.c - selection of devices by -d, filters of clients, and the order of records.
 * SPDX-License-Identifier: MIT */
#include "../../commands/shared/select.c"
#include "child.h"

#define S(lit) ((struct str)STR(lit))
#define CONTAINER "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct cmd live = { .with = WITH_LIVE };
struct opts opt = { .cmd = &live };
struct record rec;

/* --- devices ---------------------------------------------------------------------------------- */

static u32 add_device(const char *name, const char *driver, const char *pdev, i32 card, i32 render,
		      i32 accel)
{
	u32 n = device_add();
	struct device *d = &devices[n];

	str_copy(d->dev, sizeof(d->dev), str_z(name));
	str_copy(d->driver, sizeof(d->driver), str_z(driver));
	str_copy(d->pdev, sizeof(d->pdev), str_z(pdev));
	d->card = card;
	d->render = render;
	d->accel = accel;
	return n;
}

static u32 intel, amd, npu; /* the devices */

static void make_devices(void)
{
	amd = add_device("card1", "amdgpu", "0000:03:00.0", 1, 129, -1);
	npu = add_device("accel0", "ivpu", "000f:03:0b.1", -1, -1, 0);
	intel = add_device("card0", "i915", "0000:00:02.0", 0, 128, -1);
}

static void t_not(void)
{
	static const struct { const char *sel; u8 amd, npu, intel; } rows[] = {
		{ "card1", 1, 0, 0 }, { "renderD128", 0, 0, 1 }, { "accel0", 0, 1, 0 }, { "0", 0, 0, 0 }, { "2", 0, 0, 0 },
		{ "driver:amdgpu", 1, 0, 0 }, { "0000:03:00.0", 1, 0, 0 }, { "3", 0, 0, 0 }, { "card", 0, 0, 0 },
		{ "", 0, 0, 0 }, { "18446744073709551615", 0, 0, 0 },
		{ "AMDGPU", 1, 0, 0 }, { "0:0:2.0", 0, 0, 1 }, { "F:03:0B.1", 0, 1, 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		opt.not[0] = str_z(rows[i].sel);
		opt.nnot = 1;
		check(device_choice(amd) == rows[i].amd && device_choice(npu) == rows[i].npu &&
		      device_choice(intel) == rows[i].intel,
		      "--not '%s': the devices that it leaves out", rows[i].sel);
	}
	opt.nnot = 0;
	opt.devices[0] = S("driver:i915");
	opt.ndevices = 1;
	check(device_choice(intel) == DEVICE_BY_DRIVER && device_choice(amd) == 0, "-d driver:i915 names the driver");
	opt.devices[0] = S("driver:I915");
	check(device_choice(intel) == DEVICE_BY_DRIVER, "-d driver:I915: the case does not matter");
	opt.devices[0] = S("i915");
	check(device_choice(intel) == 0, "-d i915 does not name the driver");
	opt.ndevices = 0;
}

/* Returns the names of the selected devices or clients, in order. */
static const char *chosen_names(u8 kind)
{
	static char text[1024];
	struct buf b = BUF_Z(text);

	for (size_t i = 0; i < norder; i++) {
		put_z(&b, i ? " " : "");
		if (kind == K_DEVICE)
			put_z(&b, devices[order[i]].dev);
		else if (kind == K_CLIENT)
			put_u64(&b, clients[order[i]].key);
		else
			b.n += text_copy(cgroups[groups[order[i]].cgroup].path, b.p + b.n,
					 b.cap - b.n);
	}
	return buf_z(&b);
}

static void t_devices(void)
{
	static const struct { const char *sel, *names; } rows[] = {
		{ "card1", "card1" }, { "renderD129", "card1" }, { "accel0", "accel0" },
		{ "0", "card0" },
		{ "1", "card1" }, { "2", "accel0" }, { "3", "" }, { "0000:03:00.0", "card1" },
		{ "driver:i915", "card0" }, { "driver:ivpu", "accel0" },
		{ "/dev/dri/card1", "card1" },
		{ "/dev/dri/renderD128", "card0" }, { "/dev/accel/accel0", "accel0" },
		{ "card2", "" },
		{ "renderD1", "" }, { "card1x", "" }, { "card", "" }, { "accel1", "" },
		{ "driver:", "" },
		/* any case, any number of leading zeros, with or without the domain */
		{ "i915", "card0" }, { "I915", "card0" }, { "driver:I915", "card0" }, { "i91", "" },
		{ "CARD1", "card1" }, { "RENDERd129", "card1" }, { "Accel0", "accel0" },
		{ "/dev/dri/renderd128", "card0" },
		{ "00000000:00:02.0", "card0" }, { "0:00:02.0", "card0" }, { "0:0:2.0", "card0" },
		{ "00:02.0", "card0" }, { "0:2.0", "card0" }, { "000:003:000.000", "card1" },
		{ "0000F:03:0B.1", "accel0" }, { "f:3:b.1", "accel0" }, { "3:B.1", "accel0" },
		{ "000F:03:0b.1", "accel0" }, { "1000F:03:0b.1", "" }, { "0:03:0b.1", "" },
		{ "0000:03:00", "" }, { "0000:03:00.", "" }, { "0000:03:00.1", "" }, { ":03:00.0", "" },
		{ "02.0", "" }, { "0000:0000:00:02.0", "" }, { ".", "" }, { ":", "" }, { "00:", "" },
		{ "0000:00:02.0 ", "" }, { "", "" }, { "card-1", "" }, { "-1", "" },
		{ "card18446744073709551617", "" },
	};

	opt.ndevices = 0;
	choose_devices();
	check_str(str_z(chosen_names(K_DEVICE)), "card0 card1 accel0",
		  "without -d: all devices, cards first, by number");
	for (size_t i = 0; i < LEN(rows); i++) {
		opt.devices[0] = str_z(rows[i].sel);
		opt.ndevices = 1;
		choose_devices();
		check_str(str_z(chosen_names(K_DEVICE)), rows[i].names, "-d '%s' selects '%s'",
			  rows[i].sel, rows[i].names);
	}
	opt.devices[0] = S("accel0");
	opt.devices[1] = S("0");
	opt.ndevices = 2;
	choose_devices();
	check_str(str_z(chosen_names(K_DEVICE)), "card0 accel0",
		  "-d accel0,0: in the order of devices");
	opt.ndevices = 0;
	devices[amd].gone = true;
	choose_devices();
	check_str(str_z(chosen_names(K_DEVICE)), "card0 accel0", "an unplugged device is left out");
	devices[amd].gone = false;
	devices[intel].dev[0] = '\0';
	choose_devices();
	check_str(str_z(chosen_names(K_DEVICE)), "card1 accel0",
		  "a device without a node is left out");
	devices[intel].dev[0] = 'c';
}

static bool is_npu(const struct device *d) { return d->accel == 0; }
static bool is_none(const struct device *d) { return d->accel == 7; }
static bool is_any(const struct device *d) { return d->e.used; }

static void t_first(void)
{
	check(device_chosen(is_npu) == npu && device_chosen(is_none) == NONE &&
	      device_chosen(is_any) == intel, "the first device that fits, in order");
	opt.devices[0] = S("card1");
	opt.ndevices = 1;
	check(device_chosen(is_npu) == NONE && device_chosen(is_any) == amd,
	      "the first device that fits, only among those of -d");
}

/* --- filters ---------------------------------------------------------------------------------- */

static u32 add_client(u32 device, u64 key, u32 pid, const char *comm, const char *cgroup)
{
	u32 c = client_add(device, KEY_ID, key), t;

	if (!pid)
		return c;
	t = task_add(pid);
	tasks[t].start = 1;
	tasks[t].comm_len = (u8)strlen(comm);
	memcpy(tasks[t].comm, comm, strlen(comm));
	tasks[t].has_comm = true;
	tasks[t].cgroup = cgroup ? cgroup_add(str_z(cgroup)) : NONE;
	holder_add(pid, 5, t, c);
	return c;
}

static void make_clients(void)
{
	add_client(npu, 5, 50, "npu", NULL);
	add_client(amd, 9, 90, "glxgears", "/user.slice/a");
	add_client(amd, 3, 30, "Xorg", "/user.slice");
	add_client(intel, 7, 70, "Xwayland", "/user.slicex");
	add_client(intel, 4, 0, "", NULL); /* without a holder */
	add_client(amd, 11, 110, "kwin", "/system.slice/docker-" CONTAINER ".scope");
	/* a second process holds it */
	holder_add(91, 6, task_add(91), client_find(amd, KEY_ID, 9));
}

static void t_filters(void)
{
	static const struct {
		u32 pid;
		const char *comm, *cgroup, *device, *keys, *name;
	} rows[] = {
		{ 0, NULL, NULL, NULL, "7 3 9 11 5",
		  "no filter: ordered by device and id; only held "
		  "clients" },
		{ 90, NULL, NULL, NULL, "9", "-p: the first process" },
		{ 91, NULL, NULL, NULL, "9", "-p: the second process of a client" },
		{ 1, NULL, NULL, NULL, "", "-p: another process" },
		{ 0, "Xorg", NULL, NULL, "3", "-C: clients with this name" },
		{ 0, "X*", NULL, NULL, "7 3", "-C: a pattern with *" },
		{ 0, "?win", NULL, NULL, "11", "-C: a pattern with ?" },
		{ 0, "win", NULL, NULL, "", "-C: a part of a name does not match" },
		{ 0, NULL, "/user.slice", NULL, "3 9", "-g: the cgroup and those below it" },
		{ 0, NULL, "/user.slice//", NULL, "3 9", "-g: slashes at the end do not matter" },
		{ 0, NULL, "/user.slice/a", NULL, "9", "-g: the lower cgroup only" },
		{ 0, NULL, "/user.sl", NULL, "", "-g: a part of a folder name does not match" },
		{ 0, NULL, "/user.sl*", NULL, "7 3 9", "-g: a pattern matches folder names" },
		{ 0, NULL, "/", NULL, "7 3 9 11", "-g /: all clients with a cgroup" },
		{ 0, NULL, CONTAINER, NULL, "11", "-g: the id of a container" },
		{ 0, NULL, "0123456789ab", NULL, "11",
		  "-g: the first 12 characters of a container id" },
		{ 0, NULL, "0123456789a", NULL, "", "-g: 11 characters are too few" },
		{ 0, NULL, "123456789abc", NULL, "",
		  "-g: characters that are not at the start of a container id" },
		{ 90, "Xorg", NULL, NULL, "", "-p and -C: both must match" },
		{ 90, "glx*", "/user.slice", NULL, "9", "-p, -C and -g match" },
		{ 0, "X*", NULL, "card0", "7", "-C and -d: both must match" },
		{ 0, NULL, NULL, "2", "5", "-d: clients of this device" },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		opt.pids[0] = rows[i].pid;
		opt.npids = rows[i].pid ? 1 : 0;
		opt.comm = str_z(rows[i].comm);
		opt.cgroup = str_z(rows[i].cgroup);
		opt.devices[0] = str_z(rows[i].device);
		opt.ndevices = rows[i].device ? 1 : 0;
		choose_devices();
		hide_clients();
		choose_entities(K_CLIENT);
		check_str(str_z(chosen_names(K_CLIENT)), rows[i].keys, "%s", rows[i].name);
	}
	opt = (struct opts){ .cmd = &live, .comm = S("X*") };
	choose_devices();
	reg_sum_clients(true, true);
	hide_clients();
	reg_sum_clients(true, true);
	choose_entities(K_CGROUP);
	check_str(str_z(chosen_names(K_CGROUP)), "/user.slicex /user.slice",
		  "groups whose clients are all hidden are left out");
	opt.comm = (struct str){ 0 };
	hide_clients();
}

/* --- order ------------------------------------------------------------------------------------ */

static void read_clients(void)
{
	static const struct { u64 key, vram, gtt, copy; } rows[] = {
		{ 5, 0, 100, 0 }, { 9, 700, 1, 1 }, { 3, 100, 900, 2 }, { 11, 0, 0, 70 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u32 device = rows[i].key == 5 ? npu : amd;
		struct entity *e = &clients[client_find(device, KEY_ID, rows[i].key)].e;

		reg_begin(e, 1);
		reg_put(e, D_RESIDENT, S("vram0"), rows[i].vram, 1);
		reg_put(e, D_RESIDENT, S("gtt"), rows[i].gtt, 1);
		reg_put(e, D_CAPACITY, S("copy"), rows[i].copy, 1);
	}
}

static void t_sorted(void)
{
	static const struct { const char *field, *keys, *name; } rows[] = {
		{ "memory.gtt.resident", "3 5 9 11 7", "numbers from the highest, unknown ones "
		  "last" },
		{ "memory.resident", "3 9 5 11 7", "by the highest value of several instances" },
		{ "engine.copy.capacity", "11 3 9 5 7", "by capacity" },
		{ "memory", "7 3 9 11 5", "of several columns, the first one with a value" },
		{ "comm", "3 7 9 11 5", "texts from A; equal ones are not reordered" },
		{ "client", "11 9 7 5 3", "by client id" },
		{ "name", "7 3 9 11 5", "all unknown: the order does not change" },
		{ "cgroup", "11 3 9 7 5", "paths; an unknown one is last" },
	};
	struct recopts ro = { .raw = true };

	read_clients();
	for (size_t i = 0; i < LEN(rows); i++) {
		choose_devices();
		choose_entities(K_CLIENT);
		opt.sort = str_z(rows[i].field);
		sort_by_field(K_CLIENT, &ro);
		check_str(str_z(chosen_names(K_CLIENT)), rows[i].keys, "-s %s: %s", rows[i].field,
			  rows[i].name);
	}
	reg_sum_clients(true, true);
	choose_entities(K_CGROUP);
	check_str(str_z(chosen_names(K_CGROUP)), "/user.slicex /system.slice/docker-" CONTAINER
		  ".scope /user.slice /user.slice/a", "groups: by device and path");
	opt.sort = S("memory.resident");
	sort_by_field(K_CGROUP, &ro);
	check(strncmp(chosen_names(K_CGROUP), "/user.slice /user.slice/a ", 26) == 0,
	      "groups: by a field");
}

static void t_values(void)
{
	static const struct val rows[] = { /* in order */
		{ .type = V_INT, .n = UINT64_MAX }, { .type = V_INT, .n = 1 },
		{ .type = V_INT, .n = 0 },
		{ .type = V_INT, .neg = true, .n = 1 }, { .type = V_INT, .neg = true, .n = 500 },
		{ .type = V_TEXT, .s = STR("") }, { .type = V_TEXT, .s = STR("A") },
		{ .type = V_TEXT, .s = STR("AA") }, { .type = V_TEXT, .s = STR("a") },
		{ .type = V_NULL },
	};
	size_t wrong = 0;

	table_all(&picks_tables.keys);
	memcpy(picks.keys, rows, sizeof(rows));
	for (u32 a = 0; a < LEN(rows); a++)
		for (u32 b = 0; b < LEN(rows); b++) {
			int d = by_field(a, b);

			wrong += (d > 0) != (a > b) || (d < 0) != (a < b);
		}
	check_u64(wrong, 0, "numbers from the highest, then texts from A, then unknown values");
}

static int by_high_bits(u32 a, u32 b)
{
	return a >> 16 < b >> 16 ? -1 : a >> 16 > b >> 16;
}

/* The list is sorted, and equal elements keep their order: their low bits are ascending. */
static void t_stable(void)
{
	size_t wrong = 0;

	table_all(&picks_tables.order);
	for (size_t n = 0; n < 300; n++) {
		u64 sum = 0;

		for (size_t i = 0; i < n; i++)
			sum += order[i] = (u32)rnd_of(n / 4 + 1) << 16 | (u32)i;
		sort(n, by_high_bits);
		for (size_t i = 0; i < n; i++) {
			sum -= order[i];
			wrong += i > 0 && order[i] <= order[i - 1];
		}
		wrong += sum != 0;
	}
	check_u64(wrong, 0, "lists of up to 299 elements are sorted; equal ones keep their order");
}

static void t_full(void)
{
	size_t n = 0;

	for (u32 i = 0; i < MAX_CLIENTS * 2; i++)
		order_add(&n, i);
	check(n == picks_tables.order.most && order[n - 1] == n - 1,
	      "a full list keeps its first elements");
	sort(n, by_high_bits);
	check(order[0] == 0 && order[n - 1] == n - 1,
	      "a list without room to be sorted is not changed");
	opt.quiet = true;
	check(say_full() && !say_full(), "records that were left out are reported once");
}

static void text_record(struct record *r, u32 n)
{
	static const struct column comm = { .member = "comm" };
	static char texts[4][1024];
	static struct field f;

	memset(texts[n], (int)('d' - n), sizeof(texts[n]));
	r->f = &f;
	r->n = 1;
	f = (struct field){ .col = &comm, .v = { .type = V_TEXT, .s = str_of(texts[n], 1024) } };
}

/* A table with one byte less than the texts of four records, in a process of its own. */
static int run_full_texts(void)
{
	struct recopts ro = { 0 };
	const struct table *full;
	u32 lost = 0;

	picks_tables.text.most = 4 * 1024; /* table_has() asks for one byte more than a text has */
	record_source = text_record;
	opt.sort = S("comm");
	for (norder = 0; norder < 4; norder++)
		order[norder] = (u32)norder;
	sort_by_field(K_CLIENT, &ro);
	full = table_full(&lost);
	printf("%u lost in %s, order %u %u %u %u\n", lost, full ? full->name : "no table",
	       order[0], order[1], order[2], order[3]);
	fflush(stdout);
	return 0;
}

static void t_full_texts(void)
{
	child_check(run_full_texts, 0, "1 lost in bytes of texts to sort by, order 3 2 1 0\n", NULL,
		    "a text to sort by that has no room is counted");
}

/* --- no device -------------------------------------------------------------------------------- */

static int run_none(void)
{
	opt.ndevices = 0;
	return no_device();
}

static int run_other(void)
{
	opt.ndevices = 1;
	return no_device();
}

static int run_no_names(void)
{
	devices[amd].dev[0] = devices[npu].dev[0] = devices[intel].dev[0] = '\0';
	return run_other();
}

static int run_full(void)
{
	table_has(&picks_tables.order, picks_tables.order.most);
	return no_device();
}

static void t_no_device(void)
{
	child_check(run_none, EX_NODEVICE, NULL, "gpustat: no GPU was found\n",
		    "no device: exit code 3");
	child_check(run_other, EX_NODEVICE, NULL,
		    "gpustat: no device matches -d; devices: card1 accel0 card0\n",
		    "-d selects no device: the message names the devices");
	child_check(run_no_names, EX_NODEVICE, NULL, "no device matches -d; devices: none\n",
		    "-d selects no device: the message tells that there is none");
	child_check(run_full, EX_FAIL, NULL, "gpustat: records: room for ",
		    "a full table: exit code 1, since the device may have had no room");
}

int main(void)
{
	records_alloc();
	check(order && picks_tables.order.ready, "records_alloc() allocates the list");
	t_full_texts(); /* before any other test uses the table */
	make_devices();
	t_not();
	t_devices();
	t_first();
	make_clients();
	t_filters();
	t_sorted();
	t_no_device();
	t_values();
	t_stable();
	t_full();
	return unit_end();
}
