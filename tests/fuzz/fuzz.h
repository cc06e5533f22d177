/* fuzz.h - the common part of all fuzz targets. libFuzzer, AFL++ and fuzz_main.c use the same
 * entry. SPDX-License-Identifier: MIT */
#ifndef FUZZ_H
#define FUZZ_H

#define replay replay_bytes /* there is a command with this name */
#include "unit.h"
#undef replay

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define S(lit) ((struct str)STR(lit))

/* A condition that must hold; otherwise the fuzzer has found an error. */
__attribute__((unused)) static void must(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	abort();
}

/* Functions that remove the head of an input, which selects the use of the rest: the next byte or
 * word, or the text up to a byte. */
__attribute__((unused)) static u8 take_u8(struct str *in)
{
	return in->p < in->e ? (u8)*in->p++ : 0;
}

__attribute__((unused)) static u64 take_u64(struct str *in)
{
	u64 v = 0;

	if (str_len(*in) >= sizeof(v)) {
		memcpy(&v, in->p, sizeof(v));
		in->p += sizeof(v);
	}
	return v;
}

/* Removes the part up to a line "%%" from the input; the rest after it is for a second reading, or
 * empty. */
__attribute__((unused)) static struct str take_first(struct str *in)
{
	struct str first = *in;

	for (const char *p = in->p; p + 4 <= in->e; p++)
		if (memcmp(p, "\n%%\n", 4) == 0) {
			first.e = p + 1;
			in->p = p + 4;
			return first;
		}
	*in = (struct str){ 0 };
	return first;
}

#endif
