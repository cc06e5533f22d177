/* fakegpus.h - stand-ins of the render nodes of v3d and msm, for tests that include the source file
 * which opens them. Numbers and layouts are those of include/uapi/drm/v3d_drm.h and msm_drm.h of
 * Linux 7.2; behaviour is that of drivers/gpu/drm/v3d/v3d_perfmon.c and msm/msm_perfcntr.c.
 * SPDX-License-Identifier: MIT */
#ifndef FAKEGPUS_H
#define FAKEGPUS_H

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { V3D_FD = 1000, MSM_FD, STREAM_FD };
enum { V3D_NAMES = 5 };

static struct {
	unsigned long fails;   /* type and number of the request that fails */
	int error;             /* with this errno; also of openat() if fails is 0 */
	int read_error;        /* of the stream */
	uint64_t chip;
	unsigned perfmon_n, globals, streams;
	uint8_t counters[32];
	uint64_t values[32];
	char group[32][16];
	uint32_t selects[32], nselects, ngroups;
	uint64_t period;
	char bytes[8192];      /* of the stream */
	size_t nbytes, at, piece; /* piece: bytes of a read */
} fake = { .piece = SIZE_MAX };

static uint64_t fake_u64(const char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t fake_u32(const char *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static long fake_fail(int error)
{
	errno = error;
	return -1;
}

/* struct drm_version: three ints, then length and pointer of the name. */
static long fake_version(char *arg, const char *name)
{
	size_t n;
	char *to;

	memcpy(&n, arg + (sizeof(void *) == 8 ? 16 : 12), sizeof(n));
	memcpy(&to, arg + (sizeof(void *) == 8 ? 24 : 16), sizeof(to));
	memcpy(to, name, n < strlen(name) ? n : strlen(name));
	n = strlen(name);
	memcpy(arg + (sizeof(void *) == 8 ? 16 : 12), &n, sizeof(n));
	return 0;
}

static long fake_v3d(unsigned long request, unsigned size, char *arg)
{
	static const char *const names[V3D_NAMES] = { "cycle-count", "CLE-bin-thread-active-cycles",
		"PTB-primitives-binned", "AXI-write-bytes-seen-watch-0", "AXI-read-bytes-seen-watch-0" };
	uint32_t n;

	switch (size << 16 | request) {
	case 0x168644c: /* PERFMON_GET_COUNTER: u8, name[64], category[32], description[256] */
		if ((uint8_t)arg[0] >= V3D_NAMES)
			return fake_fail(EINVAL);
		strcpy(arg + 1, names[(uint8_t)arg[0]]);
		strcpy(arg + 65, "CORE");
		strcpy(arg + 97, "[CORE] a counter");
		return 0;
	case 0x286448: /* PERFMON_CREATE: u32 id, u32 n, u8 counters[32] */
		n = fake_u32(arg + 4);
		if (n == 0 || n > 32)
			return fake_fail(EINVAL);
		memcpy(fake.counters, arg + 8, 32);
		fake.perfmon_n = n;
		memset(fake.values, 0, sizeof(fake.values));
		memcpy(arg, &(uint32_t){ 7 }, 4);
		return 0;
	case 0x8644d: /* PERFMON_SET_GLOBAL: u32 flags, u32 id */
		if (fake_u32(arg) != 0 || fake_u32(arg + 4) != 7)
			return fake_fail(EINVAL);
		if (fake.globals)
			return fake_fail(EBUSY);
		fake.globals++;
		return 0;
	case 0x46449: /* PERFMON_DESTROY: u32 id; a global one is no longer global */
		if (fake_u32(arg) != 7)
			return fake_fail(EINVAL);
		fake.globals = 0;
		return 0;
	case 0x10644a: /* PERFMON_GET_VALUES: u32 id, u32 0, u64 pointer */
		if (fake_u32(arg) != 7 || fake_u32(arg + 4) != 0)
			return fake_fail(EINVAL);
		memcpy((void *)(uintptr_t)fake_u64(arg + 8), fake.values, fake.perfmon_n * sizeof(uint64_t));
		return 0;
	}
	return fake_fail(EINVAL);
}

/* PERFCNTR_CONFIG: u32 flags, u32 groups, u64 pointer, u64 period, u32 shift, u32 stride; a group:
 * char name[16], u32 n, u32 0, u64 pointer. */
static long fake_config(char *arg)
{
	uint32_t flags = fake_u32(arg), n = fake_u32(arg + 4);
	const char *groups = (const char *)(uintptr_t)fake_u64(arg + 8);

	if (!(flags & 1))
		return flags || fake_u64(arg + 16) || fake_u32(arg + 24) ? fake_fail(EINVAL) : 0;
	if (fake.streams)
		return fake_fail(EBUSY);
	if (!n || !fake_u64(arg + 16) || fake_u32(arg + 24) > 27 || fake_u32(arg + 28) != 32)
		return fake_fail(EINVAL);
	fake.period = fake_u64(arg + 16);
	fake.nselects = 0;
	for (uint32_t i = 0; i < n; i++, groups += 32) {
		uint32_t k = fake_u32(groups + 16);

		for (uint32_t j = 0; j < i; j++)
			if (memcmp(fake.group[j], groups, 16) == 0)
				return fake_fail(EINVAL);
		if (memcmp(groups, "NOSUCH", 7) == 0 || fake_u32(groups + 20) || k > 24)
			return fake_fail(EINVAL);
		memcpy(fake.group[i], groups, 16);
		for (uint32_t j = 0; j < k; j++)
			fake.selects[fake.nselects++] = fake_u32((const char *)(uintptr_t)fake_u64(groups + 24) + 4 * j);
	}
	fake.ngroups = n;
	fake.streams++;
	return STREAM_FD;
}

static long fake_ioctl(int fd, unsigned long request, char *arg)
{
	unsigned size = request >> 16 & 0x1fff; /* the direction is in other bits on powerpc and mips */

	request &= 0xffff;
	if (fake.fails == request)
		return fake_fail(fake.error);
	if (request == 'd' << 8)
		return fake_version(arg, fd == V3D_FD ? "v3d" : "msm");
	if (fd == V3D_FD)
		return fake_v3d(request, size, arg);
	if (request == 0x6440 && size == 24 && fake_u32(arg) == 0x10 && fake_u32(arg + 4) == 3) { /* GET_PARAM */
		memcpy(arg + 8, &fake.chip, sizeof(fake.chip));
		return 0;
	}
	return request == 0x644e && size == 32 ? fake_config(arg) : fake_fail(EINVAL);
}

static long fake_syscall(long nr, ...)
{
	long a[3];
	char *p;
	va_list ap;

	va_start(ap, nr);
	a[0] = va_arg(ap, int);
	a[1] = nr == SYS_ioctl ? (long)va_arg(ap, unsigned long) : va_arg(ap, int);
	p = nr == SYS_ioctl ? va_arg(ap, char *) : NULL;
	va_end(ap);
	if (nr == SYS_ioctl && a[0] >= V3D_FD)
		return fake_ioctl((int)a[0], (unsigned long)a[1], p);
	if (a[0] == STREAM_FD && fake.fails == F_SETFL)
		return fake_fail(fake.error);
	return a[0] == STREAM_FD ? 0 : fake_fail(ENOSYS); /* fcntl */
}

static int fake_openat(int dir, const char *path, int flags, ...)
{
	if (strncmp(path, "/dev/dri/", 9) != 0)
		return openat(dir, path, flags);
	if (!fake.fails && fake.error)
		return (int)fake_fail(fake.error);
	return strcmp(path + 9, "renderD128") == 0 ? V3D_FD : MSM_FD;
}

static ssize_t fake_read(int fd, void *to, size_t n)
{
	size_t have = fake.nbytes - fake.at;

	if (fd != STREAM_FD)
		return read(fd, to, n);
	if (fake.read_error)
		return fake_fail(fake.read_error);
	if (!have)
		return fake_fail(EAGAIN);
	n = n < have ? n : have;
	n = n < fake.piece ? n : fake.piece;
	memcpy(to, fake.bytes + fake.at, n);
	fake.at += n;
	return (ssize_t)n;
}

static int fake_close(int fd)
{
	if (fd == STREAM_FD)
		fake.streams = 0;
	return fd >= V3D_FD ? 0 : close(fd);
}

#endif
