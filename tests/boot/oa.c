/*
 * oa: the first program of the emulated machine where `gpustat oa` is judged. perffake.c plays an i915 (card0, Skylake
 * unless told otherwise) and an xe (card1, Lunar Lake), whose counters are known: from one report to the next, counter
 * i grows by (i + 1) * 1000 and the clock by 500 ticks, so what a record says can be held against how many reports
 * are in it.
 */
#include "guest.h"

enum { I915, XE };

static bool has_xe;		/* the kernel's headers know its OA: Linux 6.11 */

/* What one counts on i915: 36 A's, then 8 B's, then 8 C's. */
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
/* What perffake.c makes of them. */
#define SKL_REGS "regs mux 2 1c9b9\nregs boolean 1 2749\nregs flex 1 e45f\n"

static const char lnl_xml[] =
	"<?xml version=\"1.0\"?>\n<metrics>\n"
	"<set name=\"Fake\" chipset=\"LNL\" symbol_name=\"Fake\" oa_format=\"576B_PEC64LL\" hw_config_guid=\"" XE_GUID "\">\n"
	"<counter name=\"t\" symbol_name=\"GpuTime\" data_type=\"uint64\" units=\"ns\""
	" equation=\"GPU_TIME 0 READ 1000000000 UMUL $GpuTimestampFrequency UDIV\"/>\n"
	"<counter name=\"a\" symbol_name=\"Fortieth\" data_type=\"uint64\" units=\"events\" equation=\"PEC 39 READ\"/>\n"
	"<counter name=\"e\" symbol_name=\"Cores\" data_type=\"uint64\" units=\"number\" equation=\"$XeCoreTotalCount\"/>\n"
	"<counter name=\"m\" symbol_name=\"MaxHz\" data_type=\"uint64\" units=\"hz\" equation=\"$GpuMaxFrequency\"/>\n"
	"<register_config type=\"OA\">\n<register type=\"OA\" address=\"0xd920\" value=\"0x1\"/>\n</register_config>\n"
	"<register_config type=\"FLEX\">\n<register type=\"FLEX\" address=\"0xe458\" value=\"0x7\"/>\n</register_config>\n"
	"</set>\n</metrics>\n";
#define LNL_REGS "regs all 2 2a1df\n"

/* One that i915-perf-reader knows, by its name and guid: what leaves this machine is read by it. */
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

/* ---- the device's side ---- */

static const char *const files[] = { "/sys/devices/platform/i915.0/oa", "/sys/devices/platform/xe.1/oa" };

static void put_file(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, what, strlen(what)) != (ssize_t)strlen(what))
		die(path);
	close(fd);
}

/* tell: lines for the device, after "reset". */
static void tell(int dev, const char *lines)
{
	char copy[256], *save, *line;

	snprintf(copy, sizeof copy, "reset\nforget\n%s", lines);
	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		put_file(files[dev], line);
}

/* asked: what the device was asked for since then. */
static const char *asked(int dev)
{
	static char b[4098];

	snprintf(b, sizeof b, "%s\n", text(files[dev]));
	return b;
}

static bool want_asked(int dev, const char *what)
{
	return want(strstr(asked(dev), what), "the driver was not asked for \"%s\": %s", what, asked(dev));
}

/* ---- the program's side ---- */

static int records(const struct run *r)
{
	int n = 0;

	for each_record(v, r)
		n += is(v, "kind", "oa") || is(v, "kind", "counter");
	return n;
}

/* total: the sum over all records. */
static double total(const struct run *r, const char *path)
{
	double sum = 0;

	for each_record(v, r)
		sum += num(v, path);
	return sum;
}

/* want_sums: each record's counters are what its reports make them: letters' numbers from `from` on, n of them. */
static void want_sums(const struct run *r, const char *letter, int from, int n)
{
	for each_record(v, r) {
		double reports = num(v, "reports");

		want(reports >= 1, "record %.0f is of %f reports", num(v, "index"), reports);
		for (int i = 0; i < n; i++) {
			char path[32];

			snprintf(path, sizeof path, "counter/%s%d", letter, i);
			want(num(v, path) == reports * (from + i + 1) * 1000, "%s is %f, not that of %.0f reports", path, num(v, path),
			     reports);
		}
	}
}

static void want_said(const struct run *r, const char *words)
{
	want(strstr(r->text[1], words), "stderr does not say \"%s\"", words);
}

/* ---- i915 ---- */

static void t_raw(void)
{
	struct run *r;

	tell(I915, "");
	r = run("oa -d card0 --raw -o json 0.3 3", NULL);
	begin("i915: three sums of every counter, across the wraps of 40 and 32 bits, exact");
	ended(r, 0);
	want(records(r) == 3, "%d records", records(r));
	want_sums(r, "A", 0, 36);
	want_sums(r, "B", 36, 8);
	want_sums(r, "C", 44, 8);
	for each_record(v, r) {
		/* Nobody else runs: a third of a second, as the clock of 12 MHz has it. */
		want(fabs(num(v, "dt") - 0.3) < 0.15, "dt is %f", num(v, "dt"));
		want(num(v, "ticks") == 500 * num(v, "reports"), "ticks are %f", num(v, "ticks"));
		want(num(v, "lost") == 0 && is(v, "dev", "card0"), "lost, or of another device");
	}
	close_run(r);
	end();
}

/* ---- by name ---- */

/* The catalogue's: what is counted from its start on. A1 counts 2000 from one report to the next, in 500 clocks. */
static void t_counters(void)
{
	struct run *r;

	tell(I915, "");
	r = run("counters oa/card0/Basic/GpuCoreClocks oa/card0/Basic/VsThreads oa/card0/Basic/GpuTime oa/card0/Basic/GpuBusy "
		"-o json 0.3 3", NULL);
	begin("i915: counters of a set by name");
	ended(r, 0);
	want(records(r) == 12, "%d records", records(r));
	for (int i = 0; i + 3 < records(r); i += 4) {
		double clocks = num(record(r, i), "value"), threads = num(record(r, i + 1), "value");

		want(is(record(r, i + 1), "name", "oa/card0/Basic/VsThreads"), "the names come in another order");
		want(clocks > 0 && threads == 4 * clocks, "%f threads in %f clocks", threads, clocks);
		want(i == 0 || clocks > num(record(r, i - 4), "value"), "the clocks do not go on");
		want(fabs(num(record(r, i + 2), "value") - 0.3e9 * (i / 4 + 1)) < 0.15e9, "GpuTime is %f",
		     num(record(r, i + 2), "value"));
		want(num(record(r, i + 3), "value") == 100, "busy is %f %%", num(record(r, i + 3), "value"));
	}
	want_asked(I915, "opens 1 closes 1 adds 1 removes 1\n");
	close_run(r);
	end();

	r = run("counters GPU?0?vertex* Primitive?count -o json 0.1 1", NULL);
	begin("what no set tells is unknown");
	ended(r, 0);
	for (int i = 0; i < records(r); i++)
		want(!strncmp(json_get(record(r, i), "value").p, "null", 4), "it has a value");
	close_run(r);
	end();
}

static void t_set(void)
{
	struct run *r;
	struct view v;

	tell(I915, "");
	r = run("oa -d card0 --metrics /skl.xml -m Fake -o json 0.4 1", NULL);
	begin("i915: a set that the kernel lacks is added with its registers, and removed in the end");
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

	tell(I915, "set " GUID);
	r = run("oa -d card0 --metrics /skl.xml -m Fake -o json 0.2 1", NULL);
	begin("i915: a set that was there before is used, and stays");
	ended(r, 0);
	want(records(r) == 1, "%d records", records(r));
	want_asked(I915, "opens 1 closes 1 adds 0 removes 0\n");
	want(*text("/sys/class/drm/card0/metrics/" GUID "/id"), "the kernel has it no longer");
	close_run(r);
	end();

	r = run("oa list", NULL);
	begin("oa list names the number that the kernel gave a set");
	ended(r, 0);
	want(strstr(r->text[0], GUID) && strstr(r->text[0], text("/sys/class/drm/card0/metrics/" GUID "/id")), "it does not");
	close_run(r);
	end();

	tell(I915, "pci 0xffff\nset " GUID);
	r = run("oa -d card0 --raw -o A32u40_A4u32_B8_C8 -o json 0.2 1", NULL);
	begin("i915: of a GPU that nobody knows --raw takes a set that the kernel has, and adds none");
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

	tell(I915, "");
	r = run("oa -d card0 --raw --reports --period 3ms -o json 0.5 1", NULL);
	begin("i915: a record for each report, in order, with its clocks and why it was written");
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
			/* cpu_time is made anew of a correlation each second, never in half of one. */
			half += fabs(num(v, "cpu_time") - cpu - 32768 / 0.012) > 2;
		}
		switches += is(v, "reason", "context-switch");
		index = k;
		ts = num(v, "ts");
		cpu = num(v, "cpu_time");
	}
	want(half <= 2, "the CPU's time jumps %f times", half);
	want(fabs(cpu / 1e9 - now()) < 3, "the last report was at %f, and now it is %f", cpu / 1e9, now());
	close_run(r);
	end();
}

/* The exponent, of what was asked for. The open fails, so that nothing has to run. */
static void t_period(void)
{
	static const struct {
		const char *knobs, *args, *want;
	} cases[] = {
		/* 12 MHz: 2^(e + 1) * 83.3 ns */
		{ "",                              "--period 1ms",    " 5=12\n" },	/* 682.7 us */
		{ "",                              "--period 682us",  " 5=11\n" },
		{ "",                              "--period 683us",  " 5=12\n" },
		{ "",                              "--period 100ns",  " 5=0\n" },	/* 166 ns is the shortest */
		{ "",                              "--period 60s",    " 5=28\n" },	/* 44.7 s; then 89 s */
		{ "",                              "--period 30m",    " 5=31\n" },	/* 358 s is the longest */
		{ "",                              "1",               " 5=15\n" },	/* 1/100: 10 ms; 5.46 ms */
		{ "",                              "100",             " 5=19\n" },	/* at most 100 ms; 87 ms */
		{ "",                              "0.00001",         " 5=6\n" },	/* 100000 a second: 10.7 us */
		{ "pci 0x412\noa_hz 12500000\nformats 32", "100",     " 5=16\n" },	/* Haswell: at most 20 ms; 10.5 ms */
		/* Before OA_TIMESTAMP_FREQUENCY; before CS_TIMESTAMP_FREQUENCY: 12 MHz of Skylake */
		{ "perf_revision 5\ncs_hz 24000000", "--period 1ms",  " 5=13\n" },
		{ "perf_revision 0\ncs_hz 0",      "--period 1ms",    " 5=12\n" },
	};

	struct run *r;

	begin("i915: the exponent is the largest whose period is not above the one asked for");
	for (size_t i = 0; i < LEN(cases); i++) {
		char lines[128], args[128];

		snprintf(lines, sizeof lines, "open %d\n%s", ENOMEM, cases[i].knobs);
		snprintf(args, sizeof args, "oa -d card0 --raw -o json %s", cases[i].args);
		tell(I915, lines);
		r = run(args, NULL);
		ended(r, 1);
		want(strstr(asked(I915), cases[i].want), "%s: not \"%.6s\": %s", cases[i].args, cases[i].want, asked(I915));
		drop(r);
	}
	end();

	tell(I915, "");
	r = run("oa -d card0 --raw -v --period 1ms -o json 0.1 1", NULL);
	begin("i915: -v says which period it has become");
	ended(r, 0);
	want_said(r, "682.6 us");
	want_said(r, "exponent 12");
	want_said(r, "RC6");
	want_said(r, "pinned");
	want_said(r, "nobody else");
	close_run(r);
	end();
}

static void nobody_perfmon(void)
{
	enum { PERFMON = 38 };

	capable(PERFMON);
}

static void no_dri(void)
{
	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) || mount("none", "/dev/dri", "tmpfs", 0, ""))
		_exit(126);
}

/* Each error that the reference has for a call: how the program ends, and what it says. */
static void t_errors(void)
{
	static const struct {
		int dev;
		const char *knobs, *args;
		void (*before)(void);
		int status;
		const char *words, *remedy;
	} cases[] = {
		{ I915, "open 524", "",              NULL,   3, "no OA for this GPU", NULL },
		{ I915, "open 19",  "",              NULL,   3, "gone", NULL },
		{ I915, "open 12",  "",              NULL,   1, "no memory", NULL },
		{ I915, "open 22",  "",              NULL,   1, "report format or the metric set", "another metric set" },
		{ I915, "open 5",   "",              NULL,   1, "does not open the stream", NULL },
		{ I915, "open 16",  "",              NULL,   1, "somebody else", "until it has ended" },
		{ I915, "formats 0", "",             NULL,   1, "report format", NULL },
		{ I915, "",         "-o PEC64u64",   NULL,   1, "no such report format", NULL },
		{ I915, "",         "--ctx 7",       NULL,   1, "no such context", "--ctx" },
		{ I915, "",         "--poll-period 10us", NULL, 1, "--poll-period has to be 100us", NULL },
		{ I915, "",         "--engine video", NULL,  1, "no such engine", "--engine" },
		{ I915, "",         "--hold-preemption", NULL, 1, "--hold-preemption is for one context", "--ctx" },
		{ I915, "pci 0x56a0\nformats 0x1c00", "--sseu 1:7:8:8", NULL, 3, "cannot be chosen", "--sseu" },
		{ I915, "perf_revision 2", "--hold-preemption --ctx 1", NULL, 1, "--hold-preemption: this kernel's i915 is at revision 2", NULL },
		{ I915, "perf_revision 3", "--sseu 1:7:8:8", NULL, 1, "came with 4", NULL },
		{ I915, "perf_revision 4", "--poll-period 1ms", NULL, 1, "came with 5", NULL },
		{ I915, "perf_revision 5", "--engine render", NULL, 1, "came with 6", NULL },
		{ I915, "perf_revision 0", "--sseu 1:7:8:8", NULL, 1, "at revision 1", NULL },
		{ I915, "",         "--buffer-size 131072", NULL, 1, "no such thing in i915", NULL },
		{ I915, "add 13",   "",              NULL,   4, "adding a metric set is denied", "perf_stream_paranoid=0" },
		{ I915, "add 22",   "",              NULL,   1, "one of its registers", NULL },
		{ I915, "add 98",   "",              NULL,   1, "has the metric set already", NULL },
		{ I915, "add 524",  "",              NULL,   3, "no OA for this GPU", NULL },
		{ I915, "add 12",   "",              NULL,   1, "does not take the metric set", NULL },
		{ I915, "",         "",              nobody, 4, "is denied", "cap_perfmon" },
		{ I915, "set " GUID, "--metrics /skl.xml -m Fake", nobody, 4, "counting for the whole GPU is denied", "perf_stream_paranoid=0" },
		{ I915, "set " GUID, "--metrics /skl.xml -m Fake --period 1us", nobody, 4, "so many reports", "oa_max_sample_rate" },
		{ I915, "pci 0",    "",              NULL,   3, "does not say which GPU", NULL },
		{ I915, "pci 0xffff\noa_hz 0\ncs_hz 0", "", NULL, 3, "how fast the clock", NULL },
		{ I915, "pci 0xffff", "",            NULL,   2, "no metric set is known for this GPU", "--metrics" },
		{ I915, "pci 0xffff\nset " GUID, "--raw", NULL, 1, "which reports this GPU writes is not known", "-o A32u40" },
		{ I915, "",         "",              no_dri, 1, "no node in /dev/dri", "devtmpfs" },
		{ XE,   "open 19",  "",              NULL,   3, "no OA", NULL },
		{ XE,   "open 22",  "",              NULL,   1, "report format or the metric set", NULL },
		{ XE,   "add 22",   "",              NULL,   1, "one of its registers", NULL },
		{ XE,   "add 98",   "",              NULL,   1, "has the metric set already", NULL },
		{ XE,   "",         "",              nobody, 4, "is denied", "observation_paranoid=0" },
		{ XE,   "set " XE_GUID, "--metrics /lnl.xml -m Fake", nobody, 4, "counting for the whole GPU is denied", "observation_paranoid=0" },
		{ XE,   "",         "--buffer-size 131072", NULL, 1, "--buffer-size: this kernel's xe cannot do it", NULL },
		{ XE,   "",         "--wait-reports 4", NULL, 1, "--wait-reports: this kernel's xe cannot do it", NULL },
		{ XE,   "caps 5",   "--buffer-size 1000", NULL, 1, "a power of two", "--buffer-size" },
		{ XE,   "",         "--poll-period 1ms", NULL, 1, "no such thing in xe", NULL },
		{ XE,   "",         "--sseu 1:7:8:8", NULL,  1, "no such thing in xe", NULL },
		{ XE,   "",         "--oa-unit 5",   NULL,   1, "no OA unit of that number", "--oa-unit" },
		{ XE,   "",         "--engine copy", NULL,   1, "no OA unit counts for that engine", "--engine" },
		{ XE,   "units 0",  "",              NULL,   3, "no OA units", NULL },
		{ XE,   "",         "--ctx 9",       NULL,   1, "no such context", NULL },
	};

	for (size_t i = 0; i < LEN(cases); i++) {
		char args[160], name[256], after[64];
		struct run *r;

		if (cases[i].dev == XE && !has_xe)
			continue;
		tell(cases[i].dev, cases[i].knobs);
		snprintf(args, sizeof args, "oa -d card%d -o json %s 0.1 1", cases[i].dev, cases[i].args);
		snprintf(name, sizeof name, "%s, %s %s%s: exit %d, and why", cases[i].dev == XE ? "xe" : "i915",
			 *cases[i].knobs ? cases[i].knobs : "as it is", cases[i].args,
			 cases[i].before == nobody ? ", unprivileged" : cases[i].before ? ", without nodes" : "",
			 cases[i].status);
		for (char *p = name; *p; p++)
			*p = *p == '\n' ? ' ' : *p;
		r = run(args, cases[i].before);
		begin(name);
		ended(r, cases[i].status);
		want(!records(r), "it printed records");
		want_said(r, cases[i].words);
		if (cases[i].remedy)
			want_said(r, cases[i].remedy);
		/* What was added before the start failed is gone again. */
		snprintf(after, sizeof after, "%s", strstr(asked(cases[i].dev), "adds"));
		want(!strncmp(after, "adds 0 removes 0\n", 17) || !strncmp(after, "adds 1 removes 1\n", 17), "left behind: %.18s", after);
		close_run(r);
		end();
	}
}

static void t_granted(void)
{
	struct run *r;

	tell(I915, "");
	put_file("/proc/sys/dev/i915/oa_max_sample_rate", "1000");
	r = run("oa -d card0 --raw --period 400us -o json 0.1 1", nobody_perfmon);
	begin("i915: with CAP_PERFMON alone, any user may, as often as he wants");
	ended(r, 0);
	want_asked(I915, " 5=11\n");
	want_sums(r, "A", 0, 36);
	close_run(r);
	end();

	tell(I915, "");
	put_file("/proc/sys/dev/i915/perf_stream_paranoid", "0");
	r = run("oa -d card0 --raw -o json 0.05 2", nobody);
	begin("i915: with perf_stream_paranoid=0 everybody may, and what nobody asked for is never too often");
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

	tell(I915, "");
	first = start("oa -d card0 --raw -o json 0.1", NULL);
	nap(0.5);
	r = run("oa -d card0 --raw -o json 0.1 1", NULL);
	begin("i915: whoever else has the OA unit is named");
	ended(r, 1);
	snprintf(words, sizeof words, "process %d (gpustat)", first->pid);
	want_said(r, words);
	close_run(r);
	kill(first->pid, SIGINT);
	finish(first);
	ended(first, 0);
	want(records(first) > 3, "the other one did not go on");
	close_run(first);
	end();
}

/* What the kernel may put between two reports, or instead of one. */
static void t_losses(void)
{
	static const struct {
		int dev;
		const char *name, *events;
		int status;
		const char *words;
		int lost;	/* records that say so */
	} cases[] = {
		{ I915, "a report is lost",                        "event 1 10 0", 0, NULL, 1 },
		{ I915, "the buffer is lost: no sum goes across",  "event 2 10 0", 0, NULL, 1 },
		{ I915, "both, twice",                             "event 1 5 0\nevent 2 5 0\nevent 1 20 0\nevent 2 30 0", 0, NULL, 4 },
		{ I915, "a record of a type to come is skipped",   "event 3 10 77", 0, NULL, 0 },
		{ I915, "a sample that is too small is left out",  "event 4 10 40", 0, "too small", 0 },
		{ I915, "a read that says ENOSPC",                 "event 6 10 0", 1, "larger than any report", 0 },
		{ I915, "a driver that stops the stream",          "event 5 20 5", 1, "stopped the stream", 0 },
		{ I915, "a GPU that is gone",                      "event 5 20 19", 3, "the GPU is gone", 0 },
		{ I915, "a stream that ends",                      "event 7 20 0", 3, "the GPU is gone", 0 },
		{ I915, "an error of no known meaning",            "event 5 20 71", 1, "cannot be read", 0 },
		{ XE,   "reports are lost",                        "event 1 10 1", 0, NULL, 1 },
		{ XE,   "the buffer overflows",                    "event 1 10 2", 0, NULL, 1 },
		{ XE,   "everything overflows",                    "event 1 10 15", 0, NULL, 4 },
		{ XE,   "an error without a status",               "event 1 10 0", 1, "stopped the stream", 0 },
		{ XE,   "a GPU that is gone",                      "event 5 20 19", 3, "the GPU is gone", 0 },
	};

	for (size_t i = 0; i < LEN(cases); i++) {
		const char *letter = cases[i].dev == XE ? "PEC" : "A";
		char name[128], args[96];
		double reports, seen;
		struct run *r;

		if (cases[i].dev == XE && !has_xe)
			continue;
		tell(cases[i].dev, cases[i].events);
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
			want(fabs(reports - seen) < 0.3 * seen, "%f reports, of %f", reports, seen);
		}
		want(strstr(asked(cases[i].dev), "opens 1 closes 1 adds 1 removes 1"), "left behind: %.40s", asked(cases[i].dev));
		close_run(r);
		end();
	}

	tell(I915, "event 2 10 0\nevent 1 15 0");
	struct run *r = run("oa -d card0 --metrics /skl.xml -m Fake --reports -o json --period 6ms 0.3 1", NULL);
	double index = -1;
	bool skipped = false;

	begin("i915: the delta across a lost buffer has no record, and its number is skipped");
	ended(r, 0);
	for each_record(v, r) {
		skipped |= index == 8 && num(v, "index") == 10;
		want(num(v, "index") == index + (index == 8 ? 2 : 1), "record %.0f follows %.0f", num(v, "index"), index);
		want(num(v, "counter/Fortieth") == 22000, "A21 is %f", num(v, "counter/Fortieth"));
		index = num(v, "index");
	}
	want(skipped, "none was skipped");
	want(total(r, "lost") == 2, "lost is %f", total(r, "lost"));
	close_run(r);
	end();

	tell(I915, "");
	r = run("oa -d card0 --raw --period 1us -o json 0.2 2", NULL);
	begin("i915: reports that come faster than they can be read are lost, and the program ends");
	ended(r, 0);
	want(records(r) == 2 && r->took < 60, "%d records in %f s", records(r), r->took);
	want_sums(r, "A", 0, 36);
	close_run(r);
	end();

	tell(I915, "event 4 10 4\nevent 4 20 0");
	r = run("oa -d card0 --raw -o json --period 6ms 0.2 2", NULL);
	begin("i915: records of no length neither stop it nor count");
	want(r->status == 0 || r->status == 1, "exit %d", r->status);
	/* What was behind them in a read is not seen, but the next delta goes across it. */
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

	begin("i915: SIGINT, SIGTERM and SIGHUP end a stream with whole records, exit 0, and no set left behind");
	for (size_t i = 0; i < LEN(signals); i++) {
		struct run *r;

		tell(I915, "");
		r = start(i == 1 ? "oa -d card0 --raw --reports -o json" : "oa -d card0 --raw -o json 0.1", NULL);
		nap(0.7);
		kill(r->pid, signals[i]);
		finish(r);
		ended(r, 0);
		want(records(r) > 2, "signal %d: %d records", signals[i], records(r));
		want(r->took < 2.5, "it went on for %.1f s", r->took);
		want_asked(I915, "opens 1 closes 1 adds 1 removes 1\n");
		close_run(r);
	}
	end();
}

/* The reader of its output goes away. */
static void t_pipe(void)
{
	struct run *r;

	tell(I915, "");
	r = start("oa -d card0 --raw -o json 0.1", NULL);
	nap(0.35);
	close(r->fd[0]);
	r->fd[0] = -1;
	finish(r);
	begin("i915: SIGPIPE ends it silently, and no set is left behind");
	want(r->status == 128 + SIGPIPE && !r->n[1], "exit %d, and it said %zu bytes", r->status, r->n[1]);
	want_asked(I915, "opens 1 closes 1 adds 1 removes 1\n");
	close_run(r);
	end();
}

static void t_recording(void)
{
	static const struct {
		const char *name, *live, *again, *cores;
		int dev;
		double each;	/* A21; PEC39 */
	} cases[] = {
		{ "i915: a recording says what was said live", "oa -d card0 --metrics /skl.xml -m Fake", "oa --metrics /skl.xml", "counter/Eus", I915,
		  22000 },
		{ "xe: a recording says what was said live", "oa -d card1 --metrics /lnl.xml -m Fake", "oa --metrics /lnl.xml", "counter/Cores", XE,
		  40000 },
	};

	for (size_t i = 0; i < LEN(cases); i++) {
		const char *const same[] = { "reports", "ts", "ticks", "lost", "counter/Fortieth", "counter/MaxHz", cases[i].cores };
		char args[160];
		struct run *live, *again;

		if (cases[i].dev == XE && !has_xe)
			continue;
		tell(cases[i].dev, "event 1 10 1");
		snprintf(args, sizeof args, "%s --record /x.rec --period 3ms --totals -o json 1.3 1", cases[i].live);
		live = run(args, NULL);
		snprintf(args, sizeof args, "%s --replay /x.rec --totals -o json", cases[i].again);
		again = run(args, NULL);
		begin(cases[i].name);
		ended(live, 0);
		ended(again, 0);
		want(!again->n[1], "it complains");
		want(records(live) == 1 && records(again) == 1, "%d and %d records", records(live), records(again));
		for (size_t k = 0; k < LEN(same); k++) {
			double a = num(record(live, 0), same[k]), b = num(record(again, 0), same[k]);

			want(a == b, "%s: %f and then %f", same[k], a, b);
		}
		want(num(record(again, 0), "counter/Fortieth") == num(record(again, 0), "reports") * cases[i].each,
		     "it is not what was counted");
		close_run(live);
		close_run(again);
		end();
	}
}

/* Through the third serial line, as "SIZE NAME" and what is in it: oa.sh looks at it outside. */
static void bring_out(const char *name, const char *p, size_t n)
{
	struct termios t;
	int fd = open("/dev/ttyS2", O_WRONLY | O_NOCTTY | O_CLOEXEC);
	ssize_t r = 1;

	want(fd >= 0, "/dev/ttyS2: %s", strerror(errno));
	if (fd < 0)
		return;
	if (!tcgetattr(fd, &t)) {
		cfmakeraw(&t);
		tcsetattr(fd, TCSANOW, &t);
	}
	dprintf(fd, "%zu %s\n", n, name);
	for (; n && r > 0; p += r, n -= r)
		r = write(fd, p, n);
	want(!n, "%s: %s", name, strerror(errno));
	tcdrain(fd);
	close(fd);
}

static void t_outside(void)
{
	static char rec[1 << 20];
	struct run *live;
	ssize_t n, size = 0;
	int fd;

	tell(I915, "event 1 10 0");
	live = run("oa -d card0 --metrics /test.xml -m TestOa --record /out.rec --period 3ms --reports -o json 1.2 1", NULL);
	begin("i915: a recording leaves the machine");
	ended(live, 0);
	want(records(live) > 300, "%d records", records(live));
	fd = open("/out.rec", O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && (n = read(fd, rec + size, sizeof rec - size)) > 0)
		size += n;
	close(fd);
	want(size > 300 * 264, "%zd bytes of recording", size);
	bring_out("test.xml", test_xml, strlen(test_xml));
	bring_out("live.json", live->text[0], live->n[0]);
	bring_out("out.rec", rec, size);
	close_run(live);
	end();
}

static void t_haswell(void)
{
	struct run *r;

	tell(I915, "pci 0x412\noa_hz 12500000\ncs_hz 0\nperf_revision 0\nformats 32\nquery 0");
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

	tell(I915, "query 0");
	r = run("oa -d card0 --metrics /skl.xml -m Fake -o json 0.1 1", NULL);
	begin("i915 before Linux 4.17: how many EUs there are is known without a topology");
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
		{ I915, "", "", "open 3 2=1 3=" },	/* FD_CLOEXEC | FD_NONBLOCK, and nothing that nobody asked for */
		{ XE,   "", "", " 1=0" },
		{ XE,   "", "--oa-unit 1", " 1=1" },
		{ XE,   "", "--engine video", " 1=1" },
		{ XE,   "", "--engine compute", " 1=0" },
		{ XE,   "", "--ctx 1 --hold-preemption", " 9=1 7=1" },
		{ XE,   "caps 13", "--buffer-size 1048576 --wait-reports 3", "13=3 12=1048576" },
		{ XE,   "", "", " 4=65797" },	/* PEC64u64: type 5, select 1, size 1 */
	};

	begin("each property that is asked for reaches the driver");
	for (size_t i = 0; i < LEN(cases); i++) {
		char args[128];
		struct run *r;

		if (cases[i].dev == XE && !has_xe)
			continue;
		tell(cases[i].dev, cases[i].knobs);
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
	struct run *r;
	struct view v;
	double index = -1;

	tell(XE, "");
	r = run("oa -d card1 --raw -o json 0.3 3", NULL);
	begin("xe: three sums of every counter of 64 bits, exact");
	ended(r, 0);
	want(records(r) == 3, "%d records", records(r));
	want_sums(r, "PEC", 0, 64);
	close_run(r);
	end();

	tell(XE, "");
	r = run("oa -d card1 --metrics /lnl.xml -m Fake -o json 0.3 1", NULL);
	begin("xe: a set that the kernel lacks is added with all registers in one list, and removed in the end");
	ended(r, 0);
	v = record(r, 0);
	want(num(v, "counter/Fortieth") == num(v, "reports") * 40000, "PEC39 is %f", num(v, "counter/Fortieth"));
	want(num(v, "counter/Cores") == 8, "cores are %f", num(v, "counter/Cores"));
	want(num(v, "counter/MaxHz") == 2050e6, "MaxHz is %f", num(v, "counter/MaxHz"));
	want_asked(XE, LNL_REGS);
	want_asked(XE, "opens 1 closes 1 adds 1 removes 1\n");
	close_run(r);
	end();

	tell(XE, "set " XE_GUID);
	r = run("oa -d card1 --metrics /lnl.xml -m Fake --reports --period 3ms -o json 0.3 1", NULL);
	begin("xe: bare reports are records in order, of a set that was there and stays");
	ended(r, 0);
	for each_record(w, r) {
		want(num(w, "index") == index + 1, "record %.0f follows %.0f", num(w, "index"), index);
		want(num(w, "counter/Fortieth") == 40000, "PEC39 is %f", num(w, "counter/Fortieth"));
		index = num(w, "index");
	}
	want(index > 100, "%f records", index);
	want_asked(XE, "opens 1 closes 1 adds 0 removes 0\n");
	close_run(r);
	end();

	tell(XE, "reg_read 0");
	r = run("oa -d card1 --raw --reports -o json 0.1 1", NULL);
	begin("xe: without a correlation there is no CPU time, and everything else");
	ended(r, 0);
	for each_record(w, r)
		want(isnan(num(w, "cpu_time")) && num(w, "ts") > 0, "cpu_time is %f", num(w, "cpu_time"));
	want(records(r) > 10, "%d records", records(r));
	close_run(r);
	end();
}

static void t_none(void)
{
	struct run *r = run("oa -d card7 -o json 0.1 1", NULL);

	begin("a device that is not there: exit 3");
	ended(r, 3);
	want(r->n[1], "it said nothing");
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
	t_granted();
	t_taken();
	t_losses();
	t_signals();
	t_pipe();
	t_recording();
	t_outside();
	t_haswell();
	t_props();
	if (has_xe)
		t_xe();
	t_none();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
