/* tables.c - the tables of libperfmon2.a: pools, the thread's memory and the register table hold 1.6 MB, and each finds room
 * at 1/8 of what is left. SPDX-License-Identifier: MIT */
#define ARENA_BYTES ((size_t)8 << 20)
#include "../sources/tables.c"
