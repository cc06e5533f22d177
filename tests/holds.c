/* holds.c - checks each record before out_record(), by ld's --wrap: a record that violates the
 * assumptions of the writers ends the program.
 * SPDX-License-Identifier: MIT */
#include "holds.h"

void __real_out_record(struct out *o, struct buf *b, const struct record *r);
void __wrap_out_record(struct out *o, struct buf *b, const struct record *r);
void __wrap_out_record(struct out *o, struct buf *b, const struct record *r)
{
	if (!record_holds(r))
		__builtin_trap();
	__real_out_record(o, b, r);
}
