/* fuzz_nvidia.c - any answers of NVIDIA's driver, to each call of a few samples. For each call, a
 * byte of the input selects success, or a failure; the bytes of the answer follow.
 * SPDX-License-Identifier: MIT */
#include "fuzz.h"
#include "sys.h"

enum { CTL = 1000, NODE = 1001 };
static struct str input;
static i64 clock_ns;
static unsigned calls, nodes_open;

/* Fills bytes of an answer; the last ones stay if the input is short. */
static void answer_take(void *to, size_t n)
{
	n = n < str_len(input) ? n : str_len(input);
	if (n)
		memcpy(to, input.p, n);
	input.p += n;
}

static const u32 statuses[16] = { 0x01, 0x0f, 0x1b, 0x1f, 0x3a, 0x56, 0x57, 0x40, 0xffff, UINT32_MAX };

static long fake_ioctl(int fd, unsigned long request, unsigned long arg)
{
	u8 how = take_u8(&input);
	unsigned char *a = (void *)(uintptr_t)arg;
	u64 params;
	u32 n, small = how >> 4;

	must(fd == CTL, "only the control node gets requests");
	calls++;
	if (how % 16 == 15)
		return -(long)(small + 1);
	if (request == 0xc90046c8) {
		answer_take(a, 2304);
		return 0;
	}
	if (request != 0xc020462a) {
		answer_take(a, 16);
		return 0;
	}
	memcpy(&params, a + 16, sizeof(params));
	memcpy(&n, a + 24, sizeof(n));
	must(n <= 56000, "an answer has a known size");
	if (how % 16 == 14)
		memcpy(a + 28, &statuses[small], sizeof(small));
	else if (n == 16 && params) /* a list of pairs in the caller's memory, with their number */
		answer_take(*(void **)(uintptr_t)(params + 8), 8 * (size_t)*(u64 *)(uintptr_t)params);
	else
		answer_take((void *)(uintptr_t)params, n);
	return 0;
}

static long fake_open(int at, const char *path, int flags)
{
	(void)flags;
	must(at == AT_FDCWD, "a path of this machine");
	if (strcmp(path, "/dev/nvidiactl") == 0)
		return CTL;
	must(strncmp(path, "/dev/nvidia", 11) == 0 && path[11] >= '0' && path[11] <= '9', "the node of a GPU");
	nodes_open++;
	return NODE;
}

static long fake_close(int fd)
{
	must(fd != NODE || nodes_open-- > 0, "an open node is closed");
	return 0;
}

static int fake_has(int dir, const char *name)
{
	(void)dir;
	(void)name;
	return true;
}

static i64 fake_now(clockid_t which)
{
	(void)which;
	return clock_ns;
}

static struct str fake_text(u32 device, const char *leaf)
{
	(void)leaf;
	return device == 1 ? S("on\n") : S("auto\n");
}

#define sys_ioctl fake_ioctl
#define open_retry fake_open
#define sys_close fake_close
#define sys_has_file fake_has
#define sys_now fake_now
#define sysfs_text fake_text
#include "../../sources/device/nvidia.c"

static void found(u32 pid, u32 device, u32 slot)
{
	must(pid && pid <= INT32_MAX && device == 1 && slot == NV_SLOT + 1, "a process");
}

static void values_check(const struct entity *e)
{
	u64 v, total;

	for (struct counter *c = reg_first(e); c; c = reg_next(c)) {
		must(c->desc != D_BUSY_PCT || reg_now(c) <= 100000, "100 % at most");
		must(c->desc != D_TEMP || ((i64)reg_now(c) >= -273000 && (i64)reg_now(c) <= 1000000), "a temperature");
		must(c->desc != D_PSTATE || reg_now(c) < 16, "a performance state");
	}
	if (reg_get(e, D_VRAM_USED, 0, &v))
		must(reg_get(e, D_VRAM_TOTAL, 0, &total) && v <= total && total <= 1ull << 40, "memory");
}

static void reset(void)
{
	nvidia_rest();
	ctl = (__typeof__(ctl)){ .fd = -1 };
	if (nrows.devices) {
		reg_clear(&devices[1].e);
		devices[1].e.used = false;
	}
	nrows.devices = 0;
	device_add();
	strcpy(devices[1].driver, "nvidia");
	strcpy(devices[1].pdev, "0000:01:00.0");
	clock_ns = 1;
	nodes_open = 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	input = str_of((const char *)data, n);
	reset();
	for (int i = 0; i < 4; i++) {
		clock_ns += 9000000000;
		reg_begin(&devices[1].e, clock_ns);
		calls = 0;
		nvidia_sample();
		/* The first sample makes the client; one requests the reason of missing values. */
		must(calls <= MAX_CALLS + REASON_CALLS + (i == 0), "few calls in a sample");
		values_check(&devices[1].e);
		nvidia_scan(found);
	}
	nvidia_rest();
	must(nodes_open == 0, "all nodes are closed at the end");
	return 0;
}
