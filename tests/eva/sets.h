/* sets.h - for the harnesses of sources/oa/oametrics.c that start with a set: views at any place in
 * a file of any bytes, and a device with any value for any variable.
 * SPDX-License-Identifier: MIT */
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

bool oavar_value(const struct oadevice *d, u8 var, u8 index, u64 *value)
{
	(void)d, (void)index;
	*value = any();
	return var >= OV_NUMBERS || any_bool();
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
