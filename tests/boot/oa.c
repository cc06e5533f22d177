/*
 * oa: the first program of the emulated machine that tests `gpustat oa`. perffake.c emulates an
 * i915 (card0, Skylake unless set otherwise) and an xe (card1, Lunar Lake) with known counters:
 * from one report to the next, counter i grows by (i + 1) * 1000 and the clock by 500 ticks, so the
 * values of a record can be compared with the number of reports in it.
 */
#include "guest.h"
#include "remedies.h"

#include <sys/sysmacros.h>

enum { I915, XE };

static bool has_xe;		/* the kernel's headers define the OA interface of xe: Linux 6.11 */

/* The counters of one i915 report: 36 A's, then 8 B's, then 8 C's. */
#define GUID "5f3a11d2-0c3c-4e5e-9c1b-6d2f7a81e0aa"
#define XE_GUID "0d8e4f0a-71b5-4a86-8a0e-2f10c7d3b5bb"

static const char skl_xml[] =
	"<?xml version=\"1.0\"?>\n<metrics>\n"
	"<set name=\"Fake\" chipset=\"SKLGT2\" symbol_name=\"Fake\" hw_config_guid=\"" GUID "\">\n"
	"<counter name=\"t\" symbol_name=\"GpuTime\" data_type=\"uint64\" units=\"ns\""
	" equation=\"GPU_TIME 0 READ 1000000000 UMUL $GpuTimestampFrequency UDIV\"/>\n"
	"<counter name=\"c\" symbol_name=\"Clocks\" data_type=\"uint64\" units=\"cycles\" equation=\"GPU_CLOCK 0 READ\"/>\n"
	"<counter name=\"a\" symbol_name=\"Fortieth\" data_type=\"uint64\" units=\"events\" equation=\"A 21 READ\"/>\n"
	"<counter name=\"p\" symbol_name=\"Share\" data_type=\"float\" units=\"percent\""
	" equation=\"A 0 READ 100 UMUL A 1 READ FDIV\"/>\n"
	"<counter name=\"b\" symbol_name=\"Last\" data_type=\"uint64\" units=\"events\" equation=\"B 7 READ C 7 READ UADD\"/>\n"
	"<counter name=\"e\" symbol_name=\"Eus\" data_type=\"uint64\" units=\"number\" equation=\"$EuCoresTotalCount\"/>\n"
	"<counter name=\"m\" symbol_name=\"MaxHz\" data_type=\"uint64\" units=\"hz\" equation=\"$GpuMaxFrequency\"/>\n"
	"<counter name=\"r\" symbol_name=\"Stepping\" data_type=\"uint64\" units=\"number\" equation=\"$SkuRevisionId\"/>\n"
	"<register_config type=\"NOA\">\n<register type=\"NOA\" address=\"0x9888\" value=\"0x1\"/>\n"
	"<register type=\"NOA\" address=\"0x9888\" value=\"0x10\"/>\n</register_config>\n"
	"<register_config type=\"OA\">\n<register type=\"OA\" address=\"0x2744\" value=\"0x5\"/>\n</register_config>\n"
	"<register_config type=\"FLEX\">\n<register type=\"FLEX\" address=\"0xe458\" value=\"0x7\"/>\n</register_config>\n"
	"</set>\n</metrics>\n";
/* The sums that perffake.c logs for these registers. */
#define SKL_REGS "regs mux 2 1c9b9\nregs boolean 1 2749\nregs flex 1 e45f\n"

/* A set whose register has no number as its address. */
static const char bad_xml[] =
	"<?xml version=\"1.0\"?>\n<metrics>\n"
	"<set name=\"Fake\" chipset=\"SKLGT2\" symbol_name=\"Fake\" hw_config_guid=\"" GUID "\">\n"
	"<counter name=\"c\" symbol_name=\"Clocks\" data_type=\"uint64\" units=\"cycles\""
	" equation=\"GPU_CLOCK 0 READ\"/>\n"
	"<register_config type=\"OA\">\n<register type=\"OA\" address=\"0xzz\" value=\"0x5\"/>\n"
	"</register_config>\n</set>\n</metrics>\n";

static const char lnl_xml[] =
	"<?xml version=\"1.0\"?>\n<metrics>\n"
	"<set name=\"Fake\" chipset=\"LNL\" symbol_name=\"Fake\" oa_format=\"576B_PEC64LL\" hw_config_guid=\"" XE_GUID "\">\n"
	"<counter name=\"t\" symbol_name=\"GpuTime\" data_type=\"uint64\" units=\"ns\""
	" equation=\"GPU_TIME 0 READ 1000000000 UMUL $GpuTimestampFrequency UDIV\"/>\n"
	"<counter name=\"a\" symbol_name=\"Fortieth\" data_type=\"uint64\" units=\"events\" equation=\"PEC 39 READ\"/>\n"
	"<counter name=\"e\" symbol_name=\"Cores\" data_type=\"uint64\" units=\"number\" equation=\"$XeCoreTotalCount\"/>\n"
	"<counter name=\"b\" symbol_name=\"Banks\" data_type=\"uint64\" units=\"number\" equation=\"$L3BankTotalCount\"/>\n"
	"<counter name=\"n\" symbol_name=\"Nodes\" data_type=\"uint64\" units=\"number\" equation=\"$L3NodeTotalCount\"/>\n"
	"<counter name=\"p\" symbol_name=\"Pipes\" data_type=\"uint64\" units=\"number\" equation=\"$ColorPipeTotalCount\"/>\n"
	"<counter name=\"h\" symbol_name=\"Threads\" data_type=\"uint64\" units=\"number\" equation=\"$EuThreadsCount\"/>\n"
	"<counter name=\"m\" symbol_name=\"MaxHz\" data_type=\"uint64\" units=\"hz\" equation=\"$GpuMaxFrequency\"/>\n"
	"<register_config type=\"OA\">\n<register type=\"OA\" address=\"0xd920\" value=\"0x1\"/>\n</register_config>\n"
	"<register_config type=\"FLEX\">\n<register type=\"FLEX\" address=\"0xe458\" value=\"0x7\"/>\n</register_config>\n"
	"</set>\n</metrics>\n";
#define LNL_REGS "regs all 2 2a1df\n"

/* A set that i915-perf-reader knows, by its name and GUID: it reads the recording of this
 * machine. */
#define TEST_GUID "c5384091-ce4c-406c-ab4d-4c530f71c7ae"
#define EVENTS(name, from) "<counter name=\"" name "\" symbol_name=\"" name "\" data_type=\"uint64\" units=\"events\"" \
	" equation=\"" from " READ\"/>\n"

static const char test_xml[] =
	"<?xml version=\"1.0\"?>\n<metrics>\n"
	"<set name=\"Test\" chipset=\"SKLGT2\" symbol_name=\"TestOa\" hw_config_guid=\"" TEST_GUID "\">\n"
	"<counter name=\"t\" symbol_name=\"GpuTime\" data_type=\"uint64\" units=\"ns\""
	" equation=\"GPU_TIME 0 READ 1000000000 UMUL $GpuTimestampFrequency UDIV\"/>\n"
	EVENTS("GpuCoreClocks", "GPU_CLOCK 0") EVENTS("Counter0", "B 0") EVENTS("Counter7", "B 7") EVENTS("Counter8", "C 7")
	"<register_config type=\"OA\">\n<register type=\"OA\" address=\"0x2744\" value=\"0x5\"/>\n</register_config>\n"
	"</set>\n</metrics>\n";

/* ---- the emulated device ---- */

static const char *const files[] = { "/sys/devices/platform/i915.0/oa", "/sys/devices/platform/xe.1/oa" };

static void put_file(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, what, strlen(what)) != (ssize_t)strlen(what))
		die(path);
	close(fd);
}

/* tell: sends lines to the device, after "reset". */
static void write_knobs(int dev, const char *lines)
{
	char copy[256], *save, *line;

	snprintf(copy, sizeof copy, "reset\nforget\n%s", lines);
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		put_file(files[dev], line);
}

/* asked: the requests that the device has received since then. */
static const char *asked(int dev)
{
	static char b[4098];

	snprintf(b, sizeof b, "%s\n", text(files[dev]));
	return b;
}

static bool want_asked(int dev, const char *what)
{
	return want(strstr(asked(dev), what), "the driver did not receive \"%s\": %s", what, asked(dev));
}

/* ---- output of the program ---- */

static int records(const struct run *r)
{
	int n = 0;

	for each_record(v, r)
		n += is(v, "kind", "oa") || is(v, "kind", "counter") || is(v, "kind", "stall");
	return n;
}

/* total: the sum of a value over all records. */
static double total(const struct run *r, const char *path)
{
	double sum = 0;

	for each_record(v, r)
		sum += num(v, path);
	return sum;
}

/* want_sums: checks that the counters of each record match its number of reports: n counters named
 * by letter, of which the first is counter number `from`. */
static void want_sums(const struct run *r, const char *letter, int from, int n)
{
	for each_record(v, r) {
		double reports = num(v, "reports");

		want(reports >= 1, "record %.0f is of %f reports", num(v, "index"), reports);
		for (int i = 0; i < n; i++) {
			char path[32];

			snprintf(path, sizeof path, "counter/%s%d", letter, i);
			want(num(v, path) == reports * (from + i + 1) * 1000, "%s is %f, not the sum of %.0f reports", path, num(v, path),
			     reports);
		}
	}
}

static void want_said(const struct run *r, const char *words)
{
	want(strstr(r->text[1], words), "stderr does not contain \"%s\"", words);
}

/* ---- i915 ---- */

static void t_raw(void)
{
	struct run *r;

	write_knobs(I915, "");
	r = run("oa -d card0 --raw -o json 0.3 3", NULL);
	begin("i915: three sums of every counter are exact, also when counters of 40 and 32 bits wrap");
	ended(r, 0);
	want(records(r) == 3, "%d records", records(r));
	want_sums(r, "A", 0, 36);
	want_sums(r, "B", 36, 8);
	want_sums(r, "C", 44, 8);
	for each_record(v, r) {
		/* No other program runs: a third of a second, by the clock of 12 MHz. */
		want(fabs(num(v, "dt") - 0.3) < 0.15, "dt is %f", num(v, "dt"));
		want(num(v, "ticks") == 500 * num(v, "reports"), "ticks are %f", num(v, "ticks"));
		want(num(v, "lost") == 0 && is(v, "dev", "card0"), "reports lost, or another device");
	}
	close_run(r);
	end();
}

/* ---- counters by name ---- */

/* Counters of the catalogue, which count from the start. A1 counts 2000 from one report to the
 * next, in 500 clocks. */
static void t_counters(void)
{
	struct run *r;

	write_knobs(I915, "");
	r = run("counters oa/card0/Basic/GpuCoreClocks oa/card0/Basic/VsThreads oa/card0/Basic/GpuTime oa/card0/Basic/GpuBusy "
		"-o json 0.3 3", NULL);
	begin("i915: counters of a set by name");
	ended(r, 0);
	want(records(r) == 12, "%d records", records(r));
	for (int i = 0; i + 3 < records(r); i += 4) {
		double clocks = num(record(r, i), "value"), threads = num(record(r, i + 1), "value");

		want(is(record(r, i + 1), "name", "oa/card0/Basic/VsThreads"), "wrong order of names");
		want(clocks > 0 && threads == 4 * clocks, "%f threads in %f clocks", threads, clocks);
		want(i == 0 || clocks > num(record(r, i - 4), "value"), "the clocks do not continue");
		want(fabs(num(record(r, i + 2), "value") - 0.3e9 * (i / 4 + 1)) < 0.15e9, "GpuTime is %f",
		     num(record(r, i + 2), "value"));
		want(num(record(r, i + 3), "value") == 100, "busy is %f %%", num(record(r, i + 3), "value"));
	}
	want_asked(I915, "opens 1 closes 1 adds 1 removes 1\n");
	close_run(r);
	end();

	r = run("counters GPU?0?vertex* Primitive?count -o json 0.1 1", NULL);
	begin("i915: the time of vertex work is that of RenderBasic; a counter that is in no set has the value null");
	ended(r, 0);
	want(records(r) == 2, "%d records", records(r));
	/* VsFpu0Active: 23 EUs, A10 counts 11000 in 500 clocks */
	want(fabs(num(record(r, 0), "value") - 11000 / 23.0 / 500 * 100) < 0.5, "vertex work: %f %%", num(record(r, 0), "value"));
	want(!strncmp(json_get(record(r, 1), "value").p, "null", 4), "the primitives have a value");
	close_run(r);
	end();
}

static void t_set(void)
{
	struct run *r;
	struct view v;

	write_knobs(I915, "");
	r = run("oa -d card0 --metrics /skl.xml -m Fake -o json 0.4 1", NULL);
	begin("i915: a set that the kernel lacks is added with its registers, and removed at the end");
	ended(r, 0);
	v = record(r, 0);
	want(is(v, "set", "Fake"), "the set is not called Fake");
	want(num(v, "counter/Fortieth") == num(v, "reports") * 22000, "A21 is %f", num(v, "counter/Fortieth"));
	want(num(v, "counter/Last") == num(v, "reports") * (44000 + 52000), "B7 + C7 is %f", num(v, "counter/Last"));
	want(num(v, "counter/Share") == 50, "A0 of A1 is %f %%", num(v, "counter/Share"));
	want(num(v, "counter/Clocks") == num(v, "reports") * 500, "clocks are %f", num(v, "counter/Clocks"));
	want(fabs(num(v, "counter/GpuTime") - num(v, "dt") * 1e9) <= 1000, "GpuTime is %f", num(v, "counter/GpuTime"));
	want(num(v, "counter/Eus") == 23, "EUs are %f", num(v, "counter/Eus"));
	want(num(v, "counter/MaxHz") == 1150e6 && num(v, "counter/Stepping") == 7, "device variables are not the device's");
	want_asked(I915, SKL_REGS);
	want_asked(I915, "opens 1 closes 1 adds 1 removes 1\n");
	close_run(r);
	end();

	write_knobs(I915, "set " GUID);
	r = run("oa -d card0 --metrics /skl.xml -m Fake -o json 0.2 1", NULL);
	begin("i915: a set that existed before is used and kept");
	ended(r, 0);
	want(records(r) == 1, "%d records", records(r));
	want_asked(I915, "opens 1 closes 1 adds 0 removes 0\n");
	want(*text("/sys/class/drm/card0/metrics/" GUID "/id"), "the kernel no longer has it");
	close_run(r);
	end();

	r = run("oa list", NULL);
	begin("oa list shows the number that the kernel assigned to a set");
	ended(r, 0);
	want(strstr(r->text[0], GUID) && strstr(r->text[0], text("/sys/class/drm/card0/metrics/" GUID "/id")), "the number or the GUID is missing");
	close_run(r);
	end();

	write_knobs(I915, "pci 0xffff\nset " GUID);
	r = run("oa -d card0 --raw -o A32u40_A4u32_B8_C8 -o json 0.2 1", NULL);
	begin("i915: for an unknown GPU, --raw uses a set that the kernel has, and adds none");
	ended(r, 0);
	want_sums(r, "A", 0, 36);
	want_asked(I915, "opens 1 closes 1 adds 0 removes 0\n");
	close_run(r);
	end();
}

static void t_reports(void)
{
	double index = -1, cpu = NAN, ts = NAN, half = 0, switches = 0;
	struct run *r;

	write_knobs(I915, "");
	r = run("oa -d card0 --raw --reports --period 3ms -o json 0.5 1", NULL);
	begin("i915: one record per report, in order, with its clocks and reason");
	ended(r, 0);
	/* 12 MHz: 2^15 cycles are 2.73 ms, and 183 of these are in 0.5 s. */
	want_asked(I915, " 5=14\n");
	want(records(r) > 150 && records(r) < 300, "%d records", records(r));
	for each_record(v, r) {
		double k = num(v, "index");

		want(k == index + 1, "record %.0f follows %.0f", k, index);
		want(is(v, "reason", (int)k % 8 == 7 ? "context-switch" : "timer"), "wrong reason at %.0f", k);
		want(num(v, "ctx") == 0x1000 + (int)k / 16 % 3, "wrong context at %.0f", k);
		want(num(v, "ticks") == 500 * k, "ticks at %.0f: %f", k, num(v, "ticks"));
		want(k < 1 || num(v, "counter/A1") == k * 2000 - 5000 + (k < 3 ? 0x1p40 : 0), "A1 at %.0f: %f", k,
		     num(v, "counter/A1"));
		if (index >= 0) {
			double step = fmod(num(v, "ts") - ts + 0x1p32, 0x1p32);

			want(step == 32768, "the timestamp moves by %f", step);
			/* cpu_time is recomputed from a correlation each second, never in half of
			 * that time. */
			half += fabs(num(v, "cpu_time") - cpu - 32768 / 0.012) > 2;
		}
		switches += is(v, "reason", "context-switch");
		index = k;
		ts = num(v, "ts");
		cpu = num(v, "cpu_time");
	}
	want(half <= 2, "cpu_time jumps %f times", half);
	want(fabs(cpu / 1e9 - now()) < 3, "the last report was at %f, and now it is %f", cpu / 1e9, now());
	close_run(r);
	end();
}

/* The exponent for a requested period. The open call fails, so that no stream has to run. */
static void t_period(void)
{
	static const struct {
		const char *knobs, *args, *want;
	} cases[] = {
		/* 12 MHz: 2^(e + 1) * 83.3 ns */
		/* 682.7 us */
		{ "",                              "--period 1ms",    " 5=12\n" },
		{ "",                              "--period 682us",  " 5=11\n" },
		{ "",                              "--period 683us",  " 5=12\n" },
		/* the shortest period is 166 ns */
		{ "",                              "--period 100ns",  " 5=0\n" },
		/* 2^32 cycles at 1150 MHz are 3.73 s: 2.8 s; then 5.6 s */
		{ "",                              "--period 60s",    " 5=24\n" },
		{ "",                              "--period 30m",    " 5=24\n" },
		{ "",                              "--period 2s",     " 5=23\n" },
		/* 1/100: 10 ms; 5.46 ms */
		{ "",                              "1",               " 5=15\n" },
		/* at most 100 ms; 87 ms */
		{ "",                              "100",             " 5=19\n" },
		/* 100000 per second: 10.7 us */
		{ "",                              "0.00001",         " 5=6\n" },
		/* Haswell: at most 20 ms; 10.5 ms */
		{ "pci 0x412\noa_hz 12500000\nformats 32", "100",     " 5=16\n" },
		/* Before OA_TIMESTAMP_FREQUENCY; before CS_TIMESTAMP_FREQUENCY: 12 MHz of
		 * Skylake */
		{ "perf_revision 5\ncs_hz 24000000", "--period 1ms",  " 5=13\n" },
		{ "perf_revision 0\ncs_hz 0",      "--period 1ms",    " 5=12\n" },
	};

	struct run *r;

	begin("i915: the exponent is the largest whose period is not above the requested one");
	for (size_t i = 0; i < LEN(cases); i++) {
		char lines[128], args[128];

		snprintf(lines, sizeof lines, "open %d\n%s", ENOMEM, cases[i].knobs);
		snprintf(args, sizeof args, "oa -d card0 --raw -o json %s", cases[i].args);
		write_knobs(I915, lines);
		r = run(args, NULL);
		ended(r, 1);
		want(strstr(asked(I915), cases[i].want), "%s: not \"%.6s\": %s", cases[i].args, cases[i].want, asked(I915));
		drop(r);
	}
	end();

	write_knobs(I915, "");
	r = run("oa -d card0 --raw -v --period 1ms -o json 0.1 1", NULL);
	begin("i915: -v prints the actual period");
	ended(r, 0);
	want_said(r, "682.6 us");
	want_said(r, "exponent 12");
	want_said(r, "RC6");
	want_said(r, "no other program");
	close_run(r);
	end();
}

static void nobody_perfmon(void)
{
	enum { PERFMON = 38 };

	capable(PERFMON);
}

/* The same user as a member of the group 44. */
static void video_perfmon(void)
{
	enum { PERFMON = 38, VIDEO = 44 };

	capable_in(PERFMON, VIDEO);
}

static void no_dri(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", "/dev/dri", "tmpfs", 0, ""))
		_exit(126);
}

/* The nodes of a device that has gone. */
static void no_driver(void)
{
	no_dri();
	if (mknod("/dev/dri/renderD128", S_IFCHR | 0666, makedev(226, 200)) ||
	    mknod("/dev/dri/card0", S_IFCHR | 0666, makedev(226, 100)))
		_exit(126);
}

/* The rows of OA_FAILURES that were tried: the call failed, and succeeded after the remedy. */
enum failure {
#define ROW(call, error, requested, not_requested, name, reason) name,
	OA_FAILURES(ROW)
#undef ROW
	FAILURES, OTHER_FAILURE = FAILURES	/* an error whose message is not in that list */
};

static int tried[FAILURES + 1];

/* Changes the setting dev.NAME as "sysctl dev.NAME=VALUE" of a message says. Returns its path, or
 * NULL if the message has no such command with a number. */
static const char *sysctl_said(const char *message)
{
	static char path[128];
	const char *p = strstr(message, "sysctl dev.");
	char *eq;

	if (!p)
		return NULL;
	p += strlen("sysctl ");
	snprintf(path, sizeof path, "/proc/sys/%.*s", (int)strcspn(p, ","), p);
	eq = strchr(path, '=');
	if (!eq || !isdigit((unsigned char)eq[1]))
		return NULL;
	*eq = 0;
	for (char *dot = path + strlen("/proc/sys/"); (dot = strchr(dot, '.')); )
		*dot = '/';
	must_put(path, eq + 1);
	return path;
}

static void want_success(const char *args, void (*before)(void), const char *after)
{
	struct run *r = run(args, before);

	want(r->status == 0 && records(r), "after %s: exit %d, %d records", after, r->status,
	     records(r));
	close_run(r);
}

struct error_case {
	enum failure row;
	int dev;
	const char *knobs, *args;
	void (*before)(void);
	int status;
	const char *words, *remedy;
	/* what the remedy changes in the arguments or the machine; both NULL: the message has no
	 * remedy, or has the commands sysctl and setcap, which are executed */
	const char *then_args, *then_knobs;
};

/* Applies the remedies in the message of a run, and checks that the call then succeeds. */
static void apply_remedies(const struct error_case *c, const char *args, const char *message)
{
	const char *path;
	char then[160];

	if (c->before == nobody && strstr(message, "setcap cap_perfmon+ep"))
		want_success(args, nobody_perfmon, "setcap");
	if (c->before == nobody && (path = sysctl_said(message))) {
		want_success(args, nobody, "sysctl");
		must_put(path, "1");
	}
	if (!c->then_args && !c->then_knobs)
		return;
	write_knobs(c->dev, c->then_knobs ? c->then_knobs : c->knobs);
	snprintf(then, sizeof then, "oa -d card%d -o json %s 0.1 1", c->dev,
		 c->then_args ? c->then_args : c->args);
	want_success(then, NULL, c->remedy);
}

static void try_error(const struct error_case *c)
{
	char args[160], name[256], after[64];
	struct run *r;

	write_knobs(c->dev, c->knobs);
	snprintf(args, sizeof args, "oa -d card%d -o json %s 0.1 1", c->dev, c->args);
	snprintf(name, sizeof name, "%s, %s %s%s: exit status %d and a message%s",
		 c->dev == XE ? "xe" : "i915", *c->knobs ? c->knobs : "as it is", c->args,
		 c->before == nobody ? ", unprivileged" : c->before ? ", without nodes" : "",
		 c->status, c->remedy ? "; success after its remedy" : "");
	for (char *p = name; *p; p++)
		*p = *p == '\n' ? ' ' : *p;
	r = run(args, c->before);
	begin(name);
	ended(r, c->status);
	want(!records(r), "it printed records");
	want_said(r, c->words);
	if (c->remedy)
		want_said(r, c->remedy);
	/* A set that was added before the start failed has been removed again. */
	snprintf(after, sizeof after, "%s", strstr(asked(c->dev), "adds"));
	want(!strncmp(after, "adds 0 removes 0\n", 17) || !strncmp(after, "adds 1 removes 1\n", 17),
	     "not removed: %.18s", after);
	apply_remedies(c, args, r->text[1]);
	tried[c->row] += test_ok;
	close_run(r);
	end();
}

/* Each error that the reference lists for a call: the exit status and the message. */
static void t_errors(void)
{
	static const struct error_case cases[] = {
		{ OPEN_NO_OA, I915, "open 524", "", NULL, 3, "no OA for this GPU" },
		{ OPEN_GONE, I915, "open 19", "", NULL, 3, "gone" },
		{ OPEN_NO_MEMORY, I915, "open 12", "", NULL, 1, "no memory" },
		{ OPEN_FORMAT, I915, "open 22", "", NULL, 1,
		  "report format or the metric set", "another metric set", "--metrics /skl.xml -m Fake", "" },
		{ OPEN_OTHER, I915, "open 5", "", NULL, 1, "refuses the stream" },
		{ OPEN_LOST, I915, "open 2", "", NULL, 1,
		  "the kernel has lost the metric set", "try again", NULL, "" },
		{ OTHER_FAILURE, I915, "open 16", "", NULL, 1,
		  "another program", "until it has ended", NULL, "" },
		{ OTHER_FAILURE, I915, "formats 0", "", NULL, 1, "report format" },
		{ FORMAT_NONE, I915, "", "-o PEC64u64", NULL, 1,
		  "no such report format", "use another -o", "" },
		{ OPEN_NO_CONTEXT, I915, "", "--ctx 7", NULL, 1,
		  "no such context", "leave out --ctx", "" },
		{ OPEN_POLL, I915, "", "--poll-period 10us", NULL, 1,
		  "--poll-period has to be 100us", "a longer --poll-period", "--poll-period 1ms" },
		{ OPEN_ENGINE, I915, "", "--engine video", NULL, 1,
		  "no such engine", "leave out --engine", "" },
		{ OPEN_HOLD, I915, "", "--hold-preemption", NULL, 1,
		  "--hold-preemption requires one context", "use --ctx", "--hold-preemption --ctx 1" },
		{ OPEN_SSEU, I915, "open 22", "--sseu 1:3:4:8", NULL, 1,
		  "probably --sseu", "leave out --sseu", "", "" },
		{ OPEN_CONTEXT, I915, "open 22", "--ctx 1", NULL, 1,
		  "probably --ctx", "leave out --ctx", "", "" },
		{ OPEN_SLICES, I915, "pci 0x56a0\nformats 0x1c00", "--sseu 1:7:8:8", NULL, 3,
		  "cannot be chosen", "leave out --sseu",
		  "--raw -o A32u40_A4u32_B8_C8", "pci 0x56a0\nset " GUID },
		{ OTHER_FAILURE, I915, "perf_revision 2", "--hold-preemption --ctx 1", NULL, 1,
		  "--hold-preemption: this kernel's i915 is at revision 2" },
		{ OTHER_FAILURE, I915, "perf_revision 3", "--sseu 1:7:8:8", NULL, 1, "requires 4" },
		{ OTHER_FAILURE, I915, "perf_revision 4", "--poll-period 1ms", NULL, 1,
		  "requires 5" },
		{ OTHER_FAILURE, I915, "perf_revision 5", "--engine render", NULL, 1,
		  "requires 6" },
		{ OTHER_FAILURE, I915, "perf_revision 0", "--sseu 1:7:8:8", NULL, 1,
		  "at revision 1" },
		{ OTHER_FAILURE, I915, "", "--buffer-size 131072", NULL, 1,
		  "not supported by i915" },
		{ OTHER_FAILURE, I915, "add 13", "", NULL, 4,
		  "adding a metric set is denied", "perf_stream_paranoid=0", NULL, "" },
		{ ADD_REGISTER, I915, "add 22", "", NULL, 1,
		  "a register is not allowed", "use another metric set", "--metrics /skl.xml -m Fake", "" },
		{ ADD_THERE, I915, "add 98", "", NULL, 1,
		  "has the metric set already", "mount -t sysfs sys /sys", NULL, "" },
		{ ADD_NO_OA, I915, "add 524", "", NULL, 3, "no OA for this GPU" },
		{ ADD_GONE, I915, "add 19", "", NULL, 3, "no OA for this GPU" },
		{ ADD_OTHER, I915, "add 12", "", NULL, 1, "refuses the metric set" },
		{ ADD_DENIED, I915, "", "", nobody, 4,
		  "adding a metric set is denied", "cap_perfmon" },
		{ OPEN_DENIED, I915, "set " GUID, "--metrics /skl.xml -m Fake", nobody, 4,
		  "counting for the whole GPU is denied", "perf_stream_paranoid=0" },
		{ DRIVER_SILENT, I915, "pci 0", "", NULL, 3, "does not say which GPU" },
		{ CLOCK_UNKNOWN, I915, "pci 0xffff\noa_hz 0\ncs_hz 0", "", NULL, 3,
		  "the clock frequency" },
		{ OTHER_FAILURE, I915, "pci 0xffff", "", NULL, 2,
		  "no metric set is known for this GPU", "--metrics" },
		{ FORMAT_UNKNOWN, I915, "pci 0xffff\nset " GUID, "--raw", NULL, 1,
		  "the report format of this GPU is unknown", "-o A32u40_A4u32_B8_C8", "--raw -o A32u40_A4u32_B8_C8" },
		{ NODE_NONE, I915, "", "", no_dri, 1,
		  "no node in /dev/dri", "mount -t devtmpfs dev /dev", "" },
		{ NODE_OTHER, I915, "", "", no_driver, 3, "cannot be opened" },
		{ OPEN_NO_OA_XE, XE, "open 19", "", NULL, 3, "no OA" },
		{ OTHER_FAILURE, XE, "open 22", "", NULL, 1, "report format or the metric set" },
		{ OTHER_FAILURE, XE, "add 22", "", NULL, 1, "a register is not allowed" },
		{ OTHER_FAILURE, XE, "add 98", "", NULL, 1, "has the metric set already" },
		{ ADD_DENIED_XE, XE, "", "", nobody, 4,
		  "adding a metric set is denied", "observation_paranoid=0" },
		{ OPEN_DENIED_XE, XE, "set " XE_GUID, "--metrics /lnl.xml -m Fake", nobody, 4,
		  "counting for the whole GPU is denied", "observation_paranoid=0" },
		{ OTHER_FAILURE, XE, "", "--buffer-size 131072", NULL, 1,
		  "--buffer-size: this kernel's xe does not support it" },
		{ OTHER_FAILURE, XE, "", "--wait-reports 4", NULL, 1,
		  "--wait-reports: this kernel's xe does not support it" },
		{ OPEN_BUFFER, XE, "caps 5", "--buffer-size 1000", NULL, 1,
		  "a power of two", "another --buffer-size", "--buffer-size 1048576" },
		{ OPEN_WAIT, XE, "caps 13\nopen 22", "--wait-reports 4000000", NULL, 1,
		  "probably --wait-reports", "fewer --wait-reports", "--wait-reports 3", "caps 13" },
		{ OTHER_FAILURE, XE, "", "--poll-period 1ms", NULL, 1, "not supported by xe" },
		{ OTHER_FAILURE, XE, "", "--sseu 1:7:8:8", NULL, 1, "not supported by xe" },
		{ UNIT_NUMBER, XE, "", "--oa-unit 5", NULL, 1,
		  "no OA unit of this number", "leave out --oa-unit", "" },
		{ UNIT_ENGINE, XE, "", "--engine copy", NULL, 1,
		  "no OA unit counts for that engine", "leave out --engine", "" },
		{ UNIT_NONE, XE, "units 0", "", NULL, 3,
		  "no OA units", "use Linux 6.12 or later", NULL, "" },
		{ OTHER_FAILURE, XE, "", "--ctx 9", NULL, 1, "no such context" },
		{ STALLS_OLD, XE, "stalls 0", "stalls", NULL, 1,
		  "this kernel's xe does not sample EU stalls", "6.15", NULL, "" },
		{ STALLS_GPU, XE, "version 12", "stalls", NULL, 3,
		  "this GPU does not sample EU stalls" },
		{ STALLS_DENIED, XE, "", "stalls", nobody, 4,
		  "is denied", "observation_paranoid=0" },
		{ STALLS_GT, XE, "", "stalls --gt 2", NULL, 1,
		  "no GT of this number", "leave out --gt", "stalls" },
		{ STALLS_NO_EUS, XE, "", "stalls --gt 1", NULL, 1,
		  "this GT has no EUs", "leave out --gt", "stalls" },
		{ STALLS_WAIT, XE, "", "stalls --wait-reports 65537", NULL, 1,
		  "--wait-reports", "fewer --wait-reports", "stalls --wait-reports 10" },
		{ STALLS_NO_MEMORY, XE, "open 12", "stalls", NULL, 1,
		  "no memory for the buffer of samples" },
		{ STALLS_OTHER, XE, "open 5", "stalls", NULL, 1, "the kernel refuses the stream" },
		{ OTHER_FAILURE, XE, "", "stalls", no_dri, 1,
		  "no node in /dev/dri", "devtmpfs", "stalls" },
		{ OTHER_FAILURE, I915, "", "stalls", NULL, 3, "" },
	};

	for (size_t i = 0; i < LEN(cases); i++)
		if (cases[i].dev != XE || has_xe)
			try_error(&cases[i]);
}

/* Errors that require a state of the machine which write_knobs() does not make. */
static void t_errors_of_machine(void)
{
	static const char args[] = "oa -d card0 --raw -o json 0.1 1",
			  fast[] = "oa -d card0 --raw --period 400us -o json 0.1 1";
	struct run *r;

	write_knobs(I915, "");
	begin("i915: the node belongs to a group: the user may count after joining it");
	if (chown("/dev/dri/renderD128", 0, 44) || chmod("/dev/dri/renderD128", 0660))
		die("renderD128");
	r = run(args, nobody_perfmon);
	ended(r, 4);
	want_said(r, "no permission to open the GPU's node in /dev/dri");
	want_said(r, "join the group that owns it: render or video");
	want_success(args, video_perfmon, "joining the group");
	tried[NODE_DENIED] += test_ok;
	close_run(r);
	if (chown("/dev/dri/renderD128", 0, 0) || chmod("/dev/dri/renderD128", 0666))
		die("renderD128");
	end();

	begin("i915: a report rate that is denied is allowed after each remedy of the message");
	put_file("/proc/sys/dev/i915/perf_stream_paranoid", "0");
	put_file("/proc/sys/dev/i915/oa_max_sample_rate", "1000");
	r = run(fast, nobody);
	ended(r, 4);
	want_said(r, "this report rate is denied");
	want_said(r, "use a longer --period, sysctl dev.i915.oa_max_sample_rate=REPORTS, or "
		     "setcap cap_perfmon+ep gpustat");
	want_success("oa -d card0 --raw --period 2ms -o json 0.1 1", nobody, "a longer --period");
	want_success(fast, nobody_perfmon, "setcap");
	put_file("/proc/sys/dev/i915/oa_max_sample_rate", "100000");
	want_success(fast, nobody, "sysctl");
	put_file("/proc/sys/dev/i915/perf_stream_paranoid", "1");
	tried[OPEN_RATE] += test_ok;
	close_run(r);
	end();

	begin("i915: a metric set with a register that cannot be read");
	put_file("/bad.xml", bad_xml);
	r = run("oa -d card0 --metrics /bad.xml -m Fake -o json 0.1 1", NULL);
	ended(r, 1);
	want_said(r, "the metric set has registers that cannot be read");
	tried[SET_REGISTERS] += test_ok;
	close_run(r);
	end();
}

/* A row that is neither tried nor has a reason is an error. */
static void t_tried(void)
{
	static const struct {
		const char *call, *name, *reason;
	} rows[] = {
#define ROW(call, error, requested, not_requested, name, reason) { #call, #name, reason },
		OA_FAILURES(ROW)
#undef ROW
	};
	int n = 0;

	begin("each row of the table of failures was tried, or the list has the reason why not");
	for (size_t i = 0; i < LEN(rows); i++) {
		want(!tried[i] == !!rows[i].reason, "%s: tried %d times", rows[i].name, tried[i]);
		n += tried[i] != 0;
	}
	end();
	printf("# failures of OA: %d of %zu rows tried\n", n, LEN(rows));
	for (size_t i = 0; i < LEN(rows); i++)
		if (rows[i].reason)
			printf("# failures of OA: not tried: %s, %s: %s\n", rows[i].call,
			       rows[i].name, rows[i].reason);
}

static void t_granted(void)
{
	struct run *r;

	write_knobs(I915, "");
	put_file("/proc/sys/dev/i915/oa_max_sample_rate", "1000");
	r = run("oa -d card0 --raw --period 400us -o json 0.1 1", nobody_perfmon);
	begin("i915: with only CAP_PERFMON, any user may count, with any period");
	ended(r, 0);
	want_asked(I915, " 5=11\n");
	want_sums(r, "A", 0, 36);
	close_run(r);
	end();

	write_knobs(I915, "");
	put_file("/proc/sys/dev/i915/perf_stream_paranoid", "0");
	r = run("oa -d card0 --raw -o json 0.05 2", nobody);
	begin("i915: with perf_stream_paranoid=0 any user may count, and the default period is within the limit");
	ended(r, 0);
	want_asked(I915, " 5=13\n");	/* 1.37 ms; 0.5 ms would be 100 in 50 ms */
	want_sums(r, "A", 0, 36);
	close_run(r);
	end();
	put_file("/proc/sys/dev/i915/perf_stream_paranoid", "1");
	put_file("/proc/sys/dev/i915/oa_max_sample_rate", "100000");
}

static void t_taken(void)
{
	char words[64];
	struct run *first, *r;

	write_knobs(I915, "");
	first = start("oa -d card0 --raw -o json 0.1", NULL);
	nap(0.5);
	r = run("oa -d card0 --raw -o json 0.1 1", NULL);
	begin("i915: the message about a busy OA unit names the process that uses it");
	ended(r, 1);
	snprintf(words, sizeof words, "process %d (gpustat)", first->pid);
	want_said(r, words);
	close_run(r);
	kill(first->pid, SIGINT);
	finish(first);
	ended(first, 0);
	want(records(first) > 3, "the other run did not continue");
	close_run(first);
	end();
}

/* Records that the kernel may insert between two reports, or write instead of one. */
static void t_losses(void)
{
	static const struct {
		int dev;
		const char *name, *events;
		int status;
		const char *words;
		int lost;	/* expected number of lost reports and buffers */
		enum failure row; /* for a status that is not 0 */
	} cases[] = {
		{ I915, "a report is lost",                        "event 1 10 0", 0, NULL, 1 },
		{ I915, "the buffer is lost: no sum spans the gap",  "event 2 10 0", 0, NULL, 1 },
		{ I915, "a report and the buffer are lost, twice",                             "event 1 5 0\nevent 2 5 0\nevent 1 20 0\nevent 2 30 0", 0, NULL, 4 },
		{ I915, "a record of an unknown type is skipped",   "event 3 10 77", 0, NULL, 0 },
		{ I915, "a sample that is too small is dropped",  "event 4 10 40", 0, "too small", 0 },
		{ I915, "a report without content is a loss",     "event 9 10 0", 0, "without content", 1 },
		{ I915, "a read fails with ENOSPC",                 "event 6 10 0", 1, "larger than any report", 0, READ_LARGE },
		{ I915, "the driver stops the stream",          "event 5 20 5", 1, "stopped the stream", 0, READ_STOPPED },
		{ I915, "the GPU is removed",                      "event 5 20 19", 3, "the GPU is gone", 0, READ_GONE },
		{ I915, "the stream ends",                      "event 7 20 0", 3, "the GPU is gone", 0, READ_GONE },
		{ I915, "an error of unknown meaning",            "event 5 20 71", 1, "cannot be read", 0, READ_OTHER },
		{ XE,   "reports are lost",                        "event 1 10 1", 0, NULL, 1 },
		{ XE,   "the buffer overflows",                    "event 1 10 2", 0, NULL, 1 },
		{ XE,   "all status bits are set",                    "event 1 10 15", 0, NULL, 4 },
		{ XE,   "a report without content is a loss",      "event 9 10 0", 0, "without content", 1 },
		{ XE,   "an error without a status",               "event 1 10 0", 1, "stopped the stream", 0, READ_STOPPED },
		{ XE,   "the GPU is removed",                      "event 5 20 19", 3, "the GPU is gone", 0, READ_GONE },
	};

	for (size_t i = 0; i < LEN(cases); i++) {
		const char *letter = cases[i].dev == XE ? "PEC" : "A";
		char name[128], args[96];
		double reports, seen;
		struct run *r;

		if (cases[i].dev == XE && !has_xe)
			continue;
		write_knobs(cases[i].dev, cases[i].events);
		snprintf(name, sizeof name, "%s: %s", cases[i].dev == XE ? "xe" : "i915", cases[i].name);
		snprintf(args, sizeof args, "oa -d card%d --raw -o json --period 6ms 0.2 3", cases[i].dev);
		r = run(args, NULL);
		begin(name);
		ended(r, cases[i].status);
		if (cases[i].words)
			want_said(r, cases[i].words);
		want_sums(r, letter, 0, 32);
		if (!cases[i].status) {
			reports = total(r, "reports");
			seen = 0.6 / (cases[i].dev == XE ? 65536 / 19.2e6 : 65536 / 12e6);
			want(records(r) == 3, "%d records", records(r));
			want(total(r, "lost") == cases[i].lost, "lost is %f", total(r, "lost"));
			want(fabs(reports - seen) < 0.3 * seen, "%f reports, expected %f", reports, seen);
		}
		want(strstr(asked(cases[i].dev), "opens 1 closes 1 adds 1 removes 1"), "not removed: %.40s", asked(cases[i].dev));
		tried[cases[i].row] += cases[i].status && test_ok;
		close_run(r);
		end();
	}

	write_knobs(I915, "event 2 10 0\nevent 1 15 0");
	struct run *r = run("oa -d card0 --metrics /skl.xml -m Fake --reports -o json --period 6ms 0.3 1", NULL);
	double index = -1;
	bool skipped = false;

	begin("i915: the difference across a lost buffer has no record, and its number is skipped");
	ended(r, 0);
	for each_record(v, r) {
		skipped |= index == 8 && num(v, "index") == 10;
		want(num(v, "index") == index + (index == 8 ? 2 : 1), "record %.0f follows %.0f", num(v, "index"), index);
		want(num(v, "counter/Fortieth") == 22000, "A21 is %f", num(v, "counter/Fortieth"));
		index = num(v, "index");
	}
	want(skipped, "no number was skipped");
	want(total(r, "lost") == 2, "lost is %f", total(r, "lost"));
	close_run(r);
	end();

	write_knobs(I915, "");
	r = run("oa -d card0 --raw --period 1us -o json 0.2 2", NULL);
	begin("i915: reports that arrive faster than they can be read are lost, and the program ends");
	ended(r, 0);
	want(records(r) == 2 && r->took < 60, "%d records in %f s", records(r), r->took);
	want_sums(r, "A", 0, 36);
	close_run(r);
	end();

	write_knobs(I915, "event 4 10 4\nevent 4 20 0");
	r = run("oa -d card0 --raw -o json --period 6ms 0.2 2", NULL);
	begin("i915: records of length zero neither stop the program nor count");
	want(r->status == 0 || r->status == 1, "exit %d", r->status);
	/* The records after them in the same read are lost, but the next difference spans them. */
	for each_record(v, r)
		want(num(v, "counter/A0") >= 1000 * num(v, "reports") && num(v, "counter/A35") == 36 * num(v, "counter/A0"),
		     "A0 is %f and A35 %f in %f reports", num(v, "counter/A0"), num(v, "counter/A35"), num(v, "reports"));
	want(records(r) == 2, "%d records", records(r));
	close_run(r);
	end();
}

static void t_signals(void)
{
	static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

	begin("i915: SIGINT, SIGTERM and SIGHUP end a stream with complete records, exit status 0, and the set is removed");
	for (size_t i = 0; i < LEN(signals); i++) {
		struct run *r;

		write_knobs(I915, "");
		r = start(i == 1 ? "oa -d card0 --raw --reports -o json" : "oa -d card0 --raw -o json 0.1", NULL);
		nap(0.7);
		kill(r->pid, signals[i]);
		finish(r);
		ended(r, 0);
		want(records(r) > 2, "signal %d: %d records", signals[i], records(r));
		want(r->took < 2.5, "it continued for %.1f s", r->took);
		want_asked(I915, "opens 1 closes 1 adds 1 removes 1\n");
		close_run(r);
	}
	end();
}

/* The reader of the output exits. */
static void t_pipe(void)
{
	struct run *r;

	write_knobs(I915, "");
	r = start("oa -d card0 --raw -o json 0.1", NULL);
	nap(0.35);
	close(r->fd[0]);
	r->fd[0] = -1;
	finish(r);
	begin("i915: SIGPIPE ends the program silently, and the set is removed");
	want(r->status == 128 + SIGPIPE && !r->n[1], "exit %d, and %zu bytes on stderr", r->status, r->n[1]);
	want_asked(I915, "opens 1 closes 1 adds 1 removes 1\n");
	close_run(r);
	end();
}

static void t_recording(void)
{
	static const struct {
		const char *name, *live, *again, *numbers[2];
		int dev;
		double each;	/* the step per report of A21 or PEC39 */
	} cases[] = {
		{ "i915: a replayed recording prints the same as the live run", "oa -d card0 --metrics /skl.xml -m Fake", "oa --metrics /skl.xml",
		  { "counter/Eus", "counter/Stepping" }, I915,
		  22000 },
		{ "xe: a replayed recording prints the same as the live run", "oa -d card1 --metrics /lnl.xml -m Fake", "oa --metrics /lnl.xml",
		  { "counter/Banks", "counter/Pipes" }, XE,
		  40000 },
	};

	for (size_t i = 0; i < LEN(cases); i++) {
		const char *const same[] = { "reports", "ts", "ticks", "lost", "counter/Fortieth", "counter/MaxHz", cases[i].numbers[0],
			cases[i].numbers[1] };
		char args[160];
		struct run *live, *again;

		if (cases[i].dev == XE && !has_xe)
			continue;
		write_knobs(cases[i].dev, "event 1 10 1");
		snprintf(args, sizeof args, "%s --record /x.rec --period 3ms --totals -o json 1.3 1", cases[i].live);
		live = run(args, NULL);
		snprintf(args, sizeof args, "%s --replay /x.rec --totals -o json", cases[i].again);
		again = run(args, NULL);
		begin(cases[i].name);
		ended(live, 0);
		ended(again, 0);
		want(!again->n[1], "it printed a message");
		want(records(live) == 1 && records(again) == 1, "%d and %d records", records(live), records(again));
		for (size_t k = 0; k < LEN(same); k++) {
			double a = num(record(live, 0), same[k]), b = num(record(again, 0), same[k]);

			want(a == b, "%s: live %f, replayed %f", same[k], a, b);
		}
		want(num(record(again, 0), "counter/Fortieth") == num(record(again, 0), "reports") * cases[i].each,
		     "the counter does not match the number of reports");
		close_run(live);
		close_run(again);
		end();
	}
}

/* Sends a recording that the machine has in / out of it. Returns its size. */
static ssize_t bring_recording(const char *name)
{
	static char rec[1 << 20];
	char path[64];
	ssize_t n, size = 0;
	int fd;

	snprintf(path, sizeof path, "/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, rec + size, sizeof rec - size)) > 0)
		size += n;
	close(fd);
	bring_out(name, rec, size);
	return size;
}

static void t_outside(void)
{
	struct run *live;
	ssize_t size;

	write_knobs(I915, "event 1 10 0");
	live = run("oa -d card0 --metrics /test.xml -m TestOa --record /out.rec --period 3ms --reports -o json 1.2 1", NULL);
	begin("i915: a recording is sent out of the machine");
	ended(live, 0);
	want(records(live) > 300, "%d records", records(live));
	size = bring_recording("out.rec");
	want(size > 300 * 264, "%zd bytes of recording", size);
	bring_out("test.xml", test_xml, strlen(test_xml));
	bring_out("live.json", live->text[0], live->n[0]);
	close_run(live);
	end();

	live = run("oa -d card0 --record /basic.rec --period 3ms -o json 1.2 1", NULL);
	begin("i915: a recording of the built-in set RenderBasic is sent out of the machine");
	ended(live, 0);
	want(records(live) == 1 && is(record(live, 0), "set", "RenderBasic"), "%d records, or another set", records(live));
	size = bring_recording("basic.rec");
	want(size > 300 * 264, "%zd bytes of recording", size);
	close_run(live);
	end();

	if (!has_xe)
		return;
	write_knobs(XE, "");
	live = run("oa -d card1 --record /xe.rec --period 3ms -o json 1.2 1", NULL);
	begin("xe: a recording of the built-in set RenderBasic is sent out of the machine");
	ended(live, 0);
	want(records(live) == 1 && is(record(live, 0), "set", "RenderBasic"), "%d records, or another set", records(live));
	size = bring_recording("xe.rec");
	want(size > 300 * 576, "%zd bytes of recording", size);
	close_run(live);
	end();
}

static void t_haswell(void)
{
	struct run *r;

	write_knobs(I915, "pci 0x412\noa_hz 12500000\ncs_hz 0\nperf_revision 0\nformats 32\nquery 0");
	r = run("oa -d card0 --raw -o json 0.3 2", NULL);
	begin("i915 of Linux 4.13 on Haswell: reports of 32 bits without a clock");
	ended(r, 0);
	want_asked(I915, " 4=5 ");
	want_sums(r, "A", 0, 45);
	want_sums(r, "B", 45, 8);
	want_sums(r, "C", 53, 8);
	for each_record(v, r)
		want(isnan(num(v, "ticks")) && fabs(num(v, "dt") - 0.3) < 0.15, "ticks %f, dt %f", num(v, "ticks"), num(v, "dt"));
	close_run(r);
	end();

	write_knobs(I915, "query 0");
	r = run("oa -d card0 --metrics /skl.xml -m Fake -o json 0.1 1", NULL);
	begin("i915 before Linux 4.17: the number of EUs is known without a topology query");
	ended(r, 0);
	want(num(record(r, 0), "counter/Eus") == 23, "EUs are %f", num(record(r, 0), "counter/Eus"));
	close_run(r);
	end();
}

static void t_props(void)
{
	static const struct {
		int dev;
		const char *knobs, *args, *want;
	} cases[] = {
		{ I915, "", "--ctx 1 --hold-preemption", " 1=1 6=1" },
		{ I915, "", "--sseu 1:3:4:8", "sseu 1 3 4 8\n" },
		{ I915, "", "--poll-period 2ms", " 8=2000000" },
		{ I915, "", "--engine render", " 9=0 10=0" },
		/* FD_CLOEXEC | FD_NONBLOCK, and no property that was not requested */
		{ I915, "", "", "open 3 2=1 3=" },
		{ XE,   "", "", " 1=0" },
		{ XE,   "", "--oa-unit 1", " 1=1" },
		{ XE,   "", "--engine video", " 1=1" },
		{ XE,   "", "--engine compute", " 1=0" },
		{ XE,   "", "--ctx 1 --hold-preemption", " 9=1 7=1" },
		{ XE,   "caps 13", "--buffer-size 1048576 --wait-reports 3", "13=3 12=1048576" },
		{ XE,   "", "", " 4=65797" },	/* PEC64u64: type 5, select 1, size 1 */
	};

	begin("each requested property reaches the driver");
	for (size_t i = 0; i < LEN(cases); i++) {
		char args[128];
		struct run *r;

		if (cases[i].dev == XE && !has_xe)
			continue;
		write_knobs(cases[i].dev, cases[i].knobs);
		snprintf(args, sizeof args, "oa -d card%d --raw -o json %s 0.05 1", cases[i].dev, cases[i].args);
		r = run(args, NULL);
		ended(r, 0);
		want_asked(cases[i].dev, cases[i].want);
		quote(r);
		drop(r);
	}
	end();
}

/* ---- xe ---- */

static void t_xe(void)
{
	static const char *const unknown[] = { "counter/Banks", "counter/Nodes", "counter/Pipes" };
	struct run *r;
	struct view v;
	double index = -1;

	write_knobs(XE, "");
	r = run("oa -d card1 --raw -o json 0.3 3", NULL);
	begin("xe: three sums of every counter of 64 bits, exact");
	ended(r, 0);
	want(records(r) == 3, "%d records", records(r));
	want_sums(r, "PEC", 0, 64);
	close_run(r);
	end();

	write_knobs(XE, "");
	r = run("oa -d card1 --metrics /lnl.xml -m Fake -o json 0.3 1", NULL);
	begin("xe: a set that the kernel lacks is added with all registers in one list, and removed at the end");
	ended(r, 0);
	v = record(r, 0);
	want(num(v, "counter/Fortieth") == num(v, "reports") * 40000, "PEC39 is %f", num(v, "counter/Fortieth"));
	want(num(v, "counter/Cores") == 8, "cores are %f", num(v, "counter/Cores"));
	want(num(v, "counter/MaxHz") == 2050e6, "MaxHz is %f", num(v, "counter/MaxHz"));
	/* nodes of four banks; three pipes in each of two slices */
	want(num(v, "counter/Banks") == 8 && num(v, "counter/Nodes") == 2 && num(v, "counter/Pipes") == 6 && num(v, "counter/Threads") == 8,
	     "%f banks, %f nodes, %f pipes, %f threads", num(v, "counter/Banks"), num(v, "counter/Nodes"), num(v, "counter/Pipes"),
	     num(v, "counter/Threads"));
	want(!r->n[1], "it printed a message");
	want_asked(XE, LNL_REGS);
	want_asked(XE, "opens 1 closes 1 adds 1 removes 1\n");
	close_run(r);
	end();

	write_knobs(XE, "l3 0\nhwconfig 0");
	r = run("oa -d card1 --metrics /lnl.xml -m Fake -o json 0.1 1", NULL);
	begin("xe: counters are null where the driver does not report the numbers, the others have values");
	ended(r, 0);
	v = record(r, 0);
	for (size_t i = 0; i < LEN(unknown); i++)
		want(!strncmp(json_get(v, unknown[i]).p, "null", 4), "%s has a value", unknown[i]);
	want(num(v, "counter/Fortieth") > 0 && num(v, "counter/Cores") == 8 && num(v, "counter/Threads") == 7, "other values");
	want_said(r, "counters without a value: 3; the driver does not report L3BankTotalCount, L3NodeTotalCount, ColorPipeTotalCount\n");
	close_run(r);
	end();

	write_knobs(XE, "pci 0xffff");
	r = run("oa -d card1 -o json 0.1 1", NULL);
	begin("xe: a GPU of an unknown id has the set Basic of its IP version");
	ended(r, 0);
	want(records(r) == 1 && is(record(r, 0), "set", "Basic"), "not one record of Basic");
	close_run(r);
	end();

	write_knobs(XE, "pci 0xffff\ngts 0");
	r = run("oa -d card1 -o json 0.1 1", NULL);
	begin("xe: a GPU of an unknown id and version has no metric set");
	ended(r, 2);
	want_said(r, "no metric set is known for this GPU");
	close_run(r);
	end();

	write_knobs(XE, "cs_hz 4800000\nset " XE_GUID);
	r = run("oa -d card1 --metrics /lnl.xml -m Fake --reports --period 3ms -o json 0.3 1", NULL);
	begin("xe: records of single reports are in order, with a set that existed before and is kept");
	ended(r, 0);
	for each_record(w, r) {
		want(num(w, "index") == index + 1, "record %.0f follows %.0f", num(w, "index"), index);
		want(num(w, "counter/Fortieth") == 40000, "PEC39 is %f", num(w, "counter/Fortieth"));
		index = num(w, "index");
		want(is(w, "reason", (int)index % 8 == 7 ? "context-switch" : "timer"), "wrong reason at %f", index);
		/* the correlation's clock has a fourth of the reports' frequency */
		want(fabs(num(w, "cpu_time") / 1e9 - now()) < 3, "at %f, and now it is %f", num(w, "cpu_time") / 1e9, now());
	}
	want(index > 100, "%f records", index);
	want_asked(XE, "opens 1 closes 1 adds 0 removes 0\n");
	close_run(r);
	end();

	write_knobs(XE, "reg_read 0");
	r = run("oa -d card1 --raw --reports -o json 0.1 1", NULL);
	begin("xe: without a correlation only the CPU time is missing");
	ended(r, 0);
	for each_record(w, r)
		want(isnan(num(w, "cpu_time")) && num(w, "ts") > 0, "cpu_time is %f", num(w, "cpu_time"));
	want(records(r) > 10, "%d records", records(r));
	close_run(r);
	end();
}

/* ---- EU stalls ---- */

/* Checks the records: the count of each reason is its position in the order of the sample's
 * bits, and each address has at most one record in an interval. Returns the number of samples. */
static double want_stalls(const struct run *r)
{
	static const char *const reasons[] = { "tdr", "other", "control", "pipestall", "send", "dist_acc", "sbid", "sync",
		"inst_fetch", "active" };
	double samples = 0;

	for each_record(v, r) {
		double n = num(v, "tdr");
		bool known = false;

		want(is(v, "kind", "stall") && is(v, "dev", "card1"), "another kind or device");
		for (int i = 0; i < 4; i++)
			known |= is(v, "ip", (const char *[]){ "0x100", "0x108", "0x110", "0x118" }[i]);
		want(known || !n, "an unknown address");
		for (size_t i = 0; i < LEN(reasons); i++)
			want(num(v, reasons[i]) == n * (i + 1), "%s is %f in %f samples", reasons[i], num(v, reasons[i]), n);
		want(num(v, "all") == 55 * n, "the sum is %f", num(v, "all"));
		samples += n;
	}
	return samples;
}

/* The number of lines of stdout. */
static int lines(const struct run *r)
{
	int n = 0;

	for (const char *p = r->text[0]; (p = strchr(p, '\n')); p++)
		n++;
	return n;
}

static void t_stalls(void)
{
	struct run *r;
	double n;

	write_knobs(XE, "");
	r = run("oa stalls -d card1 -o json 0.3 3", NULL);
	begin("xe: three intervals of EU stalls have all samples of each address");
	ended(r, 0);
	n = want_stalls(r);
	want(fabs(n - 0.9e6 / 1004) < 0.3e6 / 1004, "%f samples", n);
	want(records(r) == 12, "%d records", records(r));
	for each_record(v, r)
		want(fabs(num(v, "dt") - 0.3) < 0.15 && num(v, "lost") == 0, "dt is %f, lost is %f", num(v, "dt"), num(v, "lost"));
	/* A quarter of a core's buffer, which has room for 8192 samples. */
	want_asked(XE, "stalls 3=2048 2=1004 1=0\n");
	want_asked(XE, "opens 1 closes 1 adds 0 removes 0\n");
	close_run(r);
	end();

	write_knobs(XE, "");
	r = run("oa stalls -d card1 -S -o json --sample-period 300 --wait-reports 10 -v 0.3 2", NULL);
	begin("xe: sums by reason, with the nearest period that the GPU has");
	ended(r, 0);
	want(records(r) == 2, "%d records", records(r));
	want_asked(XE, "stalls 3=10 2=251 1=0\n");
	want_said(r, "a sample every 251 GPU clocks");
	want_said(r, "RC6");
	n = 0;
	for each_record(v, r)
		n += num(v, "tdr");
	want(fabs(n - 0.6e6 / 251) < 0.2e6 / 251, "%f samples", n);
	close_run(r);
	end();

	write_knobs(XE, "");
	r = run("oa stalls -d card1 -o folded 0.2 2", NULL);
	begin("xe: folded stacks of EU stalls, of the whole run");
	ended(r, 0);
	want(lines(r) == 40, "%d lines", lines(r));
	want(strstr(r->text[0], "0x100;active ") && strstr(r->text[0], "0x118;sbid "), "a stack is missing");
	close_run(r);
	end();
}

static void t_stall_losses(void)
{
	static const struct {
		const char *name, *events;
		int status;
		const char *words;
		int lost;
		enum failure row; /* for a status that is not 0 */
	} cases[] = {
		{ "the GPU drops samples, twice",      "event 1 50 0\nevent 1 300 0", 0, NULL, 2 },
		{ "the GPU is reset",                  "event 5 50 19", 3, "was reset", 0, STALLS_RESET },
		{ "the stream ends",                   "event 7 50 0",  3, "was reset", 0, STALLS_RESET },
		{ "an error of unknown meaning",       "event 5 50 71", 1, "the samples cannot be read", 0, STALLS_UNREADABLE },
	};

	for (size_t i = 0; i < LEN(cases); i++) {
		char name[96];
		struct run *r;

		write_knobs(XE, cases[i].events);
		snprintf(name, sizeof name, "xe, EU stalls: %s", cases[i].name);
		r = run("oa stalls -d card1 -o json 0.3 2", NULL);
		begin(name);
		ended(r, cases[i].status);
		if (cases[i].words)
			want_said(r, cases[i].words);
		want(want_stalls(r) >= 50, "samples are missing");
		want(total(r, "lost") == cases[i].lost, "lost is %f", total(r, "lost"));
		want_asked(XE, "opens 1 closes 1 ");
		if (cases[i].row == STALLS_RESET) {
			want_said(r, "start again");
			write_knobs(XE, "");
			want_success("oa stalls -d card1 -o json 0.1 1", NULL, "starting again");
		}
		tried[cases[i].row] += cases[i].status && test_ok;
		close_run(r);
		end();
	}
}

static void t_stalls_recorded(void)
{
	struct run *live, *again;
	char words[64];

	write_knobs(XE, "event 1 100 0");
	live = run("oa stalls -d card1 --record /s.rec -S -o json 0.7 1", NULL);
	again = run("oa stalls --replay /s.rec -S -o json", NULL);
	begin("xe: a replayed recording of EU stalls prints the same as the live run");
	ended(live, 0);
	ended(again, 0);
	want(!again->n[1], "it printed a message");
	want(records(live) == 1 && records(again) == 1, "%d and %d records", records(live), records(again));
	for (size_t i = 0; i < 4; i++) {
		const char *key = (const char *[]){ "tdr", "active", "all", "lost" }[i];

		want(num(record(live, 0), key) == num(record(again, 0), key) && num(record(live, 0), key) > 0, "%s: live %f, replayed %f",
		     key, num(record(live, 0), key), num(record(again, 0), key));
	}
	want(fabs(num(record(again, 0), "dt") - num(record(live, 0), "dt")) < 1e-5, "dt: replayed %f", num(record(again, 0), "dt"));
	close_run(live);
	close_run(again);
	end();

	write_knobs(XE, "");
	live = start("oa stalls -d card1 -o json 0.1", NULL);
	nap(0.5);
	again = run("oa stalls -d card1 -o json 0.1 1", NULL);
	begin("xe: the message about EUs that are sampled names the process, which continues until SIGINT");
	ended(again, 1);
	snprintf(words, sizeof words, "process %d (gpustat)", live->pid);
	want_said(again, words);
	kill(live->pid, SIGINT);
	finish(live);
	ended(live, 0);
	want(want_stalls(live) > 300, "samples are missing");
	want_asked(XE, "opens 1 closes 1 ");
	close_run(again);
	close_run(live);
	end();
}

static void t_none(void)
{
	struct run *r = run("oa -d card7 -o json 0.1 1", NULL);

	begin("a device that does not exist: exit status 3");
	ended(r, 3);
	want(r->n[1], "it printed no message");
	close_run(r);
	end();
}

static int scenarios(void)
{
	load("/modules", "devs=i915:oa,xe:oa");
	has_xe = !access(files[XE], W_OK);
	put_file("/skl.xml", skl_xml);
	put_file("/lnl.xml", lnl_xml);
	put_file("/test.xml", test_xml);
	chmod("/dev/dri", 0755);
	chmod("/dev/dri/renderD128", 0666);
	chmod("/dev/dri/renderD129", 0666);
	t_raw();
	t_counters();
	t_set();
	t_reports();
	t_period();
	t_errors();
	t_errors_of_machine();
	t_granted();
	t_taken();
	t_losses();
	t_signals();
	t_pipe();
	t_recording();
	t_outside();
	t_haswell();
	t_props();
	if (has_xe) {
		t_xe();
		t_stalls();
		t_stall_losses();
		t_stalls_recorded();
	}
	t_none();
	if (has_xe)
		t_tried();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
