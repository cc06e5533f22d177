/* oasets.c - the metric sets that gpustat oa knows: the files of --metrics, gpu.pack, the built-in
 * pack, the basic set; writes packs of sets.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/os/os.h"
#include "sys.h"

#include <limits.h>

static struct {
	/* files with metric sets: those of --metrics, and gpu.pack */
	struct oafile files[MAX_METRICS + 1];
	const char *names[MAX_METRICS + 1];
	size_t nfiles;
	struct oapacker *packer;
	char *heap;
} packs;

/* Returns the i-th source of metric sets, in the order of search, and stores its name in *name.
 * Returns NULL after the last one. */
const struct oafile *file_at(size_t i, const char **name)
{
	*name = i < packs.nfiles ? packs.names[i] : "built-in";
	if (i < packs.nfiles)
		return &packs.files[i];
	i -= packs.nfiles;
	return i == 0 ? &oapack : i == 1 ? &oabasic : NULL;
}

/* Adds the metric sets of a file. fd: descriptor of the file, or -errno if it could not be opened.
 * Returns false after an error message. */
static bool file_add(const char *name, long fd)
{
	struct str text = { 0 };
	long r = fd < 0 ? fd : sys_map((int)fd, &text.p, &text.e);

	if (r < 0) {
		say_error(name, r);
		return false;
	}
	if (!oafile_detect(&packs.files[packs.nfiles], text)) {
		say(name, ": the file is neither XML nor a pack of metric sets", NULL);
		return false;
	}
	packs.names[packs.nfiles++] = name;
	return true;
}

static bool file_load(const char *name)
{
	return file_add(name, file_open(name, O_RDONLY));
}

enum { PACK_MOST = 16 << 20 }; /* most bytes of gpu.pack; a pack of all public sets has 511 KB */

/* Adds the metric sets of the file `path`, a pack that no option names. Refuses a file that users
 * other than root and `owner` may write: these two may replace the program anyway. owner: user ID
 * that owns the program. A user gains nothing by this file if the program has file capabilities,
 * because --metrics accepts any file. Returns false if the file does not exist or is not used. */
static bool pack_add(const char *path, u32 owner)
{
	struct stat st = { 0 };
	long fd = file_open(path, O_RDONLY | O_NONBLOCK); /* opening a FIFO must not block */
	long r = fd < 0 ? fd : sys_fstat((int)fd, &st);

	if (r == -ENOENT || r == -ENOTDIR)
		return false;
	if (r == 0 && S_ISREG(st.st_mode) && st.st_size <= PACK_MOST &&
	    (st.st_uid == 0 || st.st_uid == owner) && !(st.st_mode & (S_IWGRP | S_IWOTH)))
		return file_add(path, fd);
	say(path, ": this pack of metric sets is not used: ",
	    r < 0 ? error_text(r) : !S_ISREG(st.st_mode) ? "it is not a regular file" :
	    st.st_size > PACK_MOST ? "it has more than 16 MiB" :
	    "users other than root and gpustat's owner may write it");
	if (fd >= 0)
		sys_close((int)fd);
	return false;
}

/* Adds the file gpu.pack in the folder of the program; if there is none, the one in
 * /usr/share/gpustat. */
static void pack_find(void)
{
	static const char self[] = "/proc/self/exe", base[] = "gpu.pack";
	static char beside[PATH_MAX];
	struct stat st = { 0 };
	const size_t cap = sizeof(beside) - sizeof(base);
	long n = sys_readlinkat(AT_FDCWD, self, beside, cap);
	char *slash = n > 0 && (size_t)n < cap ? strrchr(beside, '/') : NULL;

	if (slash && sys_fstatat(AT_FDCWD, self, &st) == 0) {
		memcpy(slash + 1, base, sizeof(base));
		if (pack_add(beside, st.st_uid))
			return;
	}
	pack_add("/usr/share/gpustat/gpu.pack", st.st_uid);
}

bool load_metrics(void)
{
	for (size_t i = 0; i < opt.oa.nmetrics; i++)
		if (!file_load(opt.oa.metrics[i]))
			return false;
	pack_find();
	return true;
}

/* Finds the first metric set that has this name, or that has `name` as its GUID if by_guid is set,
 * for platform p (NULL: any platform). Stores the metric set in *s. Returns false if there is
 * none. */
bool set_find(struct str name, bool by_guid, const struct oaplatform *p, struct oaset *s)
{
	const struct oafile *f;
	const char *where;

	/* An empty name must not match a set that has no name or no guid. */
	for (size_t i = 0; name.p < name.e && (f = file_at(i, &where)); i++) {
		struct str at = { 0 };

		while (oaset_next(f, &at, s))
			if (str_eq(name, by_guid ? str_z(s->guid) : s->name) &&
			    (!p || oaset_fits(s, p)))
				return true;
	}
	return false;
}

int set_unknown(struct str name)
{
	char text[256];

	str_copy(text, sizeof(text), name);
	return usage("unknown metric set '", text,
		     "'; gpustat oa list shows the known ones; " METRICS_REMEDY);
}

/* --- the command `oa pack` -------------------------------------------------------------------- */

static struct {
	struct table packer, heap;
} packs_tables = {
	.packer = TABLE_ROW(packs.packer, 1, 1, "packs of metric sets"),
	/* this table has the texts and equations of a pack: 496 KB for all public metric files */
	.heap = TABLE_ROW(packs.heap, 2 << 20, 1, "bytes of a pack"),
};

static long write_pack(void)
{
	const struct oapacker *p = packs.packer;
	const struct buf *parts[] = { &p->list, &p->heap, &p->sets };
	long fd = file_open(opt.output, O_WRONLY | O_CREAT | O_TRUNC), r = fd;

	for (size_t i = 0; i < LEN(parts) && r >= 0; i++)
		r = write_all((int)fd, parts[i]->p, parts[i]->n);
	return r;
}

int pack(void)
{
	char text[256];
	struct buf why = BUF_Z(text);
	long r;

	if (opt.nwords < 2 || !opt.output)
		return usage_z("usage: oa pack XML... -O FILE");
	if (opt.nwords - 1 > MAX_METRICS)
		return usage_z("too many files");
	for (size_t i = 1; i < opt.nwords; i++)
		if (!file_load(opt.words[i]))
			return EX_FAIL;
	close_files();
	/* The output file may be a new file: then the sandbox must permit to create files in its
	 * folder. */
	if (!sandbox_file(opt.output, true)) {
		struct replacement to;

		replace_begin(&to, opt.output);
		sandbox_folder(to.dir, true);
	}
	confine(0);
	if (!table_has(&packs_tables.packer, 0) ||
	    !oapack_make(packs.packer, table_buf(&packs_tables.heap), packs.files, packs.nfiles,
			 &why)) {
		say("cannot pack: ", buf_z(&why), NULL);
		return EX_FAIL;
	}
	r = write_pack();
	if (r < 0)
		say_error(opt.output, r);
	return r < 0 ? EX_FAIL : EX_OK;
}
