/* fuzz_symbols.c - symbols of addresses: any bytes as an ELF file, as /proc/kallsyms, as the maps
 * and the name of a process, as a perf-PID.map. The first byte selects which. SPDX-License-Identifier: MIT */
#include "../../counters.c"

#include "../../sources/perf/symbols.c" /* its tables are reset for each input */

#include "files.h"
#include "fuzz.h"

#include <regex.h>

static void forget(void)
{
	symtab.nprocs = symtab.proc_hand = symtab.nmaps = symtab.free_map = symtab.nfiles = symtab.nsyms = 0;
	memset(buckets.procs, 0, sizeof(buckets.procs));
	memset(buckets.files, 0, sizeof(buckets.files));
	memset(symtab.cache, 0, table_all(&symbol_tables.cache) * sizeof(*symtab.cache));
	symtab.text_n = 1;
	symtab.nksyms = 0;
	symtab.kernel_read = symtab.kernel_unsorted = symbols.hidden = false;
}

/* --- ELF -------------------------------------------------------------------------------------- */

/* The innermost one of the 16 symbols that begin last, found by linear search. */
static struct sym *sym_plain(struct sym *s, size_t n, u64 addr)
{
	struct sym *found = NULL;
	size_t begun = 0;

	while (begun < n && s[begun].addr <= addr)
		begun++;
	for (size_t i = begun > 16 ? begun - 16 : 0; i < begun; i++)
		if (addr - s[i].addr < (s[i].size & SIZE_MASK))
			found = &s[i];
	return found;
}

/* The bytes are the vDSO, with no byte after them. */
static void run_vdso(struct str s)
{
	static struct file f;

	symtab.vdso = s;
	f = (struct file){ .fd = VDSO_FD };
	elf_load(&f);
	for (u32 i = 0; i < f.count && i < 64; i++)
		file_symbol(&f, &symtab.syms[f.first + i]);
	symtab.vdso = (struct str){ 0 };
	forget();
}

static void run_elf(const uint8_t *data, size_t n)
{
	static int fd = -1;
	static struct file f;

	if (fd < 0)
		fd = memfd_create("elf", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, n, 0) != (ssize_t)n)
		abort();
	symtab.window_fd = -1;
	f = (struct file){ .fd = fd };
	elf_load(&f);
	must(f.first + f.count <= MAX_SYMS && f.nloads <= MAX_LOADS, "tables stay within their bounds");
	for (u32 i = 0; i < f.count; i++) {
		struct sym *y = &symtab.syms[f.first + i], *at = sym_find(symtab.syms + f.first, f.count, y->addr);

		must(!i || y[-1].addr <= y->addr, "symbols are sorted");
		if (i < 64)
			for (u64 k = 0; k < 3; k++) {
				u64 addr = y->addr + (k == 2 ? y->size & SIZE_MASK : k);

				must(sym_find(symtab.syms + f.first, f.count, addr) == sym_plain(symtab.syms + f.first, f.count, addr), "the symbol found for an address is correct");
			}
		must(!at || is_code(&f, at->addr), "symbols are code");
		if (at && i < 64)
			must(str_len(file_symbol(&f, at)) <= MAX_SYMBOL + 4, "names have a limited length");
	}
	elf_id(&f);
	must(f.id_n <= BUILD_ID_BYTES, "a build ID has at most 20 bytes");
	forget();
	run_vdso((struct str){ (const char *)data, (const char *)data + n });
}

/* The same bytes as a perf-PID.map, read at once and in two parts: the symbols are the same. */
static void run_jit(const uint8_t *data, size_t n, u8 part)
{
	static int fd = -1;
	struct file f[2] = { { .fd = -1 } };
	size_t half = n * part / 256;

	if (fd < 0)
		fd = memfd_create("map", 0);
	for (int i = 0; i < 2; i++) {
		f[i].fd = fd;
		if (ftruncate(fd, 0) || (i && pwrite(fd, data, half, 0) != (ssize_t)half))
			abort();
		if (i)
			jit_read(&f[i]);
		if (pwrite(fd, data, n, 0) != (ssize_t)n)
			abort();
		jit_read(&f[i]);
		for (u32 k = 1; k < f[i].count; k++)
			must(symtab.syms[f[i].first + k - 1].addr < symtab.syms[f[i].first + k].addr, "each address has one symbol");
		must(f[i].first + f[i].count == symtab.nsyms, "the symbols are the last ones");
	}
	must(f[0].count == f[1].count && f[0].names == f[1].names, "a map in two parts has the same symbols");
	forget();
}

/* --- files of /proc --------------------------------------------------------------------------- */

enum { MAX_PLAIN = 1 << 13 /* bytes up to which every line is searched one by one */, LOOKUPS = 64 };

/* Parses a line of kallsyms for code, and its address. */
static bool plain_ksym(struct str line, u64 *addr, struct str *name)
{
	static const char hex[] = "0123456789abcdef";
	const char *p = line.p;

	for (*addr = 0; p < line.e && *p && strchr(hex, *p | (*p >= 'A' && *p <= 'F' ? 0x20 : 0)); p++)
		*addr = 16 * *addr + (u64)(strchr(hex, *p | (*p >= 'A' && *p <= 'F' ? 0x20 : 0)) - hex);
	if (p == line.p || line.e - p < 4 || !p[1] || !strchr("tTwW", p[1]))
		return false;
	*name = (struct str){ p + 3, p + 3 + strnlen(p + 3, (size_t)(line.e - p - 3)) };
	return *addr != 0;
}

/* The last address up to ip that has a symbol; 0: none. */
static u64 plain_before(struct str text, u64 ip)
{
	struct str line, name;
	u64 addr, best = 0;

	while (line_next(&text, &line))
		if (plain_ksym(line, &addr, &name) && addr <= ip && addr > best)
			best = addr;
	return best;
}

/* Returns whether some line has that name for the address. */
static bool plain_named(struct str text, u64 at, struct str symbol, struct str module)
{
	struct str line, name;
	u64 addr;

	while (line_next(&text, &line)) {
		const char *tab;

		if (!plain_ksym(line, &addr, &name) || addr != at)
			continue;
		tab = memchr(name.p, '\t', str_len(name));
		if (str_eq((struct str){ name.p, tab ? tab : name.e }, symbol) &&
		    str_eq(tab ? (struct str){ tab + 1, name.e } : S("[kernel.kallsyms]"), module))
			return true;
	}
	return false;
}

/* Returns whether the name before the tab is empty: such a symbol counts as none. */
static bool has_no_name(struct str text, u64 at)
{
	struct str line, name;
	u64 addr;

	while (line_next(&text, &line))
		if (plain_ksym(line, &addr, &name) && addr == at && (name.p == name.e || *name.p == '\t'))
			return true;
	return false;
}

static void look_up_kernel(struct str text, u64 ip, bool is_in_one)
{
	struct str name, module;
	u64 offset, best = plain_before(text, ip);

	if (symbol_find(1, ip, PM_KERNEL, &name, &module, &offset)) {
		must(best && offset == ip - best, "the symbol is the last one that begins before the address");
		must(plain_named(text, best, name, module), "the name is that of one of its lines");
	} else {
		must(!is_in_one || has_no_name(text, best), "an address that has a symbol is found");
	}
}

static void check_kernel(struct str text)
{
	struct str line, name, rest = text;
	u64 addr;

	for (int i = 0; i < LOOKUPS && str_len(text) <= MAX_PLAIN && line_next(&rest, &line); i++)
		if (plain_ksym(line, &addr, &name)) {
			look_up_kernel(text, addr, true);
			look_up_kernel(text, addr + 1, addr != UINT64_MAX);
			look_up_kernel(text, addr - 1, false);
		}
}

static u32 kernel_hash(struct str s, size_t piece)
{
	struct str name, module;
	u32 h = HASH_BEGIN;
	u64 offset;

	files_one("proc/kallsyms", s, piece);
	symbols_preload();
	must(symtab.nksyms <= MAX_KSYMS, "the table stays within its bounds");
	for (u32 i = 0; i < symtab.nksyms; i++) {
		must(!i || symtab.ksyms[i - 1].addr <= symtab.ksyms[i].addr, "symbols are sorted");
		if (symbol_find(1, symtab.ksyms[i].addr, PM_KERNEL, &name, &module, &offset)) {
			must(offset == 0 && name.p <= name.e, "the address of a symbol has offset 0 in it");
			h = hash_more(h, name);
		}
	}
	symbol_find(1, UINT64_MAX, PM_KERNEL, &name, &module, &offset);
	check_kernel(s);
	forget();
	return h;
}

struct mapping {
	u64 from, to, offset;
	struct str path;
	bool code;
};

/* Parses a line of maps in the kernel's form. */
static bool plain_map(struct str line, struct mapping *m)
{
	static regex_t form;
	static bool made;
	regmatch_t part[6];
	char text[256];

	if (!made && regcomp(&form, "^([0-9a-f]{1,16})-([0-9a-f]{1,16}) [r-][w-]([x-])[ps] ([0-9a-f]{1,16}) [0-9a-f]{1,8}:[0-9a-f]{1,8} "
				    "[0-9]{1,18}( .*)?$", REG_EXTENDED))
		abort();
	made = true;
	if (str_len(line) >= sizeof(text) || memchr(line.p, '\0', str_len(line)))
		return false;
	memcpy(text, line.p, str_len(line));
	text[str_len(line)] = '\0';
	if (regexec(&form, text, LEN(part), part, 0))
		return false;
	m->from = strtoull(text, NULL, 16);
	m->to = strtoull(text + part[2].rm_so, NULL, 16);
	m->code = text[part[3].rm_so] == 'x';
	m->offset = strtoull(text + part[4].rm_so, NULL, 16);
	m->path = part[5].rm_so < 0 ? (struct str){ line.e, line.e } : str_trim((struct str){ line.p + part[5].rm_so, line.e });
	if (m->path.p == m->path.e)
		m->path = S("//anon");
	return true;
}

/* Returns whether no mapping overlaps another. */
static bool maps_are_plain(struct str text)
{
	struct str line;
	struct mapping m;
	u64 end = 0;

	while (line_next(&text, &line)) {
		if (!plain_map(line, &m) || m.from < end || m.to <= m.from)
			return false;
		end = m.to;
	}
	return true;
}

/* Finds the mapping of an address; false: not code. */
static bool plain_at(struct str text, u64 ip, struct mapping *m)
{
	struct str line;

	while (line_next(&text, &line))
		if (plain_map(line, m) && m->code && m->from <= ip && ip < m->to)
			return true;
	return false;
}

static void check_maps(struct str text)
{
	struct str line, name, module, rest = text;
	struct mapping m;
	u64 offset;

	if (str_len(text) > MAX_PLAIN || !maps_are_plain(text))
		return;
	while (line_next(&rest, &line)) {
		u64 ips[3];

		plain_map(line, &m);
		ips[0] = m.from;
		ips[1] = m.to - 1;
		ips[2] = m.to;
		for (size_t i = 0; i < LEN(ips); i++) {
			must(!symbol_find(7, ips[i], PM_USER, &name, &module, &offset), "an address without symbols has none");
			if (!plain_at(text, ips[i], &m))
				must(module.p == module.e && offset == ips[i], "an address that is not code has no file");
			else
				must(str_eq(module, m.path) && offset == ips[i] - m.from + m.offset, "code belongs to the file that is mapped there");
		}
	}
}

static void run_maps(struct str s)
{
	struct str name, module;
	u64 offset;

	files_one("proc/7/maps", s, 0);
	symbols_task(7, 7);
	for (u64 ip = 0; ip < 1 << 20; ip += 0x4321)
		symbol_find(7, ip, PM_USER, &name, &module, &offset);
	symbol_find(7, 0x7f0000001000, PM_USER, &name, &module, &offset);
	check_maps(s);
	must(files_open() == 0, "no file stays open");
	forget();
	files_one("proc/7/comm", s, 0);
	name = symbols_comm(7, 7);
	must(str_len(name) <= 16, "the name of a process has at most 16 bytes, as in the kernel");
	forget();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = { (const char *)data, (const char *)data + n };
	u8 which = take_u8(&s);
	u32 whole;

	if (n > 1 << 18)
		return 0;
	if (which >= 240) {
		files_off();
		run_jit((const uint8_t *)s.p, str_len(s), take_u8(&(struct str){ s.p, s.e }));
	} else if (which >= 128) {
		files_off();
		run_elf((const uint8_t *)s.p, str_len(s));
	} else if (which % 2) {
		whole = kernel_hash(s, 0);
		must(whole == kernel_hash(s, 1 + which / 2), "hashing in pieces has the same result as the whole");
	} else {
		run_maps(s);
	}
	return 0;
}
