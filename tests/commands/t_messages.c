/* t_messages.c - unit test of commands/shared/messages.c: messages of any length and any bytes, texts
 * of errors, the exit code of a command. SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"

static char written[2048];
static size_t nwritten, nwrites;

static long fake_write(int fd, const char *p, size_t n)
{
	nwrites += fd == 2;
	for (size_t i = 0; i < n && nwritten < sizeof(written); i++)
		written[nwritten++] = p[i];
	return (long)n;
}
#define sys_write(fd, p, n) fake_write(fd, p, n)
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/messages.c"

static const struct cmd live = { .with = WITH_LIVE }, plugin = { .with = WITH_CHECK };
struct opts opt = { .cmd = &live };

/* Returns the text that was written since the last call. */
static struct str said(void)
{
	struct str s = { written, written + nwritten };

	nwritten = nwrites = 0;
	return s;
}

static void t_say(void)
{
	say("a", "b", "c");
	check(nwrites == 1, "a message is written with one call");
	check_str(said(), "gpustat: abc\n", "a message has the program's name and all its parts");
	say_z("a");
	say_number(UINT64_MAX, " things");
	say_at("file", 7, "bad");
	say_error("x", -ENOENT);
	check_str(said(), "gpustat: a\ngpustat: 18446744073709551615 things\n"
		  "gpustat: file: at byte 7: bad\ngpustat: x: No such file or directory\n",
	          "messages of other forms: text, number, place in a file, error");
	say_as("who", "a\nb\033", NULL, "\xff");
	check(is_clean(said(), true), "no byte of a name in a message moves the cursor");
	opt.quiet = true;
	say_z("a");
	check_str(said(), "", "-q: no message is printed");
	check(usage("a", NULL, NULL) == EX_USAGE && opt.usage_said && !opt.quiet,
	      "-q: an error of usage is printed");
	check_str(said(), "gpustat: a\n", "-q: an error of usage has its message");
}

/* A part of a message without room has its first 48 bytes and dots. */
static void t_long(void)
{
	static char longest[3000];
	char want[200] = "gpustat: ";
	struct str s;

	memset(longest, 'x', sizeof(longest) - 1);
	say(longest, " tail", NULL);
	memset(want + 9, 'x', 48);
	strcpy(want + 57, "... tail\n");
	check_str(said(), want, "a long message: a long first part leaves room for the second");
	say(longest, longest, longest);
	s = said();
	check_u64(str_len(s), 9 + 3 * 51 + 1, "a long message: three long parts are all cut");
	memcpy(longest + 46, "\xe2\x82\xac", 3); /* three bytes, at whose middle the limit is */
	say(longest, " tail", NULL);
	memset(want + 9, 'x', 46);
	strcpy(want + 55, "... tail\n");
	check_str(said(), want, "a long message is cut between characters");
	memset(longest, 'x', 1000);
	longest[1000] = '\0';
	say(longest, longest + 900, NULL);
	check_u64(str_len(said()), 9 + 51 + 100 + 1,
	          "a long message: a first part that just fits is cut to leave room for the "
	          "second");
	longest[900] = '\0';
	say(longest + 100, NULL, NULL);
	check_u64(str_len(said()), 9 + 800 + 1, "a message of 800 bytes is not cut");
}

static void t_plugin(void)
{
	opt.cmd = &plugin;
	check(is_check(), "is_check() is true for the command check");
	opt.quiet = true;
	say("a", "b", NULL);
	check_str(said(), "", "check: a message is not printed");
	check_str(str_z(last_message), "ab",
	          "check: a message is kept for the result, without the program's name");
	opt.quiet = false;
	opt.cmd = NULL;
	check(!is_check(), "is_check() is false before the command is known");
	opt.cmd = &live;
}

static void t_errors(void)
{
	static const struct {
		long error;
		const char *text;
	} rows[] = {
		{ -EIO, "Input/output error" }, { -ENOEXEC, "Exec format error" },
		{ -EBUSY, "Device or resource busy" }, { -EINTR, "EINTR" }, { -EUCLEAN, "EUCLEAN" },
		{ -EMFILE, "Too many open files (RLIMIT_NOFILE)" }, { -524, "ENOTSUPP" },
		{ -4095, "error 4095 (unknown)" }, { 0, "error 0 (unknown)" },
	};

	for (size_t i = 0; i < LEN(rows); i++)
		check_str(str_z(error_text(rows[i].error)), rows[i].text,
		          "text of error %ld", -rows[i].error);
}

static void t_commands(void)
{
	static char name[] = "cmd", *argv[] = { name, NULL };

	opt.command = argv;
	check(command_code(0, 0) == 0 && opt.command_exit == 0,
	      "exit code of a command that succeeded");
	check(command_code(0, 3 << 8) == 3 && opt.command_exit == 3,
	      "exit code of a command that failed");
	check(command_code(0, SIGKILL) == 137 && opt.command_exit == 137,
	      "exit code of a command that a signal ended: 128 and the signal");
	check_str(said(), "", "no message if a command ends");
	check(command_code(-ENOENT, 0) == 127 && command_code(-EACCES, 0) == 126,
	      "exit codes of a command that was not found, and of one that could not be started");
	check_str(said(), "gpustat: cmd: No such file or directory\ngpustat: cmd: Permission denied\n",
		  "messages of a command that was not found, and of one that could not be started");
	check(command_code(0, -ECHILD) == EX_FAIL, "exit code of a command with an unknown status");
	check_str(said(), "gpustat: cmd: the exit status of the command is unknown: ECHILD\n",
	          "message of a command with an unknown status");
}

static void t_full(void)
{
	static TABLE(char, few, 10, 10, "things");

	check(!say_full(), "say_full() returns false if no table is full");
	table_has(&few.t, 10);
	table_has(&few.t, 11);
	check(say_full(), "say_full() returns true if a table is full");
	check_str(said(), "gpustat: things: room for 10 only, 2 left out\n",
	          "the message of a full table has its size and the number of lost rows");
	registry.dropped = 5;
	fileio.unread = 2;
	check(without_room() == 3, "without_room() does not count files that could not be read");
	say_dropped();
	check_str(said(), "gpustat: 3 values were left out: gpustat's tables are full\n",
	          "message about three lost values");
	fileio.unread = 5;
	say_dropped();
	check(without_room() == 0 && nwritten == 0, "no message if only files could not be read");
	fileio.unread = 6;
	check(without_room() == 0, "without_room() is never negative");
	files_note_missing("card0", -EACCES);
	say_unread_files();
	check_str(said(), "gpustat: some files could not be read: card0: Permission denied\n",
		  "message with the last file that could not be read");
}

static void t_implausible(void)
{
	static const struct {
		u8 range;
		u64 v;
		const char *text;
	} rows[] = {
		{ RG_BYTES, 1ull << 63, "memory 9223372036854775808" },
		{ RG_BYTES, UINT64_MAX, "memory 18446744073709551615" },
		{ RG_POWER, 0 - (u64)5, "power -5" }, { RG_TEMP, 2112000, "temperature 2112000" },
		{ RG_VOLT, 1ull << 63, "voltage -9223372036854775808" },
	};

	registry.implausible.total = 1;
	str_copy(registry.implausible.where, sizeof(registry.implausible.where), str_z("card0 x"));
	say_implausible();
	check_str(said(), "", "no message about a reading without --verbose");
	opt.verbose = true;
	for (size_t i = 0; i < LEN(rows); i++) {
		char want[128];

		registry.implausible.range = rows[i].range;
		registry.implausible.v = (i64)rows[i].v;
		say_implausible();
		snprintf(want, sizeof(want), "gpustat: 1 reading was not plausible and is unknown: card0 x: %s\n",
			 rows[i].text);
		check_str(said(), want, "message about a reading that is not plausible");
	}
	opt.verbose = false;
	registry.implausible.total = 0;
}

int main(void)
{
	t_say();
	t_long();
	t_plugin();
	t_errors();
	t_commands();
	t_full();
	t_implausible();
	return unit_end();
}
