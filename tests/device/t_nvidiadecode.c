/* t_nvidiadecode.c - unit test of sources/device/nvidiadecode.c: layouts of NVIDIA's driver by
 * release, rings that have wrapped or are not full, the wrap of time, and any bytes.
 * SPDX-License-Identifier: MIT */
#include "unit.h"

static u64 clock_ns;

static u64 nvrm_now(void)
{
	return clock_ns;
}

static int nvrm_in(void *to, u64 from, size_t n)
{
	memcpy(to, (const void *)(uintptr_t)from, n);
	return 0;
}

static int nvrm_out(u64 to, const void *from, size_t n)
{
	memcpy((void *)(uintptr_t)to, from, n);
	return 0;
}

#include "boot/nvrm.h"

enum { PERIOD = 125000000 };
static struct nvrm rm;
static struct nvrm_gpu *const gpu = &rm.gpus[0];
static unsigned char answer[64 << 10];

static const struct nvring *ring_of(unsigned release)
{
	const struct nvrm_release *r = &nvrm_releases[release];

	for (size_t i = 0; i < NV_RINGS; i++)
		if (nvrings[i].bytes == 16 + r->samples * (8 + r->engines * r->engine))
			return &nvrings[i];
	return NULL;
}

/* Returns the stand-in's answer after this many samples. */
static const char *ring_after(unsigned release, unsigned taken)
{
	const struct nvring *r = ring_of(release);
	unsigned head[4] = { 2, (unsigned)r->count * r->sample, r->count, 0 };

	gpu->release = release;
	gpu->period = PERIOD;
	gpu->began = 0;
	clock_ns = (u64)taken * PERIOD;
	memcpy(answer, head, sizeof(head));
	check_u64(nvrm_utilisation(&rm, gpu, answer, r->bytes), 0, "release %u: the stand-in accepts the size", nvrm_releases[release].number);
	return (const char *)answer;
}

/* Percent of the samples since sample number `since`; -1: from the beginning. */
static double percent(const struct nvring *r, u8 engine, u32 pid, int since)
{
	struct nvquery q = { .engine = engine, .pid = pid, .known = since >= 0 };
	struct nvsum s;

	if (since >= 0)
		q.since = nvrm_time(gpu, (unsigned)since);
	return nvring_sum((const char *)answer, r, &q, &s) ? 100.0 * (double)s.work / (double)s.time : -1;
}

static bool near(double a, double b)
{
	return a - b < 0.011 && b - a < 0.011;
}

static void t_releases(void)
{
	static const struct nvrm_work work[NVRM_ENGINES] = { { 3000, 10, 0, 0 }, { 9000, 7, 1234, 0 }, { 2000, 5, 77, 0 }, { 10000, 1, 77, 0 },
							     { 500, 10, 5, 0 }, { 12345, 2, 0, 0 } };

	memcpy(gpu->work, work, sizeof(work));
	gpu->first = 5000000000000;
	for (unsigned i = 0; i < LEN(nvrm_releases); i++) {
		const struct nvring *r = ring_of(i);
		bool later = nvrm_releases[i].number == 999, six = nvrm_releases[i].engines == 6;
		u64 t;

		check(!r == later,
		      "release %u: the ring has a row, or is unknown in a later release",
		      nvrm_releases[i].number);
		if (!r)
			continue;
		ring_after(i, 250); /* the ring has wrapped: it has samples 160 to 249 and later */
		check(nvring_newest((const char *)answer, r, &t) && t == nvrm_time(gpu, 249),
		      "nvring_newest() returns the time of the newest sample");
		check(near(percent(r, NV_MEMORY, NV_ANY, 209), 30),
		      "ring: load of the memory controller");
		check(near(percent(r, NV_GR, NV_ANY, 209), 63),
		      "ring: graphics, 7 of 10 samples with 90 %%");
		check(near(percent(r, NV_GR, 1234, 209), 63) && near(percent(r, NV_GR, 77, 209), 0),
		      "ring: graphics, by process");
		check(near(percent(r, NV_NVENC, 77, 209), 10) && near(percent(r, NV_NVDEC, 77, 209), 10),
		      "ring: encoder and decoder");
		check(near(percent(r, NV_NVJPG, NV_ANY, 209), six ? 5 : -1),
		      "ring: nvjpg, or no such engine");
		check(near(percent(r, NV_NVOFA, NV_ANY, 209), six ? 20 : -1),
		      "ring: more than 100 %% counts as 100 %%");
		check(near(percent(r, NV_GR, NV_ANY, 247), 0) && near(percent(r, NV_GR, NV_ANY, 249), -1),
		      "ring: the last two samples have a share; without a new sample there is none");
	}
}

/* A ring with one sample per entry of `t`, in the order in which it was written. */
static void ring_make(const struct nvring *r, const u64 *t, const u32 *util, u32 n)
{
	u32 tracker = n % r->count;

	memset(answer, 0, sizeof(answer));
	memcpy(answer + 12, &tracker, 4);
	for (u32 i = 0; i < n; i++) {
		unsigned char *at = answer + 16 + i % r->count * r->sample;

		memcpy(at, &t[i], 8);
		memcpy(at + r->engine[NV_GR], &util[i], 4);
	}
}

static double mean_since(const struct nvring *r, u64 since, bool known)
{
	struct nvquery q = { .engine = NV_GR, .pid = NV_ANY, .known = known, .since = since };
	struct nvsum s;

	return nvring_sum((const char *)answer, r, &q, &s) ? 100.0 * (double)s.work / (double)s.time : -1;
}

static void t_times(void)
{
	const struct nvring *r = &nvrings[0];
	const u64 s = 1000000000, wrap = 0 - 2 * s + 7;
	u64 t;

	ring_make(r, (u64[]){ 0 }, (u32[]){ 0 }, 0);
	check(!nvring_newest((const char *)answer, r, &t) && near(mean_since(r, 0, false), -1),
	      "an empty ring has neither a newest sample nor a share");
	ring_make(r, (u64[]){ 5 * s }, (u32[]){ 4200 }, 1);
	check(nvring_newest((const char *)answer, r, &t) && t == 5 * s && mean_since(r, 0, false) > -1,
	      "a ring with a single sample has a share");
	ring_make(r, (u64[]){ s, 2 * s, 2 * s + s / 2 }, (u32[]){ 10000, 0, 6000 }, 3);
	check(near(mean_since(r, s, true), 20),
	      "ring: samples count for their time: 1 s of 0 %%, 0.5 s of 60 %%");
	check(near(mean_since(r, 2 * s, true), 60) && near(mean_since(r, 3 * s, true), -1),
	      "ring: only samples after the given time count");
	ring_make(r, (u64[]){ wrap, wrap + s, wrap + 2 * s, wrap + 3 * s }, (u32[]){ 0, 2000, 4000, 6000 }, 4);
	check(nvring_newest((const char *)answer, r, &t) && t == s + 7 && near(mean_since(r, wrap, true), 40),
	      "ring: the share is right when time wraps");
	ring_make(r, (u64[]){ s, 100 * s, 101 * s }, (u32[]){ 0, 10000, 1000 }, 3);
	check(near(mean_since(r, s, true), 10),
	      "ring: a sample after a pause does not count for the pause");
	ring_make(r, (u64[]){ 9 * s, 2 * s, 10 * s }, (u32[]){ 0, 10000, 1000 }, 3);
	check(near(mean_since(r, 9 * s, true), 10),
	      "ring: a sample with an earlier time is left out");
	ring_make(r, (u64[]){ s, 2 * s }, (u32[]){ 0, 5000 }, 2);
	memset(answer + 12, 0xff, 4);
	check(mean_since(r, s, true) <= 100,
	      "a position outside of the ring gives a share of at most 100 %%");
}

/* Any bytes: with sanitizers, a read outside of the answer ends the test. */
static void t_any(void)
{
	static char bytes[NV_ANSWER];
	u64 x = 88172645463325252, a, b;
	bool good = true;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)((x = x * 6364136223846793005 + 1442695040888963407) >> 56);
	for (size_t i = 0; i < NV_RINGS; i++) {
		char *exact = malloc(nvrings[i].bytes);

		memcpy(exact, bytes, nvrings[i].bytes);
		nvring_newest(exact, &nvrings[i], &a);
		for (u8 e = 0; e < NV_ENGINES; e++)
			for (u32 known = 0; known < 2; known++) {
				struct nvquery q = { .engine = e, .pid = NV_ANY, .known = known };
				struct nvsum s;

				good &= !nvring_sum(exact, &nvrings[i], &q, &s) || s.work <= s.time;
			}
		free(exact);
	}
	check(good, "random rings: no share exceeds 100 %%");
	for (size_t i = 0; i < NV_ECCS; i++) {
		char *exact = malloc(nveccs[i]);

		memcpy(exact, bytes, nveccs[i]);
		nvecc_sum(exact, nveccs[i], &a, &b);
		free(exact);
	}
	check(true, "random bytes as ECC counts: no read outside of the answer");
}

static void t_small(void)
{
	unsigned char p[1664];
	char list[16] = { 0 }, entry[72] = { 0 };
	u64 a, b;
	u32 pid = 0;
	i64 v;
	const char *name;
	char sensors[NV_SENSOR_BYTES];

	gpu->sbe = 12;
	gpu->dbe = 3;
	for (unsigned i = 0; i + 1 < LEN(nvrm_releases); i++) {
		unsigned n = 40 * nvrm_releases[i].ecc + 24;
		bool row = false;

		gpu->release = i;
		for (size_t k = 0; k < NV_ECCS; k++)
			row |= nveccs[k] == n;
		check(row && nvrm_ecc(gpu, p, n) == 0 && nvecc_sum((char *)p, n, &a, &b) && a == 12 && b == 3,
		      "release %u: ECC errors of the units that have ECC", nvrm_releases[i].number);
	}
	gpu->sbe = gpu->dbe = 0;
	nvrm_ecc(gpu, p, 1664);
	check(!nvecc_sum((char *)p, 1664, &a, &b), "ECC counts are unknown if no unit has ECC");
	memcpy(list + 4, &(u32){ 8 << 20 }, 4);
	memcpy(list + 12, &(u32){ 6 << 20 }, 4);
	check(nvmemory(list, &a, &b) && a == 8ull << 30 && b == 2ull << 30,
	      "video memory: total and used");
	memcpy(list + 12, &(u32){ 9 << 20 }, 4);
	check(!nvmemory(list, &a, &b), "video memory is unknown if more is free than there is");
	check(nvpstate(1) == 0 && nvpstate(1 << 8) == 8 && nvpstate(0) == NV_NO_PSTATE && nvpstate(3) == NV_NO_PSTATE &&
	      nvpstate(1u << 31) == NV_NO_PSTATE,
	      "performance states: one bit is a state, any other value is unknown");
	memcpy(entry, &(u32){ 4321 }, 4);
	memcpy(entry + 16, &(u64){ 5 << 20 }, 8);
	memcpy(entry + 24, &(u64){ 2 << 20 }, 8);
	memcpy(entry + 32, &(u64){ 1 << 20 }, 8);
	check(nvprocess(entry, &pid, &a, &b) && pid == 4321 && a == 8 << 20 && b == 3 << 20,
	      "memory of a process");
	memcpy(entry + 24, &(u64){ UINT64_MAX }, 8);
	check(!nvprocess(entry, &pid, &a, &b),
	      "a memory of a process that is impossible is refused");
	gpu->degrees[0] = 61;
	gpu->degrees[1] = -5;
	gpu->release = 5;
	nvsensors_ask(sensors);
	check_u64(nvrm_temperatures(gpu, (unsigned char *)sensors, sizeof(sensors)), 0,
	          "the stand-in accepts the instructions for temperatures");
	check(nvsensor(sensors, 0, &name, &v) && strcmp(name, "memory") == 0 && v == -5000, "temperature of the memory");
	check(nvsensor(sensors, 1, &name, &v) && strcmp(name, "gpu") == 0 && v == 61000, "temperature of the GPU");
	check(!nvsensor(sensors, 2, &name, &v) && !nvsensor(sensors, 99, &name, &v),
	      "there is no third temperature sensor");
}

int main(void)
{
	t_releases();
	t_times();
	t_any();
	t_small();
	return unit_end();
}
