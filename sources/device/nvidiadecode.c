/* nvidiadecode.c - decoder of the answers of NVIDIA's driver: utilisation, memory, ECC, processes,
 * temperatures. Pure: it takes bytes and returns values. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/device/device.h"

/* The structures are those of NVIDIA/open-gpu-kernel-modules, src/common/sdk/nvidia/inc/ctrl, in
 * the releases 515.43.04 to 595.45.04. All are little endian. An answer is only decoded by the row
 * whose size the driver accepted. */

/* NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS, newest first. */
const struct nvring nvrings[NV_RINGS] = {
	{ 55888, 72, 776, { 8, 136, 264, 392, 520, 648 } },  /* 570 to 595 */
	{ 50704, 72, 704, { 8, 124, 240, 356, 472, 588 } },  /* 550 to 565 */
	{ 34000, 72, 472, { 8, 124, 240, 356 } },            /* 525 to 545 */
	{ 47216, 100, 472, { 8, 124, 240, 356 } },           /* 515, 520 */
};

/* NV2080_CTRL_GPU_QUERY_ECC_STATUS_PARAMS: an array of units, of which each release has more. */
const u16 nveccs[NV_ECCS] = { 1664, 1464, 1264, 1224, 1024, 984, 904 };

enum {
	RING_TRACKER = 12, RING_SAMPLES = 16, /* in the ring; a sample begins with its time */
	ENGINE_PID = 8,                       /* in an engine of a sample, after its utilisation */
	ENGINE_OS_PID = 120, ENGINE_BYTES = 128, /* from release 570 on */
	FULL_UTIL = 10000,                    /* 1/100 % */
	ECC_UNIT = 40, ECC_AFTER = 24,
	MAX_KIB = 1 << 30,                    /* 1 TiB: a larger size is an error of the driver */
	SENSOR_HEAD = 24, SENSOR_BYTES = 44,
};

static u32 load32(const char *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static u64 load64(const char *p)
{
	u64 v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static void store32(char *p, u32 v)
{
	memcpy(p, &v, sizeof(v));
}

/* Returns the position of the sample that is `age` after the oldest one: `tracker` is where the
 * driver writes next. */
static const char *ring_sample(const char *answer, const struct nvring *r, u32 age)
{
	u32 at = load32(answer + RING_TRACKER) % r->count + age;

	return answer + RING_SAMPLES + (at < r->count ? at : at - r->count) * (size_t)r->sample;
}

/* Finds the time of the newest sample. False: there is none. A ring that is not full has zeros
 * where no sample is yet. */
bool nvring_newest(const char *answer, const struct nvring *r, u64 *t)
{
	*t = load64(ring_sample(answer, r, r->count - 1u));
	return *t != 0;
}

/* A GPU takes a sample every 1/6 to 1 s (nvml.h). After a longer pause it is not known for which
 * time a sample stands, so that it hardly counts. */
static const u64 longest_period = 1u << 31;

/* Returns whether a sample of an engine is of a process. In an inner pid namespace the driver has
 * translated a pid if it has cleared the member after it; the others are pids of the machine. */
static bool is_of_process(const char *at, const struct nvquery *q)
{
	return q->pid == NV_ANY ||
	       (load32(at + ENGINE_PID) == q->pid &&
		(!q->inner || load64(at + ENGINE_OS_PID) == 0));
}

/* Adds the utilisation of an engine over the samples since q->since; with q->known false over the
 * whole ring. Each sample counts for the time since the one before it. False: there is no new
 * sample, or these releases have no such engine. */
bool nvring_sum(const char *answer, const struct nvring *r, const struct nvquery *q,
		struct nvsum *s)
{
	bool known = q->known;
	u64 before = q->since;

	s->work = s->time = 0;
	if (q->pid != NV_ANY && q->inner && r->engine[NV_GR] - r->engine[NV_MEMORY] != ENGINE_BYTES)
		return false; /* these releases do not translate */
	for (u32 i = 0; r->engine[q->engine] && i < r->count; i++) {
		const char *sample = ring_sample(answer, r, i), *at = sample + r->engine[q->engine];
		u64 t = load64(sample), weight = t - before;
		u32 util = load32(at);

		if (t == 0 || (known && weight - 1 > INT64_MAX)) /* not later, in wrapping time */
			continue;
		if (!known) /* as long as the next one */
			weight = load64(ring_sample(answer, r, i + 1)) - t;
		if (weight - 1 >= longest_period)
			weight = 1;
		known = true;
		before = t;
		s->time += weight;
		if (is_of_process(at, q))
			s->work += weight * (util < FULL_UTIL ? util : FULL_UTIL);
	}
	s->work /= FULL_UTIL;
	return s->time != 0;
}

/* Adds the errors of all units that have ECC, since the driver was loaded. False: no unit has. */
bool nvecc_sum(const char *answer, size_t n, u64 *corrected, u64 *uncorrected)
{
	bool any = false;

	*corrected = *uncorrected = 0;
	for (size_t at = 0; at + ECC_AFTER < n; at += ECC_UNIT) {
		u64 dbe = load64(answer + at + 8), sbe = load64(answer + at + 24);

		if (!answer[at] || !answer[at + 2]) /* not enabled, or not supported */
			continue;
		any = true;
		*corrected += sbe;
		*uncorrected += dbe;
	}
	return any;
}

/* Reads the answer about the indices TOTAL_RAM_SIZE and HEAP_FREE, in bytes. False: the sizes
 * contradict each other. */
bool nvmemory(const char *list, u64 *total, u64 *used)
{
	u64 all = load32(list + 4), unused = load32(list + 12);

	*total = all << 10;
	*used = (all - unused) << 10;
	return all > 0 && all <= MAX_KIB && unused <= all;
}

/* Returns the number of the performance state of a mask with one bit, or NV_NO_PSTATE. */
u8 nvpstate(u32 mask)
{
	for (u8 i = 0; i < 16; i++)
		if (mask == 1u << i)
			return i;
	return NV_NO_PSTATE;
}

/* Reads an entry of the memory of processes. False: the driver does not know it, or it is not
 * possible. */
bool nvprocess(const char *entry, u32 *pid, u64 *resident, u64 *shared)
{
	u64 own = load64(entry + 16), owned = load64(entry + 24), duped = load64(entry + 32);
	const u64 most = (u64)MAX_KIB << 10;

	*pid = load32(entry);
	if (load32(entry + 8) != 0 || own > most || owned > most || duped > most)
		return false;
	*shared = owned + duped;
	*resident = own + *shared;
	return true;
}

/* The instructions of one request for all temperatures: what each of the first sensors measures,
 * what each of the first targets is, and the reading of each sensor. */
enum { SENSOR_TARGET = 0x520, TARGET_TYPE = 0x101, SENSOR_READING = 0x1500 };
static const u16 opcodes[] = { SENSOR_TARGET, TARGET_TYPE, SENSOR_READING };

/* NV2080_CTRL_THERMAL_SYSTEM_EXECUTE_V2_PARAMS. */
void nvsensors_ask(char *request)
{
	memset(request, 0, NV_SENSOR_BYTES);
	store32(request, 1); /* version of the interface */
	store32(request + 8, SENSOR_BYTES);
	store32(request + 12, 1); /* a failure of one instruction does not stop the others */
	store32(request + 20, NV_SENSORS * LEN(opcodes));
	for (u32 i = 0; i < NV_SENSORS * LEN(opcodes); i++) {
		char *at = request + SENSOR_HEAD + i * (size_t)SENSOR_BYTES;

		store32(at + 8, opcodes[i / NV_SENSORS]);
		store32(at + 12, i % NV_SENSORS);
	}
}

/* Reads the answer to instruction `kind` about sensor or target i. */
static bool sensor_answer(const char *answer, u32 kind, u32 i, u32 *v)
{
	size_t row = kind * NV_SENSORS + i;
	const char *at = answer + SENSOR_HEAD + row * SENSOR_BYTES;

	*v = load32(at + 16);
	return load32(at) == 0 && load32(at + 4) != 0;
}

/* Reads a sensor: what it measures, and 1/1000 degrees C. False: there is no such sensor. */
bool nvsensor(const char *answer, u32 sensor, const char **name, i64 *v)
{
	static const char *const types[] = { NULL, "gpu", "memory", NULL, "power", NULL, NULL, NULL,
					     "board" };
	u32 target, type, degrees;

	if (sensor >= NV_SENSORS || !sensor_answer(answer, 0, sensor, &target) ||
	    target >= NV_SENSORS || !sensor_answer(answer, 1, target, &type) ||
	    type >= LEN(types) || !types[type] || !sensor_answer(answer, 2, sensor, &degrees) ||
	    (i32)degrees < -273 || (i32)degrees > 1000)
		return false;
	*name = types[type];
	*v = (i64)(i32)degrees * 1000;
	return true;
}
