/* holds.h - the assumptions of the writers in views/out.c about a record. tests/eva/out.h generates
 * any record that fulfils them.
 * SPDX-License-Identifier: MIT */
#ifndef HOLDS_H
#define HOLDS_H

#include "tests/rooms.h"

static bool text_holds(const struct record *r, struct str s)
{
	const char *own = r->text;

	if (!s.p || !s.e)
		return !s.p && !s.e;
	return s.p <= s.e && (s.p < own || s.p >= own + REC_TEXT || s.e <= own + r->text_n);
}

static bool field_holds(const struct record *r, const struct field *f)
{
	const struct column *c = f->col;
	bool scalar, member;

	if (c < columns || c >= columns + ncolumns)
		return false;
	scalar = c->shape == S_SCALAR;
	member = scalar || c->shape == S_BOTH || c->shape == S_MEMBER;
	return !c->group == scalar && !c->member == !member && f->v.type <= V_DIGITS && f->v.unit < UNITS && f->v.point <= 25 &&
	       text_holds(r, f->inst) && text_holds(r, f->v.s);
}

static bool record_holds(const struct record *r)
{
	bool holds = r->n <= MAX_FIELDS && r->text_n <= REC_TEXT && r->kind < K_COUNT;

	for (size_t i = 0; holds && i < r->n; i++)
		holds = field_holds(r, &r->f[i]);
	return holds;
}

#endif
