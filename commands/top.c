/* top.c - `top`, the live screen: keys and samples.
 * SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "sources/drm/drm.h"
#include "sys.h"

enum { FIRST_SAMPLE = 500000000 /* longest time from the first reading to the first sample, ns */ };

static struct recopts ropts = { .dt_us = -1, .time_us = -1 };

static struct view {
	struct top top;
	u32 shown_devices[MAX_DEVICES];
	bool any_device;
	/* Serial number of the client under the cursor; the cursor stays on this client when
	 * clients are sorted again. 0: the cursor stays in the first line. */
	u32 chosen;
} view;

static void measure_screen(void)
{
	unsigned rows, cols;

	terminal_measure(&rows, &cols);
	view.top.wide = rows > SCREEN_ROWS || cols > SCREEN_COLS ? cols : 0;
	view.top.high = rows;
}

/* --- functions that read, filter and sort samples --------------------------------------------- */

/* Returns a number for the client in this row. The number of a client is the same in all
 * samples. */
static u32 row_serial(u32 row)
{
	return opt.oa.replay ? playback_id(row) : clients[row].e.serial;
}

static void live_record(struct record *r, u32 row)
{
	record_make(r, &clients[row].e, &ropts);
}

static void remember_chosen(void)
{
	view.chosen = view.top.at && view.top.at < view.top.nrows
			      ? row_serial(view.top.rows[view.top.at])
			      : 0;
}

static void follow_chosen(void)
{
	for (size_t i = 0; i < view.top.nrows && view.chosen; i++)
		if (row_serial(view.top.rows[i]) == view.chosen)
			view.top.at = i;
}

static struct str text_of(const struct record *r, const char *field)
{
	const struct val *v = record_get(r, NULL, field);

	return v && v->type == V_TEXT ? v->s : (struct str){ 0 };
}

/* Returns whether a client of a recorded run matches all of the options -d, -p, -C and -g. */
static bool row_wanted(const struct record *r)
{
	const struct val *v = record_get(r, NULL, "pid");
	struct str dev = text_of(r, "dev");
	bool pid = opt.npids == 0, device = false;

	for (size_t i = 0; i < opt.npids; i++)
		pid |= v && v->type == V_INT && v->n == opt.pids[i];
	for (size_t i = 0; i < view.top.ndevs; i++)
		device |= str_eq(dev, str_z(devices[view.shown_devices[i]].dev));
	return pid && (device || !opt.ndevices) &&
	       (!opt.comm.p || glob_match(opt.comm, text_of(r, "comm"), NULL)) &&
	       (!opt.cgroup.p || in_cgroup(text_of(r, "cgroup")));
}

/* Puts those clients of the recorded sample that the options select into order[]. */
static void choose_rows(void)
{
	bool all = !opt.ndevices && !opt.npids && !opt.comm.p && !opt.cgroup.p;

	norder = 0;
	for (u32 i = 0; i < playback_rows(); i++) {
		if (!all)
			playback_record(&rec, i);
		if (all || row_wanted(&rec))
			order_add(&norder, i);
	}
}

/* Selects the clients of the sample that match the filter which the user has typed, and sorts them
 * by the column that the user has chosen. */
static void arrange(void)
{
	size_t n = 0;

	if (opt.oa.replay)
		choose_rows();
	else
		choose_entities(K_CLIENT);
	view.top.nall = norder;
	for (size_t i = 0; i < norder; i++) {
		if (view.top.filter_n)
			view.top.row_make(&rec, order[i]);
		if (top_match(&view.top, &rec))
			order[n++] = order[i];
	}
	norder = n;
	sort_by_field(K_CLIENT, &ropts);
	for (size_t i = 0; i < n / 2 && view.top.inverted; i++) {
		u32 swap = order[i];

		order[i] = order[n - 1 - i];
		order[n - 1 - i] = swap;
	}
	view.top.rows = order;
	view.top.nrows = n;
	follow_chosen();
}

/* Selects the devices that the screen shows, those of the options --device and --not, and sorts
 * them. */
static void devices_show(void)
{
	choose_devices();
	memcpy(view.shown_devices, order, norder * sizeof(order[0]));
	view.top.devs = view.shown_devices;
	view.top.ndevs = norder;
	view.any_device |= norder > 0;
}

/* Shows the sample that was read from the file of the recorded run. */
static void replay_show(void)
{
	devices_show();
	view.top.time = playback.time;
	view.top.percent = playback_percent();
	view.top.ended = playback.wait < 0;
	view.top.malformed = playback.malformed;
	arrange();
}

static void sample_read(bool first)
{
	static i64 was;
	size_t n;
	i64 now;

	if (!first)
		sources_sample(true);
	now = sys_now(CLOCK_MONOTONIC);
	ropts.dt_us = first ? -1 : (now - was) / 1000;
	was = now;
	devices_show();
	n = view.top.ndevs;
	view.top.ndevs = 0;
	hide_clients();
	reg_sum_clients(false, true);
	for (size_t i = 0; i < n; i++) {
		record_make(&rec, &devices[view.shown_devices[i]].e, &ropts);
		if (top_device(&rec, first))
			view.shown_devices[view.top.ndevs++] = view.shown_devices[i];
	}
	arrange();
}

static bool draw(void)
{
	out.n = 0;
	top_draw(&terminal.screen, &view.top, &rec);
	screen_frame(&terminal.screen, &out);
	return out.n == 0 || terminal_show(out.p, out.n);
}

/* --- handling of keys ------------------------------------------------------------------------- */

/* Actions that follow a key, in addition to drawing the screen. ARRANGE: filter and sort the
 * clients again. SAMPLE: take a sample, or read the next one of the recorded run. RETIME: restart
 * the interval. MOVED: the key has shown another sample of the recorded run. */
enum { DRAW = 0, ARRANGE = 1, SAMPLE = 2, RETIME = 4, QUIT = 8, MOVED = 16 };

static void sort_by(u8 column)
{
	struct str field = top_field(column);

	if (!str_len(field))
		return;
	view.top.sort = column;
	opt.sort = field;
	view.top.inverted = false;
}

/* Changes the interval between samples to the next longer or shorter step. An interval longer than
 * the longest step stays as it is if a longer one is requested. */
static void change_interval(bool longer)
{
	static const u16 steps[] = { 1, 2, 5, 10, 20, 50, 100, 200, 300, 600 };
	enum { UNIT = 100000000 };
	size_t i = 0, last = LEN(steps) - 1;

	while (i < last && (longer ? steps[i] * (i64)UNIT <= opt.interval :
			    steps[i + 1] * (i64)UNIT < opt.interval))
		i++;
	if (!longer || steps[i] * (i64)UNIT > opt.interval)
		opt.interval = view.top.interval = steps[i] * (i64)UNIT;
}

/* Moves the cursor *at in a list of n rows, of which `page` fit on the screen. Returns false if the
 * key is not one that moves the cursor. */
static bool cursor_move(u16 key, size_t *at, size_t page, size_t n)
{
	size_t last = n ? n - 1 : 0, step = page > 1 ? page - 1 : 1;

	switch (key) {
	case KEY_UP: case 'k':   *at -= *at > 0; return true;
	case KEY_DOWN: case 'j': *at += *at < last; return true;
	case KEY_PGUP:           *at -= *at < step ? *at : step; return true;
	case KEY_PGDN:           *at = last - *at < step ? last : *at + step; return true;
	case KEY_HOME: case 'g': *at = 0; return true;
	case KEY_END: case 'G':  *at = last; return true;
	default:                 return false;
	}
}

static u8 filter_key(u16 key)
{
	if (key == KEY_ESC || key == 025 /* ^U */)
		view.top.filter_n = 0;
	if (key == KEY_ESC || key == '\r' || key == '\n' || key == KEY_F4)
		view.top.mode = TOP_LIST;
	else if (key == 0x7f || key == '\b')
		while (view.top.filter_n &&
		       ((u8)view.top.filter[--view.top.filter_n] & 0xc0) == 0x80)
			; /* removes all bytes of one UTF-8 character */
	else if (key >= ' ' && key < KEY_FIRST && key != 0x7f && view.top.filter_n < FILTER_BYTES)
		view.top.filter[view.top.filter_n++] = (char)key;
	return ARRANGE;
}

static u8 menu_key(u16 key)
{
	size_t at = view.top.choice;
	u8 column = top_column_of_key(key);

	if (key == '<')
		key = KEY_UP;
	else if (key == '>')
		key = KEY_DOWN;
	if (key == KEY_ESC || key == 'q' || key == KEY_F10)
		view.top.mode = TOP_LIST;
	else if (key == '\r' || key == '\n' || key == KEY_F6)
		column = view.top.choice;
	else if (cursor_move(key, &at, 5, top_ncolumns))
		view.top.choice = (u8)at;
	if (column >= top_ncolumns)
		return DRAW;
	sort_by(column);
	view.top.mode = TOP_LIST;
	return ARRANGE;
}

static u8 help_key(u16 key)
{
	if (!cursor_move(key, &view.top.help_first, view.top.help_page, 100))
		view.top.mode = TOP_LIST;
	return DRAW;
}

/* Handles the keys that have a function only in a recorded run (--replay), and stores their actions
 * in *asked. Returns false for any other key. */
static bool replay_key(u16 key, u8 *asked)
{
	enum { MOST = 10 };

	*asked = MOVED | RETIME;
	switch (key) {
	case '+': view.top.speed += view.top.speed < MOST; *asked = RETIME; break;
	case '-': view.top.speed -= view.top.speed > -MOST; *asked = RETIME; break;
	case '.': case 'r': playback_next(); view.top.frozen = true; break;
	case ',': playback_back(); view.top.frozen = true; break;
	case '0': playback_begin(); break;
	case '$': playback_end(); break;
	default: return false;
	}
	return true;
}

static u8 list_key(u16 key)
{
	u8 asked;
	size_t page = view.top.on_devices ? view.top.dev_page : view.top.page;

	if (opt.oa.replay && replay_key(key, &asked))
		return asked;
	if (cursor_move(key, view.top.on_devices ? &view.top.dev_first : &view.top.at, page,
			view.top.on_devices ? view.top.ndevs : view.top.nrows)) {
		remember_chosen();
		return DRAW;
	}
	switch (key) {
	/* 3 is ^C, which is a key if the terminal sends no signal for it */
	case 'q': case KEY_F10: case 3:
		return QUIT;
	case 'h': case '?': case KEY_F1:
		view.top.mode = TOP_HELP;
		view.top.help_first = 0;
		return DRAW;
	case 's': case '<': case '>': case KEY_F6:
		view.top.mode = TOP_SORT;
		view.top.choice = view.top.sort < top_ncolumns ? view.top.sort : 0;
		return DRAW;
	case '/': case KEY_F4:
		view.top.mode = TOP_FILTER;
		return DRAW;
	case KEY_ESC:
		view.top.filter_n = 0;
		return ARRANGE;
	case ' ': case 'p':
		view.top.frozen = !view.top.frozen;
		return RETIME;
	case 'r':
		return SAMPLE;
	case '\t':
		view.top.on_devices = !view.top.on_devices;
		return DRAW;
	case 'I':
		view.top.inverted = !view.top.inverted;
		return ARRANGE;
	case '+': case '-':
		change_interval(key == '+');
		return RETIME;
	case KEY_LEFT:
		view.top.left -= view.top.left > 0;
		return DRAW;
	case KEY_RIGHT:
		view.top.left += view.top.left + 1 < top_ncolumns;
		return DRAW;
	case '\f':
		terminal.screen.known = false;
		return DRAW;
	default:
		sort_by(top_column_of_key(key));
		return ARRANGE;
	}
}

static u8 key_handle(u16 key)
{
	static u8 (*const modes[])(u16 key) = {
		[TOP_LIST] = list_key, [TOP_FILTER] = filter_key, [TOP_SORT] = menu_key,
		[TOP_HELP] = help_key,
	};

	return modes[view.top.mode](key);
}

/* Reads and handles all keys that were typed. paused: true if no byte followed an Esc within the
 * timeout, so that Esc itself is the key. Returns the actions of the keys. */
static u8 keys_read(bool paused)
{
	char b[256];
	long n = paused ? 0 : sys_read(0, b, sizeof(b));
	u16 key = paused ? key_timeout(&terminal.keys) : 0;
	u8 asked = key ? key_handle(key) : DRAW;

	if (!paused && n <= 0)
		return n == -EINTR || n == -EAGAIN ? DRAW : QUIT; /* the terminal is closed */
	for (long i = 0; i < n; i++)
		if ((key = key_feed(&terminal.keys, (u8)b[i])))
			asked |= key_handle(key);
	return asked;
}

/* --- the main loop ---------------------------------------------------------------------------- */

/* Returns the time in ns until the sample after the one that is shown; negative if there is
 * none. */
static i64 interval_get(void)
{
	i64 wait = playback.wait;

	if (!opt.oa.replay)
		return opt.interval;
	if (wait < 0 || view.top.speed >= 0)
		return wait < 0 ? wait : wait >> view.top.speed;
	return wait < INT64_MAX >> -view.top.speed ? wait << -view.top.speed : INT64_MAX / 2;
}

/* Reads the sample of the recorded run that is due, or several if they are due sooner than they can
 * be shown. Returns the time at which the next sample is due; negative if there is none. */
static i64 replay_due(i64 due)
{
	enum { MOST = 64 };
	i64 now = sys_now(CLOCK_MONOTONIC), wait;
	u32 n = 0;

	do {
		playback_next();
		wait = interval_get();
		due += wait;
	} while (wait >= 0 && due <= now && ++n < MOST);
	replay_show();
	return wait < 0 ? wait : due < now ? now : due;
}

static i64 due_from(i64 now)
{
	i64 wait = interval_get();

	return wait < 0 ? wait : now + wait;
}

/* Performs the requested actions: reads the next sample, or filters and sorts the clients again.
 * asked: actions that a key or the end of an interval requested. Returns the time at which the next
 * sample is due. */
static i64 answer(u8 asked, i64 start, i64 due)
{
	if (asked & MOVED) {
		replay_show();
	} else if (asked & SAMPLE && opt.oa.replay) {
		due = replay_due(due);
	} else if (asked & SAMPLE) {
		sample_read(false);
		if (sys_now(CLOCK_MONOTONIC) >= due)
			due = next_due(start, due, opt.interval);
	} else if (asked & ARRANGE) {
		arrange();
	}
	return due;
}

/* Shows the first sample. Returns the time at which the next one is due; negative if there is
 * none. */
static i64 first_show(i64 now)
{
	if (opt.oa.replay) {
		replay_show();
		return due_from(now);
	}
	sample_read(true);
	return now + (opt.interval < FIRST_SAMPLE ? opt.interval : FIRST_SAMPLE);
}

/* Runs the screen until the user quits. Returns the exit code. */
static int run(void)
{
	u64 left = opt.count;
	i64 start = sys_now(CLOCK_MONOTONIC), due;
	bool good;

	due = first_show(start);
	good = draw();
	while (good && !stopped) {
		bool paused = terminal.keys.state != 0;
		i64 now = sys_now(CLOCK_MONOTONIC), t = view.top.frozen ? -1 : due;
		u8 asked = DRAW;
		long r;

		if (paused && (t < 0 || t > now + TERMINAL_TIMEOUT))
			t = now + TERMINAL_TIMEOUT;
		r = terminal_wait(t);
		if (stopped)
			break;
		if (terminal.suspended)
			terminal_suspend();
		if (terminal.resumed || terminal.resized) {
			if (terminal.resumed)
				good = terminal_enter();
			terminal.resumed = terminal.resized = 0;
			measure_screen();
		} else if (r > 0 || (r == 0 && paused && t != due)) {
			asked = keys_read(r == 0);
		} else if (r == 0 && t == due) {
			asked = SAMPLE;
		}
		if (asked & QUIT)
			break;
		if (asked & RETIME) {
			start = sys_now(CLOCK_MONOTONIC);
			due = due_from(start);
		}
		due = answer(asked, start, due);
		good = good && draw();
		if (asked & SAMPLE && left && --left == 0)
			break;
	}
	return good ? EX_OK : EX_FAIL;
}

/* Prints lines of devices, as gpustat without a command does, because the terminal is too simple
 * for a screen. Returns the exit code. */
static int run_lines(void)
{
	static struct cmd lines;
	int r = sink_open();

	if (r >= 0)
		return r;
	say_z("the terminal cannot show a screen: gpustat prints lines");
	lines = *opt.cmd;
	lines.kind = opt.out.kind = K_DEVICE;
	opt.out.colour = false;
	opt.cmd = &lines;
	if (opt.sort.p && !pattern_known(opt.sort, K_DEVICE))
		opt.sort = (struct str){ 0 };
	return cmd_live();
}

/* Opens the source of the samples: the machine, or the file of a recorded run. Returns an exit
 * code, or -1 to continue. */
static int source_open(void)
{
	view.top.row_make = live_record;
	if (!opt.oa.replay)
		return open_roots(true) ? -1 : EX_FAIL;
	records_alloc();
	view.top.replay = true;
	view.top.row_make = record_source = playback_record;
	return playback_open(opt.oa.replay);
}

int cmd_top(void)
{
	int code;

	if (!opt.interval)
		opt.interval = 1000000000;
	if (terminal_is_dumb() && opt.oa.replay) {
		say_z("--replay requires a full-screen terminal");
		return EX_FAIL;
	}
	if (terminal_is_dumb())
		return run_lines();
	if ((code = source_open()) >= 0)
		return code;
	terminal.screen.ascii = opt.ascii || !terminal_is_utf8();
	terminal.screen.plain = !opt.out.colour;
	view.top.interval = opt.interval;
	if (opt.sort.p)
		view.top.sort = top_column(opt.sort);
	else
		sort_by(top_column_of_key('P'));
	registry.repeats = true;
	if (!opt.oa.replay)
		sources_start();
	terminal_catch();
	measure_screen();
	code = terminal_enter() ? run() : EX_FAIL;
	terminal_leave();
	if (code == EX_FAIL)
		say_error("cannot write to standard output", terminal.write_error);
	if (opt.oa.replay)
		return playback_close() ? code : EX_FAIL;
	return code == EX_OK && !view.any_device ? no_device() : code;
}
