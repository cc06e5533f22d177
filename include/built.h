/* built.h - the features that this program is built with. The Makefile lists the features, and
 * defines the macro WITHOUT_oa as 1 if `make WITHOUT=oa` leaves out the feature oa. Only rows of
 * tables and conditions use these macros; there is no #if inside a function.
 * SPDX-License-Identifier: MIT */
#ifndef BUILT_H
#define BUILT_H

/* HAS(feature) is 1 if gpustat is built with the feature, else 0. It can also be used in the
 * condition of #if. */
#define HAS(feature) HAS_UNLESS(WITHOUT_##feature)
#define HAS_UNLESS(without) HAS_SECOND(LEFT_OUT_, without)
#define HAS_SECOND(before, without) SECOND(before##without 1, 1, 0)
#define SECOND(...) SECOND_OF(__VA_ARGS__)
#define SECOND_OF(first, second, ...) second
#define LEFT_OUT_1 0, 0,

/* ROW(kind, feature) makes the row of a table: it expands to the name of the macro kind1 if the
 * feature is built in, else of the macro kind0. kind0 makes a row that has only a name, so that a
 * message can name the feature that is not built in. */
#define ROW(kind, feature) ROW_OF(kind, HAS(feature))
#define ROW_OF(kind, has) ROW_NAMED(kind, has)
#define ROW_NAMED(kind, has) kind##has

/* FEATURED marks a static function to which only table rows of optional features refer: if these
 * rows are left out, the compiler drops the function without a warning. WHOLE is 1 if no feature is
 * left out, else 0. */
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
