/* names.c - names of devices: what their drivers report, amdgpu.ids and pci.ids, the device tree.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

enum {
	CHUNK_BYTES = 8192, /* a longer line is skipped; the longest one of pci.ids has 160 bytes */
	MAX_CHUNKS = 4096,  /* 32 MiB: pci.ids has 1.3; a file may have no end */
	PATH_BYTES = 512,
	VENDOR_BYTES = 32,
	ATI = 0x1002,       /* the vendor of all lines of amdgpu.ids */
	NO_VENDOR = 1 << 16,
};

/* PCI devices whose names are searched for, and the current section of pci.ids. */
struct lookup {
	const char *folder; /* of the ids files; NULL: where systems have them */
	u32 n, left; /* left: without a name yet */
	struct wanted {
		u32 device; /* NONE: it has its name */
		u16 vendor, id, revision;
	} wanted[MAX_DEVICES];
	u32 vendor; /* NO_VENDOR: no device of the section is wanted */
	char maker[VENDOR_BYTES]; /* the vendor's short name */
};

/* Returns as much of s as `most` bytes hold, in whole UTF-8 characters. */
static struct str text_cut(struct str s, size_t most)
{
	if (str_len(s) <= most)
		return s;
	for (s.e = s.p + most; s.e > s.p && ((u8)*s.e & 0xc0) == 0x80; s.e--)
		;
	return s;
}

/* Makes "MAKER NAME" the name of a device. */
static void name_set(struct device *d, const char *maker, struct str name)
{
	struct buf b = BUF_Z(d->name);

	put_z(&b, maker);
	if (b.n)
		put_c(&b, ' ');
	put_str(&b, text_cut(str_trim(name), b.cap - b.n));
	buf_z(&b);
}

/* --- ids files -------------------------------------------------------------------------------- */

/* Parses at most four hex digits at the front of s; s moves past them. Returns how many. */
static size_t take_id(struct str *s, u16 *id)
{
	const char *from = s->p;
	u32 v = 0;

	for (; s->p < s->e && s->p < from + 4; s->p++) {
		u8 digit = (u8)(*s->p - '0'), letter = (u8)((*s->p | 32) - 'a');

		if (digit > 9 && letter > 5)
			break;
		v = v << 4 | (digit <= 9 ? digit : letter + 10u);
	}
	*id = (u16)v;
	return (size_t)(s->p - from);
}

/* Returns whether s is a hex number of at most four digits. */
static bool is_id(struct str s, u16 *id)
{
	s = str_trim(s);
	return take_id(&s, id) && s.p == s.e;
}

/* Makes "MAKER vendor:device" the name of a device. */
static void name_set_id(const struct wanted *w, const char *maker)
{
	char text[sizeof("1002:744c") - 1];
	struct buf b = BUF(text);

	put_hex(&b, (u8)(w->vendor >> 8));
	put_hex(&b, (u8)w->vendor);
	put_c(&b, ':');
	put_hex(&b, (u8)(w->id >> 8));
	put_hex(&b, (u8)w->id);
	name_set(&devices[w->device], maker, (struct str){ text, text + b.n });
}

static void name_found(struct lookup *l, struct wanted *w, const char *maker, struct str name)
{
	name_set(&devices[w->device], maker, name);
	w->device = NONE;
	l->left--;
}

/* "744C,	C8,	AMD Radeon RX 7900 XTX": device, revision, name */
static void amdgpu_line(struct lookup *l, struct str line)
{
	struct str first, second;
	u16 id, revision;

	if (!str_cut(&line, ',', &first) || !str_cut(&line, ',', &second) || !is_id(first, &id) ||
	    !is_id(second, &revision) || !str_len(str_trim(line)))
		return;
	for (struct wanted *w = l->wanted; w < l->wanted + l->n; w++)
		if (w->device && w->vendor == ATI && w->id == id && w->revision == revision)
			name_found(l, w, "", line);
}

/* Sets the vendor's short name: what it has in brackets, else its words up to a comma, without the
 * kind of company: "AMD/ATI", "Intel", "Red Hat". */
static void maker_set(char maker[VENDOR_BYTES], struct str name)
{
	static const char kinds[] = "Corporation Corp. Corp Inc. Inc Limited Ltd. Co. LLC GmbH";
	struct str rest = name = str_trim(name), word, begin;
	const char *last;

	if (str_cut(&rest, '[', &word) && str_cut(&rest, ']', &word) && str_len(word)) {
		name = word;
	} else {
		rest = name;
		str_cut(&rest, ',', &name);
		for (last = name.e; last > name.p && last[-1] != ' '; last--)
			;
		begin = str_trim((struct str){ name.p, last });
		word = (struct str){ last, name.e };
		if (str_len(begin) && str_among(word, kinds) < str_among(LIT(""), kinds))
			name = begin;
	}
	str_copy(maker, VENDOR_BYTES, text_cut(name, VENDOR_BYTES - 1));
}

/* Begins the section of a vendor. Its devices get its name, since pci.ids may not have them. */
static void pci_vendor(struct lookup *l, u16 vendor, struct str name)
{
	l->vendor = NO_VENDOR;
	for (struct wanted *w = l->wanted; w < l->wanted + l->n; w++) {
		if (!w->device || w->vendor != vendor)
			continue;
		l->vendor = vendor;
		maker_set(l->maker, name);
		name_set_id(w, l->maker);
	}
}

/* "1002  Advanced Micro Devices, Inc. [AMD/ATI]" begins a vendor, "<tab>744c  Navi 31 [...]" is a
 * device of it, a line with two tabs is a subsystem. "C 03  Display controller" begins a class. */
static void pci_line(struct lookup *l, struct str line)
{
	bool indented = str_skip_z(&line, "\t");
	struct str text = str_trim(line);
	u16 id;

	if (text.p == text.e || *text.p == '#' ||
	    (indented && (*line.p == '\t' || l->vendor == NO_VENDOR)))
		return;
	if (take_id(&line, &id) != 4) {
		if (!indented)
			l->vendor = NO_VENDOR;
		return;
	}
	text.p = line.p;
	if (!indented)
		pci_vendor(l, id, text);
	for (struct wanted *w = l->wanted; indented && w < l->wanted + l->n; w++)
		if (w->device && w->vendor == l->vendor && w->id == id && str_len(str_trim(text)))
			name_found(l, w, l->maker, text);
}

typedef void line_fn(struct lookup *l, struct str line);

/* Calls line_do() for each line until all devices have a name. Returns -errno of the last read. */
static long lines_read(int fd, struct lookup *l, line_fn *line_do)
{
	char b[CHUNK_BYTES];
	struct str text = { b, b }, line;
	bool skips = false; /* the rest of a line that is too long */
	long r = 0;

	for (u32 i = 0; i < MAX_CHUNKS && l->left; i++) {
		size_t rest = str_len(text);

		memmove(b, text.p, rest);
		while ((r = sys_read(fd, b + rest, sizeof(b) - rest)) == -EINTR)
			;
		text = (struct str){ b, b + rest + (r > 0 ? r : 0) };
		if (r <= 0)
			break;
		while (l->left && line_next(&text, &line)) {
			if (!skips)
				line_do(l, line);
			skips = false;
		}
		skips |= str_len(text) == sizeof(b);
		if (skips)
			text.p = text.e;
	}
	if (r == 0 && l->left && str_len(text)) /* the last line has no newline */
		line_do(l, text);
	return r;
}

/* Returns whether the root is the kernel's: the machine's own files belong to it. */
static bool is_own(bool given, int root, u32 magic)
{
	struct statfs fs;

	return !given || (sys_fstatfs(root, &fs) == 0 && (u32)fs.f_type == magic);
}

/* Opens an ids file of the machine that is shown: in the folder of --ids; with --proc, below the
 * root of its process 1, as in a container that has the host's /proc; else this machine's own. A
 * captured tree has only its own files. Returns a descriptor, or -errno. */
static long ids_open(const char *folder, const char *path)
{
	char text[PATH_BYTES];
	struct buf b = BUF_Z(text);
	bool own = is_own(roots.proc_given, roots.proc, PROC_SUPER_MAGIC) &&
		   is_own(roots.sys_given, roots.sys, SYSFS_MAGIC);
	long r = -ENOENT;

	put_z(&b, folder ? folder : "1/root");
	put_z(&b, folder ? "/" : "");
	put_str(&b, folder ? str_base(str_z(path)) : str_z(path));
	if (!b.full && (folder || roots.proc_given))
		r = open_retry(folder ? AT_FDCWD : roots.proc, buf_z(&b),
			       O_RDONLY | O_NONBLOCK);
	return r < 0 && own && !folder ? open_retry(AT_FDCWD, path, O_RDONLY | O_NONBLOCK) : r;
}

static void ids_read(struct lookup *l, const char *const *paths, line_fn *line_do)
{
	for (; *paths && l->left; paths++) {
		long fd = files_note_error(ids_open(l->folder, *paths));

		l->vendor = NO_VENDOR;
		if (fd >= 0) {
			files_note_error(lines_read((int)fd, l, line_do));
			sys_close((int)fd);
		}
	}
}

/* --- devices ---------------------------------------------------------------------------------- */

/* Names a device of a board after its part of the device tree, and the board. */
static void board_name(u32 device)
{
	char text[sizeof(devices[0].name)], board[128];
	struct buf b = BUF(text);
	struct str line, part;

	if (!parse_uevent(sysfs_text(device, "uevent"), LIT("OF_COMPATIBLE_0"), &part))
		return;
	put_str(&b, text_cut(part, b.cap));
	if (b.cap - b.n > 8 &&
	    slurp_line(roots.proc, "device-tree/model", board, sizeof(board), &line)) {
		str_cut(&line, '\0', &part);
		put_z(&b, " (");
		put_str(&b, text_cut(part, b.cap - b.n - 1));
		put_c(&b, ')');
	}
	name_set(&devices[device], "", (struct str){ text, text + b.n });
}

/* Names a device after its own files, or adds it to those that ids files may name. */
static void device_lookup(struct lookup *l, u32 device)
{
	static const char *const leaves[] = { "product_name", "gpu_model", "gpuinfo" };
	struct device *d = &devices[device];
	struct wanted *w = &l->wanted[l->n];
	struct str id = str_z(d->name), line;

	*w = (struct wanted){ .device = device };
	if (id.p < id.e && (take_id(&id, &w->vendor) != 4 || !str_skip_z(&id, ":") ||
			    take_id(&id, &w->id) != 4 || id.p < id.e))
		return; /* the driver reported a name */
	for (size_t i = 0; i < LEN(leaves); i++) {
		struct str text = sysfs_text(device, leaves[i]);

		str_cut(&text, '\n', &line);
		if (str_len(str_trim(line))) {
			name_set(d, "", line);
			return;
		}
	}
	if (!d->name[0]) {
		board_name(device);
		return;
	}
	line = str_trim(sysfs_text(device, "revision"));
	str_skip_z(&line, "0x");
	take_id(&line, &w->revision);
	l->n++;
	l->left++;
}

void names_find(const char *folder)
{
	static const char *const amdgpu[] = { "/usr/share/libdrm/amdgpu.ids",
					      "/opt/amdgpu/share/libdrm/amdgpu.ids", NULL };
	static const char *const pci[] = { "/usr/share/hwdata/pci.ids", "/usr/share/misc/pci.ids",
					   "/usr/share/pci.ids", "/usr/local/share/pci.ids", NULL };
	u32 transient = fileio.transient;
	struct lookup l;
	bool ati = false;

	l.folder = folder;
	l.n = l.left = 0;
	for (u32 i = NONE; (i = device_next(i, true)) != NONE;)
		if (!devices[i].named && !devices[i].left_out) {
			devices[i].named = true;
			device_lookup(&l, i);
		}
	for (u32 i = 0; i < l.n; i++)
		ati |= l.wanted[i].vendor == ATI;
	if (ati)
		ids_read(&l, amdgpu, amdgpu_line);
	ids_read(&l, pci, pci_line);
	for (u32 i = 0; i < l.n && fileio.transient != transient; i++)
		if (l.wanted[i].device) { /* the next sample tries again */
			name_set_id(&l.wanted[i], "");
			devices[l.wanted[i].device].named = false;
		}
}

/* --- selection -------------------------------------------------------------------------------- */

static bool same_letter(char a, char b)
{
	return a == b || ((a ^ b) == 32 && (u8)((a | 32) - 'a') < 26);
}

bool name_has(u32 device, struct str part)
{
	struct str name;
	size_t n = str_len(part), i = 0;

	for (name = str_z(devices[device].name); n && i < n && str_len(name) >= n; name.p++)
		for (i = 0; i < n && same_letter(name.p[i], part.p[i]); i++)
			;
	return n && i == n;
}

/* Tries a name; of equally near ones the first by text is kept, whatever the order of devices. */
static void try_name(struct nearest *best, struct str name)
{
	struct nearest n = { .text = best->text };

	nearest_try(&n, name);
	if (n.name.p && (!best->name.p || n.distance < best->distance ||
			 (n.distance == best->distance && str_order(n.name, best->name) < 0)))
		*best = n;
}

/* Tries the name renderD... of a node, and keeps its text in `kept` if it is the nearest so far. */
static void try_render(struct nearest *n, i32 render, char kept[32])
{
	char text[32];
	struct buf b = BUF_Z(text);
	struct str name = { text, text };

	put_z(&b, "renderD");
	put_u64(&b, (u64)render);
	name.e += b.n;
	try_name(n, name);
	if (n->name.p != text)
		return;
	str_copy(kept, 32, name);
	n->name = str_z(kept);
}

struct nearest name_nearest(struct str s)
{
	static char kept[32];
	struct nearest n = { .text = s };

	for (u32 i = NONE; (i = device_next(i, false)) != NONE;) {
		try_name(&n, str_z(devices[i].dev));
		if (devices[i].render >= 0)
			try_render(&n, devices[i].render, kept);
		try_name(&n, str_z(devices[i].driver));
		try_name(&n, str_z(devices[i].pdev));
	}
	return n;
}
