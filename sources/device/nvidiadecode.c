/* nvidiadecode.c - decoder of the answers of NVIDIA's driver: utilisation, memory, ECC, processes,
 * temperatures. Pure: it takes bytes and returns values. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/device/device.h"

/* The structures are those of NVIDIA/open-gpu-kernel-modules, src/common/sdk/nvidia/inc/ctrl, in
 * the releases 515.43.04 to 595.45.04. Numbers have the byte order of the machine. An answer is
 * decoded only with the row of nvrings[] or nveccs[] whose size the driver has accepted. */

/* Layouts of the ring of utilisation samples, newest releases first:
 * NV2080_CTRL_PERF_GET_GPUMON_PERFMON_UTIL_SAMPLES_V2_PARAMS. */
const struct nvring nvrings[NV_RINGS] = {
	/* layout of the ring in releases 570 to 595 of NVIDIA's driver */
	{ 55888, 72, 776, { 8, 136, 264, 392, 520, 648 } },
	/* layout of the ring in releases 550 to 565 of NVIDIA's driver */
	{ 50704, 72, 704, { 8, 124, 240, 356, 472, 588 } },
	/* layout of the ring in releases 525 to 545 of NVIDIA's driver */
	{ 34000, 72, 472, { 8, 124, 240, 356 } },
	/* layout of the ring in releases 515 and 520 of NVIDIA's driver */
	{ 47216, 100, 472, { 8, 124, 240, 356 } },
};

/* Sizes in bytes of NV2080_CTRL_GPU_QUERY_ECC_STATUS_PARAMS, newest releases first. It is an array
 * with the ECC errors of each unit of the GPU; newer releases have more units. */
const u16 nveccs[NV_ECCS] = { 1664, 1464, 1264, 1224, 1024, 984, 904 };

enum {
	/* offsets in the driver's answer with the ring of utilisation samples: of the index of the
	 * sample that is written next, and of the first sample */
	RING_TRACKER = 12, RING_SAMPLES = 16,
	/* offset of the pid in the data of an engine in a sample */
	ENGINE_PID = 8,
	/* in driver releases from 570 on: ENGINE_OS_PID: offset of the member pOsPidInfo in the
	 * data of one engine; ENGINE_BYTES: size of the data of one engine in a sample */
	ENGINE_OS_PID = 120, ENGINE_BYTES = 128,
	FULL_UTIL = 10000, /* utilisation of an engine that always works, in 1/100 % */
	/* ECC_UNIT: bytes of the entry of one unit of the GPU in the answer about ECC errors;
	 * ECC_AFTER: bytes after the last entry */
	ECC_UNIT = 40, ECC_AFTER = 24,
	/* largest plausible size of video memory, in KiB (1 TiB); a larger size is an error of the
	 * driver */
	MAX_KIB = 1 << 30,
	/* layout of the request for temperatures: bytes before its first instruction; bytes of each
	 * instruction */
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

/* Returns the address of the sample that is `age` places after the oldest one in the ring.
 * RING_TRACKER is the offset of the index at which the driver writes next, where the oldest sample
 * is. */
static const char *ring_sample(const char *answer, const struct nvring *r, u32 age)
{
	u32 at = load32(answer + RING_TRACKER) % r->count + age;

	return answer + RING_SAMPLES + (at < r->count ? at : at - r->count) * (size_t)r->sample;
}

/* Stores the time of the newest sample of the ring in *t. False if the ring is empty: the unused
 * entries are zeros. */
bool nvring_newest(const char *answer, const struct nvring *r, u64 *t)
{
	*t = load64(ring_sample(answer, r, r->count - 1u));
	return *t != 0;
}

/* Longest plausible time between two samples, in ns; a GPU takes one sample every 1/6 to 1 s
 * (nvml.h). A sample after a longer pause is counted as 1 ns, because it is unknown how much of the
 * pause the sample represents. */
static const u64 longest_period = 1u << 31;

/* True if the data of an engine in a sample (at) belong to the process q->pid, or q->pid is NV_ANY.
 * If this process is in an inner pid namespace, the pid in the sample is valid only if the driver
 * has translated it: then pOsPidInfo (ENGINE_OS_PID) is 0. Other pids are those of the initial
 * namespace. */
static bool is_of_process(const char *at, const struct nvquery *q)
{
	return q->pid == NV_ANY ||
	       (load32(at + ENGINE_PID) == q->pid &&
		(!q->inner || load64(at + ENGINE_OS_PID) == 0));
}

/* Stores in *s how long an engine worked, in the samples since q->since, or in the whole ring if
 * q->known is false. Each sample represents the time since the previous sample. False if there is
 * no new sample, or if the driver's release does not report this engine or does not translate pids
 * to this pid namespace. */
bool nvring_sum(const char *answer, const struct nvring *r, const struct nvquery *q,
		struct nvsum *s)
{
	bool known = q->known;
	u64 before = q->since;

	s->work = s->time = 0;
	if (q->pid != NV_ANY && q->inner && r->engine[NV_GR] - r->engine[NV_MEMORY] != ENGINE_BYTES)
		/* driver releases before 570 do not translate pids to an inner pid namespace */
		return false;
	for (u32 i = 0; r->engine[q->engine] && i < r->count; i++) {
		const char *sample = ring_sample(answer, r, i), *at = sample + r->engine[q->engine];
		u64 t = load64(sample), weight = t - before;
		u32 util = load32(at);

		/* skip an unused entry of the ring, and a sample that is not later than the
		 * previous sample; the difference is correct even if the driver's times wrap */
		if (t == 0 || (known && weight - 1 > INT64_MAX))
			continue;
		/* It is unknown how much time the first sample in the ring represents: assume the
		 * same as for the second sample. */
		if (!known)
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

/* Stores the numbers of corrected and of uncorrected ECC errors since the driver was loaded, as
 * sums over all units of the GPU that have ECC. False if no unit has ECC. */
bool nvecc_sum(const char *answer, size_t n, u64 *corrected, u64 *uncorrected)
{
	bool any = false;

	*corrected = *uncorrected = 0;
	for (size_t at = 0; at + ECC_AFTER < n; at += ECC_UNIT) {
		u64 dbe = load64(answer + at + 8), sbe = load64(answer + at + 24);

		/* skip this unit of the GPU: its ECC is disabled or not supported */
		if (!answer[at] || !answer[at + 2])
			continue;
		any = true;
		*corrected += sbe;
		*uncorrected += dbe;
	}
	return any;
}

/* Stores the total and the used video memory, in bytes. `list` is the driver's answer to a request
 * for TOTAL_RAM_SIZE and HEAP_FREE, in KiB. False if the sizes contradict each other. */
bool nvmemory(const char *list, u64 *total, u64 *used)
{
	u64 all = load32(list + 4), unused = load32(list + 12);

	*total = all << 10;
	*used = (all - unused) << 10;
	return all > 0 && all <= MAX_KIB && unused <= all;
}

/* Returns the performance state (0 to 15) that is the number of the only bit set in the mask;
 * NV_NO_PSTATE if not exactly one bit is set. */
u8 nvpstate(u32 mask)
{
	for (u8 i = 0; i < 16; i++)
		if (mask == 1u << i)
			return i;
	return NV_NO_PSTATE;
}

/* Stores the pid and the memory, in bytes, of a process from its entry in the driver's answer.
 * False if the driver does not know the memory, or if a size is impossible. */
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

/* Instructions in the request for all temperatures. Each one is repeated for the sensors or targets
 * 0 to NV_SENSORS - 1. SENSOR_TARGET: number of the target that a sensor measures; TARGET_TYPE:
 * kind of a target, such as GPU or memory; SENSOR_READING: temperature of a sensor. */
enum { SENSOR_TARGET = 0x520, TARGET_TYPE = 0x101, SENSOR_READING = 0x1500 };
static const u16 opcodes[] = { SENSOR_TARGET, TARGET_TYPE, SENSOR_READING };

/* Initializes the request for all temperatures: NV2080_CTRL_THERMAL_SYSTEM_EXECUTE_V2_PARAMS. */
void nvsensors_ask(char *request)
{
	memset(request, 0, NV_SENSOR_BYTES);
	store32(request, 1); /* version of the structure of the request for temperatures */
	store32(request + 8, SENSOR_BYTES);
	/* flag in the request for temperatures: if an instruction fails, the driver continues with
	 * the next one */
	store32(request + 12, 1);
	store32(request + 20, NV_SENSORS * LEN(opcodes));
	for (u32 i = 0; i < NV_SENSORS * LEN(opcodes); i++) {
		char *at = request + SENSOR_HEAD + i * (size_t)SENSOR_BYTES;

		store32(at + 8, opcodes[i / NV_SENSORS]);
		store32(at + 12, i % NV_SENSORS);
	}
}

/* Stores in *v the result of the instruction opcodes[kind] for sensor or target i. False if the
 * instruction has no result. */
static bool sensor_answer(const char *answer, u32 kind, u32 i, u32 *v)
{
	size_t row = kind * NV_SENSORS + i;
	const char *at = answer + SENSOR_HEAD + row * SENSOR_BYTES;

	*v = load32(at + 16);
	return load32(at) == 0 && load32(at + 4) != 0;
}

/* Stores what a sensor measures in *name (gpu, memory, power or board), and its temperature in *v,
 * in 1/1000 degrees C. False if there is no such sensor. */
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
