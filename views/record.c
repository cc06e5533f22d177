/* record.c - the schema: which fields the record of a device, a client, a cgroup or a dump has, in which
 * order, and how the registry fills them. Pure. SPDX-License-Identifier: MIT */
#include "built.h"
#include "gpustat.h"

const struct unitinfo units[UNITS] = {
	[U_NONE] = { "", 0 },       [U_PERCENT] = { "%", 3 },  [U_BYTES] = { "bytes", 0 },
	[U_HZ] = { "Hz", 0 },       [U_NS] = { "ns", 0 },      [U_CELSIUS] = { "C", 3 },
	[U_WATT] = { "W", 6 },      [U_JOULE] = { "J", 6 },    [U_VOLT] = { "V", 3 },
	[U_AMPERE] = { "A", 3 },    [U_RPM] = { "rpm", 0 },    [U_GTS] = { "GT/s", 1 },
	[U_SECONDS] = { "s", 6 },  [U_MS] = { "s", 3 },      [U_NANO] = { "s", 9 },
	[U_MICRO] = { "", 6 },     [U_SHARE] = { "%", 0 },     [U_RATE] = { "bytes/s", 0 },
	[U_CENTI] = { "1/100", 0 },
	[U_MILLIC] = { "mC", 0 },  [U_MICROJ] = { "uJ", 0 },   [U_MICROW] = { "uW", 0 },
	[U_MILLIV] = { "mV", 0 },  [U_MILLIA] = { "mA", 0 },
};

/* What fills a column that is not simply a counter. */
enum label {
	L_SCHEMA = D_COUNT, L_KIND, L_SUMMARY, L_TIME, L_DT, L_FILE, L_DEV, L_DRIVER, L_PDEV, L_CLIENT, L_NAME,
	L_PID, L_COMM, L_PIDS, L_CGROUP, L_CONTAINER, L_STATE, L_NODES, L_CLIENTS, L_UNREADABLE,
	L_DROPPED, L_SKIPPED, L_BUSY, L_IDLE, L_USED, L_OTHER, L_FACTS, L_MISSING, L_ENGINE_BUSY, L_ENGINE_UTIL,
	L_ENGINE_FREQ, L_FREQ_AVG,
	L_EVENT, L_SET, L_SET_ID, L_CPU, L_CORE, L_SOCKET, L_TID, L_VALUE, L_UNIT, L_RUNNING, L_REASON, L_DEVIATION, L_REPEATS,
	L_RUNS, L_ACTIVE, L_TIMEOUT, L_CPUS, L_COUNT, L_ENABLED, L_RUNTIME,
	L_MODE, L_IP, L_ADDR, L_SYMBOL, L_MODULE, L_PERIOD, L_LOST, L_VALUES, L_CHAIN, L_BY, L_SAMPLES, L_PERCENT,
	L_INDEX, L_CTX, L_TS, L_CPU_TIME, L_TICKS, L_OA_FREQ, L_REPORTS, L_ID, L_UNSLICE, L_SLICE, L_OA_COUNTERS,
	L_VENDOR, L_MIN, L_MAX, L_SCALE, L_WHAT, L_COUNTERS, L_SOURCE, L_STATUS, L_OK, L_DETAIL, L_REMEDY,
};

#define ALL   (W_DEVICE | W_CLIENT | W_CGROUP | W_FDINFO)
#define EVERY (ALL | W_EVENT | W_SAMPLE | W_PROFILE | W_OA | W_COUNTER | W_COUNTERS | W_SOURCE)
#define LIVES (W_DEVICE | W_CLIENT | W_CGROUP)
#define BOTH  (W_LIVE | W_RAW)

/* In the order of the record. The columns of one group stand together. */
const struct column columns[] = {
	{ NULL, "schema", S_SCALAR, U_NONE, L_SCHEMA, EVERY | BOTH | W_META, "1; raised if a key must change" },
	{ NULL, "kind", S_SCALAR, U_NONE, L_KIND, EVERY | BOTH | W_ID | W_ASKED, "device, client, cgroup, fdinfo, event, sample, profile, oa, counter or source" },
	{ NULL, "summary", S_SCALAR, U_NONE, L_SUMMARY, LIVES | W_LIVE | W_SPARSE | W_META | W_LABEL, "min, avg or max of the run (-S)" },
	{ NULL, "file", S_SCALAR, U_NONE, L_FILE, W_FDINFO | BOTH | W_TABLE | W_LABEL, "the dump" },
	{ NULL, "time", S_SCALAR, U_SECONDS, L_TIME, LIVES | W_EVENT | W_SAMPLE | W_OA | W_COUNTER | W_COUNTERS | BOTH | W_ID | W_TABLE | W_ASKED, "when, see -t" },
	{ NULL, "dt", S_SCALAR, U_SECONDS, L_DT, LIVES | W_EVENT | W_OA | W_COUNTER | W_COUNTERS | BOTH | W_ID | W_ASKED, "the interval that rates are made over" },
#if HAS(named)
	{ NULL, "index", S_SCALAR, U_NONE, L_INDEX, W_COUNTER | W_LIST | W_TABLE, "in the list, as in C" },
	{ NULL, "vendor", S_SCALAR, U_NONE, L_VENDOR, W_COUNTER | BOTH | W_TABLE | W_LABEL, "who tells it: linux, a driver, another program" },
	{ NULL, "name", S_SCALAR, U_NONE, L_NAME, W_COUNTER | BOTH | W_TABLE | W_ID | W_LABEL, "the counter, as in C" },
	{ NULL, "value", S_SCALAR, U_NONE, L_VALUE, W_COUNTER | BOTH | W_TABLE, "a whole number, as in C" },
	{ NULL, "unit", S_SCALAR, U_NONE, L_UNIT, W_COUNTER | BOTH | W_TABLE | W_LABEL, "of the value; nothing for a number" },
	{ NULL, "min", S_SCALAR, U_NONE, L_MIN, W_COUNTER | W_LIST | W_TABLE, "least value" },
	{ NULL, "max", S_SCALAR, U_NONE, L_MAX, W_COUNTER | W_LIST | W_TABLE, "highest value; null where there is no limit" },
	{ NULL, "scale", S_SCALAR, U_NONE, L_SCALE, W_COUNTER | W_LIST | W_TABLE, "times a value: 0 to 100; null where there is no limit" },
	{ NULL, "description", S_SCALAR, U_NONE, L_WHAT, W_COUNTER | W_LIST | W_TABLE, "what it is, with the unit" },
	{ "counter", NULL, S_INST, U_NONE, L_COUNTERS, W_COUNTERS | BOTH, "each counter" },
#endif
#if HAS(oa)
	{ NULL, "dev", S_SCALAR, U_NONE, L_DEV, W_OA | BOTH | W_ID | W_LABEL, "the GPU's primary node, else its render node" },
	{ NULL, "set", S_SCALAR, U_NONE, L_SET, W_OA | BOTH | W_LABEL, "metric set" },
	{ NULL, "index", S_SCALAR, U_NONE, L_INDEX, W_OA | BOTH | W_TABLE, "of the report, or of the sum" },
	{ NULL, "reason", S_SCALAR, U_NONE, L_REASON, W_OA | BOTH | W_TABLE, "why the report was written; of no sum" },
	{ NULL, "ctx", S_SCALAR, U_NONE, L_CTX, W_OA | BOTH | W_TABLE | W_LABEL, "the hardware's number of the context" },
	{ NULL, "ts", S_SCALAR, U_NONE, L_TS, W_OA | BOTH, "the report's timestamp; of a sum that of its first" },
	{ NULL, "cpu_time", S_SCALAR, U_NS, L_CPU_TIME, W_OA | BOTH, "the same on the CPU's clock" },
	{ NULL, "ticks", S_SCALAR, U_NONE, L_TICKS, W_OA | BOTH | W_TABLE, "GPU clocks until the next report" },
	{ NULL, "freq", S_SCALAR, U_HZ, L_OA_FREQ, W_OA | BOTH | W_TABLE, "their mean frequency" },
	{ NULL, "lost", S_SCALAR, U_NONE, L_LOST, W_OA | BOTH | W_TABLE, "records of lost reports since the record before" },
	{ NULL, "reports", S_SCALAR, U_NONE, L_REPORTS, W_OA | BOTH, "deltas from report to report that are in it" },
	{ NULL, "id", S_SCALAR, U_NONE, L_ID, W_OA | W_RAW, "the report's first word" },
	{ "clock", "unslice", S_MEMBER, U_HZ, L_UNSLICE, W_OA | W_RAW, "clock of what stands outside the slices" },
	{ "clock", "slice", S_MEMBER, U_HZ, L_SLICE, W_OA | W_RAW, "clock of the slices" },
	{ "counter", NULL, S_INST, U_NONE, L_OA_COUNTERS, W_OA | BOTH | W_TABLE, "each counter; with --raw those of the report" },
#endif
#if HAS(perf)
	{ NULL, "event", S_SCALAR, U_NONE, L_EVENT, W_EVENT | W_SAMPLE | BOTH | W_TABLE | W_ID | W_LABEL, "the event, as it was named" },
	{ NULL, "set", S_SCALAR, U_NONE, L_SET, W_EVENT | BOTH | W_TABLE | W_ID | W_LABEL, "its event set (--set)" },
	{ NULL, "set_id", S_SCALAR, U_NONE, L_SET_ID, W_EVENT | BOTH | W_ID | W_SPARSE | W_LABEL, "that set's number" },
	{ NULL, "cpu", S_SCALAR, U_NONE, L_CPU, W_EVENT | BOTH | W_TABLE | W_ID | W_LABEL, "the CPU, where they are kept apart" },
	{ NULL, "cpu", S_SCALAR, U_NONE, L_CPU, W_SAMPLE | BOTH | W_TABLE | W_ID | W_ASKED, "the CPU" },
	{ NULL, "core", S_SCALAR, U_NONE, L_CORE, W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, "the core, with --per-core" },
	{ NULL, "socket", S_SCALAR, U_NONE, L_SOCKET, W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, "the package, with --per-core and --per-socket" },
	{ NULL, "pid", S_SCALAR, U_NONE, L_PID, W_EVENT | BOTH | W_ID | W_LABEL, "the process, where threads are kept apart" },
	{ NULL, "pid", S_SCALAR, U_NONE, L_PID, W_SAMPLE | BOTH | W_ID | W_ASKED, "the process" },
	{ NULL, "tid", S_SCALAR, U_NONE, L_TID, W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, "the thread, with --per-thread" },
	{ NULL, "tid", S_SCALAR, U_NONE, L_TID, W_SAMPLE | BOTH | W_TABLE | W_ASKED, "the thread" },
	{ NULL, "comm", S_SCALAR, U_NONE, L_COMM, W_EVENT | BOTH | W_ID | W_SPARSE | W_LABEL, "its name" },
	{ NULL, "comm", S_SCALAR, U_NONE, L_COMM, W_SAMPLE | BOTH | W_ID | W_LABEL, "its name" },
	{ NULL, "mode", S_SCALAR, U_NONE, L_MODE, W_SAMPLE | BOTH | W_TABLE | W_LABEL, "user, kernel, hypervisor, guest-user or guest-kernel" },
	{ NULL, "by", S_SCALAR, U_NONE, L_BY, W_PROFILE | BOTH | W_TABLE | W_LABEL, "comm, symbol or ip" },
	{ NULL, "name", S_SCALAR, U_NONE, L_NAME, W_PROFILE | BOTH | W_TABLE | W_LABEL, "of the program or of the symbol" },
	{ NULL, "ip", S_SCALAR, U_NONE, L_IP, W_SAMPLE | BOTH | W_TABLE | W_ASKED, "address of the instruction" },
	{ NULL, "ip", S_SCALAR, U_NONE, L_IP, W_PROFILE | BOTH | W_TABLE | W_LABEL, "address of the instruction" },
	{ NULL, "addr", S_SCALAR, U_NONE, L_ADDR, W_SAMPLE | BOTH | W_TABLE | W_ASKED, "address of the data, where the event has one" },
	{ NULL, "symbol", S_SCALAR, U_NONE, L_SYMBOL, W_SAMPLE | BOTH | W_TABLE | W_LABEL, "function, and how far into it" },
	{ NULL, "module", S_SCALAR, U_NONE, L_MODULE, W_SAMPLE | BOTH | W_TABLE | W_ASKED, "file that the code is from" },
	{ NULL, "module", S_SCALAR, U_NONE, L_MODULE, W_PROFILE | BOTH | W_TABLE | W_LABEL, "file that the code is from" },
	{ NULL, "period", S_SCALAR, U_NONE, L_PERIOD, W_SAMPLE | BOTH | W_TABLE | W_TOTAL, "counts that it stands for" },
	{ NULL, "period", S_SCALAR, U_NONE, L_PERIOD, W_PROFILE | BOTH | W_TABLE, "counts that it stands for" },
	{ NULL, "samples", S_SCALAR, U_NONE, L_SAMPLES, W_PROFILE | BOTH | W_TABLE, "how many" },
	{ NULL, "percent", S_SCALAR, U_PERCENT, L_PERCENT, W_PROFILE | BOTH | W_TABLE, "of all periods" },
	{ NULL, "lost", S_SCALAR, U_NONE, L_LOST, W_SAMPLE | BOTH | W_SPARSE | W_TOTAL, "samples before it that found no room" },
	{ "group", NULL, S_INST, U_NONE, L_VALUES, W_SAMPLE | BOTH | W_SPARSE | W_ASKED, "counts of its group since the start, with :S; since the last sample with --reset-on-overflow" },
	{ "callchain", NULL, S_LIST, U_NONE, L_CHAIN, W_SAMPLE | BOTH | W_ASKED, "who called, innermost first, with -g" },
	{ NULL, "cgroup", S_SCALAR, U_NONE, L_CGROUP, W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, "the cgroup, with -G" },
#endif
#if HAS(doctor)
	{ NULL, "source", S_SCALAR, U_NONE, L_SOURCE, W_SOURCE | BOTH | W_TABLE | W_ID | W_LABEL, "where numbers come from" },
	{ NULL, "status", S_SCALAR, U_NONE, L_STATUS, W_SOURCE | BOTH | W_TABLE, "ok, denied or absent" },
	{ NULL, "ok", S_SCALAR, U_NONE, L_OK, W_SOURCE | BOTH, "1 where it can be read, 0 where that is denied" },
	{ NULL, "detail", S_SCALAR, U_NONE, L_DETAIL, W_SOURCE | BOTH | W_TABLE, "how much of it, or why" },
	{ NULL, "remedy", S_SCALAR, U_NONE, L_REMEDY, W_SOURCE | BOTH | W_TABLE, "the command that would mend it" },
#endif
#if HAS(stat)
	{ NULL, "value", S_SCALAR, U_NONE, L_VALUE, W_EVENT | BOTH | W_TABLE, "scaled to the whole time where counters were shared" },
	{ NULL, "unit", S_SCALAR, U_NONE, L_UNIT, W_EVENT | BOTH | W_TABLE | W_LABEL, "of the value; nothing for a count" },
	{ NULL, "running", S_SCALAR, U_PERCENT, L_RUNNING, W_EVENT | BOTH | W_TABLE, "of the time that it was enabled" },
	{ NULL, "reason", S_SCALAR, U_NONE, L_REASON, W_EVENT | BOTH | W_TABLE, "why there is no value" },
	{ NULL, "deviation", S_SCALAR, U_PERCENT, L_DEVIATION, W_EVENT | BOTH | W_SPARSE, "standard error of the mean, with -r" },
	{ NULL, "repeats", S_SCALAR, U_NONE, L_REPEATS, W_EVENT | BOTH | W_SPARSE, "runs of the command that value is the mean of" },
	{ NULL, "cpus", S_SCALAR, U_NONE, L_CPUS, W_EVENT | W_RAW, "counts that it is the sum of: of CPUs, PMUs or tasks" },
	{ NULL, "runs", S_SCALAR, U_NONE, L_RUNS, W_EVENT | BOTH | W_SPARSE, "turns of its set" },
	{ NULL, "active", S_SCALAR, U_NANO, L_ACTIVE, W_EVENT | BOTH | W_SPARSE, "how long these were, in all" },
	{ NULL, "timeout", S_SCALAR, U_NANO, L_TIMEOUT, W_EVENT | BOTH | W_SPARSE, "how long a turn is, as the timer can do it" },
	{ NULL, "count", S_SCALAR, U_NONE, L_COUNT, W_EVENT | W_RAW, "as counted: neither scaled nor in a unit" },
	{ NULL, "enabled", S_SCALAR, U_NS, L_ENABLED, W_EVENT | W_RAW, "time enabled, of all its CPUs and tasks" },
	{ NULL, "runtime", S_SCALAR, U_NS, L_RUNTIME, W_EVENT | W_RAW, "time counted, of all its CPUs and tasks" },
#endif
	{ NULL, "dev", S_SCALAR, U_NONE, L_DEV, LIVES | BOTH | W_TABLE | W_ID | W_LABEL, "its primary node, else its render node, else accelN" },
	{ NULL, "driver", S_SCALAR, U_NONE, L_DRIVER, W_DEVICE | W_CLIENT | W_FDINFO | BOTH | W_TABLE | W_ID, "kernel driver" },
	{ NULL, "pdev", S_SCALAR, U_NONE, L_PDEV, W_DEVICE | W_CLIENT | W_FDINFO | BOTH | W_ID, "PCI slot" },
	{ NULL, "client", S_SCALAR, U_NONE, L_CLIENT, W_CLIENT | W_FDINFO | BOTH | W_TABLE | W_ID | W_LABEL, "drm-client-id" },
	{ NULL, "name", S_SCALAR, U_NONE, L_NAME, W_DEVICE | W_CLIENT | W_FDINFO | BOTH, "the device's model, the client's own name" },
	{ NULL, "pid", S_SCALAR, U_NONE, L_PID, W_CLIENT | BOTH | W_TABLE | W_ID | W_LABEL, "its oldest holder" },
	{ NULL, "comm", S_SCALAR, U_NONE, L_COMM, W_CLIENT | BOTH | W_TABLE | W_ID | W_LABEL, "that process' name" },
	{ "pids", NULL, S_LIST, U_NONE, L_PIDS, W_CLIENT | BOTH | W_ASKED, "all processes that hold it" },
	{ NULL, "cgroup", S_SCALAR, U_NONE, L_CGROUP, W_CLIENT | BOTH | W_ID, "path in the cgroup tree" },
	{ NULL, "cgroup", S_SCALAR, U_NONE, L_CGROUP, W_CGROUP | BOTH | W_ID | W_LABEL, "path in the cgroup tree" },
	{ NULL, "container", S_SCALAR, U_NONE, L_CONTAINER, W_CLIENT | W_CGROUP | BOTH, "container id that the path shows" },
	{ NULL, "state", S_SCALAR, U_NONE, L_STATE, W_DEVICE | BOTH | W_TABLE, "power/runtime_status" },
	{ "nodes", NULL, S_LIST, U_NONE, L_NODES, W_DEVICE | W_LIST, "its device nodes" },
	{ NULL, "clients", S_SCALAR, U_NONE, L_CLIENTS, W_DEVICE | W_CGROUP | BOTH | W_TABLE, "DRM clients" },
	{ NULL, "unreadable", S_SCALAR, U_NONE, L_UNREADABLE, W_DEVICE | BOTH | W_RUN, "processes that may not be read" },
	{ NULL, "dropped", S_SCALAR, U_NONE, L_DROPPED, W_DEVICE | BOTH | W_RUN, "clients, engines, regions beyond the tables" },
	{ NULL, "busy", S_SCALAR, U_PERCENT, L_BUSY, W_DEVICE | BOTH | W_TABLE, "the kernel's figure for the whole device" },
	{ NULL, "idle", S_SCALAR, U_PERCENT, L_IDLE, W_DEVICE | BOTH, "time in the deepest sleep (rc6, gtidle)" },

	{ NULL, "used", S_SCALAR, U_BYTES, L_USED, ALL | BOTH | W_SPARSE, "memory in use: video memory if it has any; all on APUs" },

	{ "engine", "busy", S_BOTH, U_PERCENT, L_ENGINE_BUSY, LIVES | W_LIVE | W_TABLE, "busy time, of the engine's capacity" },
	{ "engine", "busy", S_BOTH, U_PERCENT, D_BUSY_PCT, ALL | W_RAW | W_SPARSE, "amdgpu before 5.19" },
	{ "engine", "busy_ns", S_BOTH, U_NS, D_BUSY_NS, ALL | W_RAW | W_SPARSE | W_TOTAL, "busy time since the start" },
	{ "engine", "cycles", S_BOTH, U_NONE, D_CYCLES, ALL | W_RAW | W_SPARSE | W_TOTAL, "busy cycles since the start" },
	{ "engine", "total_cycles", S_BOTH, U_NONE, D_TOTAL_CYCLES, ALL | W_RAW | W_SPARSE | W_TOTAL, "all cycles since the start" },
	{ "engine", "capacity", S_BOTH, U_NONE, D_CAPACITY, ALL | BOTH, "engines of this kind" },
	{ "engine", "util", S_BOTH, U_PERCENT, L_ENGINE_UTIL, LIVES | W_LIVE, "cycles, of those at the highest frequency" },
	{ "engine", "freq", S_BOTH, U_HZ, L_ENGINE_FREQ, LIVES | W_LIVE, "mean clock while busy" },
	{ "engine", "maxfreq", S_BOTH, U_HZ, D_MAXFREQ, ALL | BOTH | W_SPARSE, "highest clock" },
	{ "engine", "curfreq", S_BOTH, U_HZ, D_CURFREQ, ALL | BOTH | W_SPARSE, "present clock" },

	{ "memory", "total", S_BOTH, U_BYTES, D_TOTAL, ALL | BOTH, "all buffers" },
	{ "memory", "shared", S_BOTH, U_BYTES, D_SHARED, ALL | BOTH, "of these shared with another client" },
	{ "memory", "resident", S_BOTH, U_BYTES, D_RESIDENT, ALL | BOTH | W_TABLE, "in memory now; in sums less shared" },
	{ "memory", "purgeable", S_BOTH, U_BYTES, D_PURGEABLE, ALL | BOTH, "may be dropped" },
	{ "memory", "active", S_BOTH, U_BYTES, D_ACTIVE, ALL | BOTH, "in use by an engine" },

	{ "vram", "total", S_MEMBER, U_BYTES, D_VRAM_TOTAL, W_DEVICE | BOTH, "the driver's own figure" },
	{ "vram", "used", S_MEMBER, U_BYTES, D_VRAM_USED, W_DEVICE | BOTH | W_TABLE, "the driver's own figure" },
	{ "visible", "total", S_MEMBER, U_BYTES, D_VISIBLE_TOTAL, W_DEVICE | BOTH | W_SPARSE, "VRAM that the CPU can reach" },
	{ "visible", "used", S_MEMBER, U_BYTES, D_VISIBLE_USED, W_DEVICE | BOTH | W_SPARSE, "VRAM that the CPU can reach" },
	{ "preempt", "used", S_MEMBER, U_BYTES, D_PREEMPT_USED, W_DEVICE | BOTH | W_SPARSE, "buffers of preempted work" },
	{ "gtt", "total", S_MEMBER, U_BYTES, D_GTT_TOTAL, W_DEVICE | BOTH | W_SPARSE, "main memory for the GPU" },
	{ "gtt", "used", S_MEMBER, U_BYTES, D_GTT_USED, W_DEVICE | BOTH | W_SPARSE, "main memory for the GPU" },

	{ "freq", "cur", S_BOTH, U_HZ, D_FREQ_CUR, W_DEVICE | BOTH | W_TABLE, "present clock; i915, xe: requested" },
	{ "freq", "act", S_BOTH, U_HZ, D_FREQ_ACT, W_DEVICE | BOTH | W_SPARSE, "actual clock, 0 while asleep" },
	{ "freq", "target", S_BOTH, U_HZ, D_FREQ_TARGET, W_DEVICE | BOTH | W_SPARSE, "what the governor asked for" },
	{ "freq", "avg", S_BOTH, U_HZ, L_FREQ_AVG, W_DEVICE | W_LIVE | W_SPARSE, "mean over the interval (devfreq)" },
	{ "freq", "min", S_BOTH, U_HZ, D_FREQ_MIN, W_DEVICE | BOTH | W_SPARSE, "lower limit in force" },
	{ "freq", "max", S_BOTH, U_HZ, D_FREQ_MAX, W_DEVICE | BOTH, "upper limit in force" },
	{ "freq", "boost", S_BOTH, U_HZ, D_FREQ_BOOST, W_DEVICE | W_LIST | W_SPARSE, "clock for waiting clients" },
	{ "freq", "rp0", S_BOTH, U_HZ, D_FREQ_RP0, W_DEVICE | W_LIST | W_SPARSE, "hardware's highest" },
	{ "freq", "rp1", S_BOTH, U_HZ, D_FREQ_RP1, W_DEVICE | W_LIST | W_SPARSE, "hardware's most efficient" },
	{ "freq", "rpa", S_BOTH, U_HZ, D_FREQ_RPA, W_DEVICE | W_LIST | W_SPARSE, "hardware's achievable" },
	{ "freq", "rpe", S_BOTH, U_HZ, D_FREQ_RPE, W_DEVICE | W_LIST | W_SPARSE, "hardware's most efficient" },
	{ "freq", "rpn", S_BOTH, U_HZ, D_FREQ_RPN, W_DEVICE | W_LIST | W_SPARSE, "hardware's lowest" },

	{ "load", NULL, S_INST, U_PERCENT, D_LOAD, W_DEVICE | BOTH | W_SPARSE, "other meters: memory, video, NPU cores" },
	{ "temp", NULL, S_INST, U_CELSIUS, D_TEMP, W_DEVICE | BOTH | W_TABLE, "temperature" },
	{ "power", NULL, S_INST, U_WATT, D_POWER, W_DEVICE | BOTH | W_TABLE, "power; from energy where that is all there is" },
	{ "energy", NULL, S_INST, U_JOULE, D_ENERGY, W_DEVICE | BOTH | W_TOTAL, "energy since the start" },
	{ "fan", NULL, S_INST, U_RPM, D_FAN, W_DEVICE | BOTH | W_TABLE, "fan speed" },
	{ "pwm", NULL, S_INST, U_NONE, D_PWM, W_DEVICE | BOTH | W_SPARSE, "fan control, 0 to 255" },
	{ "volt", NULL, S_INST, U_VOLT, D_VOLT, W_DEVICE | BOTH, "voltage" },
	{ "current", NULL, S_INST, U_AMPERE, D_CURRENT, W_DEVICE | BOTH | W_SPARSE, "current" },
	{ "throttle", NULL, S_LIST, U_NONE, D_THROTTLE, W_DEVICE | BOTH, "reasons to throttle now" },
	{ "link", "speed", S_MEMBER, U_GTS, D_LINK_SPEED, W_DEVICE | BOTH, "PCIe" },
	{ "link", "width", S_MEMBER, U_NONE, D_LINK_WIDTH, W_DEVICE | BOTH, "PCIe lanes" },
	{ "link", "max_speed", S_MEMBER, U_GTS, D_LINK_MAX_SPEED, W_DEVICE | W_LIST, "PCIe" },
	{ "link", "max_width", S_MEMBER, U_NONE, D_LINK_MAX_WIDTH, W_DEVICE | W_LIST, "PCIe lanes" },
	{ "runtime", "active", S_MEMBER, U_MS, D_ACTIVE_MS, W_DEVICE | W_LIST | W_SPARSE, "time awake" },
	{ "runtime", "suspended", S_MEMBER, U_MS, D_SUSPENDED_MS, W_DEVICE | W_LIST | W_SPARSE, "time asleep" },
	{ "power_limit", "cap", S_BOTH, U_WATT, D_POWER_CAP, W_DEVICE | W_LIST | W_SPARSE, "in force" },
	{ "power_limit", "max", S_BOTH, U_WATT, D_POWER_MAX, W_DEVICE | W_LIST | W_SPARSE, "highest that may be set" },
	{ "power_limit", "default", S_BOTH, U_WATT, D_POWER_DEFAULT, W_DEVICE | W_LIST | W_SPARSE, "as shipped" },
	{ "power_limit", "rated", S_BOTH, U_WATT, D_POWER_RATED, W_DEVICE | W_LIST | W_SPARSE, "as designed" },
	{ "power_limit", "crit", S_BOTH, U_WATT, D_POWER_CRIT, W_DEVICE | W_LIST | W_SPARSE, "the hardware steps in" },
	{ "temp_limit", "max", S_BOTH, U_CELSIUS, D_TEMP_MAX, W_DEVICE | W_LIST | W_SPARSE, "highest wanted" },
	{ "temp_limit", "crit", S_BOTH, U_CELSIUS, D_TEMP_CRIT, W_DEVICE | W_LIST | W_SPARSE, "the hardware throttles" },
	{ "temp_limit", "emergency", S_BOTH, U_CELSIUS, D_TEMP_EMERGENCY, W_DEVICE | W_LIST | W_SPARSE, "the hardware stops" },
	{ "fan_limit", NULL, S_INST, U_RPM, D_FAN_MAX, W_DEVICE | W_LIST | W_SPARSE, "highest speed" },
	{ "facts", NULL, S_INST, U_NONE, L_FACTS, W_DEVICE | W_LIST, "PCI ids and other words that do not change" },
	{ "missing", NULL, S_INST, U_NONE, L_MISSING, W_DEVICE | W_LIST, "what the device cannot tell, and why" },

	{ "other", NULL, S_INST, U_NONE, L_OTHER, W_CLIENT | W_FDINFO | BOTH, "keys that the standard does not know" },
	{ NULL, "skipped", S_SCALAR, U_NONE, L_SKIPPED, W_CLIENT | W_FDINFO | BOTH, "malformed lines" },
	{ NULL, "dropped", S_SCALAR, U_NONE, L_DROPPED, W_CLIENT | W_CGROUP | W_FDINFO | BOTH, "values beyond the tables" },
};
const size_t ncolumns = LEN(columns);
_Static_assert(LEN(columns) < 256, "plans number them in a byte");

/* Called for a hundred fields: copies of it in each place would be a third of this file. */
#define SHARED __attribute__((noinline))

/* --- building ------------------------------------------------------------------------------------- */

/* Entities are the first member of what they are about. */
static const struct device *device_of(const struct entity *e)
{
	return e->kind == K_DEVICE ? (const struct device *)(const void *)e :
	       e->kind == K_CGROUP ? &devices[((const struct group *)(const void *)e)->device] :
				     &devices[((const struct client *)(const void *)e)->device];
}

static const struct client *client_of(const struct entity *e)
{
	return (const struct client *)(const void *)e;
}

static const struct group *group_of(const struct entity *e)
{
	return (const struct group *)(const void *)e;
}

/* What records hold. The texts come first: the fields become usable as they are added. */
static struct space {
	char text[REC_TEXT];
	struct field f[MAX_FIELDS];
} *space;
static TABLE_BYTES(space, REC_TEXT + 64 * sizeof(struct field), "bytes of a record");

static size_t fields_ready; /* so many can be used, whatever they are */

/* Makes room for one field more. False: there is none, which is counted. Scalars find it while there is memory: there are fewer
 * of them than columns. */
static bool make_room(struct record *r, const struct column *c)
{
	size_t at = offsetof(struct space, f), most = MAX_FIELDS - ncolumns;
	bool has = r->n < (c->shape == S_SCALAR ? MAX_FIELDS : most) && table_has(&space_table, at + (r->n + 1) * sizeof(r->f[0]) - 1);

	if (has) {
		fields_ready = (space_table.ready - at) / sizeof(r->f[0]);
		fields_ready = fields_ready < most ? fields_ready : most;
	}
	r->lost += !has;
	return has;
}

/* The next field, for which there is room. */
static struct field *take_field(struct record *r, const struct column *c, struct str inst)
{
	struct field *f = &r->f[r->n++];

	f->col = c;
	f->inst = inst;
	f->v.type = V_NULL; /* all of it at once would be a loop over 64 bytes */
	f->v.unit = f->v.point = 0;
	f->v.neg = f->empty = false;
	f->v.n = 0; /* by which what is not known is sorted, too */
	f->v.s = (struct str){ 0 };
	return f;
}

SHARED static struct field *take_beyond(struct record *r, const struct column *c, struct str inst)
{
	return make_room(r, c) ? take_field(r, c, inst) : NULL;
}

/* A field with no value yet. NULL: there is no room. It calls nothing but as its last step, so it has nothing to save. */
static struct field *add(struct record *r, const struct column *c, struct str inst)
{
	return r->n < fields_ready ? take_field(r, c, inst) : take_beyond(r, c, inst);
}

static void add_empty(struct record *r, const struct column *c)
{
	struct field *f = add(r, c, (struct str){ 0 });

	if (f)
		f->empty = true;
}

/* What follows gives a value that is null yet; where nothing is known it stays so. */
SHARED static void set_int(struct val *v, u64 n, u8 unit)
{
	v->type = V_INT;
	v->unit = unit;
	v->n = n;
}

static void set_known(struct val *v, bool known, u64 n)
{
	if (known)
		set_int(v, n, U_NONE);
}

SHARED static void set_time(struct val *v, i64 us)
{
	if (us < 0)
		return;
	set_int(v, (u64)us, U_SECONDS);
	v->type = V_TIME;
}

SHARED static void set_text(struct val *v, struct str s)
{
	v->type = s.p ? V_TEXT : V_NULL;
	v->s = s;
}

/* NULL is unknown. */
SHARED static void set_z(struct val *v, const char *z)
{
	set_text(v, str_z(z));
}

/* "" is unknown, too. */
SHARED static void set_label(struct val *v, const char *z)
{
	if (z[0])
		set_z(v, z);
}

FEATURED SHARED static void set_name(struct val *v, struct str s)
{
	if (s.p < s.e)
		set_text(v, s);
}

static void set_signed(struct val *v, i64 n, u8 unit)
{
	set_int(v, n < 0 ? -(u64)n : (u64)n, unit);
	v->neg = n < 0;
}

static void set_counter(struct val *v, u64 n, const struct column *c)
{
	if (is_signed(c->id))
		set_signed(v, (i64)n, c->unit);
	else
		set_int(v, n, c->unit);
}

static void add_counter(struct record *r, const struct column *c, struct str inst, bool known, u64 n)
{
	struct field *f = add(r, c, inst);

	if (f && known)
		set_counter(&f->v, n, c);
}

SHARED static void add_text(struct record *r, const struct column *c, struct str inst, struct str s)
{
	struct field *f = add(r, c, inst);

	if (f)
		set_text(&f->v, s);
}

FEATURED static void add_int(struct record *r, const struct column *c, struct str inst, u64 n)
{
	struct field *f = add(r, c, inst);

	if (f)
		set_int(&f->v, n, U_NONE);
}

/* Room for a text behind those of the record. */
static struct buf text_room(struct record *r)
{
	return (struct buf){ .p = r->text + r->text_n, .cap = REC_TEXT - r->text_n };
}

/* What was put together there. */
static struct str text_made(struct record *r, const struct buf *b)
{
	r->text_n += b->n;
	return (struct str){ b->p, b->p + b->n };
}

/* A stored text, copied beside the record. */
SHARED static struct str text_of(struct record *r, u32 text)
{
	struct buf b = text_room(r);

	if (text == NONE)
		return (struct str){ 0 };
	b.n = text_copy(text, b.p, b.cap);
	return text_made(r, &b);
}

static void set_stored(struct val *v, struct record *r, u32 text)
{
	set_text(v, text_of(r, text));
}

const char *const kind_names[K_COUNT] = {
	[K_DEVICE] = "device", [K_CLIENT] = "client", [K_CGROUP] = "cgroup", [K_FDINFO] = "fdinfo",
	[K_EVENT] = "event", [K_SAMPLE] = "sample", [K_PROFILE] = "profile", [K_OA] = "oa",
	[K_COUNTER] = "counter", [K_COUNTERS] = "counter", [K_SOURCE] = "source",
};

/* dt of what this entity's rates are made over: its own two readings; sums take the sample's. */
static i64 own_dt(const struct entity *e, const struct recopts *o)
{
	if (o->raw || o->list || o->dt_us < 0)
		return -1;
	if (e->kind == K_CLIENT)
		return e->fresh && e->t_was ? (e->t - e->t_was) / 1000 : -1;
	return o->dt_us;
}

/* Of a client, whom it belongs to; and of what has one, the cgroup. */
static void find_owner(struct record *r)
{
	r->owner = r->kind == K_CLIENT ? client_owner(client_of(r->e)) : NULL;
	r->cgroup = (struct str){ 0 };
	if (r->kind == K_CGROUP)
		r->cgroup = text_of(r, cgroups[group_of(r->e)->cgroup].path);
	else if (r->owner)
		r->cgroup = text_of(r, cgroups[r->owner->cgroup].path);
}

static void device_field(struct val *v, struct record *r, u8 id)
{
	const struct entity *e = r->e;
	const struct device *d = device_of(e);
	const struct client *c = client_of(e);
	const struct task *owner = r->owner;
	bool known;
	u64 n = 0;

	switch (id) {
	case L_DEV:       set_label(v, d->dev); return;
	case L_DRIVER:    set_label(v, d->driver); return;
	case L_PDEV:      set_label(v, d->pdev); return;
	case L_STATE:     set_label(v, d->state); return;
	case L_CLIENT:    set_known(v, c->keykind == KEY_ID, c->key); return;
	case L_CGROUP:    set_text(v, r->cgroup); return;
	case L_CONTAINER: set_text(v, parse_container(r->cgroup)); return;
	case L_SKIPPED:   set_int(v, c->skipped, U_NONE); return;
	case L_UNREADABLE: set_int(v, reg_unreadable, U_NONE); return;
	case L_NAME:
		if (e->kind == K_DEVICE)
			set_label(v, d->name);
		else
			set_stored(v, r, c->name);
		return;
	case L_PID:
		if (owner)
			set_int(v, owner->pid, U_NONE);
		return;
	case L_COMM:
		if (owner && owner->has_comm)
			set_text(v, (struct str){ owner->comm, owner->comm + owner->comm_len });
		return;
	case L_CLIENTS:
		known = e->kind == K_CGROUP || device_clients(d, &n);
		set_known(v, known, e->kind == K_CGROUP ? group_of(e)->clients : n);
		return;
	case L_DROPPED:
		set_int(v, e->dropped + r->lost + (e->kind == K_DEVICE ? reg_dropped : 0), U_NONE);
		return;
	case L_BUSY:
		known = device_busy(d, &n);
		break;
	case L_USED:
		known = entity_used(e, d->apu, &n);
		break;
	case L_IDLE:
		known = device_idle(d, &n);
		break;
	default:
		return;
	}
	if (known)
		set_int(v, n, id == L_USED ? U_BYTES : U_PERCENT);
}

/* What was put together behind the record's texts; nothing where it found no room. */
FEATURED static void set_made(struct val *v, struct record *r, const struct buf *b)
{
	if (b->full)
		r->lost++;
	else
		set_text(v, text_made(r, b));
}

#if HAS(stat) || HAS(sample)
/* Where a row was counted, in a word: CPU3, S0-D0-C2, S0, sh-1234, /system.slice; nothing for everywhere. */
static void put_site(struct buf *b, const struct site *s)
{
	static const char *const letters[] = { "CPU", "S", "D", "C" };
	const i32 numbers[] = { s->cpu, s->socket, s->die, s->core };
	size_t from = b->n;

	for (size_t i = 0; i < LEN(numbers); i++)
		if (numbers[i] >= 0) {
			put_z(b, b->n > from ? "-" : "");
			put_z(b, letters[i]);
			put_u64(b, (u64)numbers[i]);
		}
	if (s->tid) {
		b->n += text_copy(s->comm, b->p + b->n, b->cap - b->n);
		put_c(b, '-');
		put_u64(b, s->tid);
	}
	if (s->cgroup) {
		put_z(b, b->n > from ? " " : "");
		b->n += text_copy(s->cgroup, b->p + b->n, b->cap - b->n);
	}
}

#endif

#if HAS(stat)
static const struct evrow *row_of(const struct entity *e)
{
	return (const struct evrow *)(const void *)e;
}

/* Where it was counted: numbers below the least are "everywhere". */
static void set_place(struct val *v, i64 n, i64 least)
{
	set_known(v, n >= least, (u64)n);
}

static void site_field(struct val *v, struct record *r, u8 id)
{
	const struct site *s = &sites[row_of(r->e)->site];

	switch (id) {
	case L_CPU:    set_place(v, s->cpu, 0); return;
	case L_CORE:   set_place(v, s->core, 0); return;
	case L_SOCKET: set_place(v, s->socket, 0); return;
	case L_PID:    set_place(v, s->pid, 1); return;
	case L_TID:    set_place(v, s->tid, 1); return;
	case L_COMM:   set_stored(v, r, s->comm); return;
	default:       set_stored(v, r, s->cgroup); return;
	}
}

static void event_value(struct val *v, const struct evrow *row)
{
	set_known(v, row->state == CS_COUNTED, row->value);
	if (v->type == V_NULL)
		return;
	v->point = row->point;
	v->neg = row->neg;
}

/* Of the event's set, if it has one. */
static void set_field(struct val *v, struct record *r, const struct evset *set, u8 id)
{
	if (!set->name)
		return;
	switch (id) {
	case L_SET:    set_stored(v, r, set->name); return;
	case L_SET_ID: set_int(v, set->id, U_NONE); return;
	case L_RUNS:   set_int(v, set->turns - set->turns_was, U_NONE); return;
	case L_ACTIVE: set_int(v, (u64)(set->active - set->active_was), U_NANO); return;
	default:
		if (set->timeout)
			set_int(v, (u64)set->timeout, U_NANO);
	}
}

static void event_field(struct val *v, struct record *r, u8 id)
{
	const struct evrow *row = row_of(r->e);
	const struct event *ev = &events[row->event];

	switch (id) {
	case L_EVENT:   set_stored(v, r, ev->name); return;
	case L_VALUE:   event_value(v, row); return;
	case L_UNIT:    set_text(v, ev->unit ? text_of(r, ev->unit) : (struct str)STR("")); return;
	case L_REPEATS: set_known(v, row->repeats > 1, row->repeats); return;
	case L_CPUS:    set_int(v, row->places, U_NONE); return;
	case L_COUNT:   set_known(v, row->state == CS_COUNTED && ev->rule != EV_LEVEL, row->sum.value); return;
	case L_ENABLED: set_int(v, row->sum.enabled, U_NS); return;
	case L_RUNTIME: set_int(v, row->sum.running, U_NS); return;
	case L_RUNNING:
		if (row->sum.enabled)
			set_int(v, row->share, U_PERCENT);
		return;
	case L_REASON:
		if (row->state != CS_COUNTED)
			set_z(v, state_text(row->state));
		return;
	case L_DEVIATION:
		if (row->repeats > 1)
			set_int(v, (u64)(row_deviation(row) * 100000 + 0.5), U_PERCENT);
		return;
	case L_SET: case L_SET_ID: case L_RUNS: case L_ACTIVE: case L_TIMEOUT:
		set_field(v, r, &evsets[ev->set], id);
		return;
	default:
		site_field(v, r, id);
	}
}

/* For people and for perf's format: escaped; without the cgroup where that has its own field. */
void record_site(struct buf *b, const struct entity *e, bool cgroup)
{
	char text[4200];
	struct buf t = { .p = text, .cap = sizeof(text) };
	struct site s = sites[row_of(e)->site];

	s.cgroup = cgroup ? s.cgroup : NONE;
	put_site(&t, &s);
	put_text(b, (struct str){ t.p, t.p + t.n });
}

/* What tells the rows of long CSV apart: the event, its set and where it was counted. */
static struct str event_label(struct record *r)
{
	const struct evrow *row = row_of(r->e);
	const struct event *ev = &events[row->event];
	struct buf b = text_room(r);
	size_t n;

	if (evsets[ev->set].name) {
		b.n += text_copy(evsets[ev->set].name, b.p, b.cap);
		put_c(&b, ':');
	}
	b.n += text_copy(ev->name, b.p + b.n, b.cap - b.n);
	n = b.n;
	put_c(&b, '@');
	put_site(&b, &sites[row->site]);
	b.n = b.n == n + 1 ? n : b.n;
	return text_made(r, &b);
}

#endif

#if HAS(sample)
static const struct sample *sample_of(const struct entity *e)
{
	return (const struct sample *)(const void *)e;
}

static const struct profile *profile_of(const struct entity *e)
{
	return (const struct profile *)(const void *)e;
}

static void set_hex(struct val *v, struct record *r, u64 n)
{
	struct buf b = text_room(r);

	put_hex64(&b, n);
	set_made(v, r, &b);
}

/* symbol+0x1f, or nothing where it is not known. */
static void set_symbol(struct val *v, struct record *r, const struct frame *f)
{
	struct buf b = text_room(r);

	if (f->symbol.p >= f->symbol.e)
		return;
	put_str(&b, f->symbol);
	if (f->offset) {
		put_c(&b, '+');
		put_hex64(&b, f->offset);
	}
	set_made(v, r, &b);
}

static void sample_field(struct val *v, struct record *r, u8 id)
{
	static const char *const modes[PM_MODES] = {
		[PM_KERNEL] = "kernel", [PM_USER] = "user", [PM_HV] = "hypervisor",
		[PM_GUEST_KERNEL] = "guest-kernel", [PM_GUEST_USER] = "guest-user",
	};
	const struct sample *s = sample_of(r->e);
	const struct prec *p = s->r;

	switch (id) {
	case L_CPU:    set_known(v, p->have & PS_CPU, p->cpu); return;
	case L_PID:    set_known(v, p->have & PS_TID, p->pid); return;
	case L_TID:    set_known(v, p->have & PS_TID, p->tid); return;
	case L_COMM:   set_name(v, s->comm); return;
	case L_SYMBOL: set_symbol(v, r, &s->at); return;
	case L_MODULE: set_name(v, s->at.module); return;
	case L_PERIOD: set_known(v, s->period, s->period); return;
	case L_LOST:   set_known(v, p->lost, p->lost); return;
	case L_EVENT:
		if (s->event)
			set_stored(v, r, events[s->event].name);
		return;
	case L_MODE:
		if (p->mode < PM_MODES && s->event)
			set_z(v, modes[p->mode]);
		return;
	case L_IP:
		if (p->have & PS_IP)
			set_hex(v, r, p->ip);
		return;
	case L_ADDR:
		if (p->have & PS_ADDR && p->addr)
			set_hex(v, r, p->addr);
		return;
	default:
		return;
	}
}

static void profile_field(struct val *v, struct record *r, u8 id)
{
	static const char *const by[PROF_TABLES] = { [PROF_COMM] = "comm", [PROF_SYMBOL] = "symbol", [PROF_IP] = "ip",
						     [PROF_STACK] = "stack" };
	const struct profile *p = profile_of(r->e);

	switch (id) {
	case L_BY:      set_z(v, by[p->table]); return;
	case L_NAME:    set_name(v, p->row->name); return;
	case L_MODULE:  set_name(v, p->row->module); return;
	case L_PERIOD:  set_int(v, p->row->period, U_NONE); return;
	case L_SAMPLES: set_int(v, p->row->samples, U_NONE); return;
	case L_IP:
		if (p->table == PROF_IP)
			set_hex(v, r, p->row->ip);
		return;
	default:
		/* rounded: the sum of all is 100 */
		set_int(v, (muldiv(p->row->period, 200000, profile_period[p->table]) + 1) / 2, U_PERCENT);
	}
}

/* The counts of a sample's group, each under its event's name. */
static void add_values(struct record *r, const struct column *c, const struct sample *s)
{
	for (u32 i = 0; i < s->ngroup; i++)
		add_int(r, c, text_of(r, events[s->group[i].event].name), s->group[i].count);
}

static void add_chain(struct record *r, const struct column *c, const struct sample *s)
{
	for (u32 i = 0; i < s->nchain; i++) {
		struct val v = { 0 };
		u32 lost = r->lost;
		struct field *f;

		set_symbol(&v, r, &s->chain[i]);
		if (v.type == V_NULL)
			set_hex(&v, r, s->chain[i].ip);
		r->lost = v.type == V_NULL ? lost + 1 : lost;
		if (v.type != V_NULL && (f = add(r, c, (struct str){ 0 })))
			f->v = v;
	}
	if (s->nchain == 0)
		add_empty(r, c);
}

static void add_sampled(struct record *r, const struct column *c)
{
	(c->id == L_CHAIN ? add_chain : add_values)(r, c, sample_of(r->e));
}

/* Of samples: the event and the CPU. */
static struct str sample_label(struct record *r)
{
	const struct sample *s = sample_of(r->e);
	struct buf b = text_room(r);
	struct site at = { .cpu = s->r->have & PS_CPU ? (i32)s->r->cpu : -1, .core = -1, .die = -1, .socket = -1 };
	struct val v = { 0 };

	b.n += text_copy(events[s->event].name, b.p, b.cap);
	put_c(&b, '@');
	put_site(&b, &at);
	set_made(&v, r, &b);
	return v.type == V_TEXT ? v.s : (struct str){ 0 };
}

#endif

#if HAS(oa)
static const struct oarow *oarow_of(const struct entity *e)
{
	return (const struct oarow *)(const void *)e;
}

static void set_clock(struct val *v, u64 hz)
{
	if (hz)
		set_int(v, hz, U_HZ);
}

static void oa_freq(struct val *v, const struct oarow *w)
{
	if (w->slots && !w->stored && w->head->has_ticks && w->ts_hz && w->slots[OA_TIME])
		set_int(v, muldiv(w->slots[OA_CLOCK], w->ts_hz, w->slots[OA_TIME]), U_HZ);
}

/* What the report's head says. */
static void oahead_field(struct val *v, const struct oarow *w, u8 id)
{
	const struct oareport *h = w->head;

	if (!h || (w->sum && id != L_TS))
		return;
	switch (id) {
	case L_REASON:  set_z(v, oareason_names[h->reason]); return;
	case L_TS:      set_int(v, h->ts, U_NONE); return;
	case L_ID:      set_int(v, h->id, U_NONE); return;
	case L_UNSLICE: set_clock(v, h->unslice_hz); return;
	default:        set_clock(v, h->slice_hz); return;
	}
}

static void oa_field(struct val *v, struct record *r, u8 id)
{
	const struct oarow *w = oarow_of(r->e);

	switch (id) {
	case L_DEV:      set_name(v, w->dev); return;
	case L_SET:      set_name(v, w->set); return;
	case L_INDEX:    set_int(v, w->index, U_NONE); return;
	case L_CTX:      set_known(v, w->has_ctx, w->ctx); return;
	case L_OA_FREQ:  oa_freq(v, w); return;
	case L_LOST:     set_int(v, w->lost, U_NONE); return;
	case L_REPORTS:  set_int(v, w->reports, U_NONE); return;
	case L_CPU_TIME:
		if (w->has_cpu_time)
			set_int(v, w->cpu_time, U_NS);
		return;
	case L_TICKS:
		if (w->slots && w->head->has_ticks)
			set_int(v, w->slots[OA_CLOCK], U_NONE);
		return;
	default:
		oahead_field(v, w, id);
	}
}

/* part * 10^6, from 0 to 10^6, rounded as %f does it: exactly, halves to the even one. */
static u64 micros(double part)
{
	double near = part * 1e6, over = near - (double)(i64)near, high, beyond;
	u64 n = (u64)(i64)near, bits;

	if (over < 0.499999 || over > 0.500001) /* the product is off by less than that */
		return n + (over > 0.5);
	/* In two halves, of which the products have no more bits than a double; the first is so near that the difference
	 * has none to lose. */
	memcpy(&bits, &part, sizeof(bits));
	bits &= ~UINT64_C(0x7ffffff);
	memcpy(&high, &bits, sizeof(high));
	beyond = (high * 1e6 - ((double)n + 0.5)) + (part - high) * 1e6;
	return n + (beyond > 0 || (!(beyond < 0) && n & 1));
}

/* From 2^64 on, where all doubles are whole: all digits, as %f has them. */
static void put_huge(struct buf *b, double f)
{
	u32 nine[36]; /* digits each, the lowest first: 309 are the most */
	char d[DIGITS];
	size_t n = 2;
	u64 m, left, carry;

	memcpy(&m, &f, sizeof(m));
	left = (m >> 52) - 1075; /* m * 2^left */
	m = (m & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
	nine[0] = (u32)(m % 1000000000);
	nine[1] = (u32)(m / 1000000000);
	for (u64 k; left > 0; left -= k) {
		k = left < 29 ? left : 29;
		carry = 0;
		for (size_t i = 0; i < n; i++) {
			carry += (u64)nine[i] << k;
			nine[i] = (u32)(carry % 1000000000);
			carry /= 1000000000;
		}
		if (carry)
			nine[n++] = (u32)carry;
	}
	put_u64(b, nine[--n]);
	while (n-- > 0)
		put_n(b, digits_before(d + DIGITS, nine[n], 9), 9);
}

/* What no 64 bits hold with six digits behind the point. */
static void set_large(struct record *r, struct val *v, double f)
{
	struct buf b = text_room(r);
	bool huge = f >= 18446744073709551616.0;
	char d[DIGITS];
	u64 whole;

	if (!(f <= 1.7976931348623157e308)) /* infinite, or no number */
		return;
	whole = huge ? 0 : (u64)f;
	if (huge)
		put_huge(&b, f);
	else
		put_u64(&b, whole);
	put_c(&b, '.');
	put_n(&b, digits_before(d + DIGITS, huge ? 0 : micros(f - (double)whole), 6), 6);
	while (b.n > 1 && b.p[b.n - 1] == '0' && b.p[b.n - 2] != '.')
		b.n--;
	set_made(v, r, &b);
	v->type = v->type == V_TEXT ? V_DIGITS : V_NULL;
}

/* With six digits behind the point. */
static void set_float(struct record *r, struct val *v, double f)
{
	bool neg = f < 0;
	i64 whole;

	f = neg ? -f : f;
	if (f < 9e12) {
		whole = (i64)f;
		v->type = V_INT;
		v->unit = U_MICRO;
		v->n = (u64)whole * 1000000 + micros(f - (double)whole);
	} else {
		set_large(r, v, f);
	}
	v->neg = neg;
}

static void add_oaslots(struct record *r, const struct column *c, const struct oarow *w)
{
	for (size_t i = OA_A; i < OA_SLOTS; i++) {
		struct buf b = text_room(r);
		struct field *f;

		if (!oaslot_name(w->raw->format, i, &b))
			continue;
		f = add(r, c, text_made(r, &b));
		if (f && w->slots)
			set_int(&f->v, w->slots[i], U_NONE);
	}
}

static void add_oacounters(struct record *r, const struct column *c)
{
	const struct oarow *w = oarow_of(r->e);

	if (w->raw) {
		add_oaslots(r, c, w);
		return;
	}
	for (u32 i = 0; w->prog && i < w->prog->n; i++) {
		const struct oacounter *k = &w->prog->counters[i];
		struct field *f = k->wanted ? add(r, c, k->name) : NULL;

		if (!f || !w->values)
			continue;
		if (k->is_float) {
			set_float(r, &f->v, w->values[i].f);
		} else {
			f->v.type = V_INT;
			f->v.n = w->values[i].u;
		}
	}
}

#endif

#if HAS(named)
static const struct reading *reading_of(const struct entity *e)
{
	return (const struct reading *)(const void *)e;
}

static void set_limit(struct val *v, i64 n)
{
	if (n != INT64_MAX && n != INT64_MIN)
		set_signed(v, n, U_NONE);
}

/* C's float, in the nine digits that it takes to tell it from its neighbours. */
static void set_scale(struct val *v, i64 max)
{
	double d = (double)(float)(100.0f / (float)max); /* i387 divides wider */

	if (max <= 0 || max == INT64_MAX)
		return;
	for (; d < 1e8; v->point++)
		d *= 10;
	set_int(v, (u64)(d + 0.5), U_NONE);
	for (; v->point && v->n % 10 == 0; v->point--)
		v->n /= 10;
}

static bool is_measured(const struct named *c)
{
	return c->known && !c->unmeasured;
}

static void counter_field(struct val *v, struct record *r, u8 id)
{
	const struct picked *t = reading_of(r->e)->picked;
	const struct named *c = t->counter;

	switch (id) {
	case L_INDEX:  set_int(v, t->index, U_NONE); return;
	case L_VENDOR: set_z(v, c->vendor); return;
	case L_NAME:   set_z(v, c->name); return;
	case L_UNIT:   set_z(v, c->unit); return;
	case L_MIN:    set_limit(v, c->min); return;
	case L_MAX:    set_limit(v, c->max); return;
	case L_SCALE:  set_scale(v, c->max); return;
	case L_VALUE:
		if (is_measured(c))
			set_signed(v, c->value, U_NONE);
		return;
	default:
		set_z(v, c->what);
	}
}

/* That of whole numbers. */
static u8 unit_named(const char *name)
{
	u8 i = 0;

	while (i < UNITS && (units[i].point || strcmp(name, units[i].name) != 0))
		i++;
	return i < UNITS ? i : U_NONE;
}

/* All of a sample, each under its title. */
static void add_picked(struct record *r, const struct column *c)
{
	const struct reading *of = reading_of(r->e);

	for (size_t i = 0; i < of->n; i++) {
		const struct named *k = of->picked[i].counter;
		struct field *f = add(r, c, of->picked[i].title);

		if (!f || !k)
			continue;
		set_signed(&f->v, k->value, unit_named(k->unit));
		f->v.type = is_measured(k) ? V_INT : V_NULL; /* the unit says how wide its column is, all the same */
	}
}

static struct str counter_label(struct record *r)
{
	return str_z(reading_of(r->e)->picked->counter->name);
}
#endif

#if HAS(doctor)
static const struct probed *probed_of(const struct entity *e)
{
	return (const struct probed *)(const void *)e;
}

static void source_field(struct val *v, struct record *r, u8 id)
{
	static const char *const statuses[] = { "ok", "denied", "absent" };
	const struct probed *p = probed_of(r->e);

	switch (id) {
	case L_SOURCE: set_label(v, p->source); return;
	case L_STATUS: set_label(v, statuses[p->status]); return;
	case L_OK:     set_known(v, p->status != PROBE_ABSENT, p->status == PROBE_OK); return;
	case L_DETAIL: set_label(v, p->detail); return;
	default:       set_label(v, p->remedy);
	}
}

static struct str source_label(struct record *r)
{
	return str_z(probed_of(r->e)->source);
}
#endif

/* What makes the fields of a kind's records, beside those that all kinds have. */
static const struct maker {
	void (*scalar)(struct val *v, struct record *r, u8 id);
	void (*many)(struct record *r, const struct column *c); /* several values; NULL: they are of the registry */
	struct str (*label)(struct record *r); /* what tells the rows of long CSV apart, where their columns do not; or NULL */
} makers[K_COUNT] = {
	[K_DEVICE] = { .scalar = device_field }, [K_CLIENT] = { .scalar = device_field },
	[K_CGROUP] = { .scalar = device_field }, [K_FDINFO] = { .scalar = device_field },
#if HAS(stat)
	[K_EVENT] = { event_field, NULL, event_label },
#endif
#if HAS(sample)
	[K_SAMPLE] = { sample_field, add_sampled, sample_label }, [K_PROFILE] = { .scalar = profile_field },
#endif
#if HAS(oa)
	[K_OA] = { oa_field, add_oacounters, NULL },
#endif
#if HAS(named)
	[K_COUNTER] = { counter_field, NULL, counter_label }, [K_COUNTERS] = { counter_field, add_picked, NULL },
#endif
#if HAS(doctor)
	[K_SOURCE] = { source_field, NULL, source_label },
#endif
};

static bool is_live(u8 kind)
{
	return 1u << kind & ALL;
}

static void scalar(struct val *v, struct record *r, const struct recopts *o, u8 id)
{
	switch (id) {
	case L_SCHEMA:  set_int(v, 1, U_NONE); return;
	case L_KIND:    set_z(v, kind_names[r->kind]); return;
	case L_TIME:    set_time(v, o->time_us); return;
	case L_DT:      set_time(v, is_live(r->kind) ? own_dt(r->e, o) : o->dt_us); return;
	case L_FILE:    set_z(v, o->file); return;
	case L_SUMMARY: set_z(v, o->summary); return;
	default:        makers[r->kind].scalar(v, r, id);
	}
}

/* Of the entity itself, else summed over its clients; never now this, now that: a total would fall. */
static bool own_or_sum(const struct entity *e, u8 desc, u16 inst, u64 *v)
{
	static const u8 sums[D_ACTIVE + 1] = {
		[D_BUSY_NS] = D_SUM_NS, [D_CYCLES] = D_SUM_CYCLES, [D_TOTAL_CYCLES] = D_SUM_TOTAL_CYCLES,
		[D_TOTAL] = D_SUM_TOTAL, [D_SHARED] = D_SUM_SHARED, [D_RESIDENT] = D_SUM_RESIDENT,
		[D_PURGEABLE] = D_SUM_PURGEABLE, [D_ACTIVE] = D_SUM_ACTIVE,
	};

	return reg_get(e, desc, inst, v) ||
	       (desc <= D_ACTIVE && sums[desc] && !reg_find(e, desc, inst) && reg_get(e, sums[desc], inst, v));
}

static bool counter_value(const struct entity *e, u8 id, u16 inst, const struct recopts *o, u64 *v)
{
	u64 d, dt;

	if (o->list && (id == L_ENGINE_BUSY || id == L_ENGINE_UTIL || id == L_ENGINE_FREQ))
		return false;
	switch (id) {
	case L_ENGINE_BUSY: return engine_busy(e, inst, v);
	case L_ENGINE_UTIL: return engine_util(e, inst, v);
	case L_ENGINE_FREQ: return engine_freq(e, inst, v);
	case D_CAPACITY:
		if (!own_or_sum(e, id, inst, v))
			*v = 1; /* "In the absence of this tag parser shall assume capacity of one" */
		return true;
	case L_FREQ_AVG: case D_POWER:
		if (id == D_POWER && own_or_sum(e, id, inst, v))
			return true;
		if (!reg_rate(e, id == D_POWER ? D_ENERGY : D_FREQ_SPENT, inst, &d, &dt))
			return false;
		*v = muldiv(d, 1000000000, dt); /* uJ per ns; kHz x ms per ns */
		return true;
	default:
		return own_or_sum(e, id, inst, v);
	}
}

/* Whether a counter of this desc makes its instance one of the group of columns c to end. */
static bool in_group(u8 desc, const struct column *c, const struct column *end)
{
	for (; c < end; c++)
		if (c->id == desc || (c->id == D_POWER && desc == D_ENERGY) ||
		    (c->id == L_FREQ_AVG && desc == D_FREQ_SPENT))
			return true;
	return false;
}

static bool is_column(const struct column *c, const struct record *r, const struct recopts *o)
{
	u32 mode = o->list ? W_LIVE | W_LIST : o->raw ? W_RAW : W_LIVE;

	return c->when & 1u << r->kind && (c->when & mode || (o->both && c->when & W_TOTAL));
}

/* The groups of columns that records of a kind have, found once for each kind and way of reading. */
struct plan {
	bool made;
	u8 n;
	u8 from[LEN(columns)], to[LEN(columns)];
	bool wanted[LEN(columns)]; /* of those in groups */
};

static void add_instance(struct record *r, u16 inst, const struct plan *p, size_t i, const struct recopts *o)
{
	const struct str name = inst_name(inst);

	for (size_t m = p->from[i]; m < p->to[i]; m++) {
		const struct column *c = &columns[m];
		bool known;
		u64 v;

		if (!p->wanted[m])
			continue;
		known = counter_value(r->e, c->id, inst, o, &v);
		/* A dump's absent keys stay absent. */
		if (known || !(c->when & W_SPARSE || (r->kind == K_FDINFO && is_region(c->id))))
			add_counter(r, c, name, known, v);
	}
}

static void add_group(struct record *r, const struct plan *p, size_t i, const struct recopts *o)
{
	static u32 marks[MAX_INSTANCES], mark; /* which instances this group has already */
	const struct column *c = columns + p->from[i], *end = columns + p->to[i];
	bool engines = strcmp(c->group, "engine") == 0, regions = strcmp(c->group, "memory") == 0, sparse = true;
	size_t before = r->n;

	mark++;
	for (struct counter *k = reg_first(r->e); k; k = reg_next(k)) {
		if (marks[k->inst] == mark || !(engines ? is_engine(k->desc) : regions ? is_region(k->desc) : in_group(k->desc, c, end)))
			continue;
		marks[k->inst] = mark;
		add_instance(r, k->inst, p, i, o);
	}
	for (const struct column *m = c; m < end && r->n == before; m++)
		sparse &= !p->wanted[m - columns] || m->when & W_SPARSE;
	if (r->n == before && !sparse)
		add_empty(r, c);
}

static int cmp_u32(u32 a, u32 b)
{
	return a < b ? -1 : a > b;
}

static void add_pids(struct record *r, const struct column *c, const struct client *of)
{
	size_t from = r->n;

	for (u32 h = of->holders; h; h = holders[h].next_client) {
		u32 pid = holders[h].pid;
		size_t i = r->n;

		while (i > from && cmp_u32((u32)r->f[i - 1].v.n, pid) > 0)
			i--;
		if (i > from && r->f[i - 1].v.n == pid)
			continue;
		if (r->n - from == MAX_PIDS_SHOWN) {
			r->lost++;
			continue;
		}
		if (r->n >= fields_ready && !make_room(r, c))
			continue;
		memmove(&r->f[i + 1], &r->f[i], (r->n - i) * sizeof(r->f[0]));
		r->f[i] = (struct field){ .col = c, .v = { .type = V_INT, .n = pid } };
		r->n++;
	}
	if (r->n == from)
		add_empty(r, c);
}

static void add_throttle(struct record *r, const struct column *c, const struct entity *e)
{
	size_t from = r->n;
	bool known = false;
	u64 on;

	for (struct counter *k = reg_first(e); k; k = reg_next(k)) {
		if (k->desc != D_THROTTLE || !reg_get(e, D_THROTTLE, k->inst, &on))
			continue;
		known = true;
		if (on)
			add_text(r, c, (struct str){ 0 }, inst_name(k->inst));
	}
	if (r->n == from && known)
		add_empty(r, c);
	else if (r->n == from)
		add(r, c, (struct str){ 0 });
}

static void add_nodes(struct record *r, const struct column *c, const struct device *d)
{
	const i32 numbers[] = { d->card, d->render, d->accel };
	static const char *const names[] = { "card", "renderD", "accel" };
	size_t from = r->n;

	for (size_t i = 0; i < LEN(numbers); i++) {
		struct buf b = text_room(r);

		if (numbers[i] < 0)
			continue;
		put_z(&b, names[i]);
		put_u64(&b, (u64)numbers[i]);
		add_text(r, c, (struct str){ 0 }, text_made(r, &b));
	}
	if (r->n == from)
		add_empty(r, c);
}

static void add_list(struct record *r, const struct entity *e, const struct column *c)
{
	if (c->id == L_PIDS)
		add_pids(r, c, client_of(e));
	else if (c->id == L_NODES)
		add_nodes(r, c, device_of(e));
	else
		add_throttle(r, c, e);
}

/* Takes the instance out of what stands from `from` on. */
static void drop_inst(struct record *r, size_t from, struct str inst)
{
	for (size_t i = from; i < r->n; i++)
		if (str_eq(r->f[i].inst, inst)) {
			memmove(&r->f[i], &r->f[i + 1], (--r->n - i) * sizeof(r->f[0]));
			return;
		}
}

enum { MAX_OTHER = 512 }; /* the chattiest driver has 6 */

/* Lines "key:value" as the source keeps them. */
static void add_lines(struct record *r, const struct column *c, u32 lines)
{
	struct str text = text_of(r, lines), line, key;
	size_t from = r->n;

	while (line_next(&text, &line)) {
		str_cut(&line, ':', &key);
		drop_inst(r, from, key); /* the last of two counts */
		if (r->n - from >= MAX_OTHER)
			r->lost++;
		else
			add_text(r, c, key, line);
	}
	if (r->n == from)
		add_empty(r, c);
}

/* Whether busy time is, or could be, known of an engine; its name alone tells nothing. */
static bool counts_engines(const struct entity *e)
{
	for (struct counter *k = reg_first(e); k; k = reg_next(k))
		if (is_engine(k->desc) && k->desc != D_MAXFREQ && k->desc != D_CURFREQ)
			return true;
	return false;
}

/* Which of the groups that matter most stayed empty, and why. */
static void add_missing(struct record *r, const struct entity *e, const struct column *c)
{
	static const char *const wants[] = { "engine", "memory", "freq", "temp", "power", "fan" };
	const struct device *d = device_of(e);
	size_t from = r->n;

	for (size_t i = 0; i < LEN(wants); i++) {
		const char *why;
		bool has = i == 0 && counts_engines(e);

		for (size_t k = 0; k < from && i > 0; k++)
			has |= r->f[k].col->group && strcmp(r->f[k].col->group, wants[i]) == 0 &&
			       !r->f[k].empty && (i == 1 || d->awake || r->f[k].v.type != V_NULL);
		if (has)
			continue;
		why = i == 0 ? d->no_engines : i == 1 ? d->no_memory : d->no_sensors;
		if (!why)
			why = d->clients || d->anonymous ? "its clients' fdinfo does not say" :
			      reg_unreadable ? "no client seen, but some processes are unreadable" :
					       "no client has it open";
		add_text(r, c, str_z(wants[i]), str_z(why));
	}
	if (r->n == from)
		add_empty(r, c);
}

static void add_inst(struct record *r, const struct plan *p, size_t i, const struct recopts *o)
{
	const struct column *c = columns + p->from[i];
	const struct entity *e = r->e;

	switch (c->id) {
	case L_OTHER:       add_lines(r, c, client_of(e)->other); return;
	case L_FACTS:       add_lines(r, c, device_of(e)->facts); return;
	case L_MISSING:     add_missing(r, e, c); return;
	default:            add_group(r, p, i, o);
	}
}

static const struct column *group_end(const struct column *c)
{
	const struct column *end = c + 1;

	while (end < columns + ncolumns && c->group && end->group && strcmp(c->group, end->group) == 0)
		end++;
	return end;
}

/* Takes part off the front of p, with the dot behind it. */
static bool eat(struct str *p, struct str part)
{
	struct str q = *p;

	if (str_len(part) == 0 || !str_skip(&q, part) || (q.p < q.e && *q.p != '.'))
		return false;
	p->p = q.p < q.e ? q.p + 1 : q.p;
	return true;
}

static struct {
	u8 kind;
	const struct str *patterns;
	size_t n;
} choice;

/* Records of that kind are made of what the patterns may show only; n 0: of everything. */
void record_choose(u8 kind, const struct str *patterns, size_t n)
{
	choice.kind = kind;
	choice.patterns = patterns;
	choice.n = n;
}

/* A group is made whole: what it is asked for are its instances, of counters by their bare names. */
static bool is_chosen(const struct column *c, u8 kind)
{
	bool is = choice.n == 0 || choice.kind != kind || c->id == L_OA_COUNTERS || c->id == L_COUNTERS || c->when & (W_LABEL | W_ID);

	for (size_t i = 0; i < choice.n && !is; i++) {
		struct str p = choice.patterns[i];

		is = c->group ? eat(&p, str_z(c->group)) : str_eq(p, str_z(c->member));
	}
	return is;
}

/* Whether a column of those records is made of this counter as it is. */
bool record_shows(u8 desc)
{
	for (const struct column *c = columns; c < columns + ncolumns; c++)
		if (c->id == desc && c->when >> choice.kind & 1 && is_chosen(c, choice.kind))
			return true;
	return false;
}

static const struct plan *plan_of(const struct record *r, const struct recopts *o)
{
	static struct plan plans[K_COUNT][4];
	struct plan *p = &plans[r->kind][o->list ? 2 : o->both ? 3 : o->raw];

	if (p->made)
		return p;
	p->made = true;
	for (const struct column *c = columns, *end; c < columns + ncolumns; c = end) {
		bool any = false;

		end = c->shape == S_INST || c->shape == S_BOTH ? group_end(c) : c + 1;
		for (const struct column *m = c; m < end; m++) {
			p->wanted[m - columns] = is_column(m, r, o);
			any |= p->wanted[m - columns] && is_chosen(m, r->kind);
		}
		if (!any)
			continue;
		p->from[p->n] = (u8)(c - columns);
		p->to[p->n++] = (u8)(end - columns);
	}
	return p;
}

static void add_scalar(struct record *r, const struct column *c, struct str about, const struct recopts *o)
{
	struct field *f = add(r, c, about);

	if (!f)
		return;
	scalar(&f->v, r, o, c->id);
	if (f->v.type == V_NULL && c->when & W_SPARSE)
		r->n--;
}

static void add_member(struct record *r, const struct column *c)
{
	bool known;
	u64 v;

	if (!is_live(r->kind)) {
		struct field *f = add(r, c, (struct str){ 0 });

		if (f)
			makers[r->kind].scalar(&f->v, r, c->id);
		return;
	}
	known = reg_get(r->e, c->id, 0, &v);
	if (known || !(c->when & W_SPARSE))
		add_counter(r, c, (struct str){ 0 }, known, v);
}

bool record_room(void)
{
	return table_has(&space_table, REC_TEXT - 1);
}

void record_make(struct record *r, const struct entity *e, const struct recopts *o)
{
	const struct maker *m = &makers[e->kind];
	const struct plan *plan;
	struct str about;

	r->kind = e->kind;
	r->n = r->text_n = 0;
	r->lost = 0;
	if (record_room()) {
		r->f = space->f;
		r->text = space->text;
	} else {
		r->text_n = REC_TEXT;
	}
	r->steady = e->kind == K_OA || e->kind == K_COUNTERS;
	r->e = e;
	find_owner(r);
	about = m->label ? m->label(r) : (struct str){ 0 };
	plan = plan_of(r, o);
	for (size_t i = 0; i < plan->n; i++) {
		const struct column *c = columns + plan->from[i];

		if (c->shape == S_SCALAR)
			add_scalar(r, c, about, o);
		else if (c->shape == S_MEMBER)
			add_member(r, c);
		else if (m->many)
			m->many(r, c);
		else if (c->shape == S_LIST)
			add_list(r, e, c);
		else
			add_inst(r, plan, i, o);
	}
}

/* --- asking a record ---------------------------------------------------------------------------------- */

static inline bool same_word(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* The first such value that is known; of any instance. NULL: none. */
const struct val *record_get(const struct record *r, const char *group, const char *member)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct column *c = r->f[i].col;

		if (r->f[i].v.type != V_NULL && same_word(c->group, group) && same_word(c->member, member))
			return &r->f[i].v;
	}
	return NULL;
}

/* "busy", "engine", "engine.render", "engine.busy", "engine.render.busy"; counters of oa and host by their bare names */
bool field_match(const struct field *f, struct str p)
{
	const struct column *c = f->col;
	struct str member = str_z(c->member), rest;

	if (!c->group)
		return str_eq(p, member);
	if ((c->id == L_OA_COUNTERS || c->id == L_COUNTERS) && str_eq(p, f->inst))
		return true;
	if (!eat(&p, str_z(c->group)))
		return false;
	rest = p;
	if (p.p == p.e || (eat(&rest, member) && rest.p == rest.e))
		return true;
	return eat(&p, f->inst) && (p.p == p.e || (eat(&p, member) && p.p == p.e));
}

/* Whether records of that kind can have such a field. */
bool pattern_known(struct str p, u8 kind)
{
	for (size_t i = 0; i < ncolumns; i++) {
		struct str rest = p;

		if (!(columns[i].when & 1u << kind))
			continue;
		if (columns[i].group ? eat(&rest, str_z(columns[i].group)) : str_eq(p, str_z(columns[i].member)))
			return true;
	}
	return false;
}

/* "card0 render" of what everybody asks for; otherwise with all that tells it from the device's other fields. */
void field_name(struct buf *b, const char *dev, const struct field *f)
{
	const struct column *c = f->col;
	bool spread = c->shape == S_BOTH && strcmp(c->group, "freq") != 0; /* of an engine, of a region */
	const struct str parts[] = { str_z(spread ? "" : c->group), f->inst, str_z(c->id == L_ENGINE_BUSY ? "" : c->member) };

	put_z(b, dev);
	for (size_t i = 0; i < LEN(parts); i++)
		if (str_len(parts[i])) {
			put_c(b, ' ');
			put_str(b, parts[i]);
		}
}
