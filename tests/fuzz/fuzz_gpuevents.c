/* fuzz_gpuevents.c - any answers of the drivers v3d and msm, any records of a stream in pieces of any
 * size, and any names of events. An input is a list of commands, a byte each; a name ends in a
 * newline; answers are the next bytes.
 * SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

static long driver_syscall(long nr, ...);
static ssize_t driver_read(int fd, void *to, size_t n);
static int driver_close(int fd);

#define syscall driver_syscall
#define read driver_read
#define close driver_close
#include "../../sources/perf/gpuevents.c"
#undef syscall
#undef read
#undef close
#undef S
#include "fuzz.h"

enum { NODE = 1000, STREAM };

static struct str input;

static void take(void *to, size_t n)
{
	memset(to, 0, n);
	n = n < str_len(input) ? n : str_len(input);
	memcpy(to, input.p, n);
	input.p += n;
}

/* Half of the requests fail. The others write what the kernel may write: the bytes of the request's
 * size, or of the array that a request points to. */
static long driver_syscall(long nr, ...)
{
	unsigned long request;
	char *arg;
	va_list ap;
	u8 how = take_u8(&input);

	va_start(ap, nr);
	va_arg(ap, int);
	request = va_arg(ap, unsigned long) & UINT32_MAX;
	arg = va_arg(ap, char *);
	va_end(ap);
	if (how & 1) {
		errno = how / 2 == EAGAIN || how / 2 == EINTR || how / 2 == 0 ? EIO : how / 2;
		return -1;
	}
	if (nr != SYS_ioctl)
		return 0;
	if (request == V3D_GET_VALUES)
		take((void *)(uintptr_t)((struct v3d_values *)(void *)arg)->values, gpus[0].count.n * sizeof(u64));
	else if (request >> 31) /* the kernel writes */
		take(arg, request >> 16 & 0x3fff);
	return request == MSM_CONFIG ? STREAM : 0;
}

static ssize_t driver_read(int fd, void *to, size_t n)
{
	size_t piece = take_u8(&input);

	if (fd != STREAM)
		return read(fd, to, n);
	if (piece == 0 || input.p == input.e) {
		errno = piece ? EAGAIN : ENODEV;
		return -1;
	}
	n = n < piece ? n : piece;
	n = n < str_len(input) ? n : str_len(input);
	take(to, n);
	return (ssize_t)n;
}

static int driver_close(int fd)
{
	return fd >= NODE ? 0 : close(fd);
}

static void list_one(struct str event, struct str unit, struct str what)
{
	struct str rest = event, part;

	must(str_len(event) <= 96 && str_len(unit) <= 5 && str_len(what) <= 256, "names fit into their buffers");
	must(str_cut(&rest, '/', &part) && (str_is(part, "v3d") || str_is(part, "msm")), "an event has a source");
}

static long held[64];
static size_t nheld;

static void run_find(const char *source)
{
	struct str name = input, unit;
	long n;

	str_cut(&input, '\n', &name);
	n = gpuevent_find(str_z(source), name, &unit);
	must(n >= -1 && n < (long)(LEN(gpus) * MOST), "the number of an event is valid");
	must(n < 0 || str_len(unit) <= 5, "an event has a unit, or an empty one");
	if (n >= 0 && nheld < LEN(held))
		held[nheld++] = n;
	else if (n >= 0)
		gpuevent_release((u32)n);
}

static void run_read(void)
{
	u64 was[MOST], v;

	for (u32 i = 0; i < MOST; i++)
		gpuevent_value(MOST + i, &was[i]);
	gpuevents_read();
	for (u32 i = 0; i < MOST; i++)
		must(!gpuevent_value(MOST + i, &v) || v >= was[i] || v - was[i] < UINT64_MAX / 2, "a sum of msm does not decrease");
	for (size_t i = 0; i < nheld; i++)
		must(gpuevent_value((u32)held[i], &v) == (gpus[held[i] / MOST].started && gpuevent_state((u32)held[i]) == CS_COUNTED),
		     "an event has a value if it is counted");
	must((gpuevents_due >= 0) == (gpus[0].counts && !gpus[0].error) || (gpus[1].counts && !gpus[1].error),
	     "the next reading of a counted event is due");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	input = str_of((const char *)data, n);
	nheld = 0;
	memset(gpus, 0, sizeof(gpus));
	for (size_t i = 0; i < LEN(gpus); i++) {
		gpus[i] = (struct gpu){ .driver = &drivers[i], .node = NODE, .stream = -1 };
		if (drivers[i].attach)
			drivers[i].attach(&gpus[i]);
	}
	while (input.p < input.e)
		switch (take_u8(&input)) {
		case 'v': run_find("v3d"); break;
		case 'm': run_find("msm"); break;
		case 's': gpuevents_start(); break;
		case 'l': gpuevents_list((struct str){ 0 }, list_one); break;
		case 'x':
			if (nheld)
				gpuevent_release((u32)held[--nheld]);
			break;
		default: run_read();
		}
	return 0;
}
