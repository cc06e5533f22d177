/* symbols.c - whose code an address is: what processes have mapped, the symbols of these files and of the
 * kernel. Files are read in windows and never mapped: who changes one while we read it gets wrong names,
 * but no signal comes of it. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

enum {
	MAX_PROCS = 32769,     /* tasks: pid_max where nobody raised it */
	MAX_MAPS = 65537,      /* a thousand processes with 65 executable maps each */
	MAX_FILES = 1025,      /* each keeps a descriptor; a desktop runs some 500 programs and libraries */
	MAX_KSYMS = 1 << 18,   /* functions of a distribution's kernel with its modules: 150 000 */
	MAX_SYMS = 3 << 17,    /* of all files that samples hit: libLLVM has 35 000 functions, cc1 27 000 */
	MAX_TEXT = 10 << 20,   /* the kernel's names: 3 to 6 MB; of others, those that were hit */
	MAX_LOADS = 8,         /* executable segments of a file; linkers make one or two */
	MAX_PHDRS = 256, MAX_SHDRS = 1 << 16,
	MAX_SYMBOL = 4096,     /* bytes of a name; longer ones are cut */
	MAX_UNSIZED = 1 << 16, /* bytes that a symbol without a size has at most */
	CACHE = 1 << 15,       /* addresses: 20 s of a compiler at 10 kHz have 74 000, but few of them often */
	WINDOW = 1 << 16,
	TASK_COMM = 16,
};

u32 symbols_dropped, symbols_far;
bool symbols_hidden;
void (*symbols_found)(const struct prec *r);

/* --- texts -------------------------------------------------------------------------------------------------- */

static char *text;
static TABLE(text, MAX_TEXT, 1 << 16, "bytes of names");
static u32 text_n = 1;

/* A copy that lasts, and ends in a NUL; 0 where there is no room. */
static u32 text_add(struct str s)
{
	u32 at = text_n;
	size_t n = str_len(s);

	if (!table_has(&text_table, text_n + n)) {
		symbols_dropped++;
		return 0;
	}
	if (n)
		memcpy(text + at, s.p, n);
	text[at + n] = '\0';
	text_n += (u32)n + 1;
	return at;
}

static u32 hash_of(u64 a, u64 b)
{
	u64 x = (a ^ b * 0x9e3779b97f4a7c15) * 0xff51afd7ed558ccd; /* constants of MurmurHash3's fmix64 */

	return (u32)(x >> 32 ^ x >> 48);
}

/* --- windows of files ----------------------------------------------------------------------------------------- */

static char *window;
static TABLE(window, WINDOW, WINDOW, "bytes of a program");
static int window_fd = -1; /* -1: it holds nothing of a file */
static u64 window_at;
static size_t window_n;

/* What an open file has at that place, n bytes or more; nothing where it ends before. */
static struct str bytes_at(int fd, u64 at, size_t n)
{
	long r;

	if (fd != window_fd || at < window_at || at - window_at > window_n || window_n - (at - window_at) < n) {
		window_fd = -1;
		if (at > INT64_MAX - WINDOW || !table_has(&window_table, WINDOW - 1))
			return (struct str){ 0 };
		r = sys_pread(fd, window, WINDOW, at);
		if (r < 0)
			return (struct str){ 0 };
		window_fd = fd;
		window_at = at;
		window_n = (size_t)r;
		if (window_n < n)
			return (struct str){ 0 };
	}
	return (struct str){ window + (at - window_at), window + window_n };
}

/* --- symbols, sorted by address --------------------------------------------------------------------------------- */

/* The two highest bits of the size are its rank among symbols of the same address. */
struct sym {
	u64 addr;
	u32 size;
	u32 name; /* in `text` where IN_TEXT is set, else in the file's string table */
};
enum { RANK_SHIFT = 30, SIZE_MASK = (1 << RANK_SHIFT) - 1 };
#define IN_TEXT 0x80000000u

static int sym_cmp(const struct sym *x, const struct sym *y)
{
	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	return x->name < y->name ? 1 : x->name > y->name ? -1 : 0;
}

/* Shell's sort: in place, no slower than libc's, which is 2 KB; quick on what is nearly sorted, as the kernel's are. Steps of
 * 3h + 1, as Knuth has them, have no common divisor: n^1.5 at worst, whoever wrote the file. */
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

/* A symbol without a size ends where the next one begins. */
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

/* The symbol that an address is in, the innermost: functions may stand inside others. */
static struct sym *sym_at(struct sym *s, size_t n, u64 addr)
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

/* --- the kernel's ------------------------------------------------------------------------------------------------- */

static struct sym *ksyms;
static TABLE(ksyms, MAX_KSYMS, 4096, "kernel symbols");
static u32 nksyms;
static bool kernel_read, kernel_unsorted;
static bool kernel_partial; /* some found no room: no more are kept */
static u32 kernel_space = 1, spaces = 1; /* see the cache */

/* One more than a digit's value, counted from '0' on; 0: it is none. */
static const u8 hexdigit[] = {
	1, 2, 3, 4, 5, 6, 7, 8, 9, 10, ['A' - '0'] = 11, 12, 13, 14, 15, 16, ['a' - '0'] = 11, 12, 13, 14, 15, 16,
};

/* Digits to base 16, as many as there are; false where there is none. */
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

	if (kernel_partial || !table_has(&ksyms_table, nksyms) || (at = text_add(name)) == 0) {
		kernel_partial = true;
		symbols_dropped++;
		return;
	}
	if (size > SIZE_MASK)
		size = SIZE_MASK;
	ksyms[nksyms++] = (struct sym){ addr, (u32)size | (u32)rank << RANK_SHIFT, at | IN_TEXT };
}

/* A line of kallsyms: address, type, name, and of a module's symbol a tab and [module]. Only code is kept.
 * Of several at one address, a global one is best, then one that needs no underscore. */
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
		symbols_hidden = true;
		return;
	}
	ksym_add(addr, 0, (u8)((*line.p != '_') << 1 | (type == 'T')), line);
}

/* Calls line() for each line of a file below --proc; one without end is passed over. Reads into the window. */
static void each_line(const char *path, void (*line)(struct str))
{
	u8 was = privilege_raise(MAY_LOOK | MAY_SYMBOLS);
	size_t n = 0;
	long fd = sys_openat(root_proc, path, O_RDONLY | O_NONBLOCK), r;

	window_fd = -1;
	while (fd >= 0 && table_has(&window_table, WINDOW - 1) &&
	       ((r = sys_read((int)fd, window + n, WINDOW - n)) > 0 || r == -EINTR)) {
		struct str all = { window, window + n + (r > 0 ? r : 0) };
		const char *nl;

		while (all.p < all.e && (nl = memchr(all.p, '\n', str_len(all))) != NULL) {
			line((struct str){ all.p, nl });
			all.p = nl + 1;
		}
		n = str_len(all);
		memmove(window, all.p, n);
		if (n == WINDOW)
			break;
	}
	if (fd >= 0)
		sys_close((int)fd);
	privilege_lower(was);
}

static void kernel_load(void)
{
	u32 n = text_n;

	if (!kernel_read) {
		kernel_read = kernel_unsorted = true;
		each_line("kallsyms", kallsyms_line);
		symbols_hidden = symbols_hidden || (!nksyms && !kernel_partial);
		if (kernel_partial) { /* with a part of the symbols, addresses would get the names of others */
			nksyms = 0;
			text_n = n;
		}
	}
	if (kernel_unsorted)
		syms_sort(ksyms, nksyms);
	kernel_unsorted = false;
}

/* Code that came while we watched: BPF programs, trampolines. */
static void kernel_add(const struct prec *r)
{
	if (!kernel_read || r->flags & 1) /* PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER */
		return;
	ksym_add(r->at, r->len, 3, r->name);
	kernel_unsorted = true;
	kernel_space = ++spaces;
}

/* The kernel's own text as `perf record` puts it into its files; false where we may not know. */
bool symbols_kernel(struct prec *r)
{
	u64 from = 0, to = 0;

	kernel_load();
	for (u32 i = 0; i < nksyms; i++) {
		const char *name = text + (ksyms[i].name & ~IN_TEXT);

		if (strcmp(name, "_text") == 0)
			from = ksyms[i].addr;
		else if (strcmp(name, "_etext") == 0)
			to = ksyms[i].addr;
	}
	*r = (struct prec){ .type = PR_MMAP, .misc = PM_KERNEL, .mode = PM_KERNEL, .who = UINT32_MAX, .at = from,
			    .len = to - from, .pgoff = from, .name = STR("[kernel.kallsyms]_text") };
	return from && to > from;
}

/* --- files ---------------------------------------------------------------------------------------------------------- */

static struct file {
	struct str path;
	u64 ino;
	u32 major, minor;
	u32 next;         /* in its bucket */
	int fd;
	u32 asked;        /* the process through which it was looked for last */
	bool wide, big, thumb;
	bool fresh;       /* it was mapped while we watched */
	bool far;         /* counted in symbols_far */
	u8 nloads;
	struct load {
		u64 offset, vaddr, size;
	} loads[MAX_LOADS];
	u32 first, count; /* in syms */
	u64 names, names_n; /* string table: place and length */
} *files;
static TABLE(files, MAX_FILES, 32, "programs and libraries");
static u32 nfiles, file_buckets[1024];

static struct sym *syms;
static TABLE(syms, MAX_SYMS, 4096, "symbols");
static u32 nsyms;

/* Where the fields that we read stand: in 32-bit files, in 64-bit files. elf(5). */
enum efield {
	E_MACHINE, E_PHOFF, E_SHOFF, E_PHENTSIZE, E_PHNUM, E_SHENTSIZE, E_SHNUM,
	P_TYPE, P_FLAGS, P_OFFSET, P_VADDR, P_FILESZ,
	SH_TYPE, SH_OFFSET, SH_SIZE, SH_LINK,
	ST_NAME, ST_INFO, ST_SHNDX, ST_VALUE, ST_SIZE,
};
static const struct { u8 at[2], n[2]; } efields[] = {
	[E_MACHINE] = { { 18, 18 }, { 2, 2 } },
	[E_PHOFF] = { { 28, 32 }, { 4, 8 } },     [E_SHOFF] = { { 32, 40 }, { 4, 8 } },
	[E_PHENTSIZE] = { { 42, 54 }, { 2, 2 } }, [E_PHNUM] = { { 44, 56 }, { 2, 2 } },
	[E_SHENTSIZE] = { { 46, 58 }, { 2, 2 } }, [E_SHNUM] = { { 48, 60 }, { 2, 2 } },
	[P_TYPE] = { { 0, 0 }, { 4, 4 } },        [P_FLAGS] = { { 24, 4 }, { 4, 4 } },
	[P_OFFSET] = { { 4, 8 }, { 4, 8 } },      [P_VADDR] = { { 8, 16 }, { 4, 8 } },
	[P_FILESZ] = { { 16, 32 }, { 4, 8 } },
	[SH_TYPE] = { { 4, 4 }, { 4, 4 } },       [SH_OFFSET] = { { 16, 24 }, { 4, 8 } },
	[SH_SIZE] = { { 20, 32 }, { 4, 8 } },     [SH_LINK] = { { 24, 40 }, { 4, 4 } },
	[ST_NAME] = { { 0, 0 }, { 4, 4 } },       [ST_INFO] = { { 12, 4 }, { 1, 1 } },
	[ST_SHNDX] = { { 14, 6 }, { 2, 2 } },     [ST_VALUE] = { { 4, 8 }, { 4, 8 } },
	[ST_SIZE] = { { 8, 16 }, { 4, 8 } },
};
enum { EHDR, PHDR, SHDR, SYM };
static const u8 esizes[][2] = { [EHDR] = { 52, 64 }, [PHDR] = { 32, 56 }, [SHDR] = { 40, 64 }, [SYM] = { 16, 24 } };

static u64 efield(const struct file *f, const char *p, u8 which)
{
	size_t n = efields[which].n[f->wide];
	u64 v = 0;

	p += efields[which].at[f->wide];
	for (size_t i = 0; i < n; i++)
		v |= (u64)(u8)p[i] << 8 * (f->big ? n - 1 - i : i);
	return v;
}

/* The i-th of some structures that stand `each` bytes apart; NULL where the file has no such. */
static const char *ething(const struct file *f, u8 what, u64 from, u64 each, u64 i)
{
	size_t n = esizes[what][f->wide];

	if (each < n || from > INT64_MAX || i > (INT64_MAX - from) / each)
		return NULL;
	return bytes_at(f->fd, from + i * each, n).p;
}

static void elf_loads(struct file *f, u64 from, u64 each, u64 n)
{
	for (u64 i = 0; i < n && i < MAX_PHDRS && f->nloads < MAX_LOADS; i++) {
		const char *p = ething(f, PHDR, from, each, i);

		if (!p)
			return;
		if (efield(f, p, P_TYPE) != 1 || !(efield(f, p, P_FLAGS) & 1)) /* PT_LOAD, PF_X */
			continue;
		f->loads[f->nloads++] = (struct load){ efield(f, p, P_OFFSET), efield(f, p, P_VADDR), efield(f, p, P_FILESZ) };
	}
}

static bool is_code(const struct file *f, u64 vaddr)
{
	for (u8 i = 0; i < f->nloads; i++)
		if (vaddr - f->loads[i].vaddr < f->loads[i].size)
			return true;
	return false;
}

/* A symbol of a file if it is a function, or a global label in code as assemblers leave them. */
static void elf_symbol(struct file *f, const char *p)
{
	u64 info = efield(f, p, ST_INFO), value = efield(f, p, ST_VALUE), size = efield(f, p, ST_SIZE);
	u64 type = info & 15, bind = info >> 4, section = efield(f, p, ST_SHNDX), name = efield(f, p, ST_NAME);
	u32 rank;

	/* STT_FUNC, STT_GNU_IFUNC; STT_NOTYPE that is not STB_LOCAL; SHN_UNDEF, SHN_ABS */
	if ((type != 2 && type != 10 && (type != 0 || bind == 0)) || !section || section == 0xfff1)
		return;
	if (f->thumb)
		value &= ~1ull;
	if (!is_code(f, value) || name >= f->names_n || name >= IN_TEXT)
		return;
	if (!table_has(&syms_table, nsyms)) {
		symbols_dropped++;
		return;
	}
	if (size > SIZE_MASK)
		size = SIZE_MASK;
	rank = (size ? 2u : 0u) | (bind == 1); /* STB_GLOBAL */
	syms[nsyms++] = (struct sym){ value, (u32)size | rank << RANK_SHIFT, (u32)name };
}

/* The symbols of the first section of that type; false where it gives none. */
static bool elf_section(struct file *f, u64 from, u64 each, u64 n, u64 type)
{
	const char *p = NULL;
	u64 at, count, link;

	for (u64 i = 0; i < n; i++) {
		p = ething(f, SHDR, from, each, i);
		if (!p)
			return false;
		if (efield(f, p, SH_TYPE) == type)
			break;
		p = NULL;
	}
	if (!p)
		return false;
	at = efield(f, p, SH_OFFSET);
	count = efield(f, p, SH_SIZE) / esizes[SYM][f->wide];
	link = efield(f, p, SH_LINK);
	p = link < n ? ething(f, SHDR, from, each, link) : NULL;
	if (!p)
		return false;
	f->names = efield(f, p, SH_OFFSET);
	f->names_n = efield(f, p, SH_SIZE);
	f->first = nsyms;
	for (u64 i = 0; i < count && (p = ething(f, SYM, at, esizes[SYM][f->wide], i)) != NULL; i++)
		elf_symbol(f, p);
	f->count = nsyms - f->first;
	syms_sort(syms + f->first, f->count);
	return f->count > 0;
}

static void elf_load(struct file *f)
{
	struct str head = bytes_at(f->fd, 0, esizes[EHDR][0]);
	const char *p = head.p;
	u64 from, each, n;

	if (!p || memcmp(p, "\177ELF", 4) != 0 || p[4] < 1 || p[4] > 2 || p[5] < 1 || p[5] > 2)
		return;
	f->wide = p[4] == 2;
	f->big = p[5] == 2;
	if (str_len(head) < esizes[EHDR][f->wide])
		return;
	f->thumb = efield(f, p, E_MACHINE) == 40; /* EM_ARM: Thumb functions have odd addresses */
	from = efield(f, p, E_SHOFF);
	each = efield(f, p, E_SHENTSIZE);
	n = efield(f, p, E_SHNUM);
	elf_loads(f, efield(f, p, E_PHOFF), efield(f, p, E_PHENTSIZE), efield(f, p, E_PHNUM));
	if (!from)
		return;
	if (!n && (p = ething(f, SHDR, from, each, 0)) != NULL)
		n = efield(f, p, SH_SIZE); /* more than e_shnum can say */
	if (n > MAX_SHDRS)
		n = MAX_SHDRS;
	if (!elf_section(f, from, each, n, 2)) /* SHT_SYMTAB, SHT_DYNSYM */
		elf_section(f, from, each, n, 11);
}

/* --- files that a server has ---------------------------------------------------------------------------------------- */

static struct {
	struct str path;
	u64 near[3];  /* devices of file systems that answer: of our root and working directory, and of a fresh file */
	bool listed;  /* there are mounts */
	bool rooted;  /* the root is one's */
	bool far;
} way;

static u64 device_of(u32 major_, u32 minor_)
{
	return (u64)major_ << 32 | minor_;
}

static bool is_near(u64 device)
{
	return device == way.near[0] || device == way.near[1] || device == way.near[2];
}

/* Whether a path leads through a mount point. mountinfo has a blank or '\\' as an octal number: any character will do for it. */
static bool leads_through(struct str path, struct str point)
{
	for (; point.p < point.e; path.p++, point.p++)
		if (*point.p == '\\')
			point.p += 3;
		else if (path.p >= path.e || *path.p != *point.p)
			return false;
	return path.p < path.e && (*path.p == '/' || path.p[-1] == '/');
}

/* proc_pid_mountinfo(5): id parent major:minor root point options... - type source options */
static void mount_line(struct str line)
{
	struct str kinds = STR("fuse* nfs* cifs smb3 9p virtiofs ceph afs lustre orangefs ocfs2 gfs2 autofs"), kind = STR(""), words[5], word;
	u64 major_ = 0, minor_ = 0;

	for (size_t i = 0; i < LEN(words); i++)
		str_word(&line, &words[i]);
	while (str_word(&line, &word) && !str_is(word, "-"))
		;
	str_word(&line, &word);
	str_cut(&words[2], ':', &kind);
	scan_u64(kind, &major_);
	scan_u64(words[2], &minor_);
	way.listed = true;
	way.rooted |= str_is(words[4], "/");
	if (leads_through(way.path, words[4]) && !is_near(device_of((u32)major_, (u32)minor_)))
		while (str_word(&kinds, &kind))
			way.far |= glob_match(kind, word, NULL);
}

static u64 known_device(int dir, const char *path)
{
	struct sys_known k;

	return sys_stat_known(dir, path, &k) < 0 ? 0 : device_of(k.dev[0], k.dev[1]);
}

/* Whether a look for the file below that root may ask a server of FUSE or a network, for which we would wait for ever if it does
 * not answer. One that let a process map the file just now answers, as does that of our own root or working directory. */
static bool is_far(const char *root, const char *mounts, const struct file *f)
{
	u64 device = known_device(root_proc, root);

	way.path = f->path;
	way.near[0] = known_device(AT_FDCWD, "/");
	way.near[1] = known_device(AT_FDCWD, ".");
	way.near[2] = f->fresh ? device_of(f->major, f->minor) : 0;
	way.listed = way.rooted = way.far = false;
	each_line(mounts, mount_line);
	/* A root that is a folder below some mount point is in no list: it has that mount's device, and a disk's has a number. */
	return way.far || (way.listed && !way.rooted && device && device <= UINT32_MAX && !is_near(device));
}

/* Opens a regular file, and nothing else: opening a device may have effects. The kernel's names are without
 * links, so one that is a link now was exchanged. `root`: "PID/root" or "self/root", `mounts`: its mountinfo; strict: it must be the
 * file that was mapped, while below another root overlays may number files in their own way. */
static int open_regular(const char *root, const char *mounts, struct file *f, bool strict)
{
	char path[64 + 4096], self[40];
	struct buf b = buf_on(path, sizeof(path) - 1), c = buf_on(self, sizeof(self) - 1);
	struct stat st;
	long probe, fd = -1;
	bool other;

	put_z(&b, root);
	put_str(&b, f->path);
	if (b.full)
		return -1;
	if (is_far(root, mounts, f)) {
		symbols_far += !f->far;
		f->far = true;
		return -1;
	}
	path[b.n] = '\0';
	probe = sys_openat(root_proc, path, O_PATH | O_NOFOLLOW);
	if (probe < 0)
		return -1;
	put_z(&c, "self/fd/");
	put_u64(&c, (u64)probe);
	self[c.n] = '\0';
	if (sys_fstat((int)probe, &st) == 0 && S_ISREG(st.st_mode)) {
		other = f->ino && st.st_ino != f->ino &&
			(strict || (major(st.st_dev) == f->major && minor(st.st_dev) == f->minor));
		if (!other)
			fd = sys_openat(root_proc, self, O_RDONLY | O_NONBLOCK);
	}
	sys_close((int)probe);
	return fd < 0 ? -1 : (int)fd;
}

/* The symbols of a file, once; where its process is gone already, from the same name in our own root, or when the next one
 * comes that has it. */
static void file_load(struct file *f, u32 pid)
{
	char root[TASK_PATH], mounts[TASK_PATH];

	f->asked = pid;
	task_path(root, pid, "/root");
	task_path(mounts, pid, "/mountinfo");
	if (f->path.p == f->path.e || *f->path.p != '/' || str_find(f->path, (struct str)STR("//")))
		return;
	f->fd = open_regular(root, mounts, f, false);
	if (f->fd < 0)
		f->fd = open_regular("self/root", "self/mountinfo", f, true);
	if (f->fd < 0)
		return;
	f->asked = UINT32_MAX;
	elf_load(f);
	if (!f->count) {
		sys_close(f->fd);
		window_fd = f->fd = -1; /* its number may be another file's soon */
	}
}

static u32 file_of(const struct prec *r)
{
	u32 *bucket = &file_buckets[(hash_more(HASH_BEGIN, r->name) ^ (u32)r->ino) % LEN(file_buckets)], i, at;

	for (i = *bucket; i; i = files[i].next)
		if (files[i].ino == r->ino && files[i].major == r->major && files[i].minor == r->minor &&
		    str_eq(files[i].path, r->name)) {
			files[i].fresh |= r->raw.p != NULL;
			return i;
		}
	if (!table_has(&files_table, nfiles + 1) || (at = text_add(r->name)) == 0) {
		symbols_dropped++;
		return NONE;
	}
	i = ++nfiles;
	files[i] = (struct file){ .path = { text + at, text + at + str_len(r->name) }, .ino = r->ino,
				  .major = r->major, .minor = r->minor, .next = *bucket, .fd = -1, .fresh = r->raw.p };
	*bucket = i;
	return i;
}

/* The name of a symbol: read when it is asked for the first time, since most never are. */
static struct str sym_name(const struct file *f, struct sym *y)
{
	struct str s;
	const char *nul;
	u32 at;

	if (!(y->name & IN_TEXT)) {
		s = bytes_at(f->fd, f->names + y->name, MAX_SYMBOL);
		if (!s.p)
			s = bytes_at(f->fd, f->names + y->name, 1);
		if (str_len(s) > f->names_n - y->name)
			s.e = s.p + (f->names_n - y->name);
		if (str_len(s) > MAX_SYMBOL)
			s.e = s.p + MAX_SYMBOL;
		nul = s.p < s.e ? memchr(s.p, '\0', str_len(s)) : NULL;
		if (nul)
			s.e = nul;
		at = text_add(s);
		if (!at)
			return (struct str){ 0 };
		y->name = at | IN_TEXT;
	}
	return str_z(text + (y->name & ~IN_TEXT));
}

/* Of several names for one place, the one that needs no underscore: malloc rather than __libc_malloc. */
static struct str file_symbol(const struct file *f, struct sym *y)
{
	struct str best = sym_name(f, y);

	for (u32 i = 1; i < 8 && y - i >= syms + f->first && y[-(i32)i].addr == y->addr; i++) {
		struct str s = sym_name(f, &y[-(i32)i]);

		if (best.p < best.e && *best.p != '_')
			break;
		if (s.p < s.e && *s.p != '_')
			best = s;
	}
	return best;
}

/* --- tasks and what they have mapped ------------------------------------------------------------------------------------ */

static struct map {
	u64 start, end, pgoff;
	u32 next, file;
} *maps;
static TABLE(maps, MAX_MAPS, 512, "mappings");
static u32 nmaps, free_map;

/* A task: threads have a name, processes maps too. */
static struct proc {
	u32 id, next;  /* in its bucket */
	u32 maps;      /* the latest first: it hides those that it overlaps */
	u32 space;     /* the cache's name for its address space as it is now */
	u8 comm_n;
	bool mapped;   /* its maps are known, as far as they can be */
	bool dead, named;
	char comm[TASK_COMM];
} *procs;
static TABLE(procs, MAX_PROCS, 256, "tasks");
static u32 nprocs, proc_hand, proc_buckets[2048];

static void maps_free(struct proc *p)
{
	while (p->maps) {
		u32 m = p->maps;

		p->maps = maps[m].next;
		maps[m].next = free_map;
		free_map = m;
	}
	p->space = ++spaces;
}

static u32 map_new(void)
{
	u32 m;

	if (!free_map && table_has(&maps_table, nmaps + 1))
		return ++nmaps;
	for (u32 i = 1; !free_map && i <= nprocs; i++)
		if (procs[i].dead) {
			maps_free(&procs[i]);
			maps_table.dropped -= free_map != 0; /* there is room after all */
		}
	m = free_map;
	if (m)
		free_map = maps[m].next;
	else
		symbols_dropped++;
	return m;
}

static u32 *proc_bucket(u32 id)
{
	return &proc_buckets[hash_of(id, 0) % LEN(proc_buckets)];
}

static struct proc *proc_find(u32 id)
{
	u32 i = *proc_bucket(id);

	while (i && procs[i].id != id)
		i = procs[i].next;
	return i ? &procs[i] : NULL;
}

/* The place of a task that has ended; NONE where all live. */
static u32 proc_reuse(void)
{
	for (u32 n = 0; n < nprocs; n++) {
		u32 *link, i;

		proc_hand = proc_hand % nprocs + 1;
		i = proc_hand;
		if (!procs[i].dead)
			continue;
		maps_free(&procs[i]);
		for (link = proc_bucket(procs[i].id); *link != i; link = &procs[*link].next)
			;
		*link = procs[i].next;
		procs_table.dropped--; /* there is room after all */
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
	i = table_has(&procs_table, nprocs + 1) ? ++nprocs : proc_reuse();
	if (!i) {
		symbols_dropped++;
		return NULL;
	}
	p = &procs[i];
	*p = (struct proc){ .id = id, .next = *bucket, .space = ++spaces };
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

	/* What is hidden whole will not be seen again: nothing tells of unmapping. */
	while (*link) {
		m = *link;
		if (maps[m].start >= start && maps[m].end <= end) {
			*link = maps[m].next;
			maps[m].next = free_map;
			free_map = m;
		} else {
			link = &maps[m].next;
		}
	}
	m = map_new();
	p->space = ++spaces;
	if (!m)
		return;
	maps[m] = (struct map){ start, end, pgoff, p->maps, file };
	p->maps = m;
}

/* --- what /proc says of a task that was there before us ------------------------------------------------------------------- */

static struct proc *reading;
static u64 fed_time; /* of the last record: when what is found is told */

static void tell(struct prec *r)
{
	if (!symbols_found)
		return;
	r->have = PS_TID | PS_TIME;
	r->pid = r->who;
	r->tid = r->who_tid;
	r->time = fed_time;
	symbols_found(r);
}

/* proc_pid_maps(5): start-end perms offset major:minor inode path */
static void maps_line(struct str line)
{
	struct prec r = { .type = PR_MMAP2, .misc = PM_USER, .mode = PM_USER, .who = reading->id,
			  .who_tid = reading->id, .prot = 5, .flags = 2 }; /* PROT_READ | PROT_EXEC, MAP_PRIVATE */
	static const struct str anonymous = STR("//anon");
	u64 end, major_, minor_;
	struct str perms, word;

	if (!scan_hex(&line, &r.at) || !str_skip_z(&line, "-") || !scan_hex(&line, &end) ||
	    !str_word(&line, &perms) || str_len(perms) < 4 || perms.p[2] != 'x' || end <= r.at ||
	    !str_word(&line, &word) || !scan_hex(&word, &r.pgoff) || !str_word(&line, &word) ||
	    !scan_hex(&word, &major_) || !str_skip_z(&word, ":") || !scan_hex(&word, &minor_) ||
	    !str_word(&line, &word) || !scan_u64(word, &r.ino))
		return;
	r.len = end - r.at;
	r.major = (u32)major_;
	r.minor = (u32)minor_;
	r.name = str_trim(line);
	if (r.name.p == r.name.e)
		r.name = anonymous; /* as the kernel's records call it */
	map_add(reading, r.at, r.len, r.pgoff, file_of(&r));
	tell(&r);
}

/* A task by its name. */
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
	n = slurp(root_proc, path, b, sizeof(b));
	if (n <= 0)
		return p;
	r.name = (struct str){ b, b + n - (b[n - 1] == '\n') };
	proc_name(p, r.name);
	tell(&r);
	return p;
}

/* A process with its maps. */
static struct proc *proc_mapped(u32 pid)
{
	struct proc *p = proc_named(pid, pid);
	char path[TASK_PATH];

	if (!p || p->mapped)
		return p;
	p->mapped = true;
	reading = p;
	task_path(path, pid, "/maps");
	each_line(path, maps_line);
	return p;
}

/* Makes a task known that was there before; the name that it has. */
void symbols_task(u32 pid, u32 tid)
{
	proc_mapped(pid);
	proc_named(pid, tid);
}

struct str symbols_comm(u32 pid, u32 tid)
{
	const struct proc *p = tid ? proc_named(pid, tid) : NULL;

	if (!tid)
		return (struct str)STR("swapper");
	return p ? (struct str){ p->comm, p->comm + p->comm_n } : (struct str){ 0 };
}

/* --- records ------------------------------------------------------------------------------------------------------------------ */

static void feed_comm(const struct prec *r)
{
	struct proc *p = proc_get(r->who_tid);

	if (p)
		proc_name(p, r->name);
	p = r->misc & PM_EXEC ? proc_get(r->who) : NULL;
	if (p) {
		maps_free(p);
		p->mapped = true;
	}
}

static void feed_fork(const struct prec *r)
{
	bool thread = r->who == r->parent;
	struct proc *from = thread ? NULL : proc_mapped(r->parent), *name = proc_named(r->parent, r->parent_tid);
	struct proc *p = proc_get(r->who_tid);
	u32 first;

	if (!p)
		return;
	maps_free(p);
	p->dead = false;
	first = from && from != p ? from->maps : 0;
	p->mapped = first != 0; /* else /proc is asked, if it comes to that */
	p->named = false;
	if (name && name->comm_n)
		proc_name(p, (struct str){ name->comm, name->comm + name->comm_n });
	for (u32 m = first, *end = &p->maps; m; m = maps[m].next) {
		u32 copy = map_new();

		if (!copy)
			return;
		maps[copy] = maps[m];
		maps[copy].next = 0;
		*end = copy;
		end = &maps[copy].next;
	}
}

/* Whatever tells of names, maps and code: to be given each record in the order of time. */
void symbols_feed(const struct prec *r)
{
	struct proc *p;

	fed_time = r->have & PS_TIME ? r->time : fed_time;
	switch (r->type) {
	case PR_COMM:
		feed_comm(r);
		break;
	case PR_MMAP:
	case PR_MMAP2:
		/* Of the kernel's mapping nothing is kept; data has no symbols that a sample could hit. */
		if (r->mode != PM_USER || (r->type == PR_MMAP2 && !(r->prot & 4)) || (r->misc & PM_EXEC))
			break;
		p = proc_mapped(r->who);
		if (p)
			map_add(p, r->at, r->len, r->pgoff, file_of(r));
		break;
	case PR_FORK:
		feed_fork(r);
		break;
	case PR_EXIT:
		p = proc_find(r->who_tid);
		if (p)
			p->dead = true; /* other threads may live on with its maps */
		break;
	case PR_KSYMBOL:
		kernel_add(r);
		break;
	default:
		break;
	}
}

/* --- lookups ------------------------------------------------------------------------------------------------------------------- */

static struct cached {
	u64 ip, offset;
	u32 space; /* 0: empty */
	struct str symbol, module;
} *cache;
static TABLE(cache, CACHE, 1 << 10, "addresses");
static u32 misses; /* since it grew last: it is larger where more addresses come */

static void find_kernel(struct cached *c)
{
	struct sym *y;
	const char *tab;

	kernel_load();
	c->module = (struct str)STR("[kernel.kallsyms]");
	c->offset = c->ip;
	y = sym_at(ksyms, nksyms, c->ip);
	if (!y)
		return;
	c->symbol = str_z(text + (y->name & ~IN_TEXT));
	c->offset = c->ip - y->addr;
	tab = memchr(c->symbol.p, '\t', str_len(c->symbol));
	if (tab) {
		c->module = (struct str){ tab + 1, c->symbol.e };
		c->symbol.e = tab;
	}
}

/* In the file: by where the address lies in it, and which segment put it there. */
static void find_file(struct cached *c, struct file *f, u32 pid)
{
	c->module = f->path;
	if (f->asked != UINT32_MAX && f->asked != pid)
		file_load(f, pid);
	for (u8 i = 0; i < f->nloads; i++) {
		const struct load *l = &f->loads[i];
		struct sym *y;
		u64 vaddr = c->offset - l->offset + l->vaddr;

		if (c->offset - l->offset >= l->size)
			continue;
		y = sym_at(syms + f->first, f->count, vaddr);
		if (!y)
			continue;
		c->symbol = file_symbol(f, y);
		if (c->symbol.p < c->symbol.e) {
			c->offset = vaddr - y->addr;
			return;
		}
	}
}

static void find_user(struct cached *c, const struct proc *p)
{
	for (u32 m = p->maps; m; m = maps[m].next) {
		if (c->ip < maps[m].start || c->ip >= maps[m].end)
			continue;
		c->offset = c->ip - maps[m].start + maps[m].pgoff;
		if (maps[m].file)
			find_file(c, &files[maps[m].file], p->id);
		return;
	}
}

/* The function that an address is in, the file or kernel module that it belongs to, and how far behind the
 * function's start it is; without a function, in the file. False: no function is known. What is not known is
 * empty. All last as long as the program. */
bool symbol_find(u32 pid, u64 ip, u8 mode, struct str *symbol, struct str *module, u64 *offset)
{
	const struct proc *p = mode == PM_USER ? proc_mapped(pid) : NULL;
	u32 space = mode == PM_KERNEL ? kernel_space : p ? p->space : 0;
	u32 hash = hash_of(ip, space);
	struct cached *c;

	*symbol = *module = (struct str){ 0 };
	*offset = ip;
	if (!space || !table_has(&cache_table, 0))
		return false;
	c = &cache[hash % cache_table.ready];
	if (c->ip != ip || c->space != space) {
		if (++misses > cache_table.ready && cache_table.ready < CACHE) {
			misses = 0;
			table_has(&cache_table, cache_table.ready);
			cache_table.dropped = 0; /* where it cannot grow it takes more time, and nothing is lost */
			c = &cache[hash % cache_table.ready];
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

/* Reads the kernel's symbols now, some 50 ms, rather than for the first sample that wants them. They take most of the memory:
 * the other tables have their first step before. */
void symbols_preload(void)
{
	struct table *const others[] = { &procs_table, &maps_table, &files_table, &syms_table, &cache_table };

	for (size_t i = 0; i < LEN(others); i++)
		table_has(others[i], 0);
	kernel_load();
}
