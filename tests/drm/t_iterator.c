/* t_iterator.c - unit test of sources/drm/iterator.c: offsets from type information, also
 * truncated and hostile; the BPF program, run by a small interpreter; and the use of its
 * records. SPDX-License-Identifier: MIT */
#include "../../sources/drm/iterator.c"
#include "folder.h"

/* --- type information made by this test ------------------------------------------------------- */

enum { INT = 1, ENUM = 6, KIND_FLAG = 1 << 7 };

static u8 types[512 << 10], strings[256 << 10], file[1 << 20];
static size_t ntypes, nstrings;

static void put32(u32 v)
{
	memcpy(types + ntypes, &v, 4);
	ntypes += 4;
}

static u32 string(const char *s)
{
	size_t at = nstrings, n = strlen(s) + 1;

	memcpy(strings + at, s, n);
	nstrings += n;
	return (u32)at;
}

static void type(const char *name, u32 kind, u32 n, u32 size)
{
	put32(*name ? string(name) : 0);
	put32(kind << 24 | n);
	put32(size);
}

static void part(const char *name, u32 id, u32 bits)
{
	put32(*name ? string(name) : 0);
	put32(id);
	put32(bits);
}

/* Types that are skipped, so that a structure does not begin with the file or at a piece. */
static void filler(unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		type("", INT, 0, 4);
		put32(32);
		type("an_enum", ENUM, 2, 4);
		for (unsigned k = 0; k < 4; k++)
			put32(0);
	}
}

/* The types of a kernel in which some members are nested: task_struct has its members in an
 * anonymous structure of an anonymous structure. nfill: types between them. */
static size_t types_make(unsigned nfill)
{
	u32 head[6] = { 0x01eb9f, 24 }, id = 1;

	ntypes = nstrings = 0;
	string("");
	type("", 4, 3, 16); /* the innermost: id 1 */
	part("tgid", 9, 32);
	part("pid", 9, 0);
	part("start_boottime", 9, 64);
	type("", 5, 1, 16); /* id 2, a union that has it at 8 */
	part("", id, 64);
	filler(nfill);
	type("file", 4, 2, 200);
	part("f_flags", 9, 0);
	part("f_inode", 9, 40 * 8);
	type("task_struct", 4, 2, 4096);
	part("state", 9, 0);
	part("", 2, 1024 * 8);
	filler(nfill);
	type("inode", 4 | KIND_FLAG, 3, 600);
	part("i_mode", 9, 16 << 24 | 8);
	part("i_bit", 9, 1 << 24 | 3);
	part("i_rdev", 9, 72 * 8);
	filler(nfill);
	type("bpf_iter_task", 12, 0, 1);
	type("bpf_iter_task_file", 12, 0, 1);
	filler(nfill);
	head[2] = 0;
	head[3] = (u32)ntypes;
	head[4] = (u32)ntypes;
	head[5] = (u32)nstrings;
	memcpy(file, head, sizeof(head));
	memcpy(file + 24, types, ntypes);
	memcpy(file + 24 + ntypes, strings, nstrings);
	return 24 + ntypes + nstrings;
}

static u8 buffer[PIECE];
static int fd = -1;

/* Finds the offsets of n bytes at p: mapped, or in pieces. */
static bool find(struct layout *l, const u8 *p, size_t n, bool mapped)
{
	if (mapped)
		return layout_find(l, p, -1, n, buffer);
	if (pwrite(fd, p, n, 0) != (ssize_t)n || ftruncate(fd, (off_t)n) != 0)
		check(false, "the type information is written to a file");
	return layout_find(l, NULL, fd, n, buffer);
}

static bool is_right(const struct layout *l, unsigned nfill)
{
	return l->offset[M_F_INODE] == 40 && l->offset[M_MODE] == 1 && l->offset[M_RDEV] == 72 &&
	       l->offset[M_TGID] == 1024 + 8 + 4 && l->offset[M_PID] == 1024 + 8 &&
	       l->offset[M_START] == 1024 + 8 + 8 && l->function == 2 + 6 * nfill + 3 + 2;
}

static void offsets(void)
{
	static const unsigned fills[] = { 0, 1, 100, 1500, 2000 };
	struct layout l;

	for (size_t i = 0; i < LEN(fills); i++) {
		size_t n = types_make(fills[i]);

		check(find(&l, file, n, true) && is_right(&l, fills[i]),
		      "offsets are found in type information of %zu bytes that is mapped", n);
		check(find(&l, file, n, false) && is_right(&l, fills[i]),
		      "offsets are the same in type information that is read in pieces");
	}
}

/* Tests every length of the file, and every length of its two sections. */
static void truncated(void)
{
	size_t n = types_make(2), found = 0, cut = 0;
	u32 whole;
	struct layout l;

	for (size_t i = 0; i < n; i++) {
		found += find(&l, (u8 *)(uintptr_t)edge_str((char *)file, i).p, i, true);
		found += find(&l, file, i, false);
	}
	check_u64(found, 0,
	          "no offset is found in a file that is truncated at any of %zu places", n);
	for (unsigned word_no = 3; word_no <= 5; word_no += 2) {
		memcpy(&whole, file + 4 * word_no, 4);
		for (u32 k = 0; k < whole; k++) {
			memcpy(file + 4 * word_no, &k, 4);
			cut += find(&l, file, n, true) != find(&l, file, n, false);
		}
		memcpy(file + 4 * word_no, &whole, 4);
	}
	check_u64(cut, 0, "sections of any length have the same result, mapped and in pieces");
}

static unsigned differ; /* how often found_with() had two different results */

/* Changes one word of the file. Returns whether the offsets are found then, mapped or in pieces. */
static bool found_with(size_t at, u32 v)
{
	size_t n = types_make(2);
	struct layout l;
	bool a, b;

	memcpy(file + at, &v, 4);
	a = find(&l, (u8 *)(uintptr_t)edge_str((char *)file, n).p, n, true);
	b = find(&l, file, n, false);
	differ += a != b;
	return a || b;
}

static void hostile(void)
{
	static const u32 values[] = { 0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x05ffffff, 0x1f000000, 0x04ffffff };
	size_t n = types_make(2);
	struct layout l;

	check(!found_with(0, 0x01eb9e) && !found_with(0, 0x02eb9f),
	      "type information with another magic or version is refused");
	check(!found_with(4, 23) && !found_with(4, 0xffffffff),
	      "type information with a header of another length is refused");
	check(!found_with(8, 0xffffffff) && !found_with(12, 0xffffffff),
	      "type information with types outside of the file is refused");
	check(!found_with(16, 0xffffffff) && !found_with(20, 0xffffffff),
	      "type information with strings outside of the file is refused");
	check(!found_with(24 + 4, 0) && !found_with(24 + 4, 31u << 24),
	      "type information of unknown kinds is refused");
	for (size_t at = 0; at < n; at += 4)
		for (size_t i = 0; i < LEN(values); i++)
			found_with(at, values[i]);
	check_u64(differ, 0,
	          "after any change of one word, the result is the same, mapped and in pieces");

	types_make(0);
	for (size_t i = 0; i + 7 < nstrings; i++)
		if (memcmp(file + 24 + ntypes + i, "i_rdev", 7) == 0)
			file[24 + ntypes + i] = 'j';
	check(!find(&l, file, 24 + ntypes + nstrings, true),
	      "type information without a needed name is refused");
}

/* An anonymous structure that contains itself, and members beyond an instruction's range. */
static void unusable(void)
{
	struct layout l;
	size_t n;

	n = types_make(0);
	memcpy(types, file + 24, ntypes);
	for (size_t at = 0; at + 12 <= ntypes; at += 4)
		if (word(types + at, 0) == 0 && word(types + at, 1) == 1 && word(types + at, 2) == 64)
			types[at + 4] = 2;
	memcpy(file + 24, types, ntypes);
	check(!find(&l, file, n, true) && !find(&l, file, n, false),
	      "an anonymous union that contains itself is refused");

	n = types_make(0);
	for (size_t at = 24; at + 12 <= n; at += 4)
		if (word(file + at, 2) == 40 * 8)
			memcpy(file + at + 8, &(u32){ MAX_OFFSET * 8 + 8 }, 4);
	check(!find(&l, file, n, true), "an offset that no instruction can have is refused");
}

/* The kernel of this machine. */
static void real(void)
{
	const char *path = "/sys/kernel/btf/vmlinux";
	struct layout a, b;
	struct stat st;
	int real_fd = open(path, O_RDONLY);
	u8 *copy;

	if (real_fd < 0 || fstat(real_fd, &st) != 0) {
		printf("ok %u - this kernel's own types # SKIP no %s\n", ++unit_ran, path);
		return;
	}
	copy = malloc((size_t)st.st_size);
	for (off_t at = 0; copy && at < st.st_size;) {
		ssize_t r = pread(real_fd, copy + at, (size_t)(st.st_size - at), at);

		at += r > 0 ? r : st.st_size;
	}
	check(copy && layout_find(&a, copy, -1, (u64)st.st_size, buffer) &&
	      layout_find(&b, NULL, real_fd, (u64)st.st_size, buffer) && memcmp(a.offset, b.offset, sizeof(a.offset)) == 0 &&
	      a.function == b.function,
	      "the type information of this kernel has the same result, in memory and in pieces");
	free(copy);
	close(real_fd);
}

/* --- the program ------------------------------------------------------------------------------ */

static struct held written;
static unsigned nwritten;

static u64 load(const u8 *p, unsigned n)
{
	u64 v = 0;

	memcpy(&v, p, n);
	return v;
}

/* Runs the program on a context. Returns r0, or UINT64_MAX if the program does not end
 * correctly. */
static u64 interpret(const struct program *p, const void *context)
{
	u8 stack[512];
	u64 r[11] = { [1] = (uintptr_t)context, [10] = (uintptr_t)(stack + sizeof(stack)) };

	for (unsigned at = 0, left = 100; at < p->n && left; at++, left--) {
		const struct insn *i = &p->code[at];
		unsigned to = i->regs & 15, from = i->regs >> 4;
		u8 *address = (u8 *)(uintptr_t)r[i->code == LOAD2 || i->code == LOAD4 || i->code == LOAD8 ? from : to] + i->off;

		switch (i->code) {
		case LOAD2: r[to] = load(address, 2); break;
		case LOAD4: r[to] = load(address, 4); break;
		case LOAD8: r[to] = load(address, 8); break;
		case STORE4: memcpy(address, &r[from], 4); break;
		case STORE8: memcpy(address, &r[from], 8); break;
		case SET4: memcpy(address, &i->imm, 4); break;
		case MOVE: r[to] = r[from]; break;
		case MOVE_IMM: r[to] = (u64)i->imm; break;
		case ADD_IMM: r[to] += (u64)(i64)i->imm; break;
		case AND_IMM: r[to] &= (u64)i->imm; break;
		case SHIFT_IMM: r[to] >>= i->imm; break;
		case IF_IMM: at += r[to] == (u64)i->imm ? (unsigned)i->off : 0; break;
		case UNLESS_IMM: at += r[to] != (u64)i->imm ? (unsigned)i->off : 0; break;
		case UNLESS: at += r[to] != r[from] ? (unsigned)i->off : 0; break;
		case CALL:
			if (i->imm != BPF_SEQ_WRITE || r[3] != sizeof(written))
				return UINT64_MAX;
			memcpy(&written, (void *)(uintptr_t)r[2], sizeof(written));
			nwritten++;
			r[0] = r[1]; /* the program may not use registers that a call has changed */
			r[1] = r[2] = r[3] = r[4] = r[5] = UINT64_MAX;
			break;
		case EXIT: return r[0];
		default: return UINT64_MAX;
		}
	}
	return UINT64_MAX;
}

/* Runs the program for a descriptor 7 of the process 12 as the kernel would. */
static bool writes(u32 mode, u32 rdev, u32 pid, bool at_end)
{
	static u64 inode[16], open_file[16], task[16], meta[2];
	struct layout l = { .offset = { 8, 2, 76, 20, 16, 56 } };
	struct { u64 meta, task, fd, file; } context;
	struct program p;

	memcpy((u8 *)inode + 2, &(u16){ (u16)mode }, 2);
	memcpy((u8 *)inode + 76, &rdev, 4);
	open_file[1] = (uintptr_t)inode;
	memcpy((u8 *)task + 20, &(u32){ 12 }, 4);
	memcpy((u8 *)task + 16, &pid, 4);
	task[7] = 987654321000;
	meta[0] = 4711;
	context.meta = (uintptr_t)meta;
	context.task = (uintptr_t)task;
	context.fd = UINT64_C(0xabcd00000007);
	context.file = at_end ? 0 : (uintptr_t)open_file;
	nwritten = 0;
	program_make(&p, &l);
	if (interpret(&p, &context) != 0)
		check(false, "the program returns 0");
	context.task = 0;
	if (interpret(&p, &context) != 0 || nwritten > 1)
		check(false, "the program writes no record without a task");
	return nwritten == 1;
}

static void program(void)
{
	check(writes(S_IFCHR | 0660, 226u << 20 | 128, 12, false) && written.pid == 12 && written.fd == 7 && written.zero == 0 &&
	      written.rdev == (226u << 20 | 128) && written.start == 987654321000,
	      "a record for a DRM node");
	check(writes(S_IFCHR, 261u << 20, 12, false) && writes(S_IFCHR, 195u << 20 | 255, 12, false),
	      "records for an accel node and a node of NVIDIA");
	check(!writes(S_IFCHR, 1u << 20 | 3, 12, false) && !writes(S_IFCHR, 227u << 20, 12, false),
	      "no record for other character devices");
	check(!writes(S_IFBLK | 0660, 226u << 20, 12, false) && !writes(S_IFREG, 226u << 20, 12, false),
	      "no record for files of other types");
	check(!writes(S_IFCHR, 226u << 20 | 128, 13, false),
	      "a record for a thread with a separate descriptor table");
	check(!writes(S_IFCHR, 226u << 20 | 128, 12, true),
	      "no record at the end of the iteration");
}

/* --- records ---------------------------------------------------------------------------------- */

static void process(u32 pid, unsigned ticks, const char *fdinfo)
{
	char b[256];

	snprintf(b, sizeof(b), "%u (a) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %u 0 0\n", (unsigned)pid, ticks);
	put(in_folder("proc/%u/stat", (unsigned)pid), b);
	put(in_folder("proc/%u/fdinfo/3", (unsigned)pid), fdinfo);
	put_link(in_folder("proc/%u/fd/3", (unsigned)pid), "/dev/dri/renderD128");
}

static bool accepts(u32 pid)
{
	return pid != 30;
}

static void taken(void)
{
	static const char text[] = "drm-driver:\ti915\ndrm-client-id:\t%d\ndrm-engine-render:\t5 ns\n";
	static const struct held all[] = {
		/* the same process as in the record */
		{ 10, 3, 226u << 20 | 128, 0, 10000000 * UINT64_C(500) + 9999999 },
		/* the pid has a new process */
		{ 20, 3, 226u << 20 | 128, 0, 10000000 * UINT64_C(499) },
		/* the filter refuses the process */
		{ 30, 3, 226u << 20 | 128, 0, 10000000 * UINT64_C(500) },
		/* the process has ended */
		{ 40, 3, 226u << 20 | 128, 0, 10000000 * UINT64_C(500) },
		/* the fdinfo may not be read */
		{ 50, 3, 226u << 20 | 128, 0, 10000000 * UINT64_C(500) },
	};
	char b[256];

	root_set(&roots.proc, in_folder("proc"));
	root_set(&roots.sys, in_folder("sys"));
	fdinfo_begin();
	for (u32 pid = 10; pid <= 50; pid += 10) {
		snprintf(b, sizeof(b), text, (int)pid);
		if (pid != 40)
			process(pid, 500, b);
	}
	chmod(in_folder("proc/50/fdinfo/3"), 0);
	process_filter = accepts;
	rights_drop(true);
	for (size_t i = 0; i < LEN(all); i++)
		process_take(&all[i], 1);
	rights_drop(false);
	process_filter = NULL;
	check_u64(holders_found, 2,
	          "two holders are found: the process of a record, and the new process of a used "
	          "pid");
	check(holder_find(10, 3) != NONE && holder_find(20, 3) != NONE,
	      "the two holders are those of pids 10 and 20");
	check_u64(registry.unreadable, getuid() == 0 || access(in_folder("proc/50/fdinfo/3"), R_OK) != 0,
		  "one fdinfo that may not be read is counted as unreadable");
}

/* The first scan of a run, with records from a file in place of the kernel: processes without a
 * record are not scanned. Without an iterator, and in a run of several samples, all of /proc is
 * scanned. */
static void used(void)
{
	static const struct {
		const char *what;
		bool repeats, iterator, left;
		u8 found;
	} runs[] = {
		{ "in a run of several samples", true, true, true, 4 },
		{ "by the iterator", false, true, false, 2 },
		{ "by a scan", false, false, false, 4 },
	};
	const struct held r[] = {
		{ 10, 3, 226u << 20 | 128, 0, 10000000 * UINT64_C(500) },
		{ 20, 3, 226u << 20 | 128, 0, 10000000 * UINT64_C(500) },
	};

	put_file(in_folder("records"), (const char *)r, sizeof(r));
	roots.proc_given = true;
	shell("chmod 644 $D/proc/50/fdinfo/3");
	for (unsigned i = 0; i < LEN(runs); i++) {
		for (u32 h = 1; h <= nrows.holders; h++)
			if (holders[h].client)
				holder_remove(h);
		clients_drop(false);
		registry.repeats = runs[i].repeats;
		iterator.fd = runs[i].iterator ? open(in_folder("records"), O_RDONLY) : -1;
		holders_found = 0;
		src_fdinfo.start();
		check_u64(holders_found, runs[i].found, "number of holders found %s", runs[i].what);
		check((iterator.fd >= 0) == runs[i].left,
		      "the iterator is closed after one reading");
		src_fdinfo.rest();
		if (iterator.fd >= 0)
			close(iterator.fd);
	}
}

/* Records from a file in place of the kernel. */
static void read_whole(void)
{
	struct held r[3] = { { .pid = 1 }, { .pid = 2 }, { .pid = 3 } };
	char b[2 * sizeof(r)];
	unsigned wrong = 0;

	for (size_t n = 0; n <= sizeof(r); n++) {
		long got;

		memcpy(b, r, sizeof(r));
		put_file(in_folder("records"), b, n);
		iterator.fd = open(in_folder("records"), O_RDONLY);
		got = records_read();
		close(iterator.fd);
		wrong += got != (n % sizeof(r[0]) ? -EIO : (long)(n / sizeof(r[0])));
	}
	check_u64(wrong, 0, "records that are truncated within a record are refused");
	iterator.fd = open(tmp_folder, O_RDONLY);
	check(!iterator_scan() && iterator.fd == -1 && iterator.state.error == -EISDIR,
	      "after an error, iterator_scan() closes the iterator: /proc is scanned instead");
	check(!iterator_scan(), "a second iterator_scan() after an error fails");
}

/* As many records as the table has room for are refused as a whole: /proc is scanned instead. A
 * structure with more anonymous parts than there is room for lacks the members of the others. */
static void full(void)
{
	struct layout l = { 0 };
	const u8 anonymous[12] = { 0, 0, 0, 0, 7 };
	const struct table *t;
	u32 n;

	while (table_full(&n))
		;
	put_file(in_folder("records"), "", 0);
	truncate(in_folder("records"), (off_t)((size_t)MAX_RECORDS * sizeof(struct held)));
	iterator.fd = open(in_folder("records"), O_RDONLY);
	check_u64((u64)-records_read(), ENOMEM, "full table of records: an error");
	close(iterator.fd);
	t = table_full(&n);
	check(t && n == 1 && strcmp(t->name, "descriptors of GPU nodes") == 0, "full table of records: its name");
	truncate(in_folder("records"), (off_t)((size_t)(MAX_RECORDS - 4000) * sizeof(struct held)));
	iterator.fd = open(in_folder("records"), O_RDONLY);
	check_u64((u64)records_read(), MAX_RECORDS - 4000, "records up to the limit of one read before it");
	close(iterator.fd);
	memset(iterator.rows, 0, (size_t)iterator.table.ready * sizeof(struct held));
	for (u32 i = 0; i <= MAX_NESTED; i++)
		member_take(&l, &(struct nested){ .parent = 1 }, anonymous, false);
	check(l.nnext == MAX_NESTED && l.next[MAX_NESTED - 1].parent == 1,
	      "full list of anonymous parts: one more is not searched");
}

int main(void)
{
	folder_begin("t_iterator");
	fd = open(in_folder("btf"), O_RDWR | O_CREAT, 0600);
	offsets();
	truncated();
	hostile();
	unusable();
	real();
	program();
	read_whole();
	full();
	taken();
	used();
	shell("rm -rf $D");
	return unit_end();
}
