/* top.c - the live screen: terminal modes, keys, samples, signals. SPDX-License-Identifier: MIT */
#include "commands.h"
#include "sys.h"

#include <stdlib.h>

enum { PATIENCE = 100000000 /* ns in which what follows an Esc is there, on slow lines too */, FIRST_SAMPLE = 500000000 };

static struct screen screen;
static struct screen_row *grid;
static TABLE(grid, SCREEN_ROWS, 25, "rows of the screen");
static struct top top;
static struct keys keys;
static struct recopts ropts = { .dt_us = -1, .time_us = -1 };
static u32 shown_devices[MAX_DEVICES];

/* --- signals ------------------------------------------------------------------------------------------------------ */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };
static volatile sig_atomic_t resized, suspended, resumed;

static void on_signal(int sig)
{
	if (sig == SIGWINCH)
		resized = 1;
	else if (sig == SIGTSTP)
		suspended = 1;
	else if (sig == SIGCONT)
		resumed = 1;
	else
		stopped = 1;
}

/* Handlers that stay: a second signal must not end us before the terminal is as it was. */
static void catch_signals(void)
{
	for (size_t i = 0; i < LEN(signals); i++) {
		struct sigaction sa = { .sa_handler = on_signal };

		sys_signal_end(signals[i], &sa);
	}
}

/* --- the terminal --------------------------------------------------------------------------------------------------- */

static struct termios termios_was;
static bool has_keys;     /* standard input is a terminal */
static long write_error;

/* A frame goes out in one write where the terminal takes it; a signal to end ends the rest, too. */
static bool show(const char *p, size_t n)
{
	while (n > 0) {
		struct pollfd room = { .fd = 1, .events = POLLOUT };
		long r = sys_write(1, p, n);

		if (r == -EAGAIN) { /* who shares the terminal wants no write to wait */
			r = sys_poll_until(&room, 1, sys_now(CLOCK_MONOTONIC) + PATIENCE, NULL);
			r = r < 0 ? r : 0;
		}
		if (r < 0 && r != -EINTR) {
			write_error = r;
			return false;
		}
		if (stopped)
			break;
		p += r > 0 ? r : 0;
		n -= r > 0 ? (size_t)r : 0;
	}
	return true;
}

static bool show_z(const char *z)
{
	return show(z, strlen(z));
}

/* The other screen, no cursor, and no new line behind the last column. */
static bool terminal_enter(void)
{
	struct termios t = termios_was;

	if (has_keys) {
		t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		t.c_iflag &= ~(tcflag_t)(ICRNL | INLCR);
		t.c_cc[VMIN] = 1;
		t.c_cc[VTIME] = 0;
		sys_set_termios(0, &t);
	}
	screen.known = false;
	return show_z("\033[?1049h\033[?25l\033[?7l");
}

/* Terminals without another screen keep this one, with the cursor in its last line. One that takes nothing, as after Ctrl-S,
 * does not keep us. */
static void terminal_leave(void)
{
	struct pollfd room = { .fd = 1, .events = POLLOUT };
	char text[64];
	struct buf b = BUF(text);

	put_z(&b, "\033[m\033[");
	put_u64(&b, screen.rows);
	put_z(&b, "H\033[K\033[?7h\033[?25h\033[?1049l");
	if (sys_poll_until(&room, 1, sys_now(CLOCK_MONOTONIC) + PATIENCE, NULL) > 0)
		sys_write(1, b.p, b.n);
	if (has_keys)
		sys_set_termios(0, &termios_was);
}

static void measure_screen(void)
{
	unsigned rows = 0, cols = 0;

	sys_window(1, &rows, &cols);
	if (!rows || !cols) { /* a serial line tells nothing */
		rows = 24;
		cols = 80;
	}
	if (!table_has(&grid_table, (rows < SCREEN_ROWS ? rows : SCREEN_ROWS) - 1))
		rows = grid_table.ready;
	screen.grid = grid;
	screen_size(&screen, rows, cols);
	top.wide = rows > SCREEN_ROWS || cols > SCREEN_COLS ? cols : 0;
	top.high = rows;
}

/* As a shell expects it: everything as it was, until we are continued. */
static void suspend(void)
{
	suspended = 0;
	terminal_leave();
	sys_default(SIGTSTP);
	sys_kill((int)sys_pid(), SIGTSTP);
	catch_signals();
	resumed = 1;
}

/* The locale's character set, as setlocale(3) finds it. */
static bool is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < LEN(names); i++) {
		const char *z = getenv(names[i]);

		if (z && *z)
			return str_find(str_z(z), (struct str)STR("UTF")) || str_find(str_z(z), (struct str)STR("utf"));
	}
	return false;
}

static bool is_dumb(void)
{
	const char *term = getenv("TERM");

	return sys_columns(1) < 0 || !term || !*term || strcmp(term, "dumb") == 0;
}

/* --- samples ---------------------------------------------------------------------------------------------------------- */

static bool any_device;

static u32 chosen; /* serial of the client under the cursor; 0: it stays in the first line, whoever is there */

static void choose(void)
{
	chosen = top.at && top.at < top.nrows ? clients[top.rows[top.at]].e.serial : 0;
}

static void follow_chosen(void)
{
	for (size_t i = 0; i < top.nrows && chosen; i++)
		if (clients[top.rows[i]].e.serial == chosen)
			top.at = i;
}

/* The clients that the sample has, as the user wants them. */
static void arrange(void)
{
	size_t n = 0;

	choose_entities(K_CLIENT);
	top.nall = norder;
	for (size_t i = 0; i < norder; i++)
		if (top_match(&top, order[i]))
			order[n++] = order[i];
	norder = n;
	sort_by_field(K_CLIENT, &ropts);
	for (size_t i = 0; i < n / 2 && top.inverted; i++) {
		u32 swap = order[i];

		order[i] = order[n - 1 - i];
		order[n - 1 - i] = swap;
	}
	top.rows = order;
	top.nrows = n;
	follow_chosen();
}

static void take_sample(bool first)
{
	static i64 was;
	size_t n;
	i64 now;

	if (!first)
		sources_sample(true);
	now = sys_now(CLOCK_MONOTONIC);
	ropts.dt_us = first ? -1 : (now - was) / 1000;
	was = now;
	choose_devices();
	memcpy(shown_devices, order, norder * sizeof(order[0]));
	n = norder;
	top.devs = shown_devices;
	top.ndevs = 0;
	any_device |= norder > 0;
	hide_clients();
	reg_roll(false, true);
	for (size_t i = 0; i < n; i++) {
		record_make(&rec, &devices[shown_devices[i]].e, &ropts);
		if (top_device(&rec, first))
			shown_devices[top.ndevs++] = shown_devices[i];
	}
	arrange();
}

static bool draw(void)
{
	out.n = 0;
	top_draw(&screen, &top, &rec, &ropts);
	screen_frame(&screen, &out);
	return out.n == 0 || show(out.p, out.n);
}

/* --- keys -------------------------------------------------------------------------------------------------------------- */

/* What keys ask for, beside a frame that shows it. */
enum { DRAW = 0, ARRANGE = 1, SAMPLE = 2, RETIME = 4, QUIT = 8 };

static void sort_by(u8 column)
{
	struct str field = top_field(column);

	if (!str_len(field))
		return;
	top.sort = column;
	opt.sort = field;
	top.inverted = false;
}

/* In steps of 1, 2 and 5; what is longer than the last one stays so. */
static void change_interval(bool longer)
{
	static const u16 steps[] = { 1, 2, 5, 10, 20, 50, 100, 200, 300, 600 };
	enum { UNIT = 100000000 };
	size_t i = 0, last = LEN(steps) - 1;

	while (i < last && (longer ? steps[i] * (i64)UNIT <= opt.interval : steps[i + 1] * (i64)UNIT < opt.interval))
		i++;
	if (!longer || steps[i] * (i64)UNIT > opt.interval)
		opt.interval = top.interval = steps[i] * (i64)UNIT;
}

/* Of a list that shows `page` of them: what a key of movement makes of `at`. False: it is none. */
static bool moved(u16 key, size_t *at, size_t page, size_t n)
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
		top.filter_n = 0;
	if (key == KEY_ESC || key == '\r' || key == '\n' || key == KEY_F4)
		top.mode = TOP_LIST;
	else if (key == 0x7f || key == '\b')
		while (top.filter_n && ((u8)top.filter[--top.filter_n] & 0xc0) == 0x80)
			; /* all bytes of a character */
	else if (key >= ' ' && key < KEY_FIRST && key != 0x7f && top.filter_n < FILTER_BYTES)
		top.filter[top.filter_n++] = (char)key;
	return ARRANGE;
}

static u8 menu_key(u16 key)
{
	size_t at = top.choice;
	u8 column = top_column_of_key(key);

	if (key == '<')
		key = KEY_UP;
	else if (key == '>')
		key = KEY_DOWN;
	if (key == KEY_ESC || key == 'q' || key == KEY_F10)
		top.mode = TOP_LIST;
	else if (key == '\r' || key == '\n' || key == KEY_F6)
		column = top.choice;
	else if (moved(key, &at, 5, top_ncolumns))
		top.choice = (u8)at;
	if (column >= top_ncolumns)
		return DRAW;
	sort_by(column);
	top.mode = TOP_LIST;
	return ARRANGE;
}

static u8 help_key(u16 key)
{
	if (!moved(key, &top.help_first, top.help_page, 100))
		top.mode = TOP_LIST;
	return DRAW;
}

static u8 list_key(u16 key)
{
	size_t page = top.on_devices ? top.dev_page : top.page;

	if (moved(key, top.on_devices ? &top.dev_first : &top.at, page, top.on_devices ? top.ndevs : top.nrows)) {
		choose();
		return DRAW;
	}
	switch (key) {
	case 'q': case KEY_F10: case 3: /* ^C where it is no signal */
		return QUIT;
	case 'h': case '?': case KEY_F1:
		top.mode = TOP_HELP;
		top.help_first = 0;
		return DRAW;
	case 's': case '<': case '>': case KEY_F6:
		top.mode = TOP_SORT;
		top.choice = top.sort < top_ncolumns ? top.sort : 0;
		return DRAW;
	case '/': case KEY_F4:
		top.mode = TOP_FILTER;
		return DRAW;
	case KEY_ESC:
		top.filter_n = 0;
		return ARRANGE;
	case ' ': case 'p':
		top.frozen = !top.frozen;
		return RETIME;
	case 'r':
		return SAMPLE;
	case '\t':
		top.on_devices = !top.on_devices;
		return DRAW;
	case 'I':
		top.inverted = !top.inverted;
		return ARRANGE;
	case '+': case '-':
		change_interval(key == '+');
		return RETIME;
	case KEY_LEFT:
		top.left -= top.left > 0;
		return DRAW;
	case KEY_RIGHT:
		top.left += top.left + 1 < top_ncolumns;
		return DRAW;
	case '\f':
		screen.known = false;
		return DRAW;
	default:
		sort_by(top_column_of_key(key));
		return ARRANGE;
	}
}

static u8 press(u16 key)
{
	static u8 (*const modes[])(u16 key) = {
		[TOP_LIST] = list_key, [TOP_FILTER] = filter_key, [TOP_SORT] = menu_key, [TOP_HELP] = help_key,
	};

	return modes[top.mode](key);
}

/* All that was typed, or that nothing followed an Esc. */
static u8 take_keys(bool paused)
{
	char b[256];
	long n = paused ? 0 : sys_read(0, b, sizeof(b));
	u16 key = paused ? key_pause(&keys) : 0;
	u8 asked = key ? press(key) : DRAW;

	if (!paused && n <= 0)
		return n == -EINTR || n == -EAGAIN ? DRAW : QUIT; /* the terminal has gone */
	for (long i = 0; i < n; i++)
		if ((key = key_take(&keys, (u8)b[i])))
			asked |= press(key);
	return asked;
}

/* --- the loop ----------------------------------------------------------------------------------------------------------- */

/* Until something happens, or t: what poll(2) said. */
static long wait_until(i64 t, bool readable)
{
	struct pollfd p = { .fd = readable ? 0 : -1, .events = POLLIN };
	sigset_t was;
	long r = -EINTR;

	sys_block(signals, LEN(signals), &was); /* none comes between looking and waiting */
	if (!stopped && !resized && !suspended && !resumed)
		r = sys_poll_until(&p, 1, t, &was);
	sys_unblock(&was);
	return r;
}

/* Exit code. */
static int run(void)
{
	u64 left = opt.count;
	i64 start = sys_now(CLOCK_MONOTONIC), due;
	bool good;

	take_sample(true);
	due = start + (opt.interval < FIRST_SAMPLE ? opt.interval : FIRST_SAMPLE);
	good = draw();
	while (good && !stopped) {
		bool paused = keys.state != 0;
		i64 now = sys_now(CLOCK_MONOTONIC), t = top.frozen ? -1 : due;
		u8 asked = DRAW;
		long r;

		if (paused && (t < 0 || t > now + PATIENCE))
			t = now + PATIENCE;
		r = wait_until(t, has_keys);
		if (stopped)
			break;
		if (suspended)
			suspend();
		if (resumed || resized) {
			if (resumed)
				good = terminal_enter();
			resumed = resized = 0;
			measure_screen();
		} else if (r > 0 || (r == 0 && paused && t != due)) {
			asked = take_keys(r == 0);
		} else if (r == 0 && t == due) {
			asked = SAMPLE;
		}
		if (asked & QUIT)
			break;
		if (asked & RETIME) {
			start = due = sys_now(CLOCK_MONOTONIC);
			due += opt.interval;
		}
		if (asked & SAMPLE) {
			take_sample(false);
			if (sys_now(CLOCK_MONOTONIC) >= due)
				due = next_due(start, due, opt.interval);
		} else if (asked & ARRANGE) {
			arrange();
		}
		good = good && draw();
		if (asked & SAMPLE && left && --left == 0)
			break;
	}
	return good ? EX_OK : EX_FAIL;
}

/* Lines of devices, as without a command. */
static int run_lines(void)
{
	static struct cmd lines;
	int r = sink_open();

	if (r >= 0)
		return r;
	say_z("dumb terminal: lines instead of a screen");
	lines = *opt.cmd;
	lines.kind = opt.out.kind = K_DEVICE;
	opt.out.colour = false;
	opt.cmd = &lines;
	if (opt.sort.p && !pattern_known(opt.sort, K_DEVICE))
		opt.sort = (struct str){ 0 };
	return cmd_live();
}

int cmd_top(void)
{
	int code;

	if (!opt.interval)
		opt.interval = 1000000000;
	if (is_dumb())
		return run_lines();
	if (!open_roots(true))
		return EX_FAIL;
	screen.ascii = opt.ascii || !is_utf8();
	screen.plain = !opt.out.colour;
	top.interval = opt.interval;
	if (opt.sort.p)
		top.sort = top_column(opt.sort);
	else
		sort_by(top_column_of_key('P'));
	has_keys = sys_termios(0, &termios_was) == 0;
	fdinfo_repeats = true;
	sources_start();
	catch_signals();
	measure_screen();
	code = terminal_enter() ? run() : EX_FAIL;
	terminal_leave();
	if (code == EX_FAIL)
		say_error("standard output", write_error);
	return code == EX_OK && !any_device ? no_device() : code;
}
