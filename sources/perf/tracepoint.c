/* tracepoint.c - what tracefs says of the fields of tracepoints: their format files, also as
 * perf.data has them.
 * SPDX-License-Identifier: MIT */
#include "parse.h"
#include "counters.h"
#include "sources/os/os.h"
#include "sources/perf/perf.h"
#include "sys.h"
#include <errno.h>

enum {
	MAX_TPFIELDS = 65536,     /* 2500 tracepoints have some 20 000 */
	MAX_TPTEXT = 16 << 20,    /* their format files have 5 MB */
	FORMAT_BYTES = 128 << 10, /* the longest format file has 20 KB */
};

/* The tracepoints whose samples have fields. */
static struct {
	char *text;             /* format files, and what perf.data has besides */
	size_t text_n;
	bool short_of; /* memory: text is not complete */
	struct tpfield *fields;
	u32 nfields;
	struct points {
		u32 first, n;      /* in fields */
		size_t at, size;   /* of the format file in text; 0, 0: it was not read */
	} *points; /* by index of events[] */
	struct table text_table, fields_table, points_table;
} tp = {
	.text_table = TABLE_ROW(tp.text, MAX_TPTEXT, 4096, "bytes of tracepoints' formats"),
	.fields_table = TABLE_ROW(tp.fields, MAX_TPFIELDS, 64, "fields of tracepoints"),
	.points_table = TABLE_ROW(tp.points, MAX_EVENTS, 64, "tracepoints with fields"),
};

/* --- tracefs ---------------------------------------------------------------------------------- */

/* Splits the name of a tracepoint as it was given, "SYSTEM:NAME:MODIFIERS". */
static bool point_name(char *given, struct str *sys, struct str *name)
{
	struct str s = str_z(given);

	str_cut(&s, ':', sys);
	return str_cut(&s, ':', name) && str_len(*sys) && str_len(*name);
}

/* Appends a file of tracefs to the text. Returns its length, or -errno. Only an empty read is the
 * end: the kernel returns whole lines, the most that fit into a page, and a format file has a long
 * one. */
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

/* Reads the format files of all tracepoints of events[] that can be opened; before the process is
 * confined. Returns 0, or the first -errno: tracepoints without it have no fields. */
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

/* Returns the fields of a tracepoint, and their number; NULL: none were read. */
const struct tpfield *tracepoint_fields(u32 event, u32 *n)
{
	bool has = event < tp.points_table.ready;

	*n = has ? tp.points[event].n : 0;
	return has ? tp.fields + tp.points[event].first : NULL;
}

/* Returns the field with this name; NULL: the tracepoint has none. */
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

/* The feature HEADER_TRACING_DATA as tools/perf/util/trace-event-info.c of Linux writes it. */

static void data_put(const void *p, size_t n)
{
	tp.short_of |= !table_has(&tp.text_table, tp.text_n + n);
	if (tp.short_of)
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

/* Appends a text with its NUL, and the size and the bytes of a file with this name. */
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
	if (!tp.short_of)
		memcpy(tp.text + at, &size, sizeof(size));
}

/* Returns the system of an event whose format file was read; empty: it was not, or an event before
 * it is the same tracepoint. */
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

/* Appends the number of tracepoints of a system, and their format files. */
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
	if (!tp.short_of)
		memcpy(tp.text + at, &n, sizeof(n));
}

/* Returns whether the event is the first one of its system. */
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
	if (!tp.short_of)
		memcpy(tp.text + at, &n, sizeof(n));
}

/* Returns what a perf.data file says of the tracepoints of tracepoints_read(), with the formats of
 * the kernel's own buffers; before the process is confined. Empty: there are none, or there is no
 * memory. */
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
		data_put32(0); /* symbols: other parts of the file have them */
		data_put32(0); /* formats of trace_printk() */
		data_put64(0); /* names of tasks: the records have them */
	}
	privilege_lower(was);
	return str_of(tp.text + from, tp.short_of ? 0 : tp.text_n - from);
}
