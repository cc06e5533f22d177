/* t_summary.c - unit test of views/summary.c: which values have a mean, a minimum and a maximum;
 * entities and instances that differ; a full table. SPDX-License-Identifier: MIT */
#include "../../views/summary.c"

#include "tests/unit.h"

/* Returns the first column with these properties. */
static const struct column *column_of(u8 unit, u32 with, u32 without)
{
	for (const struct column *c = columns; c < columns + ncolumns; c++)
		if (c->unit == unit && (c->when & with) == with && !(c->when & without))
			return c;
	puts("Bail out! no such column");
	exit(1);
}

static struct entity one = { .serial = 1 }, other = { .serial = 2 };
static const char inst_a[] = "a", inst_b[] = "b";

/* Makes a record of one value. Its field is in one_field. */
static struct field one_field;

static struct record *record_of(const struct entity *e, const struct column *c, const char *inst,
				i64 v)
{
	static struct record r;

	one_field = (struct field){ .col = c, .inst = str_z(inst),
		.v = { .type = V_INT, .unit = c->unit, .neg = v < 0,
		       .n = v < 0 ? -(u64)v : (u64)v } };
	r = (struct record){ .e = e, .f = &one_field, .n = 1 };
	return &r;
}

/* Returns the value of a record after summary_apply(); its own value is 77. INT64_MIN: unknown. */
static i64 applied(const struct entity *e, const struct column *c, const char *inst,
		   const char *which)
{
	struct record *r = record_of(e, c, inst, 77);

	summary_apply(r, which);
	if (one_field.v.type != V_INT)
		return INT64_MIN;
	return one_field.v.neg ? -(i64)one_field.v.n : (i64)one_field.v.n;
}

static void values_are(const struct entity *e, const struct column *c, const char *inst, i64 min,
		       i64 avg, i64 max)
{
	check(applied(e, c, inst, "min") == min, "min is %lld", (long long)min);
	check(applied(e, c, inst, "avg") == avg, "avg is %lld", (long long)avg);
	check(applied(e, c, inst, "max") == max, "max is %lld", (long long)max);
}

static void t_values(const struct column *level)
{
	static const i64 some[] = { 10, -5, 1, 1 };
	const i64 large = 1ll << 52;

	check(applied(&one, level, inst_a, "min") == INT64_MIN,
	      "without values, minimum, average and maximum are unknown");
	for (size_t i = 0; i < LEN(some); i++)
		summary_add(record_of(&one, level, inst_a, some[i]));
	values_are(&one, level, inst_a, -5, 1, 10); /* 7 / 4 */
	summary_add(record_of(&one, level, inst_b, 3));
	summary_add(record_of(&other, level, inst_a, -3));
	summary_add(record_of(&other, level, inst_a, -4));
	values_are(&one, level, inst_b, 3, 3, 3);
	values_are(&other, level, inst_a, -4, -3, -3); /* -7 / 2 */
	values_are(&one, level, inst_a, -5, 1, 10);
	summary_add(record_of(&one, level, inst_b, large));
	values_are(&one, level, inst_b, 3, (large + 3) / 2, large);
	summary_add(record_of(&one, level, inst_b, large + 1));
	values_are(&one, level, inst_b, 3, (large + 3) / 2, large); /* more than any memory */
	summary_reset();
	for (size_t i = 0; i < 10000; i++) {
		summary_add(record_of(&one, level, inst_a, large));
		summary_add(record_of(&one, level, inst_b, i % 2 ? -large : -large + 2));
	}
	values_are(&one, level, inst_a, large, large, large); /* the sum would overflow */
	values_are(&one, level, inst_b, -large, -large + 1, -large + 2);
	summary_reset();
	check(applied(&one, level, inst_a, "max") == INT64_MIN,
	      "after a reset, minimum, average and maximum are unknown");
	summary_add(record_of(&one, level, inst_a, 8));
	values_are(&one, level, inst_a, 8, 8, 8);
	summary_reset();
}

static void t_kinds(const struct column *level)
{
	const struct column *total = column_of(U_JOULE, W_TOTAL, 0),
			    *id = column_of(U_NONE, W_ID, W_TOTAL),
			    *plain = column_of(U_NONE, 0, W_ID | W_TOTAL | W_TABLE),
			    *shown = column_of(U_NONE, W_TABLE, W_ID | W_TOTAL);
	struct record *r;

	summary_add(record_of(&one, level, inst_a, 5));
	summary_add(record_of(&one, total, inst_a, 5));
	summary_add(record_of(&one, id, inst_a, 5));
	summary_add(record_of(&one, plain, inst_a, 5));
	summary_add(record_of(&one, shown, inst_a, 5));
	check(applied(&one, level, inst_a, "avg") == 5, "a level has a mean");
	check(applied(&one, total, inst_a, "avg") == INT64_MIN,
	      "a total has no mean: it is unknown");
	check(applied(&one, id, inst_a, "avg") == 77, "an identifier is not replaced by a mean");
	check(applied(&one, plain, inst_a, "avg") == 77,
	      "a number without unit is not replaced by a mean");
	check(applied(&one, shown, inst_a, "avg") == 5,
	      "a number without unit that tables show has a mean");
	r = record_of(&one, id, inst_a, 0);
	one_field.v = (struct val){ .type = V_TEXT, .s = LIT("name") };
	summary_add(r);
	summary_apply(r, "min");
	check_str(one_field.v.s, "name", "a text is not replaced by a mean");
	summary_reset();
}

static void t_full(const struct column *level)
{
	u32 dropped = registry.dropped;
	struct entity e = { .serial = 0 };

	for (u32 i = 1; i <= MAX_STATS + 2; i++) {
		e.serial = i;
		summary_add(record_of(&e, level, inst_a, (i64)i));
	}
	check_u64(registry.dropped - dropped, 2,
	          "full table: two values have no room, and are counted");
	check(applied(&e, level, inst_a, "min") == INT64_MIN,
	      "full table: a value without room is unknown");
	e.serial = MAX_STATS;
	check(applied(&e, level, inst_a, "min") == MAX_STATS,
	      "full table: the last value with room has a mean");
	e.serial = 1;
	summary_add(record_of(&e, level, inst_a, 9));
	check(applied(&e, level, inst_a, "avg") == 5,
	      "full table: values with room are still averaged");
	summary_reset();
}

int main(void)
{
	const struct column *level = column_of(U_CELSIUS, W_LIVE, W_ID | W_TOTAL);

	t_values(level);
	t_kinds(level);
	t_full(level);
	return unit_end();
}
