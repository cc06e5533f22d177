/* tracepoint.c - reads the format files of tracepoints in tracefs, which describe the fields of
 * their samples, and makes the section of a perf.data file that contains these format files.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sys.h"
#include <errno.h>

enum {
	/* maximum number of fields; the 2500 tracepoints of a kernel have 20 000 fields together */
	MAX_TPFIELDS = 65536,
	/* maximum bytes of all format files; those of 2500 tracepoints have 5 MB together */
	MAX_TPTEXT = 16 << 20,
	FORMAT_BYTES = 128 << 10, /* maximum bytes of a format file; the longest has 20 KB */
};

/* The tracepoints of events[], with the contents of their format files. */
static struct {
	/* contents of the format files, then the section HEADER_TRACING_DATA of a perf.data file */
	char *text;
	size_t text_n;
	bool truncated;         /* true: there was not enough memory, and `text` is not complete */
	struct tpfield *fields;
	u32 nfields;
	struct points {
		/* index of the tracepoint's first field in `fields`, number of its fields */
		u32 first, n;
		/* format file of the tracepoint: offset in `text`, size in bytes; size 0: the file
		 * was not read */
		size_t at, size;
	} *points; /* one row per tracepoint, with the same index as in events[] */
	struct table text_table, fields_table, points_table;
} tp = {
	.text_table = TABLE_ROW(tp.text, MAX_TPTEXT, 4096, "bytes of tracepoints' formats"),
	.fields_table = TABLE_ROW(tp.fields, MAX_TPFIELDS, 64, "fields of tracepoints"),
	.points_table = TABLE_ROW(tp.points, MAX_EVENTS, 64, "tracepoints with fields"),
};

/* --- tracefs ---------------------------------------------------------------------------------- */

/* Splits the name of a tracepoint as the user wrote it, "SYSTEM:NAME:MODIFIERS", into *sys and
 * *name. False if one of them is empty. */
static bool point_name(char *given, struct str *sys, struct str *name)
{
	struct str s = str_z(given);

	str_cut(&s, ':', sys);
	return str_cut(&s, ':', name) && str_len(*sys) && str_len(*name);
}

/* Appends the contents of a tracefs file to tp.text. Returns their length in bytes, or -errno. Only
 * an empty read marks the end of the file: each read returns only as many whole lines as fit into a
 * page, and a format file has a long line. */
static long text_read(const char *path)
{
	size_t n = 0;
	long fd, r;

	if (!table_has(&tp.text_table, tp.text_n + FORMAT_BYTES))
		return -ENOMEM;
	fd = open_retry(roots.sys, path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return fd;
	do {
		r = sys_pread((int)fd, tp.text + tp.text_n + n, FORMAT_BYTES - n, n);
		n += r > 0 ? (size_t)r : 0;
	} while ((r > 0 || r == -EINTR) && n < FORMAT_BYTES);
	sys_close((int)fd);
	if (r < 0)
		return r;
	if (n == FORMAT_BYTES)
		return -EFBIG;
	tp.text_n += n;
	return (long)n;
}

static void put_format_path(struct buf *b, const char *root, struct str sys, struct str name)
{
	put_z(b, root);
	put_c(b, '/');
	put_str(b, sys);
	put_c(b, '/');
	put_str(b, name);
	put_z(b, "/format");
}

/* Reads the format file of a tracepoint. Returns 0 or -errno. */
static long point_read(u32 event, const char *root)
{
	struct points *p = &tp.points[event];
	char given[256], path[320];
	struct buf b = BUF_Z(path);
	struct str sys, name, text;
	struct tpfield f;
	long r;

	given[text_copy(events[event].name, given, sizeof(given) - 1)] = '\0';
	if (!point_name(given, &sys, &name))
		return -ENOENT;
	put_format_path(&b, root, sys, name);
	*p = (struct points){ .first = tp.nfields, .at = tp.text_n };
	r = text_read(buf_z(&b));
	if (r < 0)
		return r;
	p->size = (size_t)r;
	text = str_of(tp.text + p->at, p->size);
	while (tpfield_next(&text, &f) && table_has(&tp.fields_table, tp.nfields)) {
		tp.fields[tp.nfields++] = f;
		p->n++;
	}
	return 0;
}

/* Reads the format files of all tracepoints of events[] that can be opened. Must be called before
 * the process enters its sandbox. Returns 0, or the -errno of the first file that could not be
 * read, whose tracepoint then has no fields. */
long tracepoints_read(void)
{
	u8 was = privilege_raise(MAY_READ);
	long first = 0, r;
	const char *root = trace_root(&r);

	for (u32 i = 1; i <= nrows.events; i++) {
		if (events[i].type != PT_TRACEPOINT || events[i].denied)
			continue;
		if (!table_has(&tp.points_table, i))
			r = -ENOMEM;
		else if (root)
			r = point_read(i, root);
		first = first ? first : r;
	}
	privilege_lower(was);
	return first;
}

/* Returns the fields of a tracepoint, and stores their number in *n; NULL if its format file was
 * not read. event: index in events[]. */
const struct tpfield *tracepoint_fields(u32 event, u32 *n)
{
	bool has = event < tp.points_table.ready;

	*n = has ? tp.points[event].n : 0;
	return has ? tp.fields + tp.points[event].first : NULL;
}

/* Returns the field with this name; NULL if the tracepoint has no such field. */
const struct tpfield *tracepoint_find(u32 event, const char *name)
{
	u32 n;
	const struct tpfield *f = tracepoint_fields(event, &n);

	for (u32 i = 0; i < n; i++)
		if (str_is(f[i].name, name))
			return &f[i];
	return NULL;
}

/* --- perf.data -------------------------------------------------------------------------------- */

/* The data_*() functions make the section HEADER_TRACING_DATA of a perf.data file, in the format
 * that tools/perf/util/trace-event-info.c of Linux writes. */

static void data_put(const void *p, size_t n)
{
	tp.truncated |= !table_has(&tp.text_table, tp.text_n + n);
	if (tp.truncated)
		return;
	memcpy(tp.text + tp.text_n, p, n);
	tp.text_n += n;
}

static void data_put32(u32 v)
{
	data_put(&v, sizeof(v));
}

static void data_put64(u64 v)
{
	data_put(&v, sizeof(v));
}

/* Appends to tp.text the name of a tracefs file with its NUL, the file's size as a u64, and the
 * file's contents; the size is 0 if the file cannot be read. */
static void data_put_file(const char *root, const char *name)
{
	char path[64];
	struct buf b = BUF_Z(path);
	size_t at;
	u64 size;
	long r;

	put_z(&b, root);
	put_c(&b, '/');
	put_z(&b, name);
	data_put(name, strlen(name) + 1);
	at = tp.text_n;
	data_put64(0);
	r = text_read(buf_z(&b));
	size = r > 0 ? (u64)r : 0;
	if (!tp.truncated)
		memcpy(tp.text + at, &size, sizeof(size));
}

/* Returns the SYSTEM of a tracepoint SYSTEM:NAME, as a view of the buffer given. Empty if the
 * format file of the tracepoint was not read, or if an earlier element of events[] is the same
 * tracepoint. */
static struct str point_system(u32 event, char given[256])
{
	struct str sys, name;

	if (event >= tp.points_table.ready || !tp.points[event].size)
		return (struct str){ 0 };
	for (u32 i = 1; i < event; i++)
		if (tp.points[i].size && events[i].config[0] == events[event].config[0])
			return (struct str){ 0 };
	given[text_copy(events[event].name, given, 255)] = '\0';
	return point_name(given, &sys, &name) ? sys : (struct str){ 0 };
}

/* Appends to tp.text the number of tracepoints of a system and, for each of them, the size of its
 * format file and the format file. */
static void data_put_system(struct str sys)
{
	size_t at = tp.text_n;
	char given[256];
	u32 n = 0;

	data_put32(0);
	for (u32 i = 1; i <= nrows.events; i++) {
		if (!str_eq(point_system(i, given), sys))
			continue;
		data_put64(tp.points[i].size);
		data_put(tp.text + tp.points[i].at, tp.points[i].size);
		n++;
	}
	if (!tp.truncated)
		memcpy(tp.text + at, &n, sizeof(n));
}

/* True if this tracepoint of system sys is the first tracepoint of the system in events[]. */
static bool is_first(u32 event, struct str sys)
{
	char given[256];

	for (u32 i = 1; i < event; i++)
		if (str_eq(point_system(i, given), sys))
			return false;
	return str_len(sys) > 0;
}

static void data_put_systems(void)
{
	size_t at = tp.text_n;
	char given[256];
	u32 n = 0;

	data_put32(0);
	for (u32 i = 1; i <= nrows.events; i++) {
		struct str sys = point_system(i, given);

		if (str_is(sys, "ftrace") || !is_first(i, sys))
			continue;
		data_put(sys.p, str_len(sys));
		data_put("", 1);
		data_put_system(sys);
		n++;
	}
	if (!tp.truncated)
		memcpy(tp.text + at, &n, sizeof(n));
}

/* Returns the section HEADER_TRACING_DATA of a perf.data file: the format files that
 * tracepoints_read() has read, and those of the kernel's trace buffers. Must be called before the
 * process enters its sandbox. Empty if there are no tracepoints, or not enough memory. */
struct str tracepoints_data(void)
{
	const u16 one = 1;
	const u8 machine[2] = { *(const u8 *)&one == 0 /* big endian */, sizeof(long) };
	u8 was = privilege_raise(MAY_READ);
	long r;
	const char *root = trace_root(&r);
	size_t from = tp.text_n;

	if (root && tp.nfields) {
		data_put("\27\10\104tracing0.6", 14);
		data_put(machine, sizeof(machine));
		data_put32((u32)sys_page_size());
		data_put_file(root, "header_page");
		data_put_file(root, "header_event");
		data_put_system(LIT("ftrace"));
		data_put_systems();
		/* 0 bytes of kernel symbols, since other parts of perf.data have them */
		data_put32(0);
		data_put32(0); /* 0 bytes of trace_printk() formats, which are left out */
		data_put64(0); /* 0 bytes of task names, since the perf records have them */
	}
	privilege_lower(was);
	return str_of(tp.text + from, tp.truncated ? 0 : tp.text_n - from);
}
