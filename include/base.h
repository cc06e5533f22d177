/* base.h - basic types: integers, views of text, text buffers. The functions on text are in
 * parse.h. SPDX-License-Identifier: MIT */
#ifndef BASE_H
#define BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

#define LEN(a) (sizeof(a) / sizeof((a)[0]))

/* A view of text that other memory holds: the bytes from p up to, not including, e. The memory must
 * stay valid as long as the view is used. */
struct str {
	const char *p, *e;
};

/* STR("x") is an initialiser of a struct str; LIT("x") is an expression of type struct str. LIT()
 * passes the literal to str_of() once, so that both pointers point into the same object: a compiler
 * may store two equal literals at two addresses. */
#define STR(lit) { (lit), (lit) + sizeof(lit) - 1 }
#define LIT(lit) str_of(lit, sizeof(lit) - 1)

static inline struct str str_of(const char *p, size_t n)
{
	return (struct str){ p, p + n };
}

static inline size_t str_len(struct str s)
{
	return (size_t)(s.e - s.p);
}

/* A buffer to which text is appended. An append that does not fit sets the member `full`, which
 * stays true: formatters need no error path, and the writer of the output checks `full` once. */
struct buf {
	char *p;
	size_t n, cap;
	bool full;
};

#endif
