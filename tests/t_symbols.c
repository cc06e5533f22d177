/* t_symbols.c - ELF files made here: of 32 and 64 bits, either byte order, cut at every byte, with absurd
 * numbers; what processes map; kallsyms. SPDX-License-Identifier: MIT */
#include "../sources/symbols.c" /* its tables */
#include "unit.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define S(lit) ((struct str)STR(lit))

/* --- files ------------------------------------------------------------------------------------------------ */

enum { ELF_CAP = 4096, TEXT_AT = 0x1000, TEXT_VADDR = 0x401000, TEXT_BYTES = 0x900 };

static struct elf {
	u8 b[ELF_CAP];
	size_t n;
	bool wide, big;
} elf;

static void e_put(size_t at, u64 v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		elf.b[at + i] = (u8)(v >> 8 * (elf.big ? n - 1 - i : i));
	if (at + n > elf.n)
		elf.n = at + n;
}

static void e_field(size_t at, u8 which, u64 v)
{
	e_put(at + efields[which].at[elf.wide], v, efields[which].n[elf.wide]);
}

static const struct {
	const char *name;
	u64 value, size;
	u8 info;
	u16 section;
} esyms[] = {
	{ "", 0, 0, 0, 0 },
	{ "main", TEXT_VADDR + 0x100, 0x80, 0x12, 1 },
	{ "__alias", TEXT_VADDR + 0x100, 0x80, 0x12, 1 },
	{ "inner", TEXT_VADDR + 0x120, 0x10, 0x02, 1 },
	{ "unsized", TEXT_VADDR + 0x200, 0, 0x10, 1 },
	{ "$x", TEXT_VADDR + 0x210, 0, 0x00, 1 },          /* a local mark, not a function */
	{ "ifunc", TEXT_VADDR + 0x300, 0x40, 0x2a, 1 },
	{ "undefined", TEXT_VADDR + 0x400, 0x40, 0x12, 0 },
	{ "absolute", TEXT_VADDR + 0x400, 0x40, 0x12, 0xfff1 },
	{ "object", TEXT_VADDR + 0x400, 0x40, 0x11, 1 },
	{ "elsewhere", 0x700000, 0x40, 0x12, 1 },
	{ "last", TEXT_VADDR + 0x800, 0x100, 0x22, 1 },
};

static const struct {
	u64 addr;
	const char *name; /* NULL: none */
	u64 offset;
} elooks[] = {
	{ TEXT_VADDR, NULL, 0 },          { TEXT_VADDR + 0xff, NULL, 0 },
	{ TEXT_VADDR + 0x100, "main", 0 }, { TEXT_VADDR + 0x11f, "main", 0x1f },
	{ TEXT_VADDR + 0x120, "inner", 0 }, { TEXT_VADDR + 0x12f, "inner", 0xf },
	{ TEXT_VADDR + 0x130, "main", 0x30 }, { TEXT_VADDR + 0x17f, "main", 0x7f },
	{ TEXT_VADDR + 0x180, NULL, 0 },   { TEXT_VADDR + 0x2ff, "unsized", 0xff },
	{ TEXT_VADDR + 0x300, "ifunc", 0 }, { TEXT_VADDR + 0x340, NULL, 0 },
	{ TEXT_VADDR + 0x400, NULL, 0 },   { TEXT_VADDR + 0x8ff, "last", 0xff },
	{ TEXT_VADDR + 0x900, NULL, 0 },   { 0, NULL, 0 }, { UINT64_MAX, NULL, 0 },
};

/* Header, one executable segment, sections: none, symbols, their names. */
static void elf_make(bool wide, bool big, u64 type)
{
	size_t ph, sh, at, names, n;

	memset(&elf, 0, sizeof(elf));
	elf.wide = wide;
	elf.big = big;
	memcpy(elf.b, "\177ELF", 4);
	elf.b[4] = wide ? 2 : 1;
	elf.b[5] = big ? 2 : 1;
	elf.b[6] = 1;
	ph = esizes[EHDR][wide];
	sh = ph + esizes[PHDR][wide];
	at = sh + 3 * (size_t)esizes[SHDR][wide];
	names = at + LEN(esyms) * esizes[SYM][wide];
	e_field(0, E_PHOFF, ph);
	e_field(0, E_SHOFF, sh);
	e_field(0, E_PHENTSIZE, esizes[PHDR][wide]);
	e_field(0, E_PHNUM, 1);
	e_field(0, E_SHENTSIZE, esizes[SHDR][wide]);
	e_field(0, E_SHNUM, 3);
	e_field(ph, P_TYPE, 1);
	e_field(ph, P_FLAGS, 5);
	e_field(ph, P_OFFSET, TEXT_AT);
	e_field(ph, P_VADDR, TEXT_VADDR);
	e_field(ph, P_FILESZ, TEXT_BYTES);
	sh += esizes[SHDR][wide];
	e_field(sh, SH_TYPE, type);
	e_field(sh, SH_OFFSET, at);
	e_field(sh, SH_SIZE, LEN(esyms) * esizes[SYM][wide]);
	e_field(sh, SH_LINK, 2);
	sh += esizes[SHDR][wide];
	e_field(sh, SH_TYPE, 3);
	e_field(sh, SH_OFFSET, names);
	n = 0;
	for (size_t i = 0; i < LEN(esyms); i++, at += esizes[SYM][wide]) {
		e_field(at, ST_NAME, n);
		e_field(at, ST_INFO, esyms[i].info);
		e_field(at, ST_SHNDX, esyms[i].section);
		e_field(at, ST_VALUE, esyms[i].value);
		e_field(at, ST_SIZE, esyms[i].size);
		memcpy(elf.b + names + n, esyms[i].name, strlen(esyms[i].name) + 1);
		n += strlen(esyms[i].name) + 1;
	}
	elf.n = names + n;
	e_field(sh, SH_SIZE, n);
}

static struct file one;
static int memfd = -1;

/* What is loaded of the first n bytes. */
static u32 elf_read(size_t n)
{
	if (memfd < 0)
		memfd = memfd_create("elf", 0);
	if (ftruncate(memfd, 0) || pwrite(memfd, elf.b, n, 0) != (ssize_t)n) {
		puts("Bail out! memfd");
		exit(1);
	}
	window_fd = -1;
	nsyms = 0;
	text_n = 1;
	one = (struct file){ .fd = memfd };
	elf_load(&one);
	return one.count;
}

static size_t look_wrongs(void)
{
	size_t wrong = 0;

	for (size_t i = 0; i < LEN(elooks); i++) {
		struct sym *y = sym_at(syms + one.first, one.count, elooks[i].addr);
		struct str name = y ? file_symbol(&one, y) : (struct str){ 0 };

		if (!elooks[i].name ? y != NULL : !y || !str_eq(name, str_z(elooks[i].name)) ||
						   elooks[i].addr - y->addr != elooks[i].offset) {
			note("%" PRIx64 ": %s", elooks[i].addr, show(name));
			wrong++;
		}
	}
	return wrong;
}

/* Looks at whatever was loaded, as samples would. */
static void look_around(void)
{
	for (u64 a = TEXT_VADDR - 64; a < TEXT_VADDR + TEXT_BYTES + 64; a += 13) {
		struct sym *y = sym_at(syms + one.first, one.count, a);

		if (y)
			file_symbol(&one, y);
	}
}

static void t_elf(bool wide, bool big)
{
	static const u64 types[] = { 2, 11 };
	static const u8 hostile[] = { 0, 1, 0x7f, 0x80, 0xff };
	const char *name = wide ? big ? "64-bit, big endian" : "64-bit" : big ? "32-bit, big endian" : "32-bit";
	size_t wrong = 0;

	for (size_t i = 0; i < LEN(types); i++) {
		elf_make(wide, big, types[i]);
		check_u64(elf_read(elf.n), 6, "ELF %s, %s: functions", name, i ? "dynsym" : "symtab");
		check_u64(look_wrongs(), 0, "ELF %s, %s: whose code an address is", name, i ? "dynsym" : "symtab");
	}
	for (size_t n = 0; n < elf.n; n++) {
		wrong += elf_read(n) > 6;
		look_around();
	}
	check_u64(wrong, 0, "ELF %s: cut at every byte", name);
	for (size_t n = 0; n < elf.n; n++)
		for (size_t k = 0; k < LEN(hostile); k++) {
			u8 was = elf.b[n];

			elf.b[n] = hostile[k];
			wrong += elf_read(elf.n) > MAX_SYMS;
			look_around();
			elf.b[n] = was;
		}
	check_u64(wrong, 0, "ELF %s: every byte changed", name);
}

/* Fields made as large as they can be, alone and in pairs. */
static void t_absurd(bool wide)
{
	static const u8 which[] = { E_PHOFF, E_SHOFF, E_PHENTSIZE, E_PHNUM, E_SHENTSIZE, E_SHNUM };
	static const u64 values[] = { 0, 1, 0x7fff, UINT32_MAX, INT64_MAX, INT64_MAX - WINDOW, UINT64_MAX };
	size_t wrong = 0, sh;

	for (size_t i = 0; i < LEN(which); i++)
		for (size_t k = 0; k < LEN(which); k++)
			for (size_t v = 0; v < LEN(values); v++) {
				elf_make(wide, false, 2);
				e_field(0, which[i], values[v]);
				e_field(0, which[k], values[(v + i) % LEN(values)]);
				wrong += elf_read(elf.n) > 6 * 3;
				look_around();
			}
	for (u8 field = SH_TYPE; field <= SH_LINK; field++)
		for (int s = 1; s < 3; s++)
			for (size_t v = 0; v < LEN(values); v++) {
				elf_make(wide, false, 2);
				sh = esizes[EHDR][wide] + esizes[PHDR][wide] + (size_t)s * esizes[SHDR][wide];
				e_field(sh, field, values[v]);
				elf_read(elf.n);
				look_around();
			}
	check_u64(wrong, 0, "ELF %s: absurd counts, sizes and places", wide ? "64-bit" : "32-bit");
	elf_make(wide, false, 2);
	e_field(0, E_SHNUM, 0);
	e_field(esizes[EHDR][wide] + esizes[PHDR][wide], SH_SIZE, 3);
	check_u64(elf_read(elf.n), 6, "ELF %s: more sections than e_shnum can say", wide ? "64-bit" : "32-bit");
	elf_make(wide, false, 2);
	e_field(0, E_MACHINE, 40);
	e_field(esizes[EHDR][wide] + esizes[PHDR][wide] + 3 * (size_t)esizes[SHDR][wide] + esizes[SYM][wide], ST_VALUE,
		TEXT_VADDR + 0x101);
	elf_read(elf.n);
	check_u64(look_wrongs(), 0, "ELF %s: Thumb functions have odd addresses", wide ? "64-bit" : "32-bit");
}

/* --- a root with processes ------------------------------------------------------------------------------------ */

static char root[64];

static void put_file(const char *path, const void *p, size_t n)
{
	char full[256];
	FILE *f;

	for (const char *c = path; (c = strchr(c, '/')) != NULL; c++) {
		snprintf(full, sizeof(full), "%s/%.*s", root, (int)(c - path), path);
		mkdir(full, 0755);
	}
	snprintf(full, sizeof(full), "%s/%s", root, path);
	f = fopen(full, "w");
	if (!f || fwrite(p, 1, n, f) != n || fclose(f)) {
		printf("Bail out! %s\n", full);
		exit(1);
	}
}

static void put_text_file(const char *path, const char *s)
{
	put_file(path, s, strlen(s));
}

static void make_root(void)
{
	char b[256];

	snprintf(root, sizeof(root), "/tmp/t_symbols.XXXXXX");
	if (!mkdtemp(root)) {
		puts("Bail out! mkdtemp");
		exit(1);
	}
	elf_make(true, false, 2);
	put_file("7/root/bin/prog", elf.b, elf.n);
	put_file("8/root/bin/prog", elf.b, elf.n);
	put_file("21/root/bin/inside", elf.b, elf.n);
	put_file("self/root/bin/gone", elf.b, elf.n);
	put_text_file("7/comm", "a ;b\n");
	put_text_file("70/comm", "thread\n");
	put_text_file("7/maps", "401000-402000 r-xp 00001000 00:00 0      /bin/prog\n"
				"501000-502000 rw-p 00001000 00:00 0      /bin/prog\n"
				"601000-602000 r-xp 00000000 00:00 0 \n"
				"701000-702000 r-xp 00000000 00:00 0      [vdso]\n"
				"nonsense\n-\n\n5-4 r-xp 0 0:0 0 x\n"
				"801000-802000 r-xp 00000000 00:00 0      /fifo\n"
				"901000-902000 r-xp 00000000 00:00 0      /dir\n"
				"a01000-a02000 r-xp 00000000 00:00 0      /link\n"
				"b01000-b02000 r-xp 00001000 00:00 0      /bin/prog (deleted)\n"
				"c01000-c02000 r-xp 00001000 00:00 12345  /bin/gone\n"
				"d01000-d02000 r-xp 00001000 00:00 0      /bin/gone\n");
	put_text_file("kallsyms", "ffffffff81000000 T _text\nffffffff81000000 t first\nffffffff81000040 T second\n"
				  "ffffffff81000050 t __second_too\nffffffff81000050 T third\nffffffff81000060 D data\n"
				  "ffffffff81001000 T _etext\n\nffffffff81000070\nffffffff81000070 T\nT x\n"
				  "ffffffffa0000000 t mod_f\t[mod]\nffffffffa0000010 t mod_g\t[mod]\n");
	snprintf(b, sizeof(b), "%s/7/root/fifo", root);
	mkfifo(b, 0644);
	snprintf(b, sizeof(b), "%s/7/root/dir", root);
	mkdir(b, 0755);
	snprintf(b, sizeof(b), "%s/7/root/link", root);
	if (symlink("bin/prog", b))
		puts("# no link");
	snprintf(b, sizeof(b), "%s/self/fd", root);
	if (symlink("/proc/self/fd", b))
		puts("# no link");
	root_proc = open(root, O_RDONLY | O_DIRECTORY);
}

static void remove_root(void)
{
	char b[128];

	snprintf(b, sizeof(b), "rm -rf %s", root);
	if (system(b))
		puts("# not removed");
}

static void look(u32 pid, u64 ip, u8 mode, const char *symbol, const char *module, u64 offset)
{
	struct str s, m;
	u64 o;
	bool is;

	for (int again = 0; again < 2; again++) {
		is = symbol_find(pid, ip, mode, &s, &m, &o);
		if (!check(is == (*symbol != 0) && str_eq(s, str_z(symbol)) && str_eq(m, str_z(module)) && o == offset,
			   "%u: %" PRIx64 " is %s of %s%s", pid, ip, *symbol ? symbol : "nothing", *module ? module : "nothing",
			   again ? ", again" : ""))
			note("got %s of %s + %" PRIx64, show(s), show(m), o);
	}
}

static u32 told;

static void count_told(const struct prec *r)
{
	told += r->type == PR_COMM ? 100 : 1;
}

static void t_maps(void)
{
	struct prec r = { .type = PR_MMAP2, .mode = PM_USER, .prot = 5, .who = 7, .at = 0x401000, .len = 0x800,
			  .pgoff = 0x1800, .name = STR("/bin/other") };

	symbols_found = count_told;
	check_str(symbols_comm(7, 7), "a ;b", "comm from /proc");
	check_str(symbols_comm(7, 70), "thread", "comm of a thread");
	check_str(symbols_comm(7, 71), "", "comm of a task that is gone");
	check_str(symbols_comm(0, 0), "swapper", "comm of the idle task");
	look(7, 0x401100, PM_USER, "main", "/bin/prog", 0);
	check_u64(told, 209, "what /proc says is told: two comms, nine maps");
	look(7, 0x4018ff, PM_USER, "last", "/bin/prog", 0xff);
	look(7, 0x401fff, PM_USER, "", "/bin/prog", 0x1fff);
	look(7, 0x501100, PM_USER, "", "", 0x501100);
	look(7, 0x601100, PM_USER, "", "//anon", 0x100);
	look(7, 0x701100, PM_USER, "", "[vdso]", 0x100);
	look(7, 0x801100, PM_USER, "", "/fifo", 0x100);
	look(7, 0x901100, PM_USER, "", "/dir", 0x100);
	look(7, 0xa01100, PM_USER, "", "/link", 0x100);
	look(7, 0xb01100, PM_USER, "", "/bin/prog (deleted)", 0x1100);
	look(7, 0xc01100, PM_USER, "", "/bin/gone", 0x1100);
	look(7, 0xd01100, PM_USER, "main", "/bin/gone", 0);
	look(7, 0x401100, PM_HV, "", "", 0x401100);
	look(9, 0x401100, PM_USER, "", "", 0x401100);
	symbols_feed(&r);
	look(7, 0x401100, PM_USER, "", "/bin/other", 0x1900);
	look(7, 0x4018ff, PM_USER, "last", "/bin/prog", 0xff);
}

static void t_life(void)
{
	struct prec fork = { .type = PR_FORK, .who = 8, .who_tid = 8, .parent = 7, .parent_tid = 7 };
	struct prec thread = { .type = PR_FORK, .who = 8, .who_tid = 80, .parent = 8, .parent_tid = 8 };
	struct prec exec = { .type = PR_COMM, .misc = PM_EXEC, .who = 8, .who_tid = 8, .name = STR("sixteen letters and more") };
	struct prec map = { .type = PR_MMAP2, .mode = PM_USER, .prot = 5, .who = 8, .at = 0x7f0000001000, .len = 0x1000,
			    .pgoff = 0x1000, .name = STR("/bin/prog") };
	struct prec data = { .type = PR_MMAP2, .mode = PM_USER, .prot = 3, .who = 8, .at = 0, .len = UINT64_MAX,
			     .name = STR("/bin/data") };
	struct prec gone = { .type = PR_EXIT, .who = 8, .who_tid = 8, .parent = 7 };

	symbols_feed(&fork);
	check_str(symbols_comm(8, 8), "a ;b", "a child has its parent's comm");
	look(8, 0x401900, PM_USER, "", "/bin/prog", 0x1900);
	look(8, 0x401880, PM_USER, "last", "/bin/prog", 0x80);
	symbols_feed(&thread);
	check_str(symbols_comm(8, 80), "a ;b", "so has its thread");
	symbols_feed(&exec);
	check_str(symbols_comm(8, 8), "sixteen letters ", "execve gives a new comm, of 16 bytes");
	look(8, 0x401880, PM_USER, "", "", 0x401880);
	symbols_feed(&map);
	symbols_feed(&data);
	look(8, 0x7f0000001120, PM_USER, "inner", "/bin/prog", 0);
	symbols_feed(&gone);
	look(8, 0x7f0000001130, PM_USER, "main", "/bin/prog", 0x30);
	symbols_feed(&fork);
	check_str(symbols_comm(8, 8), "a ;b", "a pid that is used again is another process");
}

/* A file whose first process has gone, with the only root that it is in: the next process that has it may have it still. */
static void t_late(void)
{
	struct prec map = { .type = PR_MMAP2, .mode = PM_USER, .prot = 5, .who = 20, .at = 0x401000, .len = 0x1000,
			    .pgoff = 0x1000, .name = STR("/bin/inside") };

	symbols_feed(&map);
	look(20, 0x401100, PM_USER, "", "/bin/inside", 0x1100);
	map.who = 21;
	symbols_feed(&map);
	look(21, 0x401100, PM_USER, "main", "/bin/inside", 0);
	look(20, 0x401120, PM_USER, "inner", "/bin/inside", 0);
}

static void t_kernel(void)
{
	struct prec r, bpf = { .type = PR_KSYMBOL, .at = 0xffffffffc0000000, .len = 0x40, .name = STR("bpf_prog\t[bpf]") };
	struct str s, m;
	u64 offset, wrong = 0;

	look(7, 0xffffffff81000000, PM_KERNEL, "first", "[kernel.kallsyms]", 0);
	look(7, 0xffffffff8100003f, PM_KERNEL, "first", "[kernel.kallsyms]", 0x3f);
	look(7, 0xffffffff81000041, PM_KERNEL, "second", "[kernel.kallsyms]", 1);
	look(7, 0xffffffff81000fff, PM_KERNEL, "third", "[kernel.kallsyms]", 0xfaf);
	look(7, 0xffffffffa0000005, PM_KERNEL, "mod_f", "[mod]", 5);
	look(7, 0xffffffffa0000fff, PM_KERNEL, "mod_g", "[mod]", 0xfef);
	look(7, 0xffffffffa0002000, PM_KERNEL, "", "[kernel.kallsyms]", 0xffffffffa0002000);
	look(7, 0xffffffffc0000010, PM_KERNEL, "", "[kernel.kallsyms]", 0xffffffffc0000010);
	symbols_feed(&bpf);
	look(7, 0xffffffffc0000010, PM_KERNEL, "bpf_prog", "[bpf]", 0x10);
	check(!symbols_hidden && symbols_kernel(&r) && r.at == 0xffffffff81000000 && r.len == 0x1000 && r.who == UINT32_MAX,
	      "the kernel's own text");
	for (u64 i = 0; i < 4 * CACHE; i++) /* more addresses than the cache holds: it grows */
		wrong += symbol_find(7, 0xffffffff90000000 + i, PM_KERNEL, &s, &m, &offset) || offset != 0xffffffff90000000 + i;
	check(!wrong && cache_table.ready == CACHE && !cache_table.dropped, "the cache grows, and no address is mistaken for another");
	look(7, 0xffffffff81000041, PM_KERNEL, "second", "[kernel.kallsyms]", 1);
	kernel_read = false;
	nksyms = 0;
	put_text_file("kallsyms", "0000000000000000 T _text\n0000000000000000 t first\n");
	memset(cache, 0, cache_table.ready * sizeof(*cache));
	look(7, 0xffffffff81000000, PM_KERNEL, "", "[kernel.kallsyms]", 0xffffffff81000000);
	check(symbols_hidden && !symbols_kernel(&r), "kptr_restrict is noticed");
}

/* Tables that are full: counted, and what ended makes room. */
static void t_full(void)
{
	struct prec r = { .type = PR_COMM, .name = STR("x") };
	struct str s;

	for (u32 i = 1000; i < 1000 + MAX_PROCS; i++) {
		r.who = r.who_tid = i;
		symbols_feed(&r);
	}
	check(symbols_dropped > 0 && nprocs < MAX_PROCS, "tasks without room are counted");
	check(!str_len(symbols_comm(5, 5)), "and have no comm");
	symbols_dropped = 0;
	r = (struct prec){ .type = PR_EXIT, .who = 2000, .who_tid = 2000 };
	symbols_feed(&r);
	r = (struct prec){ .type = PR_COMM, .who = 99999999, .who_tid = 99999999, .name = STR("late") };
	symbols_feed(&r);
	s = symbols_comm(99999999, 99999999);
	check(str_eq(s, S("late")) && !symbols_dropped, "one that ended makes room");
	for (u32 i = 0; i < 2 * MAX_MAPS; i++) {
		r = (struct prec){ .type = PR_MMAP2, .mode = PM_USER, .prot = 5, .who = 1001, .at = i % 3 * 8192ull, .len = 4096 + i % 2,
				   .name = STR("/bin/prog") };
		symbols_feed(&r);
	}
	check_u64(symbols_dropped, 0, "maps over maps take no room");
	for (u32 i = 0; i < MAX_FILES; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "/bin/%u", i);

		r.name = (struct str){ name, name + n };
		symbols_feed(&r);
	}
	check(symbols_dropped > 0, "files without room are counted");
}

/* A file may have its symbols in an order that is the worst for a sort: of this one, halves of so many were 20 s once. */
static void t_order(void)
{
	const size_t n = 389745;
	clock_t begun = clock();
	size_t wrong = 0;

	table_all(&syms_table);
	for (size_t i = 0; i < n; i++)
		syms[i] = (struct sym){ .addr = i % 2 ? n + i : i, .size = 1 };
	syms_order(syms, n);
	for (size_t i = 1; i < n; i++)
		wrong += syms[i - 1].addr >= syms[i].addr;
	check_u64(wrong, 0, "a file's symbols in order");
	check(clock() - begun < 2 * CLOCKS_PER_SEC, "soon, whatever order they were in");
	memset(syms, 0, n * sizeof(*syms));
}

int main(void)
{
	t_order();
	for (int i = 0; i < 4; i++)
		t_elf(i & 1, i & 2);
	t_absurd(false);
	t_absurd(true);
	nsyms = 0;
	text_n = 1;
	make_root();
	t_maps();
	t_life();
	t_late();
	t_kernel();
	t_full();
	remove_root();
	return unit_end();
}
