/* symbols.c - finds the functions of sampled addresses, from the maps of processes, the symbols of
 * the mapped files and those of the kernel. Files are read in windows and never mapped: a file that
 * is changed meanwhile causes wrong names, but no SIGBUS.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "perfstream.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sys.h"

enum {
	MAX_PROCS = 32769, /* maximum number of tasks: as many as the default of pid_max allows */
	/* maximum number of memory maps: a thousand processes with 65 executable maps each */
	MAX_MAPS = 65537,
	/* maximum number of mapped files, each of which keeps a descriptor open; a desktop runs
	 * some 500 programs and libraries */
	MAX_FILES = 1025,
	/* maximum number of kernel symbols; a distribution's kernel and its modules have 150 000
	 * functions */
	MAX_KSYMS = 1 << 18,
	/* maximum number of symbols of all files that have samples; libLLVM has 35 000 functions,
	 * cc1 27 000 */
	MAX_SYMS = 3 << 17,
	/* maximum bytes of all names: those of the kernel's symbols take 3 to 6 MB; of the symbols
	 * of files, only names of sampled functions are stored */
	MAX_TEXT = 10 << 20,
	/* maximum number of executable segments of a file; linkers make one or two */
	MAX_LOADS = 8,
	MAX_PHDRS = 256, MAX_SHDRS = 1 << 16,
	/* Maximum number of symbols and of PLT entries of one file. The file's size does not limit
	 * them, since a sparse file can have any size. Browsers with their symbols have 2 million
	 * symbols; a PLT has an entry for each function that the file uses of other libraries. */
	MAX_ELF_SYMS = 1 << 24, MAX_PLT = 1 << 16,
	MAX_SYMBOL = 4096,     /* maximum bytes of a symbol's name; longer names are cut */
	/* maximum size in bytes that is assumed for a symbol without a size */
	MAX_UNSIZED = 1 << 16,
	/* maximum number of addresses whose functions are cached: sampling a compiler for 20 s at
	 * 10 kHz hits 74 000 addresses, of which few are hit often */
	CACHE = 1 << 15,
	WINDOW = 1 << 16,
	TASK_COMM = 16, BUILD_ID_BYTES = 20,
	/* stands for a descriptor of the vDSO, which is no file but kernel code in the memory of
	 * this process */
	VDSO_FD = -2,
	MAX_NOTES = 4096, /* maximum bytes that are read of an ELF segment or section with notes */
};

struct symbols symbols;

/* All state of this file except the hash buckets. */
static struct {
	char *text;
	u32 text_n;
	char *window;
	int window_fd; /* descriptor of the file whose bytes are in `window`; -1: none */
	u64 window_at;
	size_t window_n;
	struct sym *ksyms;
	u32 nksyms;
	bool kernel_read, kernel_unsorted;
	bool kernel_partial; /* true: a table was too small; no more kernel symbols are added */
	/* In the cache of addresses each address space has a number. kernel_space: present number
	 * of the kernel's address space; last_space: the highest number in use. When maps or
	 * symbols change, the address space gets a new number, so that its old cache entries no
	 * longer match. */
	u32 kernel_space, last_space;
	struct file *files;
	u32 nfiles;
	struct sym *syms;
	u32 nsyms;
	struct map *maps;
	u32 nmaps, free_map;
	struct proc *procs;
	u32 nprocs, proc_hand;
	struct proc *maps_proc;
	struct lookup *lookup; /* search that symbol_place() or symbol_kernel() is doing now */
	u64 record_time; /* time (ns) of the latest perf record that has a time */
	struct str vdso;
	u8 kernel_id[BUILD_ID_BYTES];
	void (*show_module)(const struct prec *r); /* callback of symbols_modules() */
	struct cached *cache;
	/* number of failed searches in the cache of addresses since the cache last grew; when it
	 * exceeds the number of cache entries, the cache grows again */
	u32 misses;
	/* kernel_hidden: the user may not see addresses of the kernel; tasks_hidden: the user may
	 * not see addresses of other users' tasks */
	bool kernel_hidden, tasks_hidden;
	/* stored result of symbols_in_pid_namespace(): 2: true; 1: false; 0: not known yet */
	u8 pid_namespace;
	bool by_task;    /* true: all events belong to tasks, not to CPUs */
	/* time (ns of CLOCK_MONOTONIC) when perf records were last lost; processes that started or
	 * ended before this time may be unknown */
	u64 losses_time;
} symtab = { .text_n = 1, .window_fd = -1, .kernel_space = 1, .last_space = 1 };

/* Sizes and limits of the arrays in symtab. Initialized at the end of this file, where the types of
 * all arrays are known. */
static struct symbol_tables {
	struct table text, window, ksyms, files, syms, maps, procs, cache;
} symbol_tables;

static struct {
	u32 files[1024], procs[2048];
} buckets;

/* --- table of texts --------------------------------------------------------------------------- */

/* Appends a copy of s and a NUL to symtab.text, where it is never freed. Returns its index there; 0
 * if the table is full. */
static u32 text_add(struct str s)
{
	u32 at = symtab.text_n;
	size_t n = str_len(s);

	if (!table_has(&symbol_tables.text, symtab.text_n + n)) {
		symbols.dropped++;
		return 0;
	}
	if (n)
		memcpy(symtab.text + at, s.p, n);
	symtab.text[at + n] = '\0';
	symtab.text_n += (u32)n + 1;
	return at;
}

static u32 hash_pair(u64 a, u64 b)
{
	/* multipliers of the hash: 2^64 divided by the golden ratio, and a constant of fmix64() of
	 * MurmurHash3 */
	u64 x = (a ^ b * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd;

	return (u32)(x >> 32 ^ x >> 48);
}

/* --- windows of files ------------------------------------------------------------------------- */

/* Returns at least n bytes of a file from offset `at` on, as a view that is valid until the next
 * call. Empty if the file is shorter, or cannot be read. */
static struct str bytes_at(int fd, u64 at, size_t n)
{
	struct str from = symtab.vdso;
	long r;

	if (fd == VDSO_FD) {
		if (at > str_len(from) || str_len(from) - at < n)
			return (struct str){ 0 };
		from.p += (size_t)at;
		return from;
	}
	if (fd != symtab.window_fd || at < symtab.window_at ||
	    at - symtab.window_at > symtab.window_n ||
	    symtab.window_n - (at - symtab.window_at) < n) {
		symtab.window_fd = -1;
		if (at > INT64_MAX - WINDOW || !table_has(&symbol_tables.window, WINDOW - 1))
			return (struct str){ 0 };
		r = sys_pread(fd, symtab.window, WINDOW, at);
		if (r < 0)
			return (struct str){ 0 };
		symtab.window_fd = fd;
		symtab.window_at = at;
		symtab.window_n = (size_t)r;
		if (symtab.window_n < n)
			return (struct str){ 0 };
	}
	return (struct str){ symtab.window + (at - symtab.window_at),
			     symtab.window + symtab.window_n };
}

/* --- symbols, sorted by address --------------------------------------------------------------- */

/* A symbol. The two highest bits of its size are its rank: of several symbols with the same
 * address, the one with the highest rank is used. */
struct sym {
	u64 addr;
	u32 size;
	/* offset of the name: in symtab.text if IN_TEXT is set, else in the file's string table */
	u32 name;
};
enum { RANK_SHIFT = 30, SIZE_MASK = (1 << RANK_SHIFT) - 1 };
#define IN_TEXT 0x80000000u
/* IN_PLT: bit of sym.name that marks a PLT entry; the other bits are the index of the entry's
 * relocation, or NO_RELOC if no relocation names the symbol */
#define IN_PLT 0x40000000u
#define NO_RELOC (IN_PLT - 1)

static int sym_cmp(const struct sym *x, const struct sym *y)
{
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->name < y->name ? 1 : x->name > y->name ? -1 : 0;
}

/* Sorts symbols in place with Shell sort: no slower than libc's qsort(), whose code has 2 KB; fast
 * on input that is nearly sorted, as the kernel's symbols are. Knuth's gaps 3h + 1 have no common
 * divisor, so that the time is O(n^1.5) for any file. */
static void syms_order(struct sym *s, size_t n)
{
	size_t gap = 1;

	while (gap < n / 3)
		gap = 3 * gap + 1;
	for (; gap > 0; gap /= 3)
		for (size_t i = gap; i < n; i++) {
			struct sym x = s[i];
			size_t at = i;

			for (; at >= gap && sym_cmp(&s[at - gap], &x) > 0; at -= gap)
				s[at] = s[at - gap];
			s[at] = x;
		}
}

/* Sorts symbols by address. A symbol without a size gets one: up to the next address that has a
 * symbol, but at most MAX_UNSIZED bytes. */
static void syms_sort(struct sym *s, size_t n)
{
	u64 next = 0, last = 0;

	syms_order(s, n);
	for (size_t i = n; i > 0; i--) {
		struct sym *y = &s[i - 1];
		u64 gap;

		if (i == n)
			next = y->addr + 4096;
		else if (y->addr != last)
			next = last;
		last = y->addr;
		gap = next - y->addr < MAX_UNSIZED ? next - y->addr : MAX_UNSIZED;
		if (!(y->size & SIZE_MASK))
			y->size |= (u32)gap;
	}
}

/* Returns the innermost of the symbols s[n] that contains the address: functions may lie inside
 * others. NULL if no symbol contains it. */
static struct sym *sym_find(struct sym *s, size_t n, u64 addr)
{
	size_t low = 0, high = n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s[mid].addr <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	for (size_t i = 0; i < 16 && i < low; i++) {
		struct sym *y = &s[low - 1 - i];

		if (addr - y->addr < (y->size & SIZE_MASK))
			return y;
	}
	return NULL;
}

/* --- kernel symbols --------------------------------------------------------------------------- */

/* The values of hexadecimal digits. Index: the character - '0'; element: the digit's value + 1; 0
 * if the character is not a digit. */
static const u8 hexdigit[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
	['A' - '0'] = 11, 12, 13, 14, 15, 16, ['a' - '0'] = 11, 12, 13, 14, 15, 16,
};

/* Stores the hexadecimal number at the start of *s in *v, and removes its digits from *s. False if
 * *s does not begin with a hexadecimal digit. */
static bool scan_hex(struct str *s, u64 *v)
{
	const char *from = s->p;
	u8 c;

	for (*v = 0; s->p < s->e && (c = (u8)(*s->p - '0')) < LEN(hexdigit) && hexdigit[c]; s->p++)
		*v = *v << 4 | (hexdigit[c] - 1u);
	return s->p > from;
}

static void ksym_add(u64 addr, u64 size, u8 rank, struct str name)
{
	u32 at;

	if (symtab.kernel_partial || !table_has(&symbol_tables.ksyms, symtab.nksyms) ||
	    (at = text_add(name)) == 0) {
		symtab.kernel_partial = true;
		symbols.dropped++;
		return;
	}
	if (size > SIZE_MASK)
		size = SIZE_MASK;
	symtab.ksyms[symtab.nksyms++] =
		(struct sym){ addr, (u32)size | (u32)rank << RANK_SHIFT, at | IN_TEXT };
}

/* Parses a line of /proc/kallsyms: address, type, name; for a module's symbol also a tab and
 * [module]. Adds the symbol if it is code. Its rank among symbols of the same address is 2 for a
 * name without an underscore in front, plus 1 for a global symbol. */
static void kallsyms_line(struct str line)
{
	u64 addr;
	char type;

	if (!scan_hex(&line, &addr) || str_len(line) < 4)
		return;
	type = line.p[1];
	if ((type | 0x20) != 't' && (type | 0x20) != 'w')
		return;
	line.p += 3;
	if (!addr) {
		symbols.hidden = true;
		return;
	}
	ksym_add(addr, 0, (u8)((*line.p != '_') << 1 | (type == 'T')), line);
}

/* Calls line() for each line of a file below /proc (or --proc). A last line without a newline is
 * skipped. Overwrites symtab.window. If gpustat has its capabilities from its program file
 * (setcap), the file is read without them, so that the kernel shows only addresses and paths that
 * the user may read. */
static void each_line(const char *path, void (*line)(struct str))
{
	size_t n = 0;
	long fd = sys_openat(roots.proc, path, O_RDONLY | O_NONBLOCK), r;

	symtab.window_fd = -1;
	while (fd >= 0 && table_has(&symbol_tables.window, WINDOW - 1) &&
	       ((r = sys_read((int)fd, symtab.window + n, WINDOW - n)) > 0 || r == -EINTR)) {
		struct str all = { symtab.window, symtab.window + n + (r > 0 ? r : 0) };
		const char *nl;

		while (all.p < all.e && (nl = memchr(all.p, '\n', str_len(all))) != NULL) {
			line((struct str){ all.p, nl });
			all.p = nl + 1;
		}
		n = str_len(all);
		memmove(symtab.window, all.p, n);
		if (n == WINDOW)
			break;
	}
	if (fd >= 0)
		sys_close((int)fd);
}

static void kernel_load(void)
{
	u32 n = symtab.text_n;

	if (!symtab.kernel_read) {
		symtab.kernel_read = symtab.kernel_unsorted = true;
		each_line("kallsyms", kallsyms_line);
		symbols.hidden = symbols.hidden || (!symtab.nksyms && !symtab.kernel_partial);
		/* discard an incomplete list of symbols, which would give wrong names */
		if (symtab.kernel_partial) {
			symtab.nksyms = 0;
			symtab.text_n = n;
		}
	}
	if (symtab.kernel_unsorted)
		syms_sort(symtab.ksyms, symtab.nksyms);
	symtab.kernel_unsorted = false;
}

/* Adds the kernel symbol of a PERF_RECORD_KSYMBOL: a BPF program or trampoline that was loaded
 * during the measurement. */
static void kernel_add(const struct prec *r)
{
	if (!symtab.kernel_read || r->flags & 1) /* PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER */
		return;
	ksym_add(r->at, r->len, 3, r->name);
	symtab.kernel_unsorted = true;
	symtab.kernel_space = ++symtab.last_space;
}

/* Returns the build ID of the kernel or of a module from the file with its ELF notes below /sys;
 * empty if unknown. The result is a view of b. */
static struct str notes_id(const char *path, char *b, size_t cap)
{
	/* the first byte of `order` is 0 on a big-endian machine; the ELF notes of the kernel have
	 * the byte order of the machine */
	static const u16 order = 1;

	return note_build_id(str_read(b, slurp(roots.sys, path, b, cap)),
			     *(const u8 *)&order == 0, 4);
}

/* Stores a build ID in a memory map record, and changes the type of the record from PR_MMAP to
 * PR_MMAP2. If the build ID is empty, the type remains PR_MMAP. */
static void record_id(struct prec *r, struct str id)
{
	r->build_id = id;
	if (id.p < id.e) {
		r->type = PR_MMAP2;
		r->misc |= PM_BUILD_ID;
	}
}

/* Stores in *r the memory map record of the kernel's code, as `perf record` writes it to its files.
 * Its build ID is valid until the next call. False if the addresses of _text and _etext are
 * hidden. */
bool symbols_kernel(struct prec *r)
{
	char notes[MAX_NOTES];
	struct str id = notes_id("kernel/notes", notes, sizeof(notes));
	u64 from = 0, to = 0;

	kernel_load();
	for (u32 i = 0; i < symtab.nksyms; i++) {
		const char *name = symtab.text + (symtab.ksyms[i].name & ~IN_TEXT);

		if (strcmp(name, "_text") == 0)
			from = symtab.ksyms[i].addr;
		else if (strcmp(name, "_etext") == 0)
			to = symtab.ksyms[i].addr;
	}
	*r = (struct prec){ .type = PR_MMAP, .misc = PM_KERNEL, .mode = PM_KERNEL,
			    .who = UINT32_MAX, .at = from, .len = to - from, .pgoff = from,
			    .name = STR("[kernel.kallsyms]_text") };
	if (id.p < id.e)
		memcpy(symtab.kernel_id, id.p, str_len(id));
	record_id(r, str_of((const char *)symtab.kernel_id, str_len(id)));
	return from && to > from;
}

/* Parses a line of /proc/modules: name, bytes, number of users, names of users, state, address.
 * Passes a memory map record of the module to symtab.show_module(), unless the module's address is
 * hidden (0). */
static void module_line(struct str line)
{
	char path[128], name[80], notes[1024];
	struct buf p = BUF_Z(path), n = BUF(name);
	struct prec r = { .type = PR_MMAP, .misc = PM_KERNEL, .mode = PM_KERNEL,
			  .who = UINT32_MAX };
	struct str words[6];

	for (size_t i = 0; i < LEN(words); i++)
		if (!str_word(&line, &words[i]))
			return;
	if (!str_skip_z(&words[5], "0x") || !scan_hex(&words[5], &r.at) || !r.at ||
	    !scan_u64(words[1], &r.len))
		return;
	put_c(&n, '[');
	put_str(&n, words[0]);
	put_c(&n, ']');
	put_z(&p, "module/");
	put_str(&p, words[0]);
	put_z(&p, "/notes/.note.gnu.build-id");
	if (n.full || p.full || memchr(words[0].p, '/', str_len(words[0])))
		return;
	r.name = str_of(n.p, n.n);
	record_id(&r, notes_id(buf_z(&p), notes, sizeof(notes)));
	symtab.show_module(&r);
}

/* Calls show() with the memory map record of each kernel module, as `perf record` writes it. */
void symbols_modules(void (*show)(const struct prec *r))
{
	symtab.show_module = show;
	each_line("modules", module_line);
}

/* --- files ------------------------------------------------------------------------------------ */

struct file {
	struct str path;
	u64 ino;
	u32 major, minor;
	u32 next;         /* index of the next file in the same hash bucket */
	int fd;
	/* descriptor of the file that has the names of the symbols: fd, or that of a file with
	 * debug information */
	int names_fd;
	/* PID of the process through whose folder in /proc the last attempt was made to open the
	 * file; UINT32_MAX: the file was opened */
	u32 tried_pid;
	bool wide, big;   /* wide: 64-bit ELF; big: big-endian */
	bool thumb;       /* ARM file: bit 0 of a function's address only marks Thumb code */
	bool links;       /* true: the file's path may be a symbolic link */
	bool full;        /* true: this perf-PID.map is too large; no more of it is read */
	u8 machine;       /* e_machine of the ELF file if it is below 256, else 0 */
	u16 section_names; /* number of the ELF section that has the names of all sections */
	bool fresh;       /* true: the file was mapped during the measurement */
	bool remote;      /* true: the file was counted in symbols.remote */
	bool id_known;    /* true: id and id_n were read; id_n 0: the file has no build ID */
	u8 id_n, id[BUILD_ID_BYTES];
	u8 nloads;
	struct load {
		u64 offset, vaddr, size;
	} loads[MAX_LOADS];
	/* index of the file's first symbol in symtab.syms, number of its symbols */
	u32 first, count;
	u64 names, names_n; /* string table of the file's symbols: file offset, size in bytes */
	/* ELF program headers and section headers: file offset, bytes of one header, number of
	 * headers */
	struct {
		u64 at, each, n;
	} heads, sections;
	/* The ELF file's PLT: file offsets of its relocations, of the symbols that these name, and
	 * of the string table of these symbols. each: bytes of a relocation; names_n: bytes of the
	 * string table. */
	struct {
		u64 relocs, each, symbols, names, names_n;
	} plt;
};

/* A memory map of code in a process: its addresses, and its file with the offset (pgoff) of the
 * first mapped byte. */
struct map {
	u64 start, end, pgoff;
	/* indices: of the process's next older map in symtab.maps, of the file in symtab.files */
	u32 next, file;
};

/* Offsets and sizes of ELF fields, in 32-bit and in 64-bit files: elf(5). */
enum efield {
	E_TYPE, E_MACHINE, E_PHOFF, E_SHOFF, E_PHENTSIZE, E_PHNUM, E_SHENTSIZE, E_SHNUM, E_SHSTRNDX,
	P_TYPE, P_FLAGS, P_OFFSET, P_VADDR, P_FILESZ, P_ALIGN,
	SH_NAME, SH_TYPE, SH_ADDR, SH_OFFSET, SH_SIZE, SH_LINK, SH_ALIGN,
	R_INFO,
	ST_NAME, ST_INFO, ST_SHNDX, ST_VALUE, ST_SIZE,
};
static const struct { u8 at[2], n[2]; } efields[] = {
	[E_TYPE] = { { 16, 16 }, { 2, 2 } },      [E_MACHINE] = { { 18, 18 }, { 2, 2 } },
	[E_PHOFF] = { { 28, 32 }, { 4, 8 } },     [E_SHOFF] = { { 32, 40 }, { 4, 8 } },
	[E_PHENTSIZE] = { { 42, 54 }, { 2, 2 } }, [E_PHNUM] = { { 44, 56 }, { 2, 2 } },
	[E_SHENTSIZE] = { { 46, 58 }, { 2, 2 } }, [E_SHNUM] = { { 48, 60 }, { 2, 2 } },
	[E_SHSTRNDX] = { { 50, 62 }, { 2, 2 } },
	[P_TYPE] = { { 0, 0 }, { 4, 4 } },        [P_FLAGS] = { { 24, 4 }, { 4, 4 } },
	[P_OFFSET] = { { 4, 8 }, { 4, 8 } },      [P_VADDR] = { { 8, 16 }, { 4, 8 } },
	[P_FILESZ] = { { 16, 32 }, { 4, 8 } },    [P_ALIGN] = { { 28, 48 }, { 4, 8 } },
	[SH_TYPE] = { { 4, 4 }, { 4, 4 } },       [SH_OFFSET] = { { 16, 24 }, { 4, 8 } },
	[SH_SIZE] = { { 20, 32 }, { 4, 8 } },     [SH_LINK] = { { 24, 40 }, { 4, 4 } },
	[SH_ALIGN] = { { 32, 48 }, { 4, 8 } },    [SH_NAME] = { { 0, 0 }, { 4, 4 } },
	[SH_ADDR] = { { 12, 16 }, { 4, 8 } },     [R_INFO] = { { 4, 8 }, { 4, 8 } },
	[ST_NAME] = { { 0, 0 }, { 4, 4 } },       [ST_INFO] = { { 12, 4 }, { 1, 1 } },
	[ST_SHNDX] = { { 14, 6 }, { 2, 2 } },     [ST_VALUE] = { { 4, 8 }, { 4, 8 } },
	[ST_SIZE] = { { 8, 16 }, { 4, 8 } },
};
enum { EHDR, PHDR, SHDR, SYM, REL };
enum { SHT_SYMTAB = 2, SHT_DYNSYM = 11 };
static const u8 esizes[][2] = { [EHDR] = { 52, 64 }, [PHDR] = { 32, 56 }, [SHDR] = { 40, 64 },
				[SYM] = { 16, 24 }, [REL] = { 8, 16 } };

static u64 efield(const struct file *f, const char *p, u8 which)
{
	size_t n = efields[which].n[f->wide];
	u64 v = 0;

	p += efields[which].at[f->wide];
	for (size_t i = 0; i < n; i++)
		v |= (u64)(u8)p[i] << 8 * (f->big ? n - 1 - i : i);
	return v;
}

/* Returns ELF structure i of an array in a file. what: type of the structures, EHDR to REL; from:
 * file offset of the array; each: bytes from one structure to the next. NULL if the structure is
 * beyond the end of the file. */
static const char *estruct(const struct file *f, u8 what, u64 from, u64 each, u64 i)
{
	size_t n = esizes[what][f->wide];

	if (each < n || from > INT64_MAX || i > (INT64_MAX - from) / each)
		return NULL;
	return bytes_at(f->fd, from + i * each, n).p;
}

/* elf_head() returns program header i of an ELF file, elf_section() section header i; NULL if there
 * is none. */
static const char *elf_head(const struct file *f, u64 i)
{
	return i < f->heads.n ? estruct(f, PHDR, f->heads.at, f->heads.each, i) : NULL;
}

static const char *elf_section(const struct file *f, u64 i)
{
	return i < f->sections.n ? estruct(f, SHDR, f->sections.at, f->sections.each, i) : NULL;
}

static void elf_loads(struct file *f)
{
	const char *p;

	for (u64 i = 0; (p = elf_head(f, i)) != NULL; i++) {
		if (efield(f, p, P_TYPE) != 1 || !(efield(f, p, P_FLAGS) & 1)) /* PT_LOAD, PF_X */
			continue;
		if (f->nloads == MAX_LOADS) {
			symbols.dropped++;
			return;
		}
		f->loads[f->nloads++] = (struct load){ efield(f, p, P_OFFSET),
						       efield(f, p, P_VADDR),
						       efield(f, p, P_FILESZ) };
	}
}

static bool is_code(const struct file *f, u64 vaddr)
{
	for (u8 i = 0; i < f->nloads; i++)
		if (vaddr - f->loads[i].vaddr < f->loads[i].size)
			return true;
	return false;
}

static void sym_add(u64 addr, u64 size, u32 rank, u32 name)
{
	if (!table_has(&symbol_tables.syms, symtab.nsyms)) {
		symbols.dropped++;
		return;
	}
	if (size > SIZE_MASK)
		size = SIZE_MASK;
	symtab.syms[symtab.nsyms++] = (struct sym){ addr, (u32)size | rank << RANK_SHIFT, name };
}

/* Adds the ELF symbol at p to those of f if it is a function, or a global label in code, as
 * assembler files have them. */
static void elf_symbol(struct file *f, const char *p)
{
	u64 info = efield(f, p, ST_INFO), value = efield(f, p, ST_VALUE),
	    size = efield(f, p, ST_SIZE);
	u64 type = info & 15, bind = info >> 4, section = efield(f, p, ST_SHNDX),
	    name = efield(f, p, ST_NAME);
	u32 rank;

	/* accepted: STT_FUNC, STT_GNU_IFUNC, and STT_NOTYPE that is not STB_LOCAL; skipped: symbols
	 * of SHN_UNDEF and SHN_ABS */
	if ((type != 2 && type != 10 && (type != 0 || bind == 0)) || !section || section == 0xfff1)
		return;
	if (f->thumb)
		value &= ~1ull;
	if (!is_code(f, value) || name >= f->names_n || name >= IN_PLT)
		return;
	rank = (size ? 2u : 0u) | (bind == 1); /* STB_GLOBAL */
	sym_add(value, size, rank, (u32)name);
}

/* Finds the first section of a type, SHT_SYMTAB or SHT_DYNSYM, in the file `from`, which is f
 * itself or the file with the debug information of f. Stores the section's offset in *at, the
 * number of its symbols in *count, and the place of their string table in f->names. False if there
 * is no such section. */
static bool symbols_section(struct file *f, const struct file *from, u64 type, u64 *at, u64 *count)
{
	const char *p;
	u64 i = 0;

	while ((p = elf_section(from, i)) != NULL && efield(from, p, SH_TYPE) != type)
		i++;
	if (!p)
		return false;
	*at = efield(from, p, SH_OFFSET);
	*count = efield(from, p, SH_SIZE) / esizes[SYM][from->wide];
	if (*count > MAX_ELF_SYMS)
		*count = MAX_ELF_SYMS;
	p = elf_section(from, efield(from, p, SH_LINK));
	if (!p)
		return false;
	f->names = efield(from, p, SH_OFFSET);
	f->names_n = efield(from, p, SH_SIZE);
	f->names_fd = from->fd;
	return true;
}

/* Adds the functions of the first symbol section of a type to the symbols of f. from: the file with
 * the section, f itself or the file with the debug information of f. False if f still has no
 * symbols. */
static bool elf_symbols(struct file *f, const struct file *from, u64 type)
{
	const char *p;
	u64 at, count;

	if (!symbols_section(f, from, type, &at, &count))
		return false;
	for (u64 i = 0;
	     i < count && (p = estruct(from, SYM, at, esizes[SYM][from->wide], i)) != NULL; i++)
		elf_symbol(f, p);
	return symtab.nsyms > f->first;
}

/* Reads the ELF header of f. False if f is not an ELF file. */
static bool elf_begin(struct file *f)
{
	struct str head = bytes_at(f->fd, 0, esizes[EHDR][0]);
	const char *p = head.p;

	if (!p || memcmp(p, "\177ELF", 4) != 0 || p[4] < 1 || p[4] > 2 || p[5] < 1 || p[5] > 2)
		return false;
	f->wide = p[4] == 2;
	f->big = p[5] == 2;
	if (str_len(head) < esizes[EHDR][f->wide])
		return false;
	f->machine = (u8)(efield(f, p, E_MACHINE) < 256 ? efield(f, p, E_MACHINE) : 0);
	f->thumb = f->machine == 40; /* EM_ARM: Thumb functions have odd addresses */
	f->section_names = (u16)efield(f, p, E_SHSTRNDX);
	f->heads.at = efield(f, p, E_PHOFF);
	f->heads.each = efield(f, p, E_PHENTSIZE);
	f->heads.n = efield(f, p, E_PHNUM);
	f->heads.n = f->heads.n < MAX_PHDRS ? f->heads.n : MAX_PHDRS;
	f->sections.at = efield(f, p, E_SHOFF);
	f->sections.each = efield(f, p, E_SHENTSIZE);
	f->sections.n = f->sections.at ? efield(f, p, E_SHNUM) : 0;
	if (f->sections.at && !f->sections.n &&
	    (p = estruct(f, SHDR, f->sections.at, f->sections.each, 0)) != NULL)
		/* elf(5): if e_shnum is too small for the number of sections, the header of section
		 * 0 has the number */
		f->sections.n = efield(f, p, SH_SIZE);
	if (f->sections.n > MAX_SHDRS)
		f->sections.n = MAX_SHDRS;
	return true;
}

/* Searches the n bytes of ELF notes at file offset `at` for the build ID, and stores it in f->id.
 * False if the notes have none. */
static bool elf_notes(struct file *f, u64 at, u64 n, u64 align)
{
	struct str notes = bytes_at(f->fd, at, n < MAX_NOTES ? (size_t)n : MAX_NOTES), id;

	if (str_len(notes) > n)
		notes.e = notes.p + n;
	id = note_build_id(notes, f->big, align == 8 ? 8 : 4);
	f->id_n = (u8)str_len(id);
	if (f->id_n)
		memcpy(f->id, id.p, f->id_n);
	return f->id_n;
}

/* Reads the build ID of an ELF file into f->id, after elf_begin(): from its note segments or, if
 * they have none, from its note sections, since the segments of a file with debug information are
 * empty. */
static void elf_id(struct file *f)
{
	const char *p;

	f->id_known = true;
	for (u64 i = 0; (p = elf_head(f, i)) != NULL; i++)
		if (efield(f, p, P_TYPE) == 4 && /* PT_NOTE */
		    elf_notes(f, efield(f, p, P_OFFSET), efield(f, p, P_FILESZ),
			      efield(f, p, P_ALIGN)))
			return;
	for (u64 i = 0; (p = elf_section(f, i)) != NULL; i++)
		if (efield(f, p, SH_TYPE) == 7 && /* SHT_NOTE */
		    elf_notes(f, efield(f, p, SH_OFFSET), efield(f, p, SH_SIZE),
			      efield(f, p, SH_ALIGN)))
			return;
}

/* --- the PLT ---------------------------------------------------------------------------------- */

/* The fields of an ELF section header that are needed to read the PLT and .gnu_debuglink. */
struct section {
	u32 name, link; /* name: offset in the section that has the names of all sections */
	u64 addr, at, size;
};

enum { MAX_SECTIONS = 64 }; /* maximum number of sections of a file; linkers make some 30 */

/* Finds n sections by their names: stores the section names[i] in to[i], which is all 0 if there is
 * no such section. */
static void sections_find(const struct file *f, const char *const *names, struct section *to,
			  size_t n)
{
	struct section all[MAX_SECTIONS];
	const char *p;
	size_t count = 0;
	u64 table, table_n;

	memset(to, 0, n * sizeof(*to));
	for (; (p = elf_section(f, count)) != NULL && count < LEN(all); count++)
		all[count] = (struct section){ (u32)efield(f, p, SH_NAME),
					       (u32)efield(f, p, SH_LINK),
					       efield(f, p, SH_ADDR), efield(f, p, SH_OFFSET),
					       efield(f, p, SH_SIZE) };
	symbols.dropped += p != NULL;
	p = elf_section(f, f->section_names);
	table = p ? efield(f, p, SH_OFFSET) : 0;
	table_n = p ? efield(f, p, SH_SIZE) : 0;
	bytes_at(f->fd, table, 1); /* reads the names of all sections into the window at once */
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < n; k++) {
			size_t bytes = strlen(names[k]) + 1;
			struct str s = { 0 };

			if (all[i].name < table_n && table_n - all[i].name >= bytes &&
			    table <= INT64_MAX)
				s = bytes_at(f->fd, table + all[i].name, bytes);
			if (s.p && memcmp(s.p, names[k], bytes) == 0)
				to[k] = all[i];
		}
}

/* The layout of a PLT for each e_machine. head: bytes before the first entry; each: bytes of an
 * entry. */
static const struct {
	u8 machine, head, each;
} plts[] = {
	{ 3, 16, 16 }, { 62, 16, 16 },   /* EM_386, EM_X86_64 */
	{ 40, 20, 12 }, { 183, 32, 16 }, /* EM_ARM, EM_AARCH64 */
	{ 243, 32, 16 },                 /* EM_RISCV */
};

/* Adds a symbol for each of the n entries of a PLT. The entries are in the order of the relocations
 * of the PLT. head: bytes before the first entry; each: bytes of an entry. */
static void plt_entries(const struct section *plt, u64 head, u64 each, u64 n)
{
	for (u64 i = 0; i < n && i < MAX_PLT && plt->size >= head &&
			(plt->size - head) / each > i; i++)
		sym_add(plt->addr + head + i * each, each, 2, IN_PLT | (u32)i);
}

/* Adds symbols NAME@plt for the entries of the PLT, which are jumps to functions of libraries.
 * Other code in the PLT's sections gets a symbol without a name, so that it does not count as a
 * part of the function before these sections, which is _init. */
static void elf_plt(struct file *f)
{
	enum { PLT, SEC, GOT, RELA, REL_, ALL };
	static const char *const names[ALL] = { ".plt", ".plt.sec", ".plt.got", ".rela.plt",
						".rel.plt" };
	struct section s[ALL], *rel;
	const char *p;
	u64 n;

	sections_find(f, names, s, ALL);
	for (size_t i = 0; i < RELA; i++)
		if (s[i].size && is_code(f, s[i].addr))
			sym_add(s[i].addr, s[i].size, 2, IN_PLT | NO_RELOC);
	rel = s[RELA].size ? &s[RELA] : &s[REL_];
	f->plt.each = esizes[REL][f->wide] + (rel == &s[RELA] ? (f->wide ? 8u : 4u) : 0u);
	f->plt.relocs = rel->at;
	n = rel->size / f->plt.each;
	p = rel->size ? elf_section(f, rel->link) : NULL;
	f->plt.symbols = p ? efield(f, p, SH_OFFSET) : 0;
	p = p ? elf_section(f, efield(f, p, SH_LINK)) : NULL;
	f->plt.names = p ? efield(f, p, SH_OFFSET) : 0;
	f->plt.names_n = p ? efield(f, p, SH_SIZE) : 0;
	for (size_t i = 0; p && i < LEN(plts); i++)
		if (plts[i].machine == f->machine && s[SEC].size && is_code(f, s[SEC].addr))
			plt_entries(&s[SEC], 0, plts[i].each, n);
		else if (plts[i].machine == f->machine && s[PLT].size && is_code(f, s[PLT].addr))
			plt_entries(&s[PLT], plts[i].head, plts[i].each, n);
}

/* Returns the offset of the name of PLT entry i in the PLT's string table; 0 if it has no name. */
static u64 plt_name(const struct file *f, u32 i)
{
	const char *p = i == NO_RELOC ? NULL : estruct(f, REL, f->plt.relocs, f->plt.each, i);
	u64 info = p ? efield(f, p, R_INFO) : 0;

	info >>= f->wide ? 32 : 8;
	p = info ? estruct(f, SYM, f->plt.symbols, esizes[SYM][f->wide], info) : NULL;
	return p ? efield(f, p, ST_NAME) : 0;
}

/* --- files on a server ------------------------------------------------------------------ */

static struct {
	struct str path;
	/* device numbers of the file systems whose servers are known to answer: see is_remote() */
	u64 local[3];
	bool listed;  /* true: the mountinfo file lists at least one mount */
	bool rooted;  /* true: the mountinfo file lists a mount at / */
	bool remote;  /* true: path is below a mount whose server may not answer */
} mounts_check;

static u64 device_number(u32 major_, u32 minor_)
{
	return (u64)major_ << 32 | minor_;
}

static bool is_local(u64 device)
{
	return device == mounts_check.local[0] || device == mounts_check.local[1] ||
	       device == mounts_check.local[2];
}

/* True if a path is below a mount point. mountinfo writes a blank or a backslash in a mount point
 * as an octal number of 4 characters, which matches any character of the path here. */
static bool path_crosses(struct str path, struct str point)
{
	for (; point.p < point.e; path.p++, point.p++)
		if (*point.p == '\\')
			point.p += 3;
		else if (path.p >= path.e || *path.p != *point.p)
			return false;
	return path.p < path.e && (*path.p == '/' || path.p[-1] == '/');
}

/* Parses a line of proc_pid_mountinfo(5): id parent major:minor root point options... - type source
 * options. Sets mounts_check.remote if mounts_check.path is below the mount point, and the mount is
 * FUSE or a network file system. */
static void mount_line(struct str line)
{
	struct str kinds = STR("fuse* nfs* cifs smb3 9p virtiofs ceph afs lustre orangefs ocfs2 "
			       "gfs2 autofs"), kind = STR(""), words[5], word;
	u64 major_ = 0, minor_ = 0;

	for (size_t i = 0; i < LEN(words); i++)
		str_word(&line, &words[i]);
	while (str_word(&line, &word) && !str_is(word, "-"))
		;
	str_word(&line, &word);
	str_cut(&words[2], ':', &kind);
	scan_u64(kind, &major_);
	scan_u64(words[2], &minor_);
	mounts_check.listed = true;
	mounts_check.rooted |= str_is(words[4], "/");
	if (path_crosses(mounts_check.path, words[4]) &&
	    !is_local(device_number((u32)major_, (u32)minor_)))
		while (str_word(&kinds, &kind))
			mounts_check.remote |= glob_match(kind, word, NULL);
}

static u64 known_device(int dir, const char *path)
{
	struct sys_statx k;

	return sys_stat_cached(dir, path, &k) < 0 ? 0 : device_number(k.dev[0], k.dev[1]);
}

/* True if opening f below a root folder may ask a server of FUSE or of a network: a server that
 * does not answer would block gpustat for ever. Two kinds of servers do answer: one from which a
 * process mapped the file during the measurement, and those of gpustat's own root and working
 * directory. root: a path below /proc, such as PID/root; mounts: the path of the mountinfo of the
 * process. */
static bool is_remote(const char *root, const char *mounts, const struct file *f)
{
	u64 device = known_device(roots.proc, root);

	mounts_check.path = f->path;
	mounts_check.local[0] = known_device(AT_FDCWD, "/");
	mounts_check.local[1] = known_device(AT_FDCWD, ".");
	mounts_check.local[2] = f->fresh ? device_number(f->major, f->minor) : 0;
	mounts_check.listed = mounts_check.rooted = mounts_check.remote = false;
	each_line(mounts, mount_line);
	/* If the root of a process is a folder inside a mount, mountinfo lists no mount at /. Then
	 * the root's device number is tested, which is that of the mount; file systems that are
	 * not on a disk have the major number 0. */
	return mounts_check.remote ||
	       (mounts_check.listed && !mounts_check.rooted && device && device <= UINT32_MAX &&
		!is_local(device));
}

/* Opens the file of the O_PATH descriptor `probe` for reading, and closes probe, which may also be
 * an -errno. Only a regular file is opened: opening a device may have side effects. A file on the
 * same device as f must have the inode number of f; if strict is set, a file on any device must.
 * (Below another root, overlay file systems may number files in their own way.) Returns a
 * descriptor, or -1. */
static int reopen_regular(long probe, const struct file *f, bool strict)
{
	char self[40];
	struct buf c = BUF_Z(self);
	struct stat st;
	long fd = -1;

	if (probe < 0)
		return -1;
	put_z(&c, "self/fd/");
	put_u64(&c, (u64)probe);
	if (sys_fstat((int)probe, &st) == 0 && S_ISREG(st.st_mode)) {
		bool other = f->ino && st.st_ino != f->ino &&
			     (strict || (major(st.st_dev) == f->major &&
					 minor(st.st_dev) == f->minor));

		if (!other)
			fd = sys_openat(roots.proc, buf_z(&c), O_RDONLY | O_NONBLOCK);
	}
	sys_close((int)probe);
	return fd < 0 ? -1 : (int)fd;
}

/* Opens f below a root, "PID/root" or "self/root", if it is a regular file: see reopen_regular().
 * Paths from the kernel contain no symbolic links: a path that is a link now was replaced, and is
 * refused unless f->links is set. mounts: path of the root's mountinfo. Returns a descriptor, or
 * -1. */
static int open_regular(const char *root, const char *mounts, struct file *f, bool strict)
{
	char path[64 + 4096];
	struct buf b = buf_on(path, sizeof(path) - 1);

	put_z(&b, root);
	put_str(&b, f->path);
	if (b.full)
		return -1;
	if (is_remote(root, mounts, f)) {
		symbols.remote += !f->remote;
		f->remote = true;
		return -1;
	}
	path[b.n] = '\0';
	return reopen_regular(sys_openat(roots.proc, path,
					 O_PATH | (f->links ? 0 : O_NOFOLLOW)), f, strict);
}

static void put_address(struct buf *b, u64 v)
{
	char text[24];
	struct buf hex = BUF(text);

	put_hex64(&hex, v);
	put_str(b, str_of(hex.p + 2, hex.n - 2)); /* the digits, without 0x */
}

/* Opens a file that was deleted: through /proc/PID/map_files, which only root may use, or through
 * /proc/PID/exe if the file is the program of the process. Returns a descriptor, or -1. */
static int open_mapped(const struct file *f, u32 pid, const struct map *m)
{
	char path[80];
	struct buf b = BUF_Z(path);
	int fd;

	put_u64(&b, pid);
	put_z(&b, "/map_files/");
	put_address(&b, m->start);
	put_c(&b, '-');
	put_address(&b, m->end);
	fd = f->remote ? -1 : reopen_regular(sys_openat(roots.proc, buf_z(&b), O_PATH), f, true);
	if (fd >= 0 || f->remote || !f->ino)
		return fd;
	task_path(path, pid, "/exe");
	return reopen_regular(sys_openat(roots.proc, path, O_PATH), f, true);
}

/* Opens a mapped file: by its path below the root of process pid, through the process's map m, or,
 * if the process has ended, by the same path below gpustat's own root. Returns a descriptor, or
 * -1. */
static int file_open_of(struct file *f, u32 pid, const struct map *m)
{
	char root[TASK_PATH], mounts[TASK_PATH];
	int fd;

	if (f->path.p == f->path.e || *f->path.p != '/' || str_find(f->path, (struct str)STR("//")))
		return -1;
	task_path(root, pid, "/root");
	task_path(mounts, pid, "/mountinfo");
	fd = open_regular(root, mounts, f, false);
	if (fd < 0 && m)
		fd = open_mapped(f, pid, m);
	return fd < 0 ? open_regular("self/root", "self/mountinfo", f, true) : fd;
}

/* Closes a file, and marks symtab.window as empty, since the descriptor number of the file may be
 * used again for another file. */
static void file_close(struct file *f)
{
	if (f->names_fd > 0 && f->names_fd != f->fd)
		sys_close(f->names_fd);
	if (f->fd >= 0)
		sys_close(f->fd);
	symtab.window_fd = f->fd = f->names_fd = -1;
}

/* --- files with debug information ------------------------------------------------------------- */

/* Stores in *crc the CRC-32 of a whole file, as .gnu_debuglink has it: reflected, polynomial
 * 0x04c11db7. False if the file is larger than any debug file should be, or cannot be read. */
static bool file_crc(int fd, u32 *crc)
{
	enum { MOST = 256 << 20 };
	u32 table[16], v = UINT32_MAX;
	u64 at = 0;

	for (u32 i = 0; i < 16; i++) {
		table[i] = i;
		for (int k = 0; k < 4; k++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	for (struct str s; at < MOST && (s = bytes_at(fd, at, 1)).p; at += str_len(s))
		for (const char *p = s.p; p < s.e; p++) {
			v ^= (u8)*p;
			v = v >> 4 ^ table[v & 15];
			v = v >> 4 ^ table[v & 15];
		}
	*crc = ~v;
	return at > 0 && at < MOST;
}

/* Opens a file with debug information, at a path below the root folder of gpustat itself. If the
 * file belongs to f, because both have the same build ID or, if f has none, because the file has
 * the CRC *crc, adds the symbols of the file to f. False if the file does not belong to f
 * (.gnu_debuglink may even name f itself), or has no symbols. */
static bool debug_open(struct file *f, const struct buf *path, const u32 *crc)
{
	struct file d = { .path = str_of(path->p, path->n), .links = true, .remote = true };
	u32 found;

	d.fd = path->full ? -1 : open_regular("self/root", "self/mountinfo", &d, false);
	if (d.fd < 0)
		return false;
	d.names_fd = d.fd;
	if (elf_begin(&d) && d.wide == f->wide && d.big == f->big) {
		elf_id(&d);
		if ((f->id_n ? f->id_n == d.id_n && memcmp(f->id, d.id, f->id_n) == 0 :
		     crc && file_crc(d.fd, &found) && found == *crc) &&
		    elf_symbols(f, &d, SHT_SYMTAB))
			return true;
	}
	file_close(&d);
	return false;
}

/* Adds the symbols of the debug file of f in /usr/lib/debug/.build-id, whose path is the build ID
 * of f. False if there is no such file. */
static bool debug_by_id(struct file *f)
{
	char path[96];
	struct buf b = BUF(path);

	put_z(&b, "/usr/lib/debug/.build-id/");
	for (u8 i = 0; i < f->id_n; i++) {
		put_hex(&b, f->id[i]);
		if (i == 0)
			put_c(&b, '/');
	}
	put_z(&b, ".debug");
	return f->id_n > 1 && debug_open(f, &b, NULL);
}

/* Adds the symbols of the debug file that the section .gnu_debuglink of f names. The section has a
 * file name without folders, zeros up to a multiple of 4, and the CRC of the debug file. False if
 * there is no such file. */
static bool debug_by_link(struct file *f)
{
	static const char *const sections[] = { ".gnu_debuglink" };
	static const char *const places[][2] = { { "", "" }, { "", ".debug/" },
						 { "/usr/lib/debug", "" } };
	char path[4096 + 256], link[256];
	struct section s;
	struct str bytes, dir = f->path;
	size_t n;
	u32 crc = 0;

	sections_find(f, sections, &s, 1);
	bytes = s.size <= sizeof(link) ? bytes_at(f->fd, s.at, (size_t)s.size) : (struct str){ 0 };
	if (!bytes.p || !s.size)
		return false;
	memcpy(link, bytes.p, (size_t)s.size);
	n = strnlen(link, (size_t)s.size);
	if (!n || (n | 3) + 5 > s.size || memchr(link, '/', n))
		return false;
	for (size_t i = 0; i < 4; i++)
		crc |= (u32)(u8)link[(n | 3) + 1 + i] << 8 * (f->big ? 3 - i : i);
	while (dir.e > dir.p && dir.e[-1] != '/')
		dir.e--;
	for (size_t i = 0; i < LEN(places); i++) {
		struct buf b = BUF(path);

		put_z(&b, places[i][0]);
		put_str(&b, dir);
		put_z(&b, places[i][1]);
		put_n(&b, link, n);
		if (debug_open(f, &b, &crc))
			return true;
	}
	return false;
}

/* Adds the symbols of the file with the debug information of f: f itself has only symbols for the
 * dynamic linker. False if there is no such file. */
static bool debug_symbols(struct file *f)
{
	if (f->path.p == f->path.e)
		return false;
	elf_id(f);
	if (debug_by_id(f) || debug_by_link(f))
		return true;
	f->names_fd = f->fd;
	return false;
}

static void elf_load(struct file *f)
{
	f->names_fd = f->fd;
	if (!elf_begin(f))
		return;
	elf_loads(f);
	f->first = symtab.nsyms;
	if (!elf_symbols(f, f, SHT_SYMTAB) && !debug_symbols(f))
		elf_symbols(f, f, SHT_DYNSYM);
	if (f->nloads)
		elf_plt(f);
	f->count = symtab.nsyms - f->first;
	if (f->count)
		syms_sort(symtab.syms + f->first, f->count);
}

/* --- the vDSO --------------------------------------------------------------------------------- */

/* Finds the vDSO in the memory of this process, and stores its bytes in symtab.vdso; all processes
 * with addresses of the same width have the same vDSO. The vDSO ends after its section headers;
 * their place in the ELF header can be trusted, since the kernel wrote it. False if there is no
 * vDSO. */
static bool vdso_find(void)
{
	enum { LEAST = 4096 /* a page */, MOST = 1 << 16 };
	unsigned long at = getauxval(AT_SYSINFO_EHDR);
	struct file f = { .fd = VDSO_FD };
	const char *p;
	u64 end;

	memcpy(&p, &at, sizeof(p));
	if (symtab.vdso.p || !p || roots.proc_given)
		return symtab.vdso.p;
	symtab.vdso = str_of(p, LEAST);
	if (!elf_begin(&f))
		return false;
	end = f.sections.at + f.sections.each * f.sections.n;
	if (end > LEAST && end <= MOST)
		symtab.vdso.e = p + end;
	return true;
}

static bool is_vdso(const struct file *f)
{
	return str_is(f->path, "[vdso]");
}

/* True if the process whose vDSO is mapped at m has addresses as wide as those of this process (32
 * or 64 bits). */
static bool has_own_width(const struct map *m)
{
	return (m->start > UINT32_MAX) == (sizeof(void *) == 8);
}

/* Opens a mapped file and reads its symbols. If the file cannot be opened, opening is tried again
 * for the next process that maps the file. */
static void file_load(struct file *f, u32 pid, const struct map *m)
{
	f->tried_pid = pid;
	if (is_vdso(f))
		f->fd = vdso_find() && has_own_width(m) ? VDSO_FD : -1;
	else
		f->fd = file_open_of(f, pid, m);
	if (f->fd == -1)
		return;
	f->tried_pid = UINT32_MAX;
	elf_load(f);
	if (!f->count)
		file_close(f);
}

/* Returns the build ID of a file; empty if the file has none, or cannot be read. m: a map of the
 * file in process pid, or NULL. */
static struct str file_id(struct file *f, u32 pid, const struct map *m)
{
	if (!f->id_known && f->fd == -1 && (f->fd = file_open_of(f, pid, m)) >= 0) {
		struct file only = { .fd = f->fd };

		if (elf_begin(&only))
			elf_id(&only);
		memcpy(f->id, only.id, sizeof(f->id));
		f->id_n = only.id_n;
		f->id_known = true;
		file_close(f);
	}
	return str_of((const char *)f->id, f->id_n);
}

static u32 file_get(const struct prec *r)
{
	u32 hash = hash_more(HASH_BEGIN, r->name) ^ (u32)r->ino;
	u32 *bucket = &buckets.files[hash % LEN(buckets.files)], i, at;

	for (i = *bucket; i; i = symtab.files[i].next)
		if (symtab.files[i].ino == r->ino && symtab.files[i].major == r->major &&
		    symtab.files[i].minor == r->minor && str_eq(symtab.files[i].path, r->name)) {
			symtab.files[i].fresh |= r->raw.p != NULL;
			return i;
		}
	if (!table_has(&symbol_tables.files, symtab.nfiles + 1) || (at = text_add(r->name)) == 0) {
		symbols.dropped++;
		return NONE;
	}
	i = ++symtab.nfiles;
	symtab.files[i] = (struct file){ .path = { symtab.text + at,
						   symtab.text + at + str_len(r->name) },
				  .ino = r->ino, .major = r->major, .minor = r->minor,
				  .next = *bucket, .fd = -1, .names_fd = -1, .fresh = r->raw.p };
	*bucket = i;
	return i;
}

/* Reads the build ID of the file that a memory map record names. Must be called while the record's
 * process still runs, since the file is opened through the process's root. */
void symbols_file(const struct prec *r)
{
	u32 i = file_get(r);

	if (i)
		file_id(&symtab.files[i], r->who, NULL);
}

/* Calls show() for each file whose build ID was read. */
void symbols_ids(void (*show)(struct str id, struct str path))
{
	for (u32 i = 1; i <= symtab.nfiles; i++)
		if (symtab.files[i].id_n)
			show(str_of((const char *)symtab.files[i].id, symtab.files[i].id_n),
			     symtab.files[i].path);
}

/* Returns the name at byte `at` of an ELF string table, up to its NUL; empty if `at` is outside the
 * table. table, table_n: offset and length of the table in the file. */
static struct str name_at(int fd, u64 table, u64 table_n, u64 at)
{
	struct str s;
	const char *nul;

	if (at >= table_n || table > INT64_MAX)
		return (struct str){ 0 };
	s = bytes_at(fd, table + at, MAX_SYMBOL);
	if (!s.p)
		s = bytes_at(fd, table + at, 1);
	if (str_len(s) > table_n - at)
		s.e = s.p + (table_n - at);
	if (str_len(s) > MAX_SYMBOL)
		s.e = s.p + MAX_SYMBOL;
	nul = s.p < s.e ? memchr(s.p, '\0', str_len(s)) : NULL;
	if (nul)
		s.e = nul;
	/* names in files with debug information may be NAME@@VERSION: the name ends before @ */
	nul = s.p < s.e ? memchr(s.p + 1, '@', str_len(s) - 1) : NULL;
	if (nul)
		s.e = nul;
	return s;
}

/* Returns the name of PLT entry i, FUNCTION@plt, in the buffer b; empty if unknown. */
static struct str plt_symbol(const struct file *f, u32 i, char b[MAX_SYMBOL + 8])
{
	u64 at = plt_name(f, i);
	struct str s = at ? name_at(f->fd, f->plt.names, f->plt.names_n, at) : (struct str){ 0 };
	struct buf to = buf_on(b, MAX_SYMBOL + 8);

	if (s.p < s.e) {
		put_str(&to, s);
		put_z(&to, "@plt");
	}
	return str_of(to.p, to.n);
}

/* Returns a symbol's name; empty if unknown. A name is read from the file when it is needed for the
 * first time, since most names are never needed. */
static struct str sym_name(const struct file *f, struct sym *y)
{
	char plt[MAX_SYMBOL + 8];
	u32 at;

	if (!(y->name & IN_TEXT)) {
		at = text_add(y->name & IN_PLT ? plt_symbol(f, y->name & ~IN_PLT, plt) :
			      name_at(f->names_fd, f->names, f->names_n, y->name));
		if (!at)
			return (struct str){ 0 };
		y->name = at | IN_TEXT;
	}
	return str_z(symtab.text + (y->name & ~IN_TEXT));
}

/* Returns a symbol's name; if the address has several, one without an underscore in front: malloc,
 * not __libc_malloc. */
static struct str file_symbol(const struct file *f, struct sym *y)
{
	struct str best = sym_name(f, y);

	for (u32 i = 1; i < 8 && y - i >= symtab.syms + f->first && y[-(i32)i].addr == y->addr;
	     i++) {
		struct str s = sym_name(f, &y[-(i32)i]);

		if (best.p < best.e && *best.p != '_')
			break;
		if (s.p < s.e && *s.p != '_')
			best = s;
	}
	return best;
}

/* --- tasks and their maps ---------------------------------------------------------- */

#define NEVER_OWN UINT64_MAX

/* A task. For every thread the name is stored, for the first thread of a process also the process's
 * memory maps. */
struct proc {
	u32 id, next;  /* id: TID; next: index of the next task in the same hash bucket */
	u32 maps; /* index of the process's newest map; a map hides older maps that it overlaps */
	u32 space;     /* the task's address space: an id that is part of the keys of the symbol
			* cache */
	u8 comm_n;
	bool mapped;   /* true: the maps are known from records, or were read from /proc */
	bool dead, named;
	u32 jit;       /* index in symtab.files of the process's perf-PID.map; 0: not found yet */
	u64 jit_time;  /* record time when perf-PID.map was last searched for or read; 0: never */
	/* time (ns) from which on the user is known to have the right to read the task's maps, see
	 * is_own(); 0: unknown; NEVER_OWN: the user does not have this right */
	u64 own_since;
	char comm[TASK_COMM];
};

static void maps_free(struct proc *p)
{
	while (p->maps) {
		u32 m = p->maps;

		p->maps = symtab.maps[m].next;
		symtab.maps[m].next = symtab.free_map;
		symtab.free_map = m;
	}
	p->space = ++symtab.last_space;
}

static u32 map_new(void)
{
	u32 m;

	if (!symtab.free_map && table_has(&symbol_tables.maps, symtab.nmaps + 1))
		return ++symtab.nmaps;
	for (u32 i = 1; !symtab.free_map && i <= symtab.nprocs; i++)
		if (symtab.procs[i].dead) {
			maps_free(&symtab.procs[i]);
			/* table_has() counted the new map as dropped: undo this, since an old map
			 * was freed for the new one */
			symbol_tables.maps.dropped -= symtab.free_map != 0;
		}
	m = symtab.free_map;
	if (m)
		symtab.free_map = symtab.maps[m].next;
	else
		symbols.dropped++;
	return m;
}

static u32 *proc_bucket(u32 id)
{
	return &buckets.procs[hash_pair(id, 0) % LEN(buckets.procs)];
}

static struct proc *proc_find(u32 id)
{
	u32 i = *proc_bucket(id);

	while (i && symtab.procs[i].id != id)
		i = symtab.procs[i].next;
	return i ? &symtab.procs[i] : NULL;
}

/* Removes a task that has ended from symtab.procs, and returns its index; NONE if no task has
 * ended. symtab.proc_hand: the index that was tried last. */
static u32 proc_reuse(void)
{
	for (u32 n = 0; n < symtab.nprocs; n++) {
		u32 *link, i;

		symtab.proc_hand = symtab.proc_hand % symtab.nprocs + 1;
		i = symtab.proc_hand;
		if (!symtab.procs[i].dead)
			continue;
		maps_free(&symtab.procs[i]);
		for (link = proc_bucket(symtab.procs[i].id); *link != i;
		     link = &symtab.procs[*link].next)
			;
		*link = symtab.procs[i].next;
		/* table_has() counted the new task as dropped: undo this, since the new task gets
		 * the row of the task that has ended */
		symbol_tables.procs.dropped--;
		return i;
	}
	return NONE;
}

static struct proc *proc_get(u32 id)
{
	struct proc *p = proc_find(id);
	u32 i, *bucket = proc_bucket(id);

	if (p || id == UINT32_MAX)
		return p;
	i = table_has(&symbol_tables.procs, symtab.nprocs + 1) ? ++symtab.nprocs : proc_reuse();
	if (!i) {
		symbols.dropped++;
		return NULL;
	}
	p = &symtab.procs[i];
	*p = (struct proc){ .id = id, .next = *bucket, .space = ++symtab.last_space };
	*bucket = i;
	return p;
}

static void proc_name(struct proc *p, struct str comm)
{
	size_t n = str_len(comm) < TASK_COMM ? str_len(comm) : TASK_COMM;

	if (n)
		memcpy(p->comm, comm.p, n);
	p->comm_n = (u8)n;
	p->named = true;
}

static void map_add(struct proc *p, u64 start, u64 len, u64 pgoff, u32 file)
{
	u64 end = len > UINT64_MAX - start ? UINT64_MAX : start + len;
	u32 *link = &p->maps, m;

	/* Free the maps that the new map covers completely: the kernel writes no records of
	 * munmap(2). */
	while (*link) {
		m = *link;
		if (symtab.maps[m].start >= start && symtab.maps[m].end <= end) {
			*link = symtab.maps[m].next;
			symtab.maps[m].next = symtab.free_map;
			symtab.free_map = m;
		} else {
			link = &symtab.maps[m].next;
		}
	}
	m = map_new();
	p->space = ++symtab.last_space;
	if (!m)
		return;
	symtab.maps[m] = (struct map){ start, end, pgoff, p->maps, file };
	p->maps = m;
}

/* --- code that processes generate (JIT): /tmp/perf-PID.map ------------------------------------ */

static void syms_reverse(struct sym *s, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		struct sym x = s[i];

		s[i] = s[n - 1 - i];
		s[n - 1 - i] = x;
	}
}

/* Moves the symbols of a file to the end of symtab.syms, so that more symbols of this file can be
 * added. */
static void syms_to_end(struct file *f)
{
	size_t rest = symtab.nsyms - f->first - f->count;
	struct sym *s;

	if (!f->count)
		f->first = symtab.nsyms;
	if (!f->count || !rest)
		return;
	s = symtab.syms + f->first;
	syms_reverse(s, f->count);
	syms_reverse(s + f->count, rest);
	syms_reverse(s, f->count + rest);
	for (u32 i = 1; i <= symtab.nfiles; i++)
		if (symtab.files[i].first > f->first)
			symtab.files[i].first -= f->count;
	f->first = symtab.nsyms - f->count;
}

/* If several symbols of a perf-PID.map have the same address, removes all but the newest, since the
 * process has replaced the code there. The newest symbol is the one whose name was added last. */
static void syms_newest(struct file *f)
{
	struct sym *s = symtab.syms + f->first;
	u32 n = 0;

	for (u32 i = 0; i < f->count; i++)
		if (n && s[n - 1].addr == s[i].addr)
			s[n - 1] = s[i].name > s[n - 1].name ? s[i] : s[n - 1];
		else
			s[n++] = s[i];
	f->count = n;
	symtab.nsyms = f->first + n;
}

/* Parses a line of perf-PID.map: address, bytes, name; the numbers are hexadecimal. */
static void jit_line(struct str line)
{
	u64 addr, size;
	u32 at;

	str_skip_z(&line, "0x");
	if (!scan_hex(&line, &addr) || !str_skip_z(&line, " "))
		return;
	str_skip_z(&line, "0x");
	if (!scan_hex(&line, &size) || !str_skip_z(&line, " ") || line.p == line.e || !size)
		return;
	if (str_len(line) > MAX_SYMBOL)
		line.e = line.p + MAX_SYMBOL;
	if (memchr(line.p, '\0', str_len(line)))
		return;
	at = text_add(line);
	if (at)
		sym_add(addr, size, 0, at | IN_TEXT);
}

/* Reads the lines that a process has added to its perf-PID.map since the last call. f->names: file
 * offset of the first new line. At most MOST bytes of the file are read, since a process can write
 * any number of them. True if there were new lines. */
static bool jit_read(struct file *f)
{
	enum { MOST = 4 << 20 };
	u64 from = f->names;
	u32 dropped = symbols.dropped;
	long r;

	if (!table_has(&symbol_tables.window, WINDOW - 1))
		return false;
	symtab.window_fd = -1;
	syms_to_end(f);
	while (!f->full &&
	       (r = sys_pread(f->fd, symtab.window, WINDOW, f->names)) > 0) {
		struct str all = str_of(symtab.window, (size_t)r);
		const char *nl;

		while (all.p < all.e && (nl = memchr(all.p, '\n', str_len(all))) != NULL) {
			jit_line((struct str){ all.p, nl });
			all.p = nl + 1;
		}
		if (all.p == symtab.window)
			break;
		f->names += (u64)(all.p - symtab.window);
		symbols.dropped += f->names >= MOST;
		f->full = symbols.dropped != dropped;
	}
	f->count = symtab.nsyms - f->first;
	if (f->count) { /* if no file has symbols, the array symtab.syms may not be allocated */
		syms_sort(symtab.syms + f->first, f->count);
		syms_newest(f);
	}
	return f->names > from;
}

/* Returns the effective user ID of a process, and stores in *inner the PID that the process has in
 * its own PID namespace, both from /proc. If the process has ended, returns the user ID of gpustat
 * itself, and stores the parameter pid in *inner. */
static u32 jit_owner(u32 pid, u64 *inner)
{
	char path[TASK_PATH], b[4096];
	struct str text, line, word;
	u64 uid = sys_euid();

	*inner = pid;
	task_path(path, pid, "/status");
	text = str_read(b, slurp(roots.proc, path, b, sizeof(b)));
	while (str_cut(&text, '\n', &line))
		if (str_skip_z(&line, "Uid:")) {
			/* skip the real user ID, after which the effective one follows */
			str_word(&line, &word);
			str_word(&line, &word);
			scan_u64(word, &uid);
		} else if (str_skip_z(&line, "NSpid:")) {
			while (str_word(&line, &word))
				scan_u64(word, inner);
		}
	return (u32)uid;
}

/* Opens the perf-PID.map of a process, if the process's user owns it. Returns a descriptor, or
 * -1. */
static int jit_open(struct file *f, u32 pid, u32 owner)
{
	char root[TASK_PATH], mounts[TASK_PATH];
	struct stat st;
	int fd;

	task_path(root, pid, "/root");
	task_path(mounts, pid, "/mountinfo");
	fd = open_regular(root, mounts, f, false);
	if (fd < 0)
		fd = open_regular("self/root", "self/mountinfo", f, false);
	if (fd < 0 || (sys_fstat(fd, &st) == 0 && st.st_uid == owner))
		return fd;
	sys_close(fd);
	return -1;
}

/* Opens the perf-PID.map of a process, if there is one, and stores its index in symtab.files in
 * p->jit. */
static void jit_begin(struct proc *p)
{
	char path[48];
	struct buf b = BUF(path);
	/* only.remote is set, so that jit_open() does not count the file in symbols.remote */
	struct file *f, only = { .remote = true };
	u64 inner;
	u32 owner = jit_owner(p->id, &inner), i;
	int fd;

	put_z(&b, "/tmp/perf-");
	put_u64(&b, inner);
	put_z(&b, ".map");
	only.path = str_of(b.p, b.n);
	fd = jit_open(&only, p->id, owner);
	if (fd < 0)
		return;
	i = file_get(&(struct prec){ .name = only.path, .major = p->id });
	if (!i) {
		sys_close(fd);
		return;
	}
	f = &symtab.files[i];
	file_close(f); /* close the file of an earlier process that had the same PID */
	f->fd = fd;
	f->names = f->count = 0;
	f->full = false;
	f->tried_pid = UINT32_MAX;
	p->jit = i;
}

static bool jit_due(const struct proc *p)
{
	enum { NS_PER_S = 1000000000 };

	return !p->jit_time || symtab.record_time - p->jit_time >= NS_PER_S;
}

/* Reads the lines that a process has added to its perf-PID.map, at most once per second of record
 * time. True if there were new lines. */
static bool jit_refresh(struct proc *p)
{
	struct stat st;
	struct file *f;

	if (!jit_due(p))
		return false;
	p->jit_time = symtab.record_time | 1;
	if (!p->jit)
		jit_begin(p);
	if (!p->jit)
		return false;
	f = &symtab.files[p->jit];
	if (!f->full && sys_fstat(f->fd, &st) == 0 && (u64)st.st_size < f->names)
		/* the file is shorter than before: it was written again from its start */
		f->names = f->count = 0;
	if (!jit_read(f))
		return false;
	p->space = ++symtab.last_space;
	return true;
}

static struct sym *jit_find(const struct proc *p, u64 ip)
{
	const struct file *f = &symtab.files[p->jit];

	return p->jit ? sym_find(symtab.syms + f->first, f->count, ip) : NULL;
}

/* --- addresses that the user may not see ----------------------------------------------- */

/* True if the user had the right to read the maps of a process at `time` (ns of CLOCK_MONOTONIC).
 * The right is that of ptrace_may_access() without capabilities. readlink(2) of PID/cwd requires
 * the same right (proc_fd_access_allowed() in the kernel's fs/proc/base.c), even for a kernel
 * thread, and is used as the test. The result of the test is valid from then on, until the process
 * executes another program. A process that changes its user without executing a program cannot be
 * read any more (PR_GET_DUMPABLE of prctl(2)). */
static bool is_own(u32 pid, u64 time)
{
	struct proc *p = proc_get(pid);
	char path[TASK_PATH], b[8];

	if (!p)
		return false;
	if (!p->own_since || (!symtab.by_task && p->own_since < symtab.losses_time)) {
		task_path(path, pid, "/cwd");
		p->own_since = sys_readlinkat(roots.proc, path, b, sizeof(b)) < 0 ? NEVER_OWN :
			       (u64)sys_now(CLOCK_MONOTONIC);
	}
	return time >= p->own_since;
}

/* Hides addresses from the user if gpustat has capabilities from its program file (setcap), since
 * the records then contain more than the user may read: from now on, the result of symbols_feed()
 * says which addresses must be hidden, by the rules of may_see(). child: PID of the command, which
 * was started with the user's rights; 0: none. Must be called before the first sample, when only
 * the tasks of the target, and the tasks that they start, have events. The kernel removes the
 * events of a task that executes a program with more rights (begin_new_exec()). */
void symbols_restrict(const struct target *t, i32 child)
{
	struct proc *p;

	if (!privilege_from_file())
		return;
	symtab.kernel_hidden = !may_see(SEE_KERNEL_ADDRESSES);
	symtab.tasks_hidden = !may_see(SEE_OTHERS_ADDRESSES);
	symtab.by_task = t->ntasks || (child > 0 && !t->all && !t->has_cpus && !t->ncgroups);
	p = child > 0 ? proc_get((u32)child) : NULL;
	if (p)
		p->own_since = 1;
	for (u32 i = 0; symtab.tasks_hidden && i < t->ntasks; i++)
		is_own(t->tasks[i].leader, 0);
}

bool symbols_restricted(void)
{
	return symtab.kernel_hidden || symtab.tasks_hidden;
}

/* Returns a set of CPU modes, as bits 1 << enum pmode: the addresses that a record has in these
 * modes must be hidden from the user. */
static u32 hidden_modes(const struct prec *r)
{
	bool map = r->type == PR_MMAP || r->type == PR_MMAP2;
	u32 pid = map ? r->who : r->pid;

	if (r->type == PR_KSYMBOL)
		return symtab.kernel_hidden ? ALL_MODES : 0;
	if (r->type != PR_SAMPLE && !map)
		return 0;
	if (symtab.tasks_hidden && !is_own(pid, r->have & PS_TIME ? r->time : 0))
		return ALL_MODES;
	return symtab.kernel_hidden ? ALL_MODES & ~(1u << PM_USER | 1u << PM_GUEST_USER) : 0;
}

/* --- tasks that started before the measurement --------------------------------------- */

/* Passes a record that was made from data of /proc to symbols.found(). */
static void report_found(struct prec *r)
{
	if (!symbols.found)
		return;
	r->have = PS_TID | PS_TIME;
	r->pid = r->who;
	r->tid = r->who_tid;
	r->time = symtab.record_time;
	symbols.found(r);
}

/* Parses a line of proc_pid_maps(5) into *r: start-end perms offset major:minor inode path. False
 * if the map is not executable, or the line is malformed. */
static bool maps_parse(struct str line, struct prec *r)
{
	static const struct str anonymous = STR("//anon");
	u64 end, major_, minor_;
	struct str perms, word;

	if (!scan_hex(&line, &r->at) || !str_skip_z(&line, "-") || !scan_hex(&line, &end) ||
	    !str_word(&line, &perms) || str_len(perms) < 4 || perms.p[2] != 'x' || end <= r->at ||
	    !str_word(&line, &word) || !scan_hex(&word, &r->pgoff) || !str_word(&line, &word) ||
	    !scan_hex(&word, &major_) || !str_skip_z(&word, ":") || !scan_hex(&word, &minor_) ||
	    !str_word(&line, &word) || !scan_u64(word, &r->ino))
		return false;
	r->len = end - r->at;
	r->major = (u32)major_;
	r->minor = (u32)minor_;
	r->name = str_trim(line);
	if (r->name.p == r->name.e)
		/* "//anon" is the name of anonymous maps in the kernel's records */
		r->name = anonymous;
	return true;
}

static void maps_line(struct str line)
{
	struct prec r = { .type = PR_MMAP2 };

	if (!maps_parse(line, &r))
		return;
	map_add(symtab.maps_proc, r.at, r.len, r.pgoff, file_get(&r));
}

/* Passes the maps of a process to symbols.found(), as the memory map records that the kernel would
 * have written. */
static void report_maps(const struct proc *p)
{
	for (u32 m = symbols.found ? p->maps : 0; m; m = symtab.maps[m].next) {
		const struct map *map = &symtab.maps[m];
		struct file *f = &symtab.files[map->file];
		struct prec r = { .type = PR_MMAP2, .misc = PM_USER, .mode = PM_USER, .who = p->id,
				  .who_tid = p->id, .at = map->start, .len = map->end - map->start,
				  .pgoff = map->pgoff, .major = f->major, .minor = f->minor,
				  .ino = f->ino, .prot = 5 /* PROT_READ | PROT_EXEC */,
				  .flags = 2 /* MAP_PRIVATE */, .name = f->path };

		if (!map->file)
			continue;
		r.build_id = symbols.build_ids ? file_id(f, p->id, map) : r.build_id;
		r.misc |= r.build_id.p < r.build_id.e ? PM_BUILD_ID : 0;
		report_found(&r);
	}
}

/* Returns the task with this TID; adds it if it is new. Its name is read from /proc if no record
 * has set it. NULL if the table of tasks is full. */
static struct proc *proc_named(u32 pid, u32 tid)
{
	struct proc *p = proc_get(tid);
	char path[TASK_PATH], b[TASK_COMM + 1];
	struct prec r = { .type = PR_COMM, .who = pid, .who_tid = tid };
	long n;

	if (!p || p->named)
		return p;
	p->named = true;
	task_path(path, tid, "/comm");
	n = slurp(roots.proc, path, b, sizeof(b));
	if (n <= 0)
		return p;
	r.name = (struct str){ b, b + n - (b[n - 1] == '\n') };
	proc_name(p, r.name);
	report_found(&r);
	return p;
}

/* Returns the process with this PID; adds it if it is new. Its name and maps are read from /proc if
 * they are unknown. NULL if the table of tasks is full. */
static struct proc *proc_mapped(u32 pid)
{
	struct proc *p = proc_named(pid, pid);
	char path[TASK_PATH];

	if (!p || p->mapped)
		return p;
	p->mapped = true;
	symtab.maps_proc = p;
	task_path(path, pid, "/maps");
	each_line(path, maps_line);
	report_maps(p);
	return p;
}

/* Reads from /proc the name and maps of a task that started before the measurement. */
void symbols_task(u32 pid, u32 tid)
{
	proc_mapped(pid);
	proc_named(pid, tid);
}

/* True if TID 0 in a record can mean a task of another PID namespace, and not only an idle task. It
 * cannot if gpustat runs in the first PID namespace, which contains all others and has the number
 * PROC_PID_INIT_INO of the kernel. */
bool symbols_in_pid_namespace(void)
{
	static const char first[] = "pid:[4026531836]";
	char b[sizeof(first)];

	if (!symtab.pid_namespace) {
		long n = sys_readlinkat(roots.proc, "self/ns/pid", b, sizeof(b));

		symtab.pid_namespace = n > 0 && !str_is(str_of(b, (size_t)n), first) ? 2 : 1;
	}
	return symtab.pid_namespace == 2;
}

/* Returns the name of a task; empty if unknown. */
struct str symbols_comm(u32 pid, u32 tid)
{
	const struct proc *p = tid ? proc_named(pid, tid) : NULL;

	if (!tid && symbols_in_pid_namespace())
		return (struct str){ 0 };
	if (!tid)
		return (struct str)STR("swapper");
	return p ? (struct str){ p->comm, p->comm + p->comm_n } : (struct str){ 0 };
}

/* --- records ---------------------------------------------------------------------------------- */

static void feed_comm(const struct prec *r)
{
	struct proc *p = proc_get(r->who_tid);

	if (p)
		proc_name(p, r->name);
	p = r->misc & PM_EXEC ? proc_get(r->who) : NULL;
	if (p) {
		maps_free(p);
		p->mapped = true;
		p->jit = 0;
		p->jit_time = 0;
		p->own_since = symtab.by_task ? p->own_since : 0;
	}
}

static void feed_fork(const struct prec *r)
{
	bool thread = r->who == r->parent;
	struct proc *from = thread ? NULL : proc_mapped(r->parent);
	struct proc *name = proc_named(r->parent, r->parent_tid);
	struct proc *p = proc_get(r->who_tid);
	u32 first;

	if (!p)
		return;
	maps_free(p);
	p->dead = false;
	p->jit = 0;
	p->jit_time = 0;
	p->own_since = symtab.by_task && from ? from->own_since : 0;
	first = from && from != p ? from->maps : 0;
	/* if no maps of the parent are known, those of the child are read from /proc when they are
	 * needed */
	p->mapped = first != 0;
	p->named = false;
	if (name && name->comm_n)
		proc_name(p, (struct str){ name->comm, name->comm + name->comm_n });
	for (u32 m = first, *end = &p->maps; m; m = symtab.maps[m].next) {
		u32 copy = map_new();

		if (!copy)
			return;
		symtab.maps[copy] = symtab.maps[m];
		symtab.maps[copy].next = 0;
		*end = copy;
		end = &symtab.maps[copy].next;
	}
}

/* Adds the map of a memory map record to its process. PID 0 means any process of another PID
 * namespace, for which no maps are stored. hide: the user may not see the map now; the maps of the
 * process are read from /proc again when they are needed. */
static void feed_map(const struct prec *r, bool hide)
{
	struct proc *p = !r->who ? NULL : hide ? proc_find(r->who) : proc_mapped(r->who);

	if (p && hide)
		p->mapped = false;
	else if (p)
		map_add(p, r->at, r->len, r->pgoff, file_get(r));
}

/* Updates the names and maps of tasks, and the symbols of the kernel, from a record. The caller
 * must pass all records, in order of time. Returns a set of CPU modes, as bits 1 << enum pmode: the
 * user may not see the addresses that the record has in these modes, and symbol_find() must not be
 * called for them. */
u32 symbols_feed(const struct prec *r)
{
	u32 hidden = hidden_modes(r);
	struct proc *p;

	symtab.losses_time = r->lost ? (u64)sys_now(CLOCK_MONOTONIC) : symtab.losses_time;
	symtab.record_time = r->have & PS_TIME ? r->time : symtab.record_time;
	switch (r->type) {
	case PR_COMM:
		feed_comm(r);
		break;
	case PR_MMAP:
	case PR_MMAP2:
		/* Only maps of user code are stored: the looked-up addresses are never in data, and
		 * kernel symbols are from /proc/kallsyms. */
		if (r->mode != PM_USER || (r->type == PR_MMAP2 && !(r->prot & 4)) ||
		    (r->misc & PM_EXEC))
			break;
		feed_map(r, hidden >> PM_USER & 1);
		break;
	case PR_FORK:
		feed_fork(r);
		break;
	case PR_EXIT:
		p = proc_find(r->who_tid);
		if (p)
			/* keep the maps of the process: its other threads may still run */
			p->dead = true;
		break;
	case PR_KSYMBOL:
		kernel_add(r);
		break;
	default:
		break;
	}
	return hidden;
}

/* --- symbols of addresses --------------------------------------------------------------------- */

struct cached {
	u64 ip, offset;
	/* number of the address space to which ip belongs; 0: the cache entry is empty */
	u32 space;
	/* true: generated code (JIT) without a name, which perf-PID.map may have later */
	bool unnamed;
	struct str symbol, module;
};

static void find_kernel(struct cached *c)
{
	struct sym *y;
	const char *tab;

	kernel_load();
	c->module = (struct str)STR("[kernel.kallsyms]");
	c->offset = c->ip;
	y = sym_find(symtab.ksyms, symtab.nksyms, c->ip);
	if (!y)
		return;
	c->symbol = str_z(symtab.text + (y->name & ~IN_TEXT));
	c->offset = c->ip - y->addr;
	tab = memchr(c->symbol.p, '\t', str_len(c->symbol));
	if (tab) {
		c->module = (struct str){ tab + 1, c->symbol.e };
		c->symbol.e = tab;
	}
}

/* Finds the symbol of an address in the mapped file f, and stores it in *c. The caller must set
 * c->offset to the file offset of the address; the segment that contains this offset gives the ELF
 * address. */
static void find_file(struct cached *c, struct file *f, u32 pid, const struct map *m)
{
	c->module = f->path;
	if (f->tried_pid != UINT32_MAX && f->tried_pid != pid)
		file_load(f, pid, m);
	for (u8 i = 0; i < f->nloads; i++) {
		const struct load *l = &f->loads[i];
		struct sym *y;
		u64 vaddr = c->offset - l->offset + l->vaddr;

		if (c->offset - l->offset >= l->size || (is_vdso(f) && !has_own_width(m)))
			continue;
		y = sym_find(symtab.syms + f->first, f->count, vaddr);
		if (!y)
			continue;
		c->symbol = file_symbol(f, y);
		if (c->symbol.p < c->symbol.e) {
			c->offset = vaddr - y->addr;
			return;
		}
	}
}

/* Finds the symbol of an address in code that the process generated (JIT) in the perf-PID.map of
 * the process. */
static void find_jit(struct cached *c, struct proc *p)
{
	struct sym *y = jit_find(p, c->ip);

	if (!y && jit_refresh(p))
		y = jit_find(p, c->ip);
	c->unnamed = !y;
	if (!y)
		return;
	c->module = symtab.files[p->jit].path;
	c->symbol = str_z(symtab.text + (y->name & ~IN_TEXT));
	c->offset = c->ip - y->addr;
}

static void find_user(struct cached *c, struct proc *p)
{
	for (u32 m = p->maps; m; m = symtab.maps[m].next) {
		struct file *f = &symtab.files[symtab.maps[m].file];

		if (c->ip < symtab.maps[m].start || c->ip >= symtab.maps[m].end)
			continue;
		c->offset = c->ip - symtab.maps[m].start + symtab.maps[m].pgoff;
		if (symtab.maps[m].file)
			find_file(c, f, p->id, &symtab.maps[m]);
		if (!symtab.maps[m].file || !f->nloads)
			find_jit(c, p);
		return;
	}
}

/* Finds the function that contains an address. Stores the name of the function, the name of its
 * file or kernel module, and the offset of the address in the function; if no function is known,
 * the offset in the file. Unknown names are empty; names are never freed. False if no function is
 * known. */
bool symbol_find(u32 pid, u64 ip, u8 mode, struct str *symbol, struct str *module, u64 *offset)
{
	/* PID 0 means any process of another PID namespace, whose user code has no known maps */
	struct proc *p = mode == PM_USER && pid ? proc_mapped(pid) : NULL;
	u32 space = mode == PM_KERNEL ? symtab.kernel_space : p ? p->space : 0;
	u32 hash = hash_pair(ip, space);
	struct cached *c;

	*symbol = *module = (struct str){ 0 };
	*offset = ip;
	if (!space || !table_has(&symbol_tables.cache, 0))
		return false;
	c = &symtab.cache[hash % symbol_tables.cache.ready];
	if (c->ip != ip || c->space != space || (c->unnamed && p && jit_due(p))) {
		if (++symtab.misses > symbol_tables.cache.ready &&
		    symbol_tables.cache.ready < CACHE) {
			symtab.misses = 0;
			table_has(&symbol_tables.cache, symbol_tables.cache.ready);
			/* not an error if the cache could not grow: a small cache is only slower */
			symbol_tables.cache.dropped = 0;
			c = &symtab.cache[hash % symbol_tables.cache.ready];
		}
		*c = (struct cached){ .ip = ip, .offset = ip, .space = space };
		if (p)
			find_user(c, p);
		else
			find_kernel(c);
	}
	*symbol = c->symbol;
	*module = c->module;
	*offset = c->offset;
	return symbol->p < symbol->e;
}

/* Reads the kernel's symbols now, which takes some 50 ms, instead of at the first sample that needs
 * them. Before that, allocates the first rows of the other tables, since the kernel's symbols take
 * most of the memory. */
void symbols_preload(void)
{
	struct table *const others[] = {
		&symbol_tables.procs, &symbol_tables.maps, &symbol_tables.files,
		&symbol_tables.syms, &symbol_tables.cache,
	};

	for (size_t i = 0; i < LEN(others); i++)
		table_has(others[i], 0);
	kernel_load();
}

/* --- from symbols to addresses ---------------------------------------------------------------- */

struct lookup {
	struct str name;
	struct file f;
	/* value, rank: address and rank of the symbol that has the searched name; if several have
	 * it, of the one with the highest rank */
	u64 value, rank;
	/* number of different addresses of the symbols that have the searched name and the rank
	 * `rank` */
	u32 found;
	/* true: the file is stripped, and has only the symbols that other files use (.dynsym) */
	bool stripped;
	/* only if a process is searched: ino: inode number of the process's executable; base:
	 * address of a symbol in memory minus its address as linked */
	u64 ino, base;
	bool mapped;
};

static void lookup_add(struct lookup *l, u64 value, u64 rank)
{
	if (rank > l->rank)
		l->found = 0;
	if (rank < l->rank || (l->found && value == l->value))
		return;
	l->rank = rank;
	l->value = value;
	l->found++;
}

/* Finds l->name in the file's string table, and stores the offsets of all matches in to[cap]:
 * symbols are then compared by offset, not by text. A match may be the end of a longer name.
 * Returns the number of offsets. */
static size_t name_places(struct lookup *l, u64 *to, size_t cap)
{
	u64 at = 0;
	size_t found = 0, n = str_len(l->name);

	while (found < cap && at + n < l->f.names_n) {
		struct str s = bytes_at(l->f.fd, l->f.names + at, n + 1);
		const char *last;

		if (!s.p)
			break;
		last = s.e - n;
		if (str_len(s) > l->f.names_n - at)
			last = s.p + (size_t)(l->f.names_n - at - n);
		for (const char *p = s.p; p < last && found < cap; p++)
			if (memcmp(p, l->name.p, n) == 0 && p[n] == '\0')
				to[found++] = at + (u64)(p - s.p);
		at += (u64)(last - s.p);
	}
	return found;
}

/* Passes to lookup_add() each symbol that has the name l->name and is defined in the file, from the
 * first symbol section of a type: SHT_SYMTAB or SHT_DYNSYM. */
static void lookup_section(struct lookup *l, u64 type)
{
	u64 at, count, names[16];
	const char *p;
	size_t n;

	if (!symbols_section(&l->f, &l->f, type, &at, &count))
		return;
	n = name_places(l, names, LEN(names));
	for (u64 i = 0; n && i < count; i++) {
		u64 info, section, name, value;

		p = estruct(&l->f, SYM, at, esizes[SYM][l->f.wide], i);
		if (!p)
			return;
		info = efield(&l->f, p, ST_INFO);
		section = efield(&l->f, p, ST_SHNDX);
		value = efield(&l->f, p, ST_VALUE);
		name = efield(&l->f, p, ST_NAME);
		/* accepted: functions, data and labels that are defined; skipped: STT_SECTION,
		 * STT_FILE, STT_TLS, and symbols of SHN_UNDEF and SHN_ABS */
		if ((info & 15) == 3 || (info & 15) == 4 || (info & 15) == 6 || !section ||
		    section == 0xfff1)
			continue;
		if (l->f.thumb && (info & 15) == 2)
			value &= ~1ull;
		for (size_t k = 0; k < n; k++)
			if (names[k] == name)
				lookup_add(l, value, 1 + (info >> 4 != 0)); /* STB_LOCAL is 0 */
	}
}

/* Parses a line of a process's maps. If it maps the process's executable, stores in l->base how far
 * the executable was moved in memory. */
static void base_line(struct str line)
{
	struct lookup *l = symtab.lookup;
	struct prec r;

	if (l->mapped || !maps_parse(line, &r) || r.ino != l->ino)
		return;
	for (u8 i = 0; i < l->f.nloads; i++) {
		const struct load *at = &l->f.loads[i];

		if (at->offset - r.pgoff < r.len || r.pgoff - at->offset < at->size) {
			l->base = r.at - (r.pgoff - at->offset + at->vaddr);
			l->mapped = true;
			return;
		}
	}
}

/* Stores in *to the location of the symbol that lookup_add() has selected. moves: true if the
 * program is position-independent. Returns 0, or -errno as symbol_place() does. */
static long place_make(struct lookup *l, u32 pid, bool moves, struct elf_place *to)
{
	char path[TASK_PATH];

	if (!l->found)
		return l->stripped ? -ENODATA : -ENXIO;
	if (l->found > 1)
		return -ENOTUNIQ;
	*to = (struct elf_place){ .address = l->value, .fixed = !moves };
	for (u8 i = 0; i < l->f.nloads && !to->code; i++) {
		const struct load *at = &l->f.loads[i];

		to->code = l->value - at->vaddr < at->size;
		to->offset = l->value - at->vaddr + at->offset;
	}
	if (!pid || !moves)
		return 0;
	task_path(path, pid, "/maps");
	each_line(path, base_line);
	to->address += l->base;
	to->fixed = l->mapped;
	return 0;
}

/* Opens a file for reading if it is a regular file: opening a device may have side effects. Returns
 * its descriptor, or -errno; -ENOEXEC if it is not a regular file. */
static long open_program(int dir, const char *path, struct stat *st)
{
	long probe = sys_openat(dir, path, O_PATH), r;

	if (probe < 0)
		return probe;
	r = sys_fstat((int)probe, st);
	sys_close((int)probe);
	return r < 0 ? r : !S_ISREG(st->st_mode) ? -ENOEXEC :
	       sys_openat(dir, path, O_RDONLY | O_NONBLOCK);
}

/* Stores the location of a symbol in *to. The symbol is searched for in the executable of process
 * pid or, if pid is 0, in a file. Returns 0 or -errno: ENOEXEC: not an ELF file; ENXIO: no such
 * symbol; ENODATA: no such symbol, but the file is stripped; ENOTUNIQ: several symbols have this
 * name. */
long symbol_place(u32 pid, const char *file, struct str name, struct elf_place *to)
{
	enum { ET_EXEC = 2 };
	struct lookup l = { .name = name, .f = { .fd = -1 } };
	char exe[TASK_PATH];
	struct stat st;
	long r;

	if (!str_len(name) || str_len(name) >= MAX_SYMBOL)
		return -ENXIO;
	task_path(exe, pid, "/exe");
	r = open_program(pid ? roots.proc : AT_FDCWD, pid ? exe : file, &st);
	if (r < 0)
		return r;
	l.f.fd = (int)r;
	symtab.lookup = &l;
	symtab.window_fd = -1;
	r = elf_begin(&l.f) ? 0 : -ENOEXEC;
	if (r == 0) {
		u64 ignored;
		const char *head = estruct(&l.f, EHDR, 0, esizes[EHDR][l.f.wide], 0);
		bool moves = !head || efield(&l.f, head, E_TYPE) != ET_EXEC;

		elf_loads(&l.f);
		l.ino = st.st_ino;
		l.stripped = !symbols_section(&l.f, &l.f, SHT_SYMTAB, &ignored, &ignored);
		lookup_section(&l, SHT_SYMTAB);
		if (!l.found)
			lookup_section(&l, SHT_DYNSYM);
		r = place_make(&l, pid, moves, to);
	}
	sys_close(l.f.fd);
	symtab.window_fd = -1;
	symtab.lookup = NULL;
	return r;
}

/* Parses a line of /proc/kallsyms, and passes the address to lookup_add() if the symbol has the
 * name l->name. Symbols of modules never match, because their lines end with the name of the
 * module. */
static void kernel_line(struct str line)
{
	struct lookup *l = symtab.lookup;
	u64 addr;

	if (!scan_hex(&line, &addr) || str_len(line) < 4)
		return;
	line.p += 3;
	if (!str_eq(line, l->name))
		return;
	lookup_add(l, addr, 1);
}

/* Stores the address of a kernel symbol in *address. Returns 0 or -errno: EACCES: the kernel hides
 * the address; ENXIO: the kernel has no such symbol; ENOTUNIQ: several symbols have this name. */
long symbol_kernel(struct str name, u64 *address)
{
	struct lookup l = { .name = name };

	symtab.lookup = &l;
	each_line("kallsyms", kernel_line);
	symtab.lookup = NULL;
	*address = l.value;
	return !l.found ? -ENXIO : !l.value ? -EACCES : l.found > 1 ? -ENOTUNIQ : 0;
}

static struct symbol_tables symbol_tables = {
	.text = TABLE_ROW(symtab.text, MAX_TEXT, 1 << 16, "bytes of names"),
	.window = TABLE_ROW(symtab.window, WINDOW, WINDOW, "bytes of a program"),
	.ksyms = TABLE_ROW(symtab.ksyms, MAX_KSYMS, 4096, "kernel symbols"),
	.files = TABLE_ROW(symtab.files, MAX_FILES, 32, "programs and libraries"),
	.syms = TABLE_ROW(symtab.syms, MAX_SYMS, 4096, "symbols"),
	.maps = TABLE_ROW(symtab.maps, MAX_MAPS, 512, "mappings"),
	.procs = TABLE_ROW(symtab.procs, MAX_PROCS, 256, "tasks"),
	.cache = TABLE_ROW(symtab.cache, CACHE, 1 << 10, "addresses"),
};
