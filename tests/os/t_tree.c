/* t_tree.c - unit test of sources/os/tree.c, on a folder in place of /proc: which processes
 * descend from this one when parents end, when pids are used again, and when names hold any
 * bytes. SPDX-License-Identifier: MIT */
#include "../../sources/os/tree.c"
#include "folder.h"

/* above the pid of this process, so that a list of these pids does not include it */
enum { FIRST = 100000 };

static u32 self, base;

/* Adds a process, or changes its parent. comm: with the parentheses. */
static void process(u32 pid, const char *comm, u32 parent)
{
	char text[256];

	snprintf(text, sizeof(text), "%u %s S %u 1 1 0 -1 4194560 1 0\n", pid, comm, parent);
	put(in_folder("proc/%u/stat", pid), text);
}

/* Removes a process. */
static void end_of(u32 pid)
{
	remove(in_folder("proc/%u/stat", pid));
	rmdir(in_folder("proc/%u", pid));
}

/* Lists the processes from `from` to `to` that exist, and returns a bit for each that belongs to
 * the tree. */
static u32 list(u32 from, u32 to)
{
	u32 bits = 0;

	tree_has(1); /* pid 1 begins a new list */
	for (u32 pid = from; pid <= to; pid++)
		if (access(in_folder("proc/%u", pid), F_OK) == 0 && tree_has(pid))
			bits |= 1u << (pid - from);
	return bits;
}

static void t_members(void)
{
	u32 living;

	process(base + 1, "(before)", self); /* a child that this process had before */
	tree_begin();
	process(base + 2, "(after)", base + 1);
	process(base + 3, "(command)", self);
	process(base + 4, "(child)", base + 3);
	process(base + 5, "(other)", 1);
	process(base + 6, "(a) S 1 (b\n)", base + 4);
	check_u64(list(base, base + 9), 1u << 3 | 1u << 4 | 1u << 6,
	          "children and grandchildren belong to the tree; a child that existed before "
	          "tree_begin() does not");
	end_of(base + 3);
	process(base + 4, "(child)", 1);
	process(base + 7, "(late)", base + 4);
	check_u64(list(base, base + 9), 1u << 4 | 1u << 6 | 1u << 7,
	          "descendants belong to the tree after their parent has ended");
	check_u64(tree_size(&living), 4,
	          "tree_size() counts all processes that belonged to the tree");
	check_u64(living, 3, "tree_size() counts the living processes of the last list");
	process(base + 8, "(orphan)", self);
	check_u64(list(base, base + 9), 1u << 4 | 1u << 6 | 1u << 7 | 1u << 8,
	          "an orphan that became a child of this process belongs to the tree");
}

static void t_pids(void)
{
	process(base + 12, "(low)", base + 14);
	process(base + 13, "(lower)", base + 12);
	process(base + 14, "(high)", base + 8);
	check_u64(list(base + 10, base + 19), 1u << 2 | 1u << 3 | 1u << 4,
	          "a process whose parent has a higher pid belongs to the tree");
	end_of(base + 14);
	check_u64(list(base + 10, base + 19), 1u << 2 | 1u << 3,
	          "a process belongs to the tree after its parent with a higher pid has ended");
	process(base + 14, "(again)", 1);
	check_u64(list(base + 10, base + 19), 1u << 2 | 1u << 3,
	          "a foreign process that has the pid of an ended one is not in the tree");
	process(base + 15, "(loop)", base + 16);
	process(base + 16, "(loop)", base + 15);
	check_u64(list(base + 10, base + 19), 1u << 2 | 1u << 3,
	          "processes that are each other's parents are not in the tree, and the list ends");
}

static void t_texts(void)
{
	static const char *const texts[] = { "", "1", "1 (a)", "1 (a) S", "1 (a) S x", "1 (a) S -1", "1 (a S 7",
					     "1 (a) S 99999999999999999999 1", "1 (a) S 4294967297 1" };

	for (u32 i = 0; i < LEN(texts); i++) {
		put(in_folder("proc/%u/stat", base + 20), texts[i]);
		check_u64(list(base + 20, base + 29), 0,
		          "a process with this malformed stat is not in the tree: %s", texts[i]);
		end_of(base + 20);
		list(base + 20, base + 29);
	}
}

static void t_full(void)
{
	const struct table *full;
	u32 n, bad = 0;

	while (table_full(&n))
		;
	list_begin();
	for (u32 pid = 1; pid <= MAX_LISTED + 1; pid++)
		list_add(pid, pid % 3 == 0);
	for (u32 pid = 1; pid <= MAX_LISTED; pid++)
		bad += list_find(tree.now, pid) != (pid % 3 == 0);
	check(!bad && tree.n[tree.now] == MAX_LISTED && list_find(tree.now, MAX_LISTED + 1) == -1,
	      "full table: the processes before the limit are found");
	check_u64(tree.living, (MAX_LISTED + 1) / 3, "full table: all processes of the tree are counted");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "processes of the machine") == 0, "full table: its name");
	list_begin();
}

int main(void)
{
	self = (u32)getpid();
	base = self + FIRST;
	folder_begin("tree");
	root_set(&roots.proc, in_folder("proc"));
	t_members();
	t_pids();
	t_texts();
	t_full();
	shell("rm -rf $D");
	return unit_end();
}
