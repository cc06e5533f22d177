/* watch.c - who may have opened a device, and whom to look at next. SPDX-License-Identifier: MIT */
#include "gpustat.h"
#include "sys.h"

u32 watch_sweep = 80;
bool watch_sweep_timed = true;

/* "new clients: opens of /dev/dri, descriptor counts; sweep: ..." */
void watch_say(struct buf *b, i64 step)
{
	(void)step;
	put_z(b, "new clients: every descriptor of every process in each sample");
}
