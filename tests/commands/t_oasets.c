/* t_oasets.c - unit test of commands/oasets.c: which packs are used without being named, the order in
 * which sets are searched for, and packs that are written. SPDX-License-Identifier: MIT */
#include "folder.h"
#define replay replay_command /* unit.h has functions of these names, too */
#include "../../commands/oasets.c"
#include "said.h"

struct opts opt;
static char steps[64];
void close_files(void) { strcat(steps, "close "); }
void confine(i32 child) { strcat(steps, child ? "child " : "confine "); }
bool sandbox_file(const char *path, bool write) { strcat(steps, "file "); return path && write; }
void sandbox_folder(i32 fd, bool write) { strcat(steps, fd >= 0 && write ? "folder " : "none "); }

#define SET(name, guid) \
	"<metrics><set chipset=\"SKLGT2\" symbol_name=\"" name "\" hw_config_guid=\"" guid "\">" \
	"<counter name=\"c\" symbol_name=\"C\" units=\"ns\" data_type=\"uint64\" equation=\"A 1 READ\"/>" \
	"</set></metrics>"
#define GUID "11111111-2222-3333-4444-555555555555"

/* A pack that is not named is used only if root or the owner of the program are the only ones
 * who can have written it. */
static void t_found(void)
{
	const char *path = in_folder("gpu.pack");
	u32 me = geteuid();

	packs.nfiles = 0;
	check(!pack_add(path, me) && is_said(NULL), "unnamed pack: a missing file has no message");
	check(!pack_add(in_folder("gpu.pack/x"), me) && is_said(NULL),
	      "unnamed pack: a missing folder has no message");
	put(path, SET("One", GUID));
	check(pack_add(path, me) && packs.nfiles == 1 && is_said(NULL),
	      "unnamed pack: a file of the owner is used");
	check(chmod(path, 0664) == 0 && !pack_add(path, me) &&
	      is_said("not used: users other than root and gpustat's owner may write it"),
	      "unnamed pack: a file that its group may write is refused");
	check(chmod(path, 0646) == 0 && !pack_add(path, me) && is_said("not used: users other than root"),
	      "unnamed pack: a file that all users may write is refused");
	chmod(path, 0644);
	if (me == 0 && chown(path, 65534, 0) == 0) {
		check(!pack_add(path, 0) && is_said("not used: users other than root"),
		      "unnamed pack: a file of another user is refused");
		check(pack_add(path, 65534),
		      "unnamed pack: a file of a user who owns the program is used");
	}
	check(packs.nfiles == (me ? 1u : 2u), "unnamed pack: only the accepted files were added");
	check(!pack_add("/dev/null", 0) && is_said("not used: it is not a regular file\n"), "a device");
	put(in_folder("large"), SET("One", GUID));
	check(truncate(in_folder("large"), PACK_MOST + 1) == 0 && !pack_add(in_folder("large"), me) &&
	      is_said("not used: it has more than 16 MiB\n"),
	      "a file that is too large is refused");
	put(in_folder("text"), "text");
	check(!pack_add(in_folder("text"), me) && is_said("the file is neither XML nor a pack of metric sets\n"),
	      "a file that is neither XML nor a pack is refused");
}

static void t_order(void)
{
	const char *name;
	struct oaset s;

	packs.nfiles = 0;
	check(file_at(0, &name) == &oapack && strcmp(name, "built-in") == 0 && file_at(1, &name) == &oabasic &&
	      !file_at(2, &name),
	      "without files, sets are those of the built-in pack, and then the basic set");
	put(in_folder("one.xml"), SET("RenderBasic", GUID));
	check(file_load(in_folder("one.xml")) && file_at(0, &name) == &packs.files[0] &&
	      file_at(1, &name) == &oapack, "the sets of a file come before the built-in sets");
	check(set_find(LIT("RenderBasic"), false, NULL, &s) && strcmp(s.guid, GUID) == 0,
	      "a set of a file is found");
	check(set_find(LIT(GUID), true, NULL, &s) && str_is(s.name, "RenderBasic"),
	      "a set is found by its guid");
	check(!set_find(LIT(GUID), false, NULL, &s), "a guid is not found as a name");
	check(!set_find(LIT(""), false, NULL, &s) && !set_find(LIT(""), true, NULL, &s) &&
	      !set_find(LIT("None"), false, NULL, &s),
	      "an empty name and an unknown name are not found");
	check(set_unknown(LIT("None")) == EX_USAGE && is_said("unknown metric set 'None'; gpustat oa list"),
	      "message about an unknown set");
}

static void t_pack(void)
{
	static char oa_word[] = "pack", name[64], *words[] = { oa_word, name };
	struct oafile f;
	struct str at = { 0 };
	struct oaset s;
	static char text[4096];
	long n;

	packs.nfiles = 0;
	check(pack() == EX_USAGE && is_said("usage: oa pack XML... -O FILE"),
	      "oa pack without a file is an error of usage");
	str_copy(name, sizeof(name), str_z(in_folder("one.xml")));
	opt.words = words;
	opt.nwords = 2;
	check(pack() == EX_USAGE && is_said("usage: oa pack"),
	      "oa pack without an output is an error of usage");
	opt.output = in_folder("out");
	opt.nwords = MAX_METRICS + 2;
	check(pack() == EX_USAGE && is_said("too many files"),
	      "oa pack with too many files is an error of usage");
	opt.nwords = 2;
	check(pack() == EX_OK && strcmp(steps, "close file confine ") == 0,
	      "oa pack opens its files before confine()");
	n = file_slurp(opt.output, text, sizeof(text));
	check(n > 0 && oafile_detect(&f, str_of(text, (size_t)n)) && f.origin == OM_PACK &&
	      oaset_next(&f, &at, &s) && strcmp(s.guid, GUID) == 0 && !oaset_next(&f, &at, &s),
	      "oa pack writes the set of its file");
	packs.nfiles = 0;
	name[0] = '\0';
	check(pack() == EX_FAIL && is_said("error\n"),
	      "oa pack of a file that cannot be read fails");
}

int main(void)
{
	folder_begin("oasets");
	t_found();
	t_order();
	t_pack();
	shell("rm -rf \"$D\"");
	return unit_end();
}
