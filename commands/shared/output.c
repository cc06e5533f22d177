/* output.c - writes whole records; the clock of records; the end of a sample and of a run.
 * SPDX-License-Identifier: MIT */
#include "built.h"
#include "commands/shared/shared.h"
#include "sources/os/os.h"
#include "sys.h"

#include <limits.h>
#include <stdlib.h>

/* Functions of optional features: NULL if the feature is left out; they are not called then. */
#pragma weak fields_say

struct record rec;
struct buf out;
static TABLE(char, out_bytes, OUT_BYTES, 64 << 10, "bytes of output");
int out_fd = 1;
bool lost_record;

void output_begin(void)
{
	out = table_buf(&out_bytes.t);
}

/* Writes all output that is in the buffer `out`, with one write(2) if the kernel accepts all of it.
 * Returns false on errors, with a message. */
bool flush(void)
{
	long r;

	if (out.full) {
		say_z(out.cap ? "a record was left out: it is larger than the output buffer" :
		      "not enough memory for the output");
		registry.dropped++;
		lost_record = true;
		out.n = 0;
		out.full = false;
		return out.cap > 0;
	}
	r = sink_write(out.p, out.n);
	if (r < 0)
		say_error(opt.output ? opt.output : opt.http ? "cannot write to the socket" :
			  out_fd == 2 ? "cannot write to standard error" :
			  "cannot write to standard output", r);
	else
		out.n = 0;
	return r >= 0;
}

/* Called after each record: writes the output if the buffer is more than half full. Otherwise the
 * record stays in the buffer, so that all records of a sample are written together. Returns false
 * on errors. */
bool flush_record(void)
{
	return out.n <= OUT_BYTES / 2 || flush();
}

/* Appends the record `rec` to the output. If it does not fit into the buffer, writes the records
 * before it first. Returns false on errors. */
bool append_record(void)
{
	const bool headed = opt.out.headed;
	const size_t from = out.n;

	out_record(&opt.out, &out, &rec);
	if (!out.full)
		return flush_record();
	/* The incomplete record, and the header that out_record() wrote before it, are removed from
	 * `out`; both are written again. */
	opt.out.headed = headed;
	out.full = from == 0;
	out.n = from;
	return flush() && (from == 0 || append_record());
}

/* Makes the record of an entity in `rec`, and chooses the columns for its fields unless the header
 * is already written. */
void measure_record(const struct entity *e, const struct recopts *ro)
{
	record_make(&rec, e, ro);
	if (out_measures(&opt.out))
		out_measure(&opt.out, &rec);
}

/* Appends the record of an entity to the output. Returns false if the output could not be
 * written. */
bool show_record(const struct entity *e, const struct recopts *ro)
{
	measure_record(e, ro);
	return append_record();
}

/* --- clock ------------------------------------------------------------------------------------ */

i64 sample_time(void)
{
	if (opt.out.time == T_NONE)
		return -1;
	return sys_now(opt.out.time == T_MONO ? CLOCK_MONOTONIC : CLOCK_REALTIME) / 1000;
}

/* Returns the offset of local time from UTC at the time `now` (seconds since 1970), in seconds;
 * east is positive. The time zone is $TZ, else that of the machine. Used by the formats line and
 * table. */
static i32 local_offset(i64 now)
{
	static char b[64 << 10];
	const char *tz = getenv("TZ");
	char path[PATH_MAX] = "/etc/localtime";
	struct buf p = BUF_Z(path);
	i32 offset;
	long n;

	if (tz && tz[0] == ':')
		tz++;
	if (tz) {
		if (tz[0] != '/')
			put_z(&p, "/usr/share/zoneinfo/");
		put_z(&p, tz);
		path[p.n] = '\0';
	}
	n = tz && !tz[0] ? 0 : file_slurp(path, b, sizeof(b));
	if (parse_tzif((struct str){ b, b + (n > 0 ? n : 0) }, now, &offset))
		return offset;
	return tz ? parse_tz(str_z(tz), now) : 0;
}

/* Stores the current time for the output, and the offset of local time from UTC if it is shown.
 * Called before each sample. The offset is computed only once in 15 minutes: time zones change it
 * only at a multiple of 15 minutes. */
void update_offset(void)
{
	static i64 quarter = -1;
	i64 now;

	opt.out.now = sys_now(CLOCK_REALTIME);
	if (HAS(timeline) && format_is_monotonic(opt.out.fmt)) {
		opt.out.monotonic = sys_now(CLOCK_MONOTONIC);
		opt.out.boottime = sys_now(CLOCK_BOOTTIME);
	}
	now = opt.out.now / 1000000000;
	if (opt.out.time != T_DEFAULT || opt.out.once || now / 900 == quarter)
		return;
	quarter = now / 900;
	opt.out.offset = local_offset(now);
}

/* --- functions that end a sample or the run --------------------------------------------------- */

int finish(void)
{
	return flush() ? EX_OK : EX_FAIL;
}

/* Stores the CPU time that gpustat itself has used; also its memory, if /proc/self/statm exists,
 * which requires a /proc of the same PID namespace. */
static void measure_self(void)
{
	char text[64];
	struct str line, word;
	u64 pages;

	opt.out.self_ns = (u64)sys_now(CLOCK_PROCESS_CPUTIME_ID);
	opt.out.self_bytes = 0;
	if (slurp_line(roots.proc, "self/statm", text, sizeof(text), &line) &&
	    str_word(&line, &word) && str_word(&line, &word) &&
	    scan_u64(word, &pages) == word.e)
		opt.out.self_bytes = pages * sys_page_size();
}

/* Appends the end that the format requires, and writes the output to its destination. Returns the
 * exit code. */
static int finish_all(void)
{
	if (format_is_document(opt.out.fmt))
		measure_self();
	while (out_end(&opt.out, &out))
		if (!flush())
			return EX_FAIL;
	return flush() && sink_end() ? EX_OK : EX_FAIL;
}

/* Ends a sample: writes its output, unless the format needs the whole run first. Returns the exit
 * code. */
int finish_sample(void)
{
	if (fields_say)
		fields_say();
	return format_covers_run(opt.out.fmt) ? EX_OK : finish_all();
}

/* Ends the run. Formats that show a whole run are written now. code: the exit code so far. Returns
 * the exit code. */
int finish_run(int code)
{
	int r = EX_OK;

	if (format_covers_run(opt.out.fmt) && (opt.out.headed || code == EX_OK))
		r = finish_all();
	if (fields_say && r == EX_OK && !is_check() && fields_say())
		r = EX_FAIL;
	return code == EX_OK ? r : code;
}
