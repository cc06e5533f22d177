/* said.h - for unit tests of commands: keeps messages instead of printing them, and counts the calls
 * by which a command drops its rights. SPDX-License-Identifier: MIT */
#ifndef SAID_H
#define SAID_H

#include "commands/commands.h"

static char said_bytes[1 << 14];
static struct buf said = { .p = said_bytes, .cap = sizeof(said_bytes) };

void say(const char *a, const char *b, const char *c)
{
	const char *const parts[] = { a, b, c };

	for (size_t i = 0; i < LEN(parts); i++)
		put_z(&said, parts[i] ? parts[i] : "");
	put_c(&said, '\n');
}

void say_z(const char *z) { say(z, NULL, NULL); }
const char *error_text(long err) { return err == -EIO ? "EIO" : err == -ENOMEM ? "ENOMEM" : "error"; }
void say_error(const char *who, long err) { say(who, ": ", error_text(err)); }

void say_number(u64 n, const char *what)
{
	put_u64(&said, n);
	say_z(what);
}

int usage(const char *a, const char *b, const char *c)
{
	say(a, b, c);
	opt.usage_said = true;
	return EX_USAGE;
}

int usage_z(const char *z) { return usage(z, NULL, NULL); }

/* Returns whether a message has this text, and forgets all messages. */
__attribute__((unused)) static bool is_said(const char *text)
{
	bool is = text ? str_find(str_of(said.p, said.n), str_z(text)) : said.n == 0;

	if (!is)
		note("said %s", show(str_of(said.p, said.n)));
	said.n = 0;
	return is;
}

#endif
