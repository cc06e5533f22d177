/* fuzz_placeholders.c - any bytes as a file with names, which capture replaces: the other values
 * stay, and the result fits. The first byte selects the file. SPDX-License-Identifier: MIT */
#include "fuzz.h"

#include "../../commands/placeholders.c"

static const char *const files[] = {
	"proc/1/comm", "proc/1/stat", "proc/1/status", "proc/1/cmdline", "proc/1/cgroup",
	"proc/1/fdinfo/1", "proc/driver/nvidia/gpus/0/information", "sys/a/unique_id",
};

static size_t replaced(const char *path, struct str s, char *to, size_t cap)
{
	size_t n = str_len(s) < cap ? str_len(s) : cap;

	memcpy(to, s.p, n);
	n = placeholders_put(str_z(path), to, n, cap);
	must(n <= cap, "the text fits");
	return n;
}

/* The values that the program reads from stat and fdinfo are the same with and without placeholders,
 * except the names. */
static void check_values(const char *path, struct str was, struct str is)
{
	struct fdhead a, b;
	u64 x = 0, y = 0;

	if (strcmp(path, "proc/1/stat") == 0)
		must(parse_stat_start(was, &x) == parse_stat_start(is, &y) && x == y,
		     "the start of a process");
	if (strcmp(path, "proc/1/fdinfo/1") != 0)
		return;
	must(fdinfo_head(was, &a) == fdinfo_head(is, &b), "a DRM client");
	must(str_eq(a.driver, b.driver) && str_eq(a.pdev, b.pdev), "driver and address");
	must(a.has_client == b.has_client && a.client == b.client, "the id of a client");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char one[MADE_BYTES], two[MADE_BYTES];
	struct str s = { (const char *)data, (const char *)data + n };
	const char *path = files[take_u8(&s) % LEN(files)];
	size_t len, again;

	if (n > 1 << 14) /* placeholders are at most four times as long as names */
		return 0;
	nnames = 0;
	len = replaced(path, s, one, sizeof(one));
	again = replaced(path, s, two, sizeof(two));
	must(len == again && memcmp(one, two, len) == 0, "a name has one placeholder");
	check_values(path, s, str_of(one, len));
	replaced(path, edge_str(s.p, str_len(s)), edge_page(str_len(s)), str_len(s));
	len = str_len(s) < sizeof(one) ? str_len(s) : sizeof(one);
	memcpy(one, s.p, len);
	must(placeholders_put_link(LIT("proc/1/fd/1"), one, len, len) <= len, "a link fits");
	return 0;
}
