/*
 * vcio: a machine with the device nodes of a Raspberry Pi: v3d and vc4 of fake.ko, and /dev/vcio of
 * vciofake.ko, whose firmware is written from its specification. Each errno and each malformed
 * answer makes values unknown, and no request sets anything.
 */
#include "play.h"

enum { D_V3D, D_VC4 };

static const struct dev devs[DEVS] = {
	[D_V3D] = { "v3d:pm",  "card0", "v3d",     "/dev/dri/renderD128" },
	[D_VC4] = { "vc4-drm", "card1", "vc4-drm", "/dev/dri/renderD129" },
};

enum { VIDEO = 44 };

/* ---- the firmware ---- */

static const char *parameter(const char *name)
{
	static char b[128];

	snprintf(b, sizeof b, "/sys/module/vciofake/parameters/%s", name);
	return b;
}

static void set(const char *name, unsigned value)
{
	char b[32];

	snprintf(b, sizeof b, "%u", value);
	must_put(parameter(name), b);
}

static unsigned count_of(const char *name)
{
	return (unsigned)strtoul(text(parameter(name)), NULL, 10);
}

/* ---- values ---- */

static const char *const fields[] = { "freq/v3d/cur", "freq/core/cur", "temp/soc", "volt/core" };

/* known: the number of the fields that have a value, and one for a list of throttle reasons. */
static int known(const struct run *r, int dev)
{
	struct view v = device(r, dev), t = v.p ? json_get(v, "throttle") : v;
	int n = 0;

	for (size_t i = 0; i < LEN(fields); i++)
		n += v.p && !isnan(num(v, fields[i]));
	return n + (t.p && *t.p == '[');
}

enum { ALL = LEN(fields) + 1 };

static void want_known(const struct run *r, int dev, int n)
{
	want(device(r, dev).p, "%s is not listed", devs[dev].dev);
	want(known(r, dev) == n, "%d values of %s, not %d", known(r, dev), devs[dev].dev, n);
}

static bool says(const struct run *r, const char *what)
{
	return strstr(r->text[0], what) || strstr(r->text[1], what);
}

static void t_absent(void)
{
	struct run *r = run("-r -o json -v", NULL), *list = run("list", NULL);

	begin("without /dev/vcio, v3d has no values of the firmware, and no message");
	ended(r, 0);
	want_known(r, D_V3D, 0);
	want(!says(r, "vcio") && !says(list, "vcio"), "a message names it");
	close_run(r);
	close_run(list);
	end();
}

static void t_values(void)
{
	struct run *r;
	struct view v;

	set("throttled", 0x50005);
	r = run("-r -o json -v", NULL);
	v = device(r, D_V3D);
	begin("clocks, temperature, voltage and throttle bits of the firmware are those of v3d");
	ended(r, 0);
	want_known(r, D_V3D, ALL);
	want_known(r, D_VC4, 0);
	want(num(v, "freq/v3d/cur") == 499987808, "v3d's clock is %f", num(v, "freq/v3d/cur"));
	want(num(v, "freq/core/cur") == 500000992, "the core's is %f", num(v, "freq/core/cur"));
	want(num(v, "temp/soc") == 51.608, "temperature %f", num(v, "temp/soc"));
	want(num(v, "volt/core") == 0.863, "voltage %f", num(v, "volt/core"));
	want(says(r, "\"throttle\":[\"undervoltage\",\"throttled\",\"undervoltage-since-boot\",\"throttled-since-boot\"]"),
	     "throttle reasons");
	want(!says(r, "vcio"), "there is a message about /dev/vcio");
	close_run(r);
	end();

	set("throttled", 0);
	r = run("-r -o json", NULL);
	begin("without a throttle bit, the list of reasons is empty, not unknown");
	want(says(r, "\"throttle\":[]"), "it is not");
	close_run(r);
	end();
}

static void video(void)
{
	gid_t group = VIDEO;

	if (setgroups(1, &group) || setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
		_exit(126);
}

static void write_file(const char *path, const char *what)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, what, strlen(what)) < 0)
		die(path);
	close(fd);
}

static void t_users(void)
{
	struct run *r;

	mkdir("/etc", 0755);
	write_file("/etc/group", "root:x:0:\nvideo:x:44:\n");
	write_file("/etc/passwd", "root:x:0:0::/:\nnobody:x:65534:65534::/:\n");
	if (chown("/dev/vcio", 0, VIDEO) || chmod("/dev/vcio", 0660))
		die("/dev/vcio");
	begin("a member of the group video has the values");
	r = run("-r -o json", video);
	ended(r, 0);
	want_known(r, D_V3D, ALL);
	close_run(r);
	end();

	begin("another user has none: list, -v and doctor say why");
	r = run("-r -o json -v", nobody);
	ended(r, 0);
	want_known(r, D_V3D, 0);
	want(says(r, "/dev/vcio: permission denied; the group video may read it"), "-v does not say so");
	close_run(r);
	r = run("list -o json", nobody);
	want(says(r, "/dev/vcio: permission denied; the group video may read it"), "list does not say so");
	close_run(r);
	r = run("doctor", nobody);
	want(says(r, "denied /dev/vcio") && says(r, "usermod -aG video nobody"), "doctor does not say so");
	close_run(r);
	r = run("doctor", video);
	want(says(r, "ok     /dev/vcio"), "doctor refuses it to the group");
	close_run(r);
	end();
}

static void t_errors(void)
{
	char title[128];
	int n = 0;

	snprintf(title, sizeof title, "each errno from 1 to 133 makes the values unknown, and -v says so");
	begin(title);
	for (int e = 1; e <= 133; e++) {
		struct run *r;
		char said[32];

		set("error", (unsigned)e);
		r = run("-r -o json -v", NULL);
		snprintf(said, sizeof said, "(error %d)", e);
		want(r->status == 0 && known(r, D_V3D) == 0 && device(r, D_VC4).p, "errno %d: exit %d, %d values", e, r->status,
		     known(r, D_V3D));
		want(says(r, e == EINVAL ? "volt.core (refused)" : said), "errno %d: %.200s", e, r->text[1]);
		n += test_ok;
		drop(r);
	}
	set("error", 0);
	end();
}

/* A run of several samples during which the firmware fails for a while. */
static void t_while(void)
{
	struct run *r = start("0.2 -c 12 -o json", NULL);
	int first = -1, last = -1, unknown = 0, n = 0;

	begin("values that are unknown for a while are known again");
	nap(0.9);
	set("error", EIO);
	nap(0.6);
	set("error", 0);
	finish(r);
	ended(r, 0);
	for each_record(v, r) {
		if (!is(v, "dev", "card0"))
			continue;
		last = !isnan(num(v, "temp/soc"));
		first = first < 0 ? last : first;
		unknown += !last;
		n++;
	}
	want(n == 12 && first == 1 && last == 1 && unknown >= 2 && unknown < 8, "%d records: %d at first, %d unknown, %d at last", n, first,
	     unknown, last);
	close_run(r);
	end();
}

static void t_malformed(void)
{
	static const struct {
		unsigned at, word;
		int known; /* values that remain */
		const char *what;
	} rows[] = {
		{ 1, 0x80000001, 0, "the response code of an error" },
		{ 1, 0, 0, "no response code" },
		{ 2, 0x00030001, 0, "another tag" },
		{ 3, 0, 0, "a value buffer of no bytes" },
		{ 3, 0xffffffff, 0, "a value buffer of 4 GiB" },
		{ 4, 0, 0, "no response bit" },
		{ 4, 8, 0, "a length without the response bit" },
		{ 4, 0x80000000, 0, "a length of 0" },
		{ 4, 0x80000003, 0, "a length of 3" },
		{ 4, 0x80000004, 1, "a length of 4: enough for the throttle bits only" },
		{ 4, 0xffffffff, ALL, "a longer value than the buffer" },
		{ 5, 9, 1, "the values of another clock" },
		{ 6, 0, 2, "clocks and voltages of 0 do not exist" },
		{ 6, 0xffffffff, 1, "all bits are set" },
	};
	char title[256];

	for (size_t i = 0; i < LEN(rows); i++) {
		struct run *r;

		set("spoil", rows[i].word);
		set("spoil_at", rows[i].at);
		r = run("-r -o json -v", NULL);
		snprintf(title, sizeof title, "a malformed answer: %s", rows[i].what);
		begin(title);
		ended(r, 0);
		want_known(r, D_V3D, rows[i].known);
		want(says(r, "/dev/vcio: no freq.v3d (refused)") == (rows[i].known < ALL), "-v: %.200s", r->text[1]);
		close_run(r);
		end();
	}
	set("spoil_at", 0);
}

static void t_unknown(void)
{
	struct run *r;

	set("unknown", 0x00030047);
	r = run("list -o json", NULL);
	begin("a firmware without measured clocks leaves the other values");
	ended(r, 0);
	want_known(r, D_V3D, ALL - 2);
	want(says(r, "/dev/vcio: no freq.v3d (refused), freq.core (refused)"), "list does not say so");
	close_run(r);
	end();
	set("unknown", 0);

	set("status", 0x80000001);
	r = run("-c 3 0.2 -o json", NULL);
	begin("a firmware that refuses requests: all is unknown");
	ended(r, 0);
	want_known(r, D_V3D, 0);
	close_run(r);
	end();
	set("status", 0x80000000);
}

static void t_commands(void)
{
	struct run *r;

	begin("commands: counters, named fields, and without the sandbox");
	r = run("counters -o json -w 0.1 drm/card0/v3d/freq drm/card0/soc/temp", NULL);
	ended(r, 0);
	want(num(counter(r, "drm/card0/v3d/freq"), "value") == 499987808, "the counter of the clock");
	want(num(counter(r, "drm/card0/soc/temp"), "value") == 51608, "the counter of the temperature");
	close_run(r);
	r = run("-r -o json --no-sandbox", NULL);
	want_known(r, D_V3D, ALL);
	close_run(r);
	r = run("-r -o csv -t none -f temp.soc -H -d card0", NULL);
	want(says(r, "51.608"), "temp.soc");
	close_run(r);
	end();
}

static void t_other_machine(void)
{
	unsigned asked = count_of("requests");
	struct run *r;

	begin("--sys with the files of another machine: its v3d has no values of this one's firmware");
	mkdir("/tree", 0755);
	mkdir("/tree/class", 0755);
	mkdir("/tree/class/drm", 0755);
	mkdir("/tree/class/drm/card0", 0755);
	mkdir("/tree/class/drm/card0/device", 0755);
	write_file("/tree/class/drm/card0/dev", "226:0\n");
	write_file("/tree/class/drm/card0/device/uevent", "DRIVER=v3d\n");
	r = run("--sys /tree -r -o json", NULL);
	ended(r, 0);
	want_known(r, D_V3D, 0);
	want(count_of("requests") == asked, "%u requests", count_of("requests") - asked);
	close_run(r);
	r = run("--sys /sys -r -o json", NULL);
	want_known(r, D_V3D, ALL);
	close_run(r);
	end();
}

/* v3d has been suspended since its start; the firmware answers for it. */
static void t_asleep(void)
{
	struct run *r = run("-r -o json", NULL);

	begin("a device that sleeps has the values of the firmware, and is not woken");
	ended(r, 0);
	want(is(device(r, D_V3D), "state", "suspended"), "it does not sleep");
	want_known(r, D_V3D, ALL);
	want(!atoi(text(sysfile(D_V3D, "resumes"))), "it was woken %s times", text(sysfile(D_V3D, "resumes")));
	close_run(r);
	end();
}

static void t_vc4(void)
{
	struct run *r;

	unplug(D_V3D);
	r = run("-r -o json", NULL);
	begin("without v3d, the values are those of vc4, as on boards before the Raspberry Pi 4");
	ended(r, 0);
	want(!device(r, D_V3D).p, "v3d is still there");
	want_known(r, D_VC4, ALL);
	close_run(r);
	end();
}

static void t_harmless(void)
{
	begin("no request sets or clears anything, and all are well-formed");
	note("%u requests through %u descriptors", count_of("requests"), count_of("opens"));
	want(count_of("requests") > 500, "only %u requests", count_of("requests"));
	want(!count_of("sets"), "%u requests set something", count_of("sets"));
	want(!count_of("malformed"), "%u are malformed", count_of("malformed"));
	end();
}

static int scenarios(void)
{
	load_devs();
	t_absent();
	load("/modules.vcio", "");
	t_values();
	t_users();
	t_errors();
	t_while();
	t_malformed();
	t_unknown();
	t_commands();
	t_other_machine();
	t_asleep();
	t_vc4();
	t_harmless();
	printf("1..%d\n", tests);
	fflush(stdout);
	return failed != 0;
}
