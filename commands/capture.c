/* capture.c - gpustat capture: writes a tar file with the files below /proc and /sys that this
 * program finds and reads on this machine, and with the records that it made of them. The bytes of
 * a file are those that the program itself read: capture reads no file for its own use, so that it
 * wakes no device.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/device/device.h"
#include "sources/drm/drm.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sys.h"

/* Weak references to functions of optional features. If a feature is not built in, its functions
 * are NULL and are never called. */
#pragma weak names_find

enum { FILE_MOST = 256 << 10, RECORD_BYTES = 512 << 10, PATH_MOST = 1024, MAX_LINKS = 40 };
/* size of the buffer in which the tar file is collected before write(2), in bytes */
enum { TAR_STEP = 64 << 10 };
enum { PAUSE = 1000000000 /* ns between the two readings of the machine */ };

/* Bits of struct state.facts, the properties of a path. The lower bits are 1 << TRACED_* (enum
 * traced). */
enum {
	/* the path is a symbolic link that the program has read with readlink(2) */
	IS_LINK = 1 << TRACED_DENIED << 1,
	IS_NODE = IS_LINK << 1,  /* the path is a link to a device node */
	IS_PUT = IS_LINK << 2,   /* the tar file has the path, without content */
	/* put_unread() was called for this path, which the program found but did not read */
	IS_CHECKED = IS_LINK << 3,
	IS_CUT = IS_LINK << 4,   /* the tar file has only the beginning of the file */
	/* the path is not in the tar file: it is too long, or it leads out of /proc and /sys */
	IS_OUT = IS_LINK << 5,
};

struct state {
	/* properties of the path: bits 1 << TRACED_* and the bits IS_LINK to IS_OUT */
	u16 facts;
	/* number of the reading of the machine (1 or 2) that last added the content of this file to
	 * the tar file; 0 if none did */
	u8 reading;
	u32 rdev[2];
}; /* a row of states[]; its index is the number that trace_number() gave the path */
static TABLE(struct state, states, TRACE_PATHS, 256, "captured paths");
static TABLE(char, content, FILE_MOST, 16384, "bytes of a captured file");
static TABLE(char, records, RECORD_BYTES, 65536, "bytes of records");

static struct {
	u32 path;  /* number of the path of the file that is being read; 0 if none */
	/* number of bytes of the current file that were read so far and are in the table
	 * `content` */
	size_t n;
	/* true if the program reads the same file again in the same reading of the machine: the tar
	 * file already has the file's content */
	bool repeats;
	bool full;    /* the first read(2) of the file filled its buffer: the file may be longer */
	u8 reading;   /* number of the current reading of the machine, 1 or 2 */
	u64 mtime;
	u32 files, links, folders, cut, denied, left_out;
	bool failed;
} now;

static struct state *state_of(u32 path)
{
	static struct state none;

	return table_has(&states.t, path) ? &states.rows[path] : &none;
}

/* --- functions that append members to the tar file -------------------------------------------- */

static void tar_flush(void)
{
	now.failed |= !now.failed && !flush();
	if (now.failed)
		out.n = 0;
}

static void tar_bytes(const char *p, size_t n)
{
	const size_t cap = out.cap < TAR_STEP ? out.cap : TAR_STEP;

	while (n && !now.failed) {
		size_t some = cap - out.n < n ? cap - out.n : n;

		put_n(&out, p, some);
		p += some;
		n -= some;
		/* no memory for the buffer `out`: flush() prints this error if out.full is set */
		out.full |= !cap;
		if (out.n == cap)
			tar_flush();
	}
}

/* Appends a member with m.size bytes of content at p to the tar file. name: its path below the
 * folder capture/. Returns false if the name is too long. */
static bool member_put(struct str name, struct tarhead m, const char *p)
{
	char path[PATH_MOST + 32], head[TAR_HEAD + TAR_BLOCK];
	struct buf b = BUF(path), h = BUF(head);

	put_z(&b, now.reading > 1 ? "capture/second/" : "capture/");
	if (str_is(name, "manifest") || glob_match(LIT("*.json"), name, NULL))
		b.n = sizeof("capture/") - 1;
	put_str(&b, name);
	m.name = str_of(path, b.n);
	m.mtime = now.mtime;
	if (b.full || !tar_put(&h, &m) || h.full)
		return false;
	tar_bytes(head, h.n);
	tar_bytes(p, (size_t)m.size);
	h.n = 0;
	tar_pad(&h, m.size);
	tar_bytes(head, h.n);
	return true;
}

static void leave_out(u32 path)
{
	now.left_out += !(state_of(path)->facts & IS_OUT);
	state_of(path)->facts |= IS_OUT;
}

/* Appends a file, a link or a folder to the tar file, unless the tar file has it already. p:
 * content of a file; NULL if there is none. */
static void path_put(struct str path, struct tarhead m, const char *p)
{
	u32 number = trace_number(path);
	struct state *s = state_of(number);
	bool has_content = m.type == TAR_FILE && p;

	if (!number || (has_content ? s->reading == now.reading :
			s->facts & IS_PUT || s->reading))
		return;
	if (has_content)
		s->reading = now.reading;
	else
		s->facts |= IS_PUT;
	if (!member_put(path, m, p)) {
		leave_out(number);
		return;
	}
	*(m.type == TAR_FILE ? &now.files : m.type == TAR_LINK ? &now.links : &now.folders) += 1;
}

static void folder_put(struct str path, u16 mode)
{
	char name[PATH_MOST];
	struct buf b = BUF(name);

	put_str(&b, path);
	put_c(&b, '/');
	if (!b.full)
		path_put(str_of(name, b.n), (struct tarhead){ .type = TAR_FOLDER, .mode = mode },
			 NULL);
}

/* --- functions that resolve the symbolic links in a path -------------------------------------- */

/* Returns the descriptor of the root, /proc or /sys, of a path that begins with proc or sys. Stores
 * the path relative to that root in *below. */
static int root_of(const char *path, const char **below)
{
	bool proc = path[0] == 'p';

	path += proc ? sizeof("proc") - 1 : sizeof("sys") - 1;
	*below = *path ? path + 1 : ".";
	return proc ? roots.proc : roots.sys;
}

/* Adds a link to the tar file. Its text can differ from the text on the machine: a name may be
 * replaced, and /sys/X becomes relative to the folder of the tar file. */
static void link_put(struct str path, const char *text, size_t n)
{
	char b[PATH_MOST];
	struct buf to = BUF(b);
	struct str rest = path, part;

	if (n > 5 && memcmp(text, "/sys/", 5) == 0) {
		while (str_cut(&rest, '/', &part) && rest.p)
			put_z(&to, "../");
		to.n -= to.n ? 3 : 0;
		put_n(&to, text + 1, n - 1);
	} else {
		put_n(&to, text, n);
		to.n = opt.plain_names ? to.n : placeholders_put_link(path, b, to.n, sizeof(b));
	}
	if (!to.full)
		path_put(path, (struct tarhead){ .type = TAR_LINK, .mode = 0777,
						 .link = str_of(b, to.n) }, NULL);
}

/* Removes the last component of a path. Returns false if the path is empty. */
static bool path_up(struct buf *b)
{
	size_t n = b->n;

	while (n && b->p[n - 1] != '/')
		n--;
	if (!b->n)
		return false;
	b->n = n ? n - 1 : 0;
	return true;
}

/* Appends a component to a path. Returns false if it is the first one and neither proc nor sys: a
 * link may lead from proc to sys and back, but to no other folder. */
static bool path_down(struct buf *b, struct str part)
{
	if (!b->n && !str_is(part, "proc") && !str_is(part, "sys"))
		return false;
	put_z(b, b->n ? "/" : "");
	put_str(b, part);
	return !b->full;
}

/* The components of a path that path_resolve() has not resolved yet (left). After a symbolic link
 * was followed, they are in the buffer b[which]: first the text of the link, then the components
 * after the link. */
struct rest {
	char b[2][PATH_MOST];
	u8 which;
	struct str left;
};

/* Follows a link at the end of *real: puts the link's text before the components in r->left.
 * Returns false if the link leads out of /proc and /sys. */
static bool link_follow(struct buf *real, struct rest *r, const char *text, size_t n)
{
	struct buf next = buf_on(r->b[r->which ^= 1], PATH_MOST);

	if (n > 5 && memcmp(text, "/sys/", 5) == 0) {
		real->n = 0;
		put_z(real, "sys");
		text += 5;
		n -= 5;
	} else if (text[0] == '/' || !path_up(real)) {
		return false;
	}
	put_n(&next, text, n);
	put_c(&next, '/');
	put_str(&next, r->left);
	r->left = str_of(next.p, next.n);
	return !next.full;
}

/* Stores in *real the path of a file without links, and adds to the tar file each link that the
 * path contains. follow: a link at the end of the path is followed, too. Returns false if the path
 * leads out of /proc and /sys. real must have room for a zero at the end. */
static bool path_resolve(struct str path, bool follow, struct buf *real)
{
	struct rest rest = { .left = path };
	char text[PATH_MOST];
	struct str part;
	int links = 0;

	while (str_cut(&rest.left, '/', &part)) {
		const char *below;
		long n;
		int root;

		if (part.p == part.e || str_is(part, "."))
			continue;
		if (str_is(part, "..")) {
			if (!path_up(real))
				return false;
			continue;
		}
		if (!path_down(real, part))
			return false;
		root = root_of(buf_z(real), &below);
		n = sys_readlinkat(root, below, text, sizeof(text));
		if (n <= 0)
			continue;
		link_put(str_of(real->p, real->n), text, (size_t)n);
		if (rest.left.p >= rest.left.e && !follow)
			return true;
		if (++links > MAX_LINKS || !link_follow(real, &rest, text, (size_t)n))
			return false;
	}
	return true;
}

/* --- functions of struct tracer: called for each file that the program finds or reads --------- */

static void note_cut(u32 path)
{
	now.cut += !(state_of(path)->facts & IS_CUT);
	state_of(path)->facts |= IS_CUT;
}

static void content_end(void)
{
	char real[PATH_MOST];
	struct buf b = BUF_Z(real);
	u32 path = now.path;

	now.path = 0;
	if (!path || now.repeats)
		return;
	if (path_resolve(trace_path(path), true, &b))
		path_put(str_of(real, b.n), (struct tarhead){ .type = TAR_FILE, .mode = 0444,
							      .size = now.n }, content.rows);
	else
		leave_out(path);
	/* path_put() has stored the number of the reading for the path without symbolic links; this
	 * line stores it for the path by which the program has read the file */
	state_of(path)->reading = now.reading;
}

/* Returns false for a file outside of /proc and /sys, such as ../etc/passwd: such files have the
 * names of users, and are not read. */
static bool may_open(u32 path)
{
	return !str_find(trace_path(path), LIT("/../"));
}

static void found(u32 path, enum traced what)
{
	content_end();
	state_of(path)->facts |= (u16)(1 << what);
}

static void node_found(u32 path, const u32 rdev[2])
{
	struct state *s = state_of(path);

	/* Skips memory devices, terminals and pseudoterminals, which most processes have open. */
	if (rdev[0] < 6 || (rdev[0] >= 136 && rdev[0] < 144))
		return;
	s->facts |= IS_NODE;
	s->rdev[0] = rdev[0];
	s->rdev[1] = rdev[1];
}

static long link_read(u32 path, char *b, long n, size_t cap)
{
	state_of(path)->facts |= IS_LINK;
	return opt.plain_names ? n :
	       (long)placeholders_put_link(trace_path(path), b, (size_t)n, cap);
}

static void content_add(u32 path, const char *b, size_t n)
{
	size_t some = n < FILE_MOST - now.n ? n : FILE_MOST - now.n;

	if (now.repeats || !n)
		return;
	if (!table_has(&content.t, now.n + some - 1))
		some = 0;
	memcpy(content.rows + now.n, b, some);
	now.n += some;
	if (some < n)
		note_cut(path);
}

/* Returns whether the capture replaces names in this file by placeholders, for example the names of
 * processes and users. Such a file is read in one piece, because its length changes when names are
 * replaced. */
static bool has_names(u32 path)
{
	return !opt.plain_names && placeholders_apply(trace_path(path));
}

static long content_read(u32 path, char *b, long n, size_t cap, u64 at)
{
	bool named = has_names(path), begins = at == 0 || path != now.path;

	if (begins) {
		content_end();
		/* n is negative if the path cannot be read, for example because it is a folder */
		now.path = n < 0 ? 0 : path;
		now.n = 0;
		now.repeats = state_of(path)->reading == now.reading;
		now.full = n > 0 && (size_t)n == cap;
	} else if (named) {
		if (now.full)
			note_cut(path);
		return n > 0 ? 0 : n;
	}
	if (n <= 0)
		return n;
	if (named)
		n = (long)placeholders_put(trace_path(path), b, (size_t)n, cap);
	content_add(path, b, (size_t)n);
	return n;
}

static const struct tracer captures = {
	.may_open = may_open,
	.found = found,
	.node = node_found,
	.whole = has_names,
	.content = content_read,
	.link = link_read,
};

/* --- functions that add links, folders and unread files at the end of a reading --------------- */

/* Adds to the tar file the links and folders inside a folder of /sys that the program has
 * listed. */
static void children_put(struct str folder)
{
	char path[PATH_MOST], text[PATH_MOST];
	const char *name, *below;
	struct stat st;
	struct dir d;
	int root;

	str_copy(path, sizeof(path), folder);
	root = root_of(path, &below);
	if (dir_open(&d, root, below) < 0)
		return;
	while ((name = dir_next(&d))) {
		struct buf b = BUF(path);
		long n = sys_readlinkat(d.fd, name, text, sizeof(text));

		put_str(&b, folder);
		put_c(&b, '/');
		put_z(&b, name);
		if (!b.full && n > 0)
			link_put(str_of(path, b.n), text, (size_t)n);
		else if (!b.full && sys_lstat_at(d.fd, name, &st) == 0 && S_ISDIR(st.st_mode))
			folder_put(str_of(path, b.n), 0755);
	}
	dir_close(&d);
}

/* Adds to the tar file a path that the program found but did not read. */
static void put_unread(u32 path)
{
	struct state *s = state_of(path);
	bool is_link = s->facts & (IS_LINK | IS_NODE), refused = s->facts & 1 << TRACED_DENIED;
	char real[PATH_MOST];
	struct buf b = BUF_Z(real);
	struct str name;
	struct stat st;
	const char *below;
	int root;

	s->facts |= IS_CHECKED;
	now.denied += refused;
	if (!path_resolve(trace_path(path), !is_link, &b)) {
		leave_out(path);
		return;
	}
	name = str_of(real, b.n);
	root = root_of(buf_z(&b), &below);
	if (is_link || sys_lstat_at(root, below, &st) < 0)
		return;
	if (!S_ISDIR(st.st_mode)) {
		path_put(name, (struct tarhead){ .type = TAR_FILE,
						 .mode = refused ? 0 : 0444 }, NULL);
		return;
	}
	folder_put(name, refused ? 0 : 0755);
	if (s->facts & 1 << TRACED_FOLDER && real[0] == 's')
		children_put(name);
}

/* Ends a reading of the machine: adds the paths that are not in the tar file yet. */
static void reading_end(void)
{
	tracer = NULL;
	content_end();
	for (u32 i = 1; i <= ntraced; i++)
		if (state_of(i)->facts && !(state_of(i)->facts & (IS_CHECKED | IS_OUT)))
			put_unread(i);
}

/* --- functions that read files of PMUs and hwmon chips, and the names of devices -------------- */

/* Calls read() with the path of each entry of a folder below /sys, but not with the folder
 * itself. */
static void folder_read(const char *path, void (*read)(const char *path))
{
	char below[256];
	const char *name;
	struct dir d;

	if (dir_open(&d, roots.sys, path) < 0)
		return;
	while ((name = dir_next(&d))) {
		struct buf b = BUF_Z(below);

		put_z(&b, path);
		put_c(&b, '/');
		put_z(&b, name);
		if (!b.full)
			read(buf_z(&b));
	}
	dir_close(&d);
}

static void file_read(const char *path)
{
	char text[4096];

	slurp(roots.sys, path, text, sizeof(text));
}

static bool lstat_is(const char *path, mode_t type)
{
	struct stat st;

	return sys_lstat_at(roots.sys, path, &st) == 0 && (st.st_mode & S_IFMT) == type;
}

/* Reads an entry of a PMU's folder: a file, or the files in its folders events, format and caps.
 * They are constants of the PMU's driver. */
static void pmu_read(const char *path)
{
	static const struct str folders[] = { STR("events"), STR("format"), STR("caps") };

	for (size_t i = 0; i < LEN(folders); i++)
		if (str_eq(str_base(str_z(path)), folders[i]) && lstat_is(path, S_IFDIR))
			folder_read(path, file_read);
	if (lstat_is(path, S_IFREG))
		file_read(path);
}

static void pmu_folder_read(const char *path)
{
	folder_read(path, pmu_read);
}

/* Reads the file `name` of a hwmon chip. Of all other files, which can be sensors, it only finds
 * out that they exist: to read them could wake a device. */
static void channel_find_file(const char *path)
{
	if (str_is(str_base(str_z(path)), "name"))
		file_read(path);
	else
		sys_has_file(roots.sys, path);
}

static void chip_read(const char *path)
{
	folder_read(path, channel_find_file);
}

/* Adds a file pci.ids with the names of this machine's devices to the tar file, at the path where
 * gpustat --proc searches for it. */
static void ids_put(void)
{
	static char text[4096];
	struct buf b = BUF(text);
	struct str id, vendor;

	for (u32 i = NONE; (i = device_next(i, true)) != NONE;) {
		if (!parse_uevent(sysfs_text(i, "uevent"), LIT("PCI_ID"), &id) ||
		    !str_cut(&id, ':', &vendor) || !devices[i].name[0])
			continue;
		put_str(&b, vendor);
		put_z(&b, "\n\t");
		put_str(&b, id);
		put_z(&b, "  ");
		put_z(&b, devices[i].name);
		put_c(&b, '\n');
	}
	if (b.n)
		path_put(LIT("proc/1/root/usr/share/misc/pci.ids"),
			 (struct tarhead){ .type = TAR_FILE, .mode = 0444, .size = b.n }, text);
}

/* --- functions that add gpustat's own records to the tar file, as JSON ------------------------ */

/* Adds the JSON records in b to the tar file, and empties b. The member has the name NAME.json for
 * part 1, NAME.2.json for part 2, and so on. */
static void records_put(const char *name, u32 part, struct buf *b)
{
	char text[32];
	struct buf n = BUF(text);

	put_z(&n, name);
	if (part > 1) {
		put_c(&n, '.');
		put_u64(&n, part);
	}
	put_z(&n, ".json");
	member_put(str_of(text, n.n), (struct tarhead){ .type = TAR_FILE, .mode = 0444,
							.size = b->n }, b->p);
	b->n = 0;
}

/* Adds the records of all entities of the kinds kinds[0] and kinds[1] to the tar file, as members
 * with this name. If kinds[0] and kinds[1] are equal, each record is added only once. */
static void records_make(const char *name, const u8 kinds[2], const struct recopts *ro)
{
	struct buf b = table_buf(&records.t);
	u32 part = 0;

	for (size_t k = 0; k < 2; k++) {
		choose_devices();
		if (kinds[k] != K_DEVICE)
			choose_entities(kinds[k]);
		for (size_t i = 0; i < norder && (!k || kinds[k] != kinds[0]); i++) {
			make_record(kinds[k], order[i], ro);
			out_record(&opt.out, &b, &rec);
			if (b.n > b.cap / 2)
				records_put(name, ++part, &b);
		}
	}
	lost_record |= b.full;
	records_put(name, ++part, &b);
}

/* Adds all records of a reading of the machine to the tar file. names: names of up to four members:
 * devices and clients with raw values, the same with the options `other`, processes with raw
 * values, processes with the options `other`. The clients are summed up first for the devices, then
 * for the processes. */
static void reading_records(const char *const *names, const struct recopts *other)
{
	static const struct recopts raw = { .raw = true, .dt_us = -1, .time_us = -1 };
	static const u8 devices_clients[] = { K_DEVICE, K_CLIENT };
	static const u8 only_devices[] = { K_DEVICE, K_DEVICE };
	static const u8 processes[] = { K_PROCESS, K_PROCESS };

	choose_devices();
	hide_clients();
	reg_sum_clients(false, !other->list);
	records_make(names[0], devices_clients, &raw);
	records_make(names[1], other->list ? only_devices : devices_clients, other);
	/* a program without the feature procs has no records of processes */
	if (!registry.group_of)
		return;
	reg_sum_clients(true, !other->list);
	records_make(names[2], processes, &raw);
	if (!other->list)
		records_make(names[3], processes, other);
}

/* --- the member `manifest` -------------------------------------------------------------------- */

static void put_line(struct buf *b, const char *key, struct str text)
{
	put_z(b, key);
	put_c(b, ' ');
	put_text(b, text);
	put_c(b, '\n');
}

static void put_facts(struct buf *b, u32 path)
{
	static const struct {
		u16 fact;
		const char *key;
	} keys[] = { { 1 << TRACED_DENIED, "denied" }, { IS_CUT, "cut" }, { IS_OUT, "left-out" } };
	const struct state *s = state_of(path);

	for (size_t i = 0; i < LEN(keys); i++)
		if (s->facts & keys[i].fact)
			put_line(b, keys[i].key, trace_path(path));
	if (!(s->facts & IS_NODE))
		return;
	put_z(b, "node ");
	put_u64(b, s->rdev[0]);
	put_c(b, ':');
	put_u64(b, s->rdev[1]);
	put_line(b, "", trace_path(path));
}

static void manifest_put(void)
{
	struct buf b = table_buf(&records.t);
	struct utsname u;

	put_z(&b, "gpustat capture, format 1\nversion " VERSION "\n");
	if (sys_uname(&u) == 0) {
		put_line(&b, "kernel", str_z(u.release));
		put_line(&b, "machine", str_z(u.machine));
	}
	put_z(&b, "time ");
	put_u64(&b, now.mtime);
	put_z(&b, "\nreadings ");
	put_u64(&b, now.reading);
	put_z(&b, opt.plain_names ? "\nnames plain\n" : "\nnames replaced\n");
	for (u32 i = 1; i <= ntraced; i++)
		put_facts(&b, i);
	lost_record |= b.full;
	member_put(LIT("manifest"), (struct tarhead){ .type = TAR_FILE, .mode = 0444,
						      .size = b.n }, b.p);
}

/* --- the command `capture` -------------------------------------------------------------------- */

/* Appends the number n and the text `words` to a list, after ", " if the list is not empty and does
 * not end with a blank. Appends nothing if n is 0. */
static void put_count(struct buf *b, u32 n, const char *words)
{
	if (!n)
		return;
	put_z(b, b->n && b->p[b->n - 1] != ' ' ? ", " : "");
	put_u64(b, n);
	put_z(b, words);
}

static const char *const words[] = { " commands", " words of cgroups", " paths",
				     " client names", " serial numbers" };

static void say_contents(void)
{
	char text[512];
	struct buf b = BUF_Z(text);

	put_count(&b, now.files, " files");
	put_count(&b, now.links, " links");
	put_count(&b, now.folders, " folders");
	put_z(&b, "; replaced: ");
	for (size_t i = 0; i < LEN(words); i++)
		put_count(&b, placeholders[i], words[i]);
	put_z(&b, opt.plain_names ? "no name (--plain-names)" :
		  b.p[b.n - 1] == ' ' ? "nothing" : "");
	put_z(&b, "; left out: ");
	put_count(&b, now.denied, " that may not be read");
	put_count(&b, now.left_out, " with long paths or outside of /proc and /sys");
	put_count(&b, now.cut, " cut");
	put_z(&b, b.p[b.n - 1] == ' ' ? "nothing" : "");
	say_z(buf_z(&b));
}

static void first_reading(void)
{
	static const char *const names[] = { "first", "list", "first-procs" };
	char text[1024];
	u8 was;

	now.reading = 1;
	folder_put(LIT("proc"), 0755);
	folder_put(LIT("sys"), 0755);
	tracer = &captures;
	sources_start();
	was = privilege_raise(MAY_READ | MAY_PTRACE);
	if (names_find)
		names_find(NULL);
	slurp(roots.proc, "device-tree/model", text, sizeof(text));
	slurp(roots.proc, "device-tree/compatible", text, sizeof(text));
	folder_read("bus/event_source/devices", pmu_folder_read);
	folder_read(HWMON_DIR, chip_read);
	reading_records(names, &(struct recopts){ .list = true, .dt_us = -1, .time_us = -1 });
	ids_put();
	reading_end();
	privilege_lower(was);
}

static void second_reading(i64 since)
{
	static const char *const names[] = { "second", "rates", "second-procs", "rates-procs" };
	struct recopts ro = { .dt_us = -1, .time_us = -1 };
	u8 was;

	now.reading = 2;
	tracer = &captures;
	sources_sample(true);
	ro.dt_us = (sys_now(CLOCK_MONOTONIC) - since) / 1000;
	was = privilege_raise(MAY_READ | MAY_PTRACE);
	reading_records(names, &ro);
	reading_end();
	privilege_lower(was);
}

int cmd_capture(void)
{
	static char end[2 * TAR_BLOCK];
	struct str to = str_z(opt.output);
	i64 since;

	if (str_skip_z(&to, "udp:"))
		return usage_z("capture: -O takes a file");
	if (!opt.output && sys_columns(1) >= 0)
		return usage_z("capture: standard output is a terminal: use -O FILE");
	if (!open_roots(true))
		return EX_FAIL;
	opt.out.fmt = format_find(LIT("json"));
	now.mtime = (u64)(opt.out.now / 1000000000);
	record_select(K_PROCESS, NULL, 0, 0);
	sensing.listing = fdinfo_scope.others = registry.repeats = true;
	since = sys_now(CLOCK_MONOTONIC);
	first_reading();
	if (sleep_until(since + PAUSE))
		second_reading(since);
	manifest_put();
	tar_bytes(end, sizeof(end));
	tar_flush();
	if (now.failed || !sink_end())
		return EX_FAIL;
	say_contents();
	say_dropped();
	return lost_record ? EX_FAIL : EX_OK;
}
