/* tree.c - the processes that descend from this one: the command of `run` and all that it starts.
 * The parent of a process is read once, when a list of /proc shows it first: it stays in the tree
 * when its parent ends, and when it changes its group or session. So that the children of such a
 * parent descend from this process too, as those of a daemon, this process is their subreaper.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "sources/os/os.h"
#include "sys.h"

enum { MAX_LISTED = 65536, MAX_DEPTH = 64 };

/* The present list of /proc and the one before, each in ascending order: twice the pid, plus 1 for
 * a process of the tree. */
struct listed {
	u32 at[2];
};
static TABLE(struct listed, listed, MAX_LISTED, 1024, "processes of the machine");

static struct {
	u32 n[2];
	u8 now;     /* the present list */
	u32 last;   /* pid that was added last */
	u32 self, living, all;
} tree;

static void list_begin(void)
{
	tree.now ^= 1;
	tree.n[tree.now] = tree.living = 0;
}

static void list_add(u32 pid, bool member)
{
	tree.last = pid;
	tree.living += member;
	if (table_has(&listed.t, tree.n[tree.now]))
		listed.rows[tree.n[tree.now]++].at[tree.now] = pid << 1 | member;
}

/* Returns 1 if a list has the process as one of the tree, 0 if it has it as another one, -1 if it
 * does not have it. */
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

/* Returns the parent of a process; 0: unknown, or it has none. The comm before it may hold any
 * byte. */
static u32 parent_of(u32 pid)
{
	char path[TASK_PATH], b[1024]; /* 52 numbers and a comm */
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

/* A parent may have a higher pid than its child, so that this list does not have it yet. */
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

/* Begins the tree. All processes that exist now are outside of it, also children that this process
 * had before it executed this program. */
void tree_begin(void)
{
	struct dir d;
	const char *name;
	u64 pid;

	tree.self = sys_pid();
	sys_subreaper(); /* an old kernel refuses it: then a child of a daemon may be missed */
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

/* Returns whether a process is part of the tree. It is called for each process of a list of /proc,
 * in ascending order. */
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

/* Returns the number of processes of the tree so far; *living: of those in the last list. */
u32 tree_size(u32 *living)
{
	*living = tree.living;
	return tree.all;
}
