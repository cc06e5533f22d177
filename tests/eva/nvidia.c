/* nvidia.c - sources/device/nvidiadecode.c: any bytes as answers of NVIDIA's driver.
 * eva: sources/device/nvidiadecode.c -eva-precision 1 -eva-auto-loop-unroll 8
 * The rings and the lists of units have the sizes of the tables, which the driver accepted.
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char answer[NV_ANSWER];

static void ring(u32 row)
{
	struct nvquery q = { .since = any(), .pid = (u32)any_to(UINT32_MAX), .engine = (u8)any_to(NV_ENGINES - 1),
			     .known = (bool)any_to(1), .inner = (bool)any_to(1) };
	struct nvsum s;
	u64 t;

	any_bytes(answer, nvrings[row].bytes);
	nvring_newest(answer, &nvrings[row], &t);
	nvring_sum(answer, &nvrings[row], &q, &s);
}

static void others(void)
{
	const char *name;
	u64 a, b;
	u32 pid;
	i64 v;
	u32 n = (u32)any_to(NV_ECCS - 1);

	any_bytes(answer, 2048);
	nvecc_sum(answer, nveccs[n], &a, &b);
	nvmemory(answer, &a, &b);
	nvpstate((u32)any_to(UINT32_MAX));
	nvprocess(answer, &pid, &a, &b);
	nvsensor(answer, (u32)any_to(UINT32_MAX), &name, &v);
	nvsensors_ask(answer);
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		for (u32 row = 0; row < NV_RINGS; row++)
			ring(row);
		others();
	}
	return 0;
}
