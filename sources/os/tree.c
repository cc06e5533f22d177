/* tree.c - the processes that descend from this one: the command of `run` and all processes that it
 * starts. The parent of a process is read once, when a listing of /proc contains the process for
 * the first time: the process stays in the tree when its parent ends, and when it changes its
 * process group or session. This process is a subreaper: it becomes the parent of orphans, such as
 * daemons, so that their later children are recognised as its descendants too.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "sources/os/os.h"
#include "sys.h"

enum { MAX_LISTED = 65536, MAX_DEPTH = 64 };

/* A row of two sorted lists of PIDs: at[tree.now] belongs to the present listing of /proc, the
 * other element to the previous listing. A value is twice the PID, plus 1 if the process is part of
 * the tree, that is, descends from gpustat. */
struct listed {
	u32 at[2];
};
static TABLE(struct listed, listed, MAX_LISTED, 1024, "processes of the machine");

static struct {
	u32 n[2];
	/* index in n[] and at[] of the present listing of /proc; the other index is the previous
	 * listing */
	u8 now;
	u32 last;   /* PID that was last added to the present listing of /proc */
	u32 self, living, all;
} tree;

/* Begins a new listing of /proc: the present listing becomes the previous one. */
static void list_begin(void)
{
	tree.now ^= 1;
	tree.n[tree.now] = tree.living = 0;
}

/* Appends a process to the present listing of /proc. member: true if the process is part of the
 * tree. */
static void list_add(u32 pid, bool member)
{
	tree.last = pid;
	tree.living += member;
	if (table_has(&listed.t, tree.n[tree.now]))
		listed.rows[tree.n[tree.now]++].at[tree.now] = pid << 1 | member;
}

/* Searches for a process in a listing of /proc. list: index of the listing (tree.now: the present
 * one). Returns 1 if the process is listed as part of the tree, 0 if it is listed as outside of the
 * tree, -1 if it is not listed. */
static int list_find(u8 list, u32 pid)
{
	u32 lo = 0, hi = tree.n[list];

	while (lo < hi) {
		u32 mid = (lo + hi) / 2;

		if (listed.rows[mid].at[list] >> 1 < pid)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == tree.n[list] || listed.rows[lo].at[list] >> 1 != pid)
		return -1;
	return (int)(listed.rows[lo].at[list] & 1);
}

/* Returns the parent's PID of a process, from /proc/PID/stat; 0 if it is unknown, or the process
 * has no parent. The search for the fields begins at the last ')', because the comm before it may
 * contain any byte. */
static u32 parent_of(u32 pid)
{
	char path[TASK_PATH], b[1024]; /* room for the 52 fields of /proc/PID/stat */
	struct str s, word;
	u64 parent = 0;
	long n;

	task_path(path, pid, "/stat");
	n = slurp(roots.proc, path, b, sizeof(b));
	s = (struct str){ b + (n > 0 ? n : 0), b + (n > 0 ? n : 0) };
	while (s.p > b && s.p[-1] != ')')
		s.p--;
	if (s.p == b || !str_word(&s, &word) || !str_word(&s, &word) ||
	    scan_u64(word, &parent) != word.e || parent > INT32_MAX)
		return 0;
	return (u32)parent;
}

/* Returns true if a process descends from gpustat's process. Each ancestor is searched for in both
 * listings of /proc: an ancestor with a higher PID than this process is not in the present listing
 * yet. */
static bool descends(u32 pid)
{
	for (u32 depth = 0; depth < MAX_DEPTH && (pid = parent_of(pid)); depth++) {
		int member = pid == tree.self ? 1 : list_find(tree.now, pid);

		if (member < 0)
			member = list_find(!tree.now, pid);
		if (member >= 0)
			return member;
	}
	return false;
}

/* Begins the tree of this process's descendants. All processes that exist now are outside of the
 * tree, also children that this process had before it executed gpustat. */
void tree_begin(void)
{
	struct dir d;
	const char *name;
	u64 pid;

	tree.self = sys_pid();
	/* On an old kernel without subreapers this call has no effect: descendants of a process
	 * that has become a daemon may then be missed. */
	sys_subreaper();
	list_begin();
	if (dir_open(&d, roots.proc, ".") < 0)
		return;
	while ((name = dir_next(&d))) {
		struct str s = str_z(name);

		if (scan_u64(s, &pid) == s.e && pid <= INT32_MAX)
			list_add((u32)pid, false);
	}
	dir_close(&d);
}

/* Returns whether a process is part of the tree. To be called for each process of a listing of
 * /proc, in ascending order of PID: a PID that is not higher than the one before begins a new
 * listing. */
bool tree_has(u32 pid)
{
	int member;

	if (pid <= tree.last)
		list_begin();
	member = list_find(!tree.now, pid);
	if (member < 0) {
		member = descends(pid);
		tree.all += (u32)member;
	}
	list_add(pid, member);
	return member;
}

/* Returns the number of processes that have become part of the tree so far; *living: number of
 * processes of the tree in the last listing of /proc. */
u32 tree_size(u32 *living)
{
	*living = tree.living;
	return tree.all;
}
