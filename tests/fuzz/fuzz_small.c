/* fuzz_small.c - languages of a few words: an HTTP request, commands of --control, keys of a terminal, tables of
 * $GPUSTAT_PMU_MAP, a GPU's topology, counters of $GPUSTAT_COUNTERS. The first byte tells which. SPDX-License-Identifier: MIT */
#include "../../commands/http.c"

#include "../../sources/measure.c"

#include "../../perfmon/pmumap.h"
#include "files.h"
#include "fuzz.h"

/* Every request is answered, by what HTTP has: a status line, fields, an empty line. */
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
	must(any && str_find(said, S("\r\n\r\n")), "that is known, and a head that ends");
	for (const char *p = said.p; memcmp(p, "\r\n\r\n", 4) != 0; p++)
		must(p[1] != '\n' || *p == '\r', "whose lines end as they do in HTTP");
	must(r != -1 || (str_len(s) > 14 && memcmp(s.p, "GET ", 4) == 0), "only GET has a sample");
}

/* A command is obeyed, however it comes. */
static bool stops(struct str s, size_t piece)
{
	struct measure m = { .control = 0, .ack = -1 };

	files_one("f", s, piece);
	m.control = (int)sys_openat(AT_FDCWD, "f", O_RDONLY);
	for (size_t i = 0; m.control >= 0 && !m.stop; i++) {
		must(i <= 2 * str_len(s) + 2, "commands end");
		obey(&m);
	}
	if (m.control >= 0) /* what is left must not stand before the next input */
		for (m.stop = false; m.control >= 0;)
			obey(&m);
	return m.stop;
}

static void run_keys(struct str s)
{
	struct keys k = { 0 };
	u16 key;

	for (; s.p < s.e; s.p++) {
		key = key_take(&k, (u8)*s.p);
		must(key <= KEY_F10, "a key is one");
	}
	must(key_pause(&k) <= KEY_F10 && key_pause(&k) == 0, "what a pause ends has ended");
	for (const char *p = "\33[A\33[257~q"; *p; p++) /* behind which all is as at first; no key has a number above 24 */
		must(key_take(&k, (u8)*p) == (*p == 'A' ? KEY_UP : *p == 'q' ? 'q' : 0), "a key is read as it is");
}

/* A table is read, written and read again: it says the same. */
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
			must(map.line == line && line > 0, "a fault has a line");
			return;
		}
		pmumap_put(&map, true, &b);
		for (unsigned i = 0; i < 2 * PMU_REGS; i++) {
			char event[1024];
			struct buf e = BUF(event);

			must(pmumap_text(&map, i / 2, pmcs[i % 2], &e) != -E2BIG, "an event has room");
		}
		if (b.full || !is_clean((struct str){ text, text + b.n }, true))
			continue;
		back = (struct str){ text, text + b.n };
		must(pmumap_next(&back, &n, &again) && !again.why, "what is written is a table");
		pmumap_put(&again, true, &c);
		must(c.n == b.n && memcmp(text, text2, b.n) == 0, "the same one");
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
		must(memcmp(&was, &d, sizeof(d)) == 0, "what makes no sense changes nothing");
	else
		must(d.var[OV_EUS] > 0 && d.var[OV_SLICES] > 0 && d.var[OV_EUS] <= 64 * str_len(s), "a GPU has units");
}

/* Counters that another program tells are listed and read; what is written of them is told the same. */
static void supplied(struct str s, struct buf *b)
{
	static u32 is[4096];

	program_reset();
	files_one("counters/f", s, 0);
	catalog_refresh(1u << SUP_FILE);
	must(nnamed <= LEN(is), "a file has no more lines than that");
	for (u32 i = 0; i < nnamed; i++)
		is[i] = i;
	must(catalog_activate(is, nnamed) == 0, "what is listed is there");
	catalog_start();
	for (u32 i = 0; i < nnamed; i++) {
		const struct named *c = catalog_at(i);
		u32 at;

		must(catalog_find(str_z(c->name), &at) && at == i && str_is(S("f"), c->vendor), "a name is there once");
		must(c->name[0] && is_clean(str_z(c->name), false) && is_clean(str_z(c->unit), false), "names and units are clean");
		must(c->known, "and has the value of its line");
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
	for (u32 i = 0; i < nnamed; i++) { /* the first line of a name is the one */
		put_z(&b, catalog_at(i)->name);
		put_z(&b, " 7 ");
		put_z(&b, catalog_at(i)->unit);
		put_c(&b, '\n');
	}
	supplied((struct str){ text, text + b.n }, &c);
	must(!b.full && c.n == n && memcmp(text, text2, n) == 0, "what was told is told again");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct str s = { (const char *)data, (const char *)data + n };
	u8 which = take_u8(&s);

	if (n > 1 << 14)
		return 0;
	setenv("GPUSTAT_COUNTERS", "counters", 1);
	program_reset();
	begun = false;
	if (which >= 224) {
		run_supplied(s);
		return 0;
	}
	switch (which % 5) {
	case 0:
		run_http(edge_str(s.p, str_len(s)));
		break;
	case 1:
		if (stops(s, 0))
			stops(s, 1); /* a long line may be forgotten in pieces only: no more than that it ends */
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
