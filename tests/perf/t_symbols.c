/* t_symbols.c - unit test of sources/perf/symbols.c: ELF files that the test generates: of 32
 * and 64 bits, in both byte orders, truncated at every byte, with absurd numbers; mappings of
 * processes; kallsyms. SPDX-License-Identifier: MIT */
#define privilege_from_file from_file
#define may_see user_may_see
#include "../../sources/perf/symbols.c" /* for its static tables */
#undef privilege_from_file
#undef may_see
#include "unit.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define S(lit) ((struct str)STR(lit))

static bool gave_capabilities;

bool from_file(void)
{
	return gave_capabilities;
}

bool user_may_see(u8 what)
{
	return setting_read("sys/kernel/perf_event_paranoid", 2) <= (what == SEE_KERNEL_ADDRESSES ? 1 : 0);
}

/* --- files ------------------------------------------------------------------------------------ */

enum { ELF_CAP = 8192, TEXT_AT = 0x1000, TEXT_VADDR = 0x401000, TEXT_BYTES = 0x900 };

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
	{ "$x", TEXT_VADDR + 0x210, 0, 0x00, 1 },          /* a mapping symbol, not a function */
	{ "ifunc@@V_1", TEXT_VADDR + 0x300, 0x40, 0x2a, 1 },
	{ "undefined", TEXT_VADDR + 0x400, 0x40, 0x12, 0 },
	{ "absolute", TEXT_VADDR + 0x400, 0x40, 0x12, 0xfff1 },
	{ "object", TEXT_VADDR + 0x400, 0x40, 0x11, 1 },
	{ "elsewhere", 0x700000, 0x40, 0x12, 1 },
	{ "last", TEXT_VADDR + 0x800, 0x100, 0x22, 1 },
};

static const struct {
	u64 addr;
	const char *name; /* NULL: no symbol */
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

/* An ELF header, one executable segment, and three sections: null, symbols, their names. */
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

/* Returns the number of symbols that are loaded from the first n bytes. */
static u32 elf_read(size_t n)
{
	if (memfd < 0)
		memfd = memfd_create("elf", 0);
	if (ftruncate(memfd, 0) || pwrite(memfd, elf.b, n, 0) != (ssize_t)n) {
		puts("Bail out! memfd");
		exit(1);
	}
	symtab.window_fd = -1;
	symtab.nsyms = 0;
	symtab.text_n = 1;
	one = (struct file){ .fd = memfd };
	elf_load(&one);
	return one.count;
}

static size_t look_wrongs(void)
{
	size_t wrong = 0;

	for (size_t i = 0; i < LEN(elooks); i++) {
		struct sym *y = sym_find(symtab.syms + one.first, one.count, elooks[i].addr);
		struct str name = y ? file_symbol(&one, y) : (struct str){ 0 };

		if (!elooks[i].name ? y != NULL : !y || !str_eq(name, str_z(elooks[i].name)) ||
						   elooks[i].addr - y->addr != elooks[i].offset) {
			note("%" PRIx64 ": %s", elooks[i].addr, show(name));
			wrong++;
		}
	}
	return wrong;
}

/* Searches for addresses after any load, as samples do. */
static void look_around(void)
{
	for (u64 a = TEXT_VADDR - 64; a < TEXT_VADDR + TEXT_BYTES + 64; a += 13) {
		struct sym *y = sym_find(symtab.syms + one.first, one.count, a);

		if (y)
			file_symbol(&one, y);
	}
}

/* A build ID in a segment, in a section, in both, or in neither; and every truncation. */
static void t_elf_id(bool wide, bool big)
{
	static const char id[] = "0123456789abcdefghij";
	const char *name = wide ? big ? "64-bit, big endian" : "64-bit" : big ? "32-bit, big endian" : "32-bit";
	size_t wrong = 0, at = 3072, n;

	for (int kind = 0; kind < 4; kind++) {
		size_t ph = esizes[EHDR][wide], sh = ph + esizes[PHDR][wide];

		elf_make(wide, big, 2);
		n = elf.n;
		e_put(at, 4, 4), e_put(at + 4, 20, 4), e_put(at + 8, 3, 4);
		memcpy(elf.b + at + 12, "GNU", 4);
		memcpy(elf.b + at + 16, id, 20);
		elf.n = at + 36;
		if (kind & 1) {
			e_field(ph, P_TYPE, 4);
			e_field(ph, P_OFFSET, at);
			e_field(ph, P_FILESZ, 36);
		}
		if (kind & 2) {
			e_field(sh, SH_TYPE, 7);
			e_field(sh, SH_OFFSET, at);
			e_field(sh, SH_SIZE, 36);
		}
		for (size_t cut = elf.n; cut > 0; cut -= cut > n ? 1 : 7 < cut ? 7 : cut) {
			elf_read(cut);
			one = (struct file){ .fd = memfd };
			if (elf_begin(&one))
				elf_id(&one);
			wrong += (one.id_n == 20 && memcmp(one.id, id, 20) == 0) != (kind && cut == elf.n) || one.id_n > 20;
		}
	}
	check_u64(wrong, 0, "ELF %s: a build ID in a segment or a section; truncated", name);
	one.fd = -1;
}

/* --- the PLT ---------------------------------------------------------------------------------- */

enum { PLT_VADDR = TEXT_VADDR + 0x500, PLT_FUNCTIONS = 3 };
static const char dynamic_names[] = "\0puts\0getpid\0";
static const char section_names[] = "\0.plt\0.plt.sec\0.plt.got\0.rela.plt\0.rel.plt\0";

static void section_make(size_t sh, u32 i, u32 name, u32 type, u64 addr, u64 at, u64 size, u32 link)
{
	size_t to = sh + i * (size_t)esizes[SHDR][elf.wide];

	e_field(to, SH_NAME, name);
	e_field(to, SH_TYPE, type);
	e_field(to, SH_ADDR, addr);
	e_field(to, SH_OFFSET, at);
	e_field(to, SH_SIZE, size);
	e_field(to, SH_LINK, link);
}

/* An ELF file with a function, _init, before the PLT, whose three entries are for puts, for a
 * symbol without a name, and for getpid. sec: there is also a .plt.sec. */
static void plt_make(bool wide, bool big, u8 machine, bool rela, bool sec)
{
	size_t sh = 512, syms = 1280, names = 1536, relocs = 1664, strings = 1792;
	size_t each = esizes[REL][wide] + (rela ? wide ? 8u : 4u : 0u);
	static const u32 info[PLT_FUNCTIONS] = { 1, 0, 2 };

	elf_make(wide, big, 0);
	e_field(0, E_MACHINE, machine);
	e_field(0, E_SHOFF, sh);
	e_field(0, E_SHNUM, 7);
	e_field(0, E_SHSTRNDX, 6);
	memset(elf.b + sh, 0, 7 * (size_t)esizes[SHDR][wide]);
	section_make(sh, 1, 0, 11, 0, syms, 4 * (size_t)esizes[SYM][wide], 2);
	section_make(sh, 2, 0, 3, 0, names, sizeof(dynamic_names), 0);
	section_make(sh, 3, 1, 1, PLT_VADDR, TEXT_AT + 0x500, 0x50, 0);
	if (sec)
		section_make(sh, 4, 6, 1, PLT_VADDR + 0x100, TEXT_AT + 0x600, 0x30, 0);
	section_make(sh, 5, rela ? 24 : 34, rela ? 4 : 9, 0, relocs, PLT_FUNCTIONS * each, 1);
	section_make(sh, 6, 0, 3, 0, strings, sizeof(section_names), 0);
	memcpy(elf.b + names, dynamic_names, sizeof(dynamic_names));
	memcpy(elf.b + strings, section_names, sizeof(section_names));
	elf.n = strings + sizeof(section_names);
	memset(elf.b + syms, 0, 4 * (size_t)esizes[SYM][wide]);
	for (u32 i = 0; i < 3; i++) {
		size_t at = syms + (i + 1) * (size_t)esizes[SYM][wide];

		e_field(at, ST_NAME, i == 0 ? 1 : i == 1 ? 6 : 1);
		e_field(at, ST_INFO, 0x12);
		e_field(at, ST_SHNDX, i == 2);
		e_field(at, ST_VALUE, i == 2 ? PLT_VADDR - 0x20 : 0);
	}
	for (u32 i = 0; i < PLT_FUNCTIONS; i++)
		e_field(relocs + i * each, R_INFO, wide ? (u64)info[i] << 32 | 7 : info[i] << 8 | 7);
}

static void look_plt(u64 addr, const char *want)
{
	struct sym *y = sym_find(symtab.syms + one.first, one.count, addr);

	check_str(y ? file_symbol(&one, y) : (struct str){ 0 }, want, "the symbol of %" PRIx64 " in the PLT", addr);
}

static void t_plt(void)
{
	static const struct {
		bool wide, big;
		u8 machine;
		bool rela, sec;
		u8 head, each;
	} kinds[] = {
		{ true, false, 62, true, false, 16, 16 },  { true, false, 62, true, true, 0, 16 },
		{ false, false, 3, false, false, 16, 16 }, { false, true, 40, false, false, 20, 12 },
		{ true, true, 183, true, false, 32, 16 },
	};
	size_t wrong = 0;

	for (size_t i = 0; i < LEN(kinds); i++) {
		u64 at = PLT_VADDR + (kinds[i].sec ? 0x100 : kinds[i].head), each = kinds[i].each;

		plt_make(kinds[i].wide, kinds[i].big, kinds[i].machine, kinds[i].rela, kinds[i].sec);
		check(elf_read(elf.n) > 3, "machine %d: the PLT has symbols", kinds[i].machine);
		look_plt(PLT_VADDR - 1, "puts");
		look_plt(PLT_VADDR, "");
		look_plt(at, "puts@plt");
		look_plt(at + each - 1, "puts@plt");
		look_plt(at + each, "");
		look_plt(at + 2 * each, "getpid@plt");
		look_plt(at + 3 * each, "");
	}
	for (size_t i = 0; i < LEN(kinds); i++) {
		plt_make(kinds[i].wide, kinds[i].big, kinds[i].machine, kinds[i].rela, kinds[i].sec);
		for (size_t n = 0; n < elf.n; n++) {
			wrong += elf_read(n) > 8;
			look_around();
		}
		for (size_t n = 0; n < elf.n; n++) {
			u8 was = elf.b[n];

			elf.b[n] = n & 1 ? 0xff : 0x80;
			wrong += elf_read(elf.n) > 256;
			look_around();
			elf.b[n] = was;
		}
	}
	check_u64(wrong, 0, "a PLT that is truncated at every byte, or has a wrong byte");
	plt_make(true, false, 8, true, false);
	elf_read(elf.n);
	look_plt(PLT_VADDR + 32, "");
}

/* Tables of symbols that are larger than those of any program; in a sparse file they take no
 * space. */
static void t_holes(void)
{
	size_t sh = (size_t)esizes[EHDR][1] + esizes[PHDR][1] + esizes[SHDR][1];
	u64 at, count;
	u32 others;

	elf_make(true, false, SHT_SYMTAB);
	e_field(sh, SH_SIZE, 1ull << 45);
	elf_read(elf.n);
	check(symbols_section(&one, &one, SHT_SYMTAB, &at, &count),
	      "a symbol section of 32 TiB is accepted");
	check_u64(count, MAX_ELF_SYMS, "a part of the symbols of a huge section is read");
	plt_make(true, false, 62, true, false);
	others = elf_read(elf.n) - PLT_FUNCTIONS;
	e_field(512 + 3 * (size_t)esizes[SHDR][1], SH_SIZE, 1ull << 45);
	e_field(512 + 5 * (size_t)esizes[SHDR][1], SH_SIZE, 1ull << 45);
	check_u64(elf_read(elf.n), others + MAX_PLT, "a PLT of 32 TiB does not fill the table of symbols");
}

/* Files with as many code segments and sections as the tables have rows, and with one more. */
static void t_full_tables(bool wide)
{
	const size_t at = 2048, segment = esizes[PHDR][wide], section = esizes[SHDR][wide];
	u32 before;

	for (size_t more = 0; more < 2; more++) {
		before = symbols.dropped;
		elf_make(wide, false, SHT_SYMTAB);
		for (size_t i = 0; i < MAX_LOADS + more; i++)
			memcpy(elf.b + at + i * segment, elf.b + esizes[EHDR][wide], segment);
		elf.n = at + (MAX_LOADS + more) * segment;
		e_field(0, E_PHOFF, at);
		e_field(0, E_PHNUM, MAX_LOADS + more);
		elf_read(elf.n);
		check_u64(symbols.dropped - before, more, "a file with %zu code segments: lost", MAX_LOADS + more);
		before = symbols.dropped;
		plt_make(wide, false, wide ? 62 : 3, wide, false);
		memcpy(elf.b + at, elf.b + 512, 7 * section);
		elf.n = at + (MAX_SECTIONS + more) * section;
		e_field(0, E_SHOFF, at);
		e_field(0, E_SHNUM, MAX_SECTIONS + more);
		elf_read(elf.n);
		check_u64(symbols.dropped - before, more, "a file with %zu sections: lost", MAX_SECTIONS + more);
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
		check_u64(elf_read(elf.n), 6, "ELF %s, %s: the number of functions", name, i ? "dynsym" : "symtab");
		check_u64(look_wrongs(), 0,
		          "ELF %s, %s: addresses have the right symbol", name, i ? "dynsym" : "symtab");
	}
	for (size_t n = 0; n < elf.n; n++) {
		wrong += elf_read(n) > 6;
		look_around();
	}
	check_u64(wrong, 0, "ELF %s: truncated at every byte", name);
	for (size_t n = 0; n < elf.n; n++)
		for (size_t k = 0; k < LEN(hostile); k++) {
			u8 was = elf.b[n];

			elf.b[n] = hostile[k];
			wrong += elf_read(elf.n) > MAX_SYMS;
			look_around();
			elf.b[n] = was;
		}
	check_u64(wrong, 0, "ELF %s: with every byte changed", name);
}

/* Sets header fields to extreme values, one and two at a time. */
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
				wrong += elf_read(elf.n) > 6 * 3;
				look_around();
			}
	check_u64(wrong, 0, "ELF %s: absurd counts, sizes and offsets", wide ? "64-bit" : "32-bit");
	elf_make(wide, false, 2);
	e_field(0, E_SHNUM, 0);
	e_field(esizes[EHDR][wide] + esizes[PHDR][wide], SH_SIZE, 3);
	check_u64(elf_read(elf.n), 6,
	          "ELF %s: e_shnum is 0 and the first section has the number", wide ? "64-bit" : "32-bit");
	elf_make(wide, false, 2);
	e_field(0, E_MACHINE, 40);
	e_field(esizes[EHDR][wide] + esizes[PHDR][wide] + 3 * (size_t)esizes[SHDR][wide] + esizes[SYM][wide], ST_VALUE,
		TEXT_VADDR + 0x101);
	elf_read(elf.n);
	check_u64(look_wrongs(), 0, "ELF %s: Thumb functions have odd addresses", wide ? "64-bit" : "32-bit");
}

/* --- a /proc with processes ------------------------------------------------------------------- */

static char root[100];

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

	if (!mkdtemp(temporary_name(root, sizeof(root), "t_symbols"))) {
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
	put_text_file("40/maps", "401000-402000 r-xp 00001000 00:00 0      /bin/prog\n");
	snprintf(b, sizeof(b), "%s/40/cwd", root);
	if (symlink("/", b))
		puts("# no link");
	roots.proc = open(root, O_RDONLY | O_DIRECTORY);
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
			   again ? ", second time" : ""))
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

	symbols.found = count_told;
	check_str(symbols_comm(7, 7), "a ;b", "the comm of a process is read from /proc");
	check_str(symbols_comm(7, 70), "thread", "the comm of a thread is read from /proc");
	check_str(symbols_comm(7, 71), "", "a task that has exited has no comm");
	check_str(symbols_comm(0, 0), "swapper", "the comm of the idle task is swapper");
	look(7, 0x401100, PM_USER, "main", "/bin/prog", 0);
	check_u64(told, 209,
	          "symbols_found() reports the contents of /proc: two comms and nine maps");
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

/* Only a process whose addresses are as wide as this process's has the same vDSO. */
static void t_vdso(void)
{
	static char image[ELF_CAP];
	const u64 low = 0x7000, high = 1ull << 40;
	struct map near = { .start = sizeof(long) == 8 ? high : low, .end = UINT64_MAX };
	struct file f = { .path = STR("[vdso]"), .fd = -1 };
	struct cached c = { .offset = TEXT_AT + 0x125 };
	size_t wrong = 0;

	elf_make(true, false, 11);
	memcpy(image, elf.b, elf.n);
	symtab.vdso = str_of(image, elf.n);
	find_file(&c, &f, 7, &near);
	check(str_eq(c.symbol, S("inner")) && c.offset == 5 && str_eq(c.module, S("[vdso]")),
	      "vDSO: the symbol of an address");
	near.start = near.start == high ? low : high;
	c = (struct cached){ .offset = TEXT_AT + 0x125 };
	if (sizeof(long) == 8)
		find_file(&c, &f, 7, &near);
	check(c.symbol.p == c.symbol.e,
	      "vDSO: no symbol in a process with addresses of another width");
	for (size_t n = 0; n < elf.n; n++) {
		symtab.vdso = edge_str(image, n);
		f = (struct file){ .fd = VDSO_FD };
		elf_load(&f);
		wrong += f.count > 6;
	}
	check_u64(wrong, 0, "vDSO: truncated at every byte");
	symtab.vdso = (struct str){ 0 };
	check(!getauxval(AT_SYSINFO_EHDR) || (vdso_find() && str_len(symtab.vdso) >= 4096),
	      "vDSO: the one of this machine is found");
	f = (struct file){ .fd = VDSO_FD };
	if (symtab.vdso.p)
		elf_load(&f);
	check(!symtab.vdso.p || (f.count > 0 && f.nloads > 0),
	      "vDSO: the one of this machine has functions");
	symtab.vdso = (struct str){ 0 };
}

/* --- perf-PID.map ------------------------------------------------------------------------------ */

static u64 jit_seconds = 1000;

static void look_jit(u32 pid, u64 ip, const char *symbol, const char *module)
{
	struct str s, m;
	u64 o;

	symtab.record_time = ++jit_seconds * 1000000000;
	symbol_find(pid, ip, PM_USER, &s, &m, &o);
	check(str_eq(s, str_z(symbol)) && str_eq(m, str_z(module)), "%u: %" PRIx64 " is '%s' of %s, got '%s'", pid, ip, symbol, module,
	      show(s));
}

static void jit_task(u32 pid, const char *status)
{
	char path[64];

	snprintf(path, sizeof(path), "%u/status", pid);
	put_text_file(path, status);
	snprintf(path, sizeof(path), "%u/maps", pid);
	put_text_file(path, "10000-90000 rwxp 00000000 00:00 0 \n");
	snprintf(path, sizeof(path), "%u/comm", pid);
	put_text_file(path, "java\n");
}

static void t_jit(void)
{
	char status[128];
	struct prec exec = { .type = PR_COMM, .misc = PM_EXEC, .who = 60, .who_tid = 60, .name = STR("x") };
	u32 n, first;

	snprintf(status, sizeof(status), "Name:\tjava\nUid:\t99\t%u\t99\t99\nNSpid:\t60\t5\n", geteuid());
	jit_task(60, status);
	look_jit(60, 0x10010, "", "//anon");
	put_text_file("60/root/tmp/perf-60.map", "10000 20 wrong\n");
	look_jit(60, 0x10010, "", "//anon");
	put_text_file("60/root/tmp/perf-5.map", "10000 20 first one\n0x10040 0x10 second\n10080 0 none\nx\n10 10\n\n10090 8 last");
	look_jit(60, 0x10010, "first one", "/tmp/perf-5.map");
	look_jit(60, 0x1004f, "second", "/tmp/perf-5.map");
	look_jit(60, 0x10050, "", "//anon");
	look_jit(60, 0x10090, "", "//anon");
	n = symtab.nsyms;
	elf_make(true, false, 2);
	put_file("7/root/bin/more", elf.b, elf.n);
	symbols_feed(&(struct prec){ .type = PR_MMAP2, .mode = PM_USER, .prot = 5, .who = 7, .at = 0xe01000, .len = 0x1000,
				     .pgoff = 0x1000, .name = STR("/bin/more") });
	look(7, 0xe01100, PM_USER, "main", "/bin/more", 0);
	check(symtab.nsyms > n,
	      "map of JIT code: symbols of another file are loaded after those of the map");
	put_text_file("60/root/tmp/perf-5.map", "10000 20 first one\n0x10040 0x10 second\n10080 0 none\nx\n10 10\n\n10090 8 last\n"
		      "10000 20 third\n10020 8 more\n");
	look_jit(60, 0x10090, "last", "/tmp/perf-5.map");
	look_jit(60, 0x10024, "more", "/tmp/perf-5.map");
	look_jit(60, 0x10010, "third", "/tmp/perf-5.map");
	look_jit(60, 0x10041, "second", "/tmp/perf-5.map");
	look(7, 0xe01120, PM_USER, "inner", "/bin/more", 0);
	symbols_feed(&exec);
	symbols_feed(&(struct prec){ .type = PR_MMAP2, .mode = PM_USER, .prot = 5, .who = 60, .at = 0x10000, .len = 0x80000,
				     .name = STR("//anon") });
	put_text_file("60/root/tmp/perf-5.map", "20000 10 next\n");
	look_jit(60, 0x20008, "next", "/tmp/perf-5.map");
	look_jit(60, 0x10010, "", "//anon");
	snprintf(status, sizeof(status), "Uid:\t99\t%u\t99\t99\nNSpid:\t61\n", geteuid() + 1);
	jit_task(61, status);
	put_text_file("61/root/tmp/perf-61.map", "10000 20 forged\n");
	look_jit(61, 0x10010, "", "//anon");
	jit_task(62, "");
	put_text_file("self/root/tmp/perf-62.map", "10000 20 ended\n");
	look_jit(62, 0x10010, "ended", "/tmp/perf-62.map");
	jit_task(63, "");
	if (symlinkat("perf-62.map", roots.proc, "self/root/tmp/perf-63.map"))
		note("no link");
	look_jit(63, 0x10010, "", "//anon");
	first = symtab.record_time / 1000000000 & UINT32_MAX;
	check(first == jit_seconds && !jit_refresh(proc_find(62)),
	      "map of JIT code: the file is read once a second");
}

/* Each truncation of a map, and lines of any bytes. */
static void t_jit_cut(void)
{
	static const char text[] = "10000 20 first\n0x10040 0x10 second\nffffffffffffffff ffffffffffffffff end\n";
	struct file f = { .fd = memfd };
	size_t wrong = 0;

	for (size_t n = 0; n < sizeof(text); n++) {
		if (ftruncate(memfd, 0) || pwrite(memfd, text, n, 0) != (ssize_t)n)
			abort();
		f.names = f.count = 0;
		jit_read(&f);
		wrong += f.count != 0u + (n >= 15) + (n >= 35) + (n >= sizeof(text) - 1);
	}
	check_u64(wrong, 0,
	          "map of JIT code: a file that is truncated at every byte has the symbols of its "
	          "complete lines");
	for (int i = 0; i < 256; i++) {
		char line[] = "10000 20 name\n10 10 b\n";

		line[i % 13] = (char)i;
		if (ftruncate(memfd, 0) || pwrite(memfd, line, sizeof(line) - 1, 0) != sizeof(line) - 1)
			abort();
		f.names = f.count = 0;
		jit_read(&f);
		wrong += f.count < 1 || f.count > 2;
	}
	check_u64(wrong, 0,
	          "map of JIT code: a wrong byte in one line does not affect the other line");
	f.count = 0;
}

/* A process writes an endless file: its map is read up to 4 MiB. */
static void t_jit_large(void)
{
	static char many[1 << 16];
	struct file f = { .fd = memfd };
	u32 was = symbols.dropped;
	u64 most = 0;

	memset(many, 'x', sizeof(many));
	if (ftruncate(memfd, 0))
		abort();
	for (size_t i = 0; i + 4096 <= sizeof(many); i += 4096) {
		memcpy(many + i, "10000 20 ", 9);
		many[i + 4095] = '\n';
	}
	for (u64 at = 0; at < 5 << 20; at += sizeof(many))
		if (pwrite(memfd, many, sizeof(many), (off_t)at) != sizeof(many))
			abort();
	jit_read(&f);
	most = f.names;
	check(f.full && symbols.dropped == was + 1 && most >= 4 << 20 && most < 5 << 20,
	      "map of JIT code: a file of 5 MiB is read up to 4 MiB");
	check(!jit_read(&f) && f.names == most,
	      "map of JIT code: a file that exceeds 4 MiB is not read again");
	check(f.count == 1, "map of JIT code: code that was generated again has its last name");
	if (ftruncate(memfd, 0) || pwrite(memfd, many + 9, sizeof(many) - 9, 0) < 0)
		abort();
	symbols.dropped = was;
}

/* --- files with debug information ------------------------------------------------------------- */

/* An ELF file without symbols, with a build ID if id is set, and a .gnu_debuglink. */
static void stripped_make(const char *id, const char *link, u32 crc)
{
	static const char sections[] = "\0.gnu_debuglink";
	size_t sh = 512, n = strlen(link) + 1, at = 1536;

	elf_make(true, false, 0);
	e_field(0, E_SHOFF, sh);
	e_field(0, E_SHNUM, 4);
	e_field(0, E_SHSTRNDX, 2);
	memset(elf.b + sh, 0, 4 * (size_t)esizes[SHDR][1]);
	section_make(sh, 1, 1, 1, 0, at, ((n + 3) & ~3u) + 4, 0);
	section_make(sh, 2, 0, 3, 0, 1408, sizeof(sections), 0);
	memcpy(elf.b + 1408, sections, sizeof(sections));
	memset(elf.b + at, 0, 64);
	memcpy(elf.b + at, link, n);
	e_put(at + ((n + 3) & ~3u), crc, 4);
	if (id)
		section_make(sh, 3, 0, 7, 0, 1600, 36, 0);
	e_put(1600, 4, 4), e_put(1604, 20, 4), e_put(1608, 3, 4);
	memcpy(elf.b + 1612, "GNU", 4);
	if (id)
		memcpy(elf.b + 1616, id, 20);
	elf.n = 1640;
}

/* The file with the debug information: symbols and a build ID. Returns its CRC. */
static u32 debug_make(const char *path, const char *id)
{
	u32 crc = 0;

	elf_make(true, false, 2);
	if (id) {
		e_field(esizes[EHDR][1] + esizes[PHDR][1], SH_TYPE, 7);
		e_field(esizes[EHDR][1] + esizes[PHDR][1], SH_OFFSET, 3000);
		e_field(esizes[EHDR][1] + esizes[PHDR][1], SH_SIZE, 36);
		e_put(3000, 4, 4), e_put(3004, 20, 4), e_put(3008, 3, 4);
		memcpy(elf.b + 3012, "GNU", 4);
		memcpy(elf.b + 3016, id, 20);
		elf.n = 3036;
	}
	put_file(path, elf.b, elf.n);
	elf_read(elf.n);
	check(file_crc(memfd, &crc), "the CRC of a file is calculated");
	return crc;
}

static void look_debug(const char *name, const char *symbol, const char *what)
{
	struct file f = { .path = str_z(name), .fd = -1 };
	struct cached c = { .offset = TEXT_AT + 0x100 };

	if (ftruncate(memfd, 0) || pwrite(memfd, elf.b, elf.n, 0) != (ssize_t)elf.n)
		abort();
	symtab.window_fd = -1;
	f.fd = memfd;
	f.tried_pid = UINT32_MAX;
	elf_load(&f);
	find_file(&c, &f, 7, &(struct map){ 0 });
	check_str(c.symbol, symbol, "%s", what);
	f.fd = -1;
	if (f.names_fd >= 0 && f.names_fd != memfd)
		close(f.names_fd);
}

static void t_debug(void)
{
	static const char id[] = "0123456789abcdefghij", other[] = "0123456789abcdefghik";
	u32 crc;

	put_text_file("crc", "123456789");
	if (ftruncate(memfd, 0) || pwrite(memfd, "123456789", 9, 0) != 9)
		abort();
	symtab.window_fd = -1;
	check(file_crc(memfd, &crc) && crc == 0xcbf43926, "CRC-32 of 123456789");
	debug_make("self/root/usr/lib/debug/.build-id/30/313233343536373839616263646566676869" "6a.debug", id);
	stripped_make(id, "", 0);
	look_debug("/bin/a", "main", "debug file: found by the build ID");
	stripped_make(other, "", 0);
	look_debug("/bin/a", "", "debug file: none with another build ID");
	debug_make("self/root/usr/lib/debug/.build-id/30/313233343536373839616263646566676869" "6b.debug", id);
	stripped_make(other, "", 0);
	look_debug("/bin/a", "", "debug file: refused if its build ID differs from its name");
	debug_make("self/root/usr/lib/debug/opt/x/b.debug", other);
	stripped_make(other, "b.debug", 0);
	look_debug("/opt/x/b", "main", "debug file: found by a link with the same build ID");
	look_debug("/opt/y/b", "", "debug file: a link from another folder is not followed");
	crc = debug_make("self/root/opt/x/.debug/c.debug", NULL);
	stripped_make(NULL, "c.debug", crc);
	look_debug("/opt/x/c", "main", "debug file: found by a link with the same CRC");
	stripped_make(NULL, "c.debug", crc + 1);
	look_debug("/opt/x/c", "", "debug file: refused if its CRC differs from that of the link");
	stripped_make(id + 1 - 1, "c.debug", crc);
	e_put(1616, 0x55, 1);
	look_debug("/opt/x/c", "",
	           "debug file: refused if the stripped file has a build ID and the debug file has "
	           "none");
	crc = debug_make("self/root/opt/x/d.debug", NULL);
	stripped_make(NULL, "d.debug", crc);
	look_debug("/opt/x/d", "main", "debug file: found beside the stripped file");
	stripped_make(NULL, "../x/d.debug", crc);
	look_debug("/opt/x/d", "", "debug file: a link with a path is not followed");
	stripped_make(NULL, "d.debug", crc);
	for (u64 n = 0; n < 12; n++) {
		e_field(512 + esizes[SHDR][1], SH_SIZE, n);
		look_debug("/opt/x/d", "", "debug file: a link that is cut is not followed");
	}
	debug_make("self/root/usr/lib/debug/opt/x/e", other);
	stripped_make(other, "e", 0);
	put_file("self/root/opt/x/e", elf.b, elf.n);
	look_debug("/opt/x/e", "main",
	           "debug file: a link with the name of the stripped file, which has the build ID "
	           "itself");
	mkfifoat(roots.proc, "self/root/opt/x/fifo", 0644);
	stripped_make(NULL, "fifo", crc);
	look_debug("/opt/x/d", "", "debug file: a FIFO is not opened");
}

/* Files that no longer have a name are read through the process's map of them, or its program. */
static void t_deleted(void)
{
	char maps[256], target[160];
	struct stat st;

	elf_make(true, false, 2);
	put_file("hidden-1", elf.b, elf.n);
	put_file("hidden-2", elf.b, elf.n);
	if (fstatat(roots.proc, "hidden-2", &st, 0))
		abort();
	snprintf(maps, sizeof(maps), "401000-402000 r-xp 00001000 00:00 0      /bin/removed (deleted)\n"
		 "501000-502000 r-xp 00001000 00:00 %llu      /bin/self (deleted)\n"
		 "601000-602000 r-xp 00001000 00:00 %llu      /bin/else (deleted)\n",
		 (unsigned long long)st.st_ino, (unsigned long long)st.st_ino + 1);
	put_text_file("65/maps", maps);
	put_text_file("65/comm", "x\n");
	mkdirat(roots.proc, "65/map_files", 0755);
	snprintf(target, sizeof(target), "%s/hidden-1", root);
	if (symlinkat(target, roots.proc, "65/map_files/401000-402000") ||
	    symlinkat(target, roots.proc, "65/map_files/601000-602000"))
		abort();
	snprintf(target, sizeof(target), "%s/hidden-2", root);
	if (symlinkat(target, roots.proc, "65/exe"))
		abort();
	look(65, 0x401100, PM_USER, "main", "/bin/removed (deleted)", 0);
	look(65, 0x501100, PM_USER, "main", "/bin/self (deleted)", 0);
	look(65, 0x601100, PM_USER, "", "/bin/else (deleted)", 0x1100);
}

/* PID 0 in a PID namespace is any task of other ones. */
static void t_nested(void)
{
	static const char *const links[] = { "pid:[4026531836]", "pid:[4026532000]" };
	struct str s, m;
	u64 o;

	for (int nested = 0; nested < 2; nested++) {
		symtab.pid_namespace = 0;
		unlinkat(roots.proc, "self/ns/pid", 0);
		mkdirat(roots.proc, "self/ns", 0755);
		if (symlinkat(links[nested], roots.proc, "self/ns/pid"))
			abort();
		check(symbols_in_pid_namespace() == nested, "%s", links[nested]);
		check_str(symbols_comm(0, 0), nested ? "" : "swapper",
		          "comm of PID 0, inside and outside of a PID namespace");
	}
	symtab.pid_namespace = 0;
	symbols_feed(&(struct prec){ .type = PR_MMAP2, .mode = PM_USER, .prot = 5, .who = 0, .at = 0x401000, .len = 0x1000,
				     .pgoff = 0x1000, .name = STR("/bin/prog") });
	check(!symbol_find(0, 0x401100, PM_USER, &s, &m, &o) && m.p == m.e,
	      "maps of PID 0 in a PID namespace are those of many processes, and not used");
	unlinkat(roots.proc, "self/ns/pid", 0);
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
	check_str(symbols_comm(8, 8), "a ;b", "a child process has the comm of its parent");
	look(8, 0x401900, PM_USER, "", "/bin/prog", 0x1900);
	look(8, 0x401880, PM_USER, "last", "/bin/prog", 0x80);
	symbols_feed(&thread);
	check_str(symbols_comm(8, 80), "a ;b", "a thread has the comm of its process");
	symbols_feed(&exec);
	check_str(symbols_comm(8, 8), "sixteen letters ", "execve changes the comm, of at most 16 bytes");
	look(8, 0x401880, PM_USER, "", "", 0x401880);
	symbols_feed(&map);
	symbols_feed(&data);
	look(8, 0x7f0000001120, PM_USER, "inner", "/bin/prog", 0);
	symbols_feed(&gone);
	look(8, 0x7f0000001130, PM_USER, "main", "/bin/prog", 0x30);
	symbols_feed(&fork);
	check_str(symbols_comm(8, 8), "a ;b",
	          "a PID that is used again has the comm of the new process");
}

/* --- what the user may not see ---------------------------------------------------------------- */

enum { USER_MODES = 1 << PM_USER | 1 << PM_GUEST_USER };
#define LATER (UINT64_MAX - 1)

static void restrict_to(const char *level, u32 ntasks, i32 child)
{
	static const struct member members[] = { { 40, 40 }, { 42, 41 } };
	struct target t = { .tasks = members, .ntasks = ntasks };

	if (level)
		put_text_file("sys/kernel/perf_event_paranoid", level);
	for (u32 i = 1; i <= symtab.nprocs; i++)
		symtab.procs[i].own_since = 0;
	symtab.kernel_hidden = symtab.tasks_hidden = symtab.by_task = false;
	symtab.losses_time = 0;
	symbols_restrict(&t, child);
}

static u32 feed_sample(u32 pid, u64 time)
{
	return symbols_feed(&(struct prec){ .type = PR_SAMPLE, .pid = pid, .time = time, .have = PS_TIME });
}

static u32 feed_ksymbol(void)
{
	return symbols_feed(&(struct prec){ .type = PR_KSYMBOL, .pid = 7, .flags = 1 });
}

/* perf_event_paranoid decides as for the same user without the program's capabilities. */
static void t_levels(void)
{
	static const struct {
		const char *level;
		u32 own, other, ksymbol;
	} levels[] = {
		{ "-1\n", 0, 0, 0 }, { "0\n", 0, 0, 0 }, { "1\n", 0, ALL_MODES, 0 },
		{ "2\n", ALL_MODES & ~USER_MODES, ALL_MODES, ALL_MODES },
		{ "4\n", ALL_MODES & ~USER_MODES, ALL_MODES, ALL_MODES },
		{ "x\n", ALL_MODES & ~USER_MODES, ALL_MODES, ALL_MODES },
	};

	gave_capabilities = false;
	restrict_to("2\n", 0, 0);
	check(!feed_sample(40, 0) && !feed_sample(41, 0) && !feed_ksymbol(),
	      "hidden addresses: none with the user's capabilities");
	gave_capabilities = true;
	for (size_t i = 0; i < LEN(levels); i++) {
		restrict_to(levels[i].level, 0, 0);
		check(feed_sample(40, LATER) == levels[i].own && feed_sample(41, LATER) == levels[i].other &&
		      feed_sample(0, LATER) == levels[i].other && feed_ksymbol() == levels[i].ksymbol,
		      "hidden addresses: perf_event_paranoid %.*s: of a process of the user, of "
		      "others, of an idle CPU",
		      (int)strcspn(levels[i].level, "\n"), levels[i].level);
	}
	check(!symbols_feed(&(struct prec){ .type = PR_EXIT, .who = 41 }),
	      "hidden addresses: none in the record of the end of a process");
}

/* With events of CPUs, the user of a process is known only from the time at which it was read. */
static void t_when(void)
{
	struct prec exec = { .type = PR_COMM, .misc = PM_EXEC, .who = 40, .who_tid = 40, .name = STR("x") };
	struct prec fork = { .type = PR_FORK, .who = 43, .who_tid = 43, .parent = 40, .parent_tid = 40 };
	u64 before = (u64)sys_now(CLOCK_MONOTONIC);

	restrict_to("2\n", 0, 0);
	check(feed_sample(40, before) == ALL_MODES && feed_sample(40, LATER) == (ALL_MODES & ~USER_MODES),
	      "hidden addresses: a sample from before the user was known is hidden, later ones are "
	      "not");
	check(symbols_feed(&(struct prec){ .type = PR_SAMPLE, .pid = 40, .time = LATER }) == ALL_MODES,
	      "hidden addresses: a sample without a time is hidden");
	symbols_feed(&exec);
	before = (u64)sys_now(CLOCK_MONOTONIC);
	check(feed_sample(40, before) == ALL_MODES,
	      "hidden addresses: after an execve the user is read again");
	symbols_feed(&(struct prec){ .type = PR_LOST, .lost = 1 });
	check(feed_sample(40, before) == ALL_MODES,
	      "hidden addresses: after lost records the user is read again");
	symbols_feed(&fork);
	check(feed_sample(43, LATER) == ALL_MODES,
	      "hidden addresses: the user of a child process is read for the child");
}

/* With events of tasks, all programs that a task starts or executes are treated like the task. */
static void t_tasks(void)
{
	struct prec exec = { .type = PR_COMM, .misc = PM_EXEC, .who = 43, .who_tid = 43, .name = STR("x") };
	struct prec fork = { .type = PR_FORK, .who = 43, .who_tid = 43, .parent = 44, .parent_tid = 44 };

	restrict_to("2\n", 0, 44);
	exec.who = exec.who_tid = 44;
	symbols_feed(&exec);
	exec.who = exec.who_tid = 43;
	check(feed_sample(44, 1) == (ALL_MODES & ~USER_MODES),
	      "hidden addresses: the command of the target shows its user addresses");
	symbols_feed(&fork);
	symbols_feed(&exec);
	check(feed_sample(43, 1) == (ALL_MODES & ~USER_MODES),
	      "hidden addresses: a program started by the command shows its user addresses");
	restrict_to("2\n", 2, 0);
	check(feed_sample(40, LATER) == (ALL_MODES & ~USER_MODES) && feed_sample(41, LATER) == ALL_MODES,
	      "hidden addresses: the target's tasks show their user addresses, other tasks do not");
	fork.parent = fork.parent_tid = 41;
	symbols_feed(&fork);
	check(feed_sample(43, LATER) == ALL_MODES,
	      "hidden addresses: a child of another user's task is hidden");
}

/* Maps that were hidden are read when the process is no longer hidden. */
static void t_hidden_maps(void)
{
	struct prec map = { .type = PR_MMAP2, .mode = PM_USER, .prot = 5, .who = 40, .at = 0x401000, .len = 0x1000,
			    .pgoff = 0x1000, .name = STR("/bin/inside"), .have = PS_TIME, .time = 1 };
	struct prec exec = { .type = PR_COMM, .misc = PM_EXEC, .who = 40, .who_tid = 40, .name = STR("x") };

	restrict_to("1\n", 0, 0);
	symbols_feed(&exec);
	check(symbols_feed(&map) == ALL_MODES,
	      "hidden addresses: a map of code of a process whose user is not known yet is hidden");
	check(feed_sample(40, LATER) == 0, "hidden addresses: none of a process of the user");
	look(40, 0x401900, PM_USER, "", "/bin/prog", 0x1900);
	map.who = 41;
	check(symbols_feed(&map) == ALL_MODES,
	      "hidden addresses: a map of another user's process is hidden");
	gave_capabilities = false;
	restrict_to(NULL, 0, 0);
}

/* The first process with a file has exited, and its root is gone: the next process with the same
 * file may still have it. */
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
	check(!symbols.hidden && symbols_kernel(&r) && r.at == 0xffffffff81000000 && r.len == 0x1000 && r.who == UINT32_MAX,
	      "the range of the kernel's text");
	for (u64 i = 0; i < 4 * CACHE; i++) /* more addresses than the cache holds at first */
		wrong += symbol_find(7, 0xffffffff90000000 + i, PM_KERNEL, &s, &m, &offset) || offset != 0xffffffff90000000 + i;
	check(!wrong && symbol_tables.cache.ready == CACHE && !symbol_tables.cache.dropped,
	      "the cache grows, and each address keeps its own symbol");
	look(7, 0xffffffff81000041, PM_KERNEL, "second", "[kernel.kallsyms]", 1);
	symtab.kernel_read = false;
	symtab.nksyms = 0;
	put_text_file("kallsyms", "0000000000000000 T _text\n0000000000000000 t first\n");
	memset(symtab.cache, 0, symbol_tables.cache.ready * sizeof(*symtab.cache));
	look(7, 0xffffffff81000000, PM_KERNEL, "", "[kernel.kallsyms]", 0xffffffff81000000);
	check(symbols.hidden && !symbols_kernel(&r), "kptr_restrict is detected");
}

/* --- from symbols to addresses ---------------------------------------------------------------- */

/* Makes a file of the first n bytes of the ELF file, and finds a symbol in it. */
static long place_in(size_t n, const char *name, struct elf_place *to)
{
	char path[64];

	if (memfd < 0)
		memfd = memfd_create("elf", 0);
	if (ftruncate(memfd, 0) || pwrite(memfd, elf.b, n, 0) != (ssize_t)n)
		return -EIO;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", memfd);
	return symbol_place(0, path, str_z(name), to);
}

static void t_places(bool wide, bool big)
{
	static const struct {
		const char *name;
		long result;
		u64 offset;
	} rows[] = {
		{ "main", 0, TEXT_AT + 0x100 }, { "inner", 0, TEXT_AT + 0x120 }, { "unsized", 0, TEXT_AT + 0x200 },
		{ "object", 0, TEXT_AT + 0x400 }, { "ast", -ENXIO, 0 }, { "mai", -ENXIO, 0 }, { "", -ENXIO, 0 },
		{ "undefined", -ENXIO, 0 }, { "absolute", -ENXIO, 0 }, { "last", 0, TEXT_AT + 0x800 },
	};
	struct elf_place at;
	size_t wrong = 0;
	u64 type;

	elf_make(wide, big, SHT_SYMTAB);
	for (size_t i = 0; i < LEN(rows); i++) {
		at = (struct elf_place){ 0 };
		check(place_in(elf.n, rows[i].name, &at) == rows[i].result && at.offset == rows[i].offset &&
		      at.code == (rows[i].result == 0), "%d bits: the place of '%s'", wide ? 64 : 32, rows[i].name);
	}
	check(place_in(elf.n, "elsewhere", &at) == 0 && at.address == 0x700000 && !at.code,
	      "a symbol outside of the code has an address, and no place in the code");
	for (type = 2; type < 4; type++) {
		e_field(0, E_TYPE, type);
		check(place_in(elf.n, "main", &at) == 0 && at.fixed == (type == 2) && at.address == TEXT_VADDR + 0x100,
		      "place of a symbol: its address is fixed in ET_EXEC, and not in ET_DYN");
	}
	for (size_t n = 0; n < elf.n; n++)
		wrong += place_in(n, "last", &at) == 0 && (at.address != TEXT_VADDR + 0x800 || n < elf.n - 1);
	check_u64(wrong, 0, "place of a symbol: truncated at every byte");
	elf_make(wide, big, SHT_DYNSYM);
	check(place_in(elf.n, "main", &at) == 0 && place_in(elf.n, "mai", &at) == -ENODATA,
	      "place of a symbol: a stripped file has those of its debug file");
}

static void t_same_names(void)
{
	size_t at;
	struct elf_place to;

	elf_make(true, false, SHT_SYMTAB);
	/* "__alias" and "ifunc" get the name of "inner", a local one */
	at = (size_t)esizes[EHDR][1] + esizes[PHDR][1] + 3 * (size_t)esizes[SHDR][1];
	e_field(at + 2 * (size_t)esizes[SYM][1], ST_NAME, 14);
	check(place_in(elf.n, "inner", &to) == 0 && to.offset == TEXT_AT + 0x100,
	      "place of a symbol: a global symbol has priority over a local one");
	e_field(at + 6 * (size_t)esizes[SYM][1], ST_NAME, 14);
	check(place_in(elf.n, "inner", &to) == -ENOTUNIQ,
	      "place of a symbol: two global symbols are ambiguous");
	e_field(at + 6 * (size_t)esizes[SYM][1], ST_VALUE, TEXT_VADDR + 0x100);
	check(place_in(elf.n, "inner", &to) == 0,
	      "place of a symbol: two global symbols at the same address are not ambiguous");
	check(symbol_place(0, "/nosuch/file", LIT("x"), &to) == -ENOENT && symbol_place(0, "/dev/null", LIT("x"), &to) == -ENOEXEC &&
	      symbol_place(0, "/proc/self/cmdline", LIT("x"), &to) == -ENOEXEC,
	      "place of a symbol: files that are missing or not ELF files");
}

static void t_process_places(void)
{
	char maps[100], b[256];
	struct elf_place to;
	struct stat st;

	snprintf(b, sizeof(b), "%s/7/exe", root);
	check(symlink("root/bin/prog", b) == 0 && stat(b, &st) == 0,
	      "setup: a link to an executable");
	snprintf(maps, sizeof(maps), "555500001000-555500002000 r-xp 00001000 00:00 %llu /bin/prog\n", (unsigned long long)st.st_ino);
	put_text_file("7/maps", maps);
	check(symbol_place(7, NULL, LIT("main"), &to) == 0 && to.fixed && to.address == 0x555500001100,
	      "place of a symbol in a process: the address at which its executable is loaded");
	put_text_file("7/maps", "");
	check(symbol_place(7, NULL, LIT("main"), &to) == 0 && !to.fixed,
	      "place of a symbol in a process: not fixed after the process has ended");
	check(symbol_place(99, NULL, LIT("main"), &to) == -ENOENT,
	      "place of a symbol in a process: no process");
}

static void t_kernel_places(void)
{
	u64 at;

	put_text_file("kallsyms", "ffffffff81000040 T second\nffffffff81000060 D data\nffffffff81000070 t twice\n"
				  "ffffffff81000080 t twice\nffffffffa0000000 t mod_f\t[mod]\n0000000000000000 T hidden\nT x\n");
	check(symbol_kernel(LIT("second"), &at) == 0 && at == 0xffffffff81000040,
	      "address of a function of the kernel");
	check(symbol_kernel(LIT("data"), &at) == 0 && at == 0xffffffff81000060,
	      "address of data of the kernel");
	check(symbol_kernel(LIT("twice"), &at) == -ENOTUNIQ && symbol_kernel(LIT("hidden"), &at) == -EACCES &&
	      symbol_kernel(LIT("x"), &at) == -ENXIO && symbol_kernel(LIT("secon"), &at) == -ENXIO,
	      "address in the kernel: ambiguous, hidden and missing symbols");
}

static struct prec seen[8];
static char seen_text[8][64];
static size_t nseen;

static void see(const struct prec *r)
{
	if (nseen == LEN(seen))
		return;
	seen[nseen] = *r;
	snprintf(seen_text[nseen], sizeof(seen_text[0]), "%.*s %.*s", (int)str_len(r->name), r->name.p,
		 (int)str_len(r->build_id), r->build_id.p ? r->build_id.p : "");
	nseen++;
}

static void see_id(struct str id, struct str path)
{
	see(&(struct prec){ .name = path, .build_id = id });
}

/* The kernel's modules, with the build IDs of their notes. */
static void t_modules(void)
{
	static const char note[] = "\4\0\0\0\4\0\0\0\3\0\0\0GNU\0" "idid";
	struct prec r;

	if (__BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__)
		return;
	put_text_file("modules", "odd 16384 0 - Live 0xffffffffa0000000 (OE)\nplain 4096 1 odd, Live 0xffffffffa0010000\n"
		      "hidden 4096 0 - Live 0x0000000000000000\n../up 1 0 - Live 0xffffffffa0020000\nshort 4096\n"
		      "bad x 0 - Live 0xffffffffa0020000\nworse 1 0 - Live ffffffffa0020000\n\n");
	put_file("sys/module/odd/notes/.note.gnu.build-id", note, sizeof(note) - 1);
	put_file("sys/kernel/notes", note, sizeof(note) - 1);
	roots.sys = (int)sys_openat(roots.proc, "sys", O_RDONLY | O_DIRECTORY);
	nseen = 0;
	symbols_modules(see);
	check(nseen == 2,
	      "records of modules: only those with an address and a valid name (%zu)", nseen);
	check_str(str_z(seen_text[0]), "[odd] idid", "records of modules: name and build ID");
	check(seen[0].type == PR_MMAP2 && seen[0].misc == (PM_KERNEL | PM_BUILD_ID) && seen[0].at == 0xffffffffa0000000 &&
	      seen[0].len == 16384 && seen[0].who == UINT32_MAX,
	      "records of modules: MMAP2 with a build ID");
	check_str(str_z(seen_text[1]), "[plain] ", "records of modules: a name without a build ID");
	check(seen[1].type == PR_MMAP && seen[1].misc == PM_KERNEL && seen[1].len == 4096,
	      "records of modules: MMAP without a build ID");
	check(symbols_kernel(&r) && r.type == PR_MMAP2 && r.misc == (PM_KERNEL | PM_BUILD_ID) && str_eq(r.build_id, S("idid")),
	      "record of the kernel: its build ID");
	close(roots.sys);
	roots.sys = -1;
}

/* Maps of a task that is found are reported, each file with its build ID. */
static void t_found(void)
{
	struct prec file = { .type = PR_MMAP2, .who = 21, .ino = 0, .name = STR("/bin/noted") };

	elf_make(true, false, 2);
	e_put(3072, 4, 4), e_put(3076, 4, 4), e_put(3080, 3, 4);
	memcpy(elf.b + 3084, "GNU\0idid", 8);
	e_field(esizes[EHDR][1], P_TYPE, 4);
	e_field(esizes[EHDR][1], P_OFFSET, 3072);
	e_field(esizes[EHDR][1], P_FILESZ, 20);
	elf.n = 3092;
	put_file("22/root/bin/noted", elf.b, elf.n);
	put_text_file("22/comm", "found\n");
	put_text_file("22/maps", "401000-402000 r-xp 00001000 08:11 0      /bin/noted\n"
				 "501000-502000 r-xp 00000000 00:00 0 \n");
	nseen = 0;
	symbols.found = see;
	symbols.build_ids = true;
	symbols_task(22, 22);
	symbols.found = NULL;
	symbols.build_ids = false;
	check(nseen == 3 && seen[0].type == PR_COMM,
	      "records of a task that is found: a comm and two maps (%zu)", nseen);
	check_str(str_z(seen_text[1]), "//anon ",
	          "records of a task that is found: memory without a file");
	check_str(str_z(seen_text[2]), "/bin/noted idid",
	          "records of a task that is found: a file with its build ID");
	check(seen[2].type == PR_MMAP2 && seen[2].misc == (PM_USER | PM_BUILD_ID) && seen[2].at == 0x401000 &&
	      seen[2].len == 0x1000 && seen[2].pgoff == 0x1000 && seen[2].major == 8 && seen[2].minor == 0x11 &&
	      seen[2].prot == 5 && seen[2].flags == 2 && seen[2].pid == 22 && seen[1].misc == PM_USER, "records of a task that is found: all members of the record of a map");
	put_file("21/root/bin/late", elf.b, elf.n);
	file.name = S("/bin/late");
	symbols_file(&file);
	nseen = 0;
	symbols_ids(see_id);
	check(nseen == 2, "records of files whose build IDs were read (%zu)", nseen);
	check_str(str_z(seen_text[1]), "/bin/late idid", "record of a file whose map came later");
}

/* Full tables: tasks and files that do not fit are counted, and tasks that end make room. */
static void t_full(void)
{
	struct prec r = { .type = PR_COMM, .name = STR("x") };
	struct str s;

	for (u32 i = 1000; i < 1000 + MAX_PROCS; i++) {
		r.who = r.who_tid = i;
		symbols_feed(&r);
	}
	check(symbols.dropped > 0 && symtab.nprocs < MAX_PROCS, "tasks that do not fit are counted");
	check(!str_len(symbols_comm(5, 5)), "a task that does not fit has no comm");
	symbols.dropped = 0;
	r = (struct prec){ .type = PR_EXIT, .who = 2000, .who_tid = 2000 };
	symbols_feed(&r);
	r = (struct prec){ .type = PR_COMM, .who = 99999999, .who_tid = 99999999, .name = STR("late") };
	symbols_feed(&r);
	s = symbols_comm(99999999, 99999999);
	check(str_eq(s, S("late")) && !symbols.dropped, "a task that ends makes room");
	for (u32 i = 0; i < 2 * MAX_MAPS; i++) {
		r = (struct prec){ .type = PR_MMAP2, .mode = PM_USER, .prot = 5, .who = 1001, .at = i % 3 * 8192ull, .len = 4096 + i % 2,
				   .name = STR("/bin/prog") };
		symbols_feed(&r);
	}
	check_u64(symbols.dropped, 0, "maps that replace maps use no more room");
	for (u32 i = 0; i < MAX_FILES; i++) {
		char name[32];
		int n = snprintf(name, sizeof(name), "/bin/%u", i);

		r.name = (struct str){ name, name + n };
		symbols_feed(&r);
	}
	check(symbols.dropped > 0, "files that do not fit are counted");
}

/* Returns how many rows of the table with this name were left out since the last call. */
static u32 left_out(const char *name)
{
	const struct table *t;
	u32 n, sum = 0;

	while ((t = table_full(&n)))
		sum += strcmp(t->name, name) == 0 ? n : 0;
	return sum;
}

/* Tables of which only the last row is still free. */
static void t_full_symbols(void)
{
	const u32 texts = symtab.text_n, maps = symtab.nmaps, free_map = symtab.free_map, syms = symtab.nsyms, ksyms = symtab.nksyms;
	u32 at;

	for (u32 i = 1; i <= symtab.nprocs; i++)
		symtab.procs[i].dead = false;
	left_out("");
	symbols.dropped = 0;
	table_all(&symbol_tables.text);
	symtab.text_n = MAX_TEXT - 4;
	at = text_add(S("abc"));
	check(at == MAX_TEXT - 4 && strcmp(symtab.text + at, "abc") == 0, "full table of names: the last one is right");
	check(!text_add(S("")) && symbols.dropped == 1 && left_out("bytes of names") == 1, "full table of names: one more is counted");
	symtab.text_n = texts;
	table_all(&symbol_tables.syms);
	symtab.nsyms = MAX_SYMS - 1;
	sym_add(7, 8, 0, 9);
	sym_add(8, 8, 0, 9);
	check(symtab.nsyms == MAX_SYMS && symtab.syms[MAX_SYMS - 1].addr == 7 && symbols.dropped == 2 && left_out("symbols") == 1,
	      "full table of symbols: one more is counted");
	symtab.nsyms = syms;
	table_all(&symbol_tables.maps);
	symtab.nmaps = MAX_MAPS - 2;
	symtab.free_map = 0;
	check(map_new() == MAX_MAPS - 1 && !map_new() && symbols.dropped == 3 && left_out("mappings") == 1,
	      "full table of mappings: one more is counted");
	symtab.nmaps = maps;
	symtab.free_map = free_map;
	table_all(&symbol_tables.ksyms);
	symtab.nksyms = MAX_KSYMS - 1;
	symtab.kernel_partial = false;
	ksym_add(UINT64_C(0xffffffff81000000), 8, 0, S("last"));
	check(symtab.nksyms == MAX_KSYMS && !symtab.kernel_partial, "full table of kernel symbols: the last one is right");
	ksym_add(UINT64_C(0xffffffff81000008), 8, 0, S("more"));
	check(symtab.nksyms == MAX_KSYMS && symtab.kernel_partial && symbols.dropped == 4 && left_out("kernel symbols") == 1,
	      "full table of kernel symbols: one more is counted, and the list is marked as partial");
	symtab.nksyms = ksyms;
	symbols.dropped = 0;
}

/* The worst order of symbols for a quicksort: a file in this order once took 20 s to sort. */
static void t_names_at_address(void)
{
	static const struct { u64 addr[2]; const char *name; } rows[] = { { { 5, 9 }, "_b" }, { { 9, 9 }, "a" } };
	const struct file f = { .count = 2 };

	table_all(&symbol_tables.syms);
	symtab.text_n = 1;
	for (size_t i = 0; i < LEN(rows); i++) {
		symtab.syms[0] = (struct sym){ .addr = rows[i].addr[0], .name = text_add(LIT("a")) | IN_TEXT };
		symtab.syms[1] = (struct sym){ .addr = rows[i].addr[1], .name = text_add(LIT("_b")) | IN_TEXT };
		check_str(file_symbol(&f, symtab.syms + 1), rows[i].name,
			  "the name of an address: without an underscore if there is one");
	}
	symtab.text_n = 1;
}

static void t_order(void)
{
	const size_t n = 389745;
	clock_t begun = clock();
	size_t wrong = 0;

	table_all(&symbol_tables.syms);
	for (size_t i = 0; i < n; i++)
		symtab.syms[i] = (struct sym){ .addr = i % 2 ? n + i : i, .size = 1 };
	syms_order(symtab.syms, n);
	for (size_t i = 1; i < n; i++)
		wrong += symtab.syms[i - 1].addr >= symtab.syms[i].addr;
	check_u64(wrong, 0, "the symbols of a file are sorted");
	check(clock() - begun < 2 * CLOCKS_PER_SEC, "sorting takes less than 2 s in the worst order");
	memset(symtab.syms, 0, n * sizeof(*symtab.syms));
}

int main(void)
{
	t_order();
	t_names_at_address();
	for (int i = 0; i < 4; i++) {
		t_elf(i & 1, i & 2);
		t_elf_id(i & 1, i & 2);
	}
	t_absurd(false);
	t_absurd(true);
	t_plt();
	t_holes();
	t_full_tables(true);
	t_full_tables(false);
	symtab.nsyms = 0;
	symtab.text_n = 1;
	make_root();
	t_maps();
	t_life();
	t_late();
	t_levels();
	t_when();
	t_tasks();
	t_hidden_maps();
	t_found();
	t_modules();
	t_vdso();
	t_jit();
	t_jit_cut();
	t_jit_large();
	t_debug();
	t_deleted();
	t_nested();
	t_kernel();
	t_places(true, false);
	t_places(false, true);
	t_same_names();
	t_process_places();
	t_kernel_places();
	t_full();
	t_full_symbols();
	remove_root();
	return unit_end();
}
