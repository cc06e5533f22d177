/* taskinfo.c - facts from /proc about the processes that own clients: user, CPU time, memory,
 * command line; and which of these processes descend from those of -p.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/drm/drm.h"
#include "sys.h"

enum {
	STAT_BYTES = 1024, /* size of the buffer for /proc/PID/stat: 52 numbers and a name */
	CMDLINE_BYTES = 512, /* maximum size of a command line; a longer one is cut */
	USERS = 8,           /* number of users whose names are cached */
	USER_BYTES = 33,     /* size of a user name and its NUL: useradd allows 32 bytes */
	/* maximum number of generations in which lineage_find() searches for an ancestor of a
	 * process */
	GENERATIONS = 4096,
};

/* The facts of processes that each reading reads, and the PIDs of the option -p whose descendants
 * are selected (--children). */
static struct {
	bool stat, user, cmdline;
	const u32 *pids; /* PIDs of the option -p, if --children is given */
	size_t npids;
} wanted;

/* Reads the beginning of a file of a process, /proc/PID followed by `file`, into b, at most cap
 * bytes. Returns the text that was read. */
static struct str head_read(u32 pid, const char *file, char *b, size_t cap)
{
	char path[TASK_PATH];
	size_t have = 0;
	long fd, n = 1;

	task_path(path, pid, file);
	fd = files_note_error(sys_openat(roots.proc, path, O_RDONLY | O_NONBLOCK | O_CLOEXEC));
	fileio.calls++;
	while (fd >= 0 && n > 0 && have < cap && !(have && b[have - 1] == '\n')) {
		n = files_note_error(sys_read((int)fd, b + have, cap - have));
		have += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		sys_close((int)fd);
	return (struct str){ b, b + have };
}

/* Returns the row in taskinfos[] of the process tasks[task]; NULL if the table is full. The row is
 * emptied if it is that of an older process with the same pid. */
static struct taskinfo *info_get(u32 task)
{
	const struct task *t = &tasks[task];
	struct taskinfo *i;

	if (!table_has(&taskinfos_table, task))
		return NULL;
	i = &taskinfos[task];
	if (i->pid == t->pid && i->start == t->start)
		return i;
	text_free(i->user);
	text_free(i->cmdline);
	*i = (struct taskinfo){ .pid = t->pid, .start = t->start };
	return i;
}

/* --- user ------------------------------------------------------------------------------------- */

static bool passwd_line(struct str line, u32 uid, char name[USER_BYTES])
{
	struct str user, rest;
	u64 n;

	str_cut(&line, ':', &user);
	str_cut(&line, ':', &rest); /* skip the password field of a line in /etc/passwd */
	str_cut(&line, ':', &rest);
	if (scan_u64(rest, &n) != rest.e || n != uid || user.p == user.e)
		return false;
	str_copy(name, USER_BYTES, user);
	return true;
}

/* Stores the name of the user `uid` in `name`. The name is searched for in ../etc/passwd relative
 * to /proc, so that with --proc it is the name on the other system. Skips a line that does not fit
 * the buffer. Returns 1 if the user has a name, 0 if not, -errno if the file exists but could not
 * be read. */
static long user_find(u32 uid, char name[USER_BYTES])
{
	char b[1024];
	size_t have = 0;
	bool found = false, skip = false;
	long n = 0, fd = files_note_error(sys_openat(roots.proc, "../etc/passwd",
						O_RDONLY | O_CLOEXEC | O_NONBLOCK));

	while (fd >= 0 && !found &&
	       (n = files_note_error(sys_read((int)fd, b + have, sizeof(b) - have))) > 0) {
		const char *from = b, *end = b + have + n;

		for (const char *p = b + have; p < end && !found; p++) {
			if (*p != '\n')
				continue;
			found = !skip && passwd_line((struct str){ from, p }, uid, name);
			skip = false;
			from = p + 1;
		}
		skip |= from == b && end == b + sizeof(b);
		have = skip ? 0 : (size_t)(end - from);
		memmove(b, from, have);
	}
	if (fd >= 0)
		sys_close((int)fd);
	return found ? 1 : n < 0 ? n : fd < 0 && fd != -ENOENT ? fd : 0;
}

/* Returns the name of a user, or the uid in digits if the user has no name; an empty text if the
 * file passwd could not be read. */
static struct str user_name(u32 uid)
{
	static struct {
		char name[USER_BYTES];
		bool known;
		u32 uid;
	} users[USERS];
	static u32 next;
	struct buf b;
	u32 i = 0;
	long found;

	while (i < USERS && !(users[i].known && users[i].uid == uid))
		i++;
	if (i == USERS) {
		i = next++ % USERS;
		users[i].uid = uid;
		found = user_find(uid, users[i].name);
		/* if the file passwd could not be read, the entry stays unknown: the next reading
		 * tries again */
		users[i].known = found >= 0;
		if (found < 0)
			return (struct str){ 0 };
		if (!found) {
			b = (struct buf){ .p = users[i].name, .cap = USER_BYTES - 1 };
			put_u64(&b, uid);
			b.p[b.n] = '\0';
		}
	}
	return str_z(users[i].name);
}

/* Reads the effective user of a process from /proc/PID/status. */
static void user_read(struct taskinfo *i)
{
	char b[STAT_BYTES];
	struct str text = head_read(i->pid, "/status", b, sizeof(b)), line, word, user;
	u64 uid;

	i->has_uid = false;
	while (!i->has_uid && line_next(&text, &line))
		if (str_skip_z(&line, "Uid:") && str_word(&line, &word) && str_word(&line, &word) &&
		    scan_u64(word, &uid) == word.e && uid <= UINT32_MAX) {
			i->has_uid = true;
			i->uid = (u32)uid;
			user = user_name(i->uid);
			i->user = text_put(i->user, user);
			i->has_user = user.p < user.e;
		}
}

/* --- a process's CPU time, memory and command line -------------------------------------------- */

static void stat_read(struct taskinfo *i)
{
	char b[STAT_BYTES];
	struct str s = head_read(i->pid, "/stat", b, sizeof(b));
	u64 start, user, system, pages = 0;
	bool same = parse_stat_start(s, &start) &&
		    (start == i->start || i->start == UINT64_MAX);

	i->has_rss = same && parse_stat_field(s, 24, &pages) &&
		     pages <= UINT64_MAX / sys_page_size();
	if (i->has_rss)
		i->rss = pages * sys_page_size();
	i->ticks_was = i->ticks;
	i->t_was = i->t;
	i->t = 0;
	if (!same || !parse_stat_field(s, 14, &user) || !parse_stat_field(s, 15, &system) ||
	    user > UINT64_MAX - system)
		return;
	i->ticks = user + system;
	i->t = sys_now(CLOCK_MONOTONIC);
}

/* Reads the command line of a process. Its arguments end with NUL bytes, which are replaced by
 * blanks. */
static void cmdline_read(struct taskinfo *i)
{
	char b[CMDLINE_BYTES] = "";
	struct str s = head_read(i->pid, "/cmdline", b, sizeof(b));
	size_t n = str_len(s);

	while (n && b[n - 1] == '\0')
		n--;
	for (size_t k = 0; k < n; k++)
		if (!b[k])
			b[k] = ' ';
	if (n)
		i->cmdline = text_put(i->cmdline, str_of(b, n));
}

static void info_read(u32 task)
{
	struct taskinfo *i = &taskinfos[task];

	if (wanted.stat)
		stat_read(i);
	if (i->described && i->described == tasks[task].read)
		return;
	i->described = tasks[task].read;
	if (wanted.user)
		user_read(i);
	if (wanted.cmdline)
		cmdline_read(i);
}

/* Reads the facts of each process that owns a client which is not hidden. Then sets the member
 * `keep` of the groups (struct group) of processes without clients: true if the process still runs
 * and its device still exists. */
static void facts_read(void)
{
	static u32 no;

	no++;
	for (u32 c = 1; c <= nrows.clients; c++) {
		const struct task *t = clients[c].e.used && !clients[c].hidden ?
			client_owner(&clients[c]) : NULL;
		struct taskinfo *i = t ? info_get((u32)(t - tasks)) : NULL;

		if (!i || i->read_no == no)
			continue;
		i->read_no = no;
		info_read((u32)(t - tasks));
	}
	for (u32 g = 1; g <= nrows.groups; g++) {
		struct group *p = &groups[g];

		if (!p->e.used || p->e.kind != K_PROCESS || p->members)
			continue;
		p->keep = p->start != UINT64_MAX && task_start(p->pid) == p->start &&
			  devices[p->device].e.used && !devices[p->device].gone;
	}
}

/* Returns the group (struct group) of the process that owns a client, for the client's device, and
 * adds the client to the group's list of shown clients if it is not hidden. NULL if the client has
 * no owner, or there is no room for a group. */
static struct group *process_group(struct client *c)
{
	const struct task *owner = client_owner(c);
	struct group *g = owner ? group_add(c->device, NONE, owner) : NULL;

	if (!g)
		return NULL;
	if (g->members == 0) {
		g->first_shown = 0;
		g->keep = true;
	}
	if (!c->hidden) {
		c->next_shown = g->first_shown;
		g->first_shown = (u16)(c - clients);
	}
	return g;
}

/* --- descent ---------------------------------------------------------------------------------- */

static bool is_ancestor(u64 pid)
{
	size_t i = 0;

	while (i < wanted.npids && wanted.pids[i] != pid)
		i++;
	return i < wanted.npids;
}

/* Returns IN_TREE if a process descends from one of the processes of the option -p, OTHER_TREE if
 * not, NO_LINEAGE if that is not known yet. Follows the parents of the process. In a saved copy of
 * /proc the parents may form a loop: each pid is compared with one that was seen 1, 2, 4, 8, ...
 * steps before (Brent's algorithm). */
static u8 lineage_find(u32 pid)
{
	char b[STAT_BYTES];
	u64 at = pid, mark = 0;
	u32 left = 1, turn = 1;

	for (u32 i = 0; i < GENERATIONS && !is_ancestor(at); i++) {
		if (!parse_stat_field(head_read((u32)at, "/stat", b, sizeof(b)), 4, &at))
			/* The process `at` has ended and its child has another parent now: the next
			 * reading tries again. */
			return NO_LINEAGE;
		if (at == 0 || at == mark || at > INT32_MAX)
			return OTHER_TREE;
		if (--left == 0) {
			mark = at;
			left = turn *= 2;
		}
	}
	return is_ancestor(at) ? IN_TREE : OTHER_TREE;
}

/* Sets the member `lineage` of each process that holds a client: IN_TREE or OTHER_TREE, whether it
 * descends from a process of the option -p. Once set, it stays, also after the parent has ended. */
static void children_find(void)
{
	for (u32 t = 1; t <= nrows.tasks; t++)
		if (tasks[t].refs && tasks[t].lineage == NO_LINEAGE)
			tasks[t].lineage = lineage_find(tasks[t].pid);
}

/* hook that the source fdinfo calls after each reading */

static void taskinfos_read(void)
{
	if (wanted.npids)
		children_find();
	if (registry.group_of)
		facts_read();
}

/* Selects the facts of processes that each reading reads. shows: returns true if the quantity
 * D_PROC_* is shown: this fact is then read. If shows is not NULL, the registry also computes sums
 * by process. pids: the n PIDs whose descendants are selected. */
void taskinfos_begin(bool (*shows)(u8 desc), const u32 *pids, size_t n)
{
	if (shows) {
		wanted.stat = shows(D_PROC_CPU) || shows(D_PROC_RSS);
		wanted.user = shows(D_PROC_USER) || shows(D_PROC_UID);
		wanted.cmdline = shows(D_PROC_CMDLINE);
		registry.group_of = process_group;
	}
	wanted.pids = pids;
	wanted.npids = n;
	fdinfo_hook = taskinfos_read;
}
