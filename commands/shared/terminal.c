/* terminal.c - a terminal that shows a screen: its modes, its size, signals, writes and waits.
 * SPDX-License-Identifier: MIT */
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sys.h"

#include <stdlib.h>

struct terminal terminal;
static struct table grid_table = TABLE_ROW(terminal.screen.grid, SCREEN_ROWS, 25,
					   "rows of the screen");

/* --- signals ---------------------------------------------------------------------------------- */

/* Signals that a screen handles. Those that end the run come first, in the same order as in
 * stop_signals[]. */
static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP, SIGCONT };

static void on_signal(int sig)
{
	if (sig == SIGWINCH)
		terminal.resized = 1;
	else if (sig == SIGTSTP)
		terminal.suspended = 1;
	else if (sig == SIGCONT)
		terminal.resumed = 1;
	else
		stopped = 1;
}

/* Installs the handlers for signals[]. They stay installed after a signal: a second signal must not
 * end the process before the terminal is restored. */
void terminal_catch(void)
{
	for (size_t i = terminal.keeps_stops ? LEN(stop_signals) : 0; i < LEN(signals); i++) {
		struct sigaction sa = { .sa_handler = on_signal };

		sys_signal_unless_ignored(signals[i], &sa);
	}
}

/* --- the terminal ----------------------------------------------------------------------------- */

/* Writes a frame to the terminal, with one write(2) if the terminal accepts it. After a signal that
 * stops the run, the rest of the frame is discarded. On errors, stores -errno in
 * terminal.write_error and returns false. */
bool terminal_show(const char *p, size_t n)
{
	while (n > 0) {
		struct pollfd room = { .fd = 1, .events = POLLOUT };
		long r = sys_write(1, p, n);

		if (r == -EAGAIN) { /* another process set O_NONBLOCK on the shared terminal */
			r = sys_poll_until(&room, 1, sys_now(CLOCK_MONOTONIC) + TERMINAL_TIMEOUT,
					   NULL);
			r = r < 0 ? r : 0;
		}
		if (r < 0 && r != -EINTR) {
			terminal.write_error = r;
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
	return terminal_show(z, strlen(z));
}

/* Prepares the terminal for a screen: keys are passed on at once and without echo; alternate
 * screen, no cursor, no wrap after the last column. Returns false on errors. */
bool terminal_enter(void)
{
	struct termios t;

	if (!terminal.entered) {
		terminal.has_keys = sys_termios(0, &terminal.termios_was) == 0;
		terminal.entered = true;
	}
	t = terminal.termios_was;
	if (terminal.has_keys) {
		t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
		t.c_iflag &= ~(tcflag_t)(ICRNL | INLCR);
		t.c_cc[VMIN] = 1;
		t.c_cc[VTIME] = 0;
		sys_set_termios(0, &t);
	}
	terminal.screen.known = false;
	return show_z("\033[?1049h\033[?25l\033[?7l");
}

/* Restores the terminal. A terminal without an alternate screen keeps the frame, with the cursor
 * in the last line. A terminal that accepts no output, as after Ctrl-S, is not waited for longer
 * than the timeout. */
void terminal_leave(void)
{
	struct pollfd room = { .fd = 1, .events = POLLOUT };
	char text[64];
	struct buf b = BUF(text);

	put_z(&b, "\033[m\033[");
	put_u64(&b, terminal.screen.rows);
	put_z(&b, "H\033[K\033[?7h\033[?25h\033[?1049l");
	if (sys_poll_until(&room, 1, sys_now(CLOCK_MONOTONIC) + TERMINAL_TIMEOUT, NULL) > 0)
		sys_write(1, b.p, b.n);
	if (terminal.has_keys)
		sys_set_termios(0, &terminal.termios_was);
}

/* Stores the size of the terminal in *rows and *cols, and sets the size of the screen, which may be
 * smaller. *rows is reduced if there is no memory for all rows. */
void terminal_measure(unsigned *rows, unsigned *cols)
{
	*rows = *cols = 0;
	sys_window(1, rows, cols);
	if (!*rows || !*cols) { /* a terminal on a serial line reports no size */
		*rows = 24;
		*cols = 80;
	}
	if (!table_has(&grid_table, (*rows < SCREEN_ROWS ? *rows : SCREEN_ROWS) - 1))
		*rows = grid_table.ready;
	screen_size(&terminal.screen, *rows, *cols);
}

/* Suspends the program after Ctrl-Z, as a shell expects: restores the terminal and stops the
 * process until SIGCONT. */
void terminal_suspend(void)
{
	terminal.suspended = 0;
	terminal_leave();
	sys_default(SIGTSTP);
	sys_kill((int)sys_pid(), SIGTSTP);
	terminal_catch();
	terminal.resumed = 1;
}

/* True if the character set of the user's locale is UTF-8. The variables LC_ALL, LC_CTYPE and LANG
 * are checked in the order of setlocale(3). */
bool terminal_is_utf8(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < LEN(names); i++) {
		const char *z = getenv(names[i]);

		if (z && *z)
			return str_find(str_z(z), (struct str)STR("UTF")) ||
			       str_find(str_z(z), (struct str)STR("utf"));
	}
	return false;
}

bool terminal_is_dumb(void)
{
	const char *term = getenv("TERM");

	return sys_columns(1) < 0 || !term || !*term || strcmp(term, "dumb") == 0;
}

/* --- waits ------------------------------------------------------------------------------------ */

/* Waits for a key or a signal, at most until t (ns on CLOCK_MONOTONIC). Returns the result of
 * poll(2); -EINTR after a signal. */
long terminal_wait(i64 t)
{
	struct pollfd p = { .fd = terminal.has_keys ? 0 : -1, .events = POLLIN };
	sigset_t was;
	long r = -EINTR;

	/* signals are blocked until poll(2): none can arrive after the check and before poll(2) */
	sys_block(signals, LEN(signals), &was);
	if (!stopped && !terminal.resized && !terminal.suspended && !terminal.resumed)
		r = sys_poll_until(&p, 1, t, &was);
	sys_unblock(&was);
	return r;
}
