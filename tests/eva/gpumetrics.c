/* gpumetrics.c - sources/device/gpumetrics.c: any bytes as amdgpu's gpu_metrics.
 * eva: sources/device/gpumetrics.c parse.c -eva-precision 1 -eva-auto-loop-unroll 8 -eva-unroll-recursive-calls 2 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char text[TEXT_CAP];

static void metrics(struct str blob)
{
	size_t row = 0, bit = 0;
	struct metric m;
	const char *reason;
	bool on;

	metrics_is_apu(blob);
	while (again() && metrics_next(blob, &row, &m))
		;
	while (again() && metrics_throttle(blob, &bit, &reason, &on))
		;
}

int main(void)
{
	for (int i = 0; i < ROUNDS; i++)
		metrics(ANY_IN(text));
	return 0;
}
