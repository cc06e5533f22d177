/* fuzz_metrics.c - any bytes as amdgpu's gpu_metrics, whose tables start with a size and a version.
 * Bytes after the table must not change a reading, unless its length tells the byte order. SPDX-License-Identifier: MIT */
#include "fuzz.h"

static size_t values(struct str s, struct metric *m, size_t cap)
{
	size_t row = 0, n = 0, was;

	for (was = row; metrics_next(s, &row, &m[n < cap ? n : cap - 1]); was = row) {
		must(row > was && ++n <= cap, "the list of tables ends");
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
		must(bit > was && bit <= 64 && reason && reason[0], "the list of throttle bits ends, and each has a name");
	if (n < sizeof(size))
		return 0;
	memcpy(&size, data, sizeof(size));
	if (size > n || __builtin_bswap16(size) == n)
		return 0;
	/* reads never exceed the size in the header */
	longer = edge_after((const char *)data, size);
	must(values(longer, b, LEN(b)) == na, "bytes after the table add no values");
	for (size_t i = 0; i < na; i++)
		must(a[i].desc == b[i].desc && a[i].v == b[i].v && strcmp(a[i].inst, b[i].inst) == 0, "bytes after the table change no value");
	return 0;
}
