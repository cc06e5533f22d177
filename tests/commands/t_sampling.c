/* t_sampling.c - unit test of commands/shared/sampling.c: the order of the sources, which values
 * of processes are read, --state, and messages about missing values. SPDX-License-Identifier:
 * MIT */
#include "sys.h"
#include "unit.h"
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/sampling.c"
#include "said.h"

static const struct cmd live = { .kind = K_DEVICE, .with = WITH_LIVE },
			procs = { .kind = K_PROCESS, .with = WITH_LIVE };
struct opts opt = { .cmd = &live };
u32 *order;
size_t norder;
struct fdinfo_scope fdinfo_scope;

static char steps[256];
static void step(const char *name) { strncat(steps, name, sizeof(steps) - strlen(steps) - 1); }

#define SOURCE(id) \
	static void id##_start(void) { step(#id "+ "); } \
	static void id##_sample(void) { step(#id " "); } \
	static void id##_scan(void) { step(#id "? "); } \
	const struct source src_##id = { .name = #id, .start = id##_start, \
					 .sample = id##_sample, .scan = id##_scan };
SOURCE(sysfs)
SOURCE(vcio)
SOURCE(fdinfo)

static bool (*task_shows)(u8);
static size_t ntasks;
static long save_result;
static const char *load_result, *hidden, *no_vcio;
static bool filtered, roots_open_well = true, sleeps = true, no_pids;

void records_alloc(void) { step("records "); }
void profiling_start(void (*denied)(const char *, long)) { step("profiling "); denied("card0", -EACCES); }
void state_sample(void) { step("state "); }
long state_save(const char *path) { return path ? save_result : -EFAULT; }
bool open_roots(bool needed) { return needed && roots_open_well; }
bool sleep_until(i64 t) { step(t ? "sleep " : ""); return sleeps; }
i64 sample_time(void) { return 77; }
void choose_devices(void) { step("choose "); norder = 1 - no_pids; }
void hide_clients(void) { step("hide "); }
const char *proc_hidden_reason(void) { return hidden; }
const char *vcio_reason(void) { return no_vcio; }
bool nvidia_asked(u32 device) { return device == 2; }

const char *state_load(const char *path, bool some, i64 *age)
{
	filtered = some && path;
	*age = 5000000000;
	return load_result;
}

void taskinfos_begin(bool (*shows)(u8), const u32 *pids, size_t n)
{
	task_shows = shows;
	ntasks = pids ? n : 0;
	step("tasks ");
}

const char *nvidia_reason(u32 device, bool *denied)
{
	*denied = false;
	return device == 2 ? "reason" : NULL;
}

/* Returns the steps since the last call. */
static struct str taken(void)
{
	static char text[256];

	strcpy(text, steps);
	steps[0] = '\0';
	return str_z(text);
}

static void t_start(void)
{
	sources_start();
	check_str(taken(), "records sysfs+ vcio+ fdinfo+ ",
	          "start: devices come before their clients");
	check(!fdinfo_scope.tasks, "start: records of devices need no names of processes");
	opt.npids = 1;
	sources_start();
	check(fdinfo_scope.tasks, "start: a filter by pid needs names of processes");
	opt.npids = 0;
	opt.comm = LIT("x");
	sources_start();
	check(fdinfo_scope.tasks, "start: a filter by name needs names of processes");
	opt.comm = (struct str){ 0 };
	taken();
	opt.cmd = &procs;
	sources_start();
	check(fdinfo_scope.tasks && task_shows == record_shows && ntasks == 0,
	      "start: records of processes need names of processes");
	check_str(taken(), "records tasks sysfs+ vcio+ fdinfo+ ",
	          "start: records of processes need the facts of processes");
	opt.cmd = &live;
	opt.children = true;
	opt.npids = 1;
	sources_start();
	check(!task_shows && ntasks == 1,
	      "start: --children needs the tree of processes, without their facts");
	opt.children = false;
	opt.npids = 0;
	opt.profiling = true;
	taken();
	sources_start();
	check_str(taken(), "records sysfs+ profiling vcio+ fdinfo+ ",
	          "start: profiling starts before clients are read");
	check(is_said("card0: --enable-profiling: error\n"),
	      "start: a denied --enable-profiling is reported");
}

static void t_sample(void)
{
	registry.dropped = registry.transient = 7;
	sources_sample(false);
	check_str(taken(), "sysfs vcio fdinfo ", "sample: the order of the sources");
	check(registry.dropped == 7, "sample: dropped values of all sources are added up");
	sources_sample(true);
	check_str(taken(), "sysfs? profiling sysfs vcio? vcio fdinfo? fdinfo ",
	          "sample with a scan: the order of the sources");
	check(registry.dropped == 0 && registry.transient == 0,
	      "sample with a scan: dropped values are counted from 0");
	opt.profiling = false;
	said.n = 0;
}

static void t_state(void)
{
	check(since_last_run() == -1 && live_save(), "state: without --state there is no last run");
	opt.state = "file";
	check(since_last_run() == 5000000000 && !filtered,
	      "state: the age of the last reading is returned");
	opt.npids = 1;
	check(since_last_run() == 5000000000 && filtered,
	      "state: the age with a filter is that of the filtered reading");
	opt.npids = 0;
	load_result = "damaged";
	check(since_last_run() == -1 && is_said("file: the --state file is ignored: damaged\n"),
	      "state: a file that is not used is reported");
	save_result = -ENOSPC;
	check(!live_save() && is_said("file: cannot save the state for --state: error\n"),
	      "state: a file that cannot be written is reported");
	check(!live_save() && is_said(NULL), "state: the same error is reported once");
	save_result = -EINVAL;
	check(!live_save() && is_said("file: cannot save the state for --state: it is not a regular file\n"),
	      "state: another error is reported");
	save_result = 0;
	check(live_save(), "state: a file that can be written is saved");
	save_result = -EINVAL;
	check(!live_save() && is_said("it is not a regular file"),
	      "state: an error that occurs again after a success is reported");
	opt.state = NULL;
	load_result = NULL;
}

static void t_measure(void)
{
	struct recopts ro = { 0 };

	taken();
	roots_open_well = false;
	check(live_measure(&ro) == EX_FAIL, "measure: without /proc it fails");
	roots_open_well = true;
	check(live_measure(&ro) == -1 && ro.dt_us >= 0 && ro.time_us == 77,
	      "measure: two readings over a window");
	check_str(taken(), "records sysfs+ vcio+ fdinfo+ choose sleep sysfs vcio fdinfo choose hide ",
		  "measure: order of the sources over a window");
	opt.state = "file";
	check(live_measure(&ro) == -1 && ro.dt_us == 5000000,
	      "measure: the interval is the time since the last run");
	check_str(taken(), "records sysfs+ vcio+ fdinfo+ choose choose hide ",
	          "measure: after a last run, one reading is enough");
	load_result = "old";
	check(live_measure(&ro) == -1, "measure: two readings if the state cannot be used");
	check_str(taken(), "records sysfs+ vcio+ fdinfo+ choose sleep sysfs vcio fdinfo state choose hide ",
		  "measure: order of the sources if the state cannot be used");
	opt.state = NULL;
	sleeps = false;
	check(live_measure(&ro) == EX_OK, "measure: a signal ends it");
	no_pids = true;
	check(live_measure(&ro) == EX_NODEVICE, "measure: without a device, exit code 3");
	said.n = 0;
}

static void t_unread(void)
{
	u32 n = device_add();

	str_copy(devices[n].dev, 32, LIT("card0"));
	say_unread();
	check(is_said(NULL), "missing values: no message if all values were read");
	n = device_add();
	str_copy(devices[n].dev, 32, LIT("card1"));
	registry.unreadable = 3;
	hidden = "hidepid";
	no_vcio = "no firmware";
	say_unread();
	check_str(str_of(said.p, said.n), "3 processes of other users cannot be read; run as root, "
		  "or: setcap cap_sys_ptrace+ep gpustat\nhidepid\nno firmware\ncard1: reason\n",
	          "missing values: a message with all reasons");
}

int main(void)
{
	t_start();
	t_sample();
	t_state();
	t_measure();
	t_unread();
	return unit_end();
}
