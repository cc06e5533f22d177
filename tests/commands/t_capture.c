/* t_capture.c - unit test of commands/capture.c: links that are followed or lead out of the roots, which
 * bytes of a file are kept, names of members, the manifest and the message. The devices are
 * simulated. SPDX-License-Identifier: MIT */
#include "folder.h"
#define replay replay_command /* unit.h has functions of these names, too */
#define note note_text
#include "../../commands/capture.c"
#undef note
#include "said.h"

struct opts opt;
struct buf out;
struct record rec;
u32 *order;
size_t norder;
bool lost_record;
struct fdinfo_scope fdinfo_scope;
struct sensing sensing;

static char written[1 << 20];
static size_t nwritten;
static bool fails;

bool flush(void)
{
	if (!fails && nwritten + out.n <= sizeof(written)) {
		memcpy(written + nwritten, out.p, out.n);
		nwritten += out.n;
	}
	out.n = 0;
	return !fails;
}

bool open_roots(bool needed) { return needed; }
void sources_start(void) {}
void sources_sample(bool scan) { (void)scan; }
void choose_devices(void) {}
void choose_entities(u8 kind) { (void)kind; }
void hide_clients(void) {}
void make_record(u8 kind, u32 n, const struct recopts *ro) { (void)kind; (void)n; (void)ro; }
bool sleep_until(i64 t) { return t != 0; }
bool sink_end(void) { return true; }
void say_dropped(void) {}
static const char *uevent = "";
struct str sysfs_text(u32 device, const char *leaf) { (void)device; return str_z(strcmp(leaf, "uevent") == 0 ? uevent : ""); }

static u32 numbered(const char *path) { return trace_number(str_z(path)); }

/* --- paths ------------------------------------------------------------------------------------ */

static void t_parts(void)
{
	char b[64];
	struct buf p = BUF(b);

	check(!path_down(&p, LIT("etc")) && p.n == 0,
	      "path_down() accepts only proc and sys as the first part");
	check(path_down(&p, LIT("sys")) && path_down(&p, LIT("class")),
	      "path_down() appends parts to a path");
	check_str(str_of(p.p, p.n), "sys/class", "the parts of a path are joined with a slash");
	check(path_up(&p), "path_up() removes the last part of a path");
	check_str(str_of(p.p, p.n), "sys", "path_up() removes the slash before the last part");
	check(path_up(&p) && p.n == 0, "path_up() removes the first part of a path");
	check(!path_up(&p), "path_up() of an empty path fails");
	check(may_open(numbered("proc/1/stat")) && !may_open(numbered("proc/../etc/passwd")) &&
	      may_open(numbered("proc/..x/y")), "a file outside of the roots may not be read");
}

static void resolves(const char *path, bool follow, const char *want)
{
	char b[PATH_MOST];
	struct buf real = BUF_Z(b);
	bool is = path_resolve(str_z(path), follow, &real);

	if (!want)
		check(!is, "link %s leads out of the roots", path);
	else if (check(is, "link %s stays in the roots", path))
		check_str(str_of(real.p, real.n), want, "a link resolves to %s", want);
}

static void t_links(void)
{
	put(in_folder("sys/devices/gpu/name"), "x");
	put_link(in_folder("sys/class/drm/card0"), "../../devices/gpu");
	put_link(in_folder("sys/absolute"), "/sys/devices/gpu");
	put_link(in_folder("sys/outside"), "/etc/passwd");
	put_link(in_folder("sys/up"), "../../../etc");
	put_link(in_folder("sys/loop"), "loop");
	put_link(in_folder("proc/self"), "42");
	put(in_folder("proc/42/comm"), "x\n");
	resolves("sys/class/drm/card0/name", true, "sys/devices/gpu/name");
	resolves("sys/class/drm/card0", true, "sys/devices/gpu");
	resolves("sys/class/drm/card0", false, "sys/class/drm/card0");
	resolves("sys/absolute/name", true, "sys/devices/gpu/name");
	resolves("sys/class/../devices/./gpu//name", true, "sys/devices/gpu/name");
	resolves("proc/self/comm", true, "proc/42/comm");
	resolves("sys/outside", true, NULL);
	resolves("sys/outside", false, "sys/outside");
	resolves("sys/up/x", true, NULL);
	resolves("sys/loop", true, NULL);
	resolves("etc/passwd", true, NULL);
	resolves("sys/../../etc", true, NULL);
	check_u64(now.links, 6, "each link on a path is put into the tar file once");
}

/* --- members ---------------------------------------------------------------------------------- */

/* Returns the name of the first member since the last call. */
static const char *member(const char *name, u8 reading)
{
	static const struct tarhead file = { .type = TAR_FILE, .mode = 0444, .size = 3 };
	static char text[101];

	tar_flush();
	nwritten = 0;
	now.reading = reading;
	if (!member_put(str_z(name), file, "abc"))
		return "";
	tar_flush();
	memcpy(text, written, 100);
	return nwritten == 1024 && memcmp(written + 512, "abc\0", 4) == 0 ? text : "wrong";
}

static void t_members(void)
{
	static char longest[PATH_MOST + 40];

	check_str(str_z(member("sys/x", 1)), "capture/sys/x",
	          "member name: a file of the first reading");
	check_str(str_z(member("sys/x", 2)), "capture/second/sys/x",
	          "member name: a file of the second reading");
	check_str(str_z(member("manifest", 2)), "capture/manifest",
	          "member name: the manifest has no reading");
	check_str(str_z(member("second.json", 2)), "capture/second.json",
	          "member name: records have no reading");
	memset(longest, 'n', sizeof(longest) - 1);
	check_str(str_z(member(longest, 1)), "",
	          "member name: a name that is too long is left out");
	fails = true;
	tar_bytes("x", 1);
	tar_flush();
	check(now.failed && out.n == 0, "an error of the output drops the buffer");
	fails = false;
	tar_bytes("x", 1);
	check(out.n == 0, "after an error of the output, nothing is written");
	now.failed = false;
}

/* --- contents --------------------------------------------------------------------------------- */

/* Reads a piece of a file. Returns the bytes that the program gets. */
static long reads(const char *path, const char *text, size_t n, size_t cap, u64 at)
{
	static char b[FILE_MOST + 1];

	memcpy(b, text, n);
	return content_read(numbered(path), b, (long)n, cap, at);
}

static void t_content(void)
{
	static char large[FILE_MOST + 1];
	u32 files = now.files;

	opt.plain_names = true;
	now.reading = 1;
	put(in_folder("sys/a"), "");
	check(reads("sys/a", "abc", 3, 3, 0) == 3 && reads("sys/a", "de", 2, 3, UINT64_MAX) == 2,
	      "a read returns the bytes of the file to the program");
	check_str(str_of(content.rows, now.n), "abcde", "all pieces of a file are stored");
	check(reads("sys/a", "", 0, 3, UINT64_MAX) == 0 && now.files == files,
	      "a read at the end of a file does not put it yet");
	content_end();
	check(now.files == files + 1 && now.path == 0,
	      "content_end() puts the file into the tar file");
	reads("sys/a", "xyz", 3, 8, 0);
	check(now.n == 0, "the second read of a file in one reading is not stored");
	content_end();
	check(now.files == files + 1, "a file is put once in a reading");
	now.reading = 2;
	reads("sys/a", "xyz", 3, 8, 0);
	content_end();
	check(now.files == files + 2, "a file is put again in the second reading");
	memset(large, 'x', sizeof(large));
	check(reads("sys/b", large, FILE_MOST, FILE_MOST, 0) == FILE_MOST && now.cut == 0,
	      "a file of the largest size is not cut");
	check(reads("sys/b", "y", 1, 8, UINT64_MAX) == 1 && now.cut == 1 && now.n == FILE_MOST,
	      "a file that is larger is cut");
	reads("sys/b", "y", 1, 8, UINT64_MAX);
	check(now.cut == 1, "a file that is cut is counted once");
	content_end();
	check(reads("sys/c", "", 0, 8, 0) == 0 && content_read(numbered("sys/c"), large, -EISDIR, 8, 0) == -EISDIR &&
	      now.path == 0, "a folder has no contents");
	opt.plain_names = false;
}

/* --- facts ------------------------------------------------------------------------------------ */

static void t_facts(void)
{
	char text[512];
	struct buf b = BUF(text);
	u32 node = numbered("proc/1/fd/3"), null = numbered("proc/1/fd/0");

	node_found(node, (const u32[]){ 226, 128 });
	node_found(null, (const u32[]){ 1, 3 });
	node_found(null, (const u32[]){ 136, 0 });
	node_found(null, (const u32[]){ 5, 0 });
	put_facts(&b, null);
	check_str(str_of(b.p, b.n), "",
	          "manifest: device nodes of memory and terminals have no line");
	put_facts(&b, node);
	check_str(str_of(b.p, b.n), "node 226:128 proc/1/fd/3\n",
	          "manifest: a device node of another kind has a line");
	b.n = 0;
	found(numbered("sys/d\n"), TRACED_DENIED);
	leave_out(numbered("sys/d\n"));
	leave_out(numbered("sys/d\n"));
	put_facts(&b, numbered("sys/d\n"));
	check(str_find(str_of(b.p, b.n), LIT("denied sys/d")) && is_clean(str_of(b.p, b.n), true) &&
	      str_find(str_of(b.p, b.n), LIT("\nleft-out sys/d")),
	      "manifest: a denied file that was left out has a line");
	node_found(node, (const u32[]){ 144, 0 });
	b.n = 0;
	put_facts(&b, node);
	check_str(str_of(b.p, b.n), "node 144:0 proc/1/fd/3\n",
	          "manifest: device nodes with major numbers from 144 on have a line");
}

static void t_message(void)
{
	memset(placeholders, 0, sizeof(placeholders));
	now.files = 1;
	now.links = now.folders = now.cut = now.left_out = now.denied = 0;
	say_contents();
	check(is_said("1 files; replaced: nothing; left out: nothing\n"), "message: one file");
	opt.plain_names = true;
	now.links = 2;
	now.folders = 3;
	now.denied = 4;
	now.cut = 5;
	say_contents();
	check(is_said("1 files, 2 links, 3 folders; replaced: no name (--plain-names); "
		      "left out: 4 that may not be read, 5 cut\n"),
	      "message: files, links and folders, and the files that were left out");
	opt.plain_names = false;
	placeholders[HIDDEN_COMMAND] = 6;
	placeholders[HIDDEN_SERIAL] = 7;
	say_contents();
	check(is_said("replaced: 6 commands, 7 serial numbers; left out"),
	      "message: numbers of names that were replaced");
}

/* Names of devices are kept. A device without a name has no line. */
static void t_ids(void)
{
	u32 n = device_add();

	uevent = "DRIVER=xe\nPCI_ID=8086:56A0\n";
	flush();
	nwritten = 0;
	ids_put();
	flush();
	check_u64(nwritten, 0, "pci.ids: no file if no device has a name");
	str_copy(devices[n].name, sizeof(devices[n].name), LIT("Arc"));
	ids_put();
	flush();
	check(str_find(str_of(written, nwritten), LIT("8086\n\t56A0  Arc\n")),
	      "pci.ids: a line for each device with a name");
	uevent = "";
	nwritten = 0;
	devices[n].e.used = false;
}

int main(void)
{
	static char out_bytes[TAR_STEP + 100];

	out = BUF(out_bytes);
	folder_begin("capture");
	put_folder(in_folder("proc"));
	put_folder(in_folder("sys"));
	root_set(&roots.proc, in_folder("proc"));
	root_set(&roots.sys, in_folder("sys"));
	now.reading = 1;
	t_parts();
	t_links();
	t_members();
	t_content();
	t_facts();
	t_ids();
	t_message();
	shell("rm -rf \"$D\"");
	return unit_end();
}
