/* t_taskinfo.c - unit test of sources/drm/taskinfo.c: users, CPU time, memory, command lines and
 * descent of processes in a /proc made of files. SPDX-License-Identifier: MIT */
#include "../../sources/drm/taskinfo.c"

#include "folder.h"

void (*fdinfo_hook)(void);
static u64 started = 700; /* start time of all processes */

u64 task_start(u32 pid)
{
	(void)pid;
	return started;
}

static void file_is(u32 pid, const char *name, const char *text)
{
	put(in_folder("proc/%u/%s", (unsigned)pid, name), text);
}

/* Writes a stat file: field 4 is the parent, 14 and 15 the CPU time, 22 the start, 24 the memory. */
static void stat_is(u32 pid, u32 parent, const char *times, const char *start_size_pages)
{
	char b[256];

	snprintf(b, sizeof(b), "%u (a) b) S %u 1 1 0 -1 0 0 0 0 0 %s 0 0 20 0 1 0 %s 0 0\n",
		 (unsigned)pid, (unsigned)parent, times, start_size_pages);
	file_is(pid, "stat", b);
}

/* --- users ------------------------------------------------------------------------------------ */

static void t_passwd_line(void)
{
	static const struct {
		const char *line, *name;
	} rows[] = {
		{ "ann:x:1000:1000::/home/ann:/bin/sh", "ann" }, { "ann:x:1000", "ann" },
		{ ":x:1000:", NULL }, { "ann:x:10000:", NULL }, { "ann:x:1000x:", NULL },
		{ "ann:x", NULL }, { "ann", NULL }, { "", NULL }, { "1000:1000:1:", NULL },
		{ "a.name.that.is.longer.than.32.bytes.is:x:1000:", "a.name.that.is.longer.than.32.by" },
	};
	char name[USER_BYTES];

	for (size_t i = 0; i < LEN(rows); i++) {
		bool is = passwd_line(edge_str(rows[i].line, strlen(rows[i].line)), 1000, name);

		check(is == (rows[i].name != NULL),
		      "line %zu of passwd is %s user 1000", i, is ? "that of" :
		      "not that of");
		if (is && rows[i].name)
			check_str(str_z(name), rows[i].name,
			          "line of passwd: the name of the user");
	}
}

static void t_users(void)
{
	static char text[6000];
	char name[USER_BYTES] = "";

	check(user_find(7, name) == 0, "without /etc/passwd, no user has a name");
	/* a line that is longer than the buffer, and whose end looks like another user's line */
	memset(text, 'l', 5000);
	strcpy(text + 5000, ":x:7:\nbob:x:7:\nlast:x:8:");
	put(in_folder("etc/passwd"), text);
	check(user_find(7, name) == 1, "the name of user 7 is found");
	check_str(str_z(name), "bob", "a line of passwd that is too long is skipped");
	check(user_find(8, name) == 0, "a last line of passwd without newline is not used");
	check_str(user_name(9), "9", "a user without a name is shown as a number");
	check_str(user_name(UINT32_MAX), "4294967295", "the largest user id is shown as a number");
	check_str(user_name(7), "bob", "a user with a name is shown by name");
	put(in_folder("etc/passwd"), "eve:x:7:\n");
	check_str(user_name(7), "bob", "the name of a user is remembered");
	for (u32 i = 20; i < 20 + USERS; i++)
		user_name(i);
	check_str(user_name(7), "eve", "the name of a user is read again after eight other users");
}

/* --- facts ------------------------------------------------------------------------------------ */

static void t_user_read(void)
{
	struct taskinfo i = { .pid = 30 };
	char b[64];

	file_is(30, "status", "Name:\tx\nUid:\t1\t7\t3\t4\n");
	user_read(&i);
	check(i.has_uid && i.uid == 7, "the effective user id is the second number of Uid");
	check_str(str_of(b, text_copy(i.user, b, sizeof(b))), "eve",
	          "a process has the name of its user");
	file_is(30, "status", "Uid:\t1\t4294967296\t3\t4\n");
	user_read(&i);
	check(!i.has_uid, "a user id above 32 bits is unknown");
	file_is(30, "status", "Uid:\t1\n");
	user_read(&i);
	check(!i.has_uid, "a line Uid without a second number is unknown");
	i.pid = 31;
	user_read(&i);
	check(!i.has_uid, "the user of a missing process is unknown");
}

static void t_stat_read(void)
{
	struct taskinfo i = { .pid = 32, .start = 700 };
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	stat_is(32, 1, "30 12", "700 0 5");
	stat_read(&i);
	check(i.t > 0 && i.ticks == 42 && i.t_was == 0,
	      "the CPU time is the sum of user and system time");
	check(i.has_rss && i.rss == 5 * page, "memory is converted from pages to bytes");
	stat_is(32, 1, "31 13", "700 0 18446744073709551615");
	stat_read(&i);
	check(i.ticks == 44 && i.ticks_was == 42 && i.t_was > 0,
	      "the second reading has the ticks of the first one, for a rate");
	check(!i.has_rss, "memory that exceeds 64 bits in bytes is unknown");
	stat_is(32, 1, "1 1", "701 0 5");
	stat_read(&i);
	check(i.t == 0 && !i.has_rss && i.t_was > 0,
	      "a process with another start time has neither CPU time nor memory");
	i.start = UINT64_MAX;
	stat_read(&i);
	check(i.t > 0 && i.ticks == 2 && i.t_was == 0, "an unknown start time is not compared");
	stat_is(32, 1, "18446744073709551615 1", "701 0 5");
	stat_read(&i);
	check(i.t == 0, "a CPU time whose sum overflows is unknown");
}

static void t_cmdline(void)
{
	struct taskinfo i = { .pid = 33 };
	char b[600], want[CMDLINE_BYTES + 1];

	put_file(in_folder("proc/33/cmdline"), "a\0b c\0\0d\0\0", 10);
	cmdline_read(&i);
	check_str(str_of(b, text_copy(i.cmdline, b, sizeof(b))), "a b c  d",
	          "NUL bytes of a command line are shown as blanks");
	file_is(33, "cmdline", "");
	cmdline_read(&i);
	check_str(str_of(b, text_copy(i.cmdline, b, sizeof(b))), "a b c  d",
	          "an empty command line does not change the stored one");
	memset(b, 'x', sizeof(b));
	put_file(in_folder("proc/33/cmdline"), b, sizeof(b));
	cmdline_read(&i);
	memset(want, 'x', CMDLINE_BYTES);
	want[CMDLINE_BYTES] = '\0';
	check_str(str_of(b, text_copy(i.cmdline, b, sizeof(b))), want,
	          "a long command line is cut");
}

/* --- descent ---------------------------------------------------------------------------------- */

static void t_lineage(void)
{
	static const u32 pids[] = { 50, 60 };
	u32 calls;

	wanted.pids = pids;
	wanted.npids = 2;
	stat_is(51, 50, "0 0", "1 0 0");
	stat_is(52, 51, "0 0", "1 0 0");
	stat_is(53, 1, "0 0", "1 0 0");
	stat_is(1, 0, "0 0", "1 0 0");
	stat_is(54, 56, "0 0", "1 0 0");
	stat_is(55, 54, "0 0", "1 0 0");
	stat_is(56, 55, "0 0", "1 0 0");
	stat_is(57, 58, "0 0", "1 0 0");
	check(lineage_find(60) == IN_TREE,
	      "a process of -p is in the tree, whether it exists or not");
	check(lineage_find(51) == IN_TREE && lineage_find(52) == IN_TREE,
	      "a child and a grandchild are in the tree");
	check(lineage_find(53) == OTHER_TREE, "a process with another ancestor is not in the tree");
	calls = fileio.calls;
	check(lineage_find(54) == OTHER_TREE,
	      "processes whose parents form a loop are not in the tree");
	check(fileio.calls - calls <= 12, "a loop of parents is detected after at most 12 calls");
	check(lineage_find(57) == NO_LINEAGE,
	      "a process whose parent has ended has no lineage yet");
	wanted.npids = 0;
	check(lineage_find(53) == OTHER_TREE, "without -p, no process is in the tree");
}

/* --- all processes with clients --------------------------------------------------------------- */

static bool shows_user(u8 desc)
{
	return desc == D_PROC_USER;
}

static void t_facts(void)
{
	u32 device = device_add(), one, two, task = task_add(30);
	struct group *g;

	tasks[task].start = 700;
	tasks[task].read = 1;
	one = client_add(device, KEY_ID, 1);
	two = client_add(device, KEY_ID, 2);
	holder_add(30, 3, task, one);
	holder_add(30, 4, task, two);
	file_is(30, "status", "Uid:\t1\t7\t3\t4\n");
	taskinfos_begin(shows_user, NULL, 0);
	check(wanted.user && !wanted.stat && !wanted.cmdline,
	      "only the files of displayed fields are read");
	g = registry.group_of(&clients[one]);
	check(g && g == registry.group_of(&clients[two]),
	      "two clients of one process have one group");
	check(g->pid == 30 && g->first_shown == two && clients[two].next_shown == 0 &&
	      g->keep, "a group lists the displayed clients");
	fdinfo_hook();
	check(taskinfos[task].has_uid && taskinfos[task].uid == 7, "the user of the owner is read");
	file_is(30, "status", "Uid:\t1\t8\t3\t4\n");
	fdinfo_hook();
	check_u64(taskinfos[task].uid, 7, "the user is not read again while the task is the same");
	tasks[task].read = 2;
	fdinfo_hook();
	check_u64(taskinfos[task].uid, 8, "the user is read again after the task was read again");
	g->members = 0;
	fdinfo_hook();
	check(g->keep, "a living process without clients is kept");
	started = 701;
	fdinfo_hook();
	check(!g->keep, "an ended process without clients is not kept");
}

int main(void)
{
	folder_begin("taskinfo");
	root_set(&roots.proc, in_folder("proc"));
	t_passwd_line();
	t_users();
	t_user_read();
	t_stat_read();
	t_cmdline();
	t_lineage();
	t_facts();
	shell("rm -rf \"$D\"");
	return unit_end();
}
