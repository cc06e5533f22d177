/* fuzz_fdinfo.c - any bytes as the kernel's fdinfo: parsed, counted, put into records and written
 * in every format. An input whose first byte is below 16 goes to the other parsers of parse.c.
 * SPDX-License-Identifier: MIT */
#include "../../counters.c" /* each input starts with an empty table of names */
#include "fuzz.h"

/* --- an fdinfo file --------------------------------------------------------------------------- */

static const char *const formats[] = { "json", "csv", "logfmt", "line", "table" };
enum { OUT_CAP = EDGE_BYTES / 2 };

static struct record rec;
static struct client dump = { .e = { .used = true, .kind = K_FDINFO } };

static void show_in(const struct record *r, const char *format, u8 kind, size_t cap)
{
	struct out o = { .fmt = format_find(str_z(format)), .kind = kind, .width = 80 };
	struct buf b = { .p = edge_page(cap), .cap = cap };
	struct str s;

	if (out_measures(&o))
		out_measure(&o, r);
	out_record(&o, &b, r);
	out_end(&o, &b);
	must(b.n <= b.cap, "output stays within the buffer");
	if (b.full) {
		must(cap != OUT_CAP, "half a MiB holds any record");
		return;
	}
	s = (struct str){ b.p, b.p + b.n };
	must(b.n && b.p[b.n - 1] == '\n', "records are complete lines");
	must(is_clean(s, true), "no control bytes, only valid UTF-8");
	must(strcmp(format, "json") != 0 || json_ok(s, NULL), "well-formed JSON");
}

static void show_entity(const struct entity *e, const struct recopts *ro, size_t small)
{
	record_make(&rec, e, ro);
	must(rec.n <= MAX_FIELDS && rec.text_n <= REC_TEXT, "a record stays within its bounds");
	for (size_t i = 0; i < LEN(formats); i++) {
		show_in(&rec, formats[i], rec.kind, OUT_CAP);
		show_in(&rec, formats[i], rec.kind, small);
	}
}

static void forget_names(void)
{
	reg.nnames = reg.name_used = 0;
	memset(reg.name_bucket, 0, sizeof(reg.name_bucket));
}

/* As `gpustat fdinfo` does, with JSON into b. False: not a DRM file. */
static bool decode(struct str text, struct buf *b)
{
	static const struct recopts ro = { .raw = true, .dt_us = -1, .time_us = -1, .file = "-" };
	struct out o = { .fmt = format_find(S("json")), .kind = K_FDINFO };
	struct fdhead h;

	if (!fdinfo_head(text, &h))
		return false;
	must(str_len(h.driver) > 0, "a DRM file has a driver");
	dump.key = h.client;
	dump.keykind = h.has_client ? KEY_ID : KEY_PASID;
	str_copy(devices[NONE].driver, sizeof(devices[0].driver), h.driver);
	str_copy(devices[NONE].pdev, sizeof(devices[0].pdev), h.pdev);
	devices[NONE].implausible = 0;
	fdinfo_put(&dump, text, &h, 1);
	record_make(&rec, &dump.e, &ro);
	out_record(&o, b, &rec);
	return true;
}

static void decode_end(void)
{
	reg_clear(&dump.e);
	text_free(dump.name);
	text_free(dump.other);
	dump.name = dump.other = NONE;
	forget_names();
}

/* The same file in two readings of a live client; the first one is cut in half. */
static void run_live(struct str text, size_t small)
{
	static const struct recopts ro = { .time_us = 1, .dt_us = 1000000 };
	struct fdhead h;
	u32 d, c, t;

	if (!fdinfo_head(text, &h))
		return;
	d = device_add();
	c = client_add(d, h.has_client ? KEY_ID : KEY_PASID, h.has_client ? h.client : h.pasid);
	t = task_add(7);
	tasks[t].cgroup = cgroup_add(h.driver);
	holder_add(7, 3, t, c);
	str_copy(devices[d].dev, sizeof(devices[0].dev), h.pdev.p ? h.pdev : h.driver);
	fdinfo_put(&clients[c], (struct str){ text.p, text.p + str_len(text) / 2 }, &h, 1000000000);
	fdinfo_put(&clients[c], text, &h, 2000000000);
	reg_begin(&devices[d].e, 2000000000);
	reg_sum_clients(false, true);
	show_entity(&clients[c].e, &ro, small);
	show_entity(&devices[d].e, &ro, small);
	reg_sum_clients(true, true);
	must(nrows.groups > 0 && groups[nrows.groups].e.used, "the cgroup of a client has a record");
	show_entity(&groups[nrows.groups].e, &ro, small);
	client_remove(c);
	reg_sum_clients(true, true);
	reg_clear(&devices[d].e);
	devices[d].e.used = false;
	forget_names();
}

static void walk(struct str s)
{
	size_t newlines = 0;

	for (const char *p = s.p; p < s.e; p++)
		newlines += *p == '\n';
	for (int old = 0; old < 2; old++) {
		struct str text = s;
		struct fdline l;
		size_t n = 0;

		for (; fdinfo_next(&text, old, &l); n++) {
			must(within(l.name, s) && within(l.text, s) && within(text, s), "views lie in the file");
			must(l.key <= FD_OTHER, "a line is of a known kind");
			must(l.key < FD_BUSY_NS || l.key > FD_ACTIVE || l.name.p < l.name.e, "an engine or a region has a name");
			must(l.key != FD_CAPACITY || l.n > 0, "a capacity is not 0");
		}
		must(n == newlines, "each newline ends one line");
	}
}

static void run_fdinfo(struct str s)
{
	static char whole_bytes[1 << 19], cut_bytes[1 << 19];
	struct buf whole = { .p = whole_bytes, .cap = sizeof(whole_bytes) };
	struct buf cut = { .p = cut_bytes, .cap = sizeof(cut_bytes) };
	struct str lines = s;
	size_t small = str_len(s) % 700;
	bool is;

	walk(s);
	is = decode(s, &whole);
	if (is) {
		static const struct recopts ro = { .raw = true, .dt_us = -1, .time_us = -1, .file = "-" };

		must(!whole.full && json_ok((struct str){ whole.p, whole.p + whole.n }, NULL), "a dump is well-formed JSON");
		show_entity(&dump.e, &ro, small);
	}
	decode_end();

	while (lines.e > lines.p && lines.e[-1] != '\n')
		lines.e--;
	must(decode(lines, &cut) == is, "a line without its newline does not change the result");
	must(whole.n == cut.n && memcmp(whole.p, cut.p, whole.n) == 0, "a line without its newline does not change a value");
	decode_end();
	run_live(s, small);
	must(registry.dropped == 0, "tables have room for one client");
}

/* --- the other parsers ------------------------------------------------------------------------ */

static void run_other(u8 which, struct str s)
{
	i32 east;
	struct str t = s, v = { 0 };
	u64 x = 0, y = 0;
	i64 i = 0;
	unsigned a, b;
	size_t n = 0, row = 0;

	switch (which) {
	case 0:
		parse_stat_start(s, &x);
		break;
	case 1:
		if (parse_cgroup(s, &v)) {
			must(within(v, s), "the cgroup lies in the file");
			must(within(parse_container(v).id, v) && within(parse_container(v).pod, v),
			     "the container and the pod lie in the path");
		}
		break;
	case 2:
		must(!parse_uevent(s, S("PCI_ID"), &v) || within(v, s), "the value lies in the file");
		break;
	case 3:
		parse_devno(s, &a, &b);
		break;
	case 4:
		must(!parse_dpm(s, &x, &y) || x <= y, "the current clock is not above the highest");
		break;
	case 5:
		for (; parse_v3d(&t, &v, &x); n++)
			must(within(v, s) && n <= str_len(s), "queues lie in the file");
		break;
	case 6:
		must(!parse_trans(s, &x, &y) || y > 0, "a mean covers a time above 0");
		break;
	case 7:
		for (; parse_rknpu(&t, &v, &x); n++)
			must(within(v, s) && n <= str_len(s), "cores lie in the file");
		break;
	case 8:
		must(!parse_interval(s, &i) || i > 0, "an interval is above 0");
		break;
	case 9:
		if (str_cut(&t, '\n', &v))
			must(!glob_match(v, t, &s) || within(s, t), "the text matched by the star lies in the text");
		break;
	case 10:
		parse_tzif(s, 1700000000, &east);
		parse_tz(s, 1700000000);
		break;
	case 11: {
		struct metric m;

		while (metrics_next(s, &row, &m))
			must(m.desc < D_COUNT && ++n < 64, "the list of metrics ends");
		break;
	}
	default:
		scan_i64(s, &i);
		scan_dec(s, 9, &x);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s;

	if (n > EDGE_BYTES / 2)
		return 0;
	/* One copy begins after a page that faults, and one ends before one. The output uses the
	 * second place, so the input of the complete run uses the first. */
	fdinfo_scope.others = true;
	if (n && data[0] < 16) {
		s = edge_str((const char *)data + 1, n - 1);
		run_other(data[0], s);
	} else {
		walk(edge_str((const char *)data, n));
		run_fdinfo(edge_after((const char *)data, n));
	}
	return 0;
}
