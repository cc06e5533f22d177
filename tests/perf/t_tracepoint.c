/* t_tracepoint.c - unit test of sources/perf/tracepoint.c: which format files are read, for
 * which names, which are missing, and the description of tracepoints in perf.data files.
 * SPDX-License-Identifier: MIT */
#include "../../sources/perf/tracepoint.c"
#include "folder.h"

#define FORMAT(name) "name: " name "\nID: 7\nformat:\n" \
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n" \
	"\tfield:int " name "_pid;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n"

static const char *root = "kernel/tracing/events";

const char *trace_root(long *r) { *r = root ? 0 : -ENOENT; return root; }

static void add(const char *name, u32 type)
{
	table_has(&events_table, nrows.events + 1);
	events[++nrows.events] = (struct event){ .name = text_put(NONE, str_z(name)), .type = type };
}

static void t_read(void)
{
	u32 n;
	const struct tpfield *f;

	put(in_folder("kernel/tracing/events/sched/one/format"), FORMAT("one"));
	put(in_folder("kernel/tracing/events/sched/two/format"), FORMAT("two"));
	put(in_folder("kernel/tracing/events/sched/none/format"), "");
	add("sched:one", PT_TRACEPOINT);
	add("cycles", 0);
	add("sched:two:k", PT_TRACEPOINT);
	check(tracepoints_read() == 0, "two tracepoints are read");
	f = tracepoint_fields(1, &n);
	check(f && n == 2 && str_is(f[1].name, "one_pid"), "the first tracepoint has its fields");
	f = tracepoint_find(3, "two_pid");
	check(f && f->at == 8,
	      "a field is found by its name; modifiers of the event's name do not matter");
	check(!tracepoint_find(3, "one_pid") && !tracepoint_find(3, "two_pi"),
	      "a field that the tracepoint does not have is not found");
	tracepoint_fields(2, &n);
	check(n == 0, "an event that is not a tracepoint has no fields");
	tracepoint_fields(UINT32_MAX, &n);
	check(n == 0, "a number of no event has no fields");
}

static void t_missing(void)
{
	static const char *const names[] = { "sched:missing", "sched", "sched:", ":one", "" };
	u32 n;

	for (size_t i = 0; i < LEN(names); i++) {
		nrows.events = 0;
		add(names[i], PT_TRACEPOINT);
		add("sched:two", PT_TRACEPOINT);
		check(tracepoints_read() == -ENOENT, "'%s' has no format file", names[i]);
		tracepoint_fields(1, &n);
		check(n == 0 && tracepoint_find(2, "two_pid"),
		      "a tracepoint without a format file has no fields, and the next tracepoint "
		      "has its fields");
	}
	nrows.events = 0;
	add("sched:none", PT_TRACEPOINT);
	check(tracepoints_read() == 0, "an empty format file is not an error");
	tracepoint_fields(1, &n);
	check(n == 0, "a tracepoint with an empty format file has no fields");
	root = NULL;
	check(tracepoints_read() == -ENOENT,
	      "without tracefs, tracepoints_read() fails with ENOENT");
	events[1].denied = true;
	check(tracepoints_read() == 0, "a tracepoint that only root may read is reported when it is opened");
	root = "kernel/tracing/events";
}

/* Reads the parts of the description of tracepoints in a perf.data file, in order. */
static struct str left;

static u64 take(size_t n)
{
	u32 half = 0;
	u64 v = 0;

	if (n > str_len(left))
		return UINT64_MAX;
	memcpy(n == 4 ? (void *)&half : &v, left.p, n);
	left.p += n;
	return n == 4 ? half : v;
}

static struct str take_z(void)
{
	struct str z;

	str_cut(&left, '\0', &z);
	return z;
}

static struct str take_file(void)
{
	u64 n = take(8);
	struct str s = str_of(left.p, n <= str_len(left) ? (size_t)n : 0);

	left.p = s.e;
	return s;
}

static void t_data(void)
{
	nrows.events = 0;
	put(in_folder("kernel/tracing/events/header_page"), "page");
	put(in_folder("kernel/tracing/events/irq/on/format"), FORMAT("on"));
	put(in_folder("kernel/tracing/events/ftrace/function/format"), FORMAT("function"));
	add("sched:one", PT_TRACEPOINT);
	add("irq:on", PT_TRACEPOINT);
	add("cycles", 0);
	add("sched:two", PT_TRACEPOINT);
	add("sched:two:k", PT_TRACEPOINT);
	add("ftrace:function", PT_TRACEPOINT);
	add("sched:missing", PT_TRACEPOINT);
	for (u32 i = 1; i <= nrows.events; i++)
		events[i].config[0] = i == 5 ? 4 : i; /* events 4 and 5 are the same tracepoint */
	check(tracepoints_read() == -ENOENT,
	      "one missing tracepoint: tracepoints_read() fails with ENOENT");
	left = tracepoints_data();
	check_str(str_of(left.p, 10), "\27\10\104tracing",
	          "perf.data: magic number of the description");
	left.p += 10;
	check_str(take_z(), "0.6", "perf.data: version of the description");
	check(left.p[0] == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) && left.p[1] == sizeof(long),
	      "perf.data: byte order and word size of the machine");
	left.p += 2;
	check_u64(take(4), (u64)sysconf(_SC_PAGESIZE), "perf.data: page size");
	check_str(take_z(), "header_page", "perf.data: name of the first header file");
	check_str(take_file(), "page", "perf.data: contents of header_page");
	check_str(take_z(), "header_event", "perf.data: name of the second header file");
	check_str(take_file(), "", "perf.data: a header file that cannot be read is empty");
	check_u64(take(4), 1, "perf.data: number of tracepoints of ftrace");
	check_str(take_file(), FORMAT("function"), "perf.data: format of the tracepoint of ftrace");
	check_u64(take(4), 2, "perf.data: number of other systems");
	check_str(take_z(), "sched", "perf.data: name of the first system");
	check_u64(take(4), 2, "perf.data: a tracepoint that two events have is counted once");
	check_str(take_file(), FORMAT("one"), "perf.data: format of the first tracepoint of sched");
	check_str(take_file(), FORMAT("two"),
	          "perf.data: format of the second tracepoint of sched");
	check_str(take_z(), "irq", "perf.data: name of the second system");
	check_u64(take(4), 1, "perf.data: number of tracepoints of irq");
	check_str(take_file(), FORMAT("on"), "perf.data: format of the tracepoint of irq");
	check(take(4) == 0 && take(4) == 0 && take(8) == 0 && str_len(left) == 0,
	      "perf.data: three empty parts and the end");
	root = NULL;
	check_u64(str_len(tracepoints_data()), 0, "perf.data: no description without tracefs");
	tp.nfields = 0;
	root = "kernel/tracing/events";
	check_u64(str_len(tracepoints_data()), 0,
	          "perf.data: no description if no tracepoint has fields");
	tp.nfields = 1;
	tp.text_table.most = tp.text_table.ready;
	tp.text_n = tp.text_table.ready - 20;
	check_u64(str_len(tracepoints_data()), 0,
	          "perf.data: no description if there is no memory for it");
}

/* The kernel returns a format file in parts that end with a line and are shorter than a page, as it
 * returns the maps of a process. */
static void t_parts(void)
{
	enum { MAPS = 300 };
	static char want[FORMAT_BYTES];
	long page = sysconf(_SC_PAGESIZE), r;
	char *at = mmap(NULL, (size_t)(MAPS * page), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t n = 0, reads = 0;
	int fd;

	for (long i = 0; at != MAP_FAILED && i < MAPS; i += 2)
		mprotect(at + i * page, (size_t)page, PROT_READ | PROT_WRITE);
	if (symlink("/proc/self/maps", in_folder("kernel/tracing/maps")) < 0)
		abort();
	fd = open(in_folder("kernel/tracing/maps"), O_RDONLY | O_CLOEXEC);
	tp.text_n = 0;
	tp.text_table.most = MAX_TPTEXT;
	table_has(&tp.text_table, FORMAT_BYTES);
	r = text_read("kernel/tracing/maps");
	for (long k; (k = pread(fd, want + n, sizeof(want) - n, (off_t)n)) > 0; reads++)
		n += (size_t)k;
	close(fd);
	check(reads > 1 && n > 8192, "a file of the kernel is read in several parts");
	check_u64((u64)r, n, "text_read() reads all parts of a file");
	check(r > 0 && tp.text_n == (size_t)r && memcmp(tp.text, want, n) == 0,
	      "text_read() keeps the order of the parts");
	check(text_read("kernel/tracing") == -EISDIR && tp.text_n == (size_t)r,
	      "text_read() of a folder fails with EISDIR");
}

/* Fills the tables of texts and fields: a tracepoint without room has fewer fields or none, and the
 * table is reported. */
static void t_full(void)
{
	const struct table *full;
	u32 n;

	while (table_full(&n))
		;
	nrows.events = 0;
	add("sched:two", PT_TRACEPOINT);
	table_all(&tp.fields_table);
	tp.text_n = 0;
	tp.nfields = MAX_TPFIELDS - 1;
	check(tracepoints_read() == 0 && tracepoint_fields(1, &n) == &tp.fields[MAX_TPFIELDS - 1] && n == 1 &&
	      tracepoint_find(1, "common_pid") && !tracepoint_find(1, "two_pid"), "full table of fields: those before the limit are right");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "fields of tracepoints") == 0, "full table of fields: its name");
	tp.nfields = 0;
	tp.text_n = MAX_TPTEXT - FORMAT_BYTES;
	check(tracepoints_read() == -ENOMEM && !tracepoint_find(1, "common_pid"), "full table of texts: the tracepoint has no field");
	full = table_full(&n);
	check(full && n == 1 && strcmp(full->name, "bytes of tracepoints' formats") == 0, "full table of texts: its name");
	tp.text_n = 0;
	check(tracepoints_read() == 0 && tracepoint_find(1, "two_pid"),
	      "with room again, the tracepoint has its fields");
}

int main(void)
{
	folder_begin("tracepoint");
	root_set(&roots.sys, tmp_folder);
	t_read();
	t_missing();
	t_data();
	t_parts();
	t_full();
	return unit_end();
}
