/* oametrics_make.c - sources/oametrics.c: the equations of any set made ready for any device.
 * A set's texts lie in its file, as oaset_next() leaves them. What a device has is any value for any variable: the table
 * of their names is oadevice.c's. The longest of the harnesses here: 55 to 72 s of user time, most of it for 256 counters by name.
 * eva: -eva-widening-delay 1 -eva-widening-period 1 -eva-precision 1 -warn-special-float none -eva-plevel 256 -eva-slevel-function place_at:0 -eva-auto-loop-unroll 26 -eva-split-return auto
 * SPDX-License-Identifier: MIT */
#include "text.h"
#include "../../sources/oametrics.c"
#include "../../sources/oabasic.c"

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
static struct oaprog prog;

static struct str any_view(struct str s)
{
	s.p = any_place(s.p, s.e);
	s.e = any_place(s.p, s.e);
	return s;
}

static void set_of(u8 origin)
{
	struct oafile f = { ANY_IN(text), origin };
	struct oaset s = { &f, any_view(f.text), any_view(f.text), any_view(f.text), "", any_view(f.text) };
	char b[64];
	struct buf why = BUF(b);

	oaprog_make(&prog, &s, &dev, &why);
}

int main(void)
{
	//@ widen_hints global:"all", 31, 32, 36, 37, 255, 256, 16383, 16384;
	if (any_bool())
		set_of(OM_XML);
	else
		set_of(OM_PACK);
	return 0;
}
