/* t_top.c - `top`: keys and their actions, the filter, intervals, times of recorded samples,
 * writes to a slow terminal, terminal modes, dumb terminals. It also tests
 * commands/shared/terminal.c. The terminal, its input and the samples are simulated.
 * SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static i64 clock_now; /* ns */
static i64 fake_now(void) { return clock_now; }
static long fake_write(const char *p, size_t n);
static long fake_read(char *b, size_t n);
static long fake_poll(struct pollfd *p, i64 until);
static long fake_termios(struct termios *t);
static long fake_modes(const struct termios *t);
static void fake_window(unsigned *rows, unsigned *cols);
static bool no_terminal;
static long fake_columns(int fd) { return fd == 1 && !no_terminal ? 80 : -1; }
#define sys_now(clock) fake_now()
#define sys_write(fd, p, n) fake_write(p, n)
#define sys_read(fd, b, n) fake_read(b, n)
#define sys_poll_until(p, n, until, mask) fake_poll(p, until)
#define sys_termios(fd, t) fake_termios(t)
#define sys_set_termios(fd, t) fake_modes(t)
#define sys_window(fd, rows, cols) fake_window(rows, cols)
#define sys_columns(fd) fake_columns(fd)
#define sys_kill(pid, sig) (fake.killed = (sig))
#define sys_block(signals, n, was) sigemptyset(was)
#define sys_unblock(was) ((void)*(was))
#define sys_default(sig) (fake.defaulted = (sig))
#define sys_signal_unless_ignored(sig, sa) (fake.caught += (sig) > 0 && (sa)->sa_handler == on_signal)
static struct {
	char written[1 << 17];
	size_t n;
	long writes[4];       /* results of writes: number of bytes or -errno; 0: all bytes */
	u32 nwrites, polls, modes_set;
	struct pollfd polled; /* argument of the last poll */
	i64 until, keys_until; /* times until which was polled; keys_until: for keys */
	const char *keys[8];  /* results of the reads; "": end of file; NULL: no key */
	u32 nkeys;
	long read_error;
	struct termios modes;
	bool no_keys, roots;
	unsigned rows, cols;
	i32 killed, defaulted;
	u32 caught;
	i64 waits[128];         /* playback.wait after each playback_next(); ns */
	u32 nwaits, samples, sorts;
	u32 devices;
	u32 lines;            /* calls of cmd_live() */
	u8 lines_kind;
	char moves[160];       /* moves in the recording */
	bool close_fails;
	int stop_after;       /* number of polls before a signal; 0: no signal */
} fake;
#define replay(...) replay_command(__VA_ARGS__) /* unit.h has functions of these names, too */
#include "../../commands/shared/terminal.c"
#include "../../commands/top.c"
#undef replay
#include "said.h"

struct opts opt;
struct record rec;
struct buf out;
volatile sig_atomic_t stopped;
struct playback playback;
u32 row_list[16], *order = row_list;
size_t norder;
void (*record_source)(struct record *r, u32 n);

static char bytes[OUT_BYTES];

/* --- the simulated terminal ------------------------------------------------------------------- */

static long fake_write(const char *p, size_t n)
{
	long r = fake.nwrites < LEN(fake.writes) ? fake.writes[fake.nwrites] : 0;

	fake.nwrites++;
	r = r ? r : (long)n;
	if (r > 0 && fake.n + (size_t)r <= sizeof(fake.written)) {
		memcpy(fake.written + fake.n, p, (size_t)r);
		fake.n += (size_t)r;
	}
	return r;
}

static long fake_read(char *b, size_t n)
{
	const char *keys = fake.keys[fake.nkeys++];

	if (fake.read_error)
		return fake.read_error;
	return keys ? (long)str_len(str_z(strncpy(b, keys, n))) : -EAGAIN;
}

/* The terminal can always be written. Without a key, the time advances to `until`. */
static long fake_poll(struct pollfd *p, i64 until)
{
	fake.polled = *p;
	fake.until = until;
	if (p->events == POLLIN)
		fake.keys_until = until;
	if ((int)++fake.polls == fake.stop_after) {
		stopped = 1;
		return -EINTR;
	}
	if (p->events == POLLOUT || (p->fd == 0 && fake.keys[fake.nkeys]))
		return 1;
	clock_now = until > clock_now ? until : clock_now;
	return 0;
}

static long fake_termios(struct termios *t)
{
	memset(t, 0, sizeof(*t));
	t->c_lflag = ICANON | ECHO | ISIG;
	t->c_iflag = ICRNL;
	return fake.no_keys ? -ENOTTY : 0;
}

static long fake_modes(const struct termios *t) { fake.modes = *t; fake.modes_set++; return 0; }
static void fake_window(unsigned *rows, unsigned *cols) { *rows = fake.rows; *cols = fake.cols; }

/* --- the simulated samples -------------------------------------------------------------------- */

bool open_roots(bool needed) { return needed && fake.roots; }
void sources_start(void) { }
void sources_sample(bool scan) { fake.samples += scan; }
void hide_clients(void) { }
void records_alloc(void) { }
int sink_open(void) { return -1; }
int no_device(void) { return EX_NODEVICE; }
i64 next_due(i64 start, i64 due, i64 step) { (void)start; return due + step; }
void choose_entities(u8 kind) { norder = kind == K_CLIENT ? 3 : 0; }
void sort_by_field(u8 kind, const struct recopts *ro) { fake.sorts += kind == K_CLIENT && ro; }
void order_add(size_t *n, u32 i) { order[(*n)++] = i; }
bool in_cgroup(struct str path) { return str_is(path, "/a"); }
int cmd_live(void) { fake.lines++; fake.lines_kind = opt.cmd->kind; return EX_OK; }
int playback_open(const char *name) { return *name == 'f' ? -1 : EX_FAIL; }
bool playback_close(void) { return !fake.close_fails; }
u8 playback_percent(void) { return 7; }
u32 playback_rows(void) { return 4; }
u32 playback_id(u32 row) { return 100 + row; }
void playback_back(void) { strcat(fake.moves, "<"); }
void playback_begin(void) { strcat(fake.moves, "0"); }
void playback_end(void) { strcat(fake.moves, "$"); }

bool playback_next(void)
{
	strcat(fake.moves, ">");
	playback.wait = fake.waits[fake.nwaits++];
	return true;
}

void choose_devices(void)
{
	norder = fake.devices;
	for (u32 i = 0; i < norder; i++)
		order[i] = i + 1;
}

/* Client n of a recording: pid 10 + n on cardN, comm "cN", cgroup "/b" or "/a". */
void playback_record(struct record *r, u32 row)
{
	static const struct column cols[] = {
		{ NULL, "dev", S_SCALAR, U_NONE, 0, 0, "" }, { NULL, "pid", S_SCALAR, U_NONE, 0, 0, "" },
		{ NULL, "comm", S_SCALAR, U_NONE, 0, 0, "" },
		{ NULL, "cgroup", S_SCALAR, U_NONE, 0, 0, "" },
	};
	static struct field fields[LEN(cols)];
	static char dev[16], comm[16];
	const char *const texts[] = { dev, "", comm, row % 2 ? "/a" : "/b" };

	snprintf(dev, sizeof(dev), "card%u", row);
	snprintf(comm, sizeof(comm), "c%u", row);
	r->f = fields;
	r->n = LEN(fields);
	for (size_t i = 0; i < LEN(fields); i++)
		fields[i] = (struct field){ .col = &cols[i],
			.v = { .type = i == 1 ? V_INT : V_TEXT, .n = 10 + row, .s = str_z(texts[i]) } };
}

static struct cmd top_cmd = { .kind = K_CLIENT };

static void clear(void)
{
	memset(&opt, 0, sizeof(opt));
	opt.out.fmt = format_find((struct str)STR("line"));
	opt.cmd = &top_cmd;
	opt.interval = 1000000000;
	memset(&fake, 0, sizeof(fake));
	fake.roots = true;
	fake.rows = 24;
	fake.cols = 80;
	no_terminal = false;
	view = (__typeof__(view)){ 0 };
	terminal = (struct terminal){ .screen.grid = terminal.screen.grid }; /* rows of a table never move */
	view.top.row_make = playback_record;
	memset(&playback, 0, sizeof(playback));
	devices_clear(9);
	for (u32 i = 0; i < 4; i++) {
		row_list[i] = i;
		snprintf(devices[i].dev, sizeof(devices[i].dev), "card%u", i);
		devices[i].e.kind = K_DEVICE;
	}
	norder = 0;
	stopped = 0;
	record_source = NULL;
	said.n = 0;
	out = buf_on(bytes, sizeof(bytes));
	setenv("TERM", "xterm", 1);
}

/* --- keys ------------------------------------------------------------------------------------- */

static void t_intervals(void)
{
	static const struct { i64 ms, shorter, longer; } rows[] = {
		{ 100, 100, 200 }, { 200, 100, 500 }, { 1000, 500, 2000 }, { 1500, 1000, 2000 },
		{ 50, 100, 100 }, { 60000, 30000, 60000 }, { 100000, 60000, 100000 },
		{ 30000, 20000, 60000 },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		for (int longer = 0; longer < 2; longer++) {
			i64 want = longer ? rows[i].longer : rows[i].shorter;

			clear();
			opt.interval = rows[i].ms * 1000000;
			change_interval(longer);
			if (!check(opt.interval == want * 1000000,
				   "change_interval: %" PRId64 " ms, %c", rows[i].ms,
				   longer ? '+' : '-'))
				note("got %" PRId64 " ns", opt.interval);
		}
}

static void t_cursor(void)
{
	static const struct { u16 key; size_t at, page, n, want; } rows[] = {
		{ KEY_UP, 0, 5, 10, 0 }, { 'k', 3, 5, 10, 2 }, { KEY_DOWN, 8, 5, 10, 9 },
		{ 'j', 9, 5, 10, 9 }, { KEY_PGUP, 3, 5, 10, 0 }, { KEY_PGUP, 9, 5, 10, 5 },
		{ KEY_PGDN, 0, 5, 10, 4 }, { KEY_PGDN, 7, 5, 10, 9 }, { KEY_HOME, 7, 5, 10, 0 },
		{ 'g', 7, 5, 10, 0 }, { KEY_END, 7, 5, 10, 9 }, { 'G', 7, 5, 10, 9 },
		{ KEY_DOWN, 0, 5, 0, 0 }, { KEY_END, 0, 5, 0, 0 }, { KEY_PGDN, 4, 0, 10, 5 },
		{ KEY_PGDN, 4, 1, 10, 5 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		size_t at = rows[i].at;

		check(cursor_move(rows[i].key, &at, rows[i].page, rows[i].n) && at == rows[i].want,
		      "cursor_move, row %zu: from %zu to %zu of %zu", i, rows[i].at, rows[i].want,
		      rows[i].n);
	}
	check(!cursor_move('x', &(size_t){ 0 }, 5, 10), "cursor_move: another key does not move");
}

static void t_filter(void)
{
	clear();
	view.top.mode = TOP_FILTER;
	for (const char *p = "a\xc3\xa9z"; *p; p++)
		check(key_handle((u8)*p) == ARRANGE, "filter: a byte is added");
	check(view.top.filter_n == 4, "filter: the bytes of UTF-8 are added");
	key_handle(0x7f);
	key_handle('\b');
	check(view.top.filter_n == 1 && view.top.filter[0] == 'a',
	      "filter: Backspace erases a whole character");
	key_handle(0x7f);
	key_handle(0x7f);
	check(view.top.filter_n == 0, "filter: Backspace in an empty filter does nothing");
	for (int i = 0; i < FILTER_BYTES + 5; i++)
		key_handle('x');
	check(view.top.filter_n == FILTER_BYTES, "filter: more than its maximum length is ignored");
	key_handle(025);
	check(view.top.filter_n == 0 && view.top.mode == TOP_FILTER, "filter: ^U clears it");
	key_handle(KEY_UP);
	key_handle(1);
	check(view.top.filter_n == 0, "filter: other keys are not added");
	key_handle('x');
	key_handle('\r');
	check(view.top.filter_n == 1 && view.top.mode == TOP_LIST,
	      "filter: Enter keeps it and ends the input");
	view.top.mode = TOP_FILTER;
	key_handle(KEY_ESC);
	check(view.top.filter_n == 0 && view.top.mode == TOP_LIST,
	      "filter: Esc clears it and ends the input");
}

static void t_menu(void)
{
	u8 pid = top_column(LIT("pid"));

	clear();
	view.top.inverted = true;
	check(key_handle('s') == DRAW && view.top.mode == TOP_SORT, "menu: s opens it");
	key_handle('>');
	key_handle(KEY_DOWN);
	key_handle('<');
	check(view.top.choice == 1 && key_handle('\r') == ARRANGE && view.top.sort == 1 &&
	      view.top.mode == TOP_LIST && !view.top.inverted && str_eq(opt.sort, top_field(1)),
	      "menu: Enter sorts by the chosen column, in its default order");
	key_handle('s');
	check(view.top.choice == 1, "menu: it begins at the current column");
	check(key_handle('N') == ARRANGE && view.top.sort == pid,
	      "menu: the letter of a column sorts by it");
	key_handle('s');
	check(key_handle('q') == DRAW && view.top.mode == TOP_LIST && view.top.sort == pid,
	      "menu: q leaves it, the order stays");
	view.top.sort = top_ncolumns;
	key_handle('s');
	check(view.top.choice == 0,
	      "menu: it begins at the first column if the sort field has no column");
	key_handle(KEY_ESC);
	key_handle('?');
	check(view.top.mode == TOP_HELP, "help: ? opens it");
	key_handle('j');
	check(view.top.help_first == 1 && key_handle('x') == DRAW && view.top.mode == TOP_LIST,
	      "help: j moves down, another key leaves it");
	key_handle('h');
	check(view.top.help_first == 0, "help: it begins at the first line again");
}

static void t_list(void)
{
	clear();
	check(key_handle('q') == QUIT && key_handle(3) == QUIT && key_handle(KEY_F10) == QUIT,
	      "list: q, ^C and F10 quit");
	check(key_handle(' ') == RETIME && view.top.frozen && key_handle('p') == RETIME &&
	      !view.top.frozen, "list: space and p pause");
	check(key_handle('r') == SAMPLE, "list: r takes a sample");
	check(key_handle('I') == ARRANGE && view.top.inverted, "list: I inverts the order");
	check(key_handle('+') == RETIME && opt.interval == 2000000000 &&
	      view.top.interval == opt.interval, "list: + makes the interval longer");
	check(key_handle('M') == ARRANGE && str_eq(opt.sort, top_field(top_column_of_key('M'))),
	      "list: the letter of a column sorts by it");
	check(key_handle(KEY_LEFT) == DRAW && view.top.left == 0,
	      "list: no column is left of the first");
	for (int i = 0; i < 99; i++)
		key_handle(KEY_RIGHT);
	check(view.top.left == top_ncolumns - 1u, "list: the last column stays on the screen");
	terminal.screen.known = true;
	key_handle('\f');
	check(!terminal.screen.known, "list: ^L draws the whole screen");
	view.top.filter_n = 2;
	check(key_handle(KEY_ESC) == ARRANGE && view.top.filter_n == 0,
	      "list: Esc clears the filter");
	view.top.ndevs = 3;
	view.top.dev_page = 2;
	check(key_handle('\t') == DRAW && view.top.on_devices && key_handle('j') == DRAW &&
	      view.top.dev_first == 1 && view.top.at == 0,
	      "list: after Tab the cursor keys move the list of devices");
}

/* The cursor stays on its client when the order changes. */
static void t_follow(void)
{
	static const u32 before[] = { 2, 0, 1 }, after[] = { 1, 3, 0, 2 };

	clear();
	opt.oa.replay = "f";
	view.top.rows = before;
	view.top.nrows = 3;
	key_handle('j');
	check(view.top.at == 1 && view.chosen == 100, "cursor: j chooses a client");
	view.top.rows = after;
	view.top.nrows = 4;
	follow_chosen();
	check(view.top.at == 2, "cursor: it follows its client");
	view.top.rows = before;
	key_handle('g');
	check(view.chosen == 0, "cursor: in the first line it follows no client");
	view.top.at = 0;
	view.top.rows = after;
	follow_chosen();
	check(view.top.at == 0, "cursor: in the first line it stays there");
}

static void t_read(void)
{
	clear();
	fake.keys[0] = "Ix";
	check(keys_read(false) == ARRANGE && view.top.inverted, "keys_read: two keys of one read");
	fake.keys[1] = "jr+";
	check(keys_read(false) == (SAMPLE | RETIME), "keys_read: the actions of all keys");
	fake.keys[2] = "\033[A";
	view.top.nrows = 3;
	view.top.rows = row_list;
	view.top.at = 2;
	check(keys_read(false) == DRAW && view.top.at == 1,
	      "keys_read: an escape sequence is one key");
	fake.keys[3] = "\033";
	view.top.filter_n = 1;
	check(keys_read(false) == DRAW && view.top.filter_n == 1 && terminal.keys.state != 0,
	      "keys_read: the start of an escape sequence waits for more");
	check(keys_read(true) == ARRANGE && view.top.filter_n == 0,
	      "keys_read: after a pause the start of an escape sequence is Esc");
	check(fake.nkeys == 4, "keys_read: after a pause nothing is read");
	fake.keys[4] = "";
	check(keys_read(false) == QUIT, "keys_read: a closed terminal quits");
	fake.read_error = -EINTR;
	check(keys_read(false) == DRAW, "keys_read: a signal is no key");
	fake.read_error = -EAGAIN;
	check(keys_read(false) == DRAW, "keys_read: no key");
	fake.read_error = -EIO;
	check(keys_read(false) == QUIT, "keys_read: a read error quits");
}

/* --- clients that are shown ------------------------------------------------------------------- */

static void t_wanted(void)
{
	clear();
	opt.oa.replay = "f";
	choose_rows();
	check(norder == 4, "recording: all clients are shown");
	opt.pids[0] = 11;
	opt.pids[1] = 13;
	opt.npids = 2;
	choose_rows();
	check(norder == 2 && order[0] == 1 && order[1] == 3, "recording: -p selects clients");
	opt.npids = 0;
	opt.comm = LIT("*2");
	choose_rows();
	check(norder == 1 && order[0] == 2, "recording: -C selects clients");
	opt.comm = (struct str){ 0 };
	opt.cgroup = LIT("/a");
	choose_rows();
	check(norder == 2 && order[0] == 1, "recording: -g selects clients");
	opt.cgroup = (struct str){ 0 };
	opt.ndevices = 1;
	view.shown_devices[0] = 3;
	view.top.ndevs = 1;
	choose_rows();
	check(norder == 1 && order[0] == 3, "recording: -d selects clients");
	view.top.ndevs = 0;
	choose_rows();
	check(norder == 0, "recording: -d of another device selects no client");
}

static void t_arrange(void)
{
	clear();
	opt.oa.replay = "f";
	arrange();
	check(view.top.nall == 4 && view.top.nrows == 4 && fake.sorts == 1 && view.top.rows[0] == 0,
	      "arrange: all clients, sorted");
	view.top.inverted = true;
	arrange();
	check(view.top.rows[0] == 3 && view.top.rows[1] == 2 && view.top.rows[3] == 0,
	      "arrange: the order is inverted");
	view.top.inverted = false;
	memcpy(view.top.filter, "c3", 2);
	view.top.filter_n = 2;
	arrange();
	check(view.top.nall == 4 && view.top.nrows == 1 && view.top.rows[0] == 3,
	      "arrange: only clients that match the filter");
}

/* --- a recorded run --------------------------------------------------------------------------- */

static void t_pace(void)
{
	static const struct { i64 wait; int speed; i64 want; } rows[] = {
		{ 1000, 0, 1000 }, { 1000, 3, 125 }, { 1000, -2, 4000 }, { -1, 0, -1 }, { -1, -3, -1 },
		{ INT64_MAX / 4, -1, INT64_MAX / 4 * 2 }, { INT64_MAX / 2 + 1, -1, INT64_MAX / 2 },
		{ 0, -10, 0 },
	};

	clear();
	opt.interval = 77;
	playback.wait = 5;
	check(interval_get() == 77, "interval_get: without a recording, the interval");
	opt.oa.replay = "f";
	for (size_t i = 0; i < LEN(rows); i++) {
		playback.wait = rows[i].wait;
		view.top.speed = rows[i].speed;
		check(interval_get() == rows[i].want, "interval_get: recording, row %zu", i);
	}
	view.top.speed = 0;
	for (int i = 0; i < 15; i++)
		key_handle('+');
	check(view.top.speed == 10, "recording: + has a fastest pace");
	for (int i = 0; i < 30; i++)
		check(key_handle('-') == RETIME, "recording: - changes the pace");
	check(view.top.speed == -10, "recording: - has a slowest pace");
}

static void t_moves(void)
{
	clear();
	opt.oa.replay = "f";
	check(key_handle('.') == (MOVED | RETIME) && view.top.frozen,
	      "recording: . shows the next sample and pauses");
	view.top.frozen = false;
	check(key_handle(',') == (MOVED | RETIME) && view.top.frozen,
	      "recording: , shows the previous sample and pauses");
	view.top.frozen = false;
	check(key_handle('0') == (MOVED | RETIME) && key_handle('$') == (MOVED | RETIME) &&
	      !view.top.frozen, "recording: 0 and $ move to the ends and do not pause");
	key_handle('r');
	check_str(str_z(fake.moves), "><0$>", "recording: the moves of the keys . , 0 $ r");
	check(key_handle('q') == QUIT, "recording: other keys are those of the list");
	clear();
	check(key_handle('0') != (MOVED | RETIME) && !fake.moves[0],
	      "without a recording 0 does not move");
}

static void t_due(void)
{
	static const i64 waits[] = { 10, 10, 500 };

	clear();
	opt.oa.replay = "f";
	memcpy(fake.waits, waits, sizeof(waits));
	clock_now = 1000;
	check(replay_due(1000) == 1010 && fake.nwaits == 1, "replay_due: the next sample");
	fake.nwaits = 0;
	check(replay_due(985) == 1005 && fake.nwaits == 2,
	      "replay_due: samples that are due already are skipped");
	check(view.top.percent == 7, "replay_due: the last one of the skipped samples is shown");
	memset(fake.waits, 0, sizeof(fake.waits));
	fake.nwaits = 0;
	check(replay_due(500) == 1000 && fake.nwaits == 64,
	      "replay_due: at most 64 samples are skipped");
	clear();
	opt.oa.replay = "f";
	fake.waits[0] = -1;
	clock_now = 1000;
	check(replay_due(1000) == -1 && view.top.ended, "replay_due: the end of the recording");
	clear();
	opt.oa.replay = "f";
	playback.wait = 5;
	check(due_from(100) == 105,
	      "due_from: after a move, the next sample is due after its wait");
	playback.wait = -1;
	check(due_from(100) == -1, "due_from: no sample is due at the end");
}

static void t_answers(void)
{
	clear();
	clock_now = 1000;
	opt.interval = 100;
	check(answer(SAMPLE, 0, 900) == 1000 && fake.samples == 1, "answer: a sample that was due");
	check(answer(SAMPLE, 0, 1100) == 1100 && fake.samples == 2,
	      "answer: a sample before it was due");
	check(answer(ARRANGE, 0, 1100) == 1100 && fake.samples == 2 && fake.sorts == 3,
	      "answer: another order takes no sample");
	check(answer(DRAW, 0, 1100) == 1100 && fake.sorts == 3,
	      "answer: a frame takes no sample and does not sort");
	clear();
	check(first_show(1000) == 1000 + 500000000 && fake.samples == 0,
	      "first_show: the second sample is due after 0.5 s");
	opt.interval = 100;
	check(first_show(1000) == 1100,
	      "first_show: the second sample is due after an interval shorter than 0.5 s");
}

/* --- the terminal ----------------------------------------------------------------------------- */

static void t_write(void)
{
	clear();
	fake.writes[0] = 2;
	fake.writes[1] = -EINTR;
	fake.writes[2] = -EAGAIN;
	clock_now = 50;
	check(terminal_show("abcdef", 6) && fake.n == 6 && memcmp(fake.written, "abcdef", 6) == 0,
	      "terminal_show: a frame is written in pieces");
	check(fake.polls == 1 && fake.until == 50 + TERMINAL_TIMEOUT,
	      "terminal_show: it waits until a full terminal can be written");
	clear();
	fake.writes[0] = -EIO;
	check(!terminal_show("abc", 3) && terminal.write_error == -EIO,
	      "terminal_show: a write error is stored");
	clear();
	fake.writes[0] = 1;
	stopped = 1;
	check(terminal_show("abc", 3) && fake.n == 1,
	      "terminal_show: a signal discards the rest of the frame");
}

static void t_modes(void)
{
	clear();
	terminal.has_keys = fake_termios(&terminal.termios_was) == 0;
	terminal.screen.known = true;
	check(terminal_enter() && !terminal.screen.known,
	      "terminal_enter: the content of the screen is unknown");
	check(fake.modes.c_lflag == ISIG && fake.modes.c_iflag == 0 && fake.modes.c_cc[VMIN] == 1,
	      "terminal_enter: keys are read one by one, Enter is not translated");
	check_str(str_of(fake.written, fake.n), "\033[?1049h\033[?25l\033[?7l",
		  "terminal_enter: escape sequences that set modes");
	fake.n = 0;
	terminal.screen.rows = 24;
	terminal_leave();
	check_str(str_of(fake.written, fake.n), "\033[m\033[24H\033[K\033[?7h\033[?25h\033[?1049l",
		  "terminal_leave: escape sequences that restore modes");
	check(fake.modes.c_lflag == (ICANON | ECHO | ISIG) && fake.modes.c_iflag == ICRNL,
	      "terminal_leave: the modes of the keys are restored");
	fake.caught = 0;
	terminal.suspended = 1;
	terminal_suspend();
	check(fake.defaulted == SIGTSTP && fake.killed == SIGTSTP && fake.caught == 7 &&
	      terminal.resumed && !terminal.suspended,
	      "terminal_suspend: SIGTSTP stops the program, then its handlers are set again");
	clear();
	terminal.entered = true;
	terminal.has_keys = false;
	terminal_enter();
	terminal_leave();
	check(fake.modes_set == 0, "terminal_enter: without keys no modes are set");
}

static void t_size(void)
{
	static const struct { unsigned rows, cols; u16 want_rows, want_cols; size_t wide; } rows[] = {
		{ 24, 80, 24, 80, 0 }, { 0, 0, 24, 80, 0 }, { 50, 0, 24, 80, 0 },
		{ 300, 80, SCREEN_ROWS, 80, 80 }, { 50, 900, 50, SCREEN_COLS, 900 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		clear();
		fake.rows = rows[i].rows;
		fake.cols = rows[i].cols;
		measure_screen();
		check(terminal.screen.rows == rows[i].want_rows && terminal.screen.cols == rows[i].want_cols &&
		      view.top.wide == rows[i].wide,
		      "measure_screen: a terminal of %u rows and %u columns",
		      rows[i].rows, rows[i].cols);
	}
}

static void t_locale(void)
{
	static const struct { const char *all, *ctype, *lang; bool utf8; } rows[] = {
		{ "", "", "", false }, { "C.UTF-8", "", "", true }, { "C", "de.utf8", "de.utf8", false },
		{ "", "en_US.UTF-8", "C", true }, { "", "", "en_US.utf8", true }, { "", "POSIX", "x.UTF-8", false },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		setenv("LC_ALL", rows[i].all, 1);
		setenv("LC_CTYPE", rows[i].ctype, 1);
		setenv("LANG", rows[i].lang, 1);
		check(terminal_is_utf8() == rows[i].utf8, "terminal_is_utf8: row %zu", i);
	}
	setenv("TERM", "dumb", 1);
	check(terminal_is_dumb(), "terminal_is_dumb: TERM=dumb");
	setenv("TERM", "", 1);
	check(terminal_is_dumb(), "terminal_is_dumb: an empty TERM");
	setenv("TERM", "vt100", 1);
	check(!terminal_is_dumb(), "terminal_is_dumb: not with TERM=vt100");
	no_terminal = true;
	check(terminal_is_dumb(), "terminal_is_dumb: no terminal");
}

/* --- the command ------------------------------------------------------------------------------ */

static void t_signals(void)
{
	static const int sigs[] = { SIGWINCH, SIGTSTP, SIGCONT, SIGTERM };

	for (size_t i = 0; i < LEN(sigs); i++) {
		clear();
		on_signal(sigs[i]);
		check(terminal.resized == (i == 0) && terminal.suspended == (i == 1) &&
		      terminal.resumed == (i == 2) && stopped == (i == 3),
		      "on_signal: row %zu sets its flag", i);
		check(terminal_wait(5) == -EINTR && fake.polls == 0,
		      "terminal_wait: after a signal it does not wait");
	}
}

static void t_run(void)
{
	clear();
	opt.count = 2;
	opt.interval = 100;
	fake.devices = 1;
	fake.no_keys = true;
	clock_now = 1000;
	check(cmd_top() == EX_OK && fake.samples == 2 && fake.polled.fd == 1,
	      "COUNT samples are shown");
	check(view.top.row_make == live_record && view.any_device,
	      "without --replay the records are those of the machine");
	clear();
	fake.devices = 1;
	fake.keys[0] = "rq";
	check(cmd_top() == EX_OK && fake.samples == 0,
	      "rq: q ends the program before the sample of r");
	clear();
	fake.devices = 1;
	fake.keys[0] = " ";
	fake.keys[1] = "q";
	cmd_top();
	check(fake.nkeys == 2 && fake.keys_until == -1, "paused: it waits for keys only");
	clear();
	fake.devices = 1;
	fake.keys[0] = "+";
	fake.keys[1] = "q";
	clock_now = 1000;
	cmd_top();
	check(fake.keys_until == 1000 + 2 * (i64)1000000000,
	      "a new interval begins at once after +");
	clear();
	fake.keys[0] = "q";
	check(cmd_top() == EX_NODEVICE, "no device: its exit code");
	clear();
	fake.devices = 1;
	fake.stop_after = 1;
	check(cmd_top() == EX_OK, "a signal: exit code 0");
	clear();
	fake.devices = 1;
	fake.writes[0] = -EIO;
	check(cmd_top() == EX_FAIL && is_said("cannot write to standard output: EIO"),
	      "a write error when the screen is entered: exit code 1");
	clear();
	fake.devices = 1;
	fake.writes[1] = -EIO;
	check(cmd_top() == EX_FAIL && is_said("cannot write to standard output: EIO"),
	      "a write error of the first frame: exit code 1");
	clear();
	fake.roots = false;
	check(cmd_top() == EX_FAIL && fake.n == 0, "without /sys: exit code 1");
	clear();
	opt.oa.replay = "f";
	fake.keys[0] = "q";
	check(cmd_top() == EX_OK && view.top.replay && record_source == playback_record,
	      "--replay: records of the recording");
	clear();
	opt.oa.replay = "f";
	fake.keys[0] = "q";
	fake.close_fails = true;
	check(cmd_top() == EX_FAIL, "--replay: errors of the file: exit code 1");
	clear();
	opt.oa.replay = "none";
	check(cmd_top() == EX_FAIL && fake.n == 0,
	      "--replay: the file cannot be opened: exit code 1");
	clear();
	opt.sort = LIT("pid");
	fake.keys[0] = "q";
	cmd_top();
	check(view.top.sort == top_column(LIT("pid")), "-s: the column of the field");
	clear();
	fake.keys[0] = "q";
	opt.interval = 0;
	cmd_top();
	check(view.top.sort == top_column_of_key('P') && opt.interval == 1000000000,
	      "defaults: sorted by busy time, every second");
}

static void t_dumb(void)
{
	clear();
	no_terminal = true;
	opt.sort = LIT("pid");
	opt.out.colour = true;
	check(cmd_top() == EX_OK && fake.lines == 1 && fake.lines_kind == K_DEVICE && !opt.out.colour &&
	      is_said("the terminal cannot show a screen: gpustat prints lines"),
	      "no terminal: lines of devices, with a message");
	check(!opt.sort.p, "no terminal: -s with a field of clients is ignored");
	clear();
	no_terminal = true;
	opt.sort = LIT("busy");
	cmd_top();
	check(opt.sort.p != NULL, "no terminal: -s with a field of devices is kept");
	clear();
	no_terminal = true;
	opt.oa.replay = "f";
	check(cmd_top() == EX_FAIL && fake.lines == 0 && is_said("--replay requires a full-screen terminal"),
	      "--replay requires a terminal");
}

int main(void)
{
	for (u64 id = 1; id <= 3; id++)
		client_add(1, KEY_ID, id);
	t_intervals();
	t_cursor();
	t_filter();
	t_menu();
	t_list();
	t_follow();
	t_read();
	t_wanted();
	t_arrange();
	t_pace();
	t_moves();
	t_due();
	t_answers();
	t_write();
	t_modes();
	t_size();
	t_locale();
	t_signals();
	t_run();
	t_dumb();
	return unit_end();
}
