/* t_output.c - unit test of commands/shared/output.c: when output is written, records without room, the
 * zone of local time, and the exit code of a run. The destination is simulated.
 * SPDX-License-Identifier: MIT */
#include "sys.h"
#include "unit.h"
#define replay replay_command /* unit.h has a function of this name, too */
#include "../../commands/shared/output.c"
#include "said.h"

static const struct cmd live = { .with = WITH_LIVE };
struct opts opt = { .cmd = &live };
static long write_result;
static size_t nwritten, writes;
static bool end_works = true, wrong;
static u32 ends, fields_said;

long sink_write(const char *p, size_t n)
{
	writes++;
	nwritten += p == out.p ? n : 0;
	return write_result;
}

bool sink_end(void) { ends++; return end_works; }
bool fields_say(void)
{
	fields_said++;
	return wrong;
}
bool is_check(void) { return false; }

/* --- writing ---------------------------------------------------------------------------------- */

static void t_flush(void)
{
	put_z(&out, "x");
	check(!flush() && lost_record && is_said("not enough memory for the output\n"),
	      "start: without memory for the buffer it fails");
	lost_record = false;
	output_begin();
	check(out.cap == OUT_BYTES && out.n == 0, "start: with memory for the buffer it succeeds");
	put_z(&out, "abc");
	check(flush() && nwritten == 3 && out.n == 0, "flush: all bytes are written");
	put_z(&out, "abc");
	write_result = -ENOSPC;
	check(!flush() && is_said("cannot write to standard output: ") && out.n == 3,
	      "flush: an error keeps the bytes in the buffer");
	out_fd = 2;
	check(!flush() && is_said("cannot write to standard error: "),
	      "flush: an error of standard error has a message");
	opt.http = true;
	check(!flush() && is_said("cannot write to the socket: "),
	      "flush: an error of a connection has a message");
	opt.output = "file";
	check(!flush() && is_said("file: "),
	      "flush: an error of a file has its name in the message");
	opt.output = NULL;
	opt.http = false;
	out_fd = 1;
	write_result = 0;
	out.full = true;
	writes = 0;
	check(flush() && out.n == 0 && !out.full && writes == 0 && lost_record &&
	      is_said("a record was left out: it is larger than the output buffer\n"),
	      "a record without room is counted as lost");
	lost_record = false;
}

static void t_records(void)
{
	writes = 0;
	put_z(&out, "a");
	check(flush_record() && writes == 0,
	      "a record is kept in the buffer for those that follow");
	out.n = OUT_BYTES / 2;
	check(flush_record() && writes == 0,
	      "half of the buffer is kept for the records that follow");
	out.n = OUT_BYTES / 2 + 1;
	check(flush_record() && writes == 1 && out.n == 0,
	      "more than half of the buffer is written");
}

/* A record that does not fit does not remove the records before it. */
static void t_append(void)
{
	u32 device = device_add();
	struct recopts ro = { .dt_us = -1, .time_us = -1 };
	struct buf whole = out;
	size_t n;

	opt.out.fmt = format_find((struct str)STR("json"));
	opt.out.kind = K_DEVICE;
	record_make(&rec, &devices[device].e, &ro);
	writes = nwritten = 0;
	check(append_record() && writes == 0 && out.n > 0, "a record that fits is appended");
	n = out.n;
	out.cap = n + n / 2;
	check(append_record() && writes == 1 && nwritten == n && out.n == n && !lost_record,
	      "the records before one that does not fit are written first");
	out.cap = n - 1;
	out.n = 0;
	check(append_record() && writes == 1 && out.n == 0 && lost_record &&
	      is_said("a record was left out: it is larger than the output buffer\n"),
	      "a record that never fits is counted as lost");
	lost_record = opt.out.headed = false;
	opt.out.fmt = format_find((struct str)STR("csv"));
	out.cap = 80; /* room for the header only */
	check(append_record() && lost_record && !opt.out.headed,
	      "the header of a lost record is removed with it");
	out.cap = whole.cap;
	check(append_record() && opt.out.headed && str_find(str_of(out.p, out.n), LIT("time,dt,kind")),
	      "the header of a lost record is written before the next record");
	lost_record = opt.out.headed = false;
	out = whole;
	out.n = 0;
}

/* --- time ------------------------------------------------------------------------------------- */

static void t_zone(void)
{
	static const struct {
		const char *tz;
		i32 east;
	} rows[] = {
		{ "", 0 }, { "UTC0", 0 }, { "XYZ5", -5 * 3600 }, { "XYZ-5:30", 19800 },
		{ "<+0545>-5:45", 20700 }, { ":XYZ5", -5 * 3600 }, { "/nonexistent/zone", 0 },
	};

	for (size_t i = 0; i < LEN(rows); i++) {
		setenv("TZ", rows[i].tz, 1);
		check(local_offset(1700000000) == rows[i].east,
		      "local time: TZ=%s is %d s east of UTC", rows[i].tz,
		      (int)rows[i].east);
	}
}

static void t_time(void)
{
	i64 before = sys_now(CLOCK_REALTIME) / 1000, t;

	opt.out.time = T_NONE;
	check(sample_time() == -1, "time of a record: none with -t none");
	opt.out.time = T_EPOCH;
	t = sample_time();
	check(t >= before && t - before < INT64_C(3600000000),
	      "time of a record: the time of day in us");
	opt.out.time = T_MONO;
	before = sys_now(CLOCK_MONOTONIC) / 1000;
	t = sample_time();
	check(t >= before && t - before < INT64_C(3600000000),
	      "time of a record: the time since the start in us");
	setenv("TZ", "XYZ-1", 1);
	opt.out.fmt = format_find(LIT("line"));
	update_offset();
	check(opt.out.offset == 0 && opt.out.now > 0,
	      "local time is used only for the default of -t");
	opt.out.time = T_DEFAULT;
	opt.out.once = true;
	update_offset();
	check(opt.out.offset == 0, "local time is not used for a single sample");
	opt.out.once = false;
	update_offset();
	check(opt.out.offset == 3600, "local time is used for several samples");
}

/* --- ends ------------------------------------------------------------------------------------- */

static void t_ends(void)
{
	opt.out.fmt = format_find(LIT("line"));
	ends = 0;
	put_z(&out, "a");
	check(finish() == EX_OK && ends == 0, "a part of a sample is written");
	check(finish_sample() == EX_OK && ends == 1 && fields_said == 1,
	      "the end of a sample is written");
	end_works = false;
	check(finish_sample() == EX_FAIL, "exit code after the destination failed");
	end_works = true;
	write_result = -EIO;
	put_z(&out, "a");
	check(finish() == EX_FAIL && finish_sample() == EX_FAIL, "exit code after a write failed");
	said.n = 0;
	write_result = 0;
	check(finish_run(EX_OK) == EX_OK && finish_run(EX_USAGE) == EX_USAGE && ends == 2,
	      "the end of a run keeps the exit code of the run");
	wrong = true;
	check(finish_run(EX_OK) == EX_FAIL && finish_run(EX_NODEVICE) == EX_NODEVICE,
	      "a field that no record has");
	wrong = false;
	opt.out.fmt = format_find(LIT("svg"));
	ends = 0;
	check(finish_sample() == EX_OK && ends == 0, "a picture ends with the run");
	check(finish_run(EX_USAGE) == EX_USAGE && ends == 0, "there is none if the run had no sample");
	opt.out.headed = true;
	check(finish_run(EX_NODEVICE) == EX_NODEVICE && ends == 1, "there is one if it had");
	end_works = false;
	check(finish_run(EX_OK) == EX_FAIL && finish_run(EX_NODEVICE) == EX_NODEVICE,
	      "the first error counts");
}

int main(void)
{
	t_flush();
	t_records();
	t_append();
	t_zone();
	t_time();
	t_ends();
	return unit_end();
}
