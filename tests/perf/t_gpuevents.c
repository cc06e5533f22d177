/* t_gpuevents.c - unit test of sources/perf/gpuevents.c: events of v3d and msm: names, opening,
 * values, gaps in a stream, and each error of each request. SPDX-License-Identifier: MIT */
#include "fakegpus.h"

#define syscall fake_syscall
#define openat fake_openat
#define read fake_read
#define close fake_close
#include "../../sources/perf/gpuevents.c"
#undef syscall
#undef openat
#undef read
#undef close
#include "folder.h"

static u32 allowed; /* request of sandbox_ioctl() */

bool sandbox_ioctl(i32 fd, u32 request)
{
	allowed = fd == V3D_FD ? request : 0;
	return true;
}

/* Resets all state, as at the start of the program. */
static void begin(void)
{
	memset(gpus, 0, sizeof(gpus));
	memset(&fake, 0, sizeof(fake));
	fake.piece = SIZE_MAX;
	fake.chip = 0x43050a01; /* Adreno 740 */
	gpuevents_due = -1;
}

static long find(const char *source, const char *name)
{
	struct str unit;

	return gpuevent_find(str_z(source), str_z(name), &unit);
}

static u64 value(long number)
{
	u64 v = 0;

	return gpuevent_value((u32)number, &v) ? v : UINT64_MAX;
}

static void test_v3d(void)
{
	struct str unit;
	long bytes, cycles;

	begin();
	bytes = gpuevent_find(S("v3d"), S("AXI-read-bytes-seen-watch-0"), &unit);
	check(bytes >= 0 && str_is(unit, "bytes"), "v3d: an event in bytes");
	cycles = gpuevent_find(S("v3d"), S("cycle-count"), &unit);
	check(cycles > bytes && !str_len(unit), "v3d: an event without a unit");
	check(find("v3d", "cycle-count") == cycles,
	      "v3d: an event that is requested twice is one event");
	check(find("v3d", "cycle-coun") < 0 && find("v3d", "") < 0 && find("v3d", "0") < 0 && find("vc4", "cycle-count") < 0,
	      "v3d: other names are not events");
	check(value(cycles) == UINT64_MAX && fake.globals == 0, "v3d: nothing counts before the start");
	gpuevents_start();
	check(fake.globals == 1 && fake.perfmon_n == 2 && fake.counters[0] == 4 && fake.counters[1] == 0,
	      "v3d: the monitor has the events in the order of the requests");
	check(gpuevent_state((u32)cycles) == CS_COUNTED && gpuevents_due >= 0,
	      "v3d: the monitor counts after the start, and its next reading is due");
	check((allowed & 0xffff) == 0x644a, "v3d: reading the values is permitted in a sandbox");
	fake.values[0] = 5000000000;
	fake.values[1] = 77;
	gpuevents_read();
	check_u64(value(bytes), 5000000000, "v3d: a count of bytes");
	check_u64(value(cycles), 77, "v3d: a count of cycles");
	gpuevents_start();
	gpuevents_read();
	check(value(cycles) == 77, "v3d: a monitor starts once");
	fake.fails = 0x644a;
	fake.error = ENODEV;
	gpuevents_read();
	check(value(cycles) == UINT64_MAX && gpuevents_due == -1,
	      "v3d: values of a device that was removed are unknown");
}

/* Users of events are added and removed, as those of the catalogue. */
static void test_users(void)
{
	long a, b, c;

	begin();
	a = find("v3d", "cycle-count");
	gpuevents_start();
	fake.values[0] = 10;
	gpuevents_read();
	b = find("v3d", "PTB-primitives-binned");
	gpuevents_start();
	check(fake.perfmon_n == 2 && fake.globals == 1 && value(a) == 10 && value(b) == 0,
	      "v3d: another event makes a new monitor, and the earlier counts are kept");
	fake.values[0] = 5;
	fake.values[1] = 6;
	gpuevents_read();
	check(value(a) == 15 && value(b) == 6, "v3d: both events count with the new monitor");
	check(find("v3d", "cycle-count") == a,
	      "v3d: a second user of an event has the same values");
	gpuevent_release((u32)a);
	gpuevent_release((u32)a);
	c = find("v3d", "CLE-bin-thread-active-cycles");
	gpuevents_start();
	check(c == a && fake.perfmon_n == 2 && fake.counters[0] == 1 && gpuevents_due >= 0,
	      "v3d: the place of an event without users is used again");
	check(value(c) == 0 && value(b) == 6, "v3d: an event in a reused place counts from 0");
	gpuevent_release((u32)b);
	gpuevent_release((u32)c);
	check(fake.globals == 0 && gpuevents_due == -1,
	      "v3d: without users no monitor exists, so that other programs can use the GPU's "
	      "counters");
	a = find("msm", "SP:1");
	gpuevents_start();
	check(fake.streams == 1, "msm: a stream is open");
	gpuevent_release((u32)a);
	check(fake.streams == 0, "msm: the stream is closed");
}

static void test_names(void)
{
	u32 n = 0;

	begin();
	for (u32 i = 0; i < MOST; i++) {
		char name[8];

		snprintf(name, sizeof(name), "SP:%u", i);
		n += find("msm", name) >= 0;
	}
	check(n == MOST && find("msm", "SP:32") < 0 && find("msm", "sp:31") >= 0,
	      "msm: a group has at most 32 events; a block may be written in lower case");
	begin();
	check(find("msm", "sp:busy") >= 0 && find("msm", "SP:BUSY") < 0 && find("msm", "sp:nosuch") < 0 && find("msm", "sp:") < 0 &&
	      find("msm", ":1") < 0 && find("msm", "1") < 0 && find("msm", "sp:4294967296") < 0 && find("msm", "sp:1x") < 0 &&
	      find("msm", "0123456789abcdef:1") < 0 && find("msm", "0123456789abcde:1") >= 0,
	      "msm: names of events");
	check(find("msm", "uche:write-beats-ch0") >= 0, "msm: an event of a7xx");
	begin();
	fake.chip = 0x06030001; /* Adreno 630 */
	check(find("msm", "ccu:busy") >= 0 && strcmp(gpus[1].group[0], "CCU") == 0,
	      "msm: events of the block CCU");
	gpuevent_release(MOST);
	check(find("msm", "uche:write-beats-ch0") < 0 && find("msm", "pc:primitives") >= 0 && gpus[1].select[0] == 22,
	      "msm: a6xx has other events");
	begin();
	fake.chip = 0x44050001; /* Adreno 830 */
	check(find("msm", "sp:busy") < 0 && find("msm", "sp:0") >= 0, "msm: an unknown generation has events by number only");
	check(chip_generation(0x07000200) == A6XX && chip_generation(0x07030001) == A7XX && chip_generation(0x05030002) == 0,
	      "msm: generations by the chip's id");
}

/* Each event with its select values of a6xx and a7xx, in the order of the program: a6xx_perfcntrs.xml
 * and a7xx_perfcntrs.xml of the kernel. */
static void test_selects(void)
{
	static const char want[] =
		"ccu:busy 0 0 cp:always 0 0 cp:busy 2 2 hlsq:busy 0 0 lrz:busy 0 0 lrz:prim-killed 12 12 "
		"pc:busy 0 0 pc:vertices 21 20 pc:primitives 22 21 pc:drawcalls-3d 30 28 ras:busy 0 0 "
		"rb:busy 0 0 rb:pixels-3d 29 29 sp:busy 0 0 sp:alu 1 1 sp:efu 2 2 sp:stall-vpc 3 3 "
		"sp:stall-tp 4 4 sp:stall-uche 5 5 sp:stall-rb 6 6 sp:vs-instructions 43 43 "
		"sp:fs-instructions 44 44 sp:cs-instructions 56 56 tp:busy 0 0 tp:stall-uche 1 1 "
		"tp:l1-requests 6 6 tp:l1-misses 7 7 tp:pixels 10 10 tse:busy 0 0 tse:input-prim 6 6 "
		"tse:culled 11 11 uche:busy 0 0 uche:read-beats-ch0 27 27 uche:read-beats-ch1 28 28 "
		"uche:write-beats-ch0 - 52 uche:write-beats-ch1 - 53 uche:evicts 18 18 vfd:busy 0 0 "
		"vfd:vertices 17 17 vpc:busy 0 0 vsc:busy 0 0 ";
	char got[sizeof(want) + 200];
	struct buf b = BUF(got);

	for (size_t i = 0; i < LEN(countables); i++) {
		put_z(&b, countables[i].name);
		for (size_t k = 0; k < 2; k++) {
			put_c(&b, ' ');
			if (countables[i].select[k] == ABSENT)
				put_c(&b, '-');
			else
				put_u64(&b, countables[i].select[k]);
		}
		put_c(&b, ' ');
	}
	check_str(str_of(b.p, b.n), want, "msm: the select values of each event");
}

static u32 shown;
static char first[64], last[64];

static void list_one(struct str event, struct str unit, struct str what)
{
	(void)unit;
	str_copy(shown++ ? last : first, sizeof(last), event);
	check(str_len(what), "%.*s has a description", (int)str_len(event), event.p);
}

static void test_list(void)
{
	begin();
	fake.chip = 0x06030001;
	shown = 0;
	gpuevents_list((struct str){ 0 }, list_one);
	check(shown == V3D_NAMES + LEN(countables) - 2,
	      "gpuevents list: all events of both drivers");
	check(strcmp(first, "v3d/cycle-count/") == 0 && strcmp(last, "msm/vsc:busy/") == 0,
	      "gpuevents list: names are complete events: %s %s",
	      first, last);
	gpuevents_list(S("v3d"), list_one);
	check(shown == 2 * V3D_NAMES + LEN(countables) - 2,
	      "gpuevents list: only the events of one device");
	shown -= V3D_NAMES;
	begin();
	roots.sys_given = true;
	gpuevents_list((struct str){ 0 }, list_one);
	check(find("v3d", "cycle-count") < 0 && shown == V3D_NAMES + LEN(countables) - 2,
	      "gpuevents list: no events with --sys, because the nodes of /dev are those of this "
	      "machine");
	roots.sys_given = false;
}

/* Appends a record to the stream: seqno, then the values of n counters. */
static void record(u32 seqno, u64 a, u64 b, u64 c)
{
	const u64 v[] = { 123, seqno, a, b, c };

	memcpy(fake.bytes + fake.nbytes, v, sizeof(v));
	fake.nbytes += sizeof(v);
}

static void test_stream(void)
{
	long alu, tp, busy;

	begin();
	alu = find("msm", "sp:alu");
	tp = find("msm", "TP:9");
	busy = find("msm", "sp:busy");
	gpuevents_start();
	check(fake.streams == 1 && fake.ngroups == 2 && strcmp(fake.group[0], "SP") == 0 && strcmp(fake.group[1], "TP") == 0 &&
	      fake.nselects == 3 && fake.selects[0] == 1 && fake.selects[1] == 0 && fake.selects[2] == 9,
	      "msm: one group for each block");
	check(fake.period == 10000000 && gpuevent_state((u32)tp) == CS_COUNTED,
	      "msm: a record is due each 10 ms");
	gpuevents_read();
	check(value(alu) == 0 && value(tp) == 0,
	      "msm: a GPU that is powered off has counted nothing");
	record(0, 1000, 2000, 3000);
	gpuevents_read();
	check(value(alu) == 0 && value(busy) == 0, "msm: the first record is the baseline");
	record(1, 1001, 2002, 3003);
	record(2, 1002, 2004, 3006);
	gpuevents_read();
	check(value(alu) == 2 && value(busy) == 4 && value(tp) == 6,
	      "msm: each count is the difference of its own counter");
	record(0, 5, 6, 7);
	record(1, 6, 6, 7);
	gpuevents_read();
	check(value(alu) == 3 && value(busy) == 4 && value(tp) == 6,
	      "msm: counts do not include the time of a gap");
	record(0, 1000000, 1000000, 1000000);
	record(2, 2000000, 2000000, 2000000);
	record(3, 2000001, 2000000, 1999999);
	gpuevents_read();
	check(value(alu) == 4 && value(busy) == 4 && value(tp) == 6,
	      "msm: counts do not include a missing record or a counter that went backwards");
}

/* Pieces of each size have the same sums as whole records. */
static void test_pieces(void)
{
	u32 bad = 0;

	for (size_t piece = 1; piece <= 81; piece++) {
		long a, b, c;

		begin();
		fake.piece = piece;
		a = find("msm", "SP:1");
		b = find("msm", "SP:2");
		c = find("msm", "SP:3");
		gpuevents_start();
		for (u32 i = 0; i < 60; i++)
			record(i, i, 2 * i, 1000);
		for (u32 i = 0; i < 100; i++)
			gpuevents_read();
		bad += value(a) != 59 || value(b) != 118 || value(c) != 0;
	}
	check_u64(bad, 0, "msm: records in pieces of any size have the right counts");
	begin();
	find("msm", "SP:1");
	gpuevents_start();
	fake.read_error = EINTR;
	gpuevents_read();
	check(value(MOST) == 0, "msm: an interrupted read is not an error");
	fake.read_error = EIO;
	gpuevents_read();
	check(value(MOST) == UINT64_MAX && gpuevent_state(MOST) == CS_UNREADABLE,
	      "msm: a stream that fails has no value");
}

static void test_errors(void)
{
	static const struct {
		const char *source, *name;
		unsigned long request;
		int error;
		u8 state;
	} rows[] = {
		{ "v3d", "cycle-count", 0, EACCES, CS_GPU_NODE },
		{ "v3d", "cycle-count", 0, EPERM, CS_GPU_NODE },
		{ "msm", "SP:0", 0, EACCES, CS_GPU_NODE },
		{ "v3d", "cycle-count", 0x6448, ENOMEM, CS_NO_MEMORY },
		{ "v3d", "cycle-count", 0x6448, EINVAL, CS_GPU_REFUSED },
		{ "v3d", "cycle-count", 0x644d, EBUSY, CS_GPU_BUSY },
		{ "v3d", "cycle-count", 0x644d, ENOTTY, CS_GPU_OLD },
		{ "v3d", "cycle-count", 0x644d, EINVAL, CS_GPU_OLD },
		{ "v3d", "cycle-count", 0x644d, EACCES, CS_GPU_DENIED },
		{ "v3d", "cycle-count", 0x644d, EIO, CS_UNREADABLE },
		{ "v3d", "cycle-count", 0x644d, EAGAIN, CS_UNREADABLE },
		{ "v3d", "any-name", 0x644c, EINVAL, CS_GPU_OLD },
		{ "v3d", "any-name", 0x644c, ENOTTY, CS_GPU_OLD },
		{ "v3d", "any-name", 0x644c, EOPNOTSUPP, CS_UNREADABLE },
		{ "msm", "SP:0", 0x644e, EPERM, CS_GPU_DENIED },
		{ "msm", "SP:0", 0x644e, E2BIG, CS_GPU_FULL },
		{ "msm", "SP:0", 0x644e, EBUSY, CS_GPU_BUSY },
		{ "msm", "SP:0", 0x644e, ENXIO, CS_GPU_REFUSED },
		{ "msm", "SP:0", 0x644e, EINVAL, CS_GPU_OLD },
		{ "msm", "SP:0", 0x644e, EMFILE, CS_NO_FILES },
		{ "msm", "SP:0", F_SETFL, EPERM, CS_GPU_DENIED },
		{ "msm", "NOSUCH:0", 0, 0, CS_GPU_REFUSED },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		long n;
		u8 state;

		begin();
		fake.fails = rows[i].request;
		fake.error = rows[i].error;
		n = find(rows[i].source, rows[i].name);
		gpuevents_start();
		gpuevents_read();
		state = n < 0 ? CS_STATES : gpuevent_state((u32)n);
		check(state == rows[i].state && value(n) == UINT64_MAX && gpuevents_due == -1 && !fake.streams, "%s, request %lx, error of row %zu: %s",
		      rows[i].source, rows[i].request, i, state < CS_STATES ? state_text(state) : "no event");
	}
	begin();
	fake.error = ENODEV;
	fake.fails = 0x6400;
	check(find("v3d", "cycle-count") < 0 || sizeof(void *) != 8,
	      "a node whose driver is unknown is not used");
}

int main(void)
{
	folder_begin("gpuevents");
	shell("mkdir -p $D/class/drm/renderD128/device $D/class/drm/renderD129/device $D/class/drm/renderD130 &&"
	      "ln -s ../../../bus/platform/drivers/v3d $D/class/drm/renderD128/device/driver &&"
	      "ln -s ../../../bus/platform/drivers/msm_dpu $D/class/drm/renderD129/device/driver");
	roots.sys = open(tmp_folder, O_RDONLY | O_DIRECTORY);
	test_v3d();
	test_users();
	test_names();
	test_selects();
	test_list();
	test_stream();
	test_pieces();
	test_errors();
	shell("rm -rf $D");
	return unit_end();
}
