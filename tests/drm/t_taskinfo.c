/* t_taskinfo.c - unit test of sources/drm/taskinfo.c: users, CPU time, memory, command lines and
 * descent of processes in a /proc made of files. SPDX-License-Identifier: MIT */
#include "../../sources/drm/taskinfo.c"

#include "folder.h"

void (*fdinfo_hook)(void);
static u64 started = 700; /* the start of all processes */

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

		check(is == (rows[i].name != NULL), "row %zu is %s user 1000", i, is ? "of" : "not of");
		if (is && rows[i].name)
			check_str(str_z(name), rows[i].name, "its name");
	}
}

static void t_users(void)
{
	static char text[6000];
	char name[USER_BYTES] = "";

	check(user_find(7, name) == 0, "without the file no user has a name");
	memset(text, 'l', 5000); /* a line longer than the buffer, which ends as another user's */
	strcpy(text + 5000, ":x:7:\nbob:x:7:\nlast:x:8:");
	put(in_folder("etc/passwd"), text);
	check(user_find(7, name) == 1, "user 7 has a name");
	check_str(str_z(name), "bob", "a line that is too long is skipped");
	check(user_find(8, name) == 0, "a line without an end is not read");
	check_str(user_name(9), "9", "a user without a name has a number");
	check_str(user_name(UINT32_MAX), "4294967295", "the largest one");
	check_str(user_name(7), "bob", "a name");
	put(in_folder("etc/passwd"), "eve:x:7:\n");
	check_str(user_name(7), "bob", "it is remembered");
	for (u32 i = 20; i < 20 + USERS; i++)
		user_name(i);
	check_str(user_name(7), "eve", "until eight others were");
}

/* --- facts ------------------------------------------------------------------------------------ */

static void t_user_read(void)
{
	struct taskinfo i = { .pid = 30 };
	char b[64];

	file_is(30, "status", "Name:\tx\nUid:\t1\t7\t3\t4\n");
	user_read(&i);
	check(i.has_uid && i.uid == 7, "the effective user is the second number");
	check_str(str_of(b, text_copy(i.user, b, sizeof(b))), "eve", "its name");
	file_is(30, "status", "Uid:\t1\t4294967296\t3\t4\n");
	user_read(&i);
	check(!i.has_uid, "a number above 32 bits is none");
	file_is(30, "status", "Uid:\t1\n");
	user_read(&i);
	check(!i.has_uid, "a line without the second number");
	i.pid = 31;
	user_read(&i);
	check(!i.has_uid, "no such process");
}

static void t_stat_read(void)
{
	struct taskinfo i = { .pid = 32, .start = 700 };
	u64 page = (u64)sysconf(_SC_PAGESIZE);

	stat_is(32, 1, "30 12", "700 0 5");
	stat_read(&i);
	check(i.t > 0 && i.ticks == 42 && i.t_was == 0, "user and system time are added");
	check(i.has_rss && i.rss == 5 * page, "pages become bytes");
	stat_is(32, 1, "31 13", "700 0 18446744073709551615");
	stat_read(&i);
	check(i.ticks == 44 && i.ticks_was == 42 && i.t_was > 0, "a second reading has a rate");
	check(!i.has_rss, "more bytes than 64 bits hold are no value");
	stat_is(32, 1, "1 1", "701 0 5");
	stat_read(&i);
	check(i.t == 0 && !i.has_rss && i.t_was > 0, "another process has the pid now");
	i.start = UINT64_MAX;
	stat_read(&i);
	check(i.t > 0 && i.ticks == 2 && i.t_was == 0, "an unknown start is not compared");
	stat_is(32, 1, "18446744073709551615 1", "701 0 5");
	stat_read(&i);
	check(i.t == 0, "a sum that overflows is no value");
}

static void t_cmdline(void)
{
	struct taskinfo i = { .pid = 33 };
	char b[600], want[CMDLINE_BYTES + 1];

	put_file(in_folder("proc/33/cmdline"), "a\0b c\0\0d\0\0", 10);
	cmdline_read(&i);
	check_str(str_of(b, text_copy(i.cmdline, b, sizeof(b))), "a b c  d", "NULs become blanks");
	file_is(33, "cmdline", "");
	cmdline_read(&i);
	check_str(str_of(b, text_copy(i.cmdline, b, sizeof(b))), "a b c  d", "an empty one changes nothing");
	memset(b, 'x', sizeof(b));
	put_file(in_folder("proc/33/cmdline"), b, sizeof(b));
	cmdline_read(&i);
	memset(want, 'x', CMDLINE_BYTES);
	want[CMDLINE_BYTES] = '\0';
	check_str(str_of(b, text_copy(i.cmdline, b, sizeof(b))), want, "a long one is cut");
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
	check(lineage_find(60) == IN_TREE, "a process of -p, which need not exist");
	check(lineage_find(51) == IN_TREE && lineage_find(52) == IN_TREE, "a child, a grandchild");
	check(lineage_find(53) == OTHER_TREE, "another process");
	calls = fileio.calls;
	check(lineage_find(54) == OTHER_TREE, "parents that form a loop");
	check(fileio.calls - calls <= 12, "which is noticed after a few reads");
	check(lineage_find(57) == NO_LINEAGE, "a parent that has ended is asked about again");
	wanted.npids = 0;
	check(lineage_find(53) == OTHER_TREE, "no process is asked for");
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
	check(wanted.user && !wanted.stat && !wanted.cmdline, "only what is shown is read");
	g = registry.group_of(&clients[one]);
	check(g && g == registry.group_of(&clients[two]), "clients of one process have one group");
	check(g->pid == 30 && g->first_shown == two && clients[two].next_shown == 0 &&
	      g->keep, "which lists those that are shown");
	fdinfo_hook();
	check(taskinfos[task].has_uid && taskinfos[task].uid == 7, "the owner's user was read");
	file_is(30, "status", "Uid:\t1\t8\t3\t4\n");
	fdinfo_hook();
	check_u64(taskinfos[task].uid, 7, "it is not read again as long as the task is the same");
	tasks[task].read = 2;
	fdinfo_hook();
	check_u64(taskinfos[task].uid, 8, "it is after the task was read again");
	g->members = 0;
	fdinfo_hook();
	check(g->keep, "a process without clients that lives is kept");
	started = 701;
	fdinfo_hook();
	check(!g->keep, "one that has ended is not");
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
