/* t_perfdata.c - unit test of views/perfdata.c: perf.data files, compared with the specification
 * of the format. SPDX-License-Identifier: MIT */
#include "unit.h"

static char file[1 << 20];
static size_t file_n;
static long fail_after = -1; /* the disk is full after this number of bytes */
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
static char bytes[4096];
static struct buf made = { .p = bytes, .cap = sizeof(bytes) };
static struct pdfeature features[4];
static const struct prec comm = { .type = PR_COMM, .who = 5, .who_tid = 6, .time = 77, .name = STR("seven l") };
static const struct prec map = { .type = PR_MMAP2, .misc = PM_USER, .who = 5, .who_tid = 5, .at = 0x1000, .len = 0x2000,
				 .pgoff = 0x3000, .major = 8, .minor = 1, .ino = 99, .prot = 5, .flags = 2,
				 .time = 78, .name = STR("/bin/true") };
static const struct pformat layout = { .sample_type = PS_TID | PS_TIME | PS_IDENTIFIER, .id_all = true };

/* The features of the test: two strings, numbers, and the descriptions of the events. */
static void features_make(void)
{
	size_t from;

	made.n = 0;
	perfdata_string(&made, (struct str)STR("6.1"));
	features[0] = (struct pdfeature){ PD_OSRELEASE, { bytes, bytes + made.n } };
	from = made.n;
	perfdata_string(&made, (struct str)STR("riscv64"));
	features[1] = (struct pdfeature){ PD_ARCH, { bytes + from, bytes + made.n } };
	features[2] = (struct pdfeature){ .number = PD_EVENT_DESC };
	from = made.n;
	perfdata_u32(&made, 7);
	perfdata_u64(&made, 1ull << 40 | 5);
	features[3] = (struct pdfeature){ PD_CLOCK_DATA, { bytes + from, bytes + made.n } };
}

static long make(size_t records)
{
	struct pdevent both[] = {
		{ { attr_a, attr_a + sizeof(attr_a) }, STR("cycles"), ids_a, LEN(ids_a), 0 },
		{ { attr_b, attr_b + sizeof(attr_b) }, STR("cpu-clock"), ids_b, LEN(ids_b), 0 },
	};
	struct perfdata d = { .b = { .p = buffer, .cap = sizeof(buffer) }, .write = to_file, .patch = over,
			      .events = both, .nevents = LEN(both), .format = layout };
	static const char raw[64] = "raw";

	file_n = writes = 0;
	memset(attr_a, 'a', sizeof(attr_a));
	memset(attr_b, 'b', sizeof(attr_b));
	perfdata_begin(&d);
	perfdata_synthesize(&d, &comm);
	perfdata_synthesize(&d, &map);
	for (size_t i = 0; i < records; i++)
		perfdata_records(&d, (struct str){ raw, raw + sizeof(raw) });
	perfdata_finish_round(&d);
	features_make();
	return perfdata_end(&d, features, LEN(features));
}

/* A sample: IDENTIFIER, IP, TID, TIME, ADDR, CPU, and a call chain of kernel and user code. */
static void t_hide(void)
{
	const struct pformat format = { .sample_type = PS_IDENTIFIER | PS_IP | PS_TID | PS_TIME | PS_ADDR | PS_CPU | PS_CALLCHAIN };
	const u64 full[] = { 9, 0xffffffff81000010, 5, 77, 0xffff888000000010, 3, 5, (u64)-128, 0xffffffff81000010,
			     (u64)-512, 0x401100, 0x401200 };
	u64 whole[13] = { (u64)sizeof(whole) << 48 | (u64)PM_KERNEL << 32 | PR_SAMPLE };
	struct perfdata d = { .b = { .p = buffer, .cap = sizeof(buffer) }, .write = to_file };
	static const struct {
		u32 hidden;
		u8 zeros[4], n; /* words that are 0 then */
	} tries[] = {
		{ 0, { 0 }, 0 }, { 1 << PM_KERNEL, { 2, 5, 9 }, 3 }, { 1 << PM_USER, { 11, 12 }, 2 },
	};
	struct prec r;

	memcpy(whole + 1, full, sizeof(full));
	check(prec_decode((struct str){ (char *)whole, (char *)(whole + 13) }, &format, &r), "the sample is valid");
	for (size_t i = 0; i < LEN(tries); i++) {
		u64 want[13];

		memcpy(want, whole, sizeof(want));
		for (u8 z = 0; z < tries[i].n; z++)
			want[tries[i].zeros[z]] = 0;
		d.b.n = 0;
		perfdata_record(&d, &r, tries[i].hidden);
		check(d.b.n == sizeof(want) && memcmp(buffer, want, sizeof(want)) == 0, "hidden modes %x: their addresses are 0",
		      tries[i].hidden);
	}
}

/* A sample of a tracepoint, whose fields are hidden with its address. */
static void t_hide_fields(void)
{
	const struct pformat format = { .sample_type = PS_IP | PS_TID | PS_RAW };
	u64 words[6] = { (u64)sizeof(words) << 48 | (u64)PM_KERNEL << 32 | PR_SAMPLE, 0xffffffff81000010, 5 };
	struct perfdata d = { .b = { .p = buffer, .cap = sizeof(buffer) }, .write = to_file };
	const u32 size = 20;
	struct prec r;

	memcpy(words + 3, &size, sizeof(size));
	memset((char *)(words + 3) + sizeof(size), 'x', size);
	check(prec_decode((struct str){ (char *)words, (char *)(words + 6) }, &format, &r) && str_len(r.payload) == size,
	      "the fields of a tracepoint are decoded");
	perfdata_record(&d, &r, 1 << PM_USER);
	check(d.b.n == sizeof(words) && memcmp(buffer, words, sizeof(words)) == 0,
	      "the fields of a tracepoint are not hidden with addresses of user code");
	d.b.n = 0;
	words[1] = 0;
	memset((char *)(words + 3) + sizeof(size), 0, size);
	perfdata_record(&d, &r, 1 << PM_KERNEL);
	check(d.b.n == sizeof(words) && memcmp(buffer, words, sizeof(words)) == 0,
	      "the fields of a tracepoint are hidden with addresses of the kernel");
}

/* A map with a build ID instead of the numbers of a file, and the list of build IDs. */
static void t_ids(void)
{
	struct perfdata d = { .b = { .p = buffer, .cap = sizeof(buffer) }, .write = to_file };
	struct str id = STR("0123456789abcdefghij"), name = STR("/bin/true");
	struct prec r = map, got;
	char to[256];
	struct buf b = { .p = to, .cap = sizeof(to) };
	u16 half[2];
	u32 pid;

	r.misc |= PM_BUILD_ID;
	r.build_id = id;
	perfdata_synthesize(&d, &r);
	check(prec_decode((struct str){ buffer, buffer + d.b.n }, &(struct pformat){ 0 }, &got) && str_eq(got.build_id, id) &&
	      str_eq(got.name, map.name) && got.prot == 5 && got.flags == 2 && got.pgoff == 0x3000,
	      "MMAP2 has a build ID");
	r.build_id.e = r.build_id.p + 16;
	d.b.n = 0;
	perfdata_synthesize(&d, &r);
	check(prec_decode((struct str){ buffer, buffer + d.b.n }, &(struct pformat){ 0 }, &got) &&
	      str_eq(got.build_id, r.build_id) && str_eq(got.name, map.name),
	      "MMAP2 has a build ID of 16 bytes");
	check(perfdata_build_id(&b, PM_USER, r.build_id, name),
	      "an entry of the list of build IDs has its size");
	memcpy(half, to + 4, sizeof(half));
	memcpy(&pid, to + 8, sizeof(pid));
	check(b.n == 36 + 64 && half[0] == (PM_USER | 1 << 15) && half[1] == b.n && pid == UINT32_MAX,
	      "the header of an entry has the mode and its size; the entry is of all processes");
	check(memcmp(to + 12, "0123456789abcdef\0\0\0\0\20\0\0\0/bin/true\0", 34) == 0,
	      "an entry has the build ID, its length and the name of the file");
	check(perfdata_build_id(&b, PM_USER, id, name) && !perfdata_build_id(&b, PM_USER, id, name) && b.n == 200 && !b.full,
	      "an entry of the list without room is left out");
	check(!perfdata_build_id(&b, PM_USER, (struct str)STR("0123456789abcdefghijk"), name),
	      "a build ID of 21 bytes is left out");
}

static void t_header(void)
{
	u64 attrs = u64_at(24), ids;

	check(memcmp(file, "PERFILE2", 8) == 0 && u64_at(8) == 104, "header: magic and size");
	check_u64(u64_at(16), sizeof(attr_a) + 16, "header: size of an attribute");
	check_u64(u64_at(32), 2 * (sizeof(attr_a) + 16), "header: size of all attributes");
	check(file[attrs] == 'a' && file[attrs + u64_at(16)] == 'b', "the attributes are complete");
	ids = u64_at(attrs + sizeof(attr_a));
	check(u64_at(attrs + sizeof(attr_a) + 8) == 24 && u64_at(ids) == 11 && u64_at(ids + 16) == 13,
	      "IDs of the first event");
	ids = u64_at(attrs + u64_at(16) + sizeof(attr_a));
	check(u64_at(attrs + u64_at(16) + sizeof(attr_a) + 8) == 8 && u64_at(ids) == 21,
	      "IDs of the second event");
	check_u64(u64_at(72), 1 << 4 | 1 << 6 | 1 << 12 | 1 << 29, "header: bit mask of features");
}

/* The program's own decoder must read the synthesized records. */
static void t_made(void)
{
	u64 at = u64_at(40);
	struct prec r;
	struct str rec = { file + at, file + at + 16 + 8 + 24 };

	check(prec_decode(rec, &layout, &r) && r.type == PR_COMM && r.who == 5 && r.who_tid == 6 && r.time == 77 &&
	      str_eq(r.name, comm.name), "the COMM record is decoded");
	rec = (struct str){ rec.e, rec.e + 72 + 16 + 24 };
	check(prec_decode(rec, &layout, &r) && r.type == PR_MMAP2 && r.mode == PM_USER && r.who == 5 && r.at == 0x1000 &&
	      r.len == 0x2000 && r.pgoff == 0x3000 && r.major == 8 && r.minor == 1 && r.ino == 99 && r.prot == 5 &&
	      r.flags == 2 && r.time == 78 && str_eq(r.name, map.name), "the MMAP2 record is decoded");
	check_u64(u32_at(u64_at(40) + u64_at(48) - 8), PR_FINISHED_ROUND, "the last record is FINISHED_ROUND");
	check_u64(u32_at(u64_at(40) + u64_at(48) - 4) >> 16 | u32_at(u64_at(40) + u64_at(48) - 4) << 16,
		  __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 8 : 8 << 16, "FINISHED_ROUND is only a header");
}

static void t_features(void)
{
	u64 table = u64_at(40) + u64_at(48), end = table + 64;

	for (int i = 0; i < 4; i++) {
		check_u64(u64_at(table + 16u * (unsigned)i), end, "feature %d begins where the one before ends", i);
		end += u64_at(table + 16u * (unsigned)i + 8);
	}
	check_u64(end, file_n, "the last feature ends at the end of the file");
	check_u64(u32_at(u64_at(table)), 64, "a string is padded to 64 bytes");
	check_str(str_z(file + u64_at(table) + 4), "6.1", "features: kernel release");
	check_str(str_z(file + u64_at(table + 16) + 4), "riscv64", "features: machine");
	end = u64_at(table + 32);
	check(u32_at(end) == 2 && u32_at(end + 4) == sizeof(attr_a) && file[end + 8] == 'a' &&
	      u32_at(end + 8 + sizeof(attr_a)) == 3, "features: descriptions of events");
	check_str(str_z(file + end + 8 + sizeof(attr_a) + 8), "cycles",
	          "features: name of an event");
	end = u64_at(table + 48);
	check(u32_at(end) == 7 && u64_at(end + 4) == (1ull << 40 | 5), "numbers have 4 and 8 bytes");
}

/* A string is cut at 4095 bytes, and fills whole steps of 64 bytes with its NUL. */
static void t_string(void)
{
	static const struct {
		size_t length;
		u32 padded;
	} tries[] = { { 0, 64 }, { 1, 64 }, { 63, 64 }, { 64, 128 }, { 4095, 4096 }, { 5000, 4096 } };
	static char text[5000], to[5000];

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < LEN(tries); i++) {
		struct buf b = { .p = to, .cap = sizeof(to) };
		u32 n;

		perfdata_string(&b, (struct str){ text, text + tries[i].length });
		memcpy(&n, to, sizeof(n));
		check(n == tries[i].padded && b.n == 4 + n && to[b.n - 1] == '\0', "a string of %zu bytes has %u in the file",
		      tries[i].length, n);
	}
}

int main(void)
{
	size_t wrong = 0, whole;

	check_u64((u64)make(3), 0, "a small file is written");
	t_hide();
	t_hide_fields();
	t_string();
	t_ids();
	t_header();
	t_made();
	t_features();
	check_u64((u64)make(10000), 0, "a file larger than the buffer is written");
	check(writes > 3, "a large file is written in pieces");
	check_u64(u64_at(48), 48 + 112 + 640000 + 8, "a large file contains all records");
	t_header();
	t_features();
	make(10000);
	whole = file_n;
	for (fail_after = 0; (size_t)fail_after < whole; fail_after += 1009)
		wrong += make(10000) != -28;
	check_u64(wrong, 0, "a disk that becomes full at any offset is an error");
	return unit_end();
}
