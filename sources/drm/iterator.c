/* iterator.c - all descriptors of GPU nodes, of all processes, from the kernel in few reads: a BPF
 * program for the kernel's iterator of descriptors (task_file, Linux 5.8), which runs for each
 * descriptor of each process. A full scan of /proc takes a system call for each of them.
 *
 * The program needs the offsets of a few members of the kernel's structures. They are read from the
 * kernel's type information (BTF, Documentation/bpf/btf.rst). The kernel verifies the program: a
 * wrong offset is refused, and then /proc is scanned. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/drm/drm.h"
#include "sys.h"

/* One record that the BPF program writes through the iterator: the process pid holds the GPU node
 * rdev through the descriptor fd. */
struct held {
	u32 pid, fd, rdev, zero;
	u64 start; /* start time of the process, in ns since boot */
};

enum {
	/* size of the pieces, in bytes, in which type information (BTF) is read if it cannot be
	 * mapped */
	PIECE = 64 << 10,
	/* the iterator is used if there are at least so many processes: with fewer, a full scan of
	 * /proc takes no longer (docs/cost.md) */
	FEW = 150,
	/* maximum number of reads of the iterator that return EAGAIN, which means that the kernel
	 * has checked a million descriptors without a record */
	RETRIES = 10000,
	MAX_RECORDS = 1 << 18,
};

/* The BPF iterator of this run. fd: descriptor of the iterator, which can be read only once; -1:
 * the iterator is not loaded, or was read. rows: the records that were read; before that, the
 * memory serves as buffer for type information (BTF). */
static struct {
	int fd;
	struct iterator_state state;
	struct held *rows;
	struct table table;
} iterator = {
	.fd = -1,
	.state.reason = "not tried",
	.table = TABLE_ROW(iterator.rows, MAX_RECORDS, PIECE / sizeof(struct held) + 1,
			   "descriptors of GPU nodes"),
};

/* --- type information ------------------------------------------------------------------------- */

/* A part of the kernel's file of type information (BTF). The bytes from p to e are in memory; the
 * bytes of the file from the offset `at` to the offset `end` still have to be read. */
struct pieces {
	const u8 *p, *e;
	u8 *buffer; /* buffer for PIECE bytes of the file of type information */
	u64 at, end;
	int fd;
};

/* Reads more of the file of type information, so that at least n bytes (at most PIECE) are in
 * memory. False if the file ends before, or a read fails. sysfs returns one page per call. */
static bool pieces_fill(struct pieces *s, size_t n)
{
	size_t have = (size_t)(s->e - s->p);

	if (s->end - s->at < n - have)
		return false;
	memmove(s->buffer, s->p, have);
	s->p = s->buffer;
	while (have < PIECE && s->at < s->end) {
		u64 left = s->end - s->at;
		size_t room = PIECE - have, some = left < room ? (size_t)left : room;
		long r = sys_pread(s->fd, s->buffer + have, some, s->at);

		if (r <= 0)
			return false;
		have += (size_t)r;
		s->at += (u64)r;
	}
	s->e = s->buffer + have;
	return true;
}

/* Returns the address of the next n bytes of type information, and moves behind them; NULL if fewer
 * are left. */
static const u8 *pieces_take(struct pieces *s, size_t n)
{
	const u8 *p;

	if ((size_t)(s->e - s->p) < n && !pieces_fill(s, n))
		return NULL;
	p = s->p;
	s->p += n;
	return p;
}

static inline bool pieces_skip(struct pieces *s, u64 n)
{
	u64 have = (u64)(s->e - s->p);

	if (n <= have) {
		s->p += n;
		return true;
	}
	if (n - have > s->end - s->at)
		return false;
	s->p = s->e;
	s->at += n - have;
	return true;
}

/* Names in the kernel's type information (BTF) that are searched for: of a function, of structures
 * and of their members. */
enum name { N_FUNCTION, N_FILE, N_INODE, N_TASK, N_F_INODE, N_MODE, N_RDEV, N_TGID, N_PID, N_START,
	    NAMES };
static const struct str names[NAMES] = {
	[N_FUNCTION] = STR("bpf_iter_task_file"), [N_FILE] = STR("file"), [N_INODE] = STR("inode"),
	[N_TASK] = STR("task_struct"), [N_F_INODE] = STR("f_inode"), [N_MODE] = STR("i_mode"),
	[N_RDEV] = STR("i_rdev"), [N_TGID] = STR("tgid"), [N_PID] = STR("pid"),
	[N_START] = STR("start_boottime"),
};

/* The members of kernel structures whose offsets the BPF program needs. parent: index in names[] of
 * the structure's name; name: index in names[] of the member's name. */
enum needed { M_F_INODE, M_MODE, M_RDEV, M_TGID, M_PID, M_START, MEMBERS };
static const struct {
	u8 parent, name;
} members[MEMBERS] = {
	[M_F_INODE] = { N_FILE, N_F_INODE }, [M_MODE] = { N_INODE, N_MODE },
	[M_RDEV] = { N_INODE, N_RDEV }, [M_TGID] = { N_TASK, N_TGID },
	[M_PID] = { N_TASK, N_PID }, [M_START] = { N_TASK, N_START },
};

enum {
	ALL_MEMBERS = (1 << MEMBERS) - 1,
	/* maximum number of anonymous members (structures and unions) of BTF that are searched in
	 * one pass over the types */
	MAX_NESTED = 16,
	/* maximum number of passes over all BTF types; each pass searches one level of anonymous
	 * members */
	DEPTH = 4,
	MAX_OFFSET = 32000, /* maximum offset of a member: a BPF instruction has 16 bits for it */
};

/* A BTF structure whose members are searched: one of names[], or an anonymous structure or union
 * inside of it. */
struct nested {
	/* id: number of the structure's BTF type; base: its offset in the named structure, in
	 * bytes */
	u32 id, base;
	/* index in names[] of the named structure that contains this one, or is this one */
	u8 parent;
};

struct layout {
	u32 names[NAMES]; /* offset of each of names[] in the strings of BTF; 0: not found */
	u32 function; /* number of the BTF type of the function bpf_iter_task_file; 0: not found */
	u32 found;        /* bit mask of the members that were found: 1 << enum needed */
	u16 offset[MEMBERS]; /* offset of each member in its structure, in bytes */
	/* now: structures whose members are searched in this pass over the BTF types; next:
	 * structures to search in the next pass */
	struct nested now[MAX_NESTED], next[MAX_NESTED];
	/* the structure that struct_find() has found by its name in the first pass */
	struct nested named;
	u8 nnow, nnext, nnames;
};

/* Returns the 32-bit word with index n of those at p. The header and the types of BTF consist of
 * such words, which are little-endian, as is the machine. */
static u32 word(const u8 *p, unsigned n)
{
	u32 v;

	memcpy(&v, p + (size_t)4 * n, 4);
	return v;
}

/* Returns the address of the first NUL from p on; e if there is none before e. Eight bytes are
 * compared at a time, because BTF has 150 000 strings, of 14 bytes on average. */
static inline const u8 *nul_find(const u8 *p, const u8 *e)
{
	const u64 ones = UINT64_C(0x0101010101010101);

	for (; e - p >= 8; p += 8) {
		u64 v;

		memcpy(&v, p, 8);
		v = (v - ones) & ~v & ones << 7;
		/* On a little-endian machine, the lowest bit set in v is in the byte of the first
		 * NUL. */
		if (v)
			return p + (__builtin_ctzll(v) >> 3);
	}
	while (p < e && *p)
		p++;
	return p;
}

/* Stores the offset `at` of the BTF string of `len` bytes at p in l->names if it is one of
 * names[]. */
static void string_take(struct layout *l, const u8 *p, size_t len, u32 at)
{
	for (size_t i = 0; i < NAMES; i++)
		if (len == str_len(names[i]) && *p == (u8)*names[i].p && !l->names[i] &&
		    memcmp(p, names[i].p, len) == 0) {
			l->names[i] = at;
			l->nnames++;
		}
}

/* Finds the offsets of names[] in the strings of BTF, each of which ends with a NUL. A string that
 * is longer than all names is skipped at any length. False if a name is missing. */
static bool strings_scan(struct layout *l, struct pieces *s)
{
	u32 at = 0, lengths = 0;

	for (size_t i = 0; i < NAMES; i++)
		lengths |= 1u << str_len(names[i]);
	while (l->nnames < NAMES) {
		const u8 *end = nul_find(s->p, s->e);
		size_t len = (size_t)(end - s->p);

		if (end == s->e && len == PIECE && s->p == s->buffer) {
			/* skip these bytes: they are a part of a string longer than the buffer */
			at += PIECE;
			s->p = s->e;
		} else if (end == s->e) {
			if (!pieces_fill(s, len + 1))
				return false;
		} else {
			if (len < 32 && lengths >> len & 1)
				string_take(l, s->p, len, at);
			at += (u32)len + 1;
			s->p = end + 1;
		}
	}
	return true;
}

/* Stores the offset of the BTF structure member m (struct btf_member) in l->offset if it is one of
 * members[]. If m is anonymous, its own members are searched in the next pass. */
static void member_take(struct layout *l, const struct nested *in, const u8 *m, bool bitfields)
{
	u32 bits = bitfields ? word(m, 2) & 0xffffff : word(m, 2);
	u64 at = in->base + (u64)bits / 8;

	if (bits % 8 || at > MAX_OFFSET)
		return;
	for (size_t i = 0; i < MEMBERS; i++)
		if (members[i].parent == in->parent && word(m, 0) == l->names[members[i].name] &&
		    !(l->found >> i & 1)) {
			l->offset[i] = (u16)at;
			l->found |= 1u << i;
		}
	if (word(m, 0) == 0 && l->nnext < MAX_NESTED)
		l->next[l->nnext++] = (struct nested){ word(m, 1), (u32)at, in->parent };
}

/* Reads the n members of a structure in BTF, and stores the offsets of those that are needed. False
 * if the type information is truncated. */
static bool struct_take(struct layout *l, struct pieces *s, const struct nested *in, u32 n,
			bool bitfields)
{
	while (n--) {
		const u8 *m = pieces_take(s, 12);

		if (!m)
			return false;
		member_take(l, in, m, bitfields);
	}
	return true;
}

/* Returns the structure to search that has this BTF type id or, if first is true, a name for which
 * members are needed; NULL if there is none. */
static const struct nested *struct_find(struct layout *l, u32 id, u32 name, bool first)
{
	for (u8 i = 0; i < l->nnow; i++)
		if (l->now[i].id == id)
			return &l->now[i];
	for (u8 i = N_FILE; first && i <= N_TASK; i++)
		if (name == l->names[i]) {
			l->named = (struct nested){ id, 0, i };
			return &l->named;
		}
	return NULL;
}

/* Reads all BTF types once. first: true: finds structures by their names; false: by the type ids of
 * anonymous members that the previous pass has found. Returns false if the types are truncated or
 * of an unknown kind. */
static bool types_scan(struct layout *l, struct pieces *s, bool first)
{
	/* Size of the data of each kind of BTF type after its first 12 bytes, which all kinds have:
	 * `fixed` bytes, then `part` bytes for each of its n elements. Kinds above 19 are
	 * unknown. */
	enum { STRUCT = 4, UNION = 5, FUNC = 12, KINDS = 20 };
	static const struct {
		u8 fixed, part;
	} kinds[KINDS] = {
		[1] = { 4, 0 }, [3] = { 12, 0 }, [STRUCT] = { 0, 12 }, [UNION] = { 0, 12 },
		[6] = { 0, 8 }, [13] = { 0, 8 }, [14] = { 4, 0 }, [15] = { 0, 12 },
		[17] = { 4, 0 }, [19] = { 0, 12 },
	};

	for (u32 id = 1; s->p < s->e || s->at < s->end; id++) {
		const struct nested *in = NULL;
		u32 info, kind, n, size;

		if (s->e - s->p < 12 && !pieces_fill(s, 12))
			return false;
		info = word(s->p, 1);
		kind = info >> 24 & 31;
		n = info & 0xffff;
		if (kind == 0 || kind >= KINDS)
			return false;
		if (kind == FUNC && word(s->p, 0) == l->names[N_FUNCTION])
			l->function = id;
		if (kind == STRUCT || kind == UNION)
			in = struct_find(l, id, word(s->p, 0), first);
		size = 12 + (in ? 0 : kinds[kind].fixed + n * kinds[kind].part);
		if (!pieces_skip(s, size) || (in && !struct_take(l, s, in, n, info >> 31)))
			return false;
	}
	return true;
}

/* Finds the offsets of all members[], and the BTF type of the function bpf_iter_task_file, in the
 * kernel's type information (BTF). map: address at which the `size` bytes of the file are mapped;
 * NULL: the file is read from fd through `buffer`, which has PIECE bytes. False if a member or the
 * function is missing, or if the type information is truncated or of an unknown form. */
static bool layout_find(struct layout *l, const u8 *map, int fd, u64 size, u8 *buffer)
{
	struct pieces head = { .p = buffer, .e = buffer, .buffer = buffer, .end = size, .fd = fd };
	struct pieces part;
	const u8 *h;
	/* begin, len: offset and length in the BTF file of the types, index 0, and of the strings,
	 * index 1 */
	u64 begin[2], len[2];

	memset(l, 0, sizeof(*l));
	if (map) {
		head.p = map;
		head.e = map + size;
		head.at = size;
	}
	h = pieces_take(&head, 24);
	if (!h || (word(h, 0) & 0xffffff) != 0x01eb9f || word(h, 1) < 24)
		return false;
	for (unsigned i = 0; i < 2; i++) {
		begin[i] = (u64)word(h, 1) + word(h, 2 + 2 * i);
		len[i] = word(h, 3 + 2 * i);
		if (begin[i] > size || len[i] > size - begin[i])
			return false;
	}
	for (unsigned i = 0; i <= DEPTH; i++) {
		unsigned section = i == 0;

		part = (struct pieces){ .buffer = buffer, .p = buffer, .e = buffer, .fd = fd,
					.at = begin[section],
					.end = begin[section] + len[section] };
		if (map) {
			part.p = map + begin[section];
			part.e = part.p + len[section];
			part.at = part.end;
		}
		if (i == 0 ? !strings_scan(l, &part) : !types_scan(l, &part, i == 1))
			return false;
		if (l->function && l->found == ALL_MEMBERS)
			return true;
		memcpy(l->now, l->next, sizeof(l->now));
		l->nnow = l->nnext;
		l->nnext = 0;
		if (i && !l->nnow)
			return false;
	}
	return false;
}

/* --- the program ------------------------------------------------------------------------------ */

/* A BPF instruction: Documentation/bpf/standardization/instruction-set.rst. It is defined here
 * because linux/bpf.h of old systems has no iterators. */
struct insn {
	/* regs: number of the destination register in bits 0 to 3, of the source register in bits 4
	 * to 7 */
	u8 code, regs;
	i16 off;
	i32 imm;
};
enum code {
	LOAD2 = 0x69, LOAD4 = 0x61, LOAD8 = 0x79, STORE4 = 0x63, STORE8 = 0x7b, SET4 = 0x62,
	MOVE = 0xbf, MOVE_IMM = 0xb7, ADD_IMM = 0x07, AND_IMM = 0x57, SHIFT_IMM = 0x77,
	IF_IMM = 0x15, UNLESS_IMM = 0x55, UNLESS = 0x5d, CALL = 0x85, EXIT = 0x95,
};
enum { BPF_SEQ_WRITE = 127, TO_END = INT16_MAX, MAX_INSNS = 48 };

struct program {
	struct insn code[MAX_INSNS];
	u16 n;
};

/* Appends an instruction to the BPF program. off: jump offset; TO_END: to the end of the
 * program. */
static void emit(struct program *p, u8 code, unsigned to, unsigned from, int off, i32 imm)
{
	p->code[p->n++] = (struct insn){ code, (u8)(to | from << 4), (i16)off, imm };
}

/* Makes the BPF program, which writes a struct held for each descriptor of a GPU node. The
 * program's argument (register r1) is struct bpf_iter__task_file, with the members meta, task, fd
 * and file, each of 8 bytes; task or file is NULL at the end of the iteration. Threads other than
 * the first one of a process are left out, because /proc/PID/fd shows the descriptors of the
 * process. */
static void program_make(struct program *p, const struct layout *l)
{
	enum { META = 0, TASK = 8, FD = 16, FILE = 24, R0 = 0, R1, R2, R3, CONTEXT = 6, PROCESS,
	       OPEN, STACK = 10 };
	const int at = -(int)sizeof(struct held);

	p->n = 0;
	emit(p, MOVE, CONTEXT, R1, 0, 0);
	emit(p, LOAD8, PROCESS, R1, TASK, 0);
	emit(p, IF_IMM, PROCESS, 0, TO_END, 0);
	emit(p, LOAD8, OPEN, R1, FILE, 0);
	emit(p, IF_IMM, OPEN, 0, TO_END, 0);
	emit(p, LOAD8, R2, OPEN, l->offset[M_F_INODE], 0);
	emit(p, LOAD2, R1, R2, l->offset[M_MODE], 0);
	emit(p, AND_IMM, R1, 0, 0, S_IFMT);
	emit(p, UNLESS_IMM, R1, 0, TO_END, S_IFCHR);
	emit(p, LOAD4, R1, R2, l->offset[M_RDEV], 0);
	emit(p, STORE4, STACK, R1, at + (int)offsetof(struct held, rdev), 0);
	emit(p, SET4, STACK, 0, at + (int)offsetof(struct held, zero), 0);
	emit(p, SHIFT_IMM, R1, 0, 0, 20); /* the kernel's MAJOR(i_rdev) */
	emit(p, IF_IMM, R1, 0, 2, MAJOR_DRM);
	emit(p, IF_IMM, R1, 0, 1, MAJOR_ACCEL);
	emit(p, UNLESS_IMM, R1, 0, TO_END, MAJOR_NVIDIA);
	emit(p, LOAD4, R1, PROCESS, l->offset[M_TGID], 0);
	emit(p, LOAD4, R2, PROCESS, l->offset[M_PID], 0);
	emit(p, UNLESS, R1, R2, TO_END, 0);
	emit(p, STORE4, STACK, R1, at + (int)offsetof(struct held, pid), 0);
	emit(p, LOAD4, R1, CONTEXT, FD, 0);
	emit(p, STORE4, STACK, R1, at + (int)offsetof(struct held, fd), 0);
	emit(p, LOAD8, R1, PROCESS, l->offset[M_START], 0);
	emit(p, STORE8, STACK, R1, at + (int)offsetof(struct held, start), 0);
	emit(p, LOAD8, R1, CONTEXT, META, 0);
	emit(p, LOAD8, R1, R1, 0, 0); /* meta->seq */
	emit(p, MOVE, R2, STACK, 0, 0);
	emit(p, ADD_IMM, R2, 0, 0, at);
	emit(p, MOVE_IMM, R3, 0, 0, sizeof(struct held));
	emit(p, CALL, 0, 0, 0, BPF_SEQ_WRITE);
	for (u16 i = 0; i < p->n; i++)
		if (p->code[i].off == TO_END)
			p->code[i].off = (i16)(p->n - i - 1);
	emit(p, MOVE_IMM, R0, 0, 0, 0);
	emit(p, EXIT, 0, 0, 0, 0);
}

/* Loads the BPF program and opens the iterator. Returns the iterator's descriptor, or -errno.
 * licence: the kernel permits only a program with a GPL-compatible licence to read kernel
 * structures. */
static long program_load(const struct program *p, u32 function)
{
	enum { PROG_LOAD = 5, LINK_CREATE = 28, ITER_CREATE = 33, TRACING = 26, TRACE_ITER = 28 };
	static const char licence[] = "Dual MIT/GPL";
	/* The first members of the kernel's union bpf_attr for bpf(2) with PROG_LOAD, LINK_CREATE
	 * and ITER_CREATE. */
	struct {
		u32 type, n;
		u64 code, licence;
		u32 log_level, log_size;
		u64 log;
		u32 version, flags;
		char name[16];
		u32 ifindex, attach_type, btf_fd, func_size;
		u64 func;
		u32 func_n, line_size;
		u64 line;
		u32 line_n, attach_id;
	} load = { .type = TRACING, .n = p->n, .code = (uintptr_t)p->code,
		   .licence = (uintptr_t)licence, .name = "gpustat", .attach_type = TRACE_ITER,
		   .attach_id = function };
	struct { u32 program, target, attach_type, flags; } attach = { .attach_type = TRACE_ITER };
	struct { u32 link, flags; } open = { 0 };
	long program = sys_bpf(PROG_LOAD, &load, sizeof(load)), link, r;

	if (program < 0)
		return program;
	attach.program = (u32)program;
	r = link = sys_bpf(LINK_CREATE, &attach, sizeof(attach));
	sys_close((int)program);
	if (link < 0)
		return r;
	open.link = (u32)link;
	r = sys_bpf(ITER_CREATE, &open, sizeof(open));
	sys_close((int)link);
	return r;
}

/* Finds the offsets of the needed members in the kernel's file of type information (BTF), which is
 * open as fd. Maps the file, which works from Linux 6.16 on, or else reads it in pieces. False if
 * an offset is not found. */
static bool layout_read(struct layout *l, int fd)
{
	struct stat st;
	void *map;
	long error;
	bool found;

	if (sys_fstat(fd, &st) < 0 || st.st_size <= 0 || !table_has(&iterator.table, 0))
		return false;
	map = sys_mmap_at(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0, &error);
	found = layout_find(l, error ? NULL : map, fd, (u64)st.st_size, (u8 *)iterator.rows);
	if (!error)
		sys_munmap(map, (size_t)st.st_size);
	return found;
}

/* --- conditions for the use of the iterator --------------------------------------------------- */

/* True if the kernel permits this process to load the BPF program: with CAP_BPF and CAP_PERFMON, or
 * with CAP_SYS_ADMIN, in the initial user namespace. CAP_SYS_PTRACE is required, too: without it,
 * gpustat must report how many processes it may not read, which only a scan of /proc can count. */
static bool may_load(void)
{
	enum { SYS_ADMIN = 21, PERFMON = 38, BPF = 39 }; /* numbers of linux/capability.h */
	struct sys_caps caps[2] = { { 0 } };

	return privilege_has(MAY_PTRACE) && sys_capget(caps) >= 0 &&
	       (caps[0].effective >> SYS_ADMIN & 1 ||
		(caps[1].effective >> (PERFMON - 32) & caps[1].effective >> (BPF - 32) & 1)) &&
	       namespace_is_inner(AT_FDCWD, "/proc/self/ns/user", "user:[4026531837]") == 0;
}

/* Returns the reason not to use the BPF iterator: /proc shows other processes than the iterator, or
 * a scan of /proc takes no longer. NULL if there is none. The number of processes is estimated from
 * st_nlink of /proc. */
static const char *unfit_reason(bool always, bool no_node)
{
	struct statfs fs;
	struct stat st;

	if (!always && sys_fstatat(AT_FDCWD, "/proc", &st) == 0 && st.st_nlink < FEW)
		return "there are few processes";
	if (sys_statfs("/proc", &fs) < 0 || (u32)fs.f_type != PROC_SUPER_MAGIC ||
	    namespace_is_inner(AT_FDCWD, "/proc/self/ns/pid", "pid:[4026531836]") != 0)
		return "/proc is not that of the initial pid namespace";
	return no_node || any_node() ? NULL : "there is no device node";
}

static void iterator_open(void)
{
	struct iterator_state *s = &iterator.state;
	struct program p;
	struct layout l;
	long fd = sys_openat(AT_FDCWD, "/sys/kernel/btf/vmlinux", O_RDONLY);

	s->reason = "/sys/kernel/btf/vmlinux";
	s->error = fd;
	if (fd < 0)
		return;
	s->error = layout_read(&l, (int)fd) ? 0 : -ENODATA;
	sys_close((int)fd);
	if (s->error < 0)
		return;
	program_make(&p, &l);
	s->reason = "bpf";
	s->error = program_load(&p, l.function);
	if (s->error < 0)
		return;
	iterator.fd = (int)s->error;
	s->error = 0;
	s->reason = NULL;
}

/* Loads the BPF iterator for the next full scan. Must be called before sandbox_enter(). always:
 * true: also if there are few processes; no_node: true: also if /dev has no node of a device. */
void iterator_load(bool always, bool no_node)
{
	u8 was;

	iterator.state.reason = unfit_reason(always, no_node);
	if (iterator.state.reason)
		return;
	was = privilege_raise(MAY_BPF | MAY_READ);
	iterator.state.denied = !may_load();
	iterator.state.reason = "requires CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE";
	if (!iterator.state.denied)
		iterator_open();
	privilege_lower(was);
}

const struct iterator_state *iterator_state(void)
{
	return &iterator.state;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads all records of the BPF iterator into iterator.rows. Returns their number, or -errno. */
static long records_read(void)
{
	/* bytes per read(2) of the iterator, of which the kernel returns at most 32 KiB */
	enum { STEP = 64 << 10 };
	size_t n = 0;
	unsigned left = RETRIES;
	long r;

	do {
		if (!table_has(&iterator.table, (n + STEP) / sizeof(struct held)))
			return -ENOMEM;
		r = sys_read(iterator.fd, (char *)iterator.rows + n, STEP);
		fileio.calls++;
		n += r > 0 ? (size_t)r : 0;
	} while (r > 0 || ((r == -EAGAIN || r == -EINTR) && left--));
	return r < 0 ? r : n % sizeof(struct held) ? -EIO : (long)(n / sizeof(struct held));
}

/* True if the process in a record still has the pid. start: start time of the process that has the
 * pid now, in clock ticks of 10 ms, as in /proc. */
static bool is_same_process(const struct held *r, u64 start)
{
	return start == r->start / 10000000;
}

/* Scans all descriptors of a process in /proc, because the records of the BPF iterator are about an
 * older process with the same pid. */
static void process_scan(u32 pid)
{
	static struct fd_scan l;

	fd_scan_begin(&l, pid, l.d.b, sizeof(l.d.b));
	while (fd_scan_step(&l))
		;
	fd_scan_end(&l, true);
}

/* Adds the clients that the n records of one process show. If the process has ended, ignores the
 * records; if another process has got the pid, scans that process in /proc. */
static void process_take(const struct held *r, size_t n)
{
	u64 start;

	if (process_filter && !process_filter(r->pid))
		return;
	start = task_start(r->pid);
	if (start == UINT64_MAX)
		return;
	if (!is_same_process(r, start)) {
		process_scan(r->pid);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (!descriptor_found(r[i].pid, r[i].fd, r[i].rdev >> 20, r[i].rdev & 0xfffff)) {
			registry.unreadable++;
			return;
		}
}

/* Finds all clients through the BPF iterator. False if the iterator is not loaded or was read
 * before, or if reading it failed. */
bool iterator_scan(void)
{
	long n;

	if (iterator.fd < 0)
		return false;
	n = records_read();
	sys_close(iterator.fd);
	iterator.fd = -1;
	if (n < 0) {
		iterator.state.reason = "read";
		iterator.state.error = n;
		return false;
	}
	for (size_t i = 0, end; i < (size_t)n; i = end) {
		const struct held *first = &iterator.rows[i];

		for (end = i + 1; end < (size_t)n && iterator.rows[end].pid == first->pid;)
			end++;
		process_take(first, end - i);
	}
	/* the processes of other users are visible to gpustat, because the iterator reports those
	 * of all users */
	registry.saw_others = true;
	return true;
}
