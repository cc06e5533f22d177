/* fuzz_metrics.c - any bytes as amdgpu's gpu_metrics, whose tables have a size and a version in front. A byte behind what a
 * reading uses changes nothing of it. SPDX-License-Identifier: MIT */
#include "fuzz.h"

static size_t values(struct str s, struct metric *m, size_t cap)
{
	size_t row = 0, n = 0, was;

	for (was = row; metrics_next(s, &row, &m[n < cap ? n : cap - 1]); was = row) {
		must(row > was && ++n <= cap, "tables end");
		must(m[n - 1].desc < D_COUNT && m[n - 1].inst && str_len(str_z(m[n - 1].inst)) < 16, "a value has a name");
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct metric a[256], b[256];
	struct str s, longer;
	const char *reason;
	size_t bit = 0, was = 0, na;
	u16 size;
	bool on;

	if (n > 4096)
		return 0;
	s = edge_str((const char *)data, n);
	na = values(s, a, LEN(a));
	metrics_is_apu(s);
	for (; metrics_throttle(s, &bit, &reason, &on); was = bit)
		must(bit > was && bit <= 64 && reason && reason[0], "throttle bits end, and have names");
	if (n < sizeof(size))
		return 0;
	memcpy(&size, data, sizeof(size));
	if (size > n)
		return 0;
	longer = edge_after((const char *)data, size); /* what the size says is all that is read */
	must(values(longer, b, LEN(b)) == na, "bytes behind the table are none of its values");
	for (size_t i = 0; i < na; i++)
		must(a[i].desc == b[i].desc && a[i].v == b[i].v && strcmp(a[i].inst, b[i].inst) == 0, "nor change one");
	return 0;
}
