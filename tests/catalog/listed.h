/* listed.h - for unit tests of providers: a catalogue that keeps what catalog_add() gets as lines
 * "NUMBER VENDOR: NAME (UNIT) RULE MAX WHAT". SPDX-License-Identifier: MIT */
#ifndef LISTED_H
#define LISTED_H

#include "unit.h"

static char listed_bytes[1 << 16];
static struct buf listed = { .p = listed_bytes, .cap = sizeof(listed_bytes) };
static u8 listed_provider; /* of the last counter */

static bool listed_has(const char *text)
{
	bool has = str_find(str_of(listed.p, listed.n), str_z(text));

	if (!has)
		note("listed %s", show(str_of(listed.p, listed.n)));
	return has;
}

bool catalog_has(struct str vendor, struct str name)
{
	char text[512];
	struct buf b = BUF(text);

	put_str(&b, vendor);
	put_z(&b, ": ");
	put_str(&b, name);
	put_z(&b, " (");
	return str_find(str_of(listed.p, listed.n), str_of(b.p, b.n));
}

void catalog_add(u8 provider, u32 at, const struct counter_info *n)
{
	static const char *const rules[] = { [R_COUNT] = "count", [R_LEVEL] = "level",
		[R_RATE] = "rate", [R_SHARE] = "share", [R_PERCENT] = "percent" };

	listed_provider = provider;
	put_u64(&listed, at);
	put_c(&listed, ' ');
	put_str(&listed, n->vendor);
	put_z(&listed, ": ");
	put_str(&listed, n->name);
	put_z(&listed, " (");
	put_str(&listed, n->unit);
	put_z(&listed, ") ");
	put_z(&listed, n->is_signed ? "signed " : "");
	put_z(&listed, rules[n->rule]);
	put_c(&listed, ' ');
	if (n->max == UINT64_MAX)
		put_c(&listed, '-');
	else
		put_u64(&listed, n->max);
	put_c(&listed, ' ');
	put_str(&listed, n->what);
	put_c(&listed, '\n');
}

#endif
