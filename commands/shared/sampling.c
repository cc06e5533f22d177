/* sampling.c - readings of devices and their clients, for all commands that sample them.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "commands/shared/shared.h"
#include "sources/drm/drm.h"
#include "sources/device/device.h"
#include "sys.h"

/* Functions of optional features: NULL if the feature is left out; they are not called then. */
#pragma weak state_load
#pragma weak taskinfos_begin
#pragma weak state_sample
#pragma weak state_save
#pragma weak vcio_reason

/* Saves the last reading in the file of --state for the next run; does nothing without --state.
 * Returns false on errors. A message is printed only if the error differs from that of the previous
 * call. */
bool live_save(void)
{
	static long reported;
	long r;

	if (!opt.state)
		return true;
	r = state_save(opt.state);
	if (r < 0 && r != reported)
		say(opt.state, ": cannot save the state for --state: ",
		    r == -EINVAL ? "it is not a regular file" : error_text(r));
	reported = r;
	return r == 0;
}

static const struct source *const sources[] = {
	&src_sysfs,
#if HAS(vcio)
	&src_vcio,
#endif
	&src_fdinfo
};

static void profiling_denied(const char *dev, long err)
{
	say(dev, ": --enable-profiling: ", error_text(err));
}

void sources_start(void)
{
	u8 was = privilege_raise(MAY_READ | MAY_PTRACE);

	records_alloc();
	if (HAS(procs) && (opt.children || opt.cmd->kind == K_PROCESS))
		taskinfos_begin(opt.cmd->kind == K_PROCESS ? record_shows : NULL, opt.pids,
				opt.children ? opt.npids : 0);
	fdinfo_scope.tasks = opt.cmd->kind != K_DEVICE || opt.state || opt.npids || opt.comm.p ||
		       opt.cgroup.p;
	for (size_t i = 0; i < LEN(sources); i++) {
		sources[i]->start();
		if (opt.profiling && sources[i] == &src_sysfs)
			profiling_start(profiling_denied);
	}
	privilege_lower(was);
}

/* Takes one reading of all devices and their clients. scan: true in a run of several samples: also
 * finds new devices and clients. */
void sources_sample(bool scan)
{
	u8 was = privilege_raise(MAY_READ | MAY_PTRACE);

	if (scan)
		registry.dropped = registry.transient = 0;
	for (size_t i = 0; i < LEN(sources); i++) {
		if (scan)
			sources[i]->scan();
		if (scan && opt.profiling && sources[i] == &src_sysfs)
			profiling_start(profiling_denied); /* of new devices */
		sources[i]->sample();
	}
	privilege_lower(was);
}

/* Loads from the file of --state the reading that the last run has saved, so that the first sample
 * of this run has rates since then. Returns the age of that reading in ns; -1 if there is none. */
i64 since_last_run(void)
{
	const char *why;
	i64 age;

	if (!opt.state)
		return -1;
	why = state_load(opt.state, opt.npids || opt.comm.p || opt.cgroup.p, &age);
	if (why)
		say(opt.state, ": the --state file is ignored: ", why);
	return why ? -1 : age;
}

/* Takes the readings for a command that prints one sample. Its rates are averages since the last
 * run (--state), else over a window of time. Returns an exit code; or -1 on success: the devices
 * are selected and sorted, and the sums of their clients are computed. */
int live_measure(struct recopts *ro)
{
	i64 was, now;

	if (!open_roots(true))
		return EX_FAIL;
	sources_start();
	was = sys_now(CLOCK_MONOTONIC);
	choose_devices();
	if (norder == 0)
		return EX_NODEVICE;
	ro->dt_us = since_last_run();
	if (ro->dt_us < 0) {
		if (!sleep_until(was + opt.window))
			return EX_OK;
		sources_sample(false);
		if (opt.state)
			state_sample();
		now = sys_now(CLOCK_MONOTONIC);
		ro->dt_us = now - was;
	}
	ro->dt_us /= 1000;
	ro->time_us = sample_time();
	choose_devices();
	hide_clients();
	reg_sum_clients(false, true);
	return -1;
}

void say_unreadable(void)
{
	if (registry.unreadable)
		say_number(registry.unreadable,
			   " processes of other users cannot be read; run as root, "
			   "or: setcap cap_sys_ptrace+ep gpustat");
}

/* Prints, for each device of NVIDIA's driver, why its utilisation could not be read from the
 * driver. */
static void say_nvidia(void)
{
	bool denied;

	for (u32 i = NONE; (i = device_next(i, false)) != NONE;) {
		const char *why = nvidia_asked(i) ? nvidia_reason(i, &denied) : NULL;

		if (why)
			say(devices[i].dev, ": ", why);
	}
}

/* Reports how many processes could not be read, with the command that fixes it, and why a device
 * lacks values. */
void say_unread(void)
{
	say_unreadable();
	if (proc_hidden_reason())
		say_z(proc_hidden_reason());
	if (HAS(vcio) && vcio_reason())
		say_z(vcio_reason());
	if (HAS(nvidia))
		say_nvidia();
}
