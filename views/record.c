/* record.c - the schema: which fields the record of a device, a client, a cgroup or a dump has, in which
 * order, and how the registry fills them. Pure. SPDX-License-Identifier: MIT */
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
	{ NULL, "schema", S_SCALAR, U_NONE, EVERY | BOTH | W_META, L_SCHEMA, "1; raised if a key must change" },
	{ NULL, "kind", S_SCALAR, U_NONE, EVERY | BOTH | W_ID | W_ASKED, L_KIND, "device, client, cgroup, fdinfo, event, sample, profile, oa, counter or source" },
	{ NULL, "summary", S_SCALAR, U_NONE, LIVES | W_LIVE | W_SPARSE | W_META | W_LABEL, L_SUMMARY, "min, avg or max of the run (-S)" },
	{ NULL, "file", S_SCALAR, U_NONE, W_FDINFO | BOTH | W_TABLE | W_LABEL, L_FILE, "the dump" },
	{ NULL, "time", S_SCALAR, U_SECONDS, LIVES | W_EVENT | W_SAMPLE | W_OA | W_COUNTER | W_COUNTERS | BOTH | W_ID | W_TABLE | W_ASKED, L_TIME, "when, see -t" },
	{ NULL, "dt", S_SCALAR, U_SECONDS, LIVES | W_EVENT | W_OA | W_COUNTER | W_COUNTERS | BOTH | W_ID | W_ASKED, L_DT, "the interval that rates are made over" },
	{ NULL, "index", S_SCALAR, U_NONE, W_COUNTER | W_LIST | W_TABLE, L_INDEX, "in the list, as in C" },
	{ NULL, "vendor", S_SCALAR, U_NONE, W_COUNTER | BOTH | W_TABLE | W_LABEL, L_VENDOR, "who tells it: linux, a driver, another program" },
	{ NULL, "name", S_SCALAR, U_NONE, W_COUNTER | BOTH | W_TABLE | W_ID | W_LABEL, L_NAME, "the counter, as in C" },
	{ NULL, "value", S_SCALAR, U_NONE, W_COUNTER | BOTH | W_TABLE, L_VALUE, "a whole number, as in C" },
	{ NULL, "unit", S_SCALAR, U_NONE, W_COUNTER | BOTH | W_TABLE | W_LABEL, L_UNIT, "of the value; nothing for a number" },
	{ NULL, "min", S_SCALAR, U_NONE, W_COUNTER | W_LIST | W_TABLE, L_MIN, "least value" },
	{ NULL, "max", S_SCALAR, U_NONE, W_COUNTER | W_LIST | W_TABLE, L_MAX, "highest value; null where there is no limit" },
	{ NULL, "scale", S_SCALAR, U_NONE, W_COUNTER | W_LIST | W_TABLE, L_SCALE, "times a value: 0 to 100; null where there is no limit" },
	{ NULL, "description", S_SCALAR, U_NONE, W_COUNTER | W_LIST | W_TABLE, L_WHAT, "what it is, with the unit" },
	{ "counter", NULL, S_INST, U_NONE, W_COUNTERS | BOTH, L_COUNTERS, "each counter" },
	{ NULL, "dev", S_SCALAR, U_NONE, W_OA | BOTH | W_ID | W_LABEL, L_DEV, "the GPU's primary node, else its render node" },
	{ NULL, "set", S_SCALAR, U_NONE, W_OA | BOTH | W_LABEL, L_SET, "metric set" },
	{ NULL, "index", S_SCALAR, U_NONE, W_OA | BOTH | W_TABLE, L_INDEX, "of the report, or of the sum" },
	{ NULL, "reason", S_SCALAR, U_NONE, W_OA | BOTH | W_TABLE, L_REASON, "why the report was written; of no sum" },
	{ NULL, "ctx", S_SCALAR, U_NONE, W_OA | BOTH | W_TABLE | W_LABEL, L_CTX, "the hardware's number of the context" },
	{ NULL, "ts", S_SCALAR, U_NONE, W_OA | BOTH, L_TS, "the report's timestamp; of a sum that of its first" },
	{ NULL, "cpu_time", S_SCALAR, U_NS, W_OA | BOTH, L_CPU_TIME, "the same on the CPU's clock" },
	{ NULL, "ticks", S_SCALAR, U_NONE, W_OA | BOTH | W_TABLE, L_TICKS, "GPU clocks until the next report" },
	{ NULL, "freq", S_SCALAR, U_HZ, W_OA | BOTH | W_TABLE, L_OA_FREQ, "their mean frequency" },
	{ NULL, "lost", S_SCALAR, U_NONE, W_OA | BOTH | W_TABLE, L_LOST, "records of lost reports since the record before" },
	{ NULL, "reports", S_SCALAR, U_NONE, W_OA | BOTH, L_REPORTS, "deltas from report to report that are in it" },
	{ NULL, "id", S_SCALAR, U_NONE, W_OA | W_RAW, L_ID, "the report's first word" },
	{ "clock", "unslice", S_MEMBER, U_HZ, W_OA | W_RAW, L_UNSLICE, "clock of what stands outside the slices" },
	{ "clock", "slice", S_MEMBER, U_HZ, W_OA | W_RAW, L_SLICE, "clock of the slices" },
	{ "counter", NULL, S_INST, U_NONE, W_OA | BOTH | W_TABLE, L_OA_COUNTERS, "each counter; with --raw those of the report" },
	{ NULL, "event", S_SCALAR, U_NONE, W_EVENT | W_SAMPLE | BOTH | W_TABLE | W_ID | W_LABEL, L_EVENT, "the event, as it was named" },
	{ NULL, "set", S_SCALAR, U_NONE, W_EVENT | BOTH | W_TABLE | W_ID | W_LABEL, L_SET, "its event set (--set)" },
	{ NULL, "set_id", S_SCALAR, U_NONE, W_EVENT | BOTH | W_ID | W_SPARSE | W_LABEL, L_SET_ID, "that set's number" },
	{ NULL, "cpu", S_SCALAR, U_NONE, W_EVENT | BOTH | W_TABLE | W_ID | W_LABEL, L_CPU, "the CPU, where they are kept apart" },
	{ NULL, "cpu", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_TABLE | W_ID | W_ASKED, L_CPU, "the CPU" },
	{ NULL, "core", S_SCALAR, U_NONE, W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, L_CORE, "the core, with --per-core" },
	{ NULL, "socket", S_SCALAR, U_NONE, W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, L_SOCKET, "the package, with --per-core and --per-socket" },
	{ NULL, "pid", S_SCALAR, U_NONE, W_EVENT | BOTH | W_ID | W_LABEL, L_PID, "the process, where threads are kept apart" },
	{ NULL, "pid", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_ID | W_ASKED, L_PID, "the process" },
	{ NULL, "tid", S_SCALAR, U_NONE, W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, L_TID, "the thread, with --per-thread" },
	{ NULL, "tid", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_TABLE | W_ASKED, L_TID, "the thread" },
	{ NULL, "comm", S_SCALAR, U_NONE, W_EVENT | BOTH | W_ID | W_SPARSE | W_LABEL, L_COMM, "its name" },
	{ NULL, "comm", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_ID | W_LABEL, L_COMM, "its name" },
	{ NULL, "mode", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_TABLE | W_LABEL, L_MODE, "user, kernel, hypervisor, guest-user or guest-kernel" },
	{ NULL, "by", S_SCALAR, U_NONE, W_PROFILE | BOTH | W_TABLE | W_LABEL, L_BY, "comm, symbol or ip" },
	{ NULL, "name", S_SCALAR, U_NONE, W_PROFILE | BOTH | W_TABLE | W_LABEL, L_NAME, "of the program or of the symbol" },
	{ NULL, "ip", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_TABLE | W_ASKED, L_IP, "address of the instruction" },
	{ NULL, "ip", S_SCALAR, U_NONE, W_PROFILE | BOTH | W_TABLE | W_LABEL, L_IP, "address of the instruction" },
	{ NULL, "addr", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_TABLE | W_ASKED, L_ADDR, "address of the data, where the event has one" },
	{ NULL, "symbol", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_TABLE | W_LABEL, L_SYMBOL, "function, and how far into it" },
	{ NULL, "module", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_TABLE | W_ASKED, L_MODULE, "file that the code is from" },
	{ NULL, "module", S_SCALAR, U_NONE, W_PROFILE | BOTH | W_TABLE | W_LABEL, L_MODULE, "file that the code is from" },
	{ NULL, "period", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_TABLE | W_TOTAL, L_PERIOD, "counts that it stands for" },
	{ NULL, "period", S_SCALAR, U_NONE, W_PROFILE | BOTH | W_TABLE, L_PERIOD, "counts that it stands for" },
	{ NULL, "samples", S_SCALAR, U_NONE, W_PROFILE | BOTH | W_TABLE, L_SAMPLES, "how many" },
	{ NULL, "percent", S_SCALAR, U_PERCENT, W_PROFILE | BOTH | W_TABLE, L_PERCENT, "of all periods" },
	{ NULL, "lost", S_SCALAR, U_NONE, W_SAMPLE | BOTH | W_SPARSE | W_TOTAL, L_LOST, "samples before it that found no room" },
	{ "group", NULL, S_INST, U_NONE, W_SAMPLE | BOTH | W_SPARSE | W_ASKED, L_VALUES, "counts of its group since the start, with :S; since the last sample with --reset-on-overflow" },
	{ "callchain", NULL, S_LIST, U_NONE, W_SAMPLE | BOTH | W_ASKED, L_CHAIN, "who called, innermost first, with -g" },
	{ NULL, "cgroup", S_SCALAR, U_NONE, W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, L_CGROUP, "the cgroup, with -G" },
	{ NULL, "source", S_SCALAR, U_NONE, W_SOURCE | BOTH | W_TABLE | W_ID | W_LABEL, L_SOURCE, "where numbers come from" },
	{ NULL, "status", S_SCALAR, U_NONE, W_SOURCE | BOTH | W_TABLE, L_STATUS, "ok, denied or absent" },
	{ NULL, "ok", S_SCALAR, U_NONE, W_SOURCE | BOTH, L_OK, "1 where it can be read, 0 where that is denied" },
	{ NULL, "detail", S_SCALAR, U_NONE, W_SOURCE | BOTH | W_TABLE, L_DETAIL, "how much of it, or why" },
	{ NULL, "remedy", S_SCALAR, U_NONE, W_SOURCE | BOTH | W_TABLE, L_REMEDY, "the command that would mend it" },
	{ NULL, "value", S_SCALAR, U_NONE, W_EVENT | BOTH | W_TABLE, L_VALUE, "scaled to the whole time where counters were shared" },
	{ NULL, "unit", S_SCALAR, U_NONE, W_EVENT | BOTH | W_TABLE | W_LABEL, L_UNIT, "of the value; nothing for a count" },
	{ NULL, "running", S_SCALAR, U_PERCENT, W_EVENT | BOTH | W_TABLE, L_RUNNING, "of the time that it was enabled" },
	{ NULL, "reason", S_SCALAR, U_NONE, W_EVENT | BOTH | W_TABLE, L_REASON, "why there is no value" },
	{ NULL, "deviation", S_SCALAR, U_PERCENT, W_EVENT | BOTH | W_SPARSE, L_DEVIATION, "standard error of the mean, with -r" },
	{ NULL, "repeats", S_SCALAR, U_NONE, W_EVENT | BOTH | W_SPARSE, L_REPEATS, "runs of the command that value is the mean of" },
	{ NULL, "cpus", S_SCALAR, U_NONE, W_EVENT | W_RAW, L_CPUS, "counts that it is the sum of: of CPUs, PMUs or tasks" },
	{ NULL, "runs", S_SCALAR, U_NONE, W_EVENT | BOTH | W_SPARSE, L_RUNS, "turns of its set" },
	{ NULL, "active", S_SCALAR, U_NANO, W_EVENT | BOTH | W_SPARSE, L_ACTIVE, "how long these were, in all" },
	{ NULL, "timeout", S_SCALAR, U_NANO, W_EVENT | BOTH | W_SPARSE, L_TIMEOUT, "how long a turn is, as the timer can do it" },
	{ NULL, "count", S_SCALAR, U_NONE, W_EVENT | W_RAW, L_COUNT, "as counted: neither scaled nor in a unit" },
	{ NULL, "enabled", S_SCALAR, U_NS, W_EVENT | W_RAW, L_ENABLED, "time enabled, of all its CPUs and tasks" },
	{ NULL, "runtime", S_SCALAR, U_NS, W_EVENT | W_RAW, L_RUNTIME, "time counted, of all its CPUs and tasks" },
	{ NULL, "dev", S_SCALAR, U_NONE, LIVES | BOTH | W_TABLE | W_ID | W_LABEL, L_DEV, "its primary node, else its render node, else accelN" },
	{ NULL, "driver", S_SCALAR, U_NONE, W_DEVICE | W_CLIENT | W_FDINFO | BOTH | W_TABLE | W_ID, L_DRIVER, "kernel driver" },
	{ NULL, "pdev", S_SCALAR, U_NONE, W_DEVICE | W_CLIENT | W_FDINFO | BOTH | W_ID, L_PDEV, "PCI slot" },
	{ NULL, "client", S_SCALAR, U_NONE, W_CLIENT | W_FDINFO | BOTH | W_TABLE | W_ID | W_LABEL, L_CLIENT, "drm-client-id" },
	{ NULL, "name", S_SCALAR, U_NONE, W_DEVICE | W_CLIENT | W_FDINFO | BOTH, L_NAME, "the device's model, the client's own name" },
	{ NULL, "pid", S_SCALAR, U_NONE, W_CLIENT | BOTH | W_TABLE | W_ID | W_LABEL, L_PID, "its oldest holder" },
	{ NULL, "comm", S_SCALAR, U_NONE, W_CLIENT | BOTH | W_TABLE | W_ID | W_LABEL, L_COMM, "that process' name" },
	{ "pids", NULL, S_LIST, U_NONE, W_CLIENT | BOTH | W_ASKED, L_PIDS, "all processes that hold it" },
	{ NULL, "cgroup", S_SCALAR, U_NONE, W_CLIENT | BOTH | W_ID, L_CGROUP, "path in the cgroup tree" },
	{ NULL, "cgroup", S_SCALAR, U_NONE, W_CGROUP | BOTH | W_ID | W_LABEL, L_CGROUP, "path in the cgroup tree" },
	{ NULL, "container", S_SCALAR, U_NONE, W_CLIENT | W_CGROUP | BOTH, L_CONTAINER, "container id that the path shows" },
	{ NULL, "state", S_SCALAR, U_NONE, W_DEVICE | BOTH | W_TABLE, L_STATE, "power/runtime_status" },
	{ "nodes", NULL, S_LIST, U_NONE, W_DEVICE | W_LIST, L_NODES, "its device nodes" },
	{ NULL, "clients", S_SCALAR, U_NONE, W_DEVICE | W_CGROUP | BOTH | W_TABLE, L_CLIENTS, "DRM clients" },
	{ NULL, "unreadable", S_SCALAR, U_NONE, W_DEVICE | BOTH | W_RUN, L_UNREADABLE, "processes that may not be read" },
	{ NULL, "dropped", S_SCALAR, U_NONE, W_DEVICE | BOTH | W_RUN, L_DROPPED, "clients, engines, regions beyond the tables" },
	{ NULL, "busy", S_SCALAR, U_PERCENT, W_DEVICE | BOTH | W_TABLE, L_BUSY, "the kernel's figure for the whole device" },
	{ NULL, "idle", S_SCALAR, U_PERCENT, W_DEVICE | BOTH, L_IDLE, "time in the deepest sleep (rc6, gtidle)" },

	{ NULL, "used", S_SCALAR, U_BYTES, ALL | BOTH | W_SPARSE, L_USED, "memory in use: video memory if it has any; all on APUs" },

	{ "engine", "busy", S_BOTH, U_PERCENT, LIVES | W_LIVE | W_TABLE, L_ENGINE_BUSY, "busy time, of the engine's capacity" },
	{ "engine", "busy", S_BOTH, U_PERCENT, ALL | W_RAW | W_SPARSE, D_BUSY_PCT, "amdgpu before 5.19" },
	{ "engine", "busy_ns", S_BOTH, U_NS, ALL | W_RAW | W_SPARSE | W_TOTAL, D_BUSY_NS, "busy time since the start" },
	{ "engine", "cycles", S_BOTH, U_NONE, ALL | W_RAW | W_SPARSE | W_TOTAL, D_CYCLES, "busy cycles since the start" },
	{ "engine", "total_cycles", S_BOTH, U_NONE, ALL | W_RAW | W_SPARSE | W_TOTAL, D_TOTAL_CYCLES, "all cycles since the start" },
	{ "engine", "capacity", S_BOTH, U_NONE, ALL | BOTH, D_CAPACITY, "engines of this kind" },
	{ "engine", "util", S_BOTH, U_PERCENT, LIVES | W_LIVE, L_ENGINE_UTIL, "cycles, of those at the highest frequency" },
	{ "engine", "freq", S_BOTH, U_HZ, LIVES | W_LIVE, L_ENGINE_FREQ, "mean clock while busy" },
	{ "engine", "maxfreq", S_BOTH, U_HZ, ALL | BOTH | W_SPARSE, D_MAXFREQ, "highest clock" },
	{ "engine", "curfreq", S_BOTH, U_HZ, ALL | BOTH | W_SPARSE, D_CURFREQ, "present clock" },

	{ "memory", "total", S_BOTH, U_BYTES, ALL | BOTH, D_TOTAL, "all buffers" },
	{ "memory", "shared", S_BOTH, U_BYTES, ALL | BOTH, D_SHARED, "of these shared with another client" },
	{ "memory", "resident", S_BOTH, U_BYTES, ALL | BOTH | W_TABLE, D_RESIDENT, "in memory now; in sums less shared" },
	{ "memory", "purgeable", S_BOTH, U_BYTES, ALL | BOTH, D_PURGEABLE, "may be dropped" },
	{ "memory", "active", S_BOTH, U_BYTES, ALL | BOTH, D_ACTIVE, "in use by an engine" },

	{ "vram", "total", S_MEMBER, U_BYTES, W_DEVICE | BOTH, D_VRAM_TOTAL, "the driver's own figure" },
	{ "vram", "used", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_TABLE, D_VRAM_USED, "the driver's own figure" },
	{ "visible", "total", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE, D_VISIBLE_TOTAL, "VRAM that the CPU can reach" },
	{ "visible", "used", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE, D_VISIBLE_USED, "VRAM that the CPU can reach" },
	{ "preempt", "used", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE, D_PREEMPT_USED, "buffers of preempted work" },
	{ "gtt", "total", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE, D_GTT_TOTAL, "main memory for the GPU" },
	{ "gtt", "used", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE, D_GTT_USED, "main memory for the GPU" },

	{ "freq", "cur", S_BOTH, U_HZ, W_DEVICE | BOTH | W_TABLE, D_FREQ_CUR, "present clock; i915, xe: requested" },
	{ "freq", "act", S_BOTH, U_HZ, W_DEVICE | BOTH | W_SPARSE, D_FREQ_ACT, "actual clock, 0 while asleep" },
	{ "freq", "target", S_BOTH, U_HZ, W_DEVICE | BOTH | W_SPARSE, D_FREQ_TARGET, "what the governor asked for" },
	{ "freq", "avg", S_BOTH, U_HZ, W_DEVICE | W_LIVE | W_SPARSE, L_FREQ_AVG, "mean over the interval (devfreq)" },
	{ "freq", "min", S_BOTH, U_HZ, W_DEVICE | BOTH | W_SPARSE, D_FREQ_MIN, "lower limit in force" },
	{ "freq", "max", S_BOTH, U_HZ, W_DEVICE | BOTH, D_FREQ_MAX, "upper limit in force" },
	{ "freq", "boost", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE, D_FREQ_BOOST, "clock for waiting clients" },
	{ "freq", "rp0", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE, D_FREQ_RP0, "hardware's highest" },
	{ "freq", "rp1", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE, D_FREQ_RP1, "hardware's most efficient" },
	{ "freq", "rpa", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE, D_FREQ_RPA, "hardware's achievable" },
	{ "freq", "rpe", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE, D_FREQ_RPE, "hardware's most efficient" },
	{ "freq", "rpn", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE, D_FREQ_RPN, "hardware's lowest" },

	{ "load", NULL, S_INST, U_PERCENT, W_DEVICE | BOTH | W_SPARSE, D_LOAD, "other meters: memory, video, NPU cores" },
	{ "temp", NULL, S_INST, U_CELSIUS, W_DEVICE | BOTH | W_TABLE, D_TEMP, "temperature" },
	{ "power", NULL, S_INST, U_WATT, W_DEVICE | BOTH | W_TABLE, D_POWER, "power; from energy where that is all there is" },
	{ "energy", NULL, S_INST, U_JOULE, W_DEVICE | BOTH | W_TOTAL, D_ENERGY, "energy since the start" },
	{ "fan", NULL, S_INST, U_RPM, W_DEVICE | BOTH | W_TABLE, D_FAN, "fan speed" },
	{ "pwm", NULL, S_INST, U_NONE, W_DEVICE | BOTH | W_SPARSE, D_PWM, "fan control, 0 to 255" },
	{ "volt", NULL, S_INST, U_VOLT, W_DEVICE | BOTH, D_VOLT, "voltage" },
	{ "current", NULL, S_INST, U_AMPERE, W_DEVICE | BOTH | W_SPARSE, D_CURRENT, "current" },
	{ "throttle", NULL, S_LIST, U_NONE, W_DEVICE | BOTH, D_THROTTLE, "reasons to throttle now" },
	{ "link", "speed", S_MEMBER, U_GTS, W_DEVICE | BOTH, D_LINK_SPEED, "PCIe" },
	{ "link", "width", S_MEMBER, U_NONE, W_DEVICE | BOTH, D_LINK_WIDTH, "PCIe lanes" },
	{ "link", "max_speed", S_MEMBER, U_GTS, W_DEVICE | W_LIST, D_LINK_MAX_SPEED, "PCIe" },
	{ "link", "max_width", S_MEMBER, U_NONE, W_DEVICE | W_LIST, D_LINK_MAX_WIDTH, "PCIe lanes" },
	{ "runtime", "active", S_MEMBER, U_MS, W_DEVICE | W_LIST | W_SPARSE, D_ACTIVE_MS, "time awake" },
	{ "runtime", "suspended", S_MEMBER, U_MS, W_DEVICE | W_LIST | W_SPARSE, D_SUSPENDED_MS, "time asleep" },
	{ "power_limit", "cap", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE, D_POWER_CAP, "in force" },
	{ "power_limit", "max", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE, D_POWER_MAX, "highest that may be set" },
	{ "power_limit", "default", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE, D_POWER_DEFAULT, "as shipped" },
	{ "power_limit", "rated", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE, D_POWER_RATED, "as designed" },
	{ "power_limit", "crit", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE, D_POWER_CRIT, "the hardware steps in" },
	{ "temp_limit", "max", S_BOTH, U_CELSIUS, W_DEVICE | W_LIST | W_SPARSE, D_TEMP_MAX, "highest wanted" },
	{ "temp_limit", "crit", S_BOTH, U_CELSIUS, W_DEVICE | W_LIST | W_SPARSE, D_TEMP_CRIT, "the hardware throttles" },
	{ "temp_limit", "emergency", S_BOTH, U_CELSIUS, W_DEVICE | W_LIST | W_SPARSE, D_TEMP_EMERGENCY, "the hardware stops" },
	{ "fan_limit", NULL, S_INST, U_RPM, W_DEVICE | W_LIST | W_SPARSE, D_FAN_MAX, "highest speed" },
	{ "facts", NULL, S_INST, U_NONE, W_DEVICE | W_LIST, L_FACTS, "PCI ids and other words that do not change" },
	{ "missing", NULL, S_INST, U_NONE, W_DEVICE | W_LIST, L_MISSING, "what the device cannot tell, and why" },

	{ "other", NULL, S_INST, U_NONE, W_CLIENT | W_FDINFO | BOTH, L_OTHER, "keys that the standard does not know" },
	{ NULL, "skipped", S_SCALAR, U_NONE, W_CLIENT | W_FDINFO | BOTH, L_SKIPPED, "malformed lines" },
	{ NULL, "dropped", S_SCALAR, U_NONE, W_CLIENT | W_CGROUP | W_FDINFO | BOTH, L_DROPPED, "values beyond the tables" },
};
const size_t ncolumns = LEN(columns);
_Static_assert(LEN(columns) < 256, "plans number them in a byte");

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

/* A field with no value yet. Scalars always find room, since there are fewer of them than columns. */
static struct field *add_null(struct record *r, const struct column *c, struct str inst)
{
	struct field *f = &r->f[r->n];

	if (r->n >= (c->shape == S_SCALAR ? MAX_FIELDS : MAX_FIELDS - ncolumns)) {
		r->lost++;
		return NULL;
	}
	f->col = c;
	f->inst = inst;
	f->v.type = V_NULL; /* all of it at once would be a loop over 80 bytes */
	f->v.unit = f->v.point = 0;
	f->v.neg = f->empty = false;
	r->n++;
	return f;
}

static struct field *add(struct record *r, const struct column *c, struct str inst, struct val v)
{
	struct field *f = add_null(r, c, inst);

	if (f)
		f->v = v;
	return f;
}

static void add_empty(struct record *r, const struct column *c)
{
	struct field *f = add(r, c, (struct str){ 0 }, (struct val){ 0 });

	if (f)
		f->empty = true;
}

static struct val v_int(u64 n, u8 unit)
{
	return (struct val){ .type = V_INT, .unit = unit, .n = n };
}

static struct val v_time(i64 us)
{
	return us < 0 ? (struct val){ 0 } : (struct val){ .type = V_TIME, .unit = U_SECONDS, .n = (u64)us };
}

static struct val v_str(struct str s)
{
	return s.p ? (struct val){ .type = V_TEXT, .s = s } : (struct val){ 0 };
}

/* A label of a device: "" is unknown. */
static struct val v_label(const char *z)
{
	return z[0] ? v_str(str_z(z)) : (struct val){ 0 };
}

static struct val v_counter(u64 v, const struct column *c)
{
	struct val x = v_int(v, c->unit);

	if (is_signed(c->id) && v > INT64_MAX) {
		x.neg = true;
		x.n = -v;
	}
	return x;
}

/* A stored text, copied beside the record. */
static struct str text_of(struct record *r, u32 text)
{
	char *p = r->text + r->text_n;

	if (text == NONE)
		return (struct str){ 0 };
	r->text_n += text_copy(text, p, REC_TEXT - r->text_n);
	return (struct str){ p, r->text + r->text_n };
}

static u32 cgroup_of(const struct entity *e)
{
	const struct task *owner;

	if (e->kind == K_CGROUP)
		return cgroups[group_of(e)->cgroup].path;
	owner = client_owner(client_of(e));
	return owner ? cgroups[owner->cgroup].path : NONE;
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

static struct val who(struct record *r, const struct entity *e, u8 id)
{
	const struct client *c = client_of(e);
	const struct task *owner = e->kind == K_CLIENT ? client_owner(c) : NULL;

	switch (id) {
	case L_CLIENT:
		return c->keykind == KEY_ID ? v_int(c->key, U_NONE) : (struct val){ 0 };
	case L_PID:
		return owner ? v_int(owner->pid, U_NONE) : (struct val){ 0 };
	case L_COMM:
		return owner && owner->has_comm ?
			v_str((struct str){ owner->comm, owner->comm + owner->comm_len }) : (struct val){ 0 };
	case L_CGROUP:
		return v_str(text_of(r, cgroup_of(e)));
	case L_CONTAINER: {
		struct str id64 = parse_container(text_of(r, cgroup_of(e)));

		return v_str(id64);
	}
	case L_SKIPPED:
		return v_int(c->skipped, U_NONE);
	default:
		return (struct val){ 0 };
	}
}

static struct val of_device(struct record *r, const struct entity *e, u8 id)
{
	const struct device *d = device_of(e);
	u64 v;

	switch (id) {
	case L_DEV:    return v_label(d->dev);
	case L_DRIVER: return v_label(d->driver);
	case L_PDEV:   return v_label(d->pdev);
	case L_NAME:
		return e->kind == K_DEVICE ? v_label(d->name) : v_str(text_of(r, client_of(e)->name));
	case L_STATE:  return v_label(d->state);
	case L_CLIENTS:
		if (e->kind == K_CGROUP)
			return v_int(group_of(e)->clients, U_NONE);
		return d->clients || !d->anonymous ? v_int(d->clients, U_NONE) : (struct val){ 0 };
	case L_UNREADABLE:
		return v_int(reg_unreadable, U_NONE);
	case L_DROPPED:
		return v_int(e->dropped + r->lost + (e->kind == K_DEVICE ? reg_dropped : 0), U_NONE);
	case L_BUSY:
		return device_busy(d, &v) ? v_int(v, U_PERCENT) : (struct val){ 0 };
	case L_USED:
		return entity_used(e, d->apu, &v) ? v_int(v, U_BYTES) : (struct val){ 0 };
	case L_IDLE:
		return device_idle(d, &v) ? v_int(v, U_PERCENT) : (struct val){ 0 };
	default:
		return (struct val){ 0 };
	}
}

static const struct evrow *row_of(const struct entity *e)
{
	return (const struct evrow *)(const void *)e;
}

/* Where it was counted: numbers below 0 and 0 itself are "everywhere". */
static struct val v_number(i64 n, i64 least)
{
	return n < least ? (struct val){ 0 } : v_int((u64)n, U_NONE);
}

static struct val site_field(struct record *r, const struct evrow *row, u8 id)
{
	const struct site *s = &sites[row->site];

	switch (id) {
	case L_CPU:    return v_number(s->cpu, 0);
	case L_CORE:   return v_number(s->core, 0);
	case L_SOCKET: return v_number(s->socket, 0);
	case L_PID:    return v_number(s->pid, 1);
	case L_TID:    return v_number(s->tid, 1);
	case L_COMM:   return v_str(text_of(r, s->comm));
	default:       return v_str(text_of(r, s->cgroup));
	}
}

static struct val event_value(const struct evrow *row)
{
	struct val v = v_int(row->value, U_NONE);

	v.point = row->point;
	v.neg = row->neg;
	return row->state == CS_COUNTED ? v : (struct val){ 0 };
}

static struct val event_field(struct record *r, const struct entity *e, u8 id)
{
	const struct evrow *row = row_of(e);
	const struct event *ev = &events[row->event];
	const struct evset *set = &evsets[ev->set];
	u64 active = (u64)(set->active - set->active_was);

	switch (id) {
	case L_EVENT:     return v_str(text_of(r, ev->name));
	case L_SET:       return v_str(text_of(r, set->name));
	case L_SET_ID:    return set->name ? v_int(set->id, U_NONE) : (struct val){ 0 };
	case L_VALUE:     return event_value(row);
	case L_UNIT:      return v_str(ev->unit ? text_of(r, ev->unit) : (struct str)STR(""));
	case L_RUNNING:   return row->sum.enabled ? v_int(row->share, U_PERCENT) : (struct val){ 0 };
	case L_REASON:    return row->state == CS_COUNTED ? (struct val){ 0 } : v_str(str_z(state_text(row->state)));
	case L_DEVIATION: return row->repeats > 1 ? v_int((u64)(row_deviation(row) * 100000 + 0.5), U_PERCENT) : (struct val){ 0 };
	case L_REPEATS:   return row->repeats > 1 ? v_int(row->repeats, U_NONE) : (struct val){ 0 };
	case L_RUNS:      return set->name ? v_int(set->turns - set->turns_was, U_NONE) : (struct val){ 0 };
	case L_ACTIVE:    return set->name ? v_int(active, U_NANO) : (struct val){ 0 };
	case L_TIMEOUT:   return set->name && set->timeout ? v_int((u64)set->timeout, U_NANO) : (struct val){ 0 };
	case L_CPUS:      return v_int(row->places, U_NONE);
	case L_COUNT:
		return row->state == CS_COUNTED && ev->rule != EV_LEVEL ? v_int(row->sum.value, U_NONE) : (struct val){ 0 };
	case L_ENABLED:   return v_int(row->sum.enabled, U_NS);
	case L_RUNTIME:   return v_int(row->sum.running, U_NS);
	default:          return site_field(r, row, id);
	}
}

static const struct sample *sample_of(const struct entity *e)
{
	return (const struct sample *)(const void *)e;
}

static const struct profile *profile_of(const struct entity *e)
{
	return (const struct profile *)(const void *)e;
}

/* What was put together behind the record's texts; nothing where it found no room. */
static struct val v_made(struct record *r, const struct buf *b)
{
	if (b->full) {
		r->lost++;
		return (struct val){ 0 };
	}
	r->text_n += b->n;
	return v_str((struct str){ b->p, b->p + b->n });
}

static struct val v_hex(struct record *r, u64 v)
{
	struct buf b = { .p = r->text + r->text_n, .cap = REC_TEXT - r->text_n };

	put_hex64(&b, v);
	return v_made(r, &b);
}

static struct val v_name(struct str s)
{
	return v_str(s.p < s.e ? s : (struct str){ 0 });
}

/* symbol+0x1f, or nothing where it is not known. */
static struct val v_symbol(struct record *r, const struct frame *f)
{
	struct buf b = { .p = r->text + r->text_n, .cap = REC_TEXT - r->text_n };

	if (f->symbol.p >= f->symbol.e)
		return (struct val){ 0 };
	put_str(&b, f->symbol);
	if (f->offset) {
		put_c(&b, '+');
		put_hex64(&b, f->offset);
	}
	return v_made(r, &b);
}

static struct val sample_field(struct record *r, const struct sample *s, u8 id)
{
	static const char *const modes[PM_MODES] = {
		[PM_KERNEL] = "kernel", [PM_USER] = "user", [PM_HV] = "hypervisor",
		[PM_GUEST_KERNEL] = "guest-kernel", [PM_GUEST_USER] = "guest-user",
	};
	const struct prec *p = s->r;

	switch (id) {
	case L_EVENT:  return v_str(s->event ? text_of(r, events[s->event].name) : (struct str){ 0 });
	case L_CPU:    return p->have & PS_CPU ? v_int(p->cpu, U_NONE) : (struct val){ 0 };
	case L_PID:    return p->have & PS_TID ? v_int(p->pid, U_NONE) : (struct val){ 0 };
	case L_TID:    return p->have & PS_TID ? v_int(p->tid, U_NONE) : (struct val){ 0 };
	case L_COMM:   return v_name(s->comm);
	case L_MODE:   return v_str(p->mode < PM_MODES && s->event ? str_z(modes[p->mode]) : (struct str){ 0 });
	case L_IP:     return p->have & PS_IP ? v_hex(r, p->ip) : (struct val){ 0 };
	case L_ADDR:   return p->have & PS_ADDR && p->addr ? v_hex(r, p->addr) : (struct val){ 0 };
	case L_SYMBOL: return v_symbol(r, &s->at);
	case L_MODULE: return v_name(s->at.module);
	case L_PERIOD: return s->period ? v_int(s->period, U_NONE) : (struct val){ 0 };
	case L_LOST:   return p->lost ? v_int(p->lost, U_NONE) : (struct val){ 0 };
	default:       return (struct val){ 0 };
	}
}

static struct val profile_field(struct record *r, const struct profile *p, u8 id)
{
	static const char *const by[PROF_TABLES] = { [PROF_COMM] = "comm", [PROF_SYMBOL] = "symbol", [PROF_IP] = "ip",
						     [PROF_STACK] = "stack" };

	switch (id) {
	case L_BY:      return v_str(str_z(by[p->table]));
	case L_NAME:    return v_name(p->row->name);
	case L_IP:      return p->table == PROF_IP ? v_hex(r, p->row->ip) : (struct val){ 0 };
	case L_MODULE:  return v_name(p->row->module);
	case L_PERIOD:  return v_int(p->row->period, U_NONE);
	case L_SAMPLES: return v_int(p->row->samples, U_NONE);
	default:
		/* rounded: the sum of all is 100 */
		return v_int((muldiv(p->row->period, 200000, profile_period[p->table]) + 1) / 2, U_PERCENT);
	}
}

/* The counts of a sample's group, each under its event's name. */
static void add_values(struct record *r, const struct column *c, const struct sample *s)
{
	for (u32 i = 0; i < s->ngroup; i++)
		add(r, c, text_of(r, events[s->group[i].event].name), v_int(s->group[i].count, U_NONE));
}

static void add_chain(struct record *r, const struct column *c, const struct sample *s)
{
	for (u32 i = 0; i < s->nchain; i++) {
		u32 lost = r->lost;
		struct val v = v_symbol(r, &s->chain[i]);

		if (v.type == V_NULL)
			v = v_hex(r, s->chain[i].ip);
		r->lost = v.type == V_NULL ? lost + 1 : lost;
		if (v.type != V_NULL)
			add(r, c, (struct str){ 0 }, v);
	}
	if (s->nchain == 0)
		add_empty(r, c);
}

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
static struct str event_label(struct record *r, const struct evrow *row)
{
	const struct event *ev = &events[row->event];
	struct buf b = { .p = r->text + r->text_n, .cap = REC_TEXT - r->text_n };
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
	r->text_n += b.n;
	return (struct str){ b.p, b.p + b.n };
}

static const struct oarow *oarow_of(const struct entity *e)
{
	return (const struct oarow *)(const void *)e;
}

static struct val oa_freq(const struct oarow *w)
{
	bool known = w->slots && !w->stored && w->head->has_ticks && w->ts_hz && w->slots[OA_TIME];

	return known ? v_int(muldiv(w->slots[OA_CLOCK], w->ts_hz, w->slots[OA_TIME]), U_HZ) : (struct val){ 0 };
}

static struct val v_clock(u64 hz)
{
	return hz ? v_int(hz, U_HZ) : (struct val){ 0 };
}

static struct val oa_field(const struct oarow *w, u8 id)
{
	const struct oareport *h = w->head;

	if (w->sum && (id == L_REASON || id == L_ID || id == L_UNSLICE || id == L_SLICE))
		return (struct val){ 0 };
	switch (id) {
	case L_DEV:      return v_name(w->dev);
	case L_SET:      return v_name(w->set);
	case L_INDEX:    return v_int(w->index, U_NONE);
	case L_REASON:   return h ? v_str(str_z(oareason_names[h->reason])) : (struct val){ 0 };
	case L_CTX:      return w->has_ctx ? v_int(w->ctx, U_NONE) : (struct val){ 0 };
	case L_TS:       return h ? v_int(h->ts, U_NONE) : (struct val){ 0 };
	case L_CPU_TIME: return w->has_cpu_time ? v_int(w->cpu_time, U_NS) : (struct val){ 0 };
	case L_TICKS:    return w->slots && h->has_ticks ? v_int(w->slots[OA_CLOCK], U_NONE) : (struct val){ 0 };
	case L_OA_FREQ:  return oa_freq(w);
	case L_LOST:     return v_int(w->lost, U_NONE);
	case L_REPORTS:  return v_int(w->reports, U_NONE);
	case L_ID:       return h ? v_int(h->id, U_NONE) : (struct val){ 0 };
	case L_UNSLICE:  return v_clock(h ? h->unslice_hz : 0);
	default:         return v_clock(h ? h->slice_hz : 0);
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
	struct buf b = { .p = r->text + r->text_n, .cap = REC_TEXT - r->text_n };
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
	*v = v_made(r, &b);
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
		struct buf b = { .p = r->text + r->text_n, .cap = REC_TEXT - r->text_n };

		if (!oaslot_name(w->raw->format, i, &b))
			continue;
		r->text_n += b.n;
		add(r, c, (struct str){ b.p, b.p + b.n }, w->slots ? v_int(w->slots[i], U_NONE) : (struct val){ 0 });
	}
}

static void add_oacounters(struct record *r, const struct column *c, const struct oarow *w)
{
	if (w->raw) {
		add_oaslots(r, c, w);
		return;
	}
	for (u32 i = 0; w->prog && i < w->prog->n; i++) {
		const struct oacounter *k = &w->prog->counters[i];
		struct field *f = k->wanted ? add_null(r, c, k->name) : NULL;

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

static const struct reading *reading_of(const struct entity *e)
{
	return (const struct reading *)(const void *)e;
}

static struct val v_signed(i64 n, u8 unit)
{
	return (struct val){ .type = V_INT, .unit = unit, .neg = n < 0, .n = n < 0 ? -(u64)n : (u64)n };
}

static struct val v_limit(i64 n)
{
	return n == INT64_MAX || n == INT64_MIN ? (struct val){ 0 } : v_signed(n, U_NONE);
}

/* C's float, in the nine digits that it takes to tell it from its neighbours. */
static struct val v_scale(i64 max)
{
	double d = (double)(100.0f / (float)max);
	struct val v = v_int(0, U_NONE);

	if (max <= 0 || max == INT64_MAX)
		return (struct val){ 0 };
	for (; d < 1e8; v.point++)
		d *= 10;
	for (v.n = (u64)(d + 0.5); v.point && v.n % 10 == 0; v.point--)
		v.n /= 10;
	return v;
}

static struct val counter_field(const struct picked *t, u8 id)
{
	const struct named *c = t->counter;

	switch (id) {
	case L_INDEX:  return v_int(t->index, U_NONE);
	case L_VENDOR: return v_str(str_z(c->vendor));
	case L_NAME:   return v_str(str_z(c->name));
	case L_VALUE:  return c->known ? v_signed(c->value, U_NONE) : (struct val){ 0 };
	case L_UNIT:   return v_str(str_z(c->unit));
	case L_MIN:    return v_limit(c->min);
	case L_MAX:    return v_limit(c->max);
	case L_SCALE:  return v_scale(c->max);
	default:       return v_str(str_z(c->what));
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
static void add_picked(struct record *r, const struct column *c, const struct reading *of)
{
	for (size_t i = 0; i < of->n; i++) {
		const struct named *k = of->picked[i].counter;
		struct field *f = add_null(r, c, of->picked[i].title);

		if (!f || !k)
			continue;
		f->v = v_signed(k->value, unit_named(k->unit));
		f->v.type = k->known ? V_INT : V_NULL; /* the unit says how wide its column is, all the same */
	}
}

static const struct probed *probed_of(const struct entity *e)
{
	return (const struct probed *)(const void *)e;
}

static struct val source_field(const struct probed *p, u8 id)
{
	static const char *const statuses[] = { "ok", "denied", "absent" };

	switch (id) {
	case L_SOURCE: return v_label(p->source);
	case L_STATUS: return v_label(statuses[p->status]);
	case L_OK:     return p->status == PROBE_ABSENT ? (struct val){ 0 } : v_int(p->status == PROBE_OK, U_NONE);
	case L_DETAIL: return v_label(p->detail);
	default:       return v_label(p->remedy);
	}
}

static struct val scalar(struct record *r, const struct entity *e, const struct recopts *o, u8 id)
{
	switch (id) {
	case L_SCHEMA: return v_int(1, U_NONE);
	case L_KIND:   return v_str(str_z(kind_names[r->kind]));
	case L_TIME:   return v_time(o->time_us);
	case L_FILE:   return v_str(str_z(o->file));
	case L_SUMMARY: return v_str(str_z(o->summary));
	default:
		break;
	}
	if (e->kind == K_EVENT)
		return id == L_DT ? v_time(o->dt_us) : event_field(r, e, id);
	if (e->kind == K_SAMPLE)
		return sample_field(r, sample_of(e), id);
	if (e->kind == K_PROFILE)
		return profile_field(r, profile_of(e), id);
	if (e->kind == K_OA)
		return id == L_DT ? v_time(o->dt_us) : oa_field(oarow_of(e), id);
	if (e->kind == K_COUNTER || e->kind == K_COUNTERS)
		return id == L_DT ? v_time(o->dt_us) : counter_field(reading_of(e)->picked, id);
	if (e->kind == K_SOURCE)
		return source_field(probed_of(e), id);
	switch (id) {
	case L_DT:     return v_time(own_dt(e, o));
	case L_CLIENT: case L_PID: case L_COMM: case L_CGROUP: case L_CONTAINER: case L_SKIPPED:
		return who(r, e, id);
	default:
		return of_device(r, e, id);
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

	return reg_get(e, desc <= D_ACTIVE && sums[desc] && !reg_find(e, desc, inst) ? sums[desc] : desc, inst, v);
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
	case L_FREQ_AVG:
		if (!reg_rate(e, D_FREQ_SPENT, inst, &d, &dt))
			return false;
		*v = muldiv(d, 1000000000, dt); /* kHz x ms per ns */
		return true;
	case D_CAPACITY:
		if (!reg_get(e, id, inst, v))
			*v = 1; /* "In the absence of this tag parser shall assume capacity of one" */
		return true;
	case D_POWER:
		if (reg_get(e, id, inst, v))
			return true;
		if (!reg_rate(e, D_ENERGY, inst, &d, &dt))
			return false;
		*v = muldiv(d, 1000000000, dt);
		return true;
	default:
		return own_or_sum(e, id, inst, v);
	}
}

/* Whether a counter of this desc makes its instance one of the group that column c begins. */
static bool in_group(u8 desc, const struct column *c, const struct column *end)
{
	if (strcmp(c->group, "engine") == 0)
		return is_engine(desc);
	if (strcmp(c->group, "memory") == 0)
		return is_region(desc);
	for (; c < end; c++)
		if (c->id == desc || (c->id == D_POWER && desc == D_ENERGY) ||
		    (c->id == L_FREQ_AVG && desc == D_FREQ_SPENT))
			return true;
	return false;
}

static bool wanted(const struct column *c, const struct record *r, const struct recopts *o)
{
	u32 mode = o->list ? W_LIVE | W_LIST : o->raw ? W_RAW : W_LIVE;

	return c->when & 1u << r->kind && (c->when & mode || (o->both && c->when & W_TOTAL));
}

static void add_group(struct record *r, const struct entity *e, const struct column *c,
		      const struct column *end, const struct recopts *o)
{
	static u32 marks[MAX_INSTANCES], mark; /* which instances this group has already */
	size_t before = r->n;
	bool sparse = true;

	mark++;
	for (struct counter *k = reg_first(e); k; k = reg_next(k)) {
		if (marks[k->inst] == mark || !in_group(k->desc, c, end))
			continue;
		marks[k->inst] = mark;
		for (const struct column *m = c; m < end; m++) {
			u64 v;
			bool known;

			if (!wanted(m, r, o))
				continue;
			known = counter_value(e, m->id, k->inst, o, &v);
			/* A dump's absent keys stay absent. */
			if (known || !(m->when & W_SPARSE || (r->kind == K_FDINFO && is_region(m->id))))
				add(r, m, inst_name(k->inst), known ? v_counter(v, m) : (struct val){ 0 });
		}
	}
	for (const struct column *m = c; m < end; m++)
		if (wanted(m, r, o))
			sparse &= !!(m->when & W_SPARSE);
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
		memmove(&r->f[i + 1], &r->f[i], (r->n - i) * sizeof(r->f[0]));
		r->f[i] = (struct field){ .col = c, .v = v_int(pid, U_NONE) };
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
			add(r, c, (struct str){ 0 }, v_str(inst_name(k->inst)));
	}
	if (r->n == from && known)
		add_empty(r, c);
	else if (r->n == from)
		add(r, c, (struct str){ 0 }, (struct val){ 0 });
}

static void add_nodes(struct record *r, const struct column *c, const struct device *d)
{
	const i32 numbers[] = { d->card, d->render, d->accel };
	static const char *const names[] = { "card", "renderD", "accel" };
	size_t from = r->n;

	for (size_t i = 0; i < LEN(numbers); i++) {
		struct buf b = { .p = r->text + r->text_n, .cap = REC_TEXT - r->text_n };

		if (numbers[i] < 0)
			continue;
		put_z(&b, names[i]);
		put_u64(&b, (u64)numbers[i]);
		r->text_n += b.n;
		add(r, c, (struct str){ 0 }, v_str((struct str){ b.p, b.p + b.n }));
	}
	if (r->n == from)
		add_empty(r, c);
}

static void add_list(struct record *r, const struct entity *e, const struct column *c)
{
	if (c->id == L_CHAIN)
		add_chain(r, c, sample_of(e));
	else if (c->id == L_PIDS)
		add_pids(r, c, client_of(e));
	else if (c->id == L_NODES)
		add_nodes(r, c, device_of(e));
	else
		add_throttle(r, c, e);
}

static bool has_key(struct str text, struct str key)
{
	struct str line, other;

	while (line_next(&text, &line))
		if (str_cut(&line, ':', &other) && str_eq(other, key))
			return true;
	return false;
}

enum { MAX_OTHER = 512 }; /* the chattiest driver has 6 */

/* Lines "key:value" as the source keeps them. */
static void add_lines(struct record *r, const struct column *c, u32 lines)
{
	struct str text = text_of(r, lines), line, key;
	size_t from = r->n;

	while (line_next(&text, &line)) {
		str_cut(&line, ':', &key);
		if (r->n - from >= MAX_OTHER)
			r->lost++;
		else if (!has_key(text, key)) /* the last of two counts */
			add(r, c, key, v_str(line));
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
		add(r, c, str_z(wants[i]), v_str(str_z(why)));
	}
	if (r->n == from)
		add_empty(r, c);
}

static void add_inst(struct record *r, const struct entity *e, const struct column *c,
		     const struct column *end, const struct recopts *o)
{
	if (c->id == L_OA_COUNTERS)
		add_oacounters(r, c, oarow_of(e));
	else if (c->id == L_COUNTERS)
		add_picked(r, c, reading_of(e));
	else if (c->id == L_VALUES)
		add_values(r, c, sample_of(e));
	else if (c->id == L_OTHER)
		add_lines(r, c, client_of(e)->other);
	else if (c->id == L_FACTS)
		add_lines(r, c, device_of(e)->facts);
	else if (c->id == L_MISSING)
		add_missing(r, e, c);
	else
		add_group(r, e, c, end, o);
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

/* A group is made whole: what it is asked for are its instances. */
static bool is_chosen(const struct column *c, u8 kind)
{
	bool is = choice.n == 0 || choice.kind != kind || c->shape == S_INST || c->shape == S_BOTH || c->when & (W_LABEL | W_ID);

	for (size_t i = 0; i < choice.n && !is; i++) {
		struct str p = choice.patterns[i];

		is = c->group ? eat(&p, str_z(c->group)) : str_eq(p, str_z(c->member));
	}
	return is;
}

/* The groups of columns that records of a kind have, found once for each kind and way of reading. */
static struct plan {
	bool made;
	u8 n;
	u8 from[LEN(columns)], to[LEN(columns)];
} plans[K_COUNT][4];

static const struct plan *plan_of(const struct record *r, const struct recopts *o)
{
	struct plan *p = &plans[r->kind][o->list ? 2 : o->both ? 3 : o->raw];

	if (p->made)
		return p;
	p->made = true;
	for (const struct column *c = columns, *end; c < columns + ncolumns; c = end) {
		bool any = false;

		end = c->shape == S_INST || c->shape == S_BOTH ? group_end(c) : c + 1;
		for (const struct column *m = c; m < end; m++)
			any |= wanted(m, r, o) && is_chosen(m, r->kind);
		if (!any)
			continue;
		p->from[p->n] = (u8)(c - columns);
		p->to[p->n++] = (u8)(end - columns);
	}
	return p;
}

/* Of samples: the event and the CPU. */
static struct str sample_label(struct record *r, const struct sample *s)
{
	struct buf b = { .p = r->text + r->text_n, .cap = REC_TEXT - r->text_n };
	struct site at = { .cpu = s->r->have & PS_CPU ? (i32)s->r->cpu : -1, .core = -1, .die = -1, .socket = -1 };
	struct val v;

	b.n += text_copy(events[s->event].name, b.p, b.cap);
	put_c(&b, '@');
	put_site(&b, &at);
	v = v_made(r, &b);
	return v.s;
}

void record_make(struct record *r, const struct entity *e, const struct recopts *o)
{
	const struct plan *plan;
	struct str about = { 0 };

	r->kind = e->kind;
	r->n = r->text_n = 0;
	r->lost = 0;
	r->steady = e->kind == K_OA || e->kind == K_COUNTERS;
	r->e = e;
	if (e->kind == K_EVENT)
		about = event_label(r, row_of(e));
	else if (e->kind == K_SAMPLE)
		about = sample_label(r, sample_of(e));
	else if (e->kind == K_SOURCE)
		about = str_z(probed_of(e)->source);
	else if (e->kind == K_COUNTER)
		about = str_z(reading_of(e)->picked->counter->name);
	plan = plan_of(r, o);
	for (size_t i = 0; i < plan->n; i++) {
		const struct column *c = columns + plan->from[i], *end = columns + plan->to[i];

		if (c->shape == S_LIST) {
			add_list(r, e, c);
		} else if (c->shape == S_SCALAR) {
			struct val v = scalar(r, e, o, c->id);

			if (v.type != V_NULL || !(c->when & W_SPARSE))
				add(r, c, about, v);
		} else if (c->shape == S_MEMBER) {
			u64 v;
			bool known;

			if (e->kind == K_OA) {
				add(r, c, (struct str){ 0 }, oa_field(oarow_of(e), c->id));
				continue;
			}
			known = reg_get(e, c->id, 0, &v);
			if (known || !(c->when & W_SPARSE))
				add(r, c, (struct str){ 0 }, known ? v_counter(v, c) : (struct val){ 0 });
		} else {
			add_inst(r, e, c, end, o);
		}
	}
}

/* --- asking a record ---------------------------------------------------------------------------------- */

/* The first such value that is known; of any instance. NULL: none. */
const struct val *record_get(const struct record *r, const char *group, const char *member)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct column *c = r->f[i].col;

		if (r->f[i].v.type != V_NULL && !c->group == !group && !c->member == !member &&
		    (!group || strcmp(c->group, group) == 0) && (!member || strcmp(c->member, member) == 0))
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
	const struct str parts[] = { spread ? (struct str){ 0 } : str_z(c->group), f->inst,
				     c->id == L_ENGINE_BUSY ? (struct str){ 0 } : str_z(c->member) };

	put_z(b, dev);
	for (size_t i = 0; i < LEN(parts); i++)
		if (str_len(parts[i])) {
			put_c(b, ' ');
			put_str(b, parts[i]);
		}
}
