/* t_perfdata.c - perf.data files, as the specification reads them. SPDX-License-Identifier: MIT */
#include "unit.h"

static char file[1 << 20];
static size_t file_n;
static long fail_after = -1; /* bytes, then the disk is full */
static size_t writes;

static long to_file(const char *p, size_t n)
{
	writes++;
	if (fail_after >= 0 && file_n + n > (size_t)fail_after)
		return -28;
	if (n > sizeof(file) - file_n)
		abort();
	memcpy(file + file_n, p, n);
	file_n += n;
	return 0;
}

static long over(u64 at, const char *p, size_t n)
{
	if (at > file_n || n > file_n - at)
		return -22;
	memcpy(file + at, p, n);
	return 0;
}

static u64 u64_at(u64 at)
{
	u64 v = 0;

	if (at + 8 <= file_n)
		memcpy(&v, file + at, sizeof(v));
	return v;
}

static u32 u32_at(u64 at)
{
	u32 v = 0;

	if (at + 4 <= file_n)
		memcpy(&v, file + at, sizeof(v));
	return v;
}

static const u64 ids_a[] = { 11, 12, 13 }, ids_b[] = { 21 };
static char attr_a[136], attr_b[136], buffer[1 << 17];
static const struct str args[] = { STR("gpustat"), STR("sample"), STR("") };
static const struct pdmeta meta = { STR("6.1"), STR("riscv64"), 3, 4, args, LEN(args) };
static const struct prec comm = { .type = PR_COMM, .who = 5, .who_tid = 6, .time = 77, .name = STR("seven l") };
static const struct prec map = { .type = PR_MMAP2, .misc = PM_USER, .who = 5, .who_tid = 5, .at = 0x1000, .len = 0x2000,
				 .pgoff = 0x3000, .major = 8, .minor = 1, .ino = 99, .prot = 5, .flags = 2,
				 .time = 78, .name = STR("/bin/true") };
static const struct pformat layout = { .sample_type = PS_TID | PS_TIME | PS_IDENTIFIER, .id_all = true };

static long make(size_t records)
{
	struct pdevent both[] = {
		{ { attr_a, attr_a + sizeof(attr_a) }, STR("cycles"), ids_a, LEN(ids_a) },
		{ { attr_b, attr_b + sizeof(attr_b) }, STR("cpu-clock"), ids_b, LEN(ids_b) },
	};
	struct perfdata d = { .b = { .p = buffer, .cap = sizeof(buffer) }, .write = to_file, .patch = over,
			      .events = both, .nevents = LEN(both), .format = layout };
	static const char raw[64] = "raw";

	file_n = writes = 0;
	memset(attr_a, 'a', sizeof(attr_a));
	memset(attr_b, 'b', sizeof(attr_b));
	perfdata_begin(&d);
	perfdata_made(&d, &comm);
	perfdata_made(&d, &map);
	for (size_t i = 0; i < records; i++)
		perfdata_record(&d, (struct str){ raw, raw + sizeof(raw) });
	perfdata_round(&d);
	return perfdata_end(&d, &meta);
}

static void t_header(void)
{
	u64 attrs = u64_at(24), ids;

	check(memcmp(file, "PERFILE2", 8) == 0 && u64_at(8) == 104, "magic and size of the header");
	check_u64(u64_at(16), sizeof(attr_a) + 16, "size of an attribute");
	check_u64(u64_at(32), 2 * (sizeof(attr_a) + 16), "size of all attributes");
	check(file[attrs] == 'a' && file[attrs + u64_at(16)] == 'b', "the attributes");
	ids = u64_at(attrs + sizeof(attr_a));
	check(u64_at(attrs + sizeof(attr_a) + 8) == 24 && u64_at(ids) == 11 && u64_at(ids + 16) == 13, "ids of the first");
	ids = u64_at(attrs + u64_at(16) + sizeof(attr_a));
	check(u64_at(attrs + u64_at(16) + sizeof(attr_a) + 8) == 8 && u64_at(ids) == 21, "ids of the second");
	check_u64(u64_at(72), 1 << 4 | 1 << 6 | 1 << 7 | 1 << 11 | 1 << 12, "features");
}

/* What we make must be what our own reader takes for what it is. */
static void t_made(void)
{
	u64 at = u64_at(40);
	struct prec r;
	struct str rec = { file + at, file + at + 16 + 8 + 24 };

	check(prec_decode(rec, &layout, &r) && r.type == PR_COMM && r.who == 5 && r.who_tid == 6 && r.time == 77 &&
	      str_eq(r.name, comm.name), "COMM");
	rec = (struct str){ rec.e, rec.e + 72 + 16 + 24 };
	check(prec_decode(rec, &layout, &r) && r.type == PR_MMAP2 && r.mode == PM_USER && r.who == 5 && r.at == 0x1000 &&
	      r.len == 0x2000 && r.pgoff == 0x3000 && r.major == 8 && r.minor == 1 && r.ino == 99 && r.prot == 5 &&
	      r.flags == 2 && r.time == 78 && str_eq(r.name, map.name), "MMAP2");
	check_u64(u32_at(u64_at(40) + u64_at(48) - 8), PR_FINISHED_ROUND, "the mark of a round");
	check_u64(u32_at(u64_at(40) + u64_at(48) - 4) >> 16 | u32_at(u64_at(40) + u64_at(48) - 4) << 16,
		  __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 8 : 8 << 16, "is a header only");
}

static void t_features(void)
{
	u64 table = u64_at(40) + u64_at(48), end = table + 80;

	for (int i = 0; i < 5; i++) {
		check_u64(u64_at(table + 16u * (unsigned)i), end, "feature %d begins where the one before ends", i);
		end += u64_at(table + 16u * (unsigned)i + 8);
	}
	check_u64(end, file_n, "the last one ends the file");
	check_str(str_z(file + u64_at(table) + 4), "6.1", "release");
	check_str(str_z(file + u64_at(table + 16) + 4), "riscv64", "machine");
	check(u32_at(u64_at(table + 32)) == 3 && u32_at(u64_at(table + 32) + 4) == 4, "CPUs");
	check_u64(u32_at(u64_at(table + 48)), 3, "arguments");
	end = u64_at(table + 64);
	check(u32_at(end) == 2 && u32_at(end + 4) == sizeof(attr_a) && file[end + 8] == 'a' &&
	      u32_at(end + 8 + sizeof(attr_a)) == 3, "descriptions of events");
	check_str(str_z(file + end + 8 + sizeof(attr_a) + 8), "cycles", "name of an event");
}

int main(void)
{
	size_t wrong = 0, whole;

	check_u64((u64)make(3), 0, "a small file");
	t_header();
	t_made();
	t_features();
	check_u64((u64)make(10000), 0, "one larger than the buffer");
	check(writes > 3, "is written in pieces");
	check_u64(u64_at(48), 48 + 112 + 640000 + 8, "and has all records");
	t_header();
	t_features();
	whole = file_n;
	for (fail_after = 0; (size_t)fail_after < whole; fail_after += 1009)
		wrong += make(10000) != -28;
	check_u64(wrong, 0, "a disk that is full, at any place");
	return unit_end();
}
