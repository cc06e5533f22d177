/* fuzz_symbols.c - whose code an address is: any bytes as an ELF file, as /proc/kallsyms, as the maps and the name of a
 * process. The first byte tells which. SPDX-License-Identifier: MIT */
#include "../../counters.c"

#include "../../sources/symbols.c" /* its tables are reset for each input */

#include "files.h"
#include "fuzz.h"

static void forget(void)
{
	nprocs = proc_hand = nmaps = free_map = nfiles = nsyms = 0;
	memset(proc_buckets, 0, sizeof(proc_buckets));
	memset(file_buckets, 0, sizeof(file_buckets));
	text_n = 1;
	nksyms = 0;
	kernel_read = kernel_unsorted = symbols_hidden = false;
}

/* --- ELF ------------------------------------------------------------------------------------------------------- */

/* The innermost of the 16 that begin last, looked for one by one. */
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

static void run_elf(const uint8_t *data, size_t n)
{
	static int fd = -1;
	static struct file f;

	if (fd < 0)
		fd = memfd_create("elf", 0);
	if (ftruncate(fd, 0) || pwrite(fd, data, n, 0) != (ssize_t)n)
		abort();
	window_fd = -1;
	f = (struct file){ .fd = fd };
	elf_load(&f);
	must(f.first + f.count <= MAX_SYMS && f.nloads <= MAX_LOADS, "tables are not left");
	for (u32 i = 0; i < f.count; i++) {
		struct sym *y = &syms[f.first + i], *at = sym_at(syms + f.first, f.count, y->addr);

		must(!i || y[-1].addr <= y->addr, "symbols are sorted");
		if (i < 64)
			for (u64 k = 0; k < 3; k++) {
				u64 addr = y->addr + (k == 2 ? y->size & SIZE_MASK : k);

				must(sym_at(syms + f.first, f.count, addr) == sym_plain(syms + f.first, f.count, addr), "an address is in its symbol");
			}
		must(!at || is_code(&f, at->addr), "symbols are code");
		if (at && i < 64)
			must(str_len(file_symbol(&f, at)) <= MAX_SYMBOL, "names end");
	}
	forget();
}

/* --- what /proc says ---------------------------------------------------------------------------------------------- */

static u32 kernel_hash(struct str s, size_t piece)
{
	struct str name, module;
	u32 h = HASH_BEGIN;
	u64 offset;

	files_one("proc/kallsyms", s, piece);
	symbols_preload();
	must(nksyms <= MAX_KSYMS, "a table is not left");
	for (u32 i = 0; i < nksyms; i++) {
		must(!i || ksyms[i - 1].addr <= ksyms[i].addr, "symbols are sorted");
		if (symbol_find(1, ksyms[i].addr, PM_KERNEL, &name, &module, &offset)) {
			must(offset == 0 && name.p <= name.e, "a symbol begins where it is");
			h = hash_more(h, name);
		}
	}
	symbol_find(1, UINT64_MAX, PM_KERNEL, &name, &module, &offset);
	forget();
	return h;
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
	must(files_open() == 0, "no file stays open");
	forget();
	files_one("proc/7/comm", s, 0);
	name = symbols_comm(7, 7);
	must(str_len(name) <= 16, "a name is as long as the kernel has it");
	forget();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = { (const char *)data, (const char *)data + n };
	u8 which = take_u8(&s);
	u32 whole;

	if (n > 1 << 18)
		return 0;
	if (which >= 128) {
		files_off();
		run_elf((const uint8_t *)s.p, str_len(s));
	} else if (which % 2) {
		whole = kernel_hash(s, 0);
		must(whole == kernel_hash(s, 1 + which / 2), "pieces are as the whole");
	} else {
		run_maps(s);
	}
	return 0;
}
