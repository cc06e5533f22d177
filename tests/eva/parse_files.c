/* parse_files.c - parse.c: files of /proc and /sys, zone files.
 * eva: parse.c -eva-precision 2 -eva-unroll-recursive-calls 2
 * SPDX-License-Identifier: MIT */
#include "eva.h"

static char text[TEXT_CAP], zone[TEXT_CAP], words[4096];

int main(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct str s = ANY_IN(text), key = ANY_IN(words), file, part;
		unsigned maj, min;
		u64 v, w;
		i32 east;

		parse_stat_start(s, &v);
		parse_stat_field(s, (int)any_to(64), &v);
		parse_cgroup(s, &part);
		parse_container(s);
		parse_uevent(s, key, &part);
		parse_devno(s, &maj, &min);
		parse_dpm(s, &v, &w);
		for (file = s; again() && parse_v3d(&file, &part, &v);)
			;
		parse_trans(s, &v, &w);
		for (file = s; again() && parse_rknpu(&file, &part, &v);)
			;
		parse_tz(s, (i64)any());
		any_bytes(zone, sizeof(zone));
		parse_tzif((struct str){ zone, zone + any_to(sizeof(zone)) }, (i64)any(), &east);
	}
	return 0;
}
