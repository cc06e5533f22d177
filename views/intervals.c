/* intervals.c - sums the times that tasks wait for a CPU, and those that they spend in system
 * calls. Pure: no system calls.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "views/views.h"
#include "sources/os/os.h"

enum {
	/* maximum number of rows in intervals.tasks, one row per task; when the waits of tasks are
	 * summed, the rows of ended tasks are kept, too */
	MAX_TIMED = 65536,
	MAX_CALLS = 1024,  /* maximum number of system calls; an architecture has about 450 */
};

enum state { UNKNOWN, READY, RUNNING, SLEEPING, IN_CALL };

/* Row of a table: a task in intervals.tasks, or a system call in intervals.calls. */
struct row {
	struct interval sum;
	u64 since;         /* time in ns since which the task has been in its state (`state`) */
	u64 call; /* number of the system call that the task executes, if `state` is IN_CALL */
	/* value of intervals.epoch when the state was set; the state is unknown if intervals.epoch
	 * has changed since */
	u32 epoch;
	u8 state;          /* state of the task, enum state */
	bool wanted;       /* true: waits_want() selected this task, so its waits are summed */
	/* index, plus 1, of the next row in the same hash bucket or in the list of free rows; 0:
	 * none */
	u32 next;
	/* Two arrays of the table, whose elements are stored in its rows: element i is in row i,
	 * but is not about the task or system call of row i. bucket: index, plus 1, of the first
	 * row in hash bucket i; 0: none. order: index of the row at position i after sorting. */
	u32 bucket, order;
};

struct rows {
	struct row *row;
	u32 n, nbuckets, free; /* free: index of the first free row, plus 1; 0 if no row is free */
	struct table table;
};

static struct {
	struct rows tasks, calls;
	u32 epoch;     /* number of losses of perf records so far */
	bool some;     /* true: only the waits of selected tasks (row.wanted) are summed */
	bool by_calls; /* true: the result has one row per system call; false: one per task */
	u64 dropped;
} intervals = {
	.tasks = { .table = TABLE_ROW(intervals.tasks.row, MAX_TIMED, 128, "tasks with times") },
	.calls = { .table = TABLE_ROW(intervals.calls.row, MAX_CALLS, 64, "system calls") },
};

/* Allocates the first rows of the tables. calls: true to sum system calls, false to sum the waits
 * of tasks. */
void intervals_begin(bool calls)
{
	intervals.by_calls = calls;
	table_has(&intervals.tasks.table, 0);
	if (calls)
		table_has(&intervals.calls.table, 0);
}

/* --- rows ------------------------------------------------------------------------------------- */

static void row_link(struct rows *rows, u32 i)
{
	u32 *bucket = &rows->row[rows->row[i].sum.key % rows->nbuckets].bucket;

	rows->row[i].next = *bucket;
	*bucket = i + 1;
}

static struct row *row_find(const struct rows *rows, u64 key)
{
	u32 i = rows->nbuckets ? rows->row[key % rows->nbuckets].bucket : 0;

	while (i && rows->row[i - 1].sum.key != key)
		i = rows->row[i - 1].next;
	return i ? &rows->row[i - 1] : NULL;
}

/* Sets the number of hash buckets of a table to its number of allocated rows, and puts all rows
 * into the buckets again. The caller guarantees that no row is in the list of free rows. */
static void buckets_grow(struct rows *rows)
{
	for (u32 i = 0; i < rows->nbuckets; i++)
		rows->row[i].bucket = 0;
	rows->nbuckets = rows->table.ready;
	for (u32 i = 0; i < rows->n; i++)
		row_link(rows, i);
}

/* Returns the row with this key, a TID or the number of a system call. Adds the row if there is
 * none. Returns NULL if the table is full. */
static struct row *row_get(struct rows *rows, u64 key)
{
	struct row *r = row_find(rows, key);
	u32 i = rows->free;

	if (r)
		return r;
	if (!i && !table_has(&rows->table, rows->n)) {
		intervals.dropped++;
		return NULL;
	}
	if (i) {
		rows->free = rows->row[--i].next;
	} else {
		if (rows->nbuckets != rows->table.ready)
			buckets_grow(rows);
		i = rows->n++;
	}
	r = &rows->row[i];
	r->sum = (struct interval){ .key = key };
	r->state = UNKNOWN;
	r->wanted = false;
	row_link(rows, i);
	return r;
}

static void row_free(struct rows *rows, struct row *r)
{
	u32 i = (u32)(r - rows->row), *at = &rows->row[r->sum.key % rows->nbuckets].bucket;

	while (*at != i + 1)
		at = &rows->row[*at - 1].next;
	*at = r->next;
	r->next = rows->free;
	rows->free = i + 1;
}

/* --- intervals -------------------------------------------------------------------------------- */

static void set_state(struct row *r, u8 state, u64 time)
{
	r->state = state;
	r->since = time;
	r->epoch = intervals.epoch;
}

static bool is_in(const struct row *r, u8 state)
{
	return r->state == state && r->epoch == intervals.epoch;
}

/* Adds the interval from r->since to `time`, both in ns, to the sums in *to, and an error if
 * `failed` is true. Adds nothing if `time` is before r->since. */
static void sum_add(struct interval *to, const struct row *r, u64 time, bool failed)
{
	u64 ns = time - r->since;

	if (time < r->since)
		return;
	to->count++;
	to->errors += failed;
	to->total += ns;
	to->max = ns > to->max ? ns : to->max;
}

/* Called when perf records were lost: the intervals that are open now are not summed, since their
 * ends may be in the lost records. */
void intervals_lost(void)
{
	intervals.epoch++;
}

u64 intervals_dropped(void)
{
	return intervals.dropped;
}

/* Selects a task. From the first call on, only the waits of selected tasks are summed. */
void waits_want(u32 tid)
{
	struct row *r = row_get(&intervals.tasks, tid);

	intervals.some = true;
	if (r)
		r->wanted = true;
}

/* Called when a task has created another one: selects the new task if its parent is selected. */
void waits_fork(u32 parent, u32 tid)
{
	struct row *r = intervals.some ? row_find(&intervals.tasks, parent) : NULL;

	if (r && r->wanted)
		waits_want(tid);
}

/* Returns the row of a task whose waits are summed; NULL if they are not summed. The waits of task
 * 0, the kernel's idle task, are never summed. */
static struct row *waiting(u32 tid, struct str comm)
{
	struct row *r = NULL;

	if (tid && intervals.some)
		r = row_find(&intervals.tasks, tid);
	else if (tid)
		r = row_get(&intervals.tasks, tid);
	if (!r || (intervals.some && !r->wanted))
		return NULL;
	if (str_len(comm))
		str_copy(r->sum.comm, sizeof(r->sum.comm), comm);
	return r;
}

/* Called when a task was woken up: its wait for a CPU begins. A running task is ignored, because
 * the kernel also reports the wakeup of a task that had not gone to sleep yet. */
void waits_wakeup(u32 tid, struct str comm, u64 time)
{
	struct row *r = waiting(tid, comm);

	if (r && !is_in(r, READY) && !is_in(r, RUNNING))
		set_state(r, READY, time);
}

/* Called when a CPU stops running a task to run another one. ready: true if the task could have
 * gone on running, so that its wait for a CPU begins; false if it sleeps. */
void waits_out(u32 tid, struct str comm, bool ready, u64 time)
{
	struct row *r = waiting(tid, comm);

	if (r)
		set_state(r, ready ? READY : SLEEPING, time);
}

void waits_in(u32 tid, struct str comm, u64 time)
{
	struct row *r = waiting(tid, comm);

	if (!r)
		return;
	if (is_in(r, READY))
		sum_add(&r->sum, r, time, false);
	set_state(r, RUNNING, time);
}

/* Called when a task enters a system call: stores the number of the call and the time of its start
 * in the row of the task. */
void calls_enter(u32 tid, u64 number, u64 time)
{
	struct row *r = row_get(&intervals.tasks, tid);

	if (!r)
		return;
	r->call = number;
	set_state(r, IN_CALL, time);
}

/* Called when a system call returns: adds its duration to the sums of all calls with this number.
 * Adds nothing if the start of the call was not recorded, or if perf records were lost since
 * then. */
void calls_exit(u32 tid, u64 number, bool failed, u64 time)
{
	struct row *r = row_find(&intervals.tasks, tid), *call;

	if (!r)
		return;
	call = is_in(r, IN_CALL) && r->call == number ? row_get(&intervals.calls, number) : NULL;
	if (call)
		sum_add(&call->sum, r, time, failed);
	set_state(r, RUNNING, time);
}

/* Called when a task has ended: removes its row, because its last system call never returns, and
 * its TID may be used for another task. */
void calls_end(u32 tid)
{
	struct row *r = row_find(&intervals.tasks, tid);

	if (r)
		row_free(&intervals.tasks, r);
}

/* --- the result ------------------------------------------------------------------------------- */

/* Compares two rows for sorting, the larger one first: tasks by their longest wait, system calls by
 * their total time; equal rows by TID or number of the system call. */
static int row_cmp(const struct rows *rows, u32 a, u32 b)
{
	const struct interval *x = &rows->row[a].sum, *y = &rows->row[b].sum;

	if (intervals.by_calls && x->total != y->total)
		return x->total > y->total ? -1 : 1;
	if (x->max != y->max)
		return x->max > y->max ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* Sorts the rows that have at least one interval, and returns their number. intervals_row() returns
 * them in this order. */
size_t intervals_sort(void)
{
	struct rows *rows = intervals.by_calls ? &intervals.calls : &intervals.tasks;
	u32 gap = 1, n = 0;

	for (u32 i = 0; i < rows->n; i++)
		if (rows->row[i].sum.count)
			rows->row[n++].order = i;
	while (gap < n / 3)
		gap = 3 * gap + 1;
	/* Shell sort with Knuth's gaps (1, 4, 13, 40, ...), as in profile.c */
	for (; gap > 0; gap /= 3)
		for (u32 i = gap; i < n; i++) {
			u32 x = rows->row[i].order, at = i;

			for (; at >= gap && row_cmp(rows, rows->row[at - gap].order, x) > 0;
			     at -= gap)
				rows->row[at].order = rows->row[at - gap].order;
			rows->row[at].order = x;
		}
	return n;
}

const struct interval *intervals_row(size_t i)
{
	const struct rows *rows = intervals.by_calls ? &intervals.calls : &intervals.tasks;

	return &rows->row[rows->row[i].order].sum;
}
