/* descriptions.c - the descriptions of named counters: what they count, the capability that they
 * require, and their unit. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "sources/catalog/catalog.h"

enum { MAX_WHAT = 128 }; /* maximum bytes of a counter's description; longer texts are truncated */

/* The capabilities that a process without root's rights needs to read counters whose vendor and
 * name match these patterns. */
static const struct {
	struct str vendor, name;
	const char *capability;
} rights[] = {
	/* Perf events that count all processes require CAP_PERFMON, unless the sysctl
	 * kernel.perf_event_paranoid permits them to all users: perf_event_open(2). */
	{ STR("*"), STR("perf/*"), "CAP_PERFMON" },
	{ STR("*"), STR("GPU * frames / sec"), "CAP_PERFMON" },
	/* OA units: the sysctls dev.i915.perf_stream_paranoid and dev.xe.observation_paranoid */
	{ STR("*"), STR("oa/*"), "CAP_PERFMON" },
	{ STR("i915"), STR("GPU * processors utilization"), "CAP_PERFMON" },
	{ STR("xe"), STR("GPU * processors utilization"), "CAP_PERFMON" },
	{ STR("i915"), STR("*rimitive count"), "CAP_PERFMON" },
	{ STR("xe"), STR("*rimitive count"), "CAP_PERFMON" },
	/* proc(5): reading /proc/PID/io of the processes of other users */
	{ STR("linux"), STR("File * bytes / sec"), "CAP_SYS_PTRACE" },
	{ STR("linux"), STR("host/file/*"), "CAP_SYS_PTRACE" },
	/* drivers/powercap/powercap_sys.c: only root may read energy_uj (mode 0400) */
	{ STR("linux"), STR("host/energy/*"), "CAP_DAC_READ_SEARCH" },
};

void counter_describe(const struct counter_info *n, struct buf *b)
{
	put_text(b, str_len(n->what) < MAX_WHAT ? n->what :
		 (struct str){ n->what.p, n->what.p + MAX_WHAT });
	if (n->is_signed)
		put_z(b, "; -1 is shown as 0");
	for (size_t i = 0; i < LEN(rights); i++)
		if (glob_match(rights[i].vendor, n->vendor, NULL) &&
		    glob_match(rights[i].name, n->name, NULL)) {
			put_z(b, "; requires ");
			put_z(b, rights[i].capability);
		}
	if (n->unit.p < n->unit.e) {
		put_z(b, " (");
		put_text(b, n->unit);
		put_c(b, ')');
	}
}
