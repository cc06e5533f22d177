/* syscalls.c - the names of the system calls of the architecture that the program is built for.
 * Pure: no system calls, no state.
 * SPDX-License-Identifier: MIT */
#include "views/views.h"
#include <sys/syscall.h>

/* Numbers and names of the system calls, in the same order. Each name is a member with its own NUL:
 * one string of all names would be longer than C99 guarantees. */
static const u16 numbers[] = {
#define N(number, name) number,
#include "views/syscallnames.h"
#undef N
};
static const struct {
#define N(number, name) char c_##name[sizeof(#name)];
#include "views/syscallnames.h"
#undef N
} names = {
#define N(number, name) #name,
#include "views/syscallnames.h"
#undef N
};

/* Returns the name of a system call; .p is NULL if the number is unknown. */
struct str syscall_name(u64 number)
{
	const char *name = (const char *)&names;

	for (size_t i = 0; i < LEN(numbers); i++, name += strlen(name) + 1)
		if (numbers[i] == number)
			return str_z(name);
	return (struct str){ 0 };
}
