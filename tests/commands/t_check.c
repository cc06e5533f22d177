/* t_check.c - `check`: ranges and thresholds, labels, the line with its perfdata, exit codes.
 * SPDX-License-Identifier: MIT */
/* unit.h has functions of these names, too */
#define check(...) check_command(__VA_ARGS__)
#define replay(...) replay_command(__VA_ARGS__)
#include <stdbool.h>
#include "sys.h"
static bool no_timers; /* the kernel has no CONFIG_POSIX_TIMERS */
#define sys_alarm(ns) (no_timers ? -ENOSYS : sys_alarm(ns))
#include "../../commands/check.c"
#undef check
#undef replay
#include "child.h"

struct opts opt;
struct record rec;
struct buf out;

static int measured = -1;          /* what live_measure() returns */
static const char *hidden;         /* why processes are hidden; NULL: they are not */
static void (*fill)(void);         /* makes the devices */

int live_measure(struct recopts *ro)
{
	fill();
	choose_devices();
	ro->dt_us = 1000000;
	return measured;
}

bool live_save(void) { return true; }

int no_field(struct str p)
{
	char name[64];

	str_copy(name, sizeof(name), p);
	return usage("no field ", name, NULL);
}

void confine(i32 child) { (void)child; }
bool sleep_until(i64 t) { return t > 0; }
void say_unread(void) { say_z("unread"); }
void profiling_restore(void) { }
const char *proc_hidden_reason(void) { return hidden; }

/* --- ranges ----------------------------------------------------------------------------------- */

static void t_parse(void)
{
	static const struct { const char *text; bool good; } rows[] = {
		{ "10", true }, { "10:", true }, { "~:10", true }, { "10:20", true }, { ":", true },
		{ "@10:20", true }, { ":10", true }, { "~:", true }, { "-5:5", true }, { "", true },
		{ "+3", true }, { ".5", true }, { "1.", true }, { "-.5:-.25", true },
		{ "18446744073709551615", true }, { "7:7", true }, { "@~:-1", true },
		{ "0.000000001", true }, { "-0:0", true },
		{ "x", false }, { "20:10", false }, { "1:2:3", false }, { "@", false },
		{ "-", false },
		{ ".", false }, { "1.2.3", false }, { "1e3", false }, { "10 ", false },
		{ "~", false },
		{ "10:~", false }, { "--5", false }, { "18446744073709551616", false },
		{ "-1:-2", false }, { "@@1", false }, { "1.5:1.25", false }, { "5%", false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct range r = { 0 };
		bool good = parse_range(str_z(rows[i].text), &r) && range_is_whole(&r);

		check(good == rows[i].good, "range '%s' is %s", rows[i].text,
		      rows[i].good ? "valid" : "invalid");
	}
}

/* Limits are exchanged if no value can be a WARNING: all values in steps of 0.1 are tried. */
static void t_exchanged(void)
{
	static const char *const texts[] = {
		"80", "95", "10:", "20:", "~:5", "~:3", "10:20", "@10:20", "@5:30", "@~:5", "@5:",
		"@~:", "~:", "0:0", "@0:0", "@20:25", "-5:5", "@-5:0", "12:15", "@25:30", "", "5:",
		"@0:5",
	};
	static const struct { const char *w, *c; bool refused; } rows[] = {
		{ "95", "80", true }, { "80", "95", false }, { "80", "80", false },
		{ "10:", "20:", true }, { "20:", "10:", false }, { "~:5", "~:3", true },
		{ "~:3", "~:5", false }, { "@10:20", "@5:30", true }, { "@5:30", "@10:20", false },
		{ "@10:20", "25", false }, { "@85:90", "80", true }, { "10:90", "20:80", true },
		{ "20:80", "10:90", false }, { "~:", "80", false }, { "@10:20", "@10:20", false },
		{ "", "80", false }, { "80", "", false }, { "10:", "@~:20", true },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		struct range w = { 0 }, c = { 0 };

		check(parse_range(str_z(rows[i].w), &w) && parse_range(str_z(rows[i].c), &c) &&
		      is_exchanged(&w, &c) == rows[i].refused,
		      "-w %s -c %s: refused if the limits are exchanged", rows[i].w, rows[i].c);
	}
	for (size_t i = 0; i < LEN(texts) * LEN(texts); i++) {
		struct range w = { 0 }, c = { 0 };
		bool warns = false, warning = false, more = false;

		parse_range(str_z(texts[i / LEN(texts)]), &w);
		parse_range(str_z(texts[i % LEN(texts)]), &c);
		for (int v = -1000; v <= 1000; v++) { /* tenths */
			struct edge e = { .neg = v < 0, .whole = (u64)(v < 0 ? -v : v) / 10,
					  .frac = (u32)(v < 0 ? -v : v) % 10 * 100000000 };

			warns |= is_alert(&w, &e);
			warning |= is_alert(&w, &e) && !is_alert(&c, &e);
			more |= !is_alert(&w, &e) && is_alert(&c, &e);
		}
		check(is_exchanged(&w, &c) == (warns && !warning && more),
		      "-w '%s' -c '%s': same result as for all values",
		      texts[i / LEN(texts)], texts[i % LEN(texts)]);
	}
}

static bool range_fed(struct str s)
{
	struct range r = { 0 };

	return !parse_range(s, &r) || (r.high.frac < 1000000000 && r.low.frac < 1000000000);
}

static void t_alert(void)
{
	static const struct { const char *range; u8 unit; i64 v; bool alert; } rows[] = {
		{ "10", U_NONE, 10, false }, { "10", U_NONE, 11, true }, { "10", U_NONE, 0, false },
		{ "10", U_PERCENT, 10000, false }, { "10", U_PERCENT, 10001, true },
		{ "10", U_WATT, -1, true }, { "10:", U_NONE, 9, true },
		{ "10:", U_NONE, 10, false },
		{ "10:", U_NONE, INT64_MAX, false }, { "~:10", U_CELSIUS, -300000, false },
		{ "~:10", U_CELSIUS, 10001, true }, { "10:20", U_NONE, 20, false },
		{ "10:20", U_NONE, 21, true }, { "10:20", U_NONE, 9, true },
		{ "@10:20", U_NONE, 10, true }, { "@10:20", U_NONE, 20, true },
		{ "@10:20", U_NONE, 21, false }, { "@10:20", U_NONE, 9, false },
		{ "-5:5", U_CELSIUS, -5000, false }, { "-5:5", U_CELSIUS, -5001, true },
		{ "-2:-1", U_CELSIUS, -1500, false }, { "-2:-1", U_CELSIUS, -500, true },
		{ "~:", U_NONE, -7, false }, { "@~:", U_NONE, 7, true }, { "", U_NONE, 7, false },
		{ "4.2", U_WATT, 4200000, false }, { "4.2", U_WATT, 4200001, true },
		{ ":10", U_NONE, -1, true }, { "0.5:", U_VOLT, 499, true },
		{ "0.5:", U_VOLT, 500, false }, { "-0:0", U_CELSIUS, 0, false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		u64 n = rows[i].v < 0 ? -(u64)rows[i].v : (u64)rows[i].v;
		struct val v = { .type = V_INT, .unit = rows[i].unit, .neg = rows[i].v < 0,
				 .n = n };
		struct edge e = edge_of(&v);
		struct range r = { 0 };

		check(parse_range(str_z(rows[i].range), &r) && is_alert(&r, &e) == rows[i].alert,
		      "range '%s', value %lld * 10^-%u: %s", rows[i].range, (long long)rows[i].v,
		      units[rows[i].unit].point, rows[i].alert ? "an alert" : "no alert");
	}
	check(replay((struct str)STR("@-10.25:+20.5"), range_fed),
	      "parse_range: hostile texts give no invalid range");
}

/* --- labels ----------------------------------------------------------------------------------- */

static void t_labels(void)
{
	static const struct { const char *name, *label; } rows[] = {
		{ "card0 render", "card0 render" }, { "", "" },
		{ "0123456789012345678", "0123456789012345678" },
	};
	char a[LABEL_CHARS + 1], b[LABEL_CHARS + 1];

	for (size_t i = 0; i < LEN(rows); i++) {
		label_make(a, str_z(rows[i].name), 0);
		check_str(str_z(a), rows[i].label, "label: '%s' stays as it is", rows[i].name);
	}
	label_make(a, str_z("01234567890123456789"), 0);
	check(strlen(a) == LABEL_CHARS && strncmp(a, "01234567890123~", 15) == 0,
	      "label: a name of 20 characters ends in a hash: %s", a);
	label_make(b, str_z("0123456789012345678x"), 0);
	check(strcmp(a, b) != 0, "label: two long names with the same start differ");
	label_make(b, str_z("01234567890123456789"), 0);
	check(strcmp(a, b) == 0, "label: the hash of a name is always the same");
	label_make(b, str_z("01234567890123456789"), 1);
	check(strcmp(a, b) != 0, "label: the second attempt for the same name differs");
	label_make(a, str_z("a=b'c|d;e\n"), 0);
	check(strncmp(a, "a_b_c_d_e_~", 11) == 0 && strlen(a) == 15,
	      "label: characters with a meaning in perfdata are replaced: %s", a);
}

/* --- the line and the exit code --------------------------------------------------------------- */

static struct device *add_device(const char *name, i64 busy)
{
	u32 n = device_add(); /* before devices[] is used: the first row makes its memory */
	struct device *d = &devices[n];

	str_copy(d->dev, sizeof(d->dev), str_z(name));
	d->card = (i32)nrows.devices - 1;
	d->awake = true;
	d->clients = 1;
	reg_begin(&d->e, 1);
	if (busy >= 0)
		reg_put(&d->e, D_GPU_BUSY, str_z(""), (u64)busy, 1);
	return d;
}

static void fill_none(void) { }
static void fill_idle(void) { add_device("card0", -1)->clients = 0; }
static void fill_unmeasured(void) { add_device("card0", -1); }

static void fill_two(void)
{
	struct device *d = add_device("card0", 45500);

	reg_put(&d->e, D_TEMP, str_z("edge"), (u64)-5500, 1);
	reg_put(&d->e, D_TEMP, str_z("a|b"), 61000, 1);
	reg_put(&d->e, D_POWER, str_z("card"), 4200000, 1);
	reg_put(&d->e, D_VRAM_USED, str_z(""), 1 << 30, 1);
	add_device("card1", 7000);
}

static void fill_asleep(void)
{
	struct device *d = add_device("card0", -1);

	d->awake = false;
	d->clients = 0;
}

static void fill_many(void)
{
	struct device *d = add_device("card0", -1);
	char name[48];

	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "a channel with a long name %d", i);
		reg_put(&d->e, D_TEMP, str_z(name), (u64)i * 1000, 1);
	}
}

static void fill_dropped(void)
{
	fill_two();
	registry.dropped = 3;
}

static void fill_blind(void)
{
	struct device *d = add_device("card0", -1);

	d->clients = 0;
	registry.unreadable = 5;
}

static int run_alarm(void)
{
	on_alarm(SIGALRM);
}

static int run_no_timers(void)
{
	no_timers = true;
	signal(SIGALRM, on_alarm);
	alarm_at(1);
	for (int i = 0; i < 2000; i++)
		usleep(10000);
	return 0;
}

static int run_closed(void)
{
	close(1);
	return cmd_check();
}

#define TWO "card0 busy 45.5%"
static const struct runcase {
	const char *m, *w, *c;
	void (*fill)(void);
	int code;
	const char *line, *name;
} runcases[] = {
	{ NULL, "", "", fill_two, 0, "GPU OK - " TWO ", card1 busy 7% | 'card0 busy'=45.5%;;;0;100 "
	  "'card1 busy'=7%;;;0;100\n", "no range: OK, with perfdata" },
	{ NULL, "40", "90", fill_two, 1, "GPU WARNING - " TWO " (warning), card1 busy 7% "
	  "| 'card0 busy'=45.5%;40;90;0;100 'card1 busy'=7%;40;90;0;100\n",
	  "WARNING: exit code 1" },
	{ NULL, "5", "40", fill_two, 2,
	  "GPU CRITICAL - " TWO " (critical), card1 busy 7% (warning) |",
	  "CRITICAL: exit code 2; the worst value is printed first" },
	{ NULL, "@0:10", "", fill_two, 1, "GPU WARNING - card1 busy 7% (warning), " TWO " |",
	  "the worst value is printed first, also if another device has it" },
	{ "temp,power", "50,4.2", "~:60,", fill_two, 2,
	  "GPU CRITICAL - card0 temp a_b 61 C (critical), "
	  "card0 temp edge -5.5 C (warning), card0 power card 4.2 W "
	  "| 'card0 temp edge'=-5.5;50;~:60 'card0 temp a_b~",
	  "-w A,B: the nth range is for the nth field of -m" },
	{ "vram.used", "", "", fill_two, 0, "=1073741824B;;;0\n",
	  "perfdata: bytes have the unit B" },
	{ "temp.edge", ":0", "-5:", fill_two, 2, "'=-5.5;:0;-5:\n",
	  "ranges with negative limits apply to temperatures" },
	{ "fan", "", "", fill_two, 3, "GPU UNKNOWN - no value was measured; run gpustat list to see why\n",
	  "a field without a value: UNKNOWN" },
	{ "busy,fan", "", "", fill_two, 3, "GPU UNKNOWN - " TWO ", card1 busy 7%; fan unknown |",
	  "one of two fields without a value: UNKNOWN" },
	{ "busy,fan", "10", "", fill_two, 1, "; fan unknown |",
	  "WARNING is not replaced by UNKNOWN" },
	{ "busy,clients", "", "", fill_two, 0, "card0 clients 1",
	  "-m clients: the number of clients of each device" },
	{ NULL, "20:10", "", fill_two, 3, "invalid range '20:10' for --warning: use 10",
	  "an invalid range: UNKNOWN" },
	{ NULL, "95", "80", fill_two, 3, "-w 95 -c 80: WARNING would never be reported",
	  "exchanged limits: UNKNOWN" },
	{ "temp,busy", "10,95", "20,80", fill_two, 3, "-w 95 -c 80: WARNING would never",
	  "exchanged limits of the second field: UNKNOWN" },
	{ NULL, "", "x", fill_two, 3, "invalid range 'x' for --critical: use",
	  "an invalid range: the message names the option" },
	{ "temp", "1,2", "", fill_two, 3, "more ranges than fields in -m",
	  "more ranges than fields: UNKNOWN" },
	{ "temp,nonsense", "", "", fill_two, 3, "no field nonsense", "an unknown field: UNKNOWN" },
	{ "temp,,fan", "", "", fill_two, 3, "no field ", "an empty field: UNKNOWN" },
	{ NULL, "", "", fill_idle, 0, "GPU OK - card0 no client\n",
	  "a device without a client: OK, no perfdata" },
	{ NULL, "@0", "", fill_idle, 1, "GPU WARNING - card0 no client (warning)\n",
	  "a device without a client is checked as 0 % busy" },
	{ NULL, "", "", fill_asleep, 0, "GPU OK - card0 asleep\n",
	  "a device that is asleep: OK, 0 % busy" },
	{ "temp", "", "", fill_asleep, 3, "no value was measured",
	  "a device that is asleep has no temperature: UNKNOWN" },
	{ NULL, "", "", fill_unmeasured, 3, "no value was measured",
	  "clients without a busy time: UNKNOWN" },
	{ NULL, "", "", fill_blind, 3, "GPU UNKNOWN - unread\n", "unreadable processes: UNKNOWN" },
	{ NULL, "", "", fill_dropped, 3, "; 3 values were left out: gpustat's tables are full |",
	  "lost values: UNKNOWN, not OK" },
	{ NULL, "40", "", fill_dropped, 1, "; 3 values were left out: gpustat's tables are full |",
	  "lost values: still WARNING" },
	{ NULL, "", "", fill_none, 3, "GPU UNKNOWN - no GPU was found\n", "no device: UNKNOWN" },
};

static const struct cmd check_cmd = { .name = "check", .kind = K_DEVICE, .with = WITH_CHECK };

static void prepare(const struct runcase *r)
{
	opt = (struct opts){ .cmd = &check_cmd };
	opt.check = (struct checkopts){ .warning = str_z(r->w), .critical = str_z(r->c),
					.metric = str_z(r->m) };
	fill = r->fill;
	measured = r->fill == fill_none ? EX_NODEVICE : -1;
}

static void t_runs(void)
{
	char many[40 * 5] = "busy";
	static char json[4096];

	for (size_t i = 0; i < LEN(runcases); i++) {
		prepare(&runcases[i]);
		child_check(cmd_check, runcases[i].code, runcases[i].line, NULL, runcases[i].name);
	}
	prepare(&runcases[0]);
	for (int i = 0; i < 32; i++)
		strcat(many, ",busy");
	opt.check.metric = str_z(many);
	child_check(cmd_check, 3, "-m: too many fields\n", NULL, "-m with 33 fields: UNKNOWN");
	opt.check.metric = str_of(many, 32 * 5 - 1);
	child_check(cmd_check, 0, "GPU OK - ", NULL, "-m with 32 fields is accepted");
	prepare(&runcases[0]);
	opt.check.json = true;
	out = (struct buf){ .p = json, .cap = sizeof(json) };
	opt.check.warning = (struct str)STR("40");
	child_check(cmd_check, 1, "{\"schema\":1,\"kind\":\"check\",\"state\":\"WARNING\",\"message\":"
		    "\"" TWO " (warning), card1 busy 7%\",\"values\":["
		    "{\"value\":45.5,\"unit\":\"%\",\"name\":\"card0 busy\",\"state\":\"WARNING\","
		    "\"warning\":\"40\",\"critical\":null},{\"value\":7,", NULL,
		    "JSON: a record with the state and all values");
	child_check(run_alarm, 3, "\"state\":\"UNKNOWN\",\"message\":\"timeout\",\"values\":[]}\n",
		    NULL, "JSON: a record of a timeout, state UNKNOWN");
	out.cap = 320;
	child_check(cmd_check, 1, "; 1 values were left out: gpustat's tables are full\",\"values\":["
		    "{\"value\":45.5,\"unit\":\"%\",\"name\":\"card0 busy\",\"state\":\"WARNING\","
		    "\"warning\":\"40\",\"critical\":null}]}\n", NULL,
		    "JSON: a value without room is left out and counted");
	prepare(&runcases[0]);
	measured = EX_FAIL;
	child_check(cmd_check, 3, "GPU UNKNOWN - ", NULL, "a failed reading: UNKNOWN");
	measured = EX_OK;
	child_check(cmd_check, 3, "GPU UNKNOWN - a signal ended the check before it had a result\n",
		    NULL, "a signal before the result: UNKNOWN");
	child_check(run_alarm, 3, "GPU UNKNOWN - timeout\n", NULL, "a timeout: UNKNOWN");
	child_check(run_no_timers, 3, "GPU UNKNOWN - timeout\n", NULL, "a timeout on a kernel without timers: UNKNOWN");
	measured = -1;
	child_check(run_closed, 3, NULL, NULL, "the line cannot be written: UNKNOWN");
	fill = fill_blind;
	registry.saw_others = true;
	child_check(cmd_check, 0, "card0 no client", NULL,
		    "a few unreadable processes: OK if processes of other users could be read");
	hidden = "hidepid";
	child_check(cmd_check, 3, "GPU UNKNOWN - unread\n", NULL, "hidden processes: UNKNOWN");
}

static void t_long(void)
{
	const struct child *c;

	prepare(&(struct runcase){ "temp", "298", "", fill_many, 0, "", "" });
	c = child_run(cmd_check);
	check(c->code == 1 && strlen(c->out) <= LINE_BYTES && c->out[strlen(c->out) - 1] == '\n',
	      "300 values: one line of at most 4096 bytes");
	check(strstr(c->out, "name 299 299 C (warning), ") && strstr(c->out, " more; "),
	      "300 values: the warning is printed first, values without room are counted");
	check(strchr(c->out, '|') && !strchr(strchr(c->out, '|') + 1, '|') &&
	      strstr(c->out, " values were left out: gpustat's tables are full |"),
	      "300 values: values without perfdata are counted");
}

int main(void)
{
	t_parse();
	t_exchanged();
	t_alert();
	t_labels();
	t_runs();
	t_long();
	return unit_end();
}
