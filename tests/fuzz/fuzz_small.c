/* fuzz_small.c - small input languages: an HTTP request, commands of --control, keys of a terminal,
 * tables of $GPUSTAT_PMU_MAP, the topology of a GPU, what xe reports of a GPU, files of vendor
 * drivers, answers of a Raspberry Pi's firmware, counters of $GPUSTAT_COUNTERS. The first byte selects
 * one. SPDX-License-Identifier: MIT */
#include "../../commands/shared/http.c"

#include "../../sources/perf/measure.c"

#include "../../perfmon/pmumap.h"
#include "../../sources/device/device.h"
#include "files.h"
#include "fuzz.h"

/* Every request is answered in the form of HTTP: a status line, fields, an empty line. */
static void run_http(struct str s)
{
	static const char *const known[] = { "200 OK", "400 Bad Request", "404 Not Found", "405 Method Not Allowed" };
	const char *end = head_end(s.p, s.e);
	struct str said;
	bool any = false;
	int r;

	static char bytes[OUT_BYTES];

	files_set((struct str){ 0 });
	out = BUF(bytes);
	opt.out.fmt = format_find(S("prom"));
	if (!end)
		return;
	r = answer((struct str){ s.p, end });
	if (r == -1) { /* a sample would follow */
		said = (struct str){ out.p, out.p + out.n };
	} else {
		said = (struct str){ files_said, files_said + files_said_n };
	}
	must(str_skip(&said, S("HTTP/1.1 ")), "an answer has a status");
	for (size_t i = 0; i < LEN(known); i++)
		any |= str_find((struct str){ said.p, said.p + (str_len(said) < 24 ? str_len(said) : 24) }, str_z(known[i]));
	must(any && str_find(said, S("\r\n\r\n")), "the status is known, and the head ends");
	for (const char *p = said.p; memcmp(p, "\r\n\r\n", 4) != 0; p++)
		must(p[1] != '\n' || *p == '\r', "each line of the head ends with CR LF");
	must(r != -1 || (str_len(s) > 14 && memcmp(s.p, "GET ", 4) == 0), "only GET returns a sample");
}

/* A command has the same effect in pieces of any size. */
static bool stops(struct str s, size_t piece)
{
	struct measure m = { .control = 0, .ack = -1 };

	files_one("f", s, piece);
	m.control = (int)sys_openat(AT_FDCWD, "f", O_RDONLY);
	for (size_t i = 0; m.control >= 0 && !m.stop; i++) {
		must(i <= 2 * str_len(s) + 2, "the list of commands ends");
		control_read(&m);
	}
	if (m.control >= 0) /* the remaining text must not reach the next input */
		for (m.stop = false; m.control >= 0;)
			control_read(&m);
	return m.stop;
}

static void run_keys(struct str s)
{
	struct keys k = { 0 };
	u16 key;

	for (; s.p < s.e; s.p++) {
		key = key_feed(&k, (u8)*s.p);
		must(key <= KEY_F10, "the key is valid");
	}
	must(key_timeout(&k) <= KEY_F10 && key_timeout(&k) == 0, "a sequence that a pause has ended stays ended");
	/* after this the state is the initial one; no key has a number above 24 */
	for (const char *p = "\33[A\33[257~q"; *p; p++)
		must(key_feed(&k, (u8)*p) == (*p == 'A' ? KEY_UP : *p == 'q' ? 'q' : 0), "a key is recognised");
}

/* A table is read, written and read again: both are equal. */
static void run_map(struct str s)
{
	static struct pmumap map, again;
	static char text[1 << 16], text2[1 << 16];
	static u64 pmcs[2][PMU_REGS];
	u32 line = 0;

	memset(pmcs[1], 0xff, sizeof(pmcs[1]));
	while (pmumap_next(&s, &line, &map)) {
		struct buf b = BUF(text), c = BUF(text2);
		struct str back;
		u32 n = 0;

		if (map.why) {
			must(map.line == line && line > 0, "an error in a table has a line number");
			return;
		}
		pmumap_put(&map, true, &b);
		for (unsigned i = 0; i < 2 * PMU_REGS; i++) {
			char event[1024];
			struct buf e = BUF(event);

			must(pmumap_text(&map, i / 2, pmcs[i % 2], &e) != -E2BIG, "an event fits into the buffer");
		}
		if (b.full || !is_clean((struct str){ text, text + b.n }, true))
			continue;
		back = (struct str){ text, text + b.n };
		must(pmumap_next(&back, &n, &again) && !again.why, "a written table can be read");
		pmumap_put(&again, true, &c);
		must(c.n == b.n && memcmp(text, text2, b.n) == 0, "a table is equal after writing and reading");
	}
}

static void run_topology(struct str s)
{
	struct oadevice d, was;
	u8 platform = take_u8(&s);

	oadevice_init(&d, 0, &oaplatforms[platform % noaplatforms]);
	was = d;
	s = edge_str(s.p, str_len(s));
	if (!oadevice_topology(&d, s))
		must(memcmp(&was, &d, sizeof(d)) == 0, "an invalid topology changes nothing");
	else
		must(d.var[OV_EUS] > 0 && d.var[OV_SLICES] > 0 && d.var[OV_EUS] <= 64 * str_len(s), "a GPU has execution units");
}

/* Numbers of a GPU from a reply of xe, or from a recording, are read back as they were written. A
 * number that is known stays known, and so does the platform. */
static void run_device(struct str s)
{
	static char text[1024]; /* as NUMBERS_BYTES */
	struct buf b = BUF(text);
	u8 platform = take_u8(&s), kind = take_u8(&s);
	const struct oaplatform *p = platform < noaplatforms ? &oaplatforms[platform] : NULL;
	struct oadevice d, was, again;
	u64 subslices, eus;

	oadevice_init(&d, 0, p);
	was = d;
	s = edge_str(s.p, str_len(s));
	switch (kind % 4) {
	case 0:
		oadevice_gts(&d, s);
		break;
	case 1:
		oadevice_masks(&d, s, &subslices, &eus);
		must(d.var[OV_L3_NODE] <= d.var[OV_L3_BANK] && d.var[OV_L3_BANK] <= 64 && d.var[OV_COPY_ENGINE] <= d.var[OV_L3_NODE],
		     "a node has a bank, a copy engine has a node");
		must(str_len(s) >= 8 || !(subslices | eus), "an incomplete mask is ignored");
		break;
	case 2:
		oadevice_hwconfig(&d, s);
		break;
	default:
		oadevice_read(&d, s);
	}
	must(!p || d.platform == p, "a known platform is kept");
	must(oadevice_ts_shift(&d) <= 3, "a clock is at most 8 times as fast");
	put_oadevice(&b, &d);
	must(!b.full, "all numbers fit into the room for them");
	oadevice_init(&again, 0, p);
	oadevice_read(&again, edge_str(text, b.n));
	for (u8 var = OV_THREADS; var < OV_NUMBERS; var++) {
		must(again.var[var] == d.var[var], "a number is read as it was written");
		must(d.var[var] || !was.var[var], "a known number stays known");
	}
	must(again.platform == d.platform, "the platform follows from the numbers");
}

/* A file of a vendor's driver has a possible value or no value, in each form. */
static void run_form(struct str s)
{
	enum { CORES = 1, GC_CORES = 2, CELSIUS = 7, FORMS = 8 };
	struct attr a = { .folder = take_u8(&s) % FORMS, .format = T_BOARD, .zeros = take_u8(&s) % 7 };
	u32 at = device_add();
	struct entity *e = &devices[at].e;
	u64 v;
	bool any = false, said;

	a.desc = a.folder == CELSIUS ? D_TEMP : D_FREQ_CUR;
	reg_begin(e, 1);
	said = board_store(&a, e, S("x"), edge_str(s.p, str_len(s)), 1);
	for (struct counter *c = reg_first(e); c; c = reg_next(c)) {
		any = true;
		must(reg_get(e, c->desc, c->inst, &v), "a counter of the only reading has a value");
		must(c->desc != D_TEMP || ((i64)v >= -60000 && (i64)v <= 200000), "a GPU has a possible temperature");
		must(c->desc != D_FREQ_CUR || (v > 0 && v <= UINT64_C(100000000000)), "a GPU has a possible clock");
		must((c->desc != D_GPU_BUSY && c->desc != D_LOAD) || v <= 100000, "a share is at most 100 %");
	}
	/* a core with an impossible share makes the text invalid, and the others keep theirs */
	must(any == said || (any && (a.folder == CORES || a.folder == GC_CORES)),
	"the result shows if a text is valid");
}

/* Counters of another program are listed and read; writing them to a file and reading it yields the
 * same values. */
static void supplied(struct str s, struct buf *b)
{
	static u32 is[4096];

	program_reset();
	files_one("counters/f", s, 0);
	catalog_refresh(1u << PROVIDER_FILE);
	must(nnamed <= LEN(is), "a file has no more counters than lines");
	for (u32 i = 0; i < nnamed; i++)
		is[i] = i;
	must(catalog_activate(is, nnamed) == 0, "a listed counter can be activated");
	catalog_start();
	for (u32 i = 0; i < nnamed; i++) {
		const struct named *c = catalog_at(i);
		u32 at;

		must(catalog_find(str_z(c->name), &at) && at == i && str_is(S("f"), c->vendor), "a name is unique");
		must(c->name[0] && is_clean(str_z(c->name), false) && is_clean(str_z(c->unit), false), "names and units are clean");
		must(c->known, "a counter has the value of its line");
		put_z(b, c->name);
		put_c(b, ' ');
		if (c->value < 0)
			put_c(b, '-');
		put_u64(b, c->value < 0 ? -(u64)c->value : (u64)c->value);
		put_c(b, ' ');
		put_z(b, c->unit);
		put_c(b, '\n');
	}
	catalog_stop();
	must(files_open() == 0, "no file stays open");
}

static void run_supplied(struct str s)
{
	static char text[1 << 16], text2[1 << 16];
	struct buf b = BUF(text), c = BUF(text2);

	size_t n;

	supplied(edge_str(s.p, str_len(s)), &b);
	n = b.n;
	for (u32 i = 0; i < nnamed; i++) { /* the first line with a name counts */
		put_z(&b, catalog_at(i)->name);
		put_z(&b, " 7 ");
		put_z(&b, catalog_at(i)->unit);
		put_c(&b, '\n');
	}
	supplied((struct str){ text, text + b.n }, &c);
	must(!b.full && c.n == n && memcmp(text, text2, n) == 0, "a written file of counters reads the same");
}

/* Values are plausible for any answer of the firmware. */
static void check_firmware(const struct entity *e)
{
	u64 v;

	for (struct counter *c = reg_first(e); c; c = reg_next(c)) {
		must(is_clean(inst_name(c->inst), false), "names are clean");
		if (!reg_get(e, c->desc, c->inst, &v))
			continue;
		must(c->desc == D_THROTTLE ? v <= 1 : v <= INT32_MAX, "a value is not too large");
		must(c->desc == D_THROTTLE || c->desc == D_TEMP || c->desc == D_VOLT || v > 0, "a clock is not 0");
	}
	must(!vcio_reason() || (vcio_reason()[0] == '/' && is_clean(str_z(vcio_reason()), false)), "the reason is a text");
}

static void run_firmware(struct str s)
{
	u32 n;

	files_one("dev/vcio", s, 0);
	n = device_add();
	str_copy(devices[n].driver, sizeof(devices[n].driver), S("v3d"));
	for (i64 t = 1; t <= 3; t++) {
		reg_begin(&devices[n].e, t);
		src_vcio.sample();
		check_firmware(&devices[n].e);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = { (const char *)data, (const char *)data + n };
	u8 which = take_u8(&s);

	if (n > 1 << 14)
		return 0;
	setenv("GPUSTAT_COUNTERS", "counters", 1);
	program_reset();
	answer_begun = false;
	if (which >= 224) {
		run_supplied(s);
		return 0;
	}
	if (which >= 208) {
		run_form(s);
		return 0;
	}
	if (which >= 192) {
		run_firmware(s);
		return 0;
	}
	if (which >= 176) {
		run_device(s);
		return 0;
	}
	switch (which % 5) {
	case 0:
		run_http(edge_str(s.p, str_len(s)));
		break;
	case 1:
		if (stops(s, 0))
			/* a long line may be discarded if it comes in pieces: only check that it
			 * ends */
			stops(s, 1);
		break;
	case 2:
		run_keys(s);
		break;
	case 3:
		run_map(edge_str(s.p, str_len(s)));
		break;
	default:
		run_topology(s);
	}
	return 0;
}
