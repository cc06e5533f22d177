/* base.h - basic types, views of text, text buffers. Functions that are not declared here are
 * static. SPDX-License-Identifier: MIT */
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

struct str str_z(const char *z);

/* --- parse.c: text buffers -------------------------------------------------------------------- */

/* A buffer to which text is appended. An append that does not fit sets full, which stays true:
 * formatters need no error path, and the writer of the output checks full once. */
struct buf {
	char *p;
	size_t n, cap;
	bool full;
};

/* buf_on() returns an empty buffer that stores its text in the cap bytes at p. BUF(array) returns
 * an empty buffer that stores its text in the array; with a pointer instead of an array it does not
 * compile. */
struct buf buf_on(char *p, size_t cap);
#define ARRAY_BYTES(array) \
	(sizeof(array) + \
	 0 * sizeof(char[1 - 2 * __builtin_types_compatible_p(__typeof__(array), \
							      __typeof__(&(array)[0]))]))
#define BUF(array) buf_on(array, ARRAY_BYTES(array))
void put_n(struct buf *b, const char *p, size_t n);
void put_c(struct buf *b, char c);
void put_str(struct buf *b, struct str s);
void put_z(struct buf *b, const char *z);
void put_columns(struct buf *b, size_t from, size_t to);
void put_utf8(struct buf *b, u32 c);
/* Largest number of bytes that put_dec() appends: the digits of a u64, a decimal point, and as many
 * leading zeros as any unit has decimal places. */
enum { DIGITS = 40 };

char *digits_before(char *e, u64 v, size_t n);
void put_dec(struct buf *b, u64 n, u8 point, u8 keep);
void put_u64(struct buf *b, u64 v);
void put_hex64(struct buf *b, u64 v);
void put_hex(struct buf *b, u8 c);
/* Output contexts for clean_end(): the bytes with a special meaning in that context. clean_end()
 * returns the end of a run of printable bytes without special meaning, which the caller copies
 * unchanged. */
enum {
	CLEAN_TEXT = 1,
	CLEAN_STRING = 2, /* bytes with a special meaning in a quoted string: " and \ */
	CLEAN_TAG = 4,    /* bytes with a special meaning in a tag: comma, = and blank */
	CLEAN_WORD = 8,   /* bytes with a special meaning in a word: " \ = and blank */
	CLEAN_CELL = 16,  /* bytes with a special meaning in a table cell: comma and " */
};
const char *clean_end(struct str s, u8 where);
static inline size_t clean_len(struct str s, u8 where)
{
	return (size_t)(clean_end(s, where) - s.p);
}
void put_text(struct buf *b, struct str s);
/* Returns an empty buffer that stores its text in the array, and keeps the last byte free for the
 * NUL that buf_z() appends. */
#define BUF_Z(array) buf_on(array, ARRAY_BYTES(array) - 1)
const char *buf_z(const struct buf *b);
const char *utf8_end(const char *p, const char *e);
u32 utf8_value(struct str s);
static inline size_t utf8_len(const char *p, const char *e)
{
	return (size_t)(utf8_end(p, e) - p);
}
bool control_is(struct str c);
static inline bool is_control(const char *p, size_t n)
{
	return control_is((struct str){ p, p + n });
}

#endif
