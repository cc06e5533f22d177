/* built.h - which features this program has. The Makefile names them, and defines WITHOUT_oa as 1 where WITHOUT has oa; only
 * tables ask, never the middle of a function. SPDX-License-Identifier: MIT */
#ifndef BUILT_H
#define BUILT_H

/* 1 or 0: also in #if. */
#define HAS(feature) HAS_UNLESS(WITHOUT_##feature)
#define HAS_UNLESS(without) HAS_SECOND(LEFT_OUT_, without)
#define HAS_SECOND(before, without) SECOND(before##without 1, 1, 0)
#define SECOND(...) SECOND_OF(__VA_ARGS__)
#define SECOND_OF(first, second, ...) second
#define LEFT_OUT_1 0, 0,

/* The row of a table whose rows are ROW1(feature, ...) and, left out, ROW0(feature, ...): that keeps the name, by which a
 * message can say what the row would be of. */
#define ROW(kind, feature) ROW_OF(kind, HAS(feature))
#define ROW_OF(kind, has) ROW_NAMED(kind, has)
#define ROW_NAMED(kind, has) kind##has

/* FEATURED: a static function that nothing but such rows names; where they are left out it is not compiled, and no compiler
 * complains. WHOLE: nothing is left out. */
#ifdef LEFT_OUT
#define WHOLE 0
#define FEATURED __attribute__((unused))
#define FEATURES_TEXT "features: " BUILT_IN "\nnot built in: " LEFT_OUT "\n"
#else
#define WHOLE 1
#define FEATURED
#define FEATURES_TEXT "features: all\n"
#endif

#endif
