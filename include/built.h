/* built.h - the features that this program is built with. The Makefile names them, and defines
 * WITHOUT_oa as 1 if its variable WITHOUT has oa. Only rows of tables and conditions use these
 * macros; there is no #if inside a function. SPDX-License-Identifier: MIT */
#ifndef BUILT_H
#define BUILT_H

/* 1 if the feature is built in, else 0; also usable in #if. */
#define HAS(feature) HAS_UNLESS(WITHOUT_##feature)
#define HAS_UNLESS(without) HAS_SECOND(LEFT_OUT_, without)
#define HAS_SECOND(before, without) SECOND(before##without 1, 1, 0)
#define SECOND(...) SECOND_OF(__VA_ARGS__)
#define SECOND_OF(first, second, ...) second
#define LEFT_OUT_1 0, 0,

/* ROW(kind, feature) is kind1 if the feature is built in, else kind0: the macro of a table row. The
 * row of a missing feature keeps its name, so that a message can name the missing feature. */
#define ROW(kind, feature) ROW_OF(kind, HAS(feature))
#define ROW_OF(kind, has) ROW_NAMED(kind, has)
#define ROW_NAMED(kind, has) kind##has

/* FEATURED: marks a static function that only such rows use; without these rows it is not compiled,
 * and no compiler warns. WHOLE: no feature is left out. */
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
