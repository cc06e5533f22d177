/* quantities.h - all quantities of devices, clients and cgroups, one row each. A new quantity is a
 * row here and a row in the source that reads it, for example attrs[] of sources/device/sysfs.c.
 * The file has no include guard: it is included for enum desc (counters.h), the rules (counters.c),
 * the fields of records (views/record.c) and the named counters (sources/catalog/gpucounters.c).
 * The includer defines the macros that it needs. The order of the rows is the order of the fields
 * in a record. SPDX-License-Identifier: MIT
 *
 * QUANTITY(id, course, sign, range, sum, limit, group, member, shape, unit, when, what, named)
 *	A value D_##id of the registry that is a field of records and a named counter.
 *	course  CO_##course, see parse.h: LEVEL, or what it means that a counter decreases
 *	sign    SIGNED: the value is an i64
 *	range   RG_##range, see parse.h: a reading outside of it is not plausible, and unknown
 *	sum     the quantity that is its sum over the clients of a device or cgroup, or NONE
 *	limit   the quantity that is its highest value, or NONE
 *	group, member, shape, unit, when: as in struct column, see views/views.h
 *	what    description, for -f help and for named counters
 *	named   the end of the counter's name: drm/DEVICE/INSTANCE/NAMED; if it contains a '/', it
 *		also replaces INSTANCE
 * FIELD(id, course, sign, range, sum, group, member, shape, unit, when, what)
 *	A value of the registry that is a field of records only.
 * NAMED(id, course, range, unit, what, named)
 *	A value of the registry that is a named counter only.
 * INTERNAL(id, course, range)
 *	A value of the registry from which others are computed.
 * COMPUTED(id, group, member, shape, unit, when, what)
 *	A field L_##id that views/record.c computes from several values.
 * OPTIONAL(feature, row)
 *	A row of a feature. The registry always has it, so that its numbers are the same in all
 *	files; the includer may leave its field out.
 * STORED(id, course, sign, range, sum)
 *	If the includer defines it, it replaces QUANTITY, FIELD, NAMED and INTERNAL. */
#ifdef STORED
#define QUANTITY(id, course, sign, range, sum, ...) STORED(id, course, sign, range, sum)
#define FIELD(id, course, sign, range, sum, ...) STORED(id, course, sign, range, sum)
#define NAMED(id, course, range, ...) STORED(id, course, UNSIGNED, range, NONE)
#define INTERNAL(id, course, range) STORED(id, course, UNSIGNED, range, NONE)
#endif
#ifndef QUANTITY
#define QUANTITY(...)
#endif
#ifndef FIELD
#define FIELD(...)
#endif
#ifndef NAMED
#define NAMED(...)
#endif
#ifndef INTERNAL
#define INTERNAL(...)
#endif
#ifndef COMPUTED
#define COMPUTED(...)
#endif
#ifndef OPTIONAL
#define OPTIONAL(feature, ...) __VA_ARGS__
#endif

COMPUTED(BUSY, NULL, "busy", S_SCALAR, U_PERCENT, W_DEVICE | W_COMMAND | BOTH | W_TABLE,
	 "busy time of the whole device, counted by the kernel")
COMPUTED(IDLE, NULL, "idle", S_SCALAR, U_PERCENT, W_DEVICE | BOTH,
	 "time in the deepest sleep state (rc6, gtidle)")
COMPUTED(USED, NULL, "used", S_SCALAR, U_BYTES, ALL | W_COMMAND | BOTH | W_SPARSE,
	 "memory in use: video memory if there is any; all memory on APUs")

/* Engines: values of a client, or of a device if the kernel counts the work of all its clients.
 * BUSY_PCT, in 1/1000 %, is read only if the driver prints no other busy value. */
COMPUTED(ENGINE_BUSY, "engine", "busy", S_BOTH, U_PERCENT, LIVE | W_COMMAND | W_LIVE | W_TABLE,
	 "busy time, in percent of the engine's capacity")
FIELD(BUSY_PCT, LEVEL, UNSIGNED, LOAD, NONE,
      "engine", "busy", S_BOTH, U_PERCENT, ALL | W_RAW | W_SPARSE,
      "busy time from amdgpu before Linux 5.19")
QUANTITY(BUSY_NS, PEAK, UNSIGNED, ANY, D_SUM_NS, NONE,
	 "engine", "busy_ns", S_BOTH, U_NS, ALL | W_COMMAND | W_RAW | W_SPARSE | W_TOTAL,
	 "busy time of the engine since the start", "busy_time")
QUANTITY(CYCLES, PEAK, UNSIGNED, ANY, D_SUM_CYCLES, NONE,
	 "engine", "cycles", S_BOTH, U_NONE, ALL | W_COMMAND | W_RAW | W_SPARSE | W_TOTAL,
	 "busy cycles of the engine since the start", "cycles")
FIELD(TOTAL_CYCLES, RESET, UNSIGNED, ANY, D_SUM_TOTAL_CYCLES,
      "engine", "total_cycles", S_BOTH, U_NONE, ALL | W_RAW | W_SPARSE | W_TOTAL,
      "all cycles of the engine since the start")
QUANTITY(CAPACITY, LEVEL, UNSIGNED, BYTE, NONE, NONE,
	 "engine", "capacity", S_BOTH, U_NONE, ALL | W_COMMAND | BOTH,
	 "number of engines of this type", "capacity")
COMPUTED(ENGINE_UTIL, "engine", "util", S_BOTH, U_PERCENT, LIVE | W_LIVE,
	 "busy cycles, in percent of the highest frequency")
COMPUTED(ENGINE_FREQ, "engine", "freq", S_BOTH, U_HZ, LIVE | W_LIVE, "mean clock while busy")
QUANTITY(MAXFREQ, LEVEL, UNSIGNED, CLOCK, NONE, NONE,
	 "engine", "maxfreq", S_BOTH, U_HZ, ALL | BOTH | W_SPARSE, "highest clock of the engine",
	 "maxfreq")
QUANTITY(CURFREQ, LEVEL, UNSIGNED, CLOCK, NONE, NONE,
	 "engine", "curfreq", S_BOTH, U_HZ, ALL | BOTH | W_SPARSE, "present clock of the engine",
	 "curfreq")

/* Memory regions of a client's buffers, or of a device. */
QUANTITY(TOTAL, LEVEL, UNSIGNED, BYTES, D_SUM_TOTAL, NONE,
	 "memory", "total", S_BOTH, U_BYTES, ALL | BOTH, "all buffers in this region", "total")
QUANTITY(SHARED, LEVEL, UNSIGNED, BYTES, D_SUM_SHARED, NONE,
	 "memory", "shared", S_BOTH, U_BYTES, ALL | BOTH,
	 "buffers shared by several clients", "shared")
QUANTITY(RESIDENT, LEVEL, UNSIGNED, BYTES, D_SUM_RESIDENT, NONE,
	 "memory", "resident", S_BOTH, U_BYTES, ALL | W_COMMAND | BOTH | W_TABLE,
	 "buffers in memory now; in sums a shared one counts once", "resident")
QUANTITY(PURGEABLE, LEVEL, UNSIGNED, BYTES, D_SUM_PURGEABLE, NONE,
	 "memory", "purgeable", S_BOTH, U_BYTES, ALL | BOTH,
	 "buffers that may be dropped", "purgeable")
QUANTITY(ACTIVE, LEVEL, UNSIGNED, BYTES, D_SUM_ACTIVE, NONE,
	 "memory", "active", S_BOTH, U_BYTES, ALL | BOTH, "buffers in use by an engine", "active")

/* Memory of devices, as their drivers report it in sysfs. */
QUANTITY(VRAM_TOTAL, LEVEL, UNSIGNED, BYTES, NONE, NONE,
	 "vram", "total", S_MEMBER, U_BYTES, W_DEVICE | BOTH, "video memory", "vram/size")
QUANTITY(VRAM_USED, LEVEL, UNSIGNED, BYTES, NONE, D_VRAM_TOTAL,
	 "vram", "used", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_TABLE,
	 "video memory in use", "vram/used")
QUANTITY(VISIBLE_TOTAL, LEVEL, UNSIGNED, BYTES, NONE, NONE,
	 "visible", "total", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE,
	 "video memory that the CPU can access", "visible/size")
QUANTITY(VISIBLE_USED, LEVEL, UNSIGNED, BYTES, NONE, D_VISIBLE_TOTAL,
	 "visible", "used", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE,
	 "video memory in use that the CPU can access", "visible/used")
QUANTITY(PREEMPT_USED, LEVEL, UNSIGNED, BYTES, NONE, NONE,
	 "preempt", "used", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE,
	 "buffers of preempted work", "preempt/used")
QUANTITY(GTT_TOTAL, LEVEL, UNSIGNED, BYTES, NONE, NONE,
	 "gtt", "total", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE,
	 "main memory that the GPU can use", "gtt/size")
QUANTITY(GTT_USED, LEVEL, UNSIGNED, BYTES, NONE, D_GTT_TOTAL,
	 "gtt", "used", S_MEMBER, U_BYTES, W_DEVICE | BOTH | W_SPARSE,
	 "main memory in use by the GPU", "gtt/used")

/* Clocks of devices, in Hz. */
QUANTITY(FREQ_CUR, LEVEL, UNSIGNED, CLOCK, NONE, NONE,
	 "freq", "cur", S_BOTH, U_HZ, W_DEVICE | BOTH | W_TABLE,
	 "present clock; i915, xe: requested clock", "freq")
QUANTITY(FREQ_ACT, LEVEL, UNSIGNED, CLOCK, NONE, NONE,
	 "freq", "act", S_BOTH, U_HZ, W_DEVICE | BOTH | W_SPARSE, "actual clock, 0 while asleep",
	 "freq_act")
QUANTITY(FREQ_TARGET, LEVEL, UNSIGNED, CLOCK, NONE, NONE,
	 "freq", "target", S_BOTH, U_HZ, W_DEVICE | BOTH | W_SPARSE,
	 "clock that the governor requested", "freq_target")
COMPUTED(FREQ_AVG, "freq", "avg", S_BOTH, U_HZ, W_DEVICE | W_LIVE | W_SPARSE,
	 "mean clock over the interval (devfreq)")
QUANTITY(FREQ_MIN, LEVEL, UNSIGNED, CLOCK, NONE, NONE,
	 "freq", "min", S_BOTH, U_HZ, W_DEVICE | BOTH | W_SPARSE, "lower limit of the clock",
	 "freq_min")
QUANTITY(FREQ_MAX, LEVEL, UNSIGNED, CLOCK, NONE, NONE,
	 "freq", "max", S_BOTH, U_HZ, W_DEVICE | BOTH, "upper limit of the clock", "freq_max")
FIELD(FREQ_BOOST, LEVEL, UNSIGNED, CLOCK, NONE,
      "freq", "boost", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE,
      "clock for waiting clients")
FIELD(FREQ_RP0, LEVEL, UNSIGNED, CLOCK, NONE,
      "freq", "rp0", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE, "hardware: highest clock")
FIELD(FREQ_RP1, LEVEL, UNSIGNED, CLOCK, NONE,
      "freq", "rp1", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE,
      "hardware: most efficient clock")
FIELD(FREQ_RPA, LEVEL, UNSIGNED, CLOCK, NONE,
      "freq", "rpa", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE,
      "hardware: achievable clock")
FIELD(FREQ_RPE, LEVEL, UNSIGNED, CLOCK, NONE,
      "freq", "rpe", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE,
      "hardware: most efficient clock")
FIELD(FREQ_RPN, LEVEL, UNSIGNED, CLOCK, NONE,
      "freq", "rpn", S_BOTH, U_HZ, W_DEVICE | W_LIST | W_SPARSE, "hardware: lowest clock")

/* Loads and sensors of devices. Sensors have the units of hwmon: 1/1000 degree Celsius, uW, uJ,
 * rpm, mV, mA. */
QUANTITY(LOAD, LEVEL, UNSIGNED, LOAD, NONE, NONE,
	 "load", NULL, S_INST, U_PERCENT, W_DEVICE | BOTH | W_SPARSE,
	 "load of memory, video or NPU cores", "load")
NAMED(IDLE_MS, WRAP32, IDLE, U_MS, "time in the deepest sleep state", "idle_time")
QUANTITY(TEMP, LEVEL, SIGNED, TEMP, NONE, NONE,
	 "temp", NULL, S_INST, U_CELSIUS, W_DEVICE | BOTH | W_TABLE, "temperature", "temp")
QUANTITY(POWER, LEVEL, UNSIGNED, POWER, NONE, NONE,
	 "power", NULL, S_INST, U_WATT, W_DEVICE | W_COMMAND | BOTH | W_TABLE,
	 "power, or its mean computed from energy", "power")
QUANTITY(ENERGY, METER, UNSIGNED, ENERGY, NONE, NONE,
	 "energy", NULL, S_INST, U_JOULE, W_DEVICE | W_COMMAND | BOTH | W_TOTAL,
	 "energy since the start", "energy")
QUANTITY(FAN, LEVEL, UNSIGNED, FAN, NONE, NONE,
	 "fan", NULL, S_INST, U_RPM, W_DEVICE | BOTH | W_TABLE, "fan speed", "fan")
QUANTITY(PWM, LEVEL, UNSIGNED, BYTE, NONE, NONE,
	 "pwm", NULL, S_INST, U_NONE, W_DEVICE | BOTH | W_SPARSE, "fan control, 0 to 255", "pwm")
QUANTITY(VOLT, LEVEL, SIGNED, VOLT, NONE, NONE,
	 "volt", NULL, S_INST, U_VOLT, W_DEVICE | BOTH, "voltage", "volt")
QUANTITY(CURRENT, LEVEL, SIGNED, CURRENT, NONE, NONE,
	 "current", NULL, S_INST, U_AMPERE, W_DEVICE | BOTH | W_SPARSE, "current", "current")
QUANTITY(THROTTLE, LEVEL, UNSIGNED, ANY, NONE, NONE,
	 "throttle", NULL, S_LIST, U_NONE, W_DEVICE | BOTH,
	 "active throttle reasons (1: active)", "throttle")
QUANTITY(LINK_SPEED, LEVEL, UNSIGNED, LINK, NONE, NONE,
	 "link", "speed", S_MEMBER, U_GTS, W_DEVICE | BOTH, "PCIe link speed", "link/speed")
QUANTITY(LINK_WIDTH, LEVEL, UNSIGNED, BYTE, NONE, NONE,
	 "link", "width", S_MEMBER, U_NONE, W_DEVICE | BOTH, "PCIe lanes", "link/width")
FIELD(LINK_MAX_SPEED, LEVEL, UNSIGNED, LINK, NONE,
      "link", "max_speed", S_MEMBER, U_GTS, W_DEVICE | W_LIST, "highest PCIe link speed")
FIELD(LINK_MAX_WIDTH, LEVEL, UNSIGNED, BYTE, NONE,
      "link", "max_width", S_MEMBER, U_NONE, W_DEVICE | W_LIST, "most PCIe lanes")

/* Times of a device's runtime power management in ms, and limits of its power, temperature and
 * fans. */
FIELD(ACTIVE_MS, LEVEL, UNSIGNED, ANY, NONE,
      "runtime", "active", S_MEMBER, U_MS, W_DEVICE | W_LIST | W_SPARSE, "time awake")
FIELD(SUSPENDED_MS, LEVEL, UNSIGNED, ANY, NONE,
      "runtime", "suspended", S_MEMBER, U_MS, W_DEVICE | W_LIST | W_SPARSE, "time asleep")
FIELD(POWER_CAP, LEVEL, UNSIGNED, POWER, NONE,
      "power_limit", "cap", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE, "limit in force")
FIELD(POWER_MAX, LEVEL, UNSIGNED, POWER, NONE,
      "power_limit", "max", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE,
      "highest limit that can be set")
FIELD(POWER_DEFAULT, LEVEL, UNSIGNED, POWER, NONE,
      "power_limit", "default", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE,
      "factory limit")
FIELD(POWER_RATED, LEVEL, UNSIGNED, POWER, NONE,
      "power_limit", "rated", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE, "rated power")
FIELD(POWER_CRIT, LEVEL, UNSIGNED, POWER, NONE,
      "power_limit", "crit", S_BOTH, U_WATT, W_DEVICE | W_LIST | W_SPARSE,
      "power at which the hardware takes action")
FIELD(TEMP_MAX, LEVEL, SIGNED, TEMP, NONE,
      "temp_limit", "max", S_BOTH, U_CELSIUS, W_DEVICE | W_LIST | W_SPARSE,
      "highest normal temperature")
FIELD(TEMP_CRIT, LEVEL, SIGNED, TEMP, NONE,
      "temp_limit", "crit", S_BOTH, U_CELSIUS, W_DEVICE | W_LIST | W_SPARSE,
      "temperature at which the hardware throttles")
FIELD(TEMP_EMERGENCY, LEVEL, SIGNED, TEMP, NONE,
      "temp_limit", "emergency", S_BOTH, U_CELSIUS, W_DEVICE | W_LIST | W_SPARSE,
      "temperature at which the hardware shuts down")
FIELD(FAN_MAX, LEVEL, UNSIGNED, FAN, NONE,
      "fan_limit", NULL, S_INST, U_RPM, W_DEVICE | W_LIST | W_SPARSE, "highest fan speed")

/* Values of devices that only NVIDIA's driver reports. */
OPTIONAL(nvidia, QUANTITY(PSTATE, LEVEL, UNSIGNED, ANY, NONE, NONE,
	 "pstate", "current", S_MEMBER, U_NONE, W_DEVICE | BOTH | W_SPARSE,
	 "performance state, 0 is the fastest", "pstate/current"))
OPTIONAL(nvidia, QUANTITY(ECC_CORRECTED, LEVEL, UNSIGNED, ANY, NONE, NONE,
	 "ecc", "corrected", S_MEMBER, U_NONE, W_DEVICE | BOTH | W_SPARSE,
	 "memory errors that ECC corrected", "ecc/corrected"))
OPTIONAL(nvidia, QUANTITY(ECC_UNCORRECTED, LEVEL, UNSIGNED, ANY, NONE, NONE,
	 "ecc", "uncorrected", S_MEMBER, U_NONE, W_DEVICE | BOTH | W_SPARSE,
	 "memory errors that ECC did not correct", "ecc/uncorrected"))

INTERNAL(GPU_BUSY, LEVEL, LOAD)   /* busy time of the whole device in 1/1000 % */
INTERNAL(GPU_BUSY_US, PEAK, ANY) /* busy time of the whole device in us */
/* Properties of processes (struct taskinfo). They are fields of records, but no counters of the
 * registry. */
INTERNAL(PROC_CMDLINE, LEVEL, ANY)
INTERNAL(PROC_USER, LEVEL, ANY)
INTERNAL(PROC_UID, LEVEL, ANY)
INTERNAL(PROC_CPU, LEVEL, ANY)
INTERNAL(PROC_RSS, LEVEL, ANY)
/* Values of cgroups, which sources/device/dmem.c reads: memory in bytes, and pressure. */
INTERNAL(CG_VRAM, LEVEL, BYTES)
INTERNAL(CG_VRAM_MAX, LEVEL, ANY)
INTERNAL(CG_MEMORY, LEVEL, BYTES)
INTERNAL(CG_SOME, LEVEL, ANY)
INTERNAL(CG_FULL, LEVEL, ANY)
/* From devfreq's file trans_stat: the sum over all clock states of kHz times the ms spent in the
 * state. Its readings are not timed by the system's clock but by the ms spent in all states
 * together, converted to ns: the rate is then the mean clock. */
INTERNAL(FREQ_SPENT, RESET, ANY)

#undef STORED
#undef QUANTITY
#undef FIELD
#undef NAMED
#undef INTERNAL
#undef COMPUTED
#undef OPTIONAL
