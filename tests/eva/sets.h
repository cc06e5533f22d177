/* sets.h - what harnesses of sources/oametrics.c share that begin with a set: views anywhere in a file of any bytes, and a
 * device that has any value for any variable. SPDX-License-Identifier: MIT */
#ifndef SETS_H
#define SETS_H

#ifdef __FRAMAC__
bool oavar_find(struct str name, u8 *var, u8 *index)
{
	read_all(name);
	*var = (u8)any_to(OV_COUNT - 1);
	*index = (u8)any_to(63);
	return any_bool();
}

u64 oavar_value(const struct oadevice *d, u8 var, u8 index)
{
	(void)d, (void)var, (void)index;
	return any();
}
#endif

enum { FILE_CAP = 1 << 25 };
static char text[FILE_CAP];
static struct oadevice dev;

static struct str any_view(struct str s)
{
	s.p = any_place(s.p, s.e);
	s.e = any_place(s.p, s.e);
	return s;
}

#endif
