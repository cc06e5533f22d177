/* names.c - finds the names of devices: in files of their drivers, in amdgpu.ids and pci.ids, and
 * in the device tree. SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/device/device.h"
#include "sys.h"

enum {
	/* size of the buffer for pci.ids or amdgpu.ids; a longer line is skipped (pci.ids has up to
	 * 160 bytes per line) */
	CHUNK_BYTES = 8192,
	/* at most 32 MiB are read, because a file may have no end; pci.ids has 1.3 MiB */
	MAX_CHUNKS = 4096,
	PATH_BYTES = 512,
	VENDOR_BYTES = 32,
	ATI = 0x1002,       /* PCI vendor ID of all devices in amdgpu.ids */
	NO_VENDOR = 1 << 16,
};

/* PCI devices whose names are searched for in an ids file, and the current section of pci.ids. */
struct lookup {
	/* folder of pci.ids and amdgpu.ids; NULL: the folders in which systems usually have them */
	const char *folder;
	/* n: number of devices in wanted[]; left: number of these devices whose name was not found
	 * yet */
	u32 n, left;
	struct wanted {
		/* index of the device in devices[]; NONE once the name of the device was found */
		u32 device;
		u16 vendor, id, revision;
	} wanted[MAX_DEVICES];
	/* PCI vendor ID of the section of pci.ids that is being read; NO_VENDOR if wanted[] has no
	 * device of this vendor */
	u32 vendor;
	/* short name of the vendor whose section of pci.ids is being read */
	char maker[VENDOR_BYTES];
};

/* Returns the longest prefix of s that has at most `most` bytes and ends with a whole UTF-8
 * character. */
static struct str text_cut(struct str s, size_t most)
{
	if (str_len(s) <= most)
		return s;
	for (s.e = s.p + most; s.e > s.p && ((u8)*s.e & 0xc0) == 0x80; s.e--)
		;
	return s;
}

/* Sets the name of a device to "MAKER NAME". */
static void name_set(struct device *d, const char *maker, struct str name)
{
	struct buf b = BUF_Z(d->name);

	put_z(&b, maker);
	if (b.n)
		put_c(&b, ' ');
	put_str(&b, text_cut(str_trim(name), b.cap - b.n));
	buf_z(&b);
}

/* --- files pci.ids and amdgpu.ids ------------------------------------------------------------- */

/* Parses up to four hex digits at the start of *s into *id, and moves *s past them. Returns the
 * number of digits. */
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

/* True if s is a hexadecimal number of at most four digits, which is stored in *id. */
static bool is_id(struct str s, u16 *id)
{
	s = str_trim(s);
	return take_id(&s, id) && s.p == s.e;
}

/* Sets the name of a device to "MAKER vendor:device", with the two PCI IDs. */
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

/* Parses a line of amdgpu.ids: device ID, revision, name. Example: "744C, C8,     AMD Radeon RX
 * 7900 XTX" */
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

/* Stores in maker the short name of a vendor in pci.ids: the text in brackets, otherwise the words
 * before the first comma, without a word such as Corporation. Examples of results: "AMD/ATI",
 * "Intel", "Red Hat". */
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

/* Starts the section of a vendor in pci.ids. Devices of this vendor that need a name are named
 * "MAKER vendor:device" for now, since pci.ids may not list them. */
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

/* Parses a line of pci.ids: "1002  Advanced Micro Devices, Inc. [AMD/ATI]" starts a vendor,
 * "<tab>744c  Navi 31 [...]" is a device of that vendor, and a line with two tabs is a subsystem.
 * "C 03  Display controller" starts a class. */
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

/* Calls line_do() for each line of an ids file until all wanted devices have a name. Returns the
 * result of the last read: -errno if it failed. */
static long lines_read(int fd, struct lookup *l, line_fn *line_do)
{
	char b[CHUNK_BYTES];
	struct str text = { b, b }, line;
	/* true if the bytes up to the next newline belong to a line that is skipped, because it
	 * does not fit the buffer */
	bool skips = false;
	long r = 0;

	for (u32 i = 0; l->left; i++) {
		size_t rest = str_len(text);

		memmove(b, text.p, rest);
		while ((r = sys_read(fd, b + rest, sizeof(b) - rest)) == -EINTR)
			;
		text = (struct str){ b, b + rest + (r > 0 ? r : 0) };
		if (r <= 0)
			break;
		if (i == MAX_CHUNKS)
			return -EFBIG;
		while (l->left && line_next(&text, &line)) {
			if (!skips)
				line_do(l, line);
			skips = false;
		}
		skips |= str_len(text) == sizeof(b);
		if (skips)
			text.p = text.e;
	}
	/* the last line of the file may have no newline: the loop above does not handle such a
	 * line */
	if (r == 0 && l->left && str_len(text))
		line_do(l, text);
	return r;
}

/* True if the root folder for /proc or /sys belongs to the running kernel, so that this machine's
 * own ids files describe the same machine. given: true if an option (--proc or --sys) has set the
 * root folder; magic: file system type of the kernel's own /proc or /sys. */
static bool is_own(bool given, int root, u32 magic)
{
	struct statfs fs;

	return !given || (sys_fstatfs(root, &fs) == 0 && (u32)fs.f_type == magic);
}

/* Opens pci.ids or amdgpu.ids. If --ids names a folder: only the file in this folder. With --proc:
 * first the file below 1/root of the --proc folder, which is the host's root if a container has the
 * host's /proc. Otherwise this machine's own file, unless /proc or /sys is a captured tree. Returns
 * a descriptor, or -errno. */
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
			long r = lines_read((int)fd, l, line_do);

			if (r < 0)
				files_note_missing(*paths, r);
			sys_close((int)fd);
		}
	}
}

/* --- names of devices ------------------------------------------------------------------------- */

/* Sets the name of a device that the device tree describes: its first `compatible` string, and the
 * model of the board in parentheses. */
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

/* Sets the name of a device from a file of the device's driver, or, if the device has no PCI ID,
 * from the device tree. If neither applies, adds the device to l->wanted[], so that its name is
 * searched for in the ids files. */
static void device_lookup(struct lookup *l, u32 device)
{
	static const char *const leaves[] = { "product_name", "gpu_model", "gpuinfo" };
	struct device *d = &devices[device];
	struct wanted *w = &l->wanted[l->n];
	struct str id = str_z(d->name), line;

	*w = (struct wanted){ .device = device };
	if (id.p < id.e && (take_id(&id, &w->vendor) != 4 || !str_skip_z(&id, ":") ||
			    take_id(&id, &w->id) != 4 || id.p < id.e))
		/* keep the name that the driver has reported: the text in d->name is not a PCI
		 * ID */
		return;
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
		/* after a transient error, a device without a name keeps named = false: the next
		 * sample searches the ids files again */
		if (l.wanted[i].device) {
			name_set_id(&l.wanted[i], "");
			devices[l.wanted[i].device].named = false;
		}
}

/* --- devices selected by name ----------------------------------------------------------------- */

bool name_has(u32 device, struct str part)
{
	return str_contains(str_z(devices[device].name), part);
}

/* Stores a name in *best if it is more similar to the misspelt text than the best name so far. Of
 * equally similar names, the first in text order is kept, so that the result does not depend on the
 * order of devices. */
static void try_name(struct nearest *best, struct str name)
{
	struct nearest n = { .text = best->text };

	nearest_try(&n, name);
	if (n.name.p && (!best->name.p || n.distance < best->distance ||
			 (n.distance == best->distance && str_order(n.name, best->name) < 0)))
		*best = n;
}

/* Compares the node name renderD<render> with the misspelt text, as try_name() does. If it is the
 * best name so far, copies it to `kept` and sets n->name to the copy, because the text on the stack
 * does not stay valid. */
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
