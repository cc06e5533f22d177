/* t_tracepoint.c - which format files are read, for which names, what is missing, and the description
 * of tracepoints in perf.data files. SPDX-License-Identifier: MIT */
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
	check(f && n == 2 && str_is(f[1].name, "one_pid"), "the fields of the first one");
	f = tracepoint_find(3, "two_pid");
	check(f && f->at == 8, "a field by its name; the name of the event has modifiers");
	check(!tracepoint_find(3, "one_pid") && !tracepoint_find(3, "two_pi"), "a field that it does not have");
	tracepoint_fields(2, &n);
	check(n == 0, "another event has no fields");
	tracepoint_fields(UINT32_MAX, &n);
	check(n == 0, "nor has a number that is no event's");
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
		check(n == 0 && tracepoint_find(2, "two_pid"), "it has no fields; the next one has");
	}
	nrows.events = 0;
	add("sched:none", PT_TRACEPOINT);
	check(tracepoints_read() == 0, "an empty format file");
	tracepoint_fields(1, &n);
	check(n == 0, "it has no fields");
	root = NULL;
	check(tracepoints_read() == -ENOENT, "no tracefs");
	events[1].denied = true;
	check(tracepoints_read() == 0, "a tracepoint that only root may read is reported when it is opened");
	root = "kernel/tracing/events";
}

/* Reads parts of what a perf.data file says of tracepoints, in order. */
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
		events[i].config[0] = i == 5 ? 4 : i; /* two of them are one tracepoint */
	check(tracepoints_read() == -ENOENT, "one of the tracepoints is missing");
	left = tracepoints_data();
	check_str(str_of(left.p, 10), "\27\10\104tracing", "its magic number");
	left.p += 10;
	check_str(take_z(), "0.6", "the version");
	check(left.p[0] == (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__) && left.p[1] == sizeof(long), "the machine");
	left.p += 2;
	check_u64(take(4), (u64)sysconf(_SC_PAGESIZE), "the size of a page");
	check_str(take_z(), "header_page", "the first file");
	check_str(take_file(), "page", "its bytes");
	check_str(take_z(), "header_event", "the second one");
	check_str(take_file(), "", "it cannot be read");
	check_u64(take(4), 1, "a tracepoint of ftrace");
	check_str(take_file(), FORMAT("function"), "its format");
	check_u64(take(4), 2, "two other systems");
	check_str(take_z(), "sched", "the first one");
	check_u64(take(4), 2, "it has two tracepoints: one that was given twice is there once");
	check_str(take_file(), FORMAT("one"), "the format of the first one");
	check_str(take_file(), FORMAT("two"), "and of the second one");
	check_str(take_z(), "irq", "the second system");
	check_u64(take(4), 1, "it has one tracepoint");
	check_str(take_file(), FORMAT("on"), "its format");
	check(take(4) == 0 && take(4) == 0 && take(8) == 0 && str_len(left) == 0, "three empty parts, and the end");
	root = NULL;
	check_u64(str_len(tracepoints_data()), 0, "nothing without tracefs");
	tp.nfields = 0;
	root = "kernel/tracing/events";
	check_u64(str_len(tracepoints_data()), 0, "nothing if no tracepoint has fields");
	tp.nfields = 1;
	tp.text_table.most = tp.text_table.ready;
	tp.text_n = tp.text_table.ready - 20;
	check_u64(str_len(tracepoints_data()), 0, "nothing if there is no memory for it");
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
	check(reads > 1 && n > 8192, "a file in several parts");
	check_u64((u64)r, n, "all parts are read");
	check(r > 0 && tp.text_n == (size_t)r && memcmp(tp.text, want, n) == 0, "in order");
	check(text_read("kernel/tracing") == -EISDIR && tp.text_n == (size_t)r, "a folder has no text");
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
	check(tracepoints_read() == 0 && tracepoint_find(1, "two_pid"), "with room again it has its fields");
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
