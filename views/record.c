/* record.c - the schema: the fields of each kind of record, their order, and how they are filled
 * from the registry. Pure: no system calls. SPDX-License-Identifier: MIT */
#include "built.h"
#include "parse.h"
#include "perfstream.h"
#include "counters.h"
#include "views/views.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sources/oa/oa.h"
#include "sources/catalog/catalog.h"

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

/* Sources of the values of columns that are not counters of the registry. The numbers continue enum
 * desc, because column.id can be of either enum. */
enum label {
	L_SCHEMA = D_COUNT, L_KIND, L_SUMMARY, L_TIME, L_DT, L_FILE, L_DEV, L_DRIVER, L_PDEV,
	L_CLIENT, L_NAME, L_PID, L_COMM, L_PIDS, L_CGROUP, L_CONTAINER, L_CONTAINER_KIND, L_POD,
	L_STATE, L_NODES, L_CLIENTS, L_UNREADABLE, L_DROPPED, L_IMPLAUSIBLE, L_SKIPPED,
	L_OTHER, L_FACTS, L_MISSING,
#define COMPUTED(id, ...) L_##id,
#include "quantities.h"
	L_EVENT, L_SET, L_SET_ID, L_CPU, L_CORE, L_SOCKET,
	L_DIE, L_CLUSTER, L_CACHE, L_NODE, L_TID, L_VALUE, L_UNIT, L_RUNNING,
	L_REASON, L_DEVIATION, L_REPEATS, L_METRIC, L_METRIC_UNIT, L_STALLS, L_USER,
	L_SYSTEM,
	L_RUNS, L_ACTIVE, L_TIMEOUT, L_CPUS, L_COUNT, L_ENABLED, L_RUNTIME,
	L_MODE, L_IP, L_ADDR, L_SYMBOL, L_MODULE, L_PERIOD, L_LOST, L_VALUES, L_CHAIN, L_BY,
	L_SAMPLES, L_PERCENT,
	L_INDEX, L_CTX, L_TS, L_CPU_TIME, L_TICKS, L_OA_FREQ, L_REPORTS, L_ID, L_UNSLICE, L_SLICE,
	L_FIELDS, L_NUMBER, L_CALLS, L_ERRORS, L_TOTAL, L_MEAN, L_LONGEST,
	/* L_STALL + enum stallreason: number of EU stall samples with this reason */
	L_OA_COUNTERS, L_ALL_COUNTS, L_STALL,
	L_STALL_LAST = L_STALL + STALL_REASONS - 1,
	L_VENDOR, L_MIN, L_MAX, L_SCALE, L_WHAT, L_COUNTERS, L_SOURCE, L_STATUS, L_OK, L_DETAIL,
	L_REMEDY,
	L_COMMAND, L_FACT, /* L_FACT + enum runfact: a fact about the command of `gpustat run` */
};
_Static_assert((int)L_FACT + RUN_FACTS <= UINT8_MAX, "a column's id is a byte");

#define ALL   (LIVE | W_FDINFO)
#define EVERY (ALL | W_EVENT | W_SAMPLE | W_PROFILE | W_OA | W_COUNTER | W_COUNTERS | W_SOURCE | \
	       W_COMMAND | W_STALL | TIMES)
#define TIMES (W_LATENCY | W_SYSCALL)
#if HAS(sample)
#define KINDS K_COUNT
#define SUM_KINDS ", latency or syscall"
#else
/* a build without `sample` does not have the kinds K_LATENCY and K_SYSCALL */
#define KINDS K_LATENCY
#define SUM_KINDS ""
#endif
#define LIVE  (W_DEVICE | W_CLIENT | W_CGROUP | W_PROCESS)
#define BOTH  (W_LIVE | W_RAW)

/* WHAT(text): the description of a column, which -f help and the formats of metrics.c show. It is
 * empty in a build that has neither of these two features. */
#if HAS(help) || HAS(metrics)
#define WHAT(text) text
#else
#define WHAT(text) ""
#endif

/* The schema: all columns, in the order that their fields have in a record. The columns of a group
 * are consecutive. */
const struct column columns[] = {
	{ NULL, "schema", S_SCALAR, U_NONE, L_SCHEMA, EVERY | BOTH | W_META,
	  WHAT("version; raised if a key must change") },
	{ NULL, "kind", S_SCALAR, U_NONE, L_KIND, EVERY | BOTH | W_ID | W_EXPLICIT,
	  WHAT("device, client, cgroup, process, fdinfo, event, sample, profile, oa, counter, "
	       "source, run or stall" SUM_KINDS) },
	{ NULL, "summary", S_SCALAR, U_NONE, L_SUMMARY, LIVE | W_LIVE | W_SPARSE | W_META | W_LABEL,
	  WHAT("min, avg or max of the run (-S)") },
#if HAS(stat)
	{ NULL, "summary", S_SCALAR, U_NONE, L_SUMMARY,
	  W_EVENT | BOTH | W_SPARSE | W_META | W_LABEL, "total: of all intervals (--summary)" },
#endif
	{ NULL, "file", S_SCALAR, U_NONE, L_FILE, W_FDINFO | BOTH | W_TABLE | W_LABEL,
	  WHAT("name of the dump") },
	{ NULL, "time", S_SCALAR, U_SECONDS, L_TIME,
	  LIVE | W_EVENT | W_SAMPLE | W_OA | W_COUNTER | W_COUNTERS | W_COMMAND | W_STALL | BOTH |
	  W_ID | W_TABLE | W_EXPLICIT, WHAT("time of the sample, see -t") },
	{ NULL, "dt", S_SCALAR, U_SECONDS, L_DT,
	  LIVE | W_EVENT | W_OA | W_COUNTER | W_COUNTERS | W_COMMAND | W_STALL | BOTH | W_ID |
	  W_EXPLICIT,
	  WHAT("the interval of the rates") },
#if HAS(named)
	{ NULL, "index", S_SCALAR, U_NONE, L_INDEX, W_COUNTER | W_LIST | W_TABLE,
	  "index in the list, as in the C interface" },
	{ NULL, "vendor", S_SCALAR, U_NONE, L_VENDOR, W_COUNTER | BOTH | W_TABLE | W_LABEL,
	  "provider: linux, a driver, another program" },
	{ NULL, "name", S_SCALAR, U_NONE, L_NAME, W_COUNTER | BOTH | W_TABLE | W_ID | W_LABEL,
	  "name of the counter, as in the C interface" },
	{ NULL, "value", S_SCALAR, U_NONE, L_VALUE, W_COUNTER | BOTH | W_TABLE,
	  "integer, as in the C interface" },
	{ NULL, "unit", S_SCALAR, U_NONE, L_UNIT, W_COUNTER | BOTH | W_TABLE | W_LABEL,
	  "unit of the value; empty for a number" },
	{ NULL, "min", S_SCALAR, U_NONE, L_MIN, W_COUNTER | W_LIST | W_TABLE, "least value" },
	{ NULL, "max", S_SCALAR, U_NONE, L_MAX, W_COUNTER | W_LIST | W_TABLE,
	  "highest value; null if there is no limit" },
	{ NULL, "scale", S_SCALAR, U_NONE, L_SCALE, W_COUNTER | W_LIST | W_TABLE,
	  "factor to 0..100; null if there is no limit" },
	{ NULL, "description", S_SCALAR, U_NONE, L_WHAT, W_COUNTER | W_LIST | W_TABLE,
	  "what it is, with the unit" },
	{ "counter", NULL, S_INST, U_NONE, L_COUNTERS, W_COUNTERS | BOTH,
	  "value of each counter" },
#endif
#if HAS(oa)
	{ NULL, "dev", S_SCALAR, U_NONE, L_DEV, W_OA | W_STALL | BOTH | W_ID | W_LABEL,
	  "the GPU's primary node, else its render node" },
	{ NULL, "set", S_SCALAR, U_NONE, L_SET, W_OA | BOTH | W_LABEL, "metric set" },
	{ NULL, "index", S_SCALAR, U_NONE, L_INDEX, W_OA | BOTH | W_TABLE,
	  "number of the report or sum" },
	{ NULL, "reason", S_SCALAR, U_NONE, L_REASON, W_OA | BOTH | W_TABLE,
	  "reason for the report; not for sums" },
	{ NULL, "ctx", S_SCALAR, U_NONE, L_CTX, W_OA | BOTH | W_TABLE | W_LABEL,
	  "the hardware's number of the context" },
	{ NULL, "ts", S_SCALAR, U_NONE, L_TS, W_OA | BOTH,
	  "timestamp of the report, or of a sum's first report" },
	{ NULL, "cpu_time", S_SCALAR, U_NS, L_CPU_TIME, W_OA | BOTH,
	  "ts on the CPU's clock" },
	{ NULL, "ticks", S_SCALAR, U_NONE, L_TICKS, W_OA | BOTH | W_TABLE,
	  "GPU clocks until the next report" },
	{ NULL, "freq", S_SCALAR, U_HZ, L_OA_FREQ, W_OA | BOTH | W_TABLE,
	  "mean frequency of ticks" },
	{ NULL, "lost", S_SCALAR, U_NONE, L_LOST, W_OA | BOTH | W_TABLE,
	  "records of lost reports since the previous record" },
	{ NULL, "reports", S_SCALAR, U_NONE, L_REPORTS, W_OA | BOTH,
	  "number of summed deltas of reports" },
	{ NULL, "id", S_SCALAR, U_NONE, L_ID, W_OA | W_RAW, "the report's first word" },
	{ "clock", "unslice", S_MEMBER, U_HZ, L_UNSLICE, W_OA | W_RAW,
	  "clock outside the slices" },
	{ "clock", "slice", S_MEMBER, U_HZ, L_SLICE, W_OA | W_RAW, "clock of the slices" },
	{ "counter", NULL, S_INST, U_NONE, L_OA_COUNTERS, W_OA | BOTH | W_TABLE,
	  "value of each counter; with --raw: the report's counters" },
	{ NULL, "ip", S_SCALAR, U_NONE, L_IP, W_STALL | BOTH | W_TABLE | W_LABEL,
	  "address of the instruction; null: all instructions" },
	{ NULL, "all", S_SCALAR, U_NONE, L_ALL_COUNTS, W_STALL | BOTH | W_TABLE,
	  "sum of all counts; a sample may count for several reasons" },
#define STALL(reason, name, what) \
	{ NULL, name, S_SCALAR, U_NONE, L_STALL + ST_##reason, W_STALL | BOTH | W_TABLE, what }
	STALL(ACTIVE, "active", "samples without a stall"),
	STALL(TDR, "tdr", "stalls: a thread waits for another pixel shader (from Xe2 on)"),
	STALL(OTHER, "other", "stalls: a thread waits for a flag, its end, or another reason"),
	STALL(CONTROL, "control", "stalls: a thread waits for a branch"),
	STALL(PIPESTALL, "pipestall", "stalls: a thread is ready, but the pipeline is not"),
	STALL(SEND, "send", "stalls: a thread waits until its message is sent"),
	STALL(DIST_ACC, "dist_acc", "stalls: a thread waits for the ALU to write a register"),
	STALL(SBID, "sbid", "stalls: a thread waits for an answer: memory, a sampler"),
	STALL(SYNC, "sync", "stalls: a thread waits for other threads: a barrier"),
	STALL(INST_FETCH, "inst_fetch", "stalls: a thread waits for its next instruction"),
	{ NULL, "lost", S_SCALAR, U_NONE, L_LOST, W_STALL | BOTH | W_TABLE,
	  "times that samples were dropped since the previous record" },
#endif
#if HAS(perf)
	{ NULL, "event", S_SCALAR, U_NONE, L_EVENT,
	  W_EVENT | W_SAMPLE | BOTH | W_TABLE | W_ID | W_LABEL, "name of the event, as given" },
	{ NULL, "set", S_SCALAR, U_NONE, L_SET, W_EVENT | BOTH | W_TABLE | W_ID | W_LABEL,
	  "event set (--set)" },
	{ NULL, "set_id", S_SCALAR, U_NONE, L_SET_ID, W_EVENT | BOTH | W_ID | W_SPARSE | W_LABEL,
	  "number of the event set" },
	{ NULL, "cpu", S_SCALAR, U_NONE, L_CPU, W_EVENT | BOTH | W_TABLE | W_ID | W_LABEL,
	  "the CPU, if CPUs are separate" },
	{ NULL, "cpu", S_SCALAR, U_NONE, L_CPU, W_SAMPLE | BOTH | W_TABLE | W_ID | W_EXPLICIT,
	  "the CPU" },
	{ NULL, "core", S_SCALAR, U_NONE, L_CORE,
	  W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, "the core, with --per-core" },
	{ NULL, "socket", S_SCALAR, U_NONE, L_SOCKET,
	  W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL,
	  "the package, with --per-socket and parts of packages" },
#define SITE_PART(name, id, what) { NULL, name, S_SCALAR, U_NONE, id, \
	W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, what }
	SITE_PART("die", L_DIE, "the die, with --per-die and parts of dies"),
	SITE_PART("cluster", L_CLUSTER, "the cluster of cores, with --per-cluster"),
	SITE_PART("cache", L_CACHE, "the first CPU that has the cache, with --per-cache"),
	SITE_PART("node", L_NODE, "the NUMA node, with --per-node"),
	{ NULL, "pid", S_SCALAR, U_NONE, L_PID, W_EVENT | BOTH | W_ID | W_LABEL,
	  "the process, if threads are separate" },
	{ NULL, "pid", S_SCALAR, U_NONE, L_PID, W_SAMPLE | BOTH | W_ID | W_EXPLICIT,
	  "the process" },
	{ NULL, "tid", S_SCALAR, U_NONE, L_TID,
	  W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, "the thread, with --per-thread" },
	{ NULL, "tid", S_SCALAR, U_NONE, L_TID, W_SAMPLE | BOTH | W_TABLE | W_EXPLICIT,
	  "the thread" },
	{ NULL, "comm", S_SCALAR, U_NONE, L_COMM, W_EVENT | BOTH | W_ID | W_SPARSE | W_LABEL,
	  "name of the task" },
	{ NULL, "comm", S_SCALAR, U_NONE, L_COMM, W_SAMPLE | BOTH | W_ID | W_LABEL,
	  "name of the task" },
	{ NULL, "mode", S_SCALAR, U_NONE, L_MODE, W_SAMPLE | BOTH | W_TABLE | W_LABEL,
	  "user, kernel, hypervisor, guest-user or guest-kernel" },
	{ NULL, "by", S_SCALAR, U_NONE, L_BY, W_PROFILE | BOTH | W_TABLE | W_LABEL,
	  "comm, symbol or ip" },
	{ NULL, "name", S_SCALAR, U_NONE, L_NAME, W_PROFILE | BOTH | W_TABLE | W_LABEL,
	  "name of the program or symbol" },
	{ NULL, "ip", S_SCALAR, U_NONE, L_IP, W_SAMPLE | BOTH | W_TABLE | W_EXPLICIT,
	  "address of the instruction" },
	{ NULL, "ip", S_SCALAR, U_NONE, L_IP, W_PROFILE | BOTH | W_TABLE | W_LABEL,
	  "address of the instruction" },
	{ NULL, "addr", S_SCALAR, U_NONE, L_ADDR, W_SAMPLE | BOTH | W_TABLE | W_EXPLICIT,
	  "address of the data, where the event has one" },
	{ NULL, "symbol", S_SCALAR, U_NONE, L_SYMBOL, W_SAMPLE | BOTH | W_TABLE | W_LABEL,
	  "function and offset" },
	{ NULL, "module", S_SCALAR, U_NONE, L_MODULE, W_SAMPLE | BOTH | W_TABLE | W_EXPLICIT,
	  "file of the code" },
	{ NULL, "module", S_SCALAR, U_NONE, L_MODULE, W_PROFILE | BOTH | W_TABLE | W_LABEL,
	  "file of the code" },
	{ NULL, "period", S_SCALAR, U_NONE, L_PERIOD, W_SAMPLE | BOTH | W_TABLE | W_TOTAL,
	  "number of counts represented" },
	{ NULL, "period", S_SCALAR, U_NONE, L_PERIOD, W_PROFILE | BOTH | W_TABLE,
	  "number of counts represented" },
	{ NULL, "samples", S_SCALAR, U_NONE, L_SAMPLES, W_PROFILE | BOTH | W_TABLE,
	  "number of samples" },
	{ NULL, "percent", S_SCALAR, U_PERCENT, L_PERCENT, W_PROFILE | BOTH | W_TABLE,
	  "share of all periods" },
	{ NULL, "tid", S_SCALAR, U_NONE, L_TID, W_LATENCY | BOTH | W_TABLE | W_LABEL,
	  "the thread" },
	{ NULL, "comm", S_SCALAR, U_NONE, L_COMM, W_LATENCY | BOTH | W_TABLE | W_ID | W_LABEL,
	  "name of the task" },
	{ NULL, "name", S_SCALAR, U_NONE, L_NAME, W_SYSCALL | BOTH | W_TABLE | W_LABEL,
	  "name of the system call" },
	{ NULL, "number", S_SCALAR, U_NONE, L_NUMBER, W_SYSCALL | BOTH | W_TABLE | W_LABEL,
	  "number of the system call" },
	{ NULL, "count", S_SCALAR, U_NONE, L_CALLS, TIMES | BOTH | W_TABLE | W_TOTAL,
	  "how often it waited for a CPU, or was called" },
	{ NULL, "errors", S_SCALAR, U_NONE, L_ERRORS, W_SYSCALL | BOTH | W_TABLE | W_TOTAL,
	  "calls that failed" },
	{ NULL, "total", S_SCALAR, U_NANO, L_TOTAL, TIMES | BOTH | W_TABLE | W_TOTAL,
	  "time of all of them" },
	{ NULL, "mean", S_SCALAR, U_NANO, L_MEAN, TIMES | BOTH | W_TABLE, "their mean" },
	{ NULL, "max", S_SCALAR, U_NANO, L_LONGEST, TIMES | BOTH | W_TABLE,
	  "time of the longest one" },
	{ NULL, "lost", S_SCALAR, U_NONE, L_LOST, W_SAMPLE | BOTH | W_SPARSE | W_TOTAL,
	  "samples lost before it" },
	{ "group", NULL, S_INST, U_NONE, L_VALUES, W_SAMPLE | BOTH | W_SPARSE | W_EXPLICIT,
	  "counts of its group since the start, with :S; "
	  "since the last sample with --reset-on-overflow" },
	{ "field", NULL, S_INST, U_NONE, L_FIELDS, W_SAMPLE | BOTH | W_SPARSE | W_EXPLICIT,
	  "fields of a tracepoint; those of all tracepoints by name: field.common_pid" },
	{ "callchain", NULL, S_LIST, U_NONE, L_CHAIN, W_SAMPLE | BOTH | W_EXPLICIT,
	  "call chain, innermost first, with -g" },
	{ NULL, "cgroup", S_SCALAR, U_NONE, L_CGROUP,
	  W_EVENT | BOTH | W_TABLE | W_ID | W_SPARSE | W_LABEL, "the cgroup, with -G" },
#endif
#if HAS(doctor)
	{ NULL, "source", S_SCALAR, U_NONE, L_SOURCE, W_SOURCE | BOTH | W_TABLE | W_ID | W_LABEL,
	  "source of values" },
	{ NULL, "status", S_SCALAR, U_NONE, L_STATUS, W_SOURCE | BOTH | W_TABLE,
	  "ok, denied or absent" },
	{ NULL, "ok", S_SCALAR, U_NONE, L_OK, W_SOURCE | BOTH,
	  "1 if it can be read, 0 if denied" },
	{ NULL, "detail", S_SCALAR, U_NONE, L_DETAIL, W_SOURCE | BOTH | W_TABLE,
	  "details, or the reason" },
	{ NULL, "remedy", S_SCALAR, U_NONE, L_REMEDY, W_SOURCE | BOTH | W_TABLE,
	  "the command that fixes it" },
#endif
#if HAS(stat)
	{ NULL, "value", S_SCALAR, U_NONE, L_VALUE, W_EVENT | BOTH | W_TABLE,
	  "count, scaled to the enabled time if multiplexed" },
	{ NULL, "unit", S_SCALAR, U_NONE, L_UNIT, W_EVENT | BOTH | W_TABLE | W_LABEL,
	  "unit of the value; empty for a count" },
	{ NULL, "running", S_SCALAR, U_PERCENT, L_RUNNING, W_EVENT | BOTH | W_TABLE,
	  "share of the enabled time" },
	{ NULL, "reason", S_SCALAR, U_NONE, L_REASON, W_EVENT | BOTH | W_TABLE,
	  "why there is no value" },
	{ NULL, "deviation", S_SCALAR, U_PERCENT, L_DEVIATION, W_EVENT | BOTH | W_SPARSE,
	  "standard error of the mean, with -r" },
	{ NULL, "repeats", S_SCALAR, U_NONE, L_REPEATS, W_EVENT | BOTH | W_SPARSE,
	  "runs of the command that value is the mean of" },
	{ NULL, "metric", S_SCALAR, U_MICRO, L_METRIC,
	  W_EVENT | BOTH | W_TABLE | W_SPARSE | W_EXPLICIT,
	  "ratio to another count of the run; its unit is metric_unit" },
	{ NULL, "metric_unit", S_SCALAR, U_NONE, L_METRIC_UNIT,
	  W_EVENT | BOTH | W_TABLE | W_SPARSE | W_EXPLICIT,
	  "insn per cycle, GHz, % of all branches, /sec, ...: perf's words" },
	{ NULL, "stalls", S_SCALAR, U_MICRO, L_STALLS, W_EVENT | BOTH | W_SPARSE | W_EXPLICIT,
	  "stalled cycles per instruction, of the frontend or the backend" },
	{ NULL, "user", S_SCALAR, U_NANO, L_USER, W_EVENT | BOTH | W_SPARSE | W_EXPLICIT,
	  "CPU time of the command in user space, at its end" },
	{ NULL, "system", S_SCALAR, U_NANO, L_SYSTEM, W_EVENT | BOTH | W_SPARSE | W_EXPLICIT,
	  "CPU time of the command in the kernel, at its end" },
	{ NULL, "cpus", S_SCALAR, U_NONE, L_CPUS, W_EVENT | W_RAW,
	  "number of summed counts: CPUs, PMUs or tasks" },
	{ NULL, "runs", S_SCALAR, U_NONE, L_RUNS, W_EVENT | BOTH | W_SPARSE,
	  "turns of the event set" },
	{ NULL, "active", S_SCALAR, U_NANO, L_ACTIVE, W_EVENT | BOTH | W_SPARSE,
	  "total time of the turns" },
	{ NULL, "timeout", S_SCALAR, U_NANO, L_TIMEOUT, W_EVENT | BOTH | W_SPARSE,
	  "length of a turn, as rounded by the timer" },
	{ NULL, "count", S_SCALAR, U_NONE, L_COUNT, W_EVENT | W_RAW,
	  "raw count: not scaled, no unit" },
	{ NULL, "enabled", S_SCALAR, U_NS, L_ENABLED, W_EVENT | W_RAW,
	  "time enabled, of all its CPUs and tasks" },
	{ NULL, "runtime", S_SCALAR, U_NS, L_RUNTIME, W_EVENT | W_RAW,
	  "time counted, of all its CPUs and tasks" },
#endif
	{ NULL, "dev", S_SCALAR, U_NONE, L_DEV, LIVE | W_COMMAND | BOTH | W_TABLE | W_ID | W_LABEL,
	  WHAT("primary node, else another node, else its folder") },
	{ NULL, "driver", S_SCALAR, U_NONE, L_DRIVER,
	  W_DEVICE | W_CLIENT | W_PROCESS | W_FDINFO | W_COMMAND | BOTH | W_TABLE | W_ID,
	  WHAT("kernel driver") },
	{ NULL, "pdev", S_SCALAR, U_NONE, L_PDEV,
	  W_DEVICE | W_CLIENT | W_FDINFO | W_COMMAND | BOTH | W_ID,
	  WHAT("PCI slot") },
	{ NULL, "client", S_SCALAR, U_NONE, L_CLIENT,
	  W_CLIENT | W_FDINFO | BOTH | W_TABLE | W_ID | W_LABEL, WHAT("drm-client-id") },
	{ NULL, "name", S_SCALAR, U_NONE, L_NAME, W_DEVICE | W_CLIENT | W_FDINFO | W_COMMAND | BOTH,
	  WHAT("the device's model, the client's own name") },
#if HAS(run)
#define RUN(fact, name, unit, what) \
	{ NULL, name, S_SCALAR, unit, L_FACT + RUN_##fact, W_COMMAND | W_LIVE | W_TABLE, what }
	{ NULL, "command", S_SCALAR, U_NONE, L_COMMAND, W_COMMAND | W_LIVE, "the command" },
	RUN(STATUS, "status", U_NONE, "its exit status, as in a shell: 128 + signal"),
	RUN(USER, "user", U_NANO, "CPU time in user space, of all its processes that ended"),
	RUN(SYSTEM, "system", U_NANO, "CPU time in the kernel, of all its processes that ended"),
	RUN(PROCESSES, "processes", U_NONE, "processes of its tree that were seen"),
	RUN(RUNNING, "running", U_NONE, "processes of its tree that still run"),
	RUN(READINGS, "readings", U_NONE, "readings of its clients"),
	RUN(OPENS, "opens", U_NONE, "opens of GPU nodes meanwhile, by all processes, at least"),
	RUN(CLIENTS, "clients", U_NONE, "its DRM clients that were seen"),
	RUN(ENDED, "ended", U_NONE, "clients that ended between two readings"),
	RUN(UNREAD, "unread", U_NANO, "time from their last readings to their ends, at most"),
#endif
	{ NULL, "pid", S_SCALAR, U_NONE, L_PID,
	  W_CLIENT | W_PROCESS | BOTH | W_TABLE | W_ID | W_LABEL,
	  WHAT("oldest process that holds it") },
	{ NULL, "comm", S_SCALAR, U_NONE, L_COMM,
	  W_CLIENT | W_PROCESS | BOTH | W_TABLE | W_ID | W_LABEL,
	  WHAT("name of this process") },
#if HAS(procs)
	{ NULL, "cmdline", S_SCALAR, U_NONE, D_PROC_CMDLINE, W_PROCESS | BOTH | W_EXPLICIT,
	  "command line, at most 512 bytes" },
	{ NULL, "user", S_SCALAR, U_NONE, D_PROC_USER, W_PROCESS | BOTH | W_TABLE | W_LABEL,
	  "its user; the number if there is no name" },
	{ NULL, "uid", S_SCALAR, U_NONE, D_PROC_UID, W_PROCESS | BOTH | W_EXPLICIT,
	  "number of the user" },
	{ NULL, "cpu", S_SCALAR, U_PERCENT, D_PROC_CPU, W_PROCESS | BOTH | W_TABLE,
	  "CPU time, in percent of one CPU" },
	{ NULL, "rss", S_SCALAR, U_BYTES, D_PROC_RSS, W_PROCESS | BOTH | W_TABLE,
	  "main memory of the process" },
	{ NULL, "clients", S_SCALAR, U_NONE, L_CLIENTS, W_PROCESS | BOTH | W_TABLE,
	  "DRM clients that it owns" },
#endif
	{ "pids", NULL, S_LIST, U_NONE, L_PIDS, W_CLIENT | W_PROCESS | BOTH | W_EXPLICIT,
	  WHAT("all processes that hold it") },
	{ NULL, "cgroup", S_SCALAR, U_NONE, L_CGROUP, W_CLIENT | W_PROCESS | BOTH | W_ID,
	  WHAT("path in the cgroup tree") },
	{ NULL, "cgroup", S_SCALAR, U_NONE, L_CGROUP, W_CGROUP | BOTH | W_ID | W_LABEL,
	  WHAT("path in the cgroup tree") },
	{ NULL, "container", S_SCALAR, U_NONE, L_CONTAINER, W_CLIENT | W_CGROUP | W_PROCESS | BOTH,
	  WHAT("container id in the cgroup path") },
#if HAS(containers)
	{ NULL, "container_kind", S_SCALAR, U_NONE, L_CONTAINER_KIND,
	  W_CLIENT | W_CGROUP | W_PROCESS | BOTH | W_SPARSE,
	  WHAT("docker, podman, lxc, vm, service, ...") },
	{ NULL, "pod", S_SCALAR, U_NONE, L_POD, W_CLIENT | W_CGROUP | W_PROCESS | BOTH | W_SPARSE,
	  WHAT("uid of the Kubernetes pod in the cgroup path") },
#endif
	{ NULL, "state", S_SCALAR, U_NONE, L_STATE, W_DEVICE | BOTH | W_TABLE,
	  WHAT("power/runtime_status") },
	{ "nodes", NULL, S_LIST, U_NONE, L_NODES, W_DEVICE | W_LIST, WHAT("its device nodes") },
	{ NULL, "clients", S_SCALAR, U_NONE, L_CLIENTS, W_DEVICE | W_CGROUP | BOTH | W_TABLE,
	  WHAT("DRM clients") },
	{ NULL, "unreadable", S_SCALAR, U_NONE, L_UNREADABLE, W_DEVICE | BOTH | W_RUN,
	  WHAT("processes that cannot be read") },
	{ NULL, "dropped", S_SCALAR, U_NONE, L_DROPPED, W_DEVICE | BOTH | W_RUN,
	  WHAT("clients, engines, regions that did not fit") },
	{ NULL, "implausible", S_SCALAR, U_NONE, L_IMPLAUSIBLE,
	  W_DEVICE | W_FDINFO | BOTH | W_SPARSE,
	  WHAT("readings that were not plausible, and are unknown") },
#define OPTIONAL(feature, ...) ROW(OPTIONAL, feature)(__VA_ARGS__)
#define OPTIONAL1(...) __VA_ARGS__
#if !WHOLE
#define OPTIONAL0(...)
#endif
#define QUANTITY(id, course, sign, range, sum, limit, group, member, shape, unit, when, what, \
		 named) \
	{ group, member, shape, unit, D_##id, when, WHAT(what) },
#define COMPUTED(id, group, member, shape, unit, when, what) \
	{ group, member, shape, unit, L_##id, when, WHAT(what) },
#define FIELD(id, course, sign, range, sum, group, member, shape, unit, when, what) \
	{ group, member, shape, unit, D_##id, when, WHAT(what) },
#include "quantities.h"
#if HAS(dmem)
	{ "vram", "used", S_MEMBER, U_BYTES, D_CG_VRAM, W_CGROUP | BOTH | W_SPARSE,
	  "video memory that the cgroup and those below it hold" },
	{ "vram", "max", S_MEMBER, U_BYTES, D_CG_VRAM_MAX, W_CGROUP | BOTH | W_SPARSE,
	  "video memory that the cgroup may hold" },
	{ "main_memory", "used", S_MEMBER, U_BYTES, D_CG_MEMORY,
	  W_CGROUP | BOTH | W_SPARSE | W_EXPLICIT,
	  "main memory that the cgroup has in use, if -f names it" },
	{ "pressure", "some", S_BOTH, U_PERCENT, D_CG_SOME,
	  W_CGROUP | BOTH | W_SPARSE | W_EXPLICIT,
	  "time of the last 10 s in which some tasks waited for cpu, memory or io, "
	  "if -f names it" },
	{ "pressure", "full", S_BOTH, U_PERCENT, D_CG_FULL,
	  W_CGROUP | BOTH | W_SPARSE | W_EXPLICIT,
	  "time of the last 10 s in which all tasks waited" },
#endif
	{ "facts", NULL, S_INST, U_NONE, L_FACTS, W_DEVICE | W_LIST,
	  WHAT("PCI ids and other constant texts") },
	{ "missing", NULL, S_INST, U_NONE, L_MISSING, W_DEVICE | W_LIST,
	  WHAT("what is not available, and why") },

	{ "other", NULL, S_INST, U_NONE, L_OTHER, W_CLIENT | W_FDINFO | BOTH,
	  WHAT("keys that the standard does not know") },
	{ NULL, "skipped", S_SCALAR, U_NONE, L_SKIPPED, W_CLIENT | W_FDINFO | BOTH,
	  WHAT("malformed lines") },
	{ NULL, "dropped", S_SCALAR, U_NONE, L_DROPPED,
	  W_CLIENT | W_CGROUP | W_PROCESS | W_FDINFO | BOTH, WHAT("values that did not fit") },
};
const size_t ncolumns = LEN(columns);
_Static_assert(LEN(columns) < 256, "plans number them in a byte");

/* Marks functions that are called for many kinds of fields and must not be inlined: the inlined
 * copies would be a third of the code of this file. */
#define SHARED __attribute__((noinline))

/* --- filling a record: memory for its fields, and the functions that set values --------------- */

static bool is_group(const struct entity *e)
{
	return e->kind == K_CGROUP || e->kind == K_PROCESS;
}

/* Returns the device of an entity: the device itself, or that of a group or client. An entity is
 * the first member of its struct, so that its pointer can be cast. */
static const struct device *device_of(const struct entity *e)
{
	return e->kind == K_DEVICE ? (const struct device *)(const void *)e :
	       is_group(e) ? &devices[((const struct group *)(const void *)e)->device] :
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

/* The memory that all records share: texts and fields of the current record. The fields are the
 * last member, so that the memory can be extended for more fields. */
static struct storage {
	char text[REC_TEXT];
	/* ratio: count of the record's event divided by the count of another event; stalls: stalled
	 * cycles per instruction */
	struct ratio ratio, stalls;
	struct field f[MAX_FIELDS];
} *storage;
static TABLE_BYTES(storage, REC_TEXT + sizeof(struct ratio) + 64 * sizeof(struct field),
		   "bytes of a record");

/* Number of elements of storage->f[] that have memory and can hold fields of any shape; the last
 * elements are reserved for scalars. */
static size_t fields_ready;

/* Ensures that there is memory for one more field of the record. If there is none, counts the field
 * in r->lost and returns false. The last ncolumns fields are reserved for scalars, of which a
 * record has fewer than ncolumns. */
static bool fields_grow(struct record *r, const struct column *c)
{
	size_t at = offsetof(struct storage, f), most = MAX_FIELDS - ncolumns;
	bool has = r->n < (c->shape == S_SCALAR ? MAX_FIELDS : most) &&
		   table_has(&storage_table, at + (r->n + 1) * sizeof(r->f[0]) - 1);

	if (has) {
		fields_ready = (storage_table.ready - at) / sizeof(r->f[0]);
		fields_ready = fields_ready < most ? fields_ready : most;
	}
	r->lost += !has;
	return has;
}

/* Adds a field without a value to a record and returns it. The caller guarantees that there is
 * memory for it. */
static struct field *field_init(struct record *r, const struct column *c, struct str inst)
{
	struct field *f = &r->f[r->n++];

	f->col = c;
	f->inst = inst;
	/* The members of f->v are set one by one: the assignment of a whole struct would be
	 * compiled to a loop over 64 bytes. */
	f->v.type = V_NULL;
	f->v.unit = f->v.point = 0;
	f->v.neg = f->empty = false;
	/* v.n must be 0 even if the value is unknown, because fields are sorted by v.n */
	f->v.n = 0;
	f->v.s = (struct str){ 0 };
	return f;
}

SHARED static struct field *field_alloc(struct record *r, const struct column *c, struct str inst)
{
	return fields_grow(r, c) ? field_init(r, c, inst) : NULL;
}

/* Adds a field without a value to a record and returns it; NULL if there is no memory for it. */
static struct field *field_add(struct record *r, const struct column *c, struct str inst)
{
	return r->n < fields_ready ? field_init(r, c, inst) : field_alloc(r, c, inst);
}

static void add_empty(struct record *r, const struct column *c)
{
	struct field *f = field_add(r, c, (struct str){ 0 });

	if (f)
		f->empty = true;
}

/* The functions set_*() store a value in *v, which must be null before the call. *v stays null if
 * the value is unknown. */
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

/* Stores a text in *v, or null if z is NULL, which means that the text is unknown. */
SHARED static void set_z(struct val *v, const char *z)
{
	set_text(v, str_z(z));
}

/* Stores a text in *v. *v stays null if the text is "", which means that it is unknown. */
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

static void add_counter(struct record *r, const struct column *c, struct str inst, bool known,
			u64 n)
{
	struct field *f = field_add(r, c, inst);

	if (f && known)
		set_counter(&f->v, n, c);
}

SHARED static void add_text(struct record *r, const struct column *c, struct str inst, struct str s)
{
	struct field *f = field_add(r, c, inst);

	if (f)
		set_text(&f->v, s);
}

FEATURED static void add_int(struct record *r, const struct column *c, struct str inst, u64 n)
{
	struct field *f = field_add(r, c, inst);

	if (f)
		set_int(&f->v, n, U_NONE);
}

/* Returns the free space after the record's texts, as a buffer for the next text. */
static struct buf text_room(struct record *r)
{
	return (struct buf){ .p = r->text + r->text_n, .cap = REC_TEXT - r->text_n };
}

/* Keeps the text in b, a buffer from text_room(), as one of the texts of the record, and returns
 * it. */
static struct str text_append(struct record *r, const struct buf *b)
{
	r->text_n += b->n;
	return (struct str){ b->p, b->p + b->n };
}

/* Copies the text with the number `text` of the registry, see text_put(), into the texts of the
 * record. Returns the copy; a NULL text if the number is NONE. */
SHARED static struct str text_load(struct record *r, u32 text)
{
	struct buf b = text_room(r);

	if (text == NONE)
		return (struct str){ 0 };
	b.n = text_copy(text, b.p, b.cap);
	return text_append(r, &b);
}

static void set_stored(struct val *v, struct record *r, u32 text)
{
	set_text(v, text_load(r, text));
}

const char *const kind_names[KINDS] = {
	[K_DEVICE] = "device", [K_CLIENT] = "client", [K_CGROUP] = "cgroup",
	[K_PROCESS] = "process", [K_FDINFO] = "fdinfo", [K_EVENT] = "event",
	[K_SAMPLE] = "sample", [K_PROFILE] = "profile", [K_OA] = "oa",
	[K_COUNTER] = "counter", [K_COUNTERS] = "counter", [K_SOURCE] = "source",
	[K_RUN] = "run", [K_STALL] = "stall",
#if HAS(sample)
	[K_LATENCY] = "latency", [K_SYSCALL] = "syscall",
#endif
};

/* Returns the interval over which the entity's rates are computed, in us: for a client the time
 * between its last two readings, otherwise the interval of the sample. Returns -1 if it is unknown,
 * or if the record has no rates (-r, `list`). */
static i64 entity_dt(const struct entity *e, const struct recopts *o)
{
	if (o->raw || o->list || o->dt_us < 0)
		return -1;
	if (e->kind == K_CLIENT)
		return e->fresh && e->t_was ? (e->t - e->t_was) / 1000 : -1;
	return o->dt_us;
}

#if HAS(procs)
#define PROCESS_OWNER(e) group_task(group_of(e))
#else
#define PROCESS_OWNER(e) NULL
#endif

/* Sets r->owner: the owner of a client, the task of a process, NULL for other records. */
static void owner_find(struct record *r)
{
	r->owner = r->kind == K_CLIENT  ? client_owner(client_of(r->e)) :
		   r->kind == K_PROCESS ? PROCESS_OWNER(r->e) :
					  NULL;
}

/* Returns the path of the cgroup that the record is about, or of the cgroup of r->owner; a NULL
 * text if there is none. The first call copies the path into the record's texts. */
static struct str record_cgroup(struct record *r)
{
	if (r->cgroup.p)
		return r->cgroup;
	if (r->kind == K_CGROUP)
		r->cgroup = text_load(r, cgroups[group_of(r->e)->cgroup].path);
	else if (r->owner)
		r->cgroup = text_load(r, cgroups[r->owner->cgroup].path);
	return r->cgroup;
}

static struct container record_container(struct record *r)
{
	struct str path = record_cgroup(r);

	if (!path.p || r->container_path != path.p)
		r->container = parse_container(path);
	r->container_path = path.p;
	return r->container;
}

/* Stores in *v the kind of the record's container or, if id is L_POD, the UID of its Kubernetes
 * pod. The names of cgroups that systemd has made have '_' in place of the '-' of a UID: it is
 * replaced. */
FEATURED static void container_field(struct val *v, struct record *r, u8 id)
{
	struct container c = record_container(r);
	struct buf b = text_room(r);

	if (id == L_CONTAINER_KIND)
		set_text(v, c.kind);
	for (; id == L_POD && c.pod.p < c.pod.e; c.pod.p++)
		put_c(&b, (char)(*c.pod.p == '_' ? '-' : *c.pod.p));
	if (b.n)
		set_text(v, text_append(r, &b));
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
	case L_CGROUP:    set_text(v, record_cgroup(r)); return;
	case L_CONTAINER: set_text(v, record_container(r).id); return;
	case L_SKIPPED:   set_int(v, c->skipped, U_NONE); return;
	case L_UNREADABLE: set_int(v, registry.unreadable, U_NONE); return;
	case L_IMPLAUSIBLE: set_known(v, d->implausible, d->implausible); return;
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
		known = is_group(e) || device_clients(d, &n);
		set_known(v, known, is_group(e) ? group_of(e)->clients : n);
		return;
	case L_DROPPED:
		set_int(v, e->dropped + r->lost + (e->kind == K_DEVICE ? registry.dropped : 0),
			U_NONE);
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
		if (HAS(containers))
			container_field(v, r, id);
		return;
	}
	if (known)
		set_int(v, n, id == L_USED ? U_BYTES : U_PERCENT);
}

#if HAS(procs)
static void process_field(struct val *v, struct record *r, u8 id)
{
	const struct taskinfo *i = taskinfo_of(group_of(r->e));
	u64 n;

	switch (i ? id : L_PID) {
	case D_PROC_CMDLINE: set_stored(v, r, i->cmdline); return;
	case D_PROC_USER:    set_stored(v, r, i->has_uid && i->has_user ? i->user : NONE); return;
	case D_PROC_UID:     set_known(v, i->has_uid, i->uid); return;
	case D_PROC_CPU:
		if (process_cpu(i, &n))
			set_int(v, n, U_PERCENT);
		return;
	case D_PROC_RSS:
		if (i->has_rss)
			set_int(v, i->rss, U_BYTES);
		return;
	default:
		device_field(v, r, id);
	}
}
#endif

/* Stores in *v the text in b, a buffer from text_room(). If the text did not fit in b, leaves *v
 * null and increases r->lost. */
FEATURED static void set_appended(struct val *v, struct record *r, const struct buf *b)
{
	if (b->full)
		r->lost++;
	else
		set_text(v, text_append(r, b));
}

FEATURED static void set_hex(struct val *v, struct record *r, u64 n)
{
	struct buf b = text_room(r);

	put_hex64(&b, n);
	set_appended(v, r, &b);
}

#if HAS(stat) || HAS(sample)
/* Writes where an event was counted, such as CPU3, S0-D0-C2, S0-D0-L3-ID0, N0, sh-1234 or
 * /system.slice. Writes nothing if it was counted on all CPUs and in all tasks. */
static void put_site(struct buf *b, const struct site *s)
{
	static const char *const letters[] = { "CPU", "N", "S", "D", "CLS", "L", "ID", "C" };
	const i32 numbers[] = { s->cpu, s->node, s->socket, s->die, s->cluster, s->level, s->cache,
				s->core };
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

/* Stores in *v one number of the site at which an event was counted: a CPU, core, PID or the like.
 * n: the number; if it is below `least`, the event was counted on all CPUs, cores or PIDs, and *v
 * stays null. */
static void set_site(struct val *v, i64 n, i64 least)
{
	set_known(v, n >= least, (u64)n);
}

static void site_field(struct val *v, struct record *r, u8 id)
{
	const struct site *s = &sites[row_of(r->e)->site];

	switch (id) {
	case L_CPU:    set_site(v, s->cpu, 0); return;
	case L_CORE:   set_site(v, s->core, 0); return;
	case L_SOCKET: set_site(v, s->socket, 0); return;
	case L_DIE:    set_site(v, s->die, 0); return;
	case L_CLUSTER: set_site(v, s->cluster, 0); return;
	case L_CACHE:  set_site(v, s->cache, 0); return;
	case L_NODE:   set_site(v, s->node, 0); return;
	case L_PID:    set_site(v, s->pid, 1); return;
	case L_TID:    set_site(v, s->tid, 1); return;
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

/* Stores in *v one property of the event's set: name, id, number of turns, active time or timeout.
 * *v stays null if the event has no set. */
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

/* Stores in *v the ratio of the record's event to another event (L_METRIC), the unit of the ratio
 * in words (L_METRIC_UNIT), or the stalled cycles per instruction (L_STALLS). */
static void ratio_field(struct val *v, struct record *r, u8 id)
{
	struct buf b = text_room(r);

	if (id == L_STALLS) {
		if (r->has_stalls)
			set_int(v, storage->stalls.micros, U_MICRO);
	} else if (r->has_ratio && id == L_METRIC) {
		set_int(v, storage->ratio.micros, U_MICRO);
	} else if (r->has_ratio) {
		put_z(&b, storage->ratio.percent ? "% " : "");
		put_z(&b, storage->ratio.words);
		set_text(v, text_append(r, &b));
	}
}

static void event_field(struct val *v, struct record *r, u8 id)
{
	const struct evrow *row = row_of(r->e);
	const struct event *ev = &events[row->event];

	switch (id) {
	case L_EVENT:   set_stored(v, r, ev->name); return;
	case L_VALUE:   event_value(v, row); return;
	case L_UNIT:
		set_text(v, ev->unit ? text_load(r, ev->unit) : (struct str)STR(""));
		return;
	case L_REPEATS: set_known(v, row->repeats > 1, row->repeats); return;
	case L_CPUS:    set_int(v, row->places, U_NONE); return;
	case L_COUNT:
		set_known(v, row->state == CS_COUNTED && ev->rule != R_LEVEL, row->sum.value);
		return;
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
	case L_METRIC: case L_METRIC_UNIT: case L_STALLS:
		ratio_field(v, r, id);
		return;
	case L_USER: case L_SYSTEM:
		if (rows_times()->has_cpu)
			set_int(v, id == L_USER ? rows_times()->user : rows_times()->system,
				U_NANO);
		return;
	default:
		site_field(v, r, id);
	}
}

/* Writes where the event of row e was counted, for people and for the formats perf-csv and
 * perf-json. Bytes that are not printable are escaped. cgroup: false to leave out the cgroup,
 * because the output has it in a field of its own. */
void record_site(struct buf *b, const struct entity *e, bool cgroup)
{
	char text[4200];
	struct buf t = { .p = text, .cap = sizeof(text) };
	struct site s = sites[row_of(e)->site];

	s.cgroup = cgroup ? s.cgroup : NONE;
	put_site(&t, &s);
	put_text(b, (struct str){ t.p, t.p + t.n });
}

/* Returns the text that identifies an event in long CSV (column instance), SET:EVENT@SITE: the
 * event, its set, and the site where it was counted. */
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
	return text_append(r, &b);
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

/* Stores in *v the name of the function of a stack frame and the offset in the function, as
 * symbol+0x1f. *v stays null if the function is unknown. */
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
	set_appended(v, r, &b);
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
	static const char *const by[PROF_TABLES] = {
		[PROF_COMM] = "comm", [PROF_SYMBOL] = "symbol", [PROF_IP] = "ip",
		[PROF_STACK] = "stack",
	};
	const struct profile *p = profile_of(r->e);

	switch (id) {
	case L_BY:      set_z(v, by[p->table]); return;
	case L_NAME:    set_name(v, p->row->name); return;
	case L_MODULE:  set_name(v, p->row->module); return;
	case L_PERIOD:  set_int(v, p->row->period, U_NONE); return;
	case L_SAMPLES: set_int(v, p->row->samples, U_NONE); return;
	case L_IP:
		if (p->table == PROF_IP && p->row->ip)
			set_hex(v, r, p->row->ip);
		return;
	default:
		/* The share of a row is rounded to nearest: if all shares were rounded down, their
		 * sum would be below 100 %. */
		set_int(v, (muldiv(p->row->period, 200000, profile_sums.period[p->table]) + 1) / 2,
			U_PERCENT);
	}
}

static void time_field(struct val *v, struct record *r, u8 id)
{
	const struct interval *x = ((const struct timesum *)(const void *)r->e)->sum;

	switch (id) {
	case L_TID:    set_int(v, x->key, U_NONE); return;
	case L_COMM:   set_label(v, x->comm); return;
	case L_NAME:   set_text(v, syscall_name(x->key)); return;
	case L_NUMBER: set_signed(v, (i64)x->key, U_NONE); return;
	case L_CALLS:  set_int(v, x->count, U_NONE); return;
	case L_ERRORS: set_int(v, x->errors, U_NONE); return;
	case L_TOTAL:  set_int(v, x->total, U_NANO); return;
	case L_MEAN:
		if (x->count)
			set_int(v, x->total / x->count, U_NANO);
		return;
	default:       set_int(v, x->max, U_NANO);
	}
}

/* Adds the counts of a sample's event group as fields, each with the event's name as instance. */
static void add_values(struct record *r, const struct column *c, const struct sample *s)
{
	for (u32 i = 0; i < s->ngroup; i++)
		add_int(r, c, text_load(r, events[s->group[i].event].name), s->group[i].count);
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
		if (v.type != V_NULL && (f = field_add(r, c, (struct str){ 0 })))
			f->v = v;
	}
	if (s->nchain == 0)
		add_empty(r, c);
}

static void set_tracepoint(struct val *v, struct record *r, const struct tpfield *f,
			   struct str payload)
{
	struct buf b = text_room(r);
	i64 n;

	if (tpfield_number(f, payload, &n)) {
		if (f->form == TP_POINTER)
			set_hex(v, r, (u64)n);
		else if (f->is_signed)
			set_signed(v, n, U_NONE);
		else
			set_int(v, (u64)n, U_NONE);
	} else if (f->form == TP_TEXT) {
		set_text(v, tpfield_text(f, payload));
	} else if (tpfield_bytes(f, payload).p) {
		tpfield_array(&b, f, tpfield_bytes(f, payload));
		set_appended(v, r, &b);
	}
}

/* Adds the tracepoint fields of a sample to a record. Fields that all tracepoints have, such as
 * common_pid, are added only if option -f selects them. */
static void add_fields(struct record *r, const struct column *c, const struct sample *s)
{
	for (u32 i = 0; i < s->nfields; i++) {
		const struct tpfield *t = &s->fields[i];
		struct field *f = t->common && !s->common ? NULL : field_add(r, c, t->name);

		if (f)
			set_tracepoint(&f->v, r, t, s->r->payload);
	}
}

static void add_sampled(struct record *r, const struct column *c)
{
	(c->id == L_CHAIN ? add_chain : c->id == L_FIELDS ? add_fields : add_values)(
		r, c, sample_of(r->e));
}

/* Returns the text that identifies a perf sample in long CSV (column instance): EVENT@CPU. */
static struct str sample_label(struct record *r)
{
	const struct sample *s = sample_of(r->e);
	struct buf b = text_room(r);
	struct site at = { SITE_ALL };
	struct val v = { 0 };

	at.cpu = s->r->have & PS_CPU ? (i32)s->r->cpu : -1;
	b.n += text_copy(events[s->event].name, b.p, b.cap);
	put_c(&b, '@');
	put_site(&b, &at);
	set_appended(&v, r, &b);
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

/* Stores in *v a field of the OA report's header. For a sum of several reports, only the timestamp
 * is known; other fields stay null. */
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

/* Returns part * 10^6 for a part from 0 to 1. It is rounded exactly as by %f: to nearest, and a
 * half to the even number. */
static u64 to_micros(double part)
{
	double near = part * 1e6, over = near - (double)(i64)near, high, beyond;
	u64 n = (u64)(i64)near, bits;

	/* the rounding error of the product part * 10^6 is below 10^-6 */
	if (over < 0.499999 || over > 0.500001)
		return n + (over > 0.5);
	/* The product part * 10^6 is near n + 0.5. The high and the low bits of part are multiplied
	 * by 10^6 separately: both products fit exactly into doubles, and the product of the high
	 * bits is so close to n + 0.5 that their difference is exact. */
	memcpy(&bits, &part, sizeof(bits));
	bits &= ~UINT64_C(0x7ffffff);
	memcpy(&high, &bits, sizeof(high));
	beyond = (high * 1e6 - ((double)n + 0.5)) + (part - high) * 1e6;
	return n + (beyond > 0 || (!(beyond < 0) && n & 1));
}

/* Writes all digits of a double of 2^64 or more, as %f does. All such doubles are whole numbers. */
static void put_huge(struct buf *b, double f)
{
	u32 nine[36]; /* groups of nine digits, the lowest first; a double has up to 309 digits */
	char d[DIGITS];
	size_t n = 2;
	u64 m, left, carry;

	memcpy(&m, &f, sizeof(m));
	left = (m >> 52) - 1075; /* the value of the double is m * 2^left */
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

/* Stores in *v a number with six decimals as text (V_DIGITS), because it does not fit in 64 bits.
 * *v stays null if the number is infinite or not a number. */
static void set_large(struct record *r, struct val *v, double f)
{
	struct buf b = text_room(r);
	bool huge = f >= 18446744073709551616.0;
	char d[DIGITS];
	u64 whole;

	if (!(f <= 0x1.fffffffffffffp1023)) /* the number is infinite, or not a number */
		return;
	whole = huge ? 0 : (u64)f;
	if (huge)
		put_huge(&b, f);
	else
		put_u64(&b, whole);
	put_c(&b, '.');
	put_n(&b, digits_before(d + DIGITS, huge ? 0 : to_micros(f - (double)whole), 6), 6);
	while (b.n > 1 && b.p[b.n - 1] == '0' && b.p[b.n - 2] != '.')
		b.n--;
	set_appended(v, r, &b);
	v->type = v->type == V_TEXT ? V_DIGITS : V_NULL;
}

/* Stores a number with six decimals in *v. *v stays null if it is infinite or not a number. */
static void set_float(struct record *r, struct val *v, double f)
{
	bool neg = f < 0;
	i64 whole;

	f = neg ? -f : f;
	if (f < 9e12) {
		whole = (i64)f;
		v->type = V_INT;
		v->unit = U_MICRO;
		v->n = (u64)whole * 1000000 + to_micros(f - (double)whole);
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
		f = field_add(r, c, text_append(r, &b));
		if (f && w->slots)
			set_int(&f->v, w->slots[i], U_NONE);
	}
}

static void add_oacounters(struct record *r, const struct column *c)
{
	const struct oarow *w = oarow_of(r->e);
	const struct oacounter *k = w->prog ? w->prog->counters : NULL;
	const struct oacounter *end = k ? k + w->prog->n : NULL;

	if (w->raw) {
		add_oaslots(r, c, w);
		return;
	}
	for (u32 i = 0; k < end; k++, i++) {
		struct field *f;

		if (!k->wanted)
			continue;
		f = field_add(r, c, k->name);
		if (!f || !w->values || k->unknown)
			continue;
		if (k->is_float) {
			set_float(r, &f->v, w->values[i].f);
		} else {
			f->v.type = V_INT;
			f->v.n = w->values[i].u;
		}
	}
}

static const struct stallrow *stallrow_of(const struct entity *e)
{
	return (const struct stallrow *)(const void *)e;
}

static void stall_field(struct val *v, struct record *r, u8 id)
{
	const struct stallrow *w = stallrow_of(r->e);

	switch (id) {
	case L_DEV:   set_name(v, w->dev); return;
	case L_ALL_COUNTS:   set_int(v, w->sum, U_NONE); return;
	case L_LOST:  set_int(v, w->lost, U_NONE); return;
	case L_IP:
		if (w->has_ip)
			set_hex(v, r, w->ip);
		return;
	/* an EU stall reason; *v stays null if the GPU does not count this reason on its own */
	default:
		set_known(v, w->format->at[id - L_STALL], w->counts[id - L_STALL]);
	}
}

/* Returns the text that identifies a row of EU stalls in long CSV (column instance): the address of
 * the instruction. */
static struct str stall_label(struct record *r)
{
	struct val v = { 0 };

	stall_field(&v, r, L_IP);
	return v.s;
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

/* Stores in *v the factor 100 / max that converts the value of a named counter to per cent of its
 * maximum, computed as a C float. It gets nine digits, the minimum to distinguish all floats. */
static void set_scale(struct val *v, i64 max)
{
	/* The cast to float is needed because an i387 FPU computes with more bits than a float
	 * has. */
	double d = (double)(float)(100.0f / (float)max);

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

/* Returns the unit (enum unit) without decimal places that has this name; U_NONE if there is
 * none. */
static u8 unit_find(const char *name)
{
	u8 i = 0;

	while (i < UNITS && (units[i].point || strcmp(name, units[i].name) != 0))
		i++;
	return i < UNITS ? i : U_NONE;
}

/* Adds all selected named counters as fields, each with its title as instance. */
static void add_picked(struct record *r, const struct column *c)
{
	const struct reading *reading = reading_of(r->e);

	for (size_t i = 0; i < reading->n; i++) {
		const struct named *k = reading->picked[i].counter;
		struct field *f = field_add(r, c, reading->picked[i].title);

		if (!f || !k)
			continue;
		set_signed(&f->v, k->value, unit_find(k->unit));
		/* The unit of the field is set even if its value is unknown, because the unit
		 * determines the width of the output column. */
		f->v.type = is_measured(k) ? V_INT : V_NULL;
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

#if HAS(run)
static void run_field(struct val *v, struct record *r, u8 id)
{
	const struct run *x = (const struct run *)(const void *)r->e;
	u8 fact = (u8)(id - L_FACT);

	if (id == L_COMMAND) {
		set_text(v, x->command);
	} else if (id == L_USED) {
		if (x->has_used)
			set_int(v, x->used, U_BYTES);
	} else if (id == L_BUSY) {
		if (x->measured)
			set_int(v, run_busy(x), U_PERCENT);
	} else if (id < L_FACT) {
		r->e = &devices[x->device].e;
		device_field(v, r, id);
		r->e = &x->e;
	} else if (x->facts[fact] != UINT64_MAX) {
		bool ns = fact == RUN_USER || fact == RUN_SYSTEM || fact == RUN_UNREAD;

		set_int(v, x->facts[fact], ns ? U_NANO : U_NONE);
	}
}
#endif

/* Functions that fill the fields of each kind of record, except the fields that all kinds have. */
static const struct kind_ops {
	void (*scalar)(struct val *v, struct record *r, u8 id);
	/* adds the fields of groups with instances and of lists to a record of this kind; NULL:
	 * add_inst() and add_list() add them, as for devices */
	void (*many)(struct record *r, const struct column *c);
	/* returns the text of the column instance of long CSV; NULL if the columns with W_ID are
	 * enough to identify the entity */
	struct str (*label)(struct record *r);
} kind_ops[KINDS] = {
	[K_DEVICE] = { .scalar = device_field }, [K_CLIENT] = { .scalar = device_field },
	[K_CGROUP] = { .scalar = device_field }, [K_FDINFO] = { .scalar = device_field },
#if HAS(procs)
	[K_PROCESS] = { .scalar = process_field },
#endif
#if HAS(stat)
	[K_EVENT] = { event_field, NULL, event_label },
#endif
#if HAS(sample)
	[K_SAMPLE] = { sample_field, add_sampled, sample_label },
	[K_PROFILE] = { .scalar = profile_field },
	[K_LATENCY] = { .scalar = time_field }, [K_SYSCALL] = { .scalar = time_field },
#endif
#if HAS(oa)
	[K_OA] = { oa_field, add_oacounters, NULL },
	[K_STALL] = { stall_field, NULL, stall_label },
#endif
#if HAS(named)
	[K_COUNTER] = { counter_field, NULL, counter_label },
	[K_COUNTERS] = { counter_field, add_picked, NULL },
#endif
#if HAS(doctor)
	[K_SOURCE] = { source_field, NULL, source_label },
#endif
#if HAS(run)
	[K_RUN] = { .scalar = run_field },
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
	case L_DT:      set_time(v, is_live(r->kind) ? entity_dt(r->e, o) : o->dt_us); return;
	case L_FILE:    set_z(v, o->file); return;
	case L_SUMMARY: set_z(v, o->summary); return;
	default:        kind_ops[r->kind].scalar(v, r, id);
	}
}

/* Stores in *v the value of the instance `inst` of entity e for the column whose id is `id`.
 * Returns false if the value is unknown. near: copy of a counter of the instance, at which the
 * search begins. If it is the counter searched for, *near becomes the next counter of the
 * entity. */
static bool counter_value(const struct entity *e, u8 id, u16 inst, struct counter *near,
			  const struct recopts *o, u64 *v)
{
	if (o->list && (id == L_ENGINE_BUSY || id == L_ENGINE_UTIL || id == L_ENGINE_FREQ))
		return false;
	switch (id) {
	case L_ENGINE_BUSY: return engine_busy(e, inst, v);
	case L_ENGINE_UTIL: return engine_util(e, inst, v);
	case L_ENGINE_FREQ: return engine_freq(e, inst, v);
	case D_CAPACITY:
		/* drm-usage-stats.rst of Linux says about drm-engine-capacity-*: "In the absence of
		 * this tag parser shall assume capacity of one" */
		if (!reg_get_or_sum(e, id, inst, v))
			*v = 1;
		return true;
	case L_FREQ_AVG: case D_POWER:
		/* the energy is in uJ, and the cycles in kHz x ms, with times in ns: the increase
		 * per second is in uW or in Hz */
		return (id == D_POWER && reg_get_or_sum(e, id, inst, v)) ||
		       reg_per_second(e, id == D_POWER ? D_ENERGY : D_FREQ_SPENT, inst, v);
	default:
		return reg_get_near(e, near, id, inst, v);
	}
}

/* Returns whether an instance that has a counter of the quantity `desc` belongs to the group whose
 * columns are c to end - 1. */
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

/* The columns that records of one kind show. They are determined once for each kind and mode (-r,
 * `list`), and divided into parts: one for each group that has instances, and one for each other
 * column. */
struct plan {
	bool ready;
	u8 n;
	struct part {
		/* range in columns[] of a group with instances, or of one other column; `to` is
		 * excluded */
		u8 from, to;
		/* range in columns[] from the first to the last column of the part that records
		 * show; `end` is excluded */
		u8 first, end;
		/* enum desc_class: the part has fields for each instance of a counter of this
		 * class */
		u8 class;
	} parts[LEN(columns)];
	/* for each element of columns[]: true if records show the column */
	bool wanted[LEN(columns)];
};

static void add_instance(struct record *r, const struct counter *k, const struct plan *p,
			 const struct part *t, const struct recopts *o)
{
	const u16 inst = k->inst;
	const struct str name = inst_name(inst);
	struct counter near = *k;

	for (size_t m = t->first; m < t->end; m++) {
		const struct column *c = &columns[m];
		bool known;
		u64 v = 0;

		if (!p->wanted[m])
			continue;
		known = counter_value(r->e, c->id, inst, &near, o, &v);
		/* The record of a parsed fdinfo file has no field for a memory key that the file
		 * does not have. */
		if (known || !(c->when & W_SPARSE || (r->kind == K_FDINFO && is_region(c->id))))
			add_counter(r, c, name, known, v);
	}
}

static void add_group(struct record *r, const struct plan *p, const struct part *t,
		      const struct recopts *o)
{
	/* mark: number of the current call of add_group(); marks[i] is equal to it if the call has
	 * already added instance i */
	static u32 marks[MAX_INSTANCES], mark;
	const struct column *c = columns + t->from, *end = columns + t->to;
	enum desc_class class = t->class;
	bool sparse = true;
	size_t before = r->n;

	mark++;
	for (struct counter *k = reg_first_of(r->e, class); k; k = reg_next_of(k, class)) {
		if (marks[k->inst] == mark || (class == DESC_ANY && !in_group(k->desc, c, end)))
			continue;
		marks[k->inst] = mark;
		add_instance(r, k, p, t, o);
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

/* Adds the PIDs of the processes that hold a client to the list that begins with field `from`. Each
 * PID is added once, in ascending order. */
static void add_holders(struct record *r, const struct column *c, const struct client *client,
			size_t from)
{
	for (u32 h = client->holders; h; h = holders[h].next_client) {
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
		if (r->n >= fields_ready && !fields_grow(r, c))
			continue;
		memmove(&r->f[i + 1], &r->f[i], (r->n - i) * sizeof(r->f[0]));
		r->f[i] = (struct field){ .col = c, .v = { .type = V_INT, .n = pid } };
		r->n++;
	}
}

static void add_pids(struct record *r, const struct column *c, const struct entity *e)
{
	size_t from = r->n;

	if (!HAS(procs) || e->kind == K_CLIENT)
		add_holders(r, c, client_of(e), from);
	else
		for (u32 i = group_of(e)->first_shown; i; i = clients[i].next_shown)
			add_holders(r, c, &clients[i], from);
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
		field_add(r, c, (struct str){ 0 });
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
		add_text(r, c, (struct str){ 0 }, text_append(r, &b));
	}
	if (r->n == from)
		add_empty(r, c);
}

static void add_list(struct record *r, const struct entity *e, const struct column *c)
{
	if (c->id == L_PIDS)
		add_pids(r, c, e);
	else if (c->id == L_NODES)
		add_nodes(r, c, device_of(e));
	else
		add_throttle(r, c, e);
}

/* Removes the first field with the instance `inst`, among the fields from r->f[from] to the last
 * one. */
static void inst_remove(struct record *r, size_t from, struct str inst)
{
	for (size_t i = from; i < r->n; i++)
		if (str_eq(r->f[i].inst, inst)) {
			memmove(&r->f[i], &r->f[i + 1], (--r->n - i) * sizeof(r->f[0]));
			return;
		}
}

/* maximum number of fields that add_lines() makes of the lines of one text; the texts of drivers
 * have up to 6 lines */
enum { MAX_OTHER = 512 };

/* Splits a text that is stored in the registry into its lines "key:value", and adds a field for
 * each of them: the key becomes the instance of the field. Parameter lines: the number that
 * text_put() returned for the text. */
static void add_lines(struct record *r, const struct column *c, u32 lines)
{
	struct str text = text_load(r, lines), line, key;
	size_t from = r->n;

	while (line_next(&text, &line)) {
		str_cut(&line, ':', &key);
		/* if two lines have the same key, the last one is used */
		inst_remove(r, from, key);
		if (r->n - from >= MAX_OTHER)
			r->lost++;
		else
			add_text(r, c, key, line);
	}
	if (r->n == from)
		add_empty(r, c);
}

/* Returns whether the entity has an engine with a counter other than its frequencies: only such
 * counters can make the busy time known. */
static bool has_engine_time(const struct entity *e)
{
	for (struct counter *k = reg_first_of(e, DESC_ENGINE); k; k = reg_next_of(k, DESC_ENGINE))
		if (k->desc != D_MAXFREQ && k->desc != D_CURFREQ)
			return true;
	return false;
}

/* Adds a field with the reason for each important group (such as engine or temp) of which a device
 * has no values. */
static void add_missing(struct record *r, const struct entity *e, const struct column *c)
{
	static const char *const names[] = { "engine", "memory", "freq", "temp", "power", "fan" };
	const struct device *d = device_of(e);
	size_t from = r->n;

	for (size_t i = 0; i < LEN(names); i++) {
		const char *why;
		bool has = i == 0 && has_engine_time(e);

		for (size_t k = 0; k < from && i > 0; k++)
			has |= r->f[k].col->group && strcmp(r->f[k].col->group, names[i]) == 0 &&
			       !r->f[k].empty && (i == 1 || d->awake || r->f[k].v.type != V_NULL);
		if (has)
			continue;
		why = i == 0 ? d->no_engines : i == 1 ? d->no_memory : d->no_sensors;
		if (!why)
			why = d->clients || d->anonymous ? "not in the fdinfo of its clients" :
			      registry.unreadable ?
				      "no client seen, but some processes are unreadable" :
				      "no client has it open";
		add_text(r, c, str_z(names[i]), str_z(why));
	}
	if (r->n == from)
		add_empty(r, c);
}

static void add_inst(struct record *r, const struct plan *p, const struct part *t,
		     const struct recopts *o)
{
	const struct column *c = columns + t->from;
	const struct entity *e = r->e;

	switch (c->id) {
	case L_OTHER:       add_lines(r, c, client_of(e)->other); return;
	case L_FACTS:       add_lines(r, c, device_of(e)->facts); return;
	case L_MISSING:     add_missing(r, e, c); return;
	default:            add_group(r, p, t, o);
	}
}

static const struct column *group_end(const struct column *c)
{
	const struct column *end = c + 1;

	while (end < columns + ncolumns && c->group && end->group &&
	       strcmp(c->group, end->group) == 0)
		end++;
	return end;
}

/* Removes the word `part` and the dot after it from the start of the pattern *p. If the pattern
 * begins with another word, returns false and leaves *p unchanged. */
static bool pattern_skip(struct str *p, struct str part)
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
	u32 when;
} selection;

/* Limits records of this kind to fields that the n patterns of -f may match, and fields of columns
 * with a property in `when` (W_*). There is no limit if n and `when` are 0. The patterns must stay
 * valid. */
void record_select(u8 kind, const struct str *patterns, size_t n, u32 when)
{
	selection.kind = kind;
	selection.patterns = patterns;
	selection.n = n;
	selection.when = when;
}

/* Returns whether p, the rest of a pattern after the group and a dot, is the name of a member of
 * the group. */
static bool is_member(struct str group, struct str p)
{
	for (const struct column *c = columns; c < columns + ncolumns; c++)
		if (c->group && str_eq(group, str_z(c->group)) && c->member &&
		    str_eq(p, str_z(c->member)))
			return true;
	return false;
}

/* Returns whether the patterns passed to record_select() may match fields of the column. Instances
 * are not known yet, so a pattern selects a whole group, or one member of the group for all
 * instances. Columns of OA counters and named counters are always selected, because a pattern for
 * them may be the name of the counter without the group. */
static bool is_selected(const struct column *c, u8 kind)
{
	bool is = (selection.n == 0 && selection.when == 0) || selection.kind != kind ||
		  c->id == L_OA_COUNTERS || c->id == L_COUNTERS ||
		  c->when & selection.when ||
		  /* The column L_CPU_TIME is always selected, because the formats of timeline.c use
		   * it as the time of the record. */
		  c->id == L_CPU_TIME;

	for (size_t i = 0; i < selection.n && !is; i++) {
		struct str p = selection.patterns[i];

		if (!c->group)
			is = str_eq(p, str_z(c->member));
		else if (pattern_skip(&p, str_z(c->group)))
			is = str_eq(p, str_z(c->member)) || !is_member(str_z(c->group), p);
	}
	return is;
}

/* Begins a record of entity e, without fields. The previous record becomes invalid. */
void record_clear(struct record *r, const struct entity *e)
{
	*r = (struct record){ .kind = e->kind, .e = e };
	if (record_alloc()) {
		r->f = storage->f;
		r->text = storage->text;
	} else {
		r->text_n = REC_TEXT;
	}
}

/* Adds a field that was read from a file. Its texts must stay valid as long as the record. */
void record_put(struct record *r, const struct column *c, struct str inst, const struct val *v)
{
	struct field *f = field_add(r, c, inst);

	if (f)
		f->v = *v;
}

/* Returns whether a column that record_select() has selected shows the counters of quantity
 * desc. */
bool record_shows(u8 desc)
{
	for (const struct column *c = columns; c < columns + ncolumns; c++)
		if (c->id == desc && c->when >> selection.kind & 1 &&
		    is_selected(c, selection.kind))
			return true;
	return false;
}

static u8 class_of(const struct column *c)
{
	if (!c->group)
		return DESC_ANY;
	return strcmp(c->group, "engine") == 0 ? DESC_ENGINE :
	       strcmp(c->group, "memory") == 0 ? DESC_REGION : DESC_ANY;
}

static const struct plan *plan_get(const struct record *r, const struct recopts *o)
{
	static struct plan plans[KINDS][4];
	struct plan *p = &plans[r->kind][o->list ? 2 : o->both ? 3 : o->raw];

	if (p->ready)
		return p;
	p->ready = true;
	for (const struct column *c = columns, *end; c < columns + ncolumns; c = end) {
		struct part *t = &p->parts[p->n];

		end = c->shape == S_INST || c->shape == S_BOTH ? group_end(c) : c + 1;
		t->from = (u8)(c - columns);
		t->to = (u8)(end - columns);
		t->class = class_of(c);
		t->end = 0;
		for (size_t m = t->from; m < t->to; m++) {
			p->wanted[m] = is_column(&columns[m], r, o) &&
				       is_selected(&columns[m], r->kind);
			if (!p->wanted[m])
				continue;
			if (!t->end)
				t->first = (u8)m;
			t->end = (u8)m + 1;
		}
		if (t->end)
			p->n++;
	}
	return p;
}

static void add_scalar(struct record *r, const struct column *c, struct str about,
		       const struct recopts *o)
{
	struct field *f = field_add(r, c, about);

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
		struct field *f = field_add(r, c, (struct str){ 0 });

		if (f)
			kind_ops[r->kind].scalar(&f->v, r, c->id);
		return;
	}
	known = reg_get(r->e, c->id, 0, &v);
	if (known || !(c->when & W_SPARSE))
		add_counter(r, c, (struct str){ 0 }, known, v);
}

bool record_alloc(void)
{
	return table_has(&storage_table, REC_TEXT + 2 * sizeof(struct ratio) - 1);
}

/* Returns the ratio of the record's event to another event, such as instructions per cycle; NULL if
 * there is none. */
const struct ratio *record_ratio(const struct record *r)
{
	return r->has_ratio ? &storage->ratio : NULL;
}

/* Returns the stalled cycles per instruction; NULL if they are unknown, or if the record is not
 * about the event instructions. */
const struct ratio *record_stall_ratio(const struct record *r)
{
	return r->has_stalls ? &storage->stalls : NULL;
}

void record_make(struct record *r, const struct entity *e, const struct recopts *o)
{
	const struct kind_ops *m = &kind_ops[e->kind];
	const struct plan *plan;
	struct str about;

	record_clear(r, e);
	r->steady = e->kind == K_OA || e->kind == K_COUNTERS;
	r->memory_size = e->kind == K_DEVICE ? device_memory_size(device_of(e)) : 0;
	owner_find(r);
	about = m->label ? m->label(r) : (struct str){ 0 };
	if (HAS(stat) && r->kind == K_EVENT && record_alloc()) {
		r->has_ratio = ratio_find(e, &storage->ratio);
		r->has_stalls = ratio_stalls(e, &storage->stalls);
	}
	plan = plan_get(r, o);
	for (const struct part *t = plan->parts; t < plan->parts + plan->n; t++) {
		const struct column *c = columns + t->from;

		if (c->shape == S_SCALAR)
			add_scalar(r, c, about, o);
		else if (c->shape == S_MEMBER)
			add_member(r, c);
		else if (m->many)
			m->many(r, c);
		else if (c->shape == S_LIST)
			add_list(r, e, c);
		else
			add_inst(r, plan, t, o);
	}
}

/* --- reading the fields of a record, and matching patterns of -f with them -------------------- */

static inline bool same_word(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : !a && !b;
}

/* Returns the first known value of a field with this group (NULL for a field without a group) and
 * member, for any instance; NULL if there is none. */
const struct val *record_get(const struct record *r, const char *group, const char *member)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct column *c = r->f[i].col;

		if (r->f[i].v.type != V_NULL && same_word(c->group, group) &&
		    same_word(c->member, member))
			return &r->f[i].v;
	}
	return NULL;
}

/* Returns a symbol without its offset (+0x1f). Samples are summed by function, not by address. */
struct str symbol_name(struct str s)
{
	for (const char *p = s.e; p - s.p > 3; p--)
		if (memcmp(p - 3, "+0x", 3) == 0)
			return (struct str){ s.p, p - 3 };
	return s;
}

/* Stores in *fd the descriptor number that identifies a client without drm-client-id. Returns false
 * for other clients and other kinds of records. */
bool record_descriptor(const struct record *r, u64 *fd)
{
	const struct client *c = r->kind == K_CLIENT && r->e ? client_of(r->e) : NULL;

	if (!c || c->keykind != KEY_FILE)
		return false;
	*fd = (u32)c->key;
	return true;
}

enum engine_field engine_field_of(const struct column *c)
{
	switch (c->id) {
	case L_ENGINE_BUSY: case D_BUSY_PCT: return ENGINE_BUSY;
	case D_BUSY_NS:     return ENGINE_TIME;
	case D_CYCLES:      return ENGINE_CYCLES;
	default:            return ENGINE_NONE;
	}
}

/* Raises *most to v if v is larger. Returns whether v is a known number. */
static bool raise_value(u64 *most, const struct val *v)
{
	if (v->type != V_INT)
		return false;
	*most = v->n > *most ? v->n : *most;
	return true;
}

/* Stores in *busy how busy a record's device or client is, in 1/1000 %. The sources are, in this
 * order: the kernel's own value, the busiest engine, the highest load of a unit such as the core of
 * an NPU, the load of the memory controller. Returns false if none of them is known. */
bool record_busy(const struct record *r, u64 *busy)
{
	const struct val *own = record_get(r, NULL, "busy"),
			 *driver = record_get(r, NULL, "driver");
	u64 load = 0, memory = 0;
	bool known = own, loaded = false, has_memory = false;

	*busy = own ? own->n : 0;
	/* RKNPU's devfreq may report a load of 0 while the NPU's cores are busy. */
	if (own && *busy == 0 && driver && str_is(driver->s, "RKNPU"))
		known = false;
	for (size_t i = 0; i < r->n; i++) {
		const struct column *c = r->f[i].col;
		const struct val *v = &r->f[i].v;

		if (!own && same_word(c->group, "engine") && same_word(c->member, "busy"))
			known |= raise_value(busy, v);
		else if (same_word(c->group, "load") && str_is(r->f[i].inst, "mem"))
			has_memory |= raise_value(&memory, v);
		else if (same_word(c->group, "load"))
			loaded |= raise_value(&load, v);
	}
	if (!known)
		*busy = loaded ? load : memory;
	return known || own || loaded || has_memory;
}

/* Returns whether a pattern of -f matches the field: "busy", "engine", "engine.render",
 * "engine.busy" or "engine.render.busy". For OA counters and named counters, the name of the
 * instance alone matches, too. */
bool field_match(const struct field *f, struct str p)
{
	const struct column *c = f->col;
	struct str member = str_z(c->member), rest;

	if (!c->group)
		return str_eq(p, member);
	if ((c->id == L_OA_COUNTERS || c->id == L_COUNTERS) && str_eq(p, f->inst))
		return true;
	if (!pattern_skip(&p, str_z(c->group)))
		return false;
	rest = p;
	if (p.p == p.e || (pattern_skip(&rest, member) && rest.p == rest.e))
		return true;
	return pattern_skip(&p, f->inst) &&
	       (p.p == p.e || (pattern_skip(&p, member) && p.p == p.e));
}

/* Returns whether records of this kind can have a field that the pattern matches. */
bool pattern_known(struct str p, u8 kind)
{
	for (size_t i = 0; i < ncolumns; i++) {
		struct str rest = p;

		if (!(columns[i].when & 1u << kind))
			continue;
		if (columns[i].group ? pattern_skip(&rest, str_z(columns[i].group)) :
		    str_eq(p, str_z(columns[i].member)))
			return true;
	}
	return false;
}

/* Searches for the name of a group or field that is most similar to n->text, a wrong name in -f.
 * Compares only names that records of this kind have, and of n->text only the part before the first
 * '.'. */
void pattern_nearest(struct nearest *n, u8 kind)
{
	struct str whole = n->text;

	str_cut(&whole, '.', &n->text);
	for (const struct column *c = columns; c < columns + ncolumns; c++)
		if (c->when & 1u << kind)
			nearest_try(n, str_z(c->group ? c->group : c->member));
}

/* Writes the name of a field for people: "card0 render" for an engine's busy time. Names of other
 * fields contain the group and the member, to distinguish them from the device's other fields. */
void field_name(struct buf *b, const char *dev, const struct field *f)
{
	const struct column *c = f->col;
	/* true: the field belongs to an engine or a memory region, so that the name of the group is
	 * left out */
	bool spread = c->shape == S_BOTH && strcmp(c->group, "freq") != 0;
	const struct str parts[] = { str_z(spread ? "" : c->group), f->inst,
				     str_z(c->id == L_ENGINE_BUSY ? "" : c->member) };

	put_z(b, dev);
	for (size_t i = 0; i < LEN(parts); i++)
		if (str_len(parts[i])) {
			put_c(b, ' ');
			put_str(b, parts[i]);
		}
}

/* --- texts that identify the entity of a recorded value --------------------------------------- */

size_t plot_id(struct str name)
{
	return str_among(name,
			 "kind dev event comm name unit client pid cgroup set cpu core socket tid "
			 "die cluster cache node");
}

/* Returns the bits W_* for the kind of record in a recorded value's text ID_KIND; 0 if it is
 * unknown. */
u16 plot_kind(const struct plotids *id)
{
	static const u16 kinds[] = { W_DEVICE, W_CLIENT, W_CGROUP, W_PROCESS, W_EVENT, W_SAMPLE,
				     W_OA, W_COUNTER | W_COUNTERS, 0 };

	return kinds[str_among(id->text[ID_KIND],
			       "device client cgroup process event sample oa counter")];
}
